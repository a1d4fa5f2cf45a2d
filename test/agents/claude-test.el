;;; claude-test.el --- Edits of Claude Code, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make test-agents' installs the agents and runs them without network; see
;; agents-tools.el.  What holds for every agent is in agents-matrix.el.

;;; Code:

(require 'agents-matrix)
(require 'agents-models)
(require 'agents-turns)
(require 'agents-rounds)

(agents-define-matrix "claude")

(agents-define-turns "claude")

(agents-define-rounds "claude")

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

;; Earlier versions ran the hook at fewer events, and unguarded at the end of a turn.
(ert-deftest agents-claude-settings-of-an-earlier-version-are-found-and-brought-up-to-date ()
  (agents-with-home-of-its-own
    (agents-with-emacs "claude"
      (let* ((file "home/.claude/settings.json")
             (settings (json-parse-string (e2e-read file)))
             (hooks (gethash "hooks" settings)))
        (dolist (event '("UserPromptSubmit" "PostToolBatch" "SessionEnd"))
          (remhash event hooks))
        (e2e-write file (string-replace "/bin/sh -c '\\\"$0\\\" \\\"$@\\\" || :' " ""
                                        (json-serialize settings)))
        (pcase-let ((`(,status ,found) (agents-run "check" "claude")))
          (should (equal status 1))
          (dolist (regexp '("^MISSING  UserPromptSubmit, PostToolBatch, SessionEnd: the hook is not \
run there, .*: call agent-q-diff setup claude$"
                            "^MISSING  Stop: .* a failure could keep your prompt from the agent"
                            "^ok       PreToolUse, PostToolUse: "))
            (should (string-match-p regexp found))))
        (should (equal 0 (car (agents-run "setup" "claude" "--yes"))))
        (should (equal 0 (car (agents-run "check" "claude"))))))))

(ert-deftest agents-claude-what-its-own-rule-denies-is-said-when-its-turn-ends ()
  (agents-with-home-of-its-own
    (agents-with-emacs "claude"
      (make-directory (e2e-path "project/.claude"))
      (agents-put ".claude/settings.json" "{\"permissions\": {\"ask\": [\"Edit\"]}}")
      (agents-say-at-once-what-is-not-run "claude"))))

(ert-deftest agents-claude-what-a-subagent-writes-is-written-in-the-turn ()
  (agents-with-emacs "claude"
    (let ((task "Please shout in a.txt."))
      (agents-turns-should-have-the-subagent
       "claude"
       `(("Agent" (description . "shout") (prompt . ,task) (subagent_type . "general-purpose")))
       task))))

;; In auto mode, newer models are told to edit by their shell.
(ert-deftest agents-claude-what-its-shell-writes-is-announced-by-the-command ()
  (agents-with-emacs "claude"
    (agents-turns--begin)
    (let ((shout "sed -i 's/^line 5$/LINE 5/' a.txt"))
      (agents-start "claude" (agents-rounds--shell "claude" shout))
      (agents-end)
      (e2e-wait-for (string-search
                     "Claude Code has ended: 1 file to review, changed by `sed -i"
                     (e2e-eval '(with-current-buffer "*Messages*" (buffer-string)))))
      (agents-rounds--review "Changed by a shell: a\\.txt (Claude Code: sed -i" "^\\+LINE 5")
      (e2e-press "r q")
      (e2e-wait-for (equal (agents-bytes "a.txt") (e2e-text)))
      ;; The count of the edits of its last session.
      (should (string-match-p "made 0 edits by its tools, and 1 by commands"
                              (cadr (agents-run "check" "claude")))))))

(ert-deftest agents-claude-after-two-edits-pass-and-are-pending-and-one-is-asked-about ()
  (agents-with-home-of-its-own
    (agents-with-emacs "claude"
      (agents-put "a.txt" (e2e-text))
      (let ((default-directory (file-name-as-directory (e2e-path "project")))
            (file (agents-project "a.txt")))
        (dolist (arguments '(("init" "-q") ("add" ".")
                             ("-c" "user.name=U" "-c" "user.email=u@e" "commit" "-qm" "first")))
          (should (equal 0 (apply #'call-process "git" nil nil nil arguments))))
        (e2e-eval '(ignore (setq agent-q-diff-decide-when '(("claude" . after)))))
        (agents-start "claude" `("Read" (file_path . ,file))
                      `("Edit" (file_path . ,file) (old_string . "line 5\n")
                        (new_string . "LINE 5\n"))
                      `("Edit" (file_path . ,file) (old_string . "line 20\n")
                        (new_string . "LINE 20\n"))
                      `("Write" (file_path . ,(agents-project ".envrc")) (content . "x\n")))
        ;; The first question is about the file that is protected.
        (agents-decide ".envrc" "C-c C-k")
        (should (equal (agents-bytes "a.txt") (e2e-text 5 20)))
        (let ((told (agents-end)))
          (agents-should-be-told told "The edit of %s was made, and is not reviewed yet: the user \
reviews it after your turn, and may take parts of it out then." "a.txt")
          (agents-should-read told "✗ Rejected"))
        (should-not (agents-bytes ".envrc"))
        (should (equal '("a.txt")
                       (e2e-eval `(mapcar #'agent-q-diff-pending-file-path
                                          (nth 2 (agent-q-diff-pending-look
                                                  ,default-directory))))))
        (e2e-eval `(ignore (let ((default-directory ,default-directory))
                             (agent-q-diff-review-changes))))
        (e2e-see "hunk 1/2 " "Written by Claude Code")))))

(provide 'claude-test)
;;; claude-test.el ends here
