;;; agent-q-diff-setup.el --- Has an agent's own edits decided in this Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `agent-q-diff-setup-agent' puts the hook into the settings of a coding
;; agent.  The program agent-q-diff knows them; the change of its settings is
;; reviewed like any other.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-session)
(require 'agent-q-diff-api)
(require 'agent-q-diff-server)

(defcustom agent-q-diff-program nil
  "Name of the program agent-q-diff, or nil for the usual one.
That is the one that `make mcp' has built beside this package, or one in
variable `exec-path'."
  :type '(choice (const :tag "The usual one" nil) file)
  :group 'agent-q-diff-agents)

(defconst agent-q-diff-setup--agents
  '(("Claude Code" . "claude") ("Codex" . "codex") ("Gemini CLI" . "gemini")
    ("opencode" . "opencode"))
  "Alist from the agents that can be set up to their names for the program.")

(defun agent-q-diff-setup--program ()
  "Return the name of the program, or signal how to get it."
  (let* ((root (expand-file-name
                ".." (file-name-directory (or (locate-library "agent-q-diff") ""))))
         (built (expand-file-name "target/release/agent-q-diff" root)))
    (cond
     (agent-q-diff-program (expand-file-name agent-q-diff-program))
     ((file-executable-p built) built)
     ((executable-find "agent-q-diff"))
     (t (user-error "The program agent-q-diff is not there; run `make mcp' in %s, \
or set `agent-q-diff-program'"
                    (abbreviate-file-name root))))))

(defun agent-q-diff-setup--run (&rest arguments)
  "Run the program with ARGUMENTS; return (STATUS OUTPUT ERRORS)."
  (let ((errors (make-temp-file "agent-q-diff-setup"))
        (coding-system-for-read 'utf-8-unix))
    (unwind-protect
        (with-temp-buffer
          (let ((status (apply #'call-process (agent-q-diff-setup--program) nil
                               (list t errors) nil arguments)))
            (list status (buffer-string)
                  (with-temp-buffer
                    (insert-file-contents errors)
                    (string-trim (buffer-string))))))
      (delete-file errors))))

(defun agent-q-diff-setup--output (&rest arguments)
  "Return what the program prints with ARGUMENTS, or signal its error."
  (pcase-let ((`(,status ,output ,errors) (apply #'agent-q-diff-setup--run arguments)))
    (unless (eq 0 status)
      (user-error "%s" (agent-q-diff-visible errors)))
    output))

(defun agent-q-diff-setup--check (agent)
  "Show the program's findings about the hook of AGENT, its name there."
  (let ((buffer (get-buffer-create "*Agent-Q Setup*")))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer))
      (special-mode))
    ;; The program asks this Emacs, which must be free to answer.
    (make-process :name "agent-q-diff-check" :buffer buffer :noquery t
                  :command (list (agent-q-diff-setup--program) "check" agent
                                 "--socket" (agent-q-diff-server-open))
                  :filter #'agent-q-diff-setup--insert
                  :sentinel #'agent-q-diff-setup--checked)))

(defun agent-q-diff-setup--insert (process text)
  "Add TEXT to the buffer of PROCESS."
  (when (buffer-live-p (process-buffer process))
    (with-current-buffer (process-buffer process)
      (let ((inhibit-read-only t))
        (goto-char (point-max))
        (insert text)))))

(defun agent-q-diff-setup--checked (process _event)
  "Show what PROCESS has found, when it has ended."
  (when (and (not (process-live-p process)) (buffer-live-p (process-buffer process)))
    (agent-q-diff-setup--insert
     process "\nSo that Emacs serves whenever it runs, put (agent-q-diff-serve) into your init file.\n")
    (with-current-buffer (process-buffer process)
      (goto-char (point-min)))
    (agent-q-diff-base-show (process-buffer process))))

(defun agent-q-diff-setup--delete (file)
  "Delete FILE, which is empty, and kill its buffer."
  (when-let ((buffer (find-buffer-visiting file)))
    (with-current-buffer buffer
      (set-buffer-modified-p nil))
    (kill-buffer buffer))
  (delete-file file))

;;;###autoload
(defun agent-q-diff-setup-agent (agent &optional is-removing)
  "Have the edits by AGENT's own tools decided in this Emacs.
AGENT is \"Claude Code\", \"Codex\", \"Gemini CLI\" or \"opencode\".  The
change of its settings is shown as a review; when you have accepted it,
what is missing is listed.  For Claude Code, a hunk of it has its models edit
with its tools rather than by its shell.  With a prefix argument, IS-REMOVING,
take the hook out of the settings again.  Return the review, or nil if nothing
has to be changed."
  (interactive (list (completing-read (if current-prefix-arg
                                          "No longer decide the edits of: "
                                        "Decide the edits of: ")
                                      agent-q-diff-setup--agents nil t)
                     current-prefix-arg))
  (let* ((name (or (cdr (assoc agent agent-q-diff-setup--agents))
                   (user-error "%s is not an agent that can be set up" agent)))
         (file (string-trim-right (agent-q-diff-setup--output "setup" name "--where")))
         (new (apply #'agent-q-diff-setup--output "setup" name "--show"
                     (append
                      (cond
                       (is-removing '("--remove"))
                       ;; It is a hunk of its own, which the user can reject.
                       ((equal name "claude") '("--edit-tools")))
                      (and agent-q-diff-server-socket
                           (list "--socket"
                                 (expand-file-name agent-q-diff-server-socket))))))
         (old (if (file-exists-p file)
                  (decode-coding-string (agent-q-diff-file-bytes file) 'utf-8-unix)
                "")))
    (cond
     ((not (equal old new))
      (let ((review (agent-q-diff-review
                     file old new (format (if is-removing "no hook for %s" "a hook for %s")
                                          agent)
                     (lambda (result)
                       (pcase (plist-get result :status)
                         ((and (or 'accepted 'partial) (guard (not is-removing)))
                          (agent-q-diff-setup--check name))
                         ;; A plugin is a file of its own; of a part, the rest is in it.
                         ((and 'accepted (guard (equal new "")))
                          (agent-q-diff-setup--delete file))))
                     :agent "agent-q-diff")))
        (unless (agent-q-diff-session-outcome review)
          (pop-to-buffer (agent-q-diff-session-buffer review)))
        review))
     (is-removing (message "%s has no hook of ours" agent) nil)
     (t (agent-q-diff-setup--check name) nil))))

(provide 'agent-q-diff-setup)
;;; agent-q-diff-setup.el ends here
