;;; agent-q-diff-lisp.el --- Connector for Common Lisp  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A Common Lisp that is connected by SLY or SLIME has Emacs evaluate a form
;; and waits for the value.  Evaluated as usual, a form that asks the user
;; keeps Emacs in a recursive edit until all is decided, and nested calls are
;; answered in the wrong order.  With `agent-q-diff-lisp-mode' the call is
;; taken before it is evaluated, a review is begun, and Lisp, which notices
;; no difference, is answered when that has ended.
;;
;; agent-q-diff.lisp, beside this file, is the other end of
;; `agent-q-diff-lisp-call'.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-session)
(require 'agent-q-diff-tools)

;;;; Option

(defcustom agent-q-diff-lisp-wait-in-recursive-edit nil
  "Whether Emacs waits in a recursive edit for what Lisp asks.
If nil, one goes on working, and decides when one likes.  In either case
Lisp waits."
  :group 'agent-q-diff
  :type 'boolean)

;;;; What differs between SLY and SLIME

(defconst agent-q-diff-lisp--wires
  '((sly :events sly-event-hooks
         :closing sly-net-process-close-hooks
         :is-allowed sly-enable-evaluate-in-emacs
         :connection sly-dispatching-connection
         :dispatch sly-dispatch-event)
    (slime :events slime-event-hooks
           :closing slime-net-process-close-hooks
           :is-allowed slime-enable-evaluate-in-emacs
           :connection slime-dispatching-connection
           :dispatch slime-dispatch-event))
  "The names that SLY and SLIME have for the same things.
They differ in one thing more: a value that Lisp could not read, say a
buffer, is an error to SLY, while SLIME sends it as `:unreadable'.  Only
strings are answered here.")

(defun agent-q-diff-lisp--name (wire key)
  "Return the name that WIRE, `sly' or `slime', has for KEY."
  (plist-get (alist-get wire agent-q-diff-lisp--wires) key))

(defun agent-q-diff-lisp--value (wire key)
  "Return the value of the variable that WIRE has for KEY, or nil."
  (let ((name (agent-q-diff-lisp--name wire key)))
    (and (boundp name) (symbol-value name))))

;;;; What goes over the wire

(defconst agent-q-diff-lisp--limit #xffffff
  "Largest number of bytes of a message: its length has six hex digits.")

(defconst agent-q-diff-lisp--cut-characters 100000
  "Number of characters that are left of an answer that is too long.")

