;;; agent-q-diff-menu-test.el --- Help, menu bar and context menu  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

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

(provide 'agent-q-diff-menu-test)
;;; agent-q-diff-menu-test.el ends here
