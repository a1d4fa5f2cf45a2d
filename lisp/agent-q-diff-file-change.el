;;; agent-q-diff-file-change.el --- The change of one file, being decided  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A file change joins the engine, which knows where every hunk belongs,
;; and the target, where the edits are made: it opens and closes both, lets
;; the engine follow the target, and tells how its hunks are.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-coding)
(require 'agent-q-diff-line-ends)
(require 'agent-q-diff-text)
(require 'agent-q-diff-git)
(require 'agent-q-diff-outside)
(require 'agent-q-diff-target)

(cl-defstruct (agent-q-diff-file-change (:constructor agent-q-diff-file-change--create)
                                        (:copier nil))
  "What is proposed for one file, and what was decided about it."
  (target nil :documentation "The `agent-q-diff-target'.")
  (engine nil :documentation "The engine's review.")
  (kept-engine nil :documentation "The engine's review, once this one has ended.")
  (size nil :documentation "Number of characters that the target had at the end.")
  (tick nil :documentation "Tick of the target when the engine saw it last.")
  (told nil :documentation "Tick of the target up to which the engine was told.")
  (listener nil :documentation "The function that is told of edits in the target.")
  (edited-function nil :documentation "Called after each edit by somebody else.")
  (is-edited nil :documentation "Non-nil if there was an edit of ours.")
  (is-altered nil :documentation "Non-nil if saving changed more than the hunks.")
  (is-adapted nil :documentation "Non-nil if line ends were adapted.")
  (is-cut nil :documentation "Non-nil if hunks were split, which changes their numbers.")
  (committed nil :documentation "What there is to show of the last command, see `agent-q-diff-engine-committed'.")
  (n-conflicts nil :documentation "Number of hunks without a certain place, or nil if that is not known.")
  (failures nil :documentation "Alist of hunks to why they failed last.")
  (comments nil :documentation "Alist of hunks to what the user says of them."))

(defun agent-q-diff-file-change-path (change)
  "Return the absolute name of the file of CHANGE, or nil."
  (agent-q-diff-target-path (agent-q-diff-file-change-target change)))

(defun agent-q-diff-file-change-buffer (change)
  "Return the buffer of the target of CHANGE, or nil if it was not needed yet."
  (agent-q-diff-target-buffer (agent-q-diff-file-change-target change)))

(defun agent-q-diff-file-change-is-detached (change)
  "Return non-nil if the target of CHANGE is a text and no file."
  (agent-q-diff-target-is-detached (agent-q-diff-file-change-target change)))

;;;; Beginning and end

(defun agent-q-diff-file-change-open (path original modified &optional check is-detached)
  "Return a new change of the file PATH, ORIGINAL becoming MODIFIED.
PATH is absolute.  If IS-DETACHED is non-nil, the target is no file but
the text ORIGINAL, in a buffer of its own.  CHECK, a function or nil, is
called before each edit.  Signal an error if nothing would change or PATH
cannot be a target."
  (agent-q-diff-coding-check-surrogates modified original)
  (agent-q-diff-file-change--closing-on-error
   (agent-q-diff-file-change--create
    :target (if is-detached
                (agent-q-diff-target-detached path original)
              (agent-q-diff-target-create :path path :check check)))
   (lambda (change)
     (unless is-detached
       (agent-q-diff-file-change--visit change))
     (agent-q-diff-file-change--load change original modified))))

(defun agent-q-diff-file-change-unopened (path)
  "Return a change of the file PATH, which could not be opened: it has no hunks."
  (agent-q-diff-file-change--create
   :target (agent-q-diff-target-create :path path)))

(defun agent-q-diff-file-change--closing-on-error (change function)
  "Call FUNCTION with CHANGE, which is new, and return CHANGE.
If there is an error, close CHANGE first."
  (condition-case err
      (funcall function change)
    (error
     (agent-q-diff-file-change-close change)
     (signal (car err) (cdr err))))
  change)

(defun agent-q-diff-file-change-reopen (change)
  "Return a new change, the continuation of CHANGE, whose review has ended.
It takes what was kept of that; signal an error if there is nothing or
the target can be none any more."
  (let* ((engine (or (agent-q-diff-file-change-kept-engine change)
                     (signal 'agent-q-diff-ended
                             '("the review has ended, and is not kept"))))
         (target (agent-q-diff-file-change-target change))
         (again (agent-q-diff-file-change--create
                 :target (agent-q-diff-target-create
                          :path (agent-q-diff-target-path target)
                          :check (agent-q-diff-target-check target)
                          :is-created (agent-q-diff-target-is-created target)
                          :missing (agent-q-diff-target-missing target))
                 :engine engine
                 :is-cut (agent-q-diff-file-change-is-cut change)
                 :comments (copy-alist (agent-q-diff-file-change-comments change))
                 :failures (copy-alist (agent-q-diff-file-change-failures change)))))
    (condition-case err
        (agent-q-diff-file-change-follow again)
      (error
       (setf (agent-q-diff-file-change-engine again) nil)
       (agent-q-diff-file-change-close again)
       (signal (car err) (cdr err))))
    (setf (agent-q-diff-file-change-kept-engine change) nil)
    again))

(defun agent-q-diff-file-change-return (change again)
  "Give CHANGE back what AGAIN has taken of it, and close AGAIN."
  (let ((target (agent-q-diff-file-change-target change))
        (target-again (agent-q-diff-file-change-target again)))
    (setf (agent-q-diff-file-change-kept-engine change) (agent-q-diff-file-change-engine again)
          (agent-q-diff-file-change-engine again) nil
          (agent-q-diff-file-change-is-cut change) (agent-q-diff-file-change-is-cut again)
          (agent-q-diff-file-change-comments change) (agent-q-diff-file-change-comments again)
          (agent-q-diff-file-change-failures change) (agent-q-diff-file-change-failures again)
          (agent-q-diff-target-is-created target) (agent-q-diff-target-is-created target-again)
          (agent-q-diff-target-missing target) (agent-q-diff-target-missing target-again))
    ;; If somebody else has emptied a file that CHANGE created, it stays.
    (unless (agent-q-diff-file-change-is-edited again)
      (setf (agent-q-diff-target-is-created target-again) nil))
    (agent-q-diff-file-change-close again)))

(defun agent-q-diff-file-change-keep (change)
  "Keep the engine's review of CHANGE, which ends, if it is worth it.
That of a text that is no file's is not: nothing of it is anywhere.
Return non-nil if it is kept."
  (when (and (agent-q-diff-file-change-engine change)
             (agent-q-diff-file-change-path change)
             (not (agent-q-diff-file-change-is-detached change))
             (buffer-live-p (agent-q-diff-file-change-buffer change)))
    (setf (agent-q-diff-file-change-kept-engine change)
          (agent-q-diff-file-change-engine change)
          (agent-q-diff-file-change-size change)
          (buffer-size (agent-q-diff-file-change-buffer change))
          (agent-q-diff-file-change-engine change) nil)
    t))

(defun agent-q-diff-file-change-forget (change)
  "Free the memory of CHANGE, whose review has ended."
  (when (agent-q-diff-file-change-kept-engine change)
    (agent-q-diff-module-free (agent-q-diff-file-change-kept-engine change))
    (setf (agent-q-diff-file-change-kept-engine change) nil)))

(defun agent-q-diff-file-change--load (change original modified)
  "Give CHANGE its engine, for ORIGINAL becoming MODIFIED."
  (let* ((target (agent-q-diff-file-change-buffer change))
         (tick (agent-q-diff-text-tick target)))
    (if (agent-q-diff-text-known-p target original)
        (progn
          (setf (agent-q-diff-file-change-engine change)
                (agent-q-diff-engine-review original modified))
          ;; The engine begins with just that.
          (agent-q-diff-file-change--note-tick change tick))
      (agent-q-diff-file-change--load-adapted change original modified
                                              (agent-q-diff-text-in target) tick))))

(defun agent-q-diff-file-change--load-adapted (change original modified live tick)
  "Give CHANGE its engine, for ORIGINAL becoming MODIFIED.
Both are adapted to LIVE, the text of the target at TICK."
  (let* ((adapt (agent-q-diff-line-ends-adapter
                 original live
                 (agent-q-diff-line-ends (agent-q-diff-file-change-buffer change))))
         (adapted (funcall adapt original))
         (proposed (funcall adapt modified)))
    (when (and (equal adapted proposed) (not (equal original modified)))
      (agent-q-diff-file-change--refuse-line-ends))
    (setf (agent-q-diff-file-change-is-adapted change)
          (not (and (equal original adapted) (equal modified proposed)))
          (agent-q-diff-file-change-engine change)
          (agent-q-diff-engine-review adapted proposed))
    (if (equal live adapted)
        (agent-q-diff-file-change--note-tick change tick)
      (agent-q-diff-file-change-follow change))))

(defun agent-q-diff-file-change--refuse-line-ends ()
  "Signal that a proposal would change nothing that Emacs has in a buffer."
  (signal 'agent-q-diff-identical
          '("only line ends or the byte order mark would change, and \
those are the file's coding system; C-x RET f changes it")))

(defun agent-q-diff-file-change-open-diff (diff)
  "Return a new change of DIFF, a unified diff of one file.
Its path is to be set before a hunk can be applied; see
`agent-q-diff-file-change-aim'."
  (agent-q-diff-file-change--create
   :target (agent-q-diff-target-create)
   :engine (agent-q-diff-engine-review-diff diff)))

(defun agent-q-diff-file-change-open-patch (path diff &optional check)
  "Return a new change of DIFF, a unified diff of the file PATH, an absolute name.
Its hunks are placed in the file as it is.  CHECK, a function or nil, is
called before each edit.  Signal an error if DIFF is none or PATH cannot
be a target."
  (agent-q-diff-coding-check-surrogates
   diff (replace-regexp-in-string "^\\+.*" "" diff))
  (agent-q-diff-file-change--closing-on-error
   (agent-q-diff-file-change--create
    :target (agent-q-diff-target-create :path path :check check))
   (lambda (change)
     (let* ((target (agent-q-diff-file-change--visit change))
            (adapted (agent-q-diff-file-change--adapt-diff diff target))
            (engine (agent-q-diff-file-change--diff-engine diff adapted target))
            (is-adapted (not (equal diff adapted))))
       (setf (agent-q-diff-file-change-is-adapted change) is-adapted
             (agent-q-diff-file-change-engine change) engine)
       (when (and is-adapted (agent-q-diff-module-is-idle engine))
         (agent-q-diff-file-change--refuse-line-ends))
       (agent-q-diff-file-change-follow change)))))

(defun agent-q-diff-file-change--diff-engine (diff adapted target)
  "Return the engine's review of DIFF, which is ADAPTED to the buffer TARGET.
If DIFF has all of a file of CR line ends in one line, it is one of its
texts, with a hunk for each change."
  (pcase (agent-q-diff-line-ends-cr-texts diff (agent-q-diff-line-ends target))
    (`(,old . ,new) (agent-q-diff-engine-review old new))
    (_ (agent-q-diff-engine-review-diff adapted))))

(defun agent-q-diff-file-change--adapt-diff (diff target)
  "Return DIFF for the buffer TARGET.
Line ends and byte order mark are adapted as those of a whole text are;
see `agent-q-diff-line-ends-adapt-diff'."
  (let* ((live (agent-q-diff-text-in target))
         (unmarked (if (string-prefix-p "\ufeff" live)
                       diff
                     (replace-regexp-in-string "^\\([-+ ]\\)\ufeff" "\\1" diff))))
    (agent-q-diff-line-ends-adapt-diff
     unmarked
     ;; A file that is new, or empty, has no line ends to adapt to.
     (if (string-search "\n" live)
         (agent-q-diff-file-change--hunk-lines unmarked)
       unmarked)
     live (agent-q-diff-line-ends target))))

(defun agent-q-diff-file-change--hunk-lines (diff)
  "Return the lines in the hunks of DIFF, whose ends are those of a file.
The lines around them have others: git ends its own with LF, whatever the
file has.  A last line without newline has none either."
  (with-temp-buffer
    (insert diff)
    (goto-char (point-min))
    (flush-lines "^\\(?:--- \\|\\+\\+\\+ \\|[^-+ \n]\\)\\|^[-+ ].*\n\\\\")
    (buffer-string)))

(defun agent-q-diff-file-change-close (change)
  "Free the memory of CHANGE, and put its target away unless somebody needs it."
  (agent-q-diff-file-change--cease change)
  (when (agent-q-diff-file-change-engine change)
    (agent-q-diff-module-free (agent-q-diff-file-change-engine change))
    (setf (agent-q-diff-file-change-engine change) nil))
  (agent-q-diff-target-close (agent-q-diff-file-change-target change)
                             (agent-q-diff-file-change-is-edited change)))

;;;; The target

(defun agent-q-diff-file-change--visit (change)
  "Visit the target of CHANGE and return its buffer."
  (agent-q-diff-file-change--cease change)
  (setf (agent-q-diff-file-change-tick change) nil)
  (agent-q-diff-target-visit (agent-q-diff-file-change-target change)))

(defun agent-q-diff-file-change-ensure-target (change)
  "Return the buffer of the target of CHANGE.
Visit the file anew if the buffer was killed or visits another one now."
  (let ((target (agent-q-diff-file-change-target change)))
    (cond
     ((agent-q-diff-target-live-p target) (agent-q-diff-target-buffer target))
     ((agent-q-diff-target-is-detached target)
      (signal 'agent-q-diff-bad-target '("the buffer with its text was killed")))
     (t (agent-q-diff-file-change--visit change)))))

(defun agent-q-diff-file-change-aim (change path)
  "Make PATH, an absolute name or nil, the path of CHANGE's target."
  (unless (equal path (agent-q-diff-file-change-path change))
    (agent-q-diff-file-change--cease change)
    (setf (agent-q-diff-file-change-target change) (agent-q-diff-target-create :path path)
          (agent-q-diff-file-change-tick change) nil)))

(defun agent-q-diff-file-change-follow (change)
  "Let CHANGE see the target as it is now.  Return non-nil if that is news.
A target without unsaved edits follows its file first.  The engine was
told of most edits as they were made; whatever it missed it finds out by
comparing."
  (let ((buffer (agent-q-diff-file-change-ensure-target change))
        (is-news (not (eq (agent-q-diff-file-change-told change)
                          (agent-q-diff-file-change-tick change))))
        (rounds 0)
        tick)
    (agent-q-diff-target-sync (agent-q-diff-file-change-target change))
    (while (not (eq (setq tick (agent-q-diff-text-tick buffer))
                    (agent-q-diff-file-change-tick change)))
      ;; A hook may have changed it before this is done.
      (when (> (cl-incf rounds) 100)
        (error "The text of %s keeps changing; try again"
               (buffer-name buffer)))
      (let ((found (agent-q-diff-file-change--take-in change buffer tick)))
        (unless (eq found 'changed)
          (agent-q-diff-file-change--note-tick change tick)
          (setq is-news (or found is-news)))))
    (when (and (> rounds 0) is-news)
      (agent-q-diff-file-change-recount change)
      t)))

(defun agent-q-diff-file-change--note-tick (change tick)
  "Note that the engine of CHANGE knows the target as it is at TICK.
It is told of edits from then on."
  (setf (agent-q-diff-file-change-tick change) tick
        (agent-q-diff-file-change-told change) tick)
  (agent-q-diff-file-change--listen change))

(defun agent-q-diff-file-change--take-in (change buffer tick)
  "Let the engine of CHANGE know BUFFER, the target, as it is at TICK.
Return non-nil if that is news to it, and `changed' if BUFFER is no longer
as it was, so that nothing is known."
  (let* ((engine (agent-q-diff-file-change-engine change))
         (is-news (if (eq tick (agent-q-diff-file-change-told change))
                      (agent-q-diff-module-recognize engine (buffer-size buffer))
                    'follow)))
    (cond
     ((not (eq is-news 'follow)) is-news)
     ((agent-q-diff-file-change--adopt-blob engine buffer))
     (t (with-current-buffer buffer
          (agent-q-diff-engine-follow engine))))))

(defun agent-q-diff-file-change--adopt-blob (engine buffer)
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
           (agent-q-diff-engine-adopt engine (agent-q-diff-text-in buffer)
                                      (eq side 'new))))))))

(defun agent-q-diff-file-change--listen (change)
  "Let CHANGE be told of edits in its target, from now on."
  (unless (agent-q-diff-file-change-listener change)
    (let ((listener (lambda (was now n-before n-behind n-chars text at-start is-undo)
                      (agent-q-diff-file-change--learn change was now n-before n-behind
                                                       n-chars text at-start is-undo))))
      (setf (agent-q-diff-file-change-listener change) listener)
      (agent-q-diff-outside-listen (agent-q-diff-file-change-buffer change)
                                   listener))))

(defun agent-q-diff-file-change--cease (change)
  "Let CHANGE no longer be told of edits in its target."
  (when (agent-q-diff-file-change-listener change)
    (agent-q-diff-outside-cease (agent-q-diff-file-change-buffer change)
                                (agent-q-diff-file-change-listener change))
    (setf (agent-q-diff-file-change-listener change) nil)))

(defun agent-q-diff-file-change--learn (change was now n-before n-behind n-chars text
                                               at-start is-undo)
  "Tell the engine of CHANGE of an edit made by somebody else.
WAS, NOW, N-BEFORE, N-BEHIND, N-CHARS, TEXT, AT-START and IS-UNDO are as
`agent-q-diff-outside-listen' has them.  An edit that follows one that was
missed is left to `agent-q-diff-file-change-follow'."
  (when (and (eq was (agent-q-diff-file-change-told change))
             (agent-q-diff-engine-edit-outside
              (agent-q-diff-file-change-engine change)
              n-before n-behind n-chars text at-start is-undo))
    (setf (agent-q-diff-file-change-told change) now))
  (when (agent-q-diff-file-change-edited-function change)
    (funcall (agent-q-diff-file-change-edited-function change))))

;;;; Hunks

(defconst agent-q-diff-file-change-max-shown 50
  "Number of hunks up to which a command on several returns all of them.")

(defun agent-q-diff-file-change-hunk (change hunk)
  "Return the `agent-q-diff-engine-hunk' of HUNK of CHANGE."
  (agent-q-diff-module-hunk (agent-q-diff-file-change-engine change) hunk))

(defun agent-q-diff-file-change-set-mark (change hunk mark)
  "Set the mark of HUNK of CHANGE to MARK: `applied', `rejected' or nil."
  (setf (agent-q-diff-file-change-committed change) nil)
  (agent-q-diff-module-set-mark (agent-q-diff-file-change-engine change) hunk mark))

(defun agent-q-diff-file-change-next-pending (change hunk)
  "Return the next pending hunk of CHANGE after HUNK, or nil if no other is.
After the last hunk comes the first one."
  (let ((committed (agent-q-diff-file-change-committed change)))
    (pcase (and committed (agent-q-diff-engine-committed-hunks committed))
      ((and `(,only)
            (guard (and (eql hunk (agent-q-diff-engine-hunk-index only))
                        (null (agent-q-diff-engine-committed-marks committed)))))
       (agent-q-diff-engine-committed-next committed))
      (_ (agent-q-diff-module-next-pending (agent-q-diff-file-change-engine change) hunk)))))

(defun agent-q-diff-file-change-in-target (change)
  "Return the number of hunks of CHANGE whose change is in the target."
  (let ((committed (agent-q-diff-file-change-committed change)))
    (or (and committed (agent-q-diff-engine-committed-in-target committed))
        (nth 3 (agent-q-diff-module-counts (agent-q-diff-file-change-engine change))))))

(defun agent-q-diff-file-change-tally (change)
  "Return (TOTAL APPLIED REJECTED), numbers of hunks of CHANGE by mark."
  (if-let ((committed (agent-q-diff-file-change-committed change)))
      (list (agent-q-diff-engine-committed-total committed)
            (agent-q-diff-engine-committed-applied committed)
            (agent-q-diff-engine-committed-rejected committed))
    (agent-q-diff-module-tally (agent-q-diff-file-change-engine change))))

(defun agent-q-diff-file-change-count-conflicts (change)
  "Return the number of hunks of CHANGE that have no certain place in the target.
No command of ours makes one, so that 0 stays until others edit it."
  (or (agent-q-diff-file-change-n-conflicts change)
      (pcase-let ((`(,conflict ,ambiguous . ,_)
                   (agent-q-diff-module-standing
                    (agent-q-diff-file-change-engine change))))
        (setf (agent-q-diff-file-change-n-conflicts change) (+ conflict ambiguous)))))

(defun agent-q-diff-file-change-recount (change)
  "Forget what was counted of CHANGE, so that it is counted anew."
  (setf (agent-q-diff-file-change-committed change) nil
        (agent-q-diff-file-change-n-conflicts change) nil))

(defun agent-q-diff-file-change-marks (change)
  "Return a list of the mark of each hunk of CHANGE."
  (let ((committed (agent-q-diff-file-change-committed change)))
    (or (and committed (agent-q-diff-engine-committed-marks committed))
        (agent-q-diff-module-marks (agent-q-diff-file-change-engine change)))))

(defun agent-q-diff-file-change-note-parts (change hunk n)
  "Note that HUNK of CHANGE is now N hunks.
Each has failed if it had, and has its comment."
  (cl-flet ((parted (entries)
              (cl-loop for (index . text) in entries
                       append (cond
                               ((< index hunk) (list (cons index text)))
                               ((> index hunk) (list (cons (+ index n -1) text)))
                               (t (cl-loop for part below n
                                           collect (cons (+ hunk part) text)))))))
    (setf (agent-q-diff-file-change-is-cut change) t
          (agent-q-diff-file-change-committed change) nil
          (agent-q-diff-file-change-failures change)
          (parted (agent-q-diff-file-change-failures change))
          (agent-q-diff-file-change-comments change)
          (parted (agent-q-diff-file-change-comments change)))))

(provide 'agent-q-diff-file-change)
;;; agent-q-diff-file-change.el ends here
