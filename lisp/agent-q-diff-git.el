;;; agent-q-diff-git.el --- Git's ids of a file's text  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The "index" line of git's diffs names the text that a diff was made
;; from.  If the target has that text, the line numbers of the diff are
;; certain.

;;; Code:

(require 'seq)
(require 'agent-q-diff-file)
(require 'agent-q-diff-coding)

(defun agent-q-diff-git-blob-ids (buffer)
  "Return the ids by which git may know the text of BUFFER, hexadecimal strings.
Git's id of a file is the hash of \"blob LENGTH\", a NUL character and the
file's bytes: SHA-1, or SHA-256 in a repository that uses it.  The bytes
are those that saving BUFFER would write and, if it is not modified, those
of its file.  Git may store CRLF line ends as LF (core.autocrlf), so that
is tried, too.  An empty text also gets the id of all zeros, by which git
means that there is no file."
  (agent-q-diff-git--ids
   (delq nil (list (with-current-buffer buffer
                     (agent-q-diff-coding-buffer-bytes (agent-q-diff-coding-of-buffer)))
                   (agent-q-diff-git--file-bytes buffer)))))

(defun agent-q-diff-git-file-ids (name)
  "Return the ids by which git may know the text of the file NAME.
They are as for `agent-q-diff-git-blob-ids'; nil if there is no such file."
  (and (agent-q-diff-file-regular-p name)
       (ignore-errors
         (agent-q-diff-git--ids (list (agent-q-diff-file-bytes name))))))

(defun agent-q-diff-git--ids (texts)
  "Return the ids by which git may know any of TEXTS, unibyte strings."
  (let ((texts (seq-uniq (mapcan (lambda (bytes)
                                   (list bytes (string-replace "\r\n" "\n" bytes)))
                                 texts))))
    (append
     (and (equal texts '("")) (list (make-string 64 ?0)))
     (mapcan (lambda (bytes)
               (let ((object (concat (format "blob %d\0" (length bytes)) bytes)))
                 (list (secure-hash 'sha1 object) (secure-hash 'sha256 object))))
             texts))))

(defun agent-q-diff-git--file-bytes (buffer)
  "Return the bytes of the file of BUFFER, or nil if they are not its text.
In some coding systems one text can be encoded in several ways, so the
bytes of the file may differ from what saving would write."
  (with-current-buffer buffer
    (when (and buffer-file-name
               (not buffer-file-format)
               (not (buffer-modified-p))
               (verify-visited-file-modtime buffer)
               (agent-q-diff-file-regular-p buffer-file-name))
      (agent-q-diff-file-bytes buffer-file-name))))

(provide 'agent-q-diff-git)
;;; agent-q-diff-git.el ends here
