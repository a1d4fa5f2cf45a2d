;;; agent-q-diff-result.el --- What became of a review, for its caller and the log  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The result of a review that ends: a property list for the caller, the
;; message for the agent, and the entry in the log.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-message)
(require 'agent-q-diff-log)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)

;;;; The file at the beginning

(defun agent-q-diff-result-note-file (review)
  "Note what the file of REVIEW is now, when the review begins."
  (let ((target (agent-q-diff-file-change-target (agent-q-diff-session-change review))))
    (setf (agent-q-diff-target-disk target) (agent-q-diff-result--disk target)
          (agent-q-diff-target-hash target) (agent-q-diff-result--logged-hash review))))

(defun agent-q-diff-result--disk (target)
  "Return what is known of the file of TARGET now, or nil if nothing is.
The value is another once somebody has written the file."
  (unless (agent-q-diff-target-is-detached target)
    ;; The host of a remote file may be gone, and the caller must be told.
    (ignore-errors
      (list (agent-q-diff-file-attributes (agent-q-diff-target-path target))))))

;;;; Result

(defun agent-q-diff-result-why (review)
  "Return why REVIEW ended without a decision, as an error (SYMBOL MESSAGE).
Return nil if it was decided."
  (pcase-exhaustive (agent-q-diff-session-outcome review)
    ('decided nil)
    (`(error ,symbol ,message) (list symbol message))
    (`(lost ,message) (list 'agent-q-diff-not-applied message))
    ('not-applied
     (list 'agent-q-diff-not-applied
           (mapconcat (pcase-lambda (`(,hunk . ,reason))
                        (format "hunk %d: %s" (1+ hunk) reason))
                      (reverse (agent-q-diff-file-change-failures
                                (agent-q-diff-session-change review)))
                      "; ")))
    ('cancelled (list 'agent-q-diff-cancelled "the agent withdrew it"))
    ('abandoned (list 'agent-q-diff-cancelled "the agent that proposed it is gone"))
    ('killed (list 'agent-q-diff-cancelled "its buffer was killed"))
    ('emacs-killed (list 'agent-q-diff-cancelled "Emacs exited"))
    ('aborted (list 'agent-q-diff-cancelled "the user left it undecided"))
    ('no-user (list 'agent-q-diff-no-user
                    "this Emacs runs in batch mode, and there are no keys left to read"))))

(defun agent-q-diff-result--status (review decision counts)
  "Return the status of REVIEW, a symbol, with DECISION and COUNTS.
DECISION is a string or nil; COUNTS is as `agent-q-diff-module-counts'
has it, or nil."
  (pcase (agent-q-diff-session-outcome review)
    ((or 'not-applied `(lost . ,_)) 'stale)
    ('decided (pcase-let ((`(,total ,_ ,_ ,in-file) counts))
                (cond
                 ((equal decision "rejected") 'rejected)
                 ((= total in-file) 'accepted)
                 (t 'partial))))
    (_ 'cancelled)))

(defun agent-q-diff-result-of (review)
  "Return the result of REVIEW, a plist; see `agent-q-diff-review'."
  (agent-q-diff-result--with-message
   (pcase (agent-q-diff-session-outcome review)
     (`(error ,symbol ,message)
      (list :status 'error :decision nil :path (agent-q-diff-session-path review)
            :error symbol :reason message))
     (_ (agent-q-diff-result--of-begun review)))))

(defun agent-q-diff-result--of-begun (review)
  "Return the result of REVIEW, which was shown, without its message.
It tells what is in the target now, whoever put it there; if that can no
longer be had, what was in it last."
  (pcase-let* ((change (agent-q-diff-session-change review))
               (target (agent-q-diff-file-change-target change))
               (`(,counts ,side . ,hunks) (agent-q-diff-result--report change))
               (is-lost (eq 'lost (car-safe (agent-q-diff-session-outcome review))))
               (`(,total ,applied ,rejected ,in-target) counts)
               (in-file (if is-lost 0 in-target))
               (buffer (agent-q-diff-session-buffer review))
               (decision (and (eq (agent-q-diff-session-outcome review) 'decided)
                              (buffer-live-p buffer)
                              (buffer-local-value 'agent-q-diff-buffer-decision buffer))))
    (append
     (list :status (agent-q-diff-result--status review decision counts)
           :decision decision
           :path (agent-q-diff-target-path target)
           :error (nth 0 (agent-q-diff-result-why review))
           :reason (nth 1 (agent-q-diff-result-why review))
           :comment (agent-q-diff-session-comment review)
           :total total :applied applied :rejected rejected
           :pending (- total applied rejected) :in-file in-file
           :altered (agent-q-diff-file-change-is-altered change)
           :detached (agent-q-diff-target-is-detached target)
           :untouched (and (agent-q-diff-target-disk target)
                           (equal (agent-q-diff-target-disk target)
                                  (agent-q-diff-result--disk target)))
           :overwritten (and is-lost (< 0 in-target))
           :hunks (agent-q-diff-result--hunk-results change hunks is-lost))
     (agent-q-diff-result--content change side buffer (< 0 in-file)))))

(defun agent-q-diff-result--report (change)
  "Return (COUNTS SIDE . HUNKS) for CHANGE, as `agent-q-diff-engine-report' does."
  (let ((buffer (agent-q-diff-file-change-buffer change)))
    (agent-q-diff-engine-report (agent-q-diff-file-change-engine change)
                                (if (buffer-live-p buffer) (buffer-size buffer) 0)
                                agent-q-diff-message-facts-max-live-hunks
                                (agent-q-diff-file-change-path change))))

(defun agent-q-diff-result--with-message (result)
  "Return RESULT with the message that the agent is to read."
  (append result
          (list :message (agent-q-diff-message-of-result
                          result (plist-get result :path)))))

(defun agent-q-diff-result--content (change side diff-buffer is-any-in)
  "Return a plist with the text of the target of CHANGE, and if it is saved.
SIDE is which text of the proposal that is, `original', `modified' or nil;
DIFF-BUFFER has these texts, if it is alive.  If IS-ANY-IN, hunks are in
it, so that nothing but the file's bytes is proof that it is saved."
  (let* ((target (agent-q-diff-file-change-target change))
         (buffer (agent-q-diff-target-buffer target)))
    (when (buffer-live-p buffer)
      (list :content (or (agent-q-diff-result--proposal-text change side diff-buffer)
                         (agent-q-diff-text-in buffer))
            :saved (and (not (agent-q-diff-target-is-detached target))
                        (if is-any-in
                            (agent-q-diff-disk-in-file-p buffer)
                          (not (or (agent-q-diff-disk-unsaved-p buffer)
                                   (agent-q-diff-target-disk-state target))))
                        t)))))

(defun agent-q-diff-result--proposal-text (change side diff-buffer)
  "Return the proposal's text that the target of CHANGE certainly is, or nil.
SIDE and DIFF-BUFFER are as for `agent-q-diff-result--content'.  A copy of
a large target would be garbage enough for Emacs to collect."
  (let ((target (agent-q-diff-file-change-buffer change)))
    (when (and (buffer-live-p diff-buffer)
               (not (agent-q-diff-file-change-is-adapted change))
               (eq (agent-q-diff-text-tick target) (agent-q-diff-file-change-tick change)))
      (let ((text (pcase side
                    ('original (buffer-local-value 'agent-q-diff-buffer-original
                                                   diff-buffer))
                    ('modified (buffer-local-value 'agent-q-diff-buffer-modified
                                                   diff-buffer)))))
        (and text
             (multibyte-string-p text)
             (buffer-local-value 'enable-multibyte-characters target)
             (= (length text) (buffer-size target))
             (null (object-intervals text))
             text)))))

(defun agent-q-diff-result--hunk-results (change hunks is-lost)
  "Return a plist for each of HUNKS of CHANGE.
HUNKS are as `agent-q-diff-result--report' has them.  IS-LOST is non-nil if
the file is gone, so that none is in it."
  (cl-loop with is-cut = (agent-q-diff-file-change-is-cut change)
           with texts = (and (or is-cut
                                 (cl-some (lambda (entry)
                                            (agent-q-diff-engine-hunk-is-edited
                                             (car entry)))
                                          hunks))
                             (agent-q-diff-result--hunk-texts change (length hunks)))
           for (hunk header . now) in hunks
           for index = (agent-q-diff-engine-hunk-index hunk)
           for text = (pop texts)
           for is-in = (agent-q-diff-engine-hunk-fact hunk)
           for place = (agent-q-diff-engine-hunk-place hunk)
           collect (list :index index
                         :state (agent-q-diff-engine-hunk-mark hunk)
                         :header header
                         :in-file (and is-in (not is-lost) (not (eq place 'lost)))
                         :lost (or (eq place 'lost) (and is-in is-lost))
                         :was-in (agent-q-diff-engine-hunk-was-in hunk)
                         :offset (and (integerp place) place)
                         :fuzz (agent-q-diff-engine-hunk-fuzz hunk)
                         :places (agent-q-diff-engine-hunk-places hunk)
                         :now now
                         :edited (and (agent-q-diff-engine-hunk-is-edited hunk) text)
                         :part (and is-cut text)
                         :comment (alist-get index (agent-q-diff-file-change-comments change))
                         :reason (alist-get index (agent-q-diff-file-change-failures change)))))

(defun agent-q-diff-result--hunk-texts (change total)
  "Return the diff text of each of the TOTAL hunks of CHANGE.
They are printed all at once: one by one, each would look for its section
heading from the top of the file."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-engine-print-hunks
                (agent-q-diff-file-change-engine change) 0 total
                (agent-q-diff-file-change-path change))))
    (with-temp-buffer
      (insert diff)
      (goto-char (point-min))
      (cl-loop for (here next) on lines
               for beg = (point)
               do (if next
                      (forward-line (- next here))
                    (goto-char (point-max)))
               collect (buffer-substring-no-properties beg (point))))))

;;;; The log

(defconst agent-q-diff-result--outcomes
  '((accepted . "accepted")
    (partial . "partly accepted")
    (rejected . "rejected")
    (cancelled . "cancelled")
    (stale . "could not be applied")
    (error . "error"))
  "What the log calls the statuses of results.")

(defun agent-q-diff-result-record (review)
  "Record in the log how REVIEW ended, whoever began it."
  (let ((result (agent-q-diff-session-result review))
        (target (agent-q-diff-file-change-target (agent-q-diff-session-change review))))
    (agent-q-diff-log-record
     (list :tool (or (agent-q-diff-session-tool review) "review")
           :agent (agent-q-diff-session-agent review)
           :path (plist-get result :path)
           :outcome (alist-get (plist-get result :status) agent-q-diff-result--outcomes)
           :total (plist-get result :total)
           :in-file (plist-get result :in-file)
           :saved (plist-get result :saved)
           :hash-before (agent-q-diff-target-hash target)
           :hash-after (agent-q-diff-result--logged-hash review)
           :hunks (mapcar #'agent-q-diff-result--logged-hunk (plist-get result :hunks))
           :decided-by (agent-q-diff-result--decided-by review)
           :reason (or (plist-get result :reason) (plist-get result :comment))
           :diff (agent-q-diff-session-proposed review))))
  ;; It can be as long as the file, and the review may be kept.
  (setf (agent-q-diff-session-proposed review) nil))

(defun agent-q-diff-result--logged-hunk (hunk)
  "Return what the log has of HUNK, a hunk's result.
The proposal's diff has its lines, and what is nil is left out: a review
can have thousands of hunks."
  (cl-loop for key in agent-q-diff-log-hunk-keys
           for value = (plist-get hunk key)
           when value nconc (list key value)))

(defun agent-q-diff-result--decided-by (review)
  "Return who ended REVIEW, a symbol."
  (pcase (agent-q-diff-session-outcome review)
    ((and 'decided (guard (agent-q-diff-session-is-by-program review))) 'program)
    ((or 'cancelled 'abandoned) 'caller)
    ((or 'no-user `(error agent-q-diff-no-user . ,_)) 'nobody)
    (`(error . ,_) 'error)
    (_ 'user)))

(defun agent-q-diff-result--logged-hash (review)
  "Return a hash of the file of REVIEW as it is now, for the log, or nil.
Only calls of tools have one: it takes reading the file once more."
  (let ((target (agent-q-diff-file-change-target (agent-q-diff-session-change review))))
    (when (and agent-q-diff-log-file
               (agent-q-diff-session-tool review)
               (agent-q-diff-target-path target)
               (not (agent-q-diff-target-is-detached target)))
      (ignore-errors
        (with-temp-buffer
          (set-buffer-multibyte nil)
          (insert-file-contents-literally (agent-q-diff-target-path target))
          (secure-hash 'sha256 (current-buffer)))))))

(provide 'agent-q-diff-result)
;;; agent-q-diff-result.el ends here
