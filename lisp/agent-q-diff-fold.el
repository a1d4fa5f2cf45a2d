;;; agent-q-diff-fold.el --- Hides the middle of long hunks, and of a description the rest  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; In a hunk of thousands of lines, the middle is hidden behind one line
;; that shows how many lines are hidden.  Of a description that would take
;; more than a third of the window, so is the rest.  Only the display changes:
;; commands, searching and copying work on the whole diff.
;;
;; The lines of a hunk are counted only when its text has changed, and only
;; if it has at least that many characters, so a key costs the same however
;; long a hunk is.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-long-lines)

(defvar-local agent-q-diff-fold--expanded nil
  "Markers at the `@@' lines of long hunks that are shown whole.")

;;;; Hiding the middle

(defun agent-q-diff-fold--middle (beg end)
  "Return (FROM TO N-LINES), the part of a hunk to hide, or nil.
The hunk is from BEG to END.  FROM is the beginning of the first line to be
hidden, TO the end of the last one, and N-LINES the number of hidden
lines."
  (let ((n-shown agent-q-diff-hunk-lines))
    ;; Every line has at least one character.
    (when (and n-shown (> (- end beg) n-shown))
      (save-excursion
        (goto-char beg)
        (forward-line)
        (let* ((n (count-lines (point) end))
               (n-head (/ n-shown 2))
               (n-hidden (- n n-shown)))
          (when (> n-hidden 0)
            (forward-line n-head)
            (let ((from (point)))
              (forward-line n-hidden)
              (list from (1- (point)) n-hidden))))))))

