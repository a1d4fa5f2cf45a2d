;;; agent-q-diff-coding.el --- Coding systems: text to bytes and back  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Decodes the bytes of a file so that encoding the text gives the same
;; bytes again, and refuses text that a file's coding system cannot hold.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)

;;;; What a coding system can hold

(defun agent-q-diff-coding-plain-p (coding)
  "Return non-nil if any bytes and any text survive CODING, there and back.
That is known of UTF-8, Latin-1, ASCII and raw bytes; of other coding
systems it depends on the text.  Line ends are not considered."
  (and (memq (coding-system-base coding)
             '(utf-8 utf-8-emacs iso-latin-1 us-ascii undecided no-conversion raw-text))
       t))

(defun agent-q-diff-coding-all-ascii-p ()
  "Return non-nil if the current buffer is all ASCII, in constant time."
  (save-restriction
    (widen)
    (and enable-multibyte-characters
         (= (1+ (buffer-size)) (position-bytes (point-max))))))

(defun agent-q-diff-coding-unencodable (from to coding &optional text)
  "Return a character between FROM and TO that CODING cannot hold, or nil.
The range is one of TEXT, from 0, or else of the current buffer.  Raw
bytes do not count, since they are written as they are."
  (let (at found)
    (while (and (not found)
                (setq at (unencodable-char-position from to coding nil text)))
      (let ((char (if text (aref text at) (char-after at))))
        (unless (eq (char-charset char) 'eight-bit)
          (setq found char))
        (setq from (1+ at))))
    found))

(defun agent-q-diff-coding-check (from to coding &optional text)
  "Refuse what stands between FROM and TO if CODING cannot hold it.
The range is as in `agent-q-diff-coding-unencodable', TEXT as well."
  (let ((char (agent-q-diff-coding-unencodable from to coding text)))
    (when char
      (agent-q-diff-file-refuse
       "the file's coding system %s cannot hold the character %c; %s" coding char
       "M-x agent-q-diff-recode-target makes the file UTF-8, or reject the hunk"))))

(defun agent-q-diff-coding-check-surrogates (new old)
  "Refuse NEW, an agent's text, if it has a lone surrogate that OLD has not.
That is half of a surrogate pair, and JSON can bring one.  No coding
system has it, but Emacs would write it as three bytes that are no UTF-8.
Where the file has such bytes, they stay."
  (let ((at -1))
    (while (and (< (length new) (string-bytes new)) ; ASCII has none.
                (setq at (string-match-p "[\ud800-\udfff]" new (1+ at))))
      (unless (seq-position old (aref new at))
        (agent-q-diff-file-refuse
         "the proposed text contains U+%X, half of a surrogate pair; \
send the whole character"
         (aref new at))))))

(defun agent-q-diff-coding-encode (text coding)
  "Return TEXT as bytes in CODING, or refuse it if they would not read as TEXT."
  (let ((bytes (encode-coding-string text coding)))
    (unless (or (agent-q-diff-coding-plain-p coding)
                (equal text (decode-coding-string bytes coding)))
      (agent-q-diff-file-refuse
       "the file's coding system %s cannot hold the new text without changing it" coding))
    bytes))

;;;; Decoding a file

(defun agent-q-diff-coding-stated (name)
  "Return the coding system that the file NAME, in this buffer, states, or nil.
Its own words count first, then the user's table of names.  A function in
that table is not called: some open other files.  The table's last entry
takes every name, and says nothing."
  (let ((stated (or (progn
                      (goto-char (point-min))
                      (car (find-auto-coding name (buffer-size))))
                    (pcase (assoc-default name file-coding-system-alist
                                          #'string-match-p)
                      (`(,coding . ,_) coding)
                      (coding coding)))))
    (and stated
         (coding-system-p stated)
         (not (eq (coding-system-type stated) 'undecided))
         stated)))

