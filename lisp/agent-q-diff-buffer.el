;;; agent-q-diff-buffer.el --- The state of a diff buffer and of its hunks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The variables of a diff buffer: the review, where its hunks are in the
;; buffer, and their states, which callers can also set by hand.
;;
;; In a buffer made for a proposal the review is given.  In any other
;; buffer, say one with a diff typed by hand, the review is made from the
;; buffer's text when it is first needed.

;;; Code:

(require 'diff-mode)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)

;;;; State

(defconst agent-q-diff-buffer-name "*Agent-Q Diff*"
  "Name of Agent-Q's diff buffer.
While a review is open in it, further buffers get a number after the name.
Those of other agents are named after their file.")

(defvar-local agent-q-diff-buffer-path nil
  "Absolute name of the file that the diff would change.")

(defvar-local agent-q-diff-buffer-original nil
  "The proposal's original text, or nil.")

(defvar-local agent-q-diff-buffer-modified nil
  "The proposal's modified text, or nil.")

(defvar-local agent-q-diff-buffer-description nil
  "What the agent says about the proposal, or nil.")

(defvar-local agent-q-diff-buffer-decision nil
  "The decision once there is one: \"accepted\" or \"rejected\".")

(defvar-local agent-q-diff-buffer-hunk-states nil
  "Alist from the position of a hunk's `@@' line to its state.
A state is `applied', `rejected' or nil for pending.  Entries set by hand
count like those made by commands.")

(defvar-local agent-q-diff-buffer-review nil
  "The `agent-q-diff-session' of this buffer, or nil.")

(defvar-local agent-q-diff-buffer-change nil
  "The `agent-q-diff-change' of this buffer's review, or nil.")

(defvar-local agent-q-diff-buffer-positions nil
  "Vector of the positions of the hunks' `@@' lines.
For a hunk that is not in the buffer yet, it is the end of its file's
heading; see `agent-q-diff-buffer-position' and `agent-q-diff-buffer-rest'.")

(defvar-local agent-q-diff-buffer--same nil
  "(POSITIONS . OBJECT), for `agent-q-diff-buffer-same-hunks'.")
(put 'agent-q-diff-buffer--same 'permanent-local t)

(defun agent-q-diff-buffer-same-hunks ()
  "Return an object that stays the same until the hunks of this buffer change.
Their positions may change meanwhile."
  (unless (eq agent-q-diff-buffer-positions (car agent-q-diff-buffer--same))
    (setq agent-q-diff-buffer--same (cons agent-q-diff-buffer-positions (list 'hunks))))
  (cdr agent-q-diff-buffer--same))

(defun agent-q-diff-buffer-move-hunks (positions)
  "Note that the hunks of this buffer, which stay the same, are at POSITIONS."
  (let ((same (agent-q-diff-buffer-same-hunks)))
    (setq agent-q-diff-buffer-positions positions
          agent-q-diff-buffer--same (cons positions same))))

(defvar-local agent-q-diff-buffer-rest nil
  "What is not in this buffer yet: nil, or (HUNK . INSERT).
HUNK is the first such hunk.  INSERT is a function that inserts it and those
below it, sets `agent-q-diff-buffer-positions', and returns what is left to
insert then.  Its argument is as for `agent-q-diff-buffer-complete'.")

(defvar-local agent-q-diff-buffer-headings nil
  "Vector of markers at the headings of the files, or nil if there are none.
There are headings if the change has several files, or operations.")

(defvar-local agent-q-diff-buffer-parsed-tick nil
  "Tick of this buffer when a review was last made from its text, or nil.")

(defvar-local agent-q-diff-buffer-is-made nil
  "Non-nil if this buffer's text was made from its review, not the reverse.")

(defvar-local agent-q-diff-buffer--states-read nil
  "The value of `agent-q-diff-buffer-hunk-states' that the engine knows.
It is compared by identity: adding an entry makes a new list.")

(defvar-local agent-q-diff-buffer-entries nil
  "Vector of the hunks' entries in `agent-q-diff-buffer--states-read', or nil.")

(defvar-local agent-q-diff-buffer-shown nil
  "The ambiguous hunk whose place was shown last: (ID TICK NTH . PLACES).
ID is the engine's id of the hunk, since its index changes when others are
split.  TICK is the target's tick when the place was shown; if it differs,
the place is no longer as it was shown.  NTH is the index in PLACES of the
place that was shown.  For PLACES, see `agent-q-diff-module-candidates'.")

(defvar-local agent-q-diff-buffer-home nil
  "The buffer for which this one's review was made.
In a copy of that buffer, which has its variables, it is another one.")

(defvar-local agent-q-diff-buffer-is-past nil
  "Non-nil if this buffer shows a review again that has ended.")
(put 'agent-q-diff-buffer-is-past 'permanent-local t)

(defvar-local agent-q-diff-buffer-n-below 0
  "Number of lines of the hunk at point that are below the window.")

(defvar-local agent-q-diff-buffer-n-aside 0
  "Number of changed lines of the hunk at point that a window cuts off.")

(defvar-local agent-q-diff-buffer-is-moved nil
  "Non-nil if the command that runs has moved to a hunk, or decided one.")

(defvar-local agent-q-diff-buffer-marks nil
  "Vector of the hunks' marks in the engine.")

(defvar-local agent-q-diff-buffer--n-strays 0
  "Number of entries in `agent-q-diff-buffer--states-read' without a hunk.")

(dolist (variable '(agent-q-diff-buffer-path agent-q-diff-buffer-original
                    agent-q-diff-buffer-modified agent-q-diff-buffer-description
                    agent-q-diff-buffer-decision agent-q-diff-buffer-hunk-states
                    agent-q-diff-buffer-review agent-q-diff-buffer-change
                    agent-q-diff-buffer-positions agent-q-diff-buffer-rest
                    agent-q-diff-buffer-headings agent-q-diff-buffer-parsed-tick
                    agent-q-diff-buffer-is-made
                    agent-q-diff-buffer--states-read agent-q-diff-buffer-entries
                    agent-q-diff-buffer-marks agent-q-diff-buffer--n-strays agent-q-diff-buffer-home))
  (put variable 'permanent-local t))

;;;; Where the hunks are

(defvar agent-q-diff-buffer-shown-functions nil
  "Abnormal hook run in the diff buffer after it has begun to show other text.
Each function is called with one argument, non-nil if hunks were inserted or
replaced, and nil if text was only hidden, or shown again.")

(defvar-local agent-q-diff-buffer--announced nil
  "Value of `agent-q-diff-buffer-positions' when the hook was last run for it.
It is compared by identity: changing the text makes a new vector.")

(defun agent-q-diff-buffer-announce-hunks ()
  "Run `agent-q-diff-buffer-shown-functions' if the text of any hunk has changed."
  (unless (eq agent-q-diff-buffer--announced agent-q-diff-buffer-positions)
    (setq agent-q-diff-buffer--announced agent-q-diff-buffer-positions)
    (run-hook-with-args 'agent-q-diff-buffer-shown-functions t)))

(defun agent-q-diff-buffer-announce-folds ()
  "Run `agent-q-diff-buffer-shown-functions', since text was hidden or shown."
  (run-hook-with-args 'agent-q-diff-buffer-shown-functions nil))

(defun agent-q-diff-buffer-position (hunk)
  "Return the position of the `@@' line of HUNK.
If HUNK is not in this buffer yet, insert it first, with all others."
  (when (and agent-q-diff-buffer-rest (>= hunk (car agent-q-diff-buffer-rest)))
    (agent-q-diff-buffer-complete))
  (aref agent-q-diff-buffer-positions hunk))

(defun agent-q-diff-buffer-n-inserted ()
  "Return the number of hunks that are in this buffer, the first ones of all."
  (or (car agent-q-diff-buffer-rest) (length agent-q-diff-buffer-positions)))

(defun agent-q-diff-buffer-complete (&optional until-input)
  "Insert the hunks that are not in this buffer yet, if any.
If UNTIL-INPUT is non-nil, leave the rest when the user types."
  (when agent-q-diff-buffer-rest
    ;; On a heading, it stays there and not on what is inserted above it.
    (let ((point (copy-marker (point) t))
          (inhibit-quit t))
      (agent-q-diff-base-widened
        (with-silent-modifications
          (agent-q-diff-base-collecting-once
            (setq agent-q-diff-buffer-rest
                  (funcall (cdr agent-q-diff-buffer-rest) until-input)))))
      (goto-char point)
      (set-marker point nil))
    (unless agent-q-diff-buffer-rest
      (remove-hook 'pre-command-hook #'agent-q-diff-buffer--complete-for-command t))
    (agent-q-diff-buffer-announce-hunks)))

(defun agent-q-diff-buffer-complete-soon ()
  "Insert the hunks that are not in this buffer yet when Emacs is next idle.
Do so at the latest before the next command here that can reach them."
  (when agent-q-diff-buffer-rest
    (add-hook 'pre-command-hook #'agent-q-diff-buffer--complete-for-command nil t)
    (run-with-idle-timer
     ;; If Emacs is idle now, the time counts from when it became idle.
     (or (current-idle-time) 0)
     nil #'agent-q-diff-buffer--show-and-complete (current-buffer))))

(defun agent-q-diff-buffer--show-and-complete (buffer)
  "Show BUFFER as it is, then insert the hunks that are not in it yet.
When the user types, the rest waits until Emacs is idle again."
  (when (and (buffer-live-p buffer) (buffer-local-value 'agent-q-diff-buffer-rest buffer))
    (redisplay)
    (with-current-buffer buffer
      (agent-q-diff-buffer-complete 'until-input)
      (agent-q-diff-buffer-complete-soon))))

(defun agent-q-diff-buffer--complete-for-command ()
  "Insert the hunks that are not in this buffer yet, if a command can reach them.
It cannot if it only moves to the next hunk, above a frame full of lines."
  (unless (and (eq this-command 'agent-q-diff-next-hunk)
               (null current-prefix-arg)
               (when-let* ((next (1+ (or (agent-q-diff-buffer-hunk-before) -1)))
                           (first (car agent-q-diff-buffer-rest))
                           ((< next first)))
                 (< (frame-height)
                    (count-lines (aref agent-q-diff-buffer-positions next)
                                 (aref agent-q-diff-buffer-positions (1- first))))))
    (agent-q-diff-buffer-complete)))

;;;; The review of this buffer

(defun agent-q-diff-buffer-ended-p ()
  "Return non-nil if this buffer was made for a review that has ended."
  (and agent-q-diff-buffer-is-made
       (not (and agent-q-diff-buffer-change
                 (agent-q-diff-change-engine agent-q-diff-buffer-change)))))

(defun agent-q-diff-buffer-awaited-p (&optional buffer)
  "Return the function that ends the review of BUFFER, if its end is waited for.
Otherwise, as when it has ended, return nil.  BUFFER is by default the current
one."
  (when-let ((review (buffer-local-value 'agent-q-diff-buffer-review
                                         (or buffer (current-buffer)))))
    (agent-q-diff-session-end review)))

(defun agent-q-diff-buffer-copied-p ()
  "Return non-nil if this buffer has its review only as the copy of another one."
  (and agent-q-diff-buffer-review
       (not (eq agent-q-diff-buffer-home (current-buffer)))))

(defun agent-q-diff-buffer-written-p ()
  "Return non-nil if what is reviewed here was written before."
  (and agent-q-diff-buffer-change
       (agent-q-diff-change-written agent-q-diff-buffer-change)
       t))

(defun agent-q-diff-buffer-mark-word (mark)
  "Return the word for hunks with MARK: `applied', `rejected' or nil.
For `applied' it is \"applied\", \"accepted\" if the target is a text that is in
no file yet, or \"kept\" if the hunks were written before the review."
  (let* ((change agent-q-diff-buffer-change)
         (is-written (and change (agent-q-diff-change-written change))))
    (pcase-exhaustive mark
      ('applied (cond
                 (is-written "kept")
                 ((and change (agent-q-diff-change-is-detached change)) "accepted")
                 (t "applied")))
      ('rejected (if is-written "taken out" "rejected"))
      ('nil "pending"))))

(defun agent-q-diff-buffer-target-word ()
  "Return the word for the target of this buffer's review, \"file\" or \"text\"."
  (if (and agent-q-diff-buffer-change
           (agent-q-diff-change-is-detached agent-q-diff-buffer-change))
      "text"
    "file"))

(defun agent-q-diff-buffer-typed-p ()
  "Return non-nil if this buffer's text is the user's own and can be edited."
  (not (or agent-q-diff-buffer-is-made buffer-read-only)))

(defun agent-q-diff-buffer-context ()
  "Return (CHANGE . HUNK), which a command in this buffer works on.
CHANGE is this buffer's change, made from its text if necessary, and HUNK the
hunk at point, or nil.  Signal `agent-q-diff-malformed' if the text is not a
diff, or `agent-q-diff-ended' if the review has ended."
  (when (agent-q-diff-buffer-ended-p)
    (signal 'agent-q-diff-ended '("the review has ended")))
  (unless (or agent-q-diff-buffer-is-made
              (and agent-q-diff-buffer-review
                   (not (agent-q-diff-buffer-copied-p))
                   (eq agent-q-diff-buffer-parsed-tick (buffer-chars-modified-tick))))
    (agent-q-diff-buffer--drop-review)
    (let ((file (agent-q-diff-file-change-open-diff (agent-q-diff-buffer--diff-text))))
      (agent-q-diff-buffer-adopt
       (agent-q-diff-session-of file)
       (agent-q-diff-module-header-lines (agent-q-diff-file-change-engine file)))
      (setq agent-q-diff-buffer-parsed-tick (buffer-chars-modified-tick))))
  (let ((hunk (agent-q-diff-buffer-hunk-at-point)))
    (agent-q-diff-buffer--read-states hunk)
    (cons agent-q-diff-buffer-change hunk)))

(defun agent-q-diff-buffer-current-change ()
  "Return this buffer's change, made from its text if necessary.
Signal the same errors as `agent-q-diff-buffer-context'."
  (car (agent-q-diff-buffer-context)))

(defun agent-q-diff-buffer-distrust-states ()
  "Make the next command read every state, since any may have been set by hand.
Usually only the entry of the hunk at point is checked for a change in
place, so that a key takes no longer if there are more hunks."
  (setq agent-q-diff-buffer-entries nil))

(defun agent-q-diff-buffer-known-p ()
  "Return non-nil if this buffer has hunks and the engine knows them."
  (and agent-q-diff-buffer-change
       (agent-q-diff-change-engine agent-q-diff-buffer-change)
       (or agent-q-diff-buffer-is-made
           (and (not (agent-q-diff-buffer-copied-p))
                (eq agent-q-diff-buffer-parsed-tick (buffer-chars-modified-tick))))))

(defun agent-q-diff-buffer--diff-text ()
  "Return the text of this buffer, a diff that was not made from a review.
If all its lines end with CRLF, those of the target's file may as well;
they are then given the line ends that the target's buffer has."
  (agent-q-diff-base-widened
    (let ((text (buffer-substring-no-properties (point-min) (point-max)))
          (visiting (and agent-q-diff-buffer-path
                         (find-buffer-visiting agent-q-diff-buffer-path))))
      (agent-q-diff-line-ends-adapt-diff
       text text (if visiting (agent-q-diff-text-in visiting) "")
       (and visiting (agent-q-diff-line-ends visiting))))))

(defun agent-q-diff-buffer--drop-review ()
  "Free this buffer's review, if it has one."
  (when agent-q-diff-buffer-review
    (unless (agent-q-diff-buffer-copied-p)
      (agent-q-diff-change-close (agent-q-diff-session-change agent-q-diff-buffer-review)))
    (setq agent-q-diff-buffer-review nil
          agent-q-diff-buffer-change nil)))

(defun agent-q-diff-buffer-adopt (review header-lines &optional start)
  "Make REVIEW this buffer's, with its hunk headers on HEADER-LINES.
The lines are counted from 0 at the position START, or `point-min'."
  (setq agent-q-diff-buffer-review review
        agent-q-diff-buffer-home (current-buffer)
        agent-q-diff-buffer-change (agent-q-diff-session-change review)
        agent-q-diff-buffer-entries nil
        agent-q-diff-buffer-marks nil
        agent-q-diff-buffer-headings nil
        agent-q-diff-buffer-rest nil
        agent-q-diff-buffer-positions
        (save-excursion
          (goto-char (or start (point-min)))
          (vconcat (agent-q-diff-buffer-positions-in header-lines)))))

(defun agent-q-diff-buffer-positions-in (header-lines)
  "Return a list of the positions of HEADER-LINES, counted from 0 at point."
  (save-excursion
    (cl-loop for before = 0 then line
             for line in header-lines
             do (forward-line (- line before))
             collect (point))))

(defun agent-q-diff-buffer-change-or-nil ()
  "Return this buffer's change, or nil if it has none.
It has none if its text is not a diff, or if the review has ended."
  (condition-case nil
      (agent-q-diff-buffer-current-change)
    ((agent-q-diff-malformed agent-q-diff-several-files agent-q-diff-ended) nil)))

;;;; States

(defun agent-q-diff-buffer--first-entries ()
  "Return a hash table from positions to entries of the hunks' states.
The entries are those of `agent-q-diff-buffer-hunk-states'.  If there are
several for a position, the first counts, as for `alist-get'."
  (let ((entries (make-hash-table)))
    (dolist (entry agent-q-diff-buffer-hunk-states entries)
      (unless (gethash (car entry) entries)
        (puthash (car entry) entry entries)))))

(defun agent-q-diff-buffer--read-states (here)
  "Pass to the engine what was set by hand in `agent-q-diff-buffer-hunk-states'.
HERE is the hunk at point, or nil."
  (if (and agent-q-diff-buffer-entries
           (eq agent-q-diff-buffer-hunk-states agent-q-diff-buffer--states-read))
      (when here
        (agent-q-diff-buffer--read-state here (aref agent-q-diff-buffer-entries here)))
    (agent-q-diff-buffer--note-entries)
    (unless (length= agent-q-diff-buffer-marks (length agent-q-diff-buffer-positions))
      (setq agent-q-diff-buffer-marks
            (vconcat (agent-q-diff-change-marks agent-q-diff-buffer-change))))
    (cl-loop for entry across agent-q-diff-buffer-entries
             for hunk from 0
             do (agent-q-diff-buffer--read-state hunk entry))))

(defun agent-q-diff-buffer--read-state (hunk entry)
  "Pass the state of HUNK in ENTRY, which may be nil, to the engine."
  (unless (eq (cdr entry) (aref agent-q-diff-buffer-marks hunk))
    (setf (agent-q-diff-change-committed agent-q-diff-buffer-change) nil)
    (agent-q-diff-module-set-mark (agent-q-diff-change-engine agent-q-diff-buffer-change)
                                  hunk (cdr entry))
    (aset agent-q-diff-buffer-marks hunk (cdr entry))))

(defun agent-q-diff-buffer--note-entries ()
  "Record which entries of `agent-q-diff-buffer-hunk-states' belong to hunks."
  (let ((entries (agent-q-diff-buffer--first-entries))
        (found (make-vector (length agent-q-diff-buffer-positions) nil))
        (n-found 0))
    (unless (zerop (hash-table-count entries))
      (dotimes (hunk (length found))
        (when-let ((entry (gethash (agent-q-diff-buffer-position hunk) entries)))
          (aset found hunk entry)
          (cl-incf n-found))))
    ;; C-g may come before this, but not in the middle of it.
    (setq agent-q-diff-buffer--states-read agent-q-diff-buffer-hunk-states
          agent-q-diff-buffer-entries found
          agent-q-diff-buffer--n-strays (- (hash-table-count entries) n-found))))

(defun agent-q-diff-buffer-write-state (hunk mark)
  "Store MARK, the engine's mark of HUNK, in `agent-q-diff-buffer-hunk-states'."
  (let ((entry (aref agent-q-diff-buffer-entries hunk)))
    (aset agent-q-diff-buffer-marks hunk mark)
    (if entry
        (setcdr entry mark)
      (setq entry (cons (agent-q-diff-buffer-position hunk) mark))
      (aset agent-q-diff-buffer-entries hunk entry)
      (push entry agent-q-diff-buffer-hunk-states)
      (setq agent-q-diff-buffer--states-read agent-q-diff-buffer-hunk-states))))

(defun agent-q-diff-buffer-write-states ()
  "Store every mark of the engine in `agent-q-diff-buffer-hunk-states'.
Entries that belong to no hunk are kept."
  (agent-q-diff-buffer-complete)
  (let* ((marks (agent-q-diff-change-marks agent-q-diff-buffer-change))
         (entries (cl-loop for position across agent-q-diff-buffer-positions
                           for mark in marks
                           collect (cons position mark)))
         ;; If the states were read, it is known whether there are any.
         (strays (and (not (and agent-q-diff-buffer-entries
                                (eq agent-q-diff-buffer-hunk-states agent-q-diff-buffer--states-read)
                                (zerop agent-q-diff-buffer--n-strays)))
                      (agent-q-diff-buffer-stray-states))))
    (setq agent-q-diff-buffer-hunk-states (append entries strays)
          agent-q-diff-buffer--states-read agent-q-diff-buffer-hunk-states
          agent-q-diff-buffer-entries (vconcat entries)
          agent-q-diff-buffer-marks (vconcat marks)
          agent-q-diff-buffer--n-strays (length (seq-uniq (mapcar #'car strays))))))

(defun agent-q-diff-buffer-stray-states ()
  "Return the entries of `agent-q-diff-buffer-hunk-states' without a hunk."
  (agent-q-diff-buffer-complete)
  (let ((known (make-hash-table)))
    (mapc (lambda (position) (puthash position t known))
          agent-q-diff-buffer-positions)
    (seq-remove (lambda (entry) (gethash (car entry) known))
                agent-q-diff-buffer-hunk-states)))

(defun agent-q-diff-count-hunks ()
  "Return the number of hunks in this buffer."
  (if (or (agent-q-diff-buffer-ended-p) (agent-q-diff-buffer-change-or-nil))
      (length agent-q-diff-buffer-positions)
    (save-excursion
      (goto-char (point-min))
      (how-many "^@@ .* @@"))))

(defun agent-q-diff-buffer-counts (&optional change)
  "Return (TOTAL APPLIED REJECTED PENDING), numbers of hunks.
States set by hand for positions without a hunk count as well.  CHANGE is
this buffer's change, if the states of its hunks have just been read."
  (let ((change (or change (agent-q-diff-buffer-change-or-nil))))
    (if (and change (zerop agent-q-diff-buffer--n-strays))
        (agent-q-diff-change-tally change)
      (agent-q-diff-buffer--counts-by-hand))))

(defun agent-q-diff-buffer--counts-by-hand ()
  "Return (TOTAL APPLIED REJECTED PENDING), counted in the states set by hand."
  (let* ((states (mapcar #'cdr (hash-table-values (agent-q-diff-buffer--first-entries))))
         (total (max (agent-q-diff-count-hunks) (length states)))
         (applied (seq-count (apply-partially #'eq 'applied) states))
         (rejected (seq-count (apply-partially #'eq 'rejected) states)))
    (list total applied rejected (- total applied rejected))))

;;;; Progress line

(defun agent-q-diff-buffer-edit-quietly (edit)
  "Call EDIT, a function that edits this buffer along with its review.
The buffer keeps its modified flag, and its text still counts as that of
its review.  Return the number of characters by which it has grown."
  (let ((size (buffer-size))
        (is-parsed (eq agent-q-diff-buffer-parsed-tick (buffer-chars-modified-tick)))
        (was-modified (buffer-modified-p)))
    (let ((inhibit-read-only t))
      (funcall edit))
    (restore-buffer-modified-p was-modified)
    (when is-parsed
      (setq agent-q-diff-buffer-parsed-tick (buffer-chars-modified-tick)))
    (- (buffer-size) size)))

(defun agent-q-diff-buffer-shift-states (states at delta)
  "Return STATES with all positions from AT on increased by DELTA."
  (mapcar (pcase-lambda (`(,position . ,state))
            (cons (if (and (integerp position) (>= position at))
                      (+ position delta)
                    position)
                  state))
          states))

;;;; Overlays

(defun agent-q-diff-buffer-section-end (file)
  "Return where the section of the file with the index FILE ends."
  (if (< (1+ file) (length agent-q-diff-buffer-headings))
      (marker-position (aref agent-q-diff-buffer-headings (1+ file)))
    (point-max)))

(defun agent-q-diff-buffer-hunk-end (hunk)
  "Return the end of HUNK.
In a buffer made for a proposal it is where the next hunk or heading begins."
  (agent-q-diff-base-widened
    (if (not agent-q-diff-buffer-is-made)
        (agent-q-diff-buffer-typed-end (agent-q-diff-buffer-position hunk))
      (let ((next (if (< (1+ hunk) (length agent-q-diff-buffer-positions))
                      (aref agent-q-diff-buffer-positions (1+ hunk))
                    (point-max))))
        (if agent-q-diff-buffer-headings
            ;; By the text alone: the engine may have joined hunks already.
            (min next (agent-q-diff-buffer-section-end
                       (agent-q-diff-base-last-at-most
                        agent-q-diff-buffer-headings
                        (aref agent-q-diff-buffer-positions hunk))))
          next)))))

;;;; The lines of a hunk

(defvar-local agent-q-diff-buffer--lines nil
  "What is known of the lines of hunks, (SAME . LINES), or nil.
SAME was `agent-q-diff-buffer-same-hunks' then.  LINES is a vector with an
`agent-q-diff-engine-lines' for each hunk, nil for one that changes no lines,
or t if it was not asked for yet.")
(put 'agent-q-diff-buffer--lines 'permanent-local t)

(defun agent-q-diff-buffer--known-lines ()
  "Return the vector of `agent-q-diff-buffer--lines', as of this buffer now."
  (unless (eq (agent-q-diff-buffer-same-hunks) (car agent-q-diff-buffer--lines))
    (setq agent-q-diff-buffer--lines
          (cons (agent-q-diff-buffer-same-hunks)
                (make-vector (length agent-q-diff-buffer-positions) t))))
  (cdr agent-q-diff-buffer--lines))

(defun agent-q-diff-buffer-lines (hunk)
  "Return which lines HUNK has, an `agent-q-diff-engine-lines'.
Return nil if it changes no lines, or is not in this buffer yet."
  (let ((known (agent-q-diff-buffer--known-lines)))
    (when (< hunk (agent-q-diff-buffer-n-inserted))
      (when (eq t (aref known hunk))
        (aset known hunk (agent-q-diff-buffer--ask-lines hunk)))
      (aref known hunk))))

(defun agent-q-diff-buffer-lines-of (bytes)
  "Return (LINES . IS-OPEN), to show BYTES, the content of a file, or nil.
IS-OPEN is non-nil if the last line has no newline."
  (let ((text (decode-coding-string (or bytes "") 'undecided)))
    (cond
     ((string-empty-p text) nil)
     ((string-search "\0" text) '(("… (not a text)")))
     (t (cons (split-string (string-remove-suffix "\n" text) "\n")
              (not (string-suffix-p "\n" text)))))))

(defun agent-q-diff-buffer--ask-lines (hunk)
  "Return which lines HUNK has now, from the engine or from its file."
  (pcase (agent-q-diff-change-operation-of agent-q-diff-buffer-change hunk)
    ('nil (car (agent-q-diff-module-shown-lines
                (agent-q-diff-change-engine agent-q-diff-buffer-change) hunk (1+ hunk))))
    (operation
     (pcase-let* ((`(,before . ,after) (agent-q-diff-operation-contents operation))
                  (`(,old . ,is-old-open) (agent-q-diff-buffer-lines-of before))
                  (`(,new . ,is-new-open) (agent-q-diff-buffer-lines-of after)))
       (when (or before after)
         (agent-q-diff-engine-lines-create
          :old 0 :n-old (length old) :new 0 :n-new (length new)
          :kinds (concat (make-string (length old) ?r) (and is-old-open "n")
                         (make-string (length new) ?a) (and is-new-open "n"))))))))

(defun agent-q-diff-buffer-keep-lines ()
  "Find out about the lines of all hunks of this buffer, whose review ends."
  (when (agent-q-diff-buffer-known-p)
    (let ((known (agent-q-diff-buffer--known-lines))
          (engine (agent-q-diff-change-engine agent-q-diff-buffer-change))
          (n (agent-q-diff-buffer-n-inserted)))
      (cl-loop for lines in (and engine (agent-q-diff-module-shown-lines engine 0 n))
               for hunk from 0
               do (aset known hunk (or lines (agent-q-diff-buffer--ask-lines hunk)))))))

(defun agent-q-diff-buffer-kind-at (position)
  "Return the kind of the line that POSITION is on, a character, or nil.
See `agent-q-diff-module-shown-lines'.  It is nil outside of the lines of hunks."
  (when-let* ((hunk (agent-q-diff-buffer-hunk-at-point position))
              (lines (agent-q-diff-buffer-lines hunk))
              (kinds (agent-q-diff-engine-lines-kinds lines))
              (n (save-excursion
                   (agent-q-diff-base-widened
                     (goto-char position)
                     (count-lines (aref agent-q-diff-buffer-positions hunk)
                                  (line-beginning-position))))))
    (and (< 0 n (1+ (length kinds)))
         (aref kinds (1- n)))))

(defmacro agent-q-diff-buffer-each-line (spec &rest body)
  "Carry out BODY at the beginning of each line of a hunk, with KIND its kind.
SPEC is (KIND HUNK); see `agent-q-diff-module-shown-lines'.  BODY stays on its
line, and may call `cl-return'.  What the buffer is narrowed to does not matter.

\(fn (KIND HUNK) BODY...)"
  (declare (indent 1) (debug ((symbolp form) body)))
  (pcase-let ((`(,kind ,hunk) spec)
              (lines (make-symbol "lines")))
    `(let ((,lines (agent-q-diff-buffer-lines ,hunk)))
       (when ,lines
         (save-excursion
           (agent-q-diff-base-widened
             (goto-char (agent-q-diff-buffer-position ,hunk))
             (cl-loop for ,kind across (agent-q-diff-engine-lines-kinds ,lines)
                      do (forward-line)
                      do (progn ,@body))))))))

(defun agent-q-diff-buffer-regions (hunk)
  "Return where the lines of HUNK are, a list of (KIND BEG . END).
END is where the next line begins.  A no-newline marker is part of its line."
  (let ((lines nil))
    (agent-q-diff-buffer-each-line (kind hunk)
      (let ((next (line-beginning-position 2)))
        (if (eq ?n kind)
            (setcdr (cdar lines) next)
          (push (cons kind (cons (point) next)) lines))))
    (nreverse lines)))

(defun agent-q-diff-buffer-line-text ()
  "Return the text of the line of a hunk at point, without its sign."
  (buffer-substring-no-properties (min (1+ (point)) (line-end-position))
                                  (line-end-position)))

(defun agent-q-diff-buffer-typed-end (position)
  "Return the end of the hunk whose `@@' line is at POSITION, by its header.
A no-newline marker is part of it.  The text is the user's own."
  (save-excursion
    (goto-char position)
    (condition-case nil
        (progn (diff-end-of-hunk)
               (when (looking-at-p "\\\\ ")
                 (forward-line))
               (point))
      (error (line-end-position)))))

;;;; Commands that are run elsewhere

(defvar agent-q-diff-buffer-elsewhere-functions nil
  "Abnormal hook of functions that run a command of diff buffers from elsewhere.
Each is called with the command in a buffer that is no diff buffer, and returns
non-nil if it has run it.")

(defmacro agent-q-diff-buffer-elsewhere-p (command)
  "Return non-nil if COMMAND was run from this buffer, which is no diff buffer.
In the buffer of a file in which a review is drawn, it is for the hunk at point."
  `(and (not (derived-mode-p 'diff-mode))
        (run-hook-with-args-until-success 'agent-q-diff-buffer-elsewhere-functions ,command)))

;;;; Where point is

(defun agent-q-diff-buffer-pending (hunks)
  "Return those of HUNKS, a list, that are pending."
  (seq-remove (lambda (hunk) (aref agent-q-diff-buffer-marks hunk)) hunks))

(defun agent-q-diff-buffer-all ()
  "Return all hunks of this buffer, a list."
  (number-sequence 0 (1- (length agent-q-diff-buffer-marks))))

(defun agent-q-diff-buffer-first-pending (hunks)
  "Return the first of HUNKS, a list, that is pending, or else the first."
  (or (seq-find (lambda (hunk) (null (aref agent-q-diff-buffer-marks hunk))) hunks)
      (car hunks)))

(defun agent-q-diff-buffer-hunk-at-point (&optional position)
  "Return the index of the hunk at POSITION, by default at point.
Before the first hunk, and on the heading of a file, return nil."
  (let ((position (or position (point))))
    (and (not (get-text-property (min position (point-max)) 'agent-q-diff-heading))
         (agent-q-diff-base-last-at-most agent-q-diff-buffer-positions position))))

(defun agent-q-diff-buffer-hunk-before (&optional position)
  "Return the last hunk that begins at or before POSITION, by default point.
If there is none, return nil."
  (agent-q-diff-base-last-at-most agent-q-diff-buffer-positions (or position (point))))

(defun agent-q-diff-buffer-hunk-here ()
  "Return the index of the hunk at point, or signal that there is none."
  (or (agent-q-diff-buffer-hunk-at-point)
      (user-error (if (agent-q-diff-buffer-heading-at-point)
                      "Point is on the heading of a file, not on a hunk"
                    "Point is before the first hunk"))))

(defun agent-q-diff-buffer-heading-at-point ()
  "Return the index of the file whose heading point is on, or nil."
  (and agent-q-diff-buffer-headings
       (get-text-property (point) 'agent-q-diff-heading)
       (agent-q-diff-buffer-file-index)))

(defun agent-q-diff-buffer-file-index (&optional hunk)
  "Return the index of the file of HUNK, or if that is nil, of the file at point.
Above the first file, that is the first."
  (cond
   (hunk (agent-q-diff-change-file-index agent-q-diff-buffer-change hunk))
   (agent-q-diff-buffer-headings
    (or (agent-q-diff-base-last-at-most agent-q-diff-buffer-headings (point)) 0))
   (t 0)))

(defun agent-q-diff-buffer-file (&optional hunk)
  "Return the `agent-q-diff-file-change' of HUNK, by default the one at point.
Above the first file, that is the first."
  (nth (agent-q-diff-buffer-file-index hunk)
       (agent-q-diff-change-files agent-q-diff-buffer-change)))

(defun agent-q-diff-buffer-hunk-words (hunk &optional is-first)
  "Return the name of HUNK, as from `agent-q-diff-change-hunk-words'.
If IS-FIRST is non-nil, the words begin a sentence."
  (let ((words (if (and agent-q-diff-buffer-change (not (agent-q-diff-buffer-ended-p)))
                   (agent-q-diff-change-hunk-words agent-q-diff-buffer-change hunk)
                 (format "hunk %d" (1+ hunk)))))
    (if is-first
        (concat (upcase (substring words 0 1)) (substring words 1))
      words)))

(defun agent-q-diff-buffer-goto-hunk (hunk &optional here)
  "Move to HUNK, and undo any narrowing.
If it is not the hunk at point, forget which place of a hunk was shown.  HERE
is the hunk at point, if that is known."
  (unless (eql hunk (or here (agent-q-diff-buffer-hunk-at-point)))
    (setq agent-q-diff-buffer-shown nil))
  (widen)
  (setq agent-q-diff-buffer-is-moved t)
  (goto-char (agent-q-diff-buffer-position hunk))
  (when agent-q-diff-buffer-headings
    (agent-q-diff-buffer-unfold-file)))

(defun agent-q-diff-buffer-unfold-file ()
  "Show the hunks of the file at point, if they are folded into its heading.
Return non-nil if they were."
  (when agent-q-diff-buffer-headings
    (let* ((file (agent-q-diff-buffer-file-index))
           (folds (agent-q-diff-buffer-folds
                   (aref agent-q-diff-buffer-headings file)
                   (agent-q-diff-buffer-section-end file))))
      (when folds
        (mapc #'delete-overlay folds)
        (agent-q-diff-buffer-announce-folds))
      folds)))

(defun agent-q-diff-buffer-folds (beg end)
  "Return the overlays between BEG and END that fold files into their headings."
  (seq-filter (lambda (overlay) (overlay-get overlay 'agent-q-diff-folded-file))
              (overlays-in beg end)))

;;; Lines added and removed, and hunks decided

(defvar-local agent-q-diff-buffer--line-counts nil
  "What is known of lines added and removed, (SAME COUNTS . WORDS), or nil.
SAME was `agent-q-diff-buffer-same-hunks' then; COUNTS are as from
`agent-q-diff-buffer-line-counts', and WORDS for all of them.")

(defun agent-q-diff-buffer-line-counts ()
  "Return (ADDED . REMOVED), numbers of lines, for each file of this review.
The value is a vector.  The lines of a file that is to be deleted, or becomes a
link, or was one, count."
  (if (or (eq (agent-q-diff-buffer-same-hunks) (car agent-q-diff-buffer--line-counts))
          (agent-q-diff-buffer-ended-p))
      (cadr agent-q-diff-buffer--line-counts)
    (let* ((change agent-q-diff-buffer-change)
           (counts (vconcat
                    (cl-mapcar
                     (pcase-lambda (file `(,added . ,removed))
                       (pcase-let ((`(,more-removed . ,more-added)
                                    (agent-q-diff-buffer--n-lines-of-operations file)))
                         (cons (+ added more-added) (+ removed more-removed))))
                     (agent-q-diff-change-files change)
                     (agent-q-diff-module-line-counts (agent-q-diff-change-engine change))))))
      (setq agent-q-diff-buffer--line-counts
            (cons (agent-q-diff-buffer-same-hunks)
                  (cons counts (agent-q-diff-buffer-lines-words (append counts nil)))))
      counts)))

(defun agent-q-diff-buffer-all-lines-words ()
  "Return the number of lines added and removed in this review, as words."
  (unless (eq (agent-q-diff-buffer-same-hunks) (car agent-q-diff-buffer--line-counts))
    (agent-q-diff-buffer-line-counts))
  (or (cddr agent-q-diff-buffer--line-counts) ""))

(defun agent-q-diff-buffer--n-lines-of-operations (file)
  "Return (REMOVED . ADDED), how many lines the operations of FILE have."
  (cl-flet ((n (bytes)
              (if bytes (agent-q-diff-operation-n-lines bytes) 0)))
    (cl-loop for operation in (agent-q-diff-file-change-operations file)
             for (before . after) = (agent-q-diff-operation-contents operation)
             sum (n before) into removed
             sum (n after) into added
             finally return (cons removed added))))

(defun agent-q-diff-buffer-lines-words (counts)
  "Return words for COUNTS, a list of (ADDED . REMOVED): \"+12 -3\" for all."
  (format "+%d -%d" (apply #'+ (mapcar #'car counts)) (apply #'+ (mapcar #'cdr counts))))

(defun agent-q-diff-buffer-n-unsaved ()
  "Return how many decisions here are not in a file yet, since it is not saved.
What was accepted is only in its buffer; what was taken out is still in the
file, if it was written before the review."
  (if (agent-q-diff-buffer-known-p)
      (seq-count (lambda (hunk)
                   (or (equal '(applied buffer) hunk)
                       (and (equal '(rejected unsaved) hunk)
                            (agent-q-diff-buffer-written-p))))
                 (mapcan #'agent-q-diff-file-change-unsaved-hunks
                         (agent-q-diff-change-files agent-q-diff-buffer-change)))
    0))

(defun agent-q-diff-buffer-decided-words (applied rejected &optional total)
  "Return words for APPLIED and REJECTED, numbers of hunks, a list without zeros.
If TOTAL is not nil, those applied are so many of it."
  (delq nil
        (list (and (< 0 applied)
                   (format "%d%s %s" applied (if total (format " of %d" total) "")
                           (agent-q-diff-buffer-mark-word 'applied)))
              (and (< 0 rejected)
                   (format "%d %s" rejected (agent-q-diff-buffer-mark-word 'rejected))))))

(defun agent-q-diff-buffer-counts-words (applied rejected pending)
  "Return words for the lines of this review, and how far its hunks are decided.
APPLIED, REJECTED and PENDING are numbers of hunks."
  (string-join
   `(,(agent-q-diff-buffer-all-lines-words)
     ,@(agent-q-diff-buffer-decided-words applied rejected)
     ,(format "%d pending" pending))
   " · "))

(defun agent-q-diff-buffer-narrowest ()
  "Return how many columns a line has in each window of this buffer, or nil."
  (when-let ((windows (get-buffer-window-list nil nil t)))
    (apply #'min (mapcar #'window-max-chars-per-line windows))))

(provide 'agent-q-diff-buffer)
;;; agent-q-diff-buffer.el ends here
