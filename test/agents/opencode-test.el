;;; opencode-test.el --- Edits of opencode, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; See agents-tools.el and agents-matrix.el.  opencode runs a plugin of ours, not a
;; hook.

;;; Code:

(require 'agents-matrix)
(require 'agents-models)

(agents-define-matrix "opencode")

(agents-define-models "opencode")

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

(ert-deftest agents-opencode-a-program-that-is-gone-writes-nothing ()
  (agents-with-emacs "opencode"
    (let* ((plugin "home/.config/opencode/plugins/agent-q-diff.js")
           (text (e2e-read plugin)))
      (unwind-protect
          (progn
            (agents-lose-program "opencode" ".config/opencode/plugins/agent-q-diff.js")
            (agents-put "a.txt" (e2e-text))
            (apply #'agents-start "opencode"
                   (agents-edit "opencode" "a.txt" "line 5\n" "LINE 5\n"))
            (agents-should-read (agents-end) "agent-q-diff could not have this edit decided")
            (should (equal (agents-bytes "a.txt") (e2e-text))))
        (e2e-write plugin text)))))

(ert-deftest agents-opencode-is-set-up-and-no-more ()
  (agents-with-home-of-its-own
    (agents-with-emacs "opencode"
      (let ((plugin "home/.config/opencode/plugins/agent-q-diff.js"))
        (should (equal 0 (car (agents-run "check" "opencode"))))
        (should (equal 0 (car (agents-run "setup" "opencode" "--remove" "--yes"))))
        (should-not (file-exists-p (e2e-path plugin)))
        (should (equal 1 (car (agents-run "check" "opencode"))))
        ;; The file of somebody else stays.
        (e2e-write plugin "export const Mine = 1\n")
        (should (equal 1 (car (agents-run "setup" "opencode" "--yes"))))
        (should (equal (e2e-read plugin) "export const Mine = 1\n"))))))

(provide 'opencode-test)
;;; opencode-test.el ends here
