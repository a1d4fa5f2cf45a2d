;;; agent-q-diff-server.el --- Connector for MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `agent-q-diff-serve' opens a Unix socket, through which the program
;; agent-q-diff-mcp asks for reviews.  Only the user's own programs can
;; reach it: it is in a directory of mode 0700 that belongs to the user.
;;
;; One connection is one call.  The caller writes one line of JSON,
;;
;;   {"version": 1, "tool": NAME, "directory": DIR, "agent": WHO, "arguments": {…}}
;;
;; or, since JSON takes Emacs longer to read than all else that it does with
;; a large text,
;;
;;   {"version": 2, …, "texts": [[KEY, N], …]}
;;
;; and behind that line the N bytes of the argument KEY, a text in UTF-8, and
;; so on.  Each piece that comes over a socket is garbage, so that Emacs
;; collects while a text of a megabyte comes in.  Therefore, in
;;
;;   {"version": 3, …, "texts": [[KEY, N], …], "file": FILE}
;;
;; FILE names a file beside the socket that has these bytes.  Emacs removes
;; it once it has read it.  If it cannot, since the socket that the caller
;; sees is a link or comes from another machine, it says
;;
;;   {"send": "texts"}
;;
;; and the caller sends them over the socket.  It reads lines of JSON: any
;; number of
;;
;;   {"progress": {"decided": N, "total": M}}
;;
;; while the user decides, then one
;;
;;   {"answer": TEXT, "error": true or false}
;;
;; after which Emacs closes the connection.  A caller that closes it earlier
;; no longer wants the answer, and its review is cancelled.  A refusal by
;; the user is an answer like any other; an error is what is no decision.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-message)
(require 'agent-q-diff-schema)
(require 'agent-q-diff-review)
(require 'agent-q-diff-progress)
(require 'agent-q-diff-reviews)
(require 'agent-q-diff-session)
(require 'agent-q-diff-tools)

(defcustom agent-q-diff-server-socket nil
  "Name of the socket that `agent-q-diff-serve' opens, or nil for the usual one.
That is agent-q-diff/socket in the directory that the environment
variable XDG_RUNTIME_DIR names, or in ~/.cache if there is none.  The
program agent-q-diff-mcp looks there by itself, and needs the option
--socket for any other."
  :type '(choice (const :tag "The usual one" nil) file)
  :group 'agent-q-diff)

