;;; agent-q-diff-message-test.el --- What each agent reads  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Agent-Q's agent reads the words of its documents, every other agent plain
;; sentences, and both the same facts: how much is in the file, or in the
;; buffer only, which hunks, and what the user said.

;;; Code:

(require 'agent-q-diff-replace-help)

(defconst aqd-message-original (aqd-numbered 30)
  "A file.")

(defconst aqd-message-modified (aqd-numbered 30 '((5 . "five") (25 . "x")))
  "What is proposed for it, two hunks.")

(defun aqd-message-propose (keys)
  "Return what an agent reads whose proposal is decided with KEYS."
  (aqd-play keys (lambda ()
                   (aqd-call-tool "propose_file_edit"
                                  `(:path "target.txt" :original ,aqd-message-original
                                    :modified ,aqd-message-modified
                                    :description "d")))))

(defun aqd-message-of (keys &optional save)
  "Return what an agent reads whose proposal is decided with KEYS.
SAVE is the value of `agent-q-diff-save'.  Lines that show the file are
left out."
  (let ((agent-q-diff-save (or save 'always)))
    (aqd-with-project aqd-message-original
      (car (split-string (aqd-message-propose keys)
                         "\nThe lines as they now are:")))))

(defun aqd-message-to-agent-q (keys)
  "Return what Agent-Q's agent reads whose proposal is decided with KEYS."
  (aqd-with-project aqd-message-original
    (car (split-string
          (aqd-play keys (lambda ()
                           (agent-q-diff-tools-propose-file-edit
                            "target.txt" aqd-message-original
                            aqd-message-modified "d")))
          "\nThe lines as they now are:"))))

;;;; Plain sentences

(ert-deftest aqd-message-accepted ()
  (should (equal (aqd-message-of "C-c C-c")
                 "✓ Accepted: both hunks are in target.txt, which is saved."))
  (should (equal (aqd-message-of "a r q")
                 "✓ Accepted in part: 1 of 2 hunks is in target.txt, which is saved.

In the file: hunk 1.
Not in the file: hunk 2.")))

(ert-deftest aqd-message-accepted-in-the-buffer-only ()
  (should (equal (aqd-message-of "C-c C-c" 'never)
                 "✓ Accepted: both hunks are in the user's Emacs buffer for target.txt.

The buffer is not saved; the file on disk is as it was."))
  (should (equal (aqd-message-of "a r q" 'never)
                 "✓ Accepted in part: 1 of 2 hunks is in the user's Emacs buffer for target.txt.

In the buffer: hunk 1.
Not in the buffer: hunk 2.
The buffer is not saved; the file on disk is as it was.")))

(ert-deftest aqd-message-file-deleted-after-a-hunk-was-applied ()
  (global-set-key [f6] (lambda () (interactive) (delete-file aqd-file)))
  (unwind-protect
      (should (string-suffix-p "\n\nNone of it is in the file.
What was applied is still in the user's Emacs buffer."
                               (aqd-message-of "a <f6> r q")))
    (global-unset-key [f6])))

(ert-deftest aqd-message-one-hunk-is-saved-and-one-is-not ()
  "Half a word that the user typed must not reach the disk with a hunk."
  (let ((agent-q-diff-save 'if-clean))
    (aqd-with-project aqd-message-original
      (let (message)
        (cl-letf (((symbol-function 'recursive-edit)
                   (lambda ()
                     (agent-q-diff-accept-hunk t)
                     (save-current-buffer
                       (aqd-in-target (goto-char (point-max)) (insert "half a wo")))
                     (agent-q-diff-accept-hunk)
                     (agent-q-diff-finish))))
          (setq message (aqd-message-propose "")))
        (should (equal (aqd-disk) (aqd-numbered 30 '((5 . "five")))))
        (should (equal message
                       "✓ Accepted: both hunks are in the user's Emacs buffer for target.txt.

The buffer has unsaved changes, so the file on disk may differ from it."))))))

(ert-deftest aqd-message-taken-out-again-but-only-in-the-buffer ()
  (let ((agent-q-diff-save 'if-clean))
    (aqd-with-project aqd-message-original
      (let (message)
        (cl-letf (((symbol-function 'recursive-edit)
                   (lambda ()
                     (agent-q-diff-accept-hunk)
                     (save-current-buffer
                       (aqd-in-target (goto-char (point-max)) (insert "half a wo")))
                     (agent-q-diff-unapply-hunk)
                     (agent-q-diff-reject-all))))
          (setq message (aqd-message-propose "")))
        (should (equal (aqd-disk) (aqd-numbered 30 '((5 . "five")))))
        (should (string-search "None of it is in the buffer." message))
        (should (string-search "so the file on disk may differ from it" message))))))

(ert-deftest aqd-message-rejected ()
  (should (equal (aqd-message-of "C-c C-k") aqd-rejected))
  (should (equal (aqd-message-of "C-c C-k" 'never) aqd-rejected))
  (should (equal (aqd-message-of "a C-c C-k")
                 (concat "✗ Rejected: the user declined the change to target.txt. \
1 of 2 hunks is in the file."
                         aqd-stop "\n\nIn the file: hunk 1.\nNot in the file: hunk 2."))))

(ert-deftest aqd-message-accepted-and-undone-by-hand ()
  (aqd-with-project "a\n"
    (let (message)
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (agent-q-diff-accept-hunk)
                   (save-current-buffer
                     (aqd-in-target (erase-buffer) (insert "a\n") (save-buffer)))
                   (agent-q-diff-finish))))
        (setq message (aqd-call-tool "propose_file_edit"
                                     '(:path "target.txt" :original "a\n"
                                       :modified "b\n" :description "d"))))
      (should (string-prefix-p "✓ Accepted, but none of it is in target.txt."
                               message)))))

(ert-deftest aqd-message-edited-by-the-user ()
  (aqd-with-project aqd-edit-original
    (should (equal (aqd-play "e M-< C-s c2 RET DEL 3 C-c C-c a q"
                             (lambda ()
                               (aqd-call-tool "propose_file_edit"
                                              `(:path "target.txt"
                                                :original ,aqd-edit-original
                                                :modified ,aqd-edit-modified
                                                :description "d"))))
                   "✓ Accepted, with the user's edits: the change is in target.txt, which is saved.

The user edited hunk 1; in the file it is:
@@ -1,6 +1,6 @@
 1
 2
-b
-c
+b2
+c3
 3
 4"))))

(ert-deftest aqd-message-of-split-hunks-shows-their-lines ()
  "The agent does not know the numbers that they then have."
  (let ((original "a\nb\nc\n")
        (modified "A\nb\nC\n"))
    (aqd-with-project original
      (let ((message (aqd-play "s a r q"
                               (lambda ()
                                 (aqd-call-tool "propose_file_edit"
                                                `(:path "target.txt" :original ,original
                                                  :modified ,modified
                                                  :description "d"))))))
        (should-not (string-search "hunks." message))
        (should (string-match-p "\n\nIn the file:\nhunk 1:\n@@ .*\n\\(?:.*\n\\)*?-a\n\\+A\n"
                                message))
        (should (string-match-p "\nNot in the file:\nhunk 2:\n@@ .*\n" message))))))

(ert-deftest aqd-message-of-a-text-that-is-no-file ()
  (let ((aqd-answers nil))
    (pcase-dolist (`(,decide . ,message)
                   '((agent-q-diff-accept-all
                      . "✓ Accepted: the change is in the text for /nowhere/x; no file was written.")
                     (agent-q-diff-reject-all
                      . "✗ Rejected: the user declined the change to /nowhere/x. \
None of it is in the text.")))
      (let ((review (agent-q-diff-review "/nowhere/x" "a\n" "b\n" "d"
                                         (lambda (result) (push result aqd-answers))
                                         :detached t)))
        (aqd-in-diff review (funcall decide))
        (should (string-prefix-p message (plist-get (car aqd-answers) :message)))
        (should-not (string-search "saved" (plist-get (car aqd-answers) :message)))))))

;;;; No decision

(ert-deftest aqd-message-cancelled ()
  (should (equal (aqd-message-of "C-]")
                 "Error: there is no decision about target.txt: the user left it undecided

None of it is in the file."))
  (should (equal (aqd-message-of "a C-]")
                 "Error: there is no decision about target.txt: the user left it undecided

1 of 2 hunks is in the file.
In the file: hunk 1.
Not in the file: hunk 2."))
  (should (equal (aqd-message-of "a C-]" 'never)
                 "Error: there is no decision about target.txt: the user left it undecided

1 of 2 hunks is in the buffer.
In the buffer: hunk 1.
Not in the buffer: hunk 2.
The buffer is not saved; the file on disk is as it was.")))

(ert-deftest aqd-message-stale ()
  (aqd-with-project "other\n"
    (should (equal (aqd-play "a q" (lambda ()
                                     (aqd-call-tool
                                      "propose_file_edit"
                                      '(:path "target.txt" :original "a\n"
                                        :modified "b\n" :description "d"))))
                   "Error: the change could not be applied to target.txt: \
hunk 1: its lines were changed since, at line 1

None of it is in the file."))))

(ert-deftest aqd-message-same-without-waiting ()
  (aqd-with-project aqd-message-original
    (let (messages)
      (agent-q-diff-tools-call-async
       "propose_file_edit"
       `(:path "target.txt" :original ,aqd-message-original
         :modified ,aqd-message-modified :description "d")
       (lambda (message) (push message messages)))
      (let ((review (car (agent-q-diff-open-reviews))))
        (agent-q-diff-accept review 0)
        (agent-q-diff-cancel review))
      (should (equal messages
                     '("Error: there is no decision about target.txt: the agent withdrew it

1 of 2 hunks is in the file.
In the file: hunk 1.
Not in the file: hunk 2."))))))

;;;; Whose words

(defconst aqd-message-words-of-agent-q
  "sly-agent-q-diff\\.el\\|Emacs integration\\|diff UI\\|buffer has been updated\
\\|Save the buffer\\|explicitly declined\\|may not have been modified"
  "What only Agent-Q's agent is to read.")

(ert-deftest aqd-message-words-of-agent-q-are-for-agent-q-alone ()
  (dolist (keys '("C-c C-c" "a r q" "C-c C-k" "a C-]" "C-]"))
    (should (string-match-p aqd-message-words-of-agent-q (aqd-message-to-agent-q keys)))
    (should-not (string-match-p aqd-message-words-of-agent-q (aqd-message-of keys)))
    (let ((aqd-answers nil))
      (aqd-with-file aqd-message-original
        (aqd-async aqd-message-original aqd-message-modified)
        (pop-to-buffer (agent-q-diff-review-buffer (car (agent-q-diff-open-reviews))))
        (setq-local agent-q-diff-grace--end 0)
        (aqd-press (if (equal keys "C-]") "C-c C-k" (string-replace "C-]" "q" keys)))
        (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews)))
      (should-not (string-match-p aqd-message-words-of-agent-q
                                  (plist-get (car aqd-answers) :message))))))

(ert-deftest aqd-message-words-stay-with-the-review ()
  "They are those of whoever began it, not of whoever is busy when it ends."
  (aqd-with-file aqd-message-original
    (let* ((messages nil)
           (keep (lambda (result) (push (plist-get result :message) messages)))
           (begin (lambda ()
                    (agent-q-diff-review aqd-file aqd-message-original
                                         aqd-message-modified "d" keep)))
           (plain (funcall begin))
           (contract (let ((agent-q-diff-contract 'agent-q)) (funcall begin))))
      (agent-q-diff-cancel contract)
      (let ((agent-q-diff-contract 'agent-q))
        (agent-q-diff-cancel plain))
      (pcase-exhaustive messages
        (`(,plain ,contract)
         (should (string-prefix-p "Error: there is no decision" plain))
         (should (string-search "Make sure\nsly-agent-q-diff.el" contract)))))))

(ert-deftest aqd-message-words-of-what-others-begin-while-agent-q-waits ()
  (aqd-with-file aqd-message-original
    (let* ((inner nil)
           (begin (lambda ()
                    (agent-q-diff-cancel
                     (agent-q-diff-review "x" "a\n" "b\n" "d"
                                          (lambda (result) (push result inner))
                                          :detached t)))))
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda () (funcall begin) (agent-q-diff-reject-all))))
        (should (string-prefix-p "✗ REJECTED"
                                 (agent-q-diff-tools-propose-file-edit
                                  aqd-file aqd-message-original
                                  aqd-message-modified "d"))))
      (aqd-with-project "a\n"
        (let ((agent-q-diff-tools-policy 'ask)
              (agent-q-diff-contract 'agent-q)
              (agent-q-diff-caller '("Agent-Q" . nil)))
          (cl-letf (((symbol-function 'read-from-minibuffer)
                     (lambda (&rest _)
                       (funcall begin)
                       (setq agent-q-diff-permit--answer 'deny)
                       "")))
            (should (string-prefix-p "✗ REJECTED"
                                     (aqd-play "C-l" (lambda () (aqd-edit "a" "b"))))))))
      (should (= 2 (length inner)))
      (dolist (result inner)
        (should (string-prefix-p "Error: there is no decision about "
                                 (plist-get result :message)))))))

(ert-deftest aqd-message-words-of-an-edit-that-waits-for-its-turn ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'deny)
          (messages nil))
      (dolist (agent-q-diff-contract '(agent-q nil))
        (agent-q-diff-tools-call-async
         "edit_file" '(:path "target.txt" :old_str "a" :new_str "b")
         (lambda (message) (push message messages))))
      (with-timeout (20 (ert-fail "no answer"))
        (while (length< messages 2)
          (accept-process-output nil 0.01)))
      (pcase-exhaustive messages
        (`(,plain ,contract)
         (should (string-prefix-p "✗ Rejected: the user's settings deny" plain))
         (should (string-prefix-p "✗ REJECTED: User explicitly declined" contract)))))))

;;;; What Agent-Q reads when a review is left

(ert-deftest aqd-message-agent-q-reads-what-is-in-the-file ()
  (should (equal (aqd-message-to-agent-q "a C-]")
                 "Error showing diff for target.txt: Review cancelled: \
\"the user left it undecided\"

This might indicate an issue with the Emacs integration. Make sure
sly-agent-q-diff.el is loaded.

1 of 2 hunks is in the file.
In the file: hunk 1.
Not in the file: hunk 2.")))

(defun aqd-message-left (leave &optional save)
  "Return the error that Agent-Q's call gets if LEAVE ends the review.
LEAVE is called in the diff buffer, when one of two hunks is accepted.
SAVE is the value of `agent-q-diff-save'."
  (let ((agent-q-diff-save (or save 'always)))
    (aqd-with-file aqd-message-original
      (condition-case err
          (aqd-call aqd-message-original aqd-message-modified
                    (lambda ()
                      (agent-q-diff-accept-hunk)
                      (funcall leave)))
        (agent-q-diff-cancelled (cadr err))))))

(ert-deftest aqd-message-error-of-agent-qs-call-says-what-is-in-the-file ()
  (dolist (leave (list (lambda () (kill-buffer))
                       (lambda () (throw 'top-level nil))
                       (lambda () (agent-q-diff-cancel agent-q-diff-buffer-review))))
    (should (string-suffix-p "; 1 of 2 hunks is in the file" (aqd-message-left leave))))
  (should (string-suffix-p
           "; 1 of 2 hunks is in the buffer. The buffer is not saved; \
the file on disk is as it was"
           (aqd-message-left #'kill-buffer 'never))))

(ert-deftest aqd-message-error-of-agent-qs-call-if-nothing-is-in-the-file ()
  (aqd-with-file aqd-message-original
    (should (equal '(agent-q-diff-cancelled
                     "the user left it undecided; none of it is in the file")
                   (aqd-review aqd-message-original aqd-message-modified "C-]")))))

(ert-deftest aqd-message-when-emacs-is-left ()
  (let ((aqd-answers nil)
        (answers nil))
    (aqd-with-file aqd-message-original
      (agent-q-diff-accept (aqd-async aqd-message-original aqd-message-modified) 0)
      ;; And of Agent-Q's own call, which is answered over SLY.
      (cl-letf (((symbol-function 'agent-q-diff-lisp-answer)
                 (lambda (_request value) (push value answers))))
        (sly-agent-q-diff--show-and-answer
         (agent-q-diff-lisp--request-make) aqd-file
         (aqd-numbered 30 '((5 . "five"))) aqd-message-modified "d")
        (agent-q-diff-accept (cadr (agent-q-diff-open-reviews)) 0)
        (run-hooks 'kill-emacs-hook))
      (should (string-search "Emacs exited\n\n" (car (aqd-answer :message))))
      (should (string-search "\nBoth hunks are in the file." (car (aqd-answer :message))))
      (should (equal answers '((agent-q-diff-cancelled
                                "Emacs exited; the change is in the file")))))))

;;;; STOP

(defun aqd-message-stops-p (message)
  "Return non-nil if MESSAGE tells the agent to stop."
  (string-search "STOP" message))

(ert-deftest aqd-message-stop-stands-only-without-a-reason ()
  (pcase-dolist (`(,keys . ,without-reason)
                 '(("C-c C-k" . t)
                   ("C instead SPC use SPC foo RET C-c C-k" . nil)
                   ("c too SPC long RET C-c C-k" . nil)
                   ("c too SPC long RET r r q" . nil)
                   ;; It is no reason to reject what was accepted.
                   ("c nice RET a C-c C-k" . t)))
    (pcase-dolist (`(,agent-q-diff-stop-directive . ,is-expected)
                   `((without-reason . ,without-reason) (always . t) (never . nil)))
      (ert-info ((format "%s %s" keys agent-q-diff-stop-directive) :prefix "case: ")
        (let ((message (aqd-message-of keys)))
          (should (string-prefix-p "✗ Rejected" message))
          (should (eq is-expected (and (aqd-message-stops-p message) t))))
        ;; Agent-Q's words are fixed.
        (should (aqd-message-stops-p (aqd-message-to-agent-q keys)))))))

(ert-deftest aqd-message-reason-follows-the-rejection ()
  (should (equal (aqd-message-of "C use SPC foo RET c long RET C-c C-k")
                 (concat aqd-declined "\n\nThe user says: use foo
The user says of hunk 1, which is rejected: long"))))

(ert-deftest aqd-message-stop-of-a-denied-edit ()
  (pcase-dolist (`(,answer ,directive ,is-expected)
                 '((deny without-reason t) ((deny . "Use b.") without-reason nil)
                   ((deny . "Use b.") always t) (deny never nil)))
    (aqd-with-project "a\n"
      (let* ((agent-q-diff-tools-policy 'ask)
             (agent-q-diff-stop-directive directive)
             (agent-q-diff-permission-function (lambda (_) answer))
             (message (aqd-edit "a" "b")))
        (should (string-prefix-p aqd-declined message))
        (should (eq is-expected (and (aqd-message-stops-p message) t)))
        (should (eq (consp answer)
                    (and (string-search "Reason: Use b." message) t)))))))

(provide 'agent-q-diff-message-test)
;;; agent-q-diff-message-test.el ends here
