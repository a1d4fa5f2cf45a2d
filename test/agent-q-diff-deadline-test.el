;;; agent-q-diff-deadline-test.el --- How long an agent goes on waiting  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-deadline)
(require 'agent-q-diff-list)

(defun aqd-deadline-in (review seconds)
  "Let REVIEW have SECONDS left, and show that; return what the user is told."
  (setf (agent-q-diff-session-deadline review) (time-add nil seconds))
  (aqd-said (agent-q-diff-deadline--update)))

(defun aqd-deadline-header (review)
  "Return the header line of REVIEW."
  (buffer-local-value 'header-line-format (agent-q-diff-session-buffer review)))

(defmacro aqd-deadline-with-review (review &rest body)
  "Run BODY with REVIEW bound to a review whose agent is called Claude."
  (declare (indent 1) (debug t))
  `(aqd-with-file aqd-original-of-two
     (let ((,review (aqd-begin-review aqd-original-of-two aqd-modified-of-two
                                      :agent "Claude")))
       (unwind-protect (progn ,@body)
         (agent-q-diff-cancel ,review)
         (agent-q-diff-deadline--update)))))

(ert-deftest aqd-deadline-is-shown-in-the-last-minutes-only ()
  (aqd-deadline-with-review review
    (pcase-dolist (`(,seconds ,minutes)
                   '((86390 nil) (601 nil) (599 10) (541 10) (539 9) (61 2) (59 1) (0.1 1)))
      (aqd-deadline-in review seconds)
      (let ((text (format " %s min left ·" minutes)))
        (if minutes
            (should (string-prefix-p text (aqd-deadline-header review)))
          (should-not (string-search "min left" (aqd-deadline-header review))))
        (should (eq (and minutes t)
                    (and (string-search (format "%s min left, " minutes)
                                        (agent-q-diff-list--progress review))
                         t)))))))

(ert-deftest aqd-deadline-is-said-twice ()
  (aqd-deadline-with-review review
    (let (said)
      (dolist (seconds '(700 599 598 400 61 59 30))
        (when-let ((text (aqd-deadline-in review seconds)))
          (push text said)))
      (should (equal (seq-filter (lambda (text) (string-search "waits only" text)) said)
                     '("Claude waits only 1 more minute for your decision on target.txt"
                       "Claude waits only 10 more minutes for your decision on target.txt"))))))

(ert-deftest aqd-deadline-that-is-near-at-once-is-not-said-over-the-announcement ()
  (aqd-deadline-with-review review
    (should-not (aqd-said (agent-q-diff-deadline-begin review 30)))
    (should (string-prefix-p " 1 min left ·" (aqd-deadline-header review)))))

;; An agent that no longer waits for its hook may make its edit all the same.
(ert-deftest aqd-deadline-of-one-that-is-gone-withdraws-nothing ()
  (dolist (seconds '(0 60))
    (aqd-with-file aqd-original-of-two
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two
                                      :agent "Claude")))
        (agent-q-diff-deadline-begin review seconds)
        (should (string-prefix-p "Claude no longer waits for the review of target.txt"
                                 (aqd-said (agent-q-diff-cancel review))))))))

(ert-deftest aqd-deadline-is-looked-at-only-when-it-changes ()
  (aqd-deadline-with-review review
    (pcase-dolist (`(,seconds ,wanted) '((86400 85800) (600.5 0.5) (599 59.1) (61 1.1)))
      (should (< (abs (- wanted (agent-q-diff-deadline--change-after seconds))) 0.01)))
    (should-not (agent-q-diff-deadline--change-after 60))
    (agent-q-diff-deadline-begin review 700)
    (should (memq agent-q-diff-deadline--timer timer-list))
    (agent-q-diff-cancel review)
    (agent-q-diff-deadline--update)
    (should-not agent-q-diff-deadline--timer)))

(provide 'agent-q-diff-deadline-test)
;;; agent-q-diff-deadline-test.el ends here
