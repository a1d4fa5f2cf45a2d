;;; agent-q-diff-hunks.el --- Changing the hunks of a review  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What changes not the target but the hunks themselves, and the text of
;; the diff buffer with them.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-review)
(require 'agent-q-diff-view)

(defun agent-q-diff--hunk-region (hunk)
  "Return (BEG . END), the region of HUNK, with a no-newline marker after it."
  (let ((beg (aref agent-q-diff--positions hunk)))
    (save-excursion
      (goto-char (agent-q-diff--hunk-end beg))
      (when (eq (char-after) ?\\)
        (forward-line))
      (cons beg (point)))))

(defun agent-q-diff--replace-hunk (hunk diff header-lines)
  "Show DIFF, the text of several hunks, in place of HUNK.
HEADER-LINES are the numbers of their headers' lines in it, from 0."
  (pcase-let* ((`(,beg . ,end) (agent-q-diff--hunk-region hunk))
               (positions (append agent-q-diff--positions nil))
               (strays (agent-q-diff--stray-states))
               (delta nil))
    (mapc #'delete-overlay (agent-q-diff--overlays-at beg))
    (goto-char beg)
    (setq delta (agent-q-diff--edit-quietly
                 (lambda ()
                   (delete-region beg end)
                   (save-excursion (insert diff))))
          agent-q-diff--hunk-states (agent-q-diff--shift-states strays beg delta)
          agent-q-diff--positions
          (vconcat (seq-take positions hunk)
                   (agent-q-diff--positions-in header-lines)
                   (mapcar (apply-partially #'+ delta)
                           (seq-drop positions (1+ hunk)))))
    (agent-q-diff--write-states)
    (agent-q-diff--show-all)))

(defun agent-q-diff-split-hunk ()
  "Split the hunk at point into its smallest parts.
Each is a hunk of its own and has the state that the whole had."
  (interactive)
  (let* ((review (agent-q-diff--current-review))
         (hunk (agent-q-diff--hunk-here)))
    (when (agent-q-diff-review-target review)
      (agent-q-diff--review-with-target))
    (pcase-let ((`(,n ,diff . ,lines)
                 (agent-q-diff-engine-split (agent-q-diff-review-engine review)
                                            hunk agent-q-diff--path)))
      (if (= n 1)
          (message "The hunk has only one change")
        (agent-q-diff-review-forget-failure review hunk n)
        (agent-q-diff--replace-hunk hunk diff lines)
        (message "Split into %d hunks" n)))))

(provide 'agent-q-diff-hunks)
;;; agent-q-diff-hunks.el ends here
