;;; agent-q-diff-sly-client-test.el --- SLY itself  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A real SBCL with SLYNK, connected by the real SLY, calls Agent-Q's entry
;; point and a tool.  agent-q-diff-lisp-test.el does much more with SLIME,
;; which Debian has.
;;
;; SLY is in no registry that the tests reach.  It is looked for in the folder
;; that the environment variable AGENT_Q_DIFF_CLIENTS names.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-lisp)
(require 'agent-q-diff-sbcl)

(declare-function sly-connect "ext:sly")
(declare-function sly-disconnect "ext:sly")
(declare-function sly-eval-async "ext:sly")
(declare-function sly-lisp-implementation-name "ext:sly")
(defvar sly-enable-evaluate-in-emacs)
(defvar sly-contribs)
(defvar sly-log-events)
(defvar sly-net-processes)

;;;; The Lisp

(defvar sly-client--lisp nil
  "The Lisp of these tests, as `aqd-sbcl-start' returned it.")

(defun sly-client--folder ()
  "Return the folder of SLY, or skip the test and say what is wanted."
  (let ((folder (getenv "AGENT_Q_DIFF_CLIENTS")))
    (when (member folder '(nil ""))
      (message "Skipped, since AGENT_Q_DIFF_CLIENTS names no folder.  Wanted: \
SLY of joaotavora/sly, commit 6a303bae")
      (ert-skip "AGENT_Q_DIFF_CLIENTS names no folder"))
    (expand-file-name "sly" folder)))

(defun sly-client-ensure ()
  "See to it that SLY is loaded and connected to a Lisp, or skip the test."
  (let ((folder (sly-client--folder)))
    (add-to-list 'load-path folder)
    (require 'sly)
    (unless (and sly-client--lisp (process-live-p (car sly-client--lisp)))
      (setq sly-client--lisp
            (aqd-sbcl-start (expand-file-name "slynk/slynk-loader.lisp" folder)
                            "slynk-loader" "slynk")))
    (unless sly-net-processes
      ;; They need files that are no Lisp.
      (setq sly-contribs nil
            sly-log-events nil
            sly-enable-evaluate-in-emacs t)
      (let* ((inhibit-message t)
             (connection (sly-connect "127.0.0.1" (cdr sly-client--lisp))))
        (aqd-sbcl-wait 'connected (lambda ()
                                    (sly-lisp-implementation-name connection)))))))

(defun sly-client-begin (form)
  "Have Lisp evaluate FORM, and return a function that returns its value.
That is nil until there is one."
  (let (answers)
    (sly-eval-async
        `(cl:handler-case (cl:list :ok ,form)
                          (cl:error (c) (cl:list :error (cl:princ-to-string c))))
      (lambda (value) (push value answers)))
    (lambda () (car answers))))

(defmacro sly-client-with-review (form &rest body)
  "Run BODY with `review', for which FORM, evaluated in Lisp, waits.
The function `answer' returns what that came to."
  (declare (indent 1) (debug t))
  `(progn
     (sly-client-ensure)
     (aqd-with-file "one\n"
       (let* ((agent-q-diff-project-root (file-name-directory aqd-file))
              (answer (sly-client-begin ,form))
              (review (progn (aqd-sbcl-wait 'a-review #'agent-q-diff-open-reviews)
                             (car (agent-q-diff-open-reviews)))))
         (unwind-protect (progn ,@body)
           (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews)))))))

(defun sly-client-of-agent-q ()
  "Return the form by which Agent-Q proposes to change the test's file."
  `(slynk:eval-in-emacs
    '(sly-agent-q-show-diff-and-wait ,aqd-file "one\n" "two\n" "A test.")))

;;;; The tests

(ert-deftest aqd-sly-client-agent-q-is-answered ()
  (sly-client-with-review (sly-client-of-agent-q)
    (should (equal "Agent-Q" (agent-q-diff-session-agent review)))
    (should-not (funcall answer))
    (aqd-in-diff review (agent-q-diff-accept-all))
    (should (equal '(:ok "accepted") (aqd-sbcl-wait 'answer answer)))
    (should (equal (aqd-disk) "two\n"))))

(ert-deftest aqd-sly-client-a-review-that-is-cancelled-is-an-error-in-lisp ()
  (sly-client-with-review (sly-client-of-agent-q)
    (aqd-in-diff review (agent-q-diff-abort))
    (pcase-exhaustive (aqd-sbcl-wait 'answer answer)
      (`(:error ,text) (should (string-search aqd-left-undecided text))))))

(ert-deftest aqd-sly-client-a-tool-is-answered ()
  (sly-client-with-review
      '(cl:funcall (cl:intern "PROPOSE-FILE-EDIT" "AGENT-Q-DIFF")
                   :path "target.txt" :original "one
" :modified "two
" :description "A test.")
    (should (equal "Common Lisp" (agent-q-diff-session-agent review)))
    (aqd-in-diff review (agent-q-diff-accept-all))
    (pcase-exhaustive (aqd-sbcl-wait 'answer answer)
      (`(:ok ,text) (should (string-prefix-p "✓ Accepted" text))))))

(ert-deftest aqd-sly-client-connection-is-closed ()
  (sly-client-with-review (sly-client-of-agent-q)
    (let ((said (aqd-said (sly-disconnect)
                          (aqd-sbcl-wait 'abandoned
                                         (lambda ()
                                           (agent-q-diff-session-is-abandoned review))))))
      (should (string-prefix-p "Nobody is waiting any more for the review of" said)))
    (aqd-in-diff review (agent-q-diff-accept-all))
    (should (equal (aqd-disk) "two\n"))
    (should-not (funcall answer))))

(provide 'agent-q-diff-sly-client-test)
;;; agent-q-diff-sly-client-test.el ends here
