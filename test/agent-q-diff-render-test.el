;;; agent-q-diff-render-test.el --- The diff buffer of a new review  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; The buffer

(ert-deftest aqd-render-review-comes-while-one-reads-the-last ()
  (aqd-with-file aqd-original-of-two
    (save-window-excursion
      (let ((one (aqd-begin-review-telling nil)))
        (agent-q-diff-cancel one)
        (switch-to-buffer (agent-q-diff-session-buffer one))
        (let ((two (aqd-begin-review-telling nil)))
          (should-not (eq (window-buffer) (agent-q-diff-session-buffer two)))
          (agent-q-diff-cancel two))))))

(ert-deftest aqd-render-takes-nothing-from-a-directorys-local-variables ()
  (aqd-with-file "a\n"
    (write-region "((nil . ((fill-column . 7))))" nil
                  (expand-file-name ".dir-locals.el" (file-name-directory aqd-file))
                  nil 'silent)
    (aqd-call "a\n" "b\n"
              (lambda ()
                (should-not (equal 7 fill-column))
                (agent-q-diff-reject-all)))))

(provide 'agent-q-diff-render-test)
;;; agent-q-diff-render-test.el ends here
