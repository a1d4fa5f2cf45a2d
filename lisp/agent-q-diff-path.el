;;; agent-q-diff-path.el --- An agent's path, checked as a string  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Emacs interprets file names before it touches a file: expanding
;; "/ssh:host:x" may open a connection, and even a file test on
;; "/net/host/x" may mount something.  So a path is first checked as a
;; string, and refused if it does not begin with the root.
;;
;; A refusal is thrown; `agent-q-diff-path-answering' turns it into an error
;; with the message for the agent.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-protected)

;;;; Refusing

(defconst agent-q-diff-path--messages
  '((outside . "Error: Path '%s' is outside project root")
    (missing . "Error: File '%s' not found")
    (unwritable . "Error: Cannot write to file"))
  "What the agent reads, by kind of refusal.
Agents are prompted with these words, so they must not change.")

(defun agent-q-diff-path-refuse (kind &optional format &rest arguments)
  "Refuse the path, for KIND, a key of `agent-q-diff-path--messages'.
FORMAT and ARGUMENTS make a sentence with the reason, if there is more to
say than KIND does."
  (throw 'agent-q-diff-path-refusal (cons kind (and format (apply #'format format arguments)))))

(defconst agent-q-diff-path--max-shown 200
  "Number of characters of a path that a message shows.")

