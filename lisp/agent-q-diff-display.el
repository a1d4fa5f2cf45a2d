;;; agent-q-diff-display.el --- How far a review has come, and how each hunk stands  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The progress line of a diff buffer and its header line.
;;
;; A sign on each hunk whose state or place needs to be seen.  Signs are
;; overlays made from what the engine reports about a hunk; they are updated
;; when others edit the target.
;;
;; An ambiguous hunk is first shown at one of the places where it may
;; belong; the same key then applies it there.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-shown)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-target)
(require 'agent-q-diff-fontify)

;;; The progress line and the header line

;;;; Progress line

(defun agent-q-diff-progress-line (counts)
  "Return the progress line for COUNTS, from `agent-q-diff-buffer-counts'.
Its length depends only on the number of hunks, so that updating it moves
no position."
  (pcase-let* ((`(,total ,applied ,rejected ,pending) counts)
               (line (lambda (applied rejected pending)
                       (format "Progress: %d/%d applied, %d rejected, %d pending  |  %s"
                               applied total rejected pending
                               "[a]ccept [r]eject [n]ext [p]rev [q]uit"))))
    (propertize (string-pad (funcall line applied rejected pending)
                            (length (funcall line total total total)))
                'font-lock-face 'agent-q-diff-progress)))

(defun agent-q-diff-progress--find-line (regexp &optional bound)
  "Move to the first line that begins with REGEXP, and ends before BOUND.
Return non-nil if there is one."
  (goto-char (point-min))
  (when (re-search-forward (concat "^\\(?:" regexp "\\)") bound t)
    (beginning-of-line)
    t))

(defun agent-q-diff-display--moving-positions (edit)
  "Call EDIT, which edits at point, and adjust the positions of the hunks."
  (let* ((at (point))
         (delta (agent-q-diff-buffer-edit-quietly edit)))
    (unless (zerop delta)
      (agent-q-diff-buffer-move-hunks
       (vconcat (mapcar (lambda (position)
                          (if (>= position at) (+ position delta) position))
                        agent-q-diff-buffer-positions)))
      (setq agent-q-diff-buffer-hunk-states
            (agent-q-diff-buffer-shift-states agent-q-diff-buffer-hunk-states at delta)
            agent-q-diff-buffer-entries nil))))

(defun agent-q-diff-display-add-note (text)
  "Insert TEXT, a line, as a note above the diff and the other notes."
  (agent-q-diff-display-add-lines
   (list (propertize (concat "# Note: " (agent-q-diff-visible text most-positive-fixnum) "\n")
                     'font-lock-face 'agent-q-diff-warning
                     'agent-q-diff-note t))))

(defun agent-q-diff-display-add-lines (lines &optional property)
  "Insert LINES, strings with line breaks, above the diff and the notes.
They come below the first text with PROPERTY, by default the description."
  (save-excursion
    (agent-q-diff-base-widened
      (goto-char (point-min))
      (when-let* ((property (or property 'agent-q-diff-description))
                  (above (text-property-not-all (point-min) (point-max) property nil)))
        (goto-char (or (next-single-property-change above property) above))
        (unless (bolp)
          (forward-line)))
      (let* ((at (point))
             (headings (seq-filter (lambda (heading) (= at heading))
                                   agent-q-diff-buffer-headings)))
        (agent-q-diff-display--moving-positions
         (lambda () (mapc #'insert lines)))
        (dolist (heading headings)
          (set-marker heading (point)))))))

(defun agent-q-diff-update-header ()
  "Update the progress line.
It replaces an old-style line that explains the keys for accepting all.  If
there is neither, it is inserted at the beginning of the buffer."
  (save-excursion
    (agent-q-diff-base-widened
      (agent-q-diff-buffer-distrust-states)
      (let ((line (agent-q-diff-progress-line (agent-q-diff-buffer-counts))))
        (if (agent-q-diff-progress--find-line "Progress:\\|C-c C-c =")
            (agent-q-diff-progress--replace-line line)
          (goto-char (point-min))
          (agent-q-diff-display--moving-positions (lambda () (insert line "\n"))))))))

(defun agent-q-diff-progress--replace-line (new)
  "Replace the line at point by NEW, unless they are equal."
  (unless (equal new (buffer-substring-no-properties (point) (line-end-position)))
    (agent-q-diff-display--moving-positions
     (lambda ()
       (delete-region (point) (line-end-position))
       (insert new)))))

(defvar agent-q-diff-progress-functions nil
  "Abnormal hook run in the diff buffer when hunks may have been decided.
Each function is called with four numbers of hunks: all, applied, rejected
and pending.")

(defvar-local agent-q-diff-progress--header-end '("" "" "")
  "What the header line shows besides the hunk at point: (AGENT COUNTS MORE).
These are strings.  AGENT may be nil, and MORE begins with a separator.")
(put 'agent-q-diff-progress--header-end 'permanent-local t)

(defvar-local agent-q-diff-progress--directory nil
  "The directory for the end of the header line, if there is room, or nil.")
(put 'agent-q-diff-progress--directory 'permanent-local t)

(defvar-local agent-q-diff-progress--file nil
  "The name of the only file, (PATH NAME . SHOWN), or nil.
SHOWN is NAME as the header line shows it where there is room.")
(put 'agent-q-diff-progress--file 'permanent-local t)

(defvar-local agent-q-diff-progress--n-unsaved 0
  "How many decisions are not saved by the header line.")
(put 'agent-q-diff-progress--n-unsaved 'permanent-local t)

(defconst agent-q-diff-progress--most-columns 40
  "Most columns of a file's name in the header line.")

(defconst agent-q-diff-progress--narrow 90
  "Number of columns below which a window is narrow.
Its header line may be cut off, and has the agent and the counts first.")

(defun agent-q-diff-progress--width ()
  "Return the number of columns of a window of this buffer, or 0 without one."
  (let ((window (if (eq (window-buffer) (current-buffer))
                    (selected-window)
                  (get-buffer-window nil t))))
    (if window (window-width window) 0)))

(defconst agent-q-diff-progress--least-width 12
  "Number of columns of a longer name or directory that are worth showing.")

(defun agent-q-diff-progress--in-directory (line width)
  "Return words for the end of LINE that say where the file is, if there is room.
WIDTH is that of the window, or 0.
The lines of the diff that say so are hidden, and two files may have one name."
  (let* ((lead " · in ")
         (room (- width (string-width line) (length lead)))
         (directory agent-q-diff-progress--directory))
    (if (and directory
             (<= (min agent-q-diff-progress--least-width (string-width directory)) room))
        (concat lead (agent-q-diff-visible-end directory room))
      "")))

(defun agent-q-diff-progress-update-header-line (&optional hunk)
  "Show HUNK, by default the one at point, and the progress in the header line.
This runs after every command here, so it must take constant time."
  ;; The user may have saved meanwhile.
  (unless (or (= 0 agent-q-diff-progress--n-unsaved)
              (seq-some #'agent-q-diff-file-change-unsaved-p
                        (agent-q-diff-change-files agent-q-diff-buffer-change)))
    (setq agent-q-diff-progress--header-end
          (agent-q-diff-progress--of-review agent-q-diff-buffer-review
                                            (agent-q-diff-buffer-counts))))
  (let* ((hunk (or hunk (agent-q-diff-buffer-hunk-at-point)))
         (width (agent-q-diff-progress--width))
         (is-narrow (< 0 width agent-q-diff-progress--narrow))
         (total (length agent-q-diff-buffer-positions))
         (review agent-q-diff-buffer-review)
         ;; It is shown only if that is not long.
         (minutes (and (agent-q-diff-session-deadline review)
                       (null (agent-q-diff-session-outcome review))
                       (agent-q-diff-session-minutes-left review)))
         (n-below agent-q-diff-buffer-n-below)
         (n-aside agent-q-diff-buffer-n-aside)
         (below (concat
                 (unless (zerop n-below)
                   (format (ngettext ", %d line below" ", %d lines below" n-below) n-below))
                 (unless (zerop n-aside)
                   (format (ngettext ", %d line cut off" ", %d lines cut off" n-aside) n-aside))))
         (place (if agent-q-diff-buffer-headings
                    (agent-q-diff-progress--in-file hunk below width)
                  (pcase-let ((place (format (if hunk ": hunk %d/%d"
                                               (ngettext ": %2$d hunk" ": %2$d hunks" total))
                                             (1+ (or hunk 0)) total))
                              (`(,_ ,name . ,shown) agent-q-diff-progress--file))
                    (concat (if (and is-narrow
                                     (length> name agent-q-diff-progress--least-width))
                                (agent-q-diff-progress--shown-name name place width)
                              shown)
                            place below))))
         (line (concat
                (when (agent-q-diff-session-is-abandoned review)
                  (propertize " nobody waits ·"
                              'face 'agent-q-diff-warning))
                (when minutes
                  (propertize (format " %d min left ·" minutes)
                              'face 'agent-q-diff-warning))
                (when agent-q-diff-buffer-is-past
                  (propertize " ended, the agent was told ·"
                              'face 'agent-q-diff-warning))
                " "
                (pcase-let ((`(,agent ,counts ,more) agent-q-diff-progress--header-end))
                  (if is-narrow
                      (concat agent (and agent " · ") counts " · " place more)
                    (concat place " · " counts more (and agent " · ") agent))))))
    (setq line (concat line (agent-q-diff-progress--in-directory line width)))
    (unless (equal line header-line-format)
      (setq header-line-format line))))

(defun agent-q-diff-progress--shown-name (name place width)
  "Return NAME, that of a file, for a header line of WIDTH columns.
PLACE says where in the file point is.  Of a long name, the end is shown.  In a
narrow window, the counts need room."
  (agent-q-diff-progress--literal
   (agent-q-diff-visible-end
    name
    (if (= 0 width)
        agent-q-diff-progress--most-columns
      (pcase-let ((`(,agent ,counts ,_) agent-q-diff-progress--header-end))
        (max (if (< width agent-q-diff-progress--narrow)
                 agent-q-diff-progress--least-width
               24)
             (min agent-q-diff-progress--most-columns
                  (- width (string-width counts) (string-width place)
                     (if agent (string-width agent) 0)
                     (length "  ·  · ")))))))))

