;;; agent-q-diff-rounds.el --- What earlier reviews after the write decided  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each review of what agents have written is a round.  What was taken out in it
;; is remembered by its lines, with the reason.  When they come back, the next
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
  (keys (make-hash-table) :documentation "Table from ids of hunks to their keys.")
  (labels (make-hash-table) :documentation "Table from ids of hunks to (REJECTED . HOW), or to `none'.
See `agent-q-diff-round--find-rejections'.")
  (addresses (make-hash-table) :documentation "Table from numbers of turns to the addresses of \
their sessions."))

(cl-defstruct (agent-q-diff-rejected (:type vector) (:copier nil))
  "A hunk that was rejected, as in `agent-q-diff-module-note-rejected'."
  path hunk time reason line lines is-told to)

(cl-defstruct (agent-q-diff-comment (:type vector) (:constructor nil) (:copier nil))
  "A comment, as in `agent-q-diff-module-comments'."
  id time path place kind text state replies to side line n was is-unsure lines)

(defun agent-q-diff-comment-answers (one)
  "Return what was answered to ONE, a list of (WHO . TEXT).
ONE is an `agent-q-diff-comment'."
  (mapcar (pcase-lambda (`[,_ ,who ,text]) (cons who text))
          (agent-q-diff-comment-replies one)))

(cl-defstruct (agent-q-diff-queued (:type vector) (:constructor nil) (:copier nil))
  "A message to agents, as in `agent-q-diff-module-messages'."
  id time to text comments is-told)

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
                            (cons (cdr (agent-q-diff-pending-file-reviewed file))
                                  (cdr (agent-q-diff-pending-file-working file)))))
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

(defun agent-q-diff-round-key (change hunk)
  "Return the key of HUNK of CHANGE; see `agent-q-diff-module-keys'."
  (let ((keys (agent-q-diff-round-keys (agent-q-diff-round-of change)))
        (id (lambda (hunk)
              (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk))))
        (file (agent-q-diff-change-file-index change hunk)))
    (or (gethash (funcall id hunk) keys)
        ;; A hunk has another id once its lines are others.
        (cl-loop for key in (agent-q-diff-module-keys (agent-q-diff-change-engine change) file)
                 for other in (agent-q-diff-change-hunks-of change file)
                 do (puthash (funcall id other) key keys)
                 finally return (gethash (funcall id hunk) keys)))))

;;;; Who wrote it

;; An address is the name of an agent, and, if that is known, its session in a
;; second line; see `agent-q-diff-module-queue-message'.

(defun agent-q-diff-round-agent-of (address)
  "Return the name of the agent in ADDRESS, which is empty for any."
  (car (split-string address "\n")))

(defun agent-q-diff-round--address (round turn)
  "Return the address of the session of TURN, the number of one, or nil.
ROUND is that of a review."
  (let ((known (agent-q-diff-round-addresses round)))
    (unless (gethash turn known)
      (dolist (one (agent-q-diff-engine-call #'agent-q-diff-module-turns
                                             (agent-q-diff-round-root round)))
        (let ((session (agent-q-diff-turn-session one)))
          (puthash (agent-q-diff-turn-id one)
                   (if (string-empty-p session)
                       (agent-q-diff-turn-agent one)
                     (concat (agent-q-diff-turn-agent one) "\n" session))
                   known))))
    (gethash turn known)))

(defun agent-q-diff-round--addresses (round ids authors)
  "Return the addresses of the sessions that IDS are numbers of, or else AUTHORS.
IDS may also have other authors than a turn.  ROUND is that of a review."
  (or (seq-uniq (delq nil (mapcar (apply-partially #'agent-q-diff-round--address round)
                                  (seq-filter #'integerp ids))))
      (seq-filter #'stringp authors)))

(defun agent-q-diff-round-to (change hunk)
  "Return the addresses of those who wrote HUNK of CHANGE; nil if nobody knows."
  (agent-q-diff-round--addresses (agent-q-diff-round-of change)
                                 (agent-q-diff-change-hunk-turns change hunk)
                                 (agent-q-diff-change-hunk-authors change hunk)))

(defun agent-q-diff-round-to-of (change &optional file)
  "Return the addresses of those who wrote what is in CHANGE, or in its FILE."
  (let ((written (agent-q-diff-change-written change)))
    (seq-uniq
     (mapcan (lambda (file)
               (agent-q-diff-round--addresses
                (agent-q-diff-round-of change)
                (car (agent-q-diff-change-by (agent-q-diff-written-turns-by written) file))
                (car (agent-q-diff-change-authors change file))))
             (if file (list file) (copy-sequence (agent-q-diff-change-files change)))))))

;;;; The lines of a hunk

(defun agent-q-diff-round-plain (text)
  "Return TEXT as characters; bytes that are none are shown by their numbers."
  (agent-q-diff-base-clean (substring-no-properties (agent-q-diff-engine-text text))))

(defun agent-q-diff-round--lines (change hunk)
  "Return the lines of HUNK of CHANGE as `agent-q-diff-module-hunk-lines' does."
  (agent-q-diff-module-hunk-lines (agent-q-diff-change-engine change) hunk))

