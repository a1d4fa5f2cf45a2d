;;; agent-q-diff-where.el --- Where one is in a review  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What Emacs has for finding one's way, with hunks: imenu, `next-error',
;; which-function, eldoc, and a mode that shows in the other window which
;; lines of the file the hunk at point touches.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-target)
(require 'agent-q-diff-review)
(require 'agent-q-diff-view)
(require 'agent-q-diff-motion)

;;;; The hunk at point

(defun agent-q-diff-where--header (hunk)
  "Return the header of HUNK, as it stands in this buffer."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (aref agent-q-diff--positions hunk))
      (buffer-substring-no-properties (point) (line-end-position)))))

(defun agent-q-diff-where--heading (hunk)
  "Return the section heading of HUNK, or nil if it has none."
  (let ((header (agent-q-diff-where--header hunk)))
    (and (string-match "\\`@@ [^@]*@@ \\(.+\\)" header)
         (agent-q-diff-visible (match-string 1 header)))))

;;;; Index

(defun agent-q-diff-where--index ()
  "Return the hunks of this buffer for imenu."
  (cl-loop for position across agent-q-diff--positions
           for hunk from 0
           for mark = (alist-get position agent-q-diff--hunk-states)
           collect (cons (format "%d %s  %s" (1+ hunk) (or mark 'pending)
                                 (agent-q-diff-visible
                                  (agent-q-diff-where--header hunk)))
                         position)))

(defun agent-q-diff-where--defun ()
  "Return the section heading of the hunk at point, for which-function.
That of `diff-mode' would open the file that a header names."
  (when-let ((hunk (agent-q-diff--hunk-at-point)))
    (agent-q-diff-where--heading hunk)))

(defun agent-q-diff-next-error (n &optional reset)
  "Move N hunks down and show the place in the target, for `next-error'.
If RESET is non-nil, count from the first hunk."
  (when reset
    (goto-char (point-min)))
  (let ((here (or (agent-q-diff--hunk-at-point) -1)))
    (unless (< -1 (+ here n) (length agent-q-diff--positions))
      (user-error "No more hunks"))
    (agent-q-diff--goto-hunk (+ here n))
    (agent-q-diff-preview-hunk)))

;;;; Eldoc

(defconst agent-q-diff-where--keys
  '((nil . "\\[agent-q-diff-accept-hunk] accepts, \\[agent-q-diff-reject-hunk] rejects")
    (applied . "\\[agent-q-diff-unapply-hunk] takes it out of the file")
    (rejected . "\\[agent-q-diff-accept-hunk] accepts it after all"))
  "What is to be said of a hunk with a mark.")

(defun agent-q-diff-where--eldoc (&rest _)
  "Return the state of the hunk at point and what one can do, for eldoc."
  (when (agent-q-diff--known-p)
    (when-let ((hunk (agent-q-diff--hunk-at-point)))
      (let* ((state (agent-q-diff-review-hunk agent-q-diff--review hunk))
             (mark (agent-q-diff-engine-hunk-mark state))
             (reason (agent-q-diff-engine-hunk-reason state)))
        (format "Hunk %d of %d, %s; %s"
                (1+ hunk) (length agent-q-diff--positions)
                (or (and reason (null mark)
                         (agent-q-diff-review-target agent-q-diff--review)
                         (concat "does not apply: " reason))
                    mark 'pending)
                (substitute-command-keys
                 (concat "\\<agent-q-diff-mode-map>"
                         (alist-get mark agent-q-diff-where--keys))))))))

;;;; Following in the other window

(defvar-local agent-q-diff-where--overlay nil
  "The overlay on the lines of the target that the hunk at point touches.")

(defvar-local agent-q-diff-where--followed nil
  "What is shown in the other window, (HUNK . TICK).")

(define-minor-mode agent-q-diff-follow-mode
  "Show in the other window which lines of the file the hunk at point touches."
  :lighter " Follow"
  (if agent-q-diff-follow-mode
      (progn
        (add-hook 'post-command-hook #'agent-q-diff-where--follow nil t)
        (add-hook 'kill-buffer-hook #'agent-q-diff-where--unmark nil t)
        (agent-q-diff-where--follow))
    (remove-hook 'post-command-hook #'agent-q-diff-where--follow t)
    (remove-hook 'kill-buffer-hook #'agent-q-diff-where--unmark t)
    (setq agent-q-diff-where--followed nil)
    (agent-q-diff-where--unmark)))

(defun agent-q-diff-where--unmark ()
  "Take the mark off the lines of the target."
  (when agent-q-diff-where--overlay
    (delete-overlay agent-q-diff-where--overlay)
    (setq agent-q-diff-where--overlay nil)))

(defun agent-q-diff-where--follow ()
  "Show the place of the hunk at point, unless it is shown already.
It runs after every command, so that nothing may go wrong."
  (let ((now (and (agent-q-diff--known-p)
                  (agent-q-diff-review-target agent-q-diff--review)
                  (cons (agent-q-diff--hunk-at-point)
                        (agent-q-diff-review-tick agent-q-diff--review)))))
    (unless (equal now agent-q-diff-where--followed)
      (setq agent-q-diff-where--followed now)
      (agent-q-diff-where--unmark)
      (when (car now)
        (ignore-errors
          (agent-q-diff-where--mark (car now)))))))

(defun agent-q-diff-where--mark (hunk)
  "Mark the lines of the target in the place of HUNK, and show them."
  (pcase-let* ((review (agent-q-diff--review-with-target))
               (target (agent-q-diff-review-target review))
               (`(,line . ,text) (agent-q-diff-engine-live-lines
                                  (agent-q-diff-review-engine review) hunk))
               (beg (agent-q-diff-target-position target line)))
    (setq agent-q-diff-where--overlay
          (make-overlay beg (+ beg (length text)) target))
    (overlay-put agent-q-diff-where--overlay 'face 'agent-q-diff-place)
    (let ((window (display-buffer target '(nil (inhibit-same-window . t)))))
      (when window
        (set-window-point window beg)
        (with-selected-window window
          (goto-char beg)
          (recenter))))))

;;;; Set-up

(defun agent-q-diff-where-set-up ()
  "Let Emacs find its way among the hunks of this buffer."
  (setq-local imenu-create-index-function #'agent-q-diff-where--index)
  (setq-local add-log-current-defun-function #'agent-q-diff-where--defun)
  (setq-local next-error-function #'agent-q-diff-next-error)
  (add-hook 'eldoc-documentation-functions #'agent-q-diff-where--eldoc nil t))

(provide 'agent-q-diff-where)
;;; agent-q-diff-where.el ends here
