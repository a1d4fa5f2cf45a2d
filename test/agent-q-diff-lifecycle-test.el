;;; agent-q-diff-lifecycle-test.el --- Finishing or leaving a review  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One review, one answer: whatever ends it, the callback is called once,
;; and nothing is left behind.

;;; Code:

(require 'cl-lib)
(require 'ert-x)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-list)

;;; Finishing or leaving a review by a command

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
      ;; That of what one does most, and that of all keys.
      (aqd-press "? q")
      (should-not (agent-q-diff-session-outcome review))
      (aqd-press "? ?")
      (should (string-prefix-p "Closed the help" (aqd-said (aqd-press "q"))))
      (should-not (agent-q-diff-session-outcome review))
      (aqd-press "? ?")
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
             (concat "Cancelled; 1 hunk stays in target.txt" aqd-look-again)
             (aqd-said (aqd-finish-press review "a C-]"))))
    (should (equal (aqd-answer :status :decision :in-file :reason)
                   `(cancelled nil 1 ,aqd-left-undecided)))
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
                   `(cancelled ,aqd-left-undecided)))))

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

;;; How long an agent goes on waiting

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

;;; Beginning and ending

;;;; Every end

(ert-deftest aqd-lifecycle-killed ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (kill-buffer (agent-q-diff-session-buffer review))
    (should (equal (aqd-answer :status :decision :reason)
                   '(cancelled nil "its buffer was killed")))
    (should-not (string-match-p "[Rr]ejected\\|REJECTED" (car (aqd-answer :message))))))

(ert-deftest aqd-lifecycle-cancelled-by-program ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (should (agent-q-diff-cancel review))
    (should-not (agent-q-diff-cancel review))
    (should (equal (aqd-answer :status :in-file) '(cancelled 1)))))

(ert-deftest aqd-lifecycle-emacs-killed ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should (agent-q-diff-session-buffer review))
    (should (memq #'agent-q-diff-lifecycle--emacs-killed kill-emacs-hook))
    (run-hooks 'kill-emacs-hook)
    (should (equal (aqd-answer :status :reason) '(cancelled "Emacs exited")))))

;;;; Callbacks

(defun aqd-lifecycle-chain (end)
  "Call END with a review whose callback begins another; return that."
  (let* (next
         (one (aqd-begin-review-telling
               (lambda (_)
                 (setq next (aqd-begin-review-telling
                             (lambda (result) (push result aqd-answers))))))))
    (funcall end one)
    next))

(ert-deftest aqd-lifecycle-callback-begins-another-review ()
  (dolist (end (list (lambda (review)
                       (kill-buffer (agent-q-diff-session-buffer review)))
                     #'agent-q-diff-cancel
                     #'agent-q-diff-end))
    (let ((aqd-answers nil))
      (aqd-with-file aqd-original-of-two
        (save-window-excursion
          (switch-to-buffer "*scratch*")
          (let ((next (aqd-lifecycle-chain end)))
            (should (get-buffer-window (agent-q-diff-session-buffer next)))
            (should (equal (agent-q-diff-open-reviews) (list next)))
            (aqd-in-diff next (agent-q-diff-accept-all)))
          (should (equal (aqd-answer :status) '(accepted)))))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-lifecycle-callback-that-fails-or-is-nil ()
  (aqd-with-file aqd-original-of-two
    (let* ((n 0)
           (review (agent-q-diff-review aqd-file aqd-original-of-two
                                        aqd-modified-of-two nil
                                        (lambda (_) (cl-incf n) (error "Broken")))))
      (agent-q-diff-cancel review)
      (should (= n 1)))
    (agent-q-diff-cancel (agent-q-diff-review aqd-file aqd-original-of-two
                                              aqd-modified-of-two nil nil))
    (aqd-should-leave-nothing)))

;;;; Functions of users and packages

(ert-deftest aqd-lifecycle-beginning-and-end-are-said-whatever-fails ()
  (let* ((said '())
         (agent-q-diff-review-begun-functions
          (list (lambda (_) (error "Broken"))
                (lambda (review)
                  (push (list 'begun (agent-q-diff-session-path review)
                              (agent-q-diff-session-agent review)
                              (agent-q-diff-session-id review))
                        said))))
         (agent-q-diff-review-ended-functions
          (list (lambda (&rest _) (signal 'quit nil))
                (lambda (review result)
                  (push (list 'ended (agent-q-diff-session-id review)
                              (plist-get result :status) (plist-get result :in-file))
                        said)))))
    (pcase-dolist (`(,end . ,status) `((agent-q-diff-cancel . cancelled)
                                       (agent-q-diff-end . accepted)
                                       (,(lambda (review)
                                           (kill-buffer (agent-q-diff-session-buffer review)))
                                        . cancelled)
                                       (,(lambda (_) (run-hooks 'kill-emacs-hook)) . cancelled)))
      (aqd-with-file aqd-original-of-two
        (let* ((said-by-caller nil)
               (review (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two
                                            nil
                                            (lambda (_)
                                              (setq said-by-caller (length said))
                                              (error "Broken"))
                                            :agent "A" :id 7)))
          (should (equal said `((begun ,aqd-file "A" 7))))
          (agent-q-diff-accept review 0)
          (agent-q-diff-accept review 1)
          (funcall end review)
          ;; Who waits is answered first.
          (should (eql 1 said-by-caller))
          (should (equal (car said) `(ended 7 ,status 2)))
          (should (= 2 (length said)))
          (setq said nil))
        (aqd-should-leave-nothing)))))

(ert-deftest aqd-lifecycle-a-function-that-fails-is-named ()
  (let ((agent-q-diff-review-begun-functions '(aqd-fail)))
    (ert-with-message-capture said
      (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
        (agent-q-diff-cancel review))
      (should (string-search
               "A function of ‘agent-q-diff-review-begun-functions’ failed: Broken"
               (subst-char-in-string ?\' ?’ (subst-char-in-string ?` ?‘ said)))))))

(ert-deftest aqd-lifecycle-a-callback-that-throws-keeps-no-end-secret ()
  (let* ((ended nil)
         (agent-q-diff-review-ended-functions
          (list (lambda (_ result) (setq ended (plist-get result :status))))))
    (aqd-with-file aqd-original-of-two
      (catch 'elsewhere
        (agent-q-diff-cancel (aqd-begin-review-telling (lambda (_) (throw 'elsewhere nil)))))
      (should (eq 'cancelled ended))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-lifecycle-a-function-may-end-what-has-just-begun ()
  (let ((agent-q-diff-review-begun-functions '(agent-q-diff-cancel))
        (aqd-answers nil))
    (aqd-with-file aqd-original-of-two
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two)))
        (should (agent-q-diff-session-outcome review))
        (should-not (get-buffer-window (agent-q-diff-session-buffer review)))
        (should (equal '(cancelled) (aqd-answer :status))))
      (should-error (agent-q-diff-review-and-wait aqd-file aqd-original-of-two
                                                  aqd-modified-of-two "d")
                    :type 'agent-q-diff-cancelled)
      (aqd-should-leave-nothing))))

(ert-deftest aqd-lifecycle-what-cannot-begin-neither-begins-nor-ends ()
  (let* ((said nil)
         (note (lambda (&rest _) (setq said t)))
         (agent-q-diff-review-begun-functions (list note))
         (agent-q-diff-review-ended-functions (list note)))
    (aqd-with-file "same\n"
      (agent-q-diff-review aqd-file "same\n" "same\n" nil #'ignore)
      (should-not said))))

;;;; Hooks that fail

(ert-deftest aqd-lifecycle-hook-fails-when-the-file-is-visited-at-the-end ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (kill-buffer (aqd-target-of review))
    (let ((find-file-hook '(aqd-fail)))
      (agent-q-diff-cancel review))
    (should (equal (aqd-answer :status :in-file) '(cancelled 0)))))

(ert-deftest aqd-lifecycle-hook-fails-when-the-target-is-put-away ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (with-current-buffer (aqd-target-of review)
      (add-hook 'kill-buffer-hook #'aqd-fail nil t))
    (agent-q-diff-cancel review)
    (should (equal (aqd-answer :status) '(cancelled)))
    (aqd-in-target (remove-hook 'kill-buffer-hook #'aqd-fail t))))

;;;; What is said of an end without a decision

(ert-deftest aqd-lifecycle-an-agent-that-takes-its-proposal-back-is-said ()
  (aqd-with-file aqd-original-of-two
    (dolist (case '((nil . "An agent withdrew its proposal for target.txt")
                    ("Claude Code" . "Claude Code withdrew its proposal for target.txt")
                    ("C\u202e\n" . "\"C<U+202E><U+000A>\" withdrew its proposal for target.txt")))
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two :agent (car case))))
        (should (equal (concat (cdr case) aqd-look-again)
                       (aqd-said (agent-q-diff-cancel review))))))
    (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two :agent "Claude Code")))
      (agent-q-diff-accept review 0)
      (agent-q-diff-accept review 1)
      (should (equal (concat "Claude Code withdrew its proposal for target.txt; "
                             "2 hunks stay in the file" aqd-look-again)
                     (aqd-said (agent-q-diff-cancel review)))))
    (let ((agent-q-diff-kept-reviews 0)
          (review (aqd-begin-review aqd-modified-of-two aqd-original-of-two)))
      (should (equal "An agent withdrew its proposal for target.txt"
                     (aqd-said (agent-q-diff-cancel review)))))))

(ert-deftest aqd-lifecycle-does-not-end-while-a-hunk-is-being-applied ()
  "A hook that waits on saving lets timers and connections in."
  (dolist (end (list #'agent-q-diff-cancel
                     #'agent-q-diff-end
                     (lambda (review) (kill-buffer (agent-q-diff-session-buffer review)))))
    (dolist (is-later '(nil t))
      (ert-info ((format "%s %s" end is-later))
        (let ((aqd-answers nil)
              (tried nil))
          (aqd-with-file (aqd-numbered 12)
            (let ((review (aqd-begin-review (aqd-numbered 12)
                                            (aqd-numbered 12 '((5 . "LINE 5"))))))
              (with-current-buffer (aqd-target-of review)
                (add-hook 'before-save-hook
                          (lambda ()
                            (let ((try (lambda ()
                                         (ignore-errors (funcall end review))
                                         (setq tried t))))
                              (if is-later
                                  (run-with-timer 0 nil try)
                                (funcall try))
                              (while (not tried)
                                (accept-process-output nil 0.01))))
                          nil t))
              (should (eq 'edited (agent-q-diff-accept review 0)))
              (should (equal (aqd-disk) (aqd-numbered 12 '((5 . "LINE 5")))))
              (if (eq end #'agent-q-diff-cancel)
                  (with-timeout (10 (ert-fail "It was not cancelled"))
                    (while (not aqd-answers)
                      (accept-process-output nil 0.01)))
                (should-not aqd-answers)
                (agent-q-diff-end review))
              (should (= 1 (plist-get (car aqd-answers) :in-file)))
              (should (plist-get (car aqd-answers) :saved))
              (should (= 1 (length aqd-answers))))))))))

(ert-deftest aqd-lifecycle-a-decision-is-not-commented ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should-not (aqd-said (agent-q-diff-end review)))))

(ert-deftest aqd-lifecycle-a-caller-that-is-gone-is-said ()
  (let ((agent-q-diff-when-caller-gone 'cancel)
        (agent-q-diff-call (agent-q-diff-call-make :agent "Robin" :caller 'robin)))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (agent-q-diff-accept review 0)
      (should (equal (concat "Nobody is waiting any more for the review of target.txt, "
                             "so it is cancelled; 1 hunk stays in the file" aqd-look-again)
                     (aqd-said (agent-q-diff-abandon (lambda (caller) (eq caller 'robin)))))))))

;;;; Killing the diff buffer

(defun aqd-lifecycle-kill (review command answer)
  "Kill the diff buffer of REVIEW in COMMAND, giving ANSWER to the question.
Return what was asked, or nil."
  (let ((noninteractive nil)
        (this-command command)
        asked)
    (cl-letf (((symbol-function 'y-or-n-p)
               (lambda (prompt) (setq asked prompt) answer)))
      (kill-buffer (agent-q-diff-session-buffer review)))
    asked))

(ert-deftest aqd-lifecycle-killing-the-buffer-asks-if-anything-was-decided ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-reject review 1)
    ;; The user may have turned on another mode.
    (aqd-in-diff review (fundamental-mode))
    (should (equal "1 of 2 hunks decided.  Cancel the review of target.txt? "
                   (aqd-lifecycle-kill review 'kill-buffer nil)))
    (should-not aqd-answers)
    (should (aqd-lifecycle-kill review 'kill-buffer t))
    (should (equal (aqd-answer :status) '(cancelled)))))

(ert-deftest aqd-lifecycle-killing-the-buffer-asks-for-what-is-in-the-file ()
  "The mark was taken back, and the change stays."
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (agent-q-diff-command review 'toggle 0)
    (should (equal "0 of 2 hunks decided.  Cancel the review of target.txt? "
                   (aqd-lifecycle-kill review 'kill-buffer t)))))

(ert-deftest aqd-lifecycle-killing-the-buffer-asks-nothing-else ()
  ;; Nothing is lost.
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should-not (aqd-lifecycle-kill review 'kill-buffer nil))
    (should (equal (aqd-answer :status) '(cancelled))))
  ;; A timer or a process kills it.
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (should-not (aqd-lifecycle-kill review nil nil))
    (should (equal (aqd-answer :status) '(cancelled))))
  ;; The review has ended, and its buffer is only there to be read.
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (agent-q-diff-end review)
    (should-not (aqd-lifecycle-kill review 'kill-buffer nil)))
  ;; A batch Emacs has nobody to ask.
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (let ((this-command 'kill-buffer))
      (kill-buffer (agent-q-diff-session-buffer review)))
    (should (equal (aqd-answer :status) '(cancelled))))
  ;; Looking at a review again decides nothing.
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (agent-q-diff-end review)
    (save-window-excursion
      (let ((buffer (agent-q-diff-look-again))
            (noninteractive nil)
            (this-command 'kill-buffer))
        (cl-letf (((symbol-function 'y-or-n-p) (lambda (_) (ert-fail "It asks"))))
          (kill-buffer buffer))
        (should-not (buffer-live-p buffer))))))

;;;; Leaving Emacs

(ert-deftest aqd-lifecycle-begun-while-emacs-ends-is-answered-too ()
  (aqd-with-file "a\n"
    (let* ((answers nil)
           (again (lambda (result)
                    (push (plist-get result :status) answers)
                    (when (< (length answers) 3)
                      (agent-q-diff-review aqd-file "a\n" "c\n" "d"
                                           (lambda (result)
                                             (push (plist-get result :status) answers)))))))
      (agent-q-diff-review aqd-file "a\n" "b\n" "d" again)
      (run-hooks 'kill-emacs-hook)
      (should (equal answers '(cancelled cancelled)))
      (should-not (agent-q-diff-open-reviews)))))

(ert-deftest aqd-lifecycle-leaving-emacs-asks ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (let ((noninteractive nil)
          (asked nil))
      (cl-letf (((symbol-function 'yes-or-no-p)
                 (lambda (prompt) (setq asked prompt) nil)))
        (should-not (run-hook-with-args-until-failure 'kill-emacs-query-functions)))
      (should (string-search "1 review is not decided" asked)))
    (agent-q-diff-cancel review)))

;;;; The windows

;; The diff buffer came up where the list had been, and the list then beside it.
(defun aqd-lifecycle-should-list-once (show end)
  "Check that the list is in one window once the diff buffer has left its own.
SHOW is called with the diff buffer, in the window of the list, and shows
it there; END is called in the window of the list, and ends the review."
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (save-window-excursion
      (delete-other-windows)
      (switch-to-buffer "*scratch*")
      (switch-to-buffer (get-buffer-create agent-q-diff-list-buffer-name))
      (let ((window (selected-window))
            (split-height-threshold 0)
            (window-min-height 2))
        (funcall show (agent-q-diff-session-buffer review))
        (should (eq window (selected-window)))
        (should (eq (window-buffer) (agent-q-diff-session-buffer review)))
        (agent-q-diff-list)
        (should-not (eq window (selected-window)))
        (goto-char (point-min))
        (funcall end window)
        (should (equal (list (buffer-name (window-buffer window))
                             (length (get-buffer-window-list
                                      agent-q-diff-list-buffer-name)))
                       '("*scratch*" 1)))))
    (kill-buffer agent-q-diff-list-buffer-name)))

(defun aqd-lifecycle-press-k (_window)
  "Cancel the review at point in the list."
  (cl-letf (((symbol-function 'y-or-n-p) #'always))
    (aqd-press "k")))

(defun aqd-lifecycle-show-here (buffer)
  "Show BUFFER in the selected window, as `display-buffer' may."
  (pop-to-buffer buffer '(display-buffer-same-window)))

(ert-deftest aqd-lifecycle-list-is-shown-once-after-k-where-it-was-recorded ()
  (aqd-lifecycle-should-list-once #'aqd-lifecycle-show-here #'aqd-lifecycle-press-k))

(ert-deftest aqd-lifecycle-list-is-shown-once-after-k-where-it-was-before ()
  (aqd-lifecycle-should-list-once #'switch-to-buffer #'aqd-lifecycle-press-k))

(ert-deftest aqd-lifecycle-list-is-shown-once-after-q ()
  (aqd-lifecycle-should-list-once #'aqd-lifecycle-show-here
                                  (lambda (window)
                                    (with-selected-window window
                                      (aqd-press "r r q")))))

;;;; A thousand

(defun aqd-lifecycle-end-somehow (review way)
  "End REVIEW in the WAYth way."
  (pcase way
    (0 (agent-q-diff-cancel review))
    (1 (kill-buffer (agent-q-diff-session-buffer review)))
    (2 (aqd-in-diff review (agent-q-diff-reject-all)))
    (3 (aqd-in-diff review (agent-q-diff-accept-all)))
    (4 (agent-q-diff-reject review 0) (agent-q-diff-end review))
    (5 (ignore-errors (agent-q-diff-accept review 0)) (agent-q-diff-end review))
    (6 (ignore-errors (agent-q-diff-accept review 0))
       (ignore-errors (agent-q-diff-unapply review 0))
       (kill-buffer (agent-q-diff-session-buffer review)))))

(ert-deftest aqd-lifecycle-a-thousand-reviews-give-a-thousand-answers ()
  :tags '(slow)
  (let ((aqd-answers nil)
        (agent-q-diff-display 'announce)
        (inhibit-message t))
    (aqd-with-file aqd-original-of-two
      (aqd-visit)
      (let ((buffers (length (buffer-list)))
            (engines (agent-q-diff-module-n-reviews))
            (timers (length timer-list))
            (idle (length timer-idle-list))
            (open nil))
        (random "a thousand")
        (dotimes (n 1000)
          (push (aqd-begin-review aqd-original-of-two
                                  (if (= 0 (mod n 50)) aqd-original-of-two aqd-modified-of-two))
                open)
          (when (= 0 (random 3))
            (dolist (review open)
              (unless (agent-q-diff-session-outcome review)
                (aqd-lifecycle-end-somehow review (random 7))))
            (setq open nil)))
        (mapc #'agent-q-diff-cancel open)
        (should (= 1000 (length aqd-answers)))
        (aqd-should-leave-nothing)
        (dolist (buffer (buffer-list))
          (when (string-prefix-p agent-q-diff-buffer-name (buffer-name buffer))
            (should-not (agent-q-diff-buffer-awaited-p buffer))))
        (should (<= (length timer-list) (1+ timers)))
        (should (<= (length timer-idle-list) (+ 2 idle)))
        ;; The diff buffer itself stays.
        (should (<= (length (buffer-list)) (1+ buffers)))
        (mapc #'agent-q-diff-forget (agent-q-diff-past-reviews))
        (should (<= (agent-q-diff-module-n-reviews) engines))))))

(ert-deftest aqd-lifecycle-the-end-says-what-is-where-and-what-is-next ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (write-region "a\n" nil (concat aqd-file "2") nil 'silent)
    (let ((other (agent-q-diff-review (concat aqd-file "2") "a\n" "b\n" "d" #'ignore)))
      (setf (agent-q-diff-session-agent review) "Kim")
      (save-window-excursion
        (pop-to-buffer (agent-q-diff-session-buffer review))
        (should (equal "target.txt: 1 of 2 hunks in the file, Kim told; \
1 review left, next: target.txt2"
                       (aqd-said (aqd-press "a r q")))))
      (agent-q-diff-cancel other))))

(ert-deftest aqd-lifecycle-whoever-stopped-waiting-is-not-told ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (setf (agent-q-diff-session-agent review) "Kim")
    (setf (agent-q-diff-session-call review) (agent-q-diff-call-make :caller 'kim))
    (agent-q-diff-abandon (lambda (caller) (eq caller 'kim)))
    (save-window-excursion
      (pop-to-buffer (agent-q-diff-session-buffer review))
      (should (equal "target.txt: 1 of 2 hunks in the file" (aqd-said (aqd-press "a r q")))))))

(ert-deftest aqd-lifecycle-of-buffers-named-after-files-the-latest-stays ()
  (aqd-with-file "a\n"
    (let ((names (lambda ()
                   (sort (seq-filter (lambda (name)
                                       (string-prefix-p "*Agent-Q Diff: " name))
                                     (mapcar #'buffer-name (buffer-list)))
                         #'string<))))
      (dolist (name '("one" "two"))
        (let ((review (agent-q-diff-review (expand-file-name name (file-name-directory aqd-file))
                                           "" "b\n" "d" #'ignore)))
          (should (equal (format "*Agent-Q Diff: %s*" name)
                         (buffer-name (agent-q-diff-session-buffer review))))
          (agent-q-diff-reject review 0)
          (agent-q-diff-end review)))
      (should (equal '("*Agent-Q Diff: two*") (funcall names))))))

(ert-deftest aqd-lifecycle-a-withdrawn-review-leaves-the-selected-window ()
  (aqd-with-file aqd-original-of-two
    (save-window-excursion
      (delete-other-windows)
      (switch-to-buffer (find-file-noselect aqd-file))
      (let ((review (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two
                                         "d" #'ignore)))
        ;; As if the review had been shown from the file's window.
        (pop-to-buffer (agent-q-diff-session-buffer review))
        (let ((other (split-window)))
          (select-window other)
          (switch-to-buffer (get-buffer-create "*aqd-other*"))
          (agent-q-diff-cancel review)
          (should (eq other (selected-window)))
          (should (equal "*aqd-other*" (buffer-name)))
          (kill-buffer "*aqd-other*"))))))

(provide 'agent-q-diff-lifecycle-test)
;;; agent-q-diff-lifecycle-test.el ends here
