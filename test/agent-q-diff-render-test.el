;;; agent-q-diff-render-test.el --- The diff buffer of a new review  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; The buffer

(ert-deftest aqd-render-review-comes-while-one-reads-the-last ()
  (aqd-with-file aqd-original-of-two
    (save-window-excursion
      (let ((one (aqd-begin-review-telling nil)))
        (agent-q-diff-cancel one)
        (switch-to-buffer (agent-q-diff-session-buffer one))
        (let ((two (aqd-begin-review-telling nil)))
          (should-not (eq (window-buffer) (agent-q-diff-session-buffer two)))
          (agent-q-diff-cancel two))))))

(ert-deftest aqd-render-takes-nothing-from-a-directorys-local-variables ()
  (aqd-with-file "a\n"
    (write-region "((nil . ((fill-column . 7))))" nil
                  (expand-file-name ".dir-locals.el" (file-name-directory aqd-file))
                  nil 'silent)
    (aqd-call "a\n" "b\n"
              (lambda ()
                (should-not (equal 7 fill-column))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-render-a-mode-hook-that-kills-the-buffer-is-said ()
  (aqd-with-file "a\n"
    (let ((agent-q-diff-mode-hook (list (lambda () (kill-buffer)))))
      (with-temp-buffer
        (should (equal "a hook of agent-q-diff-mode killed the buffer of the review"
                       (plist-get (agent-q-diff-session-result
                                   (agent-q-diff-review aqd-file "a\n" "b\n" nil nil))
                                  :reason)))
        (should-not buffer-read-only)))))

(ert-deftest aqd-render-a-mode-hook-may-make-another-buffer-current ()
  (aqd-with-file "a\n"
    (with-temp-buffer
      (let* ((other (current-buffer))
             (agent-q-diff-mode-hook (list (lambda () (set-buffer other))))
             (review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
        (should-not buffer-read-only)
        (should-not (eq other (agent-q-diff-session-buffer review)))
        (agent-q-diff-accept review 0)
        (should (equal "b\n" (aqd-disk)))
        (agent-q-diff-end review)))))

;;;; The text

(ert-deftest aqd-render-ruling-16-a-description-is-never-diff-text ()
  (aqd-with-forty-lines
    (cl-letf (((symbol-function 'recursive-edit)
               (lambda ()
                 (should (equal 3 (sly-agent-q-diff--count-hunks)))
                 (goto-char (point-min))
                 (should (re-search-forward "^# @@ -1,1 \\+1,1 @@$"))
                 (should (re-search-forward "^# -line 1$"))
                 (goto-char (point-min))
                 (should (equal 3 (how-many "^@@")))
                 (agent-q-diff-accept-all))))
      (should (equal "accepted"
                     (sly-agent-q-show-diff-and-wait
                      aqd-file (car aqd-three) (cdr aqd-three)
                      (aqd-lines "--- /etc/passwd" "+++ /etc/passwd"
                                 "@@ -1,1 +1,1 @@" "-line 1" "+evil")))))
    (should (equal (aqd-disk) (cdr aqd-three)))))

(ert-deftest aqd-render-a-description-and-a-name-are-no-notes-of-ours ()
  (aqd-with-file "a\n"
    (let* ((agent-q-diff-call (agent-q-diff-call-make :agent "x: the user says yes"))
           (review (agent-q-diff-review aqd-file "a\n" "b\n"
                                        "Fix\nNote: all tests pass.\n  * NOTE: accept\nNotebook" #'ignore)))
      (aqd-in-diff review
        (goto-char (point-min))
        (should (looking-at "# Description: Fix\n# > Note: all tests pass.\n# >   \\* NOTE: accept\n\
# Notebook\n"))
        (should-not (re-search-forward "^# Note:" nil t)))
      (should (string-prefix-p "\"x: the user says yes\" withdrew its proposal for target.txt; "
                               (aqd-said (agent-q-diff-cancel review)))))))

(ert-deftest aqd-render-a-clone-of-the-diff-buffer-is-a-plain-diff ()
  (aqd-with-open-review (car aqd-three) (cdr aqd-three)
    (aqd-in-diff review
      (agent-q-diff-accept review 0)
      (let ((text (buffer-string)))
        (with-current-buffer (clone-indirect-buffer "clone" nil)
          (should (eq major-mode 'diff-mode))
          (should buffer-read-only)
          (should (equal text (buffer-string)))
          (should-not header-line-format)
          (should-not agent-q-diff-buffer-review)
          (kill-buffer))))
    (should (memq review (agent-q-diff-open-reviews)))
    (should (equal "[APPLIED]" (cdr (assq 1 (aqd-signs-of review)))))
    (agent-q-diff-accept review 1)
    (agent-q-diff-end review)))

(ert-deftest aqd-render-beyond-the-budget-hunks-are-coarser-and-right ()
  (let ((original (aqd-lines "a" "b" "c" "b" "a"))
        (modified (aqd-lines "c" "b" "b" "a" "c"))
        (note "too different to be compared in full"))
    (pcase-dolist (`(,budget . ,is-coarse) '((nil . nil) (0 . t)))
      (let ((agent-q-diff-budget budget))
        (aqd-with-open-review original modified
          (aqd-in-diff review
            (should (eq is-coarse (and (string-search note (buffer-string)) t)))
            (agent-q-diff-accept-all))
          (should (equal (aqd-disk) modified)))))))

(ert-deftest aqd-render-ruling-10-shifted-hunks-apply-where-they-belong ()
  (let ((shifted (concat "new top\n" aqd-original)))
    (aqd-with-file shifted
      (should (equal "accepted" (aqd-review aqd-original aqd-modified "a q")))
      (should (string-search "of 1 hunk, 1 is shifted"
                             (with-current-buffer (aqd-diff-buffer)
                               (buffer-string))))
      (should (equal (aqd-disk) (concat "new top\n" aqd-modified))))))

(ert-deftest aqd-render-ruling-10-what-does-not-apply-is-said-before-the-first-key ()
  (aqd-with-file (aqd-numbered 20 '((10 . "other")))
    (aqd-call aqd-original aqd-modified
              (lambda ()
                (should (string-search "no hunk applies" (buffer-string)))
                (should (equal (aqd-signs) '((1 . "[DOES NOT APPLY]"))))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-render-no-line-for-a-blank-description ()
  (pcase-dolist (`(,description . ,begins) '(("Why" . "# Description: Why\n--- ")
                                             (" \n" . "--- ")))
    (aqd-with-file aqd-original-of-two
      (aqd-in-diff (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two
                                        description #'ignore)
        (should (string-prefix-p begins (buffer-substring-no-properties
                                         (point-min) (point-max))))
        (agent-q-diff-cancel agent-q-diff-buffer-review)))))

(provide 'agent-q-diff-render-test)
;;; agent-q-diff-render-test.el ends here
