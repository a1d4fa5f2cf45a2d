;;; aqd-bench-after.el --- Speed of reviews after the fact  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A git repository of which an agent, by a shell, has changed 300 files:
;; looking at what is pending, opening its review, keys in it, and saves of
;; the user's meanwhile.

;;; Code:

(require 'aqd-bench)
(require 'aqd-bench-felt)
(require 'agent-q-diff-pending)

(defvar aqd-bench-after--review nil
  "The review that is open, or nil.")

(defun aqd-bench-after--git (&rest arguments)
  "Run git with ARGUMENTS in the current directory."
  (unless (eq 0 (apply #'call-process "git" nil nil nil
                       "-c" "user.name=User" "-c" "user.email=user@example.com" arguments))
    (error "Git failed: %S" arguments)))

(defun aqd-bench-after--name (number)
  "Return the name of file NUMBER, in one of many folders."
  (format "d%d/f%d.txt" (/ number 100) number))

(defun aqd-bench-after--write (number text)
  "Write TEXT into file NUMBER."
  (write-region text nil (aqd-bench-after--name number) nil 'silent))

(defun aqd-bench-after--repository (n-files)
  "Make a repository of N-FILES that was looked at, and return its directory."
  (let* ((root (file-name-as-directory
                (expand-file-name (format "after-%d" n-files) aqd-bench-directory)))
         (default-directory root)
         (text (car (aqd-bench-texts 100 2))))
    (make-directory root)
    (aqd-bench-after--git "init" "-q")
    (dotimes (number n-files)
      (when (= 0 (% number 100))
        (make-directory (file-name-directory (aqd-bench-after--name number))))
      (aqd-bench-after--write number (format "%d\n%s" number text)))
    (aqd-bench-after--git "add" ".")
    (aqd-bench-after--git "commit" "-qm" "first")
    (agent-q-diff-review-changes root)
    root))

(defvar aqd-bench-after--n-written 0
  "How often files were written.")

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
  (setq aqd-bench-after--review (agent-q-diff-review-changes))
  (switch-to-buffer (agent-q-diff-session-buffer aqd-bench-after--review))
  (delete-other-windows)
  (redisplay t))

(defun aqd-bench-after--looking (n-files rounds)
  "Compare a look at a tree of N-FILES with git's status, ROUNDS times."
  (let ((default-directory (aqd-bench-after--repository n-files)))
    (aqd-bench-after--agent-writes 300)
    (aqd-bench-felt--compare
     (format "what is pending in %s files, 300 changed : git status" (aqd-bench-count n-files)) 7
     (aqd-bench-work :run (lambda () (agent-q-diff-module-pending default-directory nil)))
     (aqd-bench-work :run (lambda ()
                            (aqd-bench-after--git "--no-optional-locks" "status"
                                                  "--porcelain=v2" "-z"
                                                  "--untracked-files=all")))
     :rounds rounds)
    default-directory))

(defun aqd-bench-after--opening (rounds)
  "Compare opening the review of 300 files with reading them, ROUNDS times."
  (aqd-bench-felt--compare
   "opening the review of these : reading the files" 10
   (aqd-bench-work :before #'aqd-bench-after--forget
                   :run #'aqd-bench-after--open)
   (aqd-bench-work :run (lambda ()
                          (dotimes (number 300)
                            (with-temp-buffer
                              (insert-file-contents (aqd-bench-after--name number))))
                          (redisplay t)))
   :rounds rounds))

(defun aqd-bench-after--ordinary ()
  "Open an ordinary review of a file with three hunks."
  (let ((texts (aqd-bench-texts 102 3)))
    (aqd-bench-after--forget)
    (aqd-bench-after--write 1000 (car texts))
    (setq aqd-bench-after--review
          (agent-q-diff-review (aqd-bench-after--name 1000) (car texts) (cdr texts)
                               "" #'ignore))
    (switch-to-buffer (agent-q-diff-session-buffer aqd-bench-after--review))
    (delete-other-windows)
    (redisplay t)))

(defun aqd-bench-after--keys (rounds)
  "Compare the keys in this review with those in an ordinary one, ROUNDS times."
  (cl-flet ((after (key)
              (aqd-bench-work
               :before (lambda ()
                         (aqd-bench-after--forget)
                         (aqd-bench-after--agent-writes 1)
                         (aqd-bench-after--open)
                         ;; The first key visits the file.
                         (aqd-bench-felt--press "a"))
               :run (lambda () (aqd-bench-felt--press key))))
            (ordinary ()
              (aqd-bench-work :before (lambda ()
                                        (aqd-bench-after--ordinary)
                                        (aqd-bench-felt--press "a"))
                              :run (lambda () (aqd-bench-felt--press "a")))))
    (aqd-bench-felt--compare "a, which keeps : a before the write, with saving" 1
                             (after "a") (ordinary) :rounds rounds)
    (aqd-bench-felt--compare "r, which takes out : the same" 1.5
                             (after "r") (ordinary) :rounds rounds)))

(defun aqd-bench-after--saving (rounds)
  "Compare a save in this project with one while nothing is noted, ROUNDS times."
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
    (aqd-bench-felt--compare "a save in this project : without noting it" 1.7
                             (saving t) (saving nil) :rounds rounds)
    (agent-q-diff-pending-mode)))

(defun aqd-bench-after--store-bytes ()
  "Return the number of bytes of what is stored about this project."
  (cl-loop for file in (directory-files-recursively ".git/agent-q-diff" "")
           sum (file-attribute-size (file-attributes file))))

(defun aqd-bench-after--rounds (root n)
  "Compare what is stored after N rounds with that after a tenth of them.
ROOT is the root of the repository."
  (with-temp-buffer
    (setq default-directory root)
    (let (early)
      (dotimes (round n)
        (aqd-bench-after--write 0 (format "%d\n%s" round (car (aqd-bench-texts 100 2))))
        (agent-q-diff-mark-reviewed)
        (when (= round (/ n 10))
          (setq early (aqd-bench-after--store-bytes))))
      (aqd-bench-row (format "bytes stored after %d rounds : after a tenth of them" n)
                     (aqd-bench-after--store-bytes) early 10 #'aqd-bench-bytes))))

(defun aqd-bench-after ()
  "Measure reviews after the fact."
  (let ((inhibit-message t)
        (rounds (if aqd-bench-quick 3 7)))
    (let ((default-directory (aqd-bench-after--looking 2000 rounds)))
      (unwind-protect
          (progn
            (aqd-bench-after--opening rounds)
            (agent-q-diff-mark-reviewed)
            (aqd-bench-after--keys rounds)
            (aqd-bench-after--saving rounds)
            (unless aqd-bench-quick
              (aqd-bench-after--rounds default-directory 200)))
        (aqd-bench-after--forget)
        (agent-q-diff-pending-mode -1)))
    (unless aqd-bench-quick
      (aqd-bench-after--looking 50000 3)
      (agent-q-diff-pending-mode -1))))

(provide 'aqd-bench-after)
;;; aqd-bench-after.el ends here
