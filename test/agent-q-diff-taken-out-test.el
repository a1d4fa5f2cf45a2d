;;; agent-q-diff-taken-out-test.el --- Bringing back what was taken out  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Git repositories in which an agent has written, and of whose files a review
;; takes something out; then it is listed, shown and brought back.

;;; Code:

(require 'agent-q-diff-git-help)
(require 'agent-q-diff-taken-out)

(defun aqd-taken-put (name bytes)
  "Write BYTES to the test's file NAME, as an agent would by a shell."
  (make-directory (file-name-directory (aqd-pending-name name)) t)
  (aqd-put-bytes bytes (aqd-pending-name name)))

(defun aqd-taken-has (name)
  "Return the bytes of the test's file NAME, or nil if there is none."
  (and (file-exists-p (aqd-pending-name name))
       (aqd-bytes-of (aqd-pending-name name))))

(defconst aqd-taken-without-second (aqd-numbered 30 '((3 . "three")))
  "That text after the second hunk was taken out.")

(defun aqd-taken-reject (hunk)
  "Reject HUNK, counted from 0, of the review of this buffer; return the message."
  (aqd-pending-do #'agent-q-diff-reject-hunk hunk))

(defun aqd-taken-rows ()
  "Return the rows of the list without times and agents, each a list of strings."
  (mapcar #'cddr (aqd-rows-of #'agent-q-diff-taken-out)))

(defun aqd-taken-press (n keys)
  "Press KEYS on row N of the list, counted from 1; return the last message."
  (agent-q-diff-taken-out aqd-pending-root)
  (with-current-buffer "*agent-q-diff taken out*"
    (goto-char (point-min))
    (forward-line (1- n))
    (aqd-said (aqd-press keys))))

(defconst aqd-taken-row '("f.txt" "-1 line" "x")
  "The row of the second hunk.")

;;;; Brought back

(ert-deftest aqd-taken-out-brings-an-executable-back-executable ()
  (aqd-with-repository
    (let* ((run (aqd-pending-name "run.sh"))
           (kill (lambda ()
                   (when (find-buffer-visiting run)
                     (kill-buffer (find-buffer-visiting run))))))
      (aqd-taken-put "run.sh" "run\n")
      (set-file-modes run #o755)
      (aqd-with-pending (aqd-taken-reject 0))
      (should-not (file-exists-p run))
      (aqd-taken-press 1 "b")
      (should (equal #o755 (file-modes run)))
      ;; In a review, too, if it was deleted since.
      (funcall kill)
      (aqd-taken-put "run.sh" aqd-pending-text)
      (agent-q-diff-mark-reviewed)
      (aqd-taken-put "run.sh" aqd-pending-written)
      (aqd-with-pending (aqd-taken-reject 1))
      (delete-file run)
      (funcall kill)
      (aqd-taken-press 1 "b")
      (let ((review (car (agent-q-diff-open-reviews))))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (agent-q-diff-accept-all)))
      (should (equal #o755 (file-modes run)))
      (should (equal aqd-pending-written (aqd-taken-has "run.sh"))))))

(ert-deftest aqd-taken-out-brings-back-the-same-bytes ()
  (aqd-with-repository
    (aqd-taken-put "f.txt" aqd-pending-written)
    (aqd-with-pending (aqd-taken-reject 1))
    (should (equal aqd-taken-without-second (aqd-taken-has "f.txt")))
    (should (equal (list aqd-taken-row) (aqd-taken-rows)))
    (should (string-match-p "\\`f.txt is as it was before .* again\\'"
                            (aqd-taken-press 1 "b")))
    (should (equal aqd-pending-written (aqd-taken-has "f.txt")))
    ;; What was there until then can be brought back, too.
    (should (equal (list '("f.txt" "-1 line" "line 27") aqd-taken-row) (aqd-taken-rows)))
    (aqd-taken-press 1 "b")
    (should (equal aqd-taken-without-second (aqd-taken-has "f.txt")))))

(ert-deftest aqd-taken-out-without-git-comes-back-as-well ()
  (aqd-with-plain-project
    (aqd-taken-put "f.txt" aqd-pending-written)
    (aqd-with-pending (aqd-taken-reject 1))
    (should (equal (list aqd-taken-row) (aqd-taken-rows)))
    (aqd-taken-press 1 "b")
    (should (equal aqd-pending-written (aqd-taken-has "f.txt")))))

(ert-deftest aqd-taken-out-of-any-encoding-in-a-visited-file ()
  (aqd-with-repository
    (let ((bytes "\xe9t\xe9\r\nun\r\ndeux\r\n"))
      (aqd-taken-put "l.txt" "\xe9t\xe9\r\ndeux\r\n")
      (aqd-with-pending
        (agent-q-diff-buffer-goto-hunk 0)
        (agent-q-diff-accept-hunk))
      (aqd-taken-put "l.txt" bytes)
      (aqd-with-pending (aqd-taken-reject 0))
      (should (equal "\xe9t\xe9\r\ndeux\r\n" (aqd-taken-has "l.txt")))
      (let ((buffer (find-file-noselect (aqd-pending-name "l.txt"))))
        (aqd-taken-press 1 "b")
        (should (equal bytes (aqd-taken-has "l.txt")))
        (with-current-buffer buffer
          (should (equal "été\nun\ndeux\n" (buffer-string)))
          (should-not (buffer-modified-p)))))))

(ert-deftest aqd-taken-out-files-come-back-whatever-they-are ()
  (aqd-with-repository
    (aqd-taken-put "sub/new" "one\ntwo\n")
    (set-file-modes (aqd-pending-name "sub/new") #o755)
    (aqd-taken-put "zero" "a\0b")
    (make-symbolic-link "f.txt" (aqd-pending-name "link"))
    (find-file-noselect (aqd-pending-name "sub/new"))
    (aqd-with-pending (agent-q-diff-reject-all t))
    (should-not (file-exists-p (aqd-pending-name "sub/new")))
    (should-not (file-exists-p (aqd-pending-name "zero")))
    (should-not (file-symlink-p (aqd-pending-name "link")))
    (should (equal '(("link" "link" "") ("sub/new" "-2 lines" "one") ("zero" "binary" ""))
                   (sort (aqd-taken-rows)
                         (lambda (one other) (string< (car one) (car other))))))
    (dolist (name '("sub/new" "zero" "link"))
      (agent-q-diff-taken-out)
      (with-current-buffer "*agent-q-diff taken out*"
        (search-forward name)
        (aqd-press "b")))
    (should (equal "one\ntwo\n" (aqd-taken-has "sub/new")))
    (should (file-executable-p (aqd-pending-name "sub/new")))
    (with-current-buffer (find-buffer-visiting (aqd-pending-name "sub/new"))
      (should (equal "one\ntwo\n" (buffer-string))))
    (should (equal "a\0b" (aqd-taken-has "zero")))
    (should (equal "f.txt" (file-symlink-p (aqd-pending-name "link"))))
    ;; They are still listed, and nothing is left to do.
    (should (= 3 (length (aqd-taken-rows))))
    (dotimes (n 3)
      (should (string-match-p "is already as it was then\\'"
                              (cadr (should-error (aqd-taken-press (1+ n) "b"))))))))

;;;; Coming back later

(ert-deftest aqd-taken-out-is-listed-after-a-restart ()
  (aqd-with-repository
    (aqd-taken-put "f.txt" aqd-pending-written)
    (aqd-with-pending (aqd-taken-reject 1))
    (should (string-match-p
             "f.txt +-1 line +x\n\\'"
             (aqd-in-fresh-emacs
              `(progn
                 (require 'agent-q-diff)
                 (agent-q-diff-taken-out ,aqd-pending-root)
                 (with-current-buffer "*agent-q-diff taken out*"
                   (prog1 (buffer-substring-no-properties (point-min) (point-max))
                     (call-interactively (key-binding "b"))))))))
    (should (equal aqd-pending-written (aqd-taken-has "f.txt")))))

(ert-deftest aqd-taken-out-twice-is-there-twice ()
  (aqd-with-repository
    (aqd-taken-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-taken-reject 1)
      (agent-q-diff-undo)
      (should (equal aqd-pending-written (aqd-taken-has "f.txt")))
      (aqd-taken-reject 1))
    (should (equal (list aqd-taken-row '("f.txt" "-1 line" "line 27") aqd-taken-row)
                   (aqd-taken-rows)))
    (aqd-taken-press 3 "b")
    (should (equal aqd-pending-written (aqd-taken-has "f.txt")))))

;;;; Changed since

(ert-deftest aqd-taken-out-of-a-file-that-changed-since-is-proposed ()
  (aqd-with-repository
    (aqd-taken-put "f.txt" aqd-pending-written)
    (aqd-with-pending (aqd-taken-reject 1))
    (let ((now (concat "above\n" aqd-taken-without-second)))
      (aqd-taken-put "f.txt" now)
      (should (string-match-p "f.txt has changed since" (aqd-taken-press 1 "b")))
      (should (equal now (aqd-taken-has "f.txt")))
      (let ((review (car (last (agent-q-diff-open-reviews)))))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (should (= 1 (length agent-q-diff-buffer-marks)))
          (should (save-excursion (search-forward "\n-line 27\n+x\n" nil t)))
          (agent-q-diff-accept-all)))
      (should (equal (concat "above\n" aqd-pending-written) (aqd-taken-has "f.txt"))))))

(ert-deftest aqd-taken-out-where-the-lines-changed-proposes-both ()
  (aqd-with-repository
    (aqd-taken-put "f.txt" aqd-pending-written)
    (aqd-with-pending (aqd-taken-reject 1))
    (aqd-taken-put "f.txt" (aqd-numbered 30 '((27 . "mine"))))
    (aqd-taken-press 1 "b")
    (with-current-buffer (agent-q-diff-session-buffer
                          (car (last (agent-q-diff-open-reviews))))
      (agent-q-diff-accept-all))
    (should (equal (aqd-numbered 30 '((27 . "mine\nx"))) (aqd-taken-has "f.txt")))
    (should (equal '(user-error "f.txt has these lines already")
                   (should-error (aqd-taken-press 1 "b"))))))

(ert-deftest aqd-taken-out-of-a-file-that-is-gone-proposes-the-file ()
  (aqd-with-repository
    (aqd-taken-put "f.txt" aqd-pending-written)
    (aqd-with-pending (aqd-taken-reject 1))
    (let ((buffer (find-file-noselect (aqd-pending-name "f.txt"))))
      (delete-file (aqd-pending-name "f.txt"))
      (should (string-match-p "f.txt was deleted on disk; save or kill its buffer first\\'"
                              (cadr (should-error (aqd-taken-press 1 "b")))))
      (kill-buffer buffer))
    (aqd-taken-press 1 "b")
    (with-current-buffer (agent-q-diff-session-buffer
                          (car (last (agent-q-diff-open-reviews))))
      (agent-q-diff-accept-all))
    (should (equal aqd-pending-written (aqd-taken-has "f.txt")))))

(ert-deftest aqd-taken-out-does-not-overwrite-unsaved-edits ()
  (aqd-with-repository
    (aqd-taken-put "f.txt" aqd-pending-written)
    (aqd-with-pending (aqd-taken-reject 1))
    (with-current-buffer (find-file-noselect (aqd-pending-name "f.txt"))
      (insert "mine\n"))
    (should (equal '(user-error "f.txt has unsaved edits; save it first")
                   (should-error (aqd-taken-press 1 "b"))))
    (should (equal aqd-taken-without-second (aqd-taken-has "f.txt")))))

;;;; What is stored

(ert-deftest aqd-taken-out-of-unsaved-edits-has-them ()
  (aqd-with-repository
    (aqd-taken-put "f.txt" aqd-pending-written)
    (let ((buffer (find-file-noselect (aqd-pending-name "f.txt"))))
      (with-current-buffer buffer
        (goto-char (point-max))
        (insert "été\n"))
      (aqd-with-pending (aqd-taken-reject 1))
      (should (equal (list aqd-taken-row) (aqd-taken-rows)))
      (with-current-buffer buffer
        (should (buffer-modified-p))
        (save-buffer))
      (aqd-taken-press 1 "b")
      (should (equal (concat aqd-pending-written (encode-coding-string "été\n" 'utf-8))
                     (aqd-taken-has "f.txt"))))))

(ert-deftest aqd-taken-out-is-nothing-if-it-cannot-be-stored ()
  (aqd-with-repository
    (aqd-taken-put "f.txt" aqd-pending-written)
    (aqd-taken-put "new" "n\n")
    (aqd-with-pending
      (let ((folder (aqd-pending-name ".git/agent-q-diff")))
        ;; Root may write into a read-only folder, but not into what is none.
        (rename-file folder (concat folder ".away"))
        (write-region "" nil folder nil 'silent)
        (let ((said (aqd-taken-reject 1)))
          (should (string-match-p "\\`Failed to take the hunk out: .*/\\.git/.* is not a folder" said)))
        (aqd-said (ignore-errors (agent-q-diff-reject-all t)))
        (should (equal aqd-pending-written (aqd-taken-has "f.txt")))
        (should (equal "n\n" (aqd-taken-has "new")))
        (delete-file folder)
        (rename-file (concat folder ".away") folder)
        (should (string-match-p "taken out" (aqd-taken-reject 1)))))
    (should (equal (list aqd-taken-row) (aqd-taken-rows)))))

;;;; The list

(defun aqd-taken-in-turn (agent name text)
  "Have AGENT write TEXT to the file NAME in a turn."
  (agent-q-diff-module-begin-turn aqd-pending-root agent "s" "title")
  (aqd-pending-put name text)
  (agent-q-diff-module-end-turns aqd-pending-root))

(ert-deftest aqd-taken-out-names-the-agent-if-only-one-can-have-written-it ()
  (aqd-with-repository
    (aqd-taken-put "mine.txt" "1\n")
    (aqd-taken-in-turn "Kim" "g.txt" "1\n")
    (aqd-taken-in-turn "Codex" "g.txt" "1\n2\n")
    (aqd-taken-in-turn "Codex" "f.txt" aqd-pending-written)
    (aqd-with-pending (agent-q-diff-reject-all t))
    (should (equal '(("f.txt" "Codex") ("g.txt" "") ("mine.txt" ""))
                   (sort (mapcar (lambda (row) (list (nth 2 row) (nth 1 row)))
                                 (aqd-rows-of #'agent-q-diff-taken-out))
                         (lambda (one other) (string< (car one) (car other))))))
    (with-current-buffer (get-buffer-create "*scratch*")
      (agent-q-diff-taken-out aqd-pending-root)
      (should (equal (concat " in " (abbreviate-file-name aqd-pending-root)) mode-line-process))
      (kill-buffer))))

(ert-deftest aqd-taken-out-shows-the-difference ()
  (aqd-with-repository
    (aqd-taken-put "f.txt" aqd-pending-written)
    (aqd-with-pending (aqd-taken-reject 1))
    (aqd-taken-press 1 "RET")
    (with-current-buffer agent-q-diff-taken-out--diff-name
      (should (derived-mode-p 'diff-mode))
      (should buffer-read-only)
      (should (save-excursion (search-forward "\n-x\n+line 27\n" nil t))))))

(ert-deftest aqd-taken-out-says-that-there-is-nothing ()
  (aqd-with-repository
    (should (string-match-p "\\`Nothing was taken out of files in .* in the last 30 days\\'"
                            (aqd-said (agent-q-diff-taken-out))))))

(provide 'agent-q-diff-taken-out-test)
;;; agent-q-diff-taken-out-test.el ends here
