;;; agent-q-diff-build.el --- Builds, checks and loads the Rust engine  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The engine is a dynamic module that cargo builds and that is installed
;; beside the Lisp files.  It must have been built from the sources that go
;; with them.  Loading this file neither asks, builds nor loads anything:
;; the first call of the engine does, through `agent-q-diff-build-ensure'.

;;; Code:

(require 'agent-q-diff-base)
(require 'seq)
(require 'subr-x)

(declare-function agent-q-diff-module-version "ext:agent-q-diff-module")

(defconst agent-q-diff-build-version "0.1.0"
  "Version of the engine that this Lisp code goes with.")

;;;; Finding and loading the module

(defvar agent-q-diff-build--directory
  (file-name-directory (or load-file-name buffer-file-name))
  "Directory of this file, where the module is installed.")

(defun agent-q-diff-build--module-file ()
  "Return the name of the module's file."
  (expand-file-name (concat "agent-q-diff-module" module-file-suffix)
                    agent-q-diff-build--directory))

(defun agent-q-diff-build--version-file ()
  "Return the name of the file with the installed module's version."
  (expand-file-name "agent-q-diff-module.version"
                    agent-q-diff-build--directory))

(defun agent-q-diff-build--installed ()
  "Return (VERSION SOURCES STAMP) of the installed module, or nil if there is none.
SOURCES is the digest of the files that it was built from.  STAMP is the
value of `agent-q-diff-build--stamp' for them; it may be missing."
  (when (and (file-exists-p (agent-q-diff-build--module-file))
             (file-readable-p (agent-q-diff-build--version-file)))
    (with-temp-buffer
      (insert-file-contents (agent-q-diff-build--version-file))
      (split-string (buffer-string)))))

(defun agent-q-diff-build-refuse (format &rest arguments)
  "Signal `agent-q-diff-no-module' with FORMAT and ARGUMENTS."
  (signal 'agent-q-diff-no-module (list (apply #'format format arguments))))

(defun agent-q-diff-build--compared (version)
  "Return words that compare VERSION, a string, with the version needed."
  (format "%s, %s than %s, which its Lisp code needs" version
          (cond ((ignore-errors (version< version agent-q-diff-build-version)) "older")
                ((ignore-errors (version< agent-q-diff-build-version version)) "newer")
                (t "other"))
          agent-q-diff-build-version))

(defun agent-q-diff-build--check-installed ()
  "Signal an error with what to do unless a suitable module is installed."
  (unless (bound-and-true-p module-file-suffix)
    (agent-q-diff-build-refuse
     "this Emacs cannot load modules; use one built --with-modules"))
  (pcase (agent-q-diff-build--installed)
    ('nil
     (agent-q-diff-build-refuse
      "the engine is not built; run M-x agent-q-diff-build-module"))
    ((and `(,version . ,_)
          (guard (not (equal version agent-q-diff-build-version))))
     (agent-q-diff-build-refuse
      "the engine is version %s; run M-x agent-q-diff-build-module"
      (agent-q-diff-build--compared version)))
    ;; After an update from version control, the sources can differ although
    ;; the version does not.
    ((and `(,_ ,sources . ,stamp)
          (guard (not (agent-q-diff-build--same-sources-p sources (car stamp)))))
     (agent-q-diff-build-refuse
      "the engine was built from other sources than those beside its Lisp code; \
run M-x agent-q-diff-build-module"))))

(defun agent-q-diff-build--check-loaded ()
  "Signal an error with what to do unless the loaded module is suitable."
  (let ((version (agent-q-diff-module-version)))
    (unless (equal version agent-q-diff-build-version)
      ;; A module cannot be loaded a second time.
      (agent-q-diff-build-refuse
       "engine %s is loaded; %srestart Emacs"
       (agent-q-diff-build--compared version)
       (if (condition-case nil
               (prog1 nil (agent-q-diff-build--check-installed))
             (agent-q-diff-no-module t))
           "run M-x agent-q-diff-build-module and "
         "")))))

