;;; aqd-bench-own-tool.el --- Speed of the hook of coding agents  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the hook adds to an edit that the user's policy allows: the program,
;; run before and after the edit, beside a hook that only reads its event.

;;; Code:

(require 'aqd-bench)
(require 'aqd-bench-felt)
(require 'agent-q-diff-server)

(defun aqd-bench-own-tool--event (name file)
  "Return the event NAME of Claude Code for an edit of FILE, in JSON."
  (json-serialize `((hook_event_name . ,name) (tool_name . "Write") (session_id . "bench")
                    (tool_use_id . "bench") (cwd . ,(file-name-directory file))
                    (tool_input . ((file_path . ,file) (content . "B\n"))))))

(defun aqd-bench-own-tool--run (command event)
  "Run the shell COMMAND with EVENT as its input, and wait for its end."
  (let ((process (make-process :name "aqd-bench-hook" :connection-type 'pipe :noquery t
                               :command (list "sh" "-c" command) :filter #'ignore
                               :sentinel #'ignore)))
    (process-send-string process event)
    (process-send-eof process)
    (while (process-live-p process)
      (accept-process-output nil 0.001))
    (unless (eq 0 (process-exit-status process))
      (error "The hook has failed"))))

(defun aqd-bench-own-tool--work (command file)
  "Return a work that runs the hook COMMAND before and after an edit of FILE."
  (aqd-bench-work
   :n 10
   :run (lambda ()
          (aqd-bench-file (file-name-nondirectory file) "A\n")
          (aqd-bench-own-tool--run command (aqd-bench-own-tool--event "PreToolUse" file))
          (aqd-bench-file (file-name-nondirectory file) "B\n")
          (aqd-bench-own-tool--run command (aqd-bench-own-tool--event "PostToolUse" file)))))

(defun aqd-bench-own-tool ()
  "Measure an edit of an agent's own tool that the policy allows."
  (let* ((agent-q-diff-server-socket (expand-file-name "run/socket" aqd-bench-directory))
         (agent-q-diff-project-root aqd-bench-directory)
         (agent-q-diff-tools-policy 'allow)
         (inhibit-message t)
         (program (expand-file-name "agent-q-diff" (file-name-directory
                                                    (getenv "AQD_BENCH_MCP"))))
         (file (aqd-bench-file "own-tool.txt" "A\n")))
    (agent-q-diff-serve)
    (unwind-protect
        (aqd-bench-felt--compare
         "own tool, allowed, before and after : a hook that does nothing" nil
         (aqd-bench-own-tool--work (format "%s hook claude --socket %s"
                                           (shell-quote-argument program)
                                           (shell-quote-argument agent-q-diff-server-socket))
                                   file)
         (aqd-bench-own-tool--work "cat >/dev/null" file)
         :rounds 7)
      (agent-q-diff-serve-stop))))

(provide 'aqd-bench-own-tool)
;;; aqd-bench-own-tool.el ends here
