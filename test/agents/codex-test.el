;;; codex-test.el --- Edits of Codex, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; See agents-tools.el.  Codex runs no hook that its user has not trusted:
;; here as there, that is done by keys in Codex itself.

;;; Code:

(require 'agents-tools)

(defconst agents-codex-settings
  "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]
name = \"scripted\"\nbase_url = \"http://127.0.0.1:9/v1\"\nwire_api = \"responses\"\n"
  "Settings of Codex, with which it has a model of ours.")

(defun agents-codex-trusted-p ()
  "Return non-nil if Codex has noted that both hooks are trusted."
  (string-match-p "trusted_hash\\(.\\|\n\\)*trusted_hash"
                  (e2e-read "home/.codex/config.toml")))

(defun agents-codex-trust ()
  "Start Codex in a terminal, trust the hook by keys, and end it."
  (e2e-write "home/.codex/config.toml" agents-codex-settings)
  (apply #'e2e-tmux "new-window" "-c" (e2e-path "project") "--"
         (append '("env") (remove "TERM=dumb" (agents-environment)) '("codex")))
  (e2e-see "Hooks need review" "2 hooks are new or changed" "2\\. Trust all and continue")
  ;; What is typed while it starts is lost, or ends it.
  (let ((last-time 0))
    (e2e-wait-for
     (or (agents-codex-trusted-p)
         (when (< 1 (- (float-time) last-time))
           (setq last-time (float-time))
           (if (string-search "Stack backtrace" (e2e-screen))
               (e2e-tmux "respawn-pane" "-k")
             (e2e-keys "2"))
           nil))))
  (e2e-tmux "kill-window"))

(defun agents-codex-patch (&rest lines)
  "Return a call of Codex's `apply_patch' with LINES between its first and last."
  (cons "apply_patch" (concat "*** Begin Patch\n" (string-join lines "\n") "\n*** End Patch\n")))

(ert-deftest agents-codex-all-of-it ()
  (agents-with-emacs "codex"
    (agents-codex-trust)
    (agents-put "a.txt" (e2e-text))
    (agents-start "codex" (agents-codex-patch "*** Update File: a.txt" "@@" "-line 5" "+LINE 5"))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "✓ Accepted: the change is in .*a\\.txt, which is saved")
    (should (equal (agents-bytes "a.txt") (e2e-text 5)))))

(ert-deftest agents-codex-a-part-and-nothing-with-reasons ()
  (agents-with-emacs "codex"
    (agents-codex-trust)
    (agents-put "a.txt" (e2e-text))
    (agents-start "codex"
                  (agents-codex-patch "*** Update File: a.txt" "@@" "-line 5" "+LINE 5"
                                      "@@" "-line 20" "+LINE 20" "@@" "-line 35" "+LINE 35")
                  (agents-codex-patch "*** Update File: a.txt" "@@" "-line 10" "+LINE 10"))
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
      (agents-should-read told "✓ Accepted in part: 2 of 3 hunks are in .*a\\.txt, which is saved"
                          "Not in the file: hunk 2\\." "keep line 20"
                          "✗ Rejected: the user declined" "not today"))
    (should (equal (agents-bytes "a.txt") (e2e-text 5 35)))))

(ert-deftest agents-codex-several-files-are-one-change ()
  (agents-with-emacs "codex"
    (agents-codex-trust)
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

(ert-deftest agents-codex-line-ends-and-new-files ()
  (agents-with-emacs "codex"
    (agents-codex-trust)
    (agents-put "crlf.txt" (string-replace "\n" "\r\n" (e2e-text)))
    (agents-put "end.txt" "one\ntwo")
    (agents-start "codex"
                  (agents-codex-patch "*** Update File: crlf.txt" "@@" "-line 5" "+LINE 5"
                                      "@@" "-line 20" "+LINE 20")
                  (agents-codex-patch "*** Update File: end.txt" "@@" "-two" "+TWO")
                  (agents-codex-patch "*** Add File: sub/new.txt" "+made"))
    (agents-decide "crlf.txt" "r a q")
    (agents-decide "end.txt" "C-c C-c")
    (agents-decide "new.txt" "C-c C-c")
    (agents-should-read (agents-end) "✓ Accepted in part: 1 of 2 hunks is in .*crlf"
                        "✓ Accepted: the change is in .*end" "✓ Accepted: the change is in .*new")
    (should (equal (agents-bytes "crlf.txt") (string-replace "\n" "\r\n" (e2e-text 20))))
    (should (equal (agents-bytes "end.txt") "one\nTWO\n"))
    (should (equal (agents-bytes "sub/new.txt") "made\n"))))

(ert-deftest agents-codex-unsaved-edits-stay ()
  (agents-with-emacs "codex"
    (agents-codex-trust)
    (agents-put "a.txt" (e2e-text))
    (e2e-eval `(with-current-buffer (find-file-noselect ,(agents-project "a.txt"))
                 (goto-char (point-max))
                 (insert "mine\n")
                 nil))
    (agents-start "codex" (agents-codex-patch "*** Update File: a.txt" "@@" "-line 5" "+LINE 5"))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "was not run: the user has unsaved edits")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(ert-deftest agents-codex-a-shell-cannot-patch-either ()
  (agents-with-emacs "codex"
    (agents-codex-trust)
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

;;;; Whatever goes wrong, nothing is written

(defun agents-codex-is-refused (regexp)
  "Check that an edit of Codex is refused with what matches REGEXP."
  (agents-put "a.txt" (e2e-text))
  (agents-start "codex" (agents-codex-patch "*** Update File: a.txt" "@@" "-line 5" "+LINE 5"))
  (agents-should-read (agents-end) regexp)
  (should (equal (agents-bytes "a.txt") (e2e-text))))

(ert-deftest agents-codex-without-emacs-nothing-is-written ()
  (agents-with-emacs "codex"
    (agents-codex-trust)
    (e2e-eval '(agent-q-diff-serve-stop))
    (agents-codex-is-refused "no Emacs is serving")))

(ert-deftest agents-codex-a-broken-socket-writes-nothing ()
  (agents-with-emacs "codex"
    (agents-codex-trust)
    (e2e-eval '(agent-q-diff-serve-stop))
    (e2e-write "run/agent-q-diff/socket" "no socket")
    (agents-codex-is-refused "Nothing was changed")))

(ert-deftest agents-codex-if-emacs-is-killed-nothing-is-written ()
  (agents-with-emacs "codex"
    (agents-codex-trust)
    (agents-put "a.txt" (e2e-text))
    (agents-start "codex" (agents-codex-patch "*** Update File: a.txt" "@@" "-line 5" "+LINE 5"))
    (e2e-see " hunk 1/1")
    (signal-process (e2e-eval '(emacs-pid)) 'SIGKILL)
    (agents-should-read (agents-end) "Emacs ended, or closed the connection")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(ert-deftest agents-codex-if-it-is-killed-its-review-ends ()
  (agents-with-emacs "codex"
    (agents-codex-trust)
    (agents-put "a.txt" (e2e-text))
    (agents-start "codex" (agents-codex-patch "*** Update File: a.txt" "@@" "-line 5" "+LINE 5"))
    (e2e-see " hunk 1/1")
    (signal-process agents--client 'SIGKILL)
    (e2e-see-gone "Agent-Q Diff: a\\.txt")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(provide 'codex-test)
;;; codex-test.el ends here
