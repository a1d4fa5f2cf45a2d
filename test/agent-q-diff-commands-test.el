;;; agent-q-diff-commands-test.el --- The commands that decide hunks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-test-help)

;;;; What is said

(ert-deftest aqd-commands-says-offset-and-fuzz-of-a-bare-diff ()
  (pcase-dolist (`(,text . ,said)
                 `((,(aqd-numbered 20) . "Hunk applied")
                   (,(concat "top\n" (aqd-numbered 20)) . "Hunk applied at offset 1")
                   (,(aqd-numbered 20 '((4 . "other")))
                    . "Hunk applied with fuzz 1 at offset 0")
                   (,(concat "top\n" (aqd-numbered 20 '((9 . "x") (10 . "y"))))
                    . "Hunk applied with fuzz 2 at offset 1")))
    (aqd-with-file text
      (aqd-with-diff aqd-bare-diff-of-one
        (aqd-goto-hunk 1)
        (should (equal said (aqd-said (agent-q-diff-accept-hunk))))
        (should (equal (aqd-disk) (string-replace "line 7\n" "LINE 7\n" text)))))))

(ert-deftest aqd-commands-says-why-a-hunk-does-not-apply ()
  (pcase-dolist (`(,text . ,said)
                 `((,(aqd-numbered 20 '((7 . "other")))
                    . "\\`Failed to apply hunk: its lines are not in the target")
                   ;; The stated line alone does not decide, at it or elsewhere.
                   (,(concat (aqd-numbered 20) (aqd-numbered 3) (aqd-numbered 20)
                             (aqd-lines "x"))
                    . "\\`Place 1 of 2: line 7 of target.txt.")
                   (,(concat "top\n" (aqd-numbered 20) (aqd-numbered 20))
                    . "\\`Place 1 of 2: line 8 of target.txt.")))
    (aqd-with-file text
      (aqd-with-diff aqd-bare-diff-of-one
        (aqd-goto-hunk 1)
        (should (string-match-p said (aqd-said (agent-q-diff-accept-hunk))))
        (should (equal (aqd-disk) text))))))

(ert-deftest aqd-commands-tells-each-command-apart ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff aqd-bare-diff-of-one
      (aqd-goto-hunk 1)
      (should (equal "Hunk applied" (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal "Hunk applied already" (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal "Hunk pending; its change stays in the file, u takes it out"
                     (aqd-said (agent-q-diff-toggle-hunk))))
      (should (equal "Hunk applied; its change was in the file already"
                     (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal "Hunk rejected; its change stays in the file, u takes it out"
                     (aqd-said (agent-q-diff-reject-hunk))))
      (should (equal "Hunk taken out of the file"
                     (aqd-said (agent-q-diff-unapply-hunk))))
      (should (equal "Hunk 1 is not in the file"
                     (aqd-said (agent-q-diff-unapply-hunk))))
      (should (equal "Hunk rejected" (aqd-said (agent-q-diff-reject-hunk))))
      (should (equal "Hunk rejected already" (aqd-said (agent-q-diff-reject-hunk)))))))

(ert-deftest aqd-commands-in-front-of-the-first-hunk-say-so ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff (concat "Some prose.\n\n" aqd-bare-diff-of-one)
      (dolist (command '(agent-q-diff-accept-hunk agent-q-diff-reject-hunk
                         agent-q-diff-toggle-hunk agent-q-diff-unapply-hunk))
        (should-error (funcall command) :type 'user-error)))))

(ert-deftest aqd-commands-what-the-user-typed-is-not-called-a-hooks-work ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-accept-hunk)
    (aqd-in-target (insert "typed\n"))
    (should (equal "Hunk rejected; its change stays in the file, u takes it out"
                   (aqd-said (agent-q-diff-reject-hunk))))))

;;;; The hunk at point

(ert-deftest aqd-commands-region-is-one-undo-step ()
  (aqd-with-review (aqd-numbered 30)
      (aqd-numbered 30 '((5 . "five") (15 . "fifteen") (25 . "x")))
    (aqd-choose "-line 5" "+x")
    (agent-q-diff-accept-hunk)
    (aqd-in-target (undo-boundary) (undo-only))
    (should (equal (aqd-target) (aqd-numbered 30)))))

(ert-deftest aqd-commands-lost-hunk-is-not-applied-already ()
  "The file has not got the hunk's lines, as the sign says."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-accept 1)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "c2" "c3") (agent-q-diff-edit-finish))
    (set-buffer (aqd-diff-buffer))
    (aqd-in-target (undo-boundary) (undo-only))
    (should (equal (aqd-sign 1) "[APPLIED, edited, but changed in the file since]"))
    (aqd-goto-hunk 1)
    (should-not (equal "Hunk applied already" (agent-q-diff-accept-hunk)))))

(ert-deftest aqd-commands-ruling-3-spc-accepts-pending-and-rejected ()
  (aqd-with-forty-lines
    (should (equal "accepted" (aqd-three-review "SPC n r p SPC q")))
    (should (equal (aqd-disk) (aqd-three 1 2)))))

(ert-deftest aqd-commands-ruling-3-spc-on-applied-takes-back-the-mark-alone ()
  (aqd-with-forty-lines
    (let ((result (aqd-result (car aqd-three) (cdr aqd-three) "SPC SPC q")))
      (should (equal "rejected" (plist-get result :decision)))
      (should (equal 1 (plist-get result :in-file))))
    (should (equal (aqd-disk) (aqd-three 1)))))

(ert-deftest aqd-commands-ruling-3-option-makes-spc-unapply ()
  (aqd-with-forty-lines
    (let ((agent-q-diff-toggle-unapplies t))
      (should (equal "rejected" (aqd-three-review "SPC SPC q"))))
    (should (equal (aqd-disk) (aqd-three)))))

(ert-deftest aqd-commands-ruling-3-u-takes-out-in-any-order ()
  (aqd-with-forty-lines
    (should (equal "accepted" (aqd-three-review "a a a p p u n n u q")))
    (should (equal (aqd-disk) (aqd-three 2)))))

(ert-deftest aqd-commands-ruling-3-u-refuses-a-changed-text ()
  (aqd-with-forty-lines
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (aqd-goto-hunk 1)
                (agent-q-diff-accept-hunk)
                (with-current-buffer (find-buffer-visiting aqd-file)
                  (goto-char (point-min))
                  (search-forward "LINE 5")
                  (insert " and more"))
                (should-not (agent-q-diff-unapply-hunk))
                (should (equal (alist-get (aqd-goto-hunk 1)
                                          sly-agent-q-diff--hunk-states)
                               'applied))
                (agent-q-diff-finish)))
    (with-current-buffer (find-buffer-visiting aqd-file)
      (should (string-search "LINE 5 and more\n" (buffer-string))))))

;;;; All at once

(ert-deftest aqd-commands-ruling-4-never-a-rejected-one ()
  (aqd-with-forty-lines
    (should (equal "accepted" (aqd-three-review "n r C-c C-c")))
    (should (equal (aqd-disk) (aqd-three 1 3)))))

(ert-deftest aqd-commands-ruling-4-stays-open-and-says-which-failed ()
  (aqd-with-file (aqd-numbered 40 '((20 . "other")))
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (agent-q-diff-accept-all)
                (should-not sly-agent-q-diff--decision)
                (should (equal (agent-q-diff-buffer-hunk-at-point) 1))
                (should (equal (aqd-signs) '((1 . "[APPLIED]")
                                             (2 . "[DOES NOT APPLY]")
                                             (3 . "[APPLIED]"))))
                (agent-q-diff-finish)))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "LINE 5") (20 . "other")
                                                 (35 . "LINE 35")))))))

