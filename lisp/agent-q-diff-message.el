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
;; taken from the result of a review, a plist; see `agent-q-diff-review'.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)

(defsubst agent-q-diff-message--for-agent-q-p ()
  "Return non-nil if the message is to be in the wording of Agent-Q's documents."
  (eq 'agent-q (agent-q-diff-call-contract agent-q-diff-call)))

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
                             (agent-q-diff-message-facts--numbers hunks))))))

(defun agent-q-diff-message-facts--part-lines (hunk)
  "Return the number and the lines of HUNK, the result of a single hunk."
  (format "\nhunk %d:\n%s" (1+ (plist-get hunk :index))
          (string-trim-right (or (plist-get hunk :part) "") "\n")))

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
   (remq nil (list (agent-q-diff-message-facts--saved-note result)))
   (agent-q-diff-message-facts--live-lines result (append in out))))

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
                                       (agent-q-diff-message-facts--place result))
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
                             (agent-q-diff-message-facts--place result) hunk))))))
          (plist-get result :hunks)))

(defun agent-q-diff-message-facts--edited-p (result)
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
                            (agent-q-diff-message-facts--place result))
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
  "Return lines with facts about RESULT beyond the decision, or nil.
They say what is in the file, whatever the marks."
  (pcase-let* ((`(,in . ,out) (agent-q-diff-message-facts--in-and-out result))
               (is-accepted (equal (plist-get result :decision) "accepted"))
               (lines (append
                       (if (if is-accepted (null out) (null in))
                           (remq nil (list (agent-q-diff-message-facts--saved-note result)))
                         (agent-q-diff-message-facts--partial result in out))
                       (agent-q-diff-message-facts--placement result)
                       (agent-q-diff-message-facts--hooked result)
                       (agent-q-diff-message-facts--edited result)
                       (agent-q-diff-message-facts-comments result)
                       (agent-q-diff-message-facts--by-rules result)
                       (agent-q-diff-message-facts-contradiction result)
                       (when (plist-get result :altered)
                         (list "On saving, a hook of the user's changed other lines as well.")))))
    (and lines (string-join lines "\n"))))

;;; Several files

(defun agent-q-diff-message-files--name (path result)
  "Return the name by which an agent knows PATH, a file of RESULT."
  (string-remove-prefix (file-name-as-directory (plist-get result :path)) path))

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

(defun agent-q-diff-message-files--each (result)
  "Return what became of each file of RESULT, in words."
  (mapconcat (lambda (file) (agent-q-diff-message-files--file file result))
             (plist-get result :files) ", "))

(defun agent-q-diff-message-files-comments (result)
  "Return lines with the user's comments on RESULT and on the hunks of its files."
  (append
   (agent-q-diff-message-facts-comments (list :comment (plist-get result :comment)))
   (mapcan (lambda (file)
             (let ((name (agent-q-diff-message-files--name
                          (or (plist-get file :old-path) (plist-get file :path)) result)))
               (append
                (cl-loop for hunk in (plist-get file :hunks)
                         when (and (plist-get hunk :operation) (plist-get hunk :comment))
                         collect (format "The user says of %s: %s" name
                                         (plist-get hunk :comment)))
                (cl-loop for hunk in (agent-q-diff-message-files-lines file)
                         when (plist-get hunk :comment)
                         collect (format "The user says of hunk %d of %s: %s"
                                         (1+ (plist-get hunk :index)) name
                                         (plist-get hunk :comment))))))
           (plist-get result :files))))

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
  "Return lines with facts about the files of RESULT beyond the sentence, or nil.
There are none for a file that does not exist because it was not created."
  (let ((lines (append
                (agent-q-diff-message-facts-comments
                 (list :comment (plist-get result :comment)))
                (agent-q-diff-message-facts--by-rules result)
                (mapcan (lambda (file)
                          (when-let ((details
                                      (and (seq-some (lambda (hunk) (plist-get hunk :now))
                                                     (plist-get file :hunks))
                                           (< 0 (plist-get file :in-file))
                                           (agent-q-diff-message-facts--details
                                            (agent-q-diff-message-files--as-one
                                             file result)))))
                            (list (format "%s:" (agent-q-diff-message-files--name
                                                 (plist-get file :path) result))
                                  details)))
                        (plist-get result :files)))))
    (and lines (string-join lines "\n"))))

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

