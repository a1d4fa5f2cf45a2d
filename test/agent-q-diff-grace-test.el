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

(defun aqd-grace-command-run (command)
  "Return the command that runs when a key here is bound to COMMAND.
That is in an Emacs in which somebody types."
  (let ((this-command command)
        (noninteractive nil))
    (run-hooks 'pre-command-hook)
    this-command))

(ert-deftest aqd-grace-keys-that-decide-are-ignored-for-a-moment ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-in-diff review
      (let ((agent-q-diff-grace 1000))
        (agent-q-diff-grace-begin))
      (dolist (case '((agent-q-diff-accept-hunk . agent-q-diff-ignore-key)
                      (agent-q-diff-finish . agent-q-diff-ignore-key)
                      (sly-agent-q-diff-accept-all . agent-q-diff-ignore-key)
                      (agent-q-diff-next-hunk . agent-q-diff-next-hunk)))
        (should (eq (aqd-grace-command-run (car case)) (cdr case))))
      (let ((agent-q-diff-grace -1))
        (agent-q-diff-grace-begin))
      (should (eq (aqd-grace-command-run 'agent-q-diff-accept-hunk)
                  'agent-q-diff-accept-hunk)))
    (agent-q-diff-cancel review)))

(ert-deftest aqd-grace-keys-of-a-program-are-not-ignored ()
  "Those that a batch Emacs is fed, say by a test of somebody else's."
  (aqd-with-file aqd-original-of-two
    (let ((agent-q-diff-grace 1000)
          (unread-command-events (listify-key-sequence (kbd "a r q"))))
      (should (equal (plist-get (agent-q-diff-review-and-wait
                                 aqd-file aqd-original-of-two aqd-modified-of-two "A test.")
                                :status)
                     'partial))
      (should (equal (plist-get (aqd-play "C-c C-c"
                                          (lambda ()
                                            (agent-q-diff-review-and-wait
                                             aqd-file (aqd-disk) aqd-modified-of-two "Again")))
                                :status)
                     'accepted)))))

(provide 'agent-q-diff-grace-test)
;;; agent-q-diff-grace-test.el ends here
