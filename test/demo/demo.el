;;; demo.el --- A review of a real proposal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What `make demo' runs: an agent proposes a change of three files of a small
;; program; then another one has written into a repository already.  In a
;; terminal the keys are yours; without one a fixed list of keys is played, and
;; the diff buffer is printed as it looks after each.

;;; Code:

(require 'agent-q-diff-tools)
(require 'demo-files)
(require 'demo-written)

(defconst demo-plays
  '(("r" "a" "M-n" "a" "C-c C-k")
    ("n" "a" "q" "y")
    ("n" "p" "a" "r" "SPC" "RET" "u" "=" "?" "q" "q" "n" "r" "C-c C-c"))
  "Keys that are played where there is no terminal, a list for each review.")

(defconst demo-written-play '("r" "r" "a" "q")
  "Keys that are played on what was written already.")

(defconst demo-folder (file-name-as-directory (getenv "AGENT_Q_DIFF_DEMO_FOLDER"))
  "Folder of the program that the agent wants to change.")

(defconst demo-repository (file-name-as-directory (getenv "AGENT_Q_DIFF_DEMO_REPOSITORY"))
  "Folder of the repository in which an agent has written.")

(defun demo-tell (message)
  "Write down MESSAGE, which the agent receives."
  (let ((coding-system-for-write 'utf-8))
    (write-region (format "The agent receives:\n\n%s\n\n" message)
                  nil (getenv "AGENT_Q_DIFF_DEMO_OUT") t 'silent)))

(defun demo-propose ()
  "Propose the change, and note what the agent receives."
  (interactive)
  (let ((default-directory demo-folder)
        (agent-q-diff-project-root demo-folder)
        (agent-q-diff-call (agent-q-diff-call-make :agent "The demo's agent")))
    (demo-tell (agent-q-diff-tools-call
                "propose_changes"
                `(:changes ,(vconcat (demo-files-changes))
                  :description ,demo-files-description)))))

(defun demo-review-written ()
  "Review what was written into the repository, and return the review."
  (interactive)
  (demo-written-review demo-repository))

;;;; Without a terminal

(defun demo-diff-buffer ()
  "Return the diff buffer of the review that is open, or nil."
  (when-let ((review (car (agent-q-diff-open-reviews))))
    (agent-q-diff-session-buffer review)))

(defun demo-visible-text ()
  "Return the text of the diff buffer with what is shown at its lines."
  (with-current-buffer (demo-diff-buffer)
    (let ((text ""))
      (save-excursion
        (goto-char (point-min))
        (while (not (eobp))
          (dolist (overlay (overlays-at (point)))
            (when (eq (overlay-start overlay) (point))
              (setq text (concat text (overlay-get overlay 'before-string)))))
          (setq text (concat text (buffer-substring (point) (line-end-position))))
          (dolist (overlay (overlays-at (point)))
            (when (eq (overlay-end overlay) (line-end-position))
              (setq text (concat text (overlay-get overlay 'after-string)))))
          (setq text (concat text "\n"))
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
    (when (demo-diff-buffer)
      (princ (format "======== after %s%s\n%s\n"
                     (key-description (this-command-keys))
                     (if said (concat ": " said) "")
                     (demo-visible-text))))))

(defun demo-reset ()
  "Make the files what they were before any review."
  (dolist (buffer (buffer-list))
    (when (and (buffer-file-name buffer)
               (file-in-directory-p (buffer-file-name buffer) demo-folder))
      (kill-buffer buffer)))
  (demo-files-write demo-folder))

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
    (execute-kbd-macro (kbd (string-join (cons "<f5>" keys) " "))))
  (princ (format "\n######## What was written already, decided by %s\n\n"
                 (string-join demo-written-play " ")))
  (demo-written-prepare demo-repository)
  (global-set-key (kbd "<f6>") #'demo-review-written)
  (execute-kbd-macro (kbd (string-join (cons "<f6>" demo-written-play) " ")))
  ;; Why that fails is to be seen.
  (advice-remove 'message #'demo-note-message)
  (demo-written-check demo-repository))

;;;; In a terminal

(defun demo-show ()
  "Let the user decide both parts, then leave Emacs."
  (setq inhibit-startup-screen t)
  (find-file (expand-file-name "inventory.lisp" demo-folder))
  (demo-propose)
  (demo-written-prepare demo-repository)
  (let ((review (demo-review-written)))
    (add-hook 'post-command-hook
              (lambda ()
                (when (agent-q-diff-session-outcome review)
                  (kill-emacs))))))

(if noninteractive
    (demo-play)
  (add-hook 'emacs-startup-hook #'demo-show))

;;; demo.el ends here
