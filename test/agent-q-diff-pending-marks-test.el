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

;;;; Marks in the fringe

(defmacro aqd-with-marks (&rest body)
  "Evaluate BODY in a buffer that visits f.txt, while marks are shown."
  (declare (indent 0) (debug t))
  `(unwind-protect
       (progn
         (agent-q-diff-pending-marks-mode)
         (with-current-buffer (find-file-noselect (aqd-pending-name "f.txt"))
           ,@body))
     (agent-q-diff-pending-marks-mode -1)))

(defun aqd-marks ()
  "Return the marks in this buffer, a list of (LINE-OF-TEXT . BITMAP)."
  (mapcar (lambda (overlay)
            (cons (save-excursion
                    (goto-char (overlay-start overlay))
                    (buffer-substring (line-beginning-position) (line-end-position)))
                  (nth 1 (get-text-property 0 'display (overlay-get overlay 'before-string)))))
          (sort (seq-filter (lambda (overlay)
                              (overlay-get overlay 'agent-q-diff-pending-mark))
                            (overlays-in (point-min) (1+ (point-max))))
                (lambda (one other)
                  (< (overlay-start one) (overlay-start other))))))

(defconst aqd-marks-three
  (concat "new 1\nnew 2\n" (aqd-numbered 27 '((5 . nil) (20 . "twenty"))))
  "Text of f.txt after an agent has added, removed and changed lines.")

(defconst aqd-marks-of-three
  '(("new 1" . vertical-bar) ("new 2" . vertical-bar) ("line 6" . top-left-angle)
    ("twenty" . vertical-bar) ("line 27" . top-left-angle))
  "The marks of the text `aqd-marks-three'.")

(ert-deftest aqd-marks-are-beside-the-lines-that-are-not-reviewed ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-marks-three)
    (aqd-with-marks
      (should-not (aqd-marks))
      (aqd-marks-count)
      (should (equal aqd-marks-of-three (aqd-marks)))
      (should-not (buffer-modified-p)))))

(ert-deftest aqd-marks-are-in-a-project-without-git-as-well ()
  (aqd-with-plain-project
    (aqd-pending-put "f.txt" aqd-marks-three)
    (aqd-with-marks
      (aqd-marks-count)
      (should (equal aqd-marks-of-three (aqd-marks))))))

(ert-deftest aqd-marks-move-with-the-text-and-go-when-it-is-reviewed ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-marks-three)
    (aqd-with-marks
      (aqd-marks-count)
      (goto-char (point-min))
      (insert "mine\n")
      (should (equal aqd-marks-of-three (aqd-marks)))
      ;; A look at unsaved edits leaves them as they are.
      (aqd-marks-count)
      (should (equal aqd-marks-of-three (aqd-marks)))
      (save-buffer)
      (aqd-marks-count)
      (should (equal aqd-marks-of-three (aqd-marks)))
      (goto-char (point-min))
      (search-forward "twenty\n")
      (delete-region (match-beginning 0) (match-end 0))
      (should (equal (assoc-delete-all "twenty" (copy-alist aqd-marks-of-three))
                     (aqd-marks)))
      (agent-q-diff-mark-reviewed)
      (aqd-marks-count)
      (should-not (aqd-marks)))))

(ert-deftest aqd-marks-follow-what-is-decided-and-what-is-written ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-marks
      (aqd-marks-count)
      (should (equal '("three" "x") (mapcar #'car (aqd-marks))))
      (save-current-buffer
        (aqd-with-pending
          (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
      (aqd-marks-count)
      (should (equal '("x") (mapcar #'car (aqd-marks))))
      (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three") (9 . "nine"))))
      (revert-buffer t t)
      (aqd-marks-count)
      (should (equal '("nine") (mapcar #'car (aqd-marks)))))))

(ert-deftest aqd-marks-leave-nothing-when-they-are-switched-off ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-marks-three)
    (aqd-with-marks
      (aqd-marks-count)
      (text-mode)
      (narrow-to-region (point-max) (point-max))
      (agent-q-diff-pending-marks-mode -1)
      (widen)
      (should-not (overlays-in (point-min) (1+ (point-max))))
      (should-not next-error-function)
      (aqd-marks-count)
      (should-not (overlays-in (point-min) (1+ (point-max)))))))

