;;; agent-q-diff-api.el --- Functions with which programs begin and decide reviews  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How a review begins: a proposal, for one file or several, is shown in a
;; diff buffer, and the caller waits for the result or is called back with
;; it.  This file has the entry points for programs, and the functions with
;; which programs decide hunks.
;;
;; A caller that waits runs a loop around `recursive-edit', and is answered
;; on every exit from it.  The recursive edit is left only after a command,
;; and only at its own depth.  Code that ends a review elsewhere, for example
;; in a timer, sets the outcome and makes sure that a command ends soon.

;;; Code:

;; The first use of the package loads fifty files here.  Reading them produces
;; garbage for several collections, which take longer than the reading.  What is
;; required once more below is for the compiler.
(let ((gc-cons-threshold (max gc-cons-threshold (* 64 1024 1024))))
  (require 'agent-q-diff-lifecycle)
  (require 'agent-q-diff-mode)
  (require 'agent-q-diff-render)
  (require 'agent-q-diff-policy)
  (require 'agent-q-diff-writer))

(require 'diff-mode)
(require 'agent-q-diff-base)
(require 'agent-q-diff-message)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-result)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-grace)
(require 'agent-q-diff)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-change)
(require 'agent-q-diff-display)
(require 'agent-q-diff-mode)
(require 'agent-q-diff-render)
(require 'agent-q-diff-policy)
(require 'agent-q-diff-live)
(require 'agent-q-diff-input)
(require 'agent-q-diff-writer)

;;; Waiting in a recursive edit

;;;; Waiting for the user

(defvar agent-q-diff-wait--in-command nil
  "Non-nil while a command runs, so that its end will be noticed.")

(defvar agent-q-diff-wait--had-keys t
  "Non-nil if there was a user, or a key to read, when the wait began.")

(defun agent-q-diff-wait--note-command ()
  "Record that a command begins."
  (setq agent-q-diff-wait--in-command t))

(defun agent-q-diff-wait--leave-if-decided ()
  "Leave the recursive edit if its review has ended.
This runs after every command, and is the only place that does so.  Deeper,
for example in an open minibuffer, leaving would leave that instead, and a
timer must not leave at all."
  (setq agent-q-diff-wait--in-command nil)
  (let ((review (car agent-q-diff-reviews-waiting)))
    (when (and review (eq (recursion-depth) (agent-q-diff-session-depth review)))
      (unless (agent-q-diff-wait--keys-p)
        (if agent-q-diff-wait--had-keys
            (agent-q-diff-lifecycle-set-outcome review 'no-user)
          (agent-q-diff-lifecycle-set-outcome
           review 'error '(agent-q-diff-no-user "a batch Emacs has no user to decide"))))
      (when (agent-q-diff-session-outcome review)
        (exit-recursive-edit)))))

(defun agent-q-diff-wait--ended (review outcome)
  "Record that REVIEW ended with OUTCOME, and have its caller answered."
  (agent-q-diff-lifecycle-set-outcome review outcome)
  (let ((depth (agent-q-diff-session-depth review))
        (is-innermost (eq review (car agent-q-diff-reviews-waiting))))
    (when (and depth (>= (recursion-depth) depth))
      (agent-q-diff-wait--wake)
      (unless (and is-innermost (eq (recursion-depth) depth))
        (agent-q-diff-lifecycle-close review)
        (unless is-innermost
          (agent-q-diff-wait--put-away (agent-q-diff-session-buffer review)))
        (message "Ended; the caller is answered once newer reviews end")))))

(defun agent-q-diff-wait--put-away (buffer)
  "Remove BUFFER from all windows; its review ended before the innermost."
  (let ((was-selected (eq (window-buffer) buffer)))
    (replace-buffer-in-windows buffer)
    (when was-selected
      (pop-to-buffer (agent-q-diff-session-buffer (car agent-q-diff-reviews-waiting))))))

(defun agent-q-diff-wait--wake ()
  "Make a command end soon, and thereby run `post-command-hook'.
