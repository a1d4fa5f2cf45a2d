;;; agent-q-diff-finish-test.el --- Finishing or leaving a review  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)

;;;; Finishing

(ert-deftest aqd-finish-with-an-unfinished-text-asks ()
  "Accepting all while a text waits in a small buffer asks first."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (aqd-retype "c2" "mine")
    (set-buffer (aqd-diff-buffer))
    (dolist (command '(agent-q-diff-accept-all agent-q-diff-reject-all))
      (let ((noninteractive nil)
            (asked nil))
        (cl-letf (((symbol-function 'y-or-n-p)
                   (lambda (prompt) (setq asked prompt) nil)))
          (should-error (funcall command t) :type 'user-error)
          (should (string-search "is not finished" asked)))))
    (should (equal (aqd-disk) aqd-letters-original))
    (should-not agent-q-diff-buffer-decision)))

(ert-deftest aqd-finish-ruling-6-a-person-is-asked-about-pending-hunks ()
  (aqd-with-forty-lines
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (let (asked)
                  (cl-letf (((symbol-function 'y-or-n-p)
                             (lambda (question) (setq asked question) nil))
                            (noninteractive nil))
                    (should-error (call-interactively #'agent-q-diff-finish)
                                  :type 'user-error)
                    (should (equal "3 undecided hunks stay out of the file.  Finish? " asked))
                    (should-not sly-agent-q-diff--decision)
                    (setq asked nil)
                    (let ((agent-q-diff-confirm-finish nil))
                      (call-interactively #'agent-q-diff-finish))
                    (should-not asked)
                    (setq sly-agent-q-diff--decision nil)
                    (agent-q-diff-finish)
                    (should-not asked)
                    (should (equal "rejected" sly-agent-q-diff--decision))))))))

(ert-deftest aqd-finish-the-question-says-what-is-in-the-file ()
  (aqd-with-shown-review (car aqd-three) (cdr aqd-three)
    (aqd-press "a")
    (let ((in-file (aqd-target)))
      (should (equal "2 undecided hunks stay out of the file."
                     (agent-q-diff-finish--pending-text 2)))
      ;; The first hunk is taken out by hand, and the second put in.
      (aqd-in-target
        (erase-buffer)
        (insert (car aqd-three)))
      (should-not (equal in-file (aqd-target)))
      (aqd-press "n")
      (agent-q-diff-accept-hunk)
      (agent-q-diff-toggle-hunk)
      (should (equal "2 undecided hunks stay as they are."
                     (agent-q-diff-finish--pending-text 2))))))

(ert-deftest aqd-finish-only-q-closes-help ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (save-window-excursion
      (pop-to-buffer (agent-q-diff-session-buffer review))
      (aqd-press "?")
      (should (string-prefix-p "Closed the help" (aqd-said (aqd-press "q"))))
      (should-not (agent-q-diff-session-outcome review))
      (aqd-press "?")
      (aqd-press "C-c C-c")
      (should (equal (aqd-answer :status) '(accepted))))))

(ert-deftest aqd-finish-ruling-6-basis-of-the-decision-is-an-option ()
  (dolist (case '((marks . "rejected") (facts . "accepted")))
    (aqd-with-forty-lines
      (let ((agent-q-diff-decision-basis (car case)))
        (should (equal (cdr case) (aqd-review-three "SPC SPC q")))))))

;;;; By key

(defun aqd-finish-press (review keys)
  "Press KEYS in the diff buffer of REVIEW, as if it was selected."
  (save-window-excursion
    (pop-to-buffer (agent-q-diff-session-buffer review))
    (aqd-press keys)))

(ert-deftest aqd-finish-exit-key-finishes ()
  (pcase-dolist (`(,keys . ,status) '(("C-M-c" . cancelled) ("a C-M-c" . partial)
                                      ("a a C-M-c" . accepted) ("r C-M-c" . rejected)))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (aqd-finish-press review keys)
      (should (equal (aqd-answer :status) (list status))))))

(ert-deftest aqd-finish-abort-key-cancels ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should (string-search
             "Cancelled; 1 hunk stays in target.txt; M-x agent-q-diff-look-again shows it"
             (aqd-said (aqd-finish-press review "a C-]"))))
    (should (equal (aqd-answer :status :decision :in-file :reason)
                   '(cancelled nil 1 "the user left it undecided")))
    (should-error (aqd-in-diff review (agent-q-diff-abort)) :type 'user-error)))

(ert-deftest aqd-finish-exit-keys-work-under-agent-q-s-names ()
  (let ((aqd-answers nil))
    (aqd-with-file aqd-original-of-two
      (aqd-finish-press (aqd-begin-review aqd-original-of-two aqd-modified-of-two
                                          :mode #'sly-agent-q-diff-mode)
                        "a C-]")
      (should (equal (aqd-answer :status :in-file) '(cancelled 1))))))

(ert-deftest aqd-finish-exit-keys-leave-a-review-that-is-looked-at-again ()
  (dolist (key '("C-M-c" "C-]"))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (agent-q-diff-accept review 0)
      (agent-q-diff-end review)
      (save-window-excursion
        (let ((buffer (agent-q-diff-look-again)))
          (aqd-press key)
          (should-not (buffer-live-p buffer))))
      (should (equal (aqd-answer :status :in-file) '(partial 1)))
      (should (memq review (agent-q-diff-past-reviews))))))

(ert-deftest aqd-finish-exit-keys-leave-the-recursive-edit ()
  "A review that Emacs waits for is the business of the recursive edit."
  (dolist (case '(("a C-]" . agent-q-diff-cancelled) ("a C-M-c" . :status)))
    (aqd-with-file aqd-original-of-two
      (should (eq (cdr case)
                  (car (aqd-result aqd-original-of-two aqd-modified-of-two (car case))))))))

(ert-deftest aqd-finish-top-level-cancels ()
  "Emacs runs `post-command-hook' after that command."
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-in-diff review
      (let ((this-command 'next-line))
        (run-hooks 'post-command-hook))
      (should-not aqd-answers)
      ;; Another mode must not make it forget.
      (fundamental-mode)
      (let ((this-command 'top-level))
        (run-hooks 'post-command-hook)))
    (should (equal (aqd-answer :status :reason)
                   '(cancelled "the user left it undecided")))))

;;;; Failures

(ert-deftest aqd-finish-ruling-7-could-not-be-applied ()
  (aqd-with-file "something else\n"
    (should (eq 'agent-q-diff-not-applied (car (aqd-review-three "a q"))))
    (let ((message (aqd-propose-and-press aqd-file (car aqd-three) (cdr aqd-three)
                                          "a q")))
      (should (string-prefix-p "Error showing diff for" message))
      (should-not (string-search "REJECTED" message)))
    (should (equal (aqd-disk) "something else\n"))))

(ert-deftest aqd-finish-ruling-7-rejecting-what-failed-is-a-decision ()
  (aqd-with-file "something else\n"
    (should (equal "rejected" (aqd-review-three "a r q")))))

;;;; Bare buffers

(ert-deftest aqd-finish-a-bare-buffer-always-gets-a-decision ()
  (dolist (diff (list aqd-bare-diff-of-two "@@ -1,9 +1,9 @@\n-a\n+b\n" ""))
    (dolist (path (list nil "/nowhere/at/all"))
      (dolist (command '(sly-agent-q-diff-finish sly-agent-q-diff-accept-all
                         sly-agent-q-diff-reject-all))
        (with-temp-buffer
          (insert diff)
          (sly-agent-q-diff-mode)
          (let ((agent-q-diff-create-directories nil))
            (setq sly-agent-q-diff--path path)
            (funcall command)
            (should (equal "rejected" sly-agent-q-diff--decision))))))))

(ert-deftest aqd-finish-q-leaves-the-recursive-edit-around-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (let ((decision nil))
      (aqd-play "q"
                (lambda ()
                  (with-temp-buffer
                    (insert aqd-bare-diff-of-two)
                    (sly-agent-q-diff-mode)
                    (save-window-excursion
                      (switch-to-buffer (current-buffer))
                      (recursive-edit)
                      (setq decision sly-agent-q-diff--decision)))))
      (should (equal "rejected" decision)))))

(provide 'agent-q-diff-finish-test)
;;; agent-q-diff-finish-test.el ends here
