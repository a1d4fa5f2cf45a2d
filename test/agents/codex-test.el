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
    (agents-put-several)
    (agents-start "codex" (apply #'agents-codex-patch agents-lines-of-several))
    (agents-decide "4 files" "C-c C-c")
    (agents-should-read (agents-end)
                        "✓ Accepted: 4 of 4 files: a.txt 2 of 2 hunks, gone.txt deleted, "
                        "old.txt renamed to sub/new.txt with 1 of 1 hunk, "
                        "made.txt created with 1 of 1 hunk\\.")
    (should (equal (agents-several)
                   (list (e2e-text 5 25) nil nil "one\nTWO\n" "made\n")))))

(ert-deftest agents-codex-a-part-of-several-files-is-what-codex-writes ()
  (agents-with-emacs "codex"
    (agents-put-several)
    (agents-start "codex" (apply #'agents-codex-patch agents-lines-of-several))
    ;; The second hunk of a.txt, not the deletion, the rename without its line, not the new file.
    (agents-decide "4 files" "r a r a r r r q")
    (agents-should-read (agents-end)
                        "✓ Accepted in part: 2 of 4 files: a.txt 1 of 2 hunks, "
                        "gone.txt not deleted, old.txt renamed to sub/new.txt with 0 of 1 hunk, "
                        "made.txt not created")
    (should (equal (agents-several)
                   (list (e2e-text 25) "gone\n" nil "one\ntwo\n" nil)))))

(ert-deftest agents-codex-models-several-files ()
  (agents-with-emacs "codex"
    (agents-models-run-patches
     (lambda (patches)
       (apply #'agents-start "codex" (mapcar (apply-partially #'cons "apply_patch") patches))))))

(ert-deftest agents-codex-several-files-are-denied-with-the-reason ()
  (agents-with-emacs "codex"
    (agents-put-several)
    (agents-start "codex" (apply #'agents-codex-patch agents-lines-of-several))
    (agents-decide "4 files" "C k e e p SPC a l l RET C-c C-k")
    (agents-should-read (agents-end) "✗ Rejected" "keep all")
    (should (equal (agents-several)
                   (list (e2e-text) "gone\n" "one\ntwo\n" nil nil)))))

(ert-deftest agents-codex-emacs-writes-several-files-if-one-is-not-saved ()
  (agents-with-emacs "codex"
    (agents-put-several)
    (e2e-eval `(with-current-buffer (find-file-noselect ,(agents-project "a.txt"))
                 (goto-char (point-max))
                 (insert "typed\n")))
    (agents-start "codex" (apply #'agents-codex-patch agents-lines-of-several))
    (agents-decide "4 files" "C-c C-c")
    (agents-should-read (agents-end)
                        "the user has unsaved edits in a file, so Emacs made what was decided"
                        "✓ Accepted")
    (should (equal (agents-several)
                   (list (e2e-text) nil nil "one\nTWO\n" "made\n")))))

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
    (agents-put-several)
    (agents-start "codex" (apply #'agents-codex-shell-patch agents-lines-of-several))
    (agents-decide "4 files" "r a a a a a a q")
    (agents-should-read (agents-end) "The patch was not run: Emacs made what was decided"
                        "✓ Accepted in part: 4 of 4 files: a.txt 1 of 2 hunks")
    (should (equal (agents-several)
                   (list (e2e-text 25) nil nil "one\nTWO\n" "made\n")))))

;; Codex edits if the program of its hook is gone, so `check' has to say it.
(ert-deftest agents-codex-a-program-that-is-gone-is-found-by-check ()
  (agents-with-emacs "codex"
    (let ((hooks (e2e-read "home/.codex/hooks.json")))
      (unwind-protect
          (agents-lose-program "codex" ".codex/hooks.json")
        (e2e-write "home/.codex/hooks.json" hooks)))))

;; Nor does Codex run a hook that was changed since it was trusted.
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
