;;; agent-q-diff-pending.el --- Reviews what was written already  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Whatever an agent wrote into a project, by its tools or a shell, can be
;; decided afterwards, hunk by hunk.  The engine knows of each file what the
;; user has reviewed; what differs from that is pending.  Keeping a hunk makes
;; its lines reviewed, taking it out puts the reviewed lines into the file.
;;
;; What the user saves in Emacs is reviewed by that, except where it touches
;; what is pending.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-api)

;;;; What is pending

(cl-defstruct (agent-q-diff-pending-file (:type vector) (:constructor nil) (:copier nil))
  "A file in `agent-q-diff-module-pending'."
  path mode text new-mode new-text)

(defconst agent-q-diff-pending--link #o120000
  "The mode of a symbolic link, as git writes it.")

(defun agent-q-diff-pending--look (directory by-user)
  "Return what is pending in the project of DIRECTORY: (ROOT TEXTS FILES).
See `agent-q-diff-module-pending', also for BY-USER."
  (pcase-let ((`[,root ,texts ,files]
               (agent-q-diff-engine--call #'agent-q-diff-module-pending
                                          (expand-file-name directory) by-user)))
    (list (file-name-as-directory root) texts files)))

(defun agent-q-diff-pending--bytes (texts name)
  "Return the bytes of the text with NAME in the folder TEXTS; \"\" if NAME is nil."
  (if name
      (agent-q-diff-file-bytes (expand-file-name name texts))
    ""))

;;;; A change of what is pending

