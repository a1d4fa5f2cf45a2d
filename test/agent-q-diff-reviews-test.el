;;; agent-q-diff-reviews-test.el --- The reviews that are open  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

(ert-deftest aqd-reviews-mode-line-of-the-users-is-kept ()
  (pcase-dolist (`(,before . ,after) '((nil . (""))
                                       ("mine" . ("" "mine"))
                                       ((:eval "mine") . ("" (:eval "mine")))
                                       (mine . ("" mine))
                                       (("mine" "his") . ("mine" "his"))))
    (let ((global-mode-string before))
      (aqd-with-file aqd-original-of-two
        (let ((review (aqd-begin-review-telling nil)))
          (should (equal global-mode-string
                         (append after (list agent-q-diff-reviews-mode-line))))
          (agent-q-diff-cancel review)))
      (should (equal global-mode-string after)))))

(ert-deftest aqd-reviews-two-for-one-file ()
  (let ((aqd-answers nil))
    (aqd-with-file aqd-original-of-two
      (let ((one (aqd-begin-review aqd-original-of-two (aqd-numbered 30 '((5 . "a\nb")))))
            (two (aqd-begin-review aqd-original-of-two
                                   (aqd-numbered 30 '((5 . "z") (25 . "x"))))))
        (should-not (eq (agent-q-diff-session-buffer one)
                        (agent-q-diff-session-buffer two)))
        (should (equal (agent-q-diff-open-reviews) (list one two)))
        (agent-q-diff-accept one 0)
        (should-error (agent-q-diff-accept two 0) :type 'agent-q-diff-conflict)
        (agent-q-diff-accept two 1)
        (aqd-in-diff two
          (should (equal (aqd-signs)
                         '((1 . "[DOES NOT APPLY]") (2 . "[APPLIED]")))))
        (should (equal (aqd-disk)
                       (aqd-numbered 30 '((5 . "a\nb") (25 . "x")))))
        (agent-q-diff-end one)
        (agent-q-diff-end two)
        (should (equal (mapcar (lambda (answer) (plist-get answer :status)) aqd-answers)
                       '(partial accepted))))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-reviews-j-goes-to-the-next ()
  (aqd-with-file aqd-original-of-two
    (let ((one (aqd-begin-review aqd-original-of-two aqd-modified-of-two))
          (two (aqd-begin-review aqd-original-of-two aqd-modified-of-two)))
      (save-window-excursion
        (switch-to-buffer (agent-q-diff-session-buffer one))
        (aqd-press "j")
        (should (eq (window-buffer) (agent-q-diff-session-buffer two)))
        (aqd-press "j")
        (should (eq (window-buffer) (agent-q-diff-session-buffer one))))
      (mapc #'agent-q-diff-cancel (list one two)))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-reviews-a-file-leads-to-its-review ()
  (aqd-with-file aqd-original-of-two
    (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two)))
      (save-window-excursion
        (find-file aqd-file)
        (agent-q-diff-go-to-review)
        (should (eq (window-buffer) (agent-q-diff-session-buffer review)))
        (aqd-press "a q y")
        (find-file aqd-file)
        ;; It has ended.
        (agent-q-diff-go-to-review)
        (should (derived-mode-p 'agent-q-diff-mode))
        (kill-buffer)
        (with-temp-buffer
          (should-error (agent-q-diff-go-to-review) :type 'user-error))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-reviews-mode-line-can-be-clicked ()
  (let ((map (get-text-property 1 'local-map (agent-q-diff-reviews-mode-line))))
    (should (eq 'agent-q-diff-list (lookup-key map [mode-line mouse-1])))
    (should (eq 'agent-q-diff-go-to-review (lookup-key map [mode-line mouse-3])))))

(provide 'agent-q-diff-reviews-test)
;;; agent-q-diff-reviews-test.el ends here
