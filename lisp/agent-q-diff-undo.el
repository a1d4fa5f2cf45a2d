;;; agent-q-diff-undo.el --- Taking decisions back  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; In the diff buffer the keys of `undo' take the last decision back: the
;; mark of each hunk that it changed, and the file with it.  The file's own
;; undo knows that as one more edit.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-signs)

(defun agent-q-diff-undo--typed-p ()
  "Return non-nil if the text of this buffer is the user's own, to be edited."
  (not (or (eq agent-q-diff-buffer-parsed-tick t) buffer-read-only)))

(defun agent-q-diff-undo--go (is-redo)
  "Undo the latest decision, or if IS-REDO is non-nil redo it, and say so."
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
Repeat to undo the one before.  In a diff that is typed by hand and
may be edited, undo what was typed."
  (interactive)
  (if (agent-q-diff-undo--typed-p)
      (call-interactively #'undo)
    (agent-q-diff-undo--go nil)))

(defun agent-q-diff-redo ()
  "Redo a decision that was undone with \\[agent-q-diff-undo].
In a diff that is typed by hand and may be edited, redo what was undone."
  (interactive)
  (if (agent-q-diff-undo--typed-p)
      (call-interactively #'undo-redo)
    (agent-q-diff-undo--go t)))

(provide 'agent-q-diff-undo)
;;; agent-q-diff-undo.el ends here
