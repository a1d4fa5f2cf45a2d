;;; agent-q-diff-change.el --- A change of one or more files, being decided  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A change is what a review decides: one or more file changes, whose hunks
;; are numbered from 0 through all files, and what was decided about them.
;; The review of one file is a change of one file.
;;
;; Operations are decided like hunks, and are numbered with them; see
;; agent-q-diff-operation.el.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-operation)
(require 'agent-q-diff-engine)

;;; The change

(cl-defstruct (agent-q-diff-written (:constructor agent-q-diff-written-create)
                                    (:copier nil))
  "What is known of a change that was written before its review."
  (root nil :documentation "The root of the project of the files.")
  (since nil :documentation "The commit that the change is from, its short name and first line.
If it is from what was reviewed, this is nil.")
  (turn nil :documentation "The number of the turn of which alone it is, or nil.")
  (waiting nil :documentation "Ids of the hunks that are taken out when the agent has ended.")
  (at-work nil :documentation "Words on the agent that is at work in the project, or nil.")
  (waiter nil :documentation "The process of the client that waits for the review's end.
It is t for any other program that does, and nil if none does.")
  (written-by nil :documentation "Alist from absolute names of files to who wrote what is pending.
Each is (AUTHORS . LINES).  AUTHORS are those of the file: the name of an
agent, or `outside', `unknown' or `user', as in `agent-q-diff-module-pending';
or (background . AGENT); or `somebody', if no turn of an agent is known.  LINES
are as there, or nil if each line is by all of them.")
  (turns-by nil :documentation "As `written-by'; agents are the numbers of their turns.")
  (title nil :documentation "What its agent was asked to do, or nil.")
  (protected nil :documentation "Alist from absolute names of protected files to why they are.")
  (round nil :documentation "`agent-q-diff-round', what is known beyond the hunks, or nil.")
  (news nil :documentation "Sentences on what is new in it, a list.")
  (comments t :documentation "Alist from ids of hunks, or nil for all, to their comments, or t.
Each is (ID . TEXT), one on exactly the lines of the hunk that nobody was
told; t means that they are to be looked for."))

(cl-defstruct (agent-q-diff-change (:constructor agent-q-diff-change--create)
                                   (:copier nil))
  "What is proposed for one or more files, and what was decided about it."
  (files nil :documentation "List of `agent-q-diff-file-change', in order.")
  (is-detached nil :documentation "Non-nil if it is of texts, not of files.")
  (firsts nil :documentation "Vector of the first hunk of each file, or nil if that is not known.")
  (n-extra nil :documentation "Number of hunks added by splits, or nil if none was ever split.")
  (committed nil :documentation "Last snapshot, an `agent-q-diff-engine-committed', or nil.")
  (known-unplaced nil :documentation "What `agent-q-diff-change-unplaced' returns, or nil if that is not known.")
  (written nil :documentation "`agent-q-diff-written' if it was written before the review, else nil.")
  (writer nil :documentation "`agent-q-diff-writer' if its caller may write it, else nil.")
  (failures nil :documentation "Alist from hunk index to why it last failed to apply.")
  (comments nil :documentation "Alist from hunk index to the user's comment; nil is all of it.
Of what was written before its review, these are the reasons of rejections;
other comments are on lines.")
  (by-policy nil :documentation "Alist from ids of hunks that a rule decided to (MARK . REASON).
REASON is the rule's, a string or nil."))

;;;; Beginning and end

(defun agent-q-diff-change-join (files)
  "Return a new change of FILES, a list of `agent-q-diff-file-change'.
Those with text have a review of the engine each, undecided so far."
  (cl-loop for engine in (agent-q-diff-module-join
                          (mapcar (lambda (file)
                                    (cons (agent-q-diff-file-change-engine file)
                                          ;; What a link leads to may have raw bytes, and the
                                          ;; call, which takes the reviews, cannot be repeated.
                                          (agent-q-diff-engine-encoded
                                           (agent-q-diff-file-change-operations file))))
                                  files))
           for file in files
           do (setf (agent-q-diff-file-change-engine file) engine))
  (let ((change (agent-q-diff-change--create
                 :files files
                 :is-detached (agent-q-diff-file-change-is-detached (car files)))))
    (agent-q-diff-change--observe change)
    change))

(defun agent-q-diff-change-of (file)
  "Return a new change of FILE, an `agent-q-diff-file-change', alone."
  (agent-q-diff-change--create
   :files (list file) :is-detached (agent-q-diff-file-change-is-detached file)))

(defun agent-q-diff-change-begin-written (change written files nows)
  "Record that CHANGE was written before its review.
Then what is not decided is in the files, and rejecting a hunk takes it out.
WRITTEN is an `agent-q-diff-written'.  FILES and NOWS, of which the engine
records what is decided, are as for `agent-q-diff-module-begin-written'."
  (setf (agent-q-diff-change-written change) written)
  (agent-q-diff-engine-call #'agent-q-diff-module-begin-written
                            (agent-q-diff-change-engine change)
                            (vector (agent-q-diff-written-root written) files nows
                                    (mapcar (apply-partially
                                             #'agent-q-diff-change--operations-told
                                             (agent-q-diff-written-root written))
                                            (agent-q-diff-change-files change)))))

(defun agent-q-diff-change--operations-told (root file)
  "Return what each operation of FILE that is decided by itself does, for agents.
FILE is in the project at ROOT."
  (mapcar (lambda (operation)
            (concat (agent-q-diff-operation-words operation)
                    (if (eq 'rename (car operation))
                        (concat " "
                                (mapconcat (lambda (path)
                                             (agent-q-diff-visible-name
                                              (file-relative-name path root)))
                                           (list (agent-q-diff-file-change-old-path file)
                                                 (agent-q-diff-file-change-new-path file))
                                           " → "))
                      "")))
          (agent-q-diff-file-change-decided-operations file)))

(defun agent-q-diff-change-close (change)
  "Free the memory of CHANGE, and close its targets unless somebody needs them."
  (mapc #'agent-q-diff-file-change-close (agent-q-diff-change-files change)))

(defun agent-q-diff-change-keep (change)
  "Keep what is needed to show CHANGE, whose review is ending, again.
Return non-nil if it is kept."
  (when (seq-every-p #'agent-q-diff-file-change-keepable-p (agent-q-diff-change-files change))
    (mapc #'agent-q-diff-file-change-keep (agent-q-diff-change-files change))))

(defun agent-q-diff-change-forget (change)
  "Free the memory that was kept of CHANGE, whose review has ended."
  (mapc #'agent-q-diff-file-change-forget (agent-q-diff-change-files change)))

(defun agent-q-diff-change-size (change)
  "Return the number of characters of the targets of CHANGE, which is kept."
  (cl-loop for file in (agent-q-diff-change-files change)
           sum (or (agent-q-diff-file-change-size file) 0)))

(defun agent-q-diff-change-reopen (change)
  "Return a new change that continues CHANGE, whose review has ended.
It takes over what was kept of CHANGE.  Signal an error if nothing was
kept, or if a file can no longer be a target."
  (let (files)
    (condition-case err
        (dolist (file (agent-q-diff-change-files change))
          (push (agent-q-diff-file-change-reopen file) files))
      (error
       (cl-mapc #'agent-q-diff-file-change-return
                (agent-q-diff-change-files change) (nreverse files))
       (signal (car err) (cdr err))))
    (agent-q-diff-change--create
     :files (nreverse files)
     :n-extra (agent-q-diff-change-n-extra change)
     :written (agent-q-diff-change-written change)
     :comments (copy-alist (agent-q-diff-change-comments change))
     :failures (copy-alist (agent-q-diff-change-failures change)))))

(defun agent-q-diff-change-waits-p (waiter)
  "Return non-nil if WAITER, as in `agent-q-diff-written', still waits."
  (if (processp waiter)
      (process-live-p waiter)
    waiter))

;;;; Who wrote it

(defun agent-q-diff-change-by (all file)
  "Return the value of FILE, an `agent-q-diff-file-change', in ALL.
That is an alist from absolute names of files, as in `agent-q-diff-written'."
  (cdr (assoc (or (agent-q-diff-file-change-new-path file)
                  (agent-q-diff-file-change-old-path file))
              all)))

(defun agent-q-diff-change-authors (change file)
  "Return who wrote what is decided about FILE of CHANGE, (AUTHORS . LINES).
See the slot `written-by' of `agent-q-diff-written'.  If nobody knows, return
nil."
  (when-let ((written (agent-q-diff-change-written change)))
    (agent-q-diff-change-by (agent-q-diff-written-written-by written) file)))

(defun agent-q-diff-change-agents (change)
  "Return the names of the agents that wrote what is in CHANGE."
  (seq-uniq
   (mapcan (lambda (file)
             (seq-filter #'stringp (car (agent-q-diff-change-authors change file))))
           (agent-q-diff-change-files change))))

(defun agent-q-diff-change--hunk-by (change hunk all)
  "Return the authors of HUNK of CHANGE in ALL; nil if nobody knows.
ALL is as for `agent-q-diff-change-by'."
  (let* ((index (agent-q-diff-change-file-index change hunk))
         (file (nth index (agent-q-diff-change-files change)))
         (known (agent-q-diff-change-by all file)))
    (if (or (null (cdr known))
            (< (- hunk (aref (agent-q-diff-change-first-hunks change) index))
               (length (agent-q-diff-file-change-decided-operations file))))
        (car known)
      (or (agent-q-diff-change-authors-of-lines
           (agent-q-diff-change-engine change) hunk (cdr known))
          (car known)))))

(defun agent-q-diff-change-authors-of-lines (engine hunk lines)
  "Return the authors of the lines of HUNK of ENGINE; nil if LINES do not say that.
LINES is a list of (START END AUTHORS), as in `agent-q-diff-written'."
  (when lines
    (pcase-let ((`(,start . ,end) (agent-q-diff-module-changed-lines engine hunk)))
      (cl-loop for (from to authors) in lines
               when (and (<= from end) (<= start to)
                         ;; Two that only touch are two.
                         (or (< from end) (= start end))
                         (or (< start to) (= from to)))
               append authors into all
               finally return (seq-uniq all)))))

(defun agent-q-diff-change-hunk-authors (change hunk)
  "Return who wrote HUNK of CHANGE, a list of authors; nil if nobody knows."
  (when-let ((written (agent-q-diff-change-written change)))
    (agent-q-diff-change--hunk-by change hunk (agent-q-diff-written-written-by written))))

(defun agent-q-diff-change-hunk-turns (change hunk)
  "Return a list of the number of each turn that wrote HUNK of CHANGE."
  (when-let ((written (agent-q-diff-change-written change)))
    (seq-filter #'integerp
                (agent-q-diff-change--hunk-by change hunk
                                              (agent-q-diff-written-turns-by written)))))

(defun agent-q-diff-change-rule (change hunk)
  "Return (MARK . REASON) if HUNK of CHANGE is decided as a rule has decided it.
HUNK is an `agent-q-diff-engine-hunk'.  If the user has decided otherwise since,
return nil."
  (when-let ((rule (and (agent-q-diff-change-by-policy change)
                        (alist-get (agent-q-diff-engine-hunk-id hunk)
                                   (agent-q-diff-change-by-policy change)
                                   nil nil #'eql))))
    (and (eq (car rule) (agent-q-diff-engine-hunk-mark hunk))
         rule)))

(defun agent-q-diff-change-users-comment (change hunk)
  "Return the user's comment on HUNK of CHANGE, or nil.
HUNK is an index, or nil for all of CHANGE."
  (or (alist-get hunk (agent-q-diff-change-comments change))
      (cdr (agent-q-diff-change-comment-on change hunk))))

(defun agent-q-diff-change-comment-on (change hunk)
  "Return (ID . TEXT), the comment on exactly the lines of HUNK of CHANGE, or nil.
HUNK is as for `agent-q-diff-change-users-comment'."
  (when-let* ((written (agent-q-diff-change-written change))
              (comments (agent-q-diff-written-comments written)))
    (and (consp comments)
         (cdr (assq (and hunk (agent-q-diff-engine-hunk-id
                               (agent-q-diff-change-hunk change hunk)))
                    comments)))))

(defun agent-q-diff-change-comment (change hunk)
  "Return the comment on HUNK of CHANGE, or nil.
It is the user's, or the reason of a rule.  HUNK is an
`agent-q-diff-engine-hunk'."
  (or (agent-q-diff-change-users-comment change (agent-q-diff-engine-hunk-index hunk))
      (cdr (agent-q-diff-change-rule change hunk))))

(defun agent-q-diff-change-to-go-p (change hunk)
  "Return non-nil if HUNK of CHANGE is pending, and its rejection waits.
HUNK is an `agent-q-diff-engine-hunk'."
  (and (null (agent-q-diff-engine-hunk-mark hunk))
       (agent-q-diff-change-written change)
       (memql (agent-q-diff-engine-hunk-id hunk)
              (agent-q-diff-written-waiting (agent-q-diff-change-written change)))))

(defun agent-q-diff-change-shared-p (change hunk)
  "Return non-nil if HUNK of CHANGE has lines of the user's and of others."
  (let ((authors (agent-q-diff-change-hunk-authors change hunk)))
    (and (cdr authors) (memq 'user authors))))

(defun agent-q-diff-change-file-words (change file)
  "Return words for the heading of FILE of CHANGE, a list.
They say that it is protected, and who wrote it; if several did, each hunk says
whose it is."
  (let ((writers (car (agent-q-diff-change-authors change file)))
        (protected (and-let* ((written (agent-q-diff-change-written change)))
                     (agent-q-diff-written-protected written))))
    (delq nil
          (list
           (and protected
                (or (assoc (agent-q-diff-file-change-new-path file) protected)
                    (assoc (agent-q-diff-file-change-old-path file) protected))
                "PROTECTED")
           (unless (or (cdr writers) (equal writers '(unknown)))
             (agent-q-diff-change-author-words writers))))))

(defun agent-q-diff-change-author-words (who)
  "Return words for WHO, a list of authors as for `agent-q-diff-written', or nil."
  (let ((words (delq nil
                     (mapcar (lambda (author)
                               (pcase-exhaustive author
                                 ('outside "outside any turn")
                                 (`(background . ,agent)
                                  (format "in the background of %s, or outside"
                                          (agent-q-diff-visible-name agent t)))
                                 ('unknown "from before the first look")
                                 ((or 'user 'somebody) nil)
                                 ((pred stringp) (agent-q-diff-visible-name author t))))
                             who))))
    (when (memq 'user who)
      (setq words (append words (list (if (cdr who) "edited by you, too" "yours")))))
    (and words (string-join words ", "))))

;;;; While it is being carried out

(defvar agent-q-diff-change-in-progress nil
  "The changes with a plan that is being carried out now.
The edits run other people's hooks, which may ask the user something;
meanwhile, timers and connections run.  Until the plan is committed, it is
not known what is in the targets.")

(defconst agent-q-diff-change-retry-seconds 0.1
  "Seconds after which a function that waits for a plan is tried again.")

(defun agent-q-diff-change-in-progress-p (change)
  "Return non-nil if a plan for CHANGE is being carried out now."
  (memq change agent-q-diff-change-in-progress))

(defun agent-q-diff-change-check-idle (change)
  "Signal an error if a plan for CHANGE is being carried out now."
  (when (agent-q-diff-change-in-progress-p change)
    (signal 'agent-q-diff-error '("a hunk is being applied; try again after that"))))

;;;; Files

(defun agent-q-diff-change-engine (change)
  "Return the engine's review of CHANGE, or nil if the review has ended."
  (agent-q-diff-file-change-engine (car (agent-q-diff-change-files change))))

(defun agent-q-diff-change-is-compound (change)
  "Return non-nil if CHANGE is more than the change of one file's text.
It has several files, or something else happens to its file."
  (let ((files (agent-q-diff-change-files change)))
    (or (cdr files)
        (agent-q-diff-file-change-operations (car files)))))

(defun agent-q-diff-change-file-of (change hunk)
  "Return the `agent-q-diff-file-change' of CHANGE that HUNK belongs to."
  (nth (agent-q-diff-change-file-index change hunk) (agent-q-diff-change-files change)))

(defun agent-q-diff-change-file-index (change hunk)
  "Return the index of the file of CHANGE that HUNK belongs to."
  (if (null (cdr (agent-q-diff-change-files change)))
      0
    (agent-q-diff-base-last-at-most (agent-q-diff-change-first-hunks change) hunk)))

(defun agent-q-diff-change-first-hunks (change)
  "Return a vector with the number of the first hunk of each file of CHANGE."
  (or (agent-q-diff-change-firsts change)
      (setf (agent-q-diff-change-firsts change)
            (vconcat (agent-q-diff-module-first-hunks
                      (agent-q-diff-change-engine change))))))

(defun agent-q-diff-change-end-of (change index)
  "Return the number of the hunk of CHANGE below the last one of file INDEX."
  (let ((firsts (agent-q-diff-change-first-hunks change)))
    (if (< (1+ index) (length firsts))
        (aref firsts (1+ index))
      (car (agent-q-diff-change-tally change)))))

(defun agent-q-diff-change-hunks-of (change index)
  "Return the hunks of file INDEX of CHANGE, a list of numbers."
  (number-sequence (aref (agent-q-diff-change-first-hunks change) index)
                   (1- (agent-q-diff-change-end-of change index))))

(defun agent-q-diff-change-hunk-words (change hunk)
  "Return the name of HUNK of CHANGE, for the user and for the agent.
In each of several files hunks are numbered from 1, as in a diff, and an
operation on the file has a name instead of a number."
  (if (null (agent-q-diff-change-is-compound change))
      (format "hunk %d" (1+ hunk))
    (let* ((index (agent-q-diff-change-file-index change hunk))
           (file (nth index (agent-q-diff-change-files change)))
           (nth (- hunk (aref (agent-q-diff-change-first-hunks change) index)))
           (operations (agent-q-diff-file-change-decided-operations file)))
      (format "%s of %s"
              (if (< nth (length operations))
                  (agent-q-diff-operation-noun (nth nth operations))
                (format "hunk %d" (1+ (- nth (length operations)))))
              (agent-q-diff-change--file-name change file)))))

(defun agent-q-diff-change--file-name (change file)
  "Return the name of FILE of CHANGE, with its directory if another has this name.
A file that is renamed keeps the name that it had."
  (cl-flet ((path (file) (or (agent-q-diff-file-change-old-path file)
                             (agent-q-diff-file-change-path file))))
    (let ((name (file-name-nondirectory (path file))))
      (agent-q-diff-visible
       (if (seq-some (lambda (other)
                       (and (not (eq other file))
                            (equal name (file-name-nondirectory (path other)))))
                     (agent-q-diff-change-files change))
           (string-remove-prefix (or (agent-q-diff-change-directory change) "") (path file))
         name)))))

(defun agent-q-diff-change-directory (change)
  "Return the directory that all files of CHANGE are in, before and after it.
It is nil if that of a file is not known, or if there is none."
  (let ((names (cl-loop for file in (agent-q-diff-change-files change)
                        append (delq nil (list (agent-q-diff-file-change-path file)
                                               (agent-q-diff-file-change-old-path file)
                                               (agent-q-diff-file-change-new-path file))))))
    (when names
      (let ((directory (file-name-directory (car names))))
        (while (and directory
                    (not (seq-every-p (apply-partially #'string-prefix-p directory) names)))
          (let ((above (file-name-directory (directory-file-name directory))))
            (setq directory (and (not (equal above directory)) above))))
        directory))))

(defun agent-q-diff-change-path (change)
  "Return the absolute name of the file of CHANGE, or of the first of several.
It is nil if that is not known."
  (agent-q-diff-target-path
   (agent-q-diff-file-change-target (car (agent-q-diff-change-files change)))))

(defun agent-q-diff-change-is-edited (change)
  "Return non-nil if the review of CHANGE has edited a target."
  (seq-some #'agent-q-diff-file-change-is-edited (agent-q-diff-change-files change)))

(defun agent-q-diff-change-buffers (change)
  "Return the live buffers of the targets of CHANGE."
  (cl-loop for file in (agent-q-diff-change-files change)
           for buffer = (agent-q-diff-target-buffer (agent-q-diff-file-change-target file))
           when (buffer-live-p buffer) collect buffer))

(defun agent-q-diff-change-as-one-step (change function)
  "Call FUNCTION and return its value.
In each target of CHANGE, the edits that it makes are one undo step."
  (let ((groups (mapcar #'prepare-change-group (agent-q-diff-change-buffers change))))
    (prog1 (funcall function)
      (dolist (group groups)
        (when (buffer-live-p (caar group))
          (undo-amalgamate-change-group group))))))

(defun agent-q-diff-change-follow (change &optional only)
  "Bring CHANGE up to date with its targets.  Return non-nil if that is news.
If ONLY is not nil, look only at the file with that index, and visit it if
that was put off: a key on one of hundreds of files must not look at all of
them.  See `agent-q-diff-file-change-follow'.  While a plan for CHANGE is
being carried out, signal an error."
  (agent-q-diff-change-check-idle change)
  (let ((is-news (agent-q-diff-change--observe change only)))
    (cl-loop for file in (agent-q-diff-change-files change)
             for index from 0
             when (and (memq only (list nil index))
                       (if only
                           (agent-q-diff-file-change-has-text file)
                         (not (agent-q-diff-file-change-can-wait-p file)))
                       (agent-q-diff-change--follow-file file only))
             do (setq is-news t))
    (when is-news
      (agent-q-diff-change-recount change)
      t)))

(defun agent-q-diff-change--follow-file (file is-needed)
  "Bring FILE up to date with its target.  Return non-nil if that is news.
If it cannot be visited, signal that only if IS-NEEDED is non-nil: no hunk of
it has been decided, so the other files do not depend on it."
  (if (and (not is-needed)
           (agent-q-diff-target-put-off (agent-q-diff-file-change-target file)))
      (ignore-error error
        (agent-q-diff-file-change-follow file))
    (agent-q-diff-file-change-follow file)))

(defun agent-q-diff-change-followed-words (change)
  "Return words to append if a target of CHANGE has just followed its file."
  (or (and change
           (car (delq nil (mapcar (lambda (file)
                                    (agent-q-diff-target-told-followed
                                     (agent-q-diff-file-change-target file)))
                                  (agent-q-diff-change-files change)))))
      ""))

(defun agent-q-diff-change-unsaved-names (change)
  "Return the names of the buffers of CHANGE that are not saved, for display."
  (mapcar (lambda (file)
            (agent-q-diff-text-buffer-name (agent-q-diff-file-change-buffer file)))
          (seq-filter #'agent-q-diff-file-change-unsaved-p
                      (agent-q-diff-change-files change))))

(defun agent-q-diff-change-has-put-off (change)
  "Return non-nil if visiting a file of CHANGE was put off."
  (seq-some (lambda (file)
              (agent-q-diff-target-put-off (agent-q-diff-file-change-target file)))
            (agent-q-diff-change-files change)))

(defun agent-q-diff-change-visit (change index)
  "Visit file INDEX of CHANGE if that was put off.
Return non-nil if it does not have the text that was expected."
  (let ((file (nth index (agent-q-diff-change-files change))))
    (and (agent-q-diff-target-put-off (agent-q-diff-file-change-target file))
         (agent-q-diff-change-follow change index))))

(defun agent-q-diff-change--observe (change &optional only)
  "Tell the engine which operations of CHANGE are done.
ONLY is as for `agent-q-diff-change-follow'.  Return non-nil if that is
news."
  (let ((is-news nil))
    (cl-loop for file in (agent-q-diff-change-files change)
             for index from 0
             for operations = (agent-q-diff-file-change-operations file)
             when (and operations (memq only (list nil index))) do
             (let ((known (agent-q-diff-file-change-presences file)))
               (agent-q-diff-change-note-presences file)
               (unless (equal known (agent-q-diff-file-change-presences file))
                 (cl-loop for presence in (cdr (agent-q-diff-file-change-presences file))
                          for at from 0
                          do (agent-q-diff-module-observe
                              (agent-q-diff-change-engine change) index at presence))
                 (setq is-news t))))
    is-news))

(defun agent-q-diff-change-note-presences (file)
  "Record in FILE, an `agent-q-diff-file-change', which operations are done."
  (setf (agent-q-diff-file-change-presences file)
        (cons t (mapcar (lambda (operation)
                          (agent-q-diff-operation-presence file operation))
                        (agent-q-diff-file-change-operations file)))))

(defun agent-q-diff-change-operation-of (change hunk)
  "Return the operation that HUNK of CHANGE is, or nil if it has lines."
  (let* ((index (agent-q-diff-change-file-index change hunk))
         (file (nth index (agent-q-diff-change-files change))))
    (and (agent-q-diff-file-change-operations file)
         (nth (- hunk (aref (agent-q-diff-change-first-hunks change) index))
              (agent-q-diff-file-change-decided-operations file)))))

;;;; Hunks

(defconst agent-q-diff-change-max-shown 50
  "Number of hunks up to which a command on several returns them all.
If there are more, it returns none.")

(defun agent-q-diff-change-hunk (change hunk)
  "Return the `agent-q-diff-engine-hunk' of HUNK of CHANGE."
  (agent-q-diff-module-hunk (agent-q-diff-change-engine change) hunk))

(defun agent-q-diff-change-ids (change hunks)
  "Return the ids in the engine of HUNKS of CHANGE."
  (mapcar (lambda (hunk) (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk)))
          hunks))

(defun agent-q-diff-change-hunks-with (change ids)
  "Return the hunks of CHANGE with IDS, those that are still there."
  (delq nil (mapcar (apply-partially #'agent-q-diff-module-hunk-with-id
                                     (agent-q-diff-change-engine change))
                    ids)))

(defun agent-q-diff-change-shift (change hunk)
  "Return by how many lines HUNK of CHANGE is shifted, or nil.
It is nil as well if the hunk before is shifted by as much, since then there
is nothing new to say.  HUNK is an `agent-q-diff-engine-hunk'."
  (let ((place (agent-q-diff-engine-hunk-place hunk))
        (index (agent-q-diff-engine-hunk-index hunk)))
    (and (integerp place)
         (not (and (> index 0)
                   (= (agent-q-diff-change-file-index change index)
                      (agent-q-diff-change-file-index change (1- index)))
                   (eql place (agent-q-diff-engine-hunk-offset
                               (agent-q-diff-change-hunk change (1- index))))))
         place)))

(defun agent-q-diff-change-in-target (change)
  "Return the number of hunks of CHANGE whose change is in the target."
  (let ((committed (agent-q-diff-change-committed change)))
    (or (and committed (agent-q-diff-engine-committed-in-target committed))
        (nth 3 (agent-q-diff-module-counts (agent-q-diff-change-engine change))))))

(defun agent-q-diff-change-tally (change)
  "Return (TOTAL APPLIED REJECTED PENDING), numbers of hunks of CHANGE by mark."
  (pcase-let ((`(,total ,applied ,rejected)
               (if-let ((committed (agent-q-diff-change-committed change)))
                   (list (agent-q-diff-engine-committed-total committed)
                         (agent-q-diff-engine-committed-applied committed)
                         (agent-q-diff-engine-committed-rejected committed))
                 (agent-q-diff-module-tally (agent-q-diff-change-engine change)))))
    (list total applied rejected (- total applied rejected))))

(defun agent-q-diff-change-unplaced (change)
  "Return the numbers of hunks of CHANGE that have no certain place.
They are (CONFLICTS . AMBIGUOUS): of hunks that do not apply, and of those
that may belong to several places.  Commands never create such a hunk, so
counts of zero stay true until others edit the target.  If the review has
ended, both are zero."
  (cond
   ((null (agent-q-diff-change-engine change)) '(0 . 0))
   ((agent-q-diff-change-known-unplaced change))
   (t (pcase-let ((`(,conflicts ,ambiguous . ,_)
                   (agent-q-diff-module-standing
                    (agent-q-diff-change-engine change))))
        (setf (agent-q-diff-change-known-unplaced change) (cons conflicts ambiguous))))))

(defun agent-q-diff-change-recount (change)
  "Forget the counts for CHANGE, so that they are taken again."
  (setf (agent-q-diff-change-committed change) nil
        (agent-q-diff-change-known-unplaced change) nil))

(defun agent-q-diff-change-marks (change)
  "Return a list of the mark of each hunk of CHANGE."
  (let ((committed (agent-q-diff-change-committed change)))
    (or (and committed (agent-q-diff-engine-committed-marks committed))
        (agent-q-diff-module-marks (agent-q-diff-change-engine change)))))

;;;; Hunks that a hook changed on saving

(defun agent-q-diff-change--applied (change file)
  "Return (ID . (LINE . TEXT)) for each hunk of FILE of CHANGE that is applied.
TEXT is the target's there, as far as the engine knows it."
  (let* ((engine (agent-q-diff-change-engine change))
         (index (seq-position (agent-q-diff-change-files change) file #'eq))
         (n-files (length (agent-q-diff-change-files change)))
         (end (if (< (1+ index) n-files)
                  (aref (agent-q-diff-change-first-hunks change) (1+ index))
                (car (agent-q-diff-change-tally change))))
         found)
    (cl-loop for at from (aref (agent-q-diff-change-first-hunks change) index) below end
             for hunk = (and (not (agent-q-diff-change-operation-of change at))
                             (agent-q-diff-change-hunk change at))
             when (and hunk (eq 'applied (agent-q-diff-engine-hunk-mark hunk))
                       (or (eq t (agent-q-diff-engine-hunk-fact hunk))
                           (eq 'in (agent-q-diff-change-hooked change hunk))))
             do (push hunk found))
    (mapcar (lambda (hunk)
              (cons (agent-q-diff-engine-hunk-id hunk)
                    (agent-q-diff-engine-live-lines
                     engine (agent-q-diff-engine-hunk-index hunk))))
            found)))

(defun agent-q-diff-change--without (text places)
  "Return TEXT without the lines in PLACES, a list of (LINE . LINES)."
  (with-temp-buffer
    (insert text)
    (goto-char (point-min))
    (let ((line 0))
      (pcase-dolist (`(,at . ,lines)
                     (sort (copy-sequence places) (lambda (one other) (< (car one) (car other)))))
        ;; The hunks of a split one share lines of context.
        (while (and (< at line) (string-search "\n" lines))
          (setq lines (substring lines (1+ (string-search "\n" lines)))
                at (1+ at)))
        (forward-line (- at line))
        (delete-region (point) (min (point-max) (+ (point) (length lines))))
        (setq line (+ at (cl-count ?\n lines)))))
    (buffer-string)))

(defun agent-q-diff-change--taken-out-p (engine hunk text)
  "Return non-nil if TEXT is what the file had before HUNK of ENGINE.
TEXT is in the place of HUNK, with its context.  Line ends do not count."
  (equal (string-trim-right text "\n")
         (string-trim-right (agent-q-diff-engine-proposed engine hunk 'before) "\n")))

(defun agent-q-diff-change-note-hooked (change file before)
  "Record which hunks of FILE of CHANGE a hook has changed on saving, and follow.
BEFORE is the text before that, or nil if it is not known.  Such a hunk is in
the file, as changed by the hook.  Whether other lines were changed as well is
recorded, too."
  (let* ((engine (agent-q-diff-change-engine change))
         (applied (agent-q-diff-change--applied change file))
         places-before places-now are-others)
    (agent-q-diff-file-change-follow file)
    (pcase-dolist (`(,id . ,place) applied)
      (when-let* ((index (agent-q-diff-module-hunk-with-id engine id))
                  (now (ignore-error agent-q-diff-error
                         (agent-q-diff-engine-live-lines engine index))))
        (push place places-before)
        (push now places-now)
        (cond
         ((equal (cdr place) (cdr now)))
         ((and (not (eq t (agent-q-diff-engine-hunk-fact (agent-q-diff-change-hunk change index))))
               (agent-q-diff-change--taken-out-p engine index (cdr now)))
          (setf (alist-get id (agent-q-diff-file-change-hooked file)) 'out))
         ((not (string-blank-p (cdr now)))
          (setf (alist-get id (agent-q-diff-file-change-hooked file)) (cdr now))))))
    (unless (and before
                 (equal (agent-q-diff-change--without before places-before)
                        (agent-q-diff-change--without
                         (agent-q-diff-text-in (agent-q-diff-file-change-buffer file))
                         places-now)))
      (setf (agent-q-diff-file-change-is-altered file) t
            are-others t))
    (setf (agent-q-diff-file-change-hook-changed file) (if are-others 'others 'hunks)
          ;; For the next one who follows, that is news.
          (agent-q-diff-file-change-tick file) nil
          (agent-q-diff-file-change-told file) 'hook)))

(defun agent-q-diff-change-hooked (change hunk)
  "Return what a hook did to HUNK of CHANGE on saving: `in', `out', or nil.
HUNK is an `agent-q-diff-engine-hunk'.  With `in', it is in its file as the hook
changed it; with `out', the hook took it out.  If its lines have changed again
since, the value is nil."
  (when-let* ((index (agent-q-diff-engine-hunk-index hunk))
              (file (nth (agent-q-diff-change-file-index change index)
                         (agent-q-diff-change-files change)))
              (known (alist-get (agent-q-diff-engine-hunk-id hunk)
                                (agent-q-diff-file-change-hooked file))))
    (when (eq 'applied (agent-q-diff-engine-hunk-mark hunk))
      (if (eq 'out known)
          (and (not (eq t (agent-q-diff-engine-hunk-fact hunk))) 'out)
        (and (equal known
                    (ignore-error agent-q-diff-error
                      (cdr (agent-q-diff-engine-live-lines
                            (agent-q-diff-change-engine change) index))))
             'in)))))

(provide 'agent-q-diff-change)
;;; agent-q-diff-change.el ends here
