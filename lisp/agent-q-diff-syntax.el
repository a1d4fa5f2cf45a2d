;;; agent-q-diff-syntax.el --- What the language of a file says: strings, comments, white space  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The engine knows no language.  What of a text are strings and comments says
;; the syntax table of its major mode, in a hidden buffer in which no hooks of
;; the user have run.  The engine gets that once for a file of a review, when
;; something is asked for which it matters: which white space means nothing, and
;; which changes are equal.  How white space is read in a language, an option
;; says, by the names of files and their modes.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-visit)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-fontify)

;;;; Where white space means something

(defcustom agent-q-diff-white-space-free
  '((c "c" "h" "cc" "hh" "cpp" "hpp" "cxx" "hxx" "c++" "h++" "mm" "cs"
       c-mode c-ts-mode c-or-c++-mode c-or-c++-ts-mode c++-mode c++-ts-mode objc-mode
       csharp-mode csharp-ts-mode)
    (statements "java" "json"
                java-mode java-ts-mode
                js-mode js-ts-mode js2-mode js-json-mode json-mode json-ts-mode)
    (rust "rs" rust-mode rust-ts-mode rustic-mode)
    (tokens "go" "js" "mjs" "cjs" "ts" "mts" "cts"
            go-mode go-ts-mode js-mode js-ts-mode js2-mode typescript-mode typescript-ts-mode)
    (words "swift" "kt" "kts" "dart"
           swift-mode swift-ts-mode kotlin-mode kotlin-ts-mode dart-mode)
    (css "css" "scss" "less"
         css-mode css-ts-mode scss-mode less-css-mode)
    (lisp "el" "lisp" "asd" "scm" "clj" "cljs" "cljc" "edn"
          emacs-lisp-mode lisp-data-mode lisp-mode scheme-mode
          clojure-mode clojurescript-mode clojurec-mode clojure-ts-mode))
  "Kinds of files in which some white space means nothing, and which.
An element is (KIND . FILES), or one of FILES: an extension of a name, which is
a string, \"\" for a name without one, or a major mode.  A file is of a kind if
its name has one of the extensions, and the mode in which it is visited, or
would be by its name, is one of the modes there or for plain text.  Only in such
files is it folded by `agent-q-diff-fold-white-space-mode', or accepted unread
by `agent-q-diff-accept-white-space' or a rule.  In all others it may mean
something.

In strings and comments it always does, nowhere may it join or divide words, and
what is right below a comment stays there.
Apart from that, KIND says where it means nothing:
- `margins': around what is on a line, and blank lines.
- `words': also where there is more or less of it.  So it is for one of FILES.
- `tokens': also next to brackets and operators.
- `statements': also if it is a line break, as in Java and JSON.
- `rust': the same, where a string may go on in the next line.
- `c': the same, where lines that begin with # are for a preprocessor.
- `css': a line break is like any other; next to braces, semicolons, commas, and
  the colon of a declaration it means nothing.
- `lisp': a line break is like any other; inside parentheses it means nothing."
  :type '(repeat
          (choice (string :tag "Extension") (symbol :tag "Major mode")
                  (cons :tag "Kind"
                        (choice (const margins) (const words) (const tokens) (const statements)
                                (const rust) (const c) (const css) (const lisp))
                        (repeat (choice (string :tag "Extension")
                                        (symbol :tag "Major mode"))))))
  :group 'agent-q-diff-review)

(defconst agent-q-diff-syntax--plain-modes '(nil fundamental-mode text-mode prog-mode)
  "Major modes that do not say which language a text is in.")

