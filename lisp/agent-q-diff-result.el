;;; agent-q-diff-result.el --- What became of a review, for its caller and the log  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The result of a review that ends: a property list for the caller, the
;; message for the agent, and the entry in the log.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-message)
(require 'agent-q-diff-log)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)

;;;; The file at the beginning

(defun agent-q-diff-result-note-files (review)
  "Record the state of the files of REVIEW, when the review begins."
  (dolist (file (agent-q-diff-change-files (agent-q-diff-session-change review)))
    (let ((target (agent-q-diff-file-change-target file)))
      ;; That of others is recorded when they are visited.
      (when (agent-q-diff-target-buffer target)
        (setf (agent-q-diff-target-disk target) (agent-q-diff-result--disk target)))))
  (setf (agent-q-diff-target-hash
         (agent-q-diff-file-change-target (agent-q-diff-session-file review)))
        (agent-q-diff-result--logged-hash review)))

(defun agent-q-diff-result--disk (target)
  "Return a value that is different once the file of TARGET was written.
Return nil if the target is detached or its file cannot be accessed."
  (unless (agent-q-diff-target-is-detached target)
    ;; The host of a remote file may be gone, and the caller needs a result.
    (ignore-errors
      (list (agent-q-diff-disk-attributes (agent-q-diff-target-path target))))))

;;;; Result

(defun agent-q-diff-result-why (review)
  "Return why REVIEW ended without a decision, as an error (SYMBOL MESSAGE).
Return nil if it was decided."
  (pcase-exhaustive (agent-q-diff-session-outcome review)
    ('decided nil)
    ((or 'error 'lost) (agent-q-diff-session-error review))
    ('not-applied
     (list 'agent-q-diff-not-applied
           (mapconcat (pcase-lambda (`(,hunk . ,reason))
                        (format "%s: %s"
                                (agent-q-diff-change-hunk-words
                                 (agent-q-diff-session-change review) hunk)
                                reason))
                      (reverse (agent-q-diff-change-failures
                                (agent-q-diff-session-change review)))
                      "; ")))
    ('cancelled (list 'agent-q-diff-cancelled "the agent withdrew it"))
    ('abandoned (list 'agent-q-diff-cancelled "the agent that proposed it is gone"))
    ('killed (list 'agent-q-diff-cancelled "its buffer was killed"))
    ('emacs-killed (list 'agent-q-diff-cancelled "Emacs exited"))
    ('aborted (list 'agent-q-diff-cancelled "the user left it undecided"))
    ('undecided (list 'agent-q-diff-cancelled "the user has not decided about any of it"))
    ('no-user (list 'agent-q-diff-no-user
                    "this Emacs runs in batch mode, and there are no keys left to read"))))

(defun agent-q-diff-result--status (review decision counts)
  "Return the status of REVIEW, a symbol, with DECISION and COUNTS.
DECISION is a string or nil; COUNTS is as for `agent-q-diff-result--head'.  What
was written already is in the file also if it is pending, so then the marks
count."
  (pcase (agent-q-diff-session-outcome review)
    ((or 'not-applied 'lost) 'stale)
    ('decided (cond
               ((equal decision "rejected") 'rejected)
               ((= (plist-get counts :total)
                   (plist-get counts (if (agent-q-diff-change-written
                                          (agent-q-diff-session-change review))
                                         :applied
                                       :in-file)))
                'accepted)
               (t 'partial)))
    (_ 'cancelled)))

(defun agent-q-diff-result-of (review)
  "Return the result of REVIEW, a plist; see `agent-q-diff-review'.
It has a message unless what was reviewed had been written before: then agents
are told of the round, and who waits for the result has that made."
  (let ((result (pcase-let ((`(,symbol ,message) (agent-q-diff-session-error review)))
                  (if (eq 'error (agent-q-diff-session-outcome review))
                      (list :status 'error :decision nil :path (agent-q-diff-session-path review)
                            :error symbol :reason message)
                    (agent-q-diff-result--of-begun review)))))
    (if (when-let ((change (agent-q-diff-session-change review)))
          (agent-q-diff-change-written change))
        result
      (agent-q-diff-result-with-message result))))

(defun agent-q-diff-result--of-begun (review)
  "Return the result of REVIEW, which was shown, without its message.
It tells what is in the target now, whoever put it there, or if the target
cannot be read any more, what was in it last."
  (if (agent-q-diff-change-is-compound (agent-q-diff-session-change review))
      (agent-q-diff-result--of-several review)
    (agent-q-diff-result--of-one review)))

(defun agent-q-diff-result--decision (review)
  "Return the decision on REVIEW, a string, or nil if there is none."
  (let ((buffer (agent-q-diff-session-buffer review)))
    (and (eq (agent-q-diff-session-outcome review) 'decided)
         (buffer-live-p buffer)
         (buffer-local-value 'agent-q-diff-buffer-decision buffer))))

(defun agent-q-diff-result--head (review counts)
  "Return the properties of the result of REVIEW that are about all of it.
COUNTS is a plist with the numbers of its hunks."
  (let ((decision (agent-q-diff-result--decision review)))
    (append
     (list :status (agent-q-diff-result--status review decision counts)
           :decision decision
           :path (or (and (agent-q-diff-change-is-compound (agent-q-diff-session-change review))
                          (agent-q-diff-session-root review))
                     (agent-q-diff-session-path review))
           :error (nth 0 (agent-q-diff-result-why review))
           :reason (nth 1 (agent-q-diff-result-why review))
           :comment (agent-q-diff-change-users-comment
                      (agent-q-diff-session-change review) nil))
     (cl-loop for key in '(:total :applied :rejected :pending :in-file)
              append (list key (plist-get counts key))))))

(defun agent-q-diff-result--of-one (review)
  "Do what `agent-q-diff-result--of-begun' does for REVIEW, of one file's text."
  (let* ((change (agent-q-diff-session-change review))
         (target (agent-q-diff-file-change-target (agent-q-diff-session-file review)))
         (file (agent-q-diff-result--of-file
                change 0 (or (eq 'lost (agent-q-diff-session-outcome review))
                             (and (agent-q-diff-change-written change)
                                  (agent-q-diff-file-change-is-lost
                                   (agent-q-diff-session-file review)))))))
    (append
     (agent-q-diff-result--head review file)
     (list :detached (agent-q-diff-target-is-detached target)
           :untouched (and (agent-q-diff-target-disk target)
                           (equal (agent-q-diff-target-disk target)
                                  (agent-q-diff-result--disk target))))
     ;; What the head says holds; names of files are for several.
     (cl-loop for (key value) on file by #'cddr
              unless (memq key '(:old-path :new-path :kind :fate)) nconc (list key value)))))

(defun agent-q-diff-result--of-several (review)
  "Do what `agent-q-diff-result--of-begun' does for REVIEW, of several files."
  (let* ((change (agent-q-diff-session-change review))
         (files (cl-loop for file in (agent-q-diff-change-files change)
                         for index from 0
                         collect (agent-q-diff-result--of-file
                                  change index (agent-q-diff-file-change-is-lost file))))
         (hunks (mapcan (lambda (file) (copy-sequence (plist-get file :hunks))) files)))
    (append (agent-q-diff-result--head review (agent-q-diff-result--counts hunks))
            (list :detached (agent-q-diff-change-is-detached change)
                  :saved (not (seq-some #'agent-q-diff-result-unsaved-p files))
                  :files files
                  :hunks hunks))))

(defun agent-q-diff-result--counts (hunks)
  "Return a plist with the numbers of HUNKS, results of single hunks."
  (cl-flet ((n (predicate) (seq-count predicate hunks)))
    (list :total (length hunks)
          :applied (n (lambda (hunk) (eq 'applied (plist-get hunk :state))))
          :rejected (n (lambda (hunk) (eq 'rejected (plist-get hunk :state))))
          :pending (n (lambda (hunk) (null (plist-get hunk :state))))
          :in-file (n (lambda (hunk) (plist-get hunk :in-file))))))

(defun agent-q-diff-result-unsaved-p (file)
  "Return non-nil if hunks of FILE, a file's result, are in its buffer only."
  (and (< 0 (plist-get file :in-file))
       (plist-member file :saved)
       (not (plist-get file :saved))))

(defun agent-q-diff-result--of-file (change index is-lost)
  "Return the result for file INDEX of CHANGE; see `agent-q-diff-review-change'.
If IS-LOST is non-nil, the file is gone, so that no hunk is in it."
  (pcase-let* ((file (nth index (agent-q-diff-change-files change)))
               (target (agent-q-diff-file-change-target file))
               (`(,in-target ,side . ,hunks)
                (agent-q-diff-result--hunks change index is-lost
                                            agent-q-diff-message-facts-max-live-hunks))
               (counts (agent-q-diff-result--counts hunks))
               (is-any-in (< 0 (plist-get counts :in-file))))
    (append
     (list :path (agent-q-diff-target-path target)
           :old-path (agent-q-diff-file-change-old-path file)
           :new-path (agent-q-diff-file-change-new-path file)
           :kind (agent-q-diff-operation-kind file)
           :fate (agent-q-diff-result--fate file))
     counts
     (list :altered (agent-q-diff-file-change-is-altered file)
           :contradiction (and is-any-in
                               (agent-q-diff-file-change-has-text file)
                               (agent-q-diff-file-change-contradiction
                                file (agent-q-diff-file-change-buffer file)))
           :overwritten (and is-lost (< 0 in-target) (not (agent-q-diff-target-lost target)))
           :hunks hunks)
     (and (agent-q-diff-file-change-has-text file)
          (agent-q-diff-result--content file side is-any-in)))))

;;;; The report on hunks and operations

(defun agent-q-diff-result-hunks (change)
  "Return what became of each hunk and operation of CHANGE, as in a result."
  (cl-loop for file in (agent-q-diff-change-files change)
           for index from 0
           append (cddr (agent-q-diff-result--hunks
                         change index (agent-q-diff-file-change-is-lost file) 0))))

(defun agent-q-diff-result-known-p (file)
  "Return non-nil if it is known which hunks FILE has.
FILE is an `agent-q-diff-file-change', whose review may have ended."
  (or (agent-q-diff-file-change-engine file)
      (agent-q-diff-file-change-kept-engine file)))

(defun agent-q-diff-result-wheres (file)
  "Return an alist from ids of hunks of FILE to where they are.
These are as in a result, also after the end of its review.  FILE is an
`agent-q-diff-file-change'."
  (when-let* ((engine (agent-q-diff-result-known-p file))
              (path (agent-q-diff-file-change-path file)))
    (let* ((buffer (find-buffer-visiting path))
           ;; Once it is saved, what the file has was put there since, and what it has
           ;; not was taken out since.
           (is-saved (and buffer (not (agent-q-diff-disk-unsaved-p buffer)))))
      (mapcar (pcase-lambda (`(,hunk ,where . ,_))
                (cons (agent-q-diff-engine-hunk-id hunk)
                      (pcase (and is-saved where)
                        ('unsaved 'file)
                        ('buffer nil)
                        (_ where))))
              (cddr (agent-q-diff-engine-report
                     engine 0 0 path (agent-q-diff-file-change-on-disk file)))))))

(defun agent-q-diff-result--hunks (change index is-lost n-now)
  "Return (IN-TARGET SIDE . HUNKS) for file INDEX of CHANGE.
IN-TARGET is the number of hunks in its target, and SIDE as from
`agent-q-diff-engine-report'.  HUNKS are plists for its operations and
hunks, of the first N-NOW with their present lines.  IS-LOST is as for
`agent-q-diff-result--of-file'."
  (pcase-let* ((file (nth index (agent-q-diff-change-files change)))
               (buffer (agent-q-diff-file-change-buffer file))
               (`(,counts ,side . ,hunks)
                (and (agent-q-diff-file-change-has-text file)
                     (agent-q-diff-engine-report
                      (agent-q-diff-file-change-engine file)
                      (if (buffer-live-p buffer) (buffer-size buffer) 0)
                      n-now (agent-q-diff-file-change-path file)
                      (and (not is-lost) (agent-q-diff-file-change-on-disk file))))))
    `(,(or (nth 3 counts) 0) ,side
      ,@(agent-q-diff-result--operations change index)
      ,@(agent-q-diff-result--hunk-results change hunks is-lost))))

(defun agent-q-diff-result--fate (file)
  "Return whether FILE was created, in words, if that is decided with its lines."
  (let ((creation (assq 'create (agent-q-diff-file-change-operations file))))
    (and creation
         (null (agent-q-diff-file-change-decided-operations file))
         (agent-q-diff-operation-fate
          creation (eq t (agent-q-diff-operation-presence file creation))))))

(defun agent-q-diff-result--given (&rest properties)
  "Return PROPERTIES, a plist, without those that are nil."
  (cl-loop for (key value) on properties by #'cddr
           when value collect key and collect value))

(defun agent-q-diff-result--operations (change index)
  "Return a plist for each operation on file INDEX of CHANGE, as for a hunk."
  (cl-loop with file = (nth index (agent-q-diff-change-files change))
           with operations = (agent-q-diff-file-change-decided-operations file)
           with first = (and operations (aref (agent-q-diff-change-first-hunks change) index))
           for operation in operations
           for number from (or first 0)
           for hunk = (agent-q-diff-change-hunk change number)
           for is-done = (agent-q-diff-operation-done-p
                          file operation (agent-q-diff-engine-hunk-fact hunk))
           collect (nconc
                    (list :index number
                          :operation (car operation)
                          :state (agent-q-diff-engine-hunk-mark hunk)
                          :header (agent-q-diff-operation-words operation)
                          :fate (agent-q-diff-operation-fate operation is-done)
                          :in-file (and is-done t)
                          :where (and (agent-q-diff-engine-hunk-fact hunk) 'file)
                          :was-in (agent-q-diff-engine-hunk-was-in hunk)
                          :comment (agent-q-diff-change-comment change hunk)
                          :reason (alist-get number (agent-q-diff-change-failures change)))
                    (agent-q-diff-result--given
                     :decided-by (and (agent-q-diff-change-rule change hunk) 'policy)))))

(defun agent-q-diff-result-with-message (result &optional entries)
  "Return RESULT with the message for the agent added.
ENTRIES are as for `agent-q-diff-message-of-result'."
  (append result
          (list :message (agent-q-diff-message-of-result
                          result (plist-get result :path) entries))))

(defun agent-q-diff-result--content (file side is-any-in)
  "Return a plist with the text of the target of FILE, and whether it is saved.
SIDE tells which text of the proposal that is: `original', `modified' or
nil.  IS-ANY-IN is non-nil if hunks are in the target; then only the file's
bytes prove that it is saved."
  (let* ((target (agent-q-diff-file-change-target file))
         (buffer (agent-q-diff-target-buffer target)))
    (cond
     ((agent-q-diff-target-put-off target)
      (when-let ((text (and (agent-q-diff-target-can-wait-p target)
                            (or (agent-q-diff-file-change-original file)
                                (agent-q-diff-target-text target)))))
        (list :content text :saved t)))
     ((and (agent-q-diff-target-lost target) (agent-q-diff-file-change-original file))
      ;; No buffer has more, so there is nothing to be saved.
      (list :content (agent-q-diff-file-change-original file)))
     ((buffer-live-p buffer)
      (list :content (or (agent-q-diff-result--proposal-text file side)
                         (agent-q-diff-text-in buffer))
            :saved (and (not (agent-q-diff-target-is-detached target))
                        (if is-any-in
                            (agent-q-diff-disk-in-file-p buffer)
                          (not (or (agent-q-diff-disk-unsaved-p buffer)
                                   (agent-q-diff-target-disk-state target))))
                        t)
            :away (and (agent-q-diff-target-disk-state target)
                       (not (buffer-modified-p buffer))
                       (agent-q-diff-target-disk-message target)))))))

(defun agent-q-diff-result--proposal-text (file side)
  "Return the proposal's text that certainly equals the target of FILE, or nil.
SIDE is as for `agent-q-diff-result--content'.  This avoids a copy of a
large target, which would trigger a garbage collection."
  (let ((target (agent-q-diff-file-change-buffer file)))
    (when (and (not (agent-q-diff-file-change-is-adapted file))
               (eq (agent-q-diff-base-tick target) (agent-q-diff-file-change-tick file)))
      (let ((text (pcase side
                    ('original (agent-q-diff-file-change-original file))
                    ('modified (agent-q-diff-file-change-modified file)))))
        (and text
             (multibyte-string-p text)
             (buffer-local-value 'enable-multibyte-characters target)
             (= (length text) (buffer-size target))
             (null (object-intervals text))
             text)))))

(defun agent-q-diff-result--hunk-results (change hunks is-lost)
  "Return a plist for each of HUNKS of CHANGE.
HUNKS are as from `agent-q-diff-engine-report'.  IS-LOST is non-nil if the
file is gone, so that none is in it."
  (cl-loop with is-cut = (< 0 (or (agent-q-diff-change-n-extra change) 0))
           with texts = (and hunks
                             (or is-cut
                                 (seq-some (lambda (entry)
                                             (agent-q-diff-engine-hunk-is-edited
                                              (car entry)))
                                           hunks))
                             (agent-q-diff-result--hunk-texts
                              change
                              (agent-q-diff-engine-hunk-index (caar hunks))
                              (length hunks)))
           for (hunk where header . now) in hunks
           for text = (pop texts)
           for hooked = (agent-q-diff-change-hooked change hunk)
           for is-hooked = (eq 'in hooked)
           for is-in = (or is-hooked (agent-q-diff-engine-hunk-fact hunk))
           for is-lost-here = (and (not is-hooked)
                                   (eq (agent-q-diff-engine-hunk-place hunk) 'lost))
           collect (nconc
                    (list :index (agent-q-diff-engine-hunk-index hunk)
                          :state (agent-q-diff-engine-hunk-mark hunk)
                          :header header
                          :in-file (and is-in (not is-lost) (not is-lost-here))
                          :where where)
                    (agent-q-diff-result--given
                     :lost (or is-lost-here (and is-in is-lost))
                     :hooked (and (not is-lost) (if is-hooked t hooked))
                     :now now
                     :part (and is-cut text))
                    (agent-q-diff-result--rare-parts change hunk text))))

(defun agent-q-diff-result--rare-parts (change hunk text)
  "Return a plist of the rarer properties of HUNK of CHANGE.
TEXT is its diff text.  Properties that are nil are left out: a review can
have thousands of hunks."
  (let ((index (agent-q-diff-engine-hunk-index hunk))
        (place (agent-q-diff-engine-hunk-place hunk)))
    (agent-q-diff-result--given
     :was-in (agent-q-diff-engine-hunk-was-in hunk)
     :offset (and (integerp place) place)
     :fuzz (agent-q-diff-engine-hunk-fuzz hunk)
     :places (agent-q-diff-engine-hunk-places hunk)
     :edited (and (agent-q-diff-engine-hunk-is-edited hunk) text)
     :comment (agent-q-diff-change-comment change hunk)
     :decided-by (and (agent-q-diff-change-rule change hunk) 'policy)
     :reason (alist-get index (agent-q-diff-change-failures change)))))

(defun agent-q-diff-result--hunk-texts (change first total)
  "Return the diff text of each of the TOTAL hunks of CHANGE from FIRST on.
They are all of one file.  They are printed all at once: if printed one by
one, each would search for its section heading from the top of the file."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-engine-print-hunks
                (agent-q-diff-change-engine change) first (+ first total)
                (agent-q-diff-file-change-path
                 (agent-q-diff-change-file-of change first)))))
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

(defconst agent-q-diff-result--outcomes
  '((accepted . "accepted")
    (partial . "partly accepted")
    (rejected . "rejected")
    (cancelled . "cancelled")
    (stale . "could not be applied")
    (error . "error"))
  "Alist from the statuses of results to their names in the log.")

(defun agent-q-diff-result-outcome (review)
  "Return how REVIEW ended, in words that are the same in every list."
  (if (eq 'undecided (agent-q-diff-session-outcome review))
      "undecided"
    (alist-get (plist-get (agent-q-diff-session-result review) :status)
               agent-q-diff-result--outcomes)))

(defun agent-q-diff-result--logged-path (review)
  "Return the path of REVIEW for the log, a plist.
For several files, that is the directory that has them all.  It has the root of
the project as well, if that is known."
  (let* ((change (agent-q-diff-session-change review))
         (written (agent-q-diff-change-written change))
         (result (agent-q-diff-session-result review))
         (files (plist-get result :files)))
    (append
     (if (cdr files)
         (list :path (or (agent-q-diff-change-directory change) (plist-get result :path))
               :files (mapcar (lambda (file) (plist-get file :path)) files))
       (list :path (or (plist-get (car files) :path) (plist-get result :path))))
     (agent-q-diff-result--given
      :root (if written
                (agent-q-diff-written-root written)
              (agent-q-diff-call-root (agent-q-diff-session-call review)))))))

(defun agent-q-diff-result--logged-description (review)
  "Return the description of REVIEW for the log, a plist, empty if it has none."
  (let ((said (agent-q-diff-session-said review 500)))
    (unless (string-empty-p said)
      (list :description said))))

(defun agent-q-diff-result-record-again (review before)
  "Record that the user has applied or taken out hunks of REVIEW after its end.
BEFORE is the number of hunks that were in them until then."
  (agent-q-diff-log-record
   (append (list :tool (or (agent-q-diff-call-tool (agent-q-diff-session-call review)) "review")
                 :agent (agent-q-diff-session-agents review))
           (agent-q-diff-result--logged-description review)
           (agent-q-diff-result--logged-path review)
           (list :outcome (if (< (agent-q-diff-session-now-in review) before)
                              "taken out"
                            "accepted later")
                 :total (plist-get (agent-q-diff-session-result review) :total)
                 :in-file (agent-q-diff-session-now-in review)
                 :decided-by 'user
                 :reason "after the review had ended; the agent was not told"))))

(defun agent-q-diff-result-record (review)
  "Record in the log how REVIEW ended, whoever began it."
  (let ((result (agent-q-diff-session-result review))
        (target (agent-q-diff-file-change-target (agent-q-diff-session-file review))))
    (agent-q-diff-log-record
     (append
      (list :tool (or (agent-q-diff-call-tool (agent-q-diff-session-call review)) "review")
            :agent (agent-q-diff-session-agents review))
      (agent-q-diff-result--logged-description review)
      (agent-q-diff-result--logged-path review)
      (list :outcome (agent-q-diff-result-outcome review)
            :total (plist-get result :total)
            :in-file (plist-get result :in-file)
           :saved (plist-get result :saved)
           :hash-before (agent-q-diff-target-hash target)
           :hash-after (agent-q-diff-result--logged-hash review)
           :hunks (mapcar #'agent-q-diff-result--logged-hunk (plist-get result :hunks))
           :decided-by (agent-q-diff-result--decided-by review)
           :reason (or (plist-get result :reason) (plist-get result :comment))
           :diff (agent-q-diff-session-proposed review)))))
  ;; It can be as long as the file, and the review may be kept in memory.
  (setf (agent-q-diff-session-proposed review) nil))

(defun agent-q-diff-result--logged-hunk (hunk)
  "Return what the log records of HUNK, a hunk's result.
Its lines are left out, since the proposal's diff has them, and so are
properties that are nil, and that it is in the file as it seems: a review can
have thousands of hunks."
  (cl-loop for key in agent-q-diff-log-hunk-keys
           for value = (plist-get hunk key)
           unless (memq value '(nil file))
           nconc (list key (if (memq key '(:state :where)) (symbol-name value) value))))

(defun agent-q-diff-result--decided-by (review)
  "Return who ended REVIEW, a symbol."
  (pcase (agent-q-diff-session-outcome review)
    ((and (or 'decided 'undecided) (guard (agent-q-diff-session-is-by-program review))) 'program)
    ((and 'decided
          (guard (let ((hunks (plist-get (agent-q-diff-session-result review) :hunks)))
                   (and hunks
                        (seq-every-p (lambda (hunk) (plist-get hunk :decided-by)) hunks)))))
     'policy)
    ((or 'cancelled 'abandoned) 'caller)
    ('no-user 'nobody)
    ('error (if (eq 'agent-q-diff-no-user (car (agent-q-diff-session-error review)))
                'nobody
              'error))
    (_ 'user)))

(defun agent-q-diff-result--logged-hash (review)
  "Return a hash of the file of REVIEW as it is now, for the log, or nil.
Only calls of tools have one, since the file must be read once more for
it."
  (let ((target (agent-q-diff-file-change-target (agent-q-diff-session-file review))))
    (when (and agent-q-diff-log-file
               (agent-q-diff-call-tool (agent-q-diff-session-call review))
               (agent-q-diff-target-path target)
               (not (agent-q-diff-target-is-detached target)))
      (ignore-errors
        (secure-hash 'sha256 (agent-q-diff-file-bytes (agent-q-diff-target-path target)))))))

(provide 'agent-q-diff-result)
;;; agent-q-diff-result.el ends here
