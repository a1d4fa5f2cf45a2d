;;; agent-q-diff-setup.el --- Has an agent's own edits decided in this Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `agent-q-diff-setup' does all that is needed before the first review: it
;; builds what is not built, serves, puts the hook into the settings of each agent
;; that is installed here, and turns on what notes the user's saves.
;; `agent-q-diff-setup-agent' does it for one agent.  The program agent-q-diff
;; knows the settings; a change of them, and of the init file, is reviewed like any
;; other.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-build)
(require 'agent-q-diff-file)
(require 'agent-q-diff-grace)
(require 'agent-q-diff-pending)
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

(defconst agent-q-diff-setup--prefix "C-c q"
  "The prefix key that is bound if it is free.")

(defun agent-q-diff-setup-program ()
  "Return the name of the program that agents run, or nil if there is none."
  (if agent-q-diff-program
      (expand-file-name agent-q-diff-program)
    (or (agent-q-diff-build-program)
        (executable-find "agent-q-diff"))))

(defun agent-q-diff-setup--program ()
  "Return the name of the program, or signal how to get it."
  (or (agent-q-diff-setup-program)
      (user-error "The program agent-q-diff is not there; call M-x agent-q-diff-setup, \
which builds it, or set `agent-q-diff-program'")))

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

(defun agent-q-diff-setup--fill (name text agents &optional map)
  "Put TEXT into the buffer NAME, and the program's findings about AGENTS.
They are a list of their names there, or t for all that are installed here or
set up.  MAP, if given, is the keymap of the buffer, which is returned."
  (let ((buffer (get-buffer-create name))
        (program (agent-q-diff-setup-program)))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert text "\n"))
      (set-buffer-modified-p nil)
      (special-mode)
      (when map
        (use-local-map map))
      (setq-local word-wrap t)
      (setq-local revert-buffer-function
                  (lambda (&rest _)
                    (agent-q-diff-setup--fill name text agents map)))
      (goto-char (point-min)))
    (when (and program agents)
      ;; It can take a second for each agent, which is asked itself.
      (make-process :name "agent-q-diff-check" :buffer buffer :noquery t
                    :command `(,program "check" "--no-emacs" ,@(and (consp agents) agents))
                    :filter #'agent-q-diff-setup--insert
                    :sentinel #'ignore))
    buffer))

(defun agent-q-diff-setup--insert (process text)
  "Add TEXT to the buffer of PROCESS."
  (when (buffer-live-p (process-buffer process))
    (with-current-buffer (process-buffer process)
      (save-excursion
        (let ((inhibit-read-only t))
          (goto-char (point-max))
          (when (= (point) (process-mark process))
            (insert "\n"))
          (insert text)
          (set-buffer-modified-p nil)))
      (agent-q-diff-setup--fit))))

(defun agent-q-diff-setup--fit ()
  "Make the windows of this buffer as high as its text, but none lower.
A rule of the user's for the buffer decides that alone."
  (unless (display-buffer-assq-regexp (buffer-name) display-buffer-alist nil)
    (dolist (window (get-buffer-window-list nil 'never t))
      (when (window-combined-p window)
        (fit-window-to-buffer window nil (window-height window))))))

(defun agent-q-diff-setup--delete (file)
  "Delete FILE, which is empty, and kill its buffer."
  (when-let ((buffer (find-buffer-visiting file)))
    (with-current-buffer buffer
      (set-buffer-modified-p nil))
    (kill-buffer buffer))
  (delete-file file))

(defun agent-q-diff-setup--offer (agent is-removing then)
  "Show the change that puts the hook into the settings of AGENT, a title.
If IS-REMOVING is non-nil, it takes the hook out.  When that is decided, call
THEN with the status of the review, or with nil if there is nothing to change.
Return the review, or nil."
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
         (old (agent-q-diff-setup--text file)))
    (if (equal old new)
        (progn (funcall then nil) nil)
      (let ((review (agent-q-diff-review
                     file old new (format (if is-removing "no hook for %s" "a hook for %s")
                                          agent)
                     (lambda (result)
                       ;; A plugin is a file of its own; of a part, the rest is in it.
                       (when (and is-removing (equal new "")
                                  (eq 'accepted (plist-get result :status)))
                         (agent-q-diff-setup--delete file))
                       (funcall then (plist-get result :status)))
                     :agent "agent-q-diff")))
        (unless (agent-q-diff-session-outcome review)
          (pop-to-buffer (agent-q-diff-session-buffer review)))
        review))))

(defun agent-q-diff-setup--text (file)
  "Return the text of FILE, \"\" if there is none."
  (if (file-exists-p file)
      (decode-coding-string (agent-q-diff-file-bytes file) 'utf-8-unix)
    ""))

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
  (agent-q-diff-setup--offer
   agent is-removing
   (lambda (status)
     (cond
      ((not is-removing)
       (when (memq status '(nil accepted partial))
         (agent-q-diff-serve)
         (agent-q-diff-setup--screen (list (cons agent status)))))
      ((null status) (message "%s has no hook of ours" agent))))))

;;;; All at once

(defun agent-q-diff-setup--installed ()
  "Return the agents that are installed here, a list of their titles."
  (mapcar #'car (seq-filter (pcase-lambda (`(,_ . ,name))
                              (or (executable-find name)
                                  ;; It brings its own.
                                  (and (equal name "claude") (executable-find "claude-agent-acp"))))
                            agent-q-diff-setup--agents)))

