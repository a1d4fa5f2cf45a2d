;;; agent-q-diff-gptel.el --- Connector for gptel  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Registers the tools with gptel, a client of language models in Emacs:
;;
;;   (setq gptel-tools (agent-q-diff-gptel-register))
;;
;; The review is the confirmation, so gptel is told to ask for no other;
;; `gptel-confirm-tool-calls' can still make it ask before every call.  The
;; tools are asynchronous: the user can go on working during a review.
;;
;; gptel does not tell a tool that its result is no longer wanted.  If the
;; chat buffer is killed while a tool runs, a result would be an error in
;; gptel.  `gptel-abort' only stops connections, and there is none while a
;; tool runs, so gptel would continue with the result.  This file detects
;; both.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-tools)

(declare-function gptel-make-tool "ext:gptel" (&rest slots))
(declare-function gptel-fsm-info "ext:gptel-request" (machine))
(defvar gptel--fsm-last)

;;;; Calls

(cl-defstruct (agent-q-diff-gptel-call (:constructor agent-q-diff-gptel--call-make)
                                       (:copier nil))
  "A call of a tool whose result gptel waits for."
  (buffer nil :documentation "The chat buffer, from which the request was sent.")
  (callback nil :documentation "The function that takes the result, or nil.
It is nil after it was called, and after the call was abandoned."))

(defvar agent-q-diff-gptel--calls nil
  "Calls that have no result yet.")

(defun agent-q-diff-gptel--chat-buffer ()
  "Return the chat buffer of the request that gptel is processing.
That is the current buffer, unless the user has looked at the arguments of
the tool first.  Then the current buffer is one that gptel is about to kill,
but from which the request is known as well."
  (or (and (bound-and-true-p gptel--fsm-last)
           (fboundp 'gptel-fsm-info)
           (plist-get (gptel-fsm-info gptel--fsm-last) :buffer))
      (current-buffer)))

(defun agent-q-diff-gptel--begin (callback)
  "Return a new call from the current chat; CALLBACK takes its result."
  (let* ((buffer (agent-q-diff-gptel--chat-buffer))
         (call (agent-q-diff-gptel--call-make :buffer buffer :callback callback)))
    (unless agent-q-diff-gptel--calls
      (advice-add 'gptel-abort :before #'agent-q-diff-gptel--aborted))
    (push call agent-q-diff-gptel--calls)
    (with-current-buffer buffer
      (add-hook 'kill-buffer-hook #'agent-q-diff-gptel--buffer-killed nil t))
    call))

(defun agent-q-diff-gptel--cease (call)
  "Forget CALL, and return its callback, or nil if it has none any more."
  (prog1 (agent-q-diff-gptel-call-callback call)
    (setf (agent-q-diff-gptel-call-callback call) nil)
    (setq agent-q-diff-gptel--calls (delq call agent-q-diff-gptel--calls))
    (let ((buffer (agent-q-diff-gptel-call-buffer call)))
      (when (and (buffer-live-p buffer) (not (agent-q-diff-gptel--calls-of buffer)))
        (with-current-buffer buffer
          (remove-hook 'kill-buffer-hook #'agent-q-diff-gptel--buffer-killed t))))
    (unless agent-q-diff-gptel--calls
      (advice-remove 'gptel-abort #'agent-q-diff-gptel--aborted))))

(defun agent-q-diff-gptel--calls-of (buffer)
  "Return a list of each call that the chat in BUFFER still waits for."
  (seq-filter (lambda (call)
                (eq buffer (agent-q-diff-gptel-call-buffer call)))
              agent-q-diff-gptel--calls))

(defun agent-q-diff-gptel--answer (call result)
  "Pass RESULT, a string, to gptel if it still waits for CALL."
  (let ((callback (agent-q-diff-gptel--cease call)))
    (when (and callback (buffer-live-p (agent-q-diff-gptel-call-buffer call)))
      (funcall callback result))))

;;;; Abandoned calls

(defun agent-q-diff-gptel--abandon (buffer)
  "Abandon each call of the chat in BUFFER, which wants no result any more.
Reviews show that; anything else is withdrawn."
  (let ((gone (agent-q-diff-gptel--calls-of buffer)))
    (mapc #'agent-q-diff-gptel--cease gone)
    (when gone
      (let ((is-gone (lambda (caller) (memq caller gone))))
        (agent-q-diff-abandon is-gone)
        (agent-q-diff-tools-withdraw-calls is-gone)))))

(defun agent-q-diff-gptel--buffer-killed ()
  "Abandon each call of this chat buffer, which is being killed."
  (agent-q-diff-gptel--abandon (current-buffer)))
(put 'agent-q-diff-gptel--buffer-killed 'permanent-local-hook t)

(defun agent-q-diff-gptel--aborted (&optional buffer &rest _)
  "Abandon each call of BUFFER, or of the current buffer.
This is advice for `gptel-abort', which runs no hook."
  (agent-q-diff-gptel--abandon (or buffer (current-buffer))))

;;;; Registering

(defun agent-q-diff-gptel--arguments (tool)
  "Return the parameters of TOOL in gptel's form.
TOOL is an element of `agent-q-diff-tools-list'."
  (let-alist (plist-get tool :parameters)
    (mapcar (pcase-lambda (`(,name . ,parameter))
              (let-alist parameter
                (append (list :name (symbol-name name)
                              :type (intern .type)
                              :description .description)
                        (and .items (list :items (agent-q-diff-gptel--plist .items)))
                        (unless (member (symbol-name name)
                                        (plist-get tool :required))
                          (list :optional t)))))
            .properties)))

(defun agent-q-diff-gptel--plist (schema)
  "Return SCHEMA, an alist that is a JSON schema, as a property list."
  (mapcan (pcase-lambda (`(,key . ,value))
            (list (intern (format ":%s" key))
                  (if (consp value) (agent-q-diff-gptel--plist value) value)))
          schema))

(defun agent-q-diff-gptel--function (name parameters)
  "Return a function by which gptel can call the tool NAME with PARAMETERS.
It takes a callback and one value for each parameter, nil for
those that were not given."
  (lambda (callback &rest values)
    (let* ((call (agent-q-diff-gptel--begin callback))
           (agent-q-diff-call (agent-q-diff-call-make :agent "gptel" :caller call)))
      (agent-q-diff-tools-call-async
       name
       (cl-loop for parameter in parameters
                for value in values
                collect (cons (plist-get parameter :name) value))
       (apply-partially #'agent-q-diff-gptel--answer call)))))

;;;###autoload
(defun agent-q-diff-gptel-register ()
  "Register the tools with gptel, and return them, for `gptel-tools'."
  (require 'gptel)
  (mapcar (lambda (tool)
            (let ((name (plist-get tool :name))
                  (parameters (agent-q-diff-gptel--arguments tool)))
              (gptel-make-tool
               :name name
               :description (plist-get tool :description)
               :args parameters
               :function (agent-q-diff-gptel--function name parameters)
               :async t
               :category "agent-q-diff"
               :confirm nil)))
          (agent-q-diff-tools-list)))

(defun agent-q-diff-gptel-unload-function ()
  "Remove all hooks and advice while gptel still waits for results."
  (mapc #'agent-q-diff-gptel--cease agent-q-diff-gptel--calls)
  nil)

(provide 'agent-q-diff-gptel)
;;; agent-q-diff-gptel.el ends here
