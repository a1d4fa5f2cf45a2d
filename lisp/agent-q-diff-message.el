;;; agent-q-diff-message.el --- What agents read  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The messages about a review come in two wordings, and
;; `agent-q-diff-call' selects one.  That of Agent-Q's documents is an
;; interface: its agent is prompted with it, so words, signs and line breaks
;; must not change, and no other agent reads it.  Every other agent reads
;; plain sentences.  Both have the same facts; see agent-q-diff-message-facts.el.
;; Of what was written before its review, a message has the counts of the result,
;; and entries: what was rejected, comments and questions.
;;
;; Every message is laid out by `agent-q-diff-message-compose': it is bounded,
;; what the user says comes first, and lines of files follow, in fences.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-message-facts)

;;; One text of bounded length

(defconst agent-q-diff-message--room-for-note 600
  "Number of characters that are kept free for what is said to be missing.
That takes up to 400; others may say as much again that more messages wait.")

(defun agent-q-diff-message--quotations (groups max)
  "Return sections of GROUPS, with at most MAX lines of each quotation.
GROUPS are as for `agent-q-diff-message-compose'."
  (let ((fence "```"))
    ;; No line of theirs ends it.
    (while (cl-loop for (_ . entries) in groups
                    thereis (cl-loop for (_ . lines) in entries
                                     thereis (seq-some (apply-partially #'string-search fence)
                                                       lines)))
      (setq fence (concat fence "`")))
    (mapcar
     (pcase-lambda (`(,heading . ,entries))
       (append
        (list heading fence)
        (mapcar (pcase-lambda (`(,label . ,lines))
                  (let ((more (- (length lines) max)))
                    (list 3 '("the lines of %d change or comment"
                              . "the lines of %d changes or comments")
                          (string-join
                           (append (and label (list label))
                                   (seq-take lines max)
                                   (and (< 0 more) (list (format "    … (%d more lines)" more))))
                           "\n"))))
                entries)
        (list fence)))
     groups)))

