;;; agent-q-diff-own-agent.el --- Agents that edit with their own tools  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What an agent, and its session, is called in a review of what its own tools
;; are about to write, and what it may write without one.  The agent is that of
;; `agent-q-diff-caller'.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-log)
(require 'agent-q-diff-message-facts)
(require 'agent-q-diff-message-files)
(require 'agent-q-diff-message)
(require 'agent-q-diff-session)
(require 'agent-q-diff-reviews)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-grants)
(require 'agent-q-diff-permit)

;;;; What it is called

(defvar-local agent-q-diff-own-agent--session nil
  "In a diff buffer, the agent and its session, (NAME . ID), or nil.")

(defun agent-q-diff-own-agent--session-text (session)
  "Return words for SESSION, an id or nil, or the empty string."
  (if (member session '(nil ""))
      ""
    (format " (session %s)" (substring session 0 (min 8 (length session))))))

(defun agent-q-diff-own-agent-label (session)
  "Return what the agent is called in a review for its SESSION, or nil.
If another session of the same agent has a review that is open, the name
says which session this is."
  (when-let ((name (car agent-q-diff-caller)))
    (cl-flet ((is-other (review)
                (pcase (buffer-local-value 'agent-q-diff-own-agent--session
                                           (agent-q-diff-session-buffer review))
                  (`(,agent . ,other)
                   (and (equal agent name) (not (equal other session)))))))
      (if (seq-some #'is-other (agent-q-diff-open-reviews))
          (concat name (agent-q-diff-own-agent--session-text session))
        name))))

(defun agent-q-diff-own-agent-note-session (review session)
  "Note that REVIEW, unless it has ended, is for SESSION of the agent."
  (unless (agent-q-diff-session-outcome review)
    (with-current-buffer (agent-q-diff-session-buffer review)
      (setq agent-q-diff-own-agent--session (cons (car agent-q-diff-caller) session)))))

(defun agent-q-diff-own-agent-tool (tool session)
  "Return what TOOL of the agent in SESSION is called in a sentence."
  (format "%s's tool %s%s" (or (car agent-q-diff-caller) "the agent") tool
          (agent-q-diff-own-agent--session-text session)))

;;;; What it may do without asking

(defun agent-q-diff-own-agent--grant-name ()
  "Return the name under which the agent's own tools are granted."
  (format "%s's own tools" (or (car agent-q-diff-caller) "Unknown agent")))

