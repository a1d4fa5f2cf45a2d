;;; agent-q-diff-own-tool.el --- Edits that agents make with their own tools  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Before a coding agent's own tool edits a file, the program agent-q-diff,
;; which the agent runs as a hook, requests a decision: `decide_edit'.  The
;; review is of a text that is in no file yet: Emacs writes nothing, and the
;; agent's tool then writes what was decided.  After that the program
;; requests `check_edit': only when the file has been compared with what was
;; decided, the agent is told what became of each hunk.
;;
;; If the file has unsaved edits in a buffer, the tool cannot write what the
;; user sees.  Then it is an ordinary review, Emacs makes the edit, and the
;; agent's tool is denied with the truth.
;;
;; Before the program reads a file, it asks for its turn to change that,
;; `take_turn', and keeps it until it ends.  If the tool is then to write, the
;; turn lasts until that is done: the next edit is of what this one leaves.
;;
;; These requests are no tools for agents.  Their arguments are hash tables:
;;
;; `take_turn'     call, session, tool, and files, a vector of hash tables with
;;                 path; a patch has several
;; `decide_edit'   path, original (missing if the file is new), modified,
;;                 encoding, crlf (whether the lines of both texts end with
;;                 CRLF in the file), rewritable (false if the tool can
;;                 write nothing else), planning (true if the agent will not
;;                 run the tool), tool, call, session, description
;; `write_decided' path and call: Emacs is to write what was decided
;; `not_run'       path and call: a file has changed since, so the tool is not
;;                 run although its edit was accepted
;; `check_edit'    path, call, text and encoding, missing if the file cannot
;;                 be read, and written: what the tool says to have written,
;;                 if it does
;; `call_failed'   call: the tool has run, and says that it failed
;; `session_went_on' session: what was decided in it has been written by now,
;;                 or will not be

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-message)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-target)
(require 'agent-q-diff-live)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-permit)
(require 'agent-q-diff-session)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-api)
(require 'agent-q-diff-tools)
(require 'agent-q-diff-own-agent)

(cl-defstruct (agent-q-diff-own-tool-edit (:constructor agent-q-diff-own-tool-edit-create)
                                          (:copier nil))
  "An edit that an agent's own tool is about to make."
  (call nil :documentation "Id of the call, a string.")
  (name nil :documentation "Absolute name of the file.")
  (path nil :documentation "The file as the agent named it.")
  (tool nil :documentation "Name of the agent's tool.")
  (description nil :documentation "What the agent says about it, a string or nil.")
  (session nil :documentation "The agent's session, a string or nil.")
  (original nil :documentation "The text before, or nil if the file is new.")
  (modified nil :documentation "The text that the tool would leave.")
  (decided nil :documentation "The text that the tool is to leave, or nil if undecided.")
  (is-crlf nil :documentation "Non-nil if the lines in the file end with CRLF.")
  (encoding nil :documentation "How the file is to be encoded, a string.")
  (is-fixed nil :documentation "Non-nil if the tool can write nothing else.")
  (check nil :documentation "Function that signals an error if the file must not be written.")
  (notes nil :documentation "What the user is told first, a list of strings.")
  (result nil :documentation "The result of its review, or nil if there was none.")
  (by nil :documentation "Why there was no review: `policy', `session', `none', or nil."))

;;;; One edit of a file after the other

(defun agent-q-diff-own-tool-take-turn (arguments function)
  "Call FUNCTION when it is the turn of the call in ARGUMENTS, a hash table.
It gets non-nil if the call has waited."
  (let ((call (gethash "call" arguments))
        (files (gethash "files" arguments)))
    (unless (and (stringp call)
                 (vectorp files)
                 (seq-every-p (lambda (file)
                                (and (hash-table-p file) (stringp (gethash "path" file))))
                              files))
      (signal 'agent-q-diff-bad-arguments '("call must be a string, files have paths")))
    (agent-q-diff-tools-take-turn
     call
     (mapcar (lambda (file)
               (agent-q-diff-visit-truename (agent-q-diff-visit-name (gethash "path" file))))
             files)
     function)))

;;; Deciding

(defun agent-q-diff-own-tool--verdict (verdict &optional text)
  "Return VERDICT, a string, as the result for the program.
TEXT is the text that was decided, if that is not the tool's."
  `((verdict . ,verdict) ,@(and text `((text . ,text)))))

(defun agent-q-diff-own-tool--decide-text (edit result answer)
  "Answer what the user decided about EDIT by RESULT, that of a detached review.
ANSWER is called with a message, whether that is an error, and a verdict."
  (let* ((content (plist-get result :content))
         (is-decided (memq (plist-get result :status) '(accepted partial rejected)))
         (path (agent-q-diff-own-tool-edit-path edit))
         (message (if is-decided
                      (agent-q-diff-message-of-result
                       (agent-q-diff-own-agent-as-written result 'saved) path)
                    (agent-q-diff-own-agent-undecided (agent-q-diff-own-tool-edit-tool edit)
                                                      path result))))
    (cond
     ((or (not is-decided)
          (equal content (or (agent-q-diff-own-tool-edit-original edit) "")))
      (funcall answer message (not is-decided) (agent-q-diff-own-tool--verdict "deny")))
     ((agent-q-diff-own-tool--deny-elsewhere edit answer))
     ((agent-q-diff-own-tool--why-emacs edit)
      (agent-q-diff-own-tool--deny
       edit answer "the user has edited the file in Emacs meanwhile, and not saved it"
       "it was edited in Emacs meanwhile, and not saved"))
     ((not (equal content (agent-q-diff-base-clean content)))
      (agent-q-diff-own-tool--deny
       edit answer "what the user decided has bytes that are not UTF-8"
       "what you decided has bytes that are not UTF-8"))
     (t
      (setf (agent-q-diff-own-tool-edit-decided edit) content
            (agent-q-diff-own-tool-edit-result edit) result)
      (agent-q-diff-own-tool--remember edit)
      (funcall answer "" nil
               (if (equal content (agent-q-diff-own-tool-edit-modified edit))
                   (agent-q-diff-own-tool--verdict "allow")
                 (agent-q-diff-own-tool--verdict "change" content)))))))

(defun agent-q-diff-own-tool--deny-elsewhere (edit answer)
  "If the file of EDIT must not be written any more, answer that; return non-nil.
ANSWER is as for `agent-q-diff-own-tool--decide-text'."
  (when-let ((why (agent-q-diff-own-agent-refused (agent-q-diff-own-tool-edit-check edit))))
    (agent-q-diff-own-tool--deny edit answer why why)
    t))

(defun agent-q-diff-own-tool--deny (edit answer why why-for-user)
  "Answer that EDIT cannot be made as it was decided, with the reason WHY.
The user is told WHY-FOR-USER.  ANSWER is as for
`agent-q-diff-own-tool--decide-text'."
  (agent-q-diff-own-tool-not-run edit why-for-user)
  (funcall answer
           (format "Error: %s was not run: %s. None of it is in %s. Ask the user how to proceed."
                   (agent-q-diff-own-tool-edit-tool edit) why
                   (agent-q-diff-own-tool-edit-path edit))
           t (agent-q-diff-own-tool--verdict "deny")))

(defun agent-q-diff-own-tool--remember (edit)
  "Remember what was decided about EDIT until its tool has run."
  (agent-q-diff-own-agent-remember
   (agent-q-diff-own-tool-edit-call edit) edit (agent-q-diff-own-tool-edit-session edit)
   (lambda (why)
     (cond
      ((null why)
       (agent-q-diff-own-agent-say-run (agent-q-diff-own-tool-edit-tool edit)
                                       (list (agent-q-diff-own-tool-edit-name edit))))
      ((agent-q-diff-own-tool--as-before-p edit)
       (agent-q-diff-own-tool-not-run edit why)
       t)))))

(defun agent-q-diff-own-tool--as-before-p (edit)
  "Return non-nil if the file of EDIT is as it was before the user decided."
  (let ((name (agent-q-diff-own-tool-edit-name edit))
        (original (agent-q-diff-own-tool-edit-original edit)))
    (and (not (equal original (agent-q-diff-own-tool-edit-decided edit)))
         (not (agent-q-diff-own-agent-refused (agent-q-diff-own-tool-edit-check edit)))
         (if (not (file-exists-p name))
             (null original)
           (and original
                (equal (agent-q-diff-own-tool--in-file edit original)
                       (with-temp-buffer
                         (let ((coding-system-for-read
                                (if (equal "utf-16le" (agent-q-diff-own-tool-edit-encoding edit))
                                    'utf-16le-with-signature-unix
                                  'utf-8-auto-unix)))
                           (insert-file-contents name))
                         (buffer-string))))))))

(defun agent-q-diff-own-tool-not-run (edit why)
  "Tell the user that EDIT was not made after all, because of WHY, a string.
If there was no review, the user expects nothing."
  (unless (agent-q-diff-own-tool-edit-by edit)
    (agent-q-diff-own-agent-say-not-run
     (agent-q-diff-own-tool-edit-tool edit) (list (agent-q-diff-own-tool-edit-name edit)) why)))

(defun agent-q-diff-own-tool--tell-written (edit result why answer)
  "Answer that Emacs has made what the user decided about EDIT, by RESULT.
WHY is as from `agent-q-diff-own-tool--why-emacs', ANSWER as for
`agent-q-diff-own-tool--decide-text'."
  (funcall answer
           (format "%s was not run%s.\n%s"
                   (agent-q-diff-own-tool-edit-tool edit)
                   (cond
                    ((not (< 0 (or (plist-get result :in-file) 0))) "")
                    ((eq why 'unsaved)
                     (format ": the user has unsaved edits in %s, so Emacs wrote what the user accepted"
                             (agent-q-diff-own-tool-edit-path edit)))
                    (t ": it cannot write a part of an edit, so Emacs wrote what the user accepted"))
                   (agent-q-diff-message-of-result
                    result (agent-q-diff-own-tool-edit-path edit)))
           (not (memq (plist-get result :status) '(accepted partial rejected)))
           (agent-q-diff-own-tool--verdict "deny")))

(defun agent-q-diff-own-tool--why-emacs (edit)
  "Return why Emacs has to write what is decided about EDIT, or nil.
It is `unsaved' if the file has unsaved edits in a buffer, and `fixed' if the
agent's tool cannot write anything else than it was told."
  (cond
   ((agent-q-diff-disk-unsaved-file-p (agent-q-diff-own-tool-edit-name edit)) 'unsaved)
   ((agent-q-diff-own-tool-edit-is-fixed edit) 'fixed)))

(defun agent-q-diff-own-tool--review (edit notes answer)
  "Begin the review of EDIT, and return it.
NOTES are as for `agent-q-diff-review'; ANSWER is as for
`agent-q-diff-own-tool--decide-text'."
  (let* ((why (agent-q-diff-own-tool--why-emacs edit))
         (caller agent-q-diff-caller)
         (agent-q-diff-tool (agent-q-diff-own-tool-edit-tool edit))
         (review
          (agent-q-diff-review
           (agent-q-diff-own-tool-edit-name edit)
           (or (agent-q-diff-own-tool-edit-original edit) "")
           (agent-q-diff-own-tool-edit-modified edit)
           (agent-q-diff-own-tool-edit-description edit)
           (lambda (result)
             (let ((agent-q-diff-caller caller))
               (unless (memq (plist-get result :status) '(accepted partial rejected))
                 (agent-q-diff-own-agent-watch
                  (agent-q-diff-own-tool-edit-tool edit)
                  (list (agent-q-diff-own-tool-edit-name edit))
                  (apply-partially #'agent-q-diff-own-tool--made-p edit)))
               (if why
                   (agent-q-diff-own-tool--tell-written edit result why answer)
                 (agent-q-diff-own-tool--decide-text edit result answer))))
           :notes (append (agent-q-diff-own-tool-edit-notes edit)
                          notes (list (agent-q-diff-own-tool--note edit why)))
           :agent (agent-q-diff-own-agent-label (agent-q-diff-own-tool-edit-session edit))
           :check (agent-q-diff-own-tool-edit-check edit)
           :detached (not why))))
    (agent-q-diff-own-agent-note-session review (agent-q-diff-own-tool-edit-session edit))
    review))

(defun agent-q-diff-own-tool--note (edit why)
  "Return a note for the user about who writes what is decided about EDIT.
WHY is as from `agent-q-diff-own-tool--why-emacs'."
  (let ((tool (agent-q-diff-own-agent-tool (agent-q-diff-own-tool-edit-tool edit)
                                           (agent-q-diff-own-tool-edit-session edit))))
    (pcase-exhaustive why
      ('nil (format "You decide what %s writes." tool))
      ('unsaved (format "The file has unsaved edits, so Emacs, not %s, will write what you decide."
                        tool))
      ('fixed (format "%s writes all or nothing, so Emacs writes what you decide." tool)))))

(defun agent-q-diff-own-tool--allowance (request edit)
  "Return the source of an allowance for REQUEST, which is for EDIT, or nil.
It is as from `agent-q-diff-own-agent-allowance', or `none' if nothing would
change.  What has to be written by Emacs is not allowed without a review."
  (let ((allowance (agent-q-diff-own-agent-allowance request)))
    (cond
     ((eq allowance 'denied) 'denied)
     ((equal (agent-q-diff-own-tool-edit-original edit)
             (agent-q-diff-own-tool-edit-modified edit))
      'none)
     ((not (agent-q-diff-own-tool--why-emacs edit)) allowance))))

(defun agent-q-diff-own-tool-decide (arguments answer)
  "Let the user decide about the edit in ARGUMENTS, a hash table.
ANSWER is called once, with a message, whether that is an error, and a
verdict for the program.  Return the review, or nil if there is none.  If
the file is not for agents, signal an error."
  (let* ((edit (agent-q-diff-own-tool--edit-of arguments))
         (root (agent-q-diff-guard-root))
         (path (agent-q-diff-own-tool-edit-path edit))
         (tool (agent-q-diff-own-tool-edit-tool edit))
         (request (agent-q-diff-tools-check
                   (agent-q-diff-tools-request tool path root
                                                 (agent-q-diff-own-tool--arguments edit))))
         (name (agent-q-diff-request-name request)))
    (setf (agent-q-diff-own-tool-edit-name edit) name
          (agent-q-diff-own-tool-edit-check edit) (agent-q-diff-request-check request))
    (cl-callf append (agent-q-diff-own-tool-edit-notes edit)
      (agent-q-diff-own-agent-later-notes tool name (agent-q-diff-own-tool-edit-original edit))
      (agent-q-diff-own-agent-coding-notes name (agent-q-diff-own-tool-edit-original edit)
                                           (agent-q-diff-own-tool-edit-modified edit)
                                           (agent-q-diff-own-tool-edit-encoding edit)))
    (pcase (agent-q-diff-own-tool--allowance request edit)
      ('denied
       (agent-q-diff-own-agent-log tool name "rejected" 'policy)
       (funcall answer (agent-q-diff-message-of-denied-call path tool '(:by policy))
                nil (agent-q-diff-own-tool--verdict "deny"))
       nil)
      ((and 'nil (guard (agent-q-diff-own-tool--empty-p edit)))
       (agent-q-diff-own-tool--ask-for-empty edit answer))
      ('nil
       (let ((review (agent-q-diff-own-tool--review
                      edit (agent-q-diff-request-notes request) answer)))
         (unless (or (agent-q-diff-request-protection request)
                     (agent-q-diff-session-outcome review))
           (agent-q-diff-own-agent-offer review root))
         review))
      (by
       (setf (agent-q-diff-own-tool-edit-by edit) by
             (agent-q-diff-own-tool-edit-decided edit)
             (agent-q-diff-own-tool-edit-modified edit))
       (agent-q-diff-own-tool--remember edit)
       (funcall answer "" nil (agent-q-diff-own-tool--verdict "allow"))
       nil))))

(defun agent-q-diff-own-tool--edit-of (arguments)
  "Return the edit in ARGUMENTS, a hash table, or signal what is wrong with it."
  (cl-flet ((argument (key is-needed)
              (let ((value (gethash key arguments)))
                (if (or (stringp value) (and (null value) (not is-needed)))
                    value
                  (signal 'agent-q-diff-bad-arguments
                          (list (format "%s must be a string" key)))))))
    (agent-q-diff-own-tool-edit-create
     :call (argument "call" t) :path (argument "path" t) :tool (argument "tool" t)
     :session (argument "session" nil) :description (argument "description" nil)
     :original (argument "original" nil) :modified (argument "modified" t)
     :encoding (argument "encoding" t) :is-crlf (eq t (gethash "crlf" arguments))
     :is-fixed (eq :false (gethash "rewritable" arguments))
     :notes (agent-q-diff-own-agent-planning-notes arguments))))

(defun agent-q-diff-own-tool--arguments (edit)
  "Return what `agent-q-diff-tools-policy' gets as the arguments of EDIT."
  `((path . ,(agent-q-diff-own-tool-edit-path edit))
    (original . ,(agent-q-diff-own-tool-edit-original edit))
    (modified . ,(agent-q-diff-own-tool-edit-modified edit))))

;;;; A new file without text

(defun agent-q-diff-own-tool--empty-p (edit)
  "Return non-nil if EDIT is for a new file without any text to be decided."
  (and (null (agent-q-diff-own-tool-edit-original edit))
       (equal "" (agent-q-diff-own-tool-edit-modified edit))))

(defun agent-q-diff-own-tool--ask-for-empty (edit answer)
  "Ask, when its turn comes, whether EDIT may make an empty file; return nil.
ANSWER is as for `agent-q-diff-own-tool--decide-text'."
  (let ((agent (or (car agent-q-diff-caller) "An agent"))
        (name (agent-q-diff-visible
               (abbreviate-file-name (agent-q-diff-own-tool-edit-name edit)))))
    (agent-q-diff-tools-queue
     (lambda ()
       (condition-case nil
           (if (y-or-n-p (format "Let %s make the empty file %s? " agent name)) 'yes 'no)
         (quit (agent-q-diff-message-of-error
                (agent-q-diff-own-tool-edit-path edit)
                '(agent-q-diff-cancelled "the user left the question unanswered")))))
     (lambda (decision)
       (pcase decision
         ((and 'yes (guard (agent-q-diff-own-tool--deny-elsewhere edit answer))))
         ('yes
          (setf (agent-q-diff-own-tool-edit-by edit) 'none
                (agent-q-diff-own-tool-edit-decided edit) "")
          (agent-q-diff-own-tool--remember edit)
          (funcall answer "" nil (agent-q-diff-own-tool--verdict "allow")))
         ('no
          (funcall answer
                   (agent-q-diff-message-of-denial
                    (agent-q-diff-own-tool-edit-path edit) nil)
                   nil (agent-q-diff-own-tool--verdict "deny")))
         (_ (funcall answer decision t (agent-q-diff-own-tool--verdict "deny"))))))))

;;;; Writing in place of the tool

(defun agent-q-diff-own-tool-write (edit)
  "Write what was decided about EDIT, and return the message about it.
No input makes its tool write that.  If EDIT is nil, signal that nothing was
decided."
  (unless edit
    (signal 'agent-q-diff-ended '("the decision is not known any more")))
  (let ((path (agent-q-diff-own-tool-edit-path edit)))
    (format "%s was not run, since it cannot write what the user decided; Emacs wrote it.\n%s"
            (agent-q-diff-own-tool-edit-tool edit)
            (agent-q-diff-own-agent-write
             (agent-q-diff-own-tool-edit-tool edit)
             (list (agent-q-diff-own-tool-edit-name edit))
             (lambda () (agent-q-diff-own-tool--write edit path))))))

(defun agent-q-diff-own-tool--write (edit path)
  "Make what was decided about EDIT in its file.
PATH is the agent's name for that.  Return the message for the agent.  If
the file has changed since, signal an error."
  (let* ((name (file-truename (agent-q-diff-own-tool-edit-name edit)))
         (live (or (agent-q-diff-live-read name)
                   (agent-q-diff-file-refuse "%s does not exist any more" path)))
         (text (agent-q-diff-live-text live)))
    (unless (equal text (agent-q-diff-live-adapt
                         live (agent-q-diff-own-tool-edit-original edit)))
      (agent-q-diff-file-refuse "%s was changed while the user decided" path))
    (let ((written (agent-q-diff-write
                    live (list (cons 0 (length text)))
                    (agent-q-diff-live-adapt live (agent-q-diff-own-tool-edit-decided edit))
                    (agent-q-diff-own-tool-edit-check edit))))
      (when (plist-get written :saved)
        (agent-q-diff-own-tool--say-written edit "Emacs"))
      (agent-q-diff-message-of-result
       (agent-q-diff-own-agent-as-written (agent-q-diff-own-tool-edit-result edit)
                                          (plist-get written :saved))
       path))))

;;;; After the tool has run

(defun agent-q-diff-own-tool--in-file (edit text)
  "Return TEXT of EDIT as the file of EDIT has it."
  (if (agent-q-diff-own-tool-edit-is-crlf edit)
      (string-replace "\n" "\r\n" text)
    text))

(defun agent-q-diff-own-tool--made-p (edit)
  "Return non-nil if the file of EDIT is as its tool, left alone, would leave it."
  (let ((name (agent-q-diff-own-tool-edit-name edit))
        (text (agent-q-diff-own-tool--in-file edit (agent-q-diff-own-tool-edit-modified edit))))
    (and (agent-q-diff-file-regular-p name)
         (agent-q-diff-file-has-bytes-p
          name
          (pcase-exhaustive (agent-q-diff-own-tool-edit-encoding edit)
            ("utf-8" (encode-coding-string text 'utf-8-unix))
            ("utf-8 with BOM" (encode-coding-string text 'utf-8-with-signature-unix))
            ("utf-16le" (encode-coding-string text 'utf-16le-with-signature-unix)))))))

(defun agent-q-diff-own-tool--follow (name)
  "Let a buffer without unsaved edits that visits the file NAME follow it."
  (when-let ((buffer (find-buffer-visiting name)))
    (agent-q-diff-disk-sync buffer)))

(defun agent-q-diff-own-tool--writer (edit)
  "Return what the agent's tool that made EDIT is called, for the user."
  (agent-q-diff-own-agent-tool (agent-q-diff-own-tool-edit-tool edit) nil))

(defun agent-q-diff-own-tool--say-written (edit by)
  "Tell the user that what was decided about EDIT is in its file, written BY whom."
  (agent-q-diff-own-agent-say-written
   (agent-q-diff-visible (file-name-nondirectory (agent-q-diff-own-tool-edit-name edit)))
   (agent-q-diff-own-tool-edit-result edit) by))

(defun agent-q-diff-own-tool-check (edit arguments)
  "Compare a file with what was decided about it; return the message about that.
EDIT is what was decided, or nil if there is nothing.  ARGUMENTS is a hash
table, which see in this file's commentary.  The message is empty if nothing
needs to be said."
  (let ((text (gethash "text" arguments))
        (refused (and edit (agent-q-diff-own-agent-refused
                            (agent-q-diff-own-tool-edit-check edit)))))
    (unless refused
      (agent-q-diff-own-tool--follow (agent-q-diff-visit-name (gethash "path" arguments)))
      (when edit
        (agent-q-diff-own-agent-note-left (agent-q-diff-own-tool-edit-name edit) text)))
    (cond
     ((null edit)
      "This edit was not decided in Emacs: agent-q-diff does not know of it. Tell the user.")
     (refused
      (agent-q-diff-own-agent-alarm-elsewhere (agent-q-diff-own-tool-edit-tool edit)
                                              (agent-q-diff-own-tool-edit-path edit) refused))
     ((not (and (equal text (agent-q-diff-own-tool--in-file
                                edit (agent-q-diff-own-tool-edit-decided edit)))
                (equal (gethash "encoding" arguments)
                       (agent-q-diff-own-tool-edit-encoding edit))))
      (agent-q-diff-own-tool--differs edit text (gethash "written" arguments)))
     ((agent-q-diff-own-tool-edit-by edit)
      (agent-q-diff-own-tool--say-allowed edit)
      "")
     (t
      (agent-q-diff-own-tool--say-written edit (agent-q-diff-own-tool--writer edit))
      (agent-q-diff-own-tool--message edit (agent-q-diff-own-tool-edit-result edit))))))

(defun agent-q-diff-own-tool--say-allowed (edit)
  "Tell the user that EDIT was made without asking."
  (agent-q-diff-own-agent-say-allowed
   (agent-q-diff-visible (abbreviate-file-name (agent-q-diff-own-tool-edit-name edit)))
   (agent-q-diff-own-tool-edit-by edit)
   (agent-q-diff-own-tool-edit-tool edit)
   (list (agent-q-diff-own-tool-edit-name edit))))

(defun agent-q-diff-own-tool--message (edit result)
  "Return the message about EDIT, which was written as in RESULT."
  (agent-q-diff-own-agent-with-warning
   (agent-q-diff-message-of-result (agent-q-diff-own-agent-as-written result 'saved)
                                   (agent-q-diff-own-tool-edit-path edit))
   (agent-q-diff-own-tool-edit-name edit) (agent-q-diff-own-tool-edit-original edit)
   (agent-q-diff-own-tool-edit-decided edit) (agent-q-diff-own-tool-edit-encoding edit)))

(defun agent-q-diff-own-tool--differs (edit text written)
  "Tell the user, and return the message, that TEXT is not what was decided.
TEXT is that of the file of EDIT now, or nil; WRITTEN is what its tool says
to have written, or nil."
  (let ((kind (agent-q-diff-own-agent-difference
               :text text :written written
               :original (agent-q-diff-own-tool-edit-original edit)
               :decided (agent-q-diff-own-tool-edit-decided edit)
               :proposed (agent-q-diff-own-tool-edit-modified edit)))
        (tool (agent-q-diff-own-tool-edit-tool edit))
        (result (agent-q-diff-own-tool-edit-result edit)))
    (if (eq kind 'wrong)
        (agent-q-diff-own-agent-alarm tool (list (agent-q-diff-own-tool-edit-path edit)))
      (when (agent-q-diff-own-tool-edit-by edit)
        (agent-q-diff-own-tool--say-allowed edit))
      (agent-q-diff-own-agent-tell-difference
       kind tool (agent-q-diff-own-tool-edit-path edit)
       (agent-q-diff-own-tool-edit-decided edit) text
       (if result
           (agent-q-diff-own-tool--message edit (agent-q-diff-own-agent-without-lines result))
         "The edit needed no decision.")))))

(provide 'agent-q-diff-own-tool)
;;; agent-q-diff-own-tool.el ends here
