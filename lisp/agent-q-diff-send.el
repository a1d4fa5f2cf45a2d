;;; agent-q-diff-send.el --- Copies the message of a review, or puts it into an agent's buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; When what an agent wrote is reviewed, the agent is to read why, what you
;; ask, and what you want changed.  Where its hooks cannot bring it that
;; message, you copy it for a terminal, or have it put at the prompt in the
;; Emacs buffer in which the agent runs.
;;
;; A program in a terminal takes what it is sent as keys, so control
;; characters are left out.  Newlines are sent only if the program has asked
;; for bracketed paste, and so knows that they are no keys.  The packages for
;; terminals do not say whether it has, but what they send for an empty paste
;; shows it.
;;
;; Nothing is sent to a buffer that you have not chosen.  The text contains
;; lines that an agent wrote, which a shell would run; and where an agent asks
;; something, RET answers it.  So RET is pressed only if you chose that, if the
;; program is still the one that ran there when you did, and if the terminal
;; shows that the text has arrived at a prompt.
;;
;; Whatever goes wrong, the text is in the kill ring.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-told)

(defvar eat-terminal)
(defvar ghostel--term)
(defvar vterm--term)
(declare-function agent-shell-insert "ext:agent-shell" (&rest arguments))
(declare-function comint-send-input "comint" (&optional no-newline artificial))
(declare-function eat-term-parameter "ext:eat" (terminal parameter))
(declare-function eat-term-send-string "ext:eat" (terminal string))
(declare-function eat-term-send-string-as-yank "ext:eat" (terminal args))
(declare-function eat-term-set-parameter "ext:eat" (terminal parameter value))
(declare-function ghostel--mode-enabled "ext:ghostel-module" (term mode))
(declare-function ghostel-paste-string "ext:ghostel" (string))
(declare-function ghostel-send-key "ext:ghostel" (key-name &optional mods))
(declare-function gptel-send "ext:gptel" (&optional arg))
(declare-function term-in-char-mode "term" ())
(declare-function term-send-input "term" ())
(declare-function vterm--update "ext:vterm-module" (term key &optional shift meta ctrl))
(declare-function vterm-send-return "ext:vterm" ())
(declare-function vterm-send-string "ext:vterm" (string &optional paste-p))

(defcustom agent-q-diff-send-to-agent nil
  "What becomes of a message in the buffer in which an agent runs.

nil       Nothing: no message is put into the buffer.
`insert'  It is put at the agent's prompt.  You read it and press RET.
`send'    RET is pressed as well, when the agent shows the message.

A buffer is chosen by a value of its own, which `agent-q-diff-send-here' gives
it; a hook of the agent's mode can do so, too.  The default value chooses none.
If it is not nil, `agent-q-diff-send-here' takes it instead of asking.  Local
variables of files and directories cannot set it."
  :group 'agent-q-diff-agents
  :type '(choice (const :tag "No message is put there" nil)
                 (const :tag "It is put at the prompt" insert)
                 (const :tag "RET is pressed as well" send)))

;; A chat that is a file must not choose itself, even if all else in it is trusted.
(add-to-list 'ignored-local-variables 'agent-q-diff-send-to-agent)

