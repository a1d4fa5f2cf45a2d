;;; agent-q-diff-reviewed-test.el --- Records that others have written to  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What is in the record of a project, or where a file of it or of git's is
;; expected, may be anything.  An Emacs that could wait for a FIFO for ever is a
;; child process.

;;; Code:

(require 'agent-q-diff-git-help)
(require 'agent-q-diff-project-help)
(require 'agent-q-diff-taken-out)

(defun aqd-reviewed-child (form &rest more)
  "Return what FORM prints in an Emacs in the test's repository.
MORE are further arguments of that Emacs.  It must end by itself."
  (with-temp-buffer
    (let* ((default-directory aqd-pending-root)
           (status (apply #'call-process "timeout" nil t nil "60"
                          (expand-file-name invocation-name invocation-directory)
                          "-Q" "--batch" "-L" aqd-lisp-folder
                          `("-l" "agent-q-diff-changes" "-l" "agent-q-diff-taken-out"
                            "-l" "agent-q-diff-pending-marks" ,@more
                            "--eval" ,(prin1-to-string form)))))
      (should (equal 0 status)))
    (string-trim (buffer-string))))

(defconst aqd-reviewed-look
  '(condition-case err
       (let ((agent-q-diff-display 'announce)
             (default-directory default-directory))
         (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
           (pcase-let ((`(,_ ,review ,notes) (agent-q-diff-changes-begin default-directory nil)))
             (princ (format "%s pending; %s"
                            (if review
                                (length (agent-q-diff-module-marks
                                         (agent-q-diff-change-engine
                                          (agent-q-diff-session-change review))))
                              0)
                            (string-join notes "; "))))))
     (error (princ (agent-q-diff-error-text err))))
  "A form that looks at what is pending, and prints it or what went wrong.")

(defun aqd-reviewed-put-fifo (name)
  "Put a FIFO in the place of the test's file NAME."
  (let ((file (aqd-pending-name name)))
    (when (file-attributes file)
      (rename-file file (concat file ".kept") t))
    (should (equal 0 (call-process "mkfifo" nil nil nil file)))))

(defun aqd-reviewed-put-device (name)
  "Put a link to /dev/zero in the place of the test's file NAME."
  (let ((file (aqd-pending-name name)))
    (when (file-attributes file)
      (rename-file file (concat file ".kept") t))
    (make-symbolic-link "/dev/zero" file)))

(defmacro aqd-reviewed-for-each (names &rest body)
  "Run BODY in a repository for each of NAMES, as `name', that is no file.
It is a FIFO, and a link to /dev/zero.  An agent has written f.txt there."
  (declare (indent 1) (debug t))
  `(dolist (name ,names)
     (dolist (put (list #'aqd-reviewed-put-fifo #'aqd-reviewed-put-device))
       (aqd-with-repository
         (aqd-pending-put "f.txt" aqd-pending-written)
         (aqd-pending-files)
         (funcall put name)
         ,@body))))

;;;; What the user undoes in a file's buffer

(defmacro aqd-reviewed-with-taken-out (how &rest body)
  "Run BODY in the buffer of f.txt, of which HOW has taken out what Codex wrote.
HOW is a function to be called in the review."
  (declare (indent 1) (debug t))
  `(aqd-with-repository
     (agent-q-diff-module-begin-turn default-directory "Codex" "s" "shout")
     (aqd-pending-put "f.txt" aqd-pending-written)
     (agent-q-diff-module-end-turns default-directory)
     (let ((buffer (find-file-noselect "f.txt")))
       (with-current-buffer buffer
         (buffer-enable-undo))
       (save-current-buffer
         (aqd-with-pending
           (funcall ,how)
           (aqd-said (agent-q-diff-finish nil t))))
       (should-not (aqd-pending-files))
       (with-current-buffer buffer
         ,@body))))

(defun aqd-reviewed-take-out-each ()
  "Take out both hunks, one after the other."
  (aqd-pending-do #'agent-q-diff-reject-hunk 0)
  (aqd-pending-do #'agent-q-diff-reject-hunk 1))

(defun aqd-reviewed-undo (&optional command last)
  "Undo in this buffer, or carry out COMMAND, after the command LAST, and save."
  (undo-boundary)
  (setq last-command (or last 'ignore))
  (call-interactively (or command #'undo))
  (let ((save-silently t))
    (save-buffer)))

(defun aqd-reviewed-pending ()
  "Return who wrote each hunk that is pending, and its first new line."
  (save-current-buffer
    (aqd-with-pending
      (cl-loop for hunk below (length (agent-q-diff-change-marks agent-q-diff-buffer-change))
               do (agent-q-diff-buffer-goto-hunk hunk)
               collect (list (agent-q-diff-change-hunk-authors agent-q-diff-buffer-change hunk)
                             (progn (re-search-forward "^\\+\\(.*\\)$")
                                    (match-string-no-properties 1)))))))

(ert-deftest aqd-reviewed-what-an-undo-brings-back-is-pending-by-who-wrote-it ()
  (aqd-reviewed-with-taken-out #'aqd-reviewed-take-out-each
    (goto-char (point-min))
    (insert "mine\n")
    (aqd-reviewed-undo #'ignore)
    (should-not (aqd-pending-files))
    ;; The user's line first, then the last hunk.
    (aqd-reviewed-undo)
    (should-not (aqd-pending-files))
    (aqd-reviewed-undo #'undo 'undo)
    (should (equal '((("Codex") "x")) (aqd-reviewed-pending)))
    ;; The user's edits after that are the user's.
    (goto-char (point-min))
    (insert "mine\n")
    (aqd-reviewed-undo #'ignore)
    (should (equal '((("Codex") "x")) (aqd-reviewed-pending)))
    ;; What was pending is rejected as before.
    (save-current-buffer
      (aqd-with-pending (aqd-pending-do #'agent-q-diff-reject-hunk 0)
                        (aqd-said (agent-q-diff-finish nil t))))
    (should (equal (concat "mine\n" aqd-pending-text) (aqd-pending-has "f.txt")))))

(ert-deftest aqd-reviewed-an-undo-of-taking-all-out-brings-all-back ()
  (aqd-reviewed-with-taken-out #'agent-q-diff-reject-all
    (aqd-reviewed-undo)
    (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
    (should (equal '((("Codex") "three") (("Codex") "x")) (aqd-reviewed-pending)))
    ;; A redo takes it out again.
    (aqd-reviewed-undo #'undo-redo)
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-reviewed-an-undo-in-the-region-brings-only-that-back ()
  (aqd-reviewed-with-taken-out #'aqd-reviewed-take-out-each
    (let ((transient-mark-mode t))
      (goto-char (point-min))
      (push-mark (line-beginning-position 6) t t)
      ;; Emacs first passes over what is not in the region.
      (aqd-reviewed-undo)
      (should-not (aqd-pending-files))
      (aqd-reviewed-undo #'undo 'undo))
    (should (equal '((("Codex") "three")) (aqd-reviewed-pending)))))

(ert-deftest aqd-reviewed-what-is-typed-again-is-the-users ()
  (aqd-reviewed-with-taken-out #'aqd-reviewed-take-out-each
    (kill-new "three")
    (goto-char (point-min))
    (forward-line 2)
    (delete-region (point) (line-end-position))
    (aqd-reviewed-undo #'yank)
    (should (string-search "\nthree\n" (aqd-pending-has "f.txt")))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-reviewed-an-undo-that-a-review-saves-is-known-too ()
  (aqd-reviewed-with-taken-out #'aqd-reviewed-take-out-each
    (setq last-command 'ignore)
    (call-interactively #'undo)
    (aqd-pending-put "g.txt" "new\n")
    (save-current-buffer
      (agent-q-diff-module-begin-turn default-directory "Codex" "s" "more")
      (aqd-pending-put "g.txt" "new\n")
      (agent-q-diff-module-end-turns default-directory)
      (aqd-with-pending
        (should (aqd-pending-do #'agent-q-diff-accept-hunk 0))
        (aqd-said (agent-q-diff-finish nil t))))
    (let ((save-silently t)) (save-buffer))
    (should (equal '((("Codex") "x")) (aqd-reviewed-pending)))))

(ert-deftest aqd-reviewed-an-open-review-follows-an-undo-that-is-saved ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (let ((buffer (find-file-noselect "f.txt")))
      (with-current-buffer buffer
        (buffer-enable-undo))
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (with-current-buffer buffer
          (aqd-reviewed-undo))
        (agent-q-diff-signs-follow)
        (should (equal '(nil nil) (agent-q-diff-change-marks agent-q-diff-buffer-change)))
        (with-current-buffer buffer
          (aqd-reviewed-undo #'undo-redo))
        (agent-q-diff-signs-follow)
        (should (equal '(rejected nil)
                       (agent-q-diff-change-marks agent-q-diff-buffer-change)))
        (with-current-buffer buffer
          (aqd-reviewed-undo))
        (should (equal "f.txt: 0 kept, 0 taken out, 2 still pending"
                       (aqd-said (agent-q-diff-finish nil t)))))
      (should-not (agent-q-diff-engine-call #'agent-q-diff-module-rejected default-directory))
      (should (equal '("f.txt") (aqd-pending-files))))))

(ert-deftest aqd-reviewed-an-agent-that-was-told-is-told-that-it-is-back ()
  (aqd-reviewed-with-taken-out #'aqd-reviewed-take-out-each
    (should (string-search "- f.txt, line 3\n- f.txt, line 27\n"
                           (agent-q-diff-told-take default-directory)))
    (aqd-reviewed-undo)
    (should (string-search "The user has undone that these changes were undone. They are in the \
files again, and are not decided:\n\n- f.txt, line 27\n"
                           (agent-q-diff-told-take default-directory)))
    ;; It is told once.
    (aqd-reviewed-undo #'undo 'undo)
    (should (string-search "decided:\n\n- f.txt, line 3\n\n"
                           (agent-q-diff-told-take default-directory)))))

(ert-deftest aqd-reviewed-an-agent-that-was-not-told-is-not-told-what-is-back ()
  (aqd-reviewed-with-taken-out #'aqd-reviewed-take-out-each
    (aqd-reviewed-undo)
    (let ((text (agent-q-diff-told-message default-directory)))
      (should (string-search "- f.txt, line 3\n" text))
      (should-not (string-search "line 27" text)))
    ;; Nothing is left to be told.
    (aqd-reviewed-undo #'undo 'undo)
    (should-not (agent-q-diff-told-message default-directory))
    (should (equal "" (agent-q-diff-told-take default-directory)))))

;;;; Files that are none

(ert-deftest aqd-reviewed-a-record-that-is-no-file-is-refused-in-words ()
  (aqd-reviewed-for-each '(".git/agent-q-diff/record" ".git/agent-q-diff/lock")
    (should (equal (concat (aqd-pending-name name) ": it is not a regular file")
                   (aqd-reviewed-child aqd-reviewed-look)))))

(ert-deftest aqd-reviewed-a-stored-text-that-is-no-file-is-refused-in-words ()
  (let ((text (concat ".git/agent-q-diff/texts/" (secure-hash 'sha256 aqd-pending-text))))
    (aqd-reviewed-for-each (list text)
      ;; The engine stores it anew, since it is not there.
      (should (string-match-p "^2 pending" (aqd-reviewed-child aqd-reviewed-look)))
      (should (equal aqd-pending-text (aqd-pending-has text)))
      (delete-file (aqd-pending-name text))
      (funcall put text)
      (should (equal (concat (aqd-pending-name text) ": it is not a regular file")
                     (aqd-reviewed-child
                      `(condition-case err
                           (agent-q-diff-pending-bytes
                            ".git/agent-q-diff/texts" ,(file-name-nondirectory text))
                         (error (princ (agent-q-diff-error-text err))))))))))

(ert-deftest aqd-reviewed-a-stored-text-with-other-bytes-is-refused ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (pcase-let* ((`(,_ ,texts ,files) (agent-q-diff-pending-look aqd-pending-root))
                 (name (cdr (agent-q-diff-pending-file-reviewed (car files)))))
      (should (equal aqd-pending-text (agent-q-diff-pending-bytes texts name)))
      (aqd-put-bytes (upcase aqd-pending-text) (expand-file-name name texts))
      (should (string-match-p "is damaged"
                              (agent-q-diff-error-text
                               (should-error (agent-q-diff-pending-bytes texts name))))))))

(ert-deftest aqd-reviewed-git-waits-for-no-fifo ()
  (dolist (name '(".git/HEAD" ".git/index" ".git/config" ".gitignore" "sub/.gitignore"))
    (aqd-with-repository
      (aqd-pending-put "sub/x" "x\n")
      (aqd-reviewed-put-fifo name)
      (should (equal (format "git cannot read %s, which is not a regular file; \
move it away, then look again" (aqd-pending-name name))
                     (aqd-reviewed-child aqd-reviewed-look))))))

(ert-deftest aqd-reviewed-where-git-is-no-file-there-is-no-repository ()
  (aqd-reviewed-for-each '(".git")
    (should (string-match-p "is in no git repository" (aqd-reviewed-child aqd-reviewed-look)))
    ;; The mode line asks this at each redisplay.
    (should (equal "nil"
                   (aqd-reviewed-child
                    '(with-temp-buffer
                       (setq buffer-file-name (expand-file-name "f.txt"))
                       (prin1 (agent-q-diff-reviewed-root))
                       (set-buffer-modified-p nil)))))))

(ert-deftest aqd-reviewed-a-file-that-is-none-any-more-is-named ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-files)
    (aqd-reviewed-put-fifo "f.txt")
    (delete-file "f.txt.kept")
    (should (string-prefix-p "0 pending; Not looked at: f.txt \
\(it is neither a file nor a link nor a folder); nothing else is pending in "
                             (aqd-reviewed-child aqd-reviewed-look)))
    (delete-file "f.txt")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (should (equal '("f.txt") (aqd-pending-files)))))

(ert-deftest aqd-reviewed-a-file-that-is-none-during-the-review-is-refused-in-words ()
  (dolist (command '(agent-q-diff-reject-hunk agent-q-diff-accept-hunk))
    (aqd-with-repository
      (aqd-pending-put "f.txt" aqd-pending-written)
      (should
       (string-match-p
        "\\(?:not a regular file\\|irregular\\|directory\\)"
        (aqd-reviewed-child
         `(let* ((agent-q-diff-display 'announce)
                 (review (nth 1 (agent-q-diff-changes-begin default-directory nil))))
            (with-current-buffer (agent-q-diff-session-buffer review)
              (delete-file "f.txt")
              (call-process "mkfifo" nil nil nil "f.txt")
              (agent-q-diff-buffer-goto-hunk 0)
              (condition-case err
                  (progn (,command)
                         (princ (current-message)))
                (error (princ (agent-q-diff-error-text err)))))))))
      (should-not (file-regular-p "f.txt")))))

(ert-deftest aqd-reviewed-commands-open-no-fifo ()
  (aqd-with-repository
    (aqd-reviewed-put-fifo "fifo")
    (dolist (form '((agent-q-diff-pending-marks--visit (expand-file-name "fifo"))
                    (let ((agent-q-diff-log-file (expand-file-name "fifo")))
                      (agent-q-diff-log-record '(:tool "x"))
                      (agent-q-diff-log-entries 3)
                      (error "not a regular file"))
                    (let ((current-prefix-arg '(4)))
                      (cl-letf (((symbol-function 'read-file-name)
                                 (lambda (&rest _) (expand-file-name "fifo"))))
                        (agent-q-diff-several--read-diff)))))
      (should (string-match-p "not a regular file"
                              (aqd-reviewed-child
                               `(condition-case err
                                    ,form
                                  (error (princ (agent-q-diff-error-text err))))))))))

;;;; Paths

(defun aqd-reviewed-add-lines (&rest lines)
  "Add LINES to the ledger of the test's repository; return their first number."
  (let* ((ledger (aqd-pending-name ".git/agent-q-diff/record"))
         (text (aqd-bytes-of ledger)))
    (aqd-put-bytes (concat text (mapconcat (lambda (line) (concat line "\n")) lines ""))
                   ledger)
    (length (split-string text "\n"))))

(defun aqd-reviewed-stored (text)
  "Store TEXT, and return the word for a file that has it, as in the ledger."
  (let ((digest (secure-hash 'sha256 text)))
    (aqd-put-bytes text (aqd-pending-name (concat ".git/agent-q-diff/texts/" digest)))
    (concat "100644:" digest)))

(ert-deftest aqd-reviewed-a-line-with-a-bad-path-is-said-and-nothing-is-written-there ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-files)
    (let* ((evil (aqd-reviewed-stored "evil\n"))
           (outside (make-temp-file "aqd-outside" t))
           (paths (list "../x" (concat outside "/x") ".git/hooks/pre-commit" ".GIT/config"
                        "sub/../../x"))
           (first (apply #'aqd-reviewed-add-lines
                         (append
                          (mapcar (lambda (path) (format "{\"reviewed\":[%S,%S]}" path evil)) paths)
                          (mapcar (lambda (path)
                                    (format "{\"taken-out\":{\"path\":%S,\"time\":4000000000,\"had\":%S}}"
                                            path evil))
                                  paths)))))
      (pcase-let ((`(,_ ,review ,notes) (agent-q-diff-changes-begin aqd-pending-root nil)))
        (seq-do-indexed
         (lambda (path n)
           (should (string-match-p
                    (format "Line %d of .*/record does not count, since the path in it, \"%s\""
                            (+ first n) (regexp-quote path))
                    (car notes))))
         paths)
        (with-current-buffer (agent-q-diff-session-buffer review)
          (should (= 2 (length agent-q-diff-buffer-marks)))
          (aqd-said (agent-q-diff-reject-all t))))
      (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
      (should (equal '("f.txt" "f.txt")
                     (append (mapcar #'agent-q-diff-taken-out-entry-path
                                     (nth 2 (agent-q-diff-taken-out--read aqd-pending-root)))
                             '("f.txt"))))
      (should-not (file-exists-p (aqd-pending-name ".git/hooks/pre-commit")))
      (should-not (file-exists-p (aqd-pending-name "../x")))
      (should-not (directory-files outside nil directory-files-no-dot-files-regexp))
      (delete-directory outside t))))

(defmacro aqd-reviewed-with-linked-folder (&rest body)
  "Run BODY in a repository whose folder sub is a link to `outside' by now.
The file sub/x is committed there."
  (declare (indent 0) (debug t))
  `(aqd-with-repository
     (let ((outside (file-name-as-directory (make-temp-file "aqd-outside" t))))
       (unwind-protect
           (progn
             (aqd-pending-put "sub/x" "a\nb\n")
             (aqd-pending-git "add" ".")
             (aqd-pending-git "commit" "-qm" "sub")
             (cl-letf (((symbol-function 'y-or-n-p) #'always))
               (agent-q-diff-review-changes))
             ,@body)
         (delete-directory outside t)))))

(defun aqd-reviewed-link-folder (outside)
  "Make the folder sub a link to OUTSIDE."
  (delete-directory (aqd-pending-name "sub") t)
  (make-symbolic-link outside (aqd-pending-name "sub")))

(ert-deftest aqd-reviewed-nothing-is-written-through-a-folder-that-is-a-link ()
  (aqd-reviewed-with-linked-folder
    (aqd-reviewed-link-folder outside)
    (should (equal '("sub" "sub/x") (aqd-pending-files)))
    (aqd-with-pending
      (should (string-match-p "a folder on the way is a link now"
                              (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
      (should-not (directory-files outside nil directory-files-no-dot-files-regexp))
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (should-not (file-symlink-p (aqd-pending-name "sub"))))
    ;; Once the link is gone, it can be put back.
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0))
    (should (equal "a\nb\n" (aqd-pending-has "sub/x")))
    (should-not (directory-files outside nil directory-files-no-dot-files-regexp))))

(ert-deftest aqd-reviewed-nothing-is-written-through-a-folder-that-becomes-a-link ()
  (aqd-reviewed-with-linked-folder
    (aqd-pending-put "sub/x" "a\nB\n")
    (aqd-with-pending
      (aqd-put-bytes "a\nB\n" (concat outside "x"))
      (aqd-reviewed-link-folder outside)
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (should (equal "a\nB\n" (aqd-bytes-of (concat outside "x")))))))

(ert-deftest aqd-reviewed-what-was-taken-out-is-not-brought-back-through-a-link ()
  (aqd-reviewed-with-linked-folder
    (aqd-pending-put "sub/x" "a\nB\n")
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0))
    (let ((entry (car (nth 2 (agent-q-diff-taken-out--read aqd-pending-root)))))
      (aqd-reviewed-link-folder outside)
      (when-let ((buffer (find-buffer-visiting (aqd-pending-name "sub/x"))))
        (kill-buffer buffer))
      (let ((default-directory aqd-pending-root))
        (should (string-match-p
                 "a folder on the way is a link now"
                 (cadr (should-error (agent-q-diff-taken-out--check-file
                                      (agent-q-diff-taken-out--path entry))
                                     :type 'user-error))))
        (should-error (agent-q-diff-taken-out--restore
                       (agent-q-diff-taken-out--path entry) '(0 . "") '(33188 . "evil\n"))
                      :type 'agent-q-diff-bad-target)))
    (should-not (directory-files outside nil directory-files-no-dot-files-regexp))))

(ert-deftest aqd-reviewed-a-name-outside-the-project-is-not-written ()
  (let ((root "/tmp/project/"))
    (dolist (name '("/tmp/x" "/tmp/project" "/tmp/project/" "/tmp/project/.git/config"
                    "/tmp/project/sub/.GIT/config" "/tmp/project/a//b"))
      (should-error (agent-q-diff-guard-check-inside name root)
                    :type 'agent-q-diff-bad-target))
    (agent-q-diff-guard-check-inside "/tmp/project/~/$HOME/.gitignore" root)))

;;;; A record that was cut off

(ert-deftest aqd-reviewed-a-ledger-that-was-cut-off-is-kept-and-said-once ()
  (dolist (cut (list "" "{\"agent-q-diff rec" 'tail))
    (aqd-with-repository
      (aqd-pending-put "f.txt" aqd-pending-written)
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-accept-hunk 0))
      (let* ((ledger (aqd-pending-name ".git/agent-q-diff/record"))
             (whole (aqd-bytes-of ledger))
             (text (if (stringp cut) cut (concat whole "{\"reviewed\":"))))
        (aqd-put-bytes text ledger)
        (pcase-let* ((`(,_ ,review ,notes) (agent-q-diff-changes-begin aqd-pending-root nil))
                     (`(,aside) (directory-files (file-name-directory ledger) t "cut-off")))
          (should (equal text (aqd-bytes-of aside)))
          (should (string-search (format "kept as %s" aside) (car notes)))
          (with-current-buffer (agent-q-diff-session-buffer review)
            (should (= (if (stringp cut) 2 1) (length agent-q-diff-buffer-marks)))
            (should (string-search "was cut off" (buffer-string)))
            (aqd-pending-do #'agent-q-diff-accept-hunk 0)
            (agent-q-diff-finish)))
        (aqd-pending-put "f.txt" (concat aqd-pending-written "more\n"))
        (pcase-let ((`(,_ ,review ,notes) (agent-q-diff-changes-begin aqd-pending-root nil)))
          (should-not (string-search "cut off" (format "%s" notes)))
          (agent-q-diff-end review))))))

(ert-deftest aqd-reviewed-no-message-advises-deleting-a-record ()
  (aqd-with-repository
    (let ((ledger (aqd-pending-name ".git/agent-q-diff/record")))
      (aqd-reviewed-add-lines "something newer")
      (let* ((text (aqd-bytes-of ledger))
             (said (agent-q-diff-error-text
                    (should-error (agent-q-diff-pending-look aqd-pending-root)))))
        (should (string-match-p "\\`line [0-9]+ of .*/record is not understood" said))
        (should-not (string-match-p "delete\\|remove\\|move it away" said))
        (should (equal text (aqd-bytes-of ledger)))))))

;;; agent-q-diff-reviewed-test.el ends here
