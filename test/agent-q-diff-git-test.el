;;; agent-q-diff-git-test.el --- Texts that git names  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The index line of a diff names the text that the diff is of.  Git itself
;; says what its ids are.

;;; Code:

(require 'seq)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-git)

(defun aqd-git-id (text)
  "Return git's id for TEXT, computed by git."
  (with-temp-buffer
    (let ((coding-system-for-write 'no-conversion))
      (write-region text nil (expand-file-name "blob" (file-name-directory aqd-file))
                    nil 'silent))
    (call-process "git" nil t nil "hash-object" "--no-filters"
                  (expand-file-name "blob" (file-name-directory aqd-file)))
    (string-trim (buffer-string))))

(defun aqd-git-with-ids (old new diff)
  "Return DIFF as git writes it for texts with the ids OLD and NEW."
  (concat (format "diff --git a/target.txt b/target.txt\nindex %s..%s 100644\n"
                  (substring old 0 7) (substring new 0 7))
          diff))

(defconst aqd-git-no-id (make-string 40 ?f)
  "An id that belongs to no text.")

(ert-deftest aqd-git-the-id-of-the-text-makes-every-stated-line-certain ()
  (dolist (text (list aqd-equal-blocks
                      (string-replace "\n" "\r\n" aqd-equal-blocks)
                      (concat "\xef\xbb\xbf" (string-replace "top" "tschüß" aqd-equal-blocks))))
    (aqd-with-file text
      (let* ((bytes (aqd-disk))
             (diff (aqd-git-with-ids (aqd-git-id bytes) aqd-git-no-id
                                     aqd-equal-blocks-diff))
             (review (agent-q-diff-review-patch aqd-file diff "A test." #'ignore)))
        (agent-q-diff-accept review 0)
        (should (equal (string-replace "\r" "" (aqd-disk))
                       (string-replace
                        "top" (if (string-match-p "ü" text) "\xef\xbb\xbftsch\xc3\xbc\xc3\x9f" "top")
                        (aqd-equal-blocks-with-line-in 2))))
        (agent-q-diff-end review)))))

(ert-deftest aqd-git-git-may-have-crlf-as-lf ()
  (aqd-with-file (string-replace "\n" "\r\n" aqd-equal-blocks)
    (let ((review (agent-q-diff-review-patch
                   aqd-file
                   (aqd-git-with-ids (aqd-git-id aqd-equal-blocks)
                                     aqd-git-no-id aqd-equal-blocks-diff)
                   "A test." #'ignore)))
      (agent-q-diff-accept review 0)
      (should (equal (aqd-disk) (string-replace "\n" "\r\n" (aqd-equal-blocks-with-line-in 2))))
      (agent-q-diff-end review))))

(ert-deftest aqd-git-the-id-of-another-text-makes-nothing-certain ()
  (aqd-with-file (concat aqd-equal-blocks "{\n")
    (let ((review (agent-q-diff-review-patch
                   aqd-file
                   (aqd-git-with-ids (aqd-git-id aqd-equal-blocks)
                                     aqd-git-no-id aqd-equal-blocks-diff)
                   "A test." #'ignore)))
      (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-ambiguous)
      (agent-q-diff-cancel review))))

(ert-deftest aqd-git-the-id-after-the-change-tells-that-it-is-in ()
  (aqd-with-file (aqd-equal-blocks-with-line-in 2)
    (let* ((result nil)
           (review (agent-q-diff-review-patch
                    aqd-file
                    (aqd-git-with-ids aqd-git-no-id
                                      (aqd-git-id (aqd-equal-blocks-with-line-in 2))
                                      aqd-equal-blocks-diff)
                    "A test." (lambda (value) (setq result value)))))
      (should (eq 'already-in (agent-q-diff-accept review 0)))
      (agent-q-diff-end review)
      (should (plist-get (car (plist-get result :hunks)) :was-in))
      (should (string-search "Already in the file, and not put there by this review: hunk 1."
                             (plist-get result :message))))))

(ert-deftest aqd-git-the-id-counts-in-each-file-of-a-diff ()
  (aqd-with-file aqd-equal-blocks
    (let* ((default-directory (file-name-directory aqd-file))
           (review (agent-q-diff-review-diff
                     (aqd-git-with-ids (aqd-git-id aqd-equal-blocks)
                                       aqd-git-no-id aqd-equal-blocks-diff))))
      (agent-q-diff-accept review 0)
      (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 2)))
      (agent-q-diff-end review))))

(ert-deftest aqd-git-the-id-counts-in-a-diff-typed-by-hand ()
  (aqd-with-file aqd-equal-blocks
    (aqd-with-diff (aqd-git-with-ids (aqd-git-id aqd-equal-blocks)
                                     aqd-git-no-id aqd-equal-blocks-diff)
      (aqd-goto-hunk 1)
      (should (equal "Hunk 1 applied; nothing is pending, q finishes" (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 2))))))

(ert-deftest aqd-git-all-zeros-name-a-file-that-is-not-there ()
  (aqd-with-file ""
    (should (seq-some (lambda (id) (string-prefix-p "0000000" id))
                      (agent-q-diff-git-blob-ids (aqd-visit)))))
  (aqd-with-file "x\n"
    (should-not (seq-some (lambda (id) (string-prefix-p "0000000" id))
                          (agent-q-diff-git-blob-ids (aqd-visit))))))

(provide 'agent-q-diff-git-test)
;;; agent-q-diff-git-test.el ends here