A recursive edit cannot be left from a timer or a process filter."
  (unless agent-q-diff-wait--in-command
    (setq unread-command-events
          (append unread-command-events (list 'agent-q-diff-wake)))))

(defun agent-q-diff-wait--keys-p ()
  "Return non-nil if there is a user, or a key that is not read yet.
A batch Emacs without such a key would read its standard input."
  (or (not noninteractive) executing-kbd-macro unread-command-events))

(defun agent-q-diff-wait--cancel-at-top-level ()
  "Cancel every review that a caller waits for, and that of the selected window.
The command `top-level' leaves all recursive edits."
  (dolist (review agent-q-diff-reviews-waiting)
    (agent-q-diff-lifecycle-set-outcome review 'aborted))
  (with-current-buffer (window-buffer)
    (agent-q-diff-finish-abort-at-top-level)))

(defun agent-q-diff-wait--edit-recursively (review)
  "Let the user work until the recursive edit of REVIEW is left."
  (let ((is-macro executing-kbd-macro)
        (is-top-level t)
        ;; Bound, because a throw past the end of a command leaves it set.
        (agent-q-diff-wait--in-command nil))
    (setf (agent-q-diff-session-depth review) (1+ (recursion-depth)))
    (set-buffer (agent-q-diff-session-buffer review))
    (unless (agent-q-diff-wait--keys-p)
      ;; This event takes the place of a key; the review ends after it.
      (agent-q-diff-wait--wake))
    (catch 'top-level
      (condition-case nil
          (progn
            ;; A C-g typed earlier was meant for something else.
            (setq quit-flag nil)
            (let ((inhibit-quit nil))
              (recursive-edit))
            (agent-q-diff-wait--came-back review is-macro))
        (quit (unless (or (eq last-input-event ?\C-g)
                          ;; With a minibuffer open below, ESC ESC ESC aborts.
                          (eq this-command 'keyboard-escape-quit))
                (agent-q-diff-lifecycle-set-outcome review 'aborted))))
      (setq is-top-level nil))
    (when is-top-level
      (agent-q-diff-wait--cancel-at-top-level))))

(defun agent-q-diff-wait--came-back (review is-macro)
  "Set the outcome of REVIEW after its recursive edit has returned.
IS-MACRO tells whether a keyboard macro was running when it began."
  (let ((buffer (agent-q-diff-session-buffer review)))
    (cond
     ((agent-q-diff-session-outcome review))
     ;; A program has made the decision by setting the variable.
     ((member (buffer-local-value 'agent-q-diff-buffer-decision buffer)
              '("accepted" "rejected"))
      (agent-q-diff-lifecycle-set-outcome review 'decided))
     ;; ESC ESC ESC leaves any recursive edit, but it is no decision.
     ((eq this-command 'keyboard-escape-quit))
     ;; The keys of a macro ran out.
     ((and is-macro (not (eq this-command 'exit-recursive-edit)))
      (when noninteractive
        (agent-q-diff-lifecycle-set-outcome review 'no-user)))
     (t (with-current-buffer buffer
          (agent-q-diff-finish))))))

(defun agent-q-diff-wait--begin-waiting (review)
  "Make REVIEW the innermost one that a caller waits for."
  (setf (agent-q-diff-session-end review) #'agent-q-diff-wait--ended)
  (push review agent-q-diff-reviews-waiting)
  (define-key global-map [agent-q-diff-wake] #'ignore)
  (add-hook 'pre-command-hook #'agent-q-diff-wait--note-command)
  (add-hook 'post-command-hook #'agent-q-diff-wait--leave-if-decided))

(defun agent-q-diff-wait--end-waiting (review)
  "Stop waiting for REVIEW, and close it."
  ;; An outer caller may wait for it as well.
  (setq agent-q-diff-reviews-waiting (cl-remove review agent-q-diff-reviews-waiting :count 1))
  (agent-q-diff-lifecycle-set-outcome review 'aborted)
  (agent-q-diff-lifecycle-close review)
  (if agent-q-diff-reviews-waiting
      ;; The outer review may have ended meanwhile.
      (when (agent-q-diff-session-outcome (car agent-q-diff-reviews-waiting))
        (agent-q-diff-wait--wake))
    (define-key global-map [agent-q-diff-wake] nil)
    ;; An unneeded wake-up event would now be an undefined key.
    (setq unread-command-events (delq 'agent-q-diff-wake unread-command-events))
    (remove-hook 'pre-command-hook #'agent-q-diff-wait--note-command)
    (remove-hook 'post-command-hook #'agent-q-diff-wait--leave-if-decided)))

(defun agent-q-diff-wait-for (review)
  "Show REVIEW and wait until it has ended.  Then restore the windows."
  ;; The keys of Isearch would take precedence over those of the diff
  ;; buffer.
  (when isearch-mode
    (isearch-done))
  (let ((layout (current-window-configuration))
        (outer-depth (agent-q-diff-session-depth review))
        (agent-q-diff-wait--had-keys (agent-q-diff-wait--keys-p))
        (inhibit-quit t)
        ;; The caller may be in `while-no-input'.
        (throw-on-input nil)
        ;; Reviews that others begin meanwhile are not the caller's.
        (agent-q-diff-call (agent-q-diff-call-make))
        ;; Otherwise, opening a minibuffer while another one is open below
        ;; the review would abort that one, and the review with it.
        (enable-recursive-minibuffers t))
    (agent-q-diff-wait--begin-waiting review)
    (unwind-protect
        (save-current-buffer
          (pop-to-buffer (agent-q-diff-session-buffer review))
          (agent-q-diff-grace-begin)
          (agent-q-diff-grace-note-selected)
          (agent-q-diff-reviews-introduce review)
          (agent-q-diff-wait--edit-recursively review)
          (while (not (agent-q-diff-session-outcome review))
            ;; When the keys of a macro run out, the user goes on.
            (let ((executing-kbd-macro (and noninteractive executing-kbd-macro)))
              (agent-q-diff-wait--edit-recursively review))))
      (agent-q-diff-wait--end-waiting review)
      (setf (agent-q-diff-session-depth review) outer-depth)
      (when (frame-live-p (window-configuration-frame layout))
        (set-window-configuration layout))
      ;; The key that ended this review, typed twice, must not decide another.
      (when agent-q-diff-reviews-open
        (agent-q-diff-grace-note-selected)
        (agent-q-diff-grace-note-return))
      (unless outer-depth
        (agent-q-diff-lifecycle-kill-further (agent-q-diff-session-buffer review))))))

;;;; The answer

(defvar agent-q-diff-wait-undecided nil
  "The result of the last review that ended undecided in a recursive edit, or nil.
The error that was signaled says only why, and how much is in the file.")

(defun agent-q-diff-wait--answer (review)
  "Return the result of REVIEW, or signal why there is no decision."
  (pcase (agent-q-diff-result-why review)
    ('nil (agent-q-diff-session-result review))
    (`(,symbol . ,_)
     (let ((result (agent-q-diff-session-result review)))
       (unless (eq 'error (plist-get result :status))
         (setq agent-q-diff-wait-undecided result))
       (signal symbol (list (agent-q-diff-message-of-no-decision result)))))))

;; Messages name commands, whichever file the user has required.

;;;; Entry points

(defun agent-q-diff-api--original (path original)
  "Return ORIGINAL, or if it is nil, the text that the file PATH has on disk."
  (or original
      (agent-q-diff-live-saved-text (agent-q-diff-visit-name path))
      ""))

(defun agent-q-diff-api--check-arguments (original modified description)
  "Signal an error unless ORIGINAL, MODIFIED and DESCRIPTION are texts.
DESCRIPTION may be nil as well."
  (pcase-dolist (`(,name . ,value) `(("original" . ,original)
                                     ("modified" . ,modified)
                                     ("description" . ,(or description ""))))
    (unless (stringp value)
      (agent-q-diff-base-refuse "%s must be a string, not %S" name (type-of value)))))

;;;###autoload
(cl-defun agent-q-diff-review-and-wait (path original modified description
                                             &key (mode #'agent-q-diff-mode) notes
                                             annotations check)
  "Let the user decide about a proposal, and wait for the decision.
The proposal is to change the file PATH, expanded against
`default-directory', from the text ORIGINAL to the text MODIFIED.  If ORIGINAL
is nil, it is what the file has on disk, nothing if it is new.
DESCRIPTION, a string or nil, says why.  MODE is the major mode of the diff
buffer, NOTES a list of strings to show above the diff.  ANNOTATIONS is a
list of (LINE . TEXT), each a string to show below a line of the diff: LINE
is a number, from 0, in MODIFIED, or nil for the whole file.  CHECK is a
function, or nil, that is called before each edit, and again right before
the file is replaced; it signals an error if the file must not be changed.

Return a plist once the user has decided:

:decision  \"accepted\" or \"rejected\"
:path      the absolute name of the file
:total     the number of hunks
:applied   the number of hunks marked applied
:rejected  the number of hunks marked rejected
:pending   the number of hunks with neither mark
:in-file   the number of hunks whose change is in the file
:altered   non-nil if saving changed more than the hunks, which hooks can do
:hunks     a list with a plist for each hunk:

  :index    the index of the hunk, from 0
  :state    `applied', `rejected' or nil
  :in-file  non-nil if its change is in the file
  :hooked   t if a hook changed its lines on saving, `out' if a hook took it
            out of the file again, or nil
  :lost     non-nil if others have since changed its lines there
  :reason   why it could not be applied, a string, or nil
  :edited   a diff of its lines if the user edited or merged it, or nil
  :part     a diff of its lines if the user has split any hunk, which
            changes the numbers of the proposal's hunks, or nil

Signal an error under `agent-q-diff-error' if there is no decision: the
proposal could not be shown, what was accepted could not be applied, the
review was cancelled, or this is a batch Emacs with nobody to ask."
  (agent-q-diff-api--check-arguments (or original "") modified description)
  (agent-q-diff-api--start-and-wait
   path original modified description mode notes
   (lambda ()
     (agent-q-diff-input-check-annotations annotations path modified)
     (agent-q-diff-input-annotated
      (agent-q-diff-file-change-open (agent-q-diff-visit-name path)
                                     (agent-q-diff-api--original path original)
                                     modified check)
      annotations))))

;;;###autoload
(cl-defun agent-q-diff-review-patch-and-wait (path diff description
                                                   &key (mode #'agent-q-diff-mode)
                                                   notes check)
  "Let the user decide about DIFF, and wait for the decision.
DIFF is a unified diff of the file PATH, as for `agent-q-diff-review-patch';
the other arguments and the value are those of
`agent-q-diff-review-and-wait'."
  (agent-q-diff-api--check-arguments diff diff description)
  (agent-q-diff-api--start-and-wait
   path nil nil description mode (append notes (agent-q-diff-api--names-note path diff))
   (lambda ()
     (agent-q-diff-file-change-open-patch (agent-q-diff-visit-name path) diff check))))

(defun agent-q-diff-api--start-and-wait (path original modified description mode
                                              notes open)
  "Call OPEN for what to decide, and wait for the user's decision on it.
OPEN returns a change, or a file change to be decided alone.  PATH,
ORIGINAL, MODIFIED, DESCRIPTION, MODE, NOTES and value are as for
`agent-q-diff-review-and-wait'."
  (agent-q-diff-wait
   (agent-q-diff-base-keeping-selection
     (let ((review (agent-q-diff-api--logging-errors
                    path
                    (lambda ()
                      (agent-q-diff-api--prepare nil original modified description mode
                                                 notes open)))))
       (agent-q-diff-api--begin review)
       (unless (agent-q-diff-session-outcome review)
         (agent-q-diff-policy-apply review))
       review))))

(defun agent-q-diff-api--begin (review)
  "Record that REVIEW is open, and say so to those who want to know it."
  (agent-q-diff-lifecycle-begin review)
  (setf (agent-q-diff-session-end review) #'agent-q-diff-lifecycle-end-unwaited)
  (agent-q-diff-lifecycle-run 'agent-q-diff-review-begun-functions review))

(defun agent-q-diff-api--prepare-or-close (review &rest arguments)
  "Prepare a diff buffer for REVIEW, and free REVIEW if there is an error.
REVIEW and ARGUMENTS are as for `agent-q-diff-render-prepare'."
  (condition-case err
      (apply #'agent-q-diff-render-prepare review arguments)
    ((error quit)
     (agent-q-diff-change-close (agent-q-diff-session-change review))
     (signal (car err) (cdr err)))))

(defun agent-q-diff-api--prepare (agent original modified description mode notes open)
  "Call OPEN for what to decide, and return its review, with a diff buffer.
AGENT, ORIGINAL, MODIFIED, DESCRIPTION, MODE and NOTES are as for
`agent-q-diff-api-start'."
  (let ((review (agent-q-diff-api--review-of (funcall open) agent)))
    (agent-q-diff-api--prepare-or-close
     review original modified (or description "") mode
     (append notes (agent-q-diff-writer-note (agent-q-diff-session-change review)
                                             (agent-q-diff-session-agent-name review))))
    review))

(defconst agent-q-diff-api--agent-length 40
  "Number of characters of an agent's name that are shown.")

(defun agent-q-diff-api--review-of (change agent)
  "Return a new review of CHANGE, or of a file change alone, proposed by AGENT.
AGENT is the name of an agent, or nil for that of the caller."
  (let ((is-one (agent-q-diff-file-change-p change))
        (agent (or agent (agent-q-diff-call-agent agent-q-diff-call))))
    (agent-q-diff-session-create
     :change (if is-one (agent-q-diff-change-of change) change)
     :root (and (not is-one) (expand-file-name default-directory))
     ;; The name is only displayed.
     :agent (and agent (agent-q-diff-visible agent agent-q-diff-api--agent-length)))))

(defun agent-q-diff-api--logging-errors (path function)
  "Call FUNCTION, which begins a review of the file PATH, and return its value.
If it signals an error, record that in the log."
  (condition-case err
      (funcall function)
    (error
     (agent-q-diff-api--say-if-broken err)
     (agent-q-diff-result-record (agent-q-diff-api--unbegun path nil err))
     (signal (car err) (cdr err)))))

(defun agent-q-diff-wait (review)
  "Show REVIEW, wait in a recursive edit until it has ended, and return its result.
Signal an error under `agent-q-diff-error' if there is no decision."
  (unless (agent-q-diff-session-outcome review)
    (agent-q-diff-wait-for review))
  (agent-q-diff-wait--answer review))

;;;###autoload
(cl-defun agent-q-diff-review (path original modified description callback
                                    &key (mode #'agent-q-diff-mode) notes annotations
                                    agent id writer detached check)
  "Ask the user to decide about a proposal, and return the review at once.
PATH, ORIGINAL, MODIFIED, DESCRIPTION, MODE, NOTES, ANNOTATIONS and CHECK
are as for `agent-q-diff-review-and-wait'.  CALLBACK is a function, or nil,
that is called once with the result when the review has ended, however it
ended.  If the review cannot begin, CALLBACK is called before this function
returns.  AGENT is the name of the agent that proposes, a string or nil.
ID, any value, is what `agent-q-diff-find-review' and `agent-q-diff-cancel'
find the review by while it is open.

By default, Emacs writes each hunk when it is accepted.  If the caller writes,
WRITER is `caller' if it can write any text, or `caller-if-all' if it can write
only all of the proposal.  Then the user decides first, and the result has
:writer, who writes what was accepted:

`caller'  the caller, the :content; nothing is written yet
`emacs'   Emacs, which has done so: because only a part was accepted, which
          the caller cannot write, or because that would have destroyed
          something: the file has unsaved edits, or is not what the proposal
          was made for; the caller must not write
nil       nobody, since nothing was accepted

The :message is true whoever writes; `agent-q-diff-note-written' returns one
that is exact, once the caller has.

If DETACHED is non-nil, no file is read or written: the hunks go into the
text ORIGINAL, and :content is the resulting text.

The result is that of `agent-q-diff-review-and-wait' with these properties
in addition:

:status       a symbol: `accepted' (all hunks are in the file), `partial'
              (some are), `rejected', `cancelled', `stale' (what was
              accepted could not be applied), or `error' (there was nothing
              to decide)
:reason       why it was not decided, a string, or nil
:error        the symbol of the error that
              `agent-q-diff-review-and-wait' would signal, or nil
:message      the message for the agent
:comment      the user's comment on the whole proposal, or nil
:content      the text of the target
:saved        non-nil if the file has this text
:untouched    non-nil if nobody has written the file since the review began
:overwritten  non-nil if others have changed or deleted the file after hunks
              were applied: these are in the buffer, and none in the file
:detached     DETACHED

Each hunk has these properties in addition:

:header   its `@@' line
:comment  the user's comment on it, or nil
:was-in   non-nil if its change is in the file, but not by this review
:offset   how many lines below the expected place it is, or nil
:fuzz     the number of outer context lines on a side that differ at its
          place
:places   a list of the lines, from 0, at which it may begin, if it is
          ambiguous and nobody has chosen one
:now      for the first 50 hunks, (LINE . TEXT): the line, from 0, at which
          the hunk with its context begins, and the target's text there;
          nil if its place is not known"
  (agent-q-diff-api--check-arguments (if detached original (or original ""))
                                     modified description)
  (agent-q-diff-api-start
   path callback agent original modified description mode notes
   (lambda ()
     (agent-q-diff-input-check-annotations annotations path modified)
     (if writer
         (agent-q-diff-writer-open
          ;; As content, it can be new.
          (list (list :path path :original original (if original :modified :content) modified
                      :check check :annotations annotations))
          writer detached)
       (agent-q-diff-input-annotated
        (agent-q-diff-file-change-open (if detached
                                           (agent-q-diff-visit-detached-name path)
                                         (agent-q-diff-visit-name path))
                                       (agent-q-diff-api--original path original)
                                       modified check detached)
        annotations)))
   id))

;;;###autoload
(cl-defun agent-q-diff-review-patch (path diff description callback
                                          &key (mode #'agent-q-diff-mode) notes
                                          agent id check)
  "Ask the user to decide about DIFF, and return the review at once.
DIFF is a unified diff of the file PATH without the file's original text: a
hunk is applied where its lines are found, if that place is certain.  The
other arguments and the value are those of `agent-q-diff-review'."
  (agent-q-diff-api--check-arguments diff diff description)
  (agent-q-diff-api-start
   path callback agent nil nil description mode
   (append notes (agent-q-diff-api--names-note path diff))
   (lambda ()
     (agent-q-diff-file-change-open-patch (agent-q-diff-visit-name path) diff check))
   id))

(defun agent-q-diff-api-start (path callback agent original modified description
                                     mode notes open &optional id)
  "Call OPEN for what to decide, show its review, and return that at once.
PATH, CALLBACK, AGENT, ORIGINAL, MODIFIED, DESCRIPTION, MODE, NOTES and ID
are as for `agent-q-diff-review'."
  (condition-case err
      ;; The hooks of its mode run as well.
      (agent-q-diff-base-keeping-selection
        (agent-q-diff-api--check-id id)
        (let ((review (agent-q-diff-base-collecting-once
                        (agent-q-diff-api--prepare agent original modified description mode
                                                   notes open))))
          (setf (agent-q-diff-session-callback review) callback)
          (when id
            (setf (agent-q-diff-session-id review) id))
          (agent-q-diff-api--begin review)
          ;; What was written already may have notes of the user's first.
          (unless (or (agent-q-diff-session-outcome review)
                      (agent-q-diff-change-written (agent-q-diff-session-change review)))
            (agent-q-diff-reviewed-look-up (agent-q-diff-session-change review))
            (agent-q-diff-policy-apply review))
          (unless (agent-q-diff-session-outcome review)
            (agent-q-diff-api--announce review))
          review))
    (error
     (agent-q-diff-api--end-unbegun path callback err))))

(defun agent-q-diff-api--check-id (id)
  "Signal an error if there is an open review with ID already."
  (when (agent-q-diff-find-review id)
    (agent-q-diff-base-refuse "a review with the id %S is open already; cancel that first" id)))

(defun agent-q-diff-api--end-unbegun (path callback err)
  "Return a review of the file PATH that ended with ERR before it began.
CALLBACK is called with its result."
  (let ((review (agent-q-diff-api--unbegun path callback err)))
    (agent-q-diff-api--say-if-broken err)
    (agent-q-diff-result-record review)
    (agent-q-diff-lifecycle-tell review)
    review))

(defun agent-q-diff-api--say-if-broken (err)
  "Tell the user about ERR if no review can begin until the user does something.
Other errors are for the agent to correct."
  (when (eq 'agent-q-diff-no-module (car err))
    (message "An agent's proposal cannot be reviewed: %s" (agent-q-diff-error-text err))))

(defun agent-q-diff-api--unbegun (path callback err)
  "Return a review of the file PATH that could not begin because of ERR.
CALLBACK is its callback."
  (let ((review (agent-q-diff-session-of
                 (agent-q-diff-file-change-unopened path)
                 :callback callback :agent (agent-q-diff-call-agent agent-q-diff-call)
                 :outcome 'error :error (list (car err) (agent-q-diff-error-text err)))))
    (setf (agent-q-diff-session-result review) (agent-q-diff-result-of review))
    review))

;;;; Showing a review that nobody waits for

(defun agent-q-diff-api--announce (review)
  "Show REVIEW by the rule of `agent-q-diff-display', and announce it.
Even if it cannot be shown, it is open, and its caller is answered when it
ends."
  (let ((buffer (agent-q-diff-session-buffer review)))
    (condition-case err
        (pcase-exhaustive agent-q-diff-display
          ('at-once (agent-q-diff-api--display buffer))
          ('when-idle (run-with-idle-timer 1 nil #'agent-q-diff-api--display buffer))
          ('announce nil))
      (error (message "The review cannot be shown: %s"
                      (agent-q-diff-error-text err))))
    (message "%s" (agent-q-diff-api--announcement review))))

(defun agent-q-diff-api--announcement (review)
  "Return one line that announces REVIEW, with the command that leads to it.
The end of the description is cut off if there is no room, or all of it is
left out, and then the beginning of the directory is."
  (let* ((how "; M-x agent-q-diff-list")
         (room (- (agent-q-diff-base-echo-width) (string-width how)))
         (written (agent-q-diff-change-written (agent-q-diff-session-change review)))
         (what (cond
                ((and written (agent-q-diff-written-title written)) "Review of ")
                (written "Review of what was written into ")
                ((agent-q-diff-call-is-by-user (agent-q-diff-session-call review))
                 "Review of a diff of ")
                (t (format "%s proposes to change "
                           (or (agent-q-diff-session-agent-name review) "An agent")))))
         (news (concat what (agent-q-diff-session-long-name
                             review (- room (string-width what)))))
         (said (agent-q-diff-session-headline review))
         (room-for-said (- room (string-width news) (length " ()"))))
    (concat news
            (if (or (string-empty-p said) (< room-for-said 8))
                ""
              (format " (%s)" (agent-q-diff-visible-beginning said room-for-said)))
            how)))

(defun agent-q-diff-api--windows-under-review ()
  "Return the windows that show files whose reviews are also visible.
A new review must not use them while these reviews are being decided."
  (let (windows)
    (dolist (review (agent-q-diff-open-reviews) windows)
      (when (get-buffer-window (agent-q-diff-session-buffer review) t)
        (dolist (file (agent-q-diff-change-files (agent-q-diff-session-change review)))
          (let ((target (agent-q-diff-file-change-buffer file)))
            (when (buffer-live-p target)
              (setq windows (append (get-buffer-window-list target 'never t)
                                    windows)))))))))

(defvar agent-q-diff-api--not-shown nil
  "Diff buffers for which there was no window when their reviews began.")

(defun agent-q-diff-api--display (buffer)
  "Show the diff buffer BUFFER in another window, if its review is open.
If all others show files under review, show it when a review has ended."
  (when (and (buffer-live-p buffer)
             (agent-q-diff-buffer-awaited-p buffer))
    (unless (or (get-buffer-window buffer t)
                (agent-q-diff-base-show buffer (agent-q-diff-api--windows-under-review)))
      (cl-pushnew buffer agent-q-diff-api--not-shown)
      (add-hook 'agent-q-diff-session-changed-hook #'agent-q-diff-api--show-later))
    (when (active-minibuffer-window)
      (agent-q-diff-api--display-after-minibuffer buffer))
    ;; A rule of the user's may have killed it.
    (agent-q-diff-base-with-live buffer
      (agent-q-diff-grace-begin))))

(defun agent-q-diff-api--show-later ()
  "Show soon what was not shown, unless a review is still visible."
  (run-with-timer 0 nil #'agent-q-diff-api--show-rest))

(defun agent-q-diff-api--show-rest ()
  "Show the reviews for which there was no window, if there is one now."
  (unless (seq-some (lambda (review)
                      (get-buffer-window (agent-q-diff-session-buffer review) t))
                    (agent-q-diff-open-reviews))
    (let ((buffers (reverse agent-q-diff-api--not-shown)))
      (setq agent-q-diff-api--not-shown nil)
      (remove-hook 'agent-q-diff-session-changed-hook #'agent-q-diff-api--show-later)
      (mapc #'agent-q-diff-api--display buffers))))

(defun agent-q-diff-api--display-after-minibuffer (buffer)
  "Show BUFFER again after the minibuffer, when windows are as before it."
  (letrec ((show (lambda ()
                   (remove-hook 'minibuffer-exit-hook show)
                   (run-with-timer 0 nil #'agent-q-diff-api--display buffer))))
    (add-hook 'minibuffer-exit-hook show)))

;;;; Notes on a diff

(defun agent-q-diff-api--names-note (path diff)
  "Return a list with a warning if DIFF names another file than PATH.
A diff often names its file relative to another directory, so only the last
part of the name counts.  Errors in DIFF itself are reported elsewhere."
  (let ((names (pcase (ignore-error agent-q-diff-error
                        (agent-q-diff-engine-files diff))
                 (`((,old ,new ,_)) (remove "/dev/null" (delq nil (list old new)))))))
    (when (and names
               (not (seq-some (lambda (name)
                                (equal (file-name-nondirectory name)
                                       (file-name-nondirectory path)))
                              names)))
      (list (format "The diff names another file: %s" (car (last names)))))))

;;;; Deciding by program

(defun agent-q-diff-command (review command hunk &optional place)
  "Carry out COMMAND on HUNK of REVIEW, as its key would, and show the effect.
COMMAND is `accept', `reject', `toggle' or `unapply'.  HUNK is an index,
from 0.  PLACE is for an ambiguous hunk: the line of the file, from 0,
where its lines begin.  It is one of the :places in a result, or a first
element of `agent-q-diff-module-candidates'.

Return what happened: `edited', `marked', `unchanged', `already-in',
`stays-in' or `already-out'.  If it cannot be done, signal an error that
says why: `agent-q-diff-ambiguous' if PLACE is needed,
`agent-q-diff-not-found' if HUNK is not at PLACE."
  (with-current-buffer (agent-q-diff-api--buffer-of review)
    (let ((note (agent-q-diff-decide-hunk (agent-q-diff-signs-follow)
                                          command hunk place)))
      (agent-q-diff-signs-show-committed)
      note)))

(defun agent-q-diff-accept (review hunk &optional place)
  "Accept HUNK of REVIEW, at PLACE if it is ambiguous.
Arguments, errors and value are as for `agent-q-diff-command'."
  (agent-q-diff-command review 'accept hunk place))

(defun agent-q-diff-reject (review hunk)
  "Reject HUNK of REVIEW; see `agent-q-diff-command'."
  (agent-q-diff-command review 'reject hunk))

(defun agent-q-diff-unapply (review hunk)
  "Take HUNK of REVIEW out of the target; see `agent-q-diff-command'."
  (agent-q-diff-command review 'unapply hunk))

(defun agent-q-diff-end (review)
  "Finish REVIEW, as by key: decide by the mark of each hunk."
  (with-current-buffer (agent-q-diff-api--buffer-of review)
    (setf (agent-q-diff-session-is-by-program review) t)
    (unwind-protect
        (agent-q-diff-finish)
      ;; It may not have ended, for example because of an error.
      (unless (agent-q-diff-session-outcome review)
        (setf (agent-q-diff-session-is-by-program review) nil)))))

(defun agent-q-diff-api--buffer-of (review)
  "Return the diff buffer of REVIEW, or signal that it has ended."
  (let ((buffer (agent-q-diff-session-buffer review)))
    (if (and (buffer-live-p buffer) (not (agent-q-diff-session-outcome review)))
        buffer
      (signal 'agent-q-diff-ended '("the review has ended")))))

;;; Several files, decided in one review

;;;###autoload
(cl-defun agent-q-diff-review-change (files description callback
                                            &key (mode #'agent-q-diff-mode) notes agent
                                            id writer detached)
  "Ask the user to decide about FILES, and return the review at once.
All of them are decided in one diff buffer, and CALLBACK is called once.

FILES is a list with a property list for each file:

:path      its name, expanded against `default-directory'
:original  its text before; give both, or one of the next five
:modified  its text after
:content   its whole text after, whether it exists or not
:update    a function that takes its text and returns that after
:edits     a list of edits of parts of it, each a property list: :old is
           replaced by :new, which must be in it once, or with :all, more
           often.  Of several, :line says which is meant: where it begins in
           the file as it is, from 0.  Each edit sees what those before it did
:diff      a unified diff of it, whose hunks are placed where their lines are
:delete    non-nil if it is to be deleted
:to        its new name
:mode      its new mode, a number such as #o755; :old-mode, the one before
:link      its new target, if it is to be a symbolic link; if it is a file,
           give :original as well
:old-link  its present target, if it is a symbolic link; if it is to be a
           file, give its :content
:check     a function that is called before the file is changed, and signals
           an error if it must not be
:annotations
           a list of (LINE . TEXT), each a string to show below a line of
           the diff; LINE is a number, from 0, in its text after, or nil for
           the whole file

If DETACHED is non-nil, no file is read or written: the hunks go into the
texts, which the result has as :content.  Then give :content only for a new
file, :original also for one that is to be deleted, and besides these only
:path, :modified, :delete, :to, :check and :annotations.

DESCRIPTION, CALLBACK, MODE, NOTES, AGENT, ID and WRITER are as for
`agent-q-diff-review'; what is not a text, or given as :diff, Emacs writes in
any case.  If only the lines of one file would change, the
result is as for that function.  Otherwise it differs in three ways: :path is
the directory to which the names are shown relative, :saved tells whether all
files have what was accepted, and instead of :altered, :content, :untouched
and :overwritten there is :files, a list with a property list for each file:

:path        its absolute name now
:old-path    its name before, or nil if it is new
:new-path    its name after, or nil if it is to be deleted
:kind        \"modified\", \"new file\", \"deleted\", \"renamed\", \"mode\",
             \"link\", \"new link\" or \"replaced\"
:total       the number of its hunks; with :applied, :rejected, :pending and
             :in-file
:content, :saved, :altered, :overwritten
             as for `agent-q-diff-review', if lines of it would change
:hunks       its elements of :hunks

Any other change to a file, for example its deletion, is a hunk as well.  Its
:operation is `create', `delete', `rename', `mode', `link', or `kind' if a file
becomes a link or a link a file.  Its :header describes it in words, and its
:fate says what became of it.  A new file with lines is created when one of them
is accepted; then :fate is a property of the file."
  (agent-q-diff-api-start
   default-directory callback agent nil nil description mode notes
   (lambda ()
     (if writer
         (agent-q-diff-writer-open files writer detached)
       (agent-q-diff-input-change files detached)))
   id))

;;;###autoload
(cl-defun agent-q-diff-review-change-and-wait (files description
                                                     &key (mode #'agent-q-diff-mode) notes)
  "Let the user decide about FILES, and wait for the decision.
FILES, DESCRIPTION, MODE, NOTES and the value are as for
`agent-q-diff-review-change'.  Signal an error under
`agent-q-diff-error' if there is no decision."
  (agent-q-diff-api--start-and-wait
   default-directory nil nil description mode notes
   (lambda ()
     (agent-q-diff-input-change files))))

;;;; What was decided before

(defun agent-q-diff-api-make (proposals &optional description agent)
  "Have Emacs make PROPOSALS, all of them or none, and return the result.
They are as for `agent-q-diff-review-change', and were decided.  DESCRIPTION and
AGENT are those of the review that did so; this one is not shown or announced."
  (let* ((agent-q-diff-display 'announce)
         (agent-q-diff-policy-rules nil)
         (agent-q-diff-review-begun-functions nil)
         (agent-q-diff-review-ended-functions nil)
         (inhibit-message t)
         (made nil)
         (review (agent-q-diff-review-change proposals (or description "")
                                             (lambda (result) (setq made result))
                                             :agent agent)))
    (unless (agent-q-diff-session-outcome review)
      (setf (agent-q-diff-session-is-by-program review) t)
      (unwind-protect
          (with-current-buffer (agent-q-diff-session-buffer review)
            (agent-q-diff-accept-all)
            (unless made
              (agent-q-diff-unapply-all)))
        (unless made
          (agent-q-diff-lifecycle-end-by-program review 'not-applied))))
    made))

(defun agent-q-diff-api--settle (review)
  "Say who writes what was decided in REVIEW, and have it written if that is Emacs."
  (agent-q-diff-writer-settle
   review
   (lambda (proposals)
     ;; The log has it once, with this review.
     (let ((agent-q-diff-log-file nil))
       (agent-q-diff-api-make proposals (agent-q-diff-session-description review)
                              (agent-q-diff-session-agent review))))))

(add-hook 'agent-q-diff-lifecycle-ending-functions #'agent-q-diff-api--settle)

;;;; Reviewing a diff

;;;###autoload
(cl-defun agent-q-diff-review-diff (diff &optional directory callback choose
                                         &key agent id (description "A diff") notes)
  "Review DIFF, a unified diff of one or more files, and return the review.
A patch in the format of Codex's `apply_patch' will do as well; there may be
prose around it.  Interactively, DIFF is the text of the region if it is
active, else of the buffer; with a prefix argument, it is read from a file.

File names are relative to DIRECTORY or `default-directory', or to the root
of version control around it, with any prefix that git or another program
puts before them; the files that exist decide.  If several fit, CHOOSE, a
function, is called with a prompt and their names, and returns one; if it is
nil, signal an error.  Interactively, you are asked, also for DIRECTORY if
no file fits.  CALLBACK is as for `agent-q-diff-review-change'.

Unless AGENT is given, the diff is the user's, and its review is selected.  If
AGENT, a string, proposes it, the review is shown and announced as any other of
an agent's, and if it cannot begin, CALLBACK is called and nothing signaled.
ID, DESCRIPTION and NOTES are as for `agent-q-diff-review-change'."
  (interactive
   (let ((diff (agent-q-diff-several--read-diff)))
     (list diff (agent-q-diff-several--read-directory diff) nil
           #'agent-q-diff-several--read-name)))
  (let* ((agent-q-diff-call
          (agent-q-diff-call-with 'is-by-user
                                  (not (or agent
                                           (agent-q-diff-call-agent agent-q-diff-call)
                                           (agent-q-diff-call-caller agent-q-diff-call)))))
         (default-directory (file-name-as-directory
                             (expand-file-name (or directory default-directory))))
         (review (condition-case err
                     (agent-q-diff-several--review
                      (agent-q-diff-input-of-diff diff nil choose) description callback
                      :notes notes :agent agent :id id)
                   (agent-q-diff-error
                    (if agent
                        (agent-q-diff-api--end-unbegun default-directory callback err)
                      (signal (car err) (cdr err)))))))
    (cond
     (agent)
     ((agent-q-diff-session-outcome review)
      (message "%s: %s" (agent-q-diff-session-name review)
               (agent-q-diff-visible
                (plist-get (agent-q-diff-session-result review) :reason))))
     (t (pop-to-buffer (agent-q-diff-session-buffer review))))
    review))

(cl-defun agent-q-diff-several--review (proposals description callback &key notes agent id)
  "Begin and return the review of PROPOSALS, those of a diff.
DESCRIPTION, CALLBACK, NOTES, AGENT and ID are as for
`agent-q-diff-review-diff'."
  (let ((only (agent-q-diff-input-only-text proposals))
        (notes (append notes (agent-q-diff-several--outside-notes proposals))))
    (if only
        (agent-q-diff-review-patch (plist-get only :path) (plist-get only :diff)
                                   description callback :notes notes :agent agent :id id)
      (agent-q-diff-review-change proposals description callback
                                  :notes notes :agent agent :id id))))

(defun agent-q-diff-several--read-directory (diff)
  "Return the directory that the names in DIFF are relative to.
It is `default-directory' if a file that DIFF would change is there;
otherwise the user is asked, with the nearest directory above as default."
  (let ((directory default-directory))
    (cl-flet ((fits-p (directory)
                (let ((default-directory (file-name-as-directory directory)))
                  (agent-q-diff-input-fits-p diff))))
      (while (not (fits-p directory))
        (setq directory
              (read-directory-name "No file of the diff is here; its names are relative to: "
                                   (or (locate-dominating-file directory #'fits-p) directory)
                                   nil t)))
      directory)))

(defun agent-q-diff-several--read-name (prompt names)
  "Return one of NAMES, which the user chooses with completion, after PROMPT."
  (expand-file-name
   (completing-read prompt (mapcar #'abbreviate-file-name names) nil t)))

(defun agent-q-diff-several--read-diff ()
  "Return the text of the region, of the buffer, or with a prefix of a file."
  (cond
   (current-prefix-arg
    (let ((file (read-file-name "Review diff in file: " nil nil t)))
      (agent-q-diff-file-check-regular file)
      (with-temp-buffer
        (insert-file-contents file)
        (buffer-string))))
   ((use-region-p)
    (buffer-substring-no-properties (region-beginning) (region-end)))
   (t (agent-q-diff-base-widened
        (buffer-substring-no-properties (point-min) (point-max))))))

(defun agent-q-diff-several--outside-notes (proposals)
  "Return warnings about files of PROPOSALS outside `default-directory'."
  (mapcan (lambda (proposal)
            (cl-loop for key in '(:path :to)
                     for name = (plist-get proposal key)
                     when (and name
                               (not (file-remote-p name))
                               (not (file-in-directory-p (expand-file-name name)
                                                         default-directory)))
                     collect (format "%s is OUTSIDE %s" name
                                     (abbreviate-file-name default-directory))))
          proposals))

(provide 'agent-q-diff-api)
;;; agent-q-diff-api.el ends here
