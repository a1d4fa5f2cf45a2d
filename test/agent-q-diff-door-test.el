;;; agent-q-diff-door-test.el --- What callers do that one does not expect  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Callbacks that begin another review or fail, hooks that fail, callers that
;; wait for one review together, past reviews, and diffs that ask for more
;; than changed lines.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-project-help)
(require 'agent-q-diff-again)

(defun aqd-door-begin (callback)
  "Begin a review of the test's file and return it; CALLBACK learns of its end."
  (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two "d" callback))

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
                       (kill-buffer (agent-q-diff-session-buffer review)))
                     #'agent-q-diff-cancel
                     #'agent-q-diff-end))
    (let ((aqd-answers nil))
      (aqd-with-file aqd-original-of-two
        (save-window-excursion
          (switch-to-buffer "*scratch*")
          (let ((next (aqd-door-chain end)))
            (should (get-buffer-window (agent-q-diff-session-buffer next)))
            (should (equal (agent-q-diff-open-reviews) (list next)))
            (aqd-in-diff next (agent-q-diff-accept-all)))
          (should (equal (aqd-answer :status) '(accepted)))))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-door-review-comes-while-one-reads-the-last ()
  (aqd-with-file aqd-original-of-two
    (save-window-excursion
      (let ((one (aqd-door-begin nil)))
        (agent-q-diff-cancel one)
        (switch-to-buffer (agent-q-diff-session-buffer one))
        (let ((two (aqd-door-begin nil)))
          (should-not (eq (window-buffer) (agent-q-diff-session-buffer two)))
          (agent-q-diff-cancel two))))))

(ert-deftest aqd-door-review-comes-into-a-window-with-the-last ()
  (aqd-with-file aqd-original-of-two
    (save-window-excursion
      (switch-to-buffer "*scratch*")
      (let ((agent-q-diff-grace 1000)
            (one (aqd-door-begin nil)))
        (agent-q-diff-cancel one)
        (display-buffer (agent-q-diff-session-buffer one))
        (let ((two (aqd-door-begin nil)))
          (aqd-in-diff two
            (let ((this-command 'agent-q-diff-accept-hunk)
                  (noninteractive nil))
              (run-hooks 'pre-command-hook)
              (should (eq this-command 'agent-q-diff-ignore-key))))
          (agent-q-diff-cancel two))))))

;;;; What others get wrong

(ert-deftest aqd-door-hook-fails-when-the-file-is-visited-at-the-end ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (kill-buffer (aqd-target-of review))
    (let ((find-file-hook '(aqd-fail)))
      (agent-q-diff-cancel review))
    (should (equal (aqd-answer :status :in-file) '(cancelled 0)))))

(ert-deftest aqd-door-hook-fails-when-the-target-is-put-away ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (with-current-buffer (aqd-target-of review)
      (add-hook 'kill-buffer-hook #'aqd-fail nil t))
    (agent-q-diff-cancel review)
    (should (equal (aqd-answer :status) '(cancelled)))
    (aqd-in-target (remove-hook 'kill-buffer-hook #'aqd-fail t))))

(ert-deftest aqd-door-hook-fails-when-the-review-begins ()
  (let ((aqd-answers nil)
        (diff-mode-hook '(aqd-fail)))
    (aqd-with-file aqd-original-of-two
      (aqd-begin-review aqd-original-of-two aqd-modified-of-two)
      (should (equal (aqd-answer :status :error :reason) '(error error "Broken"))))
    (aqd-should-leave-nothing)))

;;;; Waiting

(ert-deftest aqd-door-two-wait-for-one-review ()
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

(ert-deftest aqd-door-buffer-of-a-review-inside-another-is-not-kept ()
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

(ert-deftest aqd-door-mode-line-of-the-users-is-kept ()
  (pcase-dolist (`(,before . ,after) '((nil . (""))
                                       ("mine" . ("" "mine"))
                                       ((:eval "mine") . ("" (:eval "mine")))
                                       (mine . ("" mine))
                                       (("mine" "his") . ("mine" "his"))))
    (let ((global-mode-string before))
      (aqd-with-file aqd-original-of-two
        (let ((review (aqd-door-begin nil)))
          (should (equal global-mode-string
                         (append after (list agent-q-diff-reviews-mode-line))))
          (agent-q-diff-cancel review)))
      (should (equal global-mode-string after)))))

;;;; Reviews that are begun while Emacs ends

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
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-end review)
    (let* ((other (aqd-door-begin nil))
           (n (length (buffer-list))))
      (agent-q-diff-take-back review)
      (agent-q-diff-take-back review)
      (should (= n (length (buffer-list))))
      (agent-q-diff-cancel other))))

(ert-deftest aqd-door-looking-again-checks-the-path-as-the-review-did ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-check-with review #'aqd-fail)
    (agent-q-diff-end review)
    (with-current-buffer (agent-q-diff-look-again review)
      (should-not (agent-q-diff-accept-hunk))
      (kill-buffer))
    (should (equal (aqd-disk) aqd-original-of-two))))

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

(provide 'agent-q-diff-door-test)
;;; agent-q-diff-door-test.el ends here
