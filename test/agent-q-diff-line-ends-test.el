;;; agent-q-diff-line-ends-test.el --- Files with unusual line ends  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Emacs keeps CRLF and, of files that old Macs wrote, CR out of its buffers;
;; an agent has the bytes.  Each tool must find its lines all the same, and
;; leave every other byte alone.

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
  "What such a file holds, bytes under a name.")

(defun aqd-line-ends-write (bytes)
  "Make BYTES what the test's file holds."
  (let ((coding-system-for-write 'no-conversion))
    (write-region bytes nil aqd-file nil 'silent)))

(defun aqd-line-ends-git-diff (old new)
  "Return what git says of the bytes OLD becoming NEW, as it is read as text."
  (let ((default-directory (file-name-directory aqd-file)))
    (pcase-dolist (`(,name . ,bytes) `(("a" . ,old) ("b" . ,new)))
      (let ((coding-system-for-write 'no-conversion))
        (write-region bytes nil name nil 'silent)))
    (with-temp-buffer
      (let ((coding-system-for-read 'utf-8-unix))
        (call-process "git" nil t nil "diff" "--no-index" "--text" "a" "b"))
      (buffer-string))))

(defun aqd-line-ends-call (tool old new)
  "Call TOOL to make the bytes NEW of OLD, with a user who accepts all."
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
  "Check that each tool makes the bytes NEW of a file that holds OLD."
  (dolist (tool '("propose_file_edit" "propose_patch" "edit_file"))
    (dolist (is-open '(nil t))
      (aqd-with-file ""
        (aqd-line-ends-write old)
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
      (aqd-line-ends-write old)
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
      (aqd-line-ends-write "one\rtwo\rthree\r")
      (aqd-line-ends-call tool "one\ntwo\nthree\n" "one\nTWO\nthree\n")
      (should (equal (list tool (aqd-disk)) (list tool "one\rTWO\rthree\r"))))))

(provide 'agent-q-diff-line-ends-test)
;;; agent-q-diff-line-ends-test.el ends here
