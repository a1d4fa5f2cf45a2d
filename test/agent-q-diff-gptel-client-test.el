;;; agent-q-diff-gptel-client-test.el --- gptel itself  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The real gptel sends a chat buffer to a server that plays the model: it
;; answers the first request with a call of a tool, and the one with the
;; tool's result with a sentence.  agent-q-diff-gptel-test.el checks the
;; documented interface where gptel is not at hand.
;;
;; gptel is in no registry that the tests reach.  It is looked for in the
;; folder that the environment variable AGENT_Q_DIFF_CLIENTS names, with the
;; transient that it needs, which is newer than that of Emacs 30.1.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-gptel)

(defvar gptel-backend)
(defvar gptel-model)
(defvar gptel-tools)
(defvar gptel-use-curl)
(defvar gptel-use-tools)
(defvar gptel-log-level)
(defvar gptel-confirm-tool-calls)
(defvar gptel--fsm-last)
(defvar url-proxy-services)
(defvar url-show-status)
(declare-function url-scheme-get-property "url-methods" (scheme property))
(declare-function gptel-abort "ext:gptel-request" (buffer))
(declare-function gptel-make-openai "ext:gptel-openai" (name &rest slots))
(declare-function gptel-make-fsm "ext:gptel-request" (&rest slots))
(declare-function gptel-mode "ext:gptel" (&optional arg))
(declare-function gptel-send "ext:gptel" (&optional arg))

;;;; Where gptel is

(defconst gptel-client-wanted
  "gptel of karthink/gptel, commit cd2cd73, with magit/transient 0ec75dc, \
emacs-compat/compat 1f3d759 and tarsius/cond-let c48600d"
  "What these tests are for.")

(defun gptel-client-skip (reason)
  "Skip the test; report REASON why there is no gptel, and what is needed."
  (message "Skipped, since %s.  Wanted: %s" reason gptel-client-wanted)
  (ert-skip reason))

