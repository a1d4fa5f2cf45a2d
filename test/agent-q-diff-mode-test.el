;;; agent-q-diff-mode-test.el --- The major mode of the diff buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

(declare-function diff-apply-buffer "diff-mode")

(ert-deftest aqd-mode-opens-no-process-and-no-file-for-its-colors ()
  (aqd-with-diff aqd-bare-diff-of-one
    (should-not diff-refine)
    (should-not diff-font-lock-syntax)))

(ert-deftest aqd-mode-ruling-1-commands-that-rewrite-the-diff-refuse ()
  (aqd-with-forty-lines
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (should (derived-mode-p 'diff-mode))
                (dolist (command '(diff-hunk-kill diff-file-kill
                                   diff-reverse-direction))
                  (let ((before (buffer-string)))
                    (should (eq 'agent-q-diff-refuse (command-remapping command)))
                    (should-error (call-interactively (command-remapping command))
                                  :type 'user-error)
                    (should (equal before (buffer-string)))))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-mode-ruling-14-a-malformed-diff-does-not-stop-the-mode ()
  (aqd-with-forty-lines
    (aqd-with-diff "@@ -1,9 +1,9 @@\n-a\n+b\n"
      (should (derived-mode-p 'sly-agent-q-diff-mode))
      (aqd-goto-hunk 1)
      (should-not (sly-agent-q-diff-accept-hunk))
      (should-not (alist-get (point) sly-agent-q-diff--hunk-states))
      (sly-agent-q-diff-reject-hunk)
      (should (eq 'rejected (alist-get (point) sly-agent-q-diff--hunk-states)))
      (should (equal 1 (sly-agent-q-diff--count-hunks)))
      (sly-agent-q-diff-finish)
      (should (equal "rejected" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-three-with)))))

(ert-deftest aqd-mode-ruling-14-diff-apply-buffer-works-where-emacs-has-it ()
  (skip-unless (fboundp 'diff-apply-buffer))
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (string-replace "a/target.txt" aqd-file
                                   (string-replace "b/target.txt" aqd-file
                                                   aqd-hand-written-diff))
      (let ((inhibit-message t))
        (diff-apply-buffer))
      (should (equal (with-current-buffer (find-buffer-visiting aqd-file)
                       (buffer-string))
                     (aqd-numbered 10 '((2 . "LINE 2")
                                        (8 . "line 8\nline 8.5"))))))))

(ert-deftest aqd-mode-keys-without-a-command-say-what-to-do ()
  (aqd-with-shown-review aqd-original-of-two aqd-modified-of-two
    (pcase-dolist (`(,keys . ,said) '(("z" . "z has no command here; \\? shows the keys")
                                      ("C-k" . "text is fixed")
                                      ("C-d" . "text is fixed")
                                      ("M-d" . "text is fixed")
                                      ("C-y" . "text is fixed")))
      (should (string-match-p said (error-message-string
                                    (should-error (aqd-press keys) :type 'user-error)))))
    (aqd-press "k")
    (should (equal (aqd-signs) '((1 . "[REJECTED]"))))
    (aqd-press "M-p M-n")
    (should (= 1 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press "<")
    (should (bobp))
    (aqd-press ">")
    (should (eobp))
    (should (string-prefix-p "Up to date; " (aqd-said (aqd-press "g"))))
    (should (eq (key-binding (kbd "DEL")) 'scroll-down-command))))

(ert-deftest aqd-mode-a-diff-that-can-be-edited-can-be-typed-in ()
  (aqd-with-file "a\n"
    (aqd-with-diff "@@ -1 +1 @@\n-a\n+b\n"
      (switch-to-buffer (current-buffer))
      (goto-char (point-max))
      (aqd-press "7 DEL 8")
      (should (string-suffix-p "+b\n8" (buffer-string))))))

(ert-deftest aqd-mode-keys-are-in-the-mode-s-documentation ()
  "Emacs 28 leaves out keys that are in two active keymaps."
  (aqd-with-shown-review aqd-original-of-two aqd-modified-of-two
    (let ((text (substring-no-properties (documentation major-mode))))
      (dolist (line '("^a +accept the hunk" "^r +reject the hunk" "^q +finish"
                      "^TAB +fold" "^v +select"))
        (should (string-match-p line text)))
      (should-not (string-search "M-x" text)))))

(provide 'agent-q-diff-mode-test)
;;; agent-q-diff-mode-test.el ends here
