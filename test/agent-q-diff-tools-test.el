;;; agent-q-diff-tools-test.el --- What the agent reads  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The messages are an interface, so here they are literal.

;;; Code:

(require 'agent-q-diff-test-help)

(defun aqd-tools-propose (original modified keys)
  "Return the message about a proposal of ORIGINAL to MODIFIED, given KEYS."
  (let ((agent-q-diff-project-root (file-name-directory aqd-file)))
    (aqd-play keys
              (lambda ()
                (agent-q-diff-tools-propose-file-edit "target.txt" original
                                                      modified "Because.")))))

(ert-deftest aqd-checklist-message-when-accepted ()
  (aqd-with-file "a\n"
    (should (equal (aqd-tools-propose "a\n" "b\n" "a q")
                   "✓ Changes accepted and applied to target.txt

The buffer has been updated with your proposed changes. Save the buffer when ready."))))

(ert-deftest aqd-checklist-message-when-rejected-says-stop ()
  (aqd-with-file "a\n"
    (should (equal (aqd-tools-propose "a\n" "b\n" "C-c C-k")
                   "✗ REJECTED: User explicitly declined changes to target.txt

STOP: Do NOT retry or propose alternative changes. The user has made a
deliberate decision to reject this edit. Report to the user that the
changes were not applied and ask if they would like to proceed differently."))))

(ert-deftest aqd-tools-message-when-it-fails ()
  (aqd-with-file "other\n"
    (should (equal (aqd-tools-propose "a\n" "b\n" "a q")
                   "Error showing diff for target.txt: Could not be applied: \
\"hunk 1: its lines were changed since, at line 1\"

This might indicate an issue with the Emacs integration. Make sure
sly-agent-q-diff.el is loaded."))))

(ert-deftest aqd-tools-message-when-cancelled-is-no-refusal ()
  (aqd-with-file "a\n"
    (let ((message (aqd-tools-propose "a\n" "b\n" "a C-]")))
      (should (string-prefix-p "Error showing diff for target.txt: Review cancelled"
                               message))
      (should-not (string-search "REJECTED" message)))))

(ert-deftest aqd-tools-message-about-no-decision ()
  (should (equal (agent-q-diff-message-of-decision "maybe" "f")
                 "⚠ Unexpected response from diff UI: maybe

The file may not have been modified.")))

(defun aqd-tools-now (file &rest places)
  "Return what a message says of the lines of FILE, a string, as they now are.
PLACES are lists (HUNK WHERE FROM TO), the lines counted from 1."
  (concat "\nThe lines as they now are:"
          (mapconcat
           (pcase-lambda (`(,hunk ,where ,from ,to))
             (concat (format "\nhunk %d, %s:" hunk where)
                     (cl-loop for number from from to to
                              concat (format "\n%6d\t%s" number
                                             (nth (1- number)
                                                  (split-string file "\n"))))))
           places "")))

(ert-deftest aqd-tools-message-shows-the-lines-as-they-are ()
  (aqd-with-file "a\nb\nc\nd\ne\nf\ng\nh\n"
    (should (string-suffix-p
             "
1 of 2 hunks is in the file.
In the file: hunk 1.
Not in the file: hunk 2.
The lines as they now are:
hunk 1, in the file:
     1	A
     2	A2
     3	b
hunk 2, not in the file:
     8	g
     9	h"
             (let ((agent-q-diff-context-length 1))
               (aqd-tools-propose "a\nb\nc\nd\ne\nf\ng\nh\n"
                                  "A\nA2\nb\nc\nd\ne\nf\ng\nH\n" "a r q")))))
  ;; Where others have changed its lines, those are what is there.
  (aqd-with-file (concat "other\n" (aqd-numbered 20))
    (let ((message (aqd-tools-propose
                    (concat "a\n" (aqd-numbered 20))
                    (concat "b\n" (aqd-numbered 10)
                            (mapconcat #'identity (make-list 30 "new\n") "")
                            (string-remove-prefix (aqd-numbered 10) (aqd-numbered 20)))
                    "C-c C-c q")))
      (should (string-search "now are:\nhunk 1, not in the file:\n     1\tother\n" message))
      (should (string-suffix-p "    28\tnew\n       … 16 more lines" message)))))

(ert-deftest aqd-tools-message-tells-what-is-in-the-file ()
  (let ((original (aqd-numbered 40))
        (modified (aqd-numbered 40 '((5 . "five") (20 . "twenty") (35 . "x")))))
    (aqd-with-file original
      (should (string-suffix-p
               (concat "

2 of 3 hunks are in the file.
In the file: hunks 1 and 3.
Not in the file: hunk 2."
                       (aqd-tools-now (aqd-numbered 40 '((5 . "five") (35 . "x")))
                                      '(1 "in the file" 2 8)
                                      '(2 "not in the file" 17 23)
                                      '(3 "in the file" 32 38)))
               (aqd-tools-propose original modified "a r a q"))))
    ;; Toggled back, so the marks say rejected, and the file says otherwise.
    (aqd-with-file original
      (should (string-suffix-p
               (concat "

1 of 3 hunks is in the file.
In the file: hunk 1.
Not in the file: hunks 2 and 3."
                       (aqd-tools-now (aqd-numbered 40 '((5 . "five")))
                                      '(1 "in the file" 2 8)
                                      '(2 "not in the file" 17 23)
                                      '(3 "not in the file" 32 38)))
               (aqd-tools-propose original modified "SPC SPC C-c C-k"))))
    (aqd-with-file (aqd-numbered 40 '((20 . "other")))
      (should (string-suffix-p
               (concat "

2 of 3 hunks are in the file.
In the file: hunks 1 and 3.
Not in the file: hunk 2.
Could not be applied where it belongs: hunk 2."
                       (aqd-tools-now (aqd-numbered 40 '((5 . "five") (20 . "other")
                                                         (35 . "x")))
                                      '(1 "in the file" 2 8)
                                      '(2 "not in the file" 17 23)
                                      '(3 "in the file" 32 38)))
               (aqd-tools-propose original modified "C-c C-c q"))))))

(ert-deftest aqd-tools-message-tells-what-was-undone-in-the-file ()
  (aqd-with-file "a\n"
    (let ((agent-q-diff-project-root (file-name-directory aqd-file)))
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (agent-q-diff-accept-hunk)
                   (with-current-buffer (find-buffer-visiting aqd-file)
                     (erase-buffer)
                     (insert "a\n"))
                   (agent-q-diff-reject-all))))
        (should-not (string-search
                     "in the file"
                     (agent-q-diff-tools-propose-file-edit "target.txt" "a\n" "b\n"
                                                           "d")))))))

(ert-deftest aqd-tools-message-tells-that-a-hook-changed-more ()
  (let ((original (concat "a  \n" (aqd-numbered 20)))
        (modified (concat "a  \n" (aqd-numbered 20 '((15 . "x"))))))
    (aqd-with-file original
      (with-current-buffer (aqd-visit)
        (add-hook 'before-save-hook #'delete-trailing-whitespace nil t))
      (should (string-suffix-p
               "\n\nOn saving, a hook of the user's changed other lines as well."
               (aqd-tools-propose original modified "C-c C-c"))))))

;;;; propose_patch

(defconst aqd-tools-diff
  (concat "--- a/target.txt\n+++ b/target.txt\n"
          "@@ -4,3 +4,3 @@\n line 4\n-line 5\n+five\n line 6\n"
          ;; Models count badly; the lines say where it is.
          "@@ -33,3 +33,3 @@\n line 19\n-line 20\n+twenty\n line 21\n")
  "A diff of the test's file.")

(defun aqd-tools-patch (diff keys &optional path)
  "Return the message about the patch DIFF of PATH, given KEYS."
  (let ((agent-q-diff-project-root (file-name-directory aqd-file)))
    (aqd-play keys
              (lambda ()
                (agent-q-diff-tools-call "propose_patch"
                                         `(:path ,(or path "target.txt") :diff ,diff
                                           :description "Because."))))))

(ert-deftest aqd-patch-is-decided-hunk-by-hunk ()
  (aqd-with-file (aqd-numbered 40)
    (should (equal "✓ Accepted: both hunks are in target.txt, which is saved."
                   (aqd-tools-patch aqd-tools-diff "C-c C-c")))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "five") (20 . "twenty"))))))
  (aqd-with-file (aqd-numbered 40)
    (should (string-search "1 of 2 hunks is in target.txt, which is saved.\n\nIn the file: hunk 2."
                           (aqd-tools-patch aqd-tools-diff "r a q")))
    (should (equal (aqd-disk) (aqd-numbered 40 '((20 . "twenty"))))))
  (aqd-with-file (aqd-numbered 40)
    (should (string-prefix-p "✗ Rejected: "
                             (aqd-tools-patch aqd-tools-diff "C-c C-k")))
    (should (equal (aqd-disk) (aqd-numbered 40)))))

(ert-deftest aqd-patch-shows-no-lines-of-a-hunk-without-a-place ()
  (aqd-with-file (aqd-numbered 40 '((20 . "x")))
    (should (string-suffix-p
             (concat "belongs: hunk 2."
                     (aqd-tools-now (aqd-numbered 40 '((5 . "five")))
                                    '(1 "in the file" 4 6)))
             (aqd-tools-patch aqd-tools-diff "C-c C-c q")))))

(ert-deftest aqd-patch-creates-a-file ()
  (aqd-with-file ""
    (should (string-prefix-p
             "✓" (aqd-tools-patch "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"
                                  "C-c C-c" "new.txt")))
    (let ((aqd-file (expand-file-name "new.txt" (file-name-directory aqd-file))))
      (should (equal (aqd-disk) "a\nb\n")))))

(ert-deftest aqd-patch-that-is-none-is-told-why ()
  (aqd-with-file (aqd-numbered 40)
    (pcase-dolist (`(,diff . ,why)
                   `(("" . "no hunk")
                     ("nonsense\n" . "no hunk")
                     ("@@ -1,2 +1,2 @@\n line 1\n" . "line 1")
                     (,(concat aqd-tools-diff "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
                      . "2 files; review them one at a time")))
      (let ((message (aqd-tools-patch diff "C-c C-c")))
        (should (string-prefix-p "Error: there is no decision about target.txt: " message))
        (should (string-match-p why message))))
    (should (equal (aqd-disk) (aqd-numbered 40)))))

(ert-deftest aqd-patch-that-applies-nowhere-is-no-refusal ()
  (aqd-with-file "other\n"
    (let ((message (aqd-tools-patch aqd-tools-diff "a a q")))
      (should (string-prefix-p "Error: the change could not be applied to target.txt: hunk 1: "
                               message)))))

(ert-deftest aqd-patch-of-another-file-is-said ()
  (pcase-dolist (`(,name . ,is-other) '(("a/target.txt" . nil) ("deep/er/target.txt" . nil)
                                        ("a/other.txt" . t)))
    (aqd-with-file (aqd-numbered 40)
      (let (notes)
        (cl-letf (((symbol-function 'recursive-edit)
                   (lambda ()
                     (setq notes (buffer-string))
                     (agent-q-diff-reject-all))))
          (agent-q-diff-review-patch-and-wait
           aqd-file (string-replace "b/target.txt" name
                                    (string-replace "a/target.txt" name aqd-tools-diff))
           "d"))
        (should (eq is-other
                    (and (string-search "The diff names another file: a/other.txt" notes)
                         t)))))))

(ert-deftest aqd-patch-is-for-policy-and-log-too ()
  (aqd-with-file (aqd-numbered 40)
    (let ((agent-q-diff-tools-policy 'deny))
      (should (string-search "settings deny propose_patch here"
                             (aqd-tools-patch aqd-tools-diff ""))))
    (let ((agent-q-diff-log-file (concat aqd-file ".log")))
      (aqd-tools-patch aqd-tools-diff "C-c C-c")
      (with-temp-buffer
        (insert-file-contents agent-q-diff-log-file)
        (let-alist (json-parse-buffer :object-type 'alist)
          (should (equal .tool "propose_patch"))
          (should (string-search "+twenty" .diff))
          (should .hash-before)
          (should-not (equal .hash-before .hash-after)))))))

(ert-deftest aqd-patch-without-waiting ()
  (aqd-with-file (aqd-numbered 40)
    (let ((agent-q-diff-project-root (file-name-directory aqd-file))
          (messages nil))
      (agent-q-diff-tools-call-async "propose_patch"
                                     `(:path "target.txt" :diff ,aqd-tools-diff
                                       :description "Because.")
                                     (lambda (message) (push message messages)))
      (should-not messages)
      (with-current-buffer (agent-q-diff-review-buffer
                            (car (agent-q-diff-open-reviews)))
        (agent-q-diff-accept-all))
      (should (equal messages
                     '("✓ Accepted: both hunks are in target.txt, which is saved."))))))

(ert-deftest aqd-tools-wrong-arguments-are-an-answer-too ()
  (dolist (arguments '((nil "a" "b" "d") ("f" 1 "b" "d") ("f" "a" nil "d")))
    (should (string-prefix-p "Error showing diff for "
                             (apply #'agent-q-diff-tools-propose-file-edit
                                    arguments)))))

(provide 'agent-q-diff-tools-test)
;;; agent-q-diff-tools-test.el ends here
