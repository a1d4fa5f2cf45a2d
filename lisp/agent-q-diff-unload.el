;;; agent-q-diff-unload.el --- Removes the package from Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `unload-feature' removes functions, variables and hooks, but ends nothing:
;; reviews, timers, connections and buffers would go on with functions that
;; no longer exist.  This file ends them, and then unloads
;; every feature of the package.  Features are recognized by their names, so
;; a new file needs no entry here.

;;; Code:

(require 'seq)

(declare-function agent-q-diff-lifecycle-end-by-program "agent-q-diff-lifecycle" (review outcome))
(declare-function agent-q-diff-open-reviews "agent-q-diff-session" ())
(declare-function agent-q-diff-file-forget-record "agent-q-diff-file" ())
(declare-function agent-q-diff-pending-marks-insert-section "agent-q-diff-pending-marks" ())
(declare-function agent-q-diff-pending-marks-after-stage "agent-q-diff-pending-marks" ())
(declare-function agent-q-diff-serve-stop "agent-q-diff-server" (&optional by-key))

(defun agent-q-diff-unload--ours-p (symbol)
  "Return non-nil if SYMBOL is a name of the package."
  (and (symbolp symbol)
       (string-match-p "\\`\\(?:sly-\\)?agent-q-" (symbol-name symbol))))

(defun agent-q-diff-unload--features ()
  "Return the loaded features of the package, the last loaded first.
The module is not among them: Emacs cannot unload one."
  (remq 'agent-q-diff-module
        (seq-filter #'agent-q-diff-unload--ours-p features)))

(defun agent-q-diff-unload--buffers ()
  "Return the buffers that show something of the package."
  (seq-filter (lambda (buffer)
                (with-current-buffer buffer
                  (or (agent-q-diff-unload--ours-p major-mode)
                      (bound-and-true-p agent-q-diff-edit-mode)
                      (string-match-p "\\` ?\\*agent-q-diff " (buffer-name)))))
              (buffer-list)))

(defun agent-q-diff-unload--end ()
  "End every review, connection, timer and process, and kill the buffers."
  (when (fboundp 'agent-q-diff-open-reviews)
    ;; The messages about each end name commands that are removed, too.
    (let ((inhibit-message t)
          (message-log-max nil))
      (dolist (review (agent-q-diff-open-reviews))
        (agent-q-diff-lifecycle-end-by-program review 'aborted))))
  (when (fboundp 'agent-q-diff-serve-stop)
    (agent-q-diff-serve-stop))
  (when (fboundp 'agent-q-diff-file-forget-record)
    (agent-q-diff-file-forget-record))
  (dolist (timer (append timer-list timer-idle-list))
    (when (agent-q-diff-unload--ours-p (timer--function timer))
      (cancel-timer timer)))
  (dolist (process (process-list))
    (when (string-prefix-p "agent-q-diff" (process-name process))
      (delete-process process)))
  (dolist (buffer (agent-q-diff-unload--buffers))
    (with-current-buffer buffer
      (set-buffer-modified-p nil)
      (let ((kill-buffer-query-functions nil))
        (kill-buffer)))))

(defvar project-switch-commands)

(defun agent-q-diff-unload--leave-lists ()
  "Remove the package from lists of other packages, loaded or not."
  (dolist (entry after-load-alist)
    (setcdr entry (seq-remove (lambda (function)
                                (string-search "agent-q-diff" (prin1-to-string function)))
                              (cdr entry))))
  (setq after-load-alist (seq-filter #'cdr after-load-alist))
  (when (boundp 'magit-status-sections-hook)
    (remove-hook 'magit-status-sections-hook #'agent-q-diff-pending-marks-insert-section))
  (setq ignored-local-variables
        (seq-remove #'agent-q-diff-unload--ours-p ignored-local-variables))
  (remove-hook 'magit-post-stage-hook #'agent-q-diff-pending-marks-after-stage)
  (when (consp (bound-and-true-p project-switch-commands))
    (setq project-switch-commands
          (seq-remove (lambda (entry)
                        (agent-q-diff-unload--ours-p (car-safe entry)))
                      project-switch-commands))))

(defun agent-q-diff-unload--forget ()
  "Remove the package's names from Emacs's own lists.
`unload-feature' leaves minor modes, groups and keys where they are."
  (agent-q-diff-unload--leave-lists)
  (dolist (mode (seq-filter #'agent-q-diff-unload--ours-p minor-mode-list))
    (when (and (boundp mode) (default-value mode))
      (funcall mode -1)))
  (dolist (variable '(minor-mode-list global-minor-modes abbrev-table-name-list))
    (when (boundp variable)
      (set-default variable (seq-remove #'agent-q-diff-unload--ours-p
                                        (default-value variable)))))
  (dolist (variable '(minor-mode-alist minor-mode-map-alist))
    (set variable (seq-remove (lambda (entry)
                                (agent-q-diff-unload--ours-p (car entry)))
                              (symbol-value variable))))
  (dolist (group '(tools faces))
    (put group 'custom-group
         (seq-remove (lambda (member)
                       (agent-q-diff-unload--ours-p (car member)))
                     (get group 'custom-group))))
  (setcdr global-map (assq-delete-all 'agent-q-diff-wake (cdr global-map))))

;;;###autoload
(defun agent-q-diff-unload ()
  "Remove the whole package from Emacs.
Open reviews are cancelled, and their agents told so; what was accepted
stays in the files.  The engine stays in memory, since Emacs cannot unload
a module, and is used again if the package is loaded again."
  (interactive)
  (unless (zerop (recursion-depth))
    (user-error "Leave the recursive edit first (C-])"))
  (let ((n (if (fboundp 'agent-q-diff-open-reviews)
               (length (agent-q-diff-open-reviews))
             0)))
    (when (and (> n 0) (called-interactively-p 'any)
               (not (yes-or-no-p (format (ngettext "Cancel %d open review? "
                                                   "Cancel %d open reviews? " n)
                                         n))))
      (user-error "Not unloaded")))
  (agent-q-diff-unload--end)
  (agent-q-diff-unload--forget)
  ;; This file is unloaded last; after that, nothing in it is called.
  (let ((all (agent-q-diff-unload--features)))
    (dolist (feature (append (remq 'agent-q-diff-unload all) '(agent-q-diff-unload)))
      (unload-feature feature t))
    (message "Unloaded %d features of agent-q-diff" (length all))))

(provide 'agent-q-diff-unload)
;;; agent-q-diff-unload.el ends here
