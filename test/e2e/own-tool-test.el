;;; own-tool-test.el --- Edits that agents make with their own tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The program agent-q-diff is run as a coding agent runs its hooks, with
;; events as Claude Code and Gemini CLI send them; keys decide in a real
;; Emacs.  The agents themselves are in `make test-agents'.

;;; Code:

(require 'agent-q-diff-tmux)

(defun own-tool-program ()
  "Return the name of the program."
  (expand-file-name "agent-q-diff" (file-name-directory (getenv "AGENT_Q_DIFF_MCP_SERVER"))))

(defmacro own-tool-with-emacs (&rest body)
  "Evaluate BODY with an Emacs under test that serves."
  (declare (indent 0) (debug t))
  `(e2e-with-emacs
     (e2e-eval '(progn (require 'agent-q-diff-server)
                       (make-directory (inside-file "run"))
                       (setenv "XDG_RUNTIME_DIR" (inside-file "run"))
                       (agent-q-diff-serve)))
     ,@body))

(defun own-tool-run (arguments input &rest variables)
  "Run the program with ARGUMENTS and INPUT, and return the process at once.
VARIABLES are further ones of the environment.  Its output is in the
properties `out' and `err'."
  (let* ((process-environment
          (append variables (list (concat "XDG_RUNTIME_DIR=" (e2e-path "run"))
                                  (concat "HOME=" (e2e-path "")))
                  process-environment))
         (err (generate-new-buffer " *own-tool-err*"))
         (process (make-process :name "own-tool" :connection-type 'pipe
                                :coding 'utf-8-unix :noquery t :stderr err
                                :command (cons (own-tool-program) arguments)
                                :filter (lambda (process text)
                                          (process-put process 'out
                                                       (concat (process-get process 'out)
                                                               text)))
                                :sentinel #'ignore)))
    (set-process-sentinel (get-buffer-process err) #'ignore)
    (process-put process 'err err)
    ;; A program that refuses its arguments may be gone before it reads.
    (condition-case nil
        (progn (process-send-string process input)
               (process-send-eof process))
      (error (should-not (process-live-p process))))
    process))

(defun own-tool-claude (event tool input &rest more)
  "Have EVENT of TOOL of Claude Code with INPUT answered; return the process.
The event has MORE, conses."
  (own-tool-run '("hook" "claude")
                (json-serialize `(,@more (session_id . "0f1e2d3c-4b5a") (cwd . ,(e2e-path ""))
                                  (hook_event_name . ,event) (tool_name . ,tool)
                                  (tool_input . ,input) (tool_use_id . "toolu_1")))))

(defun own-tool-answer (process)
  "Wait for PROCESS to end with success, and return what it answered, an alist."
  (e2e-wait-for (not (process-live-p process)))
  ;; It may be known to have ended before all that it wrote was read.
  (while (accept-process-output process 0))
  (should (equal (list 0 "") (list (process-exit-status process)
                                   (with-current-buffer (process-get process 'err)
                                     (buffer-string)))))
  (let ((out (process-get process 'out)))
    (and out (json-parse-string out :object-type 'alist :false-object nil))))

(defun own-tool-output (process)
  "Return what is specific to the event in the answer of PROCESS, an alist."
  (alist-get 'hookSpecificOutput (own-tool-answer process)))

(defun own-tool-edit (old new)
  "Return an input of Claude Code's Edit that replaces OLD by NEW in the file."
  `((file_path . ,(e2e-path "a.txt")) (old_string . ,old) (new_string . ,new)
    (replace_all . :false)))

(defun own-tool-make (input)
  "Replace in the file as Claude Code's Edit does with INPUT."
  (let-alist input
    (let ((parts (split-string (e2e-read "a.txt") (regexp-quote .old_string))))
      (should (= 2 (length parts)))
      (e2e-write "a.txt" (string-join parts .new_string)))))

(defun own-tool-go (name)
  "Wait for the review of the file NAME, and go to it."
  (e2e-see (format " %s: hunk 1/[0-9]+" (regexp-quote name)))
  (unless (string-prefix-p "*Agent-Q Diff" (e2e-eval '(buffer-name (window-buffer))))
    (e2e-press "C-x o")))

(defun own-tool-see-review ()
  "Wait for the review, and go to it."
  (e2e-see " a\\.txt: hunk 1/3 .* · Claude Code" "^# Note: You decide what Claude Code's tool Edit .session 0f1e2d3c. writes")
  (e2e-press "C-x o")
  (e2e-see-cursor-at "^@@ -2,7"))

(ert-deftest e2e-own-tool-a-part-is-written-by-the-tool-and-told-after ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((before (own-tool-claude "PreToolUse" "Edit"
                                   (own-tool-edit (e2e-text) (e2e-text 5 20 35)))))
      (own-tool-see-review)
      (e2e-press "a k a q")
      (e2e-see-gone "Agent-Q Diff: a\\.txt")
      (e2e-see "2 of 3 hunks accepted, not yet written, Claude Code told")
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "allow"))
        (should-not .additionalContext)
        (should (equal (e2e-read "a.txt") (e2e-text)))
        (own-tool-make .updatedInput)
        (should (equal (e2e-read "a.txt") (e2e-text 5 35)))
        (let-alist (own-tool-output (own-tool-claude "PostToolUse" "Edit" .updatedInput))
          (should (string-match-p "\\`✓ Accepted in part: 2 of 3 hunks are in .*a\\.txt, which \
is saved" .additionalContext))
          (should (string-match-p "In the file: hunks 1 and 3\\.\nNot in the file: hunk 2\\."
                                  .additionalContext)))))))

(ert-deftest e2e-own-tool-what-was-accepted-is-not-asked-again-after-the-turn ()
  "Only the hook is set up, and Emacs serves; nobody has called anything else."
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let* ((default-directory (e2e-path ""))
           (git (lambda (&rest arguments)
                  (should (= 0 (apply #'call-process "git" nil nil nil
                                      "-c" "user.name=U" "-c" "user.email=u@example.com"
                                      arguments))))))
      (funcall git "init" "-q")
      (funcall git "add" "a.txt")
      (funcall git "commit" "-qm" "first"))
    (cl-flet ((hook (event &rest more)
                ;; Nothing is recorded of all of a home folder.
                (own-tool-run '("hook" "claude")
                              (json-serialize `((session_id . "0f1e2d3c-4b5a")
                                                (cwd . ,(e2e-path ""))
                                                (hook_event_name . ,event) ,@more))
                              (concat "HOME=" (e2e-path "home")))))
      (let ((edit `((tool_name . "Edit") (tool_use_id . "toolu_1")
                    (tool_input . ,(own-tool-edit (e2e-text) (e2e-text 5 20 35))))))
        (own-tool-answer (hook "UserPromptSubmit" '(prompt . "go")))
        (let ((before (apply #'hook "PreToolUse" edit)))
          (own-tool-see-review)
          (e2e-press "C-c C-c")
          (e2e-see-gone "Agent-Q Diff: a\\.txt")
          (own-tool-answer before))
        (own-tool-make (alist-get 'tool_input edit))
        (own-tool-answer (apply #'hook "PostToolUse" edit))
        (own-tool-answer (hook "Stop"))))
    (should (e2e-eval '(file-exists-p (inside-file ".git/agent-q-diff/record"))))
    (should-not (member "a.txt"
                        (e2e-eval '(progn
                                     (require 'agent-q-diff-pending)
                                     (mapcar #'agent-q-diff-pending-file-path
                                             (nth 2 (agent-q-diff-pending-look
                                                     (inside-file ""))))))))))

(ert-deftest e2e-own-tool-all-of-it-passes-as-it-was-called ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let* ((input (own-tool-edit (e2e-text) (e2e-text 5 20 35)))
           (before (own-tool-claude "PreToolUse" "Edit" input)))
      (own-tool-see-review)
      (e2e-press "C-c C-c")
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "allow"))
        (should-not .updatedInput))
      ;; The tool, or whoever else, wrote something different.
      (e2e-write "a.txt" (e2e-text 5 20))
      (let-alist (own-tool-output
                  (own-tool-claude "PostToolUse" "Edit" input
                                   `(tool_response
                                     . ((originalFile . ,(e2e-text)) (oldString . ,(e2e-text))
                                        (newString . ,(e2e-text 5 20)) (replaceAll . :false)))))
        (should (string-prefix-p "ALARM: " .additionalContext)))
      (e2e-see "tool Edit left text in"))))

(defun own-tool-long (&rest changed)
  "Return a text of two megabytes that begins with `e2e-text', CHANGED so."
  (concat (apply #'e2e-text changed) (apply #'concat (make-list 50000 (make-string 40 ?x)))
          "\n"))

(defun own-tool-decide-suspended ()
  "Suspend an agent that has a long file written, and decide that by keys.
Hunk 2 of 3 is rejected.  Return the agent's process."
  (e2e-write "a.txt" (own-tool-long))
  (let ((before (own-tool-claude "PreToolUse" "Write"
                                 `((file_path . ,(e2e-path "a.txt"))
                                   (content . ,(own-tool-long 5 20 35))))))
    (e2e-see " a\\.txt: hunk 1/3 .* · Claude Code")
    (signal-process before 'SIGSTOP)
    (e2e-press "C-x o a k a q")
    before))

(ert-deftest e2e-own-tool-a-suspended-agent-gets-its-long-answer-later ()
  (own-tool-with-emacs
    (let ((before (own-tool-decide-suspended)))
      (e2e-see-gone "Agent-Q Diff: a\\.txt")
      (e2e-see "2 of 3 hunks accepted, not yet written, Claude Code told")
      ;; Emacs has not waited: another agent's edit is decided meanwhile.
      (e2e-write "b.txt" "b\n")
      (let ((other (own-tool-claude "PreToolUse" "Write"
                                    `((file_path . ,(e2e-path "b.txt")) (content . "B\n")))))
        (own-tool-go "b.txt")
        (e2e-press "C-c C-c")
        (should (equal "allow" (alist-get 'permissionDecision (own-tool-output other)))))
      (should (eq 'stop (process-status before)))
      (signal-process before 'SIGCONT)
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "allow"))
        (should (equal .updatedInput.content (own-tool-long 5 35)))))))

(ert-deftest e2e-own-tool-an-agent-that-never-reads-is-dropped-and-its-tool-not-run ()
  (own-tool-with-emacs
    (e2e-eval '(setq agent-q-diff-server--patience 1))
    (let ((before (own-tool-decide-suspended)))
      (e2e-see "Claude Code did not read the answer" "a\\.txt: 2 of 3 hunks accepted")
      (signal-process before 'SIGCONT)
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "deny"))
        (should (string-search "closed the connection, before it answered. Your tool was not run"
                               .permissionDecisionReason)))
      (should (equal (own-tool-long) (e2e-read "a.txt"))))))

(ert-deftest e2e-own-tool-a-formatter-beside-the-hook-is-no-alarm ()
  (own-tool-with-emacs
    (dolist (is-known '(t nil))
      (e2e-write "a.txt" (e2e-text))
      (let* ((input (own-tool-edit (e2e-text) (e2e-text 5 20 35)))
             (before (own-tool-claude "PreToolUse" "Edit" input)))
        (own-tool-see-review)
        (e2e-press "C-c C-c")
        (own-tool-output before)
        (e2e-write "a.txt" (string-replace "line 7\n" "line 7;\n" (e2e-text 5 20 35)))
        (let-alist (own-tool-output
                    (apply #'own-tool-claude "PostToolUse" "Edit" input
                           (and is-known
                                `((tool_response
                                   . ((originalFile . ,(e2e-text)) (oldString . ,(e2e-text))
                                      (newString . ,(e2e-text 5 20 35))
                                      (replaceAll . :false)))))))
          (should-not (string-match-p "ALARM\\|change nothing" .additionalContext))
          (should (string-search "-line 7\n+line 7;" .additionalContext))
          (should (string-search (if is-known "That is what Edit wrote." "It is not known whether")
                                 .additionalContext)))
        (e2e-press "C-x 1")))))

(ert-deftest e2e-own-tool-what-is-not-run-in-plan-mode-is-said-before-and-after ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((before (own-tool-claude "PreToolUse" "Edit"
                                   (own-tool-edit (e2e-text) (e2e-text 5 20 35))
                                   '(permission_mode . "plan"))))
      (e2e-see "Note: Claude Code is in plan mode: even what you accept is not written")
      (e2e-press "C-x o C-c C-c")
      (own-tool-output before))
    (should-not (own-tool-answer (own-tool-claude "Stop" "" '((a . 1)))))
    (e2e-see "Claude Code's tool Edit was not run, so nothing that you accepted is in")
    (should (equal "not run"
                   (e2e-eval '(plist-get (car (agent-q-diff-log-entries 1)) :outcome))))))

;;;; Reviewed after it is made

(defun own-tool-in-repository ()
  "Make a repository of the folder of this test, with a.txt committed."
  (e2e-write "a.txt" (e2e-text))
  (let ((default-directory (e2e-path "")))
    (dolist (arguments '(("init" "-q") ("add" "a.txt")
                         ("-c" "user.name=U" "-c" "user.email=u@e" "commit" "-qm" "first")))
      (should (equal 0 (apply #'call-process "git" nil nil nil arguments)))))
  ;; What Emacs keeps there.
  (e2e-write ".git/info/exclude" "/*\n"))

(defun own-tool-passes (input)
  "Have the edit INPUT pass, make it, and return what is told about it."
  (let-alist (own-tool-output (own-tool-claude "PreToolUse" "Edit" input))
    (should (equal (list "allow" nil) (list .permissionDecision .permissionDecisionReason)))
    (should-not .updatedInput))
  (own-tool-make input)
  (alist-get 'additionalContext
             (own-tool-output (own-tool-claude "PostToolUse" "Edit" input))))

(ert-deftest e2e-own-tool-after-edits-pass-and-are-pending-also-without-emacs ()
  (own-tool-with-emacs
    ;; The project must not be all of the home directory.
    (let ((home (e2e-path "home")))
      (make-directory home)
      (own-tool-in-repository)
      (cl-letf* ((run (symbol-function 'own-tool-run))
                 ((symbol-function 'own-tool-run)
                  (lambda (arguments input)
                    (funcall run arguments input (concat "HOME=" home)))))
        ;; Before that is chosen, and without Emacs, nothing passes.
        (e2e-eval '(agent-q-diff-serve-stop))
        (let-alist (own-tool-output (own-tool-claude "PreToolUse" "Edit"
                                                     (own-tool-edit "line 5\n" "five\n")))
          (should (equal .permissionDecision "deny"))
          (should (string-search "no Emacs is serving" .permissionDecisionReason)))
        (e2e-eval '(progn (agent-q-diff-serve)
                          (setq agent-q-diff-decide-when '(("claude" . after)))))
        (should (string-match-p "\\`The edit of .*a\\.txt was made, and is not reviewed yet: the user \
reviews it after your turn"
                                (own-tool-passes (own-tool-edit "line 5\n" "five\n"))))
        (e2e-see "Claude Code edited .*a\\.txt, to be reviewed")
        (own-tool-passes (own-tool-edit "line 20\n" "twenty\n"))
        (should (equal 0 (e2e-eval '(length (agent-q-diff-open-reviews)))))
        ;; One that is protected is asked about.
        (let ((before (own-tool-claude "PreToolUse" "Write"
                                       `((file_path . ,(e2e-path ".envrc")) (content . "x\n")))))
          (own-tool-go ".envrc")
          (e2e-press "r q")
          (should (equal "deny" (alist-get 'permissionDecision (own-tool-output before)))))
        ;; Emacs is gone: the program knows what was chosen.
        (e2e-eval '(agent-q-diff-serve-stop))
        (should (string-match-p "\\`The edit of .*a\\.txt was made, and is not reviewed yet: no Emacs \
is running"
                                (own-tool-passes (own-tool-edit "line 35\n" "thirty-five\n"))))
        (let-alist (own-tool-output
                    (own-tool-claude "PreToolUse" "Write"
                                     `((file_path . ,(e2e-path ".envrc")) (content . "x\n"))))
          (should (equal .permissionDecision "deny"))
          (should (string-match-p "\\.envrc cannot be edited: it is protected"
                                  .permissionDecisionReason)))
        (e2e-eval '(progn (agent-q-diff-serve)
                          (cd (file-name-directory (inside-file "a.txt")))))
        (should (equal '("a.txt" 3)
                       (e2e-eval '(let ((review (agent-q-diff-review-changes)))
                                    (list (file-name-nondirectory
                                           (agent-q-diff-session-name review))
                                          (car (agent-q-diff-change-tally
                                                (agent-q-diff-session-change review))))))))
        (e2e-see "Written by Claude Code")))))

(defconst own-tool-clients
  '(("claude" "PreToolUse" "Edit"
     ((file_path . "NAME") (old_string . "a\n") (new_string . "A\nB\n")))
    ("claude" "PreToolUse" "Write" ((file_path . "NAME") (content . "A\nB\n")))
    ("codex" "PreToolUse" "apply_patch"
     ((command . "*** Begin Patch\n*** Update File: NAME\n@@\n-a\n+A\n+B\n*** End Patch\n")))
    ("codex" "PreToolUse" "apply_patch"
     ((command . "*** Begin Patch\n*** Update File: NAME\n@@\n-a\n+A\n+B\n\
*** Add File: d/new\n+new\n*** End Patch\n"))
     2)
    ("gemini" "BeforeTool" "replace"
     ((file_path . "NAME") (old_string . "a\n") (new_string . "A\nB\n")))
    ("opencode" "tool.execute.before" "edit"
     ((filePath . "NAME") (oldString . "a\n") (newString . "A\nB\n"))))
  "Agents, their events before a tool, tools, and inputs that change the file NAME.
The number of decisions follows, if it is more than one.")

(ert-deftest e2e-own-tool-no-agent-is-let-into-a-path-that-leads-elsewhere ()
  (own-tool-with-emacs
    (pcase-dolist (`(,client ,event ,tool ,input . ,more) own-tool-clients)
      (ert-info ((format "%s %s" client tool))
        (make-directory (e2e-path "proj/d") t)
        (make-directory (e2e-path "outside") t)
        (e2e-write "proj/d/f" "a\n")
        (e2e-write "outside/f" "a\n")
        (let ((n-hunks (or (car more) 1))
              (before (own-tool-run
                       (list "hook" client)
                       (string-replace
                        "NAME" "d/f"
                        (json-serialize
                         `((session_id . "s") (cwd . ,(e2e-path "proj")) (tool_name . ,tool)
                           (hook_event_name . ,event) (tool_input . ,input)
                           (tool_use_id . "c")))))))
          (e2e-wait-for (e2e-eval '(consp (agent-q-diff-open-reviews))))
          (e2e-eval `(let ((review (car (agent-q-diff-open-reviews))))
                       (dotimes (hunk ,n-hunks)
                         (agent-q-diff-accept review hunk))
                       t))
          (rename-file (e2e-path "proj/d") (e2e-path "proj/gone"))
          (make-symbolic-link "../outside" (e2e-path "proj/d"))
          (e2e-eval '(progn (agent-q-diff-end (car (agent-q-diff-open-reviews))) t))
          (let-alist (own-tool-answer before)
            (should (equal "deny" (or .decision .hookSpecificOutput.permissionDecision)))
            (should (string-match-p "was not run: .* None of it is in "
                                    (or .reason .hookSpecificOutput.permissionDecisionReason)))))
        (delete-file (e2e-path "proj/d"))
        (delete-directory (e2e-path "proj/gone") t)))))

(ert-deftest e2e-own-tool-a-file-that-others-wrote-meanwhile-stays ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((before (own-tool-claude "PreToolUse" "Edit"
                                   (own-tool-edit (e2e-text) (e2e-text 5 20 35)))))
      (own-tool-see-review)
      (e2e-write "a.txt" (e2e-text 1))
      (e2e-press "C-c C-c")
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "deny"))
        (should (string-match-p "was changed while the user decided, so your tool was not run"
                                .permissionDecisionReason)))
      (e2e-see "Claude Code's tool Edit was not run, so nothing that you accepted is in")
      (e2e-see "it was changed while you decided")
      (should (equal '("not run" "it was changed while you decided")
                     (e2e-eval '(let ((entry (car (agent-q-diff-log-entries 1))))
                                  (list (plist-get entry :outcome)
                                        (plist-get entry :reason)))))))))

(ert-deftest e2e-own-tool-after-the-write-nothing-is-claimed-that-is-not-known ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (e2e-eval '(agent-q-diff-serve-stop))
    (let-alist (own-tool-output (own-tool-claude "PostToolUse" "Edit" (own-tool-edit "a" "b")))
      (should (string-match-p "could not compare .*a\\.txt with what the user decided"
                              .additionalContext))
      (should-not (string-search "Nothing was changed" .additionalContext)))))

(ert-deftest e2e-own-tool-a-file-that-is-not-compared-is-told-with-the-reason ()
  (own-tool-with-emacs
    (let-alist (own-tool-output
                (own-tool-claude "PostToolUse" "Edit"
                                 '((file_path . "/sudo::/etc/x.txt") (old_string . "a")
                                   (new_string . "b"))))
      (should (string-match-p "could not compare /sudo::/etc/x.txt .*: .*remote"
                              .additionalContext))
      (should-not (string-search "did not answer" .additionalContext)))))

(ert-deftest e2e-own-tool-nothing-of-it-is-denied-with-the-reason ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((before (own-tool-claude "PreToolUse" "Edit"
                                   (own-tool-edit (e2e-text) (e2e-text 5 20 35)))))
      (own-tool-see-review)
      (e2e-press "C")
      (e2e-type "not now")
      (e2e-press "RET C-c C-k")
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "deny"))
        (should (string-match-p "\\`✗ Rejected: " .permissionDecisionReason))
        (should (string-search "not now" .permissionDecisionReason)))
      (should (equal (e2e-read "a.txt") (e2e-text))))))

(ert-deftest e2e-own-tool-gemini-is-answered-in-its-own-way ()
  (own-tool-with-emacs
    (e2e-write "a.txt" "a\n")
    (let* ((event (lambda (name input)
                    (json-serialize
                     `((session_id . "s") (cwd . ,(e2e-path "")) (hook_event_name . ,name)
                       (tool_name . "write_file") (tool_input . ,input)))))
           (input '((file_path . "a.txt") (content . "A\nb\n")))
           (before (own-tool-run '("hook" "gemini") (funcall event "BeforeTool" input))))
      (e2e-see " a\\.txt: hunk 1/1 .* · Gemini CLI")
      (e2e-press "C-x o C-c C-c")
      ;; The name is made whole, so that it means the same to all.
      (let-alist (own-tool-answer before)
        (should (equal .decision "allow"))
        (should (equal .hookSpecificOutput.tool_input
                       `((file_path . ,(e2e-path "a.txt")) (content . "A\nb\n")))))
      (e2e-write "a.txt" "A\nb\n")
      (let-alist (own-tool-output
                  (own-tool-run '("hook" "gemini") (funcall event "AfterTool" input)))
        (should (string-match-p "\\`✓ Accepted: the change is in " .additionalContext))))))

(defun own-tool-codex (event tool command)
  "Have EVENT of TOOL of Codex with COMMAND answered; return the process."
  (own-tool-run '("hook" "codex")
                (json-serialize `((session_id . "s") (cwd . ,(e2e-path ""))
                                  (hook_event_name . ,event) (tool_name . ,tool)
                                  (tool_input . ((command . ,command)))
                                  (tool_use_id . "call_1")))))

(defun own-tool-codex-told (command)
  "Return what Codex's model is told after `apply_patch' has run with COMMAND.
To block would be an exception in a script of its model, which then ends."
  (let ((answer (own-tool-answer (own-tool-codex "PostToolUse" "apply_patch" command))))
    (should (equal '(hookSpecificOutput) (mapcar #'car answer)))
    (let-alist answer
      (should (equal "PostToolUse" .hookSpecificOutput.hookEventName))
      .hookSpecificOutput.additionalContext)))

(ert-deftest e2e-own-tool-codex-gets-another-patch ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let* ((patch "*** Begin Patch\n*** Update File: a.txt\n@@\n-line 5\n+LINE 5\n@@\n-line 20\n\
+LINE 20\n*** End Patch\n")
           (before (own-tool-codex "PreToolUse" "apply_patch" patch)))
      (e2e-see " a\\.txt: hunk 1/2 .* · Codex")
      (e2e-press "C-x o r a q")
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "allow"))
        (should (equal .updatedInput.command
                       "*** Begin Patch\n*** Update File: a.txt\n@@\n line 17\n line 18\n \
line 19\n-line 20\n+LINE 20\n line 21\n line 22\n line 23\n*** End Patch\n"))
        (e2e-write "a.txt" (e2e-text 20))
        (should (string-match-p "\\`✓ Accepted in part: 1 of 2 hunks is in "
                                (own-tool-codex-told .updatedInput.command))))
      ;; Codex takes no consent without an input.
      (let ((before (own-tool-codex "PreToolUse" "apply_patch"
                                    (string-replace "20" "30" (string-replace "5" "6" patch)))))
        (e2e-see " a\\.txt: hunk 1/2 .* · Codex")
        (e2e-press "C-x o C-c C-c")
        (let-alist (own-tool-output before)
          (should (equal .permissionDecision "allow"))
          (should (string-search "+LINE 30" .updatedInput.command)))))))

(defconst own-tool-patch
  "*** Begin Patch\n*** Update File: a.txt\n@@\n-line 5\n+LINE 5\n*** Delete File: b.txt\n\
*** Update File: c.txt\n*** Move to: d.txt\n@@\n-c\n+C\n*** End Patch"
  "A patch of three files.")

(defun own-tool-write-patched ()
  "Write the files that `own-tool-patch' changes."
  (e2e-write "a.txt" (e2e-text))
  (e2e-write "b.txt" "b\n")
  (e2e-write "c.txt" "c\n"))

(ert-deftest e2e-own-tool-codex-gets-another-patch-of-several-files ()
  (own-tool-with-emacs
    (own-tool-write-patched)
    (let ((before (own-tool-codex "PreToolUse" "apply_patch" own-tool-patch)))
      (e2e-see "file 1/[0-9]+ .* · Codex" "You decide what Codex's tool apply_patch")
      (e2e-press "C-x o a r a r q")
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "allow"))
        (should (equal .updatedInput.command
                       "*** Begin Patch\n*** Update File: a.txt\n@@\n line 2\n line 3\n line 4\n\
-line 5\n+LINE 5\n line 6\n line 7\n line 8\n*** Update File: c.txt\n*** Move to: d.txt\n@@\n c\n\
*** End Patch\n"))
        ;; Nothing is written before the tool has run.
        (should (equal (mapcar #'e2e-read '("a.txt" "b.txt" "c.txt" "d.txt"))
                       (list (e2e-text) "b\n" "c\n" nil)))
        (e2e-write "a.txt" (e2e-text 5))
        (rename-file (e2e-path "c.txt") (e2e-path "d.txt"))
        (should (string-match-p "\\`✓ Accepted in part: 2 of 3 files: a\\.txt 1 of 1 hunk, \
b\\.txt not deleted (rejected), c\\.txt renamed to d\\.txt with 0 of 1 hunk (rejected: hunk 1)\\."
                                (own-tool-codex-told .updatedInput.command)))))))

(ert-deftest e2e-own-tool-codex-leaves-something-else-in-one-of-several-files ()
  (own-tool-with-emacs
    (own-tool-write-patched)
    (let ((before (own-tool-codex "PreToolUse" "apply_patch" own-tool-patch)))
      (e2e-see "file 1/[0-9]+ .* · Codex")
      (e2e-press "C-x o C-c C-c")
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "allow"))
        (should (equal .updatedInput.command own-tool-patch))))
    (e2e-write "a.txt" (e2e-text 5))
    (rename-file (e2e-path "c.txt") (e2e-path "d.txt"))
    (e2e-write "d.txt" "C\n")
    (should (string-match-p "\\`ALARM: \\S-+/b\\.txt is not what the user decided"
                            (own-tool-codex-told own-tool-patch)))
    (e2e-see "Codex's tool apply_patch left text in .*b\\.txt")))

(ert-deftest e2e-own-tool-codex-a-file-of-a-patch-that-changes-meanwhile-is-not-written-over ()
  (own-tool-with-emacs
    (own-tool-write-patched)
    (let ((before (own-tool-codex "PreToolUse" "apply_patch" own-tool-patch)))
      (e2e-see "file 1/[0-9]+ .* · Codex")
      (e2e-write "b.txt" "others\n")
      (e2e-press "C-x o C-c C-c")
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "deny"))
        (should (string-match-p "a file of the patch was changed while the user decided"
                                .permissionDecisionReason)))
      (e2e-see "Codex's tool apply_patch was not run, so nothing that you accepted is in"
               "a file was changed while you decided")
      (should (equal (mapcar #'e2e-read '("a.txt" "b.txt" "c.txt"))
                     (list (e2e-text) "others\n" "c\n"))))))

(ert-deftest e2e-own-tool-codex-patches-in-a-shell-are-made-by-emacs ()
  (own-tool-with-emacs
    (own-tool-write-patched)
    (let ((before (own-tool-codex "PreToolUse" "Bash"
                                  (format "apply_patch <<'EOT'\n%s\nEOT\n" own-tool-patch))))
      (e2e-see "file 1/[0-9]+ .* Codex")
      (e2e-press "C-x o C-c C-c")
      (let-alist (own-tool-output before)
        (should (equal .permissionDecision "deny"))
        (should (string-match-p "\\`The patch was not run: Emacs wrote what the user accepted, in all \
files at once\\.\n✓ Accepted: 3 of 3 files: a\\.txt 1 of 1 hunk, b\\.txt deleted, "
                                .permissionDecisionReason)))
      (should (equal (mapcar #'e2e-read '("a.txt" "b.txt" "c.txt" "d.txt"))
                     (list (e2e-text 5) nil nil "C\n"))))
    ;; Another command passes; one that does more than patching does not.
    (should-not (own-tool-answer (own-tool-codex "PreToolUse" "Bash" "ls")))
    (should (equal "deny" (alist-get 'permissionDecision
                                     (own-tool-output
                                      (own-tool-codex "PreToolUse" "Bash"
                                                      "cd x && apply_patch <<E\n*** Begin Patch\n\
*** Delete File: b\n*** End Patch\nE\n")))))))

;;;; Several edits of one file at once

(defun own-tool-opencode (event call name old new &rest more)
  "Have EVENT of opencode's edit of the file NAME answered; return the process.
CALL is the id of the call, which replaces OLD by NEW.  MORE are further
arguments of the program."
  (own-tool-run `("hook" "opencode" ,@more)
                (json-serialize
                 `((session_id . "ses_1") (cwd . ,(e2e-path "")) (hook_event_name . ,event)
                   (tool_name . "edit") (tool_use_id . ,call)
                   (tool_input . ((filePath . ,name) (oldString . ,old) (newString . ,new)))))))

(defun own-tool-opencode-make (call name old new)
  "Replace OLD by NEW in the file NAME as opencode does for CALL.
Return what its model reads of that."
  (let ((parts (split-string (e2e-read name) (regexp-quote old))))
    (should (= 2 (length parts)))
    (e2e-write name (string-join parts new))
    (alist-get 'output (own-tool-answer
                        (own-tool-opencode "tool.execute.after" call name old new)))))

(defun own-tool-see-waiting (n)
  "Wait until one review is open and N edits wait."
  (e2e-see (format "\\[1 review, %d waiting\\]" n))
  (should (= 1 (e2e-eval '(length (agent-q-diff-open-reviews))))))

(defun own-tool-decide (process name keys)
  "Decide the review of the file NAME by KEYS; return what PROCESS answers."
  (own-tool-go name)
  (e2e-press keys)
  (own-tool-answer process))

(ert-deftest e2e-own-tool-edits-of-one-file-at-once-come-one-after-the-other ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (make-symbolic-link "a.txt" (e2e-path "link.txt"))
    (let ((one (own-tool-opencode "tool.execute.before" "c1" "a.txt" "line 5\n" "LINE 5\n")))
      (e2e-see " a\\.txt: hunk 1/1 .* · opencode")
      ;; Another name of the file, and a line that only the first edit makes.
      (let ((two (own-tool-opencode "tool.execute.before" "c2" "link.txt"
                                    "LINE 5\nline 6\n" "LINE 5\nLINE 6\n")))
        (own-tool-see-waiting 1)
        (should (equal "allow" (alist-get 'decision (own-tool-decide one "a.txt" "C-c C-c"))))
        ;; Its tool has still to write.
        (should (process-live-p two))
        (should-not (e2e-eval '(agent-q-diff-open-reviews)))
        (should (string-prefix-p "✓ Accepted: " (own-tool-opencode-make
                                                 "c1" "a.txt" "line 5\n" "LINE 5\n")))
        (e2e-see " link\\.txt: hunk 1/1 .* · opencode" "\\[1 review\\]")
        (should (equal "allow" (alist-get 'decision (own-tool-decide two "link.txt" "C-c C-c"))))
        (should (string-prefix-p "✓ Accepted: "
                                 (own-tool-opencode-make "c2" "link.txt" "LINE 5\nline 6\n"
                                                         "LINE 5\nLINE 6\n")))))
    (should-not (e2e-eval '(get-buffer "*Warnings*")))))

(ert-deftest e2e-own-tool-after-a-rejected-edit-the-next-is-of-the-file-as-it-was ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((one (own-tool-opencode "tool.execute.before" "c1" "a.txt" "line 5\n" "LINE 5\n")))
      (e2e-see " a\\.txt: hunk 1/1 .* · opencode")
      (let ((two (own-tool-opencode "tool.execute.before" "c2" "a.txt" "line 6\n" "LINE 6\n")))
        (own-tool-see-waiting 1)
        (should (equal "deny" (alist-get 'decision (own-tool-decide one "a.txt" "C-c C-k"))))
        (e2e-see " a\\.txt: hunk 1/1 .* · opencode" "^.-line 6$")
        (own-tool-decide two "a.txt" "C-c C-c")
        (own-tool-opencode-make "c2" "a.txt" "line 6\n" "LINE 6\n")
        (should (equal (e2e-read "a.txt") (e2e-text 6)))))))

(ert-deftest e2e-own-tool-an-edit-that-no-longer-applies-is-to-be-made-anew ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((one (own-tool-opencode "tool.execute.before" "c1" "a.txt" "line 5\n" "LINE 5\n")))
      (e2e-see " a\\.txt: hunk 1/1 .* · opencode")
      (let ((two (own-tool-opencode "tool.execute.before" "c2" "a.txt" "line 5\n" "Line 5\n")))
        (own-tool-see-waiting 1)
        (own-tool-decide one "a.txt" "C-c C-c")
        (own-tool-opencode-make "c1" "a.txt" "line 5\n" "LINE 5\n")
        (let-alist (own-tool-answer two)
          (should (equal "deny" .decision))
          (should (string-suffix-p ". An earlier edit was decided first: read the file, and make \
your edit anew" .reason)))
        (should-not (e2e-eval '(agent-q-diff-open-reviews)))
        (should-not (e2e-eval '(get-buffer "*Warnings*")))
        (should (equal (e2e-read "a.txt") (e2e-text 5)))))))

(ert-deftest e2e-own-tool-an-edit-that-is-given-up-while-it-waits-holds-nothing-up ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((one (own-tool-opencode "tool.execute.before" "c1" "a.txt" "line 5\n" "LINE 5\n")))
      (e2e-see " a\\.txt: hunk 1/1 .* · opencode")
      (let ((gone (own-tool-opencode "tool.execute.before" "c2" "a.txt" "line 6\n" "LINE 6\n"))
            (late (own-tool-opencode "tool.execute.before" "c3" "a.txt" "line 6\n" "LINE 6\n"
                                     "--timeout" "0.5")))
        ;; In a day it would come.
        (let-alist (own-tool-answer late)
          (should (equal "deny" .decision))
          (should (string-search "an earlier edit of " .reason))
          (should (string-search "so this one was not shown to the user, and nothing was changed"
                                 .reason)))
        (own-tool-see-waiting 1)
        (delete-process gone)
        (e2e-see "opencode gave up an edit of .*a\\.txt that waited for its turn" "\\[1 review\\]")
        (let ((last (own-tool-opencode "tool.execute.before" "c4" "a.txt" "line 7\n" "LINE 7\n")))
          (own-tool-see-waiting 1)
          ;; So does one whose review is open.
          (delete-process one)
          (e2e-see " a\\.txt: hunk 1/1 .* · opencode" "^.-line 7$")
          (should (equal "allow" (alist-get 'decision (own-tool-decide last "a.txt" "C-c C-c")))))))))

(ert-deftest e2e-own-tool-of-several-files-each-is-changed-in-order ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (e2e-write "b.txt" (e2e-text))
    (let ((one (own-tool-opencode "tool.execute.before" "c1" "b.txt" "line 5\n" "LINE 5\n")))
      (e2e-see " b\\.txt: hunk 1/1 .* · opencode")
      (let ((two (own-tool-codex
                  "PreToolUse" "apply_patch"
                  "*** Begin Patch\n*** Update File: a.txt\n@@\n-line 6\n+LINE 6\n\
*** Update File: b.txt\n@@\n-line 6\n+LINE 6\n*** End Patch\n")))
        (own-tool-see-waiting 1)
        ;; It is before this one in the file a.txt, though it waits for b.txt.
        (let ((three (own-tool-opencode "tool.execute.before" "c3" "a.txt" "line 7\n" "LINE 7\n")))
          (own-tool-see-waiting 2)
          (own-tool-decide one "b.txt" "C-c C-c")
          (own-tool-opencode-make "c1" "b.txt" "line 5\n" "LINE 5\n")
          (e2e-see "file 1/2 .* · Codex" "\\[1 review, 1 waiting\\]")
          (e2e-eval '(progn (agent-q-diff-cancel (car (agent-q-diff-open-reviews))) t))
          (e2e-wait-for (not (process-live-p two)))
          (e2e-see " a\\.txt: hunk 1/1 .* · opencode" "\\[1 review\\]")
          (delete-process three))))))

;;;; Setting it up

(ert-deftest e2e-own-tool-is-set-up-from-emacs ()
  (own-tool-with-emacs
    (e2e-eval `(progn (require 'agent-q-diff-setup)
                      (setenv "HOME" ,(e2e-path ""))
                      (setenv "CLAUDE_CONFIG_DIR" ,(e2e-path "claude"))
                      (setq agent-q-diff-program ,(own-tool-program))
                      nil))
    (e2e-press "ESC x")
    (e2e-type "agent-q-diff-setup-agent")
    (e2e-keys "RET")
    (e2e-see "Decide the edits of:")
    (e2e-type "Claude Code")
    (e2e-keys "RET")
    (e2e-see " settings\\.json: hunk 1/1" "\"matcher\": \"Edit|Write|MultiEdit|NotebookEdit\"")
    ;; It does not fit on the screen.
    (e2e-press "C-c C-c")
    (e2e-see "1 of 1 not shown")
    (e2e-press "C-c C-c")
    (e2e-see "ok       Claude Code has the hook, from its next start on"
             "ok       this Emacs serves agents at " "^Claude Code$")
    (e2e-wait-for (string-match-p "^ok +PreToolUse, PostToolUse, .*settings\\.json runs .* hook claude"
                                  (e2e-eval '(with-current-buffer "*Agent-Q Setup*"
                                               (buffer-string)))))
    (let ((settings (e2e-read "claude/settings.json")))
      (should (string-search "agent-q-diff hook claude --edit-tools\"" settings))
      (should (string-search "\"CLAUDE_CODE_THRIFTY_SONIC\": \"0\"" settings)))))

;;;; Whatever goes wrong, the edit is refused

(defun own-tool-should-deny (process regexp)
  "Check that PROCESS denies the edit with a reason that matches REGEXP."
  (let-alist (own-tool-output process)
    (should (equal .permissionDecision "deny"))
    (should (string-match-p regexp .permissionDecisionReason))
    (should (string-match-p "AGENT_Q_DIFF=off" .permissionDecisionReason))))

(ert-deftest e2e-own-tool-without-emacs-the-edit-is-refused ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (e2e-eval '(agent-q-diff-serve-stop))
    (own-tool-should-deny
     (own-tool-claude "PreToolUse" "Edit" (own-tool-edit (e2e-text) (e2e-text 5)))
     "no Emacs is serving")))

(ert-deftest e2e-own-tool-if-emacs-ends-the-edit-is-refused ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((before (own-tool-claude "PreToolUse" "Edit"
                                   (own-tool-edit (e2e-text) (e2e-text 5 20 35)))))
      (own-tool-see-review)
      (signal-process (e2e-eval '(emacs-pid)) 'SIGKILL)
      (own-tool-should-deny before "Emacs ended"))))

(ert-deftest e2e-own-tool-if-the-agent-goes-its-review-is-cancelled ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((before (own-tool-claude "PreToolUse" "Edit"
                                   (own-tool-edit (e2e-text) (e2e-text 5 20 35)))))
      (own-tool-see-review)
      (delete-process before)
      (e2e-see-gone "Agent-Q Diff: a\\.txt")
      (should (equal (e2e-read "a.txt") (e2e-text))))))

(ert-deftest e2e-own-tool-if-nobody-reads-the-answer-the-review-is-cancelled ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (e2e-write "event" (json-serialize
                        `((hook_event_name . "PreToolUse") (tool_name . "Edit")
                          (tool_use_id . "x") (cwd . ,(e2e-path ""))
                          (session_id . "0f1e2d3c-4b5a")
                          (tool_input . ,(own-tool-edit (e2e-text) (e2e-text 5 20 35))))))
    ;; The reader of the pipe ends; the program itself is not told.
    (let* ((process-environment (cons (concat "XDG_RUNTIME_DIR=" (e2e-path "run"))
                                      process-environment))
           (sleep (format "sleep %d" (+ 100000 (random 100000))))
           (reader (start-process "reader" nil "sh" "-c"
                                  (format "%s hook claude < %s | %s"
                                          (shell-quote-argument (own-tool-program))
                                          (shell-quote-argument (e2e-path "event"))
                                          sleep))))
      (own-tool-see-review)
      (signal-process
       (seq-find (lambda (pid)
                   (string-prefix-p sleep (or (alist-get 'args (process-attributes pid))
                                                     "")))
                 (list-system-processes))
       'SIGKILL)
      (e2e-see-gone "Agent-Q Diff: a\\.txt")
      (e2e-wait-for (not (process-live-p reader))))))

(ert-deftest e2e-own-tool-time-is-up ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((input (json-serialize
                  `((hook_event_name . "PreToolUse") (tool_name . "Edit")
                    (tool_use_id . "x") (cwd . ,(e2e-path ""))
                    (tool_input . ,(own-tool-edit (e2e-text) (e2e-text 5)))))))
      (own-tool-should-deny (own-tool-run '("hook" "claude" "--timeout" "0.5") input)
                            "has not decided in the time")
      (e2e-see-gone "Agent-Q Diff: a\\.txt"))))

(ert-deftest e2e-own-tool-the-agent-s-time-out-is-shown-as-it-nears ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let* ((input (json-serialize
                   `((hook_event_name . "PreToolUse") (tool_name . "Edit")
                     (tool_use_id . "x") (cwd . ,(e2e-path ""))
                     (tool_input . ,(own-tool-edit (e2e-text) (e2e-text 5 20 35))))))
           (before (own-tool-run '("hook" "claude" "--timeout" "90") input)))
      (e2e-see "^ 2 min left · a\\.txt: hunk 1/3")
      ;; A minute before the end it is said.
      (e2e-eval '(let ((review (car (agent-q-diff-open-reviews))))
                   (setf (agent-q-diff-session-deadline review) (time-add nil 59))
                   (run-with-timer 0 nil #'agent-q-diff-deadline--update)
                   nil))
      (e2e-see "^ 1 min left · a\\.txt: hunk 1/3"
               "Claude Code waits only 1 more minute for your decision on a\\.txt")
      (delete-process before)
      (e2e-see-gone "Agent-Q Diff: a\\.txt"))))

(defun own-tool-check (&rest variables)
  "Have the hook of Claude Code checked; return the exit status and the output.
VARIABLES are further ones of the environment."
  (let ((check (apply #'own-tool-run '("check" "claude") "" variables)))
    ;; Its output comes after its end.
    (e2e-wait-for (and (not (process-live-p check)) (process-get check 'out)))
    (list (process-exit-status check) (process-get check 'out))))

(ert-deftest e2e-own-tool-check-sees-an-edit-without-the-hook ()
  (own-tool-with-emacs
    (dolist (directory '("bin" ".claude/projects/p"))
      (make-directory (e2e-path directory) t))
    (e2e-write "bin/claude" "#!/bin/sh\necho 1\n")
    (set-file-modes (e2e-path "bin/claude") #o755)
    (let* ((variables (list (format "PATH=%s:%s" (e2e-path "bin") (getenv "PATH"))
                            (concat "XDG_STATE_HOME=" (e2e-path "state"))))
           (setup (apply #'own-tool-run '("setup" "claude" "--yes") "" variables)))
      (e2e-wait-for (not (process-live-p setup)))
      (set-file-times (e2e-path ".claude/settings.json") (time-subtract nil 3600))
      (pcase-let ((`(,status ,found) (apply #'own-tool-check variables)))
        (should (equal 0 status))
        (should (string-search "ok       the hook has not been run yet" found)))
      (e2e-write ".claude/projects/p/s.jsonl"
                 (concat (json-serialize
                          `((timestamp . ,(format-time-string "%FT%T.000Z" (time-subtract nil 120) t))
                            (toolUseResult . ((filePath . "/p/a.txt") (structuredPatch . [])))))
                         "\n"))
      (pcase-let ((`(,status ,found) (apply #'own-tool-check variables)))
        (should (equal 1 status))
        (should (string-match-p "^MISSING  Claude Code edited /p/a\\.txt 2 minutes ago, and did \
not run the hook" found)))
      ;; It is run again.
      (own-tool-answer (apply #'own-tool-run '("hook" "claude")
                              "{\"hook_event_name\": \"Stop\"}" variables))
      (pcase-let ((`(,status ,found) (apply #'own-tool-check variables)))
        (should (equal 0 status))
        (should (string-match-p "^ok       the hook was last run [0-9]+ seconds? ago" found))))))

(defun own-tool-other (format event input)
  "Have EVENT of the edit tool of an agent with FORMAT and INPUT answered."
  (own-tool-run (list "hook" "--format" format "--name" "Another")
                (json-serialize `((sessionId . "one") (cwd . ,(e2e-path ""))
                                  (hookEventName . ,event) (tool_name . "edit")
                                  (tool_input . ,input) (tool_call_id . "call_1")))))

(defun own-tool-denial (process)
  "Wait for PROCESS to end with a refusal on standard error, and return that."
  (e2e-wait-for (not (process-live-p process)))
  (should (= 2 (process-exit-status process)))
  (should-not (process-get process 'out))
  (with-current-buffer (process-get process 'err) (buffer-string)))

(ert-deftest e2e-own-tool-another-agent-writes-all-or-emacs-a-part ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let* ((input `((path . ,(e2e-path "a.txt")) (old_str . ,(e2e-text))
                    (new_str . ,(e2e-text 5 20 35))))
           (before (own-tool-other "claude" "PreToolUse" input)))
      (e2e-see " a\\.txt: hunk 1/3 .* · Another")
      (e2e-press "C-x o C-c C-c")
      (should (equal (own-tool-output before)
                     '((permissionDecision . "allow") (hookEventName . "PreToolUse"))))
      (e2e-write "a.txt" (e2e-text 5 20 35))
      (should (string-match-p "\\`✓ Accepted: all 3 hunks are in"
                              (alist-get 'additionalContext
                                         (own-tool-output
                                          (own-tool-other "claude" "PostToolUse" input)))))
      (e2e-see-gone "Agent-Q Diff: a\\.txt")
      ;; What it would do with another input, nobody knows.
      (e2e-write "a.txt" (e2e-text))
      (setq before (own-tool-other "claude" "PreToolUse" input))
      (e2e-see " a\\.txt: hunk 1/3 .* · Another")
      (unless (string-prefix-p "*Agent-Q Diff" (e2e-eval '(buffer-name (window-buffer))))
        (e2e-press "C-x o"))
      (e2e-press "a r a q")
      (should (string-match-p "edit was not run, since it cannot write what the user decided; \
Emacs wrote it\\.\n✓ Accepted in part: 2 of 3 hunks are in"
                              (own-tool-denial before)))
      (should (equal (e2e-read "a.txt") (e2e-text 5 35))))))

(ert-deftest e2e-own-tool-copilot-reads-a-refusal-on-standard-output ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let* ((run (lambda (&rest more)
                  (own-tool-run '("hook" "--format" "copilot")
                                (json-serialize
                                 `((sessionId . "one") (cwd . ,(e2e-path "")) (toolName . "edit")
                                   (toolArgs . ((path . ,(e2e-path "a.txt"))
                                                (old_str . "line 5\n") (new_str . "LINE 5\n")))
                                   ,@more)))))
           (before (funcall run)))
      (e2e-see " a\\.txt: hunk 1/1 .* · Copilot CLI")
      (e2e-press "C-x o C-c C-k")
      (let-alist (own-tool-answer before)
        (should (equal "deny" .permissionDecision))
        (should (string-prefix-p "✗ Rejected: " .permissionDecisionReason))
        (should (equal .permissionDecisionReason
                       .hookSpecificOutput.permissionDecisionReason)))
      (e2e-see-gone "Agent-Q Diff: a\\.txt")
      (setq before (funcall run))
      (own-tool-go "a.txt")
      (e2e-press "C-c C-c")
      (should (equal "allow" (alist-get 'permissionDecision (own-tool-answer before))))
      (e2e-write "a.txt" (e2e-text 5))
      (should (string-prefix-p "✓ Accepted: "
                               (alist-get 'additionalContext
                                          (own-tool-answer
                                           (funcall run '(toolResult . ((resultType . "success"))))))))
      ;; Whatever goes wrong is said there as well.
      (let-alist (own-tool-answer (own-tool-run '("hook" "--format" "copilot") "{"))
        (should (equal "deny" .permissionDecision))
        (should (string-search "does not understand the agent's event"
                               .permissionDecisionReason))))))

(ert-deftest e2e-own-tool-what-is-made-undecided-is-an-alarm ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((before (own-tool-claude "PreToolUse" "Edit"
                                   (own-tool-edit "line 5\n" "LINE 5\n"))))
      (e2e-see " a\\.txt: hunk 1/1 .* · Claude Code")
      ;; The agent's own time is up: it ends its hook, and edits.
      (delete-process before)
      (e2e-see "Claude Code no longer waits for the review of a\\.txt")
      (e2e-write "a.txt" (e2e-text 5))
      (e2e-see "Claude Code's tool Edit edited .*a\\.txt before you had decided: it did not wait")
      (should (equal "made undecided"
                     (e2e-eval '(plist-get (car (agent-q-diff-log-entries 1)) :outcome)))))))

(ert-deftest e2e-own-tool-what-is-proposed-again-and-accepted-is-no-alarm ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (let ((input (own-tool-edit "line 5\n" "LINE 5\n")))
      (let ((before (own-tool-claude "PreToolUse" "Edit" input)))
        (e2e-see " a\\.txt: hunk 1/1 .* · Claude Code")
        (delete-process before)
        (e2e-see "Claude Code no longer waits for the review of a\\.txt"))
      (let ((before (own-tool-claude "PreToolUse" "Edit" input)))
        (own-tool-go "a.txt")
        (e2e-press "C-c C-c")
        (own-tool-answer before)
        (e2e-write "a.txt" (e2e-text 5))
        (own-tool-answer (own-tool-claude "PostToolUse" "Edit" input)))
      ;; All that was to be looked at has been.
      (e2e-wait-for (not (e2e-eval '(seq-some (lambda (timer)
                                                (string-search "own-agent" (format "%S" timer)))
                                              timer-list))))
      (should-not (e2e-eval '(and (get-buffer "*Warnings*") t))))))

(ert-deftest e2e-own-tool-what-is-too-large-is-refused-before-it-is-read ()
  (own-tool-with-emacs
    (e2e-write "a.txt" "")
    ;; It takes no room on the disk.
    (call-process "truncate" nil nil nil "-s" "65M" (e2e-path "a.txt"))
    (let-alist (own-tool-output (own-tool-claude "PreToolUse" "Write"
                                                 `((file_path . ,(e2e-path "a.txt"))
                                                   (content . "a\n"))))
      (should (equal "deny" .permissionDecision))
      (should (string-match-p "a\\.txt: it is larger than 64 MiB" .permissionDecisionReason)))
    (e2e-write "event" "")
    (call-process "truncate" nil nil nil "-s" "65M" (e2e-path "event"))
    (with-temp-buffer
      (should (= 2 (call-process (own-tool-program) (e2e-path "event") t nil "hook" "claude")))
      (should (string-search "the agent's event is larger than 64 MiB" (buffer-string))))))

(defconst own-tool-refused
  '(("" . "does not understand the agent's event")
    ("{" . "does not understand the agent's event")
    ("{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Edit\"}" . "tool_input is no object"))
  "Events that are none, and what is said of them.")

(ert-deftest e2e-own-tool-what-is-no-event-is-refused ()
  (own-tool-with-emacs
    (pcase-dolist (`(,event . ,reason) own-tool-refused)
      (let ((process (own-tool-run '("hook" "claude") event)))
        (e2e-wait-for (not (process-live-p process)))
        (should (= 2 (process-exit-status process)))
        ;; What it says is read after it has ended.
        (e2e-wait-for (string-match-p reason (with-current-buffer (process-get process 'err)
                                               (buffer-string))))))
    (pcase-dolist (`(,arguments . ,status) '((("hook") . 2) (("hook" "nobody") . 2)
                                             (("hook" "claude" "--bogus") . 2)))
      (let ((process (own-tool-run arguments "")))
        (e2e-wait-for (not (process-live-p process)))
        (should (= status (process-exit-status process)))))))

(ert-deftest e2e-own-tool-what-is-no-edit-passes ()
  (own-tool-with-emacs
    (e2e-write "a.txt" (e2e-text))
    (should-not (own-tool-answer (own-tool-claude "PreToolUse" "Read" '((file_path . "x")))))
    (should-not (own-tool-answer (own-tool-claude "Stop" "Edit" '((file_path . "x")))))
    ;; There is nothing to decide, but Emacs has to know of it.
    (let ((input `((file_path . ,(e2e-path "a.txt")) (content . ,(e2e-text)))))
      (should (equal "allow" (alist-get 'permissionDecision
                                        (own-tool-output
                                         (own-tool-claude "PreToolUse" "Write" input)))))
      (should-not (own-tool-answer (own-tool-claude "PostToolUse" "Write" input))))
    ;; The user has turned it off.
    (should-not (own-tool-answer (own-tool-run '("hook" "claude") "" "AGENT_Q_DIFF=off")))))

(provide 'own-tool-test)
;;; own-tool-test.el ends here
