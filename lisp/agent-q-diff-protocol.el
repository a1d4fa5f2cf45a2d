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
;; waits for the answer to a question), then one
;;
;;   {"answer": TEXT, "error": true or false, "result": {…}}
;;
;; where "result" is there if a review ended (see agent-q-diff-structured.el),
;; after which Emacs closes the connection.  If the caller closes it earlier,
;; it no longer wants the answer, and its review is cancelled.  A rejection
;; by the user is an answer like any other; "error" is true if there is no
;; decision.

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

(defun agent-q-diff-protocol-send (client object)
  "Send OBJECT as a line of JSON to CLIENT if it is still connected."
  (when (process-live-p client)
    (let ((line (concat (json-serialize object) "\n")))
      ;; It may have closed the connection just now.
      (ignore-errors
        (process-send-string client (if (multibyte-string-p line)
                                        (encode-coding-string line 'utf-8-unix)
                                      line))))))

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
    (if (hash-table-p request)
        (agent-q-diff-protocol--check-version request)
      (signal 'agent-q-diff-bad-arguments
              (list (format "the request is not an object in JSON and UTF-8: %s"
                            (if (stringp request) request "something else")))))))

(defun agent-q-diff-protocol--why (message)
  "Return MESSAGE, of an error in parsing JSON, for an agent."
  (if (string-search "JSON_ALLOW_NUL" message)
      "it has the character U+0000, which this Emacs cannot read"
    message))

(defun agent-q-diff-protocol--check-version (request)
  "Return REQUEST, or signal that its protocol version is not supported."
  (unless (member (gethash "version" request) agent-q-diff-protocol--versions)
    (signal 'agent-q-diff-bad-arguments
            '("the program agent-q-diff and its Lisp code are of different \
versions; rebuild the one or reload the other")))
  request)

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
