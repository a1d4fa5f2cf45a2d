;;; agent-q-diff-api-test.el --- Waiting for a decision in a recursive edit  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'ert-x)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-tools)

;;;; Decisions

(ert-deftest aqd-wait-ruling-7-exit-recursive-edit-decides-by-the-marks ()
  (aqd-with-forty-lines
    (should (equal "accepted" (aqd-review-three "a C-M-c"))))
  (aqd-with-forty-lines
    (should (equal "rejected" (aqd-review-three "r C-M-c")))))

(ert-deftest aqd-wait-for-a-review-that-was-begun-before ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (should (equal "accepted"
                   (plist-get (aqd-play "a a q" (lambda () (agent-q-diff-wait review)))
                              :decision)))
    (should (equal (aqd-answer :status) '(accepted)))
    (should (equal "accepted" (plist-get (agent-q-diff-wait review) :decision)))))

;;;; Ends without a decision

(ert-deftest aqd-wait-ruling-7-batch-without-keys-is-an-error-at-once ()
  (aqd-with-forty-lines
    (should-error (sly-agent-q-show-diff-and-wait aqd-file (car aqd-three)
                                                  (cdr aqd-three) "d")
                  :type 'agent-q-diff-no-user)))

(ert-deftest aqd-wait-ruling-7-keys-that-run-out-are-no-decision ()
  (aqd-with-forty-lines
    (should (eq 'agent-q-diff-no-user (car (aqd-review-three "a n"))))
    (should (equal (aqd-disk) (aqd-three-with 1)))))

(ert-deftest aqd-wait-keys-that-run-out-after-leaving-tell-what-is-in-the-file ()
  "In a batch Emacs, ESC ESC ESC leaves the recursive edit, but decides nothing."
  (aqd-with-file "a\n"
    (let ((unread-command-events (append (kbd "a ESC ESC ESC") nil))
          (agent-q-diff-grace 0))
      (should (equal '(agent-q-diff-no-user "this Emacs runs in batch mode, and there are \
no keys left to read; the change is in the file")
                     (should-error (agent-q-diff-review-and-wait
                                    aqd-file "a\n" "b\n" "A test.")))))
    (should (equal "b\n" (aqd-disk)))))

(ert-deftest aqd-wait-ruling-7-aborting-is-no-decision ()
  (aqd-with-forty-lines
    (should (eq 'agent-q-diff-cancelled (car (aqd-review-three "a C-]"))))
    (should (equal (aqd-disk) (aqd-three-with 1)))
    (should (zerop (recursion-depth)))))

(ert-deftest aqd-wait-ruling-7-killing-the-buffer-is-no-decision ()
  (aqd-with-forty-lines
    (should (equal 'agent-q-diff-cancelled
                   (car (aqd-review-three "a C-x k RET"))))
    (should (equal (aqd-disk) (aqd-three-with 1)))
    (should-not agent-q-diff-reviews-waiting)
    (should-not (memq 'agent-q-diff-wait--leave-if-decided
                      (default-value 'post-command-hook)))))

(ert-deftest aqd-wait-cancelled-while-somebody-waits ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (let ((answer (cl-letf (((symbol-function 'recursive-edit)
                             (lambda () (agent-q-diff-cancel review))))
                    (condition-case err (agent-q-diff-wait review) (error err)))))
      (should (eq (car answer) 'agent-q-diff-cancelled)))
    (should (equal (aqd-answer :status) '(cancelled)))))

;;;; Several who wait

(ert-deftest aqd-wait-two-wait-for-one-review ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (let* ((depth (recursion-depth))
           (inner nil)
           (after nil)
           (outer
            (unwind-protect
                (progn
                  (global-set-key [f6] (lambda () (interactive)
                                         (setq inner (agent-q-diff-wait review))))
                  (global-set-key [f7] (lambda () (interactive)
                                         (setq after (recursion-depth))))
                  (aqd-play "<f6> a a q <f7>" (lambda () (agent-q-diff-wait review))))
              (global-set-key [f6] nil)
              (global-set-key [f7] nil))))
      (should (equal after depth))
      (should (eq inner outer))
      (should (equal (aqd-answer :status) '(accepted))))))

(ert-deftest aqd-wait-buffer-of-a-review-inside-another-is-not-kept ()
  (dolist (hook '(ignore error))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (let (inner buffer)
        (unwind-protect
            (progn
              (global-set-key
               [f6] (lambda () (interactive)
                      (let ((other (agent-q-diff-review "x" "a\n" "b\n" "d" #'ignore
                                                        :detached t)))
                        (setq buffer (agent-q-diff-session-buffer other))
                        (with-current-buffer buffer
                          (add-hook 'kill-buffer-hook hook nil t))
                        (setq inner (agent-q-diff-wait other)))))
              (aqd-play "<f6> a q a a q" (lambda () (agent-q-diff-wait review))))
          (global-set-key [f6] nil))
        (should (equal (plist-get inner :decision) "accepted"))
        (should (equal (aqd-answer :status) '(accepted)))
        (should (eq (eq hook 'error) (buffer-live-p buffer)))
        (with-current-buffer (get-buffer-create (if (buffer-live-p buffer) buffer " "))
          (remove-hook 'kill-buffer-hook hook t)
          (kill-buffer))))))

;;;; Beginning

(ert-deftest aqd-api-hook-fails-when-the-review-begins ()
  (let ((aqd-answers nil)
        (diff-mode-hook '(aqd-fail)))
    (aqd-with-file aqd-original-of-two
      (aqd-begin-review aqd-original-of-two aqd-modified-of-two)
      (should (equal (aqd-answer :status :error :reason) '(error error "Broken"))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-api-ruling-7-identical-texts-cannot-be-shown ()
  (aqd-with-forty-lines
    (should (eq 'agent-q-diff-identical
                (car (aqd-review "a\n" "a\n" "q"))))
    (should (string-prefix-p "Error showing diff for"
                             (aqd-propose-and-press aqd-file "a\n" "a\n" "q")))))

(ert-deftest aqd-api-ruling-7-malformed-arguments-cannot-be-shown ()
  (dolist (arguments '((nil "a" "b" "d") ("f" nil "b" "d") ("f" "a" 7 "d")
                       ("f" "a" "b" 7) ("" "a" "b" "d")))
    (should (memq 'agent-q-diff-error
                  (get (car (aqd-play "q" (lambda ()
                                            (apply #'sly-agent-q-show-diff-and-wait
                                                   arguments))))
                       'error-conditions)))))

(ert-deftest aqd-api-review-that-cannot-begin ()
  (let ((aqd-answers nil))
    (aqd-with-file "same\n"
      (let ((review (aqd-begin-review "same\n" "same\n")))
        (should (agent-q-diff-session-outcome review))
        (should (equal (aqd-answer :status) '(error)))
        (should (string-search "changes nothing" (car (aqd-answer :message)))))
      (should-error (agent-q-diff-review aqd-file 1 "b" "" #'ignore)
                    :type 'agent-q-diff-bad-arguments)
      (aqd-should-leave-nothing))))

;;;; Without the original

(ert-deftest aqd-api-the-original-is-the-file-s-if-it-is-not-given ()
  (pcase-dolist (`(,before ,modified ,after)
                 '(("a\nb\n" "a\nc\n" "a\nc\n")
                   ("a\r\nb\r\n" "a\nc\n" "a\r\nc\r\n")
                   ("a\r\nb\r\n" "a\r\nc\r\n" "a\r\nc\r\n")
                   ("\344\nb\n" "ä\nc\n" "\344\nc\n")
                   (nil "new\n" "new\n")))
    (dolist (is-visited '(nil t))
      (let ((aqd-answers nil))
        (aqd-with-file (or before "")
          (unless before
            (delete-file aqd-file))
          (when (and before is-visited)
            (find-file-noselect aqd-file))
          (let ((review (aqd-begin-review nil modified)))
            (should (equal 1 (car (agent-q-diff-change-tally
                                   (agent-q-diff-session-change review)))))
            (aqd-in-diff review (agent-q-diff-accept-all)))
          (should (equal '(accepted t) (aqd-answer :status :saved)))
          (should (equal after (aqd-bytes-of aqd-file)))
          (should (equal "accepted"
                         (plist-get (aqd-play "a q" (lambda ()
                                                      (agent-q-diff-review-and-wait
                                                       aqd-file nil (concat modified "x\n") nil)))
                                    :decision))))
        (aqd-should-leave-nothing)))))

(ert-deftest aqd-api-what-is-not-saved-is-not-the-original-and-stays ()
  "Whoever made the proposal has read the file, and would take the rest back."
  (let ((aqd-answers nil))
    (aqd-with-file (aqd-numbered 20)
      (with-current-buffer (find-file-noselect aqd-file)
        (goto-char (point-max))
        (insert "mine\n"))
      (let ((review (aqd-begin-review nil (concat "top\n" (aqd-numbered 20)))))
        (should-not (aqd-signs-of review))
        (should (equal 1 (car (agent-q-diff-change-tally (agent-q-diff-session-change review)))))
        (aqd-in-diff review (agent-q-diff-accept-all)))
      (should (equal '(accepted nil) (aqd-answer :status :saved)))
      (aqd-in-target
       (should (equal (buffer-string) (concat "top\n" (aqd-numbered 20) "mine\n")))
       (set-buffer-modified-p nil)))))

(ert-deftest aqd-api-a-detached-text-needs-its-original ()
  (should-error (agent-q-diff-review "x" nil "b" "" #'ignore :detached t)
                :type 'agent-q-diff-bad-arguments))

(ert-deftest aqd-api-takes-neither-window-nor-point ()
  (aqd-with-file aqd-original-of-two
    (save-window-excursion
      (switch-to-buffer "*scratch*")
      (dolist (agent-q-diff-display '(at-once announce))
        (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two)))
          (should (equal (buffer-name (window-buffer)) "*scratch*"))
          (should (eq (and (get-buffer-window (agent-q-diff-session-buffer review)) t)
                      (eq agent-q-diff-display 'at-once)))
          (agent-q-diff-cancel review)
          (should-not (get-buffer-window (agent-q-diff-session-buffer review))))))))

;;;; Diffs

(ert-deftest aqd-api-patch-goes-where-its-lines-are ()
  (let ((aqd-answers nil))
    (aqd-with-file (concat "top\n" (aqd-numbered 20))
      (let ((review (agent-q-diff-review-patch
                     aqd-file
                     (aqd-lines "--- a/x" "+++ b/x" "@@ -4,3 +4,3 @@" " line 4"
                                "-line 5" "+five" " line 6"
                                "@@ -14,3 +14,3 @@" " line 14" "-other" "+x"
                                " line 16")
                     "Why" (lambda (result) (push result aqd-answers)))))
        (should (equal (aqd-signs-of review)
                       '((1 . "[PENDING, shifted by 1 line]")
                         (2 . "[DOES NOT APPLY]"))))
        (agent-q-diff-accept review 0)
        (aqd-in-diff review
          (aqd-goto-hunk 1)
          (agent-q-diff-edit-hunk)
          (with-current-buffer (window-buffer)
            (insert "and more\n")
            (agent-q-diff-edit-finish)))
        (agent-q-diff-end review)
        (should (equal (aqd-answer :status :path) (list 'partial aqd-file)))
        (should (equal (aqd-disk)
                       (string-replace "line 5\n" "and more\nfive\n"
                                       (concat "top\n" (aqd-numbered 20))))))
      (aqd-should-leave-nothing))))

;;;; Several files in a diff

(ert-deftest aqd-api-a-diff-of-several-files-is-one-review ()
  (aqd-with-file "a\n"
    (let* ((directory (file-name-directory aqd-file))
           (aqd-answers nil)
           (review (save-window-excursion
                     (agent-q-diff-review-diff
                      (aqd-lines "diff --git a/target.txt b/target.txt"
                                 "--- a/target.txt" "+++ b/target.txt"
                                 "@@ -1 +1 @@" "-a" "+b"
                                 "diff --git a/new b/new" "new file mode 100644"
                                 "--- /dev/null" "+++ b/new"
                                 "@@ -0,0 +1,2 @@" "+one" "+two")
                      directory (lambda (result) (push result aqd-answers))))))
      (aqd-in-diff review
        (agent-q-diff-accept-all))
      (should (equal (aqd-answer :status :total) '(accepted 2)))
      (should (equal (aqd-disk) "b\n"))
      (should (equal (aqd-bytes-of (expand-file-name "new" directory)) "one\ntwo\n"))
      (kill-buffer (find-buffer-visiting (expand-file-name "new" directory)))
      (aqd-should-leave-nothing))))

;;;; A diff that a program proposes

(defconst aqd-api-diff-of-target
  (aqd-lines "--- a/target.txt" "+++ b/target.txt" "@@ -1 +1 @@" "-a" "+b")
  "A diff of the file of a test, which has the line a.")

(ert-deftest aqd-api-a-diff-by-a-program-takes-no-window-and-is-its-agent-s ()
  (aqd-with-file "a\n"
    (let ((directory (file-name-directory aqd-file))
          (aqd-answers nil))
      (save-window-excursion
        (switch-to-buffer "*scratch*")
        (pcase-dolist (`(,agent . ,is-selected) '(("macher") ("macher") (nil . t)))
          (ert-with-message-capture said
            (let ((review (agent-q-diff-review-diff
                           aqd-api-diff-of-target directory
                           (lambda (result) (push result aqd-answers)) nil
                           :agent agent :description "Say b" :notes '("Look.") :id "x")))
              (should (eq review (agent-q-diff-find-review "x")))
              (should (eq is-selected (not (equal (buffer-name (window-buffer)) "*scratch*"))))
              (should (equal agent (agent-q-diff-session-agent review)))
              (should (eq is-selected (agent-q-diff-call-is-by-user
                                       (agent-q-diff-session-call review))))
              (should (string-match-p (if agent
                                          "\\`macher proposes to change .*target.txt (Say b)"
                                        "\\`Review of a diff of .*target.txt (Say b)")
                                      said))
              (aqd-in-diff review
                (should (string-search "Say b" (buffer-string)))
                (should (string-search "Look." (buffer-string))))
              (agent-q-diff-cancel review)))))
      (should (= 3 (length aqd-answers))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-api-a-diff-by-a-program-that-cannot-be-reviewed-is-answered ()
  (aqd-with-file "a\n"
    (pcase-dolist (`(,diff . ,symbol)
                   `(("nothing\n" . agent-q-diff-malformed)
                     ("@@ -1 +1 @@\n-a\n+b\n" . agent-q-diff-bad-target)))
      (let* ((aqd-answers nil)
             (review (agent-q-diff-review-diff
                      diff (file-name-directory aqd-file)
                      (lambda (result) (push result aqd-answers)) nil :agent "macher")))
        (should (agent-q-diff-session-outcome review))
        (should (equal (aqd-answer :status :error) (list 'error symbol)))
        (should (string-prefix-p "Error: " (car (aqd-answer :message))))))
    (aqd-should-leave-nothing)))

;;;; Ids

(ert-deftest aqd-api-a-review-is-found-and-cancelled-by-its-id ()
  (dolist (begin (list (lambda (id callback)
                         (agent-q-diff-review aqd-file "a\n" "b\n" nil callback :id id))
                       (lambda (id callback)
                         (agent-q-diff-review-patch aqd-file "@@ -1 +1 @@\n-a\n+b\n" nil
                                                    callback :id id))
                       (lambda (id callback)
                         (agent-q-diff-review-change `((:path ,aqd-file :delete t)) nil
                                                     callback :id id))))
    (aqd-with-file "a\n"
      (let* ((aqd-answers nil)
             (review (funcall begin '("session" 7) (lambda (result) (push result aqd-answers)))))
        (should (eq review (agent-q-diff-find-review (list "session" 7))))
        (should-not (agent-q-diff-find-review '("session" 8)))
        (should-not (agent-q-diff-find-review nil))
        (should-not (agent-q-diff-cancel "other"))
        (should-not (agent-q-diff-cancel nil))
        (should-not aqd-answers)
        (should (agent-q-diff-cancel '("session" 7)))
        (should (equal '(cancelled) (aqd-answer :status)))
        (should-not (agent-q-diff-find-review '("session" 7)))
        (should-not (agent-q-diff-cancel '("session" 7))))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-api-an-id-that-is-taken-is-refused-and-answered ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (setf (agent-q-diff-session-id review) "x")
    (aqd-begin-review aqd-original-of-two aqd-modified-of-two :id "x")
    (should (equal (aqd-answer :status :error :reason)
                   '(error agent-q-diff-bad-arguments
                           "a review with the id \"x\" is open already; cancel that first")))
    (should (eq review (agent-q-diff-find-review "x")))
    (agent-q-diff-cancel "x")
    ;; Now it is free.
    (let ((next (aqd-begin-review aqd-original-of-two aqd-modified-of-two :id "x")))
      (should (eq next (agent-q-diff-find-review "x")))
      (agent-q-diff-cancel next))))

(ert-deftest aqd-api-a-diff-that-is-none-says-so ()
  (should-error (agent-q-diff-review-diff "nothing\n") :type 'agent-q-diff-malformed)
  (should-error (agent-q-diff-review-diff "@@ -1 +1 @@\n-a\n+b\n")
                :type 'agent-q-diff-bad-target))

(ert-deftest aqd-api-a-diff-with-a-file-without-a-name-begins-no-review ()
  (aqd-with-file "a\n"
    (should-error (agent-q-diff-review-diff
                   (aqd-lines "--- target.txt" "+++ target.txt" "@@ -1 +1 @@" "-a" "+b"
                              "--- /dev/null" "+++ /dev/null" "@@ -0,0 +1 @@" "+x")
                   (file-name-directory aqd-file))
                  :type 'agent-q-diff-bad-target)
    (aqd-should-leave-nothing)))

(ert-deftest aqd-api-a-file-that-is-not-there-has-no-original ()
  (aqd-with-file "a\n"
    (let* ((default-directory (file-name-directory aqd-file))
           (agent-q-diff-project-root default-directory)
           (says "missing.txt does not exist, so it does not have the original text")
           (answers nil))
      (should (string-match-p
               says (cadr (should-error
                           (agent-q-diff-review-and-wait "missing.txt" "a\n" "b\n" "d")
                           :type 'agent-q-diff-bad-target))))
      (agent-q-diff-review "missing.txt" "a\n" "b\n" "d"
                           (lambda (result) (push (plist-get result :reason) answers)))
      (agent-q-diff-review "missing.txt" (aqd-numbered 100000) "b\n" "d"
                           (lambda (result) (push (plist-get result :reason) answers)))
      (agent-q-diff-tools-call-async
       "propose_file_edit" '(:path "missing.txt" :original "a\n" :modified "b\n" :description "d")
       (lambda (message) (push message answers)))
      (should (= 3 (length answers)))
      (dolist (answer answers)
        (should (string-match-p says answer)))
      (should-not (agent-q-diff-open-reviews))
      ;; In a review without files, there is nothing to be missing.
      (agent-q-diff-cancel (agent-q-diff-review "missing.txt" "a\n" "b\n" "d" nil :detached t)))))

;;;; Diffs that ask for more than other lines

(defun aqd-api-operations (diff)
  "Review DIFF, and return the lines that are not the text of a file."
  (let* ((default-directory (file-name-directory aqd-file))
         (review (save-window-excursion (agent-q-diff-review-diff diff))))
    (prog1 (aqd-in-diff review
             (seq-remove (lambda (line) (string-match-p "\\`\\(?:#\\|[-+ ]\\|@@ -\\|\\'\\)" line))
                         (split-string (buffer-string) "\n")))
      (agent-q-diff-cancel review))))

(defconst aqd-api-change "@@ -1 +1 @@\n-a\n+b\n"
  "A hunk.")

(ert-deftest aqd-api-what-a-diff-asks-for-beside-lines-is-decided-too ()
  (aqd-with-file "a\n"
    (write-region "" nil (expand-file-name "run" (file-name-directory aqd-file)) nil 'silent)
    (should (equal (aqd-api-operations
                    (concat "diff --git a/target.txt b/moved.txt\nsimilarity index 90%\n"
                            "rename from target.txt\nrename to moved.txt\n"
                            "--- a/target.txt\n+++ b/moved.txt\n" aqd-api-change))
                   '("renamed    target.txt → moved.txt" "@@ rename @@")))
    (should (equal (aqd-api-operations
                    (concat "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
                            "diff --git a/empty b/empty\nnew file mode 100644\n"
                            "diff --git a/target.txt b/target.txt\n"
                            "--- a/target.txt\n+++ b/target.txt\n" aqd-api-change
                            "diff --git a/new b/new\nnew file mode 100644\n"
                            "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"))
                   '("mode       run" "@@ mode 644 → 755 @@"
                     "new file   empty" "@@ new file @@"
                     "modified   target.txt"
                     "new file   new")))))

(ert-deftest aqd-api-a-rejected-rename-is-told-with-both-names ()
  (aqd-with-file "a\n"
    (let* ((to (expand-file-name "moved.txt" (file-name-directory aqd-file)))
           (result nil)
           (review (agent-q-diff-review-change (list (list :path aqd-file :to to)) ""
                                               (lambda (got) (setq result got)))))
      (aqd-in-diff review (agent-q-diff-reject-all))
      (should (string-match-p (concat "declined the change to 1 file\\. None of it is in the files: "
                                      ".*target\\.txt not renamed to .*moved\\.txt\\.")
                              (plist-get result :message))))))

(ert-deftest aqd-api-what-a-diff-cannot-be-reviewed-for-is-said ()
  (aqd-with-file "a\n"
    (pcase-dolist (`(,diff . ,words)
                   '(("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 1\nIcmZ\n" . "binary")
                     ("diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n"
                      . "y is a copy of another file")))
      (should (string-match-p words
                              (cadr (should-error (agent-q-diff-review-diff diff)
                                                  :type 'agent-q-diff-error)))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-api-what-emacs-prints-of-a-review-is-a-short-line ()
  "`eval-expression' prints no text of the proposal."
  (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Claude" :caller (make-string 500 ?x))))
    (aqd-with-file "a\nb\n"
      (with-temp-buffer
        (eval-expression `(agent-q-diff-review ,aqd-file "a\nb\n" "a\nB\n" "Why\nI want it" nil
                                               :agent "Claude")
                         t)
        (should (equal (buffer-string)
                       (concat "#s(agent-q-diff-session #<buffer *Agent-Q Diff: target.txt*> "
                               "\"Claude\" nil nil nil nil nil nil nil nil nil ...)"))))
      (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews)))))

;;;; Deciding by program

(ert-deftest aqd-api-a-program-can-name-a-place ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (should (eq 'edited (agent-q-diff-accept review 0 4)))
    (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 1)))
    (agent-q-diff-end review)
    (should (eq (answer :status) 'accepted))
    (should-not (plist-get (car (answer :hunks)) :places))))

(provide 'agent-q-diff-api-test)
;;; agent-q-diff-api-test.el ends here
