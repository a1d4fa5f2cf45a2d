;;; agent-q-diff-again.el --- Looking at a review again  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A review that has ended is kept for a while.  Shown again, it is like any
;; other review, except that nobody waits for it: hunks can be taken out of
;; the file, or applied after all.  The agent has had its answer and does
;; not learn of this.

;;; Code:

(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-progress)
(require 'agent-q-diff-signs)
(require 'agent-q-diff-reviews)
(require 'agent-q-diff-result)
(require 'agent-q-diff-finish)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-mode)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-render)

(defvar-local agent-q-diff-again--past nil
  "The review that this buffer shows again, or nil.")
(put 'agent-q-diff-again--past 'permanent-local t)

(defun agent-q-diff-again--notes (review)
  "Return notes to show above the hunks of REVIEW, which has ended."
  (let ((result (agent-q-diff-session-result review)))
    (list (format "This review has ended: %s; %d of %d hunks were in the %s%s."
                  (agent-q-diff-result-outcome review) (plist-get result :in-file)
                  (plist-get result :total)
                  (if (plist-get result :files) "files" "file")
                  (if (agent-q-diff-session-now-in review)
                      (format ", and after you changed that %d"
                              (agent-q-diff-session-now-in review))
                    ""))
          "The agent has its answer; it does not see what you change here.")))

(defun agent-q-diff-again--buffer (review)
  "Return the buffer with REVIEW, which has ended, shown again, or nil."
  (seq-find (lambda (buffer)
              (eq review (buffer-local-value 'agent-q-diff-again--past buffer)))
            (buffer-list)))

(defun agent-q-diff-again--open (review)
  "Return a new diff buffer for REVIEW, which has ended."
  (let* ((again (agent-q-diff-session-create
                 :change
                 (agent-q-diff-change-reopen (agent-q-diff-session-change review))
                 :agent (agent-q-diff-session-agent review)
                 :description (agent-q-diff-session-description review)
                 :comment (agent-q-diff-session-comment review)))
         (buffer (agent-q-diff-again--prepare review again)))
    (with-current-buffer buffer
      ;; Leaving this buffer decides nothing, so there is nothing to ask.
      (setq-local agent-q-diff-confirm-finish nil)
      (setq-local agent-q-diff-finish-when-decided nil)
      (remove-hook 'kill-buffer-query-functions #'agent-q-diff-lifecycle-query-kill-buffer t)
      (setq agent-q-diff-again--past review
            agent-q-diff-buffer-is-past t
            agent-q-diff-buffer-end-function #'agent-q-diff-again--end)
      (agent-q-diff-progress-update-header-line))
    buffer))

(defun agent-q-diff-again--prepare (review again)
  "Return a diff buffer for AGAIN, the continuation of REVIEW.
If there is an error, REVIEW is kept as it was."
  (condition-case err
      (agent-q-diff-render-prepare again nil nil
                                   (agent-q-diff-session-description again)
                                   #'agent-q-diff-mode
                                   (agent-q-diff-again--notes review))
    ((error quit)
     (agent-q-diff-again--return review again)
     (signal (car err) (cdr err)))))

(defun agent-q-diff-again--return (review again)
  "Return to REVIEW what AGAIN took over from it, and keep REVIEW."
  (agent-q-diff-change-return (agent-q-diff-session-change review)
                              (agent-q-diff-session-change again))
  (agent-q-diff-reviews-keep review))

(defun agent-q-diff-again--note-change (review again)
  "Note, also in the log, if in AGAIN the user changed what is in the files.
AGAIN shows REVIEW again."
  (let ((before (or (agent-q-diff-session-now-in review)
                    (plist-get (agent-q-diff-session-result review) :in-file)))
        (now (ignore-errors
               (agent-q-diff-change-in-target (agent-q-diff-session-change again)))))
    (when (and now (/= now before))
      (setf (agent-q-diff-session-now-in review) now)
      (agent-q-diff-result-record-again review before))))

(defun agent-q-diff-again--end (again outcome)
  "End AGAIN, a review that was shown again, with OUTCOME."
  (let* ((buffer (agent-q-diff-session-buffer again))
         (review (buffer-local-value 'agent-q-diff-again--past buffer)))
    (with-current-buffer buffer
      (setq agent-q-diff-buffer-end-function nil
            agent-q-diff-again--past nil)
      (agent-q-diff-signs-stop-refreshing))
    (agent-q-diff-again--note-change review again)
    (agent-q-diff-again--return review again)
    (unless (eq outcome 'killed)
      (agent-q-diff-lifecycle-quit-windows buffer t)
      ;; Kill it even if it was in no window.
      (when (buffer-live-p buffer)
        (kill-buffer buffer)))))

;;;###autoload
(defun agent-q-diff-look-again (&optional review)
  "Show REVIEW, which has ended, again; interactively, the latest one.
All keys work: \\<agent-q-diff-mode-map>\\[agent-q-diff-unapply-all] \
takes the whole proposal out of the file,
\\[agent-q-diff-finish] leaves the buffer.  See `agent-q-diff-kept-reviews'.
Return the diff buffer."
  (interactive)
  (let ((review (or review (car (agent-q-diff-past-reviews))
                    (user-error "No past reviews"))))
    (pop-to-buffer (or (agent-q-diff-again--buffer review)
                       (agent-q-diff-again--open review)))
    (current-buffer)))

;;;###autoload
(defun agent-q-diff-take-back (review)
  "Take all hunks of REVIEW, which has ended, out of its file again.
Return a list of (HUNK . REASON): those that could not be taken out, with
HUNK counted from 0.  Signal an error if REVIEW is not kept any more."
  (with-current-buffer (or (agent-q-diff-again--buffer review)
                           (agent-q-diff-again--open review))
    (prog1 (agent-q-diff-unapply-all)
      (agent-q-diff-finish))))

(provide 'agent-q-diff-again)
;;; agent-q-diff-again.el ends here
