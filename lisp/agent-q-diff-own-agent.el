;;; agent-q-diff-own-agent.el --- Agents that edit with their own tools  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How a review of an own tool's edit names the agent and its session, which
;; edits need no review or get it after they are made, and the decisions that the tools have not carried out
;; yet.  A call keeps its turn until its tool has written what was decided.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-log)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-visit)
(require 'agent-q-diff-session)
(require 'agent-q-diff-shown)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-pending)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-permit)
(require 'agent-q-diff-tools)

;;;; Names of agents and sessions

(defun agent-q-diff-own-agent-name (call)
  "Return the name of the agent of CALL, for the beginning of a sentence."
  (agent-q-diff-visible-name (or (agent-q-diff-call-agent call) "An agent") t))

(defun agent-q-diff-own-agent--session-text (call)
  "Return words for the session of CALL, or the empty string."
  (let ((session (agent-q-diff-call-session call)))
    (if (member session '(nil ""))
        ""
      (format " (session %s)" (agent-q-diff-own-agent--session-short session)))))

(defun agent-q-diff-own-agent--session-short (session)
  "Return a few characters of SESSION, an id, that tell it from others.
The ids of many agents begin with a common word, or with the time; if another
session with an open review has the same beginning, return the end."
  (let ((short (agent-q-diff-own-agent--session-beginning session)))
    (if (seq-some (lambda (call)
                    (let ((other (agent-q-diff-call-session call)))
                      (and (stringp other)
                           (not (equal other session))
                           (equal short (agent-q-diff-own-agent--session-beginning other)))))
                  (agent-q-diff-own-agent--calls))
        (substring session (max 0 (- (length session) 8)))
      short)))

(defun agent-q-diff-own-agent--session-beginning (session)
  "Return the beginning of SESSION, an id, without words before it."
  (let* ((end (and (string-match "\\`\\(?:[[:alpha:]]+[-_:.]+\\)+" session)
                   (match-end 0)))
         ;; The letters of a hexadecimal number are no word.
         (id (if (and end
                      (< end (length session))
                      (string-match-p "[g-z_:.]" (substring session 0 end)))
                 (substring session end)
               session)))
    (substring id 0 (min 8 (length id)))))

(defun agent-q-diff-own-agent--calls ()
  "Return each `agent-q-diff-call' of an agent's own tool whose review is open."
  (seq-filter #'agent-q-diff-call-id
              (mapcar #'agent-q-diff-session-call (agent-q-diff-open-reviews))))

(defun agent-q-diff-own-agent-label (call)
  "Return the name of the agent of CALL for a review, or nil.
If another session of the same agent has an open review, the name includes
the session."
  (when-let ((name (agent-q-diff-call-agent call)))
    (if (seq-some (lambda (other)
                    (and (equal name (agent-q-diff-call-agent other))
                         (not (equal (agent-q-diff-call-session call)
                                     (agent-q-diff-call-session other)))))
                  (agent-q-diff-own-agent--calls))
        (concat name (agent-q-diff-own-agent--session-text call))
      name)))

(defun agent-q-diff-own-agent-tool (call &optional has-session)
  "Return the name of the tool of CALL for a sentence.
HAS-SESSION is non-nil to name its session as well."
  (format "%s's tool %s%s" (agent-q-diff-visible-name (or (agent-q-diff-call-agent call) "the agent") t)
          (agent-q-diff-visible-name (agent-q-diff-call-tool call))
          (if has-session (agent-q-diff-own-agent--session-text call) "")))

;;;; Before or after

(defun agent-q-diff-own-agent-after-p (call mode)
  "Return non-nil if edits of the agent of CALL are reviewed after they are made.
MODE is what the agent does with its edits, as far as that is known:
\"accepts\", \"asks\", \"plans\", or nil."
  (pcase (agent-q-diff-pending-choice (agent-q-diff-call-agent call))
    ('after t)
    ('client (equal mode "accepts"))))

(defun agent-q-diff-own-agent-why-not-pending (call path text)
  "Return why an edit of the file PATH by CALL would not be pending after it.
The value is a clause, or nil if it is.  PATH is an absolute name, and TEXT is
what the file will hold, or nil if it is to be deleted."
  (condition-case err
      (ignore (agent-q-diff-engine-call #'agent-q-diff-module-check-pending-after
                                        (or (agent-q-diff-call-agent call) "")
                                        (or (agent-q-diff-call-session call) "")
                                        path text))
    (error (agent-q-diff-error-text err))))

(defun agent-q-diff-own-agent-count-soon (name)
  "Count what is pending in the project of the file NAME when Emacs is next idle."
  (when-let ((root (agent-q-diff-reviewed-root-of (file-name-directory name))))
    (agent-q-diff-pending-count-soon root)))

;;;; Edits without a review

(defun agent-q-diff-own-agent--grant-name (call)
  "Return the name under which own tools of the agent of CALL are granted."
  (format "%s's own tools" (or (agent-q-diff-call-agent call) "Unknown agent")))

(defun agent-q-diff-own-agent-allowance (request is-after)
  "Return why REQUEST needs no review: `policy', `session' or `after', or nil.
It is `denied' if the policy denies it.  An edit of a protected file, or of
one outside the project, always needs a review.  IS-AFTER is non-nil if the
others get it after they are made; see `agent-q-diff-own-agent-after-p'."
  (let ((policy (agent-q-diff-permit-policy request)))
    (cond
     ((eq policy 'deny) 'denied)
     ((or (eq policy 'review)
          (agent-q-diff-request-protection request)
          (not (file-in-directory-p (agent-q-diff-request-name request)
                                    (agent-q-diff-request-root request))))
      nil)
     ((eq policy 'allow) 'policy)
     ((agent-q-diff-permit-granted-p (agent-q-diff-own-agent--grant-name
                                      (agent-q-diff-request-call request))
                                   (agent-q-diff-request-root request))
      'session)
     (is-after 'after))))

(defun agent-q-diff-own-agent-log (call path outcome by &optional reason)
  "Record the OUTCOME of CALL for PATH that was not reviewed.
BY is who decided it, a symbol, or nil, and REASON why, a string or nil."
  (agent-q-diff-log-record
   (append (list :tool (agent-q-diff-call-tool call) :agent (agent-q-diff-call-agent call)
                 :path path :root (agent-q-diff-call-root call) :outcome outcome)
           (and by (list :decided-by by))
           (and reason (list :in-file 0 :reason reason)))))

;;;; Shell commands

(defun agent-q-diff-own-agent-shell-writes (arguments answer)
  "Answer whether the shell command in ARGUMENTS, a hash table, may run.
It plainly writes files of the project: files, a vector of those that are
known, and names, of what the agent reads.  ANSWER is called once, with a
message, nil, and a verdict for the program, an alist."
  (let* ((call agent-q-diff-call)
         (agent (agent-q-diff-call-agent call))
         (command (gethash "command" arguments))
         (files (mapcar (lambda (file)
                          (agent-q-diff-visit-truename (agent-q-diff-visit-name file)))
                        (gethash "files" arguments))))
    (if (and (eq 'ask agent-q-diff-shell-writes)
             (not (agent-q-diff-own-agent-after-p call (gethash "mode" arguments)))
             (not (agent-q-diff-permit-granted-p (agent-q-diff-own-agent--grant-name call)
                                                 (agent-q-diff-guard-root))))
        (progn
          (message "%s was told to use its edit tools instead of its shell: %s"
                   (agent-q-diff-own-agent-name call)
                   (agent-q-diff-pending-command-words command))
          (funcall
           answer
           (format "This command would write %s past the user's review: make the change \
with your edit tools, so that the user can decide about each part of it."
                   (mapconcat #'agent-q-diff-visible-name (gethash "names" arguments)
                              ", "))
           nil '((verdict . "deny"))))
      (agent-q-diff-pending-note-command (gethash "call" arguments) agent
                                         (gethash "session" arguments) command
                                         files)
      (funcall answer "" nil '((verdict . "allow"))))))

;;;; Allowing it

(defvar-local agent-q-diff-own-agent--grant nil
  "The arguments of `agent-q-diff-permit-grant' that would allow more, or nil.")

(defvar agent-q-diff-own-tool-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "A" #'agent-q-diff-allow-agent)
    map)
  "Keymap of `agent-q-diff-own-tool-mode'.")

(define-minor-mode agent-q-diff-own-tool-mode
  "Minor mode of diff buffers for an edit by an agent's own tool.
\\<agent-q-diff-own-tool-mode-map>\\[agent-q-diff-allow-agent] accepts all, \
and no longer asks about this agent's edits in the project."
  :lighter nil)

(defun agent-q-diff-own-agent-offer (review root)
  "Let the user of REVIEW allow all edits of its agent in the project ROOT."
  (let ((grant (list (agent-q-diff-own-agent--grant-name (agent-q-diff-session-call review))
                     root)))
    (with-current-buffer (agent-q-diff-session-buffer review)
      (setq agent-q-diff-own-agent--grant grant)
      (agent-q-diff-own-tool-mode))))

(defun agent-q-diff-allow-agent ()
  "Accept all, and let this agent's own tools edit this project without asking.
That holds until Emacs exits, or until `agent-q-diff-revoke-grants'.
You are still asked about protected files."
  (interactive)
  (unless agent-q-diff-own-agent--grant
    (user-error "Only what an agent's own tool writes can be allowed here"))
  (pcase-let ((`(,name ,root) agent-q-diff-own-agent--grant)
              (buffer (current-buffer)))
    (when (y-or-n-p (format "Accept all%s, and let %s edit %s without asking until Emacs exits \
(protected files excepted)? "
                            (agent-q-diff-shown-pending-words)
                            name (agent-q-diff-visible-name (abbreviate-file-name root))))
      ;; The agent may have gone while this was asked.
      (unless (and (buffer-live-p buffer)
                   (eq buffer (current-buffer))
                   (not (agent-q-diff-buffer-ended-p)))
        (user-error "The review has ended; nothing is allowed"))
      (agent-q-diff-permit-grant name root)
      ;; The question has said what was not shown.
      (let ((agent-q-diff-confirm-finish nil))
        (agent-q-diff-accept-all t)))))

;;;; Decisions that are not written yet

(defconst agent-q-diff-own-agent--max-decided 200
  "Number of decisions that are remembered.
A tool that fails by itself never asks for its decision to be compared.")

(defconst agent-q-diff-own-agent--patience 60
  "Seconds until the user is told that an accepted edit was not made yet.
Some agents ask the user themselves after a hook, or end, and send no event.")

(cl-defstruct (agent-q-diff-own-agent-decision
               (:constructor agent-q-diff-own-agent-decision-create) (:copier nil))
  "A decision on a call of an agent's tool that has not run yet."
  (edit nil :documentation "The edit, of whatever type.")
  (call nil :documentation "The `agent-q-diff-call'.")
  (notice nil :documentation "Function that tells the user, if nothing is written, why.")
  (is-said nil :documentation "Non-nil if the user was told that it was not run.")
  (timer nil :documentation "Timer after which its files are looked at."))

(defvar agent-q-diff-own-agent--decided nil
  "Alist from ids of calls to decisions not yet compared with their files.
The newest is first.")

(defun agent-q-diff-own-agent-remember (call edit notice)
  "Remember EDIT, which was decided, instead of an earlier one of the same CALL.
NOTICE is called with a reason, a clause: if nothing of EDIT is in its files,
it tells the user so and returns non-nil.  If the edit is made after all, it
is called with nil, and tells the user that."
  (let ((id (agent-q-diff-call-id call))
        (decision (agent-q-diff-own-agent-decision-create :edit edit :call call :notice notice)))
    (setf (agent-q-diff-own-agent-decision-timer decision)
          (run-at-time agent-q-diff-own-agent--patience nil
                       #'agent-q-diff-own-agent--notice decision
                       (format "nothing was written in %d seconds"
                               agent-q-diff-own-agent--patience)))
    (agent-q-diff-own-agent-take id)
    (agent-q-diff-tools-keep-turn id)
    (push (cons id decision) agent-q-diff-own-agent--decided)
    (pcase-dolist (`(,other . ,old) (nthcdr agent-q-diff-own-agent--max-decided
                                            agent-q-diff-own-agent--decided))
      (cancel-timer (agent-q-diff-own-agent-decision-timer old))
      (agent-q-diff-tools-end-turn other))
    (setq agent-q-diff-own-agent--decided
          (seq-take agent-q-diff-own-agent--decided agent-q-diff-own-agent--max-decided))))

(defun agent-q-diff-own-agent--notice (decision why)
  "Tell the user, only once, that DECISION was not carried out, because of WHY.
Nothing is said if its files have changed.  The turn of its call to change
files ends."
  (unless (agent-q-diff-own-agent-decision-is-said decision)
    (setf (agent-q-diff-own-agent-decision-is-said decision)
          (funcall (agent-q-diff-own-agent-decision-notice decision) why)))
  (agent-q-diff-tools-end-turn
   (agent-q-diff-call-id (agent-q-diff-own-agent-decision-call decision))))

(defun agent-q-diff-own-agent-failed (id)
  "Tell the user that the tool of the call ID failed, if an edit was accepted."
  (when-let ((decision (cdr (assoc id agent-q-diff-own-agent--decided))))
    (agent-q-diff-own-agent--notice decision "the agent says that it failed")
    (agent-q-diff-own-agent-take id)))

(defun agent-q-diff-own-agent-went-on (agent session &optional id)
  "Tell the user which accepted edits AGENT has not made by now in SESSION.
It has gone on with the call ID, or ended its turn.  An agent in plan mode, or
one whose own rules ask or deny, does not run a tool although its edit was
accepted here, and sends no event about that."
  (pcase-dolist (`(,other . ,decision) agent-q-diff-own-agent--decided)
    (let ((call (agent-q-diff-own-agent-decision-call decision)))
      (when (and (not (equal id other))
                 (equal agent (agent-q-diff-call-agent call))
                 (equal session (agent-q-diff-call-session call)))
        (agent-q-diff-own-agent--notice decision "the agent went on without running it")))))

(defun agent-q-diff-own-agent-take (id)
  "Return the edit that was decided for the call ID, or nil, and forget it."
  (when-let ((decided (assoc id agent-q-diff-own-agent--decided)))
    (let ((decision (cdr decided)))
      (setq agent-q-diff-own-agent--decided (delq decided agent-q-diff-own-agent--decided))
      (cancel-timer (agent-q-diff-own-agent-decision-timer decision))
      (agent-q-diff-tools-end-turn id)
      (agent-q-diff-own-agent-decision-edit decision))))

(defun agent-q-diff-own-agent-say-run-after-all (id)
  "If the user was told that the call ID was not run, correct that."
  (when-let ((decision (cdr (assoc id agent-q-diff-own-agent--decided))))
    (when (agent-q-diff-own-agent-decision-is-said decision)
      (funcall (agent-q-diff-own-agent-decision-notice decision) nil))))

(defun agent-q-diff-own-agent-say-not-run (call paths why)
  "Tell the user that CALL was not run after all, because of WHY, a string.
The user has read what was accepted; none of it is in PATHS, the names of
the files.  Record that in the log as well."
  (dolist (path paths)
    (agent-q-diff-own-agent-log call path "not run" nil why))
  (agent-q-diff-base-warn
   (format "%s was not run, so nothing that you accepted is in %s: %s"
           (agent-q-diff-visible (agent-q-diff-own-agent-tool call))
           (mapconcat (lambda (path) (agent-q-diff-visible-name (abbreviate-file-name path)))
                      paths ", ")
           (agent-q-diff-visible why))))

(defun agent-q-diff-own-agent-refused (check)
  "Return why CHECK refuses its file, a clause, or nil if it does not.
CHECK is a function that signals an error if the file must not be written.
It passed when the review began, but a link may have been made since."
  (condition-case err
      (progn (funcall check) nil)
    (error
     (let ((why (string-remove-prefix
                 "Error: " (car (last (split-string (agent-q-diff-error-text err) "\n" t))))))
       (concat (downcase (substring why 0 1)) (string-trim-right (substring why 1) "\\."))))))

(defconst agent-q-diff-own-agent--looks '(0.5 1 2 4 8 15 30)
  "Seconds after which files are looked at whose edit was not decided.
An agent that gave up waiting makes its edit right after that.")

(defun agent-q-diff-own-agent-watch (call paths made-p)
  "Alarm the user if CALL edits PATHS although nothing was decided.
Agents do that if they no longer wait for their hook.  PATHS are the names of
the files; MADE-P returns non-nil if they are as CALL would leave them."
  (let ((since (format-time-string "%FT%T.%3NZ" nil t)))
    (cl-labels
        ((look (looks)
           (when looks
             (run-with-timer
              (car looks) nil
              (lambda ()
                (cond
                 ((agent-q-diff-own-agent--accepted-p paths since))
                 ((ignore-errors (funcall made-p))
                  (agent-q-diff-own-agent--say-made call paths))
                 (t (look (cdr looks)))))))))
      (look agent-q-diff-own-agent--looks))))

(defun agent-q-diff-own-agent--accepted-p (paths since)
  "Return non-nil if an edit of PATHS was accepted after SINCE, by the log.
Then the agent has proposed again what was not decided."
  (seq-some (lambda (entry)
              (and (member (plist-get entry :path) paths)
                   (member (plist-get entry :outcome)
                           '("accepted" "partial" "to be reviewed"))
                   (string< since (or (plist-get entry :time) ""))))
            (ignore-errors (agent-q-diff-log-entries 20))))

(defun agent-q-diff-own-agent--say-made (call paths)
  "Alarm the user that CALL edited PATHS, which was not decided."
  (dolist (path paths)
    (agent-q-diff-log-record
     (list :tool (agent-q-diff-call-tool call) :agent (agent-q-diff-call-agent call)
           :path path :root (agent-q-diff-call-root call)
           :outcome "made undecided" :reason "the agent did not wait for your decision")))
  (display-warning
   'agent-q-diff
   (format "%s edited %s before you had decided: it did not wait for you"
           (agent-q-diff-visible (agent-q-diff-own-agent-tool call))
           (mapconcat (lambda (path) (agent-q-diff-visible-name (abbreviate-file-name path)))
                      paths ", "))
   :error))

;;;; A file that is not what was decided

(defconst agent-q-diff-own-agent--max-diff-lines 40
  "Number of lines of a difference that are shown.")

(defun agent-q-diff-own-agent--diff (decided text path)
  "Return the difference from DECIDED to TEXT, both of the file PATH, as lines."
  (let* ((diff (condition-case nil
                   (car (agent-q-diff-engine-print
                         (agent-q-diff-engine-review decided text) path))
                 (agent-q-diff-identical "")))
         (lines (seq-drop-while (lambda (line) (not (string-prefix-p "@@" line)))
                                (split-string (string-trim-right diff "\n") "\n")))
         (more (- (length lines) agent-q-diff-own-agent--max-diff-lines)))
    (string-join (append (seq-take lines agent-q-diff-own-agent--max-diff-lines)
                         (and (> more 0) (list (format "… %d more lines" more))))
                 "\n")))

(defun agent-q-diff-own-agent--plain (text)
  "Return TEXT without byte order mark and with plain line ends."
  (string-remove-prefix "\ufeff" (string-replace "\r\n" "\n" text)))

(defun agent-q-diff-own-agent--undecided-line-p (text original decided proposed)
  "Return non-nil if TEXT has a line of PROPOSED that was not accepted.
DECIDED has the accepted lines; lines of ORIGINAL prove nothing."
  (let ((known (make-hash-table :test #'equal))
        (there (make-hash-table :test #'equal)))
    (cl-flet ((lines (text) (mapcar #'string-trim (split-string text "\n"))))
      (dolist (line (append (lines original) (lines decided)))
        (puthash line t known))
      (dolist (line (lines text))
        (puthash line t there))
      (seq-some (lambda (line)
                  (and (not (gethash line known)) (gethash line there)))
                (lines proposed)))))

(cl-defun agent-q-diff-own-agent-difference (&key text original decided proposed written)
  "Return who wrote TEXT of a file, which is not what was DECIDED, as far as known.
It is `later' if the tool has WRITTEN what was decided, so another program
has changed the file since; `wrong' if the tool has written something else;
and `unknown' if that cannot be told: many agents do not say what their
tools have written.  ORIGINAL is the text before, and PROPOSED what the agent
wanted; each may be nil if there is no such file."
  (cl-flet ((plain (text) (and text (agent-q-diff-own-agent--plain text))))
    (let ((text (plain text)) (original (plain original))
          (decided (plain decided)) (proposed (plain proposed)))
      (cond
       ;; It is unknown which line ends and encoding were written.
       ((and text (equal text decided)) 'unknown)
       (written (if (equal (plain written) decided) 'later 'wrong))
       ((not (and text decided)) 'wrong)
       ((and (equal text (or original "")) (not (equal original decided))) 'wrong)
       ((and proposed
             (or (and (equal text proposed) (not (equal proposed decided)))
                 (agent-q-diff-own-agent--undecided-line-p text (or original "")
                                                           decided proposed)))
        'wrong)
       (t 'unknown)))))

(defun agent-q-diff-own-agent-tell-difference (kind call path decided text message)
  "Tell the user that TEXT of the file PATH is not what was DECIDED about CALL.
KIND is `later' or `unknown', as from `agent-q-diff-own-agent-difference'.
MESSAGE is the one for the agent if the file were as decided; return the one
that is true."
  (let* ((agent (agent-q-diff-own-agent-name call))
         (tool (agent-q-diff-call-tool call))
         (shown (agent-q-diff-visible-name (abbreviate-file-name path)))
         (is-later (eq kind 'later))
         (diff (if (null text)
                   "The file cannot be read any more."
                 (agent-q-diff-own-agent--diff
                  (agent-q-diff-own-agent--plain decided)
                  (agent-q-diff-own-agent--plain text) path)))
         (difference (if (string-empty-p diff)
                         "Only its line ends or its encoding differ."
                       (concat "From what was decided to what is there now:\n" diff))))
    (agent-q-diff-own-agent-log
     call path (if is-later "changed since" "differs") nil
     (concat (if is-later
                 "another program changed it after the tool had written it. "
               "it is not what you decided, and the agent does not say what its tool wrote. ")
             difference))
    (if is-later
        (message "%s: %s wrote what you decided, and another program has changed it since%s"
                 shown agent
                 (if agent-q-diff-log-file "; M-x agent-q-diff-log shows how" ""))
      (agent-q-diff-base-warn
       (format "%s is not quite what you decided. %s does not say what its tool %s wrote, so \
that or another program, such as a formatter, may have changed it.  %s"
               shown agent tool difference)))
    (if is-later
        (format "%s\n\nThat is what %s wrote. Another program, such as a formatter that runs as \
a hook, has changed %s since. %s\nRead the file before you edit it again."
                message tool path difference)
      (format "%s differs from what the user decided. It is not known whether %s wrote that, or \
another program, such as a formatter, changed it after. %s\nRead the file before you go on, and \
tell the user.\n\nIf %s wrote what was decided, then this holds:\n%s"
              path tool difference tool message))))

;;;; What a file declares about its bytes

(defun agent-q-diff-own-agent--contradiction (name original text encoding)
  "Return how TEXT would contradict the ENCODING in which a tool writes it, or nil.
The file NAME had the text ORIGINAL, or nil if there was none; TEXT is nil if
there is to be none.  See `agent-q-diff-coding-contradiction'."
  (and text
       ;; The byte order mark takes precedence over any declaration.
       (not (equal encoding "utf-16le"))
       (agent-q-diff-coding-contradiction text name original 'utf-8)))

(defun agent-q-diff-own-agent-coding-notes (&rest arguments)
  "Return notes for the user on a text that contradicts its encoding.
ARGUMENTS are those of `agent-q-diff-own-agent--contradiction'.  The value is
a list of strings."
  (when-let ((contradiction (apply #'agent-q-diff-own-agent--contradiction arguments)))
    (list (format "With all hunks in, %s." contradiction))))

(defun agent-q-diff-own-agent-with-warning (message name &rest arguments)
  "Return MESSAGE, for an agent, with a warning if NAME contradicts its encoding.
ARGUMENTS are the others of `agent-q-diff-own-agent--contradiction'."
  (if-let ((contradiction (apply #'agent-q-diff-own-agent--contradiction name arguments)))
      (format "%s\n\nWARNING: %s: %s. The user can make the two agree with C-x RET f in the \
file's buffer."
              message (agent-q-diff-visible name) contradiction)
    message))

;;;; A file that has changed since an agent's last edit

(defconst agent-q-diff-own-agent--max-left 50
  "Number of files whose texts are remembered.")

(defconst agent-q-diff-own-agent--max-left-size 1000000
  "Number of characters of a text that is remembered, at most.")

(defvar agent-q-diff-own-agent--left nil
  "Alist of true names of files and their texts after agents' edits.")

(defun agent-q-diff-own-agent--forget-left (truename)
  "Forget the text that the file TRUENAME had after an agent's edit."
  (setq agent-q-diff-own-agent--left
        (assoc-delete-all truename agent-q-diff-own-agent--left))
  (unless agent-q-diff-own-agent--left
    (remove-hook 'after-save-hook #'agent-q-diff-own-agent--forget-saved)))

(defun agent-q-diff-own-agent--forget-saved ()
  "Forget the text of the file of this buffer, for the user has changed it.
No agent's own tool edits a remote file, so none is asked for its true name."
  (unless (or (null buffer-file-name) (file-remote-p buffer-file-name))
    (agent-q-diff-own-agent--forget-left (file-truename buffer-file-name))))

(defun agent-q-diff-own-agent-note-left (name text)
  "Note that the file NAME has TEXT, or is gone if that is nil, after an edit.
Later changes, before the agent's next edit, are not part of the decision; see
`agent-q-diff-own-agent-later-notes'."
  (let ((truename (file-truename name)))
    (agent-q-diff-own-agent--forget-left truename)
    (when (and text (< (length text) agent-q-diff-own-agent--max-left-size))
      (push (cons truename (agent-q-diff-own-agent--plain text)) agent-q-diff-own-agent--left)
      (when-let ((last (nthcdr (1- agent-q-diff-own-agent--max-left)
                               agent-q-diff-own-agent--left)))
        (setcdr last nil))
      ;; A change that the user saves is not another program's.
      (add-hook 'after-save-hook #'agent-q-diff-own-agent--forget-saved))))

(defun agent-q-diff-own-agent-later-notes (call name text)
  "Return notes for the user if another program has changed the file NAME.
TEXT is its text when CALL is about to edit it, or nil.  The difference from
the last edit goes into the log.  The value is a list of strings."
  (when-let* ((truename (file-truename name))
              (left (cdr (assoc truename agent-q-diff-own-agent--left))))
    (agent-q-diff-own-agent--forget-left truename)
    (let ((text (and text (agent-q-diff-own-agent--plain text))))
      (unless (equal left text)
        (agent-q-diff-own-agent-log
         call name "changed since" nil
         (concat "another program, such as a formatter, changed it after the last edit. "
                 (if text
                     (concat "From what was decided to what is there now:\n"
                             (agent-q-diff-own-agent--diff left text name))
                   "The file is gone.")))
        (list (format "Another program, such as a formatter, has changed %s since an agent's last \
edit%s."
                      (agent-q-diff-visible-name (file-name-nondirectory name))
                      (if agent-q-diff-log-file "; M-x agent-q-diff-log shows how" "")))))))

(provide 'agent-q-diff-own-agent)
;;; agent-q-diff-own-agent.el ends here
