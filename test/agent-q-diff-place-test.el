;;; agent-q-diff-place-test.el --- Where hunks of a bare diff go  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A diff without its original: its lines may be at several places, be in
;; the file already, or have another context there.  What is not certain
;; is shown to the user, and told the agent.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-test-help)

(defmacro aqd-place-with-patch (text diff &rest body)
  "Run BODY in the diff buffer of `review', of DIFF for a file that holds TEXT.
The function `answer' returns what the caller was told."
  (declare (indent 2) (debug t))
  `(aqd-with-file ,text
     (let* ((results nil)
            (review (agent-q-diff-review-patch
                     aqd-file ,diff "A test."
                     (lambda (result) (push result results)))))
       (cl-flet ((answer (key) (plist-get (car results) key)))
         (unwind-protect
             (with-current-buffer (agent-q-diff-session-buffer review)
               (setq agent-q-diff-grace--end 0)
               (ignore #'answer)
               ,@body)
           (agent-q-diff-cancel review))))))

(defun aqd-place-point (review)
  "Return the line, from 1, at which the window of REVIEW's target is."
  (let ((window (get-buffer-window (aqd-target-of review))))
    (with-current-buffer (aqd-target-of review)
      (line-number-at-pos (window-point window)))))

(defun aqd-place-marked (review)
  "Return the text in the target of REVIEW that is marked as a hunk's place."
  (with-current-buffer (aqd-target-of review)
    (mapconcat (lambda (overlay)
                 (buffer-substring-no-properties (overlay-start overlay)
                                                 (overlay-end overlay)))
               (seq-filter (lambda (overlay)
                             (eq 'agent-q-diff-place (overlay-get overlay 'face)))
                           (overlays-in (point-min) (point-max)))
               "")))

;;;; Several places

(ert-deftest aqd-place-of-several-is-shown-and-taken-by-the-same-key ()
  (aqd-place-with-patch aqd-equal-blocks aqd-equal-blocks-diff
    (should (equal (aqd-sign 1) "[AMBIGUOUS, look: 1 of 4 places]"))
    (switch-to-buffer (current-buffer))
    (should (string-match-p
             "\\`Place 1 of 4: line 10 of target.txt.  The same key uses it; N P show others"
             (aqd-said (aqd-press "a"))))
    (should (equal (aqd-disk) aqd-equal-blocks))
    (should (= 10 (aqd-place-point review)))
    (should (equal "{\n  x\n}\n" (aqd-place-marked review)))
    (should (string-prefix-p "Hunk applied" (aqd-said (aqd-press "a"))))
    (should (equal "" (aqd-place-marked review)))
    (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 2)))
    (aqd-press "u")
    (should (equal (aqd-disk) aqd-equal-blocks))))

