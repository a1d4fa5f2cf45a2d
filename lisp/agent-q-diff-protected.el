;;; agent-q-diff-protected.el --- Files that do more than hold text  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tells which files of a project an agent may not edit at all, and which
;; only if the user is asked for each edit.  Only names are considered; no
;; file is accessed.
;;
;; Protected are files that run *without a decision to run them*: because a
;; directory is entered, a project opened, a commit made, a package
;; installed, a branch pushed, an agent started.  A file that runs only on
;; request, such as a Makefile, a test or any source file, is like other
;; text that the user reviews, so it is not in the list.  Users who disagree
;; can add patterns.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'agent-q-diff-base)

(declare-function ucs-normalize-NFKC-string "ucs-normalize" (str))

;;;; Options

(define-widget 'agent-q-diff-protected-patterns 'lazy
  "A list of patterns for `agent-q-diff-protected-asked'."
  :tag "Patterns"
  :type '(repeat (string :tag "Pattern")))

(defcustom agent-q-diff-protected-denied
  '(".git/" "git~[0-9]/" ".hg/" ".svn/" ".bzr/" ".jj/" ".sl/" "_darcs/" ".pijul/")
  "Patterns of files that no agent may ever edit.
The default holds what version control systems keep for themselves; with
a hook or a setting in there, the next `git status' runs anything.  The
syntax is that of `agent-q-diff-protected-asked'."
  :type 'agent-q-diff-protected-patterns
  :group 'agent-q-diff-agents)

(defcustom agent-q-diff-protected-asked
  '(("Emacs runs it"
     ".dir-locals.el" ".dir-locals-2.el" ".emacs" ".emacs.el" ".emacs.d/"
     "early-init.el" "init.el" ".gnus.el" ".spacemacs" ".spacemacs.d/" ".doom.d/")
    ("it runs when its directory is entered"
     ".envrc" ".env" ".env.*" ".autoenv" ".autoenv.zsh" "mise.toml" "mise.*.toml"
     ".mise.toml" ".mise.*.toml" ".mise/" "mise/" ".rtx.toml" ".tool-versions"
     "rust-toolchain" "rust-toolchain.toml")
    ("git or a hook of it runs it"
     ".gitmodules" ".gitconfig" ".githooks/" ".git-hooks/" ".husky/" ".lefthook/"
     "lefthook.y*ml" "lefthook.toml" "lefthook.json" ".lefthook.y*ml"
     ".lefthook.toml" ".lefthook-local.*" "lefthook-local.*"
     ".pre-commit-config.y*ml" ".pre-commit-hooks.y*ml" ".overcommit.yml"
     ".git-hooks.*" ".huskyrc*" ".lintstagedrc*" "lint-staged.config.*"
     ".simple-git-hooks.*" ".config/git/")
    ("it can make its directory a git repository"
     "HEAD")
    ("continuous integration runs it"
     ".github/workflows/" ".github/actions/" ".gitea/workflows/"
     ".forgejo/workflows/" "action.y*ml" ".gitlab-ci.y*ml" ".gitlab/" ".circleci/"
     ".travis.y*ml" "azure-pipelines*.y*ml" ".azure-pipelines/" ".azuredevops/"
     "Jenkinsfile*" ".drone.y*ml" ".drone.star" ".drone.jsonnet" ".woodpecker/"
     ".woodpecker.y*ml" ".buildkite/" "bitbucket-pipelines.yml"
     "appveyor.y*ml" ".appveyor.y*ml" ".cirrus.y*ml" ".cirrus.star" ".teamcity/"
     ".builds/" ".build.y*ml" "buildspec.y*ml" "cloudbuild.y*ml" ".semaphore/"
     ".tekton/" ".ci/" "wercker.yml" "codefresh.y*ml" "netlify.toml" "vercel.json")
    ("it tells agents what they may and must do"
     ".claude/" ".claude.json" "CLAUDE.md" "CLAUDE.local.md" ".mcp.json" "mcp.json"
     ".mcp/" ".cursor/" ".cursorrules" ".cursorignore" ".codex/" "AGENTS.md"
     "AGENTS.override.md" "AGENT.md" ".agents/" ".agent/" ".agent-q/" "GEMINI.md"
     ".gemini/" ".geminiignore" ".qwen/" "QWEN.md" ".aider*" ".continue/"
     ".continuerc.json" ".windsurf/" ".windsurfrules" ".codeium/" ".roo/" ".roorules*"
     ".roomodes" ".clinerules" ".clinerules/" ".kilocode/" ".kiro/" ".amazonq/"
     ".opencode/" "opencode.json*" ".goose/" ".goosehints" ".junie/" ".augment/"
     ".augment-guidelines" ".trae/" ".crush.json" "crush.json" ".copilot/"
     ".github/copilot-instructions.md" ".github/instructions/" ".github/prompts/"
     ".github/agents/" ".github/chatmodes/" ".github/hooks/" ".rules")
    ("an editor runs it when the project is opened"
     ".vscode/" ".vscode-test*" "*.code-workspace" ".vs/" ".idea/" "*.iml" ".fleet/"
     ".zed/" ".nova/" ".settings/" ".devcontainer/" ".devcontainer.json"
     ".gitpod.yml" ".replit" ".exrc" ".nvimrc" ".nvim.lua" ".nvim/" ".vimrc" "_vimrc"
     ".gvimrc" ".vim/" ".lvimrc" ".vimspector.json" ".helix/" ".kakrc" ".kak/"
     "*.sublime-project" ".ycm_extra_conf.py" ".nanorc")
    ("a language server or a linter of the editor runs it"
     "build.rs" ".cargo/" "build.gradle" "build.gradle.kts" "settings.gradle"
     "settings.gradle.kts" "init.gradle*" "gradle/wrapper/" ".mvn/" "build.sbt"
     "project/*.sbt" "mix.exs" ".formatter.exs" "Gemfile" "*.gemspec" "rebar.config*"
     "lakefile.lean" ".eslintrc*" ".stylelintrc*" ".prettierrc*" ".babelrc*"
     "*.config.[jt]s" "*.config.[cm][jt]s" ".*rc.[jt]s" ".*rc.[cm][jt]s" ".pylintrc"
     "pylintrc" ".flake8" ".rubocop.y*ml" ".ghci" ".ocamlinit" "phpstan.neon*")
    ("it runs when packages are installed or a program starts"
     "package.json" ".npmrc" ".yarnrc" ".yarnrc.yml" ".yarn/" ".pnpmfile.*js"
     ".pnpmrc" "pnpm-workspace.yaml" "bunfig.toml" "composer.json"
     "setup.py" ".pypirc" "pip.conf" ".pip/" ".pydistutils.cfg" "*.pth"
     "sitecustomize.py" "usercustomize.py" ".pythonrc*" ".pdbrc*" ".ipython/"
     ".Rprofile" ".Renviron" ".irbrc" ".pryrc" ".gemrc" ".bundle/" ".gdbinit"
     ".gdbinit.d/" ".lldbinit*" ".sbclrc" ".eclrc" ".clisprc*" ".ccl-init.lisp"
     ".guile" ".psqlrc" ".sqliterc" ".my.cnf" "startup.jl")
    ("a shell or the session runs it"
     ".profile" ".login" ".logout" ".bashrc" ".bash_*" ".zshrc" ".zshenv" ".zprofile"
     ".zlogin" ".zlogout" ".kshrc" ".mkshrc" ".cshrc" ".tcshrc" ".shrc" ".inputrc"
     ".oh-my-zsh/" ".config/" ".local/" "fish/config.fish" "fish/conf.d/"
     ".xinitrc" ".xserverrc" ".xprofile" ".xsession*" ".tmux.conf" ".screenrc"
     ".mailcap" ".forward" ".procmailrc" ".curlrc" ".wgetrc" ".lessfilter"
     ".lesskey" "crontab" "*.crontab" ".crontab" "authorized_keys" "sudoers"
     "sudoers.d/" "ld.so.preload" "*.desktop" "*.service" "*.timer" "*.socket" "autorun.inf")
    ("it holds keys, or says where to send them"
     ".ssh/" ".gnupg/" ".aws/" ".azure/" ".gcloud/" ".kube/" ".docker/" ".netrc"
     "_netrc" ".authinfo" ".git-credentials" ".pgpass" ".vault-token" ".terraformrc"
     ".password-store/"))
  "Patterns of files that an agent may edit only if the user is asked each time.
A grant for the session never covers them.  The value is an alist from
the reason, a clause that follows \"because\", to patterns.

A pattern is a shell wildcard, or several separated by slashes, one for
each part of a name.  A pattern that ends in a slash names a directory
with everything below it; any other names a file.  It matches at any
depth, unless it begins with a slash: then it matches only at the
project's root.  Case is ignored, and so are other differences that some
file systems ignore."
  :type '(alist :key-type (string :tag "Because")
                :value-type agent-q-diff-protected-patterns)
  :group 'agent-q-diff-agents)

