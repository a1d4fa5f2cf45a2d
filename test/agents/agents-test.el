;;; agents-test.el --- Real coding agents, whose edits are decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make test-agents' installs Claude Code and Gemini CLI and runs them without
;; network: a scripted model (model.py) calls their own tools, the hook is set
;; up as README says, in an empty home, and keys decide in a real Emacs.  Of
;; each edit, the bytes of the file are checked, and what the model was told.

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
    (setq agents--client
          (make-process :name client :noquery t :connection-type 'pipe
                        :buffer (generate-new-buffer (format " *%s*" client))
                        :command (cons program
                                       (pcase-exhaustive client
                                         ("claude" '("-p" "Begin."
                                                     "--permission-mode" "acceptEdits"))
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

;;;; Claude Code

(ert-deftest agents-claude-all-of-it ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5 20 35)))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "updated successfully"
                        "✓ Accepted: all 3 hunks are in .*/a\\.txt, which is saved")
    (should (equal (agents-bytes "a.txt") (e2e-text 5 20 35)))))

(ert-deftest agents-claude-a-part-with-a-reason ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5 20 35)))
    (agents-go "a.txt")
    (e2e-press "a c")
    (e2e-type "keep line 20")
    (e2e-press "RET r a q")
    (agents-see-end "a.txt")
    (let ((told (agents-end)))
      (agents-should-read told "✓ Accepted in part: 2 of 3 hunks are in .*/a\\.txt, which is saved"
                          "In the file: hunks 1 and 3\\.\nNot in the file: hunk 2\\."
                          "keep line 20"))
    (should (equal (agents-bytes "a.txt") (e2e-text 5 35)))))

(ert-deftest agents-claude-nothing-of-it ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5 20 35)))
    (agents-go "a.txt")
    (e2e-press "C")
    (e2e-type "not today")
    (e2e-press "RET C-c C-k")
    (agents-see-end "a.txt")
    (let ((told (agents-end)))
      (agents-should-read told "✗ Rejected: the user declined" "not today"
                          "None of it is in the file"))
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

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

(ert-deftest agents-claude-line-ends-and-new-files ()
  (agents-with-emacs "claude"
    (agents-put "crlf.txt" (string-replace "\n" "\r\n" (e2e-text)))
    (agents-put "end.txt" "one\ntwo")
    (apply #'agents-start "claude"
           (append (agents-edit "crlf.txt" (e2e-text) (e2e-text 5 20))
                   (agents-edit "end.txt" "two" "TWO\nthree")
                   `(("Write" (file_path . ,(agents-project "sub/new.txt"))
                      (content . "made\n")))))
    (agents-decide "crlf.txt" "r a q")
    (agents-decide "end.txt" "C-c C-c")
    (agents-decide "new.txt" "C-c C-c")
    (agents-should-read (agents-end) "✓ Accepted in part: 1 of 2 hunks is in .*crlf"
                        "✓ Accepted: the change is in .*end" "✓ Accepted: the change is in .*new")
    (should (equal (agents-bytes "crlf.txt")
                   (string-replace "\n" "\r\n" (e2e-text 20))))
    (should (equal (agents-bytes "end.txt") "one\nTWO\nthree"))
    (should (equal (agents-bytes "sub/new.txt") "made\n"))))

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

(ert-deftest agents-claude-unsaved-edits-stay ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (e2e-eval `(with-current-buffer (find-file-noselect ,(agents-project "a.txt"))
                 (goto-char (point-max))
                 (insert "mine\n")
                 nil))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5 20 35)))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "Edit was not run: the user has unsaved edits"
                        "✓ Accepted: all 3 hunks are in the user's Emacs buffer")
    (should (equal (agents-bytes "a.txt") (e2e-text)))
    (should (equal (e2e-eval `(with-current-buffer
                                  (get-file-buffer ,(agents-project "a.txt"))
                                (buffer-string)))
                   (concat (e2e-text 5 20 35) "mine\n")))))

;;;; Whatever goes wrong, nothing is written

(defun agents-claude-is-refused (regexp)
  "Check that an edit of Claude Code is refused with what matches REGEXP."
  (agents-put "a.txt" (e2e-text))
  (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5)))
  (agents-should-read (agents-end) regexp)
  (should (equal (agents-bytes "a.txt") (e2e-text))))

(ert-deftest agents-claude-without-emacs-nothing-is-written ()
  (agents-with-emacs "claude"
    (e2e-eval '(agent-q-diff-serve-stop))
    (agents-claude-is-refused "no Emacs is serving")))

(ert-deftest agents-claude-a-broken-socket-writes-nothing ()
  (agents-with-emacs "claude"
    (e2e-eval '(agent-q-diff-serve-stop))
    (e2e-write "run/agent-q-diff/socket" "no socket")
    (agents-claude-is-refused "Nothing was changed")))

(ert-deftest agents-claude-a-hook-that-cannot-run-is-found-by-check ()
  (agents-with-emacs "claude"
    (should (equal 0 (car (agents-run "check" "claude"))))
    (e2e-write "home/.claude/settings.json"
               (string-replace (agents-program) "/nowhere/agent-q-diff"
                               (e2e-read "home/.claude/settings.json")))
    (pcase-let ((`(,status ,found) (agents-run "check" "claude")))
      (should (= 1 status))
      (should (string-search "there is no program /nowhere/agent-q-diff" found)))))

(ert-deftest agents-claude-if-emacs-is-killed-nothing-is-written ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5)))
    (e2e-see " hunk 1/1")
    (signal-process (e2e-eval '(emacs-pid)) 'SIGKILL)
    (agents-should-read (agents-end) "Emacs ended, or closed the connection")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(ert-deftest agents-claude-if-it-is-killed-its-review-ends ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5)))
    (e2e-see " hunk 1/1")
    (signal-process agents--client 'SIGKILL)
    (e2e-see-gone "Agent-Q Diff: a\\.txt")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

;;;; Gemini CLI

(defun agents-replace (name old new)
  "Return a call of Gemini CLI's `replace' of OLD by NEW in NAME."
  `("replace" (file_path . ,(agents-project name)) (instruction . "Shout")
    (old_string . ,old) (new_string . ,new)))

(ert-deftest agents-gemini-all-a-part-and-nothing ()
  (agents-with-emacs "gemini"
    (agents-put "a.txt" (e2e-text))
    (agents-start "gemini" (agents-replace "a.txt" (e2e-text) (e2e-text 5 20 35))
                  (agents-replace "a.txt" "line 10\n" "LINE 10\n")
                  `("write_file" (file_path . ,(agents-project "b.txt"))
                    (content . "made\n")))
    (agents-decide "a.txt" "a r a q")
    (agents-decide "a.txt" "C-c C-k")
    (agents-decide "b.txt" "C-c C-c")
    (agents-should-read (agents-end)
                        "✓ Accepted in part: 2 of 3 hunks are in .*/a\\.txt, which is saved"
                        "✗ Rejected" "✓ Accepted: the change is in .*/b\\.txt")
    (should (equal (agents-bytes "a.txt") (e2e-text 5 35)))
    (should (equal (agents-bytes "b.txt") "made\n"))))

(ert-deftest agents-gemini-without-emacs-nothing-is-written ()
  (agents-with-emacs "gemini"
    (e2e-eval '(agent-q-diff-serve-stop))
    (agents-put "a.txt" (e2e-text))
    (agents-start "gemini" (agents-replace "a.txt" "line 5\n" "LINE 5\n"))
    (agents-should-read (agents-end) "no Emacs is serving")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(provide 'agents-test)
;;; agents-test.el ends here
