;;; agent-q-diff-fontify.el --- Colors inside hunks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The words that differ inside changed lines, as the engine finds them,
;; and the colors that the target's own major mode gives to code.  Font
;; lock asks for both as lines come into view.
;;
;; For code, the lines that a hunk removes and those that it adds, each
;; with their context, are put into a hidden buffer in the mode of the
;; target's buffer, which visits no file.  Where the target says that the
;; hunk begins inside a string or a comment, the text from there on comes
;; first.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'font-lock)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-buffer)

(defconst agent-q-diff-fontify--max-size 30000
  "Number of characters of a hunk from which on it gets no colors inside.")

(defconst agent-q-diff-fontify--max-target-size 2000000
  "Number of characters of a target from which on its syntax is not looked at.")

(defvar-local agent-q-diff-fontify--latest nil
  "What was found of one hunk, (KEY SPANS CODE), since font lock works in chunks.")

;;;; What a hunk has

(defun agent-q-diff-fontify--hunks (beg end)
  "Return the hunks with text between BEG and END, as (HUNK BEG . END)."
  (save-excursion
    (let* ((positions agent-q-diff-buffer-positions)
           (first (progn (goto-char beg) (or (agent-q-diff-buffer-hunk-at-point) 0))))
      (cl-loop for hunk from first below (length positions)
               for from = (aref positions hunk)
               while (< from end)
               for to = (agent-q-diff-buffer-hunk-end from)
               when (< beg to)
               collect (cons hunk (cons from to))))))

(defun agent-q-diff-fontify--lines (beg end)
  "Return the lines of the hunk from BEG to END, each (SIGN BEG . END).
BEG is behind the sign; a no-newline marker is left out."
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
SPANS are its changed words, as the engine has them, CODE its lines, each
a string with the faces of code, or nil."
  (let ((key (list hunk (buffer-chars-modified-tick)
                   (agent-q-diff-fontify-mode))))
    (unless (equal key (car agent-q-diff-fontify--latest))
      (setq agent-q-diff-fontify--latest
            (list key
                  (agent-q-diff-module-changed-words
                   (agent-q-diff-file-change-engine (agent-q-diff-buffer-change)) hunk)
                  (and agent-q-diff-code-colors (nth 2 key)
                       (agent-q-diff-fontify--code hunk (nth 2 key) beg end)))))
    (cdr agent-q-diff-fontify--latest)))

;;;; Code

