;;; agent-q-diff-outcome.el --- Shows the file as it will be  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A proposal is meant to be taken as a whole; some of its hunks alone can
;; leave a parenthesis open.  This file shows the target with the hunks
;; chosen so far, and warns if it is not sound although the original and the
;; whole proposal are.  The end of a review warns as well.
;;
;; A text is sound if parentheses and strings are balanced by the syntax
;; table of the target's mode and, if that mode has a tree-sitter parser,
;; this finds no error.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-section)
(require 'agent-q-diff-display)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-grace)

(declare-function treesit-buffer-root-node "treesit.c" (&optional language))
(declare-function treesit-node-check "treesit.c" (node property))
(declare-function treesit-node-start "treesit.c" (node))
(declare-function treesit-node-type "treesit.c" (node))
(declare-function treesit-parser-list "treesit.c" (&optional buffer))
(declare-function treesit-search-subtree "treesit.c")

(defconst agent-q-diff-outcome--buffer-name "*Agent-Q Outcome*"
  "Name of the buffer that shows the file as it will be.")

(defconst agent-q-diff-outcome--max-size 2000000
  "Number of characters from which on a text is not checked.")

;;;; Whether a text is sound

(defun agent-q-diff-outcome--unbalanced ()
  "Return the position of an unbalanced delimiter in this buffer, or nil."
  (condition-case err
      (progn
        (scan-sexps (point-min) (point-max))
        (nth 8 (save-excursion (syntax-ppss (point-max)))))
    (scan-error (nth 2 err))))

(defun agent-q-diff-outcome--unparsable ()
  "Return the position where tree-sitter cannot parse this buffer, or nil."
  (when (and (fboundp 'treesit-parser-list) (treesit-parser-list))
    (let ((root (treesit-buffer-root-node)))
      ;; Finding its position takes a call for each node.
      (when (treesit-node-check root 'has-error)
        (treesit-node-start
         (or (treesit-search-subtree root #'agent-q-diff-outcome--error-node-p nil t)
             root))))))

(defun agent-q-diff-outcome--error-node-p (node)
  "Return non-nil if tree-sitter could not parse NODE, or found it missing.
A missing node has the type that tree-sitter expected, and no text."
  (or (treesit-node-check node 'missing)
      (equal "ERROR" (treesit-node-type node))))

(defun agent-q-diff-outcome--flaw (text mode)
  "Return the line, from 1, where TEXT is not sound in MODE, or nil."
  (with-current-buffer (agent-q-diff-fontify-buffer mode)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert text)
      (prog1 (when-let ((at (or (agent-q-diff-outcome--unbalanced)
                                (agent-q-diff-outcome--unparsable))))
               (line-number-at-pos at))
        (erase-buffer)))))

(defun agent-q-diff-outcome--warning (text mode original modified)
  "Return a warning if TEXT is not sound in MODE, or nil.
Do not warn if ORIGINAL or MODIFIED, the proposal's texts, are not sound
either."
  (when (and mode original modified
             (not (equal text original))
             (not (equal text modified))
             (< (length text) agent-q-diff-outcome--max-size))
    (when-let ((line (agent-q-diff-outcome--flaw text mode)))
      (unless (or (agent-q-diff-outcome--flaw original mode)
                  (agent-q-diff-outcome--flaw modified mode))
        (format "BROKEN SYNTAX at line %d, which neither the original nor the whole proposal has"
                line)))))

;;;; Warning at the end

(defcustom agent-q-diff-finish-check-size 200000
  "Number of characters up to which a file is checked when you finish a review.
You are told if it has unbalanced delimiters or strings, or a syntax error
that tree-sitter finds, and neither the original nor the whole proposal
has.  If nil, only
\\<agent-q-diff-mode-map>\\[agent-q-diff-show-outcome] checks the file."
  :group 'agent-q-diff-review
  :type '(choice (natnum :tag "Characters") (const :tag "Never" nil)))

(defun agent-q-diff-outcome-at-finish ()
  "Return a warning about the targets when the review finishes, or nil.
There is one if a target is not sound, not too large to be checked, and
some of the proposal is in."
  (let ((change agent-q-diff-buffer-change))
    (when (and agent-q-diff-finish-check-size
               change
               (agent-q-diff-change-engine change)
               (< 0 (agent-q-diff-change-in-target change)))
      (let ((warnings (delq nil (mapcar #'agent-q-diff-outcome--file-warning
                                        (agent-q-diff-change-files change)))))
        (and warnings (string-join warnings "; "))))))

(defun agent-q-diff-outcome--file-warning (file)
  "Return a warning if the text that FILE has now is not sound, or nil.
FILE is an `agent-q-diff-file-change'.  A text that is larger than
`agent-q-diff-finish-check-size' is not checked."
  (let ((target (agent-q-diff-file-change-buffer file)))
    (when (and (agent-q-diff-file-change-has-text file)
               (buffer-live-p target)
               (<= (buffer-size target) agent-q-diff-finish-check-size))
      ;; The mode that reads the text may be any package's, and its errors
      ;; must not prevent finishing.
      (when-let ((warning (ignore-errors
                            (agent-q-diff-outcome--warning
                             (agent-q-diff-text-in target)
                             (agent-q-diff-fontify-mode-of target)
                             (agent-q-diff-file-change-original file)
                             (agent-q-diff-file-change-modified file)))))
        (format "%s: %s" (agent-q-diff-file-change-name file) warning)))))

;;; Several files

(defun agent-q-diff-outcome--will-be-in-p (change hunk is-all refused)
  "Return non-nil if HUNK of CHANGE will be in its file.
If IS-ALL is non-nil, so are pending hunks, except those in REFUSED."
  (let ((state (agent-q-diff-change-hunk change hunk)))
    (or (agent-q-diff-operation-done-p (agent-q-diff-change-file-of change hunk)
                                       (agent-q-diff-change-operation-of change hunk)
                                       (agent-q-diff-engine-hunk-fact state))
        (and is-all
             (null (agent-q-diff-engine-hunk-mark state))
             (not (assq hunk refused))))))

(defun agent-q-diff-outcome--file-words (change index is-all refused)
  "Return words for what will become of file INDEX of CHANGE.
IS-ALL and REFUSED are as for `agent-q-diff-outcome--will-be-in-p'."
  (let* ((file (nth index (agent-q-diff-change-files change)))
         (hunks (agent-q-diff-change-hunks-of change index))
         (in (seq-filter (lambda (hunk)
                           (agent-q-diff-outcome--will-be-in-p change hunk is-all refused))
                         hunks))
         (done (delq nil (mapcar (lambda (hunk) (agent-q-diff-change-operation-of change hunk))
                                 in)))
         (creation (assq 'create (agent-q-diff-file-change-operations file)))
         (is-created (and creation in))
         (lines (- (length hunks)
                   (length (agent-q-diff-file-change-decided-operations file)))))
    (format "%s  %s"
            (agent-q-diff-section-file-name
             (or (and (or (assq 'rename done) is-created)
                      (agent-q-diff-file-change-new-path file))
                 (agent-q-diff-file-change-old-path file)
                 (agent-q-diff-file-change-new-path file)))
            (string-join
             (delq nil
                   (list (cond
                          ((assq 'delete done) "deleted")
                          (is-created "new")
                          (creation "not created")
                          ((assq 'rename done)
                           (format "renamed from %s"
                                   (agent-q-diff-section-file-name
                                    (agent-q-diff-file-change-old-path file)))))
                         (and (< (if creation 1 0) lines)
                              (format (ngettext "%d of %d hunk" "%d of %d hunks" lines)
                                      (- (length in) (length done)) lines))
                         (and (assq 'mode done)
                              (agent-q-diff-operation-words (assq 'mode done)))
                         (when-let ((other (or (assq 'link done) (assq 'kind done))))
                           (agent-q-diff-operation-words other))
                         (and (null in) (= 0 lines) "as it was")
                         (agent-q-diff-outcome--warning-of change index is-all)))
             ", "))))

(defun agent-q-diff-outcome--warning-of (change index is-all)
  "Return a warning if the text of file INDEX of CHANGE will not be sound, or nil.
IS-ALL is as for `agent-q-diff-show-outcome'."
  (let ((file (nth index (agent-q-diff-change-files change))))
    (when-let ((text (and (agent-q-diff-file-change-has-text file)
                          (agent-q-diff-outcome--text change index is-all))))
      (agent-q-diff-outcome--warning
       text
       (agent-q-diff-fontify-mode-of (agent-q-diff-file-change-buffer file))
       (agent-q-diff-file-change-original file)
       (agent-q-diff-file-change-modified file)))))

(defun agent-q-diff-outcome--of-files (is-all)
  "Return the outcome of all files of this review, as `agent-q-diff-outcome--of'.
IS-ALL is as for `agent-q-diff-show-outcome'."
  (let* ((change agent-q-diff-buffer-change)
         (refused (and is-all
                       (pcase-let ((`(,planned . ,left-out)
                                    (agent-q-diff-decide-plan-all change)))
                         (append left-out (agent-q-diff-engine-planned-refused planned)))))
         (lines (cl-loop for index below (length (agent-q-diff-change-files change))
                         collect (agent-q-diff-outcome--file-words
                                  change index is-all refused))))
    (list (concat (string-join lines "\n") "\n") nil "The files" nil)))

