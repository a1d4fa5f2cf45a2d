;;; picture.el --- A review to be photographed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What test/demo/picture starts in a graphical Emacs: the demo's proposal, some
;; of it decided.  When the frame shows that, a file says so.

;;; Code:

(require 'agent-q-diff-api)
(require 'agent-q-diff-log)

(defun picture-read (file)
  "Return the text of FILE, of the demo's folder."
  (with-temp-buffer
    (insert-file-contents (expand-file-name file (getenv "AGENT_Q_DIFF_DEMO")))
    (buffer-string)))

(defun picture-background (mode)
  "Make the frame's background `light' or `dark', as MODE says."
  (when (eq mode 'dark)
    (set-background-color "#1c1c1c")
    (set-foreground-color "#e0e0e0")
    (set-cursor-color "#e0e0e0"))
  (set-frame-parameter nil 'background-mode mode)
  (setq frame-background-mode mode)
  (frame-set-background-mode (selected-frame)))

(defun picture-pose ()
  "Show the diff buffer with the first hunks decided."
  (modify-frame-parameters nil '((menu-bar-lines . 0)
                                 (tool-bar-lines . 0)
                                 (vertical-scroll-bars . nil)))
  (blink-cursor-mode -1)
  (setq agent-q-diff-log-file nil
        agent-q-diff-grace 0)
  (picture-background (intern (getenv "AGENT_Q_DIFF_BACKGROUND")))
  (set-frame-size nil 92 46)
  (let ((file (getenv "AGENT_Q_DIFF_DEMO_FILE")))
    (agent-q-diff-review file (picture-read "original.lisp") (picture-read "modified.lisp")
                         "Write prices with the euro sign, check names in one place,
and keep a record of every movement."
                         #'ignore :agent "Agent-Q"))
  (switch-to-buffer "*Agent-Q Diff: inventory.lisp*")
  (delete-other-windows)
  (goto-char (point-min))
  (execute-kbd-macro (kbd "n p a r"))
  (set-window-start nil (point-min))
  (message nil)
  (redisplay t))

(defun picture-say-ready ()
  "Tell the script that the frame can be photographed."
  (redisplay t)
  (write-region "" nil (getenv "AGENT_Q_DIFF_READY") nil 'silent))

(add-hook 'window-setup-hook
          (lambda ()
            (picture-pose)
            (run-with-timer 1 nil #'picture-say-ready)))

;;; picture.el ends here
