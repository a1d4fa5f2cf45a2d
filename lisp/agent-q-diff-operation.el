;;; agent-q-diff-operation.el --- What happens to a file besides its text  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A file appears, goes, or gets another name, another mode or another place
;; that it links to.  Each of these is decided like a hunk.  This file knows
;; whether it has been done, does it, and takes it back.  In a detached change,
;; doing it means to note that it is decided; no file is accessed.
;;
;; An operation is a list, in the form in which the engine takes it; see
;; `agent-q-diff-module-join'.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)

;;;; Whether it has been done

(defun agent-q-diff-operation-exists-p (name)
  "Return non-nil if there is anything called NAME, if only a broken link."
  (or (file-exists-p name) (file-symlink-p name)))

(defun agent-q-diff-operation-presence (file operation)
  "Return whether OPERATION of FILE has been done: t, nil or a string.
FILE is an `agent-q-diff-file-change'.  If others have changed the file, so
that it is neither as before nor as proposed, the string says how."
  (if (agent-q-diff-file-change-is-detached file)
      (and (memq operation (agent-q-diff-file-change-done file)) t)
    (agent-q-diff-operation--presence-on-disk file operation)))

(defun agent-q-diff-operation--presence-on-disk (file operation)
  "Do what `agent-q-diff-operation-presence' does for OPERATION of FILE on disk."
  (agent-q-diff-file-uncached
    (let ((old (agent-q-diff-file-change-old-path file))
          (new (agent-q-diff-file-change-new-path file)))
      (pcase-exhaustive operation
        (`(create ,_) (and (agent-q-diff-operation-exists-p new)
                           (if (agent-q-diff-file-change-is-created file)
                               t
                             "there is another file of that name")))
        (`(delete ,text) (agent-q-diff-operation--deleted old text))
        ('(rename)
         (pcase (list (agent-q-diff-operation-exists-p old)
                      (agent-q-diff-operation-exists-p new))
           ('(t nil) nil)
           ('(nil t) t)
           ('(t t) (if (equal new (agent-q-diff-file-change-path file))
                       "its old name is taken again"
                     "its new name is taken"))
           (_ "there is no file under either name")))
        (`(mode ,before ,after)
         (let ((mode (agent-q-diff-operation--mode (agent-q-diff-file-change-path file)
                                                   before after)))
           (agent-q-diff-operation--either
            mode before after
            (if mode "its mode has been changed since" "the file does not exist any more"))))
        (`(link ,before ,after)
         (let ((path (or new old)))
           (agent-q-diff-operation--either
            (if (agent-q-diff-operation-exists-p path)
                (or (file-symlink-p path) 'no-link))
            before after "the link has been changed since")))))))

(defun agent-q-diff-operation--either (now before after otherwise)
  "Return t if NOW is AFTER, nil if it is BEFORE, and else the string OTHERWISE."
  (cond
   ((equal now after) t)
   ((equal now before) nil)
   (t otherwise)))

(defun agent-q-diff-operation--deleted (path text)
  "Return whether the file PATH, which has TEXT, was deleted.
The value is as from `agent-q-diff-operation-presence'."
  (let ((buffer (find-buffer-visiting path)))
    (cond
     ((not (agent-q-diff-operation-exists-p path)) t)
     ((and buffer (buffer-modified-p buffer)) "its buffer has unsaved edits")
     ((and (agent-q-diff-file-regular-p path)
           (agent-q-diff-file-has-bytes-p path text))
      nil)
     (t "the file has been changed since"))))

(defconst agent-q-diff-operation--execute #o111
  "The bits of a mode that let a file be executed.")

(defun agent-q-diff-operation--mode (path before after)
  "Return the mode of the file PATH as BEFORE and AFTER would state it, or nil.
Git states only whether a file can be executed, so if only that differs, the
other bits of the file count as equal."
  (when-let ((mode (file-modes path)))
    (if (zerop (logand (logxor before after) #o777
                       (lognot agent-q-diff-operation--execute)))
        (let ((is-executable (/= 0 (logand mode agent-q-diff-operation--execute))))
          (or (seq-find (lambda (stated)
                          (eq is-executable
                              (/= 0 (logand stated agent-q-diff-operation--execute))))
                        (list after before))
              mode))
      (logand mode #o7777))))

;;;; Doing it

(defun agent-q-diff-operation-carry-out (file operation is-in)
  "Do OPERATION of FILE, or undo it if IS-IN is nil.
Return a function without arguments that takes that back.  If it cannot be
done, signal an error; then nothing has changed."
  (agent-q-diff-target-check-write (agent-q-diff-file-change-target file))
  (if (agent-q-diff-file-change-is-detached file)
      (agent-q-diff-operation--note file operation is-in)
    (agent-q-diff-operation--do file operation is-in)))

(defun agent-q-diff-operation--note (file operation is-in)
  "Note that OPERATION of FILE, a detached change, is done.
If IS-IN is nil, note that it is not.  Return a function without arguments
that takes that back."
  (let ((done (agent-q-diff-file-change-done file))
        (target (agent-q-diff-file-change-target file)))
    (setf (agent-q-diff-file-change-done file)
          (if is-in (cons operation done) (remq operation done)))
    (when (equal operation '(rename))
      (setf (agent-q-diff-target-path target)
            (if is-in
                (agent-q-diff-file-change-new-path file)
              (agent-q-diff-file-change-old-path file))))
    (lambda ()
      (agent-q-diff-operation--note file operation (not is-in)))))

(defun agent-q-diff-operation--do (file operation is-in)
  "Do what `agent-q-diff-operation-carry-out' does on disk.
FILE, OPERATION, IS-IN and the value are that function's."
  (agent-q-diff-file-uncached
    (agent-q-diff-operation--check-disk file)
    (let ((old (agent-q-diff-file-change-old-path file))
          (new (agent-q-diff-file-change-new-path file)))
      (prog1
          (pcase-exhaustive operation
            (`(create ,mode)
             (if is-in
                 (agent-q-diff-operation--create file new mode)
               (agent-q-diff-operation--remove-created file new mode)))
            (`(delete ,text)
             (if is-in
                 (agent-q-diff-operation--delete file old text)
               (agent-q-diff-operation--bring-back file old text)))
            ('(rename)
             (if is-in
                 (agent-q-diff-operation--rename file old new)
               (agent-q-diff-operation--rename file new old)))
            (`(mode ,before ,after)
             (agent-q-diff-operation--set-mode file (if is-in after before)
                                               (logxor before after)))
            (`(link ,before ,after)
             (agent-q-diff-operation--link file (or new old)
                                           (if is-in before after)
                                           (if is-in after before))))
        (setf (agent-q-diff-file-change-is-edited file) t)))))

(defun agent-q-diff-operation--check-disk (file)
  "Refuse to touch FILE if others have written it and its buffer does not know."
  (let ((buffer (agent-q-diff-file-change-buffer file)))
    (when (buffer-live-p buffer)
      (when-let ((message (agent-q-diff-disk-message buffer (agent-q-diff-disk-state buffer))))
        (agent-q-diff-file-refuse "%s" message)))))

(defun agent-q-diff-operation--make-directories (path)
  "Make the missing directories above PATH, and return them, innermost first."
  (let ((missing (agent-q-diff-file-missing-directories path)))
    (when missing
      (unless agent-q-diff-create-directories
        (agent-q-diff-file-refuse "there is no directory %s; create it first"
                                  (file-name-directory path)))
      (make-directory (file-name-directory path) t))
    missing))

(defun agent-q-diff-operation--complete (rest back)
  "Call REST and return its value; if it does not return, call BACK.
Both are functions without arguments.  REST is what remains of an operation
once something was changed on disk, and BACK takes that back.  The user's
hooks run, and another host may be gone."
  (let ((is-done nil))
    (unwind-protect
        (prog1 (funcall rest)
          (setq is-done t))
      (unless is-done
        (let ((inhibit-quit t))
          (condition-case err
              (funcall back)
            (error (message "While it was taken back: %s" (agent-q-diff-error-text err)))))))))

(defun agent-q-diff-operation--in-directories (path function)
  "Make the missing directories above PATH, call FUNCTION, and return its value.
Its argument is a list of these directories, innermost first.  If FUNCTION
does not return, they are removed again."
  (let ((missing (agent-q-diff-operation--make-directories path)))
    (agent-q-diff-operation--complete
     (lambda ()
       (funcall function missing))
     (lambda ()
       (agent-q-diff-file-remove-directories missing)))))

(defun agent-q-diff-operation--note-disk (file)
  "Record that the buffer of FILE, if there is one, agrees with its file."
  (let ((buffer (agent-q-diff-file-change-buffer file)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (set-visited-file-modtime (if (file-exists-p buffer-file-name) nil -1))
        (agent-q-diff-disk-note)))))

(defun agent-q-diff-operation--create (file path mode)
  "Create PATH, the name of FILE, empty and with MODE."
  (when (agent-q-diff-operation-exists-p path)
    (agent-q-diff-file-refuse "%s exists already" path))
  (agent-q-diff-operation--in-directories
   path
   (lambda (missing)
     (agent-q-diff-file-write-bytes path "")
     (agent-q-diff-operation--complete
      (lambda ()
        (unless (zerop (logand mode agent-q-diff-operation--execute))
          (set-file-modes path (logior (file-modes path) agent-q-diff-operation--execute)))
        (agent-q-diff-operation--note-disk file))
      (lambda ()
        (delete-file path)))
     (setf (agent-q-diff-file-change-missing file) missing
           (agent-q-diff-file-change-is-created file) t)
     (lambda ()
       (delete-file path)
       (agent-q-diff-file-remove-directories missing)
       (setf (agent-q-diff-file-change-is-created file) nil)
       (agent-q-diff-operation--note-disk file)))))

(defun agent-q-diff-operation--remove-created (file path mode)
  "Delete PATH, which was created for FILE with MODE and is empty."
  (unless (and (agent-q-diff-file-regular-p path)
               (equal 0 (file-attribute-size (file-attributes path))))
    (agent-q-diff-file-refuse "others have written into %s, so it stays" path))
  (delete-file path)
  (agent-q-diff-file-remove-directories (agent-q-diff-file-change-missing file))
  (setf (agent-q-diff-file-change-is-created file) nil)
  (agent-q-diff-operation--note-disk file)
  (lambda ()
    (agent-q-diff-operation--create file path mode)))

(defun agent-q-diff-operation--delete (file path text)
  "Delete PATH, the name of FILE, and keep what it was for taking that back.
TEXT is what the proposal says it was."
  (let ((buffer (find-buffer-visiting path)))
    (when (and buffer (buffer-modified-p buffer))
      (agent-q-diff-file-refuse "%s has unsaved edits" path)))
  (agent-q-diff-file-check-regular path)
  (setf (agent-q-diff-file-change-deleted file)
        (cons (file-modes path) (agent-q-diff-file-bytes path)))
  (delete-file path t)
  (lambda ()
    (agent-q-diff-operation--bring-back file path text)))

(defun agent-q-diff-operation--bring-back (file path text)
  "Make PATH, the name of FILE, what it was before it was deleted.
If others deleted it, that is a plain file with TEXT, as the proposal says."
  (pcase-let ((`(,modes . ,bytes)
               (or (agent-q-diff-file-change-deleted file)
                   (cons (logand (default-file-modes) #o666) text))))
    (when (agent-q-diff-operation-exists-p path)
      (agent-q-diff-file-refuse "%s exists already" path))
    (agent-q-diff-operation--in-directories
     path
     (lambda (missing)
       (let ((buffer (find-buffer-visiting path)))
         (agent-q-diff-file-write-bytes path bytes)
         (agent-q-diff-operation--complete
          (lambda ()
            (set-file-modes path modes)
            (when (and buffer (not (buffer-modified-p buffer)))
              (agent-q-diff-disk-sync buffer)))
          (lambda ()
            (delete-file path)))
         (lambda ()
           (delete-file path)
           (agent-q-diff-file-remove-directories missing)))))))

(defun agent-q-diff-operation--rename (file from to)
  "Rename FROM, the present name of FILE, to TO; its buffer follows."
  (when (agent-q-diff-operation-exists-p to)
    (agent-q-diff-file-refuse "%s exists already" to))
  (agent-q-diff-operation--free-name to)
  (agent-q-diff-operation--in-directories
   to
   (lambda (missing)
     (let ((buffer (or (find-buffer-visiting from) (agent-q-diff-file-change-buffer file))))
       (rename-file from to)
       (agent-q-diff-operation--complete
        (lambda ()
          (agent-q-diff-operation--name-buffer file buffer to))
        (lambda ()
          (rename-file to from)
          (agent-q-diff-operation--name-buffer file buffer from))))
     ;; What was made for the name that it has no longer.
     (agent-q-diff-file-remove-directories (agent-q-diff-file-change-missing file))
     (setf (agent-q-diff-file-change-missing file) missing)
     (lambda ()
       (agent-q-diff-operation--rename file to from)))))

(defun agent-q-diff-operation--free-name (name)
  "Refuse NAME, which no file has, if a buffer visits it.
A buffer with nothing in it is killed instead: another review has tried to
visit the file while it had another name."
  (when-let ((buffer (get-file-buffer name)))
    (unless (and (zerop (buffer-size buffer))
                 (not (buffer-modified-p buffer))
                 (agent-q-diff-visit-ours-p buffer)
                 (kill-buffer buffer))
      (agent-q-diff-file-refuse "the buffer %s is for %s already" buffer name))))

(defun agent-q-diff-operation--name-buffer (file buffer to)
  "Let BUFFER, which may be nil or killed, and FILE be named TO."
  (agent-q-diff-target-rename (agent-q-diff-file-change-target file) to)
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (let ((was-modified (buffer-modified-p)))
        (unwind-protect (set-visited-file-name to t t)
          (set-buffer-modified-p was-modified))
        (set-visited-file-modtime)
        (agent-q-diff-disk-note)))))

(defun agent-q-diff-operation--set-mode (file mode differing)
  "Give FILE the bits of MODE that are in DIFFERING."
  (let* ((path (agent-q-diff-file-change-path file))
         (before (or (file-modes path)
                     (agent-q-diff-file-refuse "%s does not exist" path)))
         (bits (logand differing #o7777))
         (wanted (logior (logand before (lognot bits)) (logand mode bits))))
    (set-file-modes path wanted)
    (agent-q-diff-operation--note-disk file)
    (lambda ()
      (set-file-modes path before)
      (agent-q-diff-operation--note-disk file))))

(defun agent-q-diff-operation--link (file path before after)
  "Let the symbolic link PATH, the name of FILE, lead to AFTER, not to BEFORE.
Either is nil if there is no such link."
  (let ((now (and (agent-q-diff-operation-exists-p path)
                  (or (file-symlink-p path) 'no-link))))
    (unless (equal now before)
      (agent-q-diff-file-refuse "%s has been changed since" path)))
  (if after
      (agent-q-diff-operation--in-directories
       path
       (lambda (missing)
         (make-symbolic-link after path t)
         (when missing
           (setf (agent-q-diff-file-change-missing file) missing))))
    (delete-file path)
    (agent-q-diff-file-remove-directories (agent-q-diff-file-change-missing file)))
  (agent-q-diff-target-rename (agent-q-diff-file-change-target file) path)
  (lambda ()
    (agent-q-diff-operation--link file path after before)))

;;;; Words

(defun agent-q-diff-operation-kind (file)
  "Return what happens to FILE in one or two words, for its heading."
  (pcase (car (agent-q-diff-file-change-operations file))
    (`(create . ,_) "new file")
    (`(delete . ,_) "deleted")
    ('(rename) "renamed")
    (`(link nil ,_) "new link")
    (`(link ,_ nil) "deleted")
    (`(link . ,_) "link")
    (`(mode . ,_) (if (agent-q-diff-file-change-has-text file) "modified" "mode"))
    (_ "modified")))

(defun agent-q-diff-operation-creates-executable-p (file)
  "Return non-nil if FILE is new and executable without a hunk for that."
  (pcase (and (null (agent-q-diff-file-change-decided-operations file))
              (car (agent-q-diff-file-change-operations file)))
    (`(create ,mode) (/= 0 (logand mode agent-q-diff-operation--execute)))))

(defun agent-q-diff-operation-words (operation)
  "Return what OPERATION does, as words for the user and the agent."
  (pcase-exhaustive operation
    (`(create ,mode) (if (zerop (logand mode agent-q-diff-operation--execute))
                         "new file"
                       "new file, executable"))
    (`(delete ,text) (let ((n (agent-q-diff-operation--n-lines text)))
                       (format (ngettext "delete, %d line" "delete, %d lines" n) n)))
    ('(rename) "rename")
    (`(mode ,before ,after) (format "mode %o → %o" (logand before #o7777)
                                    (logand after #o7777)))
    (`(link nil ,after) (format "new link to %s" (agent-q-diff-visible after)))
    (`(link ,before nil) (format "delete the link to %s" (agent-q-diff-visible before)))
    (`(link ,before ,after) (format "link to %s → %s" (agent-q-diff-visible before)
                                    (agent-q-diff-visible after)))))

(defun agent-q-diff-operation-noun (operation)
  "Return OPERATION as a noun, which can be followed by the file's name."
  (pcase-exhaustive operation
    ((or `(create ,_) `(link nil ,_)) "the creation")
    ((or `(delete ,_) `(link ,_ nil)) "the deletion")
    ('(rename) "the renaming")
    (`(mode ,_ ,_) "the mode")
    (`(link ,_ ,_) "the link")))

(defun agent-q-diff-operation-done-p (file operation fact)
  "Return non-nil if OPERATION of FILE is done; FACT is what the engine knows.
If OPERATION is nil, since the hunk has lines, that is FACT.
What others made under the old name of a file after we renamed it is another
file, although the rename cannot be taken back then."
  (or fact
      (and (equal operation '(rename))
           (equal (agent-q-diff-file-change-path file)
                  (agent-q-diff-file-change-new-path file))
           (agent-q-diff-operation-exists-p (agent-q-diff-file-change-path file)))))

(defun agent-q-diff-operation-fate (operation is-done)
  "Return what became of a file by OPERATION, as words that follow its name.
IS-DONE is non-nil if it has been done."
  (pcase-exhaustive operation
    ((or `(create ,_) `(link nil ,_)) (if is-done "created" "not created"))
    ((or `(delete ,_) `(link ,_ nil)) (if is-done "deleted" "not deleted"))
    ('(rename) (if is-done "renamed" "not renamed"))
    (`(mode ,before ,after)
     (concat (if is-done "" "not ")
             (if (and (zerop (logand before agent-q-diff-operation--execute))
                      (= after (logior before (logand after agent-q-diff-operation--execute))))
                 "made executable"
               (format "given mode %o" (logand after #o7777)))))
    (`(link ,_ ,after) (format (if is-done "now links to %s" "does not link to %s")
                               (agent-q-diff-visible after)))))

(defun agent-q-diff-operation--n-lines (text)
  "Return the number of lines of TEXT, with the last even if it has no newline."
  (+ (cl-count ?\n text)
     (if (or (string-empty-p text) (string-suffix-p "\n" text)) 0 1)))

(provide 'agent-q-diff-operation)
;;; agent-q-diff-operation.el ends here
