;;; agent-q-diff-list-test.el --- The list of reviews  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-list)

(ert-deftest aqd-list-shows-opens-and-cancels ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (save-window-excursion
      (agent-q-diff-list)
      (should (string-search "1 of 2 decided" (buffer-string)))
      (goto-char (point-min))
      (aqd-press "RET")
      (should (eq (window-buffer) (agent-q-diff-session-buffer review)))
      (agent-q-diff-list)
      (goto-char (point-min))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (aqd-press "k")))
    (should (equal (aqd-answer :status) '(cancelled)))
    (kill-buffer agent-q-diff-list-buffer-name)))

(ert-deftest aqd-list-cancelling-is-the-user-s-doing ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (save-window-excursion
      (agent-q-diff-list)
      (goto-char (point-min))
      (should (eq review (tabulated-list-get-id)))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (should (string-prefix-p "Cancelled the review of target.txt;"
                                 (aqd-said (agent-q-diff-list-cancel))))))
    (should (equal (aqd-answer :reason) '("the user left it undecided")))))

(ert-deftest aqd-list-follows-what-happens ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (save-window-excursion
      (agent-q-diff-list)
      (should (string-search "0 of 2 decided" (buffer-string)))
      (should (string-search "A test." (buffer-string)))
      (let ((wait (lambda ()
                    (while agent-q-diff-list--is-due
                      (accept-process-output nil 0.01)))))
        (agent-q-diff-accept review 0)
        (funcall wait)
        (should (string-search "1 of 2 decided" (buffer-string)))
        (agent-q-diff-cancel review)
        (funcall wait)
        (should (string-search "ended, cancelled 1/2" (buffer-string)))
        (kill-buffer)
        (agent-q-diff-list--update)
        (should-not agent-q-diff-list--timer)
        (should-not (memq #'agent-q-diff-list--update-soon
                          agent-q-diff-session-changed-hook))))))

(provide 'agent-q-diff-list-test)
;;; agent-q-diff-list-test.el ends here
