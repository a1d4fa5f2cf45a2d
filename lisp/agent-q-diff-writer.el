;;; agent-q-diff-writer.el --- Who writes what was decided: the caller, or Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Some callers write a file themselves, such as the client of an agent whose
;; own tool does.  Then the user decides about texts, and who writes them is said
;; at the end.  Some can write any text, others only all that they have proposed;
;; of these, Emacs writes a part.
;;
;; Emacs also writes where the caller would destroy something: if a file has
;; unsaved edits, or is not what the proposal was made for.  If that is so from
;; the beginning, the review is an ordinary one.
;;
;; This file prepares the texts, and says what was decided about them.  The
;; functions that begin such a review are in agent-q-diff-api.el.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-message)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-visit)
(require 'agent-q-diff-change)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-live)
(require 'agent-q-diff-input)
(require 'agent-q-diff-session)

(cl-defstruct (agent-q-diff-writer (:constructor agent-q-diff-writer--make) (:copier nil))
  "Who writes what is decided in a review that its caller may write."
  (kind nil :documentation "`caller', or `caller-if-all' if it can write only all of it.")
  (why nil :documentation "Why Emacs writes, a symbol, or nil if the caller may.
It is `unsaved', `changed', or `other' for what is not a text.")
  (files nil :documentation "List of `agent-q-diff-writer-file', unless Emacs writes.")
  (watched nil :documentation "As from `agent-q-diff-reviewed-watch', if the caller writes."))

(cl-defstruct (agent-q-diff-writer-file (:constructor agent-q-diff-writer--file-make)
                                        (:copier nil))
  "A file that a caller may write, and what was decided about it."
  (name nil :documentation "Its absolute name.")
  (to nil :documentation "Its new absolute name, or nil.")
  (original nil :documentation "Its text before, or nil if it is new.")
  (modified nil :documentation "The proposed text, or nil if it is to be deleted.")
  (is-crlf nil :documentation "Non-nil if the caller's text has CRLF line ends.")
  (check nil :documentation "Function that signals an error if it must not be written.")
  (annotations nil :documentation "As in the proposal.")
  (text nil :documentation "The text that was decided, or nil if there is to be no file.")
  (is-renamed nil :documentation "Non-nil if it is to get its new name."))

(defconst agent-q-diff-writer--kinds '(caller caller-if-all)
  "What a caller can say of who writes, beside nil.")

;;;; What is proposed

(defun agent-q-diff-writer--file (proposal)
  "Return the file of PROPOSAL as an `agent-q-diff-writer-file'.
If Emacs has to write it, return why, a symbol."
  (let* ((name (agent-q-diff-visit-name (plist-get proposal :path)))
         (to (plist-get proposal :to))
         (live (agent-q-diff-live-read (file-truename name)))
         (original (plist-get proposal :original)))
    (cond
     ((or (seq-some (lambda (key) (plist-get proposal key))
                    '(:diff :mode :old-mode :executable :link :old-link))
          (file-symlink-p name)
          (and live (eq 'raw-text (coding-system-type (agent-q-diff-live-coding live)))))
      'other)
     ((null live)
      (unless (agent-q-diff-input-new-p proposal)
        (agent-q-diff-file-refuse "%s does not exist" name))
      (agent-q-diff-writer--file-make
       :name name :check (plist-get proposal :check)
       :annotations (plist-get proposal :annotations)
       :modified (agent-q-diff-input-proposed-text proposal nil name)))
     ((agent-q-diff-live-unsaved-p live) 'unsaved)
     ((and original
           (not (equal (agent-q-diff-live-adapt live original) (agent-q-diff-live-text live))))
      'changed)
     (t
      (let* ((before (agent-q-diff-live-text live))
             (text (agent-q-diff-input-proposed-text proposal live name))
             (adapted (and text (agent-q-diff-live-adapt live text))))
        (when (and (equal before adapted) (null to))
          (signal 'agent-q-diff-identical (list (format "%s has the proposed text" name))))
        (agent-q-diff-writer--file-make
         :name name :original before :to (and to (agent-q-diff-visit-name to))
         :check (plist-get proposal :check) :annotations (plist-get proposal :annotations)
         :modified (cond ((plist-get proposal :delete) nil) (text adapted) (t before))
         :is-crlf (not (equal text adapted))))))))

(defun agent-q-diff-writer-open (proposals kind &optional is-detached)
  "Return a new change of PROPOSALS, which its caller may write by KIND.
PROPOSALS are as for `agent-q-diff-review-change', and KIND is the writer.  If
IS-DETACHED is non-nil, signal an error, since there is no file to write then."
  (when is-detached
    (agent-q-diff-base-refuse "give either writer or detached: of a detached text, no file is written"))
  (unless (memq kind agent-q-diff-writer--kinds)
    (agent-q-diff-base-refuse "writer must be nil or one of %s, not %S"
                              (mapconcat #'symbol-name agent-q-diff-writer--kinds ", ") kind))
  (agent-q-diff-input-check proposals)
  (let* ((files (agent-q-diff-visit-resolving-once
                  (mapcar #'agent-q-diff-writer--file proposals)))
         (why (seq-find #'symbolp files))
         (change (if why
                     (agent-q-diff-input-change
                      (mapcar #'agent-q-diff-writer--with-original proposals))
                   (agent-q-diff-input-change (mapcar #'agent-q-diff-writer--whole files)
                                              'detached))))
    (setf (agent-q-diff-change-writer change)
          (agent-q-diff-writer--make :kind kind :why why :files (and (not why) files)))
    change))

(defun agent-q-diff-writer--with-original (proposal)
  "Return PROPOSAL, its whole new text with the original that it was made for."
  (let ((text (or (plist-get proposal :modified) (plist-get proposal :content)))
        (name (agent-q-diff-visit-name (plist-get proposal :path))))
    (if-let ((original (and text
                            (null (plist-get proposal :original))
                            (null (plist-get proposal :old-link))
                            (agent-q-diff-live-saved-text name))))
        (append (list :original original :modified text :content nil) proposal)
      proposal)))

(defun agent-q-diff-writer--whole (file)
  "Return the proposal of FILE as a whole, which needs no file to be read."
  (append (agent-q-diff-writer-proposal
           (agent-q-diff-writer-file-name file) (agent-q-diff-writer-file-original file)
           (agent-q-diff-writer-file-modified file) (agent-q-diff-writer-file-to file)
           (agent-q-diff-writer-file-check file))
          (list :annotations (agent-q-diff-writer-file-annotations file))))

(defun agent-q-diff-writer-proposal (name original text to check)
  "Return what `agent-q-diff-review-change' takes for the file NAME.
From ORIGINAL, nil if it is new, it is to get TEXT, or to be deleted if that is
nil, and the name TO, unless that is nil.  CHECK is as for that function."
  (append (list :path name :check check)
          (and to (list :to to))
          (cond
           ((null original) (list :content text))
           ((null text) (list :delete t :original original))
           ((not (equal original text)) (list :original original :modified text)))))

(defun agent-q-diff-writer-note (change agent)
  "Return a list with what the user is told first about who writes CHANGE, or nil.
AGENT is the name of the agent, or nil."
  (when-let ((writer (agent-q-diff-change-writer change)))
    (let ((who (or agent "the program that asked"))
          (what (if (cdr (agent-q-diff-change-files change)) "A file" "The file")))
      (list (pcase-exhaustive (agent-q-diff-writer-why writer)
              ('unsaved (format "%s has unsaved edits, so Emacs, not %s, writes what you accept."
                                what who))
              ('changed (format "%s is not what the proposal was made for, so Emacs, not %s, \
writes what you accept."
                                what who))
              ('other (format "Emacs, not %s, writes what you accept." who))
              ('nil (if (eq 'caller (agent-q-diff-writer-kind writer))
                        (format "You decide what %s writes." who)
                      (format "If you accept all of it, %s writes it; if a part, Emacs does."
                              who))))))))

;;;; What was decided

(defun agent-q-diff-writer-note-decision (file result)
  "Record in FILE what was decided about it; RESULT is the file's result."
  (let ((original (agent-q-diff-writer-file-original file)))
    (cl-flet ((is-in (operation)
                (seq-some (lambda (hunk)
                            (and (eq operation (plist-get hunk :operation))
                                 (plist-get hunk :in-file)))
                          (plist-get result :hunks))))
      (setf (agent-q-diff-writer-file-is-renamed file) (is-in 'rename)
            (agent-q-diff-writer-file-text file)
            (cond
             ((null original) (and (< 0 (plist-get result :in-file))
                                   (or (plist-get result :content) "")))
             ((null (agent-q-diff-writer-file-modified file))
              (if (is-in 'delete) nil original))
             (t (or (plist-get result :content) original)))))))

(defun agent-q-diff-writer-stays-p (file)
  "Return non-nil if FILE is to stay as it is by the decision."
  (and (not (agent-q-diff-writer-file-is-renamed file))
       (equal (agent-q-diff-writer-file-text file)
              (agent-q-diff-writer-file-original file))))

(defun agent-q-diff-writer-whole-p (file)
  "Return non-nil if all that was proposed for FILE was accepted, and nothing else."
  (and (equal (agent-q-diff-writer-file-text file)
              (agent-q-diff-writer-file-modified file))
       (eq (null (agent-q-diff-writer-file-to file))
           (null (agent-q-diff-writer-file-is-renamed file)))))

(defun agent-q-diff-writer--as-before-p (file)
  "Return non-nil if FILE is as it was when the review began, and all is saved."
  (let* ((name (agent-q-diff-writer-file-name file))
         (to (agent-q-diff-writer-file-to file))
         (buffer (agent-q-diff-file-visitor name)))
    (and (not (and buffer (agent-q-diff-disk-unsaved-p buffer)))
         (not (and to (file-exists-p to)))
         (equal (agent-q-diff-live-saved-text name)
                (agent-q-diff-writer-file-original file)))))

(defun agent-q-diff-writer--as-decided-p (file)
  "Return non-nil if FILE is on disk as it was decided.
A buffer that visits it follows it first, unless that has unsaved edits."
  (let* ((name (agent-q-diff-writer-file-name file))
         (to (agent-q-diff-writer-file-to file))
         (text (agent-q-diff-writer-file-text file))
         (other (if (agent-q-diff-writer-file-is-renamed file) name to))
         (saved (agent-q-diff-live-saved-text
                 (if (agent-q-diff-writer-file-is-renamed file) to name))))
    (and (not (and other (file-exists-p other)))
         (if text
             ;; Those line ends are no part of what Emacs reads.
             (member saved (list text (string-replace "\r\n" "\n" text)))
           (null saved)))))

;;;; Who writes it

(defconst agent-q-diff-writer--max-left 20
  "Number of reviews whose callers are to write that are found by their ids.")

(defvar agent-q-diff-writer--left nil
  "Reviews that have ended and whose callers are to write, the latest first.")

(defun agent-q-diff-writer-as-written (result is-saved)
  "Return RESULT of a review of texts as if these were in the files.
IS-SAVED is non-nil if they are saved there."
  (let ((written (list :detached nil :saved (and is-saved t))))
    (append written
            (when-let ((files (plist-get result :files)))
              (list :files (mapcar (lambda (file) (append written file)) files)))
            result)))

(defun agent-q-diff-writer-settle (review make)
  "Say in the result of REVIEW, which has ended, who writes what was decided.
If that is Emacs, have it written by MAKE, a function of proposals as for
`agent-q-diff-review-change', which makes all of them or none, and returns the
result.  Nothing is done unless the caller of REVIEW may write."
  (when-let ((writer (agent-q-diff-change-writer (agent-q-diff-session-change review))))
    (let ((result (agent-q-diff-session-result review)))
      (setf (agent-q-diff-session-result review)
            (cond
             ((agent-q-diff-writer-why writer)
              (append (list :writer (and (< 0 (plist-get result :in-file)) 'emacs)) result))
             ((not (memq (plist-get result :status) '(accepted partial rejected)))
              (append (list :writer nil
                            :message (agent-q-diff-message-of-not-run
                                      result (agent-q-diff-writer--what result) nil))
                      result))
             (t
              (condition-case err
                  (agent-q-diff-writer--settle-decided writer result make)
                ((error quit)
                 (agent-q-diff-writer--not-written review (agent-q-diff-error-text err)))))))
      (when (eq 'caller (plist-get (agent-q-diff-session-result review) :writer))
        (setq agent-q-diff-writer--left
              (seq-take (cons review agent-q-diff-writer--left)
                        agent-q-diff-writer--max-left))))))

(defun agent-q-diff-writer--what (result)
  "Return what RESULT is of: the name of the file, or how many files."
  (if-let ((files (plist-get result :files)))
      (format (ngettext "%d file" "%d files" (length files)) (length files))
    (plist-get result :path)))

(defun agent-q-diff-writer--settle-decided (writer result make)
  "Return RESULT, a decision, with who of WRITER writes it.
MAKE is as for `agent-q-diff-writer-settle'.  Signal an error if nobody can."
  (cl-mapc #'agent-q-diff-writer-note-decision
           (agent-q-diff-writer-files writer)
           (or (plist-get result :files) (list result)))
  (let* ((files (agent-q-diff-writer-files writer))
         (changed (seq-remove #'agent-q-diff-writer-stays-p files)))
    (cond
     ((null changed)
      (agent-q-diff-writer--say nil (agent-q-diff-writer-as-written result t)))
     ((and (or (eq 'caller (agent-q-diff-writer-kind writer))
               (seq-every-p #'agent-q-diff-writer-whole-p files))
           (agent-q-diff-file-uncached
             (seq-every-p #'agent-q-diff-writer--as-before-p files)))
      (mapc (lambda (file)
              (when-let ((check (agent-q-diff-writer-file-check file)))
                (funcall check)))
            changed)
      (setf (agent-q-diff-writer-watched writer)
            (agent-q-diff-reviewed-watch (mapcar #'agent-q-diff-writer--names changed)))
      (agent-q-diff-writer--say 'caller (agent-q-diff-writer--for-caller files result)))
     (t
      (agent-q-diff-writer--say
       'emacs (agent-q-diff-writer--made
               result (funcall make (mapcar #'agent-q-diff-writer--decided-proposal changed))))))))

(defun agent-q-diff-writer--say (who result)
  "Return RESULT with WHO writes it, and the message about that."
  (let ((result (append (list :writer who) result)))
    (append (list :message (agent-q-diff-message-of-result result (plist-get result :path)))
            result)))

(defun agent-q-diff-writer--names (file)
  "Return the name of FILE, or (OLD . NEW) if it is renamed by the decision."
  (if (agent-q-diff-writer-file-is-renamed file)
      (cons (agent-q-diff-writer-file-name file) (agent-q-diff-writer-file-to file))
    (agent-q-diff-writer-file-name file)))

(defun agent-q-diff-writer--for-caller (files result)
  "Return RESULT with the texts of FILES that the caller is to write.
They have the line ends that the caller gave.  That of the only file is the
:content of RESULT itself, too, also if that is a result of several files."
  (cl-flet ((with-text (file result)
              (if-let ((text (agent-q-diff-writer-file-text file)))
                  (append (list :content (if (agent-q-diff-writer-file-is-crlf file)
                                             (string-replace "\n" "\r\n" text)
                                           text))
                          result)
                result)))
    (append (and (null (cdr files)) (with-text (car files) nil))
            (when-let ((results (plist-get result :files)))
              (list :files (cl-mapcar #'with-text files results)))
            result)))

(defun agent-q-diff-writer--decided-proposal (file)
  "Return what was decided about FILE, for `agent-q-diff-review-change'."
  (let ((name (agent-q-diff-writer-file-name file)))
    (when (and (null (agent-q-diff-writer-file-original file)) (file-exists-p name))
      (agent-q-diff-file-refuse "%s was made by others meanwhile" name))
    (agent-q-diff-writer-proposal
     name (agent-q-diff-writer-file-original file) (agent-q-diff-writer-file-text file)
     (and (agent-q-diff-writer-file-is-renamed file) (agent-q-diff-writer-file-to file))
     (agent-q-diff-writer-file-check file))))

(defun agent-q-diff-writer--made (result made)
  "Return RESULT of a review of texts, which Emacs wrote with the result MADE.
Signal an error if it could not."
  (unless (eq 'accepted (plist-get made :status))
    (signal (or (plist-get made :error) 'agent-q-diff-not-applied)
            (list (or (plist-get made :reason) "Emacs could not write it"))))
  (let ((written (agent-q-diff-writer-as-written result (plist-get made :saved))))
    (append (list :altered (plist-get made :altered))
            (unless (or (plist-get made :files) (plist-get result :files))
              (list :content (plist-get made :content)))
            written)))

(defun agent-q-diff-writer--not-written (review reason)
  "Return the result of REVIEW, whose decision nobody can write because of REASON."
  (let ((result (agent-q-diff-session-result review)))
    (setf (agent-q-diff-session-outcome review) 'lost
          (agent-q-diff-session-error review) (list 'agent-q-diff-not-applied reason))
    (agent-q-diff-base-warn (format "%s: what you accepted is not written: %s"
                                    (agent-q-diff-session-name review)
                                    (agent-q-diff-visible reason)))
    (agent-q-diff-writer--say nil (agent-q-diff-writer--in-no-file result reason))))

(defun agent-q-diff-writer--in-no-file (result reason)
  "Return RESULT as one that is in no file because of REASON."
  (cl-flet ((without (result)
              (append
               (list :in-file 0
                     :hunks (mapcar (lambda (hunk)
                                      (append '(:in-file nil :now nil) hunk))
                                    (plist-get result :hunks)))
               ;; Nobody knows, and of nothing is anything said.
               (cl-loop for (key value) on result by #'cddr
                        unless (memq key '(:saved :content :in-file :hunks))
                        nconc (list key value)))))
    (append (list :status 'stale :decision nil :detached nil
                  :error 'agent-q-diff-not-applied :reason reason)
            (when-let ((files (plist-get result :files)))
              (list :files (mapcar #'without files)))
            (without result))))

;;;; Once it is written

(defun agent-q-diff-note-written (review)
  "Note that the caller has written what was decided in REVIEW; return the result.
REVIEW is a review, or the id with which it was begun.  That is for a caller to
whom the result gave that to do, as its :writer.  The files are compared with
what was decided.  If they are just that, it counts as reviewed, buffers follow,
and the :message says what is in the files.  If not, the user is warned, the
:status is `stale', and the :message tells the agent."
  (let* ((review (if (agent-q-diff-session-p review)
                     review
                   (or (seq-find (lambda (left)
                                   (equal review (agent-q-diff-session-id left)))
                                 (and review agent-q-diff-writer--left))
                       (agent-q-diff-base-refuse
                        "no review with the id %S was left to its caller to write" review))))
         (result (agent-q-diff-session-result review))
         (writer (agent-q-diff-change-writer (agent-q-diff-session-change review))))
    (unless (and writer (eq 'caller (plist-get result :writer)))
      (agent-q-diff-base-refuse "the caller of this review has nothing to write"))
    (if-let ((differing (agent-q-diff-file-uncached
                          (seq-remove #'agent-q-diff-writer--as-decided-p
                                      (agent-q-diff-writer-files writer)))))
        (agent-q-diff-writer--differs result differing)
      (agent-q-diff-reviewed-note-decided (agent-q-diff-writer-watched writer))
      (setf (agent-q-diff-writer-watched writer) nil)
      (setq agent-q-diff-writer--left (delq review agent-q-diff-writer--left))
      (agent-q-diff-writer--say 'caller (agent-q-diff-writer-as-written result t)))))

(defun agent-q-diff-writer--differs (result files)
  "Return RESULT of a decision that FILES are not as, and warn the user."
  (let ((names (mapconcat (lambda (file)
                            (agent-q-diff-visible-name (agent-q-diff-writer-file-name file)))
                          files ", "))
        (verb (if (cdr files) "are" "is")))
    (agent-q-diff-base-warn (format "%s %s not what you decided" names verb))
    (append (list :status 'stale :error 'agent-q-diff-not-applied
                  :reason (format "%s %s not what the user decided" names verb)
                  :message (format "Error: %s %s not what the user decided. Read %s, and tell \
the user what differs."
                                   names verb (if (cdr files) "them" "it")))
            (agent-q-diff-writer-as-written result nil))))

(provide 'agent-q-diff-writer)
;;; agent-q-diff-writer.el ends here
