;;; agent-q-diff-decide.el --- Decides the hunks of a change, in all files or in none  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A command is planned by the engine, carried out in the targets, and only
;; then committed.  If a command fails, neither mark nor target has changed.
;;
;; A command can change several files.  Each of them is changed completely or
;; not at all, and if one fails, the changes to the others are undone.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-reviewed)

;;;; Options

(defcustom agent-q-diff-stage-kept nil
  "Whether what you keep of what was written already is put into git's index.
These are exactly the lines of the hunk, so that Magit shows them as staged;
what makes the hunk pending again takes them out of the index.  Your own
filters run on what is staged, as in `git add'.  If nil,
\\<agent-q-diff-mode-map>\\[agent-q-diff-stage] in the diff buffer stages what you have kept."
  :group 'agent-q-diff-review
  :type 'boolean)

;;; Several files changed, all or none

(defun agent-q-diff-transaction-run (actions finally)
  "Carry out ACTIONS, all or none, and then FINALLY, which no quit can prevent.
Return the value of FINALLY.
An action is a function that is called with one argument.  If that is
non-nil, it returns a function without arguments that undoes the action; for
the last action, which nothing can follow, it is nil.  If an action signals
an error or is quit, it has changed nothing, and those before it are undone,
the latest first."
  (let ((taken nil)
        (is-done nil)
        (was-inhibited inhibit-quit)
        (inhibit-quit t)
        ;; Garbage collection must not truncate an undo list that is needed.
        (undo-outer-limit nil)
        (undo-limit most-positive-fixnum)
        (undo-strong-limit most-positive-fixnum))
    (unwind-protect
        (agent-q-diff-operation-settling
          (while actions
            (push (let ((inhibit-quit was-inhibited)
                        (agent-q-diff-apply-may-hold-quit t))
                    (funcall (car actions) (cdr actions)))
                  taken)
            (setq actions (cdr actions)))
          (setq is-done t))
      (unless is-done
        (agent-q-diff-transaction--take-back taken)))
    (funcall finally)))

(defun agent-q-diff-transaction--take-back (taken)
  "Call each of TAKEN, functions; warn about those that fail."
  (let ((inhibit-quit t))
    (dolist (back taken)
      (condition-case err
          (funcall back)
        (error
         (agent-q-diff-base-warn
          (format "A command failed, and a file could not be put back: %s"
                  (agent-q-diff-error-text err))))))))

;;;; A file and its buffer

(defun agent-q-diff-transaction--edit (buffer function)
  "Call FUNCTION, an edit of BUFFER and perhaps a save.
FUNCTION has no arguments.  Return a function that makes BUFFER and its
file as they were before."
  (let* ((name (buffer-file-name buffer))
         (file (and name (file-truename name)))
         (missing (and file (agent-q-diff-file-missing-directories file)))
         (bytes (and file (file-exists-p file) (agent-q-diff-file-bytes file)))
         (was-modified (buffer-modified-p buffer))
         (group (prepare-change-group buffer)))
    (activate-change-group group)
    (funcall function)
    (lambda ()
      (when (buffer-live-p buffer)
        (cancel-change-group group))
      (when file
        (condition-case err
            (agent-q-diff-transaction--restore-file file bytes missing)
          (error
           (agent-q-diff-file-refuse "%s still has the change (%s)"
                                     file (agent-q-diff-error-text err))))
        (when (buffer-live-p buffer)
          (with-current-buffer buffer
            (if bytes
                (set-visited-file-modtime)
              (set-visited-file-modtime -1))
            (set-buffer-modified-p was-modified)
            (agent-q-diff-disk-note)))))))

(defun agent-q-diff-transaction--restore-file (file bytes missing)
  "Give FILE its old BYTES, or delete it and MISSING if BYTES is nil.
MISSING are directories that did not exist, innermost first."
  (cond
   ((null bytes)
    (when (file-exists-p file)
      (agent-q-diff-file-delete file))
    (agent-q-diff-file-remove-directories missing))
   ((not (and (file-exists-p file)
              (agent-q-diff-file-has-bytes-p file bytes)))
    (agent-q-diff-file-write-bytes file bytes))))

;;; Deciding

;;;; One hunk

(defun agent-q-diff-decide-hunk (change command hunk &optional place)
  "Carry out COMMAND on HUNK of CHANGE and return what happened.
COMMAND and PLACE are as in `agent-q-diff-engine-plan'.  The value is the
note of the plan, a symbol.  Signal an error that says why if it cannot be
done; then nothing has changed."
  (agent-q-diff-decide--do-planned
   change hunk (memq command '(accept toggle))
   (lambda (engine)
     (unless (and (eq command 'reject) (not (agent-q-diff-change-written change)))
       (agent-q-diff-decide-visit change hunk))
     (agent-q-diff-engine-plan engine command hunk place))))

(defun agent-q-diff-decide-rewrite (change hunk text is-merged)
  "Make TEXT the post-image of HUNK of CHANGE; return what happened.
TEXT and IS-MERGED are as in `agent-q-diff-engine-plan-text'; the value is
the note of the plan, a symbol.  Signal an error that says why if it
cannot be done; then nothing has changed."
  (agent-q-diff-decide--do-planned
   change hunk is-merged
   (lambda (engine)
     (agent-q-diff-decide-visit change hunk)
     (agent-q-diff-engine-plan-text engine hunk text is-merged))))

(defun agent-q-diff-decide-visit (change hunk)
  "Visit the file of HUNK of CHANGE if that was put off; the plan needs it."
  (when (and (agent-q-diff-change-has-put-off change)
             (< -1 hunk (car (agent-q-diff-change-tally change))))
    (agent-q-diff-change-visit change (agent-q-diff-change-file-index change hunk))))

(defun agent-q-diff-decide--do-planned (change hunk is-accepting plan)
  "Plan a decision on HUNK of CHANGE, carry it out, and return its note.
PLAN is called with the engine's review and returns a plan.  If
IS-ACCEPTING is non-nil, record an error as a failure to apply HUNK."
  (condition-case err
      (let* ((engine (agent-q-diff-change-engine change))
             (planned (funcall plan engine))
             (note (agent-q-diff-engine-planned-note planned)))
        (agent-q-diff-decide--carry-out change engine planned)
        (when (and (agent-q-diff-change-failures change) (not (eq note 'unchanged)))
          (agent-q-diff-decide--forget-failure change hunk))
        note)
    (error
     (when-let ((why (and (or (eq (car err) 'agent-q-diff-conflict)
                              (and (eq (car err) 'agent-q-diff-not-in)
                                   (agent-q-diff-change-written change)))
                          (agent-q-diff-decide-why-away change hunk))))
       (setq err (list 'agent-q-diff-bad-target why)))
     (when (and is-accepting
                (not (memq (car err) '(agent-q-diff-no-hunk agent-q-diff-ended))))
       (agent-q-diff-decide-note-failure change hunk
                                         (agent-q-diff-error-text err)))
     (signal (car err) (cdr err)))))

(defun agent-q-diff-decide-why-away (change hunk)
  "Return what `agent-q-diff-file-change-why-away' does for the file of HUNK.
HUNK is one of CHANGE.  If it was written before its review, and its buffer does
not have it, return also why that is not so of the file."
  (let ((file (agent-q-diff-change-file-of change hunk)))
    (or (agent-q-diff-file-change-why-away file)
        (and (agent-q-diff-change-written change)
             (null (agent-q-diff-engine-hunk-fact (agent-q-diff-change-hunk change hunk)))
             (agent-q-diff-target-disk-message (agent-q-diff-file-change-target file))))))

(defun agent-q-diff-decide-why-gone (change index)
  "Return why nothing of file INDEX of CHANGE can be kept, or nil.
Where the file is gone, not even the removal of a line is in it."
  (let ((file (nth index (agent-q-diff-change-files change))))
    (and (agent-q-diff-change-written change)
         (agent-q-diff-file-change-is-lost file)
         (agent-q-diff-target-disk-message (agent-q-diff-file-change-target file)))))

(defun agent-q-diff-decide-when-done (change function)
  "Call FUNCTION, but if a plan for CHANGE is being carried out, after that."
  (if (agent-q-diff-change-in-progress-p change)
      (run-with-timer agent-q-diff-change-retry-seconds nil
                      #'agent-q-diff-decide-when-done change function)
    (funcall function)))

(defun agent-q-diff-decide--carry-out (change engine planned &optional is-undo is-unrecorded)
  "Make the edits of PLANNED in the targets of CHANGE, commit and record it.
ENGINE is its review, and PLANNED an `agent-q-diff-engine-planned'; IS-UNDO is
non-nil if it undoes a decision.  If IS-UNRECORDED is non-nil, do not record it.

If a change that was written before cannot be recorded, nobody would know of the
decision later: then it is undone, or redone if IS-UNDO is non-nil, and an error
says why.  If a hook changed a text on saving, record that; the next
`agent-q-diff-change-follow' then takes it in."
  (let* ((agent-q-diff-change-in-progress (cons change agent-q-diff-change-in-progress))
         (files (agent-q-diff-change-files change))
         (parts (agent-q-diff-engine-planned-parts planned))
         (edited nil)
         (note (lambda (file tick) (push (cons file tick) edited)))
         (watched nil)
         (targets nil)
         ;; An agent may have made another name of a file that is none of the project.
         (agent-q-diff-file-only-name (and (agent-q-diff-change-written change) t)))
    (when (cdr files)
      (agent-q-diff-decide--check-apart files parts))
    (when (agent-q-diff-change-written change)
      (setq targets (agent-q-diff-decide--targets change planned))
      (dolist (one targets)
        (agent-q-diff-target-check-mergeable (car one))))
    (unless is-unrecorded
      (setq watched (agent-q-diff-decide--prepare change parts)))
    (let* ((agent-q-diff-operation-is-merged (and targets t))
           (why (agent-q-diff-transaction-run
                 (mapcan (lambda (part)
                           (agent-q-diff-decide--steps
                            (nth (agent-q-diff-engine-part-file part) files) part note))
                         (if (cdr parts) (agent-q-diff-decide--in-order files parts) parts))
                 (lambda ()
                   (agent-q-diff-decide--conclude change engine planned edited targets watched
                                                  is-undo is-unrecorded)))))
      (cond
       (why (agent-q-diff-reviewed-say-not-decided why))
       (is-unrecorded)
       ((agent-q-diff-change-written change)
        (agent-q-diff-decide--warn-unstaged change))
       (watched (agent-q-diff-reviewed-tell-noted watched))))))

(defun agent-q-diff-decide--conclude (change engine planned edited targets watched
                                             is-undo is-unrecorded)
  "Commit and record PLANNED, whose edits were made in the targets of CHANGE.
If it is not recorded, return why, a string.
EDITED is as for `agent-q-diff-decide--note-edited', and TARGETS as from
`agent-q-diff-decide--targets'.  WATCHED is what `agent-q-diff-decide--prepare'
returned; ENGINE, IS-UNDO and IS-UNRECORDED are as in
`agent-q-diff-decide--carry-out'."
  (let* ((written (and (not is-unrecorded) (agent-q-diff-change-written change)))
         (why (agent-q-diff-decide--commit
               change engine
               (and (or written watched)
                    (agent-q-diff-decide--carried-out change planned watched)))))
    (unwind-protect
        (progn
          (agent-q-diff-decide--note-edited
           change (agent-q-diff-engine-planned-parts planned) edited)
          (pcase-dolist (`(,target . ,is-new) targets)
            (agent-q-diff-target-merge target is-new)))
      (when (and why written)
        (agent-q-diff-decide--back change is-undo 'is-unrecorded)
        (signal 'agent-q-diff-bad-target (list why))))
    (when written
      (agent-q-diff-decide--take-over-comments change))
    why))

(defun agent-q-diff-decide--targets (change planned)
  "Return (TARGET . IS-NEW) of each file of CHANGE that PLANNED decides about.
IS-NEW is non-nil if there was no such file before CHANGE."
  (mapcar (lambda (index)
            (let ((file (nth index (agent-q-diff-change-files change))))
              (cons (agent-q-diff-file-change-target file)
                    (null (agent-q-diff-file-change-old-path file)))))
          (seq-uniq
           (append (mapcar #'agent-q-diff-engine-part-file
                           (agent-q-diff-engine-planned-parts planned))
                   (mapcar (apply-partially #'agent-q-diff-change-file-index change)
                           (agent-q-diff-engine-planned-hunks planned))))))

(defun agent-q-diff-decide--note-edited (change parts edited)
  "Record what became of the files of CHANGE by PARTS of a plan, carried out.
EDITED has (FILE . TICK) for each that was edited, the tick of its buffer before
it was saved."
  (dolist (part parts)
    (when (agent-q-diff-engine-part-operations part)
      (agent-q-diff-change-note-presences
       (nth (agent-q-diff-engine-part-file part) (agent-q-diff-change-files change)))))
  (pcase-dolist (`(,file . ,tick) edited)
    (when (agent-q-diff-file-change-note-edited file tick)
      (agent-q-diff-change-note-hooked change file
                                       (agent-q-diff-decide--text-before-hooks file)))))

(defun agent-q-diff-decide--text-before-hooks (file)
  "Return the text of FILE before hooks changed it in the latest save, or nil."
  (pcase agent-q-diff-apply-text-before-hooks
    (`(,buffer . ,text) (and (eq buffer (agent-q-diff-file-change-buffer file)) text))))

;;;; Recording it

(defun agent-q-diff-decide--prepare (change parts)
  "Store what the files of CHANGE hold that PARTS of a plan are about to change.
Return a list as from `agent-q-diff-reviewed-watch', which is nil for a change
of texts only.  If CHANGE was written before its review, the list has the files
instead of their names, and if that cannot be stored, signal an error: what is
taken out could not be brought back.  Signal one as well if nothing can be
decided there by now, as in the middle of a merge."
  (let ((written (agent-q-diff-change-written change))
        (files (cl-loop for part in parts
                        when (or (agent-q-diff-engine-part-edits part)
                                 (agent-q-diff-engine-part-operations part))
                        collect (cons (nth (agent-q-diff-engine-part-file part)
                                           (agent-q-diff-change-files change))
                                      part))))
    ;; Much can have happened since the look.
    (when written
      (agent-q-diff-engine-call #'agent-q-diff-module-check-decidable
                                (agent-q-diff-written-root written)))
    (cond
     ((or (null files) (agent-q-diff-change-is-detached change)) nil)
     (written
      (let ((root (agent-q-diff-written-root written))
            (gone (cl-loop for (file . part) in files
                           when (agent-q-diff-decide--leaves-none-p file part)
                           collect (agent-q-diff-file-change-path file))))
        (pcase-dolist (`(,file . ,_) files)
          ;; One of them is its name now.
          (dolist (name (delete-dups (list (agent-q-diff-file-change-old-path file)
                                           (agent-q-diff-file-change-new-path file))))
            (when name
              (agent-q-diff-guard-check-inside name root gone))))
        (cl-mapcar (pcase-lambda (`(,file . ,_) prepared) (list file root prepared))
                   files
                   (agent-q-diff-reviewed-prepare
                    root
                    (mapcar (lambda (one) (agent-q-diff-file-change-path (car one))) files)
                    (mapcar (lambda (one) (agent-q-diff-decide--unsaved (car one))) files)))))
     (t (agent-q-diff-visit-resolving-once
          (pcase-dolist (`(,file . ,_) files)
            (when-let ((link (agent-q-diff-file-change-link-above file)))
              (agent-q-diff-visit-note-without-link (agent-q-diff-file-change-new-path file)
                                                    link)))
          (agent-q-diff-reviewed-watch
           (mapcar (pcase-lambda (`(,file . ,part))
                     (if (agent-q-diff-engine-part-operations part)
                         (agent-q-diff-decide--new-name file part)
                       (agent-q-diff-target-path (agent-q-diff-file-change-target file))))
                   files)))))))

(defun agent-q-diff-decide--unsaved (file)
  "Return what FILE would hold if its buffer were saved, if it is decided there.
See `agent-q-diff-reviewed-unsaved'.  What else than lines is decided is carried
out on disk, whatever a buffer that still visits its name has."
  (and (agent-q-diff-file-change-has-text file)
       (agent-q-diff-reviewed-unsaved (agent-q-diff-file-change-path file))))

(defun agent-q-diff-decide--new-name (file part)
  "Return the name of FILE, or (OLD . NEW) if PART of a plan may rename it.
PART has operations."
  (let ((old (agent-q-diff-file-change-old-path file))
        (new (agent-q-diff-file-change-new-path file)))
    (cond
     ((or (null old) (null new) (equal old new)) (agent-q-diff-file-change-path file))
     ((rassq nil (agent-q-diff-engine-part-operations part)) (cons new old))
     (t (cons old new)))))

(defun agent-q-diff-decide--carried-out (change planned watched)
  "Return what the engine records of PLANNED, which was carried out for CHANGE.
WATCHED is as from `agent-q-diff-decide--prepare'.  The value is for
`agent-q-diff-module-commit'."
  (if-let ((written (agent-q-diff-change-written change)))
      (vector (mapcar #'agent-q-diff-decide--file-now watched)
              (agent-q-diff-decide-codings
               change (seq-uniq (mapcar (apply-partially #'agent-q-diff-change-file-index change)
                                        (agent-q-diff-engine-planned-hunks planned))))
              (and agent-q-diff-stage-kept
                   (null (agent-q-diff-written-since written))
                   (file-exists-p (expand-file-name ".git" (agent-q-diff-written-root written))))
              (agent-q-diff-change-comments change)
              (let ((comments (agent-q-diff-written-comments written)))
                (and (consp comments) (assq-delete-all nil (copy-sequence comments)))))
    (vector (agent-q-diff-reviewed-watched-now watched) nil nil nil nil)))

(defun agent-q-diff-decide--file-now (watched)
  "Return what became of the file of WATCHED, for `agent-q-diff-module-record'.
WATCHED is (FILE ROOT PREPARED), as from `agent-q-diff-decide--prepare'."
  (pcase-let* ((`(,file ,root ,prepared) watched)
               (name (agent-q-diff-file-change-path file))
               (unsaved (agent-q-diff-decide--unsaved file))
               (text (and (null unsaved) (agent-q-diff-decide--text-before-hooks file))))
    (agent-q-diff-reviewed-changed
     prepared root name unsaved
     (when text
       (cons (agent-q-diff-file-git-mode name)
             (agent-q-diff-coding-encode
              text (with-current-buffer (agent-q-diff-file-change-buffer file)
                     (agent-q-diff-coding-of-buffer))))))))

(defun agent-q-diff-decide-codings (change indices)
  "Return an alist from INDICES of files of CHANGE to how their texts are encoded.
Files that are UTF-8 are not in it."
  (cl-loop for index in indices
           for buffer = (agent-q-diff-file-change-buffer
                         (nth index (agent-q-diff-change-files change)))
           for coding = (and (buffer-live-p buffer)
                             (with-current-buffer buffer
                               (or save-buffer-coding-system buffer-file-coding-system)))
           ;; What is not decided becomes UTF-8.
           unless (memq coding '(nil utf-8-unix utf-8-emacs-unix prefer-utf-8-unix undecided-unix))
           collect (cons index (with-current-buffer buffer
                                 (agent-q-diff-coding-of-buffer)))))

(defun agent-q-diff-decide--take-over-comments (change)
  "Give hunks of CHANGE the reasons for which they were rejected before.
Comments on rejected hunks are reasons, too.  They lose them when the last
decision has undone that again."
  (pcase-dolist (`(,hunk ,old . ,new)
                 (agent-q-diff-engine-committed-comments (agent-q-diff-change-committed change)))
    (when (equal old (alist-get hunk (agent-q-diff-change-comments change)))
      (setf (alist-get hunk (agent-q-diff-change-comments change) nil t)
            (and new (agent-q-diff-engine-text new))))
    (setf (agent-q-diff-written-comments (agent-q-diff-change-written change)) t)))

(defun agent-q-diff-decide--warn-unstaged (change)
  "Warn of what was decided last about CHANGE and could not be staged."
  (when-let ((why (agent-q-diff-engine-committed-unstaged (agent-q-diff-change-committed change))))
    (agent-q-diff-base-warn
     (format "The decision is recorded, but %s"
             (mapconcat #'agent-q-diff-visible why "; ")))))

(defun agent-q-diff-decide--in-order (files parts)
  "Return PARTS of a plan for FILES in the order in which they are carried out.
What leaves no file comes first, then what gives up its name: a folder may
take its place, or it be in one that a file replaces.  Undoing goes from the
last file to the first: one file may have made way for another."
  (let ((in-order (if (seq-some (lambda (part)
                                  (rassq nil (agent-q-diff-engine-part-operations part)))
                                parts)
                      (reverse parts)
                    parts)))
    (cl-flet ((rank (part)
                (let ((file (nth (agent-q-diff-engine-part-file part) files)))
                  (cond
                   ((agent-q-diff-decide--leaves-none-p file part) 0)
                   ((seq-some (pcase-lambda (`(,at . ,_))
                                (equal '(rename)
                                       (nth at (agent-q-diff-file-change-operations file))))
                              (agent-q-diff-engine-part-operations part))
                    1)
                   (t 2)))))
      (seq-sort-by #'rank #'< in-order))))

(defun agent-q-diff-decide--leaves-none-p (file part)
  "Return non-nil if nothing is left of FILE by PART of a plan."
  (seq-some (pcase-lambda (`(,at . ,is-in))
              (pcase (nth at (agent-q-diff-file-change-operations file))
                ((or `(create . ,_) `(link nil ,_)) (not is-in))
                ((or `(delete ,_) `(link ,_ nil)) is-in)))
            (agent-q-diff-engine-part-operations part)))

(defun agent-q-diff-decide--check-apart (files parts)
  "Signal an error if two of FILES are now the same file, and PARTS edit it.
FILES are those of a change.  One may have become a link to the other.  An
edit of either would go into the hunks of both."
  (let ((visiting (make-hash-table :test #'eq)))
    (dolist (file (reverse files))
      (push file (gethash (agent-q-diff-file-change-buffer file) visiting)))
    (dolist (part parts)
      (let* ((file (nth (agent-q-diff-engine-part-file part) files))
             (same (gethash (agent-q-diff-file-change-buffer file) visiting))
             ;; A file that is missing or moved is reported when it is edited.
             (other (and (agent-q-diff-engine-part-edits part)
                         (cdr same)
                         (not (agent-q-diff-file-change-why-away file))
                         (seq-find (lambda (other)
                                     (not (or (eq other file)
                                              (agent-q-diff-file-change-why-away other))))
                                   same))))
        (when other
          (signal 'agent-q-diff-bad-target
                  (list (format "%s and %s are one file now"
                                (agent-q-diff-file-change-name file)
                                (agent-q-diff-file-change-name other)))))))))

(defun agent-q-diff-decide--steps (file part note)
  "Return the actions on FILE for PART, an `agent-q-diff-engine-part'.
The value is for `agent-q-diff-transaction-run'.  NOTE is called with FILE
and the tick of its buffer after the edits."
  (let* ((edit (lambda ()
                 (funcall note file (agent-q-diff-file-change-edit file part))))
         (edits (and (agent-q-diff-engine-part-edits part)
                     (list (lambda (is-followed)
                             (if is-followed
                                 (agent-q-diff-transaction--edit
                                  (agent-q-diff-file-change-buffer file) edit)
                               (funcall edit)
                               nil)))))
         before after)
    (pcase-dolist (`(,at . ,is-in) (agent-q-diff-engine-part-operations part))
      (let* ((operation (nth at (agent-q-diff-file-change-operations file)))
             (step (lambda (_)
                     (agent-q-diff-operation-carry-out file operation is-in))))
        ;; A new file is emptied before it is deleted.
        (if is-in (push step before) (push step after))))
    (append (nreverse before) edits (nreverse after))))

(defun agent-q-diff-decide--commit (change engine carried-out)
  "Commit the latest plan for CHANGE, whose review is ENGINE, and record it.
CARRIED-OUT is as for `agent-q-diff-module-commit'.  If it is not recorded,
return why, a string."
  (let ((committed (funcall
                    ;; Names and texts may have raw bytes.
                    (if carried-out #'agent-q-diff-engine-call #'funcall)
                    #'agent-q-diff-module-commit
                    engine
                    agent-q-diff-change-max-shown
                    ;; Commands never create such hunks.
                    (not (equal '(0 . 0) (agent-q-diff-change-known-unplaced change)))
                    carried-out)))
    (setf (agent-q-diff-change-committed change) committed)
    (when (agent-q-diff-engine-committed-unplaced committed)
      (setf (agent-q-diff-change-known-unplaced change)
            (agent-q-diff-engine-committed-unplaced committed)))
    (agent-q-diff-engine-committed-failed committed)))

;;;; Failures

(defun agent-q-diff-decide-note-failure (change hunk reason)
  "Record that accepting HUNK of CHANGE failed because of REASON, a string."
  (setf (alist-get hunk (agent-q-diff-change-failures change)) reason)
  (agent-q-diff-module-fail (agent-q-diff-change-engine change) hunk))

(defun agent-q-diff-decide--forget-failure (change hunk)
  "Forget that accepting HUNK of CHANGE failed."
  (setf (alist-get hunk (agent-q-diff-change-failures change) nil t) nil))

(defun agent-q-diff-decide--forget-failures-of-applied (change)
  "Forget the failures of hunks of CHANGE that are now marked applied."
  (when (agent-q-diff-change-failures change)
    (let ((marks (vconcat (agent-q-diff-change-marks change))))
      (setf (agent-q-diff-change-failures change)
            (seq-remove (lambda (failure) (eq 'applied (aref marks (car failure))))
                        (agent-q-diff-change-failures change))))))

;;;; All hunks

(defun agent-q-diff-decide-accept-all (change &optional file only)
  "Accept every pending hunk of CHANGE, as one edit of each target.
If FILE is not nil, only those of the file with that index; if ONLY is not nil,
accept the hunks in that list instead, whatever was decided of them.  Return a
list of (HUNK . REASON): those that could not be applied.

If the hunks of one file cannot be applied together, accept them one by
one, as far as possible.  If something cannot be carried out in one of
several files, signal an error; then nothing has changed in any."
  (agent-q-diff-decide--visit-for change 'accept file only)
  (pcase-let* ((`(,planned . ,left-out) (agent-q-diff-decide-plan-all change file only))
               (refused (append left-out (agent-q-diff-engine-planned-refused planned))))
    (condition-case err
        (progn
          (agent-q-diff-decide--carry-out change (agent-q-diff-change-engine change) planned)
          (agent-q-diff-decide--forget-failures-of-applied change))
      (error
       (when (agent-q-diff-change-is-compound change)
         (signal (car err) (cdr err)))
       (setq refused (append refused
                             (agent-q-diff-decide--one-by-one
                              change 'accept (agent-q-diff-engine-planned-hunks planned))))))
    (setq refused (agent-q-diff-decide--told change refused))
    (pcase-dolist (`(,hunk . ,reason) refused)
      (agent-q-diff-decide-note-failure change hunk reason))
    refused))

(defun agent-q-diff-decide-plan-all (change &optional file only)
  "Plan to accept the pending hunks of CHANGE that can be written.
FILE and ONLY are as for `agent-q-diff-decide-accept-all'.  Return (PLANNED
. LEFT-OUT): an `agent-q-diff-engine-planned', and a list of (HUNK . REASON).
Those are hunks with characters that the coding system of their file lacks,
and hunks of files whose names have no file now, or lead to another."
  (let* ((engine (agent-q-diff-change-engine change))
         (planned (agent-q-diff-engine-plan-all engine 'accept file nil only))
         (is-meant (agent-q-diff-decide--planned-for change planned))
         (left-out (nconc (mapcan (apply-partially #'agent-q-diff-decide--unwritable
                                                   change is-meant)
                                  (agent-q-diff-engine-planned-parts planned))
                          (agent-q-diff-decide--of-gone-files change file is-meant))))
    (cons (if left-out
              (agent-q-diff-engine-plan-all engine 'accept file (mapcar #'car left-out) only)
            planned)
          left-out)))

(defun agent-q-diff-decide--planned-for (change planned)
  "Return, as a vector of booleans, which hunks of CHANGE PLANNED is made for.
Those that it refuses are among them."
  (let ((is-meant (make-bool-vector (car (agent-q-diff-change-tally change)) nil)))
    (dolist (hunk (agent-q-diff-engine-planned-hunks planned))
      (aset is-meant hunk t))
    (pcase-dolist (`(,hunk . ,_) (agent-q-diff-engine-planned-refused planned))
      (aset is-meant hunk t))
    is-meant))

(defun agent-q-diff-decide--meant (change is-meant index)
  "Return the hunks with lines of file INDEX of CHANGE that IS-MEANT has."
  (seq-filter (lambda (hunk)
                (and (aref is-meant hunk)
                     (not (agent-q-diff-change-operation-of change hunk))))
              (agent-q-diff-change-hunks-of change index)))

(defun agent-q-diff-decide--of-gone-files (change file is-meant)
  "Return (HUNK . REASON) for each hunk of IS-MEANT whose file in CHANGE is gone.
If FILE is not nil, they are all of the file with that index."
  (cl-loop for index below (length (agent-q-diff-change-files change))
           for why = (and (memq file (list nil index))
                          (agent-q-diff-decide-why-gone change index))
           when why
           nconc (mapcar (lambda (hunk) (cons hunk why))
                         (agent-q-diff-decide--meant change is-meant index))))

(defun agent-q-diff-decide--unwritable (change is-meant part)
  "Return (HUNK . REASON) for each hunk of IS-MEANT that its file cannot get.
PART, the part for that file, belongs to the latest plan to accept hunks of
CHANGE."
  (let* ((index (agent-q-diff-engine-part-file part))
         (target (agent-q-diff-file-change-target
                  (nth index (agent-q-diff-change-files change))))
         (why-away (and (agent-q-diff-change-is-compound change)
                        (agent-q-diff-engine-part-edits part)
                        (agent-q-diff-target-buffer target)
                        (agent-q-diff-target-why-away target))))
    (when (or why-away (agent-q-diff-decide--why-unencodable change part))
      (cl-loop for hunk in (agent-q-diff-decide--meant change is-meant index)
               for reason = (or why-away
                                (seq-some (apply-partially
                                           #'agent-q-diff-decide--why-unencodable change)
                                          (agent-q-diff-decide--parts-of change hunk)))
               when reason
               collect (cons hunk reason)))))

(defun agent-q-diff-decide--parts-of (change hunk)
  "Return the parts of a plan to accept HUNK of CHANGE, or nil if there is none."
  (condition-case nil
      (agent-q-diff-engine-planned-parts
       (agent-q-diff-engine-plan (agent-q-diff-change-engine change) 'accept hunk))
    (agent-q-diff-error nil)))

(defun agent-q-diff-decide--why-unencodable (change part)
  "Return why the file of PART cannot encode the lines that PART has, or nil.
PART belongs to a plan for CHANGE."
  (when-let ((buffer (agent-q-diff-file-change-buffer
                      (nth (agent-q-diff-engine-part-file part)
                           (agent-q-diff-change-files change)))))
    (condition-case err
        (pcase-dolist (`(,_ ,_ ,text) (agent-q-diff-engine-part-edits part))
          (agent-q-diff-coding-check-text buffer text))
      (agent-q-diff-bad-target (agent-q-diff-error-text err)))))

(defun agent-q-diff-decide--told (change refused)
  "Return REFUSED, a list of (HUNK . REASON), in the order of the hunks of CHANGE.
If the name of a file has no file now, or leads to another, that is the reason."
  (sort (mapcar (pcase-lambda (`(,hunk . ,reason))
                  (cons hunk (or (agent-q-diff-decide-why-away change hunk) reason)))
                refused)
        (lambda (one other) (< (car one) (car other)))))

(defun agent-q-diff-decide--visit-for (change command file &optional only)
  "Visit the files of CHANGE that were put off and that COMMAND may write.
If FILE is not nil, only that file is meant, and if ONLY is not nil, the files
of the hunks in that list."
  (when (agent-q-diff-change-has-put-off change)
    (dolist (index (cond
                    (only (delete-consecutive-dups
                           (mapcar (apply-partially #'agent-q-diff-change-file-index change)
                                   only)))
                    (file (list file))
                    (t (number-sequence 0 (1- (length (agent-q-diff-change-files change)))))))
      (when (agent-q-diff-decide--writes-p change command index only)
        (agent-q-diff-change-visit change index)))))

(defun agent-q-diff-decide--writes-p (change command index only)
  "Return non-nil if COMMAND may write file INDEX of CHANGE.
If ONLY is nil, it is meant for all hunks of the file that it is for.  What was
written before the review and is there is only marked by `accept' and `unapply',
so a file that can still be visited later need not be visited for them."
  (let ((target (agent-q-diff-file-change-target
                 (nth index (agent-q-diff-change-files change)))))
    (when (agent-q-diff-target-put-off target)
      (let ((hunks (mapcar (apply-partially #'agent-q-diff-change-hunk change)
                           (agent-q-diff-change-hunks-of change index))))
        (cond
         ((and (agent-q-diff-change-written change) (not (eq command 'reject)))
          (not (and (seq-every-p (lambda (hunk)
                                   (and (eq t (agent-q-diff-engine-hunk-fact hunk))
                                        (not (eq 'rejected
                                                 (agent-q-diff-engine-hunk-mark hunk)))))
                                 hunks)
                    (agent-q-diff-target-can-wait-p target))))
         (only t)
         ((eq command 'unapply) (seq-some #'agent-q-diff-engine-hunk-fact hunks))
         (t (not (seq-every-p #'agent-q-diff-engine-hunk-mark hunks))))))))

(defun agent-q-diff-decide-unapply-all (change &optional file)
  "Unapply every hunk of CHANGE that is in a target, as one edit of each.
If CHANGE was written before its review, make every hunk pending instead.
If FILE is not nil, only those of the file with that index.  Return a list
of (HUNK . REASON): those with which that could not be done."
  (agent-q-diff-decide--all change 'unapply file))

(defun agent-q-diff-decide--all (change command file &optional left-out only)
  "Carry out COMMAND, `unapply' or `reject', on all hunks of CHANGE it is for.
FILE and the value are as for `agent-q-diff-decide-unapply-all'.  LEFT-OUT and
ONLY are as for `agent-q-diff-engine-plan-all'.  Signal an error if it cannot
be carried out; then nothing has changed."
  (unless (and (eq command 'reject) (not (agent-q-diff-change-written change)))
    (agent-q-diff-decide--visit-for change command file only))
  (let* ((engine (agent-q-diff-change-engine change))
         (planned (agent-q-diff-engine-plan-all engine command file left-out only)))
    (agent-q-diff-decide--carry-out change engine planned)
    (agent-q-diff-decide--told change (agent-q-diff-engine-planned-refused planned))))

(defun agent-q-diff-decide--shared (change file)
  "Return the pending hunks of CHANGE that have lines of the user's, too.
If FILE is not nil, only those of the file with that index."
  (cl-loop for mark in (agent-q-diff-module-marks (agent-q-diff-change-engine change))
           for hunk from 0
           when (and (null mark)
                     (or (null file) (= file (agent-q-diff-change-file-index change hunk)))
                     (agent-q-diff-change-shared-p change hunk))
           collect hunk))

(defun agent-q-diff-decide--shared-told (shared)
  "Return SHARED, hunks with lines of the user's, each as (HUNK . REASON)."
  (mapcar (lambda (hunk) (cons hunk "it has lines of yours")) shared))

(defun agent-q-diff-decide-reject-all (change &optional file)
  "Reject every pending hunk of CHANGE.
If FILE is not nil, only those of the file with that index.  Return a list
of (HUNK . REASON): those that could not be taken out, if CHANGE was written
before its review, and those that have lines of the user's, which stay pending."
  (setf (agent-q-diff-change-failures change)
        (and file
             (seq-remove (lambda (failure)
                           (= file (agent-q-diff-change-file-index change (car failure))))
                         (agent-q-diff-change-failures change)))
        (agent-q-diff-change-committed change) nil)
  (if (agent-q-diff-change-written change)
      (let ((shared (agent-q-diff-decide--shared change file)))
        (append (agent-q-diff-decide--all change 'reject file shared)
                (agent-q-diff-decide--shared-told shared)))
    (agent-q-diff-module-reject-all (agent-q-diff-change-engine change) file)
    nil))

(defun agent-q-diff-decide-these (change command hunks)
  "Carry out COMMAND on HUNKS of CHANGE, whatever was decided, as one decision.
COMMAND is `accept', `reject' or `unapply'.  Return a list of (HUNK . REASON):
those with which it could not be done; hunks that have lines of the user's, too,
are not taken out.  If it cannot be done with all at once, it is done with one
after the other, unless that would take out what was written before.  If it
signals an error or is quit, nothing has changed."
  (agent-q-diff-decide-all-or-none
   change #'agent-q-diff-decide-back
   (lambda ()
     (let* ((takes-out (and (eq command 'reject) (agent-q-diff-change-written change)))
            (shared (and takes-out
                         (seq-filter (apply-partially #'agent-q-diff-change-shared-p change)
                                     hunks)))
            (others (if shared (seq-difference hunks shared) hunks)))
       (sort (append (agent-q-diff-decide--shared-told shared)
                     (cond
                      ((null others) nil)
                      ((eq command 'accept) (agent-q-diff-decide-accept-all change nil others))
                      (takes-out (agent-q-diff-decide--at-once change command others))
                      (t
                       (condition-case nil
                           (agent-q-diff-decide--at-once change command others)
                         (agent-q-diff-error
                          (agent-q-diff-decide--one-by-one change command others))))))
             (lambda (one other) (< (car one) (car other))))))))

(defun agent-q-diff-decide--at-once (change command hunks)
  "Carry out COMMAND, `unapply' or `reject', on HUNKS of CHANGE.
The value is as for `agent-q-diff-decide--all'."
  (prog1 (agent-q-diff-decide--all change command nil nil hunks)
    (when (agent-q-diff-change-failures change)
      (dolist (hunk hunks)
        (agent-q-diff-decide--forget-failure change hunk)))))

(defun agent-q-diff-decide--one-by-one (change command hunks)
  "Carry out COMMAND on each of HUNKS of CHANGE with which it can be done.
The value is as for `agent-q-diff-decide-these'."
  (agent-q-diff-decide-all-or-none
   change #'agent-q-diff-decide-back
   (lambda ()
     (cl-loop for hunk in hunks
              for why = (condition-case err
                            (progn
                              (agent-q-diff-decide-hunk change command hunk)
                              nil)
                          (error (agent-q-diff-error-text err)))
              when why
              collect (cons hunk why)))))

;;;; Several decisions

(defun agent-q-diff-decide-back (change is-redo)
  "Undo the latest decision on CHANGE, and return the hunks that it was on.
If IS-REDO is non-nil, redo the decision that was undone last.  If there is
none, signal `agent-q-diff-nothing-to-take-back'; if it cannot be done,
signal an error that says why, and nothing has changed."
  (agent-q-diff-decide--back change is-redo nil))

(defun agent-q-diff-decide--back (change is-redo is-unrecorded)
  "Do what `agent-q-diff-decide-back' does with CHANGE and IS-REDO.
IS-UNRECORDED is as for `agent-q-diff-decide--carry-out'."
  (let* ((engine (agent-q-diff-change-engine change))
         (planned (agent-q-diff-engine-plan-back engine is-redo))
         (hunks (agent-q-diff-engine-planned-hunks planned)))
    (agent-q-diff-decide--carry-out change engine planned (not is-redo) is-unrecorded)
    (dolist (hunk hunks hunks)
      (agent-q-diff-decide--forget-failure change hunk))))

(defun agent-q-diff-decide-as-one (change function)
  "Call FUNCTION and return its value; its decisions on CHANGE become one."
  (let* ((engine (agent-q-diff-change-engine change))
         (before (agent-q-diff-module-n-decisions engine)))
    (unwind-protect
        (funcall function)
      (let ((n (- (agent-q-diff-module-n-decisions engine) before)))
        (when (> n 1)
          (agent-q-diff-module-join-decisions engine n))))))

(defun agent-q-diff-decide-all-or-none (change back function)
  "Do what `agent-q-diff-decide-in-one-step' does with CHANGE and FUNCTION.
If FUNCTION signals an error or is quit, undo what it has done, the latest
first: BACK is called with CHANGE and nil, like `agent-q-diff-decide-back', as
long as it returns non-nil."
  (let* ((engine (agent-q-diff-change-engine change))
         (before (agent-q-diff-module-n-decisions engine))
         (is-done nil))
    (unwind-protect
        (prog1 (agent-q-diff-decide-in-one-step change function)
          (setq is-done t))
      (unless is-done
        (let ((inhibit-quit t))
          (condition-case err
              (while (and (< before (agent-q-diff-module-n-decisions engine))
                          (funcall back change nil)))
            (error
             (agent-q-diff-base-warn
              (format "A command failed, and what it had done could not be undone: %s"
                      (agent-q-diff-error-text err))))))))))

(defun agent-q-diff-decide-in-one-step (change function)
  "Call FUNCTION and return its value; its decisions on CHANGE become one.
In each target, the edits that it makes are one undo step."
  (agent-q-diff-decide-as-one
   change
   (lambda ()
     (agent-q-diff-change-as-one-step change function))))

(provide 'agent-q-diff-decide)
;;; agent-q-diff-decide.el ends here
