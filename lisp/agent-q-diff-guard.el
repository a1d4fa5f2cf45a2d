;;; agent-q-diff-guard.el --- Which files an agent may touch  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Turns the path that an agent gave into the name of a file inside the
;; project, or refuses it.  An agent is only half trusted: a text that it
;; has read may have told it what to write.
;;
;; A path is first checked as a string, since Emacs interprets file names
;; before it touches a file: expanding "/ssh:host:x" may open a connection,
;; and even a file test on "/net/host/x" may mount something.  Then it is
;; walked part by part from the root, as the kernel does, and the walk stops
;; where it would leave the root: no file outside is ever accessed, and a
;; refusal reveals nothing about files elsewhere.  Meanwhile all file name
;; handlers are disabled except that of the root's own remote.  Then the kind
;; of file and its protection are checked.
;;
;; Protected are files that run *without a decision to run them*: because a
;; directory is entered, a project opened, a commit made, a package
;; installed, a branch pushed, an agent started.  A file that runs only on
;; request, such as a Makefile, a test or any source file, is like other
;; text that the user reviews, so it is not in the list.  Users who disagree
;; can add patterns.
;;
;; A refusal is thrown; `agent-q-diff-guard--answering' turns it into an
;; error with the message for the agent.
;;
;; A limit: between the last check and the write, another process can still
;; replace a directory by a link.  Emacs has no openat(2), so
;; `agent-q-diff-guard-recheck' can make that window small but not close it.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-file)

;; With `project-current', which loads it when a root is asked for.
(declare-function project-root "project" (project))
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

(defcustom agent-q-diff-guard-hard-links nil
  "Whether an agent may edit a file that has other names, hard links.
Those names can be outside the project, and cannot be found."
  :type 'boolean
  :group 'agent-q-diff-agents)

(defcustom agent-q-diff-guard-opaque-names
  '("\\.\\(?:gpg\\|pgp\\|age\\|enc\\|kdbx?\\|p12\\|pfx\\|jks\\)\\'"
    "\\.\\(?:Z\\|g?z\\|bz2?\\|dz\\|lrz\\|lz\\|lz4\\|lzma\\|lzo\\|xz\\|zst\\|br\\|svgz\\|sifz\\)\\'"
    "\\.\\(?:tar\\|tgz\\|taz\\|tbz2?\\|tlz\\|txz\\|tzst\\|cpio\\|pax\\|shar\\|zip\\|7z\\|rar\\|arc\\|arj\\|lzh\\|cab\\|iso\\|dmg\\)\\'"
    "\\.\\(?:jar\\|war\\|ear\\|apk\\|aab\\|ipa\\|xpi\\|crx\\|vsix\\|whl\\|egg\\|gem\\|nupkg\\|deb\\|rpm\\|msi\\|epub\\|od[bfgpst]\\|docx\\|xlsx\\|pptx\\)\\'")
  "Regexps of names of files that Emacs would not show byte for byte.
They are archives, or compressed or encrypted, so an exact edit of the
text is not an exact edit of the file.  Case and backup suffixes are
ignored.  Files that this Emacs has a file name handler for are refused as
well."
  :type '(repeat regexp)
  :group 'agent-q-diff-agents)

;;;; Protected names

(defconst agent-q-diff-guard--ignorable
  "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000E0000-\U000E0FFF]"
  "Regexp of characters that some file systems ignore when they compare names.
HFS+ ignores most of them; the others are Unicode's default ignorables.")

(defun agent-q-diff-guard--fold-case (text)
  "Return TEXT with every letter in lower case.
`downcase' depends on the language: in Turkish it turns \"GIT\" into \"g1t\"
if the string is unibyte, and into dotless letters if not.  Here all of
them become an i."
  (if (string-match-p "[^[:ascii:]]" text)
      (apply #'string (mapcar #'agent-q-diff-guard--fold-char text))
    (with-case-table ascii-case-table
      (downcase text))))

