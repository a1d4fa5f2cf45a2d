;;; agent-q-diff-session.el --- Reviews: change, diff buffer and caller; the open and past ones  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The struct is what a user calls a review; it is not named so because
;; `agent-q-diff-review' is the function that begins one.  It holds the change
;; to be decided, the diff buffer that shows it, the agent that
;; proposes it, the caller that waits for the answer, and the answer.
;;
;; Here is also the list of reviews that have not ended, the mode line that
;; counts them, and the reviews that have ended and are kept.

;;; Code:

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
  (outcome nil :documentation "How the review ended, a symbol, or nil while it is open.
`agent-q-diff-result-why' has a sentence for each.")
  (error nil :documentation "The error (SYMBOL MESSAGE) if the outcome is `error' or `lost'.")
  (root nil :documentation "Directory that the names of several files are shown from, or nil.")
  (warning nil :documentation "What the user is warned about when the review ends, or nil.")
  (told nil :documentation "A clause about who reads the message of the review later, perhaps empty.
If there is no message, nil.")
  (begun (current-time) :documentation "Time at which the review began.")
  (id (agent-q-diff-call-id agent-q-diff-call)
      :documentation "What its caller finds it by, any value, or nil.")
  (change nil :documentation "The `agent-q-diff-change' that is decided.")
  (description nil :documentation "What the agent says about the proposal, a string.")
  (proposed nil :documentation "The proposal as a diff, for the log.")
  (call agent-q-diff-call :documentation "The call that began it, which says who waits.")
  (callback nil :documentation "Function to be called with the result, or nil.")
  (end nil :documentation "Function that ends it, called with it and its outcome, or nil.
It is nil as soon as it has ended, and where nobody waits for its end.")
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

(defun agent-q-diff-session-agents (review)
  "Return the name of the agent of REVIEW, or nil.
Of what was written already, return the names of those who wrote it."
  (or (agent-q-diff-session-agent review)
      (when-let ((agents (agent-q-diff-change-agents (agent-q-diff-session-change review))))
        (string-join agents ", "))))

(defun agent-q-diff-session-path (review)
  "Return the absolute name of the file of REVIEW, or nil."
  (agent-q-diff-change-path (agent-q-diff-session-change review)))

(defconst agent-q-diff-session--title-width 30
  "Most columns of the title of a review.")

(defun agent-q-diff-session-title (review)
  "Return the title of REVIEW, what its agent was asked to do, for display, or nil."
  (when-let* ((written (agent-q-diff-change-written (agent-q-diff-session-change review)))
              (title (agent-q-diff-written-title written)))
    (truncate-string-to-width (agent-q-diff-visible title) agent-q-diff-session--title-width
                              nil nil "…")))

(defun agent-q-diff-session-name (review)
  "Return the subject of REVIEW for display: its file's name, or a number of files.
Its title, if it has one, comes before that."
  (let* ((change (agent-q-diff-session-change review))
         (files (agent-q-diff-change-files change))
         (title (agent-q-diff-session-title review)))
    (concat (if title (concat title " · ") "")
            (if (cdr files)
                (format "%d files" (length files))
              (agent-q-diff-file-change-name (car files))))))

(defun agent-q-diff-session-directory (review)
  "Return the directory of the file of REVIEW, for display.
For several files, that is the one that has them all."
  (if-let ((directory (or (agent-q-diff-change-directory (agent-q-diff-session-change review))
                          (agent-q-diff-session-root review))))
      (agent-q-diff-visible-name (abbreviate-file-name directory))
    ""))

(defun agent-q-diff-session-long-name (review &optional width)
  "Return the subject of REVIEW with its directory, for display.
If that has more than WIDTH columns, not all of the directory is shown."
  (let* ((name (agent-q-diff-session-name review))
         (is-several (cdr (agent-q-diff-change-files (agent-q-diff-session-change review))))
         (whole (if is-several
                    (agent-q-diff-session-directory review)
                  (agent-q-diff-visible-name
                   (abbreviate-file-name (agent-q-diff-session-path review)))))
         (before (if is-several (format "%s in " name) ""))
         (least (if is-several 12 (+ 2 (string-width name)))))
    (concat before
            (if width
                (agent-q-diff-visible-end whole (max least (- width (string-width before))))
              whole))))

(defun agent-q-diff-session-agent-name (review)
  "Return the name of the agent of REVIEW for a sentence, or nil if it has none."
  (when-let ((agent (agent-q-diff-session-agent review)))
    (agent-q-diff-visible-name agent t)))

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

;;;; Open reviews

(defvar agent-q-diff-reviews-open nil
  "Reviews that have not ended, the oldest first.")

(defvar agent-q-diff-reviews-past nil
  "Reviews that have ended and can be shown again, the latest first.")

(defun agent-q-diff-open-reviews ()
  "Return the reviews that have not ended, the oldest first."
  (copy-sequence agent-q-diff-reviews-open))

(defun agent-q-diff-find-review (id)
  "Return the open review that was begun with ID, or nil.
A review of an edit that an agent's own tool makes has the id of that call.
Ids are compared with `equal'; nil is none."
  (and id
       (seq-find (lambda (review) (equal id (agent-q-diff-session-id review)))
                 agent-q-diff-reviews-open)))

(defconst agent-q-diff-reviews-mode-line
  '(:eval (agent-q-diff-reviews-mode-line))
  "Mode line construct that is in `global-mode-string' while reviews are open.")

(defconst agent-q-diff-reviews--mode-line-keys
  (let ((map (make-sparse-keymap)))
    (define-key map [mode-line mouse-1] 'agent-q-diff-list)
    (define-key map [mode-line mouse-3] 'agent-q-diff-go-to-review)
    map)
  "Keymap of the number of reviews in the mode line.")

(defvar agent-q-diff-reviews-n-queued 0
  "Number of edits whose reviews begin when earlier ones of their files are made.")

(defun agent-q-diff-reviews-mode-line ()
  "Return text for the mode line: how many reviews are open, and how many wait."
  (let ((n (length agent-q-diff-reviews-open)))
    (propertize (format (ngettext " [%d review%s]" " [%d reviews%s]" n)
                        n
                        (if (zerop agent-q-diff-reviews-n-queued)
                            ""
                          (format ", %d waiting" agent-q-diff-reviews-n-queued)))
                'face 'agent-q-diff-reviews
                'help-echo "Open reviews, and edits that wait for earlier ones of their files; \
mouse-1: list them; mouse-3: go to the review of this file"
                'mouse-face 'mode-line-highlight
                'local-map agent-q-diff-reviews--mode-line-keys)))
(put 'agent-q-diff-reviews-mode-line 'risky-local-variable t)

(defun agent-q-diff-reviews-introduce (review)
  "Show a message with agent and description of REVIEW, and the first keys.
In a batch Emacs nobody would read it."
  (unless noninteractive
    (message "%s" (agent-q-diff-reviews--introduction review))))

(defun agent-q-diff-reviews--introduction (review)
  "Return one line with agent and description of REVIEW, and the first keys.
Only of the description, and then of the agent, may the end be missing."
  (let* ((said (agent-q-diff-session-headline review))
         (who (or (agent-q-diff-session-agent-name review) "An agent"))
         (is-written (agent-q-diff-change-written (agent-q-diff-session-change review)))
         (keys (substitute-command-keys
                (format "(\\<agent-q-diff-mode-map>\\[agent-q-diff-accept-hunk] %s, \
\\[agent-q-diff-reject-hunk] %s, \\[agent-q-diff-finish] finishes, \
\\[agent-q-diff-help] lists the keys)"
                        (if is-written "keeps" "accepts")
                        (if is-written "takes out" "rejects"))))
         (room (- (agent-q-diff-base-echo-width) (string-width keys) 2)))
    (if (or (string-empty-p said) (< room 8))
        keys
      (concat (agent-q-diff-visible-beginning (format "%s: %s" who said) room) "  " keys))))

;;;; Reviews that have ended

(defconst agent-q-diff-reviews--kept-characters (* 32 1024 1024)
  "Number of characters that the targets of kept reviews may have together.
The engine needs several bytes for each.")

(defun agent-q-diff-past-reviews ()
  "Return the reviews that have ended and are kept, the latest first."
  (copy-sequence agent-q-diff-reviews-past))

(defun agent-q-diff-reviews-keep (review)
  "Make REVIEW the latest kept review, and forget the oldest beyond the limits."
  (setq agent-q-diff-reviews-past (cons review (delq review agent-q-diff-reviews-past)))
  (let ((size 0)
        (n 0))
    (dolist (past (agent-q-diff-past-reviews))
      (cl-incf size (agent-q-diff-change-size (agent-q-diff-session-change past)))
      (cl-incf n)
      (when (or (> n agent-q-diff-kept-reviews)
                (> size agent-q-diff-reviews--kept-characters))
        (agent-q-diff-forget past))))
  (run-hooks 'agent-q-diff-session-changed-hook))

(defun agent-q-diff-forget (review)
  "Free the memory of REVIEW, which has ended.
It can then not be shown again."
  (setq agent-q-diff-reviews-past (delq review agent-q-diff-reviews-past))
  (agent-q-diff-change-forget (agent-q-diff-session-change review))
  (run-hooks 'agent-q-diff-session-changed-hook))

;;;; Waiting for the user

(defvar agent-q-diff-reviews-waiting nil
  "Reviews whose callers wait in recursive edits, the innermost first.")

(provide 'agent-q-diff-session)
;;; agent-q-diff-session.el ends here
