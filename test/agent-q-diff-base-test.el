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

;;;; Showing something for an agent

(defun aqd-base-same-window (buffer _alist)
  "Show BUFFER in the selected window, whatever speaks against it."
  (set-window-dedicated-p nil nil)
  (set-window-buffer nil buffer)
  (selected-window))

(defun aqd-base-alone (buffer _alist)
  "Show BUFFER in the only window."
  (let ((window (split-window)))
    (set-window-buffer window buffer)
    (delete-other-windows window)
    window))

(defvar aqd-base-rules
  '((body-function nil (body-function . select-window))
    (same-window (display-buffer-same-window) (inhibit-same-window . nil))
    (same-window-by-force (aqd-base-same-window))
    (alone (aqd-base-alone))
    (switching ((lambda (buffer _)
                  (let ((display-buffer-alist nil)
                        (display-buffer-overriding-action nil))
                    (switch-to-buffer buffer nil t))
                  (selected-window))))
    (popping ((lambda (buffer _)
                (let ((display-buffer-alist nil)
                      (display-buffer-overriding-action nil))
                  (pop-to-buffer buffer))
                (selected-window))))
    (returning-nothing ((lambda (buffer _)
                          (let ((display-buffer-alist nil)
                                (display-buffer-overriding-action nil))
                            (pop-to-buffer buffer))
                          nil)))
    (failing ((lambda (&rest _) (error "Broken"))))
    (quitting ((lambda (&rest _) (signal 'quit nil))))
    (throwing ((lambda (&rest _) (throw 'aqd-base 'thrown))))
    (throwing-later nil (body-function . (lambda (window)
                                       (select-window window)
                                       (throw 'aqd-base 'thrown)))))
  "Display rules of users, each (NAME . ACTION).")

(defun aqd-base-show-by (action)
  "Show a buffer for an agent by ACTION, a display rule.
Return what changed for the user, and how many other windows show it."
  (with-temp-buffer
    (insert "one\ntwo\nthree\n")
    (goto-char 5)
    (let ((user (current-buffer))
          (buffer (generate-new-buffer "for an agent")))
      (unwind-protect
          (save-window-excursion
            (delete-other-windows)
            (set-window-buffer nil user)
            (goto-char 5)
            (set-window-point nil 5)
            (let* ((window (selected-window))
                   (display-buffer-alist (list (cons "for an agent" action)))
                   (thrown (catch 'aqd-base
                             (agent-q-diff-base-show buffer)
                             nil)))
              (list (and thrown 'thrown)
                    (and (not (eq window (selected-window))) 'other-window)
                    (and (not (eq user (window-buffer))) 'other-buffer)
                    (and (not (eq user (current-buffer))) 'other-current)
                    (and (/= 5 (window-point)) 'other-point)
                    (and (window-dedicated-p) 'dedicated)
                    (length (get-buffer-window-list buffer)))))
        (kill-buffer buffer)))))

(ert-deftest aqd-base-what-is-shown-for-an-agent-is-never-selected ()
  (dolist (rule (cons '(none) aqd-base-rules))
    (dolist (pop-up-windows '(t nil))
      (ert-info ((format "%s, pop-up-windows %s" (car rule) pop-up-windows))
        (should (equal '(nil nil nil nil nil nil 1) (aqd-base-show-by (cdr rule))))))))

(ert-deftest aqd-base-what-rules-want-nowhere-is-shown-nowhere ()
  (should (equal '(nil nil nil nil nil nil 0)
                 (aqd-base-show-by '((display-buffer-no-window))))))

(ert-deftest aqd-base-overriding-rules-select-nothing ()
  ;; A rule that displays, but does not say so, is followed by another.
  (dolist (rule (assq-delete-all 'returning-nothing (copy-sequence aqd-base-rules)))
    (let ((display-buffer-overriding-action (cdr rule))
          (switch-to-buffer-obey-display-actions t))
      (ert-info ((format "%s" (car rule)))
        (should (equal '(nil nil nil nil nil nil 1) (aqd-base-show-by nil)))))))

(ert-deftest aqd-base-a-dedicated-window-keeps-its-buffer ()
  (save-window-excursion
    (delete-other-windows)
    (switch-to-buffer "*scratch*")
    (let ((other (split-window))
          (buffer (generate-new-buffer "for an agent")))
      (unwind-protect
          (progn
            (set-window-dedicated-p other t)
            (set-window-dedicated-p (selected-window) 'soft)
            (agent-q-diff-base-show buffer)
            (should (eq 'soft (window-dedicated-p (selected-window))))
            (should (window-dedicated-p other))
            (should-not (memq buffer (list (window-buffer) (window-buffer other)))))
        (set-window-dedicated-p (selected-window) nil)
        (set-window-dedicated-p other nil)
        (kill-buffer buffer)))))

(ert-deftest aqd-base-a-low-window-is-not-split-once-more ()
  (save-window-excursion
    (delete-other-windows)
    (switch-to-buffer "*scratch*")
    (let ((buffers (list (generate-new-buffer "one") (generate-new-buffer "two"))))
      (unwind-protect
          (progn
            (mapc #'agent-q-diff-base-show buffers)
            (should (equal (mapcar #'window-buffer (window-list))
                           (list (get-buffer "*scratch*") (cadr buffers)))))
        (mapc #'kill-buffer buffers)))))

(ert-deftest aqd-base-a-warning-for-an-agent-selects-nothing ()
  (save-window-excursion
    (delete-other-windows)
    (switch-to-buffer "*scratch*")
    (let ((display-buffer-alist '(("Warnings" (display-buffer-pop-up-window)
                                   (body-function . select-window))))
          (noninteractive nil))
      (cl-letf (((symbol-function 'message) #'ignore))
        (agent-q-diff-base-warn "Something")))
    (should (get-buffer-window "*Warnings*"))
    (should (equal "*scratch*" (buffer-name (window-buffer))))
    (kill-buffer "*Warnings*")))

(provide 'agent-q-diff-base-test)
;;; agent-q-diff-base-test.el ends here
