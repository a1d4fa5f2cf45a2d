;;; readme-test.el --- README's lines lead to a first edit  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; In an empty home, where only Claude Code is installed, README's command is called
;; and answered by the keys that it names; then Claude Code makes an edit, and keys
;; decide it by the hunk.

;;; Code:

(require 'agents-tools)

(defun readme-shell-lines ()
  "Return the commands for a shell with which README begins."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "../../README.md" e2e-here))
    (re-search-forward "^## From nothing to a first review\n\\(?:.*\n\\)*?```sh\n")
    (split-string (buffer-substring (point) (progn (re-search-forward "^```$")
                                                   (line-beginning-position)))
                  "\n" t)))

(ert-deftest agents-readme-leads-from-nothing-to-a-first-edit ()
  (agents-with-home-of-its-own
    (let ((e2e-limit-seconds agents-limit-seconds))
      (should (equal (readme-shell-lines)
                     '("git clone REPOSITORY agent-q-diff"
                       "emacs -L agent-q-diff/lisp -l agent-q-diff -f agent-q-diff-setup")))
      (e2e-with-emacs
        (make-symbolic-link (agents-home) (e2e-path "home"))
        (dolist (directory '("project" "run" "bin"))
          (make-directory (e2e-path directory)))
        (dolist (program '("claude" "node"))
          (make-symbolic-link (expand-file-name (concat "node_modules/.bin/" program)
                                                (agents-directory))
                              (e2e-path (concat "bin/" program))))
        (e2e-eval `(progn (require 'agent-q-diff)
                          (require 'agent-q-diff-setup)
                          (dolist (variable ',(remove "TERM=dumb" (agents-environment)))
                            (string-match "=" variable)
                            (setenv (substring variable 0 (match-beginning 0))
                                    (substring variable (match-end 0))))
                          (setenv "PATH" ,(concat (e2e-path "bin") ":/usr/bin:/bin"))
                          (setq exec-path '(,(e2e-path "bin") "/usr/bin" "/bin")
                                agent-q-diff-program ,(agents-program))
                          nil))
        (e2e-press "ESC x")
        (e2e-type "agent-q-diff-setup")
        (e2e-keys "RET")
        (e2e-see " settings\\.json: hunk 1/1")
        (should-not (file-exists-p (e2e-path "home/.claude/settings.json")))
        (e2e-press "a q")
        (e2e-see "^ok +this Emacs serves agents at "
                 "^ok +Claude Code has the hook, from its next start on"
                 "^Start Claude Code anew, and give it a prompt")
        (agents-put "a.txt" (e2e-text))
        (unwind-protect
            (progn
              (apply #'agents-start "claude"
                     (agents-edit "claude" "a.txt" (e2e-text) (e2e-text 5 20 35)))
              (agents-decide "a.txt" "a r a q")
              (agents-should-read (agents-end) "✓ Accepted in part: 2 of 3 hunks are in ")
              (should (equal (agents-bytes "a.txt") (e2e-text 5 35))))
          (agents-stop))
        ;; What was set up is as it should be.
        (e2e-press "ESC x")
        (e2e-type "agent-q-diff-doctor")
        (e2e-keys "RET")
        (e2e-see "^ok +Emacs .* serves at" "^ok +Claude Code last called at ")
        (e2e-wait-for (string-match-p "^ok +the hook was last run "
                                      (e2e-eval '(with-current-buffer "*Agent-Q Doctor*"
                                                   (buffer-string)))))
        (should-not (string-match-p "^MISSING"
                                    (e2e-eval '(with-current-buffer "*Agent-Q Doctor*"
                                                 (buffer-string)))))))))

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
