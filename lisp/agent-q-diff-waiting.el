;;; agent-q-diff-waiting.el --- What waits on hunks that are still pending  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent that is at work writes again what is taken out of its files.  So
;; in a review of what was written already, a rejection waits until no agent
;; is in its turn in the project.  The same key once more takes the hunk out at
;; once.
;;
;; What waits outlives the review and Emacs, with its reason: it is recorded after
;; each command, and waits again in the next review of the same lines.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-result)
(require 'agent-q-diff-pending)
(require 'agent-q-diff-rounds)
(require 'agent-q-diff-told)

(defconst agent-q-diff-waiting--seconds 2
  "Seconds between checks whether an agent is still at work.")

(defvar-local agent-q-diff-waiting--timer nil
  "Timer that carries out what waits in this buffer, or nil.")

(defun agent-q-diff-waiting--written ()
  "Return the `agent-q-diff-written' of this buffer's review."
  (agent-q-diff-change-written agent-q-diff-buffer-change))

(defun agent-q-diff-waiting--agent ()
  "Return the name of an agent that is at work in the project, or nil.
The header line says since when."
  (let* ((written (agent-q-diff-waiting--written))
         (turn (ignore-errors
                 (agent-q-diff-engine-call #'agent-q-diff-module-at-work
                                           (agent-q-diff-written-root written))))
         (words (and turn (agent-q-diff-waiting--at-work turn))))
    (unless (equal words (agent-q-diff-written-at-work written))
      (setf (agent-q-diff-written-at-work written) words)
      (agent-q-diff-progress-refresh))
    (and turn (aref turn 0))))

(defun agent-q-diff-waiting--at-work (turn)
  "Return words on the agent of TURN, as from `agent-q-diff-module-at-work'.
One that was interrupted may not have said so, and a key says it instead."
  (pcase-let* ((`[,agent ,since ,seen] turn)
               (`(,since ,seen) (mapcar (apply-partially #'format-time-string "%H:%M")
                                        (list since seen))))
    (format "%s at work since %s%s (%s ends that)"
            (agent-q-diff-visible-name agent t) since
            (if (equal since seen) "" (format ", last seen %s" seen))
            (substitute-command-keys "\\[agent-q-diff-end-turns]"))))

(defun agent-q-diff-waiting--id (hunk)
  "Return the id of HUNK, which stays the same as long as its lines do."
  (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))

(defun agent-q-diff-waiting--pending (hunks)
  "Return those of HUNKS that are pending and do not wait."
  (seq-filter (lambda (hunk)
                (let ((hunk (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))
                  (not (or (agent-q-diff-engine-hunk-mark hunk)
                           (agent-q-diff-change-to-go-p agent-q-diff-buffer-change hunk)))))
              hunks))

(defun agent-q-diff-waiting--meant ()
  "Return the hunks that a key at point is for: one, or those of a file."
  (if-let ((file (agent-q-diff-buffer-heading-at-point)))
      (agent-q-diff-change-hunks-of agent-q-diff-buffer-change file)
    (when-let ((hunk (agent-q-diff-buffer-hunk-at-point)))
      (list hunk))))

(defun agent-q-diff-waiting-instead (command &rest _)
  "Have a rejection wait if an agent is at work, and return non-nil if it does.
COMMAND is as for `agent-q-diff-commands-instead-functions'."
  (when (and (agent-q-diff-buffer-written-p)
             (not (agent-q-diff-buffer-ended-p))
             (not (use-region-p)))
    (pcase command
      ('reject (agent-q-diff-waiting--add (agent-q-diff-waiting--meant)))
      ('reject-all (agent-q-diff-waiting--add
                    (number-sequence 0 (1- (length agent-q-diff-buffer-positions)))))
      ('unapply (agent-q-diff-waiting--remove (agent-q-diff-waiting--meant))))))

(add-hook 'agent-q-diff-commands-instead-functions #'agent-q-diff-waiting-instead)

(defun agent-q-diff-waiting--add (hunks)
  "Have the rejection of those of HUNKS wait that are pending, if it has to.
Return non-nil if any was added."
  (when-let* ((agent (agent-q-diff-waiting--agent))
              (hunks (agent-q-diff-waiting--pending hunks)))
    (mapc (apply-partially #'agent-q-diff-round-take-comment agent-q-diff-buffer-change) hunks)
    (setf (agent-q-diff-written-waiting (agent-q-diff-waiting--written))
          (append (mapcar #'agent-q-diff-waiting--id hunks)
                  (agent-q-diff-written-waiting (agent-q-diff-waiting--written))))
    (agent-q-diff-waiting--look-later (current-buffer))
    (agent-q-diff-round-settle agent-q-diff-buffer-change)
    (agent-q-diff-signs-show-all)
    (let ((n (length hunks)))
      (message (ngettext "%s is taken out when %s ends its turn; same key on it: now"
                         "%s are taken out when %s ends its turn; same key on them: now" n)
               (if (= 1 n)
                   (agent-q-diff-buffer-hunk-words (car hunks) 'first)
                 (format "%d hunks" n))
               (agent-q-diff-visible agent)))
    (when-let ((next (car (agent-q-diff-waiting--pending
                           (number-sequence (1+ (car (last hunks)))
                                            (1- (length agent-q-diff-buffer-positions)))))))
      (agent-q-diff-buffer-goto-hunk next))
    t))

(defun agent-q-diff-waiting--remove (hunks)
  "Have the rejection of HUNKS wait no longer; return non-nil if any did."
  (let* ((written (agent-q-diff-waiting--written))
         (waiting (agent-q-diff-written-waiting written))
         ;; What was decided since waits no more.
         (undecided (seq-remove (lambda (hunk)
                                  (agent-q-diff-engine-hunk-mark
                                   (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))
                                hunks))
         (rest (seq-difference waiting (mapcar #'agent-q-diff-waiting--id undecided))))
    (unless (length= rest (length waiting))
      (setf (agent-q-diff-written-waiting written) rest)
      (agent-q-diff-round-settle agent-q-diff-buffer-change)
      (agent-q-diff-signs-show-all)
      (message "It stays, and is pending")
      t)))

(defun agent-q-diff-waiting--look-later (buffer)
  "Call `agent-q-diff-waiting--look' for BUFFER in a moment."
  (with-current-buffer buffer
    (unless agent-q-diff-waiting--timer
      (setq agent-q-diff-waiting--timer
            (run-with-timer agent-q-diff-waiting--seconds nil
                            #'agent-q-diff-waiting--look buffer 'if-any)))))

(defun agent-q-diff-waiting--look (buffer &optional if-any)
  "Carry out what waits in BUFFER, if no agent is at work any more.
While one is, its header line says so.  If IF-ANY is non-nil and nothing waits,
say nothing."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (when agent-q-diff-waiting--timer
        (cancel-timer agent-q-diff-waiting--timer)
        (setq agent-q-diff-waiting--timer nil))
      (cond
       ((agent-q-diff-buffer-ended-p))
       ((or (agent-q-diff-waiting--agent)
            (agent-q-diff-change-in-progress-p agent-q-diff-buffer-change))
        (agent-q-diff-waiting--look-later buffer))
       ((or (not if-any) (agent-q-diff-written-waiting (agent-q-diff-waiting--written)))
        (agent-q-diff-waiting--carry-out))))))

(defun agent-q-diff-waiting-look-at (review)
  "Carry out what waits in REVIEW now, if no agent is at work any more."
  (agent-q-diff-waiting--look (agent-q-diff-session-buffer review) 'if-any))

(defun agent-q-diff-waiting--fresh (change)
  "Return the indices of the files of CHANGE about which nobody else has decided."
  (agent-q-diff-module-fresh
   (agent-q-diff-change-engine change)
   (agent-q-diff-decide-codings
    change (number-sequence 0 (1- (length (agent-q-diff-change-files change)))))))

(defun agent-q-diff-waiting--away-p (change hunk)
  "Return non-nil if the file of HUNK of CHANGE was deleted or renamed since.
The next review finds out which."
  (let ((path (agent-q-diff-file-change-path (agent-q-diff-change-file-of change hunk))))
    (not (or (file-exists-p path) (file-symlink-p path)))))

(defun agent-q-diff-waiting--reject (change hunks)
  "Reject HUNKS of CHANGE; return words about each that cannot be, and why.
If that is because an agent has written its lines anew, it is told."
  (let* ((failed (condition-case err
                     (agent-q-diff-decide-these change 'reject hunks)
                   (error (mapcar (lambda (hunk)
                                    (cons hunk (agent-q-diff-error-text err)))
                                  hunks))))
         (changed (and failed
                       (cl-loop for one in (agent-q-diff-result-hunks change)
                                when (eq 'changed (plist-get one :where))
                                collect (plist-get one :index)))))
    (mapcar (pcase-lambda (`(,hunk . ,why))
              (when (and (memql hunk changed)
                         (not (agent-q-diff-waiting--away-p change hunk)))
                (agent-q-diff-waiting--lose
                 (agent-q-diff-change-file-index change hunk)
                 (alist-get hunk (agent-q-diff-change-comments change)) 'gone hunk)
                (setf (alist-get hunk (agent-q-diff-change-comments change) nil t) nil))
              (format "%s: %s" (agent-q-diff-buffer-hunk-words hunk) why))
            failed)))

(defun agent-q-diff-waiting--carry-out ()
  "Take out the hunks of this buffer whose rejection waits.
Those that are not as they were, since the agent has written their lines again,
stay pending.  Those whose file is not there wait for the next review."
  (let* ((change (agent-q-diff-signs-follow))
         (written (agent-q-diff-waiting--written))
         (waiting (reverse (agent-q-diff-written-waiting written)))
         (fresh (agent-q-diff-waiting--fresh change))
         (pending (seq-remove (lambda (hunk)
                                (agent-q-diff-engine-hunk-mark
                                 (agent-q-diff-change-hunk change hunk)))
                              (agent-q-diff-change-hunks-with change waiting)))
         (n-gone (- (length waiting) (length (agent-q-diff-change-hunks-with change waiting))))
         (n-done 0)
         (failed (make-list n-gone "one that is not there any more")))
    (agent-q-diff-decide-in-one-step
     change
     (lambda ()
       ;; All hunks of a file at once: each time, it is stored before and after that.
       (pcase-dolist (`(,file . ,hunks)
                      (seq-group-by (apply-partially #'agent-q-diff-change-file-index change)
                                    pending))
         (let ((refused (if (memql file fresh)
                            (agent-q-diff-waiting--reject change hunks)
                          (mapcar (lambda (hunk)
                                    (concat (agent-q-diff-buffer-hunk-words hunk)
                                            ", since something was reviewed there meanwhile"))
                                  hunks))))
           (cl-incf n-done (- (length hunks) (length refused)))
           (setq failed (append (reverse refused) failed))))))
    (setf (agent-q-diff-written-waiting written)
          (seq-filter (lambda (id)
                        (when-let ((hunk (car (agent-q-diff-change-hunks-with change (list id)))))
                          (and (null (agent-q-diff-engine-hunk-mark
                                      (agent-q-diff-change-hunk change hunk)))
                               (agent-q-diff-waiting--away-p change hunk))))
                      waiting))
    (agent-q-diff-buffer-write-states)
    (agent-q-diff-signs-show-all)
    (agent-q-diff-waiting--note-after-command)
    (message "%s" (string-join
                   (delq nil
                         (list (format (ngettext "The turn has ended: %d hunk was taken out"
                                                 "The turn has ended: %d hunks were taken out"
                                                 n-done)
                                       n-done)
                               (when-let ((unsaved (agent-q-diff-change-unsaved-names change)))
                                 (format "not saved: %s" (string-join unsaved ", ")))
                               (and failed
                                    (format "not taken out: %s"
                                            (string-join (nreverse failed) "; ")))))
                   "; "))))

;;;; What outlives the review

(defvar-local agent-q-diff-waiting--noted nil
  "What is recorded of the hunks of this buffer; see `agent-q-diff-waiting--notes'.
More may be: that of other reviews, and what `agent-q-diff-waiting-restore' has
not put on hunks, since an error or a quit has ended it.")

(defun agent-q-diff-waiting--notes ()
  "Return which pending hunks of this buffer wait, and why they are rejected.
It has the form that `agent-q-diff-module-note-hunks' takes, with all files."
  (let* ((change agent-q-diff-buffer-change)
         (files (mapcar #'list (seq-union (agent-q-diff-round-paths change)
                                          (mapcar #'car agent-q-diff-waiting--noted)))))
    (dolist (hunk (sort (agent-q-diff-change-hunks-with
                         change (agent-q-diff-written-waiting (agent-q-diff-waiting--written)))
                        #'>))
      (unless (agent-q-diff-engine-hunk-mark (agent-q-diff-change-hunk change hunk))
        (push (vector (agent-q-diff-round-key change hunk)
                      (alist-get hunk (agent-q-diff-change-comments change))
                      t)
              (cdr (assoc (agent-q-diff-round-path change hunk) files)))))
    files))

(defun agent-q-diff-waiting--recorded (root)
  "Return what is recorded in the project at ROOT.
It has the form that `agent-q-diff-module-note-hunks' takes."
  (agent-q-diff-engine-call #'agent-q-diff-module-noted-hunks root))

(defun agent-q-diff-waiting--with-others (root notes)
  "Return NOTES, of this buffer, with what is recorded of other hunks at ROOT."
  (let ((recorded (agent-q-diff-waiting--recorded root)))
    (mapcar (pcase-lambda (`(,path . ,its))
              (let* ((noted (cdr (assoc path agent-q-diff-waiting--noted)))
                     (new (seq-difference its noted))
                     (keys (mapcar (lambda (note) (aref note 0))
                                   (append new (seq-difference noted its)))))
                (cons path
                      (append new
                              (seq-remove (lambda (note) (member (aref note 0) keys))
                                          (cdr (assoc path recorded)))))))
            notes)))

(defun agent-q-diff-waiting-note ()
  "Record which pending hunks of this buffer wait.
A review of what differs from a commit keeps that for itself: its hunks are not
those of the next review.  Signal an error if that cannot be stored."
  (agent-q-diff-round-settle agent-q-diff-buffer-change)
  (let* ((written (agent-q-diff-waiting--written))
         (root (agent-q-diff-written-root written))
         (notes (and (null (agent-q-diff-written-since written))
                     (or (agent-q-diff-written-waiting written) agent-q-diff-waiting--noted)
                     (agent-q-diff-waiting--notes))))
    (unless (equal notes agent-q-diff-waiting--noted)
      (agent-q-diff-engine-call #'agent-q-diff-module-note-hunks root
                                (agent-q-diff-waiting--with-others root notes))
      (setq agent-q-diff-waiting--noted (and (seq-some #'cdr notes) notes)))))

(defvar-local agent-q-diff-waiting--unstored nil
  "Why what is noted of the hunks of this buffer could not be stored last, or nil.")

(defun agent-q-diff-waiting--note-progress (&rest _)
  "Record what waits by the keys that hunks have now, and show comments anew.
The keys are others once a hunk is kept, maybe from another buffer, and comments
are where a decision has made reasons of them, or not.  What cannot be stored is
said after the next command here, whose own message stands then."
  (unless (agent-q-diff-buffer-ended-p)
    (ignore-errors (agent-q-diff-waiting-note))))

(defun agent-q-diff-waiting--note-after-command ()
  "Record what the last command has noted; say it once if that cannot be stored."
  (unless (agent-q-diff-buffer-ended-p)
    (let ((why (condition-case err
                   (ignore (agent-q-diff-waiting-note))
                 (error (agent-q-diff-error-text err)))))
      (unless (equal why agent-q-diff-waiting--unstored)
        (setq agent-q-diff-waiting--unstored why)
        (when why
          (agent-q-diff-base-warn
           (format "What you noted of hunks is only in this Emacs: %s" why)))))))

(defun agent-q-diff-waiting-restore ()
  "Have those hunks of this buffer wait of which that is recorded.
What was a part of a hunk is split off again.  Say so of lines that were written
anew since.  Follow what is decided from then on.  In a review of what differs
from a commit, nothing waits; in one before the write, do nothing; and in one
that is shown again, what waits is known, and what is recorded since is not its."
  (when-let* ((change agent-q-diff-buffer-change)
              (written (agent-q-diff-change-written change))
              (root (agent-q-diff-written-root written)))
    (add-hook 'post-command-hook #'agent-q-diff-waiting--note-after-command nil t)
    (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-waiting--note-progress nil t)
    (unless (agent-q-diff-written-since written)
      (let ((recorded (and (not agent-q-diff-buffer-is-past)
                           (agent-q-diff-waiting--recorded root))))
        (if agent-q-diff-buffer-is-past
            (setq agent-q-diff-waiting--noted (agent-q-diff-waiting--notes))
          (agent-q-diff-waiting--restore-files written recorded))
        (when (or (agent-q-diff-waiting--agent) (agent-q-diff-written-waiting written))
          (agent-q-diff-waiting--look-later (current-buffer)))
        ;; Without anything to show, what is on the screen stays as it is.
        (when recorded
          (agent-q-diff-signs-show-all)
          (agent-q-diff-waiting--note-after-command)
          (agent-q-diff-progress-refresh))))))

(defun agent-q-diff-waiting--restore-files (written recorded)
  "Put RECORDED on the hunks of this buffer, as `agent-q-diff-waiting--recorded'.
WRITTEN is that of its review."
  (let ((names (agent-q-diff-waiting--names agent-q-diff-buffer-change)))
    ;; Versions before had the comment on all of it there.
    (when-let ((whole (cadr (assoc "" recorded))))
      (agent-q-diff-round-say agent-q-diff-buffer-change nil (aref whole 1))
      (agent-q-diff-engine-call #'agent-q-diff-module-note-hunks
                                (agent-q-diff-written-root written) '((""))))
    ;; Splitting a hunk moves those below it.
    (cl-loop for of in (reverse names)
             for file downfrom (1- (length names))
             for notes = (seq-mapcat (lambda (name)
                                       (mapcar (apply-partially #'cons name)
                                               (cdr (assoc name recorded))))
                                     (if (assoc (cadr of) names) (list (car of)) of))
             when notes do (agent-q-diff-waiting--restore-file written file notes))))

(defun agent-q-diff-waiting--names (change)
  "Return for each file of CHANGE its path, and that before it was renamed, a list.
They are relative to its project."
  (seq-mapn (lambda (file path)
              (let ((from (when-let ((from (agent-q-diff-file-change-old-path file)))
                            (file-relative-name
                             from (agent-q-diff-round-root (agent-q-diff-round-of change))))))
                (if (member from (list nil path)) (list path) (list path from))))
            (agent-q-diff-change-files change) (agent-q-diff-round-paths change)))

(defun agent-q-diff-waiting--restore-file (written file notes)
  "Put NOTES on the hunks of FILE, an index, in this buffer.
They are (PATH . NOTE), as in `agent-q-diff-module-note-hunks'.  WRITTEN is that
of its review."
  (let ((change agent-q-diff-buffer-change)
        (parts nil))
    (cl-loop for (path . note) in notes
             for (hunk . where) in (agent-q-diff-module-find-keys
                                    (agent-q-diff-change-engine change) file
                                    (mapcar (lambda (one) (aref (cdr one) 0)) notes))
             do (if (and (aref note 2) (integerp hunk) where)
                    (push (cons (cons path note) (cons hunk where)) parts)
                  (cond
                   ;; Versions before had comments on hunks there.
                   ((not (aref note 2))
                    (agent-q-diff-waiting--comment file (aref note 1)
                                                   (and (integerp hunk) hunk)))
                   ((not (integerp hunk))
                    (agent-q-diff-waiting--lose
                     file (aref note 1)
                     (if (and (eq hunk 'unsure) (null (cdr where))) 'moved hunk)
                     (car where)))
                   (t (agent-q-diff-waiting--put written hunk note)))
                  (push note (alist-get path agent-q-diff-waiting--noted nil nil #'equal))))
    ;; From the last one on, since splitting moves those below.
    (pcase-dolist (`((,path . ,note) ,hunk . ,(and where `(,old ,old-end ,new ,new-end)))
                   (sort parts (lambda (one other)
                                 (seq-some (lambda (two) (apply #'> two))
                                           (seq-mapn #'list (cdr one) (cdr other))))))
      (ignore where)
      (condition-case nil
          (agent-q-diff-waiting--put
           written
           (car (agent-q-diff-split-pick
                 (agent-q-diff-split-change)
                 (list (list hunk (cons old new) (cons old-end new-end)))))
           note)
        ((agent-q-diff-error user-error)
         (agent-q-diff-waiting--lose file (aref note 1) 'unsure hunk)))
      (push note (alist-get path agent-q-diff-waiting--noted nil nil #'equal)))))

(defun agent-q-diff-waiting--put (written hunk note)
  "Have the rejection of HUNK of this buffer wait, for the reason in NOTE.
WRITTEN and NOTE are as for `agent-q-diff-waiting--restore-file'."
  (when-let ((reason (aref note 1)))
    (setf (alist-get hunk (agent-q-diff-change-comments agent-q-diff-buffer-change)) reason))
  (cl-pushnew (agent-q-diff-waiting--id hunk) (agent-q-diff-written-waiting written)))

(defun agent-q-diff-waiting--comment (file text hunk &optional is-elsewhere)
  "Make TEXT a comment on HUNK of FILE, an index, or on FILE if it is nil.
If IS-ELSEWHERE is non-nil, it is on FILE, but for who wrote HUNK."
  (let* ((change agent-q-diff-buffer-change)
         (round (agent-q-diff-round-of change))
         (any (or hunk (car (agent-q-diff-change-hunks-of change file)))))
    (agent-q-diff-round-comment
     round (agent-q-diff-round-path change any)
     (and hunk (not is-elsewhere) (agent-q-diff-round-hunk-lines change hunk))
     'comment text
     (if hunk
         (agent-q-diff-round-to change hunk)
       (agent-q-diff-round-to-of change (nth file (agent-q-diff-change-files change)))))
    (setf (agent-q-diff-written-comments (agent-q-diff-waiting--written)) t)))

(defconst agent-q-diff-waiting--lost
  '((gone "I rejected what you wrote here before"
          "was written anew, and is pending; the agent is told")
    (moved "I rejected this change before, maybe in another place"
           "may be in another place now, and is pending; the agent is told")
    (unsure "I rejected one of several equal changes, and it is not sure which"
            "may be any of several equal ones, and is pending; the agent is told")
    (out "I rejected an earlier change in this file"
         "is gone already: somebody took it out, or kept it, meanwhile"))
  "What is said if a rejected hunk is lost: (HOW TO-AGENT TO-USER).")

(defun agent-q-diff-waiting--lost-note (path reason how)
  "Return a sentence for the user: a rejection in PATH for REASON is lost, and HOW."
  (format "In %s, a hunk that you took out%s %s%s."
          (agent-q-diff-visible-name path)
          (if reason (format " and commented with \"%s\"" (agent-q-diff-visible reason)) "")
          (nth 2 (assq how agent-q-diff-waiting--lost))
          (if (and reason (eq how 'out)) "; the agent is told why you took it out" "")))

(defun agent-q-diff-waiting--lost-comment (reason how)
  "Return a comment for an agent: a rejection for REASON is lost, and HOW."
  (concat (nth 1 (assq how agent-q-diff-waiting--lost)) (and reason (concat ": " reason))))

(defun agent-q-diff-waiting--lose (file reason how hunk)
  "Tell the user of a rejection whose hunk is not there any more, and its agent.
HUNK of this buffer changes the same lines of FILE, an index, or is nil.
REASON is that of the rejection, or nil.  HOW is `gone', `moved' if HUNK is the
only one that makes the same change, or `unsure'."
  (let ((how (if (and (eq how 'gone) (null hunk)) 'out how)))
    ;; Of a change that is not there, only the reason helps.
    (when (or reason (not (eq how 'out)))
      (agent-q-diff-waiting--comment
       file (agent-q-diff-waiting--lost-comment reason how) hunk (eq how 'unsure)))
    (agent-q-diff-display-add-note
     (agent-q-diff-waiting--lost-note
      (agent-q-diff-round-path
       agent-q-diff-buffer-change
       (car (agent-q-diff-change-hunks-of agent-q-diff-buffer-change file)))
      reason how))))

;;;; Files of which nothing is pending any more

(defun agent-q-diff-waiting-end-of (root files left-out)
  "Let nothing wait in the project at ROOT in files with nothing pending.
FILES is a list of `agent-q-diff-pending-file', all that are pending, and
LEFT-OUT as from `agent-q-diff-pending-look'.  What was said of hunks there
becomes a comment on the file.  Return sentences about that for the user."
  (let* ((known (append (agent-q-diff-pending-paths files)
                        (mapcar #'car-safe left-out)
                        ;; Versions before had the comment on all of it there.
                        '("")))
         (noted (seq-remove
                 (lambda (one)
                   (or (member (car one) known)
                       (seq-some (lambda (out)
                                   (and (consp out)
                                        (string-prefix-p (file-name-as-directory (car out))
                                                         (car one))))
                                 left-out)))
                 (agent-q-diff-engine-call #'agent-q-diff-module-noted-hunks root)))
         (said nil))
    (pcase-dolist (`(,path . ,notes) noted)
      (seq-doseq (note notes)
        (pcase-let ((`[,_ ,reason ,is-waiting] note))
          (when reason
            (agent-q-diff-engine-call
             #'agent-q-diff-module-comment root path nil 'comment
             (if is-waiting (agent-q-diff-waiting--lost-comment reason 'out) reason)
             nil))
          (when is-waiting
            (push (agent-q-diff-waiting--lost-note path reason 'out) said)))))
    (when noted
      (agent-q-diff-engine-call #'agent-q-diff-module-note-hunks root
                                (mapcar (lambda (one) (list (car one))) noted)))
    (nreverse said)))

(provide 'agent-q-diff-waiting)
;;; agent-q-diff-waiting.el ends here
