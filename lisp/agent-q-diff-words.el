;;; agent-q-diff-words.el --- What commands say about what they did  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The messages of commands that decide hunks: what was done, what of it is not
;; saved yet, what a hook of the user's undid on saving, and what could not be
;; done, and why.

;;; Code:

(require 'cl-lib)
(require 'format-spec)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-section)
(require 'agent-q-diff-display)

;;;; What was done

(defun agent-q-diff-words-note (command note hunk)
  "Return a message about what COMMAND did to HUNK.
NOTE is the note of the plan, a symbol; HUNK is an
`agent-q-diff-engine-hunk'."
  (format-spec
   (pcase-exhaustive (cons note command)
     ((guard (agent-q-diff-buffer-written-p))
      (agent-q-diff-words--written-note note hunk))
     (`(edited . unapply)   "%n taken out of the %t")
     (`(edited . ,_)
      (let ((offset (agent-q-diff-engine-hunk-offset hunk))
            (fuzz (agent-q-diff-engine-hunk-fuzz hunk)))
        (concat "%n %a"
                (if (> fuzz 0) (format " with fuzz %d" fuzz) "")
                (if (/= offset 0) (format " at offset %d" offset) ""))))
     (`(marked . reject)    "%n rejected")
     (`(marked . ,_)        "%n pending")
     (`(unchanged . reject) "%n rejected already")
     (`(unchanged . ,_)     "%n %a already")
     (`(already-in . ,_)    "%n %a; its change was in the %t already")
     ;; By key, point moves on.
     (`(stays-in . reject)  "%n rejected; its change stays in the %t, u on it takes it out")
     (`(stays-in . ,_)      "%n pending; its change stays in the %t, u takes it out")
     (`(already-out . ,_)   "%n pending; its change was no longer in the %t"))
   `((?n . ,(agent-q-diff-buffer-hunk-words (agent-q-diff-engine-hunk-index hunk) 'first))
     (?a . ,(agent-q-diff-buffer-mark-word 'applied))
     (?t . ,(agent-q-diff-buffer-target-word)))))

(defun agent-q-diff-words--written-note (note hunk)
  "Return what to say about a hunk that was written before its review.
NOTE and HUNK are as for `agent-q-diff-words-note'; the value is a
format for `format-spec'."
  (pcase-exhaustive (cons note (agent-q-diff-engine-hunk-mark hunk))
    (`(edited . rejected)      "%n taken out")
    (`(edited . applied)       "%n put back, and kept")
    (`(edited . nil)           "%n put back, and pending")
    (`(marked . applied)       "%n kept")
    (`(marked . nil)           "%n pending")
    (`(unchanged . applied)    "%n kept already")
    (`(unchanged . rejected)   "%n taken out already")
    (`(unchanged . nil)        "%n pending already")
    (`(already-out . rejected) "%n taken out; somebody had done that already")
    (`(already-out . nil)      "%n pending; it is not in the file any more")))

(defun agent-q-diff-words-counts (change)
  "Return words to append about how far the review of CHANGE has come."
  (pcase-let ((`(,total ,_ ,_ ,pending) (agent-q-diff-change-tally change)))
    (if (zerop pending)
        (concat (if (and (agent-q-diff-change-written change)
                         (agent-q-diff-written-since (agent-q-diff-change-written change)))
                    "; all is decided, "
                  "; nothing is pending, ")
                (substitute-command-keys
                 "\\<agent-q-diff-mode-map>\\[agent-q-diff-finish] finishes"))
      (format "; %d of %d decided, %d pending" (- total pending) total pending))))

(defun agent-q-diff-words-progress (change &optional unseen)
  "Return words on what has changed in the files of CHANGE, and on its review.
The first are about what others have done meanwhile, as from
`agent-q-diff-change-followed-words'; the rest are `agent-q-diff-words-counts'.
UNSEEN are words on what was not shown, or \"\"; they come before these, and
take the place of the counts, which the header line has, too."
  (let ((counts (if (member unseen '(nil ""))
                    (agent-q-diff-words-counts change)
                  "")))
    (concat unseen (agent-q-diff-change-followed-words change) counts)))

(defun agent-q-diff-words-unsaved (file note &optional change hunks)
  "Return words to append if what was decided is not in the file yet.
NOTE is the note of the plan, which was for HUNKS of CHANGE in FILE, an
`agent-q-diff-file-change', or if HUNKS is nil, for any.  If
`agent-q-diff-save' is `never', there are no words: the user knows."
  (if (and (not (eq agent-q-diff-save 'never))
           (agent-q-diff-file-change-unsaved-p file)
           (let ((report (and hunks (agent-q-diff-file-change-unsaved-hunks file)))
                 (first (and hunks
                             (+ (aref (agent-q-diff-change-first-hunks change)
                                      (agent-q-diff-change-file-index change (car hunks)))
                                (length (agent-q-diff-file-change-decided-operations file))))))
             (seq-some (lambda (hunk)
                         (pcase (and hunk (nth (- hunk first) report))
                           ('(applied buffer) t)
                           ((or 'nil `(,(or 'nil 'rejected) unsaved)) (eq note 'edited))))
                       (or hunks '(nil)))))
      (format "; not saved, since %s has unsaved edits"
              (agent-q-diff-text-buffer-name (agent-q-diff-file-change-buffer file)))
    ""))

(defun agent-q-diff-words--unsaved-several (change note hunks)
  "Return what `agent-q-diff-words-unsaved' does for HUNKS of any files of CHANGE.
NOTE is as for that function."
  (let ((words (cl-loop for (file . hunks)
                        in (seq-group-by (apply-partially #'agent-q-diff-change-file-of change)
                                         hunks)
                        for words = (agent-q-diff-words-unsaved file note change hunks)
                        unless (string-empty-p words) collect words)))
    (if (cdr words)
        (format "; %d files are not saved, since they have unsaved edits" (length words))
      (or (car words) ""))))

(defun agent-q-diff-words-hook (change hunks)
  "Return words to append if a hook undid on saving what was decided on HUNKS.
They are of CHANGE, which has followed its files."
  (let ((differing (cl-loop for hunk in hunks
                            for state = (agent-q-diff-change-hunk change hunk)
                            for differs = (and (agent-q-diff-file-change-hook-changed
                                                (agent-q-diff-change-file-of change hunk))
                                               (not (eq 'in (agent-q-diff-change-hooked
                                                             change state)))
                                               (agent-q-diff-signs-difference
                                                (agent-q-diff-engine-hunk-mark state)
                                                (agent-q-diff-engine-hunk-fact state)
                                                (agent-q-diff-engine-hunk-place state)))
                            when differs collect differs)))
    (cond
     ((null differing) "")
     ((cdr hunks) (format ", but %d not as decided: on saving, a hook changed the lines"
                          (length differing)))
     (t (format ", %s: on saving, a hook changed its lines" (car differing))))))

(defun agent-q-diff-words-file-name (change index)
  "Return the name of file INDEX of CHANGE, for display."
  (agent-q-diff-section-file-name
   (agent-q-diff-file-change-path (nth index (agent-q-diff-change-files change)))))

(defun agent-q-diff-words-say-file (command change index unseen)
  "Show a message that COMMAND was carried out on file INDEX of CHANGE.
UNSEEN are words on what of it was not shown, or \"\"."
  (message "%s%s %s%s%s%s"
           ;; That what was written is taken out may bring the file back.
           (if (agent-q-diff-change-written change) "Changes of " "")
           (agent-q-diff-words-file-name change index)
           (pcase-exhaustive command
             ('accept (if (agent-q-diff-buffer-written-p) "kept" "accepted"))
             ('reject (agent-q-diff-buffer-mark-word 'rejected))
             ('unapply (if (agent-q-diff-buffer-written-p) "pending" "taken out")))
           (agent-q-diff-words-hook change (agent-q-diff-change-hunks-of change index))
           (agent-q-diff-words-unsaved
            (nth index (agent-q-diff-change-files change))
            (if (eq command 'reject) 'marked 'edited))
           (agent-q-diff-words-progress change unseen)))

(defun agent-q-diff-words-say-several (command hunks words failed unseen &optional n-waiting)
  "Show a message that COMMAND was carried out on HUNKS, and return it.
WORDS are formats for their number, (ONE . MANY).  FAILED are those that could
not be decided, a list of (HUNK . REASON), and UNSEEN are words on what of the
others was not shown, or \"\".  N-WAITING rejections wait besides; nil is 0."
  (let* ((change agent-q-diff-buffer-change)
         (decided (if failed
                      (seq-remove (lambda (hunk) (assq hunk failed)) hunks)
                    hunks)))
    (message
     "%s%s"
     (string-join
      (delq nil
            (list
             (when (or decided (memql n-waiting '(nil 0)))
               (agent-q-diff-words--several command decided words))
             (unless (memql n-waiting '(nil 0))
               (format (ngettext "%d hunk is taken out when the agent's turn ends"
                                 "%d hunks are taken out when the agent's turn ends" n-waiting)
                       n-waiting))
             (when failed
               (format "%d not: %s, %s" (length failed)
                       (agent-q-diff-buffer-hunk-words (caar failed)) (cdar failed)))))
      "; ")
     (agent-q-diff-words-progress change unseen))))

(defun agent-q-diff-words--stay-in (change hunks)
  "Return words to append if rejected HUNKS of CHANGE are in the target."
  (let ((n (seq-count (lambda (hunk)
                        (agent-q-diff-engine-hunk-fact (agent-q-diff-change-hunk change hunk)))
                      hunks)))
    (if (= 0 n)
        ""
      (substitute-command-keys
       (format (ngettext "; %d stays in the %s, \\<agent-q-diff-mode-map>\\[agent-q-diff-unapply-hunk] takes it out"
                         "; %d stay in the %s, \\<agent-q-diff-mode-map>\\[agent-q-diff-unapply-hunk] takes them out"
                         n)
               n
               (if (cdr (agent-q-diff-change-files change))
                   "files"
                 (agent-q-diff-buffer-target-word)))))))

(defun agent-q-diff-words--several (command hunks words)
  "Return words that COMMAND was carried out on HUNKS.
WORDS are formats for their number, (ONE . MANY)."
  (let ((change agent-q-diff-buffer-change)
        (is-written (agent-q-diff-buffer-written-p)))
    (concat (format (ngettext (car words) (cdr words) (length hunks)) (length hunks))
            " "
            (pcase-exhaustive command
              ('accept (agent-q-diff-buffer-mark-word 'applied))
              ('reject (agent-q-diff-buffer-mark-word 'rejected))
              ('unapply (if is-written "pending" "taken out")))
            (if (or is-written (not (eq command 'reject)))
                ""
              (agent-q-diff-words--stay-in change hunks))
            (agent-q-diff-words-hook change hunks)
            (agent-q-diff-words--unsaved-several
             change (if (eq is-written (eq command 'reject)) 'edited 'marked) hunks))))

;;;; What could not be done

(defun agent-q-diff-words-say-failure (command err)
  "Show a message that COMMAND failed on the hunk at point with ERR.
For a conflict, it names the key that merges."
  (message "%s%s%s"
           (if (eq (car err) 'agent-q-diff-not-in)
               (agent-q-diff-words--not-in (agent-q-diff-buffer-hunk-here))
             (format (agent-q-diff-words--failure-format command)
                     (agent-q-diff-error-text err)))
           (if (eq (car err) 'agent-q-diff-conflict)
               (substitute-command-keys
                "; \\<agent-q-diff-mode-map>\\[agent-q-diff-merge-hunk] merges")
             "")
           (agent-q-diff-change-followed-words agent-q-diff-buffer-change)))

(defun agent-q-diff-words--not-in (hunk)
  "Return a message that a command failed since HUNK is not in its file."
  (let* ((change agent-q-diff-buffer-change)
         (state (agent-q-diff-change-hunk change hunk))
         (name (agent-q-diff-buffer-hunk-words hunk 'first))
         ;; The file itself may have what the user took out and has not saved.
         (place (if (agent-q-diff-file-change-unsaved-p (agent-q-diff-change-file-of change hunk))
                    "buffer"
                  "file")))
    (cond
     ((not (agent-q-diff-buffer-written-p))
      (format "%s is not in the %s%s" name (agent-q-diff-buffer-target-word)
              (agent-q-diff-words--undo)))
     ((agent-q-diff-engine-hunk-fact state)
      (format (substitute-command-keys "%s is only partly in the %s now; \
\\<agent-q-diff-mode-map>\\[agent-q-diff-split-hunk] splits it")
              name place))
     (t (pcase-let ((`(,since . ,again)
                     (if (agent-q-diff-change-operation-of change hunk)
                         '("has been undone since" . "does it again")
                       (cons (format "is not in the %s any more" place) "puts it back"))))
          (concat name " " since
                  (unless (eq 'applied (agent-q-diff-engine-hunk-mark state))
                    (substitute-command-keys
                     (format "; \\<agent-q-diff-mode-map>\\[agent-q-diff-unapply-hunk] %s"
                             again)))))))))

(defun agent-q-diff-words--failure-format (command)
  "Return a format for a message that COMMAND failed, and why."
  (pcase (cons command (agent-q-diff-buffer-written-p))
    ('(unapply . nil) "Failed to take the hunk out: %s")
    (`(,_ . nil)      "Failed to apply hunk: %s")
    (`(accept . ,_)   "Failed to keep the hunk: %s")
    (`(reject . ,_)   "Failed to take the hunk out: %s")
    (_                "Failed to change the decision: %s")))

(defvar-local agent-q-diff-words-decided nil
  "The hunk of the last decision, if that was by a key that moves on, or nil.")

(defun agent-q-diff-words--undo ()
  "Return words that name the key for undoing the last decision, or nothing.
They are for a user who wants to undo a decision that moved to the next hunk."
  (if (and agent-q-diff-words-decided
           (/= agent-q-diff-words-decided (agent-q-diff-buffer-hunk-here))
           (< agent-q-diff-words-decided (length agent-q-diff-buffer-marks))
           (aref agent-q-diff-buffer-marks agent-q-diff-words-decided))
      (substitute-command-keys
       (format "; \\<agent-q-diff-mode-map>\\[agent-q-diff-undo] undoes %s"
               (agent-q-diff-buffer-hunk-words agent-q-diff-words-decided)))
    ""))

(defun agent-q-diff-words-not-done (command)
  "Return words for what could not be done by COMMAND."
  (pcase (cons command (agent-q-diff-buffer-written-p))
    ('(accept . nil)  "Not applied")
    (`(accept . ,_)   "Not kept")
    (`(,_ . nil)      "Not taken out")
    (`(unapply . ,_)  "Not put back")
    (_                "Not taken out")))

(defun agent-q-diff-words--failure (failure)
  "Return words on FAILURE, (REASON . FAILED), FAILED a list of (HUNK . REASON)."
  (pcase-let ((`(,reason (,hunk) . ,others) failure))
    (format "%s%s: %s"
            (agent-q-diff-buffer-hunk-words hunk)
            (if others
                (format (ngettext " and %d other" " and %d others" (length others))
                        (length others))
              "")
            reason)))

(defun agent-q-diff-words-say-failures (failed what &optional ways-out)
  "Move to the first of FAILED, a list of (HUNK . REASON), and show them all.
WHAT says what could not be done, and WAYS-OUT, a string or nil, what to do."
  (agent-q-diff-buffer-goto-hunk (caar failed))
  (message "%s: %s%s" what
           (mapconcat #'agent-q-diff-words--failure (seq-group-by #'cdr failed) "; ")
           (cond
            (ways-out (concat "; " ways-out))
            ((agent-q-diff-buffer-written-p)
             (agent-q-diff-words-progress agent-q-diff-buffer-change))
            (t ""))))

(provide 'agent-q-diff-words)
;;; agent-q-diff-words.el ends here
