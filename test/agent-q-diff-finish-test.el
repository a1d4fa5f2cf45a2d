;;; agent-q-diff-finish-test.el --- Finishing or leaving a review  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)

;;;; Finishing

(ert-deftest aqd-finish-with-an-unfinished-text-asks ()
  "Accepting all while a text waits in a small buffer asks first."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (aqd-retype "c2" "mine")
    (set-buffer (aqd-diff-buffer))
    (dolist (command '(agent-q-diff-accept-all agent-q-diff-reject-all))
      (let ((noninteractive nil)
            (asked nil))
        (cl-letf (((symbol-function 'y-or-n-p)
                   (lambda (prompt) (setq asked prompt) nil)))
          (should-error (funcall command t) :type 'user-error)
          (should (string-search "is not finished" asked)))))
    (should (equal (aqd-disk) aqd-letters-original))
    (should-not agent-q-diff-buffer-decision)))

;;;; Bare buffers

(ert-deftest aqd-finish-a-bare-buffer-always-gets-a-decision ()
  (dolist (diff (list aqd-bare-diff-of-two "@@ -1,9 +1,9 @@\n-a\n+b\n" ""))
    (dolist (path (list nil "/nowhere/at/all"))
      (dolist (command '(sly-agent-q-diff-finish sly-agent-q-diff-accept-all
                         sly-agent-q-diff-reject-all))
        (with-temp-buffer
          (insert diff)
          (sly-agent-q-diff-mode)
          (let ((agent-q-diff-create-directories nil))
            (setq sly-agent-q-diff--path path)
            (funcall command)
            (should (equal "rejected" sly-agent-q-diff--decision))))))))

(ert-deftest aqd-finish-q-leaves-the-recursive-edit-around-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (let ((decision nil))
      (aqd-play "q"
                (lambda ()
                  (with-temp-buffer
                    (insert aqd-bare-diff-of-two)
                    (sly-agent-q-diff-mode)
                    (save-window-excursion
                      (switch-to-buffer (current-buffer))
                      (recursive-edit)
                      (setq decision sly-agent-q-diff--decision)))))
      (should (equal "rejected" decision)))))

(provide 'agent-q-diff-finish-test)
;;; agent-q-diff-finish-test.el ends here
