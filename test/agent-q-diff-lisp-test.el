;;; agent-q-diff-lisp-test.el --- A real Common Lisp proposes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A real SBCL, connected by a real SLIME to this Emacs, calls the tools of
;; agent-q-diff.lisp, and Agent-Q's entry point as Agent-Q does.  Keys decide,
;; and the value that Lisp gets from the call is checked.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-lisp)
(require 'agent-q-diff-sbcl)

(add-to-list 'load-path (aqd-sbcl-slime))
(require 'slime nil t)

(declare-function slime-connect "ext:slime")
(declare-function slime-disconnect "ext:slime")
(declare-function slime-eval-async "ext:slime")
(declare-function slime-lisp-implementation-name "ext:slime")
(defvar slime-enable-evaluate-in-emacs)
(defvar slime-log-events)
(defvar slime-net-processes)
(defvar slime-dispatching-connection)
(defvar slime-default-connection)
(defvar sly-enable-evaluate-in-emacs)
(defvar sly-dispatching-connection)

;;;; The Lisp

(defvar aqd-lisp nil
  "The Lisp that most tests use, as `aqd-sbcl-start' returned it.")

(defun aqd-lisp-connect (lisp)
  "Connect to LISP, as `aqd-sbcl-start' returned it, and return the connection."
  (setq slime-log-events nil
        slime-enable-evaluate-in-emacs t)
  (let* ((inhibit-message t)
         (connection (slime-connect "127.0.0.1" (cdr lisp))))
    (aqd-sbcl-wait 'connected (lambda ()
                                (slime-lisp-implementation-name connection)))
    connection))

(defun aqd-lisp--say-error (filter &rest arguments)
  "Call FILTER with ARGUMENTS; if that is an error, say so and go on.
So does Emacs, except in batch, where it ends."
  (with-demoted-errors "In a process filter: %S"
    (apply filter arguments)))

(advice-add 'slime-net-filter :around #'aqd-lisp--say-error)

(defun aqd-lisp-ensure ()
  "See to it that there is a Lisp and that it is connected."
  (unless (and aqd-lisp (process-live-p (car aqd-lisp)))
    (setq aqd-lisp (aqd-sbcl-start)))
  (unless slime-net-processes
    (aqd-lisp-connect aqd-lisp)))

(defun aqd-lisp-begin (form)
  "Have Lisp evaluate FORM and return a function that returns its value.
An error is the value (:error MESSAGE); the function returns nil until
there is a value."
  (let (answers)
    (slime-eval-async
        `(cl:handler-case (cl:list :ok ,form)
                          (cl:error (c) (cl:list :error (cl:princ-to-string c))))
      (lambda (value) (push value answers)))
    (lambda ()
      (should (<= (length answers) 1))
      (pcase (car answers)
        (`(:ok ,value) value)
        (value value)))))

