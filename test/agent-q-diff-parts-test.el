;;; agent-q-diff-parts-test.el --- The changes in a text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; No change in a text may be lost: it is read, or the text is refused.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-api)
(require 'agent-q-diff-tools)

(defun aqd-parts-diff (name)
  "Return a unified diff of the file NAME, with \"one\\ntwo\\n\" in it."
  (format "--- a/%s\n+++ b/%s\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n" name name))

(defun aqd-parts-codex (name)
  "Return a patch of Codex's of the file NAME."
  (format "*** Begin Patch\n*** Update File: %s\n@@\n one\n-two\n+TWO\n*** End Patch\n" name))

(defun aqd-parts-below (before text)
  "Return TEXT with BEFORE at the beginning of each of its lines."
  (replace-regexp-in-string "^\\(?:.\\)" (lambda (first) (concat before first)) text t t))

(defun aqd-parts-fence (before text)
  "Return TEXT in a fence, each line after BEFORE."
  (aqd-parts-below before (concat "```diff\n" text "```\n")))

(defun aqd-parts-found (text)
  "Return the names of the files that TEXT changes, or the error's message."
  (condition-case err
      (mapcar (lambda (file) (plist-get file :path)) (agent-q-diff-input-of-diff text))
    (agent-q-diff-error (cadr err))))

(defmacro aqd-parts-in-tree (&rest body)
  "Run BODY in a new directory with the files x and y."
  (declare (indent 0) (debug t))
  `(let ((default-directory (file-name-as-directory
                             (file-truename (make-temp-file "aqd-parts" t)))))
     (unwind-protect
         (progn
           (dolist (name '("x" "y"))
             (write-region "one\ntwo\n" nil name nil 'silent))
           ,@body)
       (delete-directory default-directory t))))

(defconst aqd-parts-context-diff
  "*** y.orig\n--- y\n***************\n*** 1,2 ****\n  one\n! two\n--- 1,2 ----\n  one\n! TWO\n"
  "A context diff.")

(ert-deftest aqd-parts-all-changes-of-a-text-are-read ()
  (aqd-parts-in-tree
    (let ((x (aqd-parts-diff "x"))
          (y (aqd-parts-diff "y")))
      (dolist (text (list (concat (aqd-parts-codex "x") "\n" (aqd-parts-codex "y"))
                          (concat "First:\n" (aqd-parts-fence "" (aqd-parts-codex "x"))
                                  "then\n" (aqd-parts-fence "" (aqd-parts-codex "y")))
                          (concat (aqd-parts-fence "" x) (aqd-parts-fence "" (aqd-parts-codex "y")))
                          (concat x (aqd-parts-below "  " (aqd-parts-codex "y")))
                          (concat (aqd-parts-fence "" x) "2. and\n\n" (aqd-parts-fence "   " y))
                          (concat "1. one\n\n" (aqd-parts-fence "   " x) (aqd-parts-fence "" y))
                          (concat x "\n" (aqd-parts-fence "\t" y))
                          (concat "- x:\n" (aqd-parts-fence "  " x) "- y:\n" (aqd-parts-fence "  " y))
                          (concat "- ```diff\n" (aqd-parts-below "  " (concat x "```\n"))
                                  "10. ~~~\n" (aqd-parts-below "    " (concat y "~~~\n")))
                          (concat x "\ufeff" y)))
        (dolist (text (list text (string-replace "\n" "\r\n" text)))
          (should (equal (list text "x" "y")
                         (cons text (sort (aqd-parts-found text) #'string<)))))))))

(ert-deftest aqd-parts-what-is-not-read-is-refused-with-its-line ()
  (aqd-parts-in-tree
    (let ((y (aqd-parts-diff "y")))
      (pcase-dolist
          (`(,other ,line ,words)
           `((,(aqd-parts-below "    " y) 1 "a diff that is indented is not read")
             (,(aqd-parts-below "> " y) 1 "a diff with quotation signs")
             (,(aqd-parts-below ">" y) 1 "a diff with quotation signs")
             (,(aqd-parts-below "> " (aqd-parts-codex "y")) 2 "a diff with quotation signs")
             (,(aqd-parts-below "  " "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n") 1 "indented")
             (,(aqd-parts-below "  " "diff --git a/y b/z\nrename from y\nrename to z\n") 1 "indented")
             (,(concat "   ```\n" (aqd-parts-below "   " y) " x\n   ```\n") 2 "indented")
             ("\e[1m--- a/y\e[m\n\e[1m+++ b/y\e[m\n\e[36m@@ -1,2 +1,2 @@\e[m\n one\n\e[31m-two\e[m\n"
              1 "a diff with colors")
             (,aqd-parts-context-diff 3 "a context diff")
             (,(aqd-parts-below "  " aqd-parts-context-diff) 3 "a context diff")
             ("diff y.orig y\n2c2\n< two\n---\n> TWO\n" 2 "a diff without context")
             ("2a3\n> more\n" 1 "a diff without context")
             ("y\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n" 2 "a SEARCH/REPLACE block")
             ("y\n------- SEARCH\ntwo\n=======\nTWO\n+++++++ REPLACE\n" 2 "a SEARCH/REPLACE block")
             ("*** Update File: y\n one\n-two\n+TWO\n" 1 "not between \"\\*\\*\\* Begin Patch\"")
             ("```diff\n one\n-two\n+TWO\n```\n" 2 "a diff without hunk headers")))
        (let ((alone (aqd-parts-found other)))
          (should (string-match-p (format "\\`line %d: .*%s" line words) alone))
          (should-not (string-search "the rest" alone)))
        (dolist (first (list (aqd-parts-diff "x") (aqd-parts-codex "x")))
          (let ((found (aqd-parts-found (concat first "\nand\n" other))))
            (should (string-match-p (format "\\`line %d: .*%s" (+ (cl-count ?\n first) 2 line) words)
                                    found))
            (should (string-search "nothing of the text is" found))))
        (unless (string-match-p "\\`[2d]" other)
          (should (string-match-p (format "\\`line %d: .*%s" line words)
                                  (aqd-parts-found (concat other "\nand\n" (aqd-parts-diff "x"))))))))))

