;;; agent-q-diff-setup-test.el --- Has an agent's own edits decided here  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A shell script stands for the program, whose own tests are in Rust.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-setup)

(defmacro aqd-setup-with-program (new &rest body)
  "Run BODY with a program for which NEW are the settings as they should be."
  (declare (indent 1) (debug t))
  `(aqd-with-file "{}\n"
     (let* ((directory (file-name-directory aqd-file))
            (agent-q-diff-program (expand-file-name "program" directory))
            (agent-q-diff-server-socket (expand-file-name "run/socket" directory)))
       (with-temp-file agent-q-diff-program
         (insert (format "#!/bin/sh
case \"$*\" in
    *--where) echo '%s' ;;
    'setup claude --show --remove --socket '*) echo '{}' ;;
    'setup opencode --show --remove --socket '*) ;;
    'setup opencode --show --socket '*) echo 'plugin' ;;
    'setup claude --show --edit-tools --socket '*) printf '%%s' '%s' ;;
    check*) echo \"checked: $*\" ;;
    *) echo \"cannot $*\" >&2; exit 1 ;;
esac
" aqd-file ,new)))
       (set-file-modes agent-q-diff-program #o755)
       (unwind-protect
           (progn ,@body)
         (agent-q-diff-serve-stop)
         (when (get-buffer "*Agent-Q Setup*")
           (kill-buffer "*Agent-Q Setup*")))
       (aqd-should-leave-nothing))))

(defun aqd-setup-findings ()
  "Return what is shown of the check, when it has ended."
  (with-timeout (20 (ert-fail "The check does not end"))
    (while (not (and (get-buffer "*Agent-Q Setup*")
                     (string-search "init file"
                                    (with-current-buffer "*Agent-Q Setup*"
                                      (buffer-string)))))
      (accept-process-output nil 0.01)))
  (with-current-buffer "*Agent-Q Setup*"
    (buffer-string)))

(ert-deftest aqd-setup-the-change-of-the-settings-is-reviewed-and-then-checked ()
  (aqd-setup-with-program "{\"hooks\": 1}\n"
    (let ((review (agent-q-diff-setup-agent "Claude Code")))
      (should (eq (window-buffer) (agent-q-diff-session-buffer review)))
      (should (equal (aqd-disk) "{}\n"))
      (aqd-in-diff review (agent-q-diff-accept-all)))
    (should (equal (aqd-disk) "{\"hooks\": 1}\n"))
    (should (string-prefix-p (format "checked: check claude --socket %s\n"
                                     agent-q-diff-server-socket)
                             (aqd-setup-findings)))))

(ert-deftest aqd-setup-what-is-rejected-is-not-written ()
  (aqd-setup-with-program "{\"hooks\": 1}\n"
    (aqd-in-diff (agent-q-diff-setup-agent "Claude Code")
      (agent-q-diff-reject-all))
    (should (equal (aqd-disk) "{}\n"))
    (should-not (get-buffer "*Agent-Q Setup*"))))

(ert-deftest aqd-setup-settings-that-are-right-are-only-checked ()
  (aqd-setup-with-program "{}\n"
    (should-not (agent-q-diff-setup-agent "Claude Code"))
    (should (string-prefix-p "checked: " (aqd-setup-findings)))))

(ert-deftest aqd-setup-the-hook-can-be-taken-out ()
  (aqd-setup-with-program "unused"
    (should-not (agent-q-diff-setup-agent "Claude Code" t))
    (aqd-write "{\"hooks\": 1}\n")
    (aqd-in-diff (agent-q-diff-setup-agent "Claude Code" t)
      (agent-q-diff-accept-all))
    (should (equal (aqd-disk) "{}\n"))
    (should-not (get-buffer "*Agent-Q Setup*"))))

(ert-deftest aqd-setup-a-plugin-is-made-and-deleted ()
  (aqd-setup-with-program "unused"
    (let* ((directory (expand-file-name "config/plugins" (file-name-directory aqd-file)))
           (file (expand-file-name "a.js" directory)))
      (with-temp-buffer
        (insert-file-contents agent-q-diff-program)
        (while (search-forward aqd-file nil t)
          (replace-match file t t))
        (write-region nil nil agent-q-diff-program nil 'silent))
      (aqd-in-diff (agent-q-diff-setup-agent "opencode")
        (agent-q-diff-accept-all))
      (should (equal (with-temp-buffer (insert-file-contents file) (buffer-string)) "plugin\n"))
      (should (string-prefix-p "checked: check opencode" (aqd-setup-findings)))
      ;; It stays if only a part of it is to go.
      (with-temp-file file
        (insert "plugin\nmine\n"))
      (aqd-in-diff (agent-q-diff-setup-agent "opencode" t)
        (goto-char (agent-q-diff-buffer-position 0))
        (re-search-forward "^-plugin")
        (push-mark (line-beginning-position) t t)
        (forward-line)
        (let ((transient-mark-mode t))
          (agent-q-diff-accept-hunk))
        (agent-q-diff-buffer-goto-hunk 1)
        (agent-q-diff-reject-hunk)
        (agent-q-diff-finish))
      (should (equal (with-temp-buffer (insert-file-contents file) (buffer-string)) "mine\n"))
      (aqd-in-diff (agent-q-diff-setup-agent "opencode" t)
        (agent-q-diff-accept-all))
      (should-not (file-exists-p file))
      (should-not (find-buffer-visiting file))
      (delete-directory (expand-file-name "config" (file-name-directory aqd-file)) t))))

(ert-deftest aqd-setup-errors-say-what-to-do ()
  (aqd-setup-with-program "{}\n"
    (should-error (agent-q-diff-setup-agent "Nobody") :type 'user-error)
    ;; The program says why.
    (should (string-search "cannot setup gemini"
                           (cadr (should-error (agent-q-diff-setup-agent "Gemini CLI")
                                               :type 'user-error))))
    (let ((agent-q-diff-program nil)
          (exec-path nil))
      (cl-letf (((symbol-function 'locate-library) (lambda (_) aqd-file)))
        (should (string-match-p "run .make mcp. in /tmp, or set"
                               (cadr (should-error (agent-q-diff-setup--program)
                                                   :type 'user-error))))))))

(provide 'agent-q-diff-setup-test)
;;; agent-q-diff-setup-test.el ends here
