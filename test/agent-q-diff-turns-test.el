;;; agent-q-diff-turns-test.el --- The turns of agents  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tests of the list of turns, and of what happens when a turn has ended.

;;; Code:

(require 'agent-q-diff-git-help)
(require 'agent-q-diff-turns)

(defun aqd-turns-play (title changes)
  "Have Codex, asked for TITLE, write the lines CHANGES of f.txt."
  (agent-q-diff-module-begin-turn default-directory "Codex" "s" title)
  (aqd-pending-put "f.txt" (aqd-numbered 30 changes))
  (agent-q-diff-module-end-turns default-directory))

(defun aqd-turns-rows ()
  "Return the rows of the list of turns without their times."
  (mapcar #'cdr (aqd-rows-of #'agent-q-diff-turns)))

(ert-deftest aqd-turns-the-list-says-what-became-of-each ()
  (aqd-with-repository
    (should-not (aqd-turns-rows))
    (aqd-turns-play "fix the login bug" '((3 . "three") (15 . "15!") (27 . "x")))
    (should (equal '(("Codex" "fix the login bug" "1" "3" "0" "0" "3")) (aqd-turns-rows)))
    (save-current-buffer
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (aqd-pending-do #'agent-q-diff-accept-hunk 1)))
    (should (equal '(("Codex" "fix the login bug" "1" "3" "1" "1" "1")) (aqd-turns-rows)))
    (agent-q-diff-module-begin-turn default-directory "Codex" "s" "more")
    (aqd-pending-put "new.txt" "1\n")
    (should (equal '("Codex" "(at work) more" "1" "1" "0" "0" "1") (car (aqd-turns-rows))))))

(ert-deftest aqd-turns-hunks-are-those-of-the-review ()
  (aqd-with-repository
    ;; Two runs of lines that one hunk has, and another hunk.
    (aqd-turns-play "one" '((3 . "three") (6 . "six") (27 . "x")))
    (should (equal '(("Codex" "one" "1" "2" "0" "0" "2")) (aqd-turns-rows)))
    ;; The next turn writes into the first hunk, and makes a third one.
    (aqd-turns-play "two" '((3 . "three") (6 . "SIX") (15 . "15!") (27 . "x")))
    (should (equal '(("Codex" "two" "1" "2" "0" "0" "2") ("Codex" "one" "1" "2" "0" "0" "2"))
                   (aqd-turns-rows)))
    (save-current-buffer
      (aqd-with-pending
        (should (= 3 (agent-q-diff-count-hunks)))))))

(defun aqd-turns-press-return (nth)
  "Press RET on turn NTH of the list, and return the changed lines of the review."
  (save-current-buffer
    (agent-q-diff-turns)
    (goto-char (point-min))
    (forward-line nth)
    (let ((review (agent-q-diff-turns-review)))
      (prog1 (with-current-buffer (agent-q-diff-session-buffer review)
               (seq-filter (lambda (line) (string-match-p "\\`[-+][^-+]" line))
                           (split-string (buffer-substring-no-properties (point-min) (point-max))
                                         "\n")))
        (agent-q-diff-cancel review)
        (kill-buffer "*agent-q-diff turns*")))))

(ert-deftest aqd-turns-each-can-be-reviewed-also-when-all-is-decided ()
  (aqd-with-repository
    (aqd-turns-play "one" '((3 . "three")))
    (save-current-buffer
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
    (aqd-turns-play "two" '((3 . "three") (27 . "x")))
    (should (equal '("-line 27" "+x") (aqd-turns-press-return 0)))
    ;; Nothing of it is pending, so all that differs from before it is shown.
    (should (equal '("-line 3" "+three" "-line 27" "+x") (aqd-turns-press-return 1)))
    (agent-q-diff-module-begin-turn default-directory "Codex" "s" "at work")
    (agent-q-diff-mark-reviewed)
    (should-error (aqd-turns-press-return 0) :type 'user-error)))

(ert-deftest aqd-turns-a-hunk-that-was-kept-can-be-taken-out-of-a-past-turn ()
  (aqd-with-repository
    (aqd-turns-play "one" '((3 . "three")))
    (agent-q-diff-mark-reviewed)
    (let ((review (agent-q-diff-review-changes default-directory '(turn . 1))))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (should (string-search "Everything since Codex's turn \"one\", yours included."
                               (buffer-string)))
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (agent-q-diff-finish nil t)))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))
    (should (string-prefix-p "Nothing of this turn is left in "
                             (aqd-said (agent-q-diff-review-changes default-directory
                                                                    '(turn . 1)))))))

(ert-deftest aqd-turns-the-review-is-called-after-the-prompt ()
  (aqd-with-repository
    (aqd-turns-play "fix the login bug, and then all the other bugs" '((3 . "three")))
    (aqd-with-pending
      (should (equal "fix the login bug, and then a… · f.txt"
                     (agent-q-diff-session-name agent-q-diff-buffer-review))))))

(ert-deftest aqd-turns-what-waits-is-taken-out-at-the-end-also-without-a-review ()
  (dolist (is-open '(nil t))
    (aqd-with-repository
      (agent-q-diff-module-begin-turn default-directory "Codex" "s" "")
      (aqd-pending-put "f.txt" aqd-pending-written)
      (save-current-buffer
        (aqd-with-pending
          (aqd-pending-do #'agent-q-diff-reject-hunk 0)
          (run-hooks 'post-command-hook)
          (unless is-open
            (should (string-search "1 of these to be taken out when the agent's turn ends"
                                   (aqd-said (agent-q-diff-finish nil t)))))
          ;; It goes on.
          (agent-q-diff-changes-carry-out aqd-pending-root)
          (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
          (agent-q-diff-module-end-turns aqd-pending-root)
          (should (equal "Codex's turn in PROJECT has ended: 1 file to review; M-x agent-q-diff-review-changes"
                         (let ((default-directory aqd-pending-root))
                           (aqd-turns-end))))
          (should (equal (aqd-numbered 30 '((27 . "x"))) (aqd-pending-has "f.txt")))
          (should (eq is-open (and (agent-q-diff-open-reviews) t)))
          (when is-open
            (aqd-said (agent-q-diff-finish nil t)))))
      (should (string-search "- f.txt, line 3" (agent-q-diff-told-message default-directory)))
      ;; The rest stays pending.
      (should (equal '("f.txt") (aqd-pending-files))))))

(ert-deftest aqd-turns-the-header-says-who-is-at-work-and-the-key-that-ends-it ()
  (aqd-with-repository
    (agent-q-diff-module-begin-turn default-directory "Claude Code" "s" "")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (cl-letf (((symbol-function 'where-is-internal) (lambda (&rest _) (kbd "C-c q e"))))
      (aqd-with-pending
        (should (string-match-p " · Claude Code at work since [0-9][0-9]:[0-9][0-9] (C-c q e ends that)"
                                (substring-no-properties header-line-format)))
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (agent-q-diff-end-turns)
        (should (equal (aqd-numbered 30 '((27 . "x"))) (aqd-pending-has "f.txt")))
        (should-not (string-match-p "at work" header-line-format))))))

(ert-deftest aqd-turns-what-is-in-the-background-is-not-plainly-outside ()
  (let* ((turns (list (vector 7 0 nil "Claude Code" "s" "" nil t)))
         (names (agent-q-diff-pending--names '(7 (7) (8) outside) turns)))
    (should (equal '("Claude Code" (background . "Claude Code") (background . "an agent") outside)
                   names))
    (should (equal "in the background of Claude Code, or outside"
                   (agent-q-diff-change-author-words (list (cadr names)))))))

(defun aqd-turns-end (&optional answer)
  "End a turn of Codex in Emacs, and return the message that is shown.
ANSWER, if it is not nil, is called when Codex need not wait any more."
  (when-let ((said (aqd-said
                    (agent-q-diff-turns-ended default-directory "Codex" (or answer #'ignore)))))
    (aqd-in-project said)))

(ert-deftest aqd-turns-the-end-of-a-turn-is-announced ()
  (aqd-with-repository
    (should-not (aqd-turns-end))
    (aqd-turns-play "one" '((3 . "three")))
    (should (equal "Codex's turn in PROJECT has ended: 1 file to review; M-x agent-q-diff-review-changes"
                   (aqd-turns-end #'ignore)))
    (should agent-q-diff-pending-mode)
    (let ((agent-q-diff-when-turn-ends nil))
      (should-not (aqd-turns-end)))
    (should-not (agent-q-diff-open-reviews))
    ;; Where there is no project, there is nothing to say.
    (let ((default-directory temporary-file-directory))
      (should-not (aqd-turns-end)))))

(defun aqd-turns-run (command changes &optional is-unknown)
  "Have the shell of Codex run COMMAND, which writes the lines CHANGES of f.txt.
IS-UNKNOWN is as for `agent-q-diff-pending-command-ended'."
  (agent-q-diff-module-begin-turn default-directory "Codex" "s" "")
  (agent-q-diff-pending-note-command "c" "Codex" "s" command (list (file-truename (aqd-pending-name "f.txt"))))
  (aqd-pending-put "f.txt" (aqd-numbered 30 changes))
  (agent-q-diff-pending-command-ended "Codex" "s" "c" is-unknown)
  (agent-q-diff-module-end-turns default-directory))

(ert-deftest aqd-turns-the-command-that-changed-a-file-is-said ()
  (aqd-with-repository
    (let (agent-q-diff-pending--running agent-q-diff-pending--commands)
      (should-not (aqd-turns-end))
      (aqd-turns-run "sed -i 's/a/b/'\n  f.txt" '((3 . "three")))
      (should (equal "Codex's turn in PROJECT has ended: 1 file to review, changed by `sed -i 's/a/b/' f.txt`; \
M-x agent-q-diff-review-changes"
                     (aqd-turns-end)))
      (aqd-with-pending
        (goto-char (point-min))
        (should (search-forward "Changed by a shell: f.txt (Codex: sed -i 's/a/b/' f.txt)" nil t)))
      (aqd-pending-put "new.txt" "1\n")
      (should (string-search "2 files to review, 1 changed by its shell, as by `sed"
                             (aqd-turns-end)))
      ;; Others have written since, or perhaps before it ended.
      (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "3!"))))
      (should (string-search "2 files to review; M-x" (aqd-turns-end)))
      (aqd-turns-run "sed -i s/a/b/ f.txt" '((3 . "more")) 'is-unknown)
      (should (string-search "2 files to review; M-x" (aqd-turns-end)))
      (should-not agent-q-diff-pending--running))))

(ert-deftest aqd-turns-what-is-left-out-is-said-once-at-the-end-of-a-turn ()
  (aqd-with-repository
    (should-not (aqd-turns-end))
    (aqd-put-bytes (make-string (1+ (* 8 1024 1024)) ?x) (aqd-pending-name "big"))
    (should (equal "Codex's turn in PROJECT has ended: Not looked at: big (over 8 MB)" (aqd-turns-end)))
    (should-not (aqd-turns-end))
    (aqd-put-bytes (make-string (1+ (* 8 1024 1024)) ?x) (aqd-pending-name "more"))
    (aqd-turns-play "one" '((3 . "three")))
    (should (equal "Codex's turn in PROJECT has ended: Not looked at: more (over 8 MB); 1 file to review; \
M-x agent-q-diff-review-changes"
                   (aqd-turns-end)))))

(ert-deftest aqd-turns-what-an-agent-hides-is-said-until-all-is-marked-reviewed ()
  (aqd-with-repository
    (should-not (aqd-pending-files))
    (agent-q-diff-module-begin-turn default-directory "Codex" "s" "")
    (aqd-pending-put ".git/info/exclude" "*.sh\n")
    (dolist (name '("a.sh" "b.sh" "c.sh" "d.sh"))
      (aqd-pending-put name "x\n"))
    (let ((note "New lines of .git/info/exclude hide a.sh and 3 more"))
      (should (equal (concat "Codex's turn in PROJECT has ended: " note)
                     (aqd-turns-end)))
      (agent-q-diff-end-turns)
      (should (string-prefix-p (concat note "; nothing else is pending in ")
                               (aqd-said (agent-q-diff-review-changes))))
      (aqd-pending-put ".gitignore" "e.sh\n")
      (aqd-pending-put "e.sh" "x\n")
      (aqd-with-pending
        (goto-char (point-min))
        (should (looking-at (concat "# Note: " note "; New lines of .gitignore hide e\\.sh$")))))
    (agent-q-diff-mark-reviewed)
    (should (string-prefix-p "Nothing is pending" (aqd-said (agent-q-diff-review-changes))))))

(ert-deftest aqd-turns-the-review-opens-when-nobody-types ()
  (aqd-with-repository
    (aqd-turns-play "one" '((3 . "three")))
    (let ((agent-q-diff-when-turn-ends 'review)
          (selected (selected-window))
          (timer nil))
      (cl-letf (((symbol-function 'run-with-idle-timer)
                 (lambda (_seconds _repeat function &rest _) (setq timer function))))
        (aqd-turns-end))
      (should-not (agent-q-diff-open-reviews))
      (funcall timer)
      (should (= 1 (length (agent-q-diff-open-reviews))))
      (should (eq selected (selected-window)))
      (agent-q-diff-cancel (car (agent-q-diff-open-reviews))))))

;; The agent's program takes the message, and so nothing is lost if the agent is
;; gone by then.
(ert-deftest aqd-turns-an-agent-that-waits-need-not-when-the-message-is-queued ()
  (aqd-with-repository
    (aqd-turns-play "one" '((3 . "three")))
    (let ((agent-q-diff-stop-waits t)
          (answers nil))
      (aqd-turns-end (lambda (text) (push text answers)))
      (should-not answers)
      (with-current-buffer (agent-q-diff-session-buffer (car (agent-q-diff-open-reviews)))
        (agent-q-diff-comment-hunk "keep the old name" 0)
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (agent-q-diff-finish nil t))
      (should (equal '("") answers)))
    (should (string-match-p "The user says: keep the old name\n\\(?:.\\|\n\\)*:\n    -line 3\n"
                            (agent-q-diff-told-take default-directory)))
    ;; Nothing is to be said.
    (aqd-turns-play "two" '((27 . "x")))
    (let ((agent-q-diff-stop-waits t)
          (answers nil))
      (aqd-turns-end (lambda (text) (push text answers)))
      (with-current-buffer (agent-q-diff-session-buffer (car (agent-q-diff-open-reviews)))
        (agent-q-diff-finish nil t))
      (should (equal '("") answers)))))

(provide 'agent-q-diff-turns-test)
;;; agent-q-diff-turns-test.el ends here
