;;; demo.el --- A review of a real proposal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What `make demo' runs: an agent proposes a change to an inventory
;; program.  In a terminal the keys are yours; without one a fixed list of
;; keys is played, and the diff buffer is printed as it looks after each.

;;; Code:

(require 'agent-q-diff-tools)

(defconst demo-plays
  '(("r" "a" "C-c C-k")
    ("n" "a" "q")
    ("n" "p" "a" "r" "SPC" "RET" "u" "?" "q" "n" "r" "C-c C-c"))
  "Keys that are played where there is no terminal, a list for each review.")

(defconst demo-file (getenv "AGENT_Q_DIFF_DEMO_FILE")
  "Name of the file that the agent wants to change.")

(defun demo-read (variable)
  "Return the text of the file that environment VARIABLE names."
  (with-temp-buffer
    (insert-file-contents (getenv variable))
    (buffer-string)))

(defun demo-tell (message)
  "Write down MESSAGE, which the agent receives, and the decision."
  (let ((coding-system-for-write 'utf-8)
        (buffer (get-buffer agent-q-diff-buffer-name)))
    (write-region (format "Decision: %s\n\nThe agent receives:\n\n%s\n\n"
                          (or (and buffer
                                   (buffer-local-value 'agent-q-diff-buffer-decision
                                                       buffer))
                              "none")
                          message)
                  nil (getenv "AGENT_Q_DIFF_DEMO_OUT") t 'silent)))

(defun demo-propose ()
  "Propose the change, and note what the agent receives."
  (interactive)
  (let ((agent-q-diff-project-root (file-name-directory demo-file)))
    (demo-tell
     (agent-q-diff-tools-propose-file-edit
      (file-name-nondirectory demo-file)
      (demo-read "AGENT_Q_DIFF_DEMO_ORIGINAL")
      (demo-read "AGENT_Q_DIFF_DEMO_MODIFIED")
      "Write prices with the euro sign, check names in one place,
and keep a record of every movement."))))

;;;; Without a terminal

(defun demo-visible-text ()
  "Return the text of the diff buffer with the signs on its hunks."
  (with-current-buffer agent-q-diff-buffer-name
    (let ((text ""))
      (save-excursion
        (goto-char (point-min))
        (while (not (eobp))
          (dolist (overlay (overlays-at (point)))
            (when (eq (overlay-start overlay) (point))
              (setq text (concat text (overlay-get overlay 'before-string)))))
          (setq text (concat text (buffer-substring (point) (line-end-position))
                             "\n"))
          (forward-line)))
      (substring-no-properties text))))

(defvar demo-said nil
  "What was said in the echo area last, or nil.")

(defun demo-note-message (format &rest arguments)
  "Note the message that FORMAT and ARGUMENTS make."
  (setq demo-said (and format (apply #'format-message format arguments))))

(defun demo-print-after-key ()
  "Print the diff buffer as it looks after the key just played."
  (let ((said demo-said))
    (setq demo-said nil)
    (when (get-buffer agent-q-diff-buffer-name)
      (princ (format "======== after %s%s\n%s\n"
                     (key-description (this-command-keys))
                     (if said (concat ": " said) "")
                     (demo-visible-text))))))

(defun demo-reset ()
  "Make the file what it was before any review."
  (when-let ((buffer (find-buffer-visiting demo-file)))
    (kill-buffer buffer))
  (copy-file (getenv "AGENT_Q_DIFF_DEMO_ORIGINAL") demo-file t))

(defun demo-play ()
  "Play `demo-plays' on the proposal and print what they do."
  ;; Messages would go to another stream and into the midst of the diff.
  (advice-add 'message :override #'demo-note-message)
  (add-hook 'post-command-hook #'demo-print-after-key)
  (global-set-key (kbd "<f5>") #'demo-propose)
  (dolist (keys demo-plays)
    (princ (format "\n######## The proposal, decided by %s\n\n"
                   (string-join keys " ")))
    (demo-reset)
    (execute-kbd-macro (kbd (string-join (cons "<f5>" keys) " ")))))

;;;; In a terminal

(defun demo-show ()
  "Let the user decide, then leave Emacs."
  (setq inhibit-startup-screen t)
  (find-file demo-file)
  (demo-propose)
  (kill-emacs))

(if noninteractive
    (demo-play)
  (add-hook 'emacs-startup-hook #'demo-show))

;;; demo.el ends here
