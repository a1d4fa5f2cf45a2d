;;; agent-q-diff-permit.el --- Permission for what agents ask for  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Decides whether an edit is made: by the policy, which is an option; by a
;; grant that the user gave earlier in this session, which never covers a
;; protected file; or by asking the user.  Grants hold until Emacs exits, and
;; are kept nowhere else; there is a list of them.
;;
;; If nobody can be asked, or the question is left unanswered, that is an
;; error, not a refusal.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-views)
(require 'agent-q-diff-transcript)

;;;; Grants

(defvar agent-q-diff-permit-grants nil
  "What agents may do without asking until Emacs exits, a list of (TOOL ROOT TIME).")

(defun agent-q-diff-permit-granted-p (tool root)
  "Return non-nil if TOOL is granted in the project ROOT."
  (seq-some (pcase-lambda (`(,granted ,directory ,_))
              (and (equal granted tool) (equal directory root)))
            agent-q-diff-permit-grants))

(defun agent-q-diff-permit-grant (tool root)
  "Grant TOOL in the project ROOT for the session."
  (unless (agent-q-diff-permit-granted-p tool root)
    (push (list tool root (current-time)) agent-q-diff-permit-grants)))

;;;; Listing and revoking

(defun agent-q-diff-grants--rows ()
  "Return the rows of the list of grants."
  (mapcar (lambda (grant)
            (pcase-let ((`(,tool ,root ,time) grant))
              (list grant tool (format-time-string "%T" time)
                    (agent-q-diff-visible-name (abbreviate-file-name root)))))
          agent-q-diff-permit-grants))

(agent-q-diff-views-define agent-q-diff-grants-mode "Agent-Q Grants"
  "Major mode of the list of what agents may do without asking."
  :item "grant"
  :columns '(("Tool" 20 t) ("Since" 10 t) ("Project" 0 t))
  :rows #'agent-q-diff-grants--rows
  :keys '(("k" . agent-q-diff-grants-revoke)
          ("K" . agent-q-diff-revoke-grants)))

