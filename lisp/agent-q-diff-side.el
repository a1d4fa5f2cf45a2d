;;; agent-q-diff-side.el --- Old and new lines in two windows, side by side  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Two windows show the same diff buffer: the left one without what is added, the
;; right one without what is removed.  Overlays that are for one window only hide
;; lines and add filler, so that lines which belong together are on one row.  All
;; keys work in both, since both show the diff; the windows scroll together.
;;
;; Each change is laid out in rows, as the engine aligns its lines.  Below its last
;; removed line, the left window shows each added line as a blank row, and so does
;; the right one above the first added line.  Elsewhere, blank rows are a string.
;; A window cannot begin inside of a string, so when one window does so with its
;; text, the string at the top of the other is made shorter.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-display)
(require 'agent-q-diff-current)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-lifecycle)

(defvar agent-q-diff-side-by-side-mode)

(defcustom agent-q-diff-side-by-side-width nil
  "Columns of a window from which on it shows old and new lines side by side.
With nil, only the command `agent-q-diff-side-by-side-mode' does so."
  :type '(choice (natnum :tag "Columns") (const :tag "Never by itself" nil))
  :group 'agent-q-diff-review)

(defface agent-q-diff-filler
  '((((class color) (min-colors 88) (background light)) :background "grey90" :extend t)
    (((class color) (min-colors 88) (background dark)) :background "grey20" :extend t)
    (t :inherit shadow :extend t))
  "Face of rows that only the other side has, and that no line of the text is for."
  :group 'agent-q-diff-faces)

;;;; State

(defvar-local agent-q-diff-side--windows nil
  "The windows of this buffer with old and with new lines, (OLD . NEW), or nil.")

(defvar-local agent-q-diff-side--starts nil
  "Alist from the windows to where they began when they were last aligned.")

(defvar-local agent-q-diff-side--cut nil
  "Alist from overlays whose strings are cut, where a window begins, to these.")

(defvar-local agent-q-diff-side--before nil
  "Alist from variables that are set here to (VALUE), or nil if not local before.")

(defvar-local agent-q-diff-side--seen nil
  "What the alignment of the windows depended on after the last command.")

(defvar-local agent-q-diff-side--n-aligned 0
  "How often the windows were aligned since the last command, but not for it.")

(defconst agent-q-diff-side--most-aligned 10
  "Number of times that the windows may be aligned without a command.
Whatever else scrolls them, they must not scroll each other for ever.")

(defvar-local agent-q-diff-side--is-refused nil
  "Non-nil if the user has turned this off here.")

(defun agent-q-diff-side--is-paired ()
  "Return non-nil if both windows are there, at one height, and show this buffer."
  (pcase agent-q-diff-side--windows
    (`(,old . ,new)
     (and (window-live-p old) (window-live-p new)
          (eq (current-buffer) (window-buffer old))
          (eq (current-buffer) (window-buffer new))
          (= (window-top-line old) (window-top-line new))))))

(defun agent-q-diff-side--other (window)
  "Return the other one of the two windows than WINDOW, or nil if it is neither."
  (pcase agent-q-diff-side--windows
    (`(,old . ,new) (cond ((eq window old) new) ((eq window new) old)))))

;;;; The layout of a change

;; A stop is a line that a window shows, or the end of a change, (POSITION Y): Y is the
;; row at which it is, counted from the first one of the change.

(cl-defstruct (agent-q-diff-side-block (:constructor agent-q-diff-side--block) (:copier nil))
  "A change that is laid out: lines that are removed, and what is added for them."
  (old nil :documentation "The stops of the window with old lines, in order.")
  (new nil :documentation "The stops of the other window, in order.")
  (removed nil :documentation "The removed lines, in order, each (ROW BEG . END).")
  (added nil :documentation "The added lines, likewise."))

(defun agent-q-diff-side--put (beg end window &rest properties)
  "Put an overlay with PROPERTIES from BEG to END, for WINDOW only."
  (let ((overlay (make-overlay beg end)))
    (overlay-put overlay 'agent-q-diff-side t)
    (overlay-put overlay 'window window)
    (while properties
      (overlay-put overlay (pop properties) (pop properties)))
    overlay))

(defun agent-q-diff-side--put-filler (position n window)
  "Show N rows of filler above POSITION in WINDOW."
  ;; Behind what is said about the line above, before the sign of a hunk.
  (agent-q-diff-side--put position position window
                          'priority -2
                          'after-string (propertize (make-string n ?\n)
                                                    'face '(agent-q-diff-filler default))))

(defun agent-q-diff-side--annotation-rows (beg window)
  "Return how many rows annotations take below the line at BEG.
From now on, only WINDOW shows them."
  (cl-loop for overlay in (overlays-at beg)
           when (and (overlay-get overlay 'agent-q-diff-annotations)
                     (= beg (overlay-start overlay)))
           do (overlay-put overlay 'window window)
           and sum (agent-q-diff-side--n-rows overlay)))

(defun agent-q-diff-side--heights (lines window)
  "Return how many rows each of LINES takes, a list.
LINES are (BEG . END): END is where the next one begins.  From now on, their
annotations are for WINDOW only."
  (mapcar (pcase-lambda (`(,beg . ,end))
            (+ (count-lines beg end)
               (agent-q-diff-side--annotation-rows beg window)))
          lines))

