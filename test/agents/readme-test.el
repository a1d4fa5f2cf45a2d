;;; readme-test.el --- README's lines lead to a first edit  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; In an empty home, the lines that README has for users of Claude Code are
;; typed as they stand there, into a shell and into Emacs; then Claude Code
;; makes an edit, and keys decide it by the hunk.

;;; Code:

(require 'agents-tools)

(defun readme-section ()
  "Return the section of README about the agents' own tools."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "../../README.md" e2e-here))
    (re-search-forward "^## Claude Code.*with their own tools$")
    (buffer-substring (point) (progn (re-search-forward "^## ") (point)))))

(defun readme-shell-lines (section)
  "Return the commands for a shell in SECTION, without their comments."
  (should (string-match "^```sh\n\\(\\(?:.\\|\n\\)*?\\)```$" section))
  (mapcar (lambda (line) (string-trim (car (split-string line "#"))))
          (split-string (match-string 1 section) "\n" t)))

(defun readme-key (section)
  "Return the command that SECTION says to call in Emacs."
  (should (string-match "In Emacs, call `M-x \\([a-z-]+\\)`" section))
  (match-string 1 section))

(defun readme-type-into-shell (lines)
  "Type LINES into a shell at the root of the repository, with an empty home."
  (apply #'e2e-tmux "new-window" "-c" (expand-file-name "../.." e2e-here) "--"
         (append '("env") (remove "TERM=dumb" (agents-environment))
                 '("PS1=ready>" "bash" "--norc")))
  (dolist (line lines)
    (e2e-see "^ready>[[:space:]]*\\'")
    (e2e-tmux "clear-history")
    (e2e-type (concat "clear; " line))
    (e2e-keys "RET")
    (when (string-search " setup " line)
      ;; The command takes more than a line.
      (e2e-see "\"command\": \"/bin/sh -c " "CLAUDE_CODE_THRIFTY_SONIC"
               "Change .*settings\\.json so\\? \\[y/N, or h: only the hook\\]")
      (e2e-type "y")
      (e2e-keys "RET")
      (e2e-see "The hook is in .*settings\\.json\\." "ok       PreToolUse")))
  (e2e-see "^ready>[[:space:]]*\\'")
  (e2e-tmux "kill-window"))

(ert-deftest agents-readme-leads-from-nothing-to-a-first-edit ()
  (agents-with-home-of-its-own
    (let ((e2e-limit-seconds agents-limit-seconds)
          (section (readme-section)))
      (e2e-with-emacs
        (make-symbolic-link (agents-home) (e2e-path "home"))
        (dolist (directory '("project" "run"))
          (make-directory (e2e-path directory)))
        (should (equal (readme-shell-lines section)
                       '("make mcp" "target/release/agent-q-diff setup claude")))
        (readme-type-into-shell (readme-shell-lines section))
        ;; As README says in "Installing".
        (e2e-eval '(progn (require 'agent-q-diff)
                          (setenv "XDG_RUNTIME_DIR" (inside-file "run"))
                          nil))
        (e2e-press "ESC x")
        (e2e-type (readme-key section))
        (e2e-keys "RET")
        (e2e-see "Reviews for MCP clients are served at ")
        (agents-put "a.txt" (e2e-text))
        (unwind-protect
            (progn
              (apply #'agents-start "claude"
                     (agents-edit "claude" "a.txt" (e2e-text) (e2e-text 5 20 35)))
              (agents-decide "a.txt" "a r a q")
              (agents-should-read (agents-end) "✓ Accepted in part: 2 of 3 hunks are in ")
              (should (equal (agents-bytes "a.txt") (e2e-text 5 35))))
          (agents-stop))))))

;; Gemini CLI takes options that follow the program for its own.
(ert-deftest agents-readme-lines-for-mcp-leave-options-to-the-program ()
  (agents-with-home-of-its-own
    (let ((process-environment (agents-environment)) (n 0))
      (with-temp-buffer
        (call-process (expand-file-name "../tools/build-program" e2e-here) nil t nil "--say-how")
        (goto-char (point-min))
        (while (re-search-forward "^[A-Z][^:\n]+: +\\(\\(?:claude\\|codex\\|gemini\\) mcp add .*\\)$" nil t)
          (setq n (1+ n))
          (should (eq 0 (call-process-shell-command (concat (match-string 1) " --timeout 100"))))))
      (should (= n 3)))
    (dolist (file '(".claude.json" ".codex/config.toml" ".gemini/settings.json"))
      (should (string-match-p "\"mcp\",[[:space:]]*\"--timeout\",[[:space:]]*\"100\""
                              (with-temp-buffer
                                (insert-file-contents (expand-file-name file agents--home))
                                (buffer-string)))))))

(provide 'readme-test)
;;; readme-test.el ends here
