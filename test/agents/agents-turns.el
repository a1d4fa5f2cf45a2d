;;; agents-turns.el --- Turns of every coding agent, and what it is told at them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Whatever client it is: its turn is recorded with its prompt, from the prompt
;; to its end; what the user has said in a review reaches its model beside the
;; next prompt, once; and if the review was finished during the turn, the agent
;; goes on with that at its end, where it can.  A suite defines these tests for
;; its client by `agents-define-turns'.

;;; Code:

(require 'agents-tools)

(defmacro agents-define-turns (client)
  "Define the tests of turns for CLIENT, as agents-CLIENT-NAME."
  (cl-flet ((test-of (name)
              `(ert-deftest ,(intern (format "agents-%s-%s" client name)) ()
                 (agents-with-emacs ,client
                   (agents-turns--begin)
                   (,(intern (format "agents-turns-%s" name)) ,client)))))
    `(progn
       ,@(mapcar #'test-of '(its-turn-is-recorded-from-the-prompt-to-the-end
                             a-message-is-read-beside-the-next-prompt-and-once
                             a-message-of-its-turn-is-read-before-it-ends
                             it-waits-at-its-end-for-the-review)))))

(defun agents-turns--begin ()
  "Make the project a repository with the file a.txt."
  (agents-put "a.txt" (e2e-text))
  (let ((default-directory (file-name-as-directory (e2e-path "project"))))
    (dolist (arguments '(("init" "-q") ("add" "a.txt")
                         ("-c" "user.name=a" "-c" "user.email=a" "commit" "-qm" "One")))
      (should (= 0 (apply #'call-process "git" nil nil nil arguments))))))

(defun agents-turns--start (client)
  "Start CLIENT, whose model changes a line of a.txt."
  (apply #'agents-start client (agents-edit client "a.txt" "line 5\n" "LINE 5\n")))

(defun agents-turns--decide ()
  "Accept the change of `agents-turns--start'."
  (agents-decide "a.txt" "C-c C-c"))

(defun agents-turns--say (text)
  "Say TEXT about line 7 of a.txt, as if in a review that is finished now."
  (e2e-eval `(with-current-buffer (find-file-noselect ,(e2e-path "project/a.txt"))
               (goto-char (point-min))
               (forward-line 6)
               (agent-q-diff-comment-file ,text)
               (kill-buffer)
               nil)))

(defun agents-turns--recorded ()
  "Return the recorded turns as lists (AGENT TITLE IS-OVER)."
  (e2e-eval `(mapcar (lambda (turn)
                       (list (substring-no-properties (agent-q-diff-turn-agent turn))
                             (substring-no-properties (agent-q-diff-turn-title turn))
                             (agent-q-diff-turn-is-over turn)))
                     (agent-q-diff-module-turns ,(e2e-path "project")))))

