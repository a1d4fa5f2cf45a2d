;;; agent-q-diff-in-file.el --- A review drawn in the file's own buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The file's own buffer shows what is proposed for it: lines that would go are struck
;; through, and what would come stands below them.  All of it is drawn by overlays, so
;; the buffer's text, its undo list and the file know nothing of it; you edit and search
;; as ever.  Keys after a prefix decide: each runs its command in the diff buffer, on the
;; hunk at point, so marks, undoing and messages are the same there and here.
;;
;; Whatever the file's mode hides, or shows otherwise, is plain in the lines of a change:
;; an Org link has its target, and misleading characters are shown by their numbers.
;;
;; Only the lines that windows show are drawn.  A change that could not be made where it
;; is, because somebody has edited its lines, is not drawn; the diff buffer says why.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-shown)
(require 'agent-q-diff-display)
(require 'agent-q-diff-navigation)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-alike)

(defvar agent-q-diff-in-file-mode)
(defvar agent-q-diff-in-file-mode-map)
(defvar agent-q-diff-mode-map)
(declare-function org-fold-show-context "org-fold")
(declare-function org-show-context "org")

(defcustom agent-q-diff-begin-in-file nil
  "Non-nil if a review that gets a window shows the file in it, not the diff.
See `agent-q-diff-in-file'.  Where no file has the text yet, the diff is shown."
  :type 'boolean
  :group 'agent-q-diff-review)

(defcustom agent-q-diff-in-file-lines 30
  "Number of proposed lines in a row that are drawn in the file's buffer.
Of more, the rest is counted; the diff buffer has all."
  :type 'natnum
  :group 'agent-q-diff-review)

(defface agent-q-diff-in-file-old
  '((t :inherit diff-removed :strike-through t :extend nil))
  "Face of lines in a file's buffer that a change removes, or has removed."
  :group 'agent-q-diff-faces)

(defface agent-q-diff-in-file-new
  '((t :inherit diff-added :extend t))
  "Face of lines in a file's buffer that a change adds, or has added."
  :group 'agent-q-diff-faces)

;;;; State

(defvar-local agent-q-diff-in-file--diff nil
  "In the buffer of a file: the diff buffer of the review that is drawn.")

(defvar-local agent-q-diff-in-file--overlays nil
  "The overlays that draw the review in this buffer.")

(defvar-local agent-q-diff-in-file--range nil
  "What is drawn, (TICK FROM . TO), or nil: lines, from 0, of the text with TICK.")

(defvar agent-q-diff-in-file--positions nil
  "While a review is drawn: where the lines are that windows show, (FROM . TO).")

(defvar-local agent-q-diff-in-file--buffers nil
  "In a diff buffer: the buffers of files in which its review is drawn.")

(defvar-local agent-q-diff-in-file--gone-to nil
  "The hunk that a command has gone to, (HUNK POINT TICK), or nil.
Where two hunks are at one line, it is this one as long as point is there.")

(defvar-local agent-q-diff-in-file--cut nil
  "What cut lines off at the edge of a window before: (VARIABLE IS-LOCAL . VALUE)s.")

;; Another major mode, as after `revert-buffer', changes nothing about the review.
(dolist (variable '(agent-q-diff-in-file-mode agent-q-diff-in-file--diff
                    agent-q-diff-in-file--overlays agent-q-diff-in-file--range
                    agent-q-diff-in-file--buffers agent-q-diff-in-file--cut))
  (put variable 'permanent-local t))
(dolist (function '(agent-q-diff-in-file--scrolled agent-q-diff-in-file--appear
                    agent-q-diff-in-file--erase agent-q-diff-in-file--draw
                    agent-q-diff-in-file--wrap))
  (put function 'permanent-local-hook t))

(defun agent-q-diff-in-file--diff-or-nil ()
  "Return the diff buffer whose open review is drawn in this buffer, or nil."
  (let ((diff agent-q-diff-in-file--diff))
    (and (buffer-live-p diff)
         (with-current-buffer diff
           (and agent-q-diff-buffer-is-made (not (agent-q-diff-buffer-ended-p))))
         diff)))

(defun agent-q-diff-in-file--index (diff)
  "Return the index of this buffer's file in the change of the buffer DIFF, or nil."
  (let ((buffer (current-buffer)))
    (with-current-buffer diff
      (seq-position (agent-q-diff-change-files agent-q-diff-buffer-change) buffer
                    (lambda (file buffer)
                      (eq buffer (agent-q-diff-file-change-buffer file)))))))

;;;; Drawing

(defvar-local agent-q-diff-in-file--colored nil
  "Hash table from texts of changes to their colored lines, or nil.
They are drawn again and again, but fontified once.")

(defconst agent-q-diff-in-file--max-colored 30000
  "Number of characters from which on a change gets no colors of code.")

(defun agent-q-diff-in-file--color (text)
  "Return the lines of TEXT, a list, with the colors of this buffer's mode."
  (let ((known (or agent-q-diff-in-file--colored
                   (setq agent-q-diff-in-file--colored (make-hash-table :test #'equal))))
        (key (cons major-mode text))
        (plain (split-string (string-remove-suffix "\n" text) "\n")))
    (or (gethash key known)
        (puthash key
                 (or (when-let ((mode (and agent-q-diff-code-colors
                                           (< (length text) agent-q-diff-in-file--max-colored)
                                           (agent-q-diff-fontify-mode-of (current-buffer)))))
                       (with-demoted-errors "agent-q-diff: no colors: %S"
                         (agent-q-diff-fontify-lines "" plain mode)))
                     plain)
                 known))))

(defun agent-q-diff-in-file--prefix (face)
  "Return the sign of lines with FACE where no colors tell them from others, or \"\"."
  (cond
   ((display-color-p) "")
   ((eq face 'agent-q-diff-in-file-new) "+ ")
   (t "- ")))

(defun agent-q-diff-in-file--word-face (face)
  "Return the face of changed words in lines with FACE."
  (if (eq face 'agent-q-diff-in-file-old)
      'agent-q-diff-word-removed
    'agent-q-diff-word-added))

(defun agent-q-diff-in-file--line (text face words)
  "Return TEXT, a line of a proposal, with FACE, and so that no character misleads.
WORDS are its changed words, a list of (FROM TO)."
  (let* ((show (lambda (text) (agent-q-diff-visible text most-positive-fixnum '(?\t))))
         (shown (funcall show text))
         (is-same (string= shown text))
         (prefix (agent-q-diff-in-file--prefix face))
         (line (concat prefix (if is-same text shown) "\n")))
    (dolist (word words)
      (pcase-let ((`(,from ,to)
                   (mapcar (lambda (column)
                             (let ((column (min column (length text))))
                               (+ (length prefix)
                                  (if is-same
                                      column
                                    (length (funcall show (substring text 0 column)))))))
                           word)))
        (add-face-text-property from to (agent-q-diff-in-file--word-face face) nil line)))
    (add-face-text-property 0 (length line) face t line)
    ;; Else it would have the color of the text at its place, too.
    (add-face-text-property 0 (length line) 'default t line)
    line))

(defun agent-q-diff-in-file--string (text face words)
  "Return TEXT, lines, as a string with FACE; of too many, only the first ones.
WORDS are their changed words, a list of (LINE FROM TO).  The value is
\(STRING . IS-CUT)."
  (let* ((lines (agent-q-diff-in-file--color text))
         ;; No more than fit, with some around: one cannot scroll in what is drawn.
         (n-shown (apply #'min agent-q-diff-in-file-lines
                         (mapcar (lambda (window) (max 5 (- (window-body-height window) 8)))
                                 (get-buffer-window-list nil nil t))))
         (n-more (- (length lines) n-shown))
         (by-line (seq-group-by #'car words))
         (is-cut (< 1 n-more)))
    (cons (concat (cl-loop for line in (if is-cut (seq-take lines n-shown) lines)
                           for at from 0
                           concat (agent-q-diff-in-file--line
                                   line face (mapcar #'cdr (alist-get at by-line))))
                  (and is-cut
                       (propertize (substitute-command-keys
                                    (format "… %d more lines; \\<agent-q-diff-in-file-mode-map>\\[agent-q-diff-in-file-diff] shows the diff\n"
                                            n-more))
                                   'face '(agent-q-diff-warning default))))
          is-cut)))

(defun agent-q-diff-in-file--put (hunk beg end &rest properties)
  "Put an overlay of HUNK with PROPERTIES from BEG to END."
  (let ((overlay (make-overlay beg end)))
    (overlay-put overlay 'agent-q-diff-in-file hunk)
    (while properties
      (overlay-put overlay (pop properties) (pop properties)))
    (push overlay agent-q-diff-in-file--overlays)))

(defun agent-q-diff-in-file--end (beg text)
  "Return where TEXT, lines that are in this buffer from BEG on, ends."
  (save-excursion
    (goto-char beg)
    (forward-line (+ (seq-count (apply-partially #'eq ?\n) text)
                     (if (string-match-p "[^\n]\\'" text) 1 0)))
    (point)))

(defun agent-q-diff-in-file--put-lines (hunk position text face words &optional is-above)
  "Draw TEXT, lines that are not in this buffer, with FACE at POSITION, for HUNK.
WORDS are as for `agent-q-diff-in-file--string'.  If IS-ABOVE is non-nil, it is
above the line there."
  (pcase-let ((`(,string . ,is-cut) (agent-q-diff-in-file--string text face words))
              (is-after-end (and (= position (point-max))
                                 (/= position (point-min))
                                 (/= ?\n (char-before position)))))
    (when is-after-end
      (setq string (concat "\n" (string-remove-suffix "\n" string))))
    (agent-q-diff-in-file--put hunk position position
                               (if is-above 'before-string 'after-string) string
                               'agent-q-diff-in-file-kind
                               (if (eq face 'agent-q-diff-in-file-new) ?a ?r)
                               'agent-q-diff-in-file-text (and (not is-cut) text)
                               'priority (if is-above 1 0))))

(defun agent-q-diff-in-file--put-label (hunk beg mark is-in)
  "Say at the end of the line at BEG what HUNK, which has MARK, is.
IS-IN is t if the file has it, or nil."
  (let ((words (with-current-buffer agent-q-diff-in-file--diff
                 (delq nil (list (agent-q-diff-buffer-mark-word mark)
                                 (agent-q-diff-signs-difference mark is-in nil)))))
        (end (save-excursion (goto-char beg) (line-end-position))))
    (agent-q-diff-in-file--put
     hunk end end
     'after-string (propertize (format "  [%s]" (string-join words ", "))
                               'face (if (eq mark 'applied)
                                         'agent-q-diff-applied
                                       'agent-q-diff-rejected)))))

;;;;; Lines that are in the buffer

(defconst agent-q-diff-in-file--plain
  '(display (raise 0.0) line-prefix "" wrap-prefix "" priority 50)
  "Properties of an overlay with which nothing is shown in place of its text.
They are values that change nothing: nil would leave it to the text.")

(defun agent-q-diff-in-file--put-place (hunk beg end &optional face)
  "Mark the lines from BEG to END, which are in the buffer, as those of HUNK.
If FACE is non-nil, they have it, and each of their characters can be seen."
  (let ((from (max beg (car agent-q-diff-in-file--positions)))
        (to (min end (cdr agent-q-diff-in-file--positions))))
    (apply #'agent-q-diff-in-file--put hunk beg end 'agent-q-diff-in-file-place hunk
           (and face `( agent-q-diff-in-file-kind
                        ,(if (eq face 'agent-q-diff-in-file-new) ?a ?r)
                        face ,face ,@agent-q-diff-in-file--plain
                        line-prefix ,(agent-q-diff-in-file--prefix face))))
    (when (and face (< from to))
      (when font-lock-mode
        (with-demoted-errors "agent-q-diff: no colors: %S"
          (font-lock-ensure from to)))
      (agent-q-diff-in-file--show-hidden hunk from to)
      (agent-q-diff-in-file--show-composed hunk from to)
      (agent-q-diff-in-file--show-faint hunk from to)
      (pcase-dolist (`(,at . ,properties) (agent-q-diff-confusables-signs from to))
        (apply #'agent-q-diff-in-file--put hunk at (1+ at) 'priority 60 properties)))))

(defun agent-q-diff-in-file--put-words (hunk beg words face)
  "Mark WORDS, a list of (LINE FROM TO), of HUNK in the lines from BEG on.
FACE is that of the lines."
  (save-excursion
    (let ((at 0))
      (goto-char beg)
      (pcase-dolist (`(,line ,from ,to) words)
        (forward-line (- line at))
        (setq at line)
        (when (<= (car agent-q-diff-in-file--positions) (point)
                  (cdr agent-q-diff-in-file--positions))
          (agent-q-diff-in-file--put
           hunk (min (+ (point) from) (line-end-position))
           (min (+ (point) to) (line-end-position))
           'priority 52 'face (agent-q-diff-in-file--word-face face)))))))

(defun agent-q-diff-in-file--spans (property from to)
  "Return (BEG END . VALUE) of each stretch between FROM and TO with PROPERTY."
  (let ((at from)
        spans)
    (while (< at to)
      (let ((next (next-single-property-change at property nil to))
            (value (get-text-property at property)))
        (when value
          (push (cons at (cons next value)) spans))
        (setq at next)))
    (nreverse spans)))

(defun agent-q-diff-in-file--show-hidden (hunk from to)
  "Show what is invisible between FROM and TO, in HUNK.
That the line above is folded does not have them begin on its row."
  (let ((at (max (point-min) (1- from))))
    (while (< at to)
      (let ((next (next-single-char-property-change at 'invisible nil to)))
        (when (invisible-p at)
          ;; Else any value would hide it, as for `add-to-invisibility-spec'.
          (when (eq t buffer-invisibility-spec)
            (setq buffer-invisibility-spec (list t)))
          (agent-q-diff-in-file--put hunk at next 'priority 55
                                     'invisible 'agent-q-diff-in-file))
        (setq at next)))))

(defun agent-q-diff-in-file--show-composed (hunk from to)
  "Show what is composed between FROM and TO, in HUNK, as the text that it is.
No property of an overlay does that, so the text is shown for itself."
  (pcase-dolist (`(,beg ,end . ,_) (agent-q-diff-in-file--spans 'composition from to))
    (agent-q-diff-in-file--put
     hunk beg end 'priority 55
     'display (agent-q-diff-visible (buffer-substring-no-properties beg end)
                                    most-positive-fixnum '(?\t ?\n)))))

(defun agent-q-diff-in-file--show-faint (hunk from to)
  "Show what a face hides between FROM and TO, in HUNK."
  (pcase-dolist (`(,beg ,end . ,face) (agent-q-diff-in-file--spans 'face from to))
    (when (agent-q-diff-fontify-hiding-p face)
      (agent-q-diff-in-file--put hunk beg end 'priority 55
                                 'face (list :foreground (face-foreground 'default nil t)
                                             :height (face-attribute 'default :height))))))

(defun agent-q-diff-in-file--draw-change (change mark)
  "Draw CHANGE, (HUNK LINE IS-IN OLD NEW WORDS), of a hunk with MARK."
  (pcase-let* ((`(,hunk ,line ,is-in ,old ,new ,words) change)
               (beg (agent-q-diff-text-position (current-buffer) line))
               (here (if is-in new old))
               (end (agent-q-diff-in-file--end beg here))
               (n-old (length (split-string (string-remove-suffix "\n" old) "\n")))
               (n-old (if (string-empty-p old) 0 n-old))
               (old-words (seq-filter (lambda (word) (< (car word) n-old)) words))
               (new-words (cl-loop for (line . columns) in words
                                   unless (< line n-old)
                                   collect (cons (- line n-old) columns))))
    (cond
     (is-in
      (agent-q-diff-in-file--put-place hunk beg end 'agent-q-diff-in-file-new)
      (agent-q-diff-in-file--put-words hunk beg new-words 'agent-q-diff-in-file-new)
      (when (and (null mark) (not (string-empty-p old)))
        (agent-q-diff-in-file--put-lines hunk beg old 'agent-q-diff-in-file-old old-words t)))
     ((eq mark 'rejected)
      (agent-q-diff-in-file--put-place hunk beg end))
     (t
      (agent-q-diff-in-file--put-place hunk beg end 'agent-q-diff-in-file-old)
      (agent-q-diff-in-file--put-words hunk beg old-words 'agent-q-diff-in-file-old)
      (unless (string-empty-p new)
        (agent-q-diff-in-file--put-lines hunk end new 'agent-q-diff-in-file-new new-words))))
    (when mark
      (agent-q-diff-in-file--put-label
       hunk (if (string-empty-p here) (max (point-min) (1- beg)) beg) mark is-in))))

;;;;; Long lines

(defun agent-q-diff-in-file--wrap ()
  "Show all lines of this buffer to their ends, as in the diff buffer.
What is cut off at the edge of a window, as Org does, may be what matters."
  (dolist (variable '(truncate-lines truncate-partial-width-windows))
    (let ((value (symbol-value variable))
          (is-local (local-variable-p variable)))
      ;; Another major mode may have made it global again.
      (when (or value (not is-local))
        (setf (alist-get variable agent-q-diff-in-file--cut nil t) nil))
      (when value
        (push (cons variable (cons is-local value)) agent-q-diff-in-file--cut)
        (set (make-local-variable variable) nil))))
  ;; Else they are cut off at the other edge.
  (dolist (window (get-buffer-window-list nil nil t))
    (set-window-hscroll window 0)))

(defun agent-q-diff-in-file--unwrap ()
  "Undo what `agent-q-diff-in-file--wrap' has done, unless somebody else has."
  (pcase-dolist (`(,variable ,is-local . ,value) agent-q-diff-in-file--cut)
    (unless (symbol-value variable)
      (if is-local
          (set (make-local-variable variable) value)
        (kill-local-variable variable))))
  (setq agent-q-diff-in-file--cut nil))

(defun agent-q-diff-in-file--erase ()
  "Remove all that is drawn in this buffer."
  (mapc #'delete-overlay agent-q-diff-in-file--overlays)
  (setq agent-q-diff-in-file--overlays nil
        agent-q-diff-in-file--range nil))

(defun agent-q-diff-in-file--seen ()
  "Return (FROM . TO), the lines from 0 that are in windows, and some more."
  (let ((lines (mapcan (lambda (window)
                         (let ((line (1- (line-number-at-pos (window-start window) t)))
                               (height (window-total-height window)))
                           (list (max 0 (- line height)) (+ line (* 3 height)))))
                       (get-buffer-window-list nil nil t))))
    (if lines
        (cons (apply #'min lines) (apply #'max lines))
      '(0 . 0))))

(defun agent-q-diff-in-file--draw (&optional range)
  "Draw what is proposed for this buffer's file at the lines of RANGE.
That is (FROM . TO), by default for the lines that windows show."
  (agent-q-diff-in-file--erase)
  (when-let* ((diff (agent-q-diff-in-file--diff-or-nil))
              (index (agent-q-diff-in-file--index diff)))
    (let* ((range (or range (save-restriction (widen) (agent-q-diff-in-file--seen))))
           (marks (buffer-local-value 'agent-q-diff-buffer-marks diff))
           (changes (with-current-buffer diff
                      (agent-q-diff-engine-drawn
                       (agent-q-diff-change-engine agent-q-diff-buffer-change)
                       index (car range) (cdr range)))))
      (setq agent-q-diff-in-file--range (cons (buffer-chars-modified-tick) range))
      (save-match-data
        (agent-q-diff-base-widened
          (let ((agent-q-diff-in-file--positions
                 (cons (agent-q-diff-text-position (current-buffer) (car range))
                       (agent-q-diff-text-position (current-buffer) (1+ (cdr range))))))
            (dolist (change changes)
              (when (< (car change) (length marks))
                (agent-q-diff-in-file--draw-change change (aref marks (car change)))))))))))

(defun agent-q-diff-in-file--draw-seen ()
  "Draw the lines that are in windows, unless they are drawn.
After an edit, what is drawn moves with its lines until the review has followed."
  (pcase agent-q-diff-in-file--range
    (`(,tick ,from . ,to)
     (pcase-let ((`(,first . ,last)
                  (save-restriction (widen) (agent-q-diff-in-file--seen))))
       (unless (or (/= tick (buffer-chars-modified-tick))
                   (and (<= from first)
                        (<= (min last (line-number-at-pos (point-max) t)) to)))
         (agent-q-diff-in-file--draw))))))

(defun agent-q-diff-in-file--scrolled (window _start)
  "Draw what is in WINDOW now."
  (let ((buffer (window-buffer window)))
    (run-with-timer 0 nil (lambda ()
                            (agent-q-diff-base-with-live buffer
                              (agent-q-diff-in-file--draw-seen))))))

;;;;; What has been shown

(defun agent-q-diff-in-file--lines-in (window)
  "Return a hash table of the lines of hunks that are in WINDOW, with how often.
Its keys are (HUNK KIND . TEXT), without the end of the line."
  (let ((start (window-start window))
        (end (window-end window))
        (lines (make-hash-table :test #'equal)))
    (dolist (overlay agent-q-diff-in-file--overlays lines)
      (let ((kind (overlay-get overlay 'agent-q-diff-in-file-kind))
            (hunk (overlay-get overlay 'agent-q-diff-in-file))
            (text (overlay-get overlay 'agent-q-diff-in-file-text))
            (at (overlay-start overlay)))
        (cond
         ((null kind))
         (text
          (let ((all (split-string (string-remove-suffix "\n" text) "\n")))
            ;; A string may begin above a window, or go on below it, which ends at the
            ;; same position in any case.
            (when (and (or (< start at) (= at (point-min)))
                       (<= at end)
                       (<= (+ (count-screen-lines start at nil window) (length all))
                           (window-body-height window)))
              (dolist (line all)
                (cl-incf (gethash (cons hunk (cons kind line)) lines 0))))))
         (t
          (save-excursion
            (goto-char at)
            (while (< (point) (overlay-end overlay))
              (when (and (<= start (point)) (< (line-end-position) end)
                         (not (invisible-p (point))))
                (cl-incf (gethash (cons hunk
                                        (cons kind (buffer-substring-no-properties
                                                    (point) (line-end-position))))
                                  lines 0)))
              (forward-line)))))))))

(defun agent-q-diff-in-file--note-shown (window)
  "Note in the diff buffer which changed lines of this file are in WINDOW.
This is for `agent-q-diff-shown-functions'."
  (when-let ((diff (and agent-q-diff-in-file-mode (agent-q-diff-in-file--diff-or-nil))))
    (let ((lines (agent-q-diff-in-file--lines-in window)))
      (with-current-buffer diff
        (dolist (hunk (seq-uniq (mapcar #'car (hash-table-keys lines))))
          (agent-q-diff-shown-note-lines
           hunk
           (lambda (key n) (<= n (gethash (cons hunk key) lines 0)))))))))

(add-hook 'agent-q-diff-shown-functions #'agent-q-diff-in-file--note-shown)

(defun agent-q-diff-in-file--refresh (&rest _)
  "Draw the review of this diff buffer again, wherever it is drawn."
  (dolist (buffer agent-q-diff-in-file--buffers)
    (agent-q-diff-base-with-live buffer
      ;; Its number may be another now.
      (setq agent-q-diff-in-file--gone-to nil)
      (agent-q-diff-in-file--draw))))

;;;; The hunk at point

(defvar-local agent-q-diff-in-file--is-to-be-made nil
  "Non-nil if a review made this buffer, for a file that there was not yet.")

(defun agent-q-diff-in-file--give-back ()
  "Leave this buffer to the review if it is for a file that nobody has made."
  (when (and agent-q-diff-in-file--is-to-be-made
             (not (file-exists-p buffer-file-name))
             (= 0 (buffer-size))
             (not (buffer-modified-p)))
    (let ((buffer (current-buffer)))
      (replace-buffer-in-windows buffer)
      (agent-q-diff-visit-note buffer))))

(defun agent-q-diff-in-file--hunk-here ()
  "Return the hunk whose lines are drawn at the line at point, or nil.
What is only added is at the line below it; lines of the text come first."
  (pcase agent-q-diff-in-file--gone-to
    ((and `(,hunk . ,place) (guard (equal place (agent-q-diff-in-file--here)))) hunk)
    (_
     (let ((beg (line-beginning-position))
           (end (line-beginning-position 2))
           (lines nil)
           (added nil))
       (dolist (overlay (overlays-in beg (1+ end)))
         (when-let ((hunk (overlay-get overlay 'agent-q-diff-in-file-place)))
           (let ((from (overlay-start overlay))
                 (to (overlay-end overlay)))
             (cond
              ((and (< from to) (< from (max end (1+ beg))) (< beg to)) (push hunk lines))
              ((= from to beg) (push hunk added))))))
       (car (sort (or lines added) #'<))))))

(defun agent-q-diff-in-file--here ()
  "Return a value that is another after point has moved, or the text changed."
  (list (point) (buffer-chars-modified-tick)))

(defun agent-q-diff-in-file--line-of (diff hunk)
  "Return the line, from 0, of HUNK of the buffer DIFF in its target, or nil."
  (with-current-buffer diff
    (agent-q-diff-engine-hunk-line (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk))))

(defun agent-q-diff-in-file--hunk-before (diff index)
  "Return the last hunk of file INDEX of the buffer DIFF up to point, or nil."
  (let ((line (1- (line-number-at-pos nil t))))
    (seq-find (lambda (hunk)
                (when-let ((at (agent-q-diff-in-file--line-of diff hunk)))
                  (<= at line)))
              (nreverse (append (with-current-buffer diff
                                  (agent-q-diff-change-hunks-of agent-q-diff-buffer-change
                                                                index))
                                nil)))))

(defun agent-q-diff-in-file--diff-here ()
  "Return the diff buffer whose open review is drawn here; refuse if none is."
  (or (agent-q-diff-in-file--diff-or-nil)
      (user-error "No open review is drawn here")))

(defun agent-q-diff-in-file--hunk-near (diff)
  "Return the hunk of the buffer DIFF that is drawn at point, or the last above it."
  (or (agent-q-diff-in-file--hunk-here)
      (when-let ((index (agent-q-diff-in-file--index diff)))
        (agent-q-diff-in-file--hunk-before diff index))))

(defun agent-q-diff-in-file--goto (hunk)
  "Move to HUNK of this diff buffer in its file's buffer, in this window.
If it has no place in a buffer, show it in the diff."
  (agent-q-diff-decide-visit agent-q-diff-buffer-change hunk)
  (let ((diff (current-buffer))
        (target (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file hunk)))
        (line (agent-q-diff-in-file--line-of (current-buffer) hunk)))
    (if (not (and line (buffer-live-p target)))
        (progn
          (agent-q-diff-in-file--leave)
          (switch-to-buffer diff nil t)
          (agent-q-diff-buffer-goto-hunk hunk))
      (let ((is-to-be-made (and (agent-q-diff-visit-ours-p target)
                                (not (file-exists-p (buffer-file-name target))))))
        (agent-q-diff-in-file--turn-on target diff)
        (unless (eq target (window-buffer))
          (switch-to-buffer target nil t))
        (set-buffer target)
        (agent-q-diff-in-file--show-line line)
        (agent-q-diff-in-file--draw-seen)
        (setq agent-q-diff-in-file--gone-to (cons hunk (agent-q-diff-in-file--here)))
        (when is-to-be-made
          (setq agent-q-diff-in-file--is-to-be-made t))))))

(defun agent-q-diff-in-file--show-line (line)
  "Move to LINE, from 0, and have it be seen, with room for what is drawn below."
  (let ((position (agent-q-diff-text-position (current-buffer) line)))
    (unless (<= (point-min) position (point-max))
      (widen))
    (goto-char position)
    (dolist (overlay (overlays-at (point)))
      (when-let ((open (and (overlay-get overlay 'invisible)
                            (overlay-get overlay 'isearch-open-invisible))))
        (funcall open overlay)))
    ;; What is drawn may show what is folded.
    (when (and (or (invisible-p (point))
                   (invisible-p (get-text-property (point) 'invisible)))
               (derived-mode-p 'org-mode))
      (cond
       ((fboundp 'org-fold-show-context) (org-fold-show-context))
       ((fboundp 'org-show-context) (org-show-context))))
    (when (eq (current-buffer) (window-buffer))
      (recenter (min 5 (/ (window-body-height) 4))))))

;;;; Commands

(defvar agent-q-diff-in-file--commands
  '((agent-q-diff-in-file-next . agent-q-diff-next-hunk)
    (agent-q-diff-in-file-previous . agent-q-diff-previous-hunk))
  "Alist from commands for the file's buffer to those of the diff buffer.")

(defun agent-q-diff-in-file--keys-said ()
  "Return a keymap that has the commands of the diff buffer on the keys used here.
Messages that name keys name these."
  (let ((map (make-sparse-keymap)))
    (pcase-dolist (`(,here . ,command) agent-q-diff-in-file--commands map)
      (dolist (keys (where-is-internal here agent-q-diff-in-file-mode-map))
        (define-key map keys command)))))

(defun agent-q-diff-in-file--run (command &optional needs-hunk)
  "Run COMMAND in the diff buffer on the hunk at point; show the next one here.
If NEEDS-HUNK is non-nil, refuse it where no hunk is drawn.  COMMAND does not
see a region of this buffer."
  (let* ((target (current-buffer))
         (diff (agent-q-diff-in-file--diff-here)))
    (when (and needs-hunk (null (agent-q-diff-in-file--hunk-here)))
      (user-error
       (substitute-command-keys
        "No change is drawn on this line; \\<agent-q-diff-in-file-mode-map>\\[agent-q-diff-in-file-next] goes to the next")))
    (let ((at (agent-q-diff-in-file--hunk-near diff)))
      (setq agent-q-diff-in-file--gone-to nil)
      (with-current-buffer diff
        (agent-q-diff-buffer-complete)
        (when at
          (agent-q-diff-buffer-goto-hunk at))
        (deactivate-mark)
        (let ((agent-q-diff-mode-map (agent-q-diff-in-file--keys-said)))
          (call-interactively command))
        (when (and (buffer-live-p diff)
                   (not (agent-q-diff-buffer-ended-p)))
          (let ((said (current-message))
                (next (agent-q-diff-buffer-hunk-at-point)))
            ;; What was inserted above point has moved it.
            (unless (or (null next)
                        (and (buffer-live-p target)
                             (eql next (with-current-buffer target
                                         (agent-q-diff-in-file--hunk-here)))))
              (agent-q-diff-in-file--goto next))
            (when said
              (message "%s" said))))))
    (set-buffer (window-buffer))))

(defun agent-q-diff-in-file--elsewhere (command)
  "Run COMMAND, of the diff buffer, if its review is drawn in this buffer.
This is for `agent-q-diff-buffer-elsewhere-functions'."
  (when (and agent-q-diff-in-file-mode (agent-q-diff-in-file--diff-or-nil))
    (agent-q-diff-in-file--run
     command
     (not (memq command '(agent-q-diff-next-hunk agent-q-diff-previous-hunk
                          agent-q-diff-next-pending))))
    t))

(add-hook 'agent-q-diff-buffer-elsewhere-functions #'agent-q-diff-in-file--elsewhere)

(defmacro agent-q-diff-in-file--define (name command needs-hunk docstring)
  "Define the command NAME, to run COMMAND on the hunk at point.
NEEDS-HUNK is as for `agent-q-diff-in-file--run'.  DOCSTRING is that of NAME."
  (declare (indent 3) (doc-string 4))
  `(progn
     (push '(,name . ,command) agent-q-diff-in-file--commands)
     (defun ,name ()
       ,docstring
       (interactive)
       (agent-q-diff-in-file--run #',command ,needs-hunk))))

(agent-q-diff-in-file--define agent-q-diff-in-file-accept agent-q-diff-accept-hunk t
  "Accept the hunk that is drawn at point, and go to the next pending one.")

(agent-q-diff-in-file--define agent-q-diff-in-file-reject agent-q-diff-reject-hunk t
  "Reject the hunk that is drawn at point, and go to the next pending one.")

(agent-q-diff-in-file--define agent-q-diff-in-file-unapply agent-q-diff-unapply-hunk t
  "Take the hunk that is drawn at point out of the file again.")

(agent-q-diff-in-file--define agent-q-diff-in-file-comment agent-q-diff-comment-here t
  "Comment on the hunk that is drawn at point; the agent reads it.")

(agent-q-diff-in-file--define agent-q-diff-in-file-split agent-q-diff-split-hunk t
  "Split the hunk that is drawn at point into its smallest parts.")

(agent-q-diff-in-file--define agent-q-diff-in-file-accept-alike agent-q-diff-accept-alike t
  "Accept all hunks that make the same change as the one that is drawn at point.")

(agent-q-diff-in-file--define agent-q-diff-in-file-reject-alike agent-q-diff-reject-alike t
  "Reject all hunks that make the same change as the one that is drawn at point.")

(agent-q-diff-in-file--define agent-q-diff-in-file-next-pending agent-q-diff-next-pending nil
  "Go to the next hunk that is pending, in whatever file.")

(agent-q-diff-in-file--define agent-q-diff-in-file-undo agent-q-diff-undo nil
  "Undo the last decision of the review, in the file as well.")

(agent-q-diff-in-file--define agent-q-diff-in-file-redo agent-q-diff-redo nil
  "Redo the decision that was undone last.")

(agent-q-diff-in-file--define agent-q-diff-in-file-finish agent-q-diff-finish nil
  "Finish the review that is drawn here.")

(agent-q-diff-in-file--define agent-q-diff-in-file-accept-all agent-q-diff-accept-all nil
  "Accept all pending hunks of the review that is drawn here, and finish it.")

(agent-q-diff-in-file--define agent-q-diff-in-file-reject-all agent-q-diff-reject-all nil
  "Reject all pending hunks of the review that is drawn here, and finish it.")

(defun agent-q-diff-in-file-next (&optional n)
  "Go to the Nth next hunk of the review that is drawn here, in whatever file."
  (interactive "p")
  (let ((n (or n 1)))
    ;; Between two hunks, the one above counts as the one at point.
    (agent-q-diff-in-file--run
     (lambda ()
       (interactive)
       (if (< 0 n)
           (agent-q-diff-next-hunk n)
         (agent-q-diff-previous-hunk (- n)))))))

(defun agent-q-diff-in-file-previous (&optional n)
  "Go to the Nth previous hunk of the review that is drawn here."
  (interactive "p")
  (agent-q-diff-in-file-next (- (or n 1))))

(defun agent-q-diff-in-file-diff ()
  "Show the diff buffer in this window, at the hunk at point."
  (interactive)
  (let* ((diff (agent-q-diff-in-file--diff-here))
         (hunk (agent-q-diff-in-file--hunk-near diff)))
    (with-current-buffer diff
      (agent-q-diff-in-file--leave)
      (switch-to-buffer diff nil t)
      (when hunk
        (agent-q-diff-buffer-goto-hunk hunk)))
    (set-buffer (window-buffer))))

;;;; The mode

(defvar agent-q-diff-in-file-command-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'agent-q-diff-in-file-next)
    (define-key map "p" #'agent-q-diff-in-file-previous)
    (define-key map "." #'agent-q-diff-in-file-next-pending)
    (define-key map "a" #'agent-q-diff-in-file-accept)
    (define-key map "r" #'agent-q-diff-in-file-reject)
    (define-key map "u" #'agent-q-diff-in-file-unapply)
    (define-key map "c" #'agent-q-diff-in-file-comment)
    (define-key map "s" #'agent-q-diff-in-file-split)
    (define-key map "la" #'agent-q-diff-in-file-accept-alike)
    (define-key map "lr" #'agent-q-diff-in-file-reject-alike)
    (define-key map "/" #'agent-q-diff-in-file-undo)
    (define-key map "?" #'agent-q-diff-in-file-redo)
    (define-key map "q" #'agent-q-diff-in-file-finish)
    (define-key map "\C-c" #'agent-q-diff-in-file-accept-all)
    (define-key map "\C-k" #'agent-q-diff-in-file-reject-all)
    (define-key map "F" #'agent-q-diff-in-file-diff)
    map)
  "Keys for a review that is drawn in a file's buffer, after a prefix.
With `repeat-mode', they need the prefix only once.")

(map-keymap (lambda (_event command)
              (when (symbolp command)
                (put command 'repeat-map 'agent-q-diff-in-file-command-map)))
            agent-q-diff-in-file-command-map)

(defvar agent-q-diff-in-file-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c \"") agent-q-diff-in-file-command-map)
    map)
  "Keymap of `agent-q-diff-in-file-mode'.")

(define-minor-mode agent-q-diff-in-file-mode
  "Draw the review of this buffer's file in it, as far as it is placed.
The text of the buffer stays as it is.

\\{agent-q-diff-in-file-mode-map}"
  :lighter " Review"
  :interactive nil
  (if agent-q-diff-in-file-mode
      (progn
        (add-hook 'window-scroll-functions #'agent-q-diff-in-file--scrolled nil t)
        (add-hook 'window-buffer-change-functions #'agent-q-diff-in-file--appear nil t)
        (add-hook 'kill-buffer-hook #'agent-q-diff-in-file--erase nil t)
        ;; Another mode hides other text.
        (add-hook 'after-change-major-mode-hook #'agent-q-diff-in-file--draw nil t)
        (add-hook 'after-change-major-mode-hook #'agent-q-diff-in-file--wrap nil t)
        (agent-q-diff-in-file--wrap)
        (agent-q-diff-in-file--draw))
    (remove-hook 'window-scroll-functions #'agent-q-diff-in-file--scrolled t)
    (remove-hook 'window-buffer-change-functions #'agent-q-diff-in-file--appear t)
    (remove-hook 'kill-buffer-hook #'agent-q-diff-in-file--erase t)
    (remove-hook 'after-change-major-mode-hook #'agent-q-diff-in-file--draw t)
    (remove-hook 'after-change-major-mode-hook #'agent-q-diff-in-file--wrap t)
    (agent-q-diff-in-file--unwrap)
    (agent-q-diff-in-file--erase)
    (setq agent-q-diff-in-file--diff nil
          agent-q-diff-in-file--colored nil)))

(defun agent-q-diff-in-file--appear (window)
  "Draw what is in WINDOW, where the buffer of a file has appeared."
  (agent-q-diff-in-file--scrolled window nil))

(defun agent-q-diff-in-file--turn-on (target diff)
  "Draw the review of the buffer DIFF in the buffer TARGET."
  (with-current-buffer target
    (unless (and agent-q-diff-in-file-mode (eq diff agent-q-diff-in-file--diff))
      (setq agent-q-diff-in-file--diff diff)
      (agent-q-diff-in-file-mode)
      (with-current-buffer diff
        (cl-pushnew target agent-q-diff-in-file--buffers)))))

(defun agent-q-diff-in-file--leave ()
  "Draw the review of this diff buffer in no file's buffer any more."
  (let ((buffers agent-q-diff-in-file--buffers))
    (setq agent-q-diff-in-file--buffers nil
          agent-q-diff-signs-is-drawn nil)
    (remove-hook 'agent-q-diff-progress-functions #'agent-q-diff-in-file--refresh t)
    (dolist (buffer buffers)
      (agent-q-diff-base-with-live buffer
        (agent-q-diff-in-file-mode -1)
        (agent-q-diff-in-file--give-back)))))

(defun agent-q-diff-in-file--review ()
  "Return the diff buffer to draw: this one, or that of a review of this file."
  (if (derived-mode-p 'agent-q-diff-mode)
      (current-buffer)
    (let ((target (current-buffer)))
      (or (seq-some (lambda (review)
                      (and (seq-some (lambda (file)
                                       (eq target (agent-q-diff-file-change-buffer file)))
                                     (agent-q-diff-change-files
                                      (agent-q-diff-session-change review)))
                           (agent-q-diff-session-buffer review)))
                    (agent-q-diff-open-reviews))
          (user-error "No open review changes this buffer")))))

(defun agent-q-diff-in-file ()
  "Show a file in this window, with what is proposed for it.
It is that of the hunk at point in a diff buffer, or the current buffer's.
Lines that would go are struck through, and those that would come are below;
none of that is in the buffer.
\\<agent-q-diff-in-file-mode-map>\\[agent-q-diff-in-file-next] goes to the next hunk, \\[agent-q-diff-in-file-accept] and \\[agent-q-diff-in-file-reject] decide, and
\\[agent-q-diff-in-file-diff] shows the diff again."
  (interactive)
  (let ((target (current-buffer)))
    (with-current-buffer (agent-q-diff-in-file--review)
      (when (agent-q-diff-buffer-ended-p)
        (user-error "The review has ended"))
      (let* ((change (agent-q-diff-signs-follow))
             (hunk (agent-q-diff-in-file--hunk-to-show target)))
        (when (agent-q-diff-change-is-detached change)
          (user-error "The text is in no file yet; it can only be reviewed as a diff"))
        (when (agent-q-diff-target-copied
               (agent-q-diff-file-change-target (agent-q-diff-buffer-file hunk)))
          (user-error "The file's buffer does not show what was written; decide it in the diff"))
        (agent-q-diff-decide-visit change hunk)
        (unless (and (agent-q-diff-in-file--line-of (current-buffer) hunk)
                     (buffer-live-p (agent-q-diff-file-change-buffer
                                     (agent-q-diff-buffer-file hunk))))
          (user-error "This hunk has no place in a file's buffer; decide it in the diff"))
        (setq agent-q-diff-signs-is-drawn t)
        (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-in-file--refresh 96 t)
        (add-hook 'kill-buffer-hook #'agent-q-diff-in-file--leave nil t)
        (agent-q-diff-in-file--goto hunk)
        (message "%s" (substitute-command-keys
                       "\\<agent-q-diff-in-file-mode-map>\\[agent-q-diff-in-file-accept] accepts, \\[agent-q-diff-in-file-reject] rejects, \\[agent-q-diff-in-file-diff] shows the diff again"))))
    (set-buffer (window-buffer))))

(defun agent-q-diff-in-file--hunk-to-show (target)
  "Return the hunk of this diff buffer to begin with in the buffer TARGET.
If TARGET is this diff buffer, that is the hunk at point."
  (if (eq target (current-buffer))
      (or (agent-q-diff-buffer-hunk-at-point) (agent-q-diff-buffer-hunk-before) 0)
    (let* ((diff (current-buffer))
           (index (with-current-buffer target
                    (agent-q-diff-in-file--index diff))))
      (agent-q-diff-buffer-first-pending
       (append (agent-q-diff-change-hunks-of agent-q-diff-buffer-change index) nil)))))

(defun agent-q-diff-in-file--end-of (review)
  "Draw REVIEW, which is ending, nowhere any more."
  (agent-q-diff-base-with-live (agent-q-diff-session-buffer review)
    (agent-q-diff-in-file--leave)))

(add-hook 'agent-q-diff-lifecycle-ending-functions #'agent-q-diff-in-file--end-of)

;;;; To begin with

(defvar-local agent-q-diff-in-file--has-begun nil
  "Non-nil if this diff buffer has been in a window.")

(defun agent-q-diff-in-file--begin (window)
  "If the user wants that, show the file in WINDOW, where its diff has appeared."
  (let ((buffer (window-buffer window)))
    (unless (buffer-local-value 'agent-q-diff-in-file--has-begun buffer)
      (with-current-buffer buffer
        (setq agent-q-diff-in-file--has-begun t)
        (when (and agent-q-diff-begin-in-file
                   (eq window (selected-window))
                   (not (agent-q-diff-buffer-ended-p)))
          ;; Windows do not change their buffers while they are drawn.
          (run-with-timer 0 nil
                          (lambda ()
                            (when (and (eq window (selected-window))
                                       (eq buffer (window-buffer window)))
                              (with-current-buffer buffer
                                (ignore-error user-error
                                  (agent-q-diff-in-file)))))))))))

(defun agent-q-diff-in-file-set-up ()
  "Have the review of this diff buffer begin in the file, if the user wants that."
  (setq agent-q-diff-in-file--has-begun nil)
  (add-hook 'window-buffer-change-functions #'agent-q-diff-in-file--begin nil t))

(provide 'agent-q-diff-in-file)
;;; agent-q-diff-in-file.el ends here
