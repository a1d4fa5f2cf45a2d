;;; agent-q-diff-text-test.el --- The text of the target  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

(defun aqd-text-known-p (live text)
  "Return non-nil if a narrowed target with LIVE is known to have TEXT."
  (aqd-with-file live
    (with-current-buffer (aqd-visit)
      (setq-local case-fold-search t)
      (narrow-to-region (1+ (point-min)) (point-max))
      (prog1 (agent-q-diff-text-known-p (current-buffer) (string-to-multibyte text))
        (should (buffer-narrowed-p))
        (should (= 2 (point-min)))))))

(ert-deftest aqd-text-is-known-by-the-very-same-text ()
  (dolist (text '("a\nb\n" "a\nb" "\n" "ä\nß\n"))
    (should (aqd-text-known-p text text)))
  (pcase-dolist (`(,live ,text) '(("a\nb\n" "a\nB\n") ("a\nb\n" "a\nb\nc\n")
                                  ("a\nb\n" "a\n") ("ä\n" "Ä\n") ("a\nb\n" "a\nc\n")))
    (should-not (aqd-text-known-p live text)))
  (let ((agent-q-diff-text--max-compared 3))
    (should-not (aqd-text-known-p "a\nb\n" "a\nb\n"))
    (should (aqd-text-known-p "a\n" "a\n"))))

(ert-deftest aqd-text-with-other-line-ends-is-left-to-be-adapted ()
  (dolist (text '("a\r\nb\r\n" "a\r\nb\n" "a\rb\n" "\ufeffa\n"))
    (aqd-with-file ""
      (let ((coding-system-for-write 'utf-8-unix))
        (write-region text nil aqd-file nil 'silent))
      (dolist (proposed (list text "a\nb\n"))
        (should-not (agent-q-diff-text-known-p (aqd-visit)
                                               (string-to-multibyte proposed)))))))

(provide 'agent-q-diff-text-test)
;;; agent-q-diff-text-test.el ends here