(defun agent-q-diff-guard--fold-char (char)
  "Return CHAR in lower case, for `agent-q-diff-guard--fold-case'."
  (if (< char 128)
      (if (<= ?A char ?Z) (+ char (- ?a ?A)) char)
    (let ((low (downcase (upcase char))))
      (if (memq low '(?I ?ı ?İ)) ?i low))))

(defun agent-q-diff-guard--normalized (name)
  "Return NAME in Unicode normalization form KC, without ignorable characters."
  (let ((visible (replace-regexp-in-string agent-q-diff-guard--ignorable "" name)))
    (if (string-match-p "\\`[[:ascii:]]*\\'" visible)
        visible
      (require 'ucs-normalize)
      (ucs-normalize-NFKC-string visible))))

(defun agent-q-diff-guard--fold (name)
  "Fold NAME, one part of a file name, for the most lenient file system.
HFS+ and APFS ignore case and characters without width; NTFS drops dots
and spaces at the end and reads a colon as the beginning of a stream name."
  (let* ((plain (if (string-match-p "[^[:ascii:]]" name)
                    (agent-q-diff-guard--normalized name)
                  name))
         (low (string-replace "\u0307" "" (agent-q-diff-guard--fold-case plain))))
    (string-trim-right (replace-regexp-in-string "\\(.\\):.*\\'" "\\1" low)
                       "[. ]+")))

(defvar agent-q-diff-guard--compiled nil
  "The compiled values of both options, (OPTIONS ROWS . ANSWERS), or nil.
OPTIONS is a copy of both values, which a user may change in place.  Each
row is (REGEXP KIND . REASON); making its regexp takes milliseconds, and
Emacs keeps only twenty compiled.  ANSWERS is a hash table of what was
answered about names, since each edit asks several times.")

(defconst agent-q-diff-guard--max-answers 200
  "Number of names about which answers are kept.")

(defun agent-q-diff-guard--compiled ()
  "Return (ROWS . ANSWERS) for the present values of both options.
The regexps are for folded names that have a slash before each part."
  (let ((options (cons agent-q-diff-protected-denied agent-q-diff-protected-asked)))
    (unless (equal options (car agent-q-diff-guard--compiled))
      (setq agent-q-diff-guard--compiled
            (cl-list*
             (copy-tree options)
             (cl-loop
              for (kind reason . patterns)
              in `((denied "it belongs to the version control system" ,@(car options))
                   ,@(mapcar (lambda (row) (cons 'asked row)) (cdr options)))
              when patterns
              collect
              (cl-list*
               (mapconcat
                (lambda (pattern)
                  (concat
                   (and (string-prefix-p "/" pattern) "\\`")
                   "/"
                   (mapconcat (lambda (part)
                                ;; `wildcard-to-regexp' lets it match slashes.
                                (string-replace "[^\0]" "[^/]"
                                                (substring (wildcard-to-regexp part) 2 -2)))
                              (split-string pattern "/" t) "/")
                   (if (directory-name-p pattern) "\\(?:/\\|\\'\\)" "\\'")))
                (split-string (agent-q-diff-guard--fold-case (string-join patterns "\0"))
                              "\0")
                "\\|")
               kind reason))
             (make-hash-table :test #'equal))))
    (cdr agent-q-diff-guard--compiled)))

(defun agent-q-diff-guard--kind-by-name (parts)
  "Return how the file whose name has PARTS below the root is protected.
The value is nil, (`denied' . REASON) or (`asked' . REASON); REASON is a
clause without punctuation."
  (pcase-let* ((`(,rows . ,answers) (agent-q-diff-guard--compiled))
               (answer (gethash parts answers 'unknown)))
    (if (not (eq answer 'unknown))
        answer
      (when (>= (hash-table-count answers) agent-q-diff-guard--max-answers)
        (clrhash answers))
      (let ((name (mapconcat (lambda (part) (concat "/" (agent-q-diff-guard--fold part)))
                             parts ""))
            (case-fold-search nil))
        (puthash parts
                 (cl-loop for (regexp . kind) in rows
                          thereis (and (string-match-p regexp name) kind))
                 answers)))))

;;;; Refusing a path

(defconst agent-q-diff-guard--messages
  '((outside . "Error: Path '%s' is outside project root")
    (missing . "Error: File '%s' not found")
    (unwritable . "Error: Cannot write to file"))
  "What the agent reads, by kind of refusal.
Agents are prompted with these words, so they must not change.")

(defun agent-q-diff-guard--refuse (kind &optional format &rest arguments)
  "Refuse the path, for KIND, a key of `agent-q-diff-guard--messages'.
FORMAT and ARGUMENTS make a sentence with the reason, if there is more to
say than KIND does."
  (throw 'agent-q-diff-guard--refusal (cons kind (and format (apply #'format format arguments)))))

(defconst agent-q-diff-guard--max-shown 200
  "Number of characters of a path that a message shows.")

(defun agent-q-diff-guard--message (path refusal)
  "Return the message to the agent about PATH and REFUSAL, (KIND . WHY)."
  (pcase-let ((`(,kind . ,why) refusal))
    (concat (format (alist-get kind agent-q-diff-guard--messages)
                    (if (stringp path)
                        (agent-q-diff-visible path agent-q-diff-guard--max-shown)
                      path))
            (and why (concat "\n\n" why ".")))))

(defmacro agent-q-diff-guard--answering (path &rest body)
  "Return the value of BODY, or signal its refusal of PATH.
An error in BODY is a refusal as well: if in doubt, no path passes."
  (declare (indent 1) (debug t))
  `(pcase (catch 'agent-q-diff-guard--refusal
            (condition-case err
                (list 'value (progn ,@body))
              (error (cons 'unwritable (error-message-string err)))))
     (`(value ,value) value)
     (refusal (signal 'agent-q-diff-forbidden
                      (list (agent-q-diff-guard--message ,path refusal))))))

;;;; The path as a string

(defun agent-q-diff-guard--ancestors (name length)
  "Return the names of the directories above the file NAME, innermost first.
If NAME is that of a directory, it is the first of them.  The last is the
root, the first LENGTH characters of NAME."
  (let ((end (1- length))
        ancestors)
    (while (setq end (string-search "/" name end))
      (setq end (1+ end))
      (push (substring name 0 end) ancestors))
    ancestors))

(defun agent-q-diff-guard--other-root (path root remote)
  "Return a prefix of PATH that is another name of the directory ROOT, or nil.
ROOT is resolved, while the agent may know it by a name that goes through a
symbolic link.  REMOTE is its remote prefix.  Only directories that the user
works in are tried, never one that only PATH names."
  (seq-find (lambda (directory)
              (and (string-prefix-p directory path)
                   (string-prefix-p (concat remote "/") directory)
                   (equal (file-name-as-directory (file-truename directory)) root)))
            (mapcan (lambda (known)
                      (and (stringp known)
                           (agent-q-diff-guard--ancestors (concat known "/") 1)))
                    (list agent-q-diff-project-root (agent-q-diff-call-root agent-q-diff-call)
                          default-directory))))

(defun agent-q-diff-guard--below (path root remote)
  "Return PATH relative to ROOT, or refuse it if it is not below.
REMOTE is the remote prefix of ROOT, or \"\".  The value begins with \"./\"
unless PATH itself was relative."
  (if (not (string-prefix-p "/" path))
      path
    (let ((start (if (string-prefix-p root path
                                      (and (equal remote "")
                                           (file-name-case-insensitive-p root)))
                     root
                   (agent-q-diff-guard--other-root path root remote))))
      (cond
       (start (concat "./" (substring path (length start))))
       ((equal (concat path "/") root) "./")
       (t (agent-q-diff-guard--refuse 'outside))))))

(defconst agent-q-diff-guard--max-length 4095
  "Maximum length of a path in bytes, without the NUL that PATH_MAX includes.
That is the limit of Linux.")

(defconst agent-q-diff-guard--max-part 255
  "Maximum length of a part of a path in bytes.
That is NAME_MAX of Linux and of most file systems.")

(defconst agent-q-diff-guard--spellings
  '(("\\`~" outside)
    ("\\`[a-zA-Z]:" outside)
    ("//" unwritable "Two slashes in a row begin a new absolute name in Emacs"))
  "Paths that are refused for their spelling: (REGEXP KIND WHY).
The first match counts.  Spellings that mislead are refused for every tool,
by `agent-q-diff-visible-path-flaw'.")

(defconst agent-q-diff-guard--windows-spellings
  '((":" unwritable "A colon in a name means a stream of a file, or a drive")
    ("[. ]\\(?:/\\|\\'\\)" unwritable "Windows drops dots and spaces at the end of a name")
    ("~[0-9]+\\(?:[./]\\|\\'\\)" unwritable "This can be the short form of another name")
    ("\\(?:\\`\\|/\\)\\(?:con\\|prn\\|aux\\|nul\\|conin\\$\\|conout\\$\\|com[0-9¹²³]\\|lpt[0-9¹²³]\\) *\\(?:[./]\\|\\'\\)"
     unwritable "The name is that of a device"))
  "Like `agent-q-diff-guard--spellings', for Emacs on Windows.")

(defun agent-q-diff-guard--check-spelling (path)
  "Refuse PATH, below the root, if its spelling is not allowed.
Trying all spellings takes a good part of the time for a small edit, so a
path of common characters, in which none matches, is not tried."
  (unless (and (string-match-p "\\`[-_.+@=, a-zA-Z0-9/]+\\'" path)
               (not (string-search "//" path))
               (not (memq system-type '(windows-nt ms-dos cygwin))))
    (when-let ((flaw (agent-q-diff-visible-path-flaw path)))
      (agent-q-diff-guard--refuse 'unwritable "The path %s" flaw))
    (let ((case-fold-search nil)
          (path (agent-q-diff-guard--fold-case path)))
      (pcase-dolist (`(,regexp ,kind ,why)
                     (append agent-q-diff-guard--spellings
                             (and (memq system-type '(windows-nt ms-dos cygwin))
                                  agent-q-diff-guard--windows-spellings)))
        (when (string-match-p regexp path)
          (agent-q-diff-guard--refuse kind why))))))

(defun agent-q-diff-guard--check-encoding (path)
  "Refuse PATH if the system cannot hold its characters or its length."
  (let ((coding (or file-name-coding-system default-file-name-coding-system
                    'utf-8-unix)))
    (unless (and (length< path agent-q-diff-guard--max-part)
                 (not (string-match-p "[^\x01-\x7f]" path))
                 (coding-system-get coding :ascii-compatible-p))
      (agent-q-diff-guard--check-encoded path coding))))

(defun agent-q-diff-guard--check-encoded (path coding)
  "Refuse PATH if it cannot be encoded in CODING, or is then too long."
  (let ((n-bytes (lambda (text) (length (encode-coding-string text coding)))))
    (when (unencodable-char-position 0 (length path) coding nil path)
      (agent-q-diff-guard--refuse
       'unwritable "A character of the path has no place in %s, the coding of names"
       coding))
    (when (or (> (funcall n-bytes path) agent-q-diff-guard--max-length)
              (seq-some (lambda (part)
                          (> (funcall n-bytes part) agent-q-diff-guard--max-part))
                        (split-string path "/")))
      (agent-q-diff-guard--refuse 'unwritable "The path is too long"))))

(defun agent-q-diff-guard--parts (path root remote)
  "Return the parts of PATH below ROOT, or refuse PATH.
REMOTE is the remote prefix of ROOT, or \"\".  No file is accessed except ROOT."
  (unless (stringp path)
    (agent-q-diff-guard--refuse 'unwritable "The path must be a string"))
  (let ((below (agent-q-diff-guard--below
                (string-to-multibyte (substring-no-properties path)) root remote)))
    (agent-q-diff-guard--check-spelling below)
    (agent-q-diff-guard--check-encoding below)
    (let ((parts (split-string below "/"))
          (depth 0))
      ;; Without regard to links, they must not lead above the root.
      (dolist (part parts)
        (pcase part
          ((or "" "."))
          (".." (cl-decf depth))
          (_ (cl-incf depth)))
        (when (< depth 0)
          (agent-q-diff-guard--refuse 'outside)))
      parts)))

;;;; The walk along the parts

(defconst agent-q-diff-guard--max-links 40
  "Maximum number of symbolic links in a path, the same as the kernel's.")

(cl-defstruct (agent-q-diff-guard--walk
               (:constructor agent-q-diff-guard--walk-make)
               (:copier nil))
  "The state of a walk along the parts of a path."
  root          ; the directory it began at, a resolved name
  remote        ; the remote prefix of ROOT, or ""
  rest          ; the parts that are still ahead
  (here nil)    ; the names so far, innermost first, without any link
  (kind 'directory)             ; what is here: `directory', attributes or nil
  (n-missing 0) ; number of parts so far that do not exist
  (n-links 0)   ; number of links followed
  (link-end nil)) ; length of REST when the outermost link has been followed

(defun agent-q-diff-guard--in-link-p (walk)
  "Return non-nil if the last part of WALK came from the text of a link."
  (let ((end (agent-q-diff-guard--walk-link-end walk)))
    (and end (>= (length (agent-q-diff-guard--walk-rest walk)) end))))

(defun agent-q-diff-guard--walk-up (walk)
  "Move WALK to the parent directory."
  (cond
   ((null (agent-q-diff-guard--walk-here walk))
    (agent-q-diff-guard--refuse 'outside))
   ((and (agent-q-diff-guard--walk-link-end walk)
         (not (agent-q-diff-guard--in-link-p walk)))
    ;; The kernel goes up from the target of the link, Emacs from the link.
    (agent-q-diff-guard--refuse 'unwritable "\"..\" follows a symbolic link")))
  (pop (agent-q-diff-guard--walk-here walk)))

(defun agent-q-diff-guard--walk-follow (walk target)
  "Make WALK follow TARGET, the text of the symbolic link that it has reached."
  (let ((local-root (substring (agent-q-diff-guard--walk-root walk)
                               (length (agent-q-diff-guard--walk-remote walk)))))
    (pop (agent-q-diff-guard--walk-here walk))
    (when (> (cl-incf (agent-q-diff-guard--walk-n-links walk))
             agent-q-diff-guard--max-links)
      (agent-q-diff-guard--refuse 'unwritable "The path goes through too many links"))
    (when (string-prefix-p "/" target)
      (unless (string-prefix-p local-root (file-name-as-directory target))
        (agent-q-diff-guard--refuse 'outside))
      (setf (agent-q-diff-guard--walk-here walk) nil
            target (string-remove-prefix local-root (file-name-as-directory target))))
    (unless (agent-q-diff-guard--in-link-p walk)
      (setf (agent-q-diff-guard--walk-link-end walk)
            (length (agent-q-diff-guard--walk-rest walk))))
    (setf (agent-q-diff-guard--walk-rest walk)
          (append (split-string target "/" t) (agent-q-diff-guard--walk-rest walk)))))

(defun agent-q-diff-guard--walk-spelling (directory name)
  "Return NAME as it is spelled in DIRECTORY, if case does not matter there."
  (if (and (file-name-case-insensitive-p directory)
           (file-directory-p directory))
      (let ((names (directory-files directory nil nil t)))
        (or (car (member name names))
            (seq-find (lambda (other)
                        (eq t (compare-strings other nil nil name nil nil t)))
                      names)
            name))
    name))

(defun agent-q-diff-guard--walk-enter (walk part)
  "Move WALK to PART of the directory that it has reached."
  (let* ((directory (file-name-as-directory (or (car (agent-q-diff-guard--walk-here walk))
                                                (agent-q-diff-guard--walk-root walk))))
         (name (concat directory (agent-q-diff-guard--walk-spelling directory part)))
         (attributes (and (agent-q-diff-guard--walk-kind walk)
                          (file-attributes name)))
         (type (file-attribute-type attributes)))
    (push name (agent-q-diff-guard--walk-here walk))
    (cond
     ((stringp type) (agent-q-diff-guard--walk-follow walk type))
     ((and (null attributes) (agent-q-diff-guard--in-link-p walk))
      (agent-q-diff-guard--refuse 'unwritable "A symbolic link leads to nothing"))
     (t
      (unless attributes
        (cl-incf (agent-q-diff-guard--walk-n-missing walk)))
      (setf (agent-q-diff-guard--walk-kind walk)
            (if (eq type t) 'directory attributes))))))

(defun agent-q-diff-guard--walk-along (parts root remote)
  "Return a walk from ROOT, whose remote prefix is REMOTE, along all PARTS."
  (let ((walk (agent-q-diff-guard--walk-make :root root :remote remote :rest parts)))
    (while (agent-q-diff-guard--walk-rest walk)
      (let ((part (pop (agent-q-diff-guard--walk-rest walk)))
            (kind (agent-q-diff-guard--walk-kind walk)))
        (when (consp kind)
          (agent-q-diff-guard--refuse 'missing))
        (pcase part
          ((or "" ".") nil)
          ((and ".." (guard (null kind)))
           (agent-q-diff-guard--refuse 'missing))
          (".." (agent-q-diff-guard--walk-up walk))
          (_ (agent-q-diff-guard--walk-enter walk part)))))
    walk))

;;;; The root

(defun agent-q-diff-guard-root ()
  "Return the directory inside which agents may edit, resolved.
It is `agent-q-diff-project-root', or else the root of the call, or of the
current project, or else `default-directory'.  Agents' paths are relative to it."
  (let ((root (file-name-as-directory
               (expand-file-name
                (or agent-q-diff-project-root
                    (agent-q-diff-call-root agent-q-diff-call)
                    (when-let ((project (project-current)))
                      (project-root project))
                    default-directory)))))
    (if (agent-q-diff-guard--resolved-p root)
        root
      (file-name-as-directory (file-truename root)))))

(defun agent-q-diff-guard--check-root (root)
  "Refuse every path unless ROOT is an existing directory, named as resolved."
  (unless (and (stringp root)
               (file-name-absolute-p root)
               (directory-name-p root)
               (file-directory-p root))
    (agent-q-diff-guard--refuse 'unwritable "The project root %s is not a directory" root))
  (unless (agent-q-diff-guard--resolved-p root)
    (agent-q-diff-guard--refuse 'unwritable "The project root %s leads elsewhere now" root)))

(defun agent-q-diff-guard--resolved-p (root)
  "Return non-nil if ROOT, an absolute directory name, is its own `file-truename'.
For a local ROOT without \"..\" or the like it is enough that no part is a
symbolic link, which takes a tenth of the time to find out."
  (if (and (string-prefix-p "/" root)
           (not (file-remote-p root))
           (not (string-match-p "/\\.\\{0,2\\}/" root)))
      (cl-loop for slash = (string-search "/" root 1)
               then (string-search "/" root (1+ slash))
               while slash
               never (file-symlink-p (substring root 0 slash)))
    (equal (file-name-as-directory (file-truename root)) root)))

;;;; The kind of file

(defun agent-q-diff-guard--check-kind (walk)
  "Refuse the end of WALK unless it is, or could become, a plain file."
  (pcase (agent-q-diff-guard--walk-kind walk)
    ('nil
     (when (and (> (agent-q-diff-guard--walk-n-missing walk) 1)
                (not agent-q-diff-create-directories))
       (agent-q-diff-guard--refuse 'missing)))
    ('directory (agent-q-diff-guard--refuse 'unwritable "The path names a directory"))
    (attributes
     (unless (string-prefix-p "-" (file-attribute-modes attributes))
       (agent-q-diff-guard--refuse 'unwritable "It is not a regular file"))
     (when (and (> (file-attribute-link-number attributes) 1)
                (not agent-q-diff-guard-hard-links))
       (agent-q-diff-guard--refuse 'unwritable "The file has other names, hard links")))))

(defun agent-q-diff-guard--archive-p (local)
  "Return non-nil if Emacs would show the file LOCAL as an archive.
The few patterns for archives are tried before the hundreds of others."
  (and (cl-loop for (regexp . mode) in auto-mode-alist
                thereis (and (memq mode '(archive-mode tar-mode))
                             (string-match-p regexp local)))
       (memq (assoc-default local auto-mode-alist #'string-match)
             '(archive-mode tar-mode))))

(defun agent-q-diff-guard--check-contents (local)
  "Refuse LOCAL, a local file name, unless that of a plain text file.
Only the name is checked."
  (let ((plain (replace-regexp-in-string
                ;; What is appended to the names of backup files.
                "\\(?:~\\|\\.~[^/]*~\\)+\\'" ""
                (agent-q-diff-guard--fold-case local)))
        (case-fold-search t))
    (when (or (find-file-name-handler local 'insert-file-contents)
              (find-file-name-handler local 'write-region)
              (seq-some (lambda (regexp) (string-match-p regexp plain))
                        agent-q-diff-guard-opaque-names)
              (agent-q-diff-guard--archive-p plain))
      (agent-q-diff-guard--refuse
       'unwritable "The file is an archive, or compressed or encrypted"))
    (when (string-match-p "\\`/\\(?:proc\\|sys\\|dev\\)/" local)
      (agent-q-diff-guard--refuse 'unwritable "The file belongs to the system"))))

;;;; Protected files

(defun agent-q-diff-guard--git-directory-p (directory)
  "Return non-nil if git would take DIRECTORY for a git directory."
  (let ((default-directory directory))
    (and (file-exists-p "HEAD")
         (or (file-exists-p "commondir")
             (and (file-exists-p "objects")
                  (file-exists-p "refs"))))))

(defun agent-q-diff-guard--in-git-directory-p (directories root)
  "Return non-nil if one of DIRECTORIES is a git directory.
They are those from a file up to ROOT.  If ROOT is not a project's, a
working tree inside a git directory is allowed: some users keep working
trees in a bare repository."
  (when (agent-q-diff-guard-outermost-p root)
    (setq directories (seq-take-while
                       (lambda (directory)
                         (not (file-exists-p (expand-file-name ".git" directory))))
                       directories)))
  (seq-some #'agent-q-diff-guard--git-directory-p directories))

(defvar agent-q-diff-guard--known-links nil
  "Table from directories to the links in them, or nil to look each time.")

(defun agent-q-diff-guard--links (directory)
  "Return the names of the symbolic links in DIRECTORY, if that exists."
  (if (null agent-q-diff-guard--known-links)
      (agent-q-diff-guard--links-now directory)
    (let ((links (gethash directory agent-q-diff-guard--known-links 'unknown)))
      (if (eq links 'unknown)
          (puthash directory (agent-q-diff-guard--links-now directory)
                   agent-q-diff-guard--known-links)
        links))))

(defun agent-q-diff-guard--links-now (directory)
  "Return the names of the symbolic links in DIRECTORY, if that exists."
  (ignore-error file-missing
    (if (file-remote-p directory)
        ;; A single round trip for all of them.
        (cl-loop for (name . attributes)
                 in (directory-files-and-attributes directory nil nil t)
                 when (stringp (file-attribute-type attributes))
                 collect (concat directory name))
      (cl-loop for name
               in (directory-files directory t directory-files-no-dot-files-regexp t)
               when (file-symlink-p name)
               collect name))))

(defun agent-q-diff-guard--called (link name root remote)
  "Return the name of NAME through LINK, or nil if LINK does not lead there.
Both are below ROOT, whose remote prefix is REMOTE.  The value is a list of
parts below ROOT."
  (let* ((parts (split-string (substring link (length root)) "/" t))
         (target (catch 'agent-q-diff-guard--refusal
                   (ignore-errors
                     (car (agent-q-diff-guard--walk-here
                           (agent-q-diff-guard--walk-along parts root remote)))))))
    (cond
     ((not (stringp target)) nil)
     ((equal target name) parts)
     ((string-prefix-p (concat target "/") name)
      (append parts (split-string (substring name (length target)) "/" t))))))

(defun agent-q-diff-guard-outermost-p (root)
  "Return non-nil if ROOT is the root of a file system, not of a project."
  (equal root (file-name-directory (directory-file-name root))))

(defun agent-q-diff-guard--names (name root remote called directories)
  "Return all names of the file NAME, each a list of parts below ROOT.
They are NAME itself, those in CALLED, and every name through a symbolic
link in one of DIRECTORIES, that of NAME and those above: .envrc may be a
link to a file with a harmless name.  Links elsewhere are not considered.
If ROOT, whose remote prefix is REMOTE, is not a project's, no links are,
since the directories there may be unreadable and their links lead
anywhere."
  (delete-dups
   `(,(split-string (substring name (length root)) "/" t)
     ,@called
     ,@(unless (agent-q-diff-guard-outermost-p root)
         (cl-loop for directory in directories
                  nconc (cl-loop for link in (agent-q-diff-guard--links directory)
                                 for called = (agent-q-diff-guard--called link name root
                                                                          remote)
                                 when called
                                 collect called))))))

(defun agent-q-diff-guard--first-line (file)
  "Return the first line of FILE, or nil if it is no regular file or very long."
  (let ((attributes (file-attributes file)))
    (when (and attributes
               (string-prefix-p "-" (file-attribute-modes attributes))
               (< (file-attribute-size attributes) 10000))
      (with-temp-buffer
        (insert-file-contents-literally file)
        (decode-coding-string (buffer-substring (point-min) (line-end-position)) 'utf-8)))))

(defun agent-q-diff-guard--work-tree-p (directory top)
  "Return non-nil if DIRECTORY is a work tree of the repository at TOP.
Both know of each other: a \".git\" alone can be made anywhere, also where an
agent's settings are."
  (let ((git (concat directory ".git"))
        (jj (concat directory ".jj/")))
    (cl-flet ((named (line directory)
                (expand-file-name (agent-q-diff-file-named line directory))))
      (or (when-let* ((line (agent-q-diff-guard--first-line git))
                      (private (and (string-prefix-p "gitdir: " line)
                                    (named (substring line (length "gitdir: ")) directory))))
            (and (equal (file-name-directory private) (concat top ".git/worktrees/"))
                 (equal git (when-let ((back (agent-q-diff-guard--first-line
                                              (concat private "/gitdir"))))
                              (named back private)))))
          (when-let ((line (agent-q-diff-guard--first-line (concat jj "repo"))))
            (equal (named line jj) (concat top ".jj/repo")))))))

(defun agent-q-diff-guard--in-work-tree (parts root)
  "Return those of PARTS, of a name below ROOT, that are below its work tree.
Agents keep work trees of a project in their own folder there, such as
\".claude/worktrees/NAME\".  A file in a work tree counts as a setting of the
agent's only if its name in the work tree is that of one."
  (let* ((begin 0)
         (parts (remove "." parts))
         (rest parts))
    (while (and (nthcdr 3 rest)
                (not (and (string-prefix-p "." (car rest))
                          (member (cadr rest) '("worktree" "worktrees"))
                          (agent-q-diff-guard--work-tree-p
                           (concat root (mapconcat #'file-name-as-directory
                                                   (seq-take parts (+ begin 3)) ""))
                           (concat root (mapconcat #'file-name-as-directory
                                                   (seq-take parts begin) ""))))))
      (setq begin (1+ begin)
            rest (cdr rest)))
    (if (nthcdr 3 rest) (nthcdr 3 rest) parts)))

(defun agent-q-diff-guard--protection (name root remote called)
  "Return how NAME, a resolved file name below ROOT, is protected.
REMOTE is the remote prefix of ROOT.  CALLED are further names of the file,
each a list of parts below ROOT: a link can have a protected name although
its target has none.

The value is nil; (`denied' . REASON) if no agent may ever edit the file;
or (`asked' . REASON) if the user is asked each time, whatever was
granted.  REASON is a clause for the user and the agent."
  (let* ((directories (agent-q-diff-guard--ancestors name (length root)))
         (kinds (cl-loop for parts in (agent-q-diff-guard--names name root remote called
                                                                 directories)
                         for kind = (agent-q-diff-guard--kind-by-name parts)
                         when (eq 'asked (car kind))
                         do (setq kind (agent-q-diff-guard--kind-by-name
                                        (agent-q-diff-guard--in-work-tree parts root)))
                         when kind
                         collect kind)))
    (cond
     ((assq 'denied kinds))
     ((agent-q-diff-guard--in-git-directory-p directories root)
      '(denied . "it is inside a directory of git's own"))
     (t (car kinds)))))

;;;; The answer

(defun agent-q-diff-guard--find (path root remote &optional called)
  "Return (NAME . PROTECTION) of PATH below ROOT, or refuse it.
REMOTE is the remote prefix of ROOT, or \"\".  CALLED and the rest are as
for `agent-q-diff-guard-find'.  No file name handlers are called, except that of
REMOTE."
  (let* ((file-name-handler-alist
          (when-let ((handler (and (not (equal remote ""))
                                   (find-file-name-handler root 'file-attributes))))
            (list (cons (concat "\\`" (regexp-quote remote)) handler))))
         (parts (progn
                  (agent-q-diff-guard--check-root root)
                  (agent-q-diff-guard--parts path root remote)))
         (walk (agent-q-diff-guard--walk-along parts root remote))
         (name (or (car (agent-q-diff-guard--walk-here walk)) root))
         (below (and called (catch 'agent-q-diff-guard--refusal
                              (agent-q-diff-guard--below called root remote)))))
    (when (member (car (last parts)) '("" "." ".."))
      (agent-q-diff-guard--refuse 'unwritable "The path names a directory"))
    ;; A link can lead to a name that a path must not have.
    (agent-q-diff-guard--check-spelling
     (concat "./" (substring name (length root))))
    (agent-q-diff-guard--check-kind walk)
    (pcase (agent-q-diff-guard--protection
            name root remote
            (cons (remove "." parts)
                  (and (stringp below) (list (remove "." (split-string below "/" t))))))
      (`(denied . ,reason)
       (agent-q-diff-guard--refuse 'unwritable "Not for agents: %s" reason))
      (protection (cons name protection)))))

(defun agent-q-diff-guard-find (path root &optional called)
  "Return (NAME . PROTECTION) of the file PATH, named by an agent.
NAME is absolute and resolved; PROTECTION is nil, or (`asked' . REASON) if
the user is asked each time, whatever was granted.  REASON is a clause for
the user.  PATH is relative to ROOT, the value of `agent-q-diff-guard-root',
or begins with it.  CALLED is another name of the file, by which it may be
protected as well, or nil.  The file need not exist.

Unless it is a plain file inside ROOT, or could become one, and no agent is
barred from it, signal `agent-q-diff-forbidden' with the message for the
agent."
  (agent-q-diff-guard--answering path
    (let* ((remote (or (file-remote-p root) ""))
           (found (agent-q-diff-guard--find path root remote called)))
      ;; Now with the user's file name handlers.
      (agent-q-diff-guard--check-contents (substring (car found) (length remote)))
      found)))

(defun agent-q-diff-guard-recheck (name root &optional path)
  "Return NAME, which `agent-q-diff-guard-find' returned for ROOT.
Call this just before NAME is written; PATH is the name by which that is
done, if it is another.  If PATH now leads elsewhere, signal
`agent-q-diff-forbidden': a directory on the way may have been replaced by
a link meanwhile, or a link by another one."
  (let ((remote-file-name-inhibit-cache t))
    (agent-q-diff-guard--answering name
      (unless (equal name (car (agent-q-diff-guard--find (or path name) root
                                                         (or (file-remote-p root) ""))))
        (agent-q-diff-guard--refuse 'unwritable "The path leads elsewhere now"))
      ;; Whether it is an archive, say, depends on the name alone.
      name)))

;;;; What the user decides about files of a project

(defun agent-q-diff-guard-protected (names root)
  "Return which of the files NAMES in the project at ROOT are protected.
The names are absolute.  The value is an alist from such names to why that is,
a clause; they are written already, so none is refused."
  (let ((agent-q-diff-guard--known-links (make-hash-table :test #'equal))
        (file-name-handler-alist nil))
    (cl-loop for name in names
             for protection = (ignore-errors
                                (agent-q-diff-guard--protection name root "" nil))
             when protection
             collect (cons name (cdr protection)))))

(defun agent-q-diff-guard-check-inside (name root &optional gone)
  "Refuse the file NAME unless it is one of the project at ROOT, by all folders.
Call this just before NAME is written by a decision on what was written
already.  Both are absolute, and ROOT ends with a slash and is resolved.  A
folder that is a link leads elsewhere, also if that is in the project: what is
recorded of NAME is not of the file there.  GONE are names of links that the
same decision takes out before that."
  (let ((parts (and (string-prefix-p root name)
                    (split-string (substring name (length root)) "/")))
        (here (directory-file-name root)))
    (when (or (null parts)
              (seq-some (lambda (part)
                          (or (member part '("" "." ".."))
                              (equal ".git" (agent-q-diff-guard--fold part))))
                        parts))
      (agent-q-diff-file-refuse "%s is no file of the project, so it is not written" name))
    (dolist (part (butlast parts))
      (setq here (concat (file-name-as-directory here) part))
      (when (and (file-symlink-p here)
                 (not (member here gone)))
        (agent-q-diff-file-refuse
         "%s is not written, since a folder on the way is a link now: %s"
         name here)))))

(provide 'agent-q-diff-guard)
;;; agent-q-diff-guard.el ends here
