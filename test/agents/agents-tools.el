;;; agents-tools.el --- Runs real coding agents, whose edits are decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Starts a coding agent without network, against a scripted model
;; (model.py), in an empty home in which the hook is set up as README says, and
;; beside it a real Emacs in which keys decide.

;;; Code:

(require 'agent-q-diff-tmux)

(defconst agents-limit-seconds 60
  "Number of seconds that an agent may take for a step.")

(defvar agents--client nil
  "The process of the agent.")

(defvar agents--model nil
  "The process of the model.")

(defun agents-file (name)
  "Return the absolute name of the file NAME in this folder."
  (expand-file-name (concat "../agents/" name) e2e-here))

(defun agents-directory ()
  "Return the directory in which the agents are installed."
  (or (getenv "AGENT_Q_DIFF_AGENTS") (ert-skip "AGENT_Q_DIFF_AGENTS names no directory")))

(defun agents-program ()
  "Return the name of the program agent-q-diff."
  (expand-file-name "agent-q-diff" (file-name-directory (getenv "AGENT_Q_DIFF_MCP_SERVER"))))

(defun agents-environment ()
  "Return the environment of an agent: nothing of the user's."
  (list (format "PATH=%s:%s"
                (expand-file-name "node_modules/.bin" (agents-directory)) (getenv "PATH"))
        (concat "HOME=" (e2e-path "home"))
        (concat "XDG_RUNTIME_DIR=" (e2e-path "run"))
        "TERM=dumb" "LANG=C.UTF-8"
        ;; Nothing is to be sent anywhere, and nothing to be updated.
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1" "DISABLE_AUTOUPDATER=1"
        "DISABLE_TELEMETRY=1" "DISABLE_ERROR_REPORTING=1"
        "GEMINI_TELEMETRY_ENABLED=false" "GEMINI_CLI_TRUST_WORKSPACE=true"
        "OPENCODE_DISABLE_AUTOUPDATE=1" "OPENCODE_DISABLE_MODELS_FETCH=1"
        "OPENCODE_DISABLE_LSP_DOWNLOAD=1"
        "ANTHROPIC_API_KEY=scripted" "GEMINI_API_KEY=scripted"))

(defun agents-run (&rest arguments)
  "Run agent-q-diff with ARGUMENTS; return its exit status and what it prints."
  (let ((program (agents-program))
        (process-environment (agents-environment)))
    (with-temp-buffer
      (list (apply #'call-process program nil t nil arguments) (buffer-string)))))

(defun agents-set-up (client)
  "Put the hook of CLIENT into the settings in the home, as README says."
  (should (member (car (agents-run "setup" client "--yes")) '(0 1))))

(defun agents-write-settings (text)
  "Make TEXT the settings of Gemini CLI in the home, which has to log in."
  (make-directory (e2e-path "home/.gemini") t)
  (e2e-write "home/.gemini/settings.json" text))

(defconst agents-opencode-settings
  "{\"model\": \"scripted/one\", \"share\": \"disabled\", \"provider\": {\"scripted\": {
  \"npm\": \"@ai-sdk/openai-compatible\", \"models\": {\"one\": {\"tool_call\": true}},
  \"options\": {\"baseURL\": \"%s/v1\", \"apiKey\": \"scripted\"}}}}\n"
  "Settings of opencode, with the model's URL to be put in.")

(defun agents-write-provider (client url)
  "Let CLIENT ask the model at URL, where settings have to say so."
  (pcase client
    ("opencode"
     (make-directory (e2e-path "home/.config/opencode") t)
     (e2e-write "home/.config/opencode/opencode.json" (format agents-opencode-settings url)))))

(defmacro agents-with-emacs (client &rest body)
  "Evaluate BODY with an Emacs that serves, and the hook of CLIENT set up."
  (declare (indent 1) (debug t))
  `(let ((e2e-limit-seconds agents-limit-seconds))
     (agents-directory)
     (e2e-with-emacs
       (make-directory (e2e-path "home"))
       (make-directory (e2e-path "project"))
       (agents-write-settings "{\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}}\n")
       (e2e-eval '(progn (require 'agent-q-diff-server)
                         (make-directory (inside-file "run"))
                         (setenv "XDG_RUNTIME_DIR" (inside-file "run"))
                         (agent-q-diff-serve)))
       (agents-set-up ,client)
       (unwind-protect
           (progn ,@body)
         (dolist (process (list agents--client agents--model))
           (when (process-live-p process)
             (delete-process process)))))))

(defun agents-start (client &rest calls)
  "Start CLIENT, whose model makes CALLS, each (TOOL . INPUT), one after the other."
  (e2e-write "script" (json-serialize
                       (vconcat (mapcar (pcase-lambda (`(,tool . ,input))
                                          `((tool . ,tool) (input . ,input)))
                                        calls))))
  (dolist (name '("log" "port"))
    (when (file-exists-p (e2e-path name))
      (delete-file (e2e-path name))))
  (setq agents--model
        (make-process :name "model" :noquery t
                      :command (list (getenv "AGENT_Q_DIFF_MCP_PYTHON") (agents-file "model.py") (e2e-path "script")
                                     (e2e-path "log") (e2e-path "port"))))
  (e2e-wait-for (e2e-read "port"))
  (let* ((program (expand-file-name (concat "node_modules/.bin/" client) (agents-directory)))
         (url (format "http://127.0.0.1:%s" (e2e-read "port")))
         (default-directory (file-name-as-directory (e2e-path "project")))
         (process-environment
          (append (list (concat "ANTHROPIC_BASE_URL=" url)
                        (concat "GOOGLE_GEMINI_BASE_URL=" url))
                  (agents-environment))))
    (agents-write-provider client url)
    (setq agents--client
          (make-process :name client :noquery t :connection-type 'pipe
                        :buffer (generate-new-buffer (format " *%s*" client))
                        :command (cons program
                                       (pcase-exhaustive client
                                         ("claude" '("-p" "Begin."
                                                     "--permission-mode" "acceptEdits"))
                                         ("opencode" '("run" "Begin."))
                                         ("codex"
                                          `("exec" "--skip-git-repo-check" "-s" "danger-full-access"
                                            "-c" ,(format "%s.base_url=\"%s/v1\""
                                                          "model_providers.scripted" url)
                                            "Begin."))
                                         ("gemini" '("-p" "Begin."
                                                     "--approval-mode" "auto_edit"))))))
    (process-send-eof agents--client)))

(defun agents-end ()
  "Wait until the agent has ended, and return what its model has read.
That is a list of what it read of each result, and beside them."
  (e2e-wait-for (not (process-live-p agents--client)))
  (let* ((lines (split-string (or (e2e-read "log") "") "\n" t))
         (last (json-parse-string (car (last lines)) :object-type 'alist
                                  :array-type 'list)))
    (append (alist-get 'results last) (alist-get 'beside last))))

(defun agents-should-read (told &rest regexps)
  "Check that one of the texts in TOLD matches each of REGEXPS."
  (dolist (regexp regexps)
    (unless (seq-find (lambda (text) (string-match-p regexp text)) told)
      (ert-fail (list 'not-told regexp told)))))

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
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region text nil (agents-project name) nil 'silent)))

(defun agents-edit (name old new)
  "Return calls of Claude Code's tools that replace OLD by NEW in NAME."
  (let ((file (agents-project name)))
    `(("Read" (file_path . ,file))
      ("Edit" (file_path . ,file) (old_string . ,old) (new_string . ,new)))))

(defun agents-go (name)
  "Wait for the review of the file NAME, and go to it."
  (e2e-see (format " hunk 1/[0-9]+.* %s · " (regexp-quote name)))
  (unless (string-prefix-p "*Agent-Q Diff"
                           (e2e-eval '(buffer-name (window-buffer))))
    (e2e-press "C-x o")))

(defun agents-see-end (name)
  "Wait until the review of the file NAME is gone."
  (e2e-see-gone (format "Agent-Q Diff: %s" (regexp-quote name))))

(defun agents-decide (name keys)
  "Wait for the review of the file NAME, go to it, and decide it by KEYS."
  (agents-go name)
  (e2e-press keys)
  (agents-see-end name))

(provide 'agents-tools)
;;; agents-tools.el ends here
