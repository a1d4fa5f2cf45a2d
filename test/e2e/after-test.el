;;; after-test.el --- What was written already survives everything  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent, by a shell, writes into a git repository, and the user decides
;; that in a real Emacs, with keys.  Then Emacs is killed, or a second one
;; decides too, or the disk is full: nothing may be lost, and what was decided
;; is not asked again.

;;; Code:

(require 'agent-q-diff-tmux)
(require 'agent-q-diff-git-help)

;;;; A repository, and an Emacs in it

(defconst after-text (aqd-numbered 30)
  "The text of f.txt that is committed.")

(defun after-written (&rest lines)
  "Return the text of f.txt with those of the three hunks that are in LINES."
  (aqd-numbered 30 (seq-filter (lambda (change) (memq (car change) lines))
                               '((3 . "three") (15 . "fifteen") (27 . "much")))))

(defmacro after-with-repository (&rest body)
  "Run BODY in a repository with the files f.txt and g.txt committed."
  (declare (indent 0) (debug t))
  `(aqd-with-git-folder
     (unwind-protect
         (progn
           (aqd-pending-git "init" "-q" "-b" "main")
           (aqd-pending-put "f.txt" after-text)
           (aqd-pending-put "g.txt" (aqd-numbered 3))
           (aqd-pending-git "add" ".")
           (aqd-pending-git "commit" "-qm" "first")
           ,@body)
       (delete-directory aqd-pending-root t))))

(defun after-call (command)
  "Call COMMAND by its name."
  (e2e-keys "M-x")
  (e2e-see "^M-x")
  (e2e-type (symbol-name command))
  (e2e-keys "RET"))

(defun after-visit (name)
  "Visit the file NAME of the repository in the only window."
  (e2e-keys "C-x 1 C-x C-f")
  (e2e-see "^Find file: ")
  (e2e-keys "C-a C-k")
  (e2e-type (aqd-pending-name name))
  (e2e-keys "RET")
  (e2e-wait-for (equal name (e2e-eval '(buffer-name (window-buffer))))))

(defun after-review (regexp)
  "Review what is pending, and wait until the screen matches REGEXP."
  (after-call 'agent-q-diff-review-changes)
  (e2e-see regexp)
  (e2e-keys "C-x 1"))

(defmacro after-with-emacs (&rest body)
  "Run BODY with an Emacs that visits g.txt and has looked at the project once."
  (declare (indent 0) (debug t))
  `(after-with-repository
     (e2e-with-emacs
       (after-visit "g.txt")
       (after-call 'agent-q-diff-review-changes)
       (e2e-see "Nothing is pending in")
       ,@body)))

(defun after-see-taken-out (&rest rows)
  "List what was taken out, and wait until these are its ROWS, regular expressions.
Without ROWS, nothing is listed."
  (after-call 'agent-q-diff-taken-out)
  (if (null rows)
      (e2e-see "^Nothing was taken out of files in")
    ;; The agent stands between.
    (e2e-see "(Taken out in " (concat "^" (mapconcat (lambda (row) (concat "[-0-9]+ [:0-9]+ .*" row))
                                                     rows ".*\n")))))

(defun after-should-be-whole ()
  "Check that the repository has its two files and nothing else.
Emacs's own locks of files do not count."
  (should (equal '(".git" "f.txt" "g.txt")
                 (seq-remove (lambda (name) (string-prefix-p ".#" name))
                             (directory-files aqd-pending-root nil
                                              directory-files-no-dot-files-regexp)))))

;;;; Rules decide

(ert-deftest e2e-after-what-rules-decided-is-shown-and-undone-by-keys ()
  (after-with-emacs
    (e2e-eval '(ignore (setq agent-q-diff-white-space-free '("txt")
                             agent-q-diff-policy-rules
                             '((white-space . keep)
                               ((files . "*.lock") . (reject . "run the tool"))))))
    (let ((written (aqd-numbered 30 '((3 . "line  3") (27 . "much")))))
      (aqd-pending-put "f.txt" written)
      (aqd-pending-put "a.lock" "x\n")
      (after-review "hunk 2/2 · file 2/2")
      (e2e-see "^# Note: 1 hunk kept by your rules (white space); 1 hunk taken out by your rules \
(\\*\\.lock); u on a hunk undoes that"
               "1 kept · 1 taken out · 1 pending" "^@@ -24,7 .*")
      (e2e-see-cursor-at "^@@ -24,7")
      (should-not (aqd-pending-has "a.lock"))
      (e2e-keys "C-/")
      (e2e-see "\\+[0-9]+ -[0-9]+ · 3 pending")
      (should (equal "x\n" (aqd-pending-has "a.lock")))
      (e2e-keys "q")
      (should (equal written (aqd-pending-has "f.txt"))))))

;;;; Emacs is killed

(defun after-start-again ()
  "Start the Emacs under test again, after it was killed, and visit a file."
  (e2e-start-again)
  (after-visit "g.txt"))

(defun after-save-own-line ()
  "Type a line at the end of g.txt and save it."
  (after-visit "g.txt")
  (e2e-keys "ESC >")
  (e2e-type "mine")
  (e2e-keys "RET C-x C-s")
  (e2e-see "^Wrote "))

(ert-deftest e2e-after-kill-in-the-middle-of-a-review ()
  (after-with-emacs
    (after-save-own-line)
    (aqd-pending-put "f.txt" (after-written 3 15 27))
    (after-review "^ [^ ]+: hunk 1/3 ")
    (e2e-keys "a r")
    (e2e-see "^Hunk 2 taken out; 2 of 3 decided")
    (e2e-kill)
    (should (equal (after-written 3 27) (aqd-pending-has "f.txt")))
    (after-should-be-whole)
    (after-start-again)
    (after-review "^ f\\.txt: hunk 1/1 ")
    (e2e-see "^-line 27\n[+]much")
    (after-see-taken-out "f\\.txt +-1 line +fifteen")
    (should (equal (concat (aqd-numbered 3) "mine\n") (aqd-pending-has "g.txt")))))

(ert-deftest e2e-after-kill-with-unsaved-edits ()
  (after-with-emacs
    (aqd-pending-put "f.txt" (after-written 3 15 27))
    (after-visit "f.txt")
    (e2e-keys "ESC >")
    (e2e-type "mine")
    (after-review "^ [^ ]+: hunk 1/3 ")
    (e2e-keys "a r")
    (e2e-see "^Hunk 2 taken out; not saved, since f.txt has unsaved edits")
    (e2e-kill)
    ;; What was kept was in the file, what was taken out was so in the buffer only.
    (should (equal (after-written 3 15 27) (aqd-pending-has "f.txt")))
    (after-start-again)
    (after-review "^ f\\.txt: hunk 1/2 ")
    (e2e-see "^-line 15\n[+]fifteen" "^-line 27\n[+]much")))

(defun after-kill-at (where function)
  "Have the Emacs under test kill itself WHERE, `:before' or `:after', FUNCTION."
  (e2e-eval `(ignore (advice-add ',function ,where
                                 (lambda (&rest _)
                                   (signal-process (emacs-pid) 'SIGKILL))))))

(defun after-should-go-on (text)
  "Start Emacs again, and check that it goes on where it was killed.
That was after hunk 3 was kept, while hunk 15 was taken out of the file, which
then has TEXT."
  (should (equal text (aqd-pending-has "f.txt")))
  (after-start-again)
  (cond
   ((equal text (after-written 3 15 27))
    (after-review "^ f\\.txt: hunk 1/2 ")
    (e2e-see "^-line 15\n[+]fifteen")
    (after-see-taken-out))
   (t
    (after-review "^ f\\.txt: hunk 1/1 ")
    (after-see-taken-out "f\\.txt +-1 line +fifteen")))
  (after-should-be-whole))

(ert-deftest e2e-after-kill-at-each-step-of-taking-out ()
  (pcase-dolist (`(,where ,function . ,left)
                 '((:before agent-q-diff-module-prepare 3 15 27)
                   (:after agent-q-diff-module-prepare 3 15 27)
                   (:before agent-q-diff-file--rename 3 15 27)
                   (:after agent-q-diff-file--rename 3 27)
                   (:before agent-q-diff-module-commit 3 27)
                   (:after agent-q-diff-module-commit 3 27)))
    (ert-info ((format "%s %s: " where function) :prefix "Killed ")
      (after-with-emacs
        (aqd-pending-put "f.txt" (after-written 3 15 27))
        (after-review "^ [^ ]+: hunk 1/3 ")
        (e2e-keys "a")
        (e2e-see "^Hunk 1 kept")
        (after-kill-at where function)
        (e2e-keys "r")
        (e2e-wait-for (e2e--gone-p e2e--pid))
        (after-should-go-on (apply #'after-written left))))))

(ert-deftest e2e-after-kill-while-a-hunk-is-kept ()
  (pcase-dolist (`(,where ,pending) '((:before "^ [^ ]+: hunk 1/3 ") (:after "^ [^ ]+: hunk 1/2 ")))
    (after-with-emacs
      (aqd-pending-put "f.txt" (after-written 3 15 27))
      (after-review "^ [^ ]+: hunk 1/3 ")
      (after-kill-at where 'agent-q-diff-module-commit)
      (e2e-keys "a")
      (e2e-wait-for (e2e--gone-p e2e--pid))
      (should (equal (after-written 3 15 27) (aqd-pending-has "f.txt")))
      (after-start-again)
      (after-review pending))))

(ert-deftest e2e-after-kill-with-comments-and-while-a-rejection-waits ()
  (after-with-emacs
    (cl-flet ((turn (option)
                (after-ended (after-run (list "review" option "--agent" "aider")))))
      (turn "--turn-begins")
      (aqd-pending-put "f.txt" (after-written 3 15 27))
      (after-review "^ [^ ]+: hunk 1/3 ")
      (e2e-keys "r")
      (e2e-see "^Hunk 1 is taken out when aider ends its turn")
      (e2e-keys "c")
      (e2e-see "^Comment on hunk 2")
      (e2e-type "why?")
      (e2e-keys "RET")
      (e2e-see "^# > You (open): why\\?")
      (e2e-keys "C")
      (e2e-see "^Comment on the proposal")
      (e2e-type "slowly")
      (e2e-keys "RET")
      (e2e-see " · commented · ")
      (e2e-kill)
      (should (equal (after-written 3 15 27) (aqd-pending-has "f.txt")))
      (after-start-again)
      (after-review "^\\[PENDING, will be taken out\\] @@ -1,")
      (e2e-see "^# > You (open): why\\?" " · commented · ")
      (turn "--turn-ends")
      (e2e-see "^The turn has ended: 1 hunk was taken out")
      (should (equal (after-written 15 27) (aqd-pending-has "f.txt"))))))

(ert-deftest e2e-after-kill-right-after-a-key ()
  (dotimes (_ 3)
    (after-with-emacs
      (aqd-pending-put "f.txt" (after-written 3 15 27))
      (after-review "^ [^ ]+: hunk 1/3 ")
      (e2e-keys "a")
      (e2e-see "^Hunk 1 kept")
      (e2e-keys "r")
      (e2e-kill)
      (after-should-go-on (if (equal (after-written 3 15 27) (aqd-pending-has "f.txt"))
                              (after-written 3 15 27)
                            (after-written 3 27))))))

;;;; Two at once

(defun after-emacs ()
  "Return what stands for the Emacs under test, for `after-in'."
  (list e2e--folder e2e--serial e2e--pid e2e--found))

(defmacro after-in (emacs &rest body)
  "Run BODY with EMACS, from `after-emacs', as the Emacs under test."
  (declare (indent 1) (debug t))
  `(cl-progv '(e2e--folder e2e--serial e2e--pid e2e--found) ,emacs
     (prog1 (progn ,@body)
       ;; Each question has a number of its own.
       (setf (nth 1 ,emacs) e2e--serial))))

(ert-deftest e2e-after-another-emacs-sees-what-was-decided ()
  (after-with-emacs
    (aqd-pending-put "f.txt" (after-written 3 15 27))
    (after-review "^ [^ ]+: hunk 1/3 ")
    (let ((first (after-emacs)))
      (e2e-with-emacs
        (after-visit "g.txt")
        (after-review "^ [^ ]+: hunk 1/3 ")
        (after-in first
          (e2e-keys "a r")
          (e2e-see "^Hunk 2 taken out; 2 of 3 decided"))
        ;; What is pending now is shown anew.
        (e2e-keys "g")
        (e2e-see "^ [^ ]+: hunk 1/1 ")
        (e2e-keys "q")
        (e2e-see "^f.txt: 0 kept, 0 taken out, 1 still pending")
        (after-review "^ [^ ]+: hunk 1/1 ")
        (e2e-keys "a")
        (e2e-see "^Hunk 1 kept; nothing is pending")
        (after-see-taken-out "f\\.txt +-1 line +fifteen"))
      (e2e-keys "q")
      (e2e-see "^f.txt: 1 kept, 1 taken out, 1 still pending")
      (after-call 'agent-q-diff-review-changes)
      (e2e-see "^Nothing is pending in")
      (should (equal (after-written 3 27) (aqd-pending-has "f.txt"))))))

(ert-deftest e2e-after-two-emacs-take-out-of-one-file ()
  (after-with-emacs
    (aqd-pending-put "f.txt" (after-written 3 15 27))
    (after-review "^ [^ ]+: hunk 1/3 ")
    (let ((first (after-emacs)))
      (e2e-with-emacs
        (after-visit "g.txt")
        (after-review "^ [^ ]+: hunk 1/3 ")
        (after-in first
          (e2e-keys "r")
          (e2e-see "^Hunk 1 taken out"))
        ;; It has not looked at the file since.
        (e2e-keys "n n r")
        (e2e-see "^Hunk 3 taken out; the file had changed on disk")
        (should (equal (after-written 15) (aqd-pending-has "f.txt"))))
      (e2e-keys "q")
      (after-see-taken-out "f\\.txt +-1 line +much" "f\\.txt +-1 line +three")
      (after-review "^ [^ ]+: hunk 1/1 ")
      (e2e-see "^-line 15\n[+]fifteen"))))

;;;; Another process has the lock

(defmacro after-with-lock (&rest body)
  "Run BODY while another process has the lock of what was reviewed."
  (declare (indent 0) (debug t))
  `(let ((holder (make-process :name "holder" :connection-type 'pipe :noquery t
                               :command (list "flock"
                                              (aqd-pending-name ".git/agent-q-diff/lock")
                                              "cat"))))
     (unwind-protect
         (progn
           (process-send-string holder "held\n")
           (e2e-wait-for (accept-process-output holder 0.02))
           ,@body)
       ;; At the end of its input it releases the lock.
       (process-send-eof holder)
       (e2e-wait-for (not (process-live-p holder))))))

(ert-deftest e2e-after-reading-needs-no-lock ()
  (after-with-emacs
    (aqd-pending-put "f.txt" (after-written 3 15 27))
    (after-review "^ [^ ]+: hunk 1/3 ")
    (e2e-keys "r")
    (e2e-see "^Hunk 1 taken out")
    (after-with-lock
      (after-see-taken-out "f\\.txt +-1 line +three")
      (e2e-keys "RET")
      (e2e-see "^-three\n[+]line 3")
      (after-visit "f.txt")
      (e2e-see "\\[1 file unreviewed\\]"))))

(ert-deftest e2e-after-nobody-waits-long-for-the-lock ()
  (after-with-emacs
    (aqd-pending-put "f.txt" (after-written 3 15 27))
    (after-with-lock
      (after-call 'agent-q-diff-review-changes)
      (e2e-see "another program is using "))
    (after-review "^ [^ ]+: hunk 1/3 ")
    (after-with-lock
      (e2e-keys "r")
      (e2e-see "^Failed to take the hunk out: nothing is taken out, since it could not be stored")
      (e2e-keys "a")
      (e2e-see "^Failed to keep the hunk: another program is using ")
      (should (equal (after-written 3 15 27) (aqd-pending-has "f.txt"))))
    (e2e-keys "q")
    (after-see-taken-out)
    (after-review "^ [^ ]+: hunk 1/3 ")
    (e2e-keys "r a")
    (e2e-see "^Hunk 2 kept; 2 of 3 decided")))

;;;; The disk is full

(defmacro after-with-small-disk (&rest body)
  "Run BODY with what was reviewed on a file system of its own, a small one.
Only the superuser can mount one."
  (declare (indent 0) (debug t))
  `(let* ((folder (aqd-pending-name ".git/agent-q-diff"))
          (copy (concat folder "-copy")))
     ;; A buffer that asks while the folder is away remembers that there is none.
     (e2e-wait-for (e2e-eval '(with-current-buffer "g.txt" (agent-q-diff-reviewed-root))))
     (rename-file folder copy)
     (make-directory folder)
     (unless (and (= (user-uid) 0)
                  (eq 0 (call-process "mount" nil nil nil "-t" "tmpfs" "-o" "size=200k"
                                      "tmpfs" folder)))
       (ert-skip "Only root can mount a file system to be filled"))
     (unwind-protect
         (progn
           (should (eq 0 (call-process "cp" nil nil nil "-rT" copy folder)))
           ,@body)
       (should (eq 0 (call-process "umount" nil nil nil "-l" folder))))))

(defun after-ballast ()
  "Return the name of the file that fills the small file system."
  (aqd-pending-name ".git/agent-q-diff/ballast"))

(defun after-fill ()
  "Fill the small file system."
  (let ((name (after-ballast)))
    (write-region (make-string (nth 2 (file-system-info (file-name-directory name))) ?x)
                  nil name nil 'silent)))

(ert-deftest e2e-after-full-disk-takes-nothing-out-and-keeps-nothing ()
  (after-with-emacs
    (aqd-pending-put "f.txt" (after-written 3 15 27))
    (after-with-small-disk
      (after-review "^ [^ ]+: hunk 1/3 ")
      (after-fill)
      (e2e-keys "r")
      (e2e-see "^Failed to take the hunk out: ")
      (should (equal (after-written 3 15 27) (aqd-pending-has "f.txt")))
      (e2e-keys "n a")
      (e2e-see "^Failed to keep the hunk: "
               (e2e-header "2/3" 0 0 3))
      (should (equal (after-written 3 15 27) (aqd-pending-has "f.txt")))
      (e2e-keys "q")
      (e2e-see "^f.txt: 0 kept, 0 taken out, 3 still pending")
      (delete-file (after-ballast))
      (after-review "^ [^ ]+: hunk 1/3 ")
      (e2e-keys "r a")
      (e2e-see "^Hunk 2 kept; 2 of 3 decided")
      (e2e-keys "q")
      (after-see-taken-out "f\\.txt +-1 line +three")
      (after-review "^ [^ ]+: hunk 1/1 "))))

(ert-deftest e2e-after-full-disk-saves-what-the-user-types ()
  (after-with-emacs
    (after-with-small-disk
      (aqd-pending-put "f.txt" (after-written 15))
      (after-review "^ [^ ]+: hunk 1/1 ")
      (e2e-keys "q")
      (e2e-see "still pending")
      ;; It looks once more by itself.
      (e2e-wait-for (null (e2e-eval 'agent-q-diff-pending--timer)))
      (after-visit "g.txt")
      (after-fill)
      (e2e-keys "ESC >")
      (e2e-type "mine")
      (e2e-keys "RET C-x C-s")
      (e2e-see "^What you saved is pending, since that could not be noted: "
               "No space left on device")
      (should (equal (concat (aqd-numbered 3) "mine\n") (aqd-pending-has "g.txt")))
      (after-call 'agent-q-diff-review-changes)
      (e2e-see "No space left on device")
      (delete-file (after-ballast))
      (after-review "file 1/2 ")
      (e2e-see "^[+]mine"))))

;;;; Complaints about other tools

(ert-deftest e2e-after-reject-all-spares-what-was-kept-and-what-is-the-users ()
  (after-with-emacs
    (aqd-pending-put "f.txt" (after-written 3))
    (after-review "^ [^ ]+: hunk 1/1 ")
    (e2e-keys "a q")
    (e2e-see "^f.txt: 1 kept, 0 taken out")
    (after-save-own-line)
    (e2e-type "not saved")
    (aqd-pending-put "f.txt" (after-written 3 15 27))
    (aqd-pending-put "new.txt" "new\n")
    (after-review "3 pending$")
    (e2e-keys "C-c C-k")
    (e2e-see "^2 files: 0 kept, 3 taken out")
    (should (equal (after-written 3) (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-has "new.txt"))
    (should (equal (concat (aqd-numbered 3) "mine\n") (aqd-pending-has "g.txt")))
    (e2e-see "^mine\nnot saved")))

(ert-deftest e2e-after-reject-all-spares-unsaved-edits-of-the-same-file ()
  (after-with-emacs
    (aqd-pending-put "f.txt" (after-written 3 15))
    (after-visit "f.txt")
    (e2e-keys "ESC >")
    (e2e-type "not saved")
    (after-review "^ [^ ]+: hunk 1/2 ")
    (e2e-keys "C-c C-k")
    (e2e-see "^f.txt: 0 kept, 2 taken out" "^line 30\nnot saved")
    (should (equal (concat after-text "not saved")
                   (e2e-eval '(with-current-buffer "f.txt" (buffer-string)))))
    (should (equal (after-written 3 15) (aqd-pending-has "f.txt")))))

(ert-deftest e2e-after-a-new-file-with-the-users-line-is-not-deleted ()
  (after-with-emacs
    (aqd-pending-put "new.txt" "one\ntwo\n")
    (after-visit "new.txt")
    (e2e-keys "ESC >")
    (e2e-type "mine")
    (e2e-keys "RET C-x C-s")
    (e2e-see "^Wrote ")
    (after-review "^ [^ ]+: hunk 1/1 ")
    (e2e-keys "C-c C-k")
    (e2e-see "^new.txt: 0 kept, 1 taken out")
    (should (equal "mine\n" (aqd-pending-has "new.txt")))
    (after-call 'agent-q-diff-review-changes)
    (e2e-see "^Nothing is pending in")))

(ert-deftest e2e-after-undo-leaves-what-was-committed-since ()
  (after-with-emacs
    (aqd-pending-put "f.txt" (after-written 3 15 27))
    (after-review "^ [^ ]+: hunk 1/3 ")
    (e2e-keys "a r")
    (e2e-see "^Hunk 2 taken out; 2 of 3 decided")
    (after-visit "f.txt")
    (e2e-keys "ESC >")
    (e2e-type "mine")
    (e2e-keys "RET C-x C-s")
    (e2e-see "^Wrote ")
    ;; After a save, Emacs's vc has the lock of the index for a moment.
    (e2e-wait-for (ignore-error ert-test-failed
                    (aqd-pending-git "commit" "-qam" "Mine")
                    t))
    (e2e-keys "C-x b RET")
    (e2e-see "^ [^ ]+: hunk 3/3 ")
    (e2e-keys "C-/")
    (e2e-see "^Undid the decision on hunk 2")
    (e2e-keys "C-/")
    (e2e-see "^Undid the decision on hunk 1")
    (should (equal (concat (after-written 3 15 27) "mine\n") (aqd-pending-has "f.txt")))
    (should (equal (concat (after-written 3 27) "mine\n") (aqd-pending-git "show" "HEAD:f.txt")))
    (e2e-keys "q")
    (after-call 'agent-q-diff-review-changes)
    (e2e-see "^Commit [0-9a-f]+ Mine has changes of f.txt that you have not reviewed\\.  ")
    (e2e-keys "y")
    ;; What was committed is reviewed, what undoing brought back is not.
    (e2e-see "^ [^ ]+: hunk 1/1 " "^-line 15\n[+]fifteen")))

;;;; The program

(defun after-run (arguments &optional input)
  "Run the program with ARGUMENTS in the repository, and return the process.
INPUT, a string, is its standard input.  What it prints is in its buffer."
  (let* ((default-directory aqd-pending-root)
         (process-environment (cons (concat "XDG_RUNTIME_DIR=" (e2e-path "run"))
                                    process-environment))
         (process (make-process
                   :name "program" :connection-type 'pipe :noquery t
                   :buffer (generate-new-buffer " *program*")
                   :command (cons (expand-file-name
                                   "agent-q-diff"
                                   (file-name-directory (getenv "AGENT_Q_DIFF_MCP_SERVER")))
                                  arguments)
                   :sentinel #'ignore)))
    (when input
      (process-send-string process input)
      (process-send-eof process))
    process))

(defun after-ended (process)
  "Wait for the end of PROCESS, and return (STATUS . OUTPUT)."
  (e2e-wait-for (not (process-live-p process)))
  (while (accept-process-output process 0))
  (cons (process-exit-status process)
        (with-current-buffer (process-buffer process)
          (buffer-string))))

(defun after-serve ()
  "Have the Emacs under test serve, at a socket of the test's own."
  (e2e-eval '(progn (require 'agent-q-diff-server)
                    (make-directory (inside-file "run"))
                    (setenv "XDG_RUNTIME_DIR" (inside-file "run"))
                    (agent-q-diff-serve)
                    nil)))

(ert-deftest e2e-after-a-program-waits-for-the-review ()
  (after-with-emacs
    (after-serve)
    (should (equal '(0 . "") (after-ended (after-run '("review" "--turn-begins" "--agent" "aider")))))
    (aqd-pending-put "f.txt" (after-written 3 15))
    (should (equal '(0 . "") (after-ended (after-run '("review" "--turn-ends")))))
    (let ((program (after-run '("review" "--wait"))))
      (e2e-see "^ [^ ]+: hunk 1/2 " "^# Note: Written by aider\\.")
      (e2e-keys "C-x o")
      (e2e-press "a r q")
      (should (equal (cons 1 (format "%s: 1 kept, 1 taken out\n" (aqd-pending-name "f.txt")))
                     (after-ended program))))
    (should (equal (after-written 3) (aqd-pending-has "f.txt")))
    (pcase-let ((`(,status . ,said) (after-ended (after-run '("review" "--wait")))))
      (should (equal 0 status))
      (should (string-prefix-p "Nothing is pending in" said)))
    ;; What is undecided, for another program.
    (aqd-pending-put "new.txt" "x\n")
    (let ((program (after-run '("review" "--wait" "--json"))))
      (e2e-see "^ new\\.txt: hunk 1/1 ")
      (e2e-keys "C-x o q")
      (pcase-let* ((`(,status . ,said) (after-ended program))
                   (decided (json-parse-string said :object-type 'alist)))
        (should (equal '(2 0 0 1) (list status (alist-get 'kept decided)
                                        (alist-get 'taken_out decided)
                                        (alist-get 'undecided decided))))))))

(ert-deftest e2e-after-a-program-needs-no-emacs-for-turns ()
  (after-with-repository
    (let ((e2e--folder (file-name-as-directory (make-temp-file "aqd" t))))
      (unwind-protect
          (progn
            (should (= 3 (car (after-ended (after-run '("review" "--wait"))))))
            (should (= 3 (car (after-ended (after-run '("review" "--no-such-option"))))))
            (aqd-pending-put "new.txt" "x\n")
            (aqd-pending-put "newer.txt" "x\n")
            (should (equal '(0 . "1 file is reviewed as it is\n")
                           (after-ended (after-run '("review" "--mark-reviewed" "new.txt")))))
            (after-ended (after-run '("review" "--turn-begins" "--agent" "aider")))
            (aqd-pending-put "f.txt" (after-written 3))
            (after-ended (after-run '("review" "--turn-ends" "--agent" "aider")))
            ;; Whoever runs that may be the agent.
            (let ((stays "1 file that an agent may have written stays pending; \
M-x agent-q-diff-mark-reviewed in Emacs reviews them, too\n"))
              (should (equal (cons 0 (concat "1 file is reviewed as it is\n" stays))
                             (after-ended (after-run '("review" "--mark-reviewed")))))
              (should (equal (cons 0 stays)
                             (after-ended (after-run '("review" "--mark-reviewed")))))))
        (delete-directory e2e--folder t)))))

;;;; Without git

(ert-deftest e2e-after-without-git-all-is-as-in-a-repository ()
  (aqd-with-git-folder
    (let* ((state (make-temp-file "aqd-state" t))
           (variable (concat "XDG_STATE_HOME=" state))
           (e2e-environment (cons variable e2e-environment))
           (process-environment (cons variable process-environment)))
      (unwind-protect
          (e2e-with-emacs
            (aqd-pending-put "f.txt" after-text)
            (aqd-pending-put "g.txt" (aqd-numbered 3))
            (pcase-let ((`(,status . ,said)
                         (after-ended (after-run '("review" "--mark-reviewed")))))
              (should (= 3 status))
              (should (string-search "M-x agent-q-diff-review-changes" said)))
            (after-visit "g.txt")
            (after-call 'agent-q-diff-review-changes)
            (e2e-see "There is no git repository here\\.  Take the 2 files in ")
            (e2e-keys "n")
            (e2e-see "^Nothing is reviewed in ")
            (after-call 'agent-q-diff-review-changes)
            (e2e-see "There is no git repository here\\.  Take the 2 files in ")
            (e2e-keys "y")
            (e2e-see "^Nothing is pending in")
            (after-save-own-line)
            (after-ended (after-run '("review" "--turn-begins" "--agent" "aider")))
            (aqd-pending-put "f.txt" (after-written 3 15))
            (aqd-pending-put "sub/new.txt" "x\n")
            (should (equal '(0 . "") (after-ended (after-run '("review" "--turn-ends" "sub")))))
            (after-review "^ .*hunk 1/2 .* file 1/2 ")
            (e2e-see "f\\.txt  \\+2 -2 · 2 hunks · aider")
            (e2e-press "a r")
            (e2e-see "· 1 kept · 1 taken out · 1 pending")
            (e2e-kill)
            (after-start-again)
            (should (equal (after-written 3) (aqd-pending-has "f.txt")))
            (after-review "^ .*hunk 1/1 ")
            (e2e-see "sub/new\\.txt")
            (e2e-press "a")
            (should (equal '(0 . "Nothing was pending\n")
                           (after-ended (after-run '("review" "--mark-reviewed")))))
            (after-see-taken-out "f\\.txt +-1 line +fifteen"))
        (delete-directory state t)
        (delete-directory aqd-pending-root t)))))

;;;; Hooks

(ert-deftest e2e-after-an-agents-hooks-say-when-it-is-at-work ()
  (after-with-emacs
    (after-serve)
    (cl-flet ((event (name &rest more)
                (after-ended
                 (after-run '("hook" "claude")
                            (json-serialize
                             `((hook_event_name . ,name) (session_id . "s")
                               (cwd . ,(directory-file-name aqd-pending-root))
                               ,@more))))))
      (event "UserPromptSubmit" '(prompt . "shout\nloudly"))
      ;; As by its shell: no hook sees that.
      (aqd-pending-put "f.txt" (after-written 3))
      (event "Stop")
      (aqd-pending-put "new.txt" "x\n")
      (after-review "^ .*hunk 1/1 .* file 1/2 ")
      (e2e-see "f\\.txt  \\+1 -1 · 1 hunk · Claude Code" "new\\.txt  \\+1 -0 · 1 hunk · outside any turn"))))

(provide 'after-test)
;;; after-test.el ends here
