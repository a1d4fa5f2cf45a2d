;;; agent-q-diff-signs-test.el --- How each hunk stands, shown on it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; Places and fuzz

(ert-deftest aqd-signs-fuzz-is-shown-before-the-key-and-told-the-agent ()
  (aqd-with-patch-review "new\nnew\nother\nb\nc\nd\n"
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

(ert-deftest aqd-signs-a-hunk-without-context-is-next-to-nobody-s-edit ()
  (aqd-with-patch-review "test\ntest2\n \ntest3\n" "@@ -3,1 +3,0 @@\n- \n"
    (should-not (string-search "next to your edit" (or (aqd-sign 1) ""))))
  (aqd-with-patch-review "a\nb\nc\n" "@@ -2 +2 @@\n-b\n+B\n"
    (should-not (string-search "next to your edit" (or (aqd-sign 1) "")))
    (agent-q-diff-accept review 0)
    (should (equal (aqd-sign 1) "[APPLIED]"))))

(ert-deftest aqd-signs-of-shifted-hunks ()
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (should-not (aqd-signs))
    (aqd-in-target (insert "a\nb\n"))
    (should (equal (aqd-sign 1) "[PENDING, shifted by 2 lines]"))
    (aqd-in-target (forward-line 15) (delete-region (point) (line-beginning-position 4)))
    (should (equal (aqd-sign 2) "[PENDING, shifted by -1 line]"))
    (aqd-accept 1)
    (should (equal (aqd-sign 1) "[APPLIED]"))
    (should (equal (aqd-sign 2) "[PENDING, shifted by -1 line]"))
    (aqd-goto-hunk 1)
    (should (string-suffix-p "; shifted by -1 line"
                             (aqd-said (agent-q-diff-next-hunk))))))

(ert-deftest aqd-signs-a-shift-is-said-where-it-begins ()
  (aqd-with-review (aqd-numbered 40)
                   (aqd-numbered 40 '((5 . "five") (15 . "x") (25 . "y") (35 . "z")))
    (aqd-in-target (insert "a\nb\n"))
    (should (equal (aqd-sign 1) "[PENDING, shifted by 2 lines]"))
    (should (equal (aqd-signs) '((1 . "[PENDING, shifted by 2 lines]"))))
    (aqd-goto-hunk 1)
    (should-not (string-search "shifted" (aqd-said (agent-q-diff-next-hunk))))
    ;; It is another from here on.
    (aqd-in-target (goto-char (point-min)) (search-forward "line 20") (insert "\nmore"))
    (should (equal (aqd-sign 3) "[PENDING, shifted by 3 lines]"))
    (should (equal (aqd-signs) '((1 . "[PENDING, shifted by 2 lines]")
                                 (3 . "[PENDING, shifted by 3 lines]"))))
    (aqd-accept 1)
    (should (equal (aqd-signs) '((1 . "[APPLIED]") (3 . "[PENDING, shifted by 3 lines]"))))))

;;;; Mark and fact

(ert-deftest aqd-signs-refresh-while-saving ()
  "A refresh by a hook of saving does not make a failure of a success."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (let ((diff (current-buffer)))
      (aqd-in-target
        (add-hook 'before-save-hook (lambda () (agent-q-diff-signs--refresh diff)) nil t))
      (cl-letf (((symbol-function 'get-buffer-window) #'always))
        (agent-q-diff-accept-hunk))
      (should (equal (aqd-disk) aqd-letters-modified))
      (should (equal (aqd-signs) '((1 . "[APPLIED]")))))))

(ert-deftest aqd-signs-ruling-2-undone-in-the-target ()
  (let ((agent-q-diff-save 'always))
    (aqd-with-forty-lines
      (aqd-call (car aqd-three) (cdr aqd-three)
                (lambda ()
                  (aqd-goto-hunk 1)
                  (agent-q-diff-accept-hunk)
                  (with-current-buffer (find-buffer-visiting aqd-file)
                    (primitive-undo 1 (cdr buffer-undo-list))
                    (should (equal (buffer-string) (aqd-three-with))))
                  (aqd-goto-hunk 2)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs)
                                 '((1 . "[APPLIED, but not in the file]")
                                   (2 . "[APPLIED]"))))
                  (aqd-goto-hunk 1)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs) '((1 . "[APPLIED]") (2 . "[APPLIED]"))))
                  (agent-q-diff-finish)))
      (should (equal (aqd-disk) (aqd-three-with 1 2))))))

;;;; What the signs are made of

;; Their order is that in which Emacs merges them.
(defun aqd-signs-header-faces ()
  "Return for each hunk the faces of the overlays on its `@@' line."
  (mapcar (lambda (position)
            (delq nil (mapcar (lambda (overlay) (overlay-get overlay 'face))
                              (overlays-at position t))))
          agent-q-diff-buffer-positions))

(ert-deftest aqd-signs-header-of-a-decided-hunk-has-its-face-and-no-other-has ()
  (let ((decided '(agent-q-diff-decided-header agent-q-diff-decided)))
    (aqd-with-shown-review (aqd-numbered 30)
                           (aqd-numbered 30 '((5 . "five") (6 . "six") (7) (25 . "x")))
      (should (equal (aqd-signs-header-faces) '(nil nil)))
      (aqd-press "a")
      (should (equal (aqd-signs-header-faces) (list decided nil)))
      (aqd-press "p s")
      (should (equal (delete-dups (butlast (aqd-signs-header-faces))) (list decided)))
      (should (equal (last (aqd-signs-header-faces)) '(nil)))
      (aqd-press "u")
      (should-not (car (aqd-signs-header-faces)))
      (agent-q-diff-unapply-all)
      (should (equal (delete-dups (aqd-signs-header-faces)) '(nil)))
      (should-not (seq-some (lambda (overlay) (overlay-get overlay 'agent-q-diff-header))
                            (overlays-in (point-min) (point-max)))))))

(ert-deftest aqd-signs-comment-is-below-the-header ()
  (aqd-with-shown-review aqd-original-of-two aqd-modified-of-two
    (let ((below (lambda ()
                   (mapconcat (lambda (overlay)
                                (or (overlay-get overlay 'after-string) ""))
                              (overlays-at (aref agent-q-diff-buffer-positions 0))
                              ""))))
      (agent-q-diff-comment-hunk "Why?\nReally")
      (should (equal "\n# Why?\n# Really" (substring-no-properties (funcall below))))
      (aqd-press "r p")
      (should (equal "\n# Why?\n# Really" (substring-no-properties (funcall below))))
      (agent-q-diff-comment-hunk "")
      (should (equal "" (funcall below))))))

(provide 'agent-q-diff-signs-test)
;;; agent-q-diff-signs-test.el ends here
