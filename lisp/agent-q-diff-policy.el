;;; agent-q-diff-policy.el --- Hunks that the user's rules decide  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; When a review begins, rules of the user's can decide some of its hunks: keep
;; those that change only white space, reject those of generated files.  They
;; are decided as by a key, so each of them can be undone; a note above the diff
;; says how many they are, and the result and the log which.
;;
;; The rules decide nothing in a protected file, nor in one outside the project,
;; nor about a hunk that has lines of the user's, or on which the user has noted
;; something.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-syntax)
(require 'agent-q-diff-current)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-commands)

(defcustom agent-q-diff-policy-rules nil
  "Rules that decide hunks when a review begins.
The value is a list of (CLASS . ACTION), and the first rule counts whose class
a hunk is in.  CLASS is one of

- `white-space': hunks that change only white space, where that cannot mean
  anything;
- (files . GLOB): all of the files that match GLOB, a shell wildcard: their
  names, or if it has a slash, their paths below the root of the project,
  where * matches slashes, too;
- (agent . NAME): what the agent NAME proposes, or has written alone.  NAME is
  what the review calls it, or the first word of that; case does not matter.

ACTION is `keep', `ask', which leaves the hunk to you, or (reject . REASON),
where REASON is a string that the agent reads.  For example:

  \='((white-space . keep)
    ((files . \"*.lock\") . (reject . \"run the package manager\")))

So hunks are decided in reviews before the write, of what agents propose, and in
those of what was written already, there also taken out of the files; while an
agent is at work, that waits until it has ended.  A note above the diff says
what was decided, and the keys that undo decide otherwise.  A review before
the write in which nothing is left to decide ends at once.

No rule decides about a protected file, one outside the project, or a hunk that
you have edited, too.

Whether there is a review at all is decided before that, for each call of a
tool, by `agent-q-diff-tools-policy'."
  :type '(repeat
          (cons :tag "Rule"
                (choice :tag "Class"
                        (const :tag "Only white space" white-space)
                        (cons :tag "Files" (const files) (string :tag "Wildcard"))
                        (cons :tag "Agent" (const agent) (string :tag "Name")))
                (choice :tag "Action"
                        (const :tag "Keep" keep)
                        (const :tag "Ask" ask)
                        (cons :tag "Reject" (const reject) (string :tag "Reason")))))
  :group 'agent-q-diff-review)

;;;; Which rule a hunk is for

(defun agent-q-diff-policy--check ()
  "Signal an error if a rule of `agent-q-diff-policy-rules' is not one."
  (dolist (rule agent-q-diff-policy-rules)
    (pcase rule
      ((and `(,(or 'white-space `(,(or 'files 'agent) . ,(pred stringp))) . ,action)
            (guard (pcase action
                     ((or 'keep 'ask `(reject . ,(pred stringp))) t)))))
      (_ (agent-q-diff-base-refuse "agent-q-diff-policy-rules has %S, which is no rule" rule)))))

(defun agent-q-diff-policy--root (review)
  "Return the root of the project of REVIEW."
  (if-let ((written (agent-q-diff-change-written (agent-q-diff-session-change review))))
      (agent-q-diff-written-root written)
    (agent-q-diff-guard-root)))

(defun agent-q-diff-policy--names (file)
  "Return the absolute names that FILE has, and would get."
  (seq-uniq (delq nil (list (agent-q-diff-file-change-path file)
                            (agent-q-diff-file-change-old-path file)
                            (agent-q-diff-file-change-new-path file)))))

(defun agent-q-diff-policy--barred-p (file root)
  "Return non-nil if no rule decides about FILE of the project at ROOT."
  (seq-some (lambda (name)
              (condition-case nil
                  (cdr (agent-q-diff-guard-find name root))
                (error t)))
            (agent-q-diff-policy--names file)))

(defun agent-q-diff-policy--matches-p (glob file root)
  "Return non-nil if GLOB matches FILE of the project at ROOT."
  (let ((regexp (wildcard-to-regexp glob))
        (case-fold-search nil))
    (seq-some (lambda (name)
                (string-match-p regexp (if (string-search "/" glob)
                                           (file-relative-name name root)
                                         (file-name-nondirectory name))))
              (agent-q-diff-policy--names file))))

(defun agent-q-diff-policy--by-p (name review hunk)
  "Return non-nil if HUNK of REVIEW is by the agent NAME, and by nobody else."
  (let ((change (agent-q-diff-session-change review)))
    (agent-q-diff-base-agent-p
     name
     (if (agent-q-diff-change-written change)
         (pcase (agent-q-diff-change-hunk-authors change hunk)
           (`(,(and agent (pred stringp))) agent))
       (or (agent-q-diff-call-agent (agent-q-diff-session-call review))
           (agent-q-diff-session-agent review))))))

(defun agent-q-diff-policy--rule (review root hunk blank)
  "Return the rule for HUNK of REVIEW in the project at ROOT, or nil.
BLANK are the hunks that change only white space."
  (let ((file (agent-q-diff-change-file-of (agent-q-diff-session-change review) hunk)))
    (seq-find (lambda (rule)
                (pcase-exhaustive (car rule)
                  ('white-space (memql hunk blank))
                  (`(files . ,glob) (agent-q-diff-policy--matches-p glob file root))
                  (`(agent . ,name) (agent-q-diff-policy--by-p name review hunk))))
              agent-q-diff-policy-rules)))

(defun agent-q-diff-policy--left-p (change hunk is-noted)
  "Return non-nil if HUNK of CHANGE is pending, and the user noted nothing on it.
IS-NOTED is as for `agent-q-diff-policy-apply'."
  (let ((snapshot (agent-q-diff-change-hunk change hunk)))
    (not (or (agent-q-diff-engine-hunk-mark snapshot)
             (and is-noted (funcall is-noted change hunk))
             (agent-q-diff-change-to-go-p change snapshot)
             (memq 'user (agent-q-diff-change-hunk-authors change hunk))))))

(defun agent-q-diff-policy--meant (review is-noted)
  "Return (ID . RULE) of each hunk of REVIEW that a rule decides.
ID is that of the hunk.  IS-NOTED is as for `agent-q-diff-policy-apply'."
  (let* ((change (agent-q-diff-session-change review))
         (blank (agent-q-diff-syntax-white-space-hunks change))
         (root (agent-q-diff-policy--root review))
         (barred nil))
    (cl-flet ((barred-p (file)
                (cdr (or (assq file barred)
                         (car (push (cons file (agent-q-diff-policy--barred-p file root))
                                    barred))))))
      (cl-loop for hunk below (car (agent-q-diff-change-tally change))
               for rule = (agent-q-diff-policy--rule review root hunk blank)
               when (and rule
                         (not (eq 'ask (cdr rule)))
                         (agent-q-diff-policy--left-p change hunk is-noted)
                         (not (barred-p (agent-q-diff-change-file-of change hunk))))
               collect (cons (agent-q-diff-engine-hunk-id
                              (agent-q-diff-change-hunk change hunk))
                             rule)))))

;;;; Deciding

(defun agent-q-diff-policy-apply (review &optional is-noted)
  "Decide those hunks of REVIEW, which has just begun, that rules are for.
If nothing is left to decide in a review before the write, end it.  A review of
what differs from a commit is left to the user, and so is one that the user
asked for, unless that is of what was written already.  A hunk of which the user
has noted something is left, too: one with a comment, one that waits, and one
for which IS-NOTED, a function called with the change and the hunk, says so."
  (let* ((change (agent-q-diff-session-change review))
         (written (agent-q-diff-change-written change)))
    (when (and agent-q-diff-policy-rules
               (not (agent-q-diff-session-outcome review))
               (if written
                   (null (agent-q-diff-written-since written))
                 (not (agent-q-diff-call-is-by-user (agent-q-diff-session-call review)))))
      (condition-case err
          (progn
            (agent-q-diff-policy--check)
            (with-current-buffer (agent-q-diff-session-buffer review)
              (when-let ((meant (agent-q-diff-policy--meant review is-noted)))
                (agent-q-diff-policy--decide review meant))))
        (error
         (agent-q-diff-base-warn
          (format "Your rules could not be followed: %s" (agent-q-diff-error-text err))))))))

(defun agent-q-diff-policy--decide (review meant)
  "Decide the hunks MEANT of REVIEW, whose diff buffer is current, as one step.
MEANT is as from `agent-q-diff-policy--meant'."
  (let* ((change (agent-q-diff-session-change review))
         (done nil))
    (agent-q-diff-decide-in-one-step
     change
     (lambda () (setq done (agent-q-diff-policy--carry-out change meant))))
    (agent-q-diff-buffer-write-states)
    (if (and (not (agent-q-diff-change-written change))
             (zerop (nth 3 (agent-q-diff-change-tally change))))
        (let ((name (agent-q-diff-session-name review)))
          (agent-q-diff-finish)
          (message "%s: %s, not shown" (agent-q-diff-visible name)
                   (agent-q-diff-policy--words done)))
      (when done
        (agent-q-diff-display-add-note
         (concat (agent-q-diff-policy--words done)
                 (and (agent-q-diff-change-by-policy change)
                      (substitute-command-keys "; \\<agent-q-diff-mode-map>\
\\[agent-q-diff-unapply-hunk] on a hunk undoes that, \\[agent-q-diff-unseen-mode] shows what \
you have not seen of them"))
                 ".")))
      (agent-q-diff-signs-show-all)
      (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-policy--forget nil t)
      (agent-q-diff-buffer-goto-hunk
       (or (seq-position (agent-q-diff-change-marks change) nil #'eq) 0))
      ;; The user has not moved there.
      (setq agent-q-diff-buffer-is-moved nil)
      (dolist (window (get-buffer-window-list nil 'never t))
        (set-window-point window (point))
        (set-window-start window (point-min))
        (agent-q-diff-current-appear window)))))

(defun agent-q-diff-policy--carry-out (change meant)
  "Carry out what rules say of the hunks MEANT of CHANGE, each file at once.
MEANT is as from `agent-q-diff-policy--meant'.  Return a list of (DID . CLASS):
DID is what became of a hunk, `keep', `reject', `take-out' or `wait', or `left'
if that failed, so that the hunk says why; CLASS is that of its rule."
  (let* ((engine (agent-q-diff-change-engine change))
         (out (if (agent-q-diff-change-written change) 'take-out 'reject))
         (rows (cl-loop for (id class . action) in meant
                        for hunk = (agent-q-diff-module-hunk-with-id engine id)
                        for reason = (cdr-safe action)
                        when hunk
                        collect (list hunk id class reason
                                      (cond
                                       ((null reason) 'keep)
                                       ((and (eq out 'take-out)
                                             (agent-q-diff-commands-wait-p hunk))
                                        'wait)
                                       (t out)))))
         (left nil))
    ;; Noted before that, as C-g may come right after it.
    (cl-loop for (_ id _ reason _) in rows
             do (push (cons id (cons (if reason 'rejected 'applied) reason))
                      (agent-q-diff-change-by-policy change)))
    (unwind-protect
        (setq left (cl-loop for (did . command) in `((keep . accept) (,out . reject))
                            for hunks = (cl-loop for row in rows
                                                 when (eq did (nth 4 row)) collect (car row))
                            append (and hunks
                                        (agent-q-diff-policy--these change command hunks))))
      (agent-q-diff-policy--forget))
    (cl-loop for (hunk _ class _ did) in rows
             collect (cons (if (memql hunk left) 'left did) class))))

(defun agent-q-diff-policy--these (change command hunks)
  "Carry out COMMAND on HUNKS of CHANGE; return those for which that failed.
If something cannot be carried out in one of several files, do it one by one."
  (condition-case nil
      (mapcar #'car (agent-q-diff-decide-these change command hunks))
    (agent-q-diff-error
     (seq-remove (lambda (hunk)
                   (ignore-error agent-q-diff-error
                     (agent-q-diff-decide-hunk change command hunk)))
                 hunks))))

(defun agent-q-diff-policy--forget (&rest _)
  "Forget the rules of those hunks that the user has decided otherwise."
  (when-let ((change agent-q-diff-buffer-change))
    (let ((waiting (when-let ((written (agent-q-diff-change-written change)))
                     (agent-q-diff-written-waiting written))))
      (cl-callf2 seq-filter
          (pcase-lambda (`(,id . (,mark . ,_)))
            (or (memql id waiting)
                (when-let ((hunk (agent-q-diff-module-hunk-with-id
                                  (agent-q-diff-change-engine change) id)))
                  (eq mark (agent-q-diff-engine-hunk-mark
                            (agent-q-diff-change-hunk change hunk))))))
          (agent-q-diff-change-by-policy change)))))

(defun agent-q-diff-policy--words (done)
  "Return words about DONE, a list of (DID . CLASS), what rules have decided."
  (string-join
   (cl-loop for (did one . more)
            in '((left "%d hunk left to you, since your rules could not decide it (%s)"
                       . "%d hunks left to you, since your rules could not decide them (%s)")
                 (keep "%d hunk kept by your rules (%s)"
                       . "%d hunks kept by your rules (%s)")
                 (reject "%d hunk rejected by your rules (%s)"
                         . "%d hunks rejected by your rules (%s)")
                 (take-out "%d hunk taken out by your rules (%s)"
                           . "%d hunks taken out by your rules (%s)")
                 (wait "%d hunk taken out by your rules when the agent's turn ends (%s)"
                       . "%d hunks taken out by your rules when the agent's turn ends (%s)"))
            for classes = (cl-loop for (what . class) in done
                                   when (eq what did) collect class)
            for n = (length classes)
            when classes
            collect (format (ngettext one more n) n
                            (mapconcat #'agent-q-diff-policy--class-words
                                       (seq-uniq classes) ", ")))
   "; "))

(defun agent-q-diff-policy--class-words (class)
  "Return words for CLASS of a rule."
  (pcase-exhaustive class
    ('white-space "white space")
    (`(files . ,glob) (agent-q-diff-visible glob))
    (`(agent . ,name) (agent-q-diff-visible name))))

(provide 'agent-q-diff-policy)
;;; agent-q-diff-policy.el ends here