(ert-deftest aqd-parts-a-malformed-diff-beside-a-patch-is-refused ()
  (aqd-parts-in-tree
    (dolist (other '("@@\n one\n-two\n+TWO\n" "--- a/y\n+++ b/y\n-two\n+TWO\n" "@@ -1 +1 @\n-two\n+TWO\n"
                     "*** Begin Patch\n*** Update File: y\n@@\n-two\n+TWO\n"))
      (should (stringp (aqd-parts-found (concat (aqd-parts-codex "x") "\nand\n" other)))))))

(ert-deftest aqd-parts-a-mistake-above-is-said-first ()
  (aqd-parts-in-tree
    (should (string-match-p
             "\\`line 7: not counted"
             (aqd-parts-found (concat (aqd-parts-diff "x") "+more\n    --- a/y\n    +++ b/y\n    @@ -1 +1 @@\n    -a\n"))))))

(ert-deftest aqd-parts-words-around-a-change-are-no-change ()
  (aqd-parts-in-tree
    (let ((x (aqd-parts-diff "x"))
          (below (lambda (before) (aqd-parts-below before (aqd-parts-diff "y")))))
      (dolist (text
               (list (concat "The header\n\n    @@ -1,2 +1,2 @@\n\nwas wrong, as were\n\n    --- a/y\n\n" x)
                     (concat "Each of 2c2 lines\n> quoted\n* *** stars ***\n" x "\n1. done\n")
                     (concat "```sh\n$ make\n```\n" x "\nThen run:\n\n    ```sh\n    make -k\n    ```\n")
                     (concat "commit abc\nAuthor: A\n\n    Fix\n\n" (funcall below "    ") "\n" x)
                     (concat "commit 0123456789\nAuthor: A\n\n    Fix\n\n"
                             (aqd-parts-fence "    " (aqd-parts-diff "y")) "\ndiff --git a/x b/x\n" x)
                     (concat "From: A <a@b.c>\nSubject: Fix\n\nAs before:\n\n" (funcall below "  ") "---\n x | 2 +-\n\n"
                             x "-- \n2.39.2\n\n")
                     (concat "Subject: Re: Fix\n\nB writes:\n" (funcall below "> ") "\nRather:\n\n" x "\n" (funcall below "> "))
                     (concat "# HG changeset patch\n# User A\nFix\n\n" (funcall below "  ") "\ndiff -r 1 x\n" x)))
        (should (equal (list text "x") (cons text (aqd-parts-found text))))))))

