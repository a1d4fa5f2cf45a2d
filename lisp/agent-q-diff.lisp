;;;; agent-q-diff.lisp --- an agent's edits, reviewed in Emacs

;;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Load this into any Common Lisp that is connected to Emacs by SLY or SLIME,
;;; before or after it is connected:
;;;
;;;   (load "/path/to/agent-q-diff/lisp/agent-q-diff.lisp")
;;;   (agent-q-diff:propose-file-edit :path "src/foo.lisp" :original "..."
;;;                                   :modified "..." :description "...")
;;;
;;; The value is always the message for the agent, a string, even if the user
;;; rejects the proposal or Emacs is not connected.  If Agent-Q is in the image,
;;; its tools propose_file_edit, propose_patch, propose_changes and edit_file are
;;; replaced by these, and answer in the wording of its documents.
;;;
;;; SLYNK and SWANK are looked up when a call is made, never at read time.
;;; In Emacs, sly-enable-evaluate-in-emacs or slime-enable-evaluate-in-emacs
;;; must be true and agent-q-diff-lisp.el loaded.

(defpackage #:agent-q-diff
  (:use #:common-lisp)
  (:export #:propose-file-edit #:propose-patch #:propose-changes #:edit-file
           #:register-tools))

(in-package #:agent-q-diff)

;;;; The connection

(defconstant +wire-octets+ #xFFFFFF
  "Maximum length of a message: the length is written in six hex digits.")

(defconstant +octets-beside-texts+ 1024
  "An upper bound of the octets of a message without its texts.")

(defconstant +octets-beside-value+ 64
  "An upper bound of the octets that a name of *NAMES-OF-CHANGES* takes.")

(defparameter *names-of-notes* '(:line :text)
  "What a note on a line has, as Emacs names it.")

(defparameter *names-of-changes*
  '(:path :original :modified :content :delete :rename_to :executable :notes)
  "What can be said of a file in PROPOSE-CHANGES, as Emacs names it.
SLYNK and SWANK print symbols as they are, and Emacs reads them: no symbol may
be made of what an agent says.")

(defun wire-octets (name text)
  "Return the number of octets that TEXT, the value of NAME, takes in a message.
There it is a string inside a string, both in UTF-8, so a quote takes four."
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

(defun value-octets (name value)
  "Return the number of octets that VALUE, that of NAME, takes in a message.
VALUE is a string or T."
  (typecase value
    (string (wire-octets name value))
    ((eql t) 4)
    (t (error "~A must be a string, not ~S" name (type-of value)))))

(defun objects-octets (objects)
  "Return the number of octets that OBJECTS, property lists, take in a message.
Their names are those of changes or notes.  Their values may also be NIL; lines
are integers, and notes such objects."
  (loop for object in objects
        sum (loop for (name value) on object by #'cddr
                  sum (+ +octets-beside-value+
                         (cond ((null value) 0)
                               ((eq name :notes) (objects-octets value))
                               ((and (eq name :line) (integerp value))
                                (length (prin1-to-string value)))
                               (t (value-octets (string-downcase name) value)))))))

(defun check-arguments (names-and-values)
  "Signal an error unless NAMES-AND-VALUES can be sent.
They are alternating names and values.  A message that is too long would close
the connection."
  (let ((octets +octets-beside-texts+))
    (loop for (name value) on names-and-values by #'cddr
          do (incf octets (if (typep value '(cons (eql quote)))
                              (objects-octets (second value))
                              (value-octets name value))))
    (when (> octets +wire-octets+)
      (error "the texts take ~:D bytes on the way to Emacs, and ~:D are the most"
             octets +wire-octets+))))

(defparameter *wires* '("SLYNK" "SWANK")
  "The packages that may have a connection to Emacs.  The symbols that we use have
the same names in both.")

(defun wire-symbol (name wire)
  "Return the symbol NAME in the package WIRE, or NIL."
  (let ((package (find-package wire)))
    (and package (find-symbol name package))))

(defun connection-of (wire)
  "Return the connection of WIRE, preferably that of this thread, or NIL."
  (let ((current (wire-symbol "*EMACS-CONNECTION*" wire))
        (default (wire-symbol "DEFAULT-CONNECTION" wire)))
    (or (and current (boundp current) (symbol-value current))
        (and default (fboundp default) (funcall default)))))

(defun this-thread-first ()
  "Return *WIRES* with those first that are connected in this thread."
  (flet ((is-current (wire)
           (let ((current (wire-symbol "*EMACS-CONNECTION*" wire)))
             (and current (boundp current) (symbol-value current)))))
    (append (remove-if-not #'is-current *wires*) (remove-if #'is-current *wires*))))

(defun call-with-connection (function)
  "Call FUNCTION with the function EVAL-IN-EMACS of a connection to Emacs."
  (dolist (wire (this-thread-first)
                (error "Emacs is not connected, neither by SLY nor by SLIME"))
    (let ((connection (connection-of wire)))
      (when connection
        (return
          ;; WITH-CONNECTION is a macro, so compile the form for the loaded version.
          (funcall (compile nil `(lambda (connection function)
                                   (,(wire-symbol "WITH-CONNECTION" wire) (connection)
                                    (funcall function))))
                   connection
                   (lambda ()
                     (funcall function (wire-symbol "EVAL-IN-EMACS" wire)))))))))

;;;; Calling Emacs

(defvar *for-agent-q* nil
  "True if the answer is to have the wording of Agent-Q's documents.")

(defvar *random-state-for-ids* (make-random-state t)
  "A random state of our own: that of an image is often the same at each start.")

(defun fresh-id ()
  "Return a string that is unique to a call, across all Lisp images."
  (format nil "~36R" (random (expt 36 16) *random-state-for-ids*)))

(defun call-emacs (eval-in-emacs tool names-and-values)
  "Have Emacs call TOOL by the function EVAL-IN-EMACS.
NAMES-AND-VALUES are its arguments.  If the wait is cut short, say by an
interrupt, tell Emacs that nobody waits."
  (let ((id (fresh-id))
        (is-answered nil)
        ;; Otherwise a base string would be printed as #.(coerce ...).
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
  "Call TOOL in Emacs with NAMES-AND-VALUES and return its message, a string."
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

;;;; The tools

(defun answer-errors (path function)
  "Return the value of FUNCTION, or the message about its error.
PATH says in that message which files would have been changed."
  (handler-case (funcall function)
    (error (condition)
      (if *for-agent-q*
          (format nil "Error showing diff for ~A: ~A~2%This might indicate an issue ~
                       with the Emacs integration. Make sure~%sly-agent-q-diff.el is ~
                       loaded."
                  path condition)
          (format nil "Error: there is no decision about ~A: ~A" path condition)))))

(defun propose (tool path &rest names-and-values)
  "Return the message of TOOL in Emacs about a proposal for the file PATH.
NAMES-AND-VALUES are the tool's arguments."
  (answer-errors path (lambda () (apply #'call-tool tool names-and-values))))

(defun propose-file-edit (&key path original modified description)
  "Have the user review a change of the file PATH to MODIFIED, hunk by hunk.
ORIGINAL is its present content; DESCRIPTION says what the change is for.  Return
the message for the agent."
  (propose "propose_file_edit" path "path" path "original" original
           "modified" modified "description" description))

(defun propose-patch (&key path diff description)
  "Have the user review DIFF, a unified diff, hunk by hunk.
It is one of the file PATH, or, if that is NIL, of the files that it names, as git
diff writes it.  DESCRIPTION says what it is for.  Return the message for the
agent."
  (apply #'propose "propose_patch" (or path "the files of the diff")
         "diff" diff "description" description
         (when path (list "path" path))))

(defun name-for-emacs (name what names)
  "Return that of NAMES, those of a WHAT, which NAME, a string or keyword, means."
  (or (and (typep name '(or string keyword))
           (find (substitute #\_ #\- (string-upcase name)) names :test #'string=))
      (error "a ~A has no ~S; it has ~{~(~A~)~^, ~}" what name names)))

(defun pairs-of (object what)
  "Return OBJECT, which is called a WHAT, as an association list."
  (cond
    ((hash-table-p object)
     (loop for name being the hash-keys of object using (hash-value value)
           collect (cons name value)))
    ((not (and (listp object) (ignore-errors (list-length object))))
     (error "a ~A must be a property list, not ~S" what (type-of object)))
    ((every #'consp object) object)
    ((evenp (length object))
     (loop for (name value) on object by #'cddr
           collect (cons name value)))
    (t (error "a ~A must be a property list; one has ~D elements"
              what (length object)))))

(defun objects-for-emacs (objects what names)
  "Return OBJECTS, each a WHAT with some of NAMES, as property lists for Emacs.
They may also be as JSON is read: hash tables or association lists in a vector."
  (unless (typep objects '(or list (and vector (not string))))
    (error "~As must be a list, not ~S" what (type-of objects)))
  (map 'list
       (lambda (object)
         (loop for (given . value) in (pairs-of object what)
               for name = (name-for-emacs given what names)
               unless (eq value :null)
               collect name
               and collect (cond ((eq value :false) nil)
                                 ((eq name :notes)
                                  (objects-for-emacs value "note" *names-of-notes*))
                                 (t value))))
       objects))

(defun changes-for-emacs (changes)
  "Return CHANGES, as for PROPOSE-CHANGES, as property lists for Emacs."
  (objects-for-emacs changes "change" *names-of-changes*))

(defun propose-changes (&key changes description)
  "Have the user review CHANGES of several files, hunk by hunk.
CHANGES is a list of property lists, one for each file, with a subset of these:

  :PATH        the file, always
  :ORIGINAL    its present content, together with :MODIFIED
  :MODIFIED    its proposed content
  :CONTENT     the whole content of a new file, or of one to be overwritten
  :DELETE      T if it is to be deleted
  :RENAME-TO   its new path, if it is to be renamed or moved
  :EXECUTABLE  T or NIL, whether it is to be executable
  :NOTES       a list of property lists, each with a :TEXT to show below a :LINE,
               from 1, of its proposed content

DESCRIPTION says what the change is for.  Return the message for the agent."
  (answer-errors
   "the files"
   (lambda ()
     (call-tool "propose_changes"
                "changes" `(quote ,(changes-for-emacs changes))
                "description" description))))

(defun edit-file (&key path old-str new-str (description nil is-described)
                    should-replace-all)
  "Replace OLD-STR, which occurs exactly once in the file PATH, by NEW-STR.
If SHOULD-REPLACE-ALL is true, replace every occurrence.  DESCRIPTION says what
the edit is for.  Return the message for the agent."
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
     ((:name "path" :type :string :description "File path to edit; leave it out if the diff names its files, as git diff does")
      (:name "diff" :type :string :description "Unified diff with @@ headers, of this file or, as git diff writes it, of several files, also new, deleted and renamed ones")
      (:name "description" :type :string :description "What changed and why"))
     :required ("diff" "description")
     :safety-level :moderate
     :categories (:buffer :editing)
     :handler handle-propose-patch)
    ("propose_changes"
     "Propose changes to several files at once for user review: edits, new, deleted and renamed files that belong together. The user decides about each hunk of each file, and the answer says what became of each file. If the changes are rejected, STOP: do not propose them again."
     ((:name "changes" :type :array :description "The files, each once; an object each, with path and a subset of these: original and modified, both contents of a file that exists; content, of a new file or one to be overwritten; delete (boolean); rename_to; executable (boolean); notes, an array of objects with line, from 1 in the proposed content, and text, shown below that line in the diff")
      (:name "description" :type :string :description "What changed and why"))
     :required ("changes" "description")
     :safety-level :moderate
     :categories (:buffer :editing)
     :handler handle-propose-changes)
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

(defun of-json (value)
  "Return VALUE, or NIL if it stands for JSON's null or false."
  (if (member value '(:null :false)) nil value))

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
    (propose-patch :path (of-json (gethash "path" arguments))
                   :diff (gethash "diff" arguments)
                   :description (gethash "description" arguments))))

(defun handle-propose-changes (arguments)
  "Call PROPOSE-CHANGES with ARGUMENTS, a hash table, for Agent-Q."
  (let ((*for-agent-q* t))
    (propose-changes :changes (gethash "changes" arguments)
                     :description (gethash "description" arguments))))

(defun handle-edit-file (arguments)
  "Call EDIT-FILE with ARGUMENTS, a hash table, for Agent-Q."
  (let ((*for-agent-q* t))
    (edit-file :path (gethash "path" arguments)
               :old-str (gethash "old_str" arguments)
               :new-str (gethash "new_str" arguments)
               :description (of-json (gethash "description" arguments))
               :should-replace-all (of-json (gethash "shouldReplaceAll" arguments)))))

(defun register-tools ()
  "Register the tools with Agent-Q, if it is loaded, and return their names.
Call this again if Agent-Q was loaded later."
  (let ((define-tool (wire-symbol "DEFINE-TOOL" "AGENT-Q.TOOLS")))
    (when define-tool
      (loop for (name description parameters . rest) in *tools*
            ;; EVAL, since DEFINE-TOOL may be a macro or a function.
            do (eval `(,define-tool ,name ,description ',parameters
                        ,@(loop for (key value) on rest by #'cddr
                                collect key
                                collect (if (eq key :handler)
                                            `(function ,value)
                                            `',value))))
            collect name))))

(register-tools)
