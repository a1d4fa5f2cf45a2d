;;; gemini-test.el --- Edits of Gemini CLI, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; See agents-tools.el and agents-matrix.el.

;;; Code:

(require 'agents-matrix)
(require 'agents-models)
(require 'agents-turns)
(require 'agents-rounds)
(require 'agents-ends)

(agents-define-matrix "gemini")

(agents-define-turns "gemini")

(agents-define-rounds "gemini")

(agents-define-ends "gemini")

(agents-define-models "gemini")

(ert-deftest agents-gemini-a-program-that-is-gone-writes-nothing ()
  (agents-with-home-of-its-own
    (agents-with-emacs "gemini"
      (agents-lose-program "gemini" ".gemini/settings.json")
      (agents-put "a.txt" (e2e-text))
      (apply #'agents-start "gemini" (agents-edit "gemini" "a.txt" "line 5\n" "LINE 5\n"))
      (agents-should-read (agents-end) "\\`Tool execution blocked: ")
      (should (equal (agents-bytes "a.txt") (e2e-text))))))

(provide 'gemini-test)
;;; gemini-test.el ends here
