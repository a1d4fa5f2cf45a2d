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
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-annotations)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-pending)

(cl-defstruct (agent-q-diff-round (:constructor agent-q-diff-round--create) (:copier nil))
  "What is known of a review of what was written already, beyond its hunks."
  (root nil :documentation "The root of the project.")
  (texts nil :documentation "Alist from paths in it to (OLD . NEW).
These are the names of the texts that are compared.")
  (addresses (make-hash-table) :documentation "Table from numbers of turns to the addresses of \
their sessions."))

(cl-defstruct (agent-q-diff-rejected (:type vector) (:constructor nil) (:copier nil))
  "A hunk that was rejected, as in `agent-q-diff-module-rejected'."
  path hunk time reason line lines is-told is-back to)

(cl-defstruct (agent-q-diff-comment (:type vector) (:constructor nil) (:copier nil))
  "A comment, as in `agent-q-diff-module-comments'."
  id time path place kind text state replies to names told side line n was is-unsure lines)

(defun agent-q-diff-comment-answers (one)
  "Return what was answered to ONE, a list of (WHO . TEXT).
ONE is an `agent-q-diff-comment'."
  (mapcar (pcase-lambda (`[,_ ,who ,text]) (cons who text))
          (agent-q-diff-comment-replies one)))

(cl-defstruct (agent-q-diff-queued (:type vector) (:constructor nil) (:copier nil))
  "A message to agents, as in `agent-q-diff-module-messages'."
  id time to text comments is-told told)

(defun agent-q-diff-round-begin (root files)
  "Return a round of FILES in the project at ROOT.
FILES are a list of `agent-q-diff-pending-file'."
  (agent-q-diff-round--create
   :root root
   :texts (mapcar (lambda (file)
                    (cons (agent-q-diff-pending-file-path file)
                          (cons (cdr (agent-q-diff-pending-file-reviewed file))
                                (cdr (agent-q-diff-pending-file-working file)))))
                  files)))

(defun agent-q-diff-round-of (change)
  "Return the `agent-q-diff-round' of CHANGE, or nil if it has none."
  (when-let ((written (agent-q-diff-change-written change)))
    (agent-q-diff-written-round written)))

(defun agent-q-diff-round-path (change hunk)
  "Return the path of the file of HUNK of CHANGE, relative to its project."
  (file-relative-name
   (agent-q-diff-file-change-path (agent-q-diff-change-file-of change hunk))
   (agent-q-diff-round-root (agent-q-diff-round-of change))))

(defun agent-q-diff-round-paths (change)
  "Return the path of each file of CHANGE, relative to its project."
  (let ((root (agent-q-diff-round-root (agent-q-diff-round-of change))))
    (mapcar (lambda (file) (file-relative-name (agent-q-diff-file-change-path file) root))
            (agent-q-diff-change-files change))))

