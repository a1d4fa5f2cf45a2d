;;; agent-q-diff-line-ends-test.el --- Files with unusual line ends  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Emacs keeps CRLF and, of files that old Macs wrote, CR out of its buffers;
;; an agent has the bytes.  Each tool must find its lines all the same, and
;; leave every other byte alone.  Diffs have line ends as git writes them.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)

(defconst aqd-line-ends-files
  '(("CRLF" "one\r\ntwo\r\nthree\r\nfour\r\n")
    ("CRLF, last line without" "one\r\ntwo\r\nthree\r\nfour")
    ("CRLF, last line with a lone CR" "one\r\ntwo\r\nthree\r\nfour\r")
    ("CR" "one\rtwo\rthree\rfour\r")
    ("CR, last line without" "one\rtwo\rthree\rfour")
    ("CR, not ASCII" "one\rtwo\rdre\xc3\xaf\rfour\r"))
  "Contents of such files, (NAME BYTES).")

(defun aqd-line-ends-git-diff (old new)
  "Return git's diff from the bytes OLD to NEW, as text."
  (let ((default-directory (file-name-directory aqd-file)))
    (pcase-dolist (`(,name . ,bytes) `(("a" . ,old) ("b" . ,new)))
      (let ((coding-system-for-write 'no-conversion))
        (write-region bytes nil name nil 'silent)))
    (with-temp-buffer
      (let ((coding-system-for-read 'utf-8-unix))
        (call-process "git" nil t nil "diff" "--no-index" "--text" "a" "b"))
      (buffer-string))))

(defun aqd-line-ends-call (tool old new)
  "Call TOOL to change the bytes OLD to NEW, with a user who accepts all."
  (let ((default-directory (file-name-directory aqd-file))
        (agent-q-diff-project-root (file-name-directory aqd-file))
        (agent-q-diff-tools-policy 'allow)
        (text (lambda (bytes) (decode-coding-string bytes 'utf-8-unix))))
    (aqd-play
     (if (equal tool "edit_file") "" "C-c C-c")
     (lambda ()
       (agent-q-diff-tools-call
        tool
        (append '(:path "target.txt" :description "A test.")
                (pcase tool
                  ("propose_file_edit"
                   (list :original (funcall text old) :modified (funcall text new)))
                  ("propose_patch"
                   (list :diff (aqd-line-ends-git-diff old new)))
                  ("edit_file"
                   (list :old_str (funcall text old) :new_str (funcall text new))))))))))

(defun aqd-line-ends-check (old new)
  "Check that each tool changes a file with the bytes OLD to NEW."
  (dolist (tool '("propose_file_edit" "propose_patch" "edit_file"))
    (dolist (is-open '(nil t))
      (aqd-with-file ""
        (aqd-put-bytes old aqd-file)
        (when is-open
          (aqd-visit))
        (let ((message (aqd-line-ends-call tool old new)))
          (should (equal (list tool old new) (list tool old (aqd-disk))))
          (should (string-prefix-p "✓" message)))))))

(ert-deftest aqd-line-ends-a-line-in-the-middle-is-found-and-no-other-byte-changes ()
  (pcase-dolist (`(,_ ,bytes) aqd-line-ends-files)
    (aqd-line-ends-check bytes (string-replace "two" "TWO" bytes))))

(ert-deftest aqd-line-ends-the-last-line-is-found ()
  (pcase-dolist (`(,_ ,bytes) aqd-line-ends-files)
    (aqd-line-ends-check bytes (string-replace "four" "FOUR" bytes))))

(ert-deftest aqd-line-ends-a-line-is-added-and-taken-away ()
  (dolist (end '("\r\n" "\r"))
    (let ((short (concat "one" end "two" end "three" end))
          (long (concat "one" end "two" end "new" end "three" end)))
      (aqd-line-ends-check short long)
      (aqd-line-ends-check long short))))

(ert-deftest aqd-line-ends-a-hunk-of-a-cr-file-is-decided-by-itself ()
  (aqd-with-file ""
    (let* ((line (lambda (n) (format "line %d\r" n)))
           (old (mapconcat line (number-sequence 1 20) ""))
           (new (string-replace "line 2\r" "two\r"
                                (string-replace "line 19\r" "nineteen\r" old)))
           review)
      (aqd-put-bytes old aqd-file)
      (setq review (agent-q-diff-review-patch
                    aqd-file (aqd-line-ends-git-diff old new) "A test." #'ignore))
      (agent-q-diff-accept review 1)
      (should (equal (aqd-disk) (string-replace "line 19\r" "nineteen\r" old)))
      (agent-q-diff-unapply review 1)
      (should (equal (aqd-disk) old))
      (agent-q-diff-cancel review))))

(ert-deftest aqd-line-ends-an-agent-may-write-lf-for-cr ()
  (dolist (tool '("propose_file_edit" "propose_patch" "edit_file"))
    (aqd-with-file ""
      (aqd-put-bytes "one\rtwo\rthree\r" aqd-file)
      (aqd-line-ends-call tool "one\ntwo\nthree\n" "one\nTWO\nthree\n")
      (should (equal (list tool (aqd-disk)) (list tool "one\rTWO\rthree\r"))))))

;;;; Files

(ert-deftest aqd-line-ends-crlf-files-stay-crlf ()
  (dolist (eol '("\n" "\r\n"))
    (should (equal "A\r\nb\r\nc\r\n"
                   (aqd-target-bytes "a\r\nb\r\nc\r\n"
                                     (string-replace "\n" eol "a\nb\nc\n")
                                     (string-replace "\n" eol "A\nb\nc\n"))))))

(ert-deftest aqd-line-ends-mixed-line-ends-stay-mixed ()
  (should (equal "A\nb\r\nc\n"
                 (aqd-target-bytes "a\nb\r\nc\n" "a\nb\r\nc\n" "A\nb\r\nc\n"))))

(ert-deftest aqd-line-ends-a-cr-before-crlf-stays ()
  (should (equal "a\r\r\nb\r\nC\r\n"
                 (aqd-target-bytes "a\r\r\nb\r\nc\r\n" "a\r\r\nb\r\nc\r\n"
                                   "a\r\r\nb\r\nC\r\n")))
  ;; As the buffer has it.
  (should (equal "a\r\r\nb\r\nC\r\n"
                 (aqd-target-bytes "a\r\r\nb\r\nc\r\n" "a\r\nb\nc\n"
                                   "a\r\nb\nC\n"))))

(ert-deftest aqd-line-ends-no-file-has-the-line-ends-of-its-text ()
  (let* ((file (cl-letf (((default-value 'buffer-file-coding-system) 'utf-8-dos))
                 (agent-q-diff-file-change-open "/nowhere/a" "a\nb\n" "a\r\nb\r\n" nil t)))
         (change (agent-q-diff-change-of file)))
    (should (eq 'edited (agent-q-diff-decide-hunk change 'accept 0)))
    (should (equal "a\r\nb\r\n"
                   (agent-q-diff-text-in (agent-q-diff-file-change-buffer file))))
    (agent-q-diff-change-close change)))

(ert-deftest aqd-line-ends-byte-order-mark-stays ()
  (should (equal "\xef\xbb\xbf\ A\nb\n"
                 (aqd-target-bytes "\xef\xbb\xbf\ a\nb\n" "\ufeff\ a\nb\n"
                                   "\ufeff\ A\nb\n")))
  (should (equal "\xef\xbb\xbf\ A\nb\n"
                 (aqd-target-bytes "\xef\xbb\xbf\ a\nb\n" "a\nb\n" "A\nb\n"))))

(ert-deftest aqd-line-ends-a-byte-order-mark-is-neither-doubled-nor-a-change ()
  "Whether a proposal's texts have it, one of them or none, as texts or as a diff."
  (pcase-dolist (`(,before ,after)
                 (append
                  (mapcar (lambda (coding)
                            (list (encode-coding-string "a\nb\nc\n" coding)
                                  (encode-coding-string "a\nB\nc\n" coding)))
                          '(utf-8-with-signature-unix utf-16le-with-signature-unix
                            utf-16be-with-signature-dos utf-8-unix))
                  ;; The mark is in the buffer's text.
                  '(("\xef\xbb\xbf# coding: utf-8\nb\nc\n" "\xef\xbb\xbf# coding: utf-8\nB\nc\n"))))
    (pcase-dolist (`(,old . ,new) '(("" . "") ("\ufeff" . "\ufeff") ("\ufeff" . "") ("" . "\ufeff")))
      (ert-info ((format "%S %S %S" before old new))
        (let ((top (if (string-search "coding" before) "# coding: utf-8\n" "a\n")))
          (should (equal after (aqd-target-bytes before (concat old top "b\nc\n")
                                                 (concat new top "B\nc\n"))))
          (aqd-with-file ""
            (let ((coding-system-for-write 'no-conversion)
                  (inhibit-message t))
              (write-region before nil aqd-file nil 'silent)
              (setq coding-system-for-write nil)
              (let ((review (agent-q-diff-review-diff
                             (concat "--- a/target.txt\n+++ b/target.txt\n@@ -1,3 +1,3 @@\n"
                                     (if (equal old new)
                                         (concat " " old top)
                                       (concat "-" old top "+" new top))
                                     "-b\n+B\n c\n")
                             (file-name-directory aqd-file) #'ignore)))
                (agent-q-diff-accept review 0)
                (agent-q-diff-end review))
              (should (equal after (aqd-disk))))))))))

(ert-deftest aqd-line-ends-proposal-without-cr-for-a-text-with-cr ()
  ;; The file is read as it is, so that the CRs are in the buffer.
  (let ((coding-system-for-read 'utf-8-unix))
    (should (equal "A\r\nb\r\nc\r\n"
                   (aqd-target-bytes "a\r\nb\r\nc\r\n" "a\nb\nc\n" "A\nb\nc\n")))))

(ert-deftest aqd-line-ends-new-file-with-crlf-has-crlf ()
  (aqd-with-file ""
    (delete-file aqd-file)
    (should (equal "accepted" (aqd-review "" "a\r\nb\r\n" "a q")))
    (should (equal (aqd-disk) "a\r\nb\r\n"))))

(ert-deftest aqd-line-ends-line-ends-alone-are-no-identical-texts ()
  (pcase-dolist (`(,original . ,modified) '(("a\r\nb\r\n" . "a\nb\n")
                                            ("a\nb\n" . "a\r\nb\r\n")
                                            ("a\r\nb\r\n" . "a\r\nb\n")))
    (aqd-with-file "a\r\nb\r\n"
      (let ((err (aqd-review original modified "q")))
        (should (eq 'agent-q-diff-identical (car err)))
        (should (string-match-p "only line ends" (cadr err)))))))

(ert-deftest aqd-line-ends-line-ends-that-the-file-has-are-not-doubled ()
  (aqd-with-file "a\r\nb\r\n"
    (aqd-review "a\nb\n" "a\r\nB\r\n" "a q")
    (should (equal (aqd-disk) "a\r\nB\r\n"))))

;;;; Diffs as git makes them

(defun aqd-line-ends-apply (bytes diff)
  "Return the file's bytes after all of DIFF was accepted for BYTES."
  (aqd-with-file ""
    (aqd-put-bytes bytes aqd-file)
    (let ((review (agent-q-diff-review-patch aqd-file diff "d" nil)))
      (aqd-in-diff review (agent-q-diff-accept-all))
      (aqd-disk))))

(ert-deftest aqd-line-ends-git-ends-its-headers-with-LF ()
  (should (equal (aqd-line-ends-apply "a\r\nb\r\nc\r\n"
                                      (concat "--- a/target.txt\n+++ b/target.txt\n"
                                              "@@ -1,3 +1,3 @@ x\n a\r\n-b\r\n+B\r\n c\r\n"))
                 "a\r\nB\r\nc\r\n"))
  (should (equal (aqd-line-ends-apply "a\r\nb"
                                      (concat "@@ -1,2 +1,2 @@\n a\r\n"
                                              "-b\n\\ No newline at end of file\n"
                                              "+B\r\n"))
                 "a\r\nB\r\n")))

(ert-deftest aqd-line-ends-line-ends-that-are-in-the-text-stay ()
  ;; Some lines end with CRLF, and the diff shows which.
  (should (equal (aqd-line-ends-apply "a\r\nb\nc\r\n"
                                      "@@ -1,2 +1,2 @@\n a\r\n-b\n+B\r\n")
                 "a\r\nB\r\nc\r\n"))
  (should (equal (aqd-line-ends-apply "" "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\r\n")
                 "a\r\n")))

;; If all lines of a file end with CRLF, its buffer has no CR.
(ert-deftest aqd-line-ends-line-ends-alone-are-not-in-the-file-already ()
  (aqd-with-file ""
    (aqd-put-bytes "a\r\nb\r\n" aqd-file)
    (dolist (diff '("@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+a\n+b\n"
                    "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n"
                    "@@ -1,2 +1,2 @@\n-a\n-b\n+a\r\n+b\r\n"
                    "@@ -1 +1 @@\r\n-a\r\n+a\n@@ -2 +2 @@\n-b\r\n+b\n"))
      (let ((result (agent-q-diff-session-result
                     (agent-q-diff-review-patch aqd-file diff "d" nil))))
        (should (eq 'agent-q-diff-identical (plist-get result :error)))
        (should (string-match-p "only line ends" (plist-get result :message)))))
    (should-not (agent-q-diff-open-reviews))
    (should (equal (aqd-disk) "a\r\nb\r\n"))))

(ert-deftest aqd-line-ends-line-ends-that-change-with-the-line-are-the-files ()
  (dolist (lines '("-b\r\n+B\n" "-b\n+B\r\n" "-b\r\n+B\r\n" "-b\n+B\n"))
    (should (equal (aqd-line-ends-apply "a\r\nb\r\n" (concat "@@ -1,2 +1,2 @@\n a\n" lines))
                   "a\r\nB\r\n"))))

(ert-deftest aqd-line-ends-line-ends-change-where-they-are-in-the-text ()
  (should (equal (aqd-line-ends-apply "a\r\nb\r\nc\n" "@@ -1,3 +1,3 @@\n a\r\n-b\r\n+b\n c\n")
                 "a\r\nb\nc\n"))
  (should (equal (aqd-line-ends-apply "a\nb\n" "@@ -1,2 +1,2 @@\n a\n-b\n+b\r\n")
                 "a\nb\r\n")))

(ert-deftest aqd-line-ends-byte-order-mark-in-a-diff ()
  (should (equal (aqd-line-ends-apply "\357\273\277a\nb\n"
                                      "@@ -1,2 +1,2 @@\n-\ufeffa\n+\ufeffA\n b\n")
                 "\357\273\277A\nb\n")))

(ert-deftest aqd-line-ends-a-diff-with-crlf-fits-a-file-with-crlf ()
  (aqd-with-file (string-replace "\n" "\r\n" (aqd-numbered 10))
    (aqd-with-diff (string-replace "\n" "\r\n" aqd-bare-diff-of-two)
      (aqd-goto-hunk 1)
      (should (sly-agent-q-diff-accept-hunk)))
    (should (equal (aqd-disk)
                   (string-replace "\n" "\r\n"
                                   (aqd-numbered 10 '((2 . "LINE 2"))))))))

(provide 'agent-q-diff-line-ends-test)
;;; agent-q-diff-line-ends-test.el ends here
