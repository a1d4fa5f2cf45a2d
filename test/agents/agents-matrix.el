;;; agents-matrix.el --- What holds for every coding agent  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tests that every agent has to pass, each written once.  A suite defines
;; them for its agent by `agents-define-matrix', beside its own tests.

;;; Code:

(require 'agents-tools)

(defconst agents-matrix
  '(all-of-it a-part-another-edited-and-nothing line-ends-and-files-one-after-the-other
    a-file-that-does-not-exist unsaved-edits-stay without-emacs-nothing-is-written
    a-broken-socket-writes-nothing what-is-no-text-is-not-written
    if-emacs-is-killed-nothing-is-written if-it-is-killed-its-review-ends)
  "The tests.  The function agents-matrix-NAME runs the test NAME with an agent.")

(defconst agents-matrix-in-a-home-of-its-own
  '(when-time-is-up-nothing-is-written)
  "Further tests, as in `agents-matrix', that change the agent's settings.")

(defmacro agents-define-matrix (client)
  "Define the tests of `agents-matrix' for CLIENT, as agents-CLIENT-NAME.
So are those of `agents-matrix-in-a-home-of-its-own'."
  (cl-flet ((test-of (name)
              (intern (format "agents-%s-%s" client name)))
            (body-of (name)
              `(agents-with-emacs ,client
                 (,(intern (format "agents-matrix-%s" name)) ,client))))
    `(progn
       ,@(mapcar (lambda (name)
                   `(ert-deftest ,(test-of name) ()
                      ,(body-of name)))
                 agents-matrix)
       ,@(mapcar (lambda (name)
                   `(ert-deftest ,(test-of name) ()
                      (agents-with-home-of-its-own
                        ,(body-of name))))
                 agents-matrix-in-a-home-of-its-own))))

(defun agents-matrix--start (client &rest calls)
  "Start CLIENT with the calls in CALLS, a list of lists."
  (apply #'agents-start client (apply #'append calls)))

(defun agents-matrix--start-one (client)
  "Start CLIENT, which wants to change a line of the file a.txt."
  (agents-put "a.txt" (e2e-text))
  (agents-matrix--start client (agents-edit client "a.txt" (e2e-text) (e2e-text 5))))

(defun agents-matrix-all-of-it (client)
  "Accept all that CLIENT proposes."
  (agents-put "a.txt" (e2e-text))
  (agents-matrix--start client (agents-edit client "a.txt" (e2e-text) (e2e-text 5 20 35)))
  (agents-decide "a.txt" "C-c C-c")
  (let ((told (agents-end)))
    (agents-should-be-told
     told "✓ Accepted: all 3 hunks are in %s, which is saved." "a.txt")
    (agents-should-read told (pcase-exhaustive client
                               ;; Beside that, they say so themselves.
                               ((or "claude" "claude-agent-acp") "updated successfully")
                               ("gemini" "Successfully modified")
                               ("codex" "Success\\. Updated the following files")
                               ;; That is all that its tool says.
                               ("opencode" "\\`✓ Accepted[^\n]+\\'"))))
  (should (equal (agents-bytes "a.txt") (e2e-text 5 20 35))))

(defun agents-matrix--numbered (middle)
  "Return the lines around line MIDDLE as the model reads them, with numbers.
Line 20 is as it was, lines 5 and 35 are changed."
  (mapconcat (lambda (line)
               (format (if (memq line '(5 35)) "%6d\tLINE %d\n" "%6d\tline %d\n") line line))
             (number-sequence (- middle 3) (+ middle 3)) ""))

(defun agents-matrix-a-part-another-edited-and-nothing (client)
  "Accept a part of an edit of CLIENT, edit the next, and reject the last."
  (agents-put "a.txt" (e2e-text))
  (agents-matrix--start client
                        (agents-edit client "a.txt" (e2e-text) (e2e-text 5 20 35))
                        (agents-edit client "a.txt" (e2e-text 5 35) (e2e-text 5 10 35))
                        (agents-edit client "a.txt" "line 15\n" "LINE 15\n"))
  (agents-go "a.txt")
  (e2e-press "a c")
  (e2e-type "keep line 20")
  (e2e-press "RET r a q")
  (agents-see-end)
  (agents-go "a.txt")
  (e2e-press "e")
  (e2e-see "C-c C-c uses it, C-c C-k cancels")
  (e2e-see-cursor-at "^LINE 10")
  (e2e-press "C-k")
  (e2e-type "ten")
  (e2e-press "C-c C-c")
  (e2e-see "^\\[PENDING, edited\\]" "^\\+ten$")
  (e2e-press "C-c C-c")
  (agents-see-end)
  (agents-go "a.txt")
  (e2e-press "C")
  (e2e-type "not today")
  (e2e-press "RET C-c C-k")
  (agents-see-end)
  (let ((told (agents-end)))
    (agents-should-be-told
     told
     (concat "✓ Accepted in part: 2 of 3 hunks are in %s, which is saved.

In the file: hunks 1 and 3.
Not in the file: hunk 2.
The user rejected hunk 2.
The user says of hunk 2, which is rejected: keep line 20

The lines as they now are:
```
hunk 1, in the file:\n" (agents-matrix--numbered 5)
"hunk 2, not in the file:\n" (agents-matrix--numbered 20)
"hunk 3, in the file:\n" (agents-matrix--numbered 35)
"```")
     "a.txt")
    (agents-should-be-told
     told "✓ Accepted, with the user's edits: the change is in %s, which is saved.

The user edited hunk 1; in the file it is:
```
    @@ -7,7 +7,7 @@ line 6
     line 7
     line 8
     line 9
    -line 10
    +ten
     line 11
     line 12
     line 13
```" "a.txt")
    (agents-should-be-refused
     client told "✗ Rejected: the user declined the change to %s. None of it is in the file.

The user says: not today" "a.txt"))
  (should (equal (agents-bytes "a.txt")
                 (string-replace "line 10\n" "ten\n" (e2e-text 5 35)))))

(defun agents-matrix-line-ends-and-files-one-after-the-other (client)
  "Let CLIENT edit several files, with CRLF and without a newline at the end."
  (agents-put "crlf.txt" (string-replace "\n" "\r\n" (e2e-text)))
  (agents-put "end.txt" "one\ntwo")
  (agents-put "a.txt" (e2e-text))
  (agents-matrix--start client
                        (agents-edit client "crlf.txt" (e2e-text) (e2e-text 5 20))
                        (agents-edit client "end.txt" "two" "TWO\nthree")
                        (agents-write client "sub/new.txt" "made\n")
                        (agents-edit client "a.txt" "line 5\n" "LINE 5\n"))
  (agents-decide "crlf.txt" "r a q")
  (agents-decide "end.txt" "C-c C-c")
  (agents-decide "new.txt" "C-c C-c")
  (agents-decide "a.txt" "C-c C-c")
  (let ((told (agents-end)))
    (agents-should-be-told
     told "✓ Accepted in part: 1 of 2 hunks is in %s, which is saved.

In the file: hunk 2.
Not in the file: hunk 1." "crlf.txt")
    (dolist (name '("end.txt" "sub/new.txt" "a.txt"))
      (agents-should-be-told told "✓ Accepted: the change is in %s, which is saved." name)))
  (should (equal (agents-bytes "crlf.txt") (string-replace "\n" "\r\n" (e2e-text 20))))
  ;; Codex ends every line.
  (should (equal (agents-bytes "end.txt") (if (equal client "codex") "one\nTWO\nthree\n" "one\nTWO\nthree")))
  (should (equal (agents-bytes "sub/new.txt") "made\n"))
  (should (equal (agents-bytes "a.txt") (e2e-text 5))))

(defun agents-matrix-a-file-that-does-not-exist (client)
  "Let CLIENT edit a file that is not there."
  (agents-matrix--start client (agents-edit client "none.txt" "one\n" "ONE\n"))
  (let ((told (agents-end)))
    ;; Claude Code and opencode find that out before they ask their hooks.
    (pcase client
      ((or "gemini" "codex")
       (agents-should-be-refused client told "agent-q-diff cannot show this edit to the user, \
so it was not made: %s: there is no such file" "none.txt"))
      (_ (agents-should-read told "File does not exist\\|File not found"))))
  (should-not (agents-bytes "none.txt")))

(defun agents-matrix-unsaved-edits-stay (client)
  "Let CLIENT edit a file that has unsaved edits in its buffer."
  (agents-put "a.txt" (e2e-text))
  (e2e-eval `(with-current-buffer (find-file-noselect ,(agents-project "a.txt"))
               (goto-char (point-max))
               (insert "mine\n")
               nil))
  (agents-matrix--start client (agents-edit client "a.txt" (e2e-text) (e2e-text 5 20 35)))
  (agents-decide "a.txt" "C-c C-c")
  (agents-should-be-refused
   client (agents-end)
   (concat (agents-tool client)
           " was not run: the user has unsaved edits in %s, so Emacs wrote what the user accepted.
✓ Accepted: all 3 hunks are in the user's Emacs buffer for %s.

The buffer is not saved; the file on disk is as it was.")
   "a.txt" "a.txt")
  (should (equal (agents-bytes "a.txt") (e2e-text)))
  (should (equal (e2e-eval `(with-current-buffer (get-file-buffer ,(agents-project "a.txt"))
                              (buffer-string)))
                 (concat (e2e-text 5 20 35) "mine\n"))))

;;;; Whatever goes wrong, nothing is written

(defun agents-matrix--how-to-go-on (client)
  "Return what CLIENT's model reads if no decision is possible."
  (format "Do not edit by other means; tell the user. Only the user can turn this review off, by \
starting %s with AGENT_Q_DIFF=off in its environment." (agents-name client)))

(defun agents-matrix--nobody-serves (client)
  "Check that CLIENT writes nothing, and that its model is told why."
  (agents-matrix--start-one client)
  (agents-should-be-refused
   client (agents-end)
   (format "Error: no Emacs is serving: the user has to start Emacs, if it is not running, and \
call M-x agent-q-diff-serve in it. Nothing was changed. Looked for the socket at %s, %s. %s"
           (e2e-path "run/agent-q-diff/socket")
           (expand-file-name ".cache/agent-q-diff/socket" (agents-home))
           (agents-matrix--how-to-go-on client)))
  (should (equal (agents-bytes "a.txt") (e2e-text))))

(defun agents-matrix-without-emacs-nothing-is-written (client)
  "Let CLIENT edit while no Emacs serves."
  (e2e-eval '(agent-q-diff-serve-stop))
  (agents-matrix--nobody-serves client))

(defun agents-matrix-a-broken-socket-writes-nothing (client)
  "Let CLIENT edit while Emacs's socket is none."
  (e2e-eval '(agent-q-diff-serve-stop))
  (e2e-write "run/agent-q-diff/socket" "no socket")
  (agents-matrix--nobody-serves client))

(defun agents-matrix-what-is-no-text-is-not-written (client)
  "Let CLIENT edit a file that is not UTF-8."
  (let ((bytes (encode-coding-string (concat "café\n" (e2e-text)) 'latin-1)))
    (agents-put-bytes "a.txt" bytes)
    (agents-matrix--start client (agents-edit client "a.txt" "line 5\n" "LINE 5\n"))
    (agents-should-read (agents-end)
                        (pcase client
                          ;; It refuses that itself, before it asks its hook.
                          ((or "claude" "claude-agent-acp") "not valid UTF-8")
                          (_ "cannot show this edit to the user, so it was not made: ")))
    (should (equal (agents-bytes "a.txt") bytes))))

(defun agents-matrix-when-time-is-up-nothing-is-written (client)
  "Let the hook of CLIENT wait only for a second."
  (agents-set-hook-timeout client 1)
  (agents-matrix--start-one client)
  (agents-should-be-refused
   client (agents-end)
   (concat "Error: the user has not decided in the time that the agent waits, so nothing was \
changed. " (agents-matrix--how-to-go-on client)))
  (e2e-see-gone "Agent-Q Diff: a\\.txt")
  (should (equal (agents-bytes "a.txt") (e2e-text))))

(defun agents-matrix-if-emacs-is-killed-nothing-is-written (client)
  "Kill Emacs while CLIENT waits for a review."
  (agents-matrix--start-one client)
  (e2e-see " hunk 1/1")
  (signal-process (e2e-eval '(emacs-pid)) 'SIGKILL)
  (agents-should-be-refused
   client (agents-end)
   (concat "Error: Emacs ended, or closed the connection, before it answered. Your tool was not \
run; read the file before you go on. " (agents-matrix--how-to-go-on client)))
  (should (equal (agents-bytes "a.txt") (e2e-text))))

(defun agents-matrix-if-it-is-killed-its-review-ends (client)
  "Kill CLIENT while it waits for a review."
  (agents-matrix--start-one client)
  (e2e-see " hunk 1/1")
  (agents-kill)
  (e2e-see-gone "Agent-Q Diff: a\\.txt")
  (should (equal (agents-bytes "a.txt") (e2e-text))))

(provide 'agents-matrix)
;;; agents-matrix.el ends here
