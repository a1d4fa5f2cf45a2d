;;; agent-q-diff-guard.el --- Which files an agent may touch  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Turns the path that an agent gave into the name of a file inside the
;; project, or refuses it.  An agent is only half trusted: a text that it
;; has read may have told it what to write.
;;
;; A path is first checked as a string, see agent-q-diff-path.el, and then
;; walked part by part from the root, see agent-q-diff-walk.el.  Meanwhile
;; all file name handlers are disabled except that of the root's own remote.
;; Then the kind of file and its protection are checked.
;;
;; A limit: between the last check and the write, another process can still
;; replace a directory by a link.  Emacs has no openat(2), so
;; `agent-q-diff-guard-recheck' can make that window small but not close it.

;;; Code:

(require 'cl-lib)
(require 'project)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-protected)
(require 'agent-q-diff-path)
(require 'agent-q-diff-walk)

;;;; Options

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
  "Regexps of names of files whose content is not what Emacs would show.
They are archives, or compressed or encrypted, so an exact edit of the
text is not an exact edit of the file.  Case and backup suffixes are
ignored.  Files that this Emacs has a file name handler for are refused as
well."
  :type '(repeat regexp)
  :group 'agent-q-diff-agents)

;;;; The root

(defun agent-q-diff-guard-root ()
  "Return the directory inside which agents may edit, resolved.
It is `agent-q-diff-project-root', or else the root of the current
project, or else `default-directory'.  Agents' paths are relative to it."
  (let ((root (file-name-as-directory
               (expand-file-name
                (or agent-q-diff-project-root
                    (when-let ((project (project-current)))
                      (project-root project))
                    default-directory)))))
    (if (agent-q-diff-guard--resolved-p root)
        root
      (file-name-as-directory (file-truename root)))))

(defun agent-q-diff-guard--handlers (root)
  "Return a value of `file-name-handler-alist' for names below ROOT.
