;;; agent-q-diff-engine-test.el --- The way to the engine and back  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Finding, loading and building the module, what crosses the boundary, and
;; that nothing in the engine can end Emacs.

;;; Code:

(require 'agent-q-diff-test-help)

(defconst aqd-lisp-directory (file-name-directory (locate-library "agent-q-diff"))
  "Directory of the Lisp files under test.")

(defun aqd-in-fresh-emacs (form)
  "Evaluate FORM in a new batch Emacs and return what it prints.
The engine's Lisp is loaded there, and nothing else of ours."
  (with-temp-buffer
    (call-process (expand-file-name invocation-name invocation-directory)
                  nil t nil "-Q" "--batch" "-L" aqd-lisp-directory
                  "-l" "agent-q-diff-engine" "--eval"
                  (format "(princ %s)" (prin1-to-string form)))
    (buffer-string)))

(defun aqd-load-error (form)
  "Return the message of the error that loading the engine gives after FORM."
  (aqd-in-fresh-emacs
   `(condition-case err
        (progn ,form (agent-q-diff-engine-review "a" "b") "no error")
      (agent-q-diff-no-module (cadr err)))))

;;;; Loading

(ert-deftest aqd-engine-loading-the-lisp-loads-no-module ()
  (should (equal "nil" (aqd-in-fresh-emacs
                        '(progn (require 'agent-q-diff)
                                (featurep 'agent-q-diff-module))))))

(ert-deftest aqd-engine-loading-the-package-loads-its-rooms-at-first-use ()
  (should (equal "(nil nil t)"
                 (aqd-in-fresh-emacs
                  '(progn (require 'agent-q-diff)
                          (list (featurep 'diff-mode)
                                (featurep 'agent-q-diff-review)
                                (progn (agent-q-diff-open-reviews)
                                       (featurep 'agent-q-diff-review))))))))

(ert-deftest aqd-engine-what-the-package-promises-is-where-it-says ()
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

(ert-deftest aqd-engine-missing-module-says-how-to-build ()
  (should (equal (aqd-load-error '(setq agent-q-diff-engine--directory "/nowhere/"))
                 "the engine is not built; run M-x agent-q-diff-build-module")))

(ert-deftest aqd-engine-module-of-another-version-says-how-to-build ()
  (pcase-dolist (`(,version . ,said) '(("99.0" . "older than 99\\.0")
                                       ("0.0.1" . "newer than 0\\.0\\.1")))
    (should (string-match-p
             (concat "version 0\\.1\\.0, " said
                     ", which its Lisp code needs; run M-x agent-q-diff-build-module\\'")
             (aqd-load-error `(setq agent-q-diff-engine-version ,version))))))

(ert-deftest aqd-engine-loaded-module-of-another-version-says-to-restart ()
  (let ((load '(agent-q-diff-engine-review "a" "b")))
    ;; Installed is the old one still, or the right one already.
    (should (string-match-p
             "is loaded; run M-x agent-q-diff-build-module and restart Emacs\\'"
             (aqd-load-error `(progn ,load (setq agent-q-diff-engine-version "99.0")))))
    (should (string-match-p
             "older than 99\\.0, which its Lisp code needs is loaded; restart Emacs\\'"
             (aqd-load-error `(progn ,load
                                     (setq agent-q-diff-engine-version "99.0")
                                     (fset 'agent-q-diff-engine--installed
                                           (lambda () '("99.0")))))))))

(ert-deftest aqd-engine-module-of-other-sources-says-how-to-build ()
  (should (string-match-p
           "built from other sources .*; run M-x agent-q-diff-build-module\\'"
           (aqd-load-error '(progn
                              (fset 'agent-q-diff-engine--stamp (lambda () "other"))
                              (fset 'agent-q-diff-engine--sources (lambda () "other"))))))
  ;; The same sources with other times, as of a copy, are the same.
  (should (equal (aqd-load-error '(fset 'agent-q-diff-engine--stamp (lambda () "other")))
                 "no error"))
  ;; With the same times and sizes they are not read.
  (should (equal (aqd-load-error '(fset 'agent-q-diff-engine--sources
                                        (lambda () (error "Read"))))
                 "no error"))
  ;; Without sources there is nothing to compare with.
  (should (equal (aqd-load-error '(progn
                                    (fset 'agent-q-diff-engine--stamp #'ignore)
                                    (fset 'agent-q-diff-engine--sources #'ignore)))
                 "no error")))

(defconst aqd-engine-manifest "members = [\"src/engine\", \"src/module\"]\n"
  "What tells our Cargo.toml from others.")

(ert-deftest aqd-engine-stamp-is-another-when-a-source-is ()
  (let ((folder (file-name-as-directory (make-temp-file "aqd" t))))
    (unwind-protect
        (let ((agent-q-diff-engine--directory folder)
              (file (expand-file-name "src/engine/lib.rs" folder)))
          (should-not (agent-q-diff-engine--stamp))
          (make-directory (expand-file-name "src/engine" folder) t)
          (write-region aqd-engine-manifest nil
                        (expand-file-name "Cargo.toml" folder) nil 'silent)
          (write-region "a" nil file nil 'silent)
          (let ((before (agent-q-diff-engine--stamp)))
            (should before)
            (should (equal before (agent-q-diff-engine--stamp)))
            (write-region "b" nil file nil 'silent)
            (should-not (equal before (agent-q-diff-engine--stamp)))
            (delete-file file)
            (should-not (equal before (agent-q-diff-engine--stamp)))))
      (delete-directory folder t))))

(ert-deftest aqd-engine-emacs-without-modules-is-said ()
  (should (equal (aqd-load-error '(setq module-file-suffix nil))
                 "this Emacs cannot load modules; use one built --with-modules")))

(ert-deftest aqd-engine-file-that-is-no-module-is-said ()
  (let ((directory (make-temp-file "aqd" t)))
    (unwind-protect
        (progn
          (write-region "junk" nil (expand-file-name
                                    (concat "agent-q-diff-module" module-file-suffix)
                                    directory)
                        nil 'silent)
          (write-region agent-q-diff-engine-version nil
                        (expand-file-name "agent-q-diff-module.version" directory)
                        nil 'silent)
          (should (string-match-p
                   "\\`the engine does not load .*run M-x agent-q-diff-build-module\\'"
                   (aqd-load-error
                    `(setq agent-q-diff-engine--directory
                           ,(file-name-as-directory directory))))))
      (delete-directory directory t))))

(ert-deftest aqd-engine-building-without-cargo-is-said ()
  (let ((exec-path nil)
        (process-environment (cons "HOME=/nowhere" process-environment)))
    (should (string-match-p
             "cargo is neither"
             (cadr (should-error (agent-q-diff-build-module)
                                 :type 'agent-q-diff-no-module))))))

(ert-deftest aqd-engine-building-without-sources-is-said ()
  (let ((agent-q-diff-engine--directory "/nowhere/"))
    (should-error (agent-q-diff-build-module) :type 'agent-q-diff-no-module)))

(ert-deftest aqd-engine-one-version-everywhere ()
  (agent-q-diff-engine-ensure)
  (with-temp-buffer
    (insert-file-contents (expand-file-name "../Cargo.toml" aqd-lisp-directory))
    (should (re-search-forward "^version = \"\\(.*\\)\"$"))
    (should (equal (match-string 1) agent-q-diff-engine-version)))
  (with-temp-buffer
    (insert-file-contents (expand-file-name "agent-q-diff.el" aqd-lisp-directory))
    (should (re-search-forward "^;; Version: \\(.*\\)$"))
    (should (equal (match-string 1) agent-q-diff-engine-version))))

(defmacro aqd-with-cargo (script &rest body)
  "Run BODY where the package is a copy, and cargo is the shell SCRIPT.
SCRIPT runs in the source directory; $module is the true module's file."
  (declare (indent 1) (debug t))
  `(let* ((source (file-name-as-directory (make-temp-file "aqd" t)))
          (agent-q-diff-engine--directory (expand-file-name "lisp/" source))
          (cargo (expand-file-name "cargo" source))
          (exec-path (list source "/usr/bin" "/bin"))
          (process-environment
           (append (list "CARGO_TARGET_DIR" "AGENT_Q_DIFF_FEATURES")
                   process-environment)))
     (make-directory agent-q-diff-engine--directory)
     (write-region aqd-engine-manifest nil
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

(ert-deftest aqd-engine-build-module-installs-what-cargo-built ()
  (aqd-with-cargo "mkdir -p target/release
cp \"$module\" target/release/libagent_q_diff_module.so"
    (should (string-match-p "\\`Engine .* is built" (aqd-build)))
    (should (equal (agent-q-diff-engine--installed)
                   (list agent-q-diff-engine-version (agent-q-diff-engine--sources)
                         (agent-q-diff-engine--stamp))))
    (should (equal (with-temp-buffer
                     (insert-file-contents (expand-file-name "arguments" source))
                     (buffer-string))
                   "build --release --locked -p agent-q-diff-module\n"))
    ;; Nothing temporary stays beside it.
    (should (equal (directory-files agent-q-diff-engine--directory nil "\\`[^.]")
                   (list (concat "agent-q-diff-module" module-file-suffix)
                         "agent-q-diff-module.version")))))

(ert-deftest aqd-engine-build-module-that-fails-says-where-to-look ()
  (aqd-with-cargo "exit 101"
    (should (string-match-p "failed; see \\*agent-q-diff build\\*" (aqd-build)))
    (should-not (agent-q-diff-engine--installed))))

;;;; Where the sources are

(defun aqd-source-found (&rest tree)
  "Return where the engine's sources are found in TREE, relative to its folder.
TREE lists files, each a name or (NAME . TARGET) for a symbolic link; the
Lisp files in use are those in its folder \"used\"."
  (let* ((folder (file-name-as-directory (file-truename (make-temp-file "aqd" t))))
         (default-directory folder)
         (agent-q-diff-engine--directory (expand-file-name "used/")))
    (unwind-protect
        (progn
          (dolist (file tree)
            (pcase file
              (`(,name . ,target)
               (make-directory (file-name-directory (expand-file-name name)) t)
               (make-symbolic-link (expand-file-name target) name))
              (_ (make-directory (file-name-directory (expand-file-name file)) t)
                 (write-region aqd-engine-manifest nil file nil 'silent))))
          (when-let ((found (agent-q-diff-engine--find-sources)))
            (file-relative-name found folder)))
      (delete-directory folder t))))

(ert-deftest aqd-engine-sources-beside-the-lisp-of-a-package-archive ()
  (should (equal (aqd-source-found "used/agent-q-diff-engine.el" "used/Cargo.toml")
                 "used/")))

(ert-deftest aqd-engine-sources-one-level-up-in-a-repository ()
  (should (equal (aqd-source-found "used/agent-q-diff-engine.el" "Cargo.toml")
                 "./")))

(ert-deftest aqd-engine-sources-beside-the-true-names-of-linked-lisp ()
  "As straight and elpaca link them, of a flat repository and of ours."
  (should (equal (aqd-source-found "repos/agent-q-diff-engine.el" "repos/Cargo.toml"
                                   '("used/agent-q-diff-engine.el"
                                     . "repos/agent-q-diff-engine.el"))
                 "repos/"))
  (should (equal (aqd-source-found "repos/lisp/agent-q-diff-engine.el"
                                   "repos/Cargo.toml"
                                   '("used/agent-q-diff-engine.el"
                                     . "repos/lisp/agent-q-diff-engine.el"))
                 "repos/"))
  ;; If sources are linked, too, cargo works where an upgrade keeps its results.
  (should (equal (aqd-source-found "repos/lisp/agent-q-diff-engine.el"
                                   "repos/Cargo.toml"
                                   '("used/Cargo.toml" . "repos/Cargo.toml")
                                   '("used/agent-q-diff-engine.el"
                                     . "repos/lisp/agent-q-diff-engine.el"))
                 "repos/"))
  ;; The folder itself may be a link.
  (should (equal (aqd-source-found "repos/lisp/agent-q-diff-engine.el"
                                   "repos/Cargo.toml" '("used" . "repos/lisp"))
                 "repos/")))

(ert-deftest aqd-engine-sources-of-somebody-else-are-not-ours ()
  (let ((find (symbol-function 'agent-q-diff-engine--manifest-p)))
    (with-temp-buffer
      (let ((file (make-temp-file "aqd")))
        (unwind-protect
            (progn (write-region "members = [\"src/x\"]\n" nil file nil 'silent)
                   (should-not (funcall find file)))
          (delete-file file))))))

;;;; The boundary

(defun aqd-engine-round-trip (original modified)
  "Return the target after all hunks from ORIGINAL to MODIFIED are applied.
The edits are made in a temporary buffer."
  (let ((review (agent-q-diff-engine-review original modified)))
    (unwind-protect
        (with-temp-buffer
          (insert original)
          (pcase-dolist (`(,line ,n-removed ,text)
                         (car (agent-q-diff-engine-plan-all review)))
            (goto-char (point-min))
            (forward-line line)
            (let ((start (point)))
              (forward-line n-removed)
              (delete-region start (point))
              (insert text)))
          (buffer-string))
      (agent-q-diff-engine-free review))))

(ert-deftest aqd-engine-texts-cross-exactly ()
  (let ((raw (decode-coding-string "\xff\x80\xe9" 'utf-8)))
    (pcase-dolist (`(,original . ,modified)
                   `(("a\n" . "b\n") ("" . "a") ("a" . "") ("ä€𝄞\n" . "𝄞€ä\n")
                     ("\0\n" . "\0\0\n") (,raw . ,(concat raw "\n" raw))
                     ("x\r\ny" . "x\ny") ("\x3fff80\n" . "\\n\\t\n")
                     (,(string #x110000 ?\n) . ,(string #x110000 #x3fff7f ?\n))))
      (should (equal modified (aqd-engine-round-trip original modified))))))

(ert-deftest aqd-engine-unibyte-strings-are-taken-as-bytes ()
  (let* ((review (agent-q-diff-engine-review (unibyte-string 233 10)
                                             (unibyte-string 233 10 98 10)))
         (diff (car (agent-q-diff-engine-print review "/f"))))
    (agent-q-diff-engine-free review)
    (should (string-suffix-p (concat " " (string (decode-char 'eight-bit 233))
                                     "\n+b\n")
                             diff))))

(ert-deftest aqd-engine-errors-have-their-own-symbols ()
  (pcase-dolist (`(,symbol . ,function)
                 '((agent-q-diff-identical
                    . (lambda () (agent-q-diff-engine-review "a" "a")))
                   (agent-q-diff-malformed
                    . (lambda () (agent-q-diff-engine-review-diff "no diff")))
                   (agent-q-diff-several-files
                    . (lambda ()
                        (agent-q-diff-engine-review-diff
                         (concat "--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n"
                                 "--- b\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"))))
                   (agent-q-diff-no-hunk
                    . (lambda ()
                        (agent-q-diff-engine-plan
                         (agent-q-diff-engine-review "a" "b") 'accept 1)))
                   (agent-q-diff-not-in
                    . (lambda ()
                        (agent-q-diff-engine-plan
                         (agent-q-diff-engine-review "a" "b") 'unapply 0)))
                   (agent-q-diff-ended
                    . (lambda ()
                        (let ((review (agent-q-diff-engine-review "a" "b")))
                          (agent-q-diff-engine-free review)
                          (agent-q-diff-engine-counts review))))))
    (let ((err (should-error (funcall function))))
      (should (eq symbol (car err)))
      (should (memq 'agent-q-diff-error (get (car err) 'error-conditions)))
      (should (stringp (cadr err))))))

(ert-deftest aqd-engine-a-wrong-object-is-an-error ()
  (should-error (agent-q-diff-engine-counts nil))
  (should-error (agent-q-diff-engine-counts "x"))
  (should-error (agent-q-diff-engine-plan (agent-q-diff-engine-review "a" "b")
                                          'sing 0))
  (should-error (agent-q-diff-engine-state (agent-q-diff-engine-review "a" "b") 7)))

;;;; Indices

(declare-function agent-q-diff-module-edit-outside "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-follow "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-hunk-with-id "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-join-decisions "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-pick "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-print-hunks "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-recognize "ext:agent-q-diff-module")

(defconst aqd-engine-hunk-functions
  '((agent-q-diff-module-state         review hunk)
    (agent-q-diff-module-mark          review hunk)
    (agent-q-diff-module-set-mark      review hunk 'rejected)
    (agent-q-diff-module-next-pending  review hunk)
    (agent-q-diff-module-place         review hunk)
    (agent-q-diff-module-line          review hunk)
    (agent-q-diff-module-proposed      review hunk)
    (agent-q-diff-module-is-edited     review hunk)
    (agent-q-diff-module-hunk-id       review hunk)
    (agent-q-diff-module-changed-words review hunk)
    (agent-q-diff-module-live-lines    review hunk)
    (agent-q-diff-module-merge         review hunk)
    (agent-q-diff-module-plan          review 'accept hunk nil)
    (agent-q-diff-module-plan          review 'accept hunk t)
    (agent-q-diff-module-candidates    review hunk)
    (agent-q-diff-module-certainty     review hunk)
    (agent-q-diff-module-plan-text     review hunk "x\n" nil)
    (agent-q-diff-module-plan-text     review hunk "x\n" t)
    (agent-q-diff-module-print-hunks   review hunk (1+ hunk) nil)
    (agent-q-diff-module-fail          review hunk)
    (agent-q-diff-module-pick          review hunk 0 1)
    (agent-q-diff-module-split         review hunk))
  "Calls of all functions of the module that take the index of a hunk.")

(defconst aqd-engine-other-functions
  '(agent-q-diff-module-n-reviews agent-q-diff-module-version
    agent-q-diff-module-adopt agent-q-diff-module-blobs agent-q-diff-module-hash
    agent-q-diff-module-review agent-q-diff-module-is-coarse
    agent-q-diff-module-review-diff agent-q-diff-module-files
    agent-q-diff-module-free agent-q-diff-module-print
    agent-q-diff-module-header-lines agent-q-diff-module-is-idle
    agent-q-diff-module-side
    agent-q-diff-module-follow agent-q-diff-module-read
    agent-q-diff-module-read-on agent-q-diff-module-recognize
    agent-q-diff-module-edit-outside agent-q-diff-module-marks
    agent-q-diff-module-counts agent-q-diff-module-tally
    agent-q-diff-module-standing agent-q-diff-module-print-headers
    agent-q-diff-module-hunk-with-id agent-q-diff-module-blank-hunks
    agent-q-diff-module-suspects agent-q-diff-module-n-suspects
    agent-q-diff-module-plan-all agent-q-diff-module-offsets
    agent-q-diff-module-plan-back agent-q-diff-module-n-decisions
    agent-q-diff-module-join-decisions agent-q-diff-module-commit
    agent-q-diff-module-reject-all agent-q-diff-module-decision
    agent-q-diff-module-matches agent-q-diff-module-replace
    agent-q-diff-module-typed-lines)
  "All other functions of the module.")

(defun aqd-engine-three-hunks ()
  "Return a review of three hunks that knows its target."
  (let* ((lines (number-sequence 1 40))
         (text (lambda (changed)
                 (mapconcat (lambda (line)
                              (format (if (memq line changed) "new %d\n" "%d\n") line))
                            lines "")))
         (review (agent-q-diff-engine-review (funcall text nil)
                                             (funcall text '(5 20 35)))))
    (agent-q-diff-module-follow review (funcall text nil))
    review))

(ert-deftest aqd-engine-no-function-takes-a-hunk-that-is-not-there ()
  (let ((n 3))
    (dolist (call aqd-engine-hunk-functions)
      (dolist (hunk (list 0 1 2 n (1+ n) #x7fffffff #xffffffff most-positive-fixnum
                          (ash 1 62) (- (ash 1 63) 2) -1 most-negative-fixnum))
        (ert-info ((format "%S for hunk %d" call hunk))
          (let* ((review (aqd-engine-three-hunks))
                 (err (condition-case err
                          (progn (eval call `((review . ,review) (hunk . ,hunk)))
                                 nil)
                        (error err))))
            (if (< -1 hunk n)
                (should-not err)
              ;; What is below 0 the module does not take for an index at all.
              (should (eq (if (< hunk 0) 'rust-integer-out-of-range 'agent-q-diff-no-hunk)
                          (car err)))
              (should (equal '(3 0 0 0) (agent-q-diff-engine-counts review))))
            (agent-q-diff-engine-free review)))))))

(ert-deftest aqd-engine-no-range-is-too-wide-for-a-function ()
  (pcase-dolist (`(,from ,to) '((0 0) (0 3) (1 0) (0 99) (2 1) (99 99)
                                (0 #x7fffffffffffffff) (#x7fffffffffffffff 0)))
    (ert-info ((format "%d to %d" from to))
      (let ((review (aqd-engine-three-hunks)))
        (should-error (agent-q-diff-module-pick review 0 from to)
                      :type 'agent-q-diff-no-hunk)
        (if (<= from to 3)
            (agent-q-diff-module-print-hunks review from to nil)
          (should-error (agent-q-diff-module-print-hunks review from to nil)
                        :type 'agent-q-diff-no-hunk))
        ;; Numbers that cannot be are no news, and no panic.
        (should-not (agent-q-diff-module-edit-outside review from to 7 "x\n" 1))
        (should (eq 'follow (agent-q-diff-module-recognize review to)))
        (should-not (agent-q-diff-module-hunk-with-id review (max 3 to)))
        (agent-q-diff-module-join-decisions review to)
        (agent-q-diff-engine-free review)))))

(ert-deftest aqd-engine-each-function-of-the-module-is-tried-with-its-indices ()
  (let (functions)
    (agent-q-diff-engine-free (aqd-engine-three-hunks))
    (mapatoms (lambda (symbol)
                (when (and (fboundp symbol)
                           (string-prefix-p "agent-q-diff-module-" (symbol-name symbol)))
                  (push symbol functions))))
    (should-not (seq-difference functions
                                (append (mapcar #'car aqd-engine-hunk-functions)
                                        aqd-engine-other-functions
                                        '(agent-q-diff-module-panic))))))

(ert-deftest aqd-engine-a-panic-is-a-lisp-error-with-its-text ()
  (let ((module (getenv "AGENT_Q_DIFF_PANIC_MODULE")))
    (skip-unless module)
    (should (string-match-p
             "agent-q-diff-panic .*a deliberate panic.* and Emacs lives"
             (string-replace
              "\n" " "
              (aqd-in-fresh-emacs
               `(progn
                  (module-load ,module)
                  (format "%S and Emacs lives"
                          (condition-case err
                              (funcall 'agent-q-diff-module-panic
                                       "a deliberate panic")
                            (error err))))))))))

(provide 'agent-q-diff-engine-test)
;;; agent-q-diff-engine-test.el ends here
