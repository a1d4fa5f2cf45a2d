;;; agent-q-diff-project-help.el --- Tool calls for tests  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A project with one file, and the calls of tools that edit it.

;;; Code:

(require 'tramp)
(require 'agent-q-diff-test-help)

(defvar aqd-project nil
  "Directory of the current test's project.")

(defvar aqd-policy 'allow
  "The policy in the test's project.")

(defvar agent-q-diff-edit-file--row)

(defconst aqd-lisp-folder (file-name-directory (locate-library "agent-q-diff"))
  "Directory of the Lisp files under test.")

(defconst aqd-declined "✗ Rejected: the user declined the change to target.txt. \
None of it is in the file."
  "What the agent reads if the user declined an edit of the test's file.")

(defconst aqd-stop "

STOP: Do not try this again, and do not propose something else instead. Tell
the user what is and what is not in the file, and ask how to proceed."
  "What it reads in addition if the user gave no reason.")

(defconst aqd-rejected (concat aqd-declined aqd-stop)
  "What the agent reads if the user declined without a reason.")

(defmacro aqd-with-project (text &rest body)
  "Run BODY in a project whose one file, `aqd-file', holds TEXT.
The policy is `aqd-policy', nothing is logged, and there are no grants."
  (declare (indent 1) (debug t))
  `(aqd-with-file ,text
     (let* ((aqd-project (file-name-directory aqd-file))
            (agent-q-diff-project-root aqd-project)
            (agent-q-diff-tools-policy aqd-policy)
            (agent-q-diff-permit-grants nil)
            (agent-q-diff-edit-file--row nil)
            (agent-q-diff-log-file nil))
       (unwind-protect (progn ,@body)
         (when (get-buffer agent-q-diff-transcript--buffer-name)
           (kill-buffer agent-q-diff-transcript--buffer-name))))))

(defun aqd-call-tool (tool arguments)
  "Call TOOL with ARGUMENTS and return the message."
  (agent-q-diff-tools-call tool arguments))

(defun aqd-edit (old new &rest more)
  "Replace OLD in the test's file by NEW with edit_file; return the message.
MORE are further arguments, a plist."
  (aqd-call-tool "edit_file" `(:path "target.txt" :old_str ,old :new_str ,new ,@more)))

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

;;;; Two hunks that another program may meet

(defconst aqd-twenty-original (aqd-numbered 20)
  "The text that the agent has read.")

(defconst aqd-twenty-proposed (aqd-numbered 20 '((3 . "three") (12 . "twelve")))
  "The text that it proposes, two hunks.")

(defconst aqd-twenty-with-first (aqd-numbered 20 '((3 . "three")))
  "The original with the first hunk.")

;;;; Questions

(defmacro aqd-asking (&rest body)
  "Evaluate BODY where the user is asked."
  (declare (debug t))
  `(let ((aqd-policy 'ask)
         (agent-q-diff-tools-policy 'ask)
         (agent-q-diff-permission-pause 0))
     ,@body))

(defun aqd-ask (keys &optional path)
  "Ask for a change of \"a\" to \"b\", with KEYS pressed, and return the message.
PATH is the file's, relative to the project."
  (aqd-play keys
            (lambda ()
              (aqd-call-tool "edit_file" `(:path ,(or path "target.txt")
                                                 :old_str "a" :new_str "b")))))

(defun aqd-answering (&rest answers)
  "Return a function that gives ANSWERS, one after the other, when asked."
  (lambda (request)
    (ignore request)
    (or (pop answers) (ert-fail "Asked once too often"))))

;;;; The log

(defun aqd-logged-proposal (&rest more)
  "Return the arguments of a proposal for the project's file, then MORE."
  (append (list aqd-file (aqd-numbered 30) aqd-modified-of-two "d") more))

;;;; Reviews that end without a decision

(defconst aqd-remains-one-of-two "1 of 2 hunks is in the file.
In the file: hunk 1.
Not in the file: hunk 2."
  "What an agent reads after one of two hunks was applied.")

;;;; Messages

(defun aqd-present-lines (file &rest places)
  "Return the part of a message about the present lines of FILE, a string.
PLACES are lists (HUNK WHERE FROM TO), the lines counted from 1."
  (concat "\n\nThe lines as they now are:\n```"
          (mapconcat
           (pcase-lambda (`(,hunk ,where ,from ,to))
             (concat (format "\nhunk %d, %s:" hunk where)
                     (cl-loop for number from from to to
                              concat (format "\n%6d\t%s" number
                                             (nth (1- number)
                                                  (split-string file "\n"))))))
           places "")
          "\n```"))

(provide 'agent-q-diff-project-help)
;;; agent-q-diff-project-help.el ends here
