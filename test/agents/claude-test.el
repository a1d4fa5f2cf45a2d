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
(require 'agents-ends)

(agents-define-matrix "claude")

(agents-define-turns "claude")

(agents-define-rounds "claude")

(agents-define-ends "claude")

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
                            "^MISSING  Stop, StopFailure: .* a failure could keep your prompt from the agent"
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
                     "has ended: 1 file to review, changed by `sed -i"
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

;; With messages instead of a prompt, an interruption is what ESC is in its terminal.
(defun agents-claude--say (message)
  "Send MESSAGE, for `json-serialize', to the Claude Code that runs."
  (process-send-string agents--client (concat (json-serialize message) "\n")))

(defun agents-claude--prompt (text)
  "Give the Claude Code that runs the prompt TEXT."
  (agents-claude--say `((type . "user") (message . ((role . "user") (content . ,text))))))

(defmacro agents-claude--with-talk (calls &rest body)
  "Evaluate BODY with a Claude Code that is talked to; its model makes CALLS."
  (declare (indent 1) (debug t))
  `(agents-with-emacs "claude"
     (agents-turns--begin)
     (cl-letf (((symbol-function 'process-send-eof) #'ignore)
               ((symbol-function 'agents--command)
                (lambda (&rest _)
                  (list (expand-file-name "node_modules/.bin/claude" (agents-directory)) "-p"
                        "--verbose" "--input-format" "stream-json" "--output-format" "stream-json"
                        "--permission-mode" "acceptEdits" "--allowedTools" "Bash"))))
       (apply #'agents-start "claude" ,calls))
     (agents-claude--prompt "Begin.")
     ,@body))

(defun agents-claude--shout (&optional rest)
  "Return a call of its shell that changes line 5 of a.txt, and then does REST."
  `("Bash" (command . ,(concat "sed -i 's/^line 5$/LINE 5/' a.txt" rest))))

(ert-deftest agents-claude-after-esc-what-is-rejected-is-taken-out-and-told ()
  (agents-claude--with-talk
      (list (agents-claude--shout "; python3 -c 'import time; time.sleep(600)'"))
    (e2e-wait-for (equal (e2e-text 5) (agents-bytes "a.txt")))
    (e2e-eval `(ignore (let ((default-directory ,(e2e-path "project/")))
                         (agent-q-diff-review-changes))))
    (e2e-see "Claude Code at work since")
    (e2e-press "r")
    (e2e-see "will be taken out")
    (agents-claude--say '((type . "control_request") (request_id . "1")
                          (request . ((subtype . "interrupt")))))
    (e2e-wait-for (equal (e2e-text) (agents-bytes "a.txt")))
    (should (equal '(("Claude Code" "Begin." t)) (agents-turns--recorded)))
    (e2e-press "q")
    (agents-claude--prompt "Leave line 5.")
    (e2e-wait-for (equal '(("Claude Code" "Begin." t) ("Claude Code" "Leave line 5." t))
                         (agents-turns--recorded)))
    (should (= 1 (agents-turns--count "- a.txt, line 5" (car (last (agents-turns--told))))))))

(ert-deftest agents-claude-what-it-writes-in-the-background-is-not-plainly-outside ()
  (agents-claude--with-talk
      (list (append (agents-claude--shout "; while ! test -e go; do sleep 0.1; done; echo made > b.txt")
                    '((run_in_background . t))))
    (e2e-wait-for (equal '(("Claude Code" "Begin." t)) (agents-turns--recorded)))
    (agents-put "go" "")
    (e2e-wait-for (agents-bytes "b.txt"))
    (should (equal '((background . "Claude Code")) (agents-ends--authors "b.txt")))
    ;; Its notification begins a turn of its own.
    (e2e-wait-for (equal '(("Claude Code" "Begin." t) ("Claude Code" "" t))
                         (agents-turns--recorded)))
    (agents-put "c.txt" "mine\n")
    (should (equal '(outside) (agents-ends--authors "c.txt")))))

(ert-deftest agents-claude-what-it-writes-in-another-working-tree-is-announced-and-told ()
  (agents-with-emacs "claude"
    (agents-turns--begin)
    (let ((agents-claude-options '("--allowedTools" "Bash")))
      (agents-start "claude"
                    '("Bash" (command . "git worktree add -q trees/other && cd trees/other"))
                    (agents-claude--shout)))
    (agents-end)
    (should (equal (e2e-text 5) (agents-bytes "trees/other/a.txt")))
    (e2e-wait-for (string-search
                   "Claude Code's turn in other has ended: 1 file to review"
                   (e2e-eval '(with-current-buffer "*Messages*" (buffer-string)))))
    (e2e-eval `(ignore (let ((default-directory ,(e2e-path "project/trees/other/")))
                         (agent-q-diff-review-changes))
                       (delete-other-windows)))
    (e2e-see "hunk 1/1 .* · Begin\\.")
    (agents-ends--reject "taken out" "keep it quiet")
    (e2e-press "q")
    (should (equal (e2e-text) (agents-bytes "trees/other/a.txt")))
    (let* ((agents-goes-on t)
           (told (agents-rounds--play "claude" "true")))
      (should (string-search (format "What follows is about the working tree %s."
                                     (e2e-path "project/trees/other"))
                             told))
      (should (string-search "- a.txt, line 5. The user says: keep it quiet\n" told)))))

;; Its own rewind of files is no tool's, and neither a hook nor its record says it.  In a
;; terminal, where it is /rewind, it does not start without its service.
(defun agents-claude--edit-with-checkpoint ()
  "Let Claude Code change line 5 of a.txt, and return what rewinds its files then."
  (let ((environment (cons "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=1" (agents-environment))))
    (cl-letf (((symbol-function 'agents-environment) (lambda () environment)))
      (e2e-eval '(ignore (setq agent-q-diff-decide-when '(("claude" . after)))))
      (apply #'agents-start "claude" (agents-edit "claude" "a.txt" "line 5\n" "LINE 5\n"))
      (agents-end))
    (let* ((records (file-expand-wildcards (e2e-path "home/.claude/projects/*/*.jsonl")))
           (record (car (sort records #'file-newer-than-file-p)))
           (text (with-temp-buffer (insert-file-contents record) (buffer-string)))
           (program (expand-file-name "node_modules/.bin/claude" (agents-directory))))
      (should (string-match "\"type\":\"user\".*?\"uuid\":\"\\([^\"]+\\)\"" text))
      (let ((prompt (match-string 1 text)))
        (lambda ()
          (let ((process-environment environment)
                (default-directory (file-name-as-directory (e2e-path "project"))))
            (should (equal 0 (call-process program nil nil nil "-p" "--resume"
                                           (file-name-base record) "--rewind-files" prompt)))))))))

(ert-deftest agents-claude-what-it-rewinds-has-what-was-reviewed-then ()
  (agents-with-emacs "claude"
    (agents-turns--begin)
    (let ((rewind (agents-claude--edit-with-checkpoint)))
      (should (agents-ends--authors "a.txt"))
      (funcall rewind)
      (should (equal (e2e-text) (agents-bytes "a.txt")))
      (should-not (agents-ends--authors "a.txt"))
      (should (equal '(("Claude Code" "Begin." t)) (agents-turns--recorded))))))

(defun agents-claude--save (&rest edit)
  "Evaluate EDIT in the buffer of a.txt, and save that, as its user."
  (e2e-eval `(with-current-buffer (find-file-noselect ,(agents-project "a.txt"))
               ,@edit
               (let ((inhibit-message t)) (save-buffer))
               (kill-buffer)
               nil)))

;; It gives a file back whole, without what its user has written into it since.
(defun agents-claude--rewind-after (keys &rest edit)
  "Decide Claude Code's change of a.txt by KEYS, evaluate EDIT, and rewind.
EDIT is evaluated as by `agents-claude--save'.  Return the authors of what is
pending in a.txt, before the rewind and after it."
  (agents-turns--begin)
  (let ((rewind (agents-claude--edit-with-checkpoint)))
    (agents-rounds--review "^ a\\.txt: hunk 1/1 ")
    (e2e-press keys)
    (apply #'agents-claude--save edit)
    (let ((before (agents-ends--authors "a.txt")))
      (funcall rewind)
      (should (equal (e2e-text) (agents-bytes "a.txt")))
      (list before (agents-ends--authors "a.txt")))))

(ert-deftest agents-claude-what-its-user-kept-and-wrote-is-pending-after-a-rewind ()
  (agents-with-emacs "claude"
    (should (equal '(nil (outside))
                   (agents-claude--rewind-after "a q" '(goto-char (point-max))
                                                '(insert "mine\n"))))
    (agents-rounds--review "^ a\\.txt: hunk 1/2 " "Written outside" "^-LINE 5" "^-mine")
    (e2e-press "r r q")
    (e2e-wait-for (equal (concat (e2e-text 5) "mine\n") (agents-bytes "a.txt")))))

(defun agents-claude--bring-back (had)
  "Bring back what a.txt HAD, which is listed as taken out."
  (e2e-eval `(ignore (let ((default-directory ,(e2e-path "project/")))
                       (agent-q-diff-taken-out))
                     (delete-other-windows)))
  (e2e-see (concat "a\\.txt +-1 line +" had))
  (e2e-press "b")
  (e2e-wait-for (string-search (concat had "\n") (agents-bytes "a.txt"))))

(ert-deftest agents-claude-what-its-user-corrected-can-be-had-again-after-a-rewind ()
  (agents-with-emacs "claude"
    (pcase-let ((`(,before ,after)
                 (agents-claude--rewind-after "q" '(re-search-forward "LINE 5")
                                              '(insert ", mine"))))
      (should before)
      (should-not after))
    (agents-claude--bring-back "LINE 5, mine")))

(ert-deftest agents-claude-what-its-user-corrected-can-be-had-again-after-its-next-turn ()
  (agents-with-emacs "claude"
    (agents-turns--begin)
    (agents-claude--edit-with-checkpoint)
    (agents-claude--save '(re-search-forward "LINE 5") '(insert ", mine"))
    (apply #'agents-start "claude" (agents-edit "claude" "a.txt" "LINE 5, mine\n" "LINE FIVE\n"))
    (agents-end)
    (e2e-see "turn in project has ended: Lines that you typed are not in their files any more")
    (should (equal (string-replace "LINE 5" "LINE FIVE" (e2e-text 5)) (agents-bytes "a.txt")))
    (should (agents-ends--authors "a.txt"))
    (agents-claude--bring-back "LINE 5, mine")))

(ert-deftest agents-claude-after-compaction-its-session-goes-on ()
  (agents-claude--with-talk (list (agents-claude--shout))
    (e2e-wait-for (equal '(("Claude Code" "Begin." t)) (agents-turns--recorded)))
    (agents-rounds--review "^ a\\.txt: hunk 1/1 ")
    (agents-ends--reject "taken out" "keep it quiet")
    (e2e-press "q")
    (agents-claude--prompt "/compact")
    (e2e-wait-for (with-current-buffer (process-buffer agents--client)
                    (string-search "compact_boundary" (buffer-string))))
    (agents-claude--prompt "Go on.")
    (e2e-wait-for (equal '("Claude Code" "Go on." t) (car (last (agents-turns--recorded)))))
    (let ((told (string-join (car (last (agents-turns--told))) "\n")))
      (should (string-search "- a.txt, line 5. The user says: keep it quiet\n" told))
      (should-not (string-search agents-ends--earlier told)))))

(provide 'claude-test)
;;; claude-test.el ends here
