;;; agent-q-diff-git-help.el --- Repositories in which an agent writes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A repository with one committed file, or a folder without git, what an agent
;; writes there by a shell, and reviews of what is pending.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-changes)

(defvar aqd-pending-root nil
  "The root of the current test's repository.")

(defun aqd-pending-git (&rest arguments)
  "Run git with ARGUMENTS in the test's repository, and return what it prints."
  (with-temp-buffer
    (let ((default-directory aqd-pending-root))
      (should (eq 0 (apply #'call-process "git" nil t nil
                           "-c" "user.name=User" "-c" "user.email=user@example.com"
                           arguments))))
    (buffer-string)))

(defun aqd-source-git (&rest arguments)
  "Run git with ARGUMENTS in this repository, and return what it prints."
  (with-temp-buffer
    (let ((default-directory (file-name-directory (directory-file-name aqd-lisp-directory)))
          (coding-system-for-read (or coding-system-for-read 'utf-8-unix)))
      (unless (eq 0 (apply #'call-process "git" nil t nil arguments))
        (error "Git failed: %s" (buffer-string))))
    (buffer-string)))

(defun aqd-source-commits (n)
  "Return the latest N commits of this repository, each (COMMIT PARENT).
Merges are left out.  The oldest one of a shallow clone has no parent and
is left out, too.  Where there is no repository, as in an archive of the
sources, there are none."
  (seq-filter #'cdr
              (mapcar #'split-string
                      (split-string (or (ignore-errors
                                          (aqd-source-git "rev-list" "--no-merges" "--parents"
                                                          "-n" (number-to-string n) "HEAD"))
                                        "")
                                    "\n" t))))

(defun aqd-pending-name (name)
  "Return the absolute name of the test's file NAME."
  (expand-file-name name aqd-pending-root))

(defun aqd-pending-put (name text)
  "Write TEXT to the test's file NAME, as an agent would by a shell."
  (make-directory (file-name-directory (aqd-pending-name name)) t)
  ;; Nothing is compressed or encrypted by its name.
  (let ((file-name-handler-alist nil))
    (aqd-put-bytes (encode-coding-string text 'utf-8-unix) (aqd-pending-name name))))

(defun aqd-pending-has (name)
  "Return the text of the test's file NAME, or nil if there is none."
  (let ((name (aqd-pending-name name)))
    (and (file-exists-p name)
         (decode-coding-string (aqd-bytes-of name) 'utf-8-unix))))

(defun aqd-pending-files ()
  "Return the paths of the files that are pending."
  (mapcar #'agent-q-diff-pending-file-path
          (nth 2 (agent-q-diff-pending-look aqd-pending-root nil))))

(defun aqd-pending-begin-record ()
  "Begin the record of the project anew, as an agent's hook does in its turn.
In this Emacs, nobody has looked at it."
  (agent-q-diff-pending-mode -1)
  (clrhash agent-q-diff-pending--projects)
  (delete-directory (expand-file-name ".git/agent-q-diff" aqd-pending-root) t)
  (agent-q-diff-engine-call #'agent-q-diff-module-begin-turn aqd-pending-root "Codex" "" "")
  (agent-q-diff-engine-call #'agent-q-diff-module-end-turns aqd-pending-root))

(defun aqd-pending--clean-up ()
  "Kill the buffers and remove the files that a test has left."
  (agent-q-diff-pending-mode -1)
  (aqd-remove-tree aqd-pending-root))

(defconst aqd-pending-text (aqd-numbered 30)
  "Text of the file f.txt.")

(defconst aqd-pending-written (aqd-numbered 30 '((3 . "three") (27 . "x")))
  "Text of the file f.txt after an agent has written two hunks.")

(defmacro aqd-with-git-folder (&rest body)
  "Run BODY with a new folder as `aqd-pending-root', and no settings of git's."
  (declare (indent 0) (debug t))
  `(let ((process-environment (append '("GIT_CONFIG_GLOBAL=/dev/null"
                                        "GIT_CONFIG_SYSTEM=/dev/null")
                                      process-environment))
         (aqd-pending-root (file-name-as-directory
                            (file-truename (make-temp-file "aqd-git" t)))))
     ,@body))

(defun aqd-in-project (said)
  "Return SAID, a string, with PROJECT for the name of the project's folder."
  (string-replace (file-name-nondirectory (directory-file-name aqd-pending-root))
                  "PROJECT" said))

(defmacro aqd-with-repository (&rest body)
  "Run BODY in a repository with f.txt committed, which was looked at."
  (declare (indent 0) (debug t))
  `(aqd-with-new-repository
     (agent-q-diff-review-changes)
     ,@body))

(defmacro aqd-with-new-repository (&rest body)
  "Run BODY in a repository with f.txt committed, at which nobody has looked."
  (declare (indent 0) (debug t))
  `(aqd-with-git-folder
     (let ((default-directory aqd-pending-root)
           (agent-q-diff-display 'announce))
       (unwind-protect
           (save-window-excursion
             (aqd-pending-git "init" "-q")
             (aqd-pending-put "f.txt" aqd-pending-text)
             (aqd-pending-git "add" ".")
             (aqd-pending-git "commit" "-qm" "first")
             ,@body)
         (aqd-pending--clean-up)))))

(defmacro aqd-with-folder-without-git (&rest body)
  "Run BODY in a folder without git that has f.txt and is no project yet.
What is recorded of it lies in a folder of the test."
  (declare (indent 0) (debug t))
  `(aqd-with-git-folder
     (let* ((aqd-pending-state (make-temp-file "aqd-state" t))
            (process-environment (cons (concat "XDG_STATE_HOME=" aqd-pending-state)
                                       process-environment))
            (default-directory aqd-pending-root)
            (agent-q-diff-display 'announce))
       (unwind-protect
           (save-window-excursion
             (aqd-pending-put "f.txt" aqd-pending-text)
             ,@body)
         (aqd-pending--clean-up)
         (delete-directory aqd-pending-state t)))))

(defun aqd-pending-begin (answer)
  "Call the command that reviews changes, and ANSWER its question.
Return (QUESTION . SAID), where QUESTION is nil if there was none."
  (let ((question nil))
    (cl-letf (((symbol-function 'y-or-n-p) (lambda (prompt)
                                             (setq question prompt)
                                             answer)))
      (let ((said (aqd-said (call-interactively #'agent-q-diff-review-changes))))
        (cons question said)))))

(defmacro aqd-with-plain-project (&rest body)
  "Run BODY in a project without git that has f.txt and was looked at."
  (declare (indent 0) (debug t))
  `(aqd-with-folder-without-git
     (aqd-pending-begin t)
     ,@body))

(defmacro aqd-with-pending (&rest body)
  "Review what is pending, and run BODY in its diff buffer."
  (declare (indent 0) (debug t))
  `(let ((review (agent-q-diff-review-changes)))
     (with-current-buffer (agent-q-diff-session-buffer review)
       (prog1 (progn ,@body)
         (unless (agent-q-diff-session-outcome review)
           (agent-q-diff-finish))))))

(defun aqd-pending-do (command hunk)
  "Carry out COMMAND on HUNK of the review of this buffer, and return the message."
  (agent-q-diff-buffer-goto-hunk hunk)
  (aqd-said (funcall command)))

(defun aqd-pending-signs ()
  "Return the signs in this diff buffer, in order."
  (sort (delq nil (mapcar (lambda (overlay)
                            (when-let ((sign (overlay-get overlay 'before-string)))
                              (cons (overlay-start overlay)
                                    (string-trim (substring-no-properties sign)))))
                          (overlays-in (point-min) (point-max))))
        #'car-less-than-car))

(provide 'agent-q-diff-git-help)
;;; agent-q-diff-git-help.el ends here
