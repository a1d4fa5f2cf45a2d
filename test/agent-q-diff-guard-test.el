;;; agent-q-diff-guard-test.el --- Which files an agent may touch  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Which names are asked for each time, which are denied, and which are like
;; any other.
;;
;; A real project with every kind of file that a path can lead to, real links
;; and devices included, and a table of paths that an agent might try.  A
;; refusal must leave the whole tree as it was, and must not call any remote
;; file name handler.

;;; Code:

(require 'cl-lib)
(require 'cus-edit)
(require 'ert)
(require 'project)
(require 'agent-q-diff-guard-help)
(require 'agent-q-diff-guard)

(defconst aqd-guard-protected-asked-names
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

(defconst aqd-guard-protected-plain-names
  '("README.md" "Makefile" "GNUmakefile" "CMakeLists.txt" "src/main.rs" "Cargo.toml"
    "pyproject.toml" "go.mod" ".editorconfig" ".gitignore" ".gitattributes" "package.json.md"
    "my-package.json" "xpackage.json" "env" "envrc" ".environment" "docs/CLAUDE.md.txt"
    "github/workflows/ci.yml" ".github/ISSUE_TEMPLATE.md" ".github/dependabot.yml"
    "workflows/ci.yml" "vscode/tasks.json" "x.vscode/y" "src/hooks/use.js" "src/head.el"
    "config.ts" "tests/setup.sh" "Dockerfile" "src/idea/x" "build/rs" "LICENSE" "src/agents.el"
    "src/.dir-locals.el.orig/x" "bashrc")
  "Names of ordinary files.")

(ert-deftest aqd-guard-protected-files-that-run-are-asked-for ()
  (aqd-guard-with-project
    (dolist (name aqd-guard-protected-asked-names)
      (ert-info ((format "%S" name) :prefix "name: ")
        (pcase (aqd-guard-protection (aqd-guard-in name) aqd-guard-root)
          (`(,kind . ,reason)
           (should (eq kind 'asked))
           (should (string-match-p "\\`[a-zE]" reason)))
          (_ (should-not name)))))
    (dolist (name aqd-guard-protected-plain-names)
      (ert-info ((format "%S" name) :prefix "name: ")
        (should-not (aqd-guard-protection (aqd-guard-in name) aqd-guard-root))))))

(ert-deftest aqd-guard-protected-what-git-keeps-is-denied ()
  (aqd-guard-with-project
    (dolist (name '(".git/config" ".GIT/x" "sub/.git" "git~1/x" "bare/config" ".hg/hgrc"
                    "linked-tree/x/y" "bare/new/deep/x"))
      (ert-info ((format "%S" name) :prefix "name: ")
        (should (eq 'denied (car (aqd-guard-protection (aqd-guard-in name)
                                                                aqd-guard-root))))))))

(ert-deftest aqd-guard-protected-patterns-are-options ()
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
          (should (equal (aqd-guard-protection (aqd-guard-in name) aqd-guard-root)
                         kind)))))))

