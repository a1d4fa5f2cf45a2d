;;; agent-q-diff-end.el --- The end of a review, and who learns of it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Every review that somebody asked for is open until it has ended, and ends
;; once: its result is noted, its memory given back, and its caller told.
;; However it ends, and that can be from a key, a timer, the end of a
;; buffer or of Emacs, there is one answer.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-target)
(require 'agent-q-diff-review)
(require 'agent-q-diff-message)
(require 'agent-q-diff-view)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-mode)

;;;; Open reviews

(defvar agent-q-diff--open nil
  "Reviews that have not ended, the oldest first.")

(defun agent-q-diff-open-reviews ()
  "Return the reviews that have not ended, the oldest first."
  (copy-sequence agent-q-diff--open))

(defconst agent-q-diff--mode-line
  '(:eval (agent-q-diff--mode-line))
  "What `global-mode-string' has while reviews are open.")

(defun agent-q-diff--mode-line ()
  "Return how many reviews are open, for the mode line."
  (let ((n (length agent-q-diff--open)))
    (propertize (format " [%d review%s]" n (if (= n 1) "" "s"))
                'face 'agent-q-diff-warning
                'help-echo "Reviews that wait for you; M-x agent-q-diff-list")))
(put 'agent-q-diff--mode-line 'risky-local-variable t)

(defun agent-q-diff--begin-mode-line ()
  "Have the mode line count the reviews that are open.
`global-mode-string' may be any construct, say a string of the user's;
one that is no list of constructs becomes an element of one."
  (let ((construct global-mode-string))
    (setq global-mode-string
          (append (cond
                   ((null construct) '(""))
                   ((and (consp construct)
                         (or (stringp (car construct)) (consp (car construct))))
                    construct)
                   (t (list "" construct)))
                  (list agent-q-diff--mode-line)))))

(defun agent-q-diff--begin (review)
  "Note that REVIEW is open, and who waits for it."
  (setf (agent-q-diff-review-caller review) (cdr agent-q-diff-caller)
        (agent-q-diff-review-agent review)
        (when-let ((agent (or (agent-q-diff-review-agent review)
                              (car agent-q-diff-caller))))
          (substring-no-properties agent)))
  (unless agent-q-diff--open
    (agent-q-diff--begin-mode-line)
    (add-hook 'kill-emacs-query-functions #'agent-q-diff--query-kill-emacs)
    (add-hook 'kill-emacs-hook #'agent-q-diff--emacs-killed))
  (setq agent-q-diff--open (append agent-q-diff--open (list review)))
  (force-mode-line-update t))

(defun agent-q-diff--cease (review)
  "Note that REVIEW is open no more, and leave nothing behind after the last."
  (setq agent-q-diff--open (delq review agent-q-diff--open))
  (unless agent-q-diff--open
    (agent-q-diff-fontify-forget)
    (setq global-mode-string (delq agent-q-diff--mode-line global-mode-string))
    (remove-hook 'kill-emacs-query-functions #'agent-q-diff--query-kill-emacs)
    (remove-hook 'kill-emacs-hook #'agent-q-diff--emacs-killed))
  (force-mode-line-update t))

(defun agent-q-diff--query-kill-emacs ()
  "Ask whether to leave Emacs although reviews are open."
  (let ((n (length agent-q-diff--open)))
    (or noninteractive
        (yes-or-no-p (format "%d %s not decided; leave Emacs all the same? "
                             n (if (= n 1) "review is" "reviews are"))))))

(defun agent-q-diff--emacs-killed ()
  "Answer the callers of all open reviews, since Emacs ends.
So are those that they begin when they are answered, as an agent might
that tries again, but not for ever."
  (cl-loop repeat 10
           while agent-q-diff--open
           do (dolist (review (agent-q-diff-open-reviews))
                (agent-q-diff--set-outcome review 'emacs-killed)
                (agent-q-diff--close review))))

;;;###autoload
(defun agent-q-diff-next-review ()
  "Go to the next review that waits, after that of the current buffer."
  (interactive)
  (let* ((reviews (agent-q-diff-open-reviews))
         (next (or (cadr (memq agent-q-diff--review reviews))
                   (car reviews))))
    (if (or (null next) (eq next agent-q-diff--review))
        (message "No other review waits")
      (pop-to-buffer-same-window (agent-q-diff-review-buffer next)))))

(define-key agent-q-diff-mode-map "j" #'agent-q-diff-next-review)

;;;; Ending

(defun agent-q-diff--set-outcome (review outcome)
  "Set how REVIEW ended to OUTCOME, unless it has ended before."
  (unless (agent-q-diff-review-outcome review)
    (setf (agent-q-diff-review-outcome review) outcome)))

(defun agent-q-diff--close (review)
  "Note the result of REVIEW, which has ended, and tell who asked to be told.
Nothing changes it any more; a caller that waits may be answered later."
  (let ((buffer (agent-q-diff-review-buffer review)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (setq agent-q-diff--end-function nil)
        (agent-q-diff--stop-refreshing)
        (remove-hook 'kill-buffer-hook #'agent-q-diff--buffer-killed t)))
    (unless (agent-q-diff-review-result review)
      (setf (agent-q-diff-review-result review) (agent-q-diff--result review))
      (agent-q-diff--keep-engine review)
      (agent-q-diff--cease review)
      (agent-q-diff--give-back review)
      (agent-q-diff--tell review))))

(defun agent-q-diff--give-back (review)
  "Give back the memory of REVIEW, and say what fails then.
To put its target away runs hooks of others, and its caller must be told
whatever they do."
  (condition-case err
      (agent-q-diff-review-close review)
    ((error quit)
     (message "After the review of %s: %s" (agent-q-diff-review-path review)
              (agent-q-diff--error-text err)))))

(defvar agent-q-diff--leaving nil
  "Diff buffers whose reviews have ended, and which are about to go.
A review that a callback begins must have another one.")

(defun agent-q-diff--tell (review)
  "Call the callback of REVIEW with its result, this once."
  (let ((callback (agent-q-diff-review-callback review))
        (agent-q-diff--leaving (cons (agent-q-diff-review-buffer review)
                                     agent-q-diff--leaving)))
    (setf (agent-q-diff-review-callback review) nil)
    (agent-q-diff--call-back callback (agent-q-diff-review-result review))))

(defun agent-q-diff--call-back (callback value)
  "Call CALLBACK, a function or nil, with VALUE.
An error there is said, and no matter of the review."
  (when callback
    (condition-case err
        (funcall callback value)
      ((error quit)
       (message "The caller of a review failed: %s"
                (error-message-string err))))))

(defun agent-q-diff--buffer-killed ()
  "Cancel the review of the buffer that is being killed."
  (when agent-q-diff--end-function
    (funcall agent-q-diff--end-function agent-q-diff--review 'killed)))

(defconst agent-q-diff-list-buffer-name "*Agent-Q Reviews*"
  "Name of the buffer with the list of open reviews.")

(defun agent-q-diff--listed-elsewhere-p (window buffer &rest _)
  "Return non-nil if BUFFER is the list of reviews, and beside WINDOW already.
This is a function for `switch-to-prev-buffer-skip'."
  (and (equal (buffer-name buffer) agent-q-diff-list-buffer-name)
       (remq window (get-buffer-window-list buffer 'never (window-frame window)))))

(defun agent-q-diff--quit-windows (buffer &optional is-to-be-killed)
  "Have all windows of BUFFER show what they showed before it.
If IS-TO-BE-KILLED, kill it.  The list of reviews may have been in one of
them, and be in another window of the frame by now; once is enough."
  (dolist (window (get-buffer-window-list buffer 'never t))
    (pcase (window-parameter window 'quit-restore)
      (`(,_ (,before . ,_) . ,_)
       (when (and (buffer-live-p before)
                  (agent-q-diff--listed-elsewhere-p window before))
         (set-window-parameter window 'quit-restore nil)))))
  (let ((switch-to-prev-buffer-skip (or switch-to-prev-buffer-skip
                                        #'agent-q-diff--listed-elsewhere-p)))
    (quit-windows-on buffer is-to-be-killed)))

(defun agent-q-diff--end-unwaited (review outcome)
  "End REVIEW, for which nobody waits in a recursive edit, with OUTCOME.
Its buffer is taken out of sight, and one of several is not kept."
  (agent-q-diff--set-outcome review outcome)
  (agent-q-diff--close review)
  (let ((buffer (agent-q-diff-review-buffer review)))
    (when (and (buffer-live-p buffer) (not (eq outcome 'killed)))
      (agent-q-diff--quit-windows buffer)
      (agent-q-diff--kill-further buffer))))

(defun agent-q-diff--kill-further (buffer)
  "Kill the diff buffer BUFFER, whose review has ended, if it is not the first.
That one stays, to be read.  What hooks of others do must not keep the
caller from its answer."
  (when (and (buffer-live-p buffer)
             (not (equal (buffer-name buffer) agent-q-diff-buffer-name)))
    (condition-case err
        (kill-buffer buffer)
      ((error quit) (message "After a review: %s" (agent-q-diff--error-text err))))))

(defun agent-q-diff-cancel (review)
  "End REVIEW undecided, since who proposed it no longer wants it decided.
What was accepted until then stays in the target.  Return non-nil unless
it had ended before."
  (unless (agent-q-diff-review-outcome review)
    (agent-q-diff--end-by-program review 'cancelled)
    t))

(defun agent-q-diff-forsake (predicate)
  "Note that nobody waits any more for some of the reviews that are open.
They are those for whose caller PREDICATE returns non-nil.  What becomes
of them is up to `agent-q-diff-when-caller-gone'."
  (dolist (review (agent-q-diff-open-reviews))
    (when (and (not (agent-q-diff-review-is-forsaken review))
               (agent-q-diff-review-caller review)
               (funcall predicate (agent-q-diff-review-caller review)))
      (setf (agent-q-diff-review-is-forsaken review) t)
      (if (eq agent-q-diff-when-caller-gone 'cancel)
          (agent-q-diff--end-by-program review 'forsaken)
        (agent-q-diff--say-forsaken review)))))

(defun agent-q-diff--say-forsaken (review)
  "Say that nobody waits for REVIEW any more, in its buffer as well."
  (let ((buffer (agent-q-diff-review-buffer review)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (agent-q-diff--refresh-progress))))
  (message "Nobody waits any more for the review of %s"
           (abbreviate-file-name (agent-q-diff-review-path review))))

(defun agent-q-diff--end-by-program (review outcome)
  "End REVIEW with OUTCOME, wherever it is being decided."
  (let ((buffer (agent-q-diff-review-buffer review)))
    (funcall (or (and (buffer-live-p buffer)
                      (buffer-local-value 'agent-q-diff--end-function buffer))
                 #'agent-q-diff--end-unwaited)
             review outcome)))

;;;; Reviews that have ended

(defvar agent-q-diff--past nil
  "Reviews that have ended and can be looked at again, the latest first.")

(defconst agent-q-diff--kept-characters (* 32 1024 1024)
  "Number of characters that the targets of kept reviews may have together.
For each the engine holds several times as many bytes.")

(defun agent-q-diff-past-reviews ()
  "Return the reviews that have ended and are kept, the latest first."
  (copy-sequence agent-q-diff--past))

(defun agent-q-diff--keep-engine (review)
  "Keep the engine's review of REVIEW, which ends, if it is worth it.
That of a text that is no file's is not: nothing of it is anywhere."
  (when (and (agent-q-diff-review-engine review)
             (agent-q-diff-review-path review)
             (not (agent-q-diff-review-is-detached review))
             (buffer-live-p (agent-q-diff-review-target review)))
    (setf (agent-q-diff-review-kept-engine review)
          (agent-q-diff-review-engine review)
          (agent-q-diff-review-size review)
          (buffer-size (agent-q-diff-review-target review))
          (agent-q-diff-review-engine review) nil)
    (agent-q-diff--keep review)))

(defun agent-q-diff--keep (review)
  "Make REVIEW the latest of those that are kept, and forget the oldest."
  (setq agent-q-diff--past (cons review (delq review agent-q-diff--past)))
  (let ((size 0)
        (n 0))
    (dolist (past (agent-q-diff-past-reviews))
      (cl-incf size (agent-q-diff-review-size past))
      (cl-incf n)
      (when (or (> n agent-q-diff-kept-reviews)
                (> size agent-q-diff--kept-characters))
        (agent-q-diff-forget past)))))

(defun agent-q-diff-forget (review)
  "Give back the memory of REVIEW, which has ended.
It can then not be looked at again."
  (setq agent-q-diff--past (delq review agent-q-diff--past))
  (when (agent-q-diff-review-kept-engine review)
    (agent-q-diff-engine-free (agent-q-diff-review-kept-engine review))
    (setf (agent-q-diff-review-kept-engine review) nil)))

;;;; Result

(defun agent-q-diff--why (review)
  "Return why REVIEW came to no decision, as an error (SYMBOL MESSAGE).
Return nil if it was decided."
  (pcase-exhaustive (agent-q-diff-review-outcome review)
    ('decided nil)
    (`(error ,symbol ,message) (list symbol message))
    ('not-applied
     (list 'agent-q-diff-not-applied
           (mapconcat (pcase-lambda (`(,hunk . ,reason))
                        (format "hunk %d: %s" (1+ hunk) reason))
                      (reverse (agent-q-diff-review-failures review))
                      "; ")))
    ('cancelled (list 'agent-q-diff-cancelled "who proposed it took it back"))
    ('forsaken (list 'agent-q-diff-cancelled "who proposed it is gone"))
    ('killed (list 'agent-q-diff-cancelled "its buffer was killed"))
    ('emacs-killed (list 'agent-q-diff-cancelled "Emacs was left"))
    ('aborted (list 'agent-q-diff-cancelled "the user left it undecided"))
    ('no-user (list 'agent-q-diff-no-user
                    "the keys of this batch Emacs ran out"))))

(defun agent-q-diff--status (review decision counts)
  "Return the status of REVIEW, a symbol, with DECISION and COUNTS.
DECISION is a string or nil; COUNTS is as `agent-q-diff-engine-counts'
has it, or nil."
  (pcase (agent-q-diff-review-outcome review)
    (`(error . ,_) 'error)
    ('not-applied 'stale)
    ('decided (pcase-let ((`(,total ,_ ,_ ,in-file) counts))
                (cond
                 ((equal decision "rejected") 'rejected)
                 ((= total in-file) 'accepted)
                 (t 'partial))))
    (_ 'cancelled)))

(defun agent-q-diff--result (review)
  "Return the result of REVIEW, a plist; see `agent-q-diff-review'.
It tells what is in the target now, whoever put it there; if that can no
longer be had, what was in it last."
  ;; To visit it anew runs hooks of others.
  (ignore-error (error quit)
    (agent-q-diff-review-follow review))
  (pcase-let* ((counts (agent-q-diff-engine-counts
                        (agent-q-diff-review-engine review)))
               (`(,total ,applied ,rejected ,in-file) counts)
               (buffer (agent-q-diff-review-buffer review))
               (decision (and (eq (agent-q-diff-review-outcome review) 'decided)
                              (buffer-live-p buffer)
                              (buffer-local-value 'agent-q-diff--decision buffer))))
    (agent-q-diff--with-message
     (append
      (list :status (agent-q-diff--status review decision counts)
            :decision decision
            :path (agent-q-diff-review-path review)
            :error (nth 0 (agent-q-diff--why review))
            :reason (nth 1 (agent-q-diff--why review))
            :comment (agent-q-diff-review-comment review)
            :total total :applied applied :rejected rejected
            :pending (- total applied rejected) :in-file in-file
            :altered (agent-q-diff-review-is-altered review)
            :hunks (agent-q-diff--hunk-results review total))
      (agent-q-diff--content review)))))

(defun agent-q-diff--with-message (result)
  "Return RESULT with the message that the agent is to read."
  (append result
          (list :message (agent-q-diff-message-of-result
                          result (plist-get result :path)))))

(defun agent-q-diff--content (review)
  "Return a plist with the text of the target of REVIEW, and if it is saved."
  (let ((target (agent-q-diff-review-target review)))
    (when (buffer-live-p target)
      (list :content (agent-q-diff-target-text target)
            :saved (and (not (agent-q-diff-review-is-detached review))
                        (not (buffer-modified-p target)))))))

(defun agent-q-diff--hunk-results (review total)
  "Return a plist for each of the TOTAL hunks of REVIEW."
  (cl-loop with engine = (agent-q-diff-review-engine review)
           with is-cut = (agent-q-diff-review-is-cut review)
           with edited = (cl-loop for hunk below total
                                  collect (agent-q-diff-engine-edited-p engine hunk))
           with texts = (and (or is-cut (memq t edited))
                             (agent-q-diff--hunk-texts review total))
           for header in (agent-q-diff-engine-headers
                          engine (agent-q-diff-review-path review))
           for is-edited in edited
           for hunk from 0
           for text = (pop texts)
           for (mark is-in _ place) = (agent-q-diff-engine-state engine hunk)
           collect (list :index hunk :state mark
                         :header header
                         :in-file (and is-in (not (eq place 'lost)))
                         :lost (eq place 'lost)
                         :now (and (< hunk agent-q-diff--n-shown)
                                   (ignore-error agent-q-diff-error
                                     (agent-q-diff-engine-live-lines engine hunk)))
                         :edited (and is-edited text)
                         :part (and is-cut text)
                         :comment (alist-get hunk (agent-q-diff-review-comments
                                                   review))
                         :reason (alist-get hunk (agent-q-diff-review-failures
                                                  review)))))

(defun agent-q-diff--hunk-texts (review total)
  "Return the diff text of each of the TOTAL hunks of REVIEW.
They are printed all at once: one by one, each would look for its section
heading from the top of the file."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-engine-print-hunks
                (agent-q-diff-review-engine review) 0 total
                (agent-q-diff-review-path review))))
    (with-temp-buffer
      (insert diff)
      (goto-char (point-min))
      (cl-loop for (here next) on lines
               for beg = (point)
               do (if next
                      (forward-line (- next here))
                    (goto-char (point-max)))
               collect (buffer-substring-no-properties beg (point))))))

(provide 'agent-q-diff-end)
;;; agent-q-diff-end.el ends here
