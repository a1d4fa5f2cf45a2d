;;; agent-q-diff-server.el --- Connector for MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `agent-q-diff-serve' opens a Unix socket, through which the program
;; agent-q-diff requests reviews.  Only the user's own programs can
;; reach it: it is in a directory of mode 0700 that belongs to the user.
;; The protocol is described in agent-q-diff-protocol.el.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-log)
(require 'agent-q-diff-message)
(require 'agent-q-diff-protocol)
(require 'agent-q-diff-structured)
(require 'agent-q-diff-schema)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-result)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-progress)
(require 'agent-q-diff-reviews)
(require 'agent-q-diff-deadline)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-propose)
(require 'agent-q-diff-own-tool)
(require 'agent-q-diff-own-agent)
(require 'agent-q-diff-own-patch)
(require 'agent-q-diff-tools)

(defcustom agent-q-diff-server-socket nil
  "Name of the socket that `agent-q-diff-serve' opens, or nil for the usual one.
That is agent-q-diff/socket in the directory that the environment variable
XDG_RUNTIME_DIR names, or in ~/.cache if there is none.  The program
agent-q-diff looks there without being told, and needs the option
--socket for any other."
  :type '(choice (const :tag "The usual one" nil) file)
  :group 'agent-q-diff-agents)

(defconst agent-q-diff-server--backlog 64
  "Number of connections that can wait to be accepted while Emacs is busy.")

(defvar agent-q-diff-server--process nil
  "The listening process, or nil.")

(defvar agent-q-diff-server--clients nil
  "Connections that are open.")

;;;; Answering

