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

(defun agent-q-diff-propose-request (tool path project &optional arguments)
  "Return a request for the file PATH of a call of TOOL with ARGUMENTS.
PATH is relative to `default-directory', and is checked only as a name.
PROJECT is the root of the agent's project, or nil if that is not known.

A refusal of PATH is logged here; a review is logged when it ends."
  (agent-q-diff-propose--logging-refusals
   tool path
   (lambda ()
     (agent-q-diff-request-make :tool tool :path path :name (agent-q-diff-visit-name path)
                                :root project :arguments arguments))))

(defun agent-q-diff-propose-check (request)
  "Have the guard check the file of REQUEST, and return REQUEST.
It gets its protection, its notes and its check: during a review, the file
or a directory on the way to it may be replaced by a link or become one of
git's own.  If no agent may edit the file, signal an error; that is logged."
  (let* ((name (agent-q-diff-request-name request))
         (project (agent-q-diff-request-root request))
         (root (agent-q-diff-propose--root-for name project)))
    (pcase-let ((`(,resolved . (,_ . ,protection))
                 (agent-q-diff-propose--logging-refusals
                  (agent-q-diff-request-tool request) (agent-q-diff-request-path request)
                  (lambda ()
                    (agent-q-diff-file-uncached
                      (let ((below (agent-q-diff-propose--below name root)))
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
                                            (agent-q-diff-propose--below name root)))))
      request)))

(defun agent-q-diff-propose-requests (tool files project arguments)
  "Return requests, one for each name of FILES, in order.
FILES are property lists, as `agent-q-diff-review-change' takes them.  TOOL,
PROJECT and ARGUMENTS are as for `agent-q-diff-propose-request'.  If any name
is refused, signal an error that names it."
  (mapcan (lambda (file)
            (mapcar (lambda (path)
                      (agent-q-diff-propose--naming path
                        (lambda ()
                          (agent-q-diff-propose-request tool path project arguments))))
                    (delq nil (list (plist-get file :path) (plist-get file :to)))))
          files))

