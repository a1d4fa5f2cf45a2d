;;; agent-q-diff-finish-test.el --- Finishing or leaving a review  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)

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
