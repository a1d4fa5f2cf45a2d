;;; agent-q-diff-target.el --- The file that a review changes, and its buffer: visited, edited, saved  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A target is a file and the buffer that visits it or, if it is detached,
;; only a text in a buffer of its own.  This file knows which buffer that
;; is, keeps it in step with its file, and says whether it may be written
;; and whether edits are saved.  It knows nothing of hunks.
;;
;; It carries out what a command has planned: all edits are one undo step,
;; and are saved if requested, as `save-buffer' does, hooks included; but
;; nothing is asked, and the file is replaced as a whole or not at all.  If
;; anything fails, the buffer is as it was.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-visit)

;;; Saving

;;;; Checks

(defun agent-q-diff-save--check-writable (buffer)
  "Refuse BUFFER if its file cannot be written.
Create the file's directory if it is missing and may be created."
  (let* ((file (buffer-file-name buffer))
         (directory (file-name-directory file)))
    (unless (file-directory-p directory)
      (unless agent-q-diff-create-directories
        (agent-q-diff-file-refuse "there is no directory %s; create it first"
                                  directory))
      (agent-q-diff-file-check-directories file)
      (make-directory directory t))
    (unless (file-writable-p file)
      (agent-q-diff-file-refuse "%s cannot be written" file))))

(defun agent-q-diff-save--check-faithful (buffer)
  "Refuse BUFFER if saving it would change bytes that nobody has edited.
That happens if a file with mixed line ends was visited as CRLF, or if its
coding system does not encode the text to the same bytes again."
  (with-current-buffer buffer
    (unless (or (buffer-modified-p)
                ;; The user has asked for other bytes.
                save-buffer-coding-system
                (and agent-q-diff-coding-chosen
                     (eq agent-q-diff-coding-chosen buffer-file-coding-system))
                (agent-q-diff-disk-ours-p buffer)
                write-region-annotate-functions
                (agent-q-diff-save--same-bytes-p))
      (agent-q-diff-file-refuse
       "saving %s would change bytes elsewhere; C-x RET r utf-8-unix RET in its buffer shows them"
       buffer-file-name))))

(defun agent-q-diff-save--same-bytes-p ()
  "Return non-nil if the current buffer's text, saved, would be its file's bytes.
A file that does not exist has no bytes that could change."
  (let ((coding (agent-q-diff-coding-of-buffer)))
    (or (and (agent-q-diff-coding-plain-p coding)
             (eq 0 (coding-system-eol-type coding)))
        (not (file-exists-p buffer-file-name))
        (agent-q-diff-file-has-bytes-p buffer-file-name
                                       (agent-q-diff-coding-buffer-bytes coding)))))

;;; Saving

(defun agent-q-diff-save--put (file)
  "Write the text of the current buffer to FILE, which nobody else knows.
If a coding system may not hold every text, the bytes that are written are
checked first."
  (let ((coding (agent-q-diff-coding-of-buffer)))
    (if (or (agent-q-diff-coding-plain-p coding)
            write-region-annotate-functions)
        (let ((create-lockfiles nil))
          (write-region nil nil file nil 'silent))
      (agent-q-diff-coding-choose nil nil)
      (agent-q-diff-file-put (agent-q-diff-base-widened
                               (agent-q-diff-coding-encode (buffer-string) coding))
                             'no-conversion file)
      (setq last-coding-system-used coding))))

(defun agent-q-diff-target--check-editable (buffer)
  "Refuse BUFFER if editing it would ask a question or fail."
  (let* ((file (buffer-file-name buffer))
         (holder (and file (agent-q-diff-disk-lock-holder file))))
    (cond
     ((buffer-local-value 'buffer-read-only buffer)
      (agent-q-diff-file-refuse
       "%s is read-only; C-x C-q in its buffer makes it writable"
       (agent-q-diff-text-buffer-name buffer)))
     ((null file))
     (holder
      (agent-q-diff-file-refuse "%s is locked by %s" file holder))
     (t (when-let ((message (agent-q-diff-disk-message
                             buffer (agent-q-diff-disk-state buffer))))
          (agent-q-diff-file-refuse "%s" message))))))

(defun agent-q-diff-save--write (check done)
  "Write the current buffer to its file as a whole or not at all.
CHECK is a function or nil, called just before the file is replaced.  DONE
is a function that is called as soon as the file is written, whatever
happens then."
  (let ((name (file-truename buffer-file-name))
        coding)
    (agent-q-diff-file-check-regular name)
    (when (file-exists-p name)
      (let ((backup-by-copying t))
        (backup-buffer)))
    (agent-q-diff-file-replace (file name)
      (progn
        (agent-q-diff-save--put file)
        (setq coding last-coding-system-used))
      (progn
        (when check
          (funcall check))
        (agent-q-diff-target--check-editable (current-buffer)))
      (set-buffer-modified-p nil)
      (set-buffer-auto-saved)
      (funcall done)
      ;; Last, since on another host these can fail.
      (set-visited-file-modtime)
      (agent-q-diff-disk-note 'written))
    ;; `basic-save-buffer' makes this the buffer's coding system.
    (setq last-coding-system-used coding)))

