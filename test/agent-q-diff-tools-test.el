;;; agent-q-diff-tools-test.el --- The tools that agents call  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tools as they are registered, and the check of arguments.
;;
;; From the call of a tool to a review and its message: diffs, policy, and
;; files outside the project.
;;
;; Calls that do not wait keep their order, and each is answered once.
;;
;; A call always ends in a message.

;;; Code:

(require 'json)
(require 'cl-lib)
(require 'agent-q-diff-project-help)
(require 'agent-q-diff-guard-help)
(require 'agent-q-diff-test-help)

;;;; Document 003: test coverage

(defun aqd-tools-schema-edit-file ()
  "Return the tool edit_file as it is registered."
  (seq-find (lambda (tool) (equal (plist-get tool :name) "edit_file"))
            (agent-q-diff-tools-list)))

(ert-deftest edit-file-tool-exists ()
  (should (aqd-tools-schema-edit-file)))

(ert-deftest edit-file-is-moderate ()
  (should (eq (plist-get (aqd-tools-schema-edit-file) :safety-level) 'moderate))
  (should (equal (plist-get (aqd-tools-schema-edit-file) :categories) '(filesystem editing))))

(ert-deftest edit-file-has-required-parameters ()
  (should (equal (plist-get (aqd-tools-schema-edit-file) :required) '("path" "old_str" "new_str")))
  (should (equal (alist-get 'required (plist-get (aqd-tools-schema-edit-file) :parameters))
                 ["path" "old_str" "new_str"])))

(ert-deftest edit-file-has-description ()
  (should (string-search "exact string replacement"
                         (plist-get (aqd-tools-schema-edit-file) :description))))

;;;; Arguments

(ert-deftest aqd-tools-input-validation ()
  (aqd-with-project "a\n"
    (pcase-dolist
        (`(,arguments ,message)
         '((nil "Missing parameter 'path'. edit_file needs path, old_str, new_str")
           ((:path "target.txt" :new_str "b")
            "Missing parameter 'old_str'. edit_file needs path, old_str, new_str")
           ((:path "target.txt" :old_str "b")
            "Missing parameter 'new_str'. edit_file needs path, old_str, new_str")
           ((:path "target.txt" :old_str "a" :new_str :null)
            "Missing parameter 'new_str'. edit_file needs path, old_str, new_str")
           ((:path 5 :old_str "a" :new_str "b")
            "Parameter 'path' must be a string, not an integer")
           ((:path "target.txt" :old_str ["a"] :new_str "b")
            "Parameter 'old_str' must be a string, not an array or object")
           ((:path "target.txt" :old_str "a" :new_str t)
            "Parameter 'new_str' must be a string, not a boolean")
           ((:path "target.txt" :old_str "a" :new_str "b" :shouldReplaceAll "true")
            "Parameter 'shouldReplaceAll' must be a boolean, not a string")
           ((:path "target.txt" :old_str "a" :new_str "b" :description 1.5)
            "Parameter 'description' must be a string, not a number")
           ((:path "target.txt" :old_str "a" :new_str "b" :replace_all t)
            "Unknown parameter 'replace_all'. edit_file takes path, old_str, \
new_str, description, shouldReplaceAll")
           ((:path "target.txt" :old_str "a" :oldString "a" :new_str "b")
            "Parameter 'old_str' is given twice")
           ("text" "The arguments must be an object: a hash table, an alist or a plist")
           ((:path) "The arguments must be an object, not a list of something else")))
      (should (equal (aqd-call-tool "edit_file" arguments)
                     (concat "Error: " message))))
    (should (equal (aqd-disk) "a\n"))))

(ert-deftest aqd-tools-empty-path ()
  (aqd-with-project "a\n"
    (should (string-prefix-p "Error: " (aqd-call-tool "edit_file" '(:path "" :old_str "a"
                                                                          :new_str "b"))))))

(ert-deftest aqd-tools-unknown-tool ()
  (should (equal (aqd-call-tool "delete_file" nil)
                 "Error: Unknown tool 'delete_file'. The tools are edit_file, \
propose_file_edit, propose_patch, propose_changes, review_comments, resolve_comment")))

(ert-deftest aqd-tools-arguments-as-json-gives-them ()
  (let ((json "{\"path\":\"target.txt\",\"old_str\":\"a\",\"new_str\":\"b\",\
\"shouldReplaceAll\":false,\"description\":null}"))
    (dolist (arguments
             (list (json-parse-string json)
                   (json-parse-string json :object-type 'alist)
                   (json-parse-string json :object-type 'plist)
                   (json-read-from-string json)
                   (let ((json-object-type 'plist)) (json-read-from-string json))
                   (let ((json-object-type 'hash-table)) (json-read-from-string json))
                   (let ((json-key-type 'string)) (json-read-from-string json))
                   '(("path" . "target.txt") ("oldString" . "a") ("newString" . "b"))
                   '("path" "target.txt" "old_str" "a" "new_str" "b")))
      (aqd-with-project "a\n"
        (should (string-prefix-p "✓" (aqd-call-tool "edit_file" arguments)))
        (should (equal (aqd-disk) "b\n"))))))

(ert-deftest aqd-tools-is-json ()
  (dolist (tool (agent-q-diff-tools-list))
    (let ((schema (plist-get tool :parameters)))
      (should (equal (json-parse-string (json-serialize schema) :object-type 'alist)
                     (json-parse-string (json-encode schema) :object-type 'alist)))
      (dolist (name (plist-get tool :required))
        (should (let-alist (alist-get (intern name) (alist-get 'properties schema))
                  (and (stringp .type) (stringp .description))))))))

;;; Proposals

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

(ert-deftest aqd-tools-propose-diff-is-decided-hunk-by-hunk ()
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

(ert-deftest aqd-tools-propose-diff-shows-no-lines-of-a-hunk-without-a-place ()
  (aqd-with-file (aqd-numbered 40 '((20 . "x")))
    (should (string-suffix-p
             (concat "hunk 2 (its lines are not in the target as the diff expects them)."
                     (aqd-present-lines (aqd-numbered 40 '((5 . "five")))
                                        '(1 "in the file" 4 6)))
             (aqd-propose-patch aqd-propose-diff "C-c C-c q")))))

(ert-deftest aqd-tools-propose-diff-creates-a-file ()
  (aqd-with-file ""
    (should (string-prefix-p
             "✓" (aqd-propose-patch "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"
                                    "C-c C-c" "new.txt")))
    (let ((aqd-file (expand-file-name "new.txt" (file-name-directory aqd-file))))
      (should (equal (aqd-disk) "a\nb\n")))))

(ert-deftest aqd-tools-propose-diff-that-is-none-is-told-why ()
  (aqd-with-file (aqd-numbered 40)
    (pcase-dolist (`(,diff . ,why)
                   `(("" . "no hunk")
                     ("nonsense\n" . "no hunk")
                     ("@@ -1,2 +1,2 @@\n line 1\n" . "line 1")))
      (let ((message (aqd-propose-patch diff "C-c C-c")))
        (should (string-prefix-p aqd-no-decision message))
        (should (string-match-p why message))))
    (should (equal (aqd-disk) (aqd-numbered 40)))))

(ert-deftest aqd-tools-propose-diff-that-applies-nowhere-is-no-refusal ()
  (aqd-with-file "other\n"
    (let ((message (aqd-propose-patch aqd-propose-diff "a a q")))
      (should (string-prefix-p "Error: the change could not be applied to target.txt: hunk 1: "
                               message)))))

(ert-deftest aqd-tools-propose-diff-of-another-file-is-said ()
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

(ert-deftest aqd-tools-propose-diff-is-for-policy-and-log-too ()
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

(ert-deftest aqd-tools-propose-diff-without-waiting ()
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

(ert-deftest aqd-tools-propose-a-diff-that-deletes-its-file-does ()
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

;;; Several files

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

(ert-deftest aqd-tools-propose-several-files-in-one-review ()
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

(defun aqd-tools-annotations ()
  "Return the notes of the proposal of the open review, (FILE LINE . TEXT) each."
  (cl-loop for file in (agent-q-diff-change-files
                        (agent-q-diff-session-change (car (agent-q-diff-open-reviews))))
           for index from 0
           append (mapcar (apply-partially #'cons index)
                          (agent-q-diff-file-change-annotations file))))

(ert-deftest aqd-tools-propose-with-notes-on-lines ()
  (let ((aqd-policy 'ask)
        (evil (propertize "Why\n\u202enot" 'display "x")))
    (dolist (form '(vector list))
      (aqd-with-project "a\n"
        (aqd-propose-several-files)
        (agent-q-diff-tools-call-async
         "propose_changes"
         (list :changes (funcall form
                                 (list :path "target.txt" :original "a\n" :modified "b\nc\n"
                                       :notes (funcall form (list :line 2 :text evil)
                                                       (list :line 0 :text "All of it")))
                                 (list :path "new.txt" :content "made"
                                       :notes (funcall form (list :line 1 :text "New")))
                                 (list :path "gone.txt" :delete t
                                       :notes (funcall form (list :text "Unused")))
                                 (list :path "old.sh" :rename_to "run.sh" :notes (funcall form)))
               :description "d")
         #'ignore)
        (should (equal-including-properties
                 (aqd-tools-annotations)
                 '((0 1 . "Why\n\u202enot") (0 nil . "All of it") (1 0 . "New")
                   (2 nil . "Unused"))))
        (aqd-in-diff (car (agent-q-diff-open-reviews))
          (should (= 4 (length (agent-q-diff-annotations-between (point-min) (point-max)))))
          (should-not (string-search "Unused" (buffer-string)))
          (re-search-forward "^\\+c")
          (should (equal (list evil) (mapcar #'agent-q-diff-annotation-text
                                             (agent-q-diff-annotations-at-point)))))
        (agent-q-diff-cancel (car (agent-q-diff-open-reviews)))))))

(ert-deftest aqd-tools-propose-one-file-with-notes-on-lines ()
  (let ((aqd-policy 'ask)
        (answer nil))
    (aqd-with-project "a\n"
      (agent-q-diff-tools-call-async
       "propose_file_edit"
       '((path . "target.txt") (original . "a\n") (modified . "b\n") (description . "d")
         (notes . [((line . 1) (text . "Why"))]))
       (lambda (message) (setq answer message)))
      (should (equal (aqd-tools-annotations) '((0 0 . "Why"))))
      (agent-q-diff-accept (car (agent-q-diff-open-reviews)) 0)
      (agent-q-diff-end (car (agent-q-diff-open-reviews)))
      ;; Notes are the agent's own; the answer and the file do not have them.
      (should (string-prefix-p "✓ " answer))
      (should-not (string-search "Why" answer))
      (should (equal "b\n" (aqd-disk))))))

(ert-deftest aqd-tools-propose-bad-notes-are-refused-in-words ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (aqd-propose-several-files)
      (pcase-dolist
          (`(,notes . ,words)
           `(("x" . "Parameter 'notes' must be an array of objects, not a string")
             ([7] . "notes\\[0\\] must be an object, not an integer")
             ([(:line 1)] . "Missing parameter 'text'. notes\\[0\\] needs text")
             ([(:line 1 :text 7)] . "Parameter 'text' must be a string, not an integer")
             ([(:line "1" :text "x")] . "Parameter 'line' must be an integer, not a string")
             ([(:line 1.5 :text "x")] . "Parameter 'line' must be an integer, not a number")
             ([(:line -1 :text "x")] . "A note is on line -1; give a line from 1")
             ([(:line 1 :text " ")] . "A note on line 1 has no text")
             ([(:line 1 :text "x" :side "old")] . "Unknown parameter 'side'")
             ([(:line 2 :text "x")] . "target.txt: a note is on line 2, but .* has 1 line")
             ([(:line 1 :text ,(make-string 2001 ?x))] . "has 2001 characters, and 2000")
             (,(make-vector 101 '(:line 1 :text "x")) . "There are 101 notes, and 100")))
        (pcase-dolist (`(,tool . ,arguments)
                       `(("propose_changes"
                          :changes [(:path "target.txt" :content "b\n" :notes ,notes)]
                          :description "d")
                         ("propose_file_edit" :path "target.txt" :original "a\n"
                          :modified "b\n" :description "d" :notes ,notes)))
          (let ((answer nil))
            (agent-q-diff-tools-call-async tool arguments
                                           (lambda (message) (setq answer message)))
            (should (string-match-p (concat "\\`Error\\(.\\|\n\\)*" words) answer))
            (should-not (agent-q-diff-open-reviews)))))
      ;; Of several files, all notes count, and a deleted one has no lines.
      (pcase-dolist (`(,changes . ,words)
                     `(([(:path "target.txt" :content "b\n"
                          :notes ,(make-vector 60 '(:line 1 :text "x")))
                         (:path "new.txt" :content "b\n"
                          :notes ,(make-vector 60 '(:line 1 :text "x")))]
                        . "There are 120 notes")
                       ([(:path "gone.txt" :delete t :notes [(:line 1 :text "x")])]
                        . "gone.txt: a note is on line 1, but .* has 0 lines")))
        (let ((answer nil))
          (agent-q-diff-tools-call-async
           "propose_changes" (list :changes changes :description "d")
           (lambda (message) (setq answer message)))
          (should (string-match-p words answer))
          (should-not (agent-q-diff-open-reviews))))
      (should (equal "a\n" (aqd-disk))))))

(ert-deftest aqd-tools-propose-one-refused-path-refuses-all ()
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

(ert-deftest aqd-tools-propose-a-new-link-out-of-the-project-is-shown-with-a-warning ()
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

(ert-deftest aqd-tools-propose-policy-is-asked-for-new-names-too ()
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

(ert-deftest aqd-tools-propose-executable-changes-no-other-bits ()
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

(ert-deftest aqd-tools-propose-patch-is-for-the-path-that-is-given ()
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

(ert-deftest aqd-tools-propose-git-diff-of-several-files-needs-no-path ()
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

(ert-deftest aqd-tools-propose-wrong-changes-are-named ()
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

(ert-deftest aqd-tools-propose-policy-deny-counts ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'deny))
      (should (equal (aqd-call-tool "propose_file_edit"
                                    '(:path "target.txt" :original "a\n"
                                            :modified "b\n" :description "d"))
                     (concat "✗ Rejected: the user's settings deny propose_file_edit \
here. None of it is in the file."
                             aqd-stop))))))

(ert-deftest aqd-tools-propose-by-call ()
  (aqd-with-project "a\n"
    (should (string-prefix-p
             "✓ Accepted: the change is in target.txt"
             (aqd-play "a q" (lambda ()
                               (aqd-call-tool "propose_file_edit"
                                              '(:path "target.txt" :original "a\n"
                                                      :modified "b\n" :description "d"))))))
    (should (equal (aqd-disk) "b\n"))))

(ert-deftest aqd-tools-propose-callback-that-fails-is-called-once-by-the-policy-too ()
  (aqd-with-file aqd-original-of-two
    (let ((agent-q-diff-tools-policy 'deny)
          (n 0))
      (agent-q-diff-tools-call-async
       "propose_file_edit"
       (list :path aqd-file :original aqd-original-of-two
             :modified aqd-modified-of-two :description "d")
       (lambda (_) (cl-incf n) (error "Broken")))
      (should (= n 1)))))

(ert-deftest aqd-tools-propose-review-that-cannot-be-shown-is-answered-once ()
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

(ert-deftest aqd-tools-propose-what-an-edit-is-refused-a-proposal-is-refused ()
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

(ert-deftest aqd-tools-propose-what-is-outside-is-proposed-with-a-warning-or-refused ()
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

(ert-deftest aqd-tools-propose-what-is-outside-is-checked-again-before-it-is-written ()
  (dolist (what '(hard git))
    (aqd-guard-with-project
      (let* ((file (concat aqd-guard-top "outside/dir/file"))
             (review (agent-q-diff-tools-propose
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

(ert-deftest aqd-tools-propose-ruling-15-tools-resolve-against-the-project-root ()
  (aqd-with-forty-lines
    (let ((agent-q-diff-project-root (file-name-directory aqd-file))
          (default-directory "/"))
      (should (string-prefix-p
               "✓ Changes accepted and applied to target.txt"
               (aqd-propose-and-press "target.txt" (car aqd-three) (cdr aqd-three)
                                      "C-c C-c"))))
    (should (equal (aqd-disk) (cdr aqd-three)))))

(ert-deftest aqd-tools-propose-ruling-15-outside-the-root-is-shown-with-a-warning ()
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

;;;; Calls that wait for their turn

(defun aqd-queue-wait-for (predicate)
  "Wait until PREDICATE returns non-nil, for a while."
  (let ((deadline (+ (float-time) 10)))
    (while (and (not (funcall predicate)) (< (float-time) deadline))
      (accept-process-output nil 0.01))
    (should (funcall predicate))))

(ert-deftest aqd-tools-queue-calls-that-do-not-wait-keep-their-order ()
  (aqd-with-project "0\n"
    (let (answers)
      (dotimes (n 5)
        (agent-q-diff-tools-call-async
         "edit_file" `(:path "target.txt" :old_str ,(format "%d" n)
                             :new_str ,(format "%d" (1+ n)))
         (lambda (message) (push message answers))))
      (should-not answers)
      (aqd-queue-wait-for (lambda () (= (length answers) 5)))
      (should (seq-every-p (lambda (answer) (string-prefix-p "✓" answer)) answers))
      (should (equal (aqd-disk) "5\n")))))

(ert-deftest aqd-tools-queue-session-covers-what-is-queued ()
  (aqd-with-project "0\n"
    (aqd-asking
     (let ((agent-q-diff-permission-function (aqd-answering 'session))
           answers)
       (dotimes (n 3)
         (agent-q-diff-tools-call-async
          "edit_file" `(:path "target.txt" :old_str ,(format "%d" n)
                              :new_str ,(format "%d" (1+ n)))
          (lambda (message) (push message answers))))
       (aqd-queue-wait-for (lambda () (= (length answers) 3)))
       (should (equal (aqd-disk) "3\n"))))))

(ert-deftest aqd-tools-queue-every-call-is-answered-once ()
  (aqd-with-project "a\n"
    (let ((answers nil))
      ;; A wrong call, an interrupted one, one whose callback fails, a good one.
      (agent-q-diff-tools-call-async "edit_file" nil
                                     (lambda (message) (push message answers)))
      (agent-q-diff-tools-call-async
       "edit_file" '(:path "target.txt" :old_str "a" :new_str "b")
       (lambda (message)
         (push message answers)
         (error "The caller is broken")))
      (agent-q-diff-tools-call-async
       "edit_file" '(:path "target.txt" :old_str "b" :new_str "c")
       (lambda (message) (push message answers)))
      (let ((inhibit-message t))
        (aqd-queue-wait-for (lambda () (= (length answers) 3))))
      (should (equal (aqd-disk) "c\n"))
      (should (string-prefix-p "Error: Missing parameter" (nth 2 answers))))))

(ert-deftest aqd-tools-queue-a-call-cut-short-is-answered ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-show-edit-functions (list (lambda (&rest _) (throw 'away t))))
          answer)
      (catch 'away
        (agent-q-diff-tools--answer
         (lambda ()
           (agent-q-diff-tools-call
            "edit_file" '(:path "target.txt" :old_str "a" :new_str "b")))
         (lambda (message) (setq answer message))))
      (should (string-prefix-p "Error: the call was interrupted" answer))
      (should (equal (aqd-disk) "a\n")))))

;;;; Turns to change files

(defvar aqd-queue-begun nil
  "Calls whose turns have begun, each (CALL . HAS-WAITED), the latest first.")

(defun aqd-queue-take (call &rest files)
  "Let CALL, which waits for itself, take its turn to change FILES."
  (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Agent" :caller call)))
    (agent-q-diff-tools-take-turn call files
                                  (lambda (has-waited)
                                    (push (cons call has-waited) aqd-queue-begun)))))

(defun aqd-queue-leave (call)
  "Withdraw CALL."
  (agent-q-diff-tools--withdraw-queued (apply-partially #'equal call)))

(defmacro aqd-queue-with-turns (&rest body)
  "Run BODY without any turns, and check that none are left."
  (declare (indent 0) (debug t))
  `(let ((agent-q-diff-tools--turns nil)
         (aqd-queue-begun nil)
         (agent-q-diff-reviews-n-queued 0))
     ,@body
     (should-not agent-q-diff-tools--turns)
     (should (= 0 agent-q-diff-reviews-n-queued))))

(ert-deftest aqd-tools-queue-calls-that-change-one-file-have-their-turns-in-order ()
  (aqd-queue-with-turns
    (aqd-queue-take "1" "/a")
    (aqd-queue-take "2" "/a")
    (aqd-queue-take "3" "/b")
    (aqd-queue-take "4" "/a")
    (should (equal aqd-queue-begun '(("3") ("1"))))
    (should (= 2 agent-q-diff-reviews-n-queued))
    (let ((agent-q-diff-reviews-open '(review)))
      (should (equal " [1 review, 2 waiting]"
                     (substring-no-properties (agent-q-diff-reviews-mode-line)))))
    ;; It is decided, so its turn lasts until its tool has written.
    (agent-q-diff-tools-keep-turn "1")
    (aqd-queue-leave "1")
    (should (equal aqd-queue-begun '(("3") ("1"))))
    (agent-q-diff-tools-end-turn "1")
    (should (equal aqd-queue-begun '(("2" . t) ("3") ("1"))))
    ;; It is gone before its turn, and the one before it without a decision.
    (should (equal "Agent gave up an edit of /a that waited for its turn"
                   (aqd-said (aqd-queue-leave "4"))))
    (aqd-queue-take "5" "/a")
    (aqd-queue-leave "2")
    (should (equal (car aqd-queue-begun) '("5" . t)))
    (mapc #'aqd-queue-leave '("3" "5"))))

;; Some agents have no ids, so that all calls for a file are one; and some run a hook
;; that is in two of their settings twice.
(ert-deftest aqd-tools-queue-a-call-does-not-wait-for-itself-to-be-written ()
  (aqd-queue-with-turns
    (aqd-queue-take "1" "/a")
    (aqd-queue-take "1" "/a")
    (should (equal aqd-queue-begun '(("1"))))
    (agent-q-diff-tools-keep-turn "1")
    (agent-q-diff-tools-end-turn "other")
    (should (equal aqd-queue-begun '(("1" . t) ("1"))))
    (aqd-queue-leave "1")
    (aqd-queue-take "1" "/a")
    (should (= 3 (length aqd-queue-begun)))
    (agent-q-diff-tools-end-turn "1")
    (aqd-queue-leave "1")))

(ert-deftest aqd-tools-queue-calls-of-several-files-do-not-wait-for-each-other ()
  (aqd-queue-with-turns
    (aqd-queue-take "1" "/a" "/b")
    (aqd-queue-take "2" "/b" "/a")
    (aqd-queue-take "3" "/c" "/b")
    (aqd-queue-take "4" "/c")
    (should (equal aqd-queue-begun '(("1"))))
    (dolist (call '("1" "2" "3"))
      (aqd-queue-leave call))
    (should (equal aqd-queue-begun '(("4" . t) ("3" . t) ("2" . t) ("1"))))
    (aqd-queue-leave "4")))

;;; The entry points

;;;; propose_patch

(ert-deftest aqd-tools-wrong-arguments-are-an-answer-too ()
  (dolist (arguments '((nil "a" "b" "d") ("f" 1 "b" "d") ("f" "a" nil "d")))
    (should (string-prefix-p "Error showing diff for "
                             (apply #'agent-q-diff-tools-propose-file-edit
                                    arguments)))))

(provide 'agent-q-diff-tools-test)
;;; agent-q-diff-tools-test.el ends here
