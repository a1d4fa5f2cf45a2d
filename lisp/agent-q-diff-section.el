;;; agent-q-diff-section.el --- The files of a change, each under a heading  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; If a change has several files, or does more to one than change its text,
;; each file is a section of the diff buffer: a heading, which says what
;; happens to the file and how far it is decided, and below it the hunks.
;; Of many hunks, those below the first screen are inserted after that.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)

;;;; Writing

(defvar-local agent-q-diff-section--words nil
  "Vector of what each heading shows, the words or nil; nil if nothing yet.")
(put 'agent-q-diff-section--words 'permanent-local t)

(defvar-local agent-q-diff-section--width nil
  "The number of columns that the headings are shown for, or nil if no window is.")

(defun agent-q-diff-section-short-name (path)
  "Return PATH, a file of this buffer's change, as seen from this directory."
  (if (string-prefix-p default-directory path)
      (substring path (length default-directory))
    (abbreviate-file-name path)))

(defun agent-q-diff-section-file-name (path)
  "Return PATH, a file of this buffer's change, for display."
  (agent-q-diff-visible-name (agent-q-diff-section-short-name path)))

(defun agent-q-diff-section--name (file)
  "Return the name of FILE, an `agent-q-diff-file-change', before and after."
  (let ((old (agent-q-diff-file-change-old-path file))
        (new (agent-q-diff-file-change-new-path file)))
    (if (and old new (not (equal old new)))
        (format "%s → %s" (agent-q-diff-section-file-name old)
                (agent-q-diff-section-file-name new))
      (agent-q-diff-section-file-name (or new old)))))

(defun agent-q-diff-section--insert-heading (file)
  "Insert the heading of FILE and return its position, a marker."
  (let ((beg (point))
        (name (agent-q-diff-section--name file)))
    (insert (propertize (format "%-10s %s%s\n" (agent-q-diff-operation-kind file) name
                                (if (agent-q-diff-operation-creates-executable-p file)
                                    " (executable)"
                                  ""))
                        'agent-q-diff-heading name
                        'font-lock-face 'agent-q-diff-file-heading))
    (copy-marker beg t)))

