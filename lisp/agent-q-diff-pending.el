;;; agent-q-diff-pending.el --- Reviews what was written already  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Whatever an agent wrote into a project, by its tools or a shell, can be
;; decided afterwards, hunk by hunk.  The engine knows of each file what the
;; user has reviewed; what differs from that is pending.  Keeping a hunk makes
;; its lines reviewed, taking it out puts the reviewed lines into the file.
;;
;; What the user saves in Emacs is reviewed by that, except where it touches
;; what is pending.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-api)
(require 'agent-q-diff-waiting)
(require 'agent-q-diff-reviewed)

(declare-function project-root "project" (project))

;;;; Options

(defcustom agent-q-diff-stage-kept nil
  "Whether what you keep of what was written already is put into git's index.
These are exactly the lines of the hunk, so that Magit shows them as staged;
what makes the hunk pending again takes them out of the index.  Your own
filters run on what is staged, as in `git add'.  If nil,
\\<agent-q-diff-mode-map>\\[agent-q-diff-stage] in the diff buffer stages what you have kept."
  :group 'agent-q-diff-review
  :type 'boolean)

(defcustom agent-q-diff-staged-is-reviewed t
  "Whether what you put into git's index is reviewed by that.
It is what was staged while no agent was in a turn, in a project where turns
of agents are known, or by Magit in this Emacs.  What you take out of the index
stays reviewed."
  :group 'agent-q-diff-review
  :type 'boolean)

;;;; What is pending

(cl-defstruct (agent-q-diff-pending-file (:type vector) (:constructor nil) (:copier nil))
  "A file in `agent-q-diff-module-pending'."
  path mode text new-mode new-text authors lines)

(defun agent-q-diff-pending--look (directory &optional by turn)
  "Return what is pending in the project of DIRECTORY.
That is (ROOT TEXTS FILES LEFT-OUT).  See `agent-q-diff-module-pending', also
for BY.  In the authors of FILES, the agents of turns have their names.  If
TURN is the number of a turn, FILES are those in which its agent has written."
  ;; What an Emacs left that was killed while it wrote is nobody's new file.
  (agent-q-diff-file-clean-up)
  (agent-q-diff-engine-call #'agent-q-diff-module-keep-staged
                             (expand-file-name directory) agent-q-diff-staged-is-reviewed)
  (pcase-let ((`[,root ,texts ,files ,left-out ,turns]
               (agent-q-diff-engine-call #'agent-q-diff-module-pending
                                          (expand-file-name directory) by)))
    (when-let ((paths (and agent-q-diff-outside-is-reviewed turns
                           (mapcar #'agent-q-diff-pending-file-path
                                   (seq-filter (lambda (file)
                                                 (equal '(outside)
                                                        (agent-q-diff-pending-file-authors file)))
                                               files)))))
      (agent-q-diff-engine-call #'agent-q-diff-module-mark-reviewed root paths)
      (setq files (seq-remove (lambda (file)
                                (member (agent-q-diff-pending-file-path file) paths))
                              files)))
    (when turn
      (setq files (seq-filter (lambda (file)
                                (memql turn (agent-q-diff-pending-file-authors file)))
                              files)))
    (dolist (file files)
      (cl-callf agent-q-diff-pending--names (agent-q-diff-pending-file-authors file) turns)
      (cl-callf2 mapcar (pcase-lambda (`[,start ,end ,authors])
                          (list start end (agent-q-diff-pending--names authors turns)))
                 (agent-q-diff-pending-file-lines file)))
    (list (file-name-as-directory root) texts files left-out)))

(defun agent-q-diff-pending--names (who turns)
  "Return WHO, a list of authors, in which agents have their names.
WHO and TURNS are as in `agent-q-diff-module-pending'."
  (seq-uniq
   (mapcar (lambda (author)
             (cond
              ((integerp author)
               (if-let ((turn (seq-find (lambda (turn) (eql author (aref turn 0))) turns)))
                   (aref turn 1)
                 "an agent"))
              ;; Where no turn is known, nothing is outside one.
              ((and (eq author 'outside) (null turns)) 'somebody)
              (t author)))
           who)))

(defun agent-q-diff-pending-bytes (texts name)
  "Return the bytes of the text with NAME in the folder TEXTS; \"\" if NAME is nil."
  (if name
      (agent-q-diff-file-bytes (expand-file-name name texts))
    ""))

;;;; A change of what is pending

(defun agent-q-diff-pending-decoded (bytes path)
  "Return BYTES of the file PATH, decoded as when it is visited."
  (car (agent-q-diff-coding-decode-bytes path bytes)))

(defun agent-q-diff-pending-text-p (bytes)
  "Return non-nil if BYTES are text, which can be decided by the hunk."
  (not (string-search "\0" bytes)))

(defun agent-q-diff-pending--lines (path bytes new-bytes)
  "Return the change of the lines of the file PATH from BYTES to NEW-BYTES.
If they are no text, or cannot be shown as lines that differ, return nil: then
they are decided as a whole."
  (and (agent-q-diff-pending-text-p bytes)
       (agent-q-diff-pending-text-p new-bytes)
       (ignore-error (agent-q-diff-identical agent-q-diff-bad-target)
         (agent-q-diff-file-change-open-later
          path
          (agent-q-diff-pending-decoded bytes path)
          (agent-q-diff-pending-decoded new-bytes path)
          nil 'is-written))))

(defun agent-q-diff-pending--file (root texts file)
  "Return the change of FILE, an `agent-q-diff-pending-file'.
It is made already.  ROOT and TEXTS are as from `agent-q-diff-pending--look'."
  (let* ((path (expand-file-name (agent-q-diff-pending-file-path file) root))
         (mode (agent-q-diff-pending-file-mode file))
         (new-mode (agent-q-diff-pending-file-new-mode file))
         (bytes (agent-q-diff-pending-bytes texts (agent-q-diff-pending-file-text file)))
         (new-bytes (agent-q-diff-pending-bytes texts
                                                 (agent-q-diff-pending-file-new-text file)))
         (is-link (memq agent-q-diff-reviewed-link (list mode new-mode)))
         (lines (and (not is-link)
                     (/= 0 new-mode)
                     (not (equal bytes new-bytes))
                     (agent-q-diff-pending--lines path bytes new-bytes)))
         (change (or lines (agent-q-diff-file-change-without-text path))))
    (setf (agent-q-diff-file-change-old-path change) (and (/= 0 mode) path)
          (agent-q-diff-file-change-new-path change) (and (/= 0 new-mode) path)
          (agent-q-diff-file-change-is-created change) (= 0 mode)
          (agent-q-diff-file-change-operations change)
          (cond
           (is-link
            (list (list 'link
                        (and (= mode agent-q-diff-reviewed-link)
                             (decode-coding-string bytes 'utf-8))
                        (and (= new-mode agent-q-diff-reviewed-link)
                             (decode-coding-string new-bytes 'utf-8)))))
           ((= 0 mode) (list (append (list 'create (logand new-mode #o777))
                                     (and (null lines) (list new-bytes)))))
           ((= 0 new-mode) (list (list 'delete bytes)))
           (t (append
               (and (/= mode new-mode)
                    (list (list 'mode (logand mode #o777) (logand new-mode #o777))))
               (and (null lines)
                    (not (equal bytes new-bytes))
                    (list (list 'binary bytes new-bytes)))))))
    change))

(defun agent-q-diff-pending--change (root texts files)
  "Return a change of FILES, which is made already, and record what is decided.
ROOT, TEXTS and FILES are as from `agent-q-diff-pending--look'."
  (let ((changes nil)
        (is-done nil))
    (unwind-protect
        (progn
          (agent-q-diff-visit-resolving-once
            (dolist (file files)
              (push (agent-q-diff-pending--file root texts file) changes)))
          (setq changes (nreverse changes))
          (let* ((known (mapcar (lambda (file)
                                  (cons (expand-file-name
                                         (agent-q-diff-pending-file-path file) root)
                                        file))
                                files))
                 (recorded (make-hash-table :test #'eq))
                 (staged (make-hash-table :test #'eq))
                 (change (agent-q-diff-change-join changes)))
            (agent-q-diff-change-begin-written
             change
             (agent-q-diff-pending--written
              root
              (mapcar (pcase-lambda (`(,name . ,file))
                        (cons name (cons (agent-q-diff-pending-file-authors file)
                                         (agent-q-diff-pending-file-lines file))))
                      known)
              (lambda (change decided)
                (let ((made (mapcar
                             (lambda (one)
                               (agent-q-diff-pending--record
                                root texts change one
                                ;; By name: when a review is looked at again, its
                                ;; files are new.
                                (cdr (assoc (or (agent-q-diff-file-change-new-path one)
                                                (agent-q-diff-file-change-old-path one))
                                            known))
                                recorded))
                             decided)))
                  (agent-q-diff-pending--note-to-stage made staged)
                  (when (and agent-q-diff-stage-kept
                             (file-exists-p (expand-file-name ".git" root)))
                    (agent-q-diff-pending--stage-made root made staged))))
              (lambda ()
                (agent-q-diff-pending--stage-all root recorded staged))))
            (setq is-done t)
            change))
      (unless is-done
        (mapc #'agent-q-diff-file-change-close changes)))))

(defun agent-q-diff-pending--written (root written-by after stage)
  "Return an `agent-q-diff-written' by which what is taken out is stored.
The files are in the project at ROOT.  WRITTEN-BY and STAGE are its slots.
AFTER is called after a decision, with the change and the files that were
decided."
  (let ((stored nil)
        (unsaved nil))
    (agent-q-diff-written-create
     :root root
     :written-by written-by
     :stage stage
     :at-work (lambda ()
                (agent-q-diff-engine-call #'agent-q-diff-module-at-work root))
     :before (lambda (files)
               (setq stored (mapcar #'agent-q-diff-file-change-path files)
                     unsaved (delq nil (mapcar #'agent-q-diff-reviewed-unsaved stored)))
               (agent-q-diff-reviewed-note-taking-out root stored))
     :after (lambda (change decided)
              (agent-q-diff-reviewed-note-left root stored)
              (mapc (apply-partially #'agent-q-diff-reviewed-note-saved root) unsaved)
              (funcall after change decided)
              (agent-q-diff-reviewed-note-hooked root stored)
              (setq stored nil
                    unsaved nil)))))

;;;; What was reviewed

(defun agent-q-diff-pending--record (root texts change file pending known)
  "Record what was reviewed of FILE of CHANGE, after a decision on it.
PENDING is the `agent-q-diff-pending-file' that it was made of, in the
project at ROOT; TEXTS is the folder of its texts.  KNOWN is a table from such
to what was recorded last, (MODE . BYTES).  Return (PENDING BEFORE AFTER): what
was reviewed until then and is now, in that form."
  (let* ((before (gethash pending known))
         (after (agent-q-diff-pending--reviewed texts change file pending)))
    (unless before
      (setq before (agent-q-diff-pending--reviewed texts change file pending 'is-before)))
    (agent-q-diff-engine-call #'agent-q-diff-module-note-reviewed
                               root (agent-q-diff-pending-file-path pending)
                               (car before) (cdr before) (car after) (cdr after))
    (puthash pending after known)
    (list pending before after)))

(defun agent-q-diff-pending--reviewed (texts change file pending &optional is-before)
  "Return what was reviewed of FILE of CHANGE, (MODE . BYTES).
If IS-BEFORE is non-nil, that was before anything was decided.  TEXTS and
PENDING are as for `agent-q-diff-pending--record'."
  (let* ((index (seq-position (agent-q-diff-change-files change) file #'eq))
         (engine (agent-q-diff-change-engine change))
         (operations (agent-q-diff-file-change-decided-operations file))
         (marks (seq-drop (agent-q-diff-module-marks engine)
                          (aref (agent-q-diff-change-first-hunks change) index)))
         (kept (cl-loop for operation in operations
                        for mark in marks
                        when (and (eq mark 'applied) (not is-before))
                        collect (car operation)))
         (bytes (if (agent-q-diff-file-change-has-text file)
                    (agent-q-diff-pending--encoded
                     (agent-q-diff-engine-call #'agent-q-diff-module-reviewed
                                                engine index is-before)
                     file)
                  (agent-q-diff-pending-bytes
                   texts (if (seq-intersection kept '(create link binary))
                             (agent-q-diff-pending-file-new-text pending)
                           (agent-q-diff-pending-file-text pending)))))
         (is-implied (and (null operations)
                          (agent-q-diff-file-change-operations file)
                          (not (string-empty-p bytes)))))
    (cons (if (or is-implied (seq-intersection kept '(create delete mode link)))
              (agent-q-diff-pending-file-new-mode pending)
            (agent-q-diff-pending-file-mode pending))
          bytes)))

(defun agent-q-diff-pending--encoded (text file)
  "Return TEXT as the bytes that it has in FILE, an `agent-q-diff-file-change'."
  (let* ((buffer (agent-q-diff-file-change-buffer file))
         (coding (if (buffer-live-p buffer)
                     (with-current-buffer buffer
                       (agent-q-diff-coding-of-buffer))
                   'utf-8-emacs-unix)))
    (encode-coding-string (agent-q-diff-engine-text text) coding)))

;;;; Staging what is kept

(defun agent-q-diff-pending--note-to-stage (made staged)
  "Note in STAGED that of the files in MADE nothing of this review is staged yet.
MADE is a list of values of `agent-q-diff-pending--record'.  STAGED is a table
from files to what was reviewed of them, (MODE . BYTES), when all that was kept
of them was staged."
  (pcase-dolist (`(,pending ,before ,_) made)
    (unless (gethash pending staged)
      (puthash pending before staged))))

(defun agent-q-diff-pending--stage (root pending before after)
  "Make the change from BEFORE to AFTER to PENDING in git's index.
PENDING is an `agent-q-diff-pending-file' of the project at ROOT, the others
are (MODE . BYTES).  Return nil, or, if the change cannot be made, a sentence
that says why."
  (condition-case err
      (ignore (agent-q-diff-engine-call #'agent-q-diff-module-stage
                                        root (agent-q-diff-pending-file-path pending)
                                        (car before) (cdr before) (car after) (cdr after)))
    (agent-q-diff-error (agent-q-diff-visible (agent-q-diff-error-text err)))))

(defun agent-q-diff-pending--stage-made (root made staged)
  "Stage the decisions MADE in the project at ROOT, and warn of what cannot be.
MADE and STAGED are as for `agent-q-diff-pending--note-to-stage'."
  (when-let ((failed (cl-loop for (pending before after) in made
                              for why = (agent-q-diff-pending--stage
                                         root pending before after)
                              if why collect why
                              else if (equal before (gethash pending staged))
                              do (puthash pending after staged))))
    (agent-q-diff-base-warn
     (format "The decision is recorded, but %s" (string-join failed "; ")))))

(defun agent-q-diff-pending--stage-all (root known staged)
  "Stage what is kept in the project at ROOT; return what slot `stage' describes.
That is the slot of `agent-q-diff-written'.  KNOWN is as for
`agent-q-diff-pending--record', and STAGED as for
`agent-q-diff-pending--note-to-stage'."
  (let ((n 0)
        (failed '()))
    (maphash (lambda (pending after)
               (let ((before (gethash pending staged)))
                 (unless (equal before after)
                   (if-let ((why (agent-q-diff-pending--stage root pending before after)))
                       (push why failed)
                     (puthash pending after staged)
                     (cl-incf n)))))
             known)
    (cons n (nreverse failed))))

;;;; Projects that are looked at

(cl-defstruct (agent-q-diff-pending-project (:constructor agent-q-diff-pending--project)
                                            (:copier nil))
  "What was pending in a project when it was looked at last."
  (texts nil :documentation "The folder of the texts.")
  (files nil :documentation "What was pending, a list of `agent-q-diff-pending-file'.")
  (n-hunks nil :documentation "Table from members of `files' to their number of hunks.
It has those whose hunks were counted.  A file has the names of its texts, so
the number of one that has not changed is still right.")
  (amount nil :documentation "How much that is; see `agent-q-diff-pending-amount'.")
  (time nil :documentation "When that was."))

(defvar agent-q-diff-pending--projects (make-hash-table :test #'equal)
  "Table from the roots of projects to their `agent-q-diff-pending-project'.")

(defun agent-q-diff-pending-known (root)
  "Return the `agent-q-diff-pending-project' at ROOT.
Return nil if it was not looked at."
  (gethash root agent-q-diff-pending--projects))

;;;; The number of hunks

(defun agent-q-diff-pending--n-hunks (root texts file)
  "Return the number of hunks that FILE has in a review; at least 1.
FILE is an `agent-q-diff-pending-file'.  ROOT and TEXTS are as from
`agent-q-diff-pending--look'.  What is decided as a whole is one hunk."
  (let ((mode (agent-q-diff-pending-file-mode file))
        (new-mode (agent-q-diff-pending-file-new-mode file))
        (text (agent-q-diff-pending-file-text file))
        (new-text (agent-q-diff-pending-file-new-text file)))
    (if (or (= 0 new-mode)
            (memq agent-q-diff-reviewed-link (list mode new-mode)))
        1
      (+ (if (memq mode (list 0 new-mode)) 0 1)
         (cond
          ((equal text new-text) 0)
          (t (agent-q-diff-pending--n-text-hunks
              (expand-file-name (agent-q-diff-pending-file-path file) root)
              (agent-q-diff-pending-bytes texts text)
              (agent-q-diff-pending-bytes texts new-text))))))))

(defun agent-q-diff-pending--n-text-hunks (path bytes new-bytes)
  "Return the number of hunks from BYTES to NEW-BYTES of the file PATH."
  (or (agent-q-diff-pending-compare
       path bytes new-bytes
       (lambda (engine)
         (length (agent-q-diff-module-marks engine))))
      1))

(defun agent-q-diff-pending-compare (path bytes new-bytes use)
  "Compare BYTES of the file PATH with NEW-BYTES, and call USE with a review.
It is one of the engine, and is freed after that.  Return the value of USE, or
nil without calling it if the bytes are not text, or differ only in how it is
encoded."
  (and (agent-q-diff-pending-text-p bytes)
       (agent-q-diff-pending-text-p new-bytes)
       (agent-q-diff-base-collecting-once
         (ignore-error agent-q-diff-identical
           (let ((engine (agent-q-diff-engine-review
                          (agent-q-diff-pending-decoded bytes path)
                          (agent-q-diff-pending-decoded new-bytes path))))
             (unwind-protect
                 (funcall use engine)
               (agent-q-diff-module-free engine)))))))

(defun agent-q-diff-pending--count-hunks (root)
  "Count the hunks that are pending in the project at ROOT, until there is input.
Return non-nil if that is done."
  (let* ((project (agent-q-diff-pending-known root))
         (n-hunks (agent-q-diff-pending-project-n-hunks project))
         (files (seq-remove (lambda (file)
                              (gethash file n-hunks))
                            (agent-q-diff-pending-project-files project))))
    (while (and files (not (input-pending-p)))
      (let* ((file (pop files))
             ;; Another Emacs may have removed its texts.
             (n (ignore-errors
                  (agent-q-diff-pending--n-hunks
                   root (agent-q-diff-pending-project-texts project) file))))
        (when n
          (puthash file n n-hunks))))
    (agent-q-diff-pending--sum-up project)
    (null files)))

(defun agent-q-diff-pending-amount (root)
  "Return how much is pending in the project at ROOT, as \"3 files, 12 hunks\".
Return nil if nothing is known to be.  Until the hunks are counted, only the
files are named."
  (let ((project (agent-q-diff-pending-known root)))
    (and project (agent-q-diff-pending-project-amount project))))

(defun agent-q-diff-pending--sum-up (project)
  "Compute the amount of PROJECT, for which the mode line asks at each redisplay."
  (let* ((files (agent-q-diff-pending-project-files project))
         (n-files (length files))
         (counts (mapcar (lambda (file)
                           (gethash file (agent-q-diff-pending-project-n-hunks project)))
                         files)))
    (setf (agent-q-diff-pending-project-amount project)
          (and files
               (concat (format (ngettext "%d file" "%d files" n-files) n-files)
                       (unless (memq nil counts)
                         (let ((n (apply #'+ counts)))
                           (format (ngettext ", %d hunk" ", %d hunks" n) n))))))))

;;;; How much is pending

(defvar agent-q-diff-pending--timer nil
  "Timer that counts what is pending, or nil.")

(defvar agent-q-diff-pending--to-count nil
  "Roots of the projects that the timer is for.")

(defvar agent-q-diff-pending-counted-functions nil
  "Functions to call with the root of a project when it was counted.
They are called when Emacs is idle.")

(defvar agent-q-diff-pending--least-seconds 5
  "Seconds between two looks at a project that nobody asked for.")

(defun agent-q-diff-pending-count-soon (root)
  "Count what is pending in the project at ROOT when Emacs is next idle."
  (cl-pushnew root agent-q-diff-pending--to-count :test #'equal)
  (unless agent-q-diff-pending--timer
    (agent-q-diff-pending--count-when-idle)))

(defun agent-q-diff-pending--count-when-idle ()
  "Call `agent-q-diff-pending--count-all' when Emacs is next idle."
  (setq agent-q-diff-pending--timer
        (run-with-idle-timer 1 nil #'agent-q-diff-pending--count-all)))

(defun agent-q-diff-pending--count-all ()
  "Count what is pending in the projects for which that was asked.
What remains to be counted is counted a little later."
  (setq agent-q-diff-pending--timer nil
        agent-q-diff-pending--to-count
        (seq-remove #'agent-q-diff-pending--count agent-q-diff-pending--to-count))
  (when agent-q-diff-pending--to-count
    (setq agent-q-diff-pending--timer
          (run-with-timer agent-q-diff-pending--least-seconds nil
                          #'agent-q-diff-pending--count-when-idle))))

(defun agent-q-diff-pending--count (root)
  "Count what is pending in the project at ROOT; return non-nil if that is done.
It is not if there is input, or if the last look was just now: then only the
hunks are counted that it found."
  (let* ((known (agent-q-diff-pending-known root))
         (is-new (and known (agent-q-diff-pending--recent-p known))))
    (or (null (agent-q-diff-pending-recent root))
        (prog1 (and (agent-q-diff-pending--count-hunks root)
                    (not is-new))
          (run-hook-with-args 'agent-q-diff-pending-counted-functions root)
          (force-mode-line-update t)))))

(defun agent-q-diff-pending-recent (root &optional is-anew)
  "Return the `agent-q-diff-pending-project' at ROOT, after a look if need be.
If IS-ANEW is non-nil, look in any case.  Return nil if no look succeeded."
  (let ((known (agent-q-diff-pending-known root)))
    (unless (and known (not is-anew) (agent-q-diff-pending--recent-p known))
      (ignore-errors
        (agent-q-diff-pending--look-and-note root)))
    (agent-q-diff-pending-known root)))

(defun agent-q-diff-pending--recent-p (project)
  "Return non-nil if the last look at PROJECT was just now."
  (< (float-time (time-since (agent-q-diff-pending-project-time project)))
     agent-q-diff-pending--least-seconds))

(defun agent-q-diff-pending--look-and-note (directory &optional by turn)
  "Return what is pending in the project of DIRECTORY, and record it.
The value, BY and TURN are as for `agent-q-diff-pending--look'.  What is
pending of one TURN is not recorded, since it is not all."
  (let ((found (agent-q-diff-pending--look directory by turn)))
    (pcase-let ((`(,root ,texts ,files ,_) found))
      (unless turn
        (agent-q-diff-pending--note root texts files)))
    found))

(defun agent-q-diff-pending--note (root texts files)
  "Record that FILES are pending in the project at ROOT, and show how many.
TEXTS is the folder of their texts."
  (unless (agent-q-diff-pending-known root)
    ;; Buffers of its files can have it now.
    (cl-incf agent-q-diff-reviewed-n-projects))
  (let* ((known (agent-q-diff-pending-known root))
         (counted (and known (agent-q-diff-pending-project-n-hunks known)))
         (n-hunks (make-hash-table :test #'equal)))
    (when counted
      (dolist (file files)
        (when-let ((n (gethash file counted)))
          (puthash file n n-hunks))))
    (let ((project (agent-q-diff-pending--project
                    :texts texts :files files :n-hunks n-hunks :time (current-time))))
      (agent-q-diff-pending--sum-up project)
      (puthash root project agent-q-diff-pending--projects))
    (force-mode-line-update t)))

(defun agent-q-diff-pending--mode-line ()
  "Return text for the mode line: how much is pending in this project."
  (let* ((root (agent-q-diff-reviewed-root))
         (amount (and root (agent-q-diff-pending-amount root))))
    (if (null amount)
        ""
      (propertize (format " [%s unreviewed]" amount)
                  'face 'agent-q-diff-reviews
                  'help-echo "Written and not reviewed yet; M-x agent-q-diff-review-changes"))))
(put 'agent-q-diff-pending--mode-line 'risky-local-variable t)

(defconst agent-q-diff-pending--construct '(:eval (agent-q-diff-pending--mode-line))
  "What `agent-q-diff-pending-mode' adds to the mode line.")

(defun agent-q-diff-pending--look-here ()
  "Count what is pending in the project of this buffer, if that is known."
  (when-let ((root (agent-q-diff-reviewed-root)))
    (agent-q-diff-pending-count-soon root)))

(defun agent-q-diff-pending--focus ()
  "Count what is pending when a frame gets the focus."
  (with-current-buffer (window-buffer)
    (agent-q-diff-pending--look-here)))

(defconst agent-q-diff-pending--hooks
  '((before-save-hook . agent-q-diff-reviewed-before-save)
    (after-save-hook . agent-q-diff-reviewed-after-save)
    (agent-q-diff-reviewed-noted-functions . agent-q-diff-pending-count-soon)
    (find-file-hook . agent-q-diff-pending--look-here)
    (after-revert-hook . agent-q-diff-pending--look-here))
  "Alist from hooks to the functions that `agent-q-diff-pending-mode' puts there.")

;;;###autoload
(define-minor-mode agent-q-diff-pending-mode
  "Take what you save as reviewed, and count what is not in the mode line.
That is for projects for which `agent-q-diff-review-changes' was called, in
this Emacs or an earlier one.  That command turns this mode on."
  :global t
  :group 'agent-q-diff
  (let ((change (if agent-q-diff-pending-mode #'add-hook #'remove-hook)))
    (pcase-dolist (`(,hook . ,function) agent-q-diff-pending--hooks)
      (funcall change hook function)))
  (setq agent-q-diff-file-watch-function
        (and agent-q-diff-pending-mode #'agent-q-diff-reviewed-watch))
  (remove-function after-focus-change-function #'agent-q-diff-pending--focus)
  (setq-default mode-line-misc-info (remove agent-q-diff-pending--construct
                                            (default-value 'mode-line-misc-info)))
  (if agent-q-diff-pending-mode
      (progn
        (add-function :after after-focus-change-function #'agent-q-diff-pending--focus)
        (setq-default mode-line-misc-info
                      (append (default-value 'mode-line-misc-info)
                              (list agent-q-diff-pending--construct))))
    (when agent-q-diff-pending--timer
      (cancel-timer agent-q-diff-pending--timer))
    (setq agent-q-diff-pending--timer nil
          agent-q-diff-pending--to-count nil)))

;;;; Commands

(defconst agent-q-diff-pending--n-commits 5
  "Number of commits that are named in the question whether they are the user's.")

(defun agent-q-diff-pending--who-moved (directory)
  "Return who has moved HEAD of the repository of DIRECTORY, `user' or `agent'.
If nobody knows, ask; if it has not moved since the last look, return nil."
  (when-let ((commits (agent-q-diff-engine-call #'agent-q-diff-module-moved
                                                directory agent-q-diff-pending--n-commits)))
    (if (y-or-n-p
         (if (listp commits)
             (format "Since the last look, HEAD has got %s.  Yours, and so reviewed? "
                     (mapconcat #'agent-q-diff-visible commits "; "))
           "Since the last look, HEAD has moved back.  By you? "))
        'user
      'agent)))

(defun agent-q-diff-pending--left-out-note (left-out)
  "Return a sentence about LEFT-OUT, which was not looked at, or nil."
  (let* ((not-text (seq-remove #'cdr left-out))
         (named (mapcar (pcase-lambda (`(,path . ,n))
                          (format (pcase n
                                    ('nil "%s (no text)")
                                    (0 "%s (a repository of its own)")
                                    (1 "%s (over 8 MB)")
                                    (_ "%s (%d new files)"))
                                  (agent-q-diff-visible path) n))
                        (if (cdddr not-text)
                            (seq-filter #'cdr left-out)
                          left-out))))
    (when (cdddr not-text)
      (setq named (append named
                          (list (format "%d files that are no text, such as %s"
                                        (length not-text)
                                        (agent-q-diff-visible (caar not-text)))))))
    (and named
         (format "Not looked at: %s" (string-join named ", ")))))

(defun agent-q-diff-pending--authors-note (files)
  "Return a sentence about who wrote what is pending in FILES, or nil.
In several files, the heading of each says that."
  (let ((authors (seq-uniq (mapcan (lambda (file)
                                     (copy-sequence (agent-q-diff-pending-file-authors file)))
                                   files))))
    (cond
     ((equal authors '(unknown))
      "Everything since HEAD, yours included; M-x agent-q-diff-mark-reviewed keeps all.")
     ((and files (null (cdr files)) (null (cdr authors)))
      (pcase (car authors)
        ('outside "Written outside any turn of an agent.")
        ((and agent (pred stringp)) (format "Written by %s." (agent-q-diff-visible agent))))))))

(defun agent-q-diff-pending--directory (directory)
  "Return DIRECTORY, by default the current one, as an absolute directory name."
  (file-name-as-directory (expand-file-name (or directory default-directory))))

(defun agent-q-diff-pending--begin-if-asked (directory)
  "If DIRECTORY is in no project, ask whether one without git begins there.
It is the project that `project-current' knows, or else DIRECTORY itself.  If
the answer is no, signal an error."
  (condition-case nil
      (agent-q-diff-engine-call #'agent-q-diff-module-at-work directory)
    (agent-q-diff-no-repository
     (pcase-let* ((project (project-current nil directory))
                  (folder (expand-file-name (if project (project-root project) directory)))
                  (`(,root . ,n) (agent-q-diff-engine-call #'agent-q-diff-module-new-project
                                                           folder))
                  (name (agent-q-diff-visible
                         (abbreviate-file-name (file-name-as-directory root)))))
       (unless (y-or-n-p
                (format "There is no git repository here.  Take %s in %s as reviewed, \
and show what changes from now on? "
                        (format (ngettext "the %d file" "the %d files" n) n)
                        name))
         (user-error "Nothing is reviewed in %s" name))
       (agent-q-diff-engine-call #'agent-q-diff-module-begin-project root)))))

(defun agent-q-diff-pending--read-turn (directory)
  "Read a turn in the project of DIRECTORY of which something is pending.
Return its number."
  (pcase-let* ((`[,_ ,_ ,files ,_ ,turns]
                (agent-q-diff-engine-call #'agent-q-diff-module-pending directory nil))
               (pending (mapcan (lambda (file)
                                  (copy-sequence (agent-q-diff-pending-file-authors file)))
                                files))
               (choices (cl-loop for turn in (reverse turns)
                                 for id = (aref turn 0)
                                 when (memql id pending)
                                 collect (cons (agent-q-diff-visible
                                                (string-join
                                                 (remove "" (list (aref turn 1)
                                                                  (format-time-string
                                                                   "%F %T" (aref turn 3))
                                                                  (aref turn 2)))
                                                 ", "))
                                               id))))
    (unless choices
      (user-error "Nothing that an agent wrote in a turn is pending here"))
    (cdr (assoc (completing-read "Review the turn: "
                                 (lambda (string predicate action)
                                   (if (eq action 'metadata)
                                       ;; The latest first.
                                       '(metadata (display-sort-function . identity))
                                     (complete-with-action action choices string predicate)))
                                 nil t nil nil (caar choices))
                choices))))

(defun agent-q-diff-pending-open-review (root)
  "Return the open review of what is pending in the project at ROOT, or nil."
  (seq-find (lambda (review)
              (when-let ((written (agent-q-diff-change-written
                                   (agent-q-diff-session-change review))))
                (equal root (agent-q-diff-written-root written))))
            (agent-q-diff-open-reviews)))

(defun agent-q-diff-pending-begin (directory by &optional callback awaited-p turn)
  "Begin a review of what is pending in the project of DIRECTORY.
BY is who has moved its HEAD, as for `agent-q-diff-module-pending'.  CALLBACK
is called with the result when the review ends, and AWAITED-P tells whether
somebody still waits for that.  TURN is the number of the turn that is meant,
or nil for all.  Return (ROOT REVIEW NOTES); REVIEW is nil if nothing is
pending.  NOTES are sentences for the user.

If there is a review already that nobody waits for, the new one takes its
place, so that what was written since is in it.  What the user had noted of
hunks, in that review or an earlier one, is in the new one as well."
  (pcase-let* ((`(,root ,texts ,files ,left-out)
                (agent-q-diff-pending--look-and-note directory by turn))
               (notes (delq nil (list (agent-q-diff-pending--left-out-note left-out)
                                      (agent-q-diff-pending--authors-note files))))
               (open (agent-q-diff-pending-open-review root)))
    (agent-q-diff-pending-mode)
    (agent-q-diff-pending-count-soon root)
    (list root
          (cond
           ((and open (funcall (agent-q-diff-written-awaited-p
                                (agent-q-diff-change-written
                                 (agent-q-diff-session-change open)))))
            (setq notes (list "a program waits for this review; what is new comes after it"))
            (when callback
              (add-function :after (agent-q-diff-session-callback open) callback))
            open)
           (t
            (when open
              (with-current-buffer (agent-q-diff-session-buffer open)
                (agent-q-diff-waiting-note))
              (agent-q-diff-end open))
            (when files
              (let* ((default-directory root)
                     (review (agent-q-diff-api-start
                              root
                              (lambda (result)
                                (agent-q-diff-pending-count-soon root)
                                (when (and awaited-p (funcall awaited-p))
                                  (agent-q-diff-waiting-comments-told root))
                                (when callback
                                  (funcall callback result)))
                              nil nil nil "" #'agent-q-diff-mode notes
                              (lambda ()
                                (agent-q-diff-pending--change root texts files)))))
                (unless (agent-q-diff-session-outcome review)
                  (when awaited-p
                    (setf (agent-q-diff-written-awaited-p
                           (agent-q-diff-change-written (agent-q-diff-session-change review)))
                          awaited-p))
                  (with-current-buffer (agent-q-diff-session-buffer review)
                    (mapc #'agent-q-diff-base-warn (agent-q-diff-waiting-restore))))
                review))))
          notes)))

(defun agent-q-diff-pending-review-words (review)
  "Return how much REVIEW is of, such as \"12 hunks in 3 files are\"."
  (let* ((change (agent-q-diff-session-change review))
         (n-files (length (agent-q-diff-change-files change)))
         (n (car (agent-q-diff-change-tally change))))
    (format (ngettext "%d hunk in %s is" "%d hunks in %s are" n)
            n (format (ngettext "%d file" "%d files" n-files) n-files))))

;;;###autoload
(defun agent-q-diff-review-changes (&optional directory turn)
  "Review what was written into the project of DIRECTORY and not reviewed yet.
DIRECTORY is by default the current one.  The changes are in the files
already, whoever made them: keeping a hunk makes its lines reviewed, so that
they are not shown again, and rejecting one takes it out of its file.  What is
not decided stays in the files, and pending.

Until the first look at a project, what is in HEAD of its git repository was
reviewed.  What you save in Emacs from then on is reviewed as well.

Where there is no git repository, ask whether what the files of the project
hold now counts as reviewed; programs get an error.

TURN is the number of a turn of an agent, which is asked for with a prefix
argument: then only files are shown in which that agent has written in that
turn."
  (interactive
   ;; How `project-switch-project' says which project, since Emacs 29.
   (let* ((override (bound-and-true-p project-current-directory-override))
          (directory (agent-q-diff-pending--directory override)))
     (agent-q-diff-pending--begin-if-asked directory)
     (list override
           (and current-prefix-arg
                (agent-q-diff-pending--read-turn directory)))))
  (pcase-let* ((directory (agent-q-diff-pending--directory directory))
               (by (agent-q-diff-pending--who-moved directory))
               (agent-q-diff-call (agent-q-diff-call-with 'is-by-user t))
               (`(,root ,review ,notes) (agent-q-diff-pending-begin directory by nil nil turn)))
    (cond
     ((null review)
      (message "%s" (string-join
                     (cons (format "Nothing is pending in %s"
                                   (agent-q-diff-visible (abbreviate-file-name root)))
                           notes)
                     "; ")))
     ((agent-q-diff-session-outcome review)
      (message "%s" (agent-q-diff-visible
                     (plist-get (agent-q-diff-session-result review) :reason))))
     (t
      (pop-to-buffer (agent-q-diff-session-buffer review))
      (setq next-error-last-buffer (agent-q-diff-session-buffer review))
      (agent-q-diff-reviews-introduce review)))
    review))

;;;###autoload
(defun agent-q-diff-end-turns ()
  "Record that no agent is at work in the project of the current buffer any more.
An agent that was interrupted does not say so.  Rejections that wait for its end
are carried out then."
  (interactive)
  (let ((n (agent-q-diff-engine-call #'agent-q-diff-module-end-turns
                                     (agent-q-diff-pending--directory nil))))
    (message (if (= 0 n)
                 "No agent was at work"
               (format (ngettext "The turn of %d agent is over"
                                 "The turns of %d agents are over" n)
                       n)))))

;;;###autoload
(defun agent-q-diff-mark-reviewed (&optional file)
  "Record that the project of the current buffer was reviewed as it is.
If FILE is non-nil, interactively with a prefix argument, only the file of
this buffer is meant.  The files do not change."
  (interactive "P")
  (pcase-let* ((directory (agent-q-diff-pending--directory nil))
               (`(,root ,texts ,files ,_) (agent-q-diff-pending--look directory))
               (paths (mapcar #'agent-q-diff-pending-file-path files))
               (only (and file
                          (or (and buffer-file-name (agent-q-diff-reviewed-path root))
                              (user-error "This buffer visits no file of the project"))))
               (meant (if only (seq-intersection (list only) paths) paths)))
    (agent-q-diff-engine-call #'agent-q-diff-module-mark-reviewed directory meant)
    (agent-q-diff-pending-mode)
    (agent-q-diff-pending--note
     root texts (seq-remove (lambda (file)
                              (member (agent-q-diff-pending-file-path file) meant))
                            files))
    (agent-q-diff-pending-count-soon root)
    (if (null meant)
        (message "Nothing was pending")
      (message (ngettext "%d file is reviewed as it is" "%d files are reviewed as they are"
                         (length meant))
               (length meant)))))

(provide 'agent-q-diff-pending)
;;; agent-q-diff-pending.el ends here
