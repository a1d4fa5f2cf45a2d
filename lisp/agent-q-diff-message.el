;;; agent-q-diff-message.el --- What agents read  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The messages about a review come in two wordings, and
;; `agent-q-diff-contract' selects one.  That of Agent-Q's documents is an
;; interface: its agent is prompted with it, so words, signs and line breaks
;; must not change, and no other agent reads it.  Every other agent reads
;; plain sentences.
;;
;; Both have the same facts; see agent-q-diff-message-facts.el.
;;
;; A result is a plist; see `agent-q-diff-review'.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-message-facts)
(require 'agent-q-diff-message-files)

;;;; Agent-Q's wording

(defconst agent-q-diff-message--accepted
  "✓ Changes accepted and applied to %s

The buffer has been updated with your proposed changes. Save the buffer when ready."
  "What Agent-Q's agent reads if at least one hunk is applied.")

(defconst agent-q-diff-message--rejected
  "✗ REJECTED: User explicitly declined changes to %s

STOP: Do NOT retry or propose alternative changes. The user has made a
deliberate decision to reject this edit. Report to the user that the
changes were not applied and ask if they would like to proceed differently."
  "What Agent-Q's agent reads if the user rejected the proposal.")

(defconst agent-q-diff-message--unexpected
  "⚠ Unexpected response from diff UI: %s

The file may not have been modified."
  "What Agent-Q's agent reads if the answer is not a decision.")

(defconst agent-q-diff-message--error
  "Error showing diff for %s: %s

This might indicate an issue with the Emacs integration. Make sure
sly-agent-q-diff.el is loaded."
  "What Agent-Q's agent reads if there is no answer.")

(defun agent-q-diff-message-of-decision (decision path)
  "Return Agent-Q's message about DECISION on its proposal for PATH."
  (pcase decision
    ("accepted" (format agent-q-diff-message--accepted path))
    ("rejected" (format agent-q-diff-message--rejected path))
    (_ (format agent-q-diff-message--unexpected decision))))

;;;; Plain sentences

(defconst agent-q-diff-message--stop
  "STOP: Do not try this again, and do not propose something else instead. Tell
the user what is and what is not in the file, and ask how to proceed."
  "What an agent reads after a rejection that it must not work around.")

(defun agent-q-diff-message--accepted-plainly (result path)
  "Return the first sentence about RESULT, which was accepted, for PATH."
  (let ((in (plist-get result :in-file)))
    (format "✓ %s %s in %s%s."
            (cond
             ((= in 0) "Accepted, but")
             ((< in (plist-get result :total)) "Accepted in part:")
             ((agent-q-diff-message-facts-edited-p result) "Accepted, with the user's edits:")
             (t "Accepted:"))
            (agent-q-diff-message-facts-count result)
            (agent-q-diff-message-facts-where result path)
            (if (and (plist-get result :saved) (< 0 in)) ", which is saved" ""))))

(defun agent-q-diff-message--rejected-plainly (result path)
  "Return the first sentences about RESULT, which was rejected, for PATH."
  (format "✗ Rejected: the user declined %s%s. %s in %s."
          (agent-q-diff-message-facts-declined result (format "the change to %s" path))
          (agent-q-diff-message-facts-left-open result)
          (agent-q-diff-message-facts-capitalized (agent-q-diff-message-facts-count result))
          (agent-q-diff-message-facts-place result)))

(defun agent-q-diff-message--reason-p (result)
  "Return non-nil if the user gave a reason for rejecting RESULT."
  (or (plist-get result :comment)
      (seq-some (lambda (hunk)
                  (and (plist-get hunk :comment)
                       (not (eq 'applied (plist-get hunk :state)))))
                (plist-get result :hunks))))

(defun agent-q-diff-message--stop-lines (is-reasoned)
  "Return a list with the directive to stop after a rejection, or nil.
IS-REASONED is non-nil if the user gave a reason."
  (pcase agent-q-diff-stop-directive
    ('always (list agent-q-diff-message--stop))
    ('never nil)
    (_ (unless is-reasoned
         (list agent-q-diff-message--stop)))))

(defun agent-q-diff-message--plainly (result path)
  "Return the message in plain sentences about RESULT, a decision, for PATH."
  (let ((is-accepted (equal "accepted" (plist-get result :decision))))
    (string-join
     (append
      (list (cond
             ((plist-get result :files)
              (if is-accepted
                  (agent-q-diff-message-files-accepted result)
                (agent-q-diff-message-files-rejected result)))
             (is-accepted (agent-q-diff-message--accepted-plainly result path))
             (t (agent-q-diff-message--rejected-plainly result path))))
      (unless is-accepted
        (agent-q-diff-message--stop-lines (agent-q-diff-message--reason-p result)))
      (when-let ((details (agent-q-diff-message--details result)))
        (list details)))
     "\n\n")))

(defun agent-q-diff-message--details (result)
  "Return lines about RESULT that its first sentence does not tell, or nil."
  (if (plist-get result :files)
      (agent-q-diff-message-files-details result)
    (agent-q-diff-message-facts-details result)))

;;;; No decision

(defun agent-q-diff-message-of-failure (err)
  "Return the message to the agent about ERR, of any kind.
A refusal by the guard already begins with \"Error: \"."
  (let ((text (agent-q-diff-error-text err)))
    (if (string-prefix-p "Error: " text)
        text
      (concat "Error: " text))))

(defun agent-q-diff-message-of-error (path err)
  "Return the message to the agent about ERR, the error of a proposal for PATH."
  (cond
   ((eq agent-q-diff-contract 'agent-q)
    (format agent-q-diff-message--error path (error-message-string err)))
   ;; The guard's message is complete, and the same for every tool.
   ((eq (car err) 'agent-q-diff-forbidden)
    (cadr err))
   (t
    (format (if (eq (car err) 'agent-q-diff-not-applied)
                "Error: the change could not be applied to %s: %s"
              "Error: there is no decision about %s: %s")
            (if (and (stringp path) (agent-q-diff-visible-path-flaw path))
                (agent-q-diff-visible path)
              path)
            (agent-q-diff-error-text err)))))

(defun agent-q-diff-message-of-remains (result)
  "Return what a review with RESULT left behind, or nil if nothing.
RESULT is not a decision.  The agent must not assume that the file is
unchanged, and the user's comments must not be lost."
  (let ((lines (append
                (when (plist-get result :total)
                  (agent-q-diff-message--remaining-hunks result))
                (agent-q-diff-message-facts-comments
                 ;; What is said of files has the comments on their hunks.
                 (if (plist-get result :files)
                     (list :comment (plist-get result :comment))
                   result)))))
    (and lines (string-join lines "\n"))))

(defun agent-q-diff-message--remaining-hunks (result)
  "Return lines about the hunks in the target after RESULT, which is no decision.
If there are none, Agent-Q's message stays as its documents have it."
  (cond
   ((and (eq agent-q-diff-contract 'agent-q)
         (= 0 (plist-get result :in-file)))
    nil)
   ((plist-get result :files)
    (list (concat "In the files: " (agent-q-diff-message-files-sentence result))))
   (t
    (append (list (agent-q-diff-message-facts-in-sentence result))
            (when (< 0 (plist-get result :in-file) (plist-get result :total))
              (pcase-let ((`(,in . ,out) (agent-q-diff-message-facts-in-and-out result)))
                (agent-q-diff-message-facts-which result in out)))
            (remq nil (list (agent-q-diff-message-facts-saved-note result)))))))

(defun agent-q-diff-message-of-no-decision (result)
  "Return why RESULT is not a decision, as one line for the text of an error.
It says how much is in the file: an agent that reads only that a review was
cancelled would assume that the file is unchanged."
  (if (and (eq 'cancelled (plist-get result :status))
           (plist-get result :total))
      (format "%s; %s in %s%s" (plist-get result :reason)
              (agent-q-diff-message-facts-count result)
              (agent-q-diff-message-facts-place result)
              (if-let ((note (agent-q-diff-message-facts-saved-note result)))
                  (concat ". " (string-remove-suffix "." note))
                ""))
    (plist-get result :reason)))

;;;; The message

(defun agent-q-diff-message-of-result (result path)
  "Return the message to the agent about RESULT of its proposal for PATH.
RESULT is a plist as for `agent-q-diff-review'."
  (cond
   ((not (memq (plist-get result :status) '(accepted partial rejected)))
    (let ((remains (agent-q-diff-message-of-remains result)))
      (concat (agent-q-diff-message-of-error
               path (list (plist-get result :error) (plist-get result :reason)))
              (and remains (concat "\n\n" remains)))))
   ((eq agent-q-diff-contract 'agent-q)
    (let ((details (agent-q-diff-message--details result)))
      (concat (agent-q-diff-message-of-decision (plist-get result :decision) path)
              (and details (concat "\n\n" details)))))
   (t (agent-q-diff-message--plainly result path))))

(defun agent-q-diff-message-of-denial (path reason &optional is-policy)
  "Return the message that a change of PATH was denied without a review.
REASON is what the user said, a string or nil.  If IS-POLICY is non-nil,
it is a sentence about the user's settings."
  (if (eq agent-q-diff-contract 'agent-q)
      (concat (agent-q-diff-message-of-decision "rejected" path)
              (and reason (format "\n\nReason: %s" reason)))
    (string-join
     (append (list (format "✗ Rejected: %s None of it is in the file."
                           (if is-policy
                               reason
                             (format "the user declined the change to %s." path))))
             (agent-q-diff-message--stop-lines (and reason (not is-policy)))
             (and reason (not is-policy) (list (format "Reason: %s" reason))))
     "\n\n")))

;;;; Calls of tools

(defun agent-q-diff-message-of-denied-call (path tool outcome)
  "Return the message about a denied call of TOOL for PATH.
OUTCOME is a plist: :by is who denied it, :reason why."
  (let ((reason (or (plist-get outcome :reason)
                    (and (eq (plist-get outcome :by) 'policy)
                         (format "the user's settings deny %s here." tool)))))
    (agent-q-diff-message-of-denial path reason
                                    (eq (plist-get outcome :by) 'policy))))

(defun agent-q-diff-message-of-undecided (result err function)
  "Return the message about ERR, and what a review left behind.
FUNCTION returns the message for an error.  RESULT is that of a review that
was not decided, which says more than ERR, or nil if there was no review."
  (let ((remains (and result (agent-q-diff-message-of-remains result))))
    (concat (funcall function
                     (if result
                         (list (plist-get result :error) (plist-get result :reason))
                       err))
            (and remains (concat "\n\n" remains)))))

(provide 'agent-q-diff-message)
;;; agent-q-diff-message.el ends here
