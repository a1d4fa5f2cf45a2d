;;; agent-q-diff-lifecycle-test.el --- How reviews begin and end  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One review, one answer: whatever ends it, the callback is called once,
;; and nothing is left behind.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-again)
(require 'agent-q-diff-list)

;;;; Callbacks

(defun aqd-lifecycle-chain (end)
  "Call END with a review whose callback begins another; return that."
  (let* (next
         (one (aqd-begin-review-telling
               (lambda (_)
                 (setq next (aqd-begin-review-telling
                             (lambda (result) (push result aqd-answers))))))))
    (funcall end one)
    next))

(ert-deftest aqd-lifecycle-callback-begins-another-review ()
  (dolist (end (list (lambda (review)
                       (kill-buffer (agent-q-diff-session-buffer review)))
                     #'agent-q-diff-cancel
                     #'agent-q-diff-end))
    (let ((aqd-answers nil))
      (aqd-with-file aqd-original-of-two
        (save-window-excursion
          (switch-to-buffer "*scratch*")
          (let ((next (aqd-lifecycle-chain end)))
            (should (get-buffer-window (agent-q-diff-session-buffer next)))
            (should (equal (agent-q-diff-open-reviews) (list next)))
            (aqd-in-diff next (agent-q-diff-accept-all)))
          (should (equal (aqd-answer :status) '(accepted)))))
      (aqd-should-leave-nothing))))

;;;; Hooks that fail

(ert-deftest aqd-lifecycle-hook-fails-when-the-file-is-visited-at-the-end ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (kill-buffer (aqd-target-of review))
    (let ((find-file-hook '(aqd-fail)))
      (agent-q-diff-cancel review))
    (should (equal (aqd-answer :status :in-file) '(cancelled 0)))))

(ert-deftest aqd-lifecycle-hook-fails-when-the-target-is-put-away ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (with-current-buffer (aqd-target-of review)
      (add-hook 'kill-buffer-hook #'aqd-fail nil t))
    (agent-q-diff-cancel review)
    (should (equal (aqd-answer :status) '(cancelled)))
    (aqd-in-target (remove-hook 'kill-buffer-hook #'aqd-fail t))))

;;;; Leaving Emacs

(ert-deftest aqd-lifecycle-begun-while-emacs-ends-is-answered-too ()
  (aqd-with-file "a\n"
    (let* ((answers nil)
           (again (lambda (result)
                    (push (plist-get result :status) answers)
                    (when (< (length answers) 3)
                      (agent-q-diff-review aqd-file "a\n" "c\n" "d"
                                           (lambda (result)
                                             (push (plist-get result :status) answers)))))))
      (agent-q-diff-review aqd-file "a\n" "b\n" "d" again)
      (run-hooks 'kill-emacs-hook)
      (should (equal answers '(cancelled cancelled)))
      (should-not (agent-q-diff-open-reviews)))))

(provide 'agent-q-diff-lifecycle-test)
;;; agent-q-diff-lifecycle-test.el ends here
