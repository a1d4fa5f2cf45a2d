;;; agent-q-diff-result-test.el --- What the caller of a review is told  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)

;;;; What else is told

(ert-deftest aqd-result-a-hunk-that-was-in-is-told-from-one-that-was-applied ()
  (aqd-with-patch-review "a\nB\nc\n1\n2\n3\n4\n5\n6\nd\n"
      "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -9,2 +9,2 @@\n 6\n-d\n+D\n"
    (agent-q-diff-accept review 0)
    (agent-q-diff-accept review 1)
    (agent-q-diff-end review)
    (should (equal '(t nil) (mapcar (lambda (hunk) (plist-get hunk :was-in))
                                    (answer :hunks))))
    (should (string-suffix-p "\n\nWas in the file already, and was not put there by this review: hunk 1."
                             (answer :message)))))

(provide 'agent-q-diff-result-test)
;;; agent-q-diff-result-test.el ends here