(defun agent-q-diff-pending--decoded (bytes path)
  "Return BYTES of the file PATH, decoded as Emacs would when visiting it."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert bytes)
    (let ((coding (or (car-safe (find-operation-coding-system
                                 'insert-file-contents (cons path (current-buffer))))
                      'undecided)))
      (set-buffer-multibyte t)
      (decode-coding-region (point-min) (point-max) coding)
      (buffer-string))))

(defun agent-q-diff-pending--is-text (bytes)
  "Return non-nil if BYTES are text, which can be decided by the hunk."
  (not (string-search "\0" bytes)))

(defun agent-q-diff-pending--file (root texts file)
  "Return the change of FILE, an `agent-q-diff-pending-file'.
It is made already.  ROOT and TEXTS are as from `agent-q-diff-pending--look'."
  (let* ((path (expand-file-name (agent-q-diff-pending-file-path file) root))
         (mode (agent-q-diff-pending-file-mode file))
         (new-mode (agent-q-diff-pending-file-new-mode file))
         (bytes (agent-q-diff-pending--bytes texts (agent-q-diff-pending-file-text file)))
         (new-bytes (agent-q-diff-pending--bytes texts
                                                 (agent-q-diff-pending-file-new-text file)))
         (is-link (memq agent-q-diff-pending--link (list mode new-mode)))
         (has-lines (and (not is-link)
                         (/= 0 new-mode)
                         (not (equal bytes new-bytes))
                         (agent-q-diff-pending--is-text bytes)
                         (agent-q-diff-pending--is-text new-bytes)))
         (change (if has-lines
                     (agent-q-diff-file-change-open
                      path
                      (agent-q-diff-pending--decoded bytes path)
                      (agent-q-diff-pending--decoded new-bytes path))
                   (agent-q-diff-file-change-without-text path))))
    (setf (agent-q-diff-file-change-old-path change) (and (/= 0 mode) path)
          (agent-q-diff-file-change-new-path change) (and (/= 0 new-mode) path)
          (agent-q-diff-file-change-is-created change) (= 0 mode)
          (agent-q-diff-file-change-operations change)
          (cond
           (is-link
            (list (list 'link
                        (and (= mode agent-q-diff-pending--link)
                             (decode-coding-string bytes 'utf-8))
                        (and (= new-mode agent-q-diff-pending--link)
                             (decode-coding-string new-bytes 'utf-8)))))
           ((= 0 mode) (list (list 'create (logand new-mode #o777))))
           ((= 0 new-mode) (list (list 'delete bytes)))
           (t (append
               (and (/= mode new-mode)
                    (list (list 'mode (logand mode #o777) (logand new-mode #o777))))
               (and (not has-lines)
                    (not (equal bytes new-bytes))
                    (list (list 'binary bytes new-bytes)))))))
    change))

(defun agent-q-diff-pending--change (root texts files)
  "Return a change of FILES, which is made already, and record what is decided.
ROOT, TEXTS and FILES are as from `agent-q-diff-pending--look'."
  (let ((changes nil)
        (is-done nil))
    (unwind-protect
        (progn
          (dolist (file files)
            (push (agent-q-diff-pending--file root texts file) changes))
          (setq changes (nreverse changes))
          (let* ((known (cl-mapcar #'cons changes files))
                 (change (agent-q-diff-change-join changes)))
            (agent-q-diff-change-begin-written
             change
             (lambda (change decided)
               (dolist (one decided)
                 (agent-q-diff-pending--record root texts change one
                                              (cdr (assq one known))))))
            (setq is-done t)
            change))
      (unless is-done
        (mapc #'agent-q-diff-file-change-close changes)))))

;;;; What was reviewed

(defun agent-q-diff-pending--record (root texts change file pending)
  "Record what was reviewed of FILE of CHANGE, after a decision on it.
PENDING is the `agent-q-diff-pending-file' that it was made of, in the
project at ROOT; TEXTS is the folder of its texts."
  (let* ((index (seq-position (agent-q-diff-change-files change) file #'eq))
         (engine (agent-q-diff-change-engine change))
         (operations (agent-q-diff-file-change-decided-operations file))
         (marks (seq-drop (agent-q-diff-module-marks engine)
                          (aref (agent-q-diff-change-first-hunks change) index)))
         (kept (cl-loop for operation in operations
                        for mark in marks
                        when (eq mark 'applied) collect (car operation)))
         (bytes (cond
                 ((agent-q-diff-file-change-has-text file)
                  (agent-q-diff-pending--encoded
                   (agent-q-diff-module-reviewed engine index) file))
                 (t (agent-q-diff-pending--bytes
                     texts (if (seq-intersection kept '(create link binary))
                               (agent-q-diff-pending-file-new-text pending)
                             (agent-q-diff-pending-file-text pending))))))
         (is-implied (and (null operations)
                          (agent-q-diff-file-change-operations file)
                          (not (string-empty-p bytes))))
         (mode (if (or is-implied (seq-intersection kept '(create delete mode link)))
                   (agent-q-diff-pending-file-new-mode pending)
                 (agent-q-diff-pending-file-mode pending))))
    (agent-q-diff-engine--call #'agent-q-diff-module-note-reviewed
                               root (agent-q-diff-pending-file-path pending) mode bytes)))

(defun agent-q-diff-pending--encoded (text file)
  "Return TEXT as the bytes that it has in FILE, an `agent-q-diff-file-change'."
  (let* ((buffer (agent-q-diff-file-change-buffer file))
         (coding (if (buffer-live-p buffer)
                     (buffer-local-value 'buffer-file-coding-system buffer)
                   'utf-8-emacs-unix)))
    (encode-coding-string (agent-q-diff-engine--text text) coding)))

;;;; Commands

;;;###autoload
(defun agent-q-diff-review-changes (&optional directory)
  "Review what was written into the project of DIRECTORY and not reviewed yet.
DIRECTORY is by default the current one.  The changes are in the files
already, whoever made them: keeping a hunk makes its lines reviewed, so that
they are not shown again, and rejecting one takes it out of its file.  What is
not decided stays in the files, and pending."
  (interactive)
  (pcase-let* ((directory (file-name-as-directory
                           (expand-file-name (or directory default-directory))))
               (`(,root ,texts ,files) (agent-q-diff-pending--look directory nil)))
    (if (null files)
        (message "Nothing is pending in %s"
                 (agent-q-diff-visible (abbreviate-file-name root)))
      (let* ((default-directory root)
             (agent-q-diff-call (agent-q-diff-call-with 'is-by-user t))
             (review (agent-q-diff-api--start
                      root nil nil nil nil "Written already" #'agent-q-diff-mode nil
                      (lambda ()
                        (agent-q-diff-pending--change root texts files)))))
        (if (agent-q-diff-session-outcome review)
            (message "%s" (agent-q-diff-visible
                           (plist-get (agent-q-diff-session-result review) :reason)))
          (pop-to-buffer (agent-q-diff-session-buffer review)))
        review))))

(provide 'agent-q-diff-pending)
;;; agent-q-diff-pending.el ends here
