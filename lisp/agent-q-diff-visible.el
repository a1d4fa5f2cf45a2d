;;; agent-q-diff-visible.el --- Misleading characters made visible  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Names of agents and files, reasons and headings are shown in the echo
;; area, in prompts, mode lines and lists.  A newline, an escape sequence or
;; a control character for writing direction can make the rest of such a
;; line read differently.  `agent-q-diff-visible' makes any string safe to
;; show in one line; every string of an agent's that is shown must pass it.
;;
;; The engine has the full table of misleading characters, including letters
;; that look like others.  Names are also shown when the engine is not
;; loaded, so the characters that mislead in any context are also listed
;; here.  A test compares the two tables.
;;
;; A path is not only shown but also used.  A path that two programs, or a
;; program and a person, read differently is refused for every agent.

;;; Code:

(require 'seq)
(require 'subr-x)

;;;; Characters that mislead

(defconst agent-q-diff-visible--misleading
  (rx (or (any "\0-\u001f" "\u007f-\u009f"
               ;; Odd spaces, and line breaks to some programs only.
               "\u00a0" "\u1680" "\u2000-\u200a" "\u2028\u2029" "\u202f" "\u205f"
               "\u2800" "\u3000"
               ;; Without width.
               "\u00ad" "\u034f" "\u115f" "\u1160" "\u17b4" "\u17b5" "\u180b-\u180f"
               "\u200b-\u200d" "\u2060-\u2065" "\u206a-\u206f" "\u3164" "\ufe00-\ufe0f"
               "\ufeff" "\uffa0" "\ufff0-\ufffb" "\U0001bca0-\U0001bca3"
               "\U0001d173-\U0001d17a" "\U000e0000-\U000e0fff"
               ;; Writing direction.
               "\u061c" "\u200e" "\u200f" "\u202a-\u202e" "\u2066-\u2069"
               ;; Halves of surrogate pairs.
               (#xd800 . #xdfff))
          ;; Bytes that are not part of a character.
          (not (any "\0-\U0010ffff"))))
  "Regexp of a character that misleads wherever it is.")

(defun agent-q-diff-visible--suspects (text)
  "Return the characters of TEXT that mislead in any context.
The value is as for `agent-q-diff-visible-suspects-function'."
  (let ((start 0)
        (case-fold-search nil)
        suspects)
    (while (string-match agent-q-diff-visible--misleading text start)
      (push (cons (match-beginning 0) nil) suspects)
      (setq start (match-end 0)))
    (nreverse suspects)))

