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

(require 'diff-mode)
(require 'json)
(require 'seq)
(require 'subr-x)
(require 'tabulated-list)
(require 'agent-q-diff-base)

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

(defun agent-q-diff-log--text (string)
  "Return STRING with nothing in it that JSON cannot hold.
A byte that is no character becomes \"\\xNN\", and half of a surrogate
pair \"\\uNNNN\", as plain text."
  (replace-regexp-in-string
   "[^\u0000-\ud7ff\ue000-\U0010ffff]"
   (lambda (char)
     (let ((code (aref char 0)))
       (if (< code #x110000)
           (format "\\u%x" code)
         (format "\\x%02x" (logand code #xff)))))
   (string-to-multibyte (substring-no-properties string)) t t))

(defun agent-q-diff-log--object (plist)
  "Return PLIST as a hash table, keys without their colons, values for JSON."
  (let ((object (make-hash-table :test #'equal)))
    (while plist
      (puthash (string-remove-prefix ":" (format "%s" (pop plist)))
               (agent-q-diff-log--value (pop plist))
               object))
    object))

(defun agent-q-diff-log--value (value)
  "Return VALUE as `json-encode' takes it, whatever it is."
  (cond
   ((memq value '(nil t)) value)
   ((memq value '(:false :json-false)) json-false)
   ((memq value '(:null)) nil)
   ((stringp value) (agent-q-diff-log--text value))
   ((integerp value) value)
   ((symbolp value) (agent-q-diff-log--text (symbol-name value)))
   ((vectorp value) (vconcat (mapcar #'agent-q-diff-log--value value)))
   ((and (proper-list-p value) (keywordp (car value)))
    (agent-q-diff-log--object value))
   ((proper-list-p value) (vconcat (mapcar #'agent-q-diff-log--value value)))
   (t (agent-q-diff-log--text (format "%S" value)))))

(defun agent-q-diff-log--line (plist)
  "Return the line, as bytes, that records PLIST as of now."
  (let ((json-encoding-pretty-print nil)
        (entry (append (list :time (format-time-string "%FT%T.%3NZ" nil t)) plist)))
    (encode-coding-string
     (concat (json-encode (agent-q-diff-log--object entry)) "\n")
     'utf-8-unix)))

(defun agent-q-diff-log--parse (line)
  "Return LINE, bytes, as a plist, or nil if it is no entry."
  (condition-case nil
      (let ((text (decode-coding-string line 'utf-8-unix)))
        (if (fboundp 'json-parse-string)
            (json-parse-string text :object-type 'plist :array-type 'list
                               :null-object nil :false-object nil)
          (let ((json-object-type 'plist)
                (json-array-type 'list)
                (json-false nil))
            (json-read-from-string text))))
    (error nil)))

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
  "Return non-nil if FILE does not end with a newline, as after a crash."
  (let ((size (agent-q-diff-log--size file)))
    (and (> size 0)
         (with-temp-buffer
           (set-buffer-multibyte nil)
           (insert-file-contents-literally file nil (1- size) size)
           (not (equal (buffer-string) "\n"))))))

(defun agent-q-diff-log--append (line)
  "Append LINE, bytes that end with a newline, to the log."
  (let ((file agent-q-diff-log-file)
        (coding-system-for-write 'no-conversion)
        (write-region-annotate-functions nil)
        (write-region-post-annotation-function nil)
        (write-region-inhibit-fsync t)
        (create-lockfiles nil))
    (with-file-modes #o700
      (make-directory (file-name-directory file) t))
    (agent-q-diff-log--rotate)
    (with-file-modes #o600
      (write-region (if (agent-q-diff-log--torn-p file) (concat "\n" line) line)
                    nil file t 'silent))))

(defun agent-q-diff-log-record (plist)
  "Record PLIST, what an agent proposed and what became of it.
Its keys are :tool, :path, :hash-before, :hash-after, :hunks,
:decided-by, :reason, :diff and whatever else there is to tell; the time
is added.  Values may be strings, integers, symbols, and lists, vectors
and plists of those.

Return non-nil if it is in the log.  Never signal an error: that the log
cannot be written is said once, until it can be again."
  (when agent-q-diff-log-file
    (condition-case err
        (let ((inhibit-quit t)
              (agent-q-diff-log-file (expand-file-name agent-q-diff-log-file)))
          (agent-q-diff-log--append (agent-q-diff-log--line plist))
          (setq agent-q-diff-log--failed nil)
          t)
      (error
       (unless agent-q-diff-log--failed
         (setq agent-q-diff-log--failed t)
         (message "agent-q-diff: cannot write the log: %s"
                  (error-message-string err)))
       nil))))

(provide 'agent-q-diff-log)
;;; agent-q-diff-log.el ends here
