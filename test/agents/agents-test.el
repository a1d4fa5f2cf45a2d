;;; agents-test.el --- Real coding agents, whose edits are decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make test-agents' installs Claude Code and Gemini CLI and runs them without
;; network: a scripted model (model.py) calls their own tools, the hook is set
;; up as README says, in an empty home, and keys decide in a real Emacs.  Of
;; each edit, the bytes of the file are checked, and what the model was told.

;;; Code:

(require 'agents-tools)

;;;; Claude Code

(ert-deftest agents-claude-all-of-it ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5 20 35)))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "updated successfully"
                        "✓ Accepted: all 3 hunks are in .*/a\\.txt, which is saved")
    (should (equal (agents-bytes "a.txt") (e2e-text 5 20 35)))))

(ert-deftest agents-claude-a-part-with-a-reason ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5 20 35)))
    (agents-go "a.txt")
    (e2e-press "a c")
    (e2e-type "keep line 20")
    (e2e-press "RET r a q")
    (agents-see-end "a.txt")
    (let ((told (agents-end)))
      (agents-should-read told "✓ Accepted in part: 2 of 3 hunks are in .*/a\\.txt, which is saved"
                          "In the file: hunks 1 and 3\\.\nNot in the file: hunk 2\\."
                          "keep line 20"))
    (should (equal (agents-bytes "a.txt") (e2e-text 5 35)))))

(ert-deftest agents-claude-nothing-of-it ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5 20 35)))
    (agents-go "a.txt")
    (e2e-press "C")
    (e2e-type "not today")
    (e2e-press "RET C-c C-k")
    (agents-see-end "a.txt")
    (let ((told (agents-end)))
      (agents-should-read told "✗ Rejected: the user declined" "not today"
                          "None of it is in the file"))
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(ert-deftest agents-claude-several-edits-of-one-file ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (let ((file (agents-project "a.txt")))
      (agents-start "claude" `("Read" (file_path . ,file))
                    `("Edit" (file_path . ,file) (old_string . "line 5\n")
                      (new_string . "LINE 5\n"))
                    `("Edit" (file_path . ,file) (old_string . "line 20\n")
                      (new_string . "LINE 20\n"))
                    `("Write" (file_path . ,file) (content . ,(e2e-text 5 35)))))
    (agents-decide "a.txt" "C-c C-c")
    (agents-decide "a.txt" "C-c C-k")
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "✓ Accepted: the change is in" "✗ Rejected")
    (should (equal (agents-bytes "a.txt") (e2e-text 5 35)))))

