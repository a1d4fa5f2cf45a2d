;;; agent-q-diff-views-test.el --- Lists  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-views)

(defvar aqd-views-rows nil
  "The rows of the list of these tests.")

(agent-q-diff-views-define aqd-views-mode "Fruit"
  "Major mode of the list of these tests."
  :item "fruit"
  :columns '(("Name" 6 t) ("Number" 6 number :right-align t) ("Place" nil t :end t) ("Said" 0 nil))
  :rows (lambda () aqd-views-rows)
  :same (lambda (one other) (eq (car one) (car other)))
  :keys '(("RET" . ignore) ("k" . aqd-views-remove)))

(defun aqd-views-remove ()
  "Remove the row at point."
  (interactive)
  (setq aqd-views-rows (assoc-delete-all (agent-q-diff-views-here) aqd-views-rows))
  (agent-q-diff-views-update))

(defmacro aqd-with-views (rows &rest body)
  "Run BODY in a list of ROWS, in a window of 80 columns."
  (declare (indent 1) (debug t))
  `(let ((aqd-views-rows ,rows))
     (save-window-excursion
       (delete-other-windows)
       (agent-q-diff-views-show "*fruit*" #'aqd-views-mode)
       (unwind-protect (progn ,@body)
         (kill-buffer "*fruit*")))))

(defun aqd-views-line ()
  "Return the line at point."
  (buffer-substring-no-properties (line-beginning-position) (line-end-position)))

(ert-deftest aqd-views-cells-are-values-and-made-visible-in-one-place ()
  (aqd-with-views '(((fig) "fi\u202eg" 7 "a/b" ripe) ((kiwi) "kiwi" 12 nil "\t\303\244"))
    (agent-q-diff-views--print 44)
    (goto-char (point-min))
    (should (string-match-p "\\`fi<U\\+…\\|\\`fi<U\\+2" (aqd-views-line)))
    (should (string-match-p " +7 a/b +ripe\\'" (aqd-views-line)))
    (forward-line)
    (should (string-match-p "\\`kiwi +12 +<U\\+0009>ä\\'" (aqd-views-line)))))

(ert-deftest aqd-views-columns-use-the-window-and-show-the-end-of-names ()
  (let ((path (concat "/" (make-string 120 ?d) "/last.el")))
    (aqd-with-views `(((fig) "fig" 1 ,path "x"))
      (dolist (width '(60 80 120))
        (agent-q-diff-views--print width)
        (goto-char (point-min))
        (should (string-match "…d+/last\\.el x\\'" (aqd-views-line)))
        (should (= width (string-width (aqd-views-line))))))))

(ert-deftest aqd-views-numbers-are-sorted-as-numbers ()
  (aqd-with-views '(((fig) "fig" 10) ((kiwi) "kiwi" 9))
    (tabulated-list-sort 1)
    (goto-char (point-min))
    (should (looking-at-p "kiwi"))))

(ert-deftest aqd-views-an-update-keeps-point-on-its-item ()
  (aqd-with-views '(((fig 1) "fig" 1) ((kiwi 1) "kiwi" 1) ((lime 1) "lime" 1))
    (goto-char (point-min))
    (forward-line 1)
    (set-window-point nil (point))
    (push '((date 1) "date" 1) aqd-views-rows)
    ;; It is the same one although it has changed.
    (setf (car (nth 2 aqd-views-rows)) '(kiwi 2))
    (aqd-press "g")
    (should (equal '(kiwi 2) (agent-q-diff-views-here)))
    ;; What has gone gives way to the next, and the last to the one before.
    (aqd-press "k")
    (should (equal '(lime 1) (agent-q-diff-views-here)))
    (aqd-press "k")
    (should (equal '(fig 1) (agent-q-diff-views-here)))))

(ert-deftest aqd-views-keys-are-the-same-with-evil-but-for-moving ()
  (let ((on (lambda (key) (key-binding (kbd key)))))
    (aqd-with-views '(((fig) "fig" 1))
      (should (equal '(aqd-views-remove undefined) (mapcar on '("k" "j"))))
      (defvar evil-local-mode)
      (let ((evil-local-mode t))
        (should (equal '(previous-line next-line aqd-views-remove) (mapcar on '("k" "j" "x"))))))))

(ert-deftest aqd-views-without-a-row-there-is-nothing-to-be-done ()
  (aqd-with-views nil
    (should (equal '(user-error "No fruit is listed here")
                   (should-error (agent-q-diff-views-here) :type 'user-error)))))

(ert-deftest aqd-views-the-mode-line-names-the-project ()
  (save-window-excursion
    (agent-q-diff-views-show "*fruit*" #'aqd-views-mode "/tmp/50%/")
    (should (equal "/tmp/50%/" default-directory))
    (should (equal " in /tmp/50%%/" mode-line-process))
    (kill-buffer)))

(ert-deftest aqd-views-rows-that-cannot-be-read-change-no-window ()
  (save-window-excursion
    (let ((window (window-buffer)))
      (cl-letf (((symbol-function 'aqd-views-fail) (lambda () (user-error "No log is kept"))))
        (should-error
         (agent-q-diff-views-show "*fruit*"
                                  (lambda ()
                                    (aqd-views-mode)
                                    (setq agent-q-diff-views--view '(:rows aqd-views-fail))))
         :type 'user-error))
      (should (eq window (window-buffer)))
      (kill-buffer "*fruit*"))))

(provide 'agent-q-diff-views-test)
;;; agent-q-diff-views-test.el ends here
