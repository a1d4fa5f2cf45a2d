;;; agent-q-diff-changes.el --- Reviews what was written already  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What is pending in a project, or all that differs from a commit, is decided
;; in one review, hunk by hunk.  Keeping a hunk makes its lines reviewed, taking
;; it out puts the reviewed lines into the file.  After each decision, what is
;; reviewed by it is recorded, and staged if that is wanted.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-message)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-policy)
(require 'agent-q-diff-api)
(require 'agent-q-diff-waiting)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-pending)
(require 'agent-q-diff-rounds)
(require 'agent-q-diff-told)
(require 'agent-q-diff-comments)

(declare-function vc-git-branches "vc-git" ())
(autoload 'vc-git-branches "vc-git")
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

;;;; A change that was written already

(defun agent-q-diff-changes--lines (path bytes new-bytes)
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

(defun agent-q-diff-changes--file (root texts file)
  "Return the change of FILE, an `agent-q-diff-pending-file'.
It is made already.  ROOT and TEXTS are as from `agent-q-diff-pending-look'."
  (let* ((path (agent-q-diff-file-named (agent-q-diff-pending-file-path file) root))
         (from (agent-q-diff-pending-file-from file))
         (mode (agent-q-diff-pending-file-mode file))
         (new-mode (agent-q-diff-pending-file-new-mode file))
         (bytes (agent-q-diff-pending-bytes texts (agent-q-diff-pending-file-text file)))
         (new-bytes (agent-q-diff-pending-bytes texts
                                                 (agent-q-diff-pending-file-new-text file)))
         (is-link (memq agent-q-diff-reviewed-link (list mode new-mode)))
         (lines (and (not is-link)
                     (/= 0 new-mode)
                     (not (equal bytes new-bytes))
                     (agent-q-diff-changes--lines path bytes new-bytes)))
         (change (or lines (agent-q-diff-file-change-without-text path))))
    (setf (agent-q-diff-file-change-old-path change) (cond
                                                      (from (agent-q-diff-file-named from root))
                                                      ((/= 0 mode) path))
          (agent-q-diff-file-change-new-path change) (and (/= 0 new-mode) path)
          (agent-q-diff-file-change-is-created change) (= 0 mode)
          (agent-q-diff-file-change-deleted change)
          (and (= 0 new-mode)
               (let ((modes (logand #o666 (default-file-modes))))
                 (cons (if (= 0 (logand #o111 mode))
                           modes
                         (agent-q-diff-file-executable-modes modes))
                       bytes)))
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
               (and from '((rename)))
               (and (/= mode new-mode)
                    (list (list 'mode (logand mode #o777) (logand new-mode #o777))))
               (and (null lines)
                    (not (equal bytes new-bytes))
                    (list (list 'binary bytes new-bytes)))))))
    change))

(defun agent-q-diff-changes--change (root texts files since)
  "Return a change of FILES, which is made already, and record what is decided.
ROOT, TEXTS and FILES are as from `agent-q-diff-pending-look', and SINCE is as
in `agent-q-diff-written'."
  (let ((changes nil)
        (is-done nil))
    (unwind-protect
        (progn
          (agent-q-diff-visit-resolving-once
            (dolist (file files)
              (push (agent-q-diff-changes--file root texts file) changes)))
          (setq changes (nreverse changes))
          (let* ((known (mapcar (lambda (file)
                                  (cons (agent-q-diff-file-named
                                         (agent-q-diff-pending-file-path file) root)
                                        file))
                                files))
                 ;; By name: when a review is looked at again, its files are new.
                 (pending-of (lambda (file)
                               (cdr (assoc (or (agent-q-diff-file-change-new-path file)
                                               (agent-q-diff-file-change-old-path file))
                                           known))))
                 (recorded (make-hash-table :test #'equal))
                 (staged (make-hash-table :test #'equal))
                 (change (agent-q-diff-change-join changes)))
            (agent-q-diff-change-begin-written
             change
             (agent-q-diff-changes--written
              root
              since
              known
              (lambda (change decided)
                (let ((made (mapcan
                             (lambda (one)
                               (agent-q-diff-changes--record
                                root texts change one (funcall pending-of one) recorded))
                             decided)))
                  (agent-q-diff-changes--note-to-stage made staged)
                  (when (and agent-q-diff-stage-kept
                             (null since)
                             (file-exists-p (expand-file-name ".git" root)))
                    (agent-q-diff-changes--stage-made root made staged))))
              (lambda ()
                (agent-q-diff-changes--stage-all root recorded staged))
              (lambda (change files)
                (agent-q-diff-changes--fresh root texts change files pending-of))))
            (setq is-done t)
            change))
      (unless is-done
        (mapc #'agent-q-diff-file-change-close changes)))))

(defun agent-q-diff-changes--written (root since known after stage fresh)
  "Return an `agent-q-diff-written' by which what is taken out is stored.
The files are in the project at ROOT; KNOWN is an alist from their absolute
names to an `agent-q-diff-pending-file' each.  SINCE, STAGE and FRESH are slots.
AFTER is called after a decision, with the change and the files that were
decided."
  (let ((decided-files nil)
        (stored nil)
        (unsaved nil))
    (agent-q-diff-written-create
     :root root
     :since since
     :written-by (mapcar (pcase-lambda (`(,name . ,file))
                           (cons name (cons (agent-q-diff-pending-file-authors file)
                                            (agent-q-diff-pending-file-lines file))))
                         known)
     :turns-by (mapcar (pcase-lambda (`(,name . ,file))
                         (cons name (agent-q-diff-pending-file-turns file)))
                       known)
     :title (agent-q-diff-changes--title root (mapcar #'cdr known))
     :round (agent-q-diff-round-begin root (mapcar #'cdr known))
     :label #'agent-q-diff-round-label
     :news (if since #'ignore #'agent-q-diff-round-news)
     :stage (if since #'agent-q-diff-changes--refuse-to-stage stage)
     :fresh fresh
     :at-work (lambda ()
                (agent-q-diff-engine-call #'agent-q-diff-module-at-work root))
     :before (lambda (files)
               (dolist (file files)
                 (dolist (path (list (agent-q-diff-file-change-old-path file)
                                     (agent-q-diff-file-change-new-path file)))
                   (when path
                     (agent-q-diff-guard-check-inside path root))))
               (setq decided-files files
                     stored (mapcar #'agent-q-diff-file-change-path files)
                     unsaved (delq nil (mapcar #'agent-q-diff-reviewed-unsaved stored)))
               (agent-q-diff-reviewed-note-taking-out root stored))
     :after (lambda (change decided)
              ;; A file may have got its old name again.
              (agent-q-diff-reviewed-note-left
               root stored (mapcar #'agent-q-diff-file-change-path decided-files))
              (mapc (apply-partially #'agent-q-diff-reviewed-note-saved root) unsaved)
              (funcall after change decided)
              (agent-q-diff-reviewed-note-hooked root stored)
              (agent-q-diff-changes--note-round change)
              (setq decided-files nil
                    stored nil
                    unsaved nil)))))

(defun agent-q-diff-changes--note-round (change)
  "Record what agents are told of the decisions on CHANGE.
The decisions stand even if that cannot be stored."
  (condition-case err
      (progn
        (agent-q-diff-round-note change)
        ;; After its end, as when it is looked at again, nothing else queues it.
        (unless (seq-some (lambda (review)
                            (eq change (agent-q-diff-session-change review)))
                          (agent-q-diff-open-reviews))
          (agent-q-diff-told-queue-decided change)))
    (error
     (agent-q-diff-base-warn
      (format "The decision is recorded, but what the agent is told of it is not: %s"
              (agent-q-diff-error-text err))))))

;;;; What was reviewed

(defun agent-q-diff-changes--record (root texts change file pending known)
  "Record what was reviewed of FILE of CHANGE, after a decision on it.
PENDING is the `agent-q-diff-pending-file' that it was made of, in the
project at ROOT; TEXTS is the folder of its texts.  KNOWN is a table from paths
to what was recorded last, (MODE . BYTES).  Return a list of (PATH BEFORE
AFTER): what was reviewed until then and is now, in that form."
  ;; All paths of a file are recorded at once.
  (unless (gethash (agent-q-diff-pending-file-path pending) known)
    (pcase-dolist (`(,path . ,before)
                   (agent-q-diff-changes--reviewed texts change file pending 'is-before))
      (puthash path before known)))
  (mapcar (pcase-lambda (`(,path . ,after))
            (let ((before (gethash path known)))
              (agent-q-diff-engine-call #'agent-q-diff-module-note-reviewed root path
                                         (car before) (cdr before) (car after) (cdr after))
              (puthash path after known)
              (list path before after)))
          (agent-q-diff-changes--reviewed texts change file pending)))

(defun agent-q-diff-changes--reviewed (texts change file pending &optional is-before)
  "Return what was reviewed of FILE of CHANGE, a list of (PATH MODE . BYTES).
If IS-BEFORE is non-nil, that was before anything was decided.  TEXTS and
PENDING are as for `agent-q-diff-changes--record'."
  (let* ((path (agent-q-diff-pending-file-path pending))
         (from (agent-q-diff-pending-file-from pending))
         (mode (agent-q-diff-pending-file-now-mode pending))
         (bytes (and mode
                     (agent-q-diff-pending-bytes texts
                                                  (agent-q-diff-pending-file-now-text pending)))))
    (cond
     (from (agent-q-diff-changes--reviewed-renamed texts change file pending (cons mode bytes)
                                                    is-before))
     ((null mode)
      (list (cons path (agent-q-diff-changes--reviewed-of texts change file pending is-before))))
     (is-before (list (cons path (cons mode bytes))))
     (t (list (cons path (agent-q-diff-changes--reviewed-beside texts change file pending
                                                                 mode bytes)))))))

(defun agent-q-diff-changes--reviewed-renamed (texts change file pending now is-before)
  "Do what `agent-q-diff-changes--reviewed' does for FILE, which was renamed.
NOW, (MODE . BYTES), was reviewed of it under its new name.  TEXTS, CHANGE,
PENDING and IS-BEFORE are as for that function."
  (let* ((nothing (cons 0 ""))
         (begun (agent-q-diff-changes--reviewed-of texts change file pending 'is-before))
         (after (agent-q-diff-changes--reviewed-of texts change file pending nil))
         (old (cons (car begun)
                    (agent-q-diff-pending-bytes texts
                                                 (agent-q-diff-pending-file-from-text pending)))))
    (cl-mapcar #'cons
               (list (agent-q-diff-pending-file-path pending)
                     (agent-q-diff-pending-file-from pending))
               (cond
                (is-before (list now old))
                (t
                 (pcase-exhaustive (alist-get 'rename
                                              (agent-q-diff-changes--operations change file))
                   ('applied (list after nothing))
                   ('rejected (list nothing after))
                   ;; Lines that the user has added since are in it only if a hunk is.
                   ('nil (list now (if (equal begun after) old after)))))))))

(defun agent-q-diff-changes--fresh (root texts change files pending-of)
  "Return those of FILES of CHANGE about which nobody has decided elsewhere.
Of these, what is reviewed now is what the review of CHANGE has recorded.
PENDING-OF returns the `agent-q-diff-pending-file' that a file was made of, in
the project at ROOT; TEXTS is the folder of its texts."
  (let ((pending (aref (agent-q-diff-engine-call #'agent-q-diff-module-pending root nil) 2)))
    (seq-filter
     (lambda (file)
       (cl-every (pcase-lambda (`(,path ,mode . ,bytes))
                   (equal (cons mode (secure-hash 'sha256 bytes))
                          (agent-q-diff-changes--reviewed-now root path pending)))
                 (agent-q-diff-changes--reviewed texts change file (funcall pending-of file))))
     files)))

(defun agent-q-diff-changes--reviewed-now (root path pending)
  "Return what is reviewed of PATH in the project at ROOT, (MODE . DIGEST).
PENDING is what is pending there.  DIGEST is that of the bytes; nothing has
none."
  (pcase (seq-find (lambda (file)
                     (member path (list (agent-q-diff-pending-file-path file)
                                        (agent-q-diff-pending-file-from file))))
                   pending)
    ('nil (pcase-let ((`(,mode . ,bytes)
                       (agent-q-diff-reviewed-state (agent-q-diff-file-named path root))))
            (cons mode (secure-hash 'sha256 bytes))))
    (file (pcase-let ((`(,mode . ,text)
                       (cond
                        ((equal path (agent-q-diff-pending-file-from file))
                         (cons (agent-q-diff-pending-file-mode file)
                               (agent-q-diff-pending-file-from-text file)))
                        ((agent-q-diff-pending-file-now-mode file)
                         (cons (agent-q-diff-pending-file-now-mode file)
                               (agent-q-diff-pending-file-now-text file)))
                        (t (cons (agent-q-diff-pending-file-mode file)
                                 (agent-q-diff-pending-file-text file))))))
            (cons mode (or text (secure-hash 'sha256 "")))))))

(defun agent-q-diff-changes--operations (change file)
  "Return what was decided of the operations on FILE of CHANGE, besides its text.
That is a list of (OPERATION . MARK)."
  (cl-loop with index = (seq-position (agent-q-diff-change-files change) file #'eq)
           for operation in (agent-q-diff-file-change-decided-operations file)
           for mark in (seq-drop (agent-q-diff-module-marks (agent-q-diff-change-engine change))
                                 (aref (agent-q-diff-change-first-hunks change) index))
           collect (cons (car operation) mark)))

(defun agent-q-diff-changes--text-of (function change file &rest arguments)
  "Return the bytes of the text that FUNCTION of the engine has of FILE of CHANGE.
It is called with the review, the index of the file and ARGUMENTS."
  (agent-q-diff-changes--encoded
   (apply #'agent-q-diff-engine-call function
          (agent-q-diff-change-engine change)
          (seq-position (agent-q-diff-change-files change) file #'eq)
          arguments)
   file))

(defun agent-q-diff-changes--implied-p (operations file bytes)
  "Return non-nil if FILE is there because there are BYTES of it.
OPERATIONS are as from `agent-q-diff-changes--operations'."
  (and (null operations)
       (agent-q-diff-file-change-operations file)
       (not (string-empty-p bytes))))

(defun agent-q-diff-changes--reviewed-of (texts change file pending is-before)
  "Return (MODE . BYTES) as `agent-q-diff-changes--reviewed' does.
What is reviewed is what CHANGE begins with and what is kept of it.  TEXTS,
FILE, PENDING and IS-BEFORE are that function's."
  (let* ((operations (agent-q-diff-changes--operations change file))
         (kept (and (not is-before)
                    (cl-loop for (operation . mark) in operations
                             when (eq mark 'applied) collect operation)))
         (bytes (if (agent-q-diff-file-change-has-text file)
                    (agent-q-diff-changes--text-of #'agent-q-diff-module-reviewed change file
                                                    is-before)
                  (agent-q-diff-pending-bytes
                   texts (if (seq-intersection kept '(create link binary))
                             (agent-q-diff-pending-file-new-text pending)
                           (agent-q-diff-pending-file-text pending))))))
    (cons (if (or (seq-intersection kept '(create delete mode link))
                  (agent-q-diff-changes--implied-p operations file bytes))
              (agent-q-diff-pending-file-new-mode pending)
            (agent-q-diff-pending-file-mode pending))
          bytes)))

(defun agent-q-diff-changes--reviewed-beside (texts change file pending mode bytes)
  "Return (MODE . BYTES) as `agent-q-diff-changes--reviewed' does.
BYTES with MODE were reviewed before, which CHANGE does not begin with: only
what it shows is reviewed by what is decided.  TEXTS, FILE and PENDING are that
function's."
  (let* ((operations (agent-q-diff-changes--operations change file))
         ;; What is taken out is as it was in the commit.
         (decided (pcase (cl-loop for (_ . mark) in operations
                                  when mark return mark)
                    ('applied (cons (agent-q-diff-pending-file-new-mode pending)
                                    (agent-q-diff-pending-file-new-text pending)))
                    ('rejected (cons (agent-q-diff-pending-file-mode pending)
                                     (agent-q-diff-pending-file-text pending)))))
         (path (agent-q-diff-file-change-path file))
         (after (cond
                 ((agent-q-diff-file-change-has-text file)
                  (agent-q-diff-changes--text-of #'agent-q-diff-module-reviewed-beside change file
                                                  (agent-q-diff-pending-decoded bytes path)))
                 (decided (agent-q-diff-pending-bytes texts (cdr decided)))
                 (t bytes))))
    (cons (cond
           (decided (car decided))
           ((equal after bytes) mode)
           ;; It was new, and is deleted.
           ((and (string-empty-p after) (= 0 (agent-q-diff-pending-file-mode pending))) 0)
           ((= 0 mode) (agent-q-diff-pending-file-new-mode pending))
           (t mode))
          after)))

(defun agent-q-diff-changes--encoded (text file)
  "Return TEXT as the bytes that it has in FILE, an `agent-q-diff-file-change'."
  (let* ((buffer (agent-q-diff-file-change-buffer file))
         (coding (if (buffer-live-p buffer)
                     (with-current-buffer buffer
                       (agent-q-diff-coding-of-buffer))
                   'utf-8-emacs-unix)))
    (encode-coding-string (agent-q-diff-engine-text text) coding)))

;;;; Staging what is kept

(defun agent-q-diff-changes--note-to-stage (made staged)
  "Note in STAGED that of the files in MADE nothing of this review is staged yet.
MADE is a list of (PATH BEFORE AFTER), as from `agent-q-diff-changes--record'.
STAGED is a table from paths to what was reviewed, (MODE . BYTES), when all that
was kept there was staged."
  (pcase-dolist (`(,path ,before ,_) made)
    (unless (gethash path staged)
      (puthash path before staged))))

(defun agent-q-diff-changes--stage (root path before after)
  "Make the change from BEFORE to AFTER to PATH in git's index.
It is in the project at ROOT, and the others are (MODE . BYTES).  Return nil,
or, if the change cannot be made, a sentence that says why."
  (condition-case err
      (ignore (agent-q-diff-engine-call #'agent-q-diff-module-stage root path
                                        (car before) (cdr before) (car after) (cdr after)))
    (agent-q-diff-error (agent-q-diff-visible (agent-q-diff-error-text err)))))

(defun agent-q-diff-changes--stage-made (root made staged)
  "Stage the decisions MADE in the project at ROOT, and warn of what cannot be.
MADE and STAGED are as for `agent-q-diff-changes--note-to-stage'."
  (when-let ((failed (cl-loop for (path before after) in made
                              for why = (and (not (equal before after))
                                             (agent-q-diff-changes--stage
                                              root path before after))
                              if why collect why
                              else if (equal before (gethash path staged))
                              do (puthash path after staged))))
    (agent-q-diff-base-warn
     (format "The decision is recorded, but %s" (string-join failed "; ")))))

(defun agent-q-diff-changes--refuse-to-stage ()
  "Say that this is not the review in which to stage."
  (user-error "Stage in the review of what is pending; this one is since a commit"))

(defun agent-q-diff-changes--stage-all (root known staged)
  "Stage what is kept in the project at ROOT; return what slot `stage' describes.
That is the slot of `agent-q-diff-written'.  KNOWN is as for
`agent-q-diff-changes--record', and STAGED as for
`agent-q-diff-changes--note-to-stage'."
  (let ((n 0)
        (failed '()))
    (maphash (lambda (path after)
               (let ((before (gethash path staged)))
                 (unless (equal before after)
                   (if-let ((why (agent-q-diff-changes--stage root path before after)))
                       (push why failed)
                     (puthash path after staged)
                     (cl-incf n)))))
             known)
    (cons n (nreverse failed))))

;;;; Commands

(defun agent-q-diff-changes--look-since (directory revision)
  "Return what differs from REVISION in the project of DIRECTORY.
REVISION is the name of a commit, (parting . NAME) for the one at which that and
HEAD have parted, or (turn . NUMBER) for what a turn has found.  The value is
\(ROOT TEXTS FILES LEFT-OUT COMMIT), where COMMIT is the short name of that
commit, and the first line of its message, or says which turn."
  (agent-q-diff-file-clean-up)
  (let ((found (pcase revision
                 (`(turn . ,turn)
                  (agent-q-diff-engine-call #'agent-q-diff-module-pending-since-turn
                                            (expand-file-name directory) turn))
                 (_ (agent-q-diff-engine-call
                     #'agent-q-diff-module-pending-since
                     (expand-file-name directory)
                     (or (cdr-safe revision) revision) (consp revision))))))
    (cons (file-name-as-directory (aref found 0)) (cdr (append found nil)))))

(defconst agent-q-diff-changes--n-named 3
  "Number of commits, and of files, that are named in a question.")

(defun agent-q-diff-changes--named (n names separator)
  "Return the first of N things, which have NAMES, for a question.
Between these stands the string SEPARATOR, before the last one \"and\"."
  (let* ((named (mapcar #'agent-q-diff-visible
                        (seq-take names agent-q-diff-changes--n-named)))
         (n-more (- n (length named)))
         (all (if (> n-more 0) (append named (list (format "%d more" n-more))) named)))
    (if (cdr all)
        (concat (string-join (butlast all) separator) " and " (car (last all)))
      (car all))))

(defun agent-q-diff-changes--who-moved (directory)
  "Return who has made the new commits of the repository of DIRECTORY.
That is `user' or `agent'.  If nobody knows, and something is pending or not
by that, ask; otherwise return nil."
  (when-let ((moved (agent-q-diff-engine-call #'agent-q-diff-module-moved
                                              directory agent-q-diff-changes--n-named)))
    (pcase-let ((`(,n ,subjects ,paths) moved))
      (if (y-or-n-p
           (format (ngettext "Commit %2$s has changes of %3$s that you have not reviewed.  \
Is it yours (y: they count as reviewed; n: they stay pending)? "
                             "%1$d commits (%2$s) have changes of %3$s that you have not reviewed.  \
Are they yours (y: the changes count as reviewed; n: they stay pending)? "
                             n)
                   n
                   (agent-q-diff-changes--named n subjects "; ")
                   (agent-q-diff-changes--named (length paths) paths ", ")))
          'user
        'agent))))

(defun agent-q-diff-changes--left-out-note (left-out)
  "Return sentences about LEFT-OUT, which was not looked at, or nil."
  (let ((about-record (seq-filter #'stringp left-out))
        (paths (seq-remove #'stringp left-out))
        (counted nil))
    (pcase-dolist (`(,kind . ,format)
                   '((nil . "%d files that are no text, such as %s")
                     (unknown . "%d files of which is not known what they held, such as %s")))
      (let ((files (seq-filter (lambda (one)
                                 (eq kind (cdr one)))
                               paths)))
        (when (cdddr files)
          (setq paths (seq-difference paths files #'eq))
          (push (format format (length files) (agent-q-diff-visible (caar files)))
                counted))))
    (let ((named (append (mapcar (pcase-lambda (`(,path . ,n))
                                   (format (pcase n
                                             ('nil "%s (no text)")
                                             ('unknown "%s (what it held before is not known)")
                                             (0 "%s (a repository of its own)")
                                             (1 "%s (over 8 MB)")
                                             ((pred stringp) "%s (%s)")
                                             (_ "%s (%d new files)"))
                                           (agent-q-diff-visible path) n))
                                 paths)
                         (nreverse counted))))
      (and left-out
           (string-join
            (append (mapcar #'agent-q-diff-visible about-record)
                    (and named
                         (list (format "Not looked at: %s" (string-join named ", ")))))
            ".  ")))))

(defun agent-q-diff-changes--authors-note (root files)
  "Return a sentence about who wrote what is pending in FILES, or nil.
They are in the project at ROOT.
In several files, the heading of each says that."
  (let ((authors (seq-uniq (mapcan (lambda (file)
                                     (copy-sequence (agent-q-diff-pending-file-authors file)))
                                   files))))
    (cond
     ((equal authors '(unknown))
      (format "Everything %s, yours included; M-x agent-q-diff-mark-reviewed keeps all."
              (if (file-exists-p (expand-file-name ".git" root)) "since HEAD" "that is there")))
     ((and files (null (cdr files)) (null (cdr authors)))
      (pcase (car authors)
        ('outside "Written outside any turn of an agent.")
        ((and agent (pred stringp)) (format "Written by %s." (agent-q-diff-visible agent))))))))

(defun agent-q-diff-changes--directory (directory)
  "Return DIRECTORY, by default the current one, as an absolute directory name."
  (file-name-as-directory (expand-file-name (or directory default-directory))))

(defun agent-q-diff-changes--begin-if-asked (directory)
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

(defun agent-q-diff-changes--turns (directory)
  "Return (NAME . NUMBER) of each turn in DIRECTORY of which something is pending.
The latest is the first."
  (pcase-let* ((`[,_ ,_ ,files ,_ ,turns]
                (agent-q-diff-engine-call #'agent-q-diff-module-pending directory nil))
               (pending (mapcan (lambda (file)
                                  (copy-sequence (agent-q-diff-pending-file-authors file)))
                                files)))
    (cl-loop for turn in (reverse turns)
             for id = (agent-q-diff-turn-id turn)
             when (memql id pending)
             collect (cons (agent-q-diff-visible
                            (string-join
                             (remove "" (list (agent-q-diff-turn-agent turn)
                                              (format-time-string "%F %T"
                                                                  (agent-q-diff-turn-time turn))
                                              (agent-q-diff-turn-title turn)))
                             ", "))
                           id))))

(defun agent-q-diff-changes--branches (directory)
  "Return where HEAD has parted from other branches in the repository of DIRECTORY.
That is an alist from what these places are called to (parting . BRANCH)."
  (let ((default-directory directory))
    ;; The first one is checked out.
    (mapcar (lambda (branch)
              (cons (format "where %s was left" branch) (cons 'parting branch)))
            (cdr (ignore-errors (vc-git-branches))))))

(defun agent-q-diff-changes--read-only (directory)
  "Read what is to be reviewed in the project of DIRECTORY.
It is a turn, or since which commit; the value is as the argument ONLY of
`agent-q-diff-review-changes'."
  (let* ((choices (append (agent-q-diff-changes--turns directory)
                          (agent-q-diff-changes--branches directory)))
         (answer (completing-read "Review which turn, or since which commit: "
                                  (lambda (string predicate action)
                                    (if (eq action 'metadata)
                                        ;; The latest turn first.
                                        '(metadata (display-sort-function . identity))
                                      (complete-with-action action choices string predicate)))
                                  nil nil nil nil (or (caar choices) "HEAD"))))
    (or (cdr (assoc answer choices))
        (string-trim answer))))

(defun agent-q-diff-changes--since-p (only)
  "Return non-nil if ONLY names a commit.
It is as for `agent-q-diff-review-changes'."
  (not (or (null only) (numberp only))))

(defun agent-q-diff-changes--unchanged-words (since)
  "Return words that follow \"Nothing\" if all is as it was SINCE.
That is as ONLY for `agent-q-diff-review-changes'."
  (pcase since
    (`(turn . ,_) "of this turn is left")
    (`(parting . ,branch) (format "has changed since %s was left" (agent-q-diff-visible branch)))
    (_ (format "has changed since %s" (agent-q-diff-visible since)))))

(defun agent-q-diff-changes-open-review (root &optional since)
  "Return the open review of what is pending in the project at ROOT, or nil.
If SINCE is non-nil, it is the one of what differs from that commit."
  (seq-find (lambda (review)
              (when-let ((written (agent-q-diff-change-written
                                   (agent-q-diff-session-change review))))
                (and (equal root (agent-q-diff-written-root written))
                     (equal since (agent-q-diff-written-since written)))))
            (agent-q-diff-open-reviews)))

(defun agent-q-diff-changes-begin (directory by &optional callback awaited-p only)
  "Begin a review of what is pending in the project of DIRECTORY.
BY is who has moved its HEAD, as for `agent-q-diff-module-pending'.  CALLBACK
is called with the result when the review ends, and AWAITED-P tells whether
somebody still waits for that.  ONLY is as for `agent-q-diff-review-changes'.
Return (ROOT REVIEW NOTES); REVIEW is nil if nothing is pending.  NOTES are
sentences for the user.

If there is a review already that nobody waits for, the new one takes its
place, so that what was written since is in it.  What the user had noted of
hunks, in that review or an earlier one, is in the new one as well."
  (pcase-let* ((`(,root ,texts ,files ,left-out ,since)
                (if (not (agent-q-diff-changes--since-p only))
                    (agent-q-diff-pending-look-and-note directory by only)
                  (agent-q-diff-pending-look-and-note directory by)
                  (agent-q-diff-changes--look-since directory only)))
               (notes (delq nil (list (agent-q-diff-changes--left-out-note left-out)
                                      (if since
                                          (and files
                                               (format "Everything since %s, yours included."
                                                       (agent-q-diff-visible since)))
                                        (agent-q-diff-changes--authors-note root files)))))
               (open (agent-q-diff-changes-open-review root since)))
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
              (let ((agent-q-diff-round-is-replacing t))
                (agent-q-diff-end open)))
            (when files
              (prog1 (agent-q-diff-changes--start
                      root texts files since notes callback awaited-p)
                (when (seq-some #'stringp left-out)
                  (agent-q-diff-engine-call #'agent-q-diff-module-note-heard root))))))
          notes)))

(defun agent-q-diff-changes--title (root files)
  "Return what the agent was asked to do whose turn wrote FILES, or nil.
That is the first line of its prompt, of the latest turn that wrote there, in
the project at ROOT."
  (when-let* ((ids (seq-filter #'integerp
                               (mapcan (lambda (file)
                                         (copy-sequence
                                          (car (agent-q-diff-pending-file-turns file))))
                                       files)))
              (latest (apply #'max ids))
              (turn (seq-find (lambda (turn) (= latest (agent-q-diff-turn-id turn)))
                              (agent-q-diff-engine-call #'agent-q-diff-module-turns root)))
              (title (agent-q-diff-turn-title turn)))
    (and (not (string-empty-p title)) title)))

(defun agent-q-diff-changes--with-comments (root result)
  "Return RESULT with the comments on lines in the project at ROOT in its message."
  (if-let ((comments (and (plist-get result :message)
                          (agent-q-diff-told-take-comments root))))
      (plist-put (copy-sequence result)
                 :message (agent-q-diff-message-of-result
                           result (plist-get result :path) comments))
    result))

(defun agent-q-diff-changes--start (root texts files since notes callback awaited-p)
  "Begin a review of FILES in the project at ROOT, and return it.
TEXTS and SINCE are as for `agent-q-diff-changes--change', NOTES sentences for
the user, and CALLBACK and AWAITED-P as for `agent-q-diff-changes-begin'."
  (let* ((default-directory root)
         (review nil)
         (ended (lambda (result)
                  (agent-q-diff-pending-count-soon root)
                  (cond
                   (agent-q-diff-round-is-replacing)
                   ((and awaited-p (funcall awaited-p))
                    (agent-q-diff-waiting-comments-told root 'all))
                   ((null since)
                    ;; Other comments are in the message of the round.
                    (agent-q-diff-waiting-comments-told
                     root (if (and review (agent-q-diff-round-finished-p review))
                              'decided
                            'whole))))
                  (when callback
                    (funcall callback
                             (if (and awaited-p (funcall awaited-p))
                                 (agent-q-diff-changes--with-comments root result)
                               result))))))
    (setq review (agent-q-diff-api-start
                  root ended nil nil nil "" #'agent-q-diff-mode notes
                  (lambda ()
                    (agent-q-diff-changes--change root texts files since))))
    (unless (agent-q-diff-session-outcome review)
      (when awaited-p
        (setf (agent-q-diff-written-awaited-p
               (agent-q-diff-change-written (agent-q-diff-session-change review)))
              awaited-p))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (agent-q-diff-waiting-restore))
      (agent-q-diff-policy-apply review #'agent-q-diff-round-commented-p))
    review))

(defun agent-q-diff-changes-review-words (review)
  "Return how much REVIEW is of, such as \"12 hunks in 3 files are\"."
  (let* ((change (agent-q-diff-session-change review))
         (n-files (length (agent-q-diff-change-files change)))
         (n (car (agent-q-diff-change-tally change))))
    (format (ngettext "%d hunk in %s is" "%d hunks in %s are" n)
            n (format (ngettext "%d file" "%d files" n-files) n-files))))

;;;###autoload
(defun agent-q-diff-review-changes (&optional directory only)
  "Review what was written into the project of DIRECTORY and not reviewed yet.
DIRECTORY is by default the current one.  The changes are in the files
already, whoever made them: keeping a hunk makes its lines reviewed, so that
they are not shown again, and rejecting one takes it out of its file.  What is
not decided stays in the files, and pending.

Until the first look at a project, what is in HEAD of its git repository was
reviewed.  What you save in Emacs from then on is reviewed as well.

Where there is no git repository, ask whether what the files of the project
hold now counts as reviewed; programs get an error.

ONLY is asked for with a prefix argument.  If it is the number of a turn of an
agent, only files are shown in which that agent has written in that turn.  If
it is a string, the name of a commit, all that differs from that is shown, what
was reviewed as well; (parting . BRANCH) means the commit at which BRANCH and
HEAD have parted, and (turn . NUMBER) what the files of that turn held before
it."
  (interactive
   ;; How `project-switch-project' says which project, since Emacs 29.
   (let* ((override (bound-and-true-p project-current-directory-override))
          (directory (agent-q-diff-changes--directory override)))
     (agent-q-diff-changes--begin-if-asked directory)
     (list override
           (and current-prefix-arg
                (agent-q-diff-changes--read-only directory)))))
  (pcase-let* ((directory (agent-q-diff-changes--directory directory))
               (by (agent-q-diff-changes--who-moved directory))
               (agent-q-diff-call (agent-q-diff-call-with 'is-by-user t))
               (is-by-key (called-interactively-p 'any))
               (`(,root ,review ,notes)
                (condition-case err
                    (agent-q-diff-changes-begin directory by nil nil only)
                  (agent-q-diff-error
                   (if is-by-key
                       (user-error "%s" (agent-q-diff-visible (agent-q-diff-error-text err)))
                     (signal (car err) (cdr err)))))))
    (cond
     ((null review)
      (message "%s" (string-join
                     (cons (format "Nothing %s in %s"
                                   (if (agent-q-diff-changes--since-p only)
                                       (agent-q-diff-changes--unchanged-words only)
                                     "is pending")
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
                                     (agent-q-diff-changes--directory nil))))
    (message (if (= 0 n)
                 "No agent was at work"
               (format (ngettext "The turn of %d agent is over"
                                 "The turns of %d agents are over" n)
                       n)))))

;;;###autoload
(defun agent-q-diff-mark-reviewed (&optional file)
  "Record that the project of the current buffer was reviewed as it is.
If FILE is non-nil, interactively with a prefix argument, only the file of
this buffer is meant, also one that was left out.  The files do not change."
  (interactive "P")
  (pcase-let* ((directory (agent-q-diff-changes--directory nil))
               (`(,root ,texts ,files ,left-out) (agent-q-diff-pending-look directory))
               (only (and file
                          (or (and buffer-file-name (agent-q-diff-reviewed-path root))
                              (user-error "This buffer visits no file of the project"))))
               (meant (if only
                          (seq-filter (lambda (file)
                                        (equal only (agent-q-diff-pending-file-path file)))
                                      files)
                        files))
               (paths (or (agent-q-diff-pending-paths meant)
                          (and-let* ((one (and only (assoc only left-out))))
                            (and (memq (cdr one) '(nil 1 unknown))
                                 (list only))))))
    (agent-q-diff-engine-call #'agent-q-diff-module-mark-reviewed directory paths)
    (agent-q-diff-pending-mode)
    (agent-q-diff-pending-note root texts (seq-difference files meant #'eq))
    (agent-q-diff-pending-count-soon root)
    (if (null paths)
        (message "Nothing was pending")
      (let ((n (max 1 (length meant))))
        (message (ngettext "%d file is reviewed as it is" "%d files are reviewed as they are" n)
                 n)))))

(provide 'agent-q-diff-changes)
;;; agent-q-diff-changes.el ends here