(ert-deftest agents-claude-line-ends-and-new-files ()
  (agents-with-emacs "claude"
    (agents-put "crlf.txt" (string-replace "\n" "\r\n" (e2e-text)))
    (agents-put "end.txt" "one\ntwo")
    (apply #'agents-start "claude"
           (append (agents-edit "crlf.txt" (e2e-text) (e2e-text 5 20))
                   (agents-edit "end.txt" "two" "TWO\nthree")
                   `(("Write" (file_path . ,(agents-project "sub/new.txt"))
                      (content . "made\n")))))
    (agents-decide "crlf.txt" "r a q")
    (agents-decide "end.txt" "C-c C-c")
    (agents-decide "new.txt" "C-c C-c")
    (agents-should-read (agents-end) "✓ Accepted in part: 1 of 2 hunks is in .*crlf"
                        "✓ Accepted: the change is in .*end" "✓ Accepted: the change is in .*new")
    (should (equal (agents-bytes "crlf.txt")
                   (string-replace "\n" "\r\n" (e2e-text 20))))
    (should (equal (agents-bytes "end.txt") "one\nTWO\nthree"))
    (should (equal (agents-bytes "sub/new.txt") "made\n"))))

(ert-deftest agents-claude-a-notebook-is-written-by-emacs ()
  (agents-with-emacs "claude"
    (agents-put "n.ipynb" "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \
\"id\": \"one\",\n   \"metadata\": {},\n   \"source\": \"old\"\n  }\n ],\n \"metadata\": {},\n \
\"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n")
    (let ((file (agents-project "n.ipynb"))
          (before (agents-bytes "n.ipynb")))
      (agents-start "claude" `("Read" (file_path . ,file))
                    `("NotebookEdit" (notebook_path . ,file) (cell_id . "one")
                      (new_source . "new")))
      (agents-decide "n.ipynb" "C-c C-c")
      (agents-should-read (agents-end) "NotebookEdit was not run: it cannot write a part"
                          "✓ Accepted: the change is in")
      (should (equal (agents-bytes "n.ipynb") (string-replace "old" "new" before))))))

(ert-deftest agents-claude-unsaved-edits-stay ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (e2e-eval `(with-current-buffer (find-file-noselect ,(agents-project "a.txt"))
                 (goto-char (point-max))
                 (insert "mine\n")
                 nil))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5 20 35)))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "Edit was not run: the user has unsaved edits"
                        "✓ Accepted: all 3 hunks are in the user's Emacs buffer")
    (should (equal (agents-bytes "a.txt") (e2e-text)))
    (should (equal (e2e-eval `(with-current-buffer
                                  (get-file-buffer ,(agents-project "a.txt"))
                                (buffer-string)))
                   (concat (e2e-text 5 20 35) "mine\n")))))

;;;; Whatever goes wrong, nothing is written

(defun agents-claude-is-refused (regexp)
  "Check that an edit of Claude Code is refused with what matches REGEXP."
  (agents-put "a.txt" (e2e-text))
  (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5)))
  (agents-should-read (agents-end) regexp)
  (should (equal (agents-bytes "a.txt") (e2e-text))))

(ert-deftest agents-claude-without-emacs-nothing-is-written ()
  (agents-with-emacs "claude"
    (e2e-eval '(agent-q-diff-serve-stop))
    (agents-claude-is-refused "no Emacs is serving")))

(ert-deftest agents-claude-a-broken-socket-writes-nothing ()
  (agents-with-emacs "claude"
    (e2e-eval '(agent-q-diff-serve-stop))
    (e2e-write "run/agent-q-diff/socket" "no socket")
    (agents-claude-is-refused "Nothing was changed")))

(ert-deftest agents-claude-a-hook-that-cannot-run-is-found-by-check ()
  (agents-with-emacs "claude"
    (should (equal 0 (car (agents-run "check" "claude"))))
    (e2e-write "home/.claude/settings.json"
               (string-replace (agents-program) "/nowhere/agent-q-diff"
                               (e2e-read "home/.claude/settings.json")))
    (pcase-let ((`(,status ,found) (agents-run "check" "claude")))
      (should (= 1 status))
      (should (string-search "there is no program /nowhere/agent-q-diff" found)))))

(ert-deftest agents-claude-if-emacs-is-killed-nothing-is-written ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5)))
    (e2e-see " hunk 1/1")
    (signal-process (e2e-eval '(emacs-pid)) 'SIGKILL)
    (agents-should-read (agents-end) "Emacs ended, or closed the connection")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(ert-deftest agents-claude-if-it-is-killed-its-review-ends ()
  (agents-with-emacs "claude"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "claude" (agents-edit "a.txt" (e2e-text) (e2e-text 5)))
    (e2e-see " hunk 1/1")
    (signal-process agents--client 'SIGKILL)
    (e2e-see-gone "Agent-Q Diff: a\\.txt")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

;;;; Gemini CLI

(defun agents-replace (name old new)
  "Return a call of Gemini CLI's `replace' of OLD by NEW in NAME."
  `("replace" (file_path . ,(agents-project name)) (instruction . "Shout")
    (old_string . ,old) (new_string . ,new)))

(ert-deftest agents-gemini-all-a-part-and-nothing ()
  (agents-with-emacs "gemini"
    (agents-put "a.txt" (e2e-text))
    (agents-start "gemini" (agents-replace "a.txt" (e2e-text) (e2e-text 5 20 35))
                  (agents-replace "a.txt" "line 10\n" "LINE 10\n")
                  `("write_file" (file_path . ,(agents-project "b.txt"))
                    (content . "made\n")))
    (agents-decide "a.txt" "a r a q")
    (agents-decide "a.txt" "C-c C-k")
    (agents-decide "b.txt" "C-c C-c")
    (agents-should-read (agents-end)
                        "✓ Accepted in part: 2 of 3 hunks are in .*/a\\.txt, which is saved"
                        "✗ Rejected" "✓ Accepted: the change is in .*/b\\.txt")
    (should (equal (agents-bytes "a.txt") (e2e-text 5 35)))
    (should (equal (agents-bytes "b.txt") "made\n"))))

(ert-deftest agents-gemini-without-emacs-nothing-is-written ()
  (agents-with-emacs "gemini"
    (e2e-eval '(agent-q-diff-serve-stop))
    (agents-put "a.txt" (e2e-text))
    (agents-start "gemini" (agents-replace "a.txt" "line 5\n" "LINE 5\n"))
    (agents-should-read (agents-end) "no Emacs is serving")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(provide 'agents-test)
;;; agents-test.el ends here
