;;; agent-q-diff-operation.el --- Changes to a file other than to its text  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; To create, delete or rename a file, or to change its mode, its bytes or the
;; target of a link, is called an operation.  Operations are decided like hunks.
;; This file finds out whether one has been done, does it, and undoes it.  In a
;; detached change, an operation is only recorded as done; no file is accessed.
;; An operation is a list as for `agent-q-diff-module-join'.

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
  "Return non-nil if NAME exists, even if it is a broken link."
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
        (`(create . ,_) (and (agent-q-diff-operation-exists-p new)
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
        (`(binary ,before ,after)
         (agent-q-diff-operation--either
          (and (agent-q-diff-file-regular-p new) (agent-q-diff-file-bytes new))
          before after "the file has been changed since"))
        (`(reading ,before ,after)
         (agent-q-diff-operation--read-as-p new before after))
        (`(kind ,before ,after)
         (pcase (agent-q-diff-operation--state new)
           ((pred (agent-q-diff-operation--state-p after)) t)
           ((pred (agent-q-diff-operation--state-p before)) nil)
           (_ "the file has been changed since")))
        (`(link ,before ,after)
         (let ((path (or new old)))
           (agent-q-diff-operation--either
            (or (file-symlink-p path)
                (and (file-exists-p path)
                     ;; A folder may have taken its place.
                     (or after (not (file-directory-p path)))
                     'no-link))
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
     ((or (not (agent-q-diff-operation-exists-p path))
          ;; A folder has taken its place.
          (and (file-directory-p path) (not (file-symlink-p path))))
      t)
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
Return a function without arguments that reverses this.  If it cannot be
done, signal an error; then nothing has changed."
  (agent-q-diff-target-check-write (agent-q-diff-file-change-target file))
  (if (agent-q-diff-file-change-is-detached file)
      (agent-q-diff-operation--note file operation is-in)
    (agent-q-diff-operation--do file operation is-in)))

(defun agent-q-diff-operation--note (file operation is-in)
  "Note that OPERATION of FILE, a detached change, is done.
If IS-IN is nil, note that it is not.  Return a function without arguments
that reverses this."
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
            (`(create ,mode . ,bytes)
             (if is-in
                 (agent-q-diff-operation--create file new mode (car bytes))
               (agent-q-diff-operation--remove-created file new mode (car bytes))))
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
            (`(binary ,before ,after)
             (agent-q-diff-operation--set-bytes file new
                                                (if is-in before after)
                                                (if is-in after before)))
            (`(reading ,before ,after)
             (agent-q-diff-operation--recode file new
                                             (if is-in before after)
                                             (if is-in after before)))
            (`(kind ,before ,after)
             (agent-q-diff-operation--become file new
                                             (if is-in before after)
                                             (if is-in after before)))
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
Both are functions without arguments.  REST is the rest of an operation that
has changed something on disk, and BACK reverses that.  REST can fail: it runs
the user's hooks, and a remote host may be unreachable."
  (let ((is-done nil))
    (unwind-protect
        (prog1 (funcall rest)
          (setq is-done t))
      (unless is-done
        (let ((inhibit-quit t))
          (condition-case err
              (funcall back)
            (error (message "While undoing it: %s" (agent-q-diff-error-text err)))))))))

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

(defun agent-q-diff-operation--create (file path mode &optional bytes)
  "Create PATH, the name of FILE, with MODE and BYTES, by default empty."
  (when (agent-q-diff-operation-exists-p path)
    (agent-q-diff-file-refuse "%s exists already" path))
  (agent-q-diff-operation--in-directories
   path
   (lambda (missing)
     (agent-q-diff-file-write-bytes path (or bytes ""))
     (agent-q-diff-operation--complete
      (lambda ()
        (unless (zerop (logand mode agent-q-diff-operation--execute))
          (set-file-modes path (agent-q-diff-file-executable-modes (file-modes path))))
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

(defun agent-q-diff-operation--remove-created (file path mode &optional bytes)
  "Delete PATH, which was created for FILE with MODE, if it still has BYTES.
By default that is none."
  (unless (and (agent-q-diff-file-regular-p path)
               (agent-q-diff-file-has-bytes-p path (or bytes "")))
    (agent-q-diff-file-refuse "others have written into %s, so it stays" path))
  (delete-file path)
  (agent-q-diff-file-remove-directories (agent-q-diff-file-change-missing file))
  (setf (agent-q-diff-file-change-is-created file) nil)
  (agent-q-diff-operation--note-disk file)
  (lambda ()
    (agent-q-diff-operation--create file path mode bytes)))

(defun agent-q-diff-operation--delete (file path text)
  "Delete PATH, the name of FILE, and keep its content to undo that.
TEXT is its content according to the proposal."
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
  "Restore PATH, the name of FILE, which was deleted.
If others deleted it, make a plain file with TEXT, as the proposal says."
  (pcase-let ((`(,modes . ,bytes)
               (or (agent-q-diff-file-change-deleted file)
                   (cons (logand (default-file-modes) #o666) text))))
    (when (agent-q-diff-operation-exists-p path)
      (if (and (file-directory-p path) (not (file-symlink-p path)))
          (agent-q-diff-file-refuse "%s is a folder now; take out what is in it first" path)
        (agent-q-diff-file-refuse "%s exists already" path)))
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

;;;; Renaming

(defvar agent-q-diff-operation--to-settle nil
  "Functions that `agent-q-diff-operation-settling' calls after its body.")

(defmacro agent-q-diff-operation-settling (&rest body)
  "Run BODY, which carries out operations, and return its value.
What cannot be reversed is done after BODY, and only if it returns: what becomes
of buffers that still have a name which a file got."
  (declare (indent 0) (debug t))
  `(let ((agent-q-diff-operation--to-settle nil))
     (prog1 ,(macroexp-progn body)
       (when agent-q-diff-operation--to-settle
         (agent-q-diff-operation--settle (reverse agent-q-diff-operation--to-settle))))))

(defun agent-q-diff-operation--settle (functions)
  "Call each of FUNCTIONS; show errors, since what was decided is done."
  (let ((inhibit-quit t))
    (dolist (function functions)
      (condition-case err
          (funcall function)
        (error (message "While buffers were brought up to date: %s"
                        (agent-q-diff-error-text err)))))))

(defun agent-q-diff-operation--rename (file from to &optional buffers)
  "Rename FROM, the present name of FILE, to TO; its buffer follows.
BUFFERS is a list of that buffer, or of nil if there is none; by default, look
for it.  If the old buffer of a file that was TO is still there, there is only
one buffer for TO afterwards."
  (when (agent-q-diff-operation-exists-p to)
    (agent-q-diff-file-refuse "%s exists already" to))
  (let* ((stale (agent-q-diff-operation--stale-buffer to))
         (found (if buffers
                    (car buffers)
                  (or (find-buffer-visiting from) (agent-q-diff-file-change-buffer file))))
         (buffer (and (buffer-live-p found) (not (eq found stale)) found)))
    (agent-q-diff-operation--in-directories
     to
     (lambda (missing)
       (let ((restore (if stale
                          (agent-q-diff-operation--make-way stale buffer)
                        #'ignore)))
         (agent-q-diff-operation--complete
          (lambda ()
            (rename-file from to)
            (agent-q-diff-operation--complete
             (lambda ()
               (agent-q-diff-operation--name-buffer file buffer to))
             (lambda ()
               (rename-file to from)
               (agent-q-diff-operation--name-buffer file buffer from))))
          restore)
         ;; Those made for the old name are no longer needed.
         (agent-q-diff-file-remove-directories (agent-q-diff-file-change-missing file))
         (setf (agent-q-diff-file-change-missing file) missing)
         (lambda ()
           (unwind-protect
               (agent-q-diff-operation--rename file to from (list buffer))
             (funcall restore))))))))

(defun agent-q-diff-operation--stale-buffer (name)
  "Return the buffer that visits NAME, which no file has, or nil.
Signal an error if it has unsaved edits: they are in no file."
  (when-let* ((buffer (find-buffer-visiting name))
              ;; Another link may lead elsewhere since it was visited.
              ((equal (file-truename (buffer-file-name buffer)) (file-truename name))))
    (when (buffer-modified-p buffer)
      (agent-q-diff-file-refuse
       "the buffer %s, which has unsaved edits, already visits %s; save it under another name \
or kill it first"
       buffer name))
    buffer))

(defun agent-q-diff-operation--make-way (stale buffer)
  "Let BUFFER have the file name of STALE, whose file is gone.
If BUFFER is nil, STALE keeps it, and later follows the file that gets it.
Otherwise windows show BUFFER instead of STALE, which is killed later, and whose
name BUFFER takes.  Return a function without arguments that reverses this; for
later, see `agent-q-diff-operation-settling'."
  (let* ((name (buffer-name stale))
         (file (buffer-file-name stale))
         (windows (and buffer
                       (mapcar (lambda (window)
                                 (list window (window-point window) (window-start window)))
                               (get-buffer-window-list stale 'nomini t))))
         (settle (if buffer
                     (lambda ()
                       (agent-q-diff-operation--kill stale file)
                       (when (buffer-live-p buffer)
                         (with-current-buffer buffer
                           (agent-q-diff-operation--rename-buffer name))))
                   (lambda ()
                     (when (buffer-live-p stale)
                       (agent-q-diff-disk-sync stale))))))
    (when buffer
      (agent-q-diff-operation--replace-in-windows stale buffer windows)
      (with-current-buffer stale
        (setq buffer-file-name nil)
        (agent-q-diff-operation--rename-buffer (generate-new-buffer-name (concat " " name)))))
    (push settle agent-q-diff-operation--to-settle)
    (lambda ()
      (cl-callf2 remq settle agent-q-diff-operation--to-settle)
      (when (and buffer (buffer-live-p stale))
        (with-current-buffer stale
          (setq buffer-file-name file)
          (agent-q-diff-operation--rename-buffer name))
        (pcase-dolist (`(,window ,point ,start) windows)
          (when (and (window-live-p window) (eq buffer (window-buffer window)))
            (agent-q-diff-operation--show window stale point start)))))))

(defun agent-q-diff-operation--rename-buffer (name)
  "Call the current buffer NAME, as it is, if no other has that name."
  (unless (get-buffer name)
    ;; Uniquify would make a name of its own.
    (dlet ((uniquify-buffer-name-style nil))
      (rename-buffer name))))

(defun agent-q-diff-operation--replace-in-windows (old new windows)
  "Show the buffer NEW in WINDOWS, which show OLD, at the same lines.
Each of WINDOWS is (WINDOW POINT START).  If no window shows NEW, its point goes
to the line of the point of OLD."
  (cl-flet ((same-place (position)
              (let (line column)
                (with-current-buffer old
                  (save-excursion
                    (save-restriction
                      (widen)
                      (goto-char position)
                      (setq line (1- (line-number-at-pos))
                            column (- (point) (line-beginning-position))))))
                (with-current-buffer new
                  (save-excursion
                    (save-restriction
                      (widen)
                      (goto-char (point-min))
                      (forward-line line)
                      (min (+ (point) column) (line-end-position))))))))
    (unless (get-buffer-window new t)
      (let ((place (same-place (with-current-buffer old (point)))))
        (with-current-buffer new
          (goto-char place))))
    (pcase-dolist (`(,window ,point ,start) windows)
      (agent-q-diff-operation--show window new (same-place point) (same-place start)))))

(defun agent-q-diff-operation--show (window buffer point start)
  "Show BUFFER in WINDOW with POINT and START, even if WINDOW is dedicated."
  (let ((is-dedicated (window-dedicated-p window)))
    (set-window-dedicated-p window nil)
    (set-window-buffer window buffer)
    (set-window-dedicated-p window is-dedicated)
    (set-window-start window start t)
    (set-window-point window point)))

(defun agent-q-diff-operation--kill (buffer file)
  "Kill BUFFER, whose file name FILE another has, without a question."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      ;; Hooks may need it.
      (setq buffer-file-name file)
      (let ((kill-buffer-query-functions nil))
        (condition-case err
            (kill-buffer buffer)
          (error
           (message "While an old buffer of %s was killed: %s" file (agent-q-diff-error-text err))
           (let ((kill-buffer-hook nil))
             (kill-buffer buffer))))))))

(defun agent-q-diff-operation--name-buffer (file buffer to)
  "Rename FILE to TO, along with BUFFER, which may be nil or killed."
  (agent-q-diff-target-rename (agent-q-diff-file-change-target file) to)
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (let ((was-modified (buffer-modified-p)))
        (unwind-protect (set-visited-file-name to t t)
          (set-buffer-modified-p was-modified))
        (set-visited-file-modtime)
        (agent-q-diff-disk-note)))))

;;;; Mode, bytes and links

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

(defun agent-q-diff-operation--set-bytes (file path before after)
  "Give PATH, the name of FILE, the bytes AFTER instead of BEFORE."
  (unless (and (agent-q-diff-file-regular-p path)
               (agent-q-diff-file-has-bytes-p path before))
    (agent-q-diff-file-refuse "%s has been changed since" path))
  (let ((buffer (find-buffer-visiting path)))
    (when (and buffer (buffer-modified-p buffer))
      (agent-q-diff-file-refuse "%s has unsaved edits" path))
    (agent-q-diff-file-write-bytes path after)
    (when buffer
      (agent-q-diff-disk-sync buffer)))
  (lambda ()
    (agent-q-diff-operation--set-bytes file path after before)))

(defun agent-q-diff-operation--read-as-p (path before after)
  "Return whether the file PATH is in the coding system AFTER, not in BEFORE.
The value is as from `agent-q-diff-operation-presence'."
  (pcase (and (agent-q-diff-file-regular-p path)
              (agent-q-diff-coding-which path (agent-q-diff-file-bytes path) (list after before)))
    ('nil "the file has been changed since")
    (coding (eq coding after))))

(defun agent-q-diff-operation--recode (file path before after)
  "Let PATH, the name of FILE, be in the coding system AFTER, not in BEFORE."
  (let* ((buffer (find-buffer-visiting path))
         (bytes (and (agent-q-diff-file-regular-p path) (agent-q-diff-file-bytes path))))
    (unless (and bytes
                 (eq before (agent-q-diff-coding-which path bytes (list before after))))
      (agent-q-diff-file-refuse "%s has been changed since" path))
    (when (and buffer (buffer-modified-p buffer))
      (agent-q-diff-file-refuse "%s has unsaved edits" path))
    (agent-q-diff-operation--write-recoded
     file path (agent-q-diff-coding-encode (decode-coding-string bytes before) after) after)
    (lambda ()
      (agent-q-diff-operation--write-recoded file path bytes before))))

(defun agent-q-diff-operation--write-recoded (file path bytes coding)
  "Write BYTES, which are in CODING, into PATH, the name of FILE.
Its buffer, which has the same text, is saved in CODING from then on."
  (agent-q-diff-file-write-bytes path bytes)
  (when-let ((buffer (find-buffer-visiting path)))
    (with-current-buffer buffer
      (set-buffer-file-coding-system coding t t)))
  (agent-q-diff-operation--note-disk file))

(defun agent-q-diff-operation--state (path)
  "Return what is at PATH: (link TARGET), (file PERMISSIONS BYTES) or nil."
  (if-let ((target (file-symlink-p path)))
      (list 'link target)
    (and (agent-q-diff-file-regular-p path)
         (list 'file (file-modes path) (agent-q-diff-file-bytes path)))))

(defun agent-q-diff-operation--state-p (wanted state)
  "Return non-nil if STATE, of a path, is WANTED; both are as in an operation.
Of the permissions, only whether a file can be executed counts."
  (pcase (list wanted state)
    (`((link ,target) (link ,now)) (equal target now))
    (`((file ,mode ,bytes) (file ,mode-now ,bytes-now))
     (and (equal bytes bytes-now)
          (eq (zerop (logand mode agent-q-diff-operation--execute))
              (zerop (logand mode-now agent-q-diff-operation--execute)))))))

(defun agent-q-diff-operation--become (file path before after)
  "Let PATH, the name of FILE, be AFTER, not BEFORE: a file or a symbolic link.
These are as in an operation."
  (let ((now (agent-q-diff-operation--state path)))
    (unless (agent-q-diff-operation--state-p before now)
      (agent-q-diff-file-refuse "%s has been changed since" path))
    (when-let ((buffer (get-file-buffer path)))
      ;; Edits of a file that is a link now are not of what the link leads to.
      (when (and (buffer-modified-p buffer)
                 (eq 'file (car now)))
        (agent-q-diff-file-refuse "%s has unsaved edits" path)))
    (agent-q-diff-operation--put path after)
    (agent-q-diff-operation--complete
     (lambda ()
       (agent-q-diff-target-rename (agent-q-diff-file-change-target file) path)
       (when-let ((buffer (get-file-buffer path)))
         (unless (buffer-modified-p buffer)
           (agent-q-diff-disk-sync buffer))))
     (lambda ()
       (agent-q-diff-operation--put path now)))
    (lambda ()
      (agent-q-diff-operation--become file path after now))))

(defun agent-q-diff-operation--put (path state)
  "Let PATH be STATE, as in an operation, whatever it is now."
  (pcase-exhaustive state
    (`(link ,target) (make-symbolic-link target path t))
    (`(file ,mode ,bytes)
     (let ((target (file-symlink-p path)))
       (when target
         (delete-file path))
       (agent-q-diff-operation--complete
        (lambda ()
          (agent-q-diff-file-write-bytes path bytes)
          (unless (zerop (logand mode agent-q-diff-operation--execute))
            (set-file-modes path (agent-q-diff-file-executable-modes (file-modes path)))))
        (lambda ()
          (when target
            (make-symbolic-link target path t))))))))

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
    (`(kind . ,_) "replaced")
    (`(mode . ,_) (if (agent-q-diff-file-change-has-text file) "modified" "mode"))
    (_ "modified")))

(defun agent-q-diff-operation-creates-executable-p (file)
  "Return non-nil if FILE is new and executable without a hunk for that."
  (pcase (and (null (agent-q-diff-file-change-decided-operations file))
              (car (agent-q-diff-file-change-operations file)))
    (`(create ,mode . ,_) (/= 0 (logand mode agent-q-diff-operation--execute)))))

(defun agent-q-diff-operation-words (operation)
  "Return what OPERATION does, as words for the user and the agent."
  (pcase-exhaustive operation
    (`(create ,mode . ,_) (if (zerop (logand mode agent-q-diff-operation--execute))
                         "new file"
                       "new file, executable"))
    (`(delete ,text) (let ((n (agent-q-diff-operation-n-lines text)))
                       (format (ngettext "delete, %d line" "delete, %d lines" n) n)))
    ('(rename) "rename")
    (`(mode ,before ,after) (format "mode %o → %o" (logand before #o7777)
                                    (logand after #o7777)))
    (`(binary ,before ,after) (format "other bytes, %s → %s"
                                      (file-size-human-readable (length before))
                                      (file-size-human-readable (length after))))
    (`(reading ,before ,after) (agent-q-diff-coding-change-words before after))
    (`(kind ,before ,after) (format "%s → %s" (agent-q-diff-operation--state-words before)
                                    (agent-q-diff-operation--state-words after)))
    (`(link nil ,after) (format "new link to %s" (agent-q-diff-visible after)))
    (`(link ,before nil) (format "delete the link to %s" (agent-q-diff-visible before)))
    (`(link ,before ,after) (format "link to %s → %s" (agent-q-diff-visible before)
                                    (agent-q-diff-visible after)))))

(defun agent-q-diff-operation--state-words (state)
  "Return words for STATE, what a path is, as in an operation."
  (pcase-exhaustive state
    (`(link ,target) (format "link to %s" (agent-q-diff-visible target)))
    (`(file ,mode ,bytes)
     (let ((n (agent-q-diff-operation-n-lines bytes)))
       (format (ngettext "%s, %d line" "%s, %d lines" n)
               (if (zerop (logand mode agent-q-diff-operation--execute))
                   "file"
                 "executable file")
               n)))))

(defun agent-q-diff-operation-contents (operation)
  "Return (BEFORE . AFTER), bytes that are shown as lines of OPERATION.
They are the content of the file before and after it, nil where it is not shown."
  (pcase operation
    (`(delete ,bytes) (list bytes))
    (`(kind ,before ,after)
     (cl-flet ((bytes (state)
                 (pcase state (`(file ,_ ,bytes) bytes))))
       (cons (bytes before) (bytes after))))))

(defun agent-q-diff-operation-noun (operation)
  "Return OPERATION as a noun, which can be followed by the file's name."
  (pcase-exhaustive operation
    ((or `(create . ,_) `(link nil ,_)) "the creation")
    ((or `(delete ,_) `(link ,_ nil)) "the deletion")
    ('(rename) "the renaming")
    (`(mode ,_ ,_) "the mode")
    (`(binary ,_ ,_) "the bytes")
    (`(reading ,_ ,_) "the encoding")
    (`(kind ,_ ,_) "the replacement")
    (`(link ,_ ,_) "the link")))

(defun agent-q-diff-operation-done-p (file operation fact)
  "Return non-nil if OPERATION of FILE is done; FACT is what the engine knows.
OPERATION is nil for a hunk that has lines; then return FACT.
If we renamed FILE and others then made a new file under its old name, the
rename counts as done, although it cannot be undone."
  (or fact
      (and (equal operation '(rename))
           (equal (agent-q-diff-file-change-path file)
                  (agent-q-diff-file-change-new-path file))
           (agent-q-diff-operation-exists-p (agent-q-diff-file-change-path file)))))

(defun agent-q-diff-operation-fate (operation is-done)
  "Return what became of a file by OPERATION, as words that follow its name.
IS-DONE is non-nil if it has been done."
  (pcase-exhaustive operation
    ((or `(create . ,_) `(link nil ,_)) (if is-done "created" "not created"))
    ((or `(delete ,_) `(link ,_ nil)) (if is-done "deleted" "not deleted"))
    ('(rename) (if is-done "renamed" "not renamed"))
    (`(mode ,before ,after)
     (concat (if is-done "" "not ")
             (if (and (zerop (logand before agent-q-diff-operation--execute))
                      (= after (logior before (logand after agent-q-diff-operation--execute))))
                 "made executable"
               (format "given mode %o" (logand after #o7777)))))
    (`(binary ,_ ,_) (if is-done "given other bytes" "not given other bytes"))
    (`(reading ,before ,after)
     (format (if is-done "written anew (%s)" "not written anew (%s)")
             (agent-q-diff-coding-change-words before after)))
    (`(kind ,_ ,after) (format (if is-done "now is a %s" "is no %s")
                               (agent-q-diff-operation--state-words after)))
    (`(link ,_ ,after) (format (if is-done "now links to %s" "does not link to %s")
                               (agent-q-diff-visible after)))))

(defun agent-q-diff-operation-n-lines (text)
  "Return the number of lines of TEXT; the last one may lack its newline."
  (+ (cl-count ?\n text)
     (if (or (string-empty-p text) (string-suffix-p "\n" text)) 0 1)))

(provide 'agent-q-diff-operation)
;;; agent-q-diff-operation.el ends here
