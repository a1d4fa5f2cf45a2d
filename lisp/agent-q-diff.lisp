;;;; agent-q-diff.lisp --- an agent's edits, reviewed in Emacs

;;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Load this into any Common Lisp that is connected to Emacs by SLY or SLIME,
;;; before or after it is connected:
;;;
;;;   (load "/path/to/agent-q-diff/lisp/agent-q-diff.lisp")
;;;   (agent-q-diff:propose-file-edit :path "src/foo.lisp" :original "..."
;;;                                   :modified "..." :description "...")
;;;
;;; The value is the message for the agent, a string, whatever happens: the user
;;; decides hunk by hunk, and says no, or Emacs is not there.  If Agent-Q is in
;;; the image, its tools propose_file_edit, propose_patch and edit_file become
;;; these, and answer in the words of its documents.
;;;
;;; SLYNK and SWANK are looked up when a call is made, never by the reader.
;;; In Emacs, sly-enable-evaluate-in-emacs or slime-enable-evaluate-in-emacs
;;; must be true and agent-q-diff-lisp.el loaded.

(defpackage #:agent-q-diff
  (:use #:common-lisp)
  (:export #:propose-file-edit #:propose-patch #:edit-file #:register-tools))

(in-package #:agent-q-diff)

;;;; The wire

(defconstant +wire-octets+ #xFFFFFF
  "The longest message: its length is written in six hex digits.")

(defconstant +octets-beside-texts+ 1024
  "More than a message takes beside the texts in it.")

(defun wire-octets (name text)
  "Return the number of octets that TEXT, the value of NAME, takes in a message.
It is a string in a string there, both in UTF-8, so a quote takes four."
  (let ((octets 4))
    (loop for char across text
          for code = (char-code char)
          do (when (<= #xD800 code #xDFFF)
               (error "~A has a character that is none, U+~4,'0X" name code))
             (incf octets (cond ((find char "\"\\") 4)
                                ((< code #x80) 1)
                                ((< code #x800) 2)
                                ((< code #x10000) 3)
                                (t 4))))
    octets))

(defun check-arguments (names-and-values)
  "Signal an error unless NAMES-AND-VALUES can be sent.
A message that is too long would close the connection."
  (let ((octets +octets-beside-texts+))
    (loop for (name value) on names-and-values by #'cddr
          do (unless (or (stringp value) (eq value t))
               (error "~A must be a string, not ~S" name (type-of value)))
             (when (stringp value)
               (incf octets (wire-octets name value))))
    (when (> octets +wire-octets+)
      (error "the texts take ~:D bytes on the way to Emacs, and ~:D are the most"
             octets +wire-octets+))))

(defparameter *wires* '("SLYNK" "SWANK")
  "The packages that may have a connection to Emacs.  What we use of them has one
name in both.")

(defun wire-symbol (name wire)
  "Return what is called NAME in the package WIRE, or NIL."
  (let ((package (find-package wire)))
    (and package (find-symbol name package))))

(defun connection-of (wire)
  "Return the connection of WIRE, that of this thread if it has one, or NIL."
  (let ((current (wire-symbol "*EMACS-CONNECTION*" wire))
        (default (wire-symbol "DEFAULT-CONNECTION" wire)))
    (or (and current (boundp current) (symbol-value current))
        (and default (fboundp default) (funcall default)))))

(defun this-thread-first ()
  "Return *WIRES*, the one that this thread serves in front."
  (flet ((is-current (wire)
           (let ((current (wire-symbol "*EMACS-CONNECTION*" wire)))
             (and current (boundp current) (symbol-value current)))))
    (append (remove-if-not #'is-current *wires*) (remove-if #'is-current *wires*))))

(defun call-with-connection (function)
  "Call FUNCTION with EVAL-IN-EMACS, connected to Emacs."
  (dolist (wire (this-thread-first)
                (error "Emacs is not connected, neither by SLY nor by SLIME"))
    (let ((connection (connection-of wire)))
      (when connection
        (return
          ;; WITH-CONNECTION is a macro of whichever version is here.
          (funcall (compile nil `(lambda (connection function)
                                   (,(wire-symbol "WITH-CONNECTION" wire) (connection)
                                    (funcall function))))
                   connection
                   (lambda ()
                     (funcall function (wire-symbol "EVAL-IN-EMACS" wire)))))))))

;;;; Calling Emacs

(defvar *for-agent-q* nil
  "Whether the answer is to be in the words of Agent-Q's documents.")

(defvar *random-state-for-ids* (make-random-state t)
  "Of our own, since that of an image is often the same whenever it starts.")

(defun fresh-id ()
  "Return a string that no other call has, in no other Lisp."
  (format nil "~36R" (random (expt 36 16) *random-state-for-ids*)))

(defun call-emacs (eval-in-emacs tool names-and-values)
  "Have Emacs call TOOL by the function EVAL-IN-EMACS.
If the wait is cut short, as by an interrupt, Emacs is told that nobody waits."
  (let ((id (fresh-id))
        (is-answered nil)
        ;; Else a base string would be written as #.(coerce ...).
        (*print-readably* nil))
    (unwind-protect
         (prog1 (funcall eval-in-emacs
                         `(,(if *for-agent-q*
                                'agent-q-diff-lisp-call-for-agent-q
                                'agent-q-diff-lisp-call)
                           ,id ,tool ,@names-and-values))
           (setf is-answered t))
      (unless is-answered
        (ignore-errors
         (funcall eval-in-emacs `(agent-q-diff-lisp-abandon ,id) t))))))

(defun call-tool (tool &rest names-and-values)
  "Return what TOOL in Emacs says to NAMES-AND-VALUES, a string."
  (check-arguments names-and-values)
  (let ((answer (call-with-connection
                 (lambda (eval-in-emacs)
                   (call-emacs eval-in-emacs tool names-and-values)))))
    (cond
      ((stringp answer) answer)
      (*for-agent-q*
       (format nil "~C Unexpected response from diff UI: ~A~2%~
                    The file may not have been modified."
               (code-char #x26A0) answer))
      (t (format nil "Error: Emacs answered ~S, which is no message. Whether ~
                      anything was changed is not known."
                 answer)))))

;;;; What an agent calls

(defun propose (tool path &rest names-and-values)
  "Return what TOOL in Emacs says to the proposal for the file PATH, a string."
  (handler-case (apply #'call-tool tool "path" path names-and-values)
    (error (condition)
      (if *for-agent-q*
          (format nil "Error showing diff for ~A: ~A~2%This might indicate an issue ~
                       with the Emacs integration. Make sure~%sly-agent-q-diff.el is ~
                       loaded."
                  path condition)
          (format nil "Error: there is no decision about ~A: ~A" path condition)))))

(defun propose-file-edit (&key path original modified description)
  "Have the user review that the file PATH becomes MODIFIED, hunk by hunk.
ORIGINAL is what it holds, DESCRIPTION says what for.  Return the message for
the agent."
  (propose "propose_file_edit" path "original" original "modified" modified
           "description" description))

(defun propose-patch (&key path diff description)
  "Have the user review DIFF, a unified diff of the file PATH, hunk by hunk.
DESCRIPTION says what for.  Return the message for the agent."
  (propose "propose_patch" path "diff" diff "description" description))

(defun edit-file (&key path old-str new-str (description nil is-described)
                    should-replace-all)
  "Replace OLD-STR, which the file PATH has exactly once, by NEW-STR.
If SHOULD-REPLACE-ALL is true, replace it wherever it is.  DESCRIPTION says what
for.  Return the message for the agent."
  (handler-case (apply #'call-tool "edit_file"
                       "path" path "old_str" old-str "new_str" new-str
                       (append (when (and is-described description)
                                 (list "description" description))
                               (when should-replace-all
                                 (list "shouldReplaceAll" t))))
    (error (condition)
      (format nil "Error editing file: ~A" condition))))

;;;; Agent-Q

(defparameter *tools*
  '(("propose_file_edit"
     "Propose changes to a file as a diff for user review. The user decides about each hunk. If the changes are rejected, STOP: do not propose them again."
     ((:name "path" :type :string :description "File path to edit")
      (:name "original" :type :string :description "Expected original content")
      (:name "modified" :type :string :description "Proposed new content")
      (:name "description" :type :string :description "What changed and why"))
     :required ("path" "original" "modified" "description")
     :safety-level :moderate
     :categories (:buffer :editing)
     :handler handle-propose-file-edit)
    ("propose_patch"
     "Propose changes to a file as a unified diff for user review, without sending the whole file. The user decides about each hunk. Each hunk is placed by its context and removed lines, which must be exact, not by its line number; give three lines of context, more where the file repeats itself, and keep the \"index\" line that git diff writes. If the changes are rejected, STOP: do not propose them again."
     ((:name "path" :type :string :description "File path to edit")
      (:name "diff" :type :string :description "Unified diff of this one file, with @@ headers")
      (:name "description" :type :string :description "What changed and why"))
     :required ("path" "diff" "description")
     :safety-level :moderate
     :categories (:buffer :editing)
     :handler handle-propose-patch)
    ("edit_file"
     "Make targeted edits to a file using exact string replacement. The old_str must match exactly once in the file. For multiple changes, call multiple times. WARNING: This modifies files. Changes are logged and may require approval."
     ((:name "path" :type :string :description "File path (relative to project root)")
      (:name "old_str" :type :string :description "Exact string to find (must be unique)")
      (:name "new_str" :type :string :description "Replacement string")
      (:name "description" :type :string :description "What this change does (for logging)")
      (:name "shouldReplaceAll" :type :boolean :description "Replace every match instead of exactly one (default false)"))
     :required ("path" "old_str" "new_str")
     :safety-level :moderate
     :categories (:filesystem :editing)
     :handler handle-edit-file))
  "The arguments of Agent-Q's DEFINE-TOOL.")

(defun handle-propose-file-edit (arguments)
  "Call PROPOSE-FILE-EDIT with ARGUMENTS, a hash table, for Agent-Q."
  (let ((*for-agent-q* t))
    (propose-file-edit :path (gethash "path" arguments)
                       :original (gethash "original" arguments)
                       :modified (gethash "modified" arguments)
                       :description (gethash "description" arguments))))

(defun handle-propose-patch (arguments)
  "Call PROPOSE-PATCH with ARGUMENTS, a hash table, for Agent-Q."
  (let ((*for-agent-q* t))
    (propose-patch :path (gethash "path" arguments)
                   :diff (gethash "diff" arguments)
                   :description (gethash "description" arguments))))

(defun handle-edit-file (arguments)
  "Call EDIT-FILE with ARGUMENTS, a hash table, for Agent-Q."
  (flet ((given (name)
           ;; What JSON's null and false are read as.
           (let ((value (gethash name arguments)))
             (if (member value '(:null :false)) nil value))))
    (let ((*for-agent-q* t))
      (edit-file :path (gethash "path" arguments)
                 :old-str (gethash "old_str" arguments)
                 :new-str (gethash "new_str" arguments)
                 :description (given "description")
                 :should-replace-all (given "shouldReplaceAll")))))

(defun register-tools ()
  "Make the tools Agent-Q's, if it is here, and return their names.
Call this again if Agent-Q was loaded later."
  (let ((define-tool (wire-symbol "DEFINE-TOOL" "AGENT-Q.TOOLS")))
    (when define-tool
      (loop for (name description parameters . rest) in *tools*
            ;; Evaluated, so it may be a macro as well as a function.
            do (eval `(,define-tool ,name ,description ',parameters
                        ,@(loop for (key value) on rest by #'cddr
                                collect key
                                collect (if (eq key :handler)
                                            `(function ,value)
                                            `',value))))
            collect name))))

(register-tools)
