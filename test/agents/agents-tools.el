;;; agents-tools.el --- Runs real coding agents, whose edits are decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Starts a coding agent without network, against a scripted model
;; (model.py), in an empty home in which the hook is set up as README says, and
;; beside it a real Emacs in which keys decide.  The tests of a suite share that
;; home, since what an agent does when it is first started takes longer than a
;; test.  An agent is called by the name of its program.

;;; Code:

(require 'agent-q-diff-tmux)
(require 'agents-acp)

(defconst agents-limit-seconds 120
  "Number of seconds that an agent may take for a step.
That is much, since tests may have to share a slow machine with others.")

(defvar agents--home nil
  "The home that the tests of a suite share, or nil before the first.")

(defvar agents--client nil
  "The process of the agent.")

(defvar agents--model nil
  "The process of the model.")

(defun agents-file (name)
  "Return the absolute name of the file NAME in this folder."
  (expand-file-name (concat "../agents/" name) e2e-here))

(defun agents-directory ()
  "Return the directory in which the agents are installed."
  (or (getenv "AGENT_Q_DIFF_AGENTS") (error "AGENT_Q_DIFF_AGENTS names no directory")))

(defun agents-program ()
  "Return the name of the program agent-q-diff."
  (expand-file-name "agent-q-diff" (file-name-directory (getenv "AGENT_Q_DIFF_MCP_SERVER"))))

(defun agents-home ()
  "Return the home of the agents in this suite, which is empty at first."
  (or agents--home
      (let ((home (make-temp-file "aqd-home" t)))
        (add-hook 'kill-emacs-hook (lambda () (delete-directory home t)))
        (setq agents--home home))))

(defun agents-environment ()
  "Return the environment of an agent: nothing of the user's."
  (list (format "PATH=%s:%s"
                (expand-file-name "node_modules/.bin" (agents-directory)) (getenv "PATH"))
        (concat "HOME=" (agents-home))
        (concat "TMPDIR=" (directory-file-name temporary-file-directory))
        (concat "XDG_RUNTIME_DIR=" (e2e-path "run"))
        "TERM=dumb" "LANG=C.UTF-8"
        ;; Nothing is to be sent anywhere, and nothing to be updated.
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1" "DISABLE_AUTOUPDATER=1"
        "DISABLE_TELEMETRY=1" "DISABLE_ERROR_REPORTING=1"
        "GEMINI_TELEMETRY_ENABLED=false" "GEMINI_CLI_TRUST_WORKSPACE=true"
        "OPENCODE_DISABLE_AUTOUPDATE=1" "OPENCODE_DISABLE_MODELS_FETCH=1"
        "OPENCODE_DISABLE_LSP_DOWNLOAD=1" "KIMI_CODE_NO_AUTO_UPDATE=1"
        "COPILOT_OFFLINE=true" "COPILOT_MODEL=scripted" "COPILOT_PROVIDER_API_KEY=scripted"
        "ANTHROPIC_API_KEY=scripted" "GEMINI_API_KEY=scripted"
        ;; With a key, Claude Code's doctor asks its service, and waits for half a minute
        ;; where there is no network.  The clients themselves get that of the model.
        "ANTHROPIC_BASE_URL=http://127.0.0.1:9"))

(defun agents-in-terminal (&rest command)
  "Return a command that runs COMMAND, an agent, in a terminal of the user's.
Gemini CLI starts none where it takes the machine for one that runs tests."
  (append (list "env" "-u" "CI" "-u" "GITHUB_ACTIONS")
          (remove "TERM=dumb" (agents-environment))
          command))

(defun agents-run (&rest arguments)
  "Run agent-q-diff with ARGUMENTS; return its exit status and what it prints."
  (let ((program (agents-program))
        (process-environment (agents-environment)))
    (with-temp-buffer
      (list (apply #'call-process program nil t nil arguments) (buffer-string)))))

(defun agents-set-up (client)
  "Put the hook of CLIENT into the settings in the home, as README says."
  ;; claude-agent-acp has the settings of Claude Code, which runs inside it.
  (let ((name (string-remove-suffix "-agent-acp" client)))
    (should (member (car (agents-run "setup" name "--yes")) '(0 1)))))

(defun agents-lose-program (client name)
  "Let the hook of CLIENT name a program that is not there.
NAME is the file in the home that names it.  Check that `check' finds that."
  (let ((file (concat "home/" name)))
    (e2e-write file (string-replace (agents-program) "/nowhere/agent-q-diff" (e2e-read file))))
  (pcase-let ((`(,status ,found) (agents-run "check" client)))
    (should (= 1 status))
    (should (string-search "there is no program /nowhere/agent-q-diff" found))))

(defun agents-write-in-home (name text)
  "Make TEXT the content of the file NAME in the home."
  (make-directory (file-name-directory (e2e-path (concat "home/" name))) t)
  (e2e-write (concat "home/" name) text))

(defconst agents-opencode-settings
  "{\"model\": \"scripted/one\", \"share\": \"disabled\", \"provider\": {\"scripted\": {
  \"npm\": \"@ai-sdk/openai-compatible\", \"models\": {\"one\": {\"tool_call\": true}},
  \"options\": {\"baseURL\": \"%s/v1\", \"apiKey\": \"scripted\"}}}}\n"
  "Settings of opencode, with the model's URL to be put in.")

(defconst agents-kimi-settings
  "default_model = \"scripted\"\n
[providers.scripted]\ntype = \"openai\"\nbase_url = \"%s/v1\"\napi_key = \"scripted\"\n
[models.scripted]\nprovider = \"scripted\"\nmodel = \"scripted\"\nmax_context_size = 200000\n\n"
  "Settings of Kimi, with the model's URL to be put in.")

(defvar agents-codex-model "gpt-5.5"
  "Name of the model of Codex.
This one calls tools itself; most others, such as gpt-6.1-sol, are in code
mode: they write scripts that call tools.")

(defvar agents-codex-sandbox "danger-full-access"
  "Sandbox of Codex; this one is none.")

(defvar agents-claude-options nil
  "Further options of Claude Code.")

(defvar agents-codex-options nil
  "Further options of Codex.")

(defvar agents-gemini-mode "auto_edit"
  "The approval mode of Gemini CLI; in \"yolo\", its shell runs without a question.")

(defconst agents-codex-settings
  "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n
[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"http://127.0.0.1:9/v1\"
wire_api = \"responses\"\n
[features]\ndaemon_auto_start = false\nin_app_updates = false\n"
  "Settings of Codex: a model of ours, and no process that outlives it.")

(defun agents-codex-trusted-p ()
  "Return non-nil if Codex has noted that all six hooks are trusted."
  (string-match-p "\\(?:trusted_hash\\(?:.\\|\n\\)*\\)\\{6\\}"
                  (or (e2e-read "home/.codex/config.toml") "")))

(defun agents-codex-press (key regexp)
  "Press KEY in Codex until its screen, or its notes of trust, match REGEXP.
What is typed while it starts is lost."
  (let ((last-time 0))
    (e2e-wait-for (or (string-match-p regexp (e2e-screen))
                      (agents-codex-trusted-p)
                      (when (< 1 (- (float-time) last-time))
                        (setq last-time (float-time))
                        (e2e-keys key)
                        nil)))))

(defun agents-codex-trust ()
  "Start Codex in a terminal, trust the hook by keys, and end it."
  (agents-write-in-home ".codex/config.toml" agents-codex-settings)
  (apply #'e2e-tmux "new-window" "-c" (e2e-path "project") "--"
         ;; On a busy machine it may give up on its terminal.
         (agents-in-terminal "sh" "-c" "codex || codex || codex"))
  (e2e-see "Hooks need review" "6 hooks are new or changed" "2\\. Trust all and continue")
  (agents-codex-press "2" "› 2\\. Trust all")
  (e2e-keys "RET")
  (e2e-wait-for (agents-codex-trusted-p))
  (e2e-tmux "kill-window"))

(defun agents-write-provider (client url)
  "Let CLIENT ask the model at URL, where settings have to say so."
  (pcase client
    ("kimi" (agents-write-in-home ".kimi-code/config.toml"
                                  (concat (format agents-kimi-settings url)
                                          (e2e-read "home/.kimi-code/hooks.toml"))))
    ("opencode" (agents-write-in-home ".config/opencode/opencode.json"
                                      (format agents-opencode-settings url)))))

(defun agents-log-in (client)
  "Write what CLIENT has to find in the home before it asks a model."
  (when (and (equal client "gemini")
             (not (file-exists-p (e2e-path "home/.gemini/settings.json"))))
    (agents-write-in-home
     ".gemini/settings.json"
     "{\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}}\n")))

;; Gemini CLI runs itself anew, and claude-agent-acp runs Claude Code, which
;; outlives it if it is killed alone.
(defun agents--processes (pid)
  "Return the ids of the process PID and its descendants, without our hooks."
  (cl-flet ((attribute (key id) (alist-get key (process-attributes id))))
    (let ((ids (list-system-processes)))
      (cl-labels ((descend (pid)
                    (unless (string-match-p "agent-q-diff hook" (or (attribute 'args pid) ""))
                      (cons pid (mapcan #'descend
                                        (seq-filter (lambda (id)
                                                      (eql pid (attribute 'ppid id)))
                                                    ids))))))
        (descend pid)))))

(defun agents-set-hook-timeout (client seconds)
  "Let the hook of CLIENT in the home wait only for SECONDS."
  (pcase-let* ((`(,file ,hook ,options)
                (pcase-exhaustive client
                  ((or "claude" "claude-agent-acp")
                   '(".claude/settings.json" " hook claude" " --timeout %d"))
                  ("codex" '(".codex/hooks.json" " hook codex" " --timeout %d"))
                  ("gemini" '(".gemini/settings.json" " hook gemini" " --timeout %d"))
                  ("opencode" '(".config/opencode/plugins/agent-q-diff.js"
                                "\"hook\",\"opencode\"" ",\"--timeout\",\"%d\""))))
               (name (concat "home/" file))
               (text (e2e-read name)))
    (should (string-search hook text))
    (e2e-write name (string-replace hook (concat hook (format options seconds)) text))
    ;; What was changed has to be trusted again.
    (when (equal client "codex")
      (agents-codex-trust))))

(defun agents-kill ()
  "Kill the agent with all its processes, but not what it runs as hooks."
  (dolist (pid (agents--processes (process-id agents--client)))
    (signal-process pid 'SIGKILL)))

(defun agents-stop ()
  "Stop the agent and its model, if they run."
  (when (process-live-p agents--client)
    (agents-kill))
  (when (process-live-p agents--model)
    (delete-process agents--model)))

(defmacro agents-with-emacs (client &rest body)
  "Evaluate BODY with an Emacs that serves, and the hook of CLIENT set up."
  (declare (indent 1) (debug t))
  `(let ((e2e-limit-seconds agents-limit-seconds))
     (agents-directory)
     (e2e-with-emacs
       (make-symbolic-link (agents-home) (e2e-path "home"))
       (make-directory (e2e-path "project"))
       (e2e-eval '(progn (require 'agent-q-diff-server)
                         (make-directory (inside-file "run"))
                         (setenv "XDG_RUNTIME_DIR" (inside-file "run"))
                         (agent-q-diff-serve)))
       (agents-log-in ,client)
       (agents-set-up ,client)
       (when (and (equal ,client "codex") (not (agents-codex-trusted-p)))
         (agents-codex-trust))
       (unwind-protect
           (progn ,@body)
         (agents-stop)))))

(defmacro agents-with-home-of-its-own (&rest body)
  "Evaluate BODY with a home that no other test sees."
  (declare (indent 0) (debug t))
  `(let ((agents--home (make-temp-file "aqd-home" t)))
     (unwind-protect
         (progn ,@body)
       (delete-directory agents--home t))))

(defvar agents-prompt "Begin."
  "The prompt that agents answer, unless they are driven over ACP.")

(defvar agents-goes-on nil
  "Whether agents go on with their last session in the project.")

(defun agents--going-on (client)
  "Return options of CLIENT by which it goes on with its last session, if meant."
  (and agents-goes-on
       (pcase-exhaustive client
         ((or "claude" "opencode" "kimi" "qwen") '("--continue"))
         ("codex" '("resume" "--last"))
         ("gemini" '("--resume" "latest")))))

(defun agents-qwen-provider (url)
  "Return options of Qwen Code by which it asks the model at URL."
  `("--auth-type" "openai" "--openai-api-key" "scripted" "--model" "scripted"
    "--openai-base-url" ,(concat url "/v1")))

(defun agents--command (client url)
  "Return the command that has CLIENT answer a prompt with the model at URL."
  (cons (expand-file-name (concat "node_modules/.bin/" client) (agents-directory))
        (pcase-exhaustive client
          ("claude" `("-p" ,agents-prompt "--permission-mode" "acceptEdits"
                      ,@(agents--going-on client) ,@agents-claude-options))
          ("claude-agent-acp" '())
          ("opencode" `("run" ,@(agents--going-on client) ,agents-prompt))
          ("codex" `("exec" "--skip-git-repo-check" "-s" ,agents-codex-sandbox
                     "-c" ,(format "model=\"%s\"" agents-codex-model)
                     "-c" ,(format "model_providers.scripted.base_url=\"%s/v1\"" url)
                     ,@agents-codex-options ,@(agents--going-on client)
                     ,agents-prompt))
          ("gemini" `("-p" ,agents-prompt "--approval-mode" ,agents-gemini-mode
                      ,@(agents--going-on client)))
          ("copilot" `("-p" ,agents-prompt "--allow-all-tools"))
          ("kimi" `("-p" ,agents-prompt))
          ("qwen" `(,@(agents-qwen-provider url) "--approval-mode" "auto-edit" ,agents-prompt)))))

(defun agents--scripted (call)
  "Return CALL, as for `agents--start-model', as the model reads it."
  (pcase call
    (`(:at-once . ,call) `((at_once . t) ,@(agents--scripted call)))
    (`(:fails ,status) `((status . ,status)))
    (`(,tool ,input :task ,task) `((tool . ,tool) (input . ,input) (task . ,task)))
    (`(,tool . ,input) `((tool . ,tool) (input . ,input)))))

(defun agents--start-model (calls)
  "Start a model that makes CALLS, and return its URL.
A call (TOOL INPUT :task TEXT) is that of a subagent, which was told TEXT.  A
call (:at-once TOOL . INPUT) is made together with the one before it, and
with (:fails STATUS), requests fail from there on; if that is 0, they are not
answered."
  (e2e-write "script" (json-serialize
                       (vconcat (mapcar #'agents--scripted calls))))
  (dolist (name '("log" "port"))
    (when (file-exists-p (e2e-path name))
      (delete-file (e2e-path name))))
  (setq agents--model
        (make-process :name "model" :noquery t
                      :command (list (getenv "AGENT_Q_DIFF_MCP_PYTHON") (agents-file "model.py")
                                     (e2e-path "script") (e2e-path "log") (e2e-path "port"))))
  (e2e-wait-for (not (member (e2e-read "port") '(nil ""))))
  (format "http://127.0.0.1:%s" (e2e-read "port")))

(defun agents-start (client &rest calls)
  "Start CLIENT, whose model makes CALLS, each (TOOL . INPUT), one after the other."
  (agents--start-client client (agents--start-model calls)))

(defun agents-start-beside (client)
  "Start a further CLIENT with the model that runs already.
Return the process of the one before."
  (prog1 agents--client
    (agents--start-client client (format "http://127.0.0.1:%s" (e2e-read "port")))))

(defun agents--start-client (client url)
  "Start CLIENT with the model at URL."
  (let ((command (agents--command client url))
        (default-directory (file-name-as-directory (e2e-path "project")))
        (process-environment
         (append (list (concat "ANTHROPIC_BASE_URL=" url)
                       (concat "GOOGLE_GEMINI_BASE_URL=" url)
                       (concat "COPILOT_PROVIDER_BASE_URL=" url "/v1"))
                 (agents-environment))))
    (agents-write-provider client url)
    (setq agents--client
          (make-process :name client :noquery t :connection-type 'pipe :coding 'utf-8-unix
                        :buffer (generate-new-buffer (format " *%s*" client))
                        :command command))
    (if (equal client "claude-agent-acp")
        (agents-acp-begin agents--client (e2e-path "project"))
      (process-send-eof agents--client))))

(defun agents-end (&optional task)
  "Wait until the agent has ended, and return what its model has read.
TASK and the value are as for `agents-told'."
  (e2e-wait-for (not (process-live-p agents--client)))
  (agents-told task))

(defun agents-told (&optional task)
  "Return what the model has read until now.
That is a list of what it read of each result, and beside them.  With TASK, it
is what the subagent has read that was told TASK."
  (let* ((lines (mapcar (lambda (line)
                          (json-parse-string line :object-type 'alist :array-type 'list
                                             :null-object nil))
                        (split-string (or (e2e-read "log") "") "\n" t)))
         (last (or (seq-find (lambda (line) (equal task (alist-get 'task line))) (reverse lines))
                   (ert-fail (list 'nothing-was-asked
                                   (with-current-buffer (process-buffer agents--client)
                                     (buffer-string)))))))
    (append (alist-get 'results last) (alist-get 'beside last))))

(defun agents-should-read (told &rest regexps)
  "Check that one of the texts in TOLD matches each of REGEXPS."
  (dolist (regexp regexps)
    (unless (seq-find (lambda (text) (string-match-p regexp text)) told)
      (ert-fail (list 'not-told regexp told)))))

(defun agents--named (format names)
  "Return FORMAT with each %s replaced by the absolute name of one of NAMES."
  (apply #'format format (mapcar #'agents-project names)))

(defun agents-should-be-told (told format &rest names)
  "Check that one of the texts in TOLD has FORMAT in it, word for word.
Each %s in FORMAT stands for the absolute name of the next of NAMES, files in
the project."
  (let ((text (agents--named format names)))
    (unless (seq-find (lambda (one) (string-search text one)) told)
      (ert-fail (list 'not-told text told)))))

(defun agents-say-at-once-what-is-not-run (client)
  "Check that the end of a turn of CLIENT tells at once what it did not run.
Its own rules deny every edit."
  (agents-put "a.txt" (e2e-text))
  ;; The file itself is looked at later than this test can last.
  (e2e-eval '(ignore (setq agent-q-diff-own-agent--patience 100000)))
  (apply #'agents-start client (agents-edit client "a.txt" "line 5\n" "LINE 5\n"))
  (agents-decide "a.txt" "C-c C-c")
  (agents-end)
  (should (equal (agents-bytes "a.txt") (e2e-text)))
  (let ((warned '(with-current-buffer (get-buffer-create "*Warnings*") (buffer-string))))
    (e2e-wait-for (string-match-p "went on without running it" (e2e-eval warned)))))

(defun agents-should-be-safe-without-program (client)
  "Check that CLIENT, the program of whose hook is not there, edits nothing."
  (agents-put "a.txt" (e2e-text))
  (apply #'agents-start client (agents-edit client "a.txt" "line 5\n" "LINE 5\n"))
  (agents-should-read (agents-end) "agent-q-diff failed: an edit before it is made is refused")
  (should (equal (agents-bytes "a.txt") (e2e-text))))

(defun agents-tool (client)
  "Return the name of CLIENT's tool that `agents-edit' calls."
  (pcase-exhaustive client
    ((or "claude" "claude-agent-acp") "Edit")
    ("gemini" "replace")
    ("opencode" "edit")
    ("codex" "apply_patch")))

(defun agents-should-be-refused (client told format &rest names)
  "Check that CLIENT's model has read FORMAT as the refusal of its call.
TOLD, FORMAT and NAMES are as for `agents-should-be-told'.  The refusal is all
that the result of the call says, with the words that CLIENT puts around it."
  (let ((refusal (regexp-quote (agents--named format names))))
    (agents-should-read
     told
     (pcase-exhaustive client
       ((or "claude" "claude-agent-acp")
        (format "\\`PreToolUse:[A-Za-z]+ hook error: %s\\'" refusal))
       ("gemini" (format "\\`Tool execution blocked: %s\\'" refusal))
       ("opencode" (format "\\`%s\\'" refusal))
       ("codex" (format "\\`Command blocked by PreToolUse hook: %s\\. Command: " refusal))))))

(defun agents-name (client)
  "Return the name by which users know CLIENT."
  (pcase-exhaustive client
    ((or "claude" "claude-agent-acp") "Claude Code")
    ("gemini" "Gemini CLI")
    ("opencode" "opencode")
    ("qwen" "Qwen Code")
    ("kimi" "Kimi")
    ("codex" "Codex")))

(defun agents-project (name)
  "Return the absolute name of the file NAME in the project."
  (e2e-path (concat "project/" name)))

(defun agents-bytes (name)
  "Return the bytes of the file NAME in the project, or nil if there is none."
  (let ((file (agents-project name)))
    (when (file-exists-p file)
      (with-temp-buffer
        (set-buffer-multibyte nil)
        (insert-file-contents-literally file)
        (buffer-string)))))

(defun agents-put (name text)
  "Make TEXT the content of the file NAME in the project."
  (agents-put-bytes name (encode-coding-string text 'utf-8-unix)))

(defun agents-put-bytes (name bytes)
  "Make BYTES, a unibyte string, the content of the file NAME in the project."
  (let ((coding-system-for-write 'no-conversion))
    (write-region bytes nil (agents-project name) nil 'silent)))

;;;; Calls of the agents' tools

(defun agents-codex-patch (&rest lines)
  "Return a call of Codex's `apply_patch' with LINES between its first and last."
  (cons "apply_patch" (concat "*** Begin Patch\n" (string-join lines "\n") "\n*** End Patch\n")))

(defun agents-codex-exec (script)
  "Return a call of the tool by which Codex's models run SCRIPT in code mode.
Codex would let its model go on after 30 seconds, which the scripted one takes
for the end; a machine that has other things to do can be slower than that."
  (cons "exec" (concat "// @exec: {\"yield_time_ms\": 3600000}\n" script)))

(defun agents-lines (text)
  "Return the lines of TEXT, without what ends them."
  (split-string (string-remove-suffix "\n" text) "\n"))

(defun agents--chunk (old new)
  "Return the lines of a patch that make the text NEW of the text OLD."
  (let ((old (agents-lines old))
        (new (agents-lines new)))
    (if (= (length old) (length new))
        (cl-mapcan (lambda (old new)
                     (if (equal old new)
                         (list (concat " " old))
                       (list (concat "-" old) (concat "+" new))))
                   old new)
      (append (mapcar (apply-partially #'concat "-") old)
              (mapcar (apply-partially #'concat "+") new)))))

(defun agents-edit (client name old new &optional is-all)
  "Return calls of CLIENT's tools that replace OLD by NEW in the file NAME.
OLD and NEW have whole lines.  If IS-ALL is non-nil, OLD is replaced wherever
it is; Codex cannot do that."
  (let ((file (agents-project name))
        (is-all (if is-all t :false)))
    (pcase-exhaustive client
      ((or "claude" "claude-agent-acp")
       `(("Read" (file_path . ,file))
         ("Edit" (file_path . ,file) (old_string . ,old) (new_string . ,new)
          (replace_all . ,is-all))))
      ("gemini"
       `(("replace" (file_path . ,file) (instruction . "Shout") (old_string . ,old)
          (new_string . ,new) (allow_multiple . ,is-all))))
      ("copilot" `(("edit" (path . ,file) (old_str . ,old) (new_str . ,new))))
      ("kimi" `(("Read" (path . ,file))
                ("Edit" (path . ,file) (old_string . ,old) (new_string . ,new))))
      ("qwen" `(("read_file" (file_path . ,file))
                ("edit" (file_path . ,file) (old_string . ,old) (new_string . ,new))))
      ("opencode"
       `(("read" (filePath . ,file))
         ("edit" (filePath . ,file) (oldString . ,old) (newString . ,new)
          (replaceAll . ,is-all))))
      ("codex" (list (apply #'agents-codex-patch (concat "*** Update File: " name) "@@"
                            (agents--chunk old new)))))))

(defun agents-write (client name content)
  "Return calls of CLIENT's tools that make CONTENT that of the file NAME."
  (let ((file (agents-project name)))
    (pcase-exhaustive client
      ((or "claude" "claude-agent-acp")
       `(,@(and (file-exists-p file) `(("Read" (file_path . ,file))))
         ("Write" (file_path . ,file) (content . ,content))))
      ("gemini" `(("write_file" (file_path . ,file) (content . ,content))))
      ("opencode"
       `(,@(and (file-exists-p file) `(("read" (filePath . ,file))))
         ("write" (filePath . ,file) (content . ,content))))
      ("codex" (list (apply #'agents-codex-patch (concat "*** Add File: " name)
                            (mapcar (apply-partially #'concat "+")
                                    (agents-lines content))))))))

;;;; The user

(defun agents-go (name)
  "Wait for the review of the file NAME, or of \"N files\", and go to it."
  (e2e-see (if (string-match "\\`\\([0-9]+\\) files\\'" name)
               (format " hunk 1/[0-9]+ · file 1/%s · " (match-string 1 name))
             (format " %s: hunk 1/[0-9]+" (regexp-quote name))))
  ;; The screen can still show the review before.
  (e2e-wait-for
   (e2e-eval '(and (setq agents-review
                         (seq-find (lambda (review)
                                     (when-let ((buffer (agent-q-diff-session-buffer review)))
                                       (get-buffer-window buffer)))
                                   (agent-q-diff-open-reviews)))
                   t)))
  (unless (e2e-eval '(eq (window-buffer) (agent-q-diff-session-buffer agents-review)))
    (e2e-press "C-x o")))

(defun agents-see-end ()
  "Wait until the review that `agents-go' went to is gone.
The agent's next proposal for the same file can be there at once, in the same
buffer."
  (e2e-wait-for (e2e-eval '(not (memq agents-review (agent-q-diff-open-reviews))))))

(defun agents-decide (name keys)
  "Wait for the review of the file NAME, go to it, and decide it by KEYS."
  (agents-go name)
  (e2e-press keys)
  (agents-see-end))

(provide 'agents-tools)
;;; agents-tools.el ends here
