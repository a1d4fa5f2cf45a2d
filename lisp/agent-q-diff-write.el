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

(defun agent-q-diff-write--refuse (format &rest arguments)
  "Signal `agent-q-diff-bad-target' with FORMAT and ARGUMENTS."
  (signal 'agent-q-diff-bad-target (list (apply #'format format arguments))))

;;;; Reading

(defun agent-q-diff-write--bytes (name)
  "Return the bytes of the file NAME, a unibyte string."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally name)
    (buffer-string)))

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

(defun agent-q-diff-write--decode-in (bytes guess)
  "Return (TEXT . CODING) for BYTES, if their coding system is GUESS, or nil.
It is nil if TEXT written in CODING is not BYTES, to the last of them."
  (let* ((text (decode-coding-string bytes guess))
         ;; With the kind of line ends that was found.
         (coding last-coding-system-used)
         (with-cr (coding-system-change-eol-conversion coding 'unix)))
    (cond
     ((eq (coding-system-type coding) 'raw-text)
      (cons bytes 'no-conversion))
     ((agent-q-diff-write--same-bytes-p bytes text coding)
      (cons (substring-no-properties text) coding))
     ;; Line ends are mixed: then CR is part of the text.
     ((let ((verbatim (decode-coding-string bytes with-cr)))
        (and (agent-q-diff-write--same-bytes-p bytes verbatim with-cr)
             (cons (substring-no-properties verbatim) with-cr)))))))

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
      (agent-q-diff-write--refuse
       "%s cannot be written in its coding system %s without changing it elsewhere"
       name (car codings))))

(defun agent-q-diff-write--read-file (name)
  "Return the live text of the file NAME, which no buffer visits."
  (pcase-let* ((attributes (agent-q-diff-target-attributes name))
               (`(,bytes . ,stated)
                (with-temp-buffer
                  (set-buffer-multibyte nil)
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
      (agent-q-diff-write--refuse
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

(defun agent-q-diff-write-read (name)
  "Return the live text of the file NAME, an `agent-q-diff-live', or nil.
NAME is absolute.  The value is nil if there is neither such a file nor a
buffer that visits it."
  (let ((buffer (find-buffer-visiting name)))
    (cond
     (buffer (agent-q-diff-write--read-buffer name buffer))
     ((file-exists-p name) (agent-q-diff-write--read-file name)))))

(defun agent-q-diff-write-same-p (live)
  "Return non-nil if reading the file of LIVE again would give the same.
That of a file that was not touched since is not read for that.  Whoever
writes it compares its bytes all the same."
  (let ((name (agent-q-diff-live-name live))
        (buffer (agent-q-diff-live-buffer live)))
    (and (eq buffer (find-buffer-visiting name))
         (if buffer
             (and (eql (agent-q-diff-live-tick live)
                       (agent-q-diff-target-tick buffer))
                  (eq (agent-q-diff-live-coding live)
                      (with-current-buffer buffer
                        (agent-q-diff-target-coding))))
           (let ((attributes (agent-q-diff-target-attributes name)))
             (and attributes
                  (or (equal attributes (agent-q-diff-live-attributes live))
                      (equal (agent-q-diff-live-bytes live)
                             (agent-q-diff-write--bytes name)))))))))

(defun agent-q-diff-write-unsaved-p (live)
  "Return non-nil if LIVE has edits of the user's that are not saved."
  (and (agent-q-diff-live-buffer live)
       (buffer-modified-p (agent-q-diff-live-buffer live))))

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
HASHES is as above, for what was to be written; it is taken if nobody has
written the file since."
  (let ((name (agent-q-diff-live-name live)))
    (if (and hashes
             (agent-q-diff-live-written live)
             (not (find-buffer-visiting name))
             (equal (agent-q-diff-live-written live)
                    (agent-q-diff-write--identity name)))
        (cdr hashes)
      (agent-q-diff-write-hash-of name))))

(defun agent-q-diff-write--identity (name)
  "Return attributes of the file NAME that change when it is written, not renamed."
  (pcase (agent-q-diff-target-attributes name)
    (`(,size ,modified ,_ ,inode) (list size modified inode))))

(defun agent-q-diff-write-hash (live)
  "Return a hash of the bytes that LIVE is or would be in its file."
  (secure-hash 'sha256 (or (agent-q-diff-live-bytes live)
                           (encode-coding-string (agent-q-diff-live-text live)
                                                 (agent-q-diff-live-coding live)))))

(defun agent-q-diff-write-hash-of (name)
  "Return what `agent-q-diff-write-hash' does for the file NAME as it is now."
  (if (find-buffer-visiting name)
      (agent-q-diff-write-hash (agent-q-diff-write-read name))
    (secure-hash 'sha256 (agent-q-diff-write--bytes name))))

;;;; What an agent writes, and what the text has

(defun agent-q-diff-write-adapt (live string)
  "Return STRING, an agent's, as it would stand in the text of LIVE.
If Emacs keeps CRLF out of that text, so must STRING; if the text is
bytes, STRING is those of its UTF-8."
  (let ((lines (if (eq 1 (coding-system-eol-type (agent-q-diff-live-coding live)))
                   (string-replace "\r\n" "\n" string)
                 string)))
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

;;;; Replacing a file as a whole

(defun agent-q-diff-write--put (text coding name)
  "Make TEXT, a string written in CODING, the content of the file NAME."
  (let ((coding-system-for-write coding)
        (write-region-annotate-functions nil)
        (write-region-post-annotation-function nil))
    (write-region text nil name nil 'silent)))

(defun agent-q-diff-write--owner (name)
  "Return who owns the file NAME, and with which mode."
  (let ((attributes (file-attributes name 'integer)))
    (list (file-attribute-user-id attributes)
          (file-attribute-group-id attributes)
          (file-attribute-modes attributes))))

(defun agent-q-diff-write--twin (name)
  "Return a new file beside NAME, a copy with its owner and mode, or nil.
It is nil if there cannot be one that may take the place of NAME: its
directory cannot be written, only NAME's owner could make such a file, or
NAME is one of several names of a file, of which the others would keep
the old text."
  (when (and (file-exists-p name)
             (= 1 (file-attribute-link-number (file-attributes name)))
             (file-writable-p (file-name-directory name)))
    (let ((twin (make-temp-file (expand-file-name ".agent-q-diff-"
                                                  (file-name-directory name))))
          (is-fit nil))
      (unwind-protect
          (progn
            (copy-file name twin t nil t t)
            (setq is-fit (equal (agent-q-diff-write--owner name)
                                (agent-q-diff-write--owner twin)))
            (and is-fit twin))
        (unless is-fit
          (delete-file twin))))))

(defun agent-q-diff-write--by-twin (name twin put check)
  "Have PUT write TWIN, which then takes the place of NAME.
CHECK is called between the two.  If anything fails, NAME stays and TWIN
goes."
  (let ((modes (file-modes name))
        (is-done nil))
    (unwind-protect
        (progn
          (funcall put twin)
          (set-file-modes twin modes)
          (funcall check)
          (let ((inhibit-quit t))
            (rename-file twin name t)
            (setq is-done t)))
      (unless is-done
        (delete-file twin)))))

(defun agent-q-diff-write--put-back (name old)
  "Make the bytes OLD the content of the file NAME again.
The error if that fails says where a copy of them is."
  (let ((copy (make-temp-file "agent-q-diff-rescued-")))
    (agent-q-diff-write--put old 'no-conversion copy)
    (condition-case err
        (agent-q-diff-write--put old 'no-conversion name)
      (error
       (agent-q-diff-write--refuse
        "%s is damaged, since writing it failed (%s); what it held is in %s"
        name (error-message-string err) copy)))
    (delete-file copy)))

(defun agent-q-diff-write--in-place (name put check)
  "Have PUT write NAME itself, after CHECK was called.
If that fails, put back what it held."
  (let ((old (agent-q-diff-write--bytes name))
        (is-done nil))
    (funcall check)
    (unwind-protect
        (let ((inhibit-quit t))
          (funcall put name)
          (setq is-done t))
      (unless is-done
        (agent-q-diff-write--put-back name old)))))

(defun agent-q-diff-write-file (name put check)
  "Have PUT write the file NAME, so that it is whole whatever happens.
PUT is called with the name of a file that it is to write.  CHECK is
called without arguments at the last moment; if it signals an error, NAME
stays as it is.  Mode, owner and links are kept."
  (let ((twin (agent-q-diff-write--twin name)))
    (if twin
        (agent-q-diff-write--by-twin name twin put check)
      (agent-q-diff-write--in-place name put check))))

;;;; Writing

(defun agent-q-diff-write--check-encodable (live new)
  "Refuse NEW if the coding system of LIVE cannot hold it."
  (let ((char (agent-q-diff-target-unencodable
               0 (length new) (agent-q-diff-write--coding live) new)))
    (when char
      (agent-q-diff-write--refuse
       "the file's coding system %s cannot hold the character %c"
       (agent-q-diff-live-coding live) char))))

(defun agent-q-diff-write--check-writable (name)
  "Refuse the file NAME if it cannot be written or somebody else edits it."
  (let ((holder (file-locked-p name)))
    (when (stringp holder)
      (agent-q-diff-write--refuse "%s is locked by %s" name holder)))
  (unless (file-writable-p name)
    (agent-q-diff-write--refuse "%s cannot be written" name)))

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
  "Return (TEXT . CODING), the text of LIVE with each of SPANS replaced by NEW.
TEXT is to be written in CODING.  It is bytes where those of the rest can
be taken as they are, which is much faster."
  (let ((text (agent-q-diff-live-text live))
        (coding (agent-q-diff-write--coding live)))
    (if (agent-q-diff-write--kept-p live)
        (cons (agent-q-diff-write--spliced
               (agent-q-diff-live-bytes live) (agent-q-diff-write--byte-spans text spans)
               (encode-coding-string new coding))
              'no-conversion)
      (cons (agent-q-diff-write-result live spans new) coding))))

(defun agent-q-diff-write--to-file (live spans new check)
  "Replace SPANS by NEW in the file of LIVE.  CHECK is called before."
  (pcase-let ((name (agent-q-diff-live-name live))
              (`(,text . ,coding) (agent-q-diff-write--outcome live spans new)))
    (agent-q-diff-write--check-writable name)
    (agent-q-diff-write--check-encodable live new)
    (agent-q-diff-write-file
     name
     (lambda (file)
       (agent-q-diff-write--put text coding file)
       (when (eq coding 'no-conversion)
         (setf (agent-q-diff-live-written live)
               (agent-q-diff-write--identity file))))
     (lambda ()
       (funcall check)
       (unless (equal (agent-q-diff-live-bytes live) (agent-q-diff-write--bytes name))
         (agent-q-diff-write--refuse "%s was changed meanwhile" name))))
    (list :saved t)))

(defun agent-q-diff-write--check-faithful (live)
  "Refuse LIVE if saving its buffer would change what nobody has edited.
So it is if a file of mixed line ends was visited as one of CRLF."
  (let ((name (agent-q-diff-live-name live)))
    (with-current-buffer (agent-q-diff-live-buffer live)
      (unless (or (buffer-modified-p)
                  buffer-file-format
                  write-region-annotate-functions
                  (not (file-exists-p name))
                  (agent-q-diff-write--same-bytes-p
                   (agent-q-diff-write--bytes name)
                   (agent-q-diff-live-text live) (agent-q-diff-live-coding live)))
        (agent-q-diff-write--refuse
         (if (verify-visited-file-modtime (current-buffer))
             "saving %s would change bytes elsewhere; C-x RET r utf-8-unix RET in its buffer shows them"
           "%s changed on disk; M-x revert-buffer in its buffer first")
         name)))))

(defun agent-q-diff-write--save-whole (check)
  "Save the current buffer so that its file is whole whatever happens.
CHECK is called at the last moment.  Return t, for `write-file-functions'."
  (let ((name (file-truename buffer-file-name)))
    (when (file-exists-p name)
      (let ((backup-by-copying t))
        (backup-buffer))
      (agent-q-diff-write-file
       name (lambda (file) (write-region nil nil file nil 'silent)) check)
      (set-visited-file-modtime)
      (set-buffer-modified-p nil)
      t)))

(defun agent-q-diff-write--to-buffer (live spans new check)
  "Replace SPANS by NEW in the buffer of LIVE, and save it as is the option.
CHECK is called before."
  (let ((buffer (agent-q-diff-live-buffer live))
        (is-saving (agent-q-diff-write-saves-p live))
        (save (lambda () (agent-q-diff-write--save-whole check))))
    (when is-saving
      (agent-q-diff-write--check-faithful live))
    (funcall check)
    (with-current-buffer buffer
      (unwind-protect
          (progn
            (add-hook 'write-file-functions save 100 t)
            (let ((tick (agent-q-diff-target-replace buffer spans new is-saving)))
              (list :saved is-saving
                    :altered (/= tick (agent-q-diff-target-tick buffer)))))
        (remove-hook 'write-file-functions save t)))))

(defun agent-q-diff-write (live spans new check)
  "Replace each of SPANS of LIVE by NEW, and write that.
SPANS is a list of (START . END), characters of the text of LIVE, in
order and apart.  CHECK is a function that is called at the last moment
and signals an error if the file must not be written after all.

Return a plist: :saved tells whether it is in the file, and :altered
whether saving changed more than that, as hooks may.  If anything fails,
signal an error, and text and file are as they were."
  (if (agent-q-diff-live-buffer live)
      (agent-q-diff-write--to-buffer live spans new check)
    (agent-q-diff-write--to-file live spans new check)))

(provide 'agent-q-diff-write)
;;; agent-q-diff-write.el ends here
