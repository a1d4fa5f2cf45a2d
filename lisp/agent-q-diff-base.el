;;; agent-q-diff-base.el --- Options, faces and errors of agent-q-diff; agents' strings made safe to show  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The options, faces and errors, and a few helpers, that all other files of
;; the package use, among them those that show buffers for an agent.  It
;; requires none of them, but the libraries of Emacs that most need.
;;
;; Names of agents and files, reasons and headings are shown in the echo
;; area, in prompts, mode lines and lists.  A newline, an escape sequence or
;; a control character for writing direction can make the rest of such a
;; line read differently.  `agent-q-diff-visible' makes any string safe to
;; show in one line; every string of an agent's that is shown must pass it.
;;
;; The engine has the full table of misleading characters, including letters
;; that look like others.  Names are also shown when the engine is not
;; loaded, so the characters that mislead in any context are also listed
;; here.  A test compares the two tables.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)

;;;; Options

(defgroup agent-q-diff nil
  "Review what an AI agent wants to do to a file, hunk by hunk."
  :group 'tools
  :prefix "agent-q-diff-")

(defgroup agent-q-diff-review nil
  "Deciding hunks, saving, and finishing."
  :group 'agent-q-diff)

(defgroup agent-q-diff-display nil
  "What a review shows, and when."
  :group 'agent-q-diff)

(defgroup agent-q-diff-agents nil
  "What agents may ask for, and what they are told."
  :group 'agent-q-diff)

(defgroup agent-q-diff-log nil
  "The log of reviews and tool calls."
  :group 'agent-q-diff)

(defcustom agent-q-diff-context-length 3
  "Number of unchanged lines that a hunk shows around its changes."
  :group 'agent-q-diff-review
  :type 'natnum)

(defcustom agent-q-diff-budget nil
  "About how many steps the comparison of two texts may take.
If they do not suffice, hunks may be larger than necessary, but they are
correct, and the diff buffer says so.  Merging a hunk has the same limit
and says so as well.  A step takes a few nanoseconds.  If nil, comparing
any two texts of 10 MB takes less than a second."
  :group 'agent-q-diff-review
  :type '(choice (const :tag "Less than a second" nil) natnum))

(defcustom agent-q-diff-save 'if-clean
  "Whether an accepted hunk is saved to the target's file at once.
The value is one of these symbols:

`if-clean'  Save unless the user has unsaved edits in the target: a
            half-typed word must never reach the file.
`always'    Save after every command that changed the target, the
            user's own unsaved edits included.
`never'     Leave saving to the user.

If the target has unsaved edits, the diff buffer says before the first key
whether saving will include them.  If a change is only in the buffer, the
user and the agent are told so."
  :group 'agent-q-diff-review
  :type '(choice (const :tag "Unless there are unsaved edits" if-clean)
                 (const :tag "Always" always)
                 (const :tag "Never" never)))

