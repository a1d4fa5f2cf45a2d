;;; agent-q-diff-own-tool.el --- Edits that agents make with their own tools  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Before a coding agent's own tool edits files, the program agent-q-diff,
;; which the agent runs as a hook, requests a decision: `decide_edit' for a text
;; of one file, or `decide_patch' for a patch in Codex's format, of several files
;; or of more than text.  The review is of texts that are in no file yet: Emacs
;; writes nothing, and the agent's tool then writes what was decided.  After that
;; the program requests `check_edit': Emacs compares the files with what was
;; decided, and only then tells the agent what became of each hunk.
;;
;; Where the user has chosen to review an agent's edits after they are made, there
;; is no review here, unless an edit would not be pending then.
;;
;; If a file has unsaved edits in a buffer, the tool cannot write what the
;; user sees.  Other tools cannot write a part of an edit, or may leave another
;; text than the program expects.  In these cases the review is an ordinary one:
;; Emacs makes the edit, in all files or in none, and the agent's tool does not
;; run; the agent is told what Emacs has done.
;;
;; Before the program reads a file, it requests its turn to change the file,
;; `take_turn', and keeps it until it ends.  If the tool is then to write, the
;; turn lasts until that is done, so that the next edit starts from its result.
;;
;; Agents cannot make these requests themselves.  Their arguments are hash tables:
;;
;; `take_turn'     call, session, tool, and files, a vector of hash tables with
;;                 path; a patch has several
;; `decide_edit'   path, original (missing if the file is new), modified,
;;                 encoding, crlf (whether the lines of both texts end with
;;                 CRLF in the file), rewritable (false if the tool can
;;                 write nothing else), planning (true if the agent will not
;;                 run the tool), mode ("accepts" if the agent accepts edits by
;;                 itself, "asks", "plans", or missing if that is not known),
;;                 tool, call, session, description
;; `decide_patch'  diff (the patch, with absolute names), shell (true if it is in
;;                 a shell command), planning, mode, tool, call, session, and
;;                 files, a vector that is missing if Emacs has to apply the patch; each
;;                 of its elements is a hash table with path and original,
;;                 modified (missing if it is to be deleted), crlf, encoding,
;;                 encoding_before, and to, its new name, if it gets one
;; `write_decided' path and call: Emacs is to write what was decided
;; `not_run'       path and call: a file has changed since, so the tool is not
;;                 run although its edit was accepted
;; `check_edit'    path, call, text and encoding, missing if the file cannot
;;                 be read, and written: what the tool says to have written,
;;                 if it does; of a patch, Emacs reads the files
;; `call_failed'   call: the tool has run, and says that it failed
;; `shell_writes'  command, files (a vector of names), names (of what the agent
;;                 reads), mode, call, session: the command is about to run
;; `shell_wrote'   call, session: it has run
;; `session_went_on' session: its tools have by now written what was decided,
;;                 or never will; `turn_ended' means that as well

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-message)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-target)
(require 'agent-q-diff-change)
(require 'agent-q-diff-input)
(require 'agent-q-diff-live)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-permit)
(require 'agent-q-diff-session)
(require 'agent-q-diff-policy)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-writer)
(require 'agent-q-diff-api)
(require 'agent-q-diff-tools)
(require 'agent-q-diff-own-agent)
(require 'agent-q-diff-own-tool-edit)

;;;; One edit of a file after the other

(defun agent-q-diff-own-tool-take-turn (arguments function)
  "Call FUNCTION when it is the turn of the call in ARGUMENTS, a hash table.
Its argument is non-nil if the call has waited."
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

;;;; Who decides, and who writes

(defconst agent-q-diff-own-tool--denied '((verdict . "deny"))
  "The verdict that the tool is not to be run.")

(defun agent-q-diff-own-tool--decided-p (result)
  "Return non-nil if RESULT of a review is a decision."
  (memq (plist-get result :status) '(accepted partial rejected)))

(defun agent-q-diff-own-tool--allowance (edit requests)
  "Return why EDIT, with REQUESTS, needs no review, or nil.
It is `denied', `policy', `session', `after', or `none' if nothing would
change.  If EDIT has to be reviewed before it is made although such edits are
reviewed after that, it gets a note for the user that says why."
  (let ((allowances (mapcar (lambda (request)
                              (agent-q-diff-own-agent-allowance
                               request (agent-q-diff-own-tool-edit-is-after edit)))
                            requests)))
    (cond
     ((memq 'denied allowances) 'denied)
     ((and (agent-q-diff-own-tool-edit-files edit)
           (null (agent-q-diff-own-tool-edit-changed edit)))
      'none)
     ;; Whatever is allowed is allowed in a project, and which one is not known.
     ((agent-q-diff-own-tool-edit-is-shell edit) nil)
     ((memq nil allowances) nil)
     ((not (memq 'after allowances)) (car allowances))
     (t
      (if-let ((why (agent-q-diff-own-tool--why-not-after edit)))
          (ignore
           (setf (agent-q-diff-own-tool-edit-why-before edit)
                 (list (format "You are asked before this is written, not after: %s." why))))
        'after)))))

(defun agent-q-diff-own-tool--why-not-after (edit)
  "Return why EDIT cannot be reviewed after it is made, a clause, or nil if it can."
  (pcase (agent-q-diff-own-tool--why-emacs edit)
    ('unsaved "Emacs has to write it, because of unsaved edits")
    ('unknown "Emacs has to write it, since the agent's tool may leave something else")
    ;; A tool that can write only what it was called with does that.
    (_ (seq-some (apply-partially #'agent-q-diff-own-tool--why-not-pending
                                  (agent-q-diff-own-tool-edit-call edit))
                 (agent-q-diff-own-tool-edit-changed edit)))))

(defun agent-q-diff-own-tool--why-not-pending (call file)
  "Return why FILE would not be pending after its edit by CALL, a clause, or nil."
  (let* ((name (agent-q-diff-own-tool-file-name file))
         (to (agent-q-diff-own-tool-file-to file))
         (text (agent-q-diff-own-tool-file-modified file))
         (why (or (agent-q-diff-own-agent-why-not-pending call name (and (null to) text))
                  (and to (agent-q-diff-own-agent-why-not-pending call to text)))))
    (and why
         (format "%s would not be pending, since %s"
                 (agent-q-diff-visible-name (file-name-nondirectory (or to name)))
                 (agent-q-diff-visible why)))))

(defun agent-q-diff-own-tool--unsaved-p (name)
  "Return non-nil if a buffer has edits of the file NAME that are not in it."
  (when-let ((buffer (find-buffer-visiting name)))
    (agent-q-diff-disk-unsaved-p buffer)))

(defun agent-q-diff-own-tool--why-emacs (edit)
  "Return why Emacs has to write what is decided about EDIT, or nil.
It is `unsaved' if a file has unsaved edits in a buffer, `fixed' if the
agent's tool can write only what it was called with, and `unknown' if it may
leave something else."
  (cond
   ((null (agent-q-diff-own-tool-edit-files edit)) 'unknown)
   ((seq-some (lambda (file)
                (agent-q-diff-own-tool--unsaved-p (agent-q-diff-own-tool-file-name file)))
              (agent-q-diff-own-tool-edit-files edit))
    'unsaved)
   ((agent-q-diff-own-tool-edit-is-fixed edit) 'fixed)))

(defun agent-q-diff-own-tool--allow (edit by answer)
  "Let the tool make EDIT as it is, for BY, and return nil.
BY is as from `agent-q-diff-own-tool--allowance', ANSWER as for
`agent-q-diff-own-tool-decide'."
  (setf (agent-q-diff-own-tool-edit-by edit) by)
  (agent-q-diff-own-tool--remember edit)
  (funcall answer "" nil '((verdict . "allow")))
  nil)

(defun agent-q-diff-own-tool--offer (edit review requests root)
  "Offer in REVIEW of EDIT a grant for the project ROOT, unless REQUESTS forbid it."
  (unless (or (agent-q-diff-session-outcome review)
              (agent-q-diff-own-tool-edit-is-shell edit)
              (seq-some #'agent-q-diff-request-protection requests))
    (agent-q-diff-own-agent-offer review root)))

;;;; The text of one file

(defun agent-q-diff-own-tool-decide (arguments answer)
  "Let the user decide about the edit in ARGUMENTS, a hash table.
ANSWER is called once, with a message, whether that is an error, and a
verdict for the program, an alist.  Return the review, or nil if there is
none.  If the file is not for agents, signal an error.

The verdict is \"allow\", \"change\" or \"deny\".  With \"change\", the
alist has text, which the tool is to leave."
  (let* ((edit (agent-q-diff-own-tool-edit-of arguments '("path" "modified" "encoding")))
         (agent-q-diff-call (agent-q-diff-own-tool-edit-call edit))
         (root (agent-q-diff-guard-root))
         (tool (agent-q-diff-own-tool-edit-tool edit))
         (file (car (agent-q-diff-own-tool-edit-files edit)))
         (path (agent-q-diff-own-tool-file-path file))
         (modified (agent-q-diff-own-tool-file-modified file))
         (request (agent-q-diff-tools-check
                   (agent-q-diff-tools-request
                    tool path root
                    `((path . ,path)
                      (original . ,(agent-q-diff-own-tool-file-original file))
                      (modified . ,modified)))))
         (name (agent-q-diff-request-name request)))
    (setf (agent-q-diff-own-tool-file-name file) name
          (agent-q-diff-own-tool-file-check file) (agent-q-diff-request-check request))
    (agent-q-diff-pending-note-choice root (agent-q-diff-call-agent agent-q-diff-call))
    (agent-q-diff-own-tool-edit-note edit (agent-q-diff-request-notes request))
    (let ((by (agent-q-diff-own-tool--allowance edit (list request)))
          (why (agent-q-diff-own-tool--why-emacs edit)))
      (cond
       ((eq by 'denied)
        (agent-q-diff-own-agent-log agent-q-diff-call name "rejected" 'policy)
        (funcall answer (agent-q-diff-message-of-denied-call path tool '(:by policy))
                 nil agent-q-diff-own-tool--denied)
        nil)
       ((or (memq by '(none after)) (and by (not why)))
        (agent-q-diff-own-tool--allow edit by answer))
       ;; There is no hunk to decide.
       ((and (null (agent-q-diff-own-tool-file-original file)) (equal "" modified))
        (agent-q-diff-own-tool--ask-for-empty edit answer))
       (t
        (let ((review (agent-q-diff-own-tool--review edit why answer)))
          (agent-q-diff-own-tool--offer edit review (list request) root)
          review))))))

(defun agent-q-diff-own-tool--review (edit why answer)
  "Begin the review of EDIT, the text of one file, and return it.
WHY is as from `agent-q-diff-own-tool--why-emacs', ANSWER as for
`agent-q-diff-own-tool-decide'."
  (let* ((call (agent-q-diff-own-tool-edit-call edit))
         (file (car (agent-q-diff-own-tool-edit-files edit)))
         (tool (agent-q-diff-own-agent-tool call 'has-session)))
    (agent-q-diff-review
     (agent-q-diff-own-tool-file-name file)
     (or (agent-q-diff-own-tool-file-original file) "")
     (agent-q-diff-own-tool-file-modified file)
     (agent-q-diff-own-tool-edit-description edit)
     (lambda (result)
       (if (null why)
           (agent-q-diff-own-tool--answer-decided edit result answer)
         (unless (agent-q-diff-own-tool--decided-p result)
           (agent-q-diff-own-tool--watch edit))
         (agent-q-diff-own-tool--answer-written edit why result answer)))
     :notes (append (agent-q-diff-own-tool-edit-notes edit)
                    (agent-q-diff-own-tool-edit-why-before edit)
                    (list (pcase-exhaustive why
                            ('nil (format "You decide what %s writes." tool))
                            ('unsaved (format "The file has unsaved edits, so Emacs, not %s, \
will write what you decide."
                                              tool))
                            ('fixed (format "%s writes all or nothing, so Emacs writes what \
you decide."
                                            tool)))))
     :agent (agent-q-diff-own-agent-label call)
     :check (agent-q-diff-own-tool-file-check file)
     :detached (not why))))

(defun agent-q-diff-own-tool--ask-for-empty (edit answer)
  "Ask, when its turn comes, whether EDIT may make an empty file; return nil.
ANSWER is as for `agent-q-diff-own-tool-decide'."
  (let* ((file (car (agent-q-diff-own-tool-edit-files edit)))
         (path (agent-q-diff-own-tool-file-path file))
         (question (format "Let %s make the empty file %s? "
                           (agent-q-diff-own-agent-name (agent-q-diff-own-tool-edit-call edit))
                           (agent-q-diff-visible-name
                            (abbreviate-file-name (agent-q-diff-own-tool-file-name file))))))
    (agent-q-diff-tools-queue
     (lambda ()
       (condition-case nil
           (if (y-or-n-p question) 'yes 'no)
         (quit (agent-q-diff-message-of-error
                path '(agent-q-diff-cancelled "the user left the question unanswered")))))
     (lambda (decision)
       (pcase decision
         ((and 'yes (guard (agent-q-diff-own-tool--deny-elsewhere edit answer))))
         ('yes (agent-q-diff-own-tool--allow edit 'none answer))
         ('no (funcall answer (agent-q-diff-message-of-denied-call path nil '(:by user))
                       nil agent-q-diff-own-tool--denied))
         (_ (funcall answer decision t agent-q-diff-own-tool--denied)))))))

;;;; A patch

(defconst agent-q-diff-own-tool--mistakes
  '(agent-q-diff-malformed agent-q-diff-identical agent-q-diff-not-found
    agent-q-diff-no-file agent-q-diff-bad-arguments)
  "Errors that are mistakes of the agent's.
Then the agent can send something else, and the user need not be told.")

(defun agent-q-diff-own-tool-decide-patch (arguments answer)
  "Let the user decide about the patch in ARGUMENTS, a hash table.
ANSWER and the value are as for `agent-q-diff-own-tool-decide'.  If a file is
not for agents, signal an error; but a mistake in the patch is answered, so
that the agent can send another.

If the verdict is \"change\", the alist has files, a vector with an alist for
each file in ARGUMENTS: there (whether there is to be such a file), renamed
\(whether it is to get its new name), and text, if it is to be another than
before."
  (let* ((default-directory (agent-q-diff-guard-root))
         (edit (agent-q-diff-own-tool-edit-of arguments '("diff")))
         (agent-q-diff-call (agent-q-diff-own-tool-edit-call edit)))
    (agent-q-diff-pending-note-choice default-directory
                                      (agent-q-diff-call-agent agent-q-diff-call))
    (condition-case err
        (agent-q-diff-own-tool--decide-patch edit answer)
      (agent-q-diff-error
       (unless (memq (car err) agent-q-diff-own-tool--mistakes)
         (signal (car err) (cdr err)))
       (funcall answer
                (agent-q-diff-own-tool--with-advice
                 (format "The patch was not run: %s" (agent-q-diff-error-text err)))
                nil agent-q-diff-own-tool--denied)
       nil))))

(defun agent-q-diff-own-tool--with-advice (message)
  "Return MESSAGE about a mistake in a patch, with what the agent can do."
  (concat message ". Read the files, and send another patch."))

(defun agent-q-diff-own-tool--decide-patch (edit answer)
  "Let the user decide about EDIT; see `agent-q-diff-own-tool-decide-patch'.
ANSWER is that function's.  If the patch has a mistake, signal an error."
  (let* ((requests (agent-q-diff-own-tool--aim edit))
         (by (agent-q-diff-own-tool--allowance edit requests))
         (why (agent-q-diff-own-tool--why-emacs edit)))
    (if (or (memq by '(none after)) (and (memq by '(policy session)) (not why)))
        (agent-q-diff-own-tool--allow edit by answer)
      (let ((review (if (or why by)
                        (agent-q-diff-own-tool--review-files edit why by answer)
                      (agent-q-diff-own-tool--review-texts edit answer))))
        (when review
          (agent-q-diff-own-tool--offer edit review requests default-directory)
          (when (and why by (not (agent-q-diff-session-outcome review)))
            (agent-q-diff-own-tool--accept review by)))
        review))))

(defun agent-q-diff-own-tool--proposal (edit)
  "Return the arguments of a tool that proposes EDIT, a patch, as an alist."
  `((diff . ,(agent-q-diff-own-tool-edit-diff edit)) (description . "")))

(defun agent-q-diff-own-tool--aim (edit)
  "Have the guard look at all files of EDIT, a patch; return a request for each.
The files that the tool would write are checked, whatever the patch calls
them.  If one is not for agents, signal an error.  The project is
`default-directory'."
  (let* ((files (agent-q-diff-own-tool-edit-files edit))
         (proposals (if files
                        (mapcar (lambda (file)
                                  (list :path (agent-q-diff-own-tool-file-path file)
                                        :to (agent-q-diff-own-tool-file-to file)))
                                files)
                      (agent-q-diff-input-of-diff (agent-q-diff-own-tool-edit-diff edit))))
         (requests (agent-q-diff-tools-requests (agent-q-diff-own-tool-edit-tool edit) proposals
                                                default-directory
                                                (agent-q-diff-own-tool--proposal edit))))
    (pcase-let ((`(,checked . ,notes) (agent-q-diff-tools-targets proposals requests)))
      (unless files
        (mapc #'agent-q-diff-own-tool--check-there checked))
      (agent-q-diff-own-tool-edit-note edit notes)
      (cl-mapc (lambda (file proposal)
                 (setf (agent-q-diff-own-tool-file-check file) (plist-get proposal :check)))
               files checked)
      requests)))

(defun agent-q-diff-own-tool--check-there (proposal)
  "Signal `agent-q-diff-no-file' if PROPOSAL is for a file that does not exist.
It must exist if it is to be updated or deleted."
  (let ((path (plist-get proposal :path)))
    (unless (or (not (or (plist-get proposal :update) (plist-get proposal :delete)))
                (agent-q-diff-operation-exists-p path)
                (find-buffer-visiting path))
      (signal 'agent-q-diff-no-file
              (list (format "%s does not exist" (agent-q-diff-visible path)))))))

(defun agent-q-diff-own-tool--file-proposal (file text to)
  "Return what `agent-q-diff-review-change' takes for FILE.
FILE is to have TEXT, or to be deleted if that is nil, and the name TO, or
its present one if that is nil."
  (agent-q-diff-writer-proposal
   (agent-q-diff-own-tool-file-name file) (agent-q-diff-own-tool-file-original file) text to
   (agent-q-diff-own-tool-file-check file)))

(defun agent-q-diff-own-tool--review-texts (edit answer)
  "Begin the review of the texts that EDIT, a patch, would leave, and return it.
ANSWER is as for `agent-q-diff-own-tool-decide-patch'."
  (let ((call (agent-q-diff-own-tool-edit-call edit)))
    (agent-q-diff-review-change
     (mapcar (lambda (file)
               (agent-q-diff-own-tool--file-proposal
                file (agent-q-diff-own-tool-file-modified file)
                (agent-q-diff-own-tool-file-to file)))
             (agent-q-diff-own-tool-edit-changed edit))
     "" (lambda (result) (agent-q-diff-own-tool--answer-decided edit result answer))
     :notes (append (agent-q-diff-own-tool-edit-notes edit)
                    (agent-q-diff-own-tool-edit-why-before edit)
                    (list (format "You decide what %s writes."
                                  (agent-q-diff-own-agent-tool call 'has-session))))
     :agent (agent-q-diff-own-agent-label call)
     :detached t)))

(defun agent-q-diff-own-tool--review-files (edit why by answer)
  "Begin and return an ordinary review of EDIT: Emacs is to change the files.
WHY is as from `agent-q-diff-own-tool--why-emacs', or nil if the policy
denies EDIT.  BY is as from `agent-q-diff-own-tool--allowance'.  ANSWER is
as for `agent-q-diff-own-tool-decide-patch'."
  (let* ((call (agent-q-diff-own-tool-edit-call edit))
         (agent-q-diff-display (if by 'announce agent-q-diff-display))
         (agent-q-diff-policy-rules (and (null by) agent-q-diff-policy-rules))
         (inhibit-message (or by inhibit-message)))
    (agent-q-diff-tools-propose
     (agent-q-diff-call-tool call) (agent-q-diff-own-tool--proposal edit)
     (lambda (result) (agent-q-diff-own-tool--answer-written edit why result answer))
     :notes (append
             (agent-q-diff-own-tool-edit-why-before edit)
             (and (agent-q-diff-own-tool-edit-is-shell edit)
                  (list (format "The agent chose the directory of this shell command: %s"
                                (abbreviate-file-name default-directory))))
             (list (format "%sEmacs writes what you decide, in all files at once; %s is not run."
                           (if (eq why 'unsaved) "A file has unsaved edits: " "")
                           (agent-q-diff-own-agent-tool call 'has-session))))
     :agent (agent-q-diff-own-agent-label call))))

(defun agent-q-diff-own-tool--say-allowed (call what by &optional names)
  "Tell the user that CALL edited WHAT, a string, without asking, and log it.
BY is `policy' or `session', NAMES are the files that no review has logged."
  (dolist (name names)
    (agent-q-diff-own-agent-log call name "accepted" by))
  (message "%s edited %s, by your %s" (agent-q-diff-own-agent-name call) what
           (if (eq 'session by) "grant" "settings")))

(defun agent-q-diff-own-tool--accept (review by)
  "Accept all of REVIEW, which is allowed BY `policy' or `session'.
If some of it does not apply, the user has to decide."
  (setf (agent-q-diff-session-is-by-program review) t)
  (let ((name (agent-q-diff-session-name review))
        (buffer (agent-q-diff-session-buffer review))
        (inhibit-message t))
    (with-current-buffer buffer
      (agent-q-diff-accept-all))
    (let ((inhibit-message nil))
      (if (agent-q-diff-session-outcome review)
          (agent-q-diff-own-tool--say-allowed (agent-q-diff-session-call review) name by)
        (setf (agent-q-diff-session-is-by-program review) nil)
        (agent-q-diff-base-show buffer)))))

;;;; What was decided

(defun agent-q-diff-own-tool--answer-decided (edit result answer)
  "Answer with the decision on EDIT; RESULT is that of a review of texts.
ANSWER is as for `agent-q-diff-own-tool-decide'."
  (let ((files (agent-q-diff-own-tool-edit-files edit))
        (is-patch (agent-q-diff-own-tool-edit-diff edit))
        (is-decided (agent-q-diff-own-tool--decided-p result)))
    (when is-decided
      (cl-mapc #'agent-q-diff-writer-note-decision
               (agent-q-diff-own-tool-edit-changed edit)
               (or (plist-get result :files) (list result))))
    (cond
     ((not is-decided)
      (agent-q-diff-own-tool--watch edit)
      (funcall answer
               (agent-q-diff-message-of-not-run result (agent-q-diff-own-tool-edit-what edit)
                                                (agent-q-diff-own-tool-edit-tool edit))
               t agent-q-diff-own-tool--denied))
     ((seq-every-p #'agent-q-diff-writer-stays-p files)
      (funcall answer (agent-q-diff-own-tool--message edit result 'saved)
               nil agent-q-diff-own-tool--denied))
     ((agent-q-diff-own-tool--deny-elsewhere edit answer))
     ((agent-q-diff-own-tool--why-emacs edit)
      (agent-q-diff-own-tool--deny
       edit answer
       (format "the user has edited %s in Emacs meanwhile, and not saved it"
               (if is-patch "a file of it" "the file"))
       (format "%s was edited in Emacs meanwhile, and not saved"
               (if is-patch "one of them" "it"))))
     ((seq-some (lambda (file)
                  (let ((text (or (agent-q-diff-own-tool-file-text file) "")))
                    (not (equal text (agent-q-diff-base-clean text)))))
                files)
      (agent-q-diff-own-tool--deny
       edit answer "what the user decided has bytes that are not UTF-8"
       "what you decided has bytes that are not UTF-8"))
     (t
      (setf (agent-q-diff-own-tool-edit-result edit) result)
      (agent-q-diff-own-tool--remember edit)
      (funcall answer "" nil (agent-q-diff-own-tool-edit-verdict edit))))))

(defun agent-q-diff-own-tool--deny-elsewhere (edit answer)
  "If a file of EDIT must not be written any more, answer that; return non-nil.
ANSWER is as for `agent-q-diff-own-tool-decide'."
  (when-let ((refused (agent-q-diff-own-tool-edit-refused edit)))
    (let ((why (if (agent-q-diff-own-tool-edit-diff edit)
                   (format "%s: %s" (agent-q-diff-own-tool-file-path (car refused))
                           (cdr refused))
                 (cdr refused))))
      (agent-q-diff-own-tool--deny edit answer why why)
      t)))

(defun agent-q-diff-own-tool--deny (edit answer why why-for-user)
  "Answer that EDIT cannot be made as it was decided, with the reason WHY.
The user is told WHY-FOR-USER.  ANSWER is as for
`agent-q-diff-own-tool-decide'."
  (agent-q-diff-own-tool-not-run edit why-for-user)
  (funcall answer
           (format "Error: %s was not run: %s. None of it is in %s. Ask the user how to proceed."
                   (agent-q-diff-own-tool-edit-tool edit) why
                   (if (agent-q-diff-own-tool-edit-diff edit)
                       "the files"
                     (agent-q-diff-visible-name (agent-q-diff-own-tool-edit-path edit))))
           t agent-q-diff-own-tool--denied))

(defun agent-q-diff-own-tool--message (edit result is-saved)
  "Return the message for the agent about RESULT of a review of the texts of EDIT.
It is as if they were in the files; IS-SAVED is as for
`agent-q-diff-writer-as-written'."
  (agent-q-diff-message-of-result (agent-q-diff-writer-as-written result is-saved)
                                  (if (agent-q-diff-own-tool-edit-diff edit)
                                      (plist-get result :path)
                                    (agent-q-diff-own-tool-edit-path edit))))

;;;; Until the tool has run

(defun agent-q-diff-own-tool--watch (edit)
  "Alarm the user if EDIT is made although nothing was decided."
  (agent-q-diff-own-agent-watch
   (agent-q-diff-own-tool-edit-call edit) (agent-q-diff-own-tool-edit-names edit)
   ;; Nothing was decided, so compare with what the tool would leave.
   (lambda ()
     (seq-every-p #'agent-q-diff-own-tool-file-as-decided-p
                  (agent-q-diff-own-tool-edit-files edit)))))

(defun agent-q-diff-own-tool--remember (edit)
  "Remember what was decided about EDIT until its tool has run."
  (let ((call (agent-q-diff-own-tool-edit-call edit)))
    (unless (agent-q-diff-own-tool-edit-by edit)
      (setf (agent-q-diff-own-tool-edit-watched edit)
            (agent-q-diff-reviewed-watch
             (mapcar (lambda (file)
                       (if (agent-q-diff-own-tool-file-is-renamed file)
                           (cons (agent-q-diff-own-tool-file-name file)
                                 (agent-q-diff-own-tool-file-to file))
                         (agent-q-diff-own-tool-file-name file)))
                     (agent-q-diff-own-tool-edit-files edit)))))
    (agent-q-diff-own-agent-remember
     call edit
     (lambda (why)
       (cond
        ((null why)
         (let ((names (agent-q-diff-own-tool-edit-names edit)))
           (dolist (name names)
             (agent-q-diff-own-agent-log call name "run after all" nil))
           (message "%s was run after all: %s"
                    (agent-q-diff-visible (agent-q-diff-own-agent-tool call))
                    (mapconcat (lambda (name)
                                 (agent-q-diff-visible-name (abbreviate-file-name name)))
                               names ", "))))
        ((agent-q-diff-own-tool--untouched-p edit)
         (agent-q-diff-own-tool-not-run edit why)
         t))))))

(defun agent-q-diff-own-tool--untouched-p (edit)
  "Return non-nil if all files of EDIT are as they were before the user decided."
  (let ((files (agent-q-diff-own-tool-edit-changed edit)))
    (agent-q-diff-file-uncached
      (and files
           (not (agent-q-diff-own-tool-edit-refused edit))
           (seq-every-p #'agent-q-diff-own-tool-file-as-before-p files)))))

(defun agent-q-diff-own-tool-not-run (edit &optional why)
  "Tell the user that EDIT was not made after all, because of WHY, a string.
If WHY is nil, a file was changed meanwhile.  If there was no review, the
user is not told."
  (unless (agent-q-diff-own-tool-edit-by edit)
    (agent-q-diff-own-agent-say-not-run
     (agent-q-diff-own-tool-edit-call edit) (agent-q-diff-own-tool-edit-names edit)
     (or why (format "%s was changed while you decided"
                     (if (agent-q-diff-own-tool-edit-diff edit) "a file" "it"))))))

;;;; Writing in place of the tool

(defun agent-q-diff-own-tool--answer-written (edit why result answer)
  "Answer that Emacs has carried out the decision on EDIT, which had RESULT.
WHY is as from `agent-q-diff-own-tool--why-emacs', ANSWER as for
`agent-q-diff-own-tool-decide'."
  (let* ((is-patch (agent-q-diff-own-tool-edit-diff edit))
         (message
          (format "%s was not run%s.\n%s"
                  (if is-patch "The patch" (agent-q-diff-own-tool-edit-tool edit))
                  (cond
                   ((not (< 0 (or (plist-get result :in-file) 0))) "")
                   ((eq why 'unsaved)
                    (format ": the user has unsaved edits in %s, so Emacs wrote what the user \
accepted%s"
                            (if is-patch "a file" (agent-q-diff-own-tool-edit-path edit))
                            (if is-patch ", in all files at once" "")))
                   (is-patch ": Emacs wrote what the user accepted, in all files at once")
                   (t ": it cannot write a part of an edit, so Emacs wrote what the user accepted"))
                  (if is-patch
                      (plist-get result :message)
                    (agent-q-diff-message-of-result result (agent-q-diff-own-tool-edit-path edit))))))
    (if (and is-patch (memq (plist-get result :error) agent-q-diff-own-tool--mistakes))
        (funcall answer (agent-q-diff-own-tool--with-advice message)
                 nil agent-q-diff-own-tool--denied)
      (funcall answer message (not (agent-q-diff-own-tool--decided-p result))
               agent-q-diff-own-tool--denied))))

(defun agent-q-diff-own-tool-write (edit)
  "Write what was decided about EDIT, and return the message about it.
No input would make its tool write that.  If a file has changed since, signal
an error; then nothing is written.  If EDIT is nil, signal that nothing was
decided."
  (unless edit
    (signal 'agent-q-diff-ended '("the decision is not known any more")))
  (condition-case err
      (let* ((is-patch (agent-q-diff-own-tool-edit-diff edit))
             (agent-q-diff-file-is-watched t)
             (is-saved (if is-patch
                           (agent-q-diff-own-tool--write-patch edit)
                         (agent-q-diff-own-tool--write-text edit))))
        (when is-saved
          (agent-q-diff-reviewed-note-decided (agent-q-diff-own-tool-edit-watched edit))
          (agent-q-diff-own-tool--say-written edit "Emacs"))
        (format "%s was not run, since it cannot write what the user decided; Emacs wrote it%s.\n%s"
                (agent-q-diff-own-tool-edit-tool edit)
                (if is-patch ", in all files at once" "")
                (agent-q-diff-own-tool--message edit (agent-q-diff-own-tool-edit-result edit)
                                                is-saved)))
    (error
     (agent-q-diff-own-agent-say-not-run
      (agent-q-diff-own-tool-edit-call edit) (agent-q-diff-own-tool-edit-names edit)
      (agent-q-diff-error-text err))
     (signal (car err) (cdr err)))))

(defun agent-q-diff-own-tool--refuse-changed (file)
  "Signal that FILE was changed meanwhile."
  (agent-q-diff-file-refuse "%s was changed while the user decided"
                            (agent-q-diff-own-tool-file-path file)))

(defun agent-q-diff-own-tool--write-text (edit)
  "Write what was decided about EDIT, the text of one file.
Return non-nil if it is saved."
  (let* ((file (car (agent-q-diff-own-tool-edit-files edit)))
         (live (or (agent-q-diff-live-read
                    (file-truename (agent-q-diff-own-tool-file-name file)))
                   (agent-q-diff-file-refuse "%s does not exist any more"
                                             (agent-q-diff-own-tool-file-path file))))
         (text (agent-q-diff-live-text live)))
    (unless (equal text (agent-q-diff-live-adapt
                         live (agent-q-diff-own-tool-file-original file)))
      (agent-q-diff-own-tool--refuse-changed file))
    (plist-get (agent-q-diff-write
                live (list (cons 0 (length text)))
                (agent-q-diff-live-adapt live (agent-q-diff-own-tool-file-text file))
                (agent-q-diff-own-tool-file-check file))
               :saved)))

(defun agent-q-diff-own-tool--write-patch (edit)
  "Carry out what was decided about EDIT, a patch, in all files or in none.
Return non-nil if all are saved."
  (when-let ((changed (agent-q-diff-file-uncached
                        (seq-find (lambda (file)
                                    (not (agent-q-diff-own-tool-file-as-before-p file)))
                                  (agent-q-diff-own-tool-edit-files edit)))))
    (agent-q-diff-own-tool--refuse-changed changed))
  (let ((made (let ((agent-q-diff-call (agent-q-diff-call-with
                                        'tool (agent-q-diff-own-tool-edit-tool edit))))
                (agent-q-diff-api-make (agent-q-diff-own-tool--decided-proposals edit)))))
    (unless (eq 'accepted (plist-get made :status))
      (agent-q-diff-file-refuse "%s was not run, and Emacs could not write what the user accepted: %s"
                                (agent-q-diff-own-tool-edit-tool edit) (plist-get made :reason)))
    (plist-get made :saved)))

(defun agent-q-diff-own-tool--decided-proposals (edit)
  "Return what was decided about EDIT, as `agent-q-diff-review-change' takes it."
  (mapcar (lambda (file)
            (agent-q-diff-own-tool--file-proposal
             file (agent-q-diff-own-tool-file-text file)
             (and (agent-q-diff-own-tool-file-is-renamed file)
                  (agent-q-diff-own-tool-file-to file))))
          (seq-remove #'agent-q-diff-writer-stays-p
                      (agent-q-diff-own-tool-edit-files edit))))

;;;; After the tool has run

(defun agent-q-diff-own-tool-check (edit arguments)
  "Compare the files with what was decided; return the message about that.
EDIT is what was decided, or nil if there is nothing.  ARGUMENTS is a hash
table; see this file's commentary.  The message is empty if there is nothing
to say."
  (if (null edit)
      (progn
        (when-let ((buffer (find-buffer-visiting
                            (agent-q-diff-visit-name (gethash "path" arguments)))))
          (agent-q-diff-disk-sync buffer))
        "This edit was not decided in Emacs: agent-q-diff does not know of it. Tell the user.")
    (agent-q-diff-file-uncached
      (if-let ((refused (agent-q-diff-own-tool-edit-refused edit)))
          (agent-q-diff-own-tool--alarm-elsewhere
           (agent-q-diff-own-tool-edit-call edit)
           (agent-q-diff-own-tool-file-path (car refused)) (cdr refused))
        (agent-q-diff-own-tool--compare edit arguments)))))

(defun agent-q-diff-own-tool--alarm-elsewhere (call path why)
  "Tell the user that CALL may have written another file than PATH.
WHY is as from `agent-q-diff-own-agent-refused'.  Return the message for the
agent."
  (agent-q-diff-base-warn
   (agent-q-diff-visible
    (format "%s's tool %s may have written another file than %s: %s"
            (agent-q-diff-own-agent-name call) (agent-q-diff-call-tool call) path why))
   :error)
  (format "ALARM: %s may have written another file than the user decided about, %s: %s. \
Tell the user, and change nothing more until the user says so."
          (agent-q-diff-call-tool call) (agent-q-diff-visible-name path) why))

(defun agent-q-diff-own-tool--alarm (call paths)
  "Tell the user that CALL left files that are not what was decided.
PATHS are their names, as the agent knows them.  Return the message for the
agent."
  (agent-q-diff-base-warn
   (format "%s's tool %s left text in %s that differs from what you decided"
           (agent-q-diff-own-agent-name call) (agent-q-diff-call-tool call)
           (mapconcat #'agent-q-diff-visible-name paths ", "))
   :error)
  (format "ALARM: %s %s not what the user decided: %s wrote something else. Read %s, tell the \
user what differs, and change nothing more until the user says so."
          (mapconcat #'agent-q-diff-visible-name paths ", ")
          (if (cdr paths) "are" "is")
          (agent-q-diff-call-tool call)
          (if (cdr paths) "these files" "the file")))

(defun agent-q-diff-own-tool--say-written (edit by)
  "Tell the user that what was decided about EDIT is in its files, written BY whom.
Until then, the display said that it was not yet written."
  (let* ((result (agent-q-diff-own-tool-edit-result edit))
         (total (plist-get result :total)))
    (message (ngettext "%s: %s of %d hunk written, by %s" "%s: %s of %d hunks written, by %s"
                       total)
             (agent-q-diff-visible
              (if (agent-q-diff-own-tool-edit-diff edit)
                  (agent-q-diff-own-tool-edit-what edit)
                (file-name-nondirectory (car (agent-q-diff-own-tool-edit-names edit)))))
             (plist-get result :in-file) total by)))

(defun agent-q-diff-own-tool--compare (edit arguments)
  "Do what `agent-q-diff-own-tool-check' does with EDIT, whose files may be read.
ARGUMENTS is that function's."
  (let* ((call (agent-q-diff-own-tool-edit-call edit))
         (names (agent-q-diff-own-tool-edit-names edit))
         (is-patch (agent-q-diff-own-tool-edit-diff edit))
         (by (agent-q-diff-own-tool-edit-by edit))
         (result (agent-q-diff-own-tool-edit-result edit))
         (texts (mapcar (lambda (file)
                          (agent-q-diff-own-tool-file-follow file)
                          (let* ((name (agent-q-diff-own-tool-file-name-decided file))
                                 (text (if is-patch
                                           (agent-q-diff-own-tool-file-read file name)
                                         (gethash "text" arguments))))
                            (agent-q-diff-own-agent-note-left name text)
                            (cons file text)))
                        (agent-q-diff-own-tool-edit-files edit)))
         (differing (seq-remove
                     (pcase-lambda (`(,file . ,text))
                       (if is-patch
                           (agent-q-diff-own-tool-file-as-decided-p file)
                         (and (equal text (agent-q-diff-own-tool-file-in-file
                                           file (agent-q-diff-own-tool-file-text file)))
                              (equal (gethash "encoding" arguments)
                                     (agent-q-diff-own-tool-file-encoding file)))))
                     texts))
         (kinds (mapcar (pcase-lambda (`(,file . ,text))
                          (agent-q-diff-own-tool--difference
                           file text (and (not is-patch) (gethash "written" arguments))))
                        differing)))
    (cond
     ((and (eq by 'after) (agent-q-diff-own-tool--untouched-p edit))
      "")
     ((eq by 'after)
      (agent-q-diff-own-tool--say-unreviewed edit (mapcar #'car differing)))
     ((memq 'wrong kinds)
      (agent-q-diff-own-tool--alarm
       call
       (mapcar (lambda (differing) (agent-q-diff-own-tool-file-path (car differing)))
               differing)))
     (t
      (agent-q-diff-reviewed-note-decided
       (agent-q-diff-own-tool-edit-watched edit)
       (mapcar (pcase-lambda (`(,file . ,_)) (agent-q-diff-own-tool--decided-state file))
               differing))
      (cond
       ((eq by 'none))
       (by (agent-q-diff-own-tool--say-allowed
            call
            (if is-patch
                (agent-q-diff-own-tool-edit-what edit)
              (agent-q-diff-visible-name (abbreviate-file-name (car names))))
            by names))
       ((null differing)
        (agent-q-diff-own-tool--say-written edit (agent-q-diff-own-agent-tool call))))
      (cond
       (differing (agent-q-diff-own-tool--differs edit differing kinds))
       (by "")
       (t (agent-q-diff-own-tool--with-warnings
           edit (agent-q-diff-own-tool--message edit result 'saved))))))))

(defun agent-q-diff-own-tool--say-unreviewed (edit differing)
  "Tell the user that EDIT was made, to be reviewed later, and log it.
DIFFERING are those of its files that are not as its tool was to leave them.
Return the message for the agent."
  (let ((call (agent-q-diff-own-tool-edit-call edit))
        (files (agent-q-diff-own-tool-edit-changed edit)))
    (dolist (file files)
      (agent-q-diff-own-agent-log call (agent-q-diff-own-tool-file-name file)
                                  "to be reviewed" nil))
    ;; What the user saves from now on is not the agent's.
    (agent-q-diff-pending-mode)
    (agent-q-diff-own-agent-count-soon
     (agent-q-diff-own-tool-file-name-decided (car files)))
    (message "%s edited %s, to be reviewed" (agent-q-diff-own-agent-name call)
             (agent-q-diff-visible (agent-q-diff-own-tool-edit-what edit)))
    (agent-q-diff-own-tool--with-warnings
     edit
     (agent-q-diff-message-of-unreviewed
      (mapcar #'agent-q-diff-own-tool-file-path files) (agent-q-diff-own-tool-edit-tool edit)
      (mapcar #'agent-q-diff-own-tool-file-path differing)))))

(defun agent-q-diff-own-tool--decided-state (file)
  "Return (NAME . (MODE . BYTES)), what was decided about FILE.
See `agent-q-diff-reviewed-note-decided'."
  (let ((name (agent-q-diff-own-tool-file-name-decided file))
        (text (agent-q-diff-own-tool-file-text file)))
    (cons name (if text
                   (cons (agent-q-diff-file-git-mode name)
                         (agent-q-diff-own-tool-file-bytes file text))
                 (cons 0 "")))))

(defun agent-q-diff-own-tool--difference (file text written)
  "Return who wrote FILE, which has TEXT and not what was decided, as far as known.
The value is as from `agent-q-diff-own-agent-difference'; WRITTEN is what the
tool says that it has written, or nil.  A file that exists although none was
to be, or is missing, was not merely reformatted."
  (if (agent-q-diff-own-tool-file-other-there-p file)
      'wrong
    (agent-q-diff-own-agent-difference
     :text text :written written
     :original (agent-q-diff-own-tool-file-original file)
     :decided (agent-q-diff-own-tool-file-text file)
     :proposed (agent-q-diff-own-tool-file-modified file))))

(defun agent-q-diff-own-tool--with-warnings (edit message)
  "Return MESSAGE, for the agent, with what the files of EDIT contradict."
  (dolist (file (agent-q-diff-own-tool-edit-files edit) message)
    (setq message (agent-q-diff-own-agent-with-warning
                   message (agent-q-diff-own-tool-file-name-decided file)
                   (agent-q-diff-own-tool-file-original file)
                   (agent-q-diff-own-tool-file-text file)
                   (agent-q-diff-own-tool-file-encoding file)))))

(defun agent-q-diff-own-tool--without-lines (result)
  "Return RESULT without the present lines of its hunks, which have changed since."
  (cl-flet ((without (result)
              (plist-put (copy-sequence result) :hunks
                         (mapcar (lambda (hunk) (plist-put (copy-sequence hunk) :now nil))
                                 (plist-get result :hunks)))))
    (let ((result (without result)))
      (if (plist-get result :files)
          (plist-put result :files (mapcar #'without (plist-get result :files)))
        result))))

(defun agent-q-diff-own-tool--differs (edit differing kinds)
  "Tell the user, and return the message, that files of EDIT are not as decided.
DIFFERING is a list of (FILE . TEXT) with their present texts, and KINDS has
for each what is known about it; see `agent-q-diff-own-agent-difference'."
  (let* ((is-patch (agent-q-diff-own-tool-edit-diff edit))
         (result (agent-q-diff-own-tool-edit-result edit))
         (message (if result
                      (agent-q-diff-own-tool--message
                       edit (agent-q-diff-own-tool--without-lines result) 'saved)
                    (format "The %s needed no decision." (if is-patch "patch" "edit")))))
    (when (and result (not is-patch))
      (setq message (agent-q-diff-own-tool--with-warnings edit message)))
    (cl-mapc (pcase-lambda (`(,file . ,text) kind)
               (setq message
                     (agent-q-diff-own-agent-tell-difference
                      kind (agent-q-diff-own-tool-edit-call edit)
                      (if is-patch
                          (agent-q-diff-own-tool-file-name-decided file)
                        (agent-q-diff-own-tool-file-path file))
                      (agent-q-diff-own-tool-file-text file) text message)))
             differing kinds)
    message))

(provide 'agent-q-diff-own-tool)
;;; agent-q-diff-own-tool.el ends here
