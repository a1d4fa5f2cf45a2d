;;; agent-q-diff-edit-file.el --- The tool edit_file, from call to answer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the tool `edit_file' does, step by step: check the path, consult the
;; policy, read and search the text, show the edit, ask for permission,
;; search the text once more, and write the file; and what the agent reads
;; about that.  Document 003 of Agent-Q fixes most of the words.
;;
;; The user gets exactly the edit that was shown: the same string replaced
;; by the same string, in as many places, whatever else has changed
;; meanwhile.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-log)
(require 'agent-q-diff-transcript)
(require 'agent-q-diff-live)
(require 'agent-q-diff-permit)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-api)
(require 'agent-q-diff-message)

(defcustom agent-q-diff-tools-review-lines 50
  "Number of changed lines above which an edit gets the full review.
Removed and added lines count alike.  If nil, no edit is too large."
  :group 'agent-q-diff-agents
  :type '(choice natnum (const :tag "Never" nil)))

(cl-defstruct (agent-q-diff-edit-file-call (:constructor agent-q-diff-edit-file-call-make)
                                           (:copier nil))
  "A call of `edit_file': an exact replacement."
  (tool "edit_file" :documentation "Name of the tool.")
  (path nil :documentation "The file as the agent named it.")
  (old nil :documentation "The string to replace.")
  (new nil :documentation "The string to replace it by.")
  (is-all nil :documentation "Non-nil to replace every occurrence.")
  (description nil :documentation "What the agent says about it, or nil.")
  (arguments nil :documentation "The arguments, an alist."))

(cl-defstruct (agent-q-diff-edit-file-plan (:constructor agent-q-diff-edit-file--plan-make)
                                           (:copier nil))
  "The places of a replacement in a live text."
  (live nil :documentation "The `agent-q-diff-live'.")
  (spans nil :documentation "The places, (START . END), characters from 0.")
  (lines nil :documentation "The lines, from 0, of each place afterwards.")
  (new nil :documentation "The string that replaces each place.")
  (hashes nil :documentation "(BEFORE . AFTER), hashes of both texts, or nil.")
  (diff-lines nil :documentation "The change as diff lines, see the engine."))

;;;; The plan

