;;; agent-q-diff-visit-test.el --- Naming, visiting and closing the target  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Names that are refused, what visiting must not run, and which buffers
;; and files stay after a review.

;;; Code:

(require 'agent-q-diff-project-help)

(ert-deftest aqd-visit-names-that-are-refused ()
  (aqd-with-file aqd-original
    (let ((directory (file-name-directory aqd-file)))
      (let ((file-name-handler-alist nil))
        (dolist (name '("x.tar" "x.gpg" "x.gz"))
          (write-region "x" nil (expand-file-name name directory) nil 'silent)))
      (call-process "mkfifo" nil nil nil (expand-file-name "fifo" directory))
      (dolist (name (list "" "a\0b" directory (directory-file-name directory)
                          "/dev/null" "/ssh:nowhere:/x" "/sudo::/etc/passwd"
                          (expand-file-name "x.tar" directory)
                          (expand-file-name "x.gpg" directory)
                          (expand-file-name "x.gz" directory)
                          (expand-file-name "fifo" directory)))
        (should (eq 'agent-q-diff-bad-target
                    (car (should-error (agent-q-diff-visit
                                        (agent-q-diff-visit-name name)))))))
      (should-not (get-file-buffer "/dev/null")))))

(ert-deftest aqd-visit-local-variables-do-not-run-code ()
  (let* ((tail (concat "# Local Vari" "ables:\n# eval: (setq aqd-evil t)\n# End:\n"))
         (original (concat "a\nb\n" tail))
         (modified (concat "A\nb\n" tail)))
    (aqd-with-file original
      (aqd-review original modified "a q")
      (should-not (boundp 'aqd-evil))
      (should (equal (aqd-disk) modified)))))

(ert-deftest aqd-visit-that-does-not-exist-is-created-on-acceptance ()
  (aqd-with-file aqd-original
    (delete-file aqd-file)
    (should (equal "rejected" (aqd-review "" "new\n" "r q")))
    (should-not (file-exists-p aqd-file))
    (should (equal "accepted" (aqd-review "" "new\n" "a q")))
    (should (equal (aqd-disk) "new\n"))))

(ert-deftest aqd-visit-no-backup-of-what-a-review-created ()
  (aqd-with-file ""
    (let ((new (expand-file-name "new.txt" (file-name-directory aqd-file)))
          (make-backup-files t)
          (backup-inhibited nil)
          (backup-enable-predicate #'always))
      (aqd-play "a u r q" (lambda ()
                            (agent-q-diff-review-and-wait new "" "new\n" "d")))
      (should (equal (list (file-name-nondirectory aqd-file))
                     (directory-files (file-name-directory new) nil "\\`[^.]"))))))

(ert-deftest aqd-visit-what-others-created-is-not-removed ()
  (aqd-with-forty-lines
    (let ((new (expand-file-name "dir/new.txt" (file-name-directory aqd-file))))
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (make-directory (file-name-directory new))
                   (write-region "" nil new nil 'silent)
                   (agent-q-diff-reject-all))))
        (sly-agent-q-show-diff-and-wait new "" "x\n" "d"))
      (should (file-exists-p new)))))

(ert-deftest aqd-visit-the-users-own-new-buffer-stays ()
  (aqd-with-forty-lines
    (delete-file aqd-file)
    (let ((buffer (aqd-visit)))
      (should (equal "rejected" (aqd-review "" "x\n" "a u r q")))
      (should (buffer-live-p buffer))
      (should-not (file-exists-p aqd-file)))))

(ert-deftest aqd-visit-opened-in-vain-is-closed ()
  (aqd-with-file aqd-original
    (aqd-review aqd-original aqd-modified "r q")
    (should-not (find-buffer-visiting aqd-file))))

(ert-deftest aqd-visit-that-was-changed-stays-open-for-undo ()
  (aqd-with-file aqd-original
    (aqd-review aqd-original aqd-modified "a q")
    (with-current-buffer (find-buffer-visiting aqd-file)
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) aqd-original)))))

(ert-deftest aqd-visit-that-was-open-stays-open ()
  (aqd-with-file aqd-original
    (let ((buffer (aqd-visit)))
      (aqd-review aqd-original aqd-modified "r q")
      (should (buffer-live-p buffer)))))

(ert-deftest aqd-visit-ruling-7-unreadable-target-cannot-be-shown ()
  (aqd-with-forty-lines
    (should (eq 'agent-q-diff-bad-target
                (car (aqd-play "q" (lambda ()
                                     (sly-agent-q-show-diff-and-wait
                                      (file-name-directory aqd-file)
                                      "a\n" "b\n" "d"))))))))

(ert-deftest aqd-visit-ruling-15-entry-expands-against-default-directory ()
  (aqd-with-forty-lines
    (should (equal "accepted"
                   (aqd-play "C-c C-c"
                             (lambda ()
                               (let ((default-directory
                                      (file-name-directory aqd-file)))
                                 (sly-agent-q-show-diff-and-wait
                                  "target.txt" (car aqd-three) (cdr aqd-three)
                                  "d"))))))
    (should (equal (aqd-disk) (cdr aqd-three)))))

(ert-deftest aqd-visit-ruling-15-a-foreign-remote-name-is-refused-unopened ()
  (let (opened)
    (cl-letf (((symbol-function 'tramp-file-name-handler)
               (lambda (operation &rest _)
                 (unless (eq operation 'file-remote-p)
                   (push operation opened))
                 "/ssh:nowhere:")))
      (should (eq 'agent-q-diff-bad-target
                  (car (aqd-play "q" (lambda ()
                                       (sly-agent-q-show-diff-and-wait
                                        "/ssh:nowhere:/etc/passwd" "a\n" "b\n"
                                        "d"))))))
      (should-not opened))))

(ert-deftest aqd-visit-ruling-16-a-file-name-is-never-diff-text ()
  "A name with a newline is refused before anything is shown."
  (aqd-with-forty-lines
    (let ((file (expand-file-name "x\n@@ -1 +1 @@\n-line 1\n+evil"
                                  (file-name-directory aqd-file))))
      (rename-file aqd-file file)
      (unwind-protect
          (cl-letf (((symbol-function 'recursive-edit)
                     (lambda () (ert-fail "It was shown"))))
            (should-error (sly-agent-q-show-diff-and-wait
                           file (car aqd-three) (cdr aqd-three) "d")
                          :type 'agent-q-diff-bad-target))
        (rename-file file aqd-file)))))

(ert-deftest aqd-visit-detached-has-the-mode-of-its-file-but-no-file ()
  (let ((buffer (agent-q-diff-visit-detached "/nowhere/a.el" "(foo)\n")))
    (unwind-protect
        (with-current-buffer buffer
          (should (eq major-mode 'emacs-lisp-mode))
          (should-not buffer-file-name)
          (should-not (buffer-modified-p))
          (should (equal (buffer-string) "(foo)\n")))
      (kill-buffer buffer))))

(provide 'agent-q-diff-visit-test)
;;; agent-q-diff-visit-test.el ends here
