;;; agent-q-diff-tools-test.el --- Calling the tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A call always ends in a message.

;;; Code:

(require 'agent-q-diff-test-help)

;;;; propose_patch

(ert-deftest aqd-tools-wrong-arguments-are-an-answer-too ()
  (dolist (arguments '((nil "a" "b" "d") ("f" 1 "b" "d") ("f" "a" nil "d")))
    (should (string-prefix-p "Error showing diff for "
                             (apply #'agent-q-diff-tools-propose-file-edit
                                    arguments)))))

(provide 'agent-q-diff-tools-test)
;;; agent-q-diff-tools-test.el ends here
