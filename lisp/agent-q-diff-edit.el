;;; agent-q-diff-edit.el --- Splits, edits and merges hunks; undoes decisions  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A hunk is split into its smallest parts, or the lines of the region become
;; a hunk of their own, and the diff buffer shows the new hunks.
;;
;; A small buffer in the target's major mode holds the lines that a hunk
;; proposes or, if the hunk does not apply, these merged with the target's
;; lines in their place.  The text as the user edits it becomes the hunk.
;; If that is impossible, the text stays in its buffer.
;;
;; In the diff buffer, the keys of `undo' undo the last decision: both the
;; mark of each hunk that it changed, and the change to the file.  For the
;; undo list of the file's buffer, this is one more edit.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-annotations)
(require 'agent-q-diff-display)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-grace)
(require 'agent-q-diff-shown)
(require 'agent-q-diff-navigation)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-syntax)

;;; Splitting hunks and picking lines

;;;; The text of the diff buffer

(defun agent-q-diff-split--print-anew (from n-old n-new)
  "Show N-NEW hunks of the review from FROM on in place of N-OLD shown ones.
Point is then at the first of them."
  ;; In a narrowed buffer, the end of a hunk cannot be found.
  (widen)
  (pcase-let* ((`(,diff . ,header-lines)
                (agent-q-diff-engine-print-hunks
                 (agent-q-diff-change-engine agent-q-diff-buffer-change)
                 from (+ from n-new)
                 (agent-q-diff-file-change-path (agent-q-diff-buffer-file from)) 'is-shown))
               (last (+ from n-old -1))
               (beg (agent-q-diff-buffer-position from))
               (end (agent-q-diff-buffer-hunk-end last))
               (positions (append agent-q-diff-buffer-positions nil))
               (shown (agent-q-diff-shown-of from (1+ last)))
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
    (agent-q-diff-shown-again shown from (+ from n-new))
    (agent-q-diff-buffer-write-states)
    (agent-q-diff-signs-show-all)
    (unless agent-q-diff-buffer-is-made
      ;; The diff is the user's own text, perhaps a file's.
      (set-buffer-modified-p t))))

