;;; agent-q-diff-target.el --- The file that a review would change  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Names, visits, reads, edits and saves the target.  No user interface:
;; nothing here asks a question, and whatever cannot be done is an error
;; `agent-q-diff-bad-target' whose message says what to do about it.

;;; Code:

(require 'agent-q-diff-base)
(require 'seq)
(require 'subr-x)

(defun agent-q-diff-target--refuse (format &rest arguments)
  "Signal `agent-q-diff-bad-target' with FORMAT and ARGUMENTS."
  (signal 'agent-q-diff-bad-target (list (apply #'format format arguments))))

;;;; Naming and visiting

(defun agent-q-diff-target-name (path)
  "Return PATH, an agent's name for a file, as an absolute file name.
It is expanded against `default-directory'.  A remote name is refused
unless `default-directory' is on the same remote: merely expanding such a
name can open a connection, so that is looked at first."
  (unless (and (stringp path) (not (string-empty-p path)))
    (agent-q-diff-target--refuse "the path must be a string that is not empty"))
  (when (string-search "\0" path)
    (agent-q-diff-target--refuse "the path contains a NUL character"))
  (let ((remote (file-remote-p path)))
    (unless (or (null remote)
                (equal remote (file-remote-p default-directory)))
      (agent-q-diff-target--refuse "%s is on a remote host that nobody opened"
                                   path)))
  (substring-no-properties (expand-file-name path)))

