;;; agent-q-diff-permit-test.el --- Who decides on an edit  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The policy, the question with real keys, grants for the session, the full
;; review in place of a question, calls that do not wait, and what is shown.

;;; Code:

(require 'agent-q-diff-replace-help)

(defmacro aqd-asking (&rest body)
  "Evaluate BODY where the user is asked."
  (declare (debug t))
  `(let ((aqd-policy 'ask)
         (agent-q-diff-tools-policy 'ask)
         (agent-q-diff-permission-pause 0))
     ,@body))

(defun aqd-ask (keys &optional path)
  "Ask for a change of \"a\" to \"b\", with KEYS pressed, and return the message.
PATH is the file's, relative to the project."
  (aqd-play keys
            (lambda ()
              (aqd-call-tool "edit_file" `(:path ,(or path "target.txt")
                                           :old_str "a" :new_str "b")))))

(defun aqd-answering (&rest answers)
  "Return a function that gives ANSWERS, one after the other, when asked."
  (lambda (request)
    (ignore request)
    (or (pop answers) (ert-fail "Asked once too often"))))

;;;; The question

(ert-deftest aqd-permit-y-allows-once ()
  (aqd-asking
   (aqd-with-project "a\n"
     (should (string-prefix-p "✓ Edit applied" (aqd-ask "y")))
     (should (equal (aqd-disk) "b\n"))
     (should-not agent-q-diff-permit--grants))))

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
     ;; Nobody is asked any more, even where nobody could be.
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
  "A key that comes as soon as the question, or amid others, is ignored."
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
                     (format "The file has unsaved edits in target.txt; to allow \
this saves them, too.\nedit_file target.txt (+1 -1) in %s?  [y]es [s]ession [n]o \
[r]eason [f]ull review "
                             (abbreviate-file-name (file-truename aqd-project))))))))

