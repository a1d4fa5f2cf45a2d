;;; agent-q-diff-grace.el --- Keys that come too early are ignored  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A review that has only just appeared, perhaps while the user is typing,
;; ignores the keys that decide for a moment.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-finish)
(require 'agent-q-diff-commands)

;;;; Grace period

(defconst agent-q-diff-grace--decisions
  '(agent-q-diff-accept-hunk agent-q-diff-reject-hunk agent-q-diff-toggle-hunk
    agent-q-diff-unapply-hunk agent-q-diff-unapply-all agent-q-diff-accept-all agent-q-diff-reject-all
    agent-q-diff-finish agent-q-diff-finish-now agent-q-diff-abort)
  "The commands that decide, or end the review undecided.")

(defvar-local agent-q-diff-grace--end nil
  "Time until which keys that decide are ignored in this buffer, or nil.")

(defun agent-q-diff-grace-begin ()
  "Ignore keys that decide in this buffer for a moment.
It has just appeared, perhaps while the user is typing."
  (setq agent-q-diff-grace--end (time-add nil agent-q-diff-grace))
  (add-hook 'pre-command-hook #'agent-q-diff-grace--ignore-in-grace nil t))

(defun agent-q-diff-grace--ignore-in-grace ()
  "Replace a command that decides by one that does nothing, if it is too early.
Keys of a keyboard macro, and all keys of a batch Emacs, are not ignored:
they come from a program, which does not type ahead by mistake."
  (if (time-less-p agent-q-diff-grace--end nil)
      (remove-hook 'pre-command-hook #'agent-q-diff-grace--ignore-in-grace t)
    (when (and (not executing-kbd-macro)
               (not noninteractive)
               (memq (indirect-function this-command)
                     (mapcar #'indirect-function agent-q-diff-grace--decisions)))
      (setq this-command #'agent-q-diff-ignore-key))))

(defun agent-q-diff-ignore-key ()
  "Show a message that a key that decides was ignored."
  (interactive)
  (message "Ignored: the review has only just appeared"))

(provide 'agent-q-diff-grace)
;;; agent-q-diff-grace.el ends here
