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

(ert-deftest aqd-visit-no-name-reaches-a-handler-of-remote-names ()
  (let* ((calls nil)
         (file-name-handler-alist
          (cons (cons "\\`/[a-z]+:"
                      (lambda (operation &rest arguments)
                        (push (cons operation arguments) calls)
                        (let ((file-name-handler-alist nil))
                          (apply operation arguments))))
                file-name-handler-alist))
         (default-directory "/tmp/"))
    (dolist (name '("/ssh:host:a.org" "/ssh:host:/a.org" "/sudo::x" "../ssh:host:x"
                    "../../../ssh:host:/x" "/../ssh:host:/x" "/x/../ssh:host:/x"))
      (should (equal name (agent-q-diff-visit-detached-name name)))
      (should-error (agent-q-diff-visit-name name) :type 'agent-q-diff-bad-target))
    (let ((default-directory "/"))
      (should-error (agent-q-diff-visit-name "ssh:host:x") :type 'agent-q-diff-bad-target))
    (should-not calls)
    (should (equal "/tmp/x" (agent-q-diff-visit-name "x")))
    (should (equal "/x" (agent-q-diff-visit-name "../../../x")))))

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

;;;; Hooks of the user's that ask, insert or fail

(defmacro aqd-visit-with-hooks (bindings &rest body)
  "Evaluate BODY with BINDINGS of hooks; `asked' counts questions."
  (declare (indent 1) (debug t))
  `(let ((asked 0)
         (agent-q-diff-visit--said nil))
     (cl-letf (((symbol-function 'read-from-minibuffer)
                (lambda (&rest _)
                  (when inhibit-interaction
                    (signal 'inhibited-interaction nil))
                  (cl-incf asked)
                  "n")))
       (let ,bindings
         ,@body))))

(defconst aqd-visit-questions
  '((y-or-n-p "Import? ") (yes-or-no-p "Import? ") (read-string "Name: ")
    (completing-read "Name: " '("a" "b")) (read-char) (read-event) (read-key "Key: ")
    (read-char-choice "Key: " '(?a)) (read-from-minibuffer "Name: "))
  "Ways in which a hook asks.")

(ert-deftest aqd-visit-hooks-that-ask-do-not ()
  (dolist (question aqd-visit-questions)
    (dolist (hook '(text-mode-hook find-file-hook after-change-major-mode-hook))
      (aqd-with-file "a\n"
        ;; When its buffers are killed, a batch Emacs may show the file's.
        (aqd-visit-with-hooks ((buffer-list-update-hook nil))
          (let ((ask (lambda ()
                       (when buffer-file-name
                         (eval question t)))))
            (cl-progv (list hook) (list (cons ask (default-value hook)))
              (ert-info ((format "%S in %s" question hook))
                (let ((review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
                  (should-not (agent-q-diff-session-outcome review))
                  (should (= asked 0))
                  (agent-q-diff-accept review 0)
                  (agent-q-diff-end review)
                  (should (equal (aqd-disk) "b\n")))))))))))

(ert-deftest aqd-visit-hooks-run-when-the-user-goes-to-the-buffer ()
  (aqd-with-file "a\n"
    (aqd-visit-with-hooks ((text-mode-hook (list (lambda () (read-from-minibuffer "Import? "))))
                           (find-file-hook (list (lambda () (error "Broken")))))
      (let ((review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
        (agent-q-diff-accept review 0)
        (agent-q-diff-end review))
      (should (= asked 0))
      (save-window-excursion
        (should (string-search "Broken" (aqd-said (find-file aqd-file))))
        (should (= asked 1))
        ;; Only once.
        (switch-to-buffer "*scratch*")
        (find-file aqd-file)
        (should (= asked 1))))))

(ert-deftest aqd-visit-an-error-in-a-hook-is-said-once ()
  (aqd-with-file "a\n"
    (aqd-visit-with-hooks ((find-file-hook '(aqd-visit-break))
                           (text-mode-hook '(aqd-visit-break))
                           (ran nil))
      (cl-letf (((symbol-function 'aqd-visit-break) (lambda () (error "Broken"))))
        (add-hook 'find-file-hook (lambda () (setq ran t)) t)
        (dotimes (_ 2)
          (let ((review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
            (should-not (agent-q-diff-session-outcome review))
            (should ran)
            (agent-q-diff-cancel review)))
        (should (equal agent-q-diff-visit--said '((aqd-visit-break . "Broken"))))))))

(ert-deftest aqd-visit-what-inserts-does-not-get-into-the-file ()
  (dolist (hook '(find-file-hook text-mode-hook find-file-not-found-functions))
    (dolist (old '(nil "" "a\n"))
      (aqd-with-file (or old "")
        (unless old
          (delete-file aqd-file))
        (cl-progv (list hook)
            (list (list (lambda ()
                          (let ((inhibit-read-only t))
                            (save-excursion
                              (goto-char (point-min))
                              (insert "template\n"))))))
          (let ((review (agent-q-diff-review aqd-file (or old "") "b\n" nil nil)))
            (ert-info ((format "%s %S" hook old))
              (should (equal (or old "") (with-current-buffer (aqd-target-of review)
                                           (buffer-string))))
              (should-not (buffer-modified-p (aqd-target-of review)))
              (agent-q-diff-accept review 0)
              (agent-q-diff-end review)
              (should (equal (aqd-disk) "b\n")))))))))

(ert-deftest aqd-visit-a-template-waits-while-a-new-file-is-reviewed ()
  (aqd-with-file ""
    (delete-file aqd-file)
    (let* ((n 0)
           (find-file-hook (list (lambda ()
                                   (cl-incf n)
                                   (when (zerop (buffer-size))
                                     (insert "template\n")))))
           (review (agent-q-diff-review aqd-file "" "b\n" nil nil)))
      (save-window-excursion
        (switch-to-buffer (aqd-target-of review))
        (should (= n 0))
        (agent-q-diff-accept review 0)
        (agent-q-diff-end review)
        (switch-to-buffer "*scratch*")
        (find-file aqd-file)
        (should (= n 1))
        (should (equal (buffer-string) "b\n"))
        (should (equal (aqd-disk) "b\n"))))))

(ert-deftest aqd-visit-a-hook-that-makes-a-file-read-only-is-respected ()
  (aqd-with-file "a\n"
    (let* ((find-file-hook (list (lambda () (setq buffer-read-only t))))
           (review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
      (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-bad-target)
      (agent-q-diff-cancel review))))

(ert-deftest aqd-visit-a-hook-that-kills-the-buffer-is-said ()
  (aqd-with-file "a\n"
    (let ((text-mode-hook (list (lambda () (kill-buffer)))))
      (should (equal "a hook killed the buffer of the file as it was visited"
                     (plist-get (agent-q-diff-session-result
                                 (agent-q-diff-review aqd-file "a\n" "b\n" nil nil))
                                :reason))))
    (should (equal "a\n" (aqd-disk)))))

(ert-deftest aqd-visit-a-hook-that-selects-leaves-the-selection ()
  (aqd-with-file "a\n"
    (save-window-excursion
      (switch-to-buffer "*scratch*")
      (let* ((find-file-hook (list (lambda () (pop-to-buffer "*Messages*"))))
             (window (selected-window))
             (review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
        (should (eq window (selected-window)))
        (should (equal "*scratch*" (buffer-name (window-buffer))))
        (agent-q-diff-cancel review)))))

;;;; A buffer that the user has begun to use

(defconst aqd-visit-uses
  '((find-file aqd-file)
    (switch-to-buffer (current-buffer))
    (goto-char 3)
    (push-mark 2 t)
    (narrow-to-region 1 3)
    (overwrite-mode)
    (emacs-lisp-mode)
    (read-only-mode)
    (setq-local server-buffer-clients '(client))
    (progn (insert "x") (delete-char -1) (set-buffer-modified-p nil))
    (make-indirect-buffer (current-buffer) "indirect"))
  "What a user does in the buffer of a file under review.")

(ert-deftest aqd-visit-a-buffer-that-the-user-uses-is-not-killed ()
  (dolist (use (cons nil aqd-visit-uses))
    (aqd-with-file "a\nb\n"
      (let ((review (agent-q-diff-review aqd-file "a\nb\n" "a\nB\n" nil nil)))
        (save-window-excursion
          (with-current-buffer (aqd-target-of review)
            (eval use t))
          (switch-to-buffer "*scratch*")
          (agent-q-diff-reject review 0)
          (agent-q-diff-end review))
        (ert-info ((format "%S" use))
          (should (eq (and use t) (and (find-buffer-visiting aqd-file) t))))
        (when (get-buffer "indirect")
          (kill-buffer "indirect"))
        (when-let ((buffer (find-buffer-visiting aqd-file)))
          (with-current-buffer buffer
            (setq-local server-buffer-clients nil)))))))

(ert-deftest aqd-visit-a-new-file-whose-buffer-the-user-uses-is-not-killed ()
  (aqd-with-file ""
    (delete-file aqd-file)
    (let ((review (agent-q-diff-review aqd-file "" "b\n" nil nil)))
      (agent-q-diff-accept review 0)
      (save-window-excursion
        (find-file aqd-file)
        (switch-to-buffer "*scratch*"))
      (agent-q-diff-unapply review 0)
      (agent-q-diff-end review)
      (should-not (file-exists-p aqd-file))
      (should (find-buffer-visiting aqd-file)))))

(provide 'agent-q-diff-visit-test)
;;; agent-q-diff-visit-test.el ends here
