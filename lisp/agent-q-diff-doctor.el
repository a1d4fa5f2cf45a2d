;;; agent-q-diff-doctor.el --- Says why nothing happens  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What keeps an agent's edits from being decided here, each with what to do
;; about it: in this Emacs, and, as the program agent-q-diff finds, in each
;; agent's settings.  `agent-q-diff check' in a shell prints the same; it asks
;; Emacs for the first part.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-build)
(require 'agent-q-diff-session)
(require 'agent-q-diff-pending)
(require 'agent-q-diff-permit)

(defun agent-q-diff-doctor--engine ()
  "Return what is found about the engine."
  (condition-case err
      (progn
        (agent-q-diff-build-ensure)
        (cons 'ok (format "the engine %s is loaded" agent-q-diff-build-version)))
    (agent-q-diff-error (cons 'missing (agent-q-diff-error-text err)))))

(defun agent-q-diff-doctor--server (socket)
  "Return what is found about whether agents can reach this Emacs.
SOCKET is the name of the socket at which it serves, or nil."
  (if socket
      (cons 'ok (format "Emacs %s serves at %s" emacs-version (abbreviate-file-name socket)))
    (cons 'missing
          "this Emacs serves no agents: call M-x agent-q-diff-serve, and put \
(agent-q-diff-serve) into your init file")))

(defun agent-q-diff-doctor--program (program)
  "Return what is found about the program agent-q-diff, or nil.
PROGRAM is its version, t if that is not known, or nil if it is not there."
  (cond
   ((null program)
    (cons 'missing "the program that agents run is not there: M-x agent-q-diff-setup builds it"))
   ((not (member program (list t agent-q-diff-build-version)))
    (cons 'missing (format "the program is version %s, and what Emacs has loaded %s: \
call M-x agent-q-diff-setup, and restart Emacs"
                           (agent-q-diff-visible (format "%s" program))
                           agent-q-diff-build-version)))))

(defun agent-q-diff-doctor--last-call (call)
  "Return what is found about CALL, the last one of an agent, or nil.
It is (TIME AGENT TOOL)."
  (pcase call
    (`(,time ,agent ,tool)
     (cons 'ok (format "%s last called %s, with %s"
                       (if agent (agent-q-diff-visible-name agent t) "an agent")
                       (format-time-string "at %T" time) (agent-q-diff-visible tool))))
    (_ (cons 'note "no agent has called since this Emacs serves"))))

(defun agent-q-diff-doctor--choices ()
  "Return what is found about which edits are not decided before they are made."
  (append
   (mapcar (pcase-lambda (`(,agent . ,choice))
             (cons 'note
                   (format "edits of %s %s, since agent-q-diff-decide-when says so"
                           (if (stringp agent) (agent-q-diff-visible agent) "all other agents")
                           (pcase choice
                             ('after "are made at once, and pending after that")
                             ('client "are decided in the agent's own mode")
                             (_ "are decided before they are made")))))
           (seq-remove (pcase-lambda (`(,_ . ,choice)) (eq 'before choice))
                       agent-q-diff-decide-when))
   (mapcar (pcase-lambda (`(,tool ,root ,_))
             (cons 'note
                   (format "%s need not ask in %s until Emacs ends; M-x agent-q-diff-grants \
takes that back"
                           (agent-q-diff-visible tool)
                           (agent-q-diff-visible-name (abbreviate-file-name root)))))
           agent-q-diff-permit-grants)
   (list (if (eq 'ask agent-q-diff-shell-writes)
             (cons 'ok "commands that plainly write a file are sent back to the edit tools")
           (cons 'note "what an agent's shell writes is pending after its turn, not asked before \
(agent-q-diff-shell-writes)")))))

(defun agent-q-diff-doctor--after ()
  "Return what is found about deciding after the fact."
  (append
   (unless agent-q-diff-pending-mode
     '((note . "agent-q-diff-pending-mode is off: your saves are not noted as reviewed, and the \
mode line does not count what is pending")))
   (unless (where-is-internal 'agent-q-diff-review-changes nil t)
     '((note . "no key runs M-x agent-q-diff-review-changes: bind agent-q-diff-prefix-map")))
   (when-let ((open (length (agent-q-diff-open-reviews)))
              ((< 0 open)))
     (list (cons 'note (format (ngettext "%d review is open: M-x agent-q-diff-list"
                                         "%d reviews are open: M-x agent-q-diff-list" open)
                               open))))))

(defun agent-q-diff-doctor-text (socket call program)
  "Return what is found in this Emacs, a line for each.
SOCKET is the name of the socket at which it serves agents, or nil; CALL is the
last call of one, (TIME AGENT TOOL), or nil.  PROGRAM is the version of the
program agent-q-diff, t if that is not known, or nil if it is not there."
  (mapconcat (pcase-lambda (`(,kind . ,text))
               (format "%-7s  %s" (if (eq 'missing kind) "MISSING" kind) text))
             (delq nil `(,(agent-q-diff-doctor--server socket)
                         ,(agent-q-diff-doctor--engine)
                         ,(agent-q-diff-doctor--program program)
                         ,(agent-q-diff-doctor--last-call call)
                         ,@(agent-q-diff-doctor--choices)
                         ,@(agent-q-diff-doctor--after)))
             "\n"))

(provide 'agent-q-diff-doctor)
;;; agent-q-diff-doctor.el ends here
