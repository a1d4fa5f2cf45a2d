;;; agent-q-diff-tools.el --- The tools that agents call  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Lists the tools `edit_file', `propose_file_edit', `propose_patch' and
;; `propose_changes', and calls them.  A call always ends in a message for the
;; agent, whatever goes wrong.  `agent-q-diff-call' says in which wording; see
;; agent-q-diff-message.el.
;;
;; A framework registers what `agent-q-diff-tools-list' returns, and calls
;; `agent-q-diff-tools-call', or `agent-q-diff-tools-call-async' if it must
;; not wait.
;;
;; The table of tools serves for the JSON schema that a framework registers
;; and for checking the arguments that arrive, in whatever form JSON was
;; parsed.
;;
;; A proposal is the name of its tool and the arguments, an alist: `path',
;; `original', `modified', `description' and perhaps `notes' for
;; `propose_file_edit'; `diff', `description' and perhaps `path' for
;; `propose_patch'; `changes' and `description' for `propose_changes'.  It may
;; be for a file outside the project; the user is warned.  All other checks of
;; the guard hold there as well; it then walks from the root of the file system.
;;
;; A call that asks the user a question must not interrupt another one, nor
;; a minibuffer.  So calls wait in a queue for their turn.
;;
;; An agent's own tool writes only once it is allowed to, and its edit starts
;; from the file as it was before.  So calls that change the same file take
;; turns: each waits until the one before it has written, or never will.  A call
;; for several files has its turn once it is the first for all of them, so that
;; no two calls wait for each other.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-target)
(require 'agent-q-diff-input)
(require 'agent-q-diff-message)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-log)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-api)
(require 'agent-q-diff-permit)
(require 'agent-q-diff-session)
(require 'agent-q-diff-edit-file)
(require 'agent-q-diff-told)

;;;; The tools

(defconst agent-q-diff-tools--notes
  '(notes (array
           (line integer nil "Line of the proposed content, from 1; leave it out, or give 0, \
for the whole file")
           (text string t "What to say about it"))
          nil "Notes for the user on lines of the proposed content, shown below these in the \
diff, and never written to the file")
  "The parameter with notes on lines.")

(defconst agent-q-diff-tools--table
  `((:name "edit_file"
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
      (description string t "What changed and why")
      ,agent-q-diff-tools--notes))
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
                (executable boolean nil "Whether the file is to be executable")
                ,agent-q-diff-tools--notes)
               t "The files, each once")
      (description string t "What changed and why")))
    (:name "review_comments"
     :description "Return what the user, who reviews your changes, has said and what is not \
handled yet: what was taken out again and why, comments and questions on lines, each with \
its id. Call it before you go on with a task, if you were not told already."
     :safety-level safe
     :categories (editing)
     :parameters
     ((path string nil "File path; then all that the user has said about this file, \
also what you were told before")
      (from integer nil "With path: only from this line on, as a message says")))
    (:name "resolve_comment"
     :description "Answer a comment or question of the user's, after you have done what it \
says. Your answer is shown below its lines."
     :safety-level safe
     :categories (editing)
     :parameters
     ((id string t "The comment's id, such as 3")
      (answer string t "What you did, or the answer to the question, in a sentence or two"))))
  "The tools.
A parameter is (NAME TYPE IS-REQUIRED DESCRIPTION . OTHER-NAMES).  TYPE is
`string', `boolean', `integer', or (array . PARAMETERS) for a list of objects.")

(defun agent-q-diff-tools--json (parameters)
  "Return PARAMETERS as a JSON schema for `json-serialize' and `json-encode'."
  `((type . "object")
    (properties . ,(mapcar (pcase-lambda (`(,name ,type ,_ ,description . ,_))
                             `(,name
                               ,@(pcase-exhaustive type
                                   (`(array . ,parts)
                                    `((type . "array")
                                      (items . ,(agent-q-diff-tools--json parts))))
                                   (_ `((type . ,(symbol-name type)))))
                               (description . ,description)))
                           parameters))
    (required . ,(vconcat (agent-q-diff-tools--required parameters)))))

(defun agent-q-diff-tools--required (parameters)
  "Return the names of the required PARAMETERS."
  (mapcar (lambda (parameter) (symbol-name (car parameter)))
          (seq-filter (lambda (parameter) (nth 2 parameter)) parameters)))

(defun agent-q-diff-tools--known (name)
  "Return the tool NAME, or nil if there is none."
  (seq-find (lambda (tool) (equal name (plist-get tool :name))) agent-q-diff-tools--table))

(defun agent-q-diff-tools-proposal-p (name)
  "Return non-nil if the tool NAME asks for a review."
  (plist-get (agent-q-diff-tools--known name) :is-proposal))

(defun agent-q-diff-tools--tool (name)
  "Return the tool NAME, or signal that there is none."
  (or (agent-q-diff-tools--known name)
      (agent-q-diff-base-refuse
       "Unknown tool '%s'. The tools are %s" name
       (mapconcat (lambda (tool) (plist-get tool :name))
                  agent-q-diff-tools--table ", "))))

;;;; Forms of arguments

