;;; agent-q-diff-api-test.el --- Functions with which programs begin and decide reviews  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-test-help)

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
