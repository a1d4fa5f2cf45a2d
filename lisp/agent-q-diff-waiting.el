;;; agent-q-diff-waiting.el --- What waits on hunks that are still pending  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent that is at work writes again what is taken out of its files.  So
;; in a review of what was written already, a rejection waits until no agent
;; is in its turn in the project.  The same key once more takes the hunk out at
;; once.
;;
;; What waits, and the comments on hunks that are not decided, outlives the review
;; and Emacs: it is recorded after each command, and the next review of the same
;; lines has it again.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-change)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-commands)

(defconst agent-q-diff-waiting--seconds 2
  "Seconds between checks whether an agent is still at work.")

(defvar-local agent-q-diff-waiting--timer nil
  "Timer that carries out what waits in this buffer, or nil.")

(defun agent-q-diff-waiting--written ()
  "Return the `agent-q-diff-written' of this buffer's review."
  (agent-q-diff-change-written agent-q-diff-buffer-change))

(defun agent-q-diff-waiting--agent ()
  "Return the name of an agent that is at work in the project, or nil."
  (ignore-errors
    (agent-q-diff-engine-call #'agent-q-diff-module-at-work
                              (agent-q-diff-written-root (agent-q-diff-waiting--written)))))

(defun agent-q-diff-waiting--id (hunk)
  "Return the id of HUNK, which stays the same as long as its lines do."
  (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))

