;;; agent-q-diff-input-test.el --- The names in a diff  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Programs name the files of a diff in many ways.  Each row of a table is a
;; tree of files, and the file that a diff must find in it.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-api)
(require 'agent-q-diff-tools)
(require 'agent-q-diff-input)

(defmacro aqd-input-with-tree (files &rest body)
  "Run BODY in a new directory with FILES, names with \"one\\ntwo\\n\" in each.
A name that ends in a slash is an empty directory."
  (declare (indent 1) (debug t))
  `(let ((default-directory (file-name-as-directory
                             (file-truename (make-temp-file "aqd-input" t)))))
     (unwind-protect
         (progn
           (dolist (file ,files)
             (make-directory (file-name-directory (expand-file-name file)) t)
             (unless (directory-name-p file)
               (write-region "one\ntwo\n" nil file nil 'silent)))
           ,@body)
       (delete-directory default-directory t))))

(defconst aqd-input-hunk "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"
  "A hunk for the files of `aqd-input-with-tree'.")

(defun aqd-input-header (old new)
  "Return a file header with the names OLD and NEW and a hunk."
  (concat "--- " old "\n+++ " new "\n" aqd-input-hunk))

(defun aqd-input-git (old new)
  "Return what git writes for a file that it calls OLD and NEW."
  (concat "diff --git " old " " new "\n" (aqd-input-header old new)))

(defun aqd-input-found (diff)
  "Return what DIFF proposes: names relative to `default-directory'.
A file that is deleted, created or renamed has a word before its name.  If the
diff is refused, return the message."
  (condition-case err
      (mapcar (lambda (file)
                (let ((name (file-relative-name (expand-file-name (plist-get file :path))))
                      (to (plist-get file :to)))
                  (cond
                   ((plist-get file :delete) (concat "delete " name))
                   (to (format "%s to %s" name (file-relative-name (expand-file-name to))))
                   (t name))))
              (agent-q-diff-input-of-diff diff))
    (agent-q-diff-error (cadr err))))

(ert-deftest aqd-input-a-name-is-found-whatever-stands-around-it ()
  (pcase-dolist
      (`(,files ,diff . ,found)
       `((("src/x.c") ,(aqd-input-git "a/src/x.c" "b/src/x.c") "src/x.c")
         (("src/x.c") ,(aqd-input-git "i/src/x.c" "w/src/x.c") "src/x.c")
         (("src/x.c") ,(aqd-input-git "b/src/x.c" "a/src/x.c") "src/x.c")
         (("src/x.c") ,(aqd-input-git "src/x.c" "src/x.c") "src/x.c")
         (("src/x.c") ,(aqd-input-git "old/src/x.c" "new/src/x.c") "src/x.c")
         (("src/x.c") ,(aqd-input-git "p/q/src/x.c" "p/r/src/x.c") "src/x.c")
         (("src/x.c") ,(aqd-input-header "a/src/x.c" "a/src/x.c") "src/x.c")
         (("src/x.c") ,(aqd-input-header "pkg-1.0.orig/src/x.c" "pkg-1.0/src/x.c") "src/x.c")
         (("src/x.c") ,(aqd-input-header "src/x.c.orig" "src/x.c") "src/x.c")
         (("src/x.c") ,(aqd-input-header "src/x.c" "src/x.c.new") "src/x.c")
         (("src/x.c") ,(aqd-input-header "src/x.c 2026-01-02 03:04:05.6 +0100"
                                         "src/x.c Fri Jan  2 03:04:05 2026")
          "src/x.c")
         (("src/x.c") ,(aqd-input-header "src/x.c    (revision 5)" "src/x.c    (working copy)")
          "src/x.c")
         (("src/x.c") ,(concat "Index: src/x.c\n" (make-string 67 ?=) "\n"
                               (aqd-input-header "src/x.c\t(revision 5)" "src/x.c\t(working copy)"))
          "src/x.c")
         (("src/x.c" "x.c")
          ,(concat "Index: src/x.c\n" (make-string 67 ?=) "\nRCS file: /cvs/src/x.c,v\n"
                   "retrieving revision 1.5\ndiff -u -r1.5 x.c\n"
                   (aqd-input-header "x.c 2 Jan 2026 03:04:05 -0000 1.5" "x.c 3 Jan 2026 03:04:05 -0000"))
          "src/x.c")
         (("src/x.c") ,(concat "diff -r 1234567890ab src/x.c\n"
                               (aqd-input-header "a/src/x.c\tFri Jan 02 03:04:05 2026 +0000"
                                                 "b/src/x.c\tFri Jan 02 03:04:06 2026 +0000"))
          "src/x.c")
         (("src/x.c") ,(concat "=== modified file 'src/x.c'\n"
                               (aqd-input-header "src/x.c 2026-01-02 03:04:05 +0000"
                                                 "src/x.c 2026-01-02 03:04:06 +0000"))
          "src/x.c")
         (("a b.c") ,(concat "diff --git i/a b.c w/a b.c\n"
                             (aqd-input-header "i/a b.c\t" "w/a b.c\t"))
          "a b.c")
         (("ä\t.c") ,(aqd-input-git "\"i/\\303\\244\\t.c\"" "\"w/\\303\\244\\t.c\"") "ä\t.c")
         ;; A directory with the name of a prefix.
         (("a/x.c") ,(aqd-input-git "a/x.c" "a/x.c") "a/x.c")
         (("a/x.c") ,(aqd-input-git "a/a/x.c" "b/a/x.c") "a/x.c")
         ;; A tree beside another one.
         (("old/x.c" "new/") ,(aqd-input-header "old/x.c" "new/x.c") "old/x.c")))
    (aqd-input-with-tree files
      (should (equal (cons diff found) (cons diff (aqd-input-found diff)))))))

(ert-deftest aqd-input-new-deleted-and-renamed-files-have-any-prefix ()
  (pcase-dolist
      (`(,files ,diff . ,found)
       '((("s/k") "diff --git i/s/new w/s/new\nnew file mode 100644\n--- /dev/null\n+++ w/s/new\n@@ -0,0 +1 @@\n+a\n"
          "s/new")
         (("s/k") "diff --git i/s/new w/s/new\nnew file mode 100644\nindex 0000000..e69de29\n" "s/new")
         (("s/k") "diff --git i/s/k w/s/k\ndeleted file mode 100644\n--- i/s/k\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"
          "delete s/k")
         (("s/k") "diff --git b/s/k a/s/k\ndeleted file mode 100644\n--- b/s/k\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"
          "delete s/k")
         (("s/k") "--- s/k\t2026-01-02 03:04:05 +0000\n+++ s/k\t1970-01-01 00:00:00 +0000\n@@ -1,2 +0,0 @@\n-one\n-two\n"
          "delete s/k")
         (("s/k") "--- a/s/k Fri Jan 02 03:04:05 2026 +0000\n+++ /dev/null Thu Jan 01 00:00:00 1970 +0000\n@@ -1,2 +0,0 @@\n-one\n-two\n"
          "delete s/k")
         (("s/k") "Index: s/k\n=====\n--- s/k\t(revision 5)\n+++ s/k\t(nonexistent)\n@@ -1,2 +0,0 @@\n-one\n-two\n"
          "delete s/k")
         ;; It has become empty.
         (("s/k") "--- s/k 2026-01-02 03:04:05 +0000\n+++ s/k 2026-01-02 03:04:06 +0000\n@@ -1,2 +0,0 @@\n-one\n-two\n"
          "s/k")
         (("s/k") "Index: s/k\n=====\n--- s/k (revision 5)\n+++ s/k (working copy)\n@@ -1,2 +0,0 @@\n-one\n-two\n"
          "s/k")
         (("s/k") "diff --git a/s/k b/s/k\n--- a/s/k\n+++ b/s/k\n@@ -1,2 +0,0 @@\n-one\n-two\n" "s/k")
         (("s/k") "--- a/s/k\n+++ b/s/k\n@@ -1,2 +0,0 @@\n-one\n-two\n" "s/k")
         (("s/k") "diff --git i/s/k w/s/l m\nsimilarity index 100%\nrename from s/k\nrename to s/l m\n"
          "s/k to s/l m")
         (("s/k") "diff --git i/s/k w/s/k\nold mode 100644\nnew mode 100755\n" "s/k")
         ;; Like the other files of the diff.
         (("s/k" "b/") "--- a/s/k\n+++ b/s/k\n@@ -1,2 +1 @@\n one\n-two\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n"
          "s/k" "new")
         (("b/k" "b/l" "l") "--- b/k\n+++ b/k\n@@ -1,2 +1 @@\n one\n-two\n--- b/l\n+++ b/l\n@@ -1,2 +1 @@\n one\n-two\n"
          "b/k" "b/l")))
    (aqd-input-with-tree files
      (should (equal (cons diff found) (cons diff (aqd-input-found diff)))))))

(ert-deftest aqd-input-a-file-that-loses-all-lines-stays-by-every-way-in ()
  (pcase-dolist (`(,diff ,is-there)
                 `(("--- a/k\n+++ b/k\n@@ -1,2 +0,0 @@\n-one\n-two\n" t)
                   ("diff --git a/k b/k\n--- a/k\n+++ b/k\n@@ -1,2 +0,0 @@\n-one\n-two\n" t)
                   ("*** Begin Patch\n*** Update File: k\n@@\n-one\n-two\n*** End Patch" t)
                   ("--- a/k\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n" nil)))
    (dolist (begin (list #'agent-q-diff-review-diff
                         (lambda (diff)
                           (agent-q-diff-tools-propose
                            "propose_patch" `((diff . ,diff) (description . "d")) #'ignore))
                         (lambda (diff)
                           (agent-q-diff-tools-propose
                            "propose_patch" `((path . "k") (diff . ,diff) (description . "d"))
                            #'ignore))))
      (aqd-input-with-tree '("k")
        (let* ((agent-q-diff-project-root default-directory)
               (create-lockfiles nil)
               (backup-inhibited t)
               (review (save-window-excursion (funcall begin diff))))
          (aqd-in-diff review (agent-q-diff-accept-all))
          (should (eq is-there (file-exists-p "k")))
          (when is-there
            (should (equal "" (aqd-bytes-of "k")))
            (kill-buffer (get-file-buffer "k"))))))))

(ert-deftest aqd-input-names-are-relative-to-the-directory-or-to-the-root ()
  (aqd-input-with-tree '("s/k.txt" "s/only.txt" ".git/")
    (let ((default-directory (expand-file-name "s/")))
      (dolist (diff (list (aqd-input-git "a/s/k.txt" "b/s/k.txt")
                          (aqd-input-git "s/k.txt" "s/k.txt")
                          (aqd-input-git "a/k.txt" "b/k.txt")
                          (aqd-input-header "k.txt" "k.txt")))
        (should (equal (aqd-input-found diff) '("k.txt"))))
      (should (equal (aqd-input-found
                      (concat "diff --git a/s/new b/s/new\nnew file mode 100644\n"
                              "--- /dev/null\n+++ b/s/new\n@@ -0,0 +1 @@\n+a\n"))
                     '("new")))
      ;; Two files fit, but one directory fits all files.
      (make-directory "s")
      (write-region "one\ntwo\n" nil "s/k.txt" nil 'silent)
      (should (equal (aqd-input-found (concat (aqd-input-git "a/s/k.txt" "b/s/k.txt")
                                              (aqd-input-git "a/s/only.txt" "b/s/only.txt")))
                     '("k.txt" "only.txt"))))))

(ert-deftest aqd-input-what-fits-twice-is-asked-or-refused ()
  (aqd-input-with-tree '("s/k.txt" "s/s/k.txt" "x" "a/x" ".git/")
    (let ((twice (aqd-input-header "a/x" "a/x"))
          (default-directory (expand-file-name "s/")))
      (let* ((diff (aqd-input-git "a/s/k.txt" "b/s/k.txt"))
             (refused (aqd-input-found diff)))
        (dolist (name '("s/k.txt" "s/s/k.txt"))
          (should (string-search (expand-file-name (concat "../" name)) refused))
          (should (equal (list (expand-file-name (concat "../" name)))
                         (mapcar (lambda (file) (expand-file-name (plist-get file :path)))
                                 (agent-q-diff-input-of-diff
                                  diff nil
                                  (lambda (_ names)
                                    (car (member (expand-file-name (concat "../" name))
                                                 names)))))))))
      (let ((default-directory (expand-file-name "../")))
        (should (string-match-p "does not say which file" (aqd-input-found twice)))
        ;; Git names the text of one of them.
        (write-region "other\n" nil "x" nil 'silent)
        (should (equal '("a/x")
                       (aqd-input-found
                        (concat "diff --git a/x a/x\nindex 814f4a4..879de50 100644\n" twice))))))))

(defun aqd-input-new (name)
  "Return a diff of a new file that it calls NAME."
  (format "--- /dev/null\n+++ %s\n@@ -0,0 +1 @@\n+a\n" name))

(ert-deftest aqd-input-a-new-file-has-the-prefix-of-the-others ()
  (pcase-dolist
      (`(,files ,old ,new ,named ,found)
       '((("s/x.c") "pkg-1.0.orig/s/x.c" "pkg-1.0/s/x.c" "pkg-1.0/s/n.c" "s/n.c")
         (("s/x.c") "pkg-1.0.orig/s/x.c" "pkg-1.0/s/x.c" "pkg-1.0/top.c" "top.c")
         (("s/x.c") "pkg-1.0.orig/s/x.c" "pkg-1.0/s/x.c" "pkg-1.0/new/n.c" "new/n.c")
         (("s/x.c") "p/q/s/x.c" "p/r/s/x.c" "p/r/top.c" "top.c")
         ;; Also beside a directory of that name.
         (("s/x.c" "pkg-1.0/") "pkg-1.0.orig/s/x.c" "pkg-1.0/s/x.c" "pkg-1.0/s/n.c" "s/n.c")
         (("s/x.c" "b/") "a/s/x.c" "b/s/x.c" "b/top.c" "top.c")
         ;; What is no prefix there, is none here.
         (("pkg-1.0/s/x.c" "s/") "pkg-1.0/s/x.c" "pkg-1.0/s/x.c" "pkg-1.0/s/n.c" "pkg-1.0/s/n.c")
         (("s/x.c") "s/x.c" "s/x.c" "t/s/n.c" "t/s/n.c")))
    (aqd-input-with-tree files
      (let* ((x (aqd-input-header old new))
             (other (car (aqd-input-found x))))
        (should (equal (list named other found)
                       (cons named (aqd-input-found (concat x (aqd-input-new named))))))
        (should (equal (list named found other)
                       (cons named (aqd-input-found (concat (aqd-input-new named) x)))))))))

(ert-deftest aqd-input-a-lone-new-file-may-have-a-prefix ()
  (aqd-input-with-tree '("s/x.c")
    (let ((refused (aqd-input-found (aqd-input-new "pkg-1.0/s/n.c"))))
      (dolist (name '("pkg-1.0/s/n.c" "s/n.c"))
        (should (string-search (concat (expand-file-name name) " ") refused))
        (should (equal (list (expand-file-name name))
                       (mapcar (lambda (file) (expand-file-name (plist-get file :path)))
                               (agent-q-diff-input-of-diff
                                (aqd-input-new "pkg-1.0/s/n.c") nil
                                (lambda (_ names)
                                  (car (member (expand-file-name name) names)))))))))
    ;; Nothing speaks for a prefix.
    (dolist (name '("pkg-1.0/n.c" "pkg-1.0/t/n.c" "s/t/n.c" "n.c"))
      (should (equal (list name) (aqd-input-found (aqd-input-new name)))))
    (should (equal '("t/s/n.c") (aqd-input-found (aqd-input-new "b/t/s/n.c"))))))

(ert-deftest aqd-input-a-file-with-other-directories-is-not-taken ()
  (aqd-input-with-tree '("util.py")
    (should (string-match-p
             "\\`lib/util.py does not exist; if .*/util.py is meant, give that as the path\\'"
             (aqd-input-found (aqd-input-header "lib/util.py" "lib/util.py"))))))

(ert-deftest aqd-input-no-candidate-may-mislead-or-be-remote ()
  (aqd-input-with-tree '("x")
    (cl-letf (((symbol-function 'tramp-file-name-handler)
               (lambda (&rest call) (error "A connection: %S" call))))
      (dolist (name '("a//ssh:host:/x" "/ssh:host:/x" "a/~root/x"))
        (should-not (ignore-error agent-q-diff-error
                      (seq-some (lambda (file) (file-exists-p (plist-get file :path)))
                                (agent-q-diff-input-of-diff (aqd-input-header name name)))))))))

(ert-deftest aqd-input-a-patch-is-found-in-prose-and-fences ()
  (aqd-input-with-tree '("x")
    (pcase-dolist (`(,before ,after) '(("" "") ("```diff\n" "```\n") ("Here is the change:\n\n" "\nDone.\n")))
      (dolist (diff (list (aqd-input-git "a/x" "b/x") (aqd-input-header "x" "x")
                          "*** Begin Patch\n*** Update File: x\n@@\n-two\n+TWO\n*** End Patch\n"))
        (should (equal (aqd-input-found (concat before diff after)) '("x")))))
    (should (equal '("x") (aqd-input-found (concat "A line may be\n*** Begin Patch\nin a mail.\n"
                                                   (aqd-input-header "x" "x")))))))

(ert-deftest aqd-input-a-mail-with-crlf-changes-a-file-without ()
  (aqd-input-with-tree '("x")
    (let* ((diff (string-replace "\n" "\r\n" (concat "Subject: x\n\n--\n" (aqd-input-git "a/x" "b/x")
                                                     "--\n2.39.2\n\n")))
           (review (save-window-excursion (agent-q-diff-review-diff diff))))
      (agent-q-diff-accept review 0)
      (agent-q-diff-end review)
      (should (equal (aqd-bytes-of (expand-file-name "x")) "one\nTWO\n")))))

(ert-deftest aqd-input-a-tool-s-diff-has-its-names-found-too ()
  (aqd-input-with-tree '("s/k.txt")
    (let ((agent-q-diff-project-root default-directory)
          (inhibit-message t))
      (dolist (arguments `((:diff ,(aqd-input-git "i/s/k.txt" "w/s/k.txt") :description "d")
                           (:path "s/k.txt" :description "d"
                            :diff ,(aqd-input-git "i/s/k.txt" "w/s/k.txt"))))
        (agent-q-diff-tools-call-async "propose_patch" arguments #'ignore)
        (let ((review (car (agent-q-diff-open-reviews))))
          (should (equal (agent-q-diff-session-path review) (expand-file-name "s/k.txt")))
          (agent-q-diff-cancel review))))))

(provide 'agent-q-diff-input-test)
;;; agent-q-diff-input-test.el ends here
