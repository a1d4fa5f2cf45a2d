;;; melpa-tar.el --- Packs the package as MELPA would  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; usage: emacs -Q --batch -l melpa-tar.el -f melpa-tar ROOT FOLDER
;;
;; Packs the tree ROOT by the recipe in its manual into a tar file in
;; FOLDER, and prints the name of that.  What package-build does is done here:
;; a file of the recipe's :files loses its folder, a folder keeps its inside,
;; Texinfo becomes Info with a file `dir', and agent-q-diff-pkg.el is written
;; from the main file's headers.

;;; Code:

(require 'lisp-mnt)
(require 'seq)
(require 'subr-x)

(defun melpa-tar-recipe (manual)
  "Return the recipe in the file MANUAL, a list."
  (with-temp-buffer
    (insert-file-contents manual)
    (re-search-forward "^(agent-q-diff :fetcher ")
    (goto-char (match-beginning 0))
    (read (current-buffer))))

(defun melpa-tar--run (program &rest arguments)
  "Run PROGRAM with ARGUMENTS, and fail as it fails."
  (with-temp-buffer
    (unless (eq 0 (apply #'call-process program nil t nil arguments))
      (error "%s %S failed: %s" program arguments (buffer-string)))))

(defun melpa-tar--info (texinfo folder)
  "Make an Info file of TEXINFO in FOLDER, and an entry for it in `dir'."
  (let ((info (expand-file-name (concat (file-name-base texinfo) ".info") folder)))
    (melpa-tar--run "makeinfo" "--no-split" texinfo "-o" info)
    (melpa-tar--run "install-info" (concat "--dir=" (expand-file-name "dir" folder))
                    info)))

(defun melpa-tar--copy (file folder)
  "Copy FILE, one of those that the recipe names, into FOLDER."
  (cond
   ((string-suffix-p ".texi" file) (melpa-tar--info file folder))
   ((file-directory-p file)
    (copy-directory file (expand-file-name (file-name-nondirectory file) folder)
                    t t t))
   (t (copy-file file (file-name-as-directory folder)))))

(defun melpa-tar--write-pkg (main name version folder)
  "Write NAME-pkg.el for VERSION into FOLDER, from the headers of the file MAIN."
  (with-temp-buffer
    (insert-file-contents main)
    (let ((print-length nil)
          (print-level nil))
      (write-region
         (format ";; -*- no-byte-compile: t; lexical-binding: nil -*-\n%S\n"
                 `(define-package ,name ,version ,(lm-summary)
                    ',(read (lm-header "package-requires"))))
         nil (expand-file-name (concat name "-pkg.el") folder) nil 'silent))))

(defun melpa-tar ()
  "Pack the tree, and into the folder, that the command line names."
  (let* ((root (file-name-as-directory (expand-file-name (pop command-line-args-left))))
         (folder (expand-file-name (pop command-line-args-left)))
         (recipe (melpa-tar-recipe (expand-file-name "doc/agent-q-diff.texi" root)))
         (name (symbol-name (car recipe)))
         ;; MELPA's versions are times, and greater than any number of ours.
         (version "20260101.1200")
         (whole (expand-file-name (concat name "-" version) folder))
         (tar (concat whole ".tar"))
         (default-directory root))
    (delete-directory whole t)
    (make-directory whole t)
    (dolist (pattern (plist-get (cdr recipe) :files))
      (dolist (file (or (file-expand-wildcards (expand-file-name pattern root) t)
                        (error "The recipe's %s names no file" pattern)))
        (melpa-tar--copy file whole)))
    (melpa-tar--write-pkg (expand-file-name (concat name ".el") whole)
                          name version whole)
    (melpa-tar--run "tar" "-C" folder "-cf" tar (file-name-nondirectory whole))
    (delete-directory whole t)
    (princ (concat tar "\n"))))

;;; melpa-tar.el ends here
