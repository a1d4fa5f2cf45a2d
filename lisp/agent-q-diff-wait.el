;;; agent-q-diff-wait.el --- Waits for a decision in a recursive edit  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A loop around `recursive-edit' that answers the caller on every exit.
;; The recursive edit is left only after a command, and only at its own
;; depth.  Code that ends a review elsewhere, for example in a timer, sets
;; the outcome and makes sure that a command ends soon.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-message)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-reviews)
(require 'agent-q-diff-result)
(require 'agent-q-diff-finish)
(require 'agent-q-diff-grace)
(require 'agent-q-diff-lifecycle)

;;;; Waiting for the user

(defvar agent-q-diff-wait--in-command nil
  "Non-nil while a command runs, so that its end will be noticed.")

(defvar agent-q-diff-wait--had-keys t
  "Non-nil if there was a user, or a key to read, when the wait began.")

(defun agent-q-diff-wait--note-command ()
  "Record that a command begins."
  (setq agent-q-diff-wait--in-command t))

(defun agent-q-diff-wait--leave-if-decided ()
  "Leave the recursive edit if its review has ended.
This runs after every command, and is the only place that does so.  Deeper,
for example in an open minibuffer, leaving would leave that instead, and a
timer must not leave at all."
  (setq agent-q-diff-wait--in-command nil)
  (let ((review (car agent-q-diff-reviews-waiting)))
    (when (and review (eq (recursion-depth) (agent-q-diff-session-depth review)))
      (unless (agent-q-diff-wait--keys-p)
        (agent-q-diff-lifecycle-set-outcome
         review (if agent-q-diff-wait--had-keys
                    'no-user
                  '(error agent-q-diff-no-user "a batch Emacs has no user to decide"))))
      (when (agent-q-diff-session-outcome review)
        (exit-recursive-edit)))))

(defun agent-q-diff-wait--ended (review outcome)
  "Record that REVIEW ended with OUTCOME, and have its caller answered."
  (agent-q-diff-lifecycle-set-outcome review outcome)
  (let ((depth (agent-q-diff-session-depth review))
        (is-innermost (eq review (car agent-q-diff-reviews-waiting))))
    (when (and depth (>= (recursion-depth) depth))
      (agent-q-diff-wait--wake)
      (unless (and is-innermost (eq (recursion-depth) depth))
        (agent-q-diff-lifecycle-close review)
        (unless is-innermost
          (agent-q-diff-wait--put-away (agent-q-diff-session-buffer review)))
        (message "Ended; the caller is answered once newer reviews end")))))

(defun agent-q-diff-wait--put-away (buffer)
  "Remove BUFFER from all windows; its review ended before the innermost."
  (let ((was-selected (eq (window-buffer) buffer)))
    (replace-buffer-in-windows buffer)
    (when was-selected
      (pop-to-buffer (agent-q-diff-session-buffer (car agent-q-diff-reviews-waiting))))))

(defun agent-q-diff-wait--wake ()
  "Make a command end soon, and thereby run `post-command-hook'.
