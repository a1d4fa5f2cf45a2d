;;; agent-q-diff-progress-test.el --- How far a review has come  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; The progress line

(ert-deftest aqd-progress-the-line-moves-what-is-known-of-hunks ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (let ((states '((1 . applied))))
        (setq sly-agent-q-diff--hunk-states states)
        (sly-agent-q-diff--update-header)
        (should (eq 'applied (alist-get (aqd-goto-hunk 1)
                                        sly-agent-q-diff--hunk-states)))
        ;; What the caller wrote down stays the caller's.
        (should (equal states '((1 . applied))))))))

(provide 'agent-q-diff-progress-test)
;;; agent-q-diff-progress-test.el ends here
