;;; agent-q-diff-long-lines.el --- Very long lines, cut off where they are shown  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A line of thousands of characters takes long to display.  Its end is
;; replaced by a note until somebody asks for it; the text itself is not
;; changed.  Only what comes into view is processed.

;;; Code:

(require 'jit-lock)
(require 'agent-q-diff-base)
(require 'agent-q-diff-confusables)

(defconst agent-q-diff-long-lines--limit 1000
  "Number of characters of a line that are shown before it is cut off.")

(defvar-local agent-q-diff-long-lines--expanded nil
  "Markers at the beginnings of lines of this buffer that are shown whole.")

(defun agent-q-diff-long-lines--expanded-p ()
  "Return non-nil if the line at point is to be shown whole."
  (let ((beg (line-beginning-position)))
    (memq beg (mapcar #'marker-position agent-q-diff-long-lines--expanded))))

(defun agent-q-diff-long-lines--cut ()
  "Show only the beginning of the line at point if it is very long."
  (let ((from (+ (line-beginning-position) agent-q-diff-long-lines--limit))
        (end (line-end-position)))
    (when (and (< from end)
               (not (agent-q-diff-long-lines--expanded-p)))
      (add-text-properties
       from end
       (list 'display (propertize
                       (substitute-command-keys
                        (format "… %d more characters, \
\\<agent-q-diff-mode-map>\\[agent-q-diff-expand-line] shows them"
                                (- end from)))
                       'face 'agent-q-diff-warning)
             'agent-q-diff-cut t)))))

;;;; Commands

(defvar agent-q-diff-long-lines-expand-functions nil
  "Abnormal hook to expand something at point that is not a long line.
Each function is called without arguments.  It returns non-nil if it has
shown all of something at point, or has cut it off again.")

(defun agent-q-diff-expand-line ()
  "Show all of the long line at point, or cut it off again.
On any other line show all lines of its hunk, or cut them off again; see
`agent-q-diff-hunk-lines'.  If they are shown, show all of the description."
  (interactive)
  (cond
   ((and (<= agent-q-diff-long-lines--limit
             (- (line-end-position) (line-beginning-position)))
         ;; In a folded description, it is not the line that is cut off.
         (not (invisible-p (1- (line-end-position)))))
    (agent-q-diff-long-lines--toggle))
   ((run-hook-with-args-until-success 'agent-q-diff-long-lines-expand-functions))
   (t (user-error "The line is shown whole"))))

(defun agent-q-diff-long-lines--toggle ()
  "Show all of the long line at point, or cut it off again."
  (let ((beg (line-beginning-position)))
    (setq agent-q-diff-long-lines--expanded
          (if (agent-q-diff-long-lines--expanded-p)
              (delq nil (mapcar (lambda (marker)
                                  (unless (= beg marker) marker))
                                agent-q-diff-long-lines--expanded))
            (cons (copy-marker beg) agent-q-diff-long-lines--expanded)))
    (jit-lock-refontify beg (line-end-position))))

;;;; Set-up

(defun agent-q-diff-long-lines--show (beg end)
  "Show confusables by number, and cut off long lines, from BEG to END.
This is a function for jit-lock."
  (save-excursion
    (let ((beg (progn (goto-char beg) (line-beginning-position)))
          (end (progn (goto-char end) (line-end-position))))
      (with-silent-modifications
        (remove-text-properties beg end '(display nil help-echo nil
                                                  agent-q-diff-cut nil))
        (agent-q-diff-confusables-show beg end)
        (goto-char beg)
        (while (progn
                 (agent-q-diff-long-lines--cut)
                 (and (= 0 (forward-line)) (< (point) end)))))
      `(jit-lock-bounds ,beg . ,end))))

(defun agent-q-diff-long-lines-set-up ()
  "Show confusables by number and cut off long lines, as they come into view."
  ;; A paragraph that begins with an Arabic letter must not move the signs of
  ;; a diff to the right, and detecting the direction of a long line is slow.
  (setq-local bidi-paragraph-direction 'left-to-right)
  (setq-local bidi-inhibit-bpa t)
  (jit-lock-register #'agent-q-diff-long-lines--show))

(provide 'agent-q-diff-long-lines)
;;; agent-q-diff-long-lines.el ends here
