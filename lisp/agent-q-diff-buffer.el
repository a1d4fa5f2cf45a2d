;;; agent-q-diff-buffer.el --- The state of a diff buffer, its hunks and its sections  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The variables of a diff buffer: the review, where its hunks are in the
;; buffer, and their states, which callers can also set by hand.
;;
;; In a buffer made for a proposal the review is given.  In any other
;; buffer, say one with a diff typed by hand, the review is made from the
;; buffer's text when it is first needed.
;;
;; If a change has several files, or does more to one than change its text,
;; each file is a section of the diff buffer: a heading, which says what
;; happens to the file and how far it is decided, and below it the hunks.

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
HUNK is the first such hunk.  INSERT is a function that inserts it and all
below it, and sets `agent-q-diff-buffer-positions'.")

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

(defun agent-q-diff-buffer-complete ()
  "Insert the hunks that are not in this buffer yet, if any."
  (when agent-q-diff-buffer-rest
    (let ((insert (cdr agent-q-diff-buffer-rest))
          ;; On a heading, it stays there and not on what is inserted above it.
          (point (copy-marker (point) t))
          (inhibit-quit t))
      (setq agent-q-diff-buffer-rest nil)
      (remove-hook 'pre-command-hook #'agent-q-diff-buffer-complete t)
      (agent-q-diff-base-widened
        (with-silent-modifications
          (funcall insert)))
      (goto-char point)
      (set-marker point nil))
    (agent-q-diff-buffer-announce-hunks)))

(defun agent-q-diff-buffer-complete-soon ()
  "Insert the hunks that are not in this buffer yet when Emacs is next idle.
Do so at the latest before the next command here."
  (when agent-q-diff-buffer-rest
    (add-hook 'pre-command-hook #'agent-q-diff-buffer-complete nil t)
    (run-with-idle-timer
     ;; If Emacs is idle now, the time counts from when it became idle.
     (or (current-idle-time) 0)
     nil #'agent-q-diff-buffer--show-and-complete (current-buffer))))

(defun agent-q-diff-buffer--show-and-complete (buffer)
  "Show BUFFER as it is, then insert the hunks that are not in it yet."
  (when (and (buffer-live-p buffer) (buffer-local-value 'agent-q-diff-buffer-rest buffer))
    (redisplay)
    (with-current-buffer buffer
      (agent-q-diff-buffer-complete))))

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

(defun agent-q-diff-buffer-applied-word ()
  "Return the word for accepted hunks; see `agent-q-diff-buffer-mark-word'."
  (agent-q-diff-buffer-mark-word 'applied))

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
        (n-found 0))
    (setq agent-q-diff-buffer--states-read agent-q-diff-buffer-hunk-states
          agent-q-diff-buffer-entries (make-vector (length agent-q-diff-buffer-positions) nil))
    (unless (zerop (hash-table-count entries))
      (dotimes (hunk (length agent-q-diff-buffer-positions))
        (when-let ((entry (gethash (agent-q-diff-buffer-position hunk) entries)))
          (aset agent-q-diff-buffer-entries hunk entry)
          (cl-incf n-found))))
    (setq agent-q-diff-buffer--n-strays (- (hash-table-count entries) n-found))))

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

