;;; agent-q-diff-replace-help.el --- Tool calls for tests  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A project with one file, and the calls of tools that edit it.

;;; Code:

(require 'tramp)
(require 'agent-q-diff-test-help)

(defvar aqd-project nil
  "Folder of the project of the test that runs.")

(defvar aqd-policy 'allow
  "The policy in the test's project.")

(defvar agent-q-diff-edit-file--row)

(defconst aqd-lisp-folder (file-name-directory (locate-library "agent-q-diff"))
  "Folder of the Lisp files under test.")

(defconst aqd-declined "✗ Rejected: the user declined the change to target.txt. \
None of it is in the file."
  "What the agent reads when the test's file was not to be edited.")

(defconst aqd-stop "

STOP: Do not try this again, and do not propose something else instead. Tell
the user how the file stands, and ask how to go on."
  "What it reads besides if the user gave no reason.")

(defconst aqd-rejected (concat aqd-declined aqd-stop)
  "What the agent reads when the user gave no reason.")

(defmacro aqd-with-project (text &rest body)
  "Run BODY in a project whose one file, `aqd-file', holds TEXT.
Everything is allowed unless `aqd-policy' is another, nothing is logged,
and no grant is left."
  (declare (indent 1) (debug t))
  `(aqd-with-file ,text
     (let* ((aqd-project (file-name-directory aqd-file))
            (agent-q-diff-project-root aqd-project)
            (agent-q-diff-tools-policy aqd-policy)
            (agent-q-diff-grants--all nil)
            (agent-q-diff-edit-file--row nil)
            (agent-q-diff-log-file nil))
       (unwind-protect (progn ,@body)
         (when (get-buffer agent-q-diff-transcript-buffer-name)
           (kill-buffer agent-q-diff-transcript-buffer-name))))))

(defun aqd-call-tool (tool arguments)
  "Call TOOL with ARGUMENTS and return the message."
  (agent-q-diff-tools-call tool arguments))

(defun aqd-edit (old new &rest more)
  "Have OLD in the test's file replaced by NEW, and return the message.
MORE are further arguments, a plist."
  (aqd-call-tool "edit_file" `(:path "target.txt" :old_str ,old :new_str ,new ,@more)))

(defun aqd-bytes-of (name)
  "Return the bytes of the file NAME."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally name)
    (buffer-string)))

(defun aqd-put-bytes (bytes name)
  "Make BYTES what the file NAME holds."
  (let ((coding-system-for-write 'no-conversion))
    (write-region bytes nil name nil 'silent)))

(defmacro aqd-with-mock-host (&rest body)
  "Evaluate BODY where TRAMP reaches this host by the method `mock'."
  (declare (debug t))
  `(let ((tramp-methods (cons '("mock"
                                (tramp-login-program "sh")
                                (tramp-login-args (("-i")))
                                (tramp-remote-shell "/bin/sh")
                                (tramp-remote-shell-args ("-c"))
                                (tramp-connection-timeout 10))
                              tramp-methods))
         (tramp-verbose 0))
     (unwind-protect (progn ,@body)
       (tramp-cleanup-all-connections))))

(provide 'agent-q-diff-replace-help)
;;; agent-q-diff-replace-help.el ends here