(defun agent-q-diff-edit-file--plan (call name)
  "Return the plan for CALL in the file NAME as it is now."
  (let ((live (or (agent-q-diff-live-read name)
                  (signal 'agent-q-diff-no-file (list name)))))
    (pcase-let ((`(,spans ,lines ,new ,hashes . ,diff-lines)
                 (agent-q-diff-edit-file--search live call)))
      (agent-q-diff-edit-file--plan-make :live live :spans spans :lines lines
                                         :new new :hashes hashes
                                         :diff-lines diff-lines))))

(defun agent-q-diff-edit-file--hash-before (plan)
  "Return a hash of the file of PLAN as it was when the plan was made."
  (agent-q-diff-live-hash-before (agent-q-diff-edit-file-plan-live plan)
                                 (agent-q-diff-edit-file-plan-hashes plan)))

(defun agent-q-diff-edit-file--search (live call)
  "Search LIVE for the string of CALL.
The value is as from `agent-q-diff-engine-replace'.  The data of an error
`agent-q-diff-no-match' get the text of the nearest lines as a third
element."
  (agent-q-diff-coding-check-surrogates (agent-q-diff-edit-file-call-new call)
                                        (agent-q-diff-edit-file-call-old call))
  (pcase-let ((text (agent-q-diff-live-text live))
              (`(,old . ,new) (agent-q-diff-live-strings live (agent-q-diff-edit-file-call-old call)
                                                         (agent-q-diff-edit-file-call-new call))))
    (condition-case err
        (agent-q-diff-engine-replace text old new (agent-q-diff-edit-file-call-is-all call))
      (agent-q-diff-no-match
       (pcase-let ((`(,symbol ,message ,nearest) err))
         (signal symbol
                 (list message nearest
                       (and nearest
                            (agent-q-diff-edit-file--lines-text
                             text (car nearest) (cadr nearest))))))))))

(defun agent-q-diff-edit-file--lines-text (text first end)
  "Return the lines of TEXT from FIRST up to but not including END, from 0."
  (with-temp-buffer
    (insert text)
    (goto-char (point-min))
    (forward-line first)
    (let ((start (point)))
      (forward-line (- end first))
      (string-remove-suffix "\n" (buffer-substring start (point))))))

(defun agent-q-diff-edit-file--same-p (one other)
  "Return non-nil if the plans ONE and OTHER make the same edit."
  (and (= (length (agent-q-diff-edit-file-plan-spans one))
          (length (agent-q-diff-edit-file-plan-spans other)))
       (equal (agent-q-diff-edit-file-plan-new one)
              (agent-q-diff-edit-file-plan-new other))))

(defun agent-q-diff-edit-file--modified (plan)
  "Return the text that PLAN results in."
  (agent-q-diff-write-result (agent-q-diff-edit-file-plan-live plan)
                             (agent-q-diff-edit-file-plan-spans plan)
                             (agent-q-diff-edit-file-plan-new plan)))

;;;; The request

(defvar agent-q-diff-edit-file--last-id 0
  "Number of the last edit that was shown.")

(defun agent-q-diff-edit-file--contradiction (plan)
  "Return how the text after PLAN contradicts its coding system, or nil.
See `agent-q-diff-coding-contradiction'."
  (let* ((live (agent-q-diff-edit-file-plan-live plan))
         (name (agent-q-diff-live-name live)))
    (agent-q-diff-coding-contradiction
     (agent-q-diff-edit-file--modified plan) name
     (agent-q-diff-live-text live)
     (agent-q-diff-live-coding live))))

(defun agent-q-diff-edit-file--notes (plan)
  "Return what the user must know about the file of PLAN before deciding, strings."
  (append (agent-q-diff-edit-file--unsaved-notes (agent-q-diff-edit-file-plan-live plan))
          (when-let ((contradiction (agent-q-diff-edit-file--contradiction plan)))
            (list (format "After this edit, %s; C-x RET f in its buffer makes the two agree."
                          contradiction)))))

(defun agent-q-diff-edit-file--unsaved-notes (live)
  "Return a list with a note if LIVE has unsaved edits, or nil."
  (when (agent-q-diff-live-unsaved-p live)
    (list (format "The file has unsaved edits in %s; %s"
                  (buffer-name (agent-q-diff-live-buffer live))
                  (if (agent-q-diff-write-saves-p live)
                      "allowing this saves them, too."
                    "allowing this does not save.")))))

(defun agent-q-diff-edit-file--request (call name root protection)
  "Return the request for CALL to edit the file NAME in the project ROOT.
PROTECTION says how that file is protected, see `agent-q-diff-guard-find'."
  (agent-q-diff-request-make
   :tool (agent-q-diff-edit-file-call-tool call)
   :path (agent-q-diff-edit-file-call-path call)
   :name name :root root
   :arguments (agent-q-diff-edit-file-call-arguments call)
   :protection (cdr protection)))

(defun agent-q-diff-edit-file--describe (request call plan lines)
  "Add a description of the edit to REQUEST.
PLAN is that of CALL, and LINES are its diff lines."
  (pcase-let ((`(,added . ,removed) (agent-q-diff-transcript-counts lines)))
    (setf (agent-q-diff-request-summary request) (format "+%d -%d" added removed)
          (agent-q-diff-request-notes request)
          (agent-q-diff-edit-file--notes plan)
          (agent-q-diff-request-info request)
          (list :id (cl-incf agent-q-diff-edit-file--last-id)
                :tool (agent-q-diff-request-tool request)
                :path (agent-q-diff-request-path request)
                :name (agent-q-diff-request-name request)
                :description (agent-q-diff-edit-file-call-description call)
                :count (length (agent-q-diff-edit-file-plan-spans plan))))))

(defun agent-q-diff-edit-file--large-p (lines)
  "Return non-nil if an edit with diff LINES is so large that it is reviewed."
  (and agent-q-diff-tools-review-lines
       (pcase-let ((`(,added . ,removed) (agent-q-diff-transcript-counts lines)))
         (> (+ added removed) agent-q-diff-tools-review-lines))))

;;;; The outcome

(defun agent-q-diff-edit-file--record (request lines outcome)
  "Record OUTCOME, a plist, of REQUEST, an edit with diff LINES.
It goes into the log, unless a review logs it, and into the buffer of
edits."
  (when-let ((info (agent-q-diff-request-info request)))
    (agent-q-diff-transcript-conclude info (plist-get outcome :said)))
  (unless (agent-q-diff-request-is-logged request)
    (agent-q-diff-log-record
     (list :tool (agent-q-diff-request-tool request)
           :agent (agent-q-diff-call-agent (agent-q-diff-request-call request))
           :description (plist-get (agent-q-diff-request-info request) :description)
           :path (agent-q-diff-request-name request)
           :root (agent-q-diff-call-root (agent-q-diff-request-call request))
           :outcome (plist-get outcome :outcome)
           :saved (plist-get outcome :saved)
           :hash-before (plist-get outcome :hash-before)
           :hash-after (plist-get outcome :hash-after)
           :total (and lines 1)
           :in-file (and lines (if (equal "accepted" (plist-get outcome :outcome)) 1 0))
           :hunks (plist-get outcome :hunks)
           :decided-by (plist-get outcome :by)
           :reason (plist-get outcome :reason)
           :diff (agent-q-diff-transcript-diff
                  lines (agent-q-diff-request-path request))))))

(defun agent-q-diff-edit-file--denied (request lines by reason hash)
  "Record that BY denied REQUEST, with diff LINES, for REASON; return that.
HASH is a hash of the file, which stays as it is."
  (agent-q-diff-edit-file--record
   request lines
   (list :said (concat "denied" (and reason (concat ": " reason)))
         :outcome "rejected"
         :hash-before hash :hash-after hash :by by :reason reason
         :hunks (list (list :index 0 :state 'rejected))))
  (list :outcome 'denied :by by :reason reason))

(defun agent-q-diff-edit-file--recheck (request)
  "Signal `agent-q-diff-forbidden' if the path of REQUEST now leads elsewhere."
  (agent-q-diff-guard-recheck (agent-q-diff-request-name request)
                              (agent-q-diff-request-root request)))

(defun agent-q-diff-edit-file--review (request call plan lines why)
  "Let the user review CALL, whose plan is PLAN with diff LINES, for REQUEST.
WHY is a string for the user.  The log is written when the review ends."
  (agent-q-diff-edit-file--recheck request)
  (setf (agent-q-diff-request-is-logged request) t)
  (let* ((live (agent-q-diff-edit-file-plan-live plan))
         (agent-q-diff-call (agent-q-diff-call-with 'tool (agent-q-diff-request-tool request)))
         (notes (append (list why)
                        (and (agent-q-diff-request-protection request)
                             (list (format "PROTECTED: %s"
                                           (agent-q-diff-request-protection request))))))
         (result (condition-case err
                     (agent-q-diff-review-and-wait
                      (agent-q-diff-request-name request)
                      (string-to-multibyte (agent-q-diff-live-text live))
                      (string-to-multibyte (agent-q-diff-edit-file--modified plan))
                      (agent-q-diff-edit-file-call-description call)
                      :notes notes
                      :check (lambda ()
                               (agent-q-diff-edit-file--recheck request)))
                   (agent-q-diff-no-user
                    (signal (car err) (list (concat why "  But " (cadr err))))))))
    (agent-q-diff-edit-file--record
     request lines
     (list :said (format "reviewed: %s" (plist-get result :decision))))
    (list :outcome 'reviewed :result result)))

(defun agent-q-diff-edit-file--unchanged-p (live)
  "Return non-nil if reading the file of LIVE again would give the same.
A file whose attributes are unchanged is not read for that; before it is
written, its bytes are compared anyway."
  (agent-q-diff-file-uncached
    (let* ((name (agent-q-diff-live-name live))
           (buffer (agent-q-diff-live-buffer live))
           (attributes (file-attributes name)))
      (and (eq buffer (agent-q-diff-disk-visitor name attributes))
           (if buffer
               (and (null (agent-q-diff-disk-state buffer))
                    (eql (agent-q-diff-live-tick live)
                         (agent-q-diff-base-tick buffer))
                    (eq (agent-q-diff-live-coding live)
                        (with-current-buffer buffer
                          (agent-q-diff-coding-of-buffer))))
             (and attributes
                  (or (equal (agent-q-diff-disk-attributes name attributes)
                             (agent-q-diff-live-attributes live))
                      (agent-q-diff-file-has-bytes-p
                       name (agent-q-diff-live-bytes live)))))))))

(defun agent-q-diff-edit-file--apply (request call plan lines by)
  "Make the edit of CALL that was shown as PLAN, with diff LINES.
REQUEST is its request, and BY is who allowed it.  If the text has changed
meanwhile, it is searched again."
  (let* ((name (agent-q-diff-request-name request))
         (now (if (agent-q-diff-edit-file--unchanged-p (agent-q-diff-edit-file-plan-live plan))
                  plan
                ;; Its name may lead out of the project now.
                (agent-q-diff-edit-file--recheck request)
                (agent-q-diff-edit-file--plan call name)))
         (live (agent-q-diff-edit-file-plan-live now)))
    (unless (agent-q-diff-edit-file--same-p plan now)
      (signal 'agent-q-diff-bad-target
              (list (format "%s was changed while permission was asked" name))))
    (let* ((hash (agent-q-diff-edit-file--hash-before now))
           ;; A C-g after the write must not make it look as if nothing was written.
           (inhibit-quit t)
           (watched (and (not (memq by '(session policy)))
                         (agent-q-diff-reviewed-watch (list name))))
           (agent-q-diff-file-is-watched t)
           (written (let ((inhibit-quit nil))
                      (agent-q-diff-write
                       live (agent-q-diff-edit-file-plan-spans now)
                       (agent-q-diff-edit-file-plan-new now)
                       (apply-partially #'agent-q-diff-guard-recheck
                                        name (agent-q-diff-request-root request))))))
      (agent-q-diff-reviewed-note-decided watched)
      (agent-q-diff-edit-file--note-applied request now lines by hash
                                            (plist-get written :saved))
      (setq quit-flag nil)
      (append (list :outcome 'applied :lines (agent-q-diff-edit-file-plan-lines now)
                    :by by :contradiction (agent-q-diff-edit-file--contradiction now))
              written))))

(defun agent-q-diff-edit-file--note-applied (request plan lines by hash is-saved)
  "Record and announce that the edit of REQUEST was made as PLAN.
LINES are its diff lines, BY is who allowed it, and HASH a hash of the file
before.  IS-SAVED is non-nil if the edit is in the file."
  (agent-q-diff-edit-file--record
   request lines
   (list :said (format "%s by %s" (if is-saved "written, allowed"
                                    "in the buffer but not saved, allowed")
                       by)
         :outcome "accepted" :saved is-saved
         :hash-before hash
         :hash-after (ignore-errors
                       (agent-q-diff-live-hash-after
                        (agent-q-diff-edit-file-plan-live plan)
                        (agent-q-diff-edit-file-plan-hashes plan)))
         :by by
         :hunks (list (list :index 0 :state 'applied :in-file t))))
  (agent-q-diff-edit-file--announce request plan by is-saved))

;;;; Announcing an edit that needed no question

(defvar agent-q-diff-edit-file--row nil
  "The edits made without a question since the user's last key, (N . KEYS).
KEYS is the value of `num-input-keys' at that time.")

(defun agent-q-diff-edit-file--n-before ()
  "Count this edit, and return how many preceded it since the last key."
  (pcase-let ((`(,n . ,keys) agent-q-diff-edit-file--row))
    (unless (eql num-input-keys keys)
      (setq n 0))
    (setq agent-q-diff-edit-file--row (cons (1+ n) num-input-keys))
    n))

(defun agent-q-diff-edit-file--announce (request plan by is-saved)
  "Show that the edit of REQUEST was made as PLAN, if nobody was asked.
BY is who allowed it: `session', by a grant, or `policy'.  IS-SAVED is
non-nil if it is on disk.  The message about the latest of several edits is
what the user sees.  Only the first goes into *Messages*, since the buffer
of edits has all of them."
  (when (memq by '(session policy))
    (let* ((n (agent-q-diff-edit-file--n-before))
           (message-log-max (and (zerop n) message-log-max)))
      (message "%s edited %s:%d (%s)%s, by your %s%s; M-x agent-q-diff-edits"
               (if-let ((agent (agent-q-diff-call-agent (agent-q-diff-request-call request))))
                   (agent-q-diff-visible agent)
                 "An agent")
               (agent-q-diff-visible-name
                (file-name-nondirectory (agent-q-diff-request-name request)))
               (1+ (caar (agent-q-diff-edit-file-plan-lines plan)))
               (agent-q-diff-request-summary request)
               (if is-saved "" ", not saved")
               (if (eq by 'session) "grant" "policy")
               (pcase n
                 (0 "")
                 (1 ", after another edit")
                 (_ (format ", after %d others" n)))))))

;;;; The steps

(defun agent-q-diff-edit-file--decide (request call plan lines policy)
  "Show REQUEST, get permission for it, and carry it out.
PLAN is that of CALL, with diff LINES; POLICY is the policy's answer."
  (agent-q-diff-base-keeping-selection
    (run-hook-with-args 'agent-q-diff-show-edit-functions
                        lines (agent-q-diff-request-info request)))
  (pcase-let ((`(,answer ,by . ,reason) (agent-q-diff-permit request policy)))
    (pcase-exhaustive answer
      ('allow (agent-q-diff-edit-file--apply request call plan lines by))
      ('deny (agent-q-diff-edit-file--denied
              request lines by reason
              (agent-q-diff-edit-file--hash-before plan)))
      ('review (agent-q-diff-edit-file--review
                request call plan lines
                (if (eq by 'policy)
                    "agent-q-diff-tools-policy asks for the full review."
                  "You asked for the full review."))))))

(defun agent-q-diff-edit-file--failed (request lines err)
  "Record that REQUEST, with diff LINES, failed with ERR, and signal ERR again."
  (agent-q-diff-edit-file--record
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

(defun agent-q-diff-edit-file--carry-out (request call policy)
  "Carry out CALL with REQUEST; POLICY is the policy's answer, not `deny'."
  (let* ((plan (agent-q-diff-edit-file--plan call (agent-q-diff-request-name request)))
         (lines (agent-q-diff-edit-file-plan-diff-lines plan)))
    (agent-q-diff-edit-file--describe request call plan lines)
    (condition-case err
        (if (agent-q-diff-edit-file--large-p lines)
            (agent-q-diff-edit-file--review
             request call plan lines
             (format "The edit changes more than %d lines, the limit set by %s."
                     agent-q-diff-tools-review-lines
                     'agent-q-diff-tools-review-lines))
          (agent-q-diff-edit-file--decide request call plan lines policy))
      ((error quit) (agent-q-diff-edit-file--failed request lines err)))))

(defun agent-q-diff-edit-file--run (call)
  "Carry out CALL, an `agent-q-diff-edit-file-call'.
Return a plist with :outcome, a symbol, and further keys:

`applied'   :lines, see `agent-q-diff-engine-replace', :by, :contradiction, see
            `agent-q-diff-coding-contradiction', and :saved and
            :altered, see `agent-q-diff-write'
`denied'    :by and :reason, see `agent-q-diff-permit'
`reviewed'  :result, see `agent-q-diff-review-and-wait'

Signal an error if it fails.  Then nothing has changed, except by the
hunks of a review, which `agent-q-diff-wait-undecided' tells about."
  (pcase-let* ((root (agent-q-diff-guard-root))
               (`(,name . ,protection)
                (agent-q-diff-guard-find (agent-q-diff-edit-file-call-path call) root))
               (request (agent-q-diff-edit-file--request call name root protection))
               (policy (agent-q-diff-permit-policy request)))
    (if (eq policy 'deny)
        (agent-q-diff-edit-file--denied request nil 'policy nil nil)
      (agent-q-diff-edit-file--carry-out request call policy))))

;;;; Parts of messages

(defconst agent-q-diff-edit-file--max-characters 200
  "Number of characters of a string that a message shows.")

(defconst agent-q-diff-edit-file--max-lines 20
  "Number of lines of the old and of the new text that a message shows.")

(defun agent-q-diff-edit-file--cut (text)
  "Return TEXT, or its beginning if it is long."
  (if (> (length text) agent-q-diff-edit-file--max-characters)
      (concat (substring text 0 agent-q-diff-edit-file--max-characters) "...")
    text))

(defun agent-q-diff-edit-file--line-numbers (lines)
  "Return LINES, numbers from 0, as a string of distinct numbers from 1."
  (let* ((distinct (seq-uniq (seq-take lines 1000)))
         (shown (seq-take distinct 10))
         (said (mapconcat (lambda (line) (number-to-string (1+ line))) shown ", ")))
    (if (nthcdr 10 distinct)
        (concat said ", …")
      said)))

(defun agent-q-diff-edit-file--line-ranges (ranges)
  "Return RANGES, each (FIRST . END) from 0, as a string of ranges from 1."
  (let ((said (mapconcat (pcase-lambda (`(,first . ,end))
                           (if (= end (1+ first))
                               (number-to-string end)
                             (format "%d-%d" (1+ first) end)))
                         (seq-take (seq-uniq ranges) 50) ", ")))
    (if (nthcdr 50 ranges)
        (concat said ", …")
      said)))

(defun agent-q-diff-edit-file--signed (sign text)
  "Return the lines of TEXT, each prefixed with SIGN, as strings."
  (unless (string-empty-p text)
    (let* ((lines (split-string (string-remove-suffix "\n" text) "\n"))
           (limit agent-q-diff-edit-file--max-lines)
           (more (- (length lines) limit)))
      (append (mapcar (lambda (line)
                        (concat "  " sign " " (string-remove-suffix "\r" line)))
                      (seq-take lines limit))
              (when (> more 0)
                (list (format "  %s … %d more lines" sign more)))))))

;;;; An edit that was made

(defun agent-q-diff-edit-file--applied-notes (call outcome)
  "Return further notes about CALL, whose OUTCOME is `applied', strings."
  (delq nil
        (list (car (agent-q-diff-message-facts-contradiction outcome))
              (when (agent-q-diff-edit-file-call-is-all call)
                (format "Replacements: %d" (length (plist-get outcome :lines))))
              (unless (plist-get outcome :saved)
                "The change is in the user's buffer, which has not been saved.")
              (when (plist-get outcome :altered)
                "On saving, a hook of the user's changed other lines as well."))))

(defun agent-q-diff-edit-file--applied (call outcome)
  "Return the message about CALL, whose OUTCOME is `applied'."
  (let ((description (agent-q-diff-edit-file-call-description call))
        (notes (agent-q-diff-edit-file--applied-notes call outcome)))
    (string-join
     `(,(format "✓ Edit applied to %s\n" (agent-q-diff-edit-file-call-path call))
       ,@(and description (list (format "Change: %s" description)))
       ,(format "Lines affected: %s"
                (agent-q-diff-edit-file--line-ranges (plist-get outcome :lines)))
       "Diff:"
       ,@(agent-q-diff-edit-file--signed "-" (agent-q-diff-edit-file-call-old call))
       ,@(agent-q-diff-edit-file--signed "+" (agent-q-diff-edit-file-call-new call))
       ,@(and notes (cons "" notes)))
     "\n")))

(defun agent-q-diff-edit-file--message-of-outcome (call outcome)
  "Return the message about CALL, whose result is OUTCOME.
OUTCOME is what `agent-q-diff-edit-file--run' returned."
  (let ((path (agent-q-diff-edit-file-call-path call)))
    (pcase-exhaustive (plist-get outcome :outcome)
      ('applied (agent-q-diff-edit-file--applied call outcome))
      ('denied (agent-q-diff-message-of-denied-call path "edit_file" outcome))
      ('reviewed (agent-q-diff-message-of-result (plist-get outcome :result)
                                                 path)))))

;;;; An edit that failed

(defconst agent-q-diff-edit-file--differences
  '((line-ends . "line endings")
    (white-space . "whitespace")
    (case . "case")
    (normalization . "Unicode normalization (composed or decomposed characters)")
    (punctuation . "typographic quotes, dashes or dots")
    (invisible . "characters that cannot be seen")
    (wording . "its wording"))
  "How the nearest text can differ, in words.")

(defun agent-q-diff-edit-file--nearest (nearest text)
  "Return a paragraph about TEXT, the nearest to a string that was not found.
NEAREST is (FIRST END . KINDS), lines from 0."
  (pcase-let ((`(,first ,end . ,kinds) nearest))
    (format "\n\nThe nearest text is at line%s %s and differs in %s:\n%s"
            (if (> end (1+ first)) "s" "")
            (agent-q-diff-edit-file--line-ranges (list (cons first end)))
            (if kinds
                (mapconcat (lambda (kind)
                             (alist-get kind agent-q-diff-edit-file--differences))
                           kinds ", ")
              "several ways at once")
            (agent-q-diff-edit-file--cut text))))

(defun agent-q-diff-edit-file--no-match (call data)
  "Return the message that the string of CALL was not found.
DATA is the data of the error."
  (pcase-let ((`(,_ ,nearest ,text) data))
    (concat (format "Error: String not found in %s\n\nSearched for:\n%s"
                    (agent-q-diff-edit-file-call-path call)
                    (agent-q-diff-edit-file--cut (agent-q-diff-edit-file-call-old call)))
            (and nearest (agent-q-diff-edit-file--nearest nearest text)))))

(defun agent-q-diff-edit-file--where (lines)
  "Return a sentence about LINES, on which there are several matches."
  (let ((numbers (agent-q-diff-edit-file--line-numbers lines)))
    (if (seq-every-p (lambda (line) (= line (car lines))) lines)
        (format "All of them begin on line %s." numbers)
      (format "They begin on lines %s." numbers))))

(defun agent-q-diff-edit-file--several (call lines)
  "Return the message that the string of CALL was found on several LINES."
  (format "Error: Found %d matches for the search string in %s.

Please provide more surrounding context to make a unique match.

%s"
          (length lines) (agent-q-diff-edit-file-call-path call)
          (agent-q-diff-edit-file--where lines)))

(defun agent-q-diff-edit-file--overlapping (call lines)
  "Return the message that matches of the string of CALL, on LINES, overlap."
  (format "Error: Found %d matches for the search string in %s, and some overlap.

Replacing one would change another. Please provide more surrounding context, or
replace them one by one.

%s"
          (length lines) (agent-q-diff-edit-file-call-path call)
          (agent-q-diff-edit-file--where lines)))

(defun agent-q-diff-edit-file--message-of-error (call err)
  "Return the message about ERR, the error of CALL."
  (pcase err
    (`(agent-q-diff-forbidden ,message) message)
    (`(agent-q-diff-no-file . ,_)
     (format "Error: File '%s' not found" (agent-q-diff-edit-file-call-path call)))
    (`(agent-q-diff-no-match . ,data)
     (agent-q-diff-edit-file--no-match call data))
    (`(agent-q-diff-several-matches ,_ ,lines)
     (agent-q-diff-edit-file--several call lines))
    (`(agent-q-diff-overlapping-matches ,_ ,lines)
     (agent-q-diff-edit-file--overlapping call lines))
    (`(agent-q-diff-empty-search . ,_)
     "Error: old_str is empty. It must be the exact text that is to be replaced.")
    (`(agent-q-diff-equal-texts . ,_)
     "Error: old_str and new_str are equal, so nothing would change.")
    (`(,(or 'agent-q-diff-bad-target 'file-error 'file-date-error) . ,_)
     (format "Error: Cannot write to file\n\n%s" (agent-q-diff-error-text err)))
    (`(quit . ,_) "Error editing file: the user quit; nothing was changed")
    (_ (format "Error editing file: %s" (agent-q-diff-error-text err)))))

;;;; The tool

(defun agent-q-diff-edit-file (arguments)
  "Run `edit_file' with ARGUMENTS, an alist, and return the message."
  (let-alist arguments
    (let ((agent-q-diff-wait-undecided nil)
          (call (agent-q-diff-edit-file-call-make
                 :path .path :old .old_str :new .new_str
                 :is-all .shouldReplaceAll :description .description
                 :arguments arguments)))
      (condition-case err
          (agent-q-diff-edit-file--message-of-outcome
           call (agent-q-diff-edit-file--run call))
        (agent-q-diff-forbidden
         (agent-q-diff-log-refusal "edit_file" .path err)
         (agent-q-diff-edit-file--message-of-error call err))
        ((error quit)
         (agent-q-diff-message-of-undecided
          agent-q-diff-wait-undecided err
          (apply-partially #'agent-q-diff-edit-file--message-of-error call)))))))

(provide 'agent-q-diff-edit-file)
;;; agent-q-diff-edit-file.el ends here
