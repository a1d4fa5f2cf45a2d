;;; agent-q-diff-progress.el --- How far a review has come  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The progress line of a diff buffer and its header line.

;;; Code:

(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)

;;;; Progress line

(defun agent-q-diff-progress-line (counts)
  "Return the progress line for COUNTS, from `agent-q-diff-buffer-counts'.
Its length depends only on the number of hunks, so that updating it moves
no position."
  (pcase-let* ((`(,total ,applied ,rejected ,pending) counts)
               (line (lambda (applied rejected pending)
                       (format "Progress: %d/%d applied, %d rejected, %d pending  |  %s"
                               applied total rejected pending
                               "[a]ccept [r]eject [n]ext [p]rev [q]uit"))))
    (propertize (string-pad (funcall line applied rejected pending)
                            (length (funcall line total total total)))
                'font-lock-face 'agent-q-diff-progress)))

(defun agent-q-diff-progress--find-line (regexp &optional bound)
  "Move to the first line that begins with REGEXP, and ends before BOUND.
Return non-nil if there is one."
  (goto-char (point-min))
  (when (re-search-forward (concat "^\\(?:" regexp "\\)") bound t)
    (beginning-of-line)
    t))

(defun agent-q-diff-update-header ()
  "Update the progress line.
It replaces an old-style line that explains the keys for accepting all.  If
there is neither, it is inserted at the beginning of the buffer."
  (save-excursion
    (save-restriction
      (widen)
      (agent-q-diff-buffer-distrust-states)
      (let ((line (agent-q-diff-progress-line (agent-q-diff-buffer-counts))))
        (if (agent-q-diff-progress--find-line "Progress:\\|C-c C-c =")
            (agent-q-diff-progress--replace-line line)
          (goto-char (point-min))
          (agent-q-diff-buffer-moving-positions (lambda () (insert line "\n"))))))))

(defun agent-q-diff-progress--replace-line (new)
  "Replace the line at point by NEW, unless they are equal."
  (unless (equal new (buffer-substring-no-properties (point) (line-end-position)))
    (agent-q-diff-buffer-moving-positions
     (lambda ()
       (delete-region (point) (line-end-position))
       (insert new)))))

(defvar agent-q-diff-progress-functions nil
  "Abnormal hook run in the diff buffer when hunks may have been decided.
Each function is called with four numbers of hunks: all, applied, rejected
and pending.")

(defvar-local agent-q-diff-progress--header-end ""
  "What the header line shows after the number of the hunk at point.")
(put 'agent-q-diff-progress--header-end 'permanent-local t)

(defvar-local agent-q-diff-progress--directory nil
  "The directory for the end of the header line, if there is room, or nil.")
(put 'agent-q-diff-progress--directory 'permanent-local t)

(defun agent-q-diff-progress--width ()
  "Return the number of columns of a window of this buffer, or 0 without one."
  (let ((window (if (eq (window-buffer) (current-buffer))
                    (selected-window)
                  (get-buffer-window nil t))))
    (if window (window-width window) 0)))

(defconst agent-q-diff-progress--least-width 12
  "Number of columns of a longer directory that are worth showing.")

(defun agent-q-diff-progress--in-directory (line)
  "Return words for the end of LINE on where the file is, as far as there is room.
The lines of the diff that say so are hidden, and two files may have one name."
  (let* ((lead " · in ")
         (room (- (agent-q-diff-progress--width) (string-width line) (length lead)))
         (directory agent-q-diff-progress--directory))
    (if (and directory
             (<= (min agent-q-diff-progress--least-width (string-width directory)) room))
        (concat lead (agent-q-diff-visible-end directory room))
      "")))

(defun agent-q-diff-progress-update-header-line (&optional hunk)
  "Show HUNK, by default the one at point, and the progress in the header line.
This runs after every command here, so it must take constant time."
  (let* ((hunk (or hunk (agent-q-diff-buffer-hunk-at-point)))
         (total (length agent-q-diff-buffer-positions))
         (review agent-q-diff-buffer-review)
         ;; It is shown only if that is not long.
         (minutes (and (agent-q-diff-session-deadline review)
                       (null (agent-q-diff-session-outcome review))
                       (agent-q-diff-session-minutes-left review)))
         (n-below agent-q-diff-buffer-n-below)
         (below (if (zerop n-below)
                    ""
                  (format (ngettext ", %d line below" ", %d lines below" n-below) n-below)))
         (line (concat
                (when (agent-q-diff-session-is-abandoned review)
                  (propertize " nobody waits ·"
                              'face 'agent-q-diff-warning))
                (when minutes
                  (propertize (format " %d min left ·" minutes)
                              'face 'agent-q-diff-warning))
                (when agent-q-diff-buffer-is-past
                  (propertize " ended, the agent was told ·"
                              'face 'agent-q-diff-warning))
                (cond
                 ((length> agent-q-diff-buffer-headings 0)
                  (agent-q-diff-progress--in-file hunk below))
                 (hunk (format " hunk %d/%d%s · " (1+ hunk) total below))
                 (t (format (ngettext " %d hunk · " " %d hunks · " total) total)))
                agent-q-diff-progress--header-end)))
    (setq line (concat line (agent-q-diff-progress--in-directory line)))
    (unless (equal line header-line-format)
      (setq header-line-format line))))

(defun agent-q-diff-progress--name-width ()
  "Return the number of columns that a file's name has in the header line.
Of a longer one, the end is shown.  In a narrow window, the counts need room."
  (max 24 (min 40 (- (agent-q-diff-progress--width)
                     (string-width agent-q-diff-progress--header-end)
                     (length ": hunk 10/10 · file 10/10 · ")))))

(defun agent-q-diff-progress--in-file (hunk below)
  "Return which file point is in, and which of its hunks HUNK is, if not nil.
Hunks are counted from 1 in each file, as agents count them.  BELOW are words
on how many of its lines are below the window, or \"\"."
  (let* ((index (agent-q-diff-buffer-file-index))
         (file (nth index (agent-q-diff-change-files agent-q-diff-buffer-change)))
         (operations (agent-q-diff-file-change-decided-operations file))
         (heading (aref agent-q-diff-buffer-headings index))
         (first (1+ (or (agent-q-diff-buffer-hunk-before heading) -1)))
         (end (1+ (or (agent-q-diff-buffer-hunk-before
                       (1- (agent-q-diff-buffer-section-end index)))
                      -1)))
         (n-operations (length operations))
         (total (- end first n-operations))
         (nth (and hunk (- hunk first)))
         (name (get-text-property heading 'agent-q-diff-heading)))
    (format " %s%s%s · "
            (agent-q-diff-progress--literal
             (agent-q-diff-visible-end name (agent-q-diff-progress--name-width)))
            (cond
             ((null nth)
              (format (ngettext ": %d hunk" ": %d hunks" (- end first)) (- end first)))
             ((< nth n-operations)
              (concat ": " (agent-q-diff-progress--literal
                            (agent-q-diff-operation-words (nth nth operations)))))
             (t (format ": hunk %d/%d%s" (1+ (- nth n-operations)) total below)))
            (if (length> agent-q-diff-buffer-headings 1)
                (format " · file %d/%d" (1+ index) (length agent-q-diff-buffer-headings))
              ""))))

(defun agent-q-diff-progress--literal (text)
  "Return TEXT quoted for a header line."
  (replace-regexp-in-string "%" "%%" text))

(defun agent-q-diff-progress-refresh (&optional change)
  "Update the progress line, if any, and run `agent-q-diff-progress-functions'.
In a buffer made for a proposal, show the progress in the header line.  CHANGE
is as for `agent-q-diff-buffer-counts'."
  (let ((counts (agent-q-diff-buffer-counts change))
        (review agent-q-diff-buffer-review))
    (when agent-q-diff-buffer-is-made
      (setq agent-q-diff-progress--header-end
            (agent-q-diff-progress--of-review review counts)
            ;; In Agent-Q's buffer, a line of its own names the file; of several
            ;; files, the headings do.
            agent-q-diff-progress--directory
            (unless (or agent-q-diff-buffer-headings
                        (agent-q-diff-session-is-documented review))
              (agent-q-diff-progress--literal
               (agent-q-diff-visible
                (abbreviate-file-name (file-name-directory agent-q-diff-buffer-path))))))
      ;; When a command here has ended, `agent-q-diff-current' shows it, and
      ;; the hunk that point is on then.
      (unless (and this-command (eq (window-buffer) (current-buffer)))
        (agent-q-diff-progress-update-header-line)))
    (save-excursion
      (save-restriction
        (widen)
        (when (agent-q-diff-progress--find-line
               "Progress:" (and (length> agent-q-diff-buffer-positions 0)
                                (aref agent-q-diff-buffer-positions 0)))
          (agent-q-diff-progress--replace-line (agent-q-diff-progress-line counts)))))
    (apply #'run-hook-with-args 'agent-q-diff-progress-functions counts)
    (run-hooks 'agent-q-diff-session-changed-hook)))

(defun agent-q-diff-progress--of-review (review counts)
  "Return the words on REVIEW for the header line, after the hunk at point.
COUNTS is as from `agent-q-diff-buffer-counts'."
  (pcase-let* ((`(,_ ,applied ,rejected ,pending) counts)
               (`(,conflicts . ,ambiguous) (agent-q-diff-change-unplaced
                                            (agent-q-diff-session-change review)))
               (agent (agent-q-diff-session-agent review)))
    (format "%d %s · %d rejected · %d pending%s%s%s%s%s"
            applied (agent-q-diff-buffer-applied-word) rejected pending
            (if (zerop conflicts)
                ""
              (format (ngettext " · %d conflict" " · %d conflicts" conflicts) conflicts))
            (if (zerop ambiguous) "" (format " · %d ambiguous" ambiguous))
            (if (agent-q-diff-session-comment review) " · commented" "")
            ;; Of several files, the name of the one at point comes first.
            (if agent-q-diff-buffer-headings
                ""
              (concat " · " (agent-q-diff-progress--literal (agent-q-diff-session-name review))))
            (if agent
                (concat " · " (agent-q-diff-progress--literal (agent-q-diff-visible agent)))
              ""))))

(provide 'agent-q-diff-progress)
;;; agent-q-diff-progress.el ends here
