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
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-outcome)
(require 'agent-q-diff-commands)
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

;;;; A change that was written already

(defun agent-q-diff-changes--lines (path bytes new-bytes)
  "Return (CHANGE . CODINGS) of the file PATH, which has NEW-BYTES, not BYTES.
CHANGE is that of its lines, or nil if they are as they were.  CODINGS are (OLD
NEW) if the coding system, a byte order mark or the line ends differ as well, or
else nil.  If the bytes are no text, or it cannot be told apart what became of
the lines and of their ends, return nil: then they are decided as a whole."
  (pcase (agent-q-diff-pending-decoded-both path bytes new-bytes)
    (`(,text ,new-text . ,codings)
     (let* ((is-same (apply #'agent-q-diff-coding-same-p codings))
            (change (and (not (equal text new-text))
                         (ignore-error (agent-q-diff-identical agent-q-diff-bad-target)
                           (agent-q-diff-file-change-open-later
                            path text new-text nil (cadr codings))))))
       (and (or change (and (equal text new-text) (not is-same)))
            (cons change (and (not is-same) codings)))))))

(defun agent-q-diff-changes--state (mode bytes)
  "Return what a path is that has MODE, as git writes it, and BYTES.
That is (link TARGET) or (file PERMISSIONS BYTES)."
  (if (= mode agent-q-diff-reviewed-link)
      (list 'link (decode-coding-string bytes 'utf-8))
    (list 'file (logand mode #o777) bytes)))

(defun agent-q-diff-changes--directories (path root)
  "Return the directories in ROOT that PATH is in, innermost first.
As with git, those that are empty without the file are taken out with it."
  (cl-loop for directory = (file-name-directory path)
           then (file-name-directory (directory-file-name directory))
           while (and (length> directory (length root))
                      (string-prefix-p root directory))
           collect directory))

(defun agent-q-diff-changes--file (root texts file)
  "Return the change of FILE, an `agent-q-diff-pending-file'.
It is made already.  ROOT and TEXTS are as from `agent-q-diff-pending-look'."
  (pcase-let* ((path (agent-q-diff-file-named (agent-q-diff-pending-file-path file) root))
               (from (car (agent-q-diff-pending-file-from file)))
               (`(,mode . ,text) (agent-q-diff-pending-file-reviewed file))
               (`(,new-mode . ,new-text) (agent-q-diff-pending-file-working file))
               (bytes (agent-q-diff-pending-bytes texts text))
               (new-bytes (agent-q-diff-pending-bytes texts new-text))
               (is-link (memq agent-q-diff-reviewed-link (list mode new-mode)))
               (`(,lines . ,reading) (and (not is-link)
                                          (/= 0 new-mode)
                                          (not (equal bytes new-bytes))
                                          (agent-q-diff-changes--lines path bytes new-bytes)))
               (change (or lines (agent-q-diff-file-change-without-text path))))
    ;; A link may have taken the place of the folder that it was in.
    (when (= 0 new-mode)
      (setf (agent-q-diff-target-truename (agent-q-diff-file-change-target change)) path))
    (setf (agent-q-diff-file-change-old-path change) (cond
                                                      (from (agent-q-diff-file-named from root))
                                                      ((/= 0 mode) path))
          (agent-q-diff-file-change-new-path change) (and (/= 0 new-mode) path)
          (agent-q-diff-file-change-is-created change) (= 0 mode)
          (agent-q-diff-file-change-missing change)
          (and (or from (= 0 mode)) (agent-q-diff-changes--directories path root))
          (agent-q-diff-file-change-deleted change)
          (and (= 0 new-mode)
               (agent-q-diff-operation-new-state (agent-q-diff-changes--state mode bytes)))
          (agent-q-diff-file-change-operations change)
          (cond
           ((and is-link (/= 0 mode) (/= 0 new-mode) (/= mode new-mode))
            (list (list 'kind
                        (agent-q-diff-changes--state mode bytes)
                        (agent-q-diff-changes--state new-mode new-bytes))))
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
               (and reading (list (cons 'reading reading)))
               (and (null lines)
                    (null reading)
                    (not (equal bytes new-bytes))
                    (list (list 'binary bytes new-bytes)))))))
    change))

(defun agent-q-diff-changes--change (root texts files since protected)
  "Return a change of FILES, which is made already; what is decided is recorded.
ROOT, TEXTS and FILES are as from `agent-q-diff-pending-look', and SINCE and
PROTECTED are as in `agent-q-diff-written'."
  (let ((changes nil)
        (is-done nil))
    (unwind-protect
        (progn
          (agent-q-diff-visit-resolving-once
            (dolist (file files)
              (push (agent-q-diff-changes--file root texts file) changes)))
          (setq changes (nreverse changes))
          (let ((change (agent-q-diff-change-join changes)))
            (agent-q-diff-change-begin-written
             change (agent-q-diff-changes--written root since files protected) files
             (and since
                  (mapcar (apply-partially #'agent-q-diff-changes--reviewed-now root texts)
                          files)))
            (unless since
              (setf (agent-q-diff-written-news (agent-q-diff-change-written change))
                    (agent-q-diff-round-news change)))
            (setq is-done t)
            change))
      (unless is-done
        (mapc #'agent-q-diff-file-change-close changes)))))

(defun agent-q-diff-changes--reviewed-now (root texts file)
  "Return what is reviewed of FILE now as text, or nil if it is no text.
ROOT, TEXTS and FILE are as for `agent-q-diff-changes--file'."
  (let ((bytes (agent-q-diff-pending-bytes texts (cdr (agent-q-diff-pending-file-now file)))))
    (and (agent-q-diff-pending-text-p bytes)
         (agent-q-diff-pending-decoded
          bytes (agent-q-diff-file-named (agent-q-diff-pending-file-path file) root)))))

(defun agent-q-diff-changes--written (root since files protected)
  "Return the `agent-q-diff-written' of FILES in the project at ROOT.
FILES are a list of `agent-q-diff-pending-file'; SINCE and PROTECTED are slots."
  (cl-flet ((by (who)
              (mapcar (lambda (file)
                        (cons (agent-q-diff-file-named (agent-q-diff-pending-file-path file) root)
                              (funcall who file)))
                      files)))
    (agent-q-diff-written-create
     :root root
     :since since
     :written-by (by (lambda (file)
                       (cons (agent-q-diff-pending-file-authors file)
                             (agent-q-diff-pending-file-lines file))))
     :turns-by (by #'agent-q-diff-pending-file-turns)
     :title (agent-q-diff-changes--title root files)
     :protected protected
     :round (agent-q-diff-round-begin root files))))

;;;; What the user undoes in a file's buffer

(defun agent-q-diff-changes--follow-undo (_root)
  "Have open reviews follow what was undone in this buffer, which was saved.
What was taken out and is in the file again is pending again."
  (unless agent-q-diff-change-in-progress
    (dolist (review (agent-q-diff-open-reviews))
      (let ((change (agent-q-diff-session-change review)))
        (when (agent-q-diff-change-written change)
          (dolist (file (agent-q-diff-change-files change))
            (when (and (eq (current-buffer) (agent-q-diff-file-change-buffer file))
                       (agent-q-diff-file-change-engine file))
              (ignore-error agent-q-diff-error
                (agent-q-diff-file-change-follow-undo file)))))))))

(add-hook 'agent-q-diff-reviewed-noted-functions #'agent-q-diff-changes--follow-undo)

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
    (pcase-let ((`[,n ,subjects ,paths] moved))
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

(defun agent-q-diff-changes-sentences (&rest sentences)
  "Return SENTENCES as one string, or nil if all of them are nil."
  (when-let ((given (remq nil sentences)))
    (string-join given ".  ")))

(defun agent-q-diff-changes-alarm (left-out)
  "Return what LEFT-OUT has to say first, a string or nil.
It is as from `agent-q-diff-pending-look'.  That are sentences about the record,
and about what others have written that git runs by itself."
  (apply #'agent-q-diff-changes-sentences
         (mapcar (lambda (sentence)
                   (agent-q-diff-visible sentence most-positive-fixnum))
                 (seq-filter #'stringp left-out))))

(defconst agent-q-diff-changes--n-left-out 3
  "Number of paths that are each named where they are left out for one reason.")

(defun agent-q-diff-changes--why-words (why)
  "Return words for WHY a path is left out, as in `agent-q-diff-module-pending'."
  (pcase-exhaustive why
    ('[repository] "a repository of its own")
    ('[large] "over 8 MB")
    (`[filter ,name] (format "its filter %s, which the repository itself defines, is not run"
                             (agent-q-diff-visible name)))
    (`[many ,n] (format "%d new files" n))
    ('[no-text] "no text")
    ('[unknown] "what it held before is not known")
    (`[other ,clause] (agent-q-diff-visible clause))))

(defun agent-q-diff-changes--left-out-words (why paths)
  "Return words for PATHS, which are left out, and WHY.
If there are many, name the first."
  (let ((words (format " (%s)" (agent-q-diff-changes--why-words why))))
    (if (nthcdr agent-q-diff-changes--n-left-out paths)
        (concat (agent-q-diff-changes--names paths) words)
      (mapconcat (lambda (path) (concat (agent-q-diff-visible-name path) words)) paths ", "))))

(defun agent-q-diff-changes--submodule-words (path submodule)
  "Return words for what has changed about SUBMODULE, which is at PATH.
It is as in `agent-q-diff-module-pending'."
  (pcase-let* ((`[,reviewed ,checked-out ,is-changed ,failed] submodule)
               (changes (and is-changed "has changes of its own"))
               (commits (cond
                         ((equal reviewed checked-out) nil)
                         ((null checked-out) (format "is gone, at commit %.7s before" reviewed))
                         ((null reviewed) (format "is new, at commit %.7s" checked-out))
                         (t (format "is at another commit (%.7s -> %.7s)"
                                    reviewed checked-out)))))
    (concat "Submodule " (agent-q-diff-visible-name path) " "
            (if failed
                (concat "cannot be looked at: " (agent-q-diff-visible failed))
              (string-join (remq nil (list changes commits)) " and ")))))

(defun agent-q-diff-changes--submodules (left-out)
  "Return (PATH . SUBMODULE) of those in LEFT-OUT, which was not looked at."
  (cl-loop for (path . why) in (seq-remove #'stringp left-out)
           when (eq 'submodule (aref why 0))
           collect (cons path (aref why 1))))

(defun agent-q-diff-changes--names (paths)
  "Return words for PATHS; if there are many, name the first."
  (let ((n-more (1- (length paths))))
    (if (< n-more agent-q-diff-changes--n-left-out)
        (mapconcat #'agent-q-diff-visible-name paths ", ")
      (format "%s and %d more" (agent-q-diff-visible-name (car paths)) n-more))))

(defun agent-q-diff-changes--elsewhere-note (left-out)
  "Return sentences about what LEFT-OUT has of submodules and hidden files, or nil."
  (let ((submodules (agent-q-diff-changes--submodules left-out))
        (hidden (seq-filter (lambda (one)
                              (eq 'hidden (aref (cdr one) 0)))
                            (seq-remove #'stringp left-out))))
    (when (or submodules hidden)
      (string-join
       (append
        (mapcar (pcase-lambda (`([,_ ,place] . ,files))
                  (format "New lines of %s hide %s" (agent-q-diff-visible-name place)
                          (agent-q-diff-changes--names (mapcar #'car files))))
                (seq-group-by #'cdr hidden))
        (mapcar (pcase-lambda (`(,path . ,submodule))
                  (agent-q-diff-changes--submodule-words path submodule))
                submodules)
        (and submodules '("M-x agent-q-diff-review-submodule")))
       "; "))))

(defvar agent-q-diff-changes--said (make-hash-table :test #'equal)
  "Table from the roots of projects to what was left out when that was said last.")

(defun agent-q-diff-changes-left-out-news (root left-out)
  "Return sentences about LEFT-OUT that are worth saying now, or nil.
That is what was not left out when it was said last of the project at ROOT, and
what has changes elsewhere, which may be others now."
  (let ((said (gethash root agent-q-diff-changes--said)))
    (puthash root left-out agent-q-diff-changes--said)
    (agent-q-diff-changes--left-out-note
     (seq-remove (lambda (one)
                   (or (stringp one)
                       (and (member one said)
                            (not (memq (aref (cdr one) 0) '(submodule hidden))))))
                 left-out))))

(defun agent-q-diff-changes--left-out-note (left-out)
  "Return sentences about LEFT-OUT, which was not looked at, or nil."
  (let* ((others (seq-remove (lambda (one)
                               (or (stringp one) (memq (aref (cdr one) 0) '(submodule hidden))))
                             left-out))
         (named (mapconcat (pcase-lambda (`(,why . ,some))
                             (agent-q-diff-changes--left-out-words why (mapcar #'car some)))
                           (seq-group-by #'cdr others) ", ")))
    (agent-q-diff-changes-sentences (agent-q-diff-changes--elsewhere-note left-out)
                                     (and others (concat "Not looked at: " named)))))

(defconst agent-q-diff-changes--n-protected 5
  "Number of protected files that notes name.")

(defun agent-q-diff-changes--protected (root files)
  "Return which of FILES are protected, as the slot of `agent-q-diff-written'.
They are a list of `agent-q-diff-pending-file' in the project at ROOT."
  (agent-q-diff-guard-protected
   (mapcar (lambda (path) (agent-q-diff-file-named path root))
           (agent-q-diff-pending-paths files))
   root))

(defun agent-q-diff-changes--protected-notes (root protected)
  "Return notes on the files in PROTECTED, with names below ROOT."
  (let ((n-more (- (length protected) agent-q-diff-changes--n-protected)))
    (append
     (mapcar (pcase-lambda (`(,name . ,why))
               (format "%s: PROTECTED: %s" (string-remove-prefix root name) why))
             (seq-take protected agent-q-diff-changes--n-protected))
     (and (> n-more 0)
          (list (format (ngettext "%d more file is PROTECTED, as its heading says"
                                  "%d more files are PROTECTED, as their headings say"
                                  n-more)
                        n-more))))))

(defun agent-q-diff-changes--committed-note (files)
  "Return a sentence about what is pending in FILES and committed, or nil."
  (when-let ((committed (seq-filter #'agent-q-diff-pending-file-is-in-head files)))
    (format "Committed already, and not reviewed: %s"
            (agent-q-diff-changes--names
             (mapcar #'agent-q-diff-pending-file-path committed)))))

(defun agent-q-diff-changes--commands-note (root files)
  "Return a sentence about commands of agents that changed FILES, or nil.
They are below ROOT."
  (when-let ((commands (agent-q-diff-pending-commands root files)))
    (format "Changed by a shell: %s"
            (mapconcat (pcase-lambda (`(,path ,agent ,command))
                         (format "%s (%s: %s)" (agent-q-diff-visible-name path)
                                 (agent-q-diff-visible-name agent t) command))
                       commands ", "))))

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
        (`(background . ,agent)
         (format "Written in the background of %s, or outside any turn."
                 (agent-q-diff-visible-name agent t)))
        ((and agent (pred stringp)) (format "Written by %s." (agent-q-diff-visible-name agent t))))))))

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
                  (name (agent-q-diff-visible-name
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

(defun agent-q-diff-changes--nothing-words (root note only)
  "Return words where nothing is to be reviewed of ONLY in the project at ROOT.
ONLY is as for `agent-q-diff-review-changes'.  NOTE, about what was not looked
at, is said first; it can be nil."
  (concat note (if note "; nothing else " "Nothing ")
          (pcase only
            ((or 'nil (pred numberp)) "is pending")
            (`(turn . ,_) "of this turn is left")
            (`(parting . ,branch)
             (format "has changed since %s was left" (agent-q-diff-visible branch)))
            (_ (format "has changed since %s" (agent-q-diff-visible only))))
          " in " (agent-q-diff-visible-name (abbreviate-file-name root))))

(defun agent-q-diff-changes-open-review (root &optional since)
  "Return the open review of what is pending in the project at ROOT, or nil.
If SINCE is non-nil, it is the one of what differs from that commit."
  (seq-find (lambda (review)
              (when-let ((written (agent-q-diff-change-written
                                   (agent-q-diff-session-change review))))
                (and (equal root (agent-q-diff-written-root written))
                     (equal since (agent-q-diff-written-since written)))))
            (agent-q-diff-open-reviews)))

(defun agent-q-diff-changes-begin (directory by &optional callback waiter only)
  "Begin a review of what is pending in the project of DIRECTORY.
BY is who has moved its HEAD, as for `agent-q-diff-module-pending'.  CALLBACK
is called with the result when the review ends, and WAITER, as in
`agent-q-diff-written', waits for that.  ONLY is as for
`agent-q-diff-review-changes'.
Return (ROOT REVIEW NOTES); REVIEW is nil if nothing is pending, which the first
of NOTES says then.  They are sentences for the user.

If there is a review already that nobody waits for, the new one takes its
place, so that what was written since is in it.  What the user had noted of
hunks, in that review or an earlier one, is in the new one as well."
  (pcase-let* ((`(,root ,texts ,files ,left-out ,since)
                (if (not (agent-q-diff-changes--since-p only))
                    (agent-q-diff-pending-look-and-note directory by only)
                  (agent-q-diff-pending-look-and-note directory by)
                  (agent-q-diff-changes--look-since directory only)))
               (alarm (agent-q-diff-changes-alarm left-out))
               (left-out-note (agent-q-diff-changes--left-out-note left-out))
               (notes (if (null files)
                          (list (agent-q-diff-changes--nothing-words
                                 root (agent-q-diff-changes-sentences alarm left-out-note) only))
                        (remq nil
                              (list alarm
                                    left-out-note
                                    (agent-q-diff-changes--committed-note files)
                                    (agent-q-diff-changes--commands-note root files)
                                    (if since
                                        (format "Everything since %s, yours included."
                                                (agent-q-diff-visible since))
                                      (agent-q-diff-changes--authors-note root files))))))
               (open (agent-q-diff-changes-open-review root since)))
    (agent-q-diff-pending-mode)
    (agent-q-diff-pending-count-soon root)
    (puthash root left-out agent-q-diff-changes--said)
    (list root
          (cond
           ((and open (agent-q-diff-change-waits-p
                      (agent-q-diff-written-waiter
                       (agent-q-diff-change-written (agent-q-diff-session-change open)))))
            (setq notes (list "a program waits for this review; what is new comes after it"))
            (when callback
              (add-function :after (agent-q-diff-session-callback open)
                            (lambda (result)
                              (funcall callback (agent-q-diff-result-with-message result)))))
            open)
           (t
            (when open
              (with-current-buffer (agent-q-diff-session-buffer open)
                (agent-q-diff-waiting-note))
              (let ((agent-q-diff-round-is-replacing t))
                (agent-q-diff-end open)))
            ;; Otherwise, not all that is pending is shown.
            (when-let ((ended (and (null only)
                                   (agent-q-diff-waiting-end-of root files left-out))))
              (cl-callf append notes ended)
              (unless files
                (agent-q-diff-told-queue-now root)))
            (when files
              (prog1 (agent-q-diff-changes--start root texts files since notes callback waiter
                                                  (and (numberp only) only))
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

(defun agent-q-diff-changes--start (root texts files since notes callback waiter turn)
  "Begin a review of FILES in the project at ROOT, and return it.
TEXTS and SINCE are as for `agent-q-diff-changes--change', NOTES sentences for
the user, and CALLBACK and WAITER as for `agent-q-diff-changes-begin'.  TURN is
the number of the turn of which alone FILES are, or nil."
  (let* ((default-directory root)
         (ended (lambda (result)
                  (agent-q-diff-pending-count-soon root)
                  (when callback
                    (funcall callback
                             (agent-q-diff-result-with-message
                              result (and (agent-q-diff-change-waits-p waiter)
                                          (agent-q-diff-told-take-comments root)))))))
         (protected (agent-q-diff-changes--protected root files))
         (notes (append (agent-q-diff-changes--protected-notes root protected) notes))
         (review (agent-q-diff-api-start
                  root ended nil nil nil "" #'agent-q-diff-mode notes
                  (lambda ()
                    (agent-q-diff-changes--change root texts files since protected)))))
    (unless (agent-q-diff-session-outcome review)
      (let ((written (agent-q-diff-change-written (agent-q-diff-session-change review))))
        (setf (agent-q-diff-written-waiter written) waiter
              (agent-q-diff-written-turn written) turn))
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
               (`(,_ ,review ,notes)
                (condition-case err
                    (agent-q-diff-changes-begin directory by nil nil only)
                  (agent-q-diff-error
                   (if is-by-key
                       (user-error "%s" (agent-q-diff-visible (agent-q-diff-error-text err)))
                     (signal (car err) (cdr err)))))))
    (cond
     ((null review)
      (message "%s" (string-join notes "; ")))
     ((agent-q-diff-session-outcome review)
      (message "%s" (agent-q-diff-visible
                     (plist-get (agent-q-diff-session-result review) :reason))))
     (t
      (pop-to-buffer (agent-q-diff-session-buffer review))
      (setq next-error-last-buffer (agent-q-diff-session-buffer review))
      (agent-q-diff-reviews-introduce review)))
    review))

(defun agent-q-diff-changes--shows-p (change texts pending)
  "Return non-nil if all that is pending of the file PENDING is in CHANGE.
Without the hunks of CHANGE that are not decided, the file would then be as it
was reviewed.  TEXTS is as from `agent-q-diff-pending-look'."
  (let* ((root (agent-q-diff-written-root (agent-q-diff-change-written change)))
         (path (agent-q-diff-file-named (agent-q-diff-pending-file-path pending) root))
         (file (seq-find (lambda (file)
                           (equal path (agent-q-diff-file-change-path file)))
                         (agent-q-diff-change-files change)))
         (buffer (and file (agent-q-diff-file-change-buffer file))))
    (cond
     ((or (null file)
          (not (agent-q-diff-changes--shows-kind-p file pending)))
      nil)
     ((or (not (agent-q-diff-file-change-has-text file))
          ;; It has not been visited, and has not changed.
          (not (buffer-live-p buffer))
          ;; Nothing was written into the file since, but by keys.
          (agent-q-diff-file-change-unsaved-p file)))
     (t (equal (agent-q-diff-pending-decoded
                (agent-q-diff-pending-bytes texts
                                            (cdr (agent-q-diff-pending-file-reviewed pending)))
                path)
               (agent-q-diff-outcome-after
                (agent-q-diff-text-in buffer)
                (agent-q-diff-engine-plan-all
                 (agent-q-diff-change-engine change) 'reject
                 (seq-position (agent-q-diff-change-files change) file #'eq))))))))

(defun agent-q-diff-changes--shows-kind-p (file pending)
  "Return non-nil if FILE has what else than lines is pending of PENDING."
  (let ((mode (car (agent-q-diff-pending-file-reviewed pending)))
        (new-mode (car (agent-q-diff-pending-file-working pending)))
        (operations (agent-q-diff-file-change-operations file)))
    (cond
     ((= mode new-mode))
     ((= 0 mode) (or (assq 'create operations) (assq 'link operations)))
     ((= 0 new-mode) (or (assq 'delete operations) (assq 'link operations)))
     (t (or (assq 'mode operations) (assq 'kind operations))))))

(defun agent-q-diff-changes--refresh (command &rest _)
  "Begin the review of this buffer anew if more is pending than is in it.
Return non-nil if so.  COMMAND is as for
`agent-q-diff-commands-instead-functions'."
  (when-let* ((written (and (eq command 'refresh)
                            (agent-q-diff-buffer-written-p)
                            (agent-q-diff-change-written agent-q-diff-buffer-change)))
              (root (agent-q-diff-written-root written)))
    (unless (or (agent-q-diff-written-since written)
                (agent-q-diff-written-turn written)
                (agent-q-diff-change-waits-p (agent-q-diff-written-waiter written)))
      (let ((change (agent-q-diff-signs-follow))
            (path (agent-q-diff-file-change-path (agent-q-diff-buffer-file))))
        (pcase-let ((`(,_ ,texts ,files) (agent-q-diff-pending-look root)))
          (unless (seq-every-p (apply-partially #'agent-q-diff-changes--shows-p change texts)
                               files)
            (agent-q-diff-changes--begin-at root path)
            t))))))

(defun agent-q-diff-changes--begin-at (root path)
  "Review what is pending in the project at ROOT, and go to the file PATH."
  (let* ((change (agent-q-diff-session-change (agent-q-diff-review-changes root)))
         (index (seq-position (agent-q-diff-change-files change) path
                              (lambda (file path)
                                (equal path (agent-q-diff-file-change-path file))))))
    (when index
      (agent-q-diff-buffer-goto-hunk
       (aref (agent-q-diff-change-first-hunks change) index)))))

(add-hook 'agent-q-diff-commands-instead-functions #'agent-q-diff-changes--refresh)

;;;###autoload
(defun agent-q-diff-review-submodule (submodule)
  "Review what has changed in SUBMODULE, the directory of a submodule.
That is a project of its own: what is pending in it is reviewed, or, if it is at
another commit than was reviewed in the project around it, all that differs
from that commit.  Interactively, it is a submodule of the current project which
has changes; ask for it if there are several."
  (interactive
   (pcase-let* ((`(,root ,_ ,_ ,left-out)
                 (agent-q-diff-pending-look (agent-q-diff-changes--directory nil)))
                (paths (mapcar #'car (agent-q-diff-changes--submodules left-out))))
     (list (file-name-as-directory
            (agent-q-diff-file-named
             (pcase paths
               ('nil (user-error "No submodule has changes in %s"
                                 (agent-q-diff-visible-name (abbreviate-file-name root))))
               (`(,path) path)
               (_ (completing-read "Review which submodule: " paths nil t)))
             root)))))
  (pcase-let* ((name (directory-file-name submodule))
               (`(,root ,_ ,_ ,left-out)
                (agent-q-diff-pending-look (file-name-directory name)))
               (found (cdr (assoc (file-relative-name name root)
                                  (agent-q-diff-changes--submodules left-out))))
               (`[,reviewed ,checked-out ,_ ,failed] (or found [nil nil nil nil])))
    (when failed
      (user-error "%s" (agent-q-diff-changes--submodule-words
                        (abbreviate-file-name name) found)))
    (unless (file-directory-p submodule)
      (user-error "Submodule %s is gone" (agent-q-diff-visible-name (abbreviate-file-name name))))
    (agent-q-diff-review-changes submodule
                                 (and (not (equal reviewed checked-out)) reviewed))))

;;;###autoload
(defun agent-q-diff-end-turns ()
  "Record that no agent is at work in the project of the current buffer any more.
An agent that was interrupted may not say so.  Rejections that wait for its end
are carried out then."
  (interactive)
  (let ((n (agent-q-diff-engine-call #'agent-q-diff-module-end-turns
                                     (agent-q-diff-changes--directory nil))))
    (message (if (= 0 n)
                 "No agent was at work"
               (format (ngettext "The turn of %d agent is over"
                                 "The turns of %d agents are over" n)
                       n))))
  (agent-q-diff-changes-carry-out (agent-q-diff-changes--directory nil)))

(defun agent-q-diff-changes-carry-out (directory)
  "Carry out what waits in the project of DIRECTORY, if no agent is at work there.
That is done in its open review, or else in one that nobody sees."
  (when-let* ((root (agent-q-diff-reviewed-root-of directory))
              ((null (agent-q-diff-engine-call #'agent-q-diff-module-at-work root))))
    (if-let ((open (agent-q-diff-changes-open-review (file-name-as-directory root))))
        (agent-q-diff-waiting-look-at open)
      (when (seq-some (pcase-lambda (`(,_ . ,notes))
                        (seq-some (lambda (note) (aref note 2)) notes))
                      (agent-q-diff-engine-call #'agent-q-diff-module-noted-hunks root))
        (let* ((agent-q-diff-display 'announce)
               (review (nth 1 (agent-q-diff-changes-begin root nil))))
          (when (and review (null (agent-q-diff-session-outcome review)))
            (agent-q-diff-waiting-look-at review)
            ;; The user was shown nothing of the rest.
            (let ((agent-q-diff-round-is-replacing t))
              (agent-q-diff-end review))
            (agent-q-diff-told-queue-now root)))))))

;;;###autoload
(defun agent-q-diff-mark-reviewed (&optional file)
  "Record that the project of the current buffer was reviewed as it is.
If FILE is non-nil, interactively with a prefix argument, only the file of this
buffer is meant, also one that was left out.  The files do not change.  Without
FILE, what others have written for git counts as known after that: programs that
it runs by itself, lines that hide files from it, commits of submodules, and of
files that are not looked at."
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
                            (and (memq (aref (cdr one) 0) '(large no-text unknown))
                                 (list only))))))
    (agent-q-diff-engine-call #'agent-q-diff-module-mark-reviewed directory paths)
    ;; That decides what waits there.
    (agent-q-diff-engine-call #'agent-q-diff-module-note-hunks directory (mapcar #'list paths))
    (agent-q-diff-pending-mode)
    (agent-q-diff-pending-note root texts (seq-difference files meant #'eq) left-out)
    (agent-q-diff-pending-count-soon root)
    (let* ((is-known (and (null file)
                          (< 0 (agent-q-diff-engine-call #'agent-q-diff-module-know directory))))
           (n (max 1 (length meant)))
           (files (and paths
                       (format (ngettext "%d file is reviewed as it is"
                                         "%d files are reviewed as they are" n)
                               n))))
      (message "%s" (or (if is-known
                            (concat files (and files "; ")
                                    "what was written for git is known")
                          files)
                        "Nothing was pending")))))

(provide 'agent-q-diff-changes)
;;; agent-q-diff-changes.el ends here