(defun agent-q-diff-propose-targets (files requests)
  "Have the guard check FILES, and return (FILES . NOTES).
REQUESTS are those of `agent-q-diff-propose-requests' for FILES.  The FILES
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
                   (agent-q-diff-propose--naming path
                     (lambda () (agent-q-diff-propose-check request)))
                   (setq file (plist-put file key (agent-q-diff-request-name request)))
                   (push (agent-q-diff-request-check request) checks)
                   (dolist (note (agent-q-diff-request-notes request))
                     ;; As the headings name it.
                     (push (format "%s: %s" (string-remove-prefix (or project "") path) note)
                           notes))))
               (dolist (note (agent-q-diff-propose--link-notes file project))
                 (push note notes))
               (plist-put file :check (lambda () (mapc #'funcall checks)))))
           files)))
    (cons checked (nreverse notes))))

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

(cl-defstruct (agent-q-diff-proposal (:constructor agent-q-diff-proposal-create (tool arguments))
                                     (:copier nil))
  "What a call of a tool proposes."
  (tool nil :documentation "Name of the tool.")
  (arguments nil :documentation "The arguments, an alist; see this file's commentary.")
  (root nil :documentation "Root of the agent's project, against which names are expanded.")
  (files nil :documentation "Property lists for `agent-q-diff-review-change', or nil.
It is nil if the proposal is for the text of the file in the argument `path'.")
  (requests nil :documentation "Requests for the names of its files, in order."))

(defun agent-q-diff-propose--read (proposal)
  "Find out which files PROPOSAL is for; signal an error if that is not clear."
  (let* ((root (agent-q-diff-guard-root))
         (default-directory root)
         (tool (agent-q-diff-proposal-tool proposal))
         (arguments (agent-q-diff-proposal-arguments proposal))
         (files (agent-q-diff-propose--files arguments)))
    (setf (agent-q-diff-proposal-root proposal) root
          (agent-q-diff-proposal-files proposal) files
          (agent-q-diff-proposal-requests proposal)
          (if files
              (agent-q-diff-propose-requests tool files root arguments)
            (list (agent-q-diff-propose-request tool (alist-get 'path arguments) root
                                                arguments))))))

(defun agent-q-diff-propose--what (proposal)
  "Return what PROPOSAL is about, for a message to the agent."
  (or (alist-get 'path (agent-q-diff-proposal-arguments proposal))
      (let ((files (agent-q-diff-proposal-files proposal)))
        (pcase (length files)
          (0 "the proposal")
          (1 (plist-get (car files) :path))
          (n (format (ngettext "%d file" "%d files" n) n))))))

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

(defun agent-q-diff-propose--logging-refusals (tool path function)
  "Call FUNCTION and return its value.
If it signals that a call of TOOL may not use PATH, log that."
  (condition-case err
      (funcall function)
    ((agent-q-diff-bad-target agent-q-diff-forbidden)
     (agent-q-diff-log-refusal tool path err)
     (signal (car err) (cdr err)))))

;;;; From the call to the answer

(defun agent-q-diff-propose--denial (proposal)
  "Return the message for the agent if the policy denies PROPOSAL, or nil."
  (when-let ((denied (seq-find (lambda (request)
                                 (eq 'deny (agent-q-diff-permit-policy request)))
                               (agent-q-diff-proposal-requests proposal)))
             (tool (agent-q-diff-proposal-tool proposal)))
    (agent-q-diff-log-record
     (list :tool tool :agent (agent-q-diff-request-agent denied)
           :path (agent-q-diff-request-name denied)
           :outcome "rejected" :decided-by 'policy))
    (agent-q-diff-message-of-denied-call (agent-q-diff-request-path denied) tool
                                         '(:by policy))))

(defun agent-q-diff-propose--review (proposal callback &optional notes agent)
  "Begin the review of PROPOSAL, and return it; CALLBACK gets its result.
If CALLBACK is nil, wait for the decision, and return the result.  NOTES and
AGENT are as for `agent-q-diff-propose'."
  (let ((default-directory (agent-q-diff-proposal-root proposal))
        (agent-q-diff-tool (agent-q-diff-proposal-tool proposal))
        (files (agent-q-diff-proposal-files proposal))
        (requests (agent-q-diff-proposal-requests proposal)))
    (let-alist (agent-q-diff-proposal-arguments proposal)
      (if files
          (pcase-let* ((`(,files . ,said) (agent-q-diff-propose-targets files requests))
                       (notes (append said notes)))
            (if callback
                (agent-q-diff-review-change files .description callback
                                            :notes notes :agent agent)
              (agent-q-diff-review-change-and-wait files .description :notes notes)))
        (let* ((request (agent-q-diff-propose-check (car requests)))
               (name (agent-q-diff-request-name request))
               (check (agent-q-diff-request-check request))
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
                                 :notes notes :agent agent :check check))
           (t
            (agent-q-diff-review-and-wait name .original .modified .description
                                          :notes notes :check check))))))))

(defun agent-q-diff-propose--message (proposal result)
  "Return the message about RESULT of PROPOSAL, with the name that the agent gave."
  (agent-q-diff-message-of-result result (agent-q-diff-propose--what proposal)))

(defun agent-q-diff-propose-and-wait (tool arguments &optional is-allowed)
  "Wait for the decision on the proposal of TOOL with ARGUMENTS.
Return the message for the agent, also about an error.  If IS-ALLOWED is
non-nil, the policy is not asked whether it denies it."
  (let ((proposal (agent-q-diff-proposal-create tool arguments))
        (agent-q-diff-wait-undecided nil))
    (condition-case err
        (progn
          (agent-q-diff-propose--read proposal)
          (or (and (not is-allowed) (agent-q-diff-propose--denial proposal))
              (agent-q-diff-propose--message proposal
                                             (agent-q-diff-propose--review proposal nil))))
      ((error quit)
       (agent-q-diff-message-of-undecided
        agent-q-diff-wait-undecided err
        (apply-partially #'agent-q-diff-message-of-error
                         (agent-q-diff-propose--what proposal)))))))

(defun agent-q-diff-propose--begin (proposal callback &optional notes agent)
  "Do what `agent-q-diff-propose' does for PROPOSAL.
CALLBACK, NOTES and AGENT are that function's."
  (agent-q-diff-propose--read proposal)
  (if-let ((denial (agent-q-diff-propose--denial proposal)))
      (progn
        (agent-q-diff-lifecycle-call-back callback
                                          (list :status 'rejected :decision "rejected"
                                                :message denial))
        nil)
    (agent-q-diff-propose--review
     proposal
     (lambda (result)
       (funcall callback
                (plist-put result :message
                           (agent-q-diff-propose--message proposal result))))
     notes agent)))

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
  (agent-q-diff-propose--begin (agent-q-diff-proposal-create tool arguments)
                               callback notes agent))

(defun agent-q-diff-propose-async (tool arguments callback)
  "Begin the review of the proposal of TOOL with ARGUMENTS.
CALLBACK is called with the message for the agent."
  (condition-case err
      (let ((proposal (agent-q-diff-proposal-create
                       tool (agent-q-diff-schema-arguments tool arguments))))
        (condition-case err
            (agent-q-diff-propose--begin
             proposal (lambda (result) (funcall callback (plist-get result :message))))
          ((error quit)
           (funcall callback (agent-q-diff-message-of-error
                              (agent-q-diff-propose--what proposal) err)))))
    (agent-q-diff-bad-arguments
     (funcall callback (agent-q-diff-message-of-failure err))))
  nil)

(provide 'agent-q-diff-propose)
;;; agent-q-diff-propose.el ends here
