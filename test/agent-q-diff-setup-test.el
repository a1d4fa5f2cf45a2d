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
            (agent-q-diff-server-socket (expand-file-name "run/socket" directory))
            (user-init-file (expand-file-name "init.el" directory))
            (exec-path (list (expand-file-name "bin" directory))))
       (with-temp-file agent-q-diff-program
         (insert (format "#!/bin/sh
case \"$*\" in
    *--where) echo '%s' ;;
    'setup claude --show --remove --socket '*) echo '{}' ;;
    'setup opencode --show --remove --socket '*) ;;
    'setup opencode --show --socket '*) echo 'plugin' ;;
    'setup claude --show --edit-tools --socket '*) printf '%%s' '%s' ;;
    'setup codex --show --socket '*) echo 'notify = []' ;;
    check*) echo \"checked: $*\" ;;
    *) echo \"cannot $*\" >&2; exit 1 ;;
esac
" aqd-file ,new)))
       (set-file-modes agent-q-diff-program #o755)
       (unwind-protect
           (progn ,@body)
         (agent-q-diff-serve-stop)
         (agent-q-diff-pending-mode -1)
         (global-unset-key (kbd "C-c q"))
         (dolist (name '("*Agent-Q Setup*" "*Agent-Q Doctor*"))
           (when (get-buffer name)
             (kill-buffer name))))
       (aqd-should-leave-nothing))))

