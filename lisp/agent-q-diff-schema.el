;;; agent-q-diff-schema.el --- The tools' parameters, and checking arguments  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tools as agents see them: name, description, parameters.  The same
;; table serves for the JSON schema that a framework registers and for
;; checking the arguments that arrive, in whatever form JSON was parsed.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)

;;;; The tools

(defconst agent-q-diff-schema--tools
  '((:name "edit_file"
     :description "Make targeted edits to a file using exact string replacement. \
The old_str must match exactly once in the file. For multiple changes, call \
multiple times. WARNING: This modifies files. Changes are logged and may require \
approval."
     :safety-level moderate
     :categories (filesystem editing)
     :parameters
     ((path string t "File path (relative to project root)")
      (old_str string t "Exact string to find (must be unique)" "oldString")
      (new_str string t "Replacement string" "newString")
      (description string nil "What this change does (for logging)")
      (shouldReplaceAll boolean nil
                        "Replace every match instead of exactly one (default false)")))
    (:name "propose_file_edit"
     :description "Propose changes to a file as a diff for user review. The user \
decides about each hunk, and the answer says what is in the file. If the changes are \
rejected, do not propose them again; do as the answer says."
     :is-proposal t
     :safety-level moderate
     :categories (buffer editing)
     :parameters
     ((path string t "File path to edit")
      (original string t "Expected original content")
      (modified string t "Proposed new content")
      (description string t "What changed and why")))
    (:name "propose_patch"
     :description "Propose changes to a file as a unified diff for user review, without \
sending the whole file. The user decides about each hunk, and the answer says what is in \
the file. Each hunk is placed by its context and removed lines, which must be exact, not \
by its line number; give three lines of context, more where the file repeats itself, and \
keep the \"index\" line that git diff writes. If the changes are rejected, do not propose \
them again; do as the answer says."
     :is-proposal t
     :safety-level moderate
     :categories (buffer editing)
     :parameters
     ((path string nil "File path to edit; leave it out if the diff names its files, as \
git diff does")
      (diff string t "Unified diff with @@ headers, of this file or, as git diff writes it, of \
several files, also new, deleted and renamed ones")
      (description string t "What changed and why")))
    (:name "propose_changes"
     :description "Propose changes to several files at once for user review: edits, new, \
deleted and renamed files that belong together. The user decides about each hunk of each \
file, and the answer says what became of each file. If the changes are rejected, do not \
propose them again; do as the answer says."
     :is-proposal t
     :safety-level moderate
     :categories (buffer editing)
     :parameters
     ((changes (array
                (path string t "File path")
                (original string nil "Expected original content, together with modified")
                (modified string nil "Proposed new content of a file that exists")
                (content string nil "Whole content of a new file, or of one to be overwritten")
                (delete boolean nil "True if the file is to be deleted")
                (rename_to string nil "New path, if the file is to be renamed or moved")
                (executable boolean nil "Whether the file is to be executable"))
               t "The files, each once")
      (description string t "What changed and why"))))
  "The tools.
A parameter is (NAME TYPE IS-REQUIRED DESCRIPTION . OTHER-NAMES).  TYPE is
`string', `boolean', or (array . PARAMETERS) for a list of objects.")

(defun agent-q-diff-schema--json (parameters)
  "Return PARAMETERS as a JSON schema for `json-serialize' and `json-encode'."
  `((type . "object")
    (properties . ,(mapcar (pcase-lambda (`(,name ,type ,_ ,description . ,_))
                             `(,name ,@(agent-q-diff-schema--json-type type)
                                     (description . ,description)))
                           parameters))
    (required . ,(vconcat (agent-q-diff-schema--required parameters)))))

(defun agent-q-diff-schema--json-type (type)
  "Return the properties of a JSON schema that state TYPE, an alist."
  (pcase-exhaustive type
    (`(array . ,parameters)
     `((type . "array") (items . ,(agent-q-diff-schema--json parameters))))
    (_ `((type . ,(symbol-name type))))))

