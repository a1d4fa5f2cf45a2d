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
(require 'agent-q-diff-disk)
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

(defconst agent-q-diff-pending-link #o120000
  "The mode of a symbolic link, as git writes it.")

(defun agent-q-diff-pending--look (directory by-user)
  "Return what is pending in the project of DIRECTORY.
That is (ROOT TEXTS FILES LEFT-OUT).  See `agent-q-diff-module-pending', also
for BY-USER."
  (pcase-let ((`[,root ,texts ,files ,left-out]
               (agent-q-diff-engine-call #'agent-q-diff-module-pending
                                          (expand-file-name directory) by-user)))
    (list (file-name-as-directory root) texts files left-out)))

(defun agent-q-diff-pending-bytes (texts name)
  "Return the bytes of the text with NAME in the folder TEXTS; \"\" if NAME is nil."
  (if name
      (agent-q-diff-file-bytes (expand-file-name name texts))
    ""))

;;;; A change of what is pending

(defun agent-q-diff-pending-decoded (bytes path)
  "Return BYTES of the file PATH, decoded as when it is visited."
  (car (agent-q-diff-coding-decode-bytes path bytes)))

(defun agent-q-diff-pending-text-p (bytes)
  "Return non-nil if BYTES are text, which can be decided by the hunk."
  (not (string-search "\0" bytes)))

