;;; exits-test.el --- Every way out of a review  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each test opens the same proposal three times, from a command, from a
;; process filter and from a timer, takes one way out, and looks that the
;; caller was answered, the file is whole and Emacs is as it was.

;;; Code:

(require 'agent-q-diff-tmux)

(defun exits-by (answer changed leave)
  "Take the way out of a review for which LEAVE, a function, presses the keys.
ANSWER is a `pcase' pattern of what the caller gets, CHANGED the list of
the lines that are changed in the file afterwards."
  (e2e-with-emacs
    (dolist (way '(key filter timer))
      (let ((name (format "target-%s" way)))
        (e2e-propose way way (e2e-proposal name))
        (funcall leave)
        (should (equal (list way (exits-answer answer changed))
                       (list way (e2e-answer way))))
        (should (equal (e2e-read name) (apply #'e2e-text changed)))
        (e2e-should-be-as-found)))))

(defun exits-answer (answer changed)
  "Return ANSWER; that of a review that was left says what is in the file.
CHANGED are the lines of those hunks."
  (pcase answer
    (`(:error ,symbol ,reason)
     (list :error symbol
           (concat reason (if changed
                              (format "; %d of 3 hunks is in the file" (length changed))
                            "; none of it is in the file"))))
    (_ answer)))

(defconst exits-killed
  '(:error agent-q-diff-cancelled "its buffer was killed")
  "Answer to a caller whose diff buffer was killed.")

(defconst exits-left
  '(:error agent-q-diff-cancelled "the user left it undecided")
  "Answer to a caller whose review was left.")

;;;; Decided

(ert-deftest e2e-exit-q-with-a-hunk-applied ()
  (exits-by '(:ok "accepted") '(20)
            (lambda () (e2e-keys "r a r q"))))

(ert-deftest e2e-exit-q-with-every-hunk-rejected ()
  (exits-by '(:ok "rejected") '()
            (lambda () (e2e-keys "r r r q"))))

(ert-deftest e2e-exit-q-with-pending-hunks-answered-y ()
  (exits-by '(:ok "accepted") '(5)
            (lambda ()
              (e2e-keys "a q")
              (e2e-see "2 undecided hunks stay out of the file.  Finish\\? ")
              (e2e-keys "y"))))

