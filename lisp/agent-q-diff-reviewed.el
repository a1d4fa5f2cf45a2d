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
(require 'agent-q-diff-file-change)
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

(defvar agent-q-diff-reviewed--outside (make-hash-table :test #'equal)
  "Table from directories that are in no project to how many were known then.
See `agent-q-diff-reviewed-n-projects'.  They are in no git repository, either.")

(defun agent-q-diff-reviewed--inside-p (directory)
  "Return non-nil if DIRECTORY is in a project, or in a git repository.
In a repository, the first decision begins a record."
  (unless (file-remote-p directory)
    (or (locate-dominating-file directory ".git")
        (let ((n agent-q-diff-reviewed-n-projects))
          (unless (eql n (gethash directory agent-q-diff-reviewed--outside))
            (or (agent-q-diff-reviewed-root-of directory)
                (ignore (puthash directory n agent-q-diff-reviewed--outside))))))))

(defun agent-q-diff-reviewed-look-up (change)
  "Find out which files of CHANGE are in no project, so that no key has to ask."
  (unless (agent-q-diff-change-is-detached change)
    (dolist (directory (seq-uniq
                        (delq nil (mapcar (lambda (file)
                                            (when-let ((path (agent-q-diff-file-change-path file)))
                                              (file-name-directory path)))
                                          (agent-q-diff-change-files change)))))
      (agent-q-diff-reviewed--inside-p directory))))

;;;; What a file holds

(defconst agent-q-diff-reviewed-link #o120000
  "The mode of a symbolic link, as git writes it.")

(defun agent-q-diff-reviewed-unsaved (path)
  "Return (MODE . BYTES), what the file PATH would hold if its buffer were saved.
MODE is as git writes it.  Return nil if no buffer has unsaved edits of it, or
if what is decided about it is written without these."
  (when-let ((buffer (agent-q-diff-file-visitor path)))
    (and (not (file-symlink-p path))
         (not (agent-q-diff-disk-has-copy-p buffer))
         (agent-q-diff-disk-unsaved-p buffer)
         (cons (agent-q-diff-file-git-mode path) (agent-q-diff-reviewed--buffer-bytes buffer)))))

(defun agent-q-diff-reviewed-state (path)
  "Return the present content of the file PATH, (MODE . BYTES).
MODE is as git writes it, 0 for nothing.  If the buffer that visits it has
unsaved edits, BYTES are what it would hold after saving them."
  (or (agent-q-diff-reviewed-unsaved path)
      (if-let ((link (file-symlink-p path)))
          (cons agent-q-diff-reviewed-link (encode-coding-string link 'utf-8-emacs-unix))
        (if (file-exists-p path)
            (cons (agent-q-diff-file-git-mode path) (agent-q-diff-file-bytes path))
          (cons 0 "")))))

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
  "Return the file NAME relative to ROOT, as bytes."
  (encode-coding-string (file-relative-name name root) 'utf-8-emacs-unix))

;;;; What the user saves

(defvar-local agent-q-diff-reviewed--has-undone nil
  "Non-nil if the user has undone or redone edits here since the last save.")
(put 'agent-q-diff-reviewed--has-undone 'permanent-local t)

(defun agent-q-diff-reviewed-note-undo (_symbol value operation _where)
  "Note that this buffer is undone if `undo-in-progress' becomes VALUE.
OPERATION is as for `add-variable-watcher'.  A change hook would be run for
each character that the user types."
  (when (and value (memq operation '(let set)))
    (setq agent-q-diff-reviewed--has-undone t)))

(defvar-local agent-q-diff-reviewed--before nil
  "(ROOT PATH PREPARED) of the file of this buffer before it is saved, or nil.
If that is not known, it is a string that says why.  PREPARED is as from
`agent-q-diff-module-prepare'.")

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
              (list root path
                    (car (agent-q-diff-engine-call #'agent-q-diff-module-prepare
                                                   root nil (list (list path)))))
            ;; It must not stop the save.
            (error (agent-q-diff-error-text err))))))

(defun agent-q-diff-reviewed--take-undone ()
  "Return non-nil if what was saved of this buffer just now has undone edits."
  (prog1 agent-q-diff-reviewed--has-undone
    (setq agent-q-diff-reviewed--has-undone nil)))

(defun agent-q-diff-reviewed--say-not-noted (why)
  "Say that what was saved is not reviewed; WHY is the reason."
  (message "What you saved is pending, since that could not be noted: %s" why))

(defun agent-q-diff-reviewed-before-edit ()
  "Keep the text of this buffer, which gets its first unsaved edit, to merge by.
That is only done in a project that was looked at.  After an edit by a key of a
review, it is found by undoing that."
  (with-current-buffer (or (buffer-base-buffer) (current-buffer))
    ;; An error would keep the user from typing.
    (ignore-errors
      (when (and buffer-file-name
                 (null agent-q-diff-change-in-progress)
                 (agent-q-diff-reviewed-root))
        (agent-q-diff-disk-note-base)))))

