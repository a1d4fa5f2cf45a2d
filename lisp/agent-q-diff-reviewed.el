;;; agent-q-diff-reviewed.el --- Records what of a file is reviewed  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The engine knows what of each file of a project its user has reviewed.  Here
;; it is told what the user saves in Emacs, what is decided before it is
;; written, and what a file holds before something is taken out of it.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-text)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-target)
(require 'agent-q-diff-change)

(defvar agent-q-diff-reviewed-noted-functions nil
  "Abnormal hook called with the root of a project of which something was noted.")

;;;; Projects that were looked at

(defvar agent-q-diff-reviewed-n-projects 0
  "Number of projects that were looked at in this Emacs.")

(defvar-local agent-q-diff-reviewed--known-root nil
  "The root of the project of this buffer's file, or nil if that is not known.
A number means that it had none when so many projects were known: the mode
line asks at each redisplay, and that is found out on disk.")

(defun agent-q-diff-reviewed-root ()
  "Return the root of the project of this buffer if it was looked at, or nil."
  (let ((n agent-q-diff-reviewed-n-projects))
    (unless (or (stringp agent-q-diff-reviewed--known-root)
                (eql n agent-q-diff-reviewed--known-root))
      (setq agent-q-diff-reviewed--known-root
            (or (and (not (file-remote-p default-directory))
                     (agent-q-diff-reviewed-root-of (expand-file-name default-directory)))
                n))))
  (and (stringp agent-q-diff-reviewed--known-root)
       agent-q-diff-reviewed--known-root))

(defun agent-q-diff-reviewed-root-of (directory)
  "Return the root of the project that DIRECTORY is in, if it was looked at.
That is its repository, or a nearer folder without git that is a project.
Without the engine, none was."
  (condition-case nil
      (when-let ((root (agent-q-diff-engine-call #'agent-q-diff-module-recorded-root
                                                 directory)))
        (file-name-as-directory (agent-q-diff-engine-text root)))
    (agent-q-diff-no-module nil)))

(defun agent-q-diff-reviewed-path (root)
  "Return the name of this buffer's file below ROOT, or nil if it is elsewhere."
  (let ((name (file-truename buffer-file-name)))
    ;; Both have no links in them.
    (and (string-prefix-p root name)
         (file-relative-name name root))))

;;;; What a file holds

(defconst agent-q-diff-reviewed-link #o120000
  "The mode of a symbolic link, as git writes it.")

(defun agent-q-diff-reviewed-state (path)
  "Return the present content of the file PATH, (MODE . BYTES).
MODE is as git writes it, 0 for nothing.  If the buffer that visits it has
unsaved edits, BYTES are what it would hold after saving them."
  (let ((buffer (find-buffer-visiting path)))
    (if (and buffer
             (not (file-symlink-p path))
             (agent-q-diff-disk-unsaved-p buffer))
        (cons (agent-q-diff-file-git-mode path) (agent-q-diff-reviewed--buffer-bytes buffer))
      (agent-q-diff-reviewed--state-on-disk path))))

(defun agent-q-diff-reviewed--state-on-disk (path)
  "Return (MODE . BYTES) of what is at PATH on disk.
See `agent-q-diff-reviewed-state'."
  (if-let ((link (file-symlink-p path)))
      (cons agent-q-diff-reviewed-link (encode-coding-string link 'utf-8-emacs-unix))
    (agent-q-diff-reviewed--on-disk path)))

(defun agent-q-diff-reviewed--on-disk (path)
  "Return (MODE . BYTES) of the file PATH, which is no link."
  (if (file-exists-p path)
      (cons (agent-q-diff-file-git-mode path) (agent-q-diff-file-bytes path))
    (cons 0 "")))

(defun agent-q-diff-reviewed--buffer-bytes (buffer)
  "Return the bytes that the file of BUFFER would have if it were saved.
If its coding system cannot encode its text, they are UTF-8."
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (let ((coding (agent-q-diff-coding-of-buffer)))
        (agent-q-diff-coding-buffer-bytes
         (if (agent-q-diff-coding-unencodable (point-min) (point-max) coding)
             'utf-8-emacs-unix
           coding))))))

(defun agent-q-diff-reviewed--relative (name root)
  "Return the file NAME, which may be a link, relative to ROOT, as bytes."
  (encode-coding-string
   (file-relative-name (agent-q-diff-visit-true-place name) root)
   'utf-8-emacs-unix))

(defun agent-q-diff-reviewed--states (root paths &optional now)
  "Return the contents of the files PATHS, a list of [PATH MODE BYTES].
There, PATH is relative to ROOT, and encoded.  NOW are the names that these
files have now, by default PATHS."
  (cl-mapcar (lambda (path now)
               (pcase-let ((`(,mode . ,bytes) (agent-q-diff-reviewed-state now)))
                 (vector (encode-coding-string (file-relative-name path root)
                                               'utf-8-emacs-unix)
                         mode bytes)))
             paths (or now paths)))

