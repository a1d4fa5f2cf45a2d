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
(require 'tabulated-list)
(require 'agent-q-diff-base)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-result)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-mode)
(require 'agent-q-diff-render)
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
      (setf agent-q-diff-again--past review
            agent-q-diff-buffer-is-past t
            (agent-q-diff-session-end again) #'agent-q-diff-again--end)
      (agent-q-diff-waiting-restore)
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

(defun agent-q-diff-again--return-change (change again)
  "Return to CHANGE what AGAIN took over from it, and close AGAIN."
  (setf (agent-q-diff-change-n-extra change) (agent-q-diff-change-n-extra again)
        (agent-q-diff-change-comments change) (agent-q-diff-change-comments again)
        (agent-q-diff-change-failures change) (agent-q-diff-change-failures again)
        (agent-q-diff-change-firsts change) nil)
  (cl-mapc #'agent-q-diff-file-change-return
           (agent-q-diff-change-files change) (agent-q-diff-change-files again)))

(defun agent-q-diff-again--return (review again)
  "Return to REVIEW what AGAIN took over from it, and keep REVIEW."
  (agent-q-diff-again--return-change (agent-q-diff-session-change review)
                                     (agent-q-diff-session-change again))
  (agent-q-diff-reviews-keep review))

(defun agent-q-diff-again--note-change (review again)
  "Note and log whether the user applied or took out hunks in AGAIN.
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
    (setf (agent-q-diff-session-end again) nil)
    (with-current-buffer buffer
      (setq agent-q-diff-again--past nil)
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

;;; The list

(defun agent-q-diff-list--age (review)
  "Return the time since REVIEW began, as a string."
  (format-seconds "%h:%.2m:%.2s"
                  (float-time (time-since (agent-q-diff-session-begun review)))))

(defun agent-q-diff-list--ended (review)
  "Return the result of REVIEW, which has ended, as a string."
  (let ((result (agent-q-diff-session-result review)))
    (format "%s %d/%d%s" (agent-q-diff-result-outcome review)
            (plist-get result :in-file) (plist-get result :total)
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

(defun agent-q-diff-list--name (review)
  "Return the name and the directory of the file of REVIEW, for a row."
  (format "%s  %s" (agent-q-diff-session-name review)
          (agent-q-diff-session-directory review)))

(defun agent-q-diff-list--entries ()
  "Return the entries of the list."
  (mapcar (lambda (review)
            (list review
                  (vector (or (agent-q-diff-session-agent review) "?")
                          (agent-q-diff-list--name review)
                          (agent-q-diff-list--age review)
                          (if (agent-q-diff-session-outcome review)
                              (agent-q-diff-list--ended review)
                            (agent-q-diff-list--progress review))
                          (agent-q-diff-session-said review))))
          (append (agent-q-diff-open-reviews) (agent-q-diff-past-reviews))))

;;;; Updating the list

(defconst agent-q-diff-list--period 10
  "Number of seconds after which the ages in the list are updated.")

(defvar agent-q-diff-list--timer nil
  "The timer that updates the ages, or nil.")

(defvar agent-q-diff-list--is-due nil
  "Non-nil if an update of the list is scheduled.")

(defvar-local agent-q-diff-list--open nil
  "The reviews that were open when the list was last updated.")

(defun agent-q-diff-list--row (review)
  "Return the position of the row of REVIEW, or nil."
  (text-property-any (point-min) (point-max) 'tabulated-list-id review))

(defun agent-q-diff-list--place (position)
  "Return (REVIEW LINE), to find POSITION after the list is printed again.
If REVIEW has ended meanwhile, return `first' instead of it."
  (save-excursion
    (goto-char position)
    (let ((review (tabulated-list-get-id)))
      (list (if (and review (memq review agent-q-diff-list--open)
                     (agent-q-diff-session-outcome review))
                'first
              review)
            (line-number-at-pos)))))

(defun agent-q-diff-list--find (place)
  "Return the position of PLACE, from `agent-q-diff-list--place'."
  (pcase-let ((`(,review ,line) place))
    (or (if (eq review 'first)
            (let ((rows (delq nil (mapcar #'agent-q-diff-list--row agent-q-diff-list--open))))
              (and rows (apply #'min rows)))
          (and review (agent-q-diff-list--row review)))
        (save-excursion
          (goto-char (point-min))
          (forward-line (1- line))
          (point)))))

(defun agent-q-diff-list--print (&rest _)
  "Print the list again; in every window, point stays on its review."
  (let ((here (agent-q-diff-list--place (point)))
        (places (mapcar (lambda (window)
                          (list window
                                (agent-q-diff-list--place (window-point window))
                                (line-number-at-pos (window-start window))))
                        (get-buffer-window-list nil 'never t))))
    (setq agent-q-diff-list--open (agent-q-diff-open-reviews))
    (tabulated-list-print)
    (goto-char (agent-q-diff-list--find here))
    (pcase-dolist (`(,window ,place ,start) places)
      (set-window-start window (agent-q-diff-list--find (list nil start)) t)
      (set-window-point window (agent-q-diff-list--find place)))))

(defun agent-q-diff-list--update ()
  "Update the list if it is visible.
If the list is gone, stop updating it."
  (setq agent-q-diff-list--is-due nil)
  (let ((buffer (get-buffer agent-q-diff-list-buffer-name)))
    (cond
     ((null buffer) (agent-q-diff-list--stop))
     ((get-buffer-window buffer t)
      (with-current-buffer buffer
        (agent-q-diff-list--print))))))

(defun agent-q-diff-list--update-soon ()
  "Update the list after the current command."
  (unless agent-q-diff-list--is-due
    (setq agent-q-diff-list--is-due t)
    (run-with-timer 0 nil #'agent-q-diff-list--update)))

(defun agent-q-diff-list--appear (_window)
  "Update the list, since a window has begun to show it."
  (agent-q-diff-list--update-soon))

(defun agent-q-diff-list--start ()
  "Begin to update the list."
  (add-hook 'agent-q-diff-session-changed-hook #'agent-q-diff-list--update-soon)
  (unless agent-q-diff-list--timer
    (setq agent-q-diff-list--timer
          (run-with-timer agent-q-diff-list--period agent-q-diff-list--period
                          #'agent-q-diff-list--update))))

(defun agent-q-diff-list--stop ()
  "Stop updating the list."
  (remove-hook 'agent-q-diff-session-changed-hook #'agent-q-diff-list--update-soon)
  (when agent-q-diff-list--timer
    (cancel-timer agent-q-diff-list--timer)
    (setq agent-q-diff-list--timer nil)))

;;;; Commands

(defun agent-q-diff-list--here ()
  "Return the review at point, or signal that there is none."
  (let ((review (tabulated-list-get-id)))
    (cond
     ((null review) (user-error "There is no review here"))
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

(defvar agent-q-diff-list-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map tabulated-list-mode-map)
    (define-key map "\r" #'agent-q-diff-list-open)
    (define-key map "j" (agent-q-diff-base-key-by-evil nil #'next-line))
    (define-key map "k" (agent-q-diff-base-key-by-evil #'agent-q-diff-list-cancel
                                                       #'previous-line))
    (define-key map "x" (agent-q-diff-base-key-by-evil nil #'agent-q-diff-list-cancel))
    (define-key map "U" #'agent-q-diff-list-take-back)
    map)
  "Keymap of `agent-q-diff-list-mode'.")

(define-derived-mode agent-q-diff-list-mode tabulated-list-mode "Reviews"
  "Major mode of the list of open reviews, with past ones below.
\\<agent-q-diff-list-mode-map>\
\\[agent-q-diff-list-open] goes to the review at point, and shows one that has ended again.
\\[agent-q-diff-list-cancel] cancels it undecided, or forgets one that has ended.
\\[agent-q-diff-list-take-back] takes the hunks of one that has ended out of its file again.
The list updates itself; \\[revert-buffer] updates it at once.

\\{agent-q-diff-list-mode-map}"
  (agent-q-diff-base-claim-single-keys)
  (setq tabulated-list-format [("Agent" 11 t) ("File" 22 t) ("Age" 7 nil)
                               ("Progress" 22 nil) ("Description" 0 nil)]
        tabulated-list-entries #'agent-q-diff-list--entries)
  (agent-q-diff-grace-expect-return)
  (setq-local revert-buffer-function #'agent-q-diff-list--print)
  (tabulated-list-init-header)
  (add-hook 'window-buffer-change-functions #'agent-q-diff-list--appear nil t)
  (agent-q-diff-list--start))

;;;###autoload
(defun agent-q-diff-list ()
  "List the open reviews, and the past ones that can be opened again."
  (interactive)
  (let ((buffer (get-buffer-create agent-q-diff-list-buffer-name)))
    (with-current-buffer buffer
      (agent-q-diff-list-mode)
      (agent-q-diff-list--print))
    (pop-to-buffer buffer)))

(provide 'agent-q-diff-list)
;;; agent-q-diff-list.el ends here
