;;; agent-q-diff-server.el --- Connector for MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `agent-q-diff-serve' opens a Unix socket, through which the program
;; agent-q-diff requests reviews.  Only the user's own programs can
;; reach it: it is in a directory of mode 0700 that belongs to the user.
;;
;; One connection is one call.  The caller writes one line of JSON,
;;
;;   {"version": 1, "tool": NAME, "directory": DIR, "agent": WHO, "arguments": {…}}
;;
;; The names of files in the arguments are relative to DIR.  That is also the
;; root of the project, unless the line has another one, "root": ROOT.  With
;; "timeout": N, the caller says that it waits for N seconds.
;;
;; Since parsing JSON takes Emacs longer than everything else that it does with
;; a large text, the line can also be
;;
;;   {"version": 2, …, "texts": [[KEY, N], …]}
;;
;; Then the N bytes of the argument KEY, a text in UTF-8, follow that line, and
;; so on for each KEY.  Each piece that comes over a socket is garbage, so
;; Emacs collects while a text of a megabyte comes in.  Therefore, in
;;
;;   {"version": 3, …, "texts": [[KEY, N], …], "file": FILE}
;;
;; FILE is the name of a file in the socket's directory that has these bytes.
;; Emacs removes it after reading it.  If Emacs cannot read it, since the
;; caller's socket is a link or forwarded from another machine, it answers
;;
;;   {"send": "texts"}
;;
;; and the caller sends the bytes over the socket.  Then the caller reads
;; lines of JSON: any number of
;;
;;   {"progress": {"decided": N, "total": M}}
;;
;; while the user decides (M is 0 if there are no hunks to count, since the call
;; waits for the answer to a question) and, if the call asks for its turn to
;; change files (see agent-q-diff-own-tool.el),
;;
;;   {"turn": "at once"}, or {"turn": "waited"}
;;
;; when that has come; it lasts until the caller closes the connection.  All
;; other calls, also `turn_ended' (see below), get one
;;
;;   {"answer": TEXT, "error": true or false, "result": {…}}
;;
;; after which Emacs closes the connection.  "result" is there if a review
;; ended; the program's `outputSchema' says what its properties mean.  If the
;; caller closes the connection earlier, it no longer wants the answer, and its
;; review is cancelled.  A rejection by the user is an answer like any other;
;; "error" is true if there is no decision.
;;
;; When an agent's turn has ended, the program calls `turn_ended' with the
;; session, and can_go_on, true if the agent can be told something and go on.  It
;; is answered at once, unless the agent is to wait for a review: then it gets
;; progress, and is answered when that has ended.  The answer is empty: what the
;; agent is to be told, the program takes from the project.  It waits for 5
;; seconds if there is neither answer nor progress.
;;
;; When Emacs sends, it blocks until there is room in the buffer of the socket:
;; forever, if the caller is suspended.  Therefore, after its request, the caller
;; acknowledges every 1024 bytes that it has read by sending one byte, of any
;; value, and Emacs sends only what certainly fits into the buffer.  Of progress
;; that does not fit, only the latest is sent later; a long answer is sent piece
;; by piece.  A caller that reads none of it for a minute is dropped.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-message)
(require 'agent-q-diff-tools)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-result)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-changes)
(require 'agent-q-diff-turns)
(require 'agent-q-diff-own-tool)
(require 'agent-q-diff-own-agent)
(require 'agent-q-diff-doctor)

(defcustom agent-q-diff-server-socket nil
  "Name of the socket that `agent-q-diff-serve' opens, or nil for the usual one.
That is agent-q-diff/socket in the directory that the environment variable
XDG_RUNTIME_DIR names, or in ~/.cache if there is none.  The program
agent-q-diff looks there without being told, and needs the option
--socket for any other."
  :type '(choice (const :tag "The usual one" nil) file)
  :group 'agent-q-diff-agents)

;;;; The protocol

(defconst agent-q-diff-server--versions '(1 2 3)
  "Versions of the protocol that are understood.
In version 2, texts can follow the line; in version 3, they can be in a file.")

(defconst agent-q-diff-server--limit (* 256 1024 1024)
  "Maximum number of bytes of a request.
Two texts of 20 MB take 40 to 80 MB as JSON.  A caller that never ends its
line must not fill Emacs's memory.")

;;;; Sending

(defconst agent-q-diff-server--unit 1024
  "Number of bytes that a caller acknowledges by sending one byte.")

(defconst agent-q-diff-server--progress-room 4096
  "Maximum number of bytes of progress that a caller has not acknowledged.
On GNU/Linux even short lines take 768 bytes of the buffer, so these take up
to a third of it.")

(defconst agent-q-diff-server--answer-room
  (if (eq system-type 'gnu/linux) 32768 6144)
  "Maximum number of bytes in all that a caller has not acknowledged.
The buffer has 212992 bytes on GNU/Linux, and 8192 on macOS.")

(defconst agent-q-diff-server--tick-seconds 5
  "Seconds between checks whether a caller is still reading its answer.")

(defvar agent-q-diff-server--patience 12
  "Number of checks after which a caller that has stopped reading is dropped.
They are counted, since Emacs itself may have been suspended meanwhile.")

(defun agent-q-diff-server--send (client object)
  "Send OBJECT, which is no answer, as a line of JSON to CLIENT.
This never waits for CLIENT.  If there is no room, the line is sent once
CLIENT has read more, unless another one has taken its place by then."
  (let ((inhibit-quit t))
    (unless (process-get client 'is-answered)
      (process-put client 'next (agent-q-diff-server--line object))
      (agent-q-diff-server--send-more client))))

(defun agent-q-diff-server--send-answer (client object)
  "Send OBJECT as a line of JSON to CLIENT, and then close the connection.
This never waits for CLIENT and cannot be quit.  Only the first answer is
sent."
  (let ((inhibit-quit t))
    (unless (process-get client 'is-answered)
      (process-put client 'next (agent-q-diff-server--line object))
      (process-put client 'is-answered t)
      (agent-q-diff-server--send-more client)
      (when (process-live-p client)
        (agent-q-diff-server--look-later client 0)))))

(defun agent-q-diff-server--acknowledge (client bytes)
  "Continue sending to CLIENT, which acknowledged more by sending BYTES."
  (process-put client 'unread
               (max 0 (- (or (process-get client 'unread) 0)
                         (* agent-q-diff-server--unit (length bytes)))))
  (process-put client 'looks 0)
  (agent-q-diff-server--send-more client))

(defun agent-q-diff-server--line (object)
  "Return OBJECT as a line of JSON, bytes."
  (let ((line (concat (json-serialize object) "\n")))
    (if (multibyte-string-p line)
        (encode-coding-string line 'utf-8-unix)
      line)))

(defun agent-q-diff-server--send-more (client)
  "Send as much to CLIENT as there is room for.
When that is the rest of the answer, close the connection."
  (let (bytes)
    (while (and (process-live-p client)
                (setq bytes (agent-q-diff-server--next-bytes client)))
      (condition-case nil
          (process-send-string client bytes)
        ;; It has closed the connection just now.
        (error (delete-process client)))))
  (when (and (process-live-p client)
             (process-get client 'is-answered)
             (not (process-get client 'line)))
    (process-put client 'is-sent t)
    (delete-process client)))

(defun agent-q-diff-server--next-bytes (client)
  "Remove and return the next piece for CLIENT, as long as there is room.
Return nil if there is nothing or no room."
  (unless (process-get client 'line)
    (process-put client 'line (process-get client 'next))
    (process-put client 'next nil)
    (process-put client 'start 0))
  (let* ((line (process-get client 'line))
         (start (process-get client 'start))
         (unread (or (process-get client 'unread) 0))
         (room (- (if (process-get client 'is-answered)
                      agent-q-diff-server--answer-room
                    agent-q-diff-server--progress-room)
                  unread))
         (end (min (length line) (+ start room))))
    (when (< start end)
      (process-put client 'start end)
      (when (= end (length line))
        (process-put client 'line nil))
      (process-put client 'unread (+ unread (- end start)))
      (substring line start end))))

(defun agent-q-diff-server--look-later (client n)
  "Check later whether CLIENT has read more; so far it had not N times."
  (process-put client 'looks n)
  (run-at-time agent-q-diff-server--tick-seconds nil
               #'agent-q-diff-server--look client))

(defun agent-q-diff-server--look (client)
  "Drop CLIENT if it has not gone on reading its answer for too long."
  (when (process-live-p client)
    (let ((looks (1+ (process-get client 'looks))))
      (if (< looks agent-q-diff-server--patience)
          (agent-q-diff-server--look-later client looks)
        (delete-process client)))))

;;;; Reading a request

(defun agent-q-diff-server--hear (client bytes)
  "Add BYTES to the input from CLIENT; return its request once it is complete.
Signal an error if it is not a request."
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
  "Add BYTES to the pending input from CLIENT, or signal that it is too large."
  (let ((size (+ (length bytes) (or (process-get client 'size) 0))))
    (when (> (+ size (or (process-get client 'n-line) 0)) agent-q-diff-server--limit)
      (agent-q-diff-server--refuse-size))
    (process-put client 'size size)
    (process-put client 'parts (cons bytes (process-get client 'parts)))))

(defun agent-q-diff-server--refuse-size ()
  "Signal that a request is too large."
  (agent-q-diff-base-refuse "the request has more than %d bytes" agent-q-diff-server--limit))

(defun agent-q-diff-server--kept (client)
  "Return the pending input from CLIENT, and clear it."
  (prog1 (apply #'concat (nreverse (process-get client 'parts)))
    (process-put client 'n-line (process-get client 'size))
    (process-put client 'parts nil)
    (process-put client 'size 0)))

(defun agent-q-diff-server--parse (line)
  "Return the request in LINE, a unibyte string, as a hash table."
  (let ((request (condition-case err
                     (json-parse-string (decode-coding-string line 'utf-8-unix))
                   (error (if (string-search "JSON_ALLOW_NUL" (error-message-string err))
                              "it has the character U+0000, which this Emacs cannot read"
                            (error-message-string err))))))
    (unless (hash-table-p request)
      (agent-q-diff-base-refuse "the request is not an object in JSON and UTF-8: %s"
                                (if (stringp request) request "something else")))
    (unless (member (gethash "version" request) agent-q-diff-server--versions)
      (agent-q-diff-base-refuse "the program agent-q-diff and its Lisp code are of different \
versions; rebuild the one or reload the other"))
    request))

(defun agent-q-diff-server--n-bytes (request)
  "Return the number of bytes of the texts that follow the line of REQUEST.
Signal an error if they are not described correctly."
  (let ((texts (gethash "texts" request [])))
    (unless (and (vectorp texts)
                 (seq-every-p (lambda (text)
                                (and (vectorp text) (= 2 (length text))
                                     (stringp (aref text 0)) (natnump (aref text 1))))
                              texts)
                 (hash-table-p (gethash "arguments" request)))
      (agent-q-diff-base-refuse
       "the arguments must be an object, and the texts pairs of key and length"))
    (let ((n-bytes (apply #'+ (mapcar (lambda (text) (aref text 1)) texts))))
      (when (> n-bytes agent-q-diff-server--limit)
        (agent-q-diff-server--refuse-size))
      n-bytes)))

(defun agent-q-diff-server--with-texts (request cut)
  "Return REQUEST with the texts after its line added to its arguments.
CUT is a function that returns their bytes between two positions, counted
from 0."
  (let ((at 0))
    (seq-doseq (entry (gethash "texts" request []))
      (let* ((end (+ at (aref entry 1)))
             (own (funcall cut at end))
             ;; ASCII text is not copied.
             (text (decode-coding-string own 'utf-8-unix t)))
        ;; A byte that is not part of a character takes two bytes.
        (unless (= (string-bytes text) (length own))
          (agent-q-diff-base-refuse "the text of %s is not UTF-8" (aref entry 0)))
        (puthash (aref entry 0) text (gethash "arguments" request))
        (setq at end)))
    request))

;;;; Texts in a file

(defun agent-q-diff-server--file-regexp (socket)
  "Return a regexp for the names of files with texts for SOCKET.
It matches names without directory.  The program names its files so."
  (rx-to-string `(seq bos ,(file-name-nondirectory socket)
                      "-texts-" (+ digit) "-" (+ digit) eos)
                t))

(defun agent-q-diff-server--with-file (client)
  "Return the request of CLIENT with the texts of the file that it names.
If it names no file, return nil.  If the file cannot be read, ask CLIENT to
send the texts, and return nil."
  (let* ((request (process-get client 'request))
         (name (gethash "file" request))
         ;; Only a plain file on this machine is acceptable.
         (file-name-handler-alist nil))
    (when name
      (let* ((n-bytes (process-get client 'n-bytes))
             (file (agent-q-diff-server--file (process-get client 'socket) name n-bytes)))
        (or (and file (agent-q-diff-server--read-file request file n-bytes))
            (progn
              (agent-q-diff-server--send client '((send . "texts")))
              nil))))))

(defun agent-q-diff-server--file (socket name n-bytes)
  "Return the absolute name of the file NAME with texts of N-BYTES, or nil.
It must be a plain file in the directory of SOCKET that only the user can
read."
  (let* ((file (and (stringp name)
                    (string-match-p (agent-q-diff-server--file-regexp socket) name)
                    (concat (file-name-directory socket) name)))
         (attributes (and file (file-attributes file 'integer))))
    (and attributes
         (equal "-rw-------" (file-attribute-modes attributes))
         (= (user-uid) (file-attribute-user-id attributes))
         (= n-bytes (file-attribute-size attributes))
         file)))

(defun agent-q-diff-server--read-file (request file n-bytes)
  "Return REQUEST with the texts in FILE, N-BYTES in all, and remove FILE.
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
  "Remove the files with texts for SOCKET, on which nobody listens.
A program that was killed leaves such a file behind."
  (dolist (file (directory-files (file-name-directory socket) t
                                 (agent-q-diff-server--file-regexp socket) t))
    (delete-file file)))

;;;; The result as JSON

(defconst agent-q-diff-server--structured-max-hunks 200
  "Maximum number of hunks that are listed, for clients that show all to a model.")

(defun agent-q-diff-server--structured-given (key text)
  "Return a list with the property KEY, which is TEXT, or nil if TEXT is nil."
  (and text (list (cons key (agent-q-diff-base-clean text)))))

(defun agent-q-diff-server--structured-true (value)
  "Return VALUE, a Lisp boolean, as one of JSON."
  (if value t :false))

(defun agent-q-diff-server--structured-counts (result)
  "Return the properties with the numbers of hunks in RESULT."
  (cl-loop for (key property) in '((:total total) (:in-file in_file)
                                   (:rejected rejected) (:pending pending))
           when (plist-get result key)
           collect (cons property (plist-get result key))))

(defun agent-q-diff-server--structured-hunk (hunk)
  "Return HUNK, the result of a single hunk, as an object."
  `((,@(if (plist-get hunk :operation)
           `(operation . ,(symbol-name (plist-get hunk :operation)))
         `(hunk . ,(1+ (plist-get hunk :index)))))
    (decision . ,(pcase (plist-get hunk :state)
                   ('applied "accepted")
                   ('rejected "rejected")
                   (_ "none")))
    (in_file . ,(agent-q-diff-server--structured-true (plist-get hunk :in-file)))
    ,@(and (plist-get hunk :was-in) '((was_in_file . t)))
    ,@(and (plist-get hunk :decided-by) '((by_rule . t)))
    ,@(agent-q-diff-server--structured-given 'comment (plist-get hunk :comment))
    ,@(agent-q-diff-server--structured-given 'reason (plist-get hunk :reason))
    ,@(agent-q-diff-server--structured-given 'edited (plist-get hunk :edited))))

(defun agent-q-diff-server--structured-file (file has-hunks)
  "Return FILE, the result for one file, as an object.
HAS-HUNKS is non-nil if its hunks are listed."
  `((path . ,(agent-q-diff-base-clean (plist-get file :path)))
    ,@(agent-q-diff-server--structured-given 'kind (plist-get file :kind))
    ,@(and (plist-get file :old-path)
           (not (equal (plist-get file :old-path) (plist-get file :path)))
           (agent-q-diff-server--structured-given 'old_path (plist-get file :old-path)))
    ,@(agent-q-diff-server--structured-counts file)
    ,@(and (plist-member file :saved)
           `((saved . ,(agent-q-diff-server--structured-true (plist-get file :saved)))))
    ,@(and has-hunks
           `((hunks . ,(vconcat
                        (mapcar #'agent-q-diff-server--structured-hunk
                                (append
                                 (seq-filter (lambda (hunk) (plist-get hunk :operation))
                                             (plist-get file :hunks))
                                 (agent-q-diff-message-files-lines file)))))))))

(defun agent-q-diff-server--structured (result)
  "Return RESULT of a review as an object for `json-serialize', an alist.
The message and the texts of files are left out.  RESULT is as for
`agent-q-diff-review' or `agent-q-diff-review-change'."
  (let ((has-hunks (<= (or (plist-get result :total) 0) agent-q-diff-server--structured-max-hunks)))
    `((status . ,(symbol-name (plist-get result :status)))
      ,@(agent-q-diff-server--structured-given 'comment (plist-get result :comment))
      ,@(agent-q-diff-server--structured-given 'reason (plist-get result :reason))
      ,@(agent-q-diff-server--structured-counts result)
      ,@(and (plist-get result :total)
             `((files . ,(vconcat
                          (mapcar (lambda (file)
                                    (agent-q-diff-server--structured-file file has-hunks))
                                  (or (plist-get result :files) (list result))))))))))

(defconst agent-q-diff-server--backlog 64
  "Number of connections that can wait to be accepted while Emacs is busy.")

(defvar agent-q-diff-server--process nil
  "The listening process, or nil.")

(defun agent-q-diff-server-serving ()
  "Return the name of the socket at which this Emacs serves, or nil."
  (and (process-live-p agent-q-diff-server--process)
       (process-get agent-q-diff-server--process 'socket)))

(defvar agent-q-diff-server-last-call nil
  "The last call that was served, (TIME AGENT TOOL), or nil.")

(defun agent-q-diff-server-state (program)
  "Return what is found in this Emacs, as from `agent-q-diff-doctor-text'.
PROGRAM is as there."
  (agent-q-diff-doctor-text (agent-q-diff-server-serving) agent-q-diff-server-last-call program))

(defvar agent-q-diff-server--clients nil
  "Connections that are open.")

;;;; Answering

(defun agent-q-diff-server--answer (client text is-error &optional result)
  "Answer CLIENT with TEXT and close the connection.
IS-ERROR is non-nil if TEXT is about a failure of the call.  RESULT is the
same for programs, an alist, or nil."
  (unless (process-get client 'text)
    (process-put client 'text text))
  (agent-q-diff-server--send-answer
   client `((answer . ,(agent-q-diff-base-clean text))
            (error . ,(if is-error t :false))
            ,@(and result `((result . ,result))))))

(defun agent-q-diff-server--say-unread (client)
  "Tell the user that CLIENT is gone and has not read all of its answer."
  (agent-q-diff-base-warn
   (agent-q-diff-visible
    (format "%s did not read the answer to its call, so it does not know this: %s"
            (or (process-get client 'agent) "An agent")
            (agent-q-diff-server--unread-words client)))))

(defun agent-q-diff-server--knows-p (client)
  "Return non-nil if the agent of CLIENT knows without its answer what is in that.
Its own tool has told it so, if that has written all that was proposed."
  (let ((request (process-get client 'request)))
    (and (hash-table-p request)
         (equal "check_edit" (gethash "tool" request))
         (string-match-p "\\`✓ Accepted: [^\n]*\\'" (process-get client 'text)))))

(defun agent-q-diff-server--unread-words (client)
  "Return a summary of the answer to CLIENT: its review's, or the first line."
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

(defun agent-q-diff-server--answer-result (client result)
  "Answer CLIENT with RESULT, the result of a review."
  (agent-q-diff-server--answer
   client (plist-get result :message)
   (not (memq (plist-get result :status) '(accepted partial rejected)))
   (agent-q-diff-server--structured result)))

(defun agent-q-diff-server--send-progress (client total _applied _rejected pending)
  "Tell CLIENT how many of TOTAL hunks are decided, that is, not PENDING."
  (agent-q-diff-server--send
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
   ((agent-q-diff-tools-proposal-p tool)
    (agent-q-diff-server--follow
     client
     (agent-q-diff-tools-propose
      tool (agent-q-diff-tools-arguments tool arguments)
      (apply-partially #'agent-q-diff-server--answer-result client))))
   ((equal tool "ping")
    (agent-q-diff-server--answer client (agent-q-diff-server-state (gethash "version" arguments))
                                 nil))
   ((equal tool "review_changes")
    (agent-q-diff-server--review-changes client (eq t (gethash "wait" arguments))))
   ((equal tool "session_went_on")
    (agent-q-diff-own-agent-went-on (agent-q-diff-call-agent agent-q-diff-call)
                                    (gethash "session" arguments))
    (agent-q-diff-pending-command-ended (agent-q-diff-call-agent agent-q-diff-call)
                                        (gethash "session" arguments))
    (when-let ((root (agent-q-diff-reviewed-root-of default-directory)))
      ;; The hook reads it next.
      (with-demoted-errors "agent-q-diff: %S"
        (agent-q-diff-changes-carry-out root)
        (agent-q-diff-told-queue-again root)))
    (agent-q-diff-server--answer client "" nil))
   ((equal tool "turn_ended")
    (agent-q-diff-own-agent-went-on (agent-q-diff-call-agent agent-q-diff-call)
                                    (gethash "session" arguments))
    (agent-q-diff-pending-command-ended (agent-q-diff-call-agent agent-q-diff-call)
                                        (gethash "session" arguments) nil 'is-unknown)
    (agent-q-diff-server--turn-ended client (eq t (gethash "can_go_on" arguments))))
   ((equal tool "comments_answered")
    (let ((default-directory (or (agent-q-diff-reviewed-root-of default-directory)
                                 default-directory)))
      (agent-q-diff-told-note-answered (append (gethash "ids" arguments) nil)
                                       (agent-q-diff-call-agent agent-q-diff-call)))
    (agent-q-diff-server--answer client "" nil))
   ((equal tool "take_turn")
    ;; That a tool is called means that earlier ones have run, except for an agent
    ;; that calls several at once.
    (unless (equal "opencode" (agent-q-diff-call-agent agent-q-diff-call))
      (agent-q-diff-own-agent-went-on (agent-q-diff-call-agent agent-q-diff-call)
                                      (gethash "session" arguments)
                                      (gethash "call" arguments)))
    (agent-q-diff-own-tool-take-turn
     arguments (lambda (has-waited)
                 (agent-q-diff-server--send
                  client `((turn . ,(if has-waited "waited" "at once")))))))
   ((equal tool "shell_writes")
    (agent-q-diff-own-agent-shell-writes
     arguments (apply-partially #'agent-q-diff-server--answer client)))
   ((equal tool "shell_wrote")
    (agent-q-diff-pending-command-ended (agent-q-diff-call-agent agent-q-diff-call)
                                        (gethash "session" arguments)
                                        (gethash "call" arguments))
    (agent-q-diff-server--answer client "" nil))
   ((equal tool "call_failed")
    (agent-q-diff-own-agent-failed (gethash "call" arguments))
    (agent-q-diff-server--answer client "" nil))
   ((member tool '("decide_edit" "decide_patch"))
    (agent-q-diff-server--follow
     client (funcall (if (equal tool "decide_edit")
                         #'agent-q-diff-own-tool-decide
                       #'agent-q-diff-own-tool-decide-patch)
                     arguments (apply-partially #'agent-q-diff-server--answer client))))
   ((member tool '("write_decided" "not_run" "check_edit"))
    (agent-q-diff-server--answer client (agent-q-diff-server--decided tool arguments) nil))
   ((stringp tool)
    ;; It waits for its turn or for the user; Emacs has received it.
    (agent-q-diff-server--send-progress client 0 0 0 0)
    (agent-q-diff-tools-call-async
     tool arguments
     (lambda (message)
       ;; Messages about failures begin like this; that is part of the
       ;; interface.
       (agent-q-diff-server--answer client message
                                    (string-prefix-p "Error" message)))))
   (t (agent-q-diff-base-refuse "the tool must be a string"))))

(defun agent-q-diff-server--review-changes (client is-waiting)
  "Open the review of what was written in the project of `default-directory'.
Answer CLIENT at once, or if IS-WAITING is non-nil, when it ends."
  (pcase-let* ((answer (lambda (result)
                         ;; That something is undecided is an answer.
                         (agent-q-diff-server--answer
                          client (plist-get result :message)
                          (eq 'error (plist-get result :status))
                          (agent-q-diff-server--structured result))))
               ;; The review does not end with the connection: it is the user's.
               (agent-q-diff-call (agent-q-diff-call-with 'caller nil))
               (`(,_ ,review ,notes)
                (if is-waiting
                    (agent-q-diff-changes-begin default-directory nil answer client)
                  (agent-q-diff-changes-begin default-directory nil))))
    (cond
     ((and review (agent-q-diff-session-outcome review))
      (unless is-waiting
        (funcall answer (agent-q-diff-session-result review))))
     ((and review is-waiting) (agent-q-diff-server--follow client review))
     (t (agent-q-diff-server--answer
         client
         (string-join (if review
                          (cons (format "%s open for review in Emacs"
                                        (agent-q-diff-changes-review-words review))
                                notes)
                        notes)
                      "; ")
         nil)))))

(defun agent-q-diff-server--turn-ended (client can-go-on)
  "Show what is pending now that the agent of CLIENT has ended its turn.
CLIENT is answered at once, unless its agent waits for a review, and CAN-GO-ON
is non-nil."
  (let* ((agent-q-diff-stop-waits (and can-go-on agent-q-diff-stop-waits))
         (agent (agent-q-diff-call-agent agent-q-diff-call))
         ;; The review does not end with the connection: it is the user's.
         (agent-q-diff-call (agent-q-diff-call-with 'caller nil 'agent nil))
         (review (agent-q-diff-turns-ended
                  default-directory (or agent "An agent")
                  (lambda (text)
                    (agent-q-diff-server--answer client text nil)))))
    (when review
      (agent-q-diff-server--follow client review))))

(defun agent-q-diff-server--decided (tool arguments)
  "Carry out TOOL, a request after a decision, and return its message.
ARGUMENTS is a hash table with the call that was decided."
  (when (equal tool "check_edit")
    (agent-q-diff-own-agent-say-run-after-all (gethash "call" arguments)))
  (let ((edit (agent-q-diff-own-agent-take (gethash "call" arguments))))
    (pcase-exhaustive tool
      ("write_decided" (agent-q-diff-own-tool-write edit))
      ("check_edit" (agent-q-diff-own-tool-check edit arguments))
      ("not_run" (when edit
                   (agent-q-diff-own-tool-not-run edit))
                 ""))))

(defun agent-q-diff-server--directory (directory)
  "Return DIRECTORY, a caller's directory or root, or signal an error.
It must be an existing local directory: accessing a remote one could open a
connection."
  (unless (and (stringp directory)
               (not (agent-q-diff-visible-path-flaw directory))
               (file-name-absolute-p directory)
               (agent-q-diff-visible-path-plain directory "/")
               (file-directory-p directory))
    (agent-q-diff-base-refuse "the caller's directory is not a local directory"))
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
          (let ((default-directory (or (agent-q-diff-call-root agent-q-diff-call) default-directory)))
            (agent-q-diff-tools-request tool name nil)))))
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
  "Return the root of the project of REQUEST, a hash table.
The user's option takes precedence.  Tools resolve relative names against the
root, so if that of REQUEST is not its directory, its names are made absolute."
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
      (agent-q-diff-base-refuse "the arguments must be an object"))
    (unless (or (null timeout) (and (numberp timeout) (<= 0 timeout)))
      (agent-q-diff-base-refuse "the timeout must be a number of seconds"))
    (process-put client 'timeout timeout)
    (process-put client 'agent (agent-q-diff-server--agent (gethash "agent" request)))
    (let* ((default-directory (agent-q-diff-server--directory
                               (gethash "directory" request)))
           (agent-q-diff-call
            (agent-q-diff-call-make :agent (process-get client 'agent) :caller client
                                    :root (agent-q-diff-server--root request))))
      (agent-q-diff-server--check-names (gethash "tool" request) arguments)
      (unless (equal "ping" (gethash "tool" request))
        (setq agent-q-diff-server-last-call
              (list (current-time) (process-get client 'agent) (gethash "tool" request))))
      (agent-q-diff-server--call client (gethash "tool" request) arguments))))

;;;; Connections

(defconst agent-q-diff-server--read-max (* 1024 1024)
  "Number of bytes to read at once while a request comes in.
Before Emacs 30 the default is 4096, and calling the filter so often for
40 MB takes longer than everything else that is done with them.")

(defvar agent-q-diff-server--read-max-before nil
  "The value of `read-process-output-max' before a request came in, or nil.")

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
      (agent-q-diff-server--acknowledge client bytes)
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
       (agent-q-diff-server--answer client (agent-q-diff-message-of-failure err) t)))))

(defun agent-q-diff-server--sentinel (client _event)
  "Forget CLIENT once it has disconnected, and withdraw its call soon."
  (unless (process-live-p client)
    (setq agent-q-diff-server--clients (delq client agent-q-diff-server--clients))
    (process-put client 'parts nil)
    (agent-q-diff-server--read-as-before)
    (when (and (process-get client 'is-answered) (not (process-get client 'is-sent))
               (not (agent-q-diff-server--knows-p client)))
      (agent-q-diff-server--say-unread client))
    (agent-q-diff-tools-later (lambda () (agent-q-diff-tools-withdraw client)))))

(defun agent-q-diff-server--accepted (_server client _message)
  "Set up CLIENT, which has connected."
  (set-process-query-on-exit-flag client nil)
  (push client agent-q-diff-server--clients)
  ;; Until its request is complete.
  (when (< read-process-output-max agent-q-diff-server--read-max)
    (setq agent-q-diff-server--read-max-before read-process-output-max
          read-process-output-max agent-q-diff-server--read-max)))

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
it is %s of the user %s.  Change that, or set `agent-q-diff-server-socket'"
                  directory (file-attribute-modes attributes)
                  (file-attribute-user-id attributes)))))

(defun agent-q-diff-server--listened-p (socket)
  "Return non-nil if some process listens on SOCKET."
  (condition-case nil
      (progn
        (delete-process (make-network-process :name "agent-q-diff-probe"
                                              :family 'local :service socket
                                              :noquery t))
        t)
    (file-error nil)))

(defun agent-q-diff-server--clear (socket)
  "Remove SOCKET if no process listens on it any more."
  (when-let ((attributes (file-attributes socket)))
    (unless (string-prefix-p "s" (file-attribute-modes attributes))
      (user-error "%s is there, and is no socket; remove it, \
or set `agent-q-diff-server-socket'" socket))
    (when (agent-q-diff-server--listened-p socket)
      (signal 'agent-q-diff-served
              (list (format "Another Emacs serves MCP clients, at %s.  To have their reviews \
here, call agent-q-diff-serve-stop there, and then M-x agent-q-diff-serve here"
                            (abbreviate-file-name socket)))))
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

(defun agent-q-diff-server-open ()
  "Open the socket, unless it is open, and return its name.
If that is impossible, signal an error that says what to do."
  (unless (featurep 'make-network-process '(:family local))
    (user-error "This system has no Unix sockets"))
  (unless (fboundp 'json-parse-string)
    (user-error "This Emacs was built without JSON; use another one"))
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
    ;; Late, so that callers of reviews that end with Emacs learn why.
    (add-hook 'kill-emacs-hook #'agent-q-diff-serve-stop 90))
  (agent-q-diff-server-serving))

;;;###autoload
(defun agent-q-diff-serve (&optional by-key)
  "Let the user's MCP clients request reviews in this Emacs.
They do so through the program agent-q-diff, which `make mcp' builds.
Return the name of the socket, which is open until
`agent-q-diff-serve-stop' or the end of Emacs.

If it cannot be opened, for example since another Emacs has it open, say so
and return nil, so that the rest of an init file is loaded.  BY-KEY is non-nil
if a user called this, for whom that is an error."
  (interactive (list t))
  (condition-case err
      (let ((socket (agent-q-diff-server-open)))
        (message "Reviews for MCP clients are served at %s"
                 (abbreviate-file-name socket))
        socket)
    (error
     (let ((why (agent-q-diff-error-text err)))
       (ignore
        (cond
         (by-key (user-error "%s" why))
         ;; That is an ordinary day with two Emacs, of which one shows the reviews.
         ((eq (car err) 'agent-q-diff-served) (message "%s" why))
         (t (agent-q-diff-base-warn
             (format "MCP clients cannot request reviews in this Emacs: %s" why)))))))))

(defun agent-q-diff-server--stopped (client)
  "Return the message to CLIENT that it is no longer served.
If its review has put hunks into a file, the message says which."
  (let* ((review (seq-find (lambda (review)
                             (eq client (agent-q-diff-session-caller review)))
                           (agent-q-diff-open-reviews)))
         (change (and review (agent-q-diff-session-change review)))
         (said "Error: there is no decision: Emacs has stopped serving"))
    (if (and change
             (not (agent-q-diff-change-is-detached change))
             (< 0 (agent-q-diff-change-in-target change)))
        ;; Closing the connection ends it.
        (cl-letf (((agent-q-diff-session-outcome review) 'abandoned))
          (agent-q-diff-message-of-remains (agent-q-diff-result-of review) said))
      said)))

(defconst agent-q-diff-server--last-seconds 1
  "Seconds for which clients can read long answers when Emacs stops serving.")

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
  (let ((end (time-add nil agent-q-diff-server--last-seconds)))
    (while (and agent-q-diff-server--clients (time-less-p nil end))
      (accept-process-output nil 0.01)))
  (mapc #'delete-process (copy-sequence agent-q-diff-server--clients))
  (agent-q-diff-tools-withdraw-gone)
  nil)

(provide 'agent-q-diff-server)
;;; agent-q-diff-server.el ends here
