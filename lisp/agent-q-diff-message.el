;;; agent-q-diff-message.el --- What agents read  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The messages about a review come in two wordings, and
;; `agent-q-diff-call' selects one.  That of Agent-Q's documents is an
;; interface: its agent is prompted with it, so words, signs and line breaks
;; must not change, and no other agent reads it.  Every other agent reads
;; plain sentences.  For a change of several files, one sentence says what
;; became of each; the details of files that were not accepted completely
;; follow.  The hunks of each file are numbered from 1, as in a diff.
;;
;; Both wordings have the same facts: how much of a proposal is in the file,
;; or only in the buffer; which hunks; what the user edited and said.  All are
;; taken from the result of a review, a plist; see `agent-q-diff-review'.  Of
;; what was written before its review, a message has the counts of the result,
;; and entries: what was rejected, comments and questions.
;;
;; Every message is laid out by `agent-q-diff-message-compose': it is bounded,
;; what the user says comes first, and lines of files follow, in fences.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)

(defsubst agent-q-diff-message--for-agent-q-p ()
  "Return non-nil if the message is to be in the wording of Agent-Q's documents."
  (eq 'agent-q (agent-q-diff-call-contract agent-q-diff-call)))

;;; Text that is data

;; Names, descriptions and lines of files are others' words.  In a sentence of
;; ours they must not read like one, and their lines must not end a quotation.

(defun agent-q-diff-message--visible (text &optional has-lines)
  "Return TEXT, of one line, with the numbers of its characters that mislead.
Tabs stay, and so do all letters, whatever they look like.  If HAS-LINES is
non-nil, newlines stay as well."
  (let ((text (agent-q-diff-base-clean (substring-no-properties text)))
        (case-fold-search t))
    (replace-regexp-in-string
     agent-q-diff-visible-tag "<U+003C>\\1"
     (if (string-match-p (if has-lines "[^\n\t -~]" "[^\t -~]") text)
         (substring-no-properties
          (agent-q-diff-visible text most-positive-fixnum
                                (if has-lines '(?\n ?\t letters) '(?\t letters))))
       text))))

;;; One text of bounded length

(defvar agent-q-diff-message-max-length 8000
  "Most characters of a message: of longer ones, agents show their model a part.")

(defconst agent-q-diff-message--max-item 6000
  "Most characters of one thing that the user says.")

(defconst agent-q-diff-message--max-width 300
  "Most characters of a quoted line.")

(defconst agent-q-diff-message--room-for-note 600
  "Number of characters that are kept free for what is said to be missing.
That takes up to 400; others may say as much again that more messages wait.")

(defun agent-q-diff-message--cut (text max)
  "Return TEXT, or its first MAX characters and how many more there are."
  (if (<= (length text) max)
      text
    (format "%s… (%d more characters)" (substring text 0 max) (- (length text) max))))

(defun agent-q-diff-message--lines (text &optional prefix)
  "Return the lines of TEXT, of a file, safe to quote, each after PREFIX."
  (and (not (string-empty-p text))
       (mapcar (lambda (line)
                 (concat (or prefix "    ")
                         (if (length> line agent-q-diff-message--max-width)
                             (agent-q-diff-message--cut line agent-q-diff-message--max-width)
                           line)))
               (split-string (agent-q-diff-message--visible (string-remove-suffix "\n" text) t)
                             "\n"))))

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
      (let ((text (agent-q-diff-message--cut (nth 2 line) agent-q-diff-message--max-item)))
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

(defun agent-q-diff-message--said (text)
  "Return TEXT, the user's words, as a line for `agent-q-diff-message-compose'."
  (list 1 '("%d thing that the user says" . "%d things that the user says") text))

(defun agent-q-diff-message--remark (text)
  "Return TEXT, a line about hunks, as one for `agent-q-diff-message-compose'."
  (list 2 '("%d remark on hunks" . "%d remarks on hunks") text))

;;; The facts, in words

;;;; How much is in the target

(defun agent-q-diff-message-facts--count (result)
  "Return how much of RESULT is in the target: a subject and its verb."
  (let ((total (plist-get result :total))
        (in (plist-get result :in-file)))
    (cond
     ((= in 0) "none of it is")
     ((and (= in total) (= total 1)) "the change is")
     ((= in total 2) "both hunks are")
     ((= in total) (format "all %d hunks are" total))
     (t (format "%d of %d hunks %s" in total (if (= in 1) "is" "are"))))))

(defun agent-q-diff-message-facts--place (result)
  "Return where the applied hunks of RESULT are, in words.
If the target is not saved, that is the buffer, not the file."
  (cond
   ((plist-get result :detached) "the text")
   ((or (plist-get result :saved)
        (plist-get result :overwritten)
        (not (plist-member result :saved))
        (and (or (plist-get result :untouched) (plist-get result :away))
             (= 0 (plist-get result :in-file))))
    "the file")
   (t "the buffer")))

(defun agent-q-diff-message-facts--where (result path)
  "Return where the applied hunks of RESULT are, in words that include PATH."
  (pcase (agent-q-diff-message-facts--place result)
    ("the text" (format "the text for %s; no file was written" path))
    ("the file" path)
    ("the buffer" (format "the user's Emacs buffer for %s" path))))

(defun agent-q-diff-message-facts--saved-note (result)
  "Return a sentence about how the file of RESULT differs from the buffer, or nil."
  (cond
   ((or (plist-get result :detached) (not (plist-member result :saved))) nil)
   ((plist-get result :saved) nil)
   ((plist-get result :overwritten)
    "What was applied is still in the user's Emacs buffer.")
   ((plist-get result :away)
    (concat (plist-get result :away) "."))
   ((not (plist-get result :untouched))
    "The buffer has unsaved changes, so the file on disk may differ from it.")
   ((< 0 (plist-get result :in-file))
    "The buffer is not saved; the file on disk is as it was.")))

(defun agent-q-diff-message-facts--capitalized (sentence)
  "Return SENTENCE with its first letter in upper case."
  (concat (upcase (substring sentence 0 1)) (substring sentence 1)))

(defun agent-q-diff-message-facts--in-sentence (result)
  "Return a sentence about how much of RESULT is in the target.
For Agent-Q it has the numbers that document 004 requires."
  (let ((in (plist-get result :in-file))
        (place (agent-q-diff-message-facts--place result)))
    (if (agent-q-diff-message--for-agent-q-p)
        (format "%d of %d hunks %s in %s." in (plist-get result :total)
                (if (= in 1) "is" "are") place)
      (format "%s in %s."
              (agent-q-diff-message-facts--capitalized (agent-q-diff-message-facts--count result))
              place))))

(defun agent-q-diff-message-facts--in-and-out (result)
  "Return (IN . OUT), the hunks of RESULT that are in the target, and the others."
  (cl-loop for hunk in (plist-get result :hunks)
           if (plist-get hunk :in-file) collect hunk into in
           else collect hunk into out
           finally return (cons in out)))

;;;; Which hunks

(defun agent-q-diff-message-facts--numbers (hunks)
  "Return the numbers of HUNKS, results of single hunks, as a string.
Of many, only how many more there are is said in the end."
  (let* ((more (- (length hunks) 100))
         (numbers (mapcar (lambda (hunk) (number-to-string (1+ (plist-get hunk :index))))
                          (seq-take hunks 100)))
         (numbers (if (< 0 more) (append numbers (list (format "%d more" more))) numbers)))
    (if (cdr numbers)
        (concat (string-join (butlast numbers) ", ") " and " (car (last numbers)))
      (car numbers))))

(defun agent-q-diff-message-facts--part (format hunks)
  "Return FORMAT about HUNKS, or nil if there are none.
FORMAT ends in \"hunk%s.\", which gets their numbers."
  (and hunks
       (format format (concat (if (cdr hunks) "s " " ")
                              (agent-q-diff-message-facts--numbers hunks)))))

(defun agent-q-diff-message-facts--undecided-p (hunk)
  "Return non-nil if HUNK, a hunk's result, is undecided and not in the file.
One that could not be applied where it belongs does not count."
  (and (null (plist-get hunk :state))
       (not (plist-get hunk :in-file))
       (not (plist-get hunk :reason))))

(defun agent-q-diff-message-facts--rejected-p (hunk)
  "Return non-nil if the user rejected HUNK, the result of a single hunk."
  (eq 'rejected (plist-get hunk :state)))

(defun agent-q-diff-message-facts--declined (result change)
  "Return which part of CHANGE, a name for the proposal of RESULT, was declined."
  (if (< 0 (or (plist-get result :pending) 0))
      (format "%d of %d hunks of %s" (plist-get result :rejected) (plist-get result :total)
              change)
    change))

(defun agent-q-diff-message-facts--left-open (result)
  "Return words to append about hunks of RESULT that the user has not decided."
  (pcase (or (plist-get result :pending) 0)
    (0 "")
    (1 ", and has not decided about the other")
    (_ ", and has not decided about the others")))

(defun agent-q-diff-message-facts--which (result in out)
  "Return lines that list which hunks are IN the target of RESULT, and which OUT."
  (let ((place (agent-q-diff-message-facts--place result)))
    (append
     (delq nil
           (list (agent-q-diff-message-facts--part (format "In %s: hunk%%s." place) in)
                 (agent-q-diff-message-facts--part (format "Not in %s: hunk%%s." place) out)
                 (agent-q-diff-message-facts--part
                  "The user rejected hunk%s."
                  (and (plist-get result :decision)
                       (seq-filter #'agent-q-diff-message-facts--rejected-p (append in out))))
                 (agent-q-diff-message-facts--part
                  "The user has not decided about hunk%s."
                  (and (plist-get result :decision)
                       (seq-filter #'agent-q-diff-message-facts--undecided-p out)))
                 (agent-q-diff-message-facts--part
                  (format "Was in %s, but its lines have been changed there since: hunk%%s."
                          place)
                  (seq-filter (lambda (hunk) (plist-get hunk :lost)) out))))
     (agent-q-diff-message-facts--not-applied
      (seq-filter (lambda (hunk) (plist-get hunk :reason)) out)))))

(defconst agent-q-diff-message-facts--max-reasons 20
  "Number of hunks for which a message says why they could not be applied.")

(defun agent-q-diff-message-facts--not-applied (hunks)
  "Return lines about HUNKS, which could not be applied, or nil.
For Agent-Q, and beyond `agent-q-diff-message-facts--max-reasons', they give
only the numbers."
  (if (agent-q-diff-message--for-agent-q-p)
      (remq nil (list (agent-q-diff-message-facts--part
                       "Could not be applied where it belongs: hunk%s." hunks)))
    (append
     (mapcar (lambda (hunk)
               (format "Could not be applied: hunk %d (%s)." (1+ (plist-get hunk :index))
                       (plist-get hunk :reason)))
             (seq-take hunks agent-q-diff-message-facts--max-reasons))
     (remq nil (list (agent-q-diff-message-facts--part
                      "Could not be applied either: hunk%s."
                      (nthcdr agent-q-diff-message-facts--max-reasons hunks)))))))

(defun agent-q-diff-message-facts--partial (result in out)
  "Return lines that list the hunks IN the target of RESULT, and those OUT of it."
  (append
   ;; In plain wording, the first sentence says so.
   (when (agent-q-diff-message--for-agent-q-p)
     (list (agent-q-diff-message-facts--in-sentence result)))
   (agent-q-diff-message-facts--which result in out)
   (remq nil (list (agent-q-diff-message-facts--saved-note result)))))

(defun agent-q-diff-message-facts--placement (result)
  "Return lines about hunks of RESULT that were not simply applied as stated.
A change that was there before, or that is in a place with other context,
must not be mistaken for one that the user applied."
  (let ((hunks (plist-get result :hunks))
        (place (agent-q-diff-message-facts--place result)))
    (append
     (remq nil
           (list (agent-q-diff-message-facts--part
                  (format "Already in %s, and not put there by this review: hunk%%s."
                          place)
                  (cl-loop for hunk in hunks
                           when (plist-get hunk :was-in) collect hunk))))
     (cl-loop for hunk in hunks
              for line = (agent-q-diff-message-facts--fuzzy hunk place)
              when line collect (agent-q-diff-message--remark line))
     (cl-loop for hunk in hunks
              for line = (agent-q-diff-message-facts--ambiguous hunk)
              when line collect (agent-q-diff-message--remark line)))))

(defun agent-q-diff-message-facts--fuzzy (hunk place)
  "Return a line about HUNK if its context in PLACE differs, or nil."
  (let ((fuzz (or (plist-get hunk :fuzz) 0))
        (offset (plist-get hunk :offset)))
    (when (and (> fuzz 0) (plist-get hunk :in-file))
      (format "Hunk %d is in %s with fuzz %d: its outermost context lines differ there%s."
              (1+ (plist-get hunk :index)) place fuzz
              (if offset
                  (format (ngettext "; shifted by %d line" "; shifted by %d lines" (abs offset))
                          offset)
                "")))))

(defun agent-q-diff-message-facts--ambiguous (hunk)
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

;;;; The lines as they now are

(defconst agent-q-diff-message-facts-max-live-hunks 50
  "Maximum number of hunks whose present lines a result includes.
Finding the lines of each takes a walk over the weave.")

(defconst agent-q-diff-message-facts--max-live-lines 20
  "Number of present lines of a hunk that a message shows.")

(defun agent-q-diff-message-facts--live (result is-partial)
  "Return the group of quotations of the present text in RESULT, in a list.
Unless IS-PARTIAL is non-nil, it is only of hunks that a hook has changed.
Lines are numbered as by the tools with which agents read files."
  (when-let ((known (seq-filter (lambda (hunk)
                                  (and (plist-get hunk :now)
                                       (or is-partial (plist-get hunk :hooked))))
                                (plist-get result :hunks))))
    (let ((more (if is-partial
                    (- (length (plist-get result :hunks))
                       agent-q-diff-message-facts-max-live-hunks)
                  0)))
      `(("The lines as they now are:"
         ,@(mapcar (apply-partially #'agent-q-diff-message-facts--numbered
                                    (agent-q-diff-message-facts--place result))
                   known)
         ,@(and (< 0 more)
                `((,(format (ngettext "The lines of %d more hunk, from hunk %d on, are not shown."
                                      "The lines of %d more hunks, from hunk %d on, are not shown."
                                      more)
                            more (1+ agent-q-diff-message-facts-max-live-hunks))))))))))

(defun agent-q-diff-message-facts--numbered (place hunk)
  "Return the quotation of the present text where HUNK belongs in PLACE."
  (pcase-let* ((`(,line . ,text) (plist-get hunk :now))
               (lines (agent-q-diff-message--lines (string-replace "\r\n" "\n" text) ""))
               (more (- (length lines) agent-q-diff-message-facts--max-live-lines)))
    `(,(format "hunk %d, %s %s:%s" (1+ (plist-get hunk :index))
               (if (plist-get hunk :in-file) "in" "not in") place
               (if lines "" (format " no lines, before line %d" (1+ line))))
      ,@(seq-map-indexed (lambda (text index) (format "%6d\t%s" (+ line index 1) text))
                         (seq-take lines agent-q-diff-message-facts--max-live-lines))
      ,@(and (< 0 more) (list (format "       … %d more lines" more))))))

;;;; What a hook changed, and what the user edited and said

(defun agent-q-diff-message-facts--hooked (result)
  "Return lines about hunks of RESULT that a hook of the user's changed on saving."
  (cl-loop for hunk in (plist-get result :hunks)
           for words = (pcase (plist-get hunk :hooked)
                         ('nil nil)
                         ('out "On saving, a hook of the user's took hunk %d out again.")
                         (_ "On saving, a hook of the user's changed lines of hunk %d."))
           when words
           collect (agent-q-diff-message--remark (format words (1+ (plist-get hunk :index))))))

(defun agent-q-diff-message-facts--edited-p (result)
  "Return non-nil if the user edited a hunk of RESULT that is in the target."
  (seq-some (lambda (hunk) (and (plist-get hunk :in-file) (plist-get hunk :edited)))
            (plist-get result :hunks)))

(defun agent-q-diff-message-facts--parts (result)
  "Return groups of quotations of hunks of RESULT that were split or edited."
  (let ((quoted (lambda (label text) (cons label (agent-q-diff-message--lines text))))
        (parts (seq-filter (lambda (hunk) (plist-get hunk :part)) (plist-get result :hunks))))
    (append
     (and parts
          ;; The agent does not know their numbers.
          (list (cons "The user has split hunks. These are their numbers and lines:"
                      (mapcar (lambda (hunk)
                                (funcall quoted (format "hunk %d:" (1+ (plist-get hunk :index)))
                                         (plist-get hunk :part)))
                              parts))))
     (cl-loop for hunk in (plist-get result :hunks)
              for is-in = (plist-get hunk :in-file)
              when (and (plist-get hunk :edited)
                        (or is-in (not (eq 'rejected (plist-get hunk :state)))))
              collect (list (format (if is-in
                                        "The user edited hunk %d; in %s it is:"
                                      "The user edited hunk %d:")
                                    (1+ (plist-get hunk :index))
                                    (agent-q-diff-message-facts--place result))
                            (funcall quoted nil (plist-get hunk :edited)))))))

(defun agent-q-diff-message-facts--comments (result)
  "Return lines with the user's comments on RESULT and on its hunks."
  (append
   (when-let ((comment (plist-get result :comment)))
     (list (agent-q-diff-message--said (format "The user says: %s" comment))))
   (cl-loop for hunk in (plist-get result :hunks)
            for comment = (plist-get hunk :comment)
            when comment
            collect (agent-q-diff-message--said
                     (format "The user says of hunk %d%s: %s" (1+ (plist-get hunk :index))
                             (if (eq 'rejected (plist-get hunk :state)) ", which is rejected" "")
                             comment)))))

(defun agent-q-diff-message-facts--by-rules (result)
  "Return a list with a line on what rules decided of RESULT, or nil."
  (when-let ((hunks (seq-filter (lambda (hunk) (plist-get hunk :decided-by))
                                (plist-get result :hunks))))
    (let ((n (length hunks)))
      (list (format "Decided by the user's rules, without a look at it: %s."
                    (if (or (plist-get result :files)
                            (seq-some (lambda (hunk) (plist-get hunk :part)) hunks))
                        (format (ngettext "%d hunk" "%d hunks" n) n)
                      (concat (ngettext "hunk " "hunks " n)
                              (agent-q-diff-message-facts--numbers hunks))))))))

(defun agent-q-diff-message-facts-contradiction (outcome)
  "Return a line on how the file of OUTCOME contradicts its coding system, or nil.
OUTCOME is a plist with the sentence as :contradiction."
  (when-let ((sentence (plist-get outcome :contradiction)))
    (list (format "WARNING: %s. The user can make the two agree with M-x \
agent-q-diff-recode-target in the diff, or C-x RET f in the file's buffer."
                  (agent-q-diff-message-facts--capitalized sentence)))))

;;;; All details

(defun agent-q-diff-message-facts--details (result)
  "Return (LINES . GROUPS), facts about RESULT beyond the decision.
They say what is in the file, whatever the marks."
  (pcase-let* ((`(,in . ,out) (agent-q-diff-message-facts--in-and-out result))
               (is-accepted (equal (plist-get result :decision) "accepted"))
               (is-partial (if is-accepted out in)))
    (cons
     (append
      (if is-partial
          (agent-q-diff-message-facts--partial result in out)
        (remq nil (list (agent-q-diff-message-facts--saved-note result))))
      (agent-q-diff-message-facts--comments result)
      (agent-q-diff-message-facts--placement result)
      (agent-q-diff-message-facts--hooked result)
      (agent-q-diff-message-facts--by-rules result)
      (agent-q-diff-message-facts-contradiction result)
      (when (plist-get result :altered)
        (list "On saving, a hook of the user's changed other lines as well.")))
     (append
      (agent-q-diff-message-facts--parts result)
      (agent-q-diff-message-facts--live result is-partial)))))

;;; Several files

(defun agent-q-diff-message-files--name (path result)
  "Return the name by which an agent knows PATH, a file of RESULT."
  (agent-q-diff-visible-name
   (string-remove-prefix (file-name-as-directory (plist-get result :path)) path)))

(defun agent-q-diff-message-files-lines (file)
  "Return the hunks of FILE, a file's result, that change lines.
Their :index counts from 0 in FILE."
  (let ((hunks (seq-remove (lambda (hunk) (plist-get hunk :operation))
                           (plist-get file :hunks))))
    (seq-map-indexed (lambda (hunk index)
                       (append (list :index index) hunk))
                     hunks)))

;;;; One file in a sentence

(defun agent-q-diff-message-files--operation (hunk file result)
  "Return what became of HUNK, an operation on FILE of RESULT, in words."
  (concat (plist-get hunk :fate)
          (if (and (eq 'rename (plist-get hunk :operation)) (plist-get hunk :in-file))
              (concat " to " (agent-q-diff-message-files--name
                              (plist-get file :new-path) result))
            "")))

(defun agent-q-diff-message-files--remarks (file result)
  "Return remarks on hunks of FILE, in parentheses, or the empty string.
FILE is one of RESULT."
  (let* ((lines (agent-q-diff-message-files-lines file))
         (reasons (mapcar (lambda (hunk) (plist-get hunk :reason)) lines))
         ;; If all of the change is rejected, the sentence says so.
         (is-mixed (and (plist-get result :decision)
                        (or (equal "accepted" (plist-get result :decision))
                            (< 0 (or (plist-get result :pending) 0)))))
         (remarks
          (append
           (mapcan (lambda (hunk)
                     (agent-q-diff-message-files--remark
                      hunk (format "hunk %d" (1+ (plist-get hunk :index))) is-mixed))
                   lines)
           ;; The words before the parentheses say what the operation is.
           (mapcan (lambda (hunk)
                     (and (plist-get hunk :operation)
                          (or (plist-get hunk :comment)
                              (not (member (plist-get hunk :reason) reasons)))
                          (agent-q-diff-message-files--remark hunk nil is-mixed)))
                   (plist-get file :hunks))
           ;; Without a decision, the message says so itself.
           (and (plist-get result :decision)
                (append
                 (and is-mixed
                      (agent-q-diff-message-files--those
                       file "rejected"
                       (lambda (hunk)
                         (and (agent-q-diff-message-facts--rejected-p hunk)
                              (not (plist-get hunk :comment))))))
                 (agent-q-diff-message-files--those
                  file "undecided" #'agent-q-diff-message-facts--undecided-p))))))
    (if remarks
        (format " (%s)" (string-join remarks "; "))
      "")))

(defun agent-q-diff-message-files--remark (hunk name is-mixed)
  "Return a list with a remark on HUNK, or nil.
NAME is its name, or nil to leave that out.  If IS-MIXED is non-nil, say
whether it is rejected."
  (cond
   ((plist-get hunk :comment)
    (let ((words (delq nil (list name
                                 (and is-mixed (agent-q-diff-message-facts--rejected-p hunk)
                                      "rejected")))))
      (list (format "%s\"%s\"" (if words (concat (string-join words " ") ": ") "")
                    (plist-get hunk :comment)))))
   ((and (plist-get hunk :reason) (not (plist-get hunk :in-file)))
    (list (concat (if name (concat name " could not be applied: ") "")
                  (plist-get hunk :reason))))))

(defun agent-q-diff-message-files--those (file word predicate)
  "Return a list with a remark that some hunks of FILE are WORD, or nil.
They are those for which PREDICATE, a function, returns non-nil.  If it
does for all, the remark is just WORD."
  (let* ((hunks (plist-get file :hunks))
         (operations (seq-filter (lambda (hunk)
                                   (and (plist-get hunk :operation) (funcall predicate hunk)))
                                 hunks))
         (lines (seq-filter predicate (agent-q-diff-message-files-lines file)))
         (n (+ (length operations) (length lines))))
    (cond
     ((= n 0) nil)
     ((= n (length hunks)) (list word))
     (t (list (concat word ": "
                      (string-join
                       (append (mapcar (lambda (hunk) (plist-get hunk :header)) operations)
                               (and lines
                                    (list (concat (ngettext "hunk " "hunks " (length lines))
                                                  (agent-q-diff-message-facts--numbers lines)))))
                       ", ")))))))

(defun agent-q-diff-message-files--file (file result)
  "Return what became of FILE, a file's result in RESULT, in words."
  (let* ((operations (seq-filter (lambda (hunk) (plist-get hunk :operation))
                                 (plist-get file :hunks)))
         (lines (agent-q-diff-message-files-lines file))
         (in (seq-count (lambda (hunk) (plist-get hunk :in-file)) lines))
         (fate (plist-get file :fate))
         (count (and (< (if fate 1 0) (length lines))
                     (or (null fate) (< 0 in))
                     (format (ngettext "%d of %d hunk" "%d of %d hunks" (length lines))
                             in (length lines))))
         (done (append (and fate (list fate))
                       (mapcar (lambda (hunk)
                                 (agent-q-diff-message-files--operation hunk file result))
                               operations))))
    (concat (agent-q-diff-message-files--name
             (or (plist-get file :old-path) (plist-get file :path)) result)
            " "
            (string-join (delq nil (list (and done (string-join done " and ")) count))
                         ;; "Not renamed with" would be nonsense.
                         (if (seq-every-p (lambda (hunk) (plist-get hunk :in-file)) operations)
                             " with "
                           ", "))
            (if (plist-get file :overwritten) ", but the file has since disappeared" "")
            (agent-q-diff-message-files--remarks file result))))

;;;; All files

(defun agent-q-diff-message-files--sentence (result)
  "Return a sentence about what became of each file of RESULT."
  (let* ((files (plist-get result :files))
         (n (seq-count (lambda (file) (< 0 (plist-get file :in-file))) files)))
    (format "%d of %s: %s."
            n
            (format (ngettext "%d file" "%d files" (length files)) (length files))
            (agent-q-diff-message-files--each result))))

(defun agent-q-diff-message-files--long-p (result)
  "Return non-nil if the comments on hunks of RESULT are too long for a sentence."
  (< 2000 (apply #'+ (mapcar (lambda (hunk) (length (plist-get hunk :comment)))
                             (plist-get result :hunks)))))

(defun agent-q-diff-message-files--each (result)
  "Return what became of each file of RESULT, in words.
Of many, only how many more there are is said in the end."
  (let ((room (/ agent-q-diff-message-max-length 2))
        (files (plist-get result :files))
        (is-long (agent-q-diff-message-files--long-p result))
        (each nil))
    (while (and files (< 0 room))
      (let* ((file (pop files))
             (hunks (plist-get file :hunks))
             (words (agent-q-diff-message--cut
                     (agent-q-diff-message-files--file
                      `(:hunks ,(if is-long
                                    (mapcar (lambda (hunk) (append '(:comment nil) hunk)) hunks)
                                  hunks)
                        ,@file)
                      result)
                     2000)))
        (cl-decf room (length words))
        (push words each)))
    (when files
      (push (format (ngettext "and %d more file" "and %d more files" (length files))
                    (length files))
            each))
    (string-join (nreverse each) ", ")))

(defun agent-q-diff-message-files--comments (result &optional is-stated)
  "Return lines with the user's comments on RESULT and on the hunks of its files.
If IS-STATED is non-nil, without those that the sentence about its files has."
  (append
   (agent-q-diff-message-facts--comments (list :comment (plist-get result :comment)))
   (cl-loop
    for file in (and (or (not is-stated) (agent-q-diff-message-files--long-p result))
                     (plist-get result :files))
    for name = (agent-q-diff-message-files--name
                (or (plist-get file :old-path) (plist-get file :path)) result)
    append (cl-loop
            for hunk in (append (seq-filter (lambda (hunk) (plist-get hunk :operation))
                                            (plist-get file :hunks))
                                (agent-q-diff-message-files-lines file))
            when (plist-get hunk :comment)
            collect (agent-q-diff-message--said
                     (format "The user says of %s%s: %s"
                             (if (plist-get hunk :operation)
                                 ""
                               (format "hunk %d of " (1+ (plist-get hunk :index))))
                             name (plist-get hunk :comment)))))))

(defun agent-q-diff-message-files--accepted (result)
  "Return the first sentence about RESULT, which was accepted."
  (let ((in (plist-get result :in-file)))
    (format "✓ %s%s: %s%s"
            (cond
             ((= in 0) "Accepted, but nothing is in the files")
             ((< in (plist-get result :total)) "Accepted in part")
             (t "Accepted"))
            (if (plist-get result :detached) ", not yet written" "")
            (agent-q-diff-message-files--sentence result)
            (if (or (plist-get result :saved) (plist-get result :detached))
                ""
              " Not all of it is saved; see below."))))

(defun agent-q-diff-message-files--rejected (result)
  "Return the first sentences about RESULT, which was rejected."
  (let ((n (length (plist-get result :files))))
    (format "✗ Rejected: the user declined %s%s. %s"
            (agent-q-diff-message-facts--declined
             result (format (ngettext "the change to %d file" "the changes to %d files" n) n))
            (agent-q-diff-message-facts--left-open result)
            (cond
             ((< 0 (plist-get result :in-file))
              (concat "In the files: " (agent-q-diff-message-files--sentence result)))
             ((or (< 0 (or (plist-get result :pending) 0))
                  (seq-some (lambda (hunk) (plist-get hunk :comment)) (plist-get result :hunks)))
              (format "None of it is in the files: %s."
                      (agent-q-diff-message-files--each result)))
             (t "None of it is in the files.")))))

(defun agent-q-diff-message-files--as-one (file result)
  "Return the text of FILE of RESULT as the result of a review of it alone."
  (let* ((lines (agent-q-diff-message-files-lines file))
         (in (seq-count (lambda (hunk) (plist-get hunk :in-file)) lines)))
    (append (list :total (length lines)
                  :in-file in
                  :detached (plist-get result :detached)
                  ;; The comments on hunks are in the sentence.
                  :hunks (mapcar (lambda (hunk)
                                   (append (list :comment nil :decided-by nil) hunk))
                                 lines)
                  ;; Only what is not as proposed needs details.
                  :decision (if (= in (length lines)) "accepted"
                              (plist-get result :decision)))
            file)))

(defun agent-q-diff-message-files--details (result)
  "Return (LINES . GROUPS), facts about the files of RESULT beyond the sentence.
There are none for a file that does not exist because it was not created."
  (let ((details
         (cl-loop for file in (plist-get result :files)
                  when (and (< 0 (plist-get file :in-file))
                            (seq-some (lambda (hunk) (plist-get hunk :now))
                                      (plist-get file :hunks)))
                  collect (cons (agent-q-diff-message-files--name (plist-get file :path) result)
                                (agent-q-diff-message-facts--details
                                 (agent-q-diff-message-files--as-one file result))))))
    (cons
     (append
      (agent-q-diff-message-files--comments result 'stated)
      (agent-q-diff-message-facts--by-rules result)
      (cl-loop for (name . (lines . _)) in details
               when lines
               collect (list 2 '("the details of %d file" . "the details of %d files")
                             (string-join
                              (cons (format "%s:" name)
                                    (mapcar (lambda (line) (if (stringp line) line (nth 2 line)))
                                            lines))
                              "\n"))))
     (cl-loop for (name . (_ . groups)) in details
              append (mapcar (pcase-lambda (`(,heading . ,entries))
                               (cons (format "%s: %s" name heading) entries))
                             groups)))))

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
             ((agent-q-diff-message-facts--edited-p result) "Accepted, with the user's edits:")
             (t "Accepted:"))
            (agent-q-diff-message-facts--count result)
            (agent-q-diff-message-facts--where result path)
            (if (and (plist-get result :saved) (< 0 in)) ", which is saved" ""))))

(defun agent-q-diff-message--rejected-plainly (result path)
  "Return the first sentences about RESULT, which was rejected, for PATH."
  (format "✗ Rejected: the user declined %s%s. %s in %s."
          (agent-q-diff-message-facts--declined result (format "the change to %s" path))
          (agent-q-diff-message-facts--left-open result)
          (agent-q-diff-message-facts--capitalized (agent-q-diff-message-facts--count result))
          (agent-q-diff-message-facts--place result)))

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
                  (agent-q-diff-message-files--accepted result)
                (agent-q-diff-message-files--rejected result)))
             (is-accepted (agent-q-diff-message--accepted-plainly result path))
             (t (agent-q-diff-message--rejected-plainly result path))))
      (unless is-accepted
        (agent-q-diff-message--stop-lines (agent-q-diff-message--reason-p result))))
     entries)))

(defun agent-q-diff-message--with-details (result paragraphs entries)
  "Return the message of PARAGRAPHS, and the facts about RESULT beyond them.
ENTRIES are as for `agent-q-diff-message-of-result'."
  (pcase-let ((`(,lines . ,groups) (if (plist-get result :files)
                                       (agent-q-diff-message-files--details result)
                                     (agent-q-diff-message-facts--details result))))
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
   ((agent-q-diff-message--for-agent-q-p)
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
              (agent-q-diff-message-files--comments result 'stated)
            (agent-q-diff-message-facts--comments result))))
   nil entries))

(defun agent-q-diff-message--remaining-hunks (result)
  "Return lines about the hunks that are in the target after an undecided review.
RESULT is its result.  If no hunk is in it, return nil for Agent-Q, so that
its message stays as documented."
  (cond
   ((and (agent-q-diff-message--for-agent-q-p)
         (= 0 (plist-get result :in-file)))
    nil)
   ((plist-get result :files)
    (list (concat "In the files: " (agent-q-diff-message-files--sentence result))))
   (t
    (append (list (agent-q-diff-message-facts--in-sentence result))
            (when (< 0 (plist-get result :in-file) (plist-get result :total))
              (pcase-let ((`(,in . ,out) (agent-q-diff-message-facts--in-and-out result)))
                (agent-q-diff-message-facts--which result in out)))
            (remq nil (list (agent-q-diff-message-facts--saved-note result)))))))

(defun agent-q-diff-message-of-no-decision (result)
  "Return why RESULT has no decision, as one line for the text of an error.
It says how much is in the file: an agent that reads only that a review was
cancelled would assume that the file is unchanged."
  (if (and (eq 'cancelled (plist-get result :status))
           (plist-get result :total))
      (format "%s; %s in %s%s" (plist-get result :reason)
              (agent-q-diff-message-facts--count result)
              (agent-q-diff-message-facts--place result)
              (if-let ((note (agent-q-diff-message-facts--saved-note result)))
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
   ((agent-q-diff-message--for-agent-q-p)
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
    (if (agent-q-diff-message--for-agent-q-p)
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
No file has what the user had accepted by then.  RESULT is that of the review."
  (agent-q-diff-message--all
   (list (list (agent-q-diff-message-of-error
                what (list (plist-get result :error) (plist-get result :reason))))
         (cons (format "%s was not run, and none of it is in %s." tool
                       (if (plist-get result :files) "the files" "the file"))
               (if (plist-get result :files)
                   (agent-q-diff-message-files--comments result)
                 (agent-q-diff-message-facts--comments result))))
   nil nil))

;;; A review of what was written already

(defconst agent-q-diff-message--counted
  '((applied t "kept")
    (rejected (nil buffer changed) "undone")
    (rejected (unsaved) "undone (in Emacs only, not saved yet)")
    (rejected (unknown) "undone (in Emacs only; what the file has of it is not known)"
              "undone (in Emacs only; what the files have of them is not known)")
    (rejected (file) "undone (but in the files again)")
    (nil (file unsaved unknown changed) "undecided (still in the files)")
    (nil (nil buffer) "undecided (not in the files any more)"))
  "What is said of how many hunks: (MARK WHERES WORDS WORDS-FOR-MANY).")

(defun agent-q-diff-message-counts (hunks)
  "Return a clause on how many of HUNKS were kept, and so on.
They are results of single hunks, written before their review."
  (string-join
   (cl-loop for (mark wheres words many) in agent-q-diff-message--counted
            for n = (seq-count (lambda (hunk)
                                 (and (eq mark (plist-get hunk :state))
                                      (or (eq t wheres) (memq (plist-get hunk :where) wheres))))
                               hunks)
            when (< 0 n)
            collect (format (ngettext "%d hunk %s" "%d hunks %s" n)
                            n (if (= 1 n) words (or many words))))
   ", "))

(defconst agent-q-diff-message--round-sections
  '((rejected
     "The user rejected these changes, and they were undone in the files. \
Do not make them again unless the user asks for it:"
     "The changes that were rejected:" ("%d rejection" . "%d rejections"))
    (comment
     "The user's comments; do what they say:"
     "The lines that the comments are on:" ("%d comment" . "%d comments"))
    (question
     "The user's questions; answer them, and change nothing for them:"
     "The lines that the questions are on:" ("%d question" . "%d questions")))
  "What is said of entries of each kind: (KIND HEADING HEADING-OF-LINES COUNTED).")

(defconst agent-q-diff-message--how-to-answer
  "When you have handled a comment or a question, call the tool resolve_comment with its id and your \
answer; if you have no such tool, answer in your reply."
  "What agents are told about comments.")

(defun agent-q-diff-message--how-to-read (line)
  "Return a sentence for agents about what a message lacks, from LINE on."
  (format "Call the tool review_comments with a path%s to read what the user says about that file; \
the user finds all with M-x agent-q-diff-comments and M-x agent-q-diff-taken-out."
          (if-let ((from (nth 3 line))) (format ", and with from %d if it is this file," from) "")))

(defun agent-q-diff-message--entry-place (entry)
  "Return words for the lines of ENTRY, as for `agent-q-diff-message-of-round'."
  (concat (if-let ((id (plist-get entry :id))) (format "[%d] " id) "")
          (if-let ((path (plist-get entry :path))) (agent-q-diff-visible-name path) "all of it")
          (if-let ((lines (plist-get entry :lines-words))) (concat ", " lines) "")))

(defun agent-q-diff-message--entry-line (entry counted)
  "Return ENTRY as a line for `agent-q-diff-message-compose', of the kind COUNTED."
  (let* ((said (plist-get entry :said))
         (is-rejected (eq 'rejected (plist-get entry :kind))))
    (list (if said 1 2) counted
          (concat "- " (agent-q-diff-message--entry-place entry)
                  (pcase-exhaustive (plist-get entry :where)
                    ((or 'nil 'buffer 'changed) "")
                    ('unsaved
                     " (only in Emacs so far: the file still has the change, since it is not saved yet)")
                    ('unknown
                     " (only in Emacs so far; what the file has of the change is not known)")
                    ('file " (but the file has it again now)"))
                  (if said
                      (concat (if is-rejected ". The user says: " ": ")
                              (string-replace "\n" "\n  " said))
                    ""))
          (plist-get entry :line))))

(defun agent-q-diff-message--of-kind (entries kind)
  "Return those of ENTRIES that are of KIND."
  (seq-filter (lambda (entry) (eq kind (plist-get entry :kind))) entries))

(defun agent-q-diff-message--entry-sections (entries)
  "Return sections about ENTRIES for `agent-q-diff-message-compose'."
  (append
   (cl-loop for (kind heading _ counted) in agent-q-diff-message--round-sections
            for those = (agent-q-diff-message--of-kind entries kind)
            when those
            append (list (list heading)
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
                           (agent-q-diff-message--visible
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
                                         (agent-q-diff-message--lines
                                          (plist-get entry :quoted)
                                          (if (eq kind 'rejected) "    " "    > "))))
                                 quoted))))

(defun agent-q-diff-message-of-round (first entries)
  "Return the message of ENTRIES after FIRST, a sentence.
An entry is a plist: :kind is `rejected', `comment' or `question', :path the
file or nil for all of them, :line its line, from 1, :lines-words words for its
lines or nil, :id the number of a comment, :said what the user says or nil,
:where as in a result, and :quoted its lines or nil."
  (agent-q-diff-message--all (list (list first)) nil entries))

(provide 'agent-q-diff-message)
;;; agent-q-diff-message.el ends here
