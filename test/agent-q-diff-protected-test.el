;;; agent-q-diff-protected-test.el --- Files that do more than hold text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Which names are asked for each time, which are denied, and which are like
;; any other.

;;; Code:

(require 'agent-q-diff-guard-help)
(require 'agent-q-diff-protected)

(defconst aqd-protected-asked-names
  '(".dir-locals.el" "src/.dir-locals-2.el" ".DIR-LOCALS.EL" ".dir-locals.el." ".envrc"
    "deep/er/.envrc" ".Envrc" ".env\u200crc" ".env" ".env.local" ".husky/pre-commit" "HEAD"
    ".github/workflows/ci.yml" ".GitHub/Workflows/new.yml" "sub/.github/workflows/x"
    ".gitlab-ci.yml" ".circleci/config.yml" "Jenkinsfile" "jenkinsfile.release"
    "azure-pipelines.yaml" ".ci/run" ".gitmodules" ".pre-commit-config.yaml" "CLAUDE.md"
    ".claude/settings.json" ".claude/settings.local.json" ".Claude/commands/x.md" ".mcp.json"
    ".cursor/mcp.json" ".cursorrules" ".cursor/rules/x.mdc" "AGENTS.md" "sub/AGENTS.md"
    ".codex/config.toml" ".gemini/settings.json" ".github/copilot-instructions.md"
    ".vscode/tasks.json" ".vſcode/tasks.json" "x.code-workspace" ".idea/workspace.xml"
    ".devcontainer/devcontainer.json" ".exrc" ".nvim.lua" ".vimrc" ".bashrc" ".bash_profile"
    ".zshenv" ".profile" ".config/fish/config.fish" ".ssh/authorized_keys" ".npmrc"
    "package.json" "web/package.json" "build.rs" ".cargo/config.toml" "eslint.config.mjs"
    "vite.config.ts" ".eslintrc.js" "setup.py" "sitecustomize.py" "x.pth" ".gdbinit"
    ".yarnrc.yml" ".netrc" "Gemfile" ".vscode" ".claude")
  "Names of files that run code or steer agents.")

(defconst aqd-protected-plain-names
  '("README.md" "Makefile" "GNUmakefile" "CMakeLists.txt" "src/main.rs" "Cargo.toml"
    "pyproject.toml" "go.mod" ".editorconfig" ".gitignore" ".gitattributes" "package.json.md"
    "my-package.json" "xpackage.json" "env" "envrc" ".environment" "docs/CLAUDE.md.txt"
    "github/workflows/ci.yml" ".github/ISSUE_TEMPLATE.md" ".github/dependabot.yml"
    "workflows/ci.yml" "vscode/tasks.json" "x.vscode/y" "src/hooks/use.js" "src/head.el"
    "config.ts" "tests/setup.sh" "Dockerfile" "src/idea/x" "build/rs" "LICENSE" "src/agents.el"
    "src/.dir-locals.el.orig/x" "bashrc")
  "Names of ordinary files.")

(ert-deftest aqd-protected-files-that-run-are-asked-for ()
  (aqd-guard-with-project
    (dolist (name aqd-protected-asked-names)
      (ert-info ((format "%S" name) :prefix "name: ")
        (pcase (agent-q-diff-guard-protection (aqd-guard-in name) aqd-guard-root)
          (`(,kind . ,reason)
           (should (eq kind 'asked))
           (should (string-match-p "\\`[a-zE]" reason)))
          (_ (should-not name)))))
    (dolist (name aqd-protected-plain-names)
      (ert-info ((format "%S" name) :prefix "name: ")
        (should-not (agent-q-diff-guard-protection (aqd-guard-in name) aqd-guard-root))))))

(ert-deftest aqd-protected-what-git-keeps-is-denied ()
  (aqd-guard-with-project
    (dolist (name '(".git/config" ".GIT/x" "sub/.git" "git~1/x" "bare/config" ".hg/hgrc"
                    "linked-tree/x/y" "bare/new/deep/x"))
      (ert-info ((format "%S" name) :prefix "name: ")
        (should (eq 'denied (car (agent-q-diff-guard-protection (aqd-guard-in name)
                                                                aqd-guard-root))))))))

(ert-deftest aqd-protected-patterns-are-options ()
  (aqd-guard-with-project
    (let ((agent-q-diff-protected-asked '(("it is mine" "/Makefile" "secret/" "a/*.el")))
          (agent-q-diff-protected-denied '("/vendor/")))
      (pcase-dolist (`(,name . ,kind)
                     '(("Makefile" asked . "it is mine") ("sub/Makefile") ("secret/x" asked . "it is mine")
                       ("x/Secret/y/z" asked . "it is mine") ("secrets/x") ("a/x.el" asked . "it is mine")
                       ("b/a/x.el" asked . "it is mine") ("a/b/x.el") (".envrc")
                       ("vendor/x" denied . "it belongs to the version control system")
                       ("sub/vendor/x")))
        (ert-info ((format "%S" name) :prefix "name: ")
          (should (equal (agent-q-diff-guard-protection (aqd-guard-in name) aqd-guard-root)
                         kind)))))))

(ert-deftest aqd-protected-options-are-obeyed-at-once-however-they-are-set ()
  (let ((agent-q-diff-protected-asked (list (cons "it is mine" (mapcar #'string (number-sequence ?a ?p)))))
        (agent-q-diff-protected-denied nil))
    (cl-flet ((kind (name) (car (agent-q-diff-protected-kind (list name)))))
      (should-not (kind "new"))
      (push (list "it is new" "new") agent-q-diff-protected-asked)
      (should (eq 'asked (kind "new")))
      (let ((agent-q-diff-protected-denied '("new")))
        (should (eq 'denied (kind "new"))))
      (should (eq 'asked (kind "new")))
      (setq agent-q-diff-protected-asked (cdr agent-q-diff-protected-asked))
      (should-not (kind "new"))
      ;; In place, after patterns that stay.
      (nconc (car agent-q-diff-protected-asked) (list "new"))
      (should (eq 'asked (kind "new")))
      (setcar (last (car agent-q-diff-protected-asked)) "other")
      (should-not (kind "new"))
      (should (eq 'asked (kind "other"))))))

(provide 'agent-q-diff-protected-test)
;;; agent-q-diff-protected-test.el ends here
