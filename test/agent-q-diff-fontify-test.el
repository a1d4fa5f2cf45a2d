;;; agent-q-diff-fontify-test.el --- Colors inside hunks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Changed words and the colors of code, made without opening anything.  No
;; text of an agent's chooses code that runs, wherever it is shown.
;;
;; What a person sees is the buffer's text with display properties applied.
;; Each deceiving text is shown differently from the innocent one that it
;; could be mistaken for.
;;
;; A long line is cut off visibly and shown on demand.
;;
;; What a person sees of a long hunk, and that the text stays the whole diff.

;;; Code:

(require 'org)
(require 'tramp)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-outcome)

;;; Colors

(defun aqd-fontify-faces-of (text)
  "Return the faces of the first TEXT after point, a list."
  (save-excursion
    (search-forward text)
    (let ((face (get-text-property (match-beginning 0) 'face)))
      (if (listp face) face (list face)))))

(defmacro aqd-fontify-with-diff (original modified &rest body)
  "Run BODY in a fontified diff of ORIGINAL becoming MODIFIED, of Emacs Lisp."
  (declare (indent 2) (debug t))
  `(aqd-with-file "x"
     (let ((aqd-file (concat aqd-file ".el")))
       (aqd-write ,original)
       (aqd-call ,original ,modified
                 (lambda ()
                   (font-lock-ensure)
                   (aqd-goto-hunk 1)
                   ,@body
                   (agent-q-diff-reject-all)))
       (agent-q-diff-fontify-forget))))

(ert-deftest aqd-fontify-changed-words-and-code ()
  (aqd-fontify-with-diff "(defun foo (a)\n  (list a \"b\"))\n"
      "(defun foo (x)\n  (list x \"b\"))\n"
    (should (memq 'agent-q-diff-word-removed (aqd-fontify-faces-of "a)\n-")))
    (should (memq 'agent-q-diff-word-added (aqd-fontify-faces-of "x)\n+")))
    (should-not (memq 'agent-q-diff-word-removed (aqd-fontify-faces-of "foo")))
    (should (memq 'font-lock-keyword-face (aqd-fontify-faces-of "defun")))
    (should (memq 'font-lock-function-name-face (aqd-fontify-faces-of "foo")))
    (should (memq 'font-lock-string-face (aqd-fontify-faces-of "\"b\"")))))

(ert-deftest aqd-fontify-knows-that-a-hunk-begins-in-a-string ()
  (let ((text (concat "(defun foo ()\n  \"A string\n" (aqd-numbered 10) "of (defun bar)\n\")\n")))
    (aqd-fontify-with-diff text (string-replace "line 10" "LINE" text)
      (should (memq 'font-lock-string-face (aqd-fontify-faces-of "line 9")))
      (should-not (memq 'font-lock-keyword-face (aqd-fontify-faces-of "defun bar"))))))

(ert-deftest aqd-fontify-lines-that-are-wanted-are-colored-as-among-all ()
  (pcase-dolist (`(,mode . ,text)
                 '((c-mode . "/* A comment\nof two lines */\nint f(char *s)\n{\n    return s[0] == 'a'; // found\n}\nstruct s { int n; };\n#define N 1\nchar *t = \"a\";")
                   (emacs-lisp-mode . "(defun foo (a)\n  \"Do (defun\nwhat `a' says.\"\n  (let ((b a)) ; c\n    b))\n(defvar x nil)")
                   (sh-mode . "if true; then\ncat <<EOF\nif of the text\nEOF\nfi\necho \"$x\"")))
    (let* ((lines (split-string text "\n"))
           (all (agent-q-diff-fontify-lines "" lines mode)))
      (dotimes (from (length lines))
        (dotimes (n 3)
          (let* ((wanted (cl-loop for nth below (length lines)
                                  collect (<= from nth (+ from n))))
                 (some (agent-q-diff-fontify-lines "" lines mode wanted)))
            (cl-loop for one in all
                     for other in some
                     for is-wanted in wanted
                     when is-wanted
                     ;; Emacs 28 compares only this one's lists of faces as `equal' does.
                     do (with-suppressed-warnings
                            ((obsolete ert-equal-including-properties))
                          (should (ert-equal-including-properties one other)))))))))
  (agent-q-diff-fontify-forget))

(ert-deftest aqd-fontify-can-be-turned-off ()
  (let ((agent-q-diff-code-colors nil))
    (aqd-fontify-with-diff "(defun foo (a))\n" "(defun foo (x))\n"
      (should-not (memq 'font-lock-keyword-face (aqd-fontify-faces-of "defun")))
      (should (memq 'agent-q-diff-word-removed (aqd-fontify-faces-of "a)"))))))

(ert-deftest aqd-fontify-opens-and-visits-nothing ()
  (let ((opened nil)
        (hook-ran nil))
    (let ((emacs-lisp-mode-hook (list (lambda ()
                                        (unless buffer-file-name
                                          (setq hook-ran t)))))
          (find-file-hook (list (lambda () (push buffer-file-name opened)))))
      (aqd-fontify-with-diff "(defun foo (a))\n" "(defun foo (x))\n"
        (should (equal opened (list aqd-file)))
        (should-not hook-ran)))))

;;;; Texts that name code

(defconst aqd-fontify-naming-texts
  '("#+SETUPFILE: /etc/aqd\n#+INCLUDE: \"/etc/aqd\"\n#+STARTUP: inlineimages latexpreview
#+begin_src aqd-fontify-trap :eval (aqd-fontify-trap-mode)\n(foo)\n#+end_src
#+begin_src aqd-fontify-trap\nx\n#+end_src\nsrc_aqd-fontify-trap{x} {{{x}}} <<<x>>> \\(x\\)
#+begin_export aqd-fontify-trap\nx\n#+end_export\n#+MACRO: x (eval (aqd-fontify-trap-mode))
\\begin{aqd}\nx\n\\end{aqd}\n[[elisp:(aqd-fontify-trap-mode)]]\n|a|\n#+TBLFM: $1='(aqd-fontify-trap-mode)\n"
    "```aqd-fontify-trap\nx\n```\n~~~ {.aqd-fontify-trap}\nx\n~~~\n```{aqd-fontify-trap}\nx\n```
[source,aqd-fontify-trap]\n----\nx\n----\n.. code-block:: aqd-fontify-trap\n\n   x\n
.. include:: /etc/aqd\n"
    "<?xml version='1.0'?>\n<?xml-model href='/etc/aqd'?>
<!DOCTYPE x SYSTEM 'file:///etc/aqd' [ <!ENTITY a SYSTEM '/etc/aqd'> ]>
<x xmlns='http://a'>&a;<xi:include href='/etc/aqd'/><script type='aqd-fontify-trap'>x</script>
<script lang='aqd-fontify-trap'>y</script><style type='aqd-fontify-trap'>z</style>
<?php aqd_fontify_trap(); ?><% aqd %></x>\n"
    "#!/usr/bin/env aqd-fontify-trap\n# -*- mode: aqd-fontify-trap; eval: (aqd-fontify-trap-mode) -*-
# Local Variables:\n# mode: aqd-fontify-trap\n# eval: (aqd-fontify-trap-mode)\n# End:\n"
    "#!/bin/aqd-fontify-trap\nx\nHi-lock: ((\"x\" (0 (aqd-fontify-trap-mode) t)))\n"
    "\\documentclass{aqd}\n\\input{/etc/aqd}\n\\include{/etc/aqd}\n@include /etc/aqd\n.so /etc/aqd
\\begin{lstlisting}[language=aqd-fontify-trap]\nx\n\\end{lstlisting}
\\begin{minted}{aqd-fontify-trap}\nx\n\\end{minted}\n"
    "#include \"/etc/aqd\"\n`include \"/etc/aqd\"\n(require 'aqd-fontify-trap)
(aqd-fontify-trap-mode \"x\")\n(eval-when-compile (aqd-fontify-trap-mode))
(defmacro x () (declare (doc-string aqd-fontify-trap-mode) (indent aqd-fontify-trap-mode)) \"d\")
(gnus \"x\")\n(define-derived-mode a b \"x\")\n(cl-defmethod foo ((x)) \"doc\")
import aqd_fontify_trap\ncat <<EOF\nx\nEOF\n<<~AQD\nx\nAQD\nq(x) s{a}{b}e;\n=begin aqd\n=cut\n"
    "Content-Type: text/enriched\n
<x-display><param>(aqd-fontify-trap-mode)</param>x</x-display>\n")
  "Texts that name a function, or a file, in each way that some format has.")

(defconst aqd-fontify-effects
  '(call-process call-process-region make-process start-process make-network-process
    make-pipe-process process-file start-file-process run-at-time run-with-timer
    run-with-idle-timer timer-activate timer-activate-when-idle insert-file-contents
    insert-file-contents-literally find-file-noselect load write-region delete-file
    url-retrieve eval-region eval-buffer read-from-minibuffer y-or-n-p yes-or-no-p)
  "Functions by which code has an effect outside of its buffer.")

(defun aqd-fontify-calls (function)
  "Call FUNCTION; return which of `aqd-fontify-effects' are called, and the trap.
A text can name the function `aqd-fontify-trap-mode'."
  (let* ((calls nil)
         (advice (mapcar (lambda (name)
                           (cons name (lambda (&rest arguments)
                                        (push (cons name arguments) calls))))
                         (cons 'aqd-fontify-trap-mode aqd-fontify-effects))))
    (defalias 'aqd-fontify-trap-mode #'fundamental-mode)
    (pcase-dolist (`(,name . ,note) advice)
      (advice-add name :before note))
    ;; To advise a primitive, Emacs may compile a trampoline.
    (setq calls nil)
    (unwind-protect
        ;; Emacs's own timer, for any edit, is no effect of the text.
        (let ((undo-auto-current-boundary-timer t))
          (funcall function))
      (pcase-dolist (`(,name . ,note) advice)
        (advice-remove name note))
      (fmakunbound 'aqd-fontify-trap-mode))
    calls))

(defun aqd-fontify-modes ()
  "Return all modes that this Emacs turns on for a file by its name or contents."
  (delete-dups
   (cl-loop for entry in (append auto-mode-alist interpreter-mode-alist magic-mode-alist
                                 magic-fallback-mode-alist)
            for mode = (if (consp (cdr entry)) (cadr entry) (cdr entry))
            ;; Those of tree-sitter take a grammar.
            when (and mode (symbolp mode)
                      (not (string-suffix-p "-ts-mode" (symbol-name mode))))
            collect mode)))

(defun aqd-fontify-color (text mode)
  "Color TEXT in MODE as in a diff."
  (agent-q-diff-fontify-lines "" (split-string text "\n") mode))

(defun aqd-fontify-show-outcome (text mode)
  "Show TEXT in MODE as the outcome of a review is shown."
  (with-temp-buffer
    (agent-q-diff-outcome--fill text mode "")
    (font-lock-ensure)))

(defun aqd-fontify-edit (text mode)
  "Show TEXT as it is edited if the target is in MODE."
  (with-temp-buffer
    (agent-q-diff-edit--major-mode (agent-q-diff-fontify-buffer mode))
    (insert text)
    (font-lock-ensure)))

(ert-deftest aqd-fontify-no-text-chooses-code-in-any-mode-of-this-emacs ()
  :tags '(slow)
  (let ((inhibit-message t)
        (n-colored 0))
    (dolist (mode (aqd-fontify-modes))
      (when-let ((shown (agent-q-diff-visit-mode-for-text mode)))
        (cl-incf n-colored)
        (with-temp-buffer
          ;; Loads what it needs.
          (agent-q-diff-visit-turn-on shown))
        (should-not
         (aqd-fontify-calls
          (lambda ()
            (dolist (text aqd-fontify-naming-texts)
              (dolist (function (list #'aqd-fontify-color #'agent-q-diff-outcome--flaw
                                      #'aqd-fontify-show-outcome #'aqd-fontify-edit))
                ;; A mode may fail to read a text that is not in its language.
                (ignore-error scan-error
                  (funcall function text shown)))))))))
    (agent-q-diff-fontify-forget)
    (should (< 60 n-colored))))

(ert-deftest aqd-fontify-no-name-and-no-text-chooses-code ()
  "An agent's tool names the file, and that need not exist."
  (let ((inhibit-message t))
    (dolist (name '("a.org" "a.ses" "a.tar" "a.zip" "a.png" "a.pdf" "a.BROWSE" "a.md" "a.xml"
                    "a.tex" "a.conf" "a.h" "a" ".emacs.desktop" "a.elc" "/ssh:host:/a.org"))
      ;; What the name alone loads, Emacs has from now on.
      (dolist (text '("x\n" "#!/bin/sh\nx\n" "#!/usr/bin/perl\nx\n" "#!/usr/bin/python\nx\n"))
        (with-current-buffer
            (agent-q-diff-visit-detached (expand-file-name name "/nowhere/") text)
          (font-lock-ensure)
          (kill-buffer)))
      (dolist (text aqd-fontify-naming-texts)
        (should-not (aqd-fontify-calls
                     (lambda ()
                       (with-current-buffer
                           (agent-q-diff-visit-detached (expand-file-name name "/nowhere/")
                                                        text)
                         (font-lock-ensure)
                         (should (equal text (buffer-string)))
                         (kill-buffer)))))))))

(defmacro aqd-fontify-with-org-review (&rest body)
  "Run BODY in a review that proposes an Org text which names functions and files."
  (declare (indent 0) (debug t))
  `(aqd-with-file "x"
     (let ((aqd-file (concat aqd-file ".org"))
           (original "* Title\n"))
       (aqd-write original)
       (aqd-call original (concat original (car aqd-fontify-naming-texts))
                 (lambda ()
                   (pop-to-buffer (current-buffer))
                   ,@body
                   (agent-q-diff-reject-all)))
       (agent-q-diff-fontify-forget))))

(ert-deftest aqd-fontify-a-block-in-org-calls-nothing ()
  :tags '(slow)
  (aqd-fontify-with-org-review
    (should-not (aqd-fontify-calls #'font-lock-ensure))
    ;; It has colors all the same.
    (goto-char (point-min))
    (should (memq 'org-block-begin-line (aqd-fontify-faces-of "begin_src")))))

(ert-deftest aqd-fontify-the-outcome-in-org-opens-and-calls-nothing ()
  (aqd-fontify-with-org-review
    (should-not (aqd-fontify-calls
                 (lambda ()
                   (agent-q-diff-show-outcome t)
                   (with-current-buffer agent-q-diff-outcome--buffer-name
                     (should (derived-mode-p 'org-mode))
                     (font-lock-ensure)))))
    (kill-buffer agent-q-diff-outcome--buffer-name)))

(ert-deftest aqd-fontify-editing-a-hunk-of-org-calls-nothing ()
  (aqd-fontify-with-org-review
    ;; Emacs has a timer for undo.
    (let ((undo-auto-current-boundary-timer t))
      (should-not (aqd-fontify-calls
                   (lambda ()
                     (agent-q-diff-edit-hunk)
                     (aqd-in-small-buffer
                       (font-lock-ensure)
                       (agent-q-diff-edit-abort))))))))

(ert-deftest aqd-fontify-a-clone-of-the-diff-opens-and-calls-nothing ()
  (aqd-fontify-with-org-review
    (should-not (aqd-fontify-calls
                 (lambda ()
                   (with-current-buffer (clone-indirect-buffer "*aqd-clone*" nil)
                     (font-lock-ensure)
                     (kill-buffer)))))))

(define-minor-mode aqd-fontify-busy-mode "A mode of the user's that looks at files.")
(define-globalized-minor-mode aqd-fontify-busy-everywhere-mode aqd-fontify-busy-mode
  aqd-fontify-busy-mode
  :group 'agent-q-diff)

(ert-deftest aqd-fontify-where-code-is-colored-the-user-s-modes-are-off ()
  (aqd-fontify-busy-everywhere-mode)
  (unwind-protect
      (let ((prog-mode-hook (list #'aqd-fontify-busy-mode)))
        (with-current-buffer (agent-q-diff-fontify-buffer 'emacs-lisp-mode)
          (run-hooks 'post-command-hook)
          (should-not aqd-fontify-busy-mode)))
    (aqd-fontify-busy-everywhere-mode -1)
    (agent-q-diff-fontify-forget)))

(ert-deftest aqd-fontify-what-the-user-edits-has-global-modes-but-runs-no-hook ()
  "Flymake, in a hook, would evaluate macros that the text has."
  (aqd-fontify-busy-everywhere-mode)
  (unwind-protect
      (let ((emacs-lisp-mode-hook (list (lambda ()
                                          (unless buffer-file-name
                                            (ert-fail "The hook ran"))))))
        (aqd-with-review "(foo)\n" "(bar)\n"
          (aqd-in-target (let ((emacs-lisp-mode-hook nil)) (emacs-lisp-mode)))
          (agent-q-diff-edit-hunk)
          (aqd-in-small-buffer
            (should (derived-mode-p 'emacs-lisp-mode))
            (should aqd-fontify-busy-mode)
            (agent-q-diff-edit-abort))))
    (aqd-fontify-busy-everywhere-mode -1)))

(define-derived-mode aqd-fontify-notes-mode text-mode "Notes")

(ert-deftest aqd-fontify-a-markup-that-nobody-knows-is-shown-as-text ()
  (should (eq 'text-mode (agent-q-diff-visit-mode-for-text 'aqd-fontify-notes-mode)))
  (should (eq 'emacs-lisp-mode (agent-q-diff-visit-mode-for-text 'emacs-lisp-mode)))
  (should-not (agent-q-diff-visit-mode-for-text 'archive-mode))
  (should-not (agent-q-diff-visit-mode-for-text 'ses-mode)))

;;; Misleading characters by number

(defun aqd-confusables-shown-text (text)
  "Return how the diff buffer shows the added line TEXT."
  (let (shown)
    (aqd-with-shown-diff "a\n" (concat "a\n" text "\n")
      (goto-char (point-min))
      (re-search-forward "^\\+[^+]")
      (setq shown (aqd-shown (line-beginning-position) (line-end-position))))
    shown))

(defconst aqd-confusables-deceptions
  '(;; Controls of direction.
    ("a = \u202e1; // x" . "a = 1; // x") ("a \u202d b" . "a  b")
    ("a\u202ab" . "ab") ("a\u202bb" . "ab") ("a\u202cb" . "ab")
    ("a\u2066b" . "ab") ("a\u2067b" . "ab") ("a\u2068b" . "ab")
    ("a\u2069b" . "ab") ("a\u200eb" . "ab") ("a\u200fb" . "ab") ("a\u061cb" . "ab")
    ;; Characters without width.
    ("pass\u200bword" . "password") ("a\u200cb" . "ab") ("a\u200db" . "ab")
    ("a\u2060b" . "ab") ("a\ufeffb" . "ab") ("a\u00adb" . "ab")
    ("a\u034fb" . "ab") ("a\u180eb" . "ab") ("a\u115fb" . "ab")
    ("a\u3164b" . "ab") ("a\uffa0b" . "ab") ("a\ufe0fb" . "ab")
    ("a\U000E0041b" . "ab") ("a\U000E0100b" . "ab") ("a\u2061b" . "ab")
    ("a\u17b4b" . "ab") ("a\ufff9b" . "ab")
    ;; Odd spaces and ends of lines.
    ("a\u00a0b" . "a b") ("a\u2002b" . "a b") ("a\u2009b" . "a b")
    ("a\u202fb" . "a b") ("a\u205fb" . "a b") ("a\u3000b" . "a b")
    ("a\u1680b" . "a b") ("a\u2800b" . "a b") ("a\u2028b" . "a b")
    ("a\u2029b" . "a b")
    ;; Controls.
    ("a\eb" . "a^[b") ("a\rb" . "a^Mb") ("a\0b" . "a^@b") ("a\bb" . "a^Hb")
    ("a\u007fb" . "a^?b") ("a\u009bb" . "a\\233b") ("a\u0085b" . "a\\205b")
    ;; Letters and signs that look like others.
    ("p\u0430ypal" . "paypal") ("\u0441\u0440\u0430" . "cpa") ("n\u03bfne" . "none")
    ("\u0391dmin" . "Admin") ("\u0405cope" . "Scope") ("i\u217c" . "il")
    ("\uff49f" . "if") ("\U0001d41fn" . "fn") ("a \u2215 b" . "a / b")
    ("x\u037e" . "x;") ("x\uff1b" . "x;") ("a\u01c3= b" . "a!= b")
    ("a \u2212 b" . "a - b") ("a\u2010b" . "a-b") ("\u2024\u2024/x" . "../x")
    ("\ua789x" . ":x") ("r\u00e9sum\u00e9e\u0301" . "r\u00e9sum\u00e9\u00e9")
    ("if (a \u2236 b)" . "if (a : b)"))
  "Deceiving texts, each with the innocent one that it could be mistaken for.")

(ert-deftest aqd-confusables-a-deceiving-text-differs-from-its-innocent-twin ()
  (should (<= 60 (length aqd-confusables-deceptions)))
  (pcase-dolist (`(,deceiving . ,innocent) aqd-confusables-deceptions)
    (let ((shown (aqd-confusables-shown-text deceiving)))
      (should (string-match-p "<\\(?:U\\+[0-9A-F]\\{4,\\}\\)>" shown))
      (should-not (equal shown (aqd-confusables-shown-text innocent)))
      ;; What is shown has no confusables itself.
      (should-not (agent-q-diff-engine-suspects shown)))))

(ert-deftest aqd-confusables-an-innocent-text-is-shown-as-it-is ()
  (dolist (text '("(defun naïve (x) \"quoted\" 'so)" "Привет, это а" "变量：值" "α + β ≤ γ"
                  "❤️ ☎️" "tab\there" "x × y – z…"))
    (should (equal (aqd-confusables-shown-text text) (concat "+" text)))))

(ert-deftest aqd-confusables-everywhere-in-the-buffer ()
  ;; Names, descriptions, headings, and raw bytes.
  (aqd-with-file "f\u202eoo(\n1\n2\n3\n4\na\n"
    (let ((aqd-file (concat aqd-file "\u00a0")))
      (aqd-write "f\u202eoo(\n1\n2\n3\n4\na\n")
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (pop-to-buffer (current-buffer))
                   (let ((shown (aqd-shown (point-min) (point-max))))
                     (should (string-search "Description: " shown))
                     (should (string-search "target.txt<U+00A0>\n" shown))
                     (should (string-search "Description: Do <U+2066>it" shown))
                     (should (string-search "@@ -3,4 +3,4 @@ f<U+202E>oo(" shown))
                     (should (string-search "+x<FF>y\n" shown))
                     (should (string-search "Note: 3 misleading characters are shown"
                                            shown)))
                   (agent-q-diff-reject-all))))
        (agent-q-diff-review-and-wait aqd-file "f\u202eoo(\n1\n2\n3\n4\na\n"
                                      "f\u202eoo(\n1\n2\n3\n4\nx\377y\n"
                                      "Do \u2066it")))))

(ert-deftest aqd-confusables-help-names-what-is-visible ()
  (aqd-with-shown-diff "a\n" "a\nb\u202ec\u00a0\n"
    (goto-char (point-min))
    (agent-q-diff-all-keys)
    (with-current-buffer "*Agent-Q Diff Help*"
      (should (string-search "<U+202E> RIGHT-TO-LEFT OVERRIDE: changes the direction"
                             (buffer-string)))
      (should (string-search "<U+00A0> NO-BREAK SPACE: looks like a space"
                             (buffer-string))))
    (goto-char (point-min))
    (re-search-forward "^\\+b")
    (jit-lock-fontify-now (point) (1+ (point)))
    (should (string-match-p "RIGHT-TO-LEFT OVERRIDE"
                            (funcall (get-text-property (point) 'help-echo))))))

(ert-deftest aqd-confusables-nothing-of-the-agents-is-more-than-text ()
  (let* ((map (make-sparse-keymap))
         (bad (lambda (text)
                (propertize text 'display "innocent" 'keymap map 'invisible t
                            'read-only t 'modification-hooks '(error)
                            'point-entered #'error 'syntax-table '(1)))))
    (aqd-with-file "a\n"
      (let ((agent-q-diff-call (agent-q-diff-call-make :agent (funcall bad "agent")))
            (review nil))
        (setq review (agent-q-diff-review (funcall bad aqd-file) (funcall bad "a\n")
                                          (funcall bad "b\n") (funcall bad "Why") nil))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (should-not (text-properties-at 0 (agent-q-diff-session-agent review)))
          (let ((at (point-min)))
            (while (< at (point-max))
              (should-not (cl-intersection (text-properties-at at)
                                           '(keymap invisible read-only point-entered
                                                    modification-hooks syntax-table
                                                    display)))
              (cl-incf at)))
          (agent-q-diff-accept-all))
        (should-not (with-current-buffer (find-buffer-visiting aqd-file)
                      (text-properties-at (point-min))))))))

;;; Very long lines

(ert-deftest aqd-long-lines-are-cut-visibly-and-shown-on-demand ()
  (aqd-with-shown-diff "a\n" (concat "a\n" (make-string 3000 ?y) "z\n")
    (goto-char (point-min))
    (re-search-forward "^\\+y")
    (let ((shown (lambda () (aqd-shown (line-beginning-position) (line-end-position)))))
      (should (string-match-p "\\`\\+y\\{999\\}… 2002 more characters, x shows them\\'"
                              (funcall shown)))
      (agent-q-diff-expand-line)
      (should (string-suffix-p "yz" (funcall shown)))
      (agent-q-diff-expand-line)
      (should (string-match-p "2002 more" (funcall shown)))
      (forward-line -1)
      (should-error (agent-q-diff-expand-line) :type 'user-error))))

;;; The middle of long hunks, and the rest of a description

(defconst aqd-fold-original (aqd-numbered 60)
  "A file.")

(defun aqd-fold-modified (n)
  "Return what is proposed for that file: N lines more, and a small hunk below."
  (concat (aqd-numbered 10)
          (mapconcat (lambda (number) (format "added %d\n" number))
                     (number-sequence 1 n) "")
          (string-remove-prefix (aqd-numbered 10) (aqd-numbered 60 '((40 . "forty"))))))

(defmacro aqd-fold-with-hunk (n &rest body)
  "Run BODY in the diff buffer of a hunk that adds N lines; 10 are shown at once."
  (declare (indent 1) (debug t))
  `(let ((agent-q-diff-hunk-lines 10))
     (aqd-with-review aqd-fold-original (aqd-fold-modified ,n)
       (pop-to-buffer (current-buffer))
       (aqd-goto-hunk 1)
       ,@body)))

(defun aqd-fold-seen ()
  "Return the lines that are seen from the first hunk on, signs in their place."
  (let ((seen ""))
    (save-excursion
      (aqd-goto-hunk 1)
      (while (not (eobp))
        (dolist (overlay (overlays-at (point)))
          (when (eq (overlay-start overlay) (point))
            (setq seen (concat seen (overlay-get overlay 'before-string)))))
        (unless (invisible-p (point))
          (setq seen (concat seen (string (char-after)))))
        (forward-char)))
    (split-string (substring-no-properties seen) "\n" t)))

(defun aqd-fold-sign ()
  "Return the line that stands for those hidden, or nil if none are."
  (seq-find (lambda (line) (string-prefix-p "… " line)) (aqd-fold-seen)))

(ert-deftest aqd-fold-the-middle-of-a-long-hunk-is-one-line-with-its-size ()
  (aqd-fold-with-hunk 100
    (should (equal (seq-take (aqd-fold-seen) 13)
                   '("@@ -8,6 +8,106 @@ line 7"
                     " line 8" " line 9" " line 10" "+added 1" "+added 2"
                     "… 96 more lines, x shows them"
                     "+added 99" "+added 100" " line 11" " line 12" " line 13"
                     "@@ -37,7 +137,7 @@ line 36")))))

(ert-deftest aqd-fold-a-hunk-that-just-fits-is-shown-whole ()
  (aqd-fold-with-hunk 4
    (should-not (aqd-fold-sign)))
  (aqd-fold-with-hunk 5
    (should (equal (aqd-fold-sign) "… 1 more line, x shows it"))))

(ert-deftest aqd-fold-x-shows-them-and-hides-them-again ()
  (aqd-fold-with-hunk 100
    (aqd-press "x")
    (should-not (aqd-fold-sign))
    (should (member "+added 50" (aqd-fold-seen)))
    (search-forward "+added 50")
    (aqd-press "x")
    (should (equal (aqd-fold-sign) "… 96 more lines, x shows them"))
    ;; Point is where one sees it, and where the same key works.
    (should (looking-at-p "\\+added 3$"))
    (search-forward "added 98")
    (aqd-press "x")
    (should-not (aqd-fold-sign))
    (should (looking-at-p "\\+added 3$"))
    (aqd-goto-hunk 2)
    (should-error (agent-q-diff-expand-line) :type 'user-error)))

(ert-deftest aqd-fold-the-text-stays-the-whole-diff ()
  (aqd-fold-with-hunk 100
    (should (= 100 (how-many "^\\+added " (point-min) (point-max))))
    (let ((copied (buffer-substring-no-properties (point) (point-max))))
      (should (string-search "+added 50\n" copied)))
    (diff-hunk-next)
    (should (looking-at-p "@@ -37,7 \\+137,7 @@"))
    (aqd-press "p a")
    (should (equal (aqd-target)
                   (string-replace "forty" "line 40" (aqd-fold-modified 100))))))

(ert-deftest aqd-fold-stays-with-what-is-decided ()
  (aqd-fold-with-hunk 100
    (aqd-press "a")
    (should (equal (aqd-progress) "1/2 applied, 0 rejected, 1 pending"))
    (should (equal (aqd-fold-sign) "… 96 more lines, x shows them"))
    (aqd-press "p x u r")
    (should (equal (aqd-progress) "0/2 applied, 1 rejected, 1 pending"))
    (should-not (aqd-fold-sign))))

(ert-deftest aqd-fold-hunks-that-are-printed-anew-are-folded-anew ()
  (aqd-fold-with-hunk 100
    (search-forward "+added 50")
    (push-mark (line-beginning-position) t t)
    (forward-line 30)
    (let ((transient-mark-mode t))
      (agent-q-diff-reject-hunk))
    (should (equal (seq-filter (lambda (line) (string-match-p "\\`\\(@@\\|\\[\\|…\\)" line))
                               (aqd-fold-seen))
                   '("@@ -8,3 +8,52 @@ line 7" "… 42 more lines, x shows them"
                     "[REJECTED] @@ -10,0 +60,30 @@ line 10" "… 20 more lines, x shows them"
                     "@@ -11,3 +90,24 @@ line 10" "… 14 more lines, x shows them"
                     "@@ -37,7 +137,7 @@ line 36")))))

(ert-deftest aqd-fold-searching-shows-what-it-finds ()
  (aqd-fold-with-hunk 100
    (isearch-mode t)
    (isearch-process-search-string "added 50" "added 50")
    (isearch-exit)
    (should (looking-back "added 50" (line-beginning-position)))
    (should-not (invisible-p (1- (point))))
    (should-not (aqd-fold-sign))))

(ert-deftest aqd-fold-hiding-the-hunk-leaves-no-second-sign ()
  (aqd-fold-with-hunk 100
    (aqd-press "r h")
    (should-not (aqd-fold-sign))))

(ert-deftest aqd-fold-nothing-is-hidden-if-the-option-says-so ()
  (let ((agent-q-diff-hunk-lines nil))
    (aqd-with-review aqd-fold-original (aqd-fold-modified 5000)
      (should-not (seq-find #'invisible-p
                            ;; Above it, lines that only name the file are.
                            (number-sequence (agent-q-diff-buffer-position 0)
                                             (point-max) 10))))))

(ert-deftest aqd-fold-lines-in-the-region-are-those-that-were-selected ()
  "Reading the hunks of a diff of the user's own hides the middle of this one."
  (aqd-with-file aqd-fold-original
    (let ((agent-q-diff-hunk-lines 10)
          (transient-mark-mode t)
          (diff (concat "--- a/target.txt\n+++ b/target.txt\n@@ -8,6 +8,106 @@\n"
                        " line 8\n line 9\n line 10\n"
                        (mapconcat (lambda (number) (format "+added %d\n" number))
                                   (number-sequence 1 100) "")
                        " line 11\n line 12\n line 13\n")))
      (dolist (key '("r" "a"))
        (with-temp-buffer
          (insert diff)
          (agent-q-diff-mode)
          (setq buffer-read-only t
                agent-q-diff-buffer-path aqd-file)
          (switch-to-buffer (current-buffer))
          (goto-char (point-min))
          (search-forward "\n+added 50")
          (beginning-of-line)
          (push-mark (point) t t)
          (forward-line 5)
          (aqd-press key)
          (goto-char (point-min))
          (should (search-forward "@@ -10,0 +60,5 @@")))))
    (should (equal (aqd-disk)
                   (concat (aqd-numbered 10)
                           "added 50\nadded 51\nadded 52\nadded 53\nadded 54\n"
                           (string-remove-prefix (aqd-numbered 10) aqd-fold-original))))))

;;;; A long description

(defmacro aqd-fold-with-description (description height &rest body)
  "Run BODY in a window of about HEIGHT lines with a review that has DESCRIPTION."
  (declare (indent 2) (debug t))
  `(aqd-with-frame 80 ,height
     (aqd-with-file (aqd-numbered 40)
       (let ((review (agent-q-diff-review aqd-file (aqd-numbered 40)
                                          (aqd-numbered 40 '((5 . "a"))) ,description
                                          #'ignore)))
         (unwind-protect
             (save-window-excursion
               (switch-to-buffer (agent-q-diff-session-buffer review))
               (delete-other-windows)
               (agent-q-diff-current-appear (selected-window))
               ,@body)
           (agent-q-diff-cancel review))))))

(defun aqd-fold-above ()
  "Return the lines that the window has above the first hunk, signs in their place.
The beginnings of lines that are wrapped are lines as well."
  (let ((fold (agent-q-diff-fold--description-fold)))
    (append
     (save-excursion
       (goto-char (point-min))
       (cl-loop with end = (if fold
                               (overlay-start fold)
                             (1- (cdr (agent-q-diff-fold--description))))
                while (< (point) end)
                collect (buffer-substring-no-properties
                         (point) (progn (vertical-motion 1) (min end (point))))))
     (and fold
          (list (substring-no-properties
                 (string-trim-left (overlay-get fold 'before-string) "\n")))))))

(ert-deftest aqd-fold-of-a-long-description-a-third-of-the-window-is-shown ()
  (pcase-dolist (`(,height ,n ,n-hidden) '((12 3 nil) (12 4 2) (12 12 10)
                                           (24 7 nil) (24 8 2) (24 100 94)))
    (ert-info ((format "%d lines in %d" n height))
      (aqd-fold-with-description (string-trim-right (aqd-numbered n)) height
        (let ((seen (aqd-fold-above)))
          (should (<= (length seen) (/ (window-body-height) 3)))
          (if n-hidden
              (should (equal (car (last seen))
                             (format "… %d more lines, x shows them" n-hidden)))
            (should (length= seen n))))
        ;; Only the display changes.
        (should (string-search (format "\n# line %d\n" n) (buffer-string)))))))

(ert-deftest aqd-fold-lines-of-a-description-count-as-the-window-wraps-them ()
  (dolist (description (list (make-string 900 ?x)
                             (make-string 450 ?漢)
                             (mapconcat #'identity (make-list 12 (make-string 75 ?y)) " ")))
    (aqd-fold-with-description description 24
      (let ((seen (aqd-fold-above)))
        (should (= 7 (length seen)))
        (should (string-match-p "\\`… [67] more lines, x shows them\\'" (car (last seen))))))))

(ert-deftest aqd-fold-a-description-is-shown-whole-by-either-key-and-from-the-first-hunk ()
  (pcase-dolist (`(,there ,key) '(("" "x") ("M-<" "x") ("M-<" "TAB")))
    (aqd-fold-with-description (aqd-numbered 30) 24
      (aqd-press (concat there " " key))
      (should-not (agent-q-diff-fold--description-fold))
      ;; What was hidden is read next.
      (should-not (agent-q-diff-buffer-hunk-at-point))
      (should-not (seq-some #'agent-q-diff-filter--folded '(0)))
      (aqd-press (if (equal "TAB" key) key "x"))
      (should (agent-q-diff-fold--description-fold)))))

(ert-deftest aqd-fold-a-description-stays-as-the-user-left-it ()
  (aqd-fold-with-description (aqd-numbered 30) 24
    (aqd-press "x")
    (agent-q-diff-current-appear (selected-window))
    (should-not (agent-q-diff-fold--description-fold))
    ;; Where nothing is hidden, the keys are those of hunks.
    (aqd-press "n")
    (should-error (agent-q-diff-expand-line) :type 'user-error)))

(ert-deftest aqd-fold-a-description-of-one-very-long-line-is-not-cut-twice ()
  (aqd-fold-with-description (make-string 3000 ?x) 24
    (aqd-press "M-< x")
    (should-not (agent-q-diff-fold--description-fold))
    ;; Then it is a long line as any other.
    (aqd-press "M-< x")
    (should (memq (line-beginning-position)
                  (mapcar #'marker-position agent-q-diff-long-lines--expanded)))))

(ert-deftest aqd-fold-lines-that-name-the-file-twice-are-hidden-not-gone ()
  (aqd-fold-with-description "d" 24
    (goto-char (point-min))
    (should (re-search-forward (format "^--- %s\n\\+\\+\\+ .*\n@@"
                                       (regexp-quote (abbreviate-file-name aqd-file)))))
    (should (invisible-p (match-beginning 0)))
    (should-not (invisible-p (- (point) 2)))
    (should (string-match-p " · target\\.txt: hunk " header-line-format))
    ;; Whoever copies the diff copies it all.
    (should (string-search "\n+++ " (filter-buffer-substring (point-min) (point-max)))))
  (aqd-with-frame 200 24
    (aqd-fold-with-description "d" 24
      (set-frame-size nil 200 24)
      (agent-q-diff-progress-update-header-line)
      (should (string-suffix-p (concat " · in " (abbreviate-file-name
                                                 (file-name-directory aqd-file)))
                               header-line-format)))))

(provide 'agent-q-diff-fontify-test)
;;; agent-q-diff-fontify-test.el ends here
