;;; terminals-test.el --- Messages put into a real terminal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent in a terminal is played by a shell, which runs what it is sent, and
;; by a program that writes down which keys it gets.  The terminal is vterm, as
;; Debian packages it.

;;; Code:

(require 'agent-q-diff-tmux)

(defun terminals-folder (pattern)
  "Return the first folder that matches PATTERN, in which Debian's vterm is."
  (or (car (file-expand-wildcards pattern))
      (error "Debian's vterm is not installed; make test installs it")))

(defconst terminals-message "touch one\e[201~\r\ntouch two\n\ttouch three\e\n"
  "A message that would leave files if it were run, and has keys in it.")

(defconst terminals-keys-script
  "stty raw ${1:-echo}; printf '\\033[?2004hready'; exec cat > keys"
  "Shell script that asks for bracketed paste, and writes down the keys it gets.
It shows them as well, unless its argument is \"-echo\".")

(defmacro terminals-with-shell (command &rest body)
  "Evaluate BODY with an Emacs under test that shows a vterm, which runs COMMAND."
  (declare (indent 1) (debug t))
  `(let ((e2e-load-arguments
          (append e2e-load-arguments
                  (list "-L" (terminals-folder "/usr/share/emacs/site-lisp/elpa-src/vterm-[0-9]*")
                        "-L" (terminals-folder "/usr/lib/*/emacs-libvterm")
                        "-l" "vterm"))))
     (e2e-with-emacs
       (e2e-write "run.sh" terminals-keys-script)
       (e2e-eval `(ignore
                   (setq vterm-shell ,,command
                         default-directory ,e2e--folder
                         project-find-functions nil)
                   (advice-add 'agent-q-diff-told-message :override
                               (lambda (_root) ,terminals-message))
                   (with-current-buffer "*scratch*"
                     (setq default-directory ,e2e--folder))))
       (terminals-call "vterm")
       ,@body)))

(defun terminals-call (command)
  "Call COMMAND, a name, by \\`M-x'."
  (e2e-keys "M-x")
  (e2e-see "^M-x")
  (e2e-type command)
  (e2e-keys "RET"))

(defun terminals-choose (key)
  "Choose the shown terminal for messages, as KEY says."
  (terminals-call "agent-q-diff-send-here")
  (e2e-see "^Messages for the agent here")
  (e2e-keys key)
  (e2e-see "^Messages about "))

(defun terminals-send ()
  "Send the message, from another buffer."
  (e2e-keys "C-x 4 b")
  (e2e-see "^Switch to buffer in other window")
  (e2e-type "*scratch*")
  (e2e-keys "RET")
  (e2e-wait-for (equal "*scratch*" (e2e-eval '(buffer-name (window-buffer)))))
  (terminals-call "agent-q-diff-send-message"))

(defun terminals-to-terminal ()
  "Select the window of the terminal."
  (e2e-keys "C-x o")
  (e2e-wait-for (e2e-eval '(with-current-buffer (window-buffer) (derived-mode-p 'vterm-mode)))))

(defconst terminals-bash "env 'PS1=$ ' bash --norc -i"
  "Command of a shell that knows a paste from keys.")

(ert-deftest e2e-terminals-a-message-waits-at-the-prompt ()
  (terminals-with-shell terminals-bash
    (e2e-see "^\\$")
    (terminals-choose "i")
    (terminals-send)
    (e2e-see "^The message is at the prompt of \\*vterm\\*; RET sends it"
             "^\\$ touch one\\[201~\ntouch two\n +touch three")
    (should-not (e2e-read "two"))
    (terminals-to-terminal)
    (e2e-keys "RET")
    (e2e-wait-for (e2e-read "three"))
    (should (e2e-read "two"))
    (should (e2e-read "one[201~"))))

(ert-deftest e2e-terminals-a-program-gets-a-paste-and-return-if-chosen ()
  (terminals-with-shell "sh run.sh"
    (e2e-see "^ready")
    (terminals-choose "s")
    (terminals-send)
    (e2e-see "^The message was sent in \\*vterm\\*")
    (let ((keys "\e[200~touch one[201~\ntouch two\n\ttouch three\e[201~\r"))
      (e2e-wait-for (>= (length (e2e-read "keys")) (length keys)))
      (should (equal keys (e2e-read "keys"))))))

(ert-deftest e2e-terminals-a-program-that-shows-no-message-gets-no-return ()
  (terminals-with-shell "sh run.sh -echo"
    (e2e-see "^ready")
    (terminals-choose "s")
    (terminals-send)
    (e2e-see "^The message was pasted into \\*vterm\\*, which does not show it, and got no RET; ")
    (should (string-suffix-p "three\e[201~" (e2e-read "keys")))))

(ert-deftest e2e-terminals-lines-are-copied-where-each-would-be-run ()
  (terminals-with-shell "env 'PS1=$ ' dash -i"
    (e2e-see "^\\$")
    (terminals-choose "s")
    (terminals-send)
    (e2e-see "^Failed to put the message into \\*vterm\\* "
             "it is ?in the kill ring$")
    (should (equal "touch one[201~\ntouch two\n\ttouch three" (e2e-eval '(current-kill 0))))
    (e2e-keys "C-x o")
    (e2e-type "touch mark")
    (e2e-keys "RET")
    (e2e-wait-for (e2e-read "mark"))
    (should-not (e2e-read "two"))))

(ert-deftest e2e-terminals-a-shell-that-has-come-back-runs-nothing ()
  (terminals-with-shell terminals-bash
    (e2e-see "^\\$")
    (e2e-type "sh -c 'read line; exit'")
    (e2e-keys "RET")
    (e2e-wait-for (e2e-eval '(natnump (process-running-child-p (get-buffer-process "*vterm*")))))
    (terminals-choose "s")
    (e2e-keys "RET")
    (e2e-see "^\\$ sh .*\n\n\\$$")
    (terminals-send)
    (e2e-see "^The message is at the prompt of \\*vterm\\*, but was not sent: "
             "^\\$ touch one\\[201~\ntouch two\n +touch three")
    (should-not (e2e-read "two"))))

(provide 'terminals-test)
;;; terminals-test.el ends here
