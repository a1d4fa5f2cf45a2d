;;; claude-test.el --- Edits of Claude Code, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make test-agents' installs the agents and runs them without network; see
;; agents-tools.el.  What holds for every agent is in agents-matrix.el.

;;; Code:

(require 'agents-matrix)
(require 'agents-models)

(agents-define-matrix "claude")

(agents-define-models "claude")

(ert-deftest agents-claude-several-edits-of-one-file ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (let ((file (agents-project "a.txt")))
      (agents-start "claude" `("Read" (file_path . ,file))
                    `("Edit" (file_path . ,file) (old_string . "line 5\n")
                      (new_string . "LINE 5\n"))
                    `("Edit" (file_path . ,file) (old_string . "line 20\n")
                      (new_string . "LINE 20\n"))
                    `("Write" (file_path . ,file) (content . ,(e2e-text 5 35)))))
    (agents-decide "a.txt" "C-c C-c")
    (agents-decide "a.txt" "C-c C-k")
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "✓ Accepted: the change is in" "✗ Rejected")
    (should (equal (agents-bytes "a.txt") (e2e-text 5 35)))))

(ert-deftest agents-claude-a-notebook-is-written-by-emacs ()
  (agents-with-emacs "claude"
    (agents-put "n.ipynb" "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \
\"id\": \"one\",\n   \"metadata\": {},\n   \"source\": \"old\"\n  }\n ],\n \"metadata\": {},\n \
\"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n")
    (let ((file (agents-project "n.ipynb"))
          (before (agents-bytes "n.ipynb")))
      (agents-start "claude" `("Read" (file_path . ,file))
                    `("NotebookEdit" (notebook_path . ,file) (cell_id . "one")
                      (new_source . "new")))
      (agents-decide "n.ipynb" "C-c C-c")
      (agents-should-read (agents-end) "NotebookEdit was not run: it cannot write a part"
                          "✓ Accepted: the change is in")
      (should (equal (agents-bytes "n.ipynb") (string-replace "old" "new" before))))))

(ert-deftest agents-claude-if-the-program-is-gone-nothing-is-written ()
  (agents-with-home-of-its-own
    (agents-with-emacs "claude"
      (should (equal 0 (car (agents-run "check" "claude"))))
      (agents-lose-program "claude" ".claude/settings.json")
      (agents-should-be-safe-without-program "claude"))))

(ert-deftest agents-claude-what-its-own-rule-denies-is-said-when-its-turn-ends ()
  (agents-with-home-of-its-own
    (agents-with-emacs "claude"
      (make-directory (e2e-path "project/.claude"))
      (agents-put ".claude/settings.json" "{\"permissions\": {\"ask\": [\"Edit\"]}}")
      (agents-say-at-once-what-is-not-run "claude"))))

(provide 'claude-test)
;;; claude-test.el ends here
