;;; agent-q-diff-api-test.el --- Functions with which programs begin and decide reviews  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-test-help)

;;;; Beginning

(ert-deftest aqd-api-hook-fails-when-the-review-begins ()
  (let ((aqd-answers nil)
        (diff-mode-hook '(aqd-fail)))
    (aqd-with-file aqd-original-of-two
      (aqd-begin-review aqd-original-of-two aqd-modified-of-two)
      (should (equal (aqd-answer :status :error :reason) '(error error "Broken"))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-api-ruling-7-identical-texts-cannot-be-shown ()
  (aqd-with-forty-lines
    (should (eq 'agent-q-diff-identical
                (car (aqd-review "a\n" "a\n" "q"))))
    (should (string-prefix-p "Error showing diff for"
                             (aqd-propose-and-press aqd-file "a\n" "a\n" "q")))))

(ert-deftest aqd-api-ruling-7-malformed-arguments-cannot-be-shown ()
  (dolist (arguments '((nil "a" "b" "d") ("f" nil "b" "d") ("f" "a" 7 "d")
                       ("f" "a" "b" 7) ("" "a" "b" "d")))
    (should (memq 'agent-q-diff-error
                  (get (car (aqd-play "q" (lambda ()
                                            (apply #'sly-agent-q-show-diff-and-wait
                                                   arguments))))
                       'error-conditions)))))

;;;; Diffs that ask for more than other lines

(defun aqd-api-notes (diff)
  "Review DIFF and return the notes above each review."
  (let ((default-directory (file-name-directory aqd-file)))
    (mapcar (lambda (review)
              (prog1 (aqd-in-diff review
                       (seq-filter (lambda (line) (string-prefix-p "# Note: " line))
                                   (split-string (buffer-string) "\n")))
                (agent-q-diff-cancel review)))
            (save-window-excursion (agent-q-diff-review-diff diff)))))

(defconst aqd-api-change "@@ -1 +1 @@\n-a\n+b\n"
  "A hunk.")

(ert-deftest aqd-api-renamed-file-is-the-one-that-is-there ()
  (aqd-with-file "a\n"
    (should (equal (aqd-api-notes
                    (concat "diff --git a/target.txt b/moved.txt\nsimilarity index 90%\n"
                            "rename from target.txt\nrename to moved.txt\n"
                            "--- a/target.txt\n+++ b/moved.txt\n" aqd-api-change))
                   '(("# Note: Only lines are changed; left out: rename from target.txt, \
rename to moved.txt (a/target.txt b/moved.txt)"))))))

(ert-deftest aqd-api-what-a-diff-asks-for-beside-lines-is-said ()
  (aqd-with-file "a\n"
    (should (equal (aqd-api-notes
                    (concat "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
                            "diff --git a/empty b/empty\nnew file mode 100644\n"
                            "diff --git a/target.txt b/target.txt\n"
                            "--- a/target.txt\n+++ b/target.txt\n" aqd-api-change
                            "diff --git a/new b/new\nnew file mode 100644\n"
                            "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"))
                   (let ((note "# Note: Only lines are changed; left out: old mode 100644, \
new mode 100755 (a/run b/run); new file mode 100644 (a/empty b/empty)"))
                     (list (list note)
                           (list note "# Note: The file does not exist.")))))))

;;;; Deciding by program

(ert-deftest aqd-api-a-program-can-name-a-place ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (should (eq 'edited (agent-q-diff-accept review 0 4)))
    (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 1)))
    (agent-q-diff-end review)
    (should (eq (answer :status) 'accepted))
    (should-not (plist-get (car (answer :hunks)) :places))))

(provide 'agent-q-diff-api-test)
;;; agent-q-diff-api-test.el ends here
