;;; agent-q-diff-motion.el --- From hunk to hunk, and to the target  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Commands that only move or show.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-target)
(require 'agent-q-diff-review)
(require 'agent-q-diff-view)

(defun agent-q-diff--say-state ()
  "Say the state of the hunk at point."
  (pcase-let* ((hunk (agent-q-diff--hunk-here))
               (`(,mark ,is-in ,reason ,place) (agent-q-diff--state-of hunk)))
    (message "Hunk %s (%d of %d)%s"
             (or mark 'pending) (1+ hunk) (length agent-q-diff--positions)
             (cond
              ((eq place 'lost) "; its lines were changed in the file since")
              ((and is-in (not (eq mark 'applied))) "; its change is in the file")
              ((and (not is-in) (eq mark 'applied)) "; its change is not in the file")
              ((and reason (null mark)
                    (agent-q-diff-review-target agent-q-diff--review))
               (concat "; " reason))
              ((and (integerp place) (null mark))
               (format "; shifted by %d line%s" place
                       (if (= 1 (abs place)) "" "s")))
              (t "")))))

(defun agent-q-diff--state-of (hunk)
  "Return (MARK FACT REASON PLACE) of HUNK, as `agent-q-diff-engine-state' does.
Once the review has ended, only the mark is known."
  (if (agent-q-diff--ended-p)
      (let ((mark (alist-get (aref agent-q-diff--positions hunk)
                             agent-q-diff--hunk-states)))
        (list mark (eq mark 'applied) nil))
    (agent-q-diff-engine-state (agent-q-diff-review-engine agent-q-diff--review)
                               hunk)))

(defun agent-q-diff-next-hunk (&optional n)
  "Move to the Nth next hunk and say its state.
Before the first hunk, the first one is next."
  (interactive "p")
  (agent-q-diff--move (or n 1)))

(defun agent-q-diff-previous-hunk (&optional n)
  "Move to the Nth previous hunk and say its state."
  (interactive "p")
  (agent-q-diff--move (- (or n 1))))

(defun agent-q-diff--move (n)
  "Move N hunks down and say where that is.
In a buffer that is not a diff, move as `diff-mode' does."
  (if (not (or (agent-q-diff--ended-p) (agent-q-diff--review-or-nil)))
      (diff-hunk-next n)
    (let* ((here (or (agent-q-diff--hunk-at-point) -1))
           (last (1- (length agent-q-diff--positions)))
           (there (min last (max 0 (+ here n)))))
      (setq there (agent-q-diff--visible-hunk there (if (< n 0) -1 1) here))
      (agent-q-diff--goto-hunk (max 0 there))
      (if (eq here there)
          (message (if (> n 0) "No next hunk" "No previous hunk"))
        (agent-q-diff--say-state)))))

(defun agent-q-diff--visible-hunk (hunk step default)
  "Return HUNK, or the next one in the direction of STEP that is not hidden.
If there is none, return DEFAULT."
  (let ((n (length agent-q-diff--positions)))
    (while (and (< -1 hunk n)
                (invisible-p (aref agent-q-diff--positions hunk)))
      (cl-incf hunk step))
    (if (< -1 hunk n) hunk default)))

(defun agent-q-diff-next-conflict (&optional n)
  "Move to the Nth next hunk that does not apply, and say why."
  (interactive "p")
  (let* ((review (agent-q-diff--review-with-target))
         (here (or (agent-q-diff--hunk-at-point) -1))
         (conflicts (agent-q-diff--conflicts review))
         (n (or n 1))
         (ahead (if (> n 0)
                    (seq-filter (lambda (hunk) (> hunk here)) conflicts)
                  (nreverse (seq-filter (lambda (hunk) (< hunk here)) conflicts))))
         (there (nth (1- (abs n)) ahead)))
    (if (not there)
        (message (if (> n 0)
                     "No further hunk fails to apply"
                   "No earlier hunk fails to apply"))
      (agent-q-diff--goto-hunk there)
      (agent-q-diff--say-state))))

(defun agent-q-diff-previous-conflict (&optional n)
  "Move to the Nth previous hunk that does not apply, and say why."
  (interactive "p")
  (agent-q-diff-next-conflict (- (or n 1))))

(defun agent-q-diff--conflicts (review)
  "Return the hunks of REVIEW that have no place in the target."
  (cl-loop for hunk below (length agent-q-diff--positions)
           when (nth 2 (agent-q-diff-engine-state
                        (agent-q-diff-review-engine review) hunk))
           collect hunk))

(defun agent-q-diff-preview-hunk ()
  "Show the place of the hunk at point in the target, in another window."
  (interactive)
  (condition-case err
      (let* ((review (agent-q-diff--review-with-target))
             (buffer (agent-q-diff-review-target review))
             (line (car (agent-q-diff-engine-place
                         (agent-q-diff-review-engine review)
                         (agent-q-diff--hunk-here)))))
        (agent-q-diff--show-target buffer line))
    (user-error (signal (car err) (cdr err)))
    (error (message "No place to show: %s" (agent-q-diff--error-text err)))))

(defun agent-q-diff--show-target (buffer line)
  "Show LINE, counted from 0, of BUFFER in another window."
  (let ((position (agent-q-diff-target-position buffer line))
        (window (display-buffer buffer '(nil (inhibit-same-window . t)))))
    (set-window-point window position)
    (with-selected-window window
      (goto-char position)
      (recenter))
    (message "Line %d of %s" (1+ line) (buffer-name buffer))))

(provide 'agent-q-diff-motion)
;;; agent-q-diff-motion.el ends here