(defcustom agent-q-diff-create-directories t
  "Whether accepting a hunk of a new file creates its missing directories.
If nil, such a hunk does not apply.  If the file is empty when the review
ends, it is deleted, and they are removed again."
  :group 'agent-q-diff-review
  :type 'boolean)

(defcustom agent-q-diff-toggle-unapplies nil
  "Whether SPC on an applied hunk takes its change out of the target.
If nil, SPC returns the hunk's mark to pending and leaves the target
alone; \\<agent-q-diff-mode-map>\\[agent-q-diff-unapply-hunk] takes the change out."
  :group 'agent-q-diff-review
  :type 'boolean)

(defcustom agent-q-diff-confirm-finish t
  "Whether finishing a review with pending hunks asks first.
It never asks when a program finishes the review."
  :group 'agent-q-diff-review
  :type 'boolean)

(defcustom agent-q-diff-display 'at-once
  "How to show a review that nobody waits for in a recursive edit.
It never takes the selected window or your keystrokes.

`at-once'    In another window, at once.
`when-idle'  In another window, once Emacs has been idle for a while.
`announce'   In the echo area and the mode line only."
  :group 'agent-q-diff-display
  :type '(choice (const :tag "At once" at-once)
                 (const :tag "When idle" when-idle)
                 (const :tag "Only announced" announce)))

(defcustom agent-q-diff-review-begun-functions nil
  "Functions to call with each review that has just begun.
They can read it with `agent-q-diff-session-path', `-agent', `-description',
`-id' and `-buffer', all beginning with `agent-q-diff-session'."
  :group 'agent-q-diff-agents
  :type 'hook)

(defcustom agent-q-diff-review-ended-functions nil
  "Functions to call with each review that has ended, and its result.
Its caller is answered before that.  The result is as for
`agent-q-diff-review'; a review of what was written already has no :message."
  :group 'agent-q-diff-agents
  :type 'hook)

(defcustom agent-q-diff-grace 0.5
  "Seconds for which the keys that decide are ignored in a new diff buffer.
A review can appear while you are typing, and keys meant for another buffer
must not decide anything.  Nor must a key that is typed twice when it returns
to the diff buffer, say from an edit.  If no key has selected the diff buffer,
but for example a timer, these keys are ignored until you pause that long.
Keys of a keyboard macro or of a batch Emacs are never ignored."
  :group 'agent-q-diff-display
  :type 'number)

(defcustom agent-q-diff-finish-when-decided nil
  "Whether a review ends when its last pending hunk is decided."
  :group 'agent-q-diff-review
  :type 'boolean)

(defcustom agent-q-diff-outside-is-reviewed nil
  "Whether what is written outside any turn of an agent is reviewed at once.
That is what other programs than Emacs write, such as a formatter, in a project
in which turns of agents are known.  A file in which an agent has written, too,
is not meant, nor what one may have written in the background."
  :group 'agent-q-diff-review
  :type 'boolean)

(defcustom agent-q-diff-kept-reviews 10
  "Number of ended reviews that are kept and can be shown again.
The latest ones are kept, unless their files are very big; see
`agent-q-diff-look-again'.  Each keeps its texts in memory."
  :group 'agent-q-diff-review
  :type 'natnum)

(defcustom agent-q-diff-follow t
  "Non-nil means to show each hunk's place in a window that shows the file.
That window scrolls when you move to another hunk.  No window is taken for
it; \\<agent-q-diff-mode-map>\\[agent-q-diff-follow-mode] takes one."
  :group 'agent-q-diff-display
  :type 'boolean)

(defcustom agent-q-diff-code-colors t
  "Non-nil means that code in hunks has the colors of the target's major mode."
  :group 'agent-q-diff-display
  :type 'boolean)

(defcustom agent-q-diff-hunk-lines 2000
  "Number of lines up to which a hunk is shown whole.
Of a longer hunk, the middle is hidden: half of this number of lines is
shown at its beginning and half at its end.
\\<agent-q-diff-mode-map>\\[agent-q-diff-expand-line] shows the others.  If
nil, all lines are shown at once."
  :group 'agent-q-diff-display
  :type '(choice (natnum :tag "Lines") (const :tag "All" nil)))

(defcustom agent-q-diff-tools-policy 'ask
  "What to do when an agent calls a tool that edits.
The value is one of these symbols, or a function that is called with the
name of the tool, the absolute name of the file and the arguments, an
alist, and returns one of them:

`ask'     Ask the user, unless the user has granted it for the session.
`allow'   Make the edit; it is shown and logged.
`deny'    Do not make it, and tell the agent so.
`review'  Open the full review of the hunks.

Only `deny' counts for `propose_file_edit', which is a review anyway.
For an edit that an agent makes with its own tool, the name is that tool's,
such as \"Edit\", and `ask' opens the full review.
This decides about a call of a tool; `agent-q-diff-policy-rules' decides single
hunks once there is a review.
Unless it is `deny', the user is asked before a protected file is edited,
and a large edit by `edit_file' is reviewed; see
`agent-q-diff-tools-review-lines'."
  :type '(choice (const :tag "Ask" ask)
                 (const :tag "Allow" allow)
                 (const :tag "Deny" deny)
                 (const :tag "Review" review)
                 function)
  :group 'agent-q-diff-agents)

(defcustom agent-q-diff-when-caller-gone 'keep
  "What to do with a review when nobody waits for its answer any more.
Emacs notices this when a connection is closed or an agent interrupted.

`keep'    Keep it open, and say so: accepted hunks go into the file.
`cancel'  End it undecided."
  :group 'agent-q-diff-agents
  :type '(choice (const :tag "Keep it" keep) (const :tag "Cancel it" cancel)))

(defcustom agent-q-diff-stop-directive 'without-reason
  "When to tell an agent whose proposal you rejected to stop.
Your reason can ask for another proposal, which the words \"STOP\" and \"do
not propose something else\" would forbid.

`without-reason'  If you gave no reason: no comment and, where you were
                  asked for permission, no reason with your denial.
`always'          Always, whatever you said.
`never'           The agent reads only that you rejected it, and why.

Agent-Q is always told to stop, as its documents require."
  :group 'agent-q-diff-agents
  :type '(choice (const :tag "If you gave no reason" without-reason)
                 (const :tag "Always" always)
                 (const :tag "Never" never)))

(defcustom agent-q-diff-project-root nil
  "Directory against which agents' relative paths are resolved, or nil.
If nil, it is the root of the current project, or `default-directory' if
there is no project."
  :group 'agent-q-diff-agents
  :type '(choice (const :tag "The current project" nil) directory))

;;;; Faces

(defgroup agent-q-diff-faces nil
  "Faces of the diff buffer."
  :group 'agent-q-diff
  :group 'faces)

(defface agent-q-diff-applied
  '((((background light)) :inherit (bold diff-refine-added))
    (t :inherit (bold diff-added)))
  "Face of the sign on a hunk that is marked applied.")

(defface agent-q-diff-rejected
  '((((background light)) :inherit (bold diff-refine-removed))
    (t :inherit (bold diff-removed)))
  "Face of the sign on a hunk that is marked rejected.")

(defface agent-q-diff-differs
  '((((background light)) :inherit (bold diff-refine-changed))
    (t :inherit warning))
  "Face of the sign on a hunk whose mark and target disagree.")

(defface agent-q-diff-pending
  '((t :inherit shadow))
  "Face of the sign on a pending hunk, if the sign only informs.")

(defface agent-q-diff-moved
  '((t :inherit shadow))
  "Face of lines that moved, where they were and where they are.")

(defface agent-q-diff-decided
  '((t :inherit shadow :extend t))
  "Face of the lines of a decided hunk.")

;; Gray on the gray of `diff-header' is hard to read.
(defface agent-q-diff-decided-header
  '((((background light)) :inherit default)
    (t :inherit (shadow default)))
  "Face of the `@@' line of a decided hunk.")

(defface agent-q-diff-header
  '((t :inherit diff-header))
  "Face of the lines that say what the proposal is about.")

;; On dark frames, `diff-file-header' is a light gray under a light text.
(defface agent-q-diff-file-heading
  '((((type graphic) (background dark)) :inherit (bold header-line) :extend t)
    (t :inherit diff-file-header :extend t))
  "Face of the headings of files in a change of several.")

(defface agent-q-diff-progress
  '((t :inherit (bold diff-header)))
  "Face of the progress line.")

(defface agent-q-diff-comment
  '((t :inherit font-lock-comment-face))
  "Face of your comment on a hunk, below the hunk's header.")

(defface agent-q-diff-bar
  '((t :inherit (bold font-lock-keyword-face)))
  "Face of the bar at the left edge of the current hunk.")

(defface agent-q-diff-word-removed
  '((t :inherit diff-refine-removed))
  "Face of the words that changed, in removed lines.")

(defface agent-q-diff-word-added
  '((t :inherit diff-refine-added))
  "Face of the words that changed, in added lines.")

(defface agent-q-diff-place
  '((t :inherit highlight))
  "Face of the lines of the file that the hunk at point touches.")

(defface agent-q-diff-deceiving
  '((t :inherit (escape-glyph warning) :inverse-video t))
  "Face of the signs that replace misleading characters.")

(defface agent-q-diff-warning
  '((((background light)) :inherit (bold diff-refine-changed))
    (t :inherit warning))
  "Face of header lines that must not be missed.")

(defface agent-q-diff-reviews
  '((t :inherit mode-line-emphasis :inverse-video t))
  "Face of the number of open reviews, in the mode line.")

;;;; Calls

(cl-defstruct (agent-q-diff-call (:constructor agent-q-diff-call-make) (:copier nil))
  "A call of a tool, or of a function that begins a review."
  (agent nil :documentation "Name of the agent, or nil.")
  (caller nil :documentation "Who waits for the answer, any object.
`agent-q-diff-abandon' finds the caller's reviews by it, and
`agent-q-diff-tools-withdraw' its calls.")
  (contract nil :documentation "Whose wording the agent reads.
It is `agent-q' for that of Agent-Q's documents, or nil for plain sentences.")
  (root nil :documentation "Root of the agent's project, or nil if it is not known.")
  (tool nil :documentation "Name of the tool, or nil; the log shows it.")
  (id nil :documentation "Id of the call of an agent's own tool, a string, or nil.")
  (session nil :documentation "The agent's session, a string, or nil if it is not known.")
  (is-by-user nil :documentation "Non-nil if the user, not an agent, begins a review."))

(defvar agent-q-diff-call (agent-q-diff-call-make)
  "The call that is being carried out; nobody's, unless it is bound.
An integration binds it where a call comes in.  What follows directly is
passed the call, or finds it in the review, request or edit that it is
passed.  This variable is for what is reached through functions that programs
and users call as well, or through hooks: a new review or request keeps its
value, the log has its agent, and messages are in the wording that it names.")

;; Emacs 28 does not know where it is.
(autoload 'cl-struct-slot-offset "cl-macs")

(defun agent-q-diff-call-with (&rest slots)
  "Return a copy of the variable `agent-q-diff-call' with other SLOTS.
These are alternating names and values."
  (let ((call (copy-sequence agent-q-diff-call)))
    (cl-loop for (slot value) on slots by #'cddr
             do (setf (cl-struct-slot-value 'agent-q-diff-call slot call) value))
    call))

;;;; Errors

(defun agent-q-diff-base-refuse (format &rest arguments)
  "Signal `agent-q-diff-bad-arguments' with a message from FORMAT and ARGUMENTS."
  (signal 'agent-q-diff-bad-arguments (list (apply #'format format arguments))))

;;;; Buffers and overlays

(defmacro agent-q-diff-base-widened (&rest body)
  "Evaluate BODY with this buffer widened, and narrow it again as it was."
  (declare (indent 0) (debug t))
  `(save-restriction
     (widen)
     ,@body))

(defmacro agent-q-diff-base-with-live (buffer &rest body)
  "Evaluate BODY in BUFFER, and return its value, or nil if BUFFER is not alive."
  (declare (indent 1) (debug t))
  (let ((live (make-symbol "buffer")))
    `(let ((,live ,buffer))
       (when (buffer-live-p ,live)
         (with-current-buffer ,live
           ,@body)))))

(defun agent-q-diff-base-overlay (beg end &rest properties)
  "Return a new overlay from BEG to END with PROPERTIES, names and values.
It is deleted once it is empty, and not extended over what is inserted at BEG."
  (let ((overlay (make-overlay beg end nil t)))
    (cl-loop for (name value) on properties by #'cddr
             do (overlay-put overlay name value))
    (overlay-put overlay 'evaporate t)
    overlay))

;;;; Garbage

(defconst agent-q-diff-base--garbage-limit (* 128 1024 1024)
  "Number of bytes of garbage that may accumulate while a whole file is processed.")

(defmacro agent-q-diff-base-collecting-once (&rest body)
  "Evaluate BODY with garbage collection put off until it is done.
One discarded text of a megabyte is enough to make Emacs collect garbage,
and processing a whole file discards several."
  (declare (indent 0) (debug t))
  `(let ((gc-cons-threshold (max gc-cons-threshold agent-q-diff-base--garbage-limit)))
     ,@body))

(defsubst agent-q-diff-base-tick (&optional buffer)
  "Return a fixnum that differs whenever the text of BUFFER has changed.
BUFFER defaults to the current one.  In Emacs 28, a revert that only inserts
text can leave `buffer-chars-modified-tick' as it was, so the number of
characters is part of the value."
  (+ (buffer-chars-modified-tick buffer)
     (ash (logand (buffer-size buffer) #xfffffff) 32)))

;;;; Silence

(defmacro agent-q-diff-base-silently (&rest body)
  "Evaluate BODY, code of other packages, without showing its messages.
They would replace ours in the echo area."
  (declare (indent 0) (debug t))
  `(let ((agent-q-diff-base--said (current-message)))
     (prog1 (let ((inhibit-message t)
                  (message-log-max nil))
              ,@body)
       ;; A message that is not shown clears the echo area all the same.
       (when (and agent-q-diff-base--said (null (current-message)))
         (let ((message-log-max nil))
           (message "%s" agent-q-diff-base--said))))))

;;;; The echo area

(defun agent-q-diff-base-agent-p (name agent)
  "Return non-nil if NAME, from an option, means AGENT.
That is the name of an agent, or nil.  NAME is all of it, or its first word;
case does not matter."
  (let ((name (downcase name))
        (agent (downcase (or agent ""))))
    (or (equal name agent)
        (string-prefix-p (concat name " ") agent))))

(defun agent-q-diff-base-echo-width ()
  "Return the number of columns that a message has on one line.
A batch Emacs, which prints its messages, has plenty."
  (if noninteractive
      1000
    (1- (window-width (minibuffer-window)))))

;;;; Showing something for an agent

;; The user may be typing anywhere when an agent calls, and display rules,
;; hooks and options of theirs may select what they show.  Everything that is
;; shown for an agent is shown by these functions.

(defun agent-q-diff-base--windows-kept ()
  "Return the windows whose contents must stay.
These are the selected one, and if that is an active minibuffer the one from
which it was entered."
  (delq nil (list (selected-window) (minibuffer-selected-window))))

(defun agent-q-diff-base--tabs ()
  "Return the number of tabs of the selected frame, and which is selected."
  (let ((tabs (frame-parameter nil 'tabs)))
    (cons (length tabs) (seq-position (mapcar #'car tabs) 'current-tab))))

(defun agent-q-diff-base--note-window (window)
  "Return the state of WINDOW, for `agent-q-diff-base--show-again'."
  (with-current-buffer (window-buffer window)
    (list window (current-buffer)
          (copy-marker (window-start window)) (copy-marker (window-point window))
          (window-parameter window 'quit-restore) (window-prev-buffers window))))

(defun agent-q-diff-base--show-again (noted)
  "Restore a window to NOTED, from `agent-q-diff-base--note-window'."
  (pcase-let ((`(,window ,buffer ,start ,point ,quit-restore ,previous) noted))
    (when (and (window-live-p window) (buffer-live-p buffer))
      (unless (eq buffer (window-buffer window))
        (set-window-dedicated-p window nil)
        (set-window-buffer window buffer)
        (set-window-start window start)
        (set-window-parameter window 'quit-restore quit-restore)
        (set-window-prev-buffers window previous))
      (unless (= point (window-point window))
        (set-window-point window point)))))

(defmacro agent-q-diff-base-keeping-selection (&rest body)
  "Return the value of BODY, which may show buffers; the selection stays.
Whatever the user's rules and hooks do meanwhile, the frame, window and tab
that were selected are selected again with their old contents, and the frame
gets back the input focus if it had it."
  (declare (indent 0) (debug t))
  `(agent-q-diff-base--keep-selection (lambda () ,@body)))

(defun agent-q-diff-base--keep-selection (function)
  "Return the value of FUNCTION; see `agent-q-diff-base-keeping-selection'."
  (let* ((frame (selected-frame))
         (has-focus (and (display-graphic-p) (eq t (frame-focus-state))))
         (frames (frame-list))
         (selected (mapcar #'frame-selected-window frames))
         (window (selected-window))
         (layout (current-window-configuration))
         (tabs (agent-q-diff-base--tabs))
         (noted (mapcar #'agent-q-diff-base--note-window
                        (agent-q-diff-base--windows-kept)))
         (throw-on-input nil))
    (save-current-buffer
      (unwind-protect
          ;; Where a frame is made, the window manager is asked not to focus it.
          (let ((default-frame-alist (cons '(no-focus-on-map . t) default-frame-alist)))
            (funcall function))
        (when (frame-live-p frame)
          (select-frame frame 'norecord)
          (unless (equal tabs (agent-q-diff-base--tabs))
            (ignore-errors (tab-bar-switch-to-recent-tab)))
          (unless (seq-every-p #'window-live-p (mapcar #'car noted))
            (set-window-configuration layout))
          (mapc #'agent-q-diff-base--show-again noted)
          (dolist (other selected)
            (when (and (window-live-p other)
                       (not (eq other (frame-selected-window (window-frame other)))))
              (set-frame-selected-window (window-frame other) other 'norecord)))
          (when (window-live-p window)
            (select-window window 'norecord))
          (when (and has-focus (not (equal frames (frame-list))))
            (select-frame-set-input-focus frame 'norecord)))))))

(defconst agent-q-diff-base--elsewhere
  '((display-buffer-reuse-window display-buffer-pop-up-window
     display-buffer-in-previous-window display-buffer-use-some-window
     display-buffer-no-window)
    (inhibit-same-window . t) (inhibit-switch-frame . t) (allow-no-window . t))
  "Display action to use if the user's rules give no suitable window.
It makes no frame: on a terminal nobody would see it.")

(defun agent-q-diff-base--display (buffer)
  "Display BUFFER by the user's rules in a window that is not selected.
Return the window, nil if the rules want none, or an error that they
signaled.  A rule may also throw; that goes no further, either."
  ;; A list, not a variable that is set: Emacs 30 compiles that as if the
  ;; first value stayed, since the form around it always ends with the throw.
  (let ((value (list '(error "A display rule did not return")))
        ;; On a terminal a frame would hide all others, or not be seen.
        (pop-up-frames (and (display-graphic-p) pop-up-frames))
        (display-buffer-fallback-action
         (cons (append (remq 'display-buffer-pop-up-frame
                             (car display-buffer-fallback-action))
                       (car agent-q-diff-base--elsewhere))
               nil)))
    (catch 'agent-q-diff-base--display
      (unwind-protect
          (setcar value (condition-case err
                            (display-buffer buffer (cons nil (cdr agent-q-diff-base--elsewhere)))
                          ((error quit) err)))
        (throw 'agent-q-diff-base--display nil)))
    (car value)))

(defun agent-q-diff-base-sparing (windows function)
  "Call FUNCTION, during which nothing else is displayed in WINDOWS."
  (let* ((spared (seq-filter (lambda (window)
                               (and (window-live-p window)
                                    (not (window-minibuffer-p window))
                                    (not (window-dedicated-p window))))
                             windows))
         (dedicate (lambda (flag)
                     (dolist (window spared)
                       (when (window-live-p window)
                         (set-window-dedicated-p window flag)))))
         (split split-window-preferred-function)
         ;; Emacs splits a window, however low it is, if all others are
         ;; dedicated, which these are not.
         (split-window-preferred-function
          (lambda (&rest arguments)
            (funcall dedicate nil)
            (unwind-protect (apply split arguments)
              (funcall dedicate t)))))
    (unwind-protect
        (progn
          (funcall dedicate t)
          (funcall function))
      (funcall dedicate nil))))

(defun agent-q-diff-base-show (buffer &optional spared)
  "Show BUFFER for an agent, and return its window, or nil if there is none.
The user's display rules are followed, but whatever they say, the selected
window stays selected and keeps its buffer; if they name no other window,
BUFFER is shown in another one of the frame.  SPARED are further windows
that must not be used."
  (let ((kept (agent-q-diff-base--windows-kept)))
    (cl-flet ((display ()
                (agent-q-diff-base-keeping-selection
                  (agent-q-diff-base-sparing
                   (append kept spared)
                   (lambda () (agent-q-diff-base--display buffer)))))
              (shown (value)
                (and (window-live-p value)
                     (eq buffer (window-buffer value))
                     (not (memq value kept))
                     value)))
      (let ((value (display)))
        (prog1 (cond
                ((shown value))
                ((or (null value) (agent-q-diff-base--in-tab-p buffer)) nil)
                (t (when (and (consp value) (not noninteractive))
                     (message "A rule for displaying %s failed: %s" (buffer-name buffer)
                              (error-message-string value)))
                   (let ((display-buffer-overriding-action agent-q-diff-base--elsewhere))
                     (shown (display)))))
          (agent-q-diff-base--guard buffer))))))

(defun agent-q-diff-base--in-tab-p (buffer)
  "Return non-nil if BUFFER is in another tab of the selected frame."
  (and (frame-parameter nil 'tabs)
       (tab-bar-get-buffer-tab buffer nil t)))

(defun agent-q-diff-base-warn (message &optional level)
  "Show MESSAGE in the buffer of warnings, for an agent; LEVEL is a symbol."
  (agent-q-diff-base-keeping-selection
    ;; The reason at its end may be empty.
    (display-warning 'agent-q-diff (replace-regexp-in-string ":?[ \n]*\\'" "" message)
                     level)))

;;;; Hooks that select what has appeared

(defvar agent-q-diff-base--guarded nil
  "The buffers that were shown since redisplay, and then the selected window.
The value is (BUFFERS . WINDOW); WINDOW is nil until redisplay begins.")

(defun agent-q-diff-base--guard (buffer)
  "Keep the hooks that run when windows changed from selecting BUFFER.
Redisplay runs them, so they come after `agent-q-diff-base-show'."
  (unless noninteractive
    (setq agent-q-diff-base--guarded (list (cons buffer (car agent-q-diff-base--guarded))))
    ;; What a mode hook has added in BUFFER alone runs before all others.
    (with-current-buffer buffer
      (add-hook 'window-buffer-change-functions #'agent-q-diff-base--note-selected -100 t))
    (add-hook 'window-buffer-change-functions #'agent-q-diff-base--note-selected -100)
    (add-hook 'window-state-change-hook #'agent-q-diff-base--select-noted 100)))

(defun agent-q-diff-base--note-selected (_changed)
  "Note the selected window before other hooks of redisplay run."
  (unless (cdr agent-q-diff-base--guarded)
    (setcdr agent-q-diff-base--guarded (selected-window))))

(defun agent-q-diff-base--select-noted ()
  "Select the window that was selected before the other hooks of redisplay ran.
That is done only if they have selected a buffer that was shown for an agent."
  (pcase-let ((`(,buffers . ,window) agent-q-diff-base--guarded))
    (when window
      (when (and (window-live-p window)
                 (not (eq window (selected-window)))
                 (memq (window-buffer) buffers))
        (select-window window 'norecord))
      (setq agent-q-diff-base--guarded nil)
      (dolist (buffer (seq-filter #'buffer-live-p buffers))
        (with-current-buffer buffer
          (remove-hook 'window-buffer-change-functions #'agent-q-diff-base--note-selected t)))
      (remove-hook 'window-buffer-change-functions #'agent-q-diff-base--note-selected)
      (remove-hook 'window-state-change-hook #'agent-q-diff-base--select-noted))))

;;;; Modal editing

(declare-function evil-initial-state "ext:evil-core" (mode &optional default))
(declare-function evil-set-initial-state "ext:evil-core" (mode state))
(defvar meow-mode-state-list)

(defun agent-q-diff-base-claim-single-keys ()
  "Keep evil and meow from taking over the keys of this buffer's mode.
In that mode, single keys are commands.  A state that the user has chosen
for it is respected."
  (when (and (fboundp 'evil-set-initial-state)
             (not (evil-initial-state major-mode)))
    (evil-set-initial-state major-mode 'emacs))
  (when (and (boundp 'meow-mode-state-list)
             (not (assq major-mode meow-mode-state-list)))
    ;; In meow's motion state, j and SPC would be meow's.
    (push (cons major-mode 'insert) meow-mode-state-list)))

(declare-function evil-emacs-state "ext:evil-states" (&optional arg))
(declare-function meow-mode "ext:meow-core" (&optional arg))

(defun agent-q-diff-base--claim-keys ()
  "Take the keys of this buffer back from evil and meow if they have them."
  (when (bound-and-true-p evil-local-mode)
    (evil-emacs-state))
  (when (bound-and-true-p meow-mode)
    (meow-mode -1)))

(defun agent-q-diff-base-claim-keys-here ()
  "Keep evil and meow from taking over the keys of this buffer alone.
Where mode hooks were delayed, they come only after the command."
  (agent-q-diff-base--claim-keys)
  (add-hook 'evil-local-mode-hook #'agent-q-diff-base--claim-keys nil t)
  (add-hook 'meow-mode-hook #'agent-q-diff-base--claim-keys nil t))

(defun agent-q-diff-base-key-by-evil (command in-evil)
  "Return a key binding for COMMAND, or for IN-EVIL where evil is on.
Either may be nil, for no command."
  `(menu-item "" ,(or command in-evil)
              :filter ,(lambda (_command)
                         (if (bound-and-true-p evil-local-mode) in-evil command))))

;;;; Errors

(defmacro agent-q-diff-base--define-errors (&rest errors)
  "Define ERRORS, each a list (SYMBOL MESSAGE), under `agent-q-diff-error'."
  (declare (indent 0))
  `(progn
     (define-error 'agent-q-diff-error "Agent-Q diff")
     ,@(mapcar (pcase-lambda (`(,symbol ,message))
                 `(define-error ',symbol ,message 'agent-q-diff-error))
               errors)))

(agent-q-diff-base--define-errors
  ;; From the engine.
  (agent-q-diff-identical     "Nothing to review")
  (agent-q-diff-malformed     "Not a unified diff")
  (agent-q-diff-several-files "Several files")
  (agent-q-diff-no-hunk       "No such hunk")
  (agent-q-diff-not-in        "Not applied")
  (agent-q-diff-not-found     "Does not apply")
  (agent-q-diff-ambiguous     "Ambiguous")
  (agent-q-diff-conflict      "Conflict")
  (agent-q-diff-ended         "Review ended")
  (agent-q-diff-nothing-to-take-back "Nothing to undo")
  (agent-q-diff-panic         "Bug in the engine")
  (agent-q-diff-empty-search  "Nothing to find")
  (agent-q-diff-equal-texts   "Nothing to change")
  (agent-q-diff-no-match      "String not found")
  (agent-q-diff-several-matches "Several matches")
  (agent-q-diff-overlapping-matches "Overlapping matches")
  ;; From loading the engine.
  (agent-q-diff-no-repository "No repository")
  (agent-q-diff-no-module     "No engine")
  ;; About the target.
  (agent-q-diff-bad-target    "Target refused")
  (agent-q-diff-forbidden     "Path refused")
  (agent-q-diff-no-file       "No such file")
  ;; About a whole review.
  (agent-q-diff-bad-arguments "Wrong arguments")
  (agent-q-diff-not-applied   "Could not be applied")
  (agent-q-diff-cancelled     "Review cancelled")
  (agent-q-diff-no-user       "Nobody to ask")
  ;; About the socket.
  (agent-q-diff-served        "Another Emacs serves"))

(defun agent-q-diff-error-text (err)
  "Return the message of ERR, an error as `condition-case' binds it.
For the package's own errors, leave out the name of the kind."
  (let ((text (if (and (memq 'agent-q-diff-error (get (car err) 'error-conditions))
                       (stringp (cadr err)))
                  (cadr err)
                (error-message-string err))))
    ;; Behind a colon, nothing would be no reason.
    (if (string-blank-p text)
        (format "an error of the kind `%s'" (car err))
      text)))

;;;; Vectors

(defun agent-q-diff-base-last-at-most (vector limit)
  "Return the index of the last element of VECTOR that is not above LIMIT.
VECTOR has numbers or markers in increasing order; nil counts as empty.  If
all are above LIMIT, return nil."
  (let ((low 0)
        (high (length vector)))
    (while (< low high)
      (let ((middle (/ (+ low high) 2)))
        (if (<= (aref vector middle) limit)
            (setq low (1+ middle))
          (setq high middle))))
    (and (> low 0) (1- low))))

;;; Agents' strings, made safe to show

;;;; Characters that mislead

(defconst agent-q-diff-visible--misleading
  (rx (or (any "\0-\u001f" "\u007f-\u009f"
               ;; Odd spaces, and line breaks to some programs only.
               "\u00a0" "\u1680" "\u2000-\u200a" "\u2028\u2029" "\u202f" "\u205f"
               "\u2800" "\u3000"
               ;; Without width.
               "\u00ad" "\u034f" "\u115f" "\u1160" "\u17b4" "\u17b5" "\u180b-\u180f"
               "\u200b-\u200d" "\u2060-\u2065" "\u206a-\u206f" "\u3164" "\ufe00-\ufe0f"
               "\ufeff" "\uffa0" "\ufff0-\ufffb" "\U0001bca0-\U0001bca3"
               "\U0001d173-\U0001d17a" "\U000e0000-\U000e0fff"
               ;; Writing direction.
               "\u061c" "\u200e" "\u200f" "\u202a-\u202e" "\u2066-\u2069"
               ;; Halves of surrogate pairs.
               (#xd800 . #xdfff))
          ;; Bytes that are not part of a character.
          (not (any "\0-\U0010ffff"))))
  "Regexp of a character that misleads wherever it is.")

(declare-function agent-q-diff-module-suspects "ext:agent-q-diff-module")

(defun agent-q-diff-visible--suspects (text)
  "Return the characters of TEXT that mislead in any context.
The value is a list of (INDEX . nil)."
  (let ((start 0)
        (case-fold-search nil)
        suspects)
    (while (string-match agent-q-diff-visible--misleading text start)
      (push (cons (match-beginning 0) nil) suspects)
      (setq start (match-end 0)))
    (nreverse suspects)))

(defun agent-q-diff-visible--indices (text)
  "Return the indices of the characters of TEXT that mislead in one line."
  (let ((suspects (condition-case nil
                      ;; Showing a name is no reason to load the engine.
                      (if (featurep 'agent-q-diff-module)
                          ;; Breaks are not misleading in a text of several lines.
                          (append (agent-q-diff-visible--breaks text)
                                  (agent-q-diff-module-suspects
                                   (encode-coding-string text 'utf-8-emacs-unix)))
                        (agent-q-diff-visible--suspects text))
                    (error (agent-q-diff-visible--suspects text)))))
    (seq-uniq (sort (mapcar #'car suspects) #'<))))

(defun agent-q-diff-visible--breaks (text)
  "Return the indices of line breaks and tabs in TEXT, each as (INDEX)."
  (let ((start 0) breaks)
    (while (string-match "[\t\n\f]" text start)
      (setq start (match-end 0))
      (push (list (match-beginning 0)) breaks))
    breaks))

;;;; One line

(defconst agent-q-diff-visible--max-length 500
  "Number of characters of a string that are shown by default.")

(defconst agent-q-diff-visible--n-last 300
  "Number of these that are its last ones; names of files have fewer.")

(defun agent-q-diff-visible-sign (char)
  "Return the ASCII string that is shown instead of CHAR."
  (if (> char #x10ffff)
      (format "<%02X>" (if (> char #x3fff7f) (- char #x3fff00) char))
    (format "<U+%04X>" char)))

(defun agent-q-diff-visible (text &optional limit keep)
  "Return TEXT as one line in which no character misleads.
Characters without width, those that change the writing direction, odd
spaces, controls, line breaks and, if the engine is loaded, letters that
look like others are shown by their numbers, like <U+202E>, except those in
the list KEEP.  If `letters' is in it, letters that only look like others stay,
too.  If TEXT has more than LIMIT characters, only their number is shown of the
rest.  Without LIMIT, a text with more than 500 is cut in the middle, so that
the name of a file with a long path stays."
  (let* ((shown (lambda (start end)
                  (let ((text (substring-no-properties text start end)))
                    (if (string-match-p "[^ -~]" text)
                        (agent-q-diff-visible--with-signs (string-to-multibyte text) keep)
                      text))))
         (n-shown (or limit agent-q-diff-visible--max-length))
         (more (- (length text) n-shown)))
    (cond
     ((<= more 0) (funcall shown 0 nil))
     (limit (concat (funcall shown 0 limit)
                    (propertize (format "… and %d more characters" more) 'face 'warning)))
     (t (concat (funcall shown 0 (- n-shown agent-q-diff-visible--n-last))
                (propertize (format "…(%d more characters)…" more) 'face 'warning)
                (funcall shown (- agent-q-diff-visible--n-last) nil))))))

(defun agent-q-diff-visible--with-signs (text keep)
  "Return TEXT with signs for misleading characters that are not in KEEP.
KEEP is as for `agent-q-diff-visible'."
  (let ((done 0)
        (case-fold-search nil)
        pieces)
    (dolist (index (agent-q-diff-visible--indices text))
      (unless (or (memq (aref text index) keep)
                  (and (memq 'letters keep)
                       (not (memq (aref text index) '(?\t ?\n ?\f)))
                       (not (string-match-p agent-q-diff-visible--misleading
                                            (char-to-string (aref text index))))))
        (push (substring text done index) pieces)
        (push (propertize (agent-q-diff-visible-sign (aref text index))
                          'face 'escape-glyph)
              pieces)
        (setq done (1+ index))))
    (push (substring text done) pieces)
    (apply #'concat (nreverse pieces))))

(defconst agent-q-diff-visible-tag (rx "<" (group (* space) (? "/") (* (any "-_ a-z"))
                                                  (or "system" "reminder")))
  "Regexp of a tag with which programs tell agents what they say themselves.")

(defconst agent-q-diff-visible--not-agents
  '("you" "your" "yours" "me" "i" "we" "us" "user" "the user" "somebody" "nobody" "outside"
    "outside any turn" "emacs" "agent-q-diff" "note" "notes" "description" "file")
  "What is no name of an agent in a sentence of ours, but says something else.")

(defun agent-q-diff-visible-name (name &optional is-agent)
  "Return NAME, of a file or a tool, as it may stand between words of ours.
It is quoted unless it is one word without brackets, or, if IS-AGENT is
non-nil, at most three short ones, like \"Claude Code\", and perhaps a
session.  An agent that calls itself the user, or us, is quoted, too."
  (let ((shown (replace-regexp-in-string agent-q-diff-visible-tag "<U+003C>\\1"
                                         (agent-q-diff-visible name))))
    (if (and (string-match-p (if is-agent
                                 "\\`[[:alnum:]_.-]+\\(?: [[:alnum:]_.-]\\{1,12\\}\\)\\{0,2\\}\\(?: (session [[:alnum:]_-]+)\\)?\\'"
                               "\\`[[:alnum:]_+@=~/.<>#%$!&^-]*[^.!]\\'")
                             shown)
             (not (and is-agent
                       (member (downcase shown) agent-q-diff-visible--not-agents))))
        shown
      (format "\"%s\"" (replace-regexp-in-string "[\"\\]" "\\\\\\&" shown)))))

;;;; Shortening

(defun agent-q-diff-visible-beginning (text width)
  "Return the beginning of TEXT, at most WIDTH columns.
It ends with an ellipsis if more follows."
  (truncate-string-to-width text (max 0 width) nil nil "…"))

(defun agent-q-diff-visible-end (text width)
  "Return the end of TEXT, at most WIDTH columns.
It begins with an ellipsis if there is more before it."
  (let ((columns (string-width text)))
    (if (<= columns width)
        text
      (concat "…" (truncate-string-to-width text columns (- columns (max 0 (1- width))))))))

;;;; Paths

(defconst agent-q-diff-visible--path-flaws
  '(("\\`\\'" . "is empty")
    ("[\u0000-\u001f\u007f-\u009f\u2028\u2029]" . "contains a control character")
    ("[^\u0000-\U0010ffff]" . "contains a byte that is not a character")
    ("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
     . "contains a code that is not a character")
    ("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc\U000E0000-\U000E0FFF]"
     . "contains a character that cannot be seen")
    ("\\\\" . "contains a backslash; separate directories with /"))
  "Paths that are refused for their spelling: (REGEXP . FLAW).
They are those that two programs, or a program and a person, may read
differently.  Odd spaces, and the joiners that some scripts need, are
allowed: people have such names.  The first match counts.")

(defun agent-q-diff-visible-path-flaw (path)
  "Return what is wrong with the spelling of PATH, or nil.
The value is a predicate for \"the path\".  Where PATH leads does not
matter."
  (let ((case-fold-search nil))
    ;; Nearly all paths pass here; each edit checks its path several times.
    (unless (string-match-p "\\`[-_.+@=,~: a-zA-Z0-9/]+\\'" path)
      (let ((path (string-to-multibyte (substring-no-properties path))))
        (cdr (seq-find (lambda (flaw) (string-match-p (car flaw) path))
                       agent-q-diff-visible--path-flaws))))))

;; Expanding a name can open a connection, and `file-remote-p' already runs
;; a handler, so an agent's name is first looked at without one.

(defun agent-q-diff-visible-path-plain (path directory)
  "Return PATH expanded against DIRECTORY without calling any handler.
Return nil if a handler, such as Tramp, would be called for that or for the
result: then the file may be on another machine, or somebody else's."
  (let* ((path (substring-no-properties path))
         (plain (let ((file-name-handler-alist nil))
                  ;; Emacs leaves "/.." at the beginning, which leads nowhere, and "//", which
                  ;; only Windows takes for a server.
                  (replace-regexp-in-string
                   (concat (if (memq system-type '(windows-nt cygwin)) "\\`/" "\\`/+")
                           "\\(?:\\.\\.\\(?:/+\\|\\'\\)\\)*")
                   "/" (expand-file-name path directory)))))
    (and (seq-every-p #'agent-q-diff-visible--local-p (list path directory plain))
         plain)))

(defun agent-q-diff-visible--local-p (name)
  "Return non-nil if no handler stands between the file NAME and this machine."
  (let ((handler (find-file-name-handler name 'expand-file-name)))
    (or (null handler)
        ;; Emacs 30 completes "/x" by it; without a colon that opens nothing.
        (and (eq handler 'tramp-completion-file-name-handler)
             (not (string-search ":" name)))
        ;; A directory can be called x.zip.
        (and (symbolp handler)
             (string-prefix-p "tramp-archive-" (symbol-name handler))
             (let ((file-name-handler-alist nil))
               (file-directory-p (file-name-directory name)))))))

(defun agent-q-diff-base-clean (text)
  "Return TEXT without what JSON cannot have.
Raw bytes become their numbers, like \\200, and surrogates U+FFFD."
  (replace-regexp-in-string
   "[\x3fff80-\x3fffff]"
   (lambda (byte) (format "\\%o" (logand #xff (aref byte 0))))
   (replace-regexp-in-string "[\ud800-\udfff]" "\ufffd" text t t)
   t t))

(provide 'agent-q-diff-base)
;;; agent-q-diff-base.el ends here
