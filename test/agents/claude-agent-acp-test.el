;;; claude-agent-acp-test.el --- Edits of Claude Code in an editor, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; See agents-tools.el and agents-matrix.el.  Editors run Claude Code by
;; claude-agent-acp, which runs the hooks in Claude Code's own settings.  It does
;; not run as root; test/tools/run-tests runs this suite as another user then.
;;
;; One of these editors is agent-shell, a package for Emacs 29.1 and newer, which
;; runs in the Emacs that also decides.

;;; Code:

(require 'agents-matrix)
(require 'agents-turns)

(agents-define-matrix "claude-agent-acp")

(agents-define-turns "claude-agent-acp")

(defun agents-acp-start-agent-shell (&rest calls)
  "Start agent-shell, with its defaults, and an agent whose model makes CALLS."
  (let ((clients (or (getenv "AGENT_Q_DIFF_CLIENTS")
                     (ert-skip "AGENT_Q_DIFF_CLIENTS names no folder")))
        (url (agents--start-model calls)))
    (e2e-eval
     `(progn
        (dolist (name '("compat" "acp" "shell-maker" "agent-shell-0.74"))
          (add-to-list 'load-path (expand-file-name name ,clients)))
        (require 'agent-shell)
        (setq user-emacs-directory ,(e2e-path "emacs.d/")
              agent-shell-anthropic-claude-acp-command
              '(,(expand-file-name "node_modules/.bin/claude-agent-acp" (agents-directory)))
              agent-shell-anthropic-claude-environment
              '(,(concat "ANTHROPIC_BASE_URL=" url) ,@(agents-environment))
              agent-shell-anthropic-authentication
              (agent-shell-anthropic-make-authentication :api-key "scripted")
              ;; Else it asks which session to go on with, as soon as there is one.
              agent-shell-session-strategy 'new)
        (run-with-timer 0 nil (lambda ()
                                (let ((default-directory ,(file-name-as-directory
                                                           (e2e-path "project"))))
                                  (agent-shell-anthropic-start-claude-code))))
        nil))))

(when (<= 29 emacs-major-version)
  (ert-deftest agents-claude-agent-acp-in-agent-shell-has-one-review-and-the-whole-answer ()
    (agents-with-emacs "claude-agent-acp"
      (agents-put "a.txt" (e2e-text))
      (apply #'agents-acp-start-agent-shell
             (agents-edit "claude-agent-acp" "a.txt" (e2e-text) (e2e-text 5 20 35)))
      (e2e-see "^▶ Available /commands" "^ *❯")
      (e2e-type "Begin.")
      (e2e-keys "RET")
      (agents-decide "a.txt" "a r a q")
      (e2e-see "Edited a file" "That is all")
      (agents-should-be-told
       (agents-told) "✓ Accepted in part: 2 of 3 hunks are in %s, which is saved.

In the file: hunks 1 and 3.
Not in the file: hunk 2." "a.txt")
      (should (equal (agents-bytes "a.txt") (e2e-text 5 35)))
      (should-not (e2e-eval '(agent-q-diff-open-reviews))))))

(provide 'claude-agent-acp-test)
;;; claude-agent-acp-test.el ends here
