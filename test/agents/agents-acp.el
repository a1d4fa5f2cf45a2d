;;; agents-acp.el --- Drives an agent as an editor does, over ACP  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The Agent Client Protocol is JSON-RPC over standard input and output, a
;; message a line.  This begins a session, sends one prompt, permits whatever
;; the agent asks to be permitted, and closes the agent's input when its turn
;; has ended.

;;; Code:

(require 'seq)

(defun agents-acp-begin (process directory)
  "Have PROCESS, an agent that speaks ACP, answer a prompt in DIRECTORY."
  (process-put process 'directory directory)
  (process-put process 'line "")
  (set-process-filter process #'agents-acp--filter)
  (agents-acp--request process 1 "initialize"
                       '((protocolVersion . 1) (clientCapabilities . :empty))))

(defun agents-acp--send (process message)
  "Send MESSAGE, an alist, to PROCESS."
  (process-send-string process
                       (concat (json-serialize `((jsonrpc . "2.0") ,@message)) "\n")))

(defun agents-acp--request (process id method parameters)
  "Send PROCESS the request ID for METHOD with PARAMETERS, an alist.
The value `:empty' in it stands for an object without members."
  (agents-acp--send process
                    `((id . ,id) (method . ,method)
                      (params . ,(mapcar (pcase-lambda (`(,key . ,value))
                                           (cons key (if (eq value :empty)
                                                         (make-hash-table)
                                                       value)))
                                         parameters)))))

(defun agents-acp--filter (process output)
  "Insert OUTPUT of PROCESS into its buffer, and handle the messages in it."
  (with-current-buffer (process-buffer process)
    (goto-char (point-max))
    (insert output))
  (let* ((lines (split-string (concat (process-get process 'line) output) "\n"))
         (whole (butlast lines)))
    (process-put process 'line (car (last lines)))
    (dolist (line whole)
      (when (string-prefix-p "{" line)
        (agents-acp--handle process (json-parse-string line :object-type 'alist
                                                       :array-type 'list))))))

(defun agents-acp--handle (process message)
  "Do what MESSAGE of PROCESS, an alist, calls for."
  (let-alist message
    (pcase .method
      ((guard .error) (process-send-eof process))
      ('nil (agents-acp--go-on process .id .result))
      ("session/request_permission"
       (let ((option (seq-find (lambda (option)
                                 (equal "allow_once" (alist-get 'kind option)))
                               .params.options)))
         (agents-acp--send
          process
          `((id . ,.id)
            (result . ((outcome . ((outcome . "selected")
                                   (optionId . ,(alist-get 'optionId option))))))))))
      ((guard .id)
       (agents-acp--send process `((id . ,.id)
                                   (error . ((code . -32601)
                                             (message . "Method not found")))))))))

(defun agents-acp--go-on (process id result)
  "Send PROCESS what comes after the request ID, which was answered with RESULT."
  (pcase id
    (1 (agents-acp--request process 2 "session/new"
                            `((cwd . ,(process-get process 'directory))
                              (mcpServers . []))))
    (2 (agents-acp--request process 3 "session/prompt"
                            `((sessionId . ,(alist-get 'sessionId result))
                              (prompt . [((type . "text") (text . "Begin."))]))))
    (3 (process-send-eof process))))

(provide 'agents-acp)
;;; agents-acp.el ends here