(defconst agent-q-diff-coding--doubtful-bytes '("\0" "\e" "\r" "\16" "\17" "\355")
  "Bytes that text may have which is not lines of UTF-8.
The last begins surrogates, which Emacs keeps in memory but does not read.")

(defun agent-q-diff-coding--plain-utf-8 (bytes)
  "Return BYTES as text if they are lines of UTF-8 beyond doubt, or nil.
In memory, text is UTF-8, so that it need not be decoded, which takes ten
times as long."
  (unless (or (string-prefix-p "\357\273\277" bytes)
              (not (string-search "\n" bytes))
              (seq-some (lambda (byte) (string-search byte bytes))
                        agent-q-diff-coding--doubtful-bytes)
              ;; Else the user's language makes something else of it.
              (not (eq 'utf-8 (coding-system-priority-list t))))
    (let ((text (with-suppressed-warnings ((obsolete string-as-multibyte))
                  (string-as-multibyte bytes))))
      ;; A byte that is no character takes two.
      (and (= (string-bytes text) (length bytes))
           text))))

(defun agent-q-diff-coding--same-bytes-p (bytes text coding)
  "Return non-nil if TEXT, written in CODING, is BYTES."
  (equal bytes
         ;; What is all ASCII, Emacs encodes faster than that.
         (if (and (< (length text) (string-bytes text))
                  (agent-q-diff-coding-utf-8-p bytes text coding))
             (with-suppressed-warnings ((obsolete string-as-unibyte))
               (string-as-unibyte text))
           (encode-coding-string text coding))))

(defun agent-q-diff-coding-utf-8-p (bytes text coding)
  "Return non-nil if TEXT in CODING is what it is in memory.
BYTES are what it was read from.  In memory, text is UTF-8, but for a byte
that is none it takes two."
  (and (eq 0 (coding-system-eol-type coding))
       ;; Not one of the kind that converts more, or writes a mark.
       (eq 'utf-8 (coding-system-base coding))
       (= (length bytes) (string-bytes text))))

(defun agent-q-diff-coding--mostly-utf-8-p (bytes)
  "Return non-nil if BYTES are UTF-8 but for a few stray ones.
Emacs takes such a file for Latin-1, and what an agent adds would be of
another coding system than the rest."
  (let ((text (decode-coding-string bytes 'utf-8-unix)))
    (> (cl-count-if (lambda (char) (< 127 char #x3fff80)) text)
       (cl-count-if (lambda (char) (>= char #x3fff80)) text))))

(defun agent-q-diff-coding--candidates (stated bytes)
  "Return coding systems for BYTES of a file, best first.
STATED is the one that it states, or nil."
  (let* ((detected (detect-coding-string bytes t))
         (is-doubtful (eq (coding-system-type detected) 'charset)))
    (delq nil
          (list stated
                (and is-doubtful
                     (agent-q-diff-coding--mostly-utf-8-p bytes)
                     (coding-system-change-text-conversion detected 'utf-8))
                detected))))

(defun agent-q-diff-coding--decode-as-buffer (bytes coding)
  "Return BYTES as text in CODING, as a buffer that visits them has it.
Emacs decodes a string otherwise than a buffer in one case: of the bytes
of half a surrogate pair, which are no UTF-8, it makes three raw bytes
instead of one character.  The engine counts characters as buffers do."
  (if (not (string-search "\355" bytes))
      (decode-coding-string bytes coding)
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (insert bytes)
      (set-buffer-multibyte t)
      (decode-coding-region (point-min) (point-max) coding)
      (buffer-string))))

(defun agent-q-diff-coding--decode-in (bytes guess)
  "Return (TEXT . CODING) for BYTES, if their coding system is GUESS, or nil.
It is nil if TEXT written in CODING is not BYTES, to the last of them.  TEXT
keeps the property `charset' that decoding gave it, since bytes depend on it."
  (let* ((text (agent-q-diff-coding--decode-as-buffer bytes guess))
         ;; With the kind of line ends that was found.
         (coding last-coding-system-used)
         (with-cr (coding-system-change-eol-conversion coding 'unix)))
    (cond
     ((eq (coding-system-type coding) 'raw-text)
      (cons bytes 'no-conversion))
     ((agent-q-diff-coding--same-bytes-p bytes text coding)
      (cons text coding))
     ;; Line ends are mixed: then CR is part of the text.
     ((let ((verbatim (agent-q-diff-coding--decode-as-buffer bytes with-cr)))
        (and (agent-q-diff-coding--same-bytes-p bytes verbatim with-cr)
             (cons verbatim with-cr)))))))

(defun agent-q-diff-coding-decode (name stated bytes)
  "Return (TEXT . CODING) for BYTES, those of the file NAME.
TEXT written in CODING is BYTES again.  STATED is the coding system that
the file states, or nil."
  (let ((plain (and (null stated) (agent-q-diff-coding--plain-utf-8 bytes))))
    (if plain
        (cons plain (if (= (length plain) (length bytes))
                        'undecided-unix
                      'utf-8-unix))
      (agent-q-diff-coding--decode-by
       name bytes (agent-q-diff-coding--candidates stated bytes)))))

(defun agent-q-diff-coding--decode-by (name bytes codings)
  "Return what `agent-q-diff-coding-decode' does for NAME, BYTES and CODINGS.
These are coding systems, best first."
  (or (seq-some (apply-partially #'agent-q-diff-coding--decode-in bytes) codings)
      (agent-q-diff-file-refuse
       "%s cannot be written in its coding system %s without changing it elsewhere"
       name (car codings))))

;;;; Buffers

(defun agent-q-diff-coding-of-buffer ()
  "Return the coding system in which the current buffer is to be saved.
It is the file's own, unless `save-buffer-coding-system' is another; where
nothing is decided, as for a file that was all ASCII, it is UTF-8 once
there is anything else.  Text that is all ASCII is written as it is, which
is many times faster."
  (let ((coding (or save-buffer-coding-system buffer-file-coding-system
                    'undecided-unix)))
    (if (and (eq (coding-system-type coding) 'undecided)
             (not (agent-q-diff-coding-all-ascii-p)))
        (coding-system-change-text-conversion coding 'utf-8)
      coding)))

(defun agent-q-diff-coding-buffer-bytes (coding)
  "Return the text of the current buffer as bytes in CODING.
Its property `charset', which decides on bytes, is heeded."
  (save-restriction
    (widen)
    (encode-coding-string (buffer-string) coding)))

(defun agent-q-diff-coding-choose (from to &rest _)
  "Return the coding system for the text between FROM and TO, unasked.
This stands in for `select-safe-coding-system', which would ask.  FROM
and TO are as `write-region' has them."
  (let ((coding (agent-q-diff-coding-of-buffer)))
    (cond
     ((memq (coding-system-base coding) '(utf-8 undecided)))
     ((stringp from)
      (agent-q-diff-coding-check 0 (length from) coding from))
     (t (save-restriction
          (widen)
          (agent-q-diff-coding-check (or from (point-min))
                                     (or to (point-max)) coding))))
    coding))

(defun agent-q-diff-coding-check-text (buffer text)
  "Refuse TEXT if the coding system of BUFFER's file cannot hold it.
Saving would otherwise re-encode the whole file."
  (let ((coding (or (buffer-local-value 'save-buffer-coding-system buffer)
                    (buffer-local-value 'buffer-file-coding-system buffer))))
    (unless (or (null coding)
                (eq (coding-system-type coding) 'undecided))
      (agent-q-diff-coding-check 0 (length text) coding text))))

(defun agent-q-diff-coding-recode (buffer)
  "Let BUFFER be saved as UTF-8 from now on, with the line ends that it has."
  (with-current-buffer buffer
    (let ((coding (coding-system-change-text-conversion
                   (or buffer-file-coding-system 'utf-8-unix) 'utf-8)))
      (set-buffer-file-coding-system coding nil t)
      (when save-buffer-coding-system
        (setq save-buffer-coding-system coding)))))

;;;; Charsets

(defvar-local agent-q-diff-coding--charsets nil
  "Hash table of lines to themselves with their property `charset', or nil.
Where a coding system has several ways to write a character, as those of
ISO 2022 have, that property tells which one the file has.  A line that is
taken out of the buffer and put back must be written as before.")
(put 'agent-q-diff-coding--charsets 'permanent-local t)

(defun agent-q-diff-coding-note-charsets (text)
  "Note the lines of TEXT that have the property `charset'."
  (when (text-property-not-all 0 (length text) 'charset nil text)
    (unless agent-q-diff-coding--charsets
      (setq agent-q-diff-coding--charsets (make-hash-table :test #'equal)))
    (dolist (line (split-string text "\n"))
      (when (text-property-not-all 0 (length line) 'charset nil line)
        (puthash (substring-no-properties line) line
                 agent-q-diff-coding--charsets)))))

(defun agent-q-diff-coding-with-charsets (text)
  "Return TEXT with the property `charset' on the lines for which it was noted."
  (if (null agent-q-diff-coding--charsets)
      text
    (mapconcat (lambda (line) (gethash line agent-q-diff-coding--charsets line))
               (split-string text "\n") "\n")))

(provide 'agent-q-diff-coding)
;;; agent-q-diff-coding.el ends here
