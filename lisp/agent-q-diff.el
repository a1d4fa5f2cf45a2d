;;; agent-q-diff.el --- Review an AI agent's edits hunk by hunk  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; Author: The agent-q-diff authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, vc
;; SPDX-License-Identifier: GPL-3.0-or-later

;; This program is free software: you can redistribute it and/or modify
;; it under the terms of the GNU General Public License as published by
;; the Free Software Foundation, either version 3 of the License, or (at
;; your option) any later version.

;; This program is distributed in the hope that it will be useful, but
;; WITHOUT ANY WARRANTY; without even the implied warranty of
;; MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
;; General Public License for more details.

;; You should have received a copy of the GNU General Public License
;; along with this program.  If not, see <https://www.gnu.org/licenses/>.

;;; Commentary:

;; Every change that an agent proposes to a file is decided hunk by hunk,
;; applied exactly where it belongs, and reported truthfully to the agent.
;; A Rust engine, loaded as a dynamic module, knows where each hunk goes.
;;
;; Programs call `agent-q-diff-review-and-wait'.  Agent-Q calls
;; `sly-agent-q-show-diff-and-wait', in sly-agent-q-diff.el.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-target)
(require 'agent-q-diff-review)
(require 'agent-q-diff-view)
(require 'agent-q-diff-mode)

(defconst agent-q-diff-buffer-name "*Agent-Q Diff*"
  "Name of the diff buffer.
While one is being decided, further ones get a number behind it.")

;;;; Showing a proposal

(defun agent-q-diff--live-p (buffer)
  "Return non-nil if somebody waits for the review in BUFFER."
  (buffer-local-value 'agent-q-diff--end-function buffer))

(defun agent-q-diff--fresh-buffer ()
  "Return an empty buffer for a new review, never one that is being decided."
  (let ((buffer (get-buffer agent-q-diff-buffer-name)))
    (if (and buffer (agent-q-diff--live-p buffer))
        (generate-new-buffer agent-q-diff-buffer-name)
      (get-buffer-create agent-q-diff-buffer-name))))

(defun agent-q-diff--comment (text)
  "Return TEXT with every line prefixed, so that none is taken for diff text."
  (mapconcat (lambda (line) (concat "# " line)) (split-string text "\n") "\n"))

(defun agent-q-diff--notes (review)
  "Return what one must know before the first key of REVIEW, as strings."
  (let ((target (agent-q-diff-review-target review)))
    (delq nil
          (list
           (unless (file-exists-p (agent-q-diff-review-path review))
             "The file does not exist yet.")
           (unless (agent-q-diff-review-was-clean review)
             (format "The file has unsaved edits in %s; %s" target
                     (if (agent-q-diff-review-saves-p review)
                         "accepting a hunk saves them, too."
                       "accepting a hunk does not save.")))
           (when (agent-q-diff-review-is-adapted review)
             "Line ends and byte order mark are adapted to the file.")
           (agent-q-diff--differs-note review)))))

(defun agent-q-diff--differs-note (review)
  "Return what to say if the target of REVIEW is not the original, or nil."
  (let* ((engine (agent-q-diff-review-engine review))
         (states (cl-loop for hunk below (car (agent-q-diff-engine-counts engine))
                          collect (agent-q-diff-engine-state engine hunk)))
         (lost (seq-count #'caddr states))
         (already (seq-count #'cadr states)))
    (cond
     ((> lost 0)
      (format "The file differs from the proposal's original: %d of %d hunks %s not apply."
              lost (length states) (if (= lost 1) "does" "do")))
     ((> already 0)
      (format "%d of %d hunks %s in the file already."
              already (length states) (if (= already 1) "is" "are"))))))

(defun agent-q-diff--insert-header (review notes)
  "Insert what the proposal of REVIEW is about, and NOTES, strings."
  (let ((start (point)))
    (insert (agent-q-diff--comment
             (format "File: %s" agent-q-diff--path))
            "\n"
            (agent-q-diff--comment
             (format "Description: %s" agent-q-diff--description))
            "\n")
    (put-text-property start (point) 'font-lock-face 'agent-q-diff-header))
  (dolist (note (append notes (agent-q-diff--notes review)))
    (insert (propertize (agent-q-diff--comment (concat "Note: " note))
                        'font-lock-face 'agent-q-diff-warning)
            "\n")))

(defun agent-q-diff--render (review notes)
  "Fill the current buffer with the proposal of REVIEW and NOTES."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-engine-print (agent-q-diff-review-engine review)
                                          agent-q-diff--path))
              (inhibit-read-only t))
    (erase-buffer)
    (agent-q-diff--insert-header review notes)
    (insert "Progress:\n\n")
    (let ((start (point)))
      (insert diff)
      (agent-q-diff--adopt review lines start))
    (setq agent-q-diff--parsed-tick t)
    (agent-q-diff-update-header)
    (set-buffer-modified-p nil)))

(defun agent-q-diff--forget-review ()
  "Make the current buffer's variables those of no review."
  (setq agent-q-diff--decision nil
        agent-q-diff--hunk-states nil
        agent-q-diff--review nil
        agent-q-diff--positions nil
        agent-q-diff--end-function nil)
  (delete-all-overlays))

(defun agent-q-diff--prepare (review original modified description mode notes)
  "Return a diff buffer in MODE for REVIEW.
ORIGINAL, MODIFIED and DESCRIPTION are the proposal's; NOTES are strings
for the header."
  (with-current-buffer (agent-q-diff--fresh-buffer)
    (agent-q-diff--forget-review)
    (setq buffer-undo-list t
          agent-q-diff--path (agent-q-diff-review-path review)
          agent-q-diff--original original
          agent-q-diff--modified modified
          agent-q-diff--description description
          default-directory (file-name-directory agent-q-diff--path))
    (agent-q-diff--render review notes)
    ;; A directory's local variables are nobody's business here.
    (let ((enable-dir-local-variables nil)
          (diff-update-on-the-fly nil))
      (funcall mode))
    (setq buffer-read-only t)
    (setf (agent-q-diff-review-buffer review) (current-buffer))
    (agent-q-diff--show-all)
    (agent-q-diff--goto-hunk 0)
    (add-hook 'kill-buffer-hook #'agent-q-diff--buffer-killed nil t)
    (current-buffer)))

(defun agent-q-diff--prepare-or-close (review &rest arguments)
  "Prepare a diff buffer for REVIEW, and close that if there is an error.
REVIEW and ARGUMENTS are those of `agent-q-diff--prepare'."
  (condition-case err
      (apply #'agent-q-diff--prepare review arguments)
    ((error quit)
     (agent-q-diff-review-close review)
     (signal (car err) (cdr err)))))

;;;; Waiting for the user

(defvar agent-q-diff--waiting nil
  "Reviews for which a caller waits, the innermost first.")

(defvar agent-q-diff--in-command nil
  "Non-nil while a command runs, so that its end will be noticed.")

(defun agent-q-diff--note-command ()
  "Note that a command begins."
  (setq agent-q-diff--in-command t))

(defun agent-q-diff--leave-if-decided ()
  "Leave the recursive edit if its review has ended.
Runs after every command, and is the only place that leaves: anywhere
deeper, say in an open minibuffer, leaving would leave that instead, and
a timer must not leave at all."
  (setq agent-q-diff--in-command nil)
  (let ((review (car agent-q-diff--waiting)))
    (when (and review (eq (recursion-depth) (agent-q-diff-review-depth review)))
      (when (and noninteractive (not executing-kbd-macro)
                 (not unread-command-events))
        (agent-q-diff--set-outcome review 'no-user))
      (when (agent-q-diff-review-outcome review)
        (exit-recursive-edit)))))

(defun agent-q-diff--set-outcome (review outcome)
  "Set how REVIEW ended to OUTCOME, unless it has ended before."
  (unless (agent-q-diff-review-outcome review)
    (setf (agent-q-diff-review-outcome review) outcome)))

(defun agent-q-diff--ended (review outcome)
  "Note that REVIEW ended with OUTCOME, and see to it that its caller learns."
  (agent-q-diff--set-outcome review outcome)
  (let ((depth (agent-q-diff-review-depth review))
        (is-innermost (eq review (car agent-q-diff--waiting))))
    (when (and depth (>= (recursion-depth) depth))
      (agent-q-diff--wake)
      (unless (and is-innermost (eq (recursion-depth) depth))
        (agent-q-diff--close review)
        (unless is-innermost
          (agent-q-diff--put-away (agent-q-diff-review-buffer review)))
        (message "Ended; the caller is answered when what was begun since is ended")))))

(defun agent-q-diff--close (review)
  "Note the result of REVIEW, which has ended, and let nothing change it.
Its caller may be answered much later."
  (let ((buffer (agent-q-diff-review-buffer review)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (setq agent-q-diff--end-function nil)
        (remove-hook 'kill-buffer-hook #'agent-q-diff--buffer-killed t)))
    (unless (agent-q-diff-review-result review)
      (setf (agent-q-diff-review-result review) (agent-q-diff--result review))
      (agent-q-diff-review-close review))))

(defun agent-q-diff--put-away (buffer)
  "Take BUFFER, whose review ended before the innermost, out of sight."
  (let ((was-selected (eq (window-buffer) buffer)))
    (replace-buffer-in-windows buffer)
    (when was-selected
      (pop-to-buffer (agent-q-diff-review-buffer (car agent-q-diff--waiting))))))

(defun agent-q-diff--wake ()
  "See to it that a command ends soon, and `post-command-hook' with it.
A recursive edit cannot be left from a timer or a process filter."
  (unless agent-q-diff--in-command
    (setq unread-command-events
          (append unread-command-events (list 'agent-q-diff-wake)))))

(defun agent-q-diff--buffer-killed ()
  "Cancel the review of the buffer that is being killed."
  (when agent-q-diff--end-function
    (funcall agent-q-diff--end-function agent-q-diff--review 'killed)))

(defun agent-q-diff--somebody-there-p ()
  "Return non-nil if keys can come from somewhere."
  (or (not noninteractive)
      executing-kbd-macro
      unread-command-events
      (not (subrp (symbol-function 'recursive-edit)))))

(defun agent-q-diff--cancel-all (outcome)
  "End every review that somebody waits for with OUTCOME."
  (dolist (review agent-q-diff--waiting)
    (agent-q-diff--set-outcome review outcome)))

(defun agent-q-diff--edit-recursively (review)
  "Let the user work until the recursive edit of REVIEW is left."
  (let ((is-macro executing-kbd-macro)
        (is-top-level t)
        ;; Bound, because a throw past the end of a command leaves it set.
        (agent-q-diff--in-command nil))
    (setf (agent-q-diff-review-depth review) (1+ (recursion-depth)))
    ;; Whoever replaces this function, as tests do, expects the diff buffer
    ;; to be current.
    (set-buffer (agent-q-diff-review-buffer review))
    (catch 'top-level
      (condition-case nil
          (progn
            ;; A C-g from before was meant for something else.
            (setq quit-flag nil)
            (let ((inhibit-quit nil))
              (recursive-edit))
            (agent-q-diff--came-back review is-macro))
        (quit (unless (or (eq last-input-event ?\C-g)
                          ;; With a minibuffer open below, ESC ESC ESC aborts.
                          (eq this-command 'keyboard-escape-quit))
                (agent-q-diff--set-outcome review 'aborted))))
      (setq is-top-level nil))
    (when is-top-level
      (agent-q-diff--cancel-all 'aborted))))

(defun agent-q-diff--came-back (review is-macro)
  "Interpret that the recursive edit of REVIEW returned.
IS-MACRO tells whether a keyboard macro was running when it began."
  (let ((is-real (subrp (symbol-function 'recursive-edit)))
        (buffer (agent-q-diff-review-buffer review)))
    (cond
     ((agent-q-diff-review-outcome review))
     ((and (not is-real)
           (member (buffer-local-value 'agent-q-diff--decision buffer)
                   '("accepted" "rejected")))
      (agent-q-diff--set-outcome review 'decided))
     ;; ESC ESC ESC leaves any recursive edit, but it is no decision.
     ((and is-real (eq this-command 'keyboard-escape-quit)))
     ;; The keys of a macro ran out.
     ((and is-real is-macro (not (eq this-command 'exit-recursive-edit)))
      (when noninteractive
        (agent-q-diff--set-outcome review 'no-user)))
     (t (with-current-buffer buffer
          (agent-q-diff-finish))))))

(defun agent-q-diff--begin-waiting (review)
  "Make REVIEW the innermost one for which a caller waits."
  (with-current-buffer (agent-q-diff-review-buffer review)
    (setq agent-q-diff--end-function #'agent-q-diff--ended))
  (push review agent-q-diff--waiting)
  (define-key global-map [agent-q-diff-wake] #'ignore)
  (add-hook 'pre-command-hook #'agent-q-diff--note-command)
  (add-hook 'post-command-hook #'agent-q-diff--leave-if-decided))

(defun agent-q-diff--end-waiting (review)
  "Make REVIEW one for which nobody waits, and close it."
  (setq agent-q-diff--waiting (delq review agent-q-diff--waiting))
  (agent-q-diff--set-outcome review 'aborted)
  (agent-q-diff--close review)
  (if agent-q-diff--waiting
      ;; The outer review may have ended meanwhile.
      (when (agent-q-diff-review-outcome (car agent-q-diff--waiting))
        (agent-q-diff--wake))
    (define-key global-map [agent-q-diff-wake] nil)
    ;; Unbound, a wake-up that was not needed would be an undefined key.
    (setq unread-command-events (delq 'agent-q-diff-wake unread-command-events))
    (remove-hook 'pre-command-hook #'agent-q-diff--note-command)
    (remove-hook 'post-command-hook #'agent-q-diff--leave-if-decided)))

(defun agent-q-diff--wait (review)
  "Show REVIEW and wait until it has ended.  Then restore the windows."
  ;; Its keys would be looked up before those of the diff buffer.
  (when isearch-mode
    (isearch-done))
  (let ((layout (current-window-configuration))
        (inhibit-quit t)
        ;; The caller may be in `while-no-input'.
        (throw-on-input nil)
        ;; To open a minibuffer while another one is open below the review
        ;; would otherwise end the review, to be rid of the other one.
        (enable-recursive-minibuffers t))
    (agent-q-diff--begin-waiting review)
    (unwind-protect
        (save-current-buffer
          (pop-to-buffer (agent-q-diff-review-buffer review))
          (agent-q-diff--edit-recursively review)
          (while (not (agent-q-diff-review-outcome review))
            ;; When the keys of a macro run out, the user goes on.
            (let ((executing-kbd-macro (and noninteractive executing-kbd-macro)))
              (agent-q-diff--edit-recursively review))))
      (agent-q-diff--end-waiting review)
      (when (frame-live-p (window-configuration-frame layout))
        (set-window-configuration layout)))))

;;;; Result

(defun agent-q-diff--result (review)
  "Return the result of REVIEW, a plist; see `agent-q-diff-review-and-wait'."
  (pcase-let* ((`(,total ,applied ,rejected ,in-file)
                (agent-q-diff-engine-counts (agent-q-diff-review-engine review)))
               (buffer (agent-q-diff-review-buffer review))
               (decision (and (eq (agent-q-diff-review-outcome review) 'decided)
                              (buffer-live-p buffer)
                              (buffer-local-value 'agent-q-diff--decision buffer))))
    (list :decision decision
          :path (agent-q-diff-review-path review)
          :total total :applied applied :rejected rejected
          :pending (- total applied rejected) :in-file in-file
          :hunks (agent-q-diff--hunk-results review total))))

(defun agent-q-diff--hunk-results (review total)
  "Return a plist for each of the TOTAL hunks of REVIEW."
  (cl-loop for hunk below total
           for (mark is-in _) = (agent-q-diff-engine-state
                                 (agent-q-diff-review-engine review) hunk)
           collect (list :index hunk :state mark :in-file is-in
                         :reason (alist-get hunk (agent-q-diff-review-failures
                                                  review)))))

(defun agent-q-diff--answer (review)
  "Return the result of REVIEW, or signal why there is no decision."
  (pcase-exhaustive (agent-q-diff-review-outcome review)
    ('decided (agent-q-diff-review-result review))
    ('not-applied
     (signal 'agent-q-diff-not-applied
             (list (mapconcat (pcase-lambda (`(,hunk . ,reason))
                                (format "hunk %d: %s" (1+ hunk) reason))
                              (reverse (agent-q-diff-review-failures review))
                              "; "))))
    ('killed (signal 'agent-q-diff-cancelled '("its buffer was killed")))
    ('aborted (signal 'agent-q-diff-cancelled '("the user left it undecided")))
    ('no-user (signal 'agent-q-diff-no-user
                      '("the keys of this batch Emacs ran out")))))

;;;; Entry points

(defun agent-q-diff--check-arguments (original modified description)
  "Signal an error unless ORIGINAL, MODIFIED and DESCRIPTION are texts.
DESCRIPTION may be nil as well."
  (pcase-dolist (`(,name . ,value) `(("original" . ,original)
                                     ("modified" . ,modified)
                                     ("description" . ,(or description ""))))
    (unless (stringp value)
      (signal 'agent-q-diff-bad-arguments
              (list (format "%s must be a string, not %S" name
                            (type-of value)))))))

;;;###autoload
(cl-defun agent-q-diff-review-and-wait (path original modified description
                                             &key (mode #'agent-q-diff-mode) notes)
  "Let the user decide what becomes of a proposal, and wait for it.
The proposal is to change the file PATH, expanded against
`default-directory', from the text ORIGINAL to the text MODIFIED;
DESCRIPTION, a string or nil, says what for.  MODE is the major mode of
the diff buffer, NOTES a list of strings to show above the diff.

Return a plist once the user has decided:

:decision  \"accepted\" or \"rejected\"
:path      the absolute name of the file
:total     the number of hunks, and of them those marked
:applied   applied,
:rejected  rejected and
:pending   neither, and
:in-file   those whose change is in the file
:hunks     for each hunk a plist with its :index, its :state (`applied',
           `rejected' or nil), whether it is :in-file, and the :reason
           why it could not be applied, or nil

Signal an error under `agent-q-diff-error' if there is no decision: the
proposal could not be shown, what was accepted could not be applied, the
review was cancelled, or this is a batch Emacs with nobody to ask."
  (agent-q-diff--check-arguments original modified description)
  (unless (agent-q-diff--somebody-there-p)
    (signal 'agent-q-diff-no-user '("a batch Emacs has no user to decide")))
  (let ((review (agent-q-diff-review-open (agent-q-diff-target-name path)
                                          original modified)))
    (agent-q-diff--prepare-or-close review original modified
                                    (or description "") mode notes)
    (agent-q-diff--wait review)
    (agent-q-diff--answer review)))

(provide 'agent-q-diff)
;;; agent-q-diff.el ends here
