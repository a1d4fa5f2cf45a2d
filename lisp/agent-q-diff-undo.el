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
(require 'agent-q-diff-display)
(require 'agent-q-diff-split)

(defun agent-q-diff-undo--decision (change is-redo)
  "Undo the latest decision on CHANGE, or redo it if IS-REDO is non-nil.
Return its hunks."
  (let ((hunks (condition-case nil
                   (agent-q-diff-decide-back change is-redo)
                 ;; The name of the error says it all.
                 (agent-q-diff-nothing-to-take-back
                  (signal 'agent-q-diff-nothing-to-take-back nil)))))
    (agent-q-diff-signs-show-committed)
    (when (agent-q-diff-change-follow change)
      (agent-q-diff-signs-show-all))
    hunks))

(defun agent-q-diff-undo--say (what hunks)
  "Move to the first of HUNKS, and show a message that WHAT was done to them."
  (agent-q-diff-buffer-goto-hunk (car hunks))
  (message "%s %s" what
           (if (cdr hunks)
               (format "%d hunks" (length hunks))
             (agent-q-diff-buffer-hunk-words (car hunks)))))

(defun agent-q-diff-undo--back ()
  "Undo the latest decision or split and show a message about it.
A split that was made for a decision, as for lines of the region, is undone
along with it."
  (let* ((change (agent-q-diff-signs-follow))
         (hunk (agent-q-diff-split-undo change nil)))
    (if hunk
        (agent-q-diff-undo--say "Undid the split of" (list hunk))
      (let ((hunks (agent-q-diff-undo--decision change nil))
            joined)
        ;; Parts that cannot be joined any more stay.
        (ignore-error agent-q-diff-conflict
          (while (setq hunk (agent-q-diff-split-undo change t))
            (setq joined hunk)))
        (if joined
            (agent-q-diff-undo--say "Undid the decision on lines of" (list joined))
          (agent-q-diff-undo--say "Undid the decision on" hunks))))))

(defun agent-q-diff-undo--again ()
  "Redo the decision or split that was undone last and show a message about it."
  (let* ((change (agent-q-diff-signs-follow))
         (split (agent-q-diff-split-redo change))
         (next split))
    (while (cdr next)
      (setq next (agent-q-diff-split-redo change)))
    (cond
     ((null split)
      (agent-q-diff-undo--say "Redid the decision on"
                              (agent-q-diff-undo--decision change t)))
     ((cdr split)
      (agent-q-diff-undo--say "Redid the decision on lines of"
                              (last (agent-q-diff-undo--decision change t))))
     (t (agent-q-diff-undo--say "Redid the split of" (list (car split)))))))

(defun agent-q-diff-undo ()
  "Undo the latest decision, in this buffer and in the file, or the latest split.
Repeat to undo the one before.  In a diff that you can edit, undo what was
typed."
  (interactive)
  (if (agent-q-diff-buffer-typed-p)
      (call-interactively #'undo)
    (agent-q-diff-undo--back)))

(defun agent-q-diff-redo ()
  "Redo a decision that was undone with \\[agent-q-diff-undo].
In a diff that you can edit, redo what was undone."
  (interactive)
  (if (agent-q-diff-buffer-typed-p)
      (call-interactively #'undo-redo)
    (agent-q-diff-undo--again)))

(provide 'agent-q-diff-undo)
;;; agent-q-diff-undo.el ends here