(defun agent-q-diff-schema--required (parameters)
  "Return the names of the required PARAMETERS."
  (mapcar (lambda (parameter) (symbol-name (car parameter)))
          (seq-filter (lambda (parameter) (nth 2 parameter)) parameters)))

(defun agent-q-diff-schema-list ()
  "Return the tools, a list of fresh plists.
:name and :description are strings for the agent, :parameters is a JSON
schema, an alist.  :required is a list of names; :safety-level and
:categories are terms of Agent-Q."
  (mapcar (lambda (tool)
            (let ((parameters (plist-get tool :parameters)))
              (list :name (plist-get tool :name)
                    :description (plist-get tool :description)
                    :parameters (agent-q-diff-schema--json parameters)
                    :required (agent-q-diff-schema--required parameters)
                    :safety-level (plist-get tool :safety-level)
                    :categories (plist-get tool :categories))))
          agent-q-diff-schema--tools))

(defun agent-q-diff-schema-proposal-p (name)
  "Return non-nil if the tool NAME asks for a review."
  (plist-get (seq-find (lambda (tool) (equal name (plist-get tool :name)))
                       agent-q-diff-schema--tools)
             :is-proposal))

(defun agent-q-diff-schema--tool (name)
  "Return the tool NAME, or signal that there is none."
  (or (seq-find (lambda (tool) (equal name (plist-get tool :name)))
                agent-q-diff-schema--tools)
      (agent-q-diff-schema--refuse
       "Unknown tool '%s'. The tools are %s" name
       (mapconcat (lambda (tool) (plist-get tool :name))
                  agent-q-diff-schema--tools ", "))))

;;;; Forms of arguments

(defun agent-q-diff-schema--refuse (format &rest arguments)
  "Signal `agent-q-diff-bad-arguments' with FORMAT and ARGUMENTS."
  (signal 'agent-q-diff-bad-arguments (list (apply #'format format arguments))))