(ert-deftest aqd-parts-a-hunk-may-have-lines-like-those-of-a-diff ()
  (aqd-parts-in-tree
    (dolist (line '("*** Begin Patch\n *** Update File: y\n *** End Patch" "```diff\n --- a/y\n +++ b/y\n @@ -1 +1 @@"
                    "   ```\n    --- a/y\n    +++ b/y\n    @@ -1 +1 @@\n    -a" "2c2\n < two"
                    "<<<<<<< SEARCH" "> --- a/y\n > +++ b/y\n > @@ -1 +1 @@"))
      (let ((n (1+ (cl-count ?\n line))))
        (should (equal '("x") (aqd-parts-found
                               (format "--- a/x\n+++ b/x\n@@ -1,%d +1,%d @@\n %s\n+new\n" n (1+ n) line)))))
      ;; Codex itself takes a section for one, whatever is before it.
      (unless (string-search "Update File" line)
        (should (equal '("x") (aqd-parts-found
                               (format "*** Begin Patch\n*** Update File: x\n@@\n %s\n+new\n*** End Patch\n" line))))))))

(ert-deftest aqd-parts-a-byte-order-mark-is-skipped ()
  (aqd-parts-in-tree
    (dolist (text (list (aqd-parts-diff "x") (aqd-parts-codex "x")
                        (concat "diff --git a/x b/x\n" (aqd-parts-diff "x"))))
      (should (equal '("x") (aqd-parts-found (concat "\ufeff" text)))))))

(ert-deftest aqd-parts-every-way-in-takes-all-or-refuses ()
  (aqd-parts-in-tree
    (let ((agent-q-diff-project-root default-directory)
          (inhibit-message t)
          (both (concat (aqd-parts-codex "x") "\n" (aqd-parts-codex "y")))
          (lost (concat (aqd-parts-diff "x") "\n" (aqd-parts-below "> " (aqd-parts-diff "y")))))
      (agent-q-diff-tools-call-async "propose_patch" (list :diff both :description "d") #'ignore)
      (let ((review (car (agent-q-diff-open-reviews))))
        (should (= 2 (length (agent-q-diff-change-files (agent-q-diff-session-change review)))))
        (agent-q-diff-cancel review))
      (dolist (arguments `((:diff ,lost :description "d") (:path "x" :diff ,lost :description "d")))
        (let ((answer nil))
          (agent-q-diff-tools-call-async "propose_patch" arguments (lambda (it) (setq answer it)))
          (should (string-search "line 8: a diff with quotation signs is not read" answer))))
      (should-error (agent-q-diff-review-diff lost) :type 'agent-q-diff-malformed)
      (dolist (diff (list lost (concat (aqd-parts-diff "x") "\n" (aqd-parts-codex "y"))))
        (let ((review (agent-q-diff-review-patch (expand-file-name "x") diff "d" #'ignore)))
          (should (string-match-p "\\`line 8: .* is not read"
                                  (plist-get (agent-q-diff-session-result review) :reason)))))
      (should-not (agent-q-diff-open-reviews)))))

(provide 'agent-q-diff-parts-test)
;;; agent-q-diff-parts-test.el ends here