(defun agent-q-diff-target--check-kind (path)
  "Refuse PATH unless it is, or could become, a plain text file."
  (let ((local (file-local-name path)))
    (cond
     ((directory-name-p path)
      (agent-q-diff-target--refuse "%s names a directory" path))
     ((file-directory-p path)
      (agent-q-diff-target--refuse "%s is a directory" path))
     ((and (file-exists-p path) (not (file-regular-p path)))
      (agent-q-diff-target--refuse "%s is not a regular file" path))
     ((and (file-exists-p path) (not (file-readable-p path)))
      (agent-q-diff-target--refuse "%s cannot be read" path))
     ((find-file-name-handler local 'insert-file-contents)
      (agent-q-diff-target--refuse "%s is compressed or encrypted" path))
     ((memq (assoc-default local auto-mode-alist #'string-match)
            '(archive-mode tar-mode))
      (agent-q-diff-target--refuse "%s is an archive" path)))))

(defun agent-q-diff-target--find (path)
  "Return a new buffer visiting PATH, without surprises.
Of its file-local variables only the safe ones count, none is evaluated,
and nothing is asked."
  (let ((enable-local-variables :safe)
        (enable-local-eval nil)
        (large-file-warning-threshold nil)
        (find-file-run-dired nil)
        (vc-follow-symlinks nil)
        (inhibit-message t))
    (let ((buffer (find-file-noselect path t)))
      (unless (file-exists-p path)
        ;; Emacs makes it read-only if the directory is missing as well.
        (with-current-buffer buffer
          (setq buffer-read-only nil)))
      buffer)))

(defvar vc-follow-symlinks)

(defun agent-q-diff-target-visit (path)
  "Return (BUFFER . IS-NEW) for PATH, an absolute file name.
BUFFER visits it; IS-NEW is non-nil if none did before."
  (let ((buffer (find-buffer-visiting path)))
    (if buffer
        (cons buffer nil)
      (agent-q-diff-target--check-kind path)
      (cons (agent-q-diff-target--find path) t))))

(defun agent-q-diff-target-detached (path text)
  "Return a new buffer with TEXT, what the file PATH would be.
It visits no file, so nothing done to it is ever written."
  (with-current-buffer (generate-new-buffer
                        (format "*Agent-Q Content: %s*"
                                (file-name-nondirectory path)))
    (insert text)
    (set-buffer-modified-p nil)
    (setq buffer-undo-list nil)
    (current-buffer)))

(defun agent-q-diff-target-forget-file (buffer directories)
  "Delete the file of BUFFER if nothing is in it, and DIRECTORIES.
It is a file that a review has created, with the DIRECTORIES, innermost
first, above it; those that hold anything else stay.  Return non-nil if
the file is gone."
  (when (and (buffer-live-p buffer)
             (not (buffer-modified-p buffer))
             (string-empty-p (agent-q-diff-target-text buffer)))
    (let ((file (buffer-file-name buffer)))
      (when (equal 0 (file-attribute-size (file-attributes file)))
        (delete-file file)
        ;; A buffer that stays visits a file that there is not, as before.
        (with-current-buffer buffer
          (set-visited-file-modtime -1)))
      (dolist (directory directories)
        (when (directory-empty-p directory)
          (delete-directory directory)))
      (not (file-exists-p file)))))

(defun agent-q-diff-target-missing-directories (path)
  "Return the directories above the file PATH that do not exist yet.
The innermost comes first."
  (let ((directory (file-name-directory path))
        missing)
    (while (not (file-directory-p directory))
      (push directory missing)
      (setq directory (file-name-directory (directory-file-name directory))))
    (nreverse missing)))

(defun agent-q-diff-target-forget (buffer)
  "Kill BUFFER, which a review opened, if nobody would miss it."
  (when (and (buffer-live-p buffer)
             (not (buffer-modified-p buffer))
             (not (get-buffer-window buffer t)))
    (kill-buffer buffer)))

;;;; Reading

(defun agent-q-diff-target-text (buffer)
  "Return the whole text of BUFFER as a string."
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (buffer-substring-no-properties (point-min) (point-max)))))

(defun agent-q-diff-target-tick (buffer)
  "Return a number that is another whenever the text of BUFFER is."
  (buffer-chars-modified-tick buffer))

(defun agent-q-diff-target--all-crlf-p (text)
  "Return non-nil if TEXT has lines and each of them ends with CRLF."
  (and (string-search "\n" text)
       (not (string-match-p "\\(?:\\`\\|[^\r]\\)\n" text))))

(defun agent-q-diff-target-crlf-p (buffer)
  "Return non-nil if the line ends CRLF of its file are not in BUFFER.
Each line has such an end in the file, whatever the text says.  A buffer
without a file has none."
  (let ((coding (buffer-local-value 'buffer-file-coding-system buffer)))
    (and (buffer-file-name buffer)
         coding
         (eq 1 (coding-system-eol-type coding)))))

(defun agent-q-diff-target--drop-cr-p (original live is-crlf)
  "Return non-nil if CRLF is to be LF in a proposal for a target.
ORIGINAL, LIVE and IS-CRLF are as in `agent-q-diff-target-adapter'."
  (let ((is-all (agent-q-diff-target--all-crlf-p original))
        (is-none (not (string-search "\r\n" live))))
    (and (if is-crlf (or is-all is-none) (and is-all is-none))
         (or is-none (not (equal original live))))))

(defun agent-q-diff-target-adapter (original live &optional is-crlf)
  "Return a function from a text of a proposal to one for the target.
Emacs keeps the byte order mark and the CRLF line ends of a file out of
its buffer, so a proposal made from the file's bytes differs from LIVE,
the buffer's text, in every line.  If its ORIGINAL begins with a mark and
LIVE does not, the function drops the mark.  If all lines of ORIGINAL end
with CRLF and none of LIVE does, it turns CRLF into LF, and the other way
round.  If IS-CRLF, as `agent-q-diff-target-crlf-p' has it, one of the two
is enough to turn CRLF into LF.  Otherwise, and if ORIGINAL is LIVE, it
returns its argument as it is, but for a mark."
  (let ((drop-mark (and (string-prefix-p "\ufeff" original)
                        (not (string-prefix-p "\ufeff" live))))
        (drop-cr (agent-q-diff-target--drop-cr-p original live is-crlf))
        (add-cr (and (agent-q-diff-target--all-crlf-p live)
                     (not (string-search "\r\n" original)))))
    (lambda (text)
      (let ((unmarked (if drop-mark (string-remove-prefix "\ufeff" text) text)))
        (cond
         (drop-cr (string-replace "\r\n" "\n" unmarked))
         (add-cr (replace-regexp-in-string "\r?\n" "\r\n" unmarked t t))
         (t unmarked))))))

(defun agent-q-diff-target-position (buffer line)
  "Return the position where LINE, counted from 0, begins in BUFFER."
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (save-excursion
        (goto-char (point-min))
        (forward-line line)
        (point)))))

;;;; The file behind the buffer

(defvar-local agent-q-diff-target--disk nil
  "What the file was when the buffer and it were last known to agree.
It is (ATTRIBUTES . HASH), with a hash of its bytes, or nil.")
(put 'agent-q-diff-target--disk 'permanent-local t)

(defun agent-q-diff-target-attributes (name)
  "Return attributes of the file NAME, other ones once it is written, or nil.
The time of the last change of status tells even of a writer who sets the
time of modification back."
  (let ((attributes (file-attributes name)))
    (and attributes
         (list (file-attribute-size attributes)
               (file-attribute-modification-time attributes)
               (file-attribute-status-change-time attributes)
               (file-attribute-inode-number attributes)))))

(defun agent-q-diff-target--disk-hash ()
  "Return a hash of the bytes of the current buffer's file, or nil."
  (let ((file buffer-file-name))
    (when (file-exists-p file)
      (with-temp-buffer
        (set-buffer-multibyte nil)
        (insert-file-contents-literally file)
        (secure-hash 'sha256 (current-buffer))))))

(defun agent-q-diff-target--note-disk ()
  "Note that the current buffer and its file agree."
  (setq agent-q-diff-target--disk (cons (agent-q-diff-target-attributes buffer-file-name)
                                        (agent-q-diff-target--disk-hash))))

(defun agent-q-diff-target-watch (buffer)
  "Note what the file of BUFFER is, if it is what BUFFER was read from."
  (with-current-buffer buffer
    (if (verify-visited-file-modtime buffer)
        (agent-q-diff-target--note-disk)
      (setq agent-q-diff-target--disk nil))))

(defun agent-q-diff-target--changed-on-disk-p (buffer)
  "Return non-nil if the file of BUFFER is not what BUFFER was read from.
Bytes decide, not times: a file that was merely touched has not changed."
  (with-current-buffer buffer
    (pcase-let ((`(,attributes . ,hash) agent-q-diff-target--disk))
      (cond
       ((null agent-q-diff-target--disk)
        (not (verify-visited-file-modtime buffer)))
       ((not (equal attributes (agent-q-diff-target-attributes buffer-file-name)))
        (if (not (equal hash (agent-q-diff-target--disk-hash)))
            ;; The user may have reverted the buffer, or saved it.
            (not (agent-q-diff-target--read-since-p))
          (set-visited-file-modtime)
          (agent-q-diff-target--note-disk)
          nil))))))

(defun agent-q-diff-target--read-since-p ()
  "Return non-nil if the current buffer was read or written meanwhile.
Emacs's own record tells: it is of the file as it is now, and it is not
the one that was noted."
  (when (and (verify-visited-file-modtime (current-buffer))
             (not (time-equal-p (visited-file-modtime)
                                (or (nth 1 (car agent-q-diff-target--disk)) 0))))
    (agent-q-diff-target--note-disk)
    t))

;;;; Editing

(defun agent-q-diff-target--check-editable (buffer)
  "Refuse BUFFER if an edit would prompt or fail."
  (let* ((file (buffer-file-name buffer))
         (holder (and file (file-locked-p file))))
    (cond
     ((buffer-local-value 'buffer-read-only buffer)
      (agent-q-diff-target--refuse
       "%s is read-only; C-x C-q in its buffer makes it writable" buffer))
     ((null file))
     ((stringp holder)
      (agent-q-diff-target--refuse "%s is locked by %s" file holder))
     ((agent-q-diff-target--changed-on-disk-p buffer)
      (agent-q-diff-target--refuse
       (if (file-exists-p file)
           "%s changed on disk; M-x revert-buffer in its buffer first"
         "%s was deleted on disk; save or kill its buffer first")
       file)))))

(defun agent-q-diff-target--check-writable (buffer)
  "Refuse BUFFER if its file cannot be written.
Create its directory if that is missing and may be created."
  (let* ((file (buffer-file-name buffer))
         (directory (file-name-directory file)))
    (unless (file-directory-p directory)
      (unless agent-q-diff-create-directories
        (agent-q-diff-target--refuse "there is no directory %s; create it first"
                                     directory))
      (make-directory directory t))
    (unless (file-writable-p file)
      (agent-q-diff-target--refuse "%s cannot be written" file))))

(defun agent-q-diff-target-unencodable (from to coding &optional text)
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

(defun agent-q-diff-target--check-encodable (from to coding &optional text)
  "Refuse what stands between FROM and TO if CODING cannot hold it.
The range is as in `agent-q-diff-target-unencodable', TEXT as well."
  (let ((char (agent-q-diff-target-unencodable from to coding text)))
    (when char
      (agent-q-diff-target--refuse
       "the file's coding system %s cannot hold the character %c; %s" coding char
       "M-x agent-q-diff-recode-target makes the file UTF-8, or reject the hunk"))))

(defun agent-q-diff-target--check-text (buffer text)
  "Refuse TEXT if the coding system of BUFFER's file cannot hold it.
Saving would otherwise re-encode the whole file."
  (let ((coding (buffer-local-value 'buffer-file-coding-system buffer)))
    (unless (or (null coding)
                (eq (coding-system-type coding) 'undecided))
      (agent-q-diff-target--check-encodable 0 (length text) coding text))))

(defun agent-q-diff-target--check-visible (beg end visible)
  "Refuse the region from BEG to END unless it is inside VISIBLE.
VISIBLE is (BEG . END), the narrowed part of the current buffer."
  (unless (<= (car visible) beg end (cdr visible))
    (agent-q-diff-target--refuse
     "the hunk is outside the narrowed part of %s; C-x n w there first"
     (current-buffer))))

(defun agent-q-diff-target--replace (n-removed text visible)
  "Replace N-REMOVED lines from point by TEXT, inside VISIBLE.
The new text goes in behind the old one before that is deleted, so that
markers in the old text stay at the new one, and those on the line below
stay on that line.  Leave point where it was."
  (let ((beg (point))
        (end (progn (forward-line n-removed) (point))))
    (agent-q-diff-target--check-visible beg end visible)
    (goto-char end)
    (insert-before-markers text)
    (delete-region beg end)
    (goto-char beg)))

(defun agent-q-diff-target-replace-lines (edits &optional offsets)
  "Make EDITS, last line first, in the current buffer.
OFFSETS is as in `agent-q-diff-target-edit'.  Without it lines are walked
from one edit to the next, never from the beginning."
  (let ((visible (cons (point-min) (point-max)))
        (starts (and (eql (car offsets) (buffer-size)) (cdr offsets)))
        (here 0))
    (save-restriction
      (widen)
      (goto-char (point-min))
      (pcase-dolist (`(,line ,n-removed ,text) edits)
        (if starts
            (goto-char (1+ (pop starts)))
          (forward-line (- line here))
          (setq here line))
        (agent-q-diff-target--replace n-removed text visible)))))

(defun agent-q-diff-target--carry-out (buffer texts edit save)
  "Call EDIT in BUFFER as one undo step, and save it if SAVE is non-nil.
TEXTS are the strings that EDIT inserts.  If anything fails, saving
included, signal an error and leave BUFFER as it was.

Return the tick of BUFFER after the edit and before saving, so that what
a hook changes on the way to the file is not taken for ours."
  (agent-q-diff-target--check-editable buffer)
  (when save
    (agent-q-diff-target--check-writable buffer))
  (dolist (text texts)
    (agent-q-diff-target--check-text buffer text))
  (with-current-buffer buffer
    (undo-boundary)
    (let ((group (prepare-change-group)))
      (prog1 (atomic-change-group
               (save-excursion
                 (funcall edit))
               (prog1 (agent-q-diff-target-tick buffer)
                 (when save
                   (agent-q-diff-target-save buffer))))
        (undo-amalgamate-change-group group)
        (undo-boundary)))))

(defun agent-q-diff-target-edit (buffer edits save &optional offsets)
  "Make EDITS in BUFFER, as one undo step, and save it if SAVE is non-nil.
EDITS is a list of (LINE N-REMOVED TEXT), last line first.  Lines are
counted from 0 in the whole buffer.  OFFSETS is nil or (TOTAL . LIST),
with the number of characters before each edit; the list counts if TOTAL
is the number of all.  Errors and value are those of
`agent-q-diff-target--carry-out'."
  (agent-q-diff-target--carry-out
   buffer (mapcar #'caddr edits)
   (lambda () (agent-q-diff-target-replace-lines edits offsets))
   save))

(defun agent-q-diff-target--common-ends (old new)
  "Return (HEAD . TAIL): how many characters OLD and NEW share at their ends."
  (let* ((limit (min (length old) (length new)))
         (difference (compare-strings old nil nil new nil nil))
         (head (if (eq difference t) limit (1- (abs difference))))
         (tail 0))
    (while (and (< tail (- limit head))
                (eq (aref old (- (length old) tail 1))
                    (aref new (- (length new) tail 1))))
      (setq tail (1+ tail)))
    (cons head tail)))

(defun agent-q-diff-target--replace-span (beg end text)
  "Replace what stands between BEG and END by TEXT.
What both have at their ends is not touched, and of the rest the new goes
in behind the old, as in `agent-q-diff-target--replace'."
  (pcase-let ((`(,head . ,tail)
               (agent-q-diff-target--common-ends
                (buffer-substring-no-properties beg end) text)))
    (goto-char (- end tail))
    (insert-before-markers (substring text head (- (length text) tail)))
    (delete-region (+ beg head) (- end tail))))

(defun agent-q-diff-target-replace (buffer spans text save)
  "Replace each of SPANS of BUFFER by TEXT, as one undo step.
SPANS is a list of (START . END), characters counted from 0 in the whole
buffer, in order and apart.  If SAVE is non-nil, save BUFFER.  Errors and
value are those of `agent-q-diff-target--carry-out'."
  (agent-q-diff-target--carry-out
   buffer (list text)
   (lambda ()
     (save-restriction
       (widen)
       (pcase-dolist (`(,start . ,end) (reverse spans))
         (agent-q-diff-target--replace-span (1+ start) (1+ end) text))))
   save))

;;;; Saving

(defun agent-q-diff-target-coding ()
  "Return the coding system in which the current buffer is to be saved.
It is the file's own; where nothing is decided yet, as for a file that
was all ASCII, it is UTF-8."
  (let ((coding (or buffer-file-coding-system 'undecided-unix)))
    (if (eq (coding-system-type coding) 'undecided)
        (coding-system-change-text-conversion coding 'utf-8)
      coding)))

(defun agent-q-diff-target--choose-coding (from to &rest _)
  "Return the coding system for the text between FROM and TO, unasked.
This stands in for `select-safe-coding-system', which would ask.  FROM
and TO are as `write-region' has them."
  (let ((coding (agent-q-diff-target-coding)))
    (if (stringp from)
        (agent-q-diff-target--check-encodable 0 (length from) coding from)
      (save-restriction
        (widen)
        (agent-q-diff-target--check-encodable (or from (point-min))
                                              (or to (point-max)) coding)))
    coding))

(defun agent-q-diff-target-recode (buffer)
  "Let BUFFER be saved as UTF-8 from now on, with the line ends that it has."
  (with-current-buffer buffer
    (set-buffer-file-coding-system
     (coding-system-change-text-conversion
      (or buffer-file-coding-system 'utf-8-unix) 'utf-8)
     nil t)
    (set-buffer-modified-p t)))

(defun agent-q-diff-target-save (buffer)
  "Save BUFFER without a question and without adding a final newline."
  (with-current-buffer buffer
    (let ((require-final-newline nil)
          (mode-require-final-newline nil)
          (select-safe-coding-system-function #'agent-q-diff-target--choose-coding)
          (save-silently t))
      (condition-case err
          (basic-save-buffer nil)
        ((error quit)
         ;; An error after the text is on disk does not take it back.
         (when (buffer-modified-p)
           (signal (car err) (cdr err)))
         (message "Saved, but a hook failed: %s" (error-message-string err))))
      (when (buffer-modified-p)
        (agent-q-diff-target--refuse "%s could not be saved" buffer-file-name))
      (agent-q-diff-target--note-disk))))

(provide 'agent-q-diff-target)
;;; agent-q-diff-target.el ends here
