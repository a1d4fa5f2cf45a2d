;;; agent-q-diff-view.el --- What the diff buffer knows and shows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The variables of a diff buffer, the review behind them, and how states
;; are shown: the progress line and a sign on each hunk that is decided.
;;
;; In a buffer made for a proposal the review is given.  In any other
;; buffer, say one with a diff typed by hand, the review is made from the
;; buffer's text when it is first needed.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-target)
(require 'agent-q-diff-outside)
(require 'agent-q-diff-review)

;;;; State

(defconst agent-q-diff-buffer-name "*Agent-Q Diff*"
  "Name of the diff buffer.
While one is being decided, further ones get a number behind it.")

(defvar-local agent-q-diff--path nil
  "Absolute name of the file that the diff would change.")

(defvar-local agent-q-diff--original nil
  "The proposal's original text, or nil.")

(defvar-local agent-q-diff--modified nil
  "The proposal's modified text, or nil.")

(defvar-local agent-q-diff--description nil
  "What the agent says about the proposal, or nil.")

(defvar-local agent-q-diff--decision nil
  "The decision once there is one: \"accepted\" or \"rejected\".")

(defvar-local agent-q-diff--hunk-states nil
  "Alist from the position of a hunk's `@@' line to its state.
A state is `applied', `rejected' or nil for pending.  Entries put in by
hand count like those made by commands.")

(defvar-local agent-q-diff--review nil
  "The `agent-q-diff-review' of this buffer, or nil.")

(defvar-local agent-q-diff--positions nil
  "Vector of the positions of the hunks' `@@' lines.")

(defvar-local agent-q-diff--parsed-tick nil
  "Tick of this buffer when its text was made into a review.
It is t in a buffer whose text was made from a review.")

(defvar-local agent-q-diff--end-function nil
  "Function called with the review and its outcome when it ends, or nil.
It is nil where nobody waits.")

(defvar-local agent-q-diff--states-read nil
  "What `agent-q-diff--hunk-states' was when the engine was told of it.
That is the list itself: whoever puts an entry in has made another.")

(defvar-local agent-q-diff--entries nil
  "Vector of the hunks' entries in `agent-q-diff--states-read', or nil.")

(defvar-local agent-q-diff--shown nil
  "The ambiguous hunk whose place was shown last: (ID TICK NTH . PLACES).
ID is the engine's number for it, since its index changes when others are
split.  TICK is that of the target, so that the place was shown as it is.
NTH is the index, in PLACES, of the one that was shown; PLACES is as
`agent-q-diff-module-candidates' has it.")

(defvar-local agent-q-diff--marks nil
  "Vector of the hunks' marks, as the engine has them.")

(defvar-local agent-q-diff--n-strays 0
  "Number of entries in `agent-q-diff--states-read' that are no hunk's.")

(dolist (variable '(agent-q-diff--path agent-q-diff--original
                    agent-q-diff--modified agent-q-diff--description
                    agent-q-diff--decision agent-q-diff--hunk-states
                    agent-q-diff--review agent-q-diff--positions
                    agent-q-diff--parsed-tick agent-q-diff--states-read
                    agent-q-diff--entries agent-q-diff--marks
                    agent-q-diff--n-strays
                    agent-q-diff--end-function))
  (put variable 'permanent-local t))

;;;; The review of this buffer

(defun agent-q-diff--ended-p ()
  "Return non-nil if this buffer was made for a review that has ended."
  (and (eq agent-q-diff--parsed-tick t)
       (not (and agent-q-diff--review
                 (agent-q-diff-review-engine agent-q-diff--review)))))

(defun agent-q-diff--current-review ()
  "Return this buffer's review, made from its text if that is needed.
Signal `agent-q-diff-malformed' if the text is not a diff, or
`agent-q-diff-ended' if the review has ended."
  (when (agent-q-diff--ended-p)
    (signal 'agent-q-diff-ended '("the review has ended")))
  (unless (or (eq agent-q-diff--parsed-tick t)
              (and agent-q-diff--review
                   (eq agent-q-diff--parsed-tick (buffer-chars-modified-tick))))
    (agent-q-diff--drop-review)
    (let ((review (agent-q-diff-review-open-diff (agent-q-diff--diff-text))))
      (agent-q-diff--adopt
       review (agent-q-diff-module-header-lines
               (agent-q-diff-review-engine review)))
      (setq agent-q-diff--parsed-tick (buffer-chars-modified-tick))))
  (agent-q-diff--read-states)
  agent-q-diff--review)

(defun agent-q-diff--distrust-states ()
  "Let the next command read every state that was put in by hand.
Usually a change inside an entry is seen for the hunk at point only, so
that keys are no slower where there are more hunks."
  (setq agent-q-diff--entries nil))

(defun agent-q-diff--known-p ()
  "Return non-nil if this buffer has hunks and the engine knows them."
  (and agent-q-diff--review
       (agent-q-diff-review-engine agent-q-diff--review)
       (or (eq agent-q-diff--parsed-tick t)
           (eq agent-q-diff--parsed-tick (buffer-chars-modified-tick)))))

(defun agent-q-diff--diff-text ()
  "Return the text of this buffer, a diff that came by hand.
If all its lines end with CRLF, so may those of the target's file; they
are then made what the target's buffer has."
  (save-restriction
    (widen)
    (let ((text (buffer-substring-no-properties (point-min) (point-max)))
          (visiting (and agent-q-diff--path
                         (find-buffer-visiting agent-q-diff--path))))
      (agent-q-diff-target-adapt-diff
       text text (if visiting (agent-q-diff-target-text visiting) "")
       (and visiting (agent-q-diff-target-line-ends visiting))))))

(defun agent-q-diff--drop-review ()
  "Give back this buffer's review, if it has one."
  (when agent-q-diff--review
    (agent-q-diff-review-close agent-q-diff--review)
    (setq agent-q-diff--review nil)))

(defun agent-q-diff--adopt (review header-lines &optional start)
  "Make REVIEW this buffer's, with its hunk headers on HEADER-LINES.
The lines are counted from 0 at the position START, or `point-min'."
  (let ((buffer (current-buffer)))
    (setf (agent-q-diff-review-edited-function review)
          (lambda () (agent-q-diff--refresh-soon buffer))))
  (setq agent-q-diff--review review
        agent-q-diff--entries nil
        agent-q-diff--marks nil
        agent-q-diff--positions
        (save-excursion
          (goto-char (or start (point-min)))
          (vconcat (agent-q-diff--positions-in header-lines)))))

(defun agent-q-diff--positions-in (header-lines)
  "Return a list of the positions of HEADER-LINES, counted from 0 at point."
  (save-excursion
    (let ((here 0))
      (mapcar (lambda (line)
                (forward-line (- line here))
                (setq here line)
                (point))
              header-lines))))

(defun agent-q-diff--review-with-target ()
  "Return this buffer's review, with its target followed.
The display is brought up to date if the target has changed."
  (let ((review (agent-q-diff--current-review)))
    (unless (eq agent-q-diff--parsed-tick t)
      (agent-q-diff-review-aim review
                               (and agent-q-diff--path
                                    (agent-q-diff-target-name
                                     agent-q-diff--path))))
    (when (agent-q-diff-review-follow review)
      (agent-q-diff--show-all))
    review))

(defvar-local agent-q-diff--refresh-timer nil
  "The timer that will show how edits of the target stand, or nil.")
(put 'agent-q-diff--refresh-timer 'permanent-local t)

(defun agent-q-diff--refresh-soon (buffer)
  "Let the diff buffer BUFFER show how the target is, before long.
That is done when there has been no input for a while."
  ;; After most edits it is already to be done.
  (when (and agent-q-diff-refresh-delay (buffer-live-p buffer)
             (not (buffer-local-value 'agent-q-diff--refresh-timer buffer)))
    (with-current-buffer buffer
      (setq agent-q-diff--refresh-timer
            (run-with-idle-timer
             ;; While Emacs is idle the time counts from when that began.
             (time-add (or (current-idle-time) 0) agent-q-diff-refresh-delay)
             nil #'agent-q-diff--refresh buffer)))))

(defun agent-q-diff--stop-refreshing ()
  "Forget that this buffer was to show how the target is."
  (when agent-q-diff--refresh-timer
    (cancel-timer agent-q-diff--refresh-timer)
    (setq agent-q-diff--refresh-timer nil)))

(defun agent-q-diff--refresh (buffer)
  "Show in the diff buffer BUFFER how the target now is, if it is visible."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq agent-q-diff--refresh-timer nil)
      (when (and agent-q-diff--review
                 (not (agent-q-diff--ended-p))
                 ;; A hook on the way to the file may ask something: what is
                 ;; planned is not committed yet.
                 (not agent-q-diff-outside-speaker)
                 (get-buffer-window buffer t))
        ;; What is wrong with the target is said when it is needed.
        (ignore-error agent-q-diff-error
          (agent-q-diff--review-with-target))))))

(defun agent-q-diff--review-or-nil ()
  "Return this buffer's review, or nil if it has none.
That is so if its text is not a diff, or if the review has ended."
  (condition-case nil
      (agent-q-diff--current-review)
    ((agent-q-diff-malformed agent-q-diff-several-files agent-q-diff-ended) nil)))

;;;; States

(defun agent-q-diff--first-entries ()
  "Return a hash table of the entries of `agent-q-diff--hunk-states' by position.
Of several for one position the first counts, as for `alist-get'."
  (let ((entries (make-hash-table)))
    (dolist (entry agent-q-diff--hunk-states entries)
      (unless (gethash (car entry) entries)
        (puthash (car entry) entry entries)))))

(defun agent-q-diff--read-states ()
  "Give the engine what was put into `agent-q-diff--hunk-states' by hand."
  (if (and agent-q-diff--entries
           (eq agent-q-diff--hunk-states agent-q-diff--states-read))
      (let ((hunk (agent-q-diff--hunk-at-point)))
        (when hunk
          (agent-q-diff--read-state hunk (aref agent-q-diff--entries hunk))))
    (agent-q-diff--note-entries)
    (unless (length= agent-q-diff--marks (length agent-q-diff--positions))
      (setq agent-q-diff--marks
            (vconcat (agent-q-diff-review-marks agent-q-diff--review))))
    (cl-loop for entry across agent-q-diff--entries
             for hunk from 0
             do (agent-q-diff--read-state hunk entry))))

(defun agent-q-diff--read-state (hunk entry)
  "Give the engine the state of HUNK that ENTRY, perhaps nil, has."
  (unless (eq (cdr entry) (aref agent-q-diff--marks hunk))
    (agent-q-diff-review-set-mark agent-q-diff--review hunk (cdr entry))
    (aset agent-q-diff--marks hunk (cdr entry))))

(defun agent-q-diff--note-entries ()
  "Note where in `agent-q-diff--hunk-states' the entries of hunks are."
  (let ((entries (agent-q-diff--first-entries))
        (n-found 0))
    (setq agent-q-diff--states-read agent-q-diff--hunk-states
          agent-q-diff--entries (make-vector (length agent-q-diff--positions) nil))
    (unless (zerop (hash-table-count entries))
      (dotimes (hunk (length agent-q-diff--positions))
        (when-let ((entry (gethash (aref agent-q-diff--positions hunk) entries)))
          (aset agent-q-diff--entries hunk entry)
          (cl-incf n-found))))
    (setq agent-q-diff--n-strays (- (hash-table-count entries) n-found))))

(defun agent-q-diff--write-state (hunk mark)
  "Note MARK, the engine's mark of HUNK, in `agent-q-diff--hunk-states'."
  (let ((entry (aref agent-q-diff--entries hunk)))
    (aset agent-q-diff--marks hunk mark)
    (if entry
        (setcdr entry mark)
      (setq entry (cons (aref agent-q-diff--positions hunk) mark))
      (aset agent-q-diff--entries hunk entry)
      (push entry agent-q-diff--hunk-states)
      (setq agent-q-diff--states-read agent-q-diff--hunk-states))))

(defun agent-q-diff--write-states ()
  "Note every mark of the engine in `agent-q-diff--hunk-states'.
Entries that are no hunk's are kept."
  (let* ((marks (agent-q-diff-review-marks agent-q-diff--review))
         (entries (cl-loop for position across agent-q-diff--positions
                           for mark in marks
                           collect (cons position mark)))
         ;; Among states that were read, it is known whether there are any.
         (strays (and (not (and agent-q-diff--entries
                                (eq agent-q-diff--hunk-states agent-q-diff--states-read)
                                (zerop agent-q-diff--n-strays)))
                      (agent-q-diff--stray-states))))
    (setq agent-q-diff--hunk-states (append entries strays)
          agent-q-diff--states-read agent-q-diff--hunk-states
          agent-q-diff--entries (vconcat entries)
          agent-q-diff--marks (vconcat marks)
          agent-q-diff--n-strays (length (seq-uniq (mapcar #'car strays))))))

(defun agent-q-diff--stray-states ()
  "Return the entries of `agent-q-diff--hunk-states' that are no hunk's."
  (let ((known (make-hash-table)))
    (mapc (lambda (position) (puthash position t known))
          agent-q-diff--positions)
    (seq-remove (lambda (entry) (gethash (car entry) known))
                agent-q-diff--hunk-states)))

(defun agent-q-diff-count-hunks ()
  "Return the number of hunks in this buffer."
  (if (or (agent-q-diff--ended-p) (agent-q-diff--review-or-nil))
      (length agent-q-diff--positions)
    (save-excursion
      (goto-char (point-min))
      (how-many "^@@ .* @@"))))

(defun agent-q-diff--counts ()
  "Return (TOTAL APPLIED REJECTED PENDING), numbers of hunks.
States put in by hand for what is not a hunk count as well."
  (let ((review (and (not (agent-q-diff--ended-p)) (agent-q-diff--review-or-nil))))
    (if (and review (zerop agent-q-diff--n-strays))
        (agent-q-diff--tally review)
      (pcase-let ((`(,total ,applied ,rejected) (agent-q-diff--counts-by-hand)))
        (list total applied rejected (- total applied rejected))))))

(defun agent-q-diff--tally (review)
  "Return (TOTAL APPLIED REJECTED PENDING), numbers of hunks of REVIEW."
  (pcase-let ((`(,total ,applied ,rejected) (agent-q-diff-review-tally review)))
    (list total applied rejected (- total applied rejected))))

(defun agent-q-diff--counts-by-hand ()
  "Return (TOTAL APPLIED REJECTED), as `agent-q-diff--hunk-states' has them."
  (let ((states (mapcar #'cdr (hash-table-values (agent-q-diff--first-entries)))))
    (list (max (agent-q-diff-count-hunks) (length states))
          (seq-count (apply-partially #'eq 'applied) states)
          (seq-count (apply-partially #'eq 'rejected) states))))

;;;; Progress line

(defun agent-q-diff--progress-line (counts)
  "Return the progress line for COUNTS, of `agent-q-diff--counts'.
Its length depends on the number of hunks alone, so that no position
moves when it changes."
  (pcase-let* ((`(,total ,applied ,rejected ,pending) counts)
               (line (lambda (applied rejected pending)
                       (format "Progress: %d/%d applied, %d rejected, %d pending  |  %s"
                               applied total rejected pending
                               "[a]ccept [r]eject [n]ext [p]rev [q]uit"))))
    (propertize (string-pad (funcall line applied rejected pending)
                            (length (funcall line total total total)))
                'font-lock-face 'agent-q-diff-progress)))

(defun agent-q-diff--first-position ()
  "Return the position of the first hunk's `@@' line, or nil."
  (and (length> agent-q-diff--positions 0)
       (aref agent-q-diff--positions 0)))

(defun agent-q-diff--find-line (regexp &optional bound)
  "Move to the first line that begins with REGEXP, and ends before BOUND.
Return non-nil if there is one."
  (goto-char (point-min))
  (when (re-search-forward (concat "^\\(?:" regexp "\\)") bound t)
    (beginning-of-line)
    t))

(defun agent-q-diff-update-header ()
  "Bring the progress line up to date.
It takes the place of a line of old that tells the keys for accepting
all; where there is neither, it is put at the beginning of the buffer."
  (save-excursion
    (save-restriction
      (widen)
      (agent-q-diff--distrust-states)
      (let ((line (agent-q-diff--progress-line (agent-q-diff--counts))))
        (if (agent-q-diff--find-line "Progress:\\|C-c C-c =")
            (agent-q-diff--replace-line line)
          (goto-char (point-min))
          (agent-q-diff--moving-positions (lambda () (insert line "\n"))))))))

(defun agent-q-diff--replace-line (new)
  "Replace the line at point by NEW, unless they are equal."
  (unless (equal new (buffer-substring-no-properties (point) (line-end-position)))
    (agent-q-diff--moving-positions
     (lambda ()
       (delete-region (point) (line-end-position))
       (insert new)))))

(defun agent-q-diff--edit-quietly (edit)
  "Call EDIT, an edit of this buffer that its review knows of.
The buffer is then as modified as before, and its text still that of its
review.  Return by how many characters it has grown."
  (let ((size (buffer-size))
        (is-parsed (eq agent-q-diff--parsed-tick (buffer-chars-modified-tick)))
        (was-modified (buffer-modified-p)))
    (let ((inhibit-read-only t))
      (funcall edit))
    (restore-buffer-modified-p was-modified)
    (when is-parsed
      (setq agent-q-diff--parsed-tick (buffer-chars-modified-tick)))
    (- (buffer-size) size)))

(defun agent-q-diff--shift-states (states at delta)
  "Return STATES with those from the position AT on moved by DELTA."
  (mapcar (pcase-lambda (`(,position . ,state))
            (cons (if (and (integerp position) (>= position at))
                      (+ position delta)
                    position)
                  state))
          states))

(defun agent-q-diff--moving-positions (edit)
  "Call EDIT, which edits at point, and move what is known of hunks with it."
  (let* ((at (point))
         (delta (agent-q-diff--edit-quietly edit)))
    (unless (zerop delta)
      (setq agent-q-diff--positions
            (vconcat (mapcar (lambda (position)
                               (if (>= position at) (+ position delta) position))
                             agent-q-diff--positions))
            agent-q-diff--hunk-states
            (agent-q-diff--shift-states agent-q-diff--hunk-states at delta)
            agent-q-diff--entries nil))))

(defvar agent-q-diff-progress-functions nil
  "Abnormal hook that is run in the diff buffer when hunks may be decided.
Each function is called with the numbers of hunks: all, those marked
applied, those marked rejected, and those neither.")

(defvar-local agent-q-diff--header-end ""
  "What the header line says behind the number of the hunk at point.")
(put 'agent-q-diff--header-end 'permanent-local t)

(defun agent-q-diff--count-conflicts ()
  "Return the number of hunks that have no place in the target."
  (if (agent-q-diff--ended-p)
      0
    (agent-q-diff-review-count-conflicts agent-q-diff--review)))

(defun agent-q-diff--update-header-line ()
  "Say in the header line at which hunk point is, and how far one is.
It runs after every command here, so that it must not grow with anything."
  (let* ((hunk (agent-q-diff--hunk-at-point))
         (total (length agent-q-diff--positions))
         (line (concat
                (when (agent-q-diff-review-is-abandoned agent-q-diff--review)
                  (propertize " Nobody is waiting for an answer any more ·"
                              'face 'agent-q-diff-warning))
                (if hunk
                    (format " hunk %d/%d · " (1+ hunk) total)
                  (format " %d hunk%s · " total (if (= 1 total) "" "s")))
                agent-q-diff--header-end)))
    (unless (equal line header-line-format)
      (setq header-line-format line))))

(defun agent-q-diff--refresh-progress ()
  "Bring the progress line up to date, if there is one, and tell who wants to know.
In a buffer made for a proposal, show the progress in the header line,
too, since the line itself scrolls away."
  (agent-q-diff--thin-out)
  (pcase-let* ((counts (agent-q-diff--counts))
               (`(,_ ,applied ,rejected ,pending) counts))
    (save-excursion
      (save-restriction
        (widen)
        (when (agent-q-diff--find-line "Progress:" (agent-q-diff--first-position))
          (agent-q-diff--replace-line (agent-q-diff--progress-line counts)))))
    (when (eq agent-q-diff--parsed-tick t)
      (setq agent-q-diff--header-end
            (format "%d applied · %d rejected · %d pending%s%s  %s"
                    applied rejected pending
                    (pcase (agent-q-diff--count-conflicts)
                      (0 "")
                      (n (format " · %d conflict%s" n (if (= n 1) "" "s"))))
                    (if (agent-q-diff-review-comment agent-q-diff--review)
                        " · commented"
                      "")
                    (replace-regexp-in-string
                     "%" "%%" (agent-q-diff-visible
                               (file-name-nondirectory agent-q-diff--path)))))
      (agent-q-diff--update-header-line))
    (apply #'run-hook-with-args 'agent-q-diff-progress-functions counts)))

;;;; Overlays

(defun agent-q-diff--next-position (hunk)
  "Return the position of the `@@' line below that of HUNK, or else the end."
  (if (< (1+ hunk) (length agent-q-diff--positions))
      (aref agent-q-diff--positions (1+ hunk))
    (point-max)))

(defun agent-q-diff--hunk-end (position)
  "Return the end of the hunk whose `@@' line is at POSITION.
In a buffer made for a proposal it is where the next hunk begins."
  (save-restriction
    (widen)
    (if (eq agent-q-diff--parsed-tick t)
        (agent-q-diff--next-position (agent-q-diff--hunk-at-point position))
      (save-excursion
        (goto-char position)
        (condition-case nil
            (progn (diff-end-of-hunk) (point))
          (error (line-end-position)))))))

(defun agent-q-diff--sign (state is-in place notes)
  "Return (TEXT . FACE), the sign of a hunk, or nil if it needs none.
STATE is its state, IS-IN tells whether its change is in the target,
PLACE is as `agent-q-diff-engine-hunk' has it, or (ambiguous NTH . N) if
it is the place with the index NTH of N; and NOTES says what the user did
to it and how it was found, a string or nil."
  (let ((name (upcase (symbol-name (or state 'pending)))))
    (pcase (agent-q-diff--difference state is-in place)
      ((and words (pred stringp))
       (cons (agent-q-diff--bracketed name notes words) 'agent-q-diff-differs))
      ((guard (and (null state) (eq (or (car-safe place) place) 'ambiguous)))
       (cons (agent-q-diff--ambiguous-sign (cdr-safe place)) 'agent-q-diff-differs))
      ((guard (and (null state) (eq place 'conflict)))
       (cons "[DOES NOT APPLY]" 'agent-q-diff-differs))
      (_
       (let ((words (agent-q-diff--aside state place)))
         (when (or state notes words)
           (cons (agent-q-diff--bracketed name notes words)
                 (cond
                  (state (agent-q-diff--state-face state))
                  ((eq place 'next-to-edit) 'agent-q-diff-differs)
                  (t 'agent-q-diff-pending)))))))))

(defun agent-q-diff--ambiguous-sign (choice)
  "Return the sign of a hunk that has to be looked at before it is accepted.
CHOICE is nil, or (NTH . N) if it is the place with the index NTH of N."
  (pcase choice
    (`(,nth . ,(and n (guard (> n 1))))
     (format "[AMBIGUOUS, look: %d of %d places]" (1+ nth) n))
    (_ "[AMBIGUOUS, look]")))

(defun agent-q-diff--bracketed (&rest words)
  "Return WORDS, of which some may be nil, as one sign."
  (format "[%s]" (string-join (delq nil words) ", ")))

(defun agent-q-diff--difference (state is-in place)
  "Return how STATE and the target disagree, a string, or nil.
IS-IN and PLACE are as in `agent-q-diff--sign'."
  (cond
   ((eq is-in 'unknown) nil)
   ((eq place 'lost) "but changed in the file since")
   ((eq is-in 'mixed) "but partly in the file")
   ((not (eq (and is-in t) (eq state 'applied)))
    (if is-in "but in the file" "but not in the file"))))

(defun agent-q-diff--aside (state place)
  "Return what to say about PLACE of a hunk in STATE, a string, or nil."
  (cond
   ((eq place 'next-to-edit) "next to your edit")
   ((and (null state) (integerp place))
    (format "shifted by %d line%s" place (if (= 1 (abs place)) "" "s")))))

(defun agent-q-diff--state-face (state)
  "Return the face of the sign for STATE."
  (if (eq state 'applied) 'agent-q-diff-applied 'agent-q-diff-rejected))

(defun agent-q-diff--overlay-p (overlay)
  "Return non-nil if OVERLAY is on a hunk because of its state."
  (or (overlay-get overlay 'agent-q-diff)
      (overlay-get overlay 'agent-q-diff-header)))

(defun agent-q-diff--overlays-at (position)
  "Return our overlays on the hunk whose `@@' line is at POSITION."
  (seq-filter (lambda (overlay)
                (and (agent-q-diff--overlay-p overlay)
                     (eq (overlay-start overlay) position)))
              (overlays-in position (1+ position))))

(defvar-local agent-q-diff--n-signs 0
  "Number of signs that were put since all were taken away.")

(defun agent-q-diff--put-sign (position state is-in &optional reason place notes)
  "Show on the hunk at POSITION its STATE, IS-IN, PLACE and NOTES.
These four are those of `agent-q-diff--sign'; REASON explains them."
  (mapc #'delete-overlay (agent-q-diff--overlays-at position))
  (pcase (agent-q-diff--sign state is-in place notes)
    (`(,text . ,face)
     (let ((overlay (make-overlay position (agent-q-diff--hunk-end position))))
       (overlay-put overlay 'agent-q-diff (or state 'pending))
       (overlay-put overlay 'evaporate t)
       (overlay-put overlay 'help-echo reason)
       (overlay-put overlay 'face (and state 'agent-q-diff-decided))
       (overlay-put overlay 'before-string
                    (concat (propertize text 'face face)
                            (if state
                                (propertize " " 'face 'agent-q-diff-decided-header)
                              " ")))
       (when state
         (agent-q-diff--put-header position))
       (cl-incf agent-q-diff--n-signs)))))

(defun agent-q-diff--put-header (position)
  "Show the `@@' line at POSITION as that of a hunk that is decided."
  (let ((overlay (make-overlay position (save-restriction
                                          (widen)
                                          (save-excursion
                                            (goto-char position)
                                            (line-end-position))))))
    (overlay-put overlay 'agent-q-diff-header t)
    (overlay-put overlay 'evaporate t)
    (overlay-put overlay 'face 'agent-q-diff-decided-header)))

(defun agent-q-diff-apply-visual-feedback (hunk-start state)
  "Show STATE on the hunk whose `@@' line is at HUNK-START.
STATE is `applied', `rejected', or nil, which takes the sign away."
  (agent-q-diff--put-sign hunk-start state 'unknown))

(defun agent-q-diff--show-hunk (hunk)
  "Show the state of HUNK."
  (agent-q-diff--show-snapshot (agent-q-diff-review-hunk agent-q-diff--review hunk)))

(defun agent-q-diff--show-snapshot (hunk)
  "Show the state of HUNK, an `agent-q-diff-engine-hunk'."
  (let ((place (agent-q-diff-engine-hunk-place hunk)))
    (agent-q-diff--put-sign (aref agent-q-diff--positions
                                  (agent-q-diff-engine-hunk-index hunk))
                            (agent-q-diff-engine-hunk-mark hunk)
                            (agent-q-diff-engine-hunk-fact hunk)
                            (agent-q-diff-engine-hunk-reason hunk)
                            (if (eq place 'ambiguous)
                                (cons place (agent-q-diff--choice hunk))
                              place)
                            (agent-q-diff--notes-on hunk))))

(defun agent-q-diff--show-committed ()
  "Show what the latest command of this buffer's review came to."
  (let* ((committed (agent-q-diff-review-committed agent-q-diff--review))
         (hunks (agent-q-diff-engine-committed-hunks committed)))
    (cond
     ((agent-q-diff-engine-committed-marks committed)
      (agent-q-diff--write-states))
     (t
      (agent-q-diff--write-state (agent-q-diff-engine-hunk-index (car hunks))
                                 (agent-q-diff-engine-hunk-mark (car hunks)))))
    (if hunks
        (mapc #'agent-q-diff--show-snapshot hunks)
      (agent-q-diff--show-in-sight))
    (agent-q-diff--refresh-progress)))

(defun agent-q-diff--choice (hunk)
  "Return (NTH . N): of N places of HUNK that with the index NTH is offered.
HUNK is an `agent-q-diff-engine-hunk'."
  (pcase agent-q-diff--shown
    ((and `(,id ,_ ,nth . ,shown)
          (guard (eql id (agent-q-diff-engine-hunk-id hunk))))
     (cons nth (length shown)))
    (_ (cons 0 (length (agent-q-diff-engine-hunk-places hunk))))))

(defun agent-q-diff--notes-on (hunk)
  "Return what else there is to say of HUNK, a string or nil.
HUNK is an `agent-q-diff-engine-hunk'.  That is the number of outer
context lines that differ where it was found, and what the user did to it
besides deciding it."
  (let* ((fuzz (agent-q-diff-engine-hunk-fuzz hunk))
         (comment (alist-get (agent-q-diff-engine-hunk-index hunk)
                             (agent-q-diff-review-comments agent-q-diff--review)))
         (notes (delq nil (list (and (> fuzz 0) (format "fuzz %d" fuzz))
                                (and (agent-q-diff-engine-hunk-is-edited hunk) "edited")
                                (and comment "commented")))))
    (and notes (string-join notes ", "))))

(defun agent-q-diff--show-all ()
  "Show the state of every hunk and the progress.
If they are more than `agent-q-diff-review-max-shown', those show their
state that come into sight: a screen has few, and thousands of overlays
make every edit of a buffer slow."
  (agent-q-diff-review-recount agent-q-diff--review)
  (let ((n (length agent-q-diff--positions)))
    (if (<= n agent-q-diff-review-max-shown)
        (dotimes (hunk n)
          (agent-q-diff--show-hunk hunk))
      (agent-q-diff--show-in-sight)))
  (agent-q-diff--refresh-progress))

(defconst agent-q-diff--max-signs 100
  "Number of signs up to which those that are out of sight may stay.")

(defun agent-q-diff--thin-out ()
  "Take signs that are out of sight away if there are too many."
  (when (and (> agent-q-diff--n-signs agent-q-diff--max-signs)
             (length> agent-q-diff--positions agent-q-diff-review-max-shown))
    (agent-q-diff--show-in-sight)))

(defun agent-q-diff--show-in-sight ()
  "Show the state of each hunk when it comes into sight."
  (setq agent-q-diff--n-signs 0)
  (save-restriction
    (widen)
    (dolist (overlay (overlays-in (point-min) (point-max)))
      (when (agent-q-diff--overlay-p overlay)
        (delete-overlay overlay)))
    (jit-lock-register #'agent-q-diff--show-between)
    (jit-lock-refontify)))

(defun agent-q-diff--show-between (beg end)
  "Show the state of the hunks whose `@@' lines are between BEG and END."
  (save-excursion
    (goto-char beg)
    (let ((hunk (or (agent-q-diff--hunk-at-point) 0)))
      (while (and (< hunk (length agent-q-diff--positions))
                  (< (aref agent-q-diff--positions hunk) end))
        (when (>= (aref agent-q-diff--positions hunk) beg)
          (if (agent-q-diff--ended-p)
              (agent-q-diff--put-sign
               (aref agent-q-diff--positions hunk)
               (cdr (aref agent-q-diff--entries hunk)) 'unknown)
            (agent-q-diff--show-hunk hunk)))
        (cl-incf hunk)))))

;;;; Where point is

(defun agent-q-diff--hunk-at-point (&optional position)
  "Return the index of the hunk at point, or nil in front of the first.
If POSITION is non-nil, it is that of the hunk there."
  (let ((position (or position (point)))
        (low 0)
        (high (length agent-q-diff--positions)))
    (while (< low high)
      (let ((middle (/ (+ low high) 2)))
        (if (<= (aref agent-q-diff--positions middle) position)
            (setq low (1+ middle))
          (setq high middle))))
    (and (> low 0) (1- low))))

(defun agent-q-diff--hunk-here ()
  "Return the index of the hunk at point, or signal that there is none."
  (or (agent-q-diff--hunk-at-point)
      (user-error "Point is in front of the first hunk")))

(defun agent-q-diff--goto-hunk (hunk)
  "Move to HUNK, all of which is then visible.
What was shown of another hunk's place is then no longer what is seen."
  (unless (eql hunk (agent-q-diff--hunk-at-point))
    (setq agent-q-diff--shown nil))
  (widen)
  (goto-char (aref agent-q-diff--positions hunk)))

(defun agent-q-diff--goto-next-pending ()
  "Move to the next pending hunk, from the top again after the last.
Return non-nil if there is one."
  (let ((next (agent-q-diff-review-next-pending agent-q-diff--review
                                                (or (agent-q-diff--hunk-at-point) 0))))
    (when next
      (agent-q-diff--goto-hunk next)
      t)))

(provide 'agent-q-diff-view)
;;; agent-q-diff-view.el ends here
