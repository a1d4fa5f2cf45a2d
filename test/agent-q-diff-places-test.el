;;; agent-q-diff-places-test.el --- The places of an ambiguous hunk  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The lines of a hunk of a bare diff may be at several places.  The user sees
;; each of them, and says which it is.

;;; Code:

(require 'agent-q-diff-test-help)

(defun aqd-places-point (review)
  "Return the line, from 1, at which the window of REVIEW's target is."
  (let ((window (get-buffer-window (aqd-target-of review))))
    (with-current-buffer (aqd-target-of review)
      (line-number-at-pos (window-point window)))))

(defun aqd-places-marked (review)
  "Return the text in the target of REVIEW that is marked as a hunk's place."
  (with-current-buffer (aqd-target-of review)
    (mapconcat (lambda (overlay)
                 (buffer-substring-no-properties (overlay-start overlay)
                                                 (overlay-end overlay)))
               (seq-filter (lambda (overlay)
                             (eq 'agent-q-diff-place (overlay-get overlay 'face)))
                           (overlays-in (point-min) (point-max)))
               "")))

(ert-deftest aqd-places-one-of-several-is-shown-and-taken-by-the-same-key ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    ;; It would mark the lines where the hunk now is.
    (setq-local agent-q-diff-follow nil)
    (should (equal (aqd-sign 1) "[AMBIGUOUS, look: 1 of 4 places]"))
    (switch-to-buffer (current-buffer))
    (should (string-match-p
             "\\`Place 1 of 4: line 10 of target.txt.  The same key uses it; N P show others"
             (aqd-said (aqd-press "a"))))
    (should (equal (aqd-disk) aqd-equal-blocks))
    (should (= 10 (aqd-places-point review)))
    (should (equal "{\n  x\n}\n" (aqd-places-marked review)))
    (should (string-prefix-p "Hunk 1 applied" (aqd-said (aqd-press "a"))))
    (should (equal "" (aqd-places-marked review)))
    (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 2)))
    (aqd-press "u")
    (should (equal (aqd-disk) aqd-equal-blocks))))

(ert-deftest aqd-places-the-others-are-shown-by-n-and-p ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (switch-to-buffer (current-buffer))
    (aqd-press "a")
    (let ((seen (cl-loop repeat 4
                         collect (aqd-places-point review)
                         do (aqd-press "N"))))
      (should (equal seen '(10 7 13 4))))
    (should (= 10 (aqd-places-point review)))
    (aqd-press "P")
    (should (= 4 (aqd-places-point review)))
    (should (equal (aqd-sign 1) "[AMBIGUOUS, look: 4 of 4 places]"))
    (aqd-press "a")
    (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 0)))))

(ert-deftest aqd-places-keys-move-on-when-another-hunk-is-at-point ()
  (aqd-with-patch-review
      (concat aqd-equal-blocks "end\n")
      (concat aqd-equal-blocks-diff "@@ -13,2 +14,2 @@\n }\n-other\n+END\n")
    (switch-to-buffer (current-buffer))
    (aqd-press "a n")
    ;; What was shown is not what is seen any more: N is about hunks again.
    (should (equal "No further hunk fails to apply" (aqd-said (aqd-press "N"))))
    (should (string-match-p "\\`Place 1 of 4" (aqd-said (aqd-press "p a"))))
    (should (equal (aqd-disk) (concat aqd-equal-blocks "end\n")))))

(ert-deftest aqd-places-one-that-was-shown-before-an-edit-is-shown-again ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (switch-to-buffer (current-buffer))
    (aqd-press "a")
    (with-current-buffer (aqd-target-of review)
      (goto-char (point-min))
      (insert "typed\n"))
    (should (string-match-p "\\`Place 1 of 4" (aqd-said (aqd-press "a"))))
    (should (equal (aqd-disk) aqd-equal-blocks))))

