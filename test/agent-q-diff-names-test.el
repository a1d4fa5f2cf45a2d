;;; agent-q-diff-names-test.el --- Names that Emacs would read as others  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A project has folders called "~", "$HOME", "ssh:host:" and the like.  By each
;; way in, a file there is the project's, and what Emacs would make of its name
;; stays as it is: the user's home has files of the same names.

;;; Code:

;; What opens its connections is replaced below, and must come back.
(require 'tramp-sh)
(require 'url-util)
(require 'agent-q-diff-git-help)
(require 'agent-q-diff-comments)
(require 'agent-q-diff-own-tool)
(require 'agent-q-diff-pending-marks)
(require 'agent-q-diff-taken-out)

(defconst aqd-names
  '("~/x" "~/~/x" "~root/aqd-x" "~nobody.here/x" "~you" "d/~/x" "d/~root" "$HOME/x" "${HOME}"
    "d/$HOME/x" "ssh:host:/x" "ssh:host:~/x" "d/ssh:host:/x" ":/x" "d/:" "c:/x" "-x")
  "Names of files in a project.
None ends in \"~\": Emacs takes that for a backup, and lets nobody edit it.")

(defmacro aqd-names-at-home (&rest body)
  "Run BODY with a home that has a file x; it must be as it was after that.
No file outside may be made for a name of root's, either."
  (declare (indent 0) (debug t))
  `(let* ((home (file-truename (make-temp-file "aqd-home" t)))
          (process-environment (cons (concat "HOME=" home) process-environment))
          (abbreviated-home-dir nil)
          (agent-q-diff-pending--to-count nil)
          (create-lockfiles nil)
          (backup-inhibited t))
     (unwind-protect
         (progn
           (write-region "home\n" nil (concat home "/x") nil 'silent)
           ,@body
           ;; Emacs may have made its own folder, .emacs.d.
           (should (equal '("x") (directory-files home nil "\\`[^.]")))
           (should (equal "home\n" (aqd-bytes-of (concat home "/x"))))
           (should-not (file-exists-p (expand-file-name "~root/aqd-x"))))
       (ignore-errors (delete-file (expand-file-name "~root/aqd-x")))
       (delete-directory home t))))

(defun aqd-names-put (name text)
  "Write TEXT to the file NAME of the test's folder."
  (let ((file (concat aqd-pending-root name)))
    (make-directory (file-name-directory file) t)
    (aqd-put-bytes text file)))

(defun aqd-names-has (name)
  "Return what the file NAME of the test's folder has, or nil if it is not there."
  (let ((file (concat aqd-pending-root name)))
    (and (file-regular-p file) (aqd-bytes-of file))))

(defun aqd-names-remove (name)
  "Delete the file NAME of the test's folder, and directories that are empty then."
  (let ((file (concat aqd-pending-root name)))
    (delete-file file)
    (ignore-errors (delete-directory (file-name-directory file)))))

(defun aqd-names-put-all (text)
  "Write TEXT to each of `aqd-names', where %s is the name."
  (dolist (name aqd-names)
    (aqd-names-put name (format text name))))

(defun aqd-names-should-have (text)
  "Check that each of `aqd-names' has TEXT, where %s is its name.
If TEXT is nil, they must be gone."
  (dolist (name aqd-names)
    (should (equal (cons name (and text (format text name)))
                   (cons name (aqd-names-has name))))))

(defmacro aqd-names-in-each-project (&rest body)
  "Run BODY with `aqd-names' in a project with git, and in one without.
Each file has \"one\\ntwo\\n\", which was reviewed."
  (declare (indent 0) (debug t))
  `(progn
     (aqd-names-at-home
       (aqd-with-repository
         (aqd-names-put-all "one\ntwo\n")
         (aqd-pending-git "add" ".")
         (aqd-pending-git "commit" "-qm" "second")
         (aqd-pending-begin t)
         ,@body))
     (aqd-names-at-home
       (aqd-with-folder-without-git
         (aqd-names-put-all "one\ntwo\n")
         (aqd-pending-begin t)
         ,@body))))

;;;; After the fact

(ert-deftest aqd-names-after-the-fact-are-the-project-s ()
  (aqd-names-in-each-project
    (pcase-dolist (`(,before ,after) '(("one\ntwo\n" "one\nTWO\n") ("one\nTWO\n" nil)
                                       (nil "new %s\n")))
      (cl-flet ((write ()
                  (if after
                      (aqd-names-put-all after)
                    (mapc #'aqd-names-remove aqd-names))))
        (write)
        (aqd-with-pending (agent-q-diff-reject-all))
        (aqd-names-should-have before)
        (write)
        (aqd-with-pending (agent-q-diff-accept-all))
        (aqd-names-should-have after)
        (should-not (aqd-pending-files))))))

(ert-deftest aqd-names-after-a-rename-are-the-project-s ()
  (aqd-names-in-each-project
    (let ((text (concat "%1$s\n" (aqd-numbered 20 '((7 . "%1$s"))))))
      (cl-flet ((rename (is-back)
                  (cl-loop for name in aqd-names
                           for n from 0
                           for names = (mapcar (lambda (name) (concat aqd-pending-root name))
                                               (list name (format "renamed %d" n)))
                           do (make-directory (file-name-directory (car names)) t)
                           do (apply #'rename-file (if is-back (reverse names) names))))
                (renamed ()
                  (cl-loop for n below (length aqd-names)
                           collect (aqd-names-has (format "renamed %d" n)))))
        (let ((all (mapcar (lambda (name) (format text name)) aqd-names)))
          (aqd-names-put-all text)
          (aqd-with-pending (agent-q-diff-accept-all))
          (rename nil)
          (aqd-with-pending (agent-q-diff-reject-all))
          (aqd-names-should-have text)
          (should-not (delq nil (renamed)))
          (rename nil)
          (aqd-with-pending (agent-q-diff-accept-all))
          (should-not (aqd-pending-files))
          (rename 'is-back)
          (aqd-with-pending (agent-q-diff-reject-all))
          (aqd-names-should-have nil)
          (should (equal all (renamed))))))))

(ert-deftest aqd-names-that-were-taken-out-come-back-in-the-project ()
  (aqd-names-in-each-project
    (aqd-names-put-all "one\nTWO\n")
    (aqd-with-pending (agent-q-diff-reject-all))
    (agent-q-diff-taken-out aqd-pending-root)
    (with-current-buffer "*agent-q-diff taken out*"
      (dotimes (n (length aqd-names))
        (goto-char (point-min))
        ;; What is brought back takes out what was there, on a row above.
        (forward-line (* 2 n))
        (save-window-excursion (agent-q-diff-taken-out-diff))
        (agent-q-diff-taken-out-bring-back))
      (kill-buffer))
    (aqd-names-should-have "one\nTWO\n")))

(ert-deftest aqd-names-of-files-with-marks-and-comments-lead-to-the-project ()
  (aqd-names-in-each-project
    (aqd-names-put-all "one\nTWO\n")
    (let ((files (mapcar (lambda (name) (concat aqd-pending-root name)) aqd-names))
          (agent-q-diff-pending--least-seconds 0)
          visited)
      (agent-q-diff-pending-count-soon aqd-pending-root)
      (agent-q-diff-pending--count-all)
      (should (equal (format "%d files, %d hunks" (length aqd-names) (length aqd-names))
                     (agent-q-diff-pending-amount aqd-pending-root)))
      (save-window-excursion
        (switch-to-buffer (find-file-noselect (concat aqd-pending-root "f.txt")))
        (dolist (_ aqd-names)
          (agent-q-diff-next-unreviewed)
          (push (buffer-file-name) visited)
          (agent-q-diff-comment-file "why?")))
      (should (equal (sort visited #'string<) (sort (copy-sequence files) #'string<)))
      (dolist (name aqd-names)
        (should (string-search "why?" (agent-q-diff-told-open-text name))))
      (setq visited nil)
      (save-window-excursion
        (agent-q-diff-comments)
        (let ((list (current-buffer)))
          (dotimes (n (length aqd-names))
            (with-current-buffer list
              (goto-char (point-min))
              (forward-line n)
              (agent-q-diff-comments-visit)
              (push (buffer-file-name) visited)))
          (kill-buffer list)))
      (should (equal (sort visited #'string<) (sort (copy-sequence files) #'string<))))))

(ert-deftest aqd-names-of-what-the-user-saves-are-the-project-s ()
  (aqd-names-in-each-project
    (dolist (name aqd-names)
      (with-current-buffer (find-file-noselect (concat aqd-pending-root name))
        (insert "mine\n")
        (save-buffer)))
    (should-not (aqd-pending-files))
    (aqd-names-put-all "mine\none\nTWO\n")
    (aqd-with-pending (agent-q-diff-reject-all))
    (aqd-names-should-have "mine\none\ntwo\n")))

(ert-deftest aqd-names-that-links-lead-to-are-only-text ()
  (aqd-names-at-home
    (aqd-with-repository
      (let* ((targets '("~/x" "~root/x" "$HOME/x" "/ssh:host:/x" "ssh:host:/x" "/:/x" ":"))
             (names (cl-loop for n below (length targets)
                             collect (format "%slink%d" aqd-pending-root n))))
        (cl-flet ((texts ()
                    (mapcar (lambda (name)
                              (with-temp-buffer
                                (call-process "readlink" nil t nil "-n" name)
                                (buffer-string)))
                            names)))
          (cl-mapc #'make-symbolic-link targets names)
          (aqd-with-pending (agent-q-diff-accept-all))
          (should (equal targets (texts)))
          (should-not (aqd-pending-files))
          (mapc #'delete-file names)
          (aqd-with-pending (agent-q-diff-reject-all))
          (should (equal targets (texts)))
          (should-not (aqd-pending-files)))))))

(ert-deftest aqd-names-of-folders-around-a-project-are-not-expanded ()
  (dolist (folder '("~" "~root" "$HOME" "ssh:host:" ":" nil))
    (ert-info ((or folder "the home") :prefix "Folder: ")
      (aqd-names-at-home
        (let ((temporary-file-directory (file-name-as-directory (concat home "/.d/" folder))))
          (make-directory temporary-file-directory t)
          (aqd-with-repository
            ;; The project is the home itself.
            (let ((process-environment (if folder
                                           process-environment
                                         (cons (concat "HOME=" aqd-pending-root)
                                               process-environment)))
                  (abbreviated-home-dir nil))
              (aqd-names-put "~/new" "new\n")
              (aqd-names-put "x" "x\n")
              (aqd-names-put "f.txt" "f\n")
              (aqd-with-pending (agent-q-diff-reject-all))
              (should (equal (list aqd-pending-text nil nil)
                             (mapcar #'aqd-names-has '("f.txt" "~/new" "x"))))
              (aqd-names-put "~/x" "one\n")
              (aqd-names-put "x" "one\n")
              (aqd-in-diff (agent-q-diff-review-diff
                            "--- a/~/x\n+++ b/~/x\n@@ -1 +1 @@\n-one\n+ONE\n")
                (agent-q-diff-accept-all))
              (should (equal '("ONE\n" "one\n") (mapcar #'aqd-names-has '("~/x" "x")))))))))))

;;;; What git says of its own folder

(ert-deftest aqd-names-of-git-s-folder-are-not-expanded ()
  (aqd-names-at-home
    (aqd-with-git-folder
      (unwind-protect
          (cl-letf (((symbol-function 'tramp-maybe-open-connection) #'aqd-fail))
            (make-directory (concat home "/git/agent-q-diff") t)
            (write-region "" nil (concat home "/git/agent-q-diff/ledger") nil 'silent)
            (aqd-names-put "f" "")
            (pcase-dolist (`(,line ,is-known) `(("~/git" nil)
                                                ("/ssh:host:~/git" nil)
                                                (,(concat home "/git") t)
                                                (,(file-relative-name (concat home "/git")
                                                                      aqd-pending-root)
                                                 t)))
              (aqd-names-put ".git" (format "gitdir: %s\n" line))
              (should (equal (and is-known aqd-pending-root)
                             (agent-q-diff-reviewed-root-of aqd-pending-root))))
            (aqd-names-put ".git" "gitdir: ~/git\n")
            (aqd-names-put "~/git/agent-q-diff/ledger" "")
            (should (equal aqd-pending-root (agent-q-diff-reviewed-root-of aqd-pending-root))))
        (delete-directory (concat home "/git") t)
        (aqd-pending--clean-up)))))

;;;; In a patch

(defun aqd-names-patches (name n)
  "Return patches that change, delete and create the file NAME, and rename it.
Each is (DIFF HAD HAS RENAMED), with what the file had and has after that, and
what the file \"renamed N\" has."
  (let* ((git (lambda (old new) (format "diff --git a/%s b/%s\n" old new)))
         (edit "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n")
         (gone "@@ -1,2 +0,0 @@\n-one\n-two\n")
         (new "@@ -0,0 +1 @@\n+new\n")
         (renamed (format "renamed %d" n))
         (rename (lambda (from to)
                   (concat (funcall git from to) "similarity index 100%\n"
                           "rename from " from "\nrename to " to "\n"))))
    `((,(concat (funcall git name name) "--- a/" name "\n+++ b/" name "\n" edit)
       "one\ntwo\n" "one\nTWO\n" nil)
      (,(concat "--- a/" name "\n+++ b/" name "\n" edit) "one\ntwo\n" "one\nTWO\n" nil)
      (,(concat "--- " name "\n+++ " name "\n" edit) "one\ntwo\n" "one\nTWO\n" nil)
      (,(concat (funcall git name name) "deleted file mode 100644\n--- a/" name
                "\n+++ /dev/null\n" gone)
       "one\ntwo\n" nil nil)
      (,(concat (funcall git name name) "new file mode 100644\n--- /dev/null\n+++ b/" name
                "\n" new)
       nil "new\n" nil)
      (,(funcall rename name renamed) "one\ntwo\n" nil "one\ntwo\n")
      (,(aqd-lines (concat "*** Update File: " name) "@@" "-two" "+TWO")
       "one\ntwo\n" "one\nTWO\n" nil)
      (,(aqd-lines (concat "*** Update File: " name) (concat "*** Move to: " renamed)
                   "@@" "-two" "+TWO")
       "one\ntwo\n" nil "one\nTWO\n")
      (,(aqd-lines (concat "*** Delete File: " name)) "one\ntwo\n" nil nil)
      (,(aqd-lines (concat "*** Add File: " name) "+new") nil "new\n" nil))))

(defun aqd-names-play (names begin)
  "Play each of `aqd-names-patches' by BEGIN, for all of NAMES at once.
BEGIN, a function, gets the patch and returns its review."
  (dolist (patches (apply #'cl-mapcar #'list
                          (cl-loop for name in names
                                   for n from 0
                                   collect (aqd-names-patches name n))))
    (let* ((text (mapconcat #'car patches ""))
           (diff (if (string-prefix-p "***" text)
                     (concat "*** Begin Patch\n" text "*** End Patch\n")
                   text)))
      (ert-info (diff :prefix "Patch: ")
        (aqd-with-git-folder
          (let ((default-directory aqd-pending-root)
                (agent-q-diff-project-root aqd-pending-root)
                (agent-q-diff-display 'announce))
            (unwind-protect
                (progn
                  (cl-loop for name in names
                           for (_ had) in patches
                           when had do (aqd-names-put name had))
                  (aqd-in-diff (funcall begin diff) (agent-q-diff-accept-all))
                  (cl-loop for name in names
                           for n from 0
                           for (_ _ has renamed) in patches
                           do (should (equal (list name has renamed)
                                             (list name (aqd-names-has name)
                                                   (aqd-names-has (format "renamed %d" n)))))))
              (aqd-pending--clean-up))))))))

(ert-deftest aqd-names-in-a-patch-of-the-user-s-are-the-project-s ()
  (dolist (names (list aqd-names '("~/x") '("~you") '("ssh:host:/x")))
    (aqd-names-at-home
      (aqd-names-play names #'agent-q-diff-review-diff))))

(ert-deftest aqd-names-in-a-patch-of-an-agent-s-are-the-project-s ()
  (dolist (names (list aqd-names '("~/x") '("~you") '("ssh:host:/x")))
    (aqd-names-at-home
      (aqd-names-play names (lambda (diff)
                              (agent-q-diff-tools-propose
                               "propose_patch" `((diff . ,diff) (description . "d"))
                               #'ignore))))))

(ert-deftest aqd-names-in-a-patch-are-found-from-the-root-of-git ()
  (aqd-names-at-home
    (aqd-with-git-folder
      (let ((agent-q-diff-display 'announce)
            (default-directory aqd-pending-root))
        (unwind-protect
            (progn
              (aqd-pending-git "init" "-q")
              (aqd-names-put "~/s/k" "one\ntwo\n")
              (let ((default-directory (concat aqd-pending-root "~/s/")))
                (aqd-in-diff (agent-q-diff-review-diff
                              (concat "diff --git a/~/s/k b/~/s/k\n--- a/~/s/k\n+++ b/~/s/k\n"
                                      "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"))
                  (agent-q-diff-accept-all)))
              (should (equal "one\nTWO\n" (aqd-names-has "~/s/k")))
              ;; Two slashes are one.
              (aqd-in-diff (agent-q-diff-review-diff
                            (concat "--- a/~//s//k\n+++ b/~//s//k\n"
                                    "@@ -1,2 +1,2 @@\n one\n-TWO\n+2\n"))
                (agent-q-diff-accept-all))
              (should (equal "one\n2\n" (aqd-names-has "~/s/k"))))
          (aqd-pending--clean-up))))))

(ert-deftest aqd-names-that-lead-to-another-host-are-refused ()
  (aqd-names-at-home
    (aqd-with-git-folder
      (let ((default-directory aqd-pending-root)
            (agent-q-diff-display 'announce))
        (unwind-protect
            (cl-letf (((symbol-function 'tramp-maybe-open-connection) #'aqd-fail))
              (dolist (name '("/ssh:host:/x" "/ssh:host:~/x" "//ssh:host:/x" "/:/x"))
                (dolist (propose
                         (list
                          (lambda ()
                            (agent-q-diff-review-diff
                             (concat "--- " name "\n+++ " name "\n@@ -0,0 +1 @@\n+a\n")))
                          (lambda ()
                            (agent-q-diff-review-diff
                             (concat "*** Begin Patch\n*** Add File: " name
                                     "\n+a\n*** End Patch\n")))
                          (lambda ()
                            (agent-q-diff-review-change
                             (agent-q-diff-lsp-files
                              `((documentChanges
                                 . [((kind . "create") (uri . ,(concat "file://" name)))])))
                             "d" #'ignore))
                          (lambda () (agent-q-diff-told-open-text name))))
                  (ert-info (name :prefix "File: ")
                    (should (eq 'refused
                                (condition-case nil
                                    (let ((review (funcall propose)))
                                      (if (eq 'error (agent-q-diff-session-outcome review))
                                          'refused
                                        review))
                                  (agent-q-diff-bad-target 'refused))))))))
          (aqd-pending--clean-up))))))

;;;; WorkspaceEdit, texts, and a hook

(ert-deftest aqd-names-in-a-uri-are-the-project-s ()
  (dolist (name aqd-names)
    (ert-info (name :prefix "File: ")
      (aqd-names-at-home
        (aqd-with-git-folder
          (let* ((default-directory aqd-pending-root)
                 (agent-q-diff-display 'announce)
                 (uri (lambda (name)
                        (concat "file://" (url-hexify-string (concat aqd-pending-root name)
                                                             url-path-allowed-chars)))))
            (unwind-protect
                (progn
                  (aqd-names-put name "one\n")
                  (aqd-in-diff (agent-q-diff-review-change
                                (agent-q-diff-lsp-files
                                 `((documentChanges
                                    . [((kind . "rename") (oldUri . ,(funcall uri name))
                                        (newUri . ,(funcall uri "renamed")))])))
                                "d" #'ignore)
                    (agent-q-diff-accept-all))
                  (should-not (aqd-names-has name))
                  (should (equal "one\n" (aqd-names-has "renamed"))))
              (aqd-pending--clean-up))))))))

(ert-deftest aqd-names-in-a-hook-are-the-project-s ()
  (dolist (name aqd-names)
    (ert-info (name :prefix "File: ")
      (aqd-names-at-home
        (aqd-with-git-folder
          (let* ((default-directory aqd-pending-root)
                 (agent-q-diff-project-root aqd-pending-root)
                 (agent-q-diff-display 'announce)
                 (agent-q-diff-call (agent-q-diff-call-make :agent "Claude Code"))
                 (agent-q-diff-own-agent--decided nil)
                 (file (concat aqd-pending-root name))
                 (answer nil)
                 (arguments (make-hash-table :test #'equal)))
            (cl-loop for (key value) on `("path" ,file "tool" "Edit" "call" "1"
                                          "encoding" "utf-8"
                                          "original" "one\ntwo\n" "modified" "one\nTWO\n")
                     by #'cddr do (puthash key value arguments))
            (unwind-protect
                (progn
                  (aqd-names-put name "one\ntwo\n")
                  (aqd-in-diff (agent-q-diff-own-tool-decide
                                arguments (lambda (&rest values) (setq answer values)))
                    (agent-q-diff-accept-all))
                  (should (equal "allow" (alist-get 'verdict (nth 2 answer))))
                  (aqd-names-put name "one\nTWO\n")
                  (puthash "text" "one\nTWO\n" arguments)
                  (should (string-prefix-p
                           "✓ Accepted"
                           (agent-q-diff-own-tool-check
                            (agent-q-diff-own-agent-take "1") arguments))))
              (aqd-pending--clean-up))))))))

;;;; What the user types

(ert-deftest aqd-names-that-the-user-types-are-expanded ()
  (aqd-names-at-home
    (let ((review (agent-q-diff-review "~/x" "home\n" "HOME\n" "d" #'ignore)))
      (should (equal (concat home "/x") (agent-q-diff-session-path review)))
      (agent-q-diff-cancel review))))

(provide 'agent-q-diff-names-test)
;;; agent-q-diff-names-test.el ends here
