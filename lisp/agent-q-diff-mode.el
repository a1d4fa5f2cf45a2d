;;; agent-q-diff-mode.el --- The diff buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The major mode in which a proposal is read and decided.  It derives from
;; `diff-mode', so what one knows from there works; accepting goes through
;; the engine, never through `diff-apply-hunk'.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-target)
(require 'agent-q-diff-review)
(require 'agent-q-diff-view)
(require 'agent-q-diff-motion)
(require 'agent-q-diff-hunks)
(require 'agent-q-diff-honest)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-where)
(require 'agent-q-diff-filter)
(require 'agent-q-diff-cut)
(require 'agent-q-diff-outcome)
(require 'agent-q-diff-undo)
(require 'agent-q-diff-menu)
(require 'agent-q-diff-edit)

;;;; What commands say

(defun agent-q-diff--where (hunk)
  "Return where HUNK is, if that is not just where it was expected.
HUNK is an `agent-q-diff-engine-hunk'.  The string is to follow \"Hunk
applied\"; it is empty otherwise."
  (let ((offset (agent-q-diff-engine-hunk-offset hunk))
        (fuzz (agent-q-diff-engine-hunk-fuzz hunk)))
    (cond
     ((> fuzz 0) (format " with fuzz %d at offset %d" fuzz offset))
     ((/= offset 0) (format " at offset %d" offset))
     (t ""))))

(defun agent-q-diff--note-text (command note hunk)
  "Return what COMMAND on HUNK came to, as a string.
NOTE is the engine's word for it, HUNK an `agent-q-diff-engine-hunk'."
  (pcase-exhaustive (cons note command)
    (`(edited . unapply)   "Hunk taken out of the file")
    (`(edited . ,_)        (concat "Hunk applied" (agent-q-diff--where hunk)))
    (`(marked . reject)    "Hunk rejected")
    (`(marked . ,_)        "Hunk pending")
    (`(unchanged . reject) "Hunk rejected already")
    (`(unchanged . ,_)     "Hunk applied already")
    (`(already-in . ,_)    "Hunk applied; its change was in the file already")
    (`(stays-in . reject)  "Hunk rejected; its change stays in the file, u takes it out")
    (`(stays-in . ,_)      "Hunk pending; its change stays in the file, u takes it out")
    (`(already-out . ,_)   "Hunk pending; its change was no longer in the file")))

;;;; Carrying out commands

(defun agent-q-diff--review-for (command)
  "Return this buffer's review, with its target followed if COMMAND needs it.
To reject, or to take back the mark of an applied hunk, no target is
needed."
  (if (or (eq command 'reject)
          (and (eq command 'toggle) (agent-q-diff--applied-here-p)))
      (agent-q-diff--current-review)
    (agent-q-diff--review-with-target)))

(defun agent-q-diff--do (command)
  "Carry out COMMAND on the hunk at point, and return what was said.
What cannot be done is said as well, but then nil is returned and nothing
has changed."
  (condition-case err
      (let* ((review (agent-q-diff--review-for command))
             (hunk (agent-q-diff--hunk-here))
             (note (agent-q-diff-review-do review command hunk
                                           (agent-q-diff--shown-place review hunk)))
             (said (agent-q-diff--note-text
                    command note (car (agent-q-diff-engine-committed-hunks
                                       (agent-q-diff-review-committed review))))))
        (setq agent-q-diff--shown nil)
        (agent-q-diff--show-committed)
        (setq said (concat said (agent-q-diff--follow-hooks review note)
                           (agent-q-diff--unsaved-words review note)
                           (agent-q-diff--followed-words review)))
        (message "%s" said)
        said)
    (user-error (signal (car err) (cdr err)))
    (agent-q-diff-ambiguous
     (unless (agent-q-diff--show-place agent-q-diff--review
                                       (agent-q-diff--hunk-here))
       (agent-q-diff--say-failure command err))
     nil)
    (error
     (agent-q-diff--note-failure command err)
     (agent-q-diff--say-failure command err)
     nil)))

(defun agent-q-diff--followed-words (review)
  "Return words to append if the target of REVIEW has just followed its file."
  (if (and review (agent-q-diff-review-told-followed review))
      "; the file had changed on disk, and its buffer now shows what it holds"
    ""))

(defun agent-q-diff--unsaved-words (review note)
  "Return words to append if an edit is only in the buffer of REVIEW.
NOTE is what the command came to.  With `agent-q-diff-save' as `never',
the user knows."
  (let ((target (agent-q-diff-review-target review)))
    (if (and (eq note 'edited)
             (not (agent-q-diff-review-is-detached review))
             (not (eq agent-q-diff-save 'never))
             (agent-q-diff-target-unsaved-p target))
        (format "; not saved, since %s has unsaved edits"
                (agent-q-diff-visible (buffer-name target)))
      "")))

(defun agent-q-diff--say-failure (command err)
  "Say that COMMAND failed on a hunk with ERR, and how a conflict is solved."
  (message (if (eq command 'unapply)
               "Failed to take hunk out: %s%s%s"
             "Failed to apply hunk: %s%s%s")
           (agent-q-diff--error-text err)
           (if (eq (car err) 'agent-q-diff-conflict)
               (substitute-command-keys
                "; \\<agent-q-diff-mode-map>\\[agent-q-diff-merge-hunk] merges")
             "")
           (agent-q-diff--followed-words agent-q-diff--review)))

(defun agent-q-diff--note-failure (command err)
  "Note that COMMAND, if it accepts, failed on the hunk at point with ERR.
That may have been before it was tried, when the target could not be had."
  (let ((hunk (agent-q-diff--hunk-at-point)))
    (when (and hunk (memq command '(accept toggle)) (not (agent-q-diff--ended-p)))
      (agent-q-diff-review-note-failure agent-q-diff--review hunk
                                        (agent-q-diff--error-text err)))))

(defun agent-q-diff--follow-hooks (review note)
  "Show what else has changed in the target of REVIEW after NOTE.
Return words about it if it is a hook's work on saving; what was edited
before a command that leaves the target alone is the user's."
  (if (and (agent-q-diff-review-target review)
           (agent-q-diff-review-follow review))
      (progn
        (agent-q-diff--show-all)
        (if (eq note 'edited)
            "; on saving, a hook changed other lines as well"
          ""))
    ""))

(defun agent-q-diff--mark-by-hand (choose)
  "Mark the hunk at point in a buffer whose text is not a diff.
Such a buffer has no review, but its states are its own.  CHOOSE is
called with the state and returns the new one, or signals."
  (save-excursion
    (end-of-line)
    (unless (re-search-backward "^@@" nil t)
      (user-error "Point is in front of the first hunk"))
    (let ((state (funcall choose
                          (alist-get (point) agent-q-diff--hunk-states))))
      (setf (alist-get (point) agent-q-diff--hunk-states) state)
      (agent-q-diff-apply-visual-feedback (point) state)
      (message "Hunk %s" (or state 'pending)))))

;;;; Commands

(defun agent-q-diff--do-here (command)
  "Carry out COMMAND on the hunk at point, or on the lines of an active region.
These become hunks of their own first.  Return what was said, or nil if
anything could not be done."
  (if (not (use-region-p))
      (agent-q-diff--do command)
    (condition-case err
        (let ((hunks (agent-q-diff--pick-region (region-beginning) (region-end))))
          (deactivate-mark)
          (agent-q-diff--do-each command hunks))
      (agent-q-diff-error
       (message "Failed to pick these lines: %s" (agent-q-diff--error-text err))
       nil))))

(defun agent-q-diff--do-each (command hunks)
  "Carry out COMMAND on HUNKS until one cannot be done; return what was said.
It is one undo step of the target, and one decision to take back."
  (agent-q-diff-review-as-one
   agent-q-diff--review
   (lambda ()
     (let* ((target (agent-q-diff-review-target agent-q-diff--review))
            (group (and (buffer-live-p target) (prepare-change-group target)))
            (said nil))
       (while (and hunks
                   (progn
                     (agent-q-diff--goto-hunk (pop hunks))
                     (setq said (agent-q-diff--do command)))))
       (when (and group (buffer-live-p target))
         (undo-amalgamate-change-group group))
       said))))

(defun agent-q-diff-accept-hunk (&optional advance)
  "Apply the hunk at point to the target.
With an active region, do so for the changed lines in it only; they
become a hunk of their own, in the order in which the diff shows them.
With ADVANCE, as by key, move on to the next pending hunk."
  (interactive (list t))
  (agent-q-diff--advance-if advance (agent-q-diff--do-here 'accept)))

(defun agent-q-diff-reject-hunk (&optional advance)
  "Mark the hunk at point rejected; the target stays as it is.
With an active region, do so for the changed lines in it only; they
become a hunk of their own.
With ADVANCE, as by key, move on to the next pending hunk."
  (interactive (list t))
  (if (agent-q-diff--by-hand-p)
      (agent-q-diff--mark-by-hand (lambda (_) 'rejected))
    (agent-q-diff--advance-if advance (agent-q-diff--do-here 'reject))))

(defun agent-q-diff--advance-if (advance said)
  "Move to the next pending hunk if ADVANCE and SAID are non-nil.
SAID is what the command said, or nil if it failed.  Return SAID."
  (when (and advance said (not (agent-q-diff--goto-next-pending)))
    (if (and agent-q-diff-finish-when-decided agent-q-diff--end-function)
        (agent-q-diff-finish nil t)
      (message "%s; nothing is pending, q finishes" said)))
  said)

(defun agent-q-diff-toggle-hunk ()
  "Accept the hunk at point, or return its mark from applied to pending.
The latter leaves its change in the target, unless
`agent-q-diff-toggle-unapplies' is non-nil."
  (interactive)
  (if (and (agent-q-diff--by-hand-p) (agent-q-diff--applied-by-hand-p))
      (agent-q-diff--mark-by-hand #'ignore)
    (agent-q-diff--do
     (if (and agent-q-diff-toggle-unapplies (agent-q-diff--applied-here-p))
         'unapply
       'toggle))))

(defun agent-q-diff--by-hand-p ()
  "Return non-nil if this buffer's text is not a diff."
  (not (or (agent-q-diff--ended-p) (agent-q-diff--review-or-nil))))

(defun agent-q-diff--applied-by-hand-p ()
  "Return non-nil if the state of the hunk at point was set to applied."
  (save-excursion
    (end-of-line)
    (and (re-search-backward "^@@" nil t)
         (eq 'applied (alist-get (point) agent-q-diff--hunk-states)))))

(defun agent-q-diff--applied-here-p ()
  "Return non-nil if the hunk at point is marked applied."
  (agent-q-diff--current-review)
  (eq 'applied (cdr (aref agent-q-diff--entries (agent-q-diff--hunk-here)))))

(defun agent-q-diff-unapply-hunk ()
  "Take the change of the hunk at point out of the target.
With an active region, do so for the changed lines in it only; they
become a hunk of their own."
  (interactive)
  (agent-q-diff--do-here 'unapply))

(defun agent-q-diff-accept-white-space ()
  "Accept the pending hunks of nothing but white space.
It is one undo step of the target."
  (interactive)
  (let* ((review (agent-q-diff--review-with-target))
         (marks (vconcat (agent-q-diff-module-marks
                          (agent-q-diff-review-engine review))))
         (hunks (seq-remove (lambda (hunk) (aref marks hunk))
                            (agent-q-diff-module-blank-hunks
                             (agent-q-diff-review-engine review)))))
    (unless hunks
      (user-error "No pending hunk changes nothing but white space"))
    (save-excursion
      (when (agent-q-diff--do-each 'accept hunks)
        (message "Accepted %d hunk%s of white space" (length hunks)
                 (if (= 1 (length hunks)) "" "s"))))))

(defun agent-q-diff-recode-target ()
  "Let the target be saved as UTF-8 from now on.
For a hunk with a character that its coding system cannot hold: saving
then writes the whole file anew in UTF-8."
  (interactive)
  (let ((review (agent-q-diff--review-with-target)))
    (agent-q-diff-target-recode (agent-q-diff-review-target review))
    (message "%s will be saved as UTF-8; accept the hunk again"
             (agent-q-diff-visible
              (buffer-name (agent-q-diff-review-target review))))))

(defun agent-q-diff--show-many (review)
  "Show what a command on several hunks of REVIEW came to.
What a hook changed in the target on the way to the file is followed."
  (if (or (agent-q-diff-review-follow review)
          (not (agent-q-diff-review-committed review))
          (not (agent-q-diff-engine-committed-marks
                (agent-q-diff-review-committed review))))
      (progn
        (agent-q-diff-review-recount review)
        (agent-q-diff--write-states)
        (agent-q-diff--show-all))
    (agent-q-diff--show-committed)))

(defun agent-q-diff--accept-pending (by-key)
  "Accept every pending hunk, and finish if all of them applied.
BY-KEY is as for `agent-q-diff-accept-all'."
  (let ((review (agent-q-diff--review-with-target)))
    (if (zerop (nth 3 (agent-q-diff--counts)))
        (agent-q-diff-finish nil by-key)
      (let ((failed (agent-q-diff-review-accept-all review)))
        (agent-q-diff--show-many review)
        (cond
         ((null failed) (agent-q-diff--decide "accepted" by-key))
         (agent-q-diff--end-function
          (agent-q-diff--say-failures failed "Not applied"))
         (t (agent-q-diff--say-failures failed "Not applied")
            (agent-q-diff-finish nil by-key)))))))

(defun agent-q-diff-accept-all (&optional by-key)
  "Apply every pending hunk, never a rejected one, and finish.
It is one undo step of the target.  If some do not apply, the others are
in and the review stays open, if anybody waits for it.  With nothing
pending, just finish.  BY-KEY tells that a person called."
  (interactive (list t))
  (agent-q-diff--confirm-unfinished by-key)
  (agent-q-diff--distrust-states)
  (condition-case err
      (agent-q-diff--collecting-once
        (agent-q-diff--accept-pending by-key))
    (error
     (message "Failed to apply: %s" (agent-q-diff--error-text err))
     (unless (or agent-q-diff--end-function (agent-q-diff--ended-p))
       (agent-q-diff-finish nil by-key)))))

(defun agent-q-diff-unapply-all ()
  "Take whatever of the proposal is in the target out of it again.
It is one undo step of the target.  Hunks whose lines others have changed
since stay; which these are is said.  Return them, a list of
\(HUNK . REASON)."
  (interactive)
  (let* ((review (agent-q-diff--review-with-target))
         (n (agent-q-diff-review-in-target review))
         (failed (agent-q-diff-review-unapply-all review)))
    (agent-q-diff--show-many review)
    (cond
     (failed (agent-q-diff--say-failures failed "Not taken out"))
     ((zerop n) (message "Nothing of it is in the file"))
     (t (message "Taken out of the file; nothing of the proposal is in it")))
    failed))

(defun agent-q-diff--say-failures (failed what)
  "Move to the first of FAILED, a list of (HUNK . REASON), and say them all.
WHAT says what could not be done."
  (agent-q-diff--goto-hunk (caar failed))
  (message "%s: %s" what
           (mapconcat (pcase-lambda (`(,hunk . ,reason))
                        (format "hunk %d: %s" (1+ hunk) reason))
                      failed "; ")))

(defun agent-q-diff-reject-all (&optional by-key)
  "Reject every pending hunk and finish with \"rejected\".
What was applied before stays in the target.  BY-KEY tells that a person
called."
  (interactive (list t))
  (when (agent-q-diff--ended-p)
    (user-error "The review has ended"))
  (agent-q-diff--confirm-unfinished by-key)
  (agent-q-diff--distrust-states)
  (when-let ((review (agent-q-diff--review-or-nil)))
    (agent-q-diff-review-reject-all review)
    (agent-q-diff--write-states)
    (agent-q-diff--show-all))
  (agent-q-diff--decide "rejected" by-key))

(defun agent-q-diff-finish (&optional ask by-key)
  "Finish the review and decide by the mark of each hunk.
It is \"accepted\" if at least one hunk is applied, else \"rejected\"; see
`agent-q-diff-decision-basis'.  With ASK, as by key, ask first if hunks
are pending and `agent-q-diff-confirm-finish' is non-nil.  BY-KEY tells
that a person called.  Once the review has ended, leave its buffer."
  (interactive (list t t))
  (if (agent-q-diff--ended-p)
      (when by-key
        (quit-window))
    (agent-q-diff--distrust-states)
    (agent-q-diff--confirm-unfinished by-key)
    (agent-q-diff--confirm-finish ask)
    (pcase-exhaustive (agent-q-diff--outcome)
      ('accepted (agent-q-diff--decide "accepted" by-key))
      ('rejected (agent-q-diff--decide "rejected" by-key))
      ('not-applied
       (message "Nothing was applied, because what you accepted could not be")
       (if agent-q-diff--end-function
           (agent-q-diff--end 'not-applied by-key)
         ;; Nobody waits who could be told more than one of two words.
         (agent-q-diff--decide "rejected" by-key))))))

(defun agent-q-diff--confirm-unfinished (by-key)
  "Say that text for a hunk is edited and was not taken, if that is so.
BY-KEY tells that a person can be asked whether to go on without it."
  (let* ((review (agent-q-diff--review-or-nil))
         (buffers (and review (agent-q-diff-edit-unfinished review)))
         (enable-recursive-minibuffers t))
    (when buffers
      (if (and by-key (not noninteractive))
          (unless (save-selected-window
                    (y-or-n-p (format "What you edit in %s was not taken.  Go on without it? "
                                      (car buffers))))
            (user-error "Not finished"))
        (message "What is edited in %s was not taken" (car buffers))))))

(defun agent-q-diff--confirm-finish (ask)
  "If ASK is non-nil and hunks are pending, ask whether to finish."
  (let ((pending (nth 3 (agent-q-diff--counts)))
        (enable-recursive-minibuffers t))
    (when (and ask agent-q-diff-confirm-finish (not noninteractive) (> pending 0))
      ;; With another minibuffer open, Emacs would go on in that.
      (unless (save-selected-window
                (y-or-n-p (format "%d %s pending.  Finish anyway? " pending
                                  (if (= pending 1) "hunk is" "hunks are"))))
        (user-error "Not finished")))))

(defun agent-q-diff--outcome ()
  "Return `accepted', `rejected' or `not-applied'."
  (let ((review (agent-q-diff--review-or-nil)))
    (when (and review (agent-q-diff-review-path review))
      (ignore-error agent-q-diff-bad-target
        (agent-q-diff--review-with-target)))
    (cond
     ((rassq 'applied (if review
                          (agent-q-diff--stray-states)
                        agent-q-diff--hunk-states))
      'accepted)
     (review (agent-q-diff-module-decision
              (agent-q-diff-review-engine review)
              (eq agent-q-diff-decision-basis 'facts)))
     (t 'rejected))))

;;;; Comments

(defun agent-q-diff-comment-hunk (comment)
  "Say COMMENT of the hunk at point, or nothing if it is empty.
The agent reads it when the review has ended: of a rejected hunk, say,
the reason."
  (interactive
   (list (read-string "Comment on this hunk: "
                      (agent-q-diff--comment-on (agent-q-diff--hunk-here)))))
  (let ((review (agent-q-diff--current-review))
        (hunk (agent-q-diff--hunk-here)))
    (setf (alist-get hunk (agent-q-diff-review-comments review) nil t)
          (and (not (string-blank-p comment)) comment))
    (agent-q-diff--show-hunk hunk)))

(defun agent-q-diff--comment-on (hunk)
  "Return what the user said of HUNK, or nil."
  (alist-get hunk (agent-q-diff-review-comments (agent-q-diff--current-review))))

(defun agent-q-diff-comment (comment)
  "Say COMMENT of the whole proposal, or nothing if it is empty.
The agent reads it when the review has ended."
  (interactive
   (list (read-string "Comment on the proposal: "
                      (agent-q-diff-review-comment
                       (agent-q-diff--current-review)))))
  (let ((said (and (not (string-blank-p comment)) comment)))
    (setf (agent-q-diff-review-comment (agent-q-diff--current-review)) said)
    (agent-q-diff--refresh-progress)
    (message (if said
                 "The agent reads that when the review has ended"
               "No comment on the proposal"))))

;;;; A moment of grace

(defconst agent-q-diff--decisions
  '(agent-q-diff-accept-hunk agent-q-diff-reject-hunk agent-q-diff-toggle-hunk
    agent-q-diff-unapply-hunk agent-q-diff-unapply-all agent-q-diff-accept-all agent-q-diff-reject-all
    agent-q-diff-finish agent-q-diff-finish-now agent-q-diff-abort)
  "The commands that decide, or end the review undecided.")

(defvar-local agent-q-diff--grace-end nil
  "Time until which keys that decide are ignored in this buffer, or nil.")

(defun agent-q-diff--begin-grace ()
  "Ignore keys that decide in this buffer for a moment.
It has just come up, perhaps under the fingers of somebody who types."
  (setq agent-q-diff--grace-end (time-add nil agent-q-diff-grace))
  (add-hook 'pre-command-hook #'agent-q-diff--ignore-in-grace nil t))

(defun agent-q-diff--ignore-in-grace ()
  "Do nothing instead of a command that decides, if it comes too early.
Keys of a keyboard macro, and all keys of a batch Emacs, come from a
program, which does not type ahead by mistake."
  (if (time-less-p agent-q-diff--grace-end nil)
      (remove-hook 'pre-command-hook #'agent-q-diff--ignore-in-grace t)
    (when (and (not executing-kbd-macro)
               (not noninteractive)
               (memq (indirect-function this-command)
                     (mapcar #'indirect-function agent-q-diff--decisions)))
      (setq this-command #'agent-q-diff-ignore-key))))

(defun agent-q-diff-ignore-key ()
  "Say that a key that decides was ignored."
  (interactive)
  (message "Ignored: the review had only just come up"))

;;;; The end of a review

(defun agent-q-diff--joined (&rest sentences)
  "Return SENTENCES, of which some may be nil, as one string, or nil."
  (and (delq nil sentences)
       (string-join (delq nil sentences) "; ")))

(defun agent-q-diff--only-in-buffer ()
  "Return what to say if hunks are in the target's buffer and not saved, or nil."
  (let* ((review agent-q-diff--review)
         (target (and review (agent-q-diff-review-target review))))
    (when (and (buffer-live-p target)
               (agent-q-diff-review-engine review)
               (not (agent-q-diff-review-is-detached review))
               (agent-q-diff-target-unsaved-p target)
               (< 0 (agent-q-diff-review-in-target review)))
      (format "What you accepted is in the buffer %s and not saved"
              (agent-q-diff-visible (buffer-name target))))))

(defun agent-q-diff--decide (decision by-key)
  "Set the decision to DECISION, a string, and end the review.
BY-KEY tells that a person did, who is then told if what was chosen
leaves the target unsound."
  (let ((warning (and by-key
                      (agent-q-diff--joined (agent-q-diff--only-in-buffer)
                                            (agent-q-diff-outcome-at-finish)))))
    (setq agent-q-diff--decision decision)
    (unwind-protect
        (agent-q-diff--end 'decided by-key)
      (when warning
        (message "%s" warning)))))

(defun agent-q-diff--end (outcome by-key)
  "End the review with OUTCOME, a symbol, if anybody waits for it.
Where nobody does, but somebody has entered a recursive edit around this
buffer, leave that if BY-KEY is non-nil."
  (when agent-q-diff--end-function
    (setq by-key nil)
    (funcall agent-q-diff--end-function agent-q-diff--review outcome))
  ;; Whoever replaces this function, as tests do, wants to see it called.
  (when (or (not (subrp (symbol-function 'exit-recursive-edit)))
            (and by-key
                 (> (recursion-depth) (minibuffer-depth))
                 (zerop (minibuffer-depth))
                 (not (bound-and-true-p agent-q-diff--waiting))))
    (exit-recursive-edit)))

(defun agent-q-diff--unwaited-p ()
  "Return non-nil if this buffer's review is open without a recursive edit."
  (and agent-q-diff--end-function
       (not (memq agent-q-diff--review (bound-and-true-p agent-q-diff--waiting)))))

(defun agent-q-diff-finish-now ()
  "Finish the review as \\[agent-q-diff-finish] does, but without a question.
While Emacs waits for the review in a recursive edit,
\\[exit-recursive-edit] does the same by leaving that."
  (interactive)
  (agent-q-diff-finish))

(defun agent-q-diff-abort ()
  "Cancel the review: the agent is told that there was no decision.
What was accepted stays in the file; see `agent-q-diff-look-again'.
While Emacs waits for the review in a recursive edit,
\\[abort-recursive-edit] does the same by leaving that."
  (interactive)
  (unless agent-q-diff--end-function
    (user-error "The review has ended"))
  (agent-q-diff--end 'aborted nil))

(defun agent-q-diff--abort-at-top-level ()
  "Cancel this buffer's review if the user called the command `top-level'.
That command throws past its own end, but Emacs runs `post-command-hook'
all the same.  Where a review is waited for, `agent-q-diff--wait' catches
that throw."
  (when (and (eq this-command 'top-level) (agent-q-diff--unwaited-p))
    (agent-q-diff-abort)))
(put 'agent-q-diff--abort-at-top-level 'permanent-local-hook t)

(defun agent-q-diff--if-unwaited (command)
  "Return a key binding that is COMMAND where no recursive edit waits.
Elsewhere the key has its usual command, which leaves the recursive edit."
  `(menu-item "" ,command
              :filter ,(lambda (command)
                         (and (agent-q-diff--unwaited-p) command))))

;;;; Mode

(defun agent-q-diff-refuse ()
  "Refuse a command of `diff-mode' that would rewrite the proposal.
In a buffer whose diff came by hand, carry it out."
  (interactive)
  (if (eq agent-q-diff--parsed-tick t)
      (user-error "The proposal's text is fixed; accept or reject its hunks")
    (call-interactively this-original-command)))

(defvar agent-q-diff-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'agent-q-diff-next-hunk)
    (define-key map "p" #'agent-q-diff-previous-hunk)
    (define-key map "N" #'agent-q-diff-next-conflict)
    (define-key map "P" #'agent-q-diff-previous-conflict)
    (define-key map "a" #'agent-q-diff-accept-hunk)
    (define-key map "r" #'agent-q-diff-reject-hunk)
    (define-key map "u" #'agent-q-diff-unapply-hunk)
    (define-key map "U" #'agent-q-diff-unapply-all)
    (define-key map "s" #'agent-q-diff-split-hunk)
    (define-key map "e" #'agent-q-diff-edit-hunk)
    (define-key map "m" #'agent-q-diff-merge-hunk)
    (define-key map "c" #'agent-q-diff-comment-hunk)
    (define-key map "C" #'agent-q-diff-comment)
    (define-key map " " #'agent-q-diff-toggle-hunk)
    (define-key map "\r" #'agent-q-diff-preview-hunk)
    (define-key map "q" #'agent-q-diff-finish)
    (define-key map "f" #'agent-q-diff-follow-mode)
    (define-key map "=" #'agent-q-diff-show-outcome)
    (define-key map "h" #'agent-q-diff-hide-decided-mode)
    (define-key map "W" #'agent-q-diff-fold-white-space-mode)
    (define-key map "w" #'agent-q-diff-accept-white-space)
    (define-key map "." #'agent-q-diff-next-pending)
    (define-key map "R" #'agent-q-diff-next-rejected)
    (define-key map "x" #'agent-q-diff-expand-line)
    (define-key map "?" #'agent-q-diff-help)
    (define-key map "\C-c\C-c" #'agent-q-diff-accept-all)
    (define-key map "\C-c\C-k" #'agent-q-diff-reject-all)
    (dolist (command '(diff-hunk-kill diff-file-kill diff-reverse-direction
                       diff-context->unified
                       diff-unified->context diff-ignore-whitespace-hunk
                       diff-refresh-hunk diff-delete-trailing-whitespace
                       diff-kill-applied-hunks
                       diff-delete-other-hunks))
      (define-key map (vector 'remap command) #'agent-q-diff-refuse))
    (define-key map [remap exit-recursive-edit]
      (agent-q-diff--if-unwaited #'agent-q-diff-finish-now))
    (define-key map [remap abort-recursive-edit]
      (agent-q-diff--if-unwaited #'agent-q-diff-abort))
    (define-key map [remap diff-split-hunk] #'agent-q-diff-split-hunk)
    (define-key map [remap undo] #'agent-q-diff-undo)
    (define-key map [remap undo-only] #'agent-q-diff-undo)
    (define-key map [remap undo-redo] #'agent-q-diff-redo)
    map)
  "Keymap of `agent-q-diff-mode'.")

(agent-q-diff-menu-define agent-q-diff-mode-map)

(defun agent-q-diff--own-keys (map)
  "Let the keys of MAP win over those of read-only diff buffers."
  (setq-local minor-mode-overriding-map-alist
              (list (cons 'buffer-read-only map)
                    (cons 'diff-mode-read-only map))))

;;;###autoload
(define-derived-mode agent-q-diff-mode diff-mode "Agent-Q Diff"
  "Major mode for deciding an agent's proposal hunk by hunk.

\\{agent-q-diff-mode-map}"
  ;; One process for each hunk, and files opened because a header names
  ;; them, are not what reading a proposal may cost.
  (setq-local diff-refine nil)
  (setq-local diff-font-lock-syntax nil)
  (agent-q-diff-honest-set-up)
  (agent-q-diff-cut-set-up)
  (agent-q-diff-fontify-set-up)
  (agent-q-diff-where-set-up)
  (agent-q-diff-menu-set-up)
  (agent-q-diff--own-keys agent-q-diff-mode-map))

(provide 'agent-q-diff-mode)
;;; agent-q-diff-mode.el ends here
