;;; agent-q-diff-fontify-test.el --- Colors inside hunks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Changed words and the colors of code, made without opening anything.  No
;; text of an agent's chooses code that runs, wherever it is shown.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-outcome)
(require 'org)
(require 'tramp)

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
  (agent-q-diff-fontify--colored "" (split-string text "\n") mode))

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
                   (with-current-buffer agent-q-diff-outcome-buffer-name
                     (should (derived-mode-p 'org-mode))
                     (font-lock-ensure)))))
    (kill-buffer agent-q-diff-outcome-buffer-name)))

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

(provide 'agent-q-diff-fontify-test)
;;; agent-q-diff-fontify-test.el ends here
