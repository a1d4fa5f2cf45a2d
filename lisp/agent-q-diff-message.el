;;; agent-q-diff-message.el --- What agents read  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The messages about a review.  There are two sets of words.  Those of
;; Agent-Q's documents are an interface: its agent is prompted with them, so
;; their words, signs and line breaks stay, and only it reads them.  Every
;; other agent reads plain sentences.  `agent-q-diff-contract' chooses.
;;
;; The facts are the same in both, and follow from the result alone: how
;; much is in the file, or only in the buffer; which hunks; what the user
;; made of them and said.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)

;;;; Agent-Q's words

(defconst agent-q-diff-message--accepted
  "✓ Changes accepted and applied to %s

The buffer has been updated with your proposed changes. Save the buffer when ready."
  "What Agent-Q's agent reads when at least one hunk is applied.")

(defconst agent-q-diff-message--rejected
  "✗ REJECTED: User explicitly declined changes to %s

STOP: Do NOT retry or propose alternative changes. The user has made a
deliberate decision to reject this edit. Report to the user that the
changes were not applied and ask if they would like to proceed differently."
  "What Agent-Q's agent reads when the user rejected the proposal.")

(defconst agent-q-diff-message--unexpected
  "⚠ Unexpected response from diff UI: %s

The file may not have been modified."
  "What Agent-Q's agent reads when there is an answer that is no decision.")

(defconst agent-q-diff-message--error
  "Error showing diff for %s: %s

This might indicate an issue with the Emacs integration. Make sure
sly-agent-q-diff.el is loaded."
  "What Agent-Q's agent reads when there is no answer.")

(defun agent-q-diff-message-of-decision (decision path)
  "Return Agent-Q's message about DECISION on its proposal for PATH."
  (pcase decision
    ("accepted" (format agent-q-diff-message--accepted path))
    ("rejected" (format agent-q-diff-message--rejected path))
    (_ (format agent-q-diff-message--unexpected decision))))

;;;; Plain words

(defconst agent-q-diff-message--stop
  "STOP: Do not try this again, and do not propose something else instead. Tell
the user how the file stands, and ask how to go on."
  "What an agent reads after a rejection that it must not get around.")

(defun agent-q-diff-message--count (result)
  "Return how much of RESULT is in the target, as a subject with its verb."
  (let ((total (plist-get result :total))
        (in (plist-get result :in-file)))
    (cond
     ((= in 0) "none of it is")
     ((and (= in total) (= total 1)) "the change is")
     ((= in total 2) "both hunks are")
     ((= in total) (format "all %d hunks are" total))
     (t (format "%d of %d hunks %s" in total (if (= in 1) "is" "are"))))))

(defun agent-q-diff-message--place (result)
  "Return where the hunks of RESULT are that are in the target, in words.
What nobody saved is in no file."
  (cond
   ((plist-get result :detached) "the text")
   ((or (plist-get result :saved)
        (plist-get result :overwritten)
        (not (plist-member result :saved))
        (and (plist-get result :untouched) (= 0 (plist-get result :in-file))))
    "the file")
   (t "the buffer")))

(defun agent-q-diff-message--where (result path)
  "Return what `agent-q-diff-message--place' does for RESULT, with PATH."
  (pcase (agent-q-diff-message--place result)
    ("the text" (format "the text for %s; no file was written" path))
    ("the file" path)
    ("the buffer" (format "the user's Emacs buffer for %s" path))))

(defun agent-q-diff-message--saved-note (result)
  "Return what to say of the file of RESULT if it is not what the buffer is.
Return nil if there is nothing to say."
  (cond
   ((or (plist-get result :detached) (not (plist-member result :saved))) nil)
   ((plist-get result :saved) nil)
   ((plist-get result :overwritten)
    "What was applied is still in the user's Emacs buffer.")
   ((not (plist-get result :untouched))
    "The buffer has unsaved changes, so the file on disk may differ from it.")
   ((< 0 (plist-get result :in-file))
    "The buffer is not saved; the file on disk is as it was.")))

(defun agent-q-diff-message--capitalized (sentence)
  "Return SENTENCE with its first letter in upper case."
  (concat (upcase (substring sentence 0 1)) (substring sentence 1)))

