;;; lisp-test.el --- Common Lisp proposes, and somebody types  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A real SBCL is connected by SLIME to a real Emacs in a terminal.  It
;; proposes while the user is elsewhere; keys decide.

;;; Code:

(require 'agent-q-diff-tmux)
(require 'agent-q-diff-sbcl)

(defmacro lisp-with-emacs (&rest body)
  "Run BODY with an Emacs under test that is connected to a Lisp."
  (declare (indent 0) (debug t))
  `(let ((lisp (aqd-sbcl-start)))
     (unwind-protect
         (e2e-with-emacs
           (lisp-connect lisp)
           ,@body)
       (aqd-sbcl-stop lisp))))

(defun lisp-connect (lisp)
  "Connect the Emacs under test to LISP."
  (e2e-eval `(progn
               (add-to-list 'load-path ,(aqd-sbcl-slime))
               (require 'slime)
               (setq slime-contribs nil ; its REPL would take the window
                     slime-enable-evaluate-in-emacs t
                     slime-kill-without-query-p t)
               (slime-connect "127.0.0.1" ,(cdr lisp))
               t))
  (e2e-wait-for (e2e-eval '(slime-lisp-implementation-name)))
  (setq e2e--found (e2e-eval '(inside-state))))

(defun lisp-propose (tag form)
  "Have Lisp evaluate FORM; its value will be the answer of TAG."
  (e2e-eval `(progn
               (slime-eval-async ',form
                 (lambda (value)
                   (inside-write (list ',tag :ok value) "answers" t)))
               t)))

(defun lisp-tool (name)
  "Return a call of the tool that proposes to change three lines of the file NAME."
  (pcase-let ((`(,_ ,path ,original ,modified ,description) (e2e-proposal name)))
    `(agent-q-diff:propose-file-edit :path ,path :original ,original
                                     :modified ,modified
                                     :description ,description)))

(defun lisp-agent-q (name)
  "Return a call as Agent-Q makes it, for the file NAME."
  `(swank:eval-in-emacs
    '(,(intern "cl-user::sly-agent-q-show-diff-and-wait") ,@(cdr (e2e-proposal name)))))

(defun lisp-go-to-review ()
  "Go to the window with the diff buffer, which is not taken."
  (e2e-see (e2e-header "[1-9]/3" 0))
  (should (equal (e2e-eval '(buffer-name (window-buffer))) "*scratch*"))
  (while (not (string-prefix-p "*Agent-Q Diff" (e2e-eval '(buffer-name (window-buffer)))))
    (e2e-press "C-x o")))

(ert-deftest e2e-lisp-proposes-while-the-user-types ()
  (lisp-with-emacs
    (lisp-propose 'call (lisp-tool "target"))
    (e2e-see "Common Lisp proposes to change")
    (e2e-type "typed")
    (e2e-see "^typed")
    (lisp-go-to-review)
    (should (= 0 (e2e-eval '(recursion-depth))))
    (e2e-keys "r a r q")
    (pcase-exhaustive (e2e-answer 'call)
      (`(:ok ,message)
       (should (string-search "\nhunk 2, in the file:\n    17\tline 17\n" message))
       (should (string-prefix-p
                      (format "✓ Accepted in part: 1 of 3 hunks is in %s, which is saved.

In the file: hunk 2.
Not in the file: hunks 1 and 3.
The user rejected all of these.

The lines as they now are:
```
hunk 1, not in the file:
     2	line 2
" (e2e-path "target"))
                      message))))
    (should (equal (e2e-read "target") (e2e-text 20)))
    (should (equal (e2e-eval '(with-current-buffer "*scratch*" (buffer-string)))
                   "typed"))))

(ert-deftest e2e-lisp-agent-q-asks-twice-and-is-answered-in-any-order ()
  (lisp-with-emacs
    (lisp-propose 'one (lisp-agent-q "one"))
    (lisp-go-to-review)
    (lisp-propose 'two (lisp-agent-q "two"))
    (e2e-wait-for (= 2 (e2e-eval '(length (agent-q-diff-open-reviews)))))
    (e2e-keys "j")
    (e2e-wait-for (equal (e2e-eval '(buffer-name (window-buffer)))
                         "*Agent-Q Diff*<2>"))
    (e2e-keys "r r r q")
    (should (equal (e2e-answer 'two) '(:ok "rejected")))
    (should (equal (mapcar #'car (e2e-answers)) '(two)))
    (while (not (equal (e2e-eval '(buffer-name (window-buffer))) "*Agent-Q Diff*"))
      (e2e-press "C-x o"))
    (e2e-keys "a r r q")
    (should (equal (e2e-answer 'one) '(:ok "accepted")))
    (should (equal (e2e-read "one") (e2e-text 5)))
    (should (equal (e2e-read "two") (e2e-text)))))

(ert-deftest e2e-lisp-with-recursive-edit ()
  (lisp-with-emacs
    (e2e-eval '(setq agent-q-diff-lisp-wait-in-recursive-edit t))
    (lisp-propose 'call (lisp-agent-q "target"))
    (e2e-see (e2e-header "[1-9]/3" 0))
    (e2e-wait-for (= 1 (e2e-eval '(recursion-depth))))
    (e2e-keys "a r r q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-should-be-as-found)
    (lisp-propose 'cancelled (lisp-tool "other"))
    (e2e-see (e2e-header "[1-9]/3" 0))
    (e2e-wait-for (= 1 (e2e-eval '(recursion-depth))))
    (e2e-keys "C-]")
    (pcase-exhaustive (e2e-answer 'cancelled)
      (`(:ok ,message)
       (should (string-prefix-p
                (format "Error: there is no decision about %s: the user left it undecided"
                        (e2e-path "other"))
                message))))
    (e2e-should-be-as-found)))

(ert-deftest e2e-lisp-killed-in-mid-review ()
  (lisp-with-emacs
    (lisp-propose 'call (lisp-tool "target"))
    (lisp-go-to-review)
    (aqd-sbcl-stop lisp)
    (e2e-see "nobody waits ·")
    (e2e-keys "a r r q")
    (e2e-wait-for (= 0 (e2e-eval '(length (agent-q-diff-open-reviews)))))
    (should-not (e2e-answers))
    (should (equal (e2e-read "target") (e2e-text 5)))))

(provide 'lisp-test)
;;; lisp-test.el ends here