;;;; What the user saves

(defvar-local agent-q-diff-reviewed--before nil
  "(ROOT PATH MODE . TEXT) of the file of this buffer before it is saved, or nil.
If that is not known, it is a string that says why.  The engine reads the file:
for a large one, that is much faster than here.  See
`agent-q-diff-module-before-save'.")

(defun agent-q-diff-reviewed-before-save ()
  "Have the engine keep the file of this buffer, if its project was looked at."
  (setq agent-q-diff-reviewed--before nil)
  ;; What we save is decided.
  (when-let* ((root (and buffer-file-name
                         (null agent-q-diff-change-in-progress)
                         (null agent-q-diff-file-is-watched)
                         (agent-q-diff-reviewed-root)))
              (path (agent-q-diff-reviewed-path root)))
    (setq agent-q-diff-reviewed--before
          (condition-case err
              (append (list root path)
                      (agent-q-diff-engine-call #'agent-q-diff-module-before-save root path))
            ;; It must not stop the save.
            (error (agent-q-diff-error-text err))))))

(defun agent-q-diff-reviewed--say-not-noted (why)
  "Say that what was saved is not reviewed; WHY is the reason."
  (message "What you saved is pending, since that could not be noted: %s" why))

(defun agent-q-diff-reviewed-after-save ()
  "Record what the user has changed in the file of this buffer as reviewed."
  (pcase (prog1 agent-q-diff-reviewed--before
           (setq agent-q-diff-reviewed--before nil))
    ((and (pred stringp) why)
     (agent-q-diff-reviewed--say-not-noted why))
    (`(,root ,path ,mode . ,text)
     (condition-case err
         (apply #'agent-q-diff-engine-call #'agent-q-diff-module-note-saved-from
                root path mode text
                (if (verify-visited-file-modtime)
                    (list nil nil)
                  ;; Others have written the file since.
                  (list (agent-q-diff-file-git-mode buffer-file-name)
                        (agent-q-diff-reviewed--buffer-bytes (current-buffer)))))
       (error (agent-q-diff-reviewed--say-not-noted (agent-q-diff-error-text err))))
     (run-hook-with-args 'agent-q-diff-reviewed-noted-functions root))))

;;;; What is decided before it is written

(defun agent-q-diff-reviewed-watch-decisions ()
  "From now on, record what is decided before it is written as reviewed.
That is in projects of which there is a record; an agent's hook may have begun
it although nobody has looked at the project in this Emacs."
  (setq agent-q-diff-file-watch-function #'agent-q-diff-reviewed-watch))

(defun agent-q-diff-reviewed-watch (names)
  "Return a function that records as reviewed what is changed in the files NAMES.
See `agent-q-diff-file-watch-function'.  Return nil if none is in a project
that was looked at."
  (when-let ((before (delq nil (mapcan #'agent-q-diff-reviewed--watched names))))
    (lambda (decided)
      (pcase-dolist (`(,root ,old ,new . ,state) before)
        (agent-q-diff-reviewed--note-decided root old new state
                                            (cdr (assoc new decided)))))))

