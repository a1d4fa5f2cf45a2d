;;; agent-q-diff-base-test.el --- Faces, and keys that stay as they are  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-list)
(require 'agent-q-diff-log-list)

(defvar meow-mode-state-list)

(ert-deftest aqd-base-modal-packages-leave-the-keys-alone ()
  (let ((states '((agent-q-diff-list-mode . motion)))
        (meow-mode-state-list '((agent-q-diff-grants-mode . normal))))
    (cl-letf (((symbol-function 'evil-initial-state)
               (lambda (mode &optional _) (alist-get mode states)))
              ((symbol-function 'evil-set-initial-state)
               (lambda (mode state) (push (cons mode state) states))))
      (dolist (mode '(agent-q-diff-mode sly-agent-q-diff-mode agent-q-diff-list-mode
                      agent-q-diff-grants-mode agent-q-diff-log-mode
                      agent-q-diff-transcript-mode))
        (with-temp-buffer
          (funcall mode)
          ;; What the user has set stays.
          (should (eq (alist-get mode states)
                      (if (eq mode 'agent-q-diff-list-mode) 'motion 'emacs)))
          (should (eq (alist-get mode meow-mode-state-list)
                      (if (eq mode 'agent-q-diff-grants-mode) 'normal 'insert))))))))

(ert-deftest aqd-base-faces-inherit-and-name-no-colors ()
  (dolist (face '(agent-q-diff-applied agent-q-diff-rejected agent-q-diff-differs
                  agent-q-diff-decided agent-q-diff-decided-header
                  agent-q-diff-header agent-q-diff-file-heading agent-q-diff-progress
                  agent-q-diff-warning agent-q-diff-reviews))
    (should (facep face))
    (pcase-dolist (`(,_ . ,attributes) (face-default-spec face))
      (should (plist-get attributes :inherit))
      (should-not (plist-get attributes :foreground))
      (should-not (plist-get attributes :background)))))

(ert-deftest aqd-base-others-are-silent ()
  (let ((inhibit-message nil))
    (message "ours")
    (agent-q-diff-base-silently
      (message "theirs"))
    (with-current-buffer (messages-buffer)
      (should (string-search "ours" (buffer-string)))
      (should-not (string-search "theirs" (buffer-string))))))

;; The buffer that is used first is the one that is kept for the next time.
(ert-deftest aqd-base-a-work-buffer-is-used-again-like-a-new-one ()
  (let ((agent-q-diff-base--work-buffers nil)
        first)
    (unwind-protect
        (progn
          (ignore-error quit
            (agent-q-diff-base-with-work-buffer
              (setq first (current-buffer))
              (set-buffer-multibyte nil)
              (insert "bytes")
              (narrow-to-region 2 3)
              (signal 'quit nil)))
          (let ((default-directory "/elsewhere/"))
            (agent-q-diff-base-with-work-buffer
              (should (eq first (current-buffer)))
              (should (equal default-directory "/elsewhere/"))
              (should enable-multibyte-characters)
              (should (= 0 (buffer-size)))
              (insert "outer")
              (agent-q-diff-base-with-work-buffer
                (should-not (eq first (current-buffer)))
                (insert "inner")
                (kill-buffer))
              (should (equal "outer" (buffer-string))))))
      (mapc #'kill-buffer agent-q-diff-base--work-buffers))
    (should-not (buffer-live-p first))
    ;; One that somebody has killed is not used again.
    (should (equal "new" (agent-q-diff-base-with-work-buffer
                           (insert "new")
                           (buffer-string))))
    (mapc #'kill-buffer agent-q-diff-base--work-buffers)))

(provide 'agent-q-diff-base-test)
;;; agent-q-diff-base-test.el ends here
