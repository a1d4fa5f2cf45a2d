;;; codex-test.el --- Edits of Codex, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; See agents-tools.el and agents-matrix.el.  Codex runs no hook that its user has
;; not trusted: here as there, that is done by keys in Codex itself.

;;; Code:

(require 'agents-matrix)
(require 'agents-models)

(agents-define-matrix "codex")

(agents-define-models "codex")

(ert-deftest agents-codex-several-files-are-one-change ()
  (agents-with-emacs "codex"
    (agents-put "a.txt" (e2e-text))
    (agents-put "gone.txt" "gone\n")
    (agents-put "old.txt" "one\ntwo\n")
    (agents-start "codex"
                  (agents-codex-patch "*** Update File: a.txt" "@@" "-line 5" "+LINE 5"
                                      "*** Delete File: gone.txt" "*** Update File: old.txt"
                                      "*** Move to: sub/new.txt" "@@" "-two" "+TWO"
                                      "*** Add File: made.txt" "+made"))
    (e2e-see "hunk 1/")
    (e2e-press "C-x o C-c C-c")
    (agents-should-read (agents-end) "The patch was not run: Emacs made what was decided"
                        "✓ Accepted")
    (should (equal (mapcar #'agents-bytes
                           '("a.txt" "gone.txt" "old.txt" "sub/new.txt" "made.txt"))
                   (list (e2e-text 5) nil nil "one\nTWO\n" "made\n")))))

(ert-deftest agents-codex-a-shell-cannot-patch-either ()
  (agents-with-emacs "codex"
    (agents-put "a.txt" (e2e-text))
    (agents-start "codex"
                  `("exec_command"
                    (cmd . ,(format "apply_patch <<'EOT'\n%sEOT\n"
                                        (cdr (agents-codex-patch "*** Update File: a.txt" "@@"
                                                                 "-line 5" "+LINE 5"))))))
    (e2e-see "hunk 1/1")
    (e2e-press "C-x o C-c C-k")
    (agents-should-read (agents-end) "✗ Rejected")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

;; Codex edits if the program of its hook is gone, so `check' has to say it.
(ert-deftest agents-codex-a-program-that-is-gone-is-found-by-check ()
  (agents-with-emacs "codex"
    (let ((hooks (e2e-read "home/.codex/hooks.json")))
      (unwind-protect
          (agents-lose-program "codex" ".codex/hooks.json")
        (e2e-write "home/.codex/hooks.json" hooks)))))

(provide 'codex-test)
;;; codex-test.el ends here
