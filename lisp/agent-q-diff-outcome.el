;;; agent-q-diff-outcome.el --- The file as it is going to be  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A proposal is made to be taken as a whole; some of its hunks alone can
;; leave a parenthesis open.  This file shows the target with the hunks
;; chosen so far, and warns if it is not sound although the original and the
;; whole proposal are.  The end of a review warns as well.
;;
;; A text is sound if parentheses and strings are balanced by the syntax
;; table of the target's mode and, if that mode has a tree-sitter parser,
;; this finds no error.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-signs)
(require 'agent-q-diff-fontify)

(declare-function treesit-buffer-root-node "treesit.c" (&optional language))
(declare-function treesit-node-check "treesit.c" (node property))
(declare-function treesit-node-start "treesit.c" (node))
(declare-function treesit-node-type "treesit.c" (node))
(declare-function treesit-parser-list "treesit.c" (&optional buffer))
(declare-function treesit-search-subtree "treesit.c")

(defconst agent-q-diff-outcome-buffer-name "*Agent-Q Outcome*"
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
             (< (length text) agent-q-diff-outcome--max-size))
    (when-let ((line (agent-q-diff-outcome--flaw text mode)))
      (unless (or (agent-q-diff-outcome--flaw original mode)
                  (agent-q-diff-outcome--flaw modified mode))
        (format "NOT SOUND at line %d, although the original and the whole proposal are"
                line)))))

;;;; Warning at the end

(defun agent-q-diff-outcome--name (file)
  "Return the name of FILE without its directory, for display.
FILE is an `agent-q-diff-file-change'."
  (agent-q-diff-visible (file-name-nondirectory (agent-q-diff-file-change-path file))))

(defun agent-q-diff-outcome-at-finish ()
  "Return a warning about the target when the review finishes, or nil.
There is one if the target is not sound, not too large to be checked, and
has some of the proposal in it."
  (let* ((change agent-q-diff-buffer-change)
         (file (and change (agent-q-diff-buffer-file)))
         (target (and change (agent-q-diff-file-change-buffer file))))
    (when (and agent-q-diff-finish-check-size
               (buffer-live-p target)
               (agent-q-diff-change-engine change)
               (<= (buffer-size target) agent-q-diff-finish-check-size)
               (< 0 (agent-q-diff-change-in-target change)))
      ;; The mode that reads the text may be any package's, and its errors
      ;; must not prevent finishing.
      (when-let ((warning (ignore-errors
                            (agent-q-diff-outcome--warning
                             (agent-q-diff-text-in target)
                             (agent-q-diff-fontify-mode)
                             (agent-q-diff-file-change-original file)
                             (agent-q-diff-file-change-modified file)))))
        (format "%s: %s" (agent-q-diff-outcome--name file) warning)))))

;;;; Showing it

(defun agent-q-diff-outcome--text (change index is-all)
  "Return the text of file INDEX of CHANGE, with all pending hunks if IS-ALL."
  (let ((part (and is-all (car (agent-q-diff-engine-planned-parts
                                (agent-q-diff-engine-plan-all
                                 (agent-q-diff-change-engine change) nil index)))))
        (file (nth index (agent-q-diff-change-files change))))
    (with-temp-buffer
      (insert (agent-q-diff-text-in (agent-q-diff-file-change-buffer file)))
      (when part
        (agent-q-diff-text-replace-lines (agent-q-diff-engine-part-edits part)))
      (buffer-string))))

(defun agent-q-diff-outcome--fill (text mode line header)
  "Return a buffer with TEXT in MODE under HEADER, a header line.
Point is at LINE, from 0 or nil."
  (with-current-buffer (get-buffer-create agent-q-diff-outcome-buffer-name)
    (let ((inhibit-read-only t)
          (enable-local-variables nil)
          (enable-dir-local-variables nil))
      (erase-buffer)
      (insert text)
      (agent-q-diff-base-silently
        (delay-mode-hooks (funcall (or mode #'fundamental-mode))))
      (set-buffer-modified-p nil)
      (setq buffer-read-only t
            header-line-format header)
      (view-mode 1)
      (agent-q-diff-base-claim-keys-here)
      (goto-char (point-min))
      (forward-line (or line 0)))
    (current-buffer)))

(defun agent-q-diff-outcome--show (buffer)
  "Show BUFFER at its point, beside the diff; return the window or nil."
  (let ((window (agent-q-diff-buffer-display-aside
                 (lambda ()
                   (display-buffer buffer)))))
    (when window
      (set-window-point window (with-current-buffer buffer (point))))
    window))

(defun agent-q-diff-show-outcome (&optional is-all)
  "Show the file as it will be if the review is finished now.
With a prefix argument, IS-ALL, show it with all pending hunks accepted.
Warn if that is not sound although the original and the whole proposal are.
Return the message that is shown."
  (interactive "P")
  (let* ((change (agent-q-diff-signs-change-with-target))
         (hunk (agent-q-diff-buffer-hunk-at-point))
         (index (agent-q-diff-change-file-index change (or hunk 0)))
         (file (nth index (agent-q-diff-change-files change)))
         (text (agent-q-diff-outcome--text change index is-all))
         (mode (agent-q-diff-fontify-mode))
         (warning (agent-q-diff-outcome--warning
                   text mode (agent-q-diff-file-change-original file)
                   (agent-q-diff-file-change-modified file)))
         (name (agent-q-diff-outcome--name file))
         (window (agent-q-diff-outcome--show
                  (agent-q-diff-outcome--fill
                   text mode
                   (and hunk (agent-q-diff-engine-hunk-line
                              (agent-q-diff-change-hunk change hunk)))
                   (concat " " (replace-regexp-in-string "%" "%%" name)
                           (if is-all " with all pending hunks" " if you finish now")
                           (and warning (propertize (concat ": " warning)
                                                    'face 'agent-q-diff-warning)))))))
    (message "%s" (or warning
                      (if (eq window (selected-window))
                          "The outcome; q returns to the diff"
                        "The outcome is shown in the other window")))))

(provide 'agent-q-diff-outcome)
;;; agent-q-diff-outcome.el ends here
