;;; agent-q-diff-grace.el --- Keys that come too early are ignored  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A review that has only just appeared, perhaps while the user is typing,
;; ignores the keys that decide for a moment.  So does one to which the user
;; has returned by a key that would decide there if it were typed twice, and
;; one that was selected by something other than a key, say a timer.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-session)

;;;; Grace period

(defconst agent-q-diff-grace--decisions
  '(agent-q-diff-accept-hunk agent-q-diff-reject-hunk agent-q-diff-toggle-hunk
    agent-q-diff-unapply-hunk agent-q-diff-unapply-all agent-q-diff-accept-all agent-q-diff-reject-all
    agent-q-diff-finish agent-q-diff-finish-now agent-q-diff-abort)
  "The commands that decide, or end the review undecided.")

(defvar-local agent-q-diff-grace--end nil
  "Time until which keys that decide are ignored in this buffer, or nil.")

(defvar-local agent-q-diff-grace--why nil
  "Why keys that decide are ignored, as in `agent-q-diff-grace-begin'.")

(defun agent-q-diff-grace-begin (&optional why)
  "Ignore keys that decide in this buffer for a moment.
It has just appeared, perhaps while the user is typing.  If WHY is `return',
the user has returned by a key that could be typed twice; if it is
`selected', the user was typing when something selected this buffer."
  (setq agent-q-diff-grace--end (time-add nil agent-q-diff-grace)
        agent-q-diff-grace--why why)
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
  (message (pcase agent-q-diff-grace--why
             ('return "Ignored: you have only just returned to the review")
             ('selected "Ignored: the review was selected, but not by a key; pause, and try again")
             (_ "Ignored: the review has only just appeared"))))

;;;; Selected by something other than a key

;; The user's hooks and timers can select a review that has appeared.  The keys
;; that follow, however late, were then meant for another buffer.

(defvar agent-q-diff-grace--selected nil
  "The selection after the last command, (WINDOW BUFFER DEPTH).
If that was a minibuffer, DEPTH is its depth, and WINDOW the one from which
it was entered.")

(defun agent-q-diff-grace-note-selected ()
  "Note that a key, or a function that awaits one, made the current selection."
  (let ((window (or (minibuffer-selected-window) (selected-window))))
    (setq agent-q-diff-grace--selected
          (list window (window-buffer window)
                (and (minibuffer-selected-window) (minibuffer-depth))))))

(defun agent-q-diff-grace--selected-p ()
  "Return non-nil if the current selection was made by a command."
  (pcase-let ((`(,window ,buffer ,depth) agent-q-diff-grace--selected))
    (and (eq window (selected-window))
         (eq buffer (window-buffer))
         (or (null depth) (< (minibuffer-depth) depth)))))

(defun agent-q-diff-grace--check-selected ()
  "Ignore a key that decides if no command has selected this buffer.
Ignore further ones until the user has paused."
  (when (and (< 0 agent-q-diff-grace)
             (or (not (agent-q-diff-grace--selected-p))
                 (and (eq 'selected agent-q-diff-grace--why)
                      (time-less-p nil agent-q-diff-grace--end))))
    (agent-q-diff-grace-begin 'selected)
    (agent-q-diff-grace--ignore-in-grace)))

(defun agent-q-diff-grace-watch ()
  "Begin to notice when this buffer is selected by something other than a key."
  (unless (memq #'agent-q-diff-grace-note-selected (default-value 'post-command-hook))
    (agent-q-diff-grace-note-selected)
    ;; Before the user's functions, which may select.
    (add-hook 'post-command-hook #'agent-q-diff-grace-note-selected -95))
  (add-hook 'pre-command-hook #'agent-q-diff-grace--check-selected -95 t))

(defun agent-q-diff-grace-unwatch ()
  "Stop what `agent-q-diff-grace-watch' began; no review is open any more."
  (remove-hook 'post-command-hook #'agent-q-diff-grace-note-selected)
  (setq agent-q-diff-grace--selected nil))

;;;; Returning

(defun agent-q-diff-grace-note-return (&optional buffer)
  "Ignore keys that decide for a moment in BUFFER, where the user is back.
BUFFER is the one in the selected window by default.  If it is not the diff
buffer of an open review, do nothing."
  (with-current-buffer (or buffer (window-buffer))
    (when (and agent-q-diff-buffer-review
               (not (agent-q-diff-buffer-ended-p)))
      (agent-q-diff-grace-begin 'return))))

(defun agent-q-diff-grace--before-quit ()
  "Expect the user to be back in one of the open reviews, by quitting."
  (dolist (review (agent-q-diff-open-reviews))
    (agent-q-diff-grace-note-return (agent-q-diff-session-buffer review))))

(defun agent-q-diff-grace-expect-return ()
  "Let quitting the window of this buffer count as returning to a review.
In the diff buffer, the same key ends the review."
  (add-hook 'quit-window-hook #'agent-q-diff-grace--before-quit nil t))

(provide 'agent-q-diff-grace)
;;; agent-q-diff-grace.el ends here
