;;; agent-q-diff-reviews.el --- The reviews that are open, and those that are past  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The list of reviews that have not ended, the mode line that counts them,
;; and the reviews that have ended and are kept.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)

;;;; Open reviews

(defvar agent-q-diff-reviews-open nil
  "Reviews that have not ended, the oldest first.")

(defvar agent-q-diff-reviews-past nil
  "Reviews that have ended and can be shown again, the latest first.")

(defun agent-q-diff-open-reviews ()
  "Return the reviews that have not ended, the oldest first."
  (copy-sequence agent-q-diff-reviews-open))

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

(defun agent-q-diff-reviews-begin-mode-line ()
  "Have the mode line count the reviews that are open.
`global-mode-string' may be any construct, say a string that the user set;
unless it is a list of constructs, wrap it in one."
  (let ((construct global-mode-string))
    (setq global-mode-string
          (append (cond
                   ((null construct) '(""))
                   ((and (consp construct)
                         (or (stringp (car construct)) (consp (car construct))))
                    construct)
                   (t (list "" construct)))
                  (list agent-q-diff-reviews-mode-line)))))

(defun agent-q-diff-reviews-introduce (review)
  "Show a message with agent and description of REVIEW, and the first keys.
In a batch Emacs nobody would read it."
  (unless noninteractive
    (message "%s" (agent-q-diff-reviews--introduction review))))

(defun agent-q-diff-reviews--introduction (review)
  "Return one line with agent and description of REVIEW, and the first keys.
Only of the description, and then of the agent, may the end be missing."
  (let* ((said (agent-q-diff-session-headline review))
         (who (or (agent-q-diff-session-agent review) "An agent"))
         (keys (substitute-command-keys
                "(\\<agent-q-diff-mode-map>\\[agent-q-diff-accept-hunk] accepts, \
\\[agent-q-diff-reject-hunk] rejects, \\[agent-q-diff-finish] finishes, \
\\[agent-q-diff-help] lists the keys)"))
         (room (- (agent-q-diff-base-echo-width) (string-width keys) 2)))
    (if (or (string-empty-p said) (< room 8))
        keys
      (concat (agent-q-diff-visible-beginning (format "%s: %s" who said) room) "  " keys))))

;;;###autoload
(defun agent-q-diff-next-review ()
  "Go to the next open review, after that of the current buffer."
  (interactive)
  (let* ((reviews (agent-q-diff-open-reviews))
         (next (or (cadr (memq agent-q-diff-buffer-review reviews))
                   (car reviews))))
    (if (or (null next) (eq next agent-q-diff-buffer-review))
        (message "No other open review")
      (pop-to-buffer-same-window (agent-q-diff-session-buffer next))
      (agent-q-diff-reviews-introduce next))))

;;;; Reviews that have ended

(defconst agent-q-diff-reviews--kept-characters (* 32 1024 1024)
  "Number of characters that the targets of kept reviews may have together.
The engine needs several bytes for each.")

(defun agent-q-diff-past-reviews ()
  "Return the reviews that have ended and are kept, the latest first."
  (copy-sequence agent-q-diff-reviews-past))

(defun agent-q-diff-reviews-keep-if-worth (review)
  "Keep REVIEW, which is ending, if there is anything in it to show again."
  (when (agent-q-diff-session-keep review)
    (agent-q-diff-reviews-keep review)))

(defun agent-q-diff-reviews-keep (review)
  "Make REVIEW the latest kept review, and forget the oldest beyond the limits."
  (setq agent-q-diff-reviews-past (cons review (delq review agent-q-diff-reviews-past)))
  (let ((size 0)
        (n 0))
    (dolist (past (agent-q-diff-past-reviews))
      (cl-incf size (agent-q-diff-session-size past))
      (cl-incf n)
      (when (or (> n agent-q-diff-kept-reviews)
                (> size agent-q-diff-reviews--kept-characters))
        (agent-q-diff-forget past))))
  (run-hooks 'agent-q-diff-session-changed-hook))

(defun agent-q-diff-forget (review)
  "Free the memory of REVIEW, which has ended.
It can then not be shown again."
  (setq agent-q-diff-reviews-past (delq review agent-q-diff-reviews-past))
  (agent-q-diff-session-forget review)
  (run-hooks 'agent-q-diff-session-changed-hook))

;;;; Waiting for the user

(defvar agent-q-diff-reviews-waiting nil
  "Reviews whose callers wait in recursive edits, the innermost first.")

(provide 'agent-q-diff-reviews)
;;; agent-q-diff-reviews.el ends here
