;;; agent-q-diff-queue.el --- Calls of tools, one after the other  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A call that asks the user a question must not interrupt another one, nor
;; a minibuffer.  So calls wait here for their turn.

;;; Code:

(require 'seq)
(require 'agent-q-diff-base)

(defvar agent-q-diff-queue--calls nil
  "Calls that wait for their turn, each a list (CALLER RUN CALLBACK).
RUN is a function without arguments that makes the call and passes the
message for the agent to CALLBACK.")

(defvar agent-q-diff-queue--is-busy nil
  "Non-nil while a call from the queue runs.")

(defconst agent-q-diff-queue--retry-seconds 0.1
  "Seconds between two attempts to go on while a minibuffer is open.")

(defun agent-q-diff-queue-add (function callback)
  "Call FUNCTION when its turn comes, and CALLBACK with its value, a message.
FUNCTION is called with the directory, project, contract and caller that
are current now."
  (let ((directory default-directory)
        (root agent-q-diff-project-root)
        (contract agent-q-diff-contract)
        (caller agent-q-diff-caller))
    (setq agent-q-diff-queue--calls
          (append agent-q-diff-queue--calls
                  (list (list (cdr caller)
                              (lambda ()
                                (let ((default-directory directory)
                                      (agent-q-diff-project-root root)
                                      (agent-q-diff-contract contract)
                                      (agent-q-diff-caller caller))
                                  (agent-q-diff-queue--answer function callback)))
                              callback))))
    (run-at-time 0 nil #'agent-q-diff-queue--run)
    nil))

(defun agent-q-diff-queue-withdraw (predicate)
  "Drop what waits for callers that satisfy PREDICATE, and answer it."
  (let* ((is-theirs (lambda (call) (funcall predicate (car call))))
         (theirs (seq-filter is-theirs agent-q-diff-queue--calls)))
    (setq agent-q-diff-queue--calls
          (seq-remove is-theirs agent-q-diff-queue--calls))
    (pcase-dolist (`(,_ ,_ ,callback) theirs)
      (funcall callback "Error: the call was withdrawn; nothing was changed"))))

(defun agent-q-diff-queue--answer (function callback)
  "Call CALLBACK with the value of FUNCTION, a message.
It is called even if FUNCTION does not return."
  (let ((message "Error: the call was interrupted; its outcome is unknown"))
    (unwind-protect
        (setq message (funcall function))
      (condition-case err
          (funcall callback message)
        (error (message "agent-q-diff: a callback failed: %s"
                        (error-message-string err)))))))

(defun agent-q-diff-queue--run ()
  "Run the next call in the queue unless one is running.
While a minibuffer is open, try again later."
  (cond
   ((or agent-q-diff-queue--is-busy (null agent-q-diff-queue--calls)))
   ((active-minibuffer-window)
    (run-at-time agent-q-diff-queue--retry-seconds nil
                 #'agent-q-diff-queue--run))
   (t
    (unwind-protect
        (progn
          (setq agent-q-diff-queue--is-busy t)
          (funcall (nth 1 (pop agent-q-diff-queue--calls))))
      (setq agent-q-diff-queue--is-busy nil)
      (when agent-q-diff-queue--calls
        (run-at-time 0 nil #'agent-q-diff-queue--run))))))

(provide 'agent-q-diff-queue)
;;; agent-q-diff-queue.el ends here
