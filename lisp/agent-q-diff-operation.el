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
        ((guard (agent-q-diff-operation--blocked-p file)) nil)
        (`(create ,_) (and (agent-q-diff-operation-exists-p new)
                           (or (agent-q-diff-file-change-is-created file)
                               "there is another file of that name")))
        ('(rename)
         (pcase (list (agent-q-diff-operation--taken-p old new)
                      (agent-q-diff-operation--taken-p new old))
           ('(t nil) nil)
           ('(nil t) t)
           ('(t t) (if (equal new (agent-q-diff-file-change-path file))
                       "its old name is taken again"
                     "its new name is taken"))
           (_ "there is no file under either name")))
        (`(mode ,before ,after)
         (let ((mode (agent-q-diff-operation--mode (agent-q-diff-file-change-path file)
                                                   before after)))
           (cond
            ((null mode) "the file does not exist any more")
            ((equal mode after) t)
            ((equal mode before) nil)
            (t "its mode has been changed since"))))
        (`(reading ,before ,after)
         (agent-q-diff-operation--read-as-p new before after))
        (_ (agent-q-diff-operation--has-become (or new old) operation))))))

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

(defun agent-q-diff-operation-new-state (state)
  "Return STATE, as in an operation, with the modes that a new file gets by it."
  (pcase state
    (`(file ,mode ,bytes)
     (let ((modes (logand #o666 (default-file-modes))))
       (list 'file
             (if (zerop (logand mode agent-q-diff-operation--execute))
                 modes
               (agent-q-diff-file-executable-modes modes))
             bytes)))
    (_ state)))

(defun agent-q-diff-operation--states (operation)
  "Return (BEFORE . AFTER), what a path is by OPERATION.
Either is a state: nil for nothing, (link TARGET), or (file MODES BYTES).  MODES
are those that the file gets if it is new; nil means the default ones."
  (pcase-exhaustive operation
    (`(create ,mode . ,bytes)
     (cons nil (agent-q-diff-operation-new-state (list 'file mode (or (car bytes) "")))))
    (`(delete ,bytes) (list (list 'file nil bytes)))
    (`(binary ,before ,after) (list (list 'file nil before) 'file nil after))
    (`(kind ,before ,after) (cons (agent-q-diff-operation-new-state before)
                                  (agent-q-diff-operation-new-state after)))
    (`(link ,before ,after) (cons (and before (list 'link before))
                                  (and after (list 'link after))))))

(defun agent-q-diff-operation--folder-p (path)
  "Return non-nil if PATH is a folder, and no link to one."
  (and (file-directory-p path)
       (not (file-symlink-p path))))

(defun agent-q-diff-operation--taken-p (name other)
  "Return non-nil if a file cannot be called NAME; it is called OTHER.
It can be if NAME is a folder, and OTHER is in it."
  (and (agent-q-diff-operation-exists-p name)
       (not (and (string-prefix-p (file-name-as-directory name) other)
                 (agent-q-diff-operation--folder-p name)))))

(defun agent-q-diff-operation--blocked-p (file)
  "Return non-nil if what the change of FILE takes away for it is still there."
  (let ((name (agent-q-diff-file-change-in-place-of file)))
    (or (agent-q-diff-file-change-link-above file)
        (and name
             (equal name (agent-q-diff-file-change-new-path file))
             (agent-q-diff-operation--folder-p name)))))

(defun agent-q-diff-operation--state (path)
  "Return the state that PATH is in, as in `agent-q-diff-operation--states'.
It is nil also if PATH is no file, such as a folder."
  (cond
   ((file-symlink-p path) (list 'link (file-symlink-p path)))
   ((agent-q-diff-file-regular-p path)
    (list 'file (file-modes path) (agent-q-diff-file-bytes path)))))

(defun agent-q-diff-operation--in-state-p (path state other)
  "Return non-nil if PATH is in STATE; see `agent-q-diff-operation--states'.
OTHER is the state that it has before or after that.  If there is something in
both, it counts, too, whether a file can be executed."
  (pcase-exhaustive state
    ('nil (not (agent-q-diff-operation-exists-p path)))
    (`(link ,target) (equal target (file-symlink-p path)))
    (`(file ,modes ,bytes)
     (and (not (file-symlink-p path))
          (agent-q-diff-file-regular-p path)
          (or (null modes)
              (null other)
              (eq (zerop (logand modes agent-q-diff-operation--execute))
                  (zerop (logand (file-modes path) agent-q-diff-operation--execute))))
          (agent-q-diff-file-has-bytes-p path bytes)))))

(defun agent-q-diff-operation--has-become (path operation)
  "Return whether OPERATION of PATH has been done.
The value is as from `agent-q-diff-operation-presence'."
  (pcase-let* ((`(,before . ,after) (agent-q-diff-operation--states operation))
               (buffer (and (null after) (agent-q-diff-file-visitor path))))
    (cond
     ((agent-q-diff-operation--in-state-p path after before) t)
     ;; A folder has taken its place.
     ((and (null after) (agent-q-diff-operation--folder-p path)) t)
     ((and buffer (buffer-modified-p buffer) (not (file-symlink-p path)))
      "its buffer has unsaved edits")
     ((agent-q-diff-operation--in-state-p path before after) nil)
     ((null before) "there is another file of that name")
     (t "the file has been changed since"))))

;;;; Doing it

(defun agent-q-diff-operation-carry-out (file operation is-in)
  "Do OPERATION of FILE, or undo it if IS-IN is nil.
Return a function without arguments that reverses this.  If it cannot be
done, signal an error; then nothing has changed."
  (when-let ((link (agent-q-diff-file-change-link-above file)))
    (agent-q-diff-file-refuse "%s is a link now, which has to go first" link))
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
            ('(rename)
             (if is-in
                 (agent-q-diff-operation--rename file old new)
               (agent-q-diff-operation--rename file new old)))
            (`(mode ,before ,after)
             (agent-q-diff-operation--set-mode file (if is-in after before)
                                               (logxor before after)))
            (`(reading ,before ,after)
             (agent-q-diff-operation--recode file new
                                             (if is-in before after)
                                             (if is-in after before)))
            (_
             (pcase-let ((`(,before . ,after) (agent-q-diff-operation--states operation)))
               (agent-q-diff-operation--become
                file (or new old)
                (if is-in before after)
                (cond
                 (is-in after)
                 ;; It may have been in more than the proposal says, such as its mode.
                 ((null after) (or (agent-q-diff-file-change-deleted file) before))
                 (t before))))))
        (setf (agent-q-diff-file-change-is-edited file) t)))))

(defun agent-q-diff-operation--check-disk (file)
  "Refuse to touch FILE if others have written it and its buffer does not know."
  (let ((buffer (agent-q-diff-file-change-buffer file)))
    (when (buffer-live-p buffer)
      (when-let ((message (agent-q-diff-disk-message buffer (agent-q-diff-disk-state buffer))))
        (agent-q-diff-file-refuse "%s" message)))))

(defvar agent-q-diff-operation-is-merged nil
  "Non-nil if unsaved edits are merged with the files after the operations.
That is done of what is in the files already: see `agent-q-diff-target-merge'.")

(defun agent-q-diff-operation--check-saved (path buffer)
  "Refuse to change the file PATH on disk if BUFFER has unsaved edits of it.
BUFFER may be nil."
  (when (and buffer
             (buffer-modified-p buffer)
             (not agent-q-diff-operation-is-merged))
    (agent-q-diff-file-refuse "%s has unsaved edits" path)))

(defun agent-q-diff-operation--make-directories (path)
  "Make the missing directories above PATH, and return them, innermost first."
  (let ((missing (agent-q-diff-file-missing-directories path)))
    (when missing
      (unless agent-q-diff-create-directories
        (agent-q-diff-file-refuse "there is no directory %s; create it first"
                                  (file-name-directory path)))
      (agent-q-diff-file-check-directories path)
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
  (when (agent-q-diff-operation--taken-p to from)
    (agent-q-diff-file-refuse "%s exists already" to))
  (agent-q-diff-operation--aside
   from to
   (lambda (aside)
     (agent-q-diff-operation--rename-from file from aside to buffers))))

(defun agent-q-diff-operation--aside (from to function)
  "Call FUNCTION with the name that FROM, which is to be TO, has meanwhile.
That is FROM, unless one of the two is a folder in the name of the other.  If
FUNCTION does not return, the file is called FROM again."
  (if (not (or (string-prefix-p (file-name-as-directory from) to)
               (string-prefix-p (file-name-as-directory to) from)))
      (funcall function from)
    (let ((aside (make-temp-name (if (string-prefix-p to from) to from))))
      (rename-file from aside)
      (agent-q-diff-operation--complete
       (lambda ()
         (when (agent-q-diff-operation--folder-p to)
           (agent-q-diff-operation--remove-empty to))
         (funcall function aside))
       (lambda ()
         (make-directory (file-name-directory from) t)
         (rename-file aside from))))))

(defun agent-q-diff-operation--rename-from (file from aside to buffers)
  "Rename FROM to TO; it is called ASIDE meanwhile.
FILE and BUFFERS are as for `agent-q-diff-operation--rename'."
  (let* ((stale (agent-q-diff-operation--stale-buffer to))
         (found (if buffers
                    (car buffers)
                  (or (agent-q-diff-file-visitor from) (agent-q-diff-file-change-buffer file))))
         (buffer (and (buffer-live-p found) (not (eq found stale)) found)))
    (agent-q-diff-operation--in-directories
     to
     (lambda (missing)
       (let ((restore (if stale
                          (agent-q-diff-operation--make-way stale buffer)
                        #'ignore)))
         (agent-q-diff-operation--complete
          (lambda ()
            (rename-file aside to)
            (agent-q-diff-operation--complete
             (lambda ()
               (agent-q-diff-operation--name-buffer file buffer to))
             (lambda ()
               (rename-file to aside)
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
  (when-let* ((buffer (agent-q-diff-file-visitor name))
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

(defun agent-q-diff-operation--read-as-p (path before after)
  "Return whether the file PATH is in the coding system AFTER, not in BEFORE.
The value is as from `agent-q-diff-operation-presence'."
  (pcase (and (agent-q-diff-file-regular-p path)
              (agent-q-diff-coding-which path (agent-q-diff-file-bytes path) (list after before)))
    ('nil "the file has been changed since")
    (coding (eq coding after))))

(defun agent-q-diff-operation--recode (file path before after)
  "Let PATH, the name of FILE, be in the coding system AFTER, not in BEFORE."
  (let* ((buffer (agent-q-diff-file-visitor path))
         (bytes (and (agent-q-diff-file-regular-p path) (agent-q-diff-file-bytes path))))
    (unless (and bytes
                 (eq before (agent-q-diff-coding-which path bytes (list before after))))
      (agent-q-diff-file-refuse "%s has been changed since" path))
    (agent-q-diff-operation--check-saved path buffer)
    (agent-q-diff-operation--write-recoded
     file path (agent-q-diff-coding-encode (decode-coding-string bytes before) after) after)
    (lambda ()
      (agent-q-diff-operation--write-recoded file path bytes before))))

(defun agent-q-diff-operation--write-recoded (file path bytes coding)
  "Write BYTES, which are in CODING, into PATH, the name of FILE.
Its buffer, which has the same text, is saved in CODING from then on."
  (agent-q-diff-file-write-bytes path bytes)
  (let* ((target (agent-q-diff-file-change-target file))
         (before (agent-q-diff-target-coding target))
         (copy (and (agent-q-diff-target-copied target) (agent-q-diff-target-buffer target)))
         (buffer (agent-q-diff-file-visitor path)))
    (setf (agent-q-diff-target-coding target) coding)
    (cond
     ((buffer-live-p copy) (agent-q-diff-disk-set-coding copy coding))
     ;; Unsaved edits are merged, and the coding system with them.
     ((or (null buffer) (buffer-modified-p buffer)))
     ((or (null before) (agent-q-diff-disk-shows-p buffer before 'strictly))
      (with-current-buffer buffer
        (set-buffer-file-coding-system coding t t)
        ;; It is not the user's choice, by which all that is written later would be read.
        (setq buffer-file-coding-system-explicit nil)))
     (t (agent-q-diff-disk-sync buffer))))
  (agent-q-diff-operation--note-disk file))

(defun agent-q-diff-operation--become (file path before after)
  "Let PATH, the name of FILE, be in the state AFTER, not in BEFORE.
See `agent-q-diff-operation--states'."
  (when (and after (agent-q-diff-operation--blocked-p file))
    (agent-q-diff-operation--remove-empty path))
  (agent-q-diff-operation--check-state file path before after)
  (let ((now (if (and before after (null (nth 1 before)))
                 before
               (agent-q-diff-operation--state path))))
    (if after
        (agent-q-diff-operation--in-directories
         path
         (lambda (missing)
           (agent-q-diff-operation--complete
            (lambda ()
              (agent-q-diff-operation--put path after)
              (agent-q-diff-operation--note-become file path))
            (lambda ()
              (unless (equal now (agent-q-diff-operation--state path))
                (agent-q-diff-operation--put path now))))
           (unless now
             (setf (agent-q-diff-file-change-missing file) missing))))
      (agent-q-diff-file-delete path (not (agent-q-diff-file-change-is-created file)))
      (setf (agent-q-diff-file-change-deleted file) now)
      (agent-q-diff-file-remove-directories (agent-q-diff-file-change-missing file))
      (agent-q-diff-operation--note-become file path))
    (unless (agent-q-diff-file-change-old-path file)
      (setf (agent-q-diff-file-change-is-created file) (and after t)))
    (lambda ()
      (agent-q-diff-operation--become file path after now))))

(defconst agent-q-diff-operation--folder-message
  "%s is a folder now; what is in it has to go first"
  "Why there can be no file, as a format for its name.")

(defun agent-q-diff-operation--remove-empty (path)
  "Remove the folder PATH, in which there are only empty folders, or refuse that."
  (let ((folders nil))
    (cl-labels ((collect (folder)
                  (dolist (name (directory-files folder t directory-files-no-dot-files-regexp))
                    (unless (agent-q-diff-operation--folder-p name)
                      (agent-q-diff-file-refuse agent-q-diff-operation--folder-message path))
                    (collect name))
                  (push folder folders)))
      (collect path))
    ;; The innermost ones were found first.
    (mapc #'delete-directory (nreverse folders))))

(defun agent-q-diff-operation--check-state (file path state other)
  "Refuse to let PATH, the name of FILE, be OTHER unless it is in STATE.
Both are states as in `agent-q-diff-operation--states'."
  (unless (agent-q-diff-operation--in-state-p path state other)
    (agent-q-diff-file-refuse
     (cond
      (state (if (and (eq 'file (car state)) (agent-q-diff-file-change-is-created file))
                 "others have written into %s, so it stays"
               "%s has been changed since"))
      ((agent-q-diff-operation--folder-p path)
       agent-q-diff-operation--folder-message)
      (t "%s exists already"))
     path))
  ;; Edits of what a link leads to are not of the link.
  (when (and (eq 'file (car state))
             (not (agent-q-diff-file-change-is-created file)))
    (agent-q-diff-operation--check-saved path (agent-q-diff-file-visitor path))))

(defun agent-q-diff-operation--note-become (file path)
  "Let what Emacs knows of PATH, the name of FILE, follow what it is now."
  (agent-q-diff-target-rename (agent-q-diff-file-change-target file) path)
  (if (buffer-live-p (agent-q-diff-file-change-buffer file))
      (agent-q-diff-operation--note-disk file)
    (when-let ((buffer (agent-q-diff-file-visitor path)))
      (unless (buffer-modified-p buffer)
        (agent-q-diff-disk-sync buffer)))))

(defun agent-q-diff-operation--put (path state)
  "Let PATH be in STATE, whatever it is now; it is no folder."
  (pcase-exhaustive state
    ('nil (agent-q-diff-file-delete path))
    (`(link ,target)
     (agent-q-diff-file-note-modes path)
     (make-symbolic-link target path t))
    (`(file ,modes ,bytes)
     (when (file-symlink-p path)
       (delete-file path))
     (agent-q-diff-file-write-bytes path bytes)
     (when modes
       (set-file-modes path (agent-q-diff-file-modes-again path modes))))))

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

(defun agent-q-diff-operation--readings (before after)
  "Return what differs between the coding systems BEFORE and AFTER of a file.
That is an alist from nouns to words for the change."
  (cl-flet ((eol (coding)
              (pcase (coding-system-eol-type coding) (1 "CRLF") (2 "CR") (_ "LF")))
            (has-mark (coding)
              (string-match-p "with-signature" (symbol-name (coding-system-base coding))))
            (base (coding)
              (string-remove-suffix "-with-signature"
                                    (symbol-name (coding-system-base coding)))))
    (delq nil
          (list (unless (equal (eol before) (eol after))
                  (cons "the change of line ends"
                        (format "line ends %s → %s" (eol before) (eol after))))
                (unless (eq (null (has-mark before)) (null (has-mark after)))
                  (cons "the byte order mark"
                        (if (has-mark after) "a byte order mark" "no byte order mark")))
                (unless (equal (base before) (base after))
                  (cons "the encoding"
                        (format "coding %s → %s" (base before) (base after))))))))

(defun agent-q-diff-operation--reading-words (before after)
  "Return words for the change of a file from the coding system BEFORE to AFTER."
  (mapconcat #'cdr (agent-q-diff-operation--readings before after) ", "))

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
    (`(reading ,before ,after) (agent-q-diff-operation--reading-words before after))
    (`(kind ,before ,after) (format "%s → %s" (agent-q-diff-operation--state-words before)
                                    (agent-q-diff-operation--state-words after)))
    (`(link nil ,after) (format "new link to %s" (agent-q-diff-visible-name after)))
    (`(link ,before nil) (format "delete the link to %s" (agent-q-diff-visible-name before)))
    (`(link ,before ,after) (format "link to %s → %s" (agent-q-diff-visible-name before)
                                    (agent-q-diff-visible-name after)))))

(defun agent-q-diff-operation--state-words (state)
  "Return words for STATE, what a path is, as in an operation."
  (pcase-exhaustive state
    (`(link ,target) (format "link to %s" (agent-q-diff-visible-name target)))
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
    ((and `(create ,_ ,bytes)
          (guard (not (or (string-empty-p bytes) (string-search "\0" bytes)))))
     (cons nil bytes))
    ;; Text whose lines and line ends cannot be told apart.
    ((and `(binary ,before ,after)
          (guard (not (string-search "\0" (concat before after)))))
     (cons before after))
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
    (`(reading ,before ,after)
     (pcase (agent-q-diff-operation--readings before after)
       (`((,noun . ,_)) noun)
       (_ "the encoding")))
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
             (agent-q-diff-operation--reading-words before after)))
    (`(kind ,_ ,after) (format (if is-done "now is a %s" "is no %s")
                               (agent-q-diff-operation--state-words after)))
    (`(link ,_ ,after) (format (if is-done "now links to %s" "does not link to %s")
                               (agent-q-diff-visible-name after)))))

(defun agent-q-diff-operation-n-lines (text)
  "Return the number of lines of TEXT; the last one may lack its newline."
  (+ (cl-count ?\n text)
     (if (or (string-empty-p text) (string-suffix-p "\n" text)) 0 1)))

(provide 'agent-q-diff-operation)
;;; agent-q-diff-operation.el ends here