(ert-deftest e2e-exit-q-with-a-pending-hunk-answered-n ()
  (exits-by '(:ok "rejected") '()
            (lambda ()
              (e2e-keys "r r q")
              (e2e-see "1 undecided hunk stays out of the file.  Finish\\? ")
              (e2e-keys "n")
              (e2e-see "Not finished")
              (should (= (e2e-eval '(recursion-depth)) 1))
              (e2e-keys "r q"))))

(ert-deftest e2e-exit-q-question-left-by-C-g ()
  (exits-by '(:ok "accepted") '(5 20)
            (lambda ()
              (e2e-keys "a q")
              (e2e-see "Finish\\? ")
              (e2e-keys "C-g")
              (e2e-see-gone "Finish\\? ")
              (e2e-keys "a r q"))))

(ert-deftest e2e-exit-accept-all ()
  (exits-by '(:ok "accepted") '(5 20 35)
            (lambda () (e2e-keys "C-c C-c"))))

(ert-deftest e2e-exit-accept-all-leaves-out-rejected ()
  (exits-by '(:ok "accepted") '(20 35)
            (lambda () (e2e-keys "r C-c C-c"))))

(ert-deftest e2e-exit-reject-all ()
  (exits-by '(:ok "rejected") '()
            (lambda () (e2e-keys "C-c C-k"))))

(ert-deftest e2e-exit-reject-all-keeps-applied ()
  (exits-by '(:ok "rejected") '(5)
            (lambda () (e2e-keys "a C-c C-k"))))

(ert-deftest e2e-exit-by-exit-recursive-edit-accepted ()
  (exits-by '(:ok "accepted") '(5)
            (lambda () (e2e-keys "a C-M-c"))))

(ert-deftest e2e-exit-by-exit-recursive-edit-rejected ()
  (exits-by '(:ok "rejected") '()
            (lambda () (e2e-keys "C-M-c"))))

(ert-deftest e2e-exit-by-a-timer-that-accepts-all ()
  (exits-by '(:ok "accepted") '(5 20 35)
            (lambda ()
              (e2e-eval '(ignore (run-at-time
                                  0 nil
                                  (lambda ()
                                    (with-current-buffer "*Agent-Q Diff*"
                                      (sly-agent-q-diff-accept-all)))))))))

;;;; Cancelled

(ert-deftest e2e-exit-by-abort-recursive-edit ()
  (exits-by exits-left '(5)
            (lambda () (e2e-keys "a C-]"))))

(ert-deftest e2e-exit-by-top-level ()
  (exits-by exits-left '(5)
            (lambda ()
              (e2e-keys "a M-x")
              (e2e-see "^M-x")
              (e2e-type "top-level")
              (e2e-keys "RET"))))

(ert-deftest e2e-exit-by-killing-the-buffer ()
  (exits-by exits-killed '(5)
            (lambda ()
              (e2e-keys "a C-x k")
              (e2e-see "Kill buffer (default \\*Agent-Q Diff\\(?:: target\\)?\\*)")
              (e2e-keys "RET")
              (e2e-see "1 of 3 hunks decided.  Cancel the review of target-[a-z]+\\? ")
              (e2e-keys "y")
              (e2e-see "Cancelled; 1 hunk stays in target-[a-z]+; M-x agent-q-diff-look-again shows it"))))

(ert-deftest e2e-exit-by-killing-the-buffer-before-anything-is-decided ()
  (exits-by exits-killed '()
            (lambda ()
              (e2e-keys "C-x k")
              (e2e-see "Kill buffer (default \\*Agent-Q Diff\\(?:: target\\)?\\*)")
              (e2e-keys "RET"))))

(ert-deftest e2e-no-exit-by-a-buffer-that-is-not-killed-after-all ()
  (exits-by '(:ok "accepted") '(5)
            (lambda ()
              (e2e-keys "a C-x k")
              (e2e-see "Kill buffer (default \\*Agent-Q Diff\\(?:: target\\)?\\*)")
              (e2e-keys "RET")
              (e2e-see "Cancel the review of")
              (e2e-keys "n")
              (e2e-see "Cancel the review of .*(y or n) n")
              (e2e-keys "r r q"))))

(ert-deftest e2e-exit-by-a-timer-that-kills-the-buffer ()
  (exits-by exits-killed '(5)
            (lambda ()
              (e2e-keys "a")
              (e2e-see "Hunk [1-9] applied; ")
              (e2e-eval '(ignore (run-at-time 0 nil #'kill-buffer
                                              "*Agent-Q Diff*"))))))

(ert-deftest e2e-exit-by-a-timer-in-the-middle-of-a-key ()
  (exits-by exits-killed '()
            (lambda ()
              (e2e-keys "C-x")
              (e2e-wait-for (equal (e2e-eval '(key-description
                                               (this-single-command-keys)))
                                   "C-x"))
              (e2e-eval '(ignore (run-at-time 0 nil #'kill-buffer
                                              "*Agent-Q Diff*"))))))

(ert-deftest e2e-exit-by-killing-the-buffer-from-a-filter ()
  (exits-by exits-killed '()
            (lambda ()
              (e2e-call 'filter (gensym "kill") '(kill-buffer "*Agent-Q Diff*")))))

;;;; Where no recursive edit waits

