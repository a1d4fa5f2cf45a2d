;;; agent-q-diff-propose-test.el --- Proposals of agents  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; From the call of a tool to a review and its message: diffs, policy, and
;; files outside the project.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-guard-help)
(require 'agent-q-diff-project-help)

;;;; Diffs

(defconst aqd-propose-diff
  (concat "--- a/target.txt\n+++ b/target.txt\n"
          "@@ -4,3 +4,3 @@\n line 4\n-line 5\n+five\n line 6\n"
          ;; Models count badly; the lines tell the place.
          "@@ -33,3 +33,3 @@\n line 19\n-line 20\n+twenty\n line 21\n")
  "A diff of the test's file.")

(defun aqd-propose-patch (diff keys &optional path)
  "Return the message about the patch DIFF of PATH, given KEYS."
  (let ((agent-q-diff-project-root (file-name-directory aqd-file)))
    (aqd-play keys
              (lambda ()
                (agent-q-diff-tools-call "propose_patch"
                                         `(:path ,(or path "target.txt") :diff ,diff
                                                 :description "Because."))))))

(ert-deftest aqd-propose-diff-is-decided-hunk-by-hunk ()
  (aqd-with-file (aqd-numbered 40)
    (should (equal "✓ Accepted: both hunks are in target.txt, which is saved."
                   (aqd-propose-patch aqd-propose-diff "C-c C-c")))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "five") (20 . "twenty"))))))
  (aqd-with-file (aqd-numbered 40)
    (should (string-search "1 of 2 hunks is in target.txt, which is saved.\n\nIn the file: hunk 2."
                           (aqd-propose-patch aqd-propose-diff "r a q")))
    (should (equal (aqd-disk) (aqd-numbered 40 '((20 . "twenty"))))))
  (aqd-with-file (aqd-numbered 40)
    (should (string-prefix-p "✗ Rejected: "
                             (aqd-propose-patch aqd-propose-diff "C-c C-k")))
    (should (equal (aqd-disk) (aqd-numbered 40)))))

(ert-deftest aqd-propose-diff-shows-no-lines-of-a-hunk-without-a-place ()
  (aqd-with-file (aqd-numbered 40 '((20 . "x")))
    (should (string-suffix-p
             (concat "hunk 2 (its lines are not in the target as the diff expects them)."
                     (aqd-present-lines (aqd-numbered 40 '((5 . "five")))
                                        '(1 "in the file" 4 6)))
             (aqd-propose-patch aqd-propose-diff "C-c C-c q")))))

(ert-deftest aqd-propose-diff-creates-a-file ()
  (aqd-with-file ""
    (should (string-prefix-p
             "✓" (aqd-propose-patch "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"
                                    "C-c C-c" "new.txt")))
    (let ((aqd-file (expand-file-name "new.txt" (file-name-directory aqd-file))))
      (should (equal (aqd-disk) "a\nb\n")))))

(ert-deftest aqd-propose-diff-that-is-none-is-told-why ()
  (aqd-with-file (aqd-numbered 40)
    (pcase-dolist (`(,diff . ,why)
                   `(("" . "no hunk")
                     ("nonsense\n" . "no hunk")
                     ("@@ -1,2 +1,2 @@\n line 1\n" . "line 1")))
      (let ((message (aqd-propose-patch diff "C-c C-c")))
        (should (string-prefix-p "Error: there is no decision about target.txt: " message))
        (should (string-match-p why message))))
    (should (equal (aqd-disk) (aqd-numbered 40)))))

(ert-deftest aqd-propose-diff-that-applies-nowhere-is-no-refusal ()
  (aqd-with-file "other\n"
    (let ((message (aqd-propose-patch aqd-propose-diff "a a q")))
      (should (string-prefix-p "Error: the change could not be applied to target.txt: hunk 1: "
                               message)))))

(ert-deftest aqd-propose-diff-of-another-file-is-said ()
  (pcase-dolist (`(,name . ,is-other) '(("a/target.txt" . nil) ("deep/er/target.txt" . nil)
                                        ("a/other.txt" . t)))
    (aqd-with-file (aqd-numbered 40)
      (let (notes)
        (cl-letf (((symbol-function 'recursive-edit)
                   (lambda ()
                     (setq notes (buffer-string))
                     (agent-q-diff-reject-all))))
          (agent-q-diff-review-patch-and-wait
           aqd-file (string-replace "b/target.txt" name
                                    (string-replace "a/target.txt" name aqd-propose-diff))
           "d"))
        (should (eq is-other
                    (and (string-search "The diff names another file: a/other.txt" notes)
                         t)))))))

(ert-deftest aqd-propose-diff-is-for-policy-and-log-too ()
  (aqd-with-file (aqd-numbered 40)
    (let ((agent-q-diff-tools-policy 'deny))
      (should (string-search "settings deny propose_patch here"
                             (aqd-propose-patch aqd-propose-diff ""))))
    (let ((agent-q-diff-log-file (concat aqd-file ".log")))
      (aqd-propose-patch aqd-propose-diff "C-c C-c")
      (with-temp-buffer
        (insert-file-contents agent-q-diff-log-file)
        (let-alist (json-parse-buffer :object-type 'alist)
          (should (equal .tool "propose_patch"))
          (should (string-search "+twenty" .diff))
          (should .hash-before)
          (should-not (equal .hash-before .hash-after)))))))

(ert-deftest aqd-propose-diff-without-waiting ()
  (aqd-with-file (aqd-numbered 40)
    (let ((agent-q-diff-project-root (file-name-directory aqd-file))
          (messages nil))
      (agent-q-diff-tools-call-async "propose_patch"
                                     `(:path "target.txt" :diff ,aqd-propose-diff
                                             :description "Because.")
                                     (lambda (message) (push message messages)))
      (should-not messages)
      (with-current-buffer (agent-q-diff-session-buffer
                            (car (agent-q-diff-open-reviews)))
        (agent-q-diff-accept-all))
      (should (equal messages
                     '("✓ Accepted: both hunks are in target.txt, which is saved."))))))

(ert-deftest aqd-propose-a-diff-that-deletes-its-file-does ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (should (equal "✓ Accepted: 1 of 1 file: target.txt deleted."
                     (aqd-play "a q"
                               (lambda ()
                                 (aqd-call-tool
                                  "propose_patch"
                                  '(:path "target.txt" :description "d" :diff
                                          "--- a/target.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"))))))
      (should-not (file-exists-p aqd-file)))))

;;;; Several files

(defconst aqd-propose-several
  '(:changes [(:path "target.txt" :original "a\n" :modified "b\n")
              (:path "new/made.txt" :content "made\n")
              (:path "gone.txt" :delete t)
              (:path "old.sh" :rename_to "run.sh" :executable t)]
    :description "d")
  "Arguments of a call of the tool `propose_changes'.")

(defun aqd-propose-several-files ()
  "Make the files that `aqd-propose-several' changes."
  (let ((default-directory (file-name-directory aqd-file)))
    (write-region "x\n" nil "gone.txt" nil 'silent)
    (write-region "ls\n" nil "old.sh" nil 'silent)))

(ert-deftest aqd-propose-several-files-in-one-review ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (aqd-propose-several-files)
      (should (equal (aqd-play "C-c C-c"
                               (lambda ()
                                 (aqd-call-tool "propose_changes" aqd-propose-several)))
                     "✓ Accepted: 4 of 4 files: target.txt 1 of 1 hunk, new/made.txt created, \
gone.txt deleted, old.sh renamed to run.sh and made executable."))
      (let ((default-directory (file-name-directory aqd-file)))
        (should (equal (aqd-disk) "b\n"))
        (should (equal "made\n" (aqd-bytes-of "new/made.txt")))
        (should-not (file-exists-p "gone.txt"))
        (should (file-executable-p "run.sh"))
        (dolist (name '("new/made.txt" "run.sh"))
          (when (find-buffer-visiting name)
            (kill-buffer (find-buffer-visiting name))))))))

(ert-deftest aqd-propose-one-refused-path-refuses-all ()
  (let ((aqd-policy 'ask))
    (dolist (path '("../outside.txt" ".git/config" "bad\u202ename"))
      (aqd-with-project "a\n"
        (aqd-propose-several-files)
        (let* ((answers nil)
               (message (progn
                          (agent-q-diff-tools-call-async
                           "propose_changes"
                           (list :changes (vector (list :path "target.txt" :content "b\n")
                                                  (list :path "gone.txt" :rename_to path))
                                 :description "d")
                           (lambda (answer) (push answer answers)))
                          (car answers))))
          (if (equal path "../outside.txt")
              ;; As for one file, the user is warned.
              (progn
                (should-not answers)
                (aqd-in-diff (car (agent-q-diff-open-reviews))
                  (should (string-search "# Note: ../outside.txt: The file is OUTSIDE"
                                         (buffer-string))))
                (agent-q-diff-cancel (car (agent-q-diff-open-reviews))))
            (should (string-prefix-p "Error: " message))
            (should-not (agent-q-diff-open-reviews))
            (should (equal (aqd-disk) "a\n"))))))))

(ert-deftest aqd-propose-a-new-link-out-of-the-project-is-shown-with-a-warning ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (dolist (case '(("target.txt") ("sub/../target.txt") ("~/x") ("./")
                      ("/etc/passwd" . t) ("../" . t) ("sub/../../x" . t)
                      ("/ssh:nobody@nowhere:/x" . t)))
        (ert-info ((car case) :prefix "leads to: ")
          (agent-q-diff-tools-call-async
           "propose_patch"
           (list :diff (format "diff --git a/new b/new\nnew file mode 120000\n\
--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+%s\n\\ No newline at end of file\n"
                               (car case))
                 :description "d")
           #'ignore)
          (let ((review (car (agent-q-diff-open-reviews))))
            (should (eq (cdr case)
                        (aqd-in-diff review
                          (and (string-search "# Note: new: the link leads OUTSIDE the project"
                                              (buffer-string))
                               t))))
            (agent-q-diff-cancel review)))))))

(ert-deftest aqd-propose-policy-is-asked-for-new-names-too ()
  (aqd-with-project "a\n"
    (aqd-propose-several-files)
    (let ((agent-q-diff-tools-policy (lambda (request)
                                       (if (string-search "secret" (plist-get request :path))
                                           'deny
                                         'ask)))
          answer)
      (agent-q-diff-tools-call-async
       "propose_changes"
       '(:changes [(:path "gone.txt" :rename_to "secret.txt")] :description "d")
       (lambda (message) (setq answer message)))
      (should (string-search "deny" answer))
      (should-not (agent-q-diff-open-reviews)))))

(ert-deftest aqd-propose-executable-changes-no-other-bits ()
  (let ((aqd-policy 'ask))
    (pcase-dolist (`(,before ,executable ,after) '((#o600 t #o700) (#o640 t #o750)
                                                   (#o755 :false #o644)))
      (aqd-with-project "a\n"
        (set-file-modes aqd-file before)
        (aqd-play "C-c C-c" (lambda ()
                              (aqd-call-tool "propose_changes"
                                             `(:changes [(:path "target.txt" :content "b\n"
                                                                :executable ,executable)]
                                                        :description "d"))))
        (should (= after (file-modes aqd-file)))))))

(ert-deftest aqd-propose-patch-is-for-the-path-that-is-given ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (aqd-propose-several-files)
      (let ((diff (aqd-lines "diff --git a/old.sh b/old.sh" "old mode 100644" "new mode 100755"))
            (default-directory (file-name-directory aqd-file)))
        (make-directory "sub")
        (write-region "ls\n" nil "sub/old.sh" nil 'silent)
        (should (equal (aqd-play "C-c C-c"
                                 (lambda ()
                                   (aqd-call-tool "propose_patch"
                                                  (list :path "sub/old.sh" :diff diff
                                                        :description "d"))))
                       "✓ Accepted: 1 of 1 file: sub/old.sh made executable."))
        (should (string-search
                 "leave path out"
                 (aqd-call-tool "propose_patch"
                                (list :path "target.txt" :description "d"
                                      :diff (concat diff (aqd-lines "diff --git a/gone.txt b/gone.txt"
                                                                    "old mode 100644"
                                                                    "new mode 100755"))))))))))

(ert-deftest aqd-propose-git-diff-of-several-files-needs-no-path ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (aqd-propose-several-files)
      (should (equal (aqd-play "C-c C-c"
                               (lambda ()
                                 (aqd-call-tool
                                  "propose_patch"
                                  (list :description "d" :diff
                                        (aqd-lines "diff --git a/target.txt b/target.txt"
                                                   "--- a/target.txt" "+++ b/target.txt"
                                                   "@@ -1 +1 @@" "-a" "+b"
                                                   "diff --git a/old.sh b/run.sh"
                                                   "similarity index 100%"
                                                   "rename from old.sh" "rename to run.sh")))))
                     "✓ Accepted: 2 of 2 files: target.txt 1 of 1 hunk, old.sh renamed to run.sh."))
      (should (equal (aqd-disk) "b\n")))))

(ert-deftest aqd-propose-wrong-changes-are-named ()
  (aqd-with-file "a\n"
    (pcase-dolist (`(,changes . ,words)
                   '((nil . "Parameter 'changes' needs at least one file")
                     ([] . "Parameter 'changes' needs at least one file")
                     ("x" . "Parameter 'changes' must be an array of objects, not a string")
                     ([(:path "a" :contents "x")] . "Unknown parameter 'contents'. changes\\[0\\] takes path")
                     ([(:content "x")] . "Missing parameter 'path'. changes\\[0\\] needs path")
                     ([(:path "a" :delete "yes")] . "'delete' must be a boolean, not a string")))
      (let (answer)
        (agent-q-diff-tools-call-async "propose_changes"
                                       (list :changes changes :description "d")
                                       (lambda (message) (setq answer message)))
        (should (string-match-p words answer))
        (should-not (agent-q-diff-open-reviews))))))

;;;; Policy

(ert-deftest aqd-propose-policy-deny-counts ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'deny))
      (should (equal (aqd-call-tool "propose_file_edit"
                                    '(:path "target.txt" :original "a\n"
                                            :modified "b\n" :description "d"))
                     (concat "✗ Rejected: the user's settings deny propose_file_edit \
here. None of it is in the file."
                             aqd-stop))))))

(ert-deftest aqd-propose-by-call ()
  (aqd-with-project "a\n"
    (should (string-prefix-p
             "✓ Accepted: the change is in target.txt"
             (aqd-play "a q" (lambda ()
                               (aqd-call-tool "propose_file_edit"
                                              '(:path "target.txt" :original "a\n"
                                                      :modified "b\n" :description "d"))))))
    (should (equal (aqd-disk) "b\n"))))

(ert-deftest aqd-propose-callback-that-fails-is-called-once-by-the-policy-too ()
  (aqd-with-file aqd-original-of-two
    (let ((agent-q-diff-tools-policy 'deny)
          (n 0))
      (agent-q-diff-tools-call-async
       "propose_file_edit"
       (list :path aqd-file :original aqd-original-of-two
             :modified aqd-modified-of-two :description "d")
       (lambda (_) (cl-incf n) (error "Broken")))
      (should (= n 1)))))

(ert-deftest aqd-propose-review-that-cannot-be-shown-is-answered-once ()
  (let ((messages nil))
    (aqd-with-file aqd-original-of-two
      (let ((display-buffer-overriding-action '(aqd-fail)))
        (agent-q-diff-tools-call-async
         "propose_file_edit"
         (list :path aqd-file :original aqd-original-of-two
               :modified aqd-modified-of-two :description "d")
         (lambda (message) (push message messages))))
      (should-not messages)
      (mapc #'agent-q-diff-end (agent-q-diff-open-reviews))
      (should (= 1 (length messages)))
      (should (string-search "the user has not decided" (car messages))))
    (aqd-should-leave-nothing)))

;;;; Files outside the project

(defvar aqd-propose-reviews nil
  "The notes of the reviews that were begun, each a list of strings.")

(defun aqd-propose-for (tool path)
  "Have TOOL propose something for PATH, and return the message.
A review that is begun is noted in `aqd-propose-reviews' and cancelled."
  (cl-letf (((symbol-function 'agent-q-diff-review-and-wait)
             (lambda (&rest arguments)
               (push (plist-get (nthcdr 4 arguments) :notes) aqd-propose-reviews)
               (signal 'agent-q-diff-cancelled '("a test"))))
            ((symbol-function 'agent-q-diff-review-patch-and-wait)
             (lambda (&rest arguments)
               (push (plist-get (nthcdr 3 arguments) :notes) aqd-propose-reviews)
               (signal 'agent-q-diff-cancelled '("a test")))))
    (agent-q-diff-tools-call
     tool (if (equal tool "propose_patch")
              `(:path ,path :diff "@@ -1 +1 @@\n-text\n+evil\n" :description "d")
            `(:path ,path :original "text\n" :modified "evil\n" :description "d")))))

(ert-deftest aqd-propose-what-an-edit-is-refused-a-proposal-is-refused ()
  "A file in the project that no agent may edit is refused by every tool."
  (aqd-guard-with-project
    (dolist (tool '("propose_file_edit" "propose_patch"))
      (dolist (path '("hard-secret" "in-hard" "once" "a.gz" "in-gz" "a.gpg" "a.zip" "a.tar"
                      "fifo" "in-fifo" "src" "dangling" "self" ".git/config" "in-hook"
                      "sub/.git" "bare/config" "new.gpg" "README.md/x"))
        (ert-info ((format "%s %s" tool path) :prefix "call: ")
          (let ((aqd-propose-reviews nil)
                (before (aqd-guard-snapshot)))
            (should (equal (aqd-guard-answer (aqd-guard-in path))
                           (aqd-propose-for tool path)))
            (should-not aqd-propose-reviews)
            (should (equal before (aqd-guard-snapshot)))
            (should-not aqd-guard-asked)))))))

(defun aqd-propose-build-outside ()
  "Create files next to the project that no agent may edit."
  (mapc #'aqd-guard-file '("outside/.git/HEAD" "outside/.git/hooks/pre-commit"
                           "outside/a.gz" "outside/a.gpg" "outside/.envrc"
                           "outside/bare/HEAD" "outside/bare/config"))
  (dolist (directory '("outside/bare/objects" "outside/bare/refs"))
    (make-directory (concat aqd-guard-top directory) t))
  (aqd-guard-run "mkfifo" "outside/fifo")
  (aqd-guard-run "ln" "outside/file" "outside/hard")
  (aqd-guard-link "../outside/.git/hooks/pre-commit" "proj/out-hook"))

(ert-deftest aqd-propose-what-is-outside-is-proposed-with-a-warning-or-refused ()
  (aqd-guard-with-project
    (aqd-propose-build-outside)
    (dolist (tool '("propose_file_edit" "propose_patch"))
      (dolist (path (list "outside/.git/hooks/pre-commit" "outside/a.gz" "outside/a.gpg"
                          "outside/bare/config" "outside/fifo" "outside/hard" "outside/dir"))
        (ert-info ((format "%s %s" tool path) :prefix "call: ")
          (let ((aqd-propose-reviews nil))
            (should (string-prefix-p "Error: "
                                     (aqd-propose-for tool (concat aqd-guard-top path))))
            (should-not aqd-propose-reviews))))
      (let ((aqd-propose-reviews nil))
        (should (string-prefix-p "Error: " (aqd-propose-for tool "out-hook")))
        (should-not aqd-propose-reviews)
        (aqd-propose-for tool (concat aqd-guard-top "outside/dir/file"))
        (should (string-match-p "OUTSIDE" (string-join (car aqd-propose-reviews) "\n")))
        (should-not (string-match-p "PROTECTED" (string-join (car aqd-propose-reviews) "\n")))
        (aqd-propose-for tool (concat aqd-guard-top "outside/.envrc"))
        (should (string-match-p "OUTSIDE\\(.\\|\n\\)*PROTECTED"
                                (string-join (car aqd-propose-reviews) "\n"))))
      (should-not aqd-guard-asked))))

(ert-deftest aqd-propose-what-is-outside-is-checked-again-before-it-is-written ()
  (dolist (what '(hard git))
    (aqd-guard-with-project
      (let* ((file (concat aqd-guard-top "outside/dir/file"))
             (review (agent-q-diff-propose
                      "propose_file_edit"
                      `((path . ,file) (original . "text\n") (modified . "evil\n")
                        (description . "d"))
                      #'ignore)))
        (if (eq what 'hard)
            (aqd-guard-run "ln" "outside/dir/file" "outside/other")
          (mapc #'aqd-guard-file '("outside/HEAD" "outside/objects/x" "outside/refs/x")))
        (let ((came-to (condition-case err
                           (agent-q-diff-accept review 0)
                         (agent-q-diff-error (car err)))))
          (should (memq came-to '(agent-q-diff-forbidden agent-q-diff-bad-target))))
        (agent-q-diff-cancel review)
        (should (equal "text\n" (with-temp-buffer
                                  (insert-file-contents file)
                                  (buffer-string))))))))

(ert-deftest aqd-propose-ruling-15-tools-resolve-against-the-project-root ()
  (aqd-with-forty-lines
    (let ((agent-q-diff-project-root (file-name-directory aqd-file))
          (default-directory "/"))
      (should (string-prefix-p
               "✓ Changes accepted and applied to target.txt"
               (aqd-propose-and-press "target.txt" (car aqd-three) (cdr aqd-three)
                                      "C-c C-c"))))
    (should (equal (aqd-disk) (cdr aqd-three)))))

(ert-deftest aqd-propose-ruling-15-outside-the-root-is-shown-with-a-warning ()
  (aqd-with-forty-lines
    (let ((agent-q-diff-project-root (expand-file-name "sub"
                                                       (file-name-directory aqd-file))))
      (make-directory agent-q-diff-project-root)
      (should (string-prefix-p
               "✓" (aqd-propose-and-press aqd-file (car aqd-three)
                                          (cdr aqd-three) "C-c C-c")))
      (with-current-buffer (aqd-diff-buffer)
        (should (string-match-p "^# Note: The file is OUTSIDE the project"
                                (buffer-string)))))))

(provide 'agent-q-diff-propose-test)
;;; agent-q-diff-propose-test.el ends here
