;;; agents-terminal.el --- Coding agents in a terminal, as their users have them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Starts an agent in a window of the tmux in which Emacs runs, answers by keys what
;; it asks at first, and gives it prompts and keys.  Claude Code is not among them: in
;; a terminal it does not start without its service.
;;
;; What is typed while an agent draws itself may be lost, and a key that comes right
;; behind a text may count as pasted.  So a key is typed again, once a second, until
;; the screen, or a file, shows what came of it.

;;; Code:

(require 'agents-tools)

(defun agents-terminal--command (client url)
  "Return the command that starts CLIENT with the model at URL."
  (pcase-exhaustive client
    ("codex" (list "codex" "-s" agents-codex-sandbox "-a" "never"
                   "-c" (format "model=\"%s\"" agents-codex-model)
                   "-c" (format "model_providers.scripted.base_url=\"%s/v1\"" url)
                   ;; That it knows a newer model was said.
                   "-c" "notice.model_migrations={\"gpt-5.5\"=\"gpt-6-sol\"}"))
    ("gemini" (list "gemini" "--approval-mode" agents-gemini-mode))
    ("qwen" (append '("qwen" "--approval-mode" "yolo") (agents-qwen-provider url)))
    ("kimi" '("kimi" "--yolo"))
    ("opencode" '("opencode"))))

(defun agents-terminal--ready (client)
  "Return a regexp that the screen matches once CLIENT reads prompts."
  (pcase-exhaustive client
    ;; The rest of that is there before it asks whether it may trust the folder.
    ("codex" "^ *permissions: \\(?:.\\|\n\\)*Ask Codex to do anything")
    ((or "gemini" "qwen") "Type your message")
    ("kimi" "context: [0-9]+%")
    ("opencode" "Ask anything")))

(defun agents-terminal--works (client)
  "Return a regexp that the screen matches while CLIENT works."
  (pcase-exhaustive client
    ((or "codex" "gemini") "esc to \\(?:interrupt\\|cancel\\)")
    ;; A long phrase breaks that in two.
    ("qwen" "Enter to steer")
    ;; A moon.
    ("kimi" "[\N{U+1F311}-\N{U+1F318}]")
    ;; It wants the key twice.
    ("opencode" "esc \\(?:again to \\)?interrupt")))

(defun agents-terminal--press-until (key regexp condition)
  "Type KEY while the screen matches REGEXP, until the function CONDITION says so."
  (let ((last-time 0))
    (e2e-wait-for (or (funcall condition)
                      (when (< 1 (- (float-time) last-time))
                        (setq last-time (float-time))
                        (when (string-match-p regexp (e2e-screen))
                          (e2e-keys key))
                        nil)))))

(defmacro agents-terminal-there (&rest body)
  "Evaluate BODY while the window of the agent is the one that has the keys."
  (declare (indent 0) (debug t))
  `(progn
     (e2e-tmux "select-window" "-t" "agent")
     (prog1 (progn ,@body)
       (e2e-tmux "select-window" "-t" "0"))))

(defun agents-terminal-start (client &rest calls)
  "Start CLIENT, whose model makes CALLS, in a window, and wait until it is ready."
  (let ((url (agents--start-model calls)))
    (agents-write-provider client url)
    (apply #'e2e-tmux "new-window" "-n" "agent" "-c" (e2e-path "project") "--"
           (apply #'agents-in-terminal (concat "GOOGLE_GEMINI_BASE_URL=" url)
                  (agents-terminal--command client url)))
    (agents-terminal-there
      (agents-terminal--press-until
       "RET" "› 1\\. Trust and continue\\|❯ Trust this folder"
       (lambda () (string-match-p (agents-terminal--ready client) (e2e-screen)))))))

(defun agents-terminal-n-requests ()
  "Return how often the model was asked."
  (length (split-string (or (e2e-read "log") "") "\n" t)))

(defun agents-terminal-prompt (text &optional end)
  "Give the agent the prompt TEXT, and wait until its model is asked.
With a regexp END, wait until the screen matches that."
  (let ((n (agents-terminal-n-requests)))
    (agents-terminal-there
      (e2e-type text)
      (e2e-see (regexp-quote text))
      (agents-terminal--press-until "RET" (regexp-quote text)
                                    (lambda ()
                                      (if end
                                          (string-match-p end (e2e-screen))
                                        (< n (agents-terminal-n-requests))))))))

(defun agents-terminal-escape (regexp)
  "Type ESC while the agent shows REGEXP, and wait until it does not any more."
  (agents-terminal-there
    (e2e-see regexp)
    (agents-terminal--press-until
     "ESC" regexp (lambda () (not (string-match-p regexp (e2e-screen)))))))

(defun agents-terminal-interrupt (client)
  "Interrupt CLIENT, which works."
  (agents-terminal-escape (agents-terminal--works client)))

(provide 'agents-terminal)
;;; agents-terminal.el ends here
