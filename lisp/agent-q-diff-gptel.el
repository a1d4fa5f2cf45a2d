;;; agent-q-diff-gptel.el --- The door for gptel  -*- lexical-binding: t; -*-

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

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-end)
(require 'agent-q-diff-tools)

(declare-function gptel-make-tool "ext:gptel" (&rest slots))

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
    (let ((agent-q-diff-caller (list "gptel")))
      (agent-q-diff-tools-call-async
       name
       (cl-loop for parameter in parameters
                for value in values
                collect (cons (plist-get parameter :name) value))
       callback))))

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

(provide 'agent-q-diff-gptel)
;;; agent-q-diff-gptel.el ends here