(defun aqd-lisp-end (answer)
  "Wait until ANSWER, as `aqd-lisp-begin' returned it, is there, and return it."
  (aqd-sbcl-wait 'answer answer))

(defun aqd-lisp-eval (form)
  "Return the value of FORM in Lisp."
  (aqd-lisp-end (aqd-lisp-begin form)))

(defmacro aqd-lisp-with-connection (text &rest body)
  "Run BODY with a connected Lisp and a file that holds TEXT."
  (declare (indent 1) (debug t))
  `(progn
     (aqd-lisp-ensure)
     (aqd-with-file ,text
       (unwind-protect (save-window-excursion ,@body)
         (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews))))))

;;;; Proposing and deciding

(defconst aqd-lisp-original (aqd-numbered 30)
  "A file.")

(defconst aqd-lisp-modified (aqd-numbered 30 '((5 . "five") (25 . "x")))
  "What is proposed for it.")

(cl-defun aqd-lisp-proposal (&key (path aqd-file) (original aqd-lisp-original)
                                  (modified aqd-lisp-modified))
  "Return a call of the tool: PATH, which is ORIGINAL, becomes MODIFIED."
  `(agent-q-diff:propose-file-edit :path ,path :original ,original
                                   :modified ,modified :description "A test."))

(cl-defun aqd-lisp-tool-of-agent-q (&key (path aqd-file) (original aqd-lisp-original)
                                         (modified aqd-lisp-modified))
  "Return a call of the tool that Agent-Q's registry has.
PATH, ORIGINAL and MODIFIED are as for `aqd-lisp-proposal'."
  `(cl:let ((arguments (cl:make-hash-table :test 'cl:equal)))
     (cl:setf (cl:gethash "path" arguments) ,path
              (cl:gethash "original" arguments) ,original
              (cl:gethash "modified" arguments) ,modified
              (cl:gethash "description" arguments) "A test.")
     (agent-q-diff::handle-propose-file-edit arguments)))

(defun aqd-lisp-call-of-agent-q ()
  "Return a call of the entry point as Agent-Q makes it."
  `(swank:eval-in-emacs
    (cl:list 'cl-user::sly-agent-q-show-diff-and-wait
             ,aqd-file ,aqd-lisp-original ,aqd-lisp-modified "A test.")))

(defun aqd-lisp-wait-for-reviews (n)
  "Wait until N reviews are open, and return them."
  (aqd-sbcl-wait 'reviews (lambda ()
                            (and (= n (length (agent-q-diff-open-reviews)))
                                 (agent-q-diff-open-reviews)))))

(defun aqd-lisp-press (review keys)
  "Press KEYS in the diff buffer of REVIEW."
  (switch-to-buffer (agent-q-diff-session-buffer review))
  (setq-local agent-q-diff-grace--end 0)
  (aqd-press keys))

(defun aqd-lisp-decide (form keys)
  "Have Lisp evaluate FORM, which proposes, press KEYS and return its value."
  (if agent-q-diff-lisp-wait-in-recursive-edit
      (aqd-play keys (lambda () (aqd-lisp-eval form)))
    (let ((answer (aqd-lisp-begin form)))
      (aqd-lisp-press (car (aqd-lisp-wait-for-reviews 1)) keys)
      (should (= 0 (recursion-depth)))
      (aqd-lisp-end answer))))

(defmacro aqd-lisp-in-both-ways (&rest body)
  "Run BODY with and without a recursive edit."
  (declare (indent 0) (debug t))
  `(dolist (agent-q-diff-lisp-wait-in-recursive-edit '(nil t))
     (aqd-lisp-with-connection aqd-lisp-original ,@body)))

(ert-deftest aqd-lisp-accepted ()
  (aqd-lisp-in-both-ways
    (should (equal (aqd-lisp-decide (aqd-lisp-proposal) "C-c C-c")
                   (format "✓ Accepted: both hunks are in %s, which is saved."
                           aqd-file)))
    (should (equal (aqd-disk) aqd-lisp-modified))))

(ert-deftest aqd-lisp-tool-of-agent-q-accepted ()
  (aqd-lisp-in-both-ways
    (should (equal (aqd-lisp-decide (aqd-lisp-tool-of-agent-q) "C-c C-c")
                   (concat "✓ Changes accepted and applied to " aqd-file "

The buffer has been updated with your proposed changes. Save the buffer when ready.")))
    (should (equal (aqd-disk) aqd-lisp-modified))))

(ert-deftest aqd-lisp-accepted-in-part ()
  (aqd-lisp-in-both-ways
    (should (string-prefix-p
             (format "✓ Accepted in part: 1 of 2 hunks is in %s, which is saved.

In the file: hunk 1.
Not in the file: hunk 2.
The user rejected hunk 2.

The lines as they now are:
```
hunk 1, in the file:
     2	line 2
"
                     aqd-file)
             (aqd-lisp-decide (aqd-lisp-proposal) "a r q")))))

(ert-deftest aqd-lisp-tool-of-agent-q-accepted-in-part ()
  (aqd-lisp-in-both-ways
    (should (equal (aqd-lisp-decide (aqd-lisp-tool-of-agent-q) "a r q")
                   (concat "✓ Changes accepted and applied to " aqd-file "

The buffer has been updated with your proposed changes. Save the buffer when ready.

1 of 2 hunks is in the file.
In the file: hunk 1.
Not in the file: hunk 2.
The user rejected hunk 2.

The lines as they now are:
```
hunk 1, in the file:
     2	line 2
     3	line 3
     4	line 4
     5	five
     6	line 6
     7	line 7
     8	line 8
hunk 2, not in the file:
    22	line 22
    23	line 23
    24	line 24
    25	line 25
    26	line 26
    27	line 27
    28	line 28
```")))
    (should (equal (aqd-disk) (aqd-numbered 30 '((5 . "five")))))))

(ert-deftest aqd-lisp-rejected ()
  (aqd-lisp-in-both-ways
    (should (string-prefix-p
             (format "✗ Rejected: the user declined the change to %s. \
None of it is in the file.\n\nSTOP: "
                     aqd-file)
             (aqd-lisp-decide (aqd-lisp-proposal) "C-c C-k")))))

(ert-deftest aqd-lisp-tool-of-agent-q-rejected ()
  (aqd-lisp-in-both-ways
    (should (equal (aqd-lisp-decide (aqd-lisp-tool-of-agent-q) "C-c C-k")
                   (concat "✗ REJECTED: User explicitly declined changes to " aqd-file "

STOP: Do NOT retry or propose alternative changes. The user has made a
deliberate decision to reject this edit. Report to the user that the
changes were not applied and ask if they would like to proceed differently.")))))

(defun aqd-lisp-kill-and-answer (form)
  "Have Lisp evaluate FORM, kill the diff buffer and return what Lisp got."
  (if agent-q-diff-lisp-wait-in-recursive-edit
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda () (kill-buffer (aqd-diff-buffer)))))
        (aqd-lisp-eval form))
    (let ((answer (aqd-lisp-begin form)))
      (kill-buffer (agent-q-diff-session-buffer (car (aqd-lisp-wait-for-reviews 1))))
      (aqd-lisp-end answer))))

(ert-deftest aqd-lisp-buffer-killed ()
  (aqd-lisp-in-both-ways
    (should (equal (aqd-lisp-kill-and-answer (aqd-lisp-proposal))
                   (format "Error: there is no decision about %s: its buffer was killed

None of it is in the file."
                           aqd-file)))))

(ert-deftest aqd-lisp-tool-of-agent-q-buffer-killed ()
  (aqd-lisp-in-both-ways
    (should (equal (aqd-lisp-kill-and-answer (aqd-lisp-tool-of-agent-q))
                   (concat "Error showing diff for " aqd-file
                           ": Review cancelled: \"its buffer was killed\"

This might indicate an issue with the Emacs integration. Make sure
sly-agent-q-diff.el is loaded.")))))

(ert-deftest aqd-lisp-edit-file ()
  (aqd-lisp-in-both-ways
    (let ((agent-q-diff-project-root (file-name-directory aqd-file))
          (agent-q-diff-log-file nil)
          (agent-q-diff-tools-policy 'allow))
      (should (string-prefix-p
               (format "✓ Edit applied to %s" aqd-file)
               (aqd-lisp-eval `(agent-q-diff:edit-file
                                :path ,aqd-file :old-str "line 3" :new-str "three"
                                :description "A test." :should-replace-all t))))
      (should (string-search "three" (aqd-disk))))
    (should (equal "Error editing file: old_str must be a string, not NULL"
                   (aqd-lisp-eval `(agent-q-diff:edit-file :path ,aqd-file))))))

(ert-deftest aqd-lisp-proposal-that-cannot-be-shown ()
  (aqd-lisp-with-connection aqd-lisp-original
    (should (string-match-p "\\`Error: there is no decision about .*: .*changes nothing"
                            (aqd-lisp-eval (aqd-lisp-proposal
                                            :modified aqd-lisp-original))))
    (should (string-prefix-p
             "Error: there is no decision about NIL: path must be a string"
             (aqd-lisp-eval (aqd-lisp-proposal :path nil))))
    (should (string-prefix-p
             "Error showing diff for NIL: path must be a string"
             (aqd-lisp-eval (aqd-lisp-tool-of-agent-q :path nil))))))

;;;; Agent-Q's own call

(ert-deftest aqd-lisp-agent-q-accepted-and-rejected ()
  (aqd-lisp-in-both-ways
    (should (equal "rejected" (aqd-lisp-decide (aqd-lisp-call-of-agent-q) "r r q")))
    (should (equal "accepted" (aqd-lisp-decide (aqd-lisp-call-of-agent-q) "a r q")))))

(ert-deftest aqd-lisp-agent-q-without-decision-is-an-error ()
  (aqd-lisp-in-both-ways
    (should (equal (aqd-lisp-kill-and-answer (aqd-lisp-call-of-agent-q))
                   '(:error "agent-q-diff-cancelled: \"its buffer was killed; none of it is in the file\"")))))

(ert-deftest aqd-lisp-agent-q-in-its-own-mode ()
  (aqd-lisp-with-connection aqd-lisp-original
    (let ((answer (aqd-lisp-begin (aqd-lisp-call-of-agent-q)))
          (review (car (aqd-lisp-wait-for-reviews 1))))
      (should (equal "Agent-Q" (agent-q-diff-session-agent review)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (should (eq major-mode 'sly-agent-q-diff-mode)))
      (aqd-lisp-press review "C-c C-c")
      (should (equal "accepted" (aqd-lisp-end answer))))))

(ert-deftest aqd-lisp-other-forms-are-evaluated ()
  (aqd-lisp-with-connection aqd-lisp-original
    (should (equal 3 (aqd-lisp-eval '(swank:eval-in-emacs '(cl-user::+ 1 2)))))
    ;; Not with literals only; and in batch there is nobody to wait for.
    (should (equal '(:error "agent-q-diff-no-user: \"a batch Emacs has no user to decide\"")
                   (aqd-lisp-eval `(swank:eval-in-emacs
                                    '(cl-user::sly-agent-q-show-diff-and-wait
                                      (cl-user::concat ,aqd-file) "b" "c" "d")))))
    (should-not (agent-q-diff-open-reviews))))

(ert-deftest aqd-lisp-what-may-not-evaluate-is-told ()
  (aqd-lisp-with-connection aqd-lisp-original
    (let ((slime-enable-evaluate-in-emacs nil))
      ;; SLIME signals in the filter what it thinks of it.
      (should (equal '(:error "error: \"slime-enable-evaluate-in-emacs is nil in Emacs\"")
                     (aqd-lisp-eval (aqd-lisp-call-of-agent-q))))
      (should-not (agent-q-diff-open-reviews)))))

(ert-deftest aqd-lisp-mode-off-removes-its-hooks ()
  (unwind-protect
      (progn
        (agent-q-diff-lisp-mode 0)
        (dolist (hook '(sly-event-hooks slime-event-hooks sly-net-process-close-hooks
                                        slime-net-process-close-hooks))
          (should-not (seq-find (lambda (function)
                                  (string-prefix-p "agent-q" (format "%s" function)))
                                (symbol-value hook)))))
    (agent-q-diff-lisp-mode 1)))

(ert-deftest aqd-lisp-sly-has-other-names ()
  (aqd-with-file aqd-lisp-original
    (let* ((sent nil)
           (sly-enable-evaluate-in-emacs t)
           (sly-dispatching-connection
            (make-process :name "sly-1" :command '("cat") :noquery t))
           (connection sly-dispatching-connection)
           (event `(:eval 7 8 ,(format "(sly-agent-q-show-diff-and-wait . (%S . (%S . (%S . (\"d\" . nil)))))"
                                       aqd-file aqd-lisp-original aqd-lisp-modified))))
      (unwind-protect
          (cl-letf (((symbol-function 'sly-dispatch-event)
                     (lambda (event process)
                       (should (eq process connection))
                       (push event sent))))
            (should (run-hook-with-args-until-success 'sly-event-hooks event))
            (aqd-lisp-press (car (agent-q-diff-open-reviews)) "C-c C-c")
            (should (equal sent '((:emacs-return 7 8 (:ok "accepted")))))
            (should-not (run-hook-with-args-until-success
                         'sly-event-hooks '(:eval 7 8 "(+ 1 2)")))
            (should-not (run-hook-with-args-until-success
                         'sly-event-hooks '(:ping 7 8))))
        (delete-process connection)))))

;;;; Several at once

(ert-deftest aqd-lisp-two-proposals-answered-in-any-order ()
  (aqd-lisp-with-connection aqd-lisp-original
    (let* ((one (aqd-lisp-begin (aqd-lisp-proposal)))
           (first (car (aqd-lisp-wait-for-reviews 1)))
           (two (aqd-lisp-begin (aqd-lisp-proposal
                                 :modified (aqd-numbered 30 '((15 . "y"))))))
           (second (cadr (aqd-lisp-wait-for-reviews 2))))
      (aqd-lisp-press first "a r q")
      (should (string-prefix-p "✓" (aqd-lisp-end one)))
      (should-not (funcall two))
      (aqd-lisp-press second "C-c C-k")
      (should (string-prefix-p "✗" (aqd-lisp-end two)))
      (should (equal (aqd-disk) (aqd-numbered 30 '((5 . "five"))))))))

(ert-deftest aqd-lisp-two-proposals-nested-in-recursive-edits ()
  (let ((agent-q-diff-lisp-wait-in-recursive-edit t)
        one two)
    (aqd-lisp-with-connection aqd-lisp-original
      ;; The inner one is begun by a key of the outer one.
      (global-set-key [f6] (lambda ()
                             (interactive)
                             (setq two (aqd-lisp-begin
                                        (aqd-lisp-proposal
                                         :modified (aqd-numbered 30 '((15 . "y"))))))
                             (aqd-lisp-end two)))
      (unwind-protect
          (aqd-play "<f6> C-c C-k a r q"
                    (lambda ()
                      (setq one (aqd-lisp-begin (aqd-lisp-proposal)))
                      (aqd-lisp-end one)))
        (global-unset-key [f6]))
      (should (string-prefix-p "✗" (funcall two)))
      (should (string-prefix-p "✓" (funcall one))))))

(ert-deftest aqd-lisp-from-a-thread-without-a-connection ()
  (aqd-lisp-with-connection aqd-lisp-original
    (should (string-prefix-p
             "✓" (aqd-lisp-decide
                  `(sb-thread:join-thread
                    (sb-thread:make-thread
                     (cl:lambda () ,(aqd-lisp-proposal))))
                  "C-c C-c")))))

;;;; Nobody waits any more

(defun aqd-lisp-header-says (review text)
  "Return non-nil if the header line of REVIEW has TEXT in it."
  (with-current-buffer (agent-q-diff-session-buffer review)
    (string-search text header-line-format)))

(ert-deftest aqd-lisp-killed-lisp-is-noticed ()
  (dolist (agent-q-diff-when-caller-gone '(keep cancel))
    (aqd-lisp-with-connection aqd-lisp-original
      (let* ((lisp (aqd-sbcl-start))
             (connection (aqd-lisp-connect lisp))
             (slime-dispatching-connection connection)
             (answer (aqd-lisp-begin (aqd-lisp-proposal)))
             (review (car (aqd-lisp-wait-for-reviews 1))))
        (should-not (aqd-lisp-header-says review "nobody waits"))
        (aqd-sbcl-stop lisp)
        (if (eq agent-q-diff-when-caller-gone 'cancel)
            (progn
              (aqd-sbcl-wait 'end (lambda () (agent-q-diff-session-result review)))
              (should (equal "the agent that proposed it is gone"
                             (plist-get (agent-q-diff-session-result review) :reason))))
          (aqd-sbcl-wait 'header (lambda ()
                                   (aqd-lisp-header-says review "nobody waits")))
          (aqd-lisp-press review "C-c C-c")
          (should (equal (aqd-disk) aqd-lisp-modified)))
        (should-not (funcall answer))
        (should-not (process-live-p connection))
        ;; The other one is as it was.
        (setq slime-default-connection (car slime-net-processes))))))

(ert-deftest aqd-lisp-killed-in-a-recursive-edit-is-noticed ()
  (let ((agent-q-diff-lisp-wait-in-recursive-edit t))
    (aqd-lisp-with-connection aqd-lisp-original
      (let* ((lisp (aqd-sbcl-start))
             (slime-dispatching-connection (aqd-lisp-connect lisp))
             review)
        (cl-letf (((symbol-function 'recursive-edit)
                   (lambda ()
                     (setq review (car (agent-q-diff-open-reviews)))
                     (aqd-sbcl-stop lisp)
                     (aqd-sbcl-wait 'header
                                    (lambda ()
                                      (aqd-lisp-header-says review "nobody waits")))
                     (agent-q-diff-accept-all))))
          (aqd-lisp-begin (aqd-lisp-proposal))
          ;; SLIME signals that it cannot answer.
          (aqd-sbcl-wait 'end (lambda ()
                                (and review (agent-q-diff-session-result review)))))
        (should (equal (aqd-disk) aqd-lisp-modified))
        (setq slime-default-connection (car slime-net-processes))))))

(ert-deftest aqd-lisp-interrupted-caller-is-noticed ()
  (aqd-lisp-with-connection aqd-lisp-original
    (aqd-lisp-eval `(cl:progn
                     (cl:setf (cl:get 'cl-user::proposer 'cl-user::thread)
                              (sb-thread:make-thread
                               (cl:lambda () ,(aqd-lisp-proposal))))
                     t))
    (let ((review (car (aqd-lisp-wait-for-reviews 1))))
      (aqd-lisp-eval '(cl:progn
                       (sb-thread:terminate-thread
                        (cl:get 'cl-user::proposer 'cl-user::thread))
                       t))
      (aqd-sbcl-wait 'header (lambda ()
                               (aqd-lisp-header-says review "nobody waits")))
      (aqd-lisp-press review "C-c C-c"))
    ;; Nothing was sent to the thread that is gone, and the connection lives.
    (should (equal 2 (aqd-lisp-eval '(cl:+ 1 1))))))

;;; Several files

(defun aqd-lisp-changes ()
  "Return what is proposed for the file, a rename included, and for a new one.
The value is a list as `propose-changes' takes it."
  `((:path ,aqd-file :original ,aqd-lisp-original :modified ,aqd-lisp-modified
           :rename-to ,(concat aqd-file ".renamed") :executable nil)
    (:path ,(concat aqd-file ".new") :content "new\n" :executable t)))

(ert-deftest aqd-lisp-several-files-are-one-review ()
  (aqd-lisp-in-both-ways
    (let ((renamed (concat aqd-file ".renamed"))
          (new (concat aqd-file ".new")))
      (unwind-protect
          (progn
            (should (equal (aqd-lisp-decide
                            `(agent-q-diff:propose-changes
                              :changes ',(aqd-lisp-changes) :description "A test.")
                            "C-c C-c")
                           (format "✓ Accepted: 2 of 2 files: %s renamed to %s \
with 2 of 2 hunks, %s created."
                                   aqd-file renamed new)))
            (should-not (file-exists-p aqd-file))
            (should (equal (aqd-bytes-of renamed) aqd-lisp-modified))
            (should (equal (aqd-bytes-of new) "new\n"))
            (should (file-executable-p new)))
        (dolist (file (list renamed new))
          (ignore-errors (delete-file file)))))))

(ert-deftest aqd-lisp-notes-on-lines-are-shown ()
  (aqd-lisp-with-connection aqd-lisp-original
    ;; As Lisp has them, and as Agent-Q parses JSON.
    (dolist (form `((agent-q-diff:propose-changes
                     :changes '((:path ,aqd-file :original ,aqd-lisp-original
                                 :modified ,aqd-lisp-modified
                                 :notes ((:line 2 :text "Why\nnot?") (:text "All"))))
                     :description "A test.")
                    (cl:let ((arguments (cl:make-hash-table :test 'cl:equal))
                             (file (cl:make-hash-table :test 'cl:equal))
                             (first (cl:make-hash-table :test 'cl:equal))
                             (second (cl:make-hash-table :test 'cl:equal)))
                            (cl:setf (cl:gethash "line" first) 2
                                     (cl:gethash "text" first) "Why\nnot?"
                                     (cl:gethash "line" second) :null
                                     (cl:gethash "text" second) "All"
                                     (cl:gethash "path" file) ,aqd-file
                                     (cl:gethash "original" file) ,aqd-lisp-original
                                     (cl:gethash "modified" file) ,aqd-lisp-modified
                                     (cl:gethash "notes" file) (cl:vector first second)
                                     (cl:gethash "changes" arguments) (cl:vector file)
                                     (cl:gethash "description" arguments) "A test.")
                            (agent-q-diff::handle-propose-changes arguments))))
      (let* ((answer (aqd-lisp-begin form))
             (review (car (aqd-lisp-wait-for-reviews 1))))
        (should (equal '((1 . "Why\nnot?") (nil . "All"))
                       (agent-q-diff-file-change-annotations
                        (agent-q-diff-session-file review))))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (agent-q-diff-reject-all))
        (aqd-lisp-end answer)))))

(ert-deftest aqd-lisp-several-files-that-are-none-are-refused ()
  (aqd-lisp-with-connection aqd-lisp-original
    (pcase-dolist (`(,changes ,words)
                   '((7 "changes must be a list, not")
                     ("f" "changes must be a list, not")
                     ((7) "a change must be a property list, not")
                     (("f") "a change must be a property list, not")
                     (((:path "a" "b" "c")) "a change has no \"b\"; it has path, original")
                     (((:path 7)) "path must be a string")
                     (((:path "a" :b)) "one has 3 elements")
                     (((:path "a" :nonsense "b")) "a change has no :NONSENSE")
                     (((:content "b")) "path")
                     (((:path "a" :content "b" :notes 7)) "notes must be a list, not")
                     (((:path "a" :content "b" :notes (7))) "a note must be a property list, not")
                     (((:path "a" :content "b" :notes ((:line 1 :words "x"))))
                      "a note has no :WORDS; it has line, text")
                     (((:path "a" :content "b" :notes ((:line "1" :text "x"))))
                      "Parameter 'line' must be an integer")
                     (((:path "a" :content "b" :notes ((:line 1)))) "notes[0] needs text")
                     (((:path "a" :content ((:line 1)))) "content must be a string")
                     (() "no")))
      (should (string-match-p
               (concat "\\`Error: .*" (regexp-quote words))
               (aqd-lisp-eval `(agent-q-diff:propose-changes
                                :changes ',changes :description "A test.")))))))

(ert-deftest aqd-lisp-no-name-that-an-agent-gives-is-evaluated ()
  (aqd-lisp-with-connection aqd-lisp-original
    (dolist (name '("x . nil))) . nil) . nil)) . ((setq aqd-file nil) . nil)))))) ;"
                    "foo bar" "path)" ""))
      (should (string-match-p
               (concat "has no " (regexp-quote (prin1-to-string name)))
               (aqd-lisp-eval
                `(cl:let ((arguments (cl:make-hash-table :test 'cl:equal))
                          (file (cl:make-hash-table :test 'cl:equal)))
                         (cl:setf (cl:gethash "path" file) "a"
                                  (cl:gethash ,name file) "b"
                                  (cl:gethash "changes" arguments) (cl:list file)
                                  (cl:gethash "description" arguments) "")
                         (agent-q-diff::handle-propose-changes arguments))))))
    (should aqd-file)
    ;; What models may send in place of an array of objects.
    (dolist (changes '("[]" 7 ("f") :null))
      (should (string-prefix-p
               "Error showing diff for the files: "
               (aqd-lisp-eval
                `(cl:let ((arguments (cl:make-hash-table :test 'cl:equal)))
                         (cl:setf (cl:gethash "changes" arguments) ',changes
                                  (cl:gethash "description" arguments) "")
                         (agent-q-diff::handle-propose-changes arguments))))))))

;;;; Exact strings

(defconst aqd-lisp-nasty
  (concat "\"quoted\" \\n \\\\ ~A ~% #.(quit) ; |x|\r\n\té ß 漢字 🎈 e\u0301\ufeff\u2028\u00a0\n"
          (string 0 1 7 8 11 12 27 127 #x80 #x9f #xfffe #x10ffff)
          "\n\r last line without end")
  "What strings are likely to break on.")

(defun aqd-lisp-string (text)
  "Return a form with value TEXT that needs no string."
  `(cl:map 'cl:string 'cl:code-char (cl:list ,@(append text nil))))

(ert-deftest aqd-lisp-strings-are-exact-in-both-directions ()
  (aqd-lisp-with-connection "x"
    (let ((modified (concat aqd-lisp-nasty "!")))
      (let* ((answer (aqd-lisp-begin
                      `(cl:map 'cl:list 'cl:char-code
                               (agent-q-diff:propose-file-edit
                                :path ,aqd-file
                                :original ,(aqd-lisp-string aqd-lisp-nasty)
                                :modified ,(aqd-lisp-string modified)
                                :description ,(aqd-lisp-string aqd-lisp-nasty)))))
             (review (car (aqd-lisp-wait-for-reviews 1))))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (should (equal agent-q-diff-buffer-original aqd-lisp-nasty))
          (should (equal agent-q-diff-buffer-modified modified))
          (should (equal agent-q-diff-buffer-description aqd-lisp-nasty))
          (agent-q-diff-comment aqd-lisp-nasty)
          (agent-q-diff-reject-all))
        (should (string-search (concat "The user says: " aqd-lisp-nasty)
                               (concat (aqd-lisp-end answer))))))))

(ert-deftest aqd-lisp-what-lisp-has-no-character-for-is-written ()
  (should (equal (agent-q-diff-lisp--text
                  (concat (propertize "é" 'face 'bold) (string #x3fffff #xd800)))
                 "é\\377\\154000"))
  (should (equal (agent-q-diff-lisp--text "\351") "\\351"))
  (should (equal-including-properties
           (agent-q-diff-lisp--text (propertize "a" 'face 'bold)) "a")))

(ert-deftest aqd-lisp-the-longest-text-arrives-and-a-longer-one-is-refused ()
  (aqd-lisp-with-connection aqd-lisp-original
    (let ((most (- #xffffff 1024))
          (form (lambda (n)
                  `(agent-q-diff::call-tool
                    "none" "path" (cl:make-string ,(- n 4) :initial-element
                                                  (cl:code-char 120))))))
      (should (string-prefix-p "Error: Unknown tool 'none'"
                               (aqd-lisp-eval (funcall form most))))
      (should (equal (aqd-lisp-eval (funcall form (1+ most)))
                     '(:error "the texts take 16,777,216 bytes on the way to Emacs, and 16,777,215 are the most")))
      ;; A quote takes four.
      (should (string-prefix-p
               "Error: there is no decision about f: the texts take 20,0"
               (aqd-lisp-eval '(agent-q-diff:propose-file-edit
                                :path "f" :original "" :description ""
                                :modified (cl:make-string
                                           5000000 :initial-element
                                           (cl:code-char 34))))))
      (should (string-prefix-p "Error: Unknown tool" (aqd-lisp-eval (funcall form 100)))))))

(ert-deftest aqd-lisp-an-answer-that-is-too-long-is-cut ()
  (aqd-lisp-with-connection aqd-lisp-original
    (let ((agent-q-diff-lisp--limit 200000)
          (text (make-string 150000 ?\")))
      (cl-letf (((symbol-function 'agent-q-diff-tools-call-async)
                 (lambda (_tool _arguments callback) (funcall callback text))))
        (should (string-suffix-p "longer than a message to Lisp can be]"
                                 (aqd-lisp-eval (aqd-lisp-proposal))))))))

;;;; Agent-Q's registry

(defconst aqd-lisp-agent-q
  '((cl:defpackage "AGENT-Q.TOOLS" (:use "COMMON-LISP") (:export "DEFINE-TOOL"))
    "(defvar agent-q.tools::*registry* (make-hash-table :test 'equal))"
    "(defmacro agent-q.tools:define-tool (name description parameters &key required
        safety-level categories handler)
       `(setf (gethash ,name agent-q.tools::*registry*)
              (list ,description ,parameters ,required ,safety-level ,categories
                    ,handler)))")
  "A stand-in for Agent-Q's registry, in the shape that its documents show.")

(ert-deftest aqd-lisp-tools-are-registered-with-agent-q ()
  (aqd-lisp-with-connection aqd-lisp-original
    (when (aqd-lisp-eval '(cl:null (cl:find-package "AGENT-Q.TOOLS")))
      (should (eq :none (aqd-lisp-eval '(cl:or (agent-q-diff:register-tools) :none)))))
    (dolist (form aqd-lisp-agent-q)
      (aqd-lisp-eval `(cl:progn ,(if (stringp form)
                                     `(cl:eval (cl:read-from-string ,form))
                                   form)
                                t)))
    (should (equal (aqd-lisp-eval '(agent-q-diff:register-tools))
                   '("propose_file_edit" "propose_patch" "propose_changes" "edit_file")))
    (pcase-let ((`(,_ ,parameters ,required ,level ,categories)
                 (aqd-lisp-eval
                  '(cl:butlast
                    (cl:gethash "propose_file_edit" agent-q.tools::*registry*)))))
      (should (equal (mapcar (lambda (parameter) (plist-get parameter :name)) parameters)
                     required))
      (should (equal required '("path" "original" "modified" "description")))
      (should (equal (list level categories) '(:moderate (:buffer :editing)))))
    (should (string-prefix-p
             "✓ Changes accepted and applied to "
             (aqd-lisp-decide
              `(cl:let ((arguments (cl:make-hash-table :test 'cl:equal)))
                       (cl:setf (cl:gethash "path" arguments) ,aqd-file
                                (cl:gethash "original" arguments) ,aqd-lisp-original
                                (cl:gethash "modified" arguments) ,aqd-lisp-modified
                                (cl:gethash "description" arguments) "A test.")
                       (cl:funcall
                        (cl:sixth (cl:gethash "propose_file_edit"
                                              agent-q.tools::*registry*))
                        arguments))
              "C-c C-c")))
    ;; As Agent-Q parses JSON: vectors, hash tables, :null and :false.
    (should (string-search
             "1 of 2 hunks"
             (aqd-lisp-decide
              `(cl:let ((arguments (cl:make-hash-table :test 'cl:equal))
                        (file (cl:make-hash-table :test 'cl:equal)))
                       (cl:setf (cl:gethash "path" file) ,aqd-file
                                (cl:gethash "original" file) ,aqd-lisp-modified
                                (cl:gethash "modified" file) ,aqd-lisp-original
                                (cl:gethash "content" file) :null
                                (cl:gethash "delete" file) :false
                                (cl:gethash "changes" arguments) (cl:vector file)
                                (cl:gethash "description" arguments) "A test.")
                       (cl:funcall
                        (cl:sixth (cl:gethash "propose_changes"
                                              agent-q.tools::*registry*))
                        arguments))
              "a r q")))))

(provide 'agent-q-diff-lisp-test)
;;; agent-q-diff-lisp-test.el ends here
