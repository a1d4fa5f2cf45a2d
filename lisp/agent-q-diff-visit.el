;;; agent-q-diff-visit.el --- Names of files, and buffers that visit them for a review  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Turns an agent's path into a file name, visits that file without asking
;; anything or letting hooks insert, and closes what a review opened in vain
;; unless the user has begun to use it.  If a file cannot be visited, it signals
;; `agent-q-diff-bad-target' with a message that says what to do about it.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)

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

(defun agent-q-diff-visit-without-link (name link)
  "Return the true name of NAME once LINK, with which it begins, is a folder."
  (concat (agent-q-diff-visit-true-place link) (substring name (length link))))

(defun agent-q-diff-visit-note-without-link (name link)
  "Take LINK, in the directory of NAME, for the folder that it will be.
That is so in the body of `agent-q-diff-visit-resolving-once'."
  (let ((directory (file-name-directory name)))
    (puthash directory (agent-q-diff-visit-without-link directory link)
             agent-q-diff-visit--directories)))

(defun agent-q-diff-visit-truename (name)
  "Return `file-truename' of the absolute NAME."
  (if (or (null agent-q-diff-visit--directories) (file-symlink-p name))
      (agent-q-diff-file-truename name)
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

;;;; What version control runs
;;
;; Whoever writes .git/config says what git runs when it only looks at a file: a
;; monitor of files, a filter, a hook.  Emacs's own vc runs git when a file is
;; visited or saved.

(defun agent-q-diff-visit--git-environment ()
  "Return variables that keep git from running what the repository here names.
They are for `process-environment'; where there is no repository, nil."
  (and (not (file-remote-p default-directory))
       (memq 'Git vc-handled-backends)
       (locate-dominating-file default-directory ".git")
       (agent-q-diff-engine-call #'agent-q-diff-module-safe-environment
                                 (expand-file-name default-directory))))

(defmacro agent-q-diff-visit-with-safe-git (&rest body)
  "Evaluate BODY, and let the git of vc do nothing else than git's own work.
Other programs, such as those of the user's hooks, are not kept from that: they
may depend on it."
  (declare (indent 0) (debug t))
  `(let* ((environment 'unknown)
          (safe (lambda (function)
                  (lambda (&rest arguments)
                    (when (and (eq environment 'unknown)
                               ;; Nothing asks git about this file.
                               (not (and buffer-file-name
                                         (eq 'none (vc-file-getprop buffer-file-name
                                                                    'vc-backend)))))
                      (setq environment (ignore-error agent-q-diff-error
                                          (agent-q-diff-visit--git-environment))))
                    (let ((process-environment (append (and (listp environment) environment)
                                                       process-environment)))
                      (apply function arguments))))))
     (cl-letf (((symbol-function 'vc-refresh-state)
                (funcall safe (symbol-function 'vc-refresh-state)))
               ((symbol-function 'vc-before-save)
                (funcall safe (symbol-function 'vc-before-save)))
               ((symbol-function 'vc-after-save)
                (funcall safe (symbol-function 'vc-after-save))))
       ,@body)))

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
        (let ((new (agent-q-diff-visit-with-safe-git
                     (agent-q-diff-visit--find path))))
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

(defun agent-q-diff-visit-detached (path text)
  "Return a new buffer with TEXT, the proposed content of the file PATH.
It visits no file, so nothing done to it is ever written.  It has the major
mode of PATH, so that its code is shown in colors."
  (with-current-buffer (generate-new-buffer
                        (format "*Agent-Q Content: %s*"
                                (agent-q-diff-visible-name
                                 (file-name-nondirectory path))))
    (ignore-errors
      (agent-q-diff-visit-turn-on (agent-q-diff-visit--mode-of path text)))
    (insert text)
    (set-buffer-modified-p nil)
    (setq buffer-undo-list nil)
    (current-buffer)))

;;;; Closing

(defun agent-q-diff-visit-delete-empty (buffer directories)
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

(defun agent-q-diff-visit-keep (buffer)
  "Note that the review which opened BUFFER is over; BUFFER stays."
  (agent-q-diff-base-with-live buffer
    (setq agent-q-diff-visit--is-reviewed nil)))

(defun agent-q-diff-visit-close (buffer &optional is-edited)
  "Kill BUFFER, which a review opened, unless the user has begun to use it.
If IS-EDITED is non-nil, the review has edited it."
  (agent-q-diff-visit-keep buffer)
  (when (buffer-live-p buffer)
    (when (and (not (get-buffer-window buffer t))
               (agent-q-diff-visit-ours-p buffer is-edited)
               (not (agent-q-diff-disk-unsaved-p buffer)))
      (kill-buffer buffer))))

(provide 'agent-q-diff-visit)
;;; agent-q-diff-visit.el ends here
