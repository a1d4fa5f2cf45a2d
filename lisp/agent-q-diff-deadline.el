;;; agent-q-diff-deadline.el --- How long an agent goes on waiting  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent waits for a decision only so long.  The last minutes before that
;; are shown in the header line of the review and in the list of reviews, and
;; the user is told of them twice in the echo area.

;;; Code:

(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-session)
(require 'agent-q-diff-display)
(require 'agent-q-diff-reviews)

(defvar agent-q-diff-deadline--timer nil
  "Timer that runs when what is shown of some deadline changes, or nil.")

(defvar-local agent-q-diff-deadline--minutes nil
  "The minutes that were left when that was last shown, or nil.")

(defun agent-q-diff-deadline-begin (review seconds)
  "Have REVIEW show that its caller waits for SECONDS from now."
  (setf (agent-q-diff-session-deadline review) (time-add nil seconds))
  (with-current-buffer (agent-q-diff-session-buffer review)
    (setq agent-q-diff-deadline--minutes (agent-q-diff-session-minutes-left review)))
  (agent-q-diff-deadline--update))

(defun agent-q-diff-deadline--change-after (seconds)
  "Return when something else is shown, with SECONDS left: a number of seconds.
If nothing else will be shown, return nil."
  (let ((near (* 60 agent-q-diff-session-near-minutes)))
    (cond
     ((<= seconds 60) nil)
     ((< near seconds) (- seconds near))
     ;; A moment after the minute, so that it has passed.
     (t (+ 0.1 (mod seconds 60))))))

(defun agent-q-diff-deadline--update ()
  "Show the deadlines of all open reviews, and do so again when they change."
  (when agent-q-diff-deadline--timer
    (cancel-timer agent-q-diff-deadline--timer)
    (setq agent-q-diff-deadline--timer nil))
  (let (changes)
    (dolist (review (agent-q-diff-open-reviews))
      (when-let ((seconds (agent-q-diff-session-seconds-left review)))
        (agent-q-diff-deadline--show review)
        (when-let ((change (agent-q-diff-deadline--change-after seconds)))
          (push change changes))))
    (when changes
      (setq agent-q-diff-deadline--timer
            (run-with-timer (apply #'min changes) nil #'agent-q-diff-deadline--update)))))

(defun agent-q-diff-deadline--show (review)
  "Show the minutes that are left for REVIEW, if they are few."
  (let ((minutes (agent-q-diff-session-minutes-left review))
        (buffer (agent-q-diff-session-buffer review)))
    (when (and minutes (buffer-live-p buffer))
      (with-current-buffer buffer
        (unless (eql minutes agent-q-diff-deadline--minutes)
          (setq agent-q-diff-deadline--minutes minutes)
          (when (memq minutes (list 1 agent-q-diff-session-near-minutes))
            (message (ngettext "%s waits only %d more minute for your decision on %s"
                               "%s waits only %d more minutes for your decision on %s"
                               minutes)
                     (agent-q-diff-visible
                      (or (agent-q-diff-session-agent review) "The agent"))
                     minutes (agent-q-diff-session-name review))))
        (agent-q-diff-progress-refresh)))))

(provide 'agent-q-diff-deadline)
;;; agent-q-diff-deadline.el ends here