(defun aqd-setup-install (&rest names)
  "Install programs with NAMES where Emacs looks for them."
  (make-directory (car exec-path))
  (dolist (name names)
    (let ((file (expand-file-name name (car exec-path))))
      (with-temp-file file)
      (set-file-modes file #o755))))

(defun aqd-setup-findings (&optional buffer)
  "Return what is shown in BUFFER, or of the setup, when the check has ended."
  (let ((buffer (or buffer "*Agent-Q Setup*")))
    (with-timeout (20 (ert-fail "The check does not end"))
      (while (not (and (get-buffer buffer)
                       (string-search "checked: " (with-current-buffer buffer (buffer-string)))))
        (accept-process-output nil 0.01)))
    (with-current-buffer buffer
      (buffer-string))))

(ert-deftest aqd-setup-the-change-of-the-settings-is-reviewed-and-then-checked ()
  (aqd-setup-with-program "{\"hooks\": 1}\n"
    (let ((review (agent-q-diff-setup-agent "Claude Code")))
      (should (eq (window-buffer) (agent-q-diff-session-buffer review)))
      (should (equal (aqd-disk) "{}\n"))
      (aqd-in-diff review (agent-q-diff-accept-all)))
    (should (equal (aqd-disk) "{\"hooks\": 1}\n"))
    (should (string-suffix-p "\n\nchecked: check --no-emacs claude\n" (aqd-setup-findings)))))

(ert-deftest aqd-setup-what-is-rejected-is-not-written ()
  (aqd-setup-with-program "{\"hooks\": 1}\n"
    (aqd-in-diff (agent-q-diff-setup-agent "Claude Code")
      (agent-q-diff-reject-all))
    (should (equal (aqd-disk) "{}\n"))
    (should-not (get-buffer "*Agent-Q Setup*"))))

(ert-deftest aqd-setup-settings-that-are-right-are-only-checked ()
  (aqd-setup-with-program "{}\n"
    (should-not (agent-q-diff-setup-agent "Claude Code"))
    (should (string-search "ok       Claude Code has the hook already\n"
                           (aqd-setup-findings)))))

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
      (should (string-search "checked: check --no-emacs opencode\n" (aqd-setup-findings)))
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
      (cl-letf (((symbol-function 'agent-q-diff-build-program) #'ignore))
        (should (string-search "call M-x agent-q-diff-setup, which builds it"
                               (cadr (should-error (agent-q-diff-setup--program)
                                                   :type 'user-error))))))))

;;;; All at once

(ert-deftest aqd-setup-does-all-and-then-says-what ()
  (aqd-setup-with-program "{\"hooks\": 1}\n"
    (aqd-setup-install "claude")
    (aqd-said (agent-q-diff-setup))
    (let ((review (car (agent-q-diff-open-reviews))))
      (should (eq (window-buffer) (agent-q-diff-session-buffer review)))
      (should-not (get-buffer "*Agent-Q Setup*"))
      (aqd-in-diff review (agent-q-diff-accept-all)))
    (should (equal (aqd-disk) "{\"hooks\": 1}\n"))
    (let ((shown (aqd-setup-findings)))
      (dolist (line `("the engine 0.1.0 is loaded"
                      ,(format "this Emacs serves agents at %s" agent-q-diff-server-socket)
                      "Claude Code has the hook, from its next start on"
                      "your saves are noted as reviewed, and the mode line counts the rest"
                      "C-c q c reviews what was written, C-c q l lists reviews"))
        (should (string-search (concat "ok       " line "\n") shown)))
      (should (string-search "checked: check --no-emacs claude\n" shown)))
    (should agent-q-diff-pending-mode)
    (should (eq #'agent-q-diff-review-changes (key-binding (kbd "C-c q c"))))
    (should-not (file-exists-p user-init-file))))

(ert-deftest aqd-setup-what-comes-next-is-on-a-small-screen-too ()
  (dolist (rules '(nil ((".*" display-buffer-below-selected))))
    (aqd-setup-with-program "{}\n"
      (aqd-setup-install "claude")
      (save-window-excursion
        (delete-other-windows)
        (let ((display-buffer-alist rules)
              (half (/ (frame-height) 2)))
          (aqd-said (agent-q-diff-setup))
          (aqd-setup-findings)
          (let ((window (get-buffer-window "*Agent-Q Setup*")))
            (if rules
                (should (<= (window-height window) (1+ half)))
              (should (< (1+ half) (window-height window)))
              (should (<= window-min-height (- (frame-height) (window-height window)))))))))))

(ert-deftest aqd-setup-writes-the-init-file-only-if-told-to ()
  (aqd-setup-with-program "{}\n"
    (with-temp-file user-init-file
      (insert "(require 'agent-q-diff)\n(foo)"))
    (aqd-said (agent-q-diff-setup))
    (with-current-buffer "*Agent-Q Setup*"
      (should (string-search "w shows these lines as a change of" (buffer-string)))
      (should (eq #'agent-q-diff-setup-init (key-binding "w")))
      (aqd-in-diff (agent-q-diff-setup-init)
        (agent-q-diff-accept-all)))
    (should (equal (aqd-bytes-of user-init-file)
                   (format "(require 'agent-q-diff)
(foo)

;; Agents' edits are decided here.
(add-to-list 'load-path %S)
(setq agent-q-diff-program %S)
(agent-q-diff-serve)
(agent-q-diff-pending-mode)
(global-set-key (kbd \"C-c q\") agent-q-diff-prefix-map)
"
                           (abbreviate-file-name aqd-lisp-directory)
                           agent-q-diff-program)))
    (should (string-search "has all of it"
                           (cadr (should-error (agent-q-diff-setup-init) :type 'user-error))))
    (aqd-said (agent-q-diff-setup))
    (should-not (string-search "w shows" (with-current-buffer "*Agent-Q Setup*"
                                           (buffer-string))))))

(ert-deftest aqd-setup-offers-one-agent-after-the-other ()
  (aqd-setup-with-program "{\"hooks\": 1}\n"
    (aqd-setup-install "codex" "gemini" "claude")
    (aqd-said (agent-q-diff-setup))
    (aqd-in-diff (car (agent-q-diff-open-reviews))
      (agent-q-diff-reject-all))
    (should (equal (aqd-disk) "{}\n"))
    (should-not (get-buffer "*Agent-Q Setup*"))
    (aqd-in-diff (car (agent-q-diff-open-reviews))
      (agent-q-diff-accept-all))
    (should (equal (aqd-disk) "notify = []\n"))
    (let ((shown (aqd-setup-findings)))
      (should (string-search "note     Claude Code stays as it is" shown))
      (should (string-search "ok       Codex has the hook, from its next start on" shown))
      (should (string-search "MISSING  Gemini CLI: cannot setup gemini" shown))
      (should (string-search "Start Codex anew" shown))
      (should (string-search "((\"codex\" . after))" shown))
      (should (string-search "checked: check --no-emacs codex\n" shown)))))

(ert-deftest aqd-setup-a-key-of-the-users-stays ()
  (aqd-setup-with-program "{}\n"
    (global-set-key (kbd "C-c q") #'ignore)
    (aqd-said (agent-q-diff-setup))
    (with-current-buffer "*Agent-Q Setup*"
      (should (string-search "note     C-c q stays ignore: bind another key" (buffer-string)))
      (should (string-search "nor opencode is installed here" (buffer-string)))
      (should-not (string-search "global-set-key" (buffer-string))))
    (should (eq #'ignore (key-binding (kbd "C-c q"))))))

(ert-deftest aqd-setup-builds-what-is-not-built ()
  (aqd-setup-with-program "{}\n"
    (let ((agent-q-diff-program nil)
          (build nil))
      (cl-letf (((symbol-function 'agent-q-diff-build-program) #'ignore)
                ((symbol-function 'agent-q-diff-build-start)
                 (lambda (is-all then) (setq build (cons is-all then)))))
        (aqd-said (agent-q-diff-setup))
        (should (car build))
        (should-not (get-buffer "*Agent-Q Setup*"))
        (aqd-said (funcall (cdr build)))
        (should (get-buffer "*Agent-Q Setup*"))))))

(ert-deftest aqd-setup-after-the-build-takes-no-window-from-a-user-who-is-at-something ()
  (dolist (busy '(nil t))
    (aqd-setup-with-program "{\"hooks\": 1}\n"
      (aqd-setup-install "claude")
      (let ((agent-q-diff-program nil)
            (program agent-q-diff-program)
            (num-input-keys num-input-keys)
            (begin nil))
        (cl-letf (((symbol-function 'agent-q-diff-build-program) #'ignore)
                  ((symbol-function 'agent-q-diff-build-start)
                   (lambda (_is-all then) (setq begin then))))
          (aqd-said (agent-q-diff-setup)))
        (setq agent-q-diff-program program)
        (save-window-excursion
          (when busy
            (cl-incf num-input-keys))
          (let ((window (selected-window)))
            (aqd-said (funcall begin))
            (let ((review (car agent-q-diff-reviews-open)))
              (should (get-buffer-window (agent-q-diff-session-buffer review)))
              (if busy
                  (should (eq window (selected-window)))
                (should (eq (agent-q-diff-session-buffer review) (window-buffer)))
                ;; So the first key decides.
                (should (agent-q-diff-grace--selected-p)))
              (with-current-buffer (agent-q-diff-session-buffer review)
                (aqd-said (agent-q-diff-reject-hunk) (agent-q-diff-finish))))))))))

(ert-deftest aqd-setup-the-program-is-taken-from-beside-the-engine ()
  (aqd-setup-with-program "{}\n"
    (let* ((directory (file-name-directory agent-q-diff-program))
           (engine (expand-file-name "engine.so" directory))
           (taken nil))
      (rename-file agent-q-diff-program (expand-file-name "agent-q-diff" directory))
      (cl-letf (((symbol-function 'agent-q-diff-build-take) (lambda (file) (setq taken file))))
        (aqd-said (agent-q-diff-setup engine)))
      (should (equal engine taken))
      (should (equal (expand-file-name "agent-q-diff" directory) agent-q-diff-program))
      (should (get-buffer "*Agent-Q Setup*")))))

(provide 'agent-q-diff-setup-test)
;;; agent-q-diff-setup-test.el ends here
