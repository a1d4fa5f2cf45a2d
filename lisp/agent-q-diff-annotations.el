;;; agent-q-diff-annotations.el --- Texts shown below lines of a diff  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What somebody says about a line of a proposal is shown below that line, as
;; the string of an overlay.  So the text of the diff buffer stays the diff:
;; copying, searching, and applying know nothing of it.
;;
;; `agent-q-diff-annotations-functions' finds what is said, and
;; `agent-q-diff-annotations-show' shows it, each time the hunks of the buffer
;; are made or made again, or text is hidden or shown.
;;
;; A line is named by its file, its side and its number there, from 0.  Which
;; line of the diff buffer that is follows from what the engine says of each
;; hunk's lines, so it is right after a hunk was split, too.  If the user edits or
;; merges a hunk, the lines below it get other numbers; whoever keeps numbers
;; asks `agent-q-diff-annotations-line-now'.
;;
;; Each row of an annotation begins with a "#", with which no line of a hunk
;; does, so no agent's note can look like one, and no line like a note.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-fontify)

;; The few colors of some terminals are hard to read.
(defface agent-q-diff-note
  '((((class color) (min-colors 88)) :inherit (font-lock-doc-face default))
    (t :inherit default))
  "Face of what an agent says about a line, below that line."
  :group 'agent-q-diff-faces)

(defface agent-q-diff-note-own
  '((((class color) (min-colors 88)) :inherit (agent-q-diff-comment default))
    (t :inherit default))
  "Face of what you say about a line, below that line."
  :group 'agent-q-diff-faces)

(cl-defstruct (agent-q-diff-annotation (:constructor agent-q-diff-annotation-create)
                                       (:copier nil))
  "What somebody says about lines of a file that a review is about."
  (file 0 :documentation "Index of the file in the change.")
  (side 'new :documentation "Which text the line is in: `old' or `new'.")
  (line nil :documentation "The first line there, from 0, or nil for the whole file.")
  (n-lines 1 :documentation "Number of lines that it is about.")
  (id nil :documentation "A string by which others know it, or nil.")
  (kind 'note :documentation "What it is: `note', `comment', `question' or `reason'.
A note is an agent's; the others are the user's.")
  (who nil :documentation "Who says it, a string, or nil if nobody knows.")
  (text "" :documentation "What is said, a string, perhaps of several lines.")
  (state nil :documentation "What became of it, a symbol that is shown, or nil.")
  (replies nil :documentation "List of (WHO . TEXT), what was answered to it."))

;;;; Where lines are

(defun agent-q-diff-annotations--hunks (file)
  "Return the hunks of the file with the index FILE, numbers."
  (if (length> agent-q-diff-buffer-positions 0)
      (agent-q-diff-change-hunks-of agent-q-diff-buffer-change file)
    nil))

