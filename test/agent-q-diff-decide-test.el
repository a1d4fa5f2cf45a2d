;;; agent-q-diff-decide-test.el --- What a decision does to the target  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;; Code:

(require 'agent-q-diff-test-help)

;;; Deciding

;;;; Where a hunk goes

(defun aqd-decide-blocks (&rest changed)
  "Return twelve identical blocks; in those CHANGED, a line is another."
  (cl-loop for block from 1 to 12
           concat (aqd-lines "begin" "  one" "  two" "  three"
                             (if (memq block changed) "  FOUR" "  four")
                             "  five" "  six" "  seven" "end")))

(ert-deftest aqd-decide-ruling-1-hunk-goes-into-its-own-block ()
  (aqd-with-file (aqd-decide-blocks)
    (should (equal "accepted"
                   (aqd-review (aqd-decide-blocks) (aqd-decide-blocks 4 8) "r a q")))
    (should (equal (aqd-disk) (aqd-decide-blocks 8)))))

(ert-deftest aqd-decide-ruling-1-also-when-hunk-1-would-shift-the-others ()
  ;; Were hunk 1 applied, block 8 would be ten lines further down, which is
  ;; just another block's place.
  (let* ((head (aqd-lines "a" "b" "c" "d"))
         (added (cl-loop for n from 1 to 9 concat (format "new %d\n" n)))
         (original (concat head (aqd-decide-blocks)))
         (modified (concat (aqd-lines "a" "b") added (aqd-lines "c" "d")
                           (aqd-decide-blocks 8))))
    (aqd-with-file original
      (should (equal "accepted" (aqd-review original modified "r a q")))
      (should (equal (aqd-disk) (concat head (aqd-decide-blocks 8)))))))

;;;; What is in the file already

(ert-deftest aqd-decide-one-equal-line-does-not-mean-already-in ()
  (aqd-with-patch-review "B\nx\ny\n" "@@ -7 +7 @@\n-b\n+B\n"
    (should (string-match-p "finding its new lines somewhere proves nothing"
                            (agent-q-diff-engine-hunk-reason
                             (agent-q-diff-change-hunk
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

(ert-deftest aqd-decide-ruling-2-change-was-there-before ()
  (aqd-with-file (aqd-three-with 2)
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (should (equal (aqd-signs) '((2 . "[PENDING, but in the file]"))))
                (let ((tick (buffer-chars-modified-tick
                             (find-buffer-visiting aqd-file))))
                  (aqd-goto-hunk 2)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs) '((2 . "[APPLIED]"))))
                  (should (eq tick (buffer-chars-modified-tick
                                    (find-buffer-visiting aqd-file)))))
                (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
                (agent-q-diff-finish)))
    (should (equal (aqd-disk) (aqd-three-with 2)))))

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

(ert-deftest aqd-decide-ruling-2-failed-apply-changes-neither ()
  (aqd-with-file (aqd-numbered 40 '((5 . "other") (6 . "other")))
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (let ((position (aqd-goto-hunk 1)))
                  (should-not (agent-q-diff-accept-hunk))
                  (should-not (alist-get position sly-agent-q-diff--hunk-states))
                  (should (equal (aqd-signs) '((1 . "[DOES NOT APPLY]")))))
                (agent-q-diff-reject-all)))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "other") (6 . "other")))))))

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
         (should (string-match-p "\\`Not finished: hunk 3: .*narrowed part.*; r rejects\\'" said))
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
