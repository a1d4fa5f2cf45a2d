;;; aqd-bench-after.el --- Speed of reviews after the fact  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A git repository of which an agent, by a shell, has changed 300 files:
;; looking at what is pending, opening its review, keys in it, and saves of
;; the user's meanwhile.

;;; Code:

(require 'aqd-bench)
(require 'aqd-bench-felt)
(require 'agent-q-diff-changes)

(defvar aqd-bench-after--review nil
  "The review that is open, or nil.")

(defvar aqd-bench-after--root nil
  "The top of the repository.")

(defun aqd-bench-after--git (&rest arguments)
  "Run git with ARGUMENTS in the repository."
  (let ((default-directory aqd-bench-after--root))
    (unless (eq 0 (apply #'call-process "git" nil nil nil
                         "-c" "user.name=User" "-c" "user.email=user@example.com" arguments))
      (error "Git failed: %S" arguments))))

(defun aqd-bench-after--name (number)
  "Return the name of file NUMBER of the repository, in one of many folders."
  (expand-file-name (format "d%d/f%d.txt" (/ number 100) number) aqd-bench-after--root))

(defun aqd-bench-after--write (number text)
  "Write TEXT into file NUMBER."
  (write-region text nil (aqd-bench-after--name number) nil 'silent))

(defun aqd-bench-after--repository (n-files)
  "Make a repository of N-FILES that was looked at.
It is packed, as one that was cloned."
  (let ((text (car (aqd-bench-texts 100 2))))
    (setq aqd-bench-after--root
          (file-name-as-directory
           (expand-file-name (format "after-%d" n-files) aqd-bench-directory)))
    (make-directory aqd-bench-after--root)
    (aqd-bench-after--git "init" "-q")
    (dotimes (number n-files)
      (when (= 0 (% number 100))
        (make-directory (file-name-directory (aqd-bench-after--name number))))
      (aqd-bench-after--write number (format "%d\n%s" number text)))
    (aqd-bench-after--git "add" ".")
    (aqd-bench-after--git "commit" "-qm" "first")
    (aqd-bench-after--git "repack" "-adq")
    (agent-q-diff-review-changes aqd-bench-after--root)))

(defvar aqd-bench-after--n-written 0
  "How often files were written.")

(defun aqd-bench-after--mark-reviewed ()
  "Mark everything in the repository as reviewed."
  (let ((default-directory aqd-bench-after--root))
    (agent-q-diff-mark-reviewed)))

(defun aqd-bench-after--agent-writes (n)
  "Change N files of the repository, as an agent would, each time otherwise.
Each has three hunks."
  (let ((text (car (aqd-bench-texts 50 1))))
    (cl-incf aqd-bench-after--n-written)
    (dotimes (number n)
      (let ((line (format "%d, %d\n" number aqd-bench-after--n-written)))
        (aqd-bench-after--write number (concat line text line text line))))))

(defun aqd-bench-after--forget ()
  "End the review that is open, and kill the buffers of its files."
  (when aqd-bench-after--review
    (agent-q-diff-cancel aqd-bench-after--review)
    (setq aqd-bench-after--review nil))
  (dolist (buffer (buffer-list))
    (when (string-match-p "/after-[0-9]+/d" (or (buffer-file-name buffer) ""))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (kill-buffer)))))

(defun aqd-bench-after--open ()
  "Open the review of what is pending, and show its first screen."
  (setq aqd-bench-after--review (agent-q-diff-review-changes aqd-bench-after--root))
  (switch-to-buffer (agent-q-diff-session-buffer aqd-bench-after--review))
  (delete-other-windows)
  (redisplay t))

(defun aqd-bench-after--looking (n-files target rounds)
  "Compare a look at a tree of N-FILES with git's status, ROUNDS times.
TARGET is that of the row."
  (aqd-bench-after--repository n-files)
  (aqd-bench-after--agent-writes 300)
  (aqd-bench-felt--compare
   (format "what is pending in %s files, 300 changed : git status" (aqd-bench-count n-files)) target
   (aqd-bench-work :run (lambda ()
                          (agent-q-diff-module-pending aqd-bench-after--root nil)))
   (aqd-bench-work :run (lambda ()
                          (aqd-bench-after--git "--no-optional-locks" "status"
                                                "--porcelain=v2" "-z"
                                                "--untracked-files=all")))
   :rounds rounds))

(defun aqd-bench-after--opening (rounds)
  "Compare opening the review of 300 files with reading them, ROUNDS times."
  (aqd-bench-felt--compare
   "opening the review of these : reading the files" 7
   (aqd-bench-work :before #'aqd-bench-after--forget
                   :run #'aqd-bench-after--open)
   (aqd-bench-work :run (lambda ()
                          (dotimes (number 300)
                            (with-temp-buffer
                              (insert-file-contents (aqd-bench-after--name number))))
                          (redisplay t)))
   :rounds rounds))

(defun aqd-bench-after--ordinary (texts)
  "Open an ordinary review of a file, from the first of TEXTS to the other."
  (aqd-bench-after--forget)
  (aqd-bench-after--write 1000 (car texts))
  (setq aqd-bench-after--review
        (agent-q-diff-review (aqd-bench-after--name 1000) (car texts) (cdr texts)
                             "" #'ignore))
  (switch-to-buffer (agent-q-diff-session-buffer aqd-bench-after--review))
  (delete-other-windows)
  (redisplay t))

(defun aqd-bench-after--keys (what texts write rounds)
  "Compare the keys in this review with those in an ordinary one, ROUNDS times.
WRITE is called to change file 0, as an agent would.  The ordinary review is
of TEXTS.  WHAT, for the names of the rows, says how large they are."
  (cl-flet ((after (key)
              (aqd-bench-work
               :before (lambda ()
                         (aqd-bench-after--forget)
                         (funcall write)
                         (aqd-bench-after--open)
                         ;; The first key visits the file.
                         (aqd-bench-felt--press "a"))
               :run (lambda () (aqd-bench-felt--press key))))
            (ordinary ()
              (aqd-bench-work :before (lambda ()
                                        (aqd-bench-after--ordinary texts)
                                        (aqd-bench-felt--press "a"))
                              :run (lambda () (aqd-bench-felt--press "a")))))
    (aqd-bench-felt--compare
     (format "a, which keeps%s : a before the write, with saving" what) 1
     (after "a") (ordinary) :rounds rounds)
    (aqd-bench-felt--compare (format "r, which takes out%s : the same" what) 1.5
                             (after "r") (ordinary) :rounds rounds)))

(defun aqd-bench-after--saving (what target rounds)
  "Compare a save in this project with one while nothing is noted, ROUNDS times.
WHAT is as for `aqd-bench-after--keys', TARGET that of the row."
  (cl-flet ((saving (is-noted)
              (aqd-bench-work
               :n 5
               :before (lambda ()
                         (aqd-bench-after--forget)
                         (agent-q-diff-pending-mode (if is-noted 1 -1))
                         (find-file (aqd-bench-after--name 1001)))
               :run (lambda ()
                      (goto-char (point-max))
                      (insert "x\n")
                      (save-buffer)
                      (redisplay t)))))
    (aqd-bench-felt--compare
     (format "a save in this project%s : without noting it" what) target
     (saving t) (saving nil) :rounds rounds)
    (agent-q-diff-pending-mode)))

(defun aqd-bench-after--large (rounds)
  "Measure keys and saves in files of 100,000 lines, ROUNDS times."
  (aqd-bench-after--repository 1100)
  (pcase-let* ((texts (aqd-bench-texts 100000 1000))
               (`(,original . ,modified) texts)
               (lines (format ", %s lines" (aqd-bench-count 100000))))
    (aqd-bench-after--write 0 original)
    (aqd-bench-after--write 1001 original)
    (aqd-bench-after--mark-reviewed)
    (aqd-bench-after--keys (format "%s, %s hunks" lines (aqd-bench-count 1000)) texts
                           (lambda ()
                             (cl-incf aqd-bench-after--n-written)
                             (aqd-bench-after--write
                              0 (format "%d\n%s" aqd-bench-after--n-written modified)))
                           rounds)
    (aqd-bench-after--saving lines 6 rounds)
    (aqd-bench-after--forget)
    (agent-q-diff-pending-mode -1)))

(defun aqd-bench-after--store-bytes ()
  "Return the number of bytes of what is stored about this project."
  (cl-loop for file in (directory-files-recursively
                        (expand-file-name ".git/agent-q-diff" aqd-bench-after--root) "")
           sum (file-attribute-size (file-attributes file))))

(defun aqd-bench-after--rounds (n)
  "Compare what is stored after N rounds with that after a tenth of them."
  (let (early)
    (dotimes (round n)
      (aqd-bench-after--write 0 (format "%d\n%s" round (car (aqd-bench-texts 100 2))))
      (aqd-bench-after--mark-reviewed)
      (when (= round (/ n 10))
        (setq early (aqd-bench-after--store-bytes))))
    (aqd-bench-row (format "bytes stored after %d rounds : after a tenth of them" n)
                   (aqd-bench-after--store-bytes) early 10 #'aqd-bench-bytes)))

(defun aqd-bench-after ()
  "Measure reviews after the fact."
  (let ((inhibit-message t)
        (rounds (if aqd-bench-quick 3 7)))
    (unwind-protect
        (progn
          (aqd-bench-after--looking 2000 4 rounds)
          (aqd-bench-after--opening rounds)
          (aqd-bench-after--mark-reviewed)
          (aqd-bench-after--keys "" (aqd-bench-texts 102 3)
                                 (lambda () (aqd-bench-after--agent-writes 1))
                                 rounds)
          (aqd-bench-after--saving "" 1.7 rounds)
          (unless aqd-bench-quick
            (aqd-bench-after--rounds 200)
            (aqd-bench-after--looking 50000 2 5)
            (aqd-bench-after--large 5)))
      (aqd-bench-after--forget)
      (agent-q-diff-pending-mode -1))))

(provide 'aqd-bench-after)
;;; aqd-bench-after.el ends here
