;;; agent-q-diff-message-facts.el --- What became of a review, in sentences  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How much of a proposal is in the file, or only in the buffer; which hunks;
;; what the user edited and said: the sentences and lines of which
;; agent-q-diff-message.el makes messages.  All are taken from the result of a
;; review, a plist; see `agent-q-diff-review'.  For a change of several files,
;; one sentence says what became of each; the details of files that were not
;; accepted completely follow.  The hunks of each file are numbered from 1, as in
;; a diff.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)

(defsubst agent-q-diff-message-facts-for-agent-q-p ()
  "Return non-nil if the message is to be in the wording of Agent-Q's documents."
  (eq 'agent-q (agent-q-diff-call-contract agent-q-diff-call)))

;;; Text that is data

;; Names, descriptions and lines of files are others' words.  In a sentence of
;; ours they must not read like one, and their lines must not end a quotation.

(defun agent-q-diff-message-facts-visible (text &optional has-lines)
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

(defvar agent-q-diff-message-max-length 8000
  "Most characters of a message: of longer ones, agents show their model a part.")

(defconst agent-q-diff-message-facts-max-item 6000
  "Most characters of one thing that the user says.")

(defconst agent-q-diff-message-facts--max-width 300
  "Most characters of a quoted line.")

(defun agent-q-diff-message-facts-cut (text max)
  "Return TEXT, or its first MAX characters and how many more there are."
  (if (<= (length text) max)
      text
    (format "%s… (%d more characters)" (substring text 0 max) (- (length text) max))))

(defun agent-q-diff-message-facts-lines (text &optional prefix)
  "Return the lines of TEXT, of a file, safe to quote, each after PREFIX."
  (and (not (string-empty-p text))
       (mapcar (lambda (line)
                 (concat (or prefix "    ")
                         (if (length> line agent-q-diff-message-facts--max-width)
                             (agent-q-diff-message-facts-cut
                              line agent-q-diff-message-facts--max-width)
                           line)))
               (split-string
                (agent-q-diff-message-facts-visible (string-remove-suffix "\n" text) t)
                "\n"))))

(defun agent-q-diff-message-facts--said (text)
  "Return TEXT, the user's words, as a line for `agent-q-diff-message-compose'."
  (list 1 '("%d thing that the user says" . "%d things that the user says") text))

(defun agent-q-diff-message-facts--remark (text)
  "Return TEXT, a line about hunks, as one for `agent-q-diff-message-compose'."
  (list 2 '("%d remark on hunks" . "%d remarks on hunks") text))

;;; The facts, in words

;;;; How much is in the target

(defun agent-q-diff-message-facts-count (result)
  "Return how much of RESULT is in the target: a subject and its verb."
  (let ((total (plist-get result :total))
        (in (plist-get result :in-file)))
    (cond
     ((= in 0) "none of it is")
     ((and (= in total) (= total 1)) "the change is")
     ((= in total 2) "both hunks are")
     ((= in total) (format "all %d hunks are" total))
     (t (format "%d of %d hunks %s" in total (if (= in 1) "is" "are"))))))

(defun agent-q-diff-message-facts-place (result)
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

(defun agent-q-diff-message-facts-where (result path)
  "Return where the applied hunks of RESULT are, in words that include PATH."
  (pcase (agent-q-diff-message-facts-place result)
    ("the text" (format (if (eq 'caller (plist-get result :writer))
                            "the text for %s, which the program that asked writes"
                          "the text for %s; no file was written")
                        path))
    ("the file" path)
    ("the buffer" (format "the user's Emacs buffer for %s" path))))

(defun agent-q-diff-message-facts-saved-note (result)
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

(defun agent-q-diff-message-facts-capitalized (sentence)
  "Return SENTENCE with its first letter in upper case."
  (concat (upcase (substring sentence 0 1)) (substring sentence 1)))

(defun agent-q-diff-message-facts-in-sentence (result)
  "Return a sentence about how much of RESULT is in the target.
For Agent-Q it has the numbers that document 004 requires."
  (let ((in (plist-get result :in-file))
        (place (agent-q-diff-message-facts-place result)))
    (if (agent-q-diff-message-facts-for-agent-q-p)
        (format "%d of %d hunks %s in %s." in (plist-get result :total)
                (if (= in 1) "is" "are") place)
      (format "%s in %s."
              (agent-q-diff-message-facts-capitalized (agent-q-diff-message-facts-count result))
              place))))

(defun agent-q-diff-message-facts-in-and-out (result)
  "Return (IN . OUT), the hunks of RESULT that are in the target, and the others."
  (cl-loop for hunk in (plist-get result :hunks)
           if (plist-get hunk :in-file) collect hunk into in
           else collect hunk into out
           finally return (cons in out)))

;;;; Which hunks

(defconst agent-q-diff-message-facts--max-numbers 50
  "Most numbers and ranges of numbers of a list of hunks.")

(defun agent-q-diff-message-facts--runs (numbers)
  "Return sorted NUMBERS as a list of (FIRST . LAST).
Only four or more that follow each other are one of these."
  (let ((runs nil))
    (while numbers
      (let ((last numbers))
        (while (eql (cadr last) (1+ (car last)))
          (pop last))
        (if (<= 3 (- (car last) (car numbers)))
            (progn (push (cons (car numbers) (car last)) runs)
                   (setq numbers (cdr last)))
          (push (cons (car numbers) (car numbers)) runs)
          (pop numbers))))
    (nreverse runs)))

(defun agent-q-diff-message-facts--numbers (hunks)
  "Return the numbers of HUNKS, results of single hunks, as a string.
Of many, only how many more there are is said in the end."
  (let* ((runs (agent-q-diff-message-facts--runs
                (sort (mapcar (lambda (hunk) (1+ (plist-get hunk :index))) hunks) #'<)))
         (more (apply #'+ (mapcar (pcase-lambda (`(,first . ,last)) (- last first -1))
                                  (nthcdr agent-q-diff-message-facts--max-numbers runs))))
         (numbers (append
                   (mapcar (pcase-lambda (`(,first . ,last))
                             (if (= first last) (number-to-string first)
                               (format "%d–%d" first last)))
                           (seq-take runs agent-q-diff-message-facts--max-numbers))
                   (and (< 0 more) (list (format "%d more" more))))))
    (if (cdr numbers)
        (concat (string-join (butlast numbers) ", ") " and " (car (last numbers)))
      (car numbers))))

(defun agent-q-diff-message-facts--part (format hunks &optional listed sentence)
  "Return FORMAT about HUNKS, or nil if there are none.
FORMAT ends in \"hunk%s.\", which gets their numbers.  If these are several,
those of LISTED, in the line above, return SENTENCE.  The value is a line for
`agent-q-diff-message-compose': what the user says has room first."
  (and hunks
       (list 2 '("%d list of hunks" . "%d lists of hunks")
             (if (and (cdr hunks)
                      (length= listed (length hunks))
                      (null (seq-difference hunks listed)))
                 sentence
               (format format (concat (if (cdr hunks) "s " " ")
                                      (agent-q-diff-message-facts--numbers hunks)))))))

(defun agent-q-diff-message-facts--undecided-p (hunk)
  "Return non-nil if HUNK, a hunk's result, is undecided and not in the file.
One that could not be applied where it belongs does not count."
  (and (null (plist-get hunk :state))
       (not (plist-get hunk :in-file))
       (not (plist-get hunk :reason))))

(defun agent-q-diff-message-facts--rejected-p (hunk)
  "Return non-nil if the user rejected HUNK, the result of a single hunk."
  (eq 'rejected (plist-get hunk :state)))

(defun agent-q-diff-message-facts-declined (result change)
  "Return which part of CHANGE, a name for the proposal of RESULT, was declined."
  (if (< 0 (or (plist-get result :pending) 0))
      (format "%d of %d hunks of %s" (plist-get result :rejected) (plist-get result :total)
              change)
    change))

(defun agent-q-diff-message-facts-left-open (result)
  "Return words to append about hunks of RESULT that the user has not decided."
  (pcase (or (plist-get result :pending) 0)
    (0 "")
    (1 ", and has not decided about the other")
    (_ ", and has not decided about the others")))

(defun agent-q-diff-message-facts-which (result in out)
  "Return lines that list which hunks are IN the target of RESULT, and which OUT."
  (let ((place (agent-q-diff-message-facts-place result)))
    (append
     (delq nil
           (list (agent-q-diff-message-facts--part (format "In %s: hunk%%s." place) in)
                 (agent-q-diff-message-facts--part (format "Not in %s: hunk%%s." place) out)
                 (agent-q-diff-message-facts--part
                  "The user rejected hunk%s."
                  (and (plist-get result :decision)
                       (seq-filter #'agent-q-diff-message-facts--rejected-p (append in out)))
                  out "The user rejected all of these.")
                 (agent-q-diff-message-facts--part
                  "The user has not decided about hunk%s."
                  (and (plist-get result :decision)
                       (seq-filter #'agent-q-diff-message-facts--undecided-p out))
                  out "The user has not decided about any of these.")
                 (agent-q-diff-message-facts--part
                  (format "Was in %s, but was changed there since: hunk%%s."
                          place)
                  (seq-filter (lambda (hunk) (plist-get hunk :lost)) out)
                  out (format "These were in %s, but were changed there since."
                              place))))
     (agent-q-diff-message-facts--not-applied
      (seq-filter (lambda (hunk) (plist-get hunk :reason)) out)))))

(defconst agent-q-diff-message-facts--max-reasons 20
  "Number of hunks for which a message says why they could not be applied.")

(defun agent-q-diff-message-facts--not-applied (hunks)
  "Return lines about HUNKS, which could not be applied, or nil.
For Agent-Q, and beyond `agent-q-diff-message-facts--max-reasons', they give
only the numbers."
  (if (agent-q-diff-message-facts-for-agent-q-p)
      (remq nil (list (agent-q-diff-message-facts--part
                       "Could not be applied where it belongs: hunk%s." hunks)))
    (append
     (mapcar (lambda (hunk)
               (agent-q-diff-message-facts--remark
                (format "Could not be applied: hunk %d (%s)." (1+ (plist-get hunk :index))
                        (plist-get hunk :reason))))
             (seq-take hunks agent-q-diff-message-facts--max-reasons))
     (remq nil (list (agent-q-diff-message-facts--part
                      "Could not be applied either: hunk%s."
                      (nthcdr agent-q-diff-message-facts--max-reasons hunks)))))))

(defun agent-q-diff-message-facts--partial (result in out)
  "Return lines that list the hunks IN the target of RESULT, and those OUT of it."
  (append
   ;; In plain wording, the first sentence says so.
   (when (agent-q-diff-message-facts-for-agent-q-p)
     (list (agent-q-diff-message-facts-in-sentence result)))
   (agent-q-diff-message-facts-which result in out)
   (remq nil (list (agent-q-diff-message-facts-saved-note result)))))

(defun agent-q-diff-message-facts--placement (result)
  "Return lines about hunks of RESULT that were not simply applied as stated.
A change that was there before, or that is in a place with other context,
must not be mistaken for one that the user applied."
  (let ((hunks (plist-get result :hunks))
        (place (agent-q-diff-message-facts-place result)))
    (append
     (remq nil
           (list (agent-q-diff-message-facts--part
                  (format "Already in %s, and not put there by this review: hunk%%s."
                          place)
                  (cl-loop for hunk in hunks
                           when (plist-get hunk :was-in) collect hunk))))
     (cl-loop for hunk in hunks
              for line = (agent-q-diff-message-facts--fuzzy hunk place)
              when line collect (agent-q-diff-message-facts--remark line))
     (cl-loop for hunk in hunks
              for line = (agent-q-diff-message-facts--ambiguous hunk)
              when line collect (agent-q-diff-message-facts--remark line)))))

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
    (places (format "The lines of hunk %d occur in several places: lines %s%s. \
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
                                    (agent-q-diff-message-facts-place result))
                   known)
         ,@(and (< 0 more)
                `((,(format (ngettext "The lines of %d more hunk, from hunk %d on, are not shown."
                                      "The lines of %d more hunks, from hunk %d on, are not shown."
                                      more)
                            more (1+ agent-q-diff-message-facts-max-live-hunks))))))))))

(defun agent-q-diff-message-facts--numbered (place hunk)
  "Return the quotation of the present text where HUNK belongs in PLACE."
  (pcase-let* ((`(,line . ,text) (plist-get hunk :now))
               (lines (agent-q-diff-message-facts-lines (string-replace "\r\n" "\n" text) ""))
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
           collect (agent-q-diff-message-facts--remark (format words (1+ (plist-get hunk :index))))))

(defun agent-q-diff-message-facts-edited-p (result)
  "Return non-nil if the user edited a hunk of RESULT that is in the target."
  (seq-some (lambda (hunk) (and (plist-get hunk :in-file) (plist-get hunk :edited)))
            (plist-get result :hunks)))

(defun agent-q-diff-message-facts--parts (result)
  "Return groups of quotations of hunks of RESULT that were split or edited."
  (let ((quoted (lambda (label text) (cons label (agent-q-diff-message-facts-lines text))))
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
                                    (agent-q-diff-message-facts-place result))
                            (funcall quoted nil (plist-get hunk :edited)))))))

(defun agent-q-diff-message-facts-comments (result)
  "Return lines with the user's comments on RESULT and on its hunks."
  (append
   (when-let ((comment (plist-get result :comment)))
     (list (agent-q-diff-message-facts--said (format "The user says: %s" comment))))
   ;; The same words on several hunks are said once.
   (mapcar (pcase-lambda (`((,comment . ,is-rejected) . ,hunks))
             (agent-q-diff-message-facts--said
              (format "The user says of hunk%s %s%s: %s"
                      (if (cdr hunks) "s" "")
                      (agent-q-diff-message-facts--numbers hunks)
                      (cond ((not is-rejected) "")
                            ((cdr hunks) ", which are rejected")
                            (t ", which is rejected"))
                      comment)))
           (seq-sort-by
            (lambda (group) (plist-get (cadr group) :index)) #'<
            (seq-group-by (lambda (hunk)
                            (cons (plist-get hunk :comment)
                                  (agent-q-diff-message-facts--rejected-p hunk)))
                          (seq-filter (lambda (hunk) (plist-get hunk :comment))
                                      (plist-get result :hunks)))))))

(defun agent-q-diff-message-facts--by-rules (result)
  "Return a list with a line on what rules decided of RESULT, or nil."
  (when-let ((hunks (seq-filter (lambda (hunk) (plist-get hunk :decided-by))
                                (plist-get result :hunks))))
    (let ((n (length hunks)))
      (list (format "Decided by the user's rules, unseen by the user: %s."
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
                  (agent-q-diff-message-facts-capitalized sentence)))))

;;;; All details

(defun agent-q-diff-message-facts-details (result)
  "Return (LINES . GROUPS), facts about RESULT beyond the decision.
They say what is in the file, whatever the marks."
  (pcase-let* ((`(,in . ,out) (agent-q-diff-message-facts-in-and-out result))
               (is-accepted (equal (plist-get result :decision) "accepted"))
               (is-partial (if is-accepted out in)))
    (cons
     (append
      (if is-partial
          (agent-q-diff-message-facts--partial result in out)
        (remq nil (list (agent-q-diff-message-facts-saved-note result))))
      (agent-q-diff-message-facts-comments result)
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
          (if (eq 'rename (plist-get hunk :operation))
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

(defun agent-q-diff-message-files-sentence (result)
  "Return a sentence about what became of each file of RESULT."
  (let* ((files (plist-get result :files))
         (n (seq-count (lambda (file) (< 0 (plist-get file :in-file))) files)))
    (format "%d of %s: %s."
            n
            (format (ngettext "%d file" "%d files" (length files)) (length files))
            (agent-q-diff-message-files--each result))))

(defun agent-q-diff-message-files-in-sentence (result)
  "Return a sentence about how much of RESULT is in which of its files."
  (let ((in (plist-get result :in-file)))
    (if (= 0 in)
        (format "None of it is in the files: %s." (agent-q-diff-message-files--each result))
      (format "%s of it is in %s" (if (< in (plist-get result :total)) "Part" "All")
              (agent-q-diff-message-files-sentence result)))))

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
             (words (agent-q-diff-message-facts-cut
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

(defun agent-q-diff-message-files-comments (result &optional is-stated)
  "Return lines with the user's comments on RESULT and on the hunks of its files.
If IS-STATED is non-nil, without those that the sentence about its files has."
  (append
   (agent-q-diff-message-facts-comments (list :comment (plist-get result :comment)))
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
            collect (agent-q-diff-message-facts--said
                     (format "The user says of %s%s: %s"
                             (if (plist-get hunk :operation)
                                 ""
                               (format "hunk %d of " (1+ (plist-get hunk :index))))
                             name (plist-get hunk :comment)))))))

(defun agent-q-diff-message-files-accepted (result)
  "Return the first sentence about RESULT, which was accepted."
  (let ((in (plist-get result :in-file)))
    (format "✓ %s%s: %s%s"
            (cond
             ((= in 0) "Accepted, but nothing is in the files")
             ((< in (plist-get result :total)) "Accepted in part")
             (t "Accepted"))
            (cond
             ((not (plist-get result :detached)) "")
             ((eq 'caller (plist-get result :writer)) ", and the program that asked writes it")
             (t ", not yet written"))
            (agent-q-diff-message-files-sentence result)
            (if (or (plist-get result :saved) (plist-get result :detached))
                ""
              " Not all of it is saved; see below."))))

(defun agent-q-diff-message-files-rejected (result)
  "Return the first sentences about RESULT, which was rejected."
  (let ((n (length (plist-get result :files))))
    (format "✗ Rejected: the user declined %s%s. %s"
            (agent-q-diff-message-facts-declined
             result (format (ngettext "the change to %d file" "the changes to %d files" n) n))
            (agent-q-diff-message-facts-left-open result)
            (cond
             ((or (< 0 (plist-get result :in-file))
                  (< 0 (or (plist-get result :pending) 0))
                  (seq-some (lambda (hunk)
                              (or (plist-get hunk :comment)
                                  (eq 'rename (plist-get hunk :operation))))
                            (plist-get result :hunks)))
              (agent-q-diff-message-files-in-sentence result))
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

(defun agent-q-diff-message-files-details (result)
  "Return (LINES . GROUPS), facts about the files of RESULT beyond the sentence.
There are none for a file that does not exist because it was not created."
  (let ((details
         (cl-loop for file in (plist-get result :files)
                  when (and (< 0 (plist-get file :in-file))
                            (seq-some (lambda (hunk) (plist-get hunk :now))
                                      (plist-get file :hunks)))
                  collect (cons (agent-q-diff-message-files--name (plist-get file :path) result)
                                (agent-q-diff-message-facts-details
                                 (agent-q-diff-message-files--as-one file result))))))
    (cons
     (append
      (agent-q-diff-message-files-comments result 'stated)
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

(provide 'agent-q-diff-message-facts)
;;; agent-q-diff-message-facts.el ends here
