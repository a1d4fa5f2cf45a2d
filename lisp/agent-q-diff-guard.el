;;; agent-q-diff-guard.el --- Which files an agent may touch  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Turns the path that an agent gave into the name of a file inside the
;; project, or refuses it.  An agent is only half trusted: a text that it
;; has read may have told it what to write.
;;
;; Emacs interprets file names before it touches a file: expanding
;; "/ssh:host:x" may open a connection, and even a file test on
;; "/net/host/x" may mount something.  So a path is first checked as a
;; string, and refused if it does not begin with the root.  The rest is
;; walked part by part from the root, as the kernel does, with all file name
;; handlers disabled except that of the root's own remote.  The walk stops
;; where it would leave the root.  So no file outside is ever accessed, and a
;; refusal reveals nothing about files elsewhere.
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
(require 'agent-q-diff-visible)
(require 'agent-q-diff-protected)

;;;; Options

(defcustom agent-q-diff-guard-hard-links nil
  "Whether an agent may edit a file that has other names, hard links.
Those names can be outside the project, and cannot be found."
  :type 'boolean
  :group 'agent-q-diff)

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
  :group 'agent-q-diff)

;;;; Refusing

(defconst agent-q-diff-guard--messages
  '((outside . "Error: Path '%s' is outside project root")
    (missing . "Error: File '%s' not found")
    (unwritable . "Error: Cannot write to file"))
  "What the agent reads, by kind of refusal.
Agents are prompted with these words, so they must not change.")

(defun agent-q-diff-guard--no (kind &optional format &rest arguments)
  "Refuse the path, for KIND, a key of `agent-q-diff-guard--messages'.
FORMAT and ARGUMENTS make a sentence with the reason, if there is more to
say than KIND does."
  (throw 'agent-q-diff-guard (cons kind (and format (apply #'format format arguments)))))

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

(defmacro agent-q-diff-guard--answer (path &rest body)
  "Return the value of BODY, or signal its refusal of PATH.
An error in BODY is a refusal as well: if in doubt, no path passes."
  (declare (indent 1) (debug t))
  `(pcase (catch 'agent-q-diff-guard
            (condition-case err
                (list 'value (progn ,@body))
              (error (cons 'unwritable (error-message-string err)))))
     (`(value ,value) value)
     (refusal (signal 'agent-q-diff-forbidden
                      (list (agent-q-diff-guard--message ,path refusal))))))

;;;; The root

(defun agent-q-diff-guard-root ()
  "Return the directory inside which agents may edit, resolved.
It is `agent-q-diff-project-root', or else the root of the current
project, or else `default-directory'.  Agents' paths are relative to it."
  (file-name-as-directory
   (file-truename
    (or agent-q-diff-project-root
        (when-let ((project (project-current)))
          (project-root project))
        default-directory))))

