;;; package-test.el --- Installed from nothing, a first review opens  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Installs the package in an empty home as a user would, builds the engine by
;; its command, and decides a review in an Emacs that was started with no
;; arguments of ours.  The engine's crates are compiled once, in a target folder
;; that all of this shares; the engine itself anew each time.

;;; Code:

(require 'agent-q-diff-tmux)

(defconst package-root (expand-file-name "../.." e2e-here)
  "Folder of the project.")

(defconst package-target
  (expand-file-name "package" (or (getenv "CARGO_TARGET_DIR")
                                  (expand-file-name "target" package-root)))
  "Folder of what is built here, which later runs use again.")

(defun package-batch (home &rest forms)
  "Evaluate FORMS in a batch Emacs whose home is HOME, and return what it prints.
Packages that are installed there are activated.  An error fails the test."
  (with-temp-buffer
    (let* ((process-environment
            (append (list (concat "HOME=" home)
                          (concat "CARGO_TARGET_DIR=" package-target)
                          "EMACSLOADPATH")
                    process-environment))
           (status (call-process (or (getenv "EMACS") "emacs") nil t nil
                                 "-Q" "--batch" "--eval"
                                 (prin1-to-string
                                  `(progn (require 'package)
                                          (package-initialize)
                                          ,@forms)))))
      (unless (eq status 0)
        (ert-fail (list 'status status (buffer-string))))
      (buffer-string))))

(defmacro package-with-home (home &rest body)
  "Run BODY with the symbol HOME bound to an empty home folder."
  (declare (indent 1) (debug t))
  `(let ((,home (file-name-as-directory (make-temp-file "aqd-home" t))))
     (unwind-protect (progn ,@body)
       (delete-directory ,home t))))

(defun package-should-install (home &rest forms)
  "Evaluate FORMS, which install the package in HOME.
The byte compiler must have nothing to complain about, but for the files
that Emacs itself has written."
  (should-not (seq-filter (lambda (line)
                            (and (string-match-p "\\(?:Warning\\|Error\\):" line)
                                 (not (string-match-p
                                       "\\`agent-q-diff-\\(?:autoloads\\|pkg\\)\\.el:"
                                       line))))
                          (split-string (apply #'package-batch home forms) "\n"))))

(defun package-build-engine (home &rest before)
  "Build the engine of the package installed in HOME, by its command.
BEFORE are forms that are evaluated first."
  (should
   (string-match-p
    "Engine .* is built"
    (apply #'package-batch home
           (append before
                   '((let ((process (agent-q-diff-build-module)))
                       (while (process-live-p process)
                         (accept-process-output process 1))
                       (unless (eq 0 (process-exit-status process))
                         (princ (with-current-buffer (process-buffer process)
                                  (buffer-string)))
                         (kill-emacs 1)))))))))

(defun package-decide-a-review (home &rest arguments)
  "Start Emacs with the home HOME and ARGUMENTS, and decide a first review there."
  (let ((e2e-load-arguments (append '("--no-site-file" "--no-splash") arguments))
        (e2e-environment (list (concat "HOME=" home))))
    (e2e-with-emacs
      (should (string-prefix-p (file-truename home)
                               (file-truename
                                (e2e-eval '(locate-library "agent-q-diff")))))
      (e2e-propose 'key 'first (e2e-proposal "target"))
      (e2e-keys "a r a q")
      (should (equal (e2e-answer 'first) '(:ok "accepted")))
      (should (equal (e2e-read "target") (e2e-text 5 35))))))

(defun package-copy-sources (folder)
  "Copy what a clone of the repository has into FOLDER, as far as it is needed."
  (make-directory folder t)
  (dolist (name '("Cargo.toml" "Cargo.lock" "README.md" "lisp" "src" "doc"))
    (let ((file (expand-file-name name package-root)))
      (if (file-directory-p file)
          (copy-directory file (file-name-as-directory folder) t)
        (copy-file file (file-name-as-directory folder)))))
  ;; As .gitignore has it.
  (dolist (built (file-expand-wildcards
                  (expand-file-name "lisp/agent-q-diff-module.*" folder)))
    (delete-file built)))

(defun package-should-open-manual (home)
  "Check that Info finds the manual of the package installed in HOME."
  (should (string-match-p
           "node: Top"
           (package-batch home
                          '(progn (require 'info)
                                  (info "(agent-q-diff)Top")
                                  (princ (format "node: %s" Info-current-node)))))))

(ert-deftest e2e-package-as-melpa-packs-it ()
  (package-with-home home
    (make-directory package-target t)
    (let ((tar (string-trim
                (with-temp-buffer
                  (should (eq 0 (call-process
                                 (or (getenv "EMACS") "emacs") nil '(t nil) nil
                                 "-Q" "--batch" "-l"
                                 (expand-file-name "test/tools/melpa-tar.el" package-root)
                                 "-f" "melpa-tar" package-root package-target)))
                  (buffer-string)))))
      (package-should-install home `(package-install-file ,tar))
      ;; Nothing but an autoload knows of the commands.
      (should (equal "autoloads"
                     (package-batch home
                                    '(when (and (autoloadp (symbol-function
                                                            'agent-q-diff-build-module))
                                                (autoloadp (symbol-function
                                                            'agent-q-diff-review-diff))
                                                (not (featurep 'agent-q-diff-base)))
                                       (princ "autoloads")))))
      (package-should-open-manual home)
      (package-build-engine home)
      (package-decide-a-review home))))

(ert-deftest e2e-package-linked-and-compiled-as-straight-does ()
  "Only the Lisp files are linked: the engine's sources are at their true names."
  (package-with-home home
    (let ((repository (expand-file-name "straight/repos/agent-q-diff/" home))
          (build (expand-file-name "straight/build/agent-q-diff/" home)))
      (package-copy-sources repository)
      (make-directory build t)
      (dolist (file (file-expand-wildcards (expand-file-name "lisp/*.el" repository)))
        (make-symbolic-link file build))
      (package-should-install home `(add-to-list 'load-path ,build)
                              `(byte-recompile-directory ,build 0))
      (package-build-engine home `(add-to-list 'load-path ,build)
                            '(require 'agent-q-diff))
      (should (file-exists-p (expand-file-name "agent-q-diff-module.version" build)))
      (package-decide-a-review home "-L" build))))

;; Emacs 28 has no package-vc, and of those that do we test on 30.1 only.
(when (>= emacs-major-version 30)
  (ert-deftest e2e-package-from-version-control ()
    (package-with-home home
      (let ((repository (expand-file-name "repository/" home)))
        (package-copy-sources repository)
        (dolist (arguments '(("init" "-q")
                             ("add" ".")
                             ("-c" "user.name=A" "-c" "user.email=a@example.org"
                              "commit" "-qm" "All")))
          (should (eq 0 (apply #'call-process "git" nil nil nil
                               "-C" repository arguments))))
        (package-should-install
         home
         `(package-vc-install '(agent-q-diff :url ,repository :vc-backend Git
                                             :lisp-dir "lisp"
                                             :doc "doc/agent-q-diff.texi")))
        (package-should-open-manual home)
        (package-build-engine home)
        (package-decide-a-review home)))))

(provide 'package-test)
;;; package-test.el ends here