(defconst agent-q-diff-server--versions '(1 2 3)
  "Versions of what is said over the socket.
Since the second, texts can follow the line; since the third, a file can
have them.")

(defconst agent-q-diff-server--limit (* 256 1024 1024)
  "Number of bytes that a request may have.
Two texts of 20 MB have 40 to 80 as JSON; Emacs must not be filled by a
caller that never ends its line.")

(defconst agent-q-diff-server--backlog 64
  "Number of calls that can wait to be accepted while Emacs is busy.")

(defvar agent-q-diff-server--process nil
  "The listening process, or nil.")

(defvar agent-q-diff-server--clients nil
  "Connections that are open.")

;;;; Answering

(defun agent-q-diff-server--clean (text)
  "Return TEXT with what JSON cannot say, raw bytes and surrogates, replaced."
  (replace-regexp-in-string "[\ud800-\udfff\x3fff80-\x3fffff]" "\ufffd" text t t))

(defun agent-q-diff-server--send (client object)
  "Send OBJECT as a line of JSON to CLIENT, if that is still there."
  (when (process-live-p client)
    (let ((line (concat (json-serialize object) "\n")))
      ;; Who has gone needs no line.
      (ignore-errors
        (process-send-string client (if (multibyte-string-p line)
                                        (encode-coding-string line 'utf-8-unix)
                                      line))))))

(defun agent-q-diff-server--answer (client text is-error)
  "Answer CLIENT with TEXT and close the connection.
IS-ERROR says that it is about a failure of the call."
  (agent-q-diff-server--send
   client `((answer . ,(agent-q-diff-server--clean text))
            (error . ,(if is-error t :false))))
  (delete-process client))

(defun agent-q-diff-server--fail (client err)
  "Tell CLIENT of ERR, an error as `condition-case' binds it."
  (agent-q-diff-server--answer
   client (agent-q-diff-message-of-failure err) t))

(defun agent-q-diff-server--answer-result (client result)
  "Answer CLIENT with RESULT, that of a review."
  (agent-q-diff-server--answer
   client (plist-get result :message)
   (not (memq (plist-get result :status) '(accepted partial rejected)))))

(defun agent-q-diff-server--send-progress (client total _applied _rejected pending)
  "Tell CLIENT how many of TOTAL hunks are not PENDING."
  (agent-q-diff-server--send
   client `((progress . ((decided . ,(- total pending)) (total . ,total))))))

;;;; Calls

(defun agent-q-diff-server--review (client tool arguments)
  "Begin the review that CLIENT asks for by TOOL with ARGUMENTS, a hash table."
  (let ((review (agent-q-diff-tools-review
                 tool (agent-q-diff-schema-arguments tool arguments)
                 (apply-partially #'agent-q-diff-server--answer-result client))))
    (cond
     ((or (null review) (agent-q-diff-review-outcome review)))
     ((process-live-p client)
      (with-current-buffer (agent-q-diff-review-buffer review)
        (add-hook 'agent-q-diff-progress-functions
                  (apply-partially #'agent-q-diff-server--send-progress client)
                  nil t)
        (agent-q-diff-progress-refresh)))
     (t (agent-q-diff-cancel review)))))

(defun agent-q-diff-server--call (client tool arguments)
  "Call TOOL with ARGUMENTS, a hash table, and answer CLIENT."
  (cond
   ((agent-q-diff-schema-proposal-p tool)
    (agent-q-diff-server--review client tool arguments))
   ((stringp tool)
    (agent-q-diff-tools-call-async
     tool arguments
     (lambda (message)
       ;; How the messages of failures begin is part of the interface.
       (agent-q-diff-server--answer client message
                                    (string-prefix-p "Error" message)))))
   (t (signal 'agent-q-diff-bad-arguments '("the tool must be a string")))))

(defun agent-q-diff-server--directory (directory)
  "Return DIRECTORY, against which a caller's paths are meant, if it is one.
It must be local: even to look at a remote one could open a connection."
  (unless (and (stringp directory)
               (not (file-remote-p directory))
               (file-name-absolute-p directory)
               (file-directory-p directory))
    (signal 'agent-q-diff-bad-arguments
            '("the caller's directory is no local directory")))
  (file-name-as-directory directory))

(defun agent-q-diff-server--agent (name)
  "Return NAME, which a caller gives itself, as one can show it, or nil.
It is shown beside what the user decides by, so that it must not look like
anything else."
  (when (stringp name)
    (truncate-string-to-width
     (replace-regexp-in-string "[^[:alnum:] ._/()-]" "?" name) 40)))

(defun agent-q-diff-server--serve (client request)
  "Do what REQUEST, a hash table, asks for, and see that CLIENT is answered."
  (let* ((default-directory (agent-q-diff-server--directory
                             (gethash "directory" request)))
         (agent-q-diff-project-root (or agent-q-diff-project-root
                                        default-directory))
         (agent-q-diff-caller (cons (agent-q-diff-server--agent
                                     (gethash "agent" request))
                                    client))
         (arguments (gethash "arguments" request)))
    (unless (hash-table-p arguments)
      (signal 'agent-q-diff-bad-arguments '("the arguments must be an object")))
    (agent-q-diff-server--call client (gethash "tool" request) arguments)))

;;;; Connections

(defconst agent-q-diff-server--read-max (* 1024 1024)
  "Number of bytes that are read at once while a request comes in.
By default these are 4096 in Emacs before 30, and a filter call for each
so many of 40 MB takes longer than all that is done with them.")

(defvar agent-q-diff-server--read-max-before nil
  "What `read-process-output-max' was before a request came in, or nil.")

(defun agent-q-diff-server--read-much ()
  "Read more at once than usually, until the request is there."
  (when (< read-process-output-max agent-q-diff-server--read-max)
    (setq agent-q-diff-server--read-max-before read-process-output-max
          read-process-output-max agent-q-diff-server--read-max)))

(defun agent-q-diff-server--read-as-before ()
  "Read as much at once as before, unless another request still comes in.
What the user has set meanwhile stays."
  (when (and agent-q-diff-server--read-max-before
             (seq-every-p (lambda (client) (process-get client 'is-asked))
                          agent-q-diff-server--clients))
    (when (= read-process-output-max agent-q-diff-server--read-max)
      (setq read-process-output-max agent-q-diff-server--read-max-before))
    (setq agent-q-diff-server--read-max-before nil)))

(defun agent-q-diff-server--check-version (request)
  "Return REQUEST, or signal that it is of a version that is not known here."
  (unless (member (gethash "version" request) agent-q-diff-server--versions)
    (signal 'agent-q-diff-bad-arguments
            '("agent-q-diff-mcp and agent-q-diff in Emacs are of different \
versions; build the one, or load the other, anew")))
  request)

(defun agent-q-diff-server--parse (line)
  "Return the request in LINE, a unibyte string, as a hash table."
  (let ((request (condition-case err
                     (json-parse-string (decode-coding-string line 'utf-8-unix))
                   (error (error-message-string err)))))
    (if (hash-table-p request)
        (agent-q-diff-server--check-version request)
      (signal 'agent-q-diff-bad-arguments
              (list (format "the request is not an object in JSON and UTF-8: %s"
                            (if (stringp request) request "something else")))))))

(defun agent-q-diff-server--filter (client bytes)
  "Add BYTES to what CLIENT has said; if that is all, do what it asks for.
Bytes are decoded when all are there, so that no character is cut in two."
  (unless (process-get client 'is-asked)
    (condition-case err
        (agent-q-diff-base-collecting-once
          (let ((request (agent-q-diff-server--hear client bytes)))
            (when request
              (process-put client 'is-asked t)
              (process-put client 'parts nil)
              (agent-q-diff-server--read-as-before)
              (agent-q-diff-server--serve client request))))
      ((error quit)
       (process-put client 'is-asked t)
       (agent-q-diff-server--fail client err)))))

(defun agent-q-diff-server--hear (client bytes)
  "Add BYTES to what CLIENT has said, and return its request if that is whole.
Signal an error if it cannot be one."
  (let ((end (and (not (process-get client 'request))
                  (string-search "\n" bytes))))
    (agent-q-diff-server--keep client (if end (substring bytes 0 end) bytes))
    (when end
      (let ((request (agent-q-diff-server--parse
                      (agent-q-diff-server--kept client))))
        (process-put client 'request request)
        (process-put client 'n-bytes (agent-q-diff-server--n-bytes request))
        (agent-q-diff-server--keep client (substring bytes (1+ end)))))
    (or (and end (agent-q-diff-server--with-file client))
        (when (and (process-get client 'request)
                   (>= (process-get client 'size) (process-get client 'n-bytes)))
          (agent-q-diff-server--with-texts
           (process-get client 'request)
           (apply-partially #'substring (agent-q-diff-server--kept client)))))))

(defun agent-q-diff-server--keep (client bytes)
  "Keep BYTES, which CLIENT has said, unless they are too many with the others."
  (let ((size (+ (length bytes) (or (process-get client 'size) 0))))
    (when (> (+ size (or (process-get client 'n-line) 0)) agent-q-diff-server--limit)
      (agent-q-diff-server--refuse-size))
    (process-put client 'size size)
    (process-put client 'parts (cons bytes (process-get client 'parts)))))

(defun agent-q-diff-server--refuse-size ()
  "Signal that a request is too large."
  (signal 'agent-q-diff-bad-arguments
          (list (format "the request has more than %d bytes"
                        agent-q-diff-server--limit))))

(defun agent-q-diff-server--kept (client)
  "Return what was kept of what CLIENT has said, and keep it no longer."
  (prog1 (apply #'concat (nreverse (process-get client 'parts)))
    (process-put client 'n-line (process-get client 'size))
    (process-put client 'parts nil)
    (process-put client 'size 0)))

(defun agent-q-diff-server--n-bytes (request)
  "Return the number of bytes of the texts that follow the line of REQUEST.
Signal an error if they cannot be."
  (let ((texts (gethash "texts" request [])))
    (unless (and (vectorp texts)
                 (seq-every-p (lambda (text)
                                (and (vectorp text) (= 2 (length text))
                                     (stringp (aref text 0)) (natnump (aref text 1))))
                              texts)
                 (hash-table-p (gethash "arguments" request)))
      (signal 'agent-q-diff-bad-arguments
              '("the arguments must be an object, and the texts pairs of key and length")))
    (let ((n-bytes (apply #'+ (mapcar (lambda (text) (aref text 1)) texts))))
      (when (> n-bytes agent-q-diff-server--limit)
        (agent-q-diff-server--refuse-size))
      n-bytes)))

(defun agent-q-diff-server--with-texts (request cut)
  "Return REQUEST, with the texts that came behind its line among its arguments.
CUT is a function that returns their bytes from one position, counted from
0, up to another."
  (let ((at 0))
    (seq-doseq (entry (gethash "texts" request []))
      (let* ((end (+ at (aref entry 1)))
             (own (funcall cut at end))
             ;; A text in ASCII is not copied.
             (text (decode-coding-string own 'utf-8-unix t)))
        ;; A byte that is no text takes two.
        (unless (= (string-bytes text) (length own))
          (signal 'agent-q-diff-bad-arguments
                  (list (format "the text of %s is not UTF-8" (aref entry 0)))))
        (puthash (aref entry 0) text (gethash "arguments" request))
        (setq at end)))
    request))

;;;; Texts in a file

(defun agent-q-diff-server--file-regexp (socket)
  "Return what matches the names of files with texts for SOCKET.
They have no directory; the program has them from there too."
  (rx-to-string `(seq bos ,(file-name-nondirectory socket)
                      "-texts-" (+ digit) "-" (+ digit) eos)
                t))

(defun agent-q-diff-server--with-file (client)
  "Return the request of CLIENT with the texts of the file that it names.
Return nil if it names none, or if that cannot be; then CLIENT is asked to
send them."
  (let* ((request (process-get client 'request))
         (name (gethash "file" request))
         ;; Nothing but a plain file of this machine is meant.
         (file-name-handler-alist nil))
    (when name
      (let* ((n-bytes (process-get client 'n-bytes))
             (file (agent-q-diff-server--file name n-bytes)))
        (or (and file (agent-q-diff-server--read-file request file n-bytes))
            (progn
              (agent-q-diff-server--send client '((send . "texts")))
              nil))))))

(defun agent-q-diff-server--file (name n-bytes)
  "Return the absolute name of the file NAME with texts of N-BYTES, or nil.
It must be a plain file beside the socket that only the user can read."
  (let* ((socket (process-get agent-q-diff-server--process 'socket))
         (file (and (stringp name)
                    (string-match-p (agent-q-diff-server--file-regexp socket) name)
                    (concat (file-name-directory socket) name)))
         (attributes (and file (file-attributes file 'integer))))
    (and attributes
         (equal "-rw-------" (file-attribute-modes attributes))
         (= (user-uid) (file-attribute-user-id attributes))
         (= n-bytes (file-attribute-size attributes))
         file)))

(defun agent-q-diff-server--read-file (request file n-bytes)
  "Return REQUEST with the texts in FILE, which has N-BYTES, and remove FILE.
Return nil if it cannot be read."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (when (ignore-error file-error
            (unwind-protect
                (= n-bytes (cadr (insert-file-contents-literally file nil 0 n-bytes)))
              (delete-file file)))
      (agent-q-diff-server--with-texts
       request
       (lambda (from to)
         (buffer-substring (+ (point-min) from) (+ (point-min) to)))))))

(defun agent-q-diff-server--remove-files (socket)
  "Remove files with texts for SOCKET, on which nobody listens.
A program that was killed leaves one behind."
  (dolist (file (directory-files (file-name-directory socket) t
                                 (agent-q-diff-server--file-regexp socket) t))
    (delete-file file)))

(defun agent-q-diff-server--sentinel (client _event)
  "Forget CLIENT if it has gone, and take back what it asked for."
  (unless (process-live-p client)
    (setq agent-q-diff-server--clients (delq client agent-q-diff-server--clients))
    (process-put client 'parts nil)
    (agent-q-diff-server--read-as-before)
    (agent-q-diff-tools-withdraw client)))

(defun agent-q-diff-server--accepted (_server client _message)
  "Note that CLIENT has connected."
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
                           ;; After su or over ssh it may name another's, or none.
                           (if (and runtime (file-accessible-directory-p runtime)
                                    (file-writable-p runtime))
                               runtime
                             "~/.cache"))))))

(defun agent-q-diff-server--ensure-private (directory)
  "Create DIRECTORY if it is missing; refuse one that others can reach."
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
  "Return non-nil if somebody listens on SOCKET."
  (condition-case nil
      (progn
        (delete-process (make-network-process :name "agent-q-diff-probe"
                                              :family 'local :service socket
                                              :noquery t))
        t)
    (file-error nil)))

(defun agent-q-diff-server--clear (socket)
  "Remove SOCKET if nobody listens on it any more."
  (when-let ((attributes (file-attributes socket)))
    (unless (string-prefix-p "s" (file-attribute-modes attributes))
      (user-error "%s is there, and is no socket" socket))
    (when (agent-q-diff-server--listened-p socket)
      (user-error "Another Emacs serves at %s; stop it there, \
or set `agent-q-diff-server-socket'" socket))
    (delete-file socket)))

(defun agent-q-diff-server--listen (socket)
  "Return a process that listens on SOCKET, a file that does not exist."
  (with-file-modes #o600
    (make-network-process :name "agent-q-diff-server"
                          :family 'local :service socket
                          :server agent-q-diff-server--backlog
                          :coding 'binary :noquery t
                          :filter #'agent-q-diff-server--filter
                          :sentinel #'agent-q-diff-server--sentinel
                          :log #'agent-q-diff-server--accepted)))

(defun agent-q-diff-server--inode (socket)
  "Return a number that another file of the name SOCKET would not have."
  (file-attribute-inode-number (file-attributes socket)))

;;;###autoload
(defun agent-q-diff-serve ()
  "Let the user's MCP clients ask for reviews in this Emacs.
They do so through the program agent-q-diff-mcp, which `make mcp' builds.
Return the name of the socket that is open until
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
      (agent-q-diff-server--remove-files socket)
      (let ((process (agent-q-diff-server--listen socket)))
        (process-put process 'socket socket)
        (process-put process 'inode (agent-q-diff-server--inode socket))
        (setq agent-q-diff-server--process process)))
    ;; Late, so that callers of reviews that end with Emacs read why.
    (add-hook 'kill-emacs-hook #'agent-q-diff-serve-stop 90))
  (let ((socket (process-get agent-q-diff-server--process 'socket)))
    (message "Reviews for MCP clients are served at %s"
             (abbreviate-file-name socket))
    socket))

(defun agent-q-diff-serve-stop (&optional by-key)
  "Stop serving MCP clients: close the socket, cancel what they asked for.
BY-KEY tells that a person called, who is told whether any were served."
  (interactive (list t))
  (when by-key
    (message (if agent-q-diff-server--process
                 "MCP clients are served no more"
               "No MCP clients were served")))
  (remove-hook 'kill-emacs-hook #'agent-q-diff-serve-stop)
  ;; Closing the connections cancels their reviews, but no client asked for that.
  (dolist (review (agent-q-diff-open-reviews))
    (when (memq (agent-q-diff-review-caller review) agent-q-diff-server--clients)
      (setf (agent-q-diff-review-is-abandoned review) t)))
  (dolist (client agent-q-diff-server--clients)
    (agent-q-diff-server--answer
     client "Error: there is no decision: Emacs has stopped serving" t))
  (when-let ((process agent-q-diff-server--process))
    (let ((socket (process-get process 'socket)))
      (delete-process process)
      ;; Somebody else may have put another one there.
      (when (and (file-exists-p socket)
                 (equal (process-get process 'inode)
                        (agent-q-diff-server--inode socket)))
        (delete-file socket)))
    (setq agent-q-diff-server--process nil)))

(provide 'agent-q-diff-server)
;;; agent-q-diff-server.el ends here