(defun agents-turns--told ()
  "Return what the model was told at each request, a list of lists of strings."
  (mapcar (lambda (line)
            (alist-get 'told (json-parse-string line :object-type 'alist :array-type 'list)))
          (split-string (e2e-read "log") "\n" t)))

(defun agents-turns--count (text texts)
  "Return how many of TEXTS have TEXT in them."
  (seq-count (apply-partially #'string-search text) texts))

(defun agents-turns-its-turn-is-recorded-from-the-prompt-to-the-end (client)
  "Check the turn of CLIENT during it, and after, and the mode that it has said."
  (e2e-eval '(ignore
              (setq agents-mode nil)
              (dolist (decide '(agent-q-diff-own-tool-decide agent-q-diff-own-tool-decide-patch))
                (advice-add decide :before (lambda (arguments &rest _)
                                             (setq agents-mode (gethash "mode" arguments)))))))
  (let ((agents-prompt "Begin.\nThe second line."))
    (agents-turns--start client))
  (agents-go "a.txt")
  (pcase-let ((`((,agent ,title ,is-over)) (agents-turns--recorded)))
    (should (equal (agents-name client) agent))
    (should (equal "Begin." title))
    (should-not is-over))
  ;; claude-agent-acp chooses a mode that accepts edits, unless settings say otherwise.
  (should (equal (e2e-eval 'agents-mode)
                 (pcase client
                   ((or "claude" "claude-agent-acp" "codex") "accepts"))))
  (agents-turns--decide)
  (agents-end)
  (e2e-wait-for (equal '(t) (mapcar #'caddr (agents-turns--recorded)))))

(defun agents-turns-a-message-is-read-beside-the-next-prompt-and-once (client)
  "Check that CLIENT reads a message beside its next prompt only."
  (let ((text "Rename x (1), please."))
    (agents-turns--say text)
    (agents-turns--start client)
    (agents-turns--decide)
    (agents-end)
    (let ((told (agents-turns--told)))
      (should (= 1 (agents-turns--count text (car told))))
      (should (= 1 (agents-turns--count text (car (last told))))))
    (agents-put "a.txt" (e2e-text))
    (agents-turns--start client)
    (agents-turns--decide)
    (agents-end)
    (should (= 0 (agents-turns--count text (apply #'append (agents-turns--told)))))))

(defun agents-turns-a-message-of-its-turn-is-read-before-it-ends (client)
  "Check that CLIENT goes on if a review was finished during its turn.
opencode reads that beside its next prompt."
  (agents-turns--start client)
  (agents-go "a.txt")
  (agents-turns--say "Take line 7 out.")
  (agents-turns--decide)
  (agents-end)
  (let* ((told (agents-turns--told))
         (n-with (seq-count (lambda (texts)
                              (< 0 (agents-turns--count "Take line 7 out." texts)))
                            told)))
    (should (memq n-with (pcase client
                           ("opencode" '(0))
                           ;; It can ask for something else after the turn.
                           ("claude-agent-acp" '(1 2))
                           (_ '(1)))))
    (unless (= n-with 0)
      (should (< 0 (agents-turns--count "Take line 7 out." (car (last told)))))))
  ;; It goes on in the same turn.
  (e2e-wait-for (equal '(t) (mapcar #'caddr (agents-turns--recorded))))
  (agents-put "a.txt" (e2e-text))
  (agents-turns--start client)
  (agents-turns--decide)
  (agents-end)
  (should (= (if (equal client "opencode") 1 0)
             (agents-turns--count "Take line 7 out." (car (agents-turns--told))))))

(defun agents-turns-it-waits-at-its-end-for-the-review (client)
  "Check that CLIENT waits for the review, and goes on with what is said in it.
opencode does not wait."
  (e2e-eval '(ignore (setq agent-q-diff-stop-waits t)))
  (agents-turns--start client)
  (agents-go "a.txt")
  ;; That is written in its turn, and nobody was asked.
  (agents-put "b.txt" "made\n")
  (e2e-press "C-c C-c")
  (if (equal client "opencode")
      (e2e-see "opencode's turn in [^ ]+ has ended: [12] files? to review")
    ;; The change of a.txt was decided before it was made.
    (agents-go "b.txt")
    ;; Its turn is over, so that what is rejected is taken out at once.
    (should (equal '(t) (mapcar #'caddr (agents-turns--recorded))))
    (should (process-live-p agents--client))
    (e2e-press "c")
    (e2e-type "keep line 5")
    (e2e-press "RET r q")
    (e2e-wait-for (not (file-exists-p (e2e-path "project/b.txt")))))
  (agents-end)
  (e2e-wait-for (seq-every-p #'caddr (agents-turns--recorded)))
  (should (equal (if (equal client "opencode") '("Begin.") '("Begin." "Begin."))
                 (mapcar #'cadr (agents-turns--recorded))))
  (should (eq (not (equal client "opencode"))
              (< 0 (agents-turns--count "keep line 5" (car (last (agents-turns--told))))))))

(defun agents-turns-should-have-the-subagent (client spawn task)
  "Check that what a subagent of CLIENT writes is written in the agent's turn.
SPAWN are the calls that begin a subagent that is told TASK."
  (agents-turns--begin)
  (apply #'agents-start client
         (append spawn
                 (mapcar (pcase-lambda (`(,tool . ,input)) (list tool input :task task))
                         (agents-edit client "a.txt" "line 5\n" "LINE 5\n"))))
  (agents-go "a.txt")
  (should (equal (list (list (agents-name client) "Begin." nil)) (agents-turns--recorded)))
  (e2e-press "C-c C-c")
  (agents-see-end)
  (agents-end)
  (e2e-wait-for (seq-every-p #'caddr (agents-turns--recorded)))
  (should (equal '("a.txt")
                 (e2e-eval `(mapcar #'substring-no-properties
                                    (agent-q-diff-turn-paths
                                     (car (agent-q-diff-module-turns ,(e2e-path "project")))))))))

(provide 'agents-turns)
;;; agents-turns.el ends here
