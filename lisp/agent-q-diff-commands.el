;;; agent-q-diff-commands.el --- The commands that decide hunks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Accepting, rejecting, unapplying and commenting on hunks, one by one or
;; all at once.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-syntax)
(require 'agent-q-diff-outcome)
(require 'agent-q-diff-navigation)
(require 'agent-q-diff-shown)
(require 'agent-q-diff-words)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-lifecycle)

;;;; Carrying out commands

(defun agent-q-diff-commands--follow (change index hunk command)
  "Follow file INDEX of CHANGE, for COMMAND on HUNK.
If HUNK, which was written before its review, is not in the file any more, then
signal an error unless the user can have seen that: COMMAND might write it.  If
the file is gone, signal one if COMMAND would keep lines of it."
  (cl-flet ((is-out ()
              (null (agent-q-diff-engine-hunk-fact (agent-q-diff-change-hunk change hunk)))))
    (let* ((may-keep (and (agent-q-diff-change-written change)
                          (not (eq command 'reject))
                          (not (agent-q-diff-commands--applied-p hunk))))
           (may-write (and may-keep (not (is-out)))))
      (agent-q-diff-signs-follow index change)
      (when-let ((why (and may-keep
                           (not (agent-q-diff-change-operation-of change hunk))
                           (agent-q-diff-decide-why-gone change index))))
        (signal 'agent-q-diff-bad-target (list why)))
      (when (and may-write (is-out))
        (if-let ((why (agent-q-diff-decide-why-away change hunk)))
            (signal 'agent-q-diff-bad-target (list why))
          (signal 'agent-q-diff-not-in '("it is not in the file any more")))))))

(defun agent-q-diff-commands--do (command)
  "Carry out COMMAND on the hunk at point, and return the message shown.
If it cannot be done, show a message as well, but return nil; then nothing
has changed."
  (condition-case err
      (pcase-let* ((`(,change . ,here) (agent-q-diff-buffer-context))
                   (hunk (or here (agent-q-diff-buffer-hunk-here)))
                   (index (agent-q-diff-change-file-index change hunk))
                   (file (nth index (agent-q-diff-change-files change)))
                   ;; To reject, or to make an applied hunk pending, the target
                   ;; is not needed.
                   (is-aimed (or (agent-q-diff-change-written change)
                                 (not (or (eq command 'reject)
                                          (and (eq command 'toggle)
                                               (agent-q-diff-commands--applied-p hunk)))))))
        (when is-aimed
          (agent-q-diff-commands--follow change index hunk command))
        (let* ((note (agent-q-diff-decide-hunk change command hunk
                                               (and agent-q-diff-buffer-shown
                                                    (agent-q-diff-places-shown change hunk))))
               (said (agent-q-diff-words-note
                      command note
                      (pcase (agent-q-diff-engine-committed-hunks
                              (agent-q-diff-change-committed change))
                        (`(,only) only)
                        ;; A hunk of a new file, which it created.
                        (_ (agent-q-diff-change-hunk change hunk))))))
          (setq agent-q-diff-buffer-shown nil)
          (agent-q-diff-signs-show-committed)
          (setq said (concat said
                             (agent-q-diff-commands--follow-hooks change index is-aimed hunk)
                             (agent-q-diff-words-unsaved file note change (list hunk))
                             (agent-q-diff-words-progress change)))
          (message "%s" said)
          said))
    (user-error (signal (car err) (cdr err)))
    (agent-q-diff-ambiguous
     (unless (agent-q-diff-places-show agent-q-diff-buffer-change
                                       (agent-q-diff-buffer-hunk-here))
       (agent-q-diff-words-say-failure command err))
     nil)
    (error
     (agent-q-diff-commands--note-failure command err)
     (agent-q-diff-words-say-failure command err)
     nil)))

(defun agent-q-diff-commands--note-failure (command err)
  "Record that COMMAND, if it accepts, failed on the hunk at point with ERR.
It may have failed before it was tried, since the target was unavailable."
  (let ((hunk (agent-q-diff-buffer-hunk-at-point)))
    (when (and hunk (memq command '(accept toggle)) (not (agent-q-diff-buffer-ended-p)))
      (agent-q-diff-decide-note-failure agent-q-diff-buffer-change hunk
                                        (agent-q-diff-error-text err)))))

(defun agent-q-diff-commands--note-failures (err &optional file)
  "Record that accepting the pending hunks failed with ERR.
If FILE is not nil, it was those of the file with that index."
  (unless (or (agent-q-diff-buffer-ended-p) (null agent-q-diff-buffer-change))
    (cl-loop for mark in (agent-q-diff-change-marks agent-q-diff-buffer-change)
             for hunk from 0
             unless (or mark
                        (and file (/= file (agent-q-diff-buffer-file-index hunk))))
             do (agent-q-diff-decide-note-failure agent-q-diff-buffer-change hunk
                                                  (agent-q-diff-error-text err)))))

(defun agent-q-diff-commands--follow-hooks (change index is-aimed hunk)
  "Show what else has changed in file INDEX of CHANGE after a command on HUNK.
If IS-AIMED is non-nil, the command has followed the file, and only a hook on
saving can have changed it since; return words on that to append to the
message.  Otherwise the change is the user's, and there are no words."
  (let* ((file (nth index (agent-q-diff-change-files change)))
         (hooked (agent-q-diff-file-change-hook-changed file)))
    (if (and (if is-aimed hooked (agent-q-diff-change-buffers change))
             (agent-q-diff-change-follow change index))
        (let ((words (if is-aimed (agent-q-diff-words-hook change (list hunk)) "")))
          (agent-q-diff-signs-show-all)
          (cond
           ((not (and is-aimed (string-empty-p words))) words)
           ((eq hooked 'hunks) "; on saving, a hook changed accepted lines")
           (t "; on saving, a hook changed other lines as well")))
      "")))

(defvar agent-q-diff-commands-instead-functions nil
  "Abnormal hook of functions that carry out a command in another way.
Each is called with `reject', `reject-all', `toggle', `unapply', `comment',
`ask', `refresh', or `say' with a comment and a hunk, by index, or nil for all,
and returns non-nil if it has done that: in a buffer whose text is not a diff,
there is nothing to decide; while an agent works, a rejection waits; and what
was written already is commented on by the line, and may have become more.")

(defun agent-q-diff-commands--instead-p (command &rest arguments)
  "Return non-nil if COMMAND with ARGUMENTS was carried out in another way.
See `agent-q-diff-commands-instead-functions'."
  (apply #'run-hook-with-args-until-success
         'agent-q-diff-commands-instead-functions command arguments))

;;;; Commands

(defvar agent-q-diff-commands--reason nil
  "The reason for the rejection that is being carried out, or nil.
Lines of the region become hunks only then.")

(defun agent-q-diff-commands--do-here (command)
  "Carry out COMMAND on the hunk at point, or on the lines of an active region.
These lines become hunks of their own first.  Return the message shown, or
nil if anything could not be done."
  (if (not (use-region-p))
      (agent-q-diff-commands--do command)
    ;; Reading the hunks may fold the one at point, and move point.
    (let ((beg (region-beginning))
          (end (region-end))
          (hunks nil))
      (condition-case err
          ;; Undoing the decision joins what is split for it.
          (agent-q-diff-decide-all-or-none
           (agent-q-diff-split-change) #'agent-q-diff-split-undo
           (lambda ()
             (setq hunks (agent-q-diff-split-pick-region beg end))
             (deactivate-mark)
             (setq agent-q-diff-words-decided nil)
             (if (cdr hunks)
                 (agent-q-diff-commands--do-several command hunks)
               (agent-q-diff-commands--note-reason command hunks)
               (agent-q-diff-buffer-goto-hunk (car hunks))
               (agent-q-diff-commands--do command))))
        (user-error (signal (car err) (cdr err)))
        (error
         (message (if hunks
                      "Nothing was changed: %s"
                    "Cannot use these lines alone: %s")
                  (agent-q-diff-error-text err))
         nil)))))

(defun agent-q-diff-commands--note-reason (command hunks)
  "If COMMAND rejects HUNKS, make the reason for that the comment on each."
  (when (and agent-q-diff-commands--reason (eq command 'reject))
    (mapc (apply-partially #'agent-q-diff-commands-note agent-q-diff-commands--reason)
          hunks)))

(defun agent-q-diff-commands--do-several (command hunks)
  "Carry out COMMAND on HUNKS, several, as one decision; return what is said.
Those that are decided that way already stay as they are.  If it cannot be done
with some, the message names the first of them; then return nil."
  (let* ((change (agent-q-diff-signs-follow))
         (meant (seq-filter (apply-partially #'agent-q-diff-commands--changes-p command)
                            hunks))
         (unseen (and (not (eq command 'unapply)) (agent-q-diff-shown-not meant)))
         (failed (progn
                   (unless (or meant (agent-q-diff-buffer-written-p)
                               (not (eq command 'unapply)))
                     (user-error "None of these is in a file"))
                   (agent-q-diff-commands--note-reason command meant)
                   (and meant (agent-q-diff-decide-these change command meant)))))
    (when meant
      (agent-q-diff-commands-show-many change))
    (agent-q-diff-buffer-goto-hunk (or (caar failed) (car (last hunks))))
    (let ((said (agent-q-diff-words-say-several
                 command (or meant hunks)
                 (if meant '("%d hunk" . "%d hunks") '("%d hunk already" . "%d hunks already"))
                 failed
                 (agent-q-diff-commands-unseen-words unseen meant failed))))
      (unless failed
        said))))

(defun agent-q-diff-commands-unseen-words (unseen hunks failed)
  "Return `agent-q-diff-shown-words' on HUNKS, of which UNSEEN were not shown.
FAILED is a list of (HUNK . REASON), those that were not decided."
  (agent-q-diff-shown-words (seq-remove (lambda (hunk) (assq hunk failed)) unseen)
                            (- (length hunks) (length failed))))

(defun agent-q-diff-commands--changes-p (command hunk)
  "Return non-nil unless HUNK is decided as COMMAND does already."
  (pcase command
    ('accept (not (eq 'applied (aref agent-q-diff-buffer-marks hunk))))
    ('reject (not (eq 'rejected (aref agent-q-diff-buffer-marks hunk))))
    (_ (agent-q-diff-commands-meant-p command hunk))))

(defun agent-q-diff-commands-meant-p (command hunk)
  "Return non-nil if COMMAND is for HUNK.
COMMAND is `accept' or `reject', for what is pending, or `unapply'."
  (cond
   ((not (eq command 'unapply)) (null (aref agent-q-diff-buffer-marks hunk)))
   ((agent-q-diff-buffer-written-p) (aref agent-q-diff-buffer-marks hunk))
   (t (agent-q-diff-engine-hunk-fact
       (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))))

(defun agent-q-diff-accept-hunk (&optional advance)
  "Apply the hunk at point to the target.
With an active region, apply only the changed lines in it; they become a
hunk of their own, in the order in which the diff shows them.  If ADVANCE
is non-nil, as by key, move on to the next pending hunk."
  (interactive (list t))
  (cond
   ((agent-q-diff-buffer-elsewhere-p #'agent-q-diff-accept-hunk))
   ((agent-q-diff-commands--file-here) (agent-q-diff-commands--do-file 'accept advance))
   (advance (agent-q-diff-commands--do-and-advance 'accept))
   (t (agent-q-diff-commands--do-here 'accept))))

(defun agent-q-diff-reject-hunk (&optional advance reason)
  "Mark the hunk at point rejected; the target stays as it is.
With an active region, reject only the changed lines in it; they become a
hunk of their own.  If ADVANCE is non-nil, as by key, move on to the next
pending hunk.  REASON, a string or nil, becomes the comment on the hunk, which
the agent reads; interactively, with a prefix argument, it is asked for."
  (interactive (list t (and current-prefix-arg (agent-q-diff-commands--read-reason))))
  (unless (agent-q-diff-buffer-elsewhere-p #'agent-q-diff-reject-hunk)
    (setq agent-q-diff-commands--reason reason)
    (when (and reason (not (use-region-p)))
      (mapc (apply-partially #'agent-q-diff-commands-note reason)
            (agent-q-diff-commands--hunks-to-reject)))
    (cond
     ((agent-q-diff-commands--instead-p 'reject))
     ((agent-q-diff-commands--file-here) (agent-q-diff-commands--do-file 'reject advance))
     ((agent-q-diff-commands--shared-here)
      (agent-q-diff-commands--reject-shared advance))
     (advance (agent-q-diff-commands--do-and-advance 'reject))
     (t (agent-q-diff-commands--do-here 'reject)))))

(defun agent-q-diff-commands--hunks-to-reject ()
  "Return the hunk at point, or on a heading those of its file that are pending."
  (if-let ((file (agent-q-diff-commands--file-here)))
      (agent-q-diff-buffer-pending
       (agent-q-diff-change-hunks-of agent-q-diff-buffer-change file))
    (agent-q-diff-buffer-current-change)
    (list (agent-q-diff-buffer-hunk-here))))

(defun agent-q-diff-commands--shared-here ()
  "Return non-nil if the hunk at point is pending and has lines of the user's, too.
If lines are selected, they are meant, so return nil."
  (when-let ((hunk (and (agent-q-diff-buffer-written-p)
                        (not (use-region-p))
                        (not (agent-q-diff-buffer-ended-p))
                        (agent-q-diff-buffer-hunk-at-point))))
    (and (agent-q-diff-change-shared-p agent-q-diff-buffer-change hunk)
         (null (agent-q-diff-engine-hunk-mark
                (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk))))))

(defun agent-q-diff-commands--reject-shared (advance)
  "Take the hunk at point, which the user has edited, too, out if the user agrees.
ADVANCE is as for `agent-q-diff-reject-hunk'."
  (cond
   ((not (y-or-n-p "You have edited this hunk, too.  Take out your lines with it? "))
    (message "Nothing was taken out; e edits the hunk, and r on selected lines takes out these"))
   (advance (agent-q-diff-commands--do-and-advance 'reject))
   (t (agent-q-diff-commands--do-here 'reject))))

(defvar-local agent-q-diff-commands--rejected nil
  "The hunk that the last command rejected, as (HUNK . N-HUNKS), or nil.
N-HUNKS is how many hunks there were.")

(defun agent-q-diff-commands--next-pending (change hunk)
  "Return the next pending hunk of CHANGE after HUNK, or nil if no other is.
The search wraps around after the last hunk."
  (let ((committed (agent-q-diff-change-committed change)))
    (pcase (and committed (agent-q-diff-engine-committed-hunks committed))
      ((and `(,only)
            (guard (and (eql hunk (agent-q-diff-engine-hunk-index only))
                        (null (agent-q-diff-engine-committed-marks committed)))))
       (agent-q-diff-engine-committed-next committed))
      (_ (agent-q-diff-module-next-pending (agent-q-diff-change-engine change) hunk)))))

(defun agent-q-diff-commands--goto-next-pending (&optional here)
  "Move to the next pending hunk, wrapping around after the last.
Return the hunk, or nil if none is pending.  HERE is the hunk at point, if
that is known."
  (let* ((from (or here (agent-q-diff-buffer-hunk-before) 0))
         (next (or (agent-q-diff-commands--next-pending agent-q-diff-buffer-change from)
                   (and (null here)
                        (agent-q-diff-buffer-heading-at-point)
                        (null (agent-q-diff-engine-hunk-mark
                               (agent-q-diff-change-hunk agent-q-diff-buffer-change from)))
                        from))))
    (when next
      (setq next (agent-q-diff-commands--shown-pending next))
      (agent-q-diff-buffer-goto-hunk next here)
      next)))

(defun agent-q-diff-commands--shown-pending (hunk)
  "Return HUNK, which is pending, or if it is hidden, the next one that is not.
If all pending hunks are hidden, return HUNK."
  (let ((n (length agent-q-diff-buffer-marks))
        (hidden (and (agent-q-diff-filter-any-p) (agent-q-diff-filter-hidden))))
    (or (cl-loop repeat (1+ n)
                 for there = hunk then (mod (1+ there) n)
                 unless (or (aref agent-q-diff-buffer-marks there)
                            (and hidden (aref hidden there)))
                 return there)
        hunk)))

(defun agent-q-diff-commands--do-and-advance (command)
  "Carry out COMMAND here, and move to the next pending hunk.
That is the rest of the hunk above the lines of the region, if any.  If the
next one is above, the message says so.  Return the message of COMMAND, or
nil if it failed."
  (let* ((first (and (use-region-p)
                     (save-excursion
                       (goto-char (region-beginning))
                       (agent-q-diff-buffer-hunk-at-point))))
         (said (agent-q-diff-commands--do-here command)))
    (when said
      (let ((here (agent-q-diff-buffer-hunk-here))
            next)
        (setq agent-q-diff-words-decided here
              agent-q-diff-commands--rejected
              (and (eq command 'reject)
                   (cons here (length agent-q-diff-buffer-marks))))
        (cond
         ;; COMMAND decided the lines of the region, so this is what is above.
         ((and first (null (aref agent-q-diff-buffer-marks first)))
          (agent-q-diff-buffer-goto-hunk first)
          (message "%s; %s has the lines above" said (agent-q-diff-buffer-hunk-words first)))
         ((null (setq next (agent-q-diff-commands--goto-next-pending here)))
          (when (and agent-q-diff-finish-when-decided (agent-q-diff-buffer-awaited-p))
            (agent-q-diff-finish nil t)))
         ((< next here)
          (message "%s; the next one is above: %s" said (agent-q-diff-buffer-hunk-words next))))))
    said))

(defun agent-q-diff-toggle-hunk ()
  "Accept the hunk at point, or return its mark from applied to pending.
The latter leaves its change in the target, unless
`agent-q-diff-toggle-unapplies' is non-nil."
  (interactive)
  (unless (or (agent-q-diff-buffer-elsewhere-p #'agent-q-diff-toggle-hunk)
              (agent-q-diff-commands--instead-p 'toggle))
    (agent-q-diff-commands--do
     (if (and agent-q-diff-toggle-unapplies
              (progn
                (agent-q-diff-buffer-current-change)
                (agent-q-diff-commands--applied-p (agent-q-diff-buffer-hunk-here))))
         'unapply
       'toggle))))

(defun agent-q-diff-commands--applied-p (hunk)
  "Return non-nil if HUNK is marked applied."
  (eq 'applied (cdr (aref agent-q-diff-buffer-entries hunk))))

(defun agent-q-diff-unapply-hunk ()
  "Take the change of the hunk at point out of the target.
With an active region, unapply only the changed lines in it; they become a
hunk of their own."
  (interactive)
  (cond
   ((agent-q-diff-buffer-elsewhere-p #'agent-q-diff-unapply-hunk))
   ((agent-q-diff-commands--instead-p 'unapply))
   ((agent-q-diff-commands--file-here) (agent-q-diff-commands--do-file 'unapply nil))
   (t (when-let ((said (agent-q-diff-commands--do-here 'unapply)))
        (setq agent-q-diff-words-decided nil)
        said))))

(defun agent-q-diff-keep-outside ()
  "Keep the pending hunks that were written outside any turn of an agent.
Those from before the first look at the project are among them.  Such hunks are
in reviews of what was written already; see the manual."
  (interactive)
  (let* ((change (agent-q-diff-signs-follow))
         (hunks (seq-filter (lambda (hunk)
                              (let ((authors (agent-q-diff-change-hunk-authors change hunk)))
                                (and authors (not (seq-difference authors '(outside unknown))))))
                            (agent-q-diff-buffer-pending (agent-q-diff-buffer-all))))
         (n-outside (seq-count (lambda (hunk)
                                 (memq 'outside (agent-q-diff-change-hunk-authors change hunk)))
                               hunks)))
    (unless hunks
      (user-error "No pending hunk is from outside any turn, or from before the first look"))
    (agent-q-diff-commands--accept-these
     change hunks
     (concat (ngettext "Kept %d hunk from " "Kept %d hunks from " (length hunks))
             (cond
              ((= n-outside (length hunks)) "outside any turn")
              ((= 0 n-outside) "before the first look")
              (t "outside any turn, or from before the first look"))))))

(defun agent-q-diff-commands--accept-these (change hunks said)
  "Accept HUNKS of CHANGE as one decision, and leave point where it is.
If that can be done, show the message SAID, a format for their number."
  (condition-case err
      (let ((unseen (agent-q-diff-shown-not hunks))
            (failed (agent-q-diff-decide-these change 'accept hunks)))
        (save-excursion
          (agent-q-diff-commands-show-many change))
        (if failed
            (agent-q-diff-words-say-failures
             failed (agent-q-diff-words-not-done 'accept))
          (message "%s%s%s" (format said (length hunks))
                   (agent-q-diff-words-hook change hunks)
                   (agent-q-diff-shown-words unseen (length hunks)))))
    (agent-q-diff-error
     (message "Nothing was changed: %s" (agent-q-diff-error-text err)))))

(defun agent-q-diff-accept-white-space ()
  "Accept the pending hunks that change only whitespace.
Where white space may mean something, as in Python, no hunk is one of them.
This is one undo step of the target."
  (interactive)
  (let* ((change (agent-q-diff-signs-follow))
         (hunks (agent-q-diff-buffer-pending (agent-q-diff-syntax-white-space-hunks change))))
    (unless hunks
      (user-error "No pending whitespace-only hunks"))
    (agent-q-diff-commands--accept-these
     change hunks
     (if (agent-q-diff-buffer-written-p)
         (ngettext "Kept %d whitespace-only hunk"
                   "Kept %d whitespace-only hunks" (length hunks))
       (ngettext "Accepted %d whitespace-only hunk"
                 "Accepted %d whitespace-only hunks" (length hunks))))))

(defun agent-q-diff-accept-words ()
  "Accept the hunk at point, leave white space as it is, and move on.
A line that replaces another keeps the white space around that, and lines that
differ in nothing else stay as they are.  If lines replace more or fewer others,
signal an error, and change nothing."
  (interactive)
  (let* ((change (agent-q-diff-split-change))
         (hunk (agent-q-diff-edit-hunk-with-lines))
         (engine (agent-q-diff-change-engine change))
         (text (or (agent-q-diff-engine-call #'agent-q-diff-module-without-white-space
                                             engine hunk)
                   (user-error "%s replaces lines by more or fewer others, so which white space is meant is not defined; e edits it"
                               (agent-q-diff-buffer-hunk-words hunk 'first)))))
    (when (aref agent-q-diff-buffer-marks hunk)
      (user-error "This hunk is decided already; make it pending first"))
    (when (memql hunk (agent-q-diff-syntax-white-space-hunks change))
      (user-error "This hunk changes only white space; r %s"
                  (if (agent-q-diff-buffer-written-p) "takes it out" "rejects it")))
    (if (equal text (agent-q-diff-engine-proposed engine hunk))
        (agent-q-diff-accept-hunk t)
      (agent-q-diff-decide-as-one
       change
       (lambda ()
         (agent-q-diff-edit-take-until-undone hunk text)
         (agent-q-diff-accept-hunk t))))))

(defun agent-q-diff-recode-target ()
  "Have the target saved in the coding system that it declares, or else in UTF-8.
Use this for a hunk with a character that the target's coding system cannot
hold, and if hunks change what the file declares.  Saving then rewrites the
whole file."
  (interactive)
  (let* ((file (progn
                 (agent-q-diff-signs-follow)
                 (agent-q-diff-buffer-file)))
         (target (or (agent-q-diff-file-change-buffer file)
                     (user-error "No lines of this file would change")))
         (is-contradicted (agent-q-diff-file-change-contradiction file target))
         (system (or (agent-q-diff-outcome-declared agent-q-diff-buffer-change file) 'utf-8)))
    (agent-q-diff-coding-recode target system)
    (when is-contradicted
      (with-current-buffer target
        (set-buffer-modified-p t)))
    (message "%s will be saved as %s; %s"
             (agent-q-diff-text-buffer-name target)
             (if (eq system 'utf-8) "UTF-8" system)
             (if is-contradicted
                 "C-x C-s there saves it"
               "accept the hunk again"))))

(defun agent-q-diff-commands-show-many (change)
  "Show the effect of a command on several hunks of CHANGE.
If a hook changed the target on saving, show that as well."
  (if (or (and (seq-some #'agent-q-diff-file-change-hook-changed
                         (agent-q-diff-change-files change))
               (agent-q-diff-change-follow change))
          (not (agent-q-diff-change-committed change))
          (not (agent-q-diff-engine-committed-marks
                (agent-q-diff-change-committed change))))
      (progn
        (agent-q-diff-change-recount change)
        (agent-q-diff-buffer-write-states)
        (agent-q-diff-signs-show-all))
    (agent-q-diff-signs-show-committed)))

(defun agent-q-diff-commands--gone-p (change hunk)
  "Return non-nil if HUNK of CHANGE was written before, and is nowhere now."
  (and (agent-q-diff-change-written change)
       (null (agent-q-diff-engine-hunk-fact (agent-q-diff-change-hunk change hunk)))
       (not (agent-q-diff-decide-why-away change hunk))))

(defun agent-q-diff-commands--say-unseen (unseen n)
  "Say that all N hunks are accepted, UNSEEN of which were not shown."
  (message "%s%s, %s"
           (format (ngettext "%d hunk %s" "%d hunks %s" n) n (agent-q-diff-buffer-mark-word 'applied))
           (agent-q-diff-shown-words unseen n)
           (substitute-command-keys
            "\\<agent-q-diff-mode-map>\\[agent-q-diff-accept-all] finishes")))

(defun agent-q-diff-commands--accept-pending (by-key)
  "Accept every pending hunk, and finish if all of them applied.
If some of them were never shown, say so first, and leave the review open.
BY-KEY is as for `agent-q-diff-accept-all'."
  (let ((change (agent-q-diff-signs-follow)))
    (if (zerop (nth 3 (agent-q-diff-buffer-counts change)))
        (agent-q-diff-finish nil by-key)
      (let* ((pending (agent-q-diff-buffer-pending (agent-q-diff-buffer-all)))
             (unseen (and by-key agent-q-diff-confirm-finish (agent-q-diff-shown-not pending)))
             (all (agent-q-diff-decide-accept-all change))
             (gone (seq-filter (lambda (one) (agent-q-diff-commands--gone-p change (car one)))
                               all))
             ;; Of the others, something is left to decide.
             (failed (seq-difference all gone)))
        (agent-q-diff-commands-show-many change)
        (cond
         ((and unseen (null all))
          (agent-q-diff-commands--say-unseen unseen (length pending)))
         ((null all) (agent-q-diff-finish-decided "accepted" by-key))
         ;; The message at the end of the review counts them.
         ((null failed) (agent-q-diff-finish nil by-key))
         ((agent-q-diff-buffer-awaited-p)
          (agent-q-diff-words-say-failures
           (append failed gone) "Not finished"
           (concat (agent-q-diff-commands--ways-out change (caar failed))
                   (agent-q-diff-shown-words
                    (seq-filter (lambda (hunk) (aref agent-q-diff-buffer-marks hunk)) unseen)
                    (- (length pending) (length all))))))
         (t (agent-q-diff-words-say-failures failed
                                             (agent-q-diff-words-not-done 'accept))
            (agent-q-diff-finish nil by-key)))))))

(defun agent-q-diff-accept-all (&optional by-key)
  "Apply every pending hunk, but no rejected one, and finish.
This is one undo step of the target.  If some do not apply, the others are
applied, and the review stays open if a caller waits for it; hunks that were
written before and are not in their files any more are skipped.  If nothing is
pending, just finish.  BY-KEY is non-nil if a person called this."
  (interactive (list t))
  (agent-q-diff-finish-confirm-unfinished by-key)
  (agent-q-diff-buffer-distrust-states)
  (condition-case err
      (agent-q-diff-base-collecting-once
        (agent-q-diff-commands--accept-pending by-key))
    (error
     (agent-q-diff-commands--note-failures err)
     (message "Failed to apply: %s" (agent-q-diff-error-text err))
     (unless (or (agent-q-diff-buffer-awaited-p) (agent-q-diff-buffer-ended-p))
       (agent-q-diff-finish nil by-key)))))

(defun agent-q-diff-unapply-all ()
  "Take all hunks that are in the target out of it again.
If they were written before the review, make all pending instead, and put back
what was taken out.  This is one undo step of the target.  Hunks whose lines
others have changed since stay in it; a message shows which, and why.  Return
them as a list of \(HUNK . REASON)."
  (interactive)
  (let* ((change (agent-q-diff-signs-follow))
         (n (agent-q-diff-change-in-target change))
         (failed (agent-q-diff-decide-unapply-all change))
         (unsaved (agent-q-diff-change-unsaved-names change))
         (place (if (cdr (agent-q-diff-change-files change))
                    "files"
                  (agent-q-diff-buffer-target-word))))
    (agent-q-diff-commands-show-many change)
    (cond
     (failed (agent-q-diff-words-say-failures
              failed (agent-q-diff-words-not-done 'unapply)))
     ((agent-q-diff-change-written change)
      (let ((n-out (- (car (agent-q-diff-change-tally change))
                      (agent-q-diff-change-in-target change))))
        (if (zerop n-out)
            (message "Everything is in the %s, and pending" place)
          (message (ngettext "Everything is pending; %d hunk is not in the %s any more"
                             "Everything is pending; %d hunks are not in the %s any more" n-out)
                   n-out place))))
     ((zerop n)
      (message "None of the proposal is in the %s" place))
     ((< 0 (agent-q-diff-change-in-target change))
      (message "Taken out, but %d in the %s again: on saving, a hook changed the lines"
               (agent-q-diff-change-in-target change) place))
     (unsaved
      (message (ngettext "Taken out of the buffers; %s is not saved"
                         "Taken out of the buffers; %s are not saved"
                         (length unsaved))
               (string-join unsaved ", ")))
     (t (message "Taken out; none of the proposal is in the %s" place)))
    failed))

(defun agent-q-diff-commands--ways-out (change hunk)
  "Return words about the keys for HUNK of CHANGE, which does not apply."
  (substitute-command-keys
   (concat "\\<agent-q-diff-mode-map>"
           (pcase (and (null (agent-q-diff-change-operation-of change hunk))
                       (let ((state (agent-q-diff-change-hunk change hunk)))
                         (if (and (agent-q-diff-change-written change)
                                  (eq 'mixed (agent-q-diff-engine-hunk-fact state)))
                             'mixed
                           (agent-q-diff-engine-hunk-place state))))
             ('mixed "\\[agent-q-diff-split-hunk] splits it, ")
             ('ambiguous "\\[agent-q-diff-accept-hunk] shows its places, ")
             ('conflict "\\[agent-q-diff-merge-hunk] merges, "))
           "\\[agent-q-diff-reject-hunk] rejects")))

(defun agent-q-diff-reject-all (&optional by-key)
  "Reject every pending hunk and finish with \"rejected\".
What was applied before stays in the target.  BY-KEY is non-nil if a person
called this."
  (interactive (list t))
  (when (agent-q-diff-buffer-ended-p)
    (user-error "The review has ended"))
  (agent-q-diff-finish-confirm-unfinished by-key)
  (agent-q-diff-buffer-distrust-states)
  (unless (agent-q-diff-commands--instead-p 'reject-all)
    (let* ((change (agent-q-diff-buffer-change-or-nil))
           (failed (and change (agent-q-diff-decide-reject-all change))))
      (when change
        (agent-q-diff-buffer-write-states)
        (agent-q-diff-signs-show-all))
      (if failed
          (agent-q-diff-words-say-failures failed "Not taken out")
        (agent-q-diff-finish-decided "rejected" by-key)))))

;;;; Several hunks

(defun agent-q-diff-commands-move-on (command)
  "Move to the next pending hunk after COMMAND was carried out on several.
After `unapply', stay.  If nothing is pending, and the user wants that, finish."
  (unless (or (eq command 'unapply)
              (agent-q-diff-commands--goto-next-pending))
    (when (and agent-q-diff-finish-when-decided (agent-q-diff-buffer-awaited-p))
      (agent-q-diff-finish nil t))))

(defun agent-q-diff-commands-wait-p (hunk)
  "Have the rejection of HUNK wait if it has to; return non-nil if it does."
  (when (agent-q-diff-buffer-written-p)
    (agent-q-diff-buffer-goto-hunk hunk)
    (let ((inhibit-message t))
      (agent-q-diff-commands--instead-p 'reject))))

;;;; All hunks of a file

(defun agent-q-diff-commands--file-here ()
  "Return the index of the file whose heading point is on, or nil.
If lines are selected, they are meant, so return nil."
  (and agent-q-diff-buffer-headings
       (not (use-region-p))
       (agent-q-diff-buffer-heading-at-point)))

(defun agent-q-diff-commands--do-file (command advance)
  "Carry out COMMAND on all hunks of the file whose heading is at point.
COMMAND is `accept' or `reject', for those that are pending, or `unapply'.
If ADVANCE is non-nil, move on to the next pending hunk.  Show a message."
  (condition-case err
      (let* ((change (agent-q-diff-signs-follow (agent-q-diff-buffer-file-index)))
             (index (agent-q-diff-buffer-heading-at-point))
             (meant (agent-q-diff-buffer-pending
                     (agent-q-diff-change-hunks-of change index)))
             (unseen (and (not (eq command 'unapply)) (agent-q-diff-shown-not meant)))
             (failed (progn
                       (agent-q-diff-commands--check-file-has command change index)
                       (pcase-exhaustive command
                         ('accept (agent-q-diff-decide-accept-all change index))
                         ('unapply (agent-q-diff-decide-unapply-all change index))
                         ('reject (agent-q-diff-decide-reject-all change index))))))
        (setq agent-q-diff-words-decided nil)
        (agent-q-diff-commands-show-many change)
        (if failed
            (agent-q-diff-words-say-failures
             failed (agent-q-diff-words-not-done command))
          (agent-q-diff-words-say-file command change index
                                       (agent-q-diff-shown-words unseen (length meant)))
          (when advance
            (agent-q-diff-commands-move-on command))))
    (user-error (signal (car err) (cdr err)))
    (error
     (when (eq command 'accept)
       (agent-q-diff-commands--note-failures err (agent-q-diff-buffer-heading-at-point)))
     (message "Nothing was changed: %s" (agent-q-diff-error-text err)))))

(defun agent-q-diff-commands--check-file-has (command change index)
  "Signal a `user-error' if file INDEX of CHANGE has no hunk for COMMAND."
  (unless (seq-some (apply-partially #'agent-q-diff-commands-meant-p command)
                    (agent-q-diff-change-hunks-of change index))
    (user-error (if (eq command 'unapply)
                    (if (agent-q-diff-change-written change)
                        "Nothing of %s is decided"
                      "None of %s is in the file")
                  "No hunk of %s is pending; press the key on a hunk to change what you decided")
                (agent-q-diff-words-file-name change index))))

;;;; Staging

(defun agent-q-diff-stage ()
  "Put what you have kept in this review into git's index, in all of its files.
These are exactly the lines that you have kept; what you have made pending
again since then is taken out of the index.  Files do not change.  Where the
index has other lines than those that you have reviewed, nothing is staged.

This is for a review of what was written already; see also the option
`agent-q-diff-stage-kept'."
  (interactive)
  (let* ((change (agent-q-diff-buffer-current-change))
         (written (agent-q-diff-change-written change)))
    (unless written
      (user-error "Only what M-x agent-q-diff-review-changes shows can be staged"))
    (when (agent-q-diff-written-since written)
      (user-error "Stage in the review of what is pending; this one is since a commit"))
    (pcase-let ((`(,n . ,failed) (agent-q-diff-module-stage (agent-q-diff-change-engine change))))
      (message "%s"
               (string-join
                (append (cond
                         ((< 0 n)
                          (list (format (ngettext "What you kept of %d file is staged"
                                                  "What you kept of %d files is staged" n)
                                        n)))
                         ((null failed) '("Nothing is kept that is not staged")))
                        (mapcar #'agent-q-diff-visible failed))
                "; ")))))

;;;; Looking again, selecting

(defun agent-q-diff-refresh ()
  "Look at the file again, and show the state of every hunk.
This also happens after edits in Emacs, and before every command that needs it.
If more was written since a review of what is pending began, show that, too."
  (interactive)
  (when (agent-q-diff-buffer-ended-p)
    (user-error "The review has ended; M-x agent-q-diff-look-again shows it again"))
  (unless (agent-q-diff-commands--instead-p 'refresh)
    (agent-q-diff-buffer-distrust-states)
    (let ((change (agent-q-diff-signs-follow)))
      (agent-q-diff-signs-show-all)
      (message "Up to date%s%s"
               (agent-q-diff-words-counts change)
               (agent-q-diff-change-followed-words change)))))

(defun agent-q-diff-select-line ()
  "Select the line at point; if lines are selected, add the next one.
Accepting, rejecting and taking out then affect only the changed lines that
are selected."
  (interactive)
  (unless transient-mark-mode
    ;; On until the mark is deactivated.
    (setq-local transient-mark-mode 'lambda))
  (unless (use-region-p)
    (push-mark (line-beginning-position) t t))
  (forward-line))

;;;; Comments

(defun agent-q-diff-commands--just-rejected (here)
  "Return the hunk that the command before this one rejected, or nil.
It is nil if that is HERE."
  (pcase agent-q-diff-commands--rejected
    (`(,hunk . ,n-hunks)
     (and (/= hunk here)
          ;; Nobody has split a hunk meanwhile.
          (= n-hunks (length agent-q-diff-buffer-marks))
          (memq last-command '(agent-q-diff-reject-hunk sly-agent-q-diff-reject-hunk))
          hunk))))

(defun agent-q-diff-commands--where-words (hunk)
  "Return words that say which hunk HUNK is, with its file and line."
  (let ((words (agent-q-diff-buffer-hunk-words hunk))
        (line (agent-q-diff-engine-hunk-line
               (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk))))
    (concat words
            (if agent-q-diff-buffer-headings
                ""
              (concat " of " (agent-q-diff-file-change-name (agent-q-diff-buffer-file hunk))))
            (if line (format ", line %d" (1+ line)) ""))))

(defun agent-q-diff-commands--read-comment (hunk what &optional other)
  "Ask for the comment on HUNK, and return (HUNK . COMMENT).
WHAT begins the prompt.  If OTHER is non-nil, it is the hunk that has just been
rejected, and a key in the prompt makes the comment one on that."
  (let ((key "M-r")
        (there nil))
    (let ((comment
           (minibuffer-with-setup-hook
               (lambda ()
                 (when other
                   (use-local-map
                    (let ((map (make-sparse-keymap)))
                      (set-keymap-parent map (current-local-map))
                      (define-key map (kbd key)
                        (lambda ()
                          (interactive)
                          (setq there (minibuffer-contents-no-properties))
                          (exit-minibuffer)))
                      map))))
             (read-string (format "%s %s%s: " what (agent-q-diff-commands--where-words hunk)
                                  (if other
                                      (format " (%s: on %s, just %s)" key
                                              (agent-q-diff-buffer-hunk-words other)
                                              (agent-q-diff-buffer-mark-word 'rejected))
                                    ""))
                          (agent-q-diff-commands--comment-on hunk)))))
      (if there
          (let ((typed (and (not (equal there (or (agent-q-diff-commands--comment-on hunk) "")))
                            there)))
            (cons other
                  (read-string (format "%s %s: " what (agent-q-diff-commands--where-words other))
                               (or typed (agent-q-diff-commands--comment-on other)))))
        (cons hunk comment)))))

(defun agent-q-diff-commands-why ()
  "Return a question for the reason of a rejection, without what it is about."
  (format "Why is it %s?  For the agent" (agent-q-diff-buffer-mark-word 'rejected)))

(defun agent-q-diff-commands--read-reason ()
  "Ask why what is at point is rejected, and return the reason.
Where there is no hunk, return nil."
  (when (or agent-q-diff-buffer-is-made (agent-q-diff-buffer-change-or-nil))
    (let ((what (concat (agent-q-diff-commands-why) ", on")))
      (cond
       ((use-region-p) (read-string (concat what " the selected lines: ")))
       ((agent-q-diff-commands--file-here)
        (read-string (format "%s all of %s: " what
                             (agent-q-diff-words-file-name
                              agent-q-diff-buffer-change
                              (agent-q-diff-commands--file-here)))))
       (t (cdr (agent-q-diff-commands--read-comment (agent-q-diff-buffer-hunk-here) what)))))))

(defun agent-q-diff-comment-hunk (comment &optional hunk)
  "Make COMMENT the comment on HUNK; if it is blank, remove that.
HUNK is counted from 0; it is by default the one at point.  The agent reads
the comment when the review has ended, for example as the reason for a
rejection.  Interactively, right after a hunk was rejected, which moves on to
the next one, a key in the prompt makes it a comment on that hunk."
  (interactive
   (let* ((here (progn (agent-q-diff-buffer-current-change)
                       (agent-q-diff-buffer-hunk-here)))
          (read (agent-q-diff-commands--read-comment
                 here "Comment on" (agent-q-diff-commands--just-rejected here))))
     (list (cdr read) (car read))))
  (agent-q-diff-buffer-current-change)
  (let ((hunk (or hunk (agent-q-diff-buffer-hunk-here))))
    (unless (agent-q-diff-commands--instead-p 'say comment hunk)
      (agent-q-diff-commands-note comment hunk))))

(defun agent-q-diff-commands-note (comment hunk)
  "Make COMMENT the comment on HUNK, or on all if it is nil, in the result.
If COMMENT is blank, remove that."
  (setf (alist-get hunk (agent-q-diff-change-comments (agent-q-diff-buffer-current-change))
                   nil t)
        (and (not (string-blank-p comment)) comment))
  (when hunk
    (agent-q-diff-signs-show-hunk hunk)))

(defun agent-q-diff-comment-here ()
  "Comment on what is at point, for the agent.
That is the hunk.  In a review of what was written already, it is the line at
point or the selected lines, on a heading the file, and only in the header of a
hunk the hunk; on a line with a comment, that is changed."
  (interactive)
  (unless (or (agent-q-diff-buffer-elsewhere-p #'agent-q-diff-comment-here)
              (agent-q-diff-commands--instead-p 'comment))
    (call-interactively #'agent-q-diff-comment-hunk)))

(defun agent-q-diff-ask ()
  "Ask the agent something about the lines at point, which decides nothing.
This is for a review of what was written already; the agent answers by the
question's id."
  (interactive)
  (unless (agent-q-diff-commands--instead-p 'ask)
    (user-error "An agent that waits for your decision cannot answer; c comments on the hunk")))

(defun agent-q-diff-commands--comment-on (hunk)
  "Return the user's comment on HUNK, or on all if it is nil, or nil."
  (agent-q-diff-change-users-comment (agent-q-diff-buffer-current-change) hunk))

(defun agent-q-diff-comment (comment)
  "Make COMMENT the comment on the whole proposal; if it is blank, remove that.
The agent reads it when the review has ended."
  (interactive
   (list (read-string "Comment on the proposal: " (agent-q-diff-commands--comment-on nil))))
  (agent-q-diff-buffer-current-change)
  (unless (agent-q-diff-commands--instead-p 'say comment nil)
    (agent-q-diff-commands-note comment nil))
  (agent-q-diff-progress-refresh)
  (message (if (string-blank-p comment)
               "No comment on the proposal"
             "The agent will read this when the review has ended")))

(provide 'agent-q-diff-commands)
;;; agent-q-diff-commands.el ends here
