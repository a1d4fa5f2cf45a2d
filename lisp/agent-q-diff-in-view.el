;;; agent-q-diff-in-view.el --- Visits files when their hunks come into view  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; To open a change of hundreds of files, or of a large one, none is visited
;; whose text can be known without that.  A file is visited when a hunk of it
;; is decided, or soon after its section comes into view: only then are its
;; hunks colored as code, and its edits noticed as they are made.

;;; Code:

(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)

(defvar-local agent-q-diff-in-view--timer nil
  "The timer that will visit the files in view, or nil.")

(defun agent-q-diff-in-view--note (beg end)
  "Visit soon the files whose sections are between BEG and END."
  (unless (or agent-q-diff-in-view--timer
              (agent-q-diff-buffer-ended-p)
              (null (agent-q-diff-in-view--put-off beg end)))
    (agent-q-diff-in-view--visit-after 0)))

(defun agent-q-diff-in-view--visit-after (seconds)
  "Visit the files in view in SECONDS seconds."
  (setq agent-q-diff-in-view--timer
        (run-with-timer seconds nil #'agent-q-diff-in-view--visit (current-buffer))))

(defun agent-q-diff-in-view--put-off (beg end)
  "Return the files between BEG and END that are to be visited, indices."
  (let ((files (agent-q-diff-change-files agent-q-diff-buffer-change)))
    (seq-filter (lambda (index)
                  (agent-q-diff-target-put-off
                   (agent-q-diff-file-change-target (nth index files))))
                (agent-q-diff-in-view--files beg end))))

(defun agent-q-diff-in-view--files (beg end)
  "Return the files whose sections are between BEG and END, indices."
  (let ((headings agent-q-diff-buffer-headings))
    (if (null headings)
        '(0)
      (number-sequence (or (agent-q-diff-base-last-at-most headings beg) 0)
                       (or (agent-q-diff-base-last-at-most headings end) -1)))))

(defun agent-q-diff-in-view--visit (buffer)
  "Visit the files whose sections are in a window of BUFFER."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq agent-q-diff-in-view--timer nil)
      (cond
       ((agent-q-diff-buffer-ended-p))
       (agent-q-diff-change-in-progress
        (agent-q-diff-in-view--visit-after agent-q-diff-change-retry-seconds))
       (t
        (dolist (window (get-buffer-window-list buffer nil t))
          (dolist (index (agent-q-diff-in-view--put-off (window-start window)
                                                        (window-end window t)))
            (agent-q-diff-in-view--visit-file index))))))))

(defun agent-q-diff-in-view--visit-file (index)
  "Visit the file with INDEX, and show how its hunks stand then.
If it cannot be visited, that is reported when a hunk of it is decided."
  (ignore-error error
    (if (agent-q-diff-change-visit agent-q-diff-buffer-change index)
        (agent-q-diff-signs-show-all)
      ;; In the colors of its mode.
      (font-lock-flush (and agent-q-diff-buffer-headings
                            (aref agent-q-diff-buffer-headings index))
                       (agent-q-diff-buffer-section-end index)))))

(defun agent-q-diff-in-view-set-up ()
  "Visit files when their sections of this buffer come into view."
  (when (and agent-q-diff-buffer-change
             (agent-q-diff-change-has-put-off agent-q-diff-buffer-change))
    (jit-lock-register #'agent-q-diff-in-view--note)))

(provide 'agent-q-diff-in-view)
;;; agent-q-diff-in-view.el ends here
