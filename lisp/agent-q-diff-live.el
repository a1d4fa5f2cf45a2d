;;; agent-q-diff-live.el --- What a file holds now  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The live text of a file is that of the buffer that visits it, including
;; unsaved edits.  If none does, the file is read without being visited: no
;; mode, no local variables, no hooks.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)

(cl-defstruct (agent-q-diff-live (:constructor agent-q-diff-live--make)
                                 (:copier nil))
  "The text that a file has now, or that its buffer has."
  (name nil :documentation "Absolute name of the file, resolved.")
  (buffer nil :documentation "The buffer that visits it, or nil.")
  (text nil :documentation "The text, a string; unibyte if it is bytes.")
  (coding nil :documentation "The coding system of the text.")
  (bytes nil :documentation "The bytes of the file, if no buffer visits it.")
  (attributes nil :documentation "`agent-q-diff-disk-attributes' just before it was read.")
  (written nil :documentation "The file's identity after it was written, or nil.")
  (tick nil :documentation "The buffer's tick when its text was taken."))

;;;; Reading

(defun agent-q-diff-live--read-file (name attributes)
  "Return the live text of the file NAME, which no buffer visits.
ATTRIBUTES are from `file-attributes'."
  (pcase-let* ((`(,bytes . ,stated)
                (agent-q-diff-base-with-work-buffer
                  (set-buffer-multibyte nil)
                  (agent-q-diff-file-check-regular name)
                  (insert-file-contents-literally name)
                  (cons (buffer-string) (agent-q-diff-coding-stated name))))
               (`(,text . ,coding) (agent-q-diff-coding-decode name stated bytes)))
    (agent-q-diff-live--make :name name :bytes bytes
                             :attributes (agent-q-diff-disk-attributes-among attributes)
                             :text text :coding coding)))

(defun agent-q-diff-live--buffer-bytes (name text)
  "Return TEXT as bytes; it is that of a buffer which visits NAME as bytes.
Each character must be one byte, so that positions stay the same."
  (let ((bytes (encode-coding-string text 'no-conversion)))
    (unless (= (length bytes) (length text))
      (agent-q-diff-file-refuse
       "%s is visited as bytes, but its buffer holds characters, too" name))
    bytes))

(defun agent-q-diff-live--read-buffer (name buffer)
  "Return the live text of the file NAME in BUFFER, which visits it."
  (let ((text (agent-q-diff-text-in buffer))
        (coding (with-current-buffer buffer
                  (agent-q-diff-coding-of-buffer))))
    (agent-q-diff-live--make
     :name name :buffer buffer :coding coding
     :tick (agent-q-diff-base-tick buffer)
     :text (if (eq (coding-system-type coding) 'raw-text)
               (agent-q-diff-live--buffer-bytes name text)
             text))))

(defun agent-q-diff-live-read (name)
  "Return the live text of the file NAME, an `agent-q-diff-live', or nil.
NAME is absolute.  The value is nil if there is neither such a file nor a
buffer that visits it.  A buffer without unsaved edits is brought up to
date with its file first; if that is impossible, the file is refused."
  (agent-q-diff-file-uncached
    (agent-q-diff-file-clean-up)
    (let* ((attributes (file-attributes name))
           (buffer (agent-q-diff-disk-visitor name attributes)))
      (cond
       (buffer
        (agent-q-diff-disk-check-visits buffer name)
        (agent-q-diff-disk-watch buffer)
        (when-let ((message (agent-q-diff-disk-message
                             buffer (agent-q-diff-disk-sync buffer))))
          (agent-q-diff-file-refuse "%s" message))
        (agent-q-diff-live--read-buffer name buffer))
       ((file-exists-p name)
        (agent-q-diff-live--read-file name attributes))))))

(defun agent-q-diff-live-same-p (live)
  "Return non-nil if reading the file of LIVE again would give the same.
A file whose attributes are unchanged is not read for that; before it is
written, its bytes are compared anyway."
  (agent-q-diff-file-uncached
    (let* ((name (agent-q-diff-live-name live))
           (buffer (agent-q-diff-live-buffer live))
           (attributes (file-attributes name)))
      (and (eq buffer (agent-q-diff-disk-visitor name attributes))
           (if buffer
               (and (null (agent-q-diff-disk-state buffer))
                    (eql (agent-q-diff-live-tick live)
                         (agent-q-diff-base-tick buffer))
                    (eq (agent-q-diff-live-coding live)
                        (with-current-buffer buffer
                          (agent-q-diff-coding-of-buffer))))
             (and attributes
                  (or (equal (agent-q-diff-disk-attributes-among attributes)
                             (agent-q-diff-live-attributes live))
                      (agent-q-diff-file-has-bytes-p
                       name (agent-q-diff-live-bytes live)))))))))

