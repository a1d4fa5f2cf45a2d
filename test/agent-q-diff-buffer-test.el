;;; agent-q-diff-buffer-test.el --- What a diff buffer knows of its hunks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; Marks that others write

(ert-deftest aqd-buffer-of-several-entries-the-first-counts ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (let ((position (aqd-goto-hunk 1)))
        (sly-agent-q-diff-accept-hunk)
        (push (cons position 'rejected) sly-agent-q-diff--hunk-states)
        (sly-agent-q-diff--update-header)
        (should (equal (aqd-progress) "0/2 applied, 1 rejected, 1 pending"))
        (sly-agent-q-diff-finish)
        (should (equal "rejected" sly-agent-q-diff--decision))))))

(ert-deftest aqd-buffer-entries-that-are-no-hunks-do-not-swell-the-total ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (setq sly-agent-q-diff--hunk-states
            (list (cons 100 'applied) (cons 200 'rejected)))
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "1/2 applied, 1 rejected, 0 pending")))))

;;;; Bare buffers

(ert-deftest aqd-buffer-a-command-does-not-move-the-callers-positions ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (concat "C-c C-c = accept all\n\n" aqd-bare-diff-of-two)
      (let ((position (aqd-goto-hunk 1)))
        (sly-agent-q-diff-accept-hunk)
        (should (eq 'applied (alist-get position sly-agent-q-diff--hunk-states)))
        (should (equal position (aqd-goto-hunk 1)))))))

;;;; After the review

(ert-deftest aqd-buffer-can-be-looked-at-afterwards ()
  (aqd-with-forty-lines
    (aqd-review aqd-original-of-three aqd-modified-of-three "a q")
    (with-current-buffer (aqd-diff-buffer)
      (should (equal 3 (sly-agent-q-diff--count-hunks)))
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
      (goto-char (point-min))
      (agent-q-diff-next-hunk)
      (agent-q-diff-next-hunk)
      (should (equal 1 (agent-q-diff-buffer-hunk-at-point)))
      (should-not (agent-q-diff-accept-hunk))
      (sly-agent-q-diff-finish)
      (should (equal "accepted" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five"))))))

(provide 'agent-q-diff-buffer-test)
;;; agent-q-diff-buffer-test.el ends here
