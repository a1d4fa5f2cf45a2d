;;; agent-q-diff-lisp.el --- Connector for Common Lisp  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A Common Lisp that is connected by SLY or SLIME has Emacs evaluate a form
;; and waits for the value.  A form that asked the user would keep Emacs in a
;; recursive edit until everything is decided, and nested calls would be
;; answered in the wrong order.  With `agent-q-diff-lisp-mode' the call is
;; intercepted before it is evaluated, a review is begun, and Lisp is
;; answered when that has ended.  Lisp notices no difference.
;;
;; agent-q-diff.lisp, in the same directory, is the other end of
;; `agent-q-diff-lisp-call'.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-tools)

;;;; Option

(defcustom agent-q-diff-lisp-wait-in-recursive-edit nil
  "Whether Emacs waits in a recursive edit for what Lisp asks.
If nil, you go on working and decide when you like.  In either case Lisp
waits."
  :group 'agent-q-diff-agents
  :type 'boolean)

;;;; Differences between SLY and SLIME

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
There is one more difference: a value that Lisp cannot read, say a buffer,
is an error in SLY, while SLIME sends it as `:unreadable'.  Answers here are
always strings.")

(defun agent-q-diff-lisp--name (wire key)
  "Return the name of KEY in WIRE, `sly' or `slime'."
  (plist-get (alist-get wire agent-q-diff-lisp--wires) key))

(defun agent-q-diff-lisp--value (wire key)
  "Return the value of the variable that is KEY in WIRE, or nil."
  (let ((name (agent-q-diff-lisp--name wire key)))
    (and (boundp name) (symbol-value name))))

;;;; Strings for Lisp

(defconst agent-q-diff-lisp--limit #xffffff
  "Maximum number of bytes of a message: its length has six hex digits.")

(defconst agent-q-diff-lisp--cut-characters 100000
  "Number of characters that remain of an answer that is too long.")

