;;; agent-q-diff-propose.el --- The tools that ask for a review  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; From the arguments of a call to a review: the path is checked, the policy
;; consulted, the review begun, and its result reported in a message.
;;
;; A proposal is the name of its tool and the arguments, an alist: `path',
;; `original', `modified' and `description' for `propose_file_edit'; `diff',
;; `description' and perhaps `path' for `propose_patch'; `changes' and
;; `description' for `propose_changes'.
;;
;; A proposal may be for a file outside the project; the user is warned.
;; All other checks of the guard hold there as well; it then walks from the
;; root of the file system.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-visit)
(require 'agent-q-diff-input)
(require 'agent-q-diff-message)
(require 'agent-q-diff-schema)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-log)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-api)
(require 'agent-q-diff-permit)

;;;; The file

(defun agent-q-diff-propose--outermost (name)
  "Return the outermost directory above the file NAME."
  (let ((directory (file-name-directory name)))
    (while (not (agent-q-diff-guard-outermost-p directory))
      (setq directory (file-name-directory (directory-file-name directory))))
    directory))

(defun agent-q-diff-propose--root-for (name root)
  "Return the root from which the guard walks to the file NAME.
It is ROOT, the project's, unless that is nil or NAME is outside of it."
  (if (and root
           (condition-case nil
               (file-in-directory-p name root)
             ;; Links in a circle; the guard reports them.
             (error (string-prefix-p root name))))
      root
    (agent-q-diff-propose--outermost (file-truename name))))

(defun agent-q-diff-propose--below (name root)
  "Return NAME, or its true name if it does not begin with ROOT."
  (if (string-prefix-p root name) name (file-truename name)))

(defun agent-q-diff-propose--check (name root)
  "Return the resolved name of NAME, or signal that no agent may edit that file.
ROOT is what `agent-q-diff-propose--root-for' returned."
  (agent-q-diff-file-uncached
    (agent-q-diff-guard-check (agent-q-diff-propose--below name root) root)))

(defun agent-q-diff-propose--recheck (name resolved root)
  "Signal an error unless NAME still leads to RESOLVED, which may be written.
RESOLVED is what `agent-q-diff-propose--check' returned for NAME and ROOT."
  (agent-q-diff-file-uncached
    (agent-q-diff-guard-recheck resolved root (agent-q-diff-propose--below name root))))

(defun agent-q-diff-propose--protection (name resolved root)
  "Return why the file NAME is protected, a string, or nil if it is not.
RESOLVED is its resolved name below ROOT, from which the guard walks.
Signal an error if no agent may edit the file."
  (pcase (agent-q-diff-guard-protection resolved root name)
    (`(denied . ,reason)
     (signal 'agent-q-diff-forbidden
             (list (format "Error: Cannot write to file\n\nNot for agents: %s." reason))))
    (`(asked . ,reason) reason)))

(defun agent-q-diff-propose-target (tool path &optional project)
  "Return (NAME NOTES CHECK PROTECTION) for the file PATH of a call of TOOL.
PATH is relative to `default-directory'.  PROJECT is the root of the
agent's project, if known.  NAME is absolute; NOTES are strings for the
user.  CHECK is a function that signals an error if the file must not be
written: during a review, the file or a directory on the way to it may be
replaced by a link or become one of git's own.  PROTECTION says why the file is
protected, or is nil.

A refusal of PATH is logged here; a review is logged when it ends."
  (agent-q-diff-propose--logging-refusals
   tool path
   (lambda ()
     (let* ((name (agent-q-diff-visit-name path))
            (root (agent-q-diff-propose--root-for name project))
            (resolved (agent-q-diff-propose--check name root))
            (protection (agent-q-diff-propose--protection name resolved root)))
       (list name
             (append
              (unless (or (not project) (equal root project))
                (list (format "The file is OUTSIDE the project %s"
                              (abbreviate-file-name project))))
              (and protection (list (format "PROTECTED: %s" protection))))
             (lambda () (agent-q-diff-propose--recheck name resolved root))
             protection)))))

(defun agent-q-diff-propose-targets (tool files project &optional arguments)
  "Return (FILES NOTES REQUESTS) for FILES, which a call of TOOL would change.
FILES are property lists, as `agent-q-diff-review-change' takes them; those
returned have absolute names and are checked before each edit.  NOTES are
strings for the user.  REQUESTS are what to ask the policy and the grants
about, one for each name; ARGUMENTS are the call's.  If any name is refused,
signal an error that names it.  PROJECT is as for
`agent-q-diff-propose-target'."
  (let (checked notes requests)
    (dolist (file files)
      (let (checks)
        (dolist (key '(:path :to))
          (when-let ((path (plist-get file key)))
            (pcase-let ((`(,name ,said ,check ,protection)
                         (agent-q-diff-propose--naming path
                           (lambda () (agent-q-diff-propose-target tool path project)))))
              (setq file (plist-put file key name))
              (push check checks)
              (push (agent-q-diff-request-make
                     :tool tool :path path :name name :root project
                     :arguments arguments :protection protection)
                    requests)
              (setq notes (append notes
                                  (mapcar (lambda (note)
                                            ;; As the headings name it.
                                            (format "%s: %s"
                                                    (string-remove-prefix (or project "") path)
                                                    note))
                                          said))))))
        (setq notes (append notes (agent-q-diff-propose--link-notes file project)))
        (push (plist-put file :check (lambda () (mapc #'funcall checks))) checked)))
    (list (nreverse checked) notes (nreverse requests))))

(defun agent-q-diff-propose--link-notes (file project)
  "Return notes for the user if FILE is to be a link that leads out of PROJECT.
FILE is a property list with absolute names; PROJECT may be nil.  Where the
link leads is known by its name alone: nothing is looked at outside."
  (when-let ((leads-to (and project (plist-get file :link)))
             (name (or (plist-get file :to) (plist-get file :path))))
    (unless (string-prefix-p project
                             ;; An agent's name must not open a connection.
                             (let ((file-name-handler-alist nil))
                               (expand-file-name
                                (if (string-prefix-p "/" leads-to)
                                    leads-to
                                  ;; Here, "~" is no home directory.
                                  (concat (file-name-directory name) leads-to "/")))))
      (list (format "%s: the link leads OUTSIDE the project %s"
                    (string-remove-prefix project name)
                    (abbreviate-file-name project))))))

(defun agent-q-diff-propose--naming (path function)
  "Call FUNCTION and return its value; if it refuses PATH, the error names that."
  (declare (indent 1))
  (condition-case err
      (funcall function)
    ((agent-q-diff-bad-target agent-q-diff-forbidden)
     (signal (car err)
             (list (if (string-search path (cadr err))
                       (cadr err)
                     (format "%s (%s)" (cadr err) (agent-q-diff-visible path))))))))

;;;; What is proposed

(defun agent-q-diff-propose--files (arguments)
  "Return the files that a call with ARGUMENTS would change, or nil.
They are property lists, as `agent-q-diff-review-change' takes them.  The
value is nil if the call is for the text of the file in the argument `path'."
  (let-alist arguments
    (cond
     ((assq 'changes arguments)
      (or (mapcar #'agent-q-diff-propose--file .changes)
          (signal 'agent-q-diff-bad-arguments
                  '("Parameter 'changes' needs at least one file"))))
     ((null .diff) nil)
     ((null .path) (agent-q-diff-input-of-diff .diff))
     (t
      (let ((files (ignore-error agent-q-diff-error
                     (agent-q-diff-input-of-diff .diff .path))))
        (unless (or (null files) (agent-q-diff-input-only-text files))
          (agent-q-diff-propose--with-path files .path)))))))

(defun agent-q-diff-propose--with-path (files path)
  "Return FILES, those of a diff, for a call that names PATH.
The only file is the one that PATH names; of several, one must be."
  (cond
   ((null (cdr files)) (list (plist-put (car files) :path path)))
   ((seq-some (lambda (file)
                (member (agent-q-diff-visit-name path)
                        (mapcar #'agent-q-diff-visit-name
                                (delq nil (list (plist-get file :path)
                                                (plist-get file :to))))))
              files)
    files)
   (t (signal 'agent-q-diff-bad-arguments
              (list (format "The diff is of several files, but not of %s; leave path out"
                            (agent-q-diff-visible path)))))))

(defun agent-q-diff-propose--file (change)
  "Return CHANGE, an alist for one file from an agent, as a property list."
  (let-alist change
    (append (list :path .path)
            (and .original (list :original .original))
            (and .modified (list :modified .modified))
            (and .content (list :content .content))
            (and .delete (list :delete t))
            (and .rename_to (list :to .rename_to))
            (when-let ((given (assq 'executable change)))
              (list :executable (if (cdr given) t 'no))))))

(defun agent-q-diff-propose--names (arguments)
  "Return what a call with ARGUMENTS is about, for a message to the agent."
  (let-alist arguments
    (or .path
        (let ((files (ignore-error agent-q-diff-error
                       (agent-q-diff-propose--files arguments))))
          (pcase (length files)
            (0 "the proposal")
            (1 (plist-get (car files) :path))
            (n (format (ngettext "%d file" "%d files" n) n)))))))

(defun agent-q-diff-propose--logging-refusals (tool path function)
  "Call FUNCTION and return its value.
If it signals that a call of TOOL may not use PATH, log that."
  (condition-case err
      (funcall function)
    ((agent-q-diff-bad-target agent-q-diff-forbidden)
     (agent-q-diff-log-refusal tool path err)
     (signal (car err) (cdr err)))))

;;;; Policy

(defun agent-q-diff-propose--paths (arguments)
  "Return the paths that a call with ARGUMENTS is about, as the agent names them."
  (let ((files (agent-q-diff-propose--files arguments)))
    (if files
        (mapcan (lambda (file)
                  (delq nil (list (plist-get file :path) (plist-get file :to))))
                files)
      (list (alist-get 'path arguments)))))

(defun agent-q-diff-propose--denial (tool arguments)
  "Return the message for the agent if the user's policy denies a call, or nil.
The call is that of TOOL with ARGUMENTS."
  (seq-some (lambda (path)
              (agent-q-diff-propose--denial-of tool path arguments))
            (agent-q-diff-propose--paths arguments)))

(defun agent-q-diff-propose--denial-of (tool path arguments)
  "Return the message if the policy denies a call of TOOL for PATH, or nil.
ARGUMENTS are the call's."
  (let* ((default-directory (agent-q-diff-guard-root))
         (request (agent-q-diff-request-make
                   :tool tool :path path
                   :name (agent-q-diff-propose--logging-refusals
                          tool path (lambda () (agent-q-diff-visit-name path)))
                   :root default-directory :arguments arguments)))
    (when (eq (agent-q-diff-permit-policy request) 'deny)
      (agent-q-diff-log-record
       (list :tool tool :agent (car agent-q-diff-caller)
             :path (agent-q-diff-request-name request)
             :outcome "rejected" :decided-by 'policy))
      (agent-q-diff-message-of-denied-call path tool '(:by policy)))))

;;;; Waiting for the decision

(defun agent-q-diff-propose--message (result arguments)
  "Return the message about RESULT of the proposal with ARGUMENTS.
It uses the file name that the agent gave."
  (agent-q-diff-message-of-result result (agent-q-diff-propose--names arguments)))

(defun agent-q-diff-propose--review-and-wait (tool arguments)
  "Review the proposal of TOOL with ARGUMENTS and return the result."
  (if-let ((files (agent-q-diff-propose--files arguments)))
      (pcase-let ((`(,files ,notes)
                   (agent-q-diff-propose-targets tool files default-directory)))
        (agent-q-diff-review-change-and-wait files (alist-get 'description arguments)
                                             :notes notes))
    (agent-q-diff-propose--review-one-and-wait tool arguments)))

(defun agent-q-diff-propose--review-one-and-wait (tool arguments)
  "Do what `agent-q-diff-propose--review-and-wait' does for the text of one file.
TOOL and ARGUMENTS are that function's."
  (pcase-let ((`(,name ,notes ,check)
               (agent-q-diff-propose-target tool (alist-get 'path arguments)
                                            default-directory)))
    (let-alist arguments
      (if .diff
          (agent-q-diff-review-patch-and-wait name .diff .description
                                              :notes notes :check check)
        (agent-q-diff-review-and-wait name .original .modified .description
                                      :notes notes :check check)))))

(defun agent-q-diff-propose-and-wait (tool arguments)
  "Wait for the decision on the proposal of TOOL with ARGUMENTS.
Return the message for the agent, or signal why there is no decision."
  (let ((default-directory (agent-q-diff-guard-root))
        (agent-q-diff-tool tool))
    (agent-q-diff-propose--message
     (agent-q-diff-propose--review-and-wait tool arguments)
     arguments)))

(defun agent-q-diff-propose-answering-errors (path function)
  "Call FUNCTION, which proposes to change PATH, and return its message.
If it signals an error, return a message about that."
  (let ((agent-q-diff-wait-undecided nil))
    (condition-case err
        (funcall function)
      ((error quit)
       (agent-q-diff-message-of-undecided
        agent-q-diff-wait-undecided err (apply-partially #'agent-q-diff-message-of-error path))))))

(defun agent-q-diff-propose-unless-denied (tool arguments)
  "Propose ARGUMENTS of TOOL unless the policy denies it; return the message.
An error is reported in the message."
  (agent-q-diff-propose-answering-errors
   (agent-q-diff-propose--names arguments)
   (lambda ()
     (or (agent-q-diff-propose--denial tool arguments)
         (agent-q-diff-propose-and-wait tool arguments)))))

;;;; Without waiting

(defun agent-q-diff-propose--begin (tool arguments callback notes agent)
  "Begin the review of the proposal of TOOL with ARGUMENTS and return it.
CALLBACK is called once with its result.  NOTES and AGENT are as for
`agent-q-diff-propose'."
  (let* ((default-directory (agent-q-diff-guard-root))
         (agent-q-diff-tool tool)
         (files (agent-q-diff-propose--files arguments))
         (tell (lambda (result)
                 (funcall callback
                          (plist-put result :message
                                     (agent-q-diff-propose--message result arguments))))))
    (if files
        (pcase-let ((`(,files ,said)
                     (agent-q-diff-propose-targets tool files default-directory)))
          (agent-q-diff-review-change files (alist-get 'description arguments) tell
                                      :notes (append said notes) :agent agent))
      (agent-q-diff-propose--begin-one tool arguments tell notes agent))))

(defun agent-q-diff-propose--begin-one (tool arguments tell notes agent)
  "Begin the review of the proposal of TOOL for the text of one file.
ARGUMENTS are the call's.  TELL is called once with the result.  NOTES and
AGENT are as for `agent-q-diff-propose'.  Return the review."
  (let-alist arguments
    (pcase-let ((`(,name ,said ,check)
                 (agent-q-diff-propose-target tool .path default-directory)))
      (if .diff
          (agent-q-diff-review-patch name .diff .description tell
                                     :notes (append said notes) :agent agent :check check)
        (agent-q-diff-review name .original .modified .description tell
                             :notes (append said notes) :agent agent :check check)))))

(cl-defun agent-q-diff-propose (tool arguments callback &key notes agent)
  "Begin the review of a proposal, and return it without waiting.
TOOL is \"propose_file_edit\", \"propose_patch\" or \"propose_changes\", or
the name of an agent's own tool that proposes in the same way.
ARGUMENTS is an alist, as `agent-q-diff-schema-arguments' returns it.
CALLBACK is called once with the result, a plist as for
`agent-q-diff-review', with :message.  NOTES are further strings for the
user, and AGENT is the agent's name, if not that of `agent-q-diff-caller'.

If the user's policy denies the proposal, return nil; CALLBACK then gets a
result that has only :status `rejected', :decision and :message.  Signal an
error if the path is refused."
  (if-let ((denial (agent-q-diff-propose--denial tool arguments)))
      (progn
        (agent-q-diff-lifecycle-call-back callback
                                          (list :status 'rejected :decision "rejected"
                                                :message denial))
        nil)
    (agent-q-diff-propose--begin tool arguments callback notes agent)))

(defun agent-q-diff-propose-async (tool arguments callback)
  "Begin the review of the proposal of TOOL with ARGUMENTS.
CALLBACK is called with the message for the agent."
  (condition-case err
      (let* ((checked (agent-q-diff-schema-arguments tool arguments))
             (path (agent-q-diff-propose--names checked)))
        (condition-case err
            (agent-q-diff-propose
             tool checked
             (lambda (result)
               (funcall callback (plist-get result :message))))
          ((error quit)
           (funcall callback (agent-q-diff-message-of-error path err)))))
    (agent-q-diff-bad-arguments
     (funcall callback (agent-q-diff-message-of-failure err))))
  nil)

(provide 'agent-q-diff-propose)
;;; agent-q-diff-propose.el ends here
