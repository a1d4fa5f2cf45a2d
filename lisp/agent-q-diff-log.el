;;; agent-q-diff-log.el --- The log of what agents proposed  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The log has one JSON object per line, in a file that only the user can
;; read, since diffs contain parts of the user's files.  Several Emacsen may
;; write at once: who writes a line, or rotates the log, holds a lock.  (One
;; write(2) with O_APPEND does not suffice: others see it when half is written.)
;;
;; Recording never disturbs the caller: it asks nothing, signals nothing,
;; and reports a failure only once.
;;
;; A list shows the entries.  Only the end of the log is read, and a file
;; that an entry names is opened only on request.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'diff-mode)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-views)

;;;; Options

(defcustom agent-q-diff-log-file
  (locate-user-emacs-file "agent-q-diff/log.jsonl")
  "File to which every proposal and every edit is recorded, or nil for none.
It holds one JSON object per line, and only the user can read it.  A
directory that is missing is created, for the user alone as well."
  :type '(choice (const :tag "Record nothing" nil) file)
  :group 'agent-q-diff-log)

(defcustom agent-q-diff-log-max-bytes (* 10 1024 1024)
  "Size in bytes from which on a log is rotated and a new one begun.
If nil, it is never rotated."
  :type '(choice (const :tag "Never" nil) natnum)
  :group 'agent-q-diff-log)

(defcustom agent-q-diff-log-n-old 3
  "Number of rotated logs that are kept besides the current one.
The latest of them is named like the log with \".1\" appended."
  :type 'natnum
  :group 'agent-q-diff-log)

;;;; Entries as JSON

(defun agent-q-diff-log--plain-p (string)
  "Return non-nil if STRING is all ASCII without NUL."
  (and (not (string-search "\0" string))
       ;; This is much faster than a regexp.
       (eq string (encode-coding-string string 'utf-8-unix t))))

(defun agent-q-diff-log--text (string)
  "Return STRING with what JSON cannot represent replaced by plain text.
A byte that is not part of a character becomes \"\\xNN\" and half of a
surrogate pair \"\\uNNNN\".  So does NUL, which Emacs 28 cannot parse."
  ;; Copying a long diff just to drop text properties would make garbage.
  (if (agent-q-diff-log--plain-p string)
      string
    (let ((plain (substring-no-properties string)))
      (replace-regexp-in-string
       "[^\u0001-\ud7ff\ue000-\U0010ffff]"
       (lambda (char)
         (let ((code (aref char 0)))
           (if (<= #xd800 code #xdfff)
               (format "\\u%x" code)
             (format "\\x%02x" (logand code #xff)))))
       (string-to-multibyte plain) t t))))

(defconst agent-q-diff-log-hunk-keys '(:index :state :in-file :edited :comment :reason :decided-by)
  "The keys of a hunk in an entry.")

(defconst agent-q-diff-log--keys
  (append agent-q-diff-log-hunk-keys
          '(:time :tool :agent :description :path :outcome :total :saved :hash-before :hash-after
                  :hunks :decided-by :diff))
  "The keys that entries usually have, each at most once.")

(defun agent-q-diff-log--only-keys-p (plist keys)
  "Return non-nil if all keys of PLIST are members of KEYS."
  (cl-loop for (key) on plist by #'cddr
           always (memq key keys)))

(defun agent-q-diff-log--object (plist)
  "Return PLIST as an object for JSON, with keys without their colons.
If possible that is a plist, at best PLIST itself: a review can have
thousands of hunks, and a hash table for each makes much garbage."
  (cond
   ((null plist) (make-hash-table))
   ((and (agent-q-diff-log--only-keys-p plist agent-q-diff-log-hunk-keys)
         ;; Most hunks have nothing that would have to be converted.
         (cl-loop for (_ value) on plist by #'cddr
                  always (eq value (agent-q-diff-log--value value))))
    plist)
   ((agent-q-diff-log--only-keys-p plist agent-q-diff-log--keys)
    (cl-loop for (key value) on plist by #'cddr
             collect key
             collect (agent-q-diff-log--value value)))
   (t
    ;; By default a table is made for 65 keys.
    (let ((object (make-hash-table :test #'equal :size (/ (length plist) 2))))
      (cl-loop for (key value) on plist by #'cddr
               do (puthash (agent-q-diff-log--key key)
                           (agent-q-diff-log--value value)
                           object))
      object))))

(defun agent-q-diff-log--key (key)
  "Return KEY of a plist, of any type, as a key of a JSON object."
  (agent-q-diff-log--text
   (if (keywordp key)
       (substring (symbol-name key) 1)
     (string-remove-prefix ":" (format "%s" key)))))

(defun agent-q-diff-log--value (value)
  "Return VALUE, of any type, as a value for `json-encode'."
  (cond
   ((memq value '(nil t)) value)
   ((memq value '(:false :json-false)) :json-false)
   ((memq value '(:null)) nil)
   ((stringp value) (agent-q-diff-log--text value))
   ;; Beyond these, JSON parsers lose digits or fail.
   ((and (integerp value) (<= (- (expt 2 53)) value (expt 2 53))) value)
   ((symbolp value) (agent-q-diff-log--text (symbol-name value)))
   ((vectorp value) (vconcat (mapcar #'agent-q-diff-log--value value)))
   ((and (proper-list-p value) (keywordp (car value)))
    (agent-q-diff-log--object value))
   ((proper-list-p value) (vconcat (mapcar #'agent-q-diff-log--value value)))
   (t (agent-q-diff-log--text (format "%S" value)))))

;; Only an Emacs that was built without JSON needs this library.  Loading it
;; takes longer than writing a day's log.
(declare-function json-encode "json" (object))
(declare-function json-read-from-string "json" (string))
(defvar json-encoding-pretty-print)
(defvar json-object-type)
(defvar json-array-type)
(defvar json-false)

(defun agent-q-diff-log--insert (plist)
  "Insert at point the line that records PLIST with the current time.
In a buffer it is no garbage, which a long diff as a string would be."
  (unless (proper-list-p plist)
    (signal 'wrong-type-argument (list #'proper-list-p plist)))
  (let ((object (agent-q-diff-log--object
                 (append (list :time (format-time-string "%FT%T.%3NZ" nil t)) plist))))
    (if (fboundp 'json-insert)
        (json-insert object :null-object nil :false-object :json-false)
      (require 'json)
      (let ((json-encoding-pretty-print nil))
        (insert (json-encode object))))
    (insert "\n")))

(defun agent-q-diff-log--parse (line)
  "Return LINE, bytes, as a plist, or nil if it is not an entry."
  (let* ((text (decode-coding-string line 'utf-8-unix))
         (entry (ignore-errors
                  (if (fboundp 'json-parse-string)
                      (json-parse-string text :object-type 'plist :array-type 'list
                                         :null-object nil :false-object nil)
                    (require 'json)
                    (let ((json-object-type 'plist)
                          (json-array-type 'list)
                          (json-false nil))
                      (json-read-from-string text))))))
    (and (keywordp (car-safe entry)) entry)))

;;;; Writing

(defvar agent-q-diff-log--failed nil
  "Non-nil if recording the last entry failed and that was reported.")

(defun agent-q-diff-log--old (n)
  "Return the name of the Nth rotated log; 0 is the current log."
  (if (= n 0)
      agent-q-diff-log-file
    (format "%s.%d" agent-q-diff-log-file n)))

(defun agent-q-diff-log--size (file)
  "Return the size of FILE in bytes, 0 if it does not exist."
  (or (file-attribute-size (file-attributes file)) 0))

(defun agent-q-diff-log--full-p (size)
  "Return non-nil if a log of SIZE bytes is due for rotation."
  (and agent-q-diff-log-max-bytes
       (>= size (max 1 agent-q-diff-log-max-bytes))))

(defun agent-q-diff-log--shift ()
  "Rename the log and the rotated logs, each to the next number."
  (let ((n agent-q-diff-log-n-old))
    (if (= n 0)
        (delete-file agent-q-diff-log-file)
      (while (> n 0)
        (let ((from (agent-q-diff-log--old (1- n))))
          (when (file-exists-p from)
            (rename-file from (agent-q-diff-log--old n) t)))
        (setq n (1- n))))))

(defconst agent-q-diff-log--max-lock-age 60
  "Age in seconds from which on a lock is taken to be that of a dead Emacs.")

(defun agent-q-diff-log--lock (lock)
  "Create the directory LOCK, which only one process can, and return non-nil.
While another Emacs has it, wait, but at most a second: a log with a torn
line is better than a missing entry, and than an Emacs that hangs."
  (let ((n-tries 500)
        (locked nil))
    (while (and (not (setq locked (ignore-errors (make-directory lock) t)))
                (> n-tries 0)
                (file-exists-p lock))
      (when (time-less-p agent-q-diff-log--max-lock-age
                         (time-since (or (file-attribute-modification-time
                                          (file-attributes lock))
                                         (current-time))))
        (ignore-errors (delete-directory lock)))
      (setq n-tries (1- n-tries))
      (sleep-for 0.002))
    locked))

(defvar agent-q-diff-log--end nil
  "Where the last entry ended that this Emacs wrote, (FILE . SIZE).")

(defun agent-q-diff-log--torn-p (file size)
  "Return non-nil if FILE, of SIZE bytes, has no newline at its end.
Then somebody crashed while writing it."
  (and (> size 0)
       (not (equal agent-q-diff-log--end (cons file size)))
       (with-temp-buffer
         (set-buffer-multibyte nil)
         (ignore-errors
           (insert-file-contents-literally file nil (1- size) size))
         (not (member (buffer-string) '("\n" ""))))))

(defun agent-q-diff-log--append (plist)
  "Append a line that records PLIST to the log."
  (let ((file agent-q-diff-log-file)
        (write-region-annotate-functions nil)
        (write-region-inhibit-fsync t)
        (create-lockfiles nil))
    (unless (file-directory-p (file-name-directory file))
      (with-file-modes #o700
        (make-directory (file-name-directory file) t)))
    (agent-q-diff-file-check-regular file)
    (with-temp-buffer
      (agent-q-diff-log--insert plist)
      (let* ((lock (concat file ".lock"))
             (locked (agent-q-diff-log--lock lock)))
        (unwind-protect
            (let ((size (agent-q-diff-log--size file)))
              (when (and locked (agent-q-diff-log--full-p size))
                ;; A log that is too long is better than a missing entry.
                (ignore-errors (agent-q-diff-log--shift))
                (setq size (agent-q-diff-log--size file)))
              (when (agent-q-diff-log--torn-p file size)
                (goto-char (point-min))
                (insert "\n"))
              (let ((coding-system-for-write (agent-q-diff-log--coding)))
                (with-file-modes #o600
                  (write-region nil nil file t 'silent)))
              (setq agent-q-diff-log--end
                    (cons file (+ size (1- (position-bytes (point-max)))))))
          (when locked
            (delete-directory lock)))))))

(defun agent-q-diff-log--coding ()
  "Return the coding system for writing the current buffer as UTF-8.
All ASCII text is written unconverted, which makes no copy."
  (if (agent-q-diff-coding-all-ascii-p)
      'no-conversion
    'utf-8-unix))

(defun agent-q-diff-log-record (plist)
  "Record PLIST: what an agent proposed, and the outcome.
Its keys are :tool, :agent, :description, :path, :outcome, :total and
:in-file (numbers of hunks), :saved, :hash-before, :hash-after, :hunks,
:decided-by, :reason, :diff and any others; the time is added.  Values may
be strings, integers, symbols, and lists, vectors and plists of those.

Return non-nil if it was recorded.  Never signal an error: a failure is
reported once, until recording works again."
  (when agent-q-diff-log-file
    (condition-case err
        (let ((inhibit-quit t)
              (agent-q-diff-log-file (expand-file-name agent-q-diff-log-file)))
          (agent-q-diff-log--append plist)
          (setq agent-q-diff-log--failed nil)
          t)
      (error
       (unless agent-q-diff-log--failed
         (setq agent-q-diff-log--failed t)
         (message "agent-q-diff: cannot write the log: %s"
                  (error-message-string err)))
       nil))))

;;;; Reading

(defconst agent-q-diff-log--max-read (* 16 1024 1024)
  "Maximum number of bytes of a log that are read, however long its entries are.")

(defun agent-q-diff-log--tail (file n)
  "Return up to N last lines of FILE, the last one first, as bytes.
Only the end of FILE is read, in each attempt twice as much."
  (let* ((size (agent-q-diff-log--size file))
         (chunk (* 128 1024))
         (lines nil)
         (enough nil))
    (while (not enough)
      (setq chunk (min (* 2 chunk) size agent-q-diff-log--max-read)
            lines (agent-q-diff-log--lines-from file (- size chunk) size)
            enough (or (>= (length lines) n)
                       (>= chunk (min size agent-q-diff-log--max-read)))))
    (seq-take (nreverse lines) n)))

(defun agent-q-diff-log--lines-from (file beg end)
  "Return the complete lines of FILE between the bytes BEG and END."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (when (< beg end)
      (agent-q-diff-file-check-regular file)
      (insert-file-contents-literally file nil beg end))
    (goto-char (point-min))
    (unless (= beg 0)
      (forward-line 1))
    (split-string (buffer-substring (point) (point-max)) "\n" t)))

(defun agent-q-diff-log-entries (n)
  "Return up to N latest entries of the log as plists, the latest first.
If the current log has fewer, continue with the rotated ones."
  (let ((agent-q-diff-log-file (expand-file-name (or agent-q-diff-log-file
                                                     (user-error "No log is kept"))))
        (entries nil)
        (old 0))
    (while (and (< (length entries) n)
                (<= old agent-q-diff-log-n-old))
      (let ((file (agent-q-diff-log--old old)))
        (when (file-exists-p file)
          (setq entries
                (append entries
                        (delq nil (mapcar #'agent-q-diff-log--parse
                                          (agent-q-diff-log--tail
                                           file (- n (length entries)))))))))
      (setq old (1+ old)))
    entries))

;;;; Refusals

(defun agent-q-diff-log-refusal (tool path err)
  "Record that the guard refused PATH to a call of TOOL, with the error ERR."
  (agent-q-diff-log-record
   (list :tool tool :agent (agent-q-diff-call-agent agent-q-diff-call) :path path
         :outcome "refused" :decided-by 'guard
         :reason (agent-q-diff-error-text err))))

;;; The log as a list, and its entries

(defcustom agent-q-diff-log-n-shown 500
  "Number of entries, counted from the latest, that the list shows."
  :type 'natnum
  :group 'agent-q-diff-log)

;;;; One entry

(defun agent-q-diff-log-list--fields (entry)
  "Return all fields of ENTRY except its diff, one a line."
  (let (lines)
    (while entry
      (let ((key (pop entry))
            (value (pop entry)))
        (unless (or (eq key :diff) (null value))
          (push (format "# %s: %s" (string-remove-prefix ":" (symbol-name key))
                        (agent-q-diff-views-text value most-positive-fixnum))
                lines))))
    (string-join (nreverse lines) "\n")))

(defvar-local agent-q-diff-log-list--entry nil
  "The entry that the current buffer shows.")
(put 'agent-q-diff-log-list--entry 'permanent-local t)

(defvar agent-q-diff-log-entry-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "\r" #'agent-q-diff-log-visit)
    (define-key map "o" #'agent-q-diff-log-visit)
    (define-key map "q" #'quit-window)
    (dolist (command '(diff-apply-hunk diff-test-hunk diff-goto-source
                                       diff-ediff-patch diff-refresh-hunk))
      (define-key map (vector 'remap command) #'agent-q-diff-log-visit))
    map)
  "Keymap of `agent-q-diff-log-entry-mode'.")

(define-derived-mode agent-q-diff-log-entry-mode diff-mode "Agent-Q Entry"
  "Major mode for an entry of the log.
The file is visited by a command only, never because a line names it.

\\{agent-q-diff-log-entry-mode-map}"
  (setq-local diff-refine nil)
  (setq-local diff-font-lock-syntax nil)
  ;; The defaults of these would look for the file of a hunk.
  (setq-local add-log-current-defun-function #'ignore)
  (setq-local add-log-buffer-file-name-function #'ignore)
  (setq-local next-error-function nil)
  ;; Show the text in its logical order, and characters without width.
  (setq-local bidi-display-reordering nil)
  (setq-local glyphless-char-display (copy-sequence glyphless-char-display))
  (dolist (range '((#xad . #xad) (#x61c . #x61c) (#x200b . #x200f)
                   (#x2028 . #x202e) (#x2060 . #x206f) (#xfeff . #xfeff)
                   (#xe0000 . #xe0fff)))
    (set-char-table-range glyphless-char-display range 'hex-code))
  (setq-local minor-mode-overriding-map-alist
              (list (cons 'buffer-read-only agent-q-diff-log-entry-mode-map)
                    (cons 'diff-mode-read-only agent-q-diff-log-entry-mode-map)))
  (setq buffer-read-only t))

(defun agent-q-diff-log-list--show (entry)
  "Return a buffer with ENTRY and its diff."
  (with-current-buffer (get-buffer-create "*Agent-Q Log Entry*")
    (let ((inhibit-read-only t)
          (diff (plist-get entry :diff)))
      (erase-buffer)
      (setq buffer-undo-list t
            default-directory (file-name-as-directory (expand-file-name "~"))
            agent-q-diff-log-list--entry entry)
      (insert (agent-q-diff-log-list--fields entry) "\n\n")
      (when (stringp diff)
        (insert diff)))
    (let ((enable-dir-local-variables nil)
          (diff-update-on-the-fly nil))
      (agent-q-diff-log-entry-mode))
    (set-buffer-modified-p nil)
    (goto-char (point-min))
    (current-buffer)))

(defun agent-q-diff-log-list--file (entry)
  "Return the name of the file of ENTRY, or signal a `user-error'.
A relative path is below the root that ENTRY has."
  (let ((path (plist-get entry :path))
        (root (plist-get entry :root)))
    (unless (and (stringp path) (not (string-empty-p path)))
      (user-error "The entry names no file"))
    (let ((name (cond
                 ((string-prefix-p "/" path) path)
                 ((string-match-p "\\`[[:alpha:]]:/" path) path)
                 ((stringp root) (agent-q-diff-file-named path root))
                 (t (user-error "The entry does not say where %s is"
                                (agent-q-diff-views-text path))))))
      ;; These two tests do not connect; `file-exists-p' would.
      (when (and (file-remote-p name)
                 (not (file-remote-p name nil t))
                 (not (yes-or-no-p (format "Connect to %s? "
                                           (agent-q-diff-views-text name)))))
        (user-error "Not visited"))
      (unless (file-exists-p name)
        (user-error "%s does not exist" (agent-q-diff-views-text name)))
      (agent-q-diff-file-check-regular name)
      name)))

(defun agent-q-diff-log-visit ()
  "Visit the file of the entry at point, in the other window."
  (interactive)
  (find-file-other-window
   (agent-q-diff-log-list--file (or agent-q-diff-log-list--entry (agent-q-diff-views-here)))))

;;; The list

(defun agent-q-diff-log-list--time (entry)
  "Return the time of ENTRY in the user's time zone."
  (let ((time (plist-get entry :time)))
    (condition-case nil
        (format-time-string "%F %T" (encode-time (parse-time-string time)))
      (error (format "%s" time)))))

(defun agent-q-diff-log-list--outcome (entry)
  "Return the outcome of ENTRY in a word."
  (let ((outcome (plist-get entry :outcome))
        (after (plist-get entry :hash-after)))
    (cond
     ((stringp outcome) outcome)
     ((or (null after) (equal after (plist-get entry :hash-before))) "unchanged")
     (t "changed"))))

(defun agent-q-diff-log-list--hunks (entry)
  "Return how many hunks of ENTRY's review are in the file, or \"\"."
  (let ((in (plist-get entry :in-file))
        (total (plist-get entry :total)))
    (if (and (integerp in) (integerp total))
        (format "%d/%d" in total)
      "")))

;; A remote name may not connect.
(defun agent-q-diff-log-list--abbreviated (path)
  "Return PATH, a value of any type, abbreviated if it is the name of a local file."
  (if (and (stringp path) (not (file-remote-p path)))
      (abbreviate-file-name path)
    path))

(defun agent-q-diff-log-list--rows ()
  "Return the rows of the log, the latest first."
  (mapcar (lambda (entry)
            (list entry
                  (plist-get entry :agent)
                  (plist-get entry :description)
                  (agent-q-diff-log-list--abbreviated (plist-get entry :path))
                  (agent-q-diff-log-list--outcome entry)
                  (agent-q-diff-log-list--hunks entry)
                  (plist-get entry :decided-by)
                  (agent-q-diff-log-list--time entry)
                  (agent-q-diff-log-list--abbreviated (plist-get entry :root))
                  (plist-get entry :tool)
                  (plist-get entry :reason)))
          (agent-q-diff-log-entries agent-q-diff-log-n-shown)))

(defun agent-q-diff-log-show-entry ()
  "Show the entry at point with its diff, in the other window."
  (interactive)
  (pop-to-buffer (agent-q-diff-log-list--show (agent-q-diff-views-here))))

(agent-q-diff-views-define agent-q-diff-log-mode "Agent-Q Log"
  "Major mode for the list of what agents proposed, the latest first."
  :item "entry"
  :columns '(("Agent" 11 t) ("Description" nil t) ("File" nil t :end t) ("Outcome" 16 t)
             ("Hunks" 5 nil) ("By" 8 t) ("Time" 19 t) ("Project" 20 t :aside t :end t)
             ("Tool" 17 t :aside t) ("Reason" 0 nil :aside t))
  :rows #'agent-q-diff-log-list--rows
  :keys '(("RET" . agent-q-diff-log-show-entry)
          ("o" . agent-q-diff-log-visit)))

;;;###autoload
(defun agent-q-diff-log ()
  "List what agents proposed and how it ended, the latest first.
\\<agent-q-diff-log-mode-map>\\[agent-q-diff-log-show-entry] shows an
entry, \\[agent-q-diff-log-visit] visits its file, \\[revert-buffer] reads
the log again."
  (interactive)
  (agent-q-diff-views-show "*Agent-Q Log*" #'agent-q-diff-log-mode))

(provide 'agent-q-diff-log)
;;; agent-q-diff-log.el ends here