(defun agent-q-diff-round-key (change hunk)
  "Return the key of HUNK of CHANGE; see `agent-q-diff-module-hunk-key'."
  (agent-q-diff-module-hunk-key (agent-q-diff-change-engine change) hunk))

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
  (let ((path (agent-q-diff-round-path change hunk))
        (lines (agent-q-diff-round--lines change hunk)))
    (seq-some (lambda (one)
                (and (agent-q-diff-round-comment-file one (list path))
                     (or (null (agent-q-diff-comment-side one))
                         (null lines)
                         (when-let ((line (agent-q-diff-comment-line one)))
                           (let* ((at (if (eq 'old (agent-q-diff-comment-side one)) 0 2))
                                  (start (aref lines at)))
                             (and (< line (max (aref lines (1+ at)) (1+ start)))
                                  (< start (+ line (agent-q-diff-comment-n one)))))))))
              (agent-q-diff-round-comments (agent-q-diff-round-of change)))))

;;;; What is new in a round

(defun agent-q-diff-round-news (change)
  "Return sentences on what is new in CHANGE since the last round, a list.
They are about hunks that are new, those that the user has rejected before, and
comments that agents have answered; answers that no file of CHANGE shows are
among them."
  (pcase-let* ((round (agent-q-diff-round-of change))
               (`(,n-new ,n-like ,n-again) (agent-q-diff-module-news
                                            (agent-q-diff-change-engine change)))
               (handled (seq-filter (lambda (one) (eq 'handled (agent-q-diff-comment-state one)))
                                    (agent-q-diff-round-comments round)))
               (n-handled (length handled)))
    (unless (and (null n-new) (= 0 n-again n-handled))
      (cons
       (concat
        (string-join
         (delq nil
               (list (and n-new
                          (concat
                           (format (ngettext "%d new hunk" "%d new hunks" n-new) n-new)
                           (and (< 0 n-like) (format " (%d with lines that you took out)" n-like))))
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
              (agent-q-diff-visible-name (agent-q-diff-comment-path one)))
            (funcall short (agent-q-diff-comment-text one))
            (agent-q-diff-visible (or who "somebody")) (funcall short (or text "")))))

;;;; Its end

(defvar agent-q-diff-round-is-replacing nil
  "Non-nil while a review ends because another one takes its place.")

(defun agent-q-diff-round-finished-p (review)
  "Return non-nil if the user has ended REVIEW, whatever was decided."
  (and (memq (agent-q-diff-session-outcome review) '(decided undecided killed))
       (not agent-q-diff-round-is-replacing)))

;;;; Comments

;; While a hunk is rejected, or its rejection waits, a comment on its lines is the
;; reason, and is kept with the hunk.  Any other comment is recorded at once.

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

(defun agent-q-diff-round-comment-file (one paths)
  "Return the index in PATHS of the file of ONE, an `agent-q-diff-comment', or nil.
A file whose rename was rejected has an earlier name again."
  (seq-some (lambda (path) (seq-position paths path))
            (cons (agent-q-diff-comment-path one)
                  (reverse (agent-q-diff-comment-names one)))))

(defun agent-q-diff-round-look-for-comments (change)
  "Return the comments of the project of CHANGE that are not closed.
Those on exactly a hunk of CHANGE, and on all of it, that nobody was told are
known to it then."
  (let ((all (agent-q-diff-round-comments (agent-q-diff-round-of change)))
        (paths (agent-q-diff-round-paths change))
        (known nil)
        (found nil))
    (dolist (one all)
      (when (and (eq 'comment (agent-q-diff-comment-kind one))
                 (eq 'open (agent-q-diff-comment-state one))
                 (not (agent-q-diff-comment-is-unsure one)))
        (let* ((path (agent-q-diff-comment-path one))
               (file (agent-q-diff-round-comment-file one paths))
               (hunks (and file
                           (or (assq file known)
                               (car (push (cons file (agent-q-diff-round--ids change file))
                                          known)))))
               (on (if file
                       (assoc (and (agent-q-diff-comment-side one)
                                   (list (agent-q-diff-comment-side one)
                                         (agent-q-diff-comment-line one)
                                         (agent-q-diff-comment-n one)))
                              (cdr hunks))
                     (and (string-empty-p path) '(nil)))))
          (when on
            (push (cons (cdr on)
                        (cons (agent-q-diff-comment-id one)
                              (agent-q-diff-engine-text (agent-q-diff-comment-text one))))
                  found)))))
    (setf (agent-q-diff-written-comments (agent-q-diff-change-written change)) found)
    all))

(defun agent-q-diff-round--ids (change file)
  "Return (LINES . ID) of each hunk of FILE of CHANGE, an index.
LINES are as for `agent-q-diff-round-comment'."
  (let ((hunks (agent-q-diff-change-hunks-of change file)))
    (cl-loop for hunk in hunks
             for lines = (agent-q-diff-round--lines-meant change hunk)
             ;; A comment on a file is not on one of several hunks.
             when (or lines (null (cdr hunks)))
             collect (cons lines (agent-q-diff-engine-hunk-id
                                  (agent-q-diff-change-hunk change hunk))))))

(defun agent-q-diff-round--lines-meant (change hunk)
  "Return the lines that a comment on HUNK of CHANGE is on, or nil for its file.
Once the user has edited a hunk, the numbers of lines are others than in the
texts."
  (unless (and (eq change agent-q-diff-buffer-change)
               (agent-q-diff-annotations-moved-p (agent-q-diff-change-file-index change hunk)))
    (agent-q-diff-round-hunk-lines change hunk)))

(defconst agent-q-diff-round-list-name "*agent-q-diff comments*"
  "Name of the buffer with the list of comments.")

(defun agent-q-diff-round-show-comments (root)
  "Show the comments of the project at ROOT anew, wherever they are shown."
  (dolist (review (agent-q-diff-open-reviews))
    (when-let* ((round (agent-q-diff-round-of (agent-q-diff-session-change review)))
                (buffer (agent-q-diff-session-buffer review)))
      (when (and (buffer-live-p buffer)
                 (file-equal-p root (agent-q-diff-round-root round)))
        (with-current-buffer buffer
          (agent-q-diff-annotations-show)))))
  (when-let ((list (get-buffer agent-q-diff-round-list-name)))
    (with-current-buffer list
      (when (file-equal-p root default-directory)
        (revert-buffer)))))

(defun agent-q-diff-round-say (change hunk text)
  "Make TEXT the comment on HUNK of CHANGE, or on all of it if HUNK is nil.
If TEXT is blank, close the one that is there."
  (let* ((round (agent-q-diff-round-of change))
         (written (agent-q-diff-change-written change))
         (known (car (agent-q-diff-change-comment-on change hunk))))
    (cond
     (known
      (agent-q-diff-engine-call #'agent-q-diff-module-edit-comment
                                (agent-q-diff-round-root round) known 'comment text))
     ((not (string-blank-p text))
      (agent-q-diff-round-comment
       round
       (if hunk (agent-q-diff-round-path change hunk) "")
       (and hunk (agent-q-diff-round--lines-meant change hunk))
       'comment text
       (if hunk (agent-q-diff-round-to change hunk) (agent-q-diff-round-to-of change)))))
    (setf (agent-q-diff-written-comments written) t)))

(defun agent-q-diff-round-take-comment (change hunk)
  "Make the comment on HUNK of CHANGE the reason of its rejection, and close it.
A reason that the user has given since takes its place."
  (when-let ((one (agent-q-diff-change-comment-on change hunk)))
    (unless (alist-get hunk (agent-q-diff-change-comments change))
      (setf (alist-get hunk (agent-q-diff-change-comments change)) (cdr one)))
    (agent-q-diff-round-say change hunk "")))

(defun agent-q-diff-round-rejected-p (change hunk)
  "Return non-nil if HUNK of CHANGE is rejected, or its rejection waits."
  (let ((hunk (agent-q-diff-change-hunk change hunk)))
    (or (eq 'rejected (agent-q-diff-engine-hunk-mark hunk))
        (agent-q-diff-change-to-go-p change hunk))))

(defun agent-q-diff-round-settle (change)
  "Make comments on their lines of reasons in CHANGE that are none any more.
Show what has changed of comments."
  (let* ((written (agent-q-diff-change-written change))
         (reasons (copy-sequence (agent-q-diff-change-comments change)))
         ;; There may be thousands, and this is done after each command.
         (marks (and reasons (vconcat (agent-q-diff-change-marks change)))))
    (pcase-dolist (`(,hunk . ,text) reasons)
      (unless (or (eq 'rejected (aref marks hunk))
                  (agent-q-diff-round-rejected-p change hunk))
        (when (eq t (agent-q-diff-written-comments written))
          (agent-q-diff-round-look-for-comments change))
        (agent-q-diff-round-say change hunk text)
        (setf (alist-get hunk (agent-q-diff-change-comments change) nil t) nil)))
    (when (eq t (agent-q-diff-written-comments written))
      (agent-q-diff-round-show-comments (agent-q-diff-written-root written)))))

(defun agent-q-diff-round-lines-words (side line n)
  "Return words for N lines from LINE on, from 0, of SIDE."
  (concat (if (= 1 n)
              (format "line %d" (1+ line))
            (format "lines %d to %d" (1+ line) (+ line n)))
          (if (eq side 'old) " before the change" "")))

(provide 'agent-q-diff-rounds)
;;; agent-q-diff-rounds.el ends here
