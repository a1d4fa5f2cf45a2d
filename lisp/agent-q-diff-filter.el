;;; agent-q-diff-filter.el --- Hunks that one wants to see, and others  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Decided hunks can be hidden, and hunks that change only whitespace can
;; be folded into one line.  Both affect only the display; commands that
;; move skip hidden hunks.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-navigation)
(require 'agent-q-diff-fontify)

(defvar agent-q-diff-hide-decided-mode)
(defvar agent-q-diff-fold-white-space-mode)

;;;; Overlays

(defun agent-q-diff-filter--hide (beg end text)
  "Hide the text from BEG to END, and show TEXT, a string or nil, instead."
  (let ((overlay (make-overlay beg end)))
    (overlay-put overlay 'agent-q-diff-filter t)
    (overlay-put overlay 'evaporate t)
    (overlay-put overlay 'invisible 'agent-q-diff)
    (overlay-put overlay 'after-string text)))

(defun agent-q-diff-filter--unhide ()
  "Show everything that the filters hid in this buffer."
  (remove-overlays nil nil 'agent-q-diff-filter t))

(defun agent-q-diff-filter--update (&rest _)
  "Hide what the filters that are on hide, and show everything else."
  (save-restriction
    (widen)
    (agent-q-diff-filter--unhide)
    (when agent-q-diff-hide-decided-mode
      (agent-q-diff-filter--hide-decided))
    (when agent-q-diff-fold-white-space-mode
      (agent-q-diff-filter--fold))))

(defun agent-q-diff-filter--hide-decided ()
  "Hide the decided hunks, adjacent ones together."
  (agent-q-diff-buffer-current-change)
  (let ((n (length agent-q-diff-buffer-positions))
        (hunk 0))
    (cl-flet ((is-decided (hunk) (aref agent-q-diff-buffer-marks hunk)))
      (while (< hunk n)
        (if (not (is-decided hunk))
            (cl-incf hunk)
          (let ((first hunk))
            (while (and (< hunk n) (is-decided hunk))
              (cl-incf hunk))
            (agent-q-diff-filter--hide
             (agent-q-diff-buffer-position first)
             (agent-q-diff-buffer-hunk-end (1- hunk))
             nil)))))))

(defun agent-q-diff-filter--fold ()
  "Fold the hunks that change only whitespace into their headers."
  (dolist (hunk (agent-q-diff-module-blank-hunks
                 (agent-q-diff-change-engine (agent-q-diff-buffer-current-change))))
    (save-excursion
      (goto-char (agent-q-diff-buffer-position hunk))
      (agent-q-diff-filter--hide
       (line-end-position) (1- (agent-q-diff-buffer-hunk-end hunk))
       (propertize "  [WHITESPACE ONLY]" 'face 'agent-q-diff-pending)))))

;;;; Modes

(defun agent-q-diff-filter--can-hide ()
  "Have overlays with the property `invisible' set to `agent-q-diff' hide text."
  ;; Emacs 28 would add it each time.
  (unless (and (listp buffer-invisibility-spec)
               (memq 'agent-q-diff buffer-invisibility-spec))
    (add-to-invisibility-spec 'agent-q-diff)))

(defun agent-q-diff-filter--changed ()
  "Update what is hidden after a filter was turned on or off."
  (agent-q-diff-filter--can-hide)
  (if (or agent-q-diff-hide-decided-mode agent-q-diff-fold-white-space-mode)
      (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-filter--update 90 t)
    (remove-hook 'agent-q-diff-progress-functions #'agent-q-diff-filter--update t))
  (agent-q-diff-filter--update))

(define-minor-mode agent-q-diff-hide-decided-mode
  "Hide the hunks that are accepted or rejected."
  :lighter " Undecided"
  (agent-q-diff-filter--changed)
  (when (called-interactively-p 'any)
    (pcase-let ((`(,total ,_ ,_ ,pending) (agent-q-diff-buffer-counts)))
      (if agent-q-diff-hide-decided-mode
          (message "Showing %d undecided of %d" pending total)
        (message "Showing all %d" total)))))

(define-minor-mode agent-q-diff-fold-white-space-mode
  "Fold each hunk that changes only whitespace into one line."
  :lighter " Fold"
  (agent-q-diff-filter--changed)
  (when (called-interactively-p 'any)
    (message (if agent-q-diff-fold-white-space-mode
                 "Whitespace-only hunks are folded"
               "Whitespace-only hunks are shown"))))

;;;; Folding by hand

(defun agent-q-diff-filter--folded (hunk)
  "Return the overlay that folds HUNK into its header, or nil."
  (seq-find (lambda (overlay) (overlay-get overlay 'agent-q-diff-folded))
            (overlays-in (agent-q-diff-buffer-position hunk)
                         (1- (agent-q-diff-buffer-hunk-end hunk)))))

(defun agent-q-diff-filter--fold-hunk (hunk)
  "Fold HUNK into its header, unless it is folded."
  (unless (agent-q-diff-filter--folded hunk)
    (save-restriction
      (widen)
      (save-excursion
        (goto-char (agent-q-diff-buffer-position hunk))
        (let ((overlay (make-overlay (line-end-position)
                                     (1- (agent-q-diff-buffer-hunk-end hunk)))))
          (overlay-put overlay 'agent-q-diff-folded t)
          (overlay-put overlay 'evaporate t)
          (overlay-put overlay 'invisible 'agent-q-diff)
          (overlay-put overlay 'isearch-open-invisible #'delete-overlay)
          (overlay-put overlay 'after-string
                       (propertize " …" 'face 'agent-q-diff-pending)))))))

(defun agent-q-diff-filter--know-hunks ()
  "Find the hunks of this buffer, unless they are known, to fold them."
  (agent-q-diff-filter--can-hide)
  (agent-q-diff-buffer-complete)
  (unless (agent-q-diff-buffer-ended-p)
    (agent-q-diff-buffer-current-change)))

(defun agent-q-diff-filter--fold-file (index)
  "Fold the hunks of file INDEX into its heading."
  (save-restriction
    (widen)
    (save-excursion
      (goto-char (aref agent-q-diff-buffer-headings index))
      ;; The line break after the heading stays, so that what the heading
      ;; shows at its end does.
      (let ((hunks (make-overlay (line-beginning-position 2)
                                 (agent-q-diff-buffer-section-end index)))
            (heading (make-overlay (point) (line-end-position))))
        (overlay-put hunks 'invisible 'agent-q-diff)
        (overlay-put hunks 'isearch-open-invisible #'agent-q-diff-filter--open-file)
        (overlay-put heading 'priority 1)
        (overlay-put heading 'after-string
                     (propertize " …" 'face 'agent-q-diff-pending))
        (dolist (overlay (list hunks heading))
          (overlay-put overlay 'agent-q-diff-folded-file t)
          (overlay-put overlay 'evaporate t))))))

(defun agent-q-diff-filter--open-file (overlay)
  "Show the hunks that OVERLAY hides."
  (save-excursion
    (goto-char (overlay-start overlay))
    (agent-q-diff-buffer-unfold-file)))

(defun agent-q-diff-filter--toggle-all-files ()
  "Fold the hunks of each file into its heading; if any is folded, show them all."
  (let ((index (agent-q-diff-buffer-file-index)))
    (if (agent-q-diff-buffer-folds (point-min) (point-max))
        (remove-overlays nil nil 'agent-q-diff-folded-file t)
      (dotimes (each (length agent-q-diff-buffer-headings))
        (agent-q-diff-filter--fold-file each))
      (goto-char (aref agent-q-diff-buffer-headings index)))))

(defun agent-q-diff-fold-hunk ()
  "Fold the hunk at point into its header, or show all of it again.
On the heading of a file, do this with the file, in a long description with
that, and elsewhere above the first hunk with all hunks."
  (interactive)
  (agent-q-diff-filter--know-hunks)
  (let ((hunk (agent-q-diff-buffer-hunk-at-point))
        (file (agent-q-diff-buffer-heading-at-point)))
    (cond
     (file (unless (agent-q-diff-buffer-unfold-file)
             (agent-q-diff-filter--fold-file file)))
     ((null hunk) (or (agent-q-diff-fold-toggle-description)
                      (agent-q-diff-fold-all-hunks)))
     ((agent-q-diff-filter--folded hunk)
      (delete-overlay (agent-q-diff-filter--folded hunk))
      (agent-q-diff-buffer-goto-hunk hunk))
     (t (agent-q-diff-buffer-goto-hunk hunk)
        (agent-q-diff-filter--fold-hunk hunk)))))

(defun agent-q-diff-fold-all-hunks ()
  "Fold all hunks into their headers; if any is folded, show them all.
If there are several files, fold them into their headings."
  (interactive)
  (agent-q-diff-filter--know-hunks)
  (if agent-q-diff-buffer-headings
      (agent-q-diff-filter--toggle-all-files)
    (agent-q-diff-filter--toggle-all-hunks)))

(defun agent-q-diff-filter--toggle-all-hunks ()
  "Fold all hunks into their headers; if any is folded, show them all."
  (let ((hunk (agent-q-diff-buffer-hunk-at-point)))
    (if (seq-some (lambda (overlay) (overlay-get overlay 'agent-q-diff-folded))
                  (overlays-in (point-min) (point-max)))
        (remove-overlays nil nil 'agent-q-diff-folded t)
      (dotimes (each (length agent-q-diff-buffer-positions))
        (agent-q-diff-filter--fold-hunk each)))
    (when hunk
      (agent-q-diff-buffer-goto-hunk hunk))))

;;;; Moving

(defun agent-q-diff-filter--next (n wanted what)
  "Move to the Nth next hunk whose mark is WANTED, and show its state.
Wrap around after the last hunk.  WHAT names such a hunk, for the message
if there is none."
  (agent-q-diff-buffer-current-change)
  (let* ((marks agent-q-diff-buffer-marks)
         (total (length marks))
         (here (agent-q-diff-navigation-here n))
         (step (if (< n 0) -1 1))
         (found (cl-loop for k from 1 to total
                         for hunk = (mod (+ here (* k step)) total)
                         when (eq wanted (aref marks hunk)) collect hunk)))
    (if (null found)
        (message "No hunk is %s" what)
      (let ((next (nth (mod (1- (abs n)) (length found)) found)))
        (agent-q-diff-buffer-goto-hunk next)
        (agent-q-diff-navigation-say-state
         (cond
          ((= next here) (format "no other hunk is %s" what))
          ((if (> step 0) (< next here) (> next here))
           (format "none %s, wrapped around" (if (> step 0) "below" "above")))))))))

(defun agent-q-diff-next-pending (&optional n)
  "Move to the Nth next undecided hunk, and show its state."
  (interactive "p")
  (agent-q-diff-filter--next (or n 1) nil "pending"))

(defun agent-q-diff-next-rejected (&optional n)
  "Move to the Nth next rejected hunk, and show its state."
  (interactive "p")
  (agent-q-diff-filter--next (or n 1) 'rejected "rejected"))

(provide 'agent-q-diff-filter)
;;; agent-q-diff-filter.el ends here
