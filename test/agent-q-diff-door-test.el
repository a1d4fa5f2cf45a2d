;;; agent-q-diff-door-test.el --- What callers do that one does not expect  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A stranger at the agents' doors: callbacks that begin another review or
;; fail, hooks that fail, diffs as git really makes them, calls that are
;; taken back while their question is open.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-replace-help)
(require 'agent-q-diff-again)

(defun aqd-door-begin (callback)
  "Begin a review of the test's file and return it; CALLBACK learns of its end."
  (agent-q-diff-review aqd-file aqd-async-original aqd-async-modified "d" callback))

;;;; Callbacks

(defun aqd-door-chain (end)
  "Call END with a review whose callback begins another; return that."
  (let* (next
         (one (aqd-door-begin
               (lambda (_)
                 (setq next (aqd-door-begin
                             (lambda (result) (push result aqd-answers))))))))
    (funcall end one)
    next))

(ert-deftest aqd-door-callback-begins-another-review ()
  (dolist (end (list (lambda (review)
                       (kill-buffer (agent-q-diff-review-buffer review)))
                     #'agent-q-diff-cancel
                     #'agent-q-diff-end))
    (let ((aqd-answers nil))
      (aqd-with-file aqd-async-original
        (save-window-excursion
          (switch-to-buffer "*scratch*")
          (let ((next (aqd-door-chain end)))
            (should (get-buffer-window (agent-q-diff-review-buffer next)))
            (should (equal (agent-q-diff-open-reviews) (list next)))
            (aqd-in-diff next (agent-q-diff-accept-all)))
          (should (equal (aqd-answer :status) '(accepted)))))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-door-review-comes-while-one-reads-the-last ()
  (aqd-with-file aqd-async-original
    (save-window-excursion
      (let ((one (aqd-door-begin nil)))
        (agent-q-diff-cancel one)
        (switch-to-buffer (agent-q-diff-review-buffer one))
        (let ((two (aqd-door-begin nil)))
          (should-not (eq (window-buffer) (agent-q-diff-review-buffer two)))
          (agent-q-diff-cancel two))))))

(ert-deftest aqd-door-review-comes-into-a-window-with-the-last ()
  (aqd-with-file aqd-async-original
    (save-window-excursion
      (switch-to-buffer "*scratch*")
      (let ((agent-q-diff-grace 1000)
            (one (aqd-door-begin nil)))
        (agent-q-diff-cancel one)
        (display-buffer (agent-q-diff-review-buffer one))
        (let ((two (aqd-door-begin nil)))
          (aqd-in-diff two
            (let ((this-command 'agent-q-diff-accept-hunk)
                  (noninteractive nil))
              (run-hooks 'pre-command-hook)
              (should (eq this-command 'agent-q-diff-ignore-key))))
          (agent-q-diff-cancel two))))))

;;;; What others get wrong

(defun aqd-door-fail (&rest _)
  "Signal an error that is none of the package's."
  (error "Broken"))

(ert-deftest aqd-door-hook-fails-when-the-file-is-visited-at-the-end ()
  (aqd-with-async aqd-async-original aqd-async-modified
    (kill-buffer (agent-q-diff-review-target review))
    (let ((find-file-hook '(aqd-door-fail)))
      (agent-q-diff-cancel review))
    (should (equal (aqd-answer :status :in-file) '(cancelled 0)))))

(ert-deftest aqd-door-hook-fails-when-the-target-is-put-away ()
  (aqd-with-async aqd-async-original aqd-async-modified
    (with-current-buffer (agent-q-diff-review-target review)
      (add-hook 'kill-buffer-hook #'aqd-door-fail nil t))
    (agent-q-diff-cancel review)
    (should (equal (aqd-answer :status) '(cancelled)))
    (aqd-in-target (remove-hook 'kill-buffer-hook #'aqd-door-fail t))))

(ert-deftest aqd-door-hook-fails-when-the-review-begins ()
  (let ((aqd-answers nil)
        (diff-mode-hook '(aqd-door-fail)))
    (aqd-with-file aqd-async-original
      (aqd-async aqd-async-original aqd-async-modified)
      (should (equal (aqd-answer :status :error :reason) '(error error "Broken"))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-door-review-that-cannot-be-shown-is-answered-once ()
  (let ((messages nil))
    (aqd-with-file aqd-async-original
      (let ((display-buffer-overriding-action '(aqd-door-fail)))
        (agent-q-diff-tools-call-async
         "propose_file_edit"
         (list :path aqd-file :original aqd-async-original
               :modified aqd-async-modified :description "d")
         (lambda (message) (push message messages))))
      (should-not messages)
      (mapc #'agent-q-diff-end (agent-q-diff-open-reviews))
      (should (= 1 (length messages)))
      (should (string-prefix-p "✗ Rejected" (car messages))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-door-callback-that-fails-is-called-once-by-the-policy-too ()
  (aqd-with-file aqd-async-original
    (let ((agent-q-diff-tools-policy 'deny)
          (n 0))
      (agent-q-diff-tools-call-async
       "propose_file_edit"
       (list :path aqd-file :original aqd-async-original
             :modified aqd-async-modified :description "d")
       (lambda (_) (cl-incf n) (error "Broken")))
      (should (= n 1)))))

;;;; Waiting

(ert-deftest aqd-door-two-wait-for-one-review ()
  (aqd-with-async aqd-async-original aqd-async-modified
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

(ert-deftest aqd-door-buffer-of-a-review-inside-another-is-not-kept ()
  (dolist (hook '(ignore error))
    (aqd-with-async aqd-async-original aqd-async-modified
      (let (inner buffer)
        (unwind-protect
            (progn
              (global-set-key
               [f6] (lambda () (interactive)
                      (let ((other (agent-q-diff-review "x" "a\n" "b\n" "d" #'ignore
                                                        :detached t)))
                        (setq buffer (agent-q-diff-review-buffer other))
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

(ert-deftest aqd-door-mode-line-of-the-users-is-kept ()
  (pcase-dolist (`(,before . ,after) '((nil . (""))
                                       ("mine" . ("" "mine"))
                                       ((:eval "mine") . ("" (:eval "mine")))
                                       (mine . ("" mine))
                                       (("mine" "his") . ("mine" "his"))))
    (let ((global-mode-string before))
      (aqd-with-file aqd-async-original
        (let ((review (aqd-door-begin nil)))
          (should (equal global-mode-string
                         (append after (list agent-q-diff-reviews-mode-line))))
          (agent-q-diff-cancel review)))
      (should (equal global-mode-string after)))))

;;;; Calls that are taken back while their question is open

(defvar aqd-door-depth nil
  "Number of minibuffers that were open at the key <f7>.")

(defun aqd-door-ask (keys function)
  "Ask for a change of \"a\" to \"b\" and press KEYS; return the message.
The key <f6> calls FUNCTION, wherever it is pressed; <f7> is pressed last,
and no question may be open then."
  (let ((agent-q-diff-permission-pause 0)
        (agent-q-diff-caller '("Somebody" . caller)))
    (global-set-key [f6] (lambda () (interactive) (funcall function)))
    (global-set-key [f7] (lambda () (interactive)
                           (setq aqd-door-depth (minibuffer-depth))))
    (setq aqd-door-depth nil)
    (unwind-protect
        (prog1 (aqd-play (concat keys " <f7>") (lambda () (aqd-edit "a" "b")))
          (should (equal aqd-door-depth 0)))
      (global-set-key [f6] nil)
      (global-set-key [f7] nil)
      (should-not unread-command-events)
      (should-not (lookup-key global-map [agent-q-diff-permit-wake])))))

(defun aqd-door-withdraw ()
  "Take back the call that is asked about."
  (agent-q-diff-tools-withdraw 'caller))

(defconst aqd-door-taken-back "Error editing file: who asked for it took it back; nothing was changed"
  "What a caller reads that no longer reads.")

(ert-deftest aqd-door-taken-back-from-another-window ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (save-window-excursion
        (split-window)
        (should (equal (aqd-door-ask "C-x o <f6>" #'aqd-door-withdraw)
                       aqd-door-taken-back)))
      (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-door-taken-back-is-said ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (should (equal "Nobody is waiting any more for the edit of target.txt; nothing was changed"
                     (aqd-said (aqd-door-ask "<f6>" #'aqd-door-withdraw)))))))

(ert-deftest aqd-door-taken-back-and-not-noticed-before-the-answer ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (should (equal (aqd-door-ask "<f6> y"
                                   (lambda ()
                                     (aqd-door-withdraw)
                                     (setq unread-command-events nil)))
                     aqd-door-taken-back))
      (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-door-taken-back-while-the-reason-is-typed ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (should (equal (aqd-door-ask "r No <f6> RET" #'aqd-door-withdraw)
                     aqd-door-taken-back)))))

(ert-deftest aqd-door-taken-back-while-another-question-is-open-inside ()
  (let ((aqd-policy 'ask)
        (inner nil))
    (aqd-with-project "a\nx\n"
      (should (equal (aqd-door-ask "<f6> y"
                                   (lambda ()
                                     (aqd-door-withdraw)
                                     (let ((agent-q-diff-caller nil))
                                       (setq inner (aqd-edit "x" "z")))))
                     aqd-door-taken-back))
      (should (string-prefix-p "✓" inner))
      (should (equal (aqd-disk) "a\nz\n")))))

(ert-deftest aqd-door-begun-while-emacs-ends-is-answered-too ()
  (aqd-with-file "a\n"
    (let* ((answers nil)
           (again (lambda (result)
                    (push (plist-get result :status) answers)
                    (when (< (length answers) 3)
                      (agent-q-diff-review aqd-file "a\n" "c\n" "d"
                                           (lambda (result)
                                             (push (plist-get result :status) answers)))))))
      (agent-q-diff-review aqd-file "a\n" "b\n" "d" again)
      (run-hooks 'kill-emacs-hook)
      (should (equal answers '(cancelled cancelled)))
      (should-not (agent-q-diff-open-reviews)))))

(ert-deftest aqd-door-closed-connection-of-lisp-takes-questions-back ()
  (let ((aqd-policy 'ask)
        (connection (start-process "aqd-door" nil "cat"))
        (answers nil))
    (set-process-query-on-exit-flag connection nil)
    (unwind-protect
        (aqd-with-project "a\n"
          (let* ((request (agent-q-diff-lisp--request-make :wire 'slime
                                                           :connection connection))
                 (agent-q-diff-tools--is-busy t)
                 (close (lambda () (agent-q-diff-lisp--closed connection)))
                 (ask (lambda ()
                        (let ((agent-q-diff-caller (cons "Common Lisp" request)))
                          (aqd-edit "a" "b")))))
            ;; One waits for its turn, and one is asked about.
            (let ((agent-q-diff-caller (cons "Common Lisp" request)))
              (agent-q-diff-tools-call-async "edit_file" nil
                                             (lambda (answer) (push answer answers))))
            (global-set-key [f6] (lambda () (interactive) (funcall close)))
            (should (equal (aqd-play "<f6>" ask) aqd-door-taken-back))
            (should (equal answers
                           '("Error: the call was taken back; nothing was changed")))
            (should-not agent-q-diff-tools--queue)
            (should (equal (aqd-disk) "a\n"))))
      (global-set-key [f6] nil)
      (delete-process connection))))

;;;; What is in the file after no decision

(defconst aqd-door-remains "1 of 2 hunks is in the file.
In the file: hunk 1.
Not in the file: hunk 2."
  "What an agent reads after one of two hunks was applied.")

(ert-deftest aqd-door-cancelled-with-a-hunk-in-the-file ()
  (aqd-with-async aqd-async-original aqd-async-modified
    (agent-q-diff-accept review 0)
    (agent-q-diff-cancel review)
    (should (string-suffix-p (concat "\n\n" aqd-door-remains)
                             (car (aqd-answer :message))))))

(ert-deftest aqd-door-comments-reach-the-agent-without-a-decision ()
  (aqd-with-async aqd-async-original aqd-async-modified
    (agent-q-diff-accept review 0)
    (aqd-in-diff review
      (agent-q-diff-comment-hunk "too long")
      (agent-q-diff-comment "later"))
    (agent-q-diff-cancel review)
    (should (string-suffix-p (concat "\n\n" aqd-door-remains "\nThe user says: later\n"
                                     "The user says of hunk 1: too long")
                             (car (aqd-answer :message))))))

(ert-deftest aqd-door-lines-that-are-not-shown-are-said ()
  (let ((original (aqd-numbered 600)))
    (aqd-with-async original (replace-regexp-in-string "5$" "x" original)
      (agent-q-diff-reject review 0)
      (aqd-in-diff review (agent-q-diff-accept-all))
      (should (string-suffix-p
               "\nThe lines of 10 more hunks, from hunk 51 on, are not shown."
               (car (aqd-answer :message)))))))

(ert-deftest aqd-door-cancelled-with-a-hunk-in-the-file-for-one-who-waits ()
  (aqd-with-file aqd-async-original
    (should (string-suffix-p
             (concat "\n\n" aqd-door-remains)
             (aqd-play "a C-]"
                       (lambda ()
                         (agent-q-diff-tools-propose-file-edit
                          aqd-file aqd-async-original aqd-async-modified "d")))))
    ;; Of the next that has nothing to do with it.
    (should-not (string-search
                 aqd-door-remains
                 (agent-q-diff-tools-propose-file-edit aqd-file "a\n" "a\n" "d")))))

(ert-deftest aqd-door-edit-whose-review-is-left-with-a-hunk-in-the-file ()
  (let ((aqd-policy 'review))
    (aqd-with-project (aqd-numbered 30 '((5 . "a") (25 . "a")))
      (let ((message (aqd-play "a C-]" (lambda ()
                                         (aqd-edit "a" "b" :shouldReplaceAll t)))))
        (should (string-prefix-p "Error editing file: " message))
        (should (string-suffix-p aqd-door-remains message))))))

;;;; Diffs as git makes them

(defun aqd-door-bytes (bytes diff)
  "Return what DIFF, accepted whole, makes of a file of BYTES."
  (aqd-with-file ""
    (aqd-put-bytes bytes aqd-file)
    (let ((review (agent-q-diff-review-patch aqd-file diff "d" nil)))
      (aqd-in-diff review (agent-q-diff-accept-all))
      (aqd-disk))))

(ert-deftest aqd-door-git-ends-its-headers-with-LF ()
  (should (equal (aqd-door-bytes "a\r\nb\r\nc\r\n"
                                 (concat "--- a/target.txt\n+++ b/target.txt\n"
                                         "@@ -1,3 +1,3 @@ x\n a\r\n-b\r\n+B\r\n c\r\n"))
                 "a\r\nB\r\nc\r\n"))
  (should (equal (aqd-door-bytes "a\r\nb"
                                 (concat "@@ -1,2 +1,2 @@\n a\r\n"
                                         "-b\n\\ No newline at end of file\n"
                                         "+B\r\n"))
                 "a\r\nB\r\n")))

(ert-deftest aqd-door-line-ends-that-are-in-the-text-stay ()
  ;; Here and there a line ends with CRLF, and the diff says which.
  (should (equal (aqd-door-bytes "a\r\nb\nc\r\n"
                                 "@@ -1,2 +1,2 @@\n a\r\n-b\n+B\r\n")
                 "a\r\nB\r\nc\r\n"))
  (should (equal (aqd-door-bytes "" "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\r\n")
                 "a\r\n")))

;; Of a file whose lines all end with CRLF, Emacs has no CR in the buffer.
(ert-deftest aqd-door-line-ends-alone-are-not-in-the-file-already ()
  (aqd-with-file ""
    (aqd-put-bytes "a\r\nb\r\n" aqd-file)
    (dolist (diff '("@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+a\n+b\n"
                    "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n"
                    "@@ -1,2 +1,2 @@\n-a\n-b\n+a\r\n+b\r\n"
                    "@@ -1 +1 @@\r\n-a\r\n+a\n@@ -2 +2 @@\n-b\r\n+b\n"))
      (let ((result (agent-q-diff-review-result
                     (agent-q-diff-review-patch aqd-file diff "d" nil))))
        (should (eq 'agent-q-diff-identical (plist-get result :error)))
        (should (string-match-p "only line ends" (plist-get result :message)))))
    (should-not (agent-q-diff-open-reviews))
    (should (equal (aqd-disk) "a\r\nb\r\n"))))

(ert-deftest aqd-door-line-ends-that-change-with-the-line-are-the-files ()
  (dolist (lines '("-b\r\n+B\n" "-b\n+B\r\n" "-b\r\n+B\r\n" "-b\n+B\n"))
    (should (equal (aqd-door-bytes "a\r\nb\r\n" (concat "@@ -1,2 +1,2 @@\n a\n" lines))
                   "a\r\nB\r\n"))))

(ert-deftest aqd-door-line-ends-change-where-they-are-in-the-text ()
  (should (equal (aqd-door-bytes "a\r\nb\r\nc\n" "@@ -1,3 +1,3 @@\n a\r\n-b\r\n+b\n c\n")
                 "a\r\nb\nc\n"))
  (should (equal (aqd-door-bytes "a\nb\n" "@@ -1,2 +1,2 @@\n a\n-b\n+b\r\n")
                 "a\nb\r\n")))

(ert-deftest aqd-door-byte-order-mark-in-a-diff ()
  (should (equal (aqd-door-bytes "\357\273\277a\nb\n"
                                 "@@ -1,2 +1,2 @@\n-\ufeffa\n+\ufeffA\n b\n")
                 "\357\273\277A\nb\n")))

;;;; Looking again

(ert-deftest aqd-door-new-file-taken-back-is-gone ()
  (aqd-with-file ""
    (delete-file aqd-file)
    (let* ((folder (expand-file-name "new/er/" (file-name-directory aqd-file)))
           (aqd-file (expand-file-name "file" folder))
           (review (agent-q-diff-review aqd-file "" "a\n" "d" nil)))
      (agent-q-diff-accept review 0)
      (agent-q-diff-end review)
      (should (equal (aqd-disk) "a\n"))
      (agent-q-diff-take-back review)
      (should-not (file-exists-p (expand-file-name ".." folder)))
      ;; And one can have it after all.
      (with-current-buffer (agent-q-diff-look-again review)
        (agent-q-diff-accept-all))
      (should (equal (aqd-disk) "a\n"))
      (aqd-in-target (insert "mine\n") (save-buffer))
      (agent-q-diff-take-back review)
      (should (equal (aqd-disk) "mine\n"))
      ;; Nor does a file go that somebody else has emptied.
      (aqd-in-target (erase-buffer) (save-buffer))
      (with-current-buffer (agent-q-diff-look-again review)
        (agent-q-diff-finish))
      (should (equal (aqd-disk) ""))
      (kill-buffer (find-buffer-visiting aqd-file))
      (agent-q-diff-forget review))))

(ert-deftest aqd-door-taking-back-leaves-no-buffer ()
  (aqd-with-async aqd-async-original aqd-async-modified
    (agent-q-diff-end review)
    (let* ((other (aqd-door-begin nil))
           (n (length (buffer-list))))
      (agent-q-diff-take-back review)
      (agent-q-diff-take-back review)
      (should (= n (length (buffer-list))))
      (agent-q-diff-cancel other))))

(ert-deftest aqd-door-looking-again-checks-the-path-as-the-review-did ()
  (aqd-with-async aqd-async-original aqd-async-modified
    (setf (agent-q-diff-review-check review) #'aqd-door-fail)
    (agent-q-diff-end review)
    (with-current-buffer (agent-q-diff-look-again review)
      (should-not (agent-q-diff-accept-hunk))
      (kill-buffer))
    (should (equal (aqd-disk) aqd-async-original))))

;;;; Diffs that ask for more than other lines

(defun aqd-door-notes (diff)
  "Review DIFF and return the notes above each review."
  (let ((default-directory (file-name-directory aqd-file)))
    (mapcar (lambda (review)
              (prog1 (aqd-in-diff review
                       (seq-filter (lambda (line) (string-prefix-p "# Note: " line))
                                   (split-string (buffer-string) "\n")))
                (agent-q-diff-cancel review)))
            (save-window-excursion (agent-q-diff-review-diff diff)))))

(defconst aqd-door-change "@@ -1 +1 @@\n-a\n+b\n"
  "A hunk.")

(ert-deftest aqd-door-renamed-file-is-the-one-that-is-there ()
  (aqd-with-file "a\n"
    (should (equal (aqd-door-notes
                    (concat "diff --git a/target.txt b/moved.txt\nsimilarity index 90%\n"
                            "rename from target.txt\nrename to moved.txt\n"
                            "--- a/target.txt\n+++ b/moved.txt\n" aqd-door-change))
                   '(("# Note: Only lines are changed; left out: rename from target.txt, \
rename to moved.txt (a/target.txt b/moved.txt)"))))))

(ert-deftest aqd-door-what-a-diff-asks-for-beside-lines-is-said ()
  (aqd-with-file "a\n"
    (should (equal (aqd-door-notes
                    (concat "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
                            "diff --git a/empty b/empty\nnew file mode 100644\n"
                            "diff --git a/target.txt b/target.txt\n"
                            "--- a/target.txt\n+++ b/target.txt\n" aqd-door-change
                            "diff --git a/new b/new\nnew file mode 100644\n"
                            "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"))
                   (let ((note "# Note: Only lines are changed; left out: old mode 100644, \
new mode 100755 (a/run b/run); new file mode 100644 (a/empty b/empty)"))
                     (list (list note)
                           (list note "# Note: The file does not exist.")))))))

(ert-deftest aqd-door-agent-is-told-that-its-file-is-not-deleted ()
  (let ((aqd-policy 'ask))
    (aqd-with-project "a\n"
      (should (string-suffix-p
               "\n\nOnly lines are changed; left out: +++ /dev/null (--- a/target.txt)"
               (aqd-play "a q"
                         (lambda ()
                           (aqd-call-tool
                            "propose_patch"
                            '(:path "target.txt" :description "d" :diff
                              "--- a/target.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"))))))
      (should (equal (aqd-disk) "")))))

(provide 'agent-q-diff-door-test)
;;; agent-q-diff-door-test.el ends here
