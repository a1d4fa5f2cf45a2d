;;; agent-q-diff-fontify-test.el --- Colors inside hunks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Changed words and the colors of code, made without opening anything.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-fontify)

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

(provide 'agent-q-diff-fontify-test)
;;; agent-q-diff-fontify-test.el ends here
