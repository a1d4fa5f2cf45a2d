;;; agent-q-diff-decide-test.el --- What a decision does to the target  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; What is in the file already

(ert-deftest aqd-decide-one-equal-line-does-not-mean-already-in ()
  (aqd-with-patch-review "B\nx\ny\n" "@@ -7 +7 @@\n-b\n+B\n"
    (should (string-match-p "new lines are somewhere proves nothing"
                            (agent-q-diff-engine-hunk-reason
                             (agent-q-diff-file-change-hunk
                              (agent-q-diff-session-change review) 0))))
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-ambiguous)
    (agent-q-diff-end review)
    (should-not (plist-get (car (answer :hunks)) :in-file))))

(ert-deftest aqd-decide-a-last-line-in-the-middle-is-not-already-in ()
  (aqd-with-patch-review "a\nb\nc\nmore\n"
      "@@ -1,3 +1,3 @@\n a\n b\n-c\n\\ No newline at end of file\n+c\n"
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-not-found)
    (agent-q-diff-reject review 0)
    (agent-q-diff-end review)
    (should-not (plist-get (car (answer :hunks)) :in-file))))

;;;; What fails

(ert-deftest aqd-decide-reason-goes-when-merged ()
  (aqd-with-file aqd-letters-mine
    (let* ((result (aqd-result aqd-letters-original aqd-letters-modified
                               "a m C-x h C-w x RET C-c C-c q"))
           (hunk (car (plist-get result :hunks))))
      (should (plist-get hunk :in-file))
      (should-not (plist-get hunk :reason)))))

(ert-deftest aqd-decide-rejection-is-not-a-failure ()
  (aqd-with-file aqd-letters-mine
    (let ((result (aqd-result aqd-letters-original aqd-letters-modified "a r q")))
      (should-not (plist-get (car (plist-get result :hunks)) :reason)))))

;;;; All at once

(ert-deftest aqd-decide-accept-all-takes-what-the-target-takes ()
  (aqd-with-forty-lines
    (with-current-buffer (aqd-visit)
      (narrow-to-region (point-min)
                        (agent-q-diff-text-position (current-buffer) 25)))
    (aqd-call-with-three
     (lambda ()
       (let ((said nil))
         (cl-letf (((symbol-function 'message)
                    (lambda (format &rest arguments)
                      (setq said (and format (apply #'format format arguments))))))
           (agent-q-diff-accept-all))
         (should (string-match-p "\\`Not applied: hunk 3: .*narrowed part" said))
         (should-not (string-search "hunk 1" said)))
       (should (equal (aqd-progress) "2/3 applied, 0 rejected, 1 pending"))
       (agent-q-diff-finish)))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five") '(20 . "twenty"))))
    (with-current-buffer (aqd-visit)
      (widen)
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) aqd-original-of-three)))))

(provide 'agent-q-diff-decide-test)
;;; agent-q-diff-decide-test.el ends here
