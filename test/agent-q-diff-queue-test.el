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

(provide 'agent-q-diff-queue-test)
;;; agent-q-diff-queue-test.el ends here