(defun gptel-client-load ()
  "Load gptel, or skip the test.
If the folder is given, a gptel that does not load is a failure."
  (let ((folder (getenv "AGENT_Q_DIFF_CLIENTS")))
    (cond
     ((version< emacs-version "30.1")
      (gptel-client-skip "this gptel is for Emacs 30.1"))
     ((member folder '(nil ""))
      (gptel-client-skip "AGENT_Q_DIFF_CLIENTS names no folder"))
     ((featurep 'gptel))
     (t (dolist (name '("gptel" "transient" "compat" "cond-let"))
          (let ((package (expand-file-name name folder)))
            (add-to-list 'load-path
                         (if (file-directory-p (expand-file-name "lisp" package))
                             (expand-file-name "lisp" package)
                           package))))
        ;; Its menus need transient, and load it on demand.
        (require 'gptel)
        (require 'gptel-openai)
        ;; At its first request it takes a proxy from the environment, and must not
        ;; do so inside our bindings.
        (require 'url-methods)
        (url-scheme-get-property "http" 'name)))))

;;;; The model

(defvar gptel-client--requests nil
  "The requests to the model, parsed as plists, the latest first.")

(defvar gptel-client--call nil
  "The tool that the model calls, (NAME . ARGUMENTS), an alist.")

(defun gptel-client--answer (request)
  "Return what the model answers to REQUEST, an alist."
  (let* ((messages (plist-get request :messages))
         (last (aref messages (1- (length messages)))))
    `((choices
       . [((message
            . ,(if (equal (plist-get last :role) "tool")
                   '((role . "assistant") (content . "Thank you."))
                 `((role . "assistant") (content . :null)
                   (tool_calls
                    . [((id . "call_1") (type . "function")
                        (function
                         . ((name . ,(car gptel-client--call))
                            (arguments
                             . ,(json-serialize (cdr gptel-client--call))))))])))))]))))

(defun gptel-client--filter (connection bytes)
  "Answer the request of CONNECTION once it is complete with BYTES."
  (let ((text (concat (process-get connection 'text) bytes)))
    (process-put connection 'text text)
    (when (string-match "\r\n\r\n" text)
      (let ((start (match-end 0)))
        (string-match "^Content-[Ll]ength: \\([0-9]+\\)" text)
        (when (>= (- (length text) start) (string-to-number (match-string 1 text)))
          (let ((request (json-parse-string
                          (decode-coding-string (substring text start) 'utf-8)
                          :object-type 'plist)))
            (push request gptel-client--requests)
            (let ((body (json-serialize (gptel-client--answer request))))
              (process-send-string
               connection
               (format "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
Content-Length: %d\r\nConnection: close\r\n\r\n%s" (string-bytes body) body))
              (delete-process connection))))))))

(defun gptel-client-serve ()
  "Return a process that acts as the model's server."
  (make-network-process :name "model" :server t :host "127.0.0.1" :service t
                        :family 'ipv4 :coding 'binary :noquery t
                        :filter #'gptel-client--filter))

;;;; A chat

(defun gptel-client-wait (what function)
  "Wait until FUNCTION returns non-nil; WHAT is for the message of a failure."
  (with-timeout (20 (ert-fail (list 'waited-in-vain-for what)))
    (while (not (funcall function))
      (accept-process-output nil 0.01))))

(defun gptel-client--chat (server)
  "Return a chat buffer whose model is at SERVER."
  (with-current-buffer (generate-new-buffer "*chat*")
    (text-mode)
    (gptel-mode)
    (setq-local gptel-backend (gptel-make-openai
                               "Robin"
                               :host (format "127.0.0.1:%d" (process-contact server :service))
                               :protocol "http" :key "none" :stream nil
                               :models '((model :capabilities (tool-use))))
                gptel-model 'model
                gptel-use-tools t
                gptel-tools (agent-q-diff-gptel-register))
    (insert "Change the file, please.")
    (current-buffer)))

(defmacro gptel-client-with-chat (tool arguments &rest body)
  "Run BODY with `chat', a chat buffer, after the model has called TOOL.
Its ARGUMENTS are an alist.  Messages are noted in `said', the latest
first."
  (declare (indent 2) (debug t))
  `(progn
     (gptel-client-load)
     (aqd-with-file "one\n"
       (let* ((agent-q-diff-project-root (file-name-directory aqd-file))
              (gptel-use-curl nil)
              (gptel-log-level nil)
              (gptel-confirm-tool-calls 'auto)
              (url-show-status nil)
              ;; The model is on this machine.
              (url-proxy-services nil)
              (gptel-client--requests nil)
              (gptel-client--call (cons ,tool ,arguments))
              (server (gptel-client-serve))
              (chat (gptel-client--chat server))
              (said nil))
         (unwind-protect
             (cl-letf* ((say (symbol-function 'message))
                        ((symbol-function 'message)
                         (lambda (format &rest arguments)
                           (when format
                             (push (apply #'format-message format arguments) said))
                           (apply say format arguments))))
               (save-window-excursion
                 (switch-to-buffer chat)
                 (gptel-send)
                 ,@body))
           (delete-process server)
           (when (buffer-live-p chat)
             (with-current-buffer chat
               (set-buffer-modified-p nil)
               (kill-buffer)))
           (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews)))))))

(defun gptel-client-review ()
  "Wait for the review that the model asks for, and return it."
  (gptel-client-wait 'a-review #'agent-q-diff-open-reviews)
  ;; gptel has finished its request by then.
  (accept-process-output nil 0.05)
  (car (agent-q-diff-open-reviews)))

(defun gptel-client-results ()
  "Return the results of tools that the model was sent."
  (cl-loop for request in gptel-client--requests
           append (cl-loop for message across (plist-get request :messages)
                           when (equal (plist-get message :role) "tool")
                           collect (plist-get message :content))))

(defun gptel-client-proposal ()
  "Return arguments by which the model proposes a change of the test's file."
  '((path . "target.txt") (original . "one\n") (modified . "two\n")
    (description . "A test.")))

(defun gptel-client-should-be-abandoned (review said)
  "Check that REVIEW shows that nobody waits, and that SAID has it, too."
  (should (agent-q-diff-session-is-abandoned review))
  (should (seq-some (lambda (text)
                      (string-prefix-p "Nobody is waiting any more for the review of" text))
                    said))
  (aqd-in-diff review
    (should (string-search "nobody waits ·" header-line-format))))

(defun gptel-client-should-end-quietly (review)
  "Accept all of REVIEW, and check that nothing fails and gptel does not go on."
  (let* ((n (length gptel-client--requests))
         (said (aqd-said (aqd-in-diff review (agent-q-diff-accept-all)))))
    (should-not (string-search "failed" (or said "")))
    (should (equal (aqd-disk) "two\n"))
    (accept-process-output nil 0.2)
    (should (equal n (length gptel-client--requests)))
    (should-not agent-q-diff-gptel--calls)
    (should-not (advice-member-p #'agent-q-diff-gptel--aborted 'gptel-abort))))

;;;; The tests

(ert-deftest aqd-gptel-client-goes-on-when-the-review-is-decided ()
  (gptel-client-with-chat "propose_file_edit" (gptel-client-proposal)
    (let ((review (gptel-client-review)))
      (should (equal "gptel" (agent-q-diff-session-agent review)))
      (should (eq chat (agent-q-diff-gptel-call-buffer
                        (agent-q-diff-session-caller review))))
      (should-not (gptel-client-results))
      (aqd-in-diff review (agent-q-diff-accept-all))
      (gptel-client-wait 'the-model-s-thanks
                         (lambda ()
                           (with-current-buffer chat
                             (string-search "Thank you." (buffer-string)))))
      (pcase-exhaustive (gptel-client-results)
        (`(,result) (should (string-prefix-p "✓ Accepted" result))))
      (should-not agent-q-diff-gptel--calls)
      (should-not (advice-member-p #'agent-q-diff-gptel--aborted 'gptel-abort)))))

(ert-deftest aqd-gptel-client-chat-buffer-is-killed ()
  (gptel-client-with-chat "propose_file_edit" (gptel-client-proposal)
    (let ((review (gptel-client-review)))
      (with-current-buffer chat
        (set-buffer-modified-p nil))
      (kill-buffer chat)
      (gptel-client-should-be-abandoned review said)
      (gptel-client-should-end-quietly review))))

(ert-deftest aqd-gptel-client-request-is-aborted ()
  (gptel-client-with-chat "propose_file_edit" (gptel-client-proposal)
    (let ((review (gptel-client-review)))
      (gptel-abort chat)
      (gptel-client-should-be-abandoned review said)
      (gptel-client-should-end-quietly review))))

(ert-deftest aqd-gptel-client-request-of-another-buffer-is-aborted ()
  (gptel-client-with-chat "propose_file_edit" (gptel-client-proposal)
    (let ((review (gptel-client-review)))
      (gptel-abort (get-buffer "*scratch*"))
      (should-not (agent-q-diff-session-is-abandoned review)))))

(ert-deftest aqd-gptel-client-cancels-its-review-if-so-wished ()
  (let ((agent-q-diff-when-caller-gone 'cancel))
    (gptel-client-with-chat "propose_file_edit" (gptel-client-proposal)
      (let ((review (gptel-client-review)))
        (gptel-abort chat)
        (should (eq 'abandoned (agent-q-diff-session-outcome review)))
        (should-not (seq-some (lambda (text) (string-search "failed" text)) said))))))

(ert-deftest aqd-gptel-client-question-is-taken-back ()
  (let* (asked
         (agent-q-diff-permission-function
          (lambda (request)
            (setq asked request)
            (gptel-abort (agent-q-diff-gptel-call-buffer
                          (agent-q-diff-call-caller (agent-q-diff-request-call request))))
            'once)))
    (gptel-client-with-chat "edit_file"
        '((path . "target.txt") (old_str . "one") (new_str . "two"))
      ;; Requests are withdrawn while they are asked about.
      (cl-letf* ((ask agent-q-diff-permission-function)
                 (agent-q-diff-permission-function
                  (lambda (request)
                    (let ((agent-q-diff-permit--asked (list request)))
                      (funcall ask request)))))
        (gptel-client-wait 'the-question (lambda () asked))
        (accept-process-output nil 0.2)
        (should (agent-q-diff-request-is-withdrawn asked))
        (should (equal (aqd-disk) "one\n"))
        (should-not (gptel-client-results))))))

(ert-deftest aqd-gptel-client-call-is-looked-at-before-it-is-made ()
  "gptel then makes it from another buffer, and kills that."
  (gptel-client-load)
  (with-temp-buffer
    (let ((chat (current-buffer)))
      (with-temp-buffer
        (setq-local gptel--fsm-last (gptel-make-fsm :info (list :buffer chat)))
        (should (eq chat (agent-q-diff-gptel--chat-buffer)))))))

(provide 'agent-q-diff-gptel-client-test)
;;; agent-q-diff-gptel-client-test.el ends here