(defun agent-q-diff-progress--in-file (hunk below width)
  "Return which file point is in, and which of its hunks HUNK is, if not nil.
Hunks are counted from 1 in each file, as agents count them.  BELOW are words
on how many of its lines are below the window, or \"\".  WIDTH is that of the
window, or 0."
  (let* ((index (agent-q-diff-buffer-file-index))
         (file (nth index (agent-q-diff-change-files agent-q-diff-buffer-change)))
         (operations (agent-q-diff-file-change-decided-operations file))
         (heading (aref agent-q-diff-buffer-headings index))
         (first (1+ (or (agent-q-diff-buffer-hunk-before heading) -1)))
         (end (1+ (or (agent-q-diff-buffer-hunk-before
                       (1- (agent-q-diff-buffer-section-end index)))
                      -1)))
         (n-operations (length operations))
         (total (- end first n-operations))
         (nth (and hunk (- hunk first)))
         (name (get-text-property heading 'agent-q-diff-heading))
         (place (concat
                 (cond
                  ((null nth)
                   (format (ngettext ": %d hunk" ": %d hunks" (- end first)) (- end first)))
                  ((< nth n-operations)
                   (concat ": " (agent-q-diff-progress--literal
                                 (agent-q-diff-operation-words (nth nth operations)))))
                  (t (format ": hunk %d/%d%s" (1+ (- nth n-operations)) total below)))
                 (and (length> agent-q-diff-buffer-headings 1)
                      (format " · file %d/%d"
                              (1+ index) (length agent-q-diff-buffer-headings))))))
    (concat (agent-q-diff-progress--shown-name name place width) place)))

(defun agent-q-diff-progress--literal (text)
  "Return TEXT quoted for a header line."
  (replace-regexp-in-string "%" "%%" text))

(defun agent-q-diff-progress-refresh (&optional change)
  "Update the progress line, if any, and run `agent-q-diff-progress-functions'.
In a buffer made for a proposal, show the progress in the header line.  CHANGE
is as for `agent-q-diff-buffer-counts'."
  (let ((counts (agent-q-diff-buffer-counts change))
        (review agent-q-diff-buffer-review))
    (when agent-q-diff-buffer-is-made
      ;; Of several files, the headings say which and where they are.
      (cond
       (agent-q-diff-buffer-headings
        (setq agent-q-diff-progress--file nil
              agent-q-diff-progress--directory nil))
       ((not (equal agent-q-diff-buffer-path (car agent-q-diff-progress--file)))
        (setq agent-q-diff-progress--file
              (let ((name (agent-q-diff-file-change-name
                           (car (agent-q-diff-change-files
                                 (agent-q-diff-session-change review))))))
                `(,agent-q-diff-buffer-path
                  ,name . ,(agent-q-diff-progress--literal
                            (agent-q-diff-visible-end
                             name agent-q-diff-progress--most-columns))))
              agent-q-diff-progress--directory
              ;; In Agent-Q's buffer, a line of its own names it.
              (unless (agent-q-diff-session-is-documented review)
                (agent-q-diff-progress--literal
                 (agent-q-diff-visible-name
                  (abbreviate-file-name (file-name-directory agent-q-diff-buffer-path))))))))
      (setq agent-q-diff-progress--header-end
            (agent-q-diff-progress--of-review review counts))
      ;; When a command here has ended, `agent-q-diff-current' shows it, and
      ;; the hunk that point is on then.
      (unless (and this-command (eq (window-buffer) (current-buffer)))
        (agent-q-diff-progress-update-header-line)))
    (save-excursion
      (agent-q-diff-base-widened
        (when (agent-q-diff-progress--find-line
               "Progress:" (and (length> agent-q-diff-buffer-positions 0)
                                (aref agent-q-diff-buffer-positions 0)))
          (agent-q-diff-progress--replace-line (agent-q-diff-progress-line counts)))))
    (when agent-q-diff-shown-unseen
      (agent-q-diff-shown-forget-pending))
    (apply #'run-hook-with-args 'agent-q-diff-progress-functions counts)
    (run-hooks 'agent-q-diff-session-changed-hook)))

(defun agent-q-diff-progress--of-review (review counts)
  "Return the words on REVIEW for the header line, besides the hunk at point.
They are as in `agent-q-diff-progress--header-end'.  COUNTS is as from
`agent-q-diff-buffer-counts'."
  (pcase-let* ((`(,_ ,applied ,rejected ,pending) counts)
               (`(,conflicts . ,ambiguous) (agent-q-diff-change-unplaced
                                            (agent-q-diff-session-change review)))
               (n-unsaved (setq agent-q-diff-progress--n-unsaved (agent-q-diff-buffer-n-unsaved)))
               (agent (agent-q-diff-session-agent-name review))
               (written (agent-q-diff-change-written (agent-q-diff-session-change review)))
               (title (and written (agent-q-diff-session-title review)))
               (at-work (and written (agent-q-diff-written-at-work written))))
    (list
     (and agent (agent-q-diff-progress--literal agent))
     (format "%s%s%s%s%s"
             (agent-q-diff-buffer-counts-words applied rejected pending)
             (if (zerop conflicts)
                 ""
               (format (ngettext " · %d conflict" " · %d conflicts" conflicts) conflicts))
             (if (zerop ambiguous) "" (format " · %d ambiguous" ambiguous))
             (if (zerop n-unsaved) "" (format " · %d not saved" n-unsaved))
             (if (agent-q-diff-change-users-comment (agent-q-diff-session-change review) nil)
                 " · commented"
               ""))
     (concat (if at-work (concat " · " (agent-q-diff-progress--literal at-work)) "")
             (if title (concat " · " (agent-q-diff-progress--literal title)) "")))))

;;; Signs

;;;; The review of this buffer

(defcustom agent-q-diff-refresh-delay 0.3
  "Seconds of idle time after which the diff buffer reflects edits of the target.
Each hunk then shows whether it still applies.  If nil, the diff buffer is
updated by its own next command."
  :group 'agent-q-diff-display
  :type '(choice (number :tag "Seconds") (const :tag "At the next command" nil)))

(defun agent-q-diff-signs-follow (&optional index change)
  "Bring this buffer's change up to date with its targets, and return it.
If INDEX is not nil, look only at the file with that index.  CHANGE is the
change, if it is known.  Update the signs if a target has changed.  All hunks
are in the buffer then, so that they can be decided and split."
  (agent-q-diff-buffer-complete)
  (let ((change (or change (agent-q-diff-buffer-current-change))))
    (unless agent-q-diff-buffer-is-made
      (agent-q-diff-signs-watch change)
      (agent-q-diff-file-change-aim (car (agent-q-diff-change-files change))
                                    (and agent-q-diff-buffer-path
                                         (agent-q-diff-visit-name
                                          agent-q-diff-buffer-path))))
    (when (agent-q-diff-signs-behind-p)
      (agent-q-diff-signs-catch-up))
    (when (agent-q-diff-change-follow change index)
      (agent-q-diff-signs-show-all))
    change))

(defvar-local agent-q-diff-signs--shown nil
  "(COMMITTED), the change's last snapshot when its state was shown, or nil.")

(defun agent-q-diff-signs-behind-p ()
  "Return non-nil if not all that was decided is shown: a quit came in between."
  (and agent-q-diff-signs--shown
       agent-q-diff-buffer-change
       (not (eq (car agent-q-diff-signs--shown)
                (agent-q-diff-change-committed agent-q-diff-buffer-change)))
       (not (agent-q-diff-buffer-ended-p))))

(defun agent-q-diff-signs-catch-up ()
  "Show all that was decided."
  (agent-q-diff-change-recount agent-q-diff-buffer-change)
  (agent-q-diff-buffer-write-states)
  (agent-q-diff-signs-show-all))

(defvar-local agent-q-diff-signs--refresh-timer nil
  "The timer that will update the signs after edits of the target, or nil.")
(put 'agent-q-diff-signs--refresh-timer 'permanent-local t)

(defun agent-q-diff-signs-watch (change)
  "Update this buffer soon after others edit a target of CHANGE."
  (let ((buffer (current-buffer)))
    (dolist (file (agent-q-diff-change-files change))
      (setf (agent-q-diff-file-change-edited-function file)
            (lambda () (agent-q-diff-signs--refresh-soon buffer))))))

(defun agent-q-diff-signs--refresh-soon (buffer)
  "Update the signs in the diff buffer BUFFER when Emacs is next idle.
See `agent-q-diff-refresh-delay'."
  ;; After most edits, an update is already scheduled.
  (when (and agent-q-diff-refresh-delay (buffer-live-p buffer)
             (not (buffer-local-value 'agent-q-diff-signs--refresh-timer buffer)))
    (with-current-buffer buffer
      (setq agent-q-diff-signs--refresh-timer
            (run-with-idle-timer
             ;; If Emacs is idle now, the time counts from when it became
             ;; idle.
             (time-add (or (current-idle-time) 0) agent-q-diff-refresh-delay)
             nil #'agent-q-diff-signs--refresh buffer)))))

(defun agent-q-diff-signs-stop-refreshing ()
  "Cancel the scheduled update of this buffer's signs, if any."
  (when agent-q-diff-signs--refresh-timer
    (cancel-timer agent-q-diff-signs--refresh-timer)
    (setq agent-q-diff-signs--refresh-timer nil)))

(defvar-local agent-q-diff-signs-is-drawn nil
  "Non-nil if the review of this buffer is drawn elsewhere as well.")

(defun agent-q-diff-signs--refresh (buffer)
  "Update the signs in the diff buffer BUFFER, if it or its drawing is visible."
  (agent-q-diff-base-with-live buffer
    (setq agent-q-diff-signs--refresh-timer nil)
    (when (and agent-q-diff-buffer-review
               (not (agent-q-diff-buffer-ended-p))
               (null agent-q-diff-change-in-progress)
               (or agent-q-diff-signs-is-drawn (get-buffer-window buffer t)))
      ;; Problems with the target are reported when it is needed.
      (ignore-error agent-q-diff-error
        (agent-q-diff-signs-follow)
        ;; The user may have saved it.
        (agent-q-diff-progress-refresh)))))

;;;; Overlays

(defun agent-q-diff-signs--sign (state is-in place notes)
  "Return (TEXT . FACE), the sign of a hunk, or nil if it needs none.
STATE is its state; IS-IN tells whether its change is in the target.  PLACE
is as in `agent-q-diff-engine-hunk', or (ambiguous NTH . N) for the place
with the index NTH of N.  NOTES, a string or nil, tells what the user did
to the hunk and how its place was found."
  (let* ((differs (agent-q-diff-signs-difference state is-in place))
         (aside (cond
                 (differs)
                 ((eq place 'next-to-edit) "next to your edit")
                 ((eq place 'hooked) "as changed by your hook")
                 ((and (null state) (integerp place))
                  (format (ngettext "shifted by %d line" "shifted by %d lines" (abs place))
                          place)))))
    (pcase (and (null state) (null differs) place)
      ((or 'ambiguous `(ambiguous . ,_))
       (cons (pcase (cdr-safe place)
               (`(,nth . ,(and n (guard (> n 1))))
                (format "[AMBIGUOUS, look: %d of %d places]" (1+ nth) n))
               (_ "[AMBIGUOUS, look]"))
             'agent-q-diff-differs))
      ('conflict (cons "[DOES NOT APPLY]" 'agent-q-diff-differs))
      ((guard (or state notes aside))
       (cons (format "[%s]" (string-join (delq nil (list (upcase (agent-q-diff-buffer-mark-word
                                                                  state))
                                                         notes aside))
                                         ", "))
             (cond
              (differs 'agent-q-diff-differs)
              ((eq state 'applied) 'agent-q-diff-applied)
              (state 'agent-q-diff-rejected)
              ((eq place 'next-to-edit) 'agent-q-diff-differs)
              (t 'agent-q-diff-pending)))))))

(defun agent-q-diff-signs-difference (state is-in place)
  "Return how STATE and the target disagree, a string, or nil.
IS-IN and PLACE are as in `agent-q-diff-signs--sign'."
  (cond
   ((eq is-in 'unknown) nil)
   ((eq place 'lost)
    (format "but changed in the %s since" (agent-q-diff-buffer-target-word)))
   ((eq is-in 'mixed)
    (format "but partly in the %s" (agent-q-diff-buffer-target-word)))
   ((not (eq (and is-in t) (if (and agent-q-diff-buffer-change
                                    (agent-q-diff-change-written agent-q-diff-buffer-change))
                               (not (eq state 'rejected))
                             (eq state 'applied))))
    (format (if is-in "but in the %s" "but not in the %s")
            (agent-q-diff-buffer-target-word)))))

(defun agent-q-diff-signs--overlay-p (overlay)
  "Return non-nil if OVERLAY is for the state of a hunk."
  (or (overlay-get overlay 'agent-q-diff)
      (overlay-get overlay 'agent-q-diff-header)))

(defun agent-q-diff-signs-overlays-at (position)
  "Return the overlays for the state of the hunk at POSITION.
POSITION is that of its `@@' line."
  (seq-filter (lambda (overlay)
                (and (agent-q-diff-signs--overlay-p overlay)
                     (eq (overlay-start overlay) position)))
              (overlays-in position (1+ position))))

(defvar-local agent-q-diff-signs--n-signs 0
  "Number of signs added since all were last removed.")

(defconst agent-q-diff-signs--max-signs 100
  "Number of signs up to which those that are out of view may stay.")

(defun agent-q-diff-signs--put-sign (position end state is-in
                                              &optional reason place notes comment)
  "Show STATE, IS-IN, PLACE and NOTES on the hunk from POSITION to END.
These four are as for `agent-q-diff-signs--sign'.  REASON, a string or nil,
is the tooltip, and COMMENT the user's comment, or nil."
  (mapc #'delete-overlay (agent-q-diff-signs-overlays-at position))
  (pcase (agent-q-diff-signs--sign state is-in place notes)
    (`(,text . ,face)
     (agent-q-diff-base-overlay
      position end 'agent-q-diff (or state 'pending) 'help-echo reason
      'face (and state 'agent-q-diff-decided)
      'before-string (concat (propertize text 'face face)
                             (if state (propertize " " 'face 'agent-q-diff-decided-header) " ")))
     (agent-q-diff-base-overlay
      position (agent-q-diff-base-widened
                 (save-excursion
                   (goto-char position)
                   (line-end-position)))
      'agent-q-diff-header t 'face (and state 'agent-q-diff-decided-header)
      'after-string (and comment (propertize (concat "\n# " (string-replace "\n" "\n# " comment))
                                             'face 'agent-q-diff-comment)))
     (cl-incf agent-q-diff-signs--n-signs))))

(defun agent-q-diff-apply-visual-feedback (hunk-start state)
  "Show STATE on the hunk whose `@@' line is at HUNK-START.
STATE is `applied', `rejected', or nil to remove the sign."
  (agent-q-diff-signs--put-sign
   hunk-start
   (if agent-q-diff-buffer-is-made
       (agent-q-diff-buffer-hunk-end (agent-q-diff-buffer-hunk-at-point hunk-start))
     (agent-q-diff-buffer-typed-end hunk-start))
   state 'unknown))

(defun agent-q-diff-signs-show-hunk (hunk)
  "Show the state of HUNK."
  (agent-q-diff-signs--show-snapshot (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))

(defun agent-q-diff-signs--show-snapshot (hunk)
  "Show the state of HUNK, an `agent-q-diff-engine-hunk'."
  (let* ((change agent-q-diff-buffer-change)
         (index (agent-q-diff-engine-hunk-index hunk))
         ;; One on lines is below these.
         (comment (or (alist-get index (agent-q-diff-change-comments change))
                      (cdr (agent-q-diff-change-rule change hunk))))
         (is-hooked (and (eq 'applied (agent-q-diff-engine-hunk-mark hunk))
                         (eq 'in (agent-q-diff-change-hooked change hunk))))
         (place (if is-hooked 'hooked (agent-q-diff-engine-hunk-place hunk))))
    (agent-q-diff-signs--put-sign (agent-q-diff-buffer-position index)
                                  (agent-q-diff-buffer-hunk-end index)
                                  (agent-q-diff-engine-hunk-mark hunk)
                                  (or is-hooked (agent-q-diff-engine-hunk-fact hunk))
                                  (and (not is-hooked) (agent-q-diff-engine-hunk-reason hunk))
                                  (cond
                                   ((eq place 'ambiguous)
                                    (cons place (agent-q-diff-signs--choice hunk)))
                                   ((integerp place) (agent-q-diff-change-shift change hunk))
                                   (t place))
                                  (agent-q-diff-signs--notes-on hunk comment)
                                  comment)))

(defun agent-q-diff-signs-show-committed ()
  "Show the effect of the latest command on this buffer's review."
  (let* ((change agent-q-diff-buffer-change)
         (committed (agent-q-diff-change-committed change))
         (hunks (agent-q-diff-engine-committed-hunks committed)))
    (if (agent-q-diff-engine-committed-marks committed)
        (agent-q-diff-buffer-write-states)
      (agent-q-diff-buffer-write-state (agent-q-diff-engine-hunk-index (car hunks))
                                       (agent-q-diff-engine-hunk-mark (car hunks))))
    (if hunks
        (mapc #'agent-q-diff-signs--show-snapshot hunks)
      (agent-q-diff-signs--show-in-sight))
    ;; Signs that are out of view go if there are too many.
    (when (and (> agent-q-diff-signs--n-signs agent-q-diff-signs--max-signs)
               (length> agent-q-diff-buffer-positions agent-q-diff-change-max-shown))
      (agent-q-diff-signs--show-in-sight))
    (setq agent-q-diff-signs--shown (list committed))
    (agent-q-diff-signs--show-progress change)))

(defun agent-q-diff-signs--show-progress (&optional change)
  "Show the progress, and the hunk at point, which may have been decided.
CHANGE is as for `agent-q-diff-progress-refresh'."
  (setq agent-q-diff-buffer-is-moved t)
  (agent-q-diff-buffer-announce-hunks)
  (agent-q-diff-progress-refresh change))

(defun agent-q-diff-signs--choice (hunk)
  "Return (NTH . N): HUNK is offered the place with the index NTH of N.
HUNK is an `agent-q-diff-engine-hunk'."
  (pcase agent-q-diff-buffer-shown
    ((and `(,id ,_ ,nth . ,shown)
          (guard (eql id (agent-q-diff-engine-hunk-id hunk))))
     (cons nth (length shown)))
    (_ (cons 0 (length (agent-q-diff-engine-hunk-places hunk))))))

(defun agent-q-diff-signs--notes-on (hunk comment)
  "Return further notes on HUNK, a string or nil.
HUNK is an `agent-q-diff-engine-hunk'.  The notes are the number of outer
context lines that differ at its place, and what the user did to it besides
deciding it; COMMENT is the user's comment on it, or nil."
  (let* ((fuzz (agent-q-diff-engine-hunk-fuzz hunk))
         (written (agent-q-diff-change-written agent-q-diff-buffer-change))
         (notes (delq nil (list (and (agent-q-diff-change-to-go-p agent-q-diff-buffer-change hunk)
                                     "will be taken out")
                                (and written
                                     (seq-some (pcase-lambda (`(,_ ,authors . ,_)) (cdr authors))
                                               (agent-q-diff-written-written-by written))
                                     (agent-q-diff-signs--author-note hunk))
                                (and (null (agent-q-diff-engine-hunk-mark hunk))
                                     (agent-q-diff-engine-hunk-earlier hunk)
                                     (agent-q-diff-signs-earlier-words hunk))
                                (and (> fuzz 0) (format "fuzz %d" fuzz))
                                (and (agent-q-diff-engine-hunk-is-edited hunk) "edited")
                                (and comment "commented")))))
    (and notes (string-join notes ", "))))

(defun agent-q-diff-signs-earlier-words (hunk)
  "Return words about what the user took out before that HUNK is like, or nil.
HUNK is an `agent-q-diff-engine-hunk'."
  (pcase (agent-q-diff-engine-hunk-earlier hunk)
    (`[,how ,time ,reason]
     (let ((day (agent-q-diff-signs--day time))
           (reason (agent-q-diff-engine-text reason)))
       (concat (pcase-exhaustive how
                 ('t (format "taken out %s" day))
                 ('like "like one that you took out")
                 ('part (format "with lines that you took out %s" day)))
               (if (string-empty-p reason)
                   ""
                 (concat ": " (truncate-string-to-width (agent-q-diff-visible reason)
                                                        30 nil nil "…"))))))))

(defun agent-q-diff-signs--day (time)
  "Return words for the day of TIME, in seconds since 1970."
  (let* ((system-time-locale "C")
         (day (lambda (time) (time-to-days (seconds-to-time time))))
         (age (- (funcall day (float-time)) (funcall day time))))
    (cond
     ((<= age 0) "today")
     ((= age 1) "yesterday")
     ((< age 7) (format-time-string "on %A" time))
     (t (format-time-string "on %F" time)))))

(defun agent-q-diff-signs--author-note (hunk)
  "Return who wrote HUNK, a string, if others wrote other parts of its file.
HUNK is an `agent-q-diff-engine-hunk'.  Otherwise return nil."
  (let* ((change agent-q-diff-buffer-change)
         (index (agent-q-diff-engine-hunk-index hunk))
         (known (agent-q-diff-change-authors
                 change (agent-q-diff-change-file-of change index))))
    (when (cdar known)
      (agent-q-diff-change-author-words
       (agent-q-diff-change-hunk-authors change index)))))

(defun agent-q-diff-signs-show-all ()
  "Show the state of every hunk and the progress.
If there are more than `agent-q-diff-change-max-shown' hunks, each
gets its sign when it comes into view: a screen shows few, and thousands of
overlays make every edit of a buffer slow."
  (agent-q-diff-change-recount agent-q-diff-buffer-change)
  (let ((n (length agent-q-diff-buffer-positions)))
    (if (<= n agent-q-diff-change-max-shown)
        (dotimes (hunk n)
          (agent-q-diff-signs-show-hunk hunk))
      (agent-q-diff-signs--show-in-sight)))
  (setq agent-q-diff-signs--shown
        (list (agent-q-diff-change-committed agent-q-diff-buffer-change)))
  (agent-q-diff-signs--show-progress))

(defun agent-q-diff-signs--show-in-sight ()
  "Show the state of each hunk when it comes into view."
  (setq agent-q-diff-signs--n-signs 0)
  (agent-q-diff-base-widened
    (dolist (overlay (overlays-in (point-min) (point-max)))
      (when (agent-q-diff-signs--overlay-p overlay)
        (delete-overlay overlay)))
    (jit-lock-register #'agent-q-diff-signs--show-between)
    (jit-lock-refontify)))

(defun agent-q-diff-signs--show-between (beg end)
  "Show the state of the hunks whose `@@' lines are between BEG and END."
  (save-excursion
    (goto-char beg)
    (cl-loop for hunk from (or (agent-q-diff-buffer-hunk-before) 0)
             below (agent-q-diff-buffer-n-inserted)
             for position = (agent-q-diff-buffer-position hunk)
             while (< position end)
             when (>= position beg)
             do (if (agent-q-diff-buffer-ended-p)
                    (agent-q-diff-signs--put-sign
                     position (agent-q-diff-buffer-hunk-end hunk)
                     (cdr (aref agent-q-diff-buffer-entries hunk)) 'unknown)
                  (agent-q-diff-signs-show-hunk hunk)))))

;;; The places of an ambiguous hunk

;;;; Showing a position of the target

(defvar agent-q-diff-places--moved nil
  "Windows of targets in which reviews have moved point.
Each is a list (WINDOW BUFFER POINT LAST IS-NEW): POINT is a marker at which
point was, LAST one at which it was put last, and IS-NEW non-nil if the
window did not show BUFFER before.")

(defun agent-q-diff-places-show-position (target position &optional window)
  "Show POSITION of the buffer TARGET in WINDOW, and return that window.
If WINDOW is nil, use one that is not selected; if there is none, return
nil.  It is restored when the reviews of TARGET have ended."
  (pcase-let* ((`(,target . ,position) (agent-q-diff-disk-place target position))
               (before (get-buffer-window-list target 'never t))
               (is-ours (agent-q-diff-visit-ours-p target))
               (window (or window (display-buffer target '(nil (inhibit-same-window . t))))))
    (when window
      (unless (seq-find (lambda (moved) (and (eq window (car moved)) (eq target (cadr moved))))
                        agent-q-diff-places--moved)
        (push (list window target
                    (copy-marker (with-current-buffer target (window-point window)))
                    (make-marker) (not (memq window before)))
              agent-q-diff-places--moved))
      (set-window-point window position)
      (with-selected-window window
        (goto-char position)
        (recenter))
      (dolist (moved agent-q-diff-places--moved)
        (when (and (eq window (car moved)) (eq target (cadr moved)))
          (set-marker (nth 3 moved) position target)))
      (when is-ours
        (agent-q-diff-visit-note target)))
    window))

(defun agent-q-diff-places-leave (review)
  "Restore the windows in which REVIEW, which has ended, has moved point.
A window in which the user has moved stays as it is, and so do those of a
file for which another review is open."
  (let ((ours (agent-q-diff-places--targets review))
        (others (mapcan #'agent-q-diff-places--targets
                        (remq review (agent-q-diff-open-reviews)))))
    (dolist (moved agent-q-diff-places--moved)
      (pcase-let ((`(,window ,target ,point ,last ,is-new) moved))
        (when (or (not (buffer-live-p target))
                  (and (memq target ours) (not (memq target others))))
          (setq agent-q-diff-places--moved (remq moved agent-q-diff-places--moved))
          (when (and (window-live-p window)
                     (buffer-live-p target)
                     (eq target (window-buffer window))
                     (not (eq window (selected-window)))
                     (= last (window-point window)))
            (if is-new
                (agent-q-diff-base-keeping-selection
                  (quit-restore-window window))
              (set-window-point window point))))))))

(defun agent-q-diff-places--targets (review)
  "Return the buffers of the files of REVIEW."
  (delq nil (mapcar (lambda (file)
                      (agent-q-diff-target-visitor (agent-q-diff-file-change-target file)))
                    (agent-q-diff-change-files (agent-q-diff-session-change review)))))

;;; The places of an ambiguous hunk

(defvar-local agent-q-diff-places--overlay nil
  "The overlay on the lines of the target that are shown as a hunk's place.")

(defun agent-q-diff-places-shown (change hunk)
  "Return the place of HUNK of CHANGE that was just shown, or nil.
It is (LINE . IS-IN), for `agent-q-diff-engine-plan'.  It is nil, too, if
the target has changed since."
  (pcase agent-q-diff-buffer-shown
    (`(,id ,tick ,nth . ,places)
     (and (eql id (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk)))
          (eql tick (agent-q-diff-file-change-tick
                      (agent-q-diff-change-file-of change hunk)))
          (pcase-let ((`(,line ,_ ,is-in . ,_) (nth nth places)))
            (cons line is-in))))))

(defvar-local agent-q-diff-places--marker nil
  "Marker in the target at the line that was shown as a hunk's place.
It follows what others edit meanwhile.")

(defun agent-q-diff-places-show (change hunk)
  "Show the likeliest place of HUNK of CHANGE, which is ambiguous.
If one was shown before others edited the target, show that one, where it is
now.  Tell the user how to use it.  Return nil if HUNK has no place to choose."
  (let* ((engine (agent-q-diff-change-engine change))
         (places (agent-q-diff-module-candidates engine hunk))
         (id (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk))))
    (when places
      (setq agent-q-diff-buffer-shown
            `(,id ,(agent-q-diff-file-change-tick (agent-q-diff-change-file-of change hunk))
                  ,(or (agent-q-diff-places--shown-before id places) 0) . ,places))
      (agent-q-diff-places--show-shown change hunk)
      t)))

(defun agent-q-diff-places--shown-before (id places)
  "Return the index in PLACES of the one that was shown of hunk ID, or nil."
  (pcase agent-q-diff-buffer-shown
    ((and `(,(pred (eql id)) . ,_)
          (guard (and agent-q-diff-places--marker
                      (marker-buffer agent-q-diff-places--marker))))
     (let* ((marker agent-q-diff-places--marker)
            (line (with-current-buffer (marker-buffer marker)
                    (1- (line-number-at-pos marker t)))))
       (seq-position places line (lambda (place line) (eql (car place) line)))))))

(defun agent-q-diff-places-show-next (n)
  "Show the Nth next place of the hunk at point, if one of several is shown.
Wrap around after the last.  Return nil if none is shown, or only one."
  (let* ((change (agent-q-diff-buffer-change-or-nil))
         (hunk (and change (agent-q-diff-buffer-hunk-at-point))))
    (pcase agent-q-diff-buffer-shown
      ((and `(,_ ,_ ,nth . ,places)
            (guard (and hunk (cdr places)
                        (agent-q-diff-places-shown change hunk))))
       (setf (nth 2 agent-q-diff-buffer-shown) (mod (+ nth n) (length places)))
       (agent-q-diff-places--show-shown change hunk)
       t))))

(defun agent-q-diff-places--show-shown (change hunk)
  "Show the place of HUNK of CHANGE that `agent-q-diff-buffer-shown' names.
Its lines are marked until the next command in this buffer."
  (pcase-let* ((`(,_ ,_ ,nth . ,places) agent-q-diff-buffer-shown)
               (`(,line ,change-line ,is-in ,fuzz ,n-lines) (nth nth places))
               (target (agent-q-diff-file-change-buffer
                        (agent-q-diff-change-file-of change hunk))))
    (agent-q-diff-places--mark target line n-lines)
    (setq agent-q-diff-places--marker
          (set-marker (or agent-q-diff-places--marker (make-marker))
                      (agent-q-diff-text-position target line) target))
    ;; A line that is inserted there is above it.
    (set-marker-insertion-type agent-q-diff-places--marker t)
    (agent-q-diff-places-show-position target
                                       (agent-q-diff-text-position target change-line))
    (agent-q-diff-signs-show-hunk hunk)
    (message "%s" (agent-q-diff-places--text
                   (buffer-name target) change-line is-in fuzz nth (length places)))))

(defun agent-q-diff-places--text (name line is-in fuzz nth n)
  "Return a message about a place at LINE, from 0, of the buffer called NAME.
IS-IN tells whether the change is there already, FUZZ how many outer
context lines differ.  The place is the one with the index NTH of N."
  (let ((aside (concat (if is-in ", where its change is already" "")
                       (if (> fuzz 0) (format ", with fuzz %d" fuzz) ""))))
    (if (= n 1)
        (format "Ambiguous: line %d of %s%s is the likely place; the same key again uses it"
                (1+ line) name aside)
      (substitute-command-keys
       (format "Place %d of %d: line %d of %s%s.  The same key uses it; \\<agent-q-diff-mode-map>\\[agent-q-diff-next-conflict] \\[agent-q-diff-previous-conflict] show others"
               (1+ nth) n (1+ line) name aside)))))

(defun agent-q-diff-places--mark (target line n-lines)
  "Mark N-LINES lines of TARGET from LINE, from 0, until the next command."
  (agent-q-diff-places-unmark)
  (let ((beg (agent-q-diff-text-position target line))
        (end (agent-q-diff-text-position target (+ line n-lines))))
    (setq agent-q-diff-places--overlay (make-overlay beg end target))
    (overlay-put agent-q-diff-places--overlay 'face 'agent-q-diff-place)
    (add-hook 'pre-command-hook #'agent-q-diff-places-unmark nil t)
    (add-hook 'kill-buffer-hook #'agent-q-diff-places-unmark nil t)))

(defun agent-q-diff-places-unmark ()
  "Unmark the lines that were shown as a hunk's place."
  (remove-hook 'pre-command-hook #'agent-q-diff-places-unmark t)
  (remove-hook 'kill-buffer-hook #'agent-q-diff-places-unmark t)
  (when agent-q-diff-places--overlay
    (delete-overlay agent-q-diff-places--overlay)
    (setq agent-q-diff-places--overlay nil)))

(provide 'agent-q-diff-display)
;;; agent-q-diff-display.el ends here
