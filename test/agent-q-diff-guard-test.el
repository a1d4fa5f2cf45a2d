;;; agent-q-diff-guard-test.el --- Which files an agent may touch  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A real project with all that a path can trip over, real links and
;; devices included, and a table of paths that an agent might try.  Each
;; refusal must leave the whole tree as it was, and must not even ask a
;; remote file name handler anything.

;;; Code:

(require 'cl-lib)
(require 'cus-edit)
(require 'ert)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-replace-help)

;;;; A project and its surroundings

(defvar aqd-guard-top nil
  "The directory that holds the test's project and what is next to it.")

(defvar aqd-guard-root nil
  "The root of the test's project.")

(defvar aqd-guard-asked nil
  "What remote file name handlers were asked, latest first.")

(defun aqd-guard-in (name)
  "Return NAME below the project's root, unexpanded."
  (concat aqd-guard-root name))

(defun aqd-guard-file (name &optional text)
  "Create the file NAME, relative to the top, with TEXT."
  (let ((file (concat aqd-guard-top name))
        (file-name-handler-alist nil))
    (make-directory (file-name-directory file) t)
    (write-region (or text "text\n") nil file nil 'silent)))

(defun aqd-guard-link (target name)
  "Create the symbolic link NAME, relative to the top, to TARGET.
TARGET stands as it is in the link."
  (let ((file (concat aqd-guard-top name)))
    (make-directory (file-name-directory file) t)
    (unless (eq 0 (call-process "ln" nil nil nil "-s" "--" target file))
      (error "No link %s" name))))

(defun aqd-guard-run (program &rest arguments)
  "Run PROGRAM with ARGUMENTS in the top directory."
  (let ((default-directory aqd-guard-top))
    (unless (eq 0 (apply #'call-process program nil nil nil arguments))
      (error "%s %S failed" program arguments))))

(defun aqd-guard-build ()
  "Create the project and its surroundings."
  (mapc #'aqd-guard-file
        '("secret.txt" "proj-secrets/key" "outside/file" "outside/dir/file"
          "proj/README.md" "proj/src/a.el" "proj/src/deep/b.el" "proj/a b.txt"
          "proj/ünï/ço.txt" "proj/-rf" "proj/..foo" "proj/...dots" "proj/a..b"
          "proj/100%.txt" "proj/$HOME" "proj/#x#" "proj/~tilde" "proj/c:x"
          "proj/*.el" "proj/it's \"so\"" "proj/dir.d/x" "proj/.gitignore"
          "proj/.github/README.md" "proj/git/x" "proj/x.git/notes"
          "proj/.git/config" "proj/.git/HEAD" "proj/.git/hooks/post-commit"
          "proj/sub/.git" "proj/a.gz" "proj/a.gpg" "proj/a.tar" "proj/a.zip"
          "proj/bare/HEAD" "proj/bare/config" "proj/linked-tree/HEAD"
          "proj/linked-tree/commondir" "proj/.envrc" "proj/dev/env.sh"
          "proj/hard-outside" "proj/once" "proj/linked-ci/ci.yml"))
  (dolist (directory '("proj/bare/objects" "proj/bare/refs" "proj/.github"))
    (make-directory (concat aqd-guard-top directory) t))
  (aqd-guard-run "ln" "secret.txt" "proj/hard-secret")
  (aqd-guard-run "ln" "proj/once" "proj/twice")
  (aqd-guard-run "mkfifo" "proj/fifo")
  (pcase-dolist (`(,name . ,target)
                 `(("out-dir" . "../outside") ("out-file" . "../secret.txt")
                   ("out-abs" . ,(concat aqd-guard-top "outside"))
                   ("out-etc" . "/etc") ("out-passwd" . "/etc/passwd")
                   ("out-prefix" . ,(concat aqd-guard-top "proj-secrets"))
                   ("out-up" . "..") ("out-root" . "/") ("out-net" . "/net/host")
                   ("out-twice" . "in-then-out/x") ("in-then-out" . "src/../../outside")
                   ("out-and-in" . "../proj/src") ("out-ssh" . "/ssh:host:/etc")
                   ("out-sudo" . "/sudo::/etc/passwd") ("out-quoted" . "/:/etc")
                   ("out-home" . "/root") ("out-new" . "../outside/new")
                   ("dangling" . "nowhere") ("dangling-dir" . "no/where")
                   ("self" . "self") ("loop-a" . "loop-b") ("loop-b" . "loop-a")
                   ("in-dir" . "src") ("in-file" . "src/a.el") ("in-dot" . ".")
                   ("in-up" . "src/deep/../a.el")
                   ("in-abs" . ,(aqd-guard-in "src/a.el"))
                   ("in-colon" . ,(aqd-guard-in "c:x"))
                   ("in-chain" . "in-dir/deep") ("src/back" . "../README.md")
                   ("in-git" . ".git") ("in-hook" . ".git/hooks/post-commit")
                   ("in-fifo" . "fifo") ("in-hard" . "hard-secret")
                   ("in-gz" . "a.gz") ("in-null" . "/dev/null")
                   ("literal-tilde" . "~root") ("literal-tilde-dir" . "~")
                   (".vscode" . "linked-ci") (".gitlab-ci.yml" . "dev/env.sh")
                   ("sub/.hg" . "../dir.d")))
    (aqd-guard-link target (concat "proj/" name)))
  (aqd-guard-file "proj/with\nnewline")
  (aqd-guard-link "with\nnewline" "proj/in-newline"))

(defun aqd-guard-socket ()
  "Create a socket in the project and return the process that listens to it."
  ;; A socket's name may be no longer than 107 bytes.
  (let ((default-directory aqd-guard-root))
    (make-network-process :name "aqd-guard" :server t :family 'local
                          :noquery t :service (aqd-guard-in "socket"))))

(defun aqd-guard-snapshot ()
  "Return all that is below the top, with modes, contents and link targets."
  (let ((file-name-handler-alist nil))
    (cl-loop for file in (sort (directory-files-recursively aqd-guard-top "" t)
                               #'string<)
             for attributes = (file-attributes file)
             collect (list file
                           ;; Everything but when it was last read.
                           (append (seq-take attributes 4) (nthcdr 5 attributes))
                           (and (string-prefix-p "-" (file-attribute-modes attributes))
                                (with-temp-buffer
                                  (set-buffer-multibyte nil)
                                  (insert-file-contents-literally file)
                                  (buffer-string)))))))

(defun aqd-guard-handler (&rest operation)
  "Note OPERATION, which no remote handler may ever be asked for."
  (push operation aqd-guard-asked)
  (error "Connected"))

(defmacro aqd-guard-with-project (&rest body)
  "Run BODY with a project, its surroundings, and remote names watched.
The handler stands before all others and answers for whatever any of
Tramp's syntaxes takes for remote."
  (declare (indent 0) (debug t))
  `(let* ((aqd-guard-top (file-name-as-directory
                          (file-truename (make-temp-file "aqd-guard" t))))
          (aqd-guard-root (concat aqd-guard-top "proj/"))
          (aqd-guard-asked nil)
          (default-directory aqd-guard-root)
          (agent-q-diff-project-root aqd-guard-root))
     (unwind-protect
         (progn
           (aqd-guard-build)
           (let ((file-name-handler-alist
                  (append '(("\\`/\\(?:[^/|:]+[|:]\\|\\[\\)" . aqd-guard-handler))
                          file-name-handler-alist)))
             ,@body))
       (let ((file-name-handler-alist nil))
         (delete-directory aqd-guard-top t)))))

(defun aqd-guard-answer (path &optional root)
  "Return the name that the guard gives PATH below ROOT, or its message."
  (condition-case err
      (agent-q-diff-guard-check path (or root aqd-guard-root))
    (agent-q-diff-forbidden
     (should (equal (length err) 2))
     (cadr err))))

(defun aqd-guard-first-line (path kind)
  "Return the first line of the refusal of PATH for KIND."
  (let ((shown (if (stringp path)
                   (agent-q-diff-visible path agent-q-diff-guard--max-shown)
                 path)))
    (pcase kind
      ('outside (format "Error: Path '%s' is outside project root" shown))
      ('missing (format "Error: File '%s' not found" shown))
      ('unwritable "Error: Cannot write to file"))))

;;;; Paths that must be refused

(defun aqd-guard-hostile ()
  "Return the hostile paths, an alist from the kind of refusal to a list."
  (let ((top aqd-guard-top)
        (root aqd-guard-root))
    `((outside
       ;; Up and out.
       ".." "../" "../secret.txt" "../proj-secrets/key" "../outside/new"
       "../../etc/passwd" "src/../../secret.txt" "./../secret.txt"
       "src/../../proj/README.md" "../proj/README.md" "new/../../secret.txt"
       "src/./../.././secret.txt" "../../../../../../../../../../etc/passwd"
       "a b.txt/../../secret.txt"
       ,(concat root "../secret.txt") ,(concat root "src/../../secret.txt")
       ,(concat root "..")
       ;; Absolute, elsewhere.
       "/" "/etc/passwd" "/etc" "/new-file" ,(concat top "secret.txt")
       ,(concat top "proj-secrets/key") ,(concat top "proj-secrets")
       ,(concat top "projx") ,(concat top "proj.git/config")
       ,(concat top "./proj/README.md") ,(concat top "outside/../proj/README.md")
       ,(concat top "/proj/README.md") ,(concat "/" root "README.md")
       ,(concat "/." root "README.md") ,(upcase (concat root "README.md"))
       "//etc/passwd" "///etc/passwd" "//server/share/x" "/./etc/passwd"
       "/../etc/passwd" "/proc/self/root/etc/passwd" "/proc/self/cwd/README.md"
       "/dev/null" "/dev/sda" "/dev/tcp/host/80" "/dev/fd/1" "/net/host/x"
       "/afs/x" "/home/user/.ssh/authorized_keys"
       ;; Homes.
       "~" "~/" "~/.bashrc" "~root" "~root/.profile" "~nobody/x" "~+/x" "~-/x"
       "~/../etc/passwd" "~tilde"
       ;; Other hosts and other users, in every syntax of Tramp's.
       "/ssh:host:/etc/passwd" "/ssh:host:" "/ssh:host:x" "/ssh:user@host#22:/x"
       "/scp:host:/x" "/sudo::/etc/passwd" "/sudo:root@localhost:/etc/passwd"
       "/su::/x" "/doas::/x" "/ftp:host:/x" "/smb:host:/share" "/adb::/x"
       "/docker:box:/x" "/podman:box:/x" "/kubernetes:pod:/x" "/ssh:a|sudo:b:/x"
       "/rclone:r:/x" "/sshfs:h:/x" "/gdrive:u@h:/x" "/dav:h:/x" "/mtp:d:/x"
       "/plink:h:/x" "/-:host:/x" "/host:/x" "/user@host:/x" "/host:x" "/[ssh/host]/x"
       "/[ssh/user@host]x" "/[/host]/x" "/ssh:[::1]:/x" "/ssh:host:~/x"
       "/ssh:/x" "/ssh:" "/:" "/:/etc/passwd" "/:~/x" "/:README.md"
       ,(concat "/:" root "README.md") ,(concat "/sudo::" root "README.md")
       ,(concat "/ssh:localhost:" root "README.md")
       ;; Drives.
       "c:x" "C:/Windows/win.ini" "C:" "z:README.md"
       ;; Links that lead out, and what is beyond them.
       "out-dir" "out-dir/file" "out-dir/dir/file" "out-dir/new" "out-file"
       "out-abs/file" "out-etc/passwd" "out-passwd" "out-prefix/key" "out-up"
       "out-up/secret.txt" "out-up/proj/README.md" "out-root/etc/passwd" "out-root"
       "out-net/x" "in-then-out/file" "out-twice" "out-and-in/a.el" "out-ssh"
       "out-ssh/passwd" "out-sudo" "out-quoted/passwd" "out-home/.bashrc" "out-new"
       "in-dot/out-dir/file" "in-dot/in-dot/out-file" "src/../out-file"
       "in-null" "./out-dir/../out-file" ,(concat root "out-file"))
      (missing
       "no/../README.md" "no/such/../../README.md" "README.md/x" "README.md/../x"
       "README.md/" "src/a.el/b/c" "fifo/x" "no/.." "no/../" "no/../.git/config"
       "sub/.git/config" "a.zip/inner" "a.tar/x"
       ,(concat root "no/../README.md"))
      (unwritable
       ;; No strings, no names.
       nil t 42 path ("README.md") ["README.md"] "" "." "./" "./." "src" "src/"
       "src/." "src/.." "src/deep/.." "new/" "new/." "in-dir" "in-dir/" "in-dot"
       "in-dot/." ,root ,(directory-file-name root) ,(concat root ".")
       ,(concat root "/README.md") "src//a.el" "src//etc/passwd" "..//secret.txt/.." ".//README.md"
       ;; Characters.
       "a\0b" "\0" "README.md\0.txt" "with\nnewline" "a\nb" "\n" "a\rb" "a\tb" "\e[2Jx"
       "x\a" "x\d" "a\u0085b" "a\u2028b" "a\u2029b" "gpj.\u202elm" "a\u200bb" "\ufeffREADME.md"
       "READ\u2060ME.md" "a\u2066b" "x\U000E0041" "a\u200eb" "READ\u00adME.md"
       "a\377b" ,(unibyte-string ?a #xc3 #xa9) "\300\257etc" "a\ud800b" "a\udfff" "a\uffffb"
       ,(concat ".\u200d" "\342\200\213git/config")
       "in-newline"
       "..\\secret.txt" "src\\a.el" "\\etc\\passwd" "\\\\server\\share" "src/..\\..\\x"
       "\\ssh:host:\\x"
       ,(make-string 256 ?x) ,(make-string 130 ?é) ,(concat (make-string 300 ?x) "/y")
       ,(mapconcat #'identity (make-list 2100 "a") "/") ,(make-string 1000000 ?x)
       ;; What git and its like keep for themselves.
       ".git" ".git/config" ".git/hooks/pre-commit" ".git/new/deep" ".GIT/config"
       ".Git/config" ".gIt" ".git./config" ".git /config" ".git. . /config" "./.git/config"
       "src/../.git/config" ".git/../README.md" ".git::$INDEX_ALLOCATION/config"
       ".git:stream" "GIT~1/config" "git~1/config" "git~2/x" "git~1" ".g\u200cit/config"
       ".g\u200dit/config" "\u200c.git/config" ".git\u200d/config" ".git\ufe0f/x"
       ".g\u0130t/config" ".G\u0131T/config" "\uff0egit/config" ".\uff47\uff49\uff54/config"
       "sub/.git" "new/.git/config" "new/deep/.GIT/x" "in-git/config"
       "in-hook" "in-dot/.git/config" ".hg/hgrc" ".svn/entries" ".jj/repo/config"
       ".bzr/branch" "_darcs/prefs" ".HG/hgrc" "sub/.hg/x" "bare/config"
       "bare/hooks/post-update" "bare/new/deep" "linked-tree/config"
       ,(concat root ".git/config") ,(concat root ".GIT/config")
       ;; What is no plain file, or is one by other names.
       "fifo" "in-fifo" "socket" "hard-secret" "in-hard" "once" "twice" "dangling"
       "dangling-dir" "dangling/x" "dangling-dir/x" "self" "self/x" "loop-a" "loop-b/x"
       "literal-tilde" "literal-tilde-dir/x" "in-dir/../README.md" "in-dir/deep/../a.el"
       "in-chain/../a.el" "in-dir/.."
       ;; What Emacs shows other than it is.
       "a.gz" "new.gz" "in-gz" "a.GZ" "a.bz2" "a.xz" "a.zst" "a.Z" "a.tgz" "a.svgz" "a.gz~"
       "a.gz.~1~" "a.gpg" "new.gpg" "a.GPG" "a.gpg~" "a.age" "a.pgp" "a.tar" "a.zip"
       "a.7z" "a.jar" "a.rar" "a.deb" "a.docx" "a.odt" "src/new.tar.gz"
       "new.zip/inner.txt" "a.kdbx"))))

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
  "The tool says what the guard says, and does nothing but to say it."
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
  "Whether a file outside is there must not be told, nor looked at."
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
  "Agents are told the name that the user knows, as /tmp on a Mac."
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
      ;; A link that is not the user's way to the root is not looked at.
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
  "There a name below the root can look remote, or be the kernel's."
  (aqd-guard-with-project
    (dolist (path '("/ssh:host:/etc/passwd" "ssh:host:/etc/passwd" "ssh:host:x" "sudo::/x"
                    "/:/etc/passwd" ":x" "proc/version" "/proc/self/mem" "/dev/null" "dev/shm/x"
                    "/sys/kernel/x" "../etc/passwd" "//etc/passwd"))
      (ert-info ((format "%S" path) :prefix "path: ")
        (should (string-prefix-p "Error: " (aqd-guard-answer path "/")))
        (should-not aqd-guard-asked)))
    (should (equal (aqd-guard-in "README.md")
                   (aqd-guard-answer (aqd-guard-in "README.md") "/")))))

;;;; Odd systems

(ert-deftest aqd-guard-where-case-does-not-matter ()
  "The name is spelled as the directory does, and `.git' stays shut."
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
          (should (eq 'asked (car (agent-q-diff-protected-kind '(".IDEA" "x")))))
          (should (eq 'asked (car (agent-q-diff-protected-kind '("JENKINSFILE")))))
          (should (string-prefix-p "Error: Cannot" (aqd-guard-answer "a.ZIP"))))
      (turkish-case-conversion-disable))))

(ert-deftest aqd-guard-an-option-that-was-changed-counts-at-once ()
  "Answers are kept, but not beyond a change inside the option's own list."
  (let ((agent-q-diff-protected-asked (copy-tree agent-q-diff-protected-asked)))
    (should-not (agent-q-diff-protected-kind '("src" "mine.txt")))
    (setcdr (last (car (last agent-q-diff-protected-asked))) (list "mine.txt"))
    (should (eq 'asked (car (agent-q-diff-protected-kind '("src" "mine.txt")))))
    (let ((agent-q-diff-protected-denied '("src/")))
      (should (eq 'denied (car (agent-q-diff-protected-kind '("src" "mine.txt"))))))))

(ert-deftest aqd-guard-outside-of-projects-links-are-not-looked-for ()
  "Directories above need not be readable, and links there lead anywhere."
  (aqd-guard-with-project
    (cl-letf (((symbol-function 'agent-q-diff-guard--links)
               (lambda (directory) (error "Looked into %s" directory))))
      (should-error (agent-q-diff-guard-check "a/new.el" aqd-guard-root)
                    :type 'agent-q-diff-forbidden)
      (let ((name (concat aqd-guard-root "a/new.el")))
        (should (equal name (agent-q-diff-guard-check name "/")))))))

(ert-deftest aqd-guard-a-working-tree-in-a-bare-repository-is-the-users ()
  (aqd-guard-with-project
    (let ((bare (concat aqd-guard-root "bare/")))
      (make-directory (concat bare "refs") t)
      (make-directory (concat bare "objects") t)
      (make-directory (concat bare "tree") t)
      (write-region "" nil (concat bare "HEAD") nil 'silent)
      (should (eq 'denied (car (agent-q-diff-guard-protection
                                (concat bare "tree/a.el") "/"))))
      (write-region "gitdir: .." nil (concat bare "tree/.git") nil 'silent)
      (should-not (agent-q-diff-guard-protection (concat bare "tree/a.el") "/"))
      (should (eq 'denied (car (agent-q-diff-guard-protection
                                (concat bare "hooks/a") "/")))))))

(ert-deftest aqd-guard-a-name-that-the-system-cannot-hold ()
  "Else Emacs would write another character for it: another name."
  (aqd-guard-with-project
    (let ((file-name-coding-system 'iso-latin-1-unix))
      (should (string-match-p "iso-latin-1" (aqd-guard-answer "€.txt")))
      (should (equal (aqd-guard-answer "é.txt") (aqd-guard-in "é.txt"))))))

(ert-deftest aqd-guard-an-error-on-the-way-is-a-refusal ()
  "Root can read everything, so the error is played."
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
    ;; Without Emacs's own handlers an archive is no plain text either.
    (let ((file-name-handler-alist nil)
          (auto-mode-alist nil))
      (dolist (path '("a.gz" "a.gpg" "a.tar" "a.zip" "a.gz~" "a.gpg.~3~"))
        (should (string-prefix-p "Error: Cannot" (aqd-guard-answer path)))))))

;;;; Proposals

(defvar aqd-guard-reviews nil
  "The notes of the reviews that were begun, each a list of strings.")

(defun aqd-guard-propose (tool path)
  "Have TOOL propose something for PATH, and return the message.
A review that is begun is noted in `aqd-guard-reviews' and cancelled."
  (cl-letf (((symbol-function 'agent-q-diff-review-and-wait)
             (lambda (&rest arguments)
               (push (plist-get (nthcdr 4 arguments) :notes) aqd-guard-reviews)
               (signal 'agent-q-diff-cancelled '("a test"))))
            ((symbol-function 'agent-q-diff-review-patch-and-wait)
             (lambda (&rest arguments)
               (push (plist-get (nthcdr 3 arguments) :notes) aqd-guard-reviews)
               (signal 'agent-q-diff-cancelled '("a test")))))
    (agent-q-diff-tools-call
     tool (if (equal tool "propose_patch")
              `(:path ,path :diff "@@ -1 +1 @@\n-text\n+evil\n" :description "d")
            `(:path ,path :original "text\n" :modified "evil\n" :description "d")))))

(ert-deftest aqd-guard-what-an-edit-is-refused-a-proposal-is-refused ()
  "What is inside the project, but no file for agents, is none for any tool."
  (aqd-guard-with-project
    (dolist (tool '("propose_file_edit" "propose_patch"))
      (dolist (path '("hard-secret" "in-hard" "once" "a.gz" "in-gz" "a.gpg" "a.zip" "a.tar"
                      "fifo" "in-fifo" "src" "dangling" "self" ".git/config" "in-hook"
                      "sub/.git" "bare/config" "new.gpg" "README.md/x"))
        (ert-info ((format "%s %s" tool path) :prefix "call: ")
          (let ((aqd-guard-reviews nil)
                (before (aqd-guard-snapshot)))
            (should (equal (aqd-guard-answer (aqd-guard-in path))
                           (aqd-guard-propose tool path)))
            (should-not aqd-guard-reviews)
            (should (equal before (aqd-guard-snapshot)))
            (should-not aqd-guard-asked)))))))

(defun aqd-guard-build-outside ()
  "Create what is no file for agents, next to the project."
  (mapc #'aqd-guard-file '("outside/.git/HEAD" "outside/.git/hooks/pre-commit"
                           "outside/a.gz" "outside/a.gpg" "outside/.envrc"
                           "outside/bare/HEAD" "outside/bare/config"))
  (dolist (directory '("outside/bare/objects" "outside/bare/refs"))
    (make-directory (concat aqd-guard-top directory) t))
  (aqd-guard-run "mkfifo" "outside/fifo")
  (aqd-guard-run "ln" "outside/file" "outside/hard")
  (aqd-guard-link "../outside/.git/hooks/pre-commit" "proj/out-hook"))

(ert-deftest aqd-guard-what-is-outside-is-proposed-with-a-warning-or-refused ()
  (aqd-guard-with-project
    (aqd-guard-build-outside)
    (dolist (tool '("propose_file_edit" "propose_patch"))
      (dolist (path (list "outside/.git/hooks/pre-commit" "outside/a.gz" "outside/a.gpg"
                          "outside/bare/config" "outside/fifo" "outside/hard" "outside/dir"))
        (ert-info ((format "%s %s" tool path) :prefix "call: ")
          (let ((aqd-guard-reviews nil))
            (should (string-prefix-p "Error: "
                                     (aqd-guard-propose tool (concat aqd-guard-top path))))
            (should-not aqd-guard-reviews))))
      (let ((aqd-guard-reviews nil))
        (should (string-prefix-p "Error: " (aqd-guard-propose tool "out-hook")))
        (should-not aqd-guard-reviews)
        (aqd-guard-propose tool (concat aqd-guard-top "outside/dir/file"))
        (should (string-match-p "OUTSIDE" (string-join (car aqd-guard-reviews) "\n")))
        (should-not (string-match-p "PROTECTED" (string-join (car aqd-guard-reviews) "\n")))
        (aqd-guard-propose tool (concat aqd-guard-top "outside/.envrc"))
        (should (string-match-p "OUTSIDE\\(.\\|\n\\)*PROTECTED"
                                (string-join (car aqd-guard-reviews) "\n"))))
      (should-not aqd-guard-asked))))

(ert-deftest aqd-guard-what-is-outside-is-checked-again-before-it-is-written ()
  (dolist (what '(hard git))
    (aqd-guard-with-project
      (let* ((file (concat aqd-guard-top "outside/dir/file"))
             (review (agent-q-diff-propose
                      "propose_file_edit"
                      `((path . ,file) (original . "text\n") (modified . "evil\n")
                        (description . "d"))
                      #'ignore)))
        (if (eq what 'hard)
            (aqd-guard-run "ln" "outside/dir/file" "outside/other")
          (mapc #'aqd-guard-file '("outside/HEAD" "outside/objects/x" "outside/refs/x")))
        (let ((came-to (condition-case err
                           (agent-q-diff-accept review 0)
                         (agent-q-diff-error (car err)))))
          (should (memq came-to '(agent-q-diff-forbidden agent-q-diff-bad-target))))
        (agent-q-diff-cancel review)
        (should (equal "text\n" (with-temp-buffer
                                  (insert-file-contents file)
                                  (buffer-string))))))))

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
      (should (eq 'asked (car (agent-q-diff-guard-protection (concat root ".envrc") root))))
      (should-not aqd-guard-asked))))

;;;; Between the check and the write

(defmacro aqd-guard-race (path &rest body)
  "Check PATH, run BODY as the one who swaps things, and check again.
The second answer must be a refusal."
  (declare (indent 1) (debug t))
  `(aqd-guard-with-project
     (let ((name (agent-q-diff-guard-check ,path aqd-guard-root)))
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
    (let ((name (agent-q-diff-guard-check "a/new.el" aqd-guard-root)))
      (aqd-guard-file "proj/a/new.el")
      (should (equal name (agent-q-diff-guard-recheck name aqd-guard-root)))
      (aqd-guard-file "proj/a/new.el" "other\n")
      (should (equal name (agent-q-diff-guard-recheck name aqd-guard-root))))))

;;;; Protected files

(defconst aqd-guard-asked-names
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

(defconst aqd-guard-plain-names
  '("README.md" "Makefile" "GNUmakefile" "CMakeLists.txt" "src/main.rs" "Cargo.toml"
    "pyproject.toml" "go.mod" ".editorconfig" ".gitignore" ".gitattributes" "package.json.md"
    "my-package.json" "xpackage.json" "env" "envrc" ".environment" "docs/CLAUDE.md.txt"
    "github/workflows/ci.yml" ".github/ISSUE_TEMPLATE.md" ".github/dependabot.yml"
    "workflows/ci.yml" "vscode/tasks.json" "x.vscode/y" "src/hooks/use.js" "src/head.el"
    "config.ts" "tests/setup.sh" "Dockerfile" "src/idea/x" "build/rs" "LICENSE" "src/agents.el"
    "src/.dir-locals.el.orig/x" "bashrc")
  "Names of files that are like any other.")

(ert-deftest aqd-guard-files-that-run-are-asked-for ()
  (aqd-guard-with-project
    (dolist (name aqd-guard-asked-names)
      (ert-info ((format "%S" name) :prefix "name: ")
        (pcase (agent-q-diff-guard-protection (aqd-guard-in name) aqd-guard-root)
          (`(,kind . ,reason)
           (should (eq kind 'asked))
           (should (string-match-p "\\`[a-zE]" reason)))
          (_ (should-not name)))))
    (dolist (name aqd-guard-plain-names)
      (ert-info ((format "%S" name) :prefix "name: ")
        (should-not (agent-q-diff-guard-protection (aqd-guard-in name) aqd-guard-root))))))

(ert-deftest aqd-guard-what-git-keeps-is-denied ()
  (aqd-guard-with-project
    (dolist (name '(".git/config" ".GIT/x" "sub/.git" "git~1/x" "bare/config" ".hg/hgrc"
                    "linked-tree/x/y" "bare/new/deep/x"))
      (ert-info ((format "%S" name) :prefix "name: ")
        (should (eq 'denied (car (agent-q-diff-guard-protection (aqd-guard-in name)
                                                                aqd-guard-root))))))))

(ert-deftest aqd-guard-names-through-links-count ()
  "Writing to where .gitlab-ci.yml leads is writing .gitlab-ci.yml."
  (aqd-guard-with-project
    (let ((kind (lambda (path)
                  (car (agent-q-diff-guard-protection
                        (agent-q-diff-guard-check path aqd-guard-root) aqd-guard-root path)))))
      (should (eq 'asked (funcall kind ".gitlab-ci.yml")))
      (should (eq 'asked (funcall kind "dev/env.sh")))
      (should (eq 'asked (funcall kind ".vscode/ci.yml")))
      (should (eq 'asked (funcall kind "linked-ci/ci.yml")))
      (should (eq 'asked (funcall kind "linked-ci/new/deep.json")))
      (should-not (funcall kind "src/a.el"))
      (should-not (funcall kind "in-dir/a.el")))
    ;; What the agent called it counts even where no link tells.
    (should (eq 'asked (car (agent-q-diff-guard-protection (aqd-guard-in "src/a.el")
                                                           aqd-guard-root ".envrc"))))))

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
          (should (equal (agent-q-diff-guard-protection (aqd-guard-in name) aqd-guard-root)
                         kind)))))))

(ert-deftest aqd-guard-default-options-fit-their-types ()
  (dolist (option '(agent-q-diff-protected-asked agent-q-diff-protected-denied
                    agent-q-diff-guard-opaque-names agent-q-diff-guard-hard-links))
    (should (widget-apply (widget-convert (custom-variable-type option))
                          :match (symbol-value option)))))

(provide 'agent-q-diff-guard-test)
;;; agent-q-diff-guard-test.el ends here
