;;; agent-q-diff-mode-test.el --- Keys, words and signs of the diff buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the diff buffer says and shows beyond the documented contract.

;;; Code:

(require 'agent-q-diff-test-help)

(ert-deftest aqd-mode-opens-no-process-and-no-file-for-its-colors ()
  (aqd-with-diff aqd-bare-diff-of-one
    (should-not diff-refine)
    (should-not diff-font-lock-syntax)))

(provide 'agent-q-diff-mode-test)
;;; agent-q-diff-mode-test.el ends here