(defun exits-unwaited (answer changed leave)
  "Take the way out of a review that Emacs does not wait for.
ANSWER is what the callback gets: status and reason.  CHANGED and LEAVE
are as for `exits-by'; the diff buffer is selected before LEAVE is called."
  (e2e-with-emacs
    (e2e-write "target" (e2e-text))
    (e2e-eval `(ignore (agent-q-diff-review
                        ,(e2e-path "target") ,(e2e-text) ,(e2e-text 5 20 35) "Shout"
                        (lambda (result)
                          (inside-write (list 'unwaited (plist-get result :status)
                                              (plist-get result :reason))
                                        "answers" t)))))
    (e2e-see (e2e-header "[1-9]/3" 0))
    (e2e-keys "C-x o")
    (e2e-see-cursor-at "^@@ -2,")
    (funcall leave)
    (should (equal answer (e2e-answer 'unwaited)))
    (should (equal (e2e-read "target") (apply #'e2e-text changed)))
    (should (equal 0 (e2e-eval '(recursion-depth))))
    (should (equal 0 (e2e-eval '(length (agent-q-diff-open-reviews)))))))

(ert-deftest e2e-exit-unwaited-by-exit-recursive-edit ()
  (exits-unwaited '(partial nil) '(5) (lambda () (e2e-keys "a C-M-c"))))

(ert-deftest e2e-exit-unwaited-by-abort-recursive-edit ()
  (exits-unwaited '(cancelled "the user left it undecided") '(5)
                  (lambda ()
                    (e2e-keys "a C-]")
                    (e2e-see "Cancelled; 1 hunk stays in target; M-x agent-q-diff-look-again shows it"))))

(ert-deftest e2e-exit-unwaited-by-top-level ()
  (exits-unwaited '(cancelled "the user left it undecided") '(5)
                  (lambda ()
                    (e2e-keys "a M-x")
                    (e2e-see "^M-x")
                    (e2e-type "top-level")
                    (e2e-keys "RET")
                    (e2e-see "^Cancelled; 1 hunk stays in target;"))))

(ert-deftest e2e-exit-unwaited-by-killing-the-buffer ()
  (exits-unwaited '(cancelled "its buffer was killed") '(5)
                  (lambda ()
                    (e2e-keys "a C-x k")
                    (e2e-see "Kill buffer (default \\*Agent-Q Diff\\(?:: target\\)?\\*)")
                    (e2e-keys "RET")
                    (e2e-see "1 of 3 hunks decided.  Cancel the review of target\\? ")
                    (e2e-keys "y"))))

(ert-deftest e2e-top-level-elsewhere-leaves-a-review-that-nothing-waits-for ()
  (exits-unwaited '(partial nil) '(5)
                  (lambda ()
                    (e2e-keys "a C-x o M-x")
                    (e2e-see "^M-x")
                    (e2e-type "top-level")
                    (e2e-keys "RET")
                    (e2e-see "Back to top level")
                    (should (equal 1 (e2e-eval '(length (agent-q-diff-open-reviews)))))
                    (e2e-keys "C-x o C-M-c"))))

;;;; No exits

(ert-deftest e2e-no-exit-by-C-g ()
  (exits-by '(:ok "accepted") '(5)
            (lambda ()
              (e2e-press "a")
              (e2e-see "1 applied")
              (mapc #'e2e-press '("C-g" "C-g"))
              (e2e-see "^Quit")
              (should (= (e2e-eval '(recursion-depth)) 1))
              (e2e-see-cursor-at "^@@ -17")
              (e2e-keys "r r q"))))

(ert-deftest e2e-no-exit-by-ESC-ESC-ESC ()
  (exits-by '(:ok "accepted") '(5)
            (lambda ()
              (e2e-keys "a ESC ESC ESC r")
              (e2e-see (e2e-header "[1-9]/3" 1 1 1))
              (should (= (e2e-eval '(recursion-depth)) 1))
              (e2e-keys "r q"))))

;;;; What the tests leave

(ert-deftest e2e-the-emacs-under-test-leaves-no-file ()
  (let* ((temporary-file-directory (file-name-as-directory (make-temp-file "aqd" t)))
         ;; Nothing is compiled to native code there yet.
         (e2e-environment (list (concat "TMPDIR=" temporary-file-directory)
                                (concat "HOME=" temporary-file-directory "home"))))
    (unwind-protect
        (progn
          (make-directory (expand-file-name "home" temporary-file-directory))
          (e2e-with-emacs
            (e2e-propose 'key 'call (e2e-proposal "target"))
            (e2e-keys "C-c C-c")
            (e2e-answer 'call))
          (should (equal (directory-files temporary-file-directory nil
                                          directory-files-no-dot-files-regexp)
                         '("home"))))
      (delete-directory temporary-file-directory t))))

(provide 'exits-test)
;;; exits-test.el ends here