(defun agent-q-diff-buffer--ask-lines (hunk)
  "Return which lines HUNK has now, from the engine or from its file."
  (pcase (agent-q-diff-change-operation-of agent-q-diff-buffer-change hunk)
    ('nil (car (agent-q-diff-module-shown-lines
                (agent-q-diff-change-engine agent-q-diff-buffer-change) hunk (1+ hunk))))
    (operation
     (pcase-let* ((`(,before . ,after) (agent-q-diff-operation-contents operation))
                  (`(,old . ,is-old-open) (agent-q-diff-section--lines-of before))
                  (`(,new . ,is-new-open) (agent-q-diff-section--lines-of after)))
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
                           (agent-q-diff-buffer-applied-word)))
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

;;; The files of a change, each under a heading

;;;; Writing

(defvar-local agent-q-diff-section--words nil
  "Vector of what each heading shows, the words or nil; nil if nothing yet.")
(put 'agent-q-diff-section--words 'permanent-local t)

(defvar-local agent-q-diff-section--width nil
  "The number of columns that the headings are shown for, or nil if no window is.")

(defun agent-q-diff-section-file-name (path)
  "Return PATH, a file of this buffer's change, for display."
  (agent-q-diff-visible-name
   (if (string-prefix-p default-directory path)
       (substring path (length default-directory))
     (abbreviate-file-name path))))

(defun agent-q-diff-section--name (file)
  "Return the name of FILE, an `agent-q-diff-file-change', before and after."
  (let ((old (agent-q-diff-file-change-old-path file))
        (new (agent-q-diff-file-change-new-path file)))
    (if (and old new (not (equal old new)))
        (format "%s → %s" (agent-q-diff-section-file-name old)
                (agent-q-diff-section-file-name new))
      (agent-q-diff-section-file-name (or new old)))))

(defun agent-q-diff-section--insert-heading (file)
  "Insert the heading of FILE and return its position, a marker."
  (let ((beg (point))
        (name (agent-q-diff-section--name file)))
    (insert (propertize (format "%-10s %s%s\n" (agent-q-diff-operation-kind file) name
                                (if (agent-q-diff-operation-creates-executable-p file)
                                    " (executable)"
                                  ""))
                        'agent-q-diff-heading name
                        'font-lock-face 'agent-q-diff-file-heading))
    (copy-marker beg t)))

(defun agent-q-diff-section--insert-operation (operation)
  "Insert OPERATION as a hunk, and return its position."
  (prog1 (point)
    (insert (propertize (format "@@ %s @@" (agent-q-diff-operation-words operation))
                        'font-lock-face 'diff-hunk-header)
            "\n")
    (pcase-let ((`(,before . ,after) (agent-q-diff-operation-contents operation)))
      (pcase-dolist (`(,sign . ,bytes) (list (cons "-" before) (cons "+" after)))
        (pcase-let ((`(,lines . ,is-open) (agent-q-diff-section--lines-of bytes)))
          (dolist (line lines)
            (insert sign line "\n"))
          (when is-open
            (insert "\\ No newline at end of file\n")))))))

(defun agent-q-diff-section--lines-of (bytes)
  "Return (LINES . IS-OPEN), to show BYTES, the content of a file, or nil.
IS-OPEN is non-nil if the last line has no newline."
  (let ((text (decode-coding-string (or bytes "") 'undecided)))
    (cond
     ((string-empty-p text) nil)
     ((string-search "\0" text) '(("… (not a text)")))
     (t (cons (split-string (string-remove-suffix "\n" text) "\n")
              (not (string-suffix-p "\n" text)))))))

(defun agent-q-diff-section--insert-hunks (change index)
  "Insert the hunks of file INDEX of CHANGE, and return their positions."
  (let* ((file (nth index (agent-q-diff-change-files change)))
         (operations (agent-q-diff-file-change-decided-operations file))
         (positions (mapcar #'agent-q-diff-section--insert-operation operations))
         (from (+ (aref (agent-q-diff-change-first-hunks change) index)
                  (length operations)))
         (to (agent-q-diff-change-end-of change index)))
    (when (< from to)
      (pcase-let ((`(,diff . ,lines)
                   (agent-q-diff-engine-print-hunks
                    (agent-q-diff-change-engine change) from to
                    (agent-q-diff-file-change-path file)))
                  (beg (point)))
        (insert diff)
        (setq positions (append positions
                                (save-excursion
                                  (goto-char beg)
                                  (agent-q-diff-buffer-positions-in lines))))))
    positions))

(defun agent-q-diff-section-insert (review)
  "Insert a section for each file of REVIEW, and make REVIEW this buffer's.
Only the first `agent-q-diff-change-max-shown' hunks, and those in the same
file, are inserted at once; see `agent-q-diff-buffer-rest'."
  (agent-q-diff-buffer-adopt review nil)
  (let* ((change (agent-q-diff-session-change review))
         (firsts (agent-q-diff-change-first-hunks change))
         (n-files (1+ (agent-q-diff-base-last-at-most
                       firsts (1- agent-q-diff-change-max-shown))))
         (headings nil)
         (positions nil))
    (dotimes (index (length firsts))
      (push (agent-q-diff-section--insert-heading (nth index (agent-q-diff-change-files change)))
            headings)
      (push (if (< index n-files)
                (agent-q-diff-section--insert-hunks change index)
              (mapcar (lambda (_) (point)) (agent-q-diff-change-hunks-of change index)))
            positions))
    (setq agent-q-diff-section--words nil
          agent-q-diff-buffer-headings (vconcat (nreverse headings))
          agent-q-diff-buffer-positions (vconcat (apply #'append (nreverse positions))))
    (if (< n-files (length firsts))
        (setq agent-q-diff-buffer-rest
              (cons (aref firsts n-files)
                    (lambda () (agent-q-diff-section--insert-rest review n-files))))
      (agent-q-diff-section--note-diff review))))

(defun agent-q-diff-section--insert-rest (review first)
  "Insert the hunks of the files of REVIEW from that with the index FIRST on."
  (let* ((change (agent-q-diff-session-change review))
         (firsts (agent-q-diff-change-first-hunks change)))
    (agent-q-diff-buffer-move-hunks
     (vconcat (seq-take agent-q-diff-buffer-positions (aref firsts first))
              (cl-loop for index from first below (length firsts)
                       do (goto-char (agent-q-diff-buffer-section-end index))
                       append (agent-q-diff-section--insert-hunks change index))))
    (agent-q-diff-section--note-diff review)))

(defun agent-q-diff-section--note-diff (review)
  "Record the sections, which are complete and new, as the diff of REVIEW."
  (setf (agent-q-diff-session-proposed review)
        (buffer-substring-no-properties (aref agent-q-diff-buffer-headings 0) (point-max))))

;;;; What a heading shows

(defun agent-q-diff-section-state (change index)
  "Return how far file INDEX of CHANGE is decided, words for its heading."
  (let* ((first (aref (agent-q-diff-change-first-hunks change) index))
         (end (agent-q-diff-change-end-of change index))
         (total (- end first))
         (file (nth index (agent-q-diff-change-files change)))
         (lines (aref (agent-q-diff-buffer-line-counts) index))
         (marks (seq-subseq agent-q-diff-buffer-marks first end))
         (applied (seq-count (apply-partially #'eq 'applied) marks))
         (rejected (seq-count (apply-partially #'eq 'rejected) marks)))
    (string-join
     (delq nil
           `(,(and (not (equal '(0 . 0) lines)) (agent-q-diff-buffer-lines-words (list lines)))
            ,(cond
             ((= applied total) (if (agent-q-diff-buffer-written-p) "kept" "accepted"))
             ((= rejected total) (agent-q-diff-buffer-mark-word 'rejected))
             ((= 0 applied rejected)
              (format (ngettext "%d hunk" "%d hunks" total) total))
             (t (string-join
                 (append (agent-q-diff-buffer-decided-words applied rejected total)
                         (and (< (+ applied rejected) total)
                              (list (format "%d pending" (- total applied rejected)))))
                 ", ")))
            ,@(agent-q-diff-change-file-words change file)
            ,(and (agent-q-diff-file-change-unsaved-p file) "unsaved edits")))
     " · ")))

(defun agent-q-diff-buffer-narrowest ()
  "Return how many columns a line has in each window of this buffer, or nil."
  (when-let ((windows (get-buffer-window-list nil nil t)))
    (apply #'min (mapcar #'window-max-chars-per-line windows))))

(defun agent-q-diff-section--resized (window)
  "Have the headings in the buffer of WINDOW fit its windows again."
  (with-current-buffer (window-buffer window)
    (let ((width (agent-q-diff-buffer-narrowest)))
      (unless (equal width agent-q-diff-section--width)
        (setq agent-q-diff-section--width width
              agent-q-diff-section--words nil)
        (agent-q-diff-section--update)))))

(defun agent-q-diff-section--update (&rest _)
  "Show how far each file is decided."
  (unless (length= agent-q-diff-buffer-marks (length agent-q-diff-buffer-positions))
    (setq agent-q-diff-buffer-marks
          (vconcat (agent-q-diff-change-marks agent-q-diff-buffer-change))))
  (unless (length= agent-q-diff-section--words (length agent-q-diff-buffer-headings))
    (setq agent-q-diff-section--words
          (make-vector (length agent-q-diff-buffer-headings) nil)))
  (save-excursion
    (agent-q-diff-base-widened
      (dotimes (index (length agent-q-diff-buffer-headings))
        (let ((words (and (not (agent-q-diff-buffer-ended-p))
                          (agent-q-diff-section-state agent-q-diff-buffer-change index))))
          (unless (equal words (aref agent-q-diff-section--words index))
            (agent-q-diff-section--show-state
             (aref agent-q-diff-buffer-headings index) words)
            (aset agent-q-diff-section--words index words)))))))

(defun agent-q-diff-section--show-state (heading words)
  "Show WORDS, or nothing if that is nil, at the end of the line of HEADING."
  (goto-char heading)
  (remove-overlays heading (line-end-position) 'agent-q-diff-section t)
  (agent-q-diff-section--fit-name words)
  (when words
    (agent-q-diff-base-overlay
     heading (line-end-position) 'agent-q-diff-section t
     'after-string (propertize (concat "  " words)
                               'face '(:inherit agent-q-diff-file-heading :weight normal)))))

(defconst agent-q-diff-section--least-width 12
  "Number of columns of a file's name that a heading shows in any case.")

(defun agent-q-diff-section--fit-name (words)
  "Cut the name in the heading at point off if the line would not fit, with WORDS.
Only what is shown changes; the whole name is shown at the mouse."
  (when-let* ((width agent-q-diff-section--width)
              (name (get-text-property (point) 'agent-q-diff-heading))
              (beg (save-excursion
                     (and (search-forward name (line-end-position) t)
                          (match-beginning 0))))
              (end (+ beg (length name))))
    (let* ((others (concat (buffer-substring-no-properties (point) beg)
                           (buffer-substring-no-properties end (line-end-position))
                           "  " words
                           ;; The sign of a folded file, and the bar.
                           " … "))
           (room (max agent-q-diff-section--least-width (- width (string-width others)))))
      (when (< room (string-width name))
        (agent-q-diff-base-overlay beg end 'agent-q-diff-section t 'help-echo name
                                   'display (agent-q-diff-section--shortened name room))))))

(defun agent-q-diff-section--shortened (name width)
  "Return NAME, of a file or of two, shortened to WIDTH columns.
The ends of names tell files apart."
  (pcase (split-string name " → ")
    (`(,old ,new)
     (let* ((width (- width 3))
            (for-old (max (/ width 2) (- width (string-width new)))))
       (setq old (agent-q-diff-visible-end old for-old))
       (concat old " → " (agent-q-diff-visible-end new (- width (string-width old))))))
    (_ (agent-q-diff-visible-end name width))))

;;;; Set-up

(defun agent-q-diff-section-set-up ()
  "Show on each heading of this buffer, if any, how far its file is decided.
Headings are those of an outline as well, above their hunks."
  (when agent-q-diff-buffer-headings
    (setq-local outline-regexp
                (concat (regexp-opt '("modified" "new file" "deleted" "renamed" "mode"
                                      "link" "new link"))
                        "  +\\|@@ ")
                outline-level (lambda () (if (agent-q-diff-buffer-heading-at-point) 1 2)))
    (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-section--update nil t)
    (add-hook 'window-buffer-change-functions #'agent-q-diff-section--resized nil t)
    (add-hook 'window-size-change-functions #'agent-q-diff-section--resized nil t)))

(provide 'agent-q-diff-buffer)
;;; agent-q-diff-buffer.el ends here
