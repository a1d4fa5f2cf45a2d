;;; agents-rounds.el --- Rounds with every coding agent  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Whatever client it is: what its model writes through a shell is reviewed
;; after its turn, by keys; what is rejected is taken out, and the model reads
;; why, and what is asked, in its next request.  What comes again says that it
;; was rejected, also after Emacs was killed.  A suite defines these tests for its
;; client by `agents-define-rounds'.  The commands are such as clients that accept
;; edits run without a question.

;;; Code:

(require 'agents-tools)
(require 'agents-turns)

(defmacro agents-define-rounds (client)
  "Define the tests of rounds for CLIENT, as agents-CLIENT-rounds-NAME."
  (cl-flet ((test-of (name)
              `(ert-deftest ,(intern (format "agents-%s-rounds-%s" client name)) ()
                 (agents-with-emacs ,client
                   (agents-turns--begin)
                   (let ((agents-gemini-mode "yolo"))
                     (,(intern (format "agents-rounds-%s" name)) ,client))))))
    `(progn
       ,@(mapcar #'test-of '(three-of-them
                             its-edits-pass-and-are-reviewed-after-the-turn
                             what-it-commits-is-pending-all-the-same
                             what-a-file-server-writes-is-pending
                             what-its-shell-plainly-writes-is-sent-back)))))

(defun agents-rounds--shell (client command)
  "Return the call by which the model of CLIENT runs COMMAND in a shell."
  (pcase-exhaustive client
    ((or "claude" "claude-agent-acp") `("Bash" (command . ,command) (description . "Write")))
    ("gemini" `("run_shell_command" (command . ,command) (description . "Write")))
    ("opencode" `("bash" (command . ,command) (description . "Write")))
    ("kimi" `("Bash" (command . ,command) (description . "Write")))
    ("qwen" `("run_shell_command" (command . ,command) (description . "Write")
              (is_background . :false)))
    ("codex" (if (equal agents-codex-model "gpt-5.5")
                 `("exec_command" (cmd . ,command))
               (agents-codex-exec (format "text((await tools.exec_command({cmd: %s})).output)"
                                          (json-serialize command)))))))

(defun agents-rounds--play (client &rest commands)
  "Have the model of CLIENT run COMMANDS in a shell; nobody is asked about that.
Return what it was told at its first request, one string."
  (apply #'agents-start client
         (mapcar (apply-partially #'agents-rounds--shell client) commands))
  (agents-end)
  (should-not (e2e-eval '(agent-q-diff-open-reviews)))
  (e2e-wait-for (seq-every-p #'caddr (agents-turns--recorded)))
  (string-join (car (agents-turns--told)) "\n"))

(defun agents-rounds--review (&rest regexps)
  "Open the review of what is pending in the project, and see REGEXPS."
  (e2e-eval `(progn (let ((default-directory ,(file-name-as-directory (e2e-path "project"))))
                      (agent-q-diff-review-changes))
                    (delete-other-windows)
                    nil))
  (apply #'e2e-see regexps))

(defun agents-rounds--serve-again ()
  "Kill the Emacs under test, and start another one that serves."
  (e2e-kill)
  (e2e-start-again)
  (e2e-eval '(progn (require 'agent-q-diff-server)
                    (setenv "XDG_RUNTIME_DIR" (inside-file "run"))
                    (agent-q-diff-serve)
                    nil)))