(defun agent-q-diff-split--print-below (hunk)
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

(defun agent-q-diff-edit--note-parts (change hunk n)
  "Record that HUNK of CHANGE was split into N hunks.
Each of them inherits the failure and the comment of HUNK."
  (cl-flet ((parted (entries)
              (cl-loop for (index . text) in entries
                       append (cond
                               ((< index hunk) (list (cons index text)))
                               ((> index hunk) (list (cons (+ index n -1) text)))
                               (t (cl-loop for part below n
                                           collect (cons (+ hunk part) text)))))))
    (agent-q-diff-edit--renumber change (1- n) #'parted)))

(defun agent-q-diff-edit--renumber (change n-more renumbered)
  "Record that the hunks of CHANGE have other numbers, and N-MORE are there.
RENUMBERED is a function from an alist by the old numbers to one by the new."
  (setf (agent-q-diff-change-n-extra change)
        (+ (or (agent-q-diff-change-n-extra change) 0) n-more)
        (agent-q-diff-change-committed change) nil
        (agent-q-diff-change-firsts change) nil
        (agent-q-diff-change-failures change)
        (funcall renumbered (agent-q-diff-change-failures change))
        (agent-q-diff-change-comments change)
        (let ((whole (assq nil (agent-q-diff-change-comments change))))
          (append (and whole (list whole))
                  (funcall renumbered (remq whole (agent-q-diff-change-comments change)))))))

(defun agent-q-diff-split-show-parts (change hunk n)
  "Show that HUNK of CHANGE is now N hunks."
  (unless (= n 1)
    (agent-q-diff-edit--note-parts change hunk n)
    (agent-q-diff-split--print-anew hunk 1 n)))

;;;; Undoing a split

(defun agent-q-diff-edit--note-joined (change hunk n)
  "Record that the N hunks of CHANGE from HUNK on are now one.
It has the failure and the comment of the first of them that has any."
  (cl-flet ((joined (entries)
              (let ((mine (seq-find (lambda (entry)
                                      (<= hunk (car entry) (+ hunk n -1)))
                                    (sort (copy-sequence entries)
                                          (lambda (one other) (< (car one) (car other)))))))
                (append (and mine (list (cons hunk (cdr mine))))
                        (cl-loop for (index . text) in entries
                                 if (< index hunk) collect (cons index text)
                                 else if (>= index (+ hunk n))
                                 collect (cons (- index n -1) text))))))
    (agent-q-diff-edit--renumber change (- 1 n) #'joined)))

(defun agent-q-diff-split-undo (change is-for-decision)
  "Undo the latest split of a hunk of CHANGE, if that can be undone next.
If IS-FOR-DECISION is non-nil, undo it only if it was made for the decision
that was undone just now.  Return the hunk, or nil if nothing was undone.
Signal an error if the parts cannot be joined any more."
  (pcase (and (agent-q-diff-change-n-extra change)
              (agent-q-diff-module-undo-split (agent-q-diff-change-engine change)
                                              is-for-decision))
    (`(,hunk . ,n)
     (agent-q-diff-edit--note-joined change hunk n)
     (agent-q-diff-split--print-anew hunk n 1)
     hunk)))

(defun agent-q-diff-split--redo (change)
  "Redo the split of a hunk of CHANGE that was undone last, if that is next.
Return (HUNK . IS-FOR-NEXT), or nil if nothing was redone.  IS-FOR-NEXT is
non-nil if it was made for the decision that can be redone next."
  (pcase (and (agent-q-diff-change-n-extra change)
              (agent-q-diff-module-redo-split (agent-q-diff-change-engine change)))
    (`(,hunk ,n . ,is-for-next)
     (agent-q-diff-split-show-parts change hunk n)
     (cons hunk is-for-next))))

;;;; Splitting

(defun agent-q-diff-edit-hunk-with-lines ()
  "Return the hunk at point; refuse one without changed lines."
  (let ((hunk (agent-q-diff-buffer-hunk-here)))
    (when (and agent-q-diff-buffer-change
               (agent-q-diff-change-operation-of agent-q-diff-buffer-change hunk))
      (user-error "This hunk does not change lines; decide it as a whole"))
    hunk))

(defun agent-q-diff-split-hunk ()
  "Split the hunk at point into its smallest parts.
These are its changes, with unchanged lines between them: lines and what
replaces them are one part.  Each part becomes a hunk and inherits the state
of the whole.  To decide single lines, select them (\\<agent-q-diff-mode-map>\\[agent-q-diff-select-line]) and accept or
reject them."
  (interactive)
  (let* ((change (agent-q-diff-split-change))
         (hunk (agent-q-diff-edit-hunk-with-lines))
         (n (agent-q-diff-module-split (agent-q-diff-change-engine change) hunk)))
    (agent-q-diff-split-show-parts change hunk n)
    (if (= n 1)
        (message (substitute-command-keys
                  "This hunk is one change; \\<agent-q-diff-mode-map>\\[agent-q-diff-select-line] selects lines to decide only those"))
      (message "Split into %d hunks" n))))

;;;; The lines in the region

(defun agent-q-diff-split-lines-between (beg end hunk)
  "Return (FROM . TO), the changed lines of HUNK between BEG and END, or nil.
They are counted from 0 in the order of the diff; TO is not included.  A
line counts if any part of it is between BEG and END, unless END is at its
beginning."
  (let ((line 0)
        from)
    (agent-q-diff-buffer-each-line (kind hunk)
      (when (>= (point) end)
        (cl-return))
      (when (memq kind '(?a ?r))
        (when (>= (line-end-position) beg)
          (setq from (or from line)))
        (cl-incf line)))
    (and from (< from line) (cons from line))))

(defvar-local agent-q-diff-split-rows-function nil
  "Function that finds the rows of a hunk in a region, or nil if there are no rows.
It is called with BEG, END and HUNK, as `agent-q-diff-split-lines-between'.
It returns (FROM . TO), each (OLD . NEW): how many of the hunk's removed and
added lines are above it; nil if the region has none; or t if HUNK is not shown
in rows.")

(defun agent-q-diff-split--chosen-in (beg end hunk)
  "Return (FROM . TO) for the changed lines of HUNK between BEG and END, or nil.
They are as from `agent-q-diff-split-lines-between', or in rows as from
`agent-q-diff-split-rows-function'."
  (let ((rows (if agent-q-diff-split-rows-function
                  (funcall agent-q-diff-split-rows-function beg end hunk)
                t)))
    (if (eq t rows)
        (agent-q-diff-split-lines-between beg end hunk)
      rows)))

(defun agent-q-diff-split--chosen-lines (beg end)
  "Return a list of (HUNK FROM TO) for the changed lines between BEG and END.
The last hunk comes first.  FROM and TO are as from
`agent-q-diff-split--chosen-in'."
  (let (chosen)
    (dotimes (hunk (length agent-q-diff-buffer-positions))
      (when (< (agent-q-diff-buffer-position hunk) end)
        (pcase (agent-q-diff-split--chosen-in beg end hunk)
          (`(,from . ,to) (push (list hunk from to) chosen)))))
    (or chosen
        (user-error "There is no changed line in the region"))))

(defun agent-q-diff-split-pick (change chosen)
  "Turn changed lines of CHANGE into hunks of their own; return these, in order.
CHOSEN is a list of (HUNK FROM TO), the last lines first, since the others stay
where they are.  FROM and TO are as from `agent-q-diff-split--chosen-in', or nil
for all of HUNK."
  (let ((picked nil)
        (engine (agent-q-diff-change-engine change)))
    (pcase-dolist (`(,hunk ,from ,to) chosen)
      (pcase-let ((`(,n . ,index)
                   (pcase from
                     ('nil '(1 . 0))
                     ((pred integerp) (agent-q-diff-module-pick engine hunk from to))
                     (`(,old . ,new)
                      (or (agent-q-diff-module-pick-rows engine hunk old (car to) new (cdr to))
                          (user-error "These rows cannot be separated from those around; in one window, lines can"))))))
        (agent-q-diff-split-show-parts change hunk n)
        (push (cons (+ hunk index) (1- n)) picked)))
    ;; Those that were split later have moved the others down.
    (let ((moved 0))
      (mapcar (pcase-lambda (`(,hunk . ,n-more))
                (prog1 (+ hunk moved)
                  (cl-incf moved n-more)))
              picked))))

(defun agent-q-diff-split-pick-region (beg end)
  "Turn the changed lines between BEG and END into hunks of their own.
Return a list of these hunks, the first one first.  If the lines cannot be
separated from others, signal an error that says why."
  (agent-q-diff-base-widened
    (agent-q-diff-split-pick (agent-q-diff-split-change)
                             (agent-q-diff-split--chosen-lines beg end))))

;;; How much context is shown

(defvar-local agent-q-diff-context--more nil
  "Alist from ids of hunks to (UP . DOWN): what is shown besides the usual context.")

(defun agent-q-diff-context--of (hunk)
  "Return (ID UP . DOWN) for HUNK, as in `agent-q-diff-context--more'."
  (let ((id (agent-q-diff-engine-hunk-id
             (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk))))
    (or (assq id agent-q-diff-context--more)
        (cons id (cons 0 0)))))

(defun agent-q-diff-context--show (hunk up down)
  "Show UP lines more than the usual context above HUNK, and DOWN below it.
Point stays on its line.  Return non-nil if that has changed anything."
  (pcase-let* ((`(,id . ,(and was `(,old-up . ,_))) (agent-q-diff-context--of hunk))
               (now (agent-q-diff-module-show-context
                     (agent-q-diff-change-engine agent-q-diff-buffer-change) hunk up down))
               (is-here (eql hunk (agent-q-diff-buffer-hunk-at-point)))
               (line (if is-here
                         (count-lines (agent-q-diff-buffer-position hunk)
                                      (line-beginning-position))
                       0)))
    (unless (equal was now)
      (setf (alist-get id agent-q-diff-context--more nil t)
            (and (not (equal now '(0 . 0))) now))
      (save-excursion
        (agent-q-diff-split--print-anew hunk 1 1))
      (when is-here
        (agent-q-diff-buffer-goto-hunk hunk)
        ;; On a header, point stays there.
        (unless (= 0 line)
          (forward-line (max 1 (+ line (- (car now) old-up))))))
      t)))

(defun agent-q-diff-context--hunks-here ()
  "Return the hunks that a command about context is for, the last one first.
That is the one at point; on the heading of a file, those of the file; and above
the first hunk, all.  Only those that change lines count."
  (agent-q-diff-buffer-complete)
  (agent-q-diff-buffer-current-change)
  (let ((file (agent-q-diff-buffer-heading-at-point))
        (hunk (agent-q-diff-buffer-hunk-at-point)))
    (seq-remove (lambda (hunk)
                  (agent-q-diff-change-operation-of agent-q-diff-buffer-change hunk))
                (nreverse
                 (cond
                  (file (append (agent-q-diff-change-hunks-of agent-q-diff-buffer-change file)
                                nil))
                  (hunk (list hunk))
                  (t (number-sequence 0 (1- (length agent-q-diff-buffer-positions)))))))))

(defconst agent-q-diff-context--step 5
  "Number of lines by which more context is shown, on each side.")

(defun agent-q-diff-context--grow (n said)
  "Show N lines more on each side of the hunks here; if none could be, show SAID."
  (let ((has-changed nil))
    (dolist (hunk (agent-q-diff-context--hunks-here))
      (pcase-let ((`(,_ ,up . ,down) (agent-q-diff-context--of hunk)))
        (when (agent-q-diff-context--show hunk (+ up n) (+ down n))
          (setq has-changed t))))
    (unless has-changed
      (message "%s" said))))

(defun agent-q-diff-more-context (&optional n)
  "Show N more lines of context above and below the hunk at point, by default 5.
On the heading of a file, do so for all its hunks, and above the first hunk for
all.  A hunk grows up to the next one.  Where hunks apply does not change."
  (interactive "P")
  (agent-q-diff-context--grow (if n (prefix-numeric-value n) agent-q-diff-context--step)
                              "There are no more lines up to the next hunks"))

(defun agent-q-diff-less-context (&optional n)
  "Show N lines of context less above and below the hunk at point, by default 5.
On the heading of a file, do so for all its hunks, and above the first hunk for
all."
  (interactive "P")
  (agent-q-diff-context--grow (- (if n (prefix-numeric-value n) agent-q-diff-context--step))
                              "No context is shown here"))

(defun agent-q-diff-context--definition (hunk)
  "Return (BEG . END), the lines of the definition around HUNK, from 0, or nil.
They are those of its original text, and of what `beginning-of-defun' finds in
the major mode of its file."
  (when-let* ((original (agent-q-diff-file-change-original (agent-q-diff-buffer-file hunk)))
              (mode (agent-q-diff-fontify-mode hunk))
              (lines (agent-q-diff-buffer-lines hunk)))
    (with-current-buffer (agent-q-diff-fontify-buffer mode)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert original)
        (goto-char (point-min))
        (forward-line (+ (agent-q-diff-engine-lines-old lines)
                         (/ (agent-q-diff-engine-lines-n-old lines) 2)))
        (end-of-line)
        (prog1 (when (ignore-errors (beginning-of-defun))
                 (let ((beg (1- (line-number-at-pos))))
                   (ignore-errors (end-of-defun))
                   (cons beg (1- (line-number-at-pos)))))
          (erase-buffer))))))

(defun agent-q-diff-show-definition ()
  "Show all of the definition that the hunk at point is in, or as much as before.
It ends at the next hunk."
  (interactive)
  (agent-q-diff-context--hunks-here)
  (let ((hunk (agent-q-diff-edit-hunk-with-lines)))
    (if (not (equal '(0 . 0) (cdr (agent-q-diff-context--of hunk))))
        (agent-q-diff-context--show hunk 0 0)
      (pcase-let ((`(,beg . ,end)
                   (or (agent-q-diff-context--definition hunk)
                       (user-error "No definition is found around this hunk")))
                  (`[,start ,n ,_ ,_ ,_] (agent-q-diff-buffer-lines hunk)))
        (unless (agent-q-diff-context--show hunk (max 0 (- start beg)) (max 0 (- end start n)))
          (message "All of it is shown"))))))

;;; White space as context

(defun agent-q-diff-white-space--split ()
  "Make hunks of their own of lines that change only in white space.
Decided hunks stay as they are, and so do those whose lines others have changed,
and all of files in which white space means something."
  (let* ((change (agent-q-diff-split-change))
         (files (agent-q-diff-syntax-white-space-free change)))
    (save-excursion
      (cl-loop for hunk from (1- (length agent-q-diff-buffer-positions)) downto 0
               unless (or (agent-q-diff-change-operation-of change hunk)
                          (aref agent-q-diff-buffer-marks hunk)
                          (not (memql (agent-q-diff-change-file-index change hunk) files)))
               do (ignore-error agent-q-diff-error
                    (agent-q-diff-split-show-parts
                     change hunk
                     (agent-q-diff-module-split-white-space
                      (agent-q-diff-change-engine change) hunk)))))))

(defun agent-q-diff-white-space--lines (hunk kind)
  "Return the lines of HUNK that are of KIND, a list of strings without signs."
  (let ((lines nil))
    (agent-q-diff-buffer-each-line (here hunk)
      (when (eq kind here)
        (push (agent-q-diff-buffer-line-text) lines)))
    (nreverse lines)))

(defconst agent-q-diff-white-space--n-context 3
  "Number of lines of a folded hunk that are shown next to another hunk.")

(defun agent-q-diff-white-space--adjacent-p (hunk other)
  "Return non-nil if no unchanged line is between HUNK and OTHER, the next one."
  (and (<= 0 hunk)
       (< other (length agent-q-diff-buffer-positions))
       (= (agent-q-diff-buffer-file-index hunk) (agent-q-diff-buffer-file-index other))
       (let ((lines (agent-q-diff-buffer-lines hunk))
             (next (agent-q-diff-buffer-lines other)))
         (and lines next
              (= (+ (agent-q-diff-engine-lines-old lines)
                    (agent-q-diff-engine-lines-n-old lines))
                 (agent-q-diff-engine-lines-old next))))))

(defun agent-q-diff-white-space--context (lines)
  "Return LINES, strings, as they are shown as context."
  (mapconcat (lambda (line)
               ;; Else it would have the color of the lines that it stands in for.
               (concat (propertize "\n" 'face '(:inherit default :extend t))
                       (propertize (concat " " line) 'face '(diff-context default))))
             lines ""))

(defun agent-q-diff-white-space--fold ()
  "Fold the hunks that change only white space into their headers.
Next to other hunks, their lines are shown as context, as they are now."
  (let ((blank (agent-q-diff-syntax-white-space-hunks agent-q-diff-buffer-change)))
    (dolist (hunk blank)
      (let* ((mark (aref agent-q-diff-buffer-marks hunk))
             (is-in (if (agent-q-diff-buffer-written-p)
                        (not (eq mark 'rejected))
                      (eq mark 'applied)))
             (removed (agent-q-diff-white-space--lines hunk ?r))
             (added (agent-q-diff-white-space--lines hunk ?a))
             (lines (if is-in added removed))
             (n agent-q-diff-white-space--n-context)
             (n-lines (max (length removed) (length added))))
        (save-excursion
          (goto-char (agent-q-diff-buffer-position hunk))
          (when (and lines
                     (agent-q-diff-white-space--adjacent-p (1- hunk) hunk)
                     (not (memql (1- hunk) blank)))
            ;; After the other hunk, and so before the sign of this one.
            (agent-q-diff-base-overlay
             (1- (point)) (point) 'agent-q-diff-filter t
             'after-string (concat (substring (agent-q-diff-white-space--context (seq-take lines n))
                                              1)
                                   (propertize "\n" 'face '(:inherit default :extend t)))))
          (let ((end (agent-q-diff-buffer-hunk-end hunk)))
            ;; Its line break is that of an added line.
            (agent-q-diff-base-overlay (1- end) end 'agent-q-diff-filter t
                                       'face '(:inherit default :extend t)))
          (agent-q-diff-filter-hide
           (line-end-position) (1- (agent-q-diff-buffer-hunk-end hunk))
           (concat (propertize (format (ngettext "  [%d line of white space]"
                                                 "  [%d lines of white space]" n-lines)
                                       n-lines)
                               'face '(agent-q-diff-pending default))
                   (if (and (agent-q-diff-white-space--adjacent-p hunk (1+ hunk))
                            (not (memql (1+ hunk) blank)))
                       (agent-q-diff-white-space--context (last lines n))
                     ""))))))))

(define-minor-mode agent-q-diff-fold-white-space-mode
  "Show white space as context, so that only real edits are left to read.
Lines that change only in white space become hunks of their own, each folded
into one line.  White space that may mean something, as in Python or in a
string, is shown; see `agent-q-diff-white-space-free'."
  :lighter " White"
  (when agent-q-diff-fold-white-space-mode
    (agent-q-diff-white-space--split))
  (agent-q-diff-filter-use #'agent-q-diff-white-space--fold agent-q-diff-fold-white-space-mode)
  (when (called-interactively-p 'any)
    (if (not agent-q-diff-fold-white-space-mode)
        (message "Whitespace-only hunks are shown")
      (let* ((blank (agent-q-diff-syntax-white-space-hunks agent-q-diff-buffer-change))
             (n (length blank))
             ;; From a folded hunk, to the first pending one with more than white space.
             (other (and (memql (agent-q-diff-buffer-hunk-at-point) blank)
                         (cl-loop for mark across agent-q-diff-buffer-marks
                                  for hunk from 0
                                  unless (or mark (memql hunk blank)) return hunk))))
        (when other
          (agent-q-diff-buffer-goto-hunk other))
        (message (ngettext "%d whitespace-only hunk is folded" "%d whitespace-only hunks are folded" n)
                 n)))))

;;; Editing and merging

;;;; The buffer

(defvar-local agent-q-diff-edit--diff-buffer nil
  "The diff buffer of the hunk that is edited here.")

(defvar-local agent-q-diff-edit--hunk nil
  "The hunk that is edited here, as (REVIEW . ID), both the engine's.")

(defvar-local agent-q-diff-edit--merged nil
  "What was merged, as returned by `agent-q-diff-engine-merge', or nil.")

(dolist (variable '(agent-q-diff-edit--diff-buffer agent-q-diff-edit--hunk
                    agent-q-diff-edit--merged))
  (put variable 'permanent-local t))

(defvar agent-q-diff-edit-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "\C-c\C-c" #'agent-q-diff-edit-finish)
    (define-key map "\C-c\C-k" #'agent-q-diff-edit-abort)
    map)
  "Keymap of `agent-q-diff-edit-mode'.")

(define-minor-mode agent-q-diff-edit-mode
  "Minor mode of a buffer in which a hunk is edited.

\\{agent-q-diff-edit-mode-map}"
  :lighter " Hunk")

(defun agent-q-diff-edit--major-mode (target)
  "Turn on the major mode of the buffer TARGET in this buffer, which is empty.
Of the user's hooks, only those of global minor modes run."
  (let ((mode (if target
                  (agent-q-diff-visit-mode-for-text (buffer-local-value 'major-mode target))
                'text-mode)))
    (condition-case err
        (agent-q-diff-visit-turn-on mode 'is-edited)
      (error (message "%s: %s" mode (error-message-string err))))
    (when target
      (dolist (variable '(tab-width indent-tabs-mode fill-column))
        (set (make-local-variable variable)
             (buffer-local-value variable target))))))

(defun agent-q-diff-edit--open (change hunk text merged)
  "Show a buffer with TEXT, to be edited, for HUNK of CHANGE.
MERGED is as `agent-q-diff-edit--merged'."
  (let ((diff-buffer (current-buffer))
        (identity (agent-q-diff-edit--identity change hunk))
        (target (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file hunk)))
        (buffer (generate-new-buffer (format "*Agent-Q %s*" (agent-q-diff-buffer-hunk-words hunk 'first)))))
    (with-current-buffer buffer
      (agent-q-diff-edit--major-mode (and (buffer-live-p target) target))
      (insert text)
      (goto-char (point-min))
      (forward-line (with-current-buffer diff-buffer
                      (agent-q-diff-edit--n-context hunk)))
      (setq agent-q-diff-edit--diff-buffer diff-buffer
            agent-q-diff-edit--hunk identity
            agent-q-diff-edit--merged merged
            buffer-undo-list nil)
      (agent-q-diff-edit-mode)
      (when (and merged (not (car merged)))
        (smerge-start-session))
      (setq header-line-format
            (agent-q-diff-edit--header-line
             (agent-q-diff-change-hunk-words change hunk)
             (agent-q-diff-engine-hunk-line (agent-q-diff-change-hunk change hunk))
             merged))
      (add-hook 'kill-buffer-query-functions #'agent-q-diff-edit--may-kill-p nil t)
      (set-buffer-modified-p nil))
    (agent-q-diff-edit--pop-to buffer)))

(defun agent-q-diff-edit--pop-to (buffer)
  "Show BUFFER in a window below this one, high enough to work in; select it.
Half of this window may be only a few lines, since the file is shown as
well; so all windows above and below give up some of their lines."
  (let ((window-combination-resize t)
        (window-combination-limit nil))
    (pop-to-buffer buffer '(display-buffer-below-selected
                            (window-height . agent-q-diff-edit--fit)))))

(defun agent-q-diff-edit--fit (window)
  "Make WINDOW as high as its text, but at most half as high as its frame.
Never make it lower."
  (let ((least (window-total-height window))
        (half (/ (window-total-height (frame-root-window window)) 2)))
    (fit-window-to-buffer window (max least half) least)))

(defun agent-q-diff-edit--n-context (hunk)
  "Return how many lines of its usual context HUNK begins with."
  (- (length (seq-take-while (apply-partially #'eq ?c)
                             (agent-q-diff-engine-lines-kinds (agent-q-diff-buffer-lines hunk))))
     (cadr (agent-q-diff-context--of hunk))))

(defun agent-q-diff-edit--header-line (name line merged)
  "Return the header line for editing the hunk that is called NAME.
LINE is its line in the target, from 0, or nil.  MERGED is as
`agent-q-diff-edit--merged'."
  (concat (format " %s%s" (upcase (substring name 0 1)) (substring name 1))
          (and line (format " at line %d" (1+ line)))
          (pcase merged
            ('nil "")
            (`(nil . ,_) ": ours is the file, theirs the proposal")
            (_ ", merged with the file"))
          (and (cadr merged) " (coarse)")
          (substitute-command-keys
           "   \\<agent-q-diff-edit-mode-map>\
\\[agent-q-diff-edit-finish] uses it, \\[agent-q-diff-edit-abort] cancels")))

(defun agent-q-diff-edit--identity (change hunk)
  "Return what identifies HUNK of CHANGE as long as its lines stay the same."
  (cons (agent-q-diff-change-engine change)
        (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk))))

(defun agent-q-diff-edit--show-open (change hunk is-merged)
  "Show the buffer in which HUNK of CHANGE is edited; return nil if none is.
If IS-MERGED is non-nil, show the one in which it is merged."
  (let* ((identity (agent-q-diff-edit--identity change hunk))
         (buffer (cl-find-if
                  (lambda (buffer)
                    (and (equal identity
                                (buffer-local-value 'agent-q-diff-edit--hunk buffer))
                         (eq is-merged
                             (and (buffer-local-value 'agent-q-diff-edit--merged buffer)
                                  t))))
                  (buffer-list))))
    (when buffer
      (agent-q-diff-edit--pop-to buffer))))

(defun agent-q-diff-edit--may-kill-p ()
  "Return non-nil if this buffer may be killed; ask about an unsaved edit."
  (or (not agent-q-diff-edit-mode)
      (not (buffer-modified-p))
      (y-or-n-p "Discard your edit? ")))

;;;; Commands of the diff buffer

(defun agent-q-diff-edit-hunk ()
  "Edit the lines that the hunk at point proposes, with its context.
They are shown in a buffer of their own.  The text that you finish there
becomes the hunk, which is then marked as edited.  A hunk that is applied
is changed in the target at once."
  (interactive)
  (let* ((change (agent-q-diff-split-change))
         (hunk (agent-q-diff-edit-hunk-with-lines)))
    (unless (agent-q-diff-edit--show-open change hunk nil)
      (agent-q-diff-edit--refuse-conflict change hunk)
      (agent-q-diff-edit--open
       change hunk
       (agent-q-diff-engine-proposed (agent-q-diff-change-engine change) hunk)
       nil))))

(defun agent-q-diff-edit--refuse-conflict (change hunk)
  "Signal an error if others have changed the lines of HUNK of CHANGE.
The edited text could then not replace them."
  (let ((told (agent-q-diff-change-hunk change hunk)))
    (when (and (memq (agent-q-diff-engine-hunk-place told) '(conflict lost))
               (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file hunk))
               (agent-q-diff-engine-hunk-line told))
      (user-error "Cannot edit this hunk: %s; %s" (agent-q-diff-engine-hunk-reason told)
                  (substitute-command-keys
                   "\\<agent-q-diff-mode-map>\\[agent-q-diff-merge-hunk] merges")))))

(defun agent-q-diff-merge-hunk ()
  "Merge the hunk at point, which does not apply, with the target's lines.
The result is shown in a buffer of its own.  If proposal and target have
changed the same lines, it has original, target and proposal between
conflict markers; the keys of `smerge-mode' choose, and `smerge-ediff'
compares.  The text that you finish there goes into the target as the hunk.
If the texts are too large to compare in full (see `agent-q-diff-budget'),
the merge is coarse, and you are told: there is more between the markers
than necessary.  Nothing is lost."
  (interactive)
  (condition-case err
      (let* ((change (agent-q-diff-signs-follow (agent-q-diff-buffer-file-index)))
             (hunk (agent-q-diff-edit-hunk-with-lines))
             (engine (agent-q-diff-change-engine change)))
        (unless (agent-q-diff-engine-hunk-reason (agent-q-diff-change-hunk change hunk))
          (user-error "Nothing to merge: the hunk applies; accept it or edit it"))
        (unless (agent-q-diff-edit--show-open change hunk t)
          (let ((merged (agent-q-diff-engine-merge engine hunk)))
            (let ((target (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file hunk)))
                  (line (agent-q-diff-engine-hunk-line (agent-q-diff-change-hunk change hunk))))
              (agent-q-diff-places-show-position
               target (agent-q-diff-text-position target line)))
            (agent-q-diff-edit--open change hunk (cddr merged) merged)
            (agent-q-diff-edit--say-coarse merged))))
    (agent-q-diff-error
     (message "Cannot merge: %s" (agent-q-diff-error-text err)))))

(defun agent-q-diff-edit--say-coarse (merged)
  "Show a message if the texts of MERGED were too large to compare in full."
  (when (cadr merged)
    (message "Coarse merge: the texts are too large to compare in full (%s); %s"
             'agent-q-diff-budget
             (if (car merged)
                 "check the result"
               "conflicts may be bigger than they need to be"))))

(defun agent-q-diff-edit-unfinished (change)
  "Return the buffers with unfinished edits of hunks of CHANGE."
  (seq-filter (lambda (buffer)
                (and (buffer-local-value 'agent-q-diff-edit-mode buffer)
                     (buffer-modified-p buffer)
                     (eq (car (buffer-local-value 'agent-q-diff-edit--hunk buffer))
                         (agent-q-diff-change-engine change))))
              (buffer-list)))

;;;; Commands of the small buffer

(defun agent-q-diff-edit--check ()
  "Return the hunk of this buffer; signal an error if it has changed."
  (pcase-let ((`(,engine . ,id) agent-q-diff-edit--hunk)
              (merged agent-q-diff-edit--merged)
              (hunk nil))
    (unless (buffer-live-p agent-q-diff-edit--diff-buffer)
      (user-error "The review is gone; your text is kept here"))
    (with-current-buffer agent-q-diff-edit--diff-buffer
      (when (or (agent-q-diff-buffer-ended-p)
                (not (eq engine (agent-q-diff-change-engine
                                 (agent-q-diff-split-change)))))
        (user-error "The review has ended; your text is kept here"))
      (setq hunk (agent-q-diff-module-hunk-with-id engine id))
      (unless hunk
        (user-error "The hunk has changed since; your text is kept here"))
      (when (and merged
                 (not (equal merged (agent-q-diff-engine-merge engine hunk))))
        (user-error "The file has changed here since; your text is kept here")))
    hunk))

(defvar smerge-begin-re)

(defun agent-q-diff-edit--conflict-p ()
  "Return non-nil if conflict markers are left in this buffer."
  ;; Loaded only here, since few reviews merge anything.
  (require 'smerge-mode)
  (save-excursion
    (goto-char (point-min))
    (re-search-forward smerge-begin-re nil t)))

(defvar-local agent-q-diff-edit--until-undone nil
  "Alist from ids of hunks to the texts that they get again.
That is when the decision is undone for which they were rewritten.")

(defun agent-q-diff-edit-take-until-undone (hunk text)
  "Make TEXT the post-image of HUNK until its next decision is undone."
  (let* ((change (agent-q-diff-split-change))
         (original (agent-q-diff-engine-proposed (agent-q-diff-change-engine change) hunk)))
    (agent-q-diff-edit-take hunk text nil)
    ;; It has another id now.
    (push (cons (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk)) original)
          agent-q-diff-edit--until-undone)))

(defun agent-q-diff-edit--restore (hunk)
  "Give HUNK, whose decision was undone, the text that it had before, if any."
  (let* ((id (agent-q-diff-engine-hunk-id
              (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))
         (text (alist-get id agent-q-diff-edit--until-undone)))
    (when text
      (setf (alist-get id agent-q-diff-edit--until-undone nil t) nil)
      (agent-q-diff-edit-take hunk text nil))))

(defun agent-q-diff-edit-finish ()
  "Use the text of this buffer as the hunk, and go back to the diff buffer."
  (interactive nil agent-q-diff-edit-mode)
  (agent-q-diff-edit--check)
  (when (and agent-q-diff-edit--merged (agent-q-diff-edit--conflict-p)
             (not (y-or-n-p "Conflict markers are left.  Use the text anyway? ")))
    (user-error "Not used"))
  (let ((buffer (current-buffer))
        ;; The hunk may have changed while the question was open.
        (hunk (agent-q-diff-edit--check))
        (is-merged (and agent-q-diff-edit--merged t))
        (text (agent-q-diff-base-widened
                (buffer-substring-no-properties (point-min) (point-max)))))
    (with-current-buffer agent-q-diff-edit--diff-buffer
      (condition-case err
          (agent-q-diff-edit-take hunk text is-merged)
        (agent-q-diff-error
         (user-error "Not used, your text is kept here: %s"
                     (agent-q-diff-error-text err)))))
    (agent-q-diff-edit--leave buffer)))

(defun agent-q-diff-edit-take (hunk text is-merged)
  "Make TEXT the post-image of HUNK of the current diff buffer, and show that.
IS-MERGED is as for `agent-q-diff-engine-plan-text'."
  (let* ((change (agent-q-diff-split-change))
         (note (agent-q-diff-annotations-across-edit hunk
                 (lambda ()
                   (prog1 (agent-q-diff-decide-rewrite change hunk text is-merged)
                     (agent-q-diff-split--print-below hunk))))))
    (agent-q-diff-buffer-goto-hunk hunk)
    (message "%s"
             (pcase (cons note is-merged)
               (`(edited . nil) "Hunk edited, in the file as well")
               (`(edited . ,_)  "Hunk merged and applied")
               (`(unchanged . ,_) "Hunk left as it is: its lines are the same")
               (`(already-in . ,_) "Hunk applied, with the lines that the file has")
               (`(,_ . nil)     "Hunk edited; it is pending")
               (_               "Hunk rejected: the file keeps its lines")))))

(defun agent-q-diff-edit-abort ()
  "Leave the hunk as it is, and go back to the diff buffer.
If something was edited here, ask first."
  (interactive nil agent-q-diff-edit-mode)
  (when (or (not (buffer-modified-p))
            (y-or-n-p "Discard your edit? "))
    (agent-q-diff-edit--leave (current-buffer))
    (message "Hunk left as it is")))

(defun agent-q-diff-edit--leave (buffer)
  "Kill BUFFER and select the diff buffer that it belongs to."
  (let ((diff-buffer (buffer-local-value 'agent-q-diff-edit--diff-buffer buffer)))
    (with-current-buffer buffer
      (set-buffer-modified-p nil))
    ;; The windows above and below get back the lines that they gave up.
    (let ((window-combination-resize t))
      (quit-windows-on buffer t))
    (when (buffer-live-p buffer)
      (kill-buffer buffer))
    (when (buffer-live-p diff-buffer)
      (pop-to-buffer diff-buffer)
      (agent-q-diff-grace-note-return diff-buffer))))

;;; Undoing decisions

(defun agent-q-diff-undo--decision (change is-redo)
  "Undo the latest decision on CHANGE, or redo it if IS-REDO is non-nil.
Return its hunks."
  (let ((hunks (condition-case nil
                   (agent-q-diff-decide-back change is-redo)
                 ;; The error symbol's own message is enough.
                 (agent-q-diff-nothing-to-take-back
                  (signal 'agent-q-diff-nothing-to-take-back nil)))))
    (agent-q-diff-signs-show-committed)
    (when (agent-q-diff-change-follow change)
      (agent-q-diff-signs-show-all))
    (unless (or is-redo (null agent-q-diff-edit--until-undone))
      (mapc #'agent-q-diff-edit--restore hunks))
    hunks))

(defun agent-q-diff-undo--say (what hunks)
  "Move to the first of HUNKS, and show a message that WHAT was done to them."
  (agent-q-diff-buffer-goto-hunk (car hunks))
  (message "%s %s%s" what
           (if (cdr hunks)
               (format "%d hunks" (length hunks))
             (agent-q-diff-buffer-hunk-words (car hunks)))
           (agent-q-diff-change-followed-words agent-q-diff-buffer-change)))

(defun agent-q-diff-undo--back ()
  "Undo the latest decision or split and show a message about it.
A split that was made for a decision, as for lines of the region, is undone
along with it."
  (let* ((change (agent-q-diff-signs-follow))
         (hunk (agent-q-diff-split-undo change nil)))
    (if hunk
        (agent-q-diff-undo--say "Undid the split of" (list hunk))
      (let ((hunks (agent-q-diff-undo--decision change nil))
            joined)
        ;; Parts that cannot be joined any more stay.
        (ignore-error agent-q-diff-conflict
          (while (setq hunk (agent-q-diff-split-undo change t))
            (setq joined hunk)))
        (if joined
            (agent-q-diff-undo--say "Undid the decision on lines of" (list joined))
          (agent-q-diff-undo--say "Undid the decision on" hunks))))))

(defun agent-q-diff-undo--again ()
  "Redo the decision or split that was undone last and show a message about it."
  (let* ((change (agent-q-diff-signs-follow))
         (split (agent-q-diff-split--redo change))
         (next split))
    (while (cdr next)
      (setq next (agent-q-diff-split--redo change)))
    (cond
     ((null split)
      (agent-q-diff-undo--say "Redid the decision on"
                              (agent-q-diff-undo--decision change t)))
     ((cdr split)
      (agent-q-diff-undo--say "Redid the decision on lines of"
                              (last (agent-q-diff-undo--decision change t))))
     (t (agent-q-diff-undo--say "Redid the split of" (list (car split)))))))

(defun agent-q-diff-undo ()
  "Undo the latest decision, in this buffer and in the file, or the latest split.
Repeat to undo the one before.  In a diff that you can edit, undo what was
typed."
  (interactive)
  (if (agent-q-diff-buffer-typed-p)
      (call-interactively #'undo)
    (agent-q-diff-undo--back)))

(defun agent-q-diff-redo ()
  "Redo a decision that was undone with \\[agent-q-diff-undo].
In a diff that you can edit, redo what was undone."
  (interactive)
  (if (agent-q-diff-buffer-typed-p)
      (call-interactively #'undo-redo)
    (agent-q-diff-undo--again)))

(provide 'agent-q-diff-edit)
;;; agent-q-diff-edit.el ends here
