;;; codex-test.el --- Edits of Codex, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; See agents-tools.el and agents-matrix.el.  Codex runs no hook that its user has
;; not trusted: here as there, that is done by keys in Codex itself.

;;; Code:

(require 'agents-matrix)
(require 'agents-models)
(require 'agents-patches)

(agents-define-matrix "codex")

(agents-define-models "codex")

(agents-define-patches
 "codex"
 (lambda (patches)
   (apply #'agents-start "codex" (mapcar (apply-partially #'cons "apply_patch") patches))))

(defun agents-codex-shell-patch (&rest lines)
  "Return a call of Codex's shell that applies a patch with LINES.
They are in a here-document."
  `("exec_command"
    (cmd . ,(format "apply_patch <<'EOT'\n%sEOT\n"
                    (cdr (apply #'agents-codex-patch lines))))))

(ert-deftest agents-codex-a-shell-cannot-patch-either ()
  (agents-with-emacs "codex"
    (agents-put "a.txt" (e2e-text))
    (agents-start "codex" (agents-codex-shell-patch "*** Update File: a.txt" "@@"
                                                    "-line 5" "+LINE 5"))
    (e2e-see "hunk 1/1")
    (e2e-press "C-x o C-c C-k")
    (agents-should-read (agents-end) "✗ Rejected")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

;; Codex runs no hook after such a patch, so its model could not be told.
(ert-deftest agents-codex-emacs-applies-a-patch-in-a-shell ()
  (agents-with-emacs "codex"
    (agents-patches-write-files)
    (agents-start "codex" (apply #'agents-codex-shell-patch agents-patches-lines))
    (agents-decide "4 files" "r a a a a a a q")
    (agents-should-read (agents-end) "The patch was not run: Emacs wrote what the user accepted"
                        "✓ Accepted in part: 4 of 4 files: a.txt 1 of 2 hunks")
    (should (equal (agents-patches-files)
                   (list (e2e-text 25) nil nil "one\nTWO\n" "made\n")))))

;; Codex edits if the program of its hook is gone, so `check' has to say it.
(ert-deftest agents-codex-a-program-that-is-gone-is-found-by-check ()
  (agents-with-emacs "codex"
    (let ((hooks (e2e-read "home/.codex/hooks.json")))
      (unwind-protect
          (agents-lose-program "codex" ".codex/hooks.json")
        (e2e-write "home/.codex/hooks.json" hooks)))))

;; Nor does Codex run a hook that has been changed since it was trusted.
(ert-deftest agents-codex-a-hook-that-is-not-trusted-is-found-by-check ()
  (agents-with-home-of-its-own
    (agents-with-emacs "codex"
      (should (member (car (agents-run "setup" "codex" "--yes" "--socket"
                                       (e2e-path "run/agent-q-diff/socket")))
                      '(0 1)))
      (set-file-times (e2e-path "home/.codex/hooks.json") (time-subtract nil 3600))
      (delete-directory (e2e-path "home/.local/state/agent-q-diff") t)
      (agents-put "a.txt" (e2e-text))
      (agents-start "codex" (agents-codex-patch "*** Update File: a.txt" "@@" "-line 5" "+LINE 5"))
      (agents-should-read (agents-end) "Success")
      (should (equal (agents-bytes "a.txt") (e2e-text 5)))
      (pcase-let ((`(,status ,found) (agents-run "check" "codex")))
        (should (equal status 1))
        (should (string-match-p
                 "^MISSING  Codex edited .*/a\\.txt [0-9]+ seconds? ago, and did not run the hook"
                 found))))))

(provide 'codex-test)
;;; codex-test.el ends here