(defun agent-q-diff-section--insert-operation (operation)
  "Insert OPERATION as a hunk, and return its position."
  (prog1 (point)
    (insert (propertize (format "@@ %s @@" (agent-q-diff-operation-words operation))
                        'font-lock-face 'diff-hunk-header)
            "\n")
    (pcase-let ((`(,before . ,after) (agent-q-diff-operation-contents operation)))
      (pcase-dolist (`(,sign . ,bytes) (list (cons "-" before) (cons "+" after)))
        (pcase-let ((`(,lines . ,is-open) (agent-q-diff-buffer-lines-of bytes)))
          (dolist (line lines)
            (insert sign line "\n"))
          (when is-open
            (insert "\\ No newline at end of file\n")))))))

(defun agent-q-diff-section--insert-hunks (change index)
  "Insert the hunks of file INDEX of CHANGE, and return their positions."
  (let* ((file (nth index (agent-q-diff-change-files change)))
         (operations (agent-q-diff-file-change-decided-operations file))
         (positions (mapcar #'agent-q-diff-section--insert-operation operations))
         (from (+ (aref (agent-q-diff-change-first-hunks change) index)
                  (length operations)))
         (to (agent-q-diff-change-end-of change index)))
    (when (< from to)
      (pcase-let ((`(,diff . ,lines)
                   (agent-q-diff-engine-print-hunks
                    (agent-q-diff-change-engine change) from to
                    (agent-q-diff-file-change-path file)))
                  (beg (point)))
        (insert diff)
        (setq positions (append positions
                                (save-excursion
                                  (goto-char beg)
                                  (agent-q-diff-buffer-positions-in lines))))))
    positions))

(defun agent-q-diff-section--hunks-to-come (change index)
  "Return where the hunks of file INDEX of CHANGE will be inserted: at point."
  (make-list (length (agent-q-diff-change-hunks-of change index)) (point)))

(defun agent-q-diff-section-insert (review)
  "Insert a section for each file of REVIEW, and make REVIEW this buffer's.
Only the first `agent-q-diff-change-max-shown' hunks, and those in the same
file, are inserted at once; see `agent-q-diff-buffer-rest'."
  (agent-q-diff-buffer-adopt review nil)
  (let* ((change (agent-q-diff-session-change review))
         (firsts (agent-q-diff-change-first-hunks change))
         (n-files (1+ (agent-q-diff-base-last-at-most
                       firsts (1- agent-q-diff-change-max-shown))))
         (headings nil)
         (positions nil))
    (dotimes (index (length firsts))
      (push (agent-q-diff-section--insert-heading (nth index (agent-q-diff-change-files change)))
            headings)
      (push (if (< index n-files)
                (agent-q-diff-section--insert-hunks change index)
              (agent-q-diff-section--hunks-to-come change index))
            positions))
    (setq agent-q-diff-section--words nil
          agent-q-diff-buffer-headings (vconcat (nreverse headings))
          agent-q-diff-buffer-positions (vconcat (apply #'append (nreverse positions))))
    (if (< n-files (length firsts))
        (setq agent-q-diff-buffer-rest
              (agent-q-diff-section--rest review n-files))
      (agent-q-diff-section--note-diff review))))

(defun agent-q-diff-section--rest (review first)
  "Return what is left to insert of REVIEW, from the file with the index FIRST on.
The value is as for `agent-q-diff-buffer-rest'."
  (cons (aref (agent-q-diff-change-first-hunks (agent-q-diff-session-change review)) first)
        (lambda (until-input)
          (agent-q-diff-section--insert-rest review first until-input))))

(defun agent-q-diff-section--insert-rest (review first until-input)
  "Insert the hunks of the files of REVIEW from that with the index FIRST on.
If UNTIL-INPUT is non-nil, do so until the user types.  Return what is left, as
in `agent-q-diff-buffer-rest'."
  (let* ((change (agent-q-diff-session-change review))
         (n-files (length agent-q-diff-buffer-headings))
         (index first)
         ;; The file at which to go on.
         (left nil)
         (positions (list (seq-take agent-q-diff-buffer-positions
                                    (aref (agent-q-diff-change-first-hunks change) first)))))
    (while (< index n-files)
      (setq left (or left
                     (and until-input (< first index) (input-pending-p) index)))
      (goto-char (agent-q-diff-buffer-section-end index))
      (push (if left
                (agent-q-diff-section--hunks-to-come change index)
              (agent-q-diff-section--insert-hunks change index))
            positions)
      (setq index (1+ index)))
    (agent-q-diff-buffer-move-hunks (apply #'vconcat (nreverse positions)))
    (if left
        (agent-q-diff-section--rest review left)
      (agent-q-diff-section--note-diff review)
      nil)))

(defun agent-q-diff-section--note-diff (review)
  "Record the sections, which are complete and new, as the diff of REVIEW."
  (setf (agent-q-diff-session-proposed review)
        (buffer-substring-no-properties (aref agent-q-diff-buffer-headings 0) (point-max))))

;;;; What a heading shows

(defun agent-q-diff-section-state (change index)
  "Return how far file INDEX of CHANGE is decided, words for its heading."
  (let* ((first (aref (agent-q-diff-change-first-hunks change) index))
         (end (agent-q-diff-change-end-of change index))
         (total (- end first))
         (file (nth index (agent-q-diff-change-files change)))
         (lines (aref (agent-q-diff-buffer-line-counts) index))
         (marks (seq-subseq agent-q-diff-buffer-marks first end))
         (applied (seq-count (apply-partially #'eq 'applied) marks))
         (rejected (seq-count (apply-partially #'eq 'rejected) marks)))
    (string-join
     (delq nil
           `(,(and (not (equal '(0 . 0) lines)) (agent-q-diff-buffer-lines-words (list lines)))
            ,(cond
             ((= applied total) (if (agent-q-diff-buffer-written-p) "kept" "accepted"))
             ((= rejected total) (agent-q-diff-buffer-mark-word 'rejected))
             ((= 0 applied rejected)
              (format (ngettext "%d hunk" "%d hunks" total) total))
             (t (string-join
                 (append (agent-q-diff-buffer-decided-words applied rejected total)
                         (and (< (+ applied rejected) total)
                              (list (format "%d pending" (- total applied rejected)))))
                 ", ")))
            ,@(agent-q-diff-change-file-words change file)
            ,(and (agent-q-diff-file-change-unsaved-p file) "unsaved edits")))
     " · ")))

(defun agent-q-diff-section--resized (window)
  "Have the headings in the buffer of WINDOW fit its windows again."
  (with-current-buffer (window-buffer window)
    (let ((width (agent-q-diff-buffer-narrowest)))
      (unless (equal width agent-q-diff-section--width)
        (let ((least (min (or width most-positive-fixnum)
                          (or agent-q-diff-section--width most-positive-fixnum))))
          (setq agent-q-diff-section--width width)
          (save-excursion
            (agent-q-diff-base-widened
              (cl-loop for heading across agent-q-diff-buffer-headings
                       for words across agent-q-diff-section--words
                       do (goto-char heading)
                       when (< 0 (agent-q-diff-section--excess words least))
                       do (agent-q-diff-section--show-state heading words)))))))))

(defun agent-q-diff-section--update (&rest _)
  "Show how far each file is decided."
  (unless (length= agent-q-diff-buffer-marks (length agent-q-diff-buffer-positions))
    (setq agent-q-diff-buffer-marks
          (vconcat (agent-q-diff-change-marks agent-q-diff-buffer-change))))
  (unless (length= agent-q-diff-section--words (length agent-q-diff-buffer-headings))
    (setq agent-q-diff-section--words
          (make-vector (length agent-q-diff-buffer-headings) nil)))
  (save-excursion
    (agent-q-diff-base-widened
      (dotimes (index (length agent-q-diff-buffer-headings))
        (let ((words (and (not (agent-q-diff-buffer-ended-p))
                          (agent-q-diff-section-state agent-q-diff-buffer-change index))))
          (unless (equal words (aref agent-q-diff-section--words index))
            (agent-q-diff-section--show-state
             (aref agent-q-diff-buffer-headings index) words)
            (aset agent-q-diff-section--words index words)))))))

(defun agent-q-diff-section--show-state (heading words)
  "Show WORDS, or nothing if that is nil, at the end of the line of HEADING."
  (goto-char heading)
  (remove-overlays heading (line-end-position) 'agent-q-diff-section t)
  (agent-q-diff-section--fit-name words)
  (when words
    (agent-q-diff-base-overlay
     heading (line-end-position) 'agent-q-diff-section t
     'after-string (propertize (concat "  " words)
                               'face '(:inherit agent-q-diff-file-heading :weight normal)))))

(defconst agent-q-diff-section--least-width 12
  "Number of columns of a file's name that a heading shows in any case.")

(defun agent-q-diff-section--excess (words width)
  "Return by how many columns the heading at point with WORDS exceeds WIDTH."
  (- (+ (string-width (buffer-substring-no-properties (point) (line-end-position)))
        (string-width (or words ""))
        ;; What is between the two, the sign of a folded file, and the bar.
        5)
     width))

(defun agent-q-diff-section--fit-name (words)
  "Cut the name in the heading at point off if the line would not fit, with WORDS.
Only what is shown changes; the whole name is shown at the mouse."
  (when-let* ((width agent-q-diff-section--width)
              (excess (agent-q-diff-section--excess words width))
              ((< 0 excess))
              (name (get-text-property (point) 'agent-q-diff-heading))
              (beg (save-excursion
                     (and (search-forward name (line-end-position) t)
                          (match-beginning 0))))
              (room (max agent-q-diff-section--least-width (- (string-width name) excess))))
    (when (< room (string-width name))
      (agent-q-diff-base-overlay beg (+ beg (length name))
                                 'agent-q-diff-section t 'help-echo name
                                 'display (agent-q-diff-section--shortened name room)))))

(defun agent-q-diff-section--shortened (name width)
  "Return NAME, of a file or of two, shortened to WIDTH columns.
The ends of names tell files apart."
  (pcase (split-string name " → ")
    (`(,old ,new)
     (let* ((width (- width 3))
            (for-old (max (/ width 2) (- width (string-width new)))))
       (setq old (agent-q-diff-visible-end old for-old))
       (concat old " → " (agent-q-diff-visible-end new (- width (string-width old))))))
    (_ (agent-q-diff-visible-end name width))))

;;;; Set-up

(defun agent-q-diff-section-set-up ()
  "Show on each heading of this buffer, if any, how far its file is decided.
Headings are those of an outline as well, above their hunks."
  (when agent-q-diff-buffer-headings
    (setq-local outline-regexp
                (concat (regexp-opt '("modified" "new file" "deleted" "renamed" "mode"
                                      "link" "new link"))
                        "  +\\|@@ ")
                outline-level (lambda () (if (agent-q-diff-buffer-heading-at-point) 1 2)))
    (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-section--update nil t)
    (add-hook 'window-buffer-change-functions #'agent-q-diff-section--resized nil t)
    (add-hook 'window-size-change-functions #'agent-q-diff-section--resized nil t)))

(provide 'agent-q-diff-section)
;;; agent-q-diff-section.el ends here
