;;; agent-q-diff-pending-marks.el --- What is pending, shown in its files and in Magit  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What was written and not reviewed yet is also shown where the user works:
;; in the fringe of its files, where `next-error' goes from hunk to hunk, and
;; in Magit's status buffer.
;;
;; The places are those of the last look at the project.  They are computed
;; when a buffer holds the text that was found then, and from then on are
;; overlays and markers, which move with the text while the user types.

;;; Code:

(require 'diff-mode)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-changes)
(require 'agent-q-diff-pending)

;;;; What has changed in a file

(defun agent-q-diff-pending-marks--runs (root texts file)
  "Return where lines of FILE, an `agent-q-diff-pending-file', have changed.
ROOT and TEXTS are as from `agent-q-diff-pending-look'.  The value is a list of
runs of lines, each (LINE N KIND IS-FIRST).  N lines from LINE on, counted from
0, are `added' or `changed'; or lines above LINE are `removed', and N is 0.
IS-FIRST is non-nil for the first run of a hunk.  If FILE is decided as a whole,
there is one run without lines, of KIND nil; if it is no text file now, none."
  (pcase-let ((`(,mode . ,new-text) (agent-q-diff-pending-file-working file)))
    (unless (memq mode (list 0 agent-q-diff-reviewed-link))
      (or (agent-q-diff-pending-compare
           (agent-q-diff-file-named (agent-q-diff-pending-file-path file) root)
           (agent-q-diff-pending-bytes texts (cdr (agent-q-diff-pending-file-reviewed file)))
           (agent-q-diff-pending-bytes texts new-text)
           (lambda (engine _)
             (mapcan #'agent-q-diff-pending-marks--runs-of
                     (agent-q-diff-module-shown-lines
                      engine 0 (car (agent-q-diff-module-tally engine))))))
          '((0 0 nil t))))))

(defun agent-q-diff-pending-marks--runs-of (hunk)
  "Return the place of the changed lines of HUNK, an `agent-q-diff-engine-lines'.
The value is as from `agent-q-diff-pending-marks--runs'."
  (let ((line (agent-q-diff-engine-lines-new hunk))
        (n-added 0)
        (n-removed 0)
        (runs nil))
    ;; A run ends at a line of context, or at the end.
    (dolist (kind (append (agent-q-diff-engine-lines-kinds hunk) '(?c)))
      (pcase kind
        (?a (cl-incf n-added))
        (?r (cl-incf n-removed))
        (?c (unless (= 0 n-added n-removed)
              (push (list line n-added
                          (cond ((= 0 n-added) 'removed)
                                ((= 0 n-removed) 'added)
                                (t 'changed))
                          (null runs))
                    runs))
            (cl-incf line (1+ n-added))
            (setq n-added 0 n-removed 0))))
    (nreverse runs)))

;;;; The places in a buffer

(defvar agent-q-diff-pending-marks-mode)

(defvar-local agent-q-diff-pending-marks--stops nil
  "Markers where the hunks of this buffer's file begin, from top to bottom.")

(defvar-local agent-q-diff-pending-marks--source nil
  "(FILE . TICK) for which the places in this buffer were computed.
TICK is that of the buffer; see `agent-q-diff-base-tick'.")

(put 'agent-q-diff-pending-marks--stops 'permanent-local t)
(put 'agent-q-diff-pending-marks--source 'permanent-local t)

(defun agent-q-diff-pending-marks--holds-p (texts file)
  "Return non-nil if the text of this buffer is that of FILE at the last look.
TEXTS is the folder of its text."
  (equal (agent-q-diff-pending-decoded
          (agent-q-diff-pending-bytes texts (cdr (agent-q-diff-pending-file-working file)))
          buffer-file-name)
         (agent-q-diff-base-widened
           (buffer-substring-no-properties (point-min) (point-max)))))

(defun agent-q-diff-pending-marks--update (root texts file)
  "Compute the places in this buffer, which visits FILE, unless they are known.
ROOT and TEXTS are as from `agent-q-diff-pending-look'.  In a buffer with
another text, such as one with unsaved edits, they stay where they have moved."
  (let ((source (cons file (agent-q-diff-base-tick))))
    (unless (or (equal source agent-q-diff-pending-marks--source)
                (and agent-q-diff-pending-marks--source
                     (not (agent-q-diff-pending-marks--holds-p texts file))))
      (agent-q-diff-pending-marks--forget)
      (let ((runs (agent-q-diff-pending-marks--runs root texts file)))
        (setq agent-q-diff-pending-marks--source source
              agent-q-diff-pending-marks--stops
              (agent-q-diff-pending-marks--markers runs))
        (when (and agent-q-diff-pending-marks-mode
                   (agent-q-diff-pending-marks--holds-p texts file))
          (agent-q-diff-pending-marks--draw runs))
        (unless next-error-function
          (setq-local next-error-function #'agent-q-diff-pending-marks-next-error))))))

(defun agent-q-diff-pending-marks--markers (runs)
  "Return markers where hunks begin in this buffer, from top to bottom.
RUNS is as from `agent-q-diff-pending-marks--runs'."
  (let ((line 0))
    (agent-q-diff-base-widened
      (save-excursion
        (goto-char (point-min))
        (cl-loop for (first _ _ is-first) in runs
                 when is-first
                 collect (progn (forward-line (- first line))
                                (setq line first)
                                (point-marker)))))))

(defun agent-q-diff-pending-marks--forget ()
  "Remove all that this file has put into this buffer."
  (dolist (stop agent-q-diff-pending-marks--stops)
    (set-marker stop nil))
  (setq agent-q-diff-pending-marks--stops nil
        agent-q-diff-pending-marks--source nil)
  (agent-q-diff-base-widened
    (remove-overlays (point-min) (point-max) 'agent-q-diff-pending-mark t))
  (when (eq next-error-function #'agent-q-diff-pending-marks-next-error)
    (kill-local-variable 'next-error-function)))

(defun agent-q-diff-pending-marks--update-all (root)
  "Update the places in all buffers that visit files of the project at ROOT.
Without `agent-q-diff-pending-marks-mode', only those that have places already."
  (when-let ((project (agent-q-diff-pending-known root)))
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (when (and buffer-file-name
                   (or agent-q-diff-pending-marks-mode agent-q-diff-pending-marks--source)
                   (equal root (agent-q-diff-reviewed-root)))
          (if-let ((file (agent-q-diff-pending-marks--file project root)))
              (agent-q-diff-pending-marks--update
               root (agent-q-diff-pending-project-texts project) file)
            (agent-q-diff-pending-marks--forget)))))))

(defun agent-q-diff-pending-marks--file (project root)
  "Return what is pending in the file of this buffer, or nil.
That is an `agent-q-diff-pending-file' of PROJECT, which is at ROOT."
  (when-let ((path (and buffer-file-name (agent-q-diff-reviewed-path root))))
    (seq-find (lambda (file)
                (equal path (agent-q-diff-pending-file-path file)))
              (agent-q-diff-pending-project-files project))))

;;;; Marks in the fringe

(defconst agent-q-diff-pending-marks--signs
  '((added vertical-bar diff-indicator-added)
    (changed vertical-bar diff-indicator-changed)
    (removed top-left-angle diff-indicator-removed))
  "Alist from the kinds of runs to their bitmaps in the fringe, and faces.")

(defconst agent-q-diff-pending-marks--n-most 5000
  "Number of lines up to which each line that has changed has a mark.
In a file with more of them, only the first line of a run has one.")

(defun agent-q-diff-pending-marks--draw (runs)
  "Mark where lines of this buffer have changed.
RUNS is as from `agent-q-diff-pending-marks--runs'."
  (let ((is-much (< agent-q-diff-pending-marks--n-most
                    (apply #'+ (mapcar #'cadr runs))))
        (line 0))
    (agent-q-diff-base-widened
      (save-excursion
        (goto-char (point-min))
        (pcase-dolist (`(,first ,n ,kind ,_) runs)
          (when kind
            (forward-line (- first line))
            (setq line first)
            ;; What was removed at the end has no line below it.
            (when (and (eobp) (bolp) (not (bobp)))
              (forward-line -1)
              (setq line (1- line)))
            (dotimes (index (if is-much 1 (max 1 n)))
              (unless (= 0 index)
                (forward-line 1)
                (setq line (1+ line)))
              (agent-q-diff-pending-marks--mark-line kind))))))))

(defun agent-q-diff-pending-marks--mark-line (kind)
  "Mark the line at point as of a run of KIND."
  (let ((overlay (make-overlay (point) (min (point-max) (1+ (line-end-position))) nil t)))
    (overlay-put overlay 'agent-q-diff-pending-mark t)
    (overlay-put overlay 'evaporate (< (overlay-start overlay) (overlay-end overlay)))
    (overlay-put overlay 'before-string
                 (propertize " " 'display
                             (cons 'left-fringe
                                   (alist-get kind agent-q-diff-pending-marks--signs))))))

;;;###autoload
(define-minor-mode agent-q-diff-pending-marks-mode
  "Mark the lines in files that were written and not reviewed yet.
The marks are in the left fringe; a terminal shows none.  There is a bar
beside lines that were added or changed, and an angle where lines were removed.
They are updated when Emacs is idle, after what `agent-q-diff-pending-mode'
notices; this turns that mode on."
  :global t
  :group 'agent-q-diff
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when agent-q-diff-pending-marks--source
        (agent-q-diff-pending-marks--forget))))
  (when agent-q-diff-pending-marks-mode
    (agent-q-diff-pending-mode)
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (when-let ((root (and buffer-file-name (agent-q-diff-reviewed-root))))
          (agent-q-diff-pending-count-soon root))))))

(add-hook 'agent-q-diff-pending-counted-functions
          #'agent-q-diff-pending-marks--update-all)

(defun agent-q-diff-pending-marks-unload-function ()
  "Remove what is in the buffers of files."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (agent-q-diff-pending-marks--forget)))
  nil)

;;;; Going from hunk to hunk

;;;###autoload
(defun agent-q-diff-next-unreviewed (&optional n)
  "Go to the Nth next hunk that was written and not reviewed, by default the next.
After those of this file come those of the next one that is pending in the
project.  `next-error' then goes on from there."
  (interactive "p")
  (agent-q-diff-pending-marks-next-error (or n 1)))

;;;###autoload
(defun agent-q-diff-previous-unreviewed (&optional n)
  "Go to the Nth previous hunk that was written and not reviewed.
N is 1 by default; see `agent-q-diff-next-unreviewed'."
  (interactive "p")
  (agent-q-diff-next-unreviewed (- (or n 1))))

(defun agent-q-diff-pending-marks-next-error (n &optional reset)
  "Go N hunks forward that are pending in this project, for `next-error'.
If RESET is non-nil, begin with the first one of the project.  Begin in the
selected window if it shows a file of the project, else in the current buffer."
  (let ((root (agent-q-diff-reviewed-root)))
    (unless root
      (user-error "Nothing is known of this project; begin with M-x agent-q-diff-review-changes"))
    (let ((stop (with-current-buffer (agent-q-diff-pending-marks--beginning root)
                  (or (agent-q-diff-pending-marks--find
                       root (agent-q-diff-pending-recent root) n reset)
                      ;; There may be more by now.
                      (agent-q-diff-pending-marks--find
                       root (agent-q-diff-pending-recent root 'is-anew) n reset)
                      (user-error "No more unreviewed hunks")))))
      (setq next-error-last-buffer (marker-buffer stop))
      (pop-to-buffer-same-window (marker-buffer stop))
      (unless (<= (point-min) stop (point-max))
        (widen))
      (push-mark nil t)
      (goto-char stop))))

(defun agent-q-diff-pending-marks--beginning (root)
  "Return the buffer from where to go to a hunk of the project at ROOT."
  (let ((shown (window-buffer)))
    (if (equal root (with-current-buffer shown
                      (agent-q-diff-reviewed-root)))
        shown
      (current-buffer))))

(defun agent-q-diff-pending-marks--find (root project n reset)
  "Return a marker where the hunk begins that is N hunks away in PROJECT.
Count from point, or if RESET is non-nil, from before the first one.  ROOT is
where PROJECT is.  Return nil if there is none, or if PROJECT is nil."
  (let* ((is-forward (> n 0))
         (files (and project (agent-q-diff-pending-project-files project)))
         (left (if is-forward files (reverse files)))
         (here (and project
                    (not reset)
                    (agent-q-diff-pending-marks--file project root)))
         (stops (and here
                     (seq-filter (lambda (stop)
                                   (if is-forward
                                       (> stop (point))
                                     (< stop (line-beginning-position))))
                                 (agent-q-diff-pending-marks--stops-in
                                  root project here is-forward))))
         (n (abs n)))
    (when here
      (setq left (cdr (memq here left))))
    (while (and (< (length stops) n) left)
      (setq n (- n (length stops))
            stops (agent-q-diff-pending-marks--stops-in root project (pop left) is-forward)))
    (nth (1- n) stops)))

(defun agent-q-diff-pending-marks--stops-in (root project file is-forward)
  "Return where the hunks of FILE begin, markers, and visit it.
They are in the order of the text if IS-FORWARD is non-nil, else in reverse.
FILE is of PROJECT, which is at ROOT.  If it has no text to go to, return nil."
  (unless (memq (car (agent-q-diff-pending-file-working file)) (list 0 agent-q-diff-reviewed-link))
    (with-current-buffer (agent-q-diff-pending-marks--visit
                          (agent-q-diff-file-named (agent-q-diff-pending-file-path file) root))
      (agent-q-diff-pending-marks--update
       root (agent-q-diff-pending-project-texts project) file)
      (if is-forward
          agent-q-diff-pending-marks--stops
        (reverse agent-q-diff-pending-marks--stops)))))

(defun agent-q-diff-pending-marks--visit (path)
  "Return a buffer that visits the file PATH.
If it has no unsaved edits, it holds what is in the file now."
  (let ((buffer (find-buffer-visiting path)))
    (when buffer
      (agent-q-diff-disk-sync buffer))
    (or buffer
        (progn
          (agent-q-diff-file-check-regular path)
          (find-file-noselect path)))))

;;;; Magit

(defvar agent-q-diff-pending-marks-section-map
  (let ((map (make-sparse-keymap)))
    (define-key map [remap magit-visit-thing] #'agent-q-diff-review-changes)
    map)
  "Keymap of the section that `agent-q-diff-pending-marks-insert-section' inserts.")

;;;###autoload
(defun agent-q-diff-pending-marks-insert-section ()
  "Insert a section with how much is pending, for Magit's status buffer.
If nothing is known to be, insert nothing.  What is inserted was counted
earlier.  It is counted again when Emacs is idle, for the next refresh."
  (when-let ((root (agent-q-diff-reviewed-root)))
    (agent-q-diff-pending-count-soon root)
    (when-let ((amount (agent-q-diff-pending-amount root)))
      (agent-q-diff-pending-marks--insert-section root (concat "Unreviewed: " amount)))))

;;;###autoload
(defun agent-q-diff-pending-marks-after-stage ()
  "Record that the user has staged something with Magit."
  (when-let ((root (agent-q-diff-reviewed-root)))
    ;; It must not stop what Magit does.
    (with-demoted-errors "What was staged is not known to be reviewed: %S"
      (agent-q-diff-engine-call #'agent-q-diff-module-note-staged root))
    (agent-q-diff-pending-count-soon root)))

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
