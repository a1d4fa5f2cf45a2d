;;; agent-q-diff-quit-test.el --- Tests of C-g while much is decided  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Keys that concern many hunks take long where there are thousands, so the
;; user may press C-g.  It comes at any call of a function of the package; then all is
;; done or nothing, and the key does it the next time.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-api)
(require 'agent-q-diff-alike)
(require 'agent-q-diff-policy)

(defconst aqd-quit-n 12
  "Number of hunks.")

(defconst aqd-quit-step 10
  "Number of lines from one change to the next.")

(defun aqd-quit-text (word)
  "Return a text in which WORD is in each line that changes."
  (aqd-numbered (* aqd-quit-n aqd-quit-step)
                (cl-loop for n from 1 to aqd-quit-n
                         collect (cons (- (* n aqd-quit-step) 5) (format "  call (%s);" word)))))

(defconst aqd-quit-old (aqd-quit-text "old"))
(defconst aqd-quit-new (aqd-quit-text "new"))

(defvar aqd-quit--countdown nil
  "After how many calls of our functions C-g is pressed, or nil for never.")

(defun aqd-quit--count (&rest _)
  "Count a call, and press C-g if it is the one."
  (when aqd-quit--countdown
    (when (= 0 (cl-decf aqd-quit--countdown))
      (setq quit-flag t))))

(defun aqd-quit--functions ()
  "Return the names of all functions of the package that are Lisp."
  (let (names)
    (mapatoms (lambda (name)
                (when (and (string-prefix-p "agent-q-diff" (symbol-name name))
                           (not (string-prefix-p "agent-q-diff-module" (symbol-name name)))
                           (fboundp name)
                           (functionp (symbol-function name))
                           (not (autoloadp (symbol-function name)))
                           (not (symbolp (symbol-function name))))
                  (push name names))))
    names))

(defmacro aqd-quit-watching (&rest body)
  "Run BODY with each call of a function of the package counted."
  (declare (indent 0) (debug t))
  `(let ((names (aqd-quit--functions)))
     (unwind-protect
         (progn
           (dolist (name names)
             (advice-add name :before #'aqd-quit--count))
           ,@body)
       (dolist (name names)
         (advice-remove name #'aqd-quit--count)))))

(defun aqd-quit--calls (function)
  "Call FUNCTION, and return how many calls of functions of the package it takes."
  (let ((aqd-quit--countdown most-positive-fixnum))
    (funcall function)
    (- most-positive-fixnum aqd-quit--countdown)))

(defun aqd-quit--at (nth function)
  "Call FUNCTION, and press C-g at the NTH call of a function of the package."
  (let ((aqd-quit--countdown nth)
        (inhibit-quit nil))
    (unwind-protect
        (condition-case nil
            (funcall function)
          (quit nil))
      (setq aqd-quit--countdown nil
            quit-flag nil))))

(defun aqd-quit--state ()
  "Return what is true of all hunks: `in', `out', or `rejected'.
Check that it is the same for all, and that their marks, what the engine takes
to be in the file, the file and its buffer agree."
  (let* ((change (agent-q-diff-signs-follow))
         (states (cl-loop for hunk below aqd-quit-n
                          for state = (agent-q-diff-change-hunk change hunk)
                          collect (list (agent-q-diff-engine-hunk-mark state)
                                        (agent-q-diff-engine-hunk-fact state))))
         (state (pcase (seq-uniq states)
                  ('((applied t)) 'in)
                  ('((nil nil)) 'out)
                  ('((rejected nil)) 'rejected)
                  (some (ert-fail some)))))
    (should (= aqd-quit-n (length agent-q-diff-buffer-marks)))
    (should (equal (mapcar #'car states) (append agent-q-diff-buffer-marks nil)))
    (should (equal (if (eq 'in state) aqd-quit-new aqd-quit-old) (aqd-target)))
    (should (equal (aqd-target) (aqd-disk)))
    state))

(defun aqd-quit--review (function)
  "Call FUNCTION in the diff buffer of a review of a new file."
  (aqd-with-file aqd-quit-old
    (aqd-visit)
    (let ((review (agent-q-diff-review aqd-file aqd-quit-old aqd-quit-new "Why" #'ignore)))
      (unwind-protect
          (with-current-buffer (agent-q-diff-session-buffer review)
            (pop-to-buffer (current-buffer))
            (agent-q-diff-buffer-goto-hunk 0)
            (funcall function))
        (when (memq review (agent-q-diff-open-reviews))
          (agent-q-diff-cancel review))))))

(defun aqd-quit--everywhere (before command check)
  "Do COMMAND in a review, with C-g at many moments, and once without.
BEFORE is called before that, and CHECK after it and after COMMAND once more."
  (aqd-quit-watching
    (let* ((n-tries 30)
           (n-calls 0)
           (do-it (lambda () (call-interactively command))))
      (aqd-quit--review (lambda ()
                          (funcall before)
                          (setq n-calls (aqd-quit--calls do-it))))
      (should (< n-tries n-calls))
      (dotimes (try n-tries)
        (aqd-quit--review
         (lambda ()
           (funcall before)
           (aqd-quit--at (1+ (/ (* try n-calls) n-tries)) do-it)
           (funcall check nil)
           (funcall check do-it)))))))

(defun aqd-quit--deciding (before command from to)
  "Do COMMAND as `aqd-quit--everywhere' does, after BEFORE.
All hunks are in the state FROM before COMMAND, and in TO after it."
  (aqd-quit--everywhere
   before command
   (lambda (again)
     (let ((state (aqd-quit--state)))
       (should (memq state (list from to)))
       (when (and again (eq from state))
         (agent-q-diff-buffer-goto-hunk 0)
         (funcall again)
         (should (eq to (aqd-quit--state))))))))

(ert-deftest aqd-quit-while-equal-hunks-are-accepted ()
  (aqd-quit--deciding #'ignore #'agent-q-diff-accept-alike 'out 'in))

(ert-deftest aqd-quit-while-equal-hunks-are-rejected ()
  (aqd-quit--deciding #'ignore #'agent-q-diff-reject-alike 'out 'rejected))

(ert-deftest aqd-quit-while-equal-hunks-are-taken-out ()
  (aqd-quit--deciding #'agent-q-diff-accept-alike #'agent-q-diff-unapply-alike 'in 'out))

(ert-deftest aqd-quit-while-a-decision-on-many-hunks-is-undone ()
  (aqd-quit--deciding #'agent-q-diff-accept-alike #'agent-q-diff-undo 'in 'out))

(defmacro aqd-quit--all (command)
  "Return a command that carries out COMMAND with the whole buffer as the region."
  `(lambda ()
     (interactive)
     (let ((transient-mark-mode t))
       (goto-char (point-max))
       (push-mark (point-min) t t)
       (funcall ,command))))

(ert-deftest aqd-quit-while-a-region-is-accepted ()
  (aqd-quit--deciding #'ignore (aqd-quit--all #'agent-q-diff-accept-hunk) 'out 'in)
  (aqd-quit--deciding #'agent-q-diff-reject-alike (aqd-quit--all #'agent-q-diff-accept-hunk)
                      'rejected 'in))

(ert-deftest aqd-quit-while-the-states-of-hunks-are-read ()
  (aqd-quit-watching
    (aqd-quit--review
     (lambda ()
       (agent-q-diff-accept-alike)
       (let* ((do-it (lambda ()
                       (agent-q-diff-buffer-distrust-states)
                       (agent-q-diff-buffer-current-change)))
              (n-calls (aqd-quit--calls do-it)))
         (should (< aqd-quit-n n-calls))
         (dotimes (n n-calls)
           (aqd-quit--at (1+ n) do-it)
           (should (eq 'in (aqd-quit--state)))))))))

;;;; White space

(defun aqd-quit--spaced (n-spaces)
  "Return C of which every tenth line is indented by N-SPACES.
Every fifth of these has another call, unless that is one space."
  (mapconcat (lambda (n)
               (concat (if (= 0 (% n 10)) (make-string n-spaces ?\s) "")
                       (if (and (= 0 (% n 50)) (< 1 n-spaces)) "other" "call")
                       (format "(%d);\n" n)))
             (number-sequence 1 120) ""))

(ert-deftest aqd-quit-while-white-space-is-folded-and-accepted ()
  (aqd-quit-watching
    (let ((old (aqd-quit--spaced 1))
          (new (aqd-quit--spaced 4))
          (n-calls nil))
      (dotimes (try 31)
        (aqd-with-file "x"
          (let ((aqd-file (concat aqd-file ".c")))
            (aqd-write old)
            (aqd-visit)
            (let ((review (agent-q-diff-review aqd-file old new "Why" #'ignore)))
              (with-current-buffer (agent-q-diff-session-buffer review)
                (pop-to-buffer (current-buffer))
                (let* ((spaced (concat (replace-regexp-in-string "^ call" "    call" old)))
                       (spaced (replace-regexp-in-string "^ +\\(call(\\(?:50\\|100\\))\\)" " \\1" spaced))
                       (do-it (lambda ()
                                (agent-q-diff-fold-white-space-mode)
                                (agent-q-diff-accept-white-space))))
                  (if (null n-calls)
                      (setq n-calls (aqd-quit--calls do-it))
                    (aqd-quit--at (1+ (/ (* (1- try) n-calls) 30)) do-it)
                    (agent-q-diff-signs-follow)
                    (should (member (aqd-disk) (list old spaced)))
                    (should (equal (aqd-disk) (aqd-target)))
                    (unless (equal spaced (aqd-disk))
                      (funcall do-it)))
                  (should (equal spaced (aqd-disk)))
                  (should (equal (aqd-disk) (aqd-target)))
                  (agent-q-diff-accept-all)
                  (should (equal new (aqd-disk))))))))))))

;;;; Rules

(ert-deftest aqd-quit-while-rules-decide ()
  (aqd-quit-watching
    (let ((agent-q-diff-policy-rules '(((files . "*.txt") . keep)))
          (n-calls nil))
      (dotimes (try 41)
        (aqd-with-file aqd-quit-old
          (aqd-visit)
          (let* ((results nil)
                 (agent-q-diff-project-root (file-name-directory aqd-file))
                 (do-it (lambda ()
                          (agent-q-diff-review aqd-file aqd-quit-old aqd-quit-new "Why"
                                               (lambda (result) (push result results))))))
            (if (null n-calls)
                (setq n-calls (aqd-quit--calls do-it))
              (aqd-quit--at (1+ (/ (* (1- try) n-calls) 40)) do-it))
            (should (equal (aqd-target) (aqd-disk)))
            (pcase (agent-q-diff-open-reviews)
              ('nil
               (should (equal (aqd-disk)
                              (if (eq 'accepted (plist-get (car results) :status))
                                  aqd-quit-new
                                aqd-quit-old))))
              (`(,review)
               (with-current-buffer (agent-q-diff-session-buffer review)
                 (let ((state (aqd-quit--state)))
                   (when (eq 'in state)
                     (should (= aqd-quit-n (length (agent-q-diff-change-by-policy
                                                    agent-q-diff-buffer-change)))))))
               (agent-q-diff-cancel review)))))))))

(provide 'agent-q-diff-quit-test)
;;; agent-q-diff-quit-test.el ends here