(defvar agent-q-diff-visible-suspects-function #'always
  "Function that finds more misleading characters than this file.
It is called with a string and returns a list of (INDEX . KIND) in
ascending order, or t if it cannot tell now.")

(defun agent-q-diff-visible--indices (text)
  "Return the indices of the characters of TEXT that mislead in one line."
  (let* ((better (condition-case nil
                     (funcall agent-q-diff-visible-suspects-function text)
                   (error t)))
         (suspects (if (listp better)
                       ;; Not misleading in a text of several lines.
                       (append (agent-q-diff-visible--breaks text) better)
                     (agent-q-diff-visible--suspects text))))
    (seq-uniq (sort (mapcar #'car suspects) #'<))))

(defun agent-q-diff-visible--breaks (text)
  "Return the indices of line breaks and tabs in TEXT, each as (INDEX)."
  (let ((start 0) breaks)
    (while (string-match "[\t\n\f]" text start)
      (setq start (match-end 0))
      (push (list (match-beginning 0)) breaks))
    breaks))

;;;; One line

(defconst agent-q-diff-visible--max-length 500
  "Number of characters of a string that are shown by default.")

(defun agent-q-diff-visible-sign (char)
  "Return the ASCII string that is shown instead of CHAR."
  (if (> char #x10ffff)
      (format "<%02X>" (if (> char #x3fff7f) (- char #x3fff00) char))
    (format "<U+%04X>" char)))

(defun agent-q-diff-visible (text &optional limit keep)
  "Return TEXT as one line in which no character misleads.
Characters without width, those that change the writing direction, odd
spaces, controls, line breaks and, if the engine is loaded, letters that
look like others are shown by their numbers, like <U+202E>, except those in
the list KEEP.  If TEXT has more than LIMIT characters, only their number
is shown of the rest."
  (let* ((limit (or limit agent-q-diff-visible--max-length))
         (more (- (length text) limit))
         (start (substring-no-properties text 0 (and (> more 0) limit)))
         (shown (if (string-match-p "[^ -~]" start)
                    (agent-q-diff-visible--with-signs (string-to-multibyte start) keep)
                  start)))
    (if (> more 0)
        (concat shown (propertize (format "… and %d more characters" more)
                                  'face 'warning))
      shown)))

(defun agent-q-diff-visible--with-signs (text keep)
  "Return TEXT with signs for misleading characters that are not in KEEP."
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

;;;; Little room

(defun agent-q-diff-visible-beginning (text width)
  "Return the beginning of TEXT, at most WIDTH columns.
It ends with an ellipsis if more follows."
  (truncate-string-to-width text (max 0 width) nil nil "…"))

(defun agent-q-diff-visible-end (text width)
  "Return the end of TEXT, at most WIDTH columns.
It begins with an ellipsis if there is more before it."
  (let ((columns (string-width text)))
    (if (<= columns width)
        text
      (concat "…" (truncate-string-to-width text columns (- columns (max 0 (1- width))))))))

;;;; Paths

(defconst agent-q-diff-visible--path-flaws
  '(("\\`\\'" . "is empty")
    ("[\u0000-\u001f\u007f-\u009f\u2028\u2029]" . "contains a control character")
    ("[^\u0000-\U0010ffff]" . "contains a byte that is not a character")
    ("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
     . "contains a code that is not a character")
    ("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc\U000E0000-\U000E0FFF]"
     . "contains a character that cannot be seen")
    ("\\\\" . "contains a backslash; separate directories with /"))
  "Paths that are refused for their spelling: (REGEXP . FLAW).
They are those that two programs, or a program and a person, may read
differently.  Odd spaces, and the joiners that some scripts need, are
allowed: people have such names.  The first match counts.")

(defun agent-q-diff-visible-path-flaw (path)
  "Return what is wrong with the spelling of PATH, or nil.
The value is a predicate for \"the path\".  Where PATH leads does not
matter."
  (let ((case-fold-search nil))
    ;; Nearly all paths pass here; each edit checks its path several times.
    (unless (string-match-p "\\`[-_.+@=,~: a-zA-Z0-9/]+\\'" path)
      (let ((path (string-to-multibyte (substring-no-properties path))))
        (cdr (seq-find (lambda (flaw) (string-match-p (car flaw) path))
                       agent-q-diff-visible--path-flaws))))))

;; Expanding a name can open a connection, and `file-remote-p' already runs
;; a handler, so an agent's name is first looked at without one.

(defun agent-q-diff-visible-path-plain (path directory)
  "Return PATH expanded against DIRECTORY without calling any handler.
Return nil if a handler, such as Tramp, would be called for that or for the
result: then the file may be on another machine, or somebody else's."
  (let* ((path (substring-no-properties path))
         (plain (let ((file-name-handler-alist nil))
                  ;; Emacs leaves "/.." at the beginning; it leads nowhere.
                  (replace-regexp-in-string "\\`\\(?:/\\.\\.\\)+\\(/\\|\\'\\)" "/"
                                            (expand-file-name path directory)))))
    (and (seq-every-p #'agent-q-diff-visible--local-p (list path directory plain))
         plain)))

(defun agent-q-diff-visible--local-p (name)
  "Return non-nil if no handler stands between the file NAME and this machine."
  (let ((handler (find-file-name-handler name 'expand-file-name)))
    (or (null handler)
        ;; Emacs 30 completes "/x" by it; without a colon that opens nothing.
        (and (eq handler 'tramp-completion-file-name-handler)
             (not (string-search ":" name)))
        ;; A directory can be called x.zip.
        (and (symbolp handler)
             (string-prefix-p "tramp-archive-" (symbol-name handler))
             (let ((file-name-handler-alist nil))
               (file-directory-p (file-name-directory name)))))))

(provide 'agent-q-diff-visible)
;;; agent-q-diff-visible.el ends here
