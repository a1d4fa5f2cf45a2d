;;; agent-q-diff-target.el --- The file that a review changes, and its buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A target is a file and the buffer that visits it or, if it is detached,
;; only a text in a buffer of its own.  This file knows which buffer that
;; is, keeps it in step with its file, and says whether it may be written
;; and whether edits are saved.  It knows nothing of hunks.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-visit)
(require 'agent-q-diff-apply)

(cl-defstruct (agent-q-diff-target (:constructor agent-q-diff-target-create)
                                   (:copier nil))
  "The file that is changed, and the buffer that visits it."
  (path nil :documentation "Absolute name of the file, or nil.")
  (truename nil :documentation "The file's `file-truename' when it was first visited.")
  (buffer nil :documentation "The buffer, or nil until it is needed.")
  (put-off nil :documentation "Attributes of the file when visiting it was put off, or nil.")
  (lost nil :documentation "`deleted' or `moved' if that befell the file while no buffer visited it.")
  (is-new nil :documentation "Non-nil if the buffer was created for the review.")
  (is-detached nil :documentation "Non-nil if the target is a text, or a name, not a file.")
  (is-created nil :documentation "Non-nil if the review created the file.")
  (missing nil :documentation "Directories created with the file, innermost first.")
  (has-followed nil :documentation "Non-nil if the buffer has followed its file, and nobody was told.")
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
        (setf (agent-q-diff-target-truename target) (file-truename path)))
      (pcase-let ((`(,buffer . ,is-new) (agent-q-diff-visit path)))
        (agent-q-diff-disk-watch buffer is-new)
        (setf (agent-q-diff-target-lost target) (and (agent-q-diff-target--had-file-p target)
                                                     (agent-q-diff-target--lost-now target))
              (agent-q-diff-target-buffer target) buffer
              (agent-q-diff-target-disk target) (or (agent-q-diff-target-disk target)
                                                    (and (agent-q-diff-target-put-off target)
                                                         (list (agent-q-diff-target-put-off
                                                                target))))
              (agent-q-diff-target-put-off target) nil
              (agent-q-diff-target-is-new target) is-new)
        (agent-q-diff-target-sync target)
        buffer))))

(defun agent-q-diff-target--had-file-p (target)
  "Return non-nil if there was a file of TARGET, which is about to be visited.
Visiting it was put off, or it is visited again after its buffer was killed."
  (or (agent-q-diff-target-put-off target)
      (and (agent-q-diff-target-buffer target)
           (or (car (agent-q-diff-target-disk target))
               (agent-q-diff-target-is-created target)))))

(defun agent-q-diff-target--lost-now (target)
  "Return `deleted' or `moved' if the name of TARGET has lost its file, or nil."
  (let ((path (agent-q-diff-target-path target)))
    (cond
     ((not (file-exists-p path)) 'deleted)
     ((not (equal (agent-q-diff-target-truename target) (file-truename path))) 'moved))))

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
                            (agent-q-diff-disk-attributes-among found)))
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
                (equal truename (file-truename (agent-q-diff-target-path target)))
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
         (or (agent-q-diff-target-is-detached target)
             (and (buffer-file-name buffer)
                  (or (equal (buffer-file-name buffer) path)
                      (eq buffer (find-buffer-visiting path))))))))

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
    (let* ((buffer (agent-q-diff-target-buffer target))
           (is-ours (and (buffer-live-p buffer) (agent-q-diff-visit-ours-p buffer)))
           (state (or (agent-q-diff-target-lost target)
                      (agent-q-diff-disk-sync buffer))))
      (when (and is-ours (eq state 'followed))
        (agent-q-diff-visit-note buffer))
      (when (eq state 'followed)
        (setf (agent-q-diff-target-has-followed target) t))
      (setf (agent-q-diff-target-disk-state target)
            (and (not (eq state 'followed)) state)))))

(defun agent-q-diff-target-told-followed (target)
  "Return non-nil if the buffer of TARGET has followed its file; reset that.
Call this when you tell the user."
  (prog1 (agent-q-diff-target-has-followed target)
    (setf (agent-q-diff-target-has-followed target) nil)))

(defun agent-q-diff-target-disk-message (target)
  "Return why the buffer of TARGET no longer has its file's text, or nil."
  (cond
   ((eq 'deleted (agent-q-diff-target-lost target))
    (format "%s was deleted or renamed after it was proposed to change it"
            (agent-q-diff-visible (agent-q-diff-target-path target))))
   ((agent-q-diff-target-put-off target)
    (unless (agent-q-diff-target-can-wait-p target)
      (format "%s has changed since the proposal, and cannot be visited"
              (agent-q-diff-visible (agent-q-diff-target-path target)))))
   (t (agent-q-diff-disk-message (agent-q-diff-target-buffer target)
                                 (agent-q-diff-target-disk-state target)))))

(defun agent-q-diff-target-why-away (target)
  "Return why the name of TARGET, which was visited, is not its file now, or nil.
The name must still lead to the same file as when the review began."
  (agent-q-diff-file-uncached
    (cond
     ((agent-q-diff-target-is-detached target) nil)
     ((agent-q-diff-disk-why-elsewhere (agent-q-diff-target-path target)
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
      (when-let ((why (agent-q-diff-disk-why-elsewhere path truename buffer)))
        (signal 'agent-q-diff-bad-target (list why)))
      (when check
        (funcall check)))))

(defun agent-q-diff-target-rename (target path)
  "Record that the file of TARGET, and its buffer, are now called PATH."
  (setf (agent-q-diff-target-path target) path
        (agent-q-diff-target-truename target) (file-truename path)))

;;;; Edits

(defun agent-q-diff-target-saves-p (target)
  "Return non-nil if an edit of TARGET by the review is to be saved."
  (pcase-exhaustive (if (agent-q-diff-target-is-detached target)
                        'never
                      agent-q-diff-save)
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
    (let* ((path (agent-q-diff-target-path target))
           (is-saving (agent-q-diff-target-saves-p target))
           (was-missing (and is-saving (not (file-exists-p path))))
           (missing (and was-missing (agent-q-diff-file-missing-directories path)))
           ;; The content of a file that the review created needs no backup.
           (make-backup-files (and make-backup-files
                                   (not (agent-q-diff-target-is-created target)))))
      (prog1 (agent-q-diff-apply-edits (agent-q-diff-target-buffer target)
                                       edits is-saving offsets
                                       (agent-q-diff-target--save-check target))
        (when (and was-missing (file-exists-p path))
          (setf (agent-q-diff-target-is-created target) t
                (agent-q-diff-target-missing target) missing))))))

(provide 'agent-q-diff-target)
;;; agent-q-diff-target.el ends here