(defun agent-q-diff-message--plainly (result path)
  "Return the message in plain sentences about RESULT, a decision, for PATH."
  (let ((is-accepted (equal "accepted" (plist-get result :decision))))
    (string-join
     (append
      (list (cond
             ((plist-get result :files)
              (if is-accepted
                  (agent-q-diff-message-files--accepted result)
                (agent-q-diff-message-files--rejected result)))
             (is-accepted (agent-q-diff-message--accepted-plainly result path))
             (t (agent-q-diff-message--rejected-plainly result path))))
      (unless is-accepted
        (agent-q-diff-message--stop-lines (agent-q-diff-message--reason-p result)))
      (when-let ((details (agent-q-diff-message--details result)))
        (list details)))
     "\n\n")))

(defun agent-q-diff-message--details (result)
  "Return lines with facts about RESULT beyond its first sentence, or nil."
  (if (plist-get result :files)
      (agent-q-diff-message-files--details result)
    (agent-q-diff-message-facts--details result)))

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
            (if (and (stringp path) (agent-q-diff-visible-path-flaw path))
                (agent-q-diff-visible path)
              path)
            (agent-q-diff-error-text err)))))

(defun agent-q-diff-message-of-remains (result)
  "Return lines about what a review with RESULT left behind, or nil.
It ended without a decision.  The agent must not assume that the file is
unchanged, and the user's comments must not be lost."
  (let ((lines (append
                (when (plist-get result :total)
                  (agent-q-diff-message--remaining-hunks result))
                (agent-q-diff-message-facts-comments
                 ;; The lines about files include the comments on their hunks.
                 (if (plist-get result :files)
                     (list :comment (plist-get result :comment))
                   result)))))
    (and lines (string-join lines "\n"))))

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

(defun agent-q-diff-message-of-result (result path)
  "Return the message to the agent about RESULT of its proposal for PATH.
RESULT is a plist as for `agent-q-diff-review'."
  (cond
   ((not (memq (plist-get result :status) '(accepted partial rejected)))
    (let ((remains (agent-q-diff-message-of-remains result)))
      (concat (agent-q-diff-message-of-error
               path (list (plist-get result :error) (plist-get result :reason)))
              (and remains (concat "\n\n" remains)))))
   ((agent-q-diff-message--for-agent-q-p)
    (let ((details (agent-q-diff-message--details result)))
      (concat (agent-q-diff-message--of-decision (plist-get result :decision) path)
              (and details (concat "\n\n" details)))))
   (t (agent-q-diff-message--plainly result path))))

(defun agent-q-diff-message-of-denial (path reason &optional is-policy)
  "Return the message that a change of PATH was denied without a review.
REASON is what the user said, a string or nil.  If IS-POLICY is non-nil,
it is a sentence about the user's settings."
  (if (agent-q-diff-message--for-agent-q-p)
      (concat (agent-q-diff-message--of-decision "rejected" path)
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

(defun agent-q-diff-message-of-unreviewed (paths tool differing)
  "Return the message that TOOL has edited PATHS, and nobody has reviewed that yet.
DIFFERING are those that are not as TOOL was to leave them."
  (concat (format "The edit of %s was made, and is not reviewed yet: the user reviews it after \
your turn, and may take parts of it out then."
                  (string-join paths ", "))
          (and differing
               (format "\n%s not as %s was to leave %s; read %s before you go on."
                       (concat (string-join differing ", ") (if (cdr differing) " are" " is"))
                       tool
                       (if (cdr differing) "them" "it")
                       (if (cdr differing) "these files" "the file")))))

(defun agent-q-diff-message-of-undecided (result err function)
  "Return the message about ERR, and what a review left behind.
FUNCTION returns the message for an error.  RESULT is that of a review that
ended undecided, which says more than ERR, or nil if there was none."
  (let ((remains (and result (agent-q-diff-message-of-remains result))))
    (concat (funcall function
                     (if result
                         (list (plist-get result :error) (plist-get result :reason))
                       err))
            (and remains (concat "\n\n" remains)))))

(provide 'agent-q-diff-message)
;;; agent-q-diff-message.el ends here
