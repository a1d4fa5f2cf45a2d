;;; agent-q-diff-pending.el --- What was written and not reviewed yet  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The engine knows of each file what the user has reviewed; what differs from
;; that is pending, whoever wrote it.  Here it is looked for, when a command asks
;; or Emacs is idle, and counted for the mode line.
;;
;; What the user saves in Emacs is reviewed by that, except where it touches
;; what is pending.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-reviewed)

;;;; Options

(defcustom agent-q-diff-staged-is-reviewed t
  "Whether what you put into git's index is reviewed by that.
It is what was staged while no agent was in a turn, in a project where turns
of agents are known, or with Magit in this Emacs.  What you take out of the
index stays reviewed."
  :group 'agent-q-diff-review
  :type 'boolean)

;;;; Before or after

(defcustom agent-q-diff-decide-when nil
  "When you decide about the edits that agents make with their own tools.
The value is an alist from names of agents to these symbols:

`before'  Before each edit, which is made only as you decide.  That is so for
          an agent that is not in the alist.
`after'   After the edits: they are made without a question, and are pending
          until you call `agent-q-diff-review-changes'.
`client'  As in the agent's own mode: `after' while it accepts edits by itself,
          as Claude Code does in its mode acceptEdits, and otherwise `before'.

A name is what the log and the header line call the agent, or the first word
of that, such as \"claude\" for Claude Code; case does not matter.  The name t
stands for all other agents.

With `after' as well, you are asked before an edit of a protected file, of one
outside the project, of one with unsaved edits in Emacs, and of one that would
not be pending once it is made, for example because git ignores it, or because
no turn of the agent is known; the review says why.  What
`agent-q-diff-tools-policy' denies or has reviewed is not made without asking.

While no Emacs runs, no edit is made, except with `after' in a project where
that was recorded: when Emacs decided about an edit of that agent, or looked at
the project.  There, no edit of a protected file is made."
  :type '(alist :key-type (choice (string :tag "Agent")
                                  (const :tag "All other agents" t))
                :value-type (choice (const :tag "Before each edit" before)
                                    (const :tag "After the edits" after)
                                    (const :tag "As in the agent's own mode" client)))
  :group 'agent-q-diff-agents)

(defun agent-q-diff-pending-choice (agent)
  "Return what `agent-q-diff-decide-when' has for AGENT, a name or nil."
  (pcase (cdr (or (seq-find (pcase-lambda (`(,name . ,_))
                              (and (stringp name)
                                   (agent-q-diff-base-agent-p name agent)))
                            agent-q-diff-decide-when)
                  (assq t agent-q-diff-decide-when)))
    ('nil 'before)
    ((and choice (or 'before 'after 'client)) choice)
    (choice (agent-q-diff-base-refuse "agent-q-diff-decide-when has %S; it must be %s"
                                      choice "before, after or client"))))

(defun agent-q-diff-pending-note-choice (directory agent)
  "Record in the project of DIRECTORY whether edits of AGENT pass without Emacs.
What cannot be recorded does not pass then."
  (when agent
    (ignore-error agent-q-diff-error
      (agent-q-diff-engine-call
       #'agent-q-diff-module-let-pass directory agent
       (if (and (eq 'after (agent-q-diff-pending-choice agent))
                ;; A function cannot be asked then.
                (memq agent-q-diff-tools-policy '(ask allow)))
           (apply #'append agent-q-diff-protected-denied
                  (mapcar #'cdr agent-q-diff-protected-asked))
         t)))))

(defun agent-q-diff-pending--note-choices (directory)
  "Record in the project of DIRECTORY what is chosen now of what is recorded there."
  (dolist (agent (ignore-error agent-q-diff-error
                   (agent-q-diff-engine-call #'agent-q-diff-module-passing directory)))
    (agent-q-diff-pending-note-choice directory agent)))

(defcustom agent-q-diff-shell-writes 'review
  "What happens when an agent's shell command plainly writes a project's file.
That is seen before the command runs, as far as the agent runs the hook then.
`review'  The command runs; what it has written is pending after that, and
          the end of the turn says by which command.
`ask'     The agent is told to use its edit tools instead, so that you decide
          by the hunk.

Only what the command says by itself counts: redirections, here-documents,
`sed -i', `perl -i', `tee', `patch', `git apply', `cp' and `mv' onto a file, and
Python code that opens a file to write.  What git ignores, what is outside the
project, and names with variables or wildcards do not count.  With `ask' as
well, a command runs if you review that agent's edits after they are made (see
`agent-q-diff-decide-when'), if you have allowed its edits in the project, or
if no Emacs runs; and what other programs write is pending as with `review'."
  :type '(choice (const :tag "Review it after that" review)
                 (const :tag "Have the agent use its edit tools" ask))
  :group 'agent-q-diff-agents)

;;;; What is pending

(cl-defstruct (agent-q-diff-pending-file (:type vector) (:constructor nil) (:copier nil))
  "A file in `agent-q-diff-module-pending', or `agent-q-diff-module-pending-since'.
TURNS, which is nil there, is (AUTHORS . LINES) with the numbers of turns; in
the slots of these names, their agents have names."
  path reviewed working authors lines now from turns is-in-head)

(cl-defstruct (agent-q-diff-turn (:type vector) (:constructor nil) (:copier nil))
  "A turn, as in `agent-q-diff-module-turns'.
Those in `agent-q-diff-module-pending' end with IS-OVER."
  id time head agent session title pid is-over n-kept n-taken-out paths)

(defun agent-q-diff-pending-paths (files)
  "Return the paths of FILES, a list of `agent-q-diff-pending-file'.
Those that files had before they were renamed are among them."
  (mapcan (lambda (file)
            (remq nil (list (agent-q-diff-pending-file-path file)
                            (car (agent-q-diff-pending-file-from file)))))
          files))

(defun agent-q-diff-pending-look (directory &optional by turn)
  "Return what is pending in the project of DIRECTORY.
That is (ROOT TEXTS FILES LEFT-OUT).  See `agent-q-diff-module-pending', also
for BY.  In the authors of FILES, the agents of turns have their names.  If
TURN is the number of a turn, FILES are those in which its agent has written."
  ;; What an Emacs left that was killed while it wrote is nobody's new file.
  (agent-q-diff-file-clean-up)
  (agent-q-diff-engine-call #'agent-q-diff-module-keep-staged
                             (expand-file-name directory) agent-q-diff-staged-is-reviewed)
  (agent-q-diff-pending--note-choices (expand-file-name directory))
  (pcase-let ((`[,root ,texts ,files ,left-out ,turns]
               (agent-q-diff-engine-call #'agent-q-diff-module-pending
                                          (expand-file-name directory) by)))
    (when-let ((paths (and agent-q-diff-outside-is-reviewed turns
                           (agent-q-diff-pending-paths
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
      (setf (agent-q-diff-pending-file-turns file)
            (cons (agent-q-diff-pending-file-authors file)
                  (mapcar (pcase-lambda (`([,start ,end] . ,authors)) (list start end authors))
                          (agent-q-diff-pending-file-lines file))))
      (cl-callf agent-q-diff-pending--names (agent-q-diff-pending-file-authors file) turns)
      (cl-callf2 mapcar (pcase-lambda (`([,start ,end] . ,authors))
                          (list start end (agent-q-diff-pending--names authors turns)))
                 (agent-q-diff-pending-file-lines file)))
    (list (file-name-as-directory root) texts files left-out)))

(defun agent-q-diff-pending--names (who turns)
  "Return WHO, a list of authors, in which agents have their names.
WHO and TURNS are as in `agent-q-diff-module-pending'."
  (seq-uniq
   (mapcar (lambda (author)
             (cond
              ((integerp author) (agent-q-diff-pending--agent author turns))
              ((consp author)
               (cons 'background (agent-q-diff-pending--agent (car author) turns)))
              ;; Where no turn is known, nothing is outside one.
              ((and (eq author 'outside) (null turns)) 'somebody)
              (t author)))
           who)))

(defun agent-q-diff-pending--agent (id all)
  "Return the name of the agent of the turn ID, which is or was one of ALL."
  (if-let ((turn (seq-find (lambda (turn) (eql id (agent-q-diff-turn-id turn))) all)))
      (agent-q-diff-turn-agent turn)
    "an agent"))

(defun agent-q-diff-pending-bytes (texts name)
  "Return the bytes of the text with NAME in the folder TEXTS; \"\" if NAME is nil.
NAME is their digest.  If it is that of other bytes, signal an error."
  (if name
      (agent-q-diff-engine-call #'agent-q-diff-module-text-bytes
                                (expand-file-name texts) name)
    ""))

;;;; Texts

(defun agent-q-diff-pending-decoded (bytes path)
  "Return BYTES of the file PATH, decoded as when it is visited."
  (car (agent-q-diff-coding-decode-bytes path bytes t)))

(defun agent-q-diff-pending-text-p (bytes)
  "Return non-nil if BYTES are text, which can be decided by the hunk.
Text of UTF-16 says so by its first two bytes."
  (or (string-match-p "\\`\\(?:\377\376\\|\376\377\\)" bytes)
      (not (string-search "\0" bytes))))

;; A review, the numbers of hunks and the marks in files begin with this alike.
(defun agent-q-diff-pending-decoded-both (path bytes new-bytes)
  "Return (TEXT NEW-TEXT CODING NEW-CODING) of the file PATH.
It has NEW-BYTES, not BYTES; see `agent-q-diff-coding-decode-both'.  Return nil
if it is decided as a whole."
  (and (agent-q-diff-pending-text-p bytes)
       (agent-q-diff-pending-text-p new-bytes)
       (ignore-error agent-q-diff-bad-target
         (agent-q-diff-coding-decode-both path bytes new-bytes))))

;;;; Projects that are looked at

(cl-defstruct (agent-q-diff-pending-project (:constructor agent-q-diff-pending--project)
                                            (:copier nil))
  "What was pending in a project when it was looked at last."
  (texts nil :documentation "The folder of the texts.")
  (files nil :documentation "What was pending, a list of `agent-q-diff-pending-file'.")
  (n-submodules 0 :documentation "Number of submodules that have changes.")
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

(defun agent-q-diff-pending-n-hunks (root texts file &optional by)
  "Return the number of hunks that FILE has in a review; at least 1.
FILE is an `agent-q-diff-pending-file'.  ROOT and TEXTS are as from
`agent-q-diff-pending-look'.  What is decided as a whole is one hunk.
If BY is (AUTHOR . LINES), count only hunks that AUTHOR wrote.  LINES says who
wrote which lines, if not all have the same authors; see `agent-q-diff-written'."
  (pcase-let ((`(,mode . ,text) (agent-q-diff-pending-file-reviewed file))
              (`(,new-mode . ,new-text) (agent-q-diff-pending-file-working file)))
    (if (or (= 0 new-mode)
            (memq agent-q-diff-reviewed-link (list mode new-mode)))
        1
      (+ (if (memq mode (list 0 new-mode)) 0 1)
         (if (agent-q-diff-pending-file-from file) 1 0)
         (cond
          ((equal text new-text) 0)
          (t (agent-q-diff-pending--n-text-hunks
              (agent-q-diff-file-named (agent-q-diff-pending-file-path file) root)
              (agent-q-diff-pending-bytes texts text)
              (agent-q-diff-pending-bytes texts new-text)
              by)))))))

(defun agent-q-diff-pending--n-text-hunks (path bytes new-bytes by)
  "Return the number of hunks from BYTES to NEW-BYTES of the file PATH.
BY is as for `agent-q-diff-pending-n-hunks'."
  (or (agent-q-diff-pending-compare
       path bytes new-bytes
       (lambda (engine codings)
         ;; How the lines are encoded is a hunk of its own.
         (+ (cl-loop for hunk below (length (agent-q-diff-module-marks engine))
                     count (let ((authors (agent-q-diff-change-authors-of-lines
                                           engine hunk (cdr by))))
                             (or (null authors) (memql (car by) authors))))
            (if (apply #'agent-q-diff-coding-same-p codings) 0 1))))
      1))

(defun agent-q-diff-pending-compare (path bytes new-bytes use)
  "Compare BYTES of the file PATH with NEW-BYTES, and call USE with a review.
It is one of the engine, and is freed after that.  The second argument of USE is
a list of both coding systems.  Return the value of USE, or nil without calling
it if the bytes are not text, or differ only in how it is encoded."
  (agent-q-diff-base-collecting-once
    (pcase (agent-q-diff-pending-decoded-both path bytes new-bytes)
      (`(,text ,new-text . ,codings)
       (ignore-error agent-q-diff-identical
         (let ((engine (agent-q-diff-engine-review text new-text)))
           (unwind-protect
               (funcall use engine codings)
             (agent-q-diff-module-free engine))))))))

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
                  (agent-q-diff-pending-n-hunks
                   root (agent-q-diff-pending-project-texts project) file))))
        (when n
          (puthash file n n-hunks))))
    (agent-q-diff-pending--sum-up project)
    (null files)))

(defun agent-q-diff-pending-amount (root)
  "Return how much is pending in the project at ROOT, as \"3 files, 12 hunks\".
Submodules that have changes are counted after that.  Return nil if nothing is
known to be.  Until the hunks are counted, only the files are named."
  (let ((project (agent-q-diff-pending-known root)))
    (and project (agent-q-diff-pending-project-amount project))))

(defun agent-q-diff-pending--sum-up (project)
  "Compute the amount of PROJECT, for which the mode line asks at each redisplay."
  (let* ((files (agent-q-diff-pending-project-files project))
         (n-files (length files))
         (n-submodules (agent-q-diff-pending-project-n-submodules project))
         (counts (mapcar (lambda (file)
                           (gethash file (agent-q-diff-pending-project-n-hunks project)))
                         files))
         (words (remq nil (list
                           (and files (format (ngettext "%d file" "%d files" n-files) n-files))
                           (and files
                                (not (memq nil counts))
                                (let ((n (apply #'+ counts)))
                                  (format (ngettext "%d hunk" "%d hunks" n) n)))
                           (and (> n-submodules 0)
                                (format (ngettext "%d submodule" "%d submodules" n-submodules)
                                        n-submodules))))))
    (setf (agent-q-diff-pending-project-amount project)
          (and words (string-join words ", ")))))

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
        (agent-q-diff-pending-look-and-note root)))
    (agent-q-diff-pending-known root)))

(defun agent-q-diff-pending--recent-p (project)
  "Return non-nil if the last look at PROJECT was just now."
  (< (float-time (time-since (agent-q-diff-pending-project-time project)))
     agent-q-diff-pending--least-seconds))

(defun agent-q-diff-pending-look-and-note (directory &optional by turn)
  "Return what is pending in the project of DIRECTORY, and record it.
The value, BY and TURN are as for `agent-q-diff-pending-look'.  What is
pending of one TURN is not recorded, since it is not all."
  (let ((found (agent-q-diff-pending-look directory by turn)))
    (pcase-let ((`(,root ,texts ,files ,left-out) found))
      (unless turn
        (agent-q-diff-pending-note root texts files left-out)))
    found))

(defun agent-q-diff-pending-note (root texts files left-out)
  "Record that FILES are pending in the project at ROOT, and show how many.
TEXTS is the folder of their texts.  LEFT-OUT is as from
`agent-q-diff-pending-look'."
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
                    :texts texts :files files :n-hunks n-hunks :time (current-time)
                    :n-submodules (seq-count (lambda (one)
                                               (and (consp one) (eq 'submodule (aref (cdr one) 0))))
                                             left-out))))
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
    (first-change-hook . agent-q-diff-reviewed-before-edit)
    (after-revert-hook . agent-q-diff-disk-drop-base)
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
  (funcall (if agent-q-diff-pending-mode #'add-variable-watcher #'remove-variable-watcher)
           'undo-in-progress #'agent-q-diff-reviewed-note-undo)
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

;;;; What a shell command has written

(defvar agent-q-diff-pending--running nil
  "List of (CALL AGENT SESSION COMMAND . STATES), commands that may be running.
STATES is an alist from the files that COMMAND names to their states before it.")

(defvar agent-q-diff-pending--commands nil
  "Alist from files to (STATE AGENT COMMAND), the latest command that changed it.")

(defconst agent-q-diff-pending--max-commands 200
  "Number of commands, and of files changed by commands, that are remembered.")

(defconst agent-q-diff-pending--command-width 40
  "Number of columns of a command that are shown.")

(defun agent-q-diff-pending--state (file)
  "Return the state of FILE, an absolute name, another one once it is written."
  (let ((attributes (file-attributes file)))
    (list (file-attribute-modification-time attributes) (file-attribute-size attributes)
          (file-attribute-inode-number attributes))))

(defun agent-q-diff-pending-note-command (id agent session command files)
  "Note that the call ID of AGENT in SESSION is about to run COMMAND.
FILES are the true names of the files that it plainly writes."
  (push (cl-list* id agent session command
                  (mapcar (lambda (file)
                            (cons file (agent-q-diff-pending--state file)))
                          files))
        agent-q-diff-pending--running)
  (setq agent-q-diff-pending--running
        (seq-take agent-q-diff-pending--running agent-q-diff-pending--max-commands)))

(defun agent-q-diff-pending-command-ended (agent session &optional id is-unknown)
  "Note which files the commands of AGENT in SESSION have changed by now.
If ID is non-nil, only that call has ended.  If IS-UNKNOWN is non-nil, more may
have run since they began, so that nothing is known of them."
  (pcase-dolist ((and running `(,call ,its ,in ,command . ,states))
                 agent-q-diff-pending--running)
    (when (and (equal its agent) (equal in session) (or (null id) (equal call id)))
      (setq agent-q-diff-pending--running (delq running agent-q-diff-pending--running))
      (pcase-dolist (`(,file . ,before) (and (not is-unknown) states))
        (let ((now (agent-q-diff-pending--state file)))
          (unless (equal now before)
            (setf (alist-get file agent-q-diff-pending--commands nil nil #'equal)
                  (list now agent command)))))))
  (setq agent-q-diff-pending--commands
        (seq-take agent-q-diff-pending--commands agent-q-diff-pending--max-commands)))

(defun agent-q-diff-pending-command-words (command)
  "Return the beginning of COMMAND, as it is shown."
  (agent-q-diff-visible-beginning
   (agent-q-diff-visible (string-join (split-string command) " "))
   agent-q-diff-pending--command-width))

(defun agent-q-diff-pending-commands (root files)
  "Return which of FILES, pending below ROOT, a command of an agent has changed.
The value is a list of (PATH AGENT COMMAND), the words of COMMAND to be shown.
Files that were written since are not in it."
  (delq nil
        (mapcar
         (lambda (file)
           (let* ((path (agent-q-diff-pending-file-path file))
                  ;; A link may lead to itself.
                  (name (ignore-error error
                          (file-truename (expand-file-name path root)))))
             (pcase (cdr (assoc name agent-q-diff-pending--commands))
               ((and `(,state ,agent ,command)
                     (guard (equal state (agent-q-diff-pending--state name))))
                (list path agent (agent-q-diff-pending-command-words command))))))
         (and agent-q-diff-pending--commands files))))

(provide 'agent-q-diff-pending)
;;; agent-q-diff-pending.el ends here