;;;###autoload
(defun agent-q-diff-setup (&optional engine)
  "Do all that is needed before the first review.
Build what is not built, serve agents in this Emacs, and show what puts the hook
into the settings of each agent that is installed here: accept it, or reject it
and that agent stays as it is.  Turn on `agent-q-diff-pending-mode', and let
\\`C-c q' be the prefix of the commands if it is free.  Then list what was
done, and what is missing; only a key there writes anything into the init file.

With a prefix argument, take the engine from a file that was built elsewhere,
ENGINE, and the program agent-q-diff from the same directory."
  (interactive (list (and current-prefix-arg
                          (read-file-name "Take the engine from: " nil nil t))))
  (when engine
    (agent-q-diff-build-take (expand-file-name engine))
    (let ((program (expand-file-name "agent-q-diff" (file-name-directory engine))))
      (when (file-executable-p program)
        (setq agent-q-diff-program program))))
  (if (and (condition-case nil
               (progn (agent-q-diff-build-ensure) t)
             (agent-q-diff-no-module nil))
           (agent-q-diff-setup-program))
      (agent-q-diff-setup--begin)
    (message "Building the engine and the program that agents run; this takes minutes")
    (let ((n-keys num-input-keys))
      (agent-q-diff-build-start
       t (lambda () (agent-q-diff-setup--begin-later (/= n-keys num-input-keys)))))))

(defun agent-q-diff-setup--begin-later (busy)
  "Do all that is needed when all is built, minutes after the user asked for it.
If BUSY is non-nil, the user has begun something else since then, and it is only
shown.  Otherwise it is selected, as if it had come at once."
  (if busy
      (save-selected-window (agent-q-diff-setup--begin))
    (agent-q-diff-setup--begin)
    (agent-q-diff-grace-note-selected)))

(defun agent-q-diff-setup--begin ()
  "Do all that is needed when all is built."
  (agent-q-diff-build-ensure)
  (agent-q-diff-serve)
  (agent-q-diff-pending-mode)
  (unless (agent-q-diff-setup--prefix-taken)
    (global-set-key (kbd agent-q-diff-setup--prefix) agent-q-diff-prefix-map))
  (agent-q-diff-setup--next (agent-q-diff-setup--installed) nil))

