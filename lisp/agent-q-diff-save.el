;;; agent-q-diff-save.el --- Saving the target  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Saves a buffer as `save-buffer' does, hooks included, but asks nothing
;; and replaces the file as a whole or not at all.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)

;;;; Checks

(defun agent-q-diff-save-check-writable (buffer)
  "Refuse BUFFER if its file cannot be written.
Create the file's directory if it is missing and may be created."
  (let* ((file (buffer-file-name buffer))
         (directory (file-name-directory file)))
    (unless (file-directory-p directory)
      (unless agent-q-diff-create-directories
        (agent-q-diff-file-refuse "there is no directory %s; create it first"
                                  directory))
      (make-directory directory t))
    (unless (file-writable-p file)
      (agent-q-diff-file-refuse "%s cannot be written" file))))

(defun agent-q-diff-save-check-faithful (buffer)
  "Refuse BUFFER if saving it would change bytes that nobody has edited.
That happens if a file with mixed line ends was visited as CRLF, or if its
coding system does not encode the text to the same bytes again."
  (with-current-buffer buffer
    (unless (or (buffer-modified-p)
                ;; The user has asked for other bytes.
                save-buffer-coding-system
                (and agent-q-diff-coding-chosen
                     (eq agent-q-diff-coding-chosen buffer-file-coding-system))
                (agent-q-diff-disk-ours-p buffer)
                write-region-annotate-functions
                (agent-q-diff-save--same-bytes-p))
      (agent-q-diff-file-refuse
       "saving %s would change bytes elsewhere; C-x RET r utf-8-unix RET in its buffer shows them"
       buffer-file-name))))

(defun agent-q-diff-save--same-bytes-p ()
  "Return non-nil if the current buffer's text, saved, would be its file's bytes.
A file that does not exist has no bytes that could change."
  (let ((coding (agent-q-diff-coding-of-buffer)))
    (or (and (agent-q-diff-coding-plain-p coding)
             (eq 0 (coding-system-eol-type coding)))
        (not (file-exists-p buffer-file-name))
        (agent-q-diff-file-has-bytes-p buffer-file-name
                                       (agent-q-diff-coding-buffer-bytes coding)))))

;;;; Saving

(defun agent-q-diff-save--put (file)
  "Write the text of the current buffer to FILE, which nobody else knows.
If a coding system may not hold every text, the bytes that are written are
checked first."
  (let ((coding (agent-q-diff-coding-of-buffer)))
    (if (or (agent-q-diff-coding-plain-p coding)
            write-region-annotate-functions)
        (let ((create-lockfiles nil))
          (write-region nil nil file nil 'silent))
      (agent-q-diff-coding-choose nil nil)
      (agent-q-diff-file-put (save-restriction
                               (widen)
                               (agent-q-diff-coding-encode (buffer-string) coding))
                             'no-conversion file)
      (setq last-coding-system-used coding))))

(defun agent-q-diff-save--write (check done)
  "Write the current buffer to its file as a whole or not at all.
CHECK is a function or nil, called just before the file is replaced.  DONE
is a function that is called as soon as the file is written, whatever
happens then."
  (let ((name (file-truename buffer-file-name))
        coding)
    (agent-q-diff-file-check-regular name)
    (when (file-exists-p name)
      (let ((backup-by-copying t))
        (backup-buffer)))
    (agent-q-diff-file-replace (file name)
      (progn
        (agent-q-diff-save--put file)
        (setq coding last-coding-system-used))
      (progn
        (when check
          (funcall check))
        (agent-q-diff-disk-check-editable (current-buffer)))
      (set-buffer-modified-p nil)
      (set-buffer-auto-saved)
      (funcall done)
      ;; Last, since on another host these can fail.
      (set-visited-file-modtime)
      (agent-q-diff-disk-note 'written))
    ;; `basic-save-buffer' makes this the buffer's coding system.
    (setq last-coding-system-used coding)))

(defun agent-q-diff-save-buffer (buffer &optional check done)
  "Save BUFFER without a question and without adding a final newline.
Hooks run as for `save-buffer', but the file is replaced as a whole or not
at all.  CHECK is as for `agent-q-diff-apply--carry-out'.  DONE is a
function or nil, called as soon as we have written the file."
  (with-current-buffer buffer
    (let* ((is-ours nil)
           (writer (lambda ()
                     (agent-q-diff-save--write check
                                               (lambda ()
                                                 (setq is-ours t)
                                                 (when done
                                                   (funcall done))))
                     t)))
      (unwind-protect
          (progn
            ;; Last, so that other functions that write files come first.
            (add-hook 'write-file-functions writer 100 t)
            (agent-q-diff-save--run (lambda () is-ours)))
        (remove-hook 'write-file-functions writer t))
      (unless (or is-ours (buffer-live-p buffer))
        (agent-q-diff-file-refuse "a hook has killed the buffer before it was saved"))
      ;; A hook may have edited the buffer again after it was saved.
      (unless (or is-ours (not (buffer-modified-p)))
        (agent-q-diff-file-refuse "%s could not be saved" buffer-file-name))
      (unless is-ours
        (agent-q-diff-disk-note)))))

(defun agent-q-diff-save--run (written-p)
  "Call `basic-save-buffer' so that it asks nothing, in the buffer's coding system.
An error after the text is on disk does not undo it; it is only shown.
WRITTEN-P is a function that returns non-nil if we have written the file."
  (let ((require-final-newline nil)
        (mode-require-final-newline nil)
        (coding-system-for-write nil)
        (select-safe-coding-system-function #'agent-q-diff-coding-choose)
        (save-silently t))
    (condition-case err
        (basic-save-buffer nil)
      ((error quit)
       (when (and (buffer-modified-p) (not (funcall written-p)))
         (signal (car err) (cdr err)))
       (message "Saved, but a hook failed: %s" (error-message-string err))))))

(provide 'agent-q-diff-save)
;;; agent-q-diff-save.el ends here
