;;; agent-q-diff-told.el --- What agents are told of a review after the write  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; When the user has finished a review of what agents have written, what was
;; taken out, with the reasons, and all open comments and questions become one
;; message, which the agent reads with its next prompt, or when it asks.  The
;; message is recorded in the project, so that it waits there also if neither
;; Emacs nor the agent runs.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-pending)
(require 'agent-q-diff-rounds)

;;;; The end of a round

(defun agent-q-diff-told--finish (review)
  "If REVIEW, which is ending, is a finished round, queue its message.
Note in REVIEW who will read it."
  (when-let* ((change (agent-q-diff-session-change review))
              (round (agent-q-diff-round-of change)))
    (condition-case err
        (let ((is-awaited (funcall (agent-q-diff-written-awaited-p
                                    (agent-q-diff-change-written change)))))
          (agent-q-diff-told--note-reasons change round is-awaited)
          (when (agent-q-diff-round-finished-p review)
            (agent-q-diff-engine-call #'agent-q-diff-module-finish-round
                                      (agent-q-diff-round-root round))
            (unless is-awaited
              (agent-q-diff-told--keep-comments review round)
              (setf (agent-q-diff-session-told review)
                    (agent-q-diff-told--queue change round)))))
      (error
       (setf (agent-q-diff-session-told review)
             (format "the agent is not told, since that failed: %s"
                     (agent-q-diff-visible (agent-q-diff-error-text err))))))))

(add-hook 'agent-q-diff-lifecycle-ending-functions #'agent-q-diff-told--finish)

(defun agent-q-diff-told--note-reasons (change round is-told)
  "Record the reasons for rejections in CHANGE of ROUND as they are now.
If IS-TOLD is non-nil, an agent reads them in another way."
  (let ((changed nil))
    (maphash
     (lambda (id decided)
       (when-let* ((one (aref decided 2))
                   (hunk (agent-q-diff-module-hunk-with-id
                          (agent-q-diff-change-engine change) id)))
         (let ((reason (agent-q-diff-round-reason change hunk)))
           (unless (and (equal reason (agent-q-diff-rejected-reason one))
                        (not is-told))
             (setf (agent-q-diff-rejected-reason one) reason
                   (agent-q-diff-rejected-is-told one) (and is-told t))
             (push one changed)))))
     (agent-q-diff-round-decided round))
    (when changed
      (agent-q-diff-engine-call #'agent-q-diff-module-note-rejected
                                (agent-q-diff-round-root round) changed))))

(defun agent-q-diff-told--keep-comments (review round)
  "Make comments on lines of those on hunks of REVIEW that are not rejected.
They have ids then, so that agents can answer them; likewise the comment on all
of it.  Those on hunks whose rejection waits are its reasons.  ROUND is that of
REVIEW."
  (let* ((change (agent-q-diff-session-change review))
         (waiting (agent-q-diff-written-waiting (agent-q-diff-change-written change))))
    (pcase-dolist (`(,hunk . ,comment) (copy-sequence (agent-q-diff-change-comments change)))
      (let ((snapshot (agent-q-diff-change-hunk change hunk)))
        (when (and comment
                   (not (eq 'rejected (agent-q-diff-engine-hunk-mark snapshot)))
                   (not (memql (agent-q-diff-engine-hunk-id snapshot) waiting)))
          (let ((path (agent-q-diff-round-path change hunk))
                (to (agent-q-diff-round-to change hunk)))
            ;; Its lines may be others than those of the texts that were compared.
            (condition-case nil
                (agent-q-diff-round-comment round path
                                            (agent-q-diff-round-hunk-lines change hunk)
                                            'comment comment to)
              (agent-q-diff-error
               (agent-q-diff-round-comment round path nil 'comment comment to))))
          (setf (alist-get hunk (agent-q-diff-change-comments change) nil t) nil))))
    (when-let ((comment (agent-q-diff-session-comment review)))
      (agent-q-diff-round-comment round "" nil 'comment comment
                                  (agent-q-diff-round-to-of change)))))

;;;; The message

(defun agent-q-diff-told--queue (change round)
  "Queue the message about CHANGE of ROUND.
Return words for who will read it, or nil if there is nothing to be told."
  (let ((in-files (agent-q-diff-told--in-files change)))
    (agent-q-diff-told--note-on-disk change round in-files)
    (agent-q-diff-told--queue-texts (agent-q-diff-round-root round)
                                    (agent-q-diff-told--agents change)
                                    (agent-q-diff-told--counts change in-files)
                                    (agent-q-diff-told--back change round))))

(defun agent-q-diff-told--queue-texts (root agents &optional counts back)
  "Queue what is to be told in the project at ROOT, for those who wrote it.
What nobody is known to have written is for AGENTS, names, and for those who
were to read that until now.  COUNTS and BACK are as for
`agent-q-diff-told--texts'.  Return words for who will read it, or nil if there
is nothing to be told."
  (let* ((unread (seq-remove #'agent-q-diff-queued-is-told
                             (agent-q-diff-told--untold-messages root)))
         (agents (seq-uniq
                  (append agents
                          (seq-remove (lambda (to) (string-search "\n" to))
                                      (seq-mapcat #'agent-q-diff-queued-to unread)))))
         (texts (agent-q-diff-told--texts root (or agents '("")) counts back))
         (ids (mapcar (pcase-lambda (`(,to ,text . ,ids))
                        (agent-q-diff-engine-call #'agent-q-diff-module-queue-message
                                                  root to text ids))
                      texts)))
    ;; What is not to be told any more.
    (when-let ((gone (seq-remove (lambda (message)
                                   (or (agent-q-diff-queued-is-told message)
                                       (memql (agent-q-diff-queued-id message) ids)))
                                 (agent-q-diff-told--untold-messages root))))
      (agent-q-diff-told--note-told root gone))
    (and texts
         (agent-q-diff-told--who-is-told
          root (seq-uniq (mapcar #'agent-q-diff-round-agent-of (seq-mapcat #'car texts)))))))

(defconst agent-q-diff-told--how-to-tell
  "M-x agent-q-diff-copy-message copies what to tell the agent"
  "What the user is told if no hook tells the agent.")

(defun agent-q-diff-told--who-is-told (root to)
  "Return a clause about when the agents TO are told, or an empty string.
They are those of the project at ROOT."
  (let* ((hooked (mapcar #'agent-q-diff-turn-agent
                         (seq-remove (lambda (turn)
                                       (string-empty-p (agent-q-diff-turn-session turn)))
                                     (agent-q-diff-engine-call #'agent-q-diff-module-turns root))))
         (told (seq-filter (lambda (agent) (member agent hooked)) to)))
    (cond
     (told (format "your next prompt tells %s" (mapconcat #'agent-q-diff-visible told ", ")))
     ((and hooked (member "" to)) "your next prompt tells the agent")
     ((remove "" to) agent-q-diff-told--how-to-tell)
     ;; If nobody is known to have written it, there may be no agent.
     (t ""))))

(defun agent-q-diff-told--untold-messages (root)
  "Return the messages in the project at ROOT that some agent was not told."
  (seq-remove (lambda (message) (eq t (agent-q-diff-queued-to message)))
              (agent-q-diff-engine-call #'agent-q-diff-module-messages root)))

(defun agent-q-diff-told--note-told (root messages)
  "Record that all agents of MESSAGES, in the project at ROOT, were told them."
  (agent-q-diff-engine-call #'agent-q-diff-module-told root
                            (mapcar #'agent-q-diff-queued-id messages) nil))

(defun agent-q-diff-told--joined (messages)
  "Return the texts of MESSAGES, a list of `agent-q-diff-queued', as one."
  (mapconcat #'agent-q-diff-queued-text messages "\n\n"))

(defun agent-q-diff-told--agents (change)
  "Return the names of the agents that wrote what is in CHANGE."
  (seq-uniq
   (mapcan (lambda (file)
             (seq-filter #'stringp (car (agent-q-diff-change-authors change file))))
           (agent-q-diff-change-files change))))

(defun agent-q-diff-told--counts (change in-files)
  "Return a clause about how many hunks of CHANGE were kept, and so on.
IN-FILES is as from `agent-q-diff-told--in-files'."
  (let ((marks (agent-q-diff-module-marks (agent-q-diff-change-engine change))))
    (cl-flet ((clause (mark in-file one many)
                (let ((n (cl-loop for this-mark in marks
                                  for this-in-file in in-files
                                  count (and (eq mark this-mark)
                                             (memq this-in-file in-file)))))
                  (and (< 0 n) (list (format (ngettext one many n) n))))))
      (string-join
       (append (clause 'applied '(t nil unsaved unknown) "%d hunk kept" "%d hunks kept")
               (clause 'rejected '(nil) "%d hunk undone" "%d hunks undone")
               (clause 'rejected '(unsaved) "%d hunk undone (in Emacs only, not saved yet)"
                       "%d hunks undone (in Emacs only, not saved yet)")
               (clause 'rejected '(unknown)
                       "%d hunk undone (in Emacs only; what the file has of it is not known)"
                       "%d hunks undone (in Emacs only; what the files have of them is not known)")
               (clause 'rejected '(t) "%d hunk undone (but in the files again)"
                       "%d hunks undone (but in the files again)")
               (clause nil '(t unsaved unknown) "%d hunk undecided (still in the files)"
                       "%d hunks undecided (still in the files)")
               (clause nil '(nil) "%d hunk undecided (not in the files any more)"
                       "%d hunks undecided (not in the files any more)"))
       ", "))))

(defun agent-q-diff-told--in-files (change)
  "Return for each hunk of CHANGE if the file on disk has it, a list.
The values are t, nil, `unsaved' if the file has it, or a part of it, but the
buffer, which is not saved, does not, and `unknown' if others have changed its
lines in the file, or it is unsure where they are."
  (cl-loop for file in (agent-q-diff-change-files change)
           for index from 0
           append (agent-q-diff-told--in-file change file index)))

(defun agent-q-diff-told--in-file (change file index)
  "Do what `agent-q-diff-told--in-files' does for FILE of CHANGE.
INDEX is that of FILE."
  (let* ((hunks (agent-q-diff-change-hunks-of change index))
         (path (agent-q-diff-file-change-path file))
         (is-file (and (not (agent-q-diff-file-change-is-lost file))
                       (agent-q-diff-told--file-p path)))
         (saved (and is-file (agent-q-diff-told--saved path)))
         (on-disk (and saved
                       (agent-q-diff-engine-call
                        #'agent-q-diff-module-facts-in (agent-q-diff-change-engine change) index
                        (agent-q-diff-pending-decoded saved path))))
         (n-operations (- (length hunks) (length on-disk))))
    (cl-loop for hunk in hunks
             for nth from 0
             for is-in = (agent-q-diff-engine-hunk-fact (agent-q-diff-change-hunk change hunk))
             collect (cond
                      ((agent-q-diff-change-operation-of change hunk) (and is-in t))
                      ((not is-file) nil)
                      ((null saved) (and is-in t))
                      (t (pcase (nth (- nth n-operations) on-disk)
                           ('nil nil)
                           ('unknown 'unknown)
                           (_ (if is-in t 'unsaved))))))))

(defun agent-q-diff-told--file-p (path)
  "Return non-nil if PATH is a regular file, and no link."
  (and (file-regular-p path)
       (not (file-symlink-p path))))

(defun agent-q-diff-told--saved (path)
  "Return the bytes of the file PATH if a buffer has unsaved edits of it, or nil."
  (and (agent-q-diff-reviewed-unsaved path)
       (if (file-exists-p path) (agent-q-diff-file-bytes path) "")))

;;;; What the files still have of what was taken out

(defvar agent-q-diff-told--on-disk (make-hash-table :test #'equal)
  "Table from (ROOT . KEY), of rejections, to what the file then had of them.
It is (STATE . DIGEST): STATE is as from `agent-q-diff-told--in-files', other
than nil, and DIGEST that of the file.  KEY is as from `agent-q-diff-told--key'.")

(defvar agent-q-diff-told--digests (make-hash-table :test #'equal)
  "Table from names of files to their digests, while a message is made.")

(defun agent-q-diff-told--note-on-disk (change round in-files)
  "Remember what the files have of what was taken out of CHANGE in ROUND.
IN-FILES is as from `agent-q-diff-told--in-files'."
  (let ((root (agent-q-diff-round-root round))
        (agent-q-diff-told--digests (make-hash-table :test #'equal)))
    (cl-loop for mark in (agent-q-diff-module-marks (agent-q-diff-change-engine change))
             for is-in in in-files
             for hunk from 0
             for one = (and (eq mark 'rejected)
                            (agent-q-diff-round-rejected-now change round hunk))
             when one
             do (let ((key (cons root (agent-q-diff-told--key one)))
                      (path (agent-q-diff-rejected-path one)))
                  (if is-in
                      (puthash key (cons is-in (agent-q-diff-told--digest root path))
                               agent-q-diff-told--on-disk)
                    (remhash key agent-q-diff-told--on-disk))))))

(defun agent-q-diff-told--digest (root path)
  "Return a digest of the file PATH in the project at ROOT, or nil."
  (let* ((name (agent-q-diff-file-named path root))
         (known (gethash name agent-q-diff-told--digests 'none)))
    (if (not (eq known 'none))
        known
      (puthash name
               (and (agent-q-diff-told--file-p name)
                    (secure-hash 'sha256 (agent-q-diff-file-bytes name)))
               agent-q-diff-told--digests))))

(defun agent-q-diff-told--on-disk-words (root one)
  "Return words for what the file of ONE in the project at ROOT has of it still.
ONE is an `agent-q-diff-rejected'.  If the file was saved since, there are none."
  (pcase (gethash (cons root (agent-q-diff-told--key one)) agent-q-diff-told--on-disk)
    (`(,state . ,digest)
     (let ((path (agent-q-diff-rejected-path one)))
       (if (or (equal digest (agent-q-diff-told--digest root path))
               (and (eq state 'unsaved)
                    (agent-q-diff-told--saved (agent-q-diff-file-named path root))))
           (pcase-exhaustive state
             ('unsaved " (only in Emacs so far: the file still has the change, since it is not saved yet)")
             ('unknown " (only in Emacs so far; what the file has of the change is not known)")
             ('t " (but the file has it again now)"))
         "")))
    (_ "")))

(defun agent-q-diff-told--back (change round)
  "Return what earlier rounds rejected that is in files of CHANGE all the same.
That is a list as from `agent-q-diff-told--key' each.  The agent has written it
again, or the user has changed their mind.  ROUND is that of CHANGE."
  (unless (= 0 (hash-table-count (agent-q-diff-round-rejected round)))
    (cl-loop for mark in (agent-q-diff-module-marks (agent-q-diff-change-engine change))
             for hunk from 0
             for one = (and (not (eq mark 'rejected))
                            (agent-q-diff-round-rejection change round hunk))
             when one collect (agent-q-diff-told--key one))))

(defconst agent-q-diff-told--max-length 8000
  "Most characters of a message in which many lines are quoted.")

(defvar agent-q-diff-told--max-lines 40
  "Most lines of a hunk, or of what is commented on, that agents are told.")

(defconst agent-q-diff-told--max-width 300
  "Most characters of a line that agents are told.")

(defun agent-q-diff-told--quoted (text prefix)
  "Return the lines of TEXT with PREFIX, those after the first ones only counted."
  (let* ((lines (split-string (string-remove-suffix "\n" (agent-q-diff-round-plain text)) "\n"))
         (more (- (length lines) agent-q-diff-told--max-lines)))
    (mapconcat (lambda (line)
                 (concat prefix
                         (if (length< line agent-q-diff-told--max-width)
                             line
                           (concat (substring line 0 agent-q-diff-told--max-width) "…"))
                         "\n"))
               (append (seq-take lines agent-q-diff-told--max-lines)
                       (and (< 0 more) (list (format "… (%d more lines)" more))))
               "")))

(defconst agent-q-diff-told--how-to-answer
  "When you have handled a comment or a question, call the tool resolve_comment with its id and your \
answer; if you have no such tool, answer in your reply."
  "What agents are told about comments.")

(defun agent-q-diff-told--texts (root agents counts back)
  "Return (TO TEXT . IDS) of each message about what waits in the project at ROOT.
TO are addresses, and IDS those of the comments in it.  What nobody is known to
have written is for AGENTS; if only one message is for others, it is in that.
COUNTS is a clause about the review, or nil; BACK is as from
`agent-q-diff-told--back'."
  (let* ((agent-q-diff-told--digests (make-hash-table :test #'equal))
         (rejected (seq-remove
                    (lambda (one)
                      (or (agent-q-diff-rejected-is-told one)
                          (member (agent-q-diff-told--key one) back)))
                    (agent-q-diff-engine-call #'agent-q-diff-module-rejected root)))
         (open (agent-q-diff-told--in-state root '(open)))
         (all (seq-uniq (append (mapcar #'agent-q-diff-told--to rejected)
                                (mapcar #'agent-q-diff-told--to open))))
         ;; A message takes the place of those that are for some of the same.
         (known (sort (remq nil all) (lambda (one other) (length> one (length other)))))
         (is-one (null (cdr known))))
    (mapcar
     (lambda (to)
       (let* ((is-in (lambda (one)
                       (let ((its (agent-q-diff-told--to one)))
                         (or (equal to its) (and is-one (null its))))))
              (open (seq-filter is-in open)))
         `(,(or to agents)
           ,(agent-q-diff-told--shortened
             (lambda ()
               (string-join (agent-q-diff-told--paragraphs
                             root counts
                             (agent-q-diff-told--in-order (seq-filter is-in rejected))
                             open)
                            "\n\n")))
           . ,(mapcar #'agent-q-diff-comment-id open))))
     (if (and is-one known) known (append known (and (memq nil all) '(nil)))))))

(defun agent-q-diff-told--to (one)
  "Return the addresses of who wrote the lines of ONE, sorted; nil if nobody knows.
ONE is an `agent-q-diff-rejected' or an `agent-q-diff-comment'."
  (sort (mapcar #'agent-q-diff-engine-text
                (if (length= one 9)
                    (agent-q-diff-rejected-to one)
                  (agent-q-diff-comment-to one)))
        #'string<))

(defun agent-q-diff-told--paragraphs (root counts rejected open)
  "Return the paragraphs of a message about the project at ROOT.
It is about REJECTED and OPEN, lists of rejections and comments; COUNTS is as
for `agent-q-diff-told--texts'."
  (delq nil
        (append
         (list
          (if counts
              (format "The user has reviewed in Emacs what was written into %s: %s."
                      (agent-q-diff-visible root) counts)
            (format "This is what the user says in Emacs about %s."
                    (agent-q-diff-visible root)))
          (agent-q-diff-told--section
           "The user rejected these changes, and they were undone in the files. \
Do not make them again unless the user asks for it:"
           rejected (apply-partially #'agent-q-diff-told--rejected-text root)))
         (agent-q-diff-told--comment-sections open))))

(defun agent-q-diff-told--key (one)
  "Return a key for ONE, an `agent-q-diff-rejected', that no other has."
  (list (agent-q-diff-rejected-path one) (agent-q-diff-rejected-hunk one)
        (agent-q-diff-rejected-context one) (agent-q-diff-rejected-line one)))

(defun agent-q-diff-told--shortened (function)
  "Call FUNCTION for a text; if that is long, again, with few lines quoted."
  (let ((text (funcall function)))
    (if (length< text agent-q-diff-told--max-length)
        text
      (let ((agent-q-diff-told--max-lines 4))
        (funcall function)))))

(defun agent-q-diff-told--in-order (rejected)
  "Return REJECTED, a list of `agent-q-diff-rejected', by path and line."
  (sort rejected
        (lambda (one other)
          (let ((path (agent-q-diff-rejected-path one))
                (other-path (agent-q-diff-rejected-path other)))
            (if (equal path other-path)
                (< (agent-q-diff-rejected-line one) (agent-q-diff-rejected-line other))
              (string< path other-path))))))

(defun agent-q-diff-told--in-state (root states)
  "Return the comments of the project at ROOT whose state is one of STATES."
  (seq-filter (lambda (one) (memq (agent-q-diff-comment-state one) states))
              (agent-q-diff-engine-call #'agent-q-diff-module-comments root nil)))

(defun agent-q-diff-told--comment-sections (comments)
  "Return what agents read about COMMENTS, a list of paragraphs."
  (when comments
    (let ((of-kind (lambda (kind)
                     (seq-filter (lambda (one) (eq kind (agent-q-diff-comment-kind one)))
                                 comments))))
      (delq nil
            (list
             (agent-q-diff-told--section
              "The user's comments; do what they say:"
              (funcall of-kind 'comment) #'agent-q-diff-told--comment-text)
             (agent-q-diff-told--section
              "The user's questions; answer them, and change nothing for them:"
              (funcall of-kind 'question) #'agent-q-diff-told--comment-text)
             agent-q-diff-told--how-to-answer)))))

(defun agent-q-diff-told-take-comments (root)
  "Return what agents read about the open comments in the project at ROOT, or nil.
They count as told."
  (when-let ((open (agent-q-diff-told--in-state root '(open))))
    (dolist (one open)
      (agent-q-diff-engine-call #'agent-q-diff-module-set-comment root
                                (agent-q-diff-comment-id one) 'sent))
    (string-join (agent-q-diff-told--comment-sections open) "\n\n")))

(defun agent-q-diff-told--section (heading all text-of)
  "Return HEADING and the text of each of ALL by TEXT-OF, or nil if there is none."
  (and all
       (concat heading "\n\n"
               (string-trim-right (mapconcat text-of all "\n")))))

(defun agent-q-diff-told--rejected-text (root one)
  "Return what agents read about ONE, which was rejected in the project at ROOT.
ONE is an `agent-q-diff-rejected'."
  (let* ((path (agent-q-diff-rejected-path one))
         (line (agent-q-diff-rejected-line one))
         (reason (agent-q-diff-rejected-reason one)))
    (concat "- " (agent-q-diff-visible path)
            (if (< 0 line) (format ", line %d" line) "")
            (agent-q-diff-told--on-disk-words root one)
            (if (string-empty-p reason) "" (format ". The user says: %s" reason))
            "\n"
            (agent-q-diff-told--quoted (agent-q-diff-rejected-lines one) "    "))))

(defun agent-q-diff-told--comment-text (one)
  "Return what agents read about ONE, an `agent-q-diff-comment'."
  (let ((path (agent-q-diff-comment-path one)))
    (concat (format "- [%d] %s" (agent-q-diff-comment-id one)
                    (if (string-empty-p path) "all of it" (agent-q-diff-visible path)))
            (agent-q-diff-told--comment-place one)
            (format ": %s\n" (agent-q-diff-round-plain (agent-q-diff-comment-text one)))
            (if (agent-q-diff-comment-side one)
                (agent-q-diff-told--quoted (agent-q-diff-comment-lines one) "    > ")
              ""))))

(defun agent-q-diff-told--comment-place (one)
  "Return words to append to the path of ONE, an `agent-q-diff-comment'."
  (let ((side (agent-q-diff-comment-side one))
        (line (agent-q-diff-comment-line one))
        (was (agent-q-diff-comment-was one))
        (n (agent-q-diff-comment-n one)))
    (pcase side
      ('nil "")
      ;; Its number in what was reviewed since would say nothing to an agent.
      ('old (concat ", " (agent-q-diff-round-lines-words 'old was n)))
      ((guard line)
       (concat ", " (agent-q-diff-round-lines-words 'new line n)
               (if (agent-q-diff-comment-is-unsure one) ", place unsure" "")))
      (_ (format ", %s then, not there any more"
                 (agent-q-diff-round-lines-words 'new was n))))))

(defun agent-q-diff-told--open-p (root)
  "Return non-nil if a review of what was written in the project at ROOT is open.
What is said there is told when it is finished."
  (seq-some (lambda (review)
              (when-let ((round (agent-q-diff-round-of (agent-q-diff-session-change review))))
                (equal (file-name-as-directory root)
                       (file-name-as-directory (agent-q-diff-round-root round)))))
            (agent-q-diff-open-reviews)))

(defun agent-q-diff-told-queue-again (root)
  "Queue the message in the project at ROOT again, if one waits.
Something in it has changed since."
  (when (and (agent-q-diff-told--untold-messages root)
             (not (agent-q-diff-told--open-p root)))
    (agent-q-diff-told--queue-texts root nil)))

(defun agent-q-diff-told-queue-decided (change)
  "Queue what is to be told of CHANGE, decided after its review has ended."
  (let ((round (agent-q-diff-round-of change)))
    (agent-q-diff-told--note-on-disk change round (agent-q-diff-told--in-files change))
    (agent-q-diff-told-queue-now (agent-q-diff-round-root round))))

(defun agent-q-diff-told-queue-now (root)
  "Queue what is to be told in the project at ROOT, for any agent.
Return words about when it is told."
  (if (agent-q-diff-told--open-p root)
      "the agent reads it when you have finished the review"
    (pcase (agent-q-diff-told--queue-texts root '(""))
      ((or 'nil "") agent-q-diff-told--how-to-tell)
      (words words))))

(add-hook 'agent-q-diff-reviewed-noted-functions #'agent-q-diff-told-queue-again)

;;;; What agents ask for, and answer

(defvar agent-q-diff-told-changed-functions nil
  "Functions to call with the root of a project when comments there have changed.")

(defconst agent-q-diff-told--nothing "The user has said nothing that is not handled."
  "What agents are told if there is nothing to be told.")

(defun agent-q-diff-told-open-text (&optional path)
  "Return what is open in the project of `default-directory', for its agent.
What was not told yet is told by that.  With PATH, the name of a file, return
only the comments and questions on that file."
  (condition-case nil
      (if path
          (agent-q-diff-told--open-text-of path)
        (agent-q-diff-told--open-text))
    (agent-q-diff-no-repository agent-q-diff-told--nothing)))

(defun agent-q-diff-told--open-text-of (path)
  "Return the comments on the file PATH that are not handled, for its agent."
  (let* ((path (file-relative-name
                (agent-q-diff-visit-name (agent-q-diff-file-named path default-directory))
                (car (agent-q-diff-pending-look default-directory))))
         ;; What is said in an open review is told when that is finished.
         (told (seq-mapcat #'agent-q-diff-queued-comments
                           (agent-q-diff-told--untold-messages default-directory)))
         (all (seq-filter (lambda (one)
                            (and (equal path (agent-q-diff-comment-path one))
                                 (agent-q-diff-told--for-agent-p
                                  (agent-q-diff-call-agent agent-q-diff-call)
                                  (agent-q-diff-told--to one))
                                 (or (eq 'sent (agent-q-diff-comment-state one))
                                     (memql (agent-q-diff-comment-id one) told))))
                          (agent-q-diff-told--in-state default-directory '(open sent)))))
    (or (agent-q-diff-told--section
         (format "What the user says about %s:" path) all #'agent-q-diff-told--comment-text)
        agent-q-diff-told--nothing)))

(defun agent-q-diff-told--words (name)
  "Return the words of NAME, an agent's, in lower case.
Those that many agents have are left out."
  (seq-difference (split-string (downcase name) "[^[:alnum:]]+" t)
                  '("an" "the" "agent" "cli" "code" "client" "mcp" "server")))

(defun agent-q-diff-told--same-agent-p (name other)
  "Return non-nil if NAME and OTHER are names of one agent.
Over MCP, agents have other names than their hooks: \"claude-code\" is Claude
Code, and \"github-copilot-developer\" is Copilot CLI."
  (let ((words (agent-q-diff-told--words name))
        (others (agent-q-diff-told--words other)))
    (or (equal (downcase name) (downcase other))
        (and words (member (car words) others))
        (and others (member (car others) words)))))

(defun agent-q-diff-told--for-agent-p (agent to)
  "Return non-nil if what is for TO, addresses, is for AGENT, a name or nil, too.
Without any address, it is for whichever agent asks.  The session of an agent
that asks is not known."
  (or (null to)
      (seq-some (apply-partially #'agent-q-diff-told--is-of agent) to)))

(defun agent-q-diff-told--is-of (agent address)
  "Return non-nil if ADDRESS is one of AGENT, a name or nil, or of any."
  (let ((name (agent-q-diff-round-agent-of address)))
    (or (string-empty-p name)
        (and agent (agent-q-diff-told--same-agent-p name agent)))))

(defconst agent-q-diff-told--session-seconds (* 24 60 60)
  "For how many seconds after a prompt its session may still be open.")

(defun agent-q-diff-told--alone-p (address)
  "Return non-nil if ADDRESS is the only session of its agent that may be open.
It is one in the project of `default-directory'."
  (let ((agent (agent-q-diff-round-agent-of address))
        (session (cadr (split-string address "\n")))
        (since (- (float-time) agent-q-diff-told--session-seconds)))
    (or (null session)
        (seq-every-p (lambda (turn)
                       (or (not (equal agent (agent-q-diff-turn-agent turn)))
                           (equal session (agent-q-diff-turn-session turn))
                           (< (agent-q-diff-turn-time turn) since)))
                     (agent-q-diff-engine-call #'agent-q-diff-module-turns
                                               default-directory)))))

(defun agent-q-diff-told--open-text ()
  "Return all that is open in the project of `default-directory', for its agent."
  (let* ((agent (agent-q-diff-call-agent agent-q-diff-call))
         (its (lambda (message)
                (seq-filter (apply-partially #'agent-q-diff-told--is-of agent)
                            (agent-q-diff-queued-to message))))
         (untold (seq-filter its (agent-q-diff-told--untold-messages default-directory)))
         (told (seq-mapcat #'agent-q-diff-queued-comments untold))
         (sent (seq-filter (lambda (one)
                             (and (not (memql (agent-q-diff-comment-id one) told))
                                  (agent-q-diff-told--for-agent-p
                                   agent (agent-q-diff-told--to one))))
                           (agent-q-diff-told--in-state default-directory '(sent))))
         (before (agent-q-diff-told--section "Told before, and not handled yet:"
                                              sent #'agent-q-diff-told--comment-text)))
    (dolist (message untold)
      ;; Of several sessions, another one may ask: then the hook tells the right one, too.
      (dolist (address (seq-filter #'agent-q-diff-told--alone-p (funcall its message)))
        (agent-q-diff-engine-call #'agent-q-diff-module-told default-directory
                                  (list (agent-q-diff-queued-id message)) address)))
    (when untold
      (run-hook-with-args 'agent-q-diff-told-changed-functions default-directory))
    (string-join (or (append (mapcar #'agent-q-diff-queued-text untold)
                             (and before (list before)))
                     (list agent-q-diff-told--nothing))
                 "\n\n")))

(defconst agent-q-diff-told--max-answer 4000
  "Most characters of an agent's answer to a comment.")

(defun agent-q-diff-told--check-answerer (id)
  "Refuse an answer to the comment ID, a number, by another agent than it is for."
  (when-let* ((one (seq-find (lambda (one) (eql id (agent-q-diff-comment-id one)))
                             (agent-q-diff-engine-call #'agent-q-diff-module-comments
                                                       default-directory nil)))
              (to (agent-q-diff-told--to one)))
    (unless (agent-q-diff-told--for-agent-p (agent-q-diff-call-agent agent-q-diff-call) to)
      (signal 'agent-q-diff-bad-arguments
              (list (format "comment %d is for %s, which wrote these lines; it stays open" id
                            (mapconcat #'agent-q-diff-visible
                                       (seq-uniq (mapcar #'agent-q-diff-round-agent-of to))
                                       ", ")))))))

(defun agent-q-diff-told-answer (id answer)
  "Record ANSWER to the comment ID in the project of `default-directory'.
ID is a string.  It is by the agent of the current call.  Return a message for
it."
  (unless (string-match-p "\\`[0-9]\\{1,9\\}\\'" id)
    (signal 'agent-q-diff-bad-arguments
            (list (format "\"%s\" is no id of a comment; it is a number such as 3" id))))
  (when (string-blank-p answer)
    (signal 'agent-q-diff-bad-arguments '("the answer must say something")))
  (when (length> answer agent-q-diff-told--max-answer)
    (signal 'agent-q-diff-bad-arguments
            (list (format "the answer must have at most %d characters"
                          agent-q-diff-told--max-answer))))
  (agent-q-diff-told--check-answerer (string-to-number id))
  (agent-q-diff-engine-call #'agent-q-diff-module-answer-comment default-directory
                            (string-to-number id)
                            (or (agent-q-diff-call-agent agent-q-diff-call) "An agent")
                            (agent-q-diff-round-plain answer))
  (agent-q-diff-told-queue-again default-directory)
  (run-hook-with-args 'agent-q-diff-told-changed-functions default-directory)
  (message "%s has answered comment %s; M-x agent-q-diff-comments"
           (agent-q-diff-visible (or (agent-q-diff-call-agent agent-q-diff-call) "An agent")) id)
  (format "Comment %s is handled, and the user is shown your answer." id))

(defun agent-q-diff-told-take (root)
  "Return the text that agents of the project at ROOT are to be told, or \"\".
It counts as told."
  (let ((untold (agent-q-diff-told--untold-messages root)))
    (agent-q-diff-told--note-told root untold)
    (agent-q-diff-told--joined untold)))

(defun agent-q-diff-told-message (root)
  "Return the text that agents of the project at ROOT are told next, or nil.
If they were told everything, that is what they were told last."
  (when-let ((messages (agent-q-diff-engine-call #'agent-q-diff-module-messages root)))
    (agent-q-diff-told--joined messages)))

(provide 'agent-q-diff-told)
;;; agent-q-diff-told.el ends here
