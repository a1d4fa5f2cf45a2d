;;; agent-q-diff-gptel-test.el --- gptel's tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests play gptel's documented interface and need no gptel; the tests
;; with a real one are in agent-q-diff-gptel-client-test.el.  `gptel-make-tool'
;; takes keyword arguments, and the function of an asynchronous tool takes a
;; callback and then a value for each of :args, nil where the model gave none.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-gptel)

(declare-function gptel-abort "ext:gptel-request" (buffer))

(defun aqd-gptel-check (slots)
  "Check SLOTS against the documentation of `gptel-make-tool'."
  (cl-loop for (key _) on slots by #'cddr
           do (should (memq key '(:name :function :description :args :async
                                        :category :confirm :include))))
  (dolist (key '(:name :description :category))
    (should (stringp (plist-get slots key))))
  (should (functionp (plist-get slots :function)))
  (dolist (argument (plist-get slots :args))
    (should (stringp (plist-get argument :name)))
    (should (stringp (plist-get argument :description)))
    (should (memq (plist-get argument :type)
                  '(string number integer boolean array object null)))))

(defmacro aqd-gptel-with-tools (&rest body)
  "Run BODY with `tools', the tools registered with a mock of gptel."
  (declare (indent 0) (debug t))
  `(progn
     (provide 'gptel)
     (cl-letf (((symbol-function 'gptel-make-tool)
                (lambda (&rest slots) (aqd-gptel-check slots) slots)))
       (let ((tools (agent-q-diff-gptel-register)))
         ,@body))))

(defun aqd-gptel-call (tool arguments)
  "Call TOOL as gptel does with ARGUMENTS, a plist as JSON was read.
Return a function that returns the list of the results so far."
  (let (results)
    (apply (plist-get tool :function)
           (lambda (result) (push result results))
           (mapcar (lambda (argument)
                     (plist-get arguments
                                (intern (concat ":" (plist-get argument :name)))))
                   (plist-get tool :args)))
    (lambda () results)))

(defun aqd-gptel-tool (tools name)
  "Return the one of TOOLS that is called NAME."
  (cl-find name tools :test #'equal
           :key (lambda (tool) (plist-get tool :name))))

(ert-deftest aqd-gptel-all-tools-are-registered ()
  (aqd-gptel-with-tools
    (should (equal (mapcar (lambda (tool) (plist-get tool :name)) tools)
                   '("edit_file" "propose_file_edit" "propose_patch" "propose_changes"
                     "review_comments" "resolve_comment")))
    (dolist (tool tools)
      (should (plist-get tool :async))
      (should-not (plist-get tool :confirm)))
    (should (equal (mapcar (lambda (argument)
                             (list (plist-get argument :name)
                                   (plist-get argument :type)
                                   (plist-get argument :optional)))
                           (plist-get (aqd-gptel-tool tools "edit_file") :args))
                   '(("path" string nil) ("old_str" string nil)
                     ("new_str" string nil) ("description" string t)
                     ("shouldReplaceAll" boolean t))))
    (let ((items (plist-get (car (plist-get (aqd-gptel-tool tools "propose_changes") :args))
                            :items)))
      (should (equal "object" (plist-get items :type)))
      (should (equal ["path"] (plist-get items :required)))
      (should (equal "boolean" (plist-get (plist-get (plist-get items :properties) :delete)
                                          :type)))
      (let ((notes (plist-get (plist-get items :properties) :notes)))
        (should (equal "array" (plist-get notes :type)))
        (should (equal ["text"] (plist-get (plist-get notes :items) :required)))))))

(ert-deftest aqd-gptel-proposal-is-decided-later ()
  (aqd-gptel-with-tools
    (aqd-with-file "one\n"
      (let ((results (aqd-gptel-call
                      (aqd-gptel-tool tools "propose_file_edit")
                      (list :path aqd-file :original "one\n" :modified "two\n"
                            :description "A test.")))
            (review (car (agent-q-diff-open-reviews))))
        (should-not (funcall results))
        (should (equal "gptel" (agent-q-diff-session-agent review)))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (agent-q-diff-accept-all))
        (should (equal 1 (length (funcall results))))
        (should (string-prefix-p "✓ Accepted" (car (funcall results))))
        (should (equal (aqd-disk) "two\n"))))))

(ert-deftest aqd-gptel-killed-review-is-answered ()
  (aqd-gptel-with-tools
    (aqd-with-file "one\n"
      (let ((results (aqd-gptel-call
                      (aqd-gptel-tool tools "propose_file_edit")
                      (list :path aqd-file :original "one\n" :modified "two\n"
                            :description "A test."))))
        (kill-buffer (agent-q-diff-session-buffer (car (agent-q-diff-open-reviews))))
        (should (equal 1 (length (funcall results))))
        (should (string-prefix-p "Error: there is no decision about" (car (funcall results))))))))

(defun aqd-gptel-propose (tools)
  "Propose to change the test's file by one of TOOLS.
Return a function as `aqd-gptel-call' does."
  (aqd-gptel-call (aqd-gptel-tool tools "propose_file_edit")
                  (list :path aqd-file :original "one\n" :modified "two\n"
                        :description "A test.")))

(defmacro aqd-gptel-in-chat (&rest body)
  "Run BODY in a buffer that is then killed, and return its value.
A temporary buffer would run no hooks."
  (declare (indent 0) (debug t))
  `(let ((chat (generate-new-buffer "*chat*")))
     (unwind-protect (with-current-buffer chat ,@body)
       (kill-buffer chat))))

(defun aqd-gptel-should-be-abandoned (results)
  "Check that nobody waits for the review, and that nobody is told its end.
RESULTS returns what gptel was told."
  (let ((review (car (agent-q-diff-open-reviews))))
    (should (agent-q-diff-session-is-abandoned review))
    (should-not (string-search "failed" (or (aqd-said (aqd-in-diff review
                                                        (agent-q-diff-accept-all)))
                                            ""))))
  (should (equal (aqd-disk) "two\n"))
  (should-not (funcall results))
  (should-not agent-q-diff-gptel--calls)
  (should-not (advice-member-p #'agent-q-diff-gptel--aborted 'gptel-abort)))

(ert-deftest aqd-gptel-chat-buffer-that-is-killed-is-told-nothing ()
  (aqd-gptel-with-tools
    (aqd-with-file "one\n"
      (let ((results (aqd-gptel-in-chat
                       ;; The mode may have changed by then.
                       (prog1 (aqd-gptel-propose tools)
                         (fundamental-mode)))))
        (aqd-gptel-should-be-abandoned results)))))

(ert-deftest aqd-gptel-request-that-is-aborted-is-told-nothing ()
  (aqd-gptel-with-tools
    (aqd-with-file "one\n"
      (cl-letf (((symbol-function 'gptel-abort) #'ignore))
        (aqd-gptel-in-chat
          (let ((results (aqd-gptel-propose tools)))
            (with-temp-buffer
              (gptel-abort (current-buffer)))
            (should-not (agent-q-diff-session-is-abandoned (car (agent-q-diff-open-reviews))))
            (gptel-abort (current-buffer))
            (aqd-gptel-should-be-abandoned results))
          (should-not (memq #'agent-q-diff-gptel--buffer-killed kill-buffer-hook)))))))

(ert-deftest aqd-gptel-queued-edit-is-taken-back ()
  (aqd-gptel-with-tools
    (aqd-with-file "one\n"
      (let* ((agent-q-diff-project-root (file-name-directory aqd-file))
             (agent-q-diff-tools-policy 'allow)
             (results (aqd-gptel-in-chat
                        (aqd-gptel-call (aqd-gptel-tool tools "edit_file")
                                        (list :path aqd-file :old_str "one" :new_str "two")))))
        (should-not agent-q-diff-tools--queue)
        (accept-process-output nil 0.1)
        (should (equal (aqd-disk) "one\n"))
        (should-not (funcall results))
        (should-not agent-q-diff-gptel--calls)))))

(ert-deftest aqd-gptel-missing-argument-is-answered ()
  (aqd-gptel-with-tools
    (should (equal (funcall (aqd-gptel-call (aqd-gptel-tool tools "propose_file_edit")
                                            '(:path "f" :original "a")))
                   '("Error: Missing parameter 'modified'. propose_file_edit needs path, original, modified, description")))))

(ert-deftest aqd-gptel-edit-file-is-answered ()
  (aqd-gptel-with-tools
    (aqd-with-file "one\n"
      (let* ((agent-q-diff-project-root (file-name-directory aqd-file))
             (agent-q-diff-log-file nil)
             (agent-q-diff-tools-policy 'allow)
             (results (aqd-gptel-call
                       (aqd-gptel-tool tools "edit_file")
                       (list :path aqd-file :old_str "one" :new_str "two"
                             :shouldReplaceAll :json-false))))
        (with-timeout (20 (ert-fail "no answer"))
          (while (null (funcall results))
            (accept-process-output nil 0.01)))
        (pcase-exhaustive (funcall results)
          (`(,result) (should (string-prefix-p "✓ Edit applied" result))))
        (should (equal (aqd-disk) "two\n"))))))

(provide 'agent-q-diff-gptel-test)
;;; agent-q-diff-gptel-test.el ends here
