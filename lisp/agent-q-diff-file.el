;;; agent-q-diff-file.el --- Files: read safely, written whole or not at all  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The only file of the package that reads a file's bytes or replaces a
;; file.  It knows no buffers and has no user interface.
;;
;; The new text is written to a draft, a temporary file in the same directory,
;; which is then renamed to the file's name.  So a full disk, an error, a C-g
;; or a crash leaves either the old file or the new one, never a part of one.
;; Where a rename would lose something (other names of the file, its owner)
;; or is not allowed (a directory that cannot be written, a mounted file),
;; the file is written in place, after a copy of its old content was put
;; into `agent-q-diff-file--state-directory'.  The draft may be there, too.
;;
;; The next Emacs that uses the package cleans up after a crash: it removes
;; temporary files, and names a file that may be incomplete together with
;; the copy of its old content.

;;; Code:

(require 'agent-q-diff-base)

(defun agent-q-diff-file-refuse (format &rest arguments)
  "Signal `agent-q-diff-bad-target' with a message made of FORMAT and ARGUMENTS.
File names in the message come from an agent, and the user reads it, so
misleading characters in it are made visible."
  (signal 'agent-q-diff-bad-target
          (list (agent-q-diff-visible (apply #'format format arguments)))))

;;;; Names

(defun agent-q-diff-file-named (name directory)
  "Return the absolute name of the file NAME in DIRECTORY, an absolute name.
NAME is from git, a diff, a patch, or a record: it says what the file is called,
so nothing in it is expanded.  \"~\", \"$HOME\" and \"ssh:host:\" are folders
there.  What users type, and the arguments of tools, is expanded instead; see
`agent-q-diff-visit-name'.  If NAME is absolute, it is returned as it is."
  (if (agent-q-diff-file--absolute-p name)
      name
    (let ((path (concat (file-name-as-directory directory) name)))
      ;; In the root of the file system, Emacs could take it for another.
      (when (and (equal directory "/") (not (agent-q-diff-visible--local-p path)))
        (agent-q-diff-file-refuse
         "%s is a name that Emacs reads in another way; rename the file" path))
      path)))

(defun agent-q-diff-file--absolute-p (name)
  "Return non-nil if NAME is absolute without being expanded."
  (and (file-name-absolute-p name)
       (not (string-prefix-p "~" name))))

;;;; Files that change as the user decided

(defvar agent-q-diff-file-is-watched nil
  "Non-nil while a file changes that is watched, or whose change nobody has seen.")

;;;; Reading

(defmacro agent-q-diff-file-uncached (&rest body)
  "Run BODY so that it sees the current state of files on other hosts.
TRAMP otherwise answers from a cache for a while, although another program
there may have written, removed or replaced a file meanwhile."
  (declare (indent 0) (debug t))
  ;; With a time as its value, TRAMP uses what it has learned since then.
  ;; With t, a key would take twice as many round trips.
  `(let ((remote-file-name-inhibit-cache (time-convert nil t)))
     ,@body))

(defmacro agent-q-diff-file-truename (name)
  "Return `file-truename' of NAME, or NAME if its links lead in a circle."
  (declare (debug t))
  ;; Emacs has no name for this error.
  `(condition-case nil
       (file-truename ,name)
     (error (expand-file-name ,name))))

(defun agent-q-diff-file-git-mode (name)
  "Return the mode of the file NAME as git writes it, or that of a new file."
  (if (zerop (logand #o100 (or (file-modes name) 0)))
      #o100644
    #o100755))

(defun agent-q-diff-file-regular-p (name)
  "Return non-nil if NAME is a regular file or a link to one, on any host."
  ;; In Emacs 28, TRAMP does not follow links for `file-regular-p'.
  (file-regular-p (if (file-remote-p name) (file-truename name) name)))

(defun agent-q-diff-file-check-regular (name)
  "Refuse the file NAME if it exists and is not a regular file.
Links are followed.  Opening a FIFO, or a device, could hang Emacs, so call
this each time before a file is opened."
  (agent-q-diff-file-uncached
    (unless (or (agent-q-diff-file-regular-p name) (not (file-exists-p name)))
      (agent-q-diff-file-refuse
       (if (file-directory-p name) "%s is a directory" "%s is not a regular file")
       name))))

(defun agent-q-diff-file-bytes (name)
  "Return the bytes of the regular file NAME as a unibyte string."
  (agent-q-diff-file-check-regular name)
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally name)
    (buffer-string)))

(defun agent-q-diff-file-has-bytes-p (name bytes)
  "Return non-nil if the regular file NAME has just BYTES, a unibyte string."
  (agent-q-diff-file-check-regular name)
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally name)
    (and (= (buffer-size) (length bytes))
         (equal bytes (buffer-string)))))

