;;; agent-q-diff-message.el --- What agents read  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The messages about a review.  Their texts are an interface: agents are
;; prompted with them, so their words, signs and line breaks stay.  What is
;; said beyond them follows on lines of its own.

;;; Code:

(require 'seq)
(require 'subr-x)

(defconst agent-q-diff-message--accepted
  "✓ Changes accepted and applied to %s

The buffer has been updated with your proposed changes. Save the buffer when ready."
  "What the agent reads when at least one hunk is applied.")

(defconst agent-q-diff-message--rejected
  "✗ REJECTED: User explicitly declined changes to %s

STOP: Do NOT retry or propose alternative changes. The user has made a
deliberate decision to reject this edit. Report to the user that the
changes were not applied and ask if they would like to proceed differently."
  "What the agent reads when the user rejected the proposal.")

(defconst agent-q-diff-message--unexpected
  "⚠ Unexpected response from diff UI: %s

The file may not have been modified."
  "What the agent reads when there is an answer that is no decision.")

(defconst agent-q-diff-message--error
  "Error showing diff for %s: %s

This might indicate an issue with the Emacs integration. Make sure
sly-agent-q-diff.el is loaded."
  "What the agent reads when there is no answer.")

(defun agent-q-diff-message-of-decision (decision path)
  "Return the message to the agent about DECISION on its proposal for PATH."
  (pcase decision
    ("accepted" (format agent-q-diff-message--accepted path))
    ("rejected" (format agent-q-diff-message--rejected path))
    (_ (format agent-q-diff-message--unexpected decision))))

(defun agent-q-diff-message-of-error (path err)
  "Return the message to the agent about ERR, signaled by its proposal for PATH."
  (format agent-q-diff-message--error path (error-message-string err)))

(defun agent-q-diff-message--numbers (hunks)
  "Return the numbers of HUNKS, results of single hunks, as a string."
  (mapconcat (lambda (hunk) (number-to-string (1+ (plist-get hunk :index))))
             hunks ", "))

(defun agent-q-diff-message--part (format hunks)
  "Return FORMAT with the numbers of HUNKS, or nil if there are none.
Where the user has split hunks, only their lines tell the agent which
they are."
  (when hunks
    (if (seq-some (lambda (hunk) (plist-get hunk :part)) hunks)
        (concat (format format "s") "\n"
                (string-trim-right
                 (mapconcat (lambda (hunk) (plist-get hunk :part)) hunks "")
                 "\n"))
      (format format (concat " " (agent-q-diff-message--numbers hunks))))))

(defun agent-q-diff-message--details (result)
  "Return lines about RESULT that the decision alone does not tell, or nil.
They speak of what is in the file, whatever the marks."
  (let* ((hunks (plist-get result :hunks))
         (in-file-p (lambda (hunk) (plist-get hunk :in-file)))
         (in (seq-filter in-file-p hunks))
         (out (seq-remove in-file-p hunks))
         (accepted (equal (plist-get result :decision) "accepted"))
         (lines (append
                 (unless (if accepted (null out) (null in))
                   (agent-q-diff-message--partial in out))
                 (agent-q-diff-message--edited hunks)
                 (agent-q-diff-message--comments result)
                 (when (plist-get result :altered)
                   (list "On saving, a hook of the user's changed other lines as well.")))))
    (and lines (string-join lines "\n"))))

(defun agent-q-diff-message--edited (hunks)
  "Return lines with what the user made of those HUNKS that are edited."
  (mapcan (lambda (hunk)
            (when-let ((diff (and (or (plist-get hunk :in-file)
                                      (not (eq 'rejected (plist-get hunk :state))))
                                  (plist-get hunk :edited))))
              (list (format "The user made something else of hunk %d%s:"
                            (1+ (plist-get hunk :index))
                            (if (plist-get hunk :in-file)
                                ", and so it is in the file"
                              ""))
                    (string-trim-right diff "\n"))))
          hunks))

(defun agent-q-diff-message--partial (in out)
  "Return lines that tell the hunks IN the file from those OUT of it."
  (let ((failed (seq-filter (lambda (hunk) (plist-get hunk :reason)) out)))
    (append
     (delq nil
           (list (format "%d of %d hunks are in the file."
                         (length in) (+ (length in) (length out)))
                 (agent-q-diff-message--part "In the file: hunk%s." in)
                 (agent-q-diff-message--part "Not in the file: hunk%s." out)
                 (agent-q-diff-message--part
                  "Was in the file, but its lines have been changed there since: hunk%s."
                  (seq-filter (lambda (hunk) (plist-get hunk :lost)) out))
                 (agent-q-diff-message--part
                  "Could not be applied where it belongs: hunk%s." failed)))
     (agent-q-diff-message--live-lines (append in out)))))

(defconst agent-q-diff--n-shown 50
  "Number of hunks of which a result tells what now stands in their place.
Each costs a walk over the line map.")

(defconst agent-q-diff-message--shown-lines 20
  "Number of lines of a hunk that a message shows as they now are.")

(defun agent-q-diff-message--live-lines (hunks)
  "Return lines that show what now stands in the places of HUNKS.
Each is numbered as agents know it from the tools by which they read."
  (let ((known (sort (seq-filter (lambda (hunk) (plist-get hunk :now)) hunks)
                     (lambda (one other)
                       (< (plist-get one :index) (plist-get other :index))))))
    (when known
      (append (list "The lines as they now are:")
              (mapcan #'agent-q-diff-message--numbered known)
              (agent-q-diff-message--not-shown hunks)))))

(defun agent-q-diff-message--not-shown (hunks)
  "Return a line about those of HUNKS that are one too many to be shown, or nil."
  (let ((n (- (length hunks) agent-q-diff--n-shown)))
    (when (> n 0)
      (list (format "The lines of %d more hunk%s, from hunk %d on, are not shown."
                    n (if (= n 1) "" "s") (1+ agent-q-diff--n-shown))))))

(defun agent-q-diff-message--numbered (hunk)
  "Return lines that show what now stands in the place of HUNK."
  (pcase-let* ((`(,line . ,text) (plist-get hunk :now))
               (lines (and (not (string-empty-p text))
                           (split-string (string-remove-suffix "\n" text) "\n")))
               (more (- (length lines) agent-q-diff-message--shown-lines)))
    (append
     (list (format "hunk %d, %s:" (1+ (plist-get hunk :index))
                   (if (plist-get hunk :in-file) "in the file" "not in the file")))
     (seq-map-indexed (lambda (text index)
                        (format "%6d\t%s" (+ line index 1)
                                (string-remove-suffix "\r" text)))
                      (seq-take lines agent-q-diff-message--shown-lines))
     (when (> more 0)
       (list (format "       … %d more lines" more))))))

(defun agent-q-diff-message--comments (result)
  "Return lines with the user's comments on RESULT and on its hunks."
  (append
   (when-let ((comment (plist-get result :comment)))
     (list (format "The user says: %s" comment)))
   (mapcan (lambda (hunk)
             (when-let ((comment (plist-get hunk :comment)))
               (list (format "The user says of hunk %d%s: %s"
                             (1+ (plist-get hunk :index))
                             (if (eq 'rejected (plist-get hunk :state))
                                 ", which is rejected"
                               "")
                             comment))))
           (plist-get result :hunks))))

(defun agent-q-diff-message-of-result (result path)
  "Return the message to the agent about RESULT of its proposal for PATH.
RESULT is a plist as `agent-q-diff-review' has it."
  (if (memq (plist-get result :status) '(accepted partial rejected))
      (let ((message (agent-q-diff-message-of-decision
                      (plist-get result :decision) path))
            (details (agent-q-diff-message--details result)))
        (if details
            (concat message "\n\n" details)
          message))
    (let ((message (agent-q-diff-message-of-error
                    path (list (plist-get result :error)
                               (plist-get result :reason))))
          (remains (agent-q-diff-message-of-remains result)))
      (if remains
          (concat message "\n\n" remains)
        message))))

(defun agent-q-diff-message-of-remains (result)
  "Return what is left of RESULT, which is no decision, or nil.
Who reads that there was none must not take the file for what it was, and
what the user wrote must not be lost."
  (let ((lines (append
                (when (< 0 (or (plist-get result :in-file) 0))
                  (list (format "%d of its %d hunks are in the file."
                                (plist-get result :in-file)
                                (plist-get result :total))))
                (agent-q-diff-message--comments result))))
    (and lines (string-join lines "\n"))))

(provide 'agent-q-diff-message)
;;; agent-q-diff-message.el ends here