It is empty, or has only the handler of the remote of ROOT."
  (when-let* ((remote (file-remote-p root))
              (handler (find-file-name-handler root 'file-attributes)))
    (list (cons (concat "\\`" (regexp-quote remote)) handler))))

(defun agent-q-diff-guard--check-root (root)
  "Refuse every path unless ROOT is an existing directory, named as resolved."
  (unless (and (stringp root)
               (file-name-absolute-p root)
               (directory-name-p root)
               (file-directory-p root))
    (agent-q-diff-path-refuse 'unwritable "The project root %s is not a directory" root))
  (unless (agent-q-diff-guard--resolved-p root)
    (agent-q-diff-path-refuse 'unwritable "The project root %s leads elsewhere now" root)))

(defun agent-q-diff-guard--resolved-p (root)
  "Return non-nil if ROOT, an absolute directory name, is its own `file-truename'.
For a local ROOT without \"..\" or the like it is enough that no part is a
symbolic link, which takes a tenth of the time to find out."
  (if (and (string-prefix-p "/" root)
           (equal "" (agent-q-diff-path-remote root))
           (not (string-match-p "/\\.\\{0,2\\}/" root)))
      (cl-loop for slash = (string-search "/" root 1)
               then (string-search "/" root (1+ slash))
               while slash
               never (file-symlink-p (substring root 0 slash)))
    (equal (file-name-as-directory (file-truename root)) root)))

;;;; The kind of file

(defun agent-q-diff-guard--check-kind (walk)
  "Refuse the end of WALK unless it is, or could become, a plain file."
  (pcase (agent-q-diff-walk-kind walk)
    ('nil
     (when (and (> (agent-q-diff-walk-n-missing walk) 1)
                (not agent-q-diff-create-directories))
       (agent-q-diff-path-refuse 'missing)))
    ('directory (agent-q-diff-path-refuse 'unwritable "The path names a directory"))
    (attributes
     (unless (string-prefix-p "-" (file-attribute-modes attributes))
       (agent-q-diff-path-refuse 'unwritable "It is not a regular file"))
     (when (and (> (file-attribute-link-number attributes) 1)
                (not agent-q-diff-guard-hard-links))
       (agent-q-diff-path-refuse 'unwritable "The file has other names, hard links")))))

(defun agent-q-diff-guard--archive-p (local)
  "Return non-nil if Emacs would show the file LOCAL as an archive.
The few patterns for archives are tried before the hundreds of others."
  (and (cl-loop for (regexp . mode) in auto-mode-alist
                thereis (and (memq mode '(archive-mode tar-mode))
                             (string-match-p regexp local)))
       (memq (assoc-default local auto-mode-alist #'string-match)
             '(archive-mode tar-mode))))

(defun agent-q-diff-guard--without-backup-suffix (name)
  "Return NAME without what is appended to the names of backup files."
  (if (string-suffix-p "~" name)
      (replace-regexp-in-string "\\(?:~\\|\\.~[^/]*~\\)+\\'" "" name)
    name))

(defun agent-q-diff-guard--check-contents (local)
  "Refuse LOCAL, a local file name, unless that of a plain text file.
Only the name is checked."
  (let ((plain (agent-q-diff-guard--without-backup-suffix
                (agent-q-diff-protected-fold-case local)))
        (case-fold-search t))
    (when (or (find-file-name-handler local 'insert-file-contents)
              (find-file-name-handler local 'write-region)
              (seq-some (lambda (regexp) (string-match-p regexp plain))
                        agent-q-diff-guard-opaque-names)
              (agent-q-diff-guard--archive-p plain))
      (agent-q-diff-path-refuse
       'unwritable "The file is an archive, or compressed or encrypted"))
    (when (string-match-p "\\`/\\(?:proc\\|sys\\|dev\\)/" local)
      (agent-q-diff-path-refuse 'unwritable "The file belongs to the system"))))

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

(defun agent-q-diff-guard--links (directory)
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

(defun agent-q-diff-guard--called (link name root)
  "Return the name of NAME through LINK, or nil if LINK does not lead there.
Both are below ROOT.  The value is a list of parts below ROOT."
  (let* ((parts (split-string (substring link (length root)) "/" t))
         (target (catch 'agent-q-diff-path-refusal
                   (ignore-errors
                     (agent-q-diff-walk-name
                      (agent-q-diff-walk-along parts root))))))
    (cond
     ((not (stringp target)) nil)
     ((equal target name) parts)
     ((string-prefix-p (concat target "/") name)
      (append parts (split-string (substring name (length target)) "/" t))))))

(defun agent-q-diff-guard-outermost-p (root)
  "Return non-nil if ROOT is the root of a file system, not of a project."
  (equal root (file-name-directory (directory-file-name root))))

(defun agent-q-diff-guard--names (name root parts directories)
  "Return all names of the file NAME, each a list of parts below ROOT.
They are NAME itself, PARTS unless it is nil, and every name through a
symbolic link in one of DIRECTORIES, that of NAME and those above: .envrc
may be a link to a file with a harmless name.  Links elsewhere are not
considered.  If ROOT is not a project's, no links are, since the
directories there may be unreadable and their links lead anywhere."
  (delete-dups
   `(,(split-string (substring name (length root)) "/" t)
     ,@(and parts (list parts))
     ,@(unless (agent-q-diff-guard-outermost-p root)
         (cl-loop for directory in directories
                  nconc (cl-loop for link in (agent-q-diff-guard--links directory)
                                 for called = (agent-q-diff-guard--called link name root)
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
    (or (when-let* ((line (agent-q-diff-guard--first-line git))
                    (private (and (string-prefix-p "gitdir: " line)
                                  (expand-file-name (substring line (length "gitdir: "))
                                                    directory))))
          (and (equal (file-name-directory private) (concat top ".git/worktrees/"))
               (equal git (when-let ((back (agent-q-diff-guard--first-line
                                            (concat private "/gitdir"))))
                            (expand-file-name back private)))))
        (when-let ((line (agent-q-diff-guard--first-line (concat jj "repo"))))
          (equal (expand-file-name line jj) (concat top ".jj/repo"))))))

(defun agent-q-diff-guard--in-work-tree (parts root)
  "Return PARTS, those of a file's name below ROOT, below the work tree it is in.
Agents keep work trees of a project in their own folder there, such as
\".claude/worktrees/NAME\".  What is in one is no setting of the agent's,
unless it has the name of one there."
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

(defun agent-q-diff-guard--kind (parts root)
  "Return how the file whose name has PARTS below ROOT is protected, or nil.
The value is as from `agent-q-diff-guard-protection'."
  (pcase (agent-q-diff-protected-kind parts)
    (`(asked . ,_) (agent-q-diff-protected-kind
                    (agent-q-diff-guard--in-work-tree parts root)))
    (kind kind)))

(defun agent-q-diff-guard--protection (name root parts)
  "Return what `agent-q-diff-guard-protection' does.
PARTS are those of the agent's name for NAME below ROOT, or nil."
  (let* ((directories (agent-q-diff-path-ancestors name root))
         (kinds (delq nil (mapcar (lambda (parts) (agent-q-diff-guard--kind parts root))
                                  (agent-q-diff-guard--names name root parts directories)))))
    (cond
     ((assq 'denied kinds))
     ((agent-q-diff-guard--in-git-directory-p directories root)
      '(denied . "it is inside a directory of git's own"))
     (t (car kinds)))))

(defun agent-q-diff-guard-protection (name root &optional path)
  "Return how NAME, a resolved file name below ROOT, is protected.
PATH is the agent's name for it, or nil: a link can have a protected name
although its target has none.

The value is nil; (`denied' . REASON) if no agent may ever edit the file;
or (`asked' . REASON) if the user is asked each time, whatever was
granted.  REASON is a clause for the user and the agent."
  (let* ((file-name-handler-alist (agent-q-diff-guard--handlers root))
         (below (and path (catch 'agent-q-diff-path-refusal
                            (agent-q-diff-path-below path root)))))
    (agent-q-diff-guard--protection
     name root (and (stringp below) (split-string below "/" t)))))

;;;; The answer

(defun agent-q-diff-guard--find (path root)
  "Return (NAME . PROTECTION) of PATH below ROOT, or refuse it.
NAME is resolved, and PROTECTION as from `agent-q-diff-guard-protection'.
No file name handlers are called, except that of ROOT."
  (let* ((file-name-handler-alist (agent-q-diff-guard--handlers root))
         (parts (progn
                  (agent-q-diff-guard--check-root root)
                  (agent-q-diff-path-parts path root)))
         (walk (agent-q-diff-walk-along parts root))
         (name (agent-q-diff-walk-name walk)))
    (when (member (car (last parts)) '("" "." ".."))
      (agent-q-diff-path-refuse 'unwritable "The path names a directory"))
    ;; A link can lead to a name that a path must not have.
    (agent-q-diff-path-check-spelling
     (concat "./" (substring name (length root))))
    (agent-q-diff-guard--check-kind walk)
    (pcase (agent-q-diff-guard--protection name root parts)
      (`(denied . ,reason) (agent-q-diff-path-refuse 'unwritable "Not for agents: %s" reason))
      (protection (cons name protection)))))

(defun agent-q-diff-guard-find (path root)
  "Return (NAME . PROTECTION) of the file PATH, named by an agent.
NAME is absolute and resolved; PROTECTION is nil or (`asked' . REASON), see
`agent-q-diff-guard-protection'.  PATH is relative to ROOT, the value of
`agent-q-diff-guard-root', or begins with it.  The file need not exist.
Unless it is a plain file inside ROOT, or could become one, signal
`agent-q-diff-forbidden' with the message for the agent."
  (agent-q-diff-path-answering path
    (let ((found (agent-q-diff-guard--find path root)))
      ;; Now with the user's file name handlers.
      (agent-q-diff-guard--check-contents
       (substring (car found) (length (agent-q-diff-path-remote root))))
      found)))

(defun agent-q-diff-guard-check (path root)
  "Return the absolute, resolved name of the file PATH, named by an agent.
PATH and ROOT, and which paths are refused, are as for
`agent-q-diff-guard-find'."
  (car (agent-q-diff-guard-find path root)))

(defun agent-q-diff-guard-recheck (name root &optional path)
  "Return NAME, which `agent-q-diff-guard-check' returned for ROOT.
Call this just before NAME is written; PATH is the name by which that is
done, if it is another.  If PATH now leads elsewhere, signal
`agent-q-diff-forbidden': a directory on the way may have been replaced by
a link meanwhile, or a link by another one."
  (let ((remote-file-name-inhibit-cache t))
    (agent-q-diff-path-answering name
      (unless (equal name (car (agent-q-diff-guard--find (or path name) root)))
        (agent-q-diff-path-refuse 'unwritable "The path leads elsewhere now"))
      ;; Whether it is an archive, say, depends on the name alone.
      name)))

(provide 'agent-q-diff-guard)
;;; agent-q-diff-guard.el ends here
