;;; agents-ends.el --- How turns of every coding agent can end, and sessions go on  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Whatever client it is: when its turn fails, or it is killed, that turn is over;
;; what was rejected is taken out, and its next prompt brings it.  Of two sessions
;; at once, each hunk has its own turn, and a message is for the session that wrote.
;; A session that goes on is the same one.  A suite defines these tests for its
;; client by `agents-define-ends'.  Where a client has a terminal that starts here, ESC
;; in that ends its turn as well: `agents-define-interruption'.

;;; Code:

(require 'agents-tools)
(require 'agents-turns)
(require 'agents-rounds)
(require 'agents-terminal)

(defmacro agents-define-ends (client)
  "Define the tests for CLIENT, as agents-CLIENT-ends-NAME."
  (cl-flet ((test-of (name)
              `(ert-deftest ,(intern (format "agents-%s-ends-%s" client name)) ()
                 (agents-with-emacs ,client
                   (agents-turns--begin)
                   (let ((agents-gemini-mode "yolo"))
                     (,(intern (format "agents-ends-%s" name)) ,client))))))
    `(progn
       ,@(mapcar #'test-of '(when-its-service-refuses-a-request
                             when-it-is-killed
                             two-sessions-at-once
                             when-its-session-goes-on)))))

(defmacro agents-define-interruption (client &rest with)
  "Define the tests of ESC in the terminal of CLIENT, as agents-CLIENT-ends-by-esc.
WITH begins a form that evaluates the rest of it with an Emacs and the hook of
CLIENT."
  (cl-flet ((test-of (name)
              `(ert-deftest ,(intern (format "agents-%s-ends-%s" client name)) ()
                 (,@(or with `(agents-with-emacs ,client))
                  (agents-turns--begin)
                  (let ((agents-gemini-mode "yolo"))
                    (,(intern (format "agents-ends-%s" name)) ,client))))))
    `(progn
       ,@(mapcar #'test-of '(by-esc by-esc-while-its-model-thinks)))))

(defconst agents-ends--earlier "of an earlier session"
  "Words above what an agent of a session that has ended is told.")

(defun agents-ends--shout (client line file &optional rest)
  "Return a call of CLIENT's shell that changes LINE of FILE, then does REST."
  (agents-rounds--shell client (format "sed -i 's/^line %d$/LINE %d/' %s%s"
                                       line line file (or rest ""))))

(defun agents-ends--reject (where reason)
  "Reject the hunk at point, WHERE, for REASON."
  (e2e-press "C-u r")
  (e2e-see "Why is it taken out")
  (e2e-type reason)
  (e2e-press "RET")
  (e2e-see where))

(defun agents-ends--authors (name)
  "Return the authors of what is pending in the file NAME."
  (e2e-eval `(cl-some (lambda (file)
                        (and (equal ,name (agent-q-diff-pending-file-path file))
                             (agent-q-diff-pending-file-authors file)))
                      (nth 2 (agent-q-diff-pending-look ,(e2e-path "project"))))))

(defun agents-ends-when-its-service-refuses-a-request (client)
  "Let the service of CLIENT refuse a request, also since a limit is reached."
  ;; Gemini CLI tries again for minutes.
  (dolist (status (if (equal client "gemini") '(400) '(400 429)))
    (agents-start client (agents-ends--shout client 5 "a.txt") `(:fails ,status))
    (e2e-wait-for (equal (e2e-text 5) (agents-bytes "a.txt")))
    (e2e-wait-for (not (process-live-p agents--client)))
    (agents-rounds--review "^ a\\.txt: hunk 1/1 ")
    (agents-ends--reject "taken out" (format "not %d" status))
    (e2e-press "q")
    (should (equal (e2e-text) (agents-bytes "a.txt")))
    (e2e-wait-for (seq-every-p #'caddr (agents-turns--recorded)))
    (let ((told (agents-rounds--play client "true")))
      (should (string-search (format "- a.txt, line 5. The user says: not %d\n" status) told)))))

(defun agents-ends-when-it-is-killed (client)
  "Kill CLIENT, as by kill -9, while a rejection waits for the end of its turn."
  (let ((agents-claude-options '("--allowedTools" "Bash")))
    (agents-start client (agents-ends--shout client 5 "a.txt"
                                             "; python3 -c 'import time; time.sleep(600)'")))
  (e2e-wait-for (equal (e2e-text 5) (agents-bytes "a.txt")))
  (agents-rounds--review "^ a\\.txt: hunk 1/1 " (concat (agents-name client) " at work since"))
  (agents-ends--reject "will be taken out" "keep it quiet")
  (agents-kill)
  (e2e-wait-for (equal (e2e-text) (agents-bytes "a.txt")))
  (should (seq-every-p #'caddr (agents-turns--recorded)))
  (e2e-press "q")
  (let ((told (agents-rounds--play client "true")))
    (should (string-search "- a.txt, line 5. The user says: keep it quiet\n" told))
    (should (string-search agents-ends--earlier told))))

(defun agents-ends-by-esc (client)
  "Interrupt CLIENT after something was rejected, and before; say more each time."
  ;; Gemini CLI forgets what was said in a turn that was interrupted.
  (let ((told (lambda (line)
                (agents-turns--count (format "- a.txt, line %d. The user says: not %d\n" line line)
                                     (apply #'seq-difference
                                            (seq-take (reverse (agents-turns--told)) 2)))))
        (shout (lambda (line)
                 (append (agents-ends--shout client line "a.txt"
                                             "; while test -e a.txt; do sleep 0.1; done")
                         ;; It lets its model go on after ten seconds.
                         (and (equal client "codex") '((yield_time_ms . 30000)))))))
    (e2e-eval '(ignore (setq agents-n-ended 0)
                       (advice-add 'agent-q-diff-turns-ended :before
                                   (lambda (&rest _) (cl-incf agents-n-ended)))))
    (agents-terminal-start client (funcall shout 5) (funcall shout 20))
    (agents-terminal-prompt "Begin.")
    (e2e-wait-for (equal (e2e-text 5) (agents-bytes "a.txt")))
    (agents-rounds--review "^ a\\.txt: hunk 1/1 " (concat (agents-name client) " at work since"))
    (agents-ends--reject "will be taken out" "not 5")
    (agents-terminal-interrupt client)
    (e2e-wait-for (equal (e2e-text) (agents-bytes "a.txt")))
    (should (equal '("Begin." t) (cdar (last (agents-turns--recorded)))))
    (e2e-press "q")
    (agents-terminal-prompt "Leave line 5.")
    (should (equal '(1 0) (mapcar told '(5 20))))
    (e2e-wait-for (equal (e2e-text 20) (agents-bytes "a.txt")))
    (agents-terminal-interrupt client)
    (agents-rounds--review "^ a\\.txt: hunk 1/1 ")
    (agents-ends--reject "^\\[TAKEN OUT" "not 20")
    (should (equal (e2e-text) (agents-bytes "a.txt")))
    (e2e-press "q")
    (agents-terminal-prompt "And line 20.")
    (should (equal '(0 1) (mapcar told '(5 20))))
    (e2e-wait-for (equal '(("Begin." t) ("Leave line 5." t) ("And line 20." t))
                         (mapcar #'cdr (agents-turns--recorded))))
    ;; None is announced twice; not all are.
    (should (<= (e2e-eval 'agents-n-ended) 3))))

(defun agents-ends-by-esc-while-its-model-thinks (client)
  "Interrupt CLIENT, whose model does not answer, after something was rejected."
  ;; Qwen Code refuses a plain `sed -i' of a file that it has not read.
  (agents-terminal-start client (agents-ends--shout client 5 "a.txt" "; true") '(:fails 0))
  (agents-terminal-prompt "Begin.")
  (e2e-wait-for (= 2 (agents-terminal-n-requests)))
  (agents-rounds--review "^ a\\.txt: hunk 1/1 " (concat (agents-name client) " at work since"))
  (agents-ends--reject "will be taken out" "not 5")
  (should (equal (e2e-text 5) (agents-bytes "a.txt")))
  (agents-terminal-interrupt client)
  (e2e-wait-for (equal (e2e-text) (agents-bytes "a.txt")))
  (should (equal '(("Begin." t)) (mapcar #'cdr (agents-turns--recorded)))))

(defun agents-ends-two-sessions-at-once (client)
  "Let two sessions of CLIENT write at once, and go on with the second one."
  (cl-flet ((call (line file done task)
              (pcase (agents-ends--shout
                      client line file
                      (format "; while ! test -e %s; do sleep 0.1; done" done))
                (`(,tool . ,input) (list tool input :task task)))))
    (agents-put "b.txt" (e2e-text))
    (let ((default-directory (file-name-as-directory (e2e-path "project"))))
      (dolist (arguments '(("add" "b.txt")
                           ("-c" "user.name=a" "-c" "user.email=a" "commit" "-qm" "Two")))
        (should (= 0 (apply #'call-process "git" nil nil nil arguments)))))
    (let* ((agents-prompt "The first job.")
           (agents-claude-options '("--allowedTools" "Bash"))
           (first (progn (agents-start client
                                       (call 5 "a.txt" "one" "The first job.")
                                       (call 20 "b.txt" "two" "The second job."))
                         (e2e-wait-for (equal (e2e-text 5) (agents-bytes "a.txt")))
                         (let ((agents-prompt "The second job."))
                           (agents-start-beside client)))))
      (e2e-wait-for (equal (e2e-text 20) (agents-bytes "b.txt")))
      (should (equal '("The first job." "The second job.")
                     (mapcar #'cadr (agents-turns--recorded))))
      (agents-rounds--review "^ a\\.txt: hunk 1/1 ")
      ;; The first one ends, and the other one is at work.
      (agents-put "one" "")
      (e2e-wait-for (equal '(t nil) (mapcar #'caddr (agents-turns--recorded))))
      (e2e-wait-for (not (process-live-p first)))
      (agents-ends--reject "will be taken out" "keep it quiet")
      (should (equal (e2e-text 5) (agents-bytes "a.txt")))
      (agents-put "two" "")
      (e2e-wait-for (equal (e2e-text) (agents-bytes "a.txt")))
      (agents-end "The second job.")
      (e2e-wait-for (seq-every-p #'caddr (agents-turns--recorded)))))
  (e2e-press "q")
  (agents-rounds--review "^ b\\.txt: hunk 1/[0-9] ")
  (agents-ends--reject "taken out" "this one, too")
  (e2e-press "q")
  (let* ((agents-goes-on t)
         (told (agents-rounds--play client "true"))
         (its (string-search "- b.txt, line 20. The user says: this one, too\n" told))
         (earlier (string-search agents-ends--earlier told))
         (others (string-search "- a.txt, line 5. The user says: keep it quiet\n" told)))
    ;; What the other one wrote is below those words, and what this one wrote is not.
    (unless (and its earlier others)
      (ert-fail (list 'not-told its earlier others told)))
    (should (= 1 (agents-turns--count agents-ends--earlier (list told))))
    (should (< earlier others))
    (should (= 1 (agents-turns--count "this one, too" (list told))))
    (should-not (< earlier its others)))
  (should-not (string-search "this one, too\n" (agents-rounds--play client "true"))))

(defun agents-ends-when-its-session-goes-on (client)
  "Let CLIENT go on with its session after a review."
  (agents-rounds--play client "sed -i 's/^line 5$/LINE 5/' a.txt")
  (agents-rounds--review "^ a\\.txt: hunk 1/1 ")
  (agents-ends--reject "taken out" "keep it quiet")
  (e2e-press "q")
  (e2e-see "your next prompt")
  (let* ((agents-goes-on t)
         (agents-prompt "Go on.")
         (shout "sed -i 's/^line 20$/LINE 20/' a.txt")
         ;; The results of earlier calls count, and Gemini CLI shows some twice.
         (told (agents-rounds--play client "true" shout shout shout)))
    (should (string-search "- a.txt, line 5. The user says: keep it quiet\n" told))
    (should-not (string-search agents-ends--earlier told)))
  (should (equal '("Begin." "Go on.") (mapcar #'cadr (agents-turns--recorded))))
  (should (equal (e2e-text 20) (agents-bytes "a.txt"))))

(provide 'agents-ends)
;;; agents-ends.el ends here