(defun agent-q-diff-server--answer (client text is-error &optional result)
  "Answer CLIENT with TEXT and close the connection.
IS-ERROR is non-nil if TEXT is about a failure of the call.  RESULT is what a
program can read of it, an alist, or nil."
  (unless (process-get client 'text)
    (process-put client 'text text))
  (agent-q-diff-protocol-answer
   client `((answer . ,(agent-q-diff-protocol-clean text))
            (error . ,(if is-error t :false))
            ,@(and result `((result . ,result))))))

(defun agent-q-diff-server--say-unread (client)
  "Tell the user that CLIENT is gone without having read all of its answer."
  (agent-q-diff-base-warn
   (agent-q-diff-visible
    (format "%s did not read the answer to its call, so it does not know this: %s"
            (or (process-get client 'agent) "An agent")
            (agent-q-diff-server--unread-words client)))))

(defun agent-q-diff-server--unread-words (client)
  "Return what CLIENT was told: what became of its review, or the first line."
  (let* ((review (process-get client 'review))
         (result (and review (agent-q-diff-session-result review)))
         (total (plist-get result :total)))
    (if total
        (format (ngettext "%s: %d of %d hunk accepted, %d rejected"
                          "%s: %d of %d hunks accepted, %d rejected" total)
                (agent-q-diff-session-name review) (plist-get result :applied) total
                (plist-get result :rejected))
      (truncate-string-to-width (car (split-string (process-get client 'text) "\n"))
                                200 nil nil "…"))))

(defun agent-q-diff-server--fail (client err)
  "Answer CLIENT with ERR, an error as bound by `condition-case'."
  (agent-q-diff-server--answer
   client (agent-q-diff-message-of-failure err) t))

(defun agent-q-diff-server--answer-result (client result)
  "Answer CLIENT with RESULT, the result of a review."
  (agent-q-diff-server--answer
   client (plist-get result :message)
   (not (memq (plist-get result :status) '(accepted partial rejected)))
   (agent-q-diff-structured result)))

(defun agent-q-diff-server--send-progress (client total _applied _rejected pending)
  "Tell CLIENT how many of TOTAL hunks are decided, that is, not PENDING."
  (agent-q-diff-protocol-send
   client `((progress . ((decided . ,(- total pending)) (total . ,total))))))

;;;; Calls

(defun agent-q-diff-server--follow (client review)
  "Tell CLIENT the progress of REVIEW, which it has requested.
If CLIENT is gone, cancel REVIEW.  It may have ended, or be nil."
  (process-put client 'review review)
  (cond
   ((or (null review) (agent-q-diff-session-outcome review)))
   ((process-live-p client)
    (when-let ((seconds (process-get client 'timeout)))
      (agent-q-diff-deadline-begin review seconds))
    (with-current-buffer (agent-q-diff-session-buffer review)
      (let ((send (apply-partially #'agent-q-diff-server--send-progress client)))
        (add-hook 'agent-q-diff-progress-functions send nil t)
        (apply send (agent-q-diff-buffer-counts)))))
   (t (agent-q-diff-cancel review))))

(defun agent-q-diff-server--call (client tool arguments)
  "Call TOOL with ARGUMENTS, a hash table, and answer CLIENT."
  (cond
   ((agent-q-diff-schema-proposal-p tool)
    (agent-q-diff-server--follow
     client
     (agent-q-diff-propose
      tool (agent-q-diff-schema-arguments tool arguments)
      (apply-partially #'agent-q-diff-server--answer-result client))))
   ((equal tool "ping")
    (agent-q-diff-server--answer
     client (format "Emacs %s serves at %s" emacs-version
                    (process-get agent-q-diff-server--process 'socket))
     nil))
   ((equal tool "session_went_on")
    (agent-q-diff-own-agent-went-on (gethash "session" arguments))
    (agent-q-diff-server--answer client "" nil))
   ((equal tool "take_turn")
    (agent-q-diff-server--went-on arguments)
    (agent-q-diff-own-tool-take-turn
     arguments (lambda (has-waited)
                 (agent-q-diff-protocol-send
                  client `((turn . ,(if has-waited "waited" "at once")))))))
   ((equal tool "call_failed")
    (agent-q-diff-own-agent-failed (gethash "call" arguments))
    (agent-q-diff-server--answer client "" nil))
   ((equal tool "decide_edit")
    (agent-q-diff-server--follow
     client
     (agent-q-diff-own-tool-decide
      arguments (apply-partially #'agent-q-diff-server--answer client))))
   ((equal tool "decide_patch")
    (agent-q-diff-server--follow
     client
     (agent-q-diff-own-patch-decide
      arguments (apply-partially #'agent-q-diff-server--answer client))))
   ((member tool '("write_decided" "not_run" "check_edit"))
    (agent-q-diff-server--answer client (agent-q-diff-server--decided tool arguments) nil))
   ((stringp tool)
    ;; It waits for its turn, or for the user: Emacs has it, anyway.
    (agent-q-diff-server--send-progress client 0 0 0 0)
    (agent-q-diff-tools-call-async
     tool arguments
     (lambda (message)
       ;; Messages about failures begin like this; that is part of the
       ;; interface.
       (agent-q-diff-server--answer client message
                                    (string-prefix-p "Error" message)))))
   (t (signal 'agent-q-diff-bad-arguments '("the tool must be a string")))))

(defun agent-q-diff-server--went-on (arguments)
  "Note a call of a tool with ARGUMENTS, by which earlier ones have run.
That is not so of one that calls several at once."
  (unless (equal "opencode" (car agent-q-diff-caller))
    (agent-q-diff-own-agent-went-on (gethash "session" arguments)
                                    (gethash "call" arguments))))

(defun agent-q-diff-server--decided (tool arguments)
  "Carry out TOOL, a request after a decision, and return the message about it.
ARGUMENTS is a hash table with the call that was decided."
  (when (equal tool "check_edit")
    (agent-q-diff-own-agent-say-run-after-all (gethash "call" arguments)))
  (let* ((edit (agent-q-diff-own-agent-take (gethash "call" arguments)))
         (is-patch (agent-q-diff-own-patch-edit-p edit)))
    (pcase-exhaustive tool
      ("write_decided"
       (if is-patch
           (agent-q-diff-own-patch-write edit)
         (agent-q-diff-own-tool-write edit)))
      ("not_run"
       (agent-q-diff-server--not-run edit is-patch))
      ("check_edit"
       (if is-patch
           (agent-q-diff-own-patch-check edit)
         (agent-q-diff-own-tool-check edit arguments))))))

(defun agent-q-diff-server--not-run (edit is-patch)
  "Tell the user that EDIT was not made, since its file changed meanwhile.
EDIT is nil if nothing is known of it.  IS-PATCH is non-nil if it is of
several files.  Return a message."
  (cond
   ((null edit))
   (is-patch (agent-q-diff-own-patch-not-run edit "a file was changed while you decided"))
   (t (agent-q-diff-own-tool-not-run edit "it was changed while you decided")))
  "")

(defun agent-q-diff-server--directory (directory)
  "Return DIRECTORY, a caller's directory or root, or signal an error.
It must be an existing local directory: accessing a remote one could open a
connection."
  (unless (and (stringp directory)
               (not (agent-q-diff-visible-path-flaw directory))
               (file-name-absolute-p directory)
               (agent-q-diff-visible-path-plain directory "/")
               (file-directory-p directory))
    (signal 'agent-q-diff-bad-arguments
            '("the caller's directory is not a local directory")))
  (file-name-as-directory directory))

;;;; The names of files in a request

(defun agent-q-diff-server--check-names (tool arguments)
  "Refuse the call of TOOL if a name of a file in ARGUMENTS is remote or misleads.
No handler is called, and no file accessed.  The names in a patch are known
only once it is read; they pass `agent-q-diff-visit-name', as these do."
  ;; The tool `edit_file' refuses them by itself, in words that must not change.
  (unless (equal tool "edit_file")
    (dolist (key '("path" "rename_to" "to"))
      (let ((name (gethash key arguments)))
        (when (and (stringp name) (not (string-empty-p name)))
          (let ((default-directory (or agent-q-diff-project-root default-directory)))
            (agent-q-diff-propose-request tool name nil)))))
    (dolist (key '("changes" "files"))
      (let ((files (gethash key arguments)))
        (when (vectorp files)
          (seq-doseq (file files)
            (when (hash-table-p file)
              (agent-q-diff-server--check-names tool file))))))))

(defun agent-q-diff-server--agent (name)
  "Return NAME, a caller's name for itself, made safe to show, or nil.
It is shown in places where the user decides, so it must not look like
anything else."
  (when (stringp name)
    (truncate-string-to-width
     (replace-regexp-in-string "[^[:alnum:] ._/()-]" "?" name) 40)))

(defun agent-q-diff-server--make-absolute (arguments directory)
  "Make relative names of files in ARGUMENTS, a hash table, begin in DIRECTORY.
Names that only look relative stay, for the tools to refuse."
  (dolist (key '("path" "rename_to"))
    (let ((name (gethash key arguments)))
      (when (and (stringp name)
                 (not (string-match-p "\\`\\(?:\\'\\|[/~]\\|[a-zA-Z]:\\)" name)))
        (puthash key (concat directory name) arguments))))
  (let ((changes (gethash "changes" arguments)))
    (when (vectorp changes)
      (seq-doseq (change changes)
        (when (hash-table-p change)
          (agent-q-diff-server--make-absolute change directory))))))

(defun agent-q-diff-server--root (request)
  "Return the root of the project that REQUEST, a hash table, is about.
The user's own one counts first.  Tools resolve relative names against the
root; so if that of REQUEST is not its directory, its names are made
absolute."
  (let ((root (gethash "root" request))
        (arguments (gethash "arguments" request)))
    (cond
     (agent-q-diff-project-root)
     ((null root) default-directory)
     (t (agent-q-diff-server--make-absolute arguments default-directory)
        (agent-q-diff-server--directory root)))))

(defun agent-q-diff-server--serve (client request)
  "Carry out REQUEST, a hash table, and answer CLIENT."
  (let ((arguments (gethash "arguments" request))
        (timeout (gethash "timeout" request)))
    (unless (hash-table-p arguments)
      (signal 'agent-q-diff-bad-arguments '("the arguments must be an object")))
    (unless (or (null timeout) (and (numberp timeout) (<= 0 timeout)))
      (signal 'agent-q-diff-bad-arguments '("the timeout must be a number of seconds")))
    (process-put client 'timeout timeout)
    (process-put client 'agent (agent-q-diff-server--agent (gethash "agent" request)))
    (let* ((default-directory (agent-q-diff-server--directory
                               (gethash "directory" request)))
           (agent-q-diff-project-root (agent-q-diff-server--root request))
           (agent-q-diff-caller (cons (process-get client 'agent) client)))
      (agent-q-diff-server--check-names (gethash "tool" request) arguments)
      (agent-q-diff-server--call client (gethash "tool" request) arguments))))

;;;; Connections

(defconst agent-q-diff-server--read-max (* 1024 1024)
  "Number of bytes to read at once while a request comes in.
Before Emacs 30 the default is 4096, and calling the filter so often for
40 MB takes longer than everything else that is done with them.")

(defvar agent-q-diff-server--read-max-before nil
  "The value of `read-process-output-max' before a request came in, or nil.")

(defun agent-q-diff-server--read-much ()
  "Read more at once than usual until the request is complete."
  (when (< read-process-output-max agent-q-diff-server--read-max)
    (setq agent-q-diff-server--read-max-before read-process-output-max
          read-process-output-max agent-q-diff-server--read-max)))

(defun agent-q-diff-server--read-as-before ()
  "Read as much at once as before unless another request is still coming in.
A value that the user has set meanwhile stays."
  (when (and agent-q-diff-server--read-max-before
             (seq-every-p (lambda (client) (process-get client 'is-asked))
                          agent-q-diff-server--clients))
    (when (= read-process-output-max agent-q-diff-server--read-max)
      (setq read-process-output-max agent-q-diff-server--read-max-before))
    (setq agent-q-diff-server--read-max-before nil)))

(defun agent-q-diff-server--filter (client bytes)
  "Add BYTES to the input from CLIENT; if its request is complete, carry it out.
Bytes are decoded when all have arrived, so that no character is cut in two."
  (if (process-get client 'is-asked)
      (agent-q-diff-protocol-acknowledge client bytes)
    (condition-case err
        (agent-q-diff-base-collecting-once
          (let ((request (agent-q-diff-protocol-hear client bytes)))
            (when request
              (process-put client 'is-asked t)
              (process-put client 'parts nil)
              (agent-q-diff-server--read-as-before)
              (agent-q-diff-server--serve client request))))
      ((error quit)
       (process-put client 'is-asked t)
       (agent-q-diff-server--fail client err)))))

(defun agent-q-diff-server--sentinel (client _event)
  "Forget CLIENT once it has disconnected, and withdraw its call soon."
  (unless (process-live-p client)
    (setq agent-q-diff-server--clients (delq client agent-q-diff-server--clients))
    (process-put client 'parts nil)
    (agent-q-diff-server--read-as-before)
    (when (agent-q-diff-protocol-unsent-p client)
      (agent-q-diff-server--say-unread client))
    (agent-q-diff-tools-later (lambda () (agent-q-diff-tools-withdraw client)))))

(defun agent-q-diff-server--accepted (_server client _message)
  "Set up CLIENT, which has connected."
  (set-process-query-on-exit-flag client nil)
  (push client agent-q-diff-server--clients)
  (agent-q-diff-server--read-much))

;;;; The socket

(defun agent-q-diff-server--socket-name ()
  "Return the absolute name of the socket."
  (let ((runtime (getenv "XDG_RUNTIME_DIR")))
    (expand-file-name
     (or agent-q-diff-server-socket
         (expand-file-name "agent-q-diff/socket"
                           ;; After su or over ssh the variable may name the
                           ;; directory of another user, or none.
                           (if (and runtime (file-accessible-directory-p runtime)
                                    (file-writable-p runtime))
                               runtime
                             "~/.cache"))))))

(defun agent-q-diff-server--ensure-private (directory)
  "Create DIRECTORY if it is missing; refuse one that other users can reach."
  (unless (file-attributes directory)
    (with-file-modes #o700
      (make-directory directory t)))
  (let ((attributes (file-attributes directory 'integer)))
    (unless (and (eq t (file-attribute-type attributes))
                 (= (user-uid) (file-attribute-user-id attributes))
                 (equal "drwx------" (file-attribute-modes attributes)))
      (user-error "%s must be a directory of yours with mode 0700; \
it is %s of the user %s" directory (file-attribute-modes attributes)
(file-attribute-user-id attributes)))))

(defun agent-q-diff-server--listened-p (socket)
  "Return non-nil if some process listens at SOCKET."
  (condition-case nil
      (progn
        (delete-process (make-network-process :name "agent-q-diff-probe"
                                              :family 'local :service socket
                                              :noquery t))
        t)
    (file-error nil)))

(defun agent-q-diff-server--clear (socket)
  "Remove SOCKET if no process listens there any more."
  (when-let ((attributes (file-attributes socket)))
    (unless (string-prefix-p "s" (file-attribute-modes attributes))
      (user-error "%s is there, and is no socket" socket))
    (when (agent-q-diff-server--listened-p socket)
      (user-error "Another Emacs serves at %s; stop it there, \
or set `agent-q-diff-server-socket'" socket))
    (delete-file socket)))

(defun agent-q-diff-server--listen (socket)
  "Return a process that listens at SOCKET, a file that does not exist."
  (with-file-modes #o600
    (make-network-process :name "agent-q-diff-server"
                          :family 'local :service socket
                          :server agent-q-diff-server--backlog
                          :coding 'binary :noquery t
                          :filter #'agent-q-diff-server--filter
                          :sentinel #'agent-q-diff-server--sentinel
                          :log #'agent-q-diff-server--accepted)))

(defun agent-q-diff-server--inode (socket)
  "Return the inode number of SOCKET, to tell it from a later file of that name."
  (file-attribute-inode-number (file-attributes socket)))

;;;###autoload
(defun agent-q-diff-serve ()
  "Let the user's MCP clients request reviews in this Emacs.
They do so through the program agent-q-diff, which `make mcp' builds.
Return the name of the socket, which is open until
`agent-q-diff-serve-stop' or the end of Emacs."
  (interactive)
  (unless (featurep 'make-network-process '(:family local))
    (user-error "This system has no Unix sockets"))
  (unless (fboundp 'json-parse-string)
    (user-error "This Emacs was built without JSON"))
  (unless (process-live-p agent-q-diff-server--process)
    (let ((socket (agent-q-diff-server--socket-name)))
      (agent-q-diff-server--ensure-private
       (directory-file-name (file-name-directory socket)))
      (agent-q-diff-server--clear socket)
      (agent-q-diff-protocol-remove-files socket)
      (let ((process (agent-q-diff-server--listen socket)))
        (process-put process 'socket socket)
        (process-put process 'inode (agent-q-diff-server--inode socket))
        (setq agent-q-diff-server--process process)))
    ;; Late, so that callers of reviews that end with Emacs learn why.
    (add-hook 'kill-emacs-hook #'agent-q-diff-serve-stop 90))
  (let ((socket (process-get agent-q-diff-server--process 'socket)))
    (message "Reviews for MCP clients are served at %s"
             (abbreviate-file-name socket))
    socket))

(defun agent-q-diff-server--stopped (client)
  "Return the message for CLIENT that it is not served any more.
If its review has put hunks into a file, the message says which."
  (let* ((review (seq-find (lambda (review)
                             (eq client (agent-q-diff-session-caller review)))
                           (agent-q-diff-open-reviews)))
         (change (and review (agent-q-diff-session-change review)))
         (remains (and change
                       (not (agent-q-diff-change-is-detached change))
                       (< 0 (agent-q-diff-change-in-target change))
                       ;; Closing the connection is what ends it.
                       (cl-letf (((agent-q-diff-session-outcome review) 'abandoned))
                         (agent-q-diff-message-of-remains (agent-q-diff-result-of review))))))
    (concat "Error: there is no decision: Emacs has stopped serving"
            (and remains (concat "\n\n" remains)))))

(defconst agent-q-diff-server--last-seconds 1
  "Seconds for which clients can read long answers when Emacs stops serving.")

(defun agent-q-diff-server--drop-clients ()
  "Close all connections; clients that are reading can read on for a moment."
  (let ((end (time-add nil agent-q-diff-server--last-seconds)))
    (while (and agent-q-diff-server--clients (time-less-p nil end))
      (accept-process-output nil 0.01)))
  (mapc #'delete-process (copy-sequence agent-q-diff-server--clients)))

(defun agent-q-diff-serve-stop (&optional by-key)
  "Stop serving MCP clients: close the socket, cancel their requests.
BY-KEY is non-nil if a user called this, who is told whether any were
served."
  (interactive (list t))
  (when by-key
    (message (if agent-q-diff-server--process
                 "MCP clients are no longer served"
               "No MCP clients were served")))
  (remove-hook 'kill-emacs-hook #'agent-q-diff-serve-stop)
  ;; Closing the connections cancels their reviews, but no client withdrew them.
  (dolist (review (agent-q-diff-open-reviews))
    (when (memq (agent-q-diff-session-caller review) agent-q-diff-server--clients)
      (setf (agent-q-diff-session-is-abandoned review) t)))
  (dolist (client agent-q-diff-server--clients)
    (agent-q-diff-server--answer client (agent-q-diff-server--stopped client) t))
  (when-let ((process agent-q-diff-server--process))
    (let ((socket (process-get process 'socket)))
      (delete-process process)
      ;; Another Emacs may have created a new one there.
      (when (and (file-exists-p socket)
                 (equal (process-get process 'inode)
                        (agent-q-diff-server--inode socket)))
        (delete-file socket)))
    (setq agent-q-diff-server--process nil))
  (agent-q-diff-server--drop-clients)
  (agent-q-diff-tools-withdraw-gone)
  nil)

(provide 'agent-q-diff-server)
;;; agent-q-diff-server.el ends here
