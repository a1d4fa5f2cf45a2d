;;; agent-q-diff-replace.el --- One exact replacement, from call to file  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the tool `edit_file' does, step by step: the path is checked, the
;; policy heard, the text read and searched, the edit shown, permission
;; asked, the text searched once more, and the file written.  Messages are
;; not made here; the value is a plist, and what goes wrong is an error.
;;
;; What the user saw is what is written: the same string is replaced by the
;; same string, in as many places, whatever else has changed meanwhile.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-log)
(require 'agent-q-diff-api)
(require 'agent-q-diff-transcript)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-permit)
(require 'agent-q-diff-write)

(defcustom agent-q-diff-tools-review-lines 50
  "Number of changed lines above which an edit gets the full review.
Removed and added lines count alike.  If nil, no edit is too large."
  :type '(choice natnum (const :tag "Never" nil))
  :group 'agent-q-diff)

(cl-defstruct (agent-q-diff-replace-call (:constructor agent-q-diff-replace-call-make)
                                         (:conc-name agent-q-diff-replace--)
                                         (:copier nil))
  "A call that asks for an exact replacement."
  (tool "edit_file" :documentation "Name of the tool.")
  (path nil :documentation "The file as the agent named it.")
  (old nil :documentation "The string that is to be replaced.")
  (new nil :documentation "What is to come into its place.")
  (is-all nil :documentation "Whether it may be there more than once.")
  (description nil :documentation "What the agent says about it, or nil.")
  (arguments nil :documentation "The arguments, an alist."))

(cl-defstruct (agent-q-diff-replace-plan (:constructor agent-q-diff-replace--plan-make)
                                         (:conc-name agent-q-diff-replace-plan-)
                                         (:copier nil))
  "Where a replacement is to be made in a live text."
  (live nil :documentation "The `agent-q-diff-live'.")
  (spans nil :documentation "Parts of its text that are to be replaced.")
  (lines nil :documentation "The lines, from 0, on which each then stands.")
  (new nil :documentation "What comes into each.")
  (hashes nil :documentation "Of the text, and of what it becomes, or nil.")
  (typed nil :documentation "What that changes, as typed lines."))

;;;; Where it is to be made

