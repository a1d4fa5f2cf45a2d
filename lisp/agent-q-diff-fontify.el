;;; agent-q-diff-fontify.el --- Colors inside hunks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The words that differ inside changed lines, as the engine finds them,
;; and the colors that the target's own major mode gives to code.  Font
;; lock asks for both as lines come into view.
;;
;; For code, the lines that a hunk removes and those that it adds, each with
;; their context, are put into a hidden buffer in the mode of the target's
;; buffer, which visits no file.  If in the target the hunk begins inside a
;; string or a comment, the text from the beginning of that comes first.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'font-lock)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-buffer)

(defconst agent-q-diff-fontify--max-size 30000
  "Number of characters from which on a hunk gets no colors inside.")

(defconst agent-q-diff-fontify--max-target-size 2000000
  "Number of characters from which on the syntax of a target is not analyzed.")

(defvar-local agent-q-diff-fontify--latest nil
  "Cached faces of the latest hunk, (KEY SPANS CODE), or nil.
Font lock works in chunks, so it asks for a hunk several times.  For SPANS
and CODE, see `agent-q-diff-fontify--found'.")

;;;; Words and lines of a hunk

(defun agent-q-diff-fontify--hunks (beg end)
  "Return the hunks with text between BEG and END, as (HUNK BEG . END).
Those that change no lines are left out."
  (save-excursion
    (let ((first (progn (goto-char beg) (or (agent-q-diff-buffer-hunk-before) 0))))
      (cl-loop for hunk from first below (agent-q-diff-buffer-n-inserted)
               for from = (agent-q-diff-buffer-position hunk)
               while (< from end)
               for to = (agent-q-diff-buffer-hunk-end hunk)
               when (and (< beg to)
                         (not (agent-q-diff-change-operation-of
                               agent-q-diff-buffer-change hunk)))
               collect (cons hunk (cons from to))))))

(defun agent-q-diff-fontify--lines (beg end)
  "Return the lines of the hunk from BEG to END, each (SIGN BEG . END).
The BEG of a line is after its sign.  No-newline markers are left out."
  (save-excursion
    (goto-char beg)
    (forward-line)
    (cl-loop while (< (point) end)
             for sign = (char-after)
             when (memq sign '(?\s ?+ ?- ?\n))
             collect (cons sign (cons (min (1+ (point)) (line-end-position))
                                      (line-end-position)))
             do (forward-line))))

(defun agent-q-diff-fontify--found (hunk beg end)
  "Return (SPANS CODE) for HUNK from BEG to END.
SPANS are its changed words; see `agent-q-diff-module-changed-words'.  CODE
is a list of its lines as strings with the faces of code, or nil."
  (let ((key (list hunk (buffer-chars-modified-tick)
                   (agent-q-diff-fontify-mode hunk))))
    (unless (equal key (car agent-q-diff-fontify--latest))
      (setq agent-q-diff-fontify--latest
            (list key
                  (agent-q-diff-module-changed-words
                   (agent-q-diff-change-engine agent-q-diff-buffer-change) hunk)
                  (and agent-q-diff-code-colors (nth 2 key)
                       (agent-q-diff-fontify--code hunk (nth 2 key) beg end)))))
    (cdr agent-q-diff-fontify--latest)))

;;;; Code

(defun agent-q-diff-fontify-mode (&optional hunk)
  "Return the major mode for code in the file of HUNK, or at point, or nil."
  (agent-q-diff-fontify-mode-of
   (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file hunk))))

(defun agent-q-diff-fontify-mode-of (target)
  "Return the major mode for code of TARGET, a buffer or nil, or nil."
  (when (buffer-live-p target)
    (with-current-buffer target
      (agent-q-diff-visit-mode-for-text major-mode))))

