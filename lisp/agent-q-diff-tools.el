;;; agent-q-diff-tools.el --- The tools that agents call  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Lists the tools `edit_file', `propose_file_edit', `propose_patch' and
;; `propose_changes', and calls them.  A call always ends in a message for the agent, whatever goes
;; wrong.  `agent-q-diff-contract' selects its wording; see
;; agent-q-diff-message.el.
;;
;; A framework registers what `agent-q-diff-tools-list' returns, and calls
;; `agent-q-diff-tools-call', or `agent-q-diff-tools-call-async' if it must
;; not wait.

;;; Code:

(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-schema)
(require 'agent-q-diff-message)
(require 'agent-q-diff-log)
(require 'agent-q-diff-queue)
(require 'agent-q-diff-session)
(require 'agent-q-diff-reviews)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-api)
(require 'agent-q-diff-permit)
(require 'agent-q-diff-edit-file)
(require 'agent-q-diff-propose)

(defun agent-q-diff-tools-list ()
  "Return the tools that agents can call, a list of plists:

:name          its name, a string
:description   the description that the agent reads
:parameters    a JSON schema of its arguments, an alist that
               `json-serialize' and `json-encode' take
:required      a list of the names of the parameters that must be given
:safety-level  a symbol, Agent-Q's
:categories    a list of symbols, Agent-Q's

`agent-q-diff-tools-call' calls one."
  (agent-q-diff-schema-list))

;;;; Calling a tool

;;;###autoload
(defun agent-q-diff-tools-call (tool arguments)
  "Call TOOL, a name, with ARGUMENTS and return the message for the agent.
ARGUMENTS are a hash table, an alist or a plist, as JSON was read.  The
value is always a string, even after a quit; wrong arguments are reported
in it."
  (condition-case err
      (let ((checked (agent-q-diff-schema-arguments tool arguments)))
        (pcase-exhaustive tool
          ("edit_file" (agent-q-diff-edit-file checked))
          ((or "propose_file_edit" "propose_patch" "propose_changes")
           (agent-q-diff-propose-and-wait tool checked))))
    ((error quit) (agent-q-diff-message-of-failure err))))

(defun agent-q-diff-tools-propose-file-edit (path original modified description)
  "Let the user decide a proposal and return the message for Agent-Q's agent.
It has the wording of Agent-Q's documents; for any other agent use
`agent-q-diff-tools-call'.  PATH is absolute or relative to the project's
root; a file outside of it is shown with a warning.  ORIGINAL, MODIFIED
and DESCRIPTION are as for `agent-q-diff-review-and-wait'.  The value is
always a string, even after a quit."
  (let ((agent-q-diff-contract 'agent-q))
    (agent-q-diff-propose-and-wait
     "propose_file_edit"
     `((path . ,path) (original . ,original) (modified . ,modified)
       (description . ,description))
     t)))

;;;; Callers that are gone

(defvar agent-q-diff-tools--gone nil
  "Functions that withdraw calls of callers that are gone, the newest first.")

(defun agent-q-diff-tools-later (function)
  "Run FUNCTION, which withdraws something, from a timer of its own.
Sentinels run inside each other while Emacs waits for anything, so that
connections which close together would fill the stack.  FUNCTION is called
by a timer, after those before it and never inside one."
  (unless agent-q-diff-tools--gone
    (run-at-time 0 nil #'agent-q-diff-tools--withdraw-next))
  (push function agent-q-diff-tools--gone))

(defun agent-q-diff-tools--withdraw-next ()
  "Call the oldest of `agent-q-diff-tools--gone', and go on by a timer.
So keys that the user types come first."
  (when-let ((function (car (last agent-q-diff-tools--gone))))
    (unwind-protect
        (funcall function)
      (setq agent-q-diff-tools--gone (nbutlast agent-q-diff-tools--gone))
      (when agent-q-diff-tools--gone
        (run-at-time 0 nil #'agent-q-diff-tools--withdraw-next)))))

(defun agent-q-diff-tools-withdraw-gone ()
  "Withdraw now what else a timer would, since the user or Emacs ends it all."
  (mapc #'funcall (nreverse (prog1 agent-q-diff-tools--gone
                              (setq agent-q-diff-tools--gone nil)))))

;;;; Calling a tool without waiting

;;;###autoload
(defun agent-q-diff-tools-call-async (tool arguments callback)
  "Call TOOL with ARGUMENTS without waiting.
CALLBACK is called once, with the message for the agent.  Proposals are
reviewed at once.  Other calls run one after the other, in order, and only
while no minibuffer is open; a grant for the session covers those that
wait.  TOOL and ARGUMENTS are as for `agent-q-diff-tools-call'."
  (if (agent-q-diff-schema-proposal-p tool)
      (agent-q-diff-propose-async tool arguments callback)
    (agent-q-diff-queue-add (lambda () (agent-q-diff-tools-call tool arguments))
                            callback)))

(defun agent-q-diff-tools-withdraw (caller)
  "Withdraw every call that CALLER waits for, and answer it.
CALLER is the cdr that `agent-q-diff-caller' had when the call was made.
A call in the queue is dropped, a question closed, a review cancelled.
Changes that are already in a file stay there."
  (agent-q-diff-tools-withdraw-calls (apply-partially #'equal caller))
  (dolist (review (agent-q-diff-open-reviews))
    (when (equal caller (agent-q-diff-session-caller review))
      (agent-q-diff-cancel review))))

(defun agent-q-diff-tools-withdraw-calls (predicate)
  "Withdraw what callers that satisfy PREDICATE asked for, except reviews.
A call in the queue is dropped and a question closed."
  (agent-q-diff-queue-withdraw predicate)
  (agent-q-diff-permit-withdraw predicate))

(provide 'agent-q-diff-tools)
;;; agent-q-diff-tools.el ends here
