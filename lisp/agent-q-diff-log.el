;;; agent-q-diff-log.el --- What agents proposed and what became of it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One JSON object a line, appended to a file that only the user can read,
;; since diffs hold what is in the user's files.  Several Emacsen may write
;; at once: a line goes out in one write(2) to a file opened with O_APPEND,
;; which is what `write-region' does when it appends bytes.
;;
;; Recording never disturbs the caller: it asks nothing, signals nothing,
;; and says only once that it fails.  Browsing reads no more than the end
;; of the log and opens no file that an entry names, unless told to.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'seq)
(require 'subr-x)
(require 'tabulated-list)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-visible)

;;;; Options

(defcustom agent-q-diff-log-file
  (locate-user-emacs-file "agent-q-diff/log.jsonl")
  "File to which every proposal and every edit is recorded, or nil for none.
It holds one JSON object a line and is readable by the user alone.  A
directory that is missing is created, for the user alone as well."
  :type '(choice (const :tag "Record nothing" nil) file)
  :group 'agent-q-diff)

(defcustom agent-q-diff-log-max-bytes (* 10 1024 1024)
  "Size in bytes from which on the log is put aside and a new one begun.
If nil, that never happens."
  :type '(choice (const :tag "Never" nil) natnum)
  :group 'agent-q-diff)

(defcustom agent-q-diff-log-n-old 3
  "Number of logs that are kept beside the current one.
The latest of them has the name of the log with \".1\" behind it."
  :type 'natnum
  :group 'agent-q-diff)

(defcustom agent-q-diff-log-n-shown 500
  "Number of entries, counted from the latest, that the log's buffer shows."
  :type 'natnum
  :group 'agent-q-diff)

;;;; Entries as JSON

(defun agent-q-diff-log--plain-p (string)
  "Return non-nil if STRING is all ASCII and has no NUL."
  (and (not (string-search "\0" string))
       ;; That is known at once, which a regexp takes long to find out.
       (eq string (encode-coding-string string 'utf-8-unix t))))

(defun agent-q-diff-log--text (string)
  "Return STRING with nothing in it that JSON cannot hold.
A byte that is no character becomes \"\\xNN\" and half of a surrogate pair
\"\\uNNNN\", as plain text; so does NUL, which Emacs 28 cannot read back."
  ;; JSON has no text properties, and to copy a long diff makes garbage.
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

(defconst agent-q-diff-log-hunk-keys '(:index :state :in-file :edited :comment :reason)
  "The keys of a hunk in an entry.")

(defun agent-q-diff-log--object (plist)
  "Return PLIST as an object for JSON, keys without their colons.
That of a hunk is a plist: a review can have thousands, and a hash table
for each makes much garbage.  Other plists may have any keys."
  (if (and plist (cl-loop for (key) on plist by #'cddr
                          always (memq key agent-q-diff-log-hunk-keys)))
      (cl-loop for (key value) on plist by #'cddr
               collect key
               collect (agent-q-diff-log--value value))
    (let ((object (make-hash-table :test #'equal)))
      (cl-loop for (key value) on plist by #'cddr
               do (puthash (agent-q-diff-log--text
                            (string-remove-prefix ":" (format "%s" key)))
                           (agent-q-diff-log--value value)
                           object))
      object)))

(defun agent-q-diff-log--value (value)
  "Return VALUE as `json-encode' takes it, whatever it is."
  (cond
   ((memq value '(nil t)) value)
   ((memq value '(:false :json-false)) :json-false)
   ((memq value '(:null)) nil)
   ((stringp value) (agent-q-diff-log--text value))
   ;; Beyond these JSON readers lose digits, or fail.
   ((and (integerp value) (<= (- (expt 2 53)) value (expt 2 53))) value)
   ((symbolp value) (agent-q-diff-log--text (symbol-name value)))
   ((vectorp value) (vconcat (mapcar #'agent-q-diff-log--value value)))
   ((and (proper-list-p value) (keywordp (car value)))
    (agent-q-diff-log--object value))
   ((proper-list-p value) (vconcat (mapcar #'agent-q-diff-log--value value)))
   (t (agent-q-diff-log--text (format "%S" value)))))

;; Only an Emacs that was built without JSON needs this library, which takes
;; longer to load than all that is written to a log in a day.
(declare-function json-encode "json" (object))
(declare-function json-read-from-string "json" (string))
(defvar json-encoding-pretty-print)
(defvar json-object-type)
(defvar json-array-type)
(defvar json-false)

(defun agent-q-diff-log--insert (plist)
  "Insert at point the line that records PLIST as of now.
In a buffer it is no garbage, which a long diff makes much of as a string."
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
  "Return LINE, bytes, as a plist, or nil if it is no entry."
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
  "Non-nil if the last entry could not be recorded, and that was said.")

(defun agent-q-diff-log--old (n)
  "Return the name of the Nth log that was put aside, the log itself if N is 0."
  (if (= n 0)
      agent-q-diff-log-file
    (format "%s.%d" agent-q-diff-log-file n)))

(defun agent-q-diff-log--size (file)
  "Return the size of FILE in bytes, 0 if there is none."
  (or (file-attribute-size (file-attributes file)) 0))

(defun agent-q-diff-log--full-p ()
  "Return non-nil if the log is to be put aside."
  (and agent-q-diff-log-max-bytes
       (>= (agent-q-diff-log--size agent-q-diff-log-file)
           (max 1 agent-q-diff-log-max-bytes))))

(defun agent-q-diff-log--put-aside ()
  "Rename the log and those that were put aside before."
  (let ((n agent-q-diff-log-n-old))
    (if (= n 0)
        (delete-file agent-q-diff-log-file)
      (while (> n 0)
        (let ((from (agent-q-diff-log--old (1- n))))
          (when (file-exists-p from)
            (rename-file from (agent-q-diff-log--old n) t)))
        (setq n (1- n))))))

(defconst agent-q-diff-log--max-lock-age 60
  "Age in seconds from which on a lock is that of an Emacs that died.")

(defun agent-q-diff-log--rotate ()
  "Put the log aside if it is full and no other Emacs is just doing so.
The lock is a directory, which only one of several can create."
  (when (agent-q-diff-log--full-p)
    (let ((lock (concat agent-q-diff-log-file ".lock")))
      (when (time-less-p agent-q-diff-log--max-lock-age
                         (time-since (or (file-attribute-modification-time
                                          (file-attributes lock))
                                         (current-time))))
        (ignore-errors (delete-directory lock)))
      (when (ignore-errors (make-directory lock) t)
        (unwind-protect
            ;; Another may have done it between the look and the lock.
            (when (agent-q-diff-log--full-p)
              (agent-q-diff-log--put-aside))
          (delete-directory lock))))))

(defun agent-q-diff-log--torn-p (file)
  "Return non-nil if FILE does not end with a newline, as after a crash.
Another Emacs may put FILE aside between the two looks at it; then the
answer does not matter."
  (let ((size (agent-q-diff-log--size file)))
    (and (> size 0)
         (with-temp-buffer
           (set-buffer-multibyte nil)
           (ignore-errors
             (insert-file-contents-literally file nil (1- size) size))
           (not (member (buffer-string) '("\n" "")))))))

(defun agent-q-diff-log--append (plist)
  "Append a line that records PLIST to the log."
  (let ((file agent-q-diff-log-file)
        (write-region-annotate-functions nil)
        (write-region-inhibit-fsync t)
        (create-lockfiles nil))
    (with-file-modes #o700
      (make-directory (file-name-directory file) t))
    ;; A log that is too long is better than an entry that is not in it.
    (ignore-errors
      (agent-q-diff-log--rotate))
    (with-temp-buffer
      (when (agent-q-diff-log--torn-p file)
        (insert "\n"))
      (agent-q-diff-log--insert plist)
      (let ((coding-system-for-write (agent-q-diff-log--coding)))
        (with-file-modes #o600
          (write-region nil nil file t 'silent))))))

(defun agent-q-diff-log--coding ()
  "Return the coding system in which the current buffer is to be written.
It is UTF-8; ASCII is that without Emacs encoding a copy of it."
  (if (agent-q-diff-file-all-ascii-p)
      'no-conversion
    'utf-8-unix))

(defun agent-q-diff-log-record (plist)
  "Record PLIST, what an agent proposed and what became of it.
Its keys are :tool, :agent, :path, :outcome, :total and :in-file (numbers
of hunks), :saved, :hash-before, :hash-after, :hunks, :decided-by,
:reason, :diff and whatever else there is to tell; the time is added.
Values may be strings, integers, symbols, and lists, vectors and plists
of those.

Return non-nil if it is in the log.  Never signal an error: that the log
cannot be written is said once, until it can be again."
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
  "How many bytes of a log are read at most, however long its entries are.")

(defun agent-q-diff-log--tail (file n)
  "Return up to N last lines of FILE, the last one first, as bytes.
Only the end of FILE is read, twice as much at each attempt."
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
  "Return the whole lines of FILE between the bytes BEG and END."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (when (< beg end)
      (insert-file-contents-literally file nil beg end))
    (goto-char (point-min))
    (unless (= beg 0)
      (forward-line 1))
    (split-string (buffer-substring (point) (point-max)) "\n" t)))

(defun agent-q-diff-log-entries (n)
  "Return up to N latest entries of the log as plists, the latest first.
If there are fewer in the current log, go on in those that were put aside."
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

;;;; One entry

(defun agent-q-diff-log--visible (value &optional limit)
  "Return VALUE as one line of text with nothing in it that misleads.
LIMIT is as for `agent-q-diff-visible'."
  (agent-q-diff-visible (if (stringp value) value (format "%S" value)) limit))

(defun agent-q-diff-log--fields (entry)
  "Return all of ENTRY but its diff, each field a line."
  (let (lines)
    (while entry
      (let ((key (pop entry))
            (value (pop entry)))
        (unless (or (eq key :diff) (null value))
          (push (format "# %s: %s" (string-remove-prefix ":" (symbol-name key))
                        (agent-q-diff-log--visible value most-positive-fixnum))
                lines))))
    (string-join (nreverse lines) "\n")))

(defvar-local agent-q-diff-log--entry nil
  "The entry that the current buffer shows.")
(put 'agent-q-diff-log--entry 'permanent-local t)

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
  ;; These look for the file in which a hunk is.
  (setq-local add-log-current-defun-function #'ignore)
  (setq-local add-log-buffer-file-name-function #'ignore)
  (setq-local next-error-function nil)
  ;; What is there is shown in its order, and all of it.
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

(defun agent-q-diff-log--show (entry)
  "Return a buffer with ENTRY and its diff."
  (with-current-buffer (get-buffer-create "*Agent-Q Log Entry*")
    (let ((inhibit-read-only t)
          (diff (plist-get entry :diff)))
      (erase-buffer)
      (setq buffer-undo-list t
            default-directory (file-name-as-directory (expand-file-name "~"))
            agent-q-diff-log--entry entry)
      (insert (agent-q-diff-log--fields entry) "\n\n")
      (when (stringp diff)
        (insert diff)))
    (let ((enable-dir-local-variables nil)
          (diff-update-on-the-fly nil))
      (agent-q-diff-log-entry-mode))
    (set-buffer-modified-p nil)
    (goto-char (point-min))
    (current-buffer)))

(defun agent-q-diff-log--file (entry)
  "Return the name of the file that ENTRY is about, or signal a `user-error'.
A path that the agent gave relative to the root is so still."
  (let ((path (plist-get entry :path))
        (root (plist-get entry :root)))
    (unless (and (stringp path) (not (string-empty-p path)))
      (user-error "The entry names no file"))
    (let ((name (cond
                 ((string-prefix-p "/" path) path)
                 ((string-match-p "\\`[[:alpha:]]:/" path) path)
                 ((stringp root) (concat (file-name-as-directory root) path))
                 (t (user-error "The entry does not say where %s is"
                                (agent-q-diff-log--visible path))))))
      ;; Neither question connects; asking whether the file exists would.
      (when (and (file-remote-p name)
                 (not (file-remote-p name nil t))
                 (not (yes-or-no-p (format "Connect to %s? "
                                           (agent-q-diff-log--visible name)))))
        (user-error "Not visited"))
      (unless (file-exists-p name)
        (user-error "%s does not exist" (agent-q-diff-log--visible name)))
      name)))

(defun agent-q-diff-log-visit ()
  "Visit the file of the entry at point, in the other window."
  (interactive)
  (find-file-other-window
   (agent-q-diff-log--file (or agent-q-diff-log--entry
                               (tabulated-list-get-id)
                               (user-error "No entry here")))))

;;;; The list

(defun agent-q-diff-log--time (entry)
  "Return when ENTRY was made, in the user's time zone."
  (let ((time (plist-get entry :time)))
    (condition-case nil
        (format-time-string "%F %T" (encode-time (parse-time-string time)))
      (error (format "%s" time)))))

(defun agent-q-diff-log--outcome (entry)
  "Return in a word what became of ENTRY's proposal."
  (let ((outcome (plist-get entry :outcome))
        (after (plist-get entry :hash-after)))
    (cond
     ((stringp outcome) outcome)
     ((or (null after) (equal after (plist-get entry :hash-before))) "unchanged")
     (t "changed"))))

(defun agent-q-diff-log--hunks (entry)
  "Return how many of the hunks of ENTRY's review are in the file, or \"\"."
  (let ((in (plist-get entry :in-file))
        (total (plist-get entry :total)))
    (if (and (integerp in) (integerp total))
        (format "%d/%d" in total)
      "")))

(defun agent-q-diff-log--row (entry)
  "Return ENTRY as an element of `tabulated-list-entries'."
  (let ((cell (lambda (key)
                (let ((value (plist-get entry key)))
                  (agent-q-diff-log--visible (or value ""))))))
    (list entry
          (vector (agent-q-diff-log--time entry)
                  (funcall cell :tool)
                  (agent-q-diff-log--visible (agent-q-diff-log--outcome entry))
                  (agent-q-diff-log--hunks entry)
                  (funcall cell :decided-by)
                  (funcall cell :path)
                  (funcall cell :reason)))))

(defun agent-q-diff-log--refresh ()
  "Read the log anew into `tabulated-list-entries'."
  (setq tabulated-list-entries
        (mapcar #'agent-q-diff-log--row
                (agent-q-diff-log-entries agent-q-diff-log-n-shown))))

(defun agent-q-diff-log-show-entry ()
  "Show the entry at point with its diff, in the other window."
  (interactive)
  (pop-to-buffer (agent-q-diff-log--show (or (tabulated-list-get-id)
                                             (user-error "No entry here")))))

(defvar agent-q-diff-log-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "\r" #'agent-q-diff-log-show-entry)
    (define-key map "o" #'agent-q-diff-log-visit)
    map)
  "Keymap of `agent-q-diff-log-mode'.")

(define-derived-mode agent-q-diff-log-mode tabulated-list-mode "Agent-Q Log"
  "Major mode for the list of what agents proposed, the latest first.

\\{agent-q-diff-log-mode-map}"
  (setq tabulated-list-format [("Time" 19 t) ("Tool" 17 t) ("Outcome" 20 t)
                               ("Hunks" 5 nil) ("By" 7 t) ("Path" 40 t) ("Reason" 0 nil)]
        tabulated-list-padding 1)
  (setq-local bidi-display-reordering nil)
  (agent-q-diff-base-claim-single-keys)
  (add-hook 'tabulated-list-revert-hook #'agent-q-diff-log--refresh nil t)
  (tabulated-list-init-header))

;;;###autoload
(defun agent-q-diff-log ()
  "List what agents proposed and what became of it, the latest first.
\\<agent-q-diff-log-mode-map>\\[agent-q-diff-log-show-entry] shows an entry, \\[agent-q-diff-log-visit] visits its file, \\[revert-buffer] reads the log anew."
  (interactive)
  (let ((buffer (get-buffer-create "*Agent-Q Log*")))
    (with-current-buffer buffer
      (agent-q-diff-log-mode)
      (revert-buffer))
    (pop-to-buffer buffer)))

(provide 'agent-q-diff-log)
;;; agent-q-diff-log.el ends here
