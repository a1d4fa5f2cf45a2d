;;; agent-q-diff-queue-test.el --- Calls of tools, one after the other  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Calls that do not wait keep their order, and each is answered once.

;;; Code:

(require 'agent-q-diff-project-help)

(defun aqd-queue-wait-for (predicate)
  "Wait until PREDICATE returns non-nil, for a while."
  (let ((deadline (+ (float-time) 10)))
    (while (and (not (funcall predicate)) (< (float-time) deadline))
      (accept-process-output nil 0.01))
    (should (funcall predicate))))

(ert-deftest aqd-queue-calls-that-do-not-wait-keep-their-order ()
  (aqd-with-project "0\n"
    (let (answers)
      (dotimes (n 5)
        (agent-q-diff-tools-call-async
         "edit_file" `(:path "target.txt" :old_str ,(format "%d" n)
                             :new_str ,(format "%d" (1+ n)))
         (lambda (message) (push message answers))))
      (should-not answers)
      (aqd-queue-wait-for (lambda () (= (length answers) 5)))
      (should (seq-every-p (lambda (answer) (string-prefix-p "✓" answer)) answers))
      (should (equal (aqd-disk) "5\n")))))

(ert-deftest aqd-queue-session-covers-what-is-queued ()
  (aqd-with-project "0\n"
    (aqd-asking
     (let ((agent-q-diff-permission-function (aqd-answering 'session))
           answers)
       (dotimes (n 3)
         (agent-q-diff-tools-call-async
          "edit_file" `(:path "target.txt" :old_str ,(format "%d" n)
                              :new_str ,(format "%d" (1+ n)))
          (lambda (message) (push message answers))))
       (aqd-queue-wait-for (lambda () (= (length answers) 3)))
       (should (equal (aqd-disk) "3\n"))))))

(ert-deftest aqd-queue-every-call-is-answered-once ()
  (aqd-with-project "a\n"
    (let ((answers nil))
      ;; A wrong call, an interrupted one, one whose callback fails, a good one.
      (agent-q-diff-tools-call-async "edit_file" nil
                                     (lambda (message) (push message answers)))
      (agent-q-diff-tools-call-async
       "edit_file" '(:path "target.txt" :old_str "a" :new_str "b")
       (lambda (message)
         (push message answers)
         (error "The caller is broken")))
      (agent-q-diff-tools-call-async
       "edit_file" '(:path "target.txt" :old_str "b" :new_str "c")
       (lambda (message) (push message answers)))
      (let ((inhibit-message t))
        (aqd-queue-wait-for (lambda () (= (length answers) 3))))
      (should (equal (aqd-disk) "c\n"))
      (should (string-prefix-p "Error: Missing parameter" (nth 2 answers))))))

(ert-deftest aqd-queue-a-call-cut-short-is-answered ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-show-edit-functions (list (lambda (&rest _) (throw 'away t))))
          answer)
      (catch 'away
        (agent-q-diff-queue--answer
         (lambda ()
           (agent-q-diff-tools-call
            "edit_file" '(:path "target.txt" :old_str "a" :new_str "b")))
         (lambda (message) (setq answer message))))
      (should (string-prefix-p "Error: the call was interrupted" answer))
      (should (equal (aqd-disk) "a\n")))))

;;;; Turns to change files

(defvar aqd-queue-begun nil
  "Calls whose turns have begun, each (CALL . HAS-WAITED), the latest first.")

(defun aqd-queue-take (call &rest files)
  "Let CALL, which waits for itself, take its turn to change FILES."
  (let ((agent-q-diff-caller (cons "Agent" call)))
    (agent-q-diff-queue-take-turn call files
                                  (lambda (has-waited)
                                    (push (cons call has-waited) aqd-queue-begun)))))

(defun aqd-queue-leave (call)
  "Withdraw CALL."
  (agent-q-diff-queue-withdraw (apply-partially #'equal call)))

(defmacro aqd-queue-with-turns (&rest body)
  "Run BODY without any turns, and check that none are left."
  (declare (indent 0) (debug t))
  `(let ((agent-q-diff-queue--turns nil)
         (aqd-queue-begun nil)
         (agent-q-diff-reviews-n-queued 0))
     ,@body
     (should-not agent-q-diff-queue--turns)
     (should (= 0 agent-q-diff-reviews-n-queued))))

(ert-deftest aqd-queue-calls-that-change-one-file-have-their-turns-in-order ()
  (aqd-queue-with-turns
    (aqd-queue-take "1" "/a")
    (aqd-queue-take "2" "/a")
    (aqd-queue-take "3" "/b")
    (aqd-queue-take "4" "/a")
    (should (equal aqd-queue-begun '(("3") ("1"))))
    (should (= 2 agent-q-diff-reviews-n-queued))
    (let ((agent-q-diff-reviews-open '(review)))
      (should (equal " [1 review, 2 waiting]"
                     (substring-no-properties (agent-q-diff-reviews-mode-line)))))
    ;; It is decided, so its turn lasts until its tool has written.
    (agent-q-diff-queue-keep-turn "1")
    (aqd-queue-leave "1")
    (should (equal aqd-queue-begun '(("3") ("1"))))
    (agent-q-diff-queue-end-turn "1")
    (should (equal aqd-queue-begun '(("2" . t) ("3") ("1"))))
    ;; It is gone before its turn, and the one before it without a decision.
    (should (equal "Agent gave up an edit of /a that waited for its turn"
                   (aqd-said (aqd-queue-leave "4"))))
    (aqd-queue-take "5" "/a")
    (aqd-queue-leave "2")
    (should (equal (car aqd-queue-begun) '("5" . t)))
    (mapc #'aqd-queue-leave '("3" "5"))))

;; Some agents have no ids, so that all calls for a file are one; and some run a hook
;; that is in two of their settings twice.
(ert-deftest aqd-queue-a-call-does-not-wait-for-itself-to-be-written ()
  (aqd-queue-with-turns
    (aqd-queue-take "1" "/a")
    (aqd-queue-take "1" "/a")
    (should (equal aqd-queue-begun '(("1"))))
    (agent-q-diff-queue-keep-turn "1")
    (agent-q-diff-queue-end-turn "other")
    (should (equal aqd-queue-begun '(("1" . t) ("1"))))
    (aqd-queue-leave "1")
    (aqd-queue-take "1" "/a")
    (should (= 3 (length aqd-queue-begun)))
    (agent-q-diff-queue-end-turn "1")
    (aqd-queue-leave "1")))

(ert-deftest aqd-queue-calls-of-several-files-do-not-wait-for-each-other ()
  (aqd-queue-with-turns
    (aqd-queue-take "1" "/a" "/b")
    (aqd-queue-take "2" "/b" "/a")
    (aqd-queue-take "3" "/c" "/b")
    (aqd-queue-take "4" "/c")
    (should (equal aqd-queue-begun '(("1"))))
    (dolist (call '("1" "2" "3"))
      (aqd-queue-leave call))
    (should (equal aqd-queue-begun '(("4" . t) ("3" . t) ("2" . t) ("1"))))
    (aqd-queue-leave "4")))

(provide 'agent-q-diff-queue-test)
;;; agent-q-diff-queue-test.el ends here
