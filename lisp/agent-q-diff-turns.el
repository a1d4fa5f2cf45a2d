;;; agent-q-diff-turns.el --- The turns of agents, and what happens at their end  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A turn begins with the user's prompt, and ends when the agent has done what it
;; was asked to; the agent's own events say when.  At its end, what is pending is
;; counted and announced, or its review opens, as the user likes.
;;
;; The list has the latest turns of a project, and reviews each, also those of
;; which everything is decided.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-views)
(require 'agent-q-diff-session)
(require 'agent-q-diff-pending)
(require 'agent-q-diff-rounds)
(require 'agent-q-diff-told)
(require 'agent-q-diff-changes)

;;;; Options

(defcustom agent-q-diff-when-turn-ends 'announce
  "What happens when an agent's turn has ended and something is pending.
It is counted in the mode line in any case.
`announce'  a message says how much it is
`review'    its review is shown as soon as you do not type, in the way that
            `agent-q-diff-display' says
nil         nothing else"
  :group 'agent-q-diff-review
  :type '(choice (const :tag "Say how much is pending" announce)
                 (const :tag "Open the review" review)
                 (const :tag "Only count it" nil)))

(defcustom agent-q-diff-stop-waits nil
  "Whether an agent that has ended its turn waits for your review of it.
Then the review opens at once, and when you finish it, the agent goes on with
what you say.  Claude Code, Codex and Gemini CLI can do that.  If nil, it reads
that with your next prompt."
  :group 'agent-q-diff-review
  :type 'boolean)

;;;; The end of a turn

(defun agent-q-diff-turns-ended (directory agent answer)
  "Show what is pending in the project of DIRECTORY after a turn of AGENT.
ANSWER is called once, with \"\", when the agent need not wait any more; what
it is to be told is queued by then.  Return the review for which it waits, or
nil."
  (let ((default-directory directory))
    (condition-case err
        (pcase-let* ((`(,root ,_ ,files ,left-out)
                      (progn
                        (agent-q-diff-changes-carry-out directory)
                        (agent-q-diff-pending-look-and-note directory)))
                     (alarm (agent-q-diff-changes-alarm left-out))
                     (note (agent-q-diff-changes-sentences
                            alarm (agent-q-diff-changes-left-out-news root left-out))))
          (agent-q-diff-pending-mode)
          (agent-q-diff-pending-count-soon root)
          (cond
           ((null files)
            (funcall answer "")
            (when (and note (or alarm agent-q-diff-when-turn-ends))
              (message "%s has ended: %s" (agent-q-diff-turns--name agent root) note))
            nil)
           (agent-q-diff-stop-waits
            (agent-q-diff-turns--wait root answer))
           (t
            (funcall answer "")
            (pcase agent-q-diff-when-turn-ends
              ('announce (agent-q-diff-turns--announce agent root files note))
              ('review (agent-q-diff-turns--review-soon root)))
            nil)))
      ;; What is in no project has nothing to review.
      (agent-q-diff-no-repository
       (funcall answer "")
       nil)
      ;; Nobody has to be told: it is looked at again.
      (agent-q-diff-error
       (funcall answer "")
       (message "After the turn of %s: %s" (agent-q-diff-visible-name agent t)
                (agent-q-diff-visible (agent-q-diff-error-text err)))
       nil))))

(defun agent-q-diff-turns--name (agent root)
  "Return words for a turn of AGENT in the project at ROOT."
  (format "%s's turn in %s"
          (agent-q-diff-visible-name agent t)
          (agent-q-diff-visible-name (file-name-nondirectory (directory-file-name root)))))

(defun agent-q-diff-turns--announce (agent root files note)
  "Say that AGENT has ended its turn, and that FILES below ROOT are pending.
NOTE, sentences about what cannot be reviewed with them or nil, is said first."
  (let ((n (length files)))
    (message "%s has ended: %s%s to review%s; M-x agent-q-diff-review-changes"
             (agent-q-diff-turns--name agent root)
             (if note (concat note "; ") "")
             (format (ngettext "%d file" "%d files" n) n)
             (agent-q-diff-turns--commands-words
              n (agent-q-diff-pending-commands root files)))))

(defun agent-q-diff-turns--commands-words (n commands)
  "Return words for COMMANDS that have changed some of N pending files.
COMMANDS is as from `agent-q-diff-pending-commands'."
  (let ((words (format "by `%s`" (nth 2 (car commands)))))
    (cond
     ((null commands) "")
     ((and (eql n (length commands))
           (null (cdr (seq-uniq (mapcar #'cddr commands)))))
      (concat ", changed " words))
     (t (format ", %d changed by its shell, as %s" (length commands) words)))))

(defun agent-q-diff-turns--review-soon (root)
  "Open the review of what is pending in the project at ROOT when Emacs is idle."
  (run-with-idle-timer
   1 nil
   (lambda ()
     (with-demoted-errors "Review after a turn: %S"
       (agent-q-diff-changes-begin root nil)))))

(defun agent-q-diff-turns--wait (root answer)
  "Begin the review of what is pending in the project at ROOT, and return it.
When it ends, call ANSWER with \"\"."
  (let ((review (nth 1 (agent-q-diff-changes-begin
                        root nil
                        (lambda (_result)
                          (funcall answer ""))))))
    (unless review
      (funcall answer ""))
    review))

;;;; The list

(defun agent-q-diff-turns--undecided (turn found)
  "Return (N-FILES . N-HUNKS), how much of TURN is undecided.
FOUND is as from `agent-q-diff-pending-look'."
  (pcase-let ((`(,root ,texts ,files ,_) found)
              (id (agent-q-diff-turn-id turn))
              (n-files 0)
              (n-hunks 0))
    (dolist (file files)
      (pcase-let ((`(,authors . ,lines) (agent-q-diff-pending-file-turns file)))
        (when (memql id authors)
          (cl-incf n-files)
          (cl-incf n-hunks
                   (agent-q-diff-pending-n-hunks root texts file (cons id lines))))))
    (cons n-files n-hunks)))

(defun agent-q-diff-turns--rows ()
  "Return the rows of the list of this buffer's project, the latest turn first."
  (let ((found (agent-q-diff-pending-look default-directory)))
    (mapcar
     (lambda (turn)
       (pcase-let* ((`(,n-files . ,n-undecided) (agent-q-diff-turns--undecided turn found))
                    (kept (agent-q-diff-turn-n-kept turn))
                    (taken-out (agent-q-diff-turn-n-taken-out turn))
                    (paths (agent-q-diff-turn-paths turn)))
         (list turn
               (format-time-string "%F %H:%M" (agent-q-diff-turn-time turn))
               (agent-q-diff-turn-agent turn)
               (concat (if (agent-q-diff-turn-is-over turn) "" "(at work) ")
                       (agent-q-diff-turn-title turn))
               (if (listp paths) (length paths) n-files)
               (+ kept taken-out n-undecided)
               kept taken-out n-undecided)))
     (reverse (agent-q-diff-engine-call #'agent-q-diff-module-turns default-directory)))))

(defun agent-q-diff-turns-review ()
  "Review what the agent has written in the turn at point.
If something of it is undecided, that is shown; else all that differs from what
its files held before."
  (interactive)
  (let ((turn (agent-q-diff-views-here)))
    (pcase-let ((`(,_ . ,n) (agent-q-diff-turns--undecided
                             turn (agent-q-diff-pending-look default-directory))))
      (condition-case err
          (agent-q-diff-review-changes default-directory
                                       (if (< 0 n)
                                           (agent-q-diff-turn-id turn)
                                         (cons 'turn (agent-q-diff-turn-id turn))))
        (agent-q-diff-error
         (user-error "%s" (agent-q-diff-visible (agent-q-diff-error-text err))))))))

(agent-q-diff-views-define agent-q-diff-turns-mode "Turns"
  "Major mode of the list of the turns of agents in a project.
Hunks that you decided before the write are not counted."
  :item "turn"
  :columns '(("Begun" 16 t) ("Agent" 11 t) ("Prompt" 22 t)
             ("Files" 5 nil :right-align t) ("Hunks" 5 nil :right-align t)
             ("Kept" 4 nil :right-align t) ("Out" 3 nil :right-align t)
             ("Left" 4 nil :right-align t))
  :rows #'agent-q-diff-turns--rows
  :same (lambda (one other)
          (eql (agent-q-diff-turn-id one) (agent-q-diff-turn-id other)))
  :keys '(("\r" . agent-q-diff-turns-review)))

;;;###autoload
(defun agent-q-diff-turns ()
  "Show what agents did, turn by turn, in the project of the current buffer.
For each, it has how many hunks it has written, and how many of them you
have kept, taken out, and not decided yet."
  (interactive)
  (agent-q-diff-views-show "*agent-q-diff turns*" #'agent-q-diff-turns-mode
                           (car (agent-q-diff-pending-look default-directory))))

(provide 'agent-q-diff-turns)
;;; agent-q-diff-turns.el ends here
