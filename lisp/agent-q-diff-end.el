;;; agent-q-diff-end.el --- The end of a review, and who learns of it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Every review that somebody asked for is open until it has ended, and ends
;; once: its result is noted, its memory given back, and its caller told.
;; However it ends, and that can be from a key, a timer, the end of a
;; buffer or of Emacs, there is one answer.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-target)
(require 'agent-q-diff-log)
(require 'agent-q-diff-review)
(require 'agent-q-diff-message)
(require 'agent-q-diff-transcript)
(require 'agent-q-diff-view)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-mode)

;;;; Open reviews

(defvar agent-q-diff--open nil
  "Reviews that have not ended, the oldest first.")

(defvar agent-q-diff--past nil
  "Reviews that have ended and can be looked at again, the latest first.")

(defun agent-q-diff-open-reviews ()
  "Return the reviews that have not ended, the oldest first."
  (copy-sequence agent-q-diff--open))

(defconst agent-q-diff--mode-line
  '(:eval (agent-q-diff--mode-line))
  "What `global-mode-string' has while reviews are open.")

(defun agent-q-diff--mode-line ()
  "Return how many reviews are open, for the mode line."
  (let ((n (length agent-q-diff--open)))
    (propertize (format " [%d review%s]" n (if (= n 1) "" "s"))
                'face 'agent-q-diff-warning
                'help-echo "Reviews that wait for you; M-x agent-q-diff-list")))
(put 'agent-q-diff--mode-line 'risky-local-variable t)

(defun agent-q-diff--begin-mode-line ()
  "Have the mode line count the reviews that are open.
`global-mode-string' may be any construct, say a string of the user's;
one that is no list of constructs becomes an element of one."
  (let ((construct global-mode-string))
    (setq global-mode-string
          (append (cond
                   ((null construct) '(""))
                   ((and (consp construct)
                         (or (stringp (car construct)) (consp (car construct))))
                    construct)
                   (t (list "" construct)))
                  (list agent-q-diff--mode-line)))))

(defconst agent-q-diff--agent-length 40
  "Number of characters of an agent's name that are shown.")

(defun agent-q-diff--begin (review)
  "Note that REVIEW is open, and who waits for it."
  (setf (agent-q-diff-review-caller review) (cdr agent-q-diff-caller)
        (agent-q-diff-review-agent review)
        ;; It is for nothing but to be shown.
        (when-let ((agent (or (agent-q-diff-review-agent review)
                              (car agent-q-diff-caller))))
          (agent-q-diff-visible agent agent-q-diff--agent-length)))
  (setf (agent-q-diff-review-disk review) (agent-q-diff--disk review)
        (agent-q-diff-review-hash review) (agent-q-diff--logged-hash review))
  (unless agent-q-diff--open
    (agent-q-diff--begin-mode-line)
    (add-hook 'kill-emacs-query-functions #'agent-q-diff--query-kill-emacs)
    (add-hook 'kill-emacs-hook #'agent-q-diff--emacs-killed))
  (setq agent-q-diff--open (append agent-q-diff--open (list review)))
  (force-mode-line-update t))

(defun agent-q-diff--disk (review)
  "Return what is known of the file of REVIEW now, or nil if nothing is.
The value is another once somebody has written the file."
  (unless (agent-q-diff-review-is-detached review)
    ;; The host of a remote file may be gone, and the caller must be told.
    (ignore-errors
      (list (agent-q-diff-file-attributes (agent-q-diff-review-path review))))))

(defun agent-q-diff--cease (review)
  "Note that REVIEW is open no more, and leave nothing behind after the last."
  (setq agent-q-diff--open (delq review agent-q-diff--open))
  (unless agent-q-diff--open
    (agent-q-diff-fontify-forget)
    (setq global-mode-string (delq agent-q-diff--mode-line global-mode-string))
    (remove-hook 'kill-emacs-query-functions #'agent-q-diff--query-kill-emacs)
    (remove-hook 'kill-emacs-hook #'agent-q-diff--emacs-killed))
  (force-mode-line-update t))

(defun agent-q-diff--query-kill-emacs ()
  "Ask whether to leave Emacs although reviews are open."
  (let ((n (length agent-q-diff--open)))
    (or noninteractive
        (yes-or-no-p (format "%d %s not decided; leave Emacs all the same? "
                             n (if (= n 1) "review is" "reviews are"))))))

(defun agent-q-diff--emacs-killed ()
  "Answer the callers of all open reviews, since Emacs ends.
So are those that they begin when they are answered, as an agent might
that tries again, but not for ever."
  (cl-loop repeat 10
           while agent-q-diff--open
           do (dolist (review (agent-q-diff-open-reviews))
                (agent-q-diff--set-outcome review 'emacs-killed)
                (agent-q-diff--close review))))

;;;###autoload
(defun agent-q-diff-next-review ()
  "Go to the next review that waits, after that of the current buffer."
  (interactive)
  (let* ((reviews (agent-q-diff-open-reviews))
         (next (or (cadr (memq agent-q-diff--review reviews))
                   (car reviews))))
    (if (or (null next) (eq next agent-q-diff--review))
        (message "No other review waits")
      (pop-to-buffer-same-window (agent-q-diff-review-buffer next)))))

(define-key agent-q-diff-mode-map "j" #'agent-q-diff-next-review)

;;;; Ending

(defun agent-q-diff--set-outcome (review outcome)
  "Set how REVIEW ended to OUTCOME, unless it has ended before."
  (unless (agent-q-diff-review-outcome review)
    (setf (agent-q-diff-review-outcome review) outcome)))

(defun agent-q-diff--close (review)
  "Note the result of REVIEW, which has ended, and tell who asked to be told.
Nothing changes it any more; a caller that waits may be answered later."
  (let ((buffer (agent-q-diff-review-buffer review)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (setq agent-q-diff--end-function nil)
        (agent-q-diff--stop-refreshing)
        (agent-q-diff--unmark-place)
        (remove-hook 'kill-buffer-query-functions #'agent-q-diff--query-kill-buffer t)
        (remove-hook 'kill-buffer-hook #'agent-q-diff--buffer-killed t)
        (remove-hook 'post-command-hook #'agent-q-diff--abort-at-top-level t)))
    (unless (agent-q-diff-review-result review)
      (let ((agent-q-diff-contract (agent-q-diff-review-contract review)))
        (agent-q-diff--note-lost review)
        (setf (agent-q-diff-review-result review) (agent-q-diff--result review))
        (agent-q-diff--keep-engine review)
        (agent-q-diff--cease review)
        (with-demoted-errors "The log of reviews: %S"
          (agent-q-diff--record review))
        (agent-q-diff--give-back review)
        (agent-q-diff--say-undecided review)
        (agent-q-diff--tell review)))))

(defun agent-q-diff--note-lost (review)
  "Bring REVIEW up to date with its target, and note if the file is gone.
Then no hunk is in the file any more, so that the review did not end with
a decision even if the user made one."
  ;; To visit it anew runs hooks of others.
  (ignore-error (error quit)
    (agent-q-diff-review-follow review))
  (when (and (eq 'decided (agent-q-diff-review-outcome review))
             (memq (agent-q-diff-review-disk-state review) '(deleted irregular moved))
             (buffer-live-p (agent-q-diff-review-target review))
             (not (buffer-modified-p (agent-q-diff-review-target review)))
             (< 0 (agent-q-diff-review-in-target review)))
    (setf (agent-q-diff-review-outcome review)
          (list 'lost (agent-q-diff-review-disk-message review)))))

(defun agent-q-diff--give-back (review)
  "Free the memory of REVIEW, and say what fails while doing so.
Putting its target away runs other people's hooks, and the caller must get
its answer whatever they do."
  (condition-case err
      (agent-q-diff-review-close review)
    ((error quit)
     (message "After the review of %s: %s"
              (agent-q-diff-visible (agent-q-diff-review-path review))
              (agent-q-diff-visible (agent-q-diff--error-text err))))))

;;;; What the user reads of an end without a decision

(defun agent-q-diff--shown-name (review)
  "Return the name of the file of REVIEW, without its folder, to be shown."
  (agent-q-diff-visible
   (file-name-nondirectory (agent-q-diff-review-path review))))

(defun agent-q-diff--shown-agent (review)
  "Return the name of the agent of REVIEW, to be shown at the head of a sentence."
  (if-let ((agent (agent-q-diff-review-agent review)))
      (agent-q-diff-visible agent)
    "An agent"))

(defun agent-q-diff--undecided-text (review n)
  "Return what to tell the user of REVIEW if it ended without a decision.
N of its hunks stay in the file.  The value is nil if it was decided, and
when Emacs exits, since nobody could read it."
  (let* ((name (agent-q-diff--shown-name review))
         (hunks (if (= n 1) "1 hunk stays in" (format "%d hunks stay in" n)))
         (stay (if (zerop n) "" (format "; %s the file" hunks))))
    (pcase (agent-q-diff-review-outcome review)
      ((or 'abandoned (and 'cancelled (guard (agent-q-diff-review-is-abandoned review))))
       (format "Nobody is waiting any more for the review of %s, so it is cancelled%s" name stay))
      ('cancelled (format "%s withdrew its proposal for %s%s"
                          (agent-q-diff--shown-agent review) name stay))
      ((or 'killed 'aborted)
       (if (zerop n)
           (format "Cancelled the review of %s" name)
         (format "Cancelled; %s %s" hunks name))))))

(defun agent-q-diff--say-undecided (review)
  "Tell the user if REVIEW ended without a decision, and what stays of it.
A program may have ended it while the user was looking elsewhere."
  (when-let ((text (agent-q-diff--undecided-text
                    review
                    (if (agent-q-diff-review-is-detached review)
                        0
                      (plist-get (agent-q-diff-review-result review) :in-file)))))
    (message "%s%s" text
             (if (memq review agent-q-diff--past)
                 "; M-x agent-q-diff-look-again shows it"
               ""))))

(defun agent-q-diff--query-kill-buffer ()
  "Ask whether to kill this buffer, if hunks of its review were decided.
Only a command is asked: a timer or a process that kills the buffer has
its reasons, and nobody may be there to answer."
  (let ((enable-recursive-minibuffers t))
    (or noninteractive
        (null this-command)
        (null agent-q-diff--end-function)
        (pcase-let ((`(,total ,_ ,_ ,pending) (agent-q-diff--counts)))
          (or (and (= total pending)
                   (not (agent-q-diff-review-is-edited agent-q-diff--review)))
              (save-selected-window
                (y-or-n-p (format "%d of %d hunks decided.  Cancel the review of %s? "
                                  (- total pending) total
                                  (agent-q-diff--shown-name agent-q-diff--review)))))))))
(put 'agent-q-diff--query-kill-buffer 'permanent-local-hook t)

;;;; Telling the caller

(defvar agent-q-diff--leaving nil
  "Diff buffers whose reviews have ended, and which are about to go.
A review that a callback begins must have another one.")

(defun agent-q-diff--tell (review)
  "Call the callback of REVIEW with its result, this once."
  (let ((callback (agent-q-diff-review-callback review))
        (agent-q-diff--leaving (cons (agent-q-diff-review-buffer review)
                                     agent-q-diff--leaving)))
    (setf (agent-q-diff-review-callback review) nil)
    (agent-q-diff--call-back callback (agent-q-diff-review-result review))))

(defun agent-q-diff--call-back (callback value)
  "Call CALLBACK, a function or nil, with VALUE.
An error there is said, and no matter of the review."
  (when callback
    (condition-case err
        (funcall callback value)
      ((error quit)
       (message "The caller of a review failed: %s"
                (error-message-string err))))))

;;;; Buffers and windows

(defun agent-q-diff--buffer-killed ()
  "Cancel the review of the buffer that is being killed."
  (when agent-q-diff--end-function
    (funcall agent-q-diff--end-function agent-q-diff--review 'killed)))

(defconst agent-q-diff-list-buffer-name "*Agent-Q Reviews*"
  "Name of the buffer with the list of open reviews.")

(defun agent-q-diff--listed-elsewhere-p (window buffer &rest _)
  "Return non-nil if BUFFER is the list of reviews, and beside WINDOW already.
This is a function for `switch-to-prev-buffer-skip'."
  (and (equal (buffer-name buffer) agent-q-diff-list-buffer-name)
       (remq window (get-buffer-window-list buffer 'never (window-frame window)))))

(defun agent-q-diff--quit-windows (buffer &optional is-to-be-killed)
  "Have all windows of BUFFER show what they showed before it.
If IS-TO-BE-KILLED, kill it.  The list of reviews may have been in one of
them, and be in another window of the frame by now; once is enough."
  (dolist (window (get-buffer-window-list buffer 'never t))
    (pcase (window-parameter window 'quit-restore)
      (`(,_ (,before . ,_) . ,_)
       (when (and (buffer-live-p before)
                  (agent-q-diff--listed-elsewhere-p window before))
         (set-window-parameter window 'quit-restore nil)))))
  (let ((switch-to-prev-buffer-skip (or switch-to-prev-buffer-skip
                                        #'agent-q-diff--listed-elsewhere-p)))
    (quit-windows-on buffer is-to-be-killed)))

(defun agent-q-diff--end-unwaited (review outcome)
  "End REVIEW, for which nobody waits in a recursive edit, with OUTCOME.
Its buffer is taken out of sight, and one of several is not kept."
  (agent-q-diff--set-outcome review outcome)
  (agent-q-diff--close review)
  (let ((buffer (agent-q-diff-review-buffer review)))
    (when (and (buffer-live-p buffer) (not (eq outcome 'killed)))
      (agent-q-diff--quit-windows buffer)
      (agent-q-diff--kill-further buffer))))

(defun agent-q-diff--kill-further (buffer)
  "Kill the diff buffer BUFFER, whose review has ended, if it is not the first.
That one stays, to be read.  What hooks of others do must not keep the
caller from its answer."
  (when (and (buffer-live-p buffer)
             (not (equal (buffer-name buffer) agent-q-diff-buffer-name)))
    (condition-case err
        (kill-buffer buffer)
      ((error quit) (message "After a review: %s" (agent-q-diff--error-text err))))))

(defun agent-q-diff-cancel (review)
  "End REVIEW without a decision, since its proposal was withdrawn.
Hunks that were accepted by then stay in the target.  Return non-nil
unless REVIEW had ended before."
  (unless (agent-q-diff-review-outcome review)
    (agent-q-diff--end-by-program review 'cancelled)
    t))

(defun agent-q-diff-abandon (predicate)
  "Mark the open reviews as abandoned whose caller is gone.
PREDICATE is called with each caller, and returns non-nil if it is.  What
becomes of these reviews is up to `agent-q-diff-when-caller-gone'."
  (dolist (review (agent-q-diff-open-reviews))
    (when (and (not (agent-q-diff-review-is-abandoned review))
               (agent-q-diff-review-caller review)
               (funcall predicate (agent-q-diff-review-caller review)))
      (setf (agent-q-diff-review-is-abandoned review) t)
      (if (eq agent-q-diff-when-caller-gone 'cancel)
          (agent-q-diff--end-by-program review 'abandoned)
        (agent-q-diff--say-abandoned review)))))

(defun agent-q-diff--say-abandoned (review)
  "Tell the user, also in the diff buffer, that nobody is waiting for REVIEW."
  (let ((buffer (agent-q-diff-review-buffer review)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (agent-q-diff--refresh-progress))))
  (message "Nobody is waiting any more for the review of %s"
           (agent-q-diff-visible
            (abbreviate-file-name (agent-q-diff-review-path review)))))

(defun agent-q-diff--end-by-program (review outcome)
  "End REVIEW with OUTCOME, wherever it is being decided."
  (let ((buffer (agent-q-diff-review-buffer review)))
    (funcall (or (and (buffer-live-p buffer)
                      (buffer-local-value 'agent-q-diff--end-function buffer))
                 #'agent-q-diff--end-unwaited)
             review outcome)))

;;;; Reviews that have ended

(defconst agent-q-diff--kept-characters (* 32 1024 1024)
  "Number of characters that the targets of kept reviews may have together.
For each the engine holds several times as many bytes.")

(defun agent-q-diff-past-reviews ()
  "Return the reviews that have ended and are kept, the latest first."
  (copy-sequence agent-q-diff--past))

(defun agent-q-diff--keep-engine (review)
  "Keep the engine's review of REVIEW, which ends, if it is worth it.
That of a text that is no file's is not: nothing of it is anywhere."
  (when (and (agent-q-diff-review-engine review)
             (agent-q-diff-review-path review)
             (not (agent-q-diff-review-is-detached review))
             (buffer-live-p (agent-q-diff-review-target review)))
    (setf (agent-q-diff-review-kept-engine review)
          (agent-q-diff-review-engine review)
          (agent-q-diff-review-size review)
          (buffer-size (agent-q-diff-review-target review))
          (agent-q-diff-review-engine review) nil)
    (agent-q-diff--keep review)))

(defun agent-q-diff--keep (review)
  "Make REVIEW the latest of those that are kept, and forget the oldest."
  (setq agent-q-diff--past (cons review (delq review agent-q-diff--past)))
  (let ((size 0)
        (n 0))
    (dolist (past (agent-q-diff-past-reviews))
      (cl-incf size (agent-q-diff-review-size past))
      (cl-incf n)
      (when (or (> n agent-q-diff-kept-reviews)
                (> size agent-q-diff--kept-characters))
        (agent-q-diff-forget past)))))

(defun agent-q-diff-forget (review)
  "Give back the memory of REVIEW, which has ended.
It can then not be looked at again."
  (setq agent-q-diff--past (delq review agent-q-diff--past))
  (when (agent-q-diff-review-kept-engine review)
    (agent-q-diff-module-free (agent-q-diff-review-kept-engine review))
    (setf (agent-q-diff-review-kept-engine review) nil)))

;;;; Result

(defun agent-q-diff--why (review)
  "Return why REVIEW ended without a decision, as an error (SYMBOL MESSAGE).
Return nil if it was decided."
  (pcase-exhaustive (agent-q-diff-review-outcome review)
    ('decided nil)
    (`(error ,symbol ,message) (list symbol message))
    (`(lost ,message) (list 'agent-q-diff-not-applied message))
    ('not-applied
     (list 'agent-q-diff-not-applied
           (mapconcat (pcase-lambda (`(,hunk . ,reason))
                        (format "hunk %d: %s" (1+ hunk) reason))
                      (reverse (agent-q-diff-review-failures review))
                      "; ")))
    ('cancelled (list 'agent-q-diff-cancelled "the agent withdrew it"))
    ('abandoned (list 'agent-q-diff-cancelled "the agent that proposed it is gone"))
    ('killed (list 'agent-q-diff-cancelled "its buffer was killed"))
    ('emacs-killed (list 'agent-q-diff-cancelled "Emacs exited"))
    ('aborted (list 'agent-q-diff-cancelled "the user left it undecided"))
    ('no-user (list 'agent-q-diff-no-user
                    "this Emacs runs in batch mode, and there are no keys left to read"))))

(defun agent-q-diff--status (review decision counts)
  "Return the status of REVIEW, a symbol, with DECISION and COUNTS.
DECISION is a string or nil; COUNTS is as `agent-q-diff-module-counts'
has it, or nil."
  (pcase (agent-q-diff-review-outcome review)
    (`(error . ,_) 'error)
    ((or 'not-applied `(lost . ,_)) 'stale)
    ('decided (pcase-let ((`(,total ,_ ,_ ,in-file) counts))
                (cond
                 ((equal decision "rejected") 'rejected)
                 ((= total in-file) 'accepted)
                 (t 'partial))))
    (_ 'cancelled)))

(defun agent-q-diff--result (review)
  "Return the result of REVIEW, a plist; see `agent-q-diff-review'.
It tells what is in the target now, whoever put it there; if that can no
longer be had, what was in it last."
  (pcase-let* ((`(,counts ,side . ,hunks) (agent-q-diff--report review))
               (is-lost (eq 'lost (car-safe (agent-q-diff-review-outcome review))))
               (`(,total ,applied ,rejected ,in-target) counts)
               (in-file (if is-lost 0 in-target))
               (buffer (agent-q-diff-review-buffer review))
               (decision (and (eq (agent-q-diff-review-outcome review) 'decided)
                              (buffer-live-p buffer)
                              (buffer-local-value 'agent-q-diff--decision buffer))))
    (agent-q-diff--with-message
     (append
      (list :status (agent-q-diff--status review decision counts)
            :decision decision
            :path (agent-q-diff-review-path review)
            :error (nth 0 (agent-q-diff--why review))
            :reason (nth 1 (agent-q-diff--why review))
            :comment (agent-q-diff-review-comment review)
            :total total :applied applied :rejected rejected
            :pending (- total applied rejected) :in-file in-file
            :altered (agent-q-diff-review-is-altered review)
            :detached (agent-q-diff-review-is-detached review)
            :untouched (and (agent-q-diff-review-disk review)
                            (equal (agent-q-diff-review-disk review)
                                   (agent-q-diff--disk review)))
            :overwritten (and is-lost (< 0 in-target))
            :hunks (agent-q-diff--hunk-results review hunks is-lost))
      (agent-q-diff--content review side (< 0 in-file))))))

(defun agent-q-diff--report (review)
  "Return (COUNTS SIDE . HUNKS) for REVIEW, as `agent-q-diff-engine-report' does."
  (let ((target (agent-q-diff-review-target review)))
    (agent-q-diff-engine-report (agent-q-diff-review-engine review)
                                (if (buffer-live-p target) (buffer-size target) 0)
                                agent-q-diff--n-shown
                                (agent-q-diff-review-path review))))

(defun agent-q-diff--with-message (result)
  "Return RESULT with the message that the agent is to read."
  (append result
          (list :message (agent-q-diff-message-of-result
                          result (plist-get result :path)))))

(defun agent-q-diff--target-text (review side)
  "Return the text of the target of REVIEW.
If that is one of the proposal's texts, which SIDE tells, it is that
string: a copy of a large one would be garbage enough for Emacs to collect."
  (or (agent-q-diff--proposal-text review side)
      (agent-q-diff-target-text (agent-q-diff-review-target review))))

(defun agent-q-diff--proposal-text (review side)
  "Return the proposal's text that the target of REVIEW certainly is, or nil.
SIDE is what the engine says of it: `original', `modified' or nil."
  (let ((target (agent-q-diff-review-target review))
        (buffer (agent-q-diff-review-buffer review)))
    (when (and (buffer-live-p buffer)
               (not (agent-q-diff-review-is-adapted review))
               (eq (agent-q-diff-target-tick target) (agent-q-diff-review-tick review)))
      (let ((text (pcase side
                    ('original (buffer-local-value 'agent-q-diff--original buffer))
                    ('modified (buffer-local-value 'agent-q-diff--modified buffer)))))
        (and text
             (multibyte-string-p text)
             (buffer-local-value 'enable-multibyte-characters target)
             (= (length text) (buffer-size target))
             (null (object-intervals text))
             text)))))

(defun agent-q-diff--content (review side is-any-in)
  "Return a plist with the text of the target of REVIEW, and if it is saved.
SIDE is which text of the proposal that is, or nil.  If IS-ANY-IN, hunks
are in it, so that nothing but the file's bytes is proof that it is saved."
  (let ((target (agent-q-diff-review-target review)))
    (when (buffer-live-p target)
      (list :content (agent-q-diff--target-text review side)
            :saved (and (not (agent-q-diff-review-is-detached review))
                        (if is-any-in
                            (agent-q-diff-target-in-file-p target)
                          (not (or (agent-q-diff-target-unsaved-p target)
                                   (agent-q-diff-review-disk-state review))))
                        t)))))

(defun agent-q-diff--hunk-results (review hunks is-lost)
  "Return a plist for each of HUNKS of REVIEW, as `agent-q-diff--report' has them.
IS-LOST is non-nil if the file is gone, so that none is in it."
  (cl-loop with is-cut = (agent-q-diff-review-is-cut review)
           with texts = (and (or is-cut
                                 (cl-some (lambda (entry)
                                            (agent-q-diff-engine-hunk-is-edited
                                             (car entry)))
                                          hunks))
                             (agent-q-diff--hunk-texts review (length hunks)))
           for (hunk header . now) in hunks
           for index = (agent-q-diff-engine-hunk-index hunk)
           for text = (pop texts)
           for is-in = (agent-q-diff-engine-hunk-fact hunk)
           for place = (agent-q-diff-engine-hunk-place hunk)
           collect (list :index index
                         :state (agent-q-diff-engine-hunk-mark hunk)
                         :header header
                         :in-file (and is-in (not is-lost) (not (eq place 'lost)))
                         :lost (or (eq place 'lost) (and is-in is-lost))
                         :was-in (agent-q-diff-engine-hunk-was-in hunk)
                         :offset (and (integerp place) place)
                         :fuzz (agent-q-diff-engine-hunk-fuzz hunk)
                         :places (agent-q-diff-engine-hunk-places hunk)
                         :now now
                         :edited (and (agent-q-diff-engine-hunk-is-edited hunk) text)
                         :part (and is-cut text)
                         :comment (alist-get index (agent-q-diff-review-comments
                                                    review))
                         :reason (alist-get index (agent-q-diff-review-failures
                                                   review)))))

(defun agent-q-diff--hunk-texts (review total)
  "Return the diff text of each of the TOTAL hunks of REVIEW.
They are printed all at once: one by one, each would look for its section
heading from the top of the file."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-engine-print-hunks
                (agent-q-diff-review-engine review) 0 total
                (agent-q-diff-review-path review))))
    (with-temp-buffer
      (insert diff)
      (goto-char (point-min))
      (cl-loop for (here next) on lines
               for beg = (point)
               do (if next
                      (forward-line (- next here))
                    (goto-char (point-max)))
               collect (buffer-substring-no-properties beg (point))))))

;;;; The log

(defconst agent-q-diff--outcomes
  '((accepted . "accepted")
    (partial . "partly accepted")
    (rejected . "rejected")
    (cancelled . "cancelled")
    (stale . "could not be applied")
    (error . "error"))
  "What the log calls the statuses of results.")

(defun agent-q-diff--record (review)
  "Record in the log how REVIEW ended, whoever began it."
  (let ((result (agent-q-diff-review-result review)))
    (agent-q-diff-log-record
     (list :tool (or (agent-q-diff-review-tool review) "review")
           :agent (agent-q-diff-review-agent review)
           :path (plist-get result :path)
           :outcome (alist-get (plist-get result :status) agent-q-diff--outcomes)
           :total (plist-get result :total)
           :in-file (plist-get result :in-file)
           :saved (plist-get result :saved)
           :hash-before (agent-q-diff-review-hash review)
           :hash-after (agent-q-diff--logged-hash review)
           :hunks (mapcar #'agent-q-diff--logged-hunk (plist-get result :hunks))
           :decided-by (agent-q-diff--decided-by review)
           :reason (or (plist-get result :reason) (plist-get result :comment))
           :diff (agent-q-diff-review-proposed review))))
  ;; It can be as long as the file, and the review may be kept.
  (setf (agent-q-diff-review-proposed review) nil))

(defun agent-q-diff--logged-hunk (hunk)
  "Return what the log has of HUNK, a hunk's result.
The proposal's diff has its lines, and what is nil is left out: a review
can have thousands of hunks."
  (cl-loop for key in agent-q-diff-log-hunk-keys
           for value = (plist-get hunk key)
           when value nconc (list key value)))

(defun agent-q-diff--decided-by (review)
  "Return who ended REVIEW, a symbol."
  (pcase (agent-q-diff-review-outcome review)
    ((and 'decided (guard (agent-q-diff-review-is-by-program review))) 'program)
    ((or 'cancelled 'abandoned) 'caller)
    ((or 'no-user `(error agent-q-diff-no-user . ,_)) 'nobody)
    (`(error . ,_) 'error)
    (_ 'user)))

(defun agent-q-diff--logged-hash (review)
  "Return a hash of the file of REVIEW as it is now, for the log, or nil.
Only calls of tools have one: it takes reading the file once more."
  (when (and agent-q-diff-log-file
             (agent-q-diff-review-tool review)
             (agent-q-diff-review-path review)
             (not (agent-q-diff-review-is-detached review)))
    (ignore-errors
      (with-temp-buffer
        (set-buffer-multibyte nil)
        (insert-file-contents-literally (agent-q-diff-review-path review))
        (secure-hash 'sha256 (current-buffer))))))

(provide 'agent-q-diff-end)
;;; agent-q-diff-end.el ends here
