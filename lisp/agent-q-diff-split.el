;;; agent-q-diff-split.el --- Splits hunks and picks lines of them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A hunk is split into its smallest parts, or the lines of the region become
;; a hunk of their own, and the diff buffer shows the new hunks.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)

;;;; The text of the diff buffer

(defun agent-q-diff-split--hunk-region (hunk)
  "Return (BEG . END), the region of HUNK with any no-newline marker after it."
  (let ((beg (agent-q-diff-buffer-position hunk)))
    (save-excursion
      (goto-char (agent-q-diff-buffer-hunk-end hunk))
      (when (eq (char-after) ?\\)
        (forward-line))
      (cons beg (point)))))

(defun agent-q-diff-split--print-anew (from n-old n-new)
  "Show N-NEW hunks of the review from FROM on in place of N-OLD shown ones.
Point is then at the first of them."
  ;; In a narrowed buffer, the end of a hunk cannot be found.
  (widen)
  (pcase-let* ((`(,diff . ,header-lines)
                (agent-q-diff-engine-print-hunks
                 (agent-q-diff-change-engine agent-q-diff-buffer-change)
                 from (+ from n-new)
                 (agent-q-diff-file-change-path (agent-q-diff-buffer-file from))))
               (last (+ from n-old -1))
               (beg (agent-q-diff-buffer-position from))
               (end (cdr (agent-q-diff-split--hunk-region last)))
               (positions (append agent-q-diff-buffer-positions nil))
               (strays (agent-q-diff-buffer-stray-states))
               (delta nil))
    (dolist (position (seq-subseq positions from (1+ last)))
      (mapc #'delete-overlay (agent-q-diff-signs-overlays-at position)))
    (goto-char beg)
    (setq delta (agent-q-diff-buffer-edit-quietly
                 (lambda ()
                   (delete-region beg end)
                   (save-excursion (insert diff))))
          agent-q-diff-buffer-hunk-states (agent-q-diff-buffer-shift-states strays beg delta)
          agent-q-diff-buffer-positions
          (vconcat (seq-take positions from)
                   (agent-q-diff-buffer-positions-in header-lines)
                   (mapcar (apply-partially #'+ delta)
                           (seq-drop positions (1+ last)))))
    (agent-q-diff-buffer-write-states)
    (agent-q-diff-signs-show-all)
    (unless agent-q-diff-buffer-is-made
      ;; The diff is the user's own text, perhaps a file's.
      (set-buffer-modified-p t))))

(defun agent-q-diff-split-print-below (hunk)
  "Print HUNK and the hunks below it in its file again, with other line numbers.
In a diff that was not made from a review, text between the hunks stays."
  (let ((n (- (1+ (car (last (agent-q-diff-change-hunks-of
                              agent-q-diff-buffer-change
                              (agent-q-diff-buffer-file-index hunk)))))
              hunk)))
    (if agent-q-diff-buffer-is-made
        (agent-q-diff-split--print-anew hunk n n)
      (dotimes (step n)
        (agent-q-diff-split--print-anew (+ hunk (- n step 1)) 1 1)))))

(defun agent-q-diff-split-change ()
  "Return this buffer's change, up to date with its target if it has one.
All hunks are in the buffer then."
  (agent-q-diff-buffer-complete)
  (if agent-q-diff-buffer-path
      (agent-q-diff-signs-follow (agent-q-diff-buffer-file-index))
    (agent-q-diff-buffer-current-change)))

(defun agent-q-diff-split--show-parts (change hunk n)
  "Show that HUNK of CHANGE is now N hunks."
  (unless (= n 1)
    (agent-q-diff-change-note-parts change hunk n)
    (agent-q-diff-split--print-anew hunk 1 n)))

;;;; Undoing a split

(defun agent-q-diff-split-undo (change is-for-decision)
  "Undo the latest split of a hunk of CHANGE, if that can be undone next.
If IS-FOR-DECISION is non-nil, undo it only if it was made for the decision
that was undone just now.  Return the hunk, or nil if nothing was undone.
Signal an error if the parts cannot be joined any more."
  (pcase (and (agent-q-diff-change-n-extra change)
              (agent-q-diff-module-undo-split (agent-q-diff-change-engine change)
                                              is-for-decision))
    (`(,hunk . ,n)
     (agent-q-diff-change-note-joined change hunk n)
     (agent-q-diff-split--print-anew hunk n 1)
     hunk)))

(defun agent-q-diff-split-redo (change)
  "Redo the split of a hunk of CHANGE that was undone last, if that is next.
Return (HUNK . IS-FOR-NEXT), or nil if nothing was redone.  IS-FOR-NEXT is
non-nil if it was made for the decision that can be redone next."
  (pcase (and (agent-q-diff-change-n-extra change)
              (agent-q-diff-module-redo-split (agent-q-diff-change-engine change)))
    (`(,hunk ,n . ,is-for-next)
     (agent-q-diff-split--show-parts change hunk n)
     (cons hunk is-for-next))))

;;;; Splitting

(defun agent-q-diff-split-hunk ()
  "Split the hunk at point into its smallest parts.
These are its changes, with unchanged lines between them: lines and what
replaces them are one part.  Each part becomes a hunk and inherits the state
of the whole.  To decide single lines, select them (\\<agent-q-diff-mode-map>\\[agent-q-diff-select-line]) and accept or
reject them."
  (interactive)
  (let* ((change (agent-q-diff-split-change))
         (hunk (agent-q-diff-buffer-hunk-with-lines))
         (n (agent-q-diff-module-split (agent-q-diff-change-engine change) hunk)))
    (agent-q-diff-split--show-parts change hunk n)
    (if (= n 1)
        (message (substitute-command-keys
                  "This hunk is one change; \\<agent-q-diff-mode-map>\\[agent-q-diff-select-line] selects lines to decide only those"))
      (message "Split into %d hunks" n))))

;;;; The lines in the region

(defun agent-q-diff-split--lines-between (beg end hunk)
  "Return (FROM . TO), the changed lines of HUNK between BEG and END, or nil.
They are counted from 0 in the order of the diff; TO is not included.  A
line counts if any part of it is between BEG and END, unless END is at its
beginning."
  (let ((line 0)
        from)
    (save-excursion
      (pcase-let ((`(,start . ,stop) (agent-q-diff-split--hunk-region hunk)))
        (goto-char start)
        (forward-line)
        (while (and (< (point) stop) (< (point) end))
          (when (memq (char-after) '(?+ ?-))
            (when (>= (line-end-position) beg)
              (setq from (or from line)))
            (cl-incf line))
          (forward-line))))
    (and from (< from line) (cons from line))))