(defun agent-q-diff-tools--pairs (arguments)
  "Return ARGUMENTS, a hash table, alist or plist, as (KEY . VALUE) pairs."
  (cond
   ((hash-table-p arguments)
    (let (pairs)
      (maphash (lambda (key value) (push (cons key value) pairs)) arguments)
      (nreverse pairs)))
   ((not (proper-list-p arguments))
    (agent-q-diff-base-refuse
     "The arguments must be an object: a hash table, an alist or a plist"))
   ((seq-every-p #'consp arguments) arguments)
   ((and (not (consp (car arguments))) (zerop (mod (length arguments) 2)))
    (cl-loop for (key value) on arguments by #'cddr
             collect (cons key value)))
   (t (agent-q-diff-base-refuse
       "The arguments must be an object, not a list of something else"))))

;;;; Checking

(defun agent-q-diff-tools--kind (value)
  "Return the JSON type of VALUE, in words."
  (cond
   ((stringp value) "a string")
   ((memq value '(t nil :false :json-false)) "a boolean")
   ((integerp value) "an integer")
   ((numberp value) "a number")
   ((or (vectorp value) (proper-list-p value)) "an array or object")
   ((hash-table-p value) "an object")
   (t (format "%S" (type-of value)))))

(defun agent-q-diff-tools--value (parameter key value)
  "Return VALUE, given as KEY for PARAMETER, as a Lisp value.
Signal an error if it has another type."
  (pcase (list (nth 1 parameter) value)
    ;; Text properties would take effect in the user's buffers.
    (`(string ,(pred stringp)) (substring-no-properties value))
    (`(integer ,(pred integerp)) value)
    (`(boolean t) t)
    (`(boolean ,(or 'nil :false :json-false)) nil)
    (`((array . ,parameters) ,(pred agent-q-diff-tools--array-p))
     (seq-map-indexed (lambda (element index)
                        (let ((what (format "%s[%d]" key index)))
                          (unless (or (hash-table-p element) (listp element))
                            (agent-q-diff-base-refuse "%s must be an object, not %s" what
                                                      (agent-q-diff-tools--kind element)))
                          (agent-q-diff-tools--checked what parameters element)))
                      (append value nil)))
    (`((array . ,_) ,_)
     (agent-q-diff-base-refuse "Parameter '%s' must be an array of objects, not %s" key
                               (agent-q-diff-tools--kind value)))
    (`(,type ,_)
     (agent-q-diff-base-refuse "Parameter '%s' must be %s %s, not %s" key
                               (if (eq type 'integer) "an" "a") type
                               (agent-q-diff-tools--kind value)))))

(defun agent-q-diff-tools--array-p (value)
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

(defun agent-q-diff-tools-arguments (name arguments)
  "Return ARGUMENTS of a call of the tool NAME as an alist, after checking them.
ARGUMENTS are a hash table, an alist or a plist, as JSON was parsed; the
keys of the value are the symbols in the schema.  If a parameter is
missing, of another type, given twice or unknown, signal
`agent-q-diff-bad-arguments' with a message that names it."
  (let ((tool (agent-q-diff-tools--tool name)))
    (agent-q-diff-tools--checked (plist-get tool :name) (plist-get tool :parameters)
                                  arguments)))

(defun agent-q-diff-tools--checked (what parameters arguments)
  "Return ARGUMENTS for PARAMETERS as an alist, after checking them.
WHAT names their owner, for messages.  The rest is as for
`agent-q-diff-tools-arguments'."
  (let (checked)
    (pcase-dolist (`(,given . ,value) (agent-q-diff-tools--pairs arguments))
      (let* ((key (cond
                   ((stringp given) given)
                   ((keywordp given) (substring (symbol-name given) 1))
                   ((and given (symbolp given)) (symbol-name given))
                   (t (agent-q-diff-base-refuse
                       "A parameter's name must be a string, not %S" given))))
             (parameter (or (seq-find (pcase-lambda (`(,name ,_ ,_ ,_ . ,others))
                                        (member key (cons (symbol-name name) others)))
                                      parameters)
                            (agent-q-diff-base-refuse
                             "Unknown parameter '%s'. %s takes %s" key what
                             (mapconcat (lambda (parameter) (symbol-name (car parameter)))
                                        parameters ", "))))
             (name (car parameter)))
        ;; JSON's null means that there is no value.
        (unless (or (memq value '(:null :json-null))
                    (and (null value) (memq (nth 1 parameter) '(string integer))))
          (when (assq name checked)
            (agent-q-diff-base-refuse "Parameter '%s' is given twice" name))
          (push (cons name (agent-q-diff-tools--value parameter key value)) checked))))
    (pcase-dolist (`(,key ,_ ,is-required . ,_) parameters)
      (when (and is-required (not (assq key checked)))
        (agent-q-diff-base-refuse
         "Missing parameter '%s'. %s needs %s" key what
         (string-join (agent-q-diff-tools--required parameters) ", "))))
    (nreverse checked)))

;;; Proposals

;;;; The file

(defun agent-q-diff-tools--root-for (name root)
  "Return the root from which the guard walks to the file NAME.
It is ROOT, the project's, unless that is nil or NAME is outside of it."
  (if (and root
           (condition-case nil
               (file-in-directory-p name root)
             ;; Links in a circle; the guard reports them.
             (error (string-prefix-p root name))))
      root
    ;; The outermost directory above it.
    (let ((directory (file-name-directory (file-truename name))))
      (while (not (agent-q-diff-guard-outermost-p directory))
        (setq directory (file-name-directory (directory-file-name directory))))
      directory)))

(defun agent-q-diff-tools--below (name root)
  "Return NAME, or its true name if it does not begin with ROOT."
  (if (string-prefix-p root name) name (file-truename name)))

(defun agent-q-diff-tools-request (tool path project &optional arguments)
  "Return a request for the file PATH of a call of TOOL with ARGUMENTS.
PATH is relative to `default-directory', and is checked only as a name.
PROJECT is the root of the agent's project, or nil if that is not known.

A refusal of PATH is logged here; a review is logged when it ends."
  (agent-q-diff-tools--logging-refusals
   tool path
   (lambda ()
     (agent-q-diff-request-make :tool tool :path path :name (agent-q-diff-visit-name path)
                                :root project :arguments arguments))))

(defun agent-q-diff-tools-check (request)
  "Have the guard check the file of REQUEST, and return REQUEST.
It gets its protection, its notes and its check: during a review, the file
or a directory on the way to it may be replaced by a link or become one of
git's own.  If no agent may edit the file, signal an error; that is logged."
  (let* ((name (agent-q-diff-request-name request))
         (project (agent-q-diff-request-root request))
         (root (agent-q-diff-tools--root-for name project)))
    (pcase-let ((`(,resolved . (,_ . ,protection))
                 (agent-q-diff-tools--logging-refusals
                  (agent-q-diff-request-tool request) (agent-q-diff-request-path request)
                  (lambda ()
                    (agent-q-diff-file-uncached
                      (let ((below (agent-q-diff-tools--below name root)))
                        (agent-q-diff-guard-find below root
                                                 (and (not (equal below name)) name))))))))
      (setf (agent-q-diff-request-protection request) protection
            (agent-q-diff-request-notes request)
            (append (unless (or (not project) (equal root project))
                      (list (format "The file is OUTSIDE the project %s"
                                    (abbreviate-file-name project))))
                    (and protection (list (format "PROTECTED: %s" protection))))
            (agent-q-diff-request-check request)
            (lambda ()
              (agent-q-diff-file-uncached
                (agent-q-diff-guard-recheck resolved root
                                            (agent-q-diff-tools--below name root)))))
      request)))

(defun agent-q-diff-tools-requests (tool files project arguments)
  "Return requests, one for each name of FILES, in order.
FILES are property lists, as `agent-q-diff-review-change' takes them.  TOOL,
PROJECT and ARGUMENTS are as for `agent-q-diff-tools-request'.  If any name
is refused, signal an error that names it."
  (mapcan (lambda (file)
            (mapcar (lambda (path)
                      (agent-q-diff-tools--naming path
                        (lambda ()
                          (agent-q-diff-tools-request tool path project arguments))))
                    (delq nil (list (plist-get file :path) (plist-get file :to)))))
          files))

(defun agent-q-diff-tools-targets (files requests)
  "Have the guard check FILES, and return (FILES . NOTES).
REQUESTS are those of `agent-q-diff-tools-requests' for FILES.  The FILES
that are returned have absolute names and are checked before each edit.
NOTES are strings for the user.  If any name is refused, signal an error that
names it."
  (let* ((project (agent-q-diff-request-root (car requests)))
         notes
         (checked
          (mapcar
           (lambda (file)
             (let ((file (copy-sequence file))
                   checks)
               (dolist (key '(:path :to))
                 (when-let ((path (plist-get file key))
                            (request (pop requests)))
                   (agent-q-diff-tools--naming path
                     (lambda () (agent-q-diff-tools-check request)))
                   (setq file (plist-put file key (agent-q-diff-request-name request)))
                   (push (agent-q-diff-request-check request) checks)
                   (dolist (note (agent-q-diff-request-notes request))
                     ;; The heading has the same name.
                     (push (format "%s: %s" (string-remove-prefix (or project "") path) note)
                           notes))))
               (dolist (note (agent-q-diff-tools--link-notes file project))
                 (push note notes))
               (plist-put file :check (lambda () (mapc #'funcall checks)))))
           files)))
    (cons checked (nreverse notes))))

(defun agent-q-diff-tools--link-notes (file project)
  "Return notes for the user if FILE is to be a link that leads out of PROJECT.
FILE is a property list with absolute names; PROJECT may be nil.  The
link's target is judged by its name alone: no file outside is accessed."
  (when-let ((leads-to (and project (plist-get file :link)))
             (name (or (plist-get file :to) (plist-get file :path))))
    (unless (string-prefix-p project
                             ;; An agent's name must not open a connection.
                             (let ((file-name-handler-alist nil))
                               (expand-file-name
                                (concat (agent-q-diff-file-named leads-to
                                                                 (file-name-directory name))
                                        "/"))))
      (list (format "%s: the link leads OUTSIDE the project %s"
                    (string-remove-prefix project name)
                    (abbreviate-file-name project))))))

(defun agent-q-diff-tools--naming (path function)
  "Call FUNCTION and return its value; if it refuses PATH, the error names PATH."
  (declare (indent 1))
  (condition-case err
      (funcall function)
    ((agent-q-diff-bad-target agent-q-diff-forbidden)
     (signal (car err)
             (list (if (string-search path (cadr err))
                       (cadr err)
                     (format "%s (%s)" (cadr err) (agent-q-diff-visible path))))))))

;;;; Proposals

(cl-defstruct (agent-q-diff-proposal (:constructor agent-q-diff-proposal-create (tool arguments))
                                     (:copier nil))
  "A proposal made by a call of a tool."
  (tool nil :documentation "Name of the tool.")
  (arguments nil :documentation "The arguments, an alist; see this file's commentary.")
  (root nil :documentation "Root of the agent's project, against which names are expanded.")
  (files nil :documentation "Property lists for `agent-q-diff-review-change', or nil.
It is nil if the proposal is for the text of the file in the argument `path'.")
  (requests nil :documentation "Requests for the names of its files, in order."))

(defun agent-q-diff-tools--read (proposal)
  "Find the files of PROPOSAL; signal an error if they are not certain."
  (let* ((root (agent-q-diff-guard-root))
         (default-directory root)
         (tool (agent-q-diff-proposal-tool proposal))
         (arguments (agent-q-diff-proposal-arguments proposal))
         (files (agent-q-diff-tools--files arguments)))
    (agent-q-diff-tools--check-notes arguments)
    (setf (agent-q-diff-proposal-root proposal) root
          (agent-q-diff-proposal-files proposal) files
          (agent-q-diff-proposal-requests proposal)
          (if files
              (agent-q-diff-tools-requests tool files root arguments)
            (list (agent-q-diff-tools-request tool (alist-get 'path arguments) root
                                                arguments))))))

(defun agent-q-diff-tools--what (proposal)
  "Return the subject of PROPOSAL, for a message to the agent."
  (or (alist-get 'path (agent-q-diff-proposal-arguments proposal))
      (let ((files (agent-q-diff-proposal-files proposal)))
        (pcase (length files)
          (0 "the proposal")
          (1 (plist-get (car files) :path))
          (n (format (ngettext "%d file" "%d files" n) n))))))

(defun agent-q-diff-tools--files (arguments)
  "Return the files that a call with ARGUMENTS would change, or nil.
They are property lists, as `agent-q-diff-review-change' takes them.  The
value is nil if the call is for the text of the file in the argument `path'."
  (let-alist arguments
    (cond
     ((assq 'changes arguments)
      (or (mapcar #'agent-q-diff-tools--file .changes)
          (agent-q-diff-base-refuse "Parameter 'changes' needs at least one file")))
     ((null .diff) nil)
     ((null .path) (agent-q-diff-input-of-diff .diff))
     (t
      (let ((files (ignore-error agent-q-diff-error
                     (agent-q-diff-input-of-diff .diff .path))))
        (unless (or (null files) (agent-q-diff-input-only-text files))
          (agent-q-diff-tools--with-path files .path)))))))

(defun agent-q-diff-tools--with-path (files path)
  "Return FILES, those of a diff, for a call that names PATH.
If there is only one, it is the file that PATH names; otherwise PATH must name
one of them."
  (cond
   ((null (cdr files)) (list (plist-put (car files) :path path)))
   ((seq-some (lambda (file)
                (member (agent-q-diff-visit-name path)
                        (mapcar #'agent-q-diff-visit-name
                                (delq nil (list (plist-get file :path)
                                                (plist-get file :to))))))
              files)
    files)
   (t (agent-q-diff-base-refuse "The diff is of several files, but not of %s; leave path out"
                                (agent-q-diff-visible path)))))

(defun agent-q-diff-tools--file (change)
  "Return CHANGE, an alist for one file from an agent, as a property list."
  (let-alist change
    (append (list :path .path)
            (and .original (list :original .original))
            (and .modified (list :modified .modified))
            (and .content (list :content .content))
            (and .delete (list :delete t))
            (and .rename_to (list :to .rename_to))
            (and .notes (list :annotations (agent-q-diff-tools--annotations .notes)))
            (when-let ((given (assq 'executable change)))
              (list :executable (if (cdr given) t 'no))))))

(defconst agent-q-diff-tools--max-notes 100
  "Number of notes that a proposal may have.")

(defconst agent-q-diff-tools--note-length 2000
  "Number of characters that a note may have.")

(defun agent-q-diff-tools--check-notes (arguments)
  "Signal an error if a proposal with ARGUMENTS has notes that cannot be shown.
They may be too many or too long, have no text, or a line below 0."
  (let ((notes (let-alist arguments
                 (append .notes
                         (mapcan (lambda (change) (copy-sequence (alist-get 'notes change)))
                                 .changes)))))
    (when (length> notes agent-q-diff-tools--max-notes)
      (agent-q-diff-base-refuse
       "There are %d notes, and %d are the most; leave out what matters least"
       (length notes) agent-q-diff-tools--max-notes))
    (dolist (note notes)
      (let-alist note
        (when (and .line (< .line 0))
          (agent-q-diff-base-refuse
           "A note is on line %d; give a line from 1, or 0 for the whole file" .line))
        (when (string-blank-p .text)
          (agent-q-diff-base-refuse "A note on line %d has no text" (or .line 0)))
        (when (length> .text agent-q-diff-tools--note-length)
          (agent-q-diff-base-refuse
           "The note on line %d has %d characters, and %d are the most; shorten it"
           (or .line 0) (length .text) agent-q-diff-tools--note-length))))))

(defun agent-q-diff-tools--annotations (notes)
  "Return NOTES of a call, alists with lines from 1, as (LINE . TEXT), from 0."
  (mapcar (lambda (note)
            (let-alist note
              (cons (and .line (< 0 .line) (1- .line)) .text)))
          notes))

(defun agent-q-diff-tools--logging-refusals (tool path function)
  "Call FUNCTION and return its value.
If it signals that a call of TOOL may not use PATH, log that."
  (condition-case err
      (funcall function)
    ((agent-q-diff-bad-target agent-q-diff-forbidden)
     (agent-q-diff-log-refusal tool path err)
     (signal (car err) (cdr err)))))

;;;; From the call to the answer

(defun agent-q-diff-tools--denial (proposal)
  "Return the message for the agent if the policy denies PROPOSAL, or nil."
  (when-let ((denied (seq-find (lambda (request)
                                 (eq 'deny (agent-q-diff-permit-policy request)))
                               (agent-q-diff-proposal-requests proposal)))
             (tool (agent-q-diff-proposal-tool proposal)))
    (agent-q-diff-log-record
     (list :tool tool :agent (agent-q-diff-call-agent (agent-q-diff-request-call denied))
           :path (agent-q-diff-request-name denied)
           :root (agent-q-diff-call-root (agent-q-diff-request-call denied))
           :outcome "rejected" :decided-by 'policy))
    (agent-q-diff-message-of-denied-call (agent-q-diff-request-path denied) tool
                                         '(:by policy))))

(defun agent-q-diff-tools--review (proposal callback &optional notes agent)
  "Begin the review of PROPOSAL, and return it; CALLBACK gets its result.
If CALLBACK is nil, wait for the decision, and return the result.  NOTES and
AGENT are as for `agent-q-diff-tools-propose'."
  (let ((default-directory (agent-q-diff-proposal-root proposal))
        (agent-q-diff-call (agent-q-diff-call-with 'tool (agent-q-diff-proposal-tool proposal)))
        (files (agent-q-diff-proposal-files proposal))
        (requests (agent-q-diff-proposal-requests proposal)))
    (let-alist (agent-q-diff-proposal-arguments proposal)
      (if files
          (pcase-let* ((`(,files . ,said) (agent-q-diff-tools-targets files requests))
                       (notes (append said notes)))
            (if callback
                (agent-q-diff-review-change files .description callback
                                            :notes notes :agent agent)
              (agent-q-diff-review-change-and-wait files .description :notes notes)))
        (let* ((request (agent-q-diff-tools-check (car requests)))
               (name (agent-q-diff-request-name request))
               (check (agent-q-diff-request-check request))
               (annotations (agent-q-diff-tools--annotations .notes))
               (notes (append (agent-q-diff-request-notes request) notes)))
          (cond
           ((and .diff callback)
            (agent-q-diff-review-patch name .diff .description callback
                                       :notes notes :agent agent :check check))
           (.diff
            (agent-q-diff-review-patch-and-wait name .diff .description
                                                :notes notes :check check))
           (callback
            (agent-q-diff-review name .original .modified .description callback
                                 :notes notes :annotations annotations
                                 :agent agent :check check))
           (t
            (agent-q-diff-review-and-wait name .original .modified .description
                                          :notes notes :annotations annotations
                                          :check check))))))))

(defun agent-q-diff-tools--message (proposal result)
  "Return the message about RESULT of PROPOSAL, with the name that the agent gave."
  (agent-q-diff-message-of-result result (agent-q-diff-tools--what proposal)))

(defun agent-q-diff-tools--propose-and-wait (tool arguments &optional is-allowed)
  "Wait for the decision on the proposal of TOOL with ARGUMENTS.
Return the message for the agent, also about an error.  If IS-ALLOWED is
non-nil, the policy is not asked whether it denies it."
  (let ((proposal (agent-q-diff-proposal-create tool arguments))
        (agent-q-diff-wait-undecided nil))
    (condition-case err
        (progn
          (agent-q-diff-tools--read proposal)
          (or (and (not is-allowed) (agent-q-diff-tools--denial proposal))
              (agent-q-diff-tools--message proposal
                                             (agent-q-diff-tools--review proposal nil))))
      ((error quit)
       (agent-q-diff-message-of-undecided
        agent-q-diff-wait-undecided err
        (apply-partially #'agent-q-diff-message-of-error
                         (agent-q-diff-tools--what proposal)))))))

(defun agent-q-diff-tools--begin (proposal callback &optional notes agent)
  "Do what `agent-q-diff-tools-propose' does for PROPOSAL.
CALLBACK, NOTES and AGENT are that function's."
  (agent-q-diff-tools--read proposal)
  (if-let ((denial (agent-q-diff-tools--denial proposal)))
      (progn
        (agent-q-diff-lifecycle-call-back callback
                                          (list :status 'rejected :decision "rejected"
                                                :message denial))
        nil)
    (agent-q-diff-tools--review
     proposal
     (lambda (result)
       (funcall callback
                (plist-put result :message
                           (agent-q-diff-tools--message proposal result))))
     notes agent)))

(cl-defun agent-q-diff-tools-propose (tool arguments callback &key notes agent)
  "Begin the review of a proposal, and return it without waiting.
TOOL is \"propose_file_edit\", \"propose_patch\" or \"propose_changes\", or
the name of an agent's own tool that proposes in the same way.
ARGUMENTS is an alist, as `agent-q-diff-tools-arguments' returns it.
CALLBACK is called once with the result, a plist as for
`agent-q-diff-review', with :message.  NOTES are further strings for the
user, and AGENT is the agent's name, if not that of the call.

If the user's policy denies the proposal, return nil; CALLBACK then gets a
result that has only :status `rejected', :decision and :message.  Signal an
error if the path is refused."
  (agent-q-diff-tools--begin (agent-q-diff-proposal-create tool arguments)
                               callback notes agent))

(defun agent-q-diff-tools--propose-async (tool arguments callback)
  "Begin the review of the proposal of TOOL with ARGUMENTS.
CALLBACK is called with the message for the agent."
  (condition-case err
      (let ((proposal (agent-q-diff-proposal-create
                       tool (agent-q-diff-tools-arguments tool arguments))))
        (condition-case err
            (agent-q-diff-tools--begin
             proposal (lambda (result) (funcall callback (plist-get result :message))))
          ((error quit)
           (funcall callback (agent-q-diff-message-of-error
                              (agent-q-diff-tools--what proposal) err)))))
    (agent-q-diff-bad-arguments
     (funcall callback (agent-q-diff-message-of-failure err))))
  nil)

;;;; Calls that wait for their turn

(defvar agent-q-diff-tools--queue nil
  "Calls that wait for their turn, each a list (CALLER RUN CALLBACK).
RUN is a function without arguments that makes the call and passes the
message for the agent to CALLBACK.")

(defvar agent-q-diff-tools--is-busy nil
  "Non-nil while a call from the queue runs.")

(defconst agent-q-diff-tools--retry-seconds 0.1
  "Seconds between attempts to run the next call while a minibuffer is open.")

(defun agent-q-diff-tools-queue (function callback)
  "Call FUNCTION when its turn comes, and CALLBACK with its value, a message.
FUNCTION is called in the current directory, for the current call."
  (let ((directory default-directory)
        ;; The option may be bound only here.
        (call (agent-q-diff-call-with
               'root (or agent-q-diff-project-root
                         (agent-q-diff-call-root agent-q-diff-call)))))
    (setq agent-q-diff-tools--queue
          (append agent-q-diff-tools--queue
                  (list (list (agent-q-diff-call-caller call)
                              (lambda ()
                                (let ((default-directory directory)
                                      (agent-q-diff-call call))
                                  (agent-q-diff-tools--answer function callback)))
                              callback))))
    (run-at-time 0 nil #'agent-q-diff-tools--run-next)
    nil))

(defun agent-q-diff-tools--withdraw-queued (predicate)
  "Drop each waiting call of a caller that satisfies PREDICATE, and answer it.
Their turns to change files end."
  (agent-q-diff-tools--withdraw-turns predicate)
  (let* ((is-theirs (lambda (call) (funcall predicate (car call))))
         (theirs (seq-filter is-theirs agent-q-diff-tools--queue)))
    (setq agent-q-diff-tools--queue
          (seq-remove is-theirs agent-q-diff-tools--queue))
    (pcase-dolist (`(,_ ,_ ,callback) theirs)
      (funcall callback "Error: the call was withdrawn; nothing was changed"))))

(defun agent-q-diff-tools--answer (function callback)
  "Call CALLBACK with the value of FUNCTION, a message.
It is called even if FUNCTION does not return."
  (let ((message "Error: the call was interrupted; its outcome is unknown"))
    (unwind-protect
        (setq message (funcall function))
      (condition-case err
          (funcall callback message)
        (error (message "agent-q-diff: a callback failed: %s"
                        (error-message-string err)))))))

(defun agent-q-diff-tools--run-next ()
  "Run the next call in the queue unless one is running.
While a minibuffer is open, try again later."
  (cond
   ((or agent-q-diff-tools--is-busy (null agent-q-diff-tools--queue)))
   ((active-minibuffer-window)
    (run-at-time agent-q-diff-tools--retry-seconds nil
                 #'agent-q-diff-tools--run-next))
   (t
    (unwind-protect
        (progn
          (setq agent-q-diff-tools--is-busy t)
          (funcall (nth 1 (pop agent-q-diff-tools--queue))))
      (setq agent-q-diff-tools--is-busy nil)
      (when agent-q-diff-tools--queue
        (run-at-time 0 nil #'agent-q-diff-tools--run-next))))))

;;;; Turns to change files

(cl-defstruct (agent-q-diff-tools--turn (:constructor agent-q-diff-tools--turn-create)
                                       (:copier nil))
  "The turn of a call that is going to change files."
  (id nil :documentation "Id of the call, a string.")
  (files nil :documentation "True names of the files.")
  (call agent-q-diff-call :documentation "The call, or nil if nobody waits for it any more.")
  (begin nil :documentation "Function that is called when its turn comes, or nil after that.")
  (has-waited nil :documentation "Non-nil if it could not begin at once.")
  (is-kept nil :documentation "Non-nil if the turn does not end when its caller is gone."))

(defvar agent-q-diff-tools--turns nil
  "Turns that have not ended, and calls that wait for theirs, the oldest first.")

(defun agent-q-diff-tools-take-turn (id files function)
  "Call FUNCTION when no earlier call is going to change one of FILES.
Its argument is non-nil if it had to wait.  ID is that of the call,
FILES are true names.  The turn ends when the caller withdraws."
  (setq agent-q-diff-tools--turns
        (append agent-q-diff-tools--turns
                (list (agent-q-diff-tools--turn-create
                       :id id :files files :begin function))))
  (let ((turn (car (last agent-q-diff-tools--turns))))
    (agent-q-diff-tools--begin-turns)
    (setf (agent-q-diff-tools--turn-has-waited turn) t)))

(defun agent-q-diff-tools-keep-turn (id)
  "Let the turn of the call ID last until `agent-q-diff-tools-end-turn'."
  (dolist (turn agent-q-diff-tools--turns)
    (when (and (equal id (agent-q-diff-tools--turn-id turn))
               (null (agent-q-diff-tools--turn-begin turn)))
      (setf (agent-q-diff-tools--turn-is-kept turn) t))))

(defun agent-q-diff-tools-end-turn (id)
  "End the turn of the call ID that was kept, or as soon as its caller is gone."
  (dolist (turn agent-q-diff-tools--turns)
    (when (equal id (agent-q-diff-tools--turn-id turn))
      (setf (agent-q-diff-tools--turn-is-kept turn) nil)))
  (agent-q-diff-tools--begin-turns))

(defun agent-q-diff-tools--withdraw-turns (predicate)
  "End each turn of a caller that satisfies PREDICATE, unless it is kept.
Tell the user about any that was still waiting."
  (dolist (turn agent-q-diff-tools--turns)
    (when-let* ((call (agent-q-diff-tools--turn-call turn))
                (caller (agent-q-diff-call-caller call)))
      (when (funcall predicate caller)
        (setf (agent-q-diff-tools--turn-call turn) nil)
        (when (agent-q-diff-tools--turn-begin turn)
          (message "%s gave up an edit of %s that waited for its turn"
                   (agent-q-diff-visible-name (or (agent-q-diff-call-agent call) "An agent") t)
                   (mapconcat (lambda (file)
                                (agent-q-diff-visible-name (abbreviate-file-name file)))
                              (agent-q-diff-tools--turn-files turn) ", "))))))
  (agent-q-diff-tools--begin-turns))

(defun agent-q-diff-tools--before-p (earlier turn)
  "Return non-nil if TURN has to wait for EARLIER, since they have a common file.
Files with several names (hard links) count as one.  But if EARLIER is decided
and of the same call, TURN need not wait: the agent runs two hooks for the
call, or gives its calls no ids."
  (unless (and (agent-q-diff-tools--turn-is-kept earlier)
               (equal (agent-q-diff-tools--turn-id earlier)
                      (agent-q-diff-tools--turn-id turn)))
    (let ((files (agent-q-diff-tools--turn-files turn)))
      (seq-some (lambda (file)
                  (or (member file files)
                      (seq-some (apply-partially #'file-equal-p file) files)))
                (agent-q-diff-tools--turn-files earlier)))))

(defun agent-q-diff-tools--begin-turns ()
  "Forget each turn that has ended, and begin each that can begin now."
  (setq agent-q-diff-tools--turns
        (seq-filter (lambda (turn)
                      (or (agent-q-diff-tools--turn-call turn)
                          (agent-q-diff-tools--turn-is-kept turn)))
                    agent-q-diff-tools--turns))
  (let ((n-waiting 0)
        (earlier nil)
        (functions nil))
    (dolist (turn agent-q-diff-tools--turns)
      (when-let ((begin (agent-q-diff-tools--turn-begin turn)))
        (if (seq-some (lambda (other) (agent-q-diff-tools--before-p other turn)) earlier)
            (cl-incf n-waiting)
          (setf (agent-q-diff-tools--turn-begin turn) nil)
          (push (apply-partially begin (agent-q-diff-tools--turn-has-waited turn)) functions)))
      (push turn earlier))
    (unless (= n-waiting agent-q-diff-reviews-n-queued)
      (setq agent-q-diff-reviews-n-queued n-waiting)
      (force-mode-line-update t))
    (mapc #'funcall (nreverse functions))))

;;; The entry points

(defun agent-q-diff-tools-list ()
  "Return the tools that agents can call, a list of plists:

:name          its name, a string
:description   the description that the agent reads
:parameters    a JSON schema of its arguments, an alist that
               `json-serialize' and `json-encode' take
:required      a list of the names of the parameters that must be given
:safety-level  a symbol, Agent-Q's
:categories    a list of symbols, Agent-Q's

`agent-q-diff-tools-call' calls one."
  (mapcar (lambda (tool)
            (let ((parameters (plist-get tool :parameters)))
              (list :name (plist-get tool :name)
                    :description (plist-get tool :description)
                    :parameters (agent-q-diff-tools--json parameters)
                    :required (agent-q-diff-tools--required parameters)
                    :safety-level (plist-get tool :safety-level)
                    :categories (plist-get tool :categories))))
          agent-q-diff-tools--table))

;;;; Calling a tool

;;;###autoload
(defun agent-q-diff-tools-call (tool arguments)
  "Call TOOL, a name, with ARGUMENTS and return the message for the agent.
ARGUMENTS are a hash table, an alist or a plist, as JSON was read.  The
value is always a string, even after a quit; wrong arguments are reported
in it."
  (condition-case err
      (let ((checked (agent-q-diff-tools-arguments tool arguments)))
        (pcase-exhaustive tool
          ("edit_file" (agent-q-diff-edit-file checked))
          ("review_comments" (agent-q-diff-told-open-text (alist-get 'path checked)
                                                          (alist-get 'from checked)))
          ("resolve_comment" (agent-q-diff-told-answer (alist-get 'id checked)
                                                        (alist-get 'answer checked)))
          ((or "propose_file_edit" "propose_patch" "propose_changes")
           (agent-q-diff-tools--propose-and-wait tool checked))))
    ((error quit) (agent-q-diff-message-of-failure err))))

(defun agent-q-diff-tools-propose-file-edit (path original modified description)
  "Let the user decide a proposal and return the message for Agent-Q's agent.
It has the wording of Agent-Q's documents; for any other agent use
`agent-q-diff-tools-call'.  PATH is absolute or relative to the project's
root; a file outside of it is shown with a warning.  ORIGINAL, MODIFIED
and DESCRIPTION are as for `agent-q-diff-review-and-wait'.  The value is
always a string, even after a quit."
  (let ((agent-q-diff-call (agent-q-diff-call-with 'contract 'agent-q)))
    (agent-q-diff-tools--propose-and-wait
     "propose_file_edit"
     `((path . ,path) (original . ,original) (modified . ,modified)
       (description . ,description))
     t)))

;;;; Callers that are gone

(defvar agent-q-diff-tools--gone nil
  "Functions that withdraw calls of callers that are gone, the newest first.")

(defun agent-q-diff-tools-later (function)
  "Run FUNCTION, which withdraws something, from a timer of its own.
Process sentinels nest while Emacs waits for anything, so connections that
close at the same time would overflow the stack.  FUNCTION is called by a
timer, after earlier ones and never inside one."
  (unless agent-q-diff-tools--gone
    (run-at-time 0 nil #'agent-q-diff-tools--withdraw-next-gone))
  (push function agent-q-diff-tools--gone))

(defun agent-q-diff-tools--withdraw-next-gone ()
  "Call the oldest of `agent-q-diff-tools--gone', and go on by a timer.
So keys that the user types come first."
  (when-let ((function (car (last agent-q-diff-tools--gone))))
    (unwind-protect
        (funcall function)
      (setq agent-q-diff-tools--gone (nbutlast agent-q-diff-tools--gone))
      (when agent-q-diff-tools--gone
        (run-at-time 0 nil #'agent-q-diff-tools--withdraw-next-gone)))))

(defun agent-q-diff-tools-withdraw-gone ()
  "Withdraw now what timers would withdraw later, since everything is ending."
  (mapc #'funcall (nreverse (prog1 agent-q-diff-tools--gone
                              (setq agent-q-diff-tools--gone nil)))))

;;;; Calling a tool without waiting

;;;###autoload
(defun agent-q-diff-tools-call-async (tool arguments callback)
  "Call TOOL with ARGUMENTS without waiting.
CALLBACK is called once, with the message for the agent.  Proposals are
reviewed at once.  Other calls run one after the other, in order, and only
while no minibuffer is open; a grant for the session covers those that
wait.  TOOL and ARGUMENTS are as for `agent-q-diff-tools-call'."
  (if (agent-q-diff-tools-proposal-p tool)
      (agent-q-diff-tools--propose-async tool arguments callback)
    (agent-q-diff-tools-queue (lambda () (agent-q-diff-tools-call tool arguments))
                            callback)))

(defun agent-q-diff-tools-withdraw (caller)
  "Withdraw every call that CALLER waits for, and answer it.
CALLER is that of the `agent-q-diff-call'.
A call in the queue is dropped, a question closed, a review cancelled.
Changes that are already in a file stay there."
  (agent-q-diff-tools-withdraw-calls (apply-partially #'equal caller))
  (dolist (review (agent-q-diff-open-reviews))
    (when (equal caller (agent-q-diff-session-caller review))
      (agent-q-diff-cancel review))))

(defun agent-q-diff-tools-withdraw-calls (predicate)
  "Withdraw the requests of callers that satisfy PREDICATE, except reviews.
A call in the queue is dropped and a question closed."
  (agent-q-diff-tools--withdraw-queued predicate)
  (agent-q-diff-permit-withdraw predicate))

(provide 'agent-q-diff-tools)
;;; agent-q-diff-tools.el ends here