(defun agent-q-diff-reviewed-after-save ()
  "Record what the user has changed in the file of this buffer as reviewed."
  (agent-q-diff-disk-drop-base)
  (pcase (prog1 agent-q-diff-reviewed--before
           (setq agent-q-diff-reviewed--before nil))
    ((and (pred stringp) why)
     (agent-q-diff-reviewed--say-not-noted why))
    (`(,root ,path ,prepared)
     (condition-case err
         (agent-q-diff-engine-call
          #'agent-q-diff-module-record
          (list (vector prepared path
                        ;; Otherwise others have written the file since.
                        (unless (verify-visited-file-modtime)
                          (cons (agent-q-diff-file-git-mode buffer-file-name)
                                (agent-q-diff-reviewed--buffer-bytes (current-buffer))))
                        nil (agent-q-diff-reviewed--take-undone))))
       (error (agent-q-diff-reviewed--say-not-noted (agent-q-diff-error-text err))))
     (run-hook-with-args 'agent-q-diff-reviewed-noted-functions root))))

;;;; What is decided
;;
;; What files hold is stored before they change, and what became of them is
;; recorded after that.

(defun agent-q-diff-reviewed-prepare (root files &optional unsaved)
  "Store what FILES hold, since something is taken out of them next.
They are absolute names of files in the project at ROOT.  UNSAVED is a list of
what `agent-q-diff-reviewed-unsaved' returns for those that are decided in their
buffers, and nil for others.

Return a list for `agent-q-diff-reviewed-changed'.  If it cannot be stored,
signal an error that says that nothing is taken out.  FILES must have been
checked with `agent-q-diff-guard-check-inside'."
  (condition-case err
      (agent-q-diff-engine-call
       #'agent-q-diff-module-prepare root (time-convert nil 'integer)
       (seq-map-indexed (lambda (file n)
                          (cons (agent-q-diff-reviewed--relative file root)
                                (nth n unsaved)))
                        files))
    (agent-q-diff-error
     (agent-q-diff-file-refuse
      "nothing is taken out, since it could not be stored before that: %s"
      (agent-q-diff-error-text err)))))

(defun agent-q-diff-reviewed-changed (prepared root name &optional holds before-hooks)
  "Return what became of a file in the project at ROOT, which is called NAME now.
PREPARED is what was stored of it, as from `agent-q-diff-reviewed-prepare'.  The
value, HOLDS and BEFORE-HOOKS are as for `agent-q-diff-module-record'."
  (vector prepared
          (agent-q-diff-reviewed--relative (agent-q-diff-visit-true-place name) root)
          holds before-hooks
          ;; The user's edits, which were saved with that.
          (when-let ((buffer (and (aref prepared 3) (agent-q-diff-file-visitor name))))
            (with-current-buffer buffer
              (agent-q-diff-reviewed--take-undone)))))

(defun agent-q-diff-reviewed-watch (names)
  "Store what the files NAMES hold, of which the user decides what is written.
NAMES are absolute; (OLD . NEW) is a file that gets a new name.  Return a list
of (NEW ROOT PREPARED); ROOT and PREPARED are as for
`agent-q-diff-reviewed-changed'.  Files that are in no project, or cannot be
read, are not in it."
  (when-let* ((names (mapcan (lambda (name)
                               (pcase name
                                 (`(,old . ,new) (list (cons old new)))
                                 ((pred file-symlink-p)
                                  ;; The link may change, or the file that it leads to.
                                  (let ((true (file-truename name)))
                                    (list (cons name name) (cons true true))))
                                 (_ (list (cons name name)))))
                             names))
              (meant (seq-filter (pcase-lambda (`(,old . ,_))
                                   (agent-q-diff-reviewed--inside-p (file-name-directory old)))
                                 names)))
    (cl-loop for (_ . new) in meant
             for found in (agent-q-diff-engine-call
                           #'agent-q-diff-module-watch
                           (mapcar (lambda (name)
                                     (agent-q-diff-visit-true-place (car name)))
                                   meant))
             when found
             collect (pcase-let ((`(,root ,is-recorded . ,prepared) found))
                       (unless is-recorded
                         ;; Buffers of its files can have the project after that.
                         (cl-incf agent-q-diff-reviewed-n-projects))
                       (list new (agent-q-diff-engine-text root) prepared)))))

(defun agent-q-diff-reviewed-note-decided (watched &optional decided)
  "Record as reviewed what the user decided about the files of WATCHED.
That is from `agent-q-diff-reviewed-watch', and the files have changed.  DECIDED
is an alist from their names to (MODE . BYTES), what was decided, for those that
are not just that now."
  (when watched
    (condition-case err
        (progn
          (agent-q-diff-engine-call #'agent-q-diff-module-record
                                    (agent-q-diff-reviewed-watched-now watched decided))
          (agent-q-diff-reviewed-tell-noted watched))
      (error (agent-q-diff-reviewed-say-not-decided (agent-q-diff-error-text err))))))

(defun agent-q-diff-reviewed-watched-now (watched &optional decided)
  "Return what became of the files of WATCHED, for `agent-q-diff-module-record'.
WATCHED and DECIDED are as for `agent-q-diff-reviewed-note-decided'."
  (mapcar (pcase-lambda (`(,name ,root ,prepared))
            (agent-q-diff-reviewed-changed prepared root name (cdr (assoc name decided))))
          watched))

(defun agent-q-diff-reviewed-tell-noted (watched)
  "Tell others of the projects of WATCHED that something was recorded of them.
That is from `agent-q-diff-reviewed-watch'."
  (dolist (root (seq-uniq (mapcar #'cadr watched)))
    (run-hook-with-args 'agent-q-diff-reviewed-noted-functions root)))

(defun agent-q-diff-reviewed-say-not-decided (why)
  "Say that what was decided before it was written is not recorded, and WHY."
  (message "What you decided is asked again, since it could not be noted: %s" why))

(provide 'agent-q-diff-reviewed)
;;; agent-q-diff-reviewed.el ends here
