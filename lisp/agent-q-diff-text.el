;;; agent-q-diff-text.el --- The text of the target  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The target is the buffer whose text a review changes.  This file reads
;; that text, compares it and replaces parts of it, always in the whole
;; buffer, however it is narrowed.  For text that must not be replaced, it
;; signals `agent-q-diff-bad-target' with a message that says what to do
;; about it.

;;; Code:

(require 'subr-x)
(require 'agent-q-diff-coding)
(require 'agent-q-diff-line-ends)
(require 'agent-q-diff-file)

;;;; Reading

(defun agent-q-diff-text-in (buffer)
  "Return the whole text of BUFFER as a string."
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (buffer-substring-no-properties (point-min) (point-max)))))

(defconst agent-q-diff-text--max-compared 8000000
  "Number of characters up to which a buffer is compared in place.
Comparing in place takes twice as long for each character as copying the
text and comparing the copy.  But the copy is garbage, and collecting a
megabyte takes several times as long as comparing it.  Beyond this number
one collection is due anyway.")

(defun agent-q-diff-text-known-p (buffer text)
  "Return non-nil if BUFFER certainly has TEXT, which needs no conversion.
TEXT, a proposal's, then has only LF line ends and no byte order mark, and
so has the file of BUFFER.  Nothing is copied to find that out.  Nil means
that it is not known."
  (and (<= (length text) agent-q-diff-text--max-compared)
       (= (length text) (buffer-size buffer))
       (multibyte-string-p text)
       (not (string-search "\r" text))
       (not (string-prefix-p "\ufeff" text))
       (not (agent-q-diff-line-ends buffer))
       (with-temp-buffer
         (insert text)
         (agent-q-diff-text-equal-p buffer (current-buffer)))))

(defun agent-q-diff-text-equal-p (buffer other)
  "Return non-nil if the whole text of BUFFER equals that of the buffer OTHER."
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (and (= (buffer-size) (buffer-size other))
           ;; Bound inside `with-current-buffer', since it may be buffer-local.
           (let ((case-fold-search nil))
             (zerop (compare-buffer-substrings nil nil nil other nil nil)))))))

(defun agent-q-diff-text-position (buffer line)
  "Return the position where LINE, counted from 0, begins in BUFFER."
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (save-excursion
        (goto-char (point-min))
        (forward-line line)
        (point)))))

;;;; Editing

(defun agent-q-diff-text--check-visible (beg end visible)
  "Refuse the region from BEG to END unless it is inside VISIBLE.
VISIBLE is (BEG . END), the narrowed part of the current buffer."
  (unless (<= (car visible) beg end (cdr visible))
    (agent-q-diff-file-refuse
     "the hunk is outside the narrowed part of %s; C-x n w there first"
     (current-buffer))))

(defun agent-q-diff-text--replace (n-removed text visible)
  "Replace N-REMOVED lines from point by TEXT, inside VISIBLE.
The new text is inserted after the old one before that is deleted, so that
markers in the old text stay at the new one, and markers on the line below
stay on that line.  Leave point where it was."
  (let* ((size (buffer-size))
         (beg (point))
         (end (progn (forward-line n-removed) (point)))
         (new (if enable-multibyte-characters
                  (agent-q-diff-coding-with-charsets text)
                ;; The engine has read the bytes as UTF-8.
                (encode-coding-string text 'utf-8-emacs-unix))))
    (agent-q-diff-text--check-visible beg end visible)
    (agent-q-diff-coding-note-charsets-between beg end)
    (goto-char end)
    (insert-before-markers new)
    (cl-incf size (length new))
    (agent-q-diff-text--check-size size)
    (delete-region beg end)
    (agent-q-diff-text--check-size (- size (- end beg)))
    (goto-char beg)))

(defun agent-q-diff-text--check-size (size)
  "Refuse to go on unless the current buffer has SIZE characters.
If it has not, a hook has edited it, and the next edit would be in the wrong
place."
  (unless (= size (buffer-size))
    (agent-q-diff-file-refuse
     "a hook edited %s while it was changed; see its first-change-hook, \
before-change-functions and after-change-functions"
     (current-buffer))))

(defun agent-q-diff-text-replace-lines (edits &optional offsets)
  "Make EDITS, last line first, in the current buffer.
OFFSETS is as for `agent-q-diff-apply-edits'.  Without it, lines are
counted from one edit to the next, never again from the beginning."
  (let ((visible (cons (point-min) (point-max)))
        (starts (and (eql (car offsets) (buffer-size)) (cdr offsets)))
        (here 0))
    (save-restriction
      (widen)
      (goto-char (point-min))
      (pcase-dolist (`(,line ,n-removed ,text) edits)
        (if starts
            (goto-char (1+ (pop starts)))
          (forward-line (- line here))
          (setq here line))
        (agent-q-diff-text--replace n-removed text visible)))))

(defun agent-q-diff-text--common-ends (old new)
  "Return (HEAD . TAIL): how many characters OLD and NEW share at their ends."
  (let* ((limit (min (length old) (length new)))
         (difference (compare-strings old nil nil new nil nil))
         (head (if (eq difference t) limit (1- (abs difference))))
         (tail 0))
    (while (and (< tail (- limit head))
                (eq (aref old (- (length old) tail 1))
                    (aref new (- (length new) tail 1))))
      (setq tail (1+ tail)))
    (cons head tail)))

(defun agent-q-diff-text-replace-span (beg end text)
  "Replace the text between BEG and END by TEXT.
Equal text at both ends is not touched.  The rest of the new text is
inserted after the old, as in `agent-q-diff-text--replace'."
  (pcase-let ((`(,head . ,tail)
               (agent-q-diff-text--common-ends
                (buffer-substring-no-properties beg end) text)))
    (goto-char (- end tail))
    (insert-before-markers (substring text head (- (length text) tail)))
    (delete-region (+ beg head) (- end tail))))

(provide 'agent-q-diff-text)
;;; agent-q-diff-text.el ends here
