;;; agent-q-diff-transcript.el --- Edits shown as they are asked for  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buffer *Agent-Q Edits*: every edit that an agent requests, as diff
;; lines with their numbers, shown before anybody is asked for permission,
;; and then its outcome.  Commands fold and copy an edit, and jump to its
;; file.
;;
;; A function in `agent-q-diff-show-edit-functions' can show edits elsewhere.
;;
;; A diff line is a list (KIND OLD NEW TEXT); see that variable.

;;; Code:

(require 'diff-mode)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-grace)

;;;; Options and faces

(defcustom agent-q-diff-show-edit-functions '(agent-q-diff-transcript--append)
  "Functions that show an edit before the user is asked for permission.
Each is called with LINES and INFO.  LINES is a list of (KIND OLD NEW
TEXT): KIND is `hunk', `context', `added', `removed' or `no-newline'; OLD
and NEW are the line's numbers on either side, from 1, or 0 if it is not
there; TEXT is the line without sign and newline.  INFO is a plist:

:id           a number, unique to each edit
:tool         the name of the tool
:path         the file as the agent named it
:name         its absolute name
:description  what the agent says about it, or nil
:count        the number of places that are replaced

If one of them signals an error, the edit fails: what could not be shown
is not asked about either."
  :type 'hook
  :group 'agent-q-diff-display)

