;;; agent-q-diff-send-test.el --- Messages for agents are copied or put into their buffers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a program is sent is what a real one reads: `cat', which writes all of
;; it to a file.  Terminals whose packages are not at hand are played by
;; functions with their names, which do as their sources do; vterm itself is in
;; e2e/terminals-test.el.

;;; Code:

(require 'cl-lib)
(require 'comint)
(require 'project)
(require 'term)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-send)

(defvar gptel-mode)
(defvar vterm--term)
(declare-function vterm--flush-output "ext:vterm" (output))
(declare-function vterm--update "ext:vterm-module" (term key &optional shift meta ctrl))
(defvar aqd-send-root nil "Root of the test's project.")

;;;; Agents

(defun aqd-send-file ()
  "Return the name of the file to which the test's agent writes what it reads."
  (expand-file-name "read" aqd-send-root))

(defun aqd-send-read ()
  "Return what the test's agent has read."
  (with-temp-buffer
    (insert-file-contents-literally (aqd-send-file))
    (decode-coding-string (buffer-string) 'utf-8-unix)))

(defun aqd-send-wait (predicate)
  "Wait until PREDICATE returns non-nil, and return that; fail after 20 seconds."
  (let ((end (time-add nil 20)))
    (catch 'done
      (while (time-less-p nil end)
        (when-let ((value (funcall predicate)))
          (throw 'done value))
        (accept-process-output nil 0.02))
      (ert-fail (list "waited in vain" (aqd-send-read) (buffer-string))))))

(defun aqd-send-wait-read (text)
  "Wait until the test's agent has read TEXT, and nothing else."
  (aqd-send-wait (lambda () (>= (length (aqd-send-read)) (length text))))
  (should (equal text (aqd-send-read))))

(defun aqd-send-type (text)
  "Send TEXT to the process of the current buffer, not by the package."
  (process-send-string (get-buffer-process (current-buffer)) text))

(defmacro aqd-send-with-project (&rest body)
  "Run BODY in an empty project without any buffer for messages."
  (declare (indent 0) (debug t))
  `(let* ((aqd-send-root (file-name-as-directory
                          (file-truename (make-temp-file "aqd-send" t))))
          (default-directory aqd-send-root)
          (agent-q-diff-project-root nil)
          (project-find-functions
           (list (lambda (_) (cons 'transient aqd-send-root))))
          (kill-ring nil)
          (kill-ring-yank-pointer nil)
          (interprogram-cut-function nil)
          (before (buffer-list)))
     (write-region "" nil (aqd-send-file) nil 'silent)
     (unwind-protect (save-window-excursion ,@body)
       (dolist (buffer (seq-difference (buffer-list) before))
         (when-let ((process (get-buffer-process buffer)))
           (set-process-query-on-exit-flag process nil)
           (delete-process process))
         (with-current-buffer buffer
           (set-buffer-modified-p nil))
         (kill-buffer buffer))
       (delete-directory aqd-send-root t))))

(defconst aqd-send-script "printf ready; exec cat >> read"
  "Shell script that says that it is ready, and writes what it reads to a file.")

(defun aqd-send-program (kind &optional script)
  "Return a buffer of KIND, `comint' or `term', in which a program has begun.
It is the shell's SCRIPT, by default `aqd-send-script'."
  (let ((script (or script aqd-send-script)))
    (with-current-buffer
        (pcase kind
          ('comint (make-comint-in-buffer "agent" "*agent*" "sh" nil "-c" script))
          ('term (set-buffer (make-term "agent" "sh" nil "-c" script))
                 (term-mode)
                 (term-line-mode)
                 (current-buffer)))
      (aqd-send-wait (lambda ()
                       (save-excursion
                         (goto-char (point-min))
                         (search-forward "ready" nil t))))
      (current-buffer))))

(defun aqd-send-choose (how)
  "Choose the current buffer for messages, HOW."
  (let ((inhibit-message t))
    (agent-q-diff-send-here how)))

(defmacro aqd-send-in (buffer how &rest body)
  "Run BODY in BUFFER, which was chosen for messages, HOW."
  (declare (indent 2) (debug t))
  `(with-current-buffer ,buffer
     (aqd-send-choose ,how)
     ,@body))

(defun aqd-send-error (function)
  "Call FUNCTION and return what the `user-error' says that it signals."
  (cadr (should-error (funcall function) :type 'user-error)))

(defmacro aqd-send-with-message (text &rest body)
  "Run BODY while TEXT is the message of the last finished review."
  (declare (indent 1) (debug t))
  `(cl-letf (((symbol-function 'agent-q-diff-told-message)
              (lambda (root)
                (should (equal aqd-send-root root))
                ,text)))
     ,@body))

;;;; The text

(ert-deftest aqd-send-leaves-out-all-but-text ()
  (pcase-dolist (`(,text . ,clean)
                 '(("a\tb\nc" . "a\tb\nc")
                   ("stop\C-c\C-d\C-z" . "stop")
                   ("a\r\nb\rc\r" . "a\nbc")
                   ("a\e[201~rm -rf ~\r" . "a[201~rm -rf ~")
                   ("a\u009b201~b" . "a201~b")
                   ("a\u0085b\u008dc\u0080\u009f" . "abc")
                   ("del\C-?\C-?\C-h" . "del")
                   ("nul\0\C-a\C-k" . "nul")
                   ("ends\n\n\r\n" . "ends")
                   ("für 漢字 🎉 a\u00a0b" . "für 漢字 🎉 a\u00a0b")
                   ("" . "")))
    (should (equal clean (agent-q-diff-send--clean text))))
  (should (equal "ab" (agent-q-diff-send--clean (string ?a #x3fff9b #x3fffff #x110000 #xd800 ?b))))
  ;; Raw bytes: the one with 8 bits is what ESC [ is with 7.
  (should (equal "a201~" (agent-q-diff-send--clean "a\233201~")))
  (should (equal "a" (agent-q-diff-send--clean "a\351")))
  (should (equal-including-properties
           "a" (agent-q-diff-send--clean (propertize "a" 'read-only t 'field 'output)))))

;;;; A program that reads lines

(ert-deftest aqd-send-inserts-and-presses-nothing ()
  (dolist (kind '(comint term))
    (aqd-send-with-project
      (aqd-send-in (aqd-send-program kind) 'insert
        (should (equal "The message is at the prompt of *agent*; RET sends it"
                       (agent-q-diff-send-text "Please\e\n\trename it\r\n")))
        (should (string-suffix-p "readyPlease\n\trename it" (buffer-string)))
        (should (eobp))
        ;; It reads what comes by another way, and that is all.
        (aqd-send-type "mark\n")
        (aqd-send-wait-read "mark\n")
        (goto-char (point-max))
        (if (eq kind 'comint) (comint-send-input) (term-send-input))
        (aqd-send-wait-read "mark\nPlease\n\trename it\n")))))

(ert-deftest aqd-send-presses-return-if-that-was-chosen ()
  (dolist (kind '(comint term))
    (aqd-send-with-project
      (aqd-send-in (aqd-send-program kind) 'send
        (should (equal "The message was sent in *agent*"
                       (agent-q-diff-send-text "Please\nrename it")))
        (aqd-send-wait-read "Please\nrename it\n")))))

(ert-deftest aqd-send-keeps-what-was-typed-and-does-not-send-it ()
  (dolist (kind '(comint term))
    (aqd-send-with-project
      (aqd-send-in (aqd-send-program kind) 'send
        (goto-char (point-max))
        (insert "half a tho")
        (should (equal "The message is at the prompt of *agent*, but was not sent: \
you have typed something there"
                       (agent-q-diff-send-text "Please")))
        (should (string-suffix-p "readyhalf a tho\nPlease" (buffer-string)))
        (aqd-send-type "mark\n")
        (aqd-send-wait-read "mark\n")))))

(ert-deftest aqd-send-shows-the-prompt-where-the-buffer-is-shown ()
  "So that RET there sends the message, and not a line that was sent before."
  (aqd-send-with-project
    (aqd-send-in (aqd-send-program 'comint) 'insert
      (let ((window (display-buffer (current-buffer) '(display-buffer-pop-up-window)))
            (selected (selected-window)))
        (should-not (eq window selected))
        (set-window-point window (point-min))
        (agent-q-diff-send-text "Please")
        (should (= (point-max) (window-point window)))
        (should (eq selected (selected-window)))))))

(ert-deftest aqd-send-finds-the-prompt-in-a-narrowed-buffer ()
  (aqd-send-with-project
    (aqd-send-in (aqd-send-program 'comint) 'insert
      (narrow-to-region (point-min) (1+ (point-min)))
      (agent-q-diff-send-text "Please")
      (should (equal "r" (buffer-string)))
      (widen)
      (should (string-suffix-p "readyPlease" (buffer-string))))))

(ert-deftest aqd-send-does-not-press-return-for-another-program ()
  "A shell that has come back would run what an agent wrote."
  (aqd-send-with-project
    (let ((buffer (aqd-send-program
                   'comint
                   "set -m; sh -c 'printf ready; read line; exit'; printf over; exec cat >> read")))
      (aqd-send-in buffer 'send
        (should (natnump agent-q-diff-send--program))
        (aqd-send-type "end\n")
        (aqd-send-wait (lambda () (string-match-p "over" (buffer-string))))
        (should (equal "The message is at the prompt of *agent*, but was not sent: \
another program runs there than when you chose it"
                       (agent-q-diff-send-text "touch x")))
        (aqd-send-type "mark\n")
        (aqd-send-wait-read "mark\n")))))

;;;; What cannot be sent is copied

(defun aqd-send-fails (why &optional text)
  "Check that TEXT, or else \"Please\\nrename\", is copied instead of sent, for WHY."
  (let ((text (or text "Please\nrename"))
        (before (buffer-string)))
    (should (equal (format "Failed to put the message into *agent* (%s); it is in the kill ring"
                           why)
                   (aqd-send-error (lambda ()
                                     (agent-q-diff-send-text text (current-buffer))))))
    (should (equal (agent-q-diff-send--clean text) (current-kill 0)))
    (should (equal before (buffer-string)))))

(ert-deftest aqd-send-copies-if-nothing-was-chosen ()
  (aqd-send-with-project
    (with-current-buffer (aqd-send-program 'comint)
      (aqd-send-fails "It was not chosen by M-x agent-q-diff-send-here")
      ;; Nor does the default choose a buffer.
      (let ((agent-q-diff-send-to-agent 'send))
        (should-not (local-variable-p 'agent-q-diff-send-to-agent))
        (aqd-send-fails "It was not chosen by M-x agent-q-diff-send-here"))
      (setq-local agent-q-diff-send-to-agent t)
      (aqd-send-fails "It was not chosen by M-x agent-q-diff-send-here")
      (should (equal "Failed to put the message into an agent's buffer (There is no such buffer); \
it is in the kill ring"
                     (aqd-send-error (lambda () (agent-q-diff-send-text "x"))))))))

(ert-deftest aqd-send-copies-if-the-process-has-ended ()
  (dolist (kind '(comint term))
    (aqd-send-with-project
      (aqd-send-in (aqd-send-program kind) 'insert
        (let ((process (get-buffer-process (current-buffer))))
          (delete-process process)
          (aqd-send-wait (lambda () (not (process-live-p process)))))
        (aqd-send-fails "Its process has ended" "a\eb\nc")))))

(ert-deftest aqd-send-copies-if-the-buffer-is-read-only ()
  (dolist (how '(insert send))
    (aqd-send-with-project
      (aqd-send-in (aqd-send-program 'comint) how
        (setq buffer-read-only t)
        (aqd-send-fails "Buffer is read-only: #<buffer *agent*>")
        (aqd-send-type "mark\n")
        (aqd-send-wait-read "mark\n")))))

(ert-deftest aqd-send-copies-if-the-buffer-was-killed ()
  (aqd-send-with-project
    (let ((buffer (generate-new-buffer "gone")))
      (kill-buffer buffer)
      (should (string-match-p "There is no such buffer"
                              (aqd-send-error
                               (lambda () (agent-q-diff-send-text "a\nb" buffer)))))
      (should (equal "a\nb" (current-kill 0))))))

(ert-deftest aqd-send-copies-if-the-user-quits ()
  (aqd-send-with-project
    (aqd-send-in (aqd-send-program 'comint) 'insert
      (add-hook 'before-change-functions (lambda (&rest _) (signal 'quit nil)) nil t)
      (aqd-send-fails "Quit")
      ;; Also if asked which buffer.
      (with-temp-buffer
        (setq-local agent-q-diff-send-to-agent 'insert)
        (cl-letf (((symbol-function 'completing-read) (lambda (&rest _) (signal 'quit nil)))
                  ((symbol-function 'agent-q-diff-send--dead-p) #'ignore))
          (should (equal "Failed to put the message into an agent's buffer (Quit); \
it is in the kill ring"
                         (aqd-send-error (lambda () (agent-q-diff-send-text "chosen"))))))
        (should (equal "chosen" (current-kill 0)))))))

(ert-deftest aqd-send-says-so-if-only-return-failed ()
  (aqd-send-with-project
    (aqd-send-in (aqd-send-program 'comint) 'send
      (setq-local comint-input-sender (lambda (&rest _) (error "No way")))
      (should (equal "The message is at the prompt of *agent*, but was not sent: No way"
                     (agent-q-diff-send-text "Please"))))))

(ert-deftest aqd-send-sends-no-empty-text ()
  (aqd-send-with-project
    (aqd-send-in (aqd-send-program 'comint) 'send
      (should (equal "There is no text to send"
                     (aqd-send-error (lambda () (agent-q-diff-send-text "\e\n\r\n"))))))))

;;;; A program that reads keys

(defconst aqd-send-keys-script
  "stty raw echo; printf '\\033[?2004hready'; exec cat >> read"
  "Shell script that reads keys, shows them, and writes them to a file.
It has asked for bracketed paste.")

(ert-deftest aqd-send-to-a-terminal-without-bracketed-paste-sends-one-line ()
  "As `term-mode' is, where each character goes to the program."
  (aqd-send-with-project
    (aqd-send-in (aqd-send-program 'term aqd-send-keys-script) 'insert
      (term-char-mode)
      (should (equal "The message is at the prompt of *agent*; RET sends it"
                     (agent-q-diff-send-text "Please\r\e[201~\n")))
      (aqd-send-wait-read "Please[201~")
      (aqd-send-fails "The program there takes new lines and tabs for keys")
      (aqd-send-fails "The program there takes new lines and tabs for keys" "a\tb")
      (aqd-send-choose 'send)
      (should (equal "The message was sent in *agent*" (agent-q-diff-send-text "x")))
      (aqd-send-wait-read "Please[201~x\r")
      (aqd-send-fails "The program there takes new lines and tabs for keys"))))

(defvar aqd-send-sent nil "What a terminal that a test plays has sent to its program.")
(defvar aqd-send-is-bracketed nil "Non-nil if its program has asked for bracketed paste.")
(defvar aqd-send-output nil "Function by which eat sends.")

(defvar aqd-send-shown nil
  "What that program shows of what it is sent: a string instead, or t for all.")

(defun aqd-send-out (string)
  "Send STRING to the program of the terminal that is played."
  (setq aqd-send-sent (concat aqd-send-sent string))
  (goto-char (point-max))
  (insert (if (stringp aqd-send-shown) aqd-send-shown string)))

(defun aqd-send-in-brackets (text)
  "Return TEXT as a terminal pastes it."
  (if aqd-send-is-bracketed (concat "\e[200~" text "\e[201~") text))

(define-derived-mode vterm-mode fundamental-mode "VTerm" "Play vterm's.")
(define-derived-mode eat-mode fundamental-mode "Eat" "Play eat's.")
(define-derived-mode ghostel-mode fundamental-mode "Ghostel" "Play ghostel's.")

(defmacro aqd-send-playing (kind &rest body)
  "Run BODY in a chosen buffer of KIND, with its functions played by ours."
  (declare (indent 1) (debug t))
  `(aqd-send-with-project
     (let ((buffer (aqd-send-program 'comint))
           (aqd-send-sent "")
           (aqd-send-is-bracketed t)
           (aqd-send-shown t)
           (aqd-send-output (lambda (_terminal string) (aqd-send-out string))))
       (with-current-buffer buffer
         (funcall ,kind)
         (set (make-local-variable 'vterm--term) 'term)
         (set (make-local-variable 'eat-terminal) 'term)
         (set (make-local-variable 'ghostel--term) 'term)
         (cl-letf (((symbol-function 'vterm--flush-output) #'aqd-send-out)
                   ((symbol-function 'vterm--update)
                    (lambda (_term key &rest _)
                      (pcase key
                        ((or "<start_paste>" "<end_paste>")
                         (when aqd-send-is-bracketed
                           (funcall 'vterm--flush-output
                                    (if (equal key "<start_paste>") "\e[200~" "\e[201~"))))
                        (_ (funcall 'vterm--flush-output key)))))
                   ((symbol-function 'vterm-send-string)
                    (lambda (string &optional is-paste)
                      (when is-paste (vterm--update vterm--term "<start_paste>"))
                      (seq-do (lambda (character)
                                (vterm--update vterm--term (string character)))
                              string)
                      (when is-paste (vterm--update vterm--term "<end_paste>"))))
                   ((symbol-function 'vterm-send-return) (lambda () (aqd-send-out "\r")))
                   ((symbol-function 'eat-term-parameter)
                    (lambda (_terminal _parameter) aqd-send-output))
                   ((symbol-function 'eat-term-set-parameter)
                    (lambda (_terminal _parameter value) (setq aqd-send-output value)))
                   ((symbol-function 'eat-term-send-string)
                    (lambda (terminal string) (funcall aqd-send-output terminal string)))
                   ((symbol-function 'eat-term-send-string-as-yank)
                    (lambda (terminal strings)
                      (funcall aqd-send-output terminal
                               (aqd-send-in-brackets (apply #'concat strings)))))
                   ((symbol-function 'ghostel--mode-enabled)
                    (lambda (_term mode) (and (eql mode 2004) aqd-send-is-bracketed)))
                   ((symbol-function 'ghostel-paste-string)
                    (lambda (string) (aqd-send-out (aqd-send-in-brackets string))))
                   ((symbol-function 'ghostel-send-key)
                    (lambda (key &rest _)
                      (should (equal key "return"))
                      (aqd-send-out "\r"))))
           (aqd-send-choose 'insert)
           ,@body)))))

(ert-deftest aqd-send-pastes-into-terminals ()
  (dolist (kind '(vterm-mode eat-mode ghostel-mode))
    (ert-info ((symbol-name kind))
      (aqd-send-playing kind
        (should (equal "The message is at the prompt of *agent*; RET sends it"
                       (agent-q-diff-send-text "a\e[201~\r\n\tb\u009b201~\n")))
        (should (equal "\e[200~a[201~\n\tb201~\e[201~" aqd-send-sent))
        (setq aqd-send-sent "")
        (aqd-send-choose 'send)
        (should (equal "The message was sent in *agent*" (agent-q-diff-send-text "a\nb")))
        (should (equal "\e[200~a\nb\e[201~\r" aqd-send-sent))))))

(ert-deftest aqd-send-presses-return-only-where-the-message-is-shown ()
  "An agent that asks something shows no message, and RET would answer it."
  (dolist (kind '(vterm-mode eat-mode ghostel-mode))
    (ert-info ((symbol-name kind))
      (aqd-send-playing kind
        (insert "Earlier: Please rename. [Pasted text #1 +4 lines] Allow? 1. Yes")
        (dolist (how '(insert send))
          (aqd-send-choose how)
          (setq aqd-send-shown ""
                aqd-send-sent ""
                kill-ring nil)
          (cl-letf (((symbol-value 'agent-q-diff-send--seconds) 0.05))
            (should (equal "The message was pasted into *agent*, which does not show it, \
and got no RET; it is in the kill ring"
                           (agent-q-diff-send-text "Please rename\nit"))))
          (should (equal "\e[200~Please rename\nit\e[201~" aqd-send-sent))
          (should (equal "Please rename\nit" (current-kill 0)))
          (cl-letf (((symbol-function 'accept-process-output)
                     (lambda (&rest _) (signal 'quit nil))))
            (should (string-match-p "which does not show it" (agent-q-diff-send-text "Please")))))
        ;; Agents show a long text as one sign.
        (dolist (sign '("[Pasted text #2 +4 lines]" "[Pasted Content 1203 chars]"))
          (setq aqd-send-shown sign
                aqd-send-sent "")
          (should (equal "The message was sent in *agent*"
                         (agent-q-diff-send-text "Please rename\nit")))
          (should (equal "\e[200~Please rename\nit\e[201~\r" aqd-send-sent)))))))

(ert-deftest aqd-send-presses-no-return-if-the-terminal-is-gone ()
  "As when its program ends meanwhile, and vterm kills the buffer."
  (aqd-send-playing 'vterm-mode
    (aqd-send-choose 'send)
    (setq aqd-send-shown "")
    (let ((terminal (current-buffer))
          (n-pressed 0))
      (with-temp-buffer
        (insert "Please")
        (cl-letf (((symbol-function 'accept-process-output)
                   (lambda (&rest _)
                     (let ((kill-buffer-query-functions nil))
                       (kill-buffer terminal))))
                  ((symbol-function 'vterm-send-return) (lambda () (cl-incf n-pressed))))
          (should (string-match-p "in the kill ring\\'"
                                  (agent-q-diff-send-text "Please\nrename" terminal)))))
      (should (= 0 n-pressed))
      (should (equal "Please\nrename" (current-kill 0))))))

(ert-deftest aqd-send-pastes-no-lines-where-each-would-be-sent ()
  (dolist (kind '(vterm-mode eat-mode ghostel-mode))
    (ert-info ((symbol-name kind))
      (aqd-send-playing kind
        (setq aqd-send-is-bracketed nil)
        (dolist (how '(insert send))
          (aqd-send-choose how)
          (aqd-send-fails "The program there takes new lines and tabs for keys"))
        (should (equal "" aqd-send-sent))
        (aqd-send-choose 'insert)
        (agent-q-diff-send-text "one line")
        (should (equal "one line" aqd-send-sent))))))

;;;; A chat

(ert-deftest aqd-send-to-a-chat-inserts-at-its-end ()
  "As in gptel, where a property marks what the model has said."
  (aqd-send-with-project
    (cl-letf (((symbol-function 'gptel-prompt-prefix-string) (lambda () "### "))
              ((symbol-function 'gptel-send)
               (lambda (&optional _)
                 (interactive)
                 (should (eobp))
                 (setq aqd-send-sent (buffer-string)))))
      (with-current-buffer (get-buffer-create "*agent*")
        (setq-local gptel-mode t)
        (local-set-key (kbd "C-c RET") 'gptel-send)
        (insert "### Hi\n" (propertize "Hello\n" 'gptel 'response) "\n### ")
        (goto-char (point-min))
        (aqd-send-choose 'insert)
        (switch-to-buffer (current-buffer))
        (should (equal "The message is at the prompt of *agent*; C-c RET sends it"
                       (agent-q-diff-send-text "Please\r\nrename")))
        (should (equal "### Hi\nHello\n\n### Please\nrename" (buffer-string)))
        (should-not (get-text-property (1- (point-max)) 'gptel))
        ;; What was inserted counts as typed.
        (aqd-send-choose 'send)
        (should (string-match-p "you have typed something there"
                                (agent-q-diff-send-text "More")))
        (goto-char (point-max))
        (insert (propertize "\nYes\n" 'gptel 'response) "\n### ")
        (should (equal "The message was sent in *agent*" (agent-q-diff-send-text "And this")))
        (should (string-suffix-p "\nYes\n\n### And this" aqd-send-sent))))))

;;;; Which buffer

(ert-deftest aqd-send-here-asks-how ()
  (aqd-send-with-project
    (with-current-buffer (aqd-send-program 'comint)
      (pcase-dolist (`(,key ,how ,said)
                     '((?i insert "are put at the prompt here; you press RET")
                       (?s send "are sent here, RET pressed")
                       (?n nil "are not put here")))
        (cl-letf (((symbol-function 'read-multiple-choice)
                   (lambda (_prompt choices) (assq key choices))))
          (should (equal (format "Messages about %s %s" (abbreviate-file-name aqd-send-root) said)
                         (aqd-said (call-interactively #'agent-q-diff-send-here))))
          (should (eq how agent-q-diff-send-to-agent))
          (should-not (default-value 'agent-q-diff-send-to-agent))))
      ;; The option's default answers instead.
      (let ((asked 0))
        (cl-letf (((default-value 'agent-q-diff-send-to-agent) 'send)
                  ((symbol-function 'read-multiple-choice)
                   (lambda (&rest _) (setq asked (1+ asked)) '(?i))))
          (let ((inhibit-message t))
            (call-interactively #'agent-q-diff-send-here))
          (should (equal '(0 send) (list asked agent-q-diff-send-to-agent)))
          (let ((current-prefix-arg '(4)))
            (let ((inhibit-message t))
              (call-interactively #'agent-q-diff-send-here)))
          (should (equal '(1 insert) (list asked agent-q-diff-send-to-agent))))))
    (with-temp-buffer
      (should (equal "Messages can be put only into a terminal, a comint buffer, agent-shell or gptel"
                     (aqd-send-error
                      (lambda () (call-interactively #'agent-q-diff-send-here)))))
      (should-not (local-variable-p 'agent-q-diff-send-to-agent)))))

(ert-deftest aqd-send-local-variables-of-a-file-do-not-choose ()
  (dolist (enabled '(t :all :safe))
    (aqd-send-with-project
      (let ((file (expand-file-name "chat.txt" aqd-send-root))
            (enable-local-variables enabled)
            (enable-dir-local-variables t)
            (asked '()))
        (write-region "Hi\n\nLocal Variables:\nagent-q-diff-send-to-agent: send\nfill-column: 33\nEnd:\n"
                      nil file nil 'silent)
        (write-region "((nil . ((agent-q-diff-send-to-agent . send) (tab-width . 3))))"
                      nil (expand-file-name ".dir-locals.el" aqd-send-root) nil 'silent)
        (cl-letf (((symbol-function 'hack-local-variables-confirm)
                   (lambda (all &rest _) (setq asked all) t)))
          (with-current-buffer (find-file-noselect file)
            (should (= 33 fill-column))
            (should (= 3 tab-width))
            (should-not (local-variable-p 'agent-q-diff-send-to-agent))
            (should-not asked)
            (should-not (agent-q-diff-send--chosen aqd-send-root))))))))

(ert-deftest aqd-send-chooses-among-the-buffers-of-the-project ()
  (aqd-send-with-project
    (let ((below (expand-file-name "below/" aqd-send-root))
          (beside (concat (directory-file-name aqd-send-root) "-2/"))
          (buffers (mapcar #'generate-new-buffer '("one" "two" "three" "far")))
          (asked nil))
      (cl-letf (((symbol-function 'agent-q-diff-send--kind) (lambda () 'gptel))
                ((symbol-function 'completing-read)
                 (lambda (_prompt names &rest _) (setq asked names) "two")))
        (cl-mapc (lambda (buffer directory)
                   (with-current-buffer buffer
                     (setq default-directory directory)))
                 buffers (list below aqd-send-root beside
                               (concat "/ssh:nowhere.invalid:" aqd-send-root)))
        (should-not (agent-q-diff-send--pick aqd-send-root))
        (dolist (buffer (list (nth 0 buffers) (nth 2 buffers) (nth 3 buffers)))
          (with-current-buffer buffer
            (setq-local agent-q-diff-send-to-agent 'insert)))
        (should (eq (nth 0 buffers) (agent-q-diff-send--pick aqd-send-root)))
        (should-not asked)
        (with-current-buffer (nth 1 buffers)
          (setq-local agent-q-diff-send-to-agent 'insert))
        (should (eq (nth 1 buffers) (agent-q-diff-send--pick aqd-send-root)))
        (should (equal '("one" "two") (sort asked #'string<)))))))

(ert-deftest aqd-send-prefers-a-buffer-whose-process-lives ()
  (aqd-send-with-project
    (let ((dead (aqd-send-program 'comint))
          (alive nil))
      (aqd-send-in dead 'insert
        (delete-process (get-buffer-process (current-buffer)))
        (should (eq dead (agent-q-diff-send--pick aqd-send-root)))
        (rename-buffer "*dead*"))
      (setq alive (aqd-send-program 'comint))
      (aqd-send-in alive 'insert
        (should (eq alive (agent-q-diff-send--pick aqd-send-root)))))))

;;;; Commands

(ert-deftest aqd-send-copy-message-copies-it ()
  (aqd-send-with-project
    (aqd-send-with-message "Please\e[31m\nrename\n"
      (should (equal "The message (2 lines) is in the kill ring"
                     (aqd-said (agent-q-diff-copy-message))))
      (should (equal "Please[31m\nrename" (current-kill 0))))
    (aqd-send-with-message "Please"
      (let* ((clipboard nil)
             (interprogram-cut-function (lambda (text) (setq clipboard text))))
        (cl-letf (((symbol-function 'display-graphic-p) #'always))
          (should (equal "The message (1 line) is in the clipboard"
                         (aqd-said (agent-q-diff-copy-message))))
          (should (equal "Please" clipboard))
          (let ((select-enable-clipboard nil))
            (should (equal "The message (1 line) is in the kill ring"
                           (aqd-said (agent-q-diff-copy-message))))))))))

(ert-deftest aqd-send-commands-say-that-there-is-no-message ()
  (aqd-send-with-project
    (dolist (function (list #'ignore #'agent-q-diff-told-message))
      (cl-letf (((symbol-function 'agent-q-diff-told-message) (indirect-function function)))
        (dolist (command '(agent-q-diff-copy-message agent-q-diff-send-message))
          (should (equal (format "There is no message for an agent about %s"
                                 (abbreviate-file-name aqd-send-root))
                         (aqd-send-error command))))))
    (should-not kill-ring)))

(ert-deftest aqd-send-message-puts-it-into-the-chosen-buffer ()
  (aqd-send-with-project
    (aqd-send-with-message "Please\nrename"
      (aqd-send-in (aqd-send-program 'comint) 'insert
        (with-temp-buffer
          (should (equal "The message is at the prompt of *agent*; RET sends it"
                         (aqd-said (agent-q-diff-send-message)))))
        (should (string-suffix-p "readyPlease\nrename" (buffer-string)))
        (should-not kill-ring)))))

(ert-deftest aqd-send-message-offers-to-copy-it ()
  (aqd-send-with-project
    (aqd-send-with-message "Please\nrename"
      (let ((answer nil))
        (cl-letf (((symbol-function 'y-or-n-p)
                   (lambda (prompt)
                     (should (equal "No buffer is chosen (M-x agent-q-diff-send-here).  \
Copy the message? "
                                    prompt))
                     answer)))
          (should (equal "The message was neither sent nor copied"
                         (aqd-send-error #'agent-q-diff-send-message)))
          (should-not kill-ring)
          (setq answer t)
          (should (equal "The message (2 lines) is in the kill ring"
                         (aqd-said (agent-q-diff-send-message))))
          (should (equal "Please\nrename" (current-kill 0))))))))

(provide 'agent-q-diff-send-test)
;;; agent-q-diff-send-test.el ends here
