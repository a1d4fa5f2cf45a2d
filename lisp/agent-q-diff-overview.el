;;; agent-q-diff-overview.el --- All of a review in one list: equal changes, files, hunks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The overview lists what a review has: changes that are made in several places,
;; hunks that change only white space, and the files, with their lines added and
;; removed and how far they are decided.  On a line, the keys of the diff buffer
;; decide all that it stands for.
;;
;; A review of many files begins with a summary of that, above its diff.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-section)
(require 'agent-q-diff-display)
(require 'agent-q-diff-syntax)
(require 'agent-q-diff-current)
(require 'agent-q-diff-navigation)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-alike)

;;;; Options

(defcustom agent-q-diff-summary-files 8
  "Number of files from which on a review begins with a summary, or nil for never."
  :type '(choice (natnum :tag "Files") (const :tag "Never" nil))
  :group 'agent-q-diff-review)

(defcustom agent-q-diff-test-file-regexp
  (concat "\\(?:\\`\\|/\\)\\(?:tests?\\|specs?\\|__tests__\\|testing\\)/"
          "\\|\\(?:\\`\\|/\\)\\(?:test\\|conftest\\)[-_.][^/]*\\'"
          "\\|[-_.]\\(?:tests?\\|spec\\)\\.[^/.]+\\'")
  "Regexp for the names of files with tests, which the overview lists apart.
It is matched against the name below the root of the project."
  :type 'regexp
  :group 'agent-q-diff-review)

(defcustom agent-q-diff-generated-file-regexp
  (concat "\\(?:\\`\\|/\\)\\(?:[^/]*\\.lock\\|[^/]*-lock\\.\\(?:json\\|yaml\\)\\|go\\.sum\\)\\'"
          "\\|\\.min\\.\\(?:js\\|css\\)\\'\\|\\.\\(?:pb\\.go\\|snap\\|map\\)\\'\\|_pb2\\.py\\'"
          "\\|\\(?:\\`\\|/\\)\\(?:dist\\|vendor\\|node_modules\\|generated\\)/")
  "Regexp for the names of generated files, which the overview lists apart.
It is matched against the name below the root of the project."
  :type 'regexp
  :group 'agent-q-diff-review)

;;;; What there is

(cl-defstruct (agent-q-diff-overview-item (:constructor agent-q-diff-overview--item)
                                          (:copier nil))
  "A line of the overview, and what it stands for."
  (key nil :documentation "What tells it from others, also after a change.")
  (words "" :documentation "What it is, a string.")
  (counts nil :documentation "List of (ADDED . REMOVED), or nil if that is not shown.")
  (hunks nil :documentation "The hunks that it stands for, in order.")
  (group nil :documentation "The `agent-q-diff-alike' that it stands for, or nil.")
  (file nil :documentation "The index of the file that it stands for, or nil."))

(defun agent-q-diff-overview--group-item (group)
  "Return the item for GROUP."
  (let ((kind (agent-q-diff-alike-kind group))
        (words (agent-q-diff-alike-words group)))
    (agent-q-diff-overview--item
     :key (list kind (agent-q-diff-alike-before group) (agent-q-diff-alike-after group)
                (agent-q-diff-alike-within group)
                (and (eq 'moved kind)
                     (mapcar #'agent-q-diff-alike-place-line (agent-q-diff-alike-places group))))
     :words (if (eq 'moved kind)
                words
              (format "%s: %s" (agent-q-diff-alike-where-words group) words))
     :hunks (agent-q-diff-alike-hunks group)
     :group group)))

(defconst agent-q-diff-overview--least-alike 3
  "Number of places from which on a change is listed.")

(defun agent-q-diff-overview--groups ()
  "Return items for what is done in several places, the most frequent first.
What is done with the same words elsewhere in the syntax is an item of its own."
  (mapcar #'agent-q-diff-overview--group-item
          (seq-sort-by (lambda (group) (- (length (agent-q-diff-alike-places group)))) #'<
                       (seq-filter (lambda (group)
                                     (or (eq 'moved (agent-q-diff-alike-kind group))
                                         (agent-q-diff-alike-within group)
                                         (length> (agent-q-diff-alike-places group)
                                                  (1- agent-q-diff-overview--least-alike))))
                                   (agent-q-diff-alike-groups)))))

(defun agent-q-diff-overview--blank ()
  "Return the item for hunks that change only white space, in a list, or nil."
  (when-let ((hunks (agent-q-diff-syntax-white-space-hunks agent-q-diff-buffer-change)))
    (list (agent-q-diff-overview--item
           :key 'blank
           :words (format (ngettext "%d hunk changes only white space"
                                    "%d hunks change only white space" (length hunks))
                          (length hunks))
           :hunks hunks))))

(defun agent-q-diff-overview--file-item (file index)
  "Return the item for FILE, that with INDEX."
  (agent-q-diff-overview--item
   :key (agent-q-diff-file-change-path file)
   :words (format "%-8s %s" (agent-q-diff-operation-kind file)
                  (get-text-property (aref agent-q-diff-buffer-headings index)
                                     'agent-q-diff-heading))
   :counts (list (aref (agent-q-diff-buffer-line-counts) index))
   :hunks (agent-q-diff-change-hunks-of agent-q-diff-buffer-change index)
   :file index))

(defun agent-q-diff-overview--class (file)
  "Return the class of FILE: `test', `generated' or `file'."
  (let ((name (agent-q-diff-section-short-name (agent-q-diff-file-change-path file))))
    (cond
     ((string-match-p agent-q-diff-generated-file-regexp name) 'generated)
     ((string-match-p agent-q-diff-test-file-regexp name) 'test)
     (t 'file))))

(defconst agent-q-diff-overview--classes
  '((file "%d file" . "%d files")
    (test "%d file with tests" . "%d files with tests")
    (generated "%d generated file" . "%d generated files"))
  "Alist from classes of files to their words, one and many.")

(defun agent-q-diff-overview--files ()
  "Return (ITEM . ITEMS) for each class of files there is.
ITEM stands for all files of the class, and ITEMS for each."
  (let ((classes nil))
    (cl-loop for file in (agent-q-diff-change-files agent-q-diff-buffer-change)
             for index below (length agent-q-diff-buffer-headings)
             do (push (agent-q-diff-overview--file-item file index)
                      (alist-get (agent-q-diff-overview--class file) classes)))
    (cl-loop for (class one . many) in agent-q-diff-overview--classes
             for items = (reverse (alist-get class classes))
             when items
             collect (cons (agent-q-diff-overview--item
                            :key class
                            :words (format (ngettext one many (length items)) (length items))
                            :counts (seq-mapcat #'agent-q-diff-overview-item-counts items)
                            :hunks (seq-mapcat #'agent-q-diff-overview-item-hunks items))
                           items))))

(defun agent-q-diff-overview--hunk-item (hunk)
  "Return the item for HUNK, of the only file: its definition, or else its header."
  (agent-q-diff-overview--item
   :key (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk))
   :words (format "hunk %d  %s" (1+ hunk)
                  (or (agent-q-diff-navigation-heading hunk)
                      (agent-q-diff-navigation-header hunk)))
   :hunks (list hunk)))

(defun agent-q-diff-overview--state (item)
  "Return words for how far ITEM is decided."
  (let* ((marks (mapcar (lambda (hunk) (aref agent-q-diff-buffer-marks hunk))
                        (agent-q-diff-overview-item-hunks item)))
         (applied (seq-count (apply-partially #'eq 'applied) marks))
         (rejected (seq-count (apply-partially #'eq 'rejected) marks))
         (pending (- (length marks) applied rejected)))
    (string-join (append (agent-q-diff-buffer-decided-words applied rejected)
                         (and (< 0 pending) (list (format "%d pending" pending))))
                 ", ")))

;;;; The summary above a diff

(defun agent-q-diff-overview--summary ()
  "Return the items of the summary, the most telling ones first."
  (append (seq-take (agent-q-diff-overview--groups) 3)
          (agent-q-diff-overview--blank)
          (seq-remove (lambda (item) (eq 'file (agent-q-diff-overview-item-key item)))
                      (mapcar #'car (agent-q-diff-overview--files)))))

(defvar agent-q-diff-overview-summary-map
  (let ((map (make-sparse-keymap)))
    (define-key map "\r" #'agent-q-diff-overview-follow)
    map)
  "Keys on a line of the summary.")

(defun agent-q-diff-overview-insert-summary ()
  "Insert the summary of this buffer's review above its diff, if it has many files.
Of many hunks, all but its first line comes right after the first screen."
  (let ((n (length agent-q-diff-buffer-headings)))
    (when (and agent-q-diff-summary-files (<= agent-q-diff-summary-files n))
      (agent-q-diff-display-add-lines
       (list
        (agent-q-diff-overview--summary-line
         (substitute-command-keys
          (format "%d files, %s; \\<agent-q-diff-mode-map>\\[agent-q-diff-overview] lists them"
                  n (agent-q-diff-buffer-all-lines-words)))
         nil)))
      (when (agent-q-diff-alike-known-or-later #'agent-q-diff-overview--add-to-summary)
        (agent-q-diff-overview--add-to-summary)))))

(defun agent-q-diff-overview--add-to-summary ()
  "Insert the items of the summary below its first line, if that is there."
  (when (and (not (agent-q-diff-buffer-ended-p))
             (agent-q-diff-base-widened
               (text-property-not-all (point-min) (point-max) 'agent-q-diff-summary nil)))
    (agent-q-diff-display-add-lines
     (mapcar (lambda (item)
               (agent-q-diff-overview--summary-line
                (concat "  " (agent-q-diff-overview-item-words item)
                        (when-let ((counts (agent-q-diff-overview-item-counts item)))
                          (concat ", " (agent-q-diff-buffer-lines-words counts))))
                (agent-q-diff-overview-item-key item)))
             (agent-q-diff-overview--summary))
     'agent-q-diff-summary)))

(defun agent-q-diff-overview--summary-line (words key)
  "Return WORDS as a line of the summary; KEY is that of their item, or nil."
  (propertize (concat "# " words "\n")
              'font-lock-face 'agent-q-diff-header
              'agent-q-diff-summary (or key 'all)
              'keymap agent-q-diff-overview-summary-map
              'help-echo "RET: go there"))

(defun agent-q-diff-overview-follow ()
  "Go to what the line of the summary at point is about."
  (interactive)
  (let* ((key (get-text-property (point) 'agent-q-diff-summary))
         (item (seq-find (lambda (item) (equal key (agent-q-diff-overview-item-key item)))
                         (append (agent-q-diff-overview--summary)
                                 (mapcar #'car (agent-q-diff-overview--files))))))
    (if item
        (agent-q-diff-buffer-goto-hunk (agent-q-diff-overview--first item))
      (agent-q-diff-overview))))

(defun agent-q-diff-overview--first (item)
  "Return the first hunk of ITEM that is pending, or else the first."
  (agent-q-diff-buffer-first-pending (agent-q-diff-overview-item-hunks item)))

;;;; The list

(defvar-local agent-q-diff-overview--diff nil
  "The diff buffer that this overview is of.")

(defvar-local agent-q-diff-overview--buffer nil
  "The overview of this diff buffer, or nil.")

(defvar agent-q-diff-overview-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "\r" #'agent-q-diff-overview-go)
    (define-key map "n" #'agent-q-diff-overview-next)
    (define-key map "p" #'agent-q-diff-overview-previous)
    (define-key map "a" #'agent-q-diff-overview-accept)
    (define-key map "r" #'agent-q-diff-overview-reject)
    (define-key map "u" #'agent-q-diff-overview-unapply)
    (define-key map "o" #'agent-q-diff-overview-quit)
    (define-key map "q" #'agent-q-diff-overview-quit)
    (define-key map [remap undo] #'agent-q-diff-overview-undo)
    (define-key map [remap revert-buffer] #'agent-q-diff-overview-refresh)
    map)
  "Keymap of `agent-q-diff-overview-mode'.")

(define-derived-mode agent-q-diff-overview-mode special-mode "Agent-Q Overview"
  "Major mode for the list of all that a review has.

\\{agent-q-diff-overview-mode-map}"
  :interactive nil
  (setq truncate-lines t)
  (setq-local revert-buffer-function #'agent-q-diff-overview-refresh)
  (hl-line-mode))

(defun agent-q-diff-overview--rows ()
  "Return the lines of the overview of this diff buffer, (ITEM MARGIN STATE) each.
STATE are words; for the heading of a part, ITEM is a string, and the others are
nil."
  (let* ((row (lambda (item margin)
                (list item margin (agent-q-diff-overview--state item))))
         (groups (append (agent-q-diff-overview--groups) (agent-q-diff-overview--blank))))
    (append
     (and groups (cons '("Equal changes" nil nil)
                       (mapcar (lambda (item) (funcall row item "  ")) groups)))
     (if agent-q-diff-buffer-headings
         (mapcan (pcase-lambda (`(,class . ,items))
                   (cons (funcall row class "")
                         (mapcar (lambda (item) (funcall row item "  ")) items)))
                 (agent-q-diff-overview--files))
       (cons '("Hunks" nil nil)
             (mapcar (lambda (hunk)
                       (funcall row (agent-q-diff-overview--hunk-item hunk) "  "))
                     (number-sequence 0 (1- (length agent-q-diff-buffer-positions)))))))))

(defun agent-q-diff-overview--insert (row)
  "Insert ROW, as from `agent-q-diff-overview--rows'."
  (pcase row
    (`(,(and heading (pred stringp)) ,_ ,_)
     (insert (propertize heading 'face 'agent-q-diff-file-heading) "\n"))
    (`(,item ,margin ,state)
     (let ((counts (agent-q-diff-overview-item-counts item)))
       (insert (propertize
                (concat margin
                        (if counts (format "%-12s" (agent-q-diff-buffer-lines-words counts)) "")
                        (propertize (agent-q-diff-overview-item-words item)
                                    'face (if (string-empty-p margin)
                                              'agent-q-diff-file-heading
                                            'default))
                        "  "
                        (propertize state 'face 'agent-q-diff-pending)
                        "\n")
                'agent-q-diff-overview-item item))))))

(defun agent-q-diff-overview--item-here ()
  "Return the item at point, or signal that there is none."
  (or (get-text-property (point) 'agent-q-diff-overview-item)
      (user-error "Nothing to go to, or to decide, is listed on this line")))

(defun agent-q-diff-overview--write (rows title)
  "Fill this buffer with ROWS, under TITLE, and stay on the same item."
  (let* ((item (get-text-property (point) 'agent-q-diff-overview-item))
         (key (and item (agent-q-diff-overview-item-key item)))
         (line (line-number-at-pos))
         (inhibit-read-only t))
    (erase-buffer)
    (mapc #'agent-q-diff-overview--insert rows)
    (setq header-line-format (concat " " (string-replace "%" "%%" title)))
    (goto-char (point-min))
    (while (and (not (eobp))
                (not (when-let ((here (get-text-property (point) 'agent-q-diff-overview-item)))
                       (or (null key)
                           (equal key (agent-q-diff-overview-item-key here))))))
      (forward-line))
    (when (eobp)
      (goto-char (point-min))
      (forward-line (1- line)))))

(defun agent-q-diff-overview--title ()
  "Return the header line for the overview of this diff buffer."
  (pcase-let ((`(,total ,applied ,rejected ,pending) (agent-q-diff-buffer-counts))
              (n-files (length agent-q-diff-buffer-headings)))
    (string-join
     (delq nil
           (list (and (< 0 n-files) (format (ngettext "%d file" "%d files" n-files) n-files))
                 (format (ngettext "%d hunk" "%d hunks" total) total)
                 (agent-q-diff-buffer-counts-words applied rejected pending)))
     " · ")))

(defun agent-q-diff-overview--update (&rest _)
  "Bring the overview of this diff buffer up to date, if it has one."
  (let ((buffer agent-q-diff-overview--buffer))
    (when (buffer-live-p buffer)
      (if (agent-q-diff-buffer-ended-p)
          (agent-q-diff-overview--close buffer)
        (agent-q-diff-base-collecting-once
          (let ((rows (agent-q-diff-overview--rows))
                (title (agent-q-diff-overview--title)))
            (with-current-buffer buffer
              (agent-q-diff-overview--write rows title)
              (dolist (window (get-buffer-window-list nil 'never t))
                (set-window-point window (point))))))))))

(defun agent-q-diff-overview--close (buffer)
  "Kill the overview BUFFER, and close its windows."
  (when (buffer-live-p buffer)
    (dolist (window (get-buffer-window-list buffer nil t))
      (quit-window nil window))
    (kill-buffer buffer)))

(defun agent-q-diff-overview--close-mine (&rest _)
  "Close the overview of this diff buffer, if it has one."
  (when agent-q-diff-overview--buffer
    (agent-q-diff-overview--close agent-q-diff-overview--buffer)
    (setq agent-q-diff-overview--buffer nil)))

(defun agent-q-diff-overview--close-of (review)
  "Close the overview of REVIEW, which is ending, if it has one."
  (agent-q-diff-base-with-live (agent-q-diff-session-buffer review)
    (agent-q-diff-overview--close-mine)))

(add-hook 'agent-q-diff-lifecycle-ending-functions #'agent-q-diff-overview--close-of)

(defun agent-q-diff-overview--fit (window)
  "Make WINDOW as high as its overview needs, up to half of the frame."
  (when (window-combined-p window)
    (fit-window-to-buffer window (/ (frame-height (window-frame window)) 2) 4)))

(defconst agent-q-diff-overview--wide 160
  "Columns of a window from which on the overview is to the left of the diff.")

(defun agent-q-diff-overview ()
  "List all that this review has, above the diff, or to its left on a wide screen.
These are the changes that are made in several places, and the files, or in a
review of one file the hunks.  There, \\<agent-q-diff-overview-mode-map>\\[agent-q-diff-overview-go] goes to what a line is about, and
\\[agent-q-diff-overview-accept] \\[agent-q-diff-overview-reject] \\[agent-q-diff-overview-unapply] decide all of it."
  (interactive)
  (when (agent-q-diff-buffer-ended-p)
    (user-error "The review has ended"))
  (let ((diff (current-buffer))
        (name (agent-q-diff-session-name agent-q-diff-buffer-review))
        (is-wide (<= agent-q-diff-overview--wide (window-width))))
    (unless (buffer-live-p agent-q-diff-overview--buffer)
      (setq agent-q-diff-overview--buffer
            (generate-new-buffer (format "*Agent-Q Overview: %s*" name)))
      (with-current-buffer agent-q-diff-overview--buffer
        (agent-q-diff-overview-mode)
        (setq agent-q-diff-overview--diff diff))
      (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-overview--update 95 t)
      (add-hook 'kill-buffer-hook #'agent-q-diff-overview--close-mine nil t))
    (agent-q-diff-base-collecting-once
      (agent-q-diff-signs-follow)
      (agent-q-diff-overview--update))
    (pop-to-buffer agent-q-diff-overview--buffer
                   `((display-buffer-reuse-window display-buffer-in-direction)
                     (window . ,(agent-q-diff-overview--beside diff))
                     ,@(if is-wide
                           '((direction . left) (window-width . 0.35))
                         '((direction . above)
                           (window-height . agent-q-diff-overview--fit)))))))

(defun agent-q-diff-overview--beside (diff)
  "Return the selected window, or its parent if DIFF is also in the one beside it."
  (let ((parent (window-parent)))
    (if (and parent
             (window-combined-p nil t)
             (seq-some (lambda (window)
                         (and (not (eq window (selected-window)))
                              (eq parent (window-parent window))))
                       (get-buffer-window-list diff 'never)))
        parent
      (selected-window))))

(defun agent-q-diff-overview-quit ()
  "Close the overview, and go back to the diff."
  (interactive)
  (let ((diff agent-q-diff-overview--diff)
        (overview (current-buffer)))
    (quit-window)
    (when (buffer-live-p diff)
      (with-current-buffer diff
        (setq agent-q-diff-overview--buffer nil))
      (when-let ((window (get-buffer-window diff)))
        (select-window window)))
    (when (buffer-live-p overview)
      (kill-buffer overview))))

(defun agent-q-diff-overview--call (function)
  "Call FUNCTION in the diff buffer, in its window if it has one.
Then bring the overview up to date."
  (let ((diff agent-q-diff-overview--diff))
    (unless (buffer-live-p diff)
      (user-error "The review has ended"))
    (if-let ((window (get-buffer-window diff)))
        (with-selected-window window
          (funcall function)
          (when (agent-q-diff-buffer-known-p)
            (agent-q-diff-current-after-command)))
      (with-current-buffer diff
        (funcall function)))))

(defun agent-q-diff-overview-go ()
  "Go to what the item at point is about, in the diff.
That is its first hunk that is pending, or the heading of a file."
  (interactive)
  (let ((item (agent-q-diff-overview--item-here)))
    (pop-to-buffer agent-q-diff-overview--diff
                   '((display-buffer-reuse-window display-buffer-use-some-window)))
    (if-let ((file (agent-q-diff-overview-item-file item)))
        (progn
          (widen)
          (goto-char (aref agent-q-diff-buffer-headings file))
          (setq agent-q-diff-buffer-is-moved t)
          (recenter 0))
      (agent-q-diff-buffer-goto-hunk (agent-q-diff-overview--first item)))))

(defun agent-q-diff-overview-next (&optional n)
  "Move to the Nth next line that stands for something, and show it in the diff."
  (interactive "p")
  (let ((step (if (< (or n 1) 0) -1 1))
        (at (point)))
    (dotimes (_ (abs (or n 1)))
      (let ((from (point)))
        (forward-line step)
        (while (and (not (bobp)) (not (eobp))
                    (null (get-text-property (point) 'agent-q-diff-overview-item)))
          (forward-line step))
        (unless (get-text-property (point) 'agent-q-diff-overview-item)
          (goto-char from))))
    (if (= at (point))
        (message (if (= step 1) "No next line" "No previous line"))
      (let ((item (agent-q-diff-overview--item-here)))
        (when (get-buffer-window agent-q-diff-overview--diff)
          (agent-q-diff-overview--call
           (lambda ()
             (agent-q-diff-buffer-goto-hunk (agent-q-diff-overview--first item)))))))))

(defun agent-q-diff-overview-previous (&optional n)
  "Move to the Nth previous line that stands for something."
  (interactive "p")
  (agent-q-diff-overview-next (- (or n 1))))

(defun agent-q-diff-overview--decide (command &optional reason)
  "Carry out COMMAND on all that the item at point stands for.
REASON becomes the comment on what is rejected, if it is not nil."
  (let ((item (agent-q-diff-overview--item-here)))
    (agent-q-diff-overview--call
     (lambda ()
       (if-let ((group (agent-q-diff-overview-item-group item)))
           (agent-q-diff-alike-decide-group command group reason)
         (agent-q-diff-alike-decide-hunks command (agent-q-diff-overview-item-hunks item)
                                          reason))))))

(defun agent-q-diff-overview-accept ()
  "Accept what is pending of all that the line at point stands for."
  (interactive)
  (agent-q-diff-overview--decide 'accept))

(defun agent-q-diff-overview-reject (&optional reason)
  "Reject what is pending of all that the line at point stands for.
REASON becomes the comment on it; interactively, with a prefix argument, it is
asked for."
  (interactive (list (and current-prefix-arg
                          (read-string (concat (agent-q-diff-overview--call #'agent-q-diff-commands-why)
                                               ": ")))))
  (agent-q-diff-overview--decide 'reject reason))

(defun agent-q-diff-overview-unapply ()
  "Take all that the line at point stands for out of the files again.
In a review of what was written already, make it pending."
  (interactive)
  (agent-q-diff-overview--decide 'unapply))

(defun agent-q-diff-overview-undo ()
  "Undo the last decision of the review."
  (interactive)
  (agent-q-diff-overview--call #'agent-q-diff-undo))

(defun agent-q-diff-overview-refresh (&rest _)
  "Look at the files again, and bring the overview up to date."
  (interactive)
  (agent-q-diff-overview--call #'agent-q-diff-refresh))

(provide 'agent-q-diff-overview)
;;; agent-q-diff-overview.el ends here
