;;; agent-q-diff-undo-test.el --- Taking decisions back  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

(defconst aqd-undo-original (aqd-numbered 40)
  "A file.")

(defconst aqd-undo-modified (aqd-numbered 40 '((5 . "five") (20 . "twenty") (35 . "x")))
  "What is proposed for it.")

(defmacro aqd-undo-with-review (&rest body)
  "Run BODY in the diff buffer of three hunks, in a window."
  (declare (indent 0) (debug t))
  `(aqd-with-shown-review aqd-undo-original aqd-undo-modified
     ,@body))

(ert-deftest aqd-undo-takes-decisions-back-and-again ()
  (aqd-undo-with-review
    (aqd-press "a r a")
    (should (equal (aqd-progress) "2/3 applied, 1 rejected, 0 pending"))
    (aqd-press "C-/")
    (should (equal (aqd-signs) '((1 . "[APPLIED]") (2 . "[REJECTED]"))))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "five")))))
    (should (= 2 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press "C-x u C-_")
    (should-not (aqd-signs))
    (should (equal (aqd-disk) aqd-undo-original))
    (should-error (agent-q-diff-undo) :type 'agent-q-diff-nothing-to-take-back)
    (aqd-press "C-M-_ C-M-_ C-M-_")
    (should (equal (aqd-signs)
                   '((1 . "[APPLIED]") (2 . "[REJECTED]") (3 . "[APPLIED]"))))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "five") (35 . "x")))))))

(ert-deftest aqd-undo-what-was-decided-together-goes-together ()
  (aqd-undo-with-review
    (aqd-choose "-line 5" "-line 35")
    (agent-q-diff-accept-hunk)
    ;; Of the last hunk only the line that goes.
    (should (equal (aqd-progress) "3/4 applied, 0 rejected, 1 pending"))
    (aqd-press "C-/")
    (should (equal (aqd-progress) "0/3 applied, 0 rejected, 3 pending"))
    (should (equal (aqd-target) aqd-undo-original))
    (aqd-press "U")
    (agent-q-diff-decide-accept-all agent-q-diff-buffer-change)
    (agent-q-diff-undo)
    (should (equal (aqd-target) aqd-undo-original))))

(defun aqd-undo-shown ()
  "Return the text of the diff buffer and where its hunks are in it."
  (list (buffer-substring-no-properties (point-min) (point-max))
        agent-q-diff-buffer-positions))

(ert-deftest aqd-undo-joins-what-was-split ()
  (aqd-with-shown-review (aqd-numbered 40)
      (aqd-numbered 40 '((5 . "five") (8 . "eight") (35 . "x")))
    (let ((whole (aqd-undo-shown))
          parts)
      (agent-q-diff-comment-hunk "Hm")
      (aqd-press "s")
      (setq parts (aqd-undo-shown))
      (should (= 3 (length (cadr parts))))
      (aqd-press "a")
      (should (equal "Undid the decision on hunk 1" (aqd-said (aqd-press "C-/"))))
      (should (equal parts (aqd-undo-shown)))
      (should (equal "Undid the split of hunk 1" (aqd-said (aqd-press "C-/"))))
      (should (equal whole (aqd-undo-shown)))
      (should (equal (aqd-signs) '((1 . "[PENDING, commented]"))))
      (should-error (agent-q-diff-undo) :type 'agent-q-diff-nothing-to-take-back)
      (should (equal "Redid the split of hunk 1" (aqd-said (aqd-press "C-M-_"))))
      (should (equal parts (aqd-undo-shown)))
      (aqd-press "C-M-_")
      (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "five"))))))))

(ert-deftest aqd-undo-joins-the-lines-of-the-region ()
  (aqd-undo-with-review
    (let ((whole (aqd-undo-shown))
          parts)
      (re-search-forward "^-line 5")
      (aqd-press "v a")
      (setq parts (aqd-undo-shown))
      (should (= 4 (length (cadr parts))))
      (should (equal (aqd-disk) (string-replace "line 5\n" "" aqd-undo-original)))
      (dotimes (_ 2)
        (should (equal "Undid the decision on lines of hunk 1" (aqd-said (aqd-press "C-/"))))
        (should (equal whole (aqd-undo-shown)))
        (should (equal (aqd-disk) aqd-undo-original))
        (should (equal "Redid the decision on lines of hunk 1"
                       (aqd-said (aqd-press "C-M-_"))))
        (should (equal parts (aqd-undo-shown)))
        (should (equal (aqd-disk) (string-replace "line 5\n" "" aqd-undo-original))))
      ;; The whole hunk can be decided again.
      (aqd-press "C-/ a")
      (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "five"))))))))

(ert-deftest aqd-undo-is-one-step-of-the-files-own-undo ()
  (aqd-undo-with-review
    (aqd-press "a C-/")
    (with-current-buffer (find-buffer-visiting aqd-file)
      (undo-boundary)
      (let ((inhibit-message t))
        (undo))
      (should (equal (buffer-string) (aqd-numbered 40 '((5 . "five"))))))))

(ert-deftest aqd-undo-brings-back-the-part-that-was-in ()
  "Another program deletes a line of an applied hunk before that is taken out."
  (let ((part "1\n2\n3\n4\nB\n5\n"))
    (aqd-with-shown-review "1\n2\n3\n4\n5\n" "1\nA\n2\n3\n4\nB\n5\n"
      (aqd-press "a")
      (aqd-write part)
      (aqd-press "u")
      (should (equal (aqd-disk) "1\n2\n3\n4\n5\n"))
      (aqd-press "C-/")
      (should (equal (aqd-disk) part))
      (should (equal (aqd-sign 1) "[APPLIED, but partly in the file]")))))

(ert-deftest aqd-undo-says-why-it-cannot ()
  (aqd-undo-with-review
    (aqd-press "a")
    (aqd-in-target (search-forward "five") (insert "!"))
    (should-error (agent-q-diff-undo) :type 'agent-q-diff-conflict)
    (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))))

(ert-deftest aqd-undo-of-what-is-typed-by-hand-undoes-the-typing ()
  (aqd-with-file "a\n"
    (aqd-with-diff "@@ -1 +1 @@\n-a\n+b\n"
      (buffer-enable-undo)
      (goto-char (point-max))
      (insert "typed")
      (undo-boundary)
      (let ((inhibit-message t))
        (agent-q-diff-undo))
      (should (equal (buffer-string) "@@ -1 +1 @@\n-a\n+b\n")))))

(ert-deftest aqd-undo-of-a-split-that-cannot-be-undone-undoes-nothing-else ()
  (aqd-with-shown-review (aqd-numbered 40)
      (aqd-numbered 40 '((5 . "five") (20 . "twenty") (23 . "more")))
    (aqd-press "a s")
    ;; One of the two parts is in the file, but not by a decision.
    (aqd-in-target (search-forward "line 20") (replace-match "twenty"))
    (should-error (agent-q-diff-undo) :type 'agent-q-diff-conflict)
    (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
    (should (equal "Undid the decision on hunk 1" (aqd-said (agent-q-diff-undo))))))

(ert-deftest aqd-undo-and-splitting-again-leave-nothing-to-redo ()
  (aqd-with-shown-review (aqd-numbered 40)
      (aqd-numbered 40 '((5 . "five") (8 . "eight") (35 . "x")))
    (aqd-press "s a C-/ C-/ s")
    (should-error (agent-q-diff-redo) :type 'agent-q-diff-nothing-to-take-back)
    ;; Lines that were selected once are no parts.
    (aqd-press "C-/ n")
    (re-search-forward "^-line 35")
    (aqd-press "v r C-/ s")
    (should (= 2 (length agent-q-diff-buffer-positions)))))

(ert-deftest aqd-undo-of-a-split-leaves-the-hunks-their-numbers ()
  (aqd-with-open-review (aqd-numbered 40)
      (aqd-numbered 40 '((5 . "five") (8 . "eight") (35 . "x")))
    (aqd-in-diff review (aqd-press "s C-/ a"))
    (agent-q-diff-end review)
    (should-not (seq-some (lambda (hunk) (plist-get hunk :part))
                          (car (aqd-answer :hunks))))))

(provide 'agent-q-diff-undo-test)
;;; agent-q-diff-undo-test.el ends here
