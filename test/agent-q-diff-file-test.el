;;; agent-q-diff-file-test.el --- Files are written whole or not at all  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A full disk, an error or a kill in the middle of a save leaves the old
;; file or the new one.  The next Emacs cleans up after a crash.

;;; Code:

(require 'agent-q-diff-project-help)
(require 'agent-q-diff-test-help)

(defun aqd-file-version (n)
  "Return version N of a text: each line contains N."
  (apply #'concat (make-list 5000 (format "version %d of the file\n" n))))

(defun aqd-file-version-p (bytes)
  "Return non-nil if BYTES is a complete version of the text."
  (and (string-match "\\`version \\([0-9]+\\) " bytes)
       (equal bytes (aqd-file-version (string-to-number (match-string 1 bytes))))))

(defun aqd-file-left ()
  "Return the other files in the directory of the test's file."
  (remove "target.txt"
          (directory-files (file-name-directory aqd-file) nil
                           directory-files-no-dot-files-regexp)))

(defmacro aqd-file-with-state (&rest body)
  "Run BODY with its own state directory, as in another Emacs."
  (declare (indent 0) (debug t))
  `(let ((agent-q-diff-file--state-directory
          (file-name-as-directory (make-temp-file "agent-q-diff-state" t)))
         (agent-q-diff-file--noted nil)
         (agent-q-diff-file--has-cleaned-up nil))
     (unwind-protect (progn ,@body)
       (delete-directory agent-q-diff-file--state-directory t))))

;;;; Killed in the middle of a save

(defconst aqd-file-writers
  '((review
     . (let ((buffer (find-file-noselect file)))
         (lambda (old new)
           (ignore old)
           (agent-q-diff-disk-watch buffer)
           (agent-q-diff-apply-edits buffer (list (list 0 5000 new)) t))))
    (edit
     . (lambda (old new)
         (ignore old)
         (let ((live (agent-q-diff-live-read file)))
           (agent-q-diff-write
            live (list (cons 0 (length (agent-q-diff-live-text live)))) new
            #'ignore)))))
  "Forms whose value, a function, replaces the text of `file'.")

(defun aqd-file-child (writer)
  "Start an Emacs that writes one version after another by WRITER; return it."
  (let ((form `(let ((file ,aqd-file)
                     (agent-q-diff-file--state-directory
                      ,agent-q-diff-file--state-directory)
                     (create-lockfiles nil)
                     (make-backup-files nil)
                     (n 1)
                     (text (lambda (n)
                             (apply #'concat
                                    (make-list 5000 (format "version %d of the file\n" n))))))
                 (let ((write ,(alist-get writer aqd-file-writers)))
                   (funcall write nil (funcall text n))
                   (message "ready")
                   (while t
                     (setq n (1+ n))
                     (funcall write nil (funcall text n)))))))
    (make-process
     :name "aqd-file-child" :noquery t :connection-type 'pipe
     :filter (lambda (process said)
               (when (string-search "ready" said)
                 (process-put process 'is-ready t)))
     :command (list (expand-file-name invocation-name invocation-directory)
                    "-Q" "--batch" "-L" aqd-lisp-folder
                    "-l" "agent-q-diff-live" "--eval" (prin1-to-string form)))))

(defun aqd-file-kill (child)
  "Kill CHILD at a random moment while it writes, and wait for its end."
  (unwind-protect
      (with-timeout (60 (ert-fail "The Emacs that writes does not begin"))
        (while (not (process-get child 'is-ready))
          (should (process-live-p child))
          (accept-process-output child 0.1)))
    (unless (process-get child 'is-ready)
      (delete-process child)))
  (accept-process-output nil 0 (random 40))
  (signal-process child 'KILL)
  (while (process-live-p child)
    (accept-process-output child 0.1)))

(defun aqd-file-check-kills (writer n prepare check)
  "Start and kill an Emacs that writes by WRITER, N times.
PREPARE is called before each start, CHECK after each end."
  (dotimes (_ n)
    (aqd-with-file (aqd-file-version 0)
      (aqd-file-with-state
        (funcall prepare)
        (aqd-file-kill (aqd-file-child writer))
        (funcall check)))))

(defun aqd-file-check-whole ()
  "Check that the test's file is complete, and that the next Emacs cleans up."
  (should (aqd-file-version-p (aqd-disk)))
  (agent-q-diff-file-clean-up)
  (should-not (aqd-file-left))
  (should-not (directory-files agent-q-diff-file--state-directory nil
                               directory-files-no-dot-files-regexp)))

(ert-deftest aqd-file-killed-in-a-review-leaves-a-whole-file ()
  :tags '(slow)
  (aqd-file-check-kills 'review 100 #'ignore #'aqd-file-check-whole))

(ert-deftest aqd-file-killed-in-an-edit-leaves-a-whole-file ()
  :tags '(slow)
  (aqd-file-check-kills 'edit 100 #'ignore #'aqd-file-check-whole))

(ert-deftest aqd-file-killed-in-place-leaves-a-copy-of-what-was-there ()
  "A file with several names is written in place, so a kill can tear it."
  :tags '(slow)
  (let ((n-torn 0))
    (aqd-file-check-kills
     'edit 30
     (lambda () (add-name-to-file aqd-file (concat aqd-file "-other")))
     (lambda ()
       (let ((is-torn (not (aqd-file-version-p (aqd-disk))))
             (warnings nil))
         (cl-letf (((symbol-function 'display-warning)
                    (lambda (_ text &rest _) (push text warnings))))
           (agent-q-diff-file-clean-up))
         (when is-torn
           (setq n-torn (1+ n-torn))
           (should (= 1 (length warnings)))
           (should (string-search aqd-file (car warnings)))
           (should (string-match "before is in \\(.*\\)\\'" (car warnings)))
           (let ((aqd-file (match-string 1 (car warnings))))
             (should (aqd-file-version-p (aqd-disk))))))))
    (message "Of 30 files written in place, %d were torn" n-torn)))

;;;; A full disk

(defmacro aqd-file-with-disk (size &rest body)
  "Run BODY with `directory', a file system of SIZE kilobytes.
Only the superuser can mount one."
  (declare (indent 1) (debug t))
  `(let ((directory (file-name-as-directory (make-temp-file "agent-q-diff-disk" t))))
     (unless (and (= (user-uid) 0)
                  (eq 0 (call-process "mount" nil nil nil "-t" "tmpfs" "-o"
                                      (format "size=%dk" ,size) "tmpfs" directory)))
       (delete-directory directory)
       (ert-skip "Only root can mount a file system to be filled"))
     (unwind-protect (progn ,@body)
       (should (eq 0 (call-process "umount" nil nil nil directory)))
       (delete-directory directory))))

(defun aqd-file-fill (directory n-free)
  "Fill the file system of DIRECTORY until N-FREE kilobytes are free."
  (let ((free (/ (nth 2 (file-system-info directory)) 1024)))
    (write-region (make-string (* 1024 (- free n-free)) ?x) nil
                  (expand-file-name "ballast" directory) nil 'silent)))

(defconst aqd-file-old
  (mapconcat (lambda (n) (format "line %d\n" n)) (number-sequence 1 4000) "")
  "A text of about ten file system blocks.")

(defconst aqd-file-new
  (string-replace "line 2000\n" "two thousand\n" aqd-file-old)
  "The same text after one hunk.")

(defun aqd-file-check-full (n-free propose)
  "Check a proposal while N-FREE kilobytes are free.
PROPOSE is called with the old and the new text and returns non-nil if it
reports that the new text is in the file.  Return its value."
  (aqd-file-with-disk 400
    (let ((aqd-file (expand-file-name "target.txt" directory))
          (backup-inhibited t)
          (create-lockfiles nil)
          (old aqd-file-old)
          (new aqd-file-new))
      (aqd-write old)
      (aqd-file-fill directory n-free)
      (let ((is-said (funcall propose old new)))
        (should (equal (list n-free (if is-said new old)) (list n-free (aqd-disk))))
        (should (equal (aqd-file-left) '("ballast")))
        (when-let ((buffer (find-buffer-visiting aqd-file)))
          (should (equal (if is-said new old) (agent-q-diff-text-in buffer)))
          (kill-buffer buffer))
        is-said))))

(defun aqd-file-check-every-fill (propose)
  "Check PROPOSE at every fill level; see `aqd-file-check-full'."
  (let ((answers (mapcar (lambda (n-free) (aqd-file-check-full n-free propose))
                         (number-sequence 0 120 4))))
    ;; It fails on a full disk, and succeeds with enough space.
    (should-not (car answers))
    (should (car (last answers)))))

(ert-deftest aqd-file-full-disk-in-a-review ()
  (aqd-file-check-every-fill
   (lambda (old new)
     (let (is-said)
       (aqd-call old new (lambda ()
                           (setq is-said (agent-q-diff-accept-hunk))
                           (if is-said
                               (agent-q-diff-finish)
                             (agent-q-diff-reject-all))))
       is-said))))

(ert-deftest aqd-file-full-disk-in-an-edit ()
  (aqd-file-check-every-fill
   (lambda (old new)
     (ignore old new)
     (let ((agent-q-diff-project-root (file-name-directory aqd-file))
           (agent-q-diff-tools-policy 'allow))
       (string-prefix-p "✓" (aqd-edit "line 2000\n" "two thousand\n"))))))

(ert-deftest aqd-file-full-disk-and-a-buffer-with-a-file-of-several-names ()
  "Emacs must not ask whether to write the old content over what was written."
  (let ((longer (concat aqd-file-new aqd-file-new))
        (n-failed 0))
    (dolist (n-free (number-sequence 0 60 12))
      (aqd-file-with-disk 400
        (aqd-file-with-state
          (let ((aqd-file (expand-file-name "target.txt" directory))
                (backup-inhibited t)
                (create-lockfiles nil)
                (expected longer))
            (aqd-write aqd-file-old)
            (add-name-to-file aqd-file (concat aqd-file "-other"))
            (aqd-file-fill directory n-free)
            (with-current-buffer (aqd-visit)
              (condition-case nil
                  (agent-q-diff-apply-replacement
                   (current-buffer) (list (cons 0 (buffer-size))) longer t)
                (error (setq expected aqd-file-old
                             n-failed (1+ n-failed))))
              (should (equal expected (aqd-disk)))
              (should (equal expected (buffer-string)))
              (set-buffer-modified-p nil)
              (kill-buffer))))))
    (should (< 0 n-failed 6))))

(ert-deftest aqd-file-full-disk-and-a-new-file ()
  (dolist (n-free (number-sequence 0 120 8))
    (aqd-file-with-disk 400
      (let ((aqd-file (expand-file-name "new.txt" directory))
            (create-lockfiles nil)
            (new aqd-file-new)
            is-said)
        (aqd-file-fill directory n-free)
        (aqd-call "" new (lambda ()
                           (setq is-said (agent-q-diff-accept-hunk))
                           (if is-said
                               (agent-q-diff-finish)
                             (agent-q-diff-reject-all))))
        (if is-said
            (should (equal new (aqd-disk)))
          (should-not (file-exists-p aqd-file)))
        (when-let ((buffer (find-buffer-visiting aqd-file)))
          (with-current-buffer buffer (set-buffer-modified-p nil))
          (kill-buffer buffer))))))

;;;; A file that nothing can be renamed onto

(defun aqd-file-check-in-place ()
  "Check that the test's file, which no rename can replace, is written in place.
`edit_file', with a buffer and without, and a review must change it, and
leave no other file in its directory or in the state directory."
  (let ((aqd-project (file-name-directory aqd-file))
        (inode (file-attribute-inode-number (file-attributes aqd-file))))
    (aqd-file-with-state
      (let ((agent-q-diff-project-root aqd-project)
            (agent-q-diff-tools-policy 'allow))
        (should (string-prefix-p "✓" (aqd-edit "line 2\n" "two\n")))
        (should (equal (aqd-disk) (aqd-numbered 20 '((2 . "two")))))
        (aqd-visit)
        (should (string-prefix-p "✓" (aqd-edit "line 9\n" "nine\n")))
        (should (equal (aqd-disk) (aqd-numbered 20 '((2 . "two") (9 . "nine"))))))
      (let ((result (aqd-result (aqd-disk) (aqd-numbered 20 '((2 . "two") (9 . "9")))
                                "a q")))
        (should (equal "accepted" (plist-get result :decision)))
        (should (plist-get result :saved)))
      (should (equal (aqd-disk) (aqd-numbered 20 '((2 . "two") (9 . "9")))))
      (should (equal inode (file-attribute-inode-number (file-attributes aqd-file))))
      (should-not (seq-filter (lambda (name) (string-prefix-p ".agent-q-diff" name))
                              (aqd-file-left)))
      (should-not (directory-files agent-q-diff-file--state-directory nil
                                   "\\`rescued-")))))

(ert-deftest aqd-file-a-bind-mount-is-written-in-place ()
  "Containers have single files mounted into them."
  (aqd-with-file (aqd-numbered 20)
    (let ((other (concat aqd-file "-outside")))
      (aqd-put-bytes (aqd-disk) other)
      (unless (and (= (user-uid) 0)
                   (eq 0 (call-process "mount" nil nil nil "--bind" other aqd-file)))
        (ert-skip "Only root can mount a file"))
      (unwind-protect (aqd-file-check-in-place)
        (should (eq 0 (call-process "umount" nil nil nil aqd-file)))))))

(defmacro aqd-file-without-rename (&rest body)
  "Run BODY where a rename onto the test's file fails."
  (declare (indent 0) (debug t))
  `(let ((rename (symbol-function 'rename-file)))
     (cl-letf (((symbol-function 'rename-file)
                (lambda (from to &rest more)
                  (when (equal to (file-truename aqd-file))
                    (signal 'file-error
                            (list "Renaming" "Device or resource busy" from to)))
                  (apply rename from to more))))
       ,@body)))

(ert-deftest aqd-file-that-no-rename-can-replace-is-written-in-place ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-file-without-rename
      (aqd-file-check-in-place))))

(ert-deftest aqd-file-that-no-rename-can-replace-and-others-write-meanwhile-stays ()
  "Before it is written in place, its old content is copied, which takes a while."
  (aqd-with-file "old\n"
    (aqd-file-with-state
      (aqd-file-without-rename
        (cl-letf* ((save-copy (symbol-function 'agent-q-diff-file--save-copy))
                   ((symbol-function 'agent-q-diff-file--save-copy)
                    (lambda (&rest arguments)
                      (prog1 (apply save-copy arguments)
                        (aqd-write "others\n")))))
          (should-error (agent-q-diff-file-write-bytes aqd-file "new\n")
                        :type 'agent-q-diff-bad-target)))
      (should (equal (aqd-disk) "others\n"))
      (should-not (aqd-file-left))
      (should-not (directory-files agent-q-diff-file--state-directory nil
                                   "\\`\\(rescued\\|\\.agent\\)-")))))

(ert-deftest aqd-file-that-no-rename-can-replace-is-checked-once-more ()
  "If the check fails, the file is not written in place either."
  (aqd-with-file "old\n"
    (aqd-file-with-state
      (aqd-file-without-rename
        (let ((n-checks 0))
          (should-error (agent-q-diff-file-replace (file aqd-file)
                          (agent-q-diff-file-put "new\n" 'utf-8-unix file)
                          (when (= 2 (cl-incf n-checks))
                            (agent-q-diff-file-refuse "not any more")))
                        :type 'agent-q-diff-bad-target)))
      (should (equal (aqd-disk) "old\n"))
      (should-not (aqd-file-left))
      (should-not (directory-files agent-q-diff-file--state-directory nil
                                   "\\`\\(rescued\\|\\.agent\\)-")))))

(ert-deftest aqd-file-of-several-names-is-not-written-where-a-link-leads-out ()
  "The guard is asked after the copy of the old content was made."
  (aqd-with-project "old\n"
    (let ((default-directory (file-name-as-directory aqd-project))
          (outside (make-temp-file "agent-q-diff-outside" t))
          (save-copy (symbol-function 'agent-q-diff-file--save-copy))
          (agent-q-diff-guard-hard-links t)
          (agent-q-diff-tools-policy 'allow))
      (make-directory "sub")
      (rename-file aqd-file "sub/target.txt")
      (add-name-to-file "sub/target.txt" "other")
      (aqd-put-bytes "old\n" (expand-file-name "target.txt" outside))
      (aqd-file-with-state
        (cl-letf (((symbol-function 'agent-q-diff-file--save-copy)
                   (lambda (&rest arguments)
                     (prog1 (apply save-copy arguments)
                       (rename-file "sub" "was-sub")
                       (make-symbolic-link outside "sub")))))
          (should (string-search
                   "outside project root"
                   (aqd-call-tool "edit_file" '(:path "sub/target.txt" :old_str "old"
                                                      :new_str "new"))))))
      (should (equal "old\n" (aqd-bytes-of (expand-file-name "target.txt" outside))))
      (should (equal "old\n" (aqd-bytes-of "other")))
      (rename-file "other" aqd-file)
      (delete-directory outside t))))

(ert-deftest aqd-file-that-is-written-is-no-failure-if-a-draft-stays ()
  (aqd-with-project "old\n"
    (add-name-to-file aqd-file (concat aqd-file "-other"))
    (aqd-file-with-state
      (let ((delete (symbol-function 'delete-file))
            (agent-q-diff-guard-hard-links t)
            (agent-q-diff-tools-policy 'allow))
        (cl-letf (((symbol-function 'delete-file)
                   (lambda (name &rest more)
                     (when (string-search "/.agent-q-diff-" name)
                       (signal 'file-error (list "Removing old name" "not permitted" name)))
                     (apply delete name more))))
          (should (string-prefix-p "✓" (aqd-edit "old" "new"))))
        (should (equal "new\n" (aqd-disk)))))))

(ert-deftest aqd-file-that-was-not-touched-is-not-damaged ()
  (aqd-with-file "old\n"
    (add-name-to-file aqd-file (concat aqd-file "-other"))
    (aqd-file-with-state
      (cl-letf (((symbol-function 'agent-q-diff-file--overwrite)
                 (let ((overwrite (symbol-function 'agent-q-diff-file--overwrite)))
                   (lambda (text coding name &rest more)
                     (when (equal name aqd-file)
                       (signal 'file-error (list "Writing" "denied" name)))
                     (apply overwrite text coding name more)))))
        (should-error (agent-q-diff-file-write-bytes aqd-file "new\n") :type 'file-error))
      (should (equal "old\n" (aqd-disk)))
      (should-not (directory-files agent-q-diff-file--state-directory nil "rescued")))))

(ert-deftest aqd-file-that-cannot-be-copied-leaves-no-part-of-a-copy ()
  (aqd-file-with-disk 32
    (aqd-with-file (make-string 60000 ?x)
      (add-name-to-file aqd-file (concat aqd-file "-other"))
      (let ((agent-q-diff-file--state-directory directory)
            (agent-q-diff-file--noted nil))
        (should-error (agent-q-diff-file-write-bytes aqd-file "new\n") :type 'file-error)
        (should-not (directory-files directory nil "rescued")))
      (should (equal (make-string 60000 ?x) (aqd-disk))))))

(ert-deftest aqd-file-that-is-new-and-cannot-be-named-is-not-written ()
  (aqd-with-file ""
    (delete-file aqd-file)
    (aqd-file-without-rename
      (should-error (agent-q-diff-file-write-bytes aqd-file "new\n")
                    :type 'file-error))
    (should-not (aqd-file-left))
    (should-not (file-exists-p aqd-file))
    (aqd-write "")))

;;;; Access control lists

(defun aqd-file-access (name)
  "Return the output of getfacl for the file NAME, without the name."
  (with-temp-buffer
    (should (eq 0 (call-process "getfacl" nil t nil "--omit-header" "--numeric"
                                "--absolute-names" name)))
    (buffer-string)))

(defmacro aqd-file-with-access (rules &rest body)
  "Run BODY in a project whose directory has RULES, setfacl's, for new files."
  (declare (indent 1) (debug t))
  `(aqd-with-project (aqd-numbered 20)
     (unless (and (executable-find "setfacl")
                  (eq 0 (call-process "setfacl" nil nil nil "-d" "-m" ,rules aqd-project)))
       (ert-skip "No setfacl, or a file system without access control lists"))
     ,@body))

(ert-deftest aqd-file-that-is-new-has-the-access-rules-of-its-directory ()
  "Temporary files are private, but the file that replaces another must not be."
  (dolist (rules '("g:1:rwx,o::-" "u:1:rw-,g::-,o::-" "g:1:rwx,o::rwx" "u::r,g:1:r"))
    (dolist (modes '(#o777 #o755 #o700))
      (ert-info ((format "%s %o" rules modes) :prefix "case: ")
        (aqd-file-with-access rules
          (with-file-modes modes
            (let ((alone (expand-file-name "alone" aqd-project))
                  (new (expand-file-name "new" aqd-project)))
              (write-region "new\n" nil alone nil 'silent)
              (let ((aqd-file new))
                (should (equal "accepted" (aqd-review "" "new\n" "a q")))
                (should (equal (aqd-disk) "new\n")))
              (should (equal (aqd-file-access alone) (aqd-file-access new))))))))))

(ert-deftest aqd-file-that-was-there-keeps-its-access-rules ()
  "The replacement is created in the directory, and first gets its rules."
  (dolist (own '(nil "g:2:r" "u:3:rwx,g::-"))
    (aqd-file-with-access "g:1:rwx,o::-"
      (set-file-modes aqd-file #o640)
      (when own
        (should (eq 0 (call-process "setfacl" nil nil nil "-m" own aqd-file))))
      (let ((before (aqd-file-access aqd-file)))
        (should (string-prefix-p "✓" (aqd-edit "line 3\n" "three\n")))
        (should (equal before (aqd-file-access aqd-file)))
        (should (equal "accepted" (aqd-review (aqd-disk) (aqd-numbered 20) "a q")))
        (should (equal before (aqd-file-access aqd-file)))
        (should (equal (aqd-disk) (aqd-numbered 20)))))))

;;;; Names, kinds and hooks

(ert-deftest aqd-file-a-new-file-may-have-the-longest-name ()
  (dolist (name (list (make-string 255 ?n) (make-string 254 ?n)
                      (concat (make-string 127 ?é) "n")))
    (aqd-with-file ""
      (let* ((create-lockfiles t)
             (make-backup-files t)
             (backup-inhibited nil)
             (aqd-file (expand-file-name name (file-name-directory aqd-file))))
        (should (equal "accepted" (aqd-review "" (aqd-numbered 20) "a q")))
        (should (equal "accepted"
                       (aqd-review (aqd-numbered 20)
                                   (aqd-numbered 20 '((3 . "x") (15 . "y"))) "a a q")))
        (should (equal (aqd-disk) (aqd-numbered 20 '((3 . "x") (15 . "y")))))))))

;; Nobody else knows the name of a temporary file.
(ert-deftest aqd-file-only-a-file-that-is-written-in-place-is-locked ()
  (aqd-with-file "old"
    (let* ((create-lockfiles t)
           (puts nil)
           (put (symbol-function 'agent-q-diff-file--overwrite)))
      (cl-letf (((symbol-function 'agent-q-diff-file--overwrite)
                 (lambda (text coding file &rest more)
                   (push (list (equal file aqd-file) create-lockfiles) puts)
                   (apply put text coding file more))))
        (agent-q-diff-file-write-bytes aqd-file "new")
        (should (equal puts '((nil nil))))
        (setq puts nil)
        (add-name-to-file aqd-file (concat aqd-file ".other"))
        (agent-q-diff-file-write-bytes aqd-file "newer")
        ;; The draft, the copy of the old content, the file.
        (should (equal puts '((t t) (nil nil) (nil nil))))
        (should (equal (aqd-disk) "newer"))))))

(ert-deftest aqd-file-nothing-but-a-regular-file-is-opened ()
  (aqd-with-file ""
    (delete-file aqd-file)
    (call-process "mkfifo" nil nil nil aqd-file)
    (with-timeout (10 (ert-fail "It hangs"))
      (should-error (agent-q-diff-file-bytes aqd-file) :type 'agent-q-diff-bad-target)
      (should-error (agent-q-diff-file-write-bytes aqd-file "")
                    :type 'agent-q-diff-bad-target))))

(ert-deftest aqd-file-the-hooks-of-save-buffer-run-in-a-review ()
  (aqd-with-file (aqd-numbered 20)
    (let ((ran nil))
      (with-current-buffer (aqd-visit)
        (dolist (hook '(before-save-hook after-save-hook write-contents-functions
                                         write-file-functions))
          (add-hook hook (lambda () (push hook ran) nil) nil t)))
      (aqd-review (aqd-numbered 20) (aqd-numbered 20 '((3 . "x"))) "a q")
      (should (equal (reverse ran)
                     '(before-save-hook write-contents-functions
                                        write-file-functions after-save-hook))))))

(ert-deftest aqd-file-who-writes-files-in-another-way-still-does ()
  (aqd-with-file (aqd-numbered 20)
    (with-current-buffer (aqd-visit)
      (add-hook 'write-contents-functions
                (lambda ()
                  (write-region (upcase (buffer-string)) nil buffer-file-name nil 'silent)
                  (set-visited-file-modtime)
                  (set-buffer-modified-p nil)
                  t)
                nil t))
    (let ((result (aqd-result (aqd-numbered 20) (aqd-numbered 20 '((3 . "x"))) "a q")))
      (should (equal (aqd-disk) (upcase (aqd-numbered 20 '((3 . "x"))))))
      ;; The file has other text than was accepted.
      (should-not (plist-get result :saved)))))

(provide 'agent-q-diff-file-test)
;;; agent-q-diff-file-test.el ends here