(defun agent-q-diff-setup--next (agents done)
  "Offer the hook for each of AGENTS, one after the other; then say how it went.
DONE is an alist from those that were offered it to the status of that."
  (pcase agents
    ('nil (agent-q-diff-setup--screen (reverse done)))
    (`(,agent . ,others)
     (condition-case err
         (agent-q-diff-setup--offer agent nil
                                    (lambda (status)
                                      (agent-q-diff-setup--next
                                       others (cons (cons agent status) done))))
       (user-error
        (agent-q-diff-setup--next
         others (cons (cons agent (error-message-string err)) done)))))))

(defun agent-q-diff-setup--prefix-taken ()
  "Return the binding of the prefix key if it is not ours, or nil."
  (let ((binding (lookup-key global-map (kbd agent-q-diff-setup--prefix))))
    (unless (or (null binding) (numberp binding) (eq binding agent-q-diff-prefix-map))
      binding)))

(defun agent-q-diff-setup--agent-words (agent status)
  "Return a line on how the set-up of AGENT ended, with STATUS."
  (let ((name (cdr (assoc agent agent-q-diff-setup--agents))))
    (pcase status
      ('nil (format "ok       %s has the hook already" agent))
      ('accepted (format "ok       %s has the hook, from its next start on" agent))
      ('partial (format "note     of the hook of %s, only what you accepted is in its settings"
                        agent))
      ((pred stringp) (format "MISSING  %s: %s" agent (agent-q-diff-visible status)))
      (_ (format "note     %s stays as it is; agent-q-diff setup %s, or this again, offers \
the hook" agent name)))))

(defun agent-q-diff-setup--did (done)
  "Return the lines on what is set up; DONE is as for `agent-q-diff-setup--next'."
  (let ((socket (agent-q-diff-server-serving)))
    `(,(format "ok       the engine %s is loaded" agent-q-diff-build-version)
      ,(if socket
           (format "ok       this Emacs serves agents at %s" (abbreviate-file-name socket))
         "MISSING  this Emacs serves no agents; M-x agent-q-diff-serve says why")
      ,@(mapcar (pcase-lambda (`(,agent . ,status))
                  (agent-q-diff-setup--agent-words agent status))
                done)
      ,@(unless done
          '("note     neither Claude Code, Codex, Gemini CLI nor opencode is installed here; the
         manual has the lines for other agents, for MCP and for gptel"))
      ,@(when agent-q-diff-pending-mode
          '("ok       your saves are noted as reviewed, and the mode line counts the rest"))
      ,(if-let ((taken (agent-q-diff-setup--prefix-taken)))
           (format "note     %s stays %s: bind another key to agent-q-diff-prefix-map"
                   agent-q-diff-setup--prefix
                   (if (symbolp taken) taken "what it is"))
         (format "ok       %s c reviews what was written, %s l lists reviews"
                 agent-q-diff-setup--prefix agent-q-diff-setup--prefix)))))

(defvar agent-q-diff-setup-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map special-mode-map)
    (define-key map "w" #'agent-q-diff-setup-init)
    map)
  "Keymap of what `agent-q-diff-setup' shows.")

(defun agent-q-diff-setup--screen (done)
  "Show what is set up, and what comes next.
DONE is as for `agent-q-diff-setup--next'."
  (let* ((agents (seq-filter (pcase-lambda (`(,_ . ,status)) (memq status '(nil accepted partial)))
                             done))
         (lines (agent-q-diff-setup--missing-init-lines))
         (text (string-join
                `(,(string-join (agent-q-diff-setup--did done) "\n")
                  ,@(when agents
                      (list (format "Start %s anew, and give it a prompt.  Each edit then opens \
a review:
  n p another hunk   a accept   r reject   c comment   q finish   ? all keys
To have all edits made at once and review them after the turn, by %s c:
  (setq agent-q-diff-decide-when '((%S . after)))
If nothing is shown, M-x agent-q-diff-doctor says why."
                                    (string-join (mapcar #'car agents) ", ")
                                    agent-q-diff-setup--prefix
                                    (cdr (assoc (caar agents) agent-q-diff-setup--agents)))))
                  ,@(when lines
                      (list (format "All this lasts until Emacs ends.  w shows these lines as a \
change of %s:
%s"
                                    (abbreviate-file-name (agent-q-diff-setup--init-file))
                                    (mapconcat (lambda (line) (concat "  " line)) lines "\n")))))
                "\n\n")))
    (pop-to-buffer
     (agent-q-diff-setup--fill
      "*Agent-Q Setup*" text
      (mapcar (pcase-lambda (`(,agent . ,_)) (cdr (assoc agent agent-q-diff-setup--agents)))
              agents)
      agent-q-diff-setup-map))
    (agent-q-diff-setup--fit)))

