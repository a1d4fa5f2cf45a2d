;;; agent-q-diff-long-lines-test.el --- Very long lines  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A long line is cut off visibly and shown on demand.

;;; Code:

(require 'agent-q-diff-test-help)

(ert-deftest aqd-long-lines-are-cut-visibly-and-shown-on-demand ()
  (aqd-with-shown-diff "a\n" (concat "a\n" (make-string 3000 ?y) "z\n")
    (goto-char (point-min))
    (re-search-forward "^\\+y")
    (let ((shown (lambda () (aqd-shown (line-beginning-position) (line-end-position)))))
      (should (string-match-p "\\`\\+y\\{999\\}… 2002 more characters, x shows them\\'"
                              (funcall shown)))
      (agent-q-diff-expand-line)
      (should (string-suffix-p "yz" (funcall shown)))
      (agent-q-diff-expand-line)
      (should (string-match-p "2002 more" (funcall shown)))
      (forward-line -1)
      (should-error (agent-q-diff-expand-line) :type 'user-error))))

(provide 'agent-q-diff-long-lines-test)
;;; agent-q-diff-long-lines-test.el ends here
