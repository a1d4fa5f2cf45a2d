;;; agent-q-diff-signs-test.el --- How each hunk stands, shown on it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; Places and fuzz

(ert-deftest aqd-signs-fuzz-is-shown-before-the-key-and-told-the-agent ()
  (aqd-with-patch-review "new\nnew\nother\nb\nc\nd\n"
      "@@ -1,4 +1,4 @@\n a\n b\n-c\n+C\n d\n"
    (should (equal (aqd-sign 1) "[PENDING, fuzz 1, shifted by 2 lines]"))
    (agent-q-diff-accept review 0)
    (should (equal (aqd-sign 1) "[APPLIED, fuzz 1]"))
    (agent-q-diff-end review)
    (let ((hunk (car (answer :hunks))))
      (should (equal (list (plist-get hunk :fuzz) (plist-get hunk :offset)) '(1 2))))
    (should (string-suffix-p
             "\n\nHunk 1 is in the file with fuzz 1: its outermost context lines differ there\
; shifted by 2 lines."
             (answer :message)))))

(provide 'agent-q-diff-signs-test)
;;; agent-q-diff-signs-test.el ends here
