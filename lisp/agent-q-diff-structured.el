;;; agent-q-diff-structured.el --- The result of a review as JSON  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a program can read of the result of a review, beside its message.
;; The program agent-q-diff passes it on, and its `outputSchema' says
;; what each property means.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-message)
(require 'agent-q-diff-protocol)

(defconst agent-q-diff-structured--max-hunks 200
  "Maximum number of hunks that are listed, for clients that show all to a model.")

(defun agent-q-diff-structured--given (key text)
  "Return a list with the property KEY, which is TEXT, or nil if TEXT is nil."
  (and text (list (cons key (agent-q-diff-protocol-clean text)))))

(defun agent-q-diff-structured--true (value)
  "Return VALUE, a Lisp boolean, as one of JSON."
  (if value t :false))

(defun agent-q-diff-structured--counts (result)
  "Return the properties with the numbers of hunks in RESULT."
  (cl-loop for (key property) in '((:total total) (:in-file in_file)
                                   (:rejected rejected) (:pending pending))
           when (plist-get result key)
           collect (cons property (plist-get result key))))

(defun agent-q-diff-structured--hunk (hunk)
  "Return HUNK, the result of a single hunk, as an object."
  `((,@(if (plist-get hunk :operation)
           `(operation . ,(symbol-name (plist-get hunk :operation)))
         `(hunk . ,(1+ (plist-get hunk :index)))))
    (decision . ,(pcase (plist-get hunk :state)
                   ('applied "accepted")
                   ('rejected "rejected")
                   (_ "none")))
    (in_file . ,(agent-q-diff-structured--true (plist-get hunk :in-file)))
    ,@(and (plist-get hunk :was-in) '((was_in_file . t)))
    ,@(agent-q-diff-structured--given 'comment (plist-get hunk :comment))
    ,@(agent-q-diff-structured--given 'reason (plist-get hunk :reason))
    ,@(agent-q-diff-structured--given 'edited (plist-get hunk :edited))))

(defun agent-q-diff-structured--file (file has-hunks)
  "Return FILE, the result for one file, as an object.
HAS-HUNKS is non-nil if its hunks are listed."
  `((path . ,(agent-q-diff-protocol-clean (plist-get file :path)))
    ,@(agent-q-diff-structured--given 'kind (plist-get file :kind))
    ,@(and (plist-get file :old-path)
           (not (equal (plist-get file :old-path) (plist-get file :path)))
           (agent-q-diff-structured--given 'old_path (plist-get file :old-path)))
    ,@(agent-q-diff-structured--counts file)
    ,@(and (plist-member file :saved)
           `((saved . ,(agent-q-diff-structured--true (plist-get file :saved)))))
    ,@(and has-hunks
           `((hunks . ,(vconcat
                        (mapcar #'agent-q-diff-structured--hunk
                                (append
                                 (seq-filter (lambda (hunk) (plist-get hunk :operation))
                                             (plist-get file :hunks))
                                 (agent-q-diff-message-files-lines file)))))))))

(defun agent-q-diff-structured (result)
  "Return RESULT of a review as an object for `json-serialize', an alist.
It has all but the message, and no texts of files.  RESULT is as for
`agent-q-diff-review' or `agent-q-diff-review-change'."
  (let ((has-hunks (<= (or (plist-get result :total) 0) agent-q-diff-structured--max-hunks)))
    `((status . ,(symbol-name (plist-get result :status)))
      ,@(agent-q-diff-structured--given 'comment (plist-get result :comment))
      ,@(agent-q-diff-structured--given 'reason (plist-get result :reason))
      ,@(agent-q-diff-structured--counts result)
      ,@(and (plist-get result :total)
             `((files . ,(vconcat
                          (mapcar (lambda (file)
                                    (agent-q-diff-structured--file file has-hunks))
                                  (or (plist-get result :files) (list result))))))))))

(provide 'agent-q-diff-structured)
;;; agent-q-diff-structured.el ends here
