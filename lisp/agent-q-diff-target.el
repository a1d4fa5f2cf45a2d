;;; agent-q-diff-target.el --- The file that a review changes, and its buffer: visited, edited, saved  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A target is a file and the buffer that visits it or, if it is detached,
;; only a text in a buffer of its own.  This file knows which buffer that
;; is, keeps it in step with its file, and says whether it may be written
;; and whether edits are saved.  It knows nothing of hunks.
;;
;; It turns an agent's path into a file name, visits that file without
;; asking anything or letting hooks insert, and closes what a review opened
;; in vain unless the user has begun to use it.  If a file cannot be visited,
;; it signals `agent-q-diff-bad-target' with a message that says what to do
;; about it.
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
       "%s is read-only; C-x C-q in its buffer makes it writable" buffer))
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

(defun agent-q-diff-save-buffer (buffer &optional check done)
  "Save BUFFER without a question and without adding a final newline.
Hooks run as for `save-buffer', but the file is replaced as a whole or not
at all.  CHECK is as for `agent-q-diff-apply--carry-out'.  DONE is a
function or nil, called as soon as we have written the file."
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
        (basic-save-buffer nil)
      ((error quit)
       (when (and (buffer-modified-p) (not (funcall written-p)))
         (signal (car err) (cdr err)))
       (message "Saved, but a hook failed: %s" (error-message-string err))))))

;;; Naming, visiting and closing

;;;; Naming

(defun agent-q-diff-visit--check-spelling (path)
  "Refuse PATH, an agent's name for a file, if its spelling is misleading.
A name that could be mistaken for another in a prompt or a list is refused
for every agent; see `agent-q-diff-visible-path-flaw'."
  (unless (and (stringp path) (not (string-empty-p path)))
    (agent-q-diff-file-refuse "the path must be a string that is not empty"))
  (when-let ((flaw (agent-q-diff-visible-path-flaw path)))
    (agent-q-diff-file-refuse "the path %s" flaw)))

(defun agent-q-diff-visit-name (path)
  "Return PATH, an agent's name for a file, as an absolute file name.
It is expanded against `default-directory'.  A misleading spelling is
refused, and so is a remote name unless `default-directory' is on the same
remote.  That is checked before expanding, which can open a connection."
  (agent-q-diff-visit--check-spelling path)
  (or (agent-q-diff-visible-path-plain path default-directory)
      (let ((remote (file-remote-p default-directory)))
        (unless (and remote
                     (string-prefix-p remote
                                      (let ((file-name-handler-alist nil))
                                        (expand-file-name
                                         (if (file-name-absolute-p path)
                                             path
                                           (concat default-directory path))))))
          (agent-q-diff-file-refuse
           (if (string-prefix-p "/:" path)
               "%s is a name that Emacs reads in another way"
             "%s is on a remote host that nobody opened")
           path))
        (substring-no-properties (expand-file-name path)))))

;;;; True names

(defvar agent-q-diff-visit--directories nil
  "Hash table from directories to their true names, or nil.")

(defmacro agent-q-diff-visit-resolving-once (&rest body)
  "Run BODY, in which the links in the name of each directory are resolved once.
That is for names of many files, most of them in the same directories."
  (declare (indent 0) (debug t))
  `(let ((agent-q-diff-visit--directories (make-hash-table :test #'equal)))
     ,@body))

(defun agent-q-diff-visit-true-place (name)
  "Return the absolute NAME with the links in that of its directory resolved."
  (let* ((directory (file-name-directory name))
         (table agent-q-diff-visit--directories)
         (resolved (or (and table (gethash directory table))
                       (file-name-as-directory (file-truename directory)))))
    (when table
      (puthash directory resolved table))
    (concat resolved (file-name-nondirectory name))))

(defun agent-q-diff-visit-truename (name)
  "Return `file-truename' of the absolute NAME."
  (if (or (null agent-q-diff-visit--directories) (file-symlink-p name))
      (file-truename name)
    (agent-q-diff-visit-true-place name)))

;;;; Visiting