(ert-deftest aqd-marks-of-very-many-lines-are-one-for-each-run ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-marks-three)
    (aqd-with-marks
      ;; There are three.
      (let ((agent-q-diff-pending-marks--n-most 2))
        (aqd-marks-count))
      (should (equal (assoc-delete-all "new 2" (copy-alist aqd-marks-of-three))
                     (aqd-marks))))))

(ert-deftest aqd-marks-are-those-of-the-lines-of-hunks ()
  (pcase-dolist (`(,runs ,diff)
                 '((((0 0 removed t)) "--- a\n+++ a\n@@ -1,2 +0,0 @@\n-@@ 1\n--- 2\n")
                   (((0 1 added t)) "@@ -0,0 +1 @@\n++++ 1\n\\ No newline at end of file\n")
                   (((2 1 changed t) (4 0 removed nil) (20 2 added t))
                    "@@ -2,4 +2,3 @@ f\n 2\n-3\n+x\n 4\n-5\n@@ -21 +20,3 @@\n 20\n+y\n+z\n")))
    (let ((review (agent-q-diff-engine-review-diff diff)))
      (should (equal runs (mapcan #'agent-q-diff-pending-marks--runs-of
                                  (agent-q-diff-module-shown-lines
                                   review 0 (car (agent-q-diff-module-tally review))))))
      (agent-q-diff-module-free review))))

(ert-deftest aqd-marks-leave-nothing-when-the-package-is-unloaded ()
  (pcase-dolist (`(,n ,use) '((5 (agent-q-diff-pending-marks-mode)) (0 (ignore))))
    (aqd-with-repository
      (aqd-pending-put "f.txt" aqd-marks-three)
      (should
       (equal (format "(%d t nil nil)" n)
              (aqd-in-fresh-emacs
               `(with-current-buffer (find-file-noselect ,(aqd-pending-name "f.txt"))
                  (let ((inhibit-message t))
                    (require 'agent-q-diff)
                    ,use
                    (agent-q-diff-next-unreviewed)
                    (agent-q-diff-pending--count ,aqd-pending-root)
                    (list (length (overlays-in (point-min) (point-max)))
                          (and next-error-function t)
                          (progn (agent-q-diff-unload)
                                 (overlays-in (point-min) (point-max)))
                          next-error-function)))))))))

;;;; Going from hunk to hunk

(defun aqd-marks-here ()
  "Return (FILE . LINE), where point is in the selected window.
FILE is a name without folder, LINE a text."
  (with-current-buffer (window-buffer)
    (cons (file-name-nondirectory buffer-file-name)
          (buffer-substring-no-properties (line-beginning-position) (line-end-position)))))

(defmacro aqd-with-places (&rest body)
  "Evaluate BODY in a window that shows f.txt, where two files have four hunks.
A file that was deleted and a link are pending, too, and have no place."
  (declare (indent 0) (debug t))
  `(aqd-with-repository
     (aqd-pending-put "gone.txt" "x\n")
     (agent-q-diff-mark-reviewed)
     (delete-file (aqd-pending-name "gone.txt"))
     (aqd-pending-put "f.txt" aqd-pending-written)
     (aqd-pending-put "h.txt" "new\n")
     (aqd-pending-put "i.bin" "\0")
     (make-symbolic-link "f.txt" (aqd-pending-name "g"))
     (aqd-marks-count)
     (switch-to-buffer (find-file-noselect (aqd-pending-name "f.txt")))
     ,@body))

(ert-deftest aqd-marks-next-unreviewed-goes-on-in-the-next-file ()
  (aqd-with-places
    (agent-q-diff-next-unreviewed)
    (should (equal '("f.txt" . "three") (aqd-marks-here)))
    (agent-q-diff-next-unreviewed)
    (should (equal '("f.txt" . "x") (aqd-marks-here)))
    (agent-q-diff-next-unreviewed)
    (should (equal '("h.txt" . "new") (aqd-marks-here)))
    (agent-q-diff-next-unreviewed)
    (should (equal "i.bin" (car (aqd-marks-here))))
    (should-error (agent-q-diff-next-unreviewed) :type 'user-error)
    (agent-q-diff-previous-unreviewed)
    (should (equal '("h.txt" . "new") (aqd-marks-here)))
    (agent-q-diff-previous-unreviewed 2)
    (should (equal '("f.txt" . "three") (aqd-marks-here)))
    (should-error (agent-q-diff-previous-unreviewed) :type 'user-error)
    (agent-q-diff-next-unreviewed 3)
    (should (equal "i.bin" (car (aqd-marks-here))))))

(ert-deftest aqd-marks-next-error-goes-on-from-there ()
  (aqd-with-places
    (with-temp-buffer
      (setq-local next-error-function #'ignore)
      (setq next-error-last-buffer (current-buffer))
      (agent-q-diff-next-unreviewed)
      (next-error))
    (should (equal '("f.txt" . "x") (aqd-marks-here)))
    (next-error)
    (should (equal '("h.txt" . "new") (aqd-marks-here)))
    (next-error)
    (should (equal "i.bin" (car (aqd-marks-here))))
    (previous-error 2)
    (should (equal '("f.txt" . "x") (aqd-marks-here)))
    (first-error)
    (should (equal '("f.txt" . "three") (aqd-marks-here)))))

(ert-deftest aqd-marks-places-move-with-unsaved-edits ()
  (aqd-with-places
    (agent-q-diff-next-unreviewed)
    (goto-char (point-min))
    (insert "mine\n\n")
    (narrow-to-region (point-min) (point))
    (let ((agent-q-diff-pending--least-seconds 0))
      (agent-q-diff-next-unreviewed))
    (should (equal '("f.txt" . "three") (aqd-marks-here)))))

(ert-deftest aqd-marks-a-buffer-follows-its-file-before-point-moves ()
  (aqd-with-repository
    (switch-to-buffer (find-file-noselect (aqd-pending-name "f.txt")))
    ;; Right after the last look.
    (aqd-pending-put "f.txt" aqd-pending-written)
    (agent-q-diff-next-unreviewed 2)
    (should (equal '("f.txt" . "x") (aqd-marks-here)))))

(ert-deftest aqd-marks-next-error-of-another-package-stays ()
  (aqd-with-places
    (setq-local next-error-function #'ignore)
    (agent-q-diff-next-unreviewed)
    (should (equal '("f.txt" . "three") (aqd-marks-here)))
    (should (eq #'ignore next-error-function))))

(ert-deftest aqd-marks-next-error-visits-the-places-of-a-review ()
  (aqd-with-places
    (switch-to-buffer "*scratch*")
    ;; Where `next-error' was before.
    (with-temp-buffer
      (setq-local next-error-function #'ignore)
      (setq next-error-last-buffer (current-buffer))
      (let ((review (agent-q-diff-review-changes aqd-pending-root)))
        (next-error 1 t)
        (should (eq (get-file-buffer (aqd-pending-name "f.txt"))
                    (window-buffer (next-window))))
        (agent-q-diff-end review)))))

(ert-deftest aqd-marks-a-project-that-was-never-looked-at-has-no-places ()
  (with-temp-buffer
    (setq default-directory temporary-file-directory)
    (should (string-match-p "begin with M-x agent-q-diff-review-changes"
                            (cadr (should-error (agent-q-diff-next-unreviewed)
                                                :type 'user-error))))))

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

(ert-deftest aqd-marks-magit-stages-by-the-users-keys ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-marks-count)
    (aqd-marks-with-magit
      (goto-char (point-min))
      (search-forward "+three")
      (set-window-buffer nil (current-buffer))
      (set-window-point nil (point))
      (execute-kbd-macro "s")
      (should (string-search "+three" (aqd-pending-git "diff" "--cached"))))
    (aqd-with-pending
      (should (equal '(nil) (append agent-q-diff-buffer-marks nil)))
      (should-not (string-search "+three" (buffer-string))))))

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
