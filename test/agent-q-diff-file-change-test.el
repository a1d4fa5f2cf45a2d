;;; agent-q-diff-file-change-test.el --- The file that a review changes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; The target

(ert-deftest aqd-file-change-what-was-erased-is-not-in-the-file ()
  (aqd-with-forty-lines
    (let ((message
           (cl-letf (((symbol-function 'recursive-edit)
                      (lambda ()
                        (agent-q-diff-accept-hunk)
                        (with-current-buffer (aqd-visit)
                          (erase-buffer)
                          (let ((inhibit-message t))
                            (save-buffer)))
                        (aqd-goto-hunk 2)
                        (agent-q-diff-reject-hunk)
                        (agent-q-diff-preview-hunk)
                        (should (assoc 1 (aqd-signs)))
                        (should-not (member '(1 . "[APPLIED]") (aqd-signs)))
                        (agent-q-diff-finish))))
             (agent-q-diff-tools-propose-file-edit
              aqd-file aqd-original-of-three aqd-modified-of-three "d"))))
      (should (string-search "0 of 3 hunks are in the file" message))
      (should-not (string-search "\nIn the file: " message)))))

(ert-deftest aqd-file-change-target-saved-as-another-file-is-left-alone ()
  (aqd-with-forty-lines
    (let ((other (concat aqd-file ".other")))
      (aqd-call-with-three
       (lambda ()
         (with-current-buffer (find-buffer-visiting aqd-file)
           (let ((inhibit-message t))
             (write-file other)))
         (agent-q-diff-accept-hunk)
         (agent-q-diff-finish)))
      (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five"))))
      (with-current-buffer (find-buffer-visiting other)
        (should (equal (buffer-string) aqd-original-of-three))
        (kill-buffer)))))

(ert-deftest aqd-file-change-a-new-path-is-the-target-from-then-on ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (aqd-goto-hunk 1)
      (sly-agent-q-diff-accept-hunk)
      (let ((other (concat aqd-file ".other")))
        (write-region (aqd-numbered 10) nil other nil 'silent)
        (setq sly-agent-q-diff--path other)
        (aqd-goto-hunk 2)
        (sly-agent-q-diff-accept-hunk)
        (let ((aqd-file other))
          (should (equal (aqd-disk) (aqd-numbered 10 '((8 . "LINE 8"))))))
        (kill-buffer (find-buffer-visiting other))))
    (should (equal (aqd-disk) (aqd-numbered 10 '((2 . "LINE 2")))))))

;;;; Texts that are no files

(ert-deftest aqd-file-change-detached-is-checked-before-each-edit-too ()
  (let* ((is-refused nil)
         (review (agent-q-diff-review "/nowhere/a" "a\nb\nc\n" "A\nb\nC\n" "d" #'ignore
                                      :detached t
                                      :check (lambda ()
                                               (when is-refused
                                                 (agent-q-diff-file-refuse "not any more"))))))
    (agent-q-diff-accept review 0)
    (setq is-refused t)
    (should-error (agent-q-diff-unapply review 0) :type 'agent-q-diff-bad-target)
    (agent-q-diff-cancel review)))

(ert-deftest aqd-file-change-detached-writes-nothing-and-returns-the-text ()
  (let ((aqd-answers nil))
    (aqd-with-file "on disk\n"
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two :detached t)))
        (should-not (find-buffer-visiting aqd-file))
        (agent-q-diff-accept review 0)
        (should (equal (aqd-disk) "on disk\n"))
        (agent-q-diff-end review)
        (should (equal (aqd-answer :status :content :saved)
                       (list 'partial (aqd-numbered 30 '((5 . "five"))) nil)))
        (should-not (seq-find (lambda (buffer)
                                (string-prefix-p "*Agent-Q Content"
                                                 (buffer-name buffer)))
                              (buffer-list))))
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two :detached t)))
        (setq aqd-answers nil)
        (kill-buffer (aqd-target-of review))
        (aqd-in-diff review
          (should-not (agent-q-diff-accept-hunk))
          (agent-q-diff-finish))
        (should (equal (aqd-answer :status) '(stale))))
      (aqd-should-leave-nothing))))

(provide 'agent-q-diff-file-change-test)
;;; agent-q-diff-file-change-test.el ends here
