;;; codex-test.el --- Edits of Codex, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; See agents-tools.el and agents-matrix.el.  Codex runs no hook that its user has
;; not trusted: here as there, that is done by keys in Codex itself.

;;; Code:

(require 'agents-matrix)
(require 'agents-models)
(require 'agents-patches)
(require 'agents-turns)
(require 'agents-rounds)
(require 'agents-ends)

(agents-define-matrix "codex")

(agents-define-turns "codex")

(agents-define-rounds "codex")

(agents-define-ends "codex")

(agents-define-interruption "codex")

(agents-define-models "codex")

(agents-define-patches
 "codex"
 (lambda (patches)
   (apply #'agents-start "codex" (mapcar (apply-partially #'cons "apply_patch") patches))))

(defun agents-codex-shell-patch (&rest lines)
  "Return a call of Codex's shell that applies a patch with LINES.
They are in a here-document."
  `("exec_command"
    (cmd . ,(format "apply_patch <<'EOT'\n%sEOT\n"
                    (cdr (apply #'agents-codex-patch lines))))))

(ert-deftest agents-codex-a-shell-cannot-patch-either ()
  (agents-with-emacs "codex"
    (agents-put "a.txt" (e2e-text))
    (agents-start "codex" (agents-codex-shell-patch "*** Update File: a.txt" "@@"
                                                    "-line 5" "+LINE 5"))
    (e2e-see "hunk 1/1")
    (e2e-press "C-x o C-c C-k")
    (agents-should-read (agents-end) "✗ Rejected")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

;; Codex runs no hook after such a patch, so its model could not be told.
(ert-deftest agents-codex-emacs-applies-a-patch-in-a-shell ()
  (agents-with-emacs "codex"
    (agents-patches-write-files)
    (agents-start "codex" (apply #'agents-codex-shell-patch agents-patches-lines))
    (agents-decide "4 files" "r a a a a a a q")
    (agents-should-read (agents-end) "The patch was not run: Emacs wrote what the user accepted"
                        "✓ Accepted in part: 4 of 4 files: a.txt 1 of 2 hunks")
    (should (equal (agents-patches-files)
                   (list (e2e-text 25) nil nil "one\nTWO\n" "made\n")))))

;; Most of its models are in code mode: they write scripts that call tools.
(defun agents-codex-script (&rest lines)
  "Return a call of the tool that runs a script of LINES.
In it, p is a patch of a line of a file."
  (agents-codex-exec (concat "const p = (name, line) => `*** Begin Patch\n*** Update File: ${name}\n\
@@\n-line ${line}\n+LINE ${line}\n*** End Patch\n`\n"
                             (string-join lines "\n"))))

(defmacro agents-codex-in-code-mode (&rest body)
  "Evaluate BODY with two files in the project, and a model in code mode."
  (declare (indent 0) (debug t))
  `(let ((agents-codex-model "gpt-6.1-sol"))
     (agents-with-emacs "codex"
       (agents-put "a.txt" (e2e-text))
       (agents-put "b.txt" (e2e-text))
       ,@body)))

(ert-deftest agents-codex-rounds-three-of-them-in-code-mode ()
  (let ((agents-codex-model "gpt-6.1-sol"))
    (agents-with-emacs "codex"
      (agents-turns--begin)
      (agents-rounds-three-of-them "codex"))))

(ert-deftest agents-codex-a-script-goes-on-after-each-edit ()
  (agents-codex-in-code-mode
    (agents-start "codex" (agents-codex-script
                           "await tools.apply_patch(p('a.txt', 5).replace('*** End Patch',"
                           "                        `@@\n-line 20\n+LINE 20\n*** End Patch`))"
                           "await tools.apply_patch(p('a.txt', 35))"
                           "await tools.apply_patch(p('b.txt', 5))"
                           "text((await tools.exec_command({cmd: 'echo tested'})).output)"))
    (agents-decide "a.txt" "r a q")
    (agents-decide "a.txt" "C-c C-c")
    (agents-decide "b.txt" "C-c C-c")
    (let ((told (agents-end)))
      (agents-should-read told "\\`Script completed\n\\(.\\|\n\\)*\ntested\n")
      (agents-should-be-told
       told "✓ Accepted in part: 1 of 2 hunks is in %s, which is saved.

In the file: hunk 2.
Not in the file: hunk 1." "a.txt")
      (dolist (name '("a.txt" "b.txt"))
        (agents-should-be-told told "✓ Accepted: the change is in %s, which is saved." name)))
    (should (equal (agents-bytes "a.txt") (e2e-text 20 35)))
    (should (equal (agents-bytes "b.txt") (e2e-text 5)))))

(ert-deftest agents-codex-a-script-reads-a-refusal-and-can-go-on ()
  (agents-codex-in-code-mode
    (agents-start "codex" (agents-codex-script
                           "const all = await Promise.allSettled(["
                           "  tools.apply_patch(p('a.txt', 5)), tools.apply_patch(p('b.txt', 5))])"
                           "text(all.map((one) => one.status).join(' '))"
                           "text(String(all.find((one) => one.reason)?.reason))")
                  (agents-codex-script "await tools.apply_patch(p('a.txt', 20))"
                                       "text('not reached')"))
    (agents-decide "a.txt" "C-c C-k")
    (agents-decide "b.txt" "C-c C-c")
    (agents-decide "a.txt" "C-c C-k")
    (let ((told (agents-end)))
      (agents-should-read told "\\`Script completed\n\\(.\\|\n\\)*rejected fulfilled"
                          "\\`Script failed\n\\(.\\|\n\\)*Command blocked by PreToolUse hook: ✗ Rej")
      (agents-should-be-told told "✗ Rejected: the user declined the change to %s." "a.txt")
      (agents-should-be-told told "✓ Accepted: the change is in %s, which is saved." "b.txt")
      (should-not (seq-find (apply-partially #'string-search "not reached\n") told)))
    (should (equal (agents-bytes "a.txt") (e2e-text)))
    (should (equal (agents-bytes "b.txt") (e2e-text 5)))))

(ert-deftest agents-codex-a-subagent-is-told-what-became-of-its-edits ()
  (agents-codex-in-code-mode
    (let ((task "Please shout in a.txt."))
      (agents-start "codex"
                    `("spawn_agent" (task_name . "shout") (message . ,task) (fork_turns . "none"))
                    '("wait_agent" (timeout_ms . 3600000))
                    `("exec" ,(cdr (agents-codex-script "await tools.apply_patch(p('a.txt', 5))"
                                                        "await tools.apply_patch(p('a.txt', 20))"))
                      :task ,task))
      (agents-decide "a.txt" "C-c C-c")
      (agents-decide "a.txt" "C-c C-c")
      (let ((told (agents-end task)))
        (agents-should-read told "\\`Script completed\n")
        (agents-should-be-told told "✓ Accepted: the change is in %s, which is saved." "a.txt"))
      (should (equal (agents-bytes "a.txt") (e2e-text 5 20))))))

;; Where Codex cannot ask, it refuses tools that may destroy, but a proposal changes
;; nothing by itself.
(ert-deftest agents-codex-proposes-over-mcp-where-it-cannot-ask ()
  (agents-with-home-of-its-own
   (agents-codex-in-code-mode
    (let ((program (agents-program))
          (process-environment (agents-environment)))
      (should (equal 0 (call-process "env" nil nil nil "codex" "mcp" "add" "emacs" "--"
                                     program "mcp" "--socket"
                                     (e2e-path "run/agent-q-diff/socket")))))
    (let ((agents-codex-sandbox "workspace-write"))
      (agents-start "codex" (agents-codex-script
                             "const diff = '--- a/a.txt\\n+++ b/a.txt\\n@@ -4,3 +4,3 @@\\n line 4\\n\
-line 5\\n+LINE 5\\n line 6\\n'"
                             "text(await tools.mcp__emacs__propose_patch("
                             "  {path: 'a.txt', diff, description: 'Shout'}))"
                             "text(await tools.mcp__emacs__edit_file("
                             "  {path: 'a.txt', old_str: 'line 20', new_str: 'LINE 20'}))")))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "✓ Accepted: the change is in "
                        "requires approval, but approval policy is never")
    (should (equal (agents-bytes "a.txt") (e2e-text 5))))))

;; Codex takes even a refusal for consent if nothing says why.
(ert-deftest agents-codex-if-the-program-is-gone-nothing-is-written ()
  (agents-with-home-of-its-own
    (cl-letf* ((set-up (symbol-function 'agents-set-up))
               ((symbol-function 'agents-set-up)
                (lambda (client)
                  (funcall set-up client)
                  ;; What was changed after it was trusted, Codex would not run.
                  (agents-lose-program client ".codex/hooks.json"))))
      (agents-with-emacs "codex"
        (agents-should-be-safe-without-program "codex")))))

;; Codex runs no hook that has been changed since it was trusted.
(ert-deftest agents-codex-a-hook-that-is-not-trusted-is-found-by-check ()
  (agents-with-home-of-its-own
    (agents-with-emacs "codex"
      (should (member (car (agents-run "setup" "codex" "--yes" "--socket"
                                       (e2e-path "run/agent-q-diff/socket")))
                      '(0 1)))
      (set-file-times (e2e-path "home/.codex/hooks.json") (time-subtract nil 3600))
      (delete-directory (e2e-path "home/.local/state/agent-q-diff") t)
      (agents-put "a.txt" (e2e-text))
      (agents-start "codex" (agents-codex-patch "*** Update File: a.txt" "@@" "-line 5" "+LINE 5"))
      (agents-should-read (agents-end) "Success")
      (should (equal (agents-bytes "a.txt") (e2e-text 5)))
      (pcase-let ((`(,status ,found) (agents-run "check" "codex")))
        (should (equal status 1))
        (should (string-match-p
                 "^MISSING  Codex edited .*/a\\.txt [0-9]+ seconds? ago, and did not run the hook"
                 found))))))

(ert-deftest agents-codex-what-its-sandbox-denies-is-said-when-its-turn-ends ()
  (let ((agents-codex-sandbox "read-only"))
    (agents-with-emacs "codex"
      (agents-say-at-once-what-is-not-run "codex"))))

(defun agents-codex--call (command)
  "Return a call that runs COMMAND in a shell, and lets its model go on at once."
  (append (agents-rounds--shell "codex" command) '((yield_time_ms . 250))))

(ert-deftest agents-codex-what-it-writes-in-the-background-is-not-plainly-outside ()
  (agents-with-emacs "codex"
    (agents-turns--begin)
    (agents-terminal-start
     "codex"
     (agents-codex--call "while test -e a.txt && ! test -e go; do sleep 0.1; done; echo made > b.txt"))
    (agents-terminal-prompt "Begin.")
    (e2e-wait-for (equal '(("Codex" "Begin." t)) (agents-turns--recorded)))
    (agents-put "go" "")
    (e2e-wait-for (agents-bytes "b.txt"))
    (should (equal '((background . "Codex")) (agents-ends--authors "b.txt")))
    ;; Once that has ended, nothing of it is in the background.
    (e2e-wait-for (progn (agents-put "c.txt" (format "mine at %s\n" (float-time)))
                         (equal '(outside) (agents-ends--authors "c.txt"))))))

(ert-deftest agents-codex-after-compaction-its-session-goes-on ()
  (agents-with-emacs "codex"
    (agents-turns--begin)
    (agents-terminal-start "codex" (agents-ends--shout "codex" 5 "a.txt"))
    (agents-terminal-prompt "Begin.")
    (e2e-wait-for (equal '(("Codex" "Begin." t)) (agents-turns--recorded)))
    (agents-rounds--review "^ a\\.txt: hunk 1/1 ")
    (agents-ends--reject "taken out" "keep it quiet")
    (e2e-press "q")
    (agents-terminal-prompt "/compact" "Context compacted")
    (agents-terminal-prompt "Go on.")
    (e2e-wait-for (equal '("Codex" "Go on." t) (car (last (agents-turns--recorded)))))
    (let ((told (string-join (car (last (agents-turns--told))) "\n")))
      (should (string-search "- a.txt, line 5. The user says: keep it quiet\n" told))
      (should-not (string-search agents-ends--earlier told)))))

(provide 'codex-test)
;;; codex-test.el ends here