(defun agent-q-diff-reviewed--watched (name)
  "Return what is known of NAME, which is about to change.
NAME is a file, or (OLD . NEW) for one that gets a new name.  The value is a
list of nil or (ROOT OLD NEW MODE . BYTES): it holds BYTES with MODE, and is in
the project at ROOT."
  (cl-flet ((state-of (old new)
              (when-let* ((root (and (not (file-remote-p old))
                                     (agent-q-diff-reviewed-root-of
                                      (file-name-directory old))))
                          (state (ignore-errors (agent-q-diff-reviewed--state-on-disk old))))
                (append (list root old new) state))))
    (pcase name
      (`(,old . ,new) (list (state-of old new)))
      ((and (pred stringp) (guard (file-symlink-p name)))
       ;; The link may change, or the file that it leads to.
       (let ((true (file-truename name)))
         (list (state-of name name) (state-of true true))))
      ((pred stringp) (list (state-of name name))))))

(defun agent-q-diff-reviewed--note-decided (root old new before decided)
  "Record what was decided about the file OLD in the project at ROOT as reviewed.
It is called NEW now.  BEFORE is what it held, and DECIDED what was decided,
both (MODE . BYTES).  If DECIDED is nil, that is what it holds now."
  (condition-case err
      (let ((after (or decided (agent-q-diff-reviewed--state-on-disk new)))
            (path (agent-q-diff-reviewed--relative old root))
            (new-path (agent-q-diff-reviewed--relative new root)))
        (cond
         ((not (equal old new))
          (agent-q-diff-engine-call
           #'agent-q-diff-module-note-renamed root
           (list (vector path (car before) (cdr before))
                 (vector new-path (car after) (cdr after)))))
         ((not (equal before after))
          (agent-q-diff-engine-call #'agent-q-diff-module-note-saved root path
                                    (car before) (cdr before) (car after) (cdr after))))
        (run-hook-with-args 'agent-q-diff-reviewed-noted-functions root))
    (error (message "What you decided is asked again, since it could not be noted: %s"
                    (agent-q-diff-error-text err)))))

;;;; What is taken out
;;
;; It is stored before that, for `agent-q-diff-taken-out'.

(defun agent-q-diff-reviewed-note-taking-out (root paths)
  "Store what the files PATHS hold, since something is taken out of them next.
They are in the project at ROOT.  If that fails, signal an error that says
that nothing is taken out.  So does a path that leads out of the project."
  (dolist (path paths)
    (agent-q-diff-guard-check-inside path root))
  (when-let ((states (seq-remove (lambda (state) (= 0 (aref state 1)))
                                 (agent-q-diff-reviewed--states root paths))))
    (condition-case err
        (agent-q-diff-engine-call #'agent-q-diff-module-note-taking-out
                                   root (time-convert nil 'integer) states)
      (agent-q-diff-error
       (agent-q-diff-file-refuse
        "nothing is taken out, since it could not be stored before that: %s"
        (agent-q-diff-error-text err))))))

(defun agent-q-diff-reviewed-note-left (root paths &optional now)
  "Record what the files PATHS hold, of which something was taken out.
They are in the project at ROOT.  NOW are the names that they have by now, by
default PATHS.  They are changed, so if that fails, only warn."
  (when paths
    (condition-case err
        (agent-q-diff-engine-call #'agent-q-diff-module-note-left
                                   root (agent-q-diff-reviewed--states root paths now))
      (agent-q-diff-error
       (agent-q-diff-base-warn
        (format "What is left in the files was not recorded: %s"
                (agent-q-diff-error-text err)))))))

(defun agent-q-diff-reviewed-unsaved (path)
  "Return (BUFFER PATH SAVED . NEW) if a buffer has unsaved edits of the file PATH.
SAVED is what the file holds, NEW what it would hold; both are (MODE . BYTES)."
  (when-let ((buffer (find-buffer-visiting path)))
    (when (agent-q-diff-disk-unsaved-p buffer)
      (append (list buffer path (agent-q-diff-reviewed--state-on-disk path))
              (agent-q-diff-reviewed-state path)))))

(defun agent-q-diff-reviewed-note-saved (root unsaved)
  "Record the user's edits of UNSAVED as reviewed if they are saved now.
They are then saved with what was taken out.  UNSAVED is as from
`agent-q-diff-reviewed-unsaved'; the file is in the project at ROOT."
  (pcase-let ((`(,buffer ,path (,mode . ,bytes) ,new-mode . ,new-bytes) unsaved))
    (when (and (buffer-live-p buffer)
               (not (buffer-modified-p buffer)))
      (agent-q-diff-engine-call #'agent-q-diff-module-note-saved root
                                 (agent-q-diff-reviewed--relative path root)
                                 mode bytes new-mode new-bytes))))

(defun agent-q-diff-reviewed-note-hooked (root paths)
  "Record what the user's hooks changed in the latest save as reviewed.
If it was of one of the files PATHS, these are in the project at ROOT."
  (pcase agent-q-diff-apply-text-before-hooks
    (`(,buffer . ,text)
     (when-let ((path (and (buffer-live-p buffer)
                           (not (buffer-modified-p buffer))
                           (seq-find (lambda (path)
                                       (eq buffer (find-buffer-visiting path)))
                                     paths))))
       (let ((state (agent-q-diff-reviewed--on-disk path)))
         (agent-q-diff-engine-call
          #'agent-q-diff-module-note-saved root (agent-q-diff-reviewed--relative path root)
          (car state)
          (agent-q-diff-coding-encode text (with-current-buffer buffer
                                             (agent-q-diff-coding-of-buffer)))
          (car state) (cdr state)))))))

(provide 'agent-q-diff-reviewed)
;;; agent-q-diff-reviewed.el ends here
