;;; agent-q-diff-target.el --- The file that a review would change  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Names, visits, reads, edits and saves the target.  No user interface:
;; nothing here asks a question, and whatever cannot be done is an error
;; `agent-q-diff-bad-target' whose message says what to do about it.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'cl-lib)
(require 'seq)
(require 'subr-x)

;;;; Naming and visiting

(defun agent-q-diff-target-check-spelling (path)
  "Refuse PATH, an agent's name for a file, for how it is spelled.
A name that reads as another in a prompt or a list is refused, whoever it
is for; see `agent-q-diff-visible-path-flaw'."
  (unless (and (stringp path) (not (string-empty-p path)))
    (agent-q-diff-file-refuse "the path must be a string that is not empty"))
  (when-let ((flaw (agent-q-diff-visible-path-flaw path)))
    (agent-q-diff-file-refuse "the path %s" flaw)))

(defun agent-q-diff-target-name (path)
  "Return PATH, an agent's name for a file, as an absolute file name.
It is expanded against `default-directory'.  A misleading spelling is
refused, and a remote name unless `default-directory' is on the same
remote: merely expanding such a name can open a connection, so that is
looked at first."
  (agent-q-diff-target-check-spelling path)
  (let ((remote (file-remote-p path)))
    (unless (or (null remote)
                (equal remote (file-remote-p default-directory)))
      (agent-q-diff-file-refuse "%s is on a remote host that nobody opened"
                                   path)))
  (substring-no-properties (expand-file-name path)))