(defun agent-q-diff-schema--pairs (arguments)
  "Return ARGUMENTS, a hash table, alist or plist, as (KEY . VALUE) pairs."
  (cond
   ((hash-table-p arguments)
    (let (pairs)
      (maphash (lambda (key value) (push (cons key value) pairs)) arguments)
      (nreverse pairs)))
   ((not (proper-list-p arguments))
    (agent-q-diff-schema--refuse
     "The arguments must be an object: a hash table, an alist or a plist"))
   ((seq-every-p #'consp arguments) arguments)
   ((and (not (consp (car arguments))) (zerop (mod (length arguments) 2)))
    (cl-loop for (key value) on arguments by #'cddr
             collect (cons key value)))
   (t (agent-q-diff-schema--refuse
       "The arguments must be an object, not a list of something else"))))

;;;; Checking

(defun agent-q-diff-schema--kind (value)
  "Return the JSON type of VALUE, in words."
  (cond
   ((stringp value) "a string")
   ((memq value '(t nil :false :json-false)) "a boolean")
   ((integerp value) "an integer")
   ((numberp value) "a number")
   ((or (vectorp value) (proper-list-p value)) "an array or object")
   ((hash-table-p value) "an object")
   (t (format "%S" (type-of value)))))

(defun agent-q-diff-schema--value (parameter key value)
  "Return VALUE, given as KEY for PARAMETER, as a Lisp value.
Signal an error if it has another type."
  (pcase (list (nth 1 parameter) value)
    ;; Text properties would take effect in the user's buffers.
    (`(string ,(pred stringp)) (substring-no-properties value))
    (`(boolean t) t)
    (`(boolean ,(or 'nil :false :json-false)) nil)
    (`((array . ,parameters) ,(pred agent-q-diff-schema--array-p))
     (seq-map-indexed (lambda (element index)
                        (agent-q-diff-schema--element
                         (format "%s[%d]" key index) parameters element))
                      (append value nil)))
    (`((array . ,_) ,_)
     (agent-q-diff-schema--refuse "Parameter '%s' must be an array of objects, not %s" key
                                  (agent-q-diff-schema--kind value)))
    (`(,type ,_)
     (agent-q-diff-schema--refuse "Parameter '%s' must be a %s, not %s" key type
                                  (agent-q-diff-schema--kind value)))))

(defun agent-q-diff-schema--element (what parameters element)
  "Return ELEMENT of an array, which is called WHAT, as an alist.
PARAMETERS are those of its objects.  Signal an error if it is none."
  (unless (or (hash-table-p element) (listp element))
    (agent-q-diff-schema--refuse "%s must be an object, not %s" what
                                 (agent-q-diff-schema--kind element)))
  (agent-q-diff-schema--checked what parameters element))

(defun agent-q-diff-schema--array-p (value)
  "Return non-nil if VALUE is a JSON array, in either form."
  (or (vectorp value)
      ;; As an object, it would be a plist or an alist.
      (and (proper-list-p value)
           (not (keywordp (car value)))
           (seq-every-p (lambda (element) (or (hash-table-p element) (consp element)))
                        value)
           (not (seq-some (lambda (element)
                            (and (consp element) (or (stringp (car element))
                                                     (and (symbolp (car element))
                                                          (not (keywordp (car element)))))))
                          value)))))

(defun agent-q-diff-schema-arguments (name arguments)
  "Return ARGUMENTS of a call of the tool NAME as an alist, after checking them.
ARGUMENTS are a hash table, an alist or a plist, as JSON was parsed; the
keys of the value are the symbols in the schema.  If a parameter is
missing, of another type, given twice or unknown, signal
`agent-q-diff-bad-arguments' with a message that names it."
  (let ((tool (agent-q-diff-schema--tool name)))
    (agent-q-diff-schema--checked (plist-get tool :name) (plist-get tool :parameters)
                                  arguments)))

(defun agent-q-diff-schema--checked (what parameters arguments)
  "Return ARGUMENTS for PARAMETERS as an alist, after checking them.
WHAT is whose parameters these are, for messages.  The rest is as for
`agent-q-diff-schema-arguments'."
  (let (checked)
    (pcase-dolist (`(,given . ,value) (agent-q-diff-schema--pairs arguments))
      (let* ((key (cond
                   ((stringp given) given)
                   ((keywordp given) (substring (symbol-name given) 1))
                   ((and given (symbolp given)) (symbol-name given))
                   (t (agent-q-diff-schema--refuse
                       "A parameter's name must be a string, not %S" given))))
             (parameter (or (seq-find (pcase-lambda (`(,name ,_ ,_ ,_ . ,others))
                                        (member key (cons (symbol-name name) others)))
                                      parameters)
                            (agent-q-diff-schema--refuse
                             "Unknown parameter '%s'. %s takes %s" key what
                             (mapconcat (lambda (parameter) (symbol-name (car parameter)))
                                        parameters ", "))))
             (name (car parameter)))
        ;; JSON's null means that there is no value.
        (unless (or (memq value '(:null :json-null))
                    (and (null value) (eq (nth 1 parameter) 'string)))
          (when (assq name checked)
            (agent-q-diff-schema--refuse "Parameter '%s' is given twice" name))
          (push (cons name (agent-q-diff-schema--value parameter key value)) checked))))
    (pcase-dolist (`(,key ,_ ,is-required . ,_) parameters)
      (when (and is-required (not (assq key checked)))
        (agent-q-diff-schema--refuse
         "Missing parameter '%s'. %s needs %s" key what
         (string-join (agent-q-diff-schema--required parameters) ", "))))
    (nreverse checked)))

(provide 'agent-q-diff-schema)
;;; agent-q-diff-schema.el ends here
