;;; agent-q-diff-decide-test.el --- What a decision does to the target  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; What is in the file already

(ert-deftest aqd-decide-one-equal-line-does-not-mean-already-in ()
  (aqd-with-patch-review "B\nx\ny\n" "@@ -7 +7 @@\n-b\n+B\n"
    (should (string-match-p "new lines are somewhere proves nothing"
                            (agent-q-diff-engine-hunk-reason
                             (agent-q-diff-file-change-hunk
                              (agent-q-diff-session-change review) 0))))
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-ambiguous)
    (agent-q-diff-end review)
    (should-not (plist-get (car (answer :hunks)) :in-file))))

(ert-deftest aqd-decide-a-last-line-in-the-middle-is-not-already-in ()
  (aqd-with-patch-review "a\nb\nc\nmore\n"
      "@@ -1,3 +1,3 @@\n a\n b\n-c\n\\ No newline at end of file\n+c\n"
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-not-found)
    (agent-q-diff-reject review 0)
    (agent-q-diff-end review)
    (should-not (plist-get (car (answer :hunks)) :in-file))))

(provide 'agent-q-diff-decide-test)
;;; agent-q-diff-decide-test.el ends here