(ert-deftest aqd-permit-nobody-to-ask-is-no-refusal ()
  (aqd-with-project "a\n"
    (let* ((agent-q-diff-tools-policy 'ask)
           (message (aqd-edit "a" "b")))
      (should (string-prefix-p "Error editing file: nobody is there to give permission"
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

(ert-deftest aqd-permit-policy-deny-counts-for-proposals ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'deny))
      (should (equal (aqd-call-tool "propose_file_edit"
                                    '(:path "target.txt" :original "a\n"
                                      :modified "b\n" :description "d"))
                     (concat "✗ Rejected: the user's settings deny propose_file_edit \
here. None of it is in the file."
                             aqd-stop))))))

(ert-deftest aqd-permit-proposal-by-call ()
  (aqd-with-project "a\n"
    (should (string-prefix-p
             "✓ Accepted: the change is in target.txt"
             (aqd-play "a q" (lambda ()
                               (aqd-call-tool "propose_file_edit"
                                              '(:path "target.txt" :original "a\n"
                                                :modified "b\n" :description "d"))))))
    (should (equal (aqd-disk) "b\n"))))

;;;; Protected files

(defun aqd-protect (name)
  "Make NAME a file of the test's project that holds \"a\"."
  (let ((file (expand-file-name name aqd-project)))
    (make-directory (file-name-directory file) t)
    (aqd-put-bytes "a\n" file)
    file))

(ert-deftest aqd-permit-protected-files-are-asked-for-each-time ()
  (aqd-with-project "a\n"
    (let* ((file (aqd-protect ".dir-locals.el"))
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
        (should-not agent-q-diff-permit--grants))
      (should (= asked 2)))))

(ert-deftest aqd-permit-s-is-no-answer-for-a-protected-file ()
  (aqd-with-project "a\n"
    (aqd-protect ".dir-locals.el")
    (aqd-asking
     (should (equal (aqd-ask "s n" ".dir-locals.el")
                    (string-replace "target.txt" ".dir-locals.el" aqd-rejected))))))

(ert-deftest aqd-permit-grant-does-not-cover-a-protected-file ()
  (aqd-with-project "a\n"
    (aqd-protect ".dir-locals.el")
    (aqd-asking
     (let ((agent-q-diff-permission-function (aqd-answering 'session 'deny)))
       (should (string-prefix-p "✓" (aqd-edit "a" "b")))
       (should (string-prefix-p "✗" (aqd-call-tool "edit_file"
                                                   '(:path ".dir-locals.el"
                                                     :old_str "a" :new_str "b"))))))))

(ert-deftest aqd-permit-git-internals-are-denied-outright ()
  (aqd-with-project "a\n"
    (let ((file (aqd-protect ".git/config"))
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

(ert-deftest aqd-permit-grant-is-for-one-tool-and-project ()
  (let ((grants nil))
    (aqd-asking
     (aqd-with-project "a\n"
       (let ((agent-q-diff-permission-function (aqd-answering 'session)))
         (aqd-edit "a" "b")
         (should (string-prefix-p "✓" (aqd-edit "b" "c"))))
       (setq grants agent-q-diff-permit--grants)
       (should (equal (mapcar #'car grants) '("edit_file"))))
     (aqd-with-project "a\n"
       (let ((agent-q-diff-permit--grants grants)
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
         (should-not agent-q-diff-permit--grants)
         (should (equal (buffer-string) "")))
       (aqd-edit "b" "c")
       (agent-q-diff-revoke-grants)
       (should (equal (aqd-edit "c" "d") aqd-rejected))
       (kill-buffer "*Agent-Q Grants*")))))

(ert-deftest aqd-permit-grant-closes-a-question-that-it-covers ()
  "A call inside of a question, as a process filter can make one, is granted."
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

;;;; Escalation

(ert-deftest aqd-permit-large-edits-are-reviewed ()
  (let* ((agent-q-diff-tools-review-lines 50)
         (lines (lambda (n) (mapconcat #'number-to-string (number-sequence 1 n) "\n")))
         (run (lambda (n keys)
                (aqd-with-project "a\nend\n"
                  (aqd-play keys (lambda ()
                                   (aqd-edit "end\n" (concat (funcall lines n)
                                                             "\nend\n"))))))))
    (should (string-prefix-p "✓ Edit applied" (funcall run 50 "C-l")))
    (should (string-prefix-p "✓ Accepted: " (funcall run 51 "a q")))
    (should (string-prefix-p "✗ Rejected: " (funcall run 51 "r q")))
    (let ((agent-q-diff-tools-review-lines nil))
      (should (string-prefix-p "✓ Edit applied" (funcall run 51 "C-l"))))))

(ert-deftest aqd-permit-the-path-is-checked-again-at-each-hunk-of-a-review ()
  (aqd-with-project "x\n"
    (let* ((inside (expand-file-name "sub" (file-name-directory aqd-file)))
           (outside (make-temp-file "aqd-outside" t))
           (agent-q-diff-tools-policy 'review))
      (unwind-protect
          (progn
            (make-directory inside)
            (dolist (directory (list inside outside))
              (write-region "a\n" nil (expand-file-name "f" directory) nil 'silent))
            (let ((message
                   (cl-letf (((symbol-function 'recursive-edit)
                              (lambda ()
                                (delete-directory inside t)
                                (make-symbolic-link outside inside)
                                (agent-q-diff-accept-hunk)
                                (agent-q-diff-finish))))
                     (agent-q-diff-tools-call
                      "edit_file" '(:path "sub/f" :old_str "a" :new_str "b"
                                    :description "A test.")))))
              (should (string-prefix-p "Error" message)))
            (should (equal (with-temp-buffer
                             (insert-file-contents (expand-file-name "f" outside))
                             (buffer-string))
                           "a\n")))
        (delete-directory outside t)))))

(ert-deftest aqd-permit-review-of-latin-1-with-crlf ()
  (aqd-with-project ""
    (aqd-put-bytes "caf\351\r\nb\r\n" aqd-file)
    (let ((agent-q-diff-tools-policy 'review))
      (should (string-prefix-p
               "✓ Accepted: "
               (aqd-play "a q" (lambda () (aqd-edit "é\nb" "è\nc\nd")))))
      (should (equal (aqd-disk) "caf\350\r\nc\r\nd\r\n")))))

(ert-deftest aqd-permit-review-that-nobody-can-see-is-no-refusal ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'review))
      (should (equal (aqd-edit "a" "b")
                     "Error editing file: agent-q-diff-tools-policy asks for the \
full review.  But a batch Emacs has no user to decide")))))

;;;; Calls that do not wait

(defun aqd-wait-for (predicate)
  "Wait until PREDICATE returns non-nil, for a while."
  (let ((deadline (+ (float-time) 10)))
    (while (and (not (funcall predicate)) (< (float-time) deadline))
      (accept-process-output nil 0.01))
    (should (funcall predicate))))

(ert-deftest aqd-permit-calls-that-do-not-wait-keep-their-order ()
  (aqd-with-project "0\n"
    (let (answers)
      (dotimes (n 5)
        (agent-q-diff-tools-call-async
         "edit_file" `(:path "target.txt" :old_str ,(format "%d" n)
                       :new_str ,(format "%d" (1+ n)))
         (lambda (message) (push message answers))))
      (should-not answers)
      (aqd-wait-for (lambda () (= (length answers) 5)))
      (should (seq-every-p (lambda (answer) (string-prefix-p "✓" answer)) answers))
      (should (equal (aqd-disk) "5\n")))))

(ert-deftest aqd-permit-session-covers-what-is-queued ()
  (aqd-with-project "0\n"
    (aqd-asking
     (let ((agent-q-diff-permission-function (aqd-answering 'session))
           answers)
       (dotimes (n 3)
         (agent-q-diff-tools-call-async
          "edit_file" `(:path "target.txt" :old_str ,(format "%d" n)
                        :new_str ,(format "%d" (1+ n)))
          (lambda (message) (push message answers))))
       (aqd-wait-for (lambda () (= (length answers) 3)))
       (should (equal (aqd-disk) "3\n"))))))

(ert-deftest aqd-permit-every-call-is-answered-once ()
  (aqd-with-project "a\n"
    (let ((answers nil))
      ;; A wrong call, one that is cut short, one whose callback fails, a good one.
      (agent-q-diff-tools-call-async "edit_file" nil
                                     (lambda (message) (push message answers)))
      (agent-q-diff-tools-call-async
       "edit_file" '(:path "target.txt" :old_str "a" :new_str "b")
       (lambda (message)
         (push message answers)
         (error "The caller is broken")))
      (agent-q-diff-tools-call-async
       "edit_file" '(:path "target.txt" :old_str "b" :new_str "c")
       (lambda (message) (push message answers)))
      (let ((inhibit-message t))
        (aqd-wait-for (lambda () (= (length answers) 3))))
      (should (equal (aqd-disk) "c\n"))
      (should (string-prefix-p "Error: Missing parameter" (nth 2 answers))))))

(ert-deftest aqd-permit-a-call-cut-short-is-answered ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-show-edit-functions (list (lambda (&rest _) (throw 'away t))))
          answer)
      (catch 'away
        (agent-q-diff-tools--answer "edit_file"
                                    '(:path "target.txt" :old_str "a" :new_str "b")
                                    (lambda (message) (setq answer message))))
      (should (string-prefix-p "Error: the call was cut short" answer))
      (should (equal (aqd-disk) "a\n")))))

;;;; What is shown

(defun aqd-transcript ()
  "Return what the buffer of edits shows, without the times."
  (with-current-buffer agent-q-diff-transcript-buffer-name
    (replace-regexp-in-string "^[0-9:]\\{8\\} " "" (buffer-substring-no-properties
                                                    (point-min) (point-max)))))

(ert-deftest aqd-transcript-shows-numbers-signs-and-outcome ()
  (aqd-with-project (aqd-lines "a" "b" "c")
    (aqd-edit "b" "B\nBB" :description "Shout\n+ not diff")
    (should (equal (aqd-transcript)
                   (aqd-lines "edit_file target.txt  +2 -1"
                              "# Shout"
                              "# + not diff"
                              "@@ -1,3 +1,4 @@"
                              "   1    1   a"
                              "   2      - b"
                              "        2 + B"
                              "        3 + BB"
                              "   3    4   c"
                              "=> written, allowed by policy"
                              "")))))

(ert-deftest aqd-transcript-makes-visible-what-deceives ()
  (aqd-with-project "a\n"
    (aqd-edit "a" "x\u202ey\u200bz\u00a0\e[31m\ttab\u2028\U000E0041")
    (should (string-search
             "+ x<U+202E>y<U+200B>z<U+00A0><U+001B>[31m\ttab<U+2028><U+E0041>\n"
             (aqd-transcript)))
    (should (string-search "\u202e" (decode-coding-string (aqd-disk) 'utf-8)))))

(ert-deftest aqd-transcript-tells-twins-apart-as-the-diff-buffer-does ()
  (pcase-dolist (`(,text . ,shown)
                 '(("r\u0430ypal()" . "r<U+0430>ypal()") ("a\u0301" . "a<U+0301>")
                   ("a\u2212b" . "a<U+2212>b") ("a\nb\fc" . "a<U+000A>b<U+000C>c")
                   ("Gr\u00f6\u00dfe \u6f22\u5b57 \u041f\u0440\u0438" . "Gr\u00f6\u00dfe \u6f22\u5b57 \u041f\u0440\u0438")
                   ("\351 \u00e4" . "<E9> \u00e4")))
    (should (equal (agent-q-diff-transcript-visible text) shown))))

(ert-deftest aqd-transcript-says-that-a-line-is-longer ()
  (should (string-suffix-p "… and 1000 more characters"
                           (agent-q-diff-transcript-visible (make-string 3000 ?x)))))

(ert-deftest aqd-transcript-folds-jumps-and-copies ()
  (aqd-with-project (aqd-numbered 30)
    (aqd-edit "line 20\n" "line XX\n")
    (aqd-edit "line 25\n" "")
    (save-window-excursion
      (switch-to-buffer agent-q-diff-transcript-buffer-name)
      (goto-char (point-min))
      (aqd-press "TAB")
      (should (invisible-p (+ 2 (line-end-position))))
      (aqd-press "TAB")
      (should-not (invisible-p (+ 2 (line-end-position))))
      (aqd-press "<backtab> n")
      (should (looking-at-p ".*edit_file target.txt  \\+0 -1"))
      (should (invisible-p (+ 2 (line-end-position))))
      (aqd-press "<backtab> p w")
      (should (equal (current-kill 0)
                     (aqd-lines "--- target.txt" "+++ target.txt" "@@ -17,7 +17,7 @@"
                                " line 17" " line 18" " line 19" "-line 20" "+line XX"
                                " line 21" " line 22" " line 23")))
      (re-search-forward "\\+ line XX")
      (aqd-press "RET")
      (should (equal (buffer-file-name) aqd-file))
      (should (looking-at-p "line XX")))))

(ert-deftest aqd-transcript-forgets-the-oldest ()
  (let ((agent-q-diff-transcript-max-entries 2))
    (aqd-with-project "0\n"
      (dotimes (n 4)
        (aqd-edit (format "%d" n) (format "%d" (1+ n))))
      (should-not (string-search "+ 2\n" (aqd-transcript)))
      (should (string-search "+ 3\n" (aqd-transcript)))
      (should (string-search "+ 4\n" (aqd-transcript)))
      ;; The option can become smaller than what is there.
      (setq agent-q-diff-transcript-max-entries 1)
      (aqd-edit "4" "5")
      (should-not (string-search "+ 4\n" (aqd-transcript)))
      (should (string-search "+ 5\n" (aqd-transcript))))))

(ert-deftest aqd-transcript-leaves-the-windows-as-found ()
  (aqd-asking
   (aqd-with-project "a\n"
     (let* ((shown (lambda ()
                     (mapcar (lambda (window)
                               (list window (window-edges window) (window-buffer window)))
                             (window-list))))
            (before (funcall shown)))
       (aqd-ask "y")
       (should (equal before (funcall shown)))
       (should-not (get-buffer-window agent-q-diff-transcript-buffer-name))))))

;;;; What is logged

(defun aqd-logged (name)
  "Return the entries of the log file NAME, oldest first, as alists."
  (mapcar (lambda (line) (json-parse-string line :object-type 'alist
                                            :null-object nil))
          (split-string (decode-coding-string (aqd-bytes-of name) 'utf-8) "\n" t)))

(ert-deftest aqd-permit-refused-paths-are-logged ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-log-file (expand-file-name "log" aqd-project)))
      (aqd-call-tool "edit_file" '(:path "../x" :old_str "a" :new_str "b"))
      (let-alist (car (aqd-logged agent-q-diff-log-file))
        (should (equal (list .path .decided-by) '("../x" "guard")))))))

(ert-deftest aqd-permit-edits-and-proposals-are-logged ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-log-file (expand-file-name "log" aqd-project)))
      (aqd-asking
       (aqd-ask "y")
       (aqd-play "r n o RET" (lambda () (aqd-edit "b" "c")))
       (aqd-edit "b" "c")
       (aqd-play "a q" (lambda ()
                         (aqd-call-tool "propose_file_edit"
                                        '(:path "target.txt" :original "b\n"
                                          :modified "d\n" :description "d")))))
      (pcase (mapcar (lambda (entry)
                       (let-alist entry
                         (list .tool .decided-by .reason
                               (equal .hash-before .hash-after)
                               (string-search "@@ -1,1 +1,1 @@" .diff))))
                     (aqd-logged agent-q-diff-log-file))
        (`(("edit_file" "user" nil nil ,_)
           ("edit_file" "user" "no" t ,_)
           ("edit_file" "nobody" ,_ ,_ ,_)
           ("propose_file_edit" "user" nil nil ,_)))
        (other (ert-fail other))))))

;;;; Every review

(defun aqd-logged-of (function)
  "Return what the log has after FUNCTION is called in a project, oldest first.
The project's file has the lines 1 to 30."
  (aqd-with-project (aqd-numbered 30)
    (let ((agent-q-diff-log-file (expand-file-name "log" aqd-project))
          (default-directory aqd-project))
      (funcall function)
      (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews))
      (aqd-logged agent-q-diff-log-file))))

(defun aqd-logged-words (entries)
  "Return of each of ENTRIES its tool, its outcome, who decided and the hunks."
  (mapcar (lambda (entry)
            (let-alist entry
              (list .tool .outcome .decided-by .in-file .total)))
          entries))

(defconst aqd-logged-modified (aqd-numbered 30 '((5 . "five") (25 . "x")))
  "What is proposed for the project's file, two hunks.")

(defun aqd-logged-proposal (&rest more)
  "Return the arguments of a proposal for the project's file, then MORE."
  (append (list aqd-file (aqd-numbered 30) aqd-logged-modified "d") more))

(ert-deftest aqd-permit-every-way-to-a-review-is-logged-once ()
  (pcase-dolist
      (`(,tool . ,propose)
       `(("review" . ,(lambda () (apply #'agent-q-diff-review (aqd-logged-proposal nil))))
         ("review" . ,(lambda ()
                        (aqd-play "C-]" (lambda ()
                                          (apply #'agent-q-diff-review-and-wait
                                                 (aqd-logged-proposal))))))
         ("review" . ,(lambda ()
                        (agent-q-diff-review-patch
                         aqd-file "@@ -5 +5 @@\n-line 5\n+five\n" "d" nil)))
         ("review" . ,(lambda ()
                        (aqd-play "C-]" (lambda ()
                                          (agent-q-diff-review-patch-and-wait
                                           aqd-file "@@ -5 +5 @@\n-line 5\n+five\n"
                                           "d")))))
         ("review" . ,(lambda ()
                        (agent-q-diff-review-diff
                         "--- target.txt\n+++ target.txt\n@@ -5 +5 @@\n-line 5\n+five\n")))
         ("review" . ,(lambda ()
                        (agent-q-diff-review "x" "a\n" "b\n" "d" nil :detached t)))
         ("review" . ,(lambda ()
                        (aqd-play "C-]" (lambda ()
                                          (apply #'sly-agent-q-show-diff-and-wait
                                                 (aqd-logged-proposal))))))
         ("propose_file_edit"
          . ,(lambda ()
               (aqd-play "C-]" (lambda ()
                                 (apply #'agent-q-diff-tools-propose-file-edit
                                        (aqd-logged-proposal))))))
         ("propose_file_edit"
          . ,(lambda ()
               (agent-q-diff-tools-call-async
                "propose_file_edit"
                `(:path "target.txt" :original ,(aqd-numbered 30)
                  :modified ,aqd-logged-modified :description "d")
                #'ignore)))
         ("edit_file" . ,(lambda ()
                           (let ((agent-q-diff-tools-policy 'review))
                             (aqd-play "C-]" (lambda () (aqd-edit "line 5\n" "five\n"))))))))
    (ert-info ((format "%S" propose) :prefix "way: ")
      (pcase-exhaustive (aqd-logged-words (aqd-logged-of propose))
        (`((,logged "cancelled" ,(or "user" "caller") 0 ,(or 1 2)))
         (should (equal logged tool)))))))

(ert-deftest aqd-permit-log-has-a-word-for-each-outcome ()
  (pcase-dolist
      (`(,words . ,end)
       `((("accepted" "user" 2 2) . "C-c C-c")
         (("partly accepted" "user" 1 2) . "a r q")
         (("rejected" "user" 0 2) . "C-c C-k")
         (("rejected" "user" 1 2) . "a C-c C-k")
         (("cancelled" "user" 1 2) . ,(lambda (_) (agent-q-diff-accept-hunk) (kill-buffer)))
         (("cancelled" "user" 0 2) . ,(lambda (_) (run-hooks 'kill-emacs-hook)))
         (("cancelled" "caller" 0 2) . agent-q-diff-cancel)
         (("partly accepted" "program" 1 2)
          . ,(lambda (review)
               (agent-q-diff-accept review 1)
               (agent-q-diff-end review)))
         (("could not be applied" "user" 0 2)
          . ,(lambda (_)
               (aqd-in-target (erase-buffer) (insert "other\n") (save-buffer))
               (aqd-goto-hunk 1)
               (agent-q-diff-accept-hunk)
               (agent-q-diff-finish)))))
    (ert-info ((format "%S" end) :prefix "end: ")
      (should (equal (list (cons "review" words))
                     (aqd-logged-words
                      (aqd-logged-of
                       (lambda ()
                         (let ((review (apply #'agent-q-diff-review
                                              (aqd-logged-proposal nil))))
                           (pop-to-buffer (agent-q-diff-review-buffer review))
                           (setq-local agent-q-diff-grace--end 0)
                           (if (stringp end)
                               (aqd-press end)
                             (funcall end review)))))))))))

(ert-deftest aqd-permit-log-has-what-could-not-be-begun ()
  (let ((propose (lambda (path)
                   (aqd-call-tool "propose_file_edit"
                                  `(:path ,path :original "a\n" :modified "b\n"
                                    :description "d")))))
    (should (equal '(("review" "error" "error" nil nil)
                     ("review" "error" "error" nil nil)
                     ("propose_file_edit" "error" "nobody" nil nil)
                     ("propose_file_edit" "refused" "guard" nil nil)
                     ("propose_file_edit" "refused" "guard" nil nil)
                     ("propose_file_edit" "refused" "guard" nil nil)
                     ("edit_file" "refused" "guard" nil nil)
                     ("propose_file_edit" "rejected" "policy" nil nil)
                     ("edit_file" "rejected" "policy" nil nil))
                   (aqd-logged-words
                    (aqd-logged-of
                     (lambda ()
                       (agent-q-diff-review aqd-file "a\n" "a\n" "d" nil)
                       (aqd-play "C-l" (lambda ()
                                         (agent-q-diff-review-and-wait
                                          aqd-file "a\n" "a\n" "d")))
                       (funcall propose "target.txt")
                       (make-directory (expand-file-name ".git" aqd-project))
                       (funcall propose ".git/config")
                       (funcall propose "a\nb")
                       (agent-q-diff-tools-call-async
                        "propose_file_edit"
                        '(:path ".git/config" :original "a\n" :modified "b\n"
                          :description "d")
                        #'ignore)
                       (aqd-call-tool "edit_file" '(:path "../x" :old_str "a" :new_str "b"))
                       (let ((agent-q-diff-tools-policy 'deny))
                         (funcall propose "target.txt")
                         (aqd-edit "line 5\n" "five\n")))))))))

(ert-deftest aqd-permit-log-has-the-proposal-and-not-what-the-user-made-of-it ()
  (let-alist (car (aqd-logged-of
                   (lambda ()
                     (let ((agent-q-diff-caller '("Claude Code" . nil)))
                       (aqd-play "e M-< C-s five RET DEL DEL C-c C-c a r C too SPC long RET q"
                                 (lambda ()
                                   (apply #'agent-q-diff-review-and-wait
                                          (aqd-logged-proposal))))))))
    (should (equal .agent "Claude Code"))
    (should (equal .reason "too long"))
    (should (string-search "\n+five\n" .diff))
    (should (string-search "\n+fi\n" (alist-get 'edited (aref .hunks 0))))
    (should (equal (mapcar (lambda (hunk) (alist-get 'state hunk)) .hunks)
                   '("applied" "rejected")))))

(ert-deftest aqd-permit-log-lists-outcomes-in-words ()
  (aqd-with-project (aqd-numbered 30)
    (let ((agent-q-diff-log-file (expand-file-name "log" aqd-project)))
      (aqd-play "a r q" (lambda ()
                          (apply #'agent-q-diff-review-and-wait (aqd-logged-proposal))))
      (save-window-excursion
        (agent-q-diff-log)
        (should (looking-at ".* review +partly accepted +1/2 +user +/.*/target\\.txt"))
        (kill-buffer)))))

(provide 'agent-q-diff-permit-test)
;;; agent-q-diff-permit-test.el ends here
