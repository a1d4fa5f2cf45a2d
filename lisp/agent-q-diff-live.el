;;; agent-q-diff-live.el --- What a file holds now, and replacing parts of it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The live text of a file is that of the buffer that visits it, including
;; unsaved edits.  If none does, the file is read, and written, without being
;; visited: no mode, no local variables, no hooks.
;;
;; Parts of that text are replaced in the buffer, or in the file, which is
;; replaced as a whole or not at all.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-target)

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
                (with-temp-buffer
                  (set-buffer-multibyte nil)
                  (agent-q-diff-file-check-regular name)
                  (insert-file-contents-literally name)
                  (cons (buffer-string) (agent-q-diff-coding-stated name))))
               (`(,text . ,coding) (agent-q-diff-coding-decode name stated bytes)))
    (agent-q-diff-live--make :name name :bytes bytes
                             :attributes (agent-q-diff-disk-attributes name attributes)
                             :text text :coding coding)))

(defun agent-q-diff-live--buffer-bytes (name text)
  "Return TEXT, of a buffer that visits NAME as bytes, as a unibyte string.
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

(defun agent-q-diff-live-unsaved-p (live)
  "Return non-nil if the user has unsaved edits in LIVE."
  (and (agent-q-diff-live-buffer live)
       (agent-q-diff-disk-unsaved-p (agent-q-diff-live-buffer live))))

(defun agent-q-diff-live-saved-text (name)
  "Return the text that the file NAME has on disk, or nil if there is no such file.
Unsaved edits in a buffer do not count.  NAME is absolute."
  (let* ((name (file-truename name))
         (buffer (agent-q-diff-disk-visitor name)))
    (if (and buffer (agent-q-diff-disk-unsaved-p buffer))
        (and (file-exists-p name)
             (car (agent-q-diff-coding-decode-bytes name (agent-q-diff-file-bytes name))))
      (when-let ((live (agent-q-diff-live-read name)))
        (agent-q-diff-live-text live)))))

;;;; Encoding

(defun agent-q-diff-live--write-coding (live)
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

(defun agent-q-diff-live-strings (live old new)
  "Return (OLD . NEW), strings of an agent's, as they would be in the text of LIVE.
At the beginning of the file, a byte order mark before OLD is dropped, since
the file keeps or lacks its mark in any case."
  (let* ((old (agent-q-diff-live-adapt live old))
         (new (agent-q-diff-live-adapt live new))
         (unmarked (string-remove-prefix "\ufeff" old)))
    (if (and (not (string-empty-p unmarked))
             (string-prefix-p unmarked
                              (string-remove-prefix "\ufeff" (agent-q-diff-live-text live))))
        (cons unmarked (string-remove-prefix "\ufeff" new))
      (cons old new))))

(defun agent-q-diff-live--utf-8-p (live)
  "Return non-nil if LIVE has the same bytes in its file as in memory.
The same holds after an edit."
  (and (agent-q-diff-live-bytes live)
       (agent-q-diff-coding-utf-8-p (agent-q-diff-live-bytes live)
                                    (agent-q-diff-live-text live)
                                    (agent-q-diff-live--write-coding live))))

;;;; Hashes

(defun agent-q-diff-live-hash-before (live hashes)
  "Return the hash of LIVE; see `agent-q-diff-live--hash'.
HASHES is what `agent-q-diff-engine-replace' returns for the text of LIVE.
If the file has the same bytes, the hash is taken from there instead of
being computed again."
  (if (and hashes (agent-q-diff-live--utf-8-p live))
      (car hashes)
    (agent-q-diff-live--hash live)))

(defun agent-q-diff-live-hash-after (live hashes)
  "Return a hash of the bytes that the file of LIVE has now.
HASHES is as for `agent-q-diff-live-hash-before'; the hash of the new text
is taken from there if nobody has written the file since."
  (let ((name (agent-q-diff-live-name live)))
    (if (and hashes
             (agent-q-diff-live-written live)
             (equal (agent-q-diff-live-written live)
                    (agent-q-diff-live--identity name)))
        (cdr hashes)
      (agent-q-diff-live--hash-of-file name))))