(defun agent-q-diff-waiting--pending (hunks)
  "Return those of HUNKS that are pending and do not wait."
  (let ((waiting (agent-q-diff-written-waiting (agent-q-diff-waiting--written))))
    (seq-filter (lambda (hunk)
                  (let ((hunk (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))
                    (and (null (agent-q-diff-engine-hunk-mark hunk))
                         (not (memql (agent-q-diff-engine-hunk-id hunk) waiting)))))
                hunks)))

(defun agent-q-diff-waiting--meant ()
  "Return the hunks that a key at point is for: one, or those of a file."
  (if-let ((file (agent-q-diff-buffer-heading-at-point)))
      (agent-q-diff-change-hunks-of agent-q-diff-buffer-change file)
    (when-let ((hunk (agent-q-diff-buffer-hunk-at-point)))
      (list hunk))))

(defun agent-q-diff-waiting-instead (command)
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
  (when-let* ((hunks (agent-q-diff-waiting--pending hunks))
              (agent (agent-q-diff-waiting--agent)))
    (setf (agent-q-diff-written-waiting (agent-q-diff-waiting--written))
          (append (mapcar #'agent-q-diff-waiting--id hunks)
                  (agent-q-diff-written-waiting (agent-q-diff-waiting--written))))
    (unless agent-q-diff-waiting--timer
      (agent-q-diff-waiting--look-later (current-buffer)))
    (agent-q-diff-signs-show-all)
    (let ((n (length hunks)))
      (message (ngettext "%s is taken out when %s has ended; once more on it: now"
                         "%s are taken out when %s has ended; once more on them: now" n)
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
      (agent-q-diff-signs-show-all)
      (message "It stays, and is pending")
      t)))

(defun agent-q-diff-waiting--look-later (buffer)
  "Call `agent-q-diff-waiting--look' for BUFFER in a moment."
  (with-current-buffer buffer
    (setq agent-q-diff-waiting--timer
          (run-with-timer agent-q-diff-waiting--seconds nil
                          #'agent-q-diff-waiting--look buffer))))

(defun agent-q-diff-waiting--look (buffer)
  "Carry out what waits in BUFFER, if no agent is at work any more."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq agent-q-diff-waiting--timer nil)
      (cond
       ((agent-q-diff-buffer-ended-p))
       ((or (agent-q-diff-waiting--agent)
            (agent-q-diff-change-in-progress-p agent-q-diff-buffer-change))
        (agent-q-diff-waiting--look-later buffer))
       (t (agent-q-diff-waiting--carry-out))))))

(defun agent-q-diff-waiting--fresh (change)
  "Return the indices of the files of CHANGE about which nobody else has decided."
  (agent-q-diff-module-fresh
   (agent-q-diff-change-engine change)
   (agent-q-diff-decide-codings
    change (number-sequence 0 (1- (length (agent-q-diff-change-files change)))))))

(defun agent-q-diff-waiting--hunks (change ids)
  "Return the hunks of CHANGE with IDS, those that are still there."
  (delq nil (mapcar (apply-partially #'agent-q-diff-module-hunk-with-id
                                     (agent-q-diff-change-engine change))
                    ids)))

(defun agent-q-diff-waiting--reject (change hunks)
  "Reject HUNKS of CHANGE; return words about each that cannot be, and why."
  (mapcar (pcase-lambda (`(,hunk . ,why))
            (format "%s: %s" (agent-q-diff-buffer-hunk-words hunk) why))
          (condition-case err
              (agent-q-diff-decide-these change 'reject hunks)
            (error (mapcar (lambda (hunk)
                             (cons hunk (agent-q-diff-error-text err)))
                           hunks)))))

(defun agent-q-diff-waiting--carry-out ()
  "Take out the hunks of this buffer whose rejection waits.
Those that are not as they were, since the agent has written their lines again,
stay pending."
  (let* ((change (agent-q-diff-signs-follow))
         (written (agent-q-diff-waiting--written))
         (waiting (reverse (agent-q-diff-written-waiting written)))
         (fresh (agent-q-diff-waiting--fresh change))
         (pending (seq-remove (lambda (hunk)
                                (agent-q-diff-engine-hunk-mark
                                 (agent-q-diff-change-hunk change hunk)))
                              (agent-q-diff-waiting--hunks change waiting)))
         (n-gone (- (length waiting) (length (agent-q-diff-waiting--hunks change waiting))))
         (n-done 0)
         (failed (make-list n-gone "one that is not there any more")))
    (setf (agent-q-diff-written-waiting written) nil)
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
    (agent-q-diff-buffer-write-states)
    (agent-q-diff-signs-show-all)
    (agent-q-diff-waiting--note-after-command)
    (message "%s" (string-join
                   (delq nil
                         (list (format (ngettext "The agent has ended: %d hunk was taken out"
                                                 "The agent has ended: %d hunks were taken out"
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
  "What is recorded of the hunks of this buffer; see `agent-q-diff-waiting--notes'.")

(defun agent-q-diff-waiting--notes ()
  "Return what the user has noted of pending hunks of this buffer.
It has the form that `agent-q-diff-module-note-hunks' takes.  The comment on
the whole is that on a hunk without a word, of a file without a name."
  (let* ((change agent-q-diff-buffer-change)
         (waiting (agent-q-diff-written-waiting (agent-q-diff-waiting--written)))
         (comments (agent-q-diff-change-comments change))
         (hunks (delete-dups (append (mapcar #'car comments)
                                     (agent-q-diff-waiting--hunks change waiting))))
         (files nil))
    (dolist (hunk (sort hunks #'>))
      (let ((snapshot (agent-q-diff-change-hunk change hunk)))
        (unless (agent-q-diff-engine-hunk-mark snapshot)
          (push (vector (agent-q-diff-waiting--word hunk)
                        (alist-get hunk comments)
                        (and (memql (agent-q-diff-engine-hunk-id snapshot) waiting) t))
                (alist-get (agent-q-diff-waiting--path hunk) files nil nil #'equal)))))
    (when-let ((comment (agent-q-diff-session-comment agent-q-diff-buffer-review)))
      (push (list "" (vector "" comment nil)) files))
    files))

(defun agent-q-diff-waiting--path (hunk)
  "Return the path of the file of HUNK, relative to the root of the project."
  (file-relative-name
   (agent-q-diff-file-change-path (agent-q-diff-change-file-of agent-q-diff-buffer-change hunk))
   (agent-q-diff-written-root (agent-q-diff-waiting--written))))

(defvar-local agent-q-diff-waiting--words nil
  "(POSITIONS . WORDS): an alist from files to the words of their hunks.
It is right as long as the hunks of this buffer are at POSITIONS, compared by
identity.")

(defun agent-q-diff-waiting--words-of (file)
  "Return (HUNK . WORD) of each hunk of FILE, both counted from 0.
WORD stands for its lines."
  (unless (eq agent-q-diff-buffer-positions (car agent-q-diff-waiting--words))
    (setq agent-q-diff-waiting--words (list agent-q-diff-buffer-positions)))
  (or (alist-get file (cdr agent-q-diff-waiting--words))
      (setf (alist-get file (cdr agent-q-diff-waiting--words))
            (agent-q-diff-waiting--numbered
             (mapcar (lambda (hunk)
                       (cons hunk (agent-q-diff-waiting--hash hunk)))
                     (agent-q-diff-change-hunks-of agent-q-diff-buffer-change file))))))

(defun agent-q-diff-waiting--numbered (words)
  "Return WORDS, an alist from hunks to words, so that no two words are equal.
Which of several equal hunks is meant can only be said as long as there are so
many of them."
  (let ((n-equal (make-hash-table :test #'equal))
        (nths (make-hash-table :test #'equal)))
    (pcase-dolist (`(,_ . ,word) words)
      (cl-incf (gethash word n-equal 0)))
    (mapcar (pcase-lambda (`(,hunk . ,word))
              (cons hunk
                    (if (= 1 (gethash word n-equal))
                        word
                      (format "%s-%d-of-%d" word (cl-incf (gethash word nths 0))
                              (gethash word n-equal)))))
            words)))

(defun agent-q-diff-waiting--word (hunk)
  "Return the word for the lines of HUNK of this buffer."
  (alist-get hunk (agent-q-diff-waiting--words-of
                   (agent-q-diff-change-file-index agent-q-diff-buffer-change hunk))))

(defun agent-q-diff-waiting--hash (hunk)
  "Return a digest of the lines of HUNK of this buffer, without its header.
Line numbers are not among them: they change with the lines above."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (agent-q-diff-buffer-position hunk))
      (forward-line)
      (agent-q-diff-engine-call
       #'agent-q-diff-module-hash
       (buffer-substring-no-properties (point) (agent-q-diff-buffer-hunk-end hunk))))))

(defun agent-q-diff-waiting-note ()
  "Record what the user has noted of pending hunks of this buffer.
A review of what differs from a commit keeps that for itself: its hunks are not
those of the next review.  Signal an error if that cannot be stored."
  (let* ((written (agent-q-diff-waiting--written))
         (notes (and (null (agent-q-diff-written-since written))
                     (agent-q-diff-waiting--notes)))
         (known agent-q-diff-waiting--noted))
    (unless (equal notes known)
      (agent-q-diff-engine-call
       #'agent-q-diff-module-note-hunks
       (agent-q-diff-written-root written)
       (append notes (cl-loop for (path) in known
                              unless (assoc path notes) collect (list path))))
      (setq agent-q-diff-waiting--noted notes))))

(defvar-local agent-q-diff-waiting--unstored nil
  "Why what is noted of the hunks of this buffer could not be stored last, or nil.")

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
  "Put what was noted of the hunks of this buffer on those that are unchanged.
Warn of what was noted of hunks that are not there any more.  In a review of
what differs from a commit, and in one before the write, do nothing."
  (let ((written (and (agent-q-diff-buffer-written-p) (agent-q-diff-waiting--written))))
    (when (and written (null (agent-q-diff-written-since written)))
      (mapc #'agent-q-diff-base-warn (agent-q-diff-waiting--restore written))
      (when (and (agent-q-diff-written-waiting written)
                 (null agent-q-diff-waiting--timer))
        (agent-q-diff-waiting--look-later (current-buffer)))
      (add-hook 'post-command-hook #'agent-q-diff-waiting--note-after-command nil t)
      ;; Without anything to show, what is on the screen stays as it is.
      (when agent-q-diff-waiting--noted
        (agent-q-diff-signs-show-all)))))

(add-hook 'agent-q-diff-again-hook #'agent-q-diff-waiting-restore)

(defun agent-q-diff-waiting--restore (written)
  "Do what `agent-q-diff-waiting-restore' does, but show nothing.
WRITTEN is that of this buffer's review.  Return sentences about what was noted
of hunks that are not there any more."
  (let* ((change agent-q-diff-buffer-change)
         (noted (agent-q-diff-engine-call #'agent-q-diff-module-noted-hunks
                                          (agent-q-diff-written-root written)))
         (whole (assoc "" noted))
         (lost nil))
    (when whole
      (push whole agent-q-diff-waiting--noted)
      (setf (agent-q-diff-session-comment agent-q-diff-buffer-review) (aref (cadr whole) 1))
      (agent-q-diff-progress-refresh))
    (dotimes (file (length (agent-q-diff-change-files change)))
      (when-let* ((hunks (agent-q-diff-change-hunks-of change file))
                  (path (agent-q-diff-waiting--path (car hunks)))
                  (notes (cdr (assoc path noted))))
        (push (cons path notes) agent-q-diff-waiting--noted)
        (dolist (hunk hunks)
          (let ((word (agent-q-diff-waiting--word hunk)))
            (pcase (seq-find (lambda (note) (equal word (aref note 0))) notes)
              ((and (pred identity) note `[,_ ,comment ,is-waiting])
               (setq notes (remq note notes))
               (when comment
                 (setf (alist-get hunk (agent-q-diff-change-comments change)) comment))
               (when is-waiting
                 (cl-pushnew (agent-q-diff-waiting--id hunk)
                             (agent-q-diff-written-waiting written)))))))
        (dolist (note notes)
          (push (agent-q-diff-waiting--lost path note) lost))))
    (nreverse lost)))

(defun agent-q-diff-waiting-comments-told (root which)
  "Record that comments noted in the project at ROOT need not be noted any more.
WHICH is `all' if they were told, `decided' if only those on hunks whose
rejection waits are still needed, or `whole' for that on the whole alone, which
was one on a review that has ended."
  (agent-q-diff-engine-call
   #'agent-q-diff-module-note-hunks root
   (if (eq which 'whole)
       '((""))
     (mapcar (pcase-lambda (`(,path . ,notes))
               (cons path (cl-loop for note in notes
                                   when (aref note 2)
                                   collect (if (eq which 'all)
                                               (vector (aref note 0) nil t)
                                             note))))
             (agent-q-diff-engine-call #'agent-q-diff-module-noted-hunks root)))))

(defun agent-q-diff-waiting--lost (path note)
  "Return a sentence about NOTE on a hunk of PATH that has changed since."
  (pcase-let ((`[,_ ,comment ,is-waiting] note))
    (format "In %s, a hunk that you %s is not there any more."
            (agent-q-diff-visible path)
            (string-join
             (delq nil (list (and is-waiting "rejected")
                             (and comment
                                  (format "commented with \"%s\""
                                          (agent-q-diff-visible comment)))))
             " and "))))

(provide 'agent-q-diff-waiting)
;;; agent-q-diff-waiting.el ends here