(ert-deftest aqd-places-the-offered-one-follows-what-is-typed ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (switch-to-buffer (current-buffer))
    ;; One more block above, before any place was shown.
    (with-current-buffer (aqd-target-of review)
      (goto-char (point-min))
      (forward-line 1)
      (insert "{\n  x\n}\n"))
    (should (string-match-p "\\`Place 1 of 5: line 13 of" (aqd-said (aqd-press "a"))))
    ;; Another one while a place is shown that is not the likeliest.
    (aqd-press "N")
    (let ((line (aqd-places-point review)))
      (with-current-buffer (aqd-target-of review)
        (goto-char (point-min))
        (insert "{\n  x\n}\n"))
      (aqd-press "a")
      (should (= (+ 3 line) (aqd-places-point review)))
      ;; And taken out again.
      (with-current-buffer (aqd-target-of review)
        (goto-char (point-min))
        (delete-region (point) (line-beginning-position 4)))
      (aqd-press "n p")
      (aqd-press "a")
      (should (= line (aqd-places-point review))))))

(ert-deftest aqd-places-the-offered-one-follows-a-revert ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (switch-to-buffer (current-buffer))
    (should (string-match-p "\\`Place 1 of 4: line 10 of" (aqd-said (aqd-press "a"))))
    (write-region (concat "a\nb\nc\n" aqd-equal-blocks) nil aqd-file nil 'silent)
    (with-current-buffer (aqd-target-of review)
      (revert-buffer t t))
    (should (string-match-p "\\`Place 1 of 4: line 13 of" (aqd-said (aqd-press "a"))))
    (aqd-press "a")
    (should (equal (concat "a\nb\nc\n" (aqd-equal-blocks-with-line-in 2)) (aqd-disk)))))

(ert-deftest aqd-places-accept-all-leaves-out-what-nobody-named ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (should (string-match-p "Not finished: hunk 1: its lines fit more than one place"
                            (aqd-said (agent-q-diff-accept-all))))
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-ambiguous)
    (should-error (agent-q-diff-accept review 0 2) :type 'agent-q-diff-not-found)
    (should (equal (aqd-disk) aqd-equal-blocks))
    (agent-q-diff-finish)
    (should (eq (answer :status) 'stale))
    (should (equal (plist-get (car (answer :hunks)) :places) '(1 4 7 10)))))

(ert-deftest aqd-places-of-a-diff-typed-by-hand-are-shown-too ()
  (aqd-with-file aqd-equal-blocks
    (aqd-with-diff aqd-equal-blocks-diff
      (aqd-goto-hunk 1)
      (should (string-match-p "\\`Place 1 of 4" (aqd-said (agent-q-diff-accept-hunk))))
      (agent-q-diff-next-conflict)
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 1))))))

(ert-deftest aqd-places-one-that-was-shown-is-of-the-hunk-not-of-its-number ()
  "The place that was shown belongs to another hunk after a split above."
  (let* ((block (aqd-lines "x" "y" "z" "w"))
         (many (mapconcat (lambda (_) block) (number-sequence 1 6) ""))
         (original (concat (aqd-numbered 8) many))
         (modified (concat (aqd-numbered 8 '((2 . "two")))
                           block (aqd-lines "x" "Y" "z" "w") block
                           (aqd-lines "x" "Y" "z" "w") block block)))
    (aqd-with-file original
      (aqd-visit)
      (aqd-call original modified
                (lambda ()
                  (with-current-buffer (find-buffer-visiting aqd-file)
                    (let ((inhibit-modification-hooks t))
                      (goto-char (point-max)) (insert block)
                      (goto-char (point-min)) (forward-line 8) (insert block)))
                  (agent-q-diff-signs-follow)
                  (let ((before (aqd-target)))
                    (aqd-goto-hunk 3)
                    (agent-q-diff-accept-hunk)
                    (should (equal before (aqd-target)))
                    (aqd-goto-hunk 1)
                    (aqd-split-sides)
                    (aqd-goto-hunk 3)
                    (agent-q-diff-accept-hunk)
                    (should (equal before (aqd-target))))
                  (agent-q-diff-reject-all))))))

(provide 'agent-q-diff-places-test)
;;; agent-q-diff-places-test.el ends here
