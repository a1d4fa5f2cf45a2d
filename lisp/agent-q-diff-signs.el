;;; agent-q-diff-signs.el --- Shows how each hunk stands  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A sign on each hunk whose state or place needs to be seen: overlays from
;; what the engine says of a hunk.  They follow what others do in the target.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-outside)
(require 'agent-q-diff-visit)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-progress)

;;;; The review of this buffer

(defun agent-q-diff-signs-change-with-target ()
  "Return this buffer's file change, with its target followed.
The display is brought up to date if the target has changed."
  (let ((change (agent-q-diff-buffer-current-change)))
    (unless (eq agent-q-diff-buffer-parsed-tick t)
      (agent-q-diff-signs-watch change)
      (agent-q-diff-file-change-aim change
                                    (and agent-q-diff-buffer-path
                                         (agent-q-diff-visit-name
                                          agent-q-diff-buffer-path))))
    (when (agent-q-diff-file-change-follow change)
      (agent-q-diff-signs-show-all))
    change))

(defvar-local agent-q-diff-signs--refresh-timer nil
  "The timer that will show how edits of the target stand, or nil.")
(put 'agent-q-diff-signs--refresh-timer 'permanent-local t)

(defun agent-q-diff-signs-watch (change)
  "Show in this buffer, before long, what others do in the target of CHANGE."
  (let ((buffer (current-buffer)))
    (setf (agent-q-diff-file-change-edited-function change)
          (lambda () (agent-q-diff-signs--refresh-soon buffer)))))

(defun agent-q-diff-signs--refresh-soon (buffer)
  "Let the diff buffer BUFFER show how the target is, before long.
That is done when there has been no input for a while."
  ;; After most edits it is already to be done.
  (when (and agent-q-diff-refresh-delay (buffer-live-p buffer)
             (not (buffer-local-value 'agent-q-diff-signs--refresh-timer buffer)))
    (with-current-buffer buffer
      (setq agent-q-diff-signs--refresh-timer
            (run-with-idle-timer
             ;; While Emacs is idle the time counts from when that began.
             (time-add (or (current-idle-time) 0) agent-q-diff-refresh-delay)
             nil #'agent-q-diff-signs--refresh buffer)))))

(defun agent-q-diff-signs-stop-refreshing ()
  "Forget that this buffer was to show how the target is."
  (when agent-q-diff-signs--refresh-timer
    (cancel-timer agent-q-diff-signs--refresh-timer)
    (setq agent-q-diff-signs--refresh-timer nil)))

(defun agent-q-diff-signs--refresh (buffer)
  "Show in the diff buffer BUFFER how the target now is, if it is visible."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq agent-q-diff-signs--refresh-timer nil)
      (when (and agent-q-diff-buffer-review
                 (not (agent-q-diff-buffer-ended-p))
                 ;; A hook on the way to the file may ask something: what is
                 ;; planned is not committed yet.
                 (not agent-q-diff-outside-speaker)
                 (get-buffer-window buffer t))
        ;; What is wrong with the target is said when it is needed.
        (ignore-error agent-q-diff-error
          (agent-q-diff-signs-change-with-target))))))

;;;; Overlays

(defun agent-q-diff-signs--sign (state is-in place notes)
  "Return (TEXT . FACE), the sign of a hunk, or nil if it needs none.
STATE is its state, IS-IN tells whether its change is in the target,
PLACE is as `agent-q-diff-engine-hunk' has it, or (ambiguous NTH . N) if
it is the place with the index NTH of N; and NOTES says what the user did
to it and how it was found, a string or nil."
  (let ((name (upcase (symbol-name (or state 'pending)))))
    (pcase (agent-q-diff-signs--difference state is-in place)
      ((and words (pred stringp))
       (cons (agent-q-diff-signs--bracketed name notes words) 'agent-q-diff-differs))
      ((guard (and (null state) (eq (or (car-safe place) place) 'ambiguous)))
       (cons (agent-q-diff-signs--ambiguous-sign (cdr-safe place)) 'agent-q-diff-differs))
      ((guard (and (null state) (eq place 'conflict)))
       (cons "[DOES NOT APPLY]" 'agent-q-diff-differs))
      (_
       (let ((words (agent-q-diff-signs--aside state place)))
         (when (or state notes words)
           (cons (agent-q-diff-signs--bracketed name notes words)
                 (cond
                  (state (agent-q-diff-signs--state-face state))
                  ((eq place 'next-to-edit) 'agent-q-diff-differs)
                  (t 'agent-q-diff-pending)))))))))

(defun agent-q-diff-signs--ambiguous-sign (choice)
  "Return the sign of a hunk that has to be looked at before it is accepted.
CHOICE is nil, or (NTH . N) if it is the place with the index NTH of N."
  (pcase choice
    (`(,nth . ,(and n (guard (> n 1))))
     (format "[AMBIGUOUS, look: %d of %d places]" (1+ nth) n))
    (_ "[AMBIGUOUS, look]")))

(defun agent-q-diff-signs--bracketed (&rest words)
  "Return WORDS, of which some may be nil, as one sign."
  (format "[%s]" (string-join (delq nil words) ", ")))

(defun agent-q-diff-signs--difference (state is-in place)
  "Return how STATE and the target disagree, a string, or nil.
IS-IN and PLACE are as in `agent-q-diff-signs--sign'."
  (cond
   ((eq is-in 'unknown) nil)
   ((eq place 'lost) "but changed in the file since")
   ((eq is-in 'mixed) "but partly in the file")
   ((not (eq (and is-in t) (eq state 'applied)))
    (if is-in "but in the file" "but not in the file"))))

(defun agent-q-diff-signs--aside (state place)
  "Return what to say about PLACE of a hunk in STATE, a string, or nil."
  (cond
   ((eq place 'next-to-edit) "next to your edit")
   ((and (null state) (integerp place))
    (format (ngettext "shifted by %d line" "shifted by %d lines" (abs place)) place))))

(defun agent-q-diff-signs--state-face (state)
  "Return the face of the sign for STATE."
  (if (eq state 'applied) 'agent-q-diff-applied 'agent-q-diff-rejected))

(defun agent-q-diff-signs--overlay-p (overlay)
  "Return non-nil if OVERLAY is on a hunk because of its state."
  (or (overlay-get overlay 'agent-q-diff)
      (overlay-get overlay 'agent-q-diff-header)))

(defun agent-q-diff-signs-overlays-at (position)
  "Return our overlays on the hunk whose `@@' line is at POSITION."
  (seq-filter (lambda (overlay)
                (and (agent-q-diff-signs--overlay-p overlay)
                     (eq (overlay-start overlay) position)))
              (overlays-in position (1+ position))))

(defvar-local agent-q-diff-signs--n-signs 0
  "Number of signs that were put since all were taken away.")

(defun agent-q-diff-signs--put-sign (position state is-in &optional reason place notes)
  "Show on the hunk at POSITION its STATE, IS-IN, PLACE and NOTES.
These four are those of `agent-q-diff-signs--sign'; REASON explains them."
  (mapc #'delete-overlay (agent-q-diff-signs-overlays-at position))
  (pcase (agent-q-diff-signs--sign state is-in place notes)
    (`(,text . ,face)
     (let ((overlay (make-overlay position (agent-q-diff-buffer-hunk-end position))))
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
         (agent-q-diff-signs--put-header position))
       (cl-incf agent-q-diff-signs--n-signs)))))

(defun agent-q-diff-signs--put-header (position)
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
  (agent-q-diff-signs--put-sign hunk-start state 'unknown))

(defun agent-q-diff-signs-show-hunk (hunk)
  "Show the state of HUNK."
  (agent-q-diff-signs--show-snapshot (agent-q-diff-file-change-hunk (agent-q-diff-buffer-change) hunk)))

(defun agent-q-diff-signs--show-snapshot (hunk)
  "Show the state of HUNK, an `agent-q-diff-engine-hunk'."
  (let ((place (agent-q-diff-engine-hunk-place hunk)))
    (agent-q-diff-signs--put-sign (aref agent-q-diff-buffer-positions
                                        (agent-q-diff-engine-hunk-index hunk))
                                  (agent-q-diff-engine-hunk-mark hunk)
                                  (agent-q-diff-engine-hunk-fact hunk)
                                  (agent-q-diff-engine-hunk-reason hunk)
                                  (if (eq place 'ambiguous)
                                      (cons place (agent-q-diff-signs--choice hunk))
                                    place)
                                  (agent-q-diff-signs--notes-on hunk))))

(defun agent-q-diff-signs-show-committed ()
  "Show what the latest command of this buffer's review came to."
  (let* ((committed (agent-q-diff-file-change-committed (agent-q-diff-buffer-change)))
         (hunks (agent-q-diff-engine-committed-hunks committed)))
    (cond
     ((agent-q-diff-engine-committed-marks committed)
      (agent-q-diff-buffer-write-states))
     (t
      (agent-q-diff-buffer-write-state (agent-q-diff-engine-hunk-index (car hunks))
                                       (agent-q-diff-engine-hunk-mark (car hunks)))))
    (if hunks
        (mapc #'agent-q-diff-signs--show-snapshot hunks)
      (agent-q-diff-signs--show-in-sight))
    (agent-q-diff-signs--thin-out)
    (agent-q-diff-progress-refresh)))

(defun agent-q-diff-signs--choice (hunk)
  "Return (NTH . N): of N places of HUNK that with the index NTH is offered.
HUNK is an `agent-q-diff-engine-hunk'."
  (pcase agent-q-diff-buffer-shown
    ((and `(,id ,_ ,nth . ,shown)
          (guard (eql id (agent-q-diff-engine-hunk-id hunk))))
     (cons nth (length shown)))
    (_ (cons 0 (length (agent-q-diff-engine-hunk-places hunk))))))

(defun agent-q-diff-signs--notes-on (hunk)
  "Return what else there is to say of HUNK, a string or nil.
HUNK is an `agent-q-diff-engine-hunk'.  That is the number of outer
context lines that differ where it was found, and what the user did to it
besides deciding it."
  (let* ((fuzz (agent-q-diff-engine-hunk-fuzz hunk))
         (comment (alist-get (agent-q-diff-engine-hunk-index hunk)
                             (agent-q-diff-file-change-comments (agent-q-diff-buffer-change))))
         (notes (delq nil (list (and (> fuzz 0) (format "fuzz %d" fuzz))
                                (and (agent-q-diff-engine-hunk-is-edited hunk) "edited")
                                (and comment "commented")))))
    (and notes (string-join notes ", "))))

(defun agent-q-diff-signs-show-all ()
  "Show the state of every hunk and the progress.
If they are more than `agent-q-diff-file-change-max-shown', those show their
state that come into sight: a screen has few, and thousands of overlays
make every edit of a buffer slow."
  (agent-q-diff-file-change-recount (agent-q-diff-buffer-change))
  (let ((n (length agent-q-diff-buffer-positions)))
    (if (<= n agent-q-diff-file-change-max-shown)
        (dotimes (hunk n)
          (agent-q-diff-signs-show-hunk hunk))
      (agent-q-diff-signs--show-in-sight)))
  (agent-q-diff-progress-refresh))

(defconst agent-q-diff-signs--max-signs 100
  "Number of signs up to which those that are out of sight may stay.")

(defun agent-q-diff-signs--thin-out ()
  "Take signs that are out of sight away if there are too many."
  (when (and (> agent-q-diff-signs--n-signs agent-q-diff-signs--max-signs)
             (length> agent-q-diff-buffer-positions agent-q-diff-file-change-max-shown))
    (agent-q-diff-signs--show-in-sight)))

(defun agent-q-diff-signs--show-in-sight ()
  "Show the state of each hunk when it comes into sight."
  (setq agent-q-diff-signs--n-signs 0)
  (save-restriction
    (widen)
    (dolist (overlay (overlays-in (point-min) (point-max)))
      (when (agent-q-diff-signs--overlay-p overlay)
        (delete-overlay overlay)))
    (jit-lock-register #'agent-q-diff-signs--show-between)
    (jit-lock-refontify)))

(defun agent-q-diff-signs--show-between (beg end)
  "Show the state of the hunks whose `@@' lines are between BEG and END."
  (save-excursion
    (goto-char beg)
    (let ((hunk (or (agent-q-diff-buffer-hunk-at-point) 0)))
      (while (and (< hunk (length agent-q-diff-buffer-positions))
                  (< (aref agent-q-diff-buffer-positions hunk) end))
        (when (>= (aref agent-q-diff-buffer-positions hunk) beg)
          (if (agent-q-diff-buffer-ended-p)
              (agent-q-diff-signs--put-sign
               (aref agent-q-diff-buffer-positions hunk)
               (cdr (aref agent-q-diff-buffer-entries hunk)) 'unknown)
            (agent-q-diff-signs-show-hunk hunk)))
        (cl-incf hunk)))))

(provide 'agent-q-diff-signs)
;;; agent-q-diff-signs.el ends here
