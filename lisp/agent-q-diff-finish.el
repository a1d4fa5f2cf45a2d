;;; agent-q-diff-finish.el --- Finishing or leaving a review by a command  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The commands that end a review, with the questions that they ask and the
;; warnings that they show before.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-reviews)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-outcome)

;;;; Commands

(defun agent-q-diff-finish (&optional ask by-key)
  "Finish the review and decide by the mark of each hunk.
It is \"accepted\" if at least one hunk is applied, else \"rejected\"; see
`agent-q-diff-decision-basis'.  If ASK is non-nil, as by key, ask first if
hunks are pending and `agent-q-diff-confirm-finish' is non-nil.  BY-KEY is
non-nil if a person called this.  If help or the outcome is visible and ASK
is non-nil, only close that.
If the review has ended already, leave its buffer."
  (interactive (list t t))
  (cond
   ((and ask by-key (or (agent-q-diff-finish--close-help)
                        (agent-q-diff-finish--close-outcome))))
   ((agent-q-diff-buffer-ended-p)
    (when by-key
      (quit-window)))
   (t
    (agent-q-diff-buffer-distrust-states)
    (agent-q-diff-finish-confirm-unfinished by-key)
    (agent-q-diff-finish--confirm-pending ask)
    (pcase-exhaustive (agent-q-diff-finish--outcome)
      ('accepted (agent-q-diff-finish-decided "accepted" by-key))
      ('rejected (agent-q-diff-finish-decided "rejected" by-key))
      ('undecided (agent-q-diff-finish-with 'undecided by-key))
      ('not-applied
       (message "Nothing was applied: what you accepted could not be applied")
       (if (agent-q-diff-buffer-awaited-p)
           (agent-q-diff-finish-with 'not-applied by-key)
         ;; No caller waits who could be told more than one of two words.
         (agent-q-diff-finish-decided "rejected" by-key)))))))

(defun agent-q-diff-finish--close-help ()
  "Close a help window of this frame, if there is one, and return non-nil."
  (when-let ((window (seq-find
                      (lambda (window)
                        (provided-mode-derived-p
                         (buffer-local-value 'major-mode (window-buffer window))
                         'help-mode))
                      (window-list nil 'no-minibuffer))))
    (quit-window nil window)
    (message (substitute-command-keys
              "Closed the help; \\<agent-q-diff-mode-map>\\[agent-q-diff-finish] finishes the review"))
    t))

(defun agent-q-diff-finish--close-outcome ()
  "Close the outcome of this review and return non-nil, if it is visible."
  (when (agent-q-diff-outcome-visible-p)
    (agent-q-diff-outcome-close)
    (message (substitute-command-keys
              "Closed the outcome; \\<agent-q-diff-mode-map>\\[agent-q-diff-finish] finishes the review"))
    t))

(defun agent-q-diff-finish-confirm-unfinished (by-key)
  "If an edit of a hunk is unfinished, ask whether to go on without it.
BY-KEY is non-nil if there is a person to ask; otherwise just show a
message."
  (let* ((change (agent-q-diff-buffer-change-or-nil))
         (buffers (and change (agent-q-diff-edit-unfinished change)))
         (enable-recursive-minibuffers t))
    (when buffers
      (if (and by-key (not noninteractive))
          (unless (save-selected-window
                    ;; The command that asks may have decided a hunk.
                    (agent-q-diff-progress-update-header-line)
                    (y-or-n-p (format "Your edit in %s is not finished.  Go on without it? "
                                      (car buffers))))
            (user-error "Not finished"))
        (message "The edit in %s was not finished" (car buffers))))))

(defun agent-q-diff-finish--pending-text (pending)
  "Return what becomes of the PENDING hunks if the review is finished now."
  (format
   (if (agent-q-diff-finish--pending-in-p)
       (ngettext "%d undecided hunk stays as it is."
                 "%d undecided hunks stay as they are." pending)
     (ngettext "%d undecided hunk stays out of the file."
               "%d undecided hunks stay out of the file." pending))
   pending))

(defun agent-q-diff-finish--pending-in-p ()
  "Return non-nil if the change of a pending hunk is in the file."
  (when-let ((change (agent-q-diff-buffer-change-or-nil)))
    (and (< 0 (agent-q-diff-change-in-target change))
         (cl-loop for mark across agent-q-diff-buffer-marks
                  for hunk from 0
                  thereis (and (null mark)
                               (agent-q-diff-engine-hunk-fact
                                (agent-q-diff-change-hunk change hunk)))))))

(defun agent-q-diff-finish--confirm-pending (ask)
  "If ASK is non-nil and hunks are pending, ask whether to finish."
  (let ((pending (nth 3 (agent-q-diff-buffer-counts)))
        (enable-recursive-minibuffers t))
    (when (and ask agent-q-diff-confirm-finish (not noninteractive) (> pending 0))
      ;; Otherwise, if another minibuffer is open, Emacs would select that
      ;; one.
      (unless (save-selected-window
                (y-or-n-p (concat (agent-q-diff-finish--pending-text pending)
                                  "  Finish? ")))
        (user-error "Not finished")))))

(defun agent-q-diff-finish--undecided-p ()
  "Return non-nil if nothing is decided, and a caller waits who can be told so.
Agent-Q's contract has two words only."
  (and (agent-q-diff-buffer-awaited-p)
       (not agent-q-diff-buffer-is-past)
       (not (agent-q-diff-session-is-documented agent-q-diff-buffer-review))
       (pcase-let ((`(,total ,_ ,_ ,pending) (agent-q-diff-buffer-counts)))
         (= total pending))))

(defun agent-q-diff-finish--outcome ()
  "Return how the review would end.
It is `accepted', `rejected', `not-applied', or, if a caller waits who can be
told that nothing was decided, `undecided'."
  (let ((change (agent-q-diff-buffer-change-or-nil)))
    (when (and change (agent-q-diff-change-path change))
      (ignore-error agent-q-diff-bad-target
        (agent-q-diff-signs-follow)))
    (cond
     ((rassq 'applied (if change
                          (agent-q-diff-buffer-stray-states)
                        agent-q-diff-buffer-hunk-states))
      'accepted)
     (change (pcase (agent-q-diff-module-decision
                     (agent-q-diff-change-engine change)
                     (eq agent-q-diff-decision-basis 'facts))
               ((and 'rejected (guard (agent-q-diff-finish--undecided-p))) 'undecided)
               (outcome outcome)))
     (t 'rejected))))

;;;; The end of a review

(defun agent-q-diff-finish--only-in-buffer ()
  "Return a warning if hunks are in the target's buffer but not saved, or nil."
  (let* ((change agent-q-diff-buffer-change)
         (unsaved (and change
                       (agent-q-diff-change-engine change)
                       (< 0 (agent-q-diff-change-in-target change))
                       (agent-q-diff-change-unsaved-names change))))
    (when unsaved
      (format (if (agent-q-diff-change-is-compound change)
                  "What you accepted is not saved in %s"
                "What you accepted is in the buffer %s and not saved")
              (string-join unsaved ", ")))))

(defun agent-q-diff-finish-decided (decision by-key)
  "Set the decision to DECISION, a string, and end the review.
BY-KEY is non-nil if a person decided; that person is then warned if the
target is not saved or not sound."
  (let ((unsound (and by-key (agent-q-diff-outcome-at-finish))))
    (setq agent-q-diff-buffer-decision decision)
    (if (and (agent-q-diff-buffer-awaited-p) (not agent-q-diff-buffer-is-past))
        ;; The message about the end, which says what is saved, will have it.
        (setf (agent-q-diff-session-warning agent-q-diff-buffer-review) unsound)
      (when-let ((warnings (and by-key
                                (delq nil (list (agent-q-diff-finish--only-in-buffer)
                                                unsound)))))
        (message "%s" (string-join warnings "; "))))
    (agent-q-diff-finish-with 'decided by-key)))

(defun agent-q-diff-finish-with (outcome by-key)
  "End the review with OUTCOME, a symbol, if a caller waits for it.
If none does, leave the recursive edit around this buffer, if there is one:
a program may have entered it to wait.  If it may be somebody else's, leave
it only if BY-KEY is non-nil."
  (agent-q-diff-change-check-idle agent-q-diff-buffer-change)
  (when (agent-q-diff-buffer-awaited-p)
    (setq by-key nil)
    (funcall agent-q-diff-buffer-end-function agent-q-diff-buffer-review outcome))
  (when (or (zerop (recursion-depth))
            (and by-key
                 (zerop (minibuffer-depth))
                 (not (bound-and-true-p agent-q-diff-reviews-waiting))))
    ;; Outside any recursive edit there is nothing to leave.
    (ignore-error user-error
      (exit-recursive-edit))))

(defun agent-q-diff-finish--unwaited-p ()
  "Return non-nil if this buffer's review is open without a recursive edit."
  (and (agent-q-diff-buffer-awaited-p)
       (not (memq agent-q-diff-buffer-review (bound-and-true-p agent-q-diff-reviews-waiting)))))

(defun agent-q-diff-finish-now ()
  "Finish the review as \\[agent-q-diff-finish] does, but without a question.
If Emacs waits for the review in a recursive edit, \\[exit-recursive-edit]
does the same by leaving it."
  (interactive)
  (agent-q-diff-finish))

(defun agent-q-diff-abort ()
  "Cancel the review; the agent is told that there was no decision.
What was accepted stays in the file; see `agent-q-diff-look-again'.  If
Emacs waits for the review in a recursive edit, \\[abort-recursive-edit]
does the same by leaving it."
  (interactive)
  (unless (agent-q-diff-buffer-awaited-p)
    (user-error "The review has ended"))
  (agent-q-diff-finish-with 'aborted nil))

(defun agent-q-diff-finish-abort-at-top-level ()
  "Cancel this buffer's review if the user called the command `top-level'.
That command throws past its own end, but Emacs still runs
`post-command-hook'.  If a caller waits in a recursive edit, the throw is
caught there instead; see `agent-q-diff-wait-for'."
  (when (and (eq this-command 'top-level) (agent-q-diff-finish--unwaited-p))
    (agent-q-diff-abort)))
(put 'agent-q-diff-finish-abort-at-top-level 'permanent-local-hook t)

(defun agent-q-diff-finish-if-unwaited (command)
  "Return a key binding for COMMAND, except while a recursive edit waits.
Then the key has its usual command, which leaves the recursive edit."
  `(menu-item "" ,command
              :filter ,(lambda (command)
                         (and (agent-q-diff-finish--unwaited-p) command))))

(provide 'agent-q-diff-finish)
;;; agent-q-diff-finish.el ends here