(defun agent-q-diff-round-hunk-lines (change hunk)
  "Return the lines that a comment on HUNK of CHANGE is on, (SIDE START N), from 0.
Return nil if it changes no lines."
  (pcase (agent-q-diff-round--lines change hunk)
    (`[,old ,old-end ,new ,new-end ,_]
     (if (< new new-end)
         (list 'new new (- new-end new))
       (list 'old old (- old-end old))))))

(defun agent-q-diff-round-commented-p (change hunk)
  "Return non-nil if a comment is on lines of HUNK of CHANGE, or on its file."
  (when-let* ((round (agent-q-diff-round-of change))
              (comments (agent-q-diff-round-comments round)))
    (let ((path (agent-q-diff-round-path change hunk))
          (lines (agent-q-diff-round--lines change hunk)))
      (seq-some (lambda (one)
                  (and (equal path (agent-q-diff-comment-path one))
                       (or (null (agent-q-diff-comment-side one))
                           (null lines)
                           (when-let ((line (agent-q-diff-comment-line one)))
                             (pcase-let ((`(,start ,end)
                                          (if (eq 'old (agent-q-diff-comment-side one))
                                              (list (aref lines 0) (aref lines 1))
                                            (list (aref lines 2) (aref lines 3)))))
                               (and (< line (max end (1+ start)))
                                    (< start (+ line (agent-q-diff-comment-n one)))))))))
                comments))))

;;;; What was rejected before

