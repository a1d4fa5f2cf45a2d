;;; agent-q-diff-list.el --- The list of open and past reviews  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Lists the open reviews with their agent, file, age, progress and
;; description, and below them the past reviews that are kept.  The list, with
;; the ages, is always up to date.
;;
;; A past review that is shown again is like any other review, except that
;; nobody waits for it: hunks can be taken out of the file, or applied after
;; all.  The agent has had its answer and does not learn of this.

;;; Code:

(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-views)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-result)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-mode)
(require 'agent-q-diff-render)
(require 'agent-q-diff-told)
(require 'agent-q-diff-waiting)
(require 'agent-q-diff-grace)

;;; A review that has ended, shown again

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
  "Return a new diff buffer for REVIEW, which has ended.
If there is an error, REVIEW is kept as it was."
  (let* ((again (agent-q-diff-session-create
                 :change
                 (agent-q-diff-change-reopen (agent-q-diff-session-change review))
                 :agent (agent-q-diff-session-agent review)
                 :description (agent-q-diff-session-description review)))
         (buffer (condition-case err
                     (agent-q-diff-render-prepare again nil nil
                                                  (agent-q-diff-session-description again)
                                                  #'agent-q-diff-mode
                                                  (agent-q-diff-again--notes review))
                   ((error quit)
                    (agent-q-diff-again--return review again)
                    (signal (car err) (cdr err))))))
    (with-current-buffer buffer
      ;; Leaving this buffer decides nothing, so there is nothing to ask.
      (setq-local agent-q-diff-confirm-finish nil)
      (setq-local agent-q-diff-finish-when-decided nil)
      (remove-hook 'kill-buffer-query-functions #'agent-q-diff-lifecycle-query-kill-buffer t)
      (setf agent-q-diff-again--past review
            agent-q-diff-buffer-is-past t
            (agent-q-diff-session-end again) #'agent-q-diff-again--end)
      (agent-q-diff-waiting-restore)
      (when (agent-q-diff-buffer-written-p)
        (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-again--tell nil t))
      (agent-q-diff-progress-update-header-line))
    buffer))

(defvar-local agent-q-diff-again--told nil
  "The last decision in this buffer of which the agent is told, or nil.")

(defun agent-q-diff-again--tell (&rest _)
  "Queue what the agent is told of the last decision in this buffer.
What this review decided was written before it; its end tells nothing any more."
  (let ((decision (agent-q-diff-change-committed agent-q-diff-buffer-change)))
    (unless (memq decision (list nil agent-q-diff-again--told))
      (setq agent-q-diff-again--told decision)
      (condition-case err
          (agent-q-diff-told-queue-decided agent-q-diff-buffer-change)
        (error
         (agent-q-diff-base-warn
          (format "The decision is recorded, but what the agent is told of it is not: %s"
                  (agent-q-diff-error-text err))))))))

(defun agent-q-diff-again--return (review again)
  "Return to REVIEW what AGAIN took over from it, and keep REVIEW."
  (let ((change (agent-q-diff-session-change review))
        (other (agent-q-diff-session-change again)))
    (setf (agent-q-diff-change-n-extra change) (agent-q-diff-change-n-extra other)
          (agent-q-diff-change-comments change) (agent-q-diff-change-comments other)
          (agent-q-diff-change-failures change) (agent-q-diff-change-failures other)
          (agent-q-diff-change-firsts change) nil)
    (cl-mapc #'agent-q-diff-file-change-return
             (agent-q-diff-change-files change) (agent-q-diff-change-files other)))
  (agent-q-diff-reviews-keep review))

(defun agent-q-diff-again--end (again outcome)
  "End AGAIN, a review that was shown again, with OUTCOME.
Note and log whether the user has applied or taken out hunks in it."
  (let* ((buffer (agent-q-diff-session-buffer again))
         (review (buffer-local-value 'agent-q-diff-again--past buffer))
         (before (or (agent-q-diff-session-now-in review)
                     (plist-get (agent-q-diff-session-result review) :in-file)))
         (now (ignore-errors
                (agent-q-diff-change-in-target (agent-q-diff-session-change again)))))
    (setf (agent-q-diff-session-end again) nil)
    (with-current-buffer buffer
      (setq agent-q-diff-again--past nil)
      (agent-q-diff-signs-stop-refreshing))
    (when (and now (/= now before))
      (setf (agent-q-diff-session-now-in review) now)
      (agent-q-diff-result-record-again review before))
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

;;; The list

(defun agent-q-diff-list--ended (review)
  "Return the result of REVIEW, which has ended, as a string."
  (let ((result (agent-q-diff-session-result review)))
    (format "%s %d/%d%s%s" (agent-q-diff-result-outcome review)
            (plist-get result :in-file) (plist-get result :total)
            ;; The user may have saved them since.
            (if (and (agent-q-diff-result-unsaved-p result)
                     (seq-some (lambda (file)
                                 (when-let* ((path (agent-q-diff-file-change-path file))
                                             (buffer (find-buffer-visiting path)))
                                   (agent-q-diff-disk-unsaved-p buffer)))
                               (agent-q-diff-change-files (agent-q-diff-session-change review))))
                ", not saved"
              "")
            (if (agent-q-diff-session-now-in review)
                (format ", now %d/%d" (agent-q-diff-session-now-in review)
                        (plist-get result :total))
              ""))))

(defun agent-q-diff-list--progress (review)
  "Return the progress of REVIEW, which has not ended, as a string."
  (pcase-let ((`(,total ,applied ,rejected)
               (agent-q-diff-change-tally (agent-q-diff-session-change review))))
    (format "%s%s%d of %d decided"
            (if (agent-q-diff-session-is-abandoned review) "nobody waits, " "")
            (if-let ((minutes (agent-q-diff-session-minutes-left review)))
                (format "%d min left, " minutes)
              "")
            (+ applied rejected) total)))

(defun agent-q-diff-list--rows ()
  "Return the rows of the list."
  (mapcar (lambda (review)
            (list review
                  (or (agent-q-diff-session-agents review) "?")
                  (format "%s  %s" (agent-q-diff-session-name review)
                          (agent-q-diff-session-directory review))
                  (format-seconds "%h:%.2m:%.2s"
                                  (float-time (time-since (agent-q-diff-session-begun review))))
                  (if (agent-q-diff-session-outcome review)
                      (agent-q-diff-list--ended review)
                    (agent-q-diff-list--progress review))
                  (agent-q-diff-session-said review)))
          (append (agent-q-diff-open-reviews) (agent-q-diff-past-reviews))))

;;;; Updating the list

(defconst agent-q-diff-list--period 10
  "Number of seconds after which the ages in the list are updated.")

(defvar agent-q-diff-list--timer nil
  "The timer of the next update of the list, or nil.")

(defvar-local agent-q-diff-list--open nil
  "The reviews that were open when the list was last updated.")

(defun agent-q-diff-list--same-p (review other)
  "Return non-nil if point, on the row of REVIEW, belongs on that of OTHER.
That is the same, or any that is open if REVIEW has ended since the last update."
  (if (and (memq review agent-q-diff-list--open)
           (agent-q-diff-session-outcome review))
      (memq other agent-q-diff-reviews-open)
    (eq review other)))

(defun agent-q-diff-list--print (&rest _)
  "Update the list."
  (agent-q-diff-views-update)
  (setq agent-q-diff-list--open (agent-q-diff-open-reviews)))

(defun agent-q-diff-list--update-in (seconds)
  "Update the list in SECONDS, and not before."
  (when agent-q-diff-list--timer
    (cancel-timer agent-q-diff-list--timer))
  (setq agent-q-diff-list--timer (run-with-timer seconds nil #'agent-q-diff-list--update)))

(defun agent-q-diff-list--update ()
  "If the list is visible, update it, and do so again when the ages have changed."
  (setq agent-q-diff-list--timer nil)
  (when (get-buffer-window agent-q-diff-list-buffer-name t)
    (with-current-buffer agent-q-diff-list-buffer-name
      (agent-q-diff-list--print))
    (agent-q-diff-list--update-in agent-q-diff-list--period)))

(defun agent-q-diff-list--update-soon (&rest _)
  "Update the list after the current command; if it is gone, never again."
  (if (get-buffer agent-q-diff-list-buffer-name)
      (agent-q-diff-list--update-in 0)
    (remove-hook 'agent-q-diff-session-changed-hook #'agent-q-diff-list--update-soon)))

;;;; Commands

(defun agent-q-diff-list--here ()
  "Return the review at point, or signal that there is none."
  (let ((review (agent-q-diff-views-here)))
    (cond
     ((or (memq review (agent-q-diff-open-reviews))
          (memq review (agent-q-diff-past-reviews)))
      review)
     (t (user-error "This review has ended; g updates the list")))))

(defun agent-q-diff-list-open ()
  "Go to the review at point; open it again if it has ended."
  (interactive nil agent-q-diff-list-mode)
  (agent-q-diff-list--go-to (agent-q-diff-list--here)))

(defun agent-q-diff-list--go-to (review)
  "Go to REVIEW; open it again if it has ended."
  (if (agent-q-diff-session-outcome review)
      (agent-q-diff-look-again review)
    (pop-to-buffer (agent-q-diff-session-buffer review))
    (agent-q-diff-reviews-introduce review)
    ;; Otherwise a terminal's menu bar would not be updated.
    (force-mode-line-update)))

(defun agent-q-diff-list--index-of (review buffer)
  "Return the index of the file of REVIEW that BUFFER has, or nil."
  (seq-position (agent-q-diff-change-files (agent-q-diff-session-change review))
                buffer
                (lambda (file buffer)
                  (or (eq buffer (agent-q-diff-file-change-buffer file))
                      (let ((path (agent-q-diff-file-change-path file)))
                        (and path
                             (equal (expand-file-name path) (buffer-file-name buffer))))))))

;;;###autoload
(defun agent-q-diff-go-to-review ()
  "Go to the review of the file that this buffer visits.
An open review comes first, the latest of several; without one, the latest
that has ended is opened again.  In a review of several files, point moves to
this file."
  (interactive "@")
  (let* ((buffer (or (buffer-base-buffer) (current-buffer)))
         (review (or (seq-find (lambda (review)
                                 (agent-q-diff-list--index-of review buffer))
                               (append (reverse (agent-q-diff-open-reviews))
                                       (agent-q-diff-past-reviews)))
                     (user-error "No review of this file; M-x agent-q-diff-list lists all")))
         (index (agent-q-diff-list--index-of review buffer)))
    (agent-q-diff-list--go-to review)
    (unless (= index (agent-q-diff-change-file-index
                      (agent-q-diff-session-change review)
                      (or (agent-q-diff-buffer-hunk-before) 0)))
      (agent-q-diff-buffer-complete)
      (goto-char (agent-q-diff-buffer-position
                  (aref (agent-q-diff-change-first-hunks (agent-q-diff-session-change review))
                        index))))))

(defun agent-q-diff-list-cancel ()
  "Cancel the review at point: its agent is told that nobody decided.
Forget a review that has ended."
  (interactive nil agent-q-diff-list-mode)
  (let ((review (agent-q-diff-list--here)))
    (cond
     ((agent-q-diff-session-outcome review)
      (agent-q-diff-forget review)
      (revert-buffer))
     ((y-or-n-p (format "Cancel the review of %s without a decision? "
                        (agent-q-diff-session-name review)))
      (agent-q-diff-lifecycle-end-by-program review 'aborted)
      (revert-buffer)))))

(defun agent-q-diff-list-take-back ()
  "Take all hunks of the review at point, which has ended, out of its file."
  (interactive nil agent-q-diff-list-mode)
  (let ((review (agent-q-diff-list--here)))
    (unless (agent-q-diff-session-outcome review)
      (user-error "This review has not ended; RET goes to it"))
    (when (y-or-n-p (format "Undo in %s what this review changed? "
                            (agent-q-diff-session-long-name review)))
      (agent-q-diff-take-back review))))

(defun agent-q-diff-list--begin ()
  "Keep the list in this buffer up to date."
  (agent-q-diff-grace-expect-return)
  (setq-local revert-buffer-function #'agent-q-diff-list--print)
  (add-hook 'agent-q-diff-session-changed-hook #'agent-q-diff-list--update-soon)
  (add-hook 'window-buffer-change-functions #'agent-q-diff-list--update-soon nil t))

(agent-q-diff-views-define agent-q-diff-list-mode "Reviews"
  "Major mode of the list of open reviews, with past ones below.
It updates itself."
  :item "review"
  :columns '(("Agent" 11 t) ("File" 22 t) ("Age" 7 nil) ("Progress" 22 nil) ("Description" 0 nil))
  :rows #'agent-q-diff-list--rows
  :same #'agent-q-diff-list--same-p
  :keys '(("\r" . agent-q-diff-list-open)
          ("k" . agent-q-diff-list-cancel)
          ("U" . agent-q-diff-list-take-back))
  :begin #'agent-q-diff-list--begin)

;;;###autoload
(defun agent-q-diff-list ()
  "List the open reviews, and the past ones that can be opened again."
  (interactive)
  (agent-q-diff-views-show agent-q-diff-list-buffer-name #'agent-q-diff-list-mode)
  (setq agent-q-diff-list--open (agent-q-diff-open-reviews)))

(provide 'agent-q-diff-list)
;;; agent-q-diff-list.el ends here