(defvar agent-q-diff-build-checked nil
  "The `agent-q-diff-build-version' for which the engine was loaded, or nil.
It is compared by identity: Lisp files of another version have another string.")

(defun agent-q-diff-build-ensure ()
  "Load the engine unless it is loaded.
If that is impossible, signal `agent-q-diff-no-module' with what to do."
  (unless (featurep 'agent-q-diff-module)
    (agent-q-diff-build--check-installed)
    (condition-case err
        (module-load (agent-q-diff-build--module-file))
      (module-load-failed
       (agent-q-diff-build-refuse
        "the engine does not load (%s); run M-x agent-q-diff-build-module"
        (error-message-string err)))))
  (agent-q-diff-build--check-loaded)
  (setq agent-q-diff-build-checked agent-q-diff-build-version))

;;;; Building the module

(defun agent-q-diff-build--source-directories ()
  "Return the directories where the engine's sources may be, best first.
Package archives put the sources beside the Lisp files, repositories one
level up.  Some package managers link the Lisp files into a directory of
their own, and may delete it at each upgrade with whatever cargo has built
there.  So the true location of the Lisp files comes first."
  (let* ((here agent-q-diff-build--directory)
         (true (file-name-directory
                (file-truename (expand-file-name "agent-q-diff-build.el" here)))))
    (mapcan (lambda (directory)
              (list directory
                    (file-name-directory (directory-file-name directory))))
            (list true here))))

(defun agent-q-diff-build--manifest-p (file)
  "Return non-nil if FILE is the Cargo.toml of our workspace, not somebody else's."
  (and (file-readable-p file)
       (with-temp-buffer
         (insert-file-contents file)
         (re-search-forward "^members = \\[.*\"src/module\"" nil t))))

(defun agent-q-diff-build--find-sources ()
  "Return the directory of the engine's Cargo.toml, or nil."
  (seq-find (lambda (directory)
              (agent-q-diff-build--manifest-p
               (expand-file-name "Cargo.toml" directory)))
            (agent-q-diff-build--source-directories)))

(defun agent-q-diff-build--source-directory ()
  "Return the directory of the engine's Cargo.toml, or signal an error."
  (or (agent-q-diff-build--find-sources)
      (agent-q-diff-build-refuse "no Cargo.toml of the engine in %s"
                                 (string-join
                                  (seq-uniq (agent-q-diff-build--source-directories))
                                  " or "))))

(defun agent-q-diff-build--source-files ()
  "Return the names of the module's sources, relative to `default-directory'.
This must be the directory of the engine's Cargo.toml."
  (append '("Cargo.toml" "Cargo.lock")
          (mapcan (lambda (crate)
                    (and (file-directory-p crate)
                         (directory-files-recursively
                          crate "\\.rs\\'\\|\\`Cargo\\.toml\\'")))
                  (list "src/engine" "src/reviewed" "src/module"))))

(defun agent-q-diff-build--sources ()
  "Return a digest of the module's sources, or nil if there are none.
Reading them takes a few milliseconds."
  (when-let ((directory (agent-q-diff-build--find-sources))
             (default-directory directory))
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (dolist (file (agent-q-diff-build--source-files))
        (when (file-readable-p file)
          (insert file "\n")
          (insert-file-contents-literally file)
          (goto-char (point-max))))
      (secure-hash 'sha256 (current-buffer)))))

(defun agent-q-diff-build--stamp ()
  "Return a digest of the times and sizes of the module's sources, or nil.
It is nil if there are no sources.  While it stays the same, they need not
be read again."
  (when-let ((directory (agent-q-diff-build--find-sources))
             (default-directory directory))
    (secure-hash
     'sha256
     (mapconcat (lambda (file)
                  (let ((attributes (file-attributes file)))
                    (format "%s %s %s" file (file-attribute-size attributes)
                            ;; For nil, `format-time-string' would use the
                            ;; present time.
                            (and attributes
                                 (format-time-string
                                  "%s.%N" (file-attribute-modification-time
                                           attributes))))))
                (agent-q-diff-build--source-files) "\n"))))

(defun agent-q-diff-build--same-sources-p (sources stamp)
  "Return non-nil if the module's sources are those with the digest SOURCES.
STAMP is the value of `agent-q-diff-build--stamp' for them, or nil.  If
there are no sources to compare with, return non-nil."
  (or (and stamp (equal stamp (agent-q-diff-build--stamp)))
      (member (agent-q-diff-build--sources) (list nil sources))))

(defun agent-q-diff-build--cargo ()
  "Return the name of the cargo program."
  (or (executable-find "cargo")
      (let ((home (expand-file-name "~/.cargo/bin/cargo")))
        (and (file-executable-p home) home))
      (agent-q-diff-build-refuse
       "cargo is neither on `exec-path' nor in ~/.cargo/bin; install Rust")))

(defun agent-q-diff-build--built-file (source name)
  "Return the name of the file NAME that cargo built in SOURCE."
  (expand-file-name (concat "release/" name)
                    (expand-file-name (or (getenv "CARGO_TARGET_DIR") "target") source)))

(defun agent-q-diff-build-program ()
  "Return the name of the program for agents that was built here, or nil."
  (when-let* ((source (agent-q-diff-build--find-sources))
              (file (agent-q-diff-build--built-file
                     source (if (eq 'windows-nt system-type) "agent-q-diff.exe" "agent-q-diff")))
              ((file-executable-p file)))
    file))

(defun agent-q-diff-build--library (source)
  "Return the name of the engine's library that cargo built in SOURCE."
  (agent-q-diff-build--built-file source (pcase system-type
                                           ('windows-nt "agent_q_diff_module.dll")
                                           ('darwin "libagent_q_diff_module.dylib")
                                           (_ "libagent_q_diff_module.so"))))

(defun agent-q-diff-build--install (library digest stamp &optional check)
  "Install LIBRARY, a file, as the module.
DIGEST and STAMP are those of the sources when the build began, or nil.
The file is renamed into place: writing over a loaded module would crash
the Emacs that has it loaded.  CHECK, if given, is called with a copy of the
library before that."
  (let* ((file (agent-q-diff-build--module-file))
         (temporary (make-temp-name (concat file "."))))
    (unwind-protect
        (progn
          (copy-file library temporary)
          (when check
            (funcall check temporary))
          (rename-file temporary file t))
      (when (file-exists-p temporary)
        (delete-file temporary)))
    (with-temp-file (agent-q-diff-build--version-file)
      (insert agent-q-diff-build-version
              (if digest (concat " " digest) "")
              (if (and digest stamp) (concat " " stamp) "")
              "\n"))))

(defun agent-q-diff-build-take (library)
  "Install LIBRARY, a file that was built elsewhere, as the engine, and load it.
If an engine is loaded already, that stays until Emacs is restarted."
  (agent-q-diff-build--install
   library (agent-q-diff-build--sources) (agent-q-diff-build--stamp)
   (unless (featurep 'agent-q-diff-module)
     (lambda (copy)
       (condition-case err
           (module-load copy)
         (module-load-failed
          (agent-q-diff-build-refuse "%s does not load as an engine (%s)"
                                     library (error-message-string err))))
       (agent-q-diff-build--check-loaded)))))

(defun agent-q-diff-build--build-arguments (&optional is-all)
  "Return the arguments of cargo for building the module.
If IS-ALL is non-nil, they are for the program for agents, too."
  (append '("build" "--release" "--locked" "-p" "agent-q-diff-module")
          (when is-all
            '("-p" "agent-q-diff-cli"))
          (when-let ((features (getenv "AGENT_Q_DIFF_FEATURES")))
            (list "--features" features))))

(defun agent-q-diff-build-start (is-all function)
  "Build the engine with cargo, install it, and then call FUNCTION.
If IS-ALL is non-nil, build the program for agents, too.  Show cargo's output in
a buffer, and return its process."
  (let* ((default-directory (agent-q-diff-build--source-directory))
         (command (cons (agent-q-diff-build--cargo)
                        (agent-q-diff-build--build-arguments is-all)))
         (digest (agent-q-diff-build--sources))
         (stamp (agent-q-diff-build--stamp))
         (buffer (get-buffer-create "*agent-q-diff build*")))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer))
      (special-mode))
    (display-buffer buffer)
    (let ((process
           (make-process :name "agent-q-diff-build" :buffer buffer :command command
                         ;; On a terminal, cargo draws a bar, in colors.
                         :connection-type 'pipe
                         :sentinel #'agent-q-diff-build--build-sentinel)))
      (process-put process 'library (agent-q-diff-build--library default-directory))
      (process-put process 'digest digest)
      (process-put process 'stamp stamp)
      (process-put process 'function function)
      process)))

;;;###autoload
(defun agent-q-diff-build-module ()
  "Build the engine with cargo and install it beside the Lisp files.
Show cargo's output in a buffer, and say what to do next when it ends."
  (interactive)
  (agent-q-diff-build-start
   nil (lambda ()
         (message "Engine %s is built%s" agent-q-diff-build-version
                  (if (featurep 'agent-q-diff-module)
                      "; restart Emacs to use it"
                    "")))))

(defun agent-q-diff-build--build-sentinel (process _event)
  "Install what PROCESS built, or say that it failed."
  (when (memq (process-status process) '(exit signal))
    (if (not (eq 0 (process-exit-status process)))
        (message "Building the engine failed; see %s"
                 (buffer-name (process-buffer process)))
      (agent-q-diff-build--install (process-get process 'library)
                                   (process-get process 'digest)
                                   (process-get process 'stamp))
      (funcall (process-get process 'function)))))

(defun agent-q-diff-build-module-batch ()
  "Build and install the engine in a batch Emacs, for \"make build\"."
  (let* ((default-directory (agent-q-diff-build--source-directory))
         (digest (agent-q-diff-build--sources))
         (stamp (agent-q-diff-build--stamp))
         (status (apply #'call-process (agent-q-diff-build--cargo) nil
                        '(:file "/dev/stderr") nil
                        (agent-q-diff-build--build-arguments))))
    (unless (eq status 0)
      (message "agent-q-diff: cargo failed (%s)" status)
      (kill-emacs 1))
    (agent-q-diff-build--install (agent-q-diff-build--library default-directory) digest stamp)))

(provide 'agent-q-diff-build)
;;; agent-q-diff-build.el ends here