(defun agent-q-diff-side--row-tops (rows heights)
  "Return a vector with where each row of a change begins, and where the last ends.
ROWS and HEIGHTS are lists: the row, and the height, of each line."
  (let ((tops (make-vector (+ 2 (apply #'max -1 rows)) 0)))
    (cl-loop for row in rows
             for height in heights
             do (cl-callf max (aref tops (1+ row)) height))
    (dotimes (row (1- (length tops)))
      (cl-incf (aref tops (1+ row)) (aref tops row)))
    tops))

(defun agent-q-diff-side--stops (lines tops end window)
  "Return the stops of LINES in WINDOW, with the filler between them.
Each line is ((BEG . END) ROW HEIGHT).  TOPS is as from
`agent-q-diff-side--row-tops', and END where the change ends."
  (let* ((bottom 0)
         (stop (lambda (position y)
                 (when (< bottom y)
                   (agent-q-diff-side--put-filler position (- y bottom) window))
                 (list position y))))
    (append (mapcan (pcase-lambda (`(,line ,row ,height))
                      (cons (funcall stop (car line) (aref tops row))
                            (progn
                              (setq bottom (+ height (aref tops row)))
                              (when-let ((marker (agent-q-diff-side--marker line)))
                                (list (list marker (1- bottom)))))))
                    lines)
            (list (funcall stop end (aref tops (1- (length tops))))))))

(defun agent-q-diff-side--marker (line)
  "Return where LINE, (BEG . END), has the marker of a missing line end, or nil."
  (save-excursion
    (goto-char (car line))
    (forward-line)
    (and (< (point) (cdr line)) (point))))

