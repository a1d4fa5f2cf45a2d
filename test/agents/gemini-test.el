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

(agents-define-interruption "gemini")

(agents-define-models "gemini")

(ert-deftest agents-gemini-a-program-that-is-gone-writes-nothing ()
  (agents-with-home-of-its-own
    (agents-with-emacs "gemini"
      (agents-lose-program "gemini" ".gemini/settings.json")
      (agents-put "a.txt" (e2e-text))
      (apply #'agents-start "gemini" (agents-edit "gemini" "a.txt" "line 5\n" "LINE 5\n"))
      (agents-should-read (agents-end) "\\`Tool execution blocked: ")
      (should (equal (agents-bytes "a.txt") (e2e-text))))))

;; It says nothing, and writes the prompt into its record once more.
(ert-deftest agents-gemini-after-a-refused-command-its-turn-is-over ()
  (agents-with-emacs "gemini"
    (agents-turns--begin)
    (let ((agents-gemini-mode "default"))
      (agents-terminal-start "gemini" (agents-ends--shout "gemini" 5 "a.txt")))
    (agents-terminal-prompt "Begin.")
    (agents-terminal-escape "Allow execution of")
    (agents-put "a.txt" (e2e-text 20))
    (agents-rounds--review "^ a\\.txt: hunk 1/1 ")
    (agents-ends--reject "^\\[TAKEN OUT" "not 20")
    (should (equal (e2e-text) (agents-bytes "a.txt")))))

(provide 'gemini-test)
;;; gemini-test.el ends here
