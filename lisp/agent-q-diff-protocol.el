;;; agent-q-diff-protocol.el --- The protocol of the socket for MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One connection is one call.  The caller writes one line of JSON,
;;
;;   {"version": 1, "tool": NAME, "directory": DIR, "agent": WHO, "arguments": {…}}
;;
;; The names of files in the arguments are relative to DIR.  That is also the
;; root of the project, unless the line has another one, "root": ROOT.  With
;; "timeout": N, the caller says that it waits for N seconds.
;;
;; Since Emacs takes longer to parse JSON than for everything else that it
;; does with a large text, the line can also be
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
;; other calls get one
;;
;;   {"answer": TEXT, "error": true or false, "result": {…}}
;;
;; where "result" is there if a review ended (see agent-q-diff-structured.el),
;; after which Emacs closes the connection.  If the caller closes it earlier,
;; it no longer wants the answer, and its review is cancelled.  A rejection
;; by the user is an answer like any other; "error" is true if there is no
;; decision.
;;
;; Emacs can only send by waiting until there is room in the buffer of the
;; socket, which is for good if the caller is suspended.  Therefore, after its
;; request, the caller sends one byte, whatever it is, for each 1024 bytes that
;; it has read, and Emacs sends no more than surely fits into the buffer.  Of
;; progress that does not fit, only the latest is sent later; a long answer is
;; sent piece by piece.  A caller that reads none of it for a minute is dropped.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)

