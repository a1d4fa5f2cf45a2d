;;; agent-q-diff-door-test.el --- What callers do that one does not expect  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A stranger at the agents' doors: callbacks that begin another review or
;; fail, hooks that fail, diffs as git really makes them, calls that are
;; taken back while their question is open.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-replace-help)
(require 'agent-q-diff-again)

(defun aqd-door-begin (callback)
  "Begin a review of the test's file and return it; CALLBACK learns of its end."
  (agent-q-diff-review aqd-file aqd-async-original aqd-async-modified "d" callback))

;;;; Callbacks

(defun aqd-door-chain (end)
  "Call END with a review whose callback begins another; return that."
  (let* (next
         (one (aqd-door-begin
               (lambda (_)
                 (setq next (aqd-door-begin
                             (lambda (result) (push result aqd-answers))))))))
    (funcall end one)
    next))

(ert-deftest aqd-door-callback-begins-another-review ()
  (dolist (end (list (lambda (review)
                       (kill-buffer (agent-q-diff-review-buffer review)))
                     #'agent-q-diff-cancel
                     #'agent-q-diff-end))
    (let ((aqd-answers nil))
      (aqd-with-file aqd-async-original
        (save-window-excursion
          (switch-to-buffer "*scratch*")
          (let ((next (aqd-door-chain end)))
            (should (get-buffer-window (agent-q-diff-review-buffer next)))
            (should (equal (agent-q-diff-open-reviews) (list next)))
            (aqd-in-diff next (agent-q-diff-accept-all)))
          (should (equal (aqd-answer :status) '(accepted)))))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-door-review-comes-while-one-reads-the-last ()
  (aqd-with-file aqd-async-original
    (save-window-excursion
      (let ((one (aqd-door-begin nil)))
        (agent-q-diff-cancel one)
        (switch-to-buffer (agent-q-diff-review-buffer one))
        (let ((two (aqd-door-begin nil)))
          (should-not (eq (window-buffer) (agent-q-diff-review-buffer two)))
          (agent-q-diff-cancel two))))))

(ert-deftest aqd-door-review-comes-into-a-window-with-the-last ()
  (aqd-with-file aqd-async-original
    (save-window-excursion
      (switch-to-buffer "*scratch*")
      (let ((agent-q-diff-grace 1000)
            (one (aqd-door-begin nil)))
        (agent-q-diff-cancel one)
        (display-buffer (agent-q-diff-review-buffer one))
        (let ((two (aqd-door-begin nil)))
          (aqd-in-diff two
            (let ((this-command 'agent-q-diff-accept-hunk))
              (run-hooks 'pre-command-hook)
              (should (eq this-command 'agent-q-diff-ignore-key))))
          (agent-q-diff-cancel two))))))

;;;; What others get wrong

(defun aqd-door-fail (&rest _)
  "Signal an error that is none of the package's."
  (error "Broken"))

(ert-deftest aqd-door-hook-fails-when-the-file-is-visited-at-the-end ()
  (aqd-with-async aqd-async-original aqd-async-modified
    (kill-buffer (agent-q-diff-review-target review))
    (let ((find-file-hook '(aqd-door-fail)))
      (agent-q-diff-cancel review))
    (should (equal (aqd-answer :status :in-file) '(cancelled 0)))))

(ert-deftest aqd-door-hook-fails-when-the-target-is-put-away ()
  (aqd-with-async aqd-async-original aqd-async-modified
    (with-current-buffer (agent-q-diff-review-target review)
      (add-hook 'kill-buffer-hook #'aqd-door-fail nil t))
    (agent-q-diff-cancel review)
    (should (equal (aqd-answer :status) '(cancelled)))
    (aqd-in-target (remove-hook 'kill-buffer-hook #'aqd-door-fail t))))

(ert-deftest aqd-door-hook-fails-when-the-review-begins ()
  (let ((aqd-answers nil)
        (diff-mode-hook '(aqd-door-fail)))
    (aqd-with-file aqd-async-original
      (aqd-async aqd-async-original aqd-async-modified)
      (should (equal (aqd-answer :status :error :reason) '(error error "Broken"))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-door-review-that-cannot-be-shown-is-answered-once ()
  (let ((messages nil))
    (aqd-with-file aqd-async-original
      (let ((display-buffer-overriding-action '(aqd-door-fail)))
        (agent-q-diff-tools-call-async
         "propose_file_edit"
         (list :path aqd-file :original aqd-async-original
               :modified aqd-async-modified :description "d")
         (lambda (message) (push message messages))))
      (should-not messages)
      (mapc #'agent-q-diff-end (agent-q-diff-open-reviews))
      (should (= 1 (length messages)))
      (should (string-prefix-p "✗ REJECTED" (car messages))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-door-callback-that-fails-is-called-once-by-the-policy-too ()
  (aqd-with-file aqd-async-original
    (let ((agent-q-diff-tools-policy 'deny)
          (n 0))
      (agent-q-diff-tools-call-async
       "propose_file_edit"
       (list :path aqd-file :original aqd-async-original
             :modified aqd-async-modified :description "d")
       (lambda (_) (cl-incf n) (error "Broken")))
      (should (= n 1)))))

(provide 'agent-q-diff-door-test)
;;; agent-q-diff-door-test.el ends here
