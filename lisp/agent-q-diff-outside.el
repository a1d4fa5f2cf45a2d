;;; agent-q-diff-outside.el --- Edits of the target by others  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tells whoever listens which lines of a buffer were replaced, exactly as
;; it was done.  What does not reach the change hooks (an edit with
;; `inhibit-modification-hooks', one in an indirect buffer) shows in the
;; buffer's tick, which listeners are told from before and after each edit.

;;; Code:

(require 'agent-q-diff-base)

(defvar-local agent-q-diff-outside--listeners nil
  "Functions that are told of edits in this buffer.
See `agent-q-diff-outside-listen'.")
(put 'agent-q-diff-outside--listeners 'permanent-local t)

(defvar-local agent-q-diff-outside--tick nil
  "Tick of this buffer before the edit that is going on, or after the last.")
(put 'agent-q-diff-outside--tick 'permanent-local t)

(defvar agent-q-diff-outside-speaker nil
  "The listener that makes the edits now, and so need not be told of them.")

(defun agent-q-diff-outside-listen (buffer function)
  "Call FUNCTION after each edit in BUFFER, until it ceases to listen.
Its arguments are WAS, NOW, N-BEFORE, N-BEHIND, N-CHARS, TEXT, AT-START
and IS-UNDO.  WAS and NOW are the buffer's ticks before and after.  All
but the first N-BEFORE characters and the last N-BEHIND are now TEXT,
whole lines; there were N-CHARS in all before.  The edit began at the
start of a line if AT-START is non-nil; it undid another if IS-UNDO is."
  (with-current-buffer buffer
    (add-to-list 'agent-q-diff-outside--listeners function)
    (add-hook 'before-change-functions #'agent-q-diff-outside--before nil t)
    (add-hook 'after-change-functions #'agent-q-diff-outside--after nil t)))

(defun agent-q-diff-outside-cease (buffer function)
  "Call FUNCTION no longer after edits in BUFFER."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq agent-q-diff-outside--listeners
            (remq function agent-q-diff-outside--listeners))
      (unless agent-q-diff-outside--listeners
        (remove-hook 'before-change-functions #'agent-q-diff-outside--before t)
        (remove-hook 'after-change-functions #'agent-q-diff-outside--after t)))))

;; A mode that is turned on, as by `revert-buffer', must not end a review.
(put 'agent-q-diff-outside--before 'permanent-local-hook t)
(put 'agent-q-diff-outside--after 'permanent-local-hook t)

;; The hooks run at each of the thousands of edits that a command can make, so
;; they make no garbage that they need not.

(defun agent-q-diff-outside--before (_beg _end)
  "Note the tick before an edit."
  (setq agent-q-diff-outside--tick (buffer-chars-modified-tick)))

(defun agent-q-diff-outside--after (beg end length)
  "Tell that the text from BEG to END is new, in place of LENGTH characters.
Changed text properties are no edit and leave the tick alone."
  (let ((was agent-q-diff-outside--tick)
        (now (buffer-chars-modified-tick)))
    (unless (eq was now)
      (setq agent-q-diff-outside--tick now)
      (cond
       ;; Nobody else listens.
       ((and (eq agent-q-diff-outside-speaker (car agent-q-diff-outside--listeners))
             (null (cdr agent-q-diff-outside--listeners))))
       ((buffer-narrowed-p)
        (save-restriction
          (widen)
          (agent-q-diff-outside--tell was now beg end length)))
       (t (agent-q-diff-outside--tell was now beg end length))))))

(defun agent-q-diff-outside--tell (was now beg end length)
  "Tell every listener but the speaker of new text from BEG to END.
It has taken the place of LENGTH characters; WAS and NOW are the buffer's
ticks.  Lines are not counted: that would take as long as what is above
and below them.  An error in a listener is shown; it must not reach Emacs,
which would take our hook away."
  (let* ((inhibit-quit t)
         (inhibit-field-text-motion t)
         (point (point))
         (first (progn (goto-char beg) (line-beginning-position)))
         (next (progn (goto-char end) (line-beginning-position 2)))
         (text (buffer-substring-no-properties first next))
         (n-chars (+ (- (buffer-size) (- end beg)) length)))
    (goto-char point)
    (dolist (listener agent-q-diff-outside--listeners)
      (unless (eq listener agent-q-diff-outside-speaker)
        (with-demoted-errors "agent-q-diff: %S"
          (funcall listener was now (- first (point-min)) (- (point-max) next)
                   n-chars text (= first beg) undo-in-progress))))))

(provide 'agent-q-diff-outside)
;;; agent-q-diff-outside.el ends here
