;;; agent-q-diff-transaction.el --- Several files changed, all or none  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A command can change several files.  Each of them is changed whole or not
;; at all by what carries that out; here, what was done to some of them is
;; taken back if it fails in another.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)

(defun agent-q-diff-transaction-run (actions)
  "Carry out ACTIONS, all or none.
An action is a function that is called with one argument.  If that is
non-nil, it returns a function without arguments that takes it back; for
the last action, which nothing can follow, it is nil.  If an action signals
an error or is quit, it has changed nothing, and those before it are taken
back, the latest first."
  (let ((taken nil)
        (is-done nil)
        ;; Garbage collection must not truncate an undo list that is needed.
        (undo-outer-limit nil)
        (undo-limit most-positive-fixnum)
        (undo-strong-limit most-positive-fixnum))
    (unwind-protect
        (progn
          (while actions
            (push (funcall (car actions) (cdr actions)) taken)
            (setq actions (cdr actions)))
          (setq is-done t))
      (unless is-done
        (agent-q-diff-transaction--take-back taken)))))

(defun agent-q-diff-transaction--take-back (taken)
  "Call each of TAKEN, functions; warn about those that fail."
  (let ((inhibit-quit t))
    (dolist (back taken)
      (condition-case err
          (funcall back)
        (error
         (agent-q-diff-base-warn
          (format "A command failed, and a file could not be put back: %s"
                  (agent-q-diff-error-text err))))))))

;;;; A file and its buffer

(defun agent-q-diff-transaction-edit (buffer function)
  "Call FUNCTION, an edit of BUFFER and perhaps a save.
FUNCTION has no arguments.  Return a function that makes BUFFER and its
file as they were before."
  (let* ((name (buffer-file-name buffer))
         (file (and name (file-truename name)))
         (missing (and file (agent-q-diff-file-missing-directories file)))
         (bytes (and file (file-exists-p file) (agent-q-diff-file-bytes file)))
         (was-modified (buffer-modified-p buffer))
         (group (prepare-change-group buffer)))
    (activate-change-group group)
    (funcall function)
    (lambda ()
      (when (buffer-live-p buffer)
        (cancel-change-group group))
      (when file
        (condition-case err
            (agent-q-diff-transaction--restore-file file bytes missing)
          (error
           (agent-q-diff-file-refuse "%s still has the change (%s)"
                                     file (agent-q-diff-error-text err))))
        (when (buffer-live-p buffer)
          (with-current-buffer buffer
            (if bytes
                (set-visited-file-modtime)
              (set-visited-file-modtime -1))
            (set-buffer-modified-p was-modified)
            (agent-q-diff-disk-note)))))))

(defun agent-q-diff-transaction--restore-file (file bytes missing)
  "Give FILE its old BYTES, or delete it and MISSING if BYTES is nil.
MISSING are directories that did not exist, innermost first."
  (cond
   ((null bytes)
    (when (file-exists-p file)
      (delete-file file))
    (agent-q-diff-file-remove-directories missing))
   ((not (and (file-exists-p file)
              (agent-q-diff-file-has-bytes-p file bytes)))
    (agent-q-diff-file-write-bytes file bytes))))

(provide 'agent-q-diff-transaction)
;;; agent-q-diff-transaction.el ends here