(defun agent-q-diff-fontify--code (hunk mode beg end)
  "Return the lines of HUNK from BEG to END with the faces of MODE."
  (let* ((lines (agent-q-diff-fontify--lines beg end))
         (before (agent-q-diff-fontify--before hunk))
         ;; The other lines are on the new side, too.
         (old (and (assq ?- lines)
                   (agent-q-diff-fontify--side lines '(?\s ?- ?\n) before mode)))
         (new (agent-q-diff-fontify--side lines '(?\s ?+ ?\n) before mode)))
    (mapcar (pcase-lambda (`(,sign . ,_))
              (pcase sign
                (?- (pop old))
                (?+ (pop new))
                (_ (pop old) (pop new))))
            lines)))

(defun agent-q-diff-fontify--before (hunk)
  "Return the target's text from the start of a string or comment to HUNK.
The value is \"\" unless HUNK begins inside a string or comment, and also
if the target or that text is too large."
  (let ((target (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file hunk)))
        (line (agent-q-diff-engine-hunk-line
               (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk))))
    (with-current-buffer target
      (if (or (null line)
              (> (buffer-size) agent-q-diff-fontify--max-target-size))
          ""
        (save-excursion
          (save-restriction
            (widen)
            (let* ((end (agent-q-diff-text-position target line))
                   (beg (nth 8 (syntax-ppss end))))
              (if (and beg (< (- end beg) agent-q-diff-fontify--max-size))
                  (buffer-substring-no-properties beg end)
                ""))))))))

(defun agent-q-diff-fontify--side (lines signs before mode)
  "Return those of LINES with one of SIGNS, as strings with the faces of MODE.
BEFORE is text that comes before them."
  (agent-q-diff-fontify--colored
   before
   (cl-loop for (sign beg . end) in lines
            when (memq sign signs) collect (buffer-substring-no-properties beg end))
   mode))

(defun agent-q-diff-fontify--colored (before texts mode)
  "Return TEXTS, lines that come after BEFORE, with the faces of MODE."
  (with-current-buffer (agent-q-diff-fontify-buffer mode)
    (let ((inhibit-read-only t)
          (inhibit-modification-hooks nil)
          (at (1+ (length before))))
      ;; As one change, since a mode can take long to note one.
      (set-match-data (list (point-min) (point-max)))
      (replace-match (concat before (string-join texts "\n") "\n") t t)
      (font-lock-ensure)
      (mapcar (lambda (text)
                (prog1 (buffer-substring at (+ at (length text)))
                  (cl-incf at (1+ (length text)))))
              texts))))

(defun agent-q-diff-fontify-buffer (mode)
  "Return a hidden buffer in MODE, in which no hooks of the user have run."
  (let ((name (format " *agent-q-diff %s*" mode)))
    (or (get-buffer name)
        (with-current-buffer (get-buffer-create name)
          (setq default-directory "/")
          (agent-q-diff-visit-turn-on mode)
          (setq buffer-undo-list t)
          (font-lock-set-defaults)
          (current-buffer)))))

(defun agent-q-diff-fontify-forget ()
  "Kill the hidden buffers in which code was colored."
  (dolist (buffer (buffer-list))
    (when (string-match-p "\\` \\*agent-q-diff .*-mode\\*\\'" (buffer-name buffer))
      (kill-buffer buffer))))

;;;; Faces

(defun agent-q-diff-fontify--put-code (beg text)
  "Copy the faces of TEXT to the equal text of this buffer from BEG on."
  (let ((at 0))
    (while (< at (length text))
      (let ((next (next-single-property-change at 'face text (length text)))
            (face (get-text-property at 'face text)))
        (when face
          (font-lock-append-text-property (+ beg at) (+ beg next) 'face face))
        (setq at next)))))

(defun agent-q-diff-fontify--put-words (sign beg spans)
  "Put a face on SPANS of the line from BEG, each (FROM . TO).
SIGN is that of the line."
  (pcase-dolist (`(,from . ,to) spans)
    (font-lock-prepend-text-property
     (+ beg from) (+ beg to) 'face
     (if (eq sign ?+) 'agent-q-diff-word-added 'agent-q-diff-word-removed))))

(defun agent-q-diff-fontify--hunk (hunk beg end from to)
  "Color the lines of HUNK that are between FROM and TO.
HUNK is from BEG to END."
  (pcase-let ((`(,spans ,code) (agent-q-diff-fontify--found hunk beg end))
              (at -1))
    (pcase-dolist (`(,sign ,beg . ,end) (agent-q-diff-fontify--lines beg end))
      (let ((text (pop code))
            (words nil))
        (cl-incf at)
        (while (eq at (caar spans))
          (push (cons (nth 1 (car spans)) (nth 2 (car spans))) words)
          (pop spans))
        (when (and (<= from beg) (<= end to))
          (agent-q-diff-fontify--put-code beg text)
          (agent-q-diff-fontify--put-words sign beg words))))))

(defun agent-q-diff-fontify--match (limit)
  "Color the hunks between point and LIMIT, for font lock.
Always return nil, since nothing is left to be done."
  (when (agent-q-diff-buffer-known-p)
    (let ((from (point)))
      (pcase-dolist (`(,hunk ,beg . ,end) (agent-q-diff-fontify--hunks from limit))
        (when (< (- end beg) agent-q-diff-fontify--max-size)
          (with-demoted-errors "agent-q-diff: no colors: %S"
            (agent-q-diff-fontify--hunk hunk beg end from limit))))))
  nil)

(defvar agent-q-diff-fontify-keywords
  (append diff-font-lock-keywords '((agent-q-diff-fontify--match)))
  "Font lock keywords of a diff buffer.")

(defun agent-q-diff-fontify-set-up ()
  "Make font lock color the insides of hunks in this buffer."
  ;; Keywords added with `font-lock-add-keywords' are lost when a derived
  ;; mode follows.
  (setq-local font-lock-defaults
              (cons 'agent-q-diff-fontify-keywords (cdr font-lock-defaults))))

(provide 'agent-q-diff-fontify)
;;; agent-q-diff-fontify.el ends here
