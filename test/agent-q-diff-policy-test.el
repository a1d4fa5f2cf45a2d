;;; agent-q-diff-policy-test.el --- Hunks that the user's rules decide  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-git-help)
(require 'agent-q-diff-policy)

(defconst aqd-policy-text (aqd-numbered 30)
  "A text of 30 lines.")

(defconst aqd-policy-written (aqd-numbered 30 '((3 . "line  3") (27 . "x")))
  "The text with white space changed in one line, and another line.")

(defconst aqd-policy-blank (aqd-numbered 30 '((3 . "line  3")))
  "The text with only the white space changed.")

(defun aqd-policy-marks ()
  "Return the marks of the hunks of this buffer."
  (agent-q-diff-module-marks (agent-q-diff-change-engine agent-q-diff-buffer-change)))

(defun aqd-policy-log ()
  "Return the latest entry of the log."
  (car (agent-q-diff-log-entries 1)))

(defmacro aqd-policy-with (rules &rest body)
  "Run BODY in a repository with RULES, and a log of its own."
  (declare (indent 1) (debug t))
  `(let ((agent-q-diff-policy-rules ,rules)
         (agent-q-diff-white-space-free '("txt"))
         (agent-q-diff-log-file (make-temp-name
                                 (expand-file-name "aqd-log" temporary-file-directory))))
     (unwind-protect
         (aqd-with-repository
           (let ((agent-q-diff-project-root default-directory))
             ,@body))
       (when (file-exists-p agent-q-diff-log-file)
         (delete-file agent-q-diff-log-file)))))

;;;; What was written already

(ert-deftest aqd-policy-white-space-is-kept-and-that-is-shown-and-undone ()
  (aqd-policy-with '((white-space . keep))
    (aqd-pending-put "f.txt" aqd-policy-written)
    (aqd-with-pending
      (should (equal '(applied nil) (aqd-policy-marks)))
      (should (string-match-p "\\`# Note: 1 hunk kept by your rules (white space); u on a hunk \
undoes that, H shows what you have not seen of them\\.$"
                              (buffer-string)))
      ;; What is to be decided is at point.
      (should (= 1 (agent-q-diff-buffer-hunk-at-point)))
      (should (equal '((1 . "[KEPT]")) (aqd-signs)))
      (agent-q-diff-undo)
      (should (equal '(nil nil) (aqd-policy-marks)))
      (agent-q-diff-redo)
      (should (equal '(applied nil) (aqd-policy-marks)))
      (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
      (should (equal '(nil nil) (aqd-policy-marks)))
      (aqd-pending-do #'agent-q-diff-accept-hunk 0))
    ;; The user has decided it, though as the rule had.
    (should (equal "applied" (plist-get (car (plist-get (aqd-policy-log) :hunks)) :state)))
    (should-not (plist-get (car (plist-get (aqd-policy-log) :hunks)) :decided-by))))

(ert-deftest aqd-policy-what-a-rule-cannot-decide-is-left-and-counted ()
  (aqd-policy-with '(((files . "*.txt") . keep))
    (with-current-buffer (find-file-noselect "f.txt")
      ;; So it is not known what the text was before that.
      (buffer-disable-undo)
      (goto-char (point-max))
      (let ((first-change-hook nil))
        (insert "mine\n")))
    (aqd-pending-put "f.txt" aqd-policy-written)
    (aqd-with-pending
      (should (equal '(nil nil) (aqd-policy-marks)))
      (should (string-search "# Note: 2 hunks left to you, since your rules could not decide them \
(*.txt).\n"
                             (buffer-string)))
      (with-current-buffer (get-file-buffer "f.txt")
        (should (equal (concat aqd-policy-text "mine\n") (buffer-string)))))))

(ert-deftest aqd-policy-what-rules-decided-is-in-the-result-and-the-log ()
  (aqd-policy-with '((white-space . keep))
    (aqd-pending-put "f.txt" aqd-policy-written)
    (let (result)
      (pcase-let ((`(,_ ,review ,_)
                   (agent-q-diff-changes-begin default-directory nil
                                               (lambda (it) (setq result it)))))
        (agent-q-diff-end review))
      (should (equal '(policy nil) (mapcar (lambda (hunk) (plist-get hunk :decided-by))
                                           (plist-get result :hunks))))
      (should (string-search "Decided by the user's rules, unseen by the user: hunk 1."
                             (plist-get result :message))))
    (should (equal '("policy" nil)
                   (mapcar (lambda (hunk) (plist-get hunk :decided-by))
                           (plist-get (aqd-policy-log) :hunks))))
    (aqd-with-pending
      (should (equal '(nil) (aqd-policy-marks))))))

(ert-deftest aqd-policy-files-are-rejected-with-the-reason ()
  (aqd-policy-with '(((files . "*.lock") . (reject . "run the package manager"))
                     ((files . "sub/*") . keep))
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "a.lock" "x\n")
    (aqd-pending-put "sub/deep/b.txt" "x\n")
    (let (result)
      (pcase-let ((`(,_ ,review ,_)
                   (agent-q-diff-changes-begin default-directory nil
                                               (lambda (it) (setq result it)))))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (should (equal '(rejected nil nil applied) (aqd-policy-marks)))
          (should (string-match-p "^# Note: 1 hunk kept by your rules (sub/\\*); 1 hunk taken out by \
your rules (\\*\\.lock); u"
                                  (buffer-string)))
          ;; The headings are where they were.
          (agent-q-diff-buffer-goto-hunk 0)
          (should (looking-at "@@\\|new"))
          (goto-char (aref agent-q-diff-buffer-headings 0))
          (should (looking-at ".*a\\.lock")))
        (agent-q-diff-end review))
      (should-not (aqd-pending-has "a.lock"))
      (should (string-match-p "run the package manager" (plist-get result :message)))
      (should (string-search "Decided by the user's rules, unseen by the user: 2 hunks."
                             (plist-get result :message))))
    (should (equal '("f.txt") (aqd-pending-files)))))

(ert-deftest aqd-policy-the-first-rule-that-matches-counts ()
  (aqd-policy-with '(((files . "f.*") . ask) (white-space . keep))
    (aqd-pending-put "f.txt" aqd-policy-written)
    (aqd-pending-put "g.txt" "x\n")
    (aqd-with-pending
      (should-not (delq nil (aqd-policy-marks)))
      (should-not (string-search "by your rules" (buffer-string))))))

(ert-deftest aqd-policy-only-what-an-agent-wrote-alone-is-its-own ()
  (aqd-policy-with '(((agent . "codex") . keep))
    (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (agent-q-diff-module-pending default-directory nil)
    (agent-q-diff-module-end-turns default-directory)
    (aqd-pending-put "g.txt" "x\n")
    (aqd-with-pending
      (should (equal '(applied applied nil) (aqd-policy-marks))))))

(ert-deftest aqd-policy-no-rule-is-for-protected-files-or-hunks-of-the-users ()
  (aqd-policy-with '(((files . "*") . (reject . "no")))
    (aqd-pending-put ".envrc" "x\n")
    (aqd-with-pending
      (should (equal '(nil) (aqd-policy-marks))))
    (delete-file ".envrc")
    (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (agent-q-diff-module-pending default-directory nil)
    (agent-q-diff-module-end-turns default-directory)
    (with-current-buffer (find-file-noselect "f.txt")
      (goto-char (point-min))
      (search-forward "three")
      (insert " of mine")
      (save-buffer)
      (kill-buffer))
    (aqd-with-pending
      (should (equal '(nil rejected) (aqd-policy-marks))))))

(ert-deftest aqd-policy-a-rejection-waits-while-an-agent-is-at-work ()
  (aqd-policy-with '(((files . "f.txt") . (reject . "no")))
    (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (should (equal '(nil nil) (aqd-policy-marks)))
      (should (string-match-p "^# Note: 2 hunks taken out by your rules when the agent.s turn ends (f\\.txt)" (buffer-string)))
      (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
      (agent-q-diff-module-end-turns default-directory)
      (agent-q-diff-waiting--look (current-buffer))
      (should (equal '(rejected rejected) (aqd-policy-marks)))
      (should (equal "no" (agent-q-diff-change-comment
                           agent-q-diff-buffer-change
                           (agent-q-diff-change-hunk agent-q-diff-buffer-change 0)))))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))))

(ert-deftest aqd-policy-what-the-user-has-noted-is-left-to-the-user ()
  (aqd-policy-with nil
    (aqd-pending-put "f.txt" aqd-policy-written)
    (aqd-with-pending
      (agent-q-diff-buffer-goto-hunk 0)
      (agent-q-diff-comment-hunk "why?")
      ;; As after each command.
      (agent-q-diff-waiting-note))
    (let ((agent-q-diff-policy-rules '((white-space . keep))))
      (aqd-with-pending
        (should (equal '(nil nil) (aqd-policy-marks)))))))

(ert-deftest aqd-policy-what-is-no-rule-decides-nothing-and-is-said ()
  (dolist (rule '((white-space . drop) ((files . 1) . keep) ((files . "*") . (reject)) keep))
    (aqd-policy-with (list '(white-space . keep) rule)
      (aqd-pending-put "f.txt" aqd-policy-blank)
      (should (string-search
               "which is no rule"
               (aqd-warned
                (aqd-with-pending
                  (should (equal '(nil) (aqd-policy-marks))))))))))

;;;; What is proposed

(defun aqd-policy-propose (modified callback)
  "Propose MODIFIED for f.txt; CALLBACK is called with the result."
  (agent-q-diff-review "f.txt" aqd-policy-text modified "why" callback :agent "Codex"))

(ert-deftest aqd-policy-what-is-left-of-a-proposal-is-asked ()
  (aqd-policy-with '((white-space . keep))
    (let* (result
           (review (aqd-policy-propose aqd-policy-written (lambda (it) (setq result it)))))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (should (equal '(applied nil) (aqd-policy-marks)))
        (should (string-match-p "\\`# Description: why\n# Note: 1 hunk kept by your rules"
                                (buffer-string))))
      (should (equal aqd-policy-blank (aqd-pending-has "f.txt")))
      (should-not result)
      (agent-q-diff-reject review 1)
      (agent-q-diff-end review)
      (should (equal '(partial policy nil)
                     (cons (plist-get result :status)
                           (mapcar (lambda (hunk) (plist-get hunk :decided-by))
                                   (plist-get result :hunks))))))
    (should (equal "program" (plist-get (aqd-policy-log) :decided-by)))))

(ert-deftest aqd-policy-a-proposal-that-rules-decide-ends-by-itself ()
  (pcase-dolist (`(,rules ,text ,status ,said)
                 '((((white-space . keep)) aqd-policy-blank accepted
                    "f.txt: 1 hunk kept by your rules (white space), not shown")
                   ((((agent . "codex") . (reject . "not now"))) aqd-policy-text rejected
                    "f.txt: 1 hunk rejected by your rules (codex), not shown")))
    (aqd-policy-with rules
      (let* (result
             (shown (aqd-said
                     (should (agent-q-diff-session-outcome
                              (aqd-policy-propose aqd-policy-blank
                                                  (lambda (it) (setq result it))))))))
        (should (equal said shown))
        (should (eq status (plist-get result :status)))
        (should (string-search "Decided by the user's rules, unseen by the user: hunk 1."
                               (plist-get result :message)))
        (when (eq status 'rejected)
          (should (string-search "not now" (plist-get result :message))))
        (should (equal (symbol-value text) (aqd-pending-has "f.txt")))
        (should (equal "policy" (plist-get (aqd-policy-log) :decided-by)))))))

(ert-deftest aqd-policy-a-caller-that-waits-is-answered-at-once ()
  (aqd-policy-with '((white-space . keep))
    (should (eq 'accepted
                (plist-get (agent-q-diff-review-and-wait "f.txt" aqd-policy-text
                                                         aqd-policy-blank "why")
                           :status)))))

(ert-deftest aqd-policy-no-rule-is-for-a-file-outside-the-project ()
  (aqd-policy-with '((white-space . keep))
    (let ((file (make-temp-file "aqd-elsewhere" nil nil aqd-policy-text)))
      (unwind-protect
          (let ((review (agent-q-diff-review file aqd-policy-text aqd-policy-blank "why"
                                             #'ignore)))
            (should-not (agent-q-diff-session-outcome review))
            (agent-q-diff-cancel review))
        (delete-file file)))))

(ert-deftest aqd-policy-a-review-since-a-commit-is-left-to-the-user ()
  (aqd-policy-with '((white-space . keep))
    (aqd-pending-put "f.txt" aqd-policy-blank)
    (let ((review (agent-q-diff-review-changes nil "HEAD")))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (should (equal '(nil) (aqd-policy-marks)))
        (agent-q-diff-finish)))))

(ert-deftest aqd-policy-what-the-user-asked-to-review-is-left-to-the-user ()
  (aqd-policy-with '((white-space . keep))
    (let* ((agent-q-diff-call (agent-q-diff-call-with 'is-by-user t))
           (review (aqd-policy-propose aqd-policy-blank #'ignore)))
      (should-not (agent-q-diff-session-outcome review))
      (agent-q-diff-cancel review))))

(provide 'agent-q-diff-policy-test)
;;; agent-q-diff-policy-test.el ends here