(defun agent-q-diff-replace--plan (call name)
  "Return where CALL is to replace what in the file NAME, as it is now."
  (let ((live (or (agent-q-diff-write-read name)
                  (signal 'agent-q-diff-no-file (list name)))))
    (pcase-let ((`(,spans ,lines ,new ,hashes . ,typed)
                 (agent-q-diff-replace--search live call)))
      (agent-q-diff-replace--plan-make :live live :spans spans :lines lines
                                       :new new :hashes hashes :typed typed))))

(defun agent-q-diff-replace--hash-before (plan)
  "Return a hash of the file of PLAN as it was found."
  (agent-q-diff-write-hash-before (agent-q-diff-replace-plan-live plan)
                                  (agent-q-diff-replace-plan-hashes plan)))

(defun agent-q-diff-replace--search (live call)
  "Find in LIVE what CALL is to replace, as `agent-q-diff-engine-replace' does.
The data of an error `agent-q-diff-no-match' get the nearest lines' text
as a third element."
  (agent-q-diff-file-check-surrogates (agent-q-diff-replace--new call)
                                      (agent-q-diff-replace--old call))
  (let ((text (agent-q-diff-live-text live)))
    (condition-case err
        (agent-q-diff-engine-replace
         text
         (agent-q-diff-write-adapt live (agent-q-diff-replace--old call))
         (agent-q-diff-write-adapt live (agent-q-diff-replace--new call))
         (agent-q-diff-replace--is-all call))
      (agent-q-diff-no-match
       (pcase-let ((`(,symbol ,message ,nearest) err))
         (signal symbol
                 (list message nearest
                       (and nearest
                            (agent-q-diff-replace--lines-text
                             text (car nearest) (cadr nearest))))))))))

(defun agent-q-diff-replace--lines-text (text first end)
  "Return the lines of TEXT from FIRST, counted from 0, up to END."
  (with-temp-buffer
    (insert text)
    (goto-char (point-min))
    (forward-line first)
    (let ((start (point)))
      (forward-line (- end first))
      (string-remove-suffix "\n" (buffer-substring start (point))))))

(defun agent-q-diff-replace--same-p (one other)
  "Return non-nil if the plans ONE and OTHER replace the same."
  (and (= (length (agent-q-diff-replace-plan-spans one))
          (length (agent-q-diff-replace-plan-spans other)))
       (equal (agent-q-diff-replace-plan-new one)
              (agent-q-diff-replace-plan-new other))))

(defun agent-q-diff-replace--modified (plan)
  "Return the text that PLAN leads to."
  (agent-q-diff-write-result (agent-q-diff-replace-plan-live plan)
                             (agent-q-diff-replace-plan-spans plan)
                             (agent-q-diff-replace-plan-new plan)))

;;;; Who is asked

(defvar agent-q-diff-replace--last-id 0
  "Number of the last edit that was shown.")

(defun agent-q-diff-replace--notes (live)
  "Return what the user must know of LIVE before deciding, strings."
  (when (agent-q-diff-write-unsaved-p live)
    (list (format "The file has unsaved edits in %s; %s"
                  (buffer-name (agent-q-diff-live-buffer live))
                  (if (agent-q-diff-write-saves-p live)
                      "to allow this saves them, too."
                    "to allow this does not save.")))))

(defun agent-q-diff-replace--request (call name root)
  "Return the request for CALL to edit the file NAME below ROOT."
  (agent-q-diff-request-make
   :tool (agent-q-diff-replace--tool call)
   :path (agent-q-diff-replace--path call)
   :name name :root root
   :arguments (agent-q-diff-replace--arguments call)
   :protection (pcase (agent-q-diff-guard-protection
                       name root (agent-q-diff-replace--path call))
                 (`(,_ . ,reason) reason))))

(defun agent-q-diff-replace--describe (request call plan lines)
  "Note in REQUEST what CALL comes to: PLAN, with its typed LINES."
  (pcase-let ((`(,added . ,removed) (agent-q-diff-transcript-counts lines)))
    (setf (agent-q-diff-request-summary request) (format "+%d -%d" added removed)
          (agent-q-diff-request-notes request)
          (agent-q-diff-replace--notes (agent-q-diff-replace-plan-live plan))
          (agent-q-diff-request-info request)
          (list :id (cl-incf agent-q-diff-replace--last-id)
                :tool (agent-q-diff-request-tool request)
                :path (agent-q-diff-request-path request)
                :name (agent-q-diff-request-name request)
                :description (agent-q-diff-replace--description call)
                :count (length (agent-q-diff-replace-plan-spans plan))))))

(defun agent-q-diff-replace--large-p (lines)
  "Return non-nil if an edit of typed LINES is to be reviewed for its size."
  (and agent-q-diff-tools-review-lines
       (pcase-let ((`(,added . ,removed) (agent-q-diff-transcript-counts lines)))
         (> (+ added removed) agent-q-diff-tools-review-lines))))

;;;; What becomes of it

(defun agent-q-diff-replace--record (request lines outcome)
  "Log what became of REQUEST, an edit of typed LINES: OUTCOME, a plist.
Note it in the transcript as well."
  (when-let ((info (agent-q-diff-request-info request)))
    (agent-q-diff-transcript-conclude info (plist-get outcome :said)))
  (unless (agent-q-diff-request-is-logged request)
    (agent-q-diff-log-record
     (list :tool (agent-q-diff-request-tool request)
           :agent (car agent-q-diff-caller)
           :path (agent-q-diff-request-name request)
           :outcome (plist-get outcome :outcome)
           :saved (plist-get outcome :saved)
           :hash-before (plist-get outcome :hash-before)
           :hash-after (plist-get outcome :hash-after)
           :hunks (plist-get outcome :hunks)
           :decided-by (plist-get outcome :by)
           :reason (plist-get outcome :reason)
           :diff (agent-q-diff-transcript-diff
                  lines (agent-q-diff-request-path request))))))

(defun agent-q-diff-replace--denied (request lines by reason hash)
  "Return that REQUEST, an edit of typed LINES, was denied BY for REASON.
HASH is of the file, which stays."
  (agent-q-diff-replace--record
   request lines
   (list :said (concat "denied" (and reason (concat ": " reason)))
         :outcome "rejected"
         :hash-before hash :hash-after hash :by by :reason reason
         :hunks (list (list :index 0 :state 'rejected))))
  (list :outcome 'denied :by by :reason reason))

(defun agent-q-diff-replace--review (request call plan lines why)
  "Let the user review CALL, whose PLAN and typed LINES are of REQUEST.
WHY is a string for the user.  The log learns of it where the review ends."
  (setf (agent-q-diff-request-is-logged request) t)
  (let* ((live (agent-q-diff-replace-plan-live plan))
         (agent-q-diff-tool (agent-q-diff-request-tool request))
         (notes (append (list why)
                        (and (agent-q-diff-request-protection request)
                             (list (format "PROTECTED: %s"
                                           (agent-q-diff-request-protection request))))))
         (result (condition-case err
                     (agent-q-diff-review-and-wait
                      (agent-q-diff-request-name request)
                      (string-to-multibyte (agent-q-diff-live-text live))
                      (string-to-multibyte (agent-q-diff-replace--modified plan))
                      (agent-q-diff-replace--description call)
                      :notes notes
                      :check (lambda ()
                               (agent-q-diff-guard-recheck
                                (agent-q-diff-request-name request)
                                (agent-q-diff-request-root request))))
                   (agent-q-diff-no-user
                    (signal (car err) (list (concat why "  But " (cadr err))))))))
    (agent-q-diff-replace--record
     request lines
     (list :said (format "reviewed: %s" (plist-get result :decision))))
    (list :outcome 'reviewed :result result)))

(defun agent-q-diff-replace--apply (request call plan lines by)
  "Make the edit that CALL asks for, as it was shown as PLAN.
REQUEST and typed LINES are its, and BY allowed it.  If the text is
another now, since time has passed, it is searched anew."
  (let* ((name (agent-q-diff-request-name request))
         (now (if (agent-q-diff-write-same-p (agent-q-diff-replace-plan-live plan))
                  plan
                (agent-q-diff-replace--plan call name)))
         (live (agent-q-diff-replace-plan-live now)))
    (unless (agent-q-diff-replace--same-p plan now)
      (signal 'agent-q-diff-bad-target
              (list (format "%s was changed while permission was asked" name))))
    (let* ((hash (agent-q-diff-replace--hash-before now))
           ;; What is written must not be told as undone because of a C-g.
           (inhibit-quit t)
           (written (let ((inhibit-quit nil))
                      (agent-q-diff-write
                       live (agent-q-diff-replace-plan-spans now)
                       (agent-q-diff-replace-plan-new now)
                       (lambda ()
                         (agent-q-diff-guard-recheck
                          name (agent-q-diff-request-root request)))))))
      (agent-q-diff-replace--note-applied request now lines by hash
                                          (plist-get written :saved))
      (setq quit-flag nil)
      (append (list :outcome 'applied :lines (agent-q-diff-replace-plan-lines now)
                    :by by)
              written))))

(defun agent-q-diff-replace--note-applied (request plan lines by hash is-saved)
  "Record and say that the edit of REQUEST, of typed LINES, was made as PLAN.
BY allowed it, HASH is of the file before, and IS-SAVED tells whether it
is in the file."
  (agent-q-diff-replace--record
   request lines
   (list :said (format "%s by %s" (if is-saved "written, allowed"
                                    "in the buffer but not saved, allowed")
                       by)
         :outcome "accepted" :saved is-saved
         :hash-before hash
         :hash-after (ignore-errors
                       (agent-q-diff-write-hash-after
                        (agent-q-diff-replace-plan-live plan)
                        (agent-q-diff-replace-plan-hashes plan)))
         :by by
         :hunks (list (list :index 0 :state 'applied :in-file t))))
  (agent-q-diff-replace--announce request plan by is-saved))

;;;; What the user reads of an edit without a question

(defvar agent-q-diff-replace--row nil
  "The edits made without a question since the user's last key, (N . KEYS).
KEYS is what `num-input-keys' was then.")

(defun agent-q-diff-replace--n-before ()
  "Count this edit, and return how many came before it since the last key."
  (pcase-let ((`(,n . ,keys) agent-q-diff-replace--row))
    (unless (eql num-input-keys keys)
      (setq n 0))
    (setq agent-q-diff-replace--row (cons (1+ n) num-input-keys))
    n))

(defun agent-q-diff-replace--announce (request plan by is-saved)
  "Say that the edit of REQUEST was made, as PLAN has it, if nobody was asked.
BY is who allowed it: a grant of the user's for the session, or the
user's policy.  IS-SAVED tells if it is on disk.  Of several edits in a
row one reads the last; only the first is logged as a message, since the
buffer of edits has them all."
  (when (memq by '(session policy))
    (let* ((n (agent-q-diff-replace--n-before))
           (message-log-max (and (zerop n) message-log-max)))
      (message "%s edited %s:%d (%s)%s, by your %s%s; M-x agent-q-diff-edits"
               (if-let ((agent (car agent-q-diff-caller)))
                   (agent-q-diff-visible agent)
                 "An agent")
               (agent-q-diff-visible
                (file-name-nondirectory (agent-q-diff-request-name request)))
               (1+ (caar (agent-q-diff-replace-plan-lines plan)))
               (agent-q-diff-request-summary request)
               (if is-saved "" ", not saved")
               (if (eq by 'session) "grant" "policy")
               (pcase n
                 (0 "")
                 (1 ", after another edit")
                 (_ (format ", after %d others" n)))))))

;;;; The steps

(defun agent-q-diff-replace--decide (request call plan lines policy)
  "Show REQUEST and let whoever may decide on it, then do it.
CALL comes to PLAN and typed LINES; POLICY is the policy's answer."
  (run-hook-with-args 'agent-q-diff-show-edit-functions
                      lines (agent-q-diff-request-info request))
  (pcase-let ((`(,answer ,by . ,reason) (agent-q-diff-permit request policy)))
    (pcase-exhaustive answer
      ('allow (agent-q-diff-replace--apply request call plan lines by))
      ('deny (agent-q-diff-replace--denied
              request lines by reason
              (agent-q-diff-replace--hash-before plan)))
      ('review (agent-q-diff-replace--review
                request call plan lines
                (if (eq by 'policy)
                    "agent-q-diff-tools-policy asks for the full review."
                  "You asked for the full review."))))))

(defun agent-q-diff-replace--failed (request lines err)
  "Log that REQUEST, an edit of typed LINES, failed with ERR, and signal that."
  (agent-q-diff-replace--record
   request lines
   (list :said (format "not done: %s" (agent-q-diff-error-text err))
         :reason (agent-q-diff-error-text err)
         :outcome (pcase (car err)
                    ((or 'agent-q-diff-cancelled 'quit) "cancelled")
                    ((or 'agent-q-diff-bad-target 'agent-q-diff-forbidden)
                     "could not be applied")
                    (_ "error"))
         :by (pcase (car err)
               ('agent-q-diff-no-user 'nobody)
               ((or 'agent-q-diff-cancelled 'quit) 'cancelled)
               (_ 'error))))
  (signal (car err) (cdr err)))

(defun agent-q-diff-replace--carry-out (request call policy)
  "Do what CALL asks for with REQUEST, of which POLICY is no denial."
  (let* ((plan (agent-q-diff-replace--plan call (agent-q-diff-request-name request)))
         (lines (agent-q-diff-replace-plan-typed plan)))
    (agent-q-diff-replace--describe request call plan lines)
    (condition-case err
        (if (agent-q-diff-replace--large-p lines)
            (agent-q-diff-replace--review
             request call plan lines
             (format "The edit changes more than %d lines; %s sets how many are too many."
                     agent-q-diff-tools-review-lines
                     'agent-q-diff-tools-review-lines))
          (agent-q-diff-replace--decide request call plan lines policy))
      ((error quit) (agent-q-diff-replace--failed request lines err)))))

(defun agent-q-diff-replace-run (call)
  "Do what CALL, an `agent-q-diff-replace-call', asks for.
Return a plist with :outcome, a symbol, and what belongs to it:

`applied'   :lines, of which see `agent-q-diff-engine-replace', :by, :saved
            and :altered, of which see `agent-q-diff-write'
`denied'    :by and :reason, of which see `agent-q-diff-permit'
`reviewed'  :result, of which see `agent-q-diff-review-and-wait'

Signal an error if it cannot be done; then nothing has changed but by the
hunks of a review, of which `agent-q-diff-wait-undecided' tells."
  (let* ((root (agent-q-diff-guard-root))
         (name (agent-q-diff-guard-check (agent-q-diff-replace--path call) root))
         (request (agent-q-diff-replace--request call name root))
         (policy (agent-q-diff-permit-policy request)))
    (if (eq policy 'deny)
        (agent-q-diff-replace--denied request nil 'policy nil nil)
      (agent-q-diff-replace--carry-out request call policy))))

(provide 'agent-q-diff-replace)
;;; agent-q-diff-replace.el ends here
