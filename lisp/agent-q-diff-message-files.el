;;; agent-q-diff-message-files.el --- What agents read about several files  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A sentence says of each file of a change what became of it; what is not
;; wholly in a file follows, file by file.  An agent numbers the hunks of
;; each file from 1, as a diff has them.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-message-facts)

(defun agent-q-diff-message-files--name (path result)
  "Return PATH, of a file of RESULT, as an agent knows it."
  (string-remove-prefix (file-name-as-directory (plist-get result :path)) path))

(defun agent-q-diff-message-files-lines (file)
  "Return the hunks of FILE, a file's result, that change lines.
Their :index counts from 0 in FILE."
  (let ((hunks (seq-remove (lambda (hunk) (plist-get hunk :operation))
                           (plist-get file :hunks))))
    (seq-map-indexed (lambda (hunk index)
                       (append (list :index index) hunk))
                     hunks)))

;;;; One file in a sentence

(defun agent-q-diff-message-files--operation (hunk file result)
  "Return what became of HUNK, an operation on FILE of RESULT, in words."
  (concat (plist-get hunk :fate)
          (if (and (eq 'rename (plist-get hunk :operation)) (plist-get hunk :in-file))
              (concat " to " (agent-q-diff-message-files--name
                              (plist-get file :new-path) result))
            "")))

(defun agent-q-diff-message-files--remarks (file result)
  "Return in parentheses why hunks of FILE are as they are, or the empty string.
FILE is one of RESULT."
  (let* ((lines (agent-q-diff-message-files-lines file))
         (reasons (mapcar (lambda (hunk) (plist-get hunk :reason)) lines))
         ;; If all of the change is rejected, the sentence says so.
         (is-mixed (and (plist-get result :decision)
                        (or (equal "accepted" (plist-get result :decision))
                            (< 0 (or (plist-get result :pending) 0)))))
         (remarks
          (append
           (mapcan (lambda (hunk)
                     (agent-q-diff-message-files--remark
                      hunk (format "hunk %d" (1+ (plist-get hunk :index))) is-mixed))
                   lines)
           ;; What such a hunk is, the words before the parentheses say.
           (mapcan (lambda (hunk)
                     (and (plist-get hunk :operation)
                          (or (plist-get hunk :comment)
                              (not (member (plist-get hunk :reason) reasons)))
                          (agent-q-diff-message-files--remark hunk nil is-mixed)))
                   (plist-get file :hunks))
           ;; Otherwise nothing is decided, as the message says.
           (and (plist-get result :decision)
                (append
                 (and is-mixed
                      (agent-q-diff-message-files--those
                       file "rejected"
                       (lambda (hunk)
                         (and (agent-q-diff-message-facts-rejected-p hunk)
                              (not (plist-get hunk :comment))))))
                 (agent-q-diff-message-files--those
                  file "undecided" #'agent-q-diff-message-facts-undecided-p))))))
    (if remarks
        (format " (%s)" (string-join remarks "; "))
      "")))

(defun agent-q-diff-message-files--remark (hunk name is-mixed)
  "Return a list with a remark on HUNK, or nil.
It is called NAME, or has no name if that is nil.  If IS-MIXED is non-nil,
say if it is rejected."
  (cond
   ((plist-get hunk :comment)
    (let ((words (delq nil (list name
                                 (and is-mixed (agent-q-diff-message-facts-rejected-p hunk)
                                      "rejected")))))
      (list (format "%s\"%s\"" (if words (concat (string-join words " ") ": ") "")
                    (plist-get hunk :comment)))))
   ((and (plist-get hunk :reason) (not (plist-get hunk :in-file)))
    (list (concat (if name (concat name " could not be applied: ") "")
                  (plist-get hunk :reason))))))

(defun agent-q-diff-message-files--those (file word predicate)
  "Return a list with a remark that some hunks of FILE are WORD, or nil.
They are those for which PREDICATE, a function, returns non-nil.  If it
does for all, the remark is just WORD."
  (let* ((hunks (plist-get file :hunks))
         (operations (seq-filter (lambda (hunk)
                                   (and (plist-get hunk :operation) (funcall predicate hunk)))
                                 hunks))
         (lines (seq-filter predicate (agent-q-diff-message-files-lines file)))
         (n (+ (length operations) (length lines))))
    (cond
     ((= n 0) nil)
     ((= n (length hunks)) (list word))
     (t (list (concat word ": "
                      (string-join
                       (append (mapcar (lambda (hunk) (plist-get hunk :header)) operations)
                               (and lines
                                    (list (concat (ngettext "hunk " "hunks " (length lines))
                                                  (agent-q-diff-message-facts-numbers lines)))))
                       ", ")))))))

(defun agent-q-diff-message-files--file (file result)
  "Return what became of FILE, a file's result in RESULT, in words."
  (let* ((operations (seq-filter (lambda (hunk) (plist-get hunk :operation))
                                 (plist-get file :hunks)))
         (lines (agent-q-diff-message-files-lines file))
         (in (seq-count (lambda (hunk) (plist-get hunk :in-file)) lines))
         (fate (plist-get file :fate))
         (count (and (< (if fate 1 0) (length lines))
                     (or (null fate) (< 0 in))
                     (format (ngettext "%d of %d hunk" "%d of %d hunks" (length lines))
                             in (length lines))))
         (done (append (and fate (list fate))
                       (mapcar (lambda (hunk)
                                 (agent-q-diff-message-files--operation hunk file result))
                               operations))))
    (concat (agent-q-diff-message-files--name
             (or (plist-get file :old-path) (plist-get file :path)) result)
            " "
            (string-join (delq nil (list (and done (string-join done " and ")) count))
                         ;; "Not renamed with" would be nonsense.
                         (if (seq-every-p (lambda (hunk) (plist-get hunk :in-file)) operations)
                             " with "
                           ", "))
            (if (plist-get file :overwritten) ", but the file has since gone" "")
            (agent-q-diff-message-files--remarks file result))))

;;;; All files

(defun agent-q-diff-message-files-sentence (result)
  "Return a sentence about what became of each file of RESULT."
  (let* ((files (plist-get result :files))
         (n (seq-count (lambda (file) (< 0 (plist-get file :in-file))) files)))
    (format "%d of %s: %s."
            n
            (format (ngettext "%d file" "%d files" (length files)) (length files))
            (agent-q-diff-message-files--each result))))

(defun agent-q-diff-message-files--each (result)
  "Return what became of each file of RESULT, in words."
  (mapconcat (lambda (file) (agent-q-diff-message-files--file file result))
             (plist-get result :files) ", "))

(defun agent-q-diff-message-files-comments (result)
  "Return lines with the user's comments on RESULT and on the hunks of its files."
  (append
   (agent-q-diff-message-facts-comments (list :comment (plist-get result :comment)))
   (mapcan (lambda (file)
             (let ((name (agent-q-diff-message-files--name
                          (or (plist-get file :old-path) (plist-get file :path)) result)))
               (append
                (cl-loop for hunk in (plist-get file :hunks)
                         when (and (plist-get hunk :operation) (plist-get hunk :comment))
                         collect (format "The user says of %s: %s" name
                                         (plist-get hunk :comment)))
                (cl-loop for hunk in (agent-q-diff-message-files-lines file)
                         when (plist-get hunk :comment)
                         collect (format "The user says of hunk %d of %s: %s"
                                         (1+ (plist-get hunk :index)) name
                                         (plist-get hunk :comment))))))
           (plist-get result :files))))

(defun agent-q-diff-message-files-accepted (result)
  "Return the first sentence about RESULT, which was accepted."
  (let ((in (plist-get result :in-file)))
    (format "✓ %s%s: %s%s"
            (cond
             ((= in 0) "Accepted, but nothing is in the files")
             ((< in (plist-get result :total)) "Accepted in part")
             (t "Accepted"))
            (if (plist-get result :detached) ", not yet written" "")
            (agent-q-diff-message-files-sentence result)
            (if (or (plist-get result :saved) (plist-get result :detached))
                ""
              " Not all of it is saved; see below."))))

(defun agent-q-diff-message-files-rejected (result)
  "Return the first sentences about RESULT, which was rejected."
  (let ((n (length (plist-get result :files))))
    (format "✗ Rejected: the user declined %s%s. %s"
            (agent-q-diff-message-facts-declined
             result (format (ngettext "the change to %d file" "the changes to %d files" n) n))
            (agent-q-diff-message-facts-left-open result)
            (cond
             ((< 0 (plist-get result :in-file))
              (concat "In the files: " (agent-q-diff-message-files-sentence result)))
             ((or (< 0 (or (plist-get result :pending) 0))
                  (seq-some (lambda (hunk) (plist-get hunk :comment)) (plist-get result :hunks)))
              (format "None of it is in the files: %s."
                      (agent-q-diff-message-files--each result)))
             (t "None of it is in the files.")))))

(defun agent-q-diff-message-files--as-one (file result)
  "Return the text of FILE of RESULT as the result of a review of it alone."
  (let* ((lines (agent-q-diff-message-files-lines file))
         (in (seq-count (lambda (hunk) (plist-get hunk :in-file)) lines)))
    (append (list :total (length lines)
                  :in-file in
                  :detached (plist-get result :detached)
                  ;; The comments on hunks are in the sentence.
                  :hunks (mapcar (lambda (hunk) (append (list :comment nil) hunk)) lines)
                  ;; Only what is not as proposed needs details.
                  :decision (if (= in (length lines)) "accepted"
                              (plist-get result :decision)))
            file)))

(defun agent-q-diff-message-files-details (result)
  "Return lines about the files of RESULT that the sentence does not tell, or nil.
A file that is not there because it was not created has none."
  (let ((lines (append
                (agent-q-diff-message-facts-comments
                 (list :comment (plist-get result :comment)))
                (mapcan (lambda (file)
                          (when-let ((details
                                      (and (seq-some (lambda (hunk) (plist-get hunk :now))
                                                     (plist-get file :hunks))
                                           (< 0 (plist-get file :in-file))
                                           (agent-q-diff-message-facts-details
                                            (agent-q-diff-message-files--as-one
                                             file result)))))
                            (list (format "%s:" (agent-q-diff-message-files--name
                                                 (plist-get file :path) result))
                                  details)))
                        (plist-get result :files)))))
    (and lines (string-join lines "\n"))))

(provide 'agent-q-diff-message-files)
;;; agent-q-diff-message-files.el ends here
