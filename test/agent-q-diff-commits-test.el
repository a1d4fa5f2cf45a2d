;;; agent-q-diff-commits-test.el --- This repository's commits, played as patches  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent proposes each of the latest commits of this repository as git
;; prints it, in a folder that has the files of the commit's parent.  All of it
;; is accepted, and then the folder must have what the commit has.

;;; Code:

(require 'agent-q-diff-git-help)

(defconst aqd-commits-n 100
  "Number of commits that are played, if there are so many.")

(defun aqd-commits-changes (parent commit)
  "Return what COMMIT changes of PARENT, a list of (NAME OLD NEW).
OLD and NEW are each (MODE . ID), or nil if there is no such file.  Binary files
are left out."
  (let ((items (split-string (aqd-source-git "diff-tree" "-r" "-z" "--no-renames" "--raw"
                                             "--numstat" parent commit)
                             "\0" t))
        changes)
    (while items
      (let ((item (pop items)))
        (pcase (split-string item "[ \t]")
          ((and `(,mode ,new-mode ,id ,new-id ,_)
                (guard (string-prefix-p ":" item)))
           (push (list (pop items)
                       (and (not (equal mode ":000000")) (cons (substring mode 1) id))
                       (and (not (equal new-mode "000000")) (cons new-mode new-id)))
                 changes))
          (`("-" "-" . ,_)
           (setq changes (assoc-delete-all (string-remove-prefix "-\t-\t" item) changes))))))
    (nreverse changes)))

(defun aqd-commits-put (name state)
  "Write the file NAME as STATE, (MODE . ID) or nil, says."
  (pcase state
    (`("120000" . ,id)
     (make-directory (file-name-directory name) t)
     (make-symbolic-link (aqd-source-git "cat-file" "blob" id) name))
    (`(,mode . ,id)
     (make-directory (file-name-directory name) t)
     (let ((coding-system-for-read 'no-conversion))
       (aqd-put-bytes (aqd-source-git "cat-file" "blob" id) name))
     (set-file-modes name (if (equal mode "100755") #o755 #o644)))))

(defun aqd-commits-states (folder)
  "Return the files in FOLDER as a commit has them, a list of (NAME MODE . ID)."
  (mapcar (lambda (name)
            (let* ((link (file-symlink-p name))
                   (bytes (if link (encode-coding-string link 'utf-8) (aqd-bytes-of name))))
              (cl-list* (file-relative-name name folder)
                        (cond (link "120000")
                              ((file-executable-p name) "100755")
                              (t "100644"))
                        (secure-hash 'sha1 (concat (format "blob %d\0" (length bytes)) bytes)))))
          (directory-files-recursively folder "")))

(defun aqd-commits-play (parent commit changes)
  "Play COMMIT as a patch of its PARENT; return what is wrong after that, or nil.
CHANGES are those of `aqd-commits-changes'.  The value is a list of the message
for the agent, and of the files that differ as they are and as they should be."
  (let* ((folder (file-name-as-directory (file-truename (make-temp-file "aqd-commit" t))))
         (default-directory folder)
         (agent-q-diff-project-root folder)
         (agent-q-diff-display 'announce)
         (result nil))
    (unwind-protect
        (progn
          (pcase-dolist (`(,name ,old ,_) changes)
            (aqd-commits-put (concat folder name) old))
          (condition-case err
              (let ((review (agent-q-diff-tools-propose
                             "propose_patch"
                             `((diff . ,(apply #'aqd-source-git "diff-tree" "-r" "-p" "-M"
                                               parent commit "--"
                                               (mapcar (lambda (change)
                                                         (concat ":(top,literal)" (car change)))
                                                       changes)))
                               (description . "A commit"))
                             (lambda (answer) (setq result answer)))))
                (when (agent-q-diff-session-buffer review)
                  (aqd-in-diff review (agent-q-diff-accept-all)))
                (let* ((has (aqd-commits-states folder))
                       (should-have (cl-loop for (name _ new) in changes
                                             when new collect (cons name new)))
                       (superfluous (cl-set-difference has should-have :test #'equal))
                       (missing (cl-set-difference should-have has :test #'equal)))
                  (when (or superfluous missing)
                    (list (plist-get result :message) superfluous missing))))
            (agent-q-diff-error (list (agent-q-diff-error-text err)))))
      (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews))
      (aqd-remove-tree folder))))

(ert-deftest aqd-commits-played-as-patches-give-their-trees ()
  :tags '(slow)
  (let ((commits (aqd-source-commits aqd-commits-n))
        (n 0)
        wrong)
    ;; A clone of depth 1 has none.
    (skip-unless commits)
    (let ((inhibit-message t))
      (pcase-dolist (`(,commit ,parent) commits)
        (when-let ((changes (aqd-commits-changes parent commit)))
          (cl-incf n)
          (when-let ((how (aqd-commits-play parent commit changes)))
            (push (cons commit how) wrong)))))
    (message "Played %d commits" n)
    (should-not wrong)))

(provide 'agent-q-diff-commits-test)
;;; agent-q-diff-commits-test.el ends here
