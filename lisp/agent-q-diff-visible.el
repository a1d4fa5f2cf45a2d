;;; agent-q-diff-visible.el --- An agent's strings, shown as what they are  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Names of agents and files, reasons and headings end up in the echo area,
;; in prompts, mode lines and lists.  A newline, an escape sequence or a
;; control of writing direction there makes the rest of the line read as
;; something else.  `agent-q-diff-visible' makes any string safe to show in
;; one line; whatever shows a string of an agent's goes through it.
;;
;; The engine has the table of characters that mislead, and knows letters
;; that look like others as well.  Names are also shown before the engine
;; is loaded, and when it cannot be, so the characters that mislead by
;; themselves are listed here, too.  A test compares the two.
;;
;; A path is worse than other strings: it is not only shown but used.  One
;; that two readers read in two ways is refused, whoever it is for.

;;; Code:

(require 'seq)
(require 'subr-x)

;;;; Characters that mislead

(defconst agent-q-diff-visible--misleading
  (rx (or (any "\0-\u001f" "\u007f-\u009f"
               ;; Odd spaces, and what only some programs take for a line break.
               "\u00a0" "\u1680" "\u2000-\u200a" "\u2028\u2029" "\u202f" "\u205f"
               "\u2800" "\u3000"
               ;; No width.
               "\u00ad" "\u034f" "\u115f" "\u1160" "\u17b4" "\u17b5" "\u180b-\u180f"
               "\u200b-\u200d" "\u2060-\u2065" "\u206a-\u206f" "\u3164" "\ufe00-\ufe0f"
               "\ufeff" "\uffa0" "\ufff0-\ufffb" "\U0001bca0-\U0001bca3"
               "\U0001d173-\U0001d17a" "\U000e0000-\U000e0fff"
               ;; Writing direction.
               "\u061c" "\u200e" "\u200f" "\u202a-\u202e" "\u2066-\u2069"
               ;; Halves of surrogate pairs.
               (#xd800 . #xdfff))
          ;; Bytes that are no text.
          (not (any "\0-\U0010ffff"))))
  "What matches a character that misleads wherever it stands.")

(defun agent-q-diff-visible--suspects (text)
  "Return the characters of TEXT that mislead wherever they stand.
The value is as for `agent-q-diff-visible-suspects-function'."
  (let ((start 0)
        (case-fold-search nil)
        suspects)
    (while (string-match agent-q-diff-visible--misleading text start)
      (push (cons (match-beginning 0) nil) suspects)
      (setq start (match-end 0)))
    (nreverse suspects)))

(defvar agent-q-diff-visible-suspects-function #'always
  "Function that knows more characters that mislead than this file.
It is called with a string and returns a list of (INDEX . DECEIT) in
ascending order, or t if it cannot tell now.")

(defun agent-q-diff-visible--indices (text)
  "Return the indices of the characters of TEXT that mislead in one line."
  (let* ((better (condition-case nil
                     (funcall agent-q-diff-visible-suspects-function text)
                   (error t)))
         (suspects (if (listp better)
                       ;; Between lines these are what they seem to be.
                       (append (agent-q-diff-visible--breaks text) better)
                     (agent-q-diff-visible--suspects text))))
    (seq-uniq (sort (mapcar #'car suspects) #'<))))

(defun agent-q-diff-visible--breaks (text)
  "Return the line breaks and tabs in TEXT, each as (INDEX)."
  (let ((start 0) breaks)
    (while (string-match "[\t\n\f]" text start)
      (setq start (match-end 0))
      (push (list (match-beginning 0)) breaks))
    breaks))

;;;; One line

(defconst agent-q-diff-visible--max-length 500
  "Number of characters that are shown of a string by default.")

(defun agent-q-diff-visible-sign (char)
  "Return what is shown in the place of CHAR, a string of ASCII."
  (if (> char #x10ffff)
      (format "<%02X>" (if (> char #x3fff7f) (- char #x3fff00) char))
    (format "<U+%04X>" char)))

(defun agent-q-diff-visible (text &optional limit keep)
  "Return TEXT as one line in which every character is what it seems to be.
Characters without width, those that change the direction of what
follows, odd spaces, controls, line breaks and, where the engine is
loaded, letters that look like others are shown by their numbers, like
<U+202E>; those in the list KEEP stay.  Of TEXT longer than LIMIT
characters the end is left out, and that is said."
  (let* ((text (string-to-multibyte (substring-no-properties text)))
         (limit (or limit agent-q-diff-visible--max-length))
         (more (- (length text) limit))
         (shown (if (> more 0) (substring text 0 limit) text)))
    (concat (if (string-match-p "[^ -~]" shown)
                (agent-q-diff-visible--with-signs shown keep)
              shown)
            (when (> more 0)
              (propertize (format "… and %d more characters" more)
                          'face 'warning)))))

(defun agent-q-diff-visible--with-signs (text keep)
  "Return TEXT with signs for characters that mislead, but for those in KEEP."
  (let ((done 0)
        pieces)
    (dolist (index (agent-q-diff-visible--indices text))
      (unless (memq (aref text index) keep)
        (push (substring text done index) pieces)
        (push (propertize (agent-q-diff-visible-sign (aref text index))
                          'face 'escape-glyph)
              pieces)
        (setq done (1+ index))))
    (push (substring text done) pieces)
    (apply #'concat (nreverse pieces))))

;;;; Paths

(defconst agent-q-diff-visible--path-flaws
  '(("\\`\\'" . "is empty")
    ("[\u0000-\u001f\u007f-\u009f\u2028\u2029]" . "contains a control character")
    ("[^\u0000-\U0010ffff]" . "contains a byte that is no character")
    ("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
     . "contains a code that is no character")
    ("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc\U000E0000-\U000E0FFF]"
     . "contains a character that cannot be seen")
    ("\\\\" . "contains a backslash; separate directories with /"))
  "Paths that are refused for how they are spelled: (REGEXP . FLAW).
They are those that two programs read in two ways, or a person and a
program.  Odd spaces, and joiners that some scripts need, are not among
them: people have such names.  The first match counts.")

(defun agent-q-diff-visible-path-flaw (path)
  "Return what is wrong with how PATH is spelled, or nil.
The value is to follow \"the path\".  Where PATH leads does not matter."
  (let ((case-fold-search nil))
    ;; Nearly all are, and each edit has its path looked at several times.
    (unless (string-match-p "\\`[-_.+@=,~: a-zA-Z0-9/]+\\'" path)
      (let ((path (string-to-multibyte (substring-no-properties path))))
        (cdr (seq-find (lambda (flaw) (string-match-p (car flaw) path))
                       agent-q-diff-visible--path-flaws))))))

(provide 'agent-q-diff-visible)
;;; agent-q-diff-visible.el ends here