(defun agent-q-diff-guard--remote (root)
  "Return the remote prefix of the name ROOT, or \"\"."
  (or (file-remote-p root) ""))

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
    (agent-q-diff-guard--no 'unwritable "The project root %s is no directory" root))
  (unless (agent-q-diff-guard--resolved-p root)
    (agent-q-diff-guard--no 'unwritable "The project root %s is not what it was" root)))

(defun agent-q-diff-guard--resolved-p (root)
  "Return non-nil if ROOT, an absolute directory name, is its own `file-truename'.
For a local ROOT without \"..\" or the like it is enough that no part is a
symbolic link, which takes a tenth of the time to find out."
  (if (and (string-prefix-p "/" root)
           (equal "" (agent-q-diff-guard--remote root))
           (not (string-match-p "/\\.\\{0,2\\}/" root)))
      (not (seq-some (lambda (directory)
                       (file-symlink-p (directory-file-name directory)))
                     (agent-q-diff-guard--ancestors root)))
    (equal (file-name-as-directory (file-truename root)) root)))

;;;; The path as a string

(defconst agent-q-diff-guard--max-path 4095
  "Maximum length of a path in bytes, without the NUL that PATH_MAX includes.
That is the limit of Linux.")

(defconst agent-q-diff-guard--max-name 255
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

(defun agent-q-diff-guard--ancestors (directory)
  "Return the name DIRECTORY and those of its parents, innermost first."
  (let (ancestors)
    (dotimes (i (length directory))
      (when (eq (aref directory i) ?/)
        (push (substring directory 0 (1+ i)) ancestors)))
    ancestors))

(defun agent-q-diff-guard--other-root (path root)
  "Return a prefix of PATH that is another name of the directory ROOT, or nil.
ROOT is resolved, while the agent may know it by a name that goes through
a symbolic link.  Only directories that the user works in are tried, never
one that only PATH names."
  (let ((remote (agent-q-diff-guard--remote root)))
    (seq-find (lambda (directory)
                (and (string-prefix-p directory path)
                     (string-prefix-p (concat remote "/") directory)
                     (equal (file-name-as-directory (file-truename directory)) root)))
              (mapcan (lambda (known)
                        (and (stringp known)
                             (agent-q-diff-guard--ancestors (concat known "/"))))
                      (list agent-q-diff-project-root default-directory)))))

(defun agent-q-diff-guard--below (path root)
  "Return PATH relative to ROOT, or refuse it if it is not below.
The value begins with \"./\" unless PATH itself was relative."
  (if (not (string-prefix-p "/" path))
      path
    (let ((start (if (string-prefix-p root path
                                      (and (equal (agent-q-diff-guard--remote root) "")
                                           (file-name-case-insensitive-p root)))
                     root
                   (agent-q-diff-guard--other-root path root))))
      (cond
       (start (concat "./" (substring path (length start))))
       ((equal (concat path "/") root) "./")
       (t (agent-q-diff-guard--no 'outside))))))

(defun agent-q-diff-guard--plainly-spelled-p (path)
  "Return non-nil if PATH has only common characters, so that no spelling matches.
Trying all spellings takes a good part of the time for a small edit."
  (not (or (string-empty-p path)
           (string-match-p "[^-_.+@=, a-zA-Z0-9/]" path)
           (string-search "//" path)
           (memq system-type '(windows-nt ms-dos cygwin)))))

(defun agent-q-diff-guard--check-spelling (path)
  "Refuse PATH, below the root, if its spelling is not allowed."
  (unless (agent-q-diff-guard--plainly-spelled-p path)
    (agent-q-diff-guard--check-spellings path)))

(defun agent-q-diff-guard--check-spellings (path)
  "Refuse PATH, below the root, if one of the spellings matches."
  (when-let ((flaw (agent-q-diff-visible-path-flaw path)))
    (agent-q-diff-guard--no 'unwritable "The path %s" flaw))
  (let ((case-fold-search nil)
        (path (agent-q-diff-protected-fold-case path)))
    (pcase-dolist (`(,regexp ,kind ,why)
                   (append agent-q-diff-guard--spellings
                           (and (memq system-type '(windows-nt ms-dos cygwin))
                                agent-q-diff-guard--windows-spellings)))
      (when (string-match-p regexp path)
        (agent-q-diff-guard--no kind why)))))

(defun agent-q-diff-guard--check-encoding (path)
  "Refuse PATH if the system cannot hold its characters or its length."
  (let ((coding (or file-name-coding-system default-file-name-coding-system
                    'utf-8-unix)))
    (unless (and (length< path agent-q-diff-guard--max-name)
                 (not (string-match-p "[^\x01-\x7f]" path))
                 (coding-system-get coding :ascii-compatible-p))
      (agent-q-diff-guard--check-encoded path coding))))

(defun agent-q-diff-guard--check-encoded (path coding)
  "Refuse PATH if it cannot be encoded in CODING, or is then too long."
  (let ((n-bytes (lambda (text) (length (encode-coding-string text coding)))))
    (when (unencodable-char-position 0 (length path) coding nil path)
      (agent-q-diff-guard--no
       'unwritable "A character of the path has no place in %s, the coding of names"
       coding))
    (when (or (> (funcall n-bytes path) agent-q-diff-guard--max-path)
              (seq-some (lambda (part)
                          (> (funcall n-bytes part) agent-q-diff-guard--max-name))
                        (split-string path "/")))
      (agent-q-diff-guard--no 'unwritable "The path is too long"))))

(defun agent-q-diff-guard--check-depth (parts)
  "Refuse PARTS of a path if, without regard to links, they lead above the root."
  (let ((depth 0))
    (dolist (part parts)
      (pcase part
        ((or "" "."))
        (".." (cl-decf depth))
        (_ (cl-incf depth)))
      (when (< depth 0)
        (agent-q-diff-guard--no 'outside)))))

(defun agent-q-diff-guard--parts (path root)
  "Return the parts of PATH below ROOT, or refuse PATH.
No file is accessed except ROOT."
  (unless (stringp path)
    (agent-q-diff-guard--no 'unwritable "The path must be a string"))
  (let ((below (agent-q-diff-guard--below
                (string-to-multibyte (substring-no-properties path)) root)))
    (agent-q-diff-guard--check-spelling below)
    (agent-q-diff-guard--check-encoding below)
    (let ((parts (split-string below "/")))
      (agent-q-diff-guard--check-depth parts)
      parts)))

;;;; Walking

(defconst agent-q-diff-guard--max-links 40
  "Maximum number of symbolic links in a path, the same as the kernel's.")

(cl-defstruct (agent-q-diff-guard--walk
               (:constructor agent-q-diff-guard--walk-create)
               (:copier nil))
  "The state of a walk along the parts of a path."
  root          ; the directory it began at, a resolved name
  remote        ; the remote prefix of ROOT, or ""
  rest          ; the parts that are still ahead
  (here nil)    ; the parts so far, innermost first, without any link
  (kind 'directory)             ; what is here: `directory', attributes or nil
  (n-missing 0) ; number of parts so far that do not exist
  (n-links 0)   ; number of links followed
  (link-end nil)) ; length of REST when the outermost link has been followed

(defun agent-q-diff-guard--name (walk)
  "Return the file name that WALK has reached."
  (concat (agent-q-diff-guard--walk-root walk)
          (string-join (reverse (agent-q-diff-guard--walk-here walk)) "/")))

(defun agent-q-diff-guard--in-link-p (walk)
  "Return non-nil if the last part of WALK came from the text of a link."
  (let ((end (agent-q-diff-guard--walk-link-end walk)))
    (and end (>= (length (agent-q-diff-guard--walk-rest walk)) end))))

(defun agent-q-diff-guard--up (walk)
  "Move WALK to the parent directory."
  (cond
   ((null (agent-q-diff-guard--walk-here walk))
    (agent-q-diff-guard--no 'outside))
   ((and (agent-q-diff-guard--walk-link-end walk)
         (not (agent-q-diff-guard--in-link-p walk)))
    ;; The kernel goes up from the target of the link, Emacs from the link.
    (agent-q-diff-guard--no 'unwritable "\"..\" follows a symbolic link")))
  (pop (agent-q-diff-guard--walk-here walk)))

(defun agent-q-diff-guard--follow (walk target)
  "Make WALK follow TARGET, the text of the symbolic link that it has reached."
  (let ((local-root (substring (agent-q-diff-guard--walk-root walk)
                               (length (agent-q-diff-guard--walk-remote walk)))))
    (pop (agent-q-diff-guard--walk-here walk))
    (when (> (cl-incf (agent-q-diff-guard--walk-n-links walk))
             agent-q-diff-guard--max-links)
      (agent-q-diff-guard--no 'unwritable "The path goes through too many links"))
    (when (string-prefix-p "/" target)
      (unless (string-prefix-p local-root (file-name-as-directory target))
        (agent-q-diff-guard--no 'outside))
      (setf (agent-q-diff-guard--walk-here walk) nil
            target (string-remove-prefix local-root (file-name-as-directory target))))
    (unless (agent-q-diff-guard--in-link-p walk)
      (setf (agent-q-diff-guard--walk-link-end walk)
            (length (agent-q-diff-guard--walk-rest walk))))
    (setf (agent-q-diff-guard--walk-rest walk)
          (append (split-string target "/" t) (agent-q-diff-guard--walk-rest walk)))))

(defun agent-q-diff-guard--spelling (directory name)
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

(defun agent-q-diff-guard--enter (walk part)
  "Move WALK to PART of the directory that it has reached."
  (push (agent-q-diff-guard--spelling (agent-q-diff-guard--name walk) part)
        (agent-q-diff-guard--walk-here walk))
  (let* ((attributes (and (agent-q-diff-guard--walk-kind walk)
                          (file-attributes (agent-q-diff-guard--name walk))))
         (type (file-attribute-type attributes)))
    (cond
     ((stringp type) (agent-q-diff-guard--follow walk type))
     ((and (null attributes) (agent-q-diff-guard--in-link-p walk))
      (agent-q-diff-guard--no 'unwritable "A symbolic link leads to nothing"))
     (t
      (unless attributes
        (cl-incf (agent-q-diff-guard--walk-n-missing walk)))
      (setf (agent-q-diff-guard--walk-kind walk)
            (if (eq type t) 'directory attributes))))))

(defun agent-q-diff-guard--step (walk)
  "Move WALK along the next part of its path."
  (let ((part (pop (agent-q-diff-guard--walk-rest walk)))
        (kind (agent-q-diff-guard--walk-kind walk)))
    (when (consp kind)
      (agent-q-diff-guard--no 'missing))
    (pcase part
      ((or "" ".") nil)
      ((and ".." (guard (null kind)))
       (agent-q-diff-guard--no 'missing))
      (".." (agent-q-diff-guard--up walk))
      (_ (agent-q-diff-guard--enter walk part)))))

(defun agent-q-diff-guard--walk-to-end (parts root)
  "Return a walk from ROOT along all PARTS."
  (let ((walk (agent-q-diff-guard--walk-create
               :root root :remote (agent-q-diff-guard--remote root) :rest parts)))
    (while (agent-q-diff-guard--walk-rest walk)
      (agent-q-diff-guard--step walk))
    walk))

;;;; The kind of file

(defun agent-q-diff-guard--check-kind (walk)
  "Refuse the end of WALK unless it is, or could become, a plain file."
  (pcase (agent-q-diff-guard--walk-kind walk)
    ('nil
     (when (and (> (agent-q-diff-guard--walk-n-missing walk) 1)
                (not agent-q-diff-create-directories))
       (agent-q-diff-guard--no 'missing)))
    ('directory (agent-q-diff-guard--no 'unwritable "The path names a directory"))
    (attributes
     (unless (string-prefix-p "-" (file-attribute-modes attributes))
       (agent-q-diff-guard--no 'unwritable "It is not a regular file"))
     (when (and (> (file-attribute-link-number attributes) 1)
                (not agent-q-diff-guard-hard-links))
       (agent-q-diff-guard--no 'unwritable "The file has other names, hard links")))))

(defun agent-q-diff-guard--archive-p (local)
  "Return non-nil if Emacs would show the file LOCAL as an archive.
The few patterns for archives are tried before the hundreds of others."
  (let ((is-archive (lambda (mode) (memq mode '(archive-mode tar-mode)))))
    (and (seq-some (pcase-lambda (`(,regexp . ,mode))
                     (and (funcall is-archive mode) (string-match-p regexp local)))
                   auto-mode-alist)
         (funcall is-archive (assoc-default local auto-mode-alist #'string-match)))))

(defun agent-q-diff-guard--check-contents (local)
  "Refuse LOCAL, a local file name, unless that of a plain text file.
Only the name is checked."
  (let ((plain (replace-regexp-in-string
                "\\(?:~\\|\\.~[^/]*~\\)+\\'" ""
                (agent-q-diff-protected-fold-case local)))
        (case-fold-search t))
    (when (or (seq-some (lambda (operation)
                          (find-file-name-handler local operation))
                        '(insert-file-contents write-region))
              (seq-some (lambda (regexp) (string-match-p regexp plain))
                        agent-q-diff-guard-opaque-names)
              (agent-q-diff-guard--archive-p plain))
      (agent-q-diff-guard--no
       'unwritable "The file is an archive, or compressed or encrypted"))
    (when (string-match-p "\\`/\\(?:proc\\|sys\\|dev\\)/" local)
      (agent-q-diff-guard--no 'unwritable "The file belongs to the system"))))

;;;; Protected files

(defun agent-q-diff-guard--git-directory-p (directory)
  "Return non-nil if git would take DIRECTORY for a git directory."
  (let ((there-p (lambda (name) (file-exists-p (expand-file-name name directory)))))
    (and (funcall there-p "HEAD")
         (or (funcall there-p "commondir")
             (and (funcall there-p "objects") (funcall there-p "refs"))))))

(defun agent-q-diff-guard--in-git-directory-p (name root)
  "Return non-nil if NAME, below ROOT, is inside a git directory.
If ROOT is no project's, a working tree inside a git directory is allowed:
some users keep working trees in a bare repository."
  (let ((directories (agent-q-diff-guard--directories name root)))
    (when (agent-q-diff-guard-outermost-p root)
      (setq directories (seq-take-while
                         (lambda (directory)
                           (not (file-exists-p (expand-file-name ".git" directory))))
                         directories)))
    (seq-some #'agent-q-diff-guard--git-directory-p directories)))

(defun agent-q-diff-guard--directories (name root)
  "Return the existing directories from that of NAME up to ROOT."
  (let ((directory (file-name-directory name))
        directories)
    (while (string-prefix-p root directory)
      (when (file-directory-p directory)
        (push directory directories))
      (setq directory (if (equal directory root)
                          ""
                        (file-name-directory (directory-file-name directory)))))
    (nreverse directories)))

(defun agent-q-diff-guard--links (directory)
  "Return the names of the symbolic links in DIRECTORY."
  (if (file-remote-p directory)
      ;; A single round trip for all of them.
      (mapcar #'car (seq-filter (lambda (entry)
                                  (stringp (file-attribute-type (cdr entry))))
                                (directory-files-and-attributes directory nil nil t)))
    (seq-filter (lambda (name) (file-symlink-p (concat directory name)))
                (directory-files directory nil nil t))))

(defun agent-q-diff-guard--called (link name root)
  "Return the name of NAME through LINK, or nil if LINK does not lead there.
Both are below ROOT.  The value is a list of parts below ROOT."
  (let* ((parts (split-string (substring link (length root)) "/" t))
         (target (catch 'agent-q-diff-guard
                   (ignore-errors
                     (agent-q-diff-guard--name
                      (agent-q-diff-guard--walk-to-end parts root))))))
    (cond
     ((not (stringp target)) nil)
     ((equal target name) parts)
     ((string-prefix-p (concat target "/") name)
      (append parts (split-string (substring name (length target)) "/" t))))))

(defun agent-q-diff-guard-outermost-p (root)
  "Return non-nil if ROOT is the root of a file system, not of a project."
  (equal root (file-name-directory (directory-file-name root))))

(defun agent-q-diff-guard--names (name root path)
  "Return all names of the file NAME, each a list of parts below ROOT.
They are NAME itself, PATH unless it is nil, and every name through a
symbolic link in the directory of NAME or above: .envrc may be a link to a
file with a harmless name.  Links elsewhere are not considered.  If ROOT is
no project's, no links are, since the directories there may be unreadable
and their links lead anywhere."
  (let ((below (and path (catch 'agent-q-diff-guard
                           (agent-q-diff-guard--below path root)))))
    (seq-uniq
     (append
      (list (split-string (substring name (length root)) "/" t))
      (and (stringp below) (list (split-string below "/" t)))
      (delq nil
            (cl-loop for directory in (unless (agent-q-diff-guard-outermost-p root)
                                        (agent-q-diff-guard--directories name root))
                     nconc (mapcar (lambda (link)
                                     (agent-q-diff-guard--called
                                      (concat directory link) name root))
                                   (agent-q-diff-guard--links directory))))))))

(defun agent-q-diff-guard-protection (name root &optional path)
  "Return how NAME, a resolved file name below ROOT, is protected.
PATH is the agent's name for it, or nil: a link can have a protected name
although its target has none.

The value is nil; (`denied' . REASON) if no agent may ever edit the file;
or (`asked' . REASON) if the user is asked each time, whatever was
granted.  REASON is a clause for the user and the agent."
  (let* ((file-name-handler-alist (agent-q-diff-guard--handlers root))
         (kinds (delq nil (mapcar #'agent-q-diff-protected-kind
                                  (agent-q-diff-guard--names name root path)))))
    (cond
     ((assq 'denied kinds))
     ((agent-q-diff-guard--in-git-directory-p name root)
      '(denied . "it is inside a directory of git's own"))
     (t (car kinds)))))

;;;; The answer

(defun agent-q-diff-guard--find (path root)
  "Return the resolved name of PATH below ROOT, or refuse it."
  (agent-q-diff-guard--check-root root)
  (let* ((parts (agent-q-diff-guard--parts path root))
         (walk (agent-q-diff-guard--walk-to-end parts root))
         (name (agent-q-diff-guard--name walk)))
    (when (member (car (last parts)) '("" "." ".."))
      (agent-q-diff-guard--no 'unwritable "The path names a directory"))
    ;; A link can lead to a name that a path must not have.
    (agent-q-diff-guard--check-spelling
     (concat "./" (substring name (length root))))
    (agent-q-diff-guard--check-kind walk)
    (pcase (agent-q-diff-guard-protection name root path)
      (`(denied . ,reason) (agent-q-diff-guard--no 'unwritable "Not for agents: %s" reason)))
    name))

(defun agent-q-diff-guard-check (path root)
  "Return the absolute, resolved name of the file PATH, named by an agent.
PATH is relative to ROOT, the value of `agent-q-diff-guard-root', or
begins with it.  The file need not exist.  Unless it is a plain file
inside ROOT, or could become one, signal `agent-q-diff-forbidden' with the
message for the agent."
  (agent-q-diff-guard--answer path
    (let ((name (let ((file-name-handler-alist (agent-q-diff-guard--handlers root)))
                  (agent-q-diff-guard--find path root))))
      ;; Now with the user's file name handlers.
      (agent-q-diff-guard--check-contents
       (substring name (length (agent-q-diff-guard--remote root))))
      name)))

(defun agent-q-diff-guard-recheck (name root)
  "Return NAME, which `agent-q-diff-guard-check' returned for ROOT.
Call this just before NAME is written.  If NAME now leads elsewhere, signal
`agent-q-diff-forbidden': a directory on the way may have been replaced by
a link meanwhile."
  (let* ((remote-file-name-inhibit-cache t)
         (now (agent-q-diff-guard-check name root)))
    (agent-q-diff-guard--answer name
      (unless (equal now name)
        (agent-q-diff-guard--no 'unwritable "The path leads elsewhere now"))
      name)))

(provide 'agent-q-diff-guard)
;;; agent-q-diff-guard.el ends here