(defun agent-q-diff-syntax--mode-by-name (change)
  "Return the major mode that the name of the file of CHANGE stands for, or nil."
  (let ((name (or (agent-q-diff-file-change-path change) "")))
    (pcase (agent-q-diff-file-change-named-mode change)
      (`(,(pred (eq auto-mode-alist)) ,(pred (equal name)) . ,mode) mode)
      (_ (let ((mode (assoc-default name auto-mode-alist #'string-match-p)))
           (setf (agent-q-diff-file-change-named-mode change)
                 (cons auto-mode-alist (cons name mode)))
           mode)))))

(defun agent-q-diff-syntax--mode (change)
  "Return the major mode of the file of CHANGE, or that for its name, or nil."
  (let* ((buffer (agent-q-diff-file-change-buffer change))
         (mode (if (buffer-live-p buffer)
                   (buffer-local-value 'major-mode buffer)
                 (agent-q-diff-syntax--mode-by-name change))))
    (while (and mode (symbolp mode) (symbolp (symbol-function mode)) (symbol-function mode))
      (setq mode (symbol-function mode)))
    mode))

(defvar agent-q-diff-syntax--by-kind nil
  "(OPTION . VALUE), the last value of `agent-q-diff-syntax--free-by-kind'.
OPTION was `agent-q-diff-white-space-free' then.")

(defun agent-q-diff-syntax--free-by-kind ()
  "Return (ALL SINGLE . KINDS), what `agent-q-diff-white-space-free' has.
ALL are its extensions and modes, SINGLE those of no kind; KINDS is an alist
from the kinds to theirs."
  (unless (eq agent-q-diff-white-space-free (car agent-q-diff-syntax--by-kind))
    (let ((single (seq-remove #'consp agent-q-diff-white-space-free))
          (kinds (seq-filter #'consp agent-q-diff-white-space-free)))
      (setq agent-q-diff-syntax--by-kind
            `(,agent-q-diff-white-space-free
              ,(append single (seq-mapcat #'cdr kinds))
              ,single
              . ,(mapcar (pcase-lambda (`(,kind . ,elements))
                           (cons kind (seq-mapcat #'cdr elements)))
                         (seq-group-by #'car kinds))))))
  (cdr agent-q-diff-syntax--by-kind))

(defun agent-q-diff-syntax--spacing (change)
  "Return how white space is read in the file of CHANGE, a symbol, or nil.
It is one of the kinds of `agent-q-diff-white-space-free'; nil is that it may
mean something everywhere.  That there is a file at all means something, too,
however blank it is."
  (let* ((extensions (mapcar (lambda (name) (downcase (or (file-name-extension name) "")))
                             (delq nil (list (agent-q-diff-file-change-path change)
                                             (agent-q-diff-file-change-old-path change)
                                             (agent-q-diff-file-change-new-path change)))))
         ;; To find a mode takes longest.
         (mode 'unknown)
         (fits (lambda (names modes)
                 (and (seq-every-p (lambda (extension) (member extension names)) extensions)
                      (let ((mode (if (eq 'unknown mode)
                                      (setq mode (agent-q-diff-syntax--mode change))
                                    mode)))
                        (or (memq mode agent-q-diff-syntax--plain-modes)
                            (memq mode modes))))))
         (known (agent-q-diff-syntax--free-by-kind))
         (single (cadr known)))
    (and extensions
         (not (seq-some (lambda (operation)
                          (memq (car operation) '(create delete kind link)))
                        (agent-q-diff-file-change-operations change)))
         (or (cl-loop for (kind . files) in (cddr known)
                      when (funcall fits files files) return kind)
             (and (funcall fits (car known) single)
                  'words)))))

;;;; Strings and comments

(defconst agent-q-diff-syntax--max-bytes 600000
  "Number of bytes of a text up to which its syntax is analyzed.
A text of that size can take a mode a second or two.")

(defun agent-q-diff-syntax--spans (text mode)
  "Return what of TEXT are strings and comments in MODE.
The value is as for `agent-q-diff-module-set-language'."
  (with-current-buffer (agent-q-diff-fontify-buffer mode)
    (let ((inhibit-read-only t)
          (inhibit-modification-hooks nil)
          (spans nil)
          (state nil))
      ;; As one change, since a mode can take long to note one.
      (set-match-data (list (point-min) (point-max)))
      (replace-match text t t)
      (syntax-propertize (point-max))
      (goto-char (point-min))
      (while (not (eobp))
        ;; It stops at the beginning of a string or comment, and at its end.
        (setq state (parse-partial-sexp (point) (point-max) nil nil state 'syntax-table))
        (when (or (nth 3 state) (nth 4 state))
          (let ((start (- (nth 8 state) (point-min)))
                (is-comment (null (nth 3 state))))
            (setq state (parse-partial-sexp (point) (point-max) nil nil state 'syntax-table))
            (push (if is-comment (- -1 start) start) spans)
            (push (- (point) (point-min)) spans))))
      (erase-buffer)
      (nreverse spans))))

(defun agent-q-diff-syntax-hand-over (change files n-bytes)
  "Have the engine know what of the texts of CHANGE are strings and comments.
FILES are the indices of the files that matter, in order.  At most N-BYTES of
texts are analyzed, those of the first of these files.  Return non-nil unless no
file has a mode with strings or comments."
  (let ((engine (agent-q-diff-change-engine change))
        (is-any nil))
    (cl-loop
     for file in (agent-q-diff-change-files change)
     for index from 0
     for mode = (and (eql index (car files))
                     (pop files)
                     (agent-q-diff-visit-mode-for-text (agent-q-diff-syntax--mode file)))
     do (unless (memq mode agent-q-diff-syntax--plain-modes)
          (setq is-any t)
          (pcase (agent-q-diff-module-texts-without-syntax
                  engine index (min agent-q-diff-syntax--max-bytes (/ n-bytes 2)))
            (`(,original . ,modified)
             (cl-decf n-bytes (+ (string-bytes original) (string-bytes modified)))
             ;; A mode can fail on a text.  Then less is known, as of one that has no mode.
             (ignore-errors
               (agent-q-diff-module-set-language
                engine index (agent-q-diff-syntax--spacing file)
                (agent-q-diff-syntax--spans (agent-q-diff-engine-text original) mode)
                (agent-q-diff-syntax--spans (agent-q-diff-engine-text modified) mode)))))))
    is-any))

(defun agent-q-diff-syntax-white-space-free (change)
  "Return the indices of files of CHANGE where some white space means nothing.
The engine knows their strings and comments then."
  (when-let ((files (cl-loop for file in (agent-q-diff-change-files change)
                             for index from 0
                             when (agent-q-diff-syntax--spacing file) collect index)))
    (agent-q-diff-syntax-hand-over change files (* 8 agent-q-diff-syntax--max-bytes))
    files))

(defun agent-q-diff-syntax-white-space-hunks (change)
  "Return the hunks of CHANGE that change only white space.
Those are left out in which that may mean something."
  (when-let ((files (agent-q-diff-syntax-white-space-free change)))
    (agent-q-diff-module-blank-hunks (agent-q-diff-change-engine change) files)))

(provide 'agent-q-diff-syntax)
;;; agent-q-diff-syntax.el ends here