(defvar agent-q-diff-save-of-new nil
  "Non-nil while a file is saved that is deleted next if it is empty.
Then no hook may put anything into it.")

(defun agent-q-diff-save-buffer (buffer &optional check done)
  "Save BUFFER without a question and without adding a final newline.
Hooks run as for `save-buffer', but the file is replaced as a whole or not
at all.  CHECK is as for `agent-q-diff-apply--carry-out'.  DONE is a
function or nil, called as soon as we have written the file."
  (if (and agent-q-diff-save-of-new (zerop (buffer-size buffer)))
      (with-current-buffer buffer
        (agent-q-diff-save--write check (or done #'ignore)))
    (agent-q-diff-save--with-hooks buffer check done)))

(defun agent-q-diff-save--with-hooks (buffer check done)
  "Do what `agent-q-diff-save-buffer' does with BUFFER, CHECK and DONE, with hooks."
  (with-current-buffer buffer
    (let* ((is-ours nil)
           (writer (lambda ()
                     (agent-q-diff-save--write check
                                               (lambda ()
                                                 (setq is-ours t)
                                                 (when done
                                                   (funcall done))))
                     t)))
      ;; Last, so that other functions that write files come first.
      (add-hook 'write-file-functions writer 100 t)
      (unwind-protect (agent-q-diff-save--run (lambda () is-ours))
        (remove-hook 'write-file-functions writer t))
      (unless (or is-ours (buffer-live-p buffer))
        (agent-q-diff-file-refuse "a hook has killed the buffer before it was saved"))
      ;; A hook may have edited the buffer again after it was saved.
      (unless (or is-ours (not (buffer-modified-p)))
        (agent-q-diff-file-refuse "%s could not be saved" buffer-file-name))
      (unless is-ours
        (agent-q-diff-disk-note)))))

(defvar agent-q-diff-apply-may-hold-quit nil
  "Non-nil if a quit is to wait once an edit is made, until it is recorded.
Who binds this also binds `inhibit-quit'.")

(defmacro agent-q-diff-apply-hold-quit ()
  "Have a quit wait, since an edit is made, if that may be."
  '(when agent-q-diff-apply-may-hold-quit
     (setq inhibit-quit t)))

(defun agent-q-diff-save--run (written-p)
  "Call `basic-save-buffer' so that it asks nothing, in the buffer's coding system.
An error after the text is on disk does not undo it; it is only shown.
WRITTEN-P is a function that returns non-nil if we have written the file."
  (let ((require-final-newline nil)
        (mode-require-final-newline nil)
        (coding-system-for-write nil)
        (select-safe-coding-system-function #'agent-q-diff-coding-choose)
        (save-silently t))
    (condition-case err
        (progn
          (agent-q-diff-visit-with-safe-git
            (basic-save-buffer nil))
          (agent-q-diff-apply-hold-quit))
      ((error quit)
       (when (and (buffer-modified-p) (not (funcall written-p)))
         (signal (car err) (cdr err)))
       (agent-q-diff-apply-hold-quit)
       (message "Saved, but a hook failed: %s" (error-message-string err))))))

;;; Edits as one undo step

(defun agent-q-diff-apply--carry-out (buffer texts edit save check)
  "Call EDIT in BUFFER as one undo step, and save it if SAVE is non-nil.
TEXTS are the strings that EDIT inserts.  CHECK is nil or a function that
is called just before the file is replaced, and signals an error if the
file must not be written.  If anything fails, saving included, signal an
error and leave BUFFER as it was.

Return the tick of BUFFER after the edit and before saving, so that what
a hook changes while saving is not mistaken for our edit."
  (agent-q-diff-file-uncached
    (let ((missing (and save
                        (not (file-exists-p (buffer-file-name buffer)))
                        (agent-q-diff-file-missing-directories
                         (buffer-file-name buffer))))
          (tick nil)
          (is-done nil))
      (unwind-protect
          (progn
            (agent-q-diff-target--check-editable buffer)
            (when save
              (agent-q-diff-save--check-writable buffer)
              (agent-q-diff-save--check-faithful buffer))
            (dolist (text texts)
              (agent-q-diff-coding-check-text buffer text))
            (agent-q-diff-apply--as-one-step
             buffer
             (lambda (keep)
               (save-excursion
                 (funcall edit))
               (setq tick (agent-q-diff-base-tick buffer))
               (when save
                 (agent-q-diff-apply--saving
                  buffer (lambda () (agent-q-diff-save-buffer buffer check keep))))))
            (setq is-done t)
            tick)
        (unless is-done
          (agent-q-diff-file-remove-directories missing))))))

(defvar agent-q-diff-apply-text-before-hooks nil
  "(BUFFER . TEXT) from before the first edit of a hook in the latest save, or nil.")

(defun agent-q-diff-apply--saving (buffer function)
  "Save BUFFER by calling FUNCTION, and note what hooks change meanwhile."
  (let ((note (lambda (&rest _)
                (unless agent-q-diff-apply-text-before-hooks
                  (setq agent-q-diff-apply-text-before-hooks
                        (cons buffer (agent-q-diff-text-in buffer)))))))
    (setq agent-q-diff-apply-text-before-hooks nil)
    (with-current-buffer buffer
      (add-hook 'before-change-functions note nil t))
    (unwind-protect (funcall function)
      (agent-q-diff-base-with-live buffer
        (remove-hook 'before-change-functions note t)))))

(defun agent-q-diff-apply--as-one-step (buffer function)
  "Call FUNCTION in BUFFER so that its edits there are one undo step.
If FUNCTION does not return, BUFFER is as it was before.  FUNCTION gets
one argument, a function without arguments.  Once it has called that, the
edit is on disk and stays, even if a hook kills BUFFER or throws past us."
  (with-current-buffer buffer
    (undo-boundary)
    (let ((group (prepare-change-group))
          (is-kept nil)
          ;; As in `atomic-change-group': garbage collection must not
          ;; truncate the undo list that is needed to go back.
          (undo-outer-limit nil)
          (undo-limit most-positive-fixnum)
          (undo-strong-limit most-positive-fixnum))
      (unwind-protect
          (progn
            (activate-change-group group)
            (funcall function (lambda () (setq is-kept t)))
            (setq is-kept t)
            (agent-q-diff-apply-hold-quit))
        (when (buffer-live-p buffer)
          (if is-kept
              (accept-change-group group)
            (cancel-change-group group))))
      (agent-q-diff-base-with-live buffer
        (undo-amalgamate-change-group group)
        (undo-boundary)))))

(defun agent-q-diff-apply-edits (buffer edits save &optional offsets check)
  "Make EDITS in BUFFER as one undo step, and save it if SAVE is non-nil.
EDITS is a list of (LINE N-REMOVED TEXT), last line first.  Lines are
counted from 0 in the whole buffer.  OFFSETS is nil or (TOTAL . LIST),
with the number of characters before each edit; LIST is used only if
BUFFER has TOTAL characters.  CHECK, errors and value are as for
`agent-q-diff-apply--carry-out'."
  (agent-q-diff-apply--carry-out
   buffer (mapcar #'caddr edits)
   (lambda () (agent-q-diff-text-replace-lines edits offsets))
   save check))

(defun agent-q-diff-apply-replacement (buffer spans text save &optional check)
  "Replace each of SPANS of BUFFER by TEXT as one undo step.
SPANS is a sorted list of disjoint (START . END), characters counted from
0 in the whole buffer.  If SAVE is non-nil, save BUFFER.  CHECK, errors and
value are as for `agent-q-diff-apply--carry-out'."
  (agent-q-diff-apply--carry-out
   buffer (list text)
   (lambda ()
     (agent-q-diff-base-widened
       (pcase-dolist (`(,start . ,end) (reverse spans))
         (agent-q-diff-text-replace-span (1+ start) (1+ end) text))))
   save check))

;;; The target

(cl-defstruct (agent-q-diff-target (:constructor agent-q-diff-target-create)
                                   (:copier nil))
  "The file that is changed, and the buffer that visits it."
  (path nil :documentation "Absolute name of the file, or nil.")
  (truename nil :documentation "The file's `file-truename' when it was first visited.")
  (buffer nil :documentation "The buffer, or nil until it is needed.")
  (copied nil :documentation "The user's buffer, if BUFFER is a copy of what its file has, else nil.
See `agent-q-diff-disk-copy'.")
  (put-off nil :documentation "Attributes of the file when visiting it was put off, or nil.")
  (coding nil :documentation "Its coding system, as far as its text does not tell that, or nil.")
  (lost nil :documentation "`deleted' or `moved' if that befell the file while no buffer visited it.")
  (is-new nil :documentation "Non-nil if the buffer was created for the review.")
  (is-detached nil :documentation "Non-nil if the target is a text, or a name, not a file.")
  (is-created nil :documentation "Non-nil if the review created the file.")
  (missing nil :documentation "Directories created with the file, innermost first.")
  (has-followed nil :documentation "Non-nil if the buffer has followed its file, and nobody was told.
It is a number if unsaved edits were merged with the file: that of conflicts.")
  (disk-state nil :documentation "What `agent-q-diff-disk-sync' returned last, or nil.")
  (disk nil :documentation "List of the attributes of the file when the review began, or nil.")
  (hash nil :documentation "Hash of the file's bytes when the review began, for the log, or nil.")
  (check nil :documentation "Function called before each edit by the review, or nil."))

;;;; The buffer

(defun agent-q-diff-target-detached (name text check)
  "Return a new detached target: TEXT in a buffer of its own.
NAME is an absolute file name, which determines the buffer's mode.  CHECK,
a function or nil, is called before each edit."
  (agent-q-diff-target-create
   :path name :is-detached t :is-new t :check check
   :buffer (agent-q-diff-visit-detached name text)))

(defun agent-q-diff-target-visit (target)
  "Visit the file of TARGET and return its buffer.
A buffer without unsaved edits follows its file."
  (agent-q-diff-file-uncached
    (let ((path (agent-q-diff-target-path target)))
      (unless path
        (signal 'agent-q-diff-bad-target
                '("the diff has no target; set its path first")))
      (agent-q-diff-file-clean-up)
      (unless (agent-q-diff-target-truename target)
        (setf (agent-q-diff-target-truename target) (agent-q-diff-file-truename path)))
      (pcase-let ((`(,buffer . ,is-new) (agent-q-diff-visit path))
                  (old (agent-q-diff-target-buffer target)))
        (agent-q-diff-disk-watch buffer is-new)
        (when (and (agent-q-diff-target-copied target) (buffer-live-p old))
          (agent-q-diff-disk-drop-copy old))
        (setf (agent-q-diff-target-copied target)
              (and (agent-q-diff-target--wants-copy-p target buffer) buffer))
        (when (agent-q-diff-target-copied target)
          (setq buffer (agent-q-diff-disk-copy buffer (agent-q-diff-target-coding target))))
        (setf (agent-q-diff-target-lost target)
              ;; Visiting it was put off, or it is visited again after its buffer was killed.
              (and (or (agent-q-diff-target-put-off target)
                       (and old
                            (or (car (agent-q-diff-target-disk target))
                                (agent-q-diff-target-is-created target))))
                   (agent-q-diff-target--lost-now target))
              (agent-q-diff-target-buffer target) buffer
              (agent-q-diff-target-disk target) (or (agent-q-diff-target-disk target)
                                                    (and (agent-q-diff-target-put-off target)
                                                         (list (agent-q-diff-target-put-off
                                                                target))))
              (agent-q-diff-target-put-off target) nil
              (agent-q-diff-target-is-new target) is-new)
        (agent-q-diff-target-sync target)
        (agent-q-diff-target--complete-coding target)
        buffer))))

(defun agent-q-diff-target--wants-copy-p (target buffer)
  "Return non-nil if the change of TARGET is in its file, but not in BUFFER.
BUFFER visits that file.  It has unsaved edits, or has read the file in another
way; if it only has not followed its file yet, it does so first."
  (when-let ((coding (agent-q-diff-target-coding target)))
    (or (agent-q-diff-disk-behind-p buffer)
        (and (not (agent-q-diff-disk-shows-p buffer coding 'strictly))
             (progn
               (unless (agent-q-diff-disk-formatted-p buffer)
                 (agent-q-diff-target--follow target buffer))
               (not (agent-q-diff-disk-shows-p buffer coding
                                               (agent-q-diff-target-copied target))))))))

(defun agent-q-diff-target--follow (target buffer)
  "Let BUFFER, which visits the file of TARGET, follow it.
Return what `agent-q-diff-disk-sync' does."
  (let ((is-ours (agent-q-diff-visit-ours-p buffer))
        (state (agent-q-diff-disk-sync buffer)))
    (when (eq state 'followed)
      (when is-ours
        (agent-q-diff-visit-note buffer))
      (setf (agent-q-diff-target-has-followed target) t))
    state))

(defun agent-q-diff-target-visitor (target)
  "Return the buffer in which the user has TARGET, or nil."
  (or (agent-q-diff-target-copied target)
      (agent-q-diff-target-buffer target)))

(defun agent-q-diff-target--complete-coding (target)
  "Let the buffer of TARGET be saved in its coding system if the text has none."
  (when-let ((coding (agent-q-diff-target-coding target)))
    (with-current-buffer (agent-q-diff-target-buffer target)
      (setq buffer-file-coding-system
            (agent-q-diff-coding-completed (agent-q-diff-text-in (current-buffer))
                                           (or buffer-file-coding-system 'undecided)
                                           coding)))))

(defun agent-q-diff-target--lost-now (target)
  "Return `deleted' or `moved' if the name of TARGET has lost its file, or nil."
  (let ((path (agent-q-diff-target-path target)))
    (cond
     ((not (file-exists-p path)) 'deleted)
     ((not (equal (agent-q-diff-target-truename target) (agent-q-diff-file-truename path))) 'moved))))

;;;; Visiting later

(defun agent-q-diff-target-put-off-visit (target know-text)
  "Put off visiting the file of TARGET if its text can be known without that.
Call KNOW-TEXT with the file's true name, and return what it returns: nil if
only visiting the file shows what text it has.  Return nil at once if a
buffer visits it already."
  (agent-q-diff-file-uncached
    (let* ((truename (agent-q-diff-visit-truename (agent-q-diff-target-path target)))
           (found (and (file-regular-p truename)
                       (file-readable-p truename)
                       (not (find-file-name-handler truename 'insert-file-contents))
                       (file-attributes truename)))
           (attributes (and found
                            (not (agent-q-diff-disk-visitor truename found))
                            (agent-q-diff-disk-attributes truename found)))
           (known (and attributes (funcall know-text truename))))
      (when known
        (setf (agent-q-diff-target-truename target) truename
              (agent-q-diff-target-put-off target) attributes)
        known))))

(defun agent-q-diff-target-can-wait-p (target)
  "Return non-nil if visiting the file of TARGET was put off, and still can be.
Then the file has the text that it had."
  (and (agent-q-diff-target-put-off target)
       (agent-q-diff-file-uncached
         (let ((truename (agent-q-diff-target-truename target)))
           (and (equal (agent-q-diff-target-put-off target)
                       (agent-q-diff-disk-attributes truename))
                (equal truename (agent-q-diff-file-truename (agent-q-diff-target-path target)))
                (not (agent-q-diff-disk-visitor truename)))))))

(defun agent-q-diff-target-text (target)
  "Return the text of TARGET, which was visited or can wait, or nil."
  (cond
   ((buffer-live-p (agent-q-diff-target-buffer target))
    (agent-q-diff-text-in (agent-q-diff-target-buffer target)))
   ((agent-q-diff-target-can-wait-p target)
    (agent-q-diff-coding-plain-text (agent-q-diff-target-truename target)))))

(defun agent-q-diff-target-live-p (target)
  "Return non-nil if the buffer of TARGET is alive and still visits its file."
  (let ((buffer (agent-q-diff-target-buffer target))
        (path (agent-q-diff-target-path target)))
    (and (buffer-live-p buffer)
         (cond
          ((agent-q-diff-target-is-detached target))
          ((agent-q-diff-target-copied target)
           (agent-q-diff-disk-copy-needed-p buffer path (agent-q-diff-target-coding target)))
          (t (and (buffer-file-name buffer)
                  (or (equal (buffer-file-name buffer) path)
                      (eq buffer (agent-q-diff-file-visitor path)))
                  (not (agent-q-diff-target--wants-copy-p target buffer))))))))

(defun agent-q-diff-target-close (target is-edited)
  "Close the buffer of TARGET unless somebody needs it.
Delete a file that the review created if it is empty.  IS-EDITED is non-nil
if the review has edited the target; if the file still exists, its buffer
then stays, so that the edits can be undone."
  (let* ((buffer (agent-q-diff-target-buffer target))
         (is-gone (and (agent-q-diff-target-is-created target)
                       (agent-q-diff-visit-delete-empty
                        buffer (agent-q-diff-target-missing target)))))
    (cond
     ((agent-q-diff-target-is-detached target)
      (when buffer
        (kill-buffer buffer)))
     ((agent-q-diff-target-copied target)
      (if (agent-q-diff-target-is-new target)
          (agent-q-diff-visit-close (agent-q-diff-target-copied target) is-edited)
        (agent-q-diff-visit-keep (agent-q-diff-target-copied target)))
      (when (buffer-live-p buffer)
        (agent-q-diff-disk-drop-copy buffer)))
     ((not (agent-q-diff-target-is-new target)))
     ((or is-gone (not is-edited))
      (agent-q-diff-visit-close buffer is-edited))
     (t (agent-q-diff-visit-keep buffer)))))

;;;; The file

(defun agent-q-diff-target-sync (target)
  "Let the buffer of TARGET follow its file if it has no unsaved edits.
Record the outcome in TARGET."
  (unless (agent-q-diff-target-is-detached target)
    ;; The file may be back.
    (when (agent-q-diff-target-lost target)
      (setf (agent-q-diff-target-lost target) (agent-q-diff-target--lost-now target)))
    (let ((state (or (agent-q-diff-target-lost target)
                     (agent-q-diff-target--follow target (agent-q-diff-target-buffer target)))))
      (setf (agent-q-diff-target-disk-state target)
            (and (not (eq state 'followed)) state)))))

(defun agent-q-diff-target-told-followed (target)
  "Return words that say how the buffer of TARGET has followed its file, or nil.
They are to be appended to a message, and the user is told only once."
  (pcase (prog1 (agent-q-diff-target-has-followed target)
           (setf (agent-q-diff-target-has-followed target) nil))
    ('nil nil)
    ('0 "; your unsaved edits were merged with the file")
    ((and (pred integerp) n)
     (format (ngettext "; of your unsaved edits, %d is in conflict with the file, marked there"
                       "; of your unsaved edits, %d are in conflict with the file, marked there"
                       n)
             n))
    (_ "; the file had changed on disk, and its buffer was updated")))

(defun agent-q-diff-target-disk-message (target)
  "Return why the buffer of TARGET no longer has its file's text, or nil."
  (cond
   ((eq 'deleted (agent-q-diff-target-lost target))
    (format "%s was deleted or renamed after it was proposed to change it"
            (agent-q-diff-visible-name (agent-q-diff-target-path target))))
   ((agent-q-diff-target-put-off target)
    (unless (agent-q-diff-target-can-wait-p target)
      (format "%s has changed since the proposal, and cannot be visited"
              (agent-q-diff-visible-name (agent-q-diff-target-path target)))))
   (t (agent-q-diff-disk-message (agent-q-diff-target-buffer target)
                                 (agent-q-diff-target-disk-state target)))))

(defun agent-q-diff-target--why-elsewhere (path truename buffer)
  "Return why PATH no longer leads to TRUENAME, a string, or nil if it does.
BUFFER visits the file, or is nil."
  (agent-q-diff-file-uncached
    (unless (equal truename (agent-q-diff-file-truename path))
      (if buffer
          (agent-q-diff-disk-message buffer 'moved)
        (format "%s leads elsewhere now, through a link" (agent-q-diff-visible-name path))))))

(defun agent-q-diff-target-why-away (target)
  "Return why the name of TARGET, which was visited, is not its file now, or nil.
The name must still lead to the same file as when the review began."
  (agent-q-diff-file-uncached
    (cond
     ((agent-q-diff-target-is-detached target) nil)
     ((agent-q-diff-target--why-elsewhere (agent-q-diff-target-path target)
                                          (agent-q-diff-target-truename target)
                                          (agent-q-diff-target-buffer target)))
     ;; Its buffer, which is empty, would be a new file.
     ((and (agent-q-diff-target-lost target)
           (agent-q-diff-target--lost-now target))
      (agent-q-diff-target-disk-message target)))))

(defun agent-q-diff-target-check-write (target)
  "Signal an error if the file of TARGET must not be written.
Its name must be that of its file, and its check must pass, if it has one."
  (agent-q-diff-file-uncached
    (when-let ((why (agent-q-diff-target-why-away target)))
      (signal 'agent-q-diff-bad-target (list why)))
    (when (agent-q-diff-target-check target)
      (funcall (agent-q-diff-target-check target)))))

(defun agent-q-diff-target--save-check (target)
  "Return a function to call right before the file of TARGET is replaced.
It signals an error if the file must not be written after all."
  (let ((path (agent-q-diff-target-path target))
        (truename (agent-q-diff-target-truename target))
        (buffer (agent-q-diff-target-buffer target))
        (check (agent-q-diff-target-check target)))
    (lambda ()
      (when-let ((why (agent-q-diff-target--why-elsewhere path truename buffer)))
        (signal 'agent-q-diff-bad-target (list why)))
      (when check
        (funcall check)))))

(defun agent-q-diff-target-rename (target path)
  "Record that the file of TARGET, and its buffer, are now called PATH."
  (setf (agent-q-diff-target-path target) path
        (agent-q-diff-target-truename target) (agent-q-diff-file-truename path)))

;;;; Edits

(defun agent-q-diff-target-saves-p (target)
  "Return non-nil if an edit of TARGET by the review is to be saved."
  (pcase-exhaustive (cond
                     ((agent-q-diff-target-is-detached target) 'never)
                     ((agent-q-diff-target-copied target) 'always)
                     (t agent-q-diff-save))
    ('always t)
    ('if-clean (not (agent-q-diff-disk-unsaved-p (agent-q-diff-target-buffer target))))
    ('never nil)))

(defun agent-q-diff-target-edit (target edits offsets)
  "Make EDITS in TARGET, and save it if `agent-q-diff-target-saves-p'.
EDITS and OFFSETS are as in `agent-q-diff-apply-edits'.  Return the
buffer's tick from before saving.  Record in TARGET whether this created
its file and directories."
  (agent-q-diff-file-uncached
    (agent-q-diff-target-check-write target)
    (when (and (agent-q-diff-target-copied target)
               (eq agent-q-diff-save 'never)
               (buffer-modified-p (agent-q-diff-target-copied target)))
      (agent-q-diff-target--refuse-to-save target))
    (let* ((path (agent-q-diff-target-path target))
           (is-saving (agent-q-diff-target-saves-p target))
           (was-missing (and is-saving (not (file-exists-p path))))
           (missing (and was-missing (agent-q-diff-file-missing-directories path)))
           (agent-q-diff-save-of-new (or agent-q-diff-save-of-new
                                         (agent-q-diff-target-is-created target)))
           ;; The content of a file that the review created needs no backup.
           (make-backup-files (and make-backup-files
                                   (not (agent-q-diff-target-is-created target)))))
      (prog1 (agent-q-diff-apply-edits (agent-q-diff-target-buffer target)
                                       edits is-saving offsets
                                       (agent-q-diff-target--save-check target))
        (when (agent-q-diff-target-copied target)
          (agent-q-diff-disk-hide-copy (agent-q-diff-target-buffer target)))
        (when (and was-missing (file-exists-p path))
          (setf (agent-q-diff-target-is-created target) t
                (agent-q-diff-target-missing target) missing))))))

;;;; Unsaved edits

(defun agent-q-diff-target--refuse-to-save (target)
  "Signal an error, since TARGET is a copy and saving is left to the user.
The user's buffer has both texts then, so that it can be saved."
  (agent-q-diff-target-merge target)
  (agent-q-diff-file-refuse
   "agent-q-diff-save is `never', and %s has unsaved edits; \
what was written is in there now, so save it first"
   (buffer-name (agent-q-diff-target-copied target))))

(defun agent-q-diff-target--visiting (target)
  "Return the user's buffer that visits the file of TARGET, or nil."
  (let ((buffer (agent-q-diff-target-visitor target)))
    (if (buffer-live-p buffer)
        buffer
      (agent-q-diff-file-visitor (agent-q-diff-target-path target)))))

(defun agent-q-diff-target-check-mergeable (target)
  "Signal an error if TARGET has unsaved edits that cannot be merged with its file."
  (when-let ((buffer (agent-q-diff-target--visiting target)))
    (agent-q-diff-disk-check-mergeable buffer)))

(defun agent-q-diff-target--follow-copy (target)
  "Let the user's buffer of TARGET follow its file, which a copy has written."
  (when-let ((buffer (agent-q-diff-target-copied target)))
    (when (and (buffer-live-p buffer)
               (not (buffer-modified-p buffer))
               (not (agent-q-diff-disk-formatted-p buffer)))
      (let ((has-followed (agent-q-diff-target-has-followed target)))
        (agent-q-diff-target--follow target buffer)
        ;; It has the user's own decision.
        (setf (agent-q-diff-target-has-followed target) has-followed)))))

(defun agent-q-diff-target-merge (target &optional is-new)
  "Merge unsaved edits of the file of TARGET with what the file has now.
Record that the user has to be told of it.  A buffer without such edits that
shows the file in another way follows it.  An error is shown: what was decided
is done.  IS-NEW is as for `agent-q-diff-disk-merge'."
  (when-let ((buffer (agent-q-diff-target--visiting target)))
    (condition-case err
        (if-let ((n (agent-q-diff-disk-merge buffer is-new)))
            (setf (agent-q-diff-target-has-followed target) n)
          (agent-q-diff-target--follow-copy target))
      (error
       (agent-q-diff-base-warn (format "The unsaved edits in %s are not merged with the file: %s"
                                       (agent-q-diff-visible (buffer-name buffer))
                                       (agent-q-diff-error-text err)))))))

(provide 'agent-q-diff-target)
;;; agent-q-diff-target.el ends here
