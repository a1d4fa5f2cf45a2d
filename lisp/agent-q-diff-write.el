;;; agent-q-diff-write.el --- A file's live text, and writing it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a file holds now, whether a buffer visits it or not, and how parts
;; of that are replaced.  No user interface.
;;
;; Where a buffer visits the file, its text counts, unsaved edits and all,
;; and the edit is made there.  Where none does, the file is read and
;; written without being visited: no mode, no local variables, no hooks.
;; Either way the file is replaced as a whole or not at all.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-target)

(cl-defstruct (agent-q-diff-live (:constructor agent-q-diff-live--make)
                                 (:copier nil))
  "What a file holds now."
  (name nil :documentation "Absolute name of the file, resolved.")
  (buffer nil :documentation "The buffer that visits it, or nil.")
  (text nil :documentation "The text, a string; unibyte if it is bytes.")
  (coding nil :documentation "The coding system that TEXT is written in.")
  (bytes nil :documentation "The bytes of the file, if no buffer visits it.")
  (attributes nil :documentation "What the file was just before it was read.")
  (written nil :documentation "What the file is since it was written, if that is known.")
  (tick nil :documentation "The buffer's tick when its text was taken."))

;;;; Reading

(defun agent-q-diff-write--visitor (name)
  "Return the buffer that visits the file NAME, which is resolved, or nil.
This is `find-buffer-visiting', which is only called if there is a buffer
that it could return: it resolves NAME anew."
  (let ((short (abbreviate-file-name name))
        (number (nthcdr 10 (file-attributes name))))
    (and (seq-some (lambda (buffer)
                     (and (buffer-file-name buffer)
                          (or (equal name (buffer-file-name buffer))
                              (equal short (buffer-local-value 'buffer-file-truename buffer))
                              (equal number (buffer-local-value 'buffer-file-number buffer)))))
                   (buffer-list))
         (find-buffer-visiting name))))

(defun agent-q-diff-write--stated-coding (name)
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

(defconst agent-q-diff-write--doubtful-bytes '("\0" "\e" "\r" "\16" "\17" "\355")
  "Bytes that text may have which is not lines of UTF-8.
The last begins surrogates, which Emacs keeps in memory but does not read.")

(defun agent-q-diff-write--plain-utf-8 (bytes)
  "Return BYTES as text if they are lines of UTF-8 beyond doubt, or nil.
In memory, text is UTF-8, so that it need not be decoded, which takes ten
times as long."
  (unless (or (string-prefix-p "\357\273\277" bytes)
              (not (string-search "\n" bytes))
              (seq-some (lambda (byte) (string-search byte bytes))
                        agent-q-diff-write--doubtful-bytes)
              ;; Else the user's language makes something else of it.
              (not (eq 'utf-8 (coding-system-priority-list t))))
    (let ((text (with-suppressed-warnings ((obsolete string-as-multibyte))
                  (string-as-multibyte bytes))))
      ;; A byte that is no character takes two.
      (and (= (string-bytes text) (length bytes))
           text))))

(defun agent-q-diff-write--same-bytes-p (bytes text coding)
  "Return non-nil if TEXT, written in CODING, is BYTES."
  (equal bytes
         ;; What is all ASCII, Emacs encodes faster than that.
         (if (and (< (length text) (string-bytes text))
                  (agent-q-diff-write--as-kept-p bytes text coding))
             (with-suppressed-warnings ((obsolete string-as-unibyte))
               (string-as-unibyte text))
           (encode-coding-string text coding))))

(defun agent-q-diff-write--as-kept-p (bytes text coding)
  "Return non-nil if TEXT in CODING is what it is in memory.
BYTES are what it was read from.  In memory, text is UTF-8, but for a byte
that is none it takes two."
  (and (eq 0 (coding-system-eol-type coding))
       ;; Not one of the kind that converts more, or writes a mark.
       (eq 'utf-8 (coding-system-base coding))
       (= (length bytes) (string-bytes text))))

(defun agent-q-diff-write--rather-utf-8-p (bytes)
  "Return non-nil if BYTES are UTF-8 but for a few stray ones.
Emacs takes such a file for Latin-1, and what an agent adds would be of
another coding system than the rest."
  (let ((text (decode-coding-string bytes 'utf-8-unix)))
    (> (cl-count-if (lambda (char) (< 127 char #x3fff80)) text)
       (cl-count-if (lambda (char) (>= char #x3fff80)) text))))

(defun agent-q-diff-write--codings (stated bytes)
  "Return coding systems for BYTES of a file, best first.
STATED is the one that it states, or nil."
  (let* ((detected (detect-coding-string bytes t))
         (is-doubtful (eq (coding-system-type detected) 'charset)))
    (delq nil
          (list stated
                (and is-doubtful
                     (agent-q-diff-write--rather-utf-8-p bytes)
                     (coding-system-change-text-conversion detected 'utf-8))
                detected))))

(defun agent-q-diff-write--decoded (bytes coding)
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

(defun agent-q-diff-write--decode-in (bytes guess)
  "Return (TEXT . CODING) for BYTES, if their coding system is GUESS, or nil.
It is nil if TEXT written in CODING is not BYTES, to the last of them.  TEXT
keeps the property `charset' that decoding gave it, since bytes depend on it."
  (let* ((text (agent-q-diff-write--decoded bytes guess))
         ;; With the kind of line ends that was found.
         (coding last-coding-system-used)
         (with-cr (coding-system-change-eol-conversion coding 'unix)))
    (cond
     ((eq (coding-system-type coding) 'raw-text)
      (cons bytes 'no-conversion))
     ((agent-q-diff-write--same-bytes-p bytes text coding)
      (cons text coding))
     ;; Line ends are mixed: then CR is part of the text.
     ((let ((verbatim (agent-q-diff-write--decoded bytes with-cr)))
        (and (agent-q-diff-write--same-bytes-p bytes verbatim with-cr)
             (cons verbatim with-cr)))))))

(defun agent-q-diff-write--decode (name stated bytes)
  "Return (TEXT . CODING) for BYTES, those of the file NAME.
TEXT written in CODING is BYTES again.  STATED is the coding system that
the file states, or nil."
  (let ((plain (and (null stated) (agent-q-diff-write--plain-utf-8 bytes))))
    (if plain
        (cons plain (if (= (length plain) (length bytes))
                        'undecided-unix
                      'utf-8-unix))
      (agent-q-diff-write--decode-by
       name bytes (agent-q-diff-write--codings stated bytes)))))

(defun agent-q-diff-write--decode-by (name bytes codings)
  "Return what `agent-q-diff-write--decode' does for NAME, BYTES and CODINGS.
These are coding systems, best first."
  (or (seq-some (apply-partially #'agent-q-diff-write--decode-in bytes) codings)
      (agent-q-diff-file-refuse
       "%s cannot be written in its coding system %s without changing it elsewhere"
       name (car codings))))

(defun agent-q-diff-write--read-file (name)
  "Return the live text of the file NAME, which no buffer visits."
  (pcase-let* ((attributes (agent-q-diff-file-attributes name))
               (`(,bytes . ,stated)
                (with-temp-buffer
                  (set-buffer-multibyte nil)
                  (agent-q-diff-file-check-regular name)
                  (insert-file-contents-literally name)
                  (cons (buffer-string) (agent-q-diff-write--stated-coding name))))
               (`(,text . ,coding) (agent-q-diff-write--decode name stated bytes)))
    (agent-q-diff-live--make :name name :bytes bytes :attributes attributes
                             :text text :coding coding)))

(defun agent-q-diff-write--buffer-bytes (name text)
  "Return TEXT, of the buffer that visits the file NAME as bytes, as bytes.
Each character must be one, so that positions are the same."
  (let ((bytes (encode-coding-string text 'no-conversion)))
    (unless (= (length bytes) (length text))
      (agent-q-diff-file-refuse
       "%s is visited as bytes, but its buffer holds characters, too" name))
    bytes))

(defun agent-q-diff-write--read-buffer (name buffer)
  "Return the live text of the file NAME in BUFFER, which visits it."
  (let ((text (agent-q-diff-target-text buffer))
        (coding (with-current-buffer buffer
                  (agent-q-diff-target-coding))))
    (agent-q-diff-live--make
     :name name :buffer buffer :coding coding
     :tick (agent-q-diff-target-tick buffer)
     :text (if (eq (coding-system-type coding) 'raw-text)
               (agent-q-diff-write--buffer-bytes name text)
             text))))

(defun agent-q-diff-write--live (name buffer)
  "Return the live text of the file NAME, an `agent-q-diff-live', or nil.
BUFFER visits it, or is nil.  The value is nil if there is neither."
  (cond
   (buffer (agent-q-diff-write--read-buffer name buffer))
   ((file-exists-p name) (agent-q-diff-write--read-file name))))

(defun agent-q-diff-write-read (name)
  "Return the live text of the file NAME, an `agent-q-diff-live', or nil.
NAME is absolute.  The value is nil if there is neither such a file nor a
buffer that visits it.  A buffer without unsaved edits follows its file
first; one that cannot is refused."
  (agent-q-diff-file-uncached
    (agent-q-diff-file-clean-up)
    (let ((buffer (agent-q-diff-write--visitor name)))
      (when buffer
        (agent-q-diff-target-check-visits buffer name)
        (agent-q-diff-target-watch buffer)
        (when-let ((message (agent-q-diff-target-disk-message
                             buffer (agent-q-diff-target-sync buffer))))
          (agent-q-diff-file-refuse "%s" message)))
      (agent-q-diff-write--live name buffer))))

(defun agent-q-diff-write-same-p (live)
  "Return non-nil if reading the file of LIVE again would give the same.
That of a file that was not touched since is not read for that.  Whoever
writes it compares its bytes all the same."
  (agent-q-diff-file-uncached
    (let ((name (agent-q-diff-live-name live))
          (buffer (agent-q-diff-live-buffer live)))
      (and (eq buffer (agent-q-diff-write--visitor name))
           (if buffer
               (and (null (agent-q-diff-target-disk-state buffer))
                    (eql (agent-q-diff-live-tick live)
                         (agent-q-diff-target-tick buffer))
                    (eq (agent-q-diff-live-coding live)
                        (with-current-buffer buffer
                          (agent-q-diff-target-coding))))
             (let ((attributes (agent-q-diff-file-attributes name)))
               (and attributes
                    (or (equal attributes (agent-q-diff-live-attributes live))
                        (equal (agent-q-diff-live-bytes live)
                               (agent-q-diff-file-bytes name))))))))))

(defun agent-q-diff-write-unsaved-p (live)
  "Return non-nil if LIVE has edits of the user's that are not saved."
  (and (agent-q-diff-live-buffer live)
       (agent-q-diff-target-unsaved-p (agent-q-diff-live-buffer live))))

(defun agent-q-diff-write-saves-p (live)
  "Return non-nil if an edit of LIVE is to be saved at once."
  (pcase-exhaustive (and (agent-q-diff-live-buffer live) agent-q-diff-save)
    ((or 'nil 'always) t)
    ('if-clean (not (agent-q-diff-write-unsaved-p live)))
    ('never nil)))

(defun agent-q-diff-write--kept-p (live)
  "Return non-nil if LIVE is in its file what it is in memory, and stays that."
  (and (agent-q-diff-live-bytes live)
       (agent-q-diff-write--as-kept-p (agent-q-diff-live-bytes live)
                                      (agent-q-diff-live-text live)
                                      (agent-q-diff-write--coding live))))

(defun agent-q-diff-write-hash-before (live hashes)
  "Return what `agent-q-diff-write-hash' does for LIVE.
HASHES is as `agent-q-diff-engine-replace' has it for the text of LIVE; it
saves reading that again where the file has the same bytes."
  (if (and hashes (agent-q-diff-write--kept-p live))
      (car hashes)
    (agent-q-diff-write-hash live)))

(defun agent-q-diff-write-hash-after (live hashes)
  "Return a hash of the bytes that the file of LIVE has now.
HASHES is as for `agent-q-diff-write-hash-before', but of what was to be
written; it is taken if nobody has written the file since."
  (let ((name (agent-q-diff-live-name live)))
    (if (and hashes
             (agent-q-diff-live-written live)
             (equal (agent-q-diff-live-written live)
                    (agent-q-diff-write--identity name)))
        (cdr hashes)
      (agent-q-diff-write-hash-of name))))

(defun agent-q-diff-write--identity (name)
  "Return attributes of the file NAME that change when it is written, not renamed."
  (pcase (agent-q-diff-file-attributes name)
    (`(,size ,modified ,_ ,inode) (list size modified inode))))

(defun agent-q-diff-write-hash (live)
  "Return a hash of the bytes that LIVE is or would be in its file."
  (or (agent-q-diff-write--hash-as-kept live)
      (agent-q-diff-write--hash-encoded live)))

(defun agent-q-diff-write--hash-as-kept (live)
  "Return a hash of LIVE if it is in its file what it is in memory, or nil."
  (let ((text (agent-q-diff-live-text live))
        (coding (agent-q-diff-write--coding live)))
    (and (multibyte-string-p text)
         (if (agent-q-diff-live-bytes live)
             (agent-q-diff-write--kept-p live)
           (and (eq 0 (coding-system-eol-type coding))
                (eq 'utf-8 (coding-system-base coding))))
         (agent-q-diff-engine-hash text))))

(defun agent-q-diff-write--hash-encoded (live)
  "Return what `agent-q-diff-write-hash' does for LIVE, whatever its coding system."
  (secure-hash 'sha256 (or (agent-q-diff-live-bytes live)
                           (encode-coding-string (agent-q-diff-live-text live)
                                                 (agent-q-diff-live-coding live)))))

(defun agent-q-diff-write-hash-of (name)
  "Return what `agent-q-diff-write-hash' does for the file NAME as it is now."
  (if-let ((buffer (agent-q-diff-write--visitor name)))
      (agent-q-diff-write-hash (agent-q-diff-write--live name buffer))
    (secure-hash 'sha256 (agent-q-diff-file-bytes name))))

;;;; What an agent writes, and what the text has

(defun agent-q-diff-write-adapt (live string)
  "Return STRING, an agent's, as it would stand in the text of LIVE.
If Emacs keeps CRLF, or CR as old Macs wrote it, out of that text, so must
STRING; if the text is bytes, STRING is those of its UTF-8."
  (let ((lines (pcase (coding-system-eol-type (agent-q-diff-live-coding live))
                 (1 (string-replace "\r\n" "\n" string))
                 (2 (replace-regexp-in-string "\r\n?" "\n" string t t))
                 (_ string))))
    (if (and (multibyte-string-p lines) (agent-q-diff-write--bytes-p live))
        (encode-coding-string lines 'utf-8-emacs-unix)
      lines)))

(defun agent-q-diff-write--bytes-p (live)
  "Return non-nil if the text of LIVE is bytes, not characters."
  (eq (coding-system-type (agent-q-diff-live-coding live)) 'raw-text))

(defun agent-q-diff-write-result (live spans new)
  "Return the text of LIVE with each of SPANS replaced by NEW.
SPANS is a list of (START . END), in order and apart."
  (agent-q-diff-write--spliced (agent-q-diff-live-text live) spans new))

(defun agent-q-diff-write--spliced (text spans new)
  "Return TEXT with each of SPANS replaced by NEW.
SPANS is as for `agent-q-diff-write-result'."
  (let ((done 0)
        pieces)
    (pcase-dolist (`(,start . ,end) spans)
      (push (substring text done start) pieces)
      (push new pieces)
      (setq done end))
    (push (substring text done) pieces)
    (apply #'concat (nreverse pieces))))

;;;; Writing

(defun agent-q-diff-write--check-encodable (live new)
  "Refuse NEW if the coding system of LIVE cannot hold it."
  (let ((char (agent-q-diff-target-unencodable
               0 (length new) (agent-q-diff-write--coding live) new)))
    (when char
      (agent-q-diff-file-refuse
       "the file's coding system %s cannot hold the character %c"
       (agent-q-diff-live-coding live) char))))

(defun agent-q-diff-write--check-writable (name)
  "Refuse the file NAME if it cannot be written or somebody else edits it."
  (let ((holder (agent-q-diff-file-lock-holder name)))
    (when holder
      (agent-q-diff-file-refuse "%s is locked by %s" name holder)))
  (unless (file-writable-p name)
    (agent-q-diff-file-refuse "%s cannot be written" name)))

(defun agent-q-diff-write--coding (live)
  "Return the coding system in which LIVE is to be written.
Where nothing is decided, as for text that was all ASCII, it is UTF-8."
  (let ((coding (agent-q-diff-live-coding live)))
    (if (eq (coding-system-type coding) 'undecided)
        (coding-system-change-text-conversion coding 'utf-8)
      coding)))

(defun agent-q-diff-write--byte-spans (text spans)
  "Return SPANS of TEXT, counted in the bytes by which it is kept in memory."
  (let ((done 0)
        (n-bytes 0))
    (cl-flet ((upto (end)
                (cl-incf n-bytes (string-bytes (substring text done end)))
                (setq done end)
                n-bytes))
      (if (= (length text) (string-bytes text))
          spans
        (mapcar (pcase-lambda (`(,start . ,end))
                  (cons (upto start) (upto end)))
                spans)))))

(defun agent-q-diff-write--outcome (live spans new)
  "Return the bytes of the text of LIVE with each of SPANS replaced by NEW.
Those of the rest are taken as they are where they can be, which is much
faster."
  (let ((coding (agent-q-diff-write--coding live)))
    (if (agent-q-diff-write--kept-p live)
        (agent-q-diff-write--spliced
         (agent-q-diff-live-bytes live)
         (agent-q-diff-write--byte-spans (agent-q-diff-live-text live) spans)
         (encode-coding-string new coding))
      (agent-q-diff-file-encode (agent-q-diff-write-result live spans new) coding))))

(defun agent-q-diff-write--to-file (live spans new check)
  "Replace SPANS by NEW in the file of LIVE.  CHECK is called before."
  (agent-q-diff-write--check-encodable live new)
  (let ((name (agent-q-diff-live-name live))
        (bytes (agent-q-diff-write--outcome live spans new))
        (is-written nil))
    (agent-q-diff-write--check-writable name)
    (let ((inhibit-quit t))
      (condition-case nil
          (let ((inhibit-quit nil))
            (agent-q-diff-file-write
             name
             (lambda (file)
               (agent-q-diff-file-put bytes 'no-conversion file)
               (when (agent-q-diff-write--kept-p live)
                 (setf (agent-q-diff-live-written live)
                       (agent-q-diff-write--identity file))))
             (lambda ()
               (funcall check)
               (unless (equal (agent-q-diff-live-bytes live) (agent-q-diff-file-bytes name))
                 (agent-q-diff-file-refuse "%s was changed meanwhile" name)))
             (lambda () (setq is-written t))))
        (quit (unless is-written (signal 'quit nil))))
      ;; Too late: it is written, and must not be reported as undone.
      (setq quit-flag nil))
    (list :saved t)))

(defun agent-q-diff-write--to-buffer (live spans new check)
  "Replace SPANS by NEW in the buffer of LIVE, and save it as is the option.
CHECK is called before."
  (let ((buffer (agent-q-diff-live-buffer live))
        (is-saving (agent-q-diff-write-saves-p live)))
    (funcall check)
    (let ((tick (agent-q-diff-target-replace buffer spans new is-saving check)))
      (list :saved (and is-saving (agent-q-diff-target-written-p buffer))
            :altered (/= tick (agent-q-diff-target-tick buffer))))))

(defun agent-q-diff-write (live spans new check)
  "Replace each of SPANS of LIVE by NEW, and write that.
SPANS is a list of (START . END), characters of the text of LIVE, in
order and apart.  CHECK is a function that is called at the last moment
and signals an error if the file must not be written after all.

Return a plist: :saved tells whether it is in the file, and :altered
whether saving changed more than that, as hooks may.  If anything fails,
signal an error, and text and file are as they were."
  (agent-q-diff-file-uncached
    (if (agent-q-diff-live-buffer live)
        (agent-q-diff-write--to-buffer live spans new check)
      (agent-q-diff-write--to-file live spans new check))))

(provide 'agent-q-diff-write)
;;; agent-q-diff-write.el ends here
