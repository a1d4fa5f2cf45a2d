;;; agent-q-diff-tools.el --- What agents call, and what they read  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tools `edit_file', `propose_file_edit' and `propose_patch' as
;; functions that return the message for the agent, whatever happens.
;; `agent-q-diff-contract' says whose words it has; see
;; agent-q-diff-message.el.
;;
;; A framework registers what `agent-q-diff-tools-list' returns, and calls
;; `agent-q-diff-tools-call', or `agent-q-diff-tools-call-async' if it must
;; not wait.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-message)
(require 'agent-q-diff-schema)
(require 'agent-q-diff-log)
(require 'agent-q-diff-target)
(require 'agent-q-diff-review)
(require 'agent-q-diff-reviews)
(require 'agent-q-diff-session)
(require 'agent-q-diff-wait)
(require 'agent-q-diff-api)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-permit)
(require 'agent-q-diff-replace)

;;;; Messages about an exact replacement

(defconst agent-q-diff-tools--shown-characters 200
  "Number of characters of a string that a message repeats.")

(defconst agent-q-diff-tools--shown-lines 20
  "Number of lines of the old and the new text that a message repeats.")

(defun agent-q-diff-tools--cut (text)
  "Return TEXT, or its beginning if it is long."
  (if (> (length text) agent-q-diff-tools--shown-characters)
      (concat (substring text 0 agent-q-diff-tools--shown-characters) "...")
    text))

(defun agent-q-diff-tools--line-numbers (lines)
  "Return LINES, from 0, each told once, as a string of numbers from 1."
  (let* ((distinct (seq-uniq (seq-take lines 1000)))
         (shown (seq-take distinct 10))
         (said (mapconcat (lambda (line) (number-to-string (1+ line))) shown ", ")))
    (if (nthcdr 10 distinct)
        (concat said ", …")
      said)))

(defun agent-q-diff-tools--line-ranges (ranges)
  "Return RANGES, each (FIRST . END) from 0, as numbers from 1."
  (let ((said (mapconcat (pcase-lambda (`(,first . ,end))
                           (if (= end (1+ first))
                               (number-to-string end)
                             (format "%d-%d" (1+ first) end)))
                         (seq-take (seq-uniq ranges) 50) ", ")))
    (if (nthcdr 50 ranges)
        (concat said ", …")
      said)))

(defun agent-q-diff-tools--signed (sign text)
  "Return the lines of TEXT with SIGN in front, as strings."
  (unless (string-empty-p text)
    (let* ((lines (split-string (string-remove-suffix "\n" text) "\n"))
           (limit agent-q-diff-tools--shown-lines)
           (more (- (length lines) limit)))
      (append (mapcar (lambda (line)
                        (concat "  " sign " " (string-remove-suffix "\r" line)))
                      (seq-take lines limit))
              (when (> more 0)
                (list (format "  %s … %d more lines" sign more)))))))

(defun agent-q-diff-tools--applied-notes (call outcome)
  "Return what else there is to say of CALL, whose OUTCOME is `applied'."
  (delq nil
        (list (when (agent-q-diff-replace--is-all call)
                (format "Replacements: %d" (length (plist-get outcome :lines))))
              (unless (plist-get outcome :saved)
                "The change is in the user's buffer, which has not been saved.")
              (when (plist-get outcome :altered)
                "On saving, a hook of the user's changed other lines as well."))))

(defun agent-q-diff-tools--applied-message (call outcome)
  "Return the message about CALL, whose OUTCOME is `applied'."
  (let ((description (agent-q-diff-replace--description call))
        (notes (agent-q-diff-tools--applied-notes call outcome)))
    (string-join
     `(,(format "✓ Edit applied to %s\n" (agent-q-diff-replace--path call))
       ,@(and description (list (format "Change: %s" description)))
       ,(format "Lines affected: %s"
                (agent-q-diff-tools--line-ranges (plist-get outcome :lines)))
       "Diff:"
       ,@(agent-q-diff-tools--signed "-" (agent-q-diff-replace--old call))
       ,@(agent-q-diff-tools--signed "+" (agent-q-diff-replace--new call))
       ,@(and notes (cons "" notes)))
     "\n")))

(defun agent-q-diff-tools--denied-message (path tool outcome)
  "Return the message about a denied call of TOOL for PATH.
OUTCOME tells who denied it and why."
  (let ((reason (or (plist-get outcome :reason)
                    (and (eq (plist-get outcome :by) 'policy)
                         (format "the user's settings deny %s here." tool)))))
    (agent-q-diff-message-of-denial path reason
                                    (eq (plist-get outcome :by) 'policy))))

(defconst agent-q-diff-tools--differences
  '((line-ends . "line ends")
    (white-space . "white space")
    (case . "upper and lower case")
    (normalization . "Unicode normalization (composed or decomposed characters)")
    (punctuation . "typographic quotes, dashes or dots")
    (invisible . "characters that cannot be seen")
    (wording . "its wording"))
  "In what the nearest text can differ, in words.")

(defun agent-q-diff-tools--nearest (nearest text)
  "Return what to say of TEXT, the NEAREST to one that is not there.
NEAREST is (FIRST END . KINDS), lines from 0."
  (pcase-let ((`(,first ,end . ,kinds) nearest))
    (format "\n\nThe nearest text is at line%s %s and differs in %s:\n%s"
            (if (> end (1+ first)) "s" "")
            (agent-q-diff-tools--line-ranges (list (cons first end)))
            (if kinds
                (mapconcat (lambda (kind)
                             (alist-get kind agent-q-diff-tools--differences))
                           kinds ", ")
              "several ways at once")
            (agent-q-diff-tools--cut text))))

(defun agent-q-diff-tools--no-match-message (call data)
  "Return the message that the string of CALL was not found.
DATA are those of the error."
  (pcase-let ((`(,_ ,nearest ,text) data))
    (concat (format "Error: String not found in %s\n\nSearched for:\n%s"
                    (agent-q-diff-replace--path call)
                    (agent-q-diff-tools--cut (agent-q-diff-replace--old call)))
            (and nearest (agent-q-diff-tools--nearest nearest text)))))

(defun agent-q-diff-tools--several-message (call lines)
  "Return the message that the string of CALL was found on several LINES."
  (format "Error: Found %d matches for the search string in %s.

Please provide more surrounding context to make a unique match.

They begin at lines %s."
          (length lines) (agent-q-diff-replace--path call)
          (agent-q-diff-tools--line-numbers lines)))

(defun agent-q-diff-tools--overlapping-message (call lines)
  "Return the message that matches of CALL, on LINES, overlap."
  (format "Error: Found %d matches for the search string in %s, and some overlap.

To replace one would change another. Please provide more surrounding context, or
replace them one by one.

They begin at lines %s."
          (length lines) (agent-q-diff-replace--path call)
          (agent-q-diff-tools--line-numbers lines)))

(defun agent-q-diff-tools--edit-error-message (call err)
  "Return the message about ERR, which CALL came to."
  (pcase err
    (`(agent-q-diff-forbidden ,message) message)
    (`(agent-q-diff-no-file . ,_)
     (format "Error: File '%s' not found" (agent-q-diff-replace--path call)))
    (`(agent-q-diff-no-match . ,data)
     (agent-q-diff-tools--no-match-message call data))
    (`(agent-q-diff-several-matches ,_ ,lines)
     (agent-q-diff-tools--several-message call lines))
    (`(agent-q-diff-overlapping-matches ,_ ,lines)
     (agent-q-diff-tools--overlapping-message call lines))
    (`(agent-q-diff-empty-search . ,_)
     "Error: old_str is empty. It must be the exact text that is to be replaced.")
    (`(agent-q-diff-equal-texts . ,_)
     "Error: old_str and new_str are equal, so nothing would change.")
    (`(,(or 'agent-q-diff-bad-target 'file-error 'file-date-error) . ,_)
     (format "Error: Cannot write to file\n\n%s" (agent-q-diff-error-text err)))
    (`(quit . ,_) "Error editing file: the user quit; nothing was changed")
    (_ (format "Error editing file: %s" (agent-q-diff-error-text err)))))

;;;; What is left without a decision

(defun agent-q-diff-tools--error-message (err message)
  "Return the text of MESSAGE for ERR, and what a review left behind.
MESSAGE is a function of an error.  If ERR is why a review came to no
decision, its result says more."
  (let* ((result agent-q-diff-wait-undecided)
         (remains (and result (agent-q-diff-message-of-remains result))))
    (concat (funcall message
                     (if result
                         (list (plist-get result :error) (plist-get result :reason))
                       err))
            (and remains (concat "\n\n" remains)))))

;;;; edit_file

(defun agent-q-diff-tools--edit-outcome-message (call outcome)
  "Return the message about CALL, which came to OUTCOME."
  (let ((path (agent-q-diff-replace--path call)))
    (pcase-exhaustive (plist-get outcome :outcome)
      ('applied (agent-q-diff-tools--applied-message call outcome))
      ('denied (agent-q-diff-tools--denied-message path "edit_file" outcome))
      ('reviewed (agent-q-diff-message-of-result (plist-get outcome :result)
                                                 path)))))

(defun agent-q-diff-tools--edit-file (arguments)
  "Do what `edit_file' was called for with ARGUMENTS, an alist."
  (let-alist arguments
    (let ((agent-q-diff-wait-undecided nil)
          (call (agent-q-diff-replace-call-make
                 :path .path :old .old_str :new .new_str
                 :is-all .shouldReplaceAll :description .description
                 :arguments arguments)))
      (condition-case err
          (agent-q-diff-tools--edit-outcome-message
           call (agent-q-diff-replace-run call))
        (agent-q-diff-forbidden
         (agent-q-diff-tools--record-refusal "edit_file" .path err)
         (agent-q-diff-tools--edit-error-message call err))
        ((error quit)
         (agent-q-diff-tools--error-message
          err (apply-partially #'agent-q-diff-tools--edit-error-message call)))))))

;;;; propose_file_edit and propose_patch

;; A proposal is the name of its tool and the arguments, an alist: of the
;; one `path', `original', `modified' and `description', of the other
;; `path', `diff' and `description'.

;; A file outside the project may be proposed for, with a warning.  All else
;; that the guard looks at holds there as well; it then walks from the root
;; of the file system.

(defun agent-q-diff-tools--outermost (name)
  "Return the outermost directory above the file NAME."
  (let ((directory (file-name-directory name)))
    (while (not (agent-q-diff-guard-outermost-p directory))
      (setq directory (file-name-directory (directory-file-name directory))))
    directory))

(defun agent-q-diff-tools--root-for (name root)
  "Return the root from which the guard is to walk to the file NAME.
It is ROOT, the project's, unless that is nil or NAME is outside of it."
  (if (and root
           (condition-case nil
               (file-in-directory-p name root)
             ;; Links in a circle, of which the guard says that.
             (error (string-prefix-p root name))))
      root
    (agent-q-diff-tools--outermost (file-truename name))))

(defun agent-q-diff-tools--checked (name root)
  "Return the resolved name of NAME, or signal that no agent may edit that file.
ROOT is what `agent-q-diff-tools--root-for' returned."
  (agent-q-diff-file-uncached
    (agent-q-diff-guard-check (if (string-prefix-p root name)
                                  name
                                (file-truename name))
                              root)))

(defun agent-q-diff-tools--notes (name resolved root project)
  "Return what one must know before editing the file NAME, strings.
RESOLVED is its resolved name below ROOT, from which the guard walks;
PROJECT is the project's root, or nil if there is none to leave.  Signal an
error if no agent may edit it."
  (append
   (unless (or (not project) (equal root project))
     (list (format "The file is OUTSIDE the project %s" (abbreviate-file-name project))))
   (pcase (agent-q-diff-guard-protection resolved root name)
     (`(denied . ,reason)
      (signal 'agent-q-diff-forbidden
              (list (format "Error: Cannot write to file\n\nNot for agents: %s." reason))))
     (`(asked . ,reason) (list (format "PROTECTED: %s" reason))))))

(defun agent-q-diff-tools-target (tool path &optional project)
  "Return (NAME NOTES CHECK) for the file PATH that a call of TOOL is to change.
PROJECT is the root of the project that the agent works in, if known.
NAME is absolute; NOTES are strings for the user.  CHECK is a function
that signals an error if the file must not be written: while a proposal is
reviewed, a directory on the way to it may be replaced by a link, or
become one of git's own.  That PATH is refused is logged; what becomes of
a review is, where it ends.  PATH is relative to `default-directory'."
  (agent-q-diff-tools--logging-refusals
   tool path
   (lambda ()
     (let* ((name (agent-q-diff-target-name path))
            (root (agent-q-diff-tools--root-for name project))
            (resolved (agent-q-diff-tools--checked name root)))
       (list name
             (agent-q-diff-tools--notes name resolved root project)
             (lambda () (agent-q-diff-guard-recheck resolved root)))))))

(defun agent-q-diff-tools--logging-refusals (tool path function)
  "Call FUNCTION and return its value.
If it signals that PATH is refused to a call of TOOL, the log has that."
  (condition-case err
      (funcall function)
    ((agent-q-diff-bad-target agent-q-diff-forbidden)
     (agent-q-diff-tools--record-refusal tool path err)
     (signal (car err) (cdr err)))))

(defun agent-q-diff-tools--record-refusal (tool path err)
  "Record that PATH was refused to a call of TOOL by ERR."
  (agent-q-diff-log-record
   (list :tool tool :agent (car agent-q-diff-caller) :path path
         :outcome "refused" :decided-by 'guard
         :reason (agent-q-diff-error-text err))))

(defun agent-q-diff-tools--review-and-wait (target arguments)
  "Review ARGUMENTS for TARGET, and return the result.
TARGET is what `agent-q-diff-tools-target' returned."
  (pcase-let ((`(,name ,notes ,check) target))
    (let-alist arguments
      (if .diff
          (agent-q-diff-review-patch-and-wait name .diff .description
                                              :notes notes :check check)
        (agent-q-diff-review-and-wait name .original .modified .description
                                      :notes notes :check check)))))

(defun agent-q-diff-tools--propose (tool arguments)
  "Wait for the decision on the proposal of TOOL with ARGUMENTS.
Return the message for the agent, or signal why there is no decision."
  (let* ((default-directory (agent-q-diff-guard-root))
         (agent-q-diff-tool tool)
         (target (agent-q-diff-tools-target tool (alist-get 'path arguments)
                                            default-directory)))
    (agent-q-diff-tools--message
     (agent-q-diff-tools--review-and-wait target arguments)
     arguments)))

(defun agent-q-diff-tools--message (result arguments)
  "Return the message about RESULT of the proposal with ARGUMENTS.
The agent knows the file by the name that it gave; it must not believe
that more of a diff was done than its hunks."
  (let-alist arguments
    (string-join
     (cons (agent-q-diff-message-of-result result .path)
           (and .diff
                (equal "accepted" (plist-get result :decision))
                (agent-q-diff-api-undone-notes .diff)))
     "\n\n")))

(defun agent-q-diff-tools--propose-unless-denied (tool arguments)
  "Return the message about the proposal of TOOL with ARGUMENTS, come what may."
  (agent-q-diff-tools--answer-errors
   (alist-get 'path arguments)
   (lambda ()
     (or (agent-q-diff-tools--denial tool arguments)
         (agent-q-diff-tools--propose tool arguments)))))

(defun agent-q-diff-tools--answer-errors (path function)
  "Call FUNCTION, which proposes to change PATH, and return its message.
If it signals, that is the message about that."
  (let ((agent-q-diff-wait-undecided nil))
    (condition-case err
        (funcall function)
      ((error quit)
       (agent-q-diff-tools--error-message
        err (apply-partially #'agent-q-diff-message-of-error path))))))

(defun agent-q-diff-tools-propose-file-edit (path original modified description)
  "Let the user decide a proposal and return the message for Agent-Q's agent.
It has the words of Agent-Q's documents; for any other agent there is
`agent-q-diff-tools-call'.  PATH is absolute or relative to the project's
root; a file outside of it is shown with a warning.  ORIGINAL, MODIFIED
and DESCRIPTION are as for `agent-q-diff-review-and-wait'.  Whatever
happens, quitting included, the value is a string."
  (let ((agent-q-diff-contract 'agent-q))
    (agent-q-diff-tools--answer-errors
     path
     (lambda ()
       (agent-q-diff-tools--propose
        "propose_file_edit"
        `((path . ,path) (original . ,original) (modified . ,modified)
          (description . ,description)))))))

(defun agent-q-diff-tools--denial (tool arguments)
  "Return the message for the agent if TOOL is denied to ARGUMENTS, or nil.
The user's policy denies."
  (let* ((path (alist-get 'path arguments))
         (default-directory (agent-q-diff-guard-root))
         (request (agent-q-diff-request-make
                   :tool tool :path path
                   :name (agent-q-diff-tools--logging-refusals
                          tool path (lambda () (agent-q-diff-target-name path)))
                   :root default-directory :arguments arguments)))
    (when (eq (agent-q-diff-permit-policy request) 'deny)
      (agent-q-diff-log-record
       (list :tool tool :agent (car agent-q-diff-caller)
             :path (agent-q-diff-request-name request)
             :outcome "rejected" :decided-by 'policy))
      (agent-q-diff-tools--denied-message path tool '(:by policy)))))

(defun agent-q-diff-tools--begin (tool arguments callback)
  "Begin the review of the proposal of TOOL with ARGUMENTS and return it.
CALLBACK is called once with its result."
  (let-alist arguments
    (pcase-let* ((default-directory (agent-q-diff-guard-root))
                 (agent-q-diff-tool tool)
                 (`(,name ,notes ,check) (agent-q-diff-tools-target tool .path default-directory))
                 (tell (lambda (result)
                         (funcall callback
                                  (plist-put result :message
                                             (agent-q-diff-tools--message
                                              result arguments))))))
      (if .diff
          (agent-q-diff-review-patch name .diff .description tell
                                     :notes notes :check check)
        (agent-q-diff-review name .original .modified .description tell
                             :notes notes :check check)))))

(defun agent-q-diff-tools-review (tool arguments callback)
  "Let the user decide a proposal, and return the review at once.
TOOL is \"propose_file_edit\" or \"propose_patch\", ARGUMENTS an alist as
`agent-q-diff-schema-arguments' returns it.  CALLBACK is called once with
the result, as `agent-q-diff-review' has it; if the user's policy denies
the proposal, before this function returns nil, with a result of nothing
but :status `rejected', :decision and :message.  Signal an error if the
path can be no target's."
  (if-let ((denial (agent-q-diff-tools--denial tool arguments)))
      (progn
        (agent-q-diff-session-call-back callback
                                 (list :status 'rejected :decision "rejected"
                                       :message denial))
        nil)
    (agent-q-diff-tools--begin tool arguments callback)))

;;;; Calling a tool

(defun agent-q-diff-tools-list ()
  "Return the tools that agents can call, a list of plists:

:name          its name, a string
:description   what the agent is told of it
:parameters    a JSON schema of its arguments, an alist that
               `json-serialize' and `json-encode' take
:required      a list of the names of the parameters that must be given
:safety-level  a symbol, Agent-Q's
:categories    a list of symbols, Agent-Q's

`agent-q-diff-tools-call' calls one."
  (agent-q-diff-schema-list))

;;;###autoload
(defun agent-q-diff-tools-call (tool arguments)
  "Call TOOL, a name, with ARGUMENTS and return the message for the agent.
ARGUMENTS are a hash table, an alist or a plist, as JSON was read.
Whatever happens, quitting included, the value is a string; what is wrong
with the arguments is said in it."
  (condition-case err
      (let ((checked (agent-q-diff-schema-arguments tool arguments)))
        (pcase-exhaustive tool
          ("edit_file" (agent-q-diff-tools--edit-file checked))
          ((or "propose_file_edit" "propose_patch")
           (agent-q-diff-tools--propose-unless-denied tool checked))))
    ((error quit) (agent-q-diff-message-of-failure err))))

;;;; Calling a tool without waiting

(defvar agent-q-diff-tools--queue nil
  "Calls that are to be made, each (CALLER FUNCTION ANSWER).
FUNCTION makes the call; ANSWER takes the message for the agent without
making it.")

(defvar agent-q-diff-tools--is-busy nil
  "Non-nil while a call from the queue is made.")

(defconst agent-q-diff-tools--retry-seconds 0.1
  "Time after which the queue is looked at again while a minibuffer is open.")

;;;###autoload
(defun agent-q-diff-tools-call-async (tool arguments callback)
  "Call TOOL with ARGUMENTS, as `agent-q-diff-tools-call' does, and do not wait.
CALLBACK is called once, with the message for the agent.  Proposals are
reviewed at once.  Other calls are made one after the other, in their
order, none while a minibuffer is open; a grant for the session covers
those that wait."
  (if (agent-q-diff-schema-proposal-p tool)
      (agent-q-diff-tools--propose-async tool arguments callback)
    (agent-q-diff-tools--enqueue tool arguments callback)))

(defun agent-q-diff-tools--propose-async (tool arguments callback)
  "Begin the review of the proposal of TOOL with ARGUMENTS.
CALLBACK is called with the message for the agent."
  (condition-case err
      (let* ((checked (agent-q-diff-schema-arguments tool arguments))
             (path (alist-get 'path checked)))
        (condition-case err
            (agent-q-diff-tools-review
             tool checked
             (lambda (result)
               (funcall callback (plist-get result :message))))
          ((error quit)
           (funcall callback (agent-q-diff-message-of-error path err)))))
    (agent-q-diff-bad-arguments
     (funcall callback (agent-q-diff-message-of-failure err))))
  nil)

(defun agent-q-diff-tools--enqueue (tool arguments callback)
  "Call TOOL with ARGUMENTS when it is its turn, and CALLBACK with the message."
  (let ((directory default-directory)
        (root agent-q-diff-project-root)
        (contract agent-q-diff-contract)
        (caller agent-q-diff-caller))
    (setq agent-q-diff-tools--queue
          (append agent-q-diff-tools--queue
                  (list (list (cdr caller)
                              (lambda ()
                                (let ((default-directory directory)
                                      (agent-q-diff-project-root root)
                                      (agent-q-diff-contract contract)
                                      (agent-q-diff-caller caller))
                                  (agent-q-diff-tools--answer tool arguments
                                                              callback)))
                              callback))))
    (run-at-time 0 nil #'agent-q-diff-tools--run-queue)
    nil))

(defun agent-q-diff-tools-withdraw (caller)
  "Take back every call that CALLER waits for, and answer it.
CALLER is the cdr that `agent-q-diff-caller' had when it was made.  What
waits for its turn is not begun, a question is closed, a review
cancelled.  What is in a file by then stays there."
  (agent-q-diff-tools-withdraw-calls (apply-partially #'equal caller))
  (dolist (review (agent-q-diff-open-reviews))
    (when (equal caller (agent-q-diff-review-caller review))
      (agent-q-diff-cancel review))))

(defun agent-q-diff-tools-withdraw-calls (predicate)
  "Take back what callers that PREDICATE is true of asked for, but for reviews.
What waits for its turn is not begun, and a question is closed."
  (let* ((is-theirs (lambda (call) (funcall predicate (car call))))
         (theirs (seq-filter is-theirs agent-q-diff-tools--queue)))
    (setq agent-q-diff-tools--queue
          (seq-remove is-theirs agent-q-diff-tools--queue))
    (pcase-dolist (`(,_ ,_ ,answer) theirs)
      (funcall answer "Error: the call was taken back; nothing was changed")))
  (agent-q-diff-permit-withdraw predicate))

(defun agent-q-diff-tools--answer (tool arguments callback)
  "Call TOOL with ARGUMENTS, and CALLBACK with the message, come what may."
  (let ((message "Error: the call was cut short; nothing is known of its outcome"))
    (unwind-protect
        (setq message (agent-q-diff-tools-call tool arguments))
      (condition-case err
          (funcall callback message)
        (error (message "agent-q-diff: a callback failed: %s"
                        (error-message-string err)))))))

(defun agent-q-diff-tools--run-queue ()
  "Make the next call of the queue, unless one is being made."
  (cond
   ((or agent-q-diff-tools--is-busy (null agent-q-diff-tools--queue)))
   ((active-minibuffer-window)
    (run-at-time agent-q-diff-tools--retry-seconds nil
                 #'agent-q-diff-tools--run-queue))
   (t
    (unwind-protect
        (progn
          (setq agent-q-diff-tools--is-busy t)
          (funcall (nth 1 (pop agent-q-diff-tools--queue))))
      (setq agent-q-diff-tools--is-busy nil)
      (when agent-q-diff-tools--queue
        (run-at-time 0 nil #'agent-q-diff-tools--run-queue))))))

(provide 'agent-q-diff-tools)
;;; agent-q-diff-tools.el ends here