(defun agent-q-diff-target--check-kind (path)
  "Refuse PATH unless it is, or could become, a plain text file."
  (when (directory-name-p path)
    (agent-q-diff-file-refuse "%s names a directory" path))
  (agent-q-diff-file-check-regular path)
  (let ((local (file-local-name path)))
    (cond
     ((and (file-exists-p path) (not (file-readable-p path)))
      (agent-q-diff-file-refuse "%s cannot be read" path))
     ((find-file-name-handler local 'insert-file-contents)
      (agent-q-diff-file-refuse "%s is compressed or encrypted" path))
     ((memq (assoc-default local auto-mode-alist #'string-match)
            '(archive-mode tar-mode))
      (agent-q-diff-file-refuse "%s is an archive" path)))))

(defun agent-q-diff-target--find (path)
  "Return a new buffer visiting PATH, without surprises.
Of its file-local variables only the safe ones count, none is evaluated,
and nothing is asked."
  (let ((enable-local-variables :safe)
        (enable-local-eval nil)
        (large-file-warning-threshold nil)
        (find-file-run-dired nil)
        (vc-follow-symlinks nil)
        ;; An agent reads the markup of a file, so it is text here, too.
        (format-alist nil)
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
  (agent-q-diff-file-uncached
    (let ((buffer (find-buffer-visiting path)))
      (if buffer
          (progn
            (agent-q-diff-file-check-regular path)
            (agent-q-diff-target-check-visits buffer path)
            (cons buffer nil))
        (agent-q-diff-target--check-kind path)
        (let ((new (agent-q-diff-target--find path)))
          (agent-q-diff-target--shorten-companions new)
          (cons new t))))))

(defun agent-q-diff-target-check-visits (buffer path)
  "Refuse BUFFER, which `find-buffer-visiting' found for PATH, if it is not its.
Emacs goes by the name without links that BUFFER had when it was visited.
A link in the name that it is saved under may lead elsewhere by now."
  (agent-q-diff-file-uncached
    (let ((name (buffer-file-name buffer)))
      (unless (or (equal (file-truename name) (file-truename path))
                  (file-equal-p name path))
        (agent-q-diff-file-refuse "%s" (agent-q-diff-target-disk-message buffer 'moved))))))

(defconst agent-q-diff-target--max-name 255
  "Longest name of a file in bytes, without its directory, on most file systems.")

(defun agent-q-diff-target--shorten-companions (buffer)
  "Do without lock file and backup in BUFFER if their names would be too long.
They have one or two characters more than the file's own name."
  (with-current-buffer buffer
    (when (> (+ 2 (string-bytes (file-name-nondirectory buffer-file-name)))
             agent-q-diff-target--max-name)
      (setq-local create-lockfiles nil)
      (setq-local backup-inhibited t)
      (auto-save-mode -1))))

(defun agent-q-diff-target-detached (path text)
  "Return a new buffer with TEXT, what the file PATH would be.
It visits no file, so nothing done to it is ever written."
  (with-current-buffer (generate-new-buffer
                        (format "*Agent-Q Content: %s*"
                                (agent-q-diff-visible
                                 (file-name-nondirectory path))))
    (insert text)
    (set-buffer-modified-p nil)
    (setq buffer-undo-list nil)
    (current-buffer)))

(defun agent-q-diff-target-forget-file (buffer directories)
  "Delete the file of BUFFER if nothing is in it, and DIRECTORIES.
It is a file that a review has created, with the DIRECTORIES, innermost
first, above it; those that hold anything else stay.  Return non-nil if
the file is gone."
  (agent-q-diff-file-uncached
    (when (and (buffer-live-p buffer)
               (not (buffer-modified-p buffer))
               (string-empty-p (agent-q-diff-target-text buffer)))
      (let ((file (buffer-file-name buffer)))
        (when (equal 0 (file-attribute-size (file-attributes file)))
          (delete-file file)
          ;; A buffer that stays visits a file that there is not, as before.
          (with-current-buffer buffer
            (set-visited-file-modtime -1)
            (agent-q-diff-target--note-disk)))
        (agent-q-diff-target--remove-directories directories)
        (not (file-exists-p file))))))

(defun agent-q-diff-target--remove-directories (directories)
  "Remove those of DIRECTORIES, innermost first, that are there and empty."
  (dolist (directory directories)
    (ignore-error file-error
      (when (directory-empty-p directory)
        (delete-directory directory)))))

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
             (not (agent-q-diff-target-unsaved-p buffer))
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

(defconst agent-q-diff-target--max-compared 8000000
  "Number of characters up to which a buffer is compared in place.
For each, that takes twice as long as to copy and compare them.  But the
copy is garbage, and to collect a megabyte takes several times as long as
to compare it, unless it is so much that there is one collection anyway.")

(defun agent-q-diff-target-known-p (buffer text)
  "Return non-nil if BUFFER has the TEXT of a proposal, which is as it has to be.
That is so if it has no line ends but LF and no byte order mark, and its
file the same; nothing is copied to find that out.  Nil means that this is
not known."
  (and (<= (length text) agent-q-diff-target--max-compared)
       (= (length text) (buffer-size buffer))
       (multibyte-string-p text)
       (not (string-search "\r" text))
       (not (string-prefix-p "\ufeff" text))
       (not (agent-q-diff-target-line-ends buffer))
       (with-temp-buffer
         (insert text)
         (agent-q-diff-target--equal-p buffer (current-buffer)))))

(defun agent-q-diff-target--equal-p (buffer other)
  "Return non-nil if all of BUFFER is the text of the buffer OTHER."
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (and (= (buffer-size) (buffer-size other))
           ;; Bound here: it may be the buffer's own.
           (let ((case-fold-search nil))
             (zerop (compare-buffer-substrings nil nil nil other nil nil)))))))

(defun agent-q-diff-target--all-crlf-p (text)
  "Return non-nil if TEXT has lines and each of them ends with CRLF."
  (and (string-search "\n" text)
       (not (string-match-p "\\(?:\\`\\|[^\r]\\)\n" text))))

(defun agent-q-diff-target-line-ends (buffer)
  "Return the line ends of the file of BUFFER that are not in its text, or nil.
They are `crlf', or `cr' alone, which old Macs wrote.  Each line has such
an end in the file, whatever the text says.  A buffer without a file has
none."
  (let ((coding (buffer-local-value 'buffer-file-coding-system buffer)))
    (and (buffer-file-name buffer)
         coding
         (pcase (coding-system-eol-type coding)
           (1 'crlf)
           (2 'cr)))))

(defun agent-q-diff-target--drop-cr-p (original live is-crlf)
  "Return non-nil if CRLF is to be LF in a proposal for a target.
ORIGINAL and LIVE are as in `agent-q-diff-target-adapter'; IS-CRLF tells
that its LINE-ENDS are `crlf'."
  ;; To look through all of LIVE takes a while, and is seldom needed.
  (let ((is-all (agent-q-diff-target--all-crlf-p original)))
    (and (or is-crlf is-all)
         (let ((is-none (not (string-search "\r\n" live))))
           (and (if is-crlf (or is-all is-none) is-none)
                (or is-none (not (equal original live))))))))

(defun agent-q-diff-target-adapter (original live &optional line-ends)
  "Return a function from a text of a proposal to one for the target.
Emacs keeps the byte order mark and the CRLF line ends of a file out of
its buffer, so a proposal made from the file's bytes differs from LIVE,
the buffer's text, in every line.  If its ORIGINAL begins with a mark and
LIVE does not, the function drops the mark.  If all lines of ORIGINAL end
with CRLF and none of LIVE does, it turns CRLF into LF, and the other way
round.  If LINE-ENDS, as `agent-q-diff-target-line-ends' has them, are
`crlf', one of the two is enough to turn CRLF into LF; if they are `cr',
each CR is a line end.  Otherwise, and if ORIGINAL is LIVE, it returns its
argument as it is, but for a mark."
  (let ((drop-mark (and (string-prefix-p "\ufeff" original)
                        (not (string-prefix-p "\ufeff" live))))
        (drop-cr (agent-q-diff-target--drop-cr-p original live
                                                 (eq line-ends 'crlf)))
        (turn-cr (and (eq line-ends 'cr) (not (string-search "\r" live))))
        (add-cr (and (agent-q-diff-target--all-crlf-p live)
                     (not (string-search "\r\n" original)))))
    (lambda (text)
      (let ((unmarked (if drop-mark (string-remove-prefix "\ufeff" text) text)))
        (cond
         (turn-cr (replace-regexp-in-string "\r\n?" "\n" unmarked t t))
         (drop-cr (string-replace "\r\n" "\n" unmarked))
         (add-cr (replace-regexp-in-string "\r?\n" "\r\n" unmarked t t))
         (t unmarked))))))

(defun agent-q-diff-target-adapt-diff (diff original live line-ends)
  "Return DIFF, a unified diff, for a target with the text LIVE.
ORIGINAL is what tells its line ends; LIVE and LINE-ENDS are as in
`agent-q-diff-target-adapter'.  Between its lines and a no-newline marker
that itself ends with LF, a CR is no line end but the last character of
the file, and stays.  In a diff for a file of CR line ends a CR inside a
line stays, too; see `agent-q-diff-target-cr-texts'."
  (let* ((guard (string #x110000))
         (guarded (replace-regexp-in-string
                   "\r\\(\n\\\\ [^\r\n]*\n\\)" (concat "\r" guard "\\1") diff)))
    (string-replace
     guard ""
     (if (eq line-ends 'cr)
         (string-replace "\r\n" "\n" guarded)
       (funcall (agent-q-diff-target-adapter original live line-ends) guarded)))))

(defun agent-q-diff-target-cr-texts (diff line-ends)
  "Return (OLD . NEW), the whole texts that DIFF compares, or nil.
LINE-ENDS is as in `agent-q-diff-target-adapter'.  To whoever compares the
bytes of a file of CR line ends it is a single line, so that a diff has
all of it; the texts that are returned have LF."
  (when (and (eq line-ends 'cr)
             (string-match "^@@ .*\n" diff)
             (string-match-p "\\`[-+][^\n]*\r" (substring diff (match-end 0))))
    (let ((lines (cl-loop for (line next) on (split-string (substring diff (match-end 0)) "\n")
                          when (string-match-p "\\`[-+ ]" line)
                          collect (if (string-prefix-p "\\ " (or next ""))
                                      line
                                    (concat line "\n")))))
      (cons (agent-q-diff-target--cr-side lines ?-)
            (agent-q-diff-target--cr-side lines ?+)))))

(defun agent-q-diff-target--cr-side (lines sign)
  "Return the text of those of LINES, of a hunk, that have SIGN or none.
CR in them becomes LF."
  (mapconcat (lambda (line)
               (if (memq (aref line 0) (list sign ?\s))
                   (replace-regexp-in-string "\r\n?" "\n" (substring line 1) t t)
                 ""))
             lines ""))

;;;; The text as git has it

(defun agent-q-diff-target-blob-ids (buffer)
  "Return the ids by which git may know the text of BUFFER, hexadecimal strings.
Git's id of a file is the hash of \"blob LENGTH\", a NUL character and its
bytes: SHA-1, or SHA-256 in a repository that is kept so.  The bytes are
those that BUFFER would be saved as, or if it is not modified, those of
its file; git may have CRLF line ends as LF (core.autocrlf).  The id of an
empty text is also all zeros, which stands for no file."
  (let ((texts (seq-uniq
                (mapcan (lambda (bytes)
                          (list bytes (string-replace "\r\n" "\n" bytes)))
                        (delq nil (list (with-current-buffer buffer
                                          (agent-q-diff-target--bytes
                                           (agent-q-diff-target-coding)))
                                        (agent-q-diff-target--file-bytes buffer)))))))
    (append
     (and (equal texts '("")) (list (make-string 64 ?0)))
     (mapcan (lambda (bytes)
               (let ((object (concat (format "blob %d\0" (length bytes)) bytes)))
                 (list (secure-hash 'sha1 object) (secure-hash 'sha256 object))))
             texts))))

(defun agent-q-diff-target--file-bytes (buffer)
  "Return the bytes of the file of BUFFER, or nil if they are not its text.
Some coding systems can write one text in several ways, so that what
BUFFER would be saved as need not be what is in its file."
  (with-current-buffer buffer
    (when (and buffer-file-name
               (not buffer-file-format)
               (not (buffer-modified-p))
               (verify-visited-file-modtime buffer)
               (file-regular-p buffer-file-name))
      (agent-q-diff-file-bytes buffer-file-name))))

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
It is (TRUENAME ATTRIBUTES HOW TICK), or nil if they did not agree.
TRUENAME is the file's name without links; ATTRIBUTES are those of
`agent-q-diff-file-attributes', nil if there was no file.  HOW tells how
that is known: `written' if we have written the file, `read' if it was
read and compared, nil if only Emacs's record of its time says so.  TICK
is the buffer's then, as `agent-q-diff-target-tick' has it.")
(put 'agent-q-diff-target--disk 'permanent-local t)

(defun agent-q-diff-target--note-disk (&optional how attributes)
  "Note that the current buffer and its file agree.
HOW is as in `agent-q-diff-target--disk'.  ATTRIBUTES are those that the
file had just before it was read, if it was; nil means to look now."
  (let ((truename (file-truename buffer-file-name)))
    (setq agent-q-diff-target--disk
          (list truename
                (or attributes (agent-q-diff-file-attributes truename))
                how
                (agent-q-diff-target-tick (current-buffer))))))

(defun agent-q-diff-target-watch (buffer &optional was-read)
  "Note what the file of BUFFER is, unless that is known.
WAS-READ is non-nil if BUFFER was just read from it."
  (agent-q-diff-file-uncached
    (with-current-buffer buffer
      (unless (equal (nth 0 agent-q-diff-target--disk) (file-truename buffer-file-name))
        (if (verify-visited-file-modtime buffer)
            (agent-q-diff-target--note-disk (and was-read 'read))
          (setq agent-q-diff-target--disk nil))))))

(defun agent-q-diff-target--same-text-p ()
  "Return non-nil if the file of the current buffer has the buffer's text."
  (and (agent-q-diff-target--file-reads-so-p)
       (agent-q-diff-target--same-line-ends-p)))

(defun agent-q-diff-target--same-line-ends-p ()
  "Return non-nil if the file has the line ends that saving would write.
Text read as CRLF does not tell whether the file has CR."
  (or (eq 0 (coding-system-eol-type buffer-file-coding-system))
      (agent-q-diff-target--same-bytes-p)))

(defun agent-q-diff-target--same-bytes-p ()
  "Return non-nil if the file has the bytes of the current buffer's text.
With `save-buffer-coding-system' they are others before it is saved."
  (let ((bytes (agent-q-diff-file-bytes buffer-file-name)))
    (seq-some (lambda (coding)
                (equal bytes (agent-q-diff-target--bytes coding)))
              (list (agent-q-diff-target-coding) buffer-file-coding-system))))

(defun agent-q-diff-target--file-reads-so-p ()
  "Return non-nil if visiting the file anew would show the buffer's text."
  (and (file-regular-p buffer-file-name)
       (or (agent-q-diff-target--file-reads-in-p buffer-file-coding-system)
           (and save-buffer-coding-system
                (agent-q-diff-target--file-reads-in-p save-buffer-coding-system))
           ;; Half a surrogate pair reads otherwise when the coding system is
           ;; named than when it is found out.
           (agent-q-diff-target--same-bytes-p))))

(defun agent-q-diff-target--file-reads-in-p (coding)
  "Return non-nil if visiting the file in CODING would show the buffer's text."
  (let ((buffer (current-buffer))
        (file buffer-file-name))
    (with-temp-buffer
      (let ((coding-system-for-read coding)
            (format-alist nil))
        (insert-file-contents file)
        (agent-q-diff-target--equal-p buffer (current-buffer))))))

(defun agent-q-diff-target-disk-state (buffer)
  "Return how the file of BUFFER has changed since the two agreed, or nil.
The value is nil if it has not, and else one of these symbols:

`changed'    It holds something else.
`deleted'    It is gone.
`irregular'  It is a directory, a FIFO or the like now.
`moved'      Its name leads to another file, through a link.
`decoded'    BUFFER shows it without its markup, as `enriched-mode' does, so
             that its text is not what an agent has read.

Bytes decide, not times: a file that was merely touched has not changed.
With unsaved edits in BUFFER that cannot be told any more, and `changed'
is the careful answer."
  (agent-q-diff-file-uncached
    (with-current-buffer buffer
      (pcase-let ((`(,truename ,attributes ,_) agent-q-diff-target--disk))
        (cond
         ((null buffer-file-name) nil)
         (buffer-file-format 'decoded)
         ((and agent-q-diff-target--disk
               (equal truename (file-truename buffer-file-name))
               (equal attributes (agent-q-diff-file-attributes truename)))
          nil)
         ((not (file-exists-p buffer-file-name))
          (and (or attributes (null agent-q-diff-target--disk)) 'deleted))
         ((not (file-regular-p buffer-file-name)) 'irregular)
         ((and truename (not (equal truename (file-truename buffer-file-name)))) 'moved)
         ((agent-q-diff-target--agrees-again-p) nil)
         (t 'changed))))))

(defun agent-q-diff-target--agrees-again-p ()
  "Return non-nil if the current buffer agrees with its file, and note that.
The user may have reverted or saved it, or the file was only touched."
  (let ((noted (nth 1 agent-q-diff-target--disk))
        (attributes (agent-q-diff-file-attributes (file-truename buffer-file-name))))
    (cond
     ((and (verify-visited-file-modtime (current-buffer))
           (or (null noted)
               (not (time-equal-p (visited-file-modtime) (nth 1 noted)))))
      (agent-q-diff-target--note-disk)
      t)
     ((and (not (buffer-modified-p))
           (agent-q-diff-target--same-text-p))
      (set-visited-file-modtime (nth 1 attributes))
      (agent-q-diff-target--note-disk 'read attributes)
      t))))

(defun agent-q-diff-target-in-file-p (buffer)
  "Return non-nil if the file of BUFFER certainly has the text of BUFFER."
  (with-current-buffer buffer
    (and buffer-file-name
         (not (agent-q-diff-target-disk-state buffer))
         (not (agent-q-diff-target-unsaved-p buffer))
         (agent-q-diff-target--known-in-file-p))))

(defun agent-q-diff-target-unsaved-p (buffer)
  "Return non-nil if BUFFER has edits that are not in its file.
The file is read unless that is known.  Emacs's own flag is not enough:
`not-modified' clears it, and a hook may, while nothing is written.  Where
the file has changed since, see `agent-q-diff-target-disk-state', nothing
but the flag is known."
  (agent-q-diff-file-uncached
    (with-current-buffer buffer
      (or (buffer-modified-p)
          (and buffer-file-name
               (not (agent-q-diff-target--known-in-file-p))
               (not (agent-q-diff-target-disk-state buffer))
               (if (file-exists-p buffer-file-name)
                   (not (agent-q-diff-target--note-unedited))
                 (< 0 (buffer-size))))))))

(defun agent-q-diff-target--note-unedited ()
  "Return non-nil if visiting the file anew would show the buffer's text.
Note it if the file has that text, line ends and all."
  (let ((attributes (agent-q-diff-file-attributes (file-truename buffer-file-name))))
    (when (agent-q-diff-target--file-reads-so-p)
      (when (agent-q-diff-target--same-line-ends-p)
        (agent-q-diff-target--note-disk 'read attributes))
      t)))

(defun agent-q-diff-target--known-in-file-p ()
  "Return non-nil if the buffer's text is that of its file unless that has changed."
  (pcase agent-q-diff-target--disk
    (`(,_ ,_ ,(pred identity) ,tick) (eql tick (agent-q-diff-target-tick (current-buffer))))))

(defun agent-q-diff-target-written-p (buffer)
  "Return non-nil if the last save of BUFFER has reached the disk.
Either we have written its file, whatever was edited since, or the file
has its text.  A hook may have killed BUFFER after we have written it."
  (or (not (buffer-live-p buffer))
      (eq 'written (nth 2 (buffer-local-value 'agent-q-diff-target--disk buffer)))
      (agent-q-diff-target-in-file-p buffer)))

;;;; Following the file

(defun agent-q-diff-target-sync (buffer)
  "Let BUFFER follow its file if that has changed and BUFFER has no unsaved edits.
Return `followed' if it did; nil if there was no need; else what
`agent-q-diff-target-disk-state' says, so that BUFFER is not its file's
text any more and must not be saved over it."
  (agent-q-diff-file-uncached
    (let ((state (agent-q-diff-target-disk-state buffer)))
      (if (and (eq state 'changed) (not (buffer-modified-p buffer)))
          (with-current-buffer buffer
            (agent-q-diff-target--revert)
            (if (agent-q-diff-target-disk-state buffer) 'changed 'followed))
        state))))

(defun agent-q-diff-target--revert ()
  "Edit the lines of the current buffer in which its file differs.
Point, markers and overlays stay on their lines.  The hooks of
`revert-buffer' run; an error in one of them is said."
  (let ((revert-buffer-insert-file-contents-function
         #'agent-q-diff-target--insert-changes)
        (coding-system-for-read nil))
    (setq agent-q-diff-target--disk nil)
    (condition-case err
        (save-excursion
          (let ((inhibit-message t)
                ;; `after-find-file' sets it; the user's choice stays.
                (buffer-read-only buffer-read-only))
            (revert-buffer t t t)))
      (error (message "While %s was reverted: %s" (buffer-name)
                      (error-message-string err)))))
  (when (and (null agent-q-diff-target--disk)
             (not (buffer-modified-p))
             (verify-visited-file-modtime (current-buffer)))
    (agent-q-diff-target--note-disk)))

(defun agent-q-diff-target--insert-changes (file &rest _)
  "Edit the lines of the current buffer in which FILE differs.
This stands in for `revert-buffer-insert-file-contents-default-function'."
  (agent-q-diff-file-check-regular file)
  (pcase-let* ((attributes (agent-q-diff-file-attributes (file-truename file)))
               (is-multibyte enable-multibyte-characters)
               (explicit (if is-multibyte
                             (car buffer-file-coding-system-explicit)
                           ;; Its text is bytes, and stays that.
                           (or buffer-file-coding-system 'no-conversion)))
               (`(,text . ,coding)
                (with-temp-buffer
                  (set-buffer-multibyte is-multibyte)
                  (let ((coding-system-for-read explicit)
                        (format-alist nil))
                    (insert-file-contents file)
                    (cons (buffer-string) last-coding-system-used))))
               (modtime (visited-file-modtime))
               (is-done nil))
    ;; Else the first edit would ask whether to edit a file that changed.  And
    ;; undo must not take the old text for the file's, which it does if the
    ;; file's time was that of the first edit.
    (clear-visited-file-modtime)
    (unwind-protect
        (let ((inhibit-read-only t)
              (create-lockfiles nil))
          (agent-q-diff-target--note-charsets text)
          (atomic-change-group
            (save-restriction
              (widen)
              (agent-q-diff-target--edit-to (substring-no-properties text)))
            (setq buffer-file-coding-system (if is-multibyte coding explicit)
                  is-done t)))
      (unless is-done
        (set-visited-file-modtime modtime)
        (set-buffer-modified-p nil)))
    (set-visited-file-modtime (nth 1 attributes))
    (set-buffer-modified-p nil)
    (set-buffer-auto-saved)
    (agent-q-diff-target--note-disk 'read attributes)))

(defun agent-q-diff-target--edit-to (text)
  "Edit the lines of the current buffer in which TEXT differs."
  (let ((live (agent-q-diff-target-text (current-buffer))))
    (unless (equal live text)
      (let* ((engine (agent-q-diff-engine-review live text))
             (planned (agent-q-diff-engine-plan-all engine)))
        (unwind-protect
            (agent-q-diff-target-replace-lines
             (agent-q-diff-engine-planned-edits planned)
             (agent-q-diff-engine-planned-offsets planned))
          (agent-q-diff-module-free engine))))))

;;;; Charsets

(defvar-local agent-q-diff-target--charsets nil
  "Hash table of lines to themselves with their property `charset', or nil.
Where a coding system has several ways to write a character, as those of
ISO 2022 have, that property tells which one the file has.  A line that is
taken out of the buffer and put back must be written as before.")
(put 'agent-q-diff-target--charsets 'permanent-local t)

(defun agent-q-diff-target--note-charsets (text)
  "Note the lines of TEXT that have the property `charset'."
  (when (text-property-not-all 0 (length text) 'charset nil text)
    (unless agent-q-diff-target--charsets
      (setq agent-q-diff-target--charsets (make-hash-table :test #'equal)))
    (dolist (line (split-string text "\n"))
      (when (text-property-not-all 0 (length line) 'charset nil line)
        (puthash (substring-no-properties line) line
                 agent-q-diff-target--charsets)))))

(defun agent-q-diff-target--with-charsets (text)
  "Return TEXT with the property `charset' on the lines for which it was noted."
  (if (null agent-q-diff-target--charsets)
      text
    (mapconcat (lambda (line) (gethash line agent-q-diff-target--charsets line))
               (split-string text "\n") "\n")))

;;;; Editing

(defconst agent-q-diff-target--disk-messages
  '((changed . "%s was written since its buffer was read, and the buffer has unsaved edits; \
M-x revert-buffer there drops them, saving there keeps them")
    (stuck . "%s was written since its buffer was read, and the buffer cannot follow it; \
M-x revert-buffer there says why")
    (deleted . "%s was deleted on disk; save or kill its buffer first")
    (irregular . "%s is not a regular file any more; nothing is written to it")
    (moved . "%s leads elsewhere now, through a link; nothing is written there")
    (decoded . "%s is open with its markup hidden; kill its buffer to have the markup reviewed"))
  "What to say of a file, by what `agent-q-diff-target-sync' returns.")

(defun agent-q-diff-target-disk-message (buffer state)
  "Return what to say of the file of BUFFER and STATE, or nil if it is as it was.
STATE is what `agent-q-diff-target-sync' returned."
  (when-let ((format (alist-get (if (and (eq state 'changed)
                                         (not (buffer-modified-p buffer)))
                                    ;; A hook kept it from following.
                                    'stuck
                                  state)
                                agent-q-diff-target--disk-messages)))
    (format format (buffer-file-name buffer))))

(defun agent-q-diff-target--check-editable (buffer)
  "Refuse BUFFER if an edit would prompt or fail."
  (let* ((file (buffer-file-name buffer))
         (holder (and file (agent-q-diff-file-lock-holder file))))
    (cond
     ((buffer-local-value 'buffer-read-only buffer)
      (agent-q-diff-file-refuse
       "%s is read-only; C-x C-q in its buffer makes it writable" buffer))
     ((null file))
     (holder
      (agent-q-diff-file-refuse "%s is locked by %s" file holder))
     (t (when-let ((message (agent-q-diff-target-disk-message
                             buffer (agent-q-diff-target-disk-state buffer))))
          (agent-q-diff-file-refuse "%s" message))))))

(defun agent-q-diff-target--check-writable (buffer)
  "Refuse BUFFER if its file cannot be written.
Create its directory if that is missing and may be created."
  (let* ((file (buffer-file-name buffer))
         (directory (file-name-directory file)))
    (unless (file-directory-p directory)
      (unless agent-q-diff-create-directories
        (agent-q-diff-file-refuse "there is no directory %s; create it first"
                                     directory))
      (make-directory directory t))
    (unless (file-writable-p file)
      (agent-q-diff-file-refuse "%s cannot be written" file))))

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
      (agent-q-diff-file-refuse
       "the file's coding system %s cannot hold the character %c; %s" coding char
       "M-x agent-q-diff-recode-target makes the file UTF-8, or reject the hunk"))))

(defun agent-q-diff-target--check-text (buffer text)
  "Refuse TEXT if the coding system of BUFFER's file cannot hold it.
Saving would otherwise re-encode the whole file."
  (let ((coding (or (buffer-local-value 'save-buffer-coding-system buffer)
                    (buffer-local-value 'buffer-file-coding-system buffer))))
    (unless (or (null coding)
                (eq (coding-system-type coding) 'undecided))
      (agent-q-diff-target--check-encodable 0 (length text) coding text))))

(defun agent-q-diff-target--check-visible (beg end visible)
  "Refuse the region from BEG to END unless it is inside VISIBLE.
VISIBLE is (BEG . END), the narrowed part of the current buffer."
  (unless (<= (car visible) beg end (cdr visible))
    (agent-q-diff-file-refuse
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
    (agent-q-diff-target--note-charsets (buffer-substring beg end))
    (goto-char end)
    (insert-before-markers
     (if enable-multibyte-characters
         (agent-q-diff-target--with-charsets text)
       ;; The engine has read the bytes as UTF-8.
       (encode-coding-string text 'utf-8-emacs-unix)))
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

(defun agent-q-diff-target--carry-out (buffer texts edit save check)
  "Call EDIT in BUFFER as one undo step, and save it if SAVE is non-nil.
TEXTS are the strings that EDIT inserts.  CHECK is a function or nil; it is
called at the last moment before the file is replaced, and signals an error
if that must not be.  If anything fails, saving included, signal an error
and leave BUFFER as it was.

Return the tick of BUFFER after the edit and before saving, so that what
a hook changes on the way to the file is not taken for ours."
  (agent-q-diff-file-uncached
    (let ((missing (and save
                        (agent-q-diff-target-missing-directories
                         (buffer-file-name buffer))))
          (is-done nil))
      (unwind-protect
          (prog1 (agent-q-diff-target--edit-and-save buffer texts edit save check)
            (setq is-done t))
        (unless is-done
          (agent-q-diff-target--remove-directories missing))))))

(defun agent-q-diff-target--edit-and-save (buffer texts edit save check)
  "Do what `agent-q-diff-target--carry-out' does.
BUFFER, TEXTS, EDIT, SAVE and CHECK are that function's; directories that
were made for a file that is then refused are left to it."
  (agent-q-diff-target--check-editable buffer)
  (when save
    (agent-q-diff-target--check-writable buffer)
    (agent-q-diff-target--check-faithful buffer))
  (dolist (text texts)
    (agent-q-diff-target--check-text buffer text))
  (let (tick)
    (agent-q-diff-target--as-one-step
     buffer
     (lambda (keep)
       (save-excursion
         (funcall edit))
       (setq tick (agent-q-diff-target-tick buffer))
       (when save
         (agent-q-diff-target-save buffer check keep))))
    tick))

(defun agent-q-diff-target--as-one-step (buffer function)
  "Call FUNCTION in BUFFER; what it edits there is one undo step.
If FUNCTION does not return, BUFFER is as it was before.  But once FUNCTION
has called its argument, a function without arguments, the edit stays: it
is on disk, and a hook that kills BUFFER or throws past us changes nothing
about that."
  (with-current-buffer buffer
    (undo-boundary)
    (let ((group (prepare-change-group))
          (is-kept nil)
          ;; As `atomic-change-group' has it: no collection of garbage may
          ;; cut off what is needed to go back.
          (undo-outer-limit nil)
          (undo-limit most-positive-fixnum)
          (undo-strong-limit most-positive-fixnum))
      (unwind-protect
          (progn
            (activate-change-group group)
            (funcall function (lambda () (setq is-kept t)))
            (setq is-kept t))
        (when (buffer-live-p buffer)
          (if is-kept
              (accept-change-group group)
            (cancel-change-group group))))
      (when (buffer-live-p buffer)
        (with-current-buffer buffer
          (undo-amalgamate-change-group group)
          (undo-boundary))))))

(defun agent-q-diff-target-edit (buffer edits save &optional offsets check)
  "Make EDITS in BUFFER, as one undo step, and save it if SAVE is non-nil.
EDITS is a list of (LINE N-REMOVED TEXT), last line first.  Lines are
counted from 0 in the whole buffer.  OFFSETS is nil or (TOTAL . LIST),
with the number of characters before each edit; the list counts if TOTAL
is the number of all.  CHECK, errors and value are those of
`agent-q-diff-target--carry-out'."
  (agent-q-diff-target--carry-out
   buffer (mapcar #'caddr edits)
   (lambda () (agent-q-diff-target-replace-lines edits offsets))
   save check))

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

(defun agent-q-diff-target-replace (buffer spans text save &optional check)
  "Replace each of SPANS of BUFFER by TEXT, as one undo step.
SPANS is a list of (START . END), characters counted from 0 in the whole
buffer, in order and apart.  If SAVE is non-nil, save BUFFER.  CHECK,
errors and value are those of `agent-q-diff-target--carry-out'."
  (agent-q-diff-target--carry-out
   buffer (list text)
   (lambda ()
     (save-restriction
       (widen)
       (pcase-dolist (`(,start . ,end) (reverse spans))
         (agent-q-diff-target--replace-span (1+ start) (1+ end) text))))
   save check))

;;;; Saving

(defun agent-q-diff-target-coding ()
  "Return the coding system in which the current buffer is to be saved.
It is the file's own, unless `save-buffer-coding-system' is another; where
nothing is decided, as for a file that was all ASCII, it is UTF-8 once
there is anything else.  Text that is all ASCII is written as it is, which
is many times faster."
  (let ((coding (or save-buffer-coding-system buffer-file-coding-system
                    'undecided-unix)))
    (if (and (eq (coding-system-type coding) 'undecided)
             (not (agent-q-diff-file-all-ascii-p)))
        (coding-system-change-text-conversion coding 'utf-8)
      coding)))

(defun agent-q-diff-target--choose-coding (from to &rest _)
  "Return the coding system for the text between FROM and TO, unasked.
This stands in for `select-safe-coding-system', which would ask.  FROM
and TO are as `write-region' has them."
  (let ((coding (agent-q-diff-target-coding)))
    (cond
     ((memq (coding-system-base coding) '(utf-8 undecided)))
     ((stringp from)
      (agent-q-diff-target--check-encodable 0 (length from) coding from))
     (t (save-restriction
          (widen)
          (agent-q-diff-target--check-encodable (or from (point-min))
                                                (or to (point-max)) coding))))
    coding))

(defun agent-q-diff-target--check-faithful (buffer)
  "Refuse BUFFER if saving it would change what nobody has edited.
So it is if a file of mixed line ends was visited as one of CRLF, or if its
coding system does not give the same bytes back."
  (with-current-buffer buffer
    (let ((coding (agent-q-diff-target-coding)))
      (unless (or (buffer-modified-p)
                  ;; Other bytes are just what the user wants.
                  save-buffer-coding-system
                  (eq 'written (nth 2 agent-q-diff-target--disk))
                  (and (agent-q-diff-file-plain-coding-p coding)
                       (eq 0 (coding-system-eol-type coding)))
                  write-region-annotate-functions
                  (not (file-exists-p buffer-file-name))
                  (equal (agent-q-diff-file-bytes buffer-file-name)
                         (agent-q-diff-target--bytes coding)))
        (agent-q-diff-file-refuse
         "saving %s would change bytes elsewhere; C-x RET r utf-8-unix RET in its buffer shows them"
         buffer-file-name)))))

(defun agent-q-diff-target--bytes (coding)
  "Return the text of the current buffer as bytes in CODING.
Its property `charset', which decides on bytes, is heeded."
  (save-restriction
    (widen)
    (encode-coding-string (buffer-string) coding)))

(defun agent-q-diff-target-recode (buffer)
  "Let BUFFER be saved as UTF-8 from now on, with the line ends that it has."
  (with-current-buffer buffer
    (let ((coding (coding-system-change-text-conversion
                   (or buffer-file-coding-system 'utf-8-unix) 'utf-8)))
      (set-buffer-file-coding-system coding nil t)
      (when save-buffer-coding-system
        (setq save-buffer-coding-system coding)))))

(defun agent-q-diff-target--put (file)
  "Write the text of the current buffer to FILE, and nothing of its state.
A coding system of which it is not known whether it holds any text is
checked with the very bytes that are written."
  (let ((coding (agent-q-diff-target-coding)))
    (if (or (agent-q-diff-file-plain-coding-p coding)
            write-region-annotate-functions)
        (write-region nil nil file nil 'silent)
      (agent-q-diff-target--choose-coding nil nil)
      (agent-q-diff-file-put (save-restriction
                               (widen)
                               (agent-q-diff-file-encode (buffer-string) coding))
                             'no-conversion file)
      (setq last-coding-system-used coding))))

(defun agent-q-diff-target--write (check done)
  "Write the current buffer to its file, whole or not at all.
CHECK is a function or nil, called at the last moment.  DONE is called
once the file is written, whatever happens then."
  (let ((name (file-truename buffer-file-name))
        coding)
    (agent-q-diff-file-check-regular name)
    (when (file-exists-p name)
      (let ((backup-by-copying t))
        (backup-buffer)))
    (agent-q-diff-file-write
     name
     (lambda (file)
       (agent-q-diff-target--put file)
       (setq coding last-coding-system-used))
     (lambda ()
       (when check
         (funcall check))
       (agent-q-diff-target--check-editable (current-buffer)))
     (lambda ()
       (set-visited-file-modtime)
       (set-buffer-modified-p nil)
       (set-buffer-auto-saved)
       (agent-q-diff-target--note-disk 'written)
       (funcall done)))
    ;; `basic-save-buffer' makes this the buffer's own.
    (setq last-coding-system-used coding)))

(defun agent-q-diff-target-save (buffer &optional check done)
  "Save BUFFER without a question and without adding a final newline.
Hooks run as for `save-buffer', but the file is replaced whole or not at
all.  CHECK is as in `agent-q-diff-target--carry-out'.  DONE is a function
or nil, called as soon as we have written the file."
  (with-current-buffer buffer
    (let* ((is-ours nil)
           (writer (lambda ()
                     (agent-q-diff-target--write check
                                                 (lambda ()
                                                   (setq is-ours t)
                                                   (when done
                                                     (funcall done))))
                     t)))
      (unwind-protect
          (progn
            ;; Last, so that whoever else writes files has the first say.
            (add-hook 'write-file-functions writer 100 t)
            (agent-q-diff-target--run-save (lambda () is-ours)))
        (remove-hook 'write-file-functions writer t))
      (unless (or is-ours (buffer-live-p buffer))
        (agent-q-diff-file-refuse "a hook has killed the buffer before it was saved"))
      ;; A hook may have edited it again once it was saved.
      (unless (or is-ours (not (buffer-modified-p)))
        (agent-q-diff-file-refuse "%s could not be saved" buffer-file-name))
      (unless is-ours
        (agent-q-diff-target--note-disk)))))

(defun agent-q-diff-target--run-save (written-p)
  "Call `basic-save-buffer' so that it neither asks nor takes a caller's coding.
An error after the text is on disk does not take it back.  WRITTEN-P is a
function that tells whether we have put it there."
  (let ((require-final-newline nil)
        (mode-require-final-newline nil)
        (coding-system-for-write nil)
        (select-safe-coding-system-function #'agent-q-diff-target--choose-coding)
        (save-silently t))
    (condition-case err
        (basic-save-buffer nil)
      ((error quit)
       (when (and (buffer-modified-p) (not (funcall written-p)))
         (signal (car err) (cdr err)))
       (message "Saved, but a hook failed: %s" (error-message-string err))))))

(provide 'agent-q-diff-target)
;;; agent-q-diff-target.el ends here
