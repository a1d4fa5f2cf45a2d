;;; agent-q-diff-session.el --- A review: changes, diff buffer and caller  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The struct is what a user calls a review; it is not named so because
;; `agent-q-diff-review' is the function that begins one.  It holds the change
;; to be decided, the diff buffer that shows it, the agent that
;; proposes it, the caller that waits for the answer, and the answer.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)

(cl-defstruct (agent-q-diff-session (:constructor agent-q-diff-session-create)
                                    (:copier nil))
  "A review.
The short slots come first, since `eval-expression' prints no more of it."
  (buffer nil :documentation "The diff buffer.")
  (agent nil :documentation "Name of the agent that proposes, as it is shown, or nil.")
  (is-by-program nil :documentation "Non-nil if a program made the decision.")
  (is-abandoned nil :documentation "Non-nil if the caller is gone, so that nobody waits.")
  (depth nil :documentation "Recursion depth at which a caller waits, or nil.")
  (deadline nil :documentation "Time at which the caller stops waiting, or nil if unknown.")
  (now-in nil :documentation "Number of hunks in the files, if the user changed it after the end.")
  (outcome nil :documentation "How the review ended, or nil; see `agent-q-diff'.")
  (root nil :documentation "Directory that the names of several files are shown from, or nil.")
  (comment nil :documentation "The user's comment on the whole proposal, or nil.")
  (warning nil :documentation "What the user is warned about when the review ends, or nil.")
  (begun (current-time) :documentation "Time at which the review began.")
  (change nil :documentation "The `agent-q-diff-change' that is decided.")
  (description nil :documentation "What the agent says about the proposal, a string.")
  (proposed nil :documentation "The proposal as a diff, for the log.")
  (call agent-q-diff-call :documentation "The call that began it, which says who waits.")
  (callback nil :documentation "Function to be called with the result, or nil.")
  (result nil :documentation "The result, a plist, once the review has ended."))

(defun agent-q-diff-session-of (file &rest slots)
  "Return a new review of FILE, an `agent-q-diff-file-change', alone.
SLOTS are further slots, keywords and values."
  (apply #'agent-q-diff-session-create :change (agent-q-diff-change-of file) slots))

(defun agent-q-diff-session-file (review)
  "Return the first `agent-q-diff-file-change' of REVIEW."
  (car (agent-q-diff-change-files (agent-q-diff-session-change review))))

(defun agent-q-diff-session-is-documented (review)
  "Return non-nil if the diff buffer of REVIEW is as Agent-Q's documents say."
  (eq 'agent-q (agent-q-diff-call-contract (agent-q-diff-session-call review))))

(defun agent-q-diff-session-caller (review)
  "Return who waits for the answer of REVIEW."
  (agent-q-diff-call-caller (agent-q-diff-session-call review)))

(defun agent-q-diff-session-path (review)
  "Return the absolute name of the file of REVIEW, or nil."
  (agent-q-diff-change-path (agent-q-diff-session-change review)))

(defun agent-q-diff-session-name (review)
  "Return the subject of REVIEW for display: its file's name, or a number of files."
  (let ((files (agent-q-diff-change-files (agent-q-diff-session-change review))))
    (if (cdr files)
        (format "%d files" (length files))
      (agent-q-diff-file-change-name (car files)))))

(defun agent-q-diff-session-directory (review)
  "Return the directory of the file of REVIEW, for display.
For several files, that is the one that has them all."
  (agent-q-diff-visible
   (abbreviate-file-name
    (or (agent-q-diff-change-directory (agent-q-diff-session-change review))
        (agent-q-diff-session-root review)
        ""))))

(defun agent-q-diff-session-long-name (review &optional width)
  "Return the subject of REVIEW with its directory, for display.
If that has more than WIDTH columns, not all of the directory is shown."
  (let* ((name (agent-q-diff-session-name review))
         (is-several (cdr (agent-q-diff-change-files (agent-q-diff-session-change review))))
         (whole (if is-several
                    (agent-q-diff-session-directory review)
                  (agent-q-diff-visible
                   (abbreviate-file-name (agent-q-diff-session-path review)))))
         (before (if is-several (format "%s in " name) ""))
         (least (if is-several 12 (+ 2 (string-width name)))))
    (concat before
            (if width
                (agent-q-diff-visible-end whole (max least (- width (string-width before))))
              whole))))

(defun agent-q-diff-session-said (review &optional width)
  "Return the description of REVIEW as a short line for the user.
It has at most WIDTH columns, by default 60."
  (truncate-string-to-width
   (agent-q-diff-visible
    (replace-regexp-in-string
     "[ \t\n]+" " " (string-trim (or (agent-q-diff-session-description review) ""))))
   (or width 60) nil nil "…"))

(defconst agent-q-diff-session--headline-width 500
  "Number of columns of a description's first line that are shown at most.")

(defun agent-q-diff-session-headline (review)
  "Return the first line of the description of REVIEW, for display.
It ends with an ellipsis if others follow."
  (pcase-let ((`(,first . ,others)
               (split-string (string-trim (or (agent-q-diff-session-description review) ""))
                             "[ \t\r]*\n")))
    (concat (agent-q-diff-visible
             (replace-regexp-in-string
              "[ \t]+" " "
              (truncate-string-to-width first agent-q-diff-session--headline-width)))
            (and others " …"))))

;;;; The caller's deadline

(defconst agent-q-diff-session-near-minutes 10
  "Number of minutes before its deadline at which a review begins to show it.")

(defun agent-q-diff-session-seconds-left (review)
  "Return the number of seconds that the caller of REVIEW still waits, or nil."
  (when-let ((deadline (agent-q-diff-session-deadline review)))
    (float-time (time-subtract deadline nil))))

(defun agent-q-diff-session-minutes-left (review)
  "Return the minutes that the caller of REVIEW still waits, if they are few.
A part of a minute counts as one.  If there are more than
`agent-q-diff-session-near-minutes', or nobody knows, return nil."
  (when-let ((seconds (agent-q-diff-session-seconds-left review))
             (minutes (max 1 (ceiling seconds 60))))
    (and (<= minutes agent-q-diff-session-near-minutes)
         minutes)))

;;;; What others show of reviews

(defvar agent-q-diff-session-changed-hook nil
  "Normal hook run when a review has begun, ended, or been decided further.")

;;;; Memory

(defun agent-q-diff-session-free (review)
  "Free the memory of REVIEW, and close its targets unless somebody needs them."
  (agent-q-diff-change-close (agent-q-diff-session-change review)))

(defun agent-q-diff-session-keep (review)
  "Keep what is needed to show REVIEW, which is ending, again.
Return non-nil if there is anything to keep."
  (agent-q-diff-change-keep (agent-q-diff-session-change review)))

(defun agent-q-diff-session-forget (review)
  "Free the memory that was kept of REVIEW."
  (agent-q-diff-change-forget (agent-q-diff-session-change review)))

(defun agent-q-diff-session-size (review)
  "Return the number of characters of the targets of REVIEW, a kept review."
  (agent-q-diff-change-size (agent-q-diff-session-change review)))

(provide 'agent-q-diff-session)
;;; agent-q-diff-session.el ends here
