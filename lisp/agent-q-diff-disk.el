;;; agent-q-diff-disk.el --- How a buffer and its file differ  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Another program can write a file while a buffer visits it.  This file
;; remembers what the file was when buffer and file last agreed, reports how
;; they differ now, and lets a buffer without unsaved edits follow its file.
;; It refuses to edit a buffer whose file others edit or have changed.
;;
;; If a buffer has unsaved edits of a file that was written since, or shows it in
;; another way than it was written, what is decided about that is carried out in a
;; copy, a buffer that has just what the file has.  The user's buffer then follows,
;; or gets a merge of both.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)

(declare-function smerge-mode "smerge-mode" (&optional arg))
(defvar vc-handled-backends)
(defvar global-auto-revert-ignore-buffer)

;;;; What is known of the file

(defun agent-q-diff-disk-attributes (name &optional attributes)
  "Return attributes of the file NAME that change when it is written, or nil.
They are (SIZE MODIFIED STATUS-CHANGED INODE).  The time of the last status
change reveals even a write after which the modification time was reset.
ATTRIBUTES are from `file-attributes', if the caller has just got them."
  (when-let ((attributes (or attributes (agent-q-diff-file-uncached (file-attributes name)))))
    (list (file-attribute-size attributes)
          (file-attribute-modification-time attributes)
          (file-attribute-status-change-time attributes)
          (file-attribute-inode-number attributes))))

(defvar-local agent-q-diff-disk--agreed nil
  "What the file was when it and the buffer were last known to agree.
The value is nil if they did not agree.  Otherwise it is
  (TRUENAME ATTRIBUTES HOW TICK IS-RECENT IS-MISREAD).

TRUENAME is the file's name without links.  ATTRIBUTES are those of
`agent-q-diff-disk-attributes', nil if there was no file.  HOW says how
that is known: `written' if we wrote the file, `read' if it was read and
compared, nil if only Emacs's record of its time says so.  TICK is the
buffer's tick then; see `agent-q-diff-base-tick'.  If IS-RECENT is
non-nil, another program may have written the file since without any change
of ATTRIBUTES; see `agent-q-diff-disk--recent-p'.  For IS-MISREAD see
`agent-q-diff-disk--misread-p'.")
(put 'agent-q-diff-disk--agreed 'permanent-local t)

(defvar-local agent-q-diff-disk--base nil
  "What this buffer last read from its file or saved, while it has unsaved edits.
The value is nil if that is not known, else (TEXT CODING MODTIME . MERGED).
MODTIME is as from `visited-file-modtime'; the value counts while the buffer has
just that.  MERGED is nil, or what was merged last, (BASE OURS RESULT).")
(put 'agent-q-diff-disk--base 'permanent-local t)

(defun agent-q-diff-disk-note (&optional how attributes)
  "Note that the current buffer and its file agree.
HOW is as in `agent-q-diff-disk--agreed'.  ATTRIBUTES are those that the
file had just before it was read; nil means to get them now."
  (let* ((truename (file-truename buffer-file-name))
         (attributes (or attributes (agent-q-diff-disk-attributes truename))))
    (setq agent-q-diff-disk--agreed
          (list truename attributes how (agent-q-diff-base-tick)
                (agent-q-diff-disk--recent-p truename how attributes)
                (and (not (eq how 'written))
                     (agent-q-diff-disk--misread-p))))))

(defconst agent-q-diff-disk--overlong
  "[\300\301][\200-\277]\\|\340[\200-\237]\\|\360[\200-\217]\\|\370[\200-\207]"
  "Regexp for the bytes with which overlong sequences begin.")

(defun agent-q-diff-disk--misread-p ()
  "Return non-nil if the current buffer does not have the bytes of its file.
When Emacs detects UTF-8, it reads overlong sequences, which are not UTF-8, as
other characters, and would write these."
  (and enable-multibyte-characters
       (not (agent-q-diff-coding-all-ascii-p))
       (not (buffer-modified-p))
       (eq 'utf-8 (coding-system-type (agent-q-diff-coding-of-buffer)))
       (agent-q-diff-file-regular-p buffer-file-name)
       (let ((name buffer-file-name))
         (with-temp-buffer
           (set-buffer-multibyte nil)
           (insert-file-contents-literally name)
           (re-search-forward agent-q-diff-disk--overlong nil t)))
       (not (agent-q-diff-disk--same-bytes-p))))


(defun agent-q-diff-disk--recent-p (name how attributes)
  "Return non-nil if the file NAME can be written and keep its ATTRIBUTES.
TRAMP gives times in whole seconds, so a file that was written in this second
can be written again with the same time and size.  HOW is as in
`agent-q-diff-disk--agreed'.  The other host's clock may be ahead, or behind,
so what we have just written always counts as recent."
  (and attributes
       (file-remote-p name)
       (or (eq how 'written)
           (time-less-p (time-subtract nil 3) (nth 1 attributes)))))

(defun agent-q-diff-disk-watch (buffer &optional was-read)
  "Note the state of the file of BUFFER, unless it is already known.
WAS-READ is non-nil if BUFFER was just read from the file."
  (agent-q-diff-file-uncached
    (with-current-buffer buffer
      (unless (equal (nth 0 agent-q-diff-disk--agreed) (file-truename buffer-file-name))
        (if (verify-visited-file-modtime buffer)
            (agent-q-diff-disk-note (and was-read 'read))
          (setq agent-q-diff-disk--agreed nil))))))

;;;; The buffer

(defun agent-q-diff-disk-visitor (name &optional attributes)
  "Return the buffer that visits the file NAME, which is resolved, or nil.
ATTRIBUTES are from `file-attributes', if the caller has just got them.
`find-buffer-visiting' resolves NAME again, so it is only called if some
buffer may visit that file."
  (let ((last-part (file-name-nondirectory name))
        (number (nthcdr 10 (or attributes (file-attributes name)))))
    (and (cl-loop for buffer in (buffer-list)
                  for visited = (buffer-file-name buffer)
                  for truename = (buffer-local-value 'buffer-file-truename buffer)
                  thereis (and visited
                               (or (equal name visited)
                                   (equal number (buffer-local-value 'buffer-file-number buffer))
                                   ;; Only then is it worth abbreviating.
                                   (and truename
                                        (string-suffix-p last-part truename)
                                        (equal (abbreviate-file-name name) truename)))))
         (find-buffer-visiting name))))

;;;; Comparing

(defun agent-q-diff-disk--same-marks-p ()
  "Return non-nil if the file has the line ends and mark that saving would write.
The text does not tell: it was read as CRLF whether or not each line had CR, and
with a byte order mark whether or not the file had one."
  (or (and (eq 0 (coding-system-eol-type buffer-file-coding-system))
           (not (string-suffix-p "-with-signature"
                                 (symbol-name (coding-system-base buffer-file-coding-system)))))
      (agent-q-diff-disk--same-bytes-p)))

(defun agent-q-diff-disk--same-bytes-p ()
  "Return non-nil if the file has the bytes of the current buffer's text.
If `save-buffer-coding-system' is set, these differ until it is saved."
  (let ((bytes (agent-q-diff-file-bytes buffer-file-name)))
    (seq-some (lambda (coding)
                (equal bytes (agent-q-diff-coding-buffer-bytes coding)))
              (list (agent-q-diff-coding-of-buffer) buffer-file-coding-system))))

(defun agent-q-diff-disk--reads-same-p ()
  "Return non-nil if visiting the file again would show the buffer's text."
  (and (agent-q-diff-file-regular-p buffer-file-name)
       (or (agent-q-diff-disk--reads-same-in-p buffer-file-coding-system)
           (and save-buffer-coding-system
                (agent-q-diff-disk--reads-same-in-p save-buffer-coding-system))
           ;; Half a surrogate pair is decoded differently when the coding
           ;; system is given than when it is detected.
           (agent-q-diff-disk--same-bytes-p))))

(defun agent-q-diff-disk--reads-same-in-p (coding)
  "Return non-nil if visiting the file in CODING would show the buffer's text."
  (let ((buffer (current-buffer))
        (file buffer-file-name))
    (with-temp-buffer
      (let ((coding-system-for-read coding)
            (format-alist nil))
        (insert-file-contents file)
        (agent-q-diff-text-equal-p buffer (current-buffer))))))

(defun agent-q-diff-disk-state (buffer)
  "Return how the file of BUFFER has changed since the two agreed, or nil.
The value is nil if it has not changed, else one of these symbols:

`changed'    It has other content.
`deleted'    It does not exist any more.
`irregular'  It is now a directory, a FIFO or the like.
`moved'      Its name leads to another file, through a link.
`unreadable' It cannot be read any more, or its host cannot be reached, so it
             is not known what it holds.
`misread'    Emacs has misread some of its bytes, and would write others.
`decoded'    BUFFER shows it without its markup, as `enriched-mode' does, so
             that its text is not what an agent has read.

Bytes decide, not times: a file that was merely touched has not changed.
If BUFFER has unsaved edits, and it is not known from what text it was made,
the bytes cannot be compared any more, and `changed' is the safe answer."
  (condition-case nil
      (agent-q-diff-file-uncached
        (with-current-buffer buffer
          (pcase-let ((`(,truename ,attributes ,_ ,_ ,is-recent ,is-misread)
                       agent-q-diff-disk--agreed))
            (cond
             ((null buffer-file-name) nil)
             (buffer-file-format 'decoded)
             ((and agent-q-diff-disk--agreed
                   (equal truename (file-truename buffer-file-name))
                   (equal attributes (agent-q-diff-disk-attributes truename))
                   ;; With unsaved edits, the texts cannot be compared.
                   (or (not is-recent) (buffer-modified-p)))
              (and is-misread 'misread))
             ((not (file-exists-p buffer-file-name))
              (cond
               ((or attributes (null agent-q-diff-disk--agreed)) 'deleted)
               ((not (equal truename (file-truename buffer-file-name))) 'moved)))
             ((not (agent-q-diff-file-regular-p buffer-file-name)) 'irregular)
             ((and truename (not (equal truename (file-truename buffer-file-name)))) 'moved)
             ((not (file-readable-p buffer-file-name)) 'unreadable)
             ((agent-q-diff-disk--agrees-again-p)
              (and (nth 5 agent-q-diff-disk--agreed) 'misread))
             (t 'changed)))))
    (file-error 'unreadable)))

;;;; Other ways of showing a file

(defun agent-q-diff-disk-formatted-p (buffer)
  "Return non-nil if the text of BUFFER is made of its file's by Lisp.
That is so where markup is hidden, as by `enriched-mode', and in `hexl-mode'.
What only its mode can do, such as to read it again, may ask questions."
  (with-current-buffer buffer
    (or buffer-file-format write-contents-functions)))

(defun agent-q-diff-disk-shows-p (buffer coding &optional strictly)
  "Return non-nil if BUFFER has the lines of its file, which is in CODING.
Its user, the text itself, or a mode can have it read in another way.  If the
file is not in CODING any more, and STRICTLY is nil, that does not count."
  (with-current-buffer buffer
    (and (not (agent-q-diff-disk-formatted-p buffer))
         (let ((own (or buffer-file-coding-system 'undecided)))
           (or (agent-q-diff-coding-same-p own coding)
               (let ((text (agent-q-diff-text-in buffer)))
                 (cl-flet ((same-p (coding)
                             (agent-q-diff-coding-same-p
                              (agent-q-diff-coding-completed text own coding) coding)))
                   (or (same-p coding)
                       (and (not strictly)
                            (agent-q-diff-file-regular-p buffer-file-name)
                            (pcase (ignore-error agent-q-diff-bad-target
                                     (agent-q-diff-coding-decode-bytes
                                      buffer-file-name
                                      (agent-q-diff-file-bytes buffer-file-name)
                                      t))
                              (`(,_ . ,now) (same-p now))))))))))))

(defun agent-q-diff-disk-behind-p (buffer)
  "Return non-nil if the file of BUFFER was written, and BUFFER has unsaved edits."
  (and (buffer-live-p buffer)
       (buffer-modified-p buffer)
       (eq 'changed (agent-q-diff-disk-state buffer))))

(defun agent-q-diff-disk--agrees-again-p ()
  "Return non-nil if the current buffer agrees with its file, and note that.
The user may have reverted or saved it, or the file was only touched."
  (let ((noted (nth 1 agent-q-diff-disk--agreed))
        (attributes (agent-q-diff-disk-attributes (file-truename buffer-file-name))))
    (cond
     ((and (verify-visited-file-modtime (current-buffer))
           (or (null noted)
               (not (time-equal-p (visited-file-modtime) (nth 1 noted)))))
      (agent-q-diff-disk-note)
      t)
     ((and (not (buffer-modified-p))
           (agent-q-diff-disk--reads-same-p)
           (agent-q-diff-disk--same-marks-p))
      (set-visited-file-modtime (nth 1 attributes))
      (agent-q-diff-disk-note 'read attributes)
      t)
     ((and (buffer-modified-p)
           (agent-q-diff-disk--has-base-p))
      (set-visited-file-modtime (nth 1 attributes))
      (agent-q-diff-disk-note nil attributes)
      (setf (nth 2 agent-q-diff-disk--base) (visited-file-modtime))
      t))))

(defun agent-q-diff-disk-in-file-p (buffer)
  "Return non-nil if the file of BUFFER certainly has the text of BUFFER."
  (with-current-buffer buffer
    (and buffer-file-name
         (not (agent-q-diff-disk-state buffer))
         (not (agent-q-diff-disk-unsaved-p buffer))
         (agent-q-diff-disk--known-in-file-p))))

(defun agent-q-diff-disk-unsaved-p (buffer)
  "Return non-nil if BUFFER has edits that are not in its file.
The file is read unless the answer is known.  Emacs's own flag is not
enough: `not-modified' or a hook may clear it although nothing is written.
But if the file has changed meanwhile, see `agent-q-diff-disk-state', only
the flag counts."
  (agent-q-diff-file-uncached
    (with-current-buffer buffer
      (or (buffer-modified-p)
          (and buffer-file-name
               (not (agent-q-diff-disk--known-in-file-p))
               (not (agent-q-diff-disk-state buffer))
               (if (file-exists-p buffer-file-name)
                   (not (agent-q-diff-disk--note-unedited))
                 (< 0 (buffer-size))))))))

(defun agent-q-diff-disk--note-unedited ()
  "Return non-nil if visiting the file again would show the buffer's text.
If the line ends are the same as well, note that the two agree."
  (let ((attributes (agent-q-diff-disk-attributes (file-truename buffer-file-name))))
    (when (agent-q-diff-disk--reads-same-p)
      (when (agent-q-diff-disk--same-marks-p)
        (agent-q-diff-disk-note 'read attributes))
      t)))

(defun agent-q-diff-disk--known-in-file-p ()
  "Return non-nil if the text was in the file when the two last agreed.
It still is, unless the file has changed since."
  (pcase agent-q-diff-disk--agreed
    (`(,_ ,_ ,(pred identity) ,tick . ,_) (eql tick (agent-q-diff-base-tick)))))

(defun agent-q-diff-disk-ours-p (buffer)
  "Return non-nil if we wrote the file of BUFFER when the two last agreed."
  (eq 'written (nth 2 (buffer-local-value 'agent-q-diff-disk--agreed buffer))))

;;;; Following the file

(defvar-local agent-q-diff-disk-copied nil
  "The buffer of whose file this buffer has the text, or nil.
That buffer does not have it.  Emacs takes this one for no buffer of the file,
since it visits it under a name that is spelled in another way.")

(defun agent-q-diff-disk-sync (buffer)
  "Let BUFFER follow its file if that has changed and BUFFER has no unsaved edits.
Return `followed' if it did, and nil if there was no need, or if its bytes
had been misread and are read again.  Otherwise return what
`agent-q-diff-disk-state' says: BUFFER differs from its file
and must not be saved over it."
  (agent-q-diff-file-uncached
    (let ((state (agent-q-diff-disk-state buffer)))
      (if (and (memq state '(changed misread)) (not (buffer-modified-p buffer)))
          (with-current-buffer buffer
            (if agent-q-diff-disk-copied
                (agent-q-diff-disk--insert-changes buffer-file-name)
              (agent-q-diff-disk--revert (eq state 'misread)))
            (cond
             ((agent-q-diff-disk-state buffer) state)
             ((eq state 'changed) 'followed)))
        state))))

(defun agent-q-diff-disk--read-again (file &rest _)
  "Replace the text of the current buffer by that of FILE, read as UTF-8.
This is a value for `revert-buffer-insert-file-contents-function', for a
buffer that was misread: Emacs reads every byte if it need not detect UTF-8."
  (let ((coding-system-for-read
         (coding-system-change-text-conversion buffer-file-coding-system 'utf-8)))
    (agent-q-diff-file-check-regular file)
    (widen)
    (erase-buffer)
    (insert-file-contents file t)))

(defun agent-q-diff-disk--revert (&optional is-misread)
  "Replace the lines of the current buffer that differ from its file.
If IS-MISREAD is non-nil, read all of it again, so that its bytes are kept.
Point, markers and overlays stay on their lines.
The hooks of `revert-buffer' run; an error in one of them is shown."
  (let ((revert-buffer-insert-file-contents-function
         (if is-misread
             #'agent-q-diff-disk--read-again
           #'agent-q-diff-disk--insert-changes))
        (coding-system-for-read nil))
    (setq agent-q-diff-disk--agreed nil)
    (condition-case err
        (save-excursion
          (let ((inhibit-message t)
                (inhibit-interaction t)
                ;; `after-find-file' sets it; the user's choice stays.
                (buffer-read-only buffer-read-only))
            (revert-buffer t t t)))
      (error (message "While %s was reverted: %s" (buffer-name)
                      (error-message-string err)))))
  (when (and (null agent-q-diff-disk--agreed)
             (not (buffer-modified-p))
             (verify-visited-file-modtime (current-buffer)))
    (agent-q-diff-disk-note)))

(defun agent-q-diff-disk--insert-changes (file &rest _)
  "Replace the lines of the current buffer that differ from FILE.
This is a value for `revert-buffer-insert-file-contents-function'."
  (pcase-let ((`(,text ,coding ,attributes) (agent-q-diff-disk--read file))
              (modtime (visited-file-modtime))
              (is-done nil))
    ;; Otherwise the first edit would ask whether to edit a changed file.  And
    ;; undo would mark the old text as unmodified if the file still had the
    ;; time that is recorded with the first edit.
    (clear-visited-file-modtime)
    (unwind-protect
        (let ((inhibit-read-only t)
              (create-lockfiles nil))
          (agent-q-diff-coding-note-charsets text)
          (atomic-change-group
            (agent-q-diff-base-widened
              (agent-q-diff-disk--edit-to (substring-no-properties text)))
            (setq buffer-file-coding-system coding
                  is-done t)))
      (unless is-done
        (set-visited-file-modtime modtime)
        (set-buffer-modified-p nil)))
    (set-visited-file-modtime (nth 1 attributes))
    (set-buffer-modified-p nil)
    (set-buffer-auto-saved)
    (agent-q-diff-disk-note 'read attributes)))

(defun agent-q-diff-disk--read (file)
  "Return (TEXT CODING ATTRIBUTES) of FILE as the current buffer would show it.
TEXT may have the property `charset'.  ATTRIBUTES are from before it was read."
  (agent-q-diff-file-check-regular file)
  (let* ((attributes (agent-q-diff-disk-attributes (file-truename file)))
         (is-multibyte enable-multibyte-characters)
         (explicit (if is-multibyte
                       (car buffer-file-coding-system-explicit)
                     ;; Its text is bytes, and must stay bytes.
                     (or buffer-file-coding-system 'no-conversion))))
    (with-temp-buffer
      (set-buffer-multibyte is-multibyte)
      (let ((coding-system-for-read explicit)
            (format-alist nil))
        (insert-file-contents file)
        (list (buffer-string)
              (if is-multibyte last-coding-system-used explicit)
              attributes)))))

(defun agent-q-diff-disk--edit-to (text)
  "Replace the lines of the current buffer that differ from TEXT."
  (when-let ((part (agent-q-diff-disk--edits (agent-q-diff-text-in (current-buffer)) text)))
    (agent-q-diff-text-replace-lines (agent-q-diff-engine-part-edits part)
                                     (agent-q-diff-engine-part-offsets part))))

(defun agent-q-diff-disk--edits (from to)
  "Return the `agent-q-diff-engine-part' with the edits of the text FROM to TO.
If these are the same, return nil."
  (unless (equal from to)
    (let ((engine (agent-q-diff-engine-review from to)))
      (unwind-protect
          (car (agent-q-diff-engine-planned-parts
                (agent-q-diff-engine-plan-all engine 'accept)))
        (agent-q-diff-module-free engine)))))

;;;; A copy of what the file has

(defvar-local agent-q-diff-disk--copies nil
  "Buffers that were made by `agent-q-diff-disk-copy' of the file of this buffer.")
(put 'agent-q-diff-disk--copies 'permanent-local t)

(defun agent-q-diff-disk-copy (buffer coding)
  "Return a new buffer with what the file of BUFFER has, which is not its text.
It is read in CODING, so that its bytes stay as they are."
  (let* ((file (buffer-file-name buffer))
         (directory (file-name-directory file))
         (copy (generate-new-buffer (format " *%s on disk*" (buffer-name buffer)))))
    (condition-case err
        (with-current-buffer copy
          (buffer-enable-undo)
          (set-buffer-multibyte (not (eq 'raw-text (coding-system-type coding))))
          (setq buffer-file-name (concat directory "./" (file-name-nondirectory file))
                default-directory directory
                buffer-backed-up (buffer-local-value 'buffer-backed-up buffer)
                backup-inhibited (buffer-local-value 'backup-inhibited buffer)
                ;; For its colors, and for what white space means.
                major-mode (buffer-local-value 'major-mode buffer)
                agent-q-diff-disk-copied buffer)
          (agent-q-diff-disk-set-coding copy coding)
          (setq-local create-lockfiles nil
                      vc-handled-backends nil
                      global-auto-revert-ignore-buffer t)
          (agent-q-diff-disk--insert-changes buffer-file-name)
          (setq buffer-undo-list nil))
      (error
       (agent-q-diff-disk-drop-copy copy)
       (signal (car err) (cdr err))))
    (with-current-buffer buffer
      (setq agent-q-diff-disk--copies
            (cons copy (seq-filter #'buffer-live-p agent-q-diff-disk--copies))))
    copy))

(defun agent-q-diff-disk-set-coding (copy coding)
  "Have COPY, which has the bytes of its file in CODING, read and saved in that."
  (with-current-buffer copy
    (setq buffer-file-coding-system coding
          buffer-file-coding-system-explicit (cons coding coding))))

(defun agent-q-diff-disk-hide-copy (copy)
  "Have Emacs take COPY for no buffer of its file, after it was saved."
  (with-current-buffer copy
    (setq buffer-file-number nil
          buffer-file-truename nil)))

(defun agent-q-diff-disk-drop-copy (copy)
  "Kill COPY, which is from `agent-q-diff-disk-copy'."
  (with-current-buffer copy
    (set-buffer-modified-p nil)
    (setq buffer-file-name nil))
  (kill-buffer copy))

(defun agent-q-diff-disk-has-copy-p (buffer)
  "Return non-nil if what is decided about the file of BUFFER is done in a copy."
  (seq-some #'buffer-live-p (buffer-local-value 'agent-q-diff-disk--copies buffer)))

(defun agent-q-diff-disk-copy-needed-p (copy file coding)
  "Return non-nil if COPY is of a buffer that visits FILE and lacks its text.
CODING is that of FILE."
  (let ((buffer (buffer-local-value 'agent-q-diff-disk-copied copy)))
    (and (buffer-live-p buffer)
         (or (buffer-modified-p buffer)
             (not (agent-q-diff-disk-shows-p buffer coding 'strictly)))
         (eq buffer (find-buffer-visiting file)))))

(defun agent-q-diff-disk-place (buffer position)
  "Return (BUFFER . POSITION) at which the user is shown POSITION of BUFFER.
If BUFFER is a copy, that is in the user's own buffer."
  (let ((user (buffer-local-value 'agent-q-diff-disk-copied buffer)))
    (if (not (buffer-live-p user))
        (cons buffer position)
      (let* ((line (with-current-buffer buffer
                     (1- (line-number-at-pos position t))))
             (part (agent-q-diff-disk--edits (agent-q-diff-text-in buffer)
                                             (agent-q-diff-text-in user)))
             (edits (and part (agent-q-diff-engine-part-edits part))))
        (cons user
              (agent-q-diff-text-position
               user
               (cl-loop for (at n text) in edits
                        when (<= (+ at n) line) sum (- (cl-count ?\n text) n) into shift
                        finally return (+ line (or shift 0)))))))))

;;;; Unsaved edits and the file, merged

(defun agent-q-diff-disk-note-base ()
  "Keep the text of the current buffer, before its first unsaved edit."
  (agent-q-diff-disk--set-base (agent-q-diff-text-in (current-buffer))))

(defun agent-q-diff-disk--set-base (text &rest merged)
  "Note that the current buffer was made from TEXT.
MERGED is as in `agent-q-diff-disk--base'."
  (setq agent-q-diff-disk--base
        `(,text ,buffer-file-coding-system ,(visited-file-modtime) . ,merged)))

(defun agent-q-diff-disk-drop-base ()
  "Forget what `agent-q-diff-disk-note-base' kept: the buffer is saved."
  (setq agent-q-diff-disk--base nil))

(defun agent-q-diff-disk--base-known-p ()
  "Return non-nil if it is known from what text the current buffer was made."
  (and agent-q-diff-disk--base
       (time-equal-p (nth 2 agent-q-diff-disk--base) (visited-file-modtime))))

(defun agent-q-diff-disk--has-base-p ()
  "Return non-nil if the file has the text from which the current buffer was made."
  (and (agent-q-diff-disk--base-known-p)
       (pcase-let ((`(,text ,coding . ,_) (agent-q-diff-disk--read buffer-file-name)))
         (and (equal text (car agent-q-diff-disk--base))
              (agent-q-diff-coding-same-p coding (nth 1 agent-q-diff-disk--base))))))

(defun agent-q-diff-disk--undone ()
  "Return the text before the first unsaved edit by the undo list, or nil.
It is nil if that list does not reach back to it, or was not only typing."
  (let ((changes nil)
        (list (and (listp buffer-undo-list) buffer-undo-list)))
    (while (and list (not (eq t (car-safe (car list)))))
      (pcase (pop list)
        ((and `(,(or (pred integerp) (pred stringp)) . ,_) change) (push change changes))
        ;; A function was called, so it is not known what it did.
        (`(apply . ,_) (setq list nil))))
    (when (and list
               (time-equal-p (cdar list) (visited-file-modtime)))
      (let ((text (agent-q-diff-text-in (current-buffer)))
            (is-multibyte enable-multibyte-characters))
        (with-temp-buffer
          (set-buffer-multibyte is-multibyte)
          (insert text)
          (setq buffer-undo-list t)
          (ignore-errors
            (primitive-undo 1 (nreverse changes))
            (buffer-string)))))))

(defun agent-q-diff-disk--merge-texts (base ours theirs)
  "Return (N-CONFLICTS . TEXT), the merge of OURS and THEIRS, made from BASE."
  (pcase-let ((`(,n . ,text) (agent-q-diff-engine-call #'agent-q-diff-module-merge-texts
                                                       base ours theirs nil)))
    (cons n (agent-q-diff-engine-text text))))

(defun agent-q-diff-disk--parts (text)
  "Return TEXT in parts: strings, and for each conflict a list of strings.
It is (WHOLE OURS ORIGINAL THEIRS).  A merge of ours has marked these conflicts."
  (with-temp-buffer
    (insert text)
    (goto-char (point-min))
    (let ((from (point))
          parts)
      (while (re-search-forward "^<<<<<<< ours\n" nil t)
        (let ((beg (match-beginning 0))
              (start (point))
              pieces)
          (when (seq-every-p (lambda (mark)
                               (when (re-search-forward mark nil t)
                                 (push (buffer-substring start (match-beginning 0)) pieces)
                                 (setq start (point))))
                             '("^||||||| original\n" "^=======\n" "^>>>>>>> theirs\n"))
            (push (buffer-substring from beg) parts)
            (push (cons (buffer-substring beg (point)) (nreverse pieces)) parts)
            (setq from (point)))))
      (nreverse (cons (buffer-substring from (point-max)) parts)))))

(defun agent-q-diff-disk--conflicts (text)
  "Return a list of the conflicts in TEXT that a merge of ours has marked."
  (mapcar #'car (seq-filter #'consp (agent-q-diff-disk--parts text))))

(defun agent-q-diff-disk--with-part (text n &optional only)
  "Return TEXT with the part N of each of its conflicts in their place.
N is as for `nth' of an element of `agent-q-diff-disk--parts'.  ONLY, if it is
non-nil, is a list of those conflicts that are meant."
  (mapconcat (lambda (part)
               (cond
                ((stringp part) part)
                ((or (null only) (member (car part) only)) (nth n part))
                (t (car part))))
             (agent-q-diff-disk--parts text) ""))

(defun agent-q-diff-disk--nested (text)
  "Return the conflicts in TEXT that are inside others, a list of first lines."
  (let ((depth 0)
        nested)
    (dolist (line (split-string text "\n"))
      (cond
       ((string-prefix-p "<<<<<<< " line)
        (when (< 0 depth)
          (push line nested))
        (cl-incf depth))
       ((and (string-prefix-p ">>>>>>> " line) (< 0 depth))
        (cl-decf depth))))
    nested))

(defun agent-q-diff-disk--merged (text)
  "Return (N-CONFLICTS RESULT . MERGED), the current buffer merged with TEXT.
MERGED is as in `agent-q-diff-disk--base'.  If it is not known what the buffer
would have if others had not written the file, what was merged is merged again:
of each conflict that is left, each part by itself."
  (pcase-let* ((`(,base ,_ ,_ . ,merged) agent-q-diff-disk--base)
               (live (agent-q-diff-text-in (current-buffer)))
               (`(,first . ,ours) (agent-q-diff-disk--ours merged live))
               (result
                (cond
                 (ours (cdr (agent-q-diff-disk--merge-texts first ours text)))
                 ((or (string-search "<<<<<<< ours\n" base)
                      (null (agent-q-diff-disk--conflicts live)))
                  (cdr (agent-q-diff-disk--merge-texts base live text)))
                 (t (agent-q-diff-disk--merge-conflicts base live text)))))
    (when (or (seq-difference (agent-q-diff-disk--nested result) (agent-q-diff-disk--nested live))
              (agent-q-diff-disk--loses-p base live result))
      (agent-q-diff-file-refuse
       "it has a conflict where the file was written; resolve that, and the next key merges them"))
    `(,(length (agent-q-diff-disk--conflicts result)) ,result
      . ,(cond
          (ours (list first ours result))
          ((null (agent-q-diff-disk--conflicts live)) (list base live result))))))

(defvar-local agent-q-diff-disk--marked nil
  "The lines of the conflicts in this buffer that merges of ours have put there.
Those that the user has typed are not among them, wherever in a conflict.")
(put 'agent-q-diff-disk--marked 'permanent-local t)

(defun agent-q-diff-disk--lines (texts)
  "Return a hash table with the lines of TEXTS."
  (let ((lines (make-hash-table :test #'equal)))
    (dolist (text texts lines)
      (dolist (line (split-string text "\n"))
        (puthash line t lines)))))

(defun agent-q-diff-disk--of-others (text result)
  "Return those lines of conflicts in RESULT that are not the user's.
RESULT is the merge of the current buffer with TEXT."
  (let ((known (agent-q-diff-disk--lines
                `("<<<<<<< ours\n||||||| original\n=======\n>>>>>>> theirs"
                  ,(car agent-q-diff-disk--base) ,text . ,agent-q-diff-disk--marked))))
    (seq-filter (lambda (line) (gethash line known))
                (hash-table-keys
                 (agent-q-diff-disk--lines (agent-q-diff-disk--conflicts result))))))

(defun agent-q-diff-disk--loses-p (base live result)
  "Return non-nil if a line of LIVE is neither in RESULT nor from others.
These are lines of BASE, and of conflicts as merges have marked them: what is
typed into the original or their part of one is in no other part of it."
  (let ((known (agent-q-diff-disk--lines `(,base ,result . ,agent-q-diff-disk--marked))))
    (seq-some (lambda (line) (not (gethash line known)))
              (split-string live "\n"))))

(defun agent-q-diff-disk--ours (merged live)
  "Return (BASE . OURS), of which LIVE is the merge with what others have written.
MERGED is as in `agent-q-diff-disk--base'.  What was typed since is in OURS.
Return nil if that is not certain, or a conflict has been resolved."
  (pcase merged
    (`(,base ,ours ,(pred (equal live))) (cons base ours))
    (`(,base ,ours ,result)
     (and (equal (agent-q-diff-disk--conflicts result) (agent-q-diff-disk--conflicts live))
          (pcase (agent-q-diff-disk--merge-texts result ours live)
            (`(0 . ,now) (cons base now)))))))

(defun agent-q-diff-disk--merge-conflicts (base live text)
  "Return LIVE, which was made from BASE and has conflicts, merged with TEXT.
What is theirs of a conflict follows TEXT, and then the conflict is made anew."
  (let ((theirs (agent-q-diff-disk--merge-texts
                 base (agent-q-diff-disk--with-part live 3) text)))
    (if (= 0 (car theirs))
        (cdr (agent-q-diff-disk--merge-texts (agent-q-diff-disk--with-part live 2)
                                             (agent-q-diff-disk--with-part live 1)
                                             (cdr theirs)))
      ;; Something was typed beside one of them.
      (let* ((plain (cdr (agent-q-diff-disk--merge-texts base live text)))
             (kept (agent-q-diff-disk--conflicts
                    (if (agent-q-diff-disk--nested plain) "" plain)))
             (inside (seq-difference (agent-q-diff-disk--conflicts live) kept)))
        (if (null inside)
            plain
          (cdr (agent-q-diff-disk--merge-texts
                base (agent-q-diff-disk--with-part live 1 inside) text)))))))

(defun agent-q-diff-disk-check-mergeable (buffer)
  "Signal an error if BUFFER is behind its file, and nothing is known to merge by.
See `agent-q-diff-disk-behind-p'."
  (with-current-buffer buffer
    (when (agent-q-diff-disk-behind-p buffer)
      (unless (agent-q-diff-disk--base-known-p)
        (agent-q-diff-disk--set-base
         (or (agent-q-diff-disk--undone)
             (agent-q-diff-file-refuse "%s" (agent-q-diff-disk-message buffer 'changed))))))))

(defun agent-q-diff-disk-merge (buffer &optional is-new)
  "Merge the unsaved edits of BUFFER with what was written into its file.
Return the number of conflicts, which are marked there, or nil if there was
nothing to merge, or the file is no text now.  That is one undo step; BUFFER
stays unsaved, and point, markers and overlays stay on their lines.  If it is
not known from what text it was made, signal an error.

If IS-NEW is non-nil, and the file is gone, it is merged with an empty one."
  (agent-q-diff-file-uncached
    (with-current-buffer buffer
      (agent-q-diff-disk-check-mergeable buffer)
      (cond
       ((and is-new
             (buffer-modified-p)
             (not (file-exists-p buffer-file-name))
             (agent-q-diff-disk--base-known-p))
        (agent-q-diff-disk--merge-with "" buffer-file-coding-system nil))
       ((agent-q-diff-disk-behind-p buffer)
        (pcase-let ((`(,text ,coding ,attributes) (agent-q-diff-disk--read buffer-file-name)))
          (unless (string-search "\0" text)
            (agent-q-diff-disk--merge-with (substring-no-properties text) coding
                                           attributes))))))))

(defun agent-q-diff-disk--merge-with (text coding attributes)
  "Merge the current buffer with TEXT, in CODING, of its file with ATTRIBUTES.
These are nil if there is no file.  Return the number of conflicts."
  (pcase-let ((`(,n ,result . ,merged) (agent-q-diff-disk--merged text))
              (inhibit-read-only t))
    (undo-boundary)
    (save-excursion
      (atomic-change-group
        (agent-q-diff-base-widened
          (agent-q-diff-disk--edit-to result))))
    (undo-boundary)
    (agent-q-diff-disk--take-coding coding)
    (set-visited-file-modtime (if attributes (nth 1 attributes) -1))
    (agent-q-diff-disk-note nil attributes)
    (setq agent-q-diff-disk--marked (agent-q-diff-disk--of-others text result))
    (apply #'agent-q-diff-disk--set-base text merged)
    (when (< 0 n)
      (smerge-mode))
    n))

(defun agent-q-diff-disk--take-coding (coding)
  "Have the current buffer saved in CODING, which its file has now.
If the user has chosen another one since it was read, that stays."
  (when (and enable-multibyte-characters
             (eq buffer-file-coding-system (nth 1 agent-q-diff-disk--base)))
    (let ((ends (coding-system-eol-type coding)))
      (setq buffer-file-coding-system
            (cond
             ((not (eq 'undecided (coding-system-type coding))) coding)
             ;; The file has no byte order mark any more.
             ((and buffer-file-coding-system (coding-system-get buffer-file-coding-system :bom))
              coding)
             ((and (integerp ends) buffer-file-coding-system)
              (coding-system-change-eol-conversion buffer-file-coding-system ends))
             (t buffer-file-coding-system))))))

;;;; Messages

(defconst agent-q-diff-disk--messages
  '((changed . "%s has changed on disk, and its buffer has unsaved edits; \
M-x ediff-current-file there compares them")
    (stuck . "%s has changed on disk, and its buffer cannot be updated; \
M-x revert-buffer there says why")
    (deleted . "%s was deleted on disk; save or kill its buffer first")
    (irregular . "%s is not a regular file any more; nothing is written to it")
    (moved . "%s leads elsewhere now, through a link; nothing is written there")
    (unreadable . "%s cannot be read any more; nothing is written to it")
    (misread . "Emacs has misread some bytes of %s; \
C-x RET r utf-8 RET in its buffer reads them as they are")
    (decoded . "%s is open with its markup hidden; kill its buffer to have the markup reviewed"))
  "Messages about a file, by the state that `agent-q-diff-disk-sync' returns.
The state `stuck' is a changed file that an unmodified buffer cannot follow.")

(defun agent-q-diff-disk-message (buffer state)
  "Return a message about the file of BUFFER and STATE, or nil if it is unchanged.
STATE is what `agent-q-diff-disk-sync' returned."
  (when-let ((format (alist-get (if (and (eq state 'changed)
                                         (not (buffer-modified-p buffer)))
                                    ;; A hook has kept it from following.
                                    'stuck
                                  state)
                                agent-q-diff-disk--messages)))
    (format format (agent-q-diff-visible-name
                    (expand-file-name (buffer-file-name buffer))))))

;;;; Checks before edits

(defun agent-q-diff-disk-lock-holder (name)
  "Return who else is editing the file NAME, a string, or nil."
  ;; A name can be too long for a lock file, which is a `file-error'.
  (let ((holder (ignore-error file-error (file-locked-p name))))
    (and (stringp holder) holder)))

(defun agent-q-diff-disk-check-visits (buffer path)
  "Refuse BUFFER, found by `find-buffer-visiting' for PATH, if it visits another.
Emacs compares the name without links that BUFFER had when it was visited.
A link in the name under which BUFFER is saved may lead elsewhere by now."
  (agent-q-diff-file-uncached
    (let ((name (buffer-file-name buffer)))
      (unless (or (equal (file-truename name) (file-truename path))
                  (file-equal-p name path))
        (agent-q-diff-file-refuse "%s" (agent-q-diff-disk-message buffer 'moved))))))

(provide 'agent-q-diff-disk)
;;; agent-q-diff-disk.el ends here
