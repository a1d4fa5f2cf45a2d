;;; agent-q-diff-lifecycle.el --- Begins and ends reviews, and answers who waits  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each review begins here and, whatever ends it, ends here: its result is
;; recorded, its memory freed, and its caller answered, exactly once.
;;
;; The commands that end a review ask their questions and show their warnings
;; first.
;;
;; An agent waits only so long for a decision.  The last minutes of that time
;; are shown in the header line of the review and in the list of reviews, and
;; are announced twice in the echo area.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-current)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-outcome)
(require 'agent-q-diff-target)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-result)
(require 'agent-q-diff-navigation)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-grace)

;;; Finishing or leaving a review by a command

;;;; Commands

(defcustom agent-q-diff-decision-basis 'marks
  "What decides between \"accepted\" and \"rejected\" when a review ends.
With `marks', the marks that the diff buffer shows: accepted if at least
one hunk is marked applied.  With `facts', what is in the target:
accepted if at least one hunk's change is in it."
  :group 'agent-q-diff-review
  :type '(choice (const :tag "The marks shown" marks)
                 (const :tag "What is in the target" facts)))

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
      ('undecided (agent-q-diff-finish--with 'undecided by-key))
      ('not-applied
       (message "Nothing was applied: what you accepted could not be applied")
       (if (agent-q-diff-buffer-awaited-p)
           (agent-q-diff-finish--with 'not-applied by-key)
         ;; Otherwise the decision can only be one of two words.
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
   (cond
    ((agent-q-diff-finish--pending-in-p)
     (ngettext "%d undecided hunk stays as it is."
               "%d undecided hunks stay as they are." pending))
    ((when-let ((change (agent-q-diff-buffer-change-or-nil)))
       (agent-q-diff-change-is-compound change))
     (ngettext "%d undecided hunk stays out of the files."
               "%d undecided hunks stay out of the files." pending))
    (t
     (ngettext "%d undecided hunk stays out of the file."
               "%d undecided hunks stay out of the file." pending)))
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
    (when (and ask agent-q-diff-confirm-finish (not noninteractive) (> pending 0)
               ;; They are pending tomorrow, too.
               (not (agent-q-diff-buffer-written-p)))
      ;; Otherwise, if another minibuffer is open, Emacs would select that
      ;; one.
      (unless (save-selected-window
                (y-or-n-p (concat (agent-q-diff-finish--pending-text pending)
                                  "  Finish? ")))
        (user-error "Not finished")))))

(defun agent-q-diff-finish--undecided-p ()
  "Return non-nil if nothing is decided, and a caller waits that can be told so.
Agent-Q's contract has only \"accepted\" and \"rejected\"."
  (and (agent-q-diff-buffer-awaited-p)
       (not agent-q-diff-buffer-is-past)
       (not (agent-q-diff-session-is-documented agent-q-diff-buffer-review))
       (pcase-let ((`(,total ,_ ,_ ,pending) (agent-q-diff-buffer-counts)))
         (= total pending))))

(defun agent-q-diff-finish--outcome ()
  "Return how the review would end.
It is `accepted', `rejected', `not-applied', or, if nothing was decided, and the
change was written already or a caller waits that can be told so, `undecided'."
  (let ((change (agent-q-diff-buffer-change-or-nil)))
    (when (and change (agent-q-diff-change-path change))
      (ignore-error agent-q-diff-bad-target
        (agent-q-diff-signs-follow)))
    (cond
     ((agent-q-diff-buffer-written-p)
      (pcase (agent-q-diff-buffer-counts)
        (`(,_ 0 0 ,_) 'undecided)
        (`(,_ 0 ,_ ,_) 'rejected)
        (_ 'accepted)))
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
        ;; The message about the end, which says what is saved, includes it.
        (setf (agent-q-diff-session-warning agent-q-diff-buffer-review) unsound)
      (when-let ((warnings (and by-key
                                (delq nil (list (agent-q-diff-finish--only-in-buffer)
                                                unsound)))))
        (message "%s" (string-join warnings "; "))))
    (agent-q-diff-finish--with 'decided by-key)))

(defun agent-q-diff-finish--with (outcome by-key)
  "End the review with OUTCOME, a symbol, if a caller waits for it.
If none does, leave the recursive edit around this buffer, if there is one:
a program may have entered it to wait.  If it may be somebody else's, leave
it only if BY-KEY is non-nil."
  (agent-q-diff-change-check-idle agent-q-diff-buffer-change)
  (when (agent-q-diff-buffer-awaited-p)
    (setq by-key nil)
    (funcall (agent-q-diff-buffer-awaited-p) agent-q-diff-buffer-review outcome))
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
  (agent-q-diff-finish--with 'aborted nil))

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

;;; How long an agent still waits

(defvar agent-q-diff-deadline--timer nil
  "Timer that runs when the display of some deadline changes, or nil.")

(defvar-local agent-q-diff-deadline--minutes nil
  "The minutes left that were last shown, or nil.")

(defun agent-q-diff-deadline-begin (review seconds)
  "Have REVIEW show that its caller waits for SECONDS from now."
  (setf (agent-q-diff-session-deadline review) (time-add nil seconds))
  (with-current-buffer (agent-q-diff-session-buffer review)
    (setq agent-q-diff-deadline--minutes (agent-q-diff-session-minutes-left review)))
  (agent-q-diff-deadline--update))

(defun agent-q-diff-deadline--change-after (seconds)
  "Return the seconds until the display must change, with SECONDS left.
If it will not change any more, return nil."
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
                     (or (agent-q-diff-session-agent-name review) "The agent")
                     minutes (agent-q-diff-session-name review))))
        (agent-q-diff-progress-refresh)))))

;;; Beginning and ending

;;;; Open reviews

(defun agent-q-diff-lifecycle--begin-mode-line ()
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

(defun agent-q-diff-lifecycle-begin (review)
  "Record that REVIEW is open."
  (agent-q-diff-result-note-files review)
  (agent-q-diff-base-with-live (agent-q-diff-session-buffer review)
    (agent-q-diff-grace-watch))
  (unless agent-q-diff-reviews-open
    (agent-q-diff-lifecycle--begin-mode-line)
    (add-hook 'kill-emacs-query-functions #'agent-q-diff-lifecycle--query-kill-emacs)
    (add-hook 'kill-emacs-hook #'agent-q-diff-lifecycle--emacs-killed))
  (setq agent-q-diff-reviews-open (append agent-q-diff-reviews-open (list review)))
  (run-hooks 'agent-q-diff-session-changed-hook)
  (force-mode-line-update t))

(defun agent-q-diff-lifecycle--cease (review)
  "Record that REVIEW is no longer open; after the last one, clean up."
  (setq agent-q-diff-reviews-open (delq review agent-q-diff-reviews-open))
  (unless agent-q-diff-reviews-open
    (agent-q-diff-fontify-forget)
    (agent-q-diff-grace-unwatch)
    (setq global-mode-string (delq agent-q-diff-reviews-mode-line global-mode-string))
    (remove-hook 'kill-emacs-query-functions #'agent-q-diff-lifecycle--query-kill-emacs)
    (remove-hook 'kill-emacs-hook #'agent-q-diff-lifecycle--emacs-killed))
  (run-hooks 'agent-q-diff-session-changed-hook)
  (force-mode-line-update t))

(defun agent-q-diff-lifecycle--query-kill-emacs ()
  "Ask whether to leave Emacs although reviews are open."
  (let ((n (length agent-q-diff-reviews-open)))
    (or noninteractive
        (yes-or-no-p (format (ngettext "%d review is not decided; exit Emacs anyway? "
                                       "%d reviews are not decided; exit Emacs anyway? " n)
                             n)))))

(defun agent-q-diff-lifecycle--emacs-killed ()
  "Answer the callers of all open reviews, since Emacs exits.
When answered, callers may begin further reviews, for example an agent that
tries again.  Answer these as well, but not endlessly."
  (cl-loop repeat 10
           while agent-q-diff-reviews-open
           do (dolist (review (agent-q-diff-open-reviews))
                (agent-q-diff-lifecycle-set-outcome review 'emacs-killed)
                (agent-q-diff-lifecycle-close review))))

;;;; Ending

(defvar agent-q-diff-lifecycle-ending-functions nil
  "Functions to call with a review that has ended, when its result is made.")

(defun agent-q-diff-lifecycle-set-outcome (review outcome &optional err)
  "Set how REVIEW ended to OUTCOME, with the error ERR, unless it has ended before."
  (unless (agent-q-diff-session-outcome review)
    (setf (agent-q-diff-session-outcome review) outcome
          (agent-q-diff-session-error review) err)))

(defun agent-q-diff-lifecycle-close (review)
  "Record the result of REVIEW, which has ended, and call its callback.
The result does not change any more.  A caller in a recursive edit may be
answered later."
  (setf (agent-q-diff-session-end review) nil)
  (agent-q-diff-base-with-live (agent-q-diff-session-buffer review)
    (agent-q-diff-buffer-complete)
    (agent-q-diff-buffer-keep-lines)
    (agent-q-diff-signs-stop-refreshing)
    (agent-q-diff-places-unmark)
    (agent-q-diff-navigation-unmark)
    (agent-q-diff-places-leave review)
    (remove-hook 'kill-buffer-query-functions #'agent-q-diff-lifecycle-query-kill-buffer t)
    (remove-hook 'kill-buffer-hook #'agent-q-diff-lifecycle-buffer-killed t)
    (remove-hook 'post-command-hook #'agent-q-diff-finish-abort-at-top-level t)
    (remove-hook 'pre-command-hook #'agent-q-diff-grace--check-selected t))
  (unless (agent-q-diff-session-result review)
    (let ((agent-q-diff-call (agent-q-diff-session-call review)))
      (agent-q-diff-lifecycle--note-lost review)
      (setf (agent-q-diff-session-result review) (agent-q-diff-result-of review))
      (with-demoted-errors "At the end of the review: %S"
        (run-hook-with-args 'agent-q-diff-lifecycle-ending-functions review))
      ;; It is kept if there is anything in it to show again.
      (when (and (not (eq 'error (plist-get (agent-q-diff-session-result review) :status)))
                 (agent-q-diff-change-keep (agent-q-diff-session-change review)))
        (agent-q-diff-reviews-keep review))
      (agent-q-diff-lifecycle--cease review)
      (with-demoted-errors "The log of reviews: %S"
        (agent-q-diff-result-record review))
      (agent-q-diff-lifecycle--give-back review)
      (agent-q-diff-lifecycle--say-undecided review)
      (unwind-protect
          (when (agent-q-diff-lifecycle-tell review)
            (agent-q-diff-lifecycle--say-decided review))
        ;; Also if the callback has thrown to somewhere else.
        (agent-q-diff-lifecycle-run 'agent-q-diff-review-ended-functions review
                                    (agent-q-diff-session-result review))))))

(defun agent-q-diff-lifecycle-run (hook &rest arguments)
  "Call each function of HOOK, a symbol, with ARGUMENTS, whatever others do.
An error in one is only shown."
  (run-hook-wrapped
   hook
   (lambda (function)
     (condition-case err
         (apply function arguments)
       ((error quit)
        (message "A function of `%s' failed: %s" hook (error-message-string err))))
     nil)))

(defun agent-q-diff-lifecycle--note-lost (review)
  "Bring REVIEW up to date with its target, and record if the file is gone.
Then no hunk is in the file any more, so the review did not end with a
decision even if the user made one.  If it has several files, the result
says of each what is in it."
  (let ((change (agent-q-diff-session-change review))
        (file (agent-q-diff-session-file review)))
    ;; Visiting it again runs other people's hooks.
    (ignore-error (error quit)
      (agent-q-diff-change-follow change))
    (when (and (eq 'decided (agent-q-diff-session-outcome review))
               (not (agent-q-diff-change-is-compound change))
               ;; Of what was written before, the decisions hold all the same.
               (not (agent-q-diff-change-written change))
               (agent-q-diff-file-change-is-lost file)
               (< 0 (agent-q-diff-change-in-target change)))
      (setf (agent-q-diff-session-outcome review) 'lost
            (agent-q-diff-session-error review)
            (list 'agent-q-diff-not-applied
                  (agent-q-diff-target-disk-message (agent-q-diff-file-change-target file)))))))

(defun agent-q-diff-lifecycle--give-back (review)
  "Free the memory of REVIEW, and show a message if that fails.
Closing its target runs other people's hooks, and the caller must get its
answer whatever they do."
  (condition-case err
      (agent-q-diff-change-close (agent-q-diff-session-change review))
    ((error quit)
     (message "After the review of %s: %s"
              (agent-q-diff-session-long-name review)
              (agent-q-diff-visible (agent-q-diff-error-text err))))))

;;;; Messages about an end with a decision

(defun agent-q-diff-lifecycle--in-file-text (review)
  "Return how many hunks of REVIEW, which was decided, are in its file, in words."
  (let ((result (agent-q-diff-session-result review)))
    (format (ngettext "%s of %d hunk %s" "%s of %d hunks %s" (plist-get result :total))
            (pcase (plist-get result :in-file)
              (0 "none")
              (n n))
            (plist-get result :total)
            (cond
             ((plist-get result :detached)
              (cond
               ((= 0 (plist-get result :in-file)) "accepted, nothing is written")
               ((plist-get result :writer) "accepted, for the agent to write")
               (t "accepted, not yet written")))
             ((plist-get result :files)
              (concat "in the files" (agent-q-diff-lifecycle--unsaved-text result)))
             ((and (< 0 (plist-get result :in-file)) (not (plist-get result :saved)))
              "in the buffer, not saved")
             (t "in the file")))))

(defun agent-q-diff-lifecycle--unsaved-text (result)
  "Return words about the files of RESULT that are not saved, or nothing."
  (let ((unsaved (seq-filter #'agent-q-diff-result-unsaved-p (plist-get result :files))))
    (if unsaved
        (format ", %s not saved"
                (mapconcat (lambda (file)
                             (agent-q-diff-visible-name
                              (file-name-nondirectory (plist-get file :path))))
                           unsaved ", "))
      "")))

(defun agent-q-diff-lifecycle--left-text ()
  "Return words about the open reviews, or the empty string."
  (let ((reviews (agent-q-diff-open-reviews)))
    (if (null reviews)
        ""
      (format (ngettext "; %d review left, next: %s" "; %d reviews left, next: %s"
                        (length reviews))
              (length reviews)
              (agent-q-diff-lifecycle--shown-name (car reviews))))))

(defun agent-q-diff-lifecycle--n-waiting (review)
  "Return the number of hunks of REVIEW whose rejection still waits, or nil."
  (let ((n (length (agent-q-diff-written-waiting
                    (agent-q-diff-change-written (agent-q-diff-session-change review))))))
    (and (< 0 n) n)))

(defun agent-q-diff-lifecycle--n-where (state wheres hunks)
  "Return how many of HUNKS, results, have STATE and one of WHERES.
These are values of :state and :where, as in a result."
  (seq-count (lambda (hunk)
               (and (eq state (plist-get hunk :state))
                    (memq (plist-get hunk :where) wheres)))
             hunks))

(defun agent-q-diff-lifecycle--reviewed-text (review)
  "Return what became of the hunks of REVIEW, which were written before it."
  (let* ((result (agent-q-diff-session-result review))
         (hunks (plist-get result :hunks))
         (n-again (agent-q-diff-lifecycle--n-where 'rejected '(file buffer) hunks))
         (n-since (agent-q-diff-lifecycle--n-where 'applied '(nil changed) hunks))
         (n-gone (agent-q-diff-lifecycle--n-where nil '(nil buffer) hunks))
         (n-unsaved (+ (agent-q-diff-lifecycle--n-where 'rejected '(unsaved) hunks)
                       (agent-q-diff-lifecycle--n-where 'applied '(buffer) hunks)))
         (pending (- (plist-get result :total) (plist-get result :applied)
                     (plist-get result :rejected) n-gone)))
    (string-join
     (delq nil
           (list (concat (format "%d kept" (plist-get result :applied))
                         (and (< 0 n-since) (format " (%d changed since)" n-since)))
                 (concat (format "%d taken out" (plist-get result :rejected))
                         (and (< 0 n-again) (format " (%d written again)" n-again)))
                 (and (< 0 pending) (format "%d still pending" pending))
                 (and (< 0 n-gone) (format "%d not in the %s any more" n-gone
                                           (if (plist-get result :files) "files" "file")))
                 (cond
                  ((= 0 n-unsaved) (and (not (plist-get result :saved)) "not saved"))
                  ((= n-unsaved (+ (plist-get result :applied) (plist-get result :rejected)))
                   "not saved")
                  (t (format "%d of these not saved" n-unsaved)))
                 (agent-q-diff-lifecycle--merged-text review)
                 (when-let ((n (agent-q-diff-lifecycle--n-waiting review)))
                   (format "%d of these to be taken out when the agent's turn ends" n))
                 (when-let ((told (agent-q-diff-session-told review)))
                   ;; An agent that waits goes on with it.
                   (if (agent-q-diff-session-deadline review)
                       "the agent is told now"
                     (and (not (string-empty-p told)) told)))))
     ", ")))

(defun agent-q-diff-lifecycle--merged-text (review)
  "Return words if the last key of REVIEW has merged unsaved edits, or nil."
  (let ((change (agent-q-diff-session-change review)))
    (when (seq-some (lambda (file)
                      (integerp (agent-q-diff-target-has-followed
                                 (agent-q-diff-file-change-target file))))
                    (agent-q-diff-change-files change))
      (string-remove-prefix "; " (agent-q-diff-change-followed-words change)))))

(defun agent-q-diff-lifecycle--left-pending-p (review)
  "Return non-nil if REVIEW, of what was written already, was finished undecided."
  (and (eq 'undecided (agent-q-diff-session-outcome review))
       (agent-q-diff-change-written (agent-q-diff-session-change review))))

(defun agent-q-diff-lifecycle--say-decided (review)
  "Tell the user how REVIEW ended, if the user has decided it, or finished it."
  (when (and (or (eq 'decided (agent-q-diff-session-outcome review))
                 (agent-q-diff-lifecycle--left-pending-p review))
             (not (agent-q-diff-session-is-by-program review)))
    (message "%s: %s%s%s%s"
             (agent-q-diff-lifecycle--shown-name review)
             (if (agent-q-diff-change-written (agent-q-diff-session-change review))
                 (agent-q-diff-lifecycle--reviewed-text review)
               (agent-q-diff-lifecycle--in-file-text review))
             (if-let ((agent (and (not (agent-q-diff-session-is-abandoned review))
                                  (agent-q-diff-session-agent-name review))))
                 (format ", %s told" agent)
               "")
             (agent-q-diff-lifecycle--left-text)
             (if-let ((warning (agent-q-diff-session-warning review)))
                 (concat "; " (string-remove-prefix
                             (concat (agent-q-diff-lifecycle--shown-name review) ": ")
                             warning))
               ""))))

;;;; Messages about an end without a decision

(defun agent-q-diff-lifecycle--shown-name (review)
  "Return what REVIEW is of, without a directory, for display."
  (agent-q-diff-session-name review))

(defun agent-q-diff-lifecycle--shown-agent (review)
  "Return the name of the agent of REVIEW, for the beginning of a sentence."
  (or (agent-q-diff-session-agent-name review) "An agent"))

(defun agent-q-diff-lifecycle--undecided-text (review n)
  "Return a message about REVIEW if it ended without a decision, or nil.
N of its hunks stay in the file.  The value is nil if it was decided, and
also when Emacs exits, since nobody could read the message."
  (let* ((name (agent-q-diff-lifecycle--shown-name review))
         (hunks (format (ngettext "%d hunk stays in" "%d hunks stay in" n) n))
         (stay (cond
                ((zerop n) "")
                ((agent-q-diff-change-is-compound (agent-q-diff-session-change review))
                 (format "; %s the files" hunks))
                (t (format "; %s the file" hunks)))))
    (pcase (agent-q-diff-session-outcome review)
      ((or 'abandoned (and 'cancelled (guard (agent-q-diff-session-is-abandoned review))))
       (format "Nobody is waiting any more for the review of %s, so it is cancelled%s" name stay))
      ;; An agent that gives up waiting for its hook withdraws nothing: it may edit.
      ('cancelled (format (if (or (agent-q-diff-session-deadline review)
                                  (agent-q-diff-change-is-detached
                                   (agent-q-diff-session-change review)))
                              "%s no longer waits for the review of %s%s"
                            "%s withdrew its proposal for %s%s")
                          (agent-q-diff-lifecycle--shown-agent review) name stay))
      ('undecided (unless (or (agent-q-diff-session-is-by-program review)
                              (agent-q-diff-lifecycle--left-pending-p review))
                    (format "Nothing was decided about %s%s" name stay)))
      ((or 'killed 'aborted)
       (if (zerop n)
           (format "Cancelled the review of %s" name)
         (format "Cancelled; %s %s" hunks
                 (if (agent-q-diff-change-is-compound (agent-q-diff-session-change review))
                     "the files"
                   name)))))))

(defun agent-q-diff-lifecycle--say-undecided (review)
  "Tell the user if REVIEW ended without a decision, and what stays in the file.
A program may have ended it while the user was looking elsewhere."
  (when-let ((text (agent-q-diff-lifecycle--undecided-text
                    review
                    (if (plist-get (agent-q-diff-session-result review) :detached)
                        0
                      (or (plist-get (agent-q-diff-session-result review) :in-file) 0)))))
    (message "%s%s" text
             (if (memq review agent-q-diff-reviews-past)
                 "; M-x agent-q-diff-look-again shows it"
               ""))))

(defun agent-q-diff-lifecycle-query-kill-buffer ()
  "Ask whether to kill this buffer, if hunks of its review were decided.
Ask only if a command kills it: a timer or process has its reasons, and
there may be nobody to answer.  Refuse it while a command is carried out."
  (let ((enable-recursive-minibuffers t))
    (cond
     ((agent-q-diff-change-in-progress-p agent-q-diff-buffer-change)
      (message "A hunk is being applied; kill %s after that" (current-buffer))
      nil)
     ((or noninteractive
          (null this-command)
          (not (agent-q-diff-buffer-awaited-p))))
     (t
      (pcase-let ((`(,total ,_ ,_ ,pending) (agent-q-diff-buffer-counts)))
        (or (and (= total pending)
                 (not (agent-q-diff-change-is-edited agent-q-diff-buffer-change)))
            (save-selected-window
              (y-or-n-p (format "%d of %d hunks decided.  Cancel the review of %s? "
                                (- total pending) total
                                (agent-q-diff-lifecycle--shown-name
                                 agent-q-diff-buffer-review))))))))))
(put 'agent-q-diff-lifecycle-query-kill-buffer 'permanent-local-hook t)

;;;; Telling the caller

(defvar agent-q-diff-lifecycle-leaving nil
  "Diff buffers whose reviews have ended, and which are about to be killed.
A review that a callback begins must not use one of them.")

(defun agent-q-diff-lifecycle-tell (review)
  "Call the callback of REVIEW with its result, only once.
Return nil if that failed."
  (let ((callback (agent-q-diff-session-callback review))
        (agent-q-diff-lifecycle-leaving (cons (agent-q-diff-session-buffer review)
                                              agent-q-diff-lifecycle-leaving)))
    (setf (agent-q-diff-session-callback review) nil)
    (agent-q-diff-lifecycle-call-back callback (agent-q-diff-session-result review))))

(defun agent-q-diff-lifecycle-call-back (callback value)
  "Call CALLBACK, a function or nil, with VALUE; return nil if that failed.
An error in it is only shown; it does not affect the review."
  (condition-case err
      (progn
        (when callback
          (funcall callback value))
        t)
    ((error quit)
     (message "The caller of a review failed: %s"
              (error-message-string err))
     nil)))

;;;; Buffers and windows

(defun agent-q-diff-lifecycle-buffer-killed ()
  "Cancel the review of the buffer that is being killed."
  (when (and (agent-q-diff-buffer-awaited-p) (not (agent-q-diff-buffer-copied-p)))
    (funcall (agent-q-diff-buffer-awaited-p) agent-q-diff-buffer-review 'killed)))

(defconst agent-q-diff-list-buffer-name "*Agent-Q Reviews*"
  "Name of the buffer with the list of open reviews.")

(defun agent-q-diff-lifecycle--listed-elsewhere-p (window buffer &rest _)
  "Return non-nil if BUFFER is the list of reviews, and already in another window.
That is a window of the frame of WINDOW.  This is a function for
`switch-to-prev-buffer-skip'."
  (and (equal (buffer-name buffer) agent-q-diff-list-buffer-name)
       (remq window (get-buffer-window-list buffer 'never (window-frame window)))))

(defun agent-q-diff-lifecycle-quit-windows (buffer &optional is-to-be-killed)
  "Make all windows of BUFFER show what they showed before it.
If IS-TO-BE-KILLED is non-nil, kill BUFFER.  If one of the windows showed
the list of reviews, and another window of the frame now does, it is not
shown twice."
  (dolist (window (get-buffer-window-list buffer 'never t))
    (pcase (window-parameter window 'quit-restore)
      (`(,_ (,before . ,_) . ,_)
       (when (and (buffer-live-p before)
                  (agent-q-diff-lifecycle--listed-elsewhere-p window before))
         (set-window-parameter window 'quit-restore nil)))))
  (let ((switch-to-prev-buffer-skip (or switch-to-prev-buffer-skip
                                        #'agent-q-diff-lifecycle--listed-elsewhere-p)))
    (agent-q-diff-current-giving-back-room
     buffer
     (lambda ()
       (quit-windows-on buffer is-to-be-killed)))))

(defun agent-q-diff-lifecycle-end-unwaited (review outcome)
  "End REVIEW, which no caller waits for in a recursive edit, with OUTCOME.
Its buffer is removed from all windows; see
`agent-q-diff-lifecycle-kill-further'."
  (agent-q-diff-lifecycle-set-outcome review outcome)
  (agent-q-diff-lifecycle-close review)
  (let ((buffer (agent-q-diff-session-buffer review)))
    (when (and (buffer-live-p buffer) (not (eq outcome 'killed)))
      (agent-q-diff-lifecycle-quit-windows buffer)
      ;; The key that ended it, typed twice, must not decide another review.
      (agent-q-diff-grace-note-return)
      (agent-q-diff-lifecycle-kill-further buffer))))

(defun agent-q-diff-lifecycle--idle-p (buffer)
  "Return non-nil if BUFFER is a diff buffer named after its file and not in use.
Its review has ended, and no window shows it."
  (and (string-prefix-p "*Agent-Q Diff: " (buffer-name buffer))
       (not (get-buffer-window buffer t))
       (with-current-buffer buffer
         (and (derived-mode-p 'agent-q-diff-mode)
              (not (agent-q-diff-buffer-awaited-p))
              (agent-q-diff-buffer-ended-p)))))

(defun agent-q-diff-lifecycle-kill-further (latest)
  "Kill the diff buffers that nobody needs now that the review in LATEST has ended.
The first one of Agent-Q stays, to be read, and the latest of all others.
Errors in other people's hooks must not keep the caller from its answer."
  (when (buffer-live-p latest)
    (dolist (buffer (cond
                     ((equal (buffer-name latest) agent-q-diff-buffer-name) nil)
                     ((string-prefix-p agent-q-diff-buffer-name (buffer-name latest))
                      (list latest))
                     (t (seq-filter #'agent-q-diff-lifecycle--idle-p
                                    (remq latest (buffer-list))))))
      (condition-case err
          (kill-buffer buffer)
        ((error quit) (message "After a review: %s" (agent-q-diff-error-text err)))))))

(defun agent-q-diff-cancel (review)
  "End REVIEW without a decision, since its proposal was withdrawn.
REVIEW is a review, or the id of one; see `agent-q-diff-find-review'.  Hunks
that were accepted by then stay in the target.  Return non-nil unless REVIEW
had ended before, or no open review has that id."
  (when-let ((review (if (agent-q-diff-session-p review)
                         review
                       (agent-q-diff-find-review review))))
    (unless (agent-q-diff-session-outcome review)
      (agent-q-diff-lifecycle-end-by-program review 'cancelled)
      t)))

(defun agent-q-diff-abandon (predicate)
  "Mark the open reviews as abandoned whose caller is gone.
PREDICATE is called with each caller and returns non-nil if it is gone.
`agent-q-diff-when-caller-gone' says what happens to these reviews."
  (dolist (review (agent-q-diff-open-reviews))
    (when (and (not (agent-q-diff-session-is-abandoned review))
               (agent-q-diff-session-caller review)
               (funcall predicate (agent-q-diff-session-caller review)))
      (setf (agent-q-diff-session-is-abandoned review) t)
      (if (eq agent-q-diff-when-caller-gone 'cancel)
          (agent-q-diff-lifecycle-end-by-program review 'abandoned)
        (agent-q-diff-lifecycle--say-abandoned review)))))

(defun agent-q-diff-lifecycle--say-abandoned (review)
  "Tell the user, also in the diff buffer, that nobody is waiting for REVIEW."
  (agent-q-diff-base-with-live (agent-q-diff-session-buffer review)
    (agent-q-diff-progress-refresh))
  (message "Nobody is waiting any more for the review of %s"
           (agent-q-diff-visible-name
            (abbreviate-file-name (agent-q-diff-session-path review)))))

(defun agent-q-diff-lifecycle-end-by-program (review outcome)
  "End REVIEW with OUTCOME, wherever it is being decided.
If a command of its is being carried out, end it after that."
  (agent-q-diff-decide-when-done
   (agent-q-diff-session-change review)
   (lambda ()
     (unless (agent-q-diff-session-outcome review)
       (agent-q-diff-lifecycle--end-here review outcome)))))

(defun agent-q-diff-lifecycle--end-here (review outcome)
  "End REVIEW with OUTCOME.  The user may be typing elsewhere, and can go on there."
  (let* ((buffer (agent-q-diff-session-buffer review))
         (end (or (agent-q-diff-session-end review) #'agent-q-diff-lifecycle-end-unwaited)))
    (cond
     ((eq buffer (window-buffer))
      (funcall end review outcome))
     ;; The window from which the minibuffer was entered will show another buffer.
     ((and (minibuffer-selected-window)
           (eq buffer (window-buffer (minibuffer-selected-window))))
      (save-selected-window
        (funcall end review outcome)))
     (t (agent-q-diff-base-keeping-selection
          (funcall end review outcome))))))

(provide 'agent-q-diff-lifecycle)
;;; agent-q-diff-lifecycle.el ends here
