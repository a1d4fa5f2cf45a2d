;;; need-test.el --- Tests of test/tools/need  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `need' decides what is there by what it does.  Here it meets programs that
;; have only the name of a tool, on a PATH of their own without apt-get, so
;; that it installs nothing and says what it misses.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'subr-x)

(defconst need-test-script
  (expand-file-name "tools/need" (file-name-directory
                                  (or load-file-name buffer-file-name)))
  "The script that is tested.")

(defconst need-test-basics
  '("bash" "cat" "chmod" "cmp" "cp" "cut" "dirname" "echo" "env" "grep" "head" "id" "ls"
    "mkdir" "mktemp" "printf" "rm" "sed" "sh" "sleep" "sort" "true")
  "Programs that the script itself is written with.")

(defconst need-test-tools
  '("make" "patch" "git" "tmux" "timeout" "cc" "c++" "sbcl" "makeinfo" "setfacl" "xdotool"
    "curl")
  "Tools that are one program of the same name.")

(defvar need-test--folder nil "Folder of the programs of a test.")

(defun need-test-path (name)
  "Return the file NAME in the folder of the test."
  (expand-file-name name need-test--folder))

(defun need-test-program (name script)
  "Write the program NAME, which is SCRIPT for the shell."
  (let ((file (need-test-path (concat "bin/" name))))
    (make-directory (file-name-directory file) t)
    (write-region (concat "#!/bin/sh\n" script "\n") nil file nil 'quiet)
    (set-file-modes file #o755)))

(defmacro need-test-with-programs (programs &rest body)
  "Evaluate BODY with PROGRAMS, an alist of names and scripts, and the basics."
  (declare (indent 1) (debug t))
  `(let ((need-test--folder (file-name-as-directory (make-temp-file "need" t))))
     (unwind-protect
         (progn
           ;; In folders of their own: to write a program must not write through a
           ;; link to one of this machine's.
           (make-directory (need-test-path "bin"))
           (make-directory (need-test-path "basics"))
           (dolist (name need-test-basics)
             (when-let ((file (executable-find name)))
               (make-symbolic-link file (need-test-path (concat "basics/" name)))))
           (pcase-dolist (`(,name . ,script) ,programs)
             (need-test-program name script))
           ,@body)
       (delete-directory need-test--folder t))))

(defun need-test-search-path (&rest folders)
  "Return a setting of PATH to FOLDERS of the test."
  (concat "PATH=" (mapconcat #'need-test-path folders ":")))

(defun need-test-run (tools &rest environment)
  "Run the script for TOOLS in ENVIRONMENT; return (STATUS . OUTPUT).
Without a PATH in ENVIRONMENT it sees the programs of the test only."
  (with-temp-buffer
    (let ((process-environment
           (append environment
                   (list (need-test-search-path "bin" "basics")
                         (concat "CARGO_HOME=" (need-test-path "cargo"))
                         (concat "CARGO_TARGET_DIR=" (need-test-path "target"))
                         "EMACS=emacs")
                   process-environment)))
      (cons (apply #'call-process need-test-script nil t nil tools)
            (buffer-string)))))

(defun need-test-should-miss (tool answer)
  "Check that ANSWER of the script says that TOOL is missing."
  (ert-info ((format "%s: %S" tool answer))
    (should (equal 1 (car answer)))
    (should (string-match-p (format "missing here: %s\n" (regexp-quote tool))
                            (cdr answer)))))

(ert-deftest need-test-a-program-of-the-same-name-is-not-the-tool ()
  (dolist (script '("echo 'this is a stand-in' >&2; exit 1"
                    "echo 'this is a stand-in'"
                    "exit 0"
                    ;; A package that is half removed.
                    "exec /nonexistent/program \"$@\""))
    (need-test-with-programs (mapcar (lambda (tool) (cons tool script))
                                     (append need-test-tools
                                             '("Xvfb" "xwd" "xwininfo" "fc-list"
                                               "convert" "magick" "python3" "emacs")))
      (dolist (tool (append need-test-tools
                            '("xvfb" "xwd" "font" "imagemagick" "python3-venv" "emacs")))
        (need-test-should-miss tool (need-test-run (list tool)))))))

(ert-deftest need-test-says-which-program-is-in-the-way ()
  (need-test-with-programs '(("patch" . "echo 'patch 2.0, of BSD'"))
    (let ((answer (need-test-run '("patch" "git"))))
      (should (string-match-p (regexp-quote (need-test-path "bin/patch")) (cdr answer)))
      (should (string-match-p "packages that Debian calls patch git," (cdr answer))))))

(ert-deftest need-test-tools-of-this-machine-are-there ()
  "What `make test' has needed before it came here is no stand-in."
  (need-test-with-programs '(("apt-get" . "exit 1"))
    (should (equal '(0 . "")
                   (need-test-run '("emacs" "make" "patch" "git" "tmux" "timeout" "cc" "sbcl"
                                    "slime" "swank" "evil" "vterm" "makeinfo")
                                  (format "PATH=%s:%s" (need-test-path "bin")
                                          (getenv "PATH"))
                                  (concat "EMACS=" (or (getenv "EMACS") "emacs")))))))

(ert-deftest need-test-other-tools-in-the-place-of-gnu-s ()
  ;; A patch that does the work and is not the one that tests compare with.
  (need-test-with-programs
      `(("patch" . ,(format "[ \"$1\" != --version ] || { echo 'patch 2.0'; exit; }; exec %s \"$@\""
                            (executable-find "patch")))
        ;; A time limit that does not limit.
        ("timeout" . "shift 3; exec \"$@\"")
        ;; A make of BSD knows no functions of GNU's.
        ("make" . "echo ''"))
    (need-test-program "sleep" "exit 0")
    (dolist (tool '("patch" "timeout" "make"))
      (need-test-should-miss tool (need-test-run (list tool))))))

(ert-deftest need-test-a-compiler-without-headers-is-none ()
  (let ((reads (format "[ \"$1\" != -x ] || { cat >/dev/null; echo 'stdlib.h: %s' >&2; exit 1; }"
                       "No such file or directory")))
    (need-test-with-programs `(("cc" . ,reads) ("c++" . ,reads))
      (dolist (tool '("cc" "c++"))
        (need-test-should-miss tool (need-test-run (list tool)))))))

(ert-deftest need-test-rust-is-a-compiler-that-compiles ()
  (let ((version "[ \"$1\" != --version ] || { echo \"tool 1.99.0 (now)\"; exit; }\n"))
    (pcase-dolist (`(,cargo . ,rustc)
                   (list (cons version (concat version "exit 1"))
                         (cons version "exit 1")
                         (cons "echo 'cargo 1.50.0'" (concat version "cat >/dev/null"))
                         (cons version "echo 'rustc 1.50.0'")))
      (need-test-with-programs `(("cargo" . ,cargo) ("rustc" . ,rustc))
        (let ((answer (need-test-run '("cargo"))))
          (ert-info ((format "%S" answer))
            (should (equal 1 (car answer)))
            (should (string-match-p "no Rust (cargo and rustc) of version" (cdr answer)))))))))

(ert-deftest need-test-parts-of-rust-come-from-rustup ()
  (need-test-with-programs '(("cargo" . "echo 'error: no such command: `clippy`' >&2; exit 101")
                             ("rustfmt" . "echo 'not installed for this toolchain' >&2; exit 1"))
    (let ((answer (need-test-run '("rustfmt" "clippy" "cargo-fuzz"))))
      (should (equal 1 (car answer)))
      (should (string-match-p "run: rustup component add rustfmt clippy" (cdr answer)))
      (should (string-match-p "run: cargo install --locked cargo-fuzz" (cdr answer))))))

(ert-deftest need-test-a-cargo-deny-that-cannot-read-our-settings-is-none ()
  (need-test-with-programs '(("cargo-deny" . "[ \"$1\" = --version ]"))
    (should (string-match-p "run: cargo install --locked cargo-deny"
                            (cdr (need-test-run '("cargo-deny"))))))
  (need-test-with-programs '(("cargo-deny" . "for argument; do [ ! -f \"$argument\" ] || exit 0; done
exit 1"))
    (should (equal '(0 . "") (need-test-run '("cargo-deny"))))))

(ert-deftest need-test-an-empty-folder-is-no-package ()
  (need-test-with-programs nil
    (let ((site (concat "NEED_SITE_LISP=" (need-test-path "site")))
          (swank (concat "NEED_SWANK=" (need-test-path "swank-loader.lisp"))))
      (make-directory (need-test-path "site/slime-2.27") t)
      (make-directory (need-test-path "site/package-lint-0.16") t)
      (write-region "" nil (need-test-path "site/package-lint-0.16/package-lint.el") nil 'quiet)
      (write-region "" nil (need-test-path "swank-loader.lisp") nil 'quiet)
      (dolist (tool '("slime" "package-lint" "swank"))
        (need-test-should-miss tool (need-test-run (list tool) site swank)))
      (dolist (file '("site/package-lint-0.16/package-lint.el" "site/slime-2.27/slime.el"
                      "swank-loader.lisp"))
        (write-region ";; Lisp\n" nil (need-test-path file) nil 'quiet))
      (should (equal '(0 . "")
                     (need-test-run '("slime" "package-lint" "swank") site swank))))))

(ert-deftest need-test-a-font-is-a-file ()
  (need-test-with-programs `(("fc-list" . "echo /nonexistent/DejaVuSansMono.ttf:"))
    (need-test-should-miss "font" (need-test-run '("font")))))

(ert-deftest need-test-finds-the-python-that-can ()
  "The first Python on PATH may be one that cannot make environments."
  (need-test-with-programs '(("python3" . "exit 1")
                             ("../other/python3" . "echo True"))
    (need-test-should-miss "python3-venv" (need-test-run '("python3-venv")))
    (should (equal '(0 . "")
                   (need-test-run '("python3-venv")
                                  (need-test-search-path "bin" "other" "basics"))))))

(ert-deftest need-test-an-mcp-client-is-one-that-can-be-imported ()
  (need-test-with-programs '(("../target/mcp-client/bin/python" . "exit 0")
                             ("python3" . "exit 1"))
    (copy-file (expand-file-name "mcp-client.txt" (file-name-directory need-test-script))
               (need-test-path "target/mcp-client/versions"))
    (should (equal 1 (car (need-test-run '("mcp-client")))))))

(ert-deftest need-test-knows-every-tool-that-is-asked-for ()
  (need-test-with-programs nil
    (let ((answer (need-test-run '("nothing"))))
      (should (equal 2 (car answer)))
      (should (string-match-p "no check for nothing" (cdr answer))))
    (let ((root (expand-file-name "../.." (file-name-directory need-test-script)))
          tools)
      (dolist (file '("Makefile" "test/tools/run-tests" "test/demo/picture" ".ci/run"))
        (with-temp-buffer
          (insert-file-contents (expand-file-name file root))
          (while (re-search-forward "/need\"? \\([-a-z0-9+ ]+\\)" nil t)
            (setq tools (append (split-string (match-string 1)) tools)))))
      (should (> (length tools) 20))
      (dolist (tool (seq-uniq tools))
        (ert-info (tool)
          (should-not (equal 2 (car (need-test-run (list tool))))))))))

(provide 'need-test)
;;; need-test.el ends here