(defcustom agent-q-diff-transcript-max-entries 500
  "Number of edits that the buffer of edits keeps; older ones are dropped."
  :type 'natnum
  :group 'agent-q-diff-display)

(defface agent-q-diff-line-added
  '((t :inherit diff-added))
  "Face of added lines where an edit is shown."
  :group 'agent-q-diff-faces)

(defface agent-q-diff-line-removed
  '((t :inherit diff-removed))
  "Face of removed lines where an edit is shown."
  :group 'agent-q-diff-faces)

(defface agent-q-diff-line-context
  '((t :inherit diff-context))
  "Face of unchanged lines where an edit is shown."
  :group 'agent-q-diff-faces)

(defface agent-q-diff-line-hunk
  '((t :inherit diff-hunk-header))
  "Face of hunk headers where an edit is shown."
  :group 'agent-q-diff-faces)

(defface agent-q-diff-line-number
  '((t :inherit shadow))
  "Face of line numbers where an edit is shown."
  :group 'agent-q-diff-faces)

;;;; Diff lines

(defun agent-q-diff-transcript-counts (lines)
  "Return (ADDED . REMOVED), numbers of diff LINES."
  (cons (cl-loop for (kind) in lines count (eq kind 'added))
        (cl-loop for (kind) in lines count (eq kind 'removed))))

(defun agent-q-diff-transcript-diff (lines path)
  "Return diff LINES of the file PATH as a unified diff."
  (concat
   (format "--- %s\n+++ %s\n" path path)
   (mapconcat (pcase-lambda (`(,kind ,_ ,_ ,text))
                (concat (pcase kind ('added "+") ('removed "-") ('context " "))
                        text "\n"))
              lines "")))

;;;; Showing a line

(defconst agent-q-diff-transcript--max-width 2000
  "Number of characters of a line that are shown.")

(defun agent-q-diff-transcript--visible (text)
  "Return TEXT, a line, with misleading characters made visible; tabs stay.
The end of a very long line is left out, and the note says so."
  (agent-q-diff-visible text agent-q-diff-transcript--max-width '(?\t)))

(defun agent-q-diff-transcript--insert-line (line)
  "Insert the diff line LINE as it is shown, with its numbers."
  (pcase-let* ((`(,kind ,old ,new ,text) line)
               (`(,sign . ,face)
                (pcase kind
                  ('hunk '(nil . agent-q-diff-line-hunk))
                  ('added '("+ " . agent-q-diff-line-added))
                  ('removed '("- " . agent-q-diff-line-removed))
                  (_ '("  " . agent-q-diff-line-context))))
               (numbers (if sign
                            (format "%4s %4s "
                                    (if (zerop old) "" old) (if (zerop new) "" new))
                          ""))
               (start (point))
               (text-start (+ start (length numbers))))
    ;; At once, since each insertion makes garbage.
    (insert (concat numbers sign (agent-q-diff-transcript--visible text) "\n"))
    (put-text-property start text-start 'face 'agent-q-diff-line-number)
    ;; Signs for misleading characters already have a face.
    (add-face-text-property text-start (1- (point)) face t)
    (put-text-property start text-start 'agent-q-diff-line line)))

;;;; The buffer

(defconst agent-q-diff-transcript--buffer-name "*Agent-Q Edits*"
  "Name of the buffer of edits.")

(defvar agent-q-diff-transcript-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "TAB") #'agent-q-diff-transcript-fold)
    (define-key map (kbd "<backtab>") #'agent-q-diff-transcript-fold-all)
    (define-key map (kbd "n") #'agent-q-diff-transcript-next)
    (define-key map (kbd "p") #'agent-q-diff-transcript-previous)
    (define-key map (kbd "RET") #'agent-q-diff-transcript-jump)
    (define-key map (kbd "w") #'agent-q-diff-transcript-copy)
    map)
  "Keymap of `agent-q-diff-transcript-mode'.")

(define-derived-mode agent-q-diff-transcript-mode special-mode "Agent-Q Edits"
  "Major mode of the buffer of edits that agents asked for.

\\{agent-q-diff-transcript-mode-map}"
  ;; What an edit changes may be at the end of a long line.
  (setq-local truncate-partial-width-windows nil)
  (agent-q-diff-grace-expect-return)
  (setq-local wrap-prefix (make-string 12 ?\s))
  (setq truncate-lines nil
        buffer-undo-list t
        bidi-paragraph-direction 'left-to-right)
  (agent-q-diff-base-claim-single-keys)
  (add-to-invisibility-spec '(agent-q-diff-fold . t)))

(defun agent-q-diff-transcript--buffer ()
  "Return the buffer of edits, created if necessary."
  (let ((buffer (get-buffer-create agent-q-diff-transcript--buffer-name)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'agent-q-diff-transcript-mode)
        (agent-q-diff-transcript-mode)))
    buffer))

(defun agent-q-diff-transcript--description (description)
  "Return DESCRIPTION, a string or nil, as comment lines.
They cannot be mistaken for diff lines."
  (mapconcat (lambda (line)
               (concat "# " (agent-q-diff-transcript--visible line) "\n"))
             (and description (split-string description "\n"))
             ""))

(defun agent-q-diff-transcript--insert-entry (lines info)
  "Insert the edit with diff LINES and INFO as it is shown."
  (let ((start (point))
        (edit (cl-list* :lines lines info)))
    (pcase-let ((`(,added . ,removed) (agent-q-diff-transcript-counts lines)))
      (insert (format "%s %s %s  +%d -%d\n" (format-time-string "%T")
                      (plist-get info :tool)
                      (agent-q-diff-visible (or (plist-get info :path) ""))
                      added removed)))
    (add-text-properties start (point) `(face agent-q-diff-header agent-q-diff-edit ,edit))
    (insert (agent-q-diff-transcript--description (plist-get info :description)))
    (mapc #'agent-q-diff-transcript--insert-line lines)
    (insert "\n")))

(defvar-local agent-q-diff-transcript--n-entries 0
  "Number of edits in this buffer.")

(defun agent-q-diff-transcript--append (lines info)
  "Append the edit with diff LINES and INFO to the buffer of edits.
This is the default of `agent-q-diff-show-edit-functions'."
  (with-current-buffer (agent-q-diff-transcript--buffer)
    (let ((inhibit-read-only t))
      (save-excursion
        (goto-char (point-max))
        (agent-q-diff-transcript--insert-entry lines info))
      (cl-incf agent-q-diff-transcript--n-entries)
      (agent-q-diff-transcript--drop-oldest))))

(defun agent-q-diff-transcript--drop-oldest ()
  "Drop the oldest edits beyond `agent-q-diff-transcript-max-entries'."
  (let ((here (point-min)))
    (while (> agent-q-diff-transcript--n-entries agent-q-diff-transcript-max-entries)
      (setq here (agent-q-diff-transcript--end here))
      (cl-decf agent-q-diff-transcript--n-entries))
    (delete-region (point-min) here)))

(defun agent-q-diff-transcript--position (id)
  "Return the beginning of the edit numbered ID in the current buffer, or nil.
The latest edits are searched first."
  (let ((here (point-max))
        found)
    (while (and (not found) (> here (point-min)))
      (setq here (previous-single-property-change here 'agent-q-diff-edit nil
                                                  (point-min)))
      (let ((edit (get-text-property here 'agent-q-diff-edit)))
        (when (and edit (eql id (plist-get edit :id)))
          (setq found here))))
    found))

(defun agent-q-diff-transcript-conclude (info outcome)
  "Insert OUTCOME, a string, below the edit of INFO."
  (when-let ((buffer (get-buffer agent-q-diff-transcript--buffer-name)))
    (with-current-buffer buffer
      (when-let ((start (agent-q-diff-transcript--position (plist-get info :id))))
        (let ((inhibit-read-only t))
          (save-excursion
            (goto-char (1- (agent-q-diff-transcript--end start)))
            (insert (propertize
                     (concat "=> " (agent-q-diff-visible outcome) "\n")
                     'face 'agent-q-diff-progress))))))))

(defun agent-q-diff-transcript-window ()
  "Return the window of the buffer of edits, or nil."
  (when-let ((buffer (get-buffer agent-q-diff-transcript--buffer-name)))
    (get-buffer-window buffer)))

(defun agent-q-diff-transcript-show (info)
  "Show the edit of INFO in a window without selecting it.
Return the window if it is new, else nil."
  (when-let ((buffer (get-buffer agent-q-diff-transcript--buffer-name)))
    (let* ((old (agent-q-diff-transcript-window))
           (window (or old (agent-q-diff-base-show buffer)))
           (start (with-current-buffer buffer
                    (agent-q-diff-transcript--position (plist-get info :id)))))
      (when (and window start)
        (set-window-start window start)
        (set-window-point window start))
      (unless old window))))

;;;; The edit at point

(defun agent-q-diff-transcript--heads ()
  "Return the beginnings of the edits in the current buffer, in order."
  (let ((here (point-min))
        heads)
    (while here
      (when (get-text-property here 'agent-q-diff-edit)
        (push here heads))
      (setq here (next-single-property-change here 'agent-q-diff-edit)))
    (nreverse heads)))

(defun agent-q-diff-transcript--start ()
  "Return the beginning of the edit at point, or signal that there is none."
  (or (car (last (seq-filter (lambda (head) (<= head (point)))
                             (agent-q-diff-transcript--heads))))
      (user-error "No edit here")))

(defun agent-q-diff-transcript--end (start)
  "Return the end of the edit that begins at START."
  (let ((below (next-single-property-change start 'agent-q-diff-edit)))
    (or (and below (next-single-property-change below 'agent-q-diff-edit))
        (point-max))))

;;;; Commands

;;;###autoload
(defun agent-q-diff-edits ()
  "Show the edits that agents requested, with point at the latest.
Each has its outcome, and who allowed it, at its end."
  (interactive)
  (pop-to-buffer (or (get-buffer agent-q-diff-transcript--buffer-name)
                     (user-error "No agent has asked for an edit")))
  (goto-char (or (car (last (agent-q-diff-transcript--heads))) (point-min)))
  (set-window-start nil (point)))

(defun agent-q-diff-transcript-next ()
  "Move to the next edit."
  (interactive)
  (goto-char (or (seq-find (lambda (head) (> head (point)))
                           (agent-q-diff-transcript--heads))
                 (user-error "No later edit"))))

(defun agent-q-diff-transcript-previous ()
  "Move to the beginning of this edit, or to the previous one."
  (interactive)
  (goto-char (or (car (last (seq-filter (lambda (head) (< head (point)))
                                        (agent-q-diff-transcript--heads))))
                 (user-error "No earlier edit"))))

(defun agent-q-diff-transcript--folds (start end)
  "Return the overlays between START and END that hide lines."
  (seq-filter (lambda (overlay)
                (eq (overlay-get overlay 'invisible) 'agent-q-diff-fold))
              (overlays-in start end)))

(defun agent-q-diff-transcript--hide (start)
  "Hide all lines but the first of the edit that begins at START."
  (save-excursion
    (goto-char start)
    (agent-q-diff-base-overlay (line-end-position) (1- (agent-q-diff-transcript--end start))
                               'invisible 'agent-q-diff-fold
                               'isearch-open-invisible #'delete-overlay)))

(defun agent-q-diff-transcript-fold ()
  "Hide all lines but the first of the edit at point, or show them again."
  (interactive)
  (let* ((start (agent-q-diff-transcript--start))
         (folds (agent-q-diff-transcript--folds
                 start (agent-q-diff-transcript--end start))))
    (goto-char start)
    (if folds
        (mapc #'delete-overlay folds)
      (agent-q-diff-transcript--hide start))))

(defun agent-q-diff-transcript-fold-all ()
  "Hide all lines but the first of every edit, or show them all again."
  (interactive)
  (let ((folds (agent-q-diff-transcript--folds (point-min) (point-max))))
    (if folds
        (mapc #'delete-overlay folds)
      (mapc #'agent-q-diff-transcript--hide (agent-q-diff-transcript--heads)))))

(defun agent-q-diff-transcript-copy ()
  "Copy the edit at point as a unified diff."
  (interactive)
  (let ((edit (get-text-property (agent-q-diff-transcript--start)
                                 'agent-q-diff-edit)))
    (kill-new (agent-q-diff-transcript-diff (plist-get edit :lines)
                                            (plist-get edit :path)))
    (message "Copied the diff of %s"
             (agent-q-diff-visible (plist-get edit :path)))))

(defun agent-q-diff-transcript--line-to-visit (start)
  "Return the line number in the file to go to from point.
START is the beginning of the edit at point.  The number is that of the
modified text; for a removed line, that of the next line which is there, or
if there is none, of the last one."
  (let ((point (line-beginning-position))
        (here start)
        (end (agent-q-diff-transcript--end start))
        (number 1)
        (is-found nil))
    (while (and (not is-found) (< here end))
      (pcase (get-text-property here 'agent-q-diff-line)
        ((and `(,kind ,_ ,(and new (pred (< 0))) ,_)
              (guard (memq kind '(context added))))
         (setq number new
               is-found (<= point here))))
      (setq here (next-single-property-change here 'agent-q-diff-line nil end)))
    number))

(defun agent-q-diff-transcript-jump ()
  "Visit the file of the edit at point, at that line, in the other window."
  (interactive)
  (let* ((start (agent-q-diff-transcript--start))
         (edit (get-text-property start 'agent-q-diff-edit))
         (line (agent-q-diff-transcript--line-to-visit start)))
    (agent-q-diff-file-check-regular (plist-get edit :name))
    (find-file-other-window (plist-get edit :name))
    (widen)
    (goto-char (point-min))
    (forward-line (1- line))))

(provide 'agent-q-diff-transcript)
;;; agent-q-diff-transcript.el ends here