;;;; Showing it

(defun agent-q-diff-outcome--text (change index is-all)
  "Return the text of file INDEX of CHANGE, with all pending hunks if IS-ALL.
Return nil if the file cannot be read."
  (when-let ((text (agent-q-diff-target-text
                    (agent-q-diff-file-change-target
                     (nth index (agent-q-diff-change-files change))))))
    (if is-all
        (agent-q-diff-outcome-after text (car (agent-q-diff-decide-plan-all change index)))
      text)))

(defun agent-q-diff-outcome-after (text planned)
  "Return TEXT after PLANNED, a plan for this file alone."
  (if-let ((part (car (agent-q-diff-engine-planned-parts planned))))
      (with-temp-buffer
        (insert text)
        (agent-q-diff-text-replace-lines (agent-q-diff-engine-part-edits part))
        (buffer-string))
    text))

(defun agent-q-diff-outcome--with-all (change file)
  "Return the text of FILE of CHANGE, which is visited, with all pending hunks.
Hunks that cannot be saved in its coding system count as well."
  (agent-q-diff-outcome-after
   (agent-q-diff-text-in (agent-q-diff-file-change-buffer file))
   (agent-q-diff-engine-plan-all (agent-q-diff-change-engine change) 'accept
                                 (seq-position (agent-q-diff-change-files change) file #'eq))))

(defun agent-q-diff-outcome-contradiction (change file)
  "Return how FILE of CHANGE with all hunks would contradict its coding system.
Return nil if it would not; see `agent-q-diff-coding-contradiction'."
  (let ((buffer (agent-q-diff-file-change-buffer file)))
    (agent-q-diff-file-change-contradiction
     file (or (agent-q-diff-file-change-modified file)
              (and (agent-q-diff-file-change-engine file)
                   (buffer-live-p buffer)
                   (< (buffer-size buffer) agent-q-diff-outcome--max-size)
                   (agent-q-diff-outcome--with-all change file))))))

(defun agent-q-diff-outcome-declared (change file)
  "Return what coding system FILE of CHANGE with all hunks would declare, or nil."
  (agent-q-diff-coding-declared (or (agent-q-diff-file-change-modified file)
                                    (agent-q-diff-outcome--with-all change file))
                                (buffer-file-name (agent-q-diff-file-change-buffer file))))

(defvar-local agent-q-diff-outcome--shown nil
  "What this buffer shows, a list (DIFF IS-ALL INDEX), or nil.
DIFF is the diff buffer, INDEX that of a file or nil for all files, and
IS-ALL as for `agent-q-diff-show-outcome'.")
(put 'agent-q-diff-outcome--shown 'permanent-local t)

(defun agent-q-diff-outcome--of (is-all index)
  "Return (TEXT MODE NAME WARNING), the outcome of file INDEX of this review.
If INDEX is nil, TEXT has a line for each file.  MODE is the major mode that
shows TEXT, NAME what it is called, and WARNING a string or nil.  IS-ALL is
as for `agent-q-diff-show-outcome'."
  (if (null index)
      (agent-q-diff-outcome--of-files is-all)
    ;; Its buffer has the mode.
    (ignore-error error
      (agent-q-diff-change-visit agent-q-diff-buffer-change index))
    (let* ((change agent-q-diff-buffer-change)
           (file (nth index (agent-q-diff-change-files change)))
           (name (agent-q-diff-file-change-name file))
           (text (agent-q-diff-outcome--text change index is-all))
           (mode (agent-q-diff-fontify-mode-of (agent-q-diff-file-change-buffer file))))
      (if (null text)
          (list "" nil name "it cannot be read")
        (list text mode name
              (agent-q-diff-outcome--warning
               text mode (agent-q-diff-file-change-original file)
               (agent-q-diff-file-change-modified file)))))))

(defun agent-q-diff-outcome--fill (text mode header)
  "Show TEXT in MODE under HEADER, a header line, in the current buffer.
Point and the windows stay at the lines that they were at."
  (let ((inhibit-read-only t)
        (mode (or mode #'fundamental-mode))
        (places (mapcar (lambda (window)
                          (list window (line-number-at-pos (window-start window))
                                (line-number-at-pos (window-point window))))
                        (get-buffer-window-list nil 'never t)))
        (line (line-number-at-pos)))
    (unless (and (equal text (buffer-string)) (eq mode major-mode))
      (erase-buffer)
      (agent-q-diff-visit-turn-on mode)
      (insert text)
      (set-buffer-modified-p nil)
      (pcase-dolist (`(,window ,start ,point) places)
        (set-window-start window (agent-q-diff-outcome--line start) t)
        (set-window-point window (agent-q-diff-outcome--line point)))
      (goto-char (agent-q-diff-outcome--line line)))
    (setq buffer-read-only t
          header-line-format header)
    (view-mode 1)
    (setq-local view-exit-action #'agent-q-diff-outcome-close)
    (agent-q-diff-base-claim-keys-here)))

(defun agent-q-diff-outcome--line (line)
  "Return the beginning of LINE, from 1, or of the last line."
  (save-excursion
    (goto-char (point-min))
    (forward-line (1- line))
    (line-beginning-position)))

(defun agent-q-diff-outcome--write ()
  "Show in the current buffer the subject of `agent-q-diff-outcome--shown'.
It is shown as it is now.  Return the warning, or nil."
  (pcase-let* ((`(,diff ,is-all ,index) agent-q-diff-outcome--shown)
               (`(,text ,mode ,name ,warning)
                (with-current-buffer diff (agent-q-diff-outcome--of is-all index))))
    (agent-q-diff-outcome--fill
     text mode
     (concat " " (replace-regexp-in-string "%" "%%" name)
             (if is-all " with all pending hunks" " if you finish now")
             (and warning (propertize (concat ": " warning) 'face 'agent-q-diff-warning))))
    warning))

(defun agent-q-diff-outcome--display (buffer)
  "Show BUFFER beside the diff, which stays selected; return the window, or nil.
A window that shows the file is only used if there is no other."
  (let ((target (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file))))
    (or (get-buffer-window buffer)
        (agent-q-diff-base-show buffer (and (buffer-live-p target)
                                            (get-buffer-window-list target 'never)))
        (agent-q-diff-base-show buffer))))

(defun agent-q-diff-outcome--show (is-all index line)
  "Show the outcome of file INDEX of this review beside the diff, at LINE.
LINE counts from 0.  IS-ALL and INDEX are as for `agent-q-diff-outcome--of'.
Return (WINDOW . WARNING); either may be nil."
  (let* ((diff (current-buffer))
         (buffer (get-buffer-create agent-q-diff-outcome--buffer-name))
         (warning (with-current-buffer buffer
                    (setq agent-q-diff-outcome--shown (list diff is-all index))
                    (agent-q-diff-outcome--write)))
         (window (agent-q-diff-outcome--display buffer)))
    (add-hook 'agent-q-diff-session-changed-hook #'agent-q-diff-outcome--update-soon)
    (add-hook 'post-command-hook #'agent-q-diff-outcome--follow nil t)
    (agent-q-diff-outcome--go-to line)
    (cons window warning)))

(defun agent-q-diff-outcome--go-to (line)
  "Move to LINE, from 0, in the buffer of the outcome and its windows."
  (with-current-buffer agent-q-diff-outcome--buffer-name
    (goto-char (agent-q-diff-outcome--line (1+ line)))
    (dolist (window (get-buffer-window-list nil 'never t))
      (set-window-point window (point)))))

;;;; Following the review

(defvar agent-q-diff-outcome--is-due nil
  "Non-nil if an update of what is shown is scheduled.")

(defun agent-q-diff-outcome--update-soon ()
  "Update what is shown after the current command."
  (unless agent-q-diff-outcome--is-due
    (setq agent-q-diff-outcome--is-due t)
    (run-with-timer 0 nil #'agent-q-diff-outcome--update)))

(defun agent-q-diff-outcome--diff ()
  "Return the diff buffer of the outcome that is shown, or nil."
  (when-let ((buffer (get-buffer agent-q-diff-outcome--buffer-name)))
    (car (buffer-local-value 'agent-q-diff-outcome--shown buffer))))

(defun agent-q-diff-outcome--update ()
  "Show what the files will be now; if the review has ended, show nothing."
  (setq agent-q-diff-outcome--is-due nil)
  (let ((buffer (get-buffer agent-q-diff-outcome--buffer-name))
        (diff (agent-q-diff-outcome--diff)))
    (cond
     ((or (not (buffer-live-p diff))
          (with-current-buffer diff (agent-q-diff-buffer-ended-p)))
      (agent-q-diff-outcome-close))
     ((get-buffer-window buffer t)
      (with-current-buffer buffer
        (agent-q-diff-outcome--write))))))

(defun agent-q-diff-outcome-visible-p ()
  "Return non-nil if a window of this frame has the outcome of this review."
  (and (eq (current-buffer) (agent-q-diff-outcome--diff))
       (get-buffer-window agent-q-diff-outcome--buffer-name)))

(defun agent-q-diff-outcome-close (&rest _)
  "Kill the buffer of the outcome, and restore its window.
If that was selected, select the diff."
  (let ((buffer (get-buffer agent-q-diff-outcome--buffer-name))
        (diff (agent-q-diff-outcome--diff)))
    (remove-hook 'agent-q-diff-session-changed-hook #'agent-q-diff-outcome--update-soon)
    (agent-q-diff-base-with-live diff
      (remove-hook 'post-command-hook #'agent-q-diff-outcome--follow t))
    (when buffer
      (if (eq buffer (window-buffer))
          (let ((window (and (buffer-live-p diff) (get-buffer-window diff))))
            (quit-windows-on buffer t)
            (when (window-live-p window)
              (select-window window))
            (agent-q-diff-grace-note-return))
        (agent-q-diff-base-keeping-selection
          (quit-windows-on buffer t)))
      (when (buffer-live-p buffer)
        (kill-buffer buffer)))))

(defun agent-q-diff-outcome--subject ()
  "Return (INDEX . LINE), the place of the hunk at point in the outcome.
INDEX is that of a file, or nil for all of them; LINE counts from 0."
  (let* ((hunk (agent-q-diff-buffer-hunk-at-point))
         (index (agent-q-diff-buffer-file-index))
         (is-of-files (or (agent-q-diff-buffer-heading-at-point)
                          (not (agent-q-diff-file-change-has-text (agent-q-diff-buffer-file)))
                          (and hunk
                               (agent-q-diff-change-operation-of agent-q-diff-buffer-change
                                                                 hunk)))))
    (cons (and (not is-of-files) index)
          (cond (is-of-files index)
                (hunk (or (agent-q-diff-engine-hunk-line
                           (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk))
                          0))
                (t 0)))))

(defvar-local agent-q-diff-outcome--followed nil
  "The hunk of this diff buffer whose place the outcome shows, or nil.")

(defun agent-q-diff-outcome--follow ()
  "Show the place of the hunk at point in the outcome, unless it is shown already.
This runs after every command while an outcome is shown, and must not signal
an error."
  (let ((hunk (agent-q-diff-buffer-hunk-at-point))
        (buffer (get-buffer agent-q-diff-outcome--buffer-name)))
    (cond
     ((not (eq (current-buffer) (agent-q-diff-outcome--diff)))
      (remove-hook 'post-command-hook #'agent-q-diff-outcome--follow t))
     ((and hunk
           (not (eql hunk agent-q-diff-outcome--followed))
           (get-buffer-window buffer t))
      (setq agent-q-diff-outcome--followed hunk)
      (ignore-errors
        (pcase-let ((`(,index . ,line) (agent-q-diff-outcome--subject))
                    (`(,diff ,is-all ,shown)
                     (buffer-local-value 'agent-q-diff-outcome--shown buffer)))
          (unless (eql index shown)
            (with-current-buffer buffer
              (setq agent-q-diff-outcome--shown (list diff is-all index))
              (agent-q-diff-outcome--write)))
          (agent-q-diff-outcome--go-to line)))))))

(defun agent-q-diff-show-outcome (&optional is-all)
  "Show the file as it will be if the review is finished now.
On the heading of a file, or where no lines change, show what will become
of every file.  With a prefix argument, IS-ALL, show the result of accepting
all pending hunks.  Warn if the file would have unbalanced delimiters or a
syntax error that neither the original nor the whole proposal has.  What is
shown follows your decisions and the hunk at point, and disappears when the
review ends.  Return the message that is shown."
  (interactive "P")
  (agent-q-diff-signs-follow)
  (setq agent-q-diff-outcome--followed (agent-q-diff-buffer-hunk-at-point))
  (pcase-let* ((`(,index . ,line) (agent-q-diff-outcome--subject))
               (`(,window . ,warning) (agent-q-diff-outcome--show is-all index line)))
    (message "%s"
             (cond
              (warning warning)
              ((null window) (format "The outcome is in the buffer %s"
                                     agent-q-diff-outcome--buffer-name))
              (index "The outcome is shown in the other window")
              (t "What each file will be is shown in the other window")))))

(provide 'agent-q-diff-outcome)
;;; agent-q-diff-outcome.el ends here
