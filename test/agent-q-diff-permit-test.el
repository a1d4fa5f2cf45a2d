;;; agent-q-diff-permit-test.el --- Permission for what agents ask for  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a grant covers, and how it is listed and revoked.
;;
;; The policy, the question with real keys, grants that cover it, protected
;; files, and calls that are withdrawn while their question is open.

;;; Code:

(require 'agent-q-diff-project-help)

;;;; Grants

(ert-deftest aqd-permit-grants-are-for-one-tool-and-project ()
  (let ((grants nil))
    (aqd-asking
     (aqd-with-project "a\n"
       (let ((agent-q-diff-permission-function (aqd-answering 'session)))
         (aqd-edit "a" "b")
         (should (string-prefix-p "✓" (aqd-edit "b" "c"))))
       (setq grants agent-q-diff-permit-grants)
       (should (equal (mapcar #'car grants) '("edit_file"))))
     (aqd-with-project "a\n"
       (let ((agent-q-diff-permit-grants grants)
             (agent-q-diff-permission-function (aqd-answering 'deny)))
         (should (equal (aqd-edit "a" "b") aqd-rejected)))))))

(ert-deftest aqd-permit-grants-are-listed-and-revoked ()
  (aqd-with-project "a\n"
    (aqd-asking
     (let ((agent-q-diff-permission-function (aqd-answering 'session 'session 'deny)))
       (aqd-edit "a" "b")
       (save-window-excursion
         (agent-q-diff-grants)
         (goto-char (point-min))
         (should (looking-at-p "edit_file"))
         (should (string-search (abbreviate-file-name (file-truename aqd-project))
                                (buffer-string)))
         (aqd-press "k")
         (should-not agent-q-diff-permit-grants)
         (should (equal (buffer-string) "")))
       (aqd-edit "b" "c")
       (agent-q-diff-revoke-grants)
       (should (equal (aqd-edit "c" "d") aqd-rejected))
       (kill-buffer "*Agent-Q Grants*")))))

;;;; The question

(ert-deftest aqd-permit-y-allows-once ()
  (aqd-asking
   (aqd-with-project "a\n"
     (should (string-prefix-p "✓ Edit applied" (aqd-ask "y")))
     (should (equal (aqd-disk) "b\n"))
     (should-not agent-q-diff-permit-grants))))

(ert-deftest aqd-permit-n-denies ()
  (aqd-asking
   (aqd-with-project "a\n"
     (should (equal (aqd-ask "n") aqd-rejected))
     (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-permit-r-denies-with-a-reason ()
  (aqd-asking
   (aqd-with-project "a\n"
     (should (equal (aqd-ask "r Not SPC now RET")
                    (concat aqd-declined "\n\nReason: Not now")))
     (should (equal (aqd-ask "r RET") aqd-rejected))
     (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-permit-leaving-the-reason-goes-back-to-the-question ()
  (aqd-asking
   (aqd-with-project "a\n"
     (cl-letf* ((n 0)
                ((symbol-function 'read-string)
                 (lambda (&rest _) (cl-incf n) (signal 'quit nil))))
       (should (string-prefix-p "✓" (aqd-ask "r y")))
       (should (= n 1))))))

(ert-deftest aqd-permit-s-allows-for-the-session ()
  (aqd-asking
   (aqd-with-project "a\n"
     (should (string-prefix-p "✓" (aqd-ask "s")))
     (should (equal (aqd-disk) "b\n"))
     ;; Nobody is asked any more, even if nobody could be.
     (should (string-prefix-p "✓" (aqd-edit "b" "c")))
     (should (equal (aqd-disk) "c\n")))))

(ert-deftest aqd-permit-f-opens-the-full-review ()
  (aqd-asking
   (aqd-with-project "a\n"
     (should (equal (aqd-ask "f a q")
                    "✓ Accepted: the change is in target.txt, which is saved."))
     (should (equal (aqd-disk) "b\n"))))
  (aqd-asking
   (aqd-with-project "a\n"
     (should (equal (aqd-ask "f r q") aqd-rejected))
     (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-permit-other-keys-are-no-answer ()
  (aqd-asking
   (aqd-with-project "a\n"
     (should (string-prefix-p "✓" (aqd-ask "x RET SPC ? TAB DEL 1 y"))))))

(ert-deftest aqd-permit-leaving-the-question-is-no-refusal ()
  (aqd-asking
   (aqd-with-project "a\n"
     (cl-letf (((symbol-function 'read-from-minibuffer)
                (lambda (&rest _) (signal 'quit nil))))
       (should (equal (aqd-ask "C-l")
                      "Error editing file: the user left the question unanswered; \
nothing was changed")))
     (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-permit-top-level-is-no-refusal ()
  (aqd-asking
   (aqd-with-project "a\n"
     (cl-letf (((symbol-function 'read-from-minibuffer)
                (lambda (&rest _) (throw 'top-level nil))))
       (should (string-prefix-p "Error editing file: the user left the question"
                                (aqd-ask "C-l")))))))

(ert-deftest aqd-permit-keys-typed-ahead-are-no-answer ()
  "A key right after the question appears, or among others, is ignored."
  (let ((agent-q-diff-permission-pause 0.05)
        (agent-q-diff-permit--last-key (current-time))
        (executing-kbd-macro nil))
    (should-not (agent-q-diff-permit--settled-p))
    (should-not (agent-q-diff-permit--settled-p))
    (sleep-for 0.06)
    (should (agent-q-diff-permit--settled-p))
    (should-not (agent-q-diff-permit--settled-p))))

(ert-deftest aqd-permit-question-says-what-it-is-about ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-save 'always)
          prompt)
      (aqd-asking
       (cl-letf (((symbol-function 'read-from-minibuffer)
                  (lambda (said &rest _)
                    (setq prompt (substring-no-properties said)
                          agent-q-diff-permit--answer 'once)
                    "")))
         (with-current-buffer (aqd-visit)
           (insert "typed\n"))
         (aqd-ask "C-l")))
      (should (equal prompt
                     (string-replace
                      "ROOT" (abbreviate-file-name (file-truename aqd-project))
                      "The file has unsaved edits in target.txt; allowing this saves them, too.
s allows any agent's edit_file in ROOT until Emacs exits, except protected files
edit_file target.txt (+1 -1) in ROOT?  [y]es [s]ession [n]o [r]eason [f]ull review "))))))

(ert-deftest aqd-permit-question-about-a-protected-file-offers-no-grant ()
  (let ((prompt (agent-q-diff-permit--prompt
                 (agent-q-diff-request-make :tool "edit_file" :path ".envrc" :root "/p/"
                                            :summary "+1 -1" :protection "it runs"))))
    (should-not (string-match-p "s allows\\|\\[s]" prompt))))

(ert-deftest aqd-permit-nobody-to-ask-is-no-refusal ()
  (aqd-with-project "a\n"
    (let* ((agent-q-diff-tools-policy 'ask)
           (message (aqd-edit "a" "b")))
      (should (string-prefix-p "Error editing file: no user is there to give permission"
                               message))
      (should (string-search "agent-q-diff-tools-policy" message))
      (should (equal (aqd-disk) "a\n")))))

;;;; Policy

(ert-deftest aqd-permit-policy-function-answers-first ()
  (aqd-with-project "a\n"
    (let* ((heard nil)
           (answer 'allow)
           (agent-q-diff-tools-policy (lambda (&rest arguments)
                                        (setq heard arguments)
                                        answer)))
      (should (string-prefix-p "✓" (aqd-edit "a" "b" :description "Why")))
      (should (equal heard (list "edit_file" (file-truename aqd-file)
                                 '((path . "target.txt") (old_str . "a")
                                   (new_str . "b") (description . "Why")))))
      (setq answer 'deny)
      (should (equal (concat "✗ Rejected: the user's settings deny edit_file \
here. None of it is in the file."
                             aqd-stop)
                     (aqd-edit "b" "c")))
      (setq answer 'perhaps)
      (should (equal (aqd-edit "b" "c")
                     "Error editing file: agent-q-diff-tools-policy gave perhaps; \
it must be ask, allow, deny or review"))
      (should (equal (aqd-disk) "b\n")))))

(ert-deftest aqd-permit-policy-review-opens-the-review ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'review))
      (should (string-prefix-p "✓ Accepted: " (aqd-ask "a q")))
      (should (equal (aqd-disk) "b\n")))))

;;;; Protected files

(defun aqd-permit-protect (name)
  "Create the file NAME with \"a\" in the test's project."
  (let ((file (expand-file-name name aqd-project)))
    (make-directory (file-name-directory file) t)
    (aqd-put-bytes "a\n" file)
    file))

(ert-deftest aqd-permit-protected-files-are-asked-for-each-time ()
  (aqd-with-project "a\n"
    (let* ((file (aqd-permit-protect ".dir-locals.el"))
           (asked 0)
           (agent-q-diff-permission-function
            (lambda (request)
              (cl-incf asked)
              (should (stringp (agent-q-diff-request-protection request)))
              'session)))
      (dolist (agent-q-diff-tools-policy '(ask allow))
        (aqd-put-bytes "a\n" file)
        (should (string-prefix-p "✓" (aqd-call-tool "edit_file"
                                                    '(:path ".dir-locals.el"
                                                            :old_str "a" :new_str "b"))))
        (should-not agent-q-diff-permit-grants))
      (should (= asked 2)))))

(ert-deftest aqd-permit-s-is-no-answer-for-a-protected-file ()
  (aqd-with-project "a\n"
    (aqd-permit-protect ".dir-locals.el")
    (aqd-asking
     (should (equal (aqd-ask "s n" ".dir-locals.el")
                    (string-replace "target.txt" ".dir-locals.el" aqd-rejected))))))

(ert-deftest aqd-permit-grant-does-not-cover-a-protected-file ()
  (aqd-with-project "a\n"
    (aqd-permit-protect ".dir-locals.el")
    (aqd-asking
     (let ((agent-q-diff-permission-function (aqd-answering 'session 'deny)))
       (should (string-prefix-p "✓" (aqd-edit "a" "b")))
       (should (string-prefix-p "✗" (aqd-call-tool "edit_file"
                                                   '(:path ".dir-locals.el"
                                                           :old_str "a" :new_str "b"))))))))

(ert-deftest aqd-permit-git-internals-are-denied-outright ()
  (aqd-with-project "a\n"
    (let ((file (aqd-permit-protect ".git/config"))
          (refusal "Error: Cannot write to file

Not for agents: it belongs to the version control system."))
      (should (equal refusal (aqd-call-tool "edit_file"
                                            '(:path ".git/config"
                                                    :old_str "a" :new_str "b"))))
      (should (equal refusal
                     (aqd-call-tool "propose_file_edit"
                                    '(:path ".git/config" :original "a\n" :modified "b\n"
                                            :description "d"))))
      (should (equal (aqd-bytes-of file) "a\n")))))

;;;; Grants

(ert-deftest aqd-permit-grant-closes-a-question-that-it-covers ()
  "A call during a question, as a process filter can make one, is granted."
  (aqd-with-project "a\nx\n"
    (aqd-asking
     (let ((inner nil)
           (outer nil))
       (setq outer
             (aqd-play
              "<f6>"
              (lambda ()
                (define-key agent-q-diff-permit-map [f6]
                  (lambda ()
                    (interactive)
                    (let ((agent-q-diff-permission-function (lambda (_) 'session)))
                      (setq inner (aqd-edit "x" "y")))))
                (unwind-protect (aqd-edit "a" "b")
                  (define-key agent-q-diff-permit-map [f6] nil)))))
       (should (string-prefix-p "✓" inner))
       (should (string-prefix-p "✓" outer))
       (should (equal (aqd-disk) "b\ny\n"))
       (should-not unread-command-events)))))

;;;; Calls that are withdrawn while their question is open

(defvar aqd-permit-depth nil
  "Number of minibuffers that were open at the key <f7>.")

(defun aqd-permit-ask-withdrawing (keys function)
  "Ask for a change of \"a\" to \"b\" and press KEYS; return the message.
The key <f6> calls FUNCTION, wherever it is pressed; <f7> is pressed last,
and no question may be open then."
  (let ((agent-q-diff-permission-pause 0)
        (agent-q-diff-call (agent-q-diff-call-make :agent "Somebody" :caller 'caller)))
    (global-set-key [f6] (lambda () (interactive) (funcall function)))
    (global-set-key [f7] (lambda () (interactive)
                           (setq aqd-permit-depth (minibuffer-depth))))
    (setq aqd-permit-depth nil)
    (unwind-protect
        (prog1 (aqd-play (concat keys " <f7>") (lambda () (aqd-edit "a" "b")))
          (should (equal aqd-permit-depth 0)))
      (global-set-key [f6] nil)
      (global-set-key [f7] nil)
      (should-not unread-command-events)
      (should-not (lookup-key global-map [agent-q-diff-permit-wake])))))

(defun aqd-permit-withdraw ()
  "Withdraw the call that is asked about."
  (agent-q-diff-tools-withdraw 'caller))

(defconst aqd-permit-withdrawn "Error editing file: the caller withdrew it; nothing was changed"
  "The message about a withdrawn edit.")

(ert-deftest aqd-permit-withdrawn-from-another-window ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (save-window-excursion
        (split-window)
        (should (equal (aqd-permit-ask-withdrawing "C-x o <f6>" #'aqd-permit-withdraw)
                       aqd-permit-withdrawn)))
      (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-permit-withdrawn-is-said ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (should (equal "Nobody is waiting any more for the edit of target.txt; nothing was changed"
                     (aqd-said (aqd-permit-ask-withdrawing "<f6>" #'aqd-permit-withdraw)))))))

(ert-deftest aqd-permit-withdrawn-and-not-noticed-before-the-answer ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (should (equal (aqd-permit-ask-withdrawing "<f6> y"
                                                 (lambda ()
                                                   (aqd-permit-withdraw)
                                                   (setq unread-command-events nil)))
                     aqd-permit-withdrawn))
      (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-permit-withdrawn-while-the-reason-is-typed ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (should (equal (aqd-permit-ask-withdrawing "r No <f6> RET" #'aqd-permit-withdraw)
                     aqd-permit-withdrawn)))))

(ert-deftest aqd-permit-withdrawn-while-another-question-is-open-inside ()
  (let ((aqd-policy 'ask)
        (inner nil))
    (aqd-with-project "a\nx\n"
      (should (equal (aqd-permit-ask-withdrawing "<f6> y"
                                                 (lambda ()
                                                   (aqd-permit-withdraw)
                                                   (let ((agent-q-diff-call (agent-q-diff-call-make)))
                                                     (setq inner (aqd-edit "x" "z")))))
                     aqd-permit-withdrawn))
      (should (string-prefix-p "✓" inner))
      (should (equal (aqd-disk) "a\nz\n")))))

(ert-deftest aqd-permit-closed-connection-of-lisp-takes-questions-back ()
  (let ((aqd-policy 'ask)
        (connection (start-process "aqd-door" nil "cat"))
        (answers nil))
    (set-process-query-on-exit-flag connection nil)
    (unwind-protect
        (aqd-with-project "a\n"
          (let* ((request (agent-q-diff-lisp--request-make :wire 'slime
                                                           :connection connection))
                 (agent-q-diff-tools--is-busy t)
                 (close (lambda ()
                          (agent-q-diff-lisp--closed connection)
                          ;; A timer does the rest.
                          (while agent-q-diff-tools--gone
                            (accept-process-output nil 0.01))))
                 (ask (lambda ()
                        (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Common Lisp" :caller request)))
                          (aqd-edit "a" "b")))))
            ;; One call is in the queue, and one is asked about.
            (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Common Lisp" :caller request)))
              (agent-q-diff-tools-call-async "edit_file" nil
                                             (lambda (answer) (push answer answers))))
            (global-set-key [f6] (lambda () (interactive) (funcall close)))
            (should (equal (aqd-play "<f6>" ask) aqd-permit-withdrawn))
            (should (equal answers
                           '("Error: the call was withdrawn; nothing was changed")))
            (should-not agent-q-diff-tools--queue)
            (should (equal (aqd-disk) "a\n"))))
      (global-set-key [f6] nil)
      (delete-process connection))))

(provide 'agent-q-diff-permit-test)
;;; agent-q-diff-permit-test.el ends here
