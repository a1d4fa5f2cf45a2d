;;; agent-q-diff-wait-test.el --- Waiting for a decision in a recursive edit  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; Decisions

(ert-deftest aqd-wait-ruling-7-exit-recursive-edit-decides-by-the-marks ()
  (aqd-with-forty-lines
    (should (equal "accepted" (aqd-review-three "a C-M-c"))))
  (aqd-with-forty-lines
    (should (equal "rejected" (aqd-review-three "r C-M-c")))))

(ert-deftest aqd-wait-for-a-review-that-was-begun-before ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should (equal "accepted"
                   (plist-get (aqd-play "a a q" (lambda () (agent-q-diff-wait review)))
                              :decision)))
    (should (equal (aqd-answer :status) '(accepted)))
    (should (equal "accepted" (plist-get (agent-q-diff-wait review) :decision)))))

;;;; Ends without a decision

(ert-deftest aqd-wait-ruling-7-batch-without-keys-is-an-error-at-once ()
  (aqd-with-forty-lines
    (should-error (sly-agent-q-show-diff-and-wait aqd-file (car aqd-three)
                                                  (cdr aqd-three) "d")
                  :type 'agent-q-diff-no-user)))

(ert-deftest aqd-wait-ruling-7-keys-that-run-out-are-no-decision ()
  (aqd-with-forty-lines
    (should (eq 'agent-q-diff-no-user (car (aqd-review-three "a n"))))
    (should (equal (aqd-disk) (aqd-three-with 1)))))

(ert-deftest aqd-wait-keys-that-run-out-after-leaving-tell-what-is-in-the-file ()
  "In a batch Emacs, ESC ESC ESC leaves the recursive edit, but decides nothing."
  (aqd-with-file "a\n"
    (let ((unread-command-events (append (kbd "a ESC ESC ESC") nil))
          (agent-q-diff-grace 0))
      (should (equal '(agent-q-diff-no-user "this Emacs runs in batch mode, and there are \
no keys left to read; the change is in the file")
                     (should-error (agent-q-diff-review-and-wait
                                    aqd-file "a\n" "b\n" "A test.")))))
    (should (equal "b\n" (aqd-disk)))))

(ert-deftest aqd-wait-ruling-7-aborting-is-no-decision ()
  (aqd-with-forty-lines
    (should (eq 'agent-q-diff-cancelled (car (aqd-review-three "a C-]"))))
    (should (equal (aqd-disk) (aqd-three-with 1)))
    (should (zerop (recursion-depth)))))

(ert-deftest aqd-wait-ruling-7-killing-the-buffer-is-no-decision ()
  (aqd-with-forty-lines
    (should (equal 'agent-q-diff-cancelled
                   (car (aqd-review-three "a C-x k RET"))))
    (should (equal (aqd-disk) (aqd-three-with 1)))
    (should-not agent-q-diff-reviews-waiting)
    (should-not (memq 'agent-q-diff-wait--leave-if-decided
                      (default-value 'post-command-hook)))))

(ert-deftest aqd-wait-cancelled-while-somebody-waits ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (let ((answer (cl-letf (((symbol-function 'recursive-edit)
                             (lambda () (agent-q-diff-cancel review))))
                    (condition-case err (agent-q-diff-wait review) (error err)))))
      (should (eq (car answer) 'agent-q-diff-cancelled)))
    (should (equal (aqd-answer :status) '(cancelled)))))

;;;; Several who wait

(ert-deftest aqd-wait-two-wait-for-one-review ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (let* ((depth (recursion-depth))
           (inner nil)
           (after nil)
           (outer
            (unwind-protect
                (progn
                  (global-set-key [f6] (lambda () (interactive)
                                         (setq inner (agent-q-diff-wait review))))
                  (global-set-key [f7] (lambda () (interactive)
                                         (setq after (recursion-depth))))
                  (aqd-play "<f6> a a q <f7>" (lambda () (agent-q-diff-wait review))))
              (global-set-key [f6] nil)
              (global-set-key [f7] nil))))
      (should (equal after depth))
      (should (eq inner outer))
      (should (equal (aqd-answer :status) '(accepted))))))

(ert-deftest aqd-wait-buffer-of-a-review-inside-another-is-not-kept ()
  (dolist (hook '(ignore error))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (let (inner buffer)
        (unwind-protect
            (progn
              (global-set-key
               [f6] (lambda () (interactive)
                      (let ((other (agent-q-diff-review "x" "a\n" "b\n" "d" #'ignore
                                                        :detached t)))
                        (setq buffer (agent-q-diff-session-buffer other))
                        (with-current-buffer buffer
                          (add-hook 'kill-buffer-hook hook nil t))
                        (setq inner (agent-q-diff-wait other)))))
              (aqd-play "<f6> a q a a q" (lambda () (agent-q-diff-wait review))))
          (global-set-key [f6] nil))
        (should (equal (plist-get inner :decision) "accepted"))
        (should (equal (aqd-answer :status) '(accepted)))
        (should (eq (eq hook 'error) (buffer-live-p buffer)))
        (with-current-buffer (get-buffer-create (if (buffer-live-p buffer) buffer " "))
          (remove-hook 'kill-buffer-hook hook t)
          (kill-buffer))))))

(provide 'agent-q-diff-wait-test)
;;; agent-q-diff-wait-test.el ends here