(defun agent-q-diff-fold--sign (n-lines)
  "Return the text that is shown in place of N-LINES lines."
  (let ((text (substitute-command-keys
               (format (ngettext
                        "… %d more line, \
\\<agent-q-diff-mode-map>\\[agent-q-diff-expand-line] shows it"
                        "… %d more lines, \
\\<agent-q-diff-mode-map>\\[agent-q-diff-expand-line] shows them"
                        n-lines)
                       n-lines))))
    (setq text (propertize text 'face 'agent-q-diff-warning))
    ;; The cursor is shown on it, to show where the key works.
    (put-text-property 0 1 'cursor t text)
    text))

(defun agent-q-diff-fold--hide (hunk)
  "Hide the middle of HUNK if it is long.  Return non-nil if it was hidden."
  (pcase (agent-q-diff-fold--middle (agent-q-diff-buffer-position hunk)
                                    (agent-q-diff-buffer-hunk-end hunk))
    (`(,from ,to ,n-lines)
     (let ((overlay (make-overlay from to nil t)))
       (overlay-put overlay 'agent-q-diff-cut t)
       (overlay-put overlay 'evaporate t)
       (overlay-put overlay 'invisible 'agent-q-diff-cut)
       (overlay-put overlay 'isearch-open-invisible #'agent-q-diff-fold--show)
       (overlay-put overlay 'before-string (agent-q-diff-fold--sign n-lines))
       (when (< from (point) to)
         (goto-char from))
       overlay))))

(defun agent-q-diff-fold--show (overlay)
  "Show what OVERLAY hides, and record that the hunk is to be shown whole."
  (save-excursion
    (goto-char (overlay-start overlay))
    (push (copy-marker (agent-q-diff-buffer-position (agent-q-diff-buffer-hunk-here)))
          agent-q-diff-fold--expanded))
  (delete-overlay overlay))

(defun agent-q-diff-fold--of (hunk)
  "Return the overlay that hides the middle of HUNK, or nil."
  (cl-find-if (lambda (overlay) (overlay-get overlay 'agent-q-diff-cut))
              (overlays-in (agent-q-diff-buffer-position hunk)
                           (agent-q-diff-buffer-hunk-end hunk))))

(defun agent-q-diff-fold--update ()
  "Hide the middle of each long hunk that is not to be shown whole."
  (save-restriction
    (widen)
    (remove-overlays nil nil 'agent-q-diff-cut t)
    (when agent-q-diff-hunk-lines
      (cl-loop with expanded = (mapcar #'marker-position agent-q-diff-fold--expanded)
               with end = (point-max)
               for hunk downfrom (1- (agent-q-diff-buffer-n-inserted)) to 0
               for position = (agent-q-diff-buffer-position hunk)
               ;; The next hunk may be in the next file, but that is only later.
               when (and (> (- end position) agent-q-diff-hunk-lines)
                         (not (memq position expanded)))
               do (agent-q-diff-fold--hide hunk)
               do (setq end position)))))

;;;; The key

(defun agent-q-diff-fold--toggle ()
  "Show all of the hunk at point if its middle is hidden, or hide it again.
Return nil if the hunk is too short for that."
  (when-let ((hunk (agent-q-diff-buffer-hunk-at-point)))
    (let ((overlay (agent-q-diff-fold--of hunk)))
      (if overlay
          (progn
            ;; Point is also displayed at the sign if it is after the hidden
            ;; lines.
            (when (<= (overlay-start overlay) (point) (overlay-end overlay))
              (goto-char (overlay-start overlay)))
            (agent-q-diff-fold--show overlay)
            t)
        (setq agent-q-diff-fold--expanded
              (cl-delete (agent-q-diff-buffer-position hunk)
                         agent-q-diff-fold--expanded :test #'=))
        (agent-q-diff-fold--hide hunk)))))

;;;; A long description

(defvar-local agent-q-diff-fold--is-new t
  "Non-nil until the description has been shown in a window.")

(defconst agent-q-diff-fold--counted-characters 20000
  "Number of characters up to which lines are counted as the window wraps them.")

(defun agent-q-diff-fold-description-beginning ()
  "Return the position of the description in this buffer, or nil."
  (text-property-any (point-min)
                     (if (length> agent-q-diff-buffer-positions 0)
                         (agent-q-diff-buffer-position 0)
                       (point-max))
                     'agent-q-diff-description t))

(defun agent-q-diff-fold--description ()
  "Return (BEG . END) of the description in this buffer, or nil."
  (when-let ((beg (agent-q-diff-fold-description-beginning)))
    (cons beg (next-single-property-change beg 'agent-q-diff-description nil (point-max)))))

(defun agent-q-diff-fold--description-fold ()
  "Return the overlay that hides the rest of the description, or nil."
  (when-let ((description (agent-q-diff-fold--description)))
    (cl-find-if (lambda (overlay) (overlay-get overlay 'agent-q-diff-description))
                (overlays-in (car description) (cdr description)))))

(defun agent-q-diff-fold-new-description (window)
  "Hide the rest of a long description, when this buffer is new to WINDOW."
  (when agent-q-diff-fold--is-new
    (setq agent-q-diff-fold--is-new nil)
    (agent-q-diff-fold--hide-rest window)))

(defun agent-q-diff-fold--hide-rest (window)
  "Hide what of the description does not fit into a third of WINDOW.
Return non-nil if something was hidden."
  (pcase (agent-q-diff-fold--description)
    (`(,beg . ,end)
     (let ((n-shown (1- (max 2 (/ (window-body-height window) 3))))
           from)
       (save-excursion
         (goto-char beg)
         (vertical-motion n-shown window)
         (setq from (point))
         ;; A sign in the place of a single line would gain nothing.
         (vertical-motion 1 window)
         (when (and (< from end) (< (point) end))
           (let ((sign (agent-q-diff-fold--sign
                        (if (< agent-q-diff-fold--counted-characters (- end from))
                            (count-lines from end)
                          (count-screen-lines from end nil window))))
                 (overlay (make-overlay from end)))
             (overlay-put overlay 'agent-q-diff-description t)
             (overlay-put overlay 'evaporate t)
             (overlay-put overlay 'invisible 'agent-q-diff-cut)
             (overlay-put overlay 'isearch-open-invisible #'delete-overlay)
             (overlay-put overlay 'before-string
                          (concat (if (eq ?\n (char-before from)) "" "\n") sign))
             overlay)))))))

(defun agent-q-diff-fold-toggle-description ()
  "Show all of a long description, or hide its rest again if point is in it.
Return nil if there is nothing to show or to hide."
  (let ((description (agent-q-diff-fold--description))
        (overlay (agent-q-diff-fold--description-fold)))
    (cond
     (overlay
      (when (or (null (agent-q-diff-buffer-hunk-at-point))
                ;; The sign names a key, which is pressed on a hunk below it.
                (and (eq (window-buffer) (current-buffer))
                     (<= (window-start) (overlay-start overlay))))
        (goto-char (overlay-start overlay))
        (delete-overlay overlay)
        t))
     ((and description (<= (car description) (point) (cdr description))
           (eq (window-buffer) (current-buffer)))
      (when (agent-q-diff-fold--hide-rest (selected-window))
        (goto-char (car description))
        t)))))

;;;; Set-up

(defun agent-q-diff-fold-set-up ()
  "Hide the middle of long hunks in this buffer."
  (add-to-invisibility-spec 'agent-q-diff-cut)
  (add-hook 'agent-q-diff-long-lines-expand-functions #'agent-q-diff-fold--toggle nil t)
  (add-hook 'agent-q-diff-long-lines-expand-functions #'agent-q-diff-fold-toggle-description
            90 t)
  (add-hook 'agent-q-diff-buffer-hunks-hook #'agent-q-diff-fold--update nil t))

(provide 'agent-q-diff-fold)
;;; agent-q-diff-fold.el ends here
