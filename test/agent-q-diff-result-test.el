;;; agent-q-diff-result-test.el --- What the caller of a review is told  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-git-help)
(require 'agent-q-diff-list)

;;;; The status

(ert-deftest aqd-result-accepted-whole ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-in-diff review (agent-q-diff-accept-all))
    (should (equal (aqd-answer :status :decision :total :in-file :saved :content
                               :reason :path)
                   (list 'accepted "accepted" 2 2 t aqd-modified-of-two nil aqd-file)))
    (should (string-prefix-p "✓ Accepted" (car (aqd-answer :message))))
    (should (equal (aqd-disk) aqd-modified-of-two))))

(ert-deftest aqd-result-accepted-in-part ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 1)
    (agent-q-diff-reject review 0)
    (should (equal (aqd-signs-of review) '((1 . "[REJECTED]") (2 . "[APPLIED]"))))
    (agent-q-diff-end review)
    (should (equal (aqd-answer :status :decision) '(partial "accepted")))
    (should (equal (mapcar (lambda (hunk)
                             (list (plist-get hunk :header) (plist-get hunk :state)
                                   (plist-get hunk :in-file)))
                           (car (aqd-answer :hunks)))
                   '(("@@ -2,7 +2,7 @@ line 1" rejected nil)
                     ("@@ -22,7 +22,7 @@ line 21" applied t))))
    (should (string-search "1 of 2 hunks is in " (car (aqd-answer :message))))
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-ended)))

(ert-deftest aqd-result-rejected ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-in-diff review (agent-q-diff-reject-all))
    (should (equal (aqd-answer :status :decision :in-file)
                   '(rejected "rejected" 0)))
    (should (string-prefix-p "✗ Rejected" (car (aqd-answer :message))))))

(ert-deftest aqd-result-stale ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (with-current-buffer (find-buffer-visiting aqd-file)
      (erase-buffer)
      (insert "another text\n"))
    (aqd-in-diff review
      (agent-q-diff-accept-hunk)
      (agent-q-diff-finish))
    (should (equal (aqd-answer :status :decision) '(stale nil)))
    (should (string-prefix-p "hunk 1: " (car (aqd-answer :reason))))))

;;;; Nothing decided

(defun aqd-result-end (review function)
  "Call FUNCTION in the diff buffer of REVIEW, and finish it.
Return (STATUS DECISION WORDS SAID): WORDS are those in the log and in the list
of reviews, and SAID is the message."
  (let* ((said (with-current-buffer (agent-q-diff-session-buffer review)
                 (aqd-said (funcall function)
                           (unless (agent-q-diff-session-outcome review)
                             (agent-q-diff-finish nil t)))))
         (result (agent-q-diff-session-result review))
         (row (seq-find (lambda (row)
                          (string-prefix-p (agent-q-diff-session-name review) (nth 1 row)))
                        (aqd-rows-of #'agent-q-diff-list)))
         (logged (car (aqd-rows-of #'agent-q-diff-log)))
         (words (format "%s %s" (nth 3 logged) (nth 4 logged))))
    (should (equal words (nth 3 row)))
    (list (plist-get result :status) (plist-get result :decision) words said)))

(ert-deftest aqd-result-nothing-decided-before-the-write-is-not-called-accepted ()
  (pcase-dolist
      (`(,words . ,function)
       `(("undecided 0/2" . ignore)
         ;; The user typed both hunks, and decided about none.
         ("undecided 2/2" . ,(lambda ()
                               (aqd-in-target
                                 (erase-buffer)
                                 (insert aqd-modified-of-two)
                                 (save-buffer))))
         ("cancelled 0/2" . agent-q-diff-abort)))
    (ert-info (words)
      (aqd-with-log-file
        (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
          (pcase-let ((`(,status ,decision ,logged ,said) (aqd-result-end review function)))
            (should (equal (list 'cancelled nil words) (list status decision logged)))
            (should-not (string-match-p "accept" said))
            (should-not (string-match-p "✓" (car (aqd-answer :message))))))))))

(defmacro aqd-result-with-round (&rest body)
  "Run BODY in a repository after Codex has written two hunks, with a log."
  (declare (indent 0) (debug t))
  `(aqd-with-log-file
     (aqd-with-repository
       (agent-q-diff-module-begin-turn default-directory "Codex" "s" "shout")
       (aqd-pending-put "f.txt" aqd-pending-written)
       (agent-q-diff-module-end-turns default-directory)
       ,@body)))

(ert-deftest aqd-result-after-the-write-the-marks-say-what-was-accepted ()
  (pcase-dolist
      (`(,ended . ,function)
       `(((cancelled nil "undecided 2/2") . ignore)
         ;; It is decided elsewhere, or taken out elsewhere.
         ((cancelled nil "undecided 2/2")
          . ,(lambda () (agent-q-diff-module-mark-reviewed aqd-pending-root '("f.txt"))))
         ((cancelled nil "undecided 0/2")
          . ,(lambda () (aqd-pending-git "checkout" "-q" "f.txt")))
         ((partial "accepted" "partly accepted 2/2")
          . ,(lambda () (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
         ((rejected "rejected" "rejected 1/2")
          . ,(lambda () (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
         ((rejected "rejected" "rejected 0/2") . ,(lambda () (agent-q-diff-reject-all t)))
         ((accepted "accepted" "accepted 2/2")
          . ,(lambda ()
               (aqd-pending-do #'agent-q-diff-accept-hunk 0)
               (aqd-pending-do #'agent-q-diff-accept-hunk 1)))))
    (ert-info ((format "%S" ended))
      (aqd-result-with-round
        (pcase-let ((`(,status ,decision ,words ,said)
                     (aqd-result-end (agent-q-diff-review-changes) function)))
          (should (equal ended (list status decision words)))
          (should (string-match-p "f\.txt: [0-2] kept, [0-2] taken out" said))
          (should-not (string-match-p "accept" said)))))))

(ert-deftest aqd-result-after-the-write-log-and-list-have-agent-and-project ()
  (aqd-result-with-round
    (let ((review (agent-q-diff-review-changes)))
      (should (equal "Codex" (caar (aqd-rows-of #'agent-q-diff-list))))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (aqd-pending-do #'agent-q-diff-accept-hunk 0)
        (agent-q-diff-finish))
      (let ((row (car (aqd-rows-of #'agent-q-diff-log))))
        (should (equal "Codex" (nth 0 row)))
        (should (string-suffix-p (file-name-nondirectory (directory-file-name aqd-pending-root))
                                 (directory-file-name (nth 7 row))))))))

;;;; The text of the target

(defun aqd-result-content (original modified function)
  "Return (CONTENT . TEXT) of a review of ORIGINAL becoming MODIFIED.
It is decided by FUNCTION, called with the review.  CONTENT is what its
caller is told, TEXT what the target's buffer then has."
  (let ((aqd-answers nil))
    (aqd-with-file original
      (let ((buffer (aqd-visit)))
        (funcall function (aqd-begin-review original modified))
        (cons (car (aqd-answer :content))
              (with-current-buffer buffer (buffer-string)))))))

(ert-deftest aqd-result-content-is-no-copy-of-the-proposal ()
  (let ((original (string-to-multibyte aqd-original-of-two))
        (modified (string-to-multibyte aqd-modified-of-two)))
    (pcase-dolist (`(,expected ,function)
                   `((,modified agent-q-diff-accept-all)
                     (,original agent-q-diff-reject-all)))
      (should (eq expected
                  (car (aqd-result-content original modified
                                           (lambda (review)
                                             (aqd-in-diff review (funcall function))))))))))

(ert-deftest aqd-result-content-is-what-the-target-has ()
  "Somebody may change it, told or not, so that it is as long as a proposal's text."
  (let ((original (string-to-multibyte aqd-original-of-two))
        (modified (string-to-multibyte aqd-modified-of-two)))
    (cl-flet ((retype (is-told)
                (aqd-in-target
                  (goto-char (point-min))
                  (let ((inhibit-modification-hooks (not is-told)))
                    (delete-char 1)
                    (insert "L"))))
              (rewrite ()
                (let ((text (agent-q-diff-engine-proposed
                             (agent-q-diff-change-engine agent-q-diff-buffer-change) 0)))
                  (agent-q-diff-decide-rewrite agent-q-diff-buffer-change 0
                                                    (string-replace "five" "FIVE" text) nil))))
      (dolist (function
               (list (lambda () (retype t) (agent-q-diff-accept-all))
                     (lambda () (retype nil) (agent-q-diff-accept-all))
                     (lambda () (agent-q-diff-accept-hunk) (retype t) (agent-q-diff-accept-all))
                     (lambda () (retype t) (agent-q-diff-reject-all))
                     (lambda () (rewrite) (agent-q-diff-accept-all))
                     (lambda () (agent-q-diff-accept-hunk) (agent-q-diff-finish))))
        (pcase-let ((`(,content . ,text)
                     (aqd-result-content original modified
                                        (lambda (review)
                                          (aqd-in-diff review (funcall function))))))
          (should-not (member text (list original modified)))
          (should (equal content text)))))))

(ert-deftest aqd-result-content-of-raw-bytes-is-what-the-target-has ()
  "To the engine bytes that make up a character are that character."
  (let ((raw (decode-coding-string "\303\244" 'raw-text)))
    (should (= 2 (length (string-to-multibyte raw))))
    (aqd-with-file ""
      (let ((coding-system-for-write 'no-conversion))
        (write-region (concat "a\n" (string-to-unibyte raw) "\n") nil aqd-file nil 'silent))
      (let* ((buffer (let ((coding-system-for-read 'raw-text)) (aqd-visit)))
             (text (with-current-buffer buffer (buffer-string)))
             (aqd-answers nil))
        (aqd-in-diff (aqd-begin-review (string-to-multibyte "a\nä\n") (string-to-multibyte "b\nä\n"))
          (agent-q-diff-reject-all))
        (should (equal (aqd-answer :content) (list text)))))))

;;;; What else is told

(ert-deftest aqd-result-a-hunk-that-was-in-is-told-from-one-that-was-applied ()
  (aqd-with-patch-review "a\nB\nc\n1\n2\n3\n4\n5\n6\nd\n"
      "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -9,2 +9,2 @@\n 6\n-d\n+D\n"
    (agent-q-diff-accept review 0)
    (agent-q-diff-accept review 1)
    (agent-q-diff-end review)
    (should (equal '(t nil) (mapcar (lambda (hunk) (plist-get hunk :was-in))
                                    (answer :hunks))))
    (should (string-suffix-p "\n\nAlready in the file, and not put there by this review: hunk 1."
                             (answer :message)))))

(ert-deftest aqd-result-comments-reach-the-agent ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-in-diff review
      (agent-q-diff-accept-hunk)
      (aqd-goto-hunk 2)
      (agent-q-diff-comment-hunk "Not this one,\nplease")
      (should (equal (aqd-signs)
                     '((1 . "[APPLIED]") (2 . "[PENDING, commented]"))))
      (agent-q-diff-reject-hunk)
      (agent-q-diff-comment "Nearly")
      (agent-q-diff-finish))
    (should (equal (aqd-answer :comment) '("Nearly")))
    (should (equal (mapcar (lambda (hunk) (plist-get hunk :comment))
                           (car (aqd-answer :hunks)))
                   '(nil "Not this one,\nplease")))
    (should (string-search
             "\nThe user rejected hunk 2.\nThe user says: Nearly
The user says of hunk 2, which is rejected: Not this one,\nplease\n\nThe lines as they now are:\n"
             (car (aqd-answer :message))))))

(provide 'agent-q-diff-result-test)
;;; agent-q-diff-result-test.el ends here
