;;; agent-q-diff-split-test.el --- Splitting hunks, and picking lines of them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'seq)
(require 'agent-q-diff-test-help)

;;;; Splitting

(defconst aqd-split-near
  (cons (aqd-numbered 30)
        (aqd-numbered 30 '((5 . "five") (8 . "eight") (25 . "x"))))
  "A proposal of two hunks, the first of which has two changes.")

(ert-deftest aqd-split-makes-hunks-of-their-own ()
  (aqd-with-file (car aqd-split-near)
    (aqd-call (car aqd-split-near) (cdr aqd-split-near)
              (lambda ()
                (aqd-goto-hunk 2)
                (agent-q-diff-reject-hunk)
                (aqd-goto-hunk 1)
                (should (equal "Split into 2 hunks" (aqd-said (aqd-press "s"))))
                (should (equal 0 (agent-q-diff-buffer-hunk-at-point)))
                (should (equal 3 (sly-agent-q-diff--count-hunks)))
                (should (equal (aqd-progress) "0/3 applied, 1 rejected, 2 pending"))
                (should (equal (aqd-signs) '((3 . "[REJECTED]"))))
                (aqd-press "n a")
                (should (equal (aqd-signs) '((2 . "[APPLIED]") (3 . "[REJECTED]"))))
                (should (equal (aqd-numbered 30 '((8 . "eight")))
                               (decode-coding-string (aqd-disk) 'utf-8)))
                (should (eq 'applied (alist-get (aqd-goto-hunk 2)
                                                sly-agent-q-diff--hunk-states)))
                (should (eq 'rejected (alist-get (aqd-goto-hunk 3)
                                                 sly-agent-q-diff--hunk-states)))
                (agent-q-diff-finish)))))

(ert-deftest aqd-split-diff-is-still-one-for-patch ()
  (aqd-with-file (car aqd-split-near)
    (aqd-call (car aqd-split-near) (cdr aqd-split-near)
              (lambda ()
                (aqd-goto-hunk 1)
                (agent-q-diff-split-hunk)
                (should (eq 0 (call-process-region
                               (progn (goto-char (point-min))
                                      (re-search-forward "^---")
                                      (line-beginning-position))
                               (point-max) "patch" nil nil nil "-s" aqd-file)))
                (agent-q-diff-reject-all)))
    (should (equal (aqd-disk) (cdr aqd-split-near)))))

(ert-deftest aqd-split-of-what-is-applied-and-unapply-one ()
  (aqd-with-file (car aqd-split-near)
    (should (equal "accepted" (aqd-review (car aqd-split-near) (cdr aqd-split-near)
                                          "a p s u q")))
    (should (equal (aqd-disk) (aqd-numbered 30 '((8 . "eight")))))))

(ert-deftest aqd-split-parts-what-one-change-removes-and-adds ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff aqd-bare-diff-of-one
      (aqd-goto-hunk 1)
      (should (equal "This hunk is one change; v selects lines to decide only those"
                     (aqd-said (agent-q-diff-split-hunk))))
      (should (= 2 (aqd-split-sides)))
      (aqd-goto-hunk 1)
      (should (equal (buffer-string)
                     (aqd-lines "@@ -4,4 +4,3 @@" " line 4" " line 5"
                                " line 6" "-line 7" "@@ -8,3 +7,4 @@"
                                "+LINE 7" " line 8" " line 9" " line 10")))
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-numbered 20 '((7)))))
      (should (equal "This hunk is one change; v selects lines to decide only those"
                     (aqd-said (agent-q-diff-split-hunk)))))))

(ert-deftest aqd-split-when-narrowed ()
  (aqd-with-review "1\n2\na" "1\n2\nb"
    (aqd-goto-hunk 1)
    (diff-restrict-view)
    (aqd-split-sides)
    (widen)
    (should (= 2 (seq-count (apply-partially #'string-prefix-p "\\") (aqd-hunks))))))

(ert-deftest aqd-split-after-a-failure-says-why ()
  (aqd-with-file (aqd-lines "1" "2" "mine" "x" "my 3" "4")
    (let ((answer (aqd-result (aqd-lines "1" "2" "b" "x" "3" "4")
                              (aqd-lines "1" "2" "b2" "x" "3!" "4") "a s q")))
      (should (eq (car answer) 'agent-q-diff-not-applied))
      (should-not (equal (cadr answer) "")))))

(ert-deftest aqd-split-of-an-edited-hunk-has-one-edited-part ()
  (aqd-with-file (aqd-numbered 12)
    (let* ((result (cl-letf (((symbol-function 'recursive-edit)
                              (lambda ()
                                (agent-q-diff-edit-hunk)
                                (aqd-in-small-buffer (aqd-retype "three" "THREE")
                                                     (agent-q-diff-edit-finish))
                                (set-buffer (aqd-diff-buffer))
                                (agent-q-diff-split-hunk)
                                (agent-q-diff-accept-all))))
                     (agent-q-diff-review-and-wait aqd-file (aqd-numbered 12)
                                                   (aqd-numbered 12 '((3 . "three") (6 . "six"))) nil)))
           (hunks (plist-get result :hunks)))
      (should (plist-get (nth 0 hunks) :edited))
      (should-not (plist-get (nth 1 hunks) :edited)))))

(ert-deftest aqd-split-then-undo-of-another-hunk ()
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (aqd-accept 1)
    (aqd-in-target (goto-char (point-max)) (insert "typed\n"))
    (aqd-goto-hunk 2)
    (agent-q-diff-split-hunk)
    (aqd-in-target (undo-boundary) (undo-only) (undo-more 1))
    (should (equal (aqd-sign 1) "[APPLIED, but not in the file]"))))

(ert-deftest aqd-split-comments-follow ()
  (aqd-with-open-review (aqd-numbered 12) (aqd-numbered 12 '((5 . "five") (7 . "x")))
    (aqd-in-diff review
      (agent-q-diff-comment-hunk "both")
      (agent-q-diff-split-hunk)
      (agent-q-diff-comment-hunk "")
      (should (equal (aqd-signs) '((2 . "[PENDING, commented]"))))
      (agent-q-diff-reject-all))))

;;;; Lines in the region

(ert-deftest aqd-split-lines-in-the-region-are-accepted-and-no-others ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-choose "-c" "+b2")
    (agent-q-diff-accept-hunk)
    (should-not (use-region-p))
    (should (equal (aqd-disk) (aqd-lines "1" "2" "b" "b2" "3" "4")))
    (should (equal (aqd-hunks)
                   '("@@ -1,3 +1,2 @@" " 1" " 2" "-b"
                     "@@ -4 +3 @@ b" "-c" "+b2"
                     "@@ -5,2 +4,3 @@ c" "+c2" " 3" " 4")))
    (should (equal (aqd-signs) '((2 . "[APPLIED]"))))
    (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))))

(ert-deftest aqd-split-lines-in-the-region-are-rejected ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-choose "-b" "-b")
    (agent-q-diff-reject-hunk)
    (should (equal (aqd-signs) '((1 . "[REJECTED]"))))
    (agent-q-diff-accept-all)
    (should (equal (aqd-disk) (aqd-lines "1" "2" "b" "b2" "c2" "3" "4")))))

(ert-deftest aqd-split-lines-in-the-region-are-taken-out-again ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-accept-hunk)
    (aqd-choose "+c2" "+c2")
    (agent-q-diff-unapply-hunk)
    (should (equal (aqd-disk) (aqd-lines "1" "2" "b2" "3" "4")))
    (should (equal (aqd-signs) '((1 . "[APPLIED]"))))))

(ert-deftest aqd-split-lines-of-several-hunks-are-decided-at-once ()
  (aqd-with-review (aqd-numbered 30)
      (aqd-numbered 30 '((5 . "five") (15 . "fifteen") (25 . "x")))
    (aqd-choose "+five" "-line 25")
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-disk)
                   (aqd-numbered 30 '((5 . "line 5\nfive") (15 . "fifteen") (25)))))
    (should (equal (aqd-progress) "3/5 applied, 0 rejected, 2 pending"))))

(ert-deftest aqd-split-a-whole-hunk-in-the-region-stays-one ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-choose "-b" "+c2")
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-disk) aqd-letters-modified))
    (should (equal (aqd-progress) "1/1 applied, 0 rejected, 0 pending"))))

(ert-deftest aqd-split-a-region-without-changes-says-so ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-choose " 1" " 2")
    (should-error (agent-q-diff-accept-hunk) :type 'user-error)
    (should (equal (aqd-disk) aqd-letters-original))))

(ert-deftest aqd-split-the-line-that-the-region-only-touches-is-not-in-it ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-choose "-b" "-b")
    (forward-line)
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-disk) (aqd-lines "1" "2" "c" "3" "4")))))

(ert-deftest aqd-split-lines-that-others-have-changed-are-not-picked ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-in-target (forward-line 2) (insert "my "))
    (aqd-choose "-c" "+b2")
    (should (string-prefix-p "Cannot use these lines alone: its lines have been changed"
                             (aqd-said (should-not (agent-q-diff-accept-hunk)))))
    (should (equal (aqd-target) (aqd-lines "1" "2" "my b" "c" "3" "4")))))

;;;; Bare diffs

(ert-deftest aqd-split-in-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (aqd-lines "@@ -1,5 +1,5 @@" " line 1" "-line 2" "+two"
                              " line 3" "-line 4" "+four" " line 5")
      (aqd-goto-hunk 1)
      (agent-q-diff-split-hunk)
      (should (equal (buffer-string)
                     (aqd-lines "@@ -1,3 +1,3 @@" " line 1" "-line 2" "+two" " line 3"
                                "@@ -4,2 +4,2 @@" "-line 4" "+four" " line 5")))
      (aqd-goto-hunk 2)
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-numbered 10 '((4 . "four"))))))))

(ert-deftest aqd-split-lines-of-a-bare-diff ()
  (aqd-with-file aqd-letters-original
    (aqd-with-diff (aqd-lines "@@ -2,4 +2,4 @@" " 2" "-b" "-c" "+b2" "+c2" " 3")
      (aqd-choose "+c2" "+c2")
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-lines "1" "2" "b" "c" "c2" "3" "4")))
      (should (equal (aqd-signs) '((2 . "[APPLIED]")))))))

(ert-deftest aqd-split-region-of-a-bare-diff-with-plus-before-minus ()
  "In a bare diff the order of the lines is the buffer's, not old before new."
  (aqd-with-file (aqd-lines "1" "b" "c" "3")
    (aqd-with-diff (aqd-lines "@@ -1,4 +1,4 @@" " 1" "-b" "+b2" "-c" "+c2" " 3")
      (aqd-choose "+b2" "+b2")
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-lines "1" "b" "b2" "c" "3"))))))

(ert-deftest aqd-split-region-of-a-bare-diff-with-plus-first ()
  (aqd-with-file (aqd-lines "1" "old" "3")
    (aqd-with-diff (aqd-lines "@@ -1,3 +1,3 @@" " 1" "+new" "-old" " 3")
      (aqd-choose "+new" "+new")
      (agent-q-diff-accept-hunk)
      (should (string-search "new" (aqd-disk)))
      (should (string-search "old" (aqd-disk))))))

(ert-deftest aqd-split-of-a-bare-diff-sets-the-modified-flag ()
  "A patch file whose text was split is modified, or the user cannot save it."
  (aqd-with-file aqd-letters-original
    (aqd-with-diff (aqd-lines "@@ -2,4 +2,4 @@" " 2" "-b" "-c" "+b2" "+c2" " 3")
      (set-buffer-modified-p nil)
      (aqd-goto-hunk 1)
      (aqd-split-sides)
      (should (buffer-modified-p)))))

(ert-deftest aqd-split-of-a-bare-diff-with-crlf ()
  (aqd-with-file "1\r\n2\r\nb\r\nc\r\n3\r\n"
    (aqd-with-diff "@@ -2,4 +2,4 @@\r\n 2\r\n-b\r\n-c\r\n+b2\r\n+c2\r\n 3\r\n"
      (aqd-goto-hunk 1)
      (aqd-split-sides)
      (goto-char (point-max)) (let ((inhibit-read-only t)) (insert "\n") (delete-char -1))
      (aqd-goto-hunk 1)
      (agent-q-diff-accept-hunk)
      (aqd-goto-hunk 2)
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) "1\r\n2\r\nb2\r\nc2\r\n3\r\n")))))

;;;; Lines that look like headers

(ert-deftest aqd-split-of-lines-like-a-file-header ()
  (aqd-with-review (aqd-lines "1" "-- a" "x" "-- b" "3" "4" "5" "6")
      (aqd-lines "1" "++ a" "x" "++ b" "3" "4" "5" "6")
    (agent-q-diff-split-hunk)
    (aqd-goto-hunk 2)
    (aqd-split-sides)
    (should (= 3 (seq-count (apply-partially #'string-prefix-p "@@") (aqd-hunks))))
    (should (equal (length (aqd-hunks)) (+ 3 9)))))

(ert-deftest aqd-split-region-of-lines-like-a-file-header ()
  (let ((agent-q-diff-context-length 0))
    (aqd-with-review (aqd-lines "1" "-- a" "3") (aqd-lines "1" "++ b" "3")
      (aqd-choose "+++ b" "+++ b")
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-lines "1" "-- a" "++ b" "3"))))))

(provide 'agent-q-diff-split-test)
;;; agent-q-diff-split-test.el ends here
