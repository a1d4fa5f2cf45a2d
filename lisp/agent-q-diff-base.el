;;; agent-q-diff-base.el --- Options, faces and errors of agent-q-diff  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What every other file of the package needs and none of them owns: the
;; group, the options, the faces and the error symbols.  Requires nothing
;; of ours.

;;; Code:

;;;; Options

(defgroup agent-q-diff nil
  "Review what an AI agent wants to do to a file, hunk by hunk."
  :group 'tools
  :prefix "agent-q-diff-")

(defcustom agent-q-diff-context-length 3
  "Number of unchanged lines that a hunk shows around its changes."
  :type 'natnum)

(defcustom agent-q-diff-budget nil
  "Number of steps after which two texts are compared no further.
What is not looked at by then is one change, so that hunks can be bigger
than they need to be; they are right, and the diff buffer says so.  A
merge of a hunk has as many steps, and says so as well.  A step takes
some nanoseconds.  If nil, the number keeps the comparison of texts of
10 MB under about half a second, whatever they are."
  :type '(choice (const :tag "About half a second" nil) natnum))

(defcustom agent-q-diff-save 'if-clean
  "Whether an accepted hunk is saved to the target's file at once.
The value is one of these symbols:

`if-clean'  Save unless the target has unsaved edits of the user's, so that
            half a word that was just typed never reaches the file.
`always'    Save after every command that changed the target, the
            user's own unsaved edits included.
`never'     Leave saving to the user.

With unsaved edits in the target, the diff buffer says before the first
key whether saving will include them.  What is in the buffer only is said
to be so, to the user and to the agent."
  :type '(choice (const :tag "Unless there are unsaved edits" if-clean)
                 (const :tag "Always" always)
                 (const :tag "Never" never)))

(defcustom agent-q-diff-create-directories t
  "Whether accepting a hunk of a new file creates its missing directories.
If nil, such a hunk does not apply.  They are removed again if nothing of
the proposal is in the file in the end."
  :type 'boolean)

(defcustom agent-q-diff-toggle-unapplies nil
  "Whether SPC on an applied hunk takes its change out of the target.
If nil, SPC returns the hunk's mark to pending and leaves the target
alone; \\<agent-q-diff-mode-map>\\[agent-q-diff-unapply-hunk] takes the change out."
  :type 'boolean)

(defcustom agent-q-diff-confirm-finish t
  "Whether finishing a review with pending hunks asks first.
It never asks when a program finishes the review."
  :type 'boolean)

(defcustom agent-q-diff-decision-basis 'marks
  "What decides between \"accepted\" and \"rejected\" when a review ends.
With `marks', the marks that the diff buffer shows: accepted if at least
one hunk is marked applied.  With `facts', what is in the target:
accepted if at least one hunk's change is in it."
  :type '(choice (const :tag "The marks shown" marks)
                 (const :tag "What is in the target" facts)))

(defcustom agent-q-diff-refresh-delay 0.3
  "Seconds without input after which the diff buffer shows the target's edits.
While somebody edits the target, each hunk shows whether it still
applies.  If nil, the diff buffer shows it at its own next command."
  :type '(choice (number :tag "Seconds") (const :tag "At the next command" nil)))

(defcustom agent-q-diff-display 'at-once
  "How a review that nobody waits for in a recursive edit is shown.
The window that the user is in is never taken, nor a key.

`at-once'    In another window, at once.
`when-idle'  In another window, when there has been no input for a while.
`announce'   In the echo area and the mode line only."
  :type '(choice (const :tag "At once" at-once)
                 (const :tag "When idle" when-idle)
                 (const :tag "Only announced" announce)))

(defcustom agent-q-diff-grace 0.5
  "Seconds for which the keys that decide are ignored in a new diff buffer.
A review can come while one types; what was meant for another buffer must
decide nothing.  Keys of a keyboard macro or of a batch Emacs are never
ignored."
  :type 'number)

(defcustom agent-q-diff-finish-when-decided nil
  "Whether a review ends when its last pending hunk is decided."
  :type 'boolean)

(defcustom agent-q-diff-kept-reviews 10
  "Number of reviews that can be looked at again when they have ended.
They are the latest ones of files that are not very big; see
`agent-q-diff-look-again'.  Each holds its texts in memory."
  :type 'natnum
  :group 'agent-q-diff)

(defcustom agent-q-diff-code-colors t
  "Non-nil means that code in hunks has the colors of the target's major mode."
  :type 'boolean
  :group 'agent-q-diff)

(defcustom agent-q-diff-finish-check-size 200000
  "Number of characters up to which a file is looked through when you finish.
If parentheses or strings are not sound in it, although they are in the
original and in the whole proposal, that is said.  If nil, it is said
only by \\<agent-q-diff-mode-map>\\[agent-q-diff-show-outcome]."
  :type '(choice (natnum :tag "Characters") (const :tag "Never" nil))
  :group 'agent-q-diff)

(defcustom agent-q-diff-hunk-lines 2000
  "Number of lines of a hunk that are shown before its middle is cut out.
Half of them are shown at its beginning and half at its end;
\\<agent-q-diff-mode-map>\\[agent-q-diff-expand-line] shows the others.  If nil, all are shown at once."
  :type '(choice (natnum :tag "Lines") (const :tag "All" nil))
  :group 'agent-q-diff)

(defcustom agent-q-diff-when-caller-gone 'keep
  "What becomes of a review when nobody waits for its answer any more.
That is noticed when a connection is closed or an agent interrupted.

`keep'    It goes on, and says so: what is accepted goes into the file.
`cancel'  It ends undecided."
  :type '(choice (const :tag "Keep it" keep) (const :tag "Cancel it" cancel)))

(defcustom agent-q-diff-stop-directive 'without-reason
  "When an agent whose proposal you rejected is told to stop.
A reason can ask for another proposal, which the words \"STOP\" and \"do
not propose something else\" would forbid.

`without-reason'  If you gave no reason: neither a comment nor, where you
                  were asked for permission, one behind your denial.
`always'          Whatever you said.
`never'           The agent reads only that you rejected it, and why.

Agent-Q is told to stop each time, as its documents have it."
  :type '(choice (const :tag "If you gave no reason" without-reason)
                 (const :tag "Always" always)
                 (const :tag "Never" never)))

(defcustom agent-q-diff-project-root nil
  "Directory against which agents' relative paths are resolved, or nil.
If nil, it is the root of the current project, or `default-directory'
where there is no project."
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
  "Face of the sign on a pending hunk that needs no decision at once.")

(defface agent-q-diff-decided
  '((t :inherit shadow :extend t))
  "Face over the lines of a hunk that is decided.")

;; Gray on the gray of `diff-header' is hard to read.
(defface agent-q-diff-decided-header
  '((((background light)) :inherit default)
    (t :inherit (shadow default)))
  "Face over the `@@' line of a hunk that is decided.")

(defface agent-q-diff-header
  '((t :inherit diff-header))
  "Face of the lines that say what the proposal is about.")

(defface agent-q-diff-progress
  '((t :inherit (bold diff-header)))
  "Face of the progress line.")

(defface agent-q-diff-word-removed
  '((t :inherit diff-refine-removed))
  "Face of words that differ, in removed lines.")

(defface agent-q-diff-word-added
  '((t :inherit diff-refine-added))
  "Face of words that differ, in added lines.")

(defface agent-q-diff-place
  '((t :inherit highlight))
  "Face of the lines of the file that the hunk at point touches.")

(defface agent-q-diff-deceiving
  '((t :inherit (escape-glyph warning) :inverse-video t))
  "Face of the signs for characters that read as something else.")

(defface agent-q-diff-warning
  '((((background light)) :inherit (bold diff-refine-changed))
    (t :inherit warning))
  "Face of a header line that one must not miss.")

;;;; Callers

(defvar agent-q-diff-caller nil
  "Who waits for what is begun now, or nil.
A connector binds it to (AGENT . CALLER).  AGENT is a string, or nil; CALLER is
whatever `agent-q-diff-abandon' is to find its reviews by, and
`agent-q-diff-tools-withdraw' its calls.")

(defvar agent-q-diff-contract nil
  "Whose words the agent is to read about what is begun now.
If it is `agent-q', they are those that Agent-Q's documents fix; if nil,
plain sentences for any other agent.  An integration binds it, as it does
`agent-q-diff-caller'; a review keeps the value that it was begun with.")

(defvar agent-q-diff-tool nil
  "Name of the tool that asks for what is begun now, or nil.
It is for the log.")

;;;; Garbage

(defconst agent-q-diff-base--garbage-limit (* 128 1024 1024)
  "Number of bytes of garbage that may pile up while something large is done.")

(defmacro agent-q-diff-base-collecting-once (&rest body)
  "Evaluate BODY, and let garbage be collected after it and not meanwhile.
A text of a megabyte is garbage enough for Emacs to collect at once, and
what is done to a whole file makes several of them."
  (declare (indent 0) (debug t))
  `(let ((gc-cons-threshold (max gc-cons-threshold agent-q-diff-base--garbage-limit)))
     ,@body))

;;;; Modal editing

(declare-function evil-initial-state "ext:evil-core" (mode &optional default))
(declare-function evil-set-initial-state "ext:evil-core" (mode state))
(defvar meow-mode-state-list)

(defun agent-q-diff-base-claim-single-keys ()
  "Let evil and meow leave the keys of this buffer's mode alone.
Its single keys are commands.  What the user has set for it stays."
  (when (and (fboundp 'evil-set-initial-state)
             (not (evil-initial-state major-mode)))
    (evil-set-initial-state major-mode 'emacs))
  (when (and (boundp 'meow-mode-state-list)
             (not (assq major-mode meow-mode-state-list)))
    ;; In its state for motion, j and SPC would be its own.
    (push (cons major-mode 'insert) meow-mode-state-list)))

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
  ;; Of the engine.
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
  ;; Of the way to it.
  (agent-q-diff-no-module     "No engine")
  ;; Of the target.
  (agent-q-diff-bad-target    "Target refused")
  (agent-q-diff-forbidden     "Path refused")
  (agent-q-diff-no-file       "No such file")
  ;; Of a whole review.
  (agent-q-diff-bad-arguments "Wrong arguments")
  (agent-q-diff-not-applied   "Could not be applied")
  (agent-q-diff-cancelled     "Review cancelled")
  (agent-q-diff-no-user       "Nobody to ask"))

(defun agent-q-diff-error-text (err)
  "Return the message of ERR, an error as `condition-case' binds it.
Of the package's own errors that is without the name of the kind."
  (if (and (memq 'agent-q-diff-error (get (car err) 'error-conditions))
           (stringp (cadr err)))
      (cadr err)
    (error-message-string err)))

(provide 'agent-q-diff-base)
;;; agent-q-diff-base.el ends here
