;;; agents-formats.el --- Agents that have hooks much like Claude Code's  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The agents for which the program has no settings to change: the manual has
;; the lines that users put into their settings, and these are in the home here.
;; A suite defines the tests for its agent by `agents-define-formats'.

;;; Code:

(require 'agents-tools)
(require 'agents-turns)

(defun agents-formats--settings (client options)
  "Return the settings file of CLIENT, and its lines of the manual.
The hook gets further OPTIONS, a string, or is a program that is not there
if that is `gone'."
  (let* ((gone (eq options 'gone))
         (run (format "%s hook --format %s%s" (if gone "/nowhere/agent-q-diff" (agents-program))
                      client (if gone "" options)))
         (command (concat run " || exit 2"))
         ;; A failure at a prompt must not keep that from the agent.
         (passing (concat run " || :")))
    (pcase-exhaustive client
      ("copilot"
       (let ((hook `[((type . "command") (bash . ,command) (timeoutSec . 600))]))
         (list ".copilot/hooks/agent-q-diff.json"
               (json-serialize `((version . 1)
                                 (hooks . ((preToolUse . ,hook) (postToolUse . ,hook))))))))
      ("kimi"
       ;; Kimi's settings have the model's URL as well, see `agents-write-provider'.
       (list ".kimi-code/hooks.toml"
             (mapconcat (lambda (event)
                          (apply #'format
                                 "[[hooks]]\nevent = \"%s\"\n%scommand = \"%s\"\ntimeout = 600\n"
                                 event
                                 (if (string-suffix-p "ToolUse" event)
                                     (list "matcher = \"Edit|Write|Bash\"\n" command)
                                   (list "" passing))))
                        '("PreToolUse" "PostToolUse" "UserPromptSubmit" "Stop" "StopFailure"
                          "Interrupt")
                        "\n")))
      ("qwen"
       (cl-flet ((hooks (command)
                   `[((type . "command") (command . ,command) (timeout . 60000))]))
         (let ((tool `[((matcher . "edit|write_file|run_shell_command") (hooks . ,(hooks command)))])
               (turn `[((hooks . ,(hooks passing)))]))
           (list ".qwen/settings.json"
                 (json-serialize `((hooks . ((PreToolUse . ,tool) (PostToolUse . ,tool)
                                             (UserPromptSubmit . ,turn) (Stop . ,turn)
                                             (StopFailure . ,turn) (Notification . ,turn)))
                                   ;; After a turn, it would ask the model what to remember.
                                   (memory . ((enableManagedAutoMemory . :false))))))))))))

(defmacro agents-formats-with-emacs (client options &rest body)
  "Evaluate BODY as in `agents-with-emacs', with the hook of CLIENT.
OPTIONS are those of `agents-formats--settings'."
  (declare (indent 2) (debug t))
  `(agents-with-home-of-its-own
     (cl-letf (((symbol-function 'agents-set-up)
                (lambda (client)
                  (apply #'agents-write-in-home
                         (agents-formats--settings client ,options)))))
       (agents-with-emacs ,client
         (agents-put "a.txt" (e2e-text))
         ,@body))))

(defun agents-formats-all-of-it (client)
  "Accept all that CLIENT proposes."
  (agents-formats-with-emacs client ""
    (apply #'agents-start client (agents-edit client "a.txt" (e2e-text) (e2e-text 5 20)))
    (agents-decide "a.txt" "C-c C-c")
    (let ((told (agents-end)))
      ;; Kimi's model reads nothing of what a hook says after an edit.
      (unless (equal client "kimi")
        (agents-should-be-told told "✓ Accepted: both hunks are in %s, which is saved." "a.txt")))
    (should (equal (agents-bytes "a.txt") (e2e-text 5 20)))))

(defun agents-formats-a-part-and-nothing (client)
  "Accept a part of an edit of CLIENT, and reject the next one."
  (agents-formats-with-emacs client ""
    (apply #'agents-start client
           (append (agents-edit client "a.txt" (e2e-text) (e2e-text 5 20))
                   (agents-edit client "a.txt" "line 35\n" "LINE 35\n")))
    (agents-decide "a.txt" "r a q")
    (agents-go "a.txt")
    (e2e-press "C")
    (e2e-type "not today")
    (e2e-press "RET C-c C-k")
    (agents-see-end)
    (let ((told (agents-end)))
      (agents-should-be-told told "✓ Accepted in part: 1 of 2 hunks is in %s" "a.txt")
      (agents-should-be-told told "✗ Rejected: the user declined the change to %s" "a.txt")
      (agents-should-read told "The user says: not today"))
    (should (equal (agents-bytes "a.txt") (e2e-text 20)))))

(defun agents-formats-when-time-is-up-nothing-is-written (client)
  "Let the hook of CLIENT wait for a second only."
  (agents-formats-with-emacs client " --timeout 1"
    (apply #'agents-start client (agents-edit client "a.txt" "line 5\n" "LINE 5\n"))
    (agents-should-read (agents-end) "the user has not decided in the time that the agent waits")
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(defun agents-formats-if-the-program-is-gone-nothing-is-written (client)
  "Let the hook of CLIENT name a program that is not there."
  (agents-formats-with-emacs client 'gone
    (apply #'agents-start client (agents-edit client "a.txt" "line 5\n" "LINE 5\n"))
    (agents-end)
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(defun agents-formats-a-message-is-read-beside-the-next-prompt-and-once (client)
  "Check that CLIENT reads a message beside its next prompt, unless it is Copilot."
  (agents-formats-with-emacs client ""
    (agents-turns--begin)
    (agents-turns--say "Rename x (1), please.")
    (dolist (n (if (equal client "copilot") '(0 0) '(1 0)))
      (agents-put "a.txt" (e2e-text))
      (agents-turns--start client)
      (agents-turns--decide)
      (agents-end)
      (should (= n (agents-turns--count "Rename x (1), please." (car (agents-turns--told)))))
      (unless (equal client "copilot")
        (should (equal '("Begin." t) (cdar (last (agents-turns--recorded)))))))))

(defmacro agents-define-formats (client)
  "Define the tests for CLIENT, as agents-CLIENT-NAME."
  `(progn
     ,@(mapcar (lambda (name)
                 `(ert-deftest ,(intern (format "agents-%s-%s" client name)) ()
                    (,(intern (format "agents-formats-%s" name)) ,client)))
               '(all-of-it a-part-and-nothing
                 a-message-is-read-beside-the-next-prompt-and-once when-time-is-up-nothing-is-written
                 if-the-program-is-gone-nothing-is-written))))

(provide 'agents-formats)
;;; agents-formats.el ends here