(defvar-local agent-q-diff-send--program 'unknown
  "The program that was in front in this buffer's terminal when it was chosen.
See `agent-q-diff-send--program-in-front'.")

;;;; The text

(defun agent-q-diff-send--text-p (character)
  "Return non-nil if CHARACTER is text: a newline, a tab, or no control character.
Neither are raw bytes text, some of which control a terminal, nor what no other
program knows."
  (or (memq character '(?\n ?\t))
      (and (<= ?\s character #x10ffff)
           (not (<= #x7f character #x9f))
           (not (<= #xd800 character #xdfff)))))

(defun agent-q-diff-send--clean (text)
  "Return TEXT without control characters, properties, and newlines at its end."
  (string-trim-right
   (concat (seq-filter #'agent-q-diff-send--text-p (string-to-multibyte text)))
   "\n+"))

(defun agent-q-diff-send--copy (text)
  "Put TEXT into the kill ring and, if Emacs does so, into the clipboard.
Return the name of where it is, for a sentence."
  (kill-new (agent-q-diff-send--clean text))
  (if (and select-enable-clipboard interprogram-cut-function (display-graphic-p))
      "the clipboard"
    "the kill ring"))

;;;; Which buffers

(defun agent-q-diff-send--name (buffer)
  "Return the name of BUFFER for display."
  (agent-q-diff-visible (buffer-name buffer)))

(defun agent-q-diff-send--kind ()
  "Return which kind of buffer for agents the current one is, a symbol.
If it is none, return nil."
  (cond
   ;; It is a comint buffer as well.
   ((derived-mode-p 'agent-shell-mode) 'agent-shell)
   ((derived-mode-p 'vterm-mode) 'vterm)
   ((derived-mode-p 'eat-mode) 'eat)
   ((derived-mode-p 'ghostel-mode) 'ghostel)
   ((derived-mode-p 'term-mode) (if (term-in-char-mode) 'term-char 'term-line))
   ((derived-mode-p 'comint-mode) 'comint)
   ((bound-and-true-p gptel-mode) 'gptel)))

(defun agent-q-diff-send--how (buffer)
  "Return how a message is put into BUFFER: `insert', `send', or nil."
  (and (local-variable-p 'agent-q-diff-send-to-agent buffer)
       (car (memq (buffer-local-value 'agent-q-diff-send-to-agent buffer)
                  '(insert send)))))

(defun agent-q-diff-send--root ()
  "Return the root of the current project, an absolute directory name."
  ;; A terminal's directory changes, and the root is noted in a buffer.
  (let ((directory default-directory))
    (with-temp-buffer
      (setq default-directory directory)
      (or (agent-q-diff-reviewed-root)
          (agent-q-diff-guard-root)))))

(defun agent-q-diff-send--inside-p (buffer root)
  "Return non-nil if the directory of BUFFER is ROOT or below it."
  (when-let ((directory (buffer-local-value 'default-directory buffer)))
    (string-prefix-p root (file-name-as-directory
                           ;; No host is asked where a link leads.
                           (if (file-remote-p directory)
                               (expand-file-name directory)
                             (file-truename directory))))))

(defun agent-q-diff-send--dead-p (buffer)
  "Return non-nil if the agent in BUFFER has ended."
  (with-current-buffer buffer
    (and (not (eq 'gptel (agent-q-diff-send--kind)))
         (not (process-live-p (get-buffer-process buffer))))))

(defun agent-q-diff-send--chosen (root)
  "Return the buffers that were chosen for messages about the project at ROOT.
Those whose agents have ended are left out if there are others."
  (let ((chosen (seq-filter (lambda (buffer)
                              (and (agent-q-diff-send--how buffer)
                                   (agent-q-diff-send--inside-p buffer root)))
                            (buffer-list))))
    (or (seq-remove #'agent-q-diff-send--dead-p chosen)
        chosen)))

(defun agent-q-diff-send--pick (root)
  "Return the buffer for messages about the project at ROOT, or nil.
If several were chosen, ask."
  (let ((chosen (agent-q-diff-send--chosen root)))
    (if (cdr chosen)
        (get-buffer (completing-read "Send the message to: " (mapcar #'buffer-name chosen)
                                     nil t))
      (car chosen))))

(defun agent-q-diff-send--program-in-front ()
  "Return the program that has the terminal of this buffer.
That is nil for the one that Emacs began, the number of its process group for
one that a shell has begun, and `unknown' if it cannot be known."
  (condition-case nil
      (let ((front (process-running-child-p (get-buffer-process (current-buffer)))))
        (if (eq t front) 'unknown front))
    (error 'unknown)))

;;;; Terminals

(defun agent-q-diff-send--pastes-p (kind)
  "Return non-nil if the program in this terminal of KIND knows a paste from keys.
It has then turned on bracketed paste."
  (pcase kind
    ('vterm
     (let ((sent ""))
       (cl-letf (((symbol-function 'vterm--flush-output)
                  (lambda (output) (setq sent (concat sent output)))))
         (vterm--update vterm--term "<start_paste>")
         (vterm--update vterm--term "<end_paste>"))
       (equal "\e[200~\e[201~" sent)))
    ('eat
     (let ((function (eat-term-parameter eat-terminal 'input-function))
           (sent ""))
       (unwind-protect
           (progn
             (eat-term-set-parameter eat-terminal 'input-function
                                     (lambda (_terminal output)
                                       (setq sent (concat sent output))))
             (eat-term-send-string-as-yank eat-terminal '("")))
         (eat-term-set-parameter eat-terminal 'input-function function))
       (equal "\e[200~\e[201~" sent)))
    ('ghostel
     (ghostel--mode-enabled ghostel--term 2004))))

(defun agent-q-diff-send--paste (kind text)
  "Paste TEXT into this terminal of KIND."
  (when (and (string-match-p "[\n\t]" text)
             (not (agent-q-diff-send--pastes-p kind)))
    (user-error "The program there takes new lines and tabs for keys"))
  (pcase kind
    ('vterm (vterm-send-string text t))
    ('eat (eat-term-send-string-as-yank eat-terminal (list text)))
    ('ghostel (ghostel-paste-string text))
    ('term-char (process-send-string (get-buffer-process (current-buffer)) text))))

(defconst agent-q-diff-send--seconds 3
  "Number of seconds in which a program must show what was pasted.")

(defun agent-q-diff-send--count (text)
  "Return how often the beginning of TEXT can be seen in this terminal.
A sign for something that was pasted, as \"[Pasted text #1 +4 lines]\", counts,
too: agents show one in the place of a text with many lines."
  ;; A longer beginning may go on in the next line of the terminal.
  (let ((beginning (car (split-string (truncate-string-to-width (string-trim text) 16)
                                      " *[\n\t]")))
        (case-fold-search nil))
    (count-matches (concat "\\[Pasted \\|" (regexp-quote beginning))
                   (point-min) (point-max))))

(defun agent-q-diff-send--wait-for-more (buffer text n)
  "Wait until the beginning of TEXT can be seen more than N times in BUFFER.
Return nil if that does not happen, if the user quits, or if BUFFER is killed,
as when the program ends."
  (condition-case nil
      (let ((end (time-add nil agent-q-diff-send--seconds))
            (is-there nil))
        (while (and (buffer-live-p buffer)
                    (not (setq is-there (< n (with-current-buffer buffer
                                               (agent-q-diff-send--count text)))))
                    (time-less-p nil end))
          (accept-process-output nil 0.02))
        is-there)
    (quit nil)))

;;;; Buffers with text that is sent later

(defun agent-q-diff-send--gptel-start ()
  "Return where the text begins that gptel has not sent yet."
  (let ((position (point-max)))
    (while (and (> position (point-min))
                (not (get-text-property (1- position) 'gptel)))
      (setq position (previous-single-property-change position 'gptel nil (point-min))))
    position))

(defun agent-q-diff-send--typed (kind)
  "Return what the user has typed in this buffer of KIND and not sent, trimmed."
  (let ((text (buffer-substring-no-properties
               (if (eq kind 'gptel)
                   (agent-q-diff-send--gptel-start)
                 (process-mark (get-buffer-process (current-buffer))))
               (point-max))))
    (string-trim
     (if (and (eq kind 'gptel) (fboundp 'gptel-prompt-prefix-string))
         (string-remove-prefix (string-trim (gptel-prompt-prefix-string))
                               (string-trim text))
       text))))

(defun agent-q-diff-send--to-end ()
  "Go to the end of this buffer in all windows that show it."
  (goto-char (point-max))
  (dolist (window (get-buffer-window-list nil nil t))
    (set-window-point window (point-max))))

(defun agent-q-diff-send--insert (kind text)
  "Insert TEXT at the end of this buffer of KIND."
  (let ((is-after-text (not (string-empty-p (agent-q-diff-send--typed kind)))))
    (goto-char (point-max))
    (insert (if (and is-after-text (not (bolp))) "\n" "")
            text)
    (agent-q-diff-send--to-end)))

(defun agent-q-diff-send--press-return (kind)
  "Send what is at the prompt of this buffer of KIND."
  (pcase kind
    ('vterm (vterm-send-return))
    ('eat (eat-term-send-string eat-terminal "\r"))
    ('ghostel (ghostel-send-key "return"))
    ('term-char (process-send-string (get-buffer-process (current-buffer)) "\r"))
    ('term-line (term-send-input))
    ('comint (comint-send-input))
    ('gptel (gptel-send))))

;;;; Sending

(defun agent-q-diff-send--why-no-return (kind)
  "Return why RET must not be pressed in this buffer of KIND, or nil."
  (cond
   ((not (or (memq kind '(gptel agent-shell))
             (memq agent-q-diff-send--program
                   (list 'unknown (agent-q-diff-send--program-in-front)))))
    "another program runs there than when you chose it")
   ((and (memq kind '(comint term-line gptel agent-shell))
         (not (string-empty-p (agent-q-diff-send--typed kind))))
    "you have typed something there")))

(defun agent-q-diff-send--check (kind how)
  "Signal a `user-error' if nothing can be put into this buffer of KIND.
HOW is as `agent-q-diff-send--how' has it."
  (cond
   ((null kind) (user-error "It is no buffer of an agent"))
   ((null how) (user-error "It was not chosen by M-x agent-q-diff-send-here"))
   ((agent-q-diff-send--dead-p (current-buffer)) (user-error "Its process has ended"))))

(defun agent-q-diff-send--put-into-agent-shell (text is-return)
  "Insert TEXT into this buffer of agent-shell.
If IS-RETURN is non-nil, send it.  Return `sent' or `there', or `later' if the
agent is not ready, in which case agent-shell does it when it is."
  (let ((inserted (agent-shell-insert :text text :submit is-return :no-focus t
                                      :shell-buffer (current-buffer))))
    (unless is-return
      (agent-q-diff-send--to-end))
    (cond
     ((not (listp inserted)) 'later)
     (is-return 'sent)
     (t 'there))))

(defun agent-q-diff-send--put-and-press (kind text is-return)
  "Put TEXT at the prompt of this buffer of KIND.
If IS-RETURN is non-nil, press RET.  Return `sent' or `there', or else
`unseen'     if the program in a terminal does not show it, and got no RET;
a string     if RET failed, the reason."
  (let ((buffer (current-buffer))
        (n (and (memq kind '(vterm eat ghostel term-char))
                (agent-q-diff-send--count text))))
    (if n
        (agent-q-diff-send--paste kind text)
      (agent-q-diff-send--insert kind text))
    (cond
     ((and n (not (agent-q-diff-send--wait-for-more buffer text n))) 'unseen)
     ((not is-return) 'there)
     (t (condition-case error
            (progn
              (agent-q-diff-send--press-return kind)
              'sent)
          (error (agent-q-diff-visible (error-message-string error))))))))

(defun agent-q-diff-send--put (text)
  "Put TEXT at the prompt in the current buffer, and press RET if that was chosen.
Return a sentence that says what was done."
  (let* ((kind (agent-q-diff-send--kind))
         (how (agent-q-diff-send--how (current-buffer)))
         (name (agent-q-diff-send--name (current-buffer)))
         (why-not nil)
         (state nil))
    (agent-q-diff-send--check kind how)
    (when (eq how 'send)
      (setq why-not (agent-q-diff-send--why-no-return kind)))
    (let ((is-return (and (eq how 'send) (not why-not))))
      (setq state (if (eq kind 'agent-shell)
                      (agent-q-diff-send--put-into-agent-shell text is-return)
                    (agent-q-diff-send--put-and-press kind text is-return))))
    (when (stringp state)
      (setq why-not state))
    (cond
     ((eq state 'later) (format "The message will be in %s when its agent is ready" name))
     ((eq state 'sent) (format "The message was sent in %s" name))
     ((eq state 'unseen)
      (format "The message was pasted into %s, which does not show it, and got no RET; it is in %s"
              name (agent-q-diff-send--copy text)))
     (t (format "The message is at the prompt of %s%s"
                name
                (if why-not
                    (format ", but was not sent: %s" why-not)
                  (format "; %s sends it"
                          (if (eq kind 'gptel)
                              (substitute-command-keys "\\[gptel-send]")
                            "RET"))))))))

;;;###autoload
(defun agent-q-diff-send-text (text &optional buffer)
  "Put TEXT, a string, at the prompt of the agent in BUFFER.
By default that is the buffer that was chosen for the current project; if
there are several, ask.  Press RET if its own value of
`agent-q-diff-send-to-agent' is `send', the program there is the one that was
there when it was chosen, you have typed nothing there, and a terminal shows
TEXT.

Control characters but newline and tab are left out.  Return a sentence that
says what was done.  If that fails, copy TEXT to the kill ring and signal a
`user-error' that says so."
  (let ((clean (agent-q-diff-send--clean text)))
    (when (string-empty-p clean)
      (user-error "There is no text to send"))
    (condition-case error
        (progn
          (unless buffer
            (setq buffer (agent-q-diff-send--pick (agent-q-diff-send--root))))
          (unless (buffer-live-p buffer)
            (user-error "There is no such buffer"))
          (with-current-buffer buffer
            (agent-q-diff-base-widened
              (agent-q-diff-send--put clean))))
      ((error quit)
       (user-error "Failed to put the message into %s (%s); it is in %s"
                   (if (buffer-live-p buffer)
                       (agent-q-diff-send--name buffer)
                     "an agent's buffer")
                   (agent-q-diff-visible (error-message-string error))
                   (agent-q-diff-send--copy clean))))))

;;;; Commands

(defun agent-q-diff-send--message (root)
  "Return the message of the last finished review of the project at ROOT."
  (or (ignore-error agent-q-diff-no-repository
        (agent-q-diff-told-message root))
      (user-error "There is no message for an agent about %s"
                  (agent-q-diff-visible-name (abbreviate-file-name root)))))

(defun agent-q-diff-send--told (root)
  "Record that agents of the project at ROOT need not be told again.
Return words to append to what is said about that."
  ;; Nobody else can say what is told there if it is no project.
  (let ((told (ignore-error agent-q-diff-error
                (agent-q-diff-told-take root))))
    (pcase told
      ('nil "")
      ("" "; it was told before")
      (_ "; it counts as told, so no hook tells it again"))))

(defun agent-q-diff-send--report-copy (text root)
  "Copy TEXT, the message about the project at ROOT, and say so."
  (let ((n (length (split-string (agent-q-diff-send--clean text) "\n")))
        (where (agent-q-diff-send--copy text)))
    (message "The message (%d %s) is in %s%s"
             n (ngettext "line" "lines" n) where (agent-q-diff-send--told root))))

;;;###autoload
(defun agent-q-diff-copy-message ()
  "Copy the message of the last finished review of this project.
It is what the agent is to read: what was taken out and why, your comments and
questions.  Control characters are left out."
  (interactive)
  (let ((root (agent-q-diff-send--root)))
    (agent-q-diff-send--report-copy (agent-q-diff-send--message root) root)))

;;;###autoload
(defun agent-q-diff-send-message ()
  "Put the message of the last finished review at the prompt of the agent.
The agent runs in the buffer that \\[agent-q-diff-send-here] has chosen for this
project.  If there is none, offer to copy the message instead."
  (interactive)
  (let* ((root (agent-q-diff-send--root))
         (text (agent-q-diff-send--message root))
         (buffer (agent-q-diff-send--pick root)))
    (cond
     (buffer
      (let ((said (agent-q-diff-send-text text buffer)))
        (message "%s%s" said (agent-q-diff-send--told root))))
     ((y-or-n-p "No buffer is chosen (M-x agent-q-diff-send-here).  Copy the message? ")
      (agent-q-diff-send--report-copy text root))
     (t (user-error "The message was neither sent nor copied")))))

(defun agent-q-diff-send--read-how ()
  "Ask what becomes of a message in the current buffer."
  (pcase (car (read-multiple-choice
               "Messages for the agent here:"
               '((?i "insert" "put at the prompt; you press RET")
                 (?s "send" "put at the prompt, and RET is pressed")
                 (?n "none" "this buffer gets no messages"))))
    (?i 'insert)
    (?s 'send)))

;;;###autoload
(defun agent-q-diff-send-here (how)
  "Choose the current buffer for messages to the agent in it.
HOW is as `agent-q-diff-send-to-agent', of which it becomes this buffer's own
value.  Interactively, ask, unless that option has a default; with a prefix
argument, always ask.  The messages are those about the project in which the
buffer's directory is."
  (interactive
   (list (and (agent-q-diff-send--kind)
              (or (and (not current-prefix-arg)
                       (default-value 'agent-q-diff-send-to-agent))
                  (agent-q-diff-send--read-how)))))
  (unless (agent-q-diff-send--kind)
    (user-error "Messages can be put only into a terminal, a comint buffer, agent-shell or gptel"))
  (setq-local agent-q-diff-send-to-agent how
              agent-q-diff-send--program (agent-q-diff-send--program-in-front))
  (message (pcase how
             ('insert "Messages about %s are put at the prompt here; you press RET")
             ('send "Messages about %s are sent here, RET pressed")
             (_ "Messages about %s are not put here"))
           (agent-q-diff-visible-name (abbreviate-file-name (agent-q-diff-send--root)))))

(provide 'agent-q-diff-send)
;;; agent-q-diff-send.el ends here