;;;; Why nothing happens

;;;###autoload
(defun agent-q-diff-doctor ()
  "Show why an agent's edits are not decided here, and what to do about it.
Each line says what is as it should be, what is MISSING, or what you should
know, in this Emacs and in the settings of each agent that is installed here or
set up.  `agent-q-diff check' in a shell prints the same."
  (interactive)
  (agent-q-diff-base-show
   (agent-q-diff-setup--fill
    "*Agent-Q Doctor*"
    (concat "Emacs\n" (agent-q-diff-server-state (and (agent-q-diff-setup-program) t)))
    t)))

;;;; The init file

(defun agent-q-diff-setup--init-file ()
  "Return the name of the init file, which need not exist."
  (or user-init-file (locate-user-emacs-file "init.el" ".emacs")))

(defun agent-q-diff-setup--missing-init-lines ()
  "Return the lines that the init file needs and does not have."
  (let* ((directory (file-name-directory (locate-library "agent-q-diff")))
         (text (agent-q-diff-setup--text (agent-q-diff-setup--init-file)))
         (by-hand (not (seq-some (lambda (managed) (file-in-directory-p directory managed))
                                 (mapcar #'expand-file-name
                                         (list (bound-and-true-p package-user-dir)
                                               (locate-user-emacs-file "elpa")
                                               (locate-user-emacs-file "straight")
                                               (locate-user-emacs-file "elpaca"))))))
         (lines `(,@(when by-hand
                      (list (format "(add-to-list 'load-path %S)"
                                    (abbreviate-file-name directory))))
                  "(require 'agent-q-diff)"
                  ,@(when agent-q-diff-program
                      (list (format "(setq agent-q-diff-program %S)" agent-q-diff-program)))
                  "(agent-q-diff-serve)"
                  "(agent-q-diff-pending-mode)"
                  ,@(unless (agent-q-diff-setup--prefix-taken)
                      (list (format "(global-set-key (kbd %S) agent-q-diff-prefix-map)"
                                    agent-q-diff-setup--prefix))))))
    (seq-remove (lambda (line) (string-search line text)) lines)))

;;;###autoload
(defun agent-q-diff-setup-init ()
  "Show the lines that the init file needs as a change of it.
Return the review."
  (interactive)
  (let* ((file (agent-q-diff-setup--init-file))
         (old (agent-q-diff-setup--text file))
         (lines (or (agent-q-diff-setup--missing-init-lines)
                    (user-error "%s has all of it" (abbreviate-file-name file))))
         (review (agent-q-diff-review
                  file old
                  (concat old
                          (cond
                           ((string-empty-p old) "")
                           ((string-suffix-p "\n" old) "\n")
                           (t "\n\n"))
                          ";; Agents' edits are decided here.\n"
                          (string-join lines "\n") "\n")
                  "the next Emacs does this, too" nil :agent "agent-q-diff")))
    (unless (agent-q-diff-session-outcome review)
      (pop-to-buffer (agent-q-diff-session-buffer review)))
    review))

(provide 'agent-q-diff-setup)
;;; agent-q-diff-setup.el ends here