(defun agent-q-diff-message--accepted-plainly (result path)
  "Return the first sentence about RESULT, accepted by the user, for PATH."
  (let ((in (plist-get result :in-file)))
    (format "✓ %s %s in %s%s."
            (cond
             ((= in 0) "Accepted, but")
             ((< in (plist-get result :total)) "Accepted in part:")
             ((agent-q-diff-message--edited-p result) "Accepted, with the user's edits:")
             (t "Accepted:"))
            (agent-q-diff-message--count result)
            (agent-q-diff-message--where result path)
            (if (and (plist-get result :saved) (< 0 in)) ", which is saved" ""))))

(defun agent-q-diff-message--rejected-plainly (result path)
  "Return the first sentences about RESULT, rejected by the user, for PATH."
  (format "✗ Rejected: the user declined the change to %s. %s in %s."
          path
          (agent-q-diff-message--capitalized (agent-q-diff-message--count result))
          (agent-q-diff-message--place result)))

(defun agent-q-diff-message--reason-p (result)
  "Return non-nil if the user said why RESULT was rejected."
  (or (plist-get result :comment)
      (seq-some (lambda (hunk)
                  (and (plist-get hunk :comment)
                       (not (eq 'applied (plist-get hunk :state)))))
                (plist-get result :hunks))))

(defun agent-q-diff-message--stop-lines (is-reasoned)
  "Return a list with the directive to stop after a rejection, or nil.
IS-REASONED tells whether the user said why."
  (pcase agent-q-diff-stop-directive
    ('always (list agent-q-diff-message--stop))
    ('never nil)
    (_ (unless is-reasoned
         (list agent-q-diff-message--stop)))))

(defun agent-q-diff-message--plainly (result path)
  "Return the message in plain words about RESULT, decided, for PATH."
  (let ((is-accepted (equal "accepted" (plist-get result :decision))))
    (string-join
     (append
      (list (if is-accepted
                (agent-q-diff-message--accepted-plainly result path)
              (agent-q-diff-message--rejected-plainly result path)))
      (unless is-accepted
        (agent-q-diff-message--stop-lines (agent-q-diff-message--reason-p result)))
      (when-let ((details (agent-q-diff-message--details result)))
        (list details)))
     "\n\n")))

;;;; No decision

(defun agent-q-diff-message-of-failure (err)
  "Return the message to the agent about ERR, whatever it was about.
What the guard refuses has its first word already."
  (let ((text (agent-q-diff-error-text err)))
    (if (string-prefix-p "Error: " text)
        text
      (concat "Error: " text))))

(defun agent-q-diff-message-of-error (path err)
  "Return the message to the agent about ERR, signaled by its proposal for PATH."
  (cond
   ((eq agent-q-diff-contract 'agent-q)
    (format agent-q-diff-message--error path (error-message-string err)))
   ;; What the guard refuses it says in full, in the same words to every tool.
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
  "Return what is left of RESULT, which is no decision, or nil.
Who reads that there was none must not take the file for what it was, and
what the user wrote must not be lost."
  (let ((lines (append
                (when (plist-get result :total)
                  (agent-q-diff-message--remaining-hunks result))
                (agent-q-diff-message--comments result))))
    (and lines (string-join lines "\n"))))

(defun agent-q-diff-message--remaining-hunks (result)
  "Return lines about the hunks of RESULT, no decision, that are in the target.
Agent-Q's words are left alone where nothing is."
  (unless (and (eq agent-q-diff-contract 'agent-q)
               (= 0 (plist-get result :in-file)))
    (append (list (agent-q-diff-message--in-sentence result))
            (when (< 0 (plist-get result :in-file) (plist-get result :total))
              (pcase-let ((`(,in . ,out) (agent-q-diff-message--in-and-out result)))
                (agent-q-diff-message--which result in out)))
            (remq nil (list (agent-q-diff-message--saved-note result))))))

(defun agent-q-diff-message--in-sentence (result)
  "Return a sentence about how much of RESULT is in the target.
For Agent-Q it has the numbers that its document 004 asks for."
  (let ((in (plist-get result :in-file))
        (place (agent-q-diff-message--place result)))
    (if (eq agent-q-diff-contract 'agent-q)
        (format "%d of %d hunks %s in %s." in (plist-get result :total)
                (if (= in 1) "is" "are") place)
      (format "%s in %s."
              (agent-q-diff-message--capitalized (agent-q-diff-message--count result))
              place))))

(defun agent-q-diff-message-of-no-decision (result)
  "Return why RESULT is no decision, as one line for the text of an error.
It says how much is in the file, since who reads that a review was
cancelled takes the file for what it was."
  (if (and (eq 'cancelled (plist-get result :status))
           (plist-get result :total))
      (format "%s; %s in %s%s" (plist-get result :reason)
              (agent-q-diff-message--count result)
              (agent-q-diff-message--place result)
              (if-let ((note (agent-q-diff-message--saved-note result)))
                  (concat ". " (string-remove-suffix "." note))
                ""))
    (plist-get result :reason)))

;;;; The message

(defun agent-q-diff-message-of-result (result path)
  "Return the message to the agent about RESULT of its proposal for PATH.
RESULT is a plist as `agent-q-diff-review' has it."
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
  "Return the message that a change of PATH was denied before a review.
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

;;;; Details

(defun agent-q-diff-message--numbers (hunks)
  "Return the numbers of HUNKS, results of single hunks, as a string."
  (let ((numbers (mapcar (lambda (hunk) (number-to-string (1+ (plist-get hunk :index))))
                         hunks)))
    (if (cdr numbers)
        (concat (string-join (butlast numbers) ", ") " and " (car (last numbers)))
      (car numbers))))

(defun agent-q-diff-message--part (format hunks)
  "Return FORMAT about HUNKS, or nil if there are none.
FORMAT ends in \"hunk%s.\", which becomes their numbers.  Where the user
has split hunks, only their lines tell the agent which they are."
  (when hunks
    (if (seq-some (lambda (hunk) (plist-get hunk :part)) hunks)
        (concat (string-remove-suffix " hunk%s." format)
                (mapconcat #'agent-q-diff-message--part-lines hunks ""))
      (format format (concat (if (cdr hunks) "s " " ")
                             (agent-q-diff-message--numbers hunks))))))

(defun agent-q-diff-message--part-lines (hunk)
  "Return lines that tell HUNK, a result of a single hunk, by its lines."
  (format "\nhunk %d:\n%s" (1+ (plist-get hunk :index))
          (string-trim-right (or (plist-get hunk :part) "") "\n")))

(defun agent-q-diff-message--in-and-out (result)
  "Return (IN . OUT), the hunks of RESULT that are in the target and the others."
  (let ((in-file-p (lambda (hunk) (plist-get hunk :in-file)))
        (hunks (plist-get result :hunks)))
    (cons (seq-filter in-file-p hunks) (seq-remove in-file-p hunks))))

(defun agent-q-diff-message--details (result)
  "Return lines about RESULT that the decision alone does not tell, or nil.
They speak of what is in the file, whatever the marks."
  (pcase-let* ((`(,in . ,out) (agent-q-diff-message--in-and-out result))
               (is-accepted (equal (plist-get result :decision) "accepted"))
               (lines (append
                       (if (if is-accepted (null out) (null in))
                           (remq nil (list (agent-q-diff-message--saved-note result)))
                         (agent-q-diff-message--partial result in out))
                       (agent-q-diff-message--placement result)
                       (agent-q-diff-message--edited result)
                       (agent-q-diff-message--comments result)
                       (when (plist-get result :altered)
                         (list "On saving, a hook of the user's changed other lines as well.")))))
    (and lines (string-join lines "\n"))))

(defun agent-q-diff-message--edited-p (result)
  "Return non-nil if a hunk of RESULT that is in the target was edited."
  (seq-some (lambda (hunk) (and (plist-get hunk :in-file) (plist-get hunk :edited)))
            (plist-get result :hunks)))

(defun agent-q-diff-message--edited (result)
  "Return lines with what the user made of those hunks of RESULT that are edited."
  (mapcan (lambda (hunk)
            (when-let ((diff (and (or (plist-get hunk :in-file)
                                      (not (eq 'rejected (plist-get hunk :state))))
                                  (plist-get hunk :edited))))
              (list (format (if (plist-get hunk :in-file)
                                "The user edited hunk %d; in %s it is:"
                              "The user edited hunk %d:")
                            (1+ (plist-get hunk :index))
                            (agent-q-diff-message--place result))
                    (string-trim-right diff "\n"))))
          (plist-get result :hunks)))

(defun agent-q-diff-message--partial (result in out)
  "Return lines that tell the hunks IN the target of RESULT from those OUT of it."
  (append
   ;; The first sentence in plain words says so.
   (when (eq agent-q-diff-contract 'agent-q)
     (list (agent-q-diff-message--in-sentence result)))
   (agent-q-diff-message--which result in out)
   (remq nil (list (agent-q-diff-message--saved-note result)))
   (agent-q-diff-message--live-lines result (append in out))))

(defun agent-q-diff-message--which (result in out)
  "Return lines that say which hunks are IN the target of RESULT, and which OUT."
  (let ((place (agent-q-diff-message--place result)))
    (delq nil
          (list (agent-q-diff-message--part (format "In %s: hunk%%s." place) in)
                (agent-q-diff-message--part (format "Not in %s: hunk%%s." place) out)
                (agent-q-diff-message--part
                 (format "Was in %s, but its lines have been changed there since: hunk%%s."
                         place)
                 (seq-filter (lambda (hunk) (plist-get hunk :lost)) out))
                (agent-q-diff-message--part
                 "Could not be applied where it belongs: hunk%s."
                 (seq-filter (lambda (hunk) (plist-get hunk :reason)) out))))))

(defun agent-q-diff-message--placement (result)
  "Return lines about hunks of RESULT that were not just applied where stated.
That a change was there before, or is where its context differs, is not
to be taken for what the user applied."
  (let ((hunks (plist-get result :hunks))
        (place (agent-q-diff-message--place result)))
    (delq nil
          (append
           (list (agent-q-diff-message--part
                  (format "Was in %s already, and was not put there by this review: hunk%%s."
                          place)
                  (seq-filter (lambda (hunk) (plist-get hunk :was-in)) hunks)))
           (mapcar (lambda (hunk) (agent-q-diff-message--fuzzy hunk place)) hunks)
           (mapcar #'agent-q-diff-message--ambiguous hunks)))))

(defun agent-q-diff-message--fuzzy (hunk place)
  "Return a line about the context of HUNK in PLACE if that differs, or nil."
  (let ((fuzz (or (plist-get hunk :fuzz) 0))
        (offset (plist-get hunk :offset)))
    (when (and (> fuzz 0) (plist-get hunk :in-file))
      (format "Hunk %d is in %s with fuzz %d: its outermost context lines differ there%s."
              (1+ (plist-get hunk :index)) place fuzz
              (if offset
                  (format "; shifted by %d line%s" offset (if (= 1 (abs offset)) "" "s"))
                "")))))

(defun agent-q-diff-message--ambiguous (hunk)
  "Return a line about the places of HUNK if nobody has chosen one, or nil."
  (pcase (plist-get hunk :places)
    ('nil nil)
    (`(,line) (format "Hunk %d may belong at line %d, but that is not certain."
                      (1+ (plist-get hunk :index)) (1+ line)))
    (places (format "The lines of hunk %d are at several places: lines %s%s. \
Send it with more context, or keep the \"index\" line of git diff."
                    (1+ (plist-get hunk :index))
                    (mapconcat (lambda (line) (number-to-string (1+ line)))
                               (seq-take places 10) ", ")
                    (if (nthcdr 10 places) ", …" "")))))

(defconst agent-q-diff-message-n-shown 50
  "Number of hunks of which a result tells what now stands in their place.
Each costs a walk over the line map.")

(defconst agent-q-diff-message--shown-lines 20
  "Number of lines of a hunk that a message shows as they now are.")

(defun agent-q-diff-message--live-lines (result hunks)
  "Return lines that show what now stands in the places of HUNKS of RESULT.
Each is numbered as agents know it from the tools by which they read."
  (let ((known (sort (seq-filter (lambda (hunk) (plist-get hunk :now)) hunks)
                     (lambda (one other)
                       (< (plist-get one :index) (plist-get other :index))))))
    (when known
      (append (list "The lines as they now are:")
              (mapcan (apply-partially #'agent-q-diff-message--numbered
                                       (agent-q-diff-message--place result))
                      known)
              (agent-q-diff-message--not-shown hunks)))))

(defun agent-q-diff-message--not-shown (hunks)
  "Return a line about those of HUNKS that are one too many to be shown, or nil."
  (let ((n (- (length hunks) agent-q-diff-message-n-shown)))
    (when (> n 0)
      (list (format "The lines of %d more hunk%s, from hunk %d on, are not shown."
                    n (if (= n 1) "" "s") (1+ agent-q-diff-message-n-shown))))))

(defun agent-q-diff-message--numbered (place hunk)
  "Return lines that show what now stands where HUNK belongs in PLACE."
  (pcase-let* ((`(,line . ,text) (plist-get hunk :now))
               (lines (and (not (string-empty-p text))
                           (split-string (string-remove-suffix "\n" text) "\n")))
               (more (- (length lines) agent-q-diff-message--shown-lines)))
    (append
     (list (format "hunk %d, %s %s:" (1+ (plist-get hunk :index))
                   (if (plist-get hunk :in-file) "in" "not in") place))
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

(provide 'agent-q-diff-message)
;;; agent-q-diff-message.el ends here