(defun agent-q-diff-lisp--common-p (char)
  "Return non-nil if Common Lisp has CHAR as well."
  (and (< char #x110000) (not (<= #xd800 char #xdfff))))

(defun agent-q-diff-lisp--text (string)
  "Return STRING as Lisp can read it.
Without text properties; what no Lisp has for a character, such as bytes
that are no text, is written in octal; and what would break the
connection, being too long, is cut."
  (let ((text (string-to-multibyte (substring-no-properties string))))
    (unless (cl-loop for char across text
                     always (agent-q-diff-lisp--common-p char))
      (setq text (mapconcat (lambda (char)
                              (if (agent-q-diff-lisp--common-p char)
                                  (string char)
                                (format "\\%o" (if (> char #x3fff7f) (- char #x3fff00) char))))
                            text "")))
    (if (< (string-bytes (prin1-to-string text)) (- agent-q-diff-lisp--limit 1024))
        text
      (concat (substring text 0 agent-q-diff-lisp--cut-characters)
              "\n[cut here: the whole is longer than a message to Lisp can be]"))))

;;;; Calls

(cl-defstruct (agent-q-diff-lisp-request
               (:constructor agent-q-diff-lisp--request-make))
  "A call by Lisp that is to be answered."
  (wire nil :documentation "`sly' or `slime'.")
  (connection nil :documentation "The process that is the connection.")
  (thread nil :documentation "The thread that waits, as Lisp numbers it.")
  (tag nil :documentation "The number of what it waits for.")
  (id nil :documentation "A name by which Lisp can take the call back, or nil.")
  (is-gone nil :documentation "Non-nil if Lisp no longer waits."))

(defun agent-q-diff-lisp-current (&optional id)
  "Return a request for the form that Lisp is having evaluated, or nil.
It cannot be answered but by returning; ID is its name."
  (cl-loop for (wire) in agent-q-diff-lisp--wires
           for connection = (agent-q-diff-lisp--value wire :connection)
           when connection
           return (agent-q-diff-lisp--request-make
                   :wire wire :connection connection :id id)))

(defun agent-q-diff-lisp-answer (request value)
  "Have VALUE be what the form of REQUEST came to.
VALUE is a string, or an error as `condition-case' binds it."
  (let ((connection (agent-q-diff-lisp-request-connection request)))
    (cond
     ((agent-q-diff-lisp-request-is-gone request))
     ((not (process-live-p connection))
      (message "%s is closed; nobody learns of this" (process-name connection)))
     (t (agent-q-diff-lisp--send request
                                 (if (stringp value)
                                     (list :ok (agent-q-diff-lisp--text value))
                                   (agent-q-diff-lisp--error value)))))))

(defun agent-q-diff-lisp--error (err)
  "Return ERR as SLY and SLIME tell Lisp of it."
  (cons :error (cons (symbol-name (car err))
                     (mapcar (lambda (datum)
                               (agent-q-diff-lisp--text (prin1-to-string datum)))
                             (cdr err)))))

(defun agent-q-diff-lisp--send (request result)
  "Send RESULT, as the protocol has it, in answer to REQUEST."
  (funcall (agent-q-diff-lisp--name (agent-q-diff-lisp-request-wire request)
                                    :dispatch)
           (list :emacs-return (agent-q-diff-lisp-request-thread request)
                 (agent-q-diff-lisp-request-tag request) result)
           (agent-q-diff-lisp-request-connection request)))

;;;; Taking a call before it is evaluated

(defvar agent-q-diff-lisp-functions nil
  "Alist of functions, for Lisp to use, to what is called in their place.
That gets the request first and then the arguments, and answers later.")

(defun agent-q-diff-lisp--read (string)
  "Return the call that STRING is, (FUNCTION . ARGUMENTS), or nil.
It is one if it calls one of `agent-q-diff-lisp-functions', and all its
arguments are literals."
  (when (string-match "\\`(\\([^][ ()\"'`,;?#\\]+\\)[ )]" string)
    (when-let ((later (alist-get (intern-soft (match-string 1 string))
                                 agent-q-diff-lisp-functions))
               (form (car (ignore-errors (read-from-string string)))))
      (pcase-let ((arguments (cdr form))
                  (`(,least . ,most) (func-arity later)))
        (when (and (proper-list-p arguments)
                   (seq-every-p #'agent-q-diff-lisp--literal-p arguments)
                   (<= least (1+ (length arguments)))
                   (or (eq most 'many) (>= most (1+ (length arguments)))))
          (cons later arguments))))))

(defun agent-q-diff-lisp--literal-p (form)
  "Return non-nil if FORM is a string, t or nil."
  (or (stringp form) (memq form '(t nil))))

(defun agent-q-diff-lisp--take (wire event)
  "Take EVENT, which came over WIRE, if it is a call to be answered later.
Return non-nil if so."
  (pcase event
    (`(:eval ,thread ,tag ,(and (pred stringp) string))
     (when-let ((call (agent-q-diff-lisp--read string)))
       (let ((request (agent-q-diff-lisp--request-make
                       :wire wire :thread thread :tag tag
                       :connection (agent-q-diff-lisp--value wire :connection))))
         (cond
          ((not (agent-q-diff-lisp--value wire :is-allowed))
           ;; SLY and SLIME say so here, and leave Lisp waiting for ever.
           (agent-q-diff-lisp-answer
            request `(error ,(format "%s is nil in Emacs"
                                     (agent-q-diff-lisp--name wire :is-allowed))))
           nil)
          (agent-q-diff-lisp-wait-in-recursive-edit nil)
          (t (agent-q-diff-lisp--begin request call)
             t)))))))

(defun agent-q-diff-lisp--begin (request call)
  "Begin what CALL, (FUNCTION . ARGUMENTS), asks for; REQUEST is it."
  (condition-case err
      (apply (car call) request (cdr call))
    (error (agent-q-diff-lisp-answer request err))))

(defun agent-q-diff-lisp--take-sly (event)
  "Take EVENT of SLY if it is a call to be answered later."
  (agent-q-diff-lisp--take 'sly event))

(defun agent-q-diff-lisp--take-slime (event)
  "Take EVENT of SLIME if it is a call to be answered later."
  (agent-q-diff-lisp--take 'slime event))

(defun agent-q-diff-lisp--closed (connection)
  "Note that CONNECTION, a process, is closed."
  (agent-q-diff-lisp--abandon
   (lambda (request)
     (eq connection (agent-q-diff-lisp-request-connection request)))))

(defun agent-q-diff-lisp--abandon (predicate)
  "Note that Lisp does not wait any more for requests that PREDICATE is true of.
Reviews say so; what was only asked for is taken back."
  (let ((is-gone (lambda (caller)
                   (when (and (agent-q-diff-lisp-request-p caller)
                              (funcall predicate caller))
                     (setf (agent-q-diff-lisp-request-is-gone caller) t)))))
    (agent-q-diff-abandon is-gone)
    (agent-q-diff-tools-withdraw-calls is-gone)))

;;;###autoload
(define-minor-mode agent-q-diff-lisp-mode
  "Answer Common Lisp's proposals when they are decided, and work meanwhile.
A connection that is closed is noticed, and the reviews that it waited
for say so."
  :global t
  :group 'agent-q-diff
  (let ((change (if agent-q-diff-lisp-mode #'add-hook #'remove-hook)))
    (funcall change 'sly-event-hooks #'agent-q-diff-lisp--take-sly)
    (funcall change 'slime-event-hooks #'agent-q-diff-lisp--take-slime)
    (pcase-dolist (`(,wire . ,_) agent-q-diff-lisp--wires)
      (funcall change (agent-q-diff-lisp--name wire :closing)
               #'agent-q-diff-lisp--closed))))

;;;; The tools

(defun agent-q-diff-lisp--arguments (arguments)
  "Return ARGUMENTS, names and values in turn, as an alist."
  (cl-loop for (name value) on arguments by #'cddr
           collect (cons name value)))

(defun agent-q-diff-lisp-call (id tool &rest arguments)
  "Call TOOL for Common Lisp, wait, and return the message for the agent.
ARGUMENTS are names and values in turn.  ID is a string by which
`agent-q-diff-lisp-abandon' knows the call."
  (let ((agent-q-diff-caller (cons "Common Lisp" (agent-q-diff-lisp-current id))))
    (agent-q-diff-lisp--text
     (agent-q-diff-tools-call tool (agent-q-diff-lisp--arguments arguments)))))

(defun agent-q-diff-lisp--call-later (request id tool &rest arguments)
  "Call TOOL for REQUEST, and answer that with the message for the agent.
ID and ARGUMENTS are as for `agent-q-diff-lisp-call'."
  (setf (agent-q-diff-lisp-request-id request) id)
  (let ((agent-q-diff-caller (cons "Common Lisp" request)))
    (agent-q-diff-tools-call-async
     tool (agent-q-diff-lisp--arguments arguments)
     (lambda (message)
       (agent-q-diff-lisp-answer request message)))))

(setf (alist-get 'agent-q-diff-lisp-call agent-q-diff-lisp-functions)
      #'agent-q-diff-lisp--call-later)

(defun agent-q-diff-lisp-call-for-agent-q (id tool &rest arguments)
  "Call TOOL for Agent-Q, whose agent knows the words of its documents.
ID, ARGUMENTS and the value are as for `agent-q-diff-lisp-call'."
  (let ((agent-q-diff-contract 'agent-q))
    (apply #'agent-q-diff-lisp-call id tool arguments)))

(defun agent-q-diff-lisp--call-for-agent-q-later (request id tool &rest arguments)
  "Call TOOL for Agent-Q's REQUEST, and answer that later.
ID and ARGUMENTS are as for `agent-q-diff-lisp-call'."
  (let ((agent-q-diff-contract 'agent-q))
    (apply #'agent-q-diff-lisp--call-later request id tool arguments)))

(setf (alist-get 'agent-q-diff-lisp-call-for-agent-q agent-q-diff-lisp-functions)
      #'agent-q-diff-lisp--call-for-agent-q-later)

(defun agent-q-diff-lisp-abandon (id)
  "Note that Lisp does not wait any more for the call that it named ID."
  (agent-q-diff-lisp--abandon
   (lambda (request)
     (equal id (agent-q-diff-lisp-request-id request)))))

(provide 'agent-q-diff-lisp)
;;; agent-q-diff-lisp.el ends here
