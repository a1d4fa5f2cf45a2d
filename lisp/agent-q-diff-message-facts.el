;;; agent-q-diff-message-facts.el --- The facts in a message, in words  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How much of a proposal is in the file, or only in the buffer; which hunks;
;; what the user edited and said.  All of it follows from the result of a
;; review, a plist; see `agent-q-diff-review'.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)

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
    ("the text" (format "the text for %s; no file was written" path))
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
    (if (eq agent-q-diff-contract 'agent-q)
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

(defun agent-q-diff-message-facts-numbers (hunks)
  "Return the numbers of HUNKS, results of single hunks, as a string."
  (let ((numbers (mapcar (lambda (hunk) (number-to-string (1+ (plist-get hunk :index))))
                         hunks)))
    (if (cdr numbers)
        (concat (string-join (butlast numbers) ", ") " and " (car (last numbers)))
      (car numbers))))

(defun agent-q-diff-message-facts--part (format hunks)
  "Return FORMAT about HUNKS, or nil if there are none.
FORMAT ends in \"hunk%s.\", which gets their numbers.  If the user has
split hunks, their lines are shown instead, since the agent does not know
their numbers."
  (when hunks
    (if (seq-some (lambda (hunk) (plist-get hunk :part)) hunks)
        (concat (string-remove-suffix " hunk%s." format)
                (mapconcat #'agent-q-diff-message-facts--part-lines hunks ""))
      (format format (concat (if (cdr hunks) "s " " ")
                             (agent-q-diff-message-facts-numbers hunks))))))

(defun agent-q-diff-message-facts--part-lines (hunk)
  "Return the number and the lines of HUNK, the result of a single hunk."
  (format "\nhunk %d:\n%s" (1+ (plist-get hunk :index))
          (string-trim-right (or (plist-get hunk :part) "") "\n")))

(defun agent-q-diff-message-facts-undecided-p (hunk)
  "Return non-nil if HUNK, the result of one, is not in the file and undecided.
One that could not be applied where it belongs does not count."
  (and (null (plist-get hunk :state))
       (not (plist-get hunk :in-file))
       (not (plist-get hunk :reason))))

(defun agent-q-diff-message-facts-rejected-p (hunk)
  "Return non-nil if the user rejected HUNK, the result of one."
  (eq 'rejected (plist-get hunk :state)))

(defun agent-q-diff-message-facts-declined (result change)
  "Return what the user declined of RESULT, whose proposal is called CHANGE."
  (if (< 0 (or (plist-get result :pending) 0))
      (format "%d of %d hunks of %s" (plist-get result :rejected) (plist-get result :total)
              change)
    change))

(defun agent-q-diff-message-facts-left-open (result)
  "Return words that follow what was declined of RESULT, if not all was decided."
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
                       (seq-filter #'agent-q-diff-message-facts-rejected-p (append in out))))
                 (agent-q-diff-message-facts--part
                  "The user has not decided about hunk%s."
                  (and (plist-get result :decision)
                       (seq-filter #'agent-q-diff-message-facts-undecided-p out)))
                 (agent-q-diff-message-facts--part
                  (format "Was in %s, but its lines have been changed there since: hunk%%s."
                          place)
                  (seq-filter (lambda (hunk) (plist-get hunk :lost)) out))))
     (agent-q-diff-message-facts--not-applied
      (seq-filter (lambda (hunk) (plist-get hunk :reason)) out)))))

(defconst agent-q-diff-message-facts--max-reasons 20
  "Number of hunks of which a message says why they could not be applied.")

(defun agent-q-diff-message-facts--not-applied (hunks)
  "Return lines about HUNKS, which could not be applied, or nil.
Agent-Q's have just their numbers, so does the rest of very many."
  (if (eq agent-q-diff-contract 'agent-q)
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
   ;; Among plain sentences, the first says so.
   (when (eq agent-q-diff-contract 'agent-q)
     (list (agent-q-diff-message-facts-in-sentence result)))
   (agent-q-diff-message-facts-which result in out)
   (remq nil (list (agent-q-diff-message-facts-saved-note result)))
   (agent-q-diff-message-facts--live-lines result (append in out))))

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
              when line collect line)
     (cl-loop for hunk in hunks
              for line = (agent-q-diff-message-facts--ambiguous hunk)
              when line collect line))))

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

(defun agent-q-diff-message-facts--live-lines (result hunks)
  "Return lines that show the present text in the places of HUNKS of RESULT.
They are numbered as by the tools with which agents read files."
  (let ((known (sort (seq-filter (lambda (hunk) (plist-get hunk :now)) hunks)
                     (lambda (one other)
                       (< (plist-get one :index) (plist-get other :index))))))
    (when known
      (append (list "The lines as they now are:")
              (mapcan (apply-partially #'agent-q-diff-message-facts--numbered
                                       (agent-q-diff-message-facts-place result))
                      known)
              (agent-q-diff-message-facts--not-shown hunks)))))

(defun agent-q-diff-message-facts--not-shown (hunks)
  "Return a line about those HUNKS whose lines are not shown, or nil."
  (let ((n (- (length hunks) agent-q-diff-message-facts-max-live-hunks)))
    (when (> n 0)
      (list (format (ngettext "The lines of %d more hunk, from hunk %d on, are not shown."
                              "The lines of %d more hunks, from hunk %d on, are not shown."
                              n)
                    n (1+ agent-q-diff-message-facts-max-live-hunks))))))

(defun agent-q-diff-message-facts--numbered (place hunk)
  "Return lines that show the present text where HUNK belongs in PLACE."
  (pcase-let* ((`(,line . ,text) (plist-get hunk :now))
               (lines (and (not (string-empty-p text))
                           (split-string (string-remove-suffix "\n" text) "\n")))
               (more (- (length lines) agent-q-diff-message-facts--max-live-lines)))
    (append
     (list (format "hunk %d, %s %s:%s" (1+ (plist-get hunk :index))
                   (if (plist-get hunk :in-file) "in" "not in") place
                   (if lines "" (format " no lines, before line %d" (1+ line)))))
     (seq-map-indexed (lambda (text index)
                        (format "%6d\t%s" (+ line index 1)
                                (string-remove-suffix "\r" text)))
                      (seq-take lines agent-q-diff-message-facts--max-live-lines))
     (when (> more 0)
       (list (format "       … %d more lines" more))))))

