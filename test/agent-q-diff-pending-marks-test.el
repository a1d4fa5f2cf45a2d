;;; agent-q-diff-pending-marks-test.el --- What is pending, in files and in Magit  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent has written by a shell; what then shows the user that it is not
;; reviewed, outside of a review.  Magit is Debian's.

;;; Code:

(require 'agent-q-diff-git-help)
(require 'agent-q-diff-pending-marks)

(defun aqd-marks-count ()
  "Count what is pending, as when Emacs is idle."
  (let ((agent-q-diff-pending--least-seconds 0))
    (agent-q-diff-pending-count-soon aqd-pending-root)
    (agent-q-diff-pending--count-all)))

;;;; Magit

(declare-function magit-status-setup-buffer "ext:magit-status" (&optional directory))
(declare-function magit-refresh "ext:magit-mode" ())

(defun aqd-marks-magit-path ()
  "Return the folders of Debian's Magit, and of what it needs."
  (mapcar (lambda (name)
            (or (car (file-expand-wildcards
                      (format "/usr/share/emacs/site-lisp/elpa-src/%s-[0-9]*" name)))
                (error "Debian's elpa-magit is not installed; make test installs it")))
          '("magit" "magit-section" "git-commit" "with-editor" "dash")))

(defmacro aqd-marks-with-magit (&rest body)
  "Evaluate BODY in the status buffer of the test's repository."
  (declare (indent 0) (debug t))
  `(let ((load-path (append (aqd-marks-magit-path) load-path))
         (inhibit-message t))
     (require 'magit)
     (with-current-buffer (magit-status-setup-buffer aqd-pending-root)
       ,@body)))

(defun aqd-marks-section ()
  "Return the line on what is pending in this status buffer, or nil."
  (save-excursion
    (goto-char (point-min))
    (and (search-forward "Unreviewed" nil t)
         (buffer-substring-no-properties (line-beginning-position) (line-end-position)))))

(ert-deftest aqd-marks-magit-has-a-section-that-opens-the-review ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-marks-count)
    (aqd-marks-with-magit
      (should (equal "Unreviewed: 1 file, 2 hunks" (aqd-marks-section)))
      ;; Above the changes that Magit shows.
      (goto-char (point-min))
      (search-forward "Unstaged changes")
      (search-backward "Unreviewed")
      (should (eq 'agent-q-diff-review-changes (key-binding "\r")))
      (call-interactively (key-binding "\r")))
    (let ((review (car (agent-q-diff-open-reviews))))
      (should (= 2 (length (agent-q-diff-change-marks (agent-q-diff-session-change review)))))
      (agent-q-diff-end review))))

(ert-deftest aqd-marks-magit-shows-what-was-counted-and-looks-at-nothing-itself ()
  (aqd-with-repository
    (aqd-marks-count)
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-marks-with-magit
      (should-not (aqd-marks-section))
      (should (equal (list aqd-pending-root) agent-q-diff-pending--to-count))
      (aqd-marks-count)
      (should-not (aqd-marks-section))
      (magit-refresh)
      (should (equal "Unreviewed: 1 file, 2 hunks" (aqd-marks-section)))
      (agent-q-diff-mark-reviewed)
      (magit-refresh)
      (should-not (aqd-marks-section)))))

(ert-deftest aqd-marks-magit-shows-nothing-of-a-project-that-was-never-looked-at ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (agent-q-diff-pending-mode -1)
    (clrhash agent-q-diff-pending--projects)
    (delete-directory (aqd-pending-name ".git/agent-q-diff") t)
    (aqd-marks-with-magit
      (should-not (aqd-marks-section))
      (should-not agent-q-diff-pending--to-count)
      (should-not (file-exists-p (aqd-pending-name ".git/agent-q-diff"))))))

(ert-deftest aqd-marks-magit-has-the-section-until-the-package-is-unloaded ()
  (should
   (equal
    "(nil t t nil t)"
    (aqd-in-fresh-emacs
     `(progn
        (setq load-path (append ',(aqd-marks-magit-path) load-path))
        (require 'agent-q-diff)
        (let ((section 'agent-q-diff-pending-marks-insert-section)
              (inhibit-message t))
          (list (boundp 'magit-status-sections-hook)
                (progn (require 'magit)
                       (and (memq section magit-status-sections-hook) t))
                (and (memq 'magit-insert-untracked-files magit-status-sections-hook) t)
                (progn (agent-q-diff-unload)
                       (memq section magit-status-sections-hook))
                (and (memq 'magit-insert-untracked-files magit-status-sections-hook) t))))))))

(provide 'agent-q-diff-pending-marks-test)
;;; agent-q-diff-pending-marks-test.el ends here