A recursive edit cannot be left from a timer or a process filter."
  (unless agent-q-diff-wait--in-command
    (setq unread-command-events
          (append unread-command-events (list 'agent-q-diff-wake)))))

(defun agent-q-diff-wait--keys-p ()
  "Return non-nil if there is a user, or a key that is not read yet.
A batch Emacs without such a key would read its standard input."
  (or (not noninteractive) executing-kbd-macro unread-command-events))

(defun agent-q-diff-wait--cancel-at-top-level ()
  "Cancel every review that a caller waits for, and that of the selected window.
The command `top-level' leaves all recursive edits."
  (dolist (review agent-q-diff-reviews-waiting)
    (agent-q-diff-lifecycle-set-outcome review 'aborted))
  (with-current-buffer (window-buffer)
    (agent-q-diff-finish-abort-at-top-level)))

(defun agent-q-diff-wait--edit-recursively (review)
  "Let the user work until the recursive edit of REVIEW is left."
  (let ((is-macro executing-kbd-macro)
        (is-top-level t)
        ;; Bound, because a throw past the end of a command leaves it set.
        (agent-q-diff-wait--in-command nil))
    (setf (agent-q-diff-session-depth review) (1+ (recursion-depth)))
    (set-buffer (agent-q-diff-session-buffer review))
    (unless (agent-q-diff-wait--keys-p)
      ;; This event takes the place of a key; the review ends after it.
      (agent-q-diff-wait--wake))
    (catch 'top-level
      (condition-case nil
          (progn
            ;; A C-g typed earlier was meant for something else.
            (setq quit-flag nil)
            (let ((inhibit-quit nil))
              (recursive-edit))
            (agent-q-diff-wait--came-back review is-macro))
        (quit (unless (or (eq last-input-event ?\C-g)
                          ;; With a minibuffer open below, ESC ESC ESC aborts.
                          (eq this-command 'keyboard-escape-quit))
                (agent-q-diff-lifecycle-set-outcome review 'aborted))))
      (setq is-top-level nil))
    (when is-top-level
      (agent-q-diff-wait--cancel-at-top-level))))

(defun agent-q-diff-wait--came-back (review is-macro)
  "Set the outcome of REVIEW after its recursive edit has returned.
IS-MACRO tells whether a keyboard macro was running when it began."
  (let ((buffer (agent-q-diff-session-buffer review)))
    (cond
     ((agent-q-diff-session-outcome review))
     ;; A program has made the decision by setting the variable.
     ((member (buffer-local-value 'agent-q-diff-buffer-decision buffer)
              '("accepted" "rejected"))
      (agent-q-diff-lifecycle-set-outcome review 'decided))
     ;; ESC ESC ESC leaves any recursive edit, but it is no decision.
     ((eq this-command 'keyboard-escape-quit))
     ;; The keys of a macro ran out.
     ((and is-macro (not (eq this-command 'exit-recursive-edit)))
      (when noninteractive
        (agent-q-diff-lifecycle-set-outcome review 'no-user)))
     (t (with-current-buffer buffer
          (agent-q-diff-finish))))))

(defun agent-q-diff-wait--begin-waiting (review)
  "Make REVIEW the innermost one that a caller waits for."
  (with-current-buffer (agent-q-diff-session-buffer review)
    (setq agent-q-diff-buffer-end-function #'agent-q-diff-wait--ended))
  (push review agent-q-diff-reviews-waiting)
  (define-key global-map [agent-q-diff-wake] #'ignore)
  (add-hook 'pre-command-hook #'agent-q-diff-wait--note-command)
  (add-hook 'post-command-hook #'agent-q-diff-wait--leave-if-decided))

(defun agent-q-diff-wait--end-waiting (review)
  "Stop waiting for REVIEW, and close it."
  ;; An outer caller may wait for it as well.
  (setq agent-q-diff-reviews-waiting (cl-remove review agent-q-diff-reviews-waiting :count 1))
  (agent-q-diff-lifecycle-set-outcome review 'aborted)
  (agent-q-diff-lifecycle-close review)
  (if agent-q-diff-reviews-waiting
      ;; The outer review may have ended meanwhile.
      (when (agent-q-diff-session-outcome (car agent-q-diff-reviews-waiting))
        (agent-q-diff-wait--wake))
    (define-key global-map [agent-q-diff-wake] nil)
    ;; An unneeded wake-up event would now be an undefined key.
    (setq unread-command-events (delq 'agent-q-diff-wake unread-command-events))
    (remove-hook 'pre-command-hook #'agent-q-diff-wait--note-command)
    (remove-hook 'post-command-hook #'agent-q-diff-wait--leave-if-decided)))

(defun agent-q-diff-wait-for (review)
  "Show REVIEW and wait until it has ended.  Then restore the windows."
  ;; The keys of Isearch would take precedence over those of the diff
  ;; buffer.
  (when isearch-mode
    (isearch-done))
  (let ((layout (current-window-configuration))
        (outer-depth (agent-q-diff-session-depth review))
        (agent-q-diff-wait--had-keys (agent-q-diff-wait--keys-p))
        (inhibit-quit t)
        ;; The caller may be in `while-no-input'.
        (throw-on-input nil)
        ;; Reviews that others begin meanwhile are not the caller's.
        (agent-q-diff-caller nil)
        (agent-q-diff-contract nil)
        (agent-q-diff-tool nil)
        ;; Otherwise, opening a minibuffer while another one is open below
        ;; the review would abort that one, and the review with it.
        (enable-recursive-minibuffers t))
    (agent-q-diff-wait--begin-waiting review)
    (unwind-protect
        (save-current-buffer
          (pop-to-buffer (agent-q-diff-session-buffer review))
          (agent-q-diff-grace-begin)
          (agent-q-diff-grace-note-selected)
          (agent-q-diff-reviews-introduce review)
          (agent-q-diff-wait--edit-recursively review)
          (while (not (agent-q-diff-session-outcome review))
            ;; When the keys of a macro run out, the user goes on.
            (let ((executing-kbd-macro (and noninteractive executing-kbd-macro)))
              (agent-q-diff-wait--edit-recursively review))))
      (agent-q-diff-wait--end-waiting review)
      (setf (agent-q-diff-session-depth review) outer-depth)
      (when (frame-live-p (window-configuration-frame layout))
        (set-window-configuration layout))
      ;; The key that ended this review, typed twice, must not decide another.
      (when agent-q-diff-reviews-open
        (agent-q-diff-grace-note-selected)
        (agent-q-diff-grace-note-return))
      (unless outer-depth
        (agent-q-diff-lifecycle-kill-further (agent-q-diff-session-buffer review))))))

;;;; The answer

(defvar agent-q-diff-wait-undecided nil
  "The result of the last review that ended undecided in a recursive edit, or nil.
The error that was signaled says only why, and how much is in the file.")

(defun agent-q-diff-wait-answer (review)
  "Return the result of REVIEW, or signal why there is no decision."
  (pcase (agent-q-diff-result-why review)
    ('nil (agent-q-diff-session-result review))
    (`(,symbol . ,_)
     (let ((result (agent-q-diff-session-result review)))
       (unless (eq 'error (plist-get result :status))
         (setq agent-q-diff-wait-undecided result))
       (signal symbol (list (agent-q-diff-message-of-no-decision result)))))))

(provide 'agent-q-diff-wait)
;;; agent-q-diff-wait.el ends here
