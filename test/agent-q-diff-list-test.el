;;; agent-q-diff-list-test.el --- The list of reviews  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-list)

(ert-deftest aqd-list-shows-opens-and-cancels ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (save-window-excursion
      (agent-q-diff-list)
      (should (string-search "1 of 2 decided" (buffer-string)))
      (goto-char (point-min))
      (aqd-press "RET")
      (should (eq (window-buffer) (agent-q-diff-session-buffer review)))
      (agent-q-diff-list)
      (goto-char (point-min))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (aqd-press "k")))
    (should (equal (aqd-answer :status) '(cancelled)))
    (kill-buffer agent-q-diff-list-buffer-name)))

(ert-deftest aqd-list-cancelling-is-the-user-s-doing ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (save-window-excursion
      (agent-q-diff-list)
      (goto-char (point-min))
      (should (eq review (tabulated-list-get-id)))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (should (string-prefix-p "Cancelled the review of target.txt;"
                                 (aqd-said (agent-q-diff-list-cancel))))))
    (should (equal (aqd-answer :reason) '("the user left it undecided")))))

(ert-deftest aqd-list-follows-what-happens ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (save-window-excursion
      (agent-q-diff-list)
      (should (string-search "0 of 2 decided" (buffer-string)))
      (should (string-search "A test." (buffer-string)))
      (let ((wait (lambda ()
                    (while agent-q-diff-list--is-due
                      (accept-process-output nil 0.01)))))
        (agent-q-diff-accept review 0)
        (funcall wait)
        (should (string-search "1 of 2 decided" (buffer-string)))
        (agent-q-diff-cancel review)
        (funcall wait)
        (should (string-search "cancelled 1/2" (buffer-string)))
        (kill-buffer)
        (agent-q-diff-list--update)
        (should-not agent-q-diff-list--timer)
        (should-not (memq #'agent-q-diff-list--update-soon
                          agent-q-diff-session-changed-hook))))))

(defun aqd-list-path (name)
  "Return the path of the file NAME beside the one under review."
  (expand-file-name name (file-name-directory aqd-file)))

(ert-deftest aqd-list-point-stays-on-its-review-in-every-window-and-order ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (let ((others (mapcar (lambda (name)
                            (write-region aqd-original-of-two nil (aqd-list-path name) nil 'silent)
                            (agent-q-diff-review (aqd-list-path name) aqd-original-of-two
                                                 aqd-modified-of-two "Others" #'ignore))
                          '("b" "c" "d"))))
      (save-window-excursion
        (delete-other-windows)
        (agent-q-diff-list)
        (let ((window (selected-window))
              (other (split-window)))
          (dolist (sorted '(nil t))
            (when sorted
              (tabulated-list-sort 1))
            (goto-char (agent-q-diff-list--row (nth 1 others)))
            (let ((line (line-number-at-pos)))
              ;; The window is not selected, so buffer and window differ.
              (with-selected-window other
                (switch-to-buffer "*scratch*")
                (agent-q-diff-accept (nth 1 others) (if sorted 1 0))
                (agent-q-diff-list--update))
              (with-selected-window window
                (should (= line (line-number-at-pos (window-point))))
                (should (eq (nth 1 others) (tabulated-list-get-id)))
                (should (string-search (if sorted "2 of 2 decided" "1 of 2 decided")
                                       (buffer-substring (line-beginning-position)
                                                         (line-end-position)))))))
          ;; What has ended gives way to the first that is to be decided.
          (agent-q-diff-cancel (nth 1 others))
          (agent-q-diff-list--update)
          (should (memq (tabulated-list-get-id) (agent-q-diff-open-reviews)))
          (kill-buffer)))
      (mapc #'agent-q-diff-cancel (cons review others)))))

(provide 'agent-q-diff-list-test)
;;; agent-q-diff-list-test.el ends here
