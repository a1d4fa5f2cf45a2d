;;; agent-q-diff-async-test.el --- Reviews that nobody waits for  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One review, one answer: whatever ends it, the callback is called once,
;; and nothing is left behind.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-list)

;;;; Every end

(ert-deftest aqd-async-accepted-whole ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-in-diff review (agent-q-diff-accept-all))
    (should (equal (aqd-answer :status :decision :total :in-file :saved :content
                               :reason :path)
                   (list 'accepted "accepted" 2 2 t aqd-modified-of-two nil aqd-file)))
    (should (string-prefix-p "✓ Accepted" (car (aqd-answer :message))))
    (should (equal (aqd-disk) aqd-modified-of-two))))

(ert-deftest aqd-async-accepted-in-part ()
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

(defun aqd-signs-of (review)
  "Return the signs in the diff buffer of REVIEW."
  (aqd-in-diff review (aqd-signs)))

(ert-deftest aqd-async-rejected ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-in-diff review (agent-q-diff-reject-all))
    (should (equal (aqd-answer :status :decision :in-file)
                   '(rejected "rejected" 0)))
    (should (string-prefix-p "✗ Rejected" (car (aqd-answer :message))))))

(ert-deftest aqd-async-killed ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (kill-buffer (agent-q-diff-session-buffer review))
    (should (equal (aqd-answer :status :decision :reason)
                   '(cancelled nil "its buffer was killed")))
    (should-not (string-match-p "[Rr]ejected\\|REJECTED" (car (aqd-answer :message))))))

(ert-deftest aqd-async-cancelled-by-program ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (should (agent-q-diff-cancel review))
    (should-not (agent-q-diff-cancel review))
    (should (equal (aqd-answer :status :in-file) '(cancelled 1)))))

(ert-deftest aqd-async-emacs-killed ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should (agent-q-diff-session-buffer review))
    (should (memq #'agent-q-diff-lifecycle--emacs-killed kill-emacs-hook))
    (run-hooks 'kill-emacs-hook)
    (should (equal (aqd-answer :status :reason) '(cancelled "Emacs exited")))))

(ert-deftest aqd-async-stale ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (with-current-buffer (find-buffer-visiting aqd-file)
      (erase-buffer)
      (insert "another text\n"))
    (aqd-in-diff review
      (agent-q-diff-accept-hunk)
      (agent-q-diff-finish))
    (should (equal (aqd-answer :status :decision) '(stale nil)))
    (should (string-prefix-p "hunk 1: " (car (aqd-answer :reason))))))

(ert-deftest aqd-async-that-cannot-begin ()
  (let ((aqd-answers nil))
    (aqd-with-file "same\n"
      (let ((review (aqd-begin-review "same\n" "same\n")))
        (should (agent-q-diff-session-outcome review))
        (should (equal (aqd-answer :status) '(error)))
        (should (string-search "changes nothing" (car (aqd-answer :message)))))
      (should-error (agent-q-diff-review aqd-file 1 "b" "" #'ignore)
                    :type 'agent-q-diff-bad-arguments)
      (aqd-should-leave-nothing))))

(ert-deftest aqd-async-callback-that-fails-or-is-nil ()
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

(ert-deftest aqd-async-that-somebody-then-waits-for ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should (equal "accepted"
                   (plist-get (aqd-play "a a q" (lambda () (agent-q-diff-wait review)))
                              :decision)))
    (should (equal (aqd-answer :status) '(accepted)))
    (should (equal "accepted" (plist-get (agent-q-diff-wait review) :decision)))))

(ert-deftest aqd-async-cancelled-while-somebody-waits ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (let ((answer (cl-letf (((symbol-function 'recursive-edit)
                             (lambda () (agent-q-diff-cancel review))))
                    (condition-case err (agent-q-diff-wait review) (error err)))))
      (should (eq (car answer) 'agent-q-diff-cancelled)))
    (should (equal (aqd-answer :status) '(cancelled)))))

;;;; What comes with the answer

(ert-deftest aqd-async-comments-reach-the-agent ()
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
    (should (string-suffix-p
             "The user says: Nearly
The user says of hunk 2, which is rejected: Not this one,\nplease"
             (car (aqd-answer :message))))))

(ert-deftest aqd-async-comments-follow-a-split ()
  (aqd-with-open-review (aqd-numbered 12) (aqd-numbered 12 '((5 . "five") (7 . "x")))
    (aqd-in-diff review
      (agent-q-diff-comment-hunk "both")
      (agent-q-diff-split-hunk)
      (agent-q-diff-comment-hunk "")
      (should (equal (aqd-signs) '((2 . "[PENDING, commented]"))))
      (agent-q-diff-reject-all))))

(ert-deftest aqd-async-detached-writes-nothing-and-returns-the-text ()
  (let ((aqd-answers nil))
    (aqd-with-file "on disk\n"
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two :detached t)))
        (should-not (find-buffer-visiting aqd-file))
        (agent-q-diff-accept review 0)
        (should (equal (aqd-disk) "on disk\n"))
        (agent-q-diff-end review)
        (should (equal (aqd-answer :status :content :saved)
                       (list 'partial (aqd-numbered 30 '((5 . "five"))) nil)))
        (should-not (seq-find (lambda (buffer)
                                (string-prefix-p "*Agent-Q Content"
                                                 (buffer-name buffer)))
                              (buffer-list))))
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two :detached t)))
        (setq aqd-answers nil)
        (kill-buffer (aqd-target-of review))
        (aqd-in-diff review
          (should-not (agent-q-diff-accept-hunk))
          (agent-q-diff-finish))
        (should (equal (aqd-answer :status) '(stale))))
      (aqd-should-leave-nothing))))

;;;; The text of the target

(defun aqd-async-content (original modified function)
  "Return (CONTENT . TEXT) of a review of ORIGINAL becoming MODIFIED.
It is decided by FUNCTION, called with the review.  CONTENT is what its
caller is told, TEXT what the target's buffer then has."
  (let ((aqd-answers nil))
    (aqd-with-file original
      (let ((buffer (aqd-visit)))
        (funcall function (aqd-begin-review original modified))
        (cons (car (aqd-answer :content))
              (with-current-buffer buffer (buffer-string)))))))

(ert-deftest aqd-async-content-is-no-copy-of-the-proposal ()
  (let ((original (string-to-multibyte aqd-original-of-two))
        (modified (string-to-multibyte aqd-modified-of-two)))
    (pcase-dolist (`(,expected ,function)
                   `((,modified agent-q-diff-accept-all)
                     (,original agent-q-diff-reject-all)))
      (should (eq expected
                  (car (aqd-async-content original modified
                                          (lambda (review)
                                            (aqd-in-diff review (funcall function))))))))))

(ert-deftest aqd-async-content-is-what-the-target-has ()
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
                             (agent-q-diff-file-change-engine (agent-q-diff-buffer-change)) 0)))
                  (agent-q-diff-decide-rewrite (agent-q-diff-buffer-change) 0
                                                    (string-replace "five" "FIVE" text) nil))))
      (dolist (function
               (list (lambda () (retype t) (agent-q-diff-accept-all))
                     (lambda () (retype nil) (agent-q-diff-accept-all))
                     (lambda () (agent-q-diff-accept-hunk) (retype t) (agent-q-diff-accept-all))
                     (lambda () (retype t) (agent-q-diff-reject-all))
                     (lambda () (rewrite) (agent-q-diff-accept-all))
                     (lambda () (agent-q-diff-accept-hunk) (agent-q-diff-finish))))
        (pcase-let ((`(,content . ,text)
                     (aqd-async-content original modified
                                        (lambda (review)
                                          (aqd-in-diff review (funcall function))))))
          (should-not (member text (list original modified)))
          (should (equal content text)))))))

(ert-deftest aqd-async-content-of-raw-bytes-is-what-the-target-has ()
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

;;;; Several reviews

(ert-deftest aqd-async-two-for-one-file ()
  (let ((aqd-answers nil))
    (aqd-with-file aqd-original-of-two
      (let ((one (aqd-begin-review aqd-original-of-two (aqd-numbered 30 '((5 . "a\nb")))))
            (two (aqd-begin-review aqd-original-of-two
                                   (aqd-numbered 30 '((5 . "z") (25 . "x"))))))
        (should-not (eq (agent-q-diff-session-buffer one)
                        (agent-q-diff-session-buffer two)))
        (should (equal (agent-q-diff-open-reviews) (list one two)))
        (agent-q-diff-accept one 0)
        (should-error (agent-q-diff-accept two 0) :type 'agent-q-diff-conflict)
        (agent-q-diff-accept two 1)
        (aqd-in-diff two
          (should (equal (aqd-signs)
                         '((1 . "[DOES NOT APPLY]") (2 . "[APPLIED]")))))
        (should (equal (aqd-disk)
                       (aqd-numbered 30 '((5 . "a\nb") (25 . "x")))))
        (agent-q-diff-end one)
        (agent-q-diff-end two)
        (should (equal (mapcar (lambda (answer) (plist-get answer :status)) aqd-answers)
                       '(partial accepted))))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-async-list-shows-opens-and-cancels ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (save-window-excursion
      (agent-q-diff-list)
      (should (string-search "1 applied, 0 rejected, 1 of 2 pending" (buffer-string)))
      (goto-char (point-min))
      (aqd-press "RET")
      (should (eq (window-buffer) (agent-q-diff-session-buffer review)))
      (agent-q-diff-list)
      (goto-char (point-min))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (aqd-press "k")))
    (should (equal (aqd-answer :status) '(cancelled)))
    (kill-buffer agent-q-diff-list-buffer-name)))

;; The diff buffer came up where the list had been, and the list then beside it.
(defun aqd-async-should-list-once (show end)
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

(defun aqd-async-press-k (_window)
  "Cancel the review at point in the list."
  (cl-letf (((symbol-function 'y-or-n-p) #'always))
    (aqd-press "k")))

(defun aqd-async-show-here (buffer)
  "Show BUFFER in the selected window, as `display-buffer' may."
  (pop-to-buffer buffer '(display-buffer-same-window)))

(ert-deftest aqd-async-list-is-shown-once-after-k-where-it-was-recorded ()
  (aqd-async-should-list-once #'aqd-async-show-here #'aqd-async-press-k))

(ert-deftest aqd-async-list-is-shown-once-after-k-where-it-was-before ()
  (aqd-async-should-list-once #'switch-to-buffer #'aqd-async-press-k))

(ert-deftest aqd-async-list-is-shown-once-after-q ()
  (aqd-async-should-list-once #'aqd-async-show-here
                              (lambda (window)
                                (with-selected-window window
                                  (aqd-press "r r q")))))

(ert-deftest aqd-async-j-goes-to-the-next ()
  (aqd-with-file aqd-original-of-two
    (let ((one (aqd-begin-review aqd-original-of-two aqd-modified-of-two))
          (two (aqd-begin-review aqd-original-of-two aqd-modified-of-two)))
      (save-window-excursion
        (switch-to-buffer (agent-q-diff-session-buffer one))
        (aqd-press "j")
        (should (eq (window-buffer) (agent-q-diff-session-buffer two)))
        (aqd-press "j")
        (should (eq (window-buffer) (agent-q-diff-session-buffer one))))
      (mapc #'agent-q-diff-cancel (list one two)))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-async-takes-neither-window-nor-point ()
  (aqd-with-file aqd-original-of-two
    (save-window-excursion
      (switch-to-buffer "*scratch*")
      (dolist (agent-q-diff-display '(at-once announce))
        (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two)))
          (should (equal (buffer-name (window-buffer)) "*scratch*"))
          (should (eq (and (get-buffer-window (agent-q-diff-session-buffer review)) t)
                      (eq agent-q-diff-display 'at-once)))
          (agent-q-diff-cancel review)
          (should-not (get-buffer-window (agent-q-diff-session-buffer review))))))))

(ert-deftest aqd-async-the-header-line-begins-at-the-first-hunk ()
  (aqd-with-open-review (aqd-numbered 40) (aqd-numbered 40 '((5 . "five") (30 . "thirty")))
    ;; No command has moved there.
    (aqd-in-diff review
      (should (string-prefix-p " hunk 1/2 · " header-line-format)))
    (agent-q-diff-cancel review)))

(ert-deftest aqd-async-keys-that-decide-are-ignored-for-a-moment ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-in-diff review
      (let ((agent-q-diff-grace 1000))
        (agent-q-diff-grace-begin))
      (dolist (case '((agent-q-diff-accept-hunk . agent-q-diff-ignore-key)
                      (agent-q-diff-finish . agent-q-diff-ignore-key)
                      (sly-agent-q-diff-accept-all . agent-q-diff-ignore-key)
                      (agent-q-diff-next-hunk . agent-q-diff-next-hunk)))
        (should (eq (aqd-async-command-run (car case)) (cdr case))))
      (let ((agent-q-diff-grace -1))
        (agent-q-diff-grace-begin))
      (should (eq (aqd-async-command-run 'agent-q-diff-accept-hunk)
                  'agent-q-diff-accept-hunk)))
    (agent-q-diff-cancel review)))

(defun aqd-async-command-run (command)
  "Return the command that runs when a key here is bound to COMMAND.
That is in an Emacs in which somebody types."
  (let ((this-command command)
        (noninteractive nil))
    (run-hooks 'pre-command-hook)
    this-command))

(ert-deftest aqd-async-keys-of-a-program-are-not-ignored ()
  "Those that a batch Emacs is fed, say by a test of somebody else's."
  (aqd-with-file aqd-original-of-two
    (let ((agent-q-diff-grace 1000)
          (unread-command-events (listify-key-sequence (kbd "a r q"))))
      (should (equal (plist-get (agent-q-diff-review-and-wait
                                 aqd-file aqd-original-of-two aqd-modified-of-two "A test.")
                                :status)
                     'partial))
      (should (equal (plist-get (aqd-play "C-c C-c"
                                          (lambda ()
                                            (agent-q-diff-review-and-wait
                                             aqd-file (aqd-disk) aqd-modified-of-two "Again")))
                                :status)
                     'accepted)))))

;;;; Ways out by key

(defun aqd-async-press (review keys)
  "Press KEYS in the diff buffer of REVIEW, as if it was selected."
  (save-window-excursion
    (pop-to-buffer (agent-q-diff-session-buffer review))
    (aqd-press keys)))

(ert-deftest aqd-async-exit-key-finishes ()
  (pcase-dolist (`(,keys . ,status) '(("C-M-c" . rejected) ("a C-M-c" . partial)
                                      ("a a C-M-c" . accepted) ("r C-M-c" . rejected)))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (aqd-async-press review keys)
      (should (equal (aqd-answer :status) (list status))))))

(ert-deftest aqd-async-abort-key-cancels ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should (string-search
             "Cancelled; 1 hunk stays in target.txt; M-x agent-q-diff-look-again shows it"
             (aqd-said (aqd-async-press review "a C-]"))))
    (should (equal (aqd-answer :status :decision :in-file :reason)
                   '(cancelled nil 1 "the user left it undecided")))
    (should-error (aqd-in-diff review (agent-q-diff-abort)) :type 'user-error)))

(ert-deftest aqd-async-exit-keys-work-under-agent-q-s-names ()
  (let ((aqd-answers nil))
    (aqd-with-file aqd-original-of-two
      (aqd-async-press (aqd-begin-review aqd-original-of-two aqd-modified-of-two
                                         :mode #'sly-agent-q-diff-mode)
                       "a C-]")
      (should (equal (aqd-answer :status :in-file) '(cancelled 1))))))

(ert-deftest aqd-async-exit-keys-leave-a-review-that-is-looked-at-again ()
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

(ert-deftest aqd-async-exit-keys-leave-the-recursive-edit ()
  "A review that Emacs waits for is the business of the recursive edit."
  (dolist (case '(("a C-]" . agent-q-diff-cancelled) ("a C-M-c" . :status)))
    (aqd-with-file aqd-original-of-two
      (should (eq (cdr case)
                  (car (aqd-result aqd-original-of-two aqd-modified-of-two (car case))))))))

(ert-deftest aqd-async-top-level-cancels ()
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

;;;; What is said of an end without a decision

(ert-deftest aqd-async-an-agent-that-takes-its-proposal-back-is-said ()
  (aqd-with-file aqd-original-of-two
    (dolist (case '((nil . "An agent withdrew its proposal for target.txt")
                    ("Claude Code" . "Claude Code withdrew its proposal for target.txt")
                    ("C\u202e\n" . "C<U+202E><U+000A> withdrew its proposal for target.txt")))
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two :agent (car case))))
        (should (equal (concat (cdr case) "; M-x agent-q-diff-look-again shows it")
                       (aqd-said (agent-q-diff-cancel review))))))
    (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two :agent "Claude Code")))
      (agent-q-diff-accept review 0)
      (agent-q-diff-accept review 1)
      (should (equal (concat "Claude Code withdrew its proposal for target.txt; "
                             "2 hunks stay in the file; M-x agent-q-diff-look-again shows it")
                     (aqd-said (agent-q-diff-cancel review)))))
    (let ((agent-q-diff-kept-reviews 0)
          (review (aqd-begin-review aqd-modified-of-two aqd-original-of-two)))
      (should (equal "An agent withdrew its proposal for target.txt"
                     (aqd-said (agent-q-diff-cancel review)))))))

(ert-deftest aqd-async-a-decision-is-not-commented ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should-not (aqd-said (agent-q-diff-end review)))))

(ert-deftest aqd-async-a-caller-that-is-gone-is-said ()
  (let ((agent-q-diff-when-caller-gone 'cancel)
        (agent-q-diff-caller '("Robin" . robin)))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (agent-q-diff-accept review 0)
      (should (equal (concat "Nobody is waiting any more for the review of target.txt, "
                             "so it is cancelled; 1 hunk stays in the file; "
                             "M-x agent-q-diff-look-again shows it")
                     (aqd-said (agent-q-diff-abandon (lambda (caller) (eq caller 'robin)))))))))

(ert-deftest aqd-async-cancelling-in-the-list-is-the-user-s-doing ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (save-window-excursion
      (agent-q-diff-list)
      (goto-char (point-min))
      (should (eq review (tabulated-list-get-id)))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (should (string-prefix-p "Cancelled the review of target.txt;"
                                 (aqd-said (agent-q-diff-list-cancel))))))
    (should (equal (aqd-answer :reason) '("the user left it undecided")))))

;;;; Killing the diff buffer

(defun aqd-async-kill (review command answer)
  "Kill the diff buffer of REVIEW in COMMAND, giving ANSWER to the question.
Return what was asked, or nil."
  (let ((noninteractive nil)
        (this-command command)
        asked)
    (cl-letf (((symbol-function 'y-or-n-p)
               (lambda (prompt) (setq asked prompt) answer)))
      (kill-buffer (agent-q-diff-session-buffer review)))
    asked))

(ert-deftest aqd-async-killing-the-buffer-asks-if-anything-was-decided ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-reject review 1)
    ;; The user may have turned on another mode.
    (aqd-in-diff review (fundamental-mode))
    (should (equal "1 of 2 hunks decided.  Cancel the review of target.txt? "
                   (aqd-async-kill review 'kill-buffer nil)))
    (should-not aqd-answers)
    (should (aqd-async-kill review 'kill-buffer t))
    (should (equal (aqd-answer :status) '(cancelled)))))

(ert-deftest aqd-async-killing-the-buffer-asks-for-what-is-in-the-file ()
  "The mark was taken back, and the change stays."
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (agent-q-diff-command review 'toggle 0)
    (should (equal "0 of 2 hunks decided.  Cancel the review of target.txt? "
                   (aqd-async-kill review 'kill-buffer t)))))

(ert-deftest aqd-async-killing-the-buffer-asks-nothing-else ()
  ;; Nothing is lost.
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should-not (aqd-async-kill review 'kill-buffer nil))
    (should (equal (aqd-answer :status) '(cancelled))))
  ;; A timer or a process kills it.
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (should-not (aqd-async-kill review nil nil))
    (should (equal (aqd-answer :status) '(cancelled))))
  ;; The review has ended, and its buffer is only there to be read.
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (agent-q-diff-end review)
    (should-not (aqd-async-kill review 'kill-buffer nil)))
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

(ert-deftest aqd-async-finishes-with-the-last-hunk-if-so-wished ()
  (let ((agent-q-diff-finish-when-decided t))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (aqd-in-diff review
        (agent-q-diff-accept-hunk t)
        (should-not aqd-answers)
        (agent-q-diff-reject-hunk t))
      (should (equal (aqd-answer :status) '(partial))))))

(ert-deftest aqd-async-leaving-emacs-asks ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (let ((noninteractive nil)
          (asked nil))
      (cl-letf (((symbol-function 'yes-or-no-p)
                 (lambda (prompt) (setq asked prompt) nil)))
        (should-not (run-hook-with-args-until-failure 'kill-emacs-query-functions)))
      (should (string-search "1 review is not decided" asked)))
    (agent-q-diff-cancel review)))

;;;; Diffs as they come

(ert-deftest aqd-async-patch-goes-where-its-lines-are ()
  (let ((aqd-answers nil))
    (aqd-with-file (concat "top\n" (aqd-numbered 20))
      (let ((review (agent-q-diff-review-patch
                     aqd-file
                     (aqd-lines "--- a/x" "+++ b/x" "@@ -4,3 +4,3 @@" " line 4"
                                "-line 5" "+five" " line 6"
                                "@@ -14,3 +14,3 @@" " line 14" "-other" "+x"
                                " line 16")
                     "Why" (lambda (result) (push result aqd-answers)))))
        (should (equal (aqd-signs-of review)
                       '((1 . "[PENDING, shifted by 1 line]")
                         (2 . "[DOES NOT APPLY]"))))
        (agent-q-diff-accept review 0)
        (aqd-in-diff review
          (aqd-goto-hunk 1)
          (agent-q-diff-edit-hunk)
          (with-current-buffer (window-buffer)
            (insert "and more\n")
            (agent-q-diff-edit-finish)))
        (agent-q-diff-end review)
        (should (equal (aqd-answer :status :path) (list 'partial aqd-file)))
        (should (equal (aqd-disk)
                       (string-replace "line 5\n" "and more\nfive\n"
                                       (concat "top\n" (aqd-numbered 20))))))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-async-a-diff-of-several-files-is-several-reviews ()
  (aqd-with-file "a\n"
    (let* ((directory (file-name-directory aqd-file))
           (reviews (save-window-excursion
                      (agent-q-diff-review-diff
                       (aqd-lines "diff --git a/target.txt b/target.txt"
                                  "--- a/target.txt" "+++ b/target.txt"
                                  "@@ -1 +1 @@" "-a" "+b"
                                  "diff --git a/new b/new" "new file mode 100644"
                                  "--- /dev/null" "+++ b/new"
                                  "@@ -0,0 +1,2 @@" "+one" "+two")
                       directory))))
      (should (= 2 (length reviews)))
      (dolist (review reviews)
        (agent-q-diff-accept review 0)
        (agent-q-diff-end review))
      (should (equal (aqd-disk) "b\n"))
      (should (equal (with-temp-buffer
                       (insert-file-contents (expand-file-name "new" directory))
                       (buffer-string))
                     "one\ntwo\n"))
      (kill-buffer (find-buffer-visiting (expand-file-name "new" directory)))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-async-a-diff-that-is-none-says-so ()
  (should-error (agent-q-diff-review-diff "nothing\n") :type 'agent-q-diff-malformed)
  (should-error (agent-q-diff-review-diff "@@ -1 +1 @@\n-a\n+b\n")
                :type 'agent-q-diff-bad-target))

(ert-deftest aqd-async-a-diff-with-a-file-without-a-name-begins-no-review ()
  (aqd-with-file "a\n"
    (should-error (agent-q-diff-review-diff
                   (aqd-lines "--- target.txt" "+++ target.txt" "@@ -1 +1 @@" "-a" "+b"
                              "--- /dev/null" "+++ /dev/null" "@@ -0,0 +1 @@" "+x")
                   (file-name-directory aqd-file))
                  :type 'agent-q-diff-bad-target)
    (aqd-should-leave-nothing)))

;;;; A thousand

(defun aqd-async-end-somehow (review way)
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

(ert-deftest aqd-async-a-thousand-reviews-give-a-thousand-answers ()
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
                (aqd-async-end-somehow review (random 7))))
            (setq open nil)))
        (mapc #'agent-q-diff-cancel open)
        (should (= 1000 (length aqd-answers)))
        (aqd-should-leave-nothing)
        (dolist (buffer (buffer-list))
          (when (string-prefix-p agent-q-diff-buffer-name (buffer-name buffer))
            (should-not (agent-q-diff-render--live-p buffer))))
        (should (<= (length timer-list) (1+ timers)))
        (should (<= (length timer-idle-list) (+ 2 idle)))
        ;; The diff buffer itself stays.
        (should (<= (length (buffer-list)) (1+ buffers)))
        (mapc #'agent-q-diff-forget (agent-q-diff-past-reviews))
        (should (<= (agent-q-diff-module-n-reviews) engines))))))

;;;; A budget

(ert-deftest aqd-async-beyond-the-budget-hunks-are-coarser-and-right ()
  (let ((original (aqd-lines "a" "b" "c" "b" "a"))
        (modified (aqd-lines "c" "b" "b" "a" "c"))
        (note "too different to be compared in full"))
    (pcase-dolist (`(,budget . ,is-coarse) '((nil . nil) (0 . t)))
      (let ((agent-q-diff-budget budget))
        (aqd-with-open-review original modified
          (aqd-in-diff review
            (should (eq is-coarse (and (string-search note (buffer-string)) t)))
            (agent-q-diff-accept-all))
          (should (equal (aqd-disk) modified)))))))

(provide 'agent-q-diff-async-test)
;;; agent-q-diff-async-test.el ends here
