;;; agent-q-diff-writer-test.el --- Who writes what was decided  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A caller that writes gets the text, and nothing is written before; Emacs writes
;; where the caller cannot, or would destroy something; and what agent and user
;; read is true in each case.

;;; Code:

(require 'cl-lib)
(require 'ert-x)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-git-help)
(require 'agent-q-diff-api)

(defun aqd-writer-begin (writer &rest keys)
  "Begin a review of two hunks that WRITER may write, with KEYS; return it.
Its original is not given."
  (apply #'aqd-begin-review nil aqd-modified-of-two :writer writer :agent "Monet" keys))

(defmacro aqd-writer-with (writer &rest body)
  "Run BODY with `review', one of two hunks that WRITER may write."
  (declare (indent 1) (debug t))
  `(let ((aqd-answers nil))
     (aqd-with-file aqd-original-of-two
       (let ((review (aqd-writer-begin ,writer)))
         (should-not aqd-answers)
         ,@body)
       (aqd-should-leave-nothing))))

(defconst aqd-writer-second-only (aqd-numbered 30 '((25 . "x")))
  "The text with the second of the two hunks only.")

(defun aqd-writer-wrote (review)
  "Write what was decided in REVIEW, as its caller, and say so; return the result."
  (with-temp-file aqd-file
    (insert (car (aqd-answer :content))))
  (agent-q-diff-note-written review))

;;;; The caller writes

(ert-deftest aqd-writer-nothing-is-written-before-the-end-and-then-by-the-caller ()
  (dolist (writer '(caller caller-if-all))
    (aqd-writer-with writer
      (agent-q-diff-accept review 0)
      (should (equal aqd-original-of-two (aqd-disk)))
      (should-not (find-buffer-visiting aqd-file))
      (agent-q-diff-accept review 1)
      (agent-q-diff-end review)
      (should (equal aqd-original-of-two (aqd-disk)))
      (should (equal (list 'caller 'accepted aqd-modified-of-two)
                     (aqd-answer :writer :status :content)))
      (should (equal (aqd-answer :message)
                     (list (format "✓ Accepted: both hunks are in the text for %s, which the \
program that asked writes."
                                   aqd-file))))
      (let ((written (aqd-writer-wrote review)))
        (should (equal (plist-get written :message)
                       (format "✓ Accepted: both hunks are in %s, which is saved." aqd-file)))
        (should (plist-get written :saved))
        (should (eq 'caller (plist-get written :writer)))
        (should (equal aqd-modified-of-two (aqd-disk)))))))

(ert-deftest aqd-writer-a-caller-that-can-writes-a-part ()
  (aqd-writer-with 'caller
    (agent-q-diff-reject review 0)
    (agent-q-diff-accept review 1)
    (agent-q-diff-end review)
    (should (equal aqd-original-of-two (aqd-disk)))
    (should (equal (list 'caller 'partial aqd-writer-second-only)
                   (aqd-answer :writer :status :content)))
    (should (string-prefix-p
             (format "✓ Accepted in part: 1 of 2 hunks is in the text for %s, which the program \
that asked writes." aqd-file)
             (car (aqd-answer :message))))
    (should (string-prefix-p
             (format "✓ Accepted in part: 1 of 2 hunks is in %s, which is saved." aqd-file)
             (plist-get (aqd-writer-wrote review) :message)))))

(ert-deftest aqd-writer-the-user-reads-who-writes ()
  (pcase-dolist (`(,writer . ,words)
                 '((caller . "You decide what Monet writes.")
                   (caller-if-all . "If you accept all of it, Monet writes it; if a part, Emacs does.")))
    (aqd-writer-with writer
      (aqd-in-diff review
        (should (string-search words (buffer-string))))
      (should (equal "target.txt: 2 of 2 hunks accepted, for the agent to write, Monet told"
                     (aqd-said (aqd-in-diff review (agent-q-diff-accept-all))))))))

(ert-deftest aqd-writer-line-ends-are-those-that-the-caller-gave ()
  (pcase-dolist (`(,before ,given ,content)
                 '(("a\r\nb\r\n" "a\r\nc\r\n" "a\r\nc\r\n")
                   ("a\r\nb\r\n" "a\nc\n" "a\nc\n")
                   ("a\nb\n" "a\nc\n" "a\nc\n")))
    (let ((aqd-answers nil))
      (aqd-with-file before
        (let ((review (aqd-begin-review nil given :writer 'caller)))
          (agent-q-diff-accept review 0)
          (agent-q-diff-end review)
          (should (equal (list 'caller 1 content) (aqd-answer :writer :total :content)))
          (should (plist-get (aqd-writer-wrote review) :saved)))))))

(ert-deftest aqd-writer-a-new-file-is-the-caller-s ()
  (let ((aqd-answers nil))
    (aqd-with-file ""
      (delete-file aqd-file)
      (let ((review (aqd-begin-review nil "new\n" :writer 'caller-if-all)))
        (agent-q-diff-accept review 0)
        (agent-q-diff-end review)
        (should-not (file-exists-p aqd-file))
        (should (equal '(caller accepted) (aqd-answer :writer :status)))
        (should (equal '("new\n") (aqd-answer :content)))
        (should (equal "new\n" (plist-get (car (car (aqd-answer :files))) :content)))
        (with-temp-file aqd-file (insert "new\n"))
        (should (plist-get (agent-q-diff-note-written review) :saved))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-writer-a-buffer-follows-what-the-caller-wrote ()
  (let ((aqd-answers nil))
    (aqd-with-file aqd-original-of-two
      (let ((buffer (find-file-noselect aqd-file))
            (review (aqd-writer-begin 'caller)))
        (aqd-in-diff review (agent-q-diff-accept-all))
        (aqd-writer-wrote review)
        (with-current-buffer buffer
          (should (equal aqd-modified-of-two (buffer-string)))
          (should-not (buffer-modified-p)))))))

(ert-deftest aqd-writer-what-the-caller-wrote-otherwise-is-said ()
  (aqd-writer-with 'caller
    (aqd-in-diff review (agent-q-diff-accept-all))
    (aqd-write "something else\n")
    (let* ((written nil)
           (warned (aqd-warned (setq written (agent-q-diff-note-written review)))))
      (should (equal warned (format "%s is not what you decided" aqd-file)))
      (should (eq 'stale (plist-get written :status)))
      (should (equal (plist-get written :message)
                     (format "Error: %s is not what the user decided. Read it, and tell the user \
what differs."
                             aqd-file))))))

(ert-deftest aqd-writer-what-is-written-is-noted-by-the-id-too ()
  (let ((aqd-answers nil))
    (aqd-with-file aqd-original-of-two
      (let ((review (aqd-writer-begin 'caller :id '(1 "a"))))
        (aqd-in-diff review (agent-q-diff-accept-all))
        (should-not (agent-q-diff-find-review '(1 "a")))
        (aqd-write aqd-modified-of-two)
        (dolist (other '((1 "b") nil))
          (should-error (agent-q-diff-note-written other) :type 'agent-q-diff-bad-arguments))
        (should (plist-get (agent-q-diff-note-written (list 1 "a")) :saved))
        ;; Once.
        (should-error (agent-q-diff-note-written '(1 "a")) :type 'agent-q-diff-bad-arguments)))
    (aqd-should-leave-nothing)))

;;;; What is reviewed

(ert-deftest aqd-writer-what-was-decided-is-not-pending-whoever-writes-it ()
  (dolist (writer '(caller caller-if-all))
    (aqd-with-repository
      (let ((review (agent-q-diff-review "f.txt" nil aqd-pending-written "" #'ignore
                                         :writer writer)))
        (agent-q-diff-accept review 1)
        (agent-q-diff-end review)
        (when (eq 'caller writer)
          (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
          (aqd-pending-put "f.txt" (plist-get (agent-q-diff-session-result review) :content))
          ;; Until that is noted, nobody knows whose it is.
          (should (aqd-pending-files))
          (agent-q-diff-note-written review))
        (should-not (equal aqd-pending-text (aqd-pending-has "f.txt")))
        (should-not (aqd-pending-files))))))

(ert-deftest aqd-writer-what-the-caller-wrote-otherwise-stays-pending ()
  (aqd-with-repository
    (let ((review (agent-q-diff-review "f.txt" nil aqd-pending-written "" #'ignore
                                       :writer 'caller)))
      (aqd-in-diff review (agent-q-diff-accept-all))
      (aqd-pending-put "f.txt" (concat aqd-pending-written "and more\n"))
      (aqd-warned (agent-q-diff-note-written review))
      (should (aqd-pending-files)))))

;;;; Emacs writes a part

(ert-deftest aqd-writer-emacs-writes-a-part-for-a-caller-that-cannot ()
  (aqd-writer-with 'caller-if-all
    (agent-q-diff-reject review 0)
    (agent-q-diff-accept review 1)
    (should (equal aqd-original-of-two (aqd-disk)))
    (should (equal "target.txt: 1 of 2 hunks in the file, Monet told"
                   (aqd-said (aqd-in-diff review (agent-q-diff-finish)))))
    (should (equal aqd-writer-second-only (aqd-disk)))
    (should (equal '(emacs partial t nil 1)
                   (aqd-answer :writer :status :saved :detached :in-file)))
    (should (string-prefix-p
             (format "✓ Accepted in part: 1 of 2 hunks is in %s, which is saved." aqd-file)
             (car (aqd-answer :message))))
    (should-error (agent-q-diff-note-written review) :type 'agent-q-diff-bad-arguments)))

(ert-deftest aqd-writer-what-emacs-wrote-can-be-taken-back-and-is-logged-once ()
  (let ((agent-q-diff-log-file (make-temp-file "agent-q-diff-log")))
    (unwind-protect
        (aqd-writer-with 'caller-if-all
          (agent-q-diff-accept review 1)
          (agent-q-diff-end review)
          (should (equal aqd-writer-second-only (aqd-disk)))
          (should (= 1 (with-temp-buffer
                         (insert-file-contents agent-q-diff-log-file)
                         (count-lines (point-min) (point-max)))))
          (should-not (agent-q-diff-take-back (car (agent-q-diff-past-reviews))))
          (should (equal aqd-original-of-two (aqd-disk))))
      (delete-file agent-q-diff-log-file))))

(ert-deftest aqd-writer-functions-of-the-user-s-are-called-once ()
  (let* ((said '())
         (agent-q-diff-review-begun-functions (list (lambda (_) (push 'begun said))))
         (agent-q-diff-review-ended-functions
          (list (lambda (_ result) (push (plist-get result :writer) said)))))
    (aqd-writer-with 'caller-if-all
      (agent-q-diff-accept review 1)
      (agent-q-diff-end review)
      (should (equal '(emacs begun) said)))))

(ert-deftest aqd-writer-what-the-user-edited-is-a-part ()
  (aqd-writer-with 'caller-if-all
    (aqd-in-diff review
      (aqd-goto-hunk 1)
      (agent-q-diff-edit-hunk)
      (with-current-buffer (window-buffer)
        (insert "and more\n")
        (agent-q-diff-edit-finish))
      (agent-q-diff-accept-all))
    (should (equal '(emacs accepted) (aqd-answer :writer :status)))
    (should (string-search "and more\n" (aqd-disk)))))

(ert-deftest aqd-writer-emacs-writes-a-part-for-a-caller-that-waits ()
  (aqd-writer-with 'caller-if-all
    (let ((result (aqd-play "r a q" (lambda () (agent-q-diff-wait review)))))
      (should (eq 'emacs (plist-get result :writer)))
      (should (equal (plist-get result :message) (car (aqd-answer :message))))
      (should (equal aqd-writer-second-only (aqd-disk))))))

(ert-deftest aqd-writer-rules-decide-before-anybody-writes ()
  (pcase-dolist (`(,rules ,writer ,text)
                 `((((agent . "Monet") . keep) caller ,aqd-original-of-two)
                   (((agent . "Monet") reject . "no") nil ,aqd-original-of-two)))
    (let ((agent-q-diff-policy-rules (list rules))
          (aqd-answers nil))
      (aqd-with-file aqd-original-of-two
        (let ((agent-q-diff-project-root (file-name-directory aqd-file)))
          (should (agent-q-diff-session-outcome (aqd-writer-begin 'caller-if-all))))
        (should (equal (list writer) (aqd-answer :writer)))
        (should (equal text (aqd-disk)))))))

(ert-deftest aqd-writer-what-a-hook-of-the-user-s-keeps-from-the-file-is-said ()
  (let ((write-file-functions (list (lambda () (error "No saving today")))))
    (aqd-writer-with 'caller-if-all
      (agent-q-diff-accept review 1)
      (let ((warned (aqd-warned (agent-q-diff-end review))))
        (should (string-search "No saving today" warned)))
      (should (equal '(nil stale 0) (aqd-answer :writer :status :in-file)))
      (should (string-search "No saving today" (car (aqd-answer :message))))
      (should (equal aqd-original-of-two (aqd-disk))))))

;;;; Nothing to write

(ert-deftest aqd-writer-nobody-writes-what-was-rejected-or-not-decided ()
  (dolist (writer '(caller caller-if-all))
    (pcase-dolist (`(,end ,status ,words)
                   (list (list (lambda (review)
                                 (aqd-in-diff review (agent-q-diff-reject-all)))
                               'rejected "None of it is in the file.")
                         (list (lambda (review)
                                 (agent-q-diff-accept review 0)
                                 (agent-q-diff-cancel review))
                               'cancelled "None of the change is in the file.")
                         (list (lambda (review)
                                 (agent-q-diff-accept review 0)
                                 (kill-buffer (agent-q-diff-session-buffer review)))
                               'cancelled "None of the change is in the file.")
                         (list (lambda (review)
                                 (agent-q-diff-accept review 0)
                                 (agent-q-diff-accept review 1)
                                 (run-hooks 'kill-emacs-hook)
                                 (ignore review))
                               'cancelled "None of the change is in the file.")))
      (aqd-writer-with writer
        (funcall end review)
        (should (equal (list nil status) (aqd-answer :writer :status)))
        (should (string-search words (car (aqd-answer :message))))
        (should (equal aqd-original-of-two (aqd-disk)))
        (should-error (agent-q-diff-note-written review) :type 'agent-q-diff-bad-arguments)))))

;;;; Where the caller would destroy something

(ert-deftest aqd-writer-emacs-writes-beside-unsaved-edits ()
  (let ((aqd-answers nil))
    (aqd-with-file aqd-original-of-two
      (with-current-buffer (find-file-noselect aqd-file)
        (goto-char (point-max))
        (insert "mine\n"))
      (let ((review (aqd-writer-begin 'caller)))
        (aqd-in-diff review
          (should (string-search "The file has unsaved edits, so Emacs, not Monet, writes what \
you accept." (buffer-string))))
        (aqd-in-diff review (agent-q-diff-accept-all)))
      (should (equal '(emacs accepted nil) (aqd-answer :writer :status :saved)))
      (should (string-search "in the user's Emacs buffer for" (car (aqd-answer :message))))
      (aqd-in-target
       (should (equal (concat aqd-modified-of-two "mine\n") (buffer-string)))
       (set-buffer-modified-p nil)))))

(ert-deftest aqd-writer-emacs-writes-if-the-file-has-changed-before ()
  (let ((aqd-answers nil))
    (aqd-with-file (concat "top\n" aqd-original-of-two)
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two
                                      :writer 'caller)))
        (aqd-in-diff review
          (should (string-search "The file is not what the proposal was made for, so Emacs, not \
the program that asked, writes what you accept." (buffer-string)))
          (agent-q-diff-accept-all)))
      (should (equal '(emacs accepted t) (aqd-answer :writer :status :saved)))
      (should (equal (concat "top\n" aqd-modified-of-two) (aqd-disk))))))

(ert-deftest aqd-writer-emacs-writes-if-something-has-changed-meanwhile ()
  (pcase-dolist (`(,change . ,is-saved)
                 (list (cons (lambda () (aqd-write (concat "top\n" aqd-original-of-two))) t)
                       (cons (lambda ()
                               (with-current-buffer (find-file-noselect aqd-file)
                                 (goto-char (point-min))
                                 (insert "top\n")))
                             nil)))
    (aqd-writer-with 'caller
      (agent-q-diff-accept review 0)
      (agent-q-diff-accept review 1)
      (funcall change)
      (agent-q-diff-end review)
      (should (equal (list 'emacs 'accepted is-saved) (aqd-answer :writer :status :saved)))
      (if is-saved
          (should (equal (concat "top\n" aqd-modified-of-two) (aqd-disk)))
        (aqd-in-target
         (should (equal (concat "top\n" aqd-modified-of-two) (buffer-string)))
         (set-buffer-modified-p nil))))))

(ert-deftest aqd-writer-what-nobody-can-write-any-more-is-stale ()
  (pcase-dolist (`(,change . ,words)
                 (list (cons (lambda () (aqd-write "something else\n")) "")
                       (cons (lambda () (delete-file aqd-file)) "does not exist")))
    (aqd-writer-with 'caller
      (agent-q-diff-accept review 0)
      (agent-q-diff-accept review 1)
      (funcall change)
      (let ((before (and (file-exists-p aqd-file) (aqd-disk))))
        (should (string-prefix-p "target.txt: what you accepted is not written: "
                                 (aqd-warned (agent-q-diff-end review))))
        (should (equal '(nil stale agent-q-diff-not-applied 0)
                       (aqd-answer :writer :status :error :in-file)))
        (should (string-search words (car (aqd-answer :reason))))
        (should (string-prefix-p "Error: the change could not be applied to "
                                 (car (aqd-answer :message))))
        (should (string-suffix-p "None of it is in the file." (car (aqd-answer :message))))
        (should (equal before (and (file-exists-p aqd-file) (aqd-disk))))
        (should-error (agent-q-diff-wait review) :type 'agent-q-diff-not-applied)))))

(ert-deftest aqd-writer-a-check-is-asked-before-the-caller-may ()
  (let ((aqd-answers nil)
        (is-refused nil))
    (aqd-with-file aqd-original-of-two
      (let ((review (aqd-writer-begin 'caller :check (lambda ()
                                                       (when is-refused (error "Not there"))))))
        (agent-q-diff-accept review 0)
        (setq is-refused t)
        (aqd-warned (agent-q-diff-end review))
        (should (equal '(nil stale "Not there") (aqd-answer :writer :status :reason)))))
    (aqd-should-leave-nothing)))

;;;; Several files, fragments

(ert-deftest aqd-writer-fragments-are-decided-as-the-whole-file ()
  (let ((aqd-answers nil))
    (aqd-with-file "one\ntwo\nthree\n"
      (let ((review (agent-q-diff-review-change
                     `((:path ,aqd-file :edits ((:old "one" :new "1") (:old "three" :new "3"))))
                     "Why" (lambda (result) (push result aqd-answers)) :writer 'caller)))
        (agent-q-diff-accept review 0)
        (agent-q-diff-end review)
        (should (equal '(caller accepted "1\ntwo\n3\n")
                       (aqd-answer :writer :status :content)))))
    (aqd-should-leave-nothing)))

(defmacro aqd-writer-with-files (&rest body)
  "Run BODY in a folder with the files a and b, which have their names."
  (declare (indent 0) (debug t))
  `(aqd-with-file ""
     (let ((default-directory (file-name-directory aqd-file))
           (aqd-answers nil))
       (dolist (name '("a" "b"))
         (with-temp-file name (insert name "\n")))
       ,@body
       (aqd-should-leave-nothing))))

(defun aqd-writer-begin-files (writer)
  "Begin a review of three files that WRITER may write; return it."
  (agent-q-diff-review-change
   '((:path "a" :content "A\n") (:path "b" :to "c" :edits ((:old "b" :new "B")))
     (:path "new" :content "new\n"))
   "Why" (lambda (result) (push result aqd-answers)) :writer writer))

(defun aqd-writer-disk ()
  "Return the texts of the files a, b, c and new, each nil if it does not exist."
  (mapcar (lambda (name) (and (file-exists-p name) (aqd-bytes-of name))) '("a" "b" "c" "new")))

(ert-deftest aqd-writer-several-files-are-the-caller-s-if-all-is-accepted ()
  (aqd-writer-with-files
    (let ((review (aqd-writer-begin-files 'caller-if-all)))
      (aqd-in-diff review (agent-q-diff-accept-all))
      (should (equal '("a\n" "b\n" nil nil) (aqd-writer-disk)))
      (should (equal '(caller accepted) (aqd-answer :writer :status)))
      (should (string-prefix-p
               "✓ Accepted, and the program that asked writes it: 3 of 3 files: "
               (car (aqd-answer :message))))
      (with-temp-file "a" (insert "A\n"))
      (rename-file "b" "c")
      (with-temp-file "c" (insert "B\n"))
      (should (eq 'stale (plist-get (let (result)
                                      (aqd-warned (setq result (agent-q-diff-note-written review)))
                                      result)
                                    :status)))
      (with-temp-file "new" (insert "new\n"))
      (let ((written (agent-q-diff-note-written review)))
        (should (plist-get written :saved))
        (should (string-prefix-p "✓ Accepted: 3 of 3 files: a 1 of 1 hunk, b renamed to c"
                                 (plist-get written :message)))))))

(ert-deftest aqd-writer-of-several-files-emacs-writes-a-part ()
  (aqd-writer-with-files
    (let ((review (aqd-writer-begin-files 'caller-if-all)))
      (dolist (hunk '(0 1))
        (agent-q-diff-accept review hunk))
      (agent-q-diff-end review)
      (should (equal '("A\n" nil "b\n" nil) (aqd-writer-disk)))
      (should (equal '(emacs partial t) (aqd-answer :writer :status :saved)))
      (should (string-prefix-p "✓ Accepted in part: 2 of 3 files: " (car (aqd-answer :message)))))))

(ert-deftest aqd-writer-of-several-files-all-are-written-or-none ()
  (aqd-writer-with-files
    (let ((review (aqd-writer-begin-files 'caller-if-all)))
      (dolist (hunk '(0 3))
        (agent-q-diff-accept review hunk))
      (with-temp-file "new" (insert "by others\n"))
      (aqd-warned (agent-q-diff-end review))
      (should (equal '("a\n" "b\n" nil "by others\n") (aqd-writer-disk)))
      (should (equal '(nil stale) (aqd-answer :writer :status)))
      (should (string-search "was made by others meanwhile" (car (aqd-answer :reason)))))))

(ert-deftest aqd-writer-what-is-no-text-emacs-writes ()
  (aqd-writer-with-files
    (let ((review (agent-q-diff-review-change
                   '((:path "a" :mode #o755) (:path "b" :diff "@@ -1 +1 @@\n-b\n+B\n"))
                   "Why" (lambda (result) (push result aqd-answers)) :writer 'caller)))
      (aqd-in-diff review
        (should (string-search "Emacs, not the program that asked, writes what you accept."
                               (buffer-string)))
        (agent-q-diff-accept-all))
      (should (equal '(emacs accepted t) (aqd-answer :writer :status :saved)))
      (should (equal '("a\n" "B\n" nil nil) (aqd-writer-disk)))
      (should (= #o755 (file-modes "a"))))))

;;;; The manual's example

(defvar my-client-send)
(defvar my-client-status)
(declare-function my-client-ask nil (id title fragments))
(declare-function my-client-withdraw nil (id))
(declare-function my-client-tool-has-run nil (id))

(defun aqd-writer-example ()
  "Write the code of the manual's complete example into a file; return its name."
  (make-temp-file "my-client" nil ".el" (aqd-manual-code "Complete example")))

(defmacro aqd-writer-with-example (&rest body)
  "Run BODY with the code of the manual's complete example evaluated.
The variable `sent' has what its agent was sent, the latest first."
  (declare (indent 0) (debug t))
  `(let ((agent-q-diff-review-begun-functions nil)
         (agent-q-diff-review-ended-functions nil)
         (my-client-send nil)
         (file (aqd-writer-example))
         (sent '()))
     (load file nil t)
     (delete-file file)
     (unwind-protect
         (progn
           (setq my-client-send (lambda (&rest answer) (push answer sent)))
           (aqd-writer-with-files ,@body))
       (mapatoms (lambda (symbol)
                   (when (and (string-prefix-p "my-client-" (symbol-name symbol))
                              (fboundp symbol))
                     (fmakunbound symbol)))))))

(ert-deftest aqd-writer-manual-s-example-compiles-without-a-warning ()
  (let ((file (aqd-writer-example))
        (byte-compile-error-on-warn t))
    (unwind-protect
        (should (byte-compile-file file))
      (delete-file file)
      (delete-file (concat file "c")))))

(ert-deftest aqd-writer-manual-s-example-has-the-agent-write-all ()
  (aqd-writer-with-example
    (let ((review (my-client-ask 7 "Say it louder" '(("a" "a" "A") ("new" nil "new\n")
                                                     ("a" "A\n" "A\nB\n")))))
      (should (equal my-client-status " [agent waits for you]"))
      (aqd-in-diff review
        (should (string-search "Say it louder" (buffer-string)))
        (should (string-search "If you accept all of it, My agent writes it" (buffer-string)))
        (agent-q-diff-accept-all))
      (should (equal sent '((7 yes nil))))
      (should (equal my-client-status ""))
      (should (equal '("a\n" "b\n" nil nil) (aqd-writer-disk)))
      ;; Its tool runs.
      (with-temp-file "a" (insert "A\nB\n"))
      (with-temp-file "new" (insert "new\n"))
      (let ((message (my-client-tool-has-run 7)))
        (dolist (words '("✓ Accepted: 2 of 2 files: " "a 1 of 1 hunk" "new created"))
          (should (string-search words message)))))))

(ert-deftest aqd-writer-manual-s-example-has-emacs-write-a-part ()
  (aqd-writer-with-example
    (let ((review (my-client-ask 7 "Say it louder" '(("a" "a" "A") ("b" "b" "B")))))
      (agent-q-diff-accept review 1)
      (agent-q-diff-reject review 0)
      (agent-q-diff-end review)
      (should (equal '("a\n" "B\n" nil nil) (aqd-writer-disk)))
      (should (equal '(7 no) (seq-take (car sent) 2)))
      (should (string-prefix-p "Your tool was not run. ✓ Accepted in part: 1 of 2 files: "
                               (nth 2 (car sent)))))))

(ert-deftest aqd-writer-manual-s-example-answers-whatever-happens ()
  (aqd-writer-with-example
    (pcase-dolist (`(,end . ,words)
                   (list (cons (lambda (_) (my-client-withdraw 7))
                               "Error: there is no decision about ")
                         (cons (lambda (review)
                                 (kill-buffer (agent-q-diff-session-buffer review)))
                               "Error: there is no decision about ")
                         (cons (lambda (review) (aqd-in-diff review (agent-q-diff-reject-all)))
                               "✗ Rejected: the user declined ")))
      (setq sent '())
      (funcall end (my-client-ask 7 "Say it louder" '(("a" "a" "A"))))
      (should (equal '(7 no) (seq-take (car sent) 2)))
      (should (null (cdr sent)))
      (should (string-prefix-p (concat "Your tool was not run. " words) (nth 2 (car sent))))
      (should (equal my-client-status "")))
    (setq sent '())
    (my-client-ask 7 "Say it louder" '(("a" "none" "A")))
    (should (string-prefix-p "Your tool was not run. Error: there is no decision about "
                             (nth 2 (car sent))))
    (should (string-search "a, edit 1: the string is not in the text" (nth 2 (car sent))))))

;;;; Bad input

(ert-deftest aqd-writer-bad-input-is-answered-with-what-is-wrong ()
  (pcase-dolist (`(,keys ,symbol ,words)
                 '(((:writer me) agent-q-diff-bad-arguments
                    "writer must be nil or one of caller, caller-if-all, not me")
                   ((:writer caller :detached t) agent-q-diff-bad-arguments "either writer or detached")))
    (let ((aqd-answers nil)
          (before (agent-q-diff-module-n-reviews)))
      (aqd-with-file "a\n"
        (apply #'aqd-begin-review "a\n" "b\n" keys)
        (should (equal (list 'error symbol nil) (aqd-answer :status :error :writer)))
        (should (string-search words (car (aqd-answer :reason)))))
      (should (= before (agent-q-diff-module-n-reviews)))
      (aqd-should-leave-nothing)))
  (aqd-writer-with-files
    (pcase-dolist (`(,file ,symbol)
                   '(((:path "a" :edits ((:old "x" :new "y"))) agent-q-diff-no-match)
                     ((:path "none" :edits ((:old "x" :new "y"))) agent-q-diff-bad-target)
                     ((:path "none" :delete t) agent-q-diff-bad-target)
                     ((:path "a" :content "a\n") agent-q-diff-identical)))
      (setq aqd-answers nil)
      (agent-q-diff-review-change (list file) "" (lambda (result) (push result aqd-answers))
                                  :writer 'caller)
      (should (equal (list 'error symbol) (aqd-answer :status :error))))
    (should-error (agent-q-diff-note-written
                   (agent-q-diff-review-change '((:path "a" :content "a\n")) "" #'ignore))
                  :type 'agent-q-diff-bad-arguments)))

(provide 'agent-q-diff-writer-test)
;;; agent-q-diff-writer-test.el ends here
