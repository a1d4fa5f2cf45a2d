;;; agent-q-diff-review.el --- One proposal being decided  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A review joins the engine, which knows where every hunk belongs, and
;; the target, where the edits are made.  No user interface: the diff
;; buffer calls these functions for its keys, and programs may as well.
;;
;; A command is planned by the engine, carried out in the target, and only
;; then committed.  What fails changes neither mark nor target.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-coding)
(require 'agent-q-diff-line-ends)
(require 'agent-q-diff-target)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-git)
(require 'agent-q-diff-visit)
(require 'agent-q-diff-apply)
(require 'agent-q-diff-outside)

(cl-defstruct (agent-q-diff-review (:constructor agent-q-diff-review--make)
                                   (:copier nil))
  "One proposal being decided."
  (path nil :documentation "Absolute name of the target's file, or nil.")
  (truename nil :documentation "What `file-truename' returned for the path at first.")
  (has-followed nil :documentation "Non-nil if the target has followed its file, and nobody was told.")
  (disk-state nil :documentation "What `agent-q-diff-disk-sync' returned last, or nil.")
  (engine nil :documentation "The engine's review.")
  (tick nil :documentation "Tick of the target when the engine saw it last.")
  (told nil :documentation "Tick of the target up to which the engine was told.")
  (listener nil :documentation "The function that is told of edits in the target.")
  (edited-function nil :documentation "Called after each edit by somebody else.")
  (target nil :documentation "The target's buffer, once it was needed.")
  (is-new nil :documentation "Non-nil if the target's buffer was made for us.")
  (is-created nil :documentation "Non-nil if an edit of ours created that file.")
  (missing nil :documentation "The directories that were created for it, innermost first.")
  (is-edited nil :documentation "Non-nil if there was an edit of ours.")
  (is-adapted nil :documentation "Non-nil if line ends were adapted.")
  (is-cut nil :documentation "Non-nil if hunks were split, which changes their numbers.")
  (committed nil :documentation "What there is to show of the last command, see `agent-q-diff-engine-committed'.")
  (n-conflicts nil :documentation "Number of hunks without a certain place, or nil if that is not known.")
  (is-altered nil :documentation "Non-nil if saving changed more than the hunks.")
  (check nil :documentation "Function called before each edit of ours, or nil.")
  (is-detached nil :documentation "Non-nil if the target is a text and no file.")
  (failures nil :documentation "Alist of hunks to why they failed last.")
  (comments nil :documentation "Alist of hunks to what the user says of them.")
  (comment nil :documentation "What the user says of the whole, or nil.")
  (agent nil :documentation "Who proposes, a string, or nil.")
  (contract agent-q-diff-contract :documentation "Whose wording the agent reads.")
  (tool agent-q-diff-tool :documentation "Name of the tool that was called, or nil.")
  (description nil :documentation "What the agent says of the proposal, a string.")
  (disk nil :documentation "Attributes of the file when the review was begun.")
  (hash nil :documentation "Hash of the file's bytes at that time, if it is for the log.")
  (proposed nil :documentation "The proposal as a diff, for the log.")
  (is-by-program nil :documentation "Non-nil if a program made the decision.")
  (caller nil :documentation "What waits for the answer, in its connector's own terms.")
  (is-abandoned nil :documentation "Non-nil if the caller has gone, so that nobody is waiting.")
  (begun nil :documentation "Time at which the review was begun.")
  (callback nil :documentation "Function to be called with the result, or nil.")
  (buffer nil :documentation "The diff buffer.")
  (depth nil :documentation "Recursion depth at which a caller waits, or nil.")
  (kept-engine nil :documentation "The engine's review, once this one has ended.")
  (size nil :documentation "Number of characters that the target had at the end.")
  (outcome nil :documentation "How the review ended, or nil; see `agent-q-diff'.")
  (result nil :documentation "The result, a plist, once the review has ended."))

;;;; Beginning and end

(defun agent-q-diff-review-open (path original modified &optional is-detached)
  "Return a new review of the file PATH, ORIGINAL becoming MODIFIED.
PATH is absolute.  If IS-DETACHED is non-nil, the target is no file but
the text ORIGINAL, in a buffer of its own.  Signal an error if there is
nothing to review or PATH cannot be a target."
  (agent-q-diff-coding-check-surrogates modified original)
  (let ((review (agent-q-diff-review--make :path path :begun (current-time)
                                           :is-detached is-detached)))
    (if is-detached
        (setf (agent-q-diff-review-target review)
              (agent-q-diff-visit-detached path original)
              (agent-q-diff-review-is-new review) t)
      (agent-q-diff-review--visit review))
    (condition-case err
        (agent-q-diff-review--load review original modified)
      (error
       (agent-q-diff-review-close review)
       (signal (car err) (cdr err))))
    review))

(defun agent-q-diff-review-reopen (review)
  "Return a new review, the continuation of REVIEW, which has ended.
It takes what was kept of that; signal an error if there is nothing or
the target can be none any more."
  (let ((engine (agent-q-diff-review-kept-engine review))
        (again (agent-q-diff-review--make
                :path (agent-q-diff-review-path review) :begun (current-time)
                :agent (agent-q-diff-review-agent review)
                :description (agent-q-diff-review-description review)
                :is-cut (agent-q-diff-review-is-cut review)
                :check (agent-q-diff-review-check review)
                :is-created (agent-q-diff-review-is-created review)
                :missing (agent-q-diff-review-missing review)
                :comment (agent-q-diff-review-comment review)
                :comments (copy-alist (agent-q-diff-review-comments review))
                :failures (copy-alist (agent-q-diff-review-failures review)))))
    (unless engine
      (signal 'agent-q-diff-ended '("the review has ended, and is not kept")))
    (setf (agent-q-diff-review-engine again) engine)
    (condition-case err
        (agent-q-diff-review-follow again)
      (error
       (setf (agent-q-diff-review-engine again) nil)
       (agent-q-diff-review-close again)
       (signal (car err) (cdr err))))
    (setf (agent-q-diff-review-kept-engine review) nil)
    again))

(defun agent-q-diff-review--load (review original modified)
  "Give REVIEW its engine, for ORIGINAL becoming MODIFIED."
  (let* ((target (agent-q-diff-review-target review))
         (tick (agent-q-diff-target-tick target)))
    (if (agent-q-diff-target-known-p target original)
        (progn
          (setf (agent-q-diff-review-engine review)
                (agent-q-diff-engine-review original modified))
          ;; The engine begins with just that.
          (agent-q-diff-review--note-tick review tick))
      (agent-q-diff-review--load-adapted review original modified
                                         (agent-q-diff-target-text target) tick))))

(defun agent-q-diff-review--load-adapted (review original modified live tick)
  "Give REVIEW its engine, for ORIGINAL becoming MODIFIED.
Both are adapted to LIVE, the text of the target at TICK."
  (let* ((adapt (agent-q-diff-line-ends-adapter
                 original live
                 (agent-q-diff-line-ends (agent-q-diff-review-target review))))
         (adapted (funcall adapt original))
         (proposed (funcall adapt modified)))
    (when (and (equal adapted proposed) (not (equal original modified)))
      (agent-q-diff-review--refuse-line-ends))
    (setf (agent-q-diff-review-is-adapted review)
          (not (and (equal original adapted) (equal modified proposed)))
          (agent-q-diff-review-engine review)
          (agent-q-diff-engine-review adapted proposed))
    (if (equal live adapted)
        (agent-q-diff-review--note-tick review tick)
      (agent-q-diff-review-follow review))))

(defun agent-q-diff-review--refuse-line-ends ()
  "Signal that a proposal would change nothing that Emacs has in a buffer."
  (signal 'agent-q-diff-identical
          '("only line ends or the byte order mark would change, and \
those are the file's coding system; C-x RET f changes it")))

(defun agent-q-diff-review-open-diff (diff)
  "Return a new review of DIFF, a unified diff of one file.
Its path is to be set before a hunk can be applied."
  (agent-q-diff-review--make :engine (agent-q-diff-engine-review-diff diff)))

(defun agent-q-diff-review-open-patch (path diff)
  "Return a new review of DIFF, a unified diff of the file PATH, an absolute name.
Its hunks are placed in the file as it is.  Signal an error if DIFF is
none or PATH cannot be a target."
  (agent-q-diff-coding-check-surrogates
   diff (replace-regexp-in-string "^\\+.*" "" diff))
  (let ((review (agent-q-diff-review--make :path path :begun (current-time))))
    (condition-case err
        (let* ((target (agent-q-diff-review--visit review))
               (adapted (agent-q-diff-review--adapt-diff diff target))
               (engine (agent-q-diff-review--diff-engine diff adapted target))
               (is-adapted (not (equal diff adapted))))
          (setf (agent-q-diff-review-is-adapted review) is-adapted
                (agent-q-diff-review-engine review) engine)
          (when (and is-adapted (agent-q-diff-module-is-idle engine))
            (agent-q-diff-review--refuse-line-ends))
          (agent-q-diff-review-follow review)
          review)
      (error
       (agent-q-diff-review-close review)
       (signal (car err) (cdr err))))))

(defun agent-q-diff-review--diff-engine (diff adapted target)
  "Return the engine's review of DIFF, which is ADAPTED to the buffer TARGET.
If DIFF has all of a file of CR line ends in one line, it is one of its
texts, with a hunk for each change."
  (pcase (agent-q-diff-line-ends-cr-texts diff (agent-q-diff-line-ends target))
    (`(,old . ,new) (agent-q-diff-engine-review old new))
    (_ (agent-q-diff-engine-review-diff adapted))))

(defun agent-q-diff-review--adapt-diff (diff target)
  "Return DIFF for the buffer TARGET.
Line ends and byte order mark are adapted as those of a whole text are;
see `agent-q-diff-line-ends-adapt-diff'."
  (let* ((live (agent-q-diff-target-text target))
         (unmarked (if (string-prefix-p "\ufeff" live)
                       diff
                     (replace-regexp-in-string "^\\([-+ ]\\)\ufeff" "\\1" diff))))
    (agent-q-diff-line-ends-adapt-diff
     unmarked
     ;; A file that is new, or empty, has no line ends to adapt to.
     (if (string-search "\n" live)
         (agent-q-diff-review--hunk-lines unmarked)
       unmarked)
     live (agent-q-diff-line-ends target))))

(defun agent-q-diff-review--hunk-lines (diff)
  "Return the lines in the hunks of DIFF, whose ends are those of a file.
The lines around them have others: git ends its own with LF, whatever the
file has.  A last line without newline has none either."
  (with-temp-buffer
    (insert diff)
    (goto-char (point-min))
    (flush-lines "^\\(?:--- \\|\\+\\+\\+ \\|[^-+ \n]\\)\\|^[-+ ].*\n\\\\")
    (buffer-string)))

(defun agent-q-diff-review-close (review)
  "Give back the memory of REVIEW.  Its target stays, unless nobody needs it.
A file that it created stays only if something is in it."
  (agent-q-diff-review--cease review)
  (when (agent-q-diff-review-engine review)
    (agent-q-diff-module-free (agent-q-diff-review-engine review))
    (setf (agent-q-diff-review-engine review) nil))
  (let ((target (agent-q-diff-review-target review))
        (is-gone (and (agent-q-diff-review-is-created review)
                      (agent-q-diff-visit-delete-empty
                       (agent-q-diff-review-target review)
                       (agent-q-diff-review-missing review)))))
    ;; Whoever wants to undo the edits there must find the buffer again.
    (cond
     ((agent-q-diff-review-is-detached review)
      (kill-buffer target))
     ((and (agent-q-diff-review-is-new review)
           (or is-gone (not (agent-q-diff-review-is-edited review))))
      (agent-q-diff-visit-close target)))))

;;;; The target

(defun agent-q-diff-review--visit (review)
  "Visit the target of REVIEW and return its buffer."
  (agent-q-diff-file-uncached
    (let ((path (agent-q-diff-review-path review)))
      (unless path
        (signal 'agent-q-diff-bad-target
                '("the diff has no target; set its path first")))
      (agent-q-diff-review--cease review)
      (agent-q-diff-file-clean-up)
      (unless (agent-q-diff-review-truename review)
        (setf (agent-q-diff-review-truename review) (file-truename path)))
      (pcase-let ((`(,buffer . ,is-new) (agent-q-diff-visit path)))
        (agent-q-diff-disk-watch buffer is-new)
        (setf (agent-q-diff-review-target review) buffer
              (agent-q-diff-review-is-new review) is-new
              (agent-q-diff-review-tick review) nil)
        (agent-q-diff-review--sync review)
        buffer))))

(defun agent-q-diff-review--sync (review)
  "Let the target of REVIEW follow its file if it has no unsaved edits.
What came of it is noted in REVIEW."
  (unless (agent-q-diff-review-is-detached review)
    (let ((state (agent-q-diff-disk-sync (agent-q-diff-review-target review))))
      (when (eq state 'followed)
        (setf (agent-q-diff-review-has-followed review) t))
      (setf (agent-q-diff-review-disk-state review)
            (and (not (eq state 'followed)) state)))))

(defun agent-q-diff-review-told-followed (review)
  "Return non-nil if the target of REVIEW has followed its file; forget that.
Call this to tell the user."
  (prog1 (agent-q-diff-review-has-followed review)
    (setf (agent-q-diff-review-has-followed review) nil)))

(defun agent-q-diff-review-disk-message (review)
  "Return why the target of REVIEW is not its file's text any more, or nil."
  (agent-q-diff-disk-message (agent-q-diff-review-target review)
                             (agent-q-diff-review-disk-state review)))

(defun agent-q-diff-review--check (review)
  "Signal an error if the file of REVIEW must not be written.
Its name must lead where it led when the review began, and whoever began
the review may have a check of its own."
  (agent-q-diff-file-uncached
    (unless (or (agent-q-diff-review-is-detached review)
                (equal (agent-q-diff-review-truename review)
                       (file-truename (agent-q-diff-review-path review))))
      (signal 'agent-q-diff-bad-target
              (list (agent-q-diff-disk-message
                     (agent-q-diff-review-target review) 'moved))))
    (when (agent-q-diff-review-check review)
      (funcall (agent-q-diff-review-check review)))))

(defun agent-q-diff-review-ensure-target (review)
  "Return the target's buffer of REVIEW.
Visit the file anew if the buffer was killed or visits another one now."
  (let ((buffer (agent-q-diff-review-target review)))
    (cond
     ((agent-q-diff-review--target-p review buffer) buffer)
     ((agent-q-diff-review-is-detached review)
      (signal 'agent-q-diff-bad-target '("the buffer with its text was killed")))
     (t (agent-q-diff-review--visit review)))))

(defun agent-q-diff-review--target-p (review buffer)
  "Return non-nil if BUFFER is what REVIEW has as its target."
  (let ((path (agent-q-diff-review-path review)))
    (and (buffer-live-p buffer)
         (or (agent-q-diff-review-is-detached review)
             (and (buffer-file-name buffer)
                  (or (equal (buffer-file-name buffer) path)
                      (eq buffer (find-buffer-visiting path))))))))

(defun agent-q-diff-review-aim (review path)
  "Make PATH, an absolute name or nil, the path of REVIEW's target."
  (unless (equal path (agent-q-diff-review-path review))
    (agent-q-diff-review--cease review)
    (setf (agent-q-diff-review-path review) path
          (agent-q-diff-review-truename review) nil
          (agent-q-diff-review-target review) nil
          (agent-q-diff-review-tick review) nil)))

(defun agent-q-diff-review-follow (review)
  "Let REVIEW see the target as it is now.  Return non-nil if that is news.
A target without unsaved edits follows its file first.  The engine was
told of most edits as they were made; whatever it missed it finds out by
comparing."
  (let ((buffer (agent-q-diff-review-ensure-target review))
        (is-news (not (eq (agent-q-diff-review-told review)
                          (agent-q-diff-review-tick review))))
        (rounds 0)
        tick)
    (agent-q-diff-review--sync review)
    (while (not (eq (setq tick (agent-q-diff-target-tick buffer))
                    (agent-q-diff-review-tick review)))
      ;; A hook may have changed it before this is done.
      (when (> (cl-incf rounds) 100)
        (error "The text of %s keeps changing; try again"
               (buffer-name buffer)))
      (let ((found (agent-q-diff-review--take-in review buffer tick)))
        (unless (eq found 'changed)
          (agent-q-diff-review--note-tick review tick)
          (setq is-news (or found is-news)))))
    (when (and (> rounds 0) is-news)
      (agent-q-diff-review-recount review)
      t)))

(defun agent-q-diff-review--note-tick (review tick)
  "Note that the engine of REVIEW knows the target as it is at TICK.
It is told of edits from then on."
  (setf (agent-q-diff-review-tick review) tick
        (agent-q-diff-review-told review) tick)
  (agent-q-diff-review--listen review))

(defun agent-q-diff-review--take-in (review buffer tick)
  "Let the engine of REVIEW know BUFFER, the target, as it is at TICK.
Return non-nil if that is news to it, and `changed' if BUFFER is no longer
as it was, so that nothing is known."
  (let* ((engine (agent-q-diff-review-engine review))
         (is-news (if (eq tick (agent-q-diff-review-told review))
                      (agent-q-diff-module-recognize engine (buffer-size buffer))
                    'follow)))
    (cond
     ((not (eq is-news 'follow)) is-news)
     ((agent-q-diff-review--adopt-blob engine buffer))
     (t (with-current-buffer buffer
          (agent-q-diff-engine-follow engine))))))

(defun agent-q-diff-review--adopt-blob (engine buffer)
  "Return non-nil if ENGINE's diff names the text of BUFFER, and is told so.
Git writes the ids of both texts above the hunks.  Then every line that
the diff states is certain."
  (pcase (agent-q-diff-module-blobs engine)
    (`(,old . ,new)
     (let ((ids (agent-q-diff-git-blob-ids buffer)))
       (cl-flet ((named-p (id)
                   (seq-some (lambda (full) (string-prefix-p id full)) ids)))
         (when-let ((side (cond ((named-p old) 'old)
                                ((named-p new) 'new))))
           (agent-q-diff-engine-adopt engine (agent-q-diff-target-text buffer)
                                      (eq side 'new))))))))

(defun agent-q-diff-review--listen (review)
  "Let REVIEW be told of edits in its target, from now on."
  (unless (agent-q-diff-review-listener review)
    (let ((listener (lambda (was now n-before n-behind n-chars text at-start is-undo)
                      (agent-q-diff-review--learn review was now n-before n-behind
                                                  n-chars text at-start is-undo))))
      (setf (agent-q-diff-review-listener review) listener)
      (agent-q-diff-outside-listen (agent-q-diff-review-target review)
                                   listener))))

(defun agent-q-diff-review--cease (review)
  "Let REVIEW no longer be told of edits in its target."
  (when (agent-q-diff-review-listener review)
    (agent-q-diff-outside-cease (agent-q-diff-review-target review)
                                (agent-q-diff-review-listener review))
    (setf (agent-q-diff-review-listener review) nil)))

(defun agent-q-diff-review--learn (review was now n-before n-behind n-chars text
                                          at-start is-undo)
  "Tell the engine of REVIEW of an edit made by somebody else.
WAS, NOW, N-BEFORE, N-BEHIND, N-CHARS, TEXT, AT-START and IS-UNDO are as
`agent-q-diff-outside-listen' has them.  An edit that follows one that was
missed is left to `agent-q-diff-review-follow'."
  (when (and (eq was (agent-q-diff-review-told review))
             (agent-q-diff-engine-edit-outside
              (agent-q-diff-review-engine review)
              n-before n-behind n-chars text at-start is-undo))
    (setf (agent-q-diff-review-told review) now))
  (when (agent-q-diff-review-edited-function review)
    (funcall (agent-q-diff-review-edited-function review))))

(defun agent-q-diff-review-saves-p (review)
  "Return non-nil if commands of REVIEW save the target."
  (pcase-exhaustive (if (agent-q-diff-review-is-detached review)
                        'never
                      agent-q-diff-save)
    ('always t)
    ('if-clean (not (agent-q-diff-disk-unsaved-p (agent-q-diff-review-target review))))
    ('never nil)))

;;;; Commands

(defconst agent-q-diff-review-max-shown 50
  "Number of hunks up to which a command on several returns all of them.")

(defun agent-q-diff-review--carry-out (review planned)
  "Make the edits of PLANNED in the target of REVIEW and commit it.
PLANNED is an `agent-q-diff-engine-planned'.  What a hook changed on the
way to the file is then followed."
  (let* ((agent-q-diff-outside-speaker (agent-q-diff-review-listener review))
         (edits (agent-q-diff-engine-planned-edits planned))
         (tick (and edits (agent-q-diff-review--edit review planned)))
         (committed (agent-q-diff-module-commit
                     (agent-q-diff-review-engine review)
                     agent-q-diff-review-max-shown
                     ;; No command of ours makes a conflict.
                     (not (eql 0 (agent-q-diff-review-n-conflicts review))))))
    (setf (agent-q-diff-review-committed review) committed)
    (when (agent-q-diff-engine-committed-conflicts committed)
      (setf (agent-q-diff-review-n-conflicts review)
            (agent-q-diff-engine-committed-conflicts committed)))
    (when edits
      (setf (agent-q-diff-review-is-edited review) t
            (agent-q-diff-review-tick review) tick
            (agent-q-diff-review-told review) tick)
      (unless (eq tick (agent-q-diff-target-tick
                        (agent-q-diff-review-target review)))
        (setf (agent-q-diff-review-is-altered review) t)))))

(defun agent-q-diff-review--edit (review planned)
  "Make the edits of PLANNED in the target of REVIEW.
Return the target's tick before it was saved.  Note what comes into being
by that."
  (agent-q-diff-file-uncached
    (agent-q-diff-review--check review)
    (let* ((path (agent-q-diff-review-path review))
           (is-saving (agent-q-diff-review-saves-p review))
           (was-missing (and is-saving (not (file-exists-p path))))
           (missing (and was-missing (agent-q-diff-file-missing-directories path)))
           ;; What the file has came from this review, and may go with it.
           (make-backup-files (and make-backup-files
                                   (not (agent-q-diff-review-is-created review)))))
      (prog1 (agent-q-diff-apply-edits (agent-q-diff-review-target review)
                                       (agent-q-diff-engine-planned-edits planned)
                                       is-saving
                                       (agent-q-diff-engine-planned-offsets planned)
                                       (lambda () (agent-q-diff-review--check review)))
        (when (and was-missing (file-exists-p path))
          (setf (agent-q-diff-review-is-created review) t
                (agent-q-diff-review-missing review) missing))))))

(defun agent-q-diff-review-note-failure (review hunk reason)
  "Note that HUNK of REVIEW was accepted and could not be applied for REASON."
  (setf (alist-get hunk (agent-q-diff-review-failures review)) reason)
  (agent-q-diff-module-fail (agent-q-diff-review-engine review) hunk))

(defun agent-q-diff-review-forget-failure (review hunk)
  "Note that HUNK of REVIEW is what the user wants it to be."
  (setf (alist-get hunk (agent-q-diff-review-failures review) nil t) nil))

(defun agent-q-diff-review-note-parts (review hunk n)
  "Note that HUNK of REVIEW is now N hunks.
Each has failed if it had, and has its comment."
  (cl-flet ((parted (entries)
              (cl-loop for (index . text) in entries
                       append (cond
                               ((< index hunk) (list (cons index text)))
                               ((> index hunk) (list (cons (+ index n -1) text)))
                               (t (cl-loop for part below n
                                           collect (cons (+ hunk part) text)))))))
    (setf (agent-q-diff-review-is-cut review) t
          (agent-q-diff-review-committed review) nil
          (agent-q-diff-review-failures review)
          (parted (agent-q-diff-review-failures review))
          (agent-q-diff-review-comments review)
          (parted (agent-q-diff-review-comments review)))))

(defun agent-q-diff-review-do (review command hunk &optional place)
  "Carry out COMMAND on HUNK of REVIEW and return what it came to.
COMMAND and PLACE are as in `agent-q-diff-engine-plan', and the value is
the note of the plan, a symbol.  Signal an error that says why if it
cannot be done; then nothing has changed."
  (agent-q-diff-review--do-planned
   review hunk (memq command '(accept toggle))
   (lambda (engine)
     (agent-q-diff-engine-plan engine command hunk place))))

(defun agent-q-diff-review-rewrite (review hunk text is-merged)
  "Make TEXT the post-image of HUNK of REVIEW; return what that came to.
TEXT and IS-MERGED are as in `agent-q-diff-engine-plan-text'; the value is
the note of the plan, a symbol.  Signal an error that says why if it
cannot be done; then nothing has changed."
  (agent-q-diff-review--do-planned
   review hunk is-merged
   (lambda (engine)
     (agent-q-diff-engine-plan-text engine hunk text is-merged))))

(defun agent-q-diff-review--do-planned (review hunk is-accepting plan)
  "Plan something for HUNK of REVIEW, carry it out, and return its note.
PLAN is a function of the engine's review that does the planning.  If
IS-ACCEPTING is non-nil, a failure is one to apply the hunk, and noted."
  (condition-case err
      (let* ((planned (funcall plan (agent-q-diff-review-engine review)))
             (note (agent-q-diff-engine-planned-note planned)))
        (agent-q-diff-review--carry-out review planned)
        (unless (eq note 'unchanged)
          (agent-q-diff-review-forget-failure review hunk))
        note)
    (error
     (when (and is-accepting
                (not (memq (car err) '(agent-q-diff-no-hunk agent-q-diff-ended))))
       (agent-q-diff-review-note-failure review hunk
                                         (agent-q-diff-error-text err)))
     (signal (car err) (cdr err)))))

(defun agent-q-diff-review-accept-all (review)
  "Accept every pending hunk of REVIEW, as one edit of the target.
If the target does not take all of them, take those that it takes one by
one.  Return a list of (HUNK . REASON): those that could not be applied."
  (let* ((planned (agent-q-diff-engine-plan-all (agent-q-diff-review-engine review)))
         (refused (agent-q-diff-engine-planned-refused planned)))
    (condition-case nil
        (progn
          (agent-q-diff-review--carry-out review planned)
          (agent-q-diff-review--forget-failures-of-applied review))
      (error
       (setq refused (append refused
                             (agent-q-diff-review--accept-each
                              review (mapcar #'car refused))))))
    (pcase-dolist (`(,hunk . ,reason) refused)
      (agent-q-diff-review-note-failure review hunk reason))
    (sort refused (lambda (one other) (< (car one) (car other))))))

(defun agent-q-diff-review--forget-failures-of-applied (review)
  "Forget the failures of hunks of REVIEW that are marked applied by now."
  (when (agent-q-diff-review-failures review)
    (let ((marks (vconcat (agent-q-diff-review-marks review))))
      (setf (agent-q-diff-review-failures review)
            (seq-remove (lambda (failure) (eq 'applied (aref marks (car failure))))
                        (agent-q-diff-review-failures review))))))

(defun agent-q-diff-review-hunk (review hunk)
  "Return the `agent-q-diff-engine-hunk' of HUNK of REVIEW."
  (agent-q-diff-module-hunk (agent-q-diff-review-engine review) hunk))

(defun agent-q-diff-review-set-mark (review hunk mark)
  "Set the mark of HUNK of REVIEW to MARK: `applied', `rejected' or nil."
  (setf (agent-q-diff-review-committed review) nil)
  (agent-q-diff-module-set-mark (agent-q-diff-review-engine review) hunk mark))

(defun agent-q-diff-review-next-pending (review hunk)
  "Return the next pending hunk of REVIEW after HUNK, or nil if no other is.
After the last hunk comes the first one."
  (let ((committed (agent-q-diff-review-committed review)))
    (pcase (and committed (agent-q-diff-engine-committed-hunks committed))
      ((and `(,only)
            (guard (and (eql hunk (agent-q-diff-engine-hunk-index only))
                        (null (agent-q-diff-engine-committed-marks committed)))))
       (agent-q-diff-engine-committed-next committed))
      (_ (agent-q-diff-module-next-pending (agent-q-diff-review-engine review) hunk)))))

(defun agent-q-diff-review-in-target (review)
  "Return the number of hunks of REVIEW whose change is in the target."
  (let ((committed (agent-q-diff-review-committed review)))
    (or (and committed (agent-q-diff-engine-committed-in-target committed))
        (nth 3 (agent-q-diff-module-counts (agent-q-diff-review-engine review))))))

(defun agent-q-diff-review-tally (review)
  "Return (TOTAL APPLIED REJECTED), numbers of hunks of REVIEW by mark."
  (if-let ((committed (agent-q-diff-review-committed review)))
      (list (agent-q-diff-engine-committed-total committed)
            (agent-q-diff-engine-committed-applied committed)
            (agent-q-diff-engine-committed-rejected committed))
    (agent-q-diff-module-tally (agent-q-diff-review-engine review))))

(defun agent-q-diff-review-count-conflicts (review)
  "Return the number of hunks of REVIEW that have no certain place in the target.
No command of ours makes one, so that 0 stays until others edit it."
  (or (agent-q-diff-review-n-conflicts review)
      (pcase-let ((`(,conflict ,ambiguous . ,_)
                   (agent-q-diff-module-standing
                    (agent-q-diff-review-engine review))))
        (setf (agent-q-diff-review-n-conflicts review) (+ conflict ambiguous)))))

(defun agent-q-diff-review-recount (review)
  "Forget what was counted of REVIEW, so that it is counted anew."
  (setf (agent-q-diff-review-committed review) nil
        (agent-q-diff-review-n-conflicts review) nil))

(defun agent-q-diff-review-marks (review)
  "Return a list of the mark of each hunk of REVIEW."
  (let ((committed (agent-q-diff-review-committed review)))
    (or (and committed (agent-q-diff-engine-committed-marks committed))
        (agent-q-diff-module-marks (agent-q-diff-review-engine review)))))

(defun agent-q-diff-review--accept-each (review except)
  "Accept every pending hunk of REVIEW by itself, but those in EXCEPT.
It is one undo step all the same.  Return a list of (HUNK . REASON):
those that could not be applied."
  (agent-q-diff-review-as-one
   review
   (lambda ()
     (agent-q-diff-review--accept-one-by-one review except))))

(defun agent-q-diff-review--accept-one-by-one (review except)
  "Do what `agent-q-diff-review--accept-each' does with REVIEW and EXCEPT."
  (with-current-buffer (agent-q-diff-review-target review)
    (let ((group (prepare-change-group))
          (failed nil))
      (cl-loop for mark in (agent-q-diff-module-marks
                            (agent-q-diff-review-engine review))
               for hunk from 0
               unless (or mark (memq hunk except))
               do (condition-case err
                      (agent-q-diff-review-do review 'accept hunk)
                    (error (push (cons hunk (agent-q-diff-error-text err))
                                 failed))))
      (undo-amalgamate-change-group group)
      failed)))

(defun agent-q-diff-review-unapply-all (review)
  "Take out of the target whatever of REVIEW is in it, as one edit.
Return a list of (HUNK . REASON): those that could not be taken out."
  (let* ((planned (agent-q-diff-engine-plan-all (agent-q-diff-review-engine review)
                                                'out))
         (refused (agent-q-diff-engine-planned-refused planned)))
    (agent-q-diff-review--carry-out review planned)
    (sort refused (lambda (one other) (< (car one) (car other))))))

(defun agent-q-diff-review-back (review is-redo)
  "Take the latest decision on REVIEW back, and return the hunks it was on.
If IS-REDO is non-nil, redo the decision that was undone last.  Signal
`agent-q-diff-nothing-to-take-back', or an error that says why it cannot
be done; then nothing has changed."
  (let* ((planned (agent-q-diff-engine-plan-back (agent-q-diff-review-engine review)
                                                 is-redo))
         (hunks (agent-q-diff-engine-planned-hunks planned)))
    (agent-q-diff-review--carry-out review planned)
    (dolist (hunk hunks hunks)
      (agent-q-diff-review-forget-failure review hunk))))

(defun agent-q-diff-review-as-one (review function)
  "Call FUNCTION, and return its value; what it decides on REVIEW is one decision."
  (let* ((engine (agent-q-diff-review-engine review))
         (before (agent-q-diff-module-n-decisions engine)))
    (unwind-protect
        (funcall function)
      (let ((n (- (agent-q-diff-module-n-decisions engine) before)))
        (when (> n 1)
          (agent-q-diff-module-join-decisions engine n))))))

(defun agent-q-diff-review-reject-all (review)
  "Reject every pending hunk of REVIEW."
  (setf (agent-q-diff-review-failures review) nil
        (agent-q-diff-review-committed review) nil)
  (agent-q-diff-module-reject-all (agent-q-diff-review-engine review)))

(provide 'agent-q-diff-review)
;;; agent-q-diff-review.el ends here
