;;; agent-q-diff-undo.el --- Taking decisions back  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; In the diff buffer, the keys of `undo' undo the last decision: both the
;; mark of each hunk that it changed, and the change to the file.  For the
;; undo list of the file's buffer, this is one more edit.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-signs)

(defun agent-q-diff-undo--typed-p ()
  "Return non-nil if this buffer's text is the user's own and can be edited."
  (not (or (eq agent-q-diff-buffer-parsed-tick t) buffer-read-only)))

(defun agent-q-diff-undo--go (is-redo)
  "Undo the latest decision and show a message about it.
If IS-REDO is non-nil, redo the decision that was undone last."
  (let* ((change (agent-q-diff-signs-change-with-target))
         (hunks (condition-case nil
                    (agent-q-diff-decide-back change is-redo)
                  ;; The name of the error says it all.
                  (agent-q-diff-nothing-to-take-back
                   (signal 'agent-q-diff-nothing-to-take-back nil)))))
    (agent-q-diff-signs-show-committed)
    (when (agent-q-diff-file-change-follow change)
      (agent-q-diff-signs-show-all))
    (agent-q-diff-buffer-goto-hunk (car hunks))
    (message "%s the decision on %s"
             (if is-redo "Redid" "Undid")
             (if (cdr hunks)
                 (format "%d hunks" (length hunks))
               (format "hunk %d" (1+ (car hunks)))))))

(defun agent-q-diff-undo ()
  "Undo the latest decision, in this buffer and in the file.
Repeat to undo the one before.  In a diff that you can edit, undo what was
typed."
  (interactive)
  (if (agent-q-diff-undo--typed-p)
      (call-interactively #'undo)
    (agent-q-diff-undo--go nil)))

(defun agent-q-diff-redo ()
  "Redo a decision that was undone with \\[agent-q-diff-undo].
In a diff that you can edit, redo what was undone."
  (interactive)
  (if (agent-q-diff-undo--typed-p)
      (call-interactively #'undo-redo)
    (agent-q-diff-undo--go t)))

(provide 'agent-q-diff-undo)
;;; agent-q-diff-undo.el ends here