(defun agent-q-diff-annotations--on-side-p (kind side)
  "Return non-nil if a line of KIND, a character, is in the text of SIDE."
  (memq kind (if (eq side 'old) '(?c ?r) '(?c ?a))))

(defun agent-q-diff-annotations-line-of (position)
  "Return (FILE SIDE LINE), the line of a text that POSITION in the diff is on.
FILE is the index of its file, SIDE is `old' for a removed line and `new' for
any other, and LINE its number in the text of that side, from 0.  Return nil
if POSITION is on no line of a text."
  (when-let* ((hunk (agent-q-diff-buffer-hunk-at-point position))
              (lines (agent-q-diff-buffer-lines hunk))
              (beg (agent-q-diff-base-widened
                     (save-excursion (goto-char position) (line-beginning-position)))))
    (let ((old (agent-q-diff-engine-lines-old lines))
          (new (agent-q-diff-engine-lines-new lines)))
      (agent-q-diff-buffer-each-line (kind hunk)
        (when (= beg (point))
          (cl-return (unless (eq kind ?n)
                       (cons (agent-q-diff-buffer-file-index hunk)
                             (if (eq kind ?r) (list 'old old) (list 'new new))))))
        (when (agent-q-diff-annotations--on-side-p kind 'old) (cl-incf old))
        (when (agent-q-diff-annotations--on-side-p kind 'new) (cl-incf new))))))

(defun agent-q-diff-annotations-position (file side line &optional ranges)
  "Return the position in the diff of LINE of SIDE of the file with index FILE.
LINE counts from 0.  The position is the beginning of the diff line; it is nil
if no hunk in this buffer shows that line.  RANGES is as from
`agent-q-diff-annotations-ranges', for who asks more than once."
  (pcase-let* ((is-old (eq side 'old))
               (`(,hunk . ,lines)
                (seq-find (pcase-lambda (`(,_ . [,old ,n-old ,new ,n-new ,_]))
                            (if is-old
                                (< -1 (- line old) n-old)
                              (< -1 (- line new) n-new)))
                          (or ranges (agent-q-diff-annotations-ranges file)))))
    (when hunk
      (let ((at (if is-old
                    (agent-q-diff-engine-lines-old lines)
                  (agent-q-diff-engine-lines-new lines))))
        (agent-q-diff-buffer-each-line (kind hunk)
          (when (agent-q-diff-annotations--on-side-p kind side)
            (when (= at line)
              (cl-return (point)))
            (cl-incf at)))))))

(defun agent-q-diff-annotations-ranges (file)
  "Return (HUNK . LINES) for each hunk of the file with the index FILE.
Those that are not in this buffer yet, or show no lines, are left out.  LINES
is an `agent-q-diff-engine-lines'."
  (cl-loop for hunk in (agent-q-diff-annotations--hunks file)
           for lines = (agent-q-diff-buffer-lines hunk)
           when lines collect (cons hunk lines)))

;;;; When the user rewrites a hunk

(defvar-local agent-q-diff-annotations--moves nil
  "List of (FILE SIDE . FUNCTION), in order: how lines here have moved.
They do when the user rewrites a hunk.")

(defun agent-q-diff-annotations-line-now (file side line)
  "Return the number that LINE of SIDE of FILE has now in this buffer.
LINE is the number, from 0, that it had when the buffer was made.  FILE is the
index of the file and SIDE `old' or `new'.  A line that is gone gets the number
of one near it."
  (pcase-dolist (`(,other-file ,other-side . ,moved) agent-q-diff-annotations--moves)
    (when (and (eql file other-file) (eq side other-side))
      (setq line (funcall moved line))))
  line)

(defun agent-q-diff-annotations-moved-p (file)
  "Return non-nil if lines of the file with the index FILE have moved here."
  (assq file agent-q-diff-annotations--moves))

(defun agent-q-diff-annotations--texts (hunk)
  "Return (OLD NEW BELOW), the lines of both sides in HUNK of this buffer.
OLD and NEW are (START . LINES): the number of the first line of that side,
from 0, and a vector of strings.  BELOW is (OLD . NEW), the first lines of the
next hunk of the file, or nil if there is none."
  (let* ((lines (agent-q-diff-buffer-lines hunk))
         (next (and (memq (1+ hunk) (agent-q-diff-annotations--hunks
                                     (agent-q-diff-buffer-file-index hunk)))
                    (agent-q-diff-buffer-lines (1+ hunk))))
         (olds nil)
         (news nil))
    (agent-q-diff-buffer-each-line (kind hunk)
      (let ((text (agent-q-diff-buffer-line-text)))
        (when (agent-q-diff-annotations--on-side-p kind 'old) (push text olds))
        (when (agent-q-diff-annotations--on-side-p kind 'new) (push text news))))
    (list (cons (agent-q-diff-engine-lines-old lines) (vconcat (nreverse olds)))
          (cons (agent-q-diff-engine-lines-new lines) (vconcat (nreverse news)))
          (and next (cons (agent-q-diff-engine-lines-old next)
                          (agent-q-diff-engine-lines-new next))))))

(defun agent-q-diff-annotations--moved (before after below-before below-after line)
  "Return the number that LINE has now that lines of its side were rewritten.
BEFORE and AFTER are (START . LINES) of the hunk then and now, and BELOW-BEFORE
and BELOW-AFTER the first line of the next hunk then and now, or nil."
  (pcase-let* ((`(,start-before . ,lines-before) before)
               (`(,start-after . ,lines-after) after)
               (at (- line start-before))
               (shift (if (and below-before below-after)
                          (- below-after below-before)
                        (- (+ start-after (length lines-after))
                           (+ start-before (length lines-before))))))
    (cond
     ((< at 0) line)
     ((>= at (length lines-before)) (+ line shift))
     (t (agent-q-diff-annotations--nearest
         (aref lines-before at) line lines-after start-after
         ;; From either end, lines that are equal stay the same.
         (agent-q-diff-annotations--is-above at lines-before start-before
                                             lines-after start-after)
         shift)))))

(defun agent-q-diff-annotations--is-above (at before start-before after start-after)
  "Return non-nil if all lines of BEFORE up to index AT are the same in AFTER.
START-BEFORE and START-AFTER are the numbers of the first lines."
  (cl-loop for index from 0 to at
           for now = (- (+ start-before index) start-after)
           always (or (< now 0)
                      (and (< now (length after))
                           (equal (aref before index) (aref after now))))))

(defun agent-q-diff-annotations--nearest (text line lines start is-above shift)
  "Return the number of the line of LINES that was LINE, with TEXT.
START is the number of the first of LINES.  If IS-ABOVE is non-nil, nothing has
changed down to LINE; otherwise it is expected SHIFT lines below.  If no line
has TEXT, return that of one near by."
  (let* ((expected (if is-above line (+ line shift)))
         (equals (cl-loop for each across lines
                          for number from start
                          when (equal text each) collect number)))
    (cond
     (equals (car (sort equals (lambda (one other)
                                 (< (abs (- one expected)) (abs (- other expected)))))))
     ((zerop (length lines)) (max 0 (1- start)))
     (t (max start (min line (+ start (length lines) -1)))))))

(defun agent-q-diff-annotations-across-edit (hunk function)
  "Call FUNCTION, which rewrites the lines of HUNK here, and return its value.
What is said about lines then stays with them."
  (declare (indent 1))
  (let ((before (agent-q-diff-annotations--texts hunk))
        (file (agent-q-diff-buffer-file-index hunk)))
    (prog1 (funcall function)
      (let ((after (agent-q-diff-annotations--texts hunk)))
        (unless (equal before after)
          (cl-loop for side in '(old new)
                   for below in '(car cdr)
                   for side-before in before
                   for side-after in after
                   do (agent-q-diff-annotations--note-moved
                       file side
                       (apply-partially #'agent-q-diff-annotations--moved side-before side-after
                                        (funcall below (nth 2 before))
                                        (funcall below (nth 2 after)))))
          (agent-q-diff-annotations-show))))))

;;;; What the proposal itself says

(defun agent-q-diff-annotations--of-proposal ()
  "Return the notes that came with the proposal of this buffer's review."
  (when agent-q-diff-buffer-change
    (let ((agent (or (and agent-q-diff-buffer-review
                          (agent-q-diff-session-agent-name agent-q-diff-buffer-review))
                     "The agent")))
      (cl-loop for file in (agent-q-diff-change-files agent-q-diff-buffer-change)
               for index from 0
               nconc (mapcar (pcase-lambda (`(,line . ,text))
                               (agent-q-diff-annotation-create
                                :file index :line line :who agent :text text))
                             (agent-q-diff-file-change-annotations file))))))

(defun agent-q-diff-annotations--note-moved (file side moved)
  "Record that lines of SIDE of the file with the index FILE have moved by MOVED.
MOVED is a function from the number that a line had to the one that it has now.
The notes of the proposal, which are on the new side, move with them."
  (setq agent-q-diff-annotations--moves
        (append agent-q-diff-annotations--moves (list (cons file (cons side moved)))))
  (when (eq side 'new)
    (cl-callf2 mapcar (pcase-lambda (`(,line . ,text))
                        (cons (and line (funcall moved line)) text))
               (agent-q-diff-file-change-annotations
                (nth file (agent-q-diff-change-files agent-q-diff-buffer-change))))))

;;;; Rows

(defconst agent-q-diff-annotations--n-rows 10
  "Number of rows of an annotation that are shown at first.")

(defconst agent-q-diff-annotations--least-width 20
  "Number of columns that an annotation may take in any window.")

(defconst agent-q-diff-annotations--who-length 40
  "Number of characters that are shown of who says something.")

(defun agent-q-diff-annotations--wrapped (line width)
  "Return LINE, a string, cut into strings of at most WIDTH columns each.
It is cut at spaces if that is possible."
  (let ((rows nil))
    (while (< width (string-width line))
      (let* ((n (max 1 (length (truncate-string-to-width line width))))
             (space (cl-position ?\s line :end (1+ n) :from-end t))
             ;; Not in the indentation.
             (space (and space (string-match-p "[^ ]" (substring line 0 space)) space)))
        (push (substring line 0 (or space n)) rows)
        (setq line (string-trim-left (substring line (or space n)) " +"))))
    (nreverse (if (and rows (string-empty-p line)) rows (cons line rows)))))

(defun agent-q-diff-annotations--block (lead words text face width)
  "Return rows that show TEXT after WORDS, which say who speaks, strings.
LEAD stands before the first row, and as much space before the others.  No row
has more than WIDTH columns.  FACE is that of all."
  (let* ((others (concat "#" (make-string (1- (length lead)) ?\s)))
         (width (- width (length lead)))
         (lines (mapcar (lambda (line)
                          (agent-q-diff-visible (string-replace "\t" "    " line)
                                                most-positive-fixnum))
                        (split-string (string-trim-right text) "\r?\n")))
         (rows (mapcan (lambda (line) (agent-q-diff-annotations--wrapped line width))
                       (cons (concat (propertize words 'face 'bold) (car lines))
                             (cdr lines)))))
    (seq-map-indexed (lambda (row index)
                       (let ((row (concat (if (zerop index) lead others) row)))
                         (add-face-text-property 0 (length row) face t row)
                         row))
                     rows)))

(defun agent-q-diff-annotations--words (annotation is-at-line)
  "Return the words before the text of ANNOTATION: whose it is, and more about it.
If IS-AT-LINE is nil, it is not shown at its line, which is then named."
  (let* ((line (agent-q-diff-annotation-line annotation))
         (n-lines (agent-q-diff-annotation-n-lines annotation))
         (kind (car (memq (agent-q-diff-annotation-kind annotation) '(question reason))))
         (state (agent-q-diff-annotation-state annotation))
         (aside (delq nil (list (and line (or (not is-at-line) (< 1 n-lines))
                                     (format (if (< 1 n-lines) "%slines %d-%d" "%sline %d")
                                             (if (eq 'old (agent-q-diff-annotation-side annotation))
                                                 "old "
                                               "")
                                             (1+ line) (+ line n-lines)))
                                (and kind (symbol-name kind))
                                (and state (symbol-name state))))))
    (concat (agent-q-diff-annotations--who (agent-q-diff-annotation-who annotation))
            (and aside (format " (%s)" (string-join aside ", ")))
            ": ")))

(defun agent-q-diff-annotations--who (who)
  "Return WHO, a string or nil, as it is shown."
  (agent-q-diff-visible (or who "Somebody") agent-q-diff-annotations--who-length))

(defun agent-q-diff-annotations--rows (annotation is-at-line width)
  "Return all rows of ANNOTATION, strings of at most WIDTH columns.
IS-AT-LINE is as for `agent-q-diff-annotations--words'."
  (append
   (agent-q-diff-annotations--block
    "# > " (agent-q-diff-annotations--words annotation is-at-line)
    (agent-q-diff-annotation-text annotation)
    (if (eq 'note (agent-q-diff-annotation-kind annotation))
        'agent-q-diff-note
      'agent-q-diff-note-own)
    width)
   (mapcan (pcase-lambda (`(,who . ,text))
             (agent-q-diff-annotations--block
              "#   > " (concat (agent-q-diff-visible-beginning
                                (agent-q-diff-visible-name who t)
                                agent-q-diff-annotations--who-length)
                               ": ")
              text
              'agent-q-diff-note width))
           (agent-q-diff-annotation-replies annotation))))

;;;; Showing

(defvar agent-q-diff-annotations-functions '(agent-q-diff-annotations--of-proposal)
  "Abnormal hook that finds what is said about the lines of a diff buffer.
Each function is called there without arguments, and returns a list of
`agent-q-diff-annotation's.")

(defvar-local agent-q-diff-annotations--overlays nil
  "The overlays that show annotations in this buffer.")

(defvar-local agent-q-diff-annotations--width nil
  "The number of columns that annotations are shown for.")

(defvar-local agent-q-diff-annotations--expanded nil
  "Texts of annotations of which all rows are shown.")

(defun agent-q-diff-annotations--window-width ()
  "Return the number of columns that a row may have."
  (max agent-q-diff-annotations--least-width
       ;; The bar of the current hunk, or a space.
       (1- (or (agent-q-diff-buffer-narrowest) 80))))

(defun agent-q-diff-annotations--found ()
  "Return all annotations of this buffer."
  (let ((found nil))
    (run-hook-wrapped 'agent-q-diff-annotations-functions
                      (lambda (function)
                        (ignore (setq found (append found (funcall function))))))
    found))

(defun agent-q-diff-annotations-show ()
  "Show what is said about the lines of this diff buffer, and nothing older.
It is what `agent-q-diff-annotations-functions' find now."
  (agent-q-diff-buffer-announce-folds))

(defun agent-q-diff-annotations--show (&rest _)
  "Do what `agent-q-diff-annotations-show' does, without telling others."
  (mapc #'delete-overlay agent-q-diff-annotations--overlays)
  (setq agent-q-diff-annotations--overlays nil)
  (when-let ((annotations (and (agent-q-diff-buffer-known-p)
                               (length> agent-q-diff-buffer-positions 0)
                               (agent-q-diff-annotations--found))))
    (setq agent-q-diff-annotations--width (agent-q-diff-annotations--window-width))
    (save-excursion
      (agent-q-diff-base-widened
        (pcase-dolist (`(,place . ,group) (agent-q-diff-annotations--by-place annotations))
          (agent-q-diff-annotations--put place (nreverse group)))))))

(defun agent-q-diff-annotations--by-place (annotations)
  "Return ANNOTATIONS by where they are shown, lists (PLACE . GROUP).
PLACE is (POSITION . IS-AT-LINE): the beginning of a diff line, and whether it
is the line that they are about, not one for the whole file, which is that of
the file's heading, or of the first hunk if there are none.  GROUP is in
reverse order.  Those of hunks that are not in this buffer yet are left out."
  (let ((ranges nil)
        (groups nil))
    (dolist (annotation annotations)
      (let* ((file (agent-q-diff-annotation-file annotation))
             (known (or (assq file ranges)
                        (car (push (cons file (agent-q-diff-annotations-ranges file))
                                   ranges))))
             (at (agent-q-diff-annotations--last-shown annotation (cdr known)))
             (place (cond
                     (at (cons at t))
                     ;; The hunks of the file are in this buffer.
                     ((seq-every-p (lambda (hunk) (< hunk (agent-q-diff-buffer-n-inserted)))
                                   (last (agent-q-diff-annotations--hunks file)))
                      (list (if agent-q-diff-buffer-headings
                                (marker-position (aref agent-q-diff-buffer-headings file))
                              (agent-q-diff-buffer-position 0)))))))
        (when place
          (push annotation (alist-get place groups nil nil #'equal)))))
    groups))

(defun agent-q-diff-annotations--last-shown (annotation ranges)
  "Return the position of the last line of ANNOTATION that is in a hunk, or nil.
RANGES is as from `agent-q-diff-annotations-ranges'."
  (when-let ((line (agent-q-diff-annotation-line annotation)))
    (cl-loop for each downfrom (+ line (agent-q-diff-annotation-n-lines annotation) -1) to line
             thereis (agent-q-diff-annotations-position
                      (agent-q-diff-annotation-file annotation)
                      (agent-q-diff-annotation-side annotation) each (or ranges (cl-return))))))

(defun agent-q-diff-annotations--put (place annotations)
  "Show ANNOTATIONS at PLACE; see `agent-q-diff-annotations--by-place'.
They are below the line, except above the header of the first hunk."
  (pcase-let* ((`(,beg . ,is-at-line) place)
               (end (progn (goto-char beg) (line-beginning-position 2)))
               (is-above (not (or is-at-line agent-q-diff-buffer-headings)))
               (overlay (make-overlay beg end)))
    (push overlay agent-q-diff-annotations--overlays)
    (overlay-put overlay 'agent-q-diff-annotations annotations)
    ;; Above the sign of the hunk, and below what its heading says.
    (overlay-put overlay 'priority -1)
    ;; Else it would be shown where the hidden text ends.
    (unless (invisible-p beg)
      (overlay-put overlay (if is-above 'before-string 'after-string)
                   (concat (if (and (not is-above) (not (eq ?\n (char-before end)))) "\n" "")
                           (mapconcat (lambda (annotation)
                                        (agent-q-diff-annotations--string annotation is-at-line))
                                      annotations ""))))))

(defun agent-q-diff-annotations--string (annotation is-at-line)
  "Return ANNOTATION as it is shown, a string of whole lines.
IS-AT-LINE is as for `agent-q-diff-annotations--words'."
  (let* ((rows (agent-q-diff-annotations--rows annotation is-at-line
                                               agent-q-diff-annotations--width))
         (n-more (- (length rows) agent-q-diff-annotations--n-rows)))
    (unless (or (agent-q-diff-annotations--expanded-p annotation)
                ;; A sign in the place of a single row would gain nothing.
                (<= n-more 1))
      (setq rows (append (seq-take rows agent-q-diff-annotations--n-rows)
                         (list (concat (propertize "#   " 'face 'agent-q-diff-note)
                                       (agent-q-diff-fold-words n-more))))))
    (mapconcat (lambda (row)
                 (concat row (propertize "\n" 'face '(:inherit default :extend t))))
               rows "")))

(defun agent-q-diff-annotations-at-point ()
  "Return the annotations that are shown at the line at point, a list."
  (cl-loop for overlay in (overlays-at (line-beginning-position))
           append (overlay-get overlay 'agent-q-diff-annotations)))

(defun agent-q-diff-annotations-between (beg end)
  "Return the annotations that are about lines from BEG to END, a list."
  (cl-loop for overlay in agent-q-diff-annotations--overlays
           when (and (overlay-start overlay)
                     (<= beg (overlay-start overlay))
                     (< (overlay-start overlay) end))
           append (overlay-get overlay 'agent-q-diff-annotations)))

;;;; All rows of a long one

(defun agent-q-diff-annotations--expanded-p (annotation)
  "Return non-nil if all rows of ANNOTATION are to be shown."
  (member (agent-q-diff-annotation-text annotation) agent-q-diff-annotations--expanded))

(defun agent-q-diff-annotations--toggle ()
  "Show all rows of the annotations at point, or cut them off again.
Return nil if none is long."
  (let ((long (seq-filter
               (lambda (annotation)
                 (< (1+ agent-q-diff-annotations--n-rows)
                    (length (agent-q-diff-annotations--rows
                             annotation t agent-q-diff-annotations--width))))
               (agent-q-diff-annotations-at-point))))
    (when long
      (let ((texts (mapcar #'agent-q-diff-annotation-text long)))
        (setq agent-q-diff-annotations--expanded
              (if (seq-some #'agent-q-diff-annotations--expanded-p long)
                  (seq-difference agent-q-diff-annotations--expanded texts)
                (append texts agent-q-diff-annotations--expanded))))
      (agent-q-diff-annotations-show)
      t)))

(defun agent-q-diff-expand-line ()
  "Show all of the long line at point, or cut it off again.
On any other line show all of a long note, or of its hunk, or cut them off
again; see `agent-q-diff-hunk-lines'.  If they are shown, show all of the
description."
  (interactive)
  (unless (or (agent-q-diff-long-lines-toggle)
              (agent-q-diff-annotations--toggle)
              (agent-q-diff-fold-toggle)
              (agent-q-diff-fold-toggle-description))
    (user-error "The line is shown whole")))

;;;; Set-up

(defun agent-q-diff-annotations--resized (window)
  "Have the annotations in the buffer of WINDOW fit its windows again."
  (with-current-buffer (window-buffer window)
    (when (and agent-q-diff-annotations--overlays
               ;; Those of a review that has ended stay as they are.
               (agent-q-diff-buffer-known-p)
               (not (eql agent-q-diff-annotations--width
                         (agent-q-diff-annotations--window-width))))
      (agent-q-diff-annotations-show))))

(defun agent-q-diff-annotations-set-up ()
  "Show what is said about the lines of this diff buffer whenever it has new ones."
  ;; After the middles of long hunks are hidden.
  (add-hook 'agent-q-diff-buffer-shown-functions #'agent-q-diff-annotations--show 90 t)
  (add-hook 'window-buffer-change-functions #'agent-q-diff-annotations--resized nil t)
  (add-hook 'window-size-change-functions #'agent-q-diff-annotations--resized nil t))

(provide 'agent-q-diff-annotations)
;;; agent-q-diff-annotations.el ends here
