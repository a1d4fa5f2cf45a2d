;;; agent-q-diff-tools.el --- What agents call, and what they read  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tool `propose_file_edit' as a function that returns the message for
;; the agent.  The texts of the messages are an interface: agents are
;; prompted with them, so their words, signs and line breaks stay.  What is
;; said beyond them follows on lines of its own.

;;; Code:

(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-target)
(require 'agent-q-diff-guard)
(require 'agent-q-diff)

;;;; Messages

(defconst agent-q-diff-tools--accepted
  "✓ Changes accepted and applied to %s

The buffer has been updated with your proposed changes. Save the buffer when ready."
  "What the agent reads when at least one hunk is applied.")

(defconst agent-q-diff-tools--rejected
  "✗ REJECTED: User explicitly declined changes to %s

STOP: Do NOT retry or propose alternative changes. The user has made a
deliberate decision to reject this edit. Report to the user that the
changes were not applied and ask if they would like to proceed differently."
  "What the agent reads when the user rejected the proposal.")

(defconst agent-q-diff-tools--unexpected
  "⚠ Unexpected response from diff UI: %s

The file may not have been modified."
  "What the agent reads when there is an answer that is no decision.")

(defconst agent-q-diff-tools--error
  "Error showing diff for %s: %s

This might indicate an issue with the Emacs integration. Make sure
sly-agent-q-diff.el is loaded."
  "What the agent reads when there is no answer.")

(defun agent-q-diff-tools-decision-message (decision path)
  "Return the message to the agent about DECISION on its proposal for PATH."
  (pcase decision
    ("accepted" (format agent-q-diff-tools--accepted path))
    ("rejected" (format agent-q-diff-tools--rejected path))
    (_ (format agent-q-diff-tools--unexpected decision))))

(defun agent-q-diff-tools-error-message (path err)
  "Return the message to the agent about ERR, signaled by its proposal for PATH."
  (format agent-q-diff-tools--error path (error-message-string err)))

(defun agent-q-diff-tools--numbers (hunks)
  "Return the numbers of HUNKS, results of single hunks, as a string."
  (mapconcat (lambda (hunk) (number-to-string (1+ (plist-get hunk :index))))
             hunks ", "))

(defun agent-q-diff-tools--part (format hunks)
  "Return FORMAT with the numbers of HUNKS, or nil if there are none."
  (when hunks
    (format format (agent-q-diff-tools--numbers hunks))))

(defun agent-q-diff-tools--details (result)
  "Return lines about RESULT that the decision alone does not tell, or nil.
They speak of what is in the file, whatever the marks."
  (let* ((hunks (plist-get result :hunks))
         (in (seq-filter (lambda (hunk) (plist-get hunk :in-file)) hunks))
         (out (seq-difference hunks in #'eq))
         (accepted (equal (plist-get result :decision) "accepted"))
         (lines (append
                 (unless (if accepted (null out) (null in))
                   (agent-q-diff-tools--partial in out))
                 (when (plist-get result :altered)
                   (list "On saving, a hook of the user's changed other lines as well.")))))
    (and lines (string-join lines "\n"))))

(defun agent-q-diff-tools--partial (in out)
  "Return lines that tell the hunks IN the file from those OUT of it."
  (let ((failed (seq-filter (lambda (hunk) (plist-get hunk :reason)) out)))
    (delq nil
          (list (format "%d of %d hunks are in the file."
                        (length in) (+ (length in) (length out)))
                (agent-q-diff-tools--part "In the file: hunk %s." in)
                (agent-q-diff-tools--part "Not in the file: hunk %s." out)
                (agent-q-diff-tools--part
                 "Was in the file, but its lines have been changed there since: hunk %s."
                 (seq-filter (lambda (hunk) (plist-get hunk :lost)) out))
                (agent-q-diff-tools--part
                 "Could not be applied where it belongs: hunk %s." failed)))))

;;;; propose_file_edit

(defun agent-q-diff-tools--outside-note (name root)
  "Return a warning if the file NAME is not below ROOT, or nil."
  (unless (file-in-directory-p name root)
    (format "The file is OUTSIDE the project %s" (abbreviate-file-name root))))

(defun agent-q-diff-tools-propose-file-edit (path original modified description)
  "Let the user decide a proposal and return the message for the agent.
PATH is absolute or relative to the project's root; a file outside of it
is shown with a warning.  ORIGINAL, MODIFIED and DESCRIPTION are as for
`agent-q-diff-review-and-wait'.  Whatever happens, quitting included, the
value is a string."
  (condition-case err
      (let* ((default-directory (agent-q-diff-guard-root))
             (name (agent-q-diff-target-name path))
             (note (agent-q-diff-tools--outside-note name default-directory))
             (result (agent-q-diff-review-and-wait
                      name original modified description
                      :notes (and note (list note))))
             (message (agent-q-diff-tools-decision-message
                       (plist-get result :decision) path))
             (details (agent-q-diff-tools--details result)))
        (if details
            (concat message "\n\n" details)
          message))
    ((error quit) (agent-q-diff-tools-error-message path err))))

(provide 'agent-q-diff-tools)
;;; agent-q-diff-tools.el ends here
