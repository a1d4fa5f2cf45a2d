;;; agent-q-diff-queue.el --- Calls of tools, one after the other  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A call that asks the user a question must not interrupt another one, nor
;; a minibuffer.  So calls wait here for their turn.
;;
;; An agent's own tool writes only after it was allowed to, and what it is to
;; write was made of the file as it was before.  So of those calls that change
;; the same file, each one waits until the one before it has written, or will
;; not.  A call of several files has its turn once it is the first for all of
;; them; so no two calls wait for each other.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-reviews)

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
  "Drop what waits for callers that satisfy PREDICATE, and answer it.
Their turns to change files end."
  (agent-q-diff-queue--withdraw-turns predicate)
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

;;;; Turns to change files

(cl-defstruct (agent-q-diff-queue-turn (:constructor agent-q-diff-queue-turn-create)
                                       (:copier nil))
  "The turn of a call that is going to change files."
  (call nil :documentation "Id of the call, a string.")
  (files nil :documentation "True names of the files.")
  (caller nil :documentation "The agent and who waits, as in `agent-q-diff-caller'.")
  (begin nil :documentation "Function that is called when its turn comes, or nil after that.")
  (has-waited nil :documentation "Non-nil if it could not begin at once.")
  (is-kept nil :documentation "Non-nil if the turn does not end when its caller is gone."))

(defvar agent-q-diff-queue--turns nil
  "Turns that have not ended, and calls that wait for theirs, the oldest first.")

(defun agent-q-diff-queue-take-turn (call files function)
  "Call FUNCTION when no call before this one is going to change one of FILES.
It gets non-nil if it was called only after waiting.  CALL is the id of the
call, FILES are true names.  The turn ends when the caller, that of
`agent-q-diff-caller', withdraws."
  (setq agent-q-diff-queue--turns
        (append agent-q-diff-queue--turns
                (list (agent-q-diff-queue-turn-create
                       :call call :files files :caller agent-q-diff-caller
                       :begin function))))
  (let ((turn (car (last agent-q-diff-queue--turns))))
    (agent-q-diff-queue--begin-turns)
    (setf (agent-q-diff-queue-turn-has-waited turn) t)))

(defun agent-q-diff-queue-keep-turn (call)
  "Let the turn of CALL last until `agent-q-diff-queue-end-turn'."
  (dolist (turn agent-q-diff-queue--turns)
    (when (and (equal call (agent-q-diff-queue-turn-call turn))
               (null (agent-q-diff-queue-turn-begin turn)))
      (setf (agent-q-diff-queue-turn-is-kept turn) t))))

(defun agent-q-diff-queue-end-turn (call)
  "End the turn of CALL that was kept, or as soon as its caller is gone."
  (dolist (turn agent-q-diff-queue--turns)
    (when (equal call (agent-q-diff-queue-turn-call turn))
      (setf (agent-q-diff-queue-turn-is-kept turn) nil)))
  (agent-q-diff-queue--begin-turns))

(defun agent-q-diff-queue--withdraw-turns (predicate)
  "End each turn of a caller that satisfies PREDICATE, unless it is kept.
Tell the user if one has waited in vain."
  (dolist (turn agent-q-diff-queue--turns)
    (pcase-let ((`(,agent . ,caller) (agent-q-diff-queue-turn-caller turn)))
      (when (and caller (funcall predicate caller))
        (setf (agent-q-diff-queue-turn-caller turn) nil)
        (when (agent-q-diff-queue-turn-begin turn)
          (message "%s gave up an edit of %s that waited for its turn"
                   (or agent "An agent")
                   (mapconcat (lambda (file) (agent-q-diff-visible (abbreviate-file-name file)))
                              (agent-q-diff-queue-turn-files turn) ", "))))))
  (agent-q-diff-queue--begin-turns))

(defun agent-q-diff-queue--before-p (earlier turn)
  "Return non-nil if TURN has to wait for EARLIER, since they have a common file.
A file may have other names, hard links.  But if EARLIER is decided, and is of
the same call, the agent has not waited: it runs two hooks for the call, or
gives its calls no ids."
  (unless (and (agent-q-diff-queue-turn-is-kept earlier)
               (equal (agent-q-diff-queue-turn-call earlier)
                      (agent-q-diff-queue-turn-call turn)))
    (let ((files (agent-q-diff-queue-turn-files turn)))
      (seq-some (lambda (file)
                  (or (member file files)
                      (seq-some (apply-partially #'file-equal-p file) files)))
                (agent-q-diff-queue-turn-files earlier)))))

(defun agent-q-diff-queue--begin-turns ()
  "Forget each turn that has ended, and begin each that can begin now."
  (setq agent-q-diff-queue--turns
        (seq-filter (lambda (turn)
                      (or (agent-q-diff-queue-turn-caller turn)
                          (agent-q-diff-queue-turn-is-kept turn)))
                    agent-q-diff-queue--turns))
  (let ((n-waiting 0)
        (earlier nil)
        (functions nil))
    (dolist (turn agent-q-diff-queue--turns)
      (when-let ((begin (agent-q-diff-queue-turn-begin turn)))
        (if (seq-some (lambda (other) (agent-q-diff-queue--before-p other turn)) earlier)
            (cl-incf n-waiting)
          (setf (agent-q-diff-queue-turn-begin turn) nil)
          (push (apply-partially begin (agent-q-diff-queue-turn-has-waited turn)) functions)))
      (push turn earlier))
    (unless (= n-waiting agent-q-diff-reviews-n-queued)
      (setq agent-q-diff-reviews-n-queued n-waiting)
      (force-mode-line-update t))
    (mapc #'funcall (nreverse functions))))

(provide 'agent-q-diff-queue)
;;; agent-q-diff-queue.el ends here
