;;; agent-q-diff-shown.el --- Which changed lines have been on the screen  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A command that decides several hunks says how many of them were never shown.  A
;; hunk has been shown when each of its changed lines has been between the start and
;; the end of a window, not folded, and not cut off at the side; of a line with
;; changed words, these are enough.  A summary of lines shows none of them.
;;
;; What windows show is noted whenever Emacs waits for input, since redisplay is
;; complete only then.  It is a text property, so it stays with its text.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-change)
(require 'agent-q-diff-buffer)

;;;; The part of a line that a window shows

(defun agent-q-diff-shown-truncates-p (window)
  "Return non-nil if WINDOW cuts off long lines of the current buffer."
  (or truncate-lines
      (and truncate-partial-width-windows
           (not (window-full-width-p window))
           (or (not (integerp truncate-partial-width-windows))
               (< (window-total-width window) truncate-partial-width-windows)))))

(defun agent-q-diff-shown-width (window)
  "Return how many columns of a long line are in WINDOW."
  ;; The prefix of a line takes one, and the sign at the edge another one.
  (- (window-body-width window)
     (if (bound-and-true-p display-line-numbers)
         (with-selected-window window (ceiling (line-number-display-width 'columns)))
       0)
     2))

(defun agent-q-diff-shown--columns (window)
  "Return (FIRST . END), the columns of lines that are in WINDOW, or nil for all."
  (let ((first (window-hscroll window)))
    (when (or (< 0 first) (agent-q-diff-shown-truncates-p window))
      ;; A sign at the left edge takes the place of a character, too.
      (cons (if (= 0 first) 0 (+ 2 first))
            (+ (agent-q-diff-shown-width window)
               ;; Only one of the lines is scrolled then, and any other is not.
               (if (eq 'current-line auto-hscroll-mode) 0 first))))))

(defun agent-q-diff-shown--step (at end window)
  "Return (NEXT . COLUMNS): what is at AT in WINDOW ends at NEXT, and its width.
NEXT is at most END, and COLUMNS is nil for one character as it is."
  (pcase-let ((`(,display . ,overlay) (get-char-property-and-overlay at 'display window)))
    (cond
     ((invisible-p at)
      (cons (next-single-char-property-change at 'invisible nil end)
            ;; Others stand for an ellipsis.
            (if (eq t (invisible-p at)) 0 3)))
     ((stringp display)
      (cons (if overlay
                (min end (overlay-end overlay))
              (next-single-property-change at 'display nil end))
            (string-width display)))
     (t (cons (1+ at) nil)))))

(defun agent-q-diff-shown--part (columns &optional window)
  "Return (BEG . END), the part of this line that is in COLUMNS of WINDOW.
These are positions.  With nil for COLUMNS, that is all of it."
  (let* ((at (line-beginning-position))
         (end (line-end-position))
         (beg (and (eql 0 (car columns)) at))
         (column 0))
    (if (null columns)
        (cons at end)
      (while (and at (< at end))
        (pcase-let* ((`(,next . ,width) (agent-q-diff-shown--step at end window))
                     (after (+ column
                               (cond
                                (width)
                                ;; `current-column' does not know what is displayed.
                                ((eq ?\t (char-after at)) (- tab-width (% column tab-width)))
                                (t (char-width (char-after at)))))))
          (when (and (null beg) (<= (car columns) column))
            (setq beg at))
          (if (< (cdr columns) after)
              (setq end at
                    at nil)
            (setq at next
                  column after))))
      (cons (or beg end) end))))

(defun agent-q-diff-shown--aside-p (words window)
  "Return non-nil if WINDOW cuts off some of the changed line at point.
WORDS are as for `agent-q-diff-shown--word-missing-p'."
  (pcase-let ((`(,beg . ,end) (agent-q-diff-shown--part (agent-q-diff-shown--columns window)
                                                     window))
              (first (1+ (line-beginning-position))))
    (or (< (if words (+ first (apply #'min (mapcar #'car words))) (1- first))
           beg)
        (< end
           (if words
               (min (line-end-position) (+ first (apply #'max (mapcar #'cdr words))))
             (line-end-position))))))

(defconst agent-q-diff-shown--most-lines 200
  "Number of lines of a hunk of which those that are cut off are counted.")

(defun agent-q-diff-shown-n-aside (hunk window)
  "Return how many changed lines of HUNK go on at the side of the window with them.
WINDOW is one of this buffer; if others show other lines, they count, too."
  (let ((windows (seq-filter #'agent-q-diff-shown--columns
                             (get-buffer-window-list nil nil (window-frame window))))
        (line -1)
        (n 0))
    (when (memq window windows)
      (agent-q-diff-buffer-each-line (kind hunk)
        (unless (eq ?n kind)
          (cl-incf line))
        (when (< agent-q-diff-shown--most-lines line)
          (cl-return))
        (when (memq kind '(?a ?r))
          (let ((words (agent-q-diff-shown--words hunk line))
                (all (seq-remove (lambda (window)
                                   (agent-q-diff-shown--hidden-p (point) window))
                                 windows)))
            (when (and all
                       (seq-every-p (apply-partially #'agent-q-diff-shown--aside-p words) all))
              (cl-incf n))))))
    n))

;;;; Noting what windows show

(defun agent-q-diff-shown--hidden-p (position window)
  "Return non-nil if the text at POSITION is not seen in WINDOW."
  (or (invisible-p position)
      (get-char-property position 'agent-q-diff-hidden window)
      (pcase (get-char-property-and-overlay position 'display window)
        ('(nil) nil)
        ;; A row that only the other side has.
        (`(,_ . ,(and overlay (pred overlayp))) (overlay-get overlay 'agent-q-diff-side))
        (_ (get-text-property position 'agent-q-diff-cut)))))

(defun agent-q-diff-shown--note-part (beg end window)
  "Note that the text from BEG to END is in WINDOW, but for what is hidden there."
  (while (< beg end)
    (let ((next (min (next-single-char-property-change beg 'invisible nil end)
                     (next-single-char-property-change beg 'display nil end)
                     (next-single-char-property-change beg 'agent-q-diff-hidden nil end))))
      (unless (agent-q-diff-shown--hidden-p beg window)
        (put-text-property beg next 'agent-q-diff-shown t))
      (setq beg next))))

(defun agent-q-diff-shown--note-between (start end columns window)
  "Note that COLUMNS of the lines between START and END are in WINDOW.
COLUMNS are as from `agent-q-diff-shown--columns'."
  (when (and (< start end)
             (text-property-not-all start end 'agent-q-diff-shown t))
    (with-silent-modifications
      (save-excursion
        (goto-char start)
        (while (< (point) end)
          (pcase-let ((`(,from . ,to) (agent-q-diff-shown--part columns window)))
            (agent-q-diff-shown--note-part (max start from) (min end to) window))
          (forward-line))))))

(defun agent-q-diff-shown--note-window (window)
  "Note which text of this diff buffer is in WINDOW."
  (agent-q-diff-shown--note-between (window-start window)
                                    (min (window-end window) (point-max))
                                    (agent-q-diff-shown--columns window)
                                    window))

(defun agent-q-diff-shown-note-lines (hunk predicate)
  "Note that the lines of HUNK that satisfy PREDICATE were shown.
It is called with (KIND . TEXT) and how many lines of HUNK are such ones."
  (let ((numbers (make-hash-table :test #'equal)))
    (cl-flet ((each (function)
                (agent-q-diff-buffer-each-line (kind hunk)
                  (when (memq kind '(?a ?r))
                    (funcall function (cons kind (agent-q-diff-buffer-line-text)))))))
      (each (lambda (key) (cl-incf (gethash key numbers 0))))
      (with-silent-modifications
        (each (lambda (key)
                (when (funcall predicate key (gethash key numbers))
                  (put-text-property (point) (line-end-position)
                                     'agent-q-diff-shown t))))))))

(defvar agent-q-diff-shown-functions nil
  "Functions that note what a window shows of another buffer than the diff buffer.
Each is called with the window, with its buffer current.")

(defvar agent-q-diff-shown--timer nil
  "The timer that notes what windows show, or nil.")

(defun agent-q-diff-shown--note ()
  "Note what the windows of all frames that can be seen show of diff buffers."
  ;; Where a review begins in a process filter, timers run before redisplay.
  (when (redisplay)
    (dolist (frame (frame-list))
      (when (and (eq t (frame-visible-p frame))
                 (or (display-graphic-p frame)
                     (eq frame (tty-top-frame frame))))
        (dolist (window (window-list frame 'no-minibuffer))
          (with-current-buffer (window-buffer window)
            (agent-q-diff-shown--note-in window)))))))

(defun agent-q-diff-shown--note-in (window)
  "Note which text of this buffer, a diff buffer or another one, is in WINDOW."
  (cond
   ;; It hides lines, and nothing else tells which.
   (selective-display nil)
   ((null agent-q-diff-buffer-positions)
    (run-hook-with-args 'agent-q-diff-shown-functions window))
   ((not (agent-q-diff-buffer-ended-p))
    (agent-q-diff-shown--note-window window))))

(defun agent-q-diff-shown-watch ()
  "Note from now on what windows show, as long as there is a diff buffer.
Without a person at the keyboard, nothing is noted, and nothing is said."
  (unless (or noninteractive agent-q-diff-shown--timer)
    (setq agent-q-diff-shown--timer
          (run-with-idle-timer 0 t #'agent-q-diff-shown--note-or-stop))))

(defun agent-q-diff-shown--note-or-stop ()
  "Note what windows show, or stop doing that when there is no diff buffer."
  (if (seq-some (lambda (buffer)
                  (buffer-local-value 'agent-q-diff-buffer-positions buffer))
                (buffer-list))
      (with-demoted-errors "agent-q-diff: %S"
        (agent-q-diff-shown--note))
    (cancel-timer agent-q-diff-shown--timer)
    (setq agent-q-diff-shown--timer nil)))

;;;; What was shown

(defvar-local agent-q-diff-shown--latest nil
  "The changed words of the latest hunk, ((HUNK . POSITIONS) . TABLE), or nil.
TABLE is from its lines to lists of (FROM . TO).")

(defun agent-q-diff-shown--words (hunk line)
  "Return the changed words of LINE of HUNK, a list of (FROM . TO), or nil.
LINE is counted from 0, and characters from 0 after its sign."
  (unless (and (eql hunk (caar agent-q-diff-shown--latest))
               (eq agent-q-diff-buffer-positions (cdar agent-q-diff-shown--latest)))
    (let ((table (make-hash-table)))
      (unless (agent-q-diff-change-operation-of agent-q-diff-buffer-change hunk)
        (pcase-dolist (`(,line ,from ,to)
                       (agent-q-diff-module-changed-words
                        (agent-q-diff-change-engine agent-q-diff-buffer-change) hunk))
          (push (cons from to) (gethash line table))))
      (setq agent-q-diff-shown--latest
            (cons (cons hunk agent-q-diff-buffer-positions) table))))
  (gethash line (cdr agent-q-diff-shown--latest)))

(defun agent-q-diff-shown-words-at (position)
  "Return the changed words of the line at POSITION, or nil if there are none.
They are as from `agent-q-diff-shown--words'."
  (when-let ((hunk (and (memq (agent-q-diff-buffer-kind-at position) '(?a ?r))
                        (agent-q-diff-buffer-hunk-at-point position))))
    (let ((line -1))
      (agent-q-diff-buffer-each-line (kind hunk)
        (unless (eq ?n kind)
          (cl-incf line))
        (when (<= position (line-end-position))
          (cl-return (agent-q-diff-shown--words hunk line)))))))

(defun agent-q-diff-shown-p (hunk)
  "Return non-nil if all changed lines of HUNK have been shown.
Of one that changes no lines, such as a renaming, that is the line that says so."
  (and (< hunk (agent-q-diff-buffer-n-inserted))
       (if (agent-q-diff-buffer-lines hunk)
           (not (agent-q-diff-shown--missing-p hunk))
         (get-text-property (agent-q-diff-buffer-position hunk) 'agent-q-diff-shown))))

(defun agent-q-diff-shown--missing-p (hunk)
  "Return non-nil if some changed line of HUNK has not been shown."
  (let ((line -1))
    (agent-q-diff-buffer-each-line (kind hunk)
      (unless (eq ?n kind)
        (cl-incf line))
      (let ((beg (point))
            (end (line-end-position)))
        (when (and (memq kind '(?a ?r))
                   (text-property-not-all beg end 'agent-q-diff-shown t)
                   (or (not (text-property-any beg end 'agent-q-diff-shown t))
                       (agent-q-diff-shown--word-missing-p
                        (1+ beg) end (agent-q-diff-shown--words hunk line))))
          (cl-return t))))))

(defun agent-q-diff-shown--word-missing-p (beg end words)
  "Return non-nil unless all WORDS of the line from BEG to END have been shown.
WORDS is a list of (FROM . TO), which count from BEG; nil is for the whole line."
  (or (null words)
      (seq-some (pcase-lambda (`(,from . ,to))
                  (text-property-not-all (min end (+ beg from)) (min end (+ beg to))
                                         'agent-q-diff-shown t))
                words)))

;;;; Text that is printed again

(defun agent-q-diff-shown--each-number (hunk function)
  "Call FUNCTION at each changed line of HUNK with (KIND . NUMBER).
NUMBER is that of the line in its text."
  (when-let ((lines (agent-q-diff-buffer-lines hunk)))
    (let ((old (agent-q-diff-engine-lines-old lines))
          (new (agent-q-diff-engine-lines-new lines)))
      (agent-q-diff-buffer-each-line (kind hunk)
        (pcase kind
          (?c (cl-incf old) (cl-incf new))
          (?r (funcall function (cons kind old)) (cl-incf old))
          (?a (funcall function (cons kind new)) (cl-incf new)))))))

(defun agent-q-diff-shown-of (from to)
  "Return what has been shown of the hunks from FROM up to but not including TO.
It is for `agent-q-diff-shown-again'."
  (let ((shown nil))
    (when (text-property-any (agent-q-diff-buffer-position from)
                             (agent-q-diff-buffer-hunk-end (1- to))
                             'agent-q-diff-shown t)
      (setq shown (make-hash-table :test #'equal))
      (cl-loop for hunk from from below to
               do (agent-q-diff-shown--each-number
                   hunk
                   (lambda (key)
                     (puthash key (buffer-substring (point) (line-end-position)) shown)))))
    shown))

(defun agent-q-diff-shown-again (shown from to)
  "Note that SHOWN of the hunks from FROM to TO was shown before they were printed.
SHOWN is as from `agent-q-diff-shown-of'; a line counts if it is the same one."
  (when shown
    (with-silent-modifications
      (cl-loop
       for hunk from from below to
       do (agent-q-diff-shown--each-number
           hunk
           (lambda (key)
             (let ((text (gethash key shown))
                   (at 0))
               (when (and text (string= text (buffer-substring-no-properties
                                              (point) (line-end-position))))
                 (while (< at (length text))
                   (let ((next (next-single-property-change at 'agent-q-diff-shown
                                                            text (length text))))
                     (when (get-text-property at 'agent-q-diff-shown text)
                       (put-text-property (+ (point) at) (+ (point) next)
                                          'agent-q-diff-shown t))
                     (setq at next)))))))))))

;;;; What was decided and not shown

(defvar-local agent-q-diff-shown--offer nil
  "What the last command decided unseen, (COMMAND . IDS), or nil.
IDS are those of its hunks in the engine.")

(defvar-local agent-q-diff-shown-unseen nil
  "The hunks that were decided unseen, and are decided since, by their ids.
Meanwhile windows may have shown some of them.")

(defun agent-q-diff-shown-forget-pending ()
  "Forget of those hunks that they were decided unseen that are pending again."
  (let ((engine (agent-q-diff-change-engine agent-q-diff-buffer-change)))
    (setq agent-q-diff-shown-unseen
          (seq-filter (lambda (id)
                        (when-let ((hunk (agent-q-diff-module-hunk-with-id engine id)))
                          (aref agent-q-diff-buffer-marks hunk)))
                      agent-q-diff-shown-unseen))))

(defun agent-q-diff-shown-not (hunks)
  "Return those of HUNKS that have not been shown.
If nothing is noted, since nobody looks at this Emacs, return nil."
  (and agent-q-diff-shown--timer
       (seq-remove #'agent-q-diff-shown-p hunks)))

(defun agent-q-diff-shown-decided-unseen ()
  "Return the hunks that were decided before they were shown.
After a command that has said how many it decided so, they are these."
  (or (agent-q-diff-shown-offered)
      (let ((is-known (make-bool-vector (length agent-q-diff-buffer-marks) nil)))
        (dolist (hunk (agent-q-diff-change-hunks-with agent-q-diff-buffer-change
                                                      agent-q-diff-shown-unseen))
          (aset is-known hunk t))
        (seq-filter (lambda (hunk)
                      (and (aref agent-q-diff-buffer-marks hunk)
                           (or (aref is-known hunk) (agent-q-diff-shown-not (list hunk)))))
                    (agent-q-diff-buffer-all)))))

(defun agent-q-diff-shown-pending-words ()
  "Return words on how many of the pending hunks were not shown, or \"\"."
  (let* ((pending (agent-q-diff-buffer-pending (agent-q-diff-buffer-all)))
         (unseen (agent-q-diff-shown-not pending)))
    (if unseen
        (format " (%d of %d not shown)" (length unseen) (length pending))
      "")))

(defun agent-q-diff-shown-to-take-back (hunks)
  "Return those of HUNKS, which are decided, that a key can take back.
Before the write, one that was rejected is in no file."
  (if (agent-q-diff-buffer-written-p)
      hunks
    (seq-filter (lambda (hunk)
                  (agent-q-diff-engine-hunk-fact
                   (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))
                hunks)))

(defun agent-q-diff-shown-words (unseen n)
  "Return words that UNSEEN, a list of hunks, of N decided ones were not shown.
\"\" is for none.  The next key may take them back."
  (setq agent-q-diff-shown--offer nil)
  (if (null unseen)
      ""
    (let ((ids (agent-q-diff-change-ids agent-q-diff-buffer-change unseen)))
      (agent-q-diff-shown-offer ids)
      ;; Of long lists, this makes a hash table.
      (setq agent-q-diff-shown-unseen (delete-dups (append ids agent-q-diff-shown-unseen))))
    ;; Short: a message of two lines takes one from a window, which is scrolled then.
    (substitute-command-keys
     (format "; %d of %d not shown (\\<agent-q-diff-mode-map>\
\\[agent-q-diff-unseen-mode] shows, %s)"
             (length unseen) n
             (if (agent-q-diff-shown-to-take-back unseen)
                 "\\[agent-q-diff-unapply-hunk] takes back"
               "\\[agent-q-diff-undo] undoes")))))

(defun agent-q-diff-shown-offer (ids)
  "Have the next key be able to take the hunks with IDS back."
  (setq agent-q-diff-shown--offer (cons this-command ids)))

(defun agent-q-diff-shown-offered ()
  "Return the hunks that the command before this one has offered to take back."
  (pcase agent-q-diff-shown--offer
    (`(,(pred (eq last-command)) . ,ids)
     (setq agent-q-diff-shown--offer nil)
     (agent-q-diff-change-hunks-with agent-q-diff-buffer-change ids))))

(provide 'agent-q-diff-shown)
;;; agent-q-diff-shown.el ends here
