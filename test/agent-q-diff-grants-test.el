;;; agent-q-diff-grants-test.el --- What agents may do without asking  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a grant covers, and how it is listed and revoked.

;;; Code:

(require 'agent-q-diff-project-help)

(ert-deftest aqd-grants-are-for-one-tool-and-project ()
  (let ((grants nil))
    (aqd-asking
     (aqd-with-project "a\n"
       (let ((agent-q-diff-permission-function (aqd-answering 'session)))
         (aqd-edit "a" "b")
         (should (string-prefix-p "✓" (aqd-edit "b" "c"))))
       (setq grants agent-q-diff-grants--all)
       (should (equal (mapcar #'car grants) '("edit_file"))))
     (aqd-with-project "a\n"
       (let ((agent-q-diff-grants--all grants)
             (agent-q-diff-permission-function (aqd-answering 'deny)))
         (should (equal (aqd-edit "a" "b") aqd-rejected)))))))

(ert-deftest aqd-grants-are-listed-and-revoked ()
  (aqd-with-project "a\n"
    (aqd-asking
     (let ((agent-q-diff-permission-function (aqd-answering 'session 'session 'deny)))
       (aqd-edit "a" "b")
       (save-window-excursion
         (agent-q-diff-grants)
         (goto-char (point-min))
         (should (looking-at-p "edit_file"))
         (should (string-search (abbreviate-file-name (file-truename aqd-project))
                                (buffer-string)))
         (aqd-press "k")
         (should-not agent-q-diff-grants--all)
         (should (equal (buffer-string) "")))
       (aqd-edit "b" "c")
       (agent-q-diff-revoke-grants)
       (should (equal (aqd-edit "c" "d") aqd-rejected))
       (kill-buffer "*Agent-Q Grants*")))))

(provide 'agent-q-diff-grants-test)
;;; agent-q-diff-grants-test.el ends here
