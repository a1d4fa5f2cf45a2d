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
(require 'agent-q-diff-message)
(require 'agent-q-diff-file)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-annotations)
(require 'agent-q-diff-result)
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
        (let ((is-awaited (agent-q-diff-change-waits-p
                           (agent-q-diff-written-waiter
                            (agent-q-diff-change-written change)))))
          (agent-q-diff-round-settle change)
          ;; The result has these.
          (when is-awaited
            (pcase-dolist (`(,_ ,id . ,_)
                           (agent-q-diff-written-comments (agent-q-diff-change-written change)))
              (agent-q-diff-engine-call #'agent-q-diff-module-set-comment
                                        (agent-q-diff-round-root round) id 'sent)))
          (pcase-let* ((is-finished (agent-q-diff-round-finished-p review))
                       (`(,rejected . ,again)
                        (agent-q-diff-told--record-end
                         change is-awaited
                         (and is-finished
                              (or (and (agent-q-diff-written-since
                                        (agent-q-diff-change-written change))
                                       t)
                                  'shown))))
                       (hunks (plist-get (agent-q-diff-session-result review) :hunks)))
            ;; What is told may be made later, if another review takes its place.
            (agent-q-diff-told--note-left change round hunks rejected)
            (when (and is-finished (not is-awaited))
              (setf (agent-q-diff-session-told review)
                    (agent-q-diff-told--queue change round hunks again)))))
      (error
       (setf (agent-q-diff-session-told review)
             (format "the agent is not told, since that failed: %s"
                     (agent-q-diff-visible (agent-q-diff-error-text err))))))))

(add-hook 'agent-q-diff-lifecycle-ending-functions #'agent-q-diff-told--finish)

(defun agent-q-diff-told--record-end (change is-told finished)
  "Record the reasons for rejections in CHANGE, and what it means that it ends.
IS-TOLD, FINISHED and the value are as for `agent-q-diff-module-finish-round'."
  (agent-q-diff-engine-call
   #'agent-q-diff-module-finish-round (agent-q-diff-change-engine change)
   (append (agent-q-diff-change-comments change)
           ;; Of those that a rule has rejected, its reasons.
           (cl-loop for (id . (mark . reason)) in (agent-q-diff-change-by-policy change)
                    for hunk = (and reason (eq mark 'rejected)
                                    (agent-q-diff-module-hunk-with-id
                                     (agent-q-diff-change-engine change) id))
                    when (and hunk (not (alist-get hunk (agent-q-diff-change-comments change))))
                    collect (cons hunk reason)))
   is-told finished))

;;;; The message

(defvar agent-q-diff-told--finished (make-hash-table :test #'equal)
  "Table from roots to (AGAIN . HUNKS), until that was told.
HUNKS are (TO FILE ID . HUNK) of the review that was finished last: who wrote
it, FILE and ID as in `agent-q-diff-told--left', and HUNK as in its result.
AGAIN is as from `agent-q-diff-module-finish-round'.")

(defun agent-q-diff-told--queue (change round hunks again)
  "Queue the message about CHANGE of ROUND, with HUNKS as in its result.
AGAIN is as from `agent-q-diff-module-finish-round'.  Return words for who will
read it, or nil if there is nothing to be told."
  (puthash (file-name-as-directory (agent-q-diff-round-root round))
           (cons again
                 (mapcar (lambda (hunk)
                           (let ((index (plist-get hunk :index)))
                             `(,(agent-q-diff-round-to change index)
                               ,@(agent-q-diff-told--place change hunk) . ,hunk)))
                         hunks))
           agent-q-diff-told--finished)
  (agent-q-diff-told--queue-texts (agent-q-diff-round-root round)
                                  (agent-q-diff-change-agents change) 'is-new))

(defun agent-q-diff-told--finished-now (root)
  "Return (AGAIN . HUNKS) of the review that was finished last in ROOT, or nil.
They are as for `agent-q-diff-told--texts', as the files are now."
  (let ((known (make-hash-table :test #'eq)))
    (pcase (gethash (file-name-as-directory root) agent-q-diff-told--finished)
      (`(,again . ,hunks)
       (cons again
             (mapcar (pcase-lambda (`(,to ,file ,id . ,hunk))
                       (let ((where (if (and id (agent-q-diff-result-known-p file))
                                        (agent-q-diff-told--where-now file id known)
                                      'unknown)))
                         (cons to (if (eq where 'unknown)
                                      hunk
                                    (plist-put (copy-sequence hunk) :where where)))))
                     hunks))))))

(defun agent-q-diff-told--queue-texts (root agents &optional is-new)
  "Queue what is to be told in the project at ROOT, for those who wrote it.
What nobody is known to have written is for AGENTS, names, and for those who
were to read that until now.  IS-NEW is non-nil if a review was finished just
now.  Return words for who will read it, or nil if there is nothing to be told."
  (let* ((unread (seq-remove #'agent-q-diff-queued-is-told
                             (agent-q-diff-told--untold-messages root)))
         (finished (if (or unread is-new)
                       (agent-q-diff-told--finished-now root)
                     (remhash (file-name-as-directory root) agent-q-diff-told--finished)))
         (agents (seq-uniq
                  (append agents
                          (seq-remove (lambda (to) (string-search "\n" to))
                                      (seq-mapcat #'agent-q-diff-queued-to unread)))))
         (texts (agent-q-diff-told--texts root (or agents '("")) (cdr finished) (car finished)))
         (ids (mapcar (pcase-lambda (`(,to ,text . ,ids))
                        (if-let ((same (seq-find (lambda (one)
                                                   (equal (list text to ids)
                                                          (agent-q-diff-told--content one)))
                                                 unread)))
                            (agent-q-diff-queued-id same)
                          (agent-q-diff-engine-call #'agent-q-diff-module-queue-message
                                                    root to text ids)))
                      texts)))
    ;; What is not to be told any more.
    (when-let ((gone (and unread
                          (seq-remove (lambda (message)
                                        (or (agent-q-diff-queued-is-told message)
                                            (memql (agent-q-diff-queued-id message) ids)))
                                      (agent-q-diff-told--untold-messages root)))))
      (agent-q-diff-told--drop root gone))
    (and texts
         (agent-q-diff-told--who-is-told
          root (seq-uniq (mapcar #'agent-q-diff-round-agent-of (seq-mapcat #'car texts)))))))

(defun agent-q-diff-told--content (message)
  "Return (TEXT TO IDS) of MESSAGE, as it was queued."
  (list (agent-q-diff-queued-text message) (agent-q-diff-queued-to message)
        (append (agent-q-diff-queued-comments message) nil)))

(defconst agent-q-diff-told--how-to-tell
  "M-x agent-q-diff-copy-message copies what to tell the agent"
  "What the user is told if no hook tells the agent.")

(defun agent-q-diff-told--names (agents)
  "Return the names of AGENTS, each once, for a sentence."
  (mapconcat (lambda (agent) (agent-q-diff-visible-name agent t)) (seq-uniq agents) ", "))

(defun agent-q-diff-told--who-is-told (root to)
  "Return a clause about when the agents TO are told, or an empty string.
They are those of the project at ROOT."
  (let* ((hooked (mapcar #'agent-q-diff-turn-agent
                         (seq-remove (lambda (turn)
                                       (string-empty-p (agent-q-diff-turn-session turn)))
                                     (agent-q-diff-engine-call #'agent-q-diff-module-turns root))))
         (told (seq-filter (lambda (agent) (member agent hooked)) to)))
    (cond
     (told (format "your next prompt tells %s" (agent-q-diff-told--names told)))
     ((and hooked (member "" to)) "your next prompt tells the agent")
     ((remove "" to) agent-q-diff-told--how-to-tell)
     ;; If nobody is known to have written it, there may be no agent.
     (t ""))))

(defun agent-q-diff-told--untold-messages (root)
  "Return the messages in the project at ROOT that some agent was not told."
  (seq-filter #'agent-q-diff-queued-to
              (agent-q-diff-engine-call #'agent-q-diff-module-messages root)))

(defun agent-q-diff-told--note-told (root messages)
  "Record that all agents of MESSAGES, in the project at ROOT, were told them."
  (agent-q-diff-engine-call #'agent-q-diff-module-told root
                            (mapcar #'agent-q-diff-queued-id messages) nil))

(defun agent-q-diff-told--drop (root messages)
  "Record that nobody is told MESSAGES, in the project at ROOT, any more.
One that says nothing takes their place."
  (agent-q-diff-engine-call
   #'agent-q-diff-module-told root
   (list (agent-q-diff-engine-call #'agent-q-diff-module-queue-message root
                                   (seq-uniq (seq-mapcat #'agent-q-diff-queued-to messages))
                                   "" nil))
   nil))

(defun agent-q-diff-told--joined (messages)
  "Return (TEXT . TOLD): what is told of MESSAGES, a list of `agent-q-diff-queued'.
TOLD are the first ones, those that TEXT has room for."
  (let ((text "")
        (told nil))
    (while (and messages
                (or (null told)
                    (< (+ (length text) (length (agent-q-diff-queued-text (car messages))) 100)
                       agent-q-diff-message-max-length)))
      (setq text (concat text (if told "\n\n" "") (agent-q-diff-queued-text (car messages))))
      (push (pop messages) told))
    (cons (if messages
              (format "%s\n\nNot all of it fits here (%d more): call review_comments again."
                      text (length messages))
            text)
          (nreverse told))))


;;;; What the files still have of what was taken out

(defvar agent-q-diff-told--left (make-hash-table :test #'equal)
  "Table from (ROOT . KEY), of rejections, to (FILE ID . WHERE).
FILE is the `agent-q-diff-file-change', ID the engine's, nil for an operation,
and KEY as from `agent-q-diff-told--key'.  WHERE is where it was when its review
ended.")

(defun agent-q-diff-told--note-left (change round hunks rejected)
  "Remember where the rejected ones of HUNKS are, to see that again later.
HUNKS are as in the result of CHANGE, of ROUND, and REJECTED is as from
`agent-q-diff-module-finish-round'."
  (maphash (pcase-lambda (key `(,file ,_ . ,where))
             (unless (or where (agent-q-diff-result-known-p file))
               (remhash key agent-q-diff-told--left)))
           agent-q-diff-told--left)
  (dolist (hunk hunks)
    (when-let* ((index (and (eq 'rejected (plist-get hunk :state)) (plist-get hunk :index)))
                (key (cdr (assq index rejected))))
      (puthash (cons (file-name-as-directory (agent-q-diff-round-root round)) key)
               `(,@(agent-q-diff-told--place change hunk) . ,(plist-get hunk :where))
               agent-q-diff-told--left))))

(defun agent-q-diff-told--place (change hunk)
  "Return (FILE ID) of HUNK, as in the result of CHANGE.
They are as in `agent-q-diff-told--left'."
  (let ((index (plist-get hunk :index)))
    (list (agent-q-diff-change-file-of change index)
          (and (null (plist-get hunk :operation))
               (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change index))))))

(defun agent-q-diff-told--where-now (file id known)
  "Return where the hunk ID of FILE is now, as in a result.
KNOWN is a table from files to tables from ids to that, which is filled."
  (let ((wheres (gethash file known)))
    (unless wheres
      (setq wheres (make-hash-table))
      (pcase-dolist (`(,id . ,where) (agent-q-diff-result-wheres file))
        (puthash id where wheres))
      (puthash file wheres known))
    (gethash id wheres 'unknown)))

(defun agent-q-diff-told--where (root one known)
  "Return where the change of ONE, in the project at ROOT, is now.
ONE is an `agent-q-diff-rejected', and the value as in a result.  KNOWN is a
table from files to tables from ids of hunks to that, which is filled."
  (pcase (gethash (cons (file-name-as-directory root) (agent-q-diff-told--key one))
                  agent-q-diff-told--left)
    (`(,_ nil . ,where) where)
    ((and `(,file ,id . ,where)
          (guard (or where (agent-q-diff-result-known-p file))))
     (pcase (agent-q-diff-told--where-now file id known)
       ('unknown (or where 'unknown))
       (now now)))))

(defun agent-q-diff-told--texts (root agents hunks again)
  "Return (TO TEXT . IDS) of each message about what waits in the project at ROOT.
TO are addresses, and IDS those of the comments in it.  What nobody is known to
have written is for AGENTS; if only one message is for others, it is in that.
HUNKS are (TO . HUNK) for each hunk of a review that has ended: who wrote it,
and what its result has of it.  AGAIN is as from
`agent-q-diff-module-finish-round'."
  (let* ((rejected (seq-remove
                    (lambda (one)
                      (or (agent-q-diff-rejected-is-told one)
                          (member (agent-q-diff-told--key one) again)))
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
           ,(agent-q-diff-message-of-round
             (agent-q-diff-told--first root to is-one hunks)
             (append (agent-q-diff-told--rejections root (seq-filter is-in rejected))
                     (mapcar #'agent-q-diff-told--comment open)))
           . ,(mapcar #'agent-q-diff-comment-id open))))
     (if (and is-one known) known (append known (and (memq nil all) '(nil)))))))

(defun agent-q-diff-told--first (root to is-one hunks)
  "Return the first sentence of the message for TO about the project at ROOT.
It counts those of HUNKS that TO wrote; if IS-ONE is non-nil, there is no other
message, and what nobody is known to have written counts, too.  TO and HUNKS are
as for `agent-q-diff-told--texts'."
  (let ((its (seq-filter (pcase-lambda (`(,writers . ,_))
                           (or (seq-intersection writers to)
                               (and (or is-one (null to)) (null writers))
                               (and is-one (null to))))
                         hunks)))
    (if (null its)
        (format "This is what the user says in Emacs about %s." (agent-q-diff-visible-name root))
      (format "The user has reviewed in Emacs what %s into %s: %s."
              (if (length= its (length hunks)) "was written" "you wrote")
              (agent-q-diff-visible-name root)
              (agent-q-diff-message-counts (mapcar #'cdr its))))))

(defun agent-q-diff-told--to (one)
  "Return the addresses of who wrote the lines of ONE, sorted; nil if nobody knows.
ONE is an `agent-q-diff-rejected' or an `agent-q-diff-comment'."
  (sort (mapcar #'agent-q-diff-engine-text
                (if (length= one (length (cl-struct-slot-info 'agent-q-diff-rejected)))
                    (agent-q-diff-rejected-to one)
                  (agent-q-diff-comment-to one)))
        #'string<))

(defun agent-q-diff-told--key (one)
  "Return a key for ONE, an `agent-q-diff-rejected', that no other has."
  (cons (agent-q-diff-rejected-path one) (agent-q-diff-rejected-hunk one)))

(defun agent-q-diff-told--rejections (root rejected)
  "Return REJECTED in the project at ROOT, by path and line, as entries.
They are for `agent-q-diff-message-of-round'."
  (cl-loop
   with known = (make-hash-table :test #'eq)
   for one in
   (sort (copy-sequence rejected)
         (lambda (one other)
           (let ((path (agent-q-diff-rejected-path one))
                 (other-path (agent-q-diff-rejected-path other)))
             (if (equal path other-path)
                 (< (agent-q-diff-rejected-line one) (agent-q-diff-rejected-line other))
               (string< path other-path)))))
   for line = (agent-q-diff-rejected-line one)
   for reason = (agent-q-diff-rejected-reason one)
   collect
   `(:kind ,(if (agent-q-diff-rejected-is-back one) 'back 'rejected)
     :path ,(agent-q-diff-rejected-path one)
     :line ,(max 1 line)
     :where ,(and (not (agent-q-diff-rejected-is-back one))
                  (agent-q-diff-told--where root one known))
     :said ,(and (not (string-empty-p reason)) reason)
     ,@(if (< 0 line)
           (list :lines-words (format "line %d" line)
                 :quoted (agent-q-diff-rejected-lines one))
         (list :operation (agent-q-diff-visible-name
                           (agent-q-diff-round-plain (agent-q-diff-rejected-lines one))))))))

(defun agent-q-diff-told--in-state (root states)
  "Return the comments of the project at ROOT whose state is one of STATES."
  (seq-filter (lambda (one) (memq (agent-q-diff-comment-state one) states))
              (agent-q-diff-engine-call #'agent-q-diff-module-comments root nil)))

(defun agent-q-diff-told-take-comments (root)
  "Return the open comments in the project at ROOT, which count as told.
They are entries for `agent-q-diff-message-of-result'."
  (mapcar (lambda (one)
            (agent-q-diff-engine-call #'agent-q-diff-module-set-comment root
                                      (agent-q-diff-comment-id one) 'sent)
            (agent-q-diff-told--comment one))
          (agent-q-diff-told--in-state root '(open))))

(defun agent-q-diff-told--comment (one)
  "Return ONE, an `agent-q-diff-comment', as an entry.
That is one for `agent-q-diff-message-of-round'."
  (let ((path (agent-q-diff-comment-path one)))
    (list :kind (agent-q-diff-comment-kind one) :id (agent-q-diff-comment-id one)
          :path (and (not (string-empty-p path)) path)
          :line (and (not (string-empty-p path))
                     (1+ (or (agent-q-diff-comment-line one) (agent-q-diff-comment-was one))))
          :lines-words (agent-q-diff-told--comment-place one)
          :said (agent-q-diff-round-plain (agent-q-diff-comment-text one))
          :quoted (and (agent-q-diff-comment-side one) (agent-q-diff-comment-lines one)))))

(defun agent-q-diff-told--comment-place (one)
  "Return words for the lines of ONE, an `agent-q-diff-comment', or nil."
  (let ((line (agent-q-diff-comment-line one))
        (was (agent-q-diff-comment-was one))
        (n (agent-q-diff-comment-n one)))
    (pcase (agent-q-diff-comment-side one)
      ('nil nil)
      ;; Its number in what was reviewed since would say nothing to an agent.
      ('old (agent-q-diff-round-lines-words 'old was n))
      ((guard line)
       (concat (agent-q-diff-round-lines-words 'new line n)
               (if (agent-q-diff-comment-is-unsure one) ", place unsure" "")))
      (_ (format "%s at the time, no longer there"
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
Something in it has changed since, or what an agent was told is not true any
more."
  (when (and (not (agent-q-diff-told--open-p root))
             (or (agent-q-diff-told--untold-messages root)
                 (seq-some (lambda (one)
                             (and (agent-q-diff-rejected-is-back one)
                                  (not (agent-q-diff-rejected-is-told one))))
                           (agent-q-diff-engine-call #'agent-q-diff-module-rejected root))))
    (agent-q-diff-told--queue-texts root nil)))

(defun agent-q-diff-told--queue-to-read (folder)
  "Queue the message in the project of FOLDER again, since it is read next."
  (when-let ((root (agent-q-diff-reviewed-root-of folder)))
    (agent-q-diff-told-queue-again root)))

(defun agent-q-diff-told-queue-decided (change)
  "Queue what is to be told of CHANGE, decided after its review has ended."
  (let ((round (agent-q-diff-round-of change)))
    (agent-q-diff-told--note-left change round (agent-q-diff-result-hunks change)
                                  (car (agent-q-diff-told--record-end change nil nil)))
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

(defconst agent-q-diff-told--nothing "Nothing that the user has said is still open."
  "What agents are told if there is nothing to be told.")

(defun agent-q-diff-told-open-text (&optional path from)
  "Return what is open in the project of `default-directory', for its agent.
What was not told yet is told by that.  With PATH, the name of a file, return
only what is said about that file, or about all files, also what was told
before; with FROM, only about that file from that line on, counted from 1."
  (condition-case nil
      (if path
          (agent-q-diff-told--open-text-of path (or from 1))
        (agent-q-diff-told--open-text))
    (agent-q-diff-no-repository agent-q-diff-told--nothing)))

(defun agent-q-diff-told--open-text-of (path from)
  "Return what was told about the file PATH and is not handled, from line FROM on.
From line 1 on, that has what was said about all files, too.  Say which other
files there are."
  (let* ((root default-directory)
         (path (file-relative-name
                (agent-q-diff-visit-name (agent-q-diff-file-named path root))
                (car (agent-q-diff-pending-look root))))
         (agent (agent-q-diff-call-agent agent-q-diff-call))
         (messages (agent-q-diff-told--untold-messages root))
         ;; What is said in an open review is told when that is finished.
         (told (seq-mapcat #'agent-q-diff-queued-comments messages))
         (is-its (lambda (one)
                   (agent-q-diff-told--for-agent-p agent (agent-q-diff-told--to one))))
         (comments (seq-filter (lambda (one)
                                 (and (funcall is-its one)
                                      (or (eq 'sent (agent-q-diff-comment-state one))
                                          (memql (agent-q-diff-comment-id one) told))))
                               (agent-q-diff-told--in-state root '(open sent))))
         (rejected (seq-filter (lambda (one)
                                 (and (agent-q-diff-rejected-is-told one)
                                      (equal path (agent-q-diff-rejected-path one))
                                      (funcall is-its one)))
                               (agent-q-diff-engine-call #'agent-q-diff-module-rejected root)))
         (entries (seq-filter
                   (lambda (entry)
                     (<= from (or (plist-get entry :line) 1)))
                   (append
                    (agent-q-diff-told--rejections root rejected)
                    (mapcar #'agent-q-diff-told--comment
                            (seq-filter (lambda (one)
                                          (member (agent-q-diff-comment-path one) (list path "")))
                                        comments)))))
         (name (concat (agent-q-diff-visible-name path)
                       (if (= 1 from) "" (format " from line %d on" from))))
         (elsewhere (agent-q-diff-told--elsewhere
                     (seq-difference (mapcar #'agent-q-diff-comment-path comments)
                                     (list path ""))
                     (seq-some (lambda (message)
                                 (seq-some (apply-partially #'agent-q-diff-told--is-of agent)
                                           (agent-q-diff-queued-to message)))
                               messages))))
    (if entries
        (agent-q-diff-message-of-round
         (string-join (append elsewhere (list (format "What the user says about %s:" name))) " ")
         entries)
      (string-join (cons (format "Nothing that the user has said about %s is still open." name)
                         elsewhere)
                   " "))))

(defun agent-q-diff-told--elsewhere (paths is-untold)
  "Return sentences about where else comments are: on PATHS, which may be equal.
IS-UNTOLD is non-nil if a message waits."
  (let* ((paths (seq-uniq (sort (copy-sequence paths) #'string<)))
         (more (nthcdr 10 paths)))
    (append
     (and paths
          (list (format "Comments on other files are open; call review_comments with one of these \
paths: %s%s."
                        (mapconcat #'agent-q-diff-visible-name (seq-take paths 10) ", ")
                        (if more (format " and %d more" (length more)) ""))))
     (and is-untold
          '("Call review_comments without a path to read what you were not told yet.")))))

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
  (agent-q-diff-told--queue-to-read default-directory)
  (pcase-let* ((agent (agent-q-diff-call-agent agent-q-diff-call))
               (its (lambda (message)
                      (seq-filter (apply-partially #'agent-q-diff-told--is-of agent)
                                  (agent-q-diff-queued-to message))))
               (`(,text . ,untold)
                (agent-q-diff-told--joined
                 (seq-filter its (agent-q-diff-told--untold-messages default-directory))))
               (told (seq-mapcat #'agent-q-diff-queued-comments untold))
               (sent (seq-filter (lambda (one)
                                   (and (not (memql (agent-q-diff-comment-id one) told))
                                        (agent-q-diff-told--for-agent-p
                                         agent (agent-q-diff-told--to one))))
                                 (agent-q-diff-told--in-state default-directory '(sent))))
               (room (- agent-q-diff-message-max-length (length text))))
    (dolist (message untold)
      ;; Of several sessions, another one may ask: then the hook tells the right one, too.
      (dolist (address (seq-filter #'agent-q-diff-told--alone-p (funcall its message)))
        (agent-q-diff-engine-call #'agent-q-diff-module-told default-directory
                                  (list (agent-q-diff-queued-id message)) address)))
    (when untold
      (agent-q-diff-round-show-comments default-directory))
    (cond
     ((and sent (< room 1000))
      (concat text "\n\nComments that you were told before are still open: call \
review_comments again to read them."))
     (sent
      (let ((agent-q-diff-message-max-length (- room 2)))
        (concat text (if untold "\n\n" "")
                (agent-q-diff-message-of-round "Told before, and still open:"
                                               (mapcar #'agent-q-diff-told--comment sent)))))
     (untold text)
     (t agent-q-diff-told--nothing))))

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
                            (agent-q-diff-told--names (mapcar #'agent-q-diff-round-agent-of to))))))))

;; An agent without that tool answers in its reply, which the program reads.
(defun agent-q-diff-told-note-answered (ids agent)
  "Show that AGENT has answered the comments IDS in this project.
IDS are numbers or strings.  AGENT may be nil if nobody knows who it is."
  (agent-q-diff-told-queue-again default-directory)
  (agent-q-diff-round-show-comments default-directory)
  (message "%s has answered %s; M-x agent-q-diff-comments"
           (agent-q-diff-visible-name (or agent "An agent") t)
           (format (ngettext "comment %s" "comments %s" (length ids))
                   (mapconcat (lambda (id) (format "%s" id)) ids ", "))))

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
  (agent-q-diff-told-note-answered (list id) (agent-q-diff-call-agent agent-q-diff-call))
  (format "Comment %s is handled, and the user is shown your answer." id))

(defun agent-q-diff-told-take (root)
  "Return the text that agents of the project at ROOT are to be told, or \"\".
It is made of what the files have now, and counts as told."
  (agent-q-diff-told--queue-to-read root)
  (pcase-let ((`(,text . ,told) (agent-q-diff-told--joined
                                 (agent-q-diff-told--untold-messages root))))
    (agent-q-diff-told--note-told root told)
    text))

(defun agent-q-diff-told-message (root)
  "Return the text that agents of the project at ROOT are told next, or nil.
If they were told everything, that is what they were told last.  If nothing is
left of what they were to be told, it is nil."
  (agent-q-diff-told--queue-to-read root)
  (when-let* ((messages (agent-q-diff-engine-call #'agent-q-diff-module-messages root))
              (text (car (agent-q-diff-told--joined messages))))
    (unless (string-empty-p text)
      text)))

(provide 'agent-q-diff-told)
;;; agent-q-diff-told.el ends here
