;;; agent-q-diff-log.el --- The log of what agents proposed  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The log has one JSON object per line, in a file that only the user can
;; read, since diffs contain parts of the user's files.  The engine writes and
;; reads it (src/reviewed/history.rs).
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
(require 'agent-q-diff-engine)
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

;;;; Writing and reading

(defconst agent-q-diff-log-hunk-keys '(:index :state :in-file :where :edited :comment :reason :decided-by)
  "The keys of a hunk in an entry.")

(defvar agent-q-diff-log--failed nil
  "Non-nil if recording the last entry failed and that was reported.")

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
        (let ((inhibit-quit t))
          (unless (proper-list-p plist)
            (signal 'wrong-type-argument (list #'proper-list-p plist)))
          (agent-q-diff-engine-call #'agent-q-diff-module-record-event
                                    (expand-file-name agent-q-diff-log-file)
                                    agent-q-diff-log-max-bytes agent-q-diff-log-n-old
                                    (append (list :time (format-time-string "%FT%T.%3NZ" nil t))
                                            plist))
          (setq agent-q-diff-log--failed nil)
          t)
      (error
       (unless agent-q-diff-log--failed
         (setq agent-q-diff-log--failed t)
         (message "agent-q-diff: cannot write the log: %s"
                  (agent-q-diff-error-text err)))
       nil))))

(defun agent-q-diff-log-entries (n)
  "Return up to N latest entries of the log as plists, the latest first.
If the current log has fewer, continue with the rotated ones."
  (agent-q-diff-engine-call #'agent-q-diff-module-events
                            (expand-file-name (or agent-q-diff-log-file
                                                  (user-error "No log is kept")))
                            agent-q-diff-log-n-old n))

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
     ((stringp outcome)
      (if (seq-some (lambda (hunk) (equal "buffer" (plist-get hunk :where)))
                    (plist-get entry :hunks))
          (concat outcome ", not saved")
        outcome))
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
  "Return PATH, a value of any type, for display.
The name of a local file is abbreviated."
  (if (stringp path)
      (agent-q-diff-visible-name (if (file-remote-p path) path (abbreviate-file-name path)))
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
  :columns '(("Agent" 11 t) ("Description" nil t) ("File" nil t :end t) ("Outcome" 19 t)
             ("Hunks" 5 nil) ("By" 8 t) ("Time" 19 t) ("Project" 20 t :aside t :end t)
             ("Tool" 17 t :aside t) ("Reason" 0 nil :aside t))
  :rows #'agent-q-diff-log-list--rows
  :keys '(("\r" . agent-q-diff-log-show-entry)
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
