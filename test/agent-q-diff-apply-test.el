;;; agent-q-diff-apply-test.el --- Edits of the target as one undo step  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What must stay as it is in the user's buffer, and what is undone if an
;; edit fails.

;;; Code:

(require 'agent-q-diff-project-help)

;;;; One step

(ert-deftest aqd-apply-each-command-is-one-undo-step ()
  (aqd-with-file aqd-original
    (aqd-visit)
    (aqd-review aqd-original
                (aqd-numbered 20 '((2 . "two") (4 . "four") (15 . "fifteen")))
                "a a q")
    (with-current-buffer (aqd-visit)
      (let ((last-command nil))
        (undo)
        (should (equal (buffer-string)
                       (aqd-numbered 20 '((2 . "two") (4 . "four")))))
        (setq last-command 'undo)
        (undo-more 1)
        (should (equal (buffer-string) aqd-original))))))

(ert-deftest aqd-apply-point-markers-and-overlays-stay-on-their-lines ()
  (aqd-with-file aqd-original
    (with-current-buffer (aqd-visit)
      (let* ((line (lambda (n) (agent-q-diff-text-position (current-buffer)
                                                           (1- n))))
             (marks (cl-loop for n in '(3 9 11 18)
                             collect (cons (format "line %d" n)
                                           (copy-marker (funcall line n)))))
             (fold (make-overlay (funcall line 14) (funcall line 16))))
        (goto-char (funcall line 18))
        (aqd-call aqd-original
                  (aqd-numbered 20 '((2 . "line 2\nnew") (10 . "LINE 10\nNEW")
                                     (12)))
                  #'agent-q-diff-accept-all)
        (set-buffer (aqd-visit))
        (pcase-dolist (`(,text . ,marker) marks)
          (goto-char marker)
          (should (looking-at-p (concat text "$"))))
        (should (equal "line 14\nline 15\n"
                       (buffer-substring (overlay-start fold) (overlay-end fold))))))))

(ert-deftest aqd-apply-narrowing-stays-and-edits-inside-it-apply ()
  (aqd-with-file aqd-original
    (with-current-buffer (aqd-visit)
      (narrow-to-region (agent-q-diff-text-position (current-buffer) 5)
                        (agent-q-diff-text-position (current-buffer) 15))
      (should (equal "accepted" (aqd-review aqd-original aqd-modified "a q")))
      (set-buffer (aqd-visit))
      (should (buffer-narrowed-p))
      (should (equal (agent-q-diff-text-in (current-buffer)) aqd-modified)))))

(ert-deftest aqd-apply-narrowed-elsewhere ()
  (aqd-target-refuses (narrow-to-region (point-min) (+ 10 (point-min)))
    (widen)))

(ert-deftest aqd-apply-literal-escapes-stay-literal ()
  (let ((original "a = 1\n")
        (modified "a = \"\\n\\t\\\\ \\& \\1 $1 $&\"\n"))
    (aqd-with-file original
      (aqd-review original modified "a q")
      (should (equal (aqd-disk) modified)))))

(ert-deftest aqd-apply-can-be-emptied ()
  (aqd-with-file aqd-original
    (should (equal "accepted" (aqd-review aqd-original "" "a q")))
    (should (equal (aqd-disk) ""))))

(ert-deftest aqd-apply-ruling-4-is-one-undo-step ()
  (aqd-with-forty-lines
    (aqd-visit)
    (should (equal "accepted" (aqd-review-three "C-c C-c")))
    (with-current-buffer (aqd-visit)
      (should (equal (buffer-string) (cdr aqd-three)))
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) (car aqd-three))))))

(ert-deftest aqd-apply-ruling-4-is-one-undo-step-whatever-hooks-do ()
  (aqd-with-forty-lines
    (with-current-buffer (aqd-visit)
      (add-hook 'after-change-functions (lambda (&rest _) (undo-boundary)) nil t))
    (should (equal "accepted" (aqd-review-three "C-c C-c")))
    (with-current-buffer (aqd-visit)
      (setq after-change-functions nil)
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) (car aqd-three))))))

;;;; Directories of a new file

(ert-deftest aqd-apply-directories-of-a-new-file-are-created ()
  (aqd-with-file ""
    (let* ((root (file-name-directory aqd-file))
           (new (expand-file-name "one/two/new.txt" root))
           (propose (lambda ()
                      (plist-get (agent-q-diff-review-and-wait new "" "new\n" "d")
                                 :decision))))
      ;; Neither a rejection nor undoing an acceptance leaves anything.
      (dolist (keys '("r q" "a u r q" "a u C-c C-k"))
        (should (equal "rejected" (aqd-play keys propose)))
        (should-not (file-exists-p (expand-file-name "one" root))))
      (let ((agent-q-diff-create-directories nil))
        (should (eq 'agent-q-diff-not-applied (car (aqd-play "a q" propose))))
        (should-not (file-exists-p (expand-file-name "one" root))))
      (should (equal "accepted" (aqd-play "a q" propose)))
      (let ((aqd-file new))
        (should (equal (aqd-disk) "new\n")))
      (with-current-buffer (find-buffer-visiting new)
        (set-buffer-modified-p nil)
        (kill-buffer)))))

(defun aqd-apply-accept-new (below function)
  "Accept a new file BELOW, relative to the test's directory; that must fail.
FUNCTION is called before, in the file's buffer, with the review."
  (let* ((aqd-answers nil)
         (new (expand-file-name below (file-name-directory aqd-file)))
         (review (agent-q-diff-review new "" "new ٢\n" "d" #'ignore)))
    (unwind-protect
        (progn
          (with-current-buffer (aqd-target-of review)
            (funcall function review))
          (let ((came-to (condition-case nil
                             (agent-q-diff-accept review 0)
                           ((error quit) 'refused))))
            (should (eq 'refused came-to)))
          (should-not (file-exists-p new)))
      (let ((target (aqd-target-of review)))
        (agent-q-diff-cancel review)
        (when (buffer-live-p target)
          (with-current-buffer target
            (set-buffer-modified-p nil)
            (kill-buffer)))))))

(ert-deftest aqd-apply-directories-of-a-file-that-is-refused-are-removed ()
  (pcase-dolist
      (`(,what ,below ,function)
       `(("text that cannot be written" "one/two/new.txt"
          ,(lambda (_) (setq buffer-file-coding-system 'latin-1-unix)))
         ("a check of the caller's" "one/two/new.txt"
          ,(lambda (review)
             (let ((n 0))
               (aqd-check-with review
                               (lambda ()
                                 (when (= 2 (cl-incf n))
                                   (agent-q-diff-file-refuse "not any more")))))))
         ("a hook that fails" "one/two/new.txt"
          ,(lambda (_) (add-hook 'write-file-functions (lambda () (error "No")) nil t)))
         ("a hook that quits" "one/two/new.txt"
          ,(lambda (_) (add-hook 'write-file-functions (lambda () (signal 'quit nil)) nil t)))
         ("a directory that cannot be made" ,(format "one/%s/new.txt" (make-string 300 ?n))
          ,#'ignore)))
    (ert-info (what :prefix "case: ")
      (aqd-with-file ""
        (aqd-apply-accept-new below function)
        (should (equal '("target.txt")
                       (directory-files (file-name-directory aqd-file) nil
                                        directory-files-no-dot-files-regexp)))))))

(ert-deftest aqd-apply-directories-that-were-there-stay-when-a-file-is-refused ()
  (aqd-with-file ""
    (let ((one (expand-file-name "one" (file-name-directory aqd-file))))
      (make-directory one)
      (aqd-apply-accept-new "one/two/new.txt"
                            (lambda (_)
                              (setq buffer-file-coding-system 'latin-1-unix)))
      (should (directory-empty-p one)))))

(ert-deftest aqd-apply-directory-that-others-use-meanwhile-stays ()
  (aqd-with-file ""
    (let* ((root (file-name-directory aqd-file))
           (new (expand-file-name "one/new.txt" root)))
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (agent-q-diff-accept-hunk)
                   (write-region "x" nil (expand-file-name "one/other" root)
                                 nil 'silent)
                   (agent-q-diff-unapply-hunk)
                   (agent-q-diff-reject-all))))
        (sly-agent-q-show-diff-and-wait new "" "new\n" "d"))
      (should-not (file-exists-p new))
      (should (file-exists-p (expand-file-name "one/other" root))))))

(provide 'agent-q-diff-apply-test)
;;; agent-q-diff-apply-test.el ends here