(ert-deftest aqd-commands-ruling-4-with-nothing-pending-finishes ()
  (aqd-with-forty-lines
    (should (equal "rejected" (aqd-three-review "r r r C-c C-c")))
    (should (equal (aqd-disk) (aqd-three)))))

(ert-deftest aqd-commands-ruling-5-rejected-even-if-some-was-applied ()
  (aqd-with-forty-lines
    (let ((message (aqd-play "a C-c C-k"
                             (lambda ()
                               (agent-q-diff-tools-propose-file-edit
                                aqd-file (car aqd-three) (cdr aqd-three) "d")))))
      (should (string-prefix-p "✗ REJECTED" message))
      (should (string-search "1 of 3 hunks is in the file" message)))
    (should (equal (aqd-disk) (aqd-three 1)))))

;;;; Bare buffers

(ert-deftest aqd-commands-toggling-a-mark-needs-no-target ()
  (dolist (diff (list aqd-bare-diff-of-two "@@ -1,9 +1,9 @@\n-a\n+b\n"))
    (with-temp-buffer
      (insert diff)
      (sly-agent-q-diff-mode)
      (let ((position (aqd-goto-hunk 1)))
        (setf (alist-get position sly-agent-q-diff--hunk-states) 'applied)
        (sly-agent-q-diff-toggle-hunk)
        (should-not (alist-get position sly-agent-q-diff--hunk-states))))))

(ert-deftest aqd-commands-ruling-14-commands-work-in-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written-diff
      (let ((second (aqd-goto-hunk 2)))
        (sly-agent-q-diff-accept-hunk)
        (should (eq 'applied (alist-get second sly-agent-q-diff--hunk-states))))
      (let ((first (aqd-goto-hunk 1)))
        (sly-agent-q-diff-reject-hunk)
        (should (eq 'rejected (alist-get first sly-agent-q-diff--hunk-states))))
      (sly-agent-q-diff-finish)
      (should (equal "accepted" sly-agent-q-diff--decision))
      (should (equal (with-current-buffer (find-buffer-visiting aqd-file)
                       (buffer-string))
                     (aqd-numbered 10 '((8 . "line 8\nline 8.5"))))))))

(ert-deftest aqd-commands-ruling-14-all-at-once-in-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written-diff
      (sly-agent-q-diff-accept-all)
      (should (equal "accepted" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-numbered 10 '((2 . "LINE 2")
                                                 (8 . "line 8\nline 8.5"))))))
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written-diff
      (sly-agent-q-diff-reject-all)
      (should (equal "rejected" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-numbered 10)))))

;;;; Moving on

(ert-deftest aqd-commands-a-hunk-out-of-sight-is-not-accepted-unseen ()
  (aqd-with-forty-lines
    (aqd-call-with-three
     (lambda ()
       (aqd-goto-hunk 1)
       (diff-restrict-view)
       (aqd-press "a")
       (should-not (buffer-narrowed-p))
       (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
       (agent-q-diff-finish)))))

(ert-deftest aqd-commands-moving-on-does-not-hang-on-what-message-returns ()
  (aqd-with-forty-lines
    (cl-letf (((symbol-function 'message) #'ignore))
      (aqd-call-with-three (lambda ()
                             (aqd-press "a a")
                             (agent-q-diff-finish))))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five") '(20 . "twenty"))))))

(ert-deftest aqd-commands-finishes-with-the-last-hunk-if-so-wished ()
  (let ((agent-q-diff-finish-when-decided t))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (aqd-in-diff review
        (agent-q-diff-accept-hunk t)
        (should-not aqd-answers)
        (agent-q-diff-reject-hunk t))
      (should (equal (aqd-answer :status) '(partial))))))

(provide 'agent-q-diff-commands-test)
;;; agent-q-diff-commands-test.el ends here
