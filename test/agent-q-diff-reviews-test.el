;;; agent-q-diff-reviews-test.el --- The reviews that are open  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

(ert-deftest aqd-reviews-mode-line-of-the-users-is-kept ()
  (pcase-dolist (`(,before . ,after) '((nil . (""))
                                       ("mine" . ("" "mine"))
                                       ((:eval "mine") . ("" (:eval "mine")))
                                       (mine . ("" mine))
                                       (("mine" "his") . ("mine" "his"))))
    (let ((global-mode-string before))
      (aqd-with-file aqd-original-of-two
        (let ((review (aqd-begin-review-telling nil)))
          (should (equal global-mode-string
                         (append after (list agent-q-diff-reviews-mode-line))))
          (agent-q-diff-cancel review)))
      (should (equal global-mode-string after)))))

(provide 'agent-q-diff-reviews-test)
;;; agent-q-diff-reviews-test.el ends here
