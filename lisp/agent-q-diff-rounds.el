;;; agent-q-diff-rounds.el --- What agents are told of a review after the write  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each review of what agents have written is a round: when the user has
;; finished it, what was taken out, with the reasons, and all open comments and
;; questions become one message, which the agent reads with its next prompt, or
;; when it asks.  The message is recorded in the project, so that it waits there
;; also if neither Emacs nor the agent runs.
;;
;; What was taken out is remembered by its lines.  When they come back, the next
;; review says so; that decides nothing.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-policy)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-pending)

(cl-defstruct (agent-q-diff-round (:constructor agent-q-diff-round--create) (:copier nil))
  "What is known of a review of what was written already, beyond its hunks."
  (root nil :documentation "The root of the project.")
  (texts nil :documentation "Alist from paths in it to (OLD . NEW).
These are the names of the texts that are compared.")
  (rejected nil :documentation "Table from paths to what was rejected in earlier reviews.
That is a list of `agent-q-diff-rejected'.")
  (marks nil :documentation "The marks of all hunks after the last decision, a vector.")
  (decided (make-hash-table) :documentation "Table from ids of decided hunks to how.
That is [MARK TURNS REJECTED REASON]; REJECTED is an `agent-q-diff-rejected' or
nil, and REASON one that was taken over.")
  (counts (make-hash-table) :documentation "Table from indices of files to tables.
Each is from the word for the lines of a hunk to the number of such hunks.")
  (labels (make-hash-table) :documentation "Table from ids of hunks to their labels, or `none'."))

(cl-defstruct (agent-q-diff-rejected (:type vector) (:copier nil))
  "A hunk that was rejected, as in `agent-q-diff-module-note-rejected'."
  path hunk context time reason line lines is-told)

(cl-defstruct (agent-q-diff-comment (:type vector) (:constructor nil) (:copier nil))
  "A comment, as in `agent-q-diff-module-comments'."
  id path side line n kind text state replies lines is-unsure was)

(cl-defstruct (agent-q-diff-queued (:type vector) (:constructor nil) (:copier nil))
  "A message to agents, as in `agent-q-diff-module-messages'."
  id time to text comments)

(defun agent-q-diff-round-begin (root files)
  "Return a round of FILES in the project at ROOT.
FILES are a list of `agent-q-diff-pending-file'."
  (let ((rejected (make-hash-table :test #'equal)))
    (dolist (one (agent-q-diff-engine-call #'agent-q-diff-module-rejected root))
      (push one (gethash (agent-q-diff-rejected-path one) rejected)))
    (agent-q-diff-round--create
     :root root
     :rejected rejected
     :texts (mapcar (lambda (file)
                      (cons (agent-q-diff-pending-file-path file)
                            (cons (agent-q-diff-pending-file-text file)
                                  (agent-q-diff-pending-file-new-text file))))
                    files))))

(defun agent-q-diff-round-of (change)
  "Return the `agent-q-diff-round' of CHANGE, or nil if it has none."
  (when-let ((written (agent-q-diff-change-written change)))
    (agent-q-diff-written-round written)))

(defun agent-q-diff-round-path (change hunk)
  "Return the path of the file of HUNK of CHANGE, relative to its project."
  (file-relative-name
   (agent-q-diff-file-change-path (agent-q-diff-change-file-of change hunk))
   (agent-q-diff-round-root (agent-q-diff-round-of change))))

;;;; The lines of a hunk

(defun agent-q-diff-round--plain (text)
  "Return TEXT as characters; bytes that are none are shown by their numbers."
  (replace-regexp-in-string
   "[\x3fff80-\x3fffff]"
   (lambda (byte) (format "\\%o" (logand #xff (aref byte 0))))
   (substring-no-properties (agent-q-diff-engine-text text)) t t))

(defun agent-q-diff-round--diff (change hunk)
  "Return HUNK of CHANGE as text: a header and lines as in a diff.
An operation has only words for itself."
  (if-let ((operation (agent-q-diff-change-operation-of change hunk)))
      (agent-q-diff-operation-words operation)
    (agent-q-diff-engine-text
     (car (agent-q-diff-module-print-hunks (agent-q-diff-change-engine change)
                                           hunk (1+ hunk) nil)))))

(defun agent-q-diff-round--words (diff)
  "Return (HUNK . CONTEXT), words for the changed and the other lines of DIFF.
DIFF is as from `agent-q-diff-round--diff'."
  (let* ((lines (split-string diff "\n"))
         (others (seq-filter (lambda (line) (string-prefix-p " " line)) lines)))
    (cons (agent-q-diff-module-hash (if (cdr lines) (agent-q-diff-round--changed diff) diff))
          (agent-q-diff-module-hash (string-join others "\n")))))

(defun agent-q-diff-round--changed (diff)
  "Return the changed lines of DIFF, with their signs.
DIFF is as from `agent-q-diff-round--diff'."
  (mapconcat (lambda (line) (concat line "\n"))
             (seq-filter (lambda (line) (string-match-p "\\`[-+\\]" line))
                         (split-string diff "\n"))
             ""))

(defun agent-q-diff-round-hunk-lines (change hunk)
  "Return the changed lines of HUNK of CHANGE, (SIDE START N), from 0.
Return nil if it has none."
  (agent-q-diff-round--lines (agent-q-diff-round--diff change hunk)))

(defun agent-q-diff-round--starts (diff)
  "Return (OLD . NEW), the first line of each side in DIFF, from 0, or nil."
  (pcase (agent-q-diff-engine-hunk-lines diff)
    (`(,old ,_ ,new ,_) (cons old new))))

(defun agent-q-diff-round--lines (diff)
  "Return the changed lines of DIFF: (SIDE START N), or nil if it has none.
SIDE is `new' if there is any line in the new text, else `old'.  START is
counted from 0."
  (pcase-let ((`(,old . ,new) (agent-q-diff-round--starts diff))
              (sides (list (list 'new) (list 'old))))
    (when old
      (dolist (line (cdr (split-string diff "\n")))
        (pcase (and (not (string-empty-p line)) (aref line 0))
          (?\s (cl-incf old) (cl-incf new))
          (?- (push old (cdr (assq 'old sides))) (cl-incf old))
          (?+ (push new (cdr (assq 'new sides))) (cl-incf new))))
      (pcase-let ((`(,side . ,lines) (seq-find #'cdr sides)))
        (when lines
          (list side (car (last lines)) (- (1+ (car lines)) (car (last lines)))))))))

(defun agent-q-diff-round-commented-p (change hunk)
  "Return non-nil if a comment is on lines of HUNK of CHANGE, or on its file."
  (when-let* ((round (agent-q-diff-round-of change))
              (comments (agent-q-diff-round-comments round)))
    (let* ((path (agent-q-diff-round-path change hunk))
           (diff (agent-q-diff-round--diff change hunk))
           (starts (agent-q-diff-round--starts diff))
           (n (length (split-string diff "\n" t))))
      (seq-some (lambda (one)
                  (and (equal path (agent-q-diff-comment-path one))
                       (or (null (agent-q-diff-comment-side one))
                           (null starts)
                           (when-let ((line (agent-q-diff-comment-line one))
                                      (start (if (eq 'old (agent-q-diff-comment-side one))
                                                 (car starts)
                                               (cdr starts))))
                             (and (< line (+ start n))
                                  (< start (+ line (agent-q-diff-comment-n one))))))))
                comments))))

(add-hook 'agent-q-diff-policy-noted-functions #'agent-q-diff-round-commented-p)

;;;; What was rejected before

(defun agent-q-diff-round-label (change hunk)
  "Return words about what the user decided of the lines of HUNK before, or nil.
CHANGE is one that was written before its review."
  (let* ((round (agent-q-diff-round-of change))
         (snapshot (agent-q-diff-change-hunk change hunk)))
    (and (null (agent-q-diff-engine-hunk-mark snapshot))
         (agent-q-diff-round--rejection change round hunk)
         (car (gethash (agent-q-diff-engine-hunk-id snapshot)
                       (agent-q-diff-round-labels round))))))

(defun agent-q-diff-round--rejection (change round hunk)
  "Return the `agent-q-diff-rejected' of earlier reviews that is like HUNK, or nil.
CHANGE is that of ROUND.  Remember the label as well."
  (let* ((labels (agent-q-diff-round-labels round))
         (id (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk)))
         (known (gethash id labels)))
    (cond
     ((eq known 'none) nil)
     (known (nth 1 known))
     (t
      (pcase (agent-q-diff-round--find-rejection change round hunk)
        ('nil (ignore (puthash id 'none labels)))
        (`(,one . ,how)
         (puthash id (list (agent-q-diff-round--label-words one how) one how) labels)
         one))))))

(defun agent-q-diff-round--find-rejection (change round hunk)
  "Return (REJECTED . HOW) for HUNK of CHANGE, or nil if nothing is like it.
HOW is t if it is that hunk, `like' if several hunks of its file in ROUND have
the same lines and it is not the one by the lines around it, and `part' if it
has other lines, too."
  (when-let ((all (gethash (agent-q-diff-round-path change hunk)
                           (agent-q-diff-round-rejected round))))
    (pcase-let* ((diff (agent-q-diff-round--diff change hunk))
                 (`(,word . ,context) (agent-q-diff-round--words diff))
                 (alike (seq-filter (lambda (one) (equal word (agent-q-diff-rejected-hunk one)))
                                    all)))
      (if alike
          (if-let ((same (seq-find (lambda (one)
                                     (equal context (agent-q-diff-rejected-context one)))
                                   alike)))
              (cons same t)
            (cons (car alike)
                  (if (= 1 (agent-q-diff-round--n-equal change round hunk word))
                      t
                    'like)))
        (let ((changed (concat "\n" (agent-q-diff-round--changed diff))))
          (when-let ((part (seq-find
                            (lambda (one)
                              (let ((lines (agent-q-diff-rejected-lines one)))
                                (and (string-search "\n" lines)
                                     (string-search (concat "\n" lines) changed))))
                            all)))
            (cons part 'part)))))))

(defun agent-q-diff-round--n-equal (change round hunk word)
  "Return how many hunks of the file of HUNK of CHANGE have WORD for their lines.
They were counted when that was first asked in ROUND."
  (let* ((file (agent-q-diff-change-file-index change hunk))
         (counts (gethash file (agent-q-diff-round-counts round))))
    (unless counts
      (setq counts (make-hash-table :test #'equal))
      (puthash file counts (agent-q-diff-round-counts round))
      (dolist (other (agent-q-diff-change-hunks-of change file))
        (cl-incf (gethash (car (agent-q-diff-round--words
                                (agent-q-diff-round--diff change other)))
                          counts 0))))
    (gethash word counts 1)))

(defun agent-q-diff-round--label-words (one how)
  "Return words for ONE, an `agent-q-diff-rejected', as a label of a hunk.
HOW is as from `agent-q-diff-round--find-rejection'."
  (let ((reason (agent-q-diff-rejected-reason one))
        (day (agent-q-diff-round--day (agent-q-diff-rejected-time one))))
    (concat (pcase-exhaustive how
              ('t (format "rejected %s" day))
              ('like "like one that you rejected")
              ('part (format "with lines that you rejected %s" day)))
            (if (string-empty-p reason)
                ""
              (concat ": " (truncate-string-to-width (agent-q-diff-visible reason)
                                                     30 nil nil "…"))))))

(defun agent-q-diff-round--day (time)
  "Return words for the day of TIME, in seconds since 1970."
  (let* ((system-time-locale "C")
         (day (lambda (time) (time-to-days (seconds-to-time time))))
         (age (- (funcall day (float-time)) (funcall day time))))
    (cond
     ((<= age 0) "today")
     ((= age 1) "yesterday")
     ((< age 7) (format-time-string "on %A" time))
     (t (format-time-string "on %F" time)))))

(defun agent-q-diff-round--n-again (change)
  "Return the number of pending hunks of CHANGE that the user rejected before."
  (let ((round (agent-q-diff-round-of change)))
    (if (= 0 (hash-table-count (agent-q-diff-round-rejected round)))
        0
      (cl-loop for mark in (agent-q-diff-module-marks (agent-q-diff-change-engine change))
               for hunk from 0
               count (and (null mark)
                          (agent-q-diff-round--rejection change round hunk))))))

;;;; What is new in a round

(defun agent-q-diff-round-news (change)
  "Return sentences on what is new in CHANGE since the last round, a list.
They are about hunks that are new, those that the user has rejected before, and
comments that agents have answered; answers that no file of CHANGE shows are
among them."
  (let* ((round (agent-q-diff-round-of change))
         (finished (agent-q-diff-engine-call #'agent-q-diff-module-finished-round
                                             (agent-q-diff-round-root round)))
         (n-again (agent-q-diff-round--n-again change))
         (handled (seq-filter (lambda (one) (eq 'handled (agent-q-diff-comment-state one)))
                              (agent-q-diff-round-comments round)))
         (n-handled (length handled))
         (n-new (and (< 0 finished)
                     (agent-q-diff-round--n-since change finished))))
    (unless (and (null n-new) (= 0 n-again n-handled))
      (cons
       (concat
        (string-join
         (delq nil
               (list (and n-new
                          (let ((n (max 0 (- n-new n-again))))
                            (format (ngettext "%d new hunk" "%d new hunks" n) n)))
                     (and (< 0 n-again) (format "%d again" n-again))
                     (and (< 0 n-handled)
                          (format (ngettext "%d comment handled" "%d comments handled" n-handled)
                                  n-handled))))
         ", ")
        ".")
       (mapcan (lambda (one)
                 (unless (and (assoc (agent-q-diff-comment-path one)
                                     (agent-q-diff-round-texts round))
                              (or (agent-q-diff-comment-line one)
                                  (null (agent-q-diff-comment-side one))))
                   (list (agent-q-diff-round--answer-words one))))
               handled)))))

(defun agent-q-diff-round--answer-words (one)
  "Return a sentence with ONE, an `agent-q-diff-comment', and its last answer."
  (pcase-let ((`(,who . ,text) (car (last (agent-q-diff-comment-replies one))))
              (short (lambda (text)
                       (agent-q-diff-visible (replace-regexp-in-string "[ \t\n]+" " " text)
                                             200))))
    (format "You said of %s: \"%s\"; %s has answered: \"%s\""
            (if (string-empty-p (agent-q-diff-comment-path one))
                "all of it"
              (agent-q-diff-visible (agent-q-diff-comment-path one)))
            (funcall short (agent-q-diff-comment-text one))
            (agent-q-diff-visible (or who "somebody")) (funcall short (or text "")))))

(defun agent-q-diff-round--n-since (change turn)
  "Return the number of hunks of CHANGE that were written after TURN, a number.
Of what no agent has written in a turn, that is not known, so it counts."
  (cl-loop for hunk below (length (agent-q-diff-module-marks
                                   (agent-q-diff-change-engine change)))
           for turns = (agent-q-diff-change-hunk-turns change hunk)
           count (or (null turns) (< turn (apply #'max turns)))))

;;;; What is decided

(defun agent-q-diff-round-note (change)
  "Record what the user has decided in CHANGE since the last call.
That is for what agents are told, for the turns in which it was written, and
for the day on which it comes back."
  (let* ((round (agent-q-diff-round-of change))
         (known (agent-q-diff-round-marks round))
         (marks (vconcat (agent-q-diff-module-marks (agent-q-diff-change-engine change))))
         (is-split (and known (/= (length known) (length marks))))
         (rejected nil)
         (tally nil)
         (count (lambda (turns column n)
                  (dolist (turn turns)
                    (cl-incf (nth column (or (alist-get turn tally)
                                             (setf (alist-get turn tally) (list 0 0))))
                             n)))))
    (when is-split
      (agent-q-diff-round--note-gone change round count))
    (dotimes (hunk (length marks))
      (when (if (or is-split (null known))
                (aref marks hunk)
              (not (eq (aref known hunk) (aref marks hunk))))
        (agent-q-diff-round--note-hunk change round hunk
                                       (lambda (one) (push one rejected))
                                       count)))
    (setf (agent-q-diff-round-marks round) marks)
    (when rejected
      (agent-q-diff-engine-call #'agent-q-diff-module-note-rejected
                                (agent-q-diff-round-root round) (nreverse rejected)))
    (pcase-dolist (`(,turn ,kept ,taken-out) tally)
      (unless (= 0 kept taken-out)
        (agent-q-diff-engine-call #'agent-q-diff-module-count-decided
                                  (agent-q-diff-round-root round) turn kept taken-out)))))

(defun agent-q-diff-round--note-hunk (change round hunk reject count)
  "Record how HUNK of CHANGE, in ROUND, is decided now.
REJECT is called with an `agent-q-diff-rejected' that is new.  COUNT is called
with a list of turns, 0 for what is kept or 1 for what is taken out, and by how
much that changes."
  (let* ((snapshot (agent-q-diff-change-hunk change hunk))
         (id (agent-q-diff-engine-hunk-id snapshot))
         (mark (agent-q-diff-engine-hunk-mark snapshot))
         (decided (agent-q-diff-round-decided round))
         (before (gethash id decided)))
    (unless (eq mark (and before (aref before 0)))
      (when before
        (agent-q-diff-round--undo change round id count))
      (when mark
        (let* ((turns (agent-q-diff-change-hunk-turns change hunk))
               (reason (and (eq mark 'rejected)
                            (agent-q-diff-round--take-over-reason change round hunk)))
               (one (and (eq mark 'rejected)
                         (agent-q-diff-round--rejected change hunk))))
          (puthash id (vector mark turns one reason) decided)
          (funcall count turns (if one 1 0) 1)
          (if one
              (funcall reject one)
            (agent-q-diff-round--forget-kept change round hunk)))))))

(defun agent-q-diff-round--forget (round one)
  "Record that ONE, a rejection in ROUND, does not hold any more.
ONE is an `agent-q-diff-rejected'."
  (agent-q-diff-engine-call
   #'agent-q-diff-module-forget-rejected (agent-q-diff-round-root round)
   (agent-q-diff-rejected-path one) (agent-q-diff-rejected-hunk one)
   (agent-q-diff-rejected-context one) (agent-q-diff-rejected-line one)))

(defun agent-q-diff-round--forget-kept (change round hunk)
  "Forget that HUNK of CHANGE, in ROUND, was rejected before: now it is kept."
  (when-let ((one (agent-q-diff-round--rejection change round hunk)))
    (unless (agent-q-diff-round--part-p change round hunk)
      (agent-q-diff-round--forget round one))))

(defun agent-q-diff-round--rejected (change hunk)
  "Return the `agent-q-diff-rejected' for HUNK of CHANGE."
  (let* ((diff (agent-q-diff-round--diff change hunk))
         (words (agent-q-diff-round--words diff)))
    (make-agent-q-diff-rejected
     :path (agent-q-diff-round-path change hunk) :hunk (car words) :context (cdr words)
     :time (truncate (float-time))
     :reason (agent-q-diff-round--reason change hunk)
     :line (agent-q-diff-round--old-line diff)
     :lines (agent-q-diff-round--plain
             (if (string-search "\n" diff) (agent-q-diff-round--changed diff) diff)))))

(defun agent-q-diff-round--reason (change hunk)
  "Return the comment on HUNK of CHANGE, the reason if it is rejected, or \"\"."
  (agent-q-diff-round--plain
   (or (agent-q-diff-change-comment change (agent-q-diff-change-hunk change hunk)) "")))

(defun agent-q-diff-round--old-line (diff)
  "Return the first line of the old text, from 1, that DIFF is about, or 0."
  (if-let ((starts (agent-q-diff-round--starts diff)))
      (+ 1 (car starts)
         (length (seq-take-while (lambda (line) (string-prefix-p " " line))
                                 (cdr (split-string diff "\n")))))
    0))

(defun agent-q-diff-round--take-over-reason (change round hunk)
  "Give HUNK of CHANGE, just rejected, the reason of its rejection before.
That is unless it has a comment.  ROUND is that of CHANGE.  Return the reason,
or nil if there was none to be given."
  (when-let* ((one (and (null (alist-get hunk (agent-q-diff-change-comments change)))
                        (agent-q-diff-round--rejection change round hunk)))
              (reason (agent-q-diff-rejected-reason one)))
    (unless (or (string-empty-p reason)
                (agent-q-diff-round--part-p change round hunk))
      (setf (alist-get hunk (agent-q-diff-change-comments change)) reason))))

(defun agent-q-diff-round--part-p (change round hunk)
  "Return non-nil if only a part of HUNK of CHANGE, in ROUND, was rejected before."
  (let ((id (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk))))
    (eq 'part (nth 2 (gethash id (agent-q-diff-round-labels round))))))

(defun agent-q-diff-round--undo (change round id count)
  "Record that the hunk with ID is not decided any more as it was in ROUND.
CHANGE is that of ROUND, and COUNT is as for `agent-q-diff-round--note-hunk'."
  (pcase-let ((`[,mark ,turns ,one ,reason] (gethash id (agent-q-diff-round-decided round)))
              (hunk (agent-q-diff-module-hunk-with-id (agent-q-diff-change-engine change) id)))
    (remhash id (agent-q-diff-round-decided round))
    (funcall count turns (if (eq mark 'rejected) 1 0) -1)
    (when one
      (when (and hunk reason
                 (equal reason (alist-get hunk (agent-q-diff-change-comments change))))
        (setf (alist-get hunk (agent-q-diff-change-comments change) nil t) nil))
      (agent-q-diff-round--forget round one))))

(defun agent-q-diff-round--note-gone (change round count)
  "Record which decided hunks of CHANGE, in ROUND, are pending or gone.
COUNT is as for `agent-q-diff-round--note-hunk'."
  (dolist (id (hash-table-keys (agent-q-diff-round-decided round)))
    (let ((hunk (agent-q-diff-module-hunk-with-id (agent-q-diff-change-engine change) id)))
      (when (or (null hunk)
                (null (agent-q-diff-engine-hunk-mark
                       (agent-q-diff-change-hunk change hunk))))
        (agent-q-diff-round--undo change round id count)))))

;;;; The end of a round

(defvar agent-q-diff-round-is-replacing nil
  "Non-nil while a review ends because another one takes its place.")

(defun agent-q-diff-round-finished-p (review)
  "Return non-nil if the user has ended REVIEW, whatever was decided."
  (and (memq (agent-q-diff-session-outcome review) '(decided undecided killed))
       (not agent-q-diff-round-is-replacing)))

(defun agent-q-diff-round--finish (review)
  "If REVIEW, which is ending, is a finished round, queue its message.
Note in REVIEW who will read it."
  (when-let* ((change (agent-q-diff-session-change review))
              (round (agent-q-diff-round-of change)))
    (condition-case err
        (let ((is-awaited (funcall (agent-q-diff-written-awaited-p
                                    (agent-q-diff-change-written change)))))
          (agent-q-diff-round--note-reasons change round is-awaited)
          (when (agent-q-diff-round-finished-p review)
            (agent-q-diff-engine-call #'agent-q-diff-module-finish-round
                                      (agent-q-diff-round-root round))
            (unless is-awaited
              (agent-q-diff-round--keep-comments review round)
              (setf (agent-q-diff-session-told review)
                    (agent-q-diff-round--queue change round)))))
      (error
       (setf (agent-q-diff-session-told review)
             (format "the agent is not told, since that failed: %s"
                     (agent-q-diff-visible (agent-q-diff-error-text err))))))))

(add-hook 'agent-q-diff-lifecycle-ending-functions #'agent-q-diff-round--finish)

(defun agent-q-diff-round--note-reasons (change round is-told)
  "Record the reasons for rejections in CHANGE of ROUND as they are now.
If IS-TOLD is non-nil, an agent reads them in another way."
  (let ((changed nil))
    (maphash
     (lambda (id decided)
       (when-let* ((one (aref decided 2))
                   (hunk (agent-q-diff-module-hunk-with-id
                          (agent-q-diff-change-engine change) id)))
         (let ((reason (agent-q-diff-round--reason change hunk)))
           (unless (and (equal reason (agent-q-diff-rejected-reason one))
                        (not is-told))
             (setf (agent-q-diff-rejected-reason one) reason
                   (agent-q-diff-rejected-is-told one) (and is-told t))
             (push one changed)))))
     (agent-q-diff-round-decided round))
    (when changed
      (agent-q-diff-engine-call #'agent-q-diff-module-note-rejected
                                (agent-q-diff-round-root round) changed))))

(defun agent-q-diff-round--keep-comments (review round)
  "Make comments on lines of those on hunks of REVIEW that are not rejected.
They have ids then, so that agents can answer them; likewise the comment on all
of it.  Those on hunks whose rejection waits are its reasons.  ROUND is that of
REVIEW."
  (let* ((change (agent-q-diff-session-change review))
         (waiting (agent-q-diff-written-waiting (agent-q-diff-change-written change))))
    (pcase-dolist (`(,hunk . ,comment) (copy-sequence (agent-q-diff-change-comments change)))
      (let ((snapshot (agent-q-diff-change-hunk change hunk)))
        (when (and comment
                   (not (eq 'rejected (agent-q-diff-engine-hunk-mark snapshot)))
                   (not (memql (agent-q-diff-engine-hunk-id snapshot) waiting)))
          (let ((path (agent-q-diff-round-path change hunk)))
            ;; Its lines may be others than those of the texts that were compared.
            (condition-case nil
                (agent-q-diff-round-comment round path
                                            (agent-q-diff-round-hunk-lines change hunk)
                                            'comment comment)
              (agent-q-diff-error
               (agent-q-diff-round-comment round path nil 'comment comment))))
          (setf (alist-get hunk (agent-q-diff-change-comments change) nil t) nil))))
    (when-let ((comment (agent-q-diff-session-comment review)))
      (agent-q-diff-round-comment round "" nil 'comment comment))))

(defun agent-q-diff-round-comment (round path lines kind text)
  "Record TEXT, of KIND, the user's comment on LINES of PATH; return its id.
LINES are (SIDE START N), of the texts of ROUND, or nil for the whole file.
KIND is `comment' or `question'."
  (agent-q-diff-engine-call
   #'agent-q-diff-module-comment (agent-q-diff-round-root round) path
   (pcase lines
     (`(,side ,start ,n)
      (let ((texts (cdr (assoc path (agent-q-diff-round-texts round)))))
        (vector side start n (if (eq side 'old) (car texts) (cdr texts))))))
   kind text))

(defun agent-q-diff-round-comments (round)
  "Return the comments of the project of ROUND that are not closed.
Their lines are those of the texts of ROUND."
  (agent-q-diff-engine-call
   #'agent-q-diff-module-comments (agent-q-diff-round-root round)
   (mapcar (pcase-lambda (`(,path ,old . ,new)) (vector path old new))
           (agent-q-diff-round-texts round))))

;;;; The message

(defun agent-q-diff-round--queue (change round)
  "Queue the message about CHANGE of ROUND.
Return words for who will read it, or nil if there is nothing to be told."
  (agent-q-diff-round--queue-text
   (agent-q-diff-round-root round)
   (agent-q-diff-round--text (agent-q-diff-round-root round)
                             (agent-q-diff-round--counts change)
                             (agent-q-diff-round--back change round))
   (agent-q-diff-round--agents change)))

(defun agent-q-diff-round--queue-text (root text to)
  "Queue TEXT, (TEXT . IDS) or nil, in the project at ROOT, for the agents TO.
Who was to read what nobody has read yet reads this instead.  If TEXT is nil,
nobody has to read anything any more.  Return words for who will read it."
  (let* ((untold (agent-q-diff-round--untold-messages root))
         (to (seq-uniq (append to (seq-mapcat #'agent-q-diff-queued-to untold)))))
    (cond
     (text
      (agent-q-diff-engine-call #'agent-q-diff-module-queue-message root to (car text) (cdr text))
      (agent-q-diff-round--who-is-told root to))
     (untold
      (agent-q-diff-round--note-told root untold)
      nil))))

(defconst agent-q-diff-round--how-to-tell
  "M-x agent-q-diff-copy-message copies what to tell the agent"
  "What the user is told if no hook tells the agent.")

(defun agent-q-diff-round--who-is-told (root to)
  "Return a clause about when the agents TO are told, or an empty string.
They are those of the project at ROOT."
  (let* ((hooked (mapcar #'agent-q-diff-turn-agent
                         (seq-remove (lambda (turn)
                                       (string-empty-p (agent-q-diff-turn-session turn)))
                                     (agent-q-diff-engine-call #'agent-q-diff-module-turns root))))
         (told (seq-filter (lambda (agent) (member agent hooked)) to)))
    (cond
     (told (format "your next prompt tells %s" (mapconcat #'agent-q-diff-visible told ", ")))
     ((and hooked (member "" to)) "your next prompt tells the agent")
     ((remove "" to) agent-q-diff-round--how-to-tell)
     ;; If nobody is known to have written it, there may be no agent.
     (t ""))))

(defun agent-q-diff-round--untold-messages (root)
  "Return the messages in the project at ROOT that some agent was not told."
  (seq-remove (lambda (message) (eq t (agent-q-diff-queued-to message)))
              (agent-q-diff-engine-call #'agent-q-diff-module-messages root)))

(defun agent-q-diff-round--note-told (root messages)
  "Record that all agents of MESSAGES, in the project at ROOT, were told them."
  (agent-q-diff-engine-call #'agent-q-diff-module-told root
                            (mapcar #'agent-q-diff-queued-id messages) nil))

(defun agent-q-diff-round--joined (messages)
  "Return the texts of MESSAGES, a list of `agent-q-diff-queued', as one."
  (mapconcat #'agent-q-diff-queued-text messages "\n\n"))

(defun agent-q-diff-round--agents (change)
  "Return the names of the agents that wrote what is in CHANGE."
  (seq-uniq
   (mapcan (lambda (file)
             (seq-filter #'stringp (car (agent-q-diff-change-authors change file))))
           (agent-q-diff-change-files change))))

(defun agent-q-diff-round--counts (change)
  "Return a clause about how many hunks of CHANGE were kept, and so on."
  (pcase-let ((`(,total ,kept ,taken-out ,_)
               (agent-q-diff-module-counts (agent-q-diff-change-engine change))))
    (string-join
     (delq nil
           (list (and (< 0 kept)
                      (format (ngettext "%d hunk kept" "%d hunks kept" kept) kept))
                 (and (< 0 taken-out)
                      (format (ngettext "%d hunk undone" "%d hunks undone" taken-out) taken-out))
                 (let ((n (- total kept taken-out)))
                   (and (< 0 n)
                        (format (ngettext "%d hunk undecided, and still in the files"
                                          "%d hunks undecided, and still in the files" n)
                                n)))))
     ", ")))

(defun agent-q-diff-round--back (change round)
  "Return what was rejected and is in files of CHANGE all the same.
That is a list as from `agent-q-diff-round--key' each.  The agent has written it
again, or the user has changed their mind.  ROUND is that of CHANGE."
  (unless (= 0 (hash-table-count (agent-q-diff-round-rejected round)))
    (cl-loop for mark in (agent-q-diff-module-marks (agent-q-diff-change-engine change))
             for hunk from 0
             for one = (and (not (eq mark 'rejected))
                            (agent-q-diff-round--rejection change round hunk))
             when one collect (agent-q-diff-round--key one))))

(defconst agent-q-diff-round--max-length 8000
  "Most characters of a message in which many lines are quoted.")

(defvar agent-q-diff-round--max-lines 40
  "Most lines of a hunk, or of what is commented on, that agents are told.")

(defconst agent-q-diff-round--max-width 300
  "Most characters of a line that agents are told.")

(defun agent-q-diff-round--quoted (text prefix)
  "Return the lines of TEXT with PREFIX, those after the first ones only counted."
  (let* ((lines (split-string (string-remove-suffix "\n" (agent-q-diff-round--plain text)) "\n"))
         (more (- (length lines) agent-q-diff-round--max-lines)))
    (mapconcat (lambda (line)
                 (concat prefix
                         (if (length< line agent-q-diff-round--max-width)
                             line
                           (concat (substring line 0 agent-q-diff-round--max-width) "…"))
                         "\n"))
               (append (seq-take lines agent-q-diff-round--max-lines)
                       (and (< 0 more) (list (format "… (%d more lines)" more))))
               "")))

(defconst agent-q-diff-round--how-to-answer
  "When you have handled a comment or a question, call the tool resolve_comment with its id and your \
answer; if you have no such tool, answer in your reply."
  "What agents are told about comments.")

(defun agent-q-diff-round--text (root counts back)
  "Return (TEXT . IDS) of the message about what waits in the project at ROOT.
IDS are those of the comments in it.  Return nil if there is nothing to be told.
COUNTS is a clause about the review, or nil; BACK is as from
`agent-q-diff-round--back'."
  (let ((rejected (seq-remove
                   (lambda (one)
                     (or (agent-q-diff-rejected-is-told one)
                         (member (agent-q-diff-round--key one) back)))
                   (agent-q-diff-engine-call #'agent-q-diff-module-rejected root)))
        (open (agent-q-diff-round--in-state root '(open))))
    (when (or rejected open)
      (cons (agent-q-diff-round--shortened
             (lambda ()
               (string-join (agent-q-diff-round--paragraphs
                             root counts (agent-q-diff-round--in-order rejected) open)
                            "\n\n")))
            (mapcar #'agent-q-diff-comment-id open)))))

(defun agent-q-diff-round--paragraphs (root counts rejected open)
  "Return the paragraphs of a message about the project at ROOT.
It is about REJECTED and OPEN, lists of rejections and comments; COUNTS is as
for `agent-q-diff-round--text'."
  (delq nil
        (append
         (list
          (if counts
              (format "The user has reviewed in Emacs what was written into %s: %s."
                      (agent-q-diff-visible root) counts)
            (format "This is what the user says in Emacs about %s."
                    (agent-q-diff-visible root)))
          (agent-q-diff-round--section
           "The user rejected these changes, and they were undone in the files. \
Do not make them again unless the user asks for it:"
           rejected (apply-partially #'agent-q-diff-round--rejected-text root)))
         (agent-q-diff-round--comment-sections open))))

(defun agent-q-diff-round--key (one)
  "Return a key for ONE, an `agent-q-diff-rejected', that no other has."
  (list (agent-q-diff-rejected-path one) (agent-q-diff-rejected-hunk one)
        (agent-q-diff-rejected-context one) (agent-q-diff-rejected-line one)))

(defun agent-q-diff-round--shortened (function)
  "Call FUNCTION for a text; if that is long, again, with few lines quoted."
  (let ((text (funcall function)))
    (if (length< text agent-q-diff-round--max-length)
        text
      (let ((agent-q-diff-round--max-lines 4))
        (funcall function)))))

(defun agent-q-diff-round--in-order (rejected)
  "Return REJECTED, a list of `agent-q-diff-rejected', by path and line."
  (sort rejected
        (lambda (one other)
          (let ((path (agent-q-diff-rejected-path one))
                (other-path (agent-q-diff-rejected-path other)))
            (if (equal path other-path)
                (< (agent-q-diff-rejected-line one) (agent-q-diff-rejected-line other))
              (string< path other-path))))))

(defun agent-q-diff-round--in-state (root states)
  "Return the comments of the project at ROOT whose state is one of STATES."
  (seq-filter (lambda (one) (memq (agent-q-diff-comment-state one) states))
              (agent-q-diff-engine-call #'agent-q-diff-module-comments root nil)))

(defun agent-q-diff-round--comment-sections (comments)
  "Return what agents read about COMMENTS, a list of paragraphs."
  (when comments
    (let ((of-kind (lambda (kind)
                     (seq-filter (lambda (one) (eq kind (agent-q-diff-comment-kind one)))
                                 comments))))
      (delq nil
            (list
             (agent-q-diff-round--section
              "The user's comments; do what they say:"
              (funcall of-kind 'comment) #'agent-q-diff-round--comment-text)
             (agent-q-diff-round--section
              "The user's questions; answer them, and change nothing for them:"
              (funcall of-kind 'question) #'agent-q-diff-round--comment-text)
             agent-q-diff-round--how-to-answer)))))

(defun agent-q-diff-round-tell-comments (root)
  "Return what agents read about the open comments in the project at ROOT, or nil.
They count as told."
  (when-let ((open (agent-q-diff-round--in-state root '(open))))
    (dolist (one open)
      (agent-q-diff-engine-call #'agent-q-diff-module-set-comment root
                                (agent-q-diff-comment-id one) 'sent))
    (string-join (agent-q-diff-round--comment-sections open) "\n\n")))

(defun agent-q-diff-round--section (heading all text-of)
  "Return HEADING and the text of each of ALL by TEXT-OF, or nil if there is none."
  (and all
       (concat heading "\n\n"
               (string-trim-right (mapconcat text-of all "\n")))))

(defun agent-q-diff-round--unsaved-p (file lines)
  "Return non-nil if LINES were undone in the buffer of FILE, but not on disk.
LINES are those of a hunk, with their signs."
  (when-let ((unsaved (agent-q-diff-reviewed-unsaved file)))
    (pcase-let* ((`(,_ ,_ (,_ . ,saved) . (,_ . ,new)) unsaved)
                 (added (mapconcat (lambda (line) (concat (substring line 1) "\n"))
                                   (seq-filter (lambda (line) (string-prefix-p "+" line))
                                               (split-string lines "\n"))
                                   ""))
                 (times (lambda (bytes)
                          (let ((regexp (regexp-quote (encode-coding-string added 'utf-8))))
                            (with-temp-buffer
                              (set-buffer-multibyte nil)
                              (insert bytes)
                              (how-many regexp (point-min) (point-max)))))))
      ;; Of lines that were only removed, nobody can say more.
      (or (string-empty-p added)
          (> (funcall times saved) (funcall times new))))))

(defun agent-q-diff-round--rejected-text (root one)
  "Return what agents read about ONE in the project at ROOT.
ONE is an `agent-q-diff-rejected'."
  (let ((path (agent-q-diff-rejected-path one))
        (line (agent-q-diff-rejected-line one))
        (reason (agent-q-diff-rejected-reason one)))
    (concat "- " (agent-q-diff-visible path)
            (if (< 0 line) (format ", line %d" line) "")
            (if (agent-q-diff-round--unsaved-p (expand-file-name path root)
                                               (agent-q-diff-rejected-lines one))
                " (only in Emacs so far: the file still has the change, since it is not saved yet)"
              "")
            (if (string-empty-p reason) "" (format ". The user says: %s" reason))
            "\n"
            (agent-q-diff-round--quoted (agent-q-diff-rejected-lines one) "    "))))

(defun agent-q-diff-round--comment-text (one)
  "Return what agents read about ONE, an `agent-q-diff-comment'."
  (let ((path (agent-q-diff-comment-path one)))
    (concat (format "- [%d] %s" (agent-q-diff-comment-id one)
                    (if (string-empty-p path) "all of it" (agent-q-diff-visible path)))
            (agent-q-diff-round--comment-place one)
            (format ": %s\n" (agent-q-diff-round--plain (agent-q-diff-comment-text one)))
            (if (agent-q-diff-comment-side one)
                (agent-q-diff-round--quoted (agent-q-diff-comment-lines one) "    > ")
              ""))))

(defun agent-q-diff-round--comment-place (one)
  "Return words to append to the path of ONE, an `agent-q-diff-comment'."
  (let ((side (agent-q-diff-comment-side one))
        (line (agent-q-diff-comment-line one))
        (was (agent-q-diff-comment-was one))
        (n (agent-q-diff-comment-n one)))
    (pcase side
      ('nil "")
      ;; Its number in what was reviewed since would say nothing to an agent.
      ('old (concat ", " (agent-q-diff-round-lines-words 'old was n)))
      ((guard line)
       (concat ", " (agent-q-diff-round-lines-words 'new line n)
               (if (agent-q-diff-comment-is-unsure one) ", place unsure" "")))
      (_ (format ", %s then, not there any more"
                 (agent-q-diff-round-lines-words 'new was n))))))

(defun agent-q-diff-round-lines-words (side line n)
  "Return words for N lines from LINE on, from 0, of SIDE."
  (concat (if (= 1 n)
              (format "line %d" (1+ line))
            (format "lines %d to %d" (1+ line) (+ line n)))
          (if (eq side 'old) " before the change" "")))

(defun agent-q-diff-round--open-p (root)
  "Return non-nil if a review of what was written in the project at ROOT is open.
What is said there is told when it is finished."
  (seq-some (lambda (review)
              (when-let ((round (agent-q-diff-round-of (agent-q-diff-session-change review))))
                (equal (file-name-as-directory root)
                       (file-name-as-directory (agent-q-diff-round-root round)))))
            (agent-q-diff-open-reviews)))

(defun agent-q-diff-round-queue-again (root)
  "Queue the message in the project at ROOT again, if one waits.
Something in it has changed since."
  (when (and (agent-q-diff-round--untold-messages root)
             (not (agent-q-diff-round--open-p root)))
    (agent-q-diff-round--queue-text root (agent-q-diff-round--text root nil nil) nil)))

(defun agent-q-diff-round-queue-now (root)
  "Queue what is to be told in the project at ROOT, for any agent.
Return words about when it is told."
  (if (agent-q-diff-round--open-p root)
      "the agent reads it when you have finished the review"
    (pcase (agent-q-diff-round--queue-text root (agent-q-diff-round--text root nil nil) '(""))
      ((or 'nil "") agent-q-diff-round--how-to-tell)
      (words words))))

(add-hook 'agent-q-diff-reviewed-noted-functions #'agent-q-diff-round-queue-again)

;;;; What agents ask for, and answer

(defvar agent-q-diff-round-changed-functions nil
  "Functions to call with the root of a project when comments there have changed.")

(defconst agent-q-diff-round--nothing "The user has said nothing that is not handled."
  "What agents are told if there is nothing to be told.")

(defun agent-q-diff-round-open-text (&optional path)
  "Return what is open in the project of `default-directory', for its agent.
What was not told yet is told by that.  With PATH, the name of a file, return
only the comments and questions on that file."
  (condition-case nil
      (if path
          (agent-q-diff-round--open-text-of path)
        (agent-q-diff-round--open-text))
    (agent-q-diff-no-repository agent-q-diff-round--nothing)))

(defun agent-q-diff-round--open-text-of (path)
  "Return the comments on the file PATH that are not handled, for its agent."
  (let* ((path (file-relative-name
                (expand-file-name path)
                (car (agent-q-diff-pending-look default-directory))))
         ;; What is said in an open review is told when that is finished.
         (told (seq-mapcat #'agent-q-diff-queued-comments
                           (agent-q-diff-round--untold-messages default-directory)))
         (all (seq-filter (lambda (one)
                            (and (equal path (agent-q-diff-comment-path one))
                                 (or (eq 'sent (agent-q-diff-comment-state one))
                                     (memql (agent-q-diff-comment-id one) told))))
                          (agent-q-diff-round--in-state default-directory '(open sent)))))
    (or (agent-q-diff-round--section
         (format "What the user says about %s:" path) all #'agent-q-diff-round--comment-text)
        agent-q-diff-round--nothing)))

(defun agent-q-diff-round--names-of (agent to)
  "Return those of the names TO that AGENT may have, \"\" among them.
Over MCP, agents have other names than their hooks, such as \"claude-code\".  An
agent that asks and has none of the names may have any."
  (let* ((first (lambda (name) (car (split-string (downcase (or name "")) "[^a-z]+" t))))
         (mine (seq-filter (lambda (name)
                             (or (string-empty-p name)
                                 (equal (funcall first name) (funcall first agent))))
                           to)))
    (or mine
        (and (not (member (funcall first agent)
                          (mapcar (lambda (turn) (funcall first (agent-q-diff-turn-agent turn)))
                                  (agent-q-diff-engine-call #'agent-q-diff-module-turns
                                                            default-directory))))
             to))))

(defun agent-q-diff-round--open-text ()
  "Return all that is open in the project of `default-directory', for its agent."
  (let* ((agent (agent-q-diff-call-agent agent-q-diff-call))
         (names-of (lambda (message)
                     (agent-q-diff-round--names-of agent (agent-q-diff-queued-to message))))
         (untold (seq-filter names-of (agent-q-diff-round--untold-messages default-directory)))
         (told (seq-mapcat #'agent-q-diff-queued-comments untold))
         (sent (seq-remove (lambda (one) (memql (agent-q-diff-comment-id one) told))
                           (agent-q-diff-round--in-state default-directory '(sent))))
         (before (agent-q-diff-round--section "Told before, and not handled yet:"
                                              sent #'agent-q-diff-round--comment-text)))
    (dolist (message untold)
      (dolist (name (funcall names-of message))
        (agent-q-diff-engine-call #'agent-q-diff-module-told default-directory
                                  (list (agent-q-diff-queued-id message)) name)))
    (when untold
      (run-hook-with-args 'agent-q-diff-round-changed-functions default-directory))
    (string-join (or (append (mapcar #'agent-q-diff-queued-text untold)
                             (and before (list before)))
                     (list agent-q-diff-round--nothing))
                 "\n\n")))

(defconst agent-q-diff-round--max-answer 4000
  "Most characters of an agent's answer to a comment.")

(defun agent-q-diff-round-answer (id answer)
  "Record ANSWER to the comment ID in the project of `default-directory'.
ID is a string.  It is by the agent of the current call.  Return a message for
it."
  (unless (string-match-p "\\`[0-9]\\{1,9\\}\\'" id)
    (signal 'agent-q-diff-bad-arguments
            (list (format "\"%s\" is no id of a comment; it is a number such as 3" id))))
  (when (string-blank-p answer)
    (signal 'agent-q-diff-bad-arguments '("the answer must say something")))
  (when (length> answer agent-q-diff-round--max-answer)
    (signal 'agent-q-diff-bad-arguments
            (list (format "the answer must have at most %d characters"
                          agent-q-diff-round--max-answer))))
  (agent-q-diff-engine-call #'agent-q-diff-module-answer-comment default-directory
                            (string-to-number id)
                            (or (agent-q-diff-call-agent agent-q-diff-call) "An agent")
                            (agent-q-diff-round--plain answer))
  (agent-q-diff-round-queue-again default-directory)
  (run-hook-with-args 'agent-q-diff-round-changed-functions default-directory)
  (message "%s has answered comment %s; M-x agent-q-diff-comments"
           (agent-q-diff-visible (or (agent-q-diff-call-agent agent-q-diff-call) "An agent")) id)
  (format "Comment %s is handled, and the user is shown your answer." id))

(defun agent-q-diff-round-tell (root)
  "Return the text that agents of the project at ROOT are to be told, or \"\".
It counts as told."
  (let ((untold (agent-q-diff-round--untold-messages root)))
    (agent-q-diff-round--note-told root untold)
    (agent-q-diff-round--joined untold)))

(defun agent-q-diff-round-message (root)
  "Return the text that agents of the project at ROOT are told next, or nil.
If they were told everything, that is what they were told last."
  (when-let ((messages (agent-q-diff-engine-call #'agent-q-diff-module-messages root)))
    (agent-q-diff-round--joined messages)))

(provide 'agent-q-diff-rounds)
;;; agent-q-diff-rounds.el ends here