(ert-deftest aqd-place-the-others-are-shown-by-n-and-p ()
  (aqd-place-with-patch aqd-equal-blocks aqd-equal-blocks-diff
    (switch-to-buffer (current-buffer))
    (aqd-press "a")
    (let ((seen (cl-loop repeat 4
                         collect (aqd-place-point review)
                         do (aqd-press "N"))))
      (should (equal seen '(10 7 13 4))))
    (should (= 10 (aqd-place-point review)))
    (aqd-press "P")
    (should (= 4 (aqd-place-point review)))
    (should (equal (aqd-sign 1) "[AMBIGUOUS, look: 4 of 4 places]"))
    (aqd-press "a")
    (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 0)))))

(ert-deftest aqd-place-keys-move-on-when-another-hunk-is-at-point ()
  (aqd-place-with-patch
      (concat aqd-equal-blocks "end\n")
      (concat aqd-equal-blocks-diff "@@ -13,2 +14,2 @@\n }\n-other\n+END\n")
    (switch-to-buffer (current-buffer))
    (aqd-press "a n")
    ;; What was shown is not what is seen any more: N is about hunks again.
    (should (equal "No further hunk fails to apply" (aqd-said (aqd-press "N"))))
    (should (string-match-p "\\`Place 1 of 4" (aqd-said (aqd-press "p a"))))
    (should (equal (aqd-disk) (concat aqd-equal-blocks "end\n")))))

(ert-deftest aqd-place-that-was-shown-before-an-edit-is-shown-again ()
  (aqd-place-with-patch aqd-equal-blocks aqd-equal-blocks-diff
    (switch-to-buffer (current-buffer))
    (aqd-press "a")
    (with-current-buffer (aqd-target-of review)
      (goto-char (point-min))
      (insert "typed\n"))
    (should (string-match-p "\\`Place 1 of 4" (aqd-said (aqd-press "a"))))
    (should (equal (aqd-disk) aqd-equal-blocks))))

(ert-deftest aqd-place-accept-all-leaves-out-what-nobody-named ()
  (aqd-place-with-patch aqd-equal-blocks aqd-equal-blocks-diff
    (should (string-match-p "Not applied: hunk 1: its lines fit more than one place"
                            (aqd-said (agent-q-diff-accept-all))))
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-ambiguous)
    (should-error (agent-q-diff-accept review 0 2) :type 'agent-q-diff-not-found)
    (should (equal (aqd-disk) aqd-equal-blocks))
    (agent-q-diff-finish)
    (should (eq (answer :status) 'stale))
    (should (equal (plist-get (car (answer :hunks)) :places) '(1 4 7 10)))))

(ert-deftest aqd-place-a-program-can-name-one ()
  (aqd-place-with-patch aqd-equal-blocks aqd-equal-blocks-diff
    (should (eq 'edited (agent-q-diff-accept review 0 4)))
    (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 1)))
    (agent-q-diff-end review)
    (should (eq (answer :status) 'accepted))
    (should-not (plist-get (car (answer :hunks)) :places))))

(ert-deftest aqd-place-of-a-diff-typed-by-hand-is-chosen-too ()
  (aqd-with-file aqd-equal-blocks
    (aqd-with-diff aqd-equal-blocks-diff
      (aqd-goto-hunk 1)
      (should (string-match-p "\\`Place 1 of 4" (aqd-said (agent-q-diff-accept-hunk))))
      (agent-q-diff-next-conflict)
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 1))))))

(ert-deftest aqd-place-what-the-agent-reads-names-the-lines ()
  (aqd-with-file (concat aqd-equal-blocks "end\n")
    (let ((default-directory (file-name-directory aqd-file))
          (agent-q-diff-project-root (file-name-directory aqd-file)))
      (should (string-search
               "The lines of hunk 1 are at several places: lines 2, 5, 8, 11. \
Send it with more context, or keep the \"index\" line of git diff."
               (aqd-play "a n a q y"
                         (lambda ()
                           (agent-q-diff-tools-call
                            "propose_patch"
                            `(:path "target.txt" :description "A test."
                              :diff ,(concat aqd-equal-blocks-diff
                                             "@@ -13,2 +14,2 @@\n }\n-end\n+END\n"))))))))))

;;;; Already in, and fuzz

(ert-deftest aqd-place-one-equal-line-does-not-mean-already-in ()
  (aqd-place-with-patch "B\nx\ny\n" "@@ -7 +7 @@\n-b\n+B\n"
    (should (string-match-p "new lines are somewhere proves nothing"
                            (agent-q-diff-engine-hunk-reason
                             (agent-q-diff-file-change-hunk
                              (agent-q-diff-session-change review) 0))))
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-ambiguous)
    (agent-q-diff-end review)
    (should-not (plist-get (car (answer :hunks)) :in-file))))

(ert-deftest aqd-place-a-last-line-in-the-middle-is-not-already-in ()
  (aqd-place-with-patch "a\nb\nc\nmore\n"
      "@@ -1,3 +1,3 @@\n a\n b\n-c\n\\ No newline at end of file\n+c\n"
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-not-found)
    (agent-q-diff-reject review 0)
    (agent-q-diff-end review)
    (should-not (plist-get (car (answer :hunks)) :in-file))))

(ert-deftest aqd-place-a-hunk-that-was-in-is-told-from-one-that-was-applied ()
  (aqd-place-with-patch "a\nB\nc\n1\n2\n3\n4\n5\n6\nd\n"
      "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -9,2 +9,2 @@\n 6\n-d\n+D\n"
    (agent-q-diff-accept review 0)
    (agent-q-diff-accept review 1)
    (agent-q-diff-end review)
    (should (equal '(t nil) (mapcar (lambda (hunk) (plist-get hunk :was-in))
                                    (answer :hunks))))
    (should (string-suffix-p "\n\nWas in the file already, and was not put there by this review: hunk 1."
                             (answer :message)))))

(ert-deftest aqd-place-fuzz-is-shown-before-the-key-and-told-the-agent ()
  (aqd-place-with-patch "new\nnew\nother\nb\nc\nd\n"
      "@@ -1,4 +1,4 @@\n a\n b\n-c\n+C\n d\n"
    (should (equal (aqd-sign 1) "[PENDING, fuzz 1, shifted by 2 lines]"))
    (agent-q-diff-accept review 0)
    (should (equal (aqd-sign 1) "[APPLIED, fuzz 1]"))
    (agent-q-diff-end review)
    (let ((hunk (car (answer :hunks))))
      (should (equal (list (plist-get hunk :fuzz) (plist-get hunk :offset)) '(1 2))))
    (should (string-suffix-p
             "\n\nHunk 1 is in the file with fuzz 1: its outermost context lines differ there\
; shifted by 2 lines."
             (answer :message)))))

(provide 'agent-q-diff-place-test)
;;; agent-q-diff-place-test.el ends here
