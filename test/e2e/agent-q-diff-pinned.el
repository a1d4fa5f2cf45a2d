;;; agent-q-diff-pinned.el --- Makes every screen the same everywhere  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Loaded into an Emacs whose screen is compared as a whole.  What of it is
;; no work of the package's and differs by version, by machine or by the
;; speed of one's fingers is turned off here, or always the same.  And the
;; commands that were run are noted.

;;; Code:

(require 'agent-q-diff)
;; When a mode's command first loads it, Emacs 30 says something of its own.
(require 'cus-edit)

(defvar pinned-ran '()
  "The commands that were run since this was last emptied, the latest first.")

(defun pinned-note ()
  "Note the command that is about to run, or was called by its name."
  (unless (eq this-command (car pinned-ran))
    (push this-command pinned-ran)))

(add-hook 'pre-command-hook #'pinned-note)
(add-hook 'post-command-hook #'pinned-note)

;; Emacs 30 says in its mode line what 28 does not.
(setq-default mode-line-format
              '(" %b   L%l   %[(" mode-name minor-mode-alist ")%]" global-mode-string))
(setq eldoc-minor-mode-string nil
      ;; What is said a while after a key.
      echo-keystrokes 0
      suggest-key-bindings nil
      minibuffer-message-timeout nil)
(global-eldoc-mode -1)
;; It comes at some time after the first test may have begun.
(advice-add 'display-startup-echo-area-message :override (lambda () (message nil)))
(add-hook 'emacs-startup-hook #'delete-other-windows 90)

;;; agent-q-diff-pinned.el ends here