(defun agent-q-diff-path--message (path refusal)
  "Return the message to the agent about PATH and REFUSAL, (KIND . WHY)."
  (pcase-let ((`(,kind . ,why) refusal))
    (concat (format (alist-get kind agent-q-diff-path--messages)
                    (if (stringp path)
                        (agent-q-diff-visible path agent-q-diff-path--max-shown)
                      path))
            (and why (concat "\n\n" why ".")))))

(defmacro agent-q-diff-path-answering (path &rest body)
  "Return the value of BODY, or signal its refusal of PATH.
An error in BODY is a refusal as well: if in doubt, no path passes."
  (declare (indent 1) (debug t))
  `(pcase (catch 'agent-q-diff-path-refusal
            (condition-case err
                (list 'value (progn ,@body))
              (error (cons 'unwritable (error-message-string err)))))
     (`(value ,value) value)
     (refusal (signal 'agent-q-diff-forbidden
                      (list (agent-q-diff-path--message ,path refusal))))))

;;;; Below the root

(defun agent-q-diff-path-remote (root)
  "Return the remote prefix of the name ROOT, or \"\"."
  (or (file-remote-p root) ""))

(defun agent-q-diff-path-ancestors (name &optional root)
  "Return the names of the directories above the file NAME, innermost first.
If NAME is that of a directory, it is the first of them.  The last is ROOT,
which defaults to the root of the file system."
  (let ((end (if root (1- (length root)) 0))
        ancestors)
    (while (setq end (string-search "/" name end))
      (setq end (1+ end))
      (push (substring name 0 end) ancestors))
    ancestors))

(defun agent-q-diff-path--other-root (path root)
  "Return a prefix of PATH that is another name of the directory ROOT, or nil.
ROOT is resolved, while the agent may know it by a name that goes through
a symbolic link.  Only directories that the user works in are tried, never
one that only PATH names."
  (let ((remote (agent-q-diff-path-remote root)))
    (seq-find (lambda (directory)
                (and (string-prefix-p directory path)
                     (string-prefix-p (concat remote "/") directory)
                     (equal (file-name-as-directory (file-truename directory)) root)))
              (mapcan (lambda (known)
                        (and (stringp known)
                             (agent-q-diff-path-ancestors (concat known "/"))))
                      (list agent-q-diff-project-root default-directory)))))

(defun agent-q-diff-path-below (path root)
  "Return PATH relative to ROOT, or refuse it if it is not below.
The value begins with \"./\" unless PATH itself was relative."
  (if (not (string-prefix-p "/" path))
      path
    (let ((start (if (string-prefix-p root path
                                      (and (equal (agent-q-diff-path-remote root) "")
                                           (file-name-case-insensitive-p root)))
                     root
                   (agent-q-diff-path--other-root path root))))
      (cond
       (start (concat "./" (substring path (length start))))
       ((equal (concat path "/") root) "./")
       (t (agent-q-diff-path-refuse 'outside))))))

;;;; Spelling

(defconst agent-q-diff-path--max-length 4095
  "Maximum length of a path in bytes, without the NUL that PATH_MAX includes.
That is the limit of Linux.")

(defconst agent-q-diff-path--max-part 255
  "Maximum length of a part of a path in bytes.
That is NAME_MAX of Linux and of most file systems.")

(defconst agent-q-diff-path--spellings
  '(("\\`~" outside)
    ("\\`[a-zA-Z]:" outside)
    ("//" unwritable "Two slashes in a row begin a new absolute name in Emacs"))
  "Paths that are refused for their spelling: (REGEXP KIND WHY).
The first match counts.  Spellings that mislead are refused for every tool,
by `agent-q-diff-visible-path-flaw'.")

(defconst agent-q-diff-path--windows-spellings
  '((":" unwritable "A colon in a name means a stream of a file, or a drive")
    ("[. ]\\(?:/\\|\\'\\)" unwritable "Windows drops dots and spaces at the end of a name")
    ("~[0-9]+\\(?:[./]\\|\\'\\)" unwritable "This can be the short form of another name")
    ("\\(?:\\`\\|/\\)\\(?:con\\|prn\\|aux\\|nul\\|conin\\$\\|conout\\$\\|com[0-9¹²³]\\|lpt[0-9¹²³]\\) *\\(?:[./]\\|\\'\\)"
     unwritable "The name is that of a device"))
  "Like `agent-q-diff-path--spellings', for Emacs on Windows.")

(defun agent-q-diff-path--plain-p (path)
  "Return non-nil if PATH has only common characters, so that no spelling matches.
Trying all spellings takes a good part of the time for a small edit."
  (not (or (string-empty-p path)
           (string-match-p "[^-_.+@=, a-zA-Z0-9/]" path)
           (string-search "//" path)
           (memq system-type '(windows-nt ms-dos cygwin)))))

(defun agent-q-diff-path-check-spelling (path)
  "Refuse PATH, below the root, if its spelling is not allowed."
  (unless (agent-q-diff-path--plain-p path)
    (agent-q-diff-path--check-spellings path)))

(defun agent-q-diff-path--check-spellings (path)
  "Refuse PATH, below the root, if one of the spellings matches."
  (when-let ((flaw (agent-q-diff-visible-path-flaw path)))
    (agent-q-diff-path-refuse 'unwritable "The path %s" flaw))
  (let ((case-fold-search nil)
        (path (agent-q-diff-protected-fold-case path)))
    (pcase-dolist (`(,regexp ,kind ,why)
                   (append agent-q-diff-path--spellings
                           (and (memq system-type '(windows-nt ms-dos cygwin))
                                agent-q-diff-path--windows-spellings)))
      (when (string-match-p regexp path)
        (agent-q-diff-path-refuse kind why)))))

(defun agent-q-diff-path--check-encoding (path)
  "Refuse PATH if the system cannot hold its characters or its length."
  (let ((coding (or file-name-coding-system default-file-name-coding-system
                    'utf-8-unix)))
    (unless (and (length< path agent-q-diff-path--max-part)
                 (not (string-match-p "[^\x01-\x7f]" path))
                 (coding-system-get coding :ascii-compatible-p))
      (agent-q-diff-path--check-encoded path coding))))

(defun agent-q-diff-path--check-encoded (path coding)
  "Refuse PATH if it cannot be encoded in CODING, or is then too long."
  (let ((n-bytes (lambda (text) (length (encode-coding-string text coding)))))
    (when (unencodable-char-position 0 (length path) coding nil path)
      (agent-q-diff-path-refuse
       'unwritable "A character of the path has no place in %s, the coding of names"
       coding))
    (when (or (> (funcall n-bytes path) agent-q-diff-path--max-length)
              (seq-some (lambda (part)
                          (> (funcall n-bytes part) agent-q-diff-path--max-part))
                        (split-string path "/")))
      (agent-q-diff-path-refuse 'unwritable "The path is too long"))))

;;;; Parts

(defun agent-q-diff-path--check-depth (parts)
  "Refuse PARTS of a path if, without regard to links, they lead above the root."
  (let ((depth 0))
    (dolist (part parts)
      (pcase part
        ((or "" "."))
        (".." (cl-decf depth))
        (_ (cl-incf depth)))
      (when (< depth 0)
        (agent-q-diff-path-refuse 'outside)))))

(defun agent-q-diff-path-parts (path root)
  "Return the parts of PATH below ROOT, or refuse PATH.
No file is accessed except ROOT."
  (unless (stringp path)
    (agent-q-diff-path-refuse 'unwritable "The path must be a string"))
  (let ((below (agent-q-diff-path-below
                (string-to-multibyte (substring-no-properties path)) root)))
    (agent-q-diff-path-check-spelling below)
    (agent-q-diff-path--check-encoding below)
    (let ((parts (split-string below "/")))
      (agent-q-diff-path--check-depth parts)
      parts)))

(provide 'agent-q-diff-path)
;;; agent-q-diff-path.el ends here
