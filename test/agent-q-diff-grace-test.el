;;; agent-q-diff-grace-test.el --- Keys that come too early  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

(ert-deftest aqd-grace-review-comes-into-a-window-with-the-last ()
  (aqd-with-file aqd-original-of-two
    (save-window-excursion
      (switch-to-buffer "*scratch*")
      (let ((agent-q-diff-grace 1000)
            (one (aqd-begin-review-telling nil)))
        (agent-q-diff-cancel one)
        (display-buffer (agent-q-diff-session-buffer one))
        (let ((two (aqd-begin-review-telling nil)))
          (aqd-in-diff two
            (let ((this-command 'agent-q-diff-accept-hunk)
                  (noninteractive nil))
              (run-hooks 'pre-command-hook)
              (should (eq this-command 'agent-q-diff-ignore-key))))
          (agent-q-diff-cancel two))))))

(provide 'agent-q-diff-grace-test)
;;; agent-q-diff-grace-test.el ends here