(defun agent-q-diff-round-label (change hunk)
  "Return words about what the user decided of the lines of HUNK before, or nil.
CHANGE is one that was written before its review."
  (unless (agent-q-diff-engine-hunk-mark (agent-q-diff-change-hunk change hunk))
    (pcase (agent-q-diff-round--rejection change hunk)
      (`(,one . ,how) (agent-q-diff-round--label-words one how)))))

(defun agent-q-diff-round-rejection (change hunk)
  "Return the `agent-q-diff-rejected' of earlier reviews that is like HUNK, or nil.
HUNK is one of CHANGE."
  (car (agent-q-diff-round--rejection change hunk)))

(defun agent-q-diff-round--rejection (change hunk)
  "Return (REJECTED . HOW) for HUNK of CHANGE, or nil if nothing is like it.
HOW is t if REJECTED is that hunk, `part' if it is a part of HUNK, and `like' if
HUNK only has the same lines."
  (let ((labels (agent-q-diff-round-labels (agent-q-diff-round-of change)))
        (id (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk))))
    (unless (gethash id labels)
      (agent-q-diff-round--find-rejections change (agent-q-diff-change-file-index change hunk)))
    (let ((found (gethash id labels)))
      (unless (eq found 'none)
        found))))

(defun agent-q-diff-round--find-rejections (change file)
  "Remember what of earlier rejections the hunks of FILE of CHANGE are.
FILE is an index."
  (let* ((round (agent-q-diff-round-of change))
         (labels (agent-q-diff-round-labels round))
         (hunks (agent-q-diff-change-hunks-of change file))
         (all (and hunks (gethash (agent-q-diff-round-path change (car hunks))
                                  (agent-q-diff-round-rejected round))))
         (found (make-hash-table)))
    (cl-loop for one in all
             for where in (and all (agent-q-diff-module-find-keys
                                    (agent-q-diff-change-engine change) file
                                    (mapcar #'agent-q-diff-rejected-hunk all)))
             do (pcase where
                  (`(,(and hunk (pred integerp)) . ,part)
                   (unless (and part (gethash hunk found))
                     (puthash hunk (cons one (if part 'part t)) found)))))
    (dolist (hunk hunks)
      (puthash (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk))
               (or (gethash hunk found)
                   (and all (agent-q-diff-round--like change hunk all))
                   'none)
               labels))))

(defun agent-q-diff-round--like (change hunk all)
  "Return (REJECTED . HOW) for HUNK of CHANGE, which is in another place, or nil.
REJECTED is one of ALL, and HOW is as from `agent-q-diff-round--rejection'."
  (when-let* ((lines (agent-q-diff-round--lines change hunk))
              (text (concat "\n" (agent-q-diff-round-plain (aref lines 4)))))
    (cl-flet ((find (test)
                (seq-find (lambda (one)
                            (let ((lines (agent-q-diff-rejected-lines one)))
                              (and (string-search "\n" lines)
                                   (funcall test (concat "\n" lines) text))))
                          all)))
      (if-let ((like (find #'equal)))
          (cons like 'like)
        (when-let ((part (find #'string-search)))
          (cons part 'part))))))

(defun agent-q-diff-round--label-words (one how)
  "Return words for ONE, an `agent-q-diff-rejected', as a label of a hunk.
HOW is as from `agent-q-diff-round--rejection'."
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
                          (agent-q-diff-round-rejection change hunk))))))

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
         (n-new (and finished (agent-q-diff-round--n-new change (cdr finished)))))
    (unless (and (null n-new) (= 0 n-again n-handled))
      (cons
       (concat
        (string-join
         (delq nil
               (list (and n-new
                          (format (ngettext "%d new hunk" "%d new hunks" n-new) n-new))
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
  (pcase-let ((`(,who . ,text) (car (last (agent-q-diff-comment-answers one))))
              (short (lambda (text)
                       (agent-q-diff-visible (replace-regexp-in-string "[ \t\n]+" " " text)
                                             200))))
    (format "You said of %s: \"%s\"; %s has answered: \"%s\""
            (if (string-empty-p (agent-q-diff-comment-path one))
                "all of it"
              (agent-q-diff-visible (agent-q-diff-comment-path one)))
            (funcall short (agent-q-diff-comment-text one))
            (agent-q-diff-visible (or who "somebody")) (funcall short (or text "")))))

(defun agent-q-diff-round--n-new (change shown)
  "Return the number of pending hunks of CHANGE that the user has not seen.
Neither were they in SHOWN, an alist from paths to keys, nor rejected before.
One that may have been shown counts, too."
  (let ((marks (agent-q-diff-module-marks (agent-q-diff-change-engine change))))
    (cl-loop for _ in (agent-q-diff-change-files change)
             for file from 0
             for hunks = (agent-q-diff-change-hunks-of change file)
             for keys = (and hunks (cdr (assoc (agent-q-diff-round-path change (car hunks)) shown)))
             for known = (agent-q-diff-module-find-keys (agent-q-diff-change-engine change)
                                                        file keys)
             sum (cl-loop for hunk in hunks
                          for mark = (pop marks)
                          count (not (or mark
                                         (member (list hunk) known)
                                         (agent-q-diff-round-rejection change hunk)))))))

(defun agent-q-diff-round-shown (change)
  "Return the keys of the hunks of CHANGE that are not decided, by path.
That is a list of (PATH . KEYS), also of files without any."
  (cl-loop with marks = (agent-q-diff-module-marks (agent-q-diff-change-engine change))
           for _ in (agent-q-diff-change-files change)
           for file from 0
           for hunks = (agent-q-diff-change-hunks-of change file)
           when hunks
           collect (cons (agent-q-diff-round-path change (car hunks))
                         (cl-loop for hunk in hunks
                                  unless (pop marks)
                                  collect (agent-q-diff-round-key change hunk)))))

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
                            (agent-q-diff-round--take-over-reason change hunk)))
               (one (and (eq mark 'rejected)
                         (agent-q-diff-round--rejected change hunk))))
          (puthash id (vector mark turns one reason) decided)
          (funcall count turns (if one 1 0) 1)
          (if one
              (funcall reject one)
            (agent-q-diff-round--forget-kept change round hunk)))))))

(defun agent-q-diff-round-rejected-now (change round hunk)
  "Return the `agent-q-diff-rejected' of HUNK of CHANGE in ROUND, or nil.
That is nil unless it was rejected in ROUND."
  (when-let ((decided (gethash (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk))
                               (agent-q-diff-round-decided round))))
    (aref decided 2)))

(defun agent-q-diff-round--forget (round one)
  "Record that ONE, a rejection in ROUND, does not hold any more.
ONE is an `agent-q-diff-rejected'."
  (agent-q-diff-engine-call
   #'agent-q-diff-module-forget-rejected (agent-q-diff-round-root round)
   (agent-q-diff-rejected-path one) (agent-q-diff-rejected-hunk one)))

(defun agent-q-diff-round--forget-kept (change round hunk)
  "Forget that HUNK of CHANGE, in ROUND, was rejected before: now it is kept."
  (when-let ((one (agent-q-diff-round-rejection change hunk)))
    (unless (agent-q-diff-round--part-p change hunk)
      (agent-q-diff-round--forget round one))))

(defun agent-q-diff-round--rejected (change hunk)
  "Return the `agent-q-diff-rejected' for HUNK of CHANGE."
  (let ((lines (agent-q-diff-round--lines change hunk)))
    (make-agent-q-diff-rejected
     :path (agent-q-diff-round-path change hunk) :hunk (agent-q-diff-round-key change hunk)
     :time (truncate (float-time))
     :reason (agent-q-diff-round-reason change hunk)
     :line (if lines (1+ (aref lines 0)) 0)
     :to (agent-q-diff-round-to change hunk)
     :lines (agent-q-diff-round-plain
             (if lines
                 (aref lines 4)
               (agent-q-diff-operation-words
                (agent-q-diff-change-operation-of change hunk)))))))

(defun agent-q-diff-round-reason (change hunk)
  "Return the comment on HUNK of CHANGE, the reason if it is rejected, or \"\"."
  (agent-q-diff-round-plain
   (or (agent-q-diff-change-comment change (agent-q-diff-change-hunk change hunk)) "")))

(defun agent-q-diff-round--take-over-reason (change hunk)
  "Give HUNK of CHANGE, just rejected, the reason of its rejection before.
That is unless it has a comment.  Return the reason, or nil if there was none to
be given."
  (when-let* ((one (and (null (alist-get hunk (agent-q-diff-change-comments change)))
                        (agent-q-diff-round-rejection change hunk)))
              (reason (agent-q-diff-rejected-reason one)))
    (unless (or (string-empty-p reason)
                (agent-q-diff-round--part-p change hunk))
      (setf (alist-get hunk (agent-q-diff-change-comments change)) reason))))

(defun agent-q-diff-round--part-p (change hunk)
  "Return non-nil if only a part of HUNK of CHANGE was rejected before."
  (eq 'part (cdr (agent-q-diff-round--rejection change hunk))))

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

;;;; Its end

(defvar agent-q-diff-round-is-replacing nil
  "Non-nil while a review ends because another one takes its place.")

(defun agent-q-diff-round-finished-p (review)
  "Return non-nil if the user has ended REVIEW, whatever was decided."
  (and (memq (agent-q-diff-session-outcome review) '(decided undecided killed))
       (not agent-q-diff-round-is-replacing)))

;;;; Comments

(defun agent-q-diff-round-comment (round path lines kind text to)
  "Record TEXT, of KIND, the user's comment on LINES of PATH; return its id.
LINES are (SIDE START N), of the texts of ROUND, or nil for the whole file.
KIND is `comment' or `question'.  TO are the addresses of those who wrote it."
  (agent-q-diff-engine-call
   #'agent-q-diff-module-comment (agent-q-diff-round-root round) path
   (pcase lines
     (`(,side ,start ,n)
      (let ((texts (cdr (assoc path (agent-q-diff-round-texts round)))))
        (vector side start n (if (eq side 'old) (car texts) (cdr texts))))))
   kind text to))

(defun agent-q-diff-round-comments (round)
  "Return the comments of the project of ROUND that are not closed.
Their lines are those of the texts of ROUND."
  (agent-q-diff-engine-call
   #'agent-q-diff-module-comments (agent-q-diff-round-root round)
   (mapcar (pcase-lambda (`(,path ,old . ,new)) (vector path old new))
           (agent-q-diff-round-texts round))))

(defun agent-q-diff-round-lines-words (side line n)
  "Return words for N lines from LINE on, from 0, of SIDE."
  (concat (if (= 1 n)
              (format "line %d" (1+ line))
            (format "lines %d to %d" (1+ line) (+ line n)))
          (if (eq side 'old) " before the change" "")))

(provide 'agent-q-diff-rounds)
;;; agent-q-diff-rounds.el ends here
