;;; agent-q-diff-package-test.el --- What the package promises as a whole  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Options and their types, the headers and the autoloads.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'lisp-mnt)
(require 'wid-edit)
(require 'cus-edit)

(defconst aqd-package-lisp (file-name-directory (locate-library "agent-q-diff"))
  "Folder of the package's Lisp files.")

(defun aqd-package-features ()
  "Return the package's features, in the order of their files' names."
  (mapcar (lambda (file) (intern (file-name-base file)))
          (directory-files aqd-package-lisp t "agent-q-diff[a-z-]*\\.el\\'")))

(mapc #'require (aqd-package-features))

(defun aqd-package-symbols (predicate)
  "Return the package's own symbols of which PREDICATE is true, sorted."
  (let (found)
    (mapatoms (lambda (symbol)
                (when (and (string-prefix-p "agent-q-diff" (symbol-name symbol))
                           (funcall predicate symbol))
                  (push symbol found))))
    (sort found #'string<)))

(defun aqd-package-options ()
  "Return the package's options.  Hooks of modes are Emacs's own business."
  (aqd-package-symbols
   (lambda (symbol)
     (and (custom-variable-p symbol)
          (not (string-suffix-p "-mode-hook" (symbol-name symbol)))))))

;;;; Options

(ert-deftest aqd-package-every-option-has-a-type-that-takes-its-default ()
  (should (> (length (aqd-package-options)) 25))
  (dolist (option (aqd-package-options))
    (let ((type (get option 'custom-type))
          (default (eval (car (get option 'standard-value)) t)))
      (should type)
      (should (widgetp (widget-convert type)))
      (ert-info ((format "%s: %S" option default))
        (should (widget-apply (widget-convert type) :match default))))))

(ert-deftest aqd-package-every-option-is-documented-and-in-a-group ()
  (let ((grouped (let (found)
                   (cl-labels ((walk (group)
                                 (pcase-dolist (`(,member ,kind)
                                                (get group 'custom-group))
                                   (if (eq kind 'custom-group)
                                       (walk member)
                                     (push member found)))))
                     (walk 'agent-q-diff))
                   found)))
    (dolist (option (aqd-package-options))
      (ert-info ((symbol-name option))
        (should (memq option grouped))
        (should (string-match-p
                 "\\`[A-Z].*[.:]$"
                 (documentation-property option 'variable-documentation t)))))))

(ert-deftest aqd-package-customize-shows-every-option ()
  "The widgets are really made, as `customize-group' makes them."
  (save-window-excursion
    (dolist (option (aqd-package-options))
      (ert-info ((symbol-name option))
        (with-temp-buffer
          (should (widget-create (custom-variable-type option)
                                 :value (symbol-value option))))))))

;;;; Headers and autoloads

(ert-deftest aqd-package-main-file-has-the-headers ()
  (with-temp-buffer
    (insert-file-contents (expand-file-name "agent-q-diff.el" aqd-package-lisp))
    (should (equal (lm-summary) "Review an AI agent's edits hunk by hunk"))
    (should (lm-header "author"))
    (should (equal (read (lm-header "package-requires")) '((emacs "28.1"))))
    (should (equal (lm-header "SPDX-License-Identifier") "GPL-3.0-or-later"))
    (should (lm-commentary))))

(defun aqd-package-in-files (files regexp)
  "Return what REGEXP finds in FILES of the package, symbols."
  (let ((names '()))
    (dolist (file files names)
      (with-temp-buffer
        (insert-file-contents (expand-file-name file aqd-package-lisp))
        (while (re-search-forward regexp nil t)
          (push (intern (match-string 1)) names))))))

(ert-deftest aqd-package-main-file-knows-what-a-package-manager-would-autoload ()
  "Without one, whoever required it is told to call \\`M-x agent-q-diff-list'.
The connectors for SLY, Common Lisp and gptel are required by their own names."
  (let ((cookies (aqd-package-in-files
                  (directory-files aqd-package-lisp nil "\\`agent-q-diff.*\\.el\\'")
                  "^;;;###autoload\n([a-z-]+ '?\\([^ ()\n]+\\)")))
    (should (memq 'agent-q-diff-list cookies))
    (should-not (seq-difference
                 cookies
                 (append '(agent-q-diff-lisp-mode agent-q-diff-gptel-register)
                         (aqd-package-in-files '("agent-q-diff.el")
                                               "^(autoload '\\([^ ]+\\)"))))))

;;;; The manual

(defun aqd-package-in-manual (regexp)
  "Return the names that REGEXP finds in the manual's source, sorted."
  (let ((names '()))
    (with-temp-buffer
      (insert-file-contents (expand-file-name "../doc/agent-q-diff.texi"
                                              aqd-package-lisp))
      (while (re-search-forward regexp nil t)
        (push (intern (match-string 1)) names)))
    (sort names #'string<)))

(ert-deftest aqd-package-manual-has-every-command-and-nothing-else ()
  (let ((commands '()))
    (mapatoms (lambda (symbol)
                (when (and (string-match-p "\\`\\(?:sly-\\)?agent-q-"
                                           (symbol-name symbol))
                           (not (string-match-p "--" (symbol-name symbol)))
                           (commandp symbol))
                  (push symbol commands))))
    (should (equal (aqd-package-in-manual "^@deffnx? Command \\([^ \n]+\\)")
                   (sort commands #'string<)))))

(ert-deftest aqd-package-manual-has-every-option-and-nothing-else ()
  (should (equal (aqd-package-in-manual "^@defopt \\([^ \n]+\\)")
                 (remq 'agent-q-diff-lisp-mode (aqd-package-options)))))

(ert-deftest aqd-package-manual-has-every-error-and-nothing-else ()
  (should (equal (remq 'agent-q-diff-error
                       (aqd-package-in-manual "^@itemx? \\(agent-q-diff-[a-z-]+\\)$"))
                 (remq 'agent-q-diff-error
                       (aqd-package-symbols
                        (lambda (symbol) (get symbol 'error-conditions)))))))

(ert-deftest aqd-package-readme-has-every-option ()
  (with-temp-buffer
    (insert-file-contents (expand-file-name "../README.md" aqd-package-lisp))
    (dolist (option (remq 'agent-q-diff-lisp-mode (aqd-package-options)))
      (goto-char (point-min))
      (ert-info ((symbol-name option))
        (should (search-forward (format "`%s`" option) nil t))))))

(provide 'agent-q-diff-package-test)
;;; agent-q-diff-package-test.el ends here
