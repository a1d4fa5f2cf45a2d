;;; agent-q-diff-live-test.el --- What a file holds now  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Hashes are those of the bytes that a file has or would have.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-live)

(ert-deftest aqd-live-hash-is-that-of-the-bytes ()
  (dolist (coding '(utf-8-unix utf-8-dos utf-8-with-signature-unix latin-1-unix
                               undecided-unix utf-16-unix iso-2022-jp-unix no-conversion raw-text-unix))
    (dolist (text (list "" "a\nb\n" "ä\n日本\n" "x\0y\r\n" (string ?a #x3fffff ?b)
                        (string ?a #xd800 ?b) (string ?a #xd83d #xde00) "\xff\n"
                        (make-string 100000 ?é)))
      (let ((live (agent-q-diff-live--make :name "/x" :text text :coding coding)))
        (ert-info ((format "%s %S" coding text))
          (should (equal (agent-q-diff-live-hash live)
                         (agent-q-diff-live--hash-of-bytes live))))
        ;; And as it was read from a file.
        (setf (agent-q-diff-live-bytes live) (encode-coding-string text coding))
        (ert-info ((format "%s %S, read" coding text))
          (should (equal (agent-q-diff-live-hash live)
                         (secure-hash 'sha256 (agent-q-diff-live-bytes live)))))))))

(ert-deftest aqd-live-hashes-are-those-of-the-file ()
  (pcase-dolist (`(,bytes ,old ,new)
                 '(("a\nb\n" "b" "x\ny") ("a\nb\n" "b" "ä") ("\303\244\nb\n" "b" "あ")
                   ("\344\nb\n" "b" "ö") ("a\r\nb\r\n" "b" "x\ny") ("a\r\nb\n" "b" "x")
                   ("\357\273\277a\nb\n" "b" "x") ("\0\377\nb\n" "b" "ä")
                   ("\303\244\303\244\377\nb\n" "b" "x")))
    (aqd-with-file ""
      (aqd-put-bytes bytes aqd-file)
      (let ((live (agent-q-diff-live-read aqd-file))
            (hash (lambda () (secure-hash 'sha256 (aqd-disk)))))
        (pcase-let ((`(,spans ,_ ,text ,hashes . ,_)
                     (agent-q-diff-engine-replace
                      (agent-q-diff-live-text live)
                      (agent-q-diff-live-adapt live old)
                      (agent-q-diff-live-adapt live new))))
          (should (equal (list bytes (agent-q-diff-live-hash-before live hashes))
                         (list bytes (funcall hash))))
          (agent-q-diff-write live spans text #'ignore)
          (should (equal (list bytes (agent-q-diff-live-hash-after live hashes))
                         (list bytes (funcall hash))))
          (aqd-put-bytes "another's" aqd-file)
          (should (equal (agent-q-diff-live-hash-after live hashes)
                         (funcall hash))))))))

(provide 'agent-q-diff-live-test)
;;; agent-q-diff-live-test.el ends here
