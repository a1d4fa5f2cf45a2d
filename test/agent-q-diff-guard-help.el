;;; agent-q-diff-guard-help.el --- A project and what is around it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A directory tree with every kind of file that an agent's path can lead to,
;; inside the project and outside.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-project-help)

(defvar aqd-guard-top nil
  "The directory with the test's project and what is next to it.")

(defvar aqd-guard-root nil
  "The root of the test's project.")

(defvar aqd-guard-asked nil
  "Operations for which remote file name handlers were called, latest first.")

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
TARGET is the text of the link."
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
                           ;; All attributes except the access time.
                           (append (seq-take attributes 4) (nthcdr 5 attributes))
                           (and (string-prefix-p "-" (file-attribute-modes attributes))
                                (with-temp-buffer
                                  (set-buffer-multibyte nil)
                                  (insert-file-contents-literally file)
                                  (buffer-string)))))))

(defun aqd-guard-handler (&rest operation)
  "Note OPERATION; no remote handler may ever be called."
  (push operation aqd-guard-asked)
  (error "Connected"))

(defmacro aqd-guard-with-project (&rest body)
  "Run BODY with a project, its surroundings, and remote names watched.
The handler precedes all others and handles every name that is remote in
one of Tramp's syntaxes."
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
  "Return the guard's name for PATH below ROOT, or its message."
  (condition-case err
      (car (agent-q-diff-guard-find path (or root aqd-guard-root)))
    (agent-q-diff-forbidden
     (should (equal (length err) 2))
     (cadr err))))

(defun aqd-guard-protection (name root &optional path)
  "Return how the file NAME below ROOT, both local, is protected.
PATH is another name of the file, or nil."
  (let ((file-name-handler-alist nil))
    (agent-q-diff-guard--protection
     name root ""
     (and path (list (split-string (string-remove-prefix root path) "/" t))))))

(defun aqd-guard-first-line (path kind)
  "Return the first line of the refusal of PATH for KIND."
  (let ((shown (if (stringp path)
                   (agent-q-diff-visible path agent-q-diff-guard--max-shown)
                 path)))
    (pcase kind
      ('outside (format "Error: Path '%s' is outside project root" shown))
      ('missing (format "Error: File '%s' not found" shown))
      ('unwritable "Error: Cannot write to file"))))

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
       ;; Not strings, or not names.
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
       ;; Files of version control systems.
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
       ;; Files that are not plain, or have other names.
       "fifo" "in-fifo" "socket" "hard-secret" "in-hard" "once" "twice" "dangling"
       "dangling-dir" "dangling/x" "dangling-dir/x" "self" "self/x" "loop-a" "loop-b/x"
       "literal-tilde" "literal-tilde-dir/x" "in-dir/../README.md" "in-dir/deep/../a.el"
       "in-chain/../a.el" "in-dir/.."
       ;; Files that Emacs would decode.
       "a.gz" "new.gz" "in-gz" "a.GZ" "a.bz2" "a.xz" "a.zst" "a.Z" "a.tgz" "a.svgz" "a.gz~"
       "a.gz.~1~" "a.gpg" "new.gpg" "a.GPG" "a.gpg~" "a.age" "a.pgp" "a.tar" "a.zip"
       "a.7z" "a.jar" "a.rar" "a.deb" "a.docx" "a.odt" "src/new.tar.gz"
       "new.zip/inner.txt" "a.kdbx"))))

(provide 'agent-q-diff-guard-help)
;;; agent-q-diff-guard-help.el ends here
