;;; aqd-bench-several.el --- Speed of a change of many files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A change of 300 files and 5,100 hunks, with the settings that a user
;; begins with: to its first screen, its first and last key, all of it.
;; And one of 2,000 files and 4,000 hunks: to its first screen, to the next
;; hunk right after that, to the overview.

;;; Code:

(require 'aqd-bench)
(require 'aqd-bench-felt)
(require 'agent-q-diff-api)

(defvar aqd-bench-several--review nil
  "The review that is open, or nil.")

(defun aqd-bench-several--texts (number n-hunks)
  "Return (ORIGINAL . MODIFIED), the texts of file NUMBER, with N-HUNKS."
  (let ((texts (aqd-bench-texts (* 24 n-hunks) n-hunks)))
    (cons (concat (format "// File %d\n" number) (car texts))
          (concat (format "// File %d\n" number) (cdr texts)))))

(defun aqd-bench-several--files (n n-hunks)
  "Write N files, and return a proposal for all of them, N-HUNKS in each."
  (cl-loop for number below n
           for (original . modified) = (aqd-bench-several--texts number n-hunks)
           for file = (aqd-bench-file (format "several-%d.txt" number) original)
           collect (list :path file :original original :modified modified)))

(defun aqd-bench-several--forget (files)
  "End the review that is open, and make FILES what they were."
  (when aqd-bench-several--review
    (agent-q-diff-cancel aqd-bench-several--review)
    (setq aqd-bench-several--review nil))
  (dolist (file files)
    (aqd-bench--forget (plist-get file :path))
    (aqd-bench-file (plist-get file :path) (plist-get file :original))))

(defun aqd-bench-several--open (files)
  "Open a review of FILES, and show its first screen."
  (setq aqd-bench-several--review (agent-q-diff-review-change files "Many" #'ignore))
  (switch-to-buffer (agent-q-diff-session-buffer aqd-bench-several--review))
  (redisplay t))

(defun aqd-bench-several--opening (files &optional is-whole)
  "Return a work that opens a review of FILES.
If IS-WHOLE is non-nil, it inserts the hunks below the first screen, too."
  (aqd-bench-work
   :before (lambda () (aqd-bench-several--forget files))
   :run (lambda ()
          (aqd-bench-several--open files)
          (when is-whole
            (agent-q-diff-buffer-complete)))))

(defun aqd-bench-several--reading (files)
  "Return a work that reads FILES."
  (aqd-bench-work
   :run (lambda ()
          (dolist (file files)
            (with-temp-buffer
              (insert-file-contents (plist-get file :path))))
          (redisplay t))))

(defun aqd-bench-several--accepting-all (files)
  "Return a work that accepts all of FILES by the key, and finishes."
  (aqd-bench-work
   :before (lambda ()
             (aqd-bench-several--forget files)
             (aqd-bench-several--open files))
   :run (lambda () (aqd-bench-felt--press "\C-c\C-c"))))

(defun aqd-bench-several--saving (files)
  "Return a work that visits each of FILES, inserts a character, and saves it."
  (aqd-bench-work
   :before (lambda () (aqd-bench-several--forget files))
   :run (lambda ()
          (dolist (file files)
            (with-current-buffer (find-file-noselect (plist-get file :path))
              (insert "x")
              (save-buffer)))
          (redisplay t))))

(defun aqd-bench-several--key (files hunk)
  "Return a work that accepts HUNK of FILES, and the next two, by the key."
  (aqd-bench-work
   :n 3
   :before (lambda ()
             (aqd-bench-several--forget files)
             (aqd-bench-several--open files)
             (agent-q-diff-buffer-goto-hunk hunk)
             (aqd-bench-felt--press "a")
             ;; The files in view are visited soon after they are shown.
             (sit-for 0.01))
   :run (lambda () (aqd-bench-felt--press "a"))))

(defun aqd-bench-several ()
  "Measure a change of many files."
  (let* ((files (aqd-bench-several--files 300 17))
         (what "300 files, 5,100 hunks")
         (rounds (if aqd-bench-quick 3 7)))
    (aqd-bench-felt--compare (format "opening %s : reading the files" what) 2
                             (aqd-bench-several--opening files)
                             (aqd-bench-several--reading files)
                             :rounds rounds)
    (aqd-bench-felt--compare "the same, until all hunks are inserted" nil
                             (aqd-bench-several--opening files 'is-whole)
                             (aqd-bench-several--reading files)
                             :rounds rounds)
    (aqd-bench-felt--compare "a, one of the last of these hunks : one of the first" 1.1
                             (aqd-bench-several--key files 5095)
                             (aqd-bench-several--key files 0)
                             :rounds rounds)
    (unless aqd-bench-quick
      (aqd-bench-felt--compare "accept all of these : visit, insert and save-buffer in each" 2.5
                               (aqd-bench-several--accepting-all files)
                               (aqd-bench-several--saving files)
                               :rounds 3))
    (aqd-bench-several--forget files)
    (mapc #'delete-file (mapcar (lambda (file) (plist-get file :path)) files)))
  (unless aqd-bench-quick
    (aqd-bench-several--thousands)))

(defun aqd-bench-several--thousands ()
  "Measure a change of thousands of files."
  (let ((files (aqd-bench-several--files 2000 2)))
    (aqd-bench-felt--compare "opening 2,000 files, 4,000 hunks : reading the files" 2.5
                             (aqd-bench-several--opening files)
                             (aqd-bench-several--reading files)
                             :rounds 5)
    (aqd-bench-felt--compare "the first n in these : the next" 1.5
                             (aqd-bench-several--key-after files nil "n")
                             (aqd-bench-several--key-after files "n" "n")
                             :rounds 5)
    (aqd-bench-felt--compare "o in these : reading the files" 3
                             (aqd-bench-several--key-after files #'agent-q-diff-buffer-complete "o")
                             (aqd-bench-several--reading files)
                             :rounds 5)
    (aqd-bench-several--forget files)))

(defun aqd-bench-several--key-after (files before key)
  "Return a work that presses KEY in a review of FILES.
BEFORE is a key or a function; it comes after opening, and is not measured."
  (aqd-bench-work
   :before (lambda ()
             (aqd-bench-several--forget files)
             (aqd-bench-several--open files)
             (if (functionp before)
                 (funcall before)
               (aqd-bench-felt--press (or before ""))))
   :run (lambda () (aqd-bench-felt--press key))))

(provide 'aqd-bench-several)
;;; aqd-bench-several.el ends here
