;;; agent-q-diff-api.el --- Functions with which programs begin and decide reviews  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How a review begins: a proposal is shown in a diff buffer, and somebody
;; waits for what becomes of it, or is called back.  Here are the entry
;; points for programs, and what they need to decide without a key.

;;; Code:

;; The first use of the package loads thirty files here.  To read them makes
;; garbage for several collections, which take longer than the reading.
(let ((gc-cons-threshold (max gc-cons-threshold (* 64 1024 1024))))
  (require 'agent-q-diff-mode)
  (require 'agent-q-diff-lifecycle))

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'diff-mode)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-visit)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-signs)
(require 'agent-q-diff-result)
(require 'agent-q-diff-finish)
(require 'agent-q-diff-grace)
(require 'agent-q-diff-mode)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-wait)
(require 'agent-q-diff-render)

;;;; Entry points

(defun agent-q-diff-api--check-arguments (original modified description)
  "Signal an error unless ORIGINAL, MODIFIED and DESCRIPTION are texts.
DESCRIPTION may be nil as well."
  (pcase-dolist (`(,name . ,value) `(("original" . ,original)
                                     ("modified" . ,modified)
                                     ("description" . ,(or description ""))))
    (unless (stringp value)
      (signal 'agent-q-diff-bad-arguments
              (list (format "%s must be a string, not %S" name
                            (type-of value)))))))

;;;###autoload
(cl-defun agent-q-diff-review-and-wait (path original modified description
                                             &key (mode #'agent-q-diff-mode) notes
                                             check)
  "Let the user decide what becomes of a proposal, and wait for it.
The proposal is to change the file PATH, expanded against
`default-directory', from the text ORIGINAL to the text MODIFIED;
DESCRIPTION, a string or nil, says what for.  MODE is the major mode of
the diff buffer, NOTES a list of strings to show above the diff.  CHECK is
a function that is called before each edit, and again right before the
file is replaced; it signals an error if that must not be.

Return a plist once the user has decided:

:decision  \"accepted\" or \"rejected\"
:path      the absolute name of the file
:total     the number of hunks, and of them those marked
:applied   applied,
:rejected  rejected and
:pending   neither, and
:in-file   those whose change is in the file
:altered   non-nil if saving changed more than the hunks, as hooks may
:hunks     for each hunk a plist with its :index, its :state (`applied',
           `rejected' or nil), whether it is :in-file, whether it is
           :lost since others have changed its lines there, the :reason
           why it could not be applied, or nil, and if the user has
           edited or merged it, its lines as an :edited diff, else nil;
           and if the user has split any hunk, so that its numbers are no
           longer those of the proposal, its lines as a :part diff

Signal an error under `agent-q-diff-error' if there is no decision: the
proposal could not be shown, what was accepted could not be applied, the
review was cancelled, or this is a batch Emacs with nobody to ask."
  (agent-q-diff-api--check-arguments original modified description)
  (agent-q-diff-api--start-and-wait
   path original modified description mode notes
   (lambda ()
     (agent-q-diff-file-change-open (agent-q-diff-visit-name path)
                                    original modified check))))

;;;###autoload
(cl-defun agent-q-diff-review-patch-and-wait (path diff description
                                                   &key (mode #'agent-q-diff-mode)
                                                   notes check)
  "Let the user decide what becomes of DIFF, and wait for it.
DIFF is a unified diff of the file PATH, as for `agent-q-diff-review-patch';
the other arguments and the value are those of
`agent-q-diff-review-and-wait'."
  (agent-q-diff-api--check-arguments diff diff description)
  (agent-q-diff-api--start-and-wait
   path nil nil description mode (append notes (agent-q-diff-api--diff-notes path diff))
   (lambda ()
     (agent-q-diff-file-change-open-patch (agent-q-diff-visit-name path) diff check))))

(defun agent-q-diff-api--start-and-wait (path original modified description mode
                                              notes open)
  "Call OPEN for a change, let the user review it, wait, and return the result.
PATH, ORIGINAL, MODIFIED, DESCRIPTION, MODE and NOTES are as for
`agent-q-diff-review-and-wait'."
  (let ((review (agent-q-diff-api--logging-errors
                 path
                 (lambda ()
                   (let ((review (agent-q-diff-session-of (funcall open))))
                     (agent-q-diff-render-prepare-or-close review original modified
                                                           (or description "") mode notes)
                     review)))))
    (agent-q-diff-lifecycle-begin review)
    (agent-q-diff-wait review)))

(defun agent-q-diff-api--logging-errors (path function)
  "Call FUNCTION, which begins a review of the file PATH, and return its value.
If it signals, the log has that."
  (condition-case err
      (funcall function)
    (error
     (agent-q-diff-result-record (agent-q-diff-api--unbegun path nil err))
     (signal (car err) (cdr err)))))

(defun agent-q-diff-wait (review)
  "Show REVIEW, wait in a recursive edit until it has ended, and return its result.
Signal an error under `agent-q-diff-error' if there is no decision."
  (unless (agent-q-diff-session-outcome review)
    (agent-q-diff-wait-for review))
  (agent-q-diff-wait-answer review))

;;;###autoload
(cl-defun agent-q-diff-review (path original modified description callback
                                    &key (mode #'agent-q-diff-mode) notes agent
                                    detached check)
  "Ask the user what becomes of a proposal, and return the review at once.
PATH, ORIGINAL, MODIFIED, DESCRIPTION, MODE, NOTES and CHECK are as for
`agent-q-diff-review-and-wait'.  CALLBACK is a function, or nil, that is
called once with the result when the review has ended, however that was;
if it could not begin, before this function returns.  AGENT says who
proposes, a string.  If DETACHED is non-nil, no file is read or written:
the hunks go into the text ORIGINAL, and :content is what became of it.

The result is that of `agent-q-diff-review-and-wait' and

:status   accepted (all hunks are in the file), partial (some are),
          rejected, cancelled, stale (what was accepted could not be
          applied), or error (there was nothing to decide)
:reason   why it was not decided, a string, or nil
:error    the symbol of the error that this is for one who waits, or nil
:message  what the agent is to read
:comment  what the user says of the whole, or nil
:content  the text of the target
:saved    non-nil if that is what its file holds
:untouched  non-nil if nobody has written the file since the review began
:overwritten  non-nil if others have changed or deleted the file since hunks
          were applied: they are in the buffer, and none is in the file
:detached  DETACHED

and of each hunk its :header and the user's :comment, or nil; :was-in,
non-nil if its change is in the file and was not put there by this review;
:offset, the number of lines by which it is below the expected place, or
nil if it is not; :fuzz, how many outer context lines on a side differ
where it was found; :places, a list of the lines, from 0, at which it may
begin, if nobody has said which of them is right; and of the first 50 as
:now (LINE . TEXT) what stands in their place, with LINE from
0 where the context begins, or nil if that place is not known."
  (agent-q-diff-api--check-arguments original modified description)
  (agent-q-diff-api--start
   path callback agent original modified description mode notes
   (lambda ()
     (agent-q-diff-file-change-open (if detached
                                        (agent-q-diff-api--detached-name path)
                                      (agent-q-diff-visit-name path))
                                    original modified check detached))))

;;;###autoload
(cl-defun agent-q-diff-review-patch (path diff description callback
                                          &key (mode #'agent-q-diff-mode) notes
                                          agent check)
  "Ask the user what becomes of DIFF, and return the review at once.
DIFF is a unified diff of the file PATH, of which nobody has the
original: a hunk goes where its lines are, if that is certain.  The other
arguments and the value are those of `agent-q-diff-review'."
  (agent-q-diff-api--check-arguments diff diff description)
  (agent-q-diff-api--start
   path callback agent nil nil description mode
   (append notes (agent-q-diff-api--diff-notes path diff))
   (lambda ()
     (agent-q-diff-file-change-open-patch (agent-q-diff-visit-name path) diff check))))

(defun agent-q-diff-api--detached-name (path)
  "Return PATH, the name of a text that is no file, as an absolute file name.
Nothing is looked at there, so it may be remote."
  (agent-q-diff-visit-check-spelling path)
  (substring-no-properties (expand-file-name path)))

(defun agent-q-diff-api--start (path callback agent original modified description
                                     mode notes open)
  "Call OPEN for a change, show its review, and return that at once.
PATH, CALLBACK, AGENT, ORIGINAL, MODIFIED, DESCRIPTION, MODE and NOTES
are as for `agent-q-diff-review'."
  (condition-case err
      (let ((review (agent-q-diff-session-of
                     (agent-q-diff-base-collecting-once (funcall open)))))
        (agent-q-diff-render-prepare-or-close review original modified
                                              (or description "") mode notes)
        (setf (agent-q-diff-session-callback review) callback
              (agent-q-diff-session-agent review) agent)
        (agent-q-diff-lifecycle-begin review)
        (with-current-buffer (agent-q-diff-session-buffer review)
          (setq agent-q-diff-buffer-end-function #'agent-q-diff-lifecycle-end-unwaited))
        (agent-q-diff-api--announce review)
        review)
    (error
     (agent-q-diff-api--end-unbegun path callback err))))

(defun agent-q-diff-api--end-unbegun (path callback err)
  "Return a review of the file PATH that ended with ERR before it began.
CALLBACK is told."
  (let ((review (agent-q-diff-api--unbegun path callback err)))
    (agent-q-diff-result-record review)
    (agent-q-diff-lifecycle-tell review)
    review))

(defun agent-q-diff-api--unbegun (path callback err)
  "Return a review of the file PATH, with CALLBACK, that ERR kept from beginning."
  (let ((review (agent-q-diff-session-of
                 (agent-q-diff-file-change-unopened path)
                 :callback callback :agent (car agent-q-diff-caller)
                 :outcome (list 'error (car err) (agent-q-diff-error-text err)))))
    (setf (agent-q-diff-session-result review) (agent-q-diff-result-of review))
    review))

;;;; Showing a review that nobody waits for

(defun agent-q-diff-api--announce (review)
  "Show REVIEW by the rule of `agent-q-diff-display', and announce it.
It is open even if it cannot be shown, and answered when it has ended."
  (let ((buffer (agent-q-diff-session-buffer review)))
    (condition-case err
        (pcase-exhaustive agent-q-diff-display
          ('at-once (agent-q-diff-api--display buffer))
          ('when-idle (run-with-idle-timer 1 nil #'agent-q-diff-api--display buffer))
          ('announce nil))
      (error (message "The review cannot be shown: %s"
                      (agent-q-diff-error-text err))))
    (message "%s proposes to change %s; M-x agent-q-diff-list"
             (or (agent-q-diff-session-agent review) "An agent")
             (agent-q-diff-visible
              (abbreviate-file-name (agent-q-diff-session-path review))))))

(defun agent-q-diff-api--display (buffer)
  "Show the diff buffer BUFFER in a window that is not selected, if it waits."
  (when (and (buffer-live-p buffer)
             (agent-q-diff-render--live-p buffer))
    (unless (get-buffer-window buffer t)
      (display-buffer buffer '(nil (inhibit-same-window . t))))
    (with-current-buffer buffer
      (agent-q-diff-grace-begin))))

;;;; Diffs as they come

;;;###autoload
(defun agent-q-diff-review-diff (diff &optional directory)
  "Review DIFF, a unified diff of one or more files, and return the reviews.
Interactively, that is the text of the region if it is active, or else of
the buffer; with a prefix argument, of a file.  File names are expanded
against DIRECTORY or `default-directory'; a leading \"a/\" or \"b/\" is
dropped unless there is such a directory.  Every file has a review of its
own, of its lines; that files are not renamed, deleted or the like is said
there."
  (interactive (list (agent-q-diff-api--read-diff)))
  (let* ((default-directory (or directory default-directory))
         (undone (agent-q-diff-api-undone-notes diff))
         (files (agent-q-diff-engine-files diff))
         ;; One without a name must not leave reviews of the others behind.
         (names (mapcar (pcase-lambda (`(,old ,new ,_))
                          (agent-q-diff-api--named-file old new))
                        files))
         (reviews (cl-mapcar (pcase-lambda (name `(,old ,new ,hunks))
                               (agent-q-diff-review-patch
                                name hunks "A diff" nil
                                :notes (append undone
                                               (agent-q-diff-api--outside-notes old new))))
                             names files))
         (first (seq-find (lambda (review)
                            (not (agent-q-diff-session-outcome review)))
                          reviews)))
    (dolist (review reviews)
      (when (agent-q-diff-session-outcome review)
        (message "%s: %s"
                 (agent-q-diff-visible (agent-q-diff-session-path review))
                 (agent-q-diff-visible
                  (plist-get (agent-q-diff-session-result review) :reason)))))
    (when first
      (pop-to-buffer (agent-q-diff-session-buffer first)))
    reviews))

(defun agent-q-diff-api--read-diff ()
  "Return the text of the region, of the buffer, or with a prefix of a file."
  (cond
   (current-prefix-arg
    (with-temp-buffer
      (insert-file-contents (read-file-name "Review diff in file: " nil nil t))
      (buffer-string)))
   ((use-region-p)
    (buffer-substring-no-properties (region-beginning) (region-end)))
   (t (save-restriction
        (widen)
        (buffer-substring-no-properties (point-min) (point-max))))))

(defun agent-q-diff-api--named-file (old new)
  "Return the name of the file of a diff with the names OLD and NEW.
A diff that creates or deletes a file names it on one side only; that of
a file that is to be renamed is for the one that is there."
  (let ((names (mapcar #'agent-q-diff-api--without-side
                       (remove "/dev/null" (delq nil (list new old))))))
    (or (seq-find (lambda (name)
                    (and (not (file-remote-p name)) (file-exists-p name)))
                  names)
        (car names)
        (signal 'agent-q-diff-bad-target
                '("the diff names no file; put \"--- NAME\" and \"+++ NAME\" above it")))))

(defun agent-q-diff-api--without-side (name)
  "Return NAME, of a diff's header, without a leading \"a/\" or \"b/\" of git's."
  (if (and (string-match "\\`[ab]/\\(.+\\)" name)
           (not (file-directory-p (substring name 0 1))))
      (match-string 1 name)
    name))

(defun agent-q-diff-api--diff-notes (path diff)
  "Return what one must know of DIFF, for the file PATH, beside its hunks."
  (append (agent-q-diff-api--names-note path diff)
          (agent-q-diff-api-undone-notes diff)))

(defconst agent-q-diff-api--undone-regexp
  (rx bol (or (seq (or "rename from" "rename to" "copy from" "copy to" "old mode"
                       "new mode" "new file mode" "deleted file mode")
                   " " (+ nonl))
              "+++ /dev/null"))
  "What matches a line above hunks that asks for more than other lines.")

(defun agent-q-diff-api-undone-notes (diff)
  "Return a list with a note of what DIFF asks for and no review does, or nil.
That is to rename, copy or delete a file, to create an empty one, and to
change a mode."
  (let ((undone (mapcan #'agent-q-diff-api--undone (split-string diff "^diff --git " t))))
    (when undone
      (list (format "Only lines are changed; left out: %s"
                    (string-join undone "; "))))))

(defun agent-q-diff-api--undone (section)
  "Return what SECTION, the diff of one file, asks for beside its hunks.
It is a list of strings.  The first line of SECTION is what git puts
there, both names."
  (let ((start 0)
        (has-hunks (string-match-p "^@@ " section))
        lines)
    (while (string-match agent-q-diff-api--undone-regexp section start)
      (setq start (match-end 0))
      (push (match-string 0 section) lines))
    (when has-hunks
      (setq lines (delete "new file mode 100644" lines)))
    (when lines
      (list (format "%s (%s)" (string-join (nreverse lines) ", ")
                    (substring section 0 (string-search "\n" section)))))))

(defun agent-q-diff-api--names-note (path diff)
  "Return a list with a warning if DIFF names another file than PATH.
A diff often names its file from another directory, so that the last part
counts; what is wrong with DIFF itself is said elsewhere."
  (let ((names (pcase (ignore-error agent-q-diff-error
                        (agent-q-diff-engine-files diff))
                 (`((,old ,new ,_)) (remove "/dev/null" (delq nil (list old new)))))))
    (when (and names
               (not (seq-some (lambda (name)
                                (equal (file-name-nondirectory name)
                                       (file-name-nondirectory path)))
                              names)))
      (list (format "The diff names another file: %s" (car (last names)))))))

(defun agent-q-diff-api--outside-notes (old new)
  "Return a list with a warning if the file of OLD and NEW is elsewhere."
  (let ((name (agent-q-diff-api--named-file old new)))
    (unless (or (file-remote-p name)
                (file-in-directory-p (expand-file-name name) default-directory))
      (list (format "The file is OUTSIDE %s"
                    (abbreviate-file-name default-directory))))))

;;;; Deciding by program

(defun agent-q-diff-command (review command hunk &optional place)
  "Carry out COMMAND on HUNK of REVIEW, as its key would, and show that.
COMMAND is `accept', `reject', `toggle' or `unapply'; hunks are counted
from 0.  PLACE is for a hunk that is ambiguous: the line of the file, from
0, where its lines begin, one of the :places in a result or the first
elements of `agent-q-diff-module-candidates'.

Return what it came to: `edited', `marked', `unchanged', `already-in',
`stays-in' or `already-out'.  Signal an error that says why if it cannot
be done: `agent-q-diff-ambiguous' if a place has to be named,
`agent-q-diff-not-found' if HUNK is not at PLACE."
  (with-current-buffer (agent-q-diff-api--buffer-of review)
    (let ((note (agent-q-diff-decide-hunk (agent-q-diff-signs-change-with-target)
                                          command hunk place)))
      (agent-q-diff-signs-show-committed)
      note)))

(defun agent-q-diff-accept (review hunk &optional place)
  "Accept HUNK of REVIEW, at PLACE if it is ambiguous.
Arguments, errors and value are those of `agent-q-diff-command'."
  (agent-q-diff-command review 'accept hunk place))

(defun agent-q-diff-reject (review hunk)
  "Reject HUNK of REVIEW, as `agent-q-diff-command' does."
  (agent-q-diff-command review 'reject hunk))

(defun agent-q-diff-unapply (review hunk)
  "Take HUNK of REVIEW out, as `agent-q-diff-command' does."
  (agent-q-diff-command review 'unapply hunk))

(defun agent-q-diff-end (review)
  "Finish REVIEW, as the key does: decide by the mark of each hunk."
  (with-current-buffer (agent-q-diff-api--buffer-of review)
    (setf (agent-q-diff-session-is-by-program review) t)
    (unwind-protect
        (agent-q-diff-finish)
      ;; Something may have kept it from ending.
      (unless (agent-q-diff-session-outcome review)
        (setf (agent-q-diff-session-is-by-program review) nil)))))

(defun agent-q-diff-api--buffer-of (review)
  "Return the diff buffer of REVIEW, or signal that it has ended."
  (let ((buffer (agent-q-diff-session-buffer review)))
    (if (and (buffer-live-p buffer) (not (agent-q-diff-session-outcome review)))
        buffer
      (signal 'agent-q-diff-ended '("the review has ended")))))

(provide 'agent-q-diff-api)
;;; agent-q-diff-api.el ends here
