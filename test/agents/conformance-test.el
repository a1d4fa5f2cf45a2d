;;; conformance-test.el --- The official conformance suite of MCP  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The suite tests servers over HTTP, while ours has only standard input and
;; output.  So the program supergateway starts it for each session, and passes
;; on messages as they are.  conformance.yml names the scenarios that do not
;; apply, and says why.  No Emacs takes part: no scenario calls our tools, and
;; the gateway, which listens on all addresses, could reach none.

;;; Code:

(require 'ert)

(defconst conformance-here
  (file-name-directory (or load-file-name buffer-file-name))
  "Directory of this file.")

(defconst conformance-limit-seconds 60
  "Seconds after which waiting fails.")

(defun conformance-node (package script &rest arguments)
  "Return a command that runs SCRIPT of the installed PACKAGE with ARGUMENTS.
It is one process, which ends when it is deleted."
  (let ((modules (expand-file-name
                  "node_modules/"
                  (or (getenv "AGENT_Q_DIFF_AGENTS")
                      (ert-skip "AGENT_Q_DIFF_AGENTS names no directory")))))
    (append (list (expand-file-name ".bin/node" modules)
                  (expand-file-name (concat package "/" script) modules))
            arguments)))

(defun conformance-free-port ()
  "Return the number of a port that is free."
  (let ((process (make-network-process :name "port" :server t :service t
                                       :host "127.0.0.1" :family 'ipv4)))
    (prog1 (process-contact process :service)
      (delete-process process))))

(defun conformance-wait (process &optional regexp)
  "Wait until the output of PROCESS matches REGEXP, or if nil, until it ends.
Return its output."
  (with-current-buffer (process-buffer process)
    (with-timeout (conformance-limit-seconds
                   (ert-fail (list 'waited-in-vain-for regexp (buffer-string))))
      (while (and (process-live-p process)
                  (not (and regexp (string-match-p regexp (buffer-string)))))
        (accept-process-output nil 0.05))
      (unless regexp
        (while (accept-process-output process 0.05))))
    (buffer-string)))

(defun conformance-start (name command)
  "Start COMMAND as a process NAME with a new buffer."
  (make-process :name name :noquery t :connection-type 'pipe :command command
                :buffer (generate-new-buffer (format " *%s*" name))))

(ert-deftest conformance-of-the-server ()
  (let* ((port (number-to-string (conformance-free-port)))
         (directory (make-temp-file "conformance" t))
         (default-directory (file-name-as-directory directory))
         (gateway
          (conformance-start
           "gateway"
           (conformance-node "supergateway" "dist/index.js"
                             "--stdio" (concat (shell-quote-argument
                                                (getenv "AGENT_Q_DIFF_MCP_SERVER"))
                                               " --socket none")
                             "--outputTransport" "streamableHttp" "--stateful"
                             "--port" port))))
    (unwind-protect
        (progn
          (conformance-wait gateway "Listening on port")
          (should (process-live-p gateway))
          (let* ((suite (conformance-start
                         "suite"
                         (conformance-node
                          "@modelcontextprotocol/conformance" "dist/index.js" "server"
                          "--url" (format "http://127.0.0.1:%s/mcp" port)
                          "--expected-failures"
                          (expand-file-name "conformance.yml" conformance-here))))
                 (said (conformance-wait suite)))
            (should (equal '(0 exit) (list (process-exit-status suite)
                                           (process-status suite))))
            (dolist (scenario '("server-initialize" "ping" "tools-list"))
              (should (string-match-p (format "✓ %s: 1 passed, 0 failed" scenario) said)))))
      (delete-process gateway)
      (delete-directory directory t))))

(provide 'conformance-test)
;;; conformance-test.el ends here