(defun agent-q-diff-pending--lines (path bytes new-bytes)
  "Return the change of the lines of the file PATH from BYTES to NEW-BYTES.
If they are no text, or cannot be shown as lines that differ, return nil: then
they are decided as a whole."
  (and (agent-q-diff-pending-text-p bytes)
       (agent-q-diff-pending-text-p new-bytes)
       (ignore-error (agent-q-diff-identical agent-q-diff-bad-target)
         (agent-q-diff-file-change-open-later
          path
          (agent-q-diff-pending-decoded bytes path)
          (agent-q-diff-pending-decoded new-bytes path)
          nil 'is-written))))

(defun agent-q-diff-pending--file (root texts file)
  "Return the change of FILE, an `agent-q-diff-pending-file'.
It is made already.  ROOT and TEXTS are as from `agent-q-diff-pending--look'."
  (let* ((path (expand-file-name (agent-q-diff-pending-file-path file) root))
         (mode (agent-q-diff-pending-file-mode file))
         (new-mode (agent-q-diff-pending-file-new-mode file))
         (bytes (agent-q-diff-pending-bytes texts (agent-q-diff-pending-file-text file)))
         (new-bytes (agent-q-diff-pending-bytes texts
                                                 (agent-q-diff-pending-file-new-text file)))
         (is-link (memq agent-q-diff-pending-link (list mode new-mode)))
         (lines (and (not is-link)
                     (/= 0 new-mode)
                     (not (equal bytes new-bytes))
                     (agent-q-diff-pending--lines path bytes new-bytes)))
         (change (or lines (agent-q-diff-file-change-without-text path))))
    (setf (agent-q-diff-file-change-old-path change) (and (/= 0 mode) path)
          (agent-q-diff-file-change-new-path change) (and (/= 0 new-mode) path)
          (agent-q-diff-file-change-is-created change) (= 0 mode)
          (agent-q-diff-file-change-operations change)
          (cond
           (is-link
            (list (list 'link
                        (and (= mode agent-q-diff-pending-link)
                             (decode-coding-string bytes 'utf-8))
                        (and (= new-mode agent-q-diff-pending-link)
                             (decode-coding-string new-bytes 'utf-8)))))
           ((= 0 mode) (list (append (list 'create (logand new-mode #o777))
                                     (and (null lines) (list new-bytes)))))
           ((= 0 new-mode) (list (list 'delete bytes)))
           (t (append
               (and (/= mode new-mode)
                    (list (list 'mode (logand mode #o777) (logand new-mode #o777))))
               (and (null lines)
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
          (let* ((known (mapcar (lambda (file)
                                  (cons (expand-file-name
                                         (agent-q-diff-pending-file-path file) root)
                                        file))
                                files))
                 (change (agent-q-diff-change-join changes)))
            (agent-q-diff-change-begin-written
             change
             (agent-q-diff-pending--written
              root
              (lambda (change decided)
                ;; By name: when a review is looked at again, its files are new.
                (dolist (one decided)
                  (agent-q-diff-pending--record
                   root texts change one
                   (cdr (assoc (or (agent-q-diff-file-change-new-path one)
                                   (agent-q-diff-file-change-old-path one))
                               known)))))))
            (setq is-done t)
            change))
      (unless is-done
        (mapc #'agent-q-diff-file-change-close changes)))))

;;;; What is taken out
;;
;; It is stored before that, for `agent-q-diff-taken-out'.

(defun agent-q-diff-pending--written (root after)
  "Return an `agent-q-diff-written' by which what is taken out is stored.
The files are in the project at ROOT.  AFTER is called after a decision, with
the change and the files that were decided."
  (let ((stored nil))
    (agent-q-diff-written-create
     :before (lambda (files)
               (setq stored (mapcar #'agent-q-diff-file-change-path files))
               (agent-q-diff-pending-note-taking-out root stored))
     :after (lambda (change decided)
              (agent-q-diff-pending-note-left root stored)
              (setq stored nil)
              (funcall after change decided)))))

(defun agent-q-diff-pending-note-taking-out (root paths)
  "Store what the files PATHS hold, since something is taken out of them next.
They are in the project at ROOT.  If that fails, signal an error that says
that nothing is taken out."
  (when-let ((states (seq-remove (lambda (state) (= 0 (aref state 1)))
                                 (agent-q-diff-pending--states root paths))))
    (condition-case err
        (agent-q-diff-engine-call #'agent-q-diff-module-note-taking-out
                                   root (time-convert nil 'integer) states)
      (agent-q-diff-error
       (agent-q-diff-file-refuse
        "nothing is taken out, since it could not be stored before that: %s"
        (agent-q-diff-error-text err))))))

(defun agent-q-diff-pending-note-left (root paths)
  "Record what the files PATHS hold, of which something was taken out.
They are in the project at ROOT.  They are changed by now, so if that fails,
only warn."
  (when paths
    (condition-case err
        (agent-q-diff-engine-call #'agent-q-diff-module-note-left
                                   root (agent-q-diff-pending--states root paths))
      (agent-q-diff-error
       (agent-q-diff-base-warn
        (format "What is left in the files was not recorded: %s"
                (agent-q-diff-error-text err)))))))

(defun agent-q-diff-pending--states (root paths)
  "Return the contents of the files PATHS, a list of [PATH MODE BYTES].
There, PATH is relative to ROOT, and encoded."
  (mapcar (lambda (path)
            (pcase-let ((`(,mode . ,bytes) (agent-q-diff-pending-state path)))
              (vector (encode-coding-string (file-relative-name path root)
                                            'utf-8-emacs-unix)
                      mode bytes)))
          paths))

(defun agent-q-diff-pending-state (path)
  "Return the present content of the file PATH, (MODE . BYTES).
MODE is as git writes it, 0 for nothing.  If the buffer that visits it has
unsaved edits, BYTES are what it would hold after saving them."
  (let ((buffer (find-buffer-visiting path))
        (link (file-symlink-p path)))
    (cond
     (link (cons agent-q-diff-pending-link (encode-coding-string link 'utf-8-emacs-unix)))
     ((and buffer (agent-q-diff-disk-unsaved-p buffer))
      (cons (agent-q-diff-pending--mode path) (agent-q-diff-pending--buffer-bytes buffer)))
     (t (agent-q-diff-pending--on-disk path)))))

(defun agent-q-diff-pending--on-disk (path)
  "Return (MODE . BYTES) of the file PATH, which is no link."
  (if (file-exists-p path)
      (cons (agent-q-diff-pending--mode path) (agent-q-diff-file-bytes path))
    (cons 0 "")))

(defun agent-q-diff-pending--mode (name)
  "Return the mode of the file NAME as git writes it, or that of a new file."
  (if (zerop (logand #o100 (or (file-modes name) 0)))
      #o100644
    #o100755))

(defun agent-q-diff-pending--buffer-bytes (buffer)
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
                   (agent-q-diff-engine-call #'agent-q-diff-module-reviewed engine index
                                              (agent-q-diff-pending--saved file))
                   file))
                 (t (agent-q-diff-pending-bytes
                     texts (if (seq-intersection kept '(create link binary))
                               (agent-q-diff-pending-file-new-text pending)
                             (agent-q-diff-pending-file-text pending))))))
         (is-implied (and (null operations)
                          (agent-q-diff-file-change-operations file)
                          (not (string-empty-p bytes))))
         (mode (if (or is-implied (seq-intersection kept '(create delete mode link)))
                   (agent-q-diff-pending-file-new-mode pending)
                 (agent-q-diff-pending-file-mode pending))))
    (agent-q-diff-engine-call #'agent-q-diff-module-note-reviewed
                               root (agent-q-diff-pending-file-path pending) mode bytes)))

(defun agent-q-diff-pending--saved (file)
  "Return the saved text of FILE if its buffer has unsaved edits, else nil."
  (let ((buffer (agent-q-diff-file-change-buffer file)))
    (and (buffer-live-p buffer)
         (buffer-modified-p buffer)
         (file-exists-p (buffer-file-name buffer))
         (let ((name (buffer-file-name buffer)))
           (agent-q-diff-pending-decoded (agent-q-diff-file-bytes name) name)))))

(defun agent-q-diff-pending--encoded (text file)
  "Return TEXT as the bytes that it has in FILE, an `agent-q-diff-file-change'."
  (let* ((buffer (agent-q-diff-file-change-buffer file))
         (coding (if (buffer-live-p buffer)
                     (with-current-buffer buffer
                       (agent-q-diff-coding-of-buffer))
                   'utf-8-emacs-unix)))
    (encode-coding-string (agent-q-diff-engine-text text) coding)))

;;;; Projects that are looked at

(defvar agent-q-diff-pending--counts (make-hash-table :test #'equal)
  "Table from the roots of projects to (FILES . TIME), how many files are pending.
TIME is when that was found out.")

(defvar-local agent-q-diff-pending--known-root nil
  "The root of the project of this buffer's file, or nil if that is not known.
A number means that it had none when so many projects were known: the mode
line asks at each redisplay, and that is found out on disk.")

(defun agent-q-diff-pending--root ()
  "Return the root of the project of this buffer if it was looked at, or nil."
  (let ((n (hash-table-count agent-q-diff-pending--counts)))
    (unless (or (stringp agent-q-diff-pending--known-root)
                (eql n agent-q-diff-pending--known-root))
      (setq agent-q-diff-pending--known-root
            (or (and (not (file-remote-p default-directory))
                     (agent-q-diff-pending--find-root (expand-file-name default-directory)))
                n))))
  (and (stringp agent-q-diff-pending--known-root)
       agent-q-diff-pending--known-root))

(defun agent-q-diff-pending--find-root (directory)
  "Return the root of the repository that DIRECTORY is in, if it was looked at."
  (when-let* ((root (locate-dominating-file directory ".git"))
              (git (expand-file-name ".git" root))
              (data (if (file-directory-p git)
                        git
                      (with-temp-buffer
                        (insert-file-contents git)
                        (and (looking-at "gitdir: \\(.+\\)")
                             (expand-file-name (match-string 1) root))))))
    (and (file-exists-p (expand-file-name "agent-q-diff/ledger" data))
         (file-name-as-directory (file-truename root)))))

;;;; What the user saves

(defvar-local agent-q-diff-pending--before nil
  "(MODE . BYTES) of the file of this buffer before it is saved, or nil.")

(defun agent-q-diff-pending--path (root)
  "Return the name of this buffer's file below ROOT, or nil if it is elsewhere."
  (let ((name (file-truename buffer-file-name)))
    (and (file-in-directory-p name root)
         (file-relative-name name root))))

(defun agent-q-diff-pending--before-save ()
  "Keep the bytes of the file of this buffer, if its project was looked at."
  (setq agent-q-diff-pending--before nil)
  ;; What we save is decided.
  (when (and buffer-file-name
             (null agent-q-diff-change-in-progress)
             (agent-q-diff-pending--root))
    (ignore-errors
      (setq agent-q-diff-pending--before (agent-q-diff-pending--on-disk buffer-file-name)))))

(defun agent-q-diff-pending--saved-bytes ()
  "Return the bytes with which this buffer was saved just now.
Others may have written its file since."
  (let ((bytes (agent-q-diff-file-bytes buffer-file-name)))
    (if (verify-visited-file-modtime)
        bytes
      (agent-q-diff-pending--buffer-bytes (current-buffer)))))

(defun agent-q-diff-pending--after-save ()
  "Record what the user has changed in the file of this buffer as reviewed."
  (when-let* ((before agent-q-diff-pending--before)
              (root (agent-q-diff-pending--root))
              (path (agent-q-diff-pending--path root)))
    (setq agent-q-diff-pending--before nil)
    (condition-case err
        (agent-q-diff-engine-call #'agent-q-diff-module-note-saved
                                   root path (car before) (cdr before)
                                   (agent-q-diff-pending--mode buffer-file-name)
                                   (agent-q-diff-pending--saved-bytes))
      (error (message "What you saved is pending, since that could not be noted: %s"
                      (agent-q-diff-error-text err))))
    (agent-q-diff-pending--count-soon root)))

;;;; How much is pending

(defvar agent-q-diff-pending--timer nil
  "Timer that counts what is pending, or nil.")

(defconst agent-q-diff-pending--least-seconds 5
  "Seconds between two looks at a project that nobody asked for.")

(defun agent-q-diff-pending--count-soon (root)
  "Count what is pending in the project at ROOT when Emacs is next idle."
  (unless agent-q-diff-pending--timer
    (setq agent-q-diff-pending--timer
          (run-with-idle-timer
           1 nil
           (lambda ()
             (setq agent-q-diff-pending--timer nil)
             (agent-q-diff-pending--count root))))))

(defun agent-q-diff-pending--count (root)
  "Count what is pending in the project at ROOT, unless that was done just now."
  (let ((known (gethash root agent-q-diff-pending--counts)))
    (unless (and known
                 (< (float-time (time-since (cdr known)))
                    agent-q-diff-pending--least-seconds))
      (ignore-errors
        (agent-q-diff-pending--note-count
         root (nth 2 (agent-q-diff-pending--look root nil)))))))

(defun agent-q-diff-pending--note-count (root files)
  "Record that FILES are pending in the project at ROOT, and show how many."
  (puthash root (cons (length files) (current-time)) agent-q-diff-pending--counts)
  (force-mode-line-update t))

(defun agent-q-diff-pending--mode-line ()
  "Return text for the mode line: how many files are pending in this project."
  (let* ((root (agent-q-diff-pending--root))
         (n (car (and root (gethash root agent-q-diff-pending--counts)))))
    (if (memq n '(nil 0))
        ""
      (propertize (format (ngettext " [%d file unreviewed]" " [%d files unreviewed]" n) n)
                  'face 'agent-q-diff-reviews
                  'help-echo "Written and not reviewed yet; M-x agent-q-diff-review-changes"))))
(put 'agent-q-diff-pending--mode-line 'risky-local-variable t)

(defconst agent-q-diff-pending--construct '(:eval (agent-q-diff-pending--mode-line))
  "What `agent-q-diff-pending-mode' adds to the mode line.")

(defun agent-q-diff-pending--look-here ()
  "Count what is pending in the project of this buffer, if that is known."
  (when-let ((root (agent-q-diff-pending--root)))
    (agent-q-diff-pending--count-soon root)))

(defun agent-q-diff-pending--focus ()
  "Count what is pending when a frame gets the focus."
  (with-current-buffer (window-buffer)
    (agent-q-diff-pending--look-here)))

(defconst agent-q-diff-pending--hooks
  '((before-save-hook . agent-q-diff-pending--before-save)
    (after-save-hook . agent-q-diff-pending--after-save)
    (find-file-hook . agent-q-diff-pending--look-here)
    (after-revert-hook . agent-q-diff-pending--look-here))
  "Alist from hooks to the functions that `agent-q-diff-pending-mode' puts there.")

;;;###autoload
(define-minor-mode agent-q-diff-pending-mode
  "Take what you save as reviewed, and count what is not in the mode line.
That is for projects for which `agent-q-diff-review-changes' was called, in
this Emacs or an earlier one.  That command turns this mode on."
  :global t
  :group 'agent-q-diff
  (let ((change (if agent-q-diff-pending-mode #'add-hook #'remove-hook)))
    (pcase-dolist (`(,hook . ,function) agent-q-diff-pending--hooks)
      (funcall change hook function)))
  (remove-function after-focus-change-function #'agent-q-diff-pending--focus)
  (setq-default mode-line-misc-info (remove agent-q-diff-pending--construct
                                            (default-value 'mode-line-misc-info)))
  (if agent-q-diff-pending-mode
      (progn
        (add-function :after after-focus-change-function #'agent-q-diff-pending--focus)
        (setq-default mode-line-misc-info
                      (append (default-value 'mode-line-misc-info)
                              (list agent-q-diff-pending--construct))))
    (when agent-q-diff-pending--timer
      (cancel-timer agent-q-diff-pending--timer)
      (setq agent-q-diff-pending--timer nil))))

;;;; Commands

(defconst agent-q-diff-pending--n-commits 5
  "Number of commits that are named in the question whether they are the user's.")

(defun agent-q-diff-pending--moved-by-user-p (directory)
  "Return non-nil if the user has moved HEAD of the repository of DIRECTORY.
If it has moved since the last look, ask."
  (let ((commits (agent-q-diff-engine-call #'agent-q-diff-module-moved
                                            directory agent-q-diff-pending--n-commits)))
    (and commits
         (y-or-n-p
          (if (listp commits)
              (format "Since the last look, HEAD has got %s.  Yours, and so reviewed? "
                      (mapconcat #'agent-q-diff-visible commits "; "))
            "Since the last look, HEAD has moved back.  By you? ")))))

(defun agent-q-diff-pending--left-out-note (left-out)
  "Return a sentence about LEFT-OUT, which was not looked at, or nil."
  (and left-out
       (format "Not looked at: %s"
               (mapconcat (pcase-lambda (`(,path . ,n))
                            (format (pcase n
                                      (0 "%s (a repository of its own)")
                                      (1 "%s (over 8 MB)")
                                      (_ "%s (%d new files)"))
                                    (agent-q-diff-visible path) n))
                          left-out ", "))))

(defun agent-q-diff-pending--directory (directory)
  "Return DIRECTORY, by default the current one, as an absolute directory name."
  (file-name-as-directory (expand-file-name (or directory default-directory))))

;;;###autoload
(defun agent-q-diff-review-changes (&optional directory)
  "Review what was written into the project of DIRECTORY and not reviewed yet.
DIRECTORY is by default the current one.  The changes are in the files
already, whoever made them: keeping a hunk makes its lines reviewed, so that
they are not shown again, and rejecting one takes it out of its file.  What is
not decided stays in the files, and pending.

Until the first look at a project, what is in HEAD of its git repository was
reviewed.  What you save in Emacs from then on is reviewed as well."
  (interactive)
  (pcase-let* ((directory (agent-q-diff-pending--directory directory))
               (by-user (agent-q-diff-pending--moved-by-user-p directory))
               (`(,root ,texts ,files ,left-out)
                (agent-q-diff-pending--look directory by-user))
               (note (agent-q-diff-pending--left-out-note left-out)))
    (agent-q-diff-pending-mode)
    (agent-q-diff-pending--note-count root files)
    (if (null files)
        (message "Nothing is pending in %s%s"
                 (agent-q-diff-visible (abbreviate-file-name root))
                 (if note (concat "; " note) ""))
      (let* ((default-directory root)
             (agent-q-diff-call (agent-q-diff-call-with 'is-by-user t))
             (review (agent-q-diff-api-start
                      root (lambda (_) (agent-q-diff-pending--count-soon root))
                      nil nil nil "" #'agent-q-diff-mode (and note (list note))
                      (lambda ()
                        (agent-q-diff-pending--change root texts files)))))
        (if (agent-q-diff-session-outcome review)
            (message "%s" (agent-q-diff-visible
                           (plist-get (agent-q-diff-session-result review) :reason)))
          (pop-to-buffer (agent-q-diff-session-buffer review))
          (agent-q-diff-reviews-introduce review))
        review))))

;;;###autoload
(defun agent-q-diff-mark-reviewed (&optional file)
  "Record that the project of the current buffer was reviewed as it is.
If FILE is non-nil, interactively with a prefix argument, only the file of
this buffer is meant.  The files do not change."
  (interactive "P")
  (pcase-let* ((directory (agent-q-diff-pending--directory nil))
               (`(,root ,_ ,files ,_) (agent-q-diff-pending--look directory nil))
               (paths (mapcar #'agent-q-diff-pending-file-path files))
               (only (and file
                          (or (and buffer-file-name (agent-q-diff-pending--path root))
                              (user-error "This buffer visits no file of the project"))))
               (meant (if only (seq-intersection (list only) paths) paths)))
    (agent-q-diff-engine-call #'agent-q-diff-module-mark-reviewed directory meant)
    (agent-q-diff-pending-mode)
    (agent-q-diff-pending--note-count root (seq-difference paths meant))
    (if (null meant)
        (message "Nothing was pending")
      (message (ngettext "%d file is reviewed as it is" "%d files are reviewed as they are"
                         (length meant))
               (length meant)))))

(provide 'agent-q-diff-pending)
;;; agent-q-diff-pending.el ends here
