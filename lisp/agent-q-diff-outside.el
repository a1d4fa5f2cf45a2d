;;; agent-q-diff-outside.el --- Edits of the target by others  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tells listeners exactly which lines of a buffer each edit replaced.  Edits
;; that bypass the change hooks (with `inhibit-modification-hooks', or in an
;; indirect buffer) can be recognized by the buffer's tick, which listeners
;; get from before and after each edit.

;;; Code:

(require 'agent-q-diff-base)

(defvar-local agent-q-diff-outside--listeners nil
  "Functions that are called after edits in this buffer.
See `agent-q-diff-outside-listen'.")
(put 'agent-q-diff-outside--listeners 'permanent-local t)

(defvar-local agent-q-diff-outside--tick nil
  "Tick of this buffer before the current edit, or after the last one.")
(put 'agent-q-diff-outside--tick 'permanent-local t)

(defvar agent-q-diff-outside-speaker nil
  "The listener that makes the current edits, and so does not get them reported.")

(defun agent-q-diff-outside-listen (buffer function)
  "Call FUNCTION after each edit in BUFFER, until `agent-q-diff-outside-cease'.
Its arguments are WAS, NOW, N-BEFORE, N-BEHIND, N-CHARS, TEXT and IS-UNDO.
WAS and NOW are the buffer's ticks before and after.  All but the first
N-BEFORE characters and the last N-BEHIND are now TEXT; before, there were
N-CHARS in all.  IS-UNDO is non-nil if the edit undid another."
  (with-current-buffer buffer
    (add-to-list 'agent-q-diff-outside--listeners function)
    ;; Between our two hooks, other people's must not edit unseen.
    (add-hook 'before-change-functions #'agent-q-diff-outside--before 100 t)
    (add-hook 'after-change-functions #'agent-q-diff-outside--after -100 t)))

(defun agent-q-diff-outside-cease (buffer function)
  "Stop calling FUNCTION after edits in BUFFER."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq agent-q-diff-outside--listeners
            (remq function agent-q-diff-outside--listeners))
      (unless agent-q-diff-outside--listeners
        (remove-hook 'before-change-functions #'agent-q-diff-outside--before t)
        (remove-hook 'after-change-functions #'agent-q-diff-outside--after t)))))

;; Turning on a mode, as `revert-buffer' does, must not remove these hooks.
(put 'agent-q-diff-outside--before 'permanent-local-hook t)
(put 'agent-q-diff-outside--after 'permanent-local-hook t)

;; The hooks run at each of the thousands of edits that a command can make, so
;; they avoid garbage.

(defun agent-q-diff-outside--before (_beg _end)
  "Note the tick before an edit."
  (setq agent-q-diff-outside--tick (agent-q-diff-base-tick)))

(defun agent-q-diff-outside--after (beg end length)
  "Report that the text from BEG to END replaced LENGTH characters.
A change of text properties is no edit; it leaves the tick as it is."
  (let ((was agent-q-diff-outside--tick)
        (now (agent-q-diff-base-tick)))
    (unless (eq was now)
      (setq agent-q-diff-outside--tick now)
      (cond
       ;; The speaker is the only listener.
       ((and (eq agent-q-diff-outside-speaker (car agent-q-diff-outside--listeners))
             (null (cdr agent-q-diff-outside--listeners))))
       ((buffer-narrowed-p)
        (save-restriction
          (widen)
          (agent-q-diff-outside--tell was now beg end length)))
       (t (agent-q-diff-outside--tell was now beg end length))))))

(defun agent-q-diff-outside--tell (was now beg end length)
  "Tell every listener except the speaker about new text from BEG to END.
It replaced LENGTH characters; WAS and NOW are the buffer's ticks.  Lines
are not counted, since that would take time in proportion to the text above
and below.  An error in a listener is only shown: if it reached Emacs, that
would remove our hook."
  (let ((inhibit-quit t)
        (n-before (- beg (point-min)))
        (n-behind (- (point-max) end))
        (n-chars (+ (- (buffer-size) (- end beg)) length))
        (text (buffer-substring-no-properties beg end)))
    (dolist (listener agent-q-diff-outside--listeners)
      (unless (eq listener agent-q-diff-outside-speaker)
        (with-demoted-errors "agent-q-diff: %S"
          (funcall listener was now n-before n-behind n-chars text undo-in-progress))))))

(provide 'agent-q-diff-outside)
;;; agent-q-diff-outside.el ends here