;;;###autoload
(defun agent-q-diff-grants ()
  "List what agents may do without asking until Emacs exits.
\\<agent-q-diff-grants-mode-map>There, \\[agent-q-diff-grants-revoke] revokes the grant at point."
  (interactive)
  (agent-q-diff-views-show "*Agent-Q Grants*" #'agent-q-diff-grants-mode)
  (unless agent-q-diff-permit-grants
    (message "Nothing is granted")))

(defun agent-q-diff-grants-revoke ()
  "Revoke the grant at point."
  (interactive nil agent-q-diff-grants-mode)
  (let ((grant (agent-q-diff-views-here)))
    (setq agent-q-diff-permit-grants
          (delq grant agent-q-diff-permit-grants))
    (agent-q-diff-views-update)
    (message "%s will ask again in %s" (car grant)
             (agent-q-diff-visible (cadr grant)))))

;;;###autoload
(defun agent-q-diff-revoke-grants ()
  "Revoke everything that agents may do without asking."
  (interactive)
  (setq agent-q-diff-permit-grants nil)
  (when (derived-mode-p 'agent-q-diff-grants-mode)
    (agent-q-diff-views-update))
  (message "Agents will ask again"))

;;;; Options

(defcustom agent-q-diff-permission-function #'agent-q-diff-permit-ask
  "Function that asks the user for permission.
It is called with an `agent-q-diff-request' and returns `once', `session',
`review', or (`deny' . REASON), with a string or nil.  For a request with
a protected file, `session' counts as `once'."
  :type 'function
  :group 'agent-q-diff-agents)

(defcustom agent-q-diff-permission-pause 0.5
  "Seconds without a key before a key is taken as an answer.
A question can appear while the user is typing, so keys that follow the
question, or each other, sooner than this are ignored."
  :type 'number
  :group 'agent-q-diff-agents)

(cl-defstruct (agent-q-diff-request (:constructor agent-q-diff-request-make)
                                    (:copier nil))
  "An edit that an agent asks for."
  (tool nil :documentation "Name of the tool.")
  (path nil :documentation "The file as the agent named it.")
  (name nil :documentation "Absolute name of the file.")
  (root nil :documentation "Directory of the project.")
  (arguments nil :documentation "The arguments of the call, an alist.")
  (call agent-q-diff-call :documentation "The call, an `agent-q-diff-call'.")
  (is-logged nil :documentation "Non-nil if its review will log it.")
  (is-withdrawn nil :documentation "Non-nil if the caller withdrew it.")
  (protection nil :documentation "Why the file is protected, or nil.")
  (notes nil :documentation "Further strings to show to the user.")
  (check nil :documentation "Function that signals an error if the file must not be written.")
  (info nil :documentation "INFO of `agent-q-diff-show-edit-functions'.")
  (summary nil :documentation "The numbers of changed lines, a string."))

;;;; Policy

(defun agent-q-diff-permit-policy (request)
  "Return the policy for REQUEST: `ask', `allow', `deny' or `review'."
  (let* ((policy agent-q-diff-tools-policy)
         (answer (if (memq policy '(ask allow deny review))
                     policy
                   (funcall policy (agent-q-diff-request-tool request)
                            (agent-q-diff-request-name request)
                            (agent-q-diff-request-arguments request)))))
    (unless (memq answer '(ask allow deny review))
      (agent-q-diff-base-refuse "agent-q-diff-tools-policy gave %S; it must be %s"
                                answer "ask, allow, deny or review"))
    answer))

;;;; Open questions

(defvar agent-q-diff-permit--asked nil
  "The requests that the user is being asked about, the innermost first.")

(defun agent-q-diff-permit--granted-p (request)
  "Return non-nil if a grant for the session covers REQUEST."
  (and (not (agent-q-diff-request-protection request))
       (agent-q-diff-permit-granted-p (agent-q-diff-request-tool request)
                                    (agent-q-diff-request-root request))))

(defun agent-q-diff-permit--add-grant (request)
  "Grant the tool of REQUEST in its project until Emacs exits.
Open questions that the grant covers are closed."
  (agent-q-diff-permit-grant (agent-q-diff-request-tool request)
                           (agent-q-diff-request-root request))
  (when (seq-some #'agent-q-diff-permit--granted-p agent-q-diff-permit--asked)
    (agent-q-diff-permit--wake)))

(defvar agent-q-diff-permit--depth nil
  "Recursion depth of the open question.")

(defun agent-q-diff-permit--wake ()
  "Have the open question check whether it has been answered meanwhile.
The event reaches it whichever window is selected."
  (define-key global-map [agent-q-diff-permit-wake] #'agent-q-diff-permit-wake)
  (setq unread-command-events
        (append unread-command-events (list 'agent-q-diff-permit-wake))))

(defun agent-q-diff-permit-withdraw (predicate)
  "Close the questions of callers that satisfy PREDICATE."
  (dolist (request agent-q-diff-permit--asked)
    (when (funcall predicate (agent-q-diff-call-caller (agent-q-diff-request-call request)))
      (setf (agent-q-diff-request-is-withdrawn request) t)
      (agent-q-diff-permit--wake))))

(defun agent-q-diff-permit--settlement (request)
  "Return the answer to REQUEST if it needs no key, or nil.
It is `withdrawn', or `covered' by a grant."
  (cond
   ((agent-q-diff-request-is-withdrawn request) 'withdrawn)
   ((agent-q-diff-permit--granted-p request) 'covered)))

;;;; The decision

(defun agent-q-diff-permit (request policy)
  "Decide on REQUEST; POLICY is the policy's answer.
Return (ANSWER BY . REASON).  ANSWER is `allow', `deny' or `review'; BY is
`policy', `session' or `user'; REASON is the user's, a string, or nil.
Signal `agent-q-diff-no-user' if nobody can be asked, and
`agent-q-diff-cancelled' if the question was left unanswered."
  (cond
   ((eq policy 'deny)
    (list 'deny 'policy))
   ((eq policy 'review)
    (list 'review 'policy))
   ((and (eq policy 'allow) (not (agent-q-diff-request-protection request)))
    (list 'allow 'policy))
   ((agent-q-diff-permit--granted-p request)
    (list 'allow 'session))
   (t (agent-q-diff-permit--by-user request))))

(defun agent-q-diff-permit--say-withdrawn (request)
  "Show why the question about REQUEST was closed without an answer."
  (message "Nobody is waiting any more for the edit of %s; nothing was changed"
           (agent-q-diff-visible-name (agent-q-diff-request-path request))))

(defun agent-q-diff-permit--by-user (request)
  "Ask the user about REQUEST; the value is that of `agent-q-diff-permit'."
  (pcase (let ((answer (funcall agent-q-diff-permission-function request)))
           ;; It may have been withdrawn before the user answered.
           (if (agent-q-diff-request-is-withdrawn request) 'withdrawn answer))
    ('once (list 'allow 'user))
    ('covered (list 'allow 'session))
    ('withdrawn (agent-q-diff-permit--say-withdrawn request)
                (signal 'agent-q-diff-cancelled
                        '("the caller withdrew it; nothing was changed")))
    ('session (unless (agent-q-diff-request-protection request)
                (agent-q-diff-permit--add-grant request))
              (list 'allow 'user))
    ('review (list 'review 'user))
    ('deny (list 'deny 'user))
    (`(deny . ,reason) (cons 'deny (cons 'user reason)))
    (answer (agent-q-diff-base-refuse "agent-q-diff-permission-function gave %S" answer))))

;;;; Asking

(defvar agent-q-diff-permit--answer nil
  "The answer to the open question, or nil.")

(defvar agent-q-diff-permit--last-key nil
  "Time of the last key of the open question, or when it appeared.")

(defun agent-q-diff-permit--settled-p ()
  "Return non-nil if a key now is meant as an answer; note its time."
  (let ((pause (float-time (time-since agent-q-diff-permit--last-key))))
    (setq agent-q-diff-permit--last-key (current-time))
    (or executing-kbd-macro
        (>= pause agent-q-diff-permission-pause))))

(defun agent-q-diff-permit--say (text)
  "Show TEXT after the open question for a moment."
  (unless executing-kbd-macro
    (minibuffer-message "%s" text)))

(defun agent-q-diff-permit--give (answer)
  "Answer the open question with ANSWER, unless the user was typing."
  (if (agent-q-diff-permit--settled-p)
      (progn
        (setq agent-q-diff-permit--answer answer)
        (exit-minibuffer))
    (agent-q-diff-permit--say "Ignored, since you were typing; press it again to answer")))

(defun agent-q-diff-permit-once ()
  "Allow the edit that is asked about."
  (interactive)
  (agent-q-diff-permit--give 'once))

(defun agent-q-diff-permit-for-session ()
  "Allow this tool in this project until Emacs exits."
  (interactive)
  (if (agent-q-diff-request-protection (car agent-q-diff-permit--asked))
      (agent-q-diff-permit--say "A protected file is asked about each time")
    (agent-q-diff-permit--give 'session)))

(defun agent-q-diff-permit-deny ()
  "Deny the edit that is asked about."
  (interactive)
  (agent-q-diff-permit--give 'deny))

(defun agent-q-diff-permit-deny-with-reason ()
  "Deny the edit that is asked about, with a reason for the agent to read."
  (interactive)
  (agent-q-diff-permit--give 'reason))

(defun agent-q-diff-permit-review ()
  "Decide hunk by hunk about the edit that is asked about."
  (interactive)
  (agent-q-diff-permit--give 'review))

(defun agent-q-diff-permit-ignore ()
  "Ignore a key that is not an answer, and show the keys that are."
  (interactive)
  (agent-q-diff-permit--settled-p)
  (agent-q-diff-permit--say
   "y: allow once, s: for the session, n: deny, r: deny with a reason, f: full review"))

(defun agent-q-diff-permit-wake ()
  "Close the open question if it has been answered without a key.
If something else was begun inside it, such as another minibuffer, that must
end first."
  (interactive)
  (when-let ((request (car agent-q-diff-permit--asked))
             (answer (agent-q-diff-permit--settlement request)))
    (when (eq (recursion-depth) agent-q-diff-permit--depth)
      (setq agent-q-diff-permit--answer answer)
      (exit-minibuffer))))

(defvar agent-q-diff-permit-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map minibuffer-local-map)
    (define-key map [remap self-insert-command] #'agent-q-diff-permit-ignore)
    (dolist (key '("\r" "\n" "\t" " " "\d" "?"))
      (define-key map key #'agent-q-diff-permit-ignore))
    (define-key map [agent-q-diff-permit-wake] #'agent-q-diff-permit-wake)
    (define-key map (kbd "y") #'agent-q-diff-permit-once)
    (define-key map (kbd "s") #'agent-q-diff-permit-for-session)
    (define-key map (kbd "n") #'agent-q-diff-permit-deny)
    (define-key map (kbd "r") #'agent-q-diff-permit-deny-with-reason)
    (define-key map (kbd "f") #'agent-q-diff-permit-review)
    map)
  "Keymap of the question for permission.")

(defun agent-q-diff-permit--reach (request)
  "Return a line on what allowing REQUEST for the session includes."
  (propertize
   (format "s allows any agent's %s in %s until Emacs exits, except protected files\n"
           (agent-q-diff-request-tool request)
           (agent-q-diff-visible-name
            (abbreviate-file-name (agent-q-diff-request-root request))))
   'face 'shadow))

(defun agent-q-diff-permit--prompt (request)
  "Return the question about REQUEST."
  (let ((protection (agent-q-diff-request-protection request)))
    (concat
     (mapconcat (lambda (note)
                  (concat (propertize (agent-q-diff-visible note)
                                      'face 'agent-q-diff-warning)
                          "\n"))
                (append (and protection
                             (list (format "PROTECTED: %s" protection)))
                        (agent-q-diff-request-notes request))
                "")
     (if protection "" (agent-q-diff-permit--reach request))
     (if-let ((agent (agent-q-diff-call-agent (agent-q-diff-request-call request))))
         (concat (agent-q-diff-visible agent 40) ": ")
       "")
     (format "%s %s (%s) in %s?  " (agent-q-diff-request-tool request)
             (agent-q-diff-visible-name (agent-q-diff-request-path request))
             (agent-q-diff-request-summary request)
             (agent-q-diff-visible-name
              (abbreviate-file-name (agent-q-diff-request-root request))))
     (if protection
         "[y]es [n]o [r]eason [f]ull review "
       "[y]es [s]ession [n]o [r]eason [f]ull review "))))

(defun agent-q-diff-permit--read (request)
  "Ask about REQUEST; return the answer's symbol, or nil."
  (let ((agent-q-diff-permit--answer nil)
        (agent-q-diff-permit--last-key (current-time))
        (agent-q-diff-permit--depth (1+ (recursion-depth)))
        (enable-recursive-minibuffers t))
    (minibuffer-with-setup-hook
        (lambda ()
          ;; C-M-v scrolls the edit.
          (when-let ((window (agent-q-diff-transcript-window)))
            (setq minibuffer-scroll-window window)))
      (read-from-minibuffer (agent-q-diff-permit--prompt request) nil
                            agent-q-diff-permit-map nil t))
    agent-q-diff-permit--answer))

(defun agent-q-diff-permit--sparing-edit (function)
  "Return the value of FUNCTION; meanwhile, keep the window of the edits.
A review that arrives is displayed in another one."
  (let* ((window (agent-q-diff-transcript-window))
         (was-dedicated (and window (window-dedicated-p window))))
    (unwind-protect
        (progn
          (when window
            (set-window-dedicated-p window 'agent-q-diff))
          (funcall function))
      (when (window-live-p window)
        (set-window-dedicated-p window was-dedicated)))))

(defun agent-q-diff-permit--read-reason ()
  "Ask for the reason of a denial; return (deny . REASON), or nil without one."
  (let* ((enable-recursive-minibuffers t)
         (reason (read-string "Why not?  The agent reads this: ")))
    (unless (string-blank-p reason)
      (cons 'deny reason))))

(defun agent-q-diff-permit--read-answer (request)
  "Ask about REQUEST until there is an answer, and return it."
  (let (answer)
    (while (not answer)
      (setq answer
            (pcase (or (agent-q-diff-permit--settlement request)
                       (agent-q-diff-permit--read request))
              ;; C-g returns to the question.
              ('reason (condition-case nil
                           (or (agent-q-diff-permit--read-reason) 'deny)
                         (quit nil)))
              (answer answer))))
    answer))

(defun agent-q-diff-permit--cancelled ()
  "Signal that the question was left unanswered."
  (signal 'agent-q-diff-cancelled
          '("the user left the question unanswered; nothing was changed")))

(defun agent-q-diff-permit--catching-top-level (function)
  "Return the value of FUNCTION, or nil if the command `top-level' ended it."
  (let (value)
    (catch 'top-level
      (setq value (funcall function)))
    value))

(defun agent-q-diff-permit--somebody-p ()
  "Return non-nil if there is a user who can be asked.
A daemon without a client has a frame that nobody sees."
  (if noninteractive
      executing-kbd-macro
    (seq-some (lambda (frame)
                (not (equal (terminal-name (frame-terminal frame))
                            "initial_terminal")))
              (frame-list))))

(defun agent-q-diff-permit-ask (request)
  "Ask the user about REQUEST, and show its edit.
The value is as for `agent-q-diff-permission-function'.  In a batch Emacs,
or a daemon without a client, signal `agent-q-diff-no-user'."
  (unless (agent-q-diff-permit--somebody-p)
    (signal 'agent-q-diff-no-user
            '("no user is there to give permission, so the edit was denied; \
the user can allow it by the option agent-q-diff-tools-policy")))
  (let ((window (agent-q-diff-transcript-show (agent-q-diff-request-info request)))
        (agent-q-diff-permit--asked (cons request agent-q-diff-permit--asked))
        ;; The caller may be inside `while-no-input' or a process filter.
        (throw-on-input nil)
        ;; Reviews that others begin meanwhile do not belong to the caller.
        (agent-q-diff-call (agent-q-diff-call-make))
        (inhibit-quit nil))
    ;; The keys of Isearch would take precedence over those of the question.
    (when isearch-mode
      (isearch-done))
    (unwind-protect
        ;; `top-level' leaves the question as well; the agent must not wait
        ;; forever.
        (or (agent-q-diff-permit--catching-top-level
             (lambda ()
               (condition-case nil
                   (agent-q-diff-permit--sparing-edit
                    (lambda ()
                      (agent-q-diff-permit--read-answer request)))
                 (quit nil))))
            (agent-q-diff-permit--cancelled))
      (agent-q-diff-permit--end-waking (cdr agent-q-diff-permit--asked))
      (when (window-live-p window)
        (agent-q-diff-base-keeping-selection
          (quit-restore-window window))))))

(defun agent-q-diff-permit--end-waking (outer)
  "Remove the waking event after a question, unless an outer one needs it.
OUTER are the requests about which questions are still open."
  (setq unread-command-events (delq 'agent-q-diff-permit-wake unread-command-events))
  (cond
   ((null outer) (define-key global-map [agent-q-diff-permit-wake] nil))
   ((agent-q-diff-permit--settlement (car outer)) (agent-q-diff-permit--wake))))

(provide 'agent-q-diff-permit)
;;; agent-q-diff-permit.el ends here
