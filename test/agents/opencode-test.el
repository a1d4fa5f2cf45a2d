;;; opencode-test.el --- Edits of opencode, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; See agents-tools.el.  opencode runs a plugin of ours, not a hook.

;;; Code:

(require 'agents-tools)

(defun agents-opencode-edit (name old new)
  "Return calls of opencode's tools that replace OLD by NEW in the file NAME."
  (let ((file (agents-project name)))
    `(("read" (filePath . ,file))
      ("edit" (filePath . ,file) (oldString . ,old) (newString . ,new)))))

(ert-deftest agents-opencode-all-of-it ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "opencode"
           (agents-opencode-edit "a.txt" (e2e-text) (e2e-text 5 20 35)))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end)
                        "\\`✓ Accepted: all 3 hunks are in .*/a\\.txt, which is saved")
    (should (equal (agents-bytes "a.txt") (e2e-text 5 20 35)))))

(ert-deftest agents-opencode-a-part-and-nothing-with-reasons ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "opencode"
           (append (agents-opencode-edit "a.txt" (e2e-text) (e2e-text 5 20 35))
                   (agents-opencode-edit "a.txt" "line 10\n" "LINE 10\n")))
    (agents-go "a.txt")
    (e2e-press "a c")
    (e2e-type "keep line 20")
    (e2e-press "RET r a q")
    (agents-see-end "a.txt")
    (agents-go "a.txt")
    (e2e-press "C")
    (e2e-type "not today")
    (e2e-press "RET C-c C-k")
    (agents-see-end "a.txt")
    (let ((told (agents-end)))
      (agents-should-read told "\\`✓ Accepted in part: 2 of 3 hunks are in .*/a\\.txt, which is saved"
                          "Not in the file: hunk 2\\." "keep line 20"
                          "✗ Rejected: the user declined" "not today"))
    (should (equal (agents-bytes "a.txt") (e2e-text 5 35)))))

(ert-deftest agents-opencode-line-ends-and-new-files ()
  (agents-with-emacs "opencode"
    (agents-put "crlf.txt" (string-replace "\n" "\r\n" (e2e-text)))
    (agents-put "end.txt" "one\ntwo")
    (apply #'agents-start "opencode"
           (append (agents-opencode-edit "crlf.txt" (e2e-text) (e2e-text 5 20))
                   (agents-opencode-edit "end.txt" "two" "TWO\nthree")
                   `(("write" (filePath . ,(agents-project "sub/new.txt"))
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

(ert-deftest agents-opencode-dollars-are-no-patterns ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" "x = 1\nx = 1\n")
    (let ((file (agents-project "a.txt")))
      (agents-start "opencode" `("read" (filePath . ,file))
                    `("edit" (filePath . ,file) (oldString . "1") (newString . "$& $$")
                      (replaceAll . t))))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "✓ Accepted: .* in .*/a\\.txt, which is saved")
    (should (equal (agents-bytes "a.txt") "x = $& $$\nx = $& $$\n"))))

(ert-deftest agents-opencode-unsaved-edits-stay ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (e2e-eval `(with-current-buffer (find-file-noselect ,(agents-project "a.txt"))
                 (goto-char (point-max))
                 (insert "mine\n")
                 nil))
    (apply #'agents-start "opencode"
           (agents-opencode-edit "a.txt" (e2e-text) (e2e-text 5 20 35)))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "edit was not run: the user has unsaved edits"
                        "✓ Accepted: all 3 hunks are in the user's Emacs buffer")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(ert-deftest agents-opencode-a-patch-of-several-files-is-applied-by-emacs ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (agents-put "gone.txt" "gone\n")
    (let ((agents-opencode-settings
           (string-replace "\"one\"" "\"gpt-5\""
                           (string-replace "scripted/one" "scripted/gpt-5"
                                           agents-opencode-settings))))
      (agents-start "opencode"
                    `("apply_patch"
                      (patchText . "*** Begin Patch\n*** Update File: a.txt\n@@\n-line 5\n\
+LINE 5\n*** Delete File: gone.txt\n*** End Patch\n"))))
    (e2e-see "hunk 1/")
    (unless (string-prefix-p "*Agent-Q Diff" (e2e-eval '(buffer-name (window-buffer))))
      (e2e-press "C-x o"))
    (e2e-press "C-c C-c")
    (agents-should-read (agents-end) "The patch was not run: Emacs made what was decided"
                        "✓ Accepted")
    (should (equal (agents-bytes "a.txt") (e2e-text 5)))
    (should-not (agents-bytes "gone.txt"))))

;;;; Whatever goes wrong, nothing is written

(ert-deftest agents-opencode-without-emacs-nothing-is-written ()
  (agents-with-emacs "opencode"
    (e2e-eval '(agent-q-diff-serve-stop))
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "opencode" (agents-opencode-edit "a.txt" "line 5\n" "LINE 5\n"))
    (agents-should-read (agents-end) "no Emacs is serving")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(ert-deftest agents-opencode-a-program-that-is-gone-writes-nothing ()
  (agents-with-emacs "opencode"
    (let ((plugin "home/.config/opencode/plugins/agent-q-diff.js"))
      (e2e-write plugin (string-replace (agents-program) "/nowhere/agent-q-diff"
                                        (e2e-read plugin))))
    (pcase-let ((`(,status ,found) (agents-run "check" "opencode")))
      (should (= 1 status))
      (should (string-search "there is no program /nowhere/agent-q-diff" found)))
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "opencode" (agents-opencode-edit "a.txt" "line 5\n" "LINE 5\n"))
    (agents-should-read (agents-end) "agent-q-diff could not have this edit decided")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(ert-deftest agents-opencode-if-emacs-is-killed-nothing-is-written ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "opencode" (agents-opencode-edit "a.txt" "line 5\n" "LINE 5\n"))
    (e2e-see " hunk 1/1")
    (signal-process (e2e-eval '(emacs-pid)) 'SIGKILL)
    (agents-should-read (agents-end) "Emacs ended, or closed the connection")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(ert-deftest agents-opencode-if-it-is-killed-its-review-ends ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (apply #'agents-start "opencode" (agents-opencode-edit "a.txt" "line 5\n" "LINE 5\n"))
    (e2e-see " hunk 1/1")
    (signal-process agents--client 'SIGKILL)
    (e2e-see-gone "Agent-Q Diff: a\\.txt")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(ert-deftest agents-opencode-is-set-up-and-no-more ()
  (agents-with-emacs "opencode"
    (let ((plugin "home/.config/opencode/plugins/agent-q-diff.js"))
      (should (equal 0 (car (agents-run "check" "opencode"))))
      (should (equal 0 (car (agents-run "setup" "opencode" "--remove" "--yes"))))
      (should-not (file-exists-p (e2e-path plugin)))
      (should (equal 1 (car (agents-run "check" "opencode"))))
      ;; The file of somebody else stays.
      (e2e-write plugin "export const Mine = 1\n")
      (should (equal 1 (car (agents-run "setup" "opencode" "--yes"))))
      (should (equal (e2e-read plugin) "export const Mine = 1\n")))))

(provide 'opencode-test)
;;; opencode-test.el ends here