(defun agent-q-diff-lisp--common-p (char)
  "Return non-nil if CHAR is also a character in Common Lisp."
  (and (< char #x110000) (not (<= #xd800 char #xdfff))))

(defun agent-q-diff-lisp--text (string)
  "Return STRING in a form that Lisp can read.
Text properties are dropped.  What is not a character in Lisp, such as raw
bytes, is written in octal.  A string that is so long that it would break
the connection is cut."
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
  "A call by Lisp that has to be answered."
  (wire nil :documentation "`sly' or `slime'.")
  (connection nil :documentation "The process that is the connection.")
  (thread nil :documentation "Lisp's number of the thread that waits.")
  (tag nil :documentation "The number of the evaluation.")
  (id nil :documentation "A name by which Lisp can abandon the call, or nil.")
  (is-gone nil :documentation "Non-nil if Lisp no longer waits for it."))

(defun agent-q-diff-lisp-current (&optional id)
  "Return a request for the form that Lisp is having evaluated, or nil.
It is answered by returning, not by `agent-q-diff-lisp-answer'.  ID is the
request's name."
  (cl-loop for (wire) in agent-q-diff-lisp--wires
           for connection = (agent-q-diff-lisp--value wire :connection)
           when connection
           return (agent-q-diff-lisp--request-make
                   :wire wire :connection connection :id id)))

(defun agent-q-diff-lisp-answer (request value)
  "Answer REQUEST with VALUE, the value of its form.
VALUE is a string, or an error as bound by `condition-case'."
  (let ((connection (agent-q-diff-lisp-request-connection request)))
    (cond
     ((agent-q-diff-lisp-request-is-gone request))
     ((not (process-live-p connection))
      (message "%s is closed, so it gets no answer" (process-name connection)))
     (t (agent-q-diff-lisp--send request
                                 (if (stringp value)
                                     (list :ok (agent-q-diff-lisp--text value))
                                   (agent-q-diff-lisp--error value)))))))

(defun agent-q-diff-lisp--error (err)
  "Return ERR in the form in which SLY and SLIME send an error."
  (cons :error (cons (symbol-name (car err))
                     (mapcar (lambda (datum)
                               (agent-q-diff-lisp--text (prin1-to-string datum)))
                             (cdr err)))))

(defun agent-q-diff-lisp--send (request result)
  "Send RESULT, in the form of the protocol, as the answer to REQUEST."
  (funcall (agent-q-diff-lisp--name (agent-q-diff-lisp-request-wire request)
                                    :dispatch)
           (list :emacs-return (agent-q-diff-lisp-request-thread request)
                 (agent-q-diff-lisp-request-tag request) result)
           (agent-q-diff-lisp-request-connection request)))

;;;; Intercepting a call before it is evaluated

(defvar agent-q-diff-lisp-functions nil
  "Alist from functions that Lisp calls to functions called in their place.
The latter get the request and then the arguments, and answer later.")

(defun agent-q-diff-lisp--read (string)
  "Return the call in STRING, (FUNCTION . ARGUMENTS), or nil if there is none.
FUNCTION is the value in `agent-q-diff-lisp-functions'; all arguments must
be literals."
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
          (cons later (mapcar #'agent-q-diff-lisp--literal-value arguments)))))))

(defun agent-q-diff-lisp--literal-p (form)
  "Return non-nil if FORM is a string, t, nil or something quoted."
  (pcase form
    ((or (pred stringp) 't 'nil `',_) t)))

(defun agent-q-diff-lisp--literal-value (form)
  "Return the value of FORM, a literal."
  (pcase form
    (`',value value)
    (_ form)))

(defun agent-q-diff-lisp--take (wire event)
  "Intercept EVENT from WIRE if it is a call that is answered later.
Return non-nil if so."
  (pcase event
    (`(:eval ,thread ,tag ,(and (pred stringp) string))
     (when-let ((call (agent-q-diff-lisp--read string)))
       (let ((request (agent-q-diff-lisp--request-make
                       :wire wire :thread thread :tag tag
                       :connection (agent-q-diff-lisp--value wire :connection))))
         (cond
          ((not (agent-q-diff-lisp--value wire :is-allowed))
           ;; SLY and SLIME say so only in Emacs, and leave Lisp waiting.
           (agent-q-diff-lisp-answer
            request `(error ,(format "%s is nil in Emacs"
                                     (agent-q-diff-lisp--name wire :is-allowed))))
           nil)
          (agent-q-diff-lisp-wait-in-recursive-edit nil)
          (t (agent-q-diff-lisp--begin request call)
             t)))))))

(defun agent-q-diff-lisp--begin (request call)
  "Call FUNCTION with REQUEST and ARGUMENTS, where CALL is (FUNCTION . ARGUMENTS).
Answer REQUEST if that fails."
  (condition-case err
      (apply (car call) request (cdr call))
    (error (agent-q-diff-lisp-answer request err))))

(defun agent-q-diff-lisp--take-sly (event)
  "Intercept EVENT of SLY if it is a call that is answered later."
  (agent-q-diff-lisp--take 'sly event))

(defun agent-q-diff-lisp--take-slime (event)
  "Intercept EVENT of SLIME if it is a call that is answered later."
  (agent-q-diff-lisp--take 'slime event))

(defun agent-q-diff-lisp--closed (connection)
  "Abandon the requests over CONNECTION, a process that is closed, soon."
  (agent-q-diff-tools-later
   (lambda ()
     (agent-q-diff-lisp--abandon
      (lambda (request)
        (eq connection (agent-q-diff-lisp-request-connection request)))))))

(defun agent-q-diff-lisp--abandon (predicate)
  "Abandon the requests that satisfy PREDICATE: Lisp does not wait for them.
Their reviews show that; all other calls are withdrawn."
  (let ((is-gone (lambda (caller)
                   (when (and (agent-q-diff-lisp-request-p caller)
                              (funcall predicate caller))
                     (setf (agent-q-diff-lisp-request-is-gone caller) t)))))
    (agent-q-diff-abandon is-gone)
    (agent-q-diff-tools-withdraw-calls is-gone)))

;;;###autoload
(define-minor-mode agent-q-diff-lisp-mode
  "Answer Common Lisp's proposals when they are decided, and work meanwhile.
If a connection is closed, the reviews that it waited for show that."
  :global t
  :group 'agent-q-diff-agents
  (let ((change (if agent-q-diff-lisp-mode #'add-hook #'remove-hook)))
    (funcall change 'sly-event-hooks #'agent-q-diff-lisp--take-sly)
    (funcall change 'slime-event-hooks #'agent-q-diff-lisp--take-slime)
    (pcase-dolist (`(,wire . ,_) agent-q-diff-lisp--wires)
      (funcall change (agent-q-diff-lisp--name wire :closing)
               #'agent-q-diff-lisp--closed))))

;;;; The tools

(defun agent-q-diff-lisp--arguments (arguments)
  "Return ARGUMENTS, alternating names and values, as an alist."
  (cl-loop for (name value) on arguments by #'cddr
           collect (cons name value)))

(defun agent-q-diff-lisp-call (id tool &rest arguments)
  "Call TOOL for Common Lisp, wait, and return the message for the agent.
ARGUMENTS are alternating names and values.  ID is a string by which
`agent-q-diff-lisp-abandon' finds the call."
  (let ((agent-q-diff-call
         (agent-q-diff-call-with 'agent "Common Lisp" 'caller (agent-q-diff-lisp-current id))))
    (agent-q-diff-lisp--text
     (agent-q-diff-tools-call tool (agent-q-diff-lisp--arguments arguments)))))

(defun agent-q-diff-lisp--call-later (request id tool &rest arguments)
  "Call TOOL for REQUEST, and answer it later with the message for the agent.
ID and ARGUMENTS are as for `agent-q-diff-lisp-call'."
  (setf (agent-q-diff-lisp-request-id request) id)
  (let ((agent-q-diff-call (agent-q-diff-call-with 'agent "Common Lisp" 'caller request)))
    (agent-q-diff-tools-call-async
     tool (agent-q-diff-lisp--arguments arguments)
     (lambda (message)
       (agent-q-diff-lisp-answer request message)))))

(setf (alist-get 'agent-q-diff-lisp-call agent-q-diff-lisp-functions)
      #'agent-q-diff-lisp--call-later)

(defun agent-q-diff-lisp-call-for-agent-q (id tool &rest arguments)
  "Call TOOL for Agent-Q, in the wording of its documents.
ID, ARGUMENTS and the value are as for `agent-q-diff-lisp-call'."
  (let ((agent-q-diff-call (agent-q-diff-call-with 'contract 'agent-q)))
    (apply #'agent-q-diff-lisp-call id tool arguments)))

(defun agent-q-diff-lisp--call-for-agent-q-later (request id tool &rest arguments)
  "Call TOOL for Agent-Q's REQUEST, and answer it later.
ID and ARGUMENTS are as for `agent-q-diff-lisp-call'."
  (let ((agent-q-diff-call (agent-q-diff-call-with 'contract 'agent-q)))
    (apply #'agent-q-diff-lisp--call-later request id tool arguments)))

(setf (alist-get 'agent-q-diff-lisp-call-for-agent-q agent-q-diff-lisp-functions)
      #'agent-q-diff-lisp--call-for-agent-q-later)

(defun agent-q-diff-lisp-abandon (id)
  "Abandon the call named ID, for which Lisp does not wait any more."
  (agent-q-diff-lisp--abandon
   (lambda (request)
     (equal id (agent-q-diff-lisp-request-id request)))))

(provide 'agent-q-diff-lisp)
;;; agent-q-diff-lisp.el ends here
