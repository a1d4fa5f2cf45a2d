;;; agent-q-diff-apply.el --- Edits of the target as one undo step  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Carries out what a command has planned: all edits are one undo step, and
;; are saved if requested.  If anything fails, the buffer is as it was.

;;; Code:

(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-save)

(defun agent-q-diff-apply--carry-out (buffer texts edit save check)
  "Call EDIT in BUFFER as one undo step, and save it if SAVE is non-nil.
TEXTS are the strings that EDIT inserts.  CHECK is nil or a function that
is called just before the file is replaced, and signals an error if the
file must not be written.  If anything fails, saving included, signal an
error and leave BUFFER as it was.

Return the tick of BUFFER after the edit and before saving, so that what
a hook changes while saving is not mistaken for our edit."
  (agent-q-diff-file-uncached
    (let ((missing (and save
                        (not (file-exists-p (buffer-file-name buffer)))
                        (agent-q-diff-file-missing-directories
                         (buffer-file-name buffer))))
          (is-done nil))
      (unwind-protect
          (prog1 (agent-q-diff-apply--edit-and-save buffer texts edit save check)
            (setq is-done t))
        (unless is-done
          (agent-q-diff-file-remove-directories missing))))))

(defvar agent-q-diff-apply-text-before-hooks nil
  "(BUFFER . TEXT) from before the first edit of a hook in the latest save, or nil.")

(defun agent-q-diff-apply--saving (buffer function)
  "Save BUFFER by calling FUNCTION, and note what hooks change meanwhile."
  (let ((note (lambda (&rest _)
                (unless agent-q-diff-apply-text-before-hooks
                  (setq agent-q-diff-apply-text-before-hooks
                        (cons buffer (agent-q-diff-text-in buffer)))))))
    (setq agent-q-diff-apply-text-before-hooks nil)
    (with-current-buffer buffer
      (add-hook 'before-change-functions note nil t))
    (unwind-protect (funcall function)
      (when (buffer-live-p buffer)
        (with-current-buffer buffer
          (remove-hook 'before-change-functions note t))))))

(defun agent-q-diff-apply--edit-and-save (buffer texts edit save check)
  "Edit BUFFER and save it, for `agent-q-diff-apply--carry-out'.
BUFFER, TEXTS, EDIT, SAVE and CHECK are that function's.  It also removes
directories that were made for a file that is then refused."
  (agent-q-diff-disk-check-editable buffer)
  (when save
    (agent-q-diff-save-check-writable buffer)
    (agent-q-diff-save-check-faithful buffer))
  (dolist (text texts)
    (agent-q-diff-coding-check-text buffer text))
  (let (tick)
    (agent-q-diff-apply--as-one-step
     buffer
     (lambda (keep)
       (save-excursion
         (funcall edit))
       (setq tick (agent-q-diff-base-tick buffer))
       (when save
         (agent-q-diff-apply--saving
          buffer (lambda () (agent-q-diff-save-buffer buffer check keep))))))
    tick))

(defun agent-q-diff-apply--as-one-step (buffer function)
  "Call FUNCTION in BUFFER so that its edits there are one undo step.
If FUNCTION does not return, BUFFER is as it was before.  FUNCTION gets
one argument, a function without arguments.  Once it has called that, the
edit is on disk and stays, even if a hook kills BUFFER or throws past us."
  (with-current-buffer buffer
    (undo-boundary)
    (let ((group (prepare-change-group))
          (is-kept nil)
          ;; As in `atomic-change-group': garbage collection must not
          ;; truncate the undo list that is needed to go back.
          (undo-outer-limit nil)
          (undo-limit most-positive-fixnum)
          (undo-strong-limit most-positive-fixnum))
      (unwind-protect
          (progn
            (activate-change-group group)
            (funcall function (lambda () (setq is-kept t)))
            (setq is-kept t))
        (when (buffer-live-p buffer)
          (if is-kept
              (accept-change-group group)
            (cancel-change-group group))))
      (when (buffer-live-p buffer)
        (with-current-buffer buffer
          (undo-amalgamate-change-group group)
          (undo-boundary))))))

(defun agent-q-diff-apply-edits (buffer edits save &optional offsets check)
  "Make EDITS in BUFFER as one undo step, and save it if SAVE is non-nil.
EDITS is a list of (LINE N-REMOVED TEXT), last line first.  Lines are
counted from 0 in the whole buffer.  OFFSETS is nil or (TOTAL . LIST),
with the number of characters before each edit; LIST is used only if
BUFFER has TOTAL characters.  CHECK, errors and value are as for
`agent-q-diff-apply--carry-out'."
  (agent-q-diff-apply--carry-out
   buffer (mapcar #'caddr edits)
   (lambda () (agent-q-diff-text-replace-lines edits offsets))
   save check))

(defun agent-q-diff-apply-replacement (buffer spans text save &optional check)
  "Replace each of SPANS of BUFFER by TEXT as one undo step.
SPANS is a sorted list of disjoint (START . END), characters counted from
0 in the whole buffer.  If SAVE is non-nil, save BUFFER.  CHECK, errors and
value are as for `agent-q-diff-apply--carry-out'."
  (agent-q-diff-apply--carry-out
   buffer (list text)
   (lambda ()
     (save-restriction
       (widen)
       (pcase-dolist (`(,start . ,end) (reverse spans))
         (agent-q-diff-text-replace-span (1+ start) (1+ end) text))))
   save check))

(provide 'agent-q-diff-apply)
;;; agent-q-diff-apply.el ends here
