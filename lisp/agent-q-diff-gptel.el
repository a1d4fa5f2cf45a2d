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
;; tools are asynchronous: one works on while a review is open.
;;
;; gptel does not tell a tool that nobody wants its result any more.  The
;; chat buffer can be killed while a tool runs, and a result is then an error
;; in gptel.  `gptel-abort' stops connections, of which there is none while a
;; tool runs, so that gptel would go on with the result.  Both are noticed
;; here.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-session)
(require 'agent-q-diff-tools)

(declare-function gptel-make-tool "ext:gptel" (&rest slots))
(declare-function gptel-fsm-info "ext:gptel-request" (machine))
(defvar gptel--fsm-last)

;;;; Calls

(cl-defstruct (agent-q-diff-gptel-call (:constructor agent-q-diff-gptel--call-make)
                                       (:copier nil))
  "A call of a tool that gptel waits for."
  (buffer nil :documentation "The chat buffer, from which the request was sent.")
  (callback nil :documentation "The function that takes the result, or nil.
After that was called, or when nobody wants it any more, it is nil."))

(defvar agent-q-diff-gptel--calls nil
  "Calls that have no result yet.")

(defun agent-q-diff-gptel--chat-buffer ()
  "Return the chat buffer of the request that gptel is busy with now.
That buffer is current, unless the user has looked at the tool's
arguments first: then the buffer for that is current, which gptel is
about to kill and which knows the request as well."
  (or (and (bound-and-true-p gptel--fsm-last)
           (fboundp 'gptel-fsm-info)
           (plist-get (gptel-fsm-info gptel--fsm-last) :buffer))
      (current-buffer)))

(defun agent-q-diff-gptel--begin (callback)
  "Return a new call of the current chat, whose result CALLBACK takes."
  (let* ((buffer (agent-q-diff-gptel--chat-buffer))
         (call (agent-q-diff-gptel--call-make :buffer buffer :callback callback)))
    (unless agent-q-diff-gptel--calls
      (advice-add 'gptel-abort :before #'agent-q-diff-gptel--aborted))
    (push call agent-q-diff-gptel--calls)
    (with-current-buffer buffer
      (add-hook 'kill-buffer-hook #'agent-q-diff-gptel--buffer-killed nil t))
    call))

(defun agent-q-diff-gptel--cease (call)
  "Note that CALL needs no result any more, and return its callback, or nil."
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
  "Return a list of what the chat in BUFFER still waits for."
  (seq-filter (lambda (call)
                (eq buffer (agent-q-diff-gptel-call-buffer call)))
              agent-q-diff-gptel--calls))

(defun agent-q-diff-gptel--answer (call result)
  "Give RESULT, a string, to gptel, if CALL still waits for it."
  (let ((callback (agent-q-diff-gptel--cease call)))
    (when (and callback (buffer-live-p (agent-q-diff-gptel-call-buffer call)))
      (funcall callback result))))

;;;; When nobody waits any more

(defun agent-q-diff-gptel--abandon (buffer)
  "Note that the chat in BUFFER wants no result any more.
Reviews say so; what was only asked for is taken back."
  (let ((gone (agent-q-diff-gptel--calls-of buffer)))
    (mapc #'agent-q-diff-gptel--cease gone)
    (when gone
      (let ((is-gone (lambda (caller) (memq caller gone))))
        (agent-q-diff-abandon is-gone)
        (agent-q-diff-tools-withdraw-calls is-gone)))))

(defun agent-q-diff-gptel--buffer-killed ()
  "Note that this chat buffer is being killed."
  (agent-q-diff-gptel--abandon (current-buffer)))
(put 'agent-q-diff-gptel--buffer-killed 'permanent-local-hook t)

(defun agent-q-diff-gptel--aborted (&optional buffer &rest _)
  "Note that the user aborts the request of BUFFER, or of the current buffer.
This is advice for `gptel-abort', which gptel has no hook for."
  (agent-q-diff-gptel--abandon (or buffer (current-buffer))))

;;;; Registering

(defun agent-q-diff-gptel--arguments (tool)
  "Return the parameters of TOOL, as `agent-q-diff-tools-list' has it, for gptel."
  (let-alist (plist-get tool :parameters)
    (mapcar (pcase-lambda (`(,name . ,parameter))
              (let-alist parameter
                (append (list :name (symbol-name name)
                              :type (intern .type)
                              :description .description)
                        (unless (member (symbol-name name)
                                        (plist-get tool :required))
                          (list :optional t)))))
            .properties)))

(defun agent-q-diff-gptel--function (name parameters)
  "Return a function for gptel to run the tool NAME with PARAMETERS.
It takes a callback and one value for each parameter, nil for
those that were not given."
  (lambda (callback &rest values)
    (let* ((call (agent-q-diff-gptel--begin callback))
           (agent-q-diff-caller (cons "gptel" call)))
      (agent-q-diff-tools-call-async
       name
       (cl-loop for parameter in parameters
                for value in values
                collect (cons (plist-get parameter :name) value))
       (apply-partially #'agent-q-diff-gptel--answer call)))))

;;;###autoload
(defun agent-q-diff-gptel-register ()
  "Make the tools known to gptel, and return them, for `gptel-tools'."
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
  "Leave nothing behind where gptel still waits for results."
  (mapc #'agent-q-diff-gptel--cease agent-q-diff-gptel--calls)
  nil)

(provide 'agent-q-diff-gptel)
;;; agent-q-diff-gptel.el ends here
