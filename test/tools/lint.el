;;; lint.el --- Checks one Lisp file in batch  -*- lexical-binding: t; -*-

;;; Commentary:

;; usage: emacs -Q --batch -l lint.el -f agent-q-diff-lint-CHECK FILE
;;
;; CHECK is compile, checkdoc, package or declare.  Each prints its complaints as
;; FILE:LINE: TEXT and fails if there is one.

;;; Code:

(require 'bytecomp)
(require 'check-declare)
(require 'checkdoc)

(declare-function package-lint-buffer "package-lint")
(defvar package-lint-main-file)

(defun agent-q-diff-lint--finish (file complaints)
  "Print COMPLAINTS about FILE, each (LINE . TEXT), and exit."
  (pcase-dolist (`(,line . ,text) complaints)
    (message "%s:%d: %s" file line text))
  (kill-emacs (if complaints 1 0)))

(declare-function native-compile "comp")
(declare-function native-comp-available-p "comp.c")
(defvar native-comp-speed)
(defvar warning-minimum-log-level)
(defvar comp-speed)

(defun agent-q-diff-lint--native-compile (file folder)
  "Compile FILE to native code in FOLDER, as warnings allow it.
An Emacs that cannot do that has nothing to check."
  (when (and (fboundp 'native-comp-available-p) (native-comp-available-p))
    ;; Emacs 28 has the one name, later ones the other.
    (let ((native-comp-speed 0)
          (comp-speed 0))
      (native-compile file (expand-file-name "native.eln" folder)))))

(defun agent-q-diff-lint-compile ()
  "Byte-compile the file that the command line names; warnings are errors.
Files of the package are compiled to native code, too, where Emacs can.
The results are thrown away: a stale .elc would be loaded in the place of
its source."
  (let* ((file (expand-file-name (pop command-line-args-left)))
         (folder (make-temp-file "agent-q-diff-lint" t))
         (load-prefer-newer t)
         (byte-compile-error-on-warn t)
         (byte-compile-dest-file-function
          (lambda (source)
            (expand-file-name (concat (file-name-nondirectory source) "c") folder)))
         (ok (unwind-protect
                 (and (eq t (byte-compile-file file))
                      (or (not (string-match-p "/lisp/[^/]+\\'" file))
                          (progn (agent-q-diff-lint--native-compile file folder) t)))
               (delete-directory folder t))))
    (kill-emacs (if ok 0 1))))

(defun agent-q-diff-lint-checkdoc ()
  "Check the documentation of the file that the command line names."
  (let* ((file (pop command-line-args-left))
         (complaints '())
         (checkdoc-autofix-flag 'never)
         (checkdoc-create-error-function
          (lambda (text start _end &optional _unfixable)
            (push (cons (line-number-at-pos (or start (point-min)) t) text) complaints)
            nil)))
    (with-current-buffer (find-file-noselect file)
      (checkdoc-current-buffer t))
    (agent-q-diff-lint--finish file (nreverse complaints))))

(defun agent-q-diff-lint-declare ()
  "Check that functions of ours are where the file declares them to be.
What is declared of Emacs or of the module, another version may lack."
  (let* ((file (expand-file-name (pop command-line-args-left)))
         (warning-minimum-log-level :emergency)
         (all (let ((inhibit-message t))
                (check-declare-file file)))
         complaints)
    (pcase-dolist (`(,where . ,found) all)
      (when (string-match-p "agent-q-diff[a-z-]*\\.el\\'" where)
        (pcase-dolist (`(,_ ,function ,text) found)
          (push (cons 1 (format "%s in %s: %s" function where text)) complaints))))
    (agent-q-diff-lint--finish file complaints)))

(defun agent-q-diff-lint--meant-p (line text)
  "Return non-nil if package-lint says TEXT of LINE, but it is meant as it is."
  (or
   ;; sly-agent-q-diff.el gives out exactly the names that Agent-Q's code calls,
   ;; so they cannot start with our prefix.
   (string-match-p "\\`\"sly-agent-q-[^\"]+\" doesn't start with package's prefix" text)
   (and (string-prefix-p "Aliases should start with the package's prefix" text)
        (save-excursion
          (goto-char (point-min))
          (forward-line (1- line))
          (looking-at-p "(defalias 'sly-agent-q-")))
   ;; A table of names of files that agents may not edit unasked names this one, too.
   (and (string-prefix-p "Use variable `user-emacs-directory'" text)
        (save-excursion
          (goto-char (point-min))
          (forward-line (1- line))
          (looking-at-p ".*\"\\.dir-locals\\.el\" ")))
   ;; What offers our commands in the lists of other packages, without loading these.
   (and (string-prefix-p "`with-eval-after-load' is for use in configurations" text)
        (string-suffix-p "lisp/agent-q-diff.el" buffer-file-name))
   ;; Debian 12's package-lint is older than Emacs 28.1.
   (string-prefix-p "This makes the package uninstallable in all released Emacs" text)
   ;; The package has no public home yet.
   (equal text "Package should have a Homepage or URL header.")))

(defun agent-q-diff-lint-package ()
  "Run package-lint on the file that the command line names."
  (require 'package-lint)
  (let* ((file (pop command-line-args-left))
         (package-lint-main-file (expand-file-name "lisp/agent-q-diff.el"))
         (complaints '()))
    (with-current-buffer (find-file-noselect file)
      (pcase-dolist (`(,line ,_column ,type ,text) (package-lint-buffer))
        (unless (agent-q-diff-lint--meant-p line text)
          (push (cons line (format "%s: %s" type text)) complaints))))
    (agent-q-diff-lint--finish file (nreverse complaints))))

;;; lint.el ends here