;;;; What a hook changed, and what the user edited and said

(defun agent-q-diff-message-facts--hooked (result)
  "Return lines about hunks of RESULT that a hook of the user's changed on saving."
  (mapcan (lambda (hunk)
            (pcase (plist-get hunk :hooked)
              ('nil nil)
              ('out (list (format "On saving, a hook of the user's took hunk %d out again."
                                  (1+ (plist-get hunk :index)))))
              (_ (cons (format "On saving, a hook of the user's changed lines of hunk %d."
                               (1+ (plist-get hunk :index)))
                       (and (plist-get hunk :now)
                            (agent-q-diff-message-facts--numbered
                             (agent-q-diff-message-facts-place result) hunk))))))
          (plist-get result :hunks)))

(defun agent-q-diff-message-facts-edited-p (result)
  "Return non-nil if the user edited a hunk of RESULT that is in the target."
  (seq-some (lambda (hunk) (and (plist-get hunk :in-file) (plist-get hunk :edited)))
            (plist-get result :hunks)))

(defun agent-q-diff-message-facts--edited (result)
  "Return lines with the user's version of those hunks of RESULT that were edited."
  (mapcan (lambda (hunk)
            (when-let ((diff (and (or (plist-get hunk :in-file)
                                      (not (eq 'rejected (plist-get hunk :state))))
                                  (plist-get hunk :edited))))
              (list (format (if (plist-get hunk :in-file)
                                "The user edited hunk %d; in %s it is:"
                              "The user edited hunk %d:")
                            (1+ (plist-get hunk :index))
                            (agent-q-diff-message-facts-place result))
                    (string-trim-right diff "\n"))))
          (plist-get result :hunks)))

(defun agent-q-diff-message-facts-comments (result)
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

(defun agent-q-diff-message-facts-contradiction (outcome)
  "Return a line on how the file of OUTCOME contradicts its coding system, or nil.
OUTCOME is a plist with the sentence as :contradiction."
  (when-let ((sentence (plist-get outcome :contradiction)))
    (list (format "WARNING: %s. The user can make the two agree with M-x \
agent-q-diff-recode-target in the diff, or C-x RET f in the file's buffer."
                  (agent-q-diff-message-facts-capitalized sentence)))))

;;;; All details

(defun agent-q-diff-message-facts-details (result)
  "Return lines about RESULT that the decision alone does not tell, or nil.
They are about what is in the file, whatever the marks."
  (pcase-let* ((`(,in . ,out) (agent-q-diff-message-facts-in-and-out result))
               (is-accepted (equal (plist-get result :decision) "accepted"))
               (lines (append
                       (if (if is-accepted (null out) (null in))
                           (remq nil (list (agent-q-diff-message-facts-saved-note result)))
                         (agent-q-diff-message-facts--partial result in out))
                       (agent-q-diff-message-facts--placement result)
                       (agent-q-diff-message-facts--hooked result)
                       (agent-q-diff-message-facts--edited result)
                       (agent-q-diff-message-facts-comments result)
                       (agent-q-diff-message-facts-contradiction result)
                       (when (plist-get result :altered)
                         (list "On saving, a hook of the user's changed other lines as well.")))))
    (and lines (string-join lines "\n"))))

(provide 'agent-q-diff-message-facts)
;;; agent-q-diff-message-facts.el ends here
