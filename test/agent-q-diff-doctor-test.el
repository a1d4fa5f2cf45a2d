;;; agent-q-diff-doctor-test.el --- Says why nothing happens  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What is found in this Emacs; what the program finds in the settings of agents is
;; tested in Rust, and with real agents.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-doctor)

(defmacro aqd-doctor-without-anything (&rest body)
  "Run BODY where nothing is chosen or granted."
  (declare (indent 0) (debug t))
  `(let ((agent-q-diff-decide-when nil)
         (agent-q-diff-permit-grants nil)
         (agent-q-diff-shell-writes 'review)
         (agent-q-diff-pending-mode nil))
     ,@body))

(defun aqd-doctor-lines (&optional call program)
  "Return what is found, a list of lines; nothing is served.
CALL and PROGRAM are as for `agent-q-diff-doctor-text'."
  (split-string (agent-q-diff-doctor-text nil call (or program t)) "\n"))

(defun aqd-doctor-line (text &rest arguments)
  "Return the line with TEXT of what is found with ARGUMENTS, or nil."
  (seq-find (apply-partially #'string-search text) (apply #'aqd-doctor-lines arguments)))

(ert-deftest aqd-doctor-each-line-says-what-to-do ()
  (aqd-doctor-without-anything
    (dolist (line (aqd-doctor-lines))
      (should (string-match-p "\\`\\(?:ok      \\|MISSING \\|note    \\) [^ ]" line)))
    (should (string-match-p "\\`MISSING .*M-x agent-q-diff-serve"
                            (aqd-doctor-line "serves no agents")))
    (should (string-prefix-p "ok " (aqd-doctor-line "the engine 0.1.0 is loaded")))
    (should (string-prefix-p "note " (aqd-doctor-line "agent-q-diff-pending-mode is off")))
    (should (string-prefix-p "note " (aqd-doctor-line "bind agent-q-diff-prefix-map")))
    (should (string-prefix-p "note " (aqd-doctor-line "no agent has called")))
    (should (string-prefix-p "note " (aqd-doctor-line "pending after its turn")))))

(ert-deftest aqd-doctor-an-engine-that-is-not-there-is-missing ()
  (aqd-doctor-without-anything
    (cl-letf (((symbol-value 'features) (remq 'agent-q-diff-module features))
              (agent-q-diff-build--directory "/nowhere/"))
      (should (string-match-p "\\`MISSING .*M-x agent-q-diff-build-module"
                              (aqd-doctor-line "the engine is not built"))))))

(ert-deftest aqd-doctor-the-program-is-there-and-of-this-version ()
  (aqd-doctor-without-anything
    (should-not (aqd-doctor-line "program"))
    (should-not (aqd-doctor-line "program" nil agent-q-diff-build-version))
    (should (string-match-p "\\`MISSING .*the program is version 0.0.7, and what Emacs has loaded"
                            (aqd-doctor-line "program" nil "0.0.7")))
    (should (string-search "MISSING  the program that agents run is not there: \
M-x agent-q-diff-setup builds it\n"
                           (agent-q-diff-doctor-text nil nil nil)))))

(ert-deftest aqd-doctor-what-passes-without-a-question-is-named ()
  (aqd-doctor-without-anything
    (let ((agent-q-diff-decide-when '(("claude" . after) ("codex" . before) (t . client)))
          (agent-q-diff-shell-writes 'ask))
      (agent-q-diff-permit-grant "Gemini CLI's own tools" "/tmp/p/")
      (should (equal (aqd-doctor-line "claude")
                     "note     edits of claude are made at once, and pending after that, \
since agent-q-diff-decide-when says so"))
      (should-not (aqd-doctor-line "codex"))
      (should (aqd-doctor-line "edits of all other agents are decided in the agent's own mode"))
      (should (string-search "/tmp/p/ until Emacs ends; M-x agent-q-diff-grants"
                             (aqd-doctor-line "Gemini CLI's own tools need not ask in")))
      (should (string-prefix-p "ok " (aqd-doctor-line "sent back to the edit tools"))))))

(ert-deftest aqd-doctor-the-last-call-and-the-socket-are-named ()
  (aqd-doctor-without-anything
    (should (string-match-p "\\`ok       Codex last called at [0-9:]+, with edit_before\\'"
                            (aqd-doctor-line "last called"
                                             (list (current-time) "Codex" "edit_before"))))
    (should (string-match-p "\\`ok       Emacs [0-9.]+ serves at /run/socket\n"
                            (agent-q-diff-doctor-text "/run/socket" nil t)))))

(provide 'agent-q-diff-doctor-test)
;;; agent-q-diff-doctor-test.el ends here
