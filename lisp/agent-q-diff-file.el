;;; agent-q-diff-file.el --- Files: read safely, written whole or not at all  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The only file of the package that reads a file's bytes or replaces a
;; file.  No buffers, no user interface.
;;
;; A file is written as a temporary file beside it, which then takes its
;; place by a rename.  So a full disk, an error, a C-g or a crash leaves
;; either the old file or the new one, never a piece of one.  Where a rename
;; would lose something (other names of the file, its owner) or is not
;; allowed (a directory that cannot be written, a file that is mounted), the
;; file is written in place, after a copy of what it held was put into a
;; directory of ours.
;;
;; What a crash leaves behind is dealt with by the next Emacs that uses the
;; package: temporary files are removed, and a file that may be incomplete
;; is named together with the copy of what it held.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'seq)
(require 'subr-x)

(defun agent-q-diff-file-refuse (format &rest arguments)
  "Signal `agent-q-diff-bad-target' with FORMAT and ARGUMENTS.
The names in them are an agent's, and the message is shown to the user."
  (signal 'agent-q-diff-bad-target
          (list (agent-q-diff-visible (apply #'format format arguments)))))

;;;; Looking

(defmacro agent-q-diff-file-uncached (&rest body)
  "Run BODY so that it learns of files on other hosts what is true now.
TRAMP otherwise answers from memory for a while, and another program there
may have written, removed or replaced a file meanwhile."
  (declare (indent 0) (debug t))
  ;; As TRAMP itself has it, a time lets what was learned since then count:
  ;; with t a key takes twice as many round trips.
  `(let ((remote-file-name-inhibit-cache (time-convert nil 'list)))
     ,@body))

(defun agent-q-diff-file-attributes (name)
  "Return attributes of the file NAME that change when it is written, or nil.
They are (SIZE MODIFIED STATUS-CHANGED INODE).  The time of the last status
change gives away even a writer who sets the modification time back."
  (agent-q-diff-file-uncached
    (let ((attributes (file-attributes name)))
      (and attributes
           (list (file-attribute-size attributes)
                 (file-attribute-modification-time attributes)
                 (file-attribute-status-change-time attributes)
                 (file-attribute-inode-number attributes))))))

(defun agent-q-diff-file-check-regular (name)
  "Refuse the file NAME if it exists and is not a regular file.
Links are followed.  Opening a FIFO would hang Emacs, and so might a
device, so call this before each time a file is opened."
  (agent-q-diff-file-uncached
    (when (and (file-exists-p name) (not (file-regular-p name)))
      (agent-q-diff-file-refuse
       (if (file-directory-p name) "%s is a directory" "%s is not a regular file")
       name))))

(defun agent-q-diff-file-bytes (name)
  "Return the bytes of the regular file NAME, a unibyte string."
  (agent-q-diff-file-check-regular name)
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally name)
    (buffer-string)))

(defun agent-q-diff-file-lock-holder (name)
  "Return who else edits the file NAME, a string, or nil.
A name can be too long to have a lock file."
  (let ((holder (ignore-error file-error (file-locked-p name))))
    (and (stringp holder) holder)))

;;;; What a crash leaves behind

(defvar agent-q-diff-file-state-directory (locate-user-emacs-file "agent-q-diff/")
  "Directory in which this file notes where temporary files are.
Copies of files that are written in place are there as well.")

(defvar agent-q-diff-file--noted nil
  "What this Emacs has noted in its record, a list of strings.")

(defvar agent-q-diff-file--has-looked nil
  "Non-nil if this Emacs has looked for what others left behind.")

(defun agent-q-diff-file--record (&optional pid)
  "Return the name of the record of an Emacs.
PID is its process number; nil means this Emacs."
  (expand-file-name (format "writing-%s-%d" (system-name) (or pid (emacs-pid)))
                    agent-q-diff-file-state-directory))

(defun agent-q-diff-file--note (entry)
  "Note ENTRY, a list of strings, in the record of this Emacs.
Its first element is \"beside\" with a directory in which temporary files
are made, or \"copy\" with the name of a copy and of its file."
  (agent-q-diff-file-clean-up)
  (unless (member entry agent-q-diff-file--noted)
    (let ((coding-system-for-write 'utf-8-emacs-unix)
          (print-length nil)
          (print-level nil)
          (write-region-inhibit-fsync t)
          (create-lockfiles nil))
      ;; Without a record a crash leaves a hidden file, which is no reason
      ;; not to write.
      (ignore-errors
        (with-file-modes #o700
          (make-directory agent-q-diff-file-state-directory t))
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
  "Return the process numbers of the records that there are on this machine."
  (let ((regexp (concat "\\`writing-" (regexp-quote (system-name)) "-\\([0-9]+\\)\\'")))
    (when (file-directory-p agent-q-diff-file-state-directory)
      (mapcar (lambda (name)
                (string-match regexp name)
                (string-to-number (match-string 1 name)))
              (directory-files agent-q-diff-file-state-directory nil regexp t)))))

(defun agent-q-diff-file--pids-of-the-dead ()
  "Return the process numbers of records whose Emacs has ended.
A record with the number of this Emacs, which has noted nothing yet, is
that of an earlier one."
  (when-let ((pids (agent-q-diff-file--pids))
             ;; Where Emacs cannot list processes, nothing is known of them.
             (alive (list-system-processes)))
    (seq-difference pids (remove (and (null agent-q-diff-file--noted) (emacs-pid))
                                 alive))))

(defun agent-q-diff-file-clean-up ()
  "Deal with what an Emacs that crashed has left behind, once in each Emacs.
Its temporary files are removed.  A file that was being written in place
may be incomplete: its name, and that of a copy of what it held, is shown
as a warning."
  (unless agent-q-diff-file--has-looked
    (setq agent-q-diff-file--has-looked t)
    (with-demoted-errors "agent-q-diff: %S"
      (dolist (pid (agent-q-diff-file--pids-of-the-dead))
        (agent-q-diff-file--clean-up-after pid)))))

(defun agent-q-diff-file--clean-up-after (pid)
  "Deal with what the Emacs with process number PID has left behind."
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
    ;; A copy that was not noted is not whole, and its file not yet written.
    (agent-q-diff-file--remove agent-q-diff-file-state-directory
                               (agent-q-diff-file--copy-prefix pid)
                               copies)
    (delete-file record)))

(defun agent-q-diff-file--entries (record)
  "Return the entries of the file RECORD, as far as it is whole."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8-emacs-unix)
          entries)
      (insert-file-contents record)
      (ignore-error (end-of-file invalid-read-syntax)
        (while t
          (push (read (current-buffer)) entries)))
      (nreverse entries))))

