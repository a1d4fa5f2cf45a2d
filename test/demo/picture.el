;;; picture.el --- A review to be photographed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What test/demo/picture starts in a graphical Emacs: the demo's proposal, some
;; of it decided.  When the frame shows that, a file says so.  A test shows the
;; change of a single file instead; see `picture-of-one-file'.

;;; Code:

(require 'agent-q-diff-api)
(require 'agent-q-diff-log)
(require 'demo-files)

(defun picture-of-files ()
  "Begin the demo's review, decide some of it, and return it."
  (let* ((default-directory (file-name-as-directory (getenv "AGENT_Q_DIFF_DEMO_FOLDER")))
         (review (progn
                   (demo-files-write default-directory)
                   (agent-q-diff-review-change (demo-files-changes) demo-files-description
                                               #'ignore :agent "Claude Code"))))
    (agent-q-diff-accept review 0)
    (agent-q-diff-accept review 2)
    (agent-q-diff-reject review 3)
    review))

(defun picture-of-one-file ()
  "Begin the review of the demo's largest file, decide some of it, and return it."
  (let ((review (agent-q-diff-review
                 (getenv "AGENT_Q_DIFF_DEMO_FILE")
                 (demo-files-text "original.lisp") (demo-files-text "modified.lisp")
                 demo-files-description #'ignore :agent "Agent-Q")))
    (agent-q-diff-accept review 0)
    (agent-q-diff-reject review 1)
    review))

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
  (set-frame-size nil 92 (if (getenv "AGENT_Q_DIFF_DEMO_FILE") 46 57))
  (let ((review (if (getenv "AGENT_Q_DIFF_DEMO_FILE")
                    (picture-of-one-file)
                  (picture-of-files))))
    (switch-to-buffer (agent-q-diff-session-buffer review)))
  (delete-other-windows)
  (goto-char (point-min))
  (agent-q-diff-next-pending)
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