;;;; Cleaning up after a crash

(defvar agent-q-diff-file--state-directory (locate-user-emacs-file "agent-q-diff/")
  "Directory for records of temporary files.
It also holds copies of files that are being written in place.")

(defvar agent-q-diff-file--noted nil
  "The entries in the record of this Emacs; see `agent-q-diff-file--note'.")

(defvar agent-q-diff-file--has-cleaned-up nil
  "Non-nil if this Emacs has cleaned up after others that crashed.")

(defun agent-q-diff-file--record (&optional pid)
  "Return the name of the record of an Emacs.
PID is its process id; nil means this Emacs."
  (expand-file-name (format "writing-%s-%d" (system-name) (or pid (emacs-pid)))
                    agent-q-diff-file--state-directory))

(defun agent-q-diff-file--note (entry)
  "Add ENTRY to the record of this Emacs.
ENTRY is (\"beside\" DIRECTORY) before a temporary file is made in
DIRECTORY, or (\"copy\" COPY NAME) once COPY has the old content of NAME."
  (agent-q-diff-file-clean-up)
  (unless (member entry agent-q-diff-file--noted)
    (let ((coding-system-for-write 'utf-8-emacs-unix)
          (print-length nil)
          (print-level nil)
          (write-region-inhibit-fsync t)
          (create-lockfiles nil))
      ;; Without a record, a crash leaves a hidden file behind.  That is no
      ;; reason to refuse writing.
      (ignore-errors
        (with-file-modes #o700
          (make-directory agent-q-diff-file--state-directory t))
        (with-file-modes #o600
          (write-region (concat (prin1-to-string entry) "\n") nil
                        (agent-q-diff-file--record) t 'silent))
        (push entry agent-q-diff-file--noted)
        (add-hook 'kill-emacs-hook #'agent-q-diff-file-forget-record)))))

(defun agent-q-diff-file-forget-record ()
  "Remove the record of this Emacs."
  (remove-hook 'kill-emacs-hook #'agent-q-diff-file-forget-record)
  (setq agent-q-diff-file--noted nil)
  (ignore-errors (delete-file (agent-q-diff-file--record))))

(defun agent-q-diff-file--pids ()
  "Return the process ids of the records on this machine."
  (let ((regexp (concat "\\`writing-" (regexp-quote (system-name)) "-\\([0-9]+\\)\\'")))
    (when (file-directory-p agent-q-diff-file--state-directory)
      (mapcar (lambda (name)
                (string-match regexp name)
                (string-to-number (match-string 1 name)))
              (directory-files agent-q-diff-file--state-directory nil regexp t)))))

(defun agent-q-diff-file--ended-p (pid)
  "Return non-nil if the process PID has ended.
Its parent need not have noticed: in a container, some never do."
  (let ((attributes (process-attributes pid)))
    (or (null attributes)
        (equal "Z" (alist-get 'state attributes)))))

(defun agent-q-diff-file--pids-of-the-dead ()
  "Return the process ids of records whose Emacs has ended.
As long as this Emacs has noted nothing, a record with its process id
belongs to an earlier Emacs."
  ;; It is nil where Emacs cannot list processes.
  (when (list-system-processes)
    (seq-filter (lambda (pid)
                  (if (= pid (emacs-pid))
                      (null agent-q-diff-file--noted)
                    (agent-q-diff-file--ended-p pid)))
                (agent-q-diff-file--pids))))

(defun agent-q-diff-file-clean-up ()
  "Clean up after Emacs processes that crashed, once in each Emacs.
Their temporary files are removed.  If one was writing a file in place, a
warning names that file, which may be incomplete, and the copy of its old
content."
  (unless agent-q-diff-file--has-cleaned-up
    (setq agent-q-diff-file--has-cleaned-up t)
    (with-demoted-errors "agent-q-diff: %S"
      (dolist (pid (agent-q-diff-file--pids-of-the-dead))
        (agent-q-diff-file--clean-up-after pid)))))

(defun agent-q-diff-file--clean-up-after (pid)
  "Clean up after the Emacs with process id PID."
  (let* ((record (agent-q-diff-file--record pid))
         (entries (agent-q-diff-file--entries record))
         (copies (delq nil (mapcar (pcase-lambda (`(,kind ,copy ,_))
                                     (and (equal kind "copy") copy))
                                   entries))))
    (dolist (entry entries)
      (pcase entry
        (`("beside" ,directory)
         (agent-q-diff-file--remove directory (agent-q-diff-file--temporary-prefix pid)))
        (`("copy" ,copy ,name)
         (agent-q-diff-file--offer copy name))))
    ;; A copy that is not in the record is incomplete, and its file was not
    ;; yet written.
    (agent-q-diff-file--remove agent-q-diff-file--state-directory
                               (agent-q-diff-file--copy-prefix pid)
                               copies)
    (delete-file record)))

(defun agent-q-diff-file--entries (record)
  "Return the entries of the file RECORD, up to the first incomplete one."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8-emacs-unix)
          entries)
      (when (file-regular-p record)
        (insert-file-contents record))
      (ignore-error (end-of-file invalid-read-syntax)
        (while t
          (push (read (current-buffer)) entries)))
      (nreverse entries))))

(defun agent-q-diff-file--temporary-prefix (pid)
  "Return the prefix of the names of an Emacs's temporary files.
PID is its process id."
  (format ".agent-q-diff-%d-" pid))

(defun agent-q-diff-file--remove (directory prefix &optional kept)
  "Remove the files in DIRECTORY whose names begin with PREFIX.
KEPT is a list of absolute names of files that stay."
  (when (and (not (file-remote-p directory)) (file-directory-p directory))
    (dolist (name (directory-files (expand-file-name directory) t
                                   (concat "\\`" (regexp-quote prefix)) t))
      (unless (member name kept)
        (ignore-errors (delete-file name))))))

(defun agent-q-diff-file--offer (copy name)
  "Warn that the file NAME may be incomplete, and that COPY has its old content.
If the two are equal, remove COPY instead."
  (when (file-regular-p copy)
    (if (and (file-regular-p name)
             (agent-q-diff-file-has-bytes-p name (agent-q-diff-file-bytes copy)))
        (delete-file copy)
      (agent-q-diff-base-warn
       (format "Emacs ended while it wrote %s, which may be incomplete.
What it held before is in %s"
               name copy)))))

;;;; Writing

(defun agent-q-diff-file-put (text coding name &optional must-be-new)
  "Write TEXT, or the current buffer if it is nil, to the file NAME in CODING.
NAME is a file that nobody else knows, so no lock file is made for it; see
`agent-q-diff-file-replace'.  If NAME exists and MUST-BE-NEW is `excl',
signal `file-already-exists'."
  (let ((create-lockfiles nil))
    (agent-q-diff-file--overwrite text coding name must-be-new)))

(defun agent-q-diff-file--overwrite (text coding name &optional must-be-new lock)
  "Do what `agent-q-diff-file-put' does with its arguments, but lock NAME.
TEXT, CODING, NAME and MUST-BE-NEW are that function's.  If LOCK is not nil,
it is the name that is locked instead."
  (let ((coding-system-for-write coding)
        (write-region-annotate-functions nil)
        (write-region-post-annotation-function nil))
    (write-region text nil name nil 'silent lock must-be-new)))

(defun agent-q-diff-file--owned-as-p (name attributes)
  "Return non-nil if the file NAME has the owner and the group of ATTRIBUTES.
These are from `file-attributes' with `integer'."
  (let ((others (file-attributes name 'integer)))
    (and (eql (file-attribute-user-id attributes) (file-attribute-user-id others))
         (eql (file-attribute-group-id attributes) (file-attribute-group-id others)))))

(defun agent-q-diff-file--make-temporary (name)
  "Return a new empty file in the directory of NAME, for the user alone."
  (let ((directory (file-name-directory name))
        ;; On another host, this would take nine round trips.
        (create-lockfiles nil))
    (unless (file-remote-p directory)
      (agent-q-diff-file--note (list "beside" directory)))
    (make-temp-file (expand-file-name
                     (agent-q-diff-file--temporary-prefix (emacs-pid)) directory))))

(defun agent-q-diff-file--make-new-temporary (name)
  "Return a new empty file in the directory of NAME, which is to be created.
It has the mode and the access rules that a new file gets there."
  ;; `make-temp-file' makes files that only the user can read, so let
  ;; `write-region' create it again.
  (let ((temporary (agent-q-diff-file--make-temporary name)))
    (delete-file temporary)
    (agent-q-diff-file-put "" 'no-conversion temporary 'excl)
    temporary))

(defun agent-q-diff-file--give-owner (temporary name attributes)
  "Give TEMPORARY the owner and access rules of NAME; return non-nil on success.
ATTRIBUTES are those of NAME.  Only the superuser can change the owner, by
making a copy."
  (and (or (agent-q-diff-file--owned-as-p temporary attributes)
           (progn
             (copy-file name temporary t nil t t)
             (agent-q-diff-file--owned-as-p temporary attributes)))
       (let ((rules (file-extended-attributes name)))
         (when (seq-some #'cdr rules)
           (set-file-extended-attributes temporary rules))
         t)))

(defvar agent-q-diff-file-only-name nil
  "Non-nil if other names of a file that is replaced keep what they have.
Otherwise a file with several names, hard links, is written in place.")

(defun agent-q-diff-file--temporary (name)
  "Return a new file that may replace NAME by a rename, or nil if none may.
If the file has several names, the others would keep the old text; see
`agent-q-diff-file-only-name'."
  (let ((attributes (file-attributes name 'integer)))
    (when (and (file-writable-p (file-name-directory name))
               (or agent-q-diff-file-only-name
                   (eql 1 (file-attribute-link-number attributes))))
      (let ((temporary (agent-q-diff-file--make-temporary name))
            (is-fit nil))
        (unwind-protect
            (and (setq is-fit (agent-q-diff-file--give-owner temporary name attributes))
                 temporary)
          (unless is-fit
            (delete-file temporary)))))))

(defun agent-q-diff-file--make-elsewhere ()
  "Return a new empty file in the state directory, for the user alone."
  (with-file-modes #o700
    (make-directory agent-q-diff-file--state-directory t))
  (agent-q-diff-file--make-temporary
   (file-name-as-directory agent-q-diff-file--state-directory)))

(defconst agent-q-diff-file--no-rename
  "busy\\|not permitted\\|denied"
  "Regexp for the system's error messages if it refuses to rename onto a file.
A full disk is not among them: writing in place needs space as well.")

(defun agent-q-diff-file--rename (temporary name is-new)
  "Rename TEMPORARY to NAME; return nil if NAME cannot be replaced at all.
This happens at a mount point, say a file that is mounted into a container.
If IS-NEW is non-nil, and somebody else has created NAME meanwhile, leave
that file alone and signal an error."
  (condition-case err
      ;; Error messages in English, whatever the user's language.
      (let ((system-messages-locale "C"))
        (rename-file temporary name (not is-new))
        t)
    ((file-error quit)
     (cond
      ((agent-q-diff-file--renamed-p temporary name))
      ((or is-new
           (not (string-match-p agent-q-diff-file--no-rename
                                ;; The system's message without file names.
                                (format "%s" (nth 2 err)))))
       (signal (car err) (cdr err)))))))

(defun agent-q-diff-file--renamed-p (temporary name)
  "Return non-nil if TEMPORARY was renamed to NAME although that signaled.
TRAMP quits whatever `inhibit-quit' says, and loses its connection, while it
waits for the other host."
  (and (file-remote-p name)
       (ignore-errors
         (and (not (file-exists-p temporary))
              (file-exists-p name)))))

(defun agent-q-diff-file--copy-prefix (pid)
  "Return the prefix of the names of an Emacs's copies.
PID is its process id."
  (format "rescued-%d-" pid))

(defun agent-q-diff-file--save-copy (name bytes)
  "Write BYTES, the content of the file NAME, to a new copy; return its name.
The copy is recorded once it is complete."
  (with-file-modes #o700
    (make-directory agent-q-diff-file--state-directory t))
  (let ((copy (make-temp-file
               (expand-file-name (agent-q-diff-file--copy-prefix (emacs-pid))
                                 agent-q-diff-file--state-directory))))
    (condition-case err
        (agent-q-diff-file-put bytes 'no-conversion copy)
      ((error quit)
       (delete-file copy)
       (signal (car err) (cdr err))))
    (agent-q-diff-file--note (list "copy" copy name))
    copy))

(defun agent-q-diff-file--put-back (name bytes copy)
  "Write BYTES, which COPY also has, to the file NAME again."
  (condition-case err
      ;; What was written of the new text has changed the file's time.  Emacs
      ;; would ask whether to write over that if it were to lock NAME.
      (agent-q-diff-file--overwrite bytes 'no-conversion name nil copy)
    (error
     ;; The new text may have failed before anything was written.
     (unless (ignore-errors (agent-q-diff-file-has-bytes-p name bytes))
       (agent-q-diff-file-refuse
        "%s is damaged, since writing it failed (%s); what it held is in %s"
        name (error-message-string err) copy))))
  (delete-file copy))

;;;; A draft

(defvar agent-q-diff-file--modes-of-deleted (make-hash-table :test #'equal)
  "Table from names of files that were deleted to the permissions that they had.")

(cl-defstruct (agent-q-diff-file--draft (:constructor agent-q-diff-file--make-draft)
                                        (:copier nil))
  "A file that is being written, and is then to replace another."
  (name nil :documentation "Absolute name of the file that is to be replaced.")
  (file nil :documentation "Name of the file to write, or nil once it was renamed.")
  (modes nil :documentation "The modes of NAME, or nil if it is to be created.")
  (old nil :documentation "The bytes of NAME if it is written in place, or nil.")
  (copy nil :documentation "Name of a file with OLD, or nil."))

(defun agent-q-diff-file--begin (draft)
  "Make the file of DRAFT, which has only its name."
  (let* ((name (agent-q-diff-file--draft-name draft))
         (is-new (not (file-exists-p name))))
    (agent-q-diff-file-check-regular name)
    (unless is-new
      (setf (agent-q-diff-file--draft-modes draft) (file-modes name)))
    (let ((inhibit-quit t))
      (setf (agent-q-diff-file--draft-file draft)
            (if is-new
                (agent-q-diff-file--make-new-temporary name)
              (agent-q-diff-file--temporary name)))
      (when-let ((modes (and is-new (gethash name agent-q-diff-file--modes-of-deleted))))
        (set-file-modes (agent-q-diff-file--draft-file draft) modes)))
    (unless (agent-q-diff-file--draft-file draft)
      (agent-q-diff-file--prepare-in-place draft)
      (setf (agent-q-diff-file--draft-file draft) (agent-q-diff-file--make-elsewhere)))))

(defun agent-q-diff-file--prepare-in-place (draft)
  "Copy the file for which DRAFT was made, since it is to be written itself."
  (let* ((name (agent-q-diff-file--draft-name draft))
         (old (agent-q-diff-file-bytes name)))
    (setf (agent-q-diff-file--draft-copy draft) (agent-q-diff-file--save-copy name old)
          (agent-q-diff-file--draft-old draft) old)))

(defun agent-q-diff-file--discard (draft)
  "Delete the files that were made for DRAFT.
One that cannot be deleted is no failure: NAME is complete, or as it was."
  (let ((inhibit-quit t))
    (dolist (file (list (agent-q-diff-file--draft-file draft)
                        (agent-q-diff-file--draft-copy draft)))
      (when file
        (ignore-errors (delete-file file))))))

(defun agent-q-diff-file--write-in-place (draft)
  "Write what DRAFT has to the file itself that it is to replace.
If that fails, write the old content again."
  (let ((name (agent-q-diff-file--draft-name draft))
        (old (agent-q-diff-file--draft-old draft))
        (new (agent-q-diff-file-bytes (agent-q-diff-file--draft-file draft)))
        (is-done nil))
    (unless (agent-q-diff-file-has-bytes-p name old)
      (agent-q-diff-file-refuse "%s was changed meanwhile" name))
    (unwind-protect
        (progn
          (agent-q-diff-file--overwrite new 'no-conversion name)
          (setq is-done t))
      (unless is-done
        (let ((copy (agent-q-diff-file--draft-copy draft)))
          ;; If this fails, the copy is all that is left of it.
          (setf (agent-q-diff-file--draft-copy draft) nil)
          (agent-q-diff-file--put-back name old copy))))))

(defun agent-q-diff-file--publish (draft)
  "Replace the file for which DRAFT was made by DRAFT, and return non-nil.
If that turns out not to be possible by a rename, return nil; it can then be
written in place, by another call.  That took a while, so check first once
more whether it may be.  If this signals an error, the file is as it was."
  (let ((name (agent-q-diff-file--draft-name draft))
        (file (agent-q-diff-file--draft-file draft))
        (modes (agent-q-diff-file--draft-modes draft)))
    (cond
     ((agent-q-diff-file--draft-copy draft)
      (agent-q-diff-file--write-in-place draft)
      t)
     ((progn
        (when modes
          (set-file-modes file modes))
        (agent-q-diff-file--rename file name (null modes)))
      (setf (agent-q-diff-file--draft-file draft) nil)
      t)
     (t (agent-q-diff-file--prepare-in-place draft)
        nil))))

(defmacro agent-q-diff-file-replace (spec write check &rest done)
  "Replace a file as a whole, so that it is complete whatever happens.
SPEC is (FILE NAME): NAME is evaluated to the absolute name of a file that is
not a symbolic link, and the variable FILE is bound to that of an empty file.
The form WRITE writes the new content to FILE.  Then CHECK, a form, signals an
error if NAME must not be replaced, and NAME is replaced right after that.  The
forms DONE follow without a quit in between.

If anything fails, NAME is as it was.  Mode, owner and access rules are kept; a
new file gets the default ones.  If no rename can replace NAME, CHECK may be
evaluated twice.  No lock file is made for FILE, which nobody else knows."
  (declare (indent 1) (debug ((symbolp form) form form body)))
  (let ((draft (make-symbol "draft")))
    `(agent-q-diff-file-uncached
       (let ((,draft (agent-q-diff-file--make-draft :name ,(cadr spec))))
         (unwind-protect
             (progn
               (agent-q-diff-file--begin ,draft)
               (let ((,(car spec) (agent-q-diff-file--draft-file ,draft)))
                 ,write)
               (while (progn
                        ,check
                        (let ((inhibit-quit t))
                          (not (when (agent-q-diff-file--publish ,draft)
                                 ,@done
                                 t))))))
           (agent-q-diff-file--discard ,draft))))))

(defun agent-q-diff-file-write-bytes (name bytes)
  "Make BYTES, a unibyte string, the content of the file NAME.
See `agent-q-diff-file-replace'."
  (agent-q-diff-file-replace (file name)
    (agent-q-diff-file-put bytes 'no-conversion file)
    nil))

;;;; Deleting

(defun agent-q-diff-file-delete (name &optional is-trashed)
  "Delete NAME, and remember its permissions in case it comes back in this Emacs.
IS-TRASHED is as the second argument of `delete-file'."
  (agent-q-diff-file-note-modes name)
  (delete-file name is-trashed))

(defun agent-q-diff-file-note-modes (name)
  "Remember the permissions of NAME, which is deleted next, if it is a file."
  (when (and (agent-q-diff-file-regular-p name)
             (not (file-symlink-p name)))
    (puthash name (file-modes name) agent-q-diff-file--modes-of-deleted)))

(defun agent-q-diff-file-modes-again (name modes)
  "Return the permissions with which NAME comes back; by git, they are MODES.
Git says only whether it is executable."
  (if-let ((known (gethash name agent-q-diff-file--modes-of-deleted)))
      (if (zerop (logand #o111 modes))
          (logand known (lognot #o111))
        ;; Whoever can read it can execute it.
        (logior known (ash (logand known #o444) -2)))
    modes))

;;;; Directories

(defun agent-q-diff-file-executable-modes (modes)
  "Return MODES, those of a file, with the bits by which a new file is executable."
  (logior modes (logand #o111 (default-file-modes))))

(defun agent-q-diff-file-visitor (name)
  "Return the buffer that visits the file NAME, also under another name, or nil.
If the links of NAME lead in a circle, only its own name counts."
  (condition-case nil
      (find-buffer-visiting name)
    (error (get-file-buffer name))))

(defun agent-q-diff-file-missing-directories (path)
  "Return the directories above the file PATH that do not exist yet.
The innermost comes first."
  (let ((directory (file-name-directory path))
        missing)
    (while (not (file-directory-p directory))
      (push directory missing)
      (setq directory (file-name-directory (directory-file-name directory))))
    (nreverse missing)))

(defun agent-q-diff-file-check-directories (path)
  "Refuse the file PATH if what is in the place of a directory above it is none."
  (dolist (directory (agent-q-diff-file-missing-directories path))
    (let ((name (directory-file-name directory)))
      (when (or (file-exists-p name) (file-symlink-p name))
        (agent-q-diff-file-refuse "%s is no directory now, and has to go first" name)))))

(defun agent-q-diff-file-remove-directories (directories)
  "Remove those of DIRECTORIES, innermost first, that exist and are empty."
  (dolist (directory directories)
    (ignore-error file-error
      (when (directory-empty-p directory)
        (delete-directory directory)))))

(provide 'agent-q-diff-file)
;;; agent-q-diff-file.el ends here