(defun agent-q-diff-message--section (section shown)
  "Return SECTION as text, of its lines with ranks only those SHOWN, or nil.
SHOWN is a table from these to their texts."
  (let ((lines (delq nil (mapcar (lambda (line) (if (stringp line) line (gethash line shown)))
                                 section))))
    (and lines
         (or (not (seq-some #'consp section))
             (seq-some (lambda (line) (gethash line shown)) section))
         (string-join lines "\n"))))

(defun agent-q-diff-message-compose (sections &optional groups how)
  "Return one text of SECTIONS, and GROUPS of quotations after them.
A section is a list of lines.  A line is a string, or (RANK KIND TEXT): lines
of lower rank have room first, and how many of a KIND have none is said.  KIND
is (ONE . MANY), format strings.  HOW is a sentence on how the reader sees
these, or a function that returns it for the first one, which may be nil.
GROUPS are lists (HEADING ENTRY…) of quotations; an entry is (LABEL . LINES),
with LABEL nil or what is said of them."
  (let* ((sections (delq nil sections))
         (length-of (lambda (sections)
                      (apply #'+ (mapcar (lambda (line)
                                           (+ 2 (length (if (stringp line) line (nth 2 line)))))
                                         (apply #'append sections)))))
         (quotations (seq-some (lambda (max)
                                 (let ((all (agent-q-diff-message--quotations groups max)))
                                   (and (or (= max 4)
                                            (< (+ (funcall length-of sections)
                                                  (funcall length-of all))
                                               (- agent-q-diff-message-max-length
                                                  agent-q-diff-message--room-for-note)))
                                        all)))
                               '(40 4)))
         (lines (apply #'append (append sections quotations)))
         (room (- agent-q-diff-message-max-length agent-q-diff-message--room-for-note
                  (funcall length-of (list (seq-filter #'stringp lines)))))
         (lines (seq-filter #'consp lines))
         (shown (make-hash-table :test #'eq))
         (missing nil))
    (dolist (line (seq-sort-by #'car #'< lines))
      (let ((text (agent-q-diff-message-facts-cut (nth 2 line) agent-q-diff-message-facts-max-item)))
        (if (< (length text) room)
            (progn (puthash line text shown)
                   (cl-decf room (1+ (length text))))
          (cl-incf (alist-get (nth 1 line) missing 0 nil #'equal)))))
    (string-join
     (delq nil
           (append
            (mapcar (lambda (section) (agent-q-diff-message--section section shown)) sections)
            (and missing
                 (list (agent-q-diff-message--missing
                        (nreverse missing)
                        (if (functionp how)
                            (funcall how (seq-find (lambda (line) (null (gethash line shown)))
                                                   lines))
                          how))))
            (mapcar (lambda (section) (agent-q-diff-message--section section shown))
                    quotations)))
     "\n\n")))

(defun agent-q-diff-message--missing (missing how)
  "Return a sentence on what is MISSING in a message, an alist of numbers by kind.
HOW is as for `agent-q-diff-message-compose', but a string."
  (format "A message has at most %d characters; not in this one: %s. %s"
          agent-q-diff-message-max-length
          (mapconcat (pcase-lambda (`((,one . ,many) . ,n)) (format (if (= 1 n) one many) n))
                     missing ", ")
          how))

(defconst agent-q-diff-message--how-to-see
  "Read the files to see what they hold; M-x agent-q-diff-list shows the user the rest."
  "How what is missing in the message about a result is seen.")

;;; The messages

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

(defun agent-q-diff-message--of-decision (decision path)
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

(defun agent-q-diff-message--plainly (result path entries)
  "Return the message in plain sentences about RESULT, a decision, for PATH.
ENTRIES are as for `agent-q-diff-message-of-result'."
  (let ((is-accepted (equal "accepted" (plist-get result :decision))))
    (agent-q-diff-message--with-details
     result
     (append
      (list (cond
             ((plist-get result :files)
              (if is-accepted
                  (agent-q-diff-message-files-accepted result)
                (agent-q-diff-message-files-rejected result)))
             (is-accepted (agent-q-diff-message--accepted-plainly result path))
             (t (agent-q-diff-message--rejected-plainly result path))))
      (unless is-accepted
        (agent-q-diff-message--stop-lines (agent-q-diff-message--reason-p result))))
     entries)))

(defun agent-q-diff-message--with-details (result paragraphs entries)
  "Return the message of PARAGRAPHS, and the facts about RESULT beyond them.
ENTRIES are as for `agent-q-diff-message-of-result'."
  (pcase-let ((`(,lines . ,groups) (if (plist-get result :files)
                                       (agent-q-diff-message-files-details result)
                                     (agent-q-diff-message-facts-details result))))
    (agent-q-diff-message--all (append (mapcar #'list paragraphs) (list lines))
                               groups entries)))

(defun agent-q-diff-message--all (sections groups entries)
  "Return the message of SECTIONS and GROUPS, and of ENTRIES between these.
They are as for `agent-q-diff-message-compose', and ENTRIES as for
`agent-q-diff-message-of-round'."
  (agent-q-diff-message-compose
   (append sections (agent-q-diff-message--entry-sections entries))
   (append groups (agent-q-diff-message--entry-groups entries))
   (if entries #'agent-q-diff-message--how-to-read agent-q-diff-message--how-to-see)))

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
   ((agent-q-diff-message-facts-for-agent-q-p)
    (format agent-q-diff-message--error path (error-message-string err)))
   ;; The guard's message is complete, and the same for every tool.
   ((eq (car err) 'agent-q-diff-forbidden)
    (cadr err))
   (t
    (format (if (eq (car err) 'agent-q-diff-not-applied)
                "Error: the change could not be applied to %s: %s"
              "Error: there is no decision about %s: %s")
            (if (string-match-p "\\`[0-9]+ files\\'" path) path (agent-q-diff-visible-name path))
            (agent-q-diff-error-text err)))))

(defun agent-q-diff-message-of-remains (result said &optional entries)
  "Return SAID, a paragraph, and what a review with RESULT has left behind.
It ended without a decision.  The agent must not assume that the file is
unchanged, and the user's comments must not be lost.  ENTRIES are as for
`agent-q-diff-message-of-result'."
  (agent-q-diff-message--all
   (list (list said)
         (append
          (when (plist-get result :total)
            (agent-q-diff-message--remaining-hunks result))
          (if (plist-get result :files)
              (agent-q-diff-message-files-comments result 'stated)
            (agent-q-diff-message-facts-comments result))))
   nil entries))

(defun agent-q-diff-message--remaining-hunks (result)
  "Return lines about the hunks that are in the target after an undecided review.
RESULT is its result.  If no hunk is in it, return nil for Agent-Q, so that
its message stays as documented."
  (cond
   ((and (agent-q-diff-message-facts-for-agent-q-p)
         (= 0 (plist-get result :in-file)))
    nil)
   ((plist-get result :files)
    (list (agent-q-diff-message-files-in-sentence result)))
   (t
    (append (list (agent-q-diff-message-facts-in-sentence result))
            (when (< 0 (plist-get result :in-file) (plist-get result :total))
              (pcase-let ((`(,in . ,out) (agent-q-diff-message-facts-in-and-out result)))
                (agent-q-diff-message-facts-which result in out)))
            (remq nil (list (agent-q-diff-message-facts-saved-note result)))))))

(defun agent-q-diff-message-of-no-decision (result)
  "Return why RESULT has no decision, as one line for the text of an error.
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

(defun agent-q-diff-message-of-result (result path &optional entries)
  "Return the message to the agent about RESULT of its proposal for PATH.
RESULT is a plist as for `agent-q-diff-review'.  ENTRIES, as for
`agent-q-diff-message-of-round', are what else the user says."
  (cond
   ((not (memq (plist-get result :status) '(accepted partial rejected)))
    (agent-q-diff-message-of-remains
     result
     (agent-q-diff-message-of-error
      path (list (plist-get result :error) (plist-get result :reason)))
     entries))
   ((agent-q-diff-message-facts-for-agent-q-p)
    (agent-q-diff-message--with-details
     result (list (agent-q-diff-message--of-decision (plist-get result :decision) path))
     entries))
   (t (agent-q-diff-message--plainly result (agent-q-diff-visible-name path) entries))))

;;;; Calls of tools

(defun agent-q-diff-message-of-denied-call (path tool outcome)
  "Return the message that a call of TOOL for PATH was denied without a review.
OUTCOME is a plist: :by is who denied it, :reason why, or nil."
  (let* ((is-policy (eq (plist-get outcome :by) 'policy))
         (reason (or (plist-get outcome :reason)
                     (and is-policy (format "the user's settings deny %s here." tool))))
         (said (and reason (not is-policy) (list (format "Reason: %s" reason)))))
    (if (agent-q-diff-message-facts-for-agent-q-p)
        (concat (agent-q-diff-message--of-decision "rejected" path)
                (and reason (format "\n\nReason: %s" reason)))
      (string-join
       `(,(format "✗ Rejected: %s None of it is in the file."
                  (if is-policy
                      reason
                    (format "the user declined the change to %s."
                            (agent-q-diff-visible-name path))))
         ,@(agent-q-diff-message--stop-lines said)
         ,@said)
       "\n\n"))))

(defun agent-q-diff-message-of-unreviewed (paths tool differing)
  "Return the message that TOOL has edited PATHS, and nobody has reviewed that yet.
DIFFERING are those that are not as TOOL was to leave them."
  (cl-flet ((names (paths) (mapconcat #'agent-q-diff-visible-name paths ", ")))
    (concat (format "The edit of %s was made, and is not reviewed yet: the user reviews it after \
your turn, and may take parts of it out then."
                    (names paths))
            (and differing
                 (format "\n%s not as %s was to leave %s; read %s before you go on."
                         (concat (names differing) (if (cdr differing) " are" " is"))
                         tool
                         (if (cdr differing) "them" "it")
                         (if (cdr differing) "these files" "the file"))))))

(defun agent-q-diff-message-of-undecided (result err function)
  "Return the message about ERR, and what a review left behind.
FUNCTION returns the message for an error.  RESULT is that of a review that
ended undecided, which says more than ERR, or nil if there was none."
  (if result
      (agent-q-diff-message-of-remains
       result (funcall function (list (plist-get result :error) (plist-get result :reason))))
    (funcall function err)))

(defun agent-q-diff-message-of-not-run (result what tool)
  "Return the message that TOOL was not run, since nothing is decided on WHAT.
If TOOL is nil, only that nothing was written.  No file has what the user had
accepted by then.  RESULT is that of the review."
  (agent-q-diff-message--all
   (list (list (agent-q-diff-message-of-error
                what (list (plist-get result :error) (plist-get result :reason))))
         (cons (format "%s of the change is in %s."
                       (if tool (format "%s was not run, and none" tool) "None")
                       (if (plist-get result :files) "the files" "the file"))
               (if (plist-get result :files)
                   (agent-q-diff-message-files-comments result)
                 (agent-q-diff-message-facts-comments result))))
   nil nil))

;;; A review of what was written already

(defconst agent-q-diff-message--counted
  '((applied (file unsaved) "kept")
    (applied (buffer) "kept (in Emacs only, not saved yet)")
    (applied (changed) "kept (but changed in the files since)")
    (applied (nil) "kept (but not in the files any more)")
    (applied (unknown) "kept (what the file has of it is not known)"
             "kept (what the files have of them is not known)")
    (rejected (nil) "undone")
    (rejected (buffer) "undone (but in Emacs again, not saved yet)")
    (rejected (changed) "undone (and changed in the files since)")
    (rejected (unsaved) "undone (in Emacs only, not saved yet)")
    (rejected (unknown) "undone (in Emacs; what the file has of it is not known)"
              "undone (in Emacs; what the files have of them is not known)")
    (rejected (file) "undone (but in the files again)")
    (nil (file unsaved) "undecided (still in the files)")
    (nil (changed) "undecided (changed in the files since)")
    (nil (unknown) "undecided (what the file has of it is not known)"
         "undecided (what the files have of them is not known)")
    (nil (nil buffer) "undecided (not in the files any more)"))
  "What is said of how many hunks: (MARK WHERES WORDS WORDS-FOR-MANY).")

(defun agent-q-diff-message-counts (hunks)
  "Return a clause on how many of HUNKS were kept, and so on.
They are results of single hunks, written before their review."
  (string-join
   (cl-loop for (mark wheres words many) in agent-q-diff-message--counted
            for n = (seq-count (lambda (hunk)
                                 (and (eq mark (plist-get hunk :state))
                                      (memq (plist-get hunk :where) wheres)))
                               hunks)
            when (< 0 n)
            collect (format (ngettext "%d hunk %s" "%d hunks %s" n)
                            n (if (= 1 n) words (or many words))))
   ", "))

(defconst agent-q-diff-message--round-sections
  '((rejected
     "The user rejected these changes, and they were undone in the files%s. \
Do not make them again unless the user asks for it:"
     "The changes that were rejected:" ("%d rejection" . "%d rejections"))
    (back
     "The user has undone that these changes were undone. They are in the files again, and are not \
decided:"
     "The changes that are in the files again:" ("%d change" . "%d changes"))
    (comment
     "The user's comments; do what they say:"
     "The lines that the comments are on:" ("%d comment" . "%d comments"))
    (question
     "The user's questions; answer them, and change nothing for them:"
     "The lines that the questions are on:" ("%d question" . "%d questions")))
  "What is said of entries of each kind: (KIND HEADING HEADING-OF-LINES COUNTED).
HEADING has a place for an exception.")

(defconst agent-q-diff-message--how-to-answer
  "When you have handled a comment or a question, call the tool resolve_comment with its id and your \
answer; if you have no such tool, begin a paragraph of your last reply with its number, as in \"[3] \
Because of this.\""
  "What agents are told about comments.")

(defun agent-q-diff-message--how-to-read (line)
  "Return a sentence for agents about what a message lacks, from LINE on."
  (format "%sCall the tool review_comments with the path of a file to read all that the user says \
about it; the user finds all with M-x agent-q-diff-comments and M-x agent-q-diff-taken-out."
          (pcase line
            (`(,_ ,_ ,_ ,(and from (pred integerp)) ,path)
             (format "To read on, call the tool review_comments with %s and from %d. "
                     ;; There is room for no more.
                     (if (length< path 100) (concat "path " (agent-q-diff-visible-name path))
                       "the path of the same file")
                     from))
            (_ ""))))

(defun agent-q-diff-message--entry-place (entry)
  "Return words for what ENTRY, as for `agent-q-diff-message-of-round', is about."
  (concat (if-let ((id (plist-get entry :id))) (format "[%d] " id) "")
          (if-let ((path (plist-get entry :path))) (agent-q-diff-visible-name path) "all of it")
          (if-let ((words (or (plist-get entry :lines-words) (plist-get entry :operation))))
              (concat ", " words)
            "")))

(defun agent-q-diff-message--entry-exception (entry)
  "Return words, in parentheses, if the change of ENTRY is not undone in its file."
  (pcase-exhaustive (plist-get entry :where)
    ('nil nil)
    ('buffer " (but Emacs has it again, not saved yet)")
    ('changed " (others have changed these lines since)")
    ('unsaved " (only in Emacs so far: the file still has the change, since it is not saved yet)")
    ('unknown " (in Emacs; what the file has of the change is not known)")
    ('file " (but the file has it again now)")))

(defun agent-q-diff-message--entry-line (entry counted)
  "Return ENTRY as a line for `agent-q-diff-message-compose', of the kind COUNTED."
  (let* ((said (plist-get entry :said))
         (is-rejected (eq 'rejected (plist-get entry :kind))))
    (list (if said 1 2) counted
          (concat "- " (agent-q-diff-message--entry-place entry)
                  (or (agent-q-diff-message--entry-exception entry)
                      (and (plist-get entry :operation) " (undone)"))
                  (if said
                      (concat (if is-rejected ". The user says: " ": ")
                              (string-replace "\n" "\n  " said))
                    ""))
          (plist-get entry :line)
          (plist-get entry :path))))

(defun agent-q-diff-message--of-kind (entries kind)
  "Return those of ENTRIES that are of KIND."
  (seq-filter (lambda (entry) (eq kind (plist-get entry :kind))) entries))

(defun agent-q-diff-message--entry-sections (entries)
  "Return sections about ENTRIES for `agent-q-diff-message-compose'."
  (append
   (cl-loop for (kind heading _ counted) in agent-q-diff-message--round-sections
            for those = (agent-q-diff-message--of-kind entries kind)
            for exceptions = (seq-some #'agent-q-diff-message--entry-exception those)
            ;; The heading is not shown without any of them.
            when those
            collect (cons (concat (format heading (if exceptions ", except where noted" "")) "\n")
                          (mapcar (lambda (entry)
                                    (agent-q-diff-message--entry-line entry counted))
                                  those)))
   (and (seq-some (lambda (entry) (plist-get entry :id)) entries)
        (list (list agent-q-diff-message--how-to-answer)))))

(defun agent-q-diff-message--entry-label (entry)
  "Return what stands above the lines of ENTRY, which may be a comment."
  (concat (agent-q-diff-message--entry-place entry) ":"
          (if (plist-get entry :id)
              (concat " " (agent-q-diff-visible-beginning
                           (agent-q-diff-message-facts-visible
                            (car (split-string (plist-get entry :said) "\n")))
                           60))
            "")))

(defun agent-q-diff-message--entry-groups (entries)
  "Return groups of quotations of the lines of ENTRIES."
  (cl-loop for (kind _ heading) in agent-q-diff-message--round-sections
           for quoted = (seq-filter (lambda (entry) (plist-get entry :quoted))
                                    (agent-q-diff-message--of-kind entries kind))
           when quoted
           collect (cons heading
                         (mapcar (lambda (entry)
                                   (cons (agent-q-diff-message--entry-label entry)
                                         (agent-q-diff-message-facts-lines
                                          (plist-get entry :quoted)
                                          (if (memq kind '(rejected back)) "    " "    > "))))
                                 quoted))))

(defun agent-q-diff-message-of-round (first entries)
  "Return the message of ENTRIES after FIRST, a sentence.
An entry is a plist: :kind is `rejected', `back' for a rejection that the agent
was told and the user has undone since, `comment' or `question', :path the
file or nil for all of them, :line its line, from 1, :lines-words words for its
lines or nil, :operation what it does if that is none to lines, :id the number
of a comment, :said what the user says or nil, :where as in a result, and
:quoted its lines or nil."
  (agent-q-diff-message--all (list (list first)) nil entries))

(provide 'agent-q-diff-message)
;;; agent-q-diff-message.el ends here
