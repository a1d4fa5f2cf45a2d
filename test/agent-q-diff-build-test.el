;;; agent-q-diff-build-test.el --- Building, checking and loading the engine  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Finding, building, checking and loading the module, each in a fresh Emacs.

;;; Code:

(require 'agent-q-diff-test-help)

(defun aqd-build-load-error (form)
  "Return the message of the error that loading the engine gives after FORM."
  (aqd-in-fresh-emacs
   `(condition-case err
        (progn ,form (agent-q-diff-engine-review "a" "b") "no error")
      (agent-q-diff-no-module (cadr err)))))

;;;; Loading

(ert-deftest aqd-build-loading-the-lisp-loads-no-module ()
  (should (equal "nil" (aqd-in-fresh-emacs
                        '(progn (require 'agent-q-diff)
                                (featurep 'agent-q-diff-module))))))

(ert-deftest aqd-build-loading-the-package-loads-its-files-at-first-use ()
  (should (equal "(nil nil t)"
                 (aqd-in-fresh-emacs
                  '(progn (require 'agent-q-diff)
                          (list (featurep 'diff-mode)
                                (featurep 'agent-q-diff-file-change)
                                (progn (agent-q-diff-open-reviews)
                                       (featurep 'agent-q-diff-file-change))))))))

(ert-deftest aqd-build-what-the-package-promises-is-where-it-says ()
  (should (equal "nil"
                 (aqd-in-fresh-emacs
                  '(let (broken)
                     (require 'agent-q-diff)
                     (mapatoms
                      (lambda (symbol)
                        (when (and (string-prefix-p "agent-q-diff" (symbol-name symbol))
                                   (autoloadp (symbol-function symbol)))
                          (let ((is-command (commandp symbol)))
                            (autoload-do-load (symbol-function symbol) symbol)
                            (unless (eq is-command (commandp symbol))
                              (push symbol broken))))))
                     broken)))))

(ert-deftest aqd-build-missing-module-says-how-to-build ()
  (should (equal (aqd-build-load-error '(setq agent-q-diff-build--directory "/nowhere/"))
                 "the engine is not built; run M-x agent-q-diff-build-module")))

(ert-deftest aqd-build-module-of-another-version-says-how-to-build ()
  (pcase-dolist (`(,version . ,said) '(("99.0" . "older than 99\\.0")
                                       ("0.0.1" . "newer than 0\\.0\\.1")))
    (should (string-match-p
             (concat "version 0\\.1\\.0, " said
                     ", which its Lisp code needs; run M-x agent-q-diff-build-module\\'")
             (aqd-build-load-error `(setq agent-q-diff-build-version ,version))))))

(ert-deftest aqd-build-loaded-module-of-another-version-says-to-restart ()
  (let ((load '(agent-q-diff-engine-review "a" "b")))
    ;; Installed is the old one still, or the right one already.
    (should (string-match-p
             "is loaded; run M-x agent-q-diff-build-module and restart Emacs\\'"
             (aqd-build-load-error `(progn ,load (setq agent-q-diff-build-version "99.0")))))
    (should (string-match-p
             "older than 99\\.0, which its Lisp code needs is loaded; restart Emacs\\'"
             (aqd-build-load-error `(progn ,load
                                           (setq agent-q-diff-build-version "99.0")
                                           (fset 'agent-q-diff-build--installed
                                                 (lambda () '("99.0")))))))))

(ert-deftest aqd-build-loaded-module-is-checked-once-for-each-version-of-the-lisp-files ()
  (agent-q-diff-build-ensure)
  (let ((agent-q-diff-build-checked agent-q-diff-build-checked)
        (n 0))
    (cl-letf (((symbol-function 'agent-q-diff-build--check-loaded) (lambda () (cl-incf n))))
      (agent-q-diff-engine-suspects "a")
      (should (= 0 n))
      ;; As if the Lisp files had been loaded again.
      (let ((agent-q-diff-build-version (copy-sequence agent-q-diff-build-version)))
        (agent-q-diff-engine-suspects "a")
        (agent-q-diff-engine-suspects "a")))
    (should (= 1 n))))

(ert-deftest aqd-build-module-of-other-sources-says-how-to-build ()
  (should (string-match-p
           "built from other sources .*; run M-x agent-q-diff-build-module\\'"
           (aqd-build-load-error '(progn
                                    (fset 'agent-q-diff-build--stamp (lambda () "other"))
                                    (fset 'agent-q-diff-build--sources (lambda () "other"))))))
  ;; The same sources with other times, as of a copy, are the same.
  (should (equal (aqd-build-load-error '(fset 'agent-q-diff-build--stamp (lambda () "other")))
                 "no error"))
  ;; With the same times and sizes they are not read.
  (should (equal (aqd-build-load-error '(fset 'agent-q-diff-build--sources
                                              (lambda () (error "Read"))))
                 "no error"))
  ;; Without sources there is nothing to compare with.
  (should (equal (aqd-build-load-error '(progn
                                          (fset 'agent-q-diff-build--stamp #'ignore)
                                          (fset 'agent-q-diff-build--sources #'ignore)))
                 "no error")))

(defconst aqd-build-manifest "members = [\"src/engine\", \"src/module\"]\n"
  "What tells our Cargo.toml from others.")

(ert-deftest aqd-build-stamp-is-another-when-a-source-is ()
  (let ((folder (file-name-as-directory (make-temp-file "aqd" t))))
    (unwind-protect
        (let ((agent-q-diff-build--directory folder)
              (file (expand-file-name "src/engine/lib.rs" folder)))
          (should-not (agent-q-diff-build--stamp))
          (make-directory (expand-file-name "src/engine" folder) t)
          (write-region aqd-build-manifest nil
                        (expand-file-name "Cargo.toml" folder) nil 'silent)
          (write-region "a" nil file nil 'silent)
          (let ((before (agent-q-diff-build--stamp)))
            (should before)
            (should (equal before (agent-q-diff-build--stamp)))
            (write-region "b" nil file nil 'silent)
            (should-not (equal before (agent-q-diff-build--stamp)))
            (delete-file file)
            (should-not (equal before (agent-q-diff-build--stamp)))))
      (delete-directory folder t))))

(ert-deftest aqd-build-emacs-without-modules-is-said ()
  (should (equal (aqd-build-load-error '(setq module-file-suffix nil))
                 "this Emacs cannot load modules; use one built --with-modules")))

(ert-deftest aqd-build-file-that-is-no-module-is-said ()
  (let ((directory (make-temp-file "aqd" t)))
    (unwind-protect
        (progn
          (write-region "junk" nil (expand-file-name
                                    (concat "agent-q-diff-module" module-file-suffix)
                                    directory)
                        nil 'silent)
          (write-region agent-q-diff-build-version nil
                        (expand-file-name "agent-q-diff-module.version" directory)
                        nil 'silent)
          (should (string-match-p
                   "\\`the engine does not load .*run M-x agent-q-diff-build-module\\'"
                   (aqd-build-load-error
                    `(setq agent-q-diff-build--directory
                           ,(file-name-as-directory directory))))))
      (delete-directory directory t))))

(ert-deftest aqd-build-building-without-cargo-is-said ()
  (let ((exec-path nil)
        (process-environment (cons "HOME=/nowhere" process-environment)))
    (should (string-match-p
             "cargo is neither"
             (cadr (should-error (agent-q-diff-build-module)
                                 :type 'agent-q-diff-no-module))))))

(ert-deftest aqd-build-building-without-sources-is-said ()
  (let ((agent-q-diff-build--directory "/nowhere/"))
    (should-error (agent-q-diff-build-module) :type 'agent-q-diff-no-module)))

(ert-deftest aqd-build-one-version-everywhere ()
  (agent-q-diff-build-ensure)
  (with-temp-buffer
    (insert-file-contents (expand-file-name "../Cargo.toml" aqd-lisp-directory))
    (should (re-search-forward "^version = \"\\(.*\\)\"$"))
    (should (equal (match-string 1) agent-q-diff-build-version)))
  (with-temp-buffer
    (insert-file-contents (expand-file-name "agent-q-diff.el" aqd-lisp-directory))
    (should (re-search-forward "^;; Version: \\(.*\\)$"))
    (should (equal (match-string 1) agent-q-diff-build-version))))

(defmacro aqd-build-with-cargo (script &rest body)
  "Run BODY where the package is a copy, and cargo is the shell SCRIPT.
SCRIPT runs in the source directory; $module is the true module's file."
  (declare (indent 1) (debug t))
  `(let* ((source (file-name-as-directory (make-temp-file "aqd" t)))
          (agent-q-diff-build--directory (expand-file-name "lisp/" source))
          (cargo (expand-file-name "cargo" source))
          (exec-path (list source "/usr/bin" "/bin"))
          (process-environment
           (append (list "CARGO_TARGET_DIR" "AGENT_Q_DIFF_FEATURES")
                   process-environment)))
     (make-directory agent-q-diff-build--directory)
     (write-region aqd-build-manifest nil
                   (expand-file-name "Cargo.toml" source) nil 'silent)
     (write-region (concat "#!/bin/sh\necho \"$@\" > arguments\nmodule="
                           (shell-quote-argument
                            (expand-file-name (concat "agent-q-diff-module"
                                                      module-file-suffix)
                                              aqd-lisp-directory))
                           "\n" ,script "\n")
                   nil cargo nil 'silent)
     (set-file-modes cargo #o755)
     (unwind-protect (progn ,@body)
       (delete-directory source t))))

(defun aqd-build ()
  "Build the module and wait until that has ended.  Return the last message."
  (let (said)
    (cl-letf (((symbol-function 'message)
               (lambda (format &rest arguments)
                 (setq said (and format (apply #'format format arguments))))))
      (let ((process (agent-q-diff-build-module)))
        (while (or (process-live-p process) (not said))
          (accept-process-output process 1))))
    said))

(ert-deftest aqd-build-build-module-installs-what-cargo-built ()
  (aqd-build-with-cargo "mkdir -p target/release
cp \"$module\" target/release/libagent_q_diff_module.so"
    (should (string-match-p "\\`Engine .* is built" (aqd-build)))
    (should (equal (agent-q-diff-build--installed)
                   (list agent-q-diff-build-version (agent-q-diff-build--sources)
                         (agent-q-diff-build--stamp))))
    (should (equal (with-temp-buffer
                     (insert-file-contents (expand-file-name "arguments" source))
                     (buffer-string))
                   "build --release --locked -p agent-q-diff-module\n"))
    ;; Nothing temporary stays beside it.
    (should (equal (directory-files agent-q-diff-build--directory nil "\\`[^.]")
                   (list (concat "agent-q-diff-module" module-file-suffix)
                         "agent-q-diff-module.version")))))

(ert-deftest aqd-build-build-module-that-fails-says-where-to-look ()
  (aqd-build-with-cargo "exit 101"
    (should (string-match-p "failed; see \\*agent-q-diff build\\*" (aqd-build)))
    (should-not (agent-q-diff-build--installed))))

(ert-deftest aqd-build-an-engine-can-be-taken-from-a-file ()
  (aqd-build-with-cargo ""
    (agent-q-diff-build-take (expand-file-name (concat "agent-q-diff-module" module-file-suffix)
                                               aqd-lisp-directory))
    (should (equal (agent-q-diff-build--installed)
                   (list agent-q-diff-build-version (agent-q-diff-build--sources)
                         (agent-q-diff-build--stamp))))
    (cl-letf ((installed (directory-files agent-q-diff-build--directory nil "\\`[^.]"))
              ((symbol-value 'features) (remq 'agent-q-diff-module features)))
      ;; What is no engine takes the place of none.
      (should (string-search "Cargo.toml does not load as an engine"
                             (cadr (should-error (agent-q-diff-build-take
                                                  (expand-file-name "Cargo.toml" source))
                                                 :type 'agent-q-diff-no-module))))
      (should (equal installed (directory-files agent-q-diff-build--directory nil "\\`[^.]")))
      (should (equal (aqd-bytes-of (agent-q-diff-build--module-file))
                     (aqd-bytes-of (expand-file-name
                                    (concat "agent-q-diff-module" module-file-suffix)
                                    aqd-lisp-directory)))))))

(ert-deftest aqd-build-the-program-for-agents-is-built-with-the-engine ()
  (aqd-build-with-cargo "mkdir -p target/release
cp \"$module\" target/release/libagent_q_diff_module.so
touch target/release/agent-q-diff
chmod +x target/release/agent-q-diff"
    (should-not (agent-q-diff-build-program))
    (let* ((done nil)
           (process (agent-q-diff-build-start t (lambda () (setq done t)))))
      (while (or (process-live-p process) (not done))
        (accept-process-output process 1)))
    (should (equal (agent-q-diff-build-program)
                   (expand-file-name "target/release/agent-q-diff" source)))
    (should (equal (aqd-bytes-of (expand-file-name "arguments" source))
                   "build --release --locked -p agent-q-diff-module -p agent-q-diff-cli\n"))))

;;;; Where the sources are

(defun aqd-build-source-found (&rest tree)
  "Return where the engine's sources are found in TREE, relative to its folder.
TREE lists files, each a name or (NAME . TARGET) for a symbolic link; the
Lisp files in use are those in its folder \"used\"."
  (let* ((folder (file-name-as-directory (file-truename (make-temp-file "aqd" t))))
         (default-directory folder)
         (agent-q-diff-build--directory (expand-file-name "used/")))
    (unwind-protect
        (progn
          (dolist (file tree)
            (pcase file
              (`(,name . ,target)
               (make-directory (file-name-directory (expand-file-name name)) t)
               (make-symbolic-link (expand-file-name target) name))
              (_ (make-directory (file-name-directory (expand-file-name file)) t)
                 (write-region aqd-build-manifest nil file nil 'silent))))
          (when-let ((found (agent-q-diff-build--find-sources)))
            (file-relative-name found folder)))
      (delete-directory folder t))))

(ert-deftest aqd-build-sources-beside-the-lisp-of-a-package-archive ()
  (should (equal (aqd-build-source-found "used/agent-q-diff-build.el" "used/Cargo.toml")
                 "used/")))

(ert-deftest aqd-build-sources-one-level-up-in-a-repository ()
  (should (equal (aqd-build-source-found "used/agent-q-diff-build.el" "Cargo.toml")
                 "./")))

(ert-deftest aqd-build-sources-beside-the-true-names-of-linked-lisp ()
  "As straight and elpaca link them, of a flat repository and of ours."
  (should (equal (aqd-build-source-found "repos/agent-q-diff-build.el" "repos/Cargo.toml"
                                         '("used/agent-q-diff-build.el"
                                           . "repos/agent-q-diff-build.el"))
                 "repos/"))
  (should (equal (aqd-build-source-found "repos/lisp/agent-q-diff-build.el"
                                         "repos/Cargo.toml"
                                         '("used/agent-q-diff-build.el"
                                           . "repos/lisp/agent-q-diff-build.el"))
                 "repos/"))
  ;; If sources are linked, too, cargo works where an upgrade keeps its results.
  (should (equal (aqd-build-source-found "repos/lisp/agent-q-diff-build.el"
                                         "repos/Cargo.toml"
                                         '("used/Cargo.toml" . "repos/Cargo.toml")
                                         '("used/agent-q-diff-build.el"
                                           . "repos/lisp/agent-q-diff-build.el"))
                 "repos/"))
  ;; The folder itself may be a link.
  (should (equal (aqd-build-source-found "repos/lisp/agent-q-diff-build.el"
                                         "repos/Cargo.toml" '("used" . "repos/lisp"))
                 "repos/")))

(ert-deftest aqd-build-sources-of-somebody-else-are-not-ours ()
  (let ((find (symbol-function 'agent-q-diff-build--manifest-p)))
    (with-temp-buffer
      (let ((file (make-temp-file "aqd")))
        (unwind-protect
            (progn (write-region "members = [\"src/x\"]\n" nil file nil 'silent)
                   (should-not (funcall find file)))
          (delete-file file))))))

(provide 'agent-q-diff-build-test)
;;; agent-q-diff-build-test.el ends here
