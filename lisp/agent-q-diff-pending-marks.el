;;; agent-q-diff-pending-marks.el --- What is pending, shown in its files and in Magit  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What was written and not reviewed yet is also shown where the user works:
;; in Magit's status buffer.

;;; Code:

(require 'subr-x)
(require 'agent-q-diff-pending)

;;;; Magit

(defvar agent-q-diff-pending-marks-section-map
  (let ((map (make-sparse-keymap)))
    (define-key map [remap magit-visit-thing] #'agent-q-diff-review-changes)
    map)
  "Keymap of the section that `agent-q-diff-pending-marks-insert-section' inserts.")

;;;###autoload
(defun agent-q-diff-pending-marks-insert-section ()
  "Insert a section that says how much is pending, for Magit's status buffer.
If nothing is known to be, insert nothing.  What is inserted was counted
earlier.  It is counted again when Emacs is idle, for the next refresh."
  (when-let ((root (agent-q-diff-pending-root)))
    (agent-q-diff-pending-count-soon root)
    (when-let ((amount (agent-q-diff-pending-amount root)))
      (agent-q-diff-pending-marks--insert-section root (concat "Unreviewed: " amount)))))

(defun agent-q-diff-pending-marks--insert-section (root heading)
  "Insert a section of Magit's with HEADING, for the project at ROOT."
  (funcall
   ;; A macro of Magit's, which need not be there when this file is compiled.
   (eval '(lambda (root heading)
            (magit-insert-section section (agent-q-diff-pending root)
              (oset section keymap 'agent-q-diff-pending-marks-section-map)
              (insert heading "\n\n")))
         t)
   root (propertize heading 'font-lock-face 'magit-section-heading)))

(provide 'agent-q-diff-pending-marks)
;;; agent-q-diff-pending-marks.el ends here