(defun agent-q-diff-side--blank (lines window)
  "Show each of LINES, (BEG . END), as a blank row in WINDOW."
  (pcase-dolist (`(,beg . ,end) lines)
    (save-excursion
      (goto-char beg)
      ;; A marker of a missing line end is a row of its own.
      (while (< (point) end)
        (agent-q-diff-side--put (point) (line-end-position) window
                                'display (propertize " " 'face '(agent-q-diff-filler default))
                                'evaporate t)
        (agent-q-diff-side--put (point) (line-beginning-position 2) window
                                'face '(agent-q-diff-filler default) 'evaporate t)
        (forward-line)))))

(defconst agent-q-diff-side--nothing (cons "" (string-to-multibyte ""))
  "Two empty strings that are not the same: for the old lines and the new ones.
Redisplay takes what is displayed as the same object for one stretch, whatever
window it is for.")

(defun agent-q-diff-side--hide (beg end window nothing)
  "Hide the lines from BEG to END in WINDOW, which displays NOTHING instead.
`invisible-p' would not know in which window it is asked about."
  (when (< beg end)
    (agent-q-diff-side--put beg end window
                            ;; Not the same value as that of adjacent lines.
                            'display nothing 'agent-q-diff-hidden window 'evaporate t)))

(defun agent-q-diff-side--lay-change (removed added old-rows new-rows)
  "Lay out a change of the lines REMOVED and ADDED, lists of (BEG . END).
OLD-ROWS and NEW-ROWS are lists with their rows."
  (pcase-let* ((`(,old . ,new) agent-q-diff-side--windows)
               (all (append removed added))
               (beg (caar all))
               (end (cdar (last all)))
               (old-heights (agent-q-diff-side--heights removed old))
               (new-heights (agent-q-diff-side--heights added new))
               (tops (agent-q-diff-side--row-tops (append old-rows new-rows)
                                                  (append old-heights new-heights)))
               (last-old (apply #'max -1 old-rows))
               (first-new (apply #'min (length tops) new-rows))
               (bare (lambda (line row) (list line row (count-lines (car line) (cdr line)))))
               ;; What stands for the rows of the other side.
               (n-above (seq-count (lambda (row) (< row first-new)) old-rows))
               (n-hidden (seq-count (lambda (row) (<= row last-old)) new-rows))
               (below (seq-drop added n-hidden))
               (above (seq-take removed n-above))
               (whole (make-overlay beg end)))
    (agent-q-diff-side--blank below old)
    (agent-q-diff-side--blank above new)
    (agent-q-diff-side--hide (or (caar added) end) (or (caar below) end)
                             old (cdr agent-q-diff-side--nothing))
    (agent-q-diff-side--hide (or (car (nth n-above removed)) (caar added) end)
                             (or (caar added) end)
                             new (car agent-q-diff-side--nothing))
    (overlay-put whole 'agent-q-diff-side t)
    (overlay-put whole 'agent-q-diff-side-block
                 (agent-q-diff-side--block
                  :removed (cl-mapcar #'cons old-rows removed)
                  :added (cl-mapcar #'cons new-rows added)
                  :old (agent-q-diff-side--stops
                        (append (cl-mapcar #'list removed old-rows old-heights)
                                (cl-mapcar bare below (seq-drop new-rows n-hidden)))
                        tops end old)
                  :new (agent-q-diff-side--stops
                        (append (cl-mapcar bare above (seq-take old-rows n-above))
                                (cl-mapcar #'list added new-rows new-heights))
                        tops end new)))))

(defun agent-q-diff-side--lay-hunk (hunk beg end)
  "Lay out HUNK, which is from BEG to END, unless it is, or parts are hidden."
  (unless (seq-some (lambda (overlay)
                      (or (overlay-get overlay 'agent-q-diff-side-laid)
                          (and (overlay-get overlay 'invisible)
                               ;; Part of a line.
                               (not (overlay-get overlay 'agent-q-diff-elided)))
                          (overlay-get overlay 'agent-q-diff-filter)))
                    (overlays-in beg end))
    (let ((lines (vconcat (mapcar #'cdr (agent-q-diff-buffer-regions hunk)))))
      (agent-q-diff-side--put beg (1+ beg) nil 'agent-q-diff-side-laid t 'evaporate t)
      (pcase-dolist (`(,first ,old-rows ,new-rows)
                     (agent-q-diff-module-side-rows
                      (agent-q-diff-change-engine agent-q-diff-buffer-change) hunk))
        (let* ((added (+ first (length old-rows)))
               (next (+ added (length new-rows))))
          (when (<= next (length lines))
            (agent-q-diff-side--lay-change
             (append (seq-subseq lines first added) nil)
             (append (seq-subseq lines added next) nil)
             old-rows new-rows)))))))

(defun agent-q-diff-side--lay-between (beg end)
  "Lay out the hunks between BEG and END.  This is a function for jit-lock."
  (when (and (agent-q-diff-side--is-paired) (agent-q-diff-buffer-known-p))
    (agent-q-diff-base-widened
      (pcase-dolist (`(,hunk ,from . ,to) (agent-q-diff-fontify-hunks beg end))
        (agent-q-diff-side--lay-hunk hunk from to)))))

(defun agent-q-diff-side--lay-here ()
  "Lay out all of the hunk at point, of which lines are counted."
  (when (and (agent-q-diff-side--is-paired) (agent-q-diff-buffer-hunk-at-point))
    (agent-q-diff-side--lay-between (point) (1+ (point)))))

(defun agent-q-diff-side--lay-anew (&rest _)
  "Lay out all hunks again, as they come into view."
  (agent-q-diff-side--clear)
  (jit-lock-refontify))

(defun agent-q-diff-side--clear ()
  "Remove the layout of all hunks."
  (setq agent-q-diff-side--cut nil
        agent-q-diff-side--seen nil)
  (agent-q-diff-base-widened
    (dolist (overlay (overlays-in (point-min) (point-max)))
      (cond
       ((overlay-get overlay 'agent-q-diff-side)
        (delete-overlay overlay))
       ((overlay-get overlay 'agent-q-diff-annotations)
        (overlay-put overlay 'window nil))))))

;;;; Scrolling together

(defun agent-q-diff-side--block-at (position)
  "Return the block that the line at POSITION is in, or right below, or nil."
  (let ((found nil))
    (dolist (overlay (overlays-in (max (point-min) (1- position))
                                  (min (point-max) (1+ position))))
      (when-let ((block (overlay-get overlay 'agent-q-diff-side-block)))
        (when (and (<= (overlay-start overlay) position (overlay-end overlay))
                   (or (null found) (< position (overlay-end overlay))))
          (setq found block))))
    found))

(defun agent-q-diff-side--stops-of (block window)
  "Return the stops of BLOCK in WINDOW."
  (if (eq window (car agent-q-diff-side--windows))
      (agent-q-diff-side-block-old block)
    (agent-q-diff-side-block-new block)))

(defun agent-q-diff-side--stop-at (position block window)
  "Return the first stop of BLOCK in WINDOW that is not above POSITION."
  (seq-find (lambda (stop) (<= position (car stop)))
            (agent-q-diff-side--stops-of block window)))

(defun agent-q-diff-side--uncut (start)
  "Show all rows of the strings that were cut, except of those at START."
  (setq agent-q-diff-side--cut
        (seq-filter (pcase-lambda (`(,overlay . ,string))
                      (or (eql start (overlay-end overlay))
                          (prog1 nil
                            (overlay-put overlay 'after-string string))))
                    agent-q-diff-side--cut)))

(defun agent-q-diff-side--strings (position window)
  "Return the overlays whose strings are shown above POSITION in WINDOW, in order."
  (seq-sort-by
   (lambda (overlay) (- (overlay-get overlay 'priority))) #'<
   (seq-filter (lambda (overlay)
                 (and (= position (overlay-end overlay))
                      (overlay-get overlay 'after-string)
                      (or (overlay-get overlay 'agent-q-diff-side)
                          (overlay-get overlay 'agent-q-diff-annotations))
                      (memq (overlay-get overlay 'window) (list nil window))))
               (overlays-in (max (point-min) (1- position)) (min (point-max) (1+ position))))))

(defun agent-q-diff-side--n-rows (overlay)
  "Return how many rows the string of OVERLAY has."
  (seq-count (apply-partially #'eq ?\n) (overlay-get overlay 'after-string)))

(defun agent-q-diff-side--cut-to (n position window)
  "Leave the last N rows of all strings above POSITION, where WINDOW begins."
  (let* ((overlays (agent-q-diff-side--strings position window))
         (n-cut (- (apply #'+ (mapcar #'agent-q-diff-side--n-rows overlays)) n)))
    (dolist (overlay overlays)
      (let ((n-here (min n-cut (agent-q-diff-side--n-rows overlay)))
            (string (overlay-get overlay 'after-string)))
        (when (< 0 n-here)
          (unless (assq overlay agent-q-diff-side--cut)
            (push (cons overlay string) agent-q-diff-side--cut))
          (overlay-put overlay 'after-string
                       (let ((from 0))
                         (dotimes (_ n-here)
                           (setq from (1+ (string-search "\n" string from))))
                         (substring string from)))
          (setq n-cut (- n-cut n-here)))))))

(defun agent-q-diff-side--align (window)
  "Have the other window begin at the row at which WINDOW begins."
  (let* ((other (agent-q-diff-side--other window))
         (start (window-start window))
         (block (agent-q-diff-side--block-at start))
         (here (and block (agent-q-diff-side--stop-at start block window)))
         (other-start start))
    (agent-q-diff-side--uncut start)
    (when here
      (let* ((stops (agent-q-diff-side--stops-of block other))
             (beg (min (caar stops) (caar (agent-q-diff-side--stops-of block window))))
             (y (- (nth 1 here)
                   (apply #'+ (mapcar #'agent-q-diff-side--n-rows
                                      (agent-q-diff-side--strings start window)))))
             (there (seq-find (lambda (stop) (<= y (nth 1 stop))) stops)))
        ;; At the beginning of a change, both have the same strings.
        (unless (= start beg)
          (setq other-start (car there))
          (agent-q-diff-side--cut-to (- (nth 1 there) y) other-start other))))
    (unless (= other-start (window-start other))
      (set-window-start other other-start t))
    (agent-q-diff-side--keep-point other other-start)
    (setq agent-q-diff-side--starts (list (cons window start) (cons other other-start)))))

(defun agent-q-diff-side--keep-point (window start)
  "Have point of WINDOW be seen when it begins at START.
Otherwise redisplay would scroll to it, and both windows would do so in turn."
  (let ((point (window-point window))
        (last (agent-q-diff-current-lines-below
               start (max 0 (- (window-body-height window) 2)) window)))
    (cond
     ((< point start) (set-window-point window start))
     ((< last point) (set-window-point window last)))))

(defun agent-q-diff-side--counterpart (position window)
  "Return where the row of POSITION, shown in the other window, is in WINDOW."
  (save-excursion
    (goto-char position)
    (let* ((beg (line-beginning-position))
           (block (agent-q-diff-side--block-at beg))
           (here (and block
                      (agent-q-diff-side--stop-at beg block (agent-q-diff-side--other window))))
           (there (and here
                       (/= beg (car (car (last (agent-q-diff-side--stops-of block window)))))
                       (car (last (seq-filter (lambda (stop) (<= (nth 1 stop) (nth 1 here)))
                                              (agent-q-diff-side--stops-of block window)))))))
      (if there (max (car there) (window-start window)) position))))

(defun agent-q-diff-side--follow ()
  "Have the other window show the same rows as the selected one, and its point too."
  (let* ((window (selected-window))
         (other (and (agent-q-diff-side--is-paired)
                     (agent-q-diff-side--other window)))
         (seen (and other (list window (window-start) (window-hscroll) (point)
                                (window-body-height) agent-q-diff-buffer-positions))))
    (setq agent-q-diff-side--n-aligned 0)
    ;; As `visual-line-mode' does; a line that is wrapped has no row beside it.
    (unless truncate-lines
      (setq truncate-lines t))
    (when (and other (not (equal seen agent-q-diff-side--seen)))
      (setq agent-q-diff-side--seen seen)
      ;; The layout must be known of what comes into view.
      (jit-lock-fontify-now (window-start)
                            (save-excursion
                              (goto-char (window-start))
                              (line-beginning-position (* 2 (window-body-height)))))
      (agent-q-diff-side--align window)
      (set-window-hscroll other (window-hscroll))
      (set-window-point other (agent-q-diff-side--counterpart (point) other)))))

(defun agent-q-diff-side--scrolled (window start)
  "Align the other window with WINDOW, which now begins at START, when it is drawn."
  (when (and (agent-q-diff-side--is-paired)
             (agent-q-diff-side--other window)
             (not (eql start (alist-get window agent-q-diff-side--starts)))
             (<= (cl-incf agent-q-diff-side--n-aligned) agent-q-diff-side--most-aligned))
    (let ((buffer (current-buffer)))
      (run-with-timer
       0 nil
       (lambda ()
         (when (and (buffer-live-p buffer) (window-live-p window)
                    (eq buffer (window-buffer window)))
           (with-current-buffer buffer
             (when (and (agent-q-diff-side--is-paired)
                        (not (eql (window-start window)
                                  (alist-get window agent-q-diff-side--starts))))
               (agent-q-diff-side--align window)))))))))

;;;; Rows in a region

(defun agent-q-diff-side--blocks (hunk)
  "Lay out HUNK, and return the blocks of it, in order."
  (let ((beg (agent-q-diff-buffer-position hunk))
        (end (agent-q-diff-buffer-hunk-end hunk)))
    (agent-q-diff-side--lay-between beg (1+ beg))
    (mapcar (lambda (overlay) (overlay-get overlay 'agent-q-diff-side-block))
            (seq-sort-by #'overlay-start #'<
                         (seq-filter (lambda (overlay)
                                       (overlay-get overlay 'agent-q-diff-side-block))
                                     (overlays-in beg end))))))

(defun agent-q-diff-side--rows-in (beg end block)
  "Return (FIRST . LAST), the rows of BLOCK with lines between BEG and END, or nil.
Only lines that the selected window shows count."
  (cl-loop for (row from . to) in (append (agent-q-diff-side-block-removed block)
                                          (agent-q-diff-side-block-added block))
           when (and (< from end) (< beg to) (not (agent-q-diff-side--hidden-p from)))
           minimize row into first
           and maximize row into last
           finally return (and last (cons first last))))

(defun agent-q-diff-side--above (row block)
  "Return (OLD . NEW), how many removed and added lines of BLOCK are above ROW."
  (cl-flet ((above (lines) (seq-count (lambda (line) (< (car line) row)) lines)))
    (cons (above (agent-q-diff-side-block-removed block))
          (above (agent-q-diff-side-block-added block)))))

(defun agent-q-diff-side--chosen (beg end hunk)
  "Return the rows of HUNK from BEG to END; see `agent-q-diff-split-rows-function'."
  (let ((blocks (agent-q-diff-side--blocks hunk))
        (above '(0 . 0))
        (from nil)
        (to nil))
    (cl-flet ((plus (one other)
                (cons (+ (car one) (car other)) (+ (cdr one) (cdr other)))))
      (dolist (block blocks)
        (pcase (agent-q-diff-side--rows-in beg end block)
          (`(,first . ,last)
           (setq from (or from (plus above (agent-q-diff-side--above first block)))
                 to (plus above (agent-q-diff-side--above (1+ last) block)))))
        (setq above (plus above (cons (length (agent-q-diff-side-block-removed block))
                                      (length (agent-q-diff-side-block-added block)))))))
    (cond
     ((null blocks) t)
     (from (cons from to)))))

;;;; What a window does not show

(defun agent-q-diff-side--hidden-p (position &optional window)
  "Return non-nil if the line at POSITION is hidden in WINDOW.
By default, that is the selected window."
  (get-char-property position 'agent-q-diff-hidden (or window (selected-window))))

(defun agent-q-diff-side--found-p (beg _end)
  "Return non-nil if text found at BEG is shown in the selected window."
  (not (agent-q-diff-side--hidden-p beg)))

(defun agent-q-diff-side--copy (beg end &optional delete)
  "Return the text from BEG to END that is seen in the selected window.
DELETE is as for `filter-buffer-substring-function'."
  (let ((filter (or (cadr (assq 'filter-buffer-substring-function agent-q-diff-side--before))
                    (default-value 'filter-buffer-substring-function)))
        (end (min end (point-max)))
        (texts nil))
    (if (or delete (not (eq (current-buffer) (window-buffer))))
        (funcall filter beg end delete)
      (while (< beg end)
        (let ((next (min end (next-single-char-property-change
                              beg 'agent-q-diff-hidden nil end))))
          (unless (agent-q-diff-side--hidden-p beg)
            (push (funcall filter beg next) texts))
          (setq beg next)))
      (apply #'concat (nreverse texts)))))

;;;; The mode

(defconst agent-q-diff-side--least-width 60
  "Least number of columns of a window that is divided into two.")

(defun agent-q-diff-side--begin ()
  "Divide the selected window, and show the old lines on the left."
  (let* ((new (selected-window))
         (old (progn
                (unless (eq (current-buffer) (window-buffer new))
                  (user-error "Select a window with the diff first"))
                (when (< (window-total-width new) agent-q-diff-side--least-width)
                  (user-error "The window is too narrow: side by side needs %d columns"
                              agent-q-diff-side--least-width))
                (let ((window-combination-limit nil)
                      (window-min-width 10))
                  (split-window new nil 'left)))))
    (set-window-parameter old 'quit-restore (list 'window 'window new (current-buffer)))
    (set-window-buffer old (current-buffer))
    (set-window-start old (window-start new))
    (setq agent-q-diff-side--windows (cons old new))
    (setq agent-q-diff-side--before
          (mapcar (lambda (variable)
                    (cons variable (and (local-variable-p variable)
                                        (list (symbol-value variable)))))
                  '(truncate-lines filter-buffer-substring-function)))
    (setq-local truncate-lines t
                filter-buffer-substring-function #'agent-q-diff-side--copy
                agent-q-diff-split-rows-function #'agent-q-diff-side--chosen)
    (add-function :after-while (local 'isearch-filter-predicate) #'agent-q-diff-side--found-p)
    (add-hook 'post-command-hook #'agent-q-diff-side--lay-here -50 t)
    (add-hook 'post-command-hook #'agent-q-diff-side--follow 90 t)
    (add-hook 'window-scroll-functions #'agent-q-diff-side--scrolled nil t)
    (add-hook 'window-configuration-change-hook #'agent-q-diff-side--check nil t)
    ;; After annotations are shown.
    (add-hook 'agent-q-diff-buffer-shown-functions #'agent-q-diff-side--lay-anew 95 t)
    (jit-lock-register #'agent-q-diff-side--lay-between)
    (agent-q-diff-side--lay-anew)
    (agent-q-diff-side--follow)))

(defun agent-q-diff-side--end ()
  "Show the whole diff again, in one window."
  (let ((windows agent-q-diff-side--windows))
    (setq agent-q-diff-side--windows nil)
    (pcase-dolist (`(,variable . ,local) agent-q-diff-side--before)
      (if local
          (set variable (car local))
        (kill-local-variable variable)))
    (setq agent-q-diff-split-rows-function nil)
    (remove-function (local 'isearch-filter-predicate) #'agent-q-diff-side--found-p)
    (remove-hook 'post-command-hook #'agent-q-diff-side--lay-here t)
    (remove-hook 'post-command-hook #'agent-q-diff-side--follow t)
    (remove-hook 'window-scroll-functions #'agent-q-diff-side--scrolled t)
    (remove-hook 'window-configuration-change-hook #'agent-q-diff-side--check t)
    (remove-hook 'agent-q-diff-buffer-shown-functions #'agent-q-diff-side--lay-anew t)
    (jit-lock-unregister #'agent-q-diff-side--lay-between)
    (agent-q-diff-side--clear)
    (pcase windows
      (`(,old . ,new)
       (when (and (window-live-p old) (window-live-p new)
                  (eq (current-buffer) (window-buffer old))
                  (eq (current-buffer) (window-buffer new)))
         (when (eq old (selected-window))
           (let ((point (window-point old)))
             (select-window new)
             (set-window-point new point)))
         (delete-window old))))))

(define-minor-mode agent-q-diff-side-by-side-mode
  "Show old lines in a window to the left, and new lines in this one.
All keys work in both windows, which scroll together."
  :lighter " Sides"
  (if agent-q-diff-side-by-side-mode
      (unless agent-q-diff-side--windows
        (setq agent-q-diff-side-by-side-mode nil)
        (agent-q-diff-side--begin)
        (setq agent-q-diff-side-by-side-mode t)
        (message (substitute-command-keys
                  "Old lines are on the left; \\<agent-q-diff-mode-map>\\[agent-q-diff-side-by-side-mode] shows one window again")))
    (when (called-interactively-p 'any)
      (setq agent-q-diff-side--is-refused t))
    (when agent-q-diff-side--windows
      (agent-q-diff-side--end)
      (when (called-interactively-p 'any)
        (message "The diff is in one window again")))))

(defun agent-q-diff-side--check ()
  "Return to the whole diff if one of the two windows has another buffer."
  (unless (agent-q-diff-side--is-paired)
    (agent-q-diff-side-by-side-mode -1)))

(defun agent-q-diff-side--end-of (review)
  "End the display side by side of REVIEW, which is ending."
  (agent-q-diff-base-with-live (agent-q-diff-session-buffer review)
    (agent-q-diff-side-by-side-mode -1)))

(add-hook 'agent-q-diff-lifecycle-ending-functions #'agent-q-diff-side--end-of)

;;;; By itself

(defun agent-q-diff-side--appear (window)
  "Show old and new lines side by side if WINDOW is wide enough for that."
  (with-current-buffer (window-buffer window)
    (when (and agent-q-diff-side-by-side-width
               (<= agent-q-diff-side-by-side-width (window-total-width window))
               (eq window (selected-window))
               (not (or agent-q-diff-side--windows agent-q-diff-side--is-refused
                        (agent-q-diff-buffer-ended-p))))
      (let ((buffer (current-buffer)))
        ;; Windows are not divided while they are drawn.
        (run-with-timer 0 nil
                        (lambda ()
                          (when (and (eq window (selected-window))
                                     (eq buffer (window-buffer window)))
                            (with-current-buffer buffer
                              (unless agent-q-diff-side--windows
                                (agent-q-diff-side-by-side-mode))))))))))

(defun agent-q-diff-side-set-up ()
  "Have this buffer be shown side by side if its window is wide enough."
  (add-hook 'window-buffer-change-functions #'agent-q-diff-side--appear nil t)
  (add-hook 'window-size-change-functions #'agent-q-diff-side--appear nil t))

(provide 'agent-q-diff-side)
;;; agent-q-diff-side.el ends here
