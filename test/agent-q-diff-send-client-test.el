;;; agent-q-diff-send-client-test.el --- Messages put into agent-shell and gptel themselves  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The real agent-shell runs an agent of a few lines of Python, which speaks
;; the Agent Client Protocol and writes each prompt to a file.  The real gptel
;; has a chat whose requests are counted and not made.
;;
;; Both are in no registry that the tests reach.  They are looked for in the
;; folder that the environment variable AGENT_Q_DIFF_CLIENTS names.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'map)
(require 'agent-q-diff-send)

(defvar agent-shell-session-strategy)
(defvar agent-shell-show-welcome-message)
(defvar agent-shell-transcript-file-path-function)
(defvar gptel-prompt-prefix-alist)
(declare-function agent-shell-make-agent-config "ext:agent-shell" (&rest arguments))
(declare-function agent-shell--make-acp-client "ext:agent-shell" (&rest arguments))
(declare-function agent-shell--state "ext:agent-shell" ())
(declare-function agent-shell--start "ext:agent-shell" (&rest arguments))
(declare-function gptel-mode "ext:gptel" (&optional arg))
(declare-function shell-maker-busy "ext:shell-maker" ())
(declare-function shell-maker-submit "ext:shell-maker" (&rest arguments))

(defconst send-client-wanted
  "agent-shell 0.74.3 of xenodium/agent-shell, with xenodium/shell-maker ab4f8eb and \
xenodium/acp.el 4d7d58d; gptel of karthink/gptel cd2cd73 with magit/transient 0ec75dc, \
emacs-compat/compat 1f3d759 and tarsius/cond-let c48600d"
  "What these tests are for.")

(defun send-client-wait (what function)
  "Wait until FUNCTION returns non-nil; WHAT is for the message of a failure."
  (with-timeout (20 (ert-fail (list 'waited-in-vain-for what
                               (buffer-substring-no-properties (point-min) (point-max)))))
    (while (not (funcall function))
      (accept-process-output nil 0.01))))

(defun send-client-choose (how)
  "Choose the current buffer for messages, HOW."
  (let ((inhibit-message t))
    (agent-q-diff-send-here how)))

;;;; agent-shell

(defconst send-client-agent "
import json, os, sys
def say(**message):
    print(json.dumps(dict(jsonrpc='2.0', **message)), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    method = request.get('method')
    if 'id' not in request or method is None:
        continue
    result = {}
    if method == 'initialize':
        result = dict(protocolVersion=1, agentCapabilities={}, authMethods=[])
    elif method == 'session/new':
        result = dict(sessionId='s')
    elif method == 'session/prompt':
        with open('prompts', 'a') as file:
            file.write(json.dumps([part['text'] for part in request['params']['prompt']
                                   if part['type'] == 'text']) + '\\n')
        say(method='session/update', params=dict(sessionId='s', update=dict(
            sessionUpdate='agent_message_chunk', content=dict(type='text', text='Thank you.'))))
        while not os.path.exists('go'):
            import time; time.sleep(0.01)
        result = dict(stopReason='end_turn')
    say(id=request['id'], result=result)
"
  "Program of an agent that writes each prompt to a file, and waits for a file.")

(defvar send-client-folder nil "The folder of the test's project.")

(defun send-client-file (name)
  "Return the name of the test's file NAME."
  (expand-file-name name send-client-folder))

(defun send-client-prompts ()
  "Return the prompts that the agent has read, each as one string."
  (and (file-exists-p (send-client-file "prompts"))
       (with-temp-buffer
         (insert-file-contents (send-client-file "prompts"))
         (cl-loop while (not (eobp))
                  collect (string-join (json-parse-buffer :array-type 'list))
                  do (forward-line)))))

(defmacro send-client-with-agent-shell (&rest body)
  "Run BODY in a buffer of agent-shell, with the test's agent in it."
  (declare (indent 0) (debug t))
  `(progn
     (aqd-load-client send-client-wanted 'agent-shell "compat" "acp" "shell-maker" "agent-shell-0.74")
     (let* ((send-client-folder (file-name-as-directory
                                 (file-truename (make-temp-file "aqd-send" t))))
            (default-directory send-client-folder)
            (user-emacs-directory send-client-folder)
            (agent-shell-session-strategy 'new)
            (agent-shell-show-welcome-message nil)
            (agent-shell-transcript-file-path-function nil)
            (kill-ring nil)
            (before (buffer-list))
            (shell nil))
       (write-region send-client-agent nil (send-client-file "agent.py") nil 'silent)
       (write-region "" nil (send-client-file "go") nil 'silent)
       (unwind-protect
           (save-window-excursion
             (let ((inhibit-message t))
               (setq shell (agent-shell--start
                            :config (agent-shell-make-agent-config
                                     :identifier 'robin :mode-line-name "Robin"
                                     :buffer-name "Robin" :shell-prompt "Robin> "
                                     :shell-prompt-regexp "Robin> "
                                     :client-maker
                                     (lambda (buffer)
                                       (agent-shell--make-acp-client
                                        :command "python3"
                                        :command-params (list (send-client-file "agent.py"))
                                        :context-buffer buffer)))
                            :no-focus t :new-session t)))
             (with-current-buffer shell
               ,@body))
         (dolist (buffer (seq-difference (buffer-list) before))
           (when (buffer-live-p buffer)
             (when-let ((process (get-buffer-process buffer)))
               (set-process-query-on-exit-flag process nil))
             (let ((kill-buffer-query-functions nil))
               (kill-buffer buffer))))
         (delete-directory send-client-folder t)))))

(defun send-client-wait-ready ()
  "Wait until the shell's prompt takes input, and its agent has begun a session."
  (send-client-wait 'the-prompt
                    (lambda ()
                      (and (string-suffix-p "Robin> " (buffer-string))
                           (send-client-session)
                           (not (shell-maker-busy))))))

(defun send-client-session ()
  "Return the session of the agent in this buffer, or nil if it has begun none."
  (map-nested-elt (agent-shell--state) '(:session :id)))

(ert-deftest aqd-send-into-agent-shell ()
  (send-client-with-agent-shell
    (send-client-choose 'insert)
    (let ((sentence (agent-q-diff-send-text "Please\e[201~\r\nrename")))
      ;; It has begun its session, or it has not yet.
      (should (string-match-p "\\`The message \\(is at the prompt of\\|will be in\\) " sentence))
      (send-client-wait 'the-message
                        (lambda () (string-suffix-p "Please[201~\nrename" (buffer-string)))))
    (should-not (send-client-prompts))
    (send-client-wait 'the-session #'send-client-session)
    (goto-char (point-max))
    (shell-maker-submit)
    (send-client-wait 'the-prompt-to-arrive #'send-client-prompts)
    (should (equal '("Please[201~\nrename") (mapcar #'string-trim (send-client-prompts))))
    (send-client-wait-ready)
    (should (string-match-p "\\`The message is at the prompt of .*; RET sends it\\'"
                            (agent-q-diff-send-text "And this")))
    ;; It counts as typed.
    (send-client-choose 'send)
    (should (string-match-p "but was not sent: you have typed something there"
                            (agent-q-diff-send-text "More")))
    (should (= 1 (length (send-client-prompts))))))

(ert-deftest aqd-send-into-agent-shell-and-press-return ()
  (send-client-with-agent-shell
    (send-client-wait-ready)
    (send-client-choose 'send)
    (delete-file (send-client-file "go"))
    (should (string-match-p "\\`The message was sent in "
                            (agent-q-diff-send-text "Please\nrename")))
    (send-client-wait 'the-prompt-to-arrive #'send-client-prompts)
    (should (equal '("Please\nrename") (send-client-prompts)))
    ;; It is busy now.
    (let ((before (buffer-string)))
      (should (string-match-p "(Busy, try later); it is in the kill ring\\'"
                              (cadr (should-error (agent-q-diff-send-text "And\nthis")
                                                  :type 'user-error))))
      (should (equal before (buffer-string)))
      (should (equal "And\nthis" (current-kill 0))))
    (write-region "" nil (send-client-file "go") nil 'silent)
    (send-client-wait-ready)
    (should (= 1 (length (send-client-prompts))))))

;;;; gptel

(ert-deftest aqd-send-into-gptel ()
  (aqd-load-client send-client-wanted 'gptel "gptel" "transient" "compat" "cond-let")
  (let ((n-sent 0))
    (with-temp-buffer
      (rename-buffer "*chat*" t)
      (switch-to-buffer (current-buffer))
      (text-mode)
      (let ((inhibit-message t))
        (gptel-mode))
      (insert "### Hi\n\n" (propertize "Hello." 'gptel 'response) "\n\n### ")
      (goto-char (point-min))
      (send-client-choose 'insert)
      (let ((gptel-prompt-prefix-alist '((text-mode . "### "))))
        (cl-letf (((symbol-function 'gptel-send)
                   (lambda (&optional _)
                     (interactive)
                     (should (eobp))
                     (cl-incf n-sent))))
          (should (equal (format "The message is at the prompt of %s; C-c RET sends it"
                                 (buffer-name))
                         (agent-q-diff-send-text "Please\r\nrename")))
          (should (string-suffix-p "### Please\nrename" (buffer-string)))
          (should-not (get-text-property (1- (point-max)) 'gptel))
          (should (= 0 n-sent))
          (send-client-choose 'send)
          (should (string-match-p "you have typed something" (agent-q-diff-send-text "More")))
          (insert (propertize "\nYes." 'gptel 'response) "\n\n### ")
          (should (equal (format "The message was sent in %s" (buffer-name))
                         (agent-q-diff-send-text "And this")))
          (should (= 1 n-sent)))))))

(provide 'agent-q-diff-send-client-test)
;;; agent-q-diff-send-client-test.el ends here