(defun agent-q-diff-fontify-mode ()
  "Return the major mode for code of the target's buffer, or nil."
  (let ((target (agent-q-diff-file-change-buffer (agent-q-diff-buffer-change))))
    (when (buffer-live-p target)
      (with-current-buffer target
        (and (derived-mode-p 'prog-mode 'conf-mode 'text-mode)
             (not (derived-mode-p 'diff-mode))
             major-mode)))))

(defun agent-q-diff-fontify--code (hunk mode beg end)
  "Return the lines of HUNK from BEG to END with the faces of MODE."
  (let* ((lines (agent-q-diff-fontify--lines beg end))
         (before (agent-q-diff-fontify--before hunk))
         (old (agent-q-diff-fontify--side lines '(?\s ?- ?\n) before mode))
         (new (agent-q-diff-fontify--side lines '(?\s ?+ ?\n) before mode)))
    (mapcar (pcase-lambda (`(,sign . ,_))
              (pcase sign
                (?- (pop old))
                (?+ (pop new))
                (_ (pop old) (pop new))))
            lines)))

(defun agent-q-diff-fontify--before (hunk)
  "Return the text of the string or comment inside of which HUNK begins, or \"\"."
  (let ((target (agent-q-diff-file-change-buffer (agent-q-diff-buffer-change)))
        (line (agent-q-diff-engine-hunk-line
               (agent-q-diff-file-change-hunk (agent-q-diff-buffer-change) hunk))))
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
  "Return those of LINES with one of SIGNS, strings with the faces of MODE.
BEFORE is text that stands in front of them."
  (let* ((texts (mapcar (pcase-lambda (`(,_ ,beg . ,end))
                          (buffer-substring-no-properties beg end))
                        (seq-filter (lambda (line) (memq (car line) signs)) lines)))
         (colored (agent-q-diff-fontify--colored
                   (concat before (string-join texts "\n") "\n") mode))
         (at (length before)))
    (mapcar (lambda (text)
              (prog1 (substring colored at (+ at (length text)))
                (cl-incf at (1+ (length text)))))
            texts)))

(defun agent-q-diff-fontify--colored (text mode)
  "Return TEXT with the faces that MODE gives to it."
  (with-current-buffer (agent-q-diff-fontify-buffer mode)
    (let ((inhibit-read-only t)
          (inhibit-modification-hooks nil))
      (erase-buffer)
      (insert text)
      (font-lock-ensure)
      (prog1 (buffer-string)
        (erase-buffer)))))

(defun agent-q-diff-fontify-buffer (mode)
  "Return a hidden buffer in MODE, where no hook of the user's has run."
  (let ((name (format " *agent-q-diff %s*" mode)))
    (or (get-buffer name)
        (with-current-buffer (get-buffer-create name)
          (let ((enable-local-variables nil)
                (enable-dir-local-variables nil)
                (change-major-mode-after-body-hook nil)
                (after-change-major-mode-hook nil))
            (delay-mode-hooks (funcall mode)))
          (setq buffer-undo-list t)
          (font-lock-set-defaults)
          (current-buffer)))))

(defun agent-q-diff-fontify-forget ()
  "Kill the hidden buffers in which code was given its colors."
  (dolist (buffer (buffer-list))
    (when (string-match-p "\\` \\*agent-q-diff .*-mode\\*\\'" (buffer-name buffer))
      (kill-buffer buffer))))

;;;; Faces

(defun agent-q-diff-fontify--put-code (beg text)
  "Give the text of the buffer from BEG on the faces that TEXT, the same, has."
  (let ((at 0))
    (while (< at (length text))
      (let ((next (next-single-property-change at 'face text (length text)))
            (face (get-text-property at 'face text)))
        (when face
          (font-lock-append-text-property (+ beg at) (+ beg next) 'face face))
        (setq at next)))))

(defun agent-q-diff-fontify--put-words (sign beg spans)
  "Give what SPANS, (FROM . TO), tell of the line from BEG a face.
SIGN is that of the line."
  (pcase-dolist (`(,from . ,to) spans)
    (font-lock-prepend-text-property
     (+ beg from) (+ beg to) 'face
     (if (eq sign ?+) 'agent-q-diff-word-added 'agent-q-diff-word-removed))))

(defun agent-q-diff-fontify--hunk (hunk beg end from to)
  "Give the lines of HUNK, from BEG to END, faces where they are from FROM to TO."
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
  "Give the hunks between point and LIMIT their faces, for font lock.
Always return nil, since there is nothing left to be done."
  (when (agent-q-diff-buffer-known-p)
    (let ((from (point)))
      (pcase-dolist (`(,hunk ,beg . ,end) (agent-q-diff-fontify--hunks from limit))
        (when (< (- end beg) agent-q-diff-fontify--max-size)
          (with-demoted-errors "agent-q-diff: no colors: %S"
            (agent-q-diff-fontify--hunk hunk beg end from limit))))))
  nil)

(defvar agent-q-diff-fontify-keywords
  (append diff-font-lock-keywords '((agent-q-diff-fontify--match)))
  "What font lock does in a diff buffer.")

(defun agent-q-diff-fontify-set-up ()
  "Let font lock color the insides of hunks in this buffer."
  ;; Keywords that are added are lost when a derived mode comes after.
  (setq-local font-lock-defaults
              (cons 'agent-q-diff-fontify-keywords (cdr font-lock-defaults))))

(provide 'agent-q-diff-fontify)
;;; agent-q-diff-fontify.el ends here
