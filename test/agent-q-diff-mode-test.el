;;; agent-q-diff-mode-test.el --- Help, menu bar and context menu  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;; Code:

(require 'agent-q-diff-test-help)

;;; Help and menus

(ert-deftest aqd-menu-has-every-command-and-its-key ()
  (aqd-with-elisp-review
    (let (commands)
      (map-keymap (lambda (_ item)
                    (push (nth 2 item) commands))
                  (lookup-key (current-local-map) [menu-bar Review]))
      (pcase-dolist (`(,command . ,_) agent-q-diff-menu--help-commands)
        (should (memq command commands))
        (should (commandp command))
        (should (equal (and (string-prefix-p "agent-q-diff-" (symbol-name command))
                            '(agent-q-diff-mode))
                       (command-modes command)))))
    (agent-q-diff-help)
    (with-current-buffer "*Agent-Q Diff Help*"
      (should-not (string-search "M-x" (buffer-string))))))

(ert-deftest aqd-menu-help-and-menu-miss-no-key ()
  (aqd-with-elisp-review
    (let ((missing nil))
      (map-keymap
       (lambda (event binding)
         (when (and (symbolp binding) (commandp binding) (integerp event)
                    ;; A prefix argument, as in every buffer of single keys.
                    (not (memq binding '(digit-argument negative-argument)))
                    (not (cl-find (indirect-function binding) agent-q-diff-menu--help-commands
                                  :key (lambda (entry) (indirect-function (car entry))))))
           (push binding missing)))
       agent-q-diff-mode-map)
      (should-not missing))))

(ert-deftest aqd-menu-context-acts-where-one-clicks ()
  (aqd-with-elisp-review
    (let* ((at (aqd-goto-hunk 2))
           (click (list 'mouse-3 (list (selected-window) at '(0 . 0) 0)))
           (menu (agent-q-diff-menu--context (make-sparse-keymap) click))
           (item (lookup-key menu [agent-q-diff-accept-hunk])))
      (goto-char (point-min))
      (should (memq #'agent-q-diff-menu--context context-menu-functions))
      (call-interactively item)
      (should (equal (aqd-signs) '((2 . "[APPLIED]")))))))

(ert-deftest aqd-menu-help-lists-every-key ()
  (aqd-with-file "a\n"
    (aqd-call "a\n" "b\n"
              (lambda ()
                (agent-q-diff-help)
                (let ((help (with-current-buffer "*Agent-Q Diff Help*"
                              (buffer-string))))
                  (dolist (key '("n" "p" "N" "P" "RET" "a" "r" "SPC" "u" "s" "C-c C-c" "C-c C-k"
                                 "C-M-c" "C-]" "q" "?"))
                    (should (let ((case-fold-search nil))
                              (string-match-p (format "^%s +[a-z]" (regexp-quote key))
                                              help)))))
                (agent-q-diff-reject-all)))))

;;; The mode

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