(defun agent-q-diff-visit--check-kind (path)
  "Refuse PATH unless it is, or could become, a plain text file."
  (when (directory-name-p path)
    (agent-q-diff-file-refuse "%s names a directory" path))
  (agent-q-diff-file-check-regular path)
  (let ((local (file-local-name path)))
    (cond
     ((and (file-exists-p path) (not (file-readable-p path)))
      (agent-q-diff-file-refuse "%s cannot be read" path))
     ((find-file-name-handler local 'insert-file-contents)
      (agent-q-diff-file-refuse "%s is compressed or encrypted" path))
     ((memq (assoc-default local auto-mode-alist #'string-match)
            '(archive-mode tar-mode))
      (agent-q-diff-file-refuse "%s is an archive" path)))))

;;;; The user's hooks

;; Modes and hooks run when a file is visited for an agent, since they say how
;; it is shown and saved.  But nobody asked to see the file, so meanwhile they
;; can neither ask nor insert.  Those that tried to are delayed until the user
;; goes to the buffer.

(defvar-local agent-q-diff-visit--held nil
  "The functions of hooks that have still to run in this buffer.")
(put 'agent-q-diff-visit--held 'permanent-local t)

(defvar-local agent-q-diff-visit--is-reviewed nil
  "Non-nil in a buffer that a review has visited and not yet closed.")
(put 'agent-q-diff-visit--is-reviewed 'permanent-local t)

(defvar agent-q-diff-visit--said nil
  "Errors of hooks that the user was told, each (FUNCTION . TEXT).")

(defun agent-q-diff-visit--say (function err)
  "Tell the user once that FUNCTION, of a hook, failed with ERR."
  (let ((said (cons function (error-message-string err))))
    (unless (or (memq (car err) '(inhibited-interaction buffer-read-only))
                (member said agent-q-diff-visit--said))
      (push said agent-q-diff-visit--said)
      (let ((inhibit-message nil))
        (message "While %s was visited: %s" (agent-q-diff-visible (buffer-name))
                 (cdr said))))))

(defun agent-q-diff-visit--try (function)
  "Call FUNCTION, of a hook.
If it fails, or changes the text, undo that and hold it back."
  (let ((buffer (current-buffer))
        (tick (buffer-chars-modified-tick))
        (was-modified (buffer-modified-p))
        (changes (prepare-change-group))
        (undo-list buffer-undo-list)
        (is-done nil))
    (activate-change-group changes)
    (condition-case err
        (progn
          (save-current-buffer
            (funcall function))
          (setq is-done t))
      ((error quit) (agent-q-diff-visit--say function err)))
    (unless (buffer-live-p buffer)
      (agent-q-diff-file-refuse "a hook killed the buffer of the file as it was visited"))
    (unless (eql tick (buffer-chars-modified-tick))
      (setq is-done nil)
      (let ((inhibit-read-only t))
        (cancel-change-group changes))
      (restore-buffer-modified-p was-modified))
    (setq buffer-undo-list undo-list)
    (unless is-done
      (push function agent-q-diff-visit--held)))
  nil)

(defun agent-q-diff-visit--run (&rest hooks)
  "Run HOOKS in the current buffer, whatever their functions do."
  (dolist (hook hooks)
    (when (boundp hook)
      (run-hook-wrapped hook #'agent-q-diff-visit--try))))

(defun agent-q-diff-visit--run-hooks ()
  "Run the delayed hooks of the current buffer, which was just visited.
A template goes into an empty file by `find-file-hook', so that waits."
  (let ((hooks (nreverse delayed-mode-hooks))
        (after delayed-after-hook-functions))
    (setq delay-mode-hooks nil
          delayed-mode-hooks nil
          delayed-after-hook-functions nil)
    (apply #'agent-q-diff-visit--run 'change-major-mode-after-body-hook hooks)
    ;; They take precedence over what the hooks have set.
    (with-demoted-errors "File local-variables error: %s"
      (hack-local-variables 'no-mode))
    (agent-q-diff-visit--run 'after-change-major-mode-hook)
    (mapc #'agent-q-diff-visit--try (nreverse after))
    (if (zerop (buffer-size))
        (run-hook-wrapped 'find-file-hook
                          (lambda (function)
                            (push function agent-q-diff-visit--held)
                            nil))
      (agent-q-diff-visit--run 'find-file-hook))
    (setq agent-q-diff-visit--held (nreverse agent-q-diff-visit--held))))

(defun agent-q-diff-visit--run-held ()
  "Run the hooks that were held back in this buffer, which the user has selected.
In a new file under review they wait, since it must stay empty until the end."
  (let ((held agent-q-diff-visit--held))
    (unless (and agent-q-diff-visit--is-reviewed (zerop (buffer-size)))
      (setq agent-q-diff-visit--held nil)
      (dolist (function held)
        (condition-case err
            (funcall function)
          (error (message "%s: %s" (buffer-name) (error-message-string err))))))))

(defun agent-q-diff-visit--note-selected ()
  "Run the hooks that were held back if the user has selected their buffer."
  (let ((buffer (window-buffer)))
    (when (and (buffer-local-value 'agent-q-diff-visit--held buffer)
               (null inhibit-interaction))
      (with-current-buffer buffer
        (agent-q-diff-visit--run-held)))))

;;;; Visiting without asking

(defvar major-mode-remap-alist)
(defvar vc-follow-symlinks)
(declare-function major-mode-remap "files" (mode))

(defmacro agent-q-diff-visit--without-keys (&rest body)
  "Evaluate BODY; the selection stays, and no key is read.
`read-key' does not respect `inhibit-interaction'."
  (declare (indent 0) (debug t))
  `(cl-letf (((symbol-function 'read-key)
              (lambda (&rest _) (signal 'inhibited-interaction nil))))
     (agent-q-diff-base-keeping-selection
       ,@body)))

(defun agent-q-diff-visit--find (path)
  "Return a new buffer that visits PATH, asking nothing.
Only safe file-local variables are set, and none is evaluated."
  (let ((enable-local-variables :safe)
        (enable-local-eval nil)
        (large-file-warning-threshold nil)
        (find-file-run-dired nil)
        ;; Of a file of root's on another host, TRAMP would ask whether to auto-save
        ;; it in a directory of this host, where others might read it.
        (auto-save-default
         (and auto-save-default
              (not (and (file-remote-p path)
                        (eql 0 (file-attribute-user-id (file-attributes path 'integer)))))))
        (vc-follow-symlinks nil)
        ;; An agent reads the markup of a file, so the buffer shows it, too.
        (format-alist nil)
        (inhibit-interaction t)
        (use-dialog-box nil)
        (inhibit-message t))
    (agent-q-diff-visit--without-keys
      (let ((buffer (agent-q-diff-visit--find-without-hooks path)))
        (with-current-buffer buffer
          (unless (file-exists-p path)
            ;; Emacs makes it read-only if the directory is missing as well.
            (setq buffer-read-only nil))
          (agent-q-diff-visit--run-hooks)
          (setq agent-q-diff-visit--is-reviewed t)
          (when agent-q-diff-visit--held
            (add-hook 'buffer-list-update-hook #'agent-q-diff-visit--note-selected))
          (agent-q-diff-visit-note buffer))
        buffer))))

(defun agent-q-diff-visit--find-without-hooks (path)
  "Return a new buffer that visits PATH; its hooks are delayed."
  ;; The value is bound for all buffers, since the new one is not there yet.
  (with-temp-buffer
    (let ((delay-mode-hooks t)
          (find-file-hook nil)
          (find-file-not-found-functions nil))
      (find-file-noselect path t))))

(defun agent-q-diff-visit (path)
  "Return (BUFFER . IS-NEW) for PATH, an absolute file name.
BUFFER visits PATH; IS-NEW is non-nil if no buffer visited it before."
  (agent-q-diff-file-uncached
    (let ((buffer (or (get-file-buffer path)
                      (agent-q-diff-disk-visitor (file-truename path)))))
      (if buffer
          (progn
            (agent-q-diff-file-check-regular path)
            (agent-q-diff-disk-check-visits buffer path)
            (cons buffer nil))
        (agent-q-diff-visit--check-kind path)
        (let ((new (agent-q-diff-visit--find path)))
          (agent-q-diff-visit--shorten-companions new)
          (cons new t))))))

(defconst agent-q-diff-visit--max-name 255
  "Maximum length in bytes of a file's name without directory.
That is the limit of most file systems.")

(defun agent-q-diff-visit--shorten-companions (buffer)
  "Turn off lock file and backup in BUFFER if their names would be too long.
They are one or two characters longer than the file's own name."
  (with-current-buffer buffer
    (when (> (+ 2 (string-bytes (file-name-nondirectory buffer-file-name)))
             agent-q-diff-visit--max-name)
      (setq-local create-lockfiles nil)
      (setq-local backup-inhibited t)
      (auto-save-mode -1))))

;;;; Modes that show texts of agents

(defconst agent-q-diff-visit--text-modes
  '(text-mode
    change-log-mode csv-mode dns-mode ledger-mode log-edit-mode mail-mode markdown-mode
    nroff-mode org-mode outline-mode paragraph-indent-text-mode rst-mode texinfo-mode
    toml-ts-mode yaml-mode yaml-ts-mode
    sgml-mode html-mode mhtml-mode html-ts-mode nxml-mode
    tex-mode latex-mode plain-tex-mode slitex-mode doctex-mode TeX-mode LaTeX-mode)
  "Modes derived from `text-mode' in which no text can name a function to call.
For some, that takes the values of `agent-q-diff-visit--inert'.  A markup with
code in it gives that the colors of any mode that the text names, by calling
it; so of these modes, only those are used that are known.")

(defconst agent-q-diff-visit--inert
  '((org-inhibit-startup . t)
    (org-src-fontify-natively . nil)
    (org-highlight-latex-and-related . nil)
    (org-element-use-cache . nil)
    (markdown-fontify-code-blocks-natively . nil)
    (TeX-parse-self . nil)
    (rng-nxml-auto-validate-flag . nil))
  "Variables, each with the value that keeps a mode from doing what a text says.
Org and Markdown call the mode of each block of code, and nXML opens schemas.")

(defconst agent-q-diff-visit--undecided-modes
  '((conf-mode-maybe . conf-mode)
    (c-or-c++-mode . c++-mode)
    (c-or-c++-ts-mode . c++-ts-mode)
    (octave-maybe-mode . octave-mode))
  "Functions that choose a mode by the text, each with one that they may choose.")

(defun agent-q-diff-visit-mode-for-text (mode)
  "Return MODE if an agent's text can be shown in it, or else the nearest parent.
Return nil if there is none.  MODE is a symbol or nil."
  (let ((mode (or (alist-get mode agent-q-diff-visit--undecided-modes) mode)))
    (when (and mode (symbolp mode) (fboundp mode))
      ;; What a mode is derived from is known when it is loaded.
      (autoload-do-load (indirect-function mode) mode)
      (while (and (symbolp (symbol-function mode)))
        (setq mode (symbol-function mode)))
      ;; One parent a call: how several are given differs between Emacs 28 and 30.
      (if (or (provided-mode-derived-p mode 'prog-mode)
              (provided-mode-derived-p mode 'conf-mode))
          mode
        (while (and mode (not (memq mode agent-q-diff-visit--text-modes)))
          (setq mode (get mode 'derived-mode-parent)))
        mode))))

(defun agent-q-diff-visit-turn-on (mode &optional is-edited)
  "Turn on MODE in this buffer, which is for an agent's text and is empty.
MODE is as from `agent-q-diff-visit-mode-for-text'; nil is `fundamental-mode'.
Insert the text afterwards, so that it has no influence on what MODE does.

The hooks of the modes do not run: what they turn on can check the text by
evaluating it, as Flymake does with Emacs Lisp, or open what the text names.
Those of global minor modes run if IS-EDITED is non-nil, since the user types
in this buffer."
  (cl-progv (mapcar #'car agent-q-diff-visit--inert)
      (mapcar #'cdr agent-q-diff-visit--inert)
    (cl-letf (((default-value 'change-major-mode-hook)
               (and is-edited (default-value 'change-major-mode-hook))))
      (let ((enable-local-variables nil)
            (enable-dir-local-variables nil)
            (change-major-mode-after-body-hook nil))
        (agent-q-diff-base-silently
          (delay-mode-hooks (funcall (or mode #'fundamental-mode)))
          (setq delayed-mode-hooks nil)
          (if is-edited
              (run-hooks 'after-change-major-mode-hook)
            (when global-font-lock-mode
              (turn-on-font-lock-if-desired)))))))
  ;; Font lock reads them later.
  (pcase-dolist (`(,variable . ,value) agent-q-diff-visit--inert)
    (set (make-local-variable variable) value)))

(defun agent-q-diff-visit--mode-of-interpreter (text)
  "Return the mode of the interpreter that TEXT, a script, names, or nil."
  (when (string-match (concat "\\`\\(?:" auto-mode-interpreter-regexp "\\)") text)
    (let ((interpreter (file-name-nondirectory (match-string 2 text))))
      (cl-loop for (regexp . mode) in interpreter-mode-alist
               when (string-match-p (format "\\`\\(?:%s\\)\\'" regexp) interpreter)
               return mode))))

(defun agent-q-diff-visit--mode-of (name text)
  "Return the mode in which TEXT, an agent's for a file called NAME, is shown.
It is nil if there is none.  TEXT can choose only among interpreters."
  (let* ((file-name-handler-alist nil)
         (name (file-name-sans-versions name))
         (mode (or (let ((case-fold-search nil))
                     (assoc-default name auto-mode-alist #'string-match))
                   (and auto-mode-case-fold
                        (let ((case-fold-search t))
                          (assoc-default name auto-mode-alist #'string-match)))
                   (agent-q-diff-visit--mode-of-interpreter text))))
    (agent-q-diff-visit-mode-for-text
     (cond
      ;; It is then that of a compressed file or a backup.
      ((consp mode) nil)
      ((fboundp 'major-mode-remap) (major-mode-remap mode))
      ((boundp 'major-mode-remap-alist) (alist-get mode major-mode-remap-alist mode))
      (t mode)))))

;;;; Texts that are no files

(defun agent-q-diff-visit-detached-name (path)
  "Return PATH, the name of a text that is no file, as an absolute file name.
The file is not accessed, so PATH may be remote.  Then it stays as it is if
it is absolute, since expanding it could open a connection."
  (agent-q-diff-visit--check-spelling path)
  (or (agent-q-diff-visible-path-plain path default-directory)
      (if (and (file-remote-p default-directory) (not (file-name-absolute-p path)))
          (agent-q-diff-visit-name path)
        (substring-no-properties path))))

(defun agent-q-diff-visit--detached (path text)
  "Return a new buffer with TEXT, the proposed content of the file PATH.
It visits no file, so nothing done to it is ever written.  It has the major
mode of PATH, so that its code is shown in colors."
  (with-current-buffer (generate-new-buffer
                        (format "*Agent-Q Content: %s*"
                                (agent-q-diff-visible
                                 (file-name-nondirectory path))))
    (ignore-errors
      (agent-q-diff-visit-turn-on (agent-q-diff-visit--mode-of path text)))
    (insert text)
    (set-buffer-modified-p nil)
    (setq buffer-undo-list nil)
    (current-buffer)))

;;;; Closing

(defun agent-q-diff-visit--delete-empty (buffer directories)
  "Delete the file of BUFFER if it is empty, and the empty ones of DIRECTORIES.
A review has created the file and DIRECTORIES, innermost first, above it.
Return non-nil if the file is gone."
  (agent-q-diff-file-uncached
    (when (and (buffer-live-p buffer)
               (not (buffer-modified-p buffer))
               (string-empty-p (agent-q-diff-text-in buffer)))
      (let ((file (buffer-file-name buffer)))
        (when (equal 0 (file-attribute-size (file-attributes file)))
          (delete-file file)
          ;; If the buffer stays, it visits a file that does not exist, as before.
          (with-current-buffer buffer
            (set-visited-file-modtime -1)
            (agent-q-diff-disk-note)))
        (agent-q-diff-file-remove-directories directories)
        (not (file-exists-p file))))))

(defvar-local agent-q-diff-visit--noted nil
  "The traces of the user in this buffer when it was last ours alone.")
(put 'agent-q-diff-visit--noted 'permanent-local t)

(defun agent-q-diff-visit--traces ()
  "Return values that differ once the user has used the current buffer."
  (list buffer-display-count (point) (mark t) (point-min) (buffer-narrowed-p)
        buffer-read-only major-mode buffer-file-name
        (copy-sequence (buffer-local-value 'local-minor-modes (current-buffer)))))

(defun agent-q-diff-visit-note (buffer)
  "Note that BUFFER, which we visited or showed, is ours alone."
  (with-current-buffer buffer
    (setq agent-q-diff-visit--noted
          (cons (buffer-chars-modified-tick) (agent-q-diff-visit--traces)))))

(defun agent-q-diff-visit-ours-p (buffer &optional is-edited)
  "Return non-nil if the user has done nothing with BUFFER since we visited it.
If IS-EDITED is non-nil, its text may have changed, and point with it.  A
buffer that emacsclient or another program waits for is not ours, either."
  (with-current-buffer buffer
    (pcase-let ((`(,tick . ,noted) agent-q-diff-visit--noted)
                (now (agent-q-diff-visit--traces)))
      (and noted
           (if is-edited
               (equal (cons (car now) (cddr now)) (cons (car noted) (cddr noted)))
             (and (eql tick (buffer-chars-modified-tick))
                  (equal now noted)))
           (null (bound-and-true-p server-buffer-clients))
           (null (get-buffer-process buffer))
           (not (seq-some (lambda (other) (eq buffer (buffer-base-buffer other)))
                          (buffer-list)))))))

(defun agent-q-diff-visit--keep (buffer)
  "Note that the review which opened BUFFER is over; BUFFER stays."
  (agent-q-diff-base-with-live buffer
    (setq agent-q-diff-visit--is-reviewed nil)))

(defun agent-q-diff-visit--close (buffer &optional is-edited)
  "Kill BUFFER, which a review opened, unless the user has begun to use it.
If IS-EDITED is non-nil, the review has edited it."
  (agent-q-diff-visit--keep buffer)
  (when (buffer-live-p buffer)
    (when (and (not (get-buffer-window buffer t))
               (agent-q-diff-visit-ours-p buffer is-edited)
               (not (agent-q-diff-disk-unsaved-p buffer)))
      (kill-buffer buffer))))

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
            (setq is-kept t))
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
   :buffer (agent-q-diff-visit--detached name text)))

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
        (setf (agent-q-diff-target-lost target)
              ;; Visiting it was put off, or it is visited again after its buffer was killed.
              (and (or (agent-q-diff-target-put-off target)
                       (and (agent-q-diff-target-buffer target)
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
        buffer))))

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
                       (agent-q-diff-visit--delete-empty
                        buffer (agent-q-diff-target-missing target)))))
    (cond
     ((agent-q-diff-target-is-detached target)
      (when buffer
        (kill-buffer buffer)))
     ((not (agent-q-diff-target-is-new target)))
     ((or is-gone (not is-edited))
      (agent-q-diff-visit--close buffer is-edited))
     (t (agent-q-diff-visit--keep buffer)))))

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

(defun agent-q-diff-target--why-elsewhere (path truename buffer)
  "Return why PATH no longer leads to TRUENAME, a string, or nil if it does.
BUFFER visits the file, or is nil."
  (agent-q-diff-file-uncached
    (unless (equal truename (file-truename path))
      (if buffer
          (agent-q-diff-disk-message buffer 'moved)
        (format "%s leads elsewhere now, through a link" (agent-q-diff-visible path))))))

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