(defun agent-q-diff-live-unsaved-p (live)
  "Return non-nil if the user has unsaved edits in LIVE."
  (and (agent-q-diff-live-buffer live)
       (agent-q-diff-disk-unsaved-p (agent-q-diff-live-buffer live))))

;;;; Encoding

(defun agent-q-diff-live-write-coding (live)
  "Return the coding system in which LIVE will be written.
If none is decided, as for text that was all ASCII, it is UTF-8."
  (let ((coding (agent-q-diff-live-coding live)))
    (if (eq (coding-system-type coding) 'undecided)
        (coding-system-change-text-conversion coding 'utf-8)
      coding)))

(defun agent-q-diff-live--bytes-p (live)
  "Return non-nil if the text of LIVE is bytes, not characters."
  (eq (coding-system-type (agent-q-diff-live-coding live)) 'raw-text))

(defun agent-q-diff-live-adapt (live string)
  "Return STRING, an agent's, as it would be in the text of LIVE.
If Emacs keeps CRLF or CR line ends out of that text, they become LF in
STRING.  If the text is bytes, the value is STRING as UTF-8 bytes."
  (let ((lines (pcase (coding-system-eol-type (agent-q-diff-live-coding live))
                 (1 (string-replace "\r\n" "\n" string))
                 (2 (replace-regexp-in-string "\r\n?" "\n" string t t))
                 (_ string))))
    (if (and (multibyte-string-p lines) (agent-q-diff-live--bytes-p live))
        (encode-coding-string lines 'utf-8-emacs-unix)
      lines)))

(defun agent-q-diff-live-utf-8-p (live)
  "Return non-nil if LIVE has the same bytes in its file as in memory.
The same holds after an edit."
  (and (agent-q-diff-live-bytes live)
       (agent-q-diff-coding-utf-8-p (agent-q-diff-live-bytes live)
                                    (agent-q-diff-live-text live)
                                    (agent-q-diff-live-write-coding live))))

;;;; Hashes

(defun agent-q-diff-live-hash-before (live hashes)
  "Return the hash of LIVE; see `agent-q-diff-live-hash'.
HASHES is what `agent-q-diff-engine-replace' returns for the text of LIVE.
If the file has the same bytes, the hash is taken from there instead of
being computed again."
  (if (and hashes (agent-q-diff-live-utf-8-p live))
      (car hashes)
    (agent-q-diff-live-hash live)))

(defun agent-q-diff-live-hash-after (live hashes)
  "Return a hash of the bytes that the file of LIVE has now.
HASHES is as for `agent-q-diff-live-hash-before'; the hash of the new text
is taken from there if nobody has written the file since."
  (let ((name (agent-q-diff-live-name live)))
    (if (and hashes
             (agent-q-diff-live-written live)
             (equal (agent-q-diff-live-written live)
                    (agent-q-diff-live-identity name)))
        (cdr hashes)
      (agent-q-diff-live--hash-of-file name))))

(defun agent-q-diff-live-identity (name)
  "Return attributes of the file NAME that change when it is written.
They do not change when it is renamed."
  (pcase (agent-q-diff-disk-attributes name)
    (`(,size ,modified ,_ ,inode) (list size modified inode))))

(defun agent-q-diff-live-hash (live)
  "Return a hash of the bytes that LIVE has, or would have, in its file."
  (or (agent-q-diff-live--hash-of-text live)
      (agent-q-diff-live--hash-of-bytes live)))

(defun agent-q-diff-live--hash-of-text (live)
  "Return a hash of LIVE by its text in memory, or nil if its bytes differ."
  (let ((text (agent-q-diff-live-text live))
        (coding (agent-q-diff-live-write-coding live)))
    (and (multibyte-string-p text)
         (if (agent-q-diff-live-bytes live)
             (agent-q-diff-live-utf-8-p live)
           (and (eq 0 (coding-system-eol-type coding))
                (eq 'utf-8 (coding-system-base coding))))
         (agent-q-diff-engine-hash text))))

(defun agent-q-diff-live--hash-of-bytes (live)
  "Return a hash of LIVE by its bytes, whatever its coding system."
  (secure-hash 'sha256 (or (agent-q-diff-live-bytes live)
                           (encode-coding-string (agent-q-diff-live-text live)
                                                 (agent-q-diff-live-coding live)))))

(defun agent-q-diff-live--hash-of-file (name)
  "Return a hash of the bytes that the file NAME, or its buffer, has now."
  (if-let ((buffer (agent-q-diff-disk-visitor name)))
      (agent-q-diff-live-hash (agent-q-diff-live--read-buffer name buffer))
    (secure-hash 'sha256 (agent-q-diff-file-bytes name))))

(provide 'agent-q-diff-live)
;;; agent-q-diff-live.el ends here
