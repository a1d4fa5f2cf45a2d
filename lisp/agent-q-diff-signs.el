;;; agent-q-diff-signs.el --- Shows how each hunk stands  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A sign on each hunk whose state or place needs to be seen.  Signs are
;; overlays made from what the engine reports about a hunk; they are updated
;; when others edit the target.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-progress)

;;;; The review of this buffer

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
    (when (agent-q-diff-change-follow change index)
      (agent-q-diff-signs-show-all))
    change))

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

(defun agent-q-diff-signs--refresh (buffer)
  "Update the signs in the diff buffer BUFFER, if it is visible."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq agent-q-diff-signs--refresh-timer nil)
      (when (and agent-q-diff-buffer-review
                 (not (agent-q-diff-buffer-ended-p))
                 (null agent-q-diff-change-in-progress)
                 (get-buffer-window buffer t))
        ;; Problems with the target are reported when it is needed.
        (ignore-error agent-q-diff-error
          (agent-q-diff-signs-follow))))))

;;;; Overlays

(defun agent-q-diff-signs--sign (state is-in place notes)
  "Return (TEXT . FACE), the sign of a hunk, or nil if it needs none.
STATE is its state; IS-IN tells whether its change is in the target.  PLACE
is as in `agent-q-diff-engine-hunk', or (ambiguous NTH . N) for the place
with the index NTH of N.  NOTES, a string or nil, tells what the user did
to the hunk and how its place was found."
  (let ((name (upcase (if (eq state 'applied)
                          (agent-q-diff-buffer-applied-word)
                        (symbol-name (or state 'pending))))))
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
                  ((eq state 'applied) 'agent-q-diff-applied)
                  (state 'agent-q-diff-rejected)
                  ((eq place 'next-to-edit) 'agent-q-diff-differs)
                  (t 'agent-q-diff-pending)))))))))

(defun agent-q-diff-signs--ambiguous-sign (choice)
  "Return the sign of an ambiguous hunk, which the user must look at.
CHOICE is nil, or (NTH . N) for the place with the index NTH of N."
  (pcase choice
    (`(,nth . ,(and n (guard (> n 1))))
     (format "[AMBIGUOUS, look: %d of %d places]" (1+ nth) n))
    (_ "[AMBIGUOUS, look]")))

(defun agent-q-diff-signs--bracketed (&rest words)
  "Return the sign made of WORDS, leaving out nil."
  (format "[%s]" (string-join (delq nil words) ", ")))

(defun agent-q-diff-signs--difference (state is-in place)
  "Return how STATE and the target disagree, a string, or nil.
IS-IN and PLACE are as in `agent-q-diff-signs--sign'."
  (cond
   ((eq is-in 'unknown) nil)
   ((eq place 'lost)
    (format "but changed in the %s since" (agent-q-diff-buffer-target-word)))
   ((eq is-in 'mixed)
    (format "but partly in the %s" (agent-q-diff-buffer-target-word)))
   ((not (eq (and is-in t) (eq state 'applied)))
    (format (if is-in "but in the %s" "but not in the %s")
            (agent-q-diff-buffer-target-word)))))

(defun agent-q-diff-signs--aside (state place)
  "Return words about PLACE of a hunk in STATE, a string, or nil."
  (cond
   ((eq place 'next-to-edit) "next to your edit")
   ((eq place 'hooked) "as changed by your hook")
   ((and (null state) (integerp place))
    (format (ngettext "shifted by %d line" "shifted by %d lines" (abs place)) place))))

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
     (let ((overlay (make-overlay position end))
           (header (make-overlay position (save-restriction
                                            (widen)
                                            (save-excursion
                                              (goto-char position)
                                              (line-end-position))))))
       (overlay-put overlay 'agent-q-diff (or state 'pending))
       (overlay-put overlay 'evaporate t)
       (overlay-put overlay 'help-echo reason)
       (overlay-put overlay 'face (and state 'agent-q-diff-decided))
       (overlay-put overlay 'before-string
                    (concat (propertize text 'face face)
                            (if state
                                (propertize " " 'face 'agent-q-diff-decided-header)
                              " ")))
       (overlay-put header 'agent-q-diff-header t)
       (overlay-put header 'evaporate t)
       (overlay-put header 'face (and state 'agent-q-diff-decided-header))
       (when comment
         (overlay-put header 'after-string
                      (propertize (concat "\n# " (string-join (split-string comment "\n") "\n# "))
                                  'face 'agent-q-diff-comment)))
       (cl-incf agent-q-diff-signs--n-signs)))))

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
         (comment (alist-get index (agent-q-diff-change-comments change)))
         (is-hooked (eq 'in (agent-q-diff-change-hooked change hunk)))
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
    (cond
     ((agent-q-diff-engine-committed-marks committed)
      (agent-q-diff-buffer-write-states))
     (t
      (agent-q-diff-buffer-write-state (agent-q-diff-engine-hunk-index (car hunks))
                                       (agent-q-diff-engine-hunk-mark (car hunks)))))
    (if hunks
        (mapc #'agent-q-diff-signs--show-snapshot hunks)
      (agent-q-diff-signs--show-in-sight))
    ;; Signs that are out of view go if there are too many.
    (when (and (> agent-q-diff-signs--n-signs agent-q-diff-signs--max-signs)
               (length> agent-q-diff-buffer-positions agent-q-diff-change-max-shown))
      (agent-q-diff-signs--show-in-sight))
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
         (notes (delq nil (list (and (> fuzz 0) (format "fuzz %d" fuzz))
                                (and (agent-q-diff-engine-hunk-is-edited hunk) "edited")
                                (and comment "commented")))))
    (and notes (string-join notes ", "))))

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
  (agent-q-diff-signs--show-progress))

(defun agent-q-diff-signs--show-in-sight ()
  "Show the state of each hunk when it comes into view."
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
    (let ((hunk (or (agent-q-diff-buffer-hunk-before) 0)))
      (while (and (< hunk (agent-q-diff-buffer-n-inserted))
                  (< (agent-q-diff-buffer-position hunk) end))
        (when (>= (agent-q-diff-buffer-position hunk) beg)
          (if (agent-q-diff-buffer-ended-p)
              (agent-q-diff-signs--put-sign
               (agent-q-diff-buffer-position hunk) (agent-q-diff-buffer-hunk-end hunk)
               (cdr (aref agent-q-diff-buffer-entries hunk)) 'unknown)
            (agent-q-diff-signs-show-hunk hunk)))
        (cl-incf hunk)))))

(provide 'agent-q-diff-signs)
;;; agent-q-diff-signs.el ends here