;;;; Spellings

(defconst agent-q-diff-protected--ignorable
  "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000E0000-\U000E0FFF]"
  "Regexp of characters that some file systems ignore when they compare names.
HFS+ ignores most of them; the others are Unicode's default ignorables.")

(defun agent-q-diff-protected-fold-case (text)
  "Return TEXT with every letter in lower case.
`downcase' depends on the language: in Turkish it turns \"GIT\" into \"g1t\"
if the string is unibyte, and into dotless letters if not.  Here all of
them become an i."
  (if (string-match-p "[^[:ascii:]]" text)
      (apply #'string (mapcar #'agent-q-diff-protected--fold-char text))
    (with-case-table ascii-case-table
      (downcase text))))

(defun agent-q-diff-protected--fold-char (char)
  "Return CHAR in lower case, for `agent-q-diff-protected-fold-case'."
  (if (< char 128)
      (if (<= ?A char ?Z) (+ char (- ?a ?A)) char)
    (let ((low (downcase (upcase char))))
      (if (memq low '(?I ?ı ?İ)) ?i low))))

(defun agent-q-diff-protected--normalized (name)
  "Return NAME in Unicode normalization form KC, without ignorable characters."
  (let ((visible (replace-regexp-in-string agent-q-diff-protected--ignorable "" name)))
    (if (string-match-p "\\`[[:ascii:]]*\\'" visible)
        visible
      (require 'ucs-normalize)
      (ucs-normalize-NFKC-string visible))))

(defun agent-q-diff-protected-fold (name)
  "Fold NAME, one part of a file name, for the most lenient file system.
HFS+ and APFS ignore case and characters without width; NTFS drops dots
and spaces at the end and reads a colon as the beginning of a stream name."
  (let* ((plain (if (string-match-p "[^[:ascii:]]" name)
                    (agent-q-diff-protected--normalized name)
                  name))
         (low (string-replace "\u0307" "" (agent-q-diff-protected-fold-case plain))))
    (string-trim-right (replace-regexp-in-string "\\(.\\):.*\\'" "\\1" low)
                       "[. ]+")))

;;;; Patterns

(defun agent-q-diff-protected--regexp (patterns)
  "Return a regexp that matches the files that PATTERNS name.
It is for folded names that have a slash before each part."
  (mapconcat
   (lambda (pattern)
     (concat (and (string-prefix-p "/" pattern) "\\`")
             "/"
             (mapconcat (lambda (part)
                          ;; `wildcard-to-regexp' lets it match slashes.
                          (string-replace "[^\0]" "[^/]"
                                          (substring (wildcard-to-regexp part) 2 -2)))
                        (split-string pattern "/" t) "/")
             (if (directory-name-p pattern) "\\(?:/\\|\\'\\)" "\\'")))
   (split-string (agent-q-diff-protected-fold-case (string-join patterns "\0")) "\0")
   "\\|"))

(defvar agent-q-diff-protected--compiled nil
  "What both options say, (OPTIONS . ROWS), or nil.
OPTIONS is a copy of both values, which a user may change in place.  Each
row is (REGEXP KIND . REASON); making its regexp takes milliseconds.")

(defun agent-q-diff-protected--rows ()
  "Return the rows for the present values of both options."
  (let ((options (cons agent-q-diff-protected-denied agent-q-diff-protected-asked)))
    (unless (equal options (car agent-q-diff-protected--compiled))
      (setq agent-q-diff-protected--compiled
            (cons (copy-tree options)
                  (cl-loop for (kind reason . patterns)
                           in `((denied "it belongs to the version control system"
                                        ,@(car options))
                                ,@(mapcar (lambda (row) (cons 'asked row)) (cdr options)))
                           when patterns
                           collect (cl-list* (agent-q-diff-protected--regexp patterns)
                                             kind reason)))))
    (cdr agent-q-diff-protected--compiled)))

(defun agent-q-diff-protected-kind (parts)
  "Return how the file whose name has PARTS below the root is protected.
The value is nil, (`denied' . REASON) or (`asked' . REASON); REASON is a
clause without punctuation."
  (let ((name (mapconcat (lambda (part) (concat "/" (agent-q-diff-protected-fold part)))
                         parts ""))
        (case-fold-search nil))
    (cl-loop for (regexp . kind) in (agent-q-diff-protected--rows)
             thereis (and (string-match-p regexp name) kind))))

(provide 'agent-q-diff-protected)
;;; agent-q-diff-protected.el ends here