(defconst agent-q-diff-protocol--versions '(1 2 3)
  "Versions of the protocol that are understood.
In version 2, texts can follow the line; in version 3, they can be in a file.")

(defconst agent-q-diff-protocol--limit (* 256 1024 1024)
  "Maximum number of bytes of a request.
Two texts of 20 MB take 40 to 80 MB as JSON.  A caller that never ends its
line must not fill Emacs's memory.")

;;;; Sending

(defun agent-q-diff-protocol-clean (text)
  "Return TEXT with raw bytes and surrogates, which JSON cannot have, replaced."
  (replace-regexp-in-string "[\ud800-\udfff\x3fff80-\x3fffff]" "\ufffd" text t t))

(defconst agent-q-diff-protocol--unit 1024
  "Number of bytes that a caller acknowledges by sending one byte.")

(defconst agent-q-diff-protocol--progress-room 4096
  "Maximum number of bytes of progress that a caller has not acknowledged.
On GNU/Linux even short lines take 768 bytes of the buffer, so these take up
to a third of it.")

(defconst agent-q-diff-protocol--answer-room
  (if (eq system-type 'gnu/linux) 32768 6144)
  "Maximum number of bytes in all that a caller has not acknowledged.
The buffer has 212992 bytes on GNU/Linux, and 8192 on macOS.")

(defconst agent-q-diff-protocol--tick-seconds 5
  "Seconds between two looks at whether a caller goes on reading its answer.")

(defvar agent-q-diff-protocol--patience 12
  "Number of looks after which a caller that does not go on reading is dropped.
They are counted, since Emacs itself may have been suspended meanwhile.")

(defun agent-q-diff-protocol-send (client object)
  "Send OBJECT, which is no answer, as a line of JSON to CLIENT.
This never waits for CLIENT.  If there is no room, the line is sent once
CLIENT has read more, unless another one has taken its place by then."
  (let ((inhibit-quit t))
    (unless (process-get client 'is-answered)
      (process-put client 'next (agent-q-diff-protocol--line object))
      (agent-q-diff-protocol--send-more client))))

(defun agent-q-diff-protocol-answer (client object)
  "Send OBJECT as a line of JSON to CLIENT, and then close the connection.
This never waits for CLIENT and cannot be quit.  Only the first answer is
sent."
  (let ((inhibit-quit t))
    (unless (process-get client 'is-answered)
      (process-put client 'next (agent-q-diff-protocol--line object))
      (process-put client 'is-answered t)
      (agent-q-diff-protocol--send-more client)
      (when (process-live-p client)
        (agent-q-diff-protocol--look-later client 0)))))

(defun agent-q-diff-protocol-unsent-p (client)
  "Return non-nil if CLIENT was to get an answer that is not sent, or in part."
  (and (process-get client 'is-answered)
       (not (process-get client 'is-sent))))

(defun agent-q-diff-protocol-acknowledge (client bytes)
  "Go on sending to CLIENT, which has sent BYTES since it has read."
  (process-put client 'unread
               (max 0 (- (or (process-get client 'unread) 0)
                         (* agent-q-diff-protocol--unit (length bytes)))))
  (process-put client 'looks 0)
  (agent-q-diff-protocol--send-more client))

(defun agent-q-diff-protocol--line (object)
  "Return OBJECT as a line of JSON, bytes."
  (let ((line (concat (json-serialize object) "\n")))
    (if (multibyte-string-p line)
        (encode-coding-string line 'utf-8-unix)
      line)))

(defun agent-q-diff-protocol--send-more (client)
  "Send to CLIENT what there is room for.
When that is the rest of the answer, close the connection."
  (let (bytes)
    (while (and (process-live-p client)
                (setq bytes (agent-q-diff-protocol--next-bytes client)))
      (condition-case nil
          (process-send-string client bytes)
        ;; It has closed the connection just now.
        (error (delete-process client)))))
  (when (and (process-live-p client)
             (process-get client 'is-answered)
             (not (process-get client 'line)))
    (process-put client 'is-sent t)
    (delete-process client)))

(defun agent-q-diff-protocol--next-bytes (client)
  "Remove and return what is to be sent to CLIENT next, as far as there is room.
Return nil if there is nothing or no room."
  (unless (process-get client 'line)
    (process-put client 'line (process-get client 'next))
    (process-put client 'next nil)
    (process-put client 'start 0))
  (let* ((line (process-get client 'line))
         (start (process-get client 'start))
         (unread (or (process-get client 'unread) 0))
         (room (- (if (process-get client 'is-answered)
                      agent-q-diff-protocol--answer-room
                    agent-q-diff-protocol--progress-room)
                  unread))
         (end (min (length line) (+ start room))))
    (when (< start end)
      (process-put client 'start end)
      (when (= end (length line))
        (process-put client 'line nil))
      (process-put client 'unread (+ unread (- end start)))
      (substring line start end))))

(defun agent-q-diff-protocol--look-later (client n)
  "See later whether CLIENT has read more; N times it had not."
  (process-put client 'looks n)
  (run-at-time agent-q-diff-protocol--tick-seconds nil
               #'agent-q-diff-protocol--look client))

(defun agent-q-diff-protocol--look (client)
  "Drop CLIENT if it has not gone on reading its answer for too long."
  (when (process-live-p client)
    (let ((looks (1+ (process-get client 'looks))))
      (if (< looks agent-q-diff-protocol--patience)
          (agent-q-diff-protocol--look-later client looks)
        (delete-process client)))))

;;;; Reading a request

(defun agent-q-diff-protocol-hear (client bytes)
  "Add BYTES to the input from CLIENT; return its request once it is complete.
Signal an error if it is not a request."
  (let ((end (and (not (process-get client 'request))
                  (string-search "\n" bytes))))
    (agent-q-diff-protocol--keep client (if end (substring bytes 0 end) bytes))
    (when end
      (let ((request (agent-q-diff-protocol--parse
                      (agent-q-diff-protocol--kept client))))
        (process-put client 'request request)
        (process-put client 'n-bytes (agent-q-diff-protocol--n-bytes request))
        (agent-q-diff-protocol--keep client (substring bytes (1+ end)))))
    (or (and end (agent-q-diff-protocol--with-file client))
        (when (and (process-get client 'request)
                   (>= (process-get client 'size) (process-get client 'n-bytes)))
          (agent-q-diff-protocol--with-texts
           (process-get client 'request)
           (apply-partially #'substring (agent-q-diff-protocol--kept client)))))))

(defun agent-q-diff-protocol--keep (client bytes)
  "Add BYTES to the pending input from CLIENT, or signal that it is too large."
  (let ((size (+ (length bytes) (or (process-get client 'size) 0))))
    (when (> (+ size (or (process-get client 'n-line) 0)) agent-q-diff-protocol--limit)
      (agent-q-diff-protocol--refuse-size))
    (process-put client 'size size)
    (process-put client 'parts (cons bytes (process-get client 'parts)))))

(defun agent-q-diff-protocol--refuse-size ()
  "Signal that a request is too large."
  (signal 'agent-q-diff-bad-arguments
          (list (format "the request has more than %d bytes"
                        agent-q-diff-protocol--limit))))

(defun agent-q-diff-protocol--kept (client)
  "Return the pending input from CLIENT, and clear it."
  (prog1 (apply #'concat (nreverse (process-get client 'parts)))
    (process-put client 'n-line (process-get client 'size))
    (process-put client 'parts nil)
    (process-put client 'size 0)))

(defun agent-q-diff-protocol--parse (line)
  "Return the request in LINE, a unibyte string, as a hash table."
  (let ((request (condition-case err
                     (json-parse-string (decode-coding-string line 'utf-8-unix))
                   (error (agent-q-diff-protocol--why (error-message-string err))))))
    (unless (hash-table-p request)
      (signal 'agent-q-diff-bad-arguments
              (list (format "the request is not an object in JSON and UTF-8: %s"
                            (if (stringp request) request "something else")))))
    (unless (member (gethash "version" request) agent-q-diff-protocol--versions)
      (signal 'agent-q-diff-bad-arguments
              '("the program agent-q-diff and its Lisp code are of different \
versions; rebuild the one or reload the other")))
    request))

(defun agent-q-diff-protocol--why (message)
  "Return MESSAGE, of an error in parsing JSON, for an agent."
  (if (string-search "JSON_ALLOW_NUL" message)
      "it has the character U+0000, which this Emacs cannot read"
    message))

(defun agent-q-diff-protocol--n-bytes (request)
  "Return the number of bytes of the texts that follow the line of REQUEST.
Signal an error if they are not described correctly."
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
      (when (> n-bytes agent-q-diff-protocol--limit)
        (agent-q-diff-protocol--refuse-size))
      n-bytes)))

(defun agent-q-diff-protocol--with-texts (request cut)
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
          (signal 'agent-q-diff-bad-arguments
                  (list (format "the text of %s is not UTF-8" (aref entry 0)))))
        (puthash (aref entry 0) text (gethash "arguments" request))
        (setq at end)))
    request))

;;;; Texts in a file

(defun agent-q-diff-protocol--file-regexp (socket)
  "Return a regexp for the names of files with texts for SOCKET.
It matches names without directory.  The program names its files so."
  (rx-to-string `(seq bos ,(file-name-nondirectory socket)
                      "-texts-" (+ digit) "-" (+ digit) eos)
                t))

(defun agent-q-diff-protocol--with-file (client)
  "Return the request of CLIENT with the texts of the file that it names.
If it names no file, return nil.  If the file cannot be read, ask CLIENT to
send the texts, and return nil."
  (let* ((request (process-get client 'request))
         (name (gethash "file" request))
         ;; Only a plain file on this machine is acceptable.
         (file-name-handler-alist nil))
    (when name
      (let* ((n-bytes (process-get client 'n-bytes))
             (file (agent-q-diff-protocol--file (process-get client 'socket) name n-bytes)))
        (or (and file (agent-q-diff-protocol--read-file request file n-bytes))
            (progn
              (agent-q-diff-protocol-send client '((send . "texts")))
              nil))))))

(defun agent-q-diff-protocol--file (socket name n-bytes)
  "Return the absolute name of the file NAME with texts of N-BYTES, or nil.
It must be a plain file in the directory of SOCKET that only the user can
read."
  (let* ((file (and (stringp name)
                    (string-match-p (agent-q-diff-protocol--file-regexp socket) name)
                    (concat (file-name-directory socket) name)))
         (attributes (and file (file-attributes file 'integer))))
    (and attributes
         (equal "-rw-------" (file-attribute-modes attributes))
         (= (user-uid) (file-attribute-user-id attributes))
         (= n-bytes (file-attribute-size attributes))
         file)))

(defun agent-q-diff-protocol--read-file (request file n-bytes)
  "Return REQUEST with the texts in FILE, N-BYTES in all, and remove FILE.
Return nil if it cannot be read."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (when (ignore-error file-error
            (unwind-protect
                (= n-bytes (cadr (insert-file-contents-literally file nil 0 n-bytes)))
              (delete-file file)))
      (agent-q-diff-protocol--with-texts
       request
       (lambda (from to)
         (buffer-substring (+ (point-min) from) (+ (point-min) to)))))))

(defun agent-q-diff-protocol-remove-files (socket)
  "Remove files with texts for SOCKET, at which nobody listens.
A program that was killed leaves such a file behind."
  (dolist (file (directory-files (file-name-directory socket) t
                                 (agent-q-diff-protocol--file-regexp socket) t))
    (delete-file file)))

(provide 'agent-q-diff-protocol)
;;; agent-q-diff-protocol.el ends here