(defun agent-q-diff-file--temporary-prefix (pid)
  "Return the beginning of the names of an Emacs's temporary files.
PID is its process number."
  (format ".agent-q-diff-%d-" pid))

(defun agent-q-diff-file--remove (directory prefix &optional kept)
  "Remove the files in DIRECTORY whose names begin with PREFIX.
KEPT is a list of absolute names, which stay."
  (when (and (not (file-remote-p directory)) (file-directory-p directory))
    (dolist (name (directory-files (expand-file-name directory) t
                                   (concat "\\`" (regexp-quote prefix)) t))
      (unless (member name kept)
        (ignore-errors (delete-file name))))))

(defun agent-q-diff-file--offer (copy name)
  "Say that the file NAME may be incomplete, and that COPY has what it held.
If they are equal, remove COPY instead."
  (when (file-regular-p copy)
    (if (and (file-regular-p name)
             (equal (agent-q-diff-file-bytes copy) (agent-q-diff-file-bytes name)))
        (delete-file copy)
      (display-warning
       'agent-q-diff
       (format "Emacs ended while it wrote %s, which may be incomplete.
What it held before is in %s"
               name copy)))))

;;;; Writing

(defun agent-q-diff-file-put (text coding name &optional must-be-new)
  "Make TEXT, a string written in CODING, the content of the file NAME.
NAME is opened as it is; see `agent-q-diff-file-write'.  If it exists and
MUST-BE-NEW is `excl', signal `file-already-exists'."
  (let ((coding-system-for-write coding)
        (write-region-annotate-functions nil)
        (write-region-post-annotation-function nil))
    (write-region text nil name nil 'silent nil must-be-new)))

(defun agent-q-diff-file--owner (name)
  "Return the owner and the group of the file NAME, as numbers."
  (let ((attributes (file-attributes name 'integer)))
    (list (file-attribute-user-id attributes)
          (file-attribute-group-id attributes))))

(defun agent-q-diff-file--make-temporary (name)
  "Return a new empty file beside the file NAME, readable by the user alone."
  (let ((directory (file-name-directory name)))
    (unless (file-remote-p directory)
      (agent-q-diff-file--note (list "beside" directory)))
    (make-temp-file (expand-file-name
                     (agent-q-diff-file--temporary-prefix (emacs-pid)) directory))))

(defun agent-q-diff-file--make-new-temporary (name)
  "Return a new empty file beside NAME, which is to be created, as its like.
It has the mode and the access rules that a new file gets there."
  ;; `make-temp-file' makes files that only the user can read.
  (let ((temporary (agent-q-diff-file--make-temporary name)))
    (delete-file temporary)
    (agent-q-diff-file-put "" 'no-conversion temporary 'excl)
    temporary))

(defun agent-q-diff-file--replaceable-p (name)
  "Return non-nil if another file can take the place of NAME by a rename.
The other names of a file that has several would keep the old text."
  (and (file-writable-p (file-name-directory name))
       (= 1 (file-attribute-link-number (file-attributes name)))))

(defun agent-q-diff-file--give-owner (temporary name)
  "Give TEMPORARY the owner and access rules of NAME; return whether it has them.
Only a copy by the superuser changes the owner."
  (unless (equal (agent-q-diff-file--owner name) (agent-q-diff-file--owner temporary))
    (copy-file name temporary t nil t t))
  (and (equal (agent-q-diff-file--owner name) (agent-q-diff-file--owner temporary))
       (let ((attributes (file-extended-attributes name)))
         (when (seq-some #'cdr attributes)
           (set-file-extended-attributes temporary attributes))
         t)))

(defun agent-q-diff-file--temporary (name)
  "Return a new file beside NAME that may take its place, or nil if none may."
  (when (agent-q-diff-file--replaceable-p name)
    (let ((temporary (agent-q-diff-file--make-temporary name))
          (is-fit nil))
      (unwind-protect
          (and (setq is-fit (agent-q-diff-file--give-owner temporary name))
               temporary)
        (unless is-fit
          (delete-file temporary))))))

(defconst agent-q-diff-file--no-rename
  "busy\\|not permitted\\|denied"
  "Regexp of what a system says where nothing may be renamed onto a file.
A full disk is no such reason: to write in place takes room as well.")

(defun agent-q-diff-file--rename (temporary name is-new)
  "Let TEMPORARY take the place of NAME; return nil if nothing can.
Nothing can be renamed onto a mount point, say a file that is mounted into
a container.  If IS-NEW, a file that somebody else has created meanwhile
stays, and that is an error."
  (condition-case err
      ;; The system's message, in words that do not depend on the user's language.
      (let ((system-messages-locale "C"))
        (rename-file temporary name (not is-new))
        t)
    (file-error
     (when (or is-new
               (not (string-match-p agent-q-diff-file--no-rename
                                    ;; Without the names of the files.
                                    (format "%s" (nth 2 err)))))
       (signal (car err) (cdr err))))))

(defun agent-q-diff-file--replace (name temporary modes put check done)
  "Have PUT write TEMPORARY, which then takes the place of NAME, with MODES.
MODES are nil if NAME is to be created.  CHECK is called between the two,
and DONE, which no quit interrupts, after them.  If anything fails before,
NAME is as it was and TEMPORARY is removed.  Return nil if nothing can take
the place of NAME."
  (let ((is-done nil))
    (unwind-protect
        (progn
          (funcall put temporary)
          (when modes
            (set-file-modes temporary modes))
          (funcall check)
          (let ((inhibit-quit t))
            (setq is-done (agent-q-diff-file--rename temporary name (null modes)))
            (when is-done
              (funcall done))
            is-done))
      (unless is-done
        (delete-file temporary)))))

(defun agent-q-diff-file--copy-prefix (pid)
  "Return the beginning of the names of an Emacs's copies.
PID is its process number."
  (format "rescued-%d-" pid))

(defun agent-q-diff-file--save-copy (name bytes)
  "Put BYTES, the content of the file NAME, into a copy; return its name.
The copy is noted once it is whole."
  (with-file-modes #o700
    (make-directory agent-q-diff-file-state-directory t))
  (let ((copy (make-temp-file
               (expand-file-name (agent-q-diff-file--copy-prefix (emacs-pid))
                                 agent-q-diff-file-state-directory))))
    (agent-q-diff-file-put bytes 'no-conversion copy)
    (agent-q-diff-file--note (list "copy" copy name))
    copy))

(defun agent-q-diff-file--put-back (name bytes copy)
  "Make BYTES the content of the file NAME again, of which COPY is a copy."
  (condition-case err
      (agent-q-diff-file-put bytes 'no-conversion name)
    (error
     (agent-q-diff-file-refuse
      "%s is damaged, since writing it failed (%s); what it held is in %s"
      name (error-message-string err) copy)))
  (delete-file copy))

(defun agent-q-diff-file--write-in-place (name put check done)
  "Have PUT write NAME itself, after CHECK was called; then call DONE.
If that fails, put back its old content."
  (let* ((bytes (agent-q-diff-file-bytes name))
         (copy (agent-q-diff-file--save-copy name bytes))
         (is-done nil))
    (unwind-protect
        (progn
          (funcall check)
          (unwind-protect
              (let ((inhibit-quit t))
                (funcall put name)
                (setq is-done t)
                (funcall done))
            (unless is-done
              (agent-q-diff-file--put-back name bytes copy))))
      ;; It stays only where the file could not be put back.
      (when (or is-done (equal bytes (ignore-errors (agent-q-diff-file-bytes name))))
        (ignore-errors (delete-file copy))))))

(defun agent-q-diff-file-write (name put check &optional done)
  "Have PUT write the file NAME, so that it is whole whatever happens.
NAME is absolute and goes through no link at its end.  PUT is called with
the name of a file that it is to write, perhaps another one than NAME.
CHECK is called without arguments at the last moment; if it signals an
error, NAME stays as it is.  Where no rename can replace NAME, both are
called once more.  DONE is called once NAME is written; a quit cannot come
between.  Mode, owner and access rules are kept; a file that is new gets
the default ones."
  (agent-q-diff-file-uncached
    (agent-q-diff-file-check-regular name)
    (let ((done (or done #'ignore)))
      (if (not (file-exists-p name))
          (agent-q-diff-file--replace name (agent-q-diff-file--make-new-temporary name)
                                      nil put check done)
        (let ((modes (file-modes name))
              (temporary (agent-q-diff-file--temporary name)))
          (or (and temporary
                   (agent-q-diff-file--replace name temporary modes put check done))
              (agent-q-diff-file--write-in-place name put check done)))))))

;;;; Directories

(defun agent-q-diff-file-missing-directories (path)
  "Return the directories above the file PATH that do not exist yet.
The innermost comes first."
  (let ((directory (file-name-directory path))
        missing)
    (while (not (file-directory-p directory))
      (push directory missing)
      (setq directory (file-name-directory (directory-file-name directory))))
    (nreverse missing)))

(defun agent-q-diff-file-remove-directories (directories)
  "Remove those of DIRECTORIES, innermost first, that are there and empty."
  (dolist (directory directories)
    (ignore-error file-error
      (when (directory-empty-p directory)
        (delete-directory directory)))))

(provide 'agent-q-diff-file)
;;; agent-q-diff-file.el ends here
