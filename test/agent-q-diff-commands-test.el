;;; agent-q-diff-commands-test.el --- The commands that decide hunks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-test-help)

;;;; Bare buffers

(ert-deftest aqd-commands-toggling-a-mark-needs-no-target ()
  (dolist (diff (list aqd-bare-diff-of-two "@@ -1,9 +1,9 @@\n-a\n+b\n"))
    (with-temp-buffer
      (insert diff)
      (sly-agent-q-diff-mode)
      (let ((position (aqd-goto-hunk 1)))
        (setf (alist-get position sly-agent-q-diff--hunk-states) 'applied)
        (sly-agent-q-diff-toggle-hunk)
        (should-not (alist-get position sly-agent-q-diff--hunk-states))))))

;;;; Moving on

(ert-deftest aqd-commands-a-hunk-out-of-sight-is-not-accepted-unseen ()
  (aqd-with-forty-lines
    (aqd-call-with-three
     (lambda ()
       (aqd-goto-hunk 1)
       (diff-restrict-view)
       (aqd-press "a")
       (should-not (buffer-narrowed-p))
       (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
       (agent-q-diff-finish)))))

(ert-deftest aqd-commands-moving-on-does-not-hang-on-what-message-returns ()
  (aqd-with-forty-lines
    (cl-letf (((symbol-function 'message) #'ignore))
      (aqd-call-with-three (lambda ()
                             (aqd-press "a a")
                             (agent-q-diff-finish))))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five") '(20 . "twenty"))))))

(provide 'agent-q-diff-commands-test)
;;; agent-q-diff-commands-test.el ends here