(ert-deftest aqd-guard-protected-options-are-obeyed-at-once-however-they-are-set ()
  (let ((agent-q-diff-protected-asked (list (cons "it is mine" (mapcar #'string (number-sequence ?a ?p)))))
        (agent-q-diff-protected-denied nil))
    (cl-flet ((kind (name) (car (agent-q-diff-guard--kind-by-name (list name)))))
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

;;; The guard

;;;; Paths that must be refused

(ert-deftest aqd-guard-refuses-hostile-paths ()
  (aqd-guard-with-project
    (let* ((socket (aqd-guard-socket))
           (processes (process-list))
           (buffers (buffer-list))
           (tramp (featurep 'tramp))
           (before (aqd-guard-snapshot))
           (n 0))
      (unwind-protect
          (pcase-dolist (`(,kind . ,paths) (aqd-guard-hostile))
            (dolist (path paths)
              (cl-incf n)
              (let ((answer (aqd-guard-answer path)))
                (ert-info ((format "%S" path) :prefix "path: ")
                  (should (equal (list kind path (car (split-string answer "\n")))
                                 (list kind path (aqd-guard-first-line path kind))))
                  (should-not (string-match-p "[[:cntrl:]]"
                                              (string-replace "\n" "" answer)))
                  (should-not aqd-guard-asked)))))
        (delete-process socket))
      (should (>= n 150))
      (should (equal before (aqd-guard-snapshot)))
      (should (equal buffers (buffer-list)))
      (should (equal (delq socket processes) (process-list)))
      (should (eq tramp (featurep 'tramp))))))

(ert-deftest aqd-guard-refuses-hostile-paths-of-tool-calls ()
  "The tool returns the guard's message, and does nothing else."
  (aqd-guard-with-project
    (let* ((agent-q-diff-tools-policy 'allow)
           (agent-q-diff-log-file nil)
           (agent-q-diff-show-edit-functions (list (lambda (&rest _) (ert-fail "Shown"))))
           (agent-q-diff-permission-function (lambda (_) (ert-fail "Asked")))
           (socket (aqd-guard-socket))
           (processes (process-list))
           (before (aqd-guard-snapshot))
           (n 0))
      (unwind-protect
          (pcase-dolist (`(,kind . ,paths) (aqd-guard-hostile))
            (dolist (path (seq-filter #'stringp paths))
              (cl-incf n)
              (let ((answer (agent-q-diff-tools-call
                             "edit_file" (list :path path :old_str "t" :new_str "x"))))
                (should (equal (list path (car (split-string answer "\n")))
                               (list path (aqd-guard-first-line path kind))))
                (should-not aqd-guard-asked))))
        (delete-process socket))
      (should (>= n 150))
      (should (equal before (aqd-guard-snapshot)))
      (should (equal (delq socket processes) (process-list))))))

(ert-deftest aqd-guard-refusals-tell-nothing-of-what-is-outside ()
  "Whether a file outside exists must not be revealed, nor tested."
  (aqd-guard-with-project
    (dolist (pair '(("../secret.txt" . "../nothing.txt")
                    ("out-dir/file" . "out-dir/nothing")
                    ("/etc/passwd" . "/etc/nothing-there")))
      (pcase-let ((`(,there . ,not-there) pair))
        (should (equal (string-replace there "X" (aqd-guard-answer there))
                       (string-replace not-there "X" (aqd-guard-answer not-there))))))
    (let (looked)
      (cl-letf* ((real (symbol-function 'file-attributes))
                 ((symbol-function 'file-attributes)
                  (lambda (name &rest more)
                    (push name looked)
                    (apply real name more))))
        (mapc #'aqd-guard-answer (alist-get 'outside (aqd-guard-hostile))))
      (should looked)
      (should-not (cl-remove-if (lambda (name) (string-prefix-p aqd-guard-root name))
                                looked)))))

(ert-deftest aqd-guard-message-is-one-string-without-surprises ()
  (aqd-guard-with-project
    (should (equal (aqd-guard-answer "../x") "Error: Path '../x' is outside project root"))
    (should (equal (aqd-guard-answer "no/../x") "Error: File 'no/../x' not found"))
    (should (equal (aqd-guard-answer "../\e[2J\u202e\377")
                   "Error: Cannot write to file\n\nThe path contains a control character."))
    (should (equal (aqd-guard-answer "../a\u00a0b'%s")
                   "Error: Path '../a<U+00A0>b'%s' is outside project root"))
    (should (< (length (aqd-guard-answer (concat "../" (make-string 3000 ?x)))) 300))))

;;;; Paths that must pass

(defun aqd-guard-innocent ()
  "Return innocent paths, an alist from path to its name below the root."
  `(("README.md" . "README.md") ("./README.md" . "README.md") ("src/a.el" . "src/a.el")
    ("src/./a.el" . "src/a.el") ("src/deep/../a.el" . "src/a.el")
    ("src/deep/../../README.md" . "README.md") ("new.el" . "new.el")
    ("src/new.el" . "src/new.el") ("a/b/c/d/e/f/g/new.el" . "a/b/c/d/e/f/g/new.el")
    ("a b.txt" . "a b.txt") (" lead" . " lead") ("trail " . "trail ")
    ("ünï/ço.txt" . "ünï/ço.txt") ("日本語/ファイル.txt" . "日本語/ファイル.txt")
    ("e\u0301.txt" . "e\u0301.txt") ("👩\u200d🚀.txt" . "👩\u200d🚀.txt")
    ("می\u200cخواهم.txt" . "می\u200cخواهم.txt") ("Screenshot 3.00\u202fPM.txt" . "Screenshot 3.00\u202fPM.txt")
    ("-rf" . "-rf") ("--help" . "--help") ("..foo" . "..foo") ("...dots" . "...dots")
    ("..." . "...") (".../x" . ".../x") ("a..b" . "a..b") ("..a/b" . "..a/b")
    ("100%.txt" . "100%.txt") ("%2e%2e/x" . "%2e%2e/x") ("%s%n" . "%s%n")
    ("$HOME" . "$HOME") ("src/$HOME/x" . "src/$HOME/x") ("${PATH}" . "${PATH}") ("$(id)" . "$(id)")
    ("`id`" . "`id`") ("a;b|c&d" . "a;b|c&d") ("*.el" . "*.el") ("[a]?" . "[a]?")
    ("it's \"so\"" . "it's \"so\"") ("#x#" . "#x#") (".#lock" . ".#lock")
    ("./~tilde" . "~tilde") ("src/~root" . "src/~root") ("src/~" . "src/~") ("x~" . "x~")
    ("./c:x" . "c:x") ("src/ssh:host:x" . "src/ssh:host:x") ("ssh:host:x" . "ssh:host:x")
    ("src/sudo::" . "src/sudo::") ("http:/x" . "http:/x") ("[ssh/host]x" . "[ssh/host]x")
    (".gitignore" . ".gitignore") (".gitattributes" . ".gitattributes") (".gitkeep" . ".gitkeep")
    (".github/README.md" . ".github/README.md") ("git/x" . "git/x") ("src/git" . "src/git")
    ("x.git/notes" . "x.git/notes") ("src/hooks/use.js" . "src/hooks/use.js")
    (".git2/x" . ".git2/x") ("a.git" . "a.git") (".gitx" . ".gitx") ("digit~1" . "digit~1")
    ("hg/x" . "hg/x") ("objects/x" . "objects/x") ("refs/x" . "refs/x")
    ("con" . "con") ("aux.c" . "aux.c") ("nul" . "nul") ("PROGRA~1" . "PROGRA~1")
    ("Makefile" . "Makefile") ("etc/passwd" . "etc/passwd") ("dev/null" . "dev/null")
    ("in-file" . "src/a.el") ("in-dir/a.el" . "src/a.el") ("in-dir/new" . "src/new")
    ("in-up" . "src/a.el") ("in-abs" . "src/a.el") ("in-colon" . "c:x") ("in-chain/b.el" . "src/deep/b.el")
    ("src/back" . "README.md") ("in-dot/README.md" . "README.md")
    ("in-dot/in-dot/src/a.el" . "src/a.el") ("targz" . "targz") ("zip/x" . "zip/x")
    ("a.gz.txt" . "a.gz.txt") ("gpg" . "gpg")
    (,(make-string 255 ?x) . ,(make-string 255 ?x))
    (,(aqd-guard-in "README.md") . "README.md") (,(aqd-guard-in "new/x") . "new/x")
    (,(aqd-guard-in "src/deep/../a.el") . "src/a.el")
    (,(aqd-guard-in "./README.md") . "README.md")))

(ert-deftest aqd-guard-lets-innocent-paths-pass ()
  (aqd-guard-with-project
    (let ((before (aqd-guard-snapshot)))
      (pcase-dolist (`(,path . ,below) (aqd-guard-innocent))
        (when (stringp below)
          (ert-info ((format "%S" path) :prefix "path: ")
            (let ((name (aqd-guard-answer path)))
              (should (equal name (aqd-guard-in below)))
              (should (equal name (expand-file-name name)))
              (should (equal name (agent-q-diff-guard-recheck name aqd-guard-root)))
              (should-not aqd-guard-asked)))))
      (should (equal before (aqd-guard-snapshot))))))

(ert-deftest aqd-guard-new-directories-are-an-option ()
  (aqd-guard-with-project
    (let ((agent-q-diff-create-directories nil))
      (should (equal (aqd-guard-answer "a/b/new.el") "Error: File 'a/b/new.el' not found"))
      (should (equal (aqd-guard-answer "src/new.el") (aqd-guard-in "src/new.el"))))))

(ert-deftest aqd-guard-hard-links-are-an-option ()
  (aqd-guard-with-project
    (let ((agent-q-diff-guard-hard-links t))
      (should (equal (aqd-guard-answer "once") (aqd-guard-in "once"))))))

(ert-deftest aqd-guard-links-are-followed-as-often-as-the-kernel-does ()
  (aqd-guard-with-project
    (dotimes (i 41)
      (aqd-guard-link (if (= i 0) "README.md" (format "chain-%d" i))
                      (format "proj/chain-%d" (1+ i))))
    (should (equal (aqd-guard-answer "chain-40") (aqd-guard-in "README.md")))
    (should (file-exists-p (aqd-guard-in "chain-40")))
    (should (string-prefix-p "Error: Cannot" (aqd-guard-answer "chain-41")))
    (should-not (file-exists-p (aqd-guard-in "chain-41")))))

(ert-deftest aqd-guard-a-name-keeps-no-text-properties ()
  (aqd-guard-with-project
    (should (equal-including-properties
             (aqd-guard-answer (propertize "ünï/ço.txt" 'display "x" 'invisible t))
             (aqd-guard-in "ünï/ço.txt")))))

;;;; The root

(ert-deftest aqd-guard-root-is-the-option-the-project-or-the-directory ()
  (aqd-guard-with-project
    (let ((default-directory (aqd-guard-in "src/deep/")))
      (should (equal (agent-q-diff-guard-root) aqd-guard-root))
      (let ((agent-q-diff-project-root nil)
            (project-find-functions nil))
        (should (equal (agent-q-diff-guard-root) default-directory))
        (let ((project-find-functions (list (lambda (_) (cons 'transient aqd-guard-root)))))
          (should (equal (agent-q-diff-guard-root) aqd-guard-root))))
      (let ((agent-q-diff-project-root "../../in-dir"))
        (should (equal (agent-q-diff-guard-root) (aqd-guard-in "src/")))))))

(ert-deftest aqd-guard-the-root-may-be-known-by-a-link ()
  "Agents use the name that the user knows, such as /tmp on a Mac."
  (aqd-guard-with-project
    (aqd-guard-link "proj" "known")
    (let* ((known (concat aqd-guard-top "known/"))
           (agent-q-diff-project-root nil)
           (project-find-functions nil))
      (let ((default-directory known))
        (should (equal (agent-q-diff-guard-root) aqd-guard-root))
        (should (equal (aqd-guard-answer (concat known "src/a.el"))
                       (aqd-guard-in "src/a.el")))
        (should (string-prefix-p "Error: Path " (aqd-guard-answer
                                                 (concat known "../secret.txt")))))
      (let ((default-directory (concat known "src/")))
        (should (equal (aqd-guard-answer (concat known "README.md"))
                       (aqd-guard-in "README.md"))))
      ;; Other links to the root are not followed.
      (should (string-prefix-p "Error: Path "
                               (aqd-guard-answer (concat known "src/a.el")))))))

(ert-deftest aqd-guard-a-root-that-is-none-lets-nothing-pass ()
  (aqd-guard-with-project
    (aqd-guard-link "proj" "link")
    (dolist (root (list (concat aqd-guard-top "nothing/") (aqd-guard-in "README.md")
                        (concat aqd-guard-top "link/") (directory-file-name aqd-guard-root)
                        "proj/" "" nil 'x))
      (should (string-prefix-p "Error: Cannot write to file" (aqd-guard-answer "x" (or root 'nil-root)))))))

(ert-deftest aqd-guard-the-root-of-everything ()
  "There, a name below the root can look remote, or belong to the kernel."
  (aqd-guard-with-project
    (dolist (path '("/ssh:host:/etc/passwd" "ssh:host:/etc/passwd" "ssh:host:x" "sudo::/x"
                    "/:/etc/passwd" ":x" "proc/version" "/proc/self/mem" "/dev/null" "dev/shm/x"
                    "/sys/kernel/x" "../etc/passwd" "//etc/passwd"))
      (ert-info ((format "%S" path) :prefix "path: ")
        (should (string-prefix-p "Error: " (aqd-guard-answer path "/")))
        (should-not aqd-guard-asked)))
    (should (equal (aqd-guard-in "README.md")
                   (aqd-guard-answer (aqd-guard-in "README.md") "/")))))

;;;; File systems and languages

(ert-deftest aqd-guard-where-case-does-not-matter ()
  "The name gets the directory's spelling, and `.git' stays forbidden."
  (aqd-guard-with-project
    (cl-letf (((symbol-function 'file-name-case-insensitive-p) (lambda (_) t)))
      (should (equal (aqd-guard-answer "readme.MD") (aqd-guard-in "README.md")))
      (should (equal (aqd-guard-answer "SRC/Deep/B.el") (aqd-guard-in "src/deep/b.el")))
      (should (equal (aqd-guard-answer (concat (upcase aqd-guard-root) "src/a.el"))
                     (aqd-guard-in "src/a.el")))
      (should (equal (aqd-guard-answer "src/New.el") (aqd-guard-in "src/New.el")))
      (should (equal (aqd-guard-answer "OUT-FILE")
                     "Error: Path 'OUT-FILE' is outside project root"))
      (should (equal (aqd-guard-answer "OUT-DIR/file")
                     "Error: Path 'OUT-DIR/file' is outside project root"))
      (should (string-prefix-p "Error: Cannot" (aqd-guard-answer ".GIT/config")))
      (should (string-prefix-p "Error: Cannot" (aqd-guard-answer "FIFO"))))))

(ert-deftest aqd-guard-where-windows-is ()
  (aqd-guard-with-project
    (let ((system-type 'windows-nt))
      (dolist (path '("a:stream" "README.md::$DATA" "README.md." "README.md " "src./a.el"
                      "src /a.el" "PROGRA~1" "x~2.txt" "con" "CON.txt" "src/aux" "nul "
                      "Lpt1.x" "com¹" "src/prn/x"))
        (ert-info ((format "%S" path) :prefix "path: ")
          (should-error (agent-q-diff-guard--check-spelling path) :type 'no-catch)))
      (dolist (path '("con1" "console" "a.con" "x~" "src/a.el" "x~12y"))
        (ert-info ((format "%S" path) :prefix "path: ")
          (agent-q-diff-guard--check-spelling path))))))

(ert-deftest aqd-guard-where-turkish-is-spoken ()
  "Turkish Emacs has other cases for I and i; .GIT is .git all the same."
  (aqd-guard-with-project
    (unwind-protect
        (progn
          (turkish-case-conversion-enable)
          (dolist (path '(".GIT/config" ".Git/config" ".gIt/config" ".git/config"))
            (should (string-prefix-p "Error: Cannot" (aqd-guard-answer path))))
          (should (eq 'asked (car (agent-q-diff-guard--kind-by-name '(".IDEA" "x")))))
          (should (eq 'asked (car (agent-q-diff-guard--kind-by-name '("JENKINSFILE")))))
          (should (string-prefix-p "Error: Cannot" (aqd-guard-answer "a.ZIP"))))
      (turkish-case-conversion-disable))))

(ert-deftest aqd-guard-an-option-that-was-changed-counts-at-once ()
  "Answers are cached, but not beyond a destructive change of the option's list."
  (let ((agent-q-diff-protected-asked (copy-tree agent-q-diff-protected-asked)))
    (should-not (agent-q-diff-guard--kind-by-name '("src" "mine.txt")))
    (setcdr (last (car (last agent-q-diff-protected-asked))) (list "mine.txt"))
    (should (eq 'asked (car (agent-q-diff-guard--kind-by-name '("src" "mine.txt")))))
    (let ((agent-q-diff-protected-denied '("src/")))
      (should (eq 'denied (car (agent-q-diff-guard--kind-by-name '("src" "mine.txt"))))))))

(ert-deftest aqd-guard-outside-of-projects-links-are-not-looked-for ()
  "Directories above need not be readable, and links there lead anywhere."
  (aqd-guard-with-project
    (cl-letf (((symbol-function 'agent-q-diff-guard--links)
               (lambda (directory) (error "Looked into %s" directory))))
      (should-error (car (agent-q-diff-guard-find "a/new.el" aqd-guard-root))
                    :type 'agent-q-diff-forbidden)
      (let ((name (concat aqd-guard-root "a/new.el")))
        (should (equal name (car (agent-q-diff-guard-find name "/"))))))))

(ert-deftest aqd-guard-a-working-tree-in-a-bare-repository-is-the-users ()
  (aqd-guard-with-project
    (let ((bare (concat aqd-guard-root "bare/")))
      (make-directory (concat bare "refs") t)
      (make-directory (concat bare "objects") t)
      (make-directory (concat bare "tree") t)
      (write-region "" nil (concat bare "HEAD") nil 'silent)
      (should (eq 'denied (car (aqd-guard-protection
                                (concat bare "tree/a.el") "/"))))
      (write-region "gitdir: .." nil (concat bare "tree/.git") nil 'silent)
      (should-not (aqd-guard-protection (concat bare "tree/a.el") "/"))
      (should (eq 'denied (car (aqd-guard-protection
                                (concat bare "hooks/a") "/")))))))

(ert-deftest aqd-guard-a-name-that-the-system-cannot-hold ()
  "Otherwise Emacs would replace the character, which gives another name."
  (aqd-guard-with-project
    (let ((file-name-coding-system 'iso-latin-1-unix))
      (should (string-match-p "iso-latin-1" (aqd-guard-answer "€.txt")))
      (should (equal (aqd-guard-answer "é.txt") (aqd-guard-in "é.txt"))))))

(ert-deftest aqd-guard-an-error-on-the-way-is-a-refusal ()
  "The superuser can read everything, so the error is simulated."
  (aqd-guard-with-project
    (cl-letf* ((real (symbol-function 'file-attributes))
               ((symbol-function 'file-attributes)
                (lambda (name &rest more)
                  (when (string-suffix-p "/deep" name)
                    (signal 'file-error (list "Getting attributes" name)))
                  (apply real name more))))
      (should (string-prefix-p "Error: Cannot write to file\n\n"
                               (aqd-guard-answer "src/deep/b.el")))
      (should (equal (aqd-guard-answer "src/a.el") (aqd-guard-in "src/a.el"))))))

(ert-deftest aqd-guard-handlers-of-the-user-are-respected ()
  (aqd-guard-with-project
    (should (equal (aqd-guard-answer "x.weird") (aqd-guard-in "x.weird")))
    (let ((file-name-handler-alist (cons '("\\.weird\\'" . ignore) file-name-handler-alist)))
      (should (string-prefix-p "Error: Cannot" (aqd-guard-answer "x.weird"))))
    ;; Archives are refused even without Emacs's handlers.
    (let ((file-name-handler-alist nil)
          (auto-mode-alist nil))
      (dolist (path '("a.gz" "a.gpg" "a.tar" "a.zip" "a.gz~" "a.gpg.~3~"))
        (should (string-prefix-p "Error: Cannot" (aqd-guard-answer path)))))))

;;;; A remote root

(defun aqd-guard-far (operation &rest arguments)
  "Do OPERATION with ARGUMENTS for the host \"h\", which is this machine."
  (let* ((inhibit-file-name-handlers
          (cons 'aqd-guard-far (and (eq inhibit-file-name-operation operation)
                                    inhibit-file-name-handlers)))
         (inhibit-file-name-operation operation)
         (near (lambda (name) (if (stringp name) (string-remove-prefix "/far:h:" name) name)))
         (default-directory (funcall near default-directory))
         (value (unless (eq operation 'file-remote-p)
                  (apply operation (mapcar near arguments)))))
    (pcase operation
      ('file-remote-p (and (string-prefix-p "/far:h:" (car arguments))
                           (pcase (nth 1 arguments)
                             ('localname (funcall near (car arguments)))
                             (_ "/far:h:"))))
      ;; A name that is absolute here stays here, whatever the directory.
      ((and 'expand-file-name (guard (string-prefix-p "/" (car arguments)))
            (guard (not (string-prefix-p "/far:h:" (car arguments)))))
       value)
      ((or 'expand-file-name 'file-truename 'file-name-directory 'directory-file-name
           'file-name-as-directory)
       (and value (concat "/far:h:" value)))
      (_ value))))

(ert-deftest aqd-guard-a-remote-root-lets-only-its-own-remote-pass ()
  (aqd-guard-with-project
    (let* ((file-name-handler-alist
            (cons '("\\`/far:h:" . aqd-guard-far) file-name-handler-alist))
           (root (concat "/far:h:" aqd-guard-root))
           (agent-q-diff-project-root root)
           (default-directory root))
      (should (equal (agent-q-diff-guard-root) root))
      (pcase-dolist (`(,path . ,below)
                     `(("src/a.el" . "src/a.el") ("new" . "new") ("in-dir/a.el" . "src/a.el")
                       ("in-abs" . "src/a.el") (,(concat root "src/a.el") . "src/a.el")
                       ("a b.txt" . "a b.txt")))
        (should (equal (aqd-guard-answer path root) (concat root below)))
        (should (equal (agent-q-diff-guard-recheck (concat root below) root)
                       (concat root below))))
      (dolist (path (list "/etc/passwd" (aqd-guard-in "src/a.el") "/far:h:/etc/passwd"
                          "/far:other:/etc/passwd" (concat "/far:other:" aqd-guard-root "x")
                          "/far:h|sudo:h:/x" "/ssh:h:/x" "/far:h:~/x" "/far:h:" "../x"
                          (concat root "../secret.txt") "out-dir/file" "out-ssh" "out-etc/x"
                          "~/x"))
        (ert-info ((format "%S" path) :prefix "path: ")
          (should (string-suffix-p "is outside project root" (aqd-guard-answer path root)))))
      (dolist (path '(".git/config" "fifo" "a.gz" "hard-secret" "src"))
        (should (string-prefix-p "Error: Cannot" (aqd-guard-answer path root))))
      (should (eq 'asked (car (cdr (agent-q-diff-guard-find ".envrc" root)))))
      (should-not aqd-guard-asked))))

;;;; Work trees in an agent's folder

(defun aqd-guard-protected-p (name)
  "Return non-nil if the file NAME in the project is protected."
  (let ((name (aqd-guard-in name)))
    (aqd-guard-protection name aqd-guard-root name)))

(defun aqd-guard-git (&rest arguments)
  "Run git with ARGUMENTS in the project."
  (let ((default-directory aqd-guard-root))
    (should (eq 0 (apply #'call-process "git" nil nil nil "-c" "user.name=x"
                         "-c" "user.email=x" arguments)))))

(ert-deftest aqd-guard-a-work-tree-in-an-agent-s-folder-is-a-project-of-its-own ()
  (aqd-guard-with-project
    (delete-directory (aqd-guard-in ".git") t)
    (aqd-guard-git "init" "-q")
    (aqd-guard-git "commit" "-q" "--allow-empty" "-m" "x")
    (dolist (tree '(".claude/worktrees/blue" ".codex/worktrees/red" "sub/.claude/worktrees/no"))
      (aqd-guard-git "worktree" "add" "-q" tree))
    (dolist (tree '(".claude/worktrees/blue/" ".codex/worktrees/red/"))
      (dolist (name '("x.c" "new" "src/x.c" "src/new/x.c"))
        (should-not (aqd-guard-protected-p (concat tree name))))
      ;; What is a setting in any project is one here.
      (dolist (name '(".claude/settings.json" ".claude/hooks/x" "CLAUDE.md" ".envrc"
                      "src/.claude/settings.json" ".claude/worktrees/blue/x"))
        (should (eq 'asked (car (aqd-guard-protected-p (concat tree name))))))
      (should (eq 'denied (car (aqd-guard-protected-p (concat tree ".git"))))))
    ;; The repository is not the one that the folder is in.
    (should (aqd-guard-protected-p "sub/.claude/worktrees/no/x.c"))
    (dolist (name '(".claude/worktrees/x.c" ".claude/worktrees/other/x.c" ".claude/x.c"))
      (should (aqd-guard-protected-p name)))))

(ert-deftest aqd-guard-a-forged-work-tree-frees-no-setting ()
  (aqd-guard-with-project
    (let ((git (lambda (directory &optional private)
                 (aqd-guard-file
                  (concat "proj/" directory "/.git")
                  (concat "gitdir: " (or private (aqd-guard-in ".git/worktrees/x")) "\n")))))
      (dolist (directory '(".claude" ".claude/hooks" ".claude/worktrees" ".claude/worktrees/x"
                           ".claude/hooks/worktrees/x"))
        (funcall git directory))
      (dolist (back (list "elsewhere/.git" (aqd-guard-in ".claude/worktrees/y/.git")))
        (aqd-guard-file "proj/.git/worktrees/x/gitdir" (concat back "\n"))
        (dolist (name '(".claude/settings.json" ".claude/hooks/x" ".claude/worktrees/x.c"
                        ".claude/worktrees/x/x.c" ".claude/hooks/worktrees/x/x.c"))
          (should (aqd-guard-protected-p name))))
      (aqd-guard-file "proj/.git/worktrees/x/gitdir"
                      (concat (aqd-guard-in ".claude/worktrees/x/.git") "\n"))
      (should-not (aqd-guard-protected-p ".claude/worktrees/x/x.c"))
      ;; A repository of its own, and one elsewhere.
      (delete-file (aqd-guard-in ".claude/worktrees/x/.git"))
      (make-directory (aqd-guard-in ".claude/worktrees/x/.git/objects") t)
      (should (aqd-guard-protected-p ".claude/worktrees/x/x.c")))))

(ert-deftest aqd-guard-a-jj-workspace-in-an-agent-s-folder-is-a-project-of-its-own ()
  (aqd-guard-with-project
    (make-directory (aqd-guard-in ".jj/repo") t)
    (aqd-guard-file "proj/.claude/worktrees/x/.jj/repo" "../../../../.jj/repo")
    (aqd-guard-file "proj/.claude/worktrees/y/.jj/repo" "../../../../../outside/.jj/repo")
    (should-not (aqd-guard-protected-p ".claude/worktrees/x/x.c"))
    (should (eq 'asked (car (aqd-guard-protected-p ".claude/worktrees/x/.claude/settings.json"))))
    (should (eq 'denied (car (aqd-guard-protected-p ".claude/worktrees/x/.jj/repo"))))
    (should (aqd-guard-protected-p ".claude/worktrees/y/x.c"))))

;;;; Between the check and the write

(defmacro aqd-guard-race (path &rest body)
  "Check PATH, run BODY as the attacker, and check again.
The second check must be a refusal."
  (declare (indent 1) (debug t))
  `(aqd-guard-with-project
     (let ((name (car (agent-q-diff-guard-find ,path aqd-guard-root))))
       (should (equal name (agent-q-diff-guard-recheck name aqd-guard-root)))
       ,@body
       (let ((before (aqd-guard-snapshot)))
         (should-error (agent-q-diff-guard-recheck name aqd-guard-root)
                       :type 'agent-q-diff-forbidden)
         (should (equal before (aqd-guard-snapshot)))
         (should-not aqd-guard-asked)))))

(ert-deftest aqd-guard-race-directory-becomes-a-link-out ()
  (aqd-guard-race "src/deep/b.el"
    (delete-directory (aqd-guard-in "src/deep") t)
    (aqd-guard-link "../../outside/dir" "proj/src/deep")))

(ert-deftest aqd-guard-race-directory-becomes-a-link-inside ()
  (aqd-guard-race "src/deep/b.el"
    (rename-file (aqd-guard-in "src/deep") (aqd-guard-in "src/moved"))
    (aqd-guard-link "moved" "proj/src/deep")))

(ert-deftest aqd-guard-race-file-becomes-a-link ()
  (aqd-guard-race "README.md"
    (delete-file (aqd-guard-in "README.md"))
    (aqd-guard-link "../secret.txt" "proj/README.md")))

(ert-deftest aqd-guard-race-file-becomes-a-hard-link ()
  (aqd-guard-race "README.md"
    (delete-file (aqd-guard-in "README.md"))
    (aqd-guard-run "ln" "secret.txt" "proj/README.md")))

(ert-deftest aqd-guard-race-file-becomes-a-fifo ()
  (aqd-guard-race "README.md"
    (delete-file (aqd-guard-in "README.md"))
    (aqd-guard-run "mkfifo" "proj/README.md")))

(ert-deftest aqd-guard-race-file-becomes-a-directory ()
  (aqd-guard-race "README.md"
    (delete-file (aqd-guard-in "README.md"))
    (make-directory (aqd-guard-in "README.md"))))

(ert-deftest aqd-guard-race-new-file-is-made-a-link ()
  (aqd-guard-race "src/new.el"
    (aqd-guard-link "/etc/new" "proj/src/new.el")))

(ert-deftest aqd-guard-race-new-directory-is-made-a-link ()
  (aqd-guard-race "a/b/new.el"
    (aqd-guard-link "../outside" "proj/a")))

(ert-deftest aqd-guard-race-the-root-becomes-a-link ()
  (aqd-guard-race "README.md"
    (setq default-directory aqd-guard-top)
    (rename-file (directory-file-name aqd-guard-root) (concat aqd-guard-top "moved"))
    (aqd-guard-link "moved" "proj")))

(ert-deftest aqd-guard-race-the-root-is-gone ()
  (aqd-guard-race "README.md"
    (delete-directory aqd-guard-root t)))

(ert-deftest aqd-guard-race-directory-becomes-one-of-git ()
  (aqd-guard-race "linked-ci/config"
    (dolist (name '("HEAD/" "objects/" "refs/"))
      (make-directory (aqd-guard-in (concat "linked-ci/" name))))))

(ert-deftest aqd-guard-race-that-changes-nothing ()
  (aqd-guard-with-project
    (let ((name (car (agent-q-diff-guard-find "a/new.el" aqd-guard-root))))
      (aqd-guard-file "proj/a/new.el")
      (should (equal name (agent-q-diff-guard-recheck name aqd-guard-root)))
      (aqd-guard-file "proj/a/new.el" "other\n")
      (should (equal name (agent-q-diff-guard-recheck name aqd-guard-root))))))

;;;; Protected files

(ert-deftest aqd-guard-names-through-links-count ()
  "Writing to where .gitlab-ci.yml leads is writing .gitlab-ci.yml."
  (aqd-guard-with-project
    (let ((kind (lambda (path)
                  (car (aqd-guard-protection
                        (car (agent-q-diff-guard-find path aqd-guard-root)) aqd-guard-root path)))))
      (should (eq 'asked (funcall kind ".gitlab-ci.yml")))
      (should (eq 'asked (funcall kind "dev/env.sh")))
      (should (eq 'asked (funcall kind ".vscode/ci.yml")))
      (should (eq 'asked (funcall kind "linked-ci/ci.yml")))
      (should (eq 'asked (funcall kind "linked-ci/new/deep.json")))
      (should-not (funcall kind "src/a.el"))
      (should-not (funcall kind "in-dir/a.el")))
    ;; The agent's name counts even if no link is found.
    (should (eq 'asked (car (aqd-guard-protection (aqd-guard-in "src/a.el")
                                                           aqd-guard-root ".envrc"))))))

(ert-deftest aqd-guard-default-options-fit-their-types ()
  (dolist (option '(agent-q-diff-protected-asked agent-q-diff-protected-denied
                                                 agent-q-diff-guard-opaque-names agent-q-diff-guard-hard-links))
    (should (widget-apply (widget-convert (custom-variable-type option))
                          :match (symbol-value option)))))

(provide 'agent-q-diff-guard-test)
;;; agent-q-diff-guard-test.el ends here