(defun agent-q-diff-own-agent-allowance (request)
  "Return why REQUEST needs no review: `policy' or `session', or nil.
It is `denied' if the policy denies it.  What is protected or outside the
project is not allowed without a review."
  (let ((policy (agent-q-diff-permit-policy request)))
    (cond
     ((eq policy 'deny) 'denied)
     ((or (eq policy 'review)
          (agent-q-diff-request-protection request)
          (not (file-in-directory-p (agent-q-diff-request-name request)
                                    (agent-q-diff-request-root request))))
      nil)
     ((eq policy 'allow) 'policy)
     ((agent-q-diff-grants-cover-p (agent-q-diff-own-agent--grant-name)
                                   (agent-q-diff-request-root request))
      'session))))

(defun agent-q-diff-own-agent-log (tool path outcome by &optional reason)
  "Record the OUTCOME of a call of TOOL for PATH that was not reviewed.
BY is who decided it, a symbol, or nil, and REASON why, a string or nil."
  (agent-q-diff-log-record
   (append (list :tool tool :agent (car agent-q-diff-caller) :path path :outcome outcome)
           (and by (list :decided-by by))
           (and reason (list :in-file 0 :reason reason)))))

(defun agent-q-diff-own-agent-say-allowed (what by &optional tool paths)
  "Tell the user that WHAT, a string, was edited without asking, and log it.
BY is as from `agent-q-diff-own-agent-allowance', or `none': nothing was to
change, so nothing is said.  TOOL is the agent's, and PATHS are the names of
the files that no review has logged."
  (unless (eq 'none by)
    (dolist (path paths)
      (agent-q-diff-own-agent-log tool path "accepted" by))
    (message "%s edited %s, by your %s" (or (car agent-q-diff-caller) "An agent") what
             (if (eq 'session by) "grant" "settings"))))

;;;; Allowing it

(defvar-local agent-q-diff-own-agent--grant nil
  "The arguments of `agent-q-diff-grants-add' that would allow more, or nil.")

(defvar agent-q-diff-own-tool-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "A" #'agent-q-diff-allow-agent)
    map)
  "Keymap of `agent-q-diff-own-tool-mode'.")

(define-minor-mode agent-q-diff-own-tool-mode
  "Minor mode of diff buffers for an edit by an agent's own tool.
\\<agent-q-diff-own-tool-mode-map>\\[agent-q-diff-allow-agent] accepts all, \
and no longer asks about this agent's edits in the project."
  :lighter nil)

(defun agent-q-diff-own-agent-offer (review root)
  "Let the user of REVIEW allow all edits of its agent in the project ROOT."
  (let ((grant (list (agent-q-diff-own-agent--grant-name) root)))
    (with-current-buffer (agent-q-diff-session-buffer review)
      (setq agent-q-diff-own-agent--grant grant)
      (agent-q-diff-own-tool-mode))))

(defun agent-q-diff-allow-agent ()
  "Accept all, and let this agent's own tools edit this project without asking.
That holds until Emacs exits, or until `agent-q-diff-revoke-grants'.
Protected files are asked about all the same."
  (interactive)
  (unless agent-q-diff-own-agent--grant
    (user-error "Only what an agent's own tool writes can be allowed here"))
  (pcase-let ((`(,name ,root) agent-q-diff-own-agent--grant)
              (buffer (current-buffer)))
    (when (y-or-n-p (format "Accept all, and let %s edit %s without asking until Emacs exits? "
                            name (agent-q-diff-visible (abbreviate-file-name root))))
      ;; The agent may have gone while this was asked.
      (unless (and (buffer-live-p buffer)
                   (eq buffer (current-buffer))
                   (not (agent-q-diff-buffer-ended-p)))
        (user-error "The review has ended; nothing is allowed"))
      (agent-q-diff-grants-add name root)
      (agent-q-diff-accept-all t))))

;;;; What was decided, until it is written

(defconst agent-q-diff-own-agent--max-decided 200
  "Number of decisions that are remembered.
A tool that fails by itself never asks for its decision to be compared.")

(defvar agent-q-diff-own-agent--decided nil
  "Alist from calls to edits that were not yet compared with their files.
The newest is first.")

(defun agent-q-diff-own-agent-remember (call edit)
  "Remember EDIT, which was decided, instead of an earlier one of the same CALL."
  (setq agent-q-diff-own-agent--decided
        (seq-take (cons (cons call edit)
                        (assoc-delete-all call agent-q-diff-own-agent--decided))
                  agent-q-diff-own-agent--max-decided)))

(defun agent-q-diff-own-agent-take (call)
  "Return the edit that was decided for CALL, or nil, and forget it."
  (let ((decided (assoc call agent-q-diff-own-agent--decided)))
    (setq agent-q-diff-own-agent--decided (delq decided agent-q-diff-own-agent--decided))
    (cdr decided)))

(defun agent-q-diff-own-agent-as-written (result is-saved)
  "Return RESULT of a detached review as if its texts were in the files.
IS-SAVED is non-nil if they are saved there."
  (let ((written (list :detached nil :saved (and is-saved t))))
    (append written
            (when-let ((files (plist-get result :files)))
              (list :files (mapcar (lambda (file) (append written file)) files)))
            result)))

(defun agent-q-diff-own-agent-undecided (tool what result)
  "Return the message about RESULT of a review of texts that is no decision.
TOOL is the agent's, and WHAT is what was reviewed, in words.  What the user
accepted until then is in no file, since TOOL is not run."
  (string-join
   (cons (format "%s\n\n%s was not run, and none of it is in %s."
                 (agent-q-diff-message-of-error
                  what (list (plist-get result :error) (plist-get result :reason)))
                 tool (if (plist-get result :files) "the files" "the file"))
         (if (plist-get result :files)
             (agent-q-diff-message-files-comments result)
           (agent-q-diff-message-facts-comments result)))
   "\n"))

(defun agent-q-diff-own-agent-mistake-p (error)
  "Return non-nil if ERROR, an error symbol or nil, is a mistake of the agent's.
Then the agent can send something else, and the user need not be told."
  (memq error
        '(agent-q-diff-malformed agent-q-diff-identical agent-q-diff-not-found
          agent-q-diff-no-file agent-q-diff-bad-arguments)))

(defun agent-q-diff-own-agent-say-not-run (tool paths why)
  "Tell the user that TOOL was not run after all, because of WHY, a string.
The user has read what was accepted; none of it is in PATHS, the names of
the files.  Record that in the log as well."
  (dolist (path paths)
    (agent-q-diff-own-agent-log tool path "not run" nil why))
  (agent-q-diff-base-warn
   (agent-q-diff-visible
    (format "%s was not run, so nothing that you accepted is in %s: %s"
            (agent-q-diff-own-agent-tool tool nil)
            (mapconcat #'abbreviate-file-name paths ", ")
            why))))

(defun agent-q-diff-own-agent-write (tool paths function)
  "Call FUNCTION, which writes PATHS in place of TOOL, and return its value.
If it signals an error, tell the user that nothing is in the files."
  (condition-case err
      (funcall function)
    (error
     (agent-q-diff-own-agent-say-not-run tool paths (agent-q-diff-error-text err))
     (signal (car err) (cdr err)))))

(defun agent-q-diff-own-agent-refused (check)
  "Return why CHECK refuses its file, a clause, or nil if it does not.
CHECK is a function that signals an error if the file must not be written.
It was not refused when the review began, but a link may have come since."
  (condition-case err
      (progn (funcall check) nil)
    (error
     (let ((why (string-remove-prefix
                 "Error: " (car (last (split-string (agent-q-diff-error-text err) "\n" t))))))
       (concat (downcase (substring why 0 1)) (string-trim-right (substring why 1) "\\."))))))

(defun agent-q-diff-own-agent-alarm-elsewhere (tool path why)
  "Tell the user that TOOL may have written another file than PATH.
WHY is as from `agent-q-diff-own-agent-refused'.  Return the message for the
agent."
  (display-warning 'agent-q-diff
                   (agent-q-diff-visible
                    (format "%s's tool %s may have written another file than %s: %s"
                            (or (car agent-q-diff-caller) "An agent") tool path why))
                   :error)
  (format "ALARM: %s may have written another file than the user decided about, %s: %s. \
Tell the user, and change nothing more until the user says so."
          tool path why))

(defun agent-q-diff-own-agent-alarm (tool paths)
  "Tell the user that TOOL left files that are not what was decided.
PATHS are their names, as the agent knows them.  Return the message for the
agent."
  (agent-q-diff-base-warn
   (format "%s's tool %s left text in %s that differs from what you decided"
           (or (car agent-q-diff-caller) "An agent") tool
           (mapconcat #'agent-q-diff-visible paths ", "))
   :error)
  (format "ALARM: %s %s not what the user decided; the tool, or another program, wrote \
something else. Read %s, tell the user what differs, and change nothing more until the \
user says so."
          (string-join paths ", ")
          (if (cdr paths) "are" "is")
          (if (cdr paths) "these files" "the file")))

(provide 'agent-q-diff-own-agent)
;;; agent-q-diff-own-agent.el ends here