(defun agent-q-diff-split--chosen-lines (beg end)
  "Return a list of (HUNK FROM TO) for the changed lines between BEG and END.
The last hunk comes first.  FROM and TO are as from
`agent-q-diff-split--lines-between'."
  (let (chosen)
    (dotimes (hunk (length agent-q-diff-buffer-positions))
      (when (< (agent-q-diff-buffer-position hunk) end)
        (pcase (agent-q-diff-split--lines-between beg end hunk)
          (`(,from . ,to) (push (list hunk from to) chosen)))))
    (or chosen
        (user-error "There is no changed line in the region"))))

(defun agent-q-diff-split-pick-region (beg end)
  "Turn the changed lines between BEG and END into hunks of their own.
Return a list of these hunks, the first one first.  If the lines cannot be
separated from others, signal an error that says why."
  (save-restriction
    (widen)
    (let* ((change (agent-q-diff-split-change))
           (picked nil))
      (pcase-dolist (`(,hunk ,from ,to) (agent-q-diff-split--chosen-lines beg end))
        (pcase-let ((`(,n . ,index)
                     (agent-q-diff-module-pick
                      (agent-q-diff-change-engine change) hunk from to)))
          (agent-q-diff-split--show-parts change hunk n)
          (setq picked (cons (+ hunk index)
                             (mapcar (apply-partially #'+ (1- n)) picked)))))
      picked)))

(provide 'agent-q-diff-split)
;;; agent-q-diff-split.el ends here