(defun agents-rounds-three-of-them (client)
  "Play three rounds with CLIENT."
  (should-not (string-search
               "reviewed"
               (agents-rounds--play
                client
                "sed -i 's/^line 5$/LINE 5/' a.txt"
                "sed -i 's/^line 20$/LINE 20/' a.txt"
                "cat > b.txt <<'EOT'\none\ntwo\nEOT")))
  (agents-rounds--review "^ a\\.txt: hunk 1/2 ")
  (e2e-press "C-u r")
  (e2e-see "Why is it taken out")
  (e2e-type "keep it quiet")
  (e2e-keys "RET")
  (e2e-see "^Hunk 1 of a\\.txt taken out")
  (e2e-press "a Q")
  (e2e-see "^Question on lines 1 to 2 of b\\.txt")
  (e2e-type "why not in a.txt?")
  (e2e-press "RET q")
  (e2e-see "your next prompt")
  (should (equal (agents-bytes "a.txt") (string-replace "line 20" "LINE 20" (e2e-text))))
  ;; The next turn begins with just that.
  (let* ((agents-claude-options '("--allowedTools" "Bash(awk:*)" "Bash(mv:*)"))
         (told (agents-rounds--play
                client
                "sed -i 's/^line 5$/LINE 5/' a.txt"
                ;; A generator: it writes the file anew.
                "awk 'NR == 35 { $0 = \"LINE 35\" } { print }' a.txt > a.new; mv a.new a.txt")))
    (should (string-search "1 hunk kept, 1 hunk undone, 1 hunk undecided (still in the files)" told))
    (should (string-search "- a.txt, line 5. The user says: keep it quiet\n" told))
    (should (string-search "\na.txt, line 5:\n    -line 5\n    +LINE 5" told))
    (should (string-search "- [1] b.txt, lines 1 to 2: why not in a.txt?" told)))
  ;; It has answered in its reply.
  (agents-rounds--serve-again)
  ;; What was kept is not shown again, and one key rejects with the same reason.
  (agents-rounds--review "^# Note: .*1 again, 1 comment handled\\."
                         "^\\[PENDING, taken out today: keep it quiet\\] @@ -2,"
                         "It is another list\\.")
  (should-not (string-match-p "LINE 20$" (replace-regexp-in-string "^ .*" "" (e2e-screen))))
  (e2e-press "r")
  (e2e-see "^Hunk 1 of a\\.txt taken out")
  (e2e-press "a a q")
  (e2e-see "your next prompt")
  (let ((told (agents-rounds--play client "true")))
    (should (string-search "The user says: keep it quiet" told))
    (should-not (string-search "why not in a.txt?" told)))
  (should (equal (agents-bytes "a.txt")
                 (string-replace "line 20" "LINE 20"
                                 (string-replace "line 35" "LINE 35" (e2e-text)))))
  (should-not (e2e-eval `(aref (agent-q-diff-module-pending ,(e2e-path "project") nil) 2))))

(defun agents-rounds-its-edits-pass-and-are-reviewed-after-the-turn (client)
  "Check that edits by the own tool of CLIENT pass, where that was chosen.
The user is asked nothing during the turn, and the next turn begins with what
was said after it."
  (e2e-eval '(ignore (setq agent-q-diff-decide-when '((t . after)))))
  (apply #'agents-start client
         (append (agents-edit client "a.txt" "line 5\n" "LINE 5\n")
                 (agents-edit client "a.txt" "line 20\n" "LINE 20\n")))
  (let ((told (agents-end)))
    (agents-should-be-told
     told "The edit of %s was made, and is not reviewed yet: the user \
reviews it after your turn, and may take parts of it out then." "a.txt"))
  (should-not (e2e-eval '(agent-q-diff-open-reviews)))
  (should (equal (agents-bytes "a.txt") (e2e-text 5 20)))
  (e2e-see (format "%s's turn in [^ ]+ has ended: 1 file to review" (agents-name client)))
  (agents-rounds--review "^ a\\.txt: hunk 1/2 .* · Begin\\.")
  (dolist (reason '("keep it quiet" "this one, too"))
    (e2e-press "C-u r")
    (e2e-see "Why is it taken out")
    (e2e-type reason)
    (e2e-press "RET"))
  (e2e-press "q")
  (e2e-see "your next prompt")
  (should (equal (agents-bytes "a.txt") (e2e-text)))
  (let ((told (agents-rounds--play client "true")))
    (should (string-search "- a.txt, line 5. The user says: keep it quiet\n" told))
    (should (string-search "- a.txt, line 20. The user says: this one, too\n" told))))

(defun agents-rounds-what-it-commits-is-pending-all-the-same (client)
  "Check that what CLIENT commits by itself is reviewed after its turn."
  (let ((default-directory (file-name-as-directory (e2e-path "project"))))
    (dolist (name '("user.name" "user.email"))
      (should (= 0 (call-process "git" nil nil nil "config" name "its")))))
  (let ((agents-claude-options '("--allowedTools" "Bash(git commit:*)")))
    (agents-rounds--play client
                         "sed -i 's/^line 5$/LINE 5/' a.txt"
                         "git commit -qam its"))
  (should (equal (agents-bytes "a.txt") (e2e-text 5)))
  (agents-rounds--review "^ [^ ]+: hunk 1/1 ")
  (e2e-press "r")
  (e2e-see "^Hunk 1 taken out")
  (e2e-press "q")
  (e2e-see "your next prompt")
  (should (equal (agents-bytes "a.txt") (e2e-text)))
  (should (string-search "-line 5\n" (agents-rounds--play client "true"))))

;; The server for files of the Model Context Protocol's own project.

(defun agents-rounds-what-its-shell-plainly-writes-is-sent-back (client)
  "Check that the model of CLIENT is told to use its edit tools, if that is chosen."
  ;; What git ignores is nothing to decide.
  (agents-put ".gitignore" "*.o\n")
  (e2e-eval '(ignore (setq agent-q-diff-shell-writes 'ask)))
  (agents-start client
                (agents-rounds--shell client "sed -i 's/^line 5$/LINE 5/' a.txt")
                (agents-rounds--shell client "cat a.txt > built.o; wc -l a.txt"))
  (let ((told (agents-end)))
    (agents-should-be-refused
     client told "This command would write a.txt past the user's review: make the change \
with your edit tools, so that the user can decide about each part of it.")
    (agents-should-read told "40 a\\.txt"))
  (should (equal (agents-bytes "a.txt") (e2e-text)))
  (should (equal (agents-bytes "built.o") (e2e-text))))

(defun agents-rounds--add-file-server (client)
  "Let CLIENT have the file server.
Some clients read of it in variables, which are to be local."
  (let ((server (list :command "mcp-server-filesystem" :args (vector (e2e-path "project")))))
    (pcase-exhaustive client
      ("claude"
       (setq agents-claude-options
             (list "--mcp-config" (json-serialize (list :mcpServers (list :files server)))
                   "--allowedTools" "mcp__files__edit_file")))
      ("gemini"
       (let ((settings (json-parse-string (e2e-read "home/.gemini/settings.json")
                                          :object-type 'plist)))
         (agents-write-in-home
          ".gemini/settings.json"
          (json-serialize (plist-put settings :mcpServers (list :files server))))))
      ("opencode"
       (setq agents-opencode-settings
             (string-replace
              "{\"model\""
              (format "{\"mcp\": {\"files\": {\"type\": \"local\", \"command\": [%S, %S]}}, \"model\""
                      (plist-get server :command) (e2e-path "project"))
              agents-opencode-settings)))
      ("codex"
       ;; In code mode, the model need not search for the tool first.
       (setq agents-codex-model "gpt-6.1-sol")
       (setq agents-codex-options
             (list "-c" (format "mcp_servers.files.command=%S" (plist-get server :command))
                   "-c" (format "mcp_servers.files.args=[%S]" (e2e-path "project"))))))))

(defun agents-rounds--edit-by-server (client name &rest edits)
  "Return calls by which CLIENT has the server make EDITS, (OLD . NEW), in NAME."
  (let ((input `((path . ,(agents-project name))
                 (edits . ,(vconcat (mapcar (pcase-lambda (`(,old . ,new))
                                              `((oldText . ,old) (newText . ,new)))
                                            edits))))))
    (pcase-exhaustive client
      ("claude" `(("ToolSearch" (query . "select:mcp__files__edit_file") (max_results . 1))
                  ("mcp__files__edit_file" ,@input)))
      ("gemini" `(("mcp_files_edit_file" ,@input)))
      ("opencode" `(("files_edit_file" ,@input)))
      ("codex" `(("exec" . ,(format "text(await tools.mcp__files__edit_file(%s))"
                                    (json-serialize input))))))))

(defun agents-rounds-what-a-file-server-writes-is-pending (client)
  "Check that what CLIENT has an MCP server write is reviewed after its turn."
  (let ((agents-claude-options nil)
        (agents-codex-options nil)
        (agents-codex-model agents-codex-model)
        (agents-opencode-settings agents-opencode-settings))
    (agents-rounds--add-file-server client)
    (apply #'agents-start client
           (agents-rounds--edit-by-server client "a.txt"
                                          '("line 5\n" . "LINE 5\n") '("line 20\n" . "LINE 20\n")))
    (agents-end))
  (should (equal (agents-bytes "a.txt") (e2e-text 5 20)))
  (e2e-see (format "%s's turn in [^ ]+ has ended: 1 file to review" (agents-name client)))
  (agents-rounds--review "^ a\\.txt: hunk 1/2 .* · Begin\\.")
  (e2e-press "C-u r")
  (e2e-see "Why is it taken out")
  (e2e-type "keep it quiet")
  (e2e-press "RET a q")
  (e2e-see "your next prompt")
  (should (equal (agents-bytes "a.txt") (e2e-text 20)))
  (let ((told (agents-rounds--play client "true")))
    (should (string-search "- a.txt, line 5. The user says: keep it quiet\n" told))
    (should (string-search "\na.txt, line 5:\n    -line 5\n    +LINE 5" told))))

(provide 'agents-rounds)
;;; agents-rounds.el ends here