(defun agent-q-diff-live--identity (name)
  "Return attributes of the file NAME that change when it is written.
They do not change when it is renamed."
  (pcase (agent-q-diff-disk-attributes name)
    (`(,size ,modified ,_ ,inode) (list size modified inode))))

(defun agent-q-diff-live--hash (live)
  "Return a hash of the bytes that LIVE has, or would have, in its file."
  (or (agent-q-diff-live--hash-of-text live)
      (agent-q-diff-live--hash-of-bytes live)))

(defun agent-q-diff-live--hash-of-text (live)
  "Return a hash of LIVE by its text in memory, or nil if its bytes differ."
  (let ((text (agent-q-diff-live-text live))
        (coding (agent-q-diff-live--write-coding live)))
    (and (multibyte-string-p text)
         (if (agent-q-diff-live-bytes live)
             (agent-q-diff-live--utf-8-p live)
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
      (agent-q-diff-live--hash (agent-q-diff-live--read-buffer name buffer))
    (secure-hash 'sha256 (agent-q-diff-file-bytes name))))

;;; Replacing parts of a file

(defun agent-q-diff-write-saves-p (live)
  "Return non-nil if an edit of LIVE is saved at once."
  (pcase-exhaustive (and (agent-q-diff-live-buffer live) agent-q-diff-save)
    ((or 'nil 'always) t)
    ('if-clean (not (agent-q-diff-live-unsaved-p live)))
    ('never nil)))

;;;; The new text

(defun agent-q-diff-write-result (live spans new)
  "Return the text of LIVE with each of SPANS replaced by NEW.
SPANS is a sorted list of disjoint (START . END), characters from 0."
  (let ((text (agent-q-diff-live-text live))
        (done 0)
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
  (let ((char (agent-q-diff-coding-unencodable
               0 (length new) (agent-q-diff-live--write-coding live) new)))
    (when char
      (agent-q-diff-file-refuse
       "the file's coding system %s cannot encode the character %c"
       (agent-q-diff-live-coding live) char))))

(defun agent-q-diff-write--check-writable (name)
  "Refuse the file NAME if it cannot be written or somebody else is editing it."
  (let ((holder (agent-q-diff-disk-lock-holder name)))
    (when holder
      (agent-q-diff-file-refuse "%s is locked by %s" name holder)))
  (unless (file-writable-p name)
    (agent-q-diff-file-refuse "%s cannot be written" name)))

(defun agent-q-diff-write--byte-spans (text spans)
  "Return SPANS of TEXT, counted in the bytes of its representation in memory."
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

(defun agent-q-diff-write--insert-bytes (live spans new)
  "Insert the bytes of LIVE with each of SPANS replaced by NEW.
The current buffer is empty and holds bytes.  If possible, the bytes of the
rest are reused instead of encoding the whole text, which is much faster."
  (let ((coding (agent-q-diff-live--write-coding live)))
    (if (agent-q-diff-live--utf-8-p live)
        (let ((new-bytes (encode-coding-string new coding)))
          (insert (agent-q-diff-live-bytes live))
          (pcase-dolist (`(,start . ,end)
                         (reverse (agent-q-diff-write--byte-spans
                                   (agent-q-diff-live-text live) spans)))
            (delete-region (1+ start) (1+ end))
            (goto-char (1+ start))
            (insert new-bytes)))
      (insert (agent-q-diff-coding-encode (agent-q-diff-write-result live spans new)
                                          coding)))))

(defun agent-q-diff-write--to-file (live spans new check)
  "Replace SPANS by NEW in the file of LIVE.
CHECK and the value are as for `agent-q-diff-write'."
  (agent-q-diff-write--check-encodable live new)
  (let ((name (agent-q-diff-live-name live))
        (is-written nil))
    (agent-q-diff-write--check-writable name)
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (agent-q-diff-write--insert-bytes live spans new)
      (let ((inhibit-quit t))
        (condition-case nil
            (let ((inhibit-quit nil))
              (agent-q-diff-file-replace (file name)
                (progn
                  (agent-q-diff-file-put nil 'no-conversion file)
                  (when (agent-q-diff-live--utf-8-p live)
                    (setf (agent-q-diff-live-written live)
                          (agent-q-diff-live--identity file))))
                (progn
                  (funcall check)
                  (unless (agent-q-diff-file-has-bytes-p name (agent-q-diff-live-bytes live))
                    (agent-q-diff-file-refuse "%s was changed meanwhile" name)))
                (setq is-written t)))
          (quit (unless is-written (signal 'quit nil))))
        ;; Too late to quit: the file is written, and the caller must learn that.
        (setq quit-flag nil)))
    (list :saved t)))

(defun agent-q-diff-live--written-p (buffer)
  "Return non-nil if the last save of BUFFER has reached the disk.
Either we wrote its file, whatever was edited afterwards, or the file has
its text.  A hook may have killed BUFFER after we wrote the file."
  (or (not (buffer-live-p buffer))
      (agent-q-diff-disk-ours-p buffer)
      (agent-q-diff-disk-in-file-p buffer)))

(defun agent-q-diff-write--to-buffer (live spans new check)
  "Replace SPANS by NEW in the buffer of LIVE; save it if it is to be saved.
CHECK and the value are as for `agent-q-diff-write'."
  (let ((buffer (agent-q-diff-live-buffer live))
        (is-saving (agent-q-diff-write-saves-p live)))
    (funcall check)
    (let ((tick (agent-q-diff-apply-replacement buffer spans new is-saving check)))
      (list :saved (and is-saving (agent-q-diff-live--written-p buffer))
            :altered (/= tick (agent-q-diff-base-tick buffer))))))

(defun agent-q-diff-write (live spans new check)
  "Replace each of SPANS of LIVE by NEW, and write the result.
SPANS is a sorted list of disjoint (START . END), characters of the text
of LIVE from 0.  CHECK is a function that is called just before writing and
signals an error if the file must not be written after all.

Return a plist: :saved is non-nil if the change is in the file, :altered
is non-nil if saving changed more than that, as hooks may.  If anything
fails, signal an error; then text and file are as they were."
  (agent-q-diff-file-uncached
    (if (agent-q-diff-live-buffer live)
        (agent-q-diff-write--to-buffer live spans new check)
      (agent-q-diff-write--to-file live spans new check))))

(provide 'agent-q-diff-live)
;;; agent-q-diff-live.el ends here
