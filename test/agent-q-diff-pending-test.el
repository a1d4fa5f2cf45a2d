;;; agent-q-diff-pending-test.el --- What was written already  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Git repositories in which an agent, by a shell, has written; what is
;; pending, what the user decides, and what is then in the files and pending
;; the next time.

;;; Code:

(require 'project)
(require 'agent-q-diff-git-help)

;;;; Deciding

(ert-deftest aqd-pending-what-is-kept-is-not-shown-again ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (should (equal '(nil nil) (agent-q-diff-module-marks
                                 (agent-q-diff-change-engine agent-q-diff-buffer-change))))
      (should (string-match-p "kept" (aqd-pending-do #'agent-q-diff-accept-hunk 0))))
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
    (aqd-with-pending
      (should (= 1 (length agent-q-diff-buffer-marks)))
      (should (save-excursion
                (goto-char (point-min))
                (search-forward "+x" nil t))))
    (should (equal '("f.txt") (aqd-pending-files)))))

(ert-deftest aqd-pending-what-is-rejected-is-taken-out-of-its-file ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (should (string-match-p "taken out" (aqd-pending-do #'agent-q-diff-reject-hunk 1))))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-unapplying-makes-pending-again-and-puts-back ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (should (string-match-p "put back" (aqd-pending-do #'agent-q-diff-unapply-hunk 1)))
      (should (string-match-p "pending" (aqd-pending-do #'agent-q-diff-unapply-hunk 0))))
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
    (aqd-with-pending
      (should (= 2 (length agent-q-diff-buffer-marks))))))

(ert-deftest aqd-pending-undo-takes-a-decision-back ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (agent-q-diff-undo)
      (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
      (agent-q-diff-undo))
    (aqd-with-pending
      (should (= 2 (length agent-q-diff-buffer-marks))))))

(ert-deftest aqd-pending-all-that-is-pending-is-rejected-at-once ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "sub/new.txt" "new\n")
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (should (string-match-p "1 kept, 2 taken out" (aqd-said (agent-q-diff-reject-all t)))))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-has "sub/new.txt"))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-finishing-leaves-what-is-pending ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (should (string-match-p "0 kept, 0 taken out, 2 still pending"
                              (aqd-said (agent-q-diff-finish t t)))))
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
    (should (equal '("f.txt") (aqd-pending-files)))))

(ert-deftest aqd-pending-a-review-s-beginning-and-end-are-said ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (let* ((said '())
           (agent-q-diff-review-begun-functions (list (lambda (_) (push 'begun said))))
           (agent-q-diff-review-ended-functions
            (list (lambda (_ result) (push (plist-get result :applied) said)))))
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-accept-hunk 0))
      (should (equal '(1 begun) said)))))

(defmacro aqd-pending-with-broken-record (&rest body)
  "Run BODY; whenever a decision is recorded meanwhile, the record is no file."
  (declare (indent 0) (debug t))
  `(let ((record (aqd-pending-name ".git/agent-q-diff/record")))
     (cl-flet ((break (commit &rest arguments)
                 (rename-file record (concat record ".kept"))
                 (make-directory record)
                 (unwind-protect (apply commit arguments)
                   (delete-directory record)
                   (rename-file (concat record ".kept") record))))
       (advice-add 'agent-q-diff-module-commit :around #'break)
       (unwind-protect (progn ,@body)
         (advice-remove 'agent-q-diff-module-commit #'break)))))

(ert-deftest aqd-pending-what-cannot-be-recorded-is-not-decided ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (cl-flet ((marks ()
                  (agent-q-diff-module-marks
                   (agent-q-diff-change-engine agent-q-diff-buffer-change))))
        (aqd-pending-do #'agent-q-diff-accept-hunk 0)
        (aqd-pending-with-broken-record
          (should (string-match-p
                   "\\`Failed to keep the hunk: .*/record: it is not a regular file\\'"
                   (aqd-pending-do #'agent-q-diff-accept-hunk 1)))
          (should (string-match-p
                   "\\`Failed to take the hunk out: .*/record: it is not a regular file\\'"
                   (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
          (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
          (should (equal '(applied nil) (marks)))
          (aqd-said (ignore-errors (agent-q-diff-undo)))
          (should (equal '(applied nil) (marks))))
        (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-what-is-written-during-the-review-is-asked-about ()
  (dolist (command (list #'agent-q-diff-accept-hunk #'agent-q-diff-reject-hunk))
    (aqd-with-repository
      (aqd-pending-put "f.txt" aqd-pending-written)
      (aqd-with-pending
        (aqd-pending-put "f.txt" (concat aqd-pending-written "more\n"))
        (aqd-pending-do command 0)
        (aqd-pending-do command 1))
      (aqd-with-pending
        (should (equal '(nil) (append agent-q-diff-buffer-marks nil)))
        (should (string-search "+more" (buffer-string)))))))

(ert-deftest aqd-pending-what-another-emacs-decided-meanwhile-stays ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      ;; What that Emacs would record of the first hunk.
      (agent-q-diff-module-record
       (list (vector (car (agent-q-diff-module-prepare
                           default-directory nil `(("f.txt" #o100644 . ,aqd-pending-text))))
                     "f.txt" (cons #o100644 (aqd-numbered 30 '((3 . "three")))) nil nil)))
      (aqd-pending-do #'agent-q-diff-accept-hunk 1))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-unsaved-edits-that-are-saved-with-a-rejection-are-the-users ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (with-current-buffer (find-file-noselect "f.txt")
      (goto-char (point-max))
      (insert "typed\n"))
    (aqd-with-pending
      (let ((agent-q-diff-save 'always))
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (aqd-pending-do #'agent-q-diff-accept-hunk 1)))
    (should (string-suffix-p "typed\n" (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))))

;;;; Staging

(defun aqd-pending-staged ()
  "Return the changed lines of what is staged in the test's repository."
  (seq-filter (lambda (line) (string-match-p "\\`[-+][^-+]" line))
              (split-string (aqd-pending-git "diff" "--cached" "--no-ext-diff") "\n")))

(ert-deftest aqd-pending-what-is-kept-is-staged-by-a-key ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "new.txt" "new\n")
    (aqd-with-pending
      (should (equal "Nothing is kept that is not staged" (aqd-said (agent-q-diff-stage))))
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (should-not (aqd-pending-staged))
      (should (eq #'agent-q-diff-stage (key-binding "S")))
      (should (equal "What you kept of 1 file is staged" (aqd-said (agent-q-diff-stage))))
      (should (equal '("-line 3" "+three") (aqd-pending-staged)))
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
      (aqd-pending-do #'agent-q-diff-accept-hunk 2)
      (should (equal '("-line 3" "+three") (aqd-pending-staged)))
      (should (equal "What you kept of 2 files is staged" (aqd-said (agent-q-diff-stage))))
      (should (equal '("+new") (aqd-pending-staged)))
      (should (equal "Nothing is kept that is not staged" (aqd-said (agent-q-diff-stage)))))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))))

(ert-deftest aqd-pending-what-an-agent-has-staged-and-is-not-kept-is-said ()
  (aqd-with-repository
    (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three") (15 . "fifteen") (27 . "x"))))
    (aqd-pending-put "n.txt" "new\n")
    (aqd-pending-git "add" "-A")
    (agent-q-diff-module-end-turns default-directory)
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (aqd-pending-do #'agent-q-diff-reject-hunk 3)
      (should (equal (concat "What you kept of 1 file is staged; "
                             "the index has changes of f.txt, n.txt that you have not kept")
                     (aqd-said (agent-q-diff-stage))))
      (aqd-pending-git "reset" "-q" "--" "n.txt")
      (aqd-pending-do #'agent-q-diff-accept-hunk 1)
      (aqd-pending-do #'agent-q-diff-accept-hunk 2)
      (should (equal "What you kept of 1 file is staged" (aqd-said (agent-q-diff-stage)))))))

(ert-deftest aqd-pending-what-is-kept-is-staged-at-once-by-an-option ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (let ((agent-q-diff-stage-kept t))
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-accept-hunk 1)
        (should (equal '("-line 27" "+x") (aqd-pending-staged)))
        (aqd-pending-do #'agent-q-diff-accept-hunk 0)
        (should (equal '("-line 3" "+three" "-line 27" "+x") (aqd-pending-staged)))
        (should (equal "Nothing is kept that is not staged" (aqd-said (agent-q-diff-stage))))
        (agent-q-diff-undo)
        (should (equal '("-line 27" "+x") (aqd-pending-staged)))
        (aqd-pending-do #'agent-q-diff-unapply-hunk 1)
        (should-not (aqd-pending-staged))
        (aqd-pending-do #'agent-q-diff-reject-hunk 1)
        (should-not (aqd-pending-staged))))))

(ert-deftest aqd-pending-a-deleted-executable-comes-back-executable ()
  (aqd-with-repository
    (cl-flet ((modes () (and (file-exists-p "run.sh") (file-modes "run.sh"))))
      (aqd-pending-put "run.sh" "run\n")
      (set-file-modes "run.sh" #o755)
      (aqd-pending-git "add" ".")
      (aqd-pending-git "commit" "-qm" "more")
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (agent-q-diff-review-changes))
      (delete-file "run.sh")
      (let ((review nil))
        (aqd-with-pending
          (setq review agent-q-diff-buffer-review)
          (aqd-pending-do #'agent-q-diff-reject-hunk 0)
          (should (equal #o755 (modes)))
          (agent-q-diff-undo)
          (should-not (modes))
          (agent-q-diff-redo)
          (should (equal #o755 (modes)))
          (agent-q-diff-undo)
          (agent-q-diff-accept-hunk)
          (aqd-said (agent-q-diff-finish nil t)))
        (should-not (modes))
        ;; Also when it is looked at again.
        (with-current-buffer (agent-q-diff-look-again review)
          (aqd-pending-do #'agent-q-diff-reject-hunk 0)
          (should (equal #o755 (modes)))
          (aqd-said (agent-q-diff-finish)))))))

(ert-deftest aqd-pending-kinds-of-files-are-staged ()
  (aqd-with-repository
    (aqd-pending-put "gone.txt" "gone\n")
    (aqd-pending-put "run.sh" "run\n")
    (aqd-pending-git "add" ".")
    (aqd-pending-git "commit" "-qm" "more")
    (cl-letf (((symbol-function 'y-or-n-p) #'always))
      (agent-q-diff-review-changes))
    (delete-file "gone.txt")
    (set-file-modes "run.sh" #o755)
    (make-symbolic-link "f.txt" "link")
    (aqd-pending-put "bytes" "a\0b")
    (let ((agent-q-diff-stage-kept t))
      (aqd-with-pending
        (aqd-said (agent-q-diff-accept-all))))
    (should (equal "A\tbytes\nD\tgone.txt\nA\tlink\nM\trun.sh\n"
                   (aqd-pending-git "diff" "--cached" "--name-status")))
    (should (string-empty-p (aqd-pending-git "diff")))))

(ert-deftest aqd-pending-what-cannot-be-staged-is-kept-all-the-same ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (let ((agent-q-diff-stage-kept t)
          (warned nil)
          (lock (aqd-pending-name ".git/index.lock")))
      (cl-letf (((symbol-function 'agent-q-diff-base-warn)
                 (lambda (text &rest _) (setq warned text))))
        (aqd-with-pending
          (aqd-pending-put lock "")
          (should (string-match-p "kept" (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
          (should (equal "The decision is recorded, but f.txt is not staged: \
another git has locked the index (index.lock)"
                         warned))
          (should (equal "f.txt is not staged: another git has locked the index (index.lock)"
                         (aqd-said (agent-q-diff-stage))))
          (delete-file lock)
          (aqd-pending-do #'agent-q-diff-accept-hunk 1)
          (should (equal '("-line 27" "+x") (aqd-pending-staged)))
          (should (equal "What you kept of 1 file is staged" (aqd-said (agent-q-diff-stage))))
          (should (equal '("-line 3" "+three" "-line 27" "+x") (aqd-pending-staged))))))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-a-proposal-cannot-be-staged ()
  (aqd-with-elisp-review
    (should-error (agent-q-diff-stage) :type 'user-error)))

(ert-deftest aqd-pending-what-a-hook-of-the-users-changes-on-saving-is-the-users ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" (string-replace "three" "three  " aqd-pending-written))
    (let ((before-save-hook (cons #'delete-trailing-whitespace before-save-hook)))
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-accept-hunk 0)
        (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))))

;;;; Kinds of changes

(ert-deftest aqd-pending-a-file-is-visited-when-it-is-decided ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "g.txt" "new\n")
    (aqd-with-pending
      (should-not (get-file-buffer (aqd-pending-name "f.txt")))
      (should-not (get-file-buffer (aqd-pending-name "g.txt")))
      (aqd-pending-do #'agent-q-diff-accept-hunk 2)
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (should (get-file-buffer (aqd-pending-name "f.txt"))))
    (should (equal (aqd-numbered 30 '((27 . "x"))) (aqd-pending-has "f.txt")))
    (should (equal '("f.txt") (aqd-pending-files)))))

(ert-deftest aqd-pending-a-new-file-is-deleted-when-it-is-rejected ()
  (aqd-with-repository
    (aqd-pending-put "new.txt" "one\ntwo\n")
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (should-not (file-exists-p (aqd-pending-name "new.txt")))
      (agent-q-diff-undo)
      (should (equal "one\ntwo\n" (aqd-pending-has "new.txt")))
      (aqd-pending-do #'agent-q-diff-accept-hunk 0))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-a-deleted-file-comes-back-when-that-is-rejected ()
  (aqd-with-repository
    (delete-file (aqd-pending-name "f.txt"))
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))
    (delete-file (aqd-pending-name "f.txt"))
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-accept-hunk 0))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-modes-links-and-bytes-are-decided-as-a-whole ()
  (aqd-with-repository
    (aqd-pending-put "data" "a\0b")
    (make-symbolic-link "f.txt" (aqd-pending-name "link"))
    (agent-q-diff-mark-reviewed)
    (should-not (aqd-pending-files))
    (set-file-modes (aqd-pending-name "f.txt") #o755)
    (aqd-pending-put "data" "a\0c")
    (make-symbolic-link "data" (aqd-pending-name "link") t)
    (should (equal '("data" "f.txt" "link") (aqd-pending-files)))
    (aqd-with-pending
      (should (= 3 (length agent-q-diff-buffer-marks)))
      (dolist (hunk '(0 1 2))
        (aqd-pending-do #'agent-q-diff-reject-hunk hunk)))
    (should (equal "a\0b" (aqd-bytes-of (aqd-pending-name "data"))))
    (should (zerop (logand #o111 (file-modes (aqd-pending-name "f.txt")))))
    (should (equal "f.txt" (file-symlink-p (aqd-pending-name "link"))))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-a-new-file-of-bytes-is-kept-or-deleted-as-a-whole ()
  (aqd-with-repository
    (aqd-pending-put "data" "a\0b")
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (should-not (file-exists-p (aqd-pending-name "data")))
      (agent-q-diff-undo)
      (should (equal "a\0b" (aqd-bytes-of (aqd-pending-name "data"))))
      (aqd-pending-do #'agent-q-diff-accept-hunk 0))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-line-ends-and-coding-systems-stay-as-they-are ()
  (dolist (coding '(utf-8-dos latin-1-unix utf-8-with-signature-unix))
    (aqd-with-repository
      (cl-flet ((put (text)
                  (aqd-put-bytes (encode-coding-string text coding)
                                 (aqd-pending-name "g.txt"))))
        (put (concat "größe\n" aqd-pending-text))
        (agent-q-diff-mark-reviewed)
        (put (concat "größe\n" aqd-pending-written))
        (aqd-with-pending
          (aqd-pending-do #'agent-q-diff-reject-hunk 0)
          (aqd-pending-do #'agent-q-diff-accept-hunk 1))
        (should (equal (encode-coding-string
                        (concat "größe\n" (aqd-numbered 30 '((27 . "x")))) coding)
                       (aqd-bytes-of (aqd-pending-name "g.txt"))))
        (should-not (aqd-pending-files))))))

(ert-deftest aqd-pending-a-declared-coding-system-is-respected ()
  (aqd-with-repository
    (cl-flet ((put (text)
                (aqd-put-bytes (encode-coding-string text 'koi8-r)
                               (aqd-pending-name "r.el"))))
      (put (concat ";; -*- coding: koi8-r -*-\n;; мир\n" aqd-pending-text))
      (agent-q-diff-mark-reviewed)
      (put (concat ";; -*- coding: koi8-r -*-\n;; мир\n;; война\n" aqd-pending-text))
      (aqd-with-pending
        (should (save-excursion
                  (goto-char (point-min))
                  (search-forward "+;; война" nil t)))
        (aqd-pending-do #'agent-q-diff-accept-hunk 0))
      (should-not (aqd-pending-files)))))

(ert-deftest aqd-pending-other-line-ends-are-decided-as-a-whole ()
  (aqd-with-repository
    (aqd-put-bytes (encode-coding-string aqd-pending-text 'utf-8-dos)
                   (aqd-pending-name "f.txt"))
    (aqd-with-pending
      (should (= 1 (length agent-q-diff-buffer-marks)))
      (aqd-pending-do #'agent-q-diff-reject-hunk 0))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))))

(ert-deftest aqd-pending-what-is-too-much-is-named ()
  (aqd-with-repository
    (aqd-put-bytes (make-string (1+ (* 8 1024 1024)) ?x) (aqd-pending-name "big"))
    (should (string-prefix-p "Not looked at: big (over 8 MB); nothing else is pending in "
                             (aqd-said (agent-q-diff-review-changes))))
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (goto-char (point-min))
      (should (search-forward "Not looked at: big (over 8 MB)" nil t)))))

;;;; Whose it is

(ert-deftest aqd-pending-what-the-user-saves-is-reviewed ()
  (aqd-with-repository
    (with-current-buffer (find-file-noselect (aqd-pending-name "f.txt"))
      (goto-char (point-max))
      (insert "mine\n")
      (save-buffer))
    (should-not (aqd-pending-files))
    (with-current-buffer (find-file-noselect (aqd-pending-name "my-own.txt"))
      (insert "mine\n")
      (save-buffer))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-what-an-agent-wipes-out-is-brought-back-by-one-key ()
  (aqd-with-repository
    (with-current-buffer (find-file-noselect (aqd-pending-name "f.txt"))
      (goto-char (point-max))
      (insert "mine\n")
      (save-buffer)
      (kill-buffer))
    (aqd-pending-git "checkout" "-q" ".")
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0))
    (should (equal (concat aqd-pending-text "mine\n") (aqd-pending-has "f.txt")))))

(ert-deftest aqd-pending-what-is-committed-and-not-reviewed-is-said-above-the-review ()
  (aqd-with-repository
    (agent-q-diff-module-begin-turn default-directory "Codex" "s" "do it")
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three"))))
    (aqd-pending-git "commit" "-qam" "an agent's")
    (agent-q-diff-module-end-turns default-directory)
    (aqd-pending-put "g.txt" "not committed\n")
    (let ((note "# Note: Committed already, and not reviewed: f.txt\n"))
      (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three") (27 . "x"))))
      (aqd-with-pending
        (should (string-search note (buffer-string)))
        (aqd-pending-do #'agent-q-diff-accept-hunk 0))
      ;; What is left of the file is not committed.
      (aqd-with-pending
        (should-not (string-search note (buffer-string)))
        (agent-q-diff-reject-all)))))

(ert-deftest aqd-pending-what-an-agent-committed-is-pending-unless-the-user-did ()
  (dolist (by-user '(nil t))
    (aqd-with-repository
      (aqd-pending-put "f.txt" aqd-pending-written)
      (should (equal '("f.txt") (aqd-pending-files)))
      (aqd-pending-git "commit" "-qam" "more")
      (cl-letf (((symbol-function 'y-or-n-p)
                 (lambda (prompt)
                   (should (string-match-p "Commit [0-9a-f]+ more has changes of f.txt that you have not" prompt))
                   by-user)))
        (if by-user
            (should (string-match-p "Nothing is pending"
                                    (aqd-said (agent-q-diff-review-changes))))
          (aqd-with-pending
            (should (= 2 (length agent-q-diff-buffer-marks)))))))))

(ert-deftest aqd-pending-unsaved-edits-of-the-user-stay-as-they-are ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (let ((buffer (find-file-noselect (aqd-pending-name "f.txt"))))
      (with-current-buffer buffer
        (goto-char (point-min))
        (forward-line 14)
        (insert "typed\n"))
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 1)
        (agent-q-diff-progress-update-header-line 1)
        (should (string-search " · 1 taken out · 1 pending · 1 not saved" header-line-format)))
      (with-current-buffer buffer
        (should (equal (string-replace "line 15\n" "typed\nline 15\n"
                                       (aqd-numbered 30 '((3 . "three"))))
                       (buffer-string)))
        (should (buffer-modified-p)))
      ;; What is only in the buffer is neither.
      (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
      (aqd-with-pending
        (should (= 2 (length agent-q-diff-buffer-marks))))
      (with-current-buffer buffer
        (save-buffer))
      (aqd-with-pending
        (should (= 1 (length agent-q-diff-buffer-marks)))))))

(ert-deftest aqd-pending-a-key-says-what-is-not-saved-only-where-that-is-so ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (let ((buffer (find-file-noselect (aqd-pending-name "f.txt"))))
      (aqd-with-pending
        (with-current-buffer buffer
          (goto-char (point-min))
          (search-forward "three\n")
          (replace-match "line 3\n"))
        ;; The file has it all the time.
        (should (equal "Hunk 1 is not in the buffer any more; u puts it back"
                       (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
        (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
        (should (string-match-p "\\`Hunk 1 kept; 1 of 2 decided, 1 pending\\'"
                                (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
        (should (string-match-p "\\`Hunk 2 kept; nothing is pending"
                                (aqd-pending-do #'agent-q-diff-accept-hunk 1)))
        (should (string-match-p "\\`Hunk 1 taken out; not saved, since f\\.txt has unsaved"
                                (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
        (agent-q-diff-progress-update-header-line 0)
        (should (string-search " · 1 kept · 1 taken out · 0 pending · 1 not saved" header-line-format)))
      (with-current-buffer buffer
        (set-buffer-modified-p nil))
      (kill-buffer buffer))))

(ert-deftest aqd-pending-a-new-file-with-unsaved-edits-loses-only-what-is-not-the-users ()
  (aqd-with-repository
    (aqd-pending-put "new.txt" "one\ntwo\n")
    (let ((buffer (find-file-noselect (aqd-pending-name "new.txt"))))
      (with-current-buffer buffer
        (goto-char (point-max))
        (insert "mine\n"))
      (aqd-with-pending
        (should (string-prefix-p "Hunk 1 of new.txt taken out; not saved, since"
                                 (aqd-pending-do #'agent-q-diff-reject-hunk 0))))
      (with-current-buffer buffer
        (should (equal "mine\n" (buffer-string)))
        (should (buffer-modified-p)))
      (should (equal "one\ntwo\n" (aqd-pending-has "new.txt"))))))

(ert-deftest aqd-pending-what-is-written-right-after-a-save-is-not-the-users ()
  (aqd-with-repository
    (with-current-buffer (find-file-noselect (aqd-pending-name "f.txt"))
      (goto-char (point-max))
      (insert "mine\n")
      (letrec ((wipe-out (lambda ()
                           (remove-hook 'after-save-hook wipe-out t)
                           (aqd-pending-put "f.txt" "wiped out\n"))))
        (add-hook 'after-save-hook wipe-out -90 t))
      (save-buffer))
    (aqd-with-pending
      (agent-q-diff-reject-all))
    (should (equal (concat aqd-pending-text "mine\n") (aqd-pending-has "f.txt")))))

;;;; The mode line

(ert-deftest aqd-pending-the-mode-line-looks-once-for-the-project ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (dolist (directory (list aqd-pending-root temporary-file-directory))
      (with-temp-buffer
        (setq default-directory directory)
        (let* ((n 0)
               (count (lambda (&rest _) (cl-incf n))))
          (advice-add 'agent-q-diff-reviewed-root-of :before count)
          (unwind-protect
              (dotimes (_ 3) (agent-q-diff-pending--mode-line))
            (advice-remove 'agent-q-diff-reviewed-root-of count))
          (should (= 1 n)))))
    ;; A buffer that was there before its project was looked at.
    (with-temp-buffer
      (clrhash agent-q-diff-pending--projects)
      (rename-file ".git/agent-q-diff" ".git/away")
      (should (equal "" (agent-q-diff-pending--mode-line)))
      (rename-file ".git/away" ".git/agent-q-diff")
      (aqd-with-pending
        (ignore))
      (should (equal " [1 file unreviewed]"
                     (substring-no-properties (agent-q-diff-pending--mode-line)))))))

(defun aqd-pending-amount ()
  "Count what is pending, as when Emacs is idle, and return the mode line's text."
  (let ((agent-q-diff-pending--least-seconds 0))
    (agent-q-diff-pending--count aqd-pending-root))
  (substring-no-properties (agent-q-diff-pending--mode-line)))

(ert-deftest aqd-pending-the-mode-line-counts-files-and-hunks ()
  (aqd-with-repository
    (should (equal "" (aqd-pending-amount)))
    (aqd-pending-put "f.txt" aqd-pending-written)
    (should (equal " [1 file, 2 hunks unreviewed]" (aqd-pending-amount)))
    (aqd-pending-put "new.txt" "1\n2\n")
    (aqd-pending-put "empty.txt" "")
    (aqd-pending-put "data" "a\0b")
    (make-symbolic-link "f.txt" (aqd-pending-name "link"))
    (set-file-modes (aqd-pending-name "f.txt") #o755)
    (should (equal " [5 files, 7 hunks unreviewed]" (aqd-pending-amount)))
    ;; As many as the review has.
    (aqd-with-pending
      (should (= 7 (length agent-q-diff-buffer-marks))))
    (delete-file (aqd-pending-name "f.txt"))
    (should (equal " [5 files, 5 hunks unreviewed]" (aqd-pending-amount)))))

(ert-deftest aqd-pending-only-files-that-have-changed-are-counted-again ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "new.txt" "new\n")
    (aqd-pending-amount)
    (aqd-pending-put "new.txt" "newer\n")
    (let* ((counted nil)
           (note (lambda (_root _texts file)
                   (push (agent-q-diff-pending-file-path file) counted))))
      (advice-add 'agent-q-diff-pending-n-hunks :before note)
      (unwind-protect
          (should (equal " [2 files, 3 hunks unreviewed]" (aqd-pending-amount)))
        (advice-remove 'agent-q-diff-pending-n-hunks note))
      (should (equal '("new.txt") counted)))))

(ert-deftest aqd-pending-input-interrupts-the-count-which-goes-on-later ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "new.txt" "new\n")
    (let* ((agent-q-diff-pending--least-seconds 0)
           (answers (list nil t))
           (input (lambda (&rest _) (pop answers))))
      (advice-add 'input-pending-p :override input)
      (unwind-protect
          (progn
            (agent-q-diff-pending--count-all)
            (should (equal (list aqd-pending-root) agent-q-diff-pending--to-count))
            (should (equal " [2 files unreviewed]"
                           (substring-no-properties (agent-q-diff-pending--mode-line)))))
        (advice-remove 'input-pending-p input))
      (agent-q-diff-pending--count-all)
      (should-not agent-q-diff-pending--to-count)
      (should (equal " [2 files, 3 hunks unreviewed]"
                     (substring-no-properties (agent-q-diff-pending--mode-line)))))))

(ert-deftest aqd-pending-a-look-that-comes-too-soon-is-made-later ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (agent-q-diff-pending-count-soon aqd-pending-root)
    ;; The last look was just now.
    (agent-q-diff-pending--count-all)
    (should (equal "" (agent-q-diff-pending--mode-line)))
    (should (memq agent-q-diff-pending--timer timer-list))
    (let ((agent-q-diff-pending--least-seconds 0))
      (agent-q-diff-pending--count-all))
    (should (equal " [1 file, 2 hunks unreviewed]"
                   (substring-no-properties (agent-q-diff-pending--mode-line))))
    (should-not agent-q-diff-pending--timer)))

(ert-deftest aqd-pending-a-count-takes-no-commit-as-an-agents ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-amount)
    (aqd-pending-git "commit" "-qam" "mine")
    (should (equal " [1 file, 2 hunks unreviewed]" (aqd-pending-amount)))
    (cl-letf* ((is-asked nil)
               ((symbol-function 'y-or-n-p) (lambda (_) (setq is-asked t))))
      (should (string-match-p "Nothing is pending" (aqd-said (agent-q-diff-review-changes))))
      (should is-asked))
    (should (equal "" (aqd-pending-amount)))))

;;;; Coming back

(ert-deftest aqd-pending-another-emacs-knows-what-was-decided ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-accept-hunk 0))
    (let ((found (aqd-in-fresh-emacs
                  `(progn
                     (require 'agent-q-diff-changes)
                     (let ((review (progn
                                     (setq agent-q-diff-display 'announce)
                                     (agent-q-diff-review-changes ,aqd-pending-root))))
                       (length (agent-q-diff-change-marks
                                (agent-q-diff-session-change review))))))))
      (should (string-suffix-p "1" (string-trim found))))))

(ert-deftest aqd-pending-a-folder-without-repository-is-refused-with-the-reason ()
  (let ((folder (make-temp-file "agent-q-diff-none" t)))
    (unwind-protect
        (should (string-match-p
                 "is in no git repository"
                 (agent-q-diff-error-text
                  (should-error (agent-q-diff-review-changes folder)
                                :type 'agent-q-diff-no-repository))))
      (delete-directory folder t))))

(ert-deftest aqd-pending-a-review-that-has-ended-can-be-gone-on-with ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "g.txt" "new\n")
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-accept-hunk 0))
    (with-current-buffer (agent-q-diff-look-again)
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (aqd-pending-do #'agent-q-diff-accept-hunk 2)
      (agent-q-diff-finish))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))))

;;;; Who wrote it

(defun aqd-pending-turn (agent text)
  "Have AGENT write TEXT into f.txt in a turn."
  (agent-q-diff-module-begin-turn default-directory agent "" "")
  (aqd-pending-put "f.txt" text)
  (agent-q-diff-module-end-turns default-directory))

(ert-deftest aqd-pending-each-hunk-says-who-wrote-it ()
  (aqd-with-repository
    (aqd-pending-turn "Codex" (aqd-numbered 30 '((3 . "three"))))
    (aqd-with-pending
      (should (string-search "Written by Codex." (buffer-string)))
      (should-not (aqd-pending-signs)))
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "g.txt" "new\n")
    (aqd-with-pending
      (should (equal '("[PENDING, Codex]" "[PENDING, outside any turn]") (mapcar #'cdr (aqd-pending-signs))))
      (should (string-match-p "g.txt.* 1 hunk · outside any turn"
                              (aqd-pending-shown))))))

(defun aqd-pending-shown ()
  "Return the text of this buffer as it is shown, with what overlays add."
  (let ((shown (buffer-string)))
    (dolist (overlay (sort (overlays-in (point-min) (point-max))
                           (lambda (a b) (> (overlay-end a) (overlay-end b))))
                     shown)
      (when-let ((after (overlay-get overlay 'after-string)))
        (setq shown (concat (substring shown 0 (1- (overlay-end overlay))) after
                            (substring shown (1- (overlay-end overlay)))))))))

(defun aqd-pending-user-edits (text)
  "Have the user save TEXT in f.txt."
  (with-current-buffer (find-file-noselect "f.txt")
    (let ((replacement (generate-new-buffer " *text*")))
      (with-current-buffer replacement (insert text))
      (replace-buffer-contents replacement)
      (kill-buffer replacement))
    (save-buffer)))

(ert-deftest aqd-pending-lines-of-the-users-stay-when-all-is-rejected ()
  (aqd-with-repository
    (aqd-pending-turn "Codex" aqd-pending-written)
    (aqd-pending-user-edits (string-replace "three\n" "three, and mine\n" aqd-pending-written))
    (aqd-with-pending
      (should (equal '("[PENDING, Codex, edited by you, too]" "[PENDING, Codex]")
                     (mapcar #'cdr (aqd-pending-signs))))
      (should (string-match-p "Not taken out: hunk 1: it has lines of yours"
                              (aqd-said (agent-q-diff-reject-all))))
      (should (equal (aqd-numbered 30 '((3 . "three, and mine"))) (aqd-pending-has "f.txt")))
      ;; By its own key, the user is asked.
      (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
        (should (string-match-p "Nothing was taken out"
                                (aqd-pending-do #'agent-q-diff-reject-hunk 0))))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))))

(ert-deftest aqd-pending-lines-of-the-users-between-an-agents-stay ()
  (aqd-with-repository
    (aqd-pending-turn "Codex" (concat aqd-pending-text "one\ntwo\n"))
    (aqd-pending-user-edits (concat aqd-pending-text "one\nmine\ntwo\n"))
    (aqd-with-pending
      (agent-q-diff-reject-all))
    (should (equal (concat aqd-pending-text "mine\n") (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-what-is-outside-any-turn-is-kept-by-one-key ()
  (aqd-with-repository
    (aqd-pending-turn "Codex" (aqd-numbered 30 '((3 . "three"))))
    (aqd-with-pending
      (should-error (agent-q-diff-keep-outside) :type 'user-error))
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "g.txt" "new\n")
    (aqd-with-pending
      (should (string-match-p "Kept 2 hunks" (aqd-said (agent-q-diff-keep-outside)))))
    (aqd-with-pending
      (should (equal '(nil) (append agent-q-diff-buffer-marks nil)))
      (should (string-search "+three" (buffer-string))))))

(ert-deftest aqd-pending-what-is-from-before-the-first-look-is-kept-by-the-same-key ()
  (pcase-dolist (`(,later ,said) '((nil "Kept 1 hunk from before the first look")
                                   (t "Kept 2 hunks from outside any turn, or from before the \
first look")))
    (aqd-with-new-repository
      (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three"))))
      (should (equal '("f.txt") (aqd-pending-files)))
      (aqd-pending-turn "Codex" aqd-pending-written)
      (when later
        (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three") (15 . "15!") (27 . "x")))))
      (aqd-with-pending
        (should (string-prefix-p said (aqd-said (agent-q-diff-keep-outside)))))
      (aqd-with-pending
        (should (equal '(nil) (append agent-q-diff-buffer-marks nil)))
        (should (string-search "+x" (buffer-string)))))))

(ert-deftest aqd-pending-what-is-outside-any-turn-can-be-reviewed-at-once ()
  (aqd-with-repository
    (let ((agent-q-diff-outside-is-reviewed t))
      (aqd-pending-put "g.txt" "new\n")
      ;; Where no turn is known, nothing is outside one.
      (should (equal '("g.txt") (aqd-pending-files)))
      (aqd-pending-turn "Codex" aqd-pending-written)
      (aqd-pending-put "h.txt" "new\n")
      (should (equal '("f.txt") (aqd-pending-files))))))

(ert-deftest aqd-pending-what-the-user-stages-is-reviewed-unless-that-is-not-wanted ()
  (dolist (agent-q-diff-staged-is-reviewed '(nil t))
    (aqd-with-repository
      (aqd-pending-turn "Codex" aqd-pending-written)
      (should (equal '("f.txt") (aqd-pending-files)))
      (aqd-pending-git "add" "f.txt")
      (should (equal (if agent-q-diff-staged-is-reviewed nil '("f.txt"))
                     (aqd-pending-files))))))

(ert-deftest aqd-pending-a-turn-that-was-interrupted-can-be-ended ()
  (aqd-with-repository
    (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
    (should (equal "Codex" (aref (agent-q-diff-module-at-work default-directory) 0)))
    (should (equal "The turn of 1 agent is over" (aqd-said (agent-q-diff-end-turns))))
    (should-not (agent-q-diff-module-at-work default-directory))
    (should (equal "No agent was at work" (aqd-said (agent-q-diff-end-turns))))))

(defun aqd-pending-choose-first ()
  "Call the command with a prefix argument, and choose what is offered first.
Return (OFFERED . NAMES): all that was offered, and the files of the review."
  (let (offered)
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_ table &rest _)
                 (car (setq offered (all-completions "" table))))))
      (let* ((current-prefix-arg '(4))
             (review (call-interactively #'agent-q-diff-review-changes)))
        (prog1 (cons offered
                     (mapcar (lambda (file)
                               (file-name-nondirectory (agent-q-diff-file-change-path file)))
                             (agent-q-diff-change-files (agent-q-diff-session-change review))))
          (agent-q-diff-cancel review))))))

(ert-deftest aqd-pending-one-turn-can-be-reviewed-alone ()
  (aqd-with-repository
    (should-not (agent-q-diff-changes--turns default-directory))
    (aqd-pending-turn "Codex" aqd-pending-written)
    (agent-q-diff-module-begin-turn default-directory "Claude Code" "" "make it new")
    (aqd-pending-put "g.txt" "new\n")
    (agent-q-diff-module-end-turns default-directory)
    (pcase-let ((`(,offered . ,files) (aqd-pending-choose-first)))
      (should (equal '("g.txt") files))
      (should (equal '("Claude Code, DATE, make it new" "Codex, DATE")
                     (mapcar (lambda (turn)
                               (replace-regexp-in-string "[0-9-]+ [0-9:]+" "DATE" turn))
                             offered))))
    ;; All that is pending is still known.
    (should (equal '("f.txt" "g.txt") (aqd-pending-files)))))

;;;; Renames

(defmacro aqd-pending-renamed (text &rest body)
  "Run BODY in the review after f.txt was renamed to new/h.txt, which holds TEXT."
  (declare (indent 1) (debug t))
  `(aqd-with-repository
     (delete-file (aqd-pending-name "f.txt"))
     (make-directory (aqd-pending-name "new"))
     (aqd-pending-put "new/h.txt" ,text)
     (aqd-with-pending
       ,@body)))

(defun aqd-pending-reviewed-p ()
  "Return non-nil if nothing is pending."
  (null (save-current-buffer (aqd-pending-files))))

(ert-deftest aqd-pending-a-rename-is-one-file-and-can-be-taken-out ()
  (aqd-pending-renamed aqd-pending-written
    (should (= 1 (length (agent-q-diff-change-files agent-q-diff-buffer-change))))
    (should (equal '(nil nil nil) (append agent-q-diff-buffer-marks nil)))
    (should (string-match-p "@@ rename @@" (buffer-string)))
    ;; Keeping a line says nothing about the name.
    (aqd-pending-do #'agent-q-diff-accept-hunk 1)
    (should (equal '(nil nil) (save-current-buffer
                                (aqd-with-pending
                                  (append agent-q-diff-buffer-marks nil))))))
  (aqd-pending-renamed aqd-pending-written
    (should (string-match-p "taken out" (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
    ;; Nor does the folder stay that was made for it.
    (should-not (file-exists-p (aqd-pending-name "new")))
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
    (should (equal '("f.txt") (save-current-buffer (aqd-pending-files))))
    ;; Nothing was lost by that.
    (should-not (aref (agent-q-diff-module-taken-out aqd-pending-root) 2))
    (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
    (should (equal aqd-pending-written (aqd-pending-has "new/h.txt")))
    (should (equal '("new/h.txt") (save-current-buffer (aqd-pending-files))))
    (agent-q-diff-reject-all)
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    (should-not (file-exists-p (aqd-pending-name "new")))
    (should (aqd-pending-reviewed-p))))

(ert-deftest aqd-pending-a-rename-that-is-kept-is-reviewed ()
  (aqd-pending-renamed aqd-pending-written
    (aqd-pending-do #'agent-q-diff-accept-hunk 0)
    (aqd-pending-do #'agent-q-diff-reject-hunk 1)
    (should (equal (aqd-numbered 30 '((27 . "x"))) (aqd-pending-has "new/h.txt")))
    (should (equal '("new/h.txt") (save-current-buffer (aqd-pending-files))))
    (aqd-pending-do #'agent-q-diff-accept-hunk 2)
    (should (aqd-pending-reviewed-p)))
  ;; Without another change.
  (aqd-pending-renamed aqd-pending-text
    (should (equal '(nil) (append agent-q-diff-buffer-marks nil)))
    (agent-q-diff-accept-all)
    (should (aqd-pending-reviewed-p)))
  (aqd-pending-renamed aqd-pending-text
    (agent-q-diff-finish)
    (with-temp-buffer
      (setq default-directory aqd-pending-root)
      (should (string-match-p "1 file is reviewed" (aqd-said (agent-q-diff-mark-reviewed)))))
    (should (aqd-pending-reviewed-p))))

(ert-deftest aqd-pending-the-users-lines-follow-a-rename-and-its-undoing ()
  (aqd-pending-renamed aqd-pending-written
    (agent-q-diff-finish)
    (with-current-buffer (find-file-noselect (aqd-pending-name "new/h.txt"))
      (goto-char (point-max))
      (insert "mine\n")
      (save-buffer)
      (kill-buffer))
    (let ((default-directory aqd-pending-root))
      (aqd-with-pending
        (should (equal '(nil nil nil) (append agent-q-diff-buffer-marks nil)))
        (should-not (string-search "+mine" (buffer-string)))
        (agent-q-diff-reject-all)
        (should (equal (concat aqd-pending-text "mine\n") (aqd-pending-has "f.txt")))
        (should-not (file-exists-p (aqd-pending-name "new/h.txt")))
        (should (aqd-pending-reviewed-p))))))

(ert-deftest aqd-pending-a-rename-is-staged-as-one ()
  (aqd-pending-renamed aqd-pending-written
    (dotimes (hunk 3)
      (aqd-pending-do #'agent-q-diff-accept-hunk hunk))
    (should (string-match-p "2 files" (aqd-said (agent-q-diff-stage))))
    (should (string-match-p "^R[0-9]+\tf\\.txt\tnew/h\\.txt$"
                            (aqd-pending-git "diff" "--cached" "--name-status" "-M")))))

;;;;; The buffer of the old name is still there

(defmacro aqd-pending-renamed-while-visited (text &rest body)
  "Run BODY as in `aqd-pending-renamed' TEXT, where a buffer visited f.txt before.
In BODY, `stale' is that buffer."
  (declare (indent 1) (debug t))
  `(aqd-with-repository
     (let ((stale (find-file-noselect (aqd-pending-name "f.txt"))))
       (with-current-buffer stale
         (goto-char (point-min))
         (forward-line 11)
         (forward-char 2))
       (rename-file (aqd-pending-name "f.txt")
                    (progn (make-directory (aqd-pending-name "new"))
                           (aqd-pending-name "new/h.txt")))
       (aqd-pending-put "new/h.txt" ,text)
       ,@body)))

(defun aqd-pending-visitors (name)
  "Return the buffers that visit the test's file NAME."
  (seq-filter (lambda (buffer)
                (equal (aqd-pending-name name) (buffer-file-name buffer)))
              (buffer-list)))

(defun aqd-pending-check-only-buffer (name text)
  "Check that just one buffer visits NAME, and has TEXT, its file's; return it."
  (let ((buffers (aqd-pending-visitors name)))
    (should (= 1 (length buffers)))
    (with-current-buffer (car buffers)
      (should (equal text (buffer-string)))
      (should-not (buffer-modified-p))
      (should (verify-visited-file-modtime))
      (should-not (agent-q-diff-disk-state (current-buffer))))
    (should (equal text (aqd-pending-has name)))
    (car buffers)))

(ert-deftest aqd-pending-a-rename-is-taken-out-while-only-the-old-file-is-visited ()
  (aqd-pending-renamed-while-visited aqd-pending-text
    (aqd-with-pending
      (should (string-match-p "taken out" (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
      (should (eq stale (aqd-pending-check-only-buffer "f.txt" aqd-pending-text)))
      (with-current-buffer stale
        (should (looking-at-p "ne 12$")))
      (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
      (should (eq stale (aqd-pending-check-only-buffer "new/h.txt" aqd-pending-text)))
      (agent-q-diff-reject-all)
      (should (eq stale (aqd-pending-check-only-buffer "f.txt" aqd-pending-text)))))
  ;; What else is in the file by then.
  (aqd-pending-renamed-while-visited aqd-pending-text
    (aqd-with-pending
      (aqd-pending-put "new/h.txt" (concat aqd-pending-text "more\n"))
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (should (eq stale (aqd-pending-check-only-buffer "f.txt"
                                                       (concat aqd-pending-text "more\n"))))
      (with-current-buffer stale
        (should (looking-at-p "ne 12$"))))))

(ert-deftest aqd-pending-a-rename-is-taken-out-while-both-names-are-visited ()
  (aqd-pending-renamed-while-visited aqd-pending-written
    (switch-to-buffer stale)
    (set-window-dedicated-p nil t)
    (let ((window (selected-window))
          (asked nil))
      (with-current-buffer stale
        (add-hook 'kill-buffer-query-functions (lambda () (setq asked t) nil) nil t))
      (aqd-with-pending
        (agent-q-diff-change-visit agent-q-diff-buffer-change 0)
        (let ((own (agent-q-diff-file-change-buffer
                    (car (agent-q-diff-change-files agent-q-diff-buffer-change)))))
          (aqd-pending-do #'agent-q-diff-reject-hunk 0)
          (should (eq own (aqd-pending-check-only-buffer "f.txt" aqd-pending-written)))
          (should-not (buffer-live-p stale))
          (should-not asked)
          (should (equal "f.txt" (buffer-name own)))
          (should (eq own (window-buffer window)))
          (should (window-dedicated-p window))
          (with-current-buffer own
            (save-excursion
              (goto-char (window-point window))
              (should (looking-at-p "ne 12$"))))
          (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
          (should (eq own (aqd-pending-check-only-buffer "new/h.txt" aqd-pending-written)))
          (agent-q-diff-reject-all)
          (should (eq own (aqd-pending-check-only-buffer "f.txt" aqd-pending-text))))))
    (set-window-dedicated-p nil nil)))

(ert-deftest aqd-pending-a-rename-stays-if-the-old-buffer-has-unsaved-edits ()
  (dolist (text (list aqd-pending-text aqd-pending-written))
    (aqd-pending-renamed-while-visited text
      (with-current-buffer stale
        (insert "typed"))
      (aqd-with-pending
        (should (equal (format "Failed to take the hunk out: the buffer f.txt, which has unsaved \
edits, already visits %s; save it under another name or kill it first"
                               (aqd-pending-name "f.txt"))
                       (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
        (should (equal text (aqd-pending-has "new/h.txt")))
        (should (equal (list stale) (aqd-pending-visitors "f.txt")))
        (should (buffer-modified-p stale))
        (with-current-buffer stale
          (set-buffer-modified-p nil))
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (aqd-pending-check-only-buffer "f.txt" text)))))

(ert-deftest aqd-pending-a-rename-that-fails-leaves-the-old-buffer ()
  (dolist (text (list aqd-pending-text aqd-pending-written))
    (aqd-pending-renamed-while-visited text
      (switch-to-buffer stale)
      (aqd-pending-put "a.txt" "new\n")
      (let ((window (selected-window)))
        (aqd-with-pending
          (dolist (function '(set-visited-file-name rename-file delete-file))
            (ert-info ((symbol-name function) :prefix "fails: ")
              (unless (and (eq function 'set-visited-file-name) (equal text aqd-pending-text))
                (let* ((original (symbol-function function))
                       (n 0))
                  (cl-letf (((symbol-function function)
                             (lambda (name &rest arguments)
                               (if (and (or (not (eq function 'delete-file))
                                            (equal name (aqd-pending-name "a.txt")))
                                        (= 1 (cl-incf n)))
                                   (signal 'file-error (list "No" name))
                                 (apply original name arguments)))))
                    (aqd-said (ignore-errors (agent-q-diff-reject-all)))
                    (should (< 0 n)))))
              (should (equal text (aqd-pending-has "new/h.txt")))
              (should-not (aqd-pending-has "f.txt"))
              (should (equal "new\n" (aqd-pending-has "a.txt")))
              (should (equal (list stale) (aqd-pending-visitors "f.txt")))
              (should (equal "f.txt" (buffer-name stale)))
              (should (eq stale (window-buffer window)))
              (with-current-buffer stale
                (save-excursion
                  (goto-char (window-point window))
                  (should (looking-at-p "ne 12$"))))))
          (agent-q-diff-reject-all)
          (aqd-pending-check-only-buffer "f.txt" aqd-pending-text)
          (should-not (aqd-pending-has "a.txt")))))))

(ert-deftest aqd-pending-a-rename-gives-the-old-name-back-among-namesakes ()
  (aqd-pending-renamed-while-visited aqd-pending-written
    (aqd-pending-put "sub/f.txt" "other\n")
    (let ((other (find-file-noselect (aqd-pending-name "sub/f.txt")))
          (name (buffer-name stale)))
      (aqd-with-pending
        (with-current-buffer stale
          (add-hook 'kill-buffer-hook (lambda () (error "A hook failed")) nil t))
        (let ((at (cl-loop for hunk from 0
                           when (equal '(rename) (agent-q-diff-change-operation-of
                                                  agent-q-diff-buffer-change hunk))
                           return hunk)))
          (aqd-pending-do #'agent-q-diff-reject-hunk at))
        (let ((own (aqd-pending-check-only-buffer "f.txt" aqd-pending-written)))
          (should-not (buffer-live-p stale))
          (should (equal (list name "f.txt<sub>")
                         (list (buffer-name own) (buffer-name other)))))))))

(ert-deftest aqd-pending-a-deletion-is-taken-out-while-its-file-is-visited ()
  (aqd-with-repository
    (let ((buffer (find-file-noselect (aqd-pending-name "f.txt"))))
      (delete-file (aqd-pending-name "f.txt"))
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (should (eq buffer (aqd-pending-check-only-buffer "f.txt" aqd-pending-text)))
        (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
        (should-not (aqd-pending-has "f.txt"))
        (should (buffer-live-p buffer))))))

;;;; All that differs from a commit

(defmacro aqd-pending-with-since (only &rest body)
  "Review what differs from ONLY, and run BODY in the diff buffer."
  (declare (indent 1) (debug t))
  `(let ((review (agent-q-diff-review-changes nil ,only)))
     (with-current-buffer (agent-q-diff-session-buffer review)
       (prog1 (progn ,@body)
         (unless (agent-q-diff-session-outcome review)
           (agent-q-diff-finish))))))

(defun aqd-pending-commit (message)
  "Commit all with MESSAGE, as the user."
  (aqd-pending-git "commit" "-qam" message)
  (agent-q-diff-module-pending default-directory 'user))

(defmacro aqd-pending-after-a-commit (&rest body)
  "Run BODY where line 3 of f.txt was committed, and line 27 is an agent's."
  (declare (indent 0) (debug t))
  `(aqd-with-repository
     (aqd-pending-git "tag" "first")
     (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three"))))
     (aqd-pending-commit "second")
     (aqd-pending-put "f.txt" aqd-pending-written)
     ,@body))

(ert-deftest aqd-pending-since-a-commit-all-is-shown-and-kept-once ()
  (aqd-pending-after-a-commit
    (aqd-pending-with-since "first"
      (should (string-match-p "^# Note: Everything since [0-9a-f]+ first, yours included\\.$"
                              (buffer-string)))
      (should (equal '(nil nil) (append agent-q-diff-buffer-marks nil)))
      (aqd-pending-do #'agent-q-diff-accept-hunk 1)
      (should-not (aqd-pending-files))
      (aqd-pending-do #'agent-q-diff-unapply-hunk 1)
      (should (equal '("f.txt") (aqd-pending-files)))
      (agent-q-diff-undo)
      (should-not (aqd-pending-files)))
    (aqd-pending-with-since "first"
      (should (equal '(nil nil) (append agent-q-diff-buffer-marks nil))))))

(ert-deftest aqd-pending-since-a-commit-taking-out-is-the-users-change ()
  (aqd-pending-after-a-commit
    (aqd-pending-with-since "first"
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (should (equal (aqd-numbered 30 '((27 . "x"))) (aqd-pending-has "f.txt")))
      (cl-flet ((pending ()
                  (save-current-buffer
                    (aqd-with-pending
                      (should (equal '(nil) (append agent-q-diff-buffer-marks nil)))
                      (buffer-string)))))
        (should (string-search "+x" (pending)))
        (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
        (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
        (should-not (string-search "-line 3\n" (pending)))))))

(ert-deftest aqd-pending-since-a-commit-what-is-not-shown-stays-pending ()
  (aqd-with-repository
    (aqd-pending-git "tag" "first")
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "mine"))))
    (aqd-pending-commit "second")
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "agent"))))
    (aqd-pending-with-since "first"
      (agent-q-diff-accept-all))
    (aqd-with-pending
      (should (string-search "-mine\n+agent\n" (buffer-string))))))

(ert-deftest aqd-pending-since-a-commit-files-are-decided-as-a-whole ()
  (aqd-with-repository
    (aqd-pending-git "tag" "first")
    (aqd-pending-put "new.txt" "x\n")
    (aqd-pending-put "binary" "\0x")
    (aqd-pending-git "add" ".")
    (aqd-pending-git "rm" "-q" "f.txt")
    (aqd-pending-commit "second")
    (aqd-pending-put "later.txt" "y\n")
    (aqd-pending-with-since "first"
      (should (= 4 (length (agent-q-diff-change-files agent-q-diff-buffer-change))))
      (should (equal '("later.txt") (aqd-pending-files)))
      (let ((agent-q-diff-display 'announce))
        (cl-letf (((symbol-function 'y-or-n-p) #'always))
          (agent-q-diff-reject-all))))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    (dolist (name '("new.txt" "binary" "later.txt"))
      (should-not (file-exists-p (aqd-pending-name name))))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-a-review-since-a-commit-is-beside-that-of-what-is-pending ()
  (aqd-pending-after-a-commit
    (let ((pending (agent-q-diff-review-changes))
          (since (agent-q-diff-review-changes nil "first")))
      (should-not (agent-q-diff-session-outcome pending))
      ;; Each takes the place of one like it.
      (let ((again (agent-q-diff-review-changes nil "first")))
        (should (agent-q-diff-session-outcome since))
        (should-not (agent-q-diff-session-outcome pending))
        (agent-q-diff-cancel again))
      (agent-q-diff-cancel pending))))

(ert-deftest aqd-pending-since-where-a-branch-was-left ()
  (aqd-pending-after-a-commit
    (aqd-pending-commit "an agent's")
    (aqd-pending-git "checkout" "-qb" "other" "first")
    (aqd-pending-put "g.txt" "g\n")
    (aqd-pending-git "add" "g.txt")
    (aqd-pending-commit "on other")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (pcase-let ((`(,offered . ,files) (aqd-pending-choose-first)))
      (should (string-match-p "\\`where .* was left\\'" (car offered)))
      (should (equal '("f.txt" "g.txt") files)))))

(ert-deftest aqd-pending-since-a-commit-nothing-is-staged ()
  (aqd-pending-after-a-commit
    (let ((agent-q-diff-stage-kept t))
      (aqd-pending-with-since "first"
        (aqd-pending-do #'agent-q-diff-accept-hunk 1)
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (should-error (agent-q-diff-stage) :type 'user-error)))
    (should (equal "" (aqd-pending-git "diff" "--cached")))))

(ert-deftest aqd-pending-since-what-is-no-commit-says-so ()
  (aqd-with-repository
    (dolist (name '("nothing" "--all" ""))
      (should (string-match-p
               (format "there is no commit \"%s\" here" name)
               (cadr (should-error (agent-q-diff-review-changes nil name)
                                   :type 'agent-q-diff-error)))))
    (should (string-match-p "\\`Nothing has changed since HEAD in "
                            (aqd-said (agent-q-diff-review-changes nil "HEAD"))))))

;;;; While an agent works

(defmacro aqd-pending-while-at-work (&rest body)
  "Run BODY in the review of what Codex, still at work, has written into f.txt."
  (declare (indent 0) (debug t))
  `(aqd-with-repository
     (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
     (aqd-pending-put "f.txt" aqd-pending-written)
     (aqd-with-pending
       ,@body)))

(defun aqd-pending-turn-ends ()
  "End the turn, carry out what waits in this buffer, and return what is said."
  (agent-q-diff-module-end-turns default-directory)
  (aqd-said (agent-q-diff-waiting--look (current-buffer))))

(ert-deftest aqd-pending-a-rejection-waits-until-the-agent-has-ended ()
  (aqd-pending-while-at-work
    (should (string-match-p "Hunk 2 is taken out when Codex ends its turn"
                            (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
    (should (equal '("[PENDING, will be taken out]") (mapcar #'cdr (aqd-pending-signs))))
    (agent-q-diff-waiting--look (current-buffer))
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
    (should (string-match-p "The turn has ended: 1 hunk was taken out"
                            (aqd-pending-turn-ends)))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))))

(defmacro aqd-pending-storing (&rest body)
  "Run BODY, and return how often files were stored before something was taken out."
  (declare (debug t))
  `(let ((n 0))
     (cl-flet ((count (&rest _) (cl-incf n)))
       (advice-add 'agent-q-diff-reviewed-prepare :before #'count)
       (unwind-protect (progn ,@body)
         (advice-remove 'agent-q-diff-reviewed-prepare #'count)))
     n))

(ert-deftest aqd-pending-all-that-waits-in-a-file-is-taken-out-at-once ()
  (aqd-pending-while-at-work
    (dotimes (hunk 2)
      (aqd-pending-do #'agent-q-diff-reject-hunk hunk))
    (should (= 1 (aqd-pending-storing
                  (should (string-match-p "The turn has ended: 2 hunks were taken out"
                                          (aqd-pending-turn-ends))))))
    (should (equal '(rejected rejected) (append agent-q-diff-buffer-marks nil)))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    ;; It is one decision.
    (agent-q-diff-undo)
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))))

(ert-deftest aqd-pending-all-that-is-in-a-region-is-decided-at-once ()
  (pcase-dolist (`(,command ,n ,said ,left)
                 `((agent-q-diff-reject-hunk 1 "2 hunks taken out" ,aqd-pending-text)
                   (agent-q-diff-accept-hunk 0 "2 hunks kept" ,aqd-pending-written)))
    (aqd-with-repository
      (aqd-pending-put "f.txt" aqd-pending-written)
      (aqd-with-pending
        (let ((transient-mark-mode t))
          (goto-char (point-max))
          (push-mark (point-min) t t)
          (should (= n (aqd-pending-storing
                        (should (string-prefix-p said (aqd-said (funcall command))))))))
        (agent-q-diff-undo)
        (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
        (should (equal '(nil nil) (append agent-q-diff-buffer-marks nil)))
        (agent-q-diff-redo))
      (should (equal left (aqd-pending-has "f.txt")))
      (should-not (aqd-pending-files)))))

(defun aqd-pending-commit-too (name)
  "Have the user commit `aqd-pending-text' as the file NAME, too."
  (aqd-pending-put name aqd-pending-text)
  (aqd-pending-git "add" name)
  (aqd-pending-git "commit" "-qm" name)
  (cl-letf (((symbol-function 'y-or-n-p) #'always))
    (should-not (agent-q-diff-review-changes))))

;; The third hunk is in a file of its own.
(defmacro aqd-pending-with-decided (&rest body)
  "Run BODY in a review of three hunks: one is kept, one taken out, one pending."
  (declare (indent 0) (debug t))
  `(aqd-with-repository
     (aqd-pending-commit-too "g.txt")
     (aqd-pending-put "f.txt" aqd-pending-written)
     (aqd-pending-put "g.txt" (concat aqd-pending-text "more\n"))
     (aqd-with-pending
       (aqd-pending-do #'agent-q-diff-accept-hunk 0)
       (aqd-pending-do #'agent-q-diff-reject-hunk 1)
       (should (equal '(applied rejected nil) (append agent-q-diff-buffer-marks nil)))
       ,@body)))

(ert-deftest aqd-pending-a-region-with-decided-hunks-is-one-decision-too ()
  (pcase-dolist (`(,command ,n ,said ,marks ,f)
                 `((agent-q-diff-accept-hunk 1 "2 hunks kept; nothing is pending"
                    (applied applied applied) ,aqd-pending-written)
                   (agent-q-diff-reject-hunk 1 "2 hunks taken out; nothing is pending"
                    (rejected rejected rejected) ,aqd-pending-text)
                   (agent-q-diff-unapply-hunk 1 "2 hunks pending; 0 of 3 decided"
                    (nil nil nil) ,aqd-pending-written)))
    (aqd-pending-with-decided
      (let ((n-decisions (agent-q-diff-module-n-decisions
                          (agent-q-diff-change-engine agent-q-diff-buffer-change))))
        (should (= n (aqd-pending-storing
                      (should (string-prefix-p said (aqd-do-all command))))))
        (should (equal marks (append agent-q-diff-buffer-marks nil)))
        (should (equal f (aqd-pending-has "f.txt")))
        (should (= (1+ n-decisions)
                   (agent-q-diff-module-n-decisions
                    (agent-q-diff-change-engine agent-q-diff-buffer-change)))))
      ;; The same once more changes nothing.
      (should (string-match-p "\\`3 hunks already \\(kept\\|taken out\\|pending\\); "
                              (aqd-do-all command)))
      (should (equal marks (append agent-q-diff-buffer-marks nil)))
      (agent-q-diff-undo)
      (should (equal '(applied rejected nil) (append agent-q-diff-buffer-marks nil)))
      (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))
      (should (equal (concat aqd-pending-text "more\n") (aqd-pending-has "g.txt"))))))

(ert-deftest aqd-pending-what-a-region-cannot-take-out-stays-decided ()
  (aqd-with-repository
    (aqd-pending-turn "Codex" aqd-pending-written)
    (aqd-pending-user-edits (aqd-numbered 30 '((3 . "three, and mine") (27 . "x"))))
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (aqd-pending-do #'agent-q-diff-accept-hunk 1)
      (should (string-prefix-p "1 hunk taken out; 1 not: hunk 1, it has lines of yours; "
                               (aqd-do-all #'agent-q-diff-reject-hunk)))
      (should (= 0 (agent-q-diff-buffer-hunk-here)))
      (should (equal '(applied rejected) (append agent-q-diff-buffer-marks nil))))
    (should (equal (aqd-numbered 30 '((3 . "three, and mine"))) (aqd-pending-has "f.txt")))))

(ert-deftest aqd-pending-what-a-region-cannot-put-back-stays-decided ()
  (let ((written '((3 . "three") (5 . "five") (27 . "x"))))
    (aqd-with-repository
      (aqd-pending-put "f.txt" (aqd-numbered 30 written))
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (aqd-pending-put "f.txt" (aqd-numbered 30 (remove '(5 . "five") written)))
        (should (string-prefix-p
                 "1 hunk kept; 1 not: hunk 1, only a part of it is in the file now; "
                 (aqd-do-all #'agent-q-diff-accept-hunk)))
        (should (equal '(rejected applied) (append agent-q-diff-buffer-marks nil)))))))

(ert-deftest aqd-pending-a-quit-leaves-a-region-as-it-was ()
  (dolist (nth '(1 2))
    (aqd-pending-with-decided
      (aqd-do-all #'agent-q-diff-accept-hunk)
      (let* ((engine (agent-q-diff-change-engine agent-q-diff-buffer-change))
             (n-decisions (agent-q-diff-module-n-decisions engine))
             (n 0)
             (quit (lambda (&rest _)
                     (when (= nth (cl-incf n))
                       (signal 'quit nil)))))
        (advice-add 'agent-q-diff-file-change-edit :before quit)
        (unwind-protect
            (should (eq 'quit (condition-case nil
                                  (aqd-do-all #'agent-q-diff-reject-hunk)
                                (quit 'quit))))
          (advice-remove 'agent-q-diff-file-change-edit quit))
        (should (= nth n))
        (should (equal '(applied applied applied) (agent-q-diff-module-marks engine)))
        (should (= n-decisions (agent-q-diff-module-n-decisions engine))))
      (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
      (should (equal (concat aqd-pending-text "more\n") (aqd-pending-has "g.txt")))
      (aqd-do-all #'agent-q-diff-reject-hunk)
      (should (equal aqd-pending-text (aqd-pending-has "f.txt"))))))

(ert-deftest aqd-pending-a-region-keeps-without-visiting-files ()
  (aqd-pending-with-decided
    (aqd-do-all #'agent-q-diff-accept-hunk)
    (should-not (get-file-buffer (aqd-pending-name "g.txt")))
    (aqd-do-all #'agent-q-diff-unapply-hunk)
    (should-not (get-file-buffer (aqd-pending-name "g.txt")))
    ;; What is not there any more is not kept.
    (aqd-pending-put "g.txt" aqd-pending-text)
    (should (string-prefix-p "2 hunks kept; 1 not: hunk 1 of g.txt, it is not in the file any more"
                             (aqd-do-all #'agent-q-diff-accept-hunk)))))

(ert-deftest aqd-pending-what-a-region-takes-out-of-unsaved-buffers-is-said ()
  (aqd-with-repository
    (aqd-pending-commit-too "g.txt")
    (dolist (name '("f.txt" "g.txt"))
      (aqd-pending-put name aqd-pending-written))
    (let ((buffers (mapcar (lambda (name) (find-file-noselect (aqd-pending-name name)))
                           '("f.txt" "g.txt"))))
      (unwind-protect
          (aqd-with-pending
            (with-current-buffer (car buffers)
              (goto-char (point-max))
              (insert "mine\n"))
            (should (string-prefix-p
                     "4 hunks taken out; not saved, since f.txt has unsaved edits; "
                     (aqd-do-all #'agent-q-diff-reject-hunk)))
            (agent-q-diff-undo)
            (with-current-buffer (cadr buffers)
              (goto-char (point-max))
              (insert "mine\n"))
            (should (string-prefix-p
                     "4 hunks taken out; 2 files are not saved, since they have unsaved edits; "
                     (aqd-do-all #'agent-q-diff-reject-hunk))))
        (dolist (buffer buffers)
          (with-current-buffer buffer
            (set-buffer-modified-p nil))
          (kill-buffer buffer))))))

(ert-deftest aqd-pending-a-rejection-waits-in-a-review-that-is-looked-at-again ()
  (aqd-pending-while-at-work
    (agent-q-diff-finish)
    (with-current-buffer (agent-q-diff-look-again)
      (should (string-match-p "Hunk 1 is taken out when Codex ends its turn"
                              (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
      (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
      (agent-q-diff-finish))))

(ert-deftest aqd-pending-what-was-taken-out-of-a-buffer-with-unsaved-edits-is-not-saved ()
  (aqd-pending-while-at-work
    (let ((buffer (find-file-noselect (aqd-pending-name "f.txt"))))
      (unwind-protect
          (progn
            (with-current-buffer buffer
              (goto-char (point-max))
              (insert "mine\n"))
            (aqd-pending-do #'agent-q-diff-reject-hunk 1)
            (should (string-match-p "1 hunk was taken out; not saved: f\\.txt"
                                    (aqd-pending-turn-ends)))
            (should (equal aqd-pending-written (aqd-pending-has "f.txt"))))
        (with-current-buffer buffer
          (set-buffer-modified-p nil))
        (kill-buffer buffer)))))

(ert-deftest aqd-pending-the-same-key-again-takes-out-at-once ()
  (aqd-pending-while-at-work
    (aqd-pending-do #'agent-q-diff-reject-hunk 1)
    (should (string-match-p "taken out" (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))))

(ert-deftest aqd-pending-what-waits-can-be-kept-or-stay ()
  (aqd-pending-while-at-work
    (should (string-match-p "2 hunks are taken out when Codex ends its turn"
                            (aqd-said (agent-q-diff-reject-all))))
    (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
    (aqd-pending-do #'agent-q-diff-accept-hunk 1)
    (should (string-match-p "0 hunks were taken out" (aqd-pending-turn-ends)))
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))))

(ert-deftest aqd-pending-what-the-agent-wrote-again-is-not-taken-out ()
  (aqd-pending-while-at-work
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (aqd-pending-put "f.txt" (string-replace "three" "THREE" aqd-pending-written))
    (should (string-match-p "not taken out: hunk 1" (aqd-pending-turn-ends)))
    (should (string-search "THREE" (aqd-pending-has "f.txt")))))

;;;; What outlives the review

(defun aqd-pending-comment (hunk text)
  "Comment HUNK of this buffer with TEXT, as by keys."
  (agent-q-diff-comment-hunk text hunk)
  (run-hooks 'post-command-hook))

(ert-deftest aqd-pending-comments-and-what-waits-outlive-the-review ()
  (aqd-with-repository
    (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (aqd-pending-comment 0 "why \"three\"?"))
    ;; Lines above it do not matter.
    (aqd-pending-put "f.txt" (string-replace "line 15\n" "line 15\nnew\n" aqd-pending-written))
    (aqd-with-pending
      (should (equal '("[PENDING, will be taken out]") (mapcar #'cdr (aqd-pending-signs))))
      (should-not (agent-q-diff-change-comments agent-q-diff-buffer-change))
      (should (equal '("why \"three\"?")
                     (mapcar #'agent-q-diff-comment-text
                             (agent-q-diff-module-comments default-directory nil))))
      (should (string-match-p "The turn has ended: 1 hunk was taken out"
                              (aqd-pending-turn-ends)))
      (should (equal (string-replace "line 15\n" "line 15\nnew\n"
                                     (aqd-numbered 30 '((3 . "three"))))
                     (aqd-pending-has "f.txt")))
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (run-hooks 'post-command-hook))
    (should-not (agent-q-diff-module-noted-hunks default-directory))))

(ert-deftest aqd-pending-comments-in-older-records-become-comments-on-lines-once ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (let ((key (aqd-with-pending (agent-q-diff-round-key agent-q-diff-buffer-change 1))))
      (agent-q-diff-module-note-hunks
       default-directory
       `(("f.txt" ["0-1-2-0" "gone" nil] [,key "why?" nil]) ("" ["" "slowly" nil]))))
    (dotimes (_ 2)
      (save-current-buffer
        (aqd-with-pending
          (should-not (agent-q-diff-change-comments agent-q-diff-buffer-change))
          (should (string-search " · commented" (format "%s" header-line-format)))))
      (should-not (agent-q-diff-module-noted-hunks default-directory))
      (should (equal '(("" nil "slowly") ("f.txt" nil "gone") ("f.txt" 26 "why?"))
                     (aqd-pending-said))))))

(defun aqd-pending-said ()
  "Return (PATH LINE TEXT) of each comment of the test's repository."
  (mapcar (lambda (one)
            (list (agent-q-diff-comment-path one) (agent-q-diff-comment-line one)
                  (agent-q-diff-comment-text one)))
          (agent-q-diff-module-comments aqd-pending-root nil)))

(defun aqd-pending-blocks (&rest changed)
  "Return three equal blocks of lines, with a new line in those that are CHANGED."
  (mapconcat (lambda (block)
               (aqd-numbered 9 (and (memql block changed) '((5 . "new")))))
             '(1 2 3) ""))

(defmacro aqd-pending-with-blocks (&rest body)
  "Run BODY in a repository where Codex, at work, changes blocks 1 and 3 of f.txt."
  (declare (indent 0) (debug t))
  `(aqd-with-repository
     (aqd-pending-put "f.txt" (aqd-pending-blocks))
     (agent-q-diff-mark-reviewed)
     (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
     (aqd-pending-put "f.txt" (aqd-pending-blocks 1 3))
     ,@body))

(ert-deftest aqd-pending-of-equal-hunks-the-right-one-waits ()
  (aqd-pending-with-blocks
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (aqd-pending-comment 1 "why?"))
    (aqd-with-pending
      (should (equal '((1 . "why?"))
                     (agent-q-diff-change-comments agent-q-diff-buffer-change)))
      (should (string-match-p "1 hunk was taken out" (aqd-pending-turn-ends)))
      (should (equal (aqd-pending-blocks 1) (aqd-pending-has "f.txt")))))
  ;; Also if there is another one now.
  (aqd-pending-with-blocks
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (run-hooks 'post-command-hook))
    (aqd-pending-put "f.txt" (aqd-pending-blocks 1 2 3))
    (aqd-with-pending
      (should (string-match-p "1 hunk was taken out" (aqd-pending-turn-ends)))
      (should (equal (aqd-pending-blocks 1 2) (aqd-pending-has "f.txt")))))
  ;; But not if the lines above and below were reviewed anew, so that its place is not known.
  (aqd-pending-with-blocks
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (run-hooks 'post-command-hook))
    (pcase-let ((`((,path [,key ,comment ,waits]))
                 (agent-q-diff-module-noted-hunks default-directory)))
      (agent-q-diff-module-note-hunks
       default-directory
       `((,path [,(replace-regexp-in-string "-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+\\'" "-1-1-0" key)
                 ,comment ,waits]))))
    (aqd-with-pending
      (should (string-search "I rejected one of several equal changes"
                             (mapconcat #'cdr (aqd-pending-signs) "")))
      (should (string-search "that you took out may be any of several equal ones"
                             (buffer-string))))))

(ert-deftest aqd-pending-what-was-reviewed-meanwhile-is-not-taken-out ()
  (aqd-pending-while-at-work
    (aqd-pending-do #'agent-q-diff-reject-hunk 1)
    (agent-q-diff-module-mark-reviewed default-directory '("f.txt"))
    (should (string-match-p "0 hunks were taken out; not taken out: hunk 2, since something was"
                            (aqd-pending-turn-ends)))
    (should (equal aqd-pending-written (aqd-pending-has "f.txt"))))
  ;; Nor are the same lines when they come again.
  (aqd-with-repository
    (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (run-hooks 'post-command-hook))
    (agent-q-diff-mark-reviewed)
    (should-not (aqd-pending-files))
    (should-not (agent-q-diff-module-noted-hunks default-directory))))

(ert-deftest aqd-pending-what-was-decided-does-not-wait-any-more ()
  (aqd-pending-while-at-work
    (aqd-pending-do #'agent-q-diff-reject-hunk 1)
    (aqd-pending-do #'agent-q-diff-accept-hunk 1)
    (should (string-match-p "Hunk 2 pending" (aqd-pending-do #'agent-q-diff-unapply-hunk 1)))
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (should (string-match-p "Hunk 1 put back" (aqd-pending-do #'agent-q-diff-unapply-hunk 0)))
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))))

(ert-deftest aqd-pending-notes-of-a-review-that-is-looked-at-again-last ()
  (aqd-with-repository
    (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (run-hooks 'post-command-hook))
    (save-current-buffer
      (with-current-buffer (agent-q-diff-look-again)
        (should (equal '("[PENDING, will be taken out]") (mapcar #'cdr (aqd-pending-signs))))
        (should (string-match-p "It stays" (aqd-pending-do #'agent-q-diff-unapply-hunk 0)))
        (aqd-pending-comment 1 "why?")
        (agent-q-diff-finish)))
    (let ((default-directory aqd-pending-root))
      (aqd-with-pending
        (should-not (aqd-pending-signs))
        (should (equal '(("f.txt" 26 "why?")) (aqd-pending-said)))))))

(ert-deftest aqd-pending-a-comment-on-the-whole-is-there-until-it-is-told ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (cl-flet ((should-say (text)
                (save-current-buffer
                  (aqd-with-pending
                    (should (equal text (agent-q-diff-change-users-comment
                                        agent-q-diff-buffer-change nil)))
                    (should (eq (and text t)
                                (and (string-search " · commented" (format "%s" header-line-format)) t)))))))
      (aqd-with-pending
        (agent-q-diff-comment "fast")
        (agent-q-diff-comment "slowly")
        (should (equal '(("" nil "slowly")) (aqd-pending-said)))
        ;; Another review takes its place.
        (agent-q-diff-review-changes))
      (should-say "slowly")
      (agent-q-diff-told-take default-directory)
      (should-say nil)
      (aqd-with-pending
        (agent-q-diff-comment "now")
        (agent-q-diff-comment ""))
      (should-say nil)
      (should (equal '(("" nil "slowly")) (aqd-pending-said))))))

(ert-deftest aqd-pending-comments-that-a-program-was-told-are-not-told-again ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (let* ((root default-directory)
           (message nil)
           (review (nth 1 (agent-q-diff-changes-begin
                           root nil
                           (lambda (result) (setq message (plist-get result :message)))
                           t))))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (aqd-pending-comment 0 "why?")
        (agent-q-diff-finish))
      (should (string-search "The user says of hunk 1: why?" message))
      (should-not (string-search "why?" message (+ 4 (string-search "why?" message))))
      (should-not (agent-q-diff-told--untold-messages root))
      (should (equal '(sent) (mapcar #'agent-q-diff-comment-state
                                     (agent-q-diff-module-comments root nil)))))))

(ert-deftest aqd-pending-a-note-that-cannot-be-stored-is-said-once-and-stays ()
  (aqd-pending-while-at-work
    (cl-letf (((symbol-function 'agent-q-diff-module-note-hunks)
               (lambda (&rest _) (signal 'agent-q-diff-bad-target '("the disk is full")))))
      (should (string-match-p "What you noted of hunks is only in this Emacs: the disk is full"
                              (aqd-said (aqd-pending-do #'agent-q-diff-reject-hunk 0)
                                        (run-hooks 'post-command-hook))))
      (should-not (string-search "only in this Emacs"
                                 (or (aqd-said (run-hooks 'post-command-hook)) "")))
      ;; A review that would take its place has no way to know it.
      (should-error (agent-q-diff-changes-begin default-directory nil)
                    :type 'agent-q-diff-bad-target)
      (should-not (agent-q-diff-session-outcome review)))
    (run-hooks 'post-command-hook)
    (should (agent-q-diff-module-noted-hunks default-directory))))

;;;; What was decided before it was written

(ert-deftest aqd-pending-what-was-accepted-before-it-is-not-asked-again ()
  (aqd-with-repository
    ;; As in an Emacs that only serves.
    (aqd-pending-begin-record)
    (let ((review (agent-q-diff-review "f.txt" aqd-pending-text aqd-pending-written
                                       "" #'ignore)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (aqd-pending-do #'agent-q-diff-accept-hunk 0)
        (agent-q-diff-finish)))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))
    ;; Also files that are made, deleted or renamed, and what is written beside.
    (aqd-pending-put "f.txt" aqd-pending-written)
    (let ((review (agent-q-diff-review-change
                   '((:path "new.txt" :content "x\n") (:path "f.txt" :to "moved.txt"))
                   "" #'ignore)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (agent-q-diff-accept-all)))
    (should (equal "x\n" (aqd-pending-has "new.txt")))
    (should (equal '("moved.txt") (aqd-pending-files)))
    (aqd-with-pending
      (should (equal '(nil) (append agent-q-diff-buffer-marks nil)))
      (should (string-search "+x" (buffer-string))))
    (let ((review (agent-q-diff-review-change '((:path "moved.txt" :delete t)) "" #'ignore)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (agent-q-diff-accept-all)))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-the-first-decision-before-the-write-begins-a-record ()
  ;; With MCP alone, no hook begins one.
  (aqd-with-repository
    (delete-directory ".git/agent-q-diff" t)
    (let ((review (agent-q-diff-review "f.txt" aqd-pending-text aqd-pending-written
                                       "" #'ignore)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (aqd-pending-do #'agent-q-diff-accept-hunk 0)
        (should (file-exists-p ".git/agent-q-diff/record"))
        (agent-q-diff-finish)))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-all-files-of-a-decision-are-stored-in-one-call ()
  (aqd-with-repository
    (let* ((n 0)
           (count (lambda (&rest _) (cl-incf n)))
           (review (agent-q-diff-review-change
                    '((:path "x" :content "x\n") (:path "y" :content "y\n")) "" #'ignore)))
      (dolist (function '(agent-q-diff-module-watch agent-q-diff-module-prepare
                          agent-q-diff-module-recorded-root))
        (advice-add function :before count))
      (unwind-protect
          (with-current-buffer (agent-q-diff-session-buffer review)
            (agent-q-diff-accept-all))
        (dolist (function '(agent-q-diff-module-watch agent-q-diff-module-prepare
                            agent-q-diff-module-recorded-root))
          (advice-remove function count)))
      (should (= 1 n)))
    (should (equal "y\n" (aqd-pending-has "y")))
    (should-not (aqd-pending-files))))

;;;; Without git

(ert-deftest aqd-pending-a-folder-without-git-is-a-project-if-the-user-says-so ()
  (aqd-with-folder-without-git
    (make-directory "sub")
    (aqd-pending-put "sub/g.txt" "g\n")
    (should-error (aqd-pending-begin nil) :type 'user-error)
    (should-error (agent-q-diff-review-changes) :type 'agent-q-diff-no-repository)
    (should-error (agent-q-diff-mark-reviewed) :type 'agent-q-diff-no-repository)
    (should-not (directory-files aqd-pending-state nil "agent"))
    (pcase-let ((`(,question . ,said) (aqd-pending-begin t)))
      (should (equal (concat "There is no git repository here.  Take the 2 files in "
                             aqd-pending-root
                             " as reviewed, and show what changes from now on? ")
                     question))
      (should (string-match-p "Nothing is pending in " said)))
    (let ((default-directory (aqd-pending-name "sub/")))
      (aqd-pending-put "new.txt" "new\n")
      (should-not (car (aqd-pending-begin nil)))
      (should (equal '("new.txt") (aqd-pending-files))))))

(ert-deftest aqd-pending-the-project-that-project-el-knows-is-begun ()
  (aqd-with-folder-without-git
    (make-directory "sub")
    (let ((default-directory (aqd-pending-name "sub/"))
          (project-find-functions (list (lambda (_)
                                          (cons 'transient aqd-pending-root)))))
      (should (string-search (format "the 1 file in %s as" aqd-pending-root)
                             (car (aqd-pending-begin t)))))
    (aqd-pending-put "f.txt" aqd-pending-written)
    (should (equal '("f.txt") (aqd-pending-files)))))

(ert-deftest aqd-pending-the-home-directory-is-never-a-project ()
  (aqd-with-folder-without-git
    (let ((default-directory "/"))
      (should (string-search "/ is too much for one project"
                             (agent-q-diff-error-text
                              (should-error (aqd-pending-begin t))))))))

(ert-deftest aqd-pending-without-git-hunks-are-kept-and-taken-out ()
  (aqd-with-plain-project
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "new.txt" "new\n")
    (should (equal " [2 files, 3 hunks unreviewed]" (aqd-pending-amount)))
    (let ((agent-q-diff-stage-kept t))
      (aqd-with-pending
        (should-not (aqd-warned
                      (should (string-match-p
                               "kept" (aqd-pending-do #'agent-q-diff-accept-hunk 0)))))
        (should (string-match-p "taken out" (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
        (should (string-match-p "there is no git repository"
                                (aqd-said (agent-q-diff-stage))))))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))
    (should (equal '("new.txt") (aqd-pending-files)))
    (should (string-match-p "1 file is reviewed as it is"
                            (aqd-said (agent-q-diff-mark-reviewed))))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-without-git-what-is-deleted-comes-back ()
  (aqd-with-plain-project
    (delete-file "f.txt")
    (aqd-with-pending
      (agent-q-diff-reject-all t))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-without-git-what-the-user-saves-is-reviewed ()
  (aqd-with-plain-project
    (dolist (name '("f.txt" "sub/new.txt" ".hidden"))
      (make-directory (file-name-directory (aqd-pending-name name)) t)
      (with-current-buffer (find-file-noselect (aqd-pending-name name))
        (goto-char (point-max))
        (insert "mine\n")
        (save-buffer)
        (kill-buffer)))
    (should-not (aqd-pending-files))
    (aqd-pending-put "sub/new.txt" "")
    (should (equal '("sub/new.txt") (aqd-pending-files)))))

(ert-deftest aqd-pending-without-git-what-was-accepted-before-the-write-is-reviewed ()
  (aqd-with-plain-project
    (let ((review (agent-q-diff-review "f.txt" aqd-pending-text aqd-pending-written
                                       "" #'ignore)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (agent-q-diff-accept-all)))
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-pending-without-git-a-rejection-waits-for-the-agent ()
  (aqd-with-plain-project
    (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (should (string-match-p "Hunk 2 is taken out when Codex ends its turn"
                              (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
      (should (string-match-p "1 hunk was taken out" (aqd-pending-turn-ends))))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))))

(ert-deftest aqd-pending-a-save-elsewhere-looks-at-no-folder-above ()
  (aqd-with-plain-project
    (with-temp-buffer
      (setq default-directory temporary-file-directory)
      (should-not (agent-q-diff-reviewed-root))
      (cl-letf (((symbol-function 'locate-dominating-file) #'aqd-fail)
                ((symbol-function 'directory-files) #'aqd-fail))
        (should-not (agent-q-diff-reviewed-root))))
    ;; What is known of all projects is read once.
    (cl-letf (((symbol-function 'directory-files) #'aqd-fail))
      (should (equal aqd-pending-root
                     (agent-q-diff-reviewed-root-of (aqd-pending-name "sub/")))))
    (make-directory "repository/.git" t)
    (should-not (agent-q-diff-reviewed-root-of (aqd-pending-name "repository/")))))

(ert-deftest aqd-pending-another-emacs-knows-a-project-without-git ()
  (aqd-with-plain-project
    (should (string-suffix-p
             aqd-pending-root
             (aqd-in-fresh-emacs
              `(progn
                 (require 'agent-q-diff-reviewed)
                 (agent-q-diff-reviewed-root-of ,(aqd-pending-name "sub/"))))))))

(ert-deftest aqd-pending-a-project-that-becomes-a-repository-goes-on ()
  (aqd-with-plain-project
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-git "init" "-q")
    (should (equal aqd-pending-root (agent-q-diff-reviewed-root-of aqd-pending-root)))
    (aqd-pending-git "add" ".")
    (aqd-pending-git "commit" "-qm" "an agent's")
    (should (string-match-p "an agent.s has changes of f.txt " (car (aqd-pending-begin nil))))
    (should (equal '("f.txt") (aqd-pending-files)))))

(ert-deftest aqd-pending-what-is-no-text-is-named-or-counted ()
  (should (equal "Not looked at: a (no text), b (over 8 MB)"
                 (agent-q-diff-changes--left-out-note '(("a" . [no-text]) ("b" . [large])))))
  (should (equal "Not looked at: b (a repository of its own), a and 3 more (no text)"
                 (agent-q-diff-changes--left-out-note
                  '(("b" . [repository]) ("a" . [no-text]) ("c" . [no-text])
                    ("d" . [no-text]) ("e" . [no-text])))))
  (should (equal "Not looked at: b (what it held before is not known), c (9 new files)"
                 (agent-q-diff-changes--left-out-note
                  '("The record" ("b" . [unknown]) ("c" . [many 9]))))))

(defun aqd-pending-add-submodule (name)
  "Add the submodule NAME, with a file f.txt, to the project, and commit it."
  (let ((other (make-temp-file "aqd" t)))
    (unwind-protect
        (progn
          (let ((aqd-pending-root (file-name-as-directory other)))
            (aqd-pending-git "init" "-q")
            (aqd-put-bytes aqd-pending-text (expand-file-name "f.txt" other))
            (aqd-pending-git "add" ".")
            (aqd-pending-git "commit" "-qm" "first"))
          (aqd-pending-git "-c" "protocol.file.allow=always" "submodule" "-q" "add" other name)
          (aqd-pending-git "commit" "-qm" "a submodule"))
      (delete-directory other t))))

(defun aqd-pending-review-submodule ()
  "Begin the review of a submodule from a buffer of the project, and return it."
  (with-temp-buffer
    (setq default-directory aqd-pending-root)
    (save-window-excursion
      (call-interactively #'agent-q-diff-review-submodule))))

(ert-deftest aqd-pending-a-submodule-with-changes-is-said-first-and-reviewed-by-one-command ()
  (aqd-with-repository
    (aqd-pending-add-submodule "lib")
    (aqd-pending-begin t)
    (should-error (aqd-pending-review-submodule) :type 'user-error)
    (aqd-pending-put "lib/f.txt" aqd-pending-written)
    (let ((note "Submodule lib has changes of its own; M-x agent-q-diff-review-submodule"))
      (agent-q-diff-pending-look-and-note default-directory)
      (should (equal "1 submodule" (agent-q-diff-pending-amount aqd-pending-root)))
      (should (string-prefix-p (concat note "; nothing else is pending in ")
                               (aqd-said (agent-q-diff-review-changes))))
      (aqd-pending-put "f.txt" aqd-pending-written)
      (agent-q-diff-pending-look-and-note default-directory)
      (should (equal "1 file, 1 submodule" (agent-q-diff-pending-amount aqd-pending-root)))
      (aqd-with-pending
        (goto-char (point-min))
        (should (looking-at (concat "# Note: " note "$")))))
    (let ((review (aqd-pending-review-submodule)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (should (= 2 (length agent-q-diff-buffer-marks)))
        (agent-q-diff-accept-all))
      (unless (agent-q-diff-session-outcome review)
        (agent-q-diff-end review)))
    (should-error (aqd-pending-review-submodule) :type 'user-error)))

(ert-deftest aqd-pending-a-submodule-at-another-commit-is-said-and-all-since-it-is-shown ()
  (aqd-with-repository
    (aqd-pending-add-submodule "lib")
    (aqd-pending-add-submodule "other")
    (aqd-pending-begin t)
    (aqd-pending-put "lib/f.txt" aqd-pending-written)
    (let ((aqd-pending-root (aqd-pending-name "lib/")))
      (aqd-pending-git "commit" "-qam" "an agent's"))
    (should (string-match-p
             "\\`Submodule lib is at another commit ([0-9a-f]\\{7\\} -> [0-9a-f]\\{7\\}); M-x"
             (aqd-said (agent-q-diff-review-changes))))
    (let ((review (aqd-pending-review-submodule)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (should (= 2 (length agent-q-diff-buffer-marks))))
      (agent-q-diff-end review))
    ;; Of several, one is chosen.
    (aqd-pending-put "other/f.txt" aqd-pending-written)
    (let ((review (cl-letf (((symbol-function 'completing-read)
                             (lambda (_ names &rest _)
                               (should (equal '("lib" "other") names))
                               "other")))
                    (aqd-pending-review-submodule))))
      (should (equal (aqd-pending-name "other/") (agent-q-diff-session-directory review)))
      (agent-q-diff-end review))
    ;; What an agent commits around it is said, too, until that is marked as reviewed.
    (aqd-pending-git "commit" "-qam" "an agent's")
    (agent-q-diff-engine-call #'agent-q-diff-module-pending aqd-pending-root 'agent)
    (should (string-match-p "\\`Submodule lib is at another commit "
                            (aqd-said (agent-q-diff-review-changes))))
    (should (equal "what was written for git is known" (aqd-said (agent-q-diff-mark-reviewed))))
    (should (string-prefix-p "Submodule other has changes of its own; M-x"
                             (aqd-said (agent-q-diff-review-changes))))
    (delete-file "lib/.git")
    (should (string-match-p "\\`Submodule .*lib cannot be looked at: its \\.git is gone\\'"
                            (cadr (should-error (agent-q-diff-review-submodule
                                                 (aqd-pending-name "lib/"))
                                                :type 'user-error))))
    (delete-directory "lib" t)
    (should (string-match-p "\\`Submodule lib is gone, at commit [0-9a-f]\\{7\\} before; "
                            (aqd-said (agent-q-diff-review-changes))))
    (should-error (agent-q-diff-review-submodule (aqd-pending-name "lib/")) :type 'user-error)))

(ert-deftest aqd-pending-nothing-is-written-into-a-file-with-a-filter-of-the-repository ()
  (aqd-with-repository
    (dolist (key '("clean" "smudge"))
      (aqd-pending-git "config" (concat "filter.rot." key) "tr a-z n-za-m"))
    (agent-q-diff-module-know default-directory)
    (aqd-pending-put ".gitattributes" "*.key filter=rot\n")
    (aqd-pending-put "a.key" "one\n")
    (aqd-pending-git "add" ".")
    (aqd-pending-git "commit" "-qm" "a key")
    (aqd-pending-begin t)
    (aqd-pending-put "a.key" "an agent's\n")
    (let ((note "Not looked at: a.key (its filter rot, which the repository itself defines, \
is not run)"))
      (should (string-prefix-p (concat note "; nothing else is pending in ")
                               (aqd-said (agent-q-diff-review-changes))))
      (should (string-prefix-p (concat note "; nothing else has changed since HEAD")
                               (aqd-said (agent-q-diff-review-changes nil "HEAD"))))
      (aqd-pending-put "f.txt" aqd-pending-written)
      (aqd-with-pending
        (goto-char (point-min))
        (should (search-forward note nil t))
        (agent-q-diff-reject-all)))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    (should (equal "an agent's\n" (aqd-pending-has "a.key")))))

(ert-deftest aqd-pending-a-file-that-was-left-out-is-marked-reviewed-in-its-buffer ()
  (aqd-with-plain-project
    (aqd-put-bytes "a\0b\n" (aqd-pending-name "w.txt"))
    (aqd-pending-files)
    (aqd-pending-put "w.txt" "new\n")
    (should (string-prefix-p "Not looked at: w.txt (what it held before is not known); nothing else"
                             (aqd-said (agent-q-diff-review-changes))))
    (with-current-buffer (find-file-noselect (aqd-pending-name "w.txt"))
      (should (equal "1 file is reviewed as it is" (aqd-said (agent-q-diff-mark-reviewed t)))))
    (should-not (aqd-pending-files))
    (aqd-pending-put "w.txt" "new\nmore\n")
    (should (equal '("w.txt") (aqd-pending-files)))))

;;;; One key for all

(ert-deftest aqd-pending-one-prefix-has-the-commands-on-reviews ()
  (dolist (key '("c" "m" "u" "U" "n" "f" "l" "L" "o" "d"))
    (should (commandp (lookup-key agent-q-diff-prefix-map key)))))

;;;; project.el

(ert-deftest aqd-pending-a-project-is-switched-to-by-reviewing-its-changes ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (let ((root aqd-pending-root))
      (with-temp-buffer
        (setq default-directory temporary-file-directory)
        (let ((project-list-file (expand-file-name ".git/projects" root)))
          (aqd-play "a" (lambda () (project-switch-project root))))))
    (let ((review (car (agent-q-diff-open-reviews))))
      (should (= 2 (length (agent-q-diff-change-marks (agent-q-diff-session-change review)))))
      (agent-q-diff-end review))))

(ert-deftest aqd-pending-the-command-for-projects-is-there-once-project-is-loaded ()
  (should
   (equal "(nil (agent-q-diff-review-changes Review changes 97) t)"
          (aqd-in-fresh-emacs
           '(progn
              (require 'agent-q-diff)
              (list (featurep 'project)
                    (progn (require 'project)
                           (load "agent-q-diff" nil t)
                           (assq 'agent-q-diff-review-changes project-switch-commands))
                    ;; At the end, and once.
                    (equal (seq-filter (lambda (entry)
                                         (eq (car entry) 'agent-q-diff-review-changes))
                                       project-switch-commands)
                           (last project-switch-commands))))))))

(ert-deftest aqd-pending-the-only-command-for-projects-stays-the-only-one ()
  (should
   (equal "project-find-file"
          (aqd-in-fresh-emacs
           '(progn
              (setq project-switch-commands 'project-find-file)
              (require 'project)
              (require 'agent-q-diff)
              project-switch-commands)))))

(provide 'agent-q-diff-pending-test)
;;; agent-q-diff-pending-test.el ends here
