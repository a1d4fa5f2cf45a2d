;;; agent-q-diff-list-test.el --- Looking at a review again  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-list)

;;; A review that has ended, shown again

(defconst aqd-again-original (aqd-numbered 40)
  "A file.")

(defconst aqd-again-modified
  (aqd-numbered 40 '((5 . "five") (20 . "twenty") (35 . "x")))
  "What is proposed for it.")

(defun aqd-again-forget-all ()
  "Forget every review that has ended."
  (mapc #'agent-q-diff-forget (agent-q-diff-past-reviews)))

(defmacro aqd-again-with-past (keys &rest body)
  "Run BODY after a review that KEYS have decided, which is `past' there."
  (declare (indent 1) (debug t))
  `(aqd-with-file aqd-again-original
     (aqd-again-forget-all)
     (aqd-review aqd-again-original aqd-again-modified ,keys)
     (let ((past (car (agent-q-diff-past-reviews))))
       (unwind-protect (progn ,@body)
         (aqd-again-forget-all)))))

(ert-deftest aqd-again-shows-what-was-decided ()
  (aqd-again-with-past "a r c no RET a q"
    (with-current-buffer (agent-q-diff-look-again)
      (should (equal (aqd-signs)
                     '((1 . "[APPLIED]") (2 . "[REJECTED]")
                       (3 . "[APPLIED, commented]"))))
      (should (equal (aqd-progress) "2/3 applied, 1 rejected, 0 pending"))
      (should (string-search "# Description: A test.\n" (buffer-string)))
      (should (string-search "# Note: This review has ended: partly accepted; 2 of 3 hunks were"
                             (buffer-string)))
      (aqd-goto-hunk 1)
      (aqd-press "u n a")
      (should (equal (aqd-disk)
                     (aqd-numbered 40 '((20 . "twenty") (35 . "x")))))
      (aqd-press "q"))
    ;; And again, with what was changed meanwhile.
    (with-current-buffer (agent-q-diff-look-again past)
      (should (equal (aqd-signs) '((2 . "[APPLIED]") (3 . "[APPLIED, commented]"))))
      (kill-buffer))
    (with-current-buffer (agent-q-diff-look-again)
      (should (equal (aqd-progress) "2/3 applied, 0 rejected, 1 pending")))))

(ert-deftest aqd-again-takes-the-whole-back-in-one-undo-step ()
  (aqd-again-with-past "a r a q"
    (let ((accepted (aqd-disk)))
      (with-current-buffer (aqd-visit)
        (should-not (agent-q-diff-take-back past))
        (should (equal (aqd-disk) aqd-again-original))
        (should-not (agent-q-diff-again--buffer past))
        (undo-boundary)
        (let ((inhibit-message t))
          (undo))
        (should (equal (buffer-string) accepted))))))

(ert-deftest aqd-again-follows-what-was-done-since ()
  (aqd-again-with-past "C-c C-c"
    (aqd-in-target
      (insert "above\n")
      (search-forward "twenty")
      (insert " and more")
      (save-buffer))
    (should (equal (mapcar #'car (agent-q-diff-take-back past)) '(1)))
    (should (equal (aqd-disk)
                   (concat "above\n" (aqd-numbered 40 '((20 . "twenty and more"))))))
    (should (equal (aqd-said (agent-q-diff-look-again past)
                             (agent-q-diff-unapply-all))
                   "Not taken out: hunk 2: its lines have been changed since, at line 21"))))

(ert-deftest aqd-again-says-what-is-not-saved ()
  (aqd-again-with-past "a r r q"
    (aqd-in-target (insert "mine\n"))
    (agent-q-diff-look-again past)
    (aqd-press "n a")
    (should (equal (aqd-said (aqd-press "q"))
                   "What you accepted is in the buffer target.txt and not saved"))
    (aqd-in-target (set-buffer-modified-p nil))))

(ert-deftest aqd-list-and-log-say-what-is-not-saved ()
  (aqd-with-log-file
    (aqd-with-file (aqd-numbered 10)
      (let ((target (find-file-noselect aqd-file)))
        (with-current-buffer target
          (insert "mine\n"))
        (let* ((review (agent-q-diff-review aqd-file (aqd-numbered 10)
                                            (aqd-numbered 10 '((5 . "five"))) "A test." nil))
               (ended (lambda () (agent-q-diff-list--ended review))))
          (with-current-buffer (agent-q-diff-session-buffer review)
            (aqd-accept 1)
            (agent-q-diff-finish))
          (should (equal "accepted 1/1, not saved" (funcall ended)))
          (with-current-buffer target
            (save-buffer))
          (should (equal "accepted 1/1" (funcall ended)))
          ;; That was so when it ended.
          (let ((entry (car (agent-q-diff-log-entries 1))))
            (should (equal "accepted, not saved" (agent-q-diff-log-list--outcome entry)))
            (should (equal "buffer" (plist-get (car (plist-get entry :hunks)) :where)))))))))

(ert-deftest aqd-again-needs-no-buffer-of-the-file ()
  (aqd-again-with-past "C-c C-c"
    (aqd-in-target
      (insert "above\n")
      (save-buffer)
      (kill-buffer))
    (should-not (agent-q-diff-take-back past))
    (should (equal (aqd-disk) (concat "above\n" aqd-again-original)))))

(ert-deftest aqd-again-of-what-was-cancelled ()
  (aqd-again-with-past "a C-]"
    (should-not (agent-q-diff-take-back past))
    (should (equal (aqd-disk) aqd-again-original))))

(ert-deftest aqd-again-of-a-patch-that-was-split-and-edited ()
  (aqd-with-file (aqd-lines "1" "2" "b" "c" "3" "4")
    (aqd-again-forget-all)
    (let ((review (agent-q-diff-review-patch
                   aqd-file "@@ -2,4 +2,4 @@\n 2\n-b\n-c\n+b2\n+c2\n 3\n" "d" nil)))
      (save-current-buffer
        (pop-to-buffer (agent-q-diff-session-buffer review))
        (aqd-split-sides)
        (aqd-press "a q y"))
      (should (equal (aqd-disk) (aqd-lines "1" "2" "3" "4")))
      (with-current-buffer (agent-q-diff-look-again review)
        (should (= 2 (agent-q-diff-count-hunks)))
        (aqd-press "U")
        (should (equal (aqd-disk) (aqd-lines "1" "2" "b" "c" "3" "4")))
        (aqd-press "q")))
    (aqd-again-forget-all)))

(ert-deftest aqd-again-not-more-than-are-kept ()
  (aqd-again-forget-all)
  (let ((agent-q-diff-kept-reviews 2)
        (reviews nil))
    (dotimes (n 4)
      (aqd-with-file "a\n"
        (let ((review (agent-q-diff-review aqd-file "a\n" (format "%d\n" n) "d" nil)))
          (agent-q-diff-cancel review)
          (push review reviews))))
    (should (equal (agent-q-diff-past-reviews) (seq-take reviews 2)))
    (should-not (agent-q-diff-file-change-kept-engine (agent-q-diff-session-file (nth 2 reviews))))
    (should-error (agent-q-diff-look-again (nth 2 reviews)) :type 'agent-q-diff-ended)
    (should-error (agent-q-diff-take-back (nth 3 reviews)) :type 'agent-q-diff-ended)
    ;; Nothing is in its file, which is gone; it is kept all the same.
    (should-not (agent-q-diff-take-back (car reviews)))
    (should (agent-q-diff-file-change-kept-engine (agent-q-diff-session-file (car reviews))))
    (let ((agent-q-diff-reviews--kept-characters 1))
      (agent-q-diff-reviews-keep (car reviews))
      (should-not (agent-q-diff-past-reviews)))
    (should-error (agent-q-diff-look-again) :type 'user-error)))

(ert-deftest aqd-again-that-fails-loses-nothing ()
  (aqd-again-with-past "C-c C-c"
    (delete-file aqd-file)
    (make-directory aqd-file)
    (aqd-in-target (set-buffer-modified-p nil) (kill-buffer))
    (should-error (agent-q-diff-look-again) :type 'agent-q-diff-bad-target)
    (should (agent-q-diff-file-change-kept-engine (agent-q-diff-session-file past)))
    (delete-directory aqd-file)
    (aqd-write aqd-again-modified)
    (should-not (agent-q-diff-take-back past))
    (should (equal (aqd-disk) aqd-again-original))))

(ert-deftest aqd-again-detached-is-not-kept ()
  (aqd-again-forget-all)
  (agent-q-diff-cancel (agent-q-diff-review "/nowhere" "a\n" "b\n" "d" nil :detached t))
  (should-not (agent-q-diff-past-reviews)))

(ert-deftest aqd-again-from-the-list ()
  (aqd-again-with-past "a r a q"
    (agent-q-diff-list)
    (unwind-protect
        (progn
          (goto-char (point-min))
          (should (string-search "partly accepted 2/3"
                                 (buffer-string)))
          (aqd-press "RET")
          (should (eq past agent-q-diff-again--past))
          (aqd-press "q")
          (with-current-buffer agent-q-diff-list-buffer-name
            (aqd-press "U y")
            (should (equal (aqd-disk) aqd-again-original))
            (aqd-press "k")
            (should-not (agent-q-diff-past-reviews))
            (should-error (agent-q-diff-list--here) :type 'user-error)))
      (kill-buffer agent-q-diff-list-buffer-name))))

(ert-deftest aqd-again-list-and-log-say-what-was-taken-out-later ()
  (let ((agent-q-diff-log-file (make-temp-file "aqd-log")))
    (unwind-protect
        (aqd-again-with-past "a r a q"
          (agent-q-diff-list)
          (unwind-protect
              (progn
                (goto-char (point-min))
                (should (eq past (agent-q-diff-list--here)))
                (aqd-press "U y")
                (agent-q-diff-list--print)
                (should (string-search "partly accepted 2/3, now 0/3" (buffer-string)))
                (let ((entries (agent-q-diff-log-entries 9)))
                  (should (equal '("taken out" "partly accepted")
                                 (mapcar (lambda (entry) (plist-get entry :outcome)) entries)))
                  (should (equal '(0 3 "user" "Agent-Q")
                                 (mapcar (lambda (key) (plist-get (car entries) key))
                                         '(:in-file :total :decided-by :agent)))))
                ;; Looking at it changes nothing.
                (aqd-press "RET")
                (should (string-search "were in the file, and after you changed that 0."
                                       (buffer-string)))
                (aqd-press "q")
                (should (= 2 (length (agent-q-diff-log-entries 9)))))
            (kill-buffer agent-q-diff-list-buffer-name)))
      (delete-file agent-q-diff-log-file))))

(ert-deftest aqd-again-all-of-an-open-review-is-taken-out ()
  (aqd-with-file aqd-again-original
    (should (equal "rejected"
                   (aqd-review aqd-again-original aqd-again-modified "a a U q")))
    (should (equal (aqd-disk) aqd-again-original))))

(ert-deftest aqd-again-new-file-taken-back-is-gone ()
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

(ert-deftest aqd-again-taking-back-leaves-no-buffer ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-end review)
    (let* ((other (aqd-begin-review-telling nil))
           (n (length (buffer-list))))
      (agent-q-diff-take-back review)
      (agent-q-diff-take-back review)
      (should (= n (length (buffer-list))))
      (agent-q-diff-cancel other))))

(ert-deftest aqd-again-checks-the-path-as-the-review-did ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-check-with review #'aqd-fail)
    (agent-q-diff-end review)
    (with-current-buffer (agent-q-diff-look-again review)
      (should-not (agent-q-diff-accept-hunk))
      (kill-buffer))
    (should (equal (aqd-disk) aqd-original-of-two))))

;;; The list

(ert-deftest aqd-list-shows-opens-and-cancels ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-accept review 0)
    (save-window-excursion
      (agent-q-diff-list)
      (should (string-search "1 of 2 decided" (buffer-string)))
      (goto-char (point-min))
      (aqd-press "RET")
      (should (eq (window-buffer) (agent-q-diff-session-buffer review)))
      (agent-q-diff-list)
      (goto-char (point-min))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (aqd-press "k")))
    (should (equal (aqd-answer :status) '(cancelled)))
    (kill-buffer agent-q-diff-list-buffer-name)))

(ert-deftest aqd-list-cancelling-is-the-user-s-doing ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (save-window-excursion
      (agent-q-diff-list)
      (goto-char (point-min))
      (should (eq review (tabulated-list-get-id)))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (should (string-prefix-p "Cancelled the review of target.txt;"
                                 (aqd-said (agent-q-diff-list-cancel))))))
    (should (equal (aqd-answer :reason) (list aqd-left-undecided)))))

(ert-deftest aqd-list-follows-what-happens ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (save-window-excursion
      (agent-q-diff-list)
      (should (string-search "0 of 2 decided" (buffer-string)))
      (should (string-search "A test." (buffer-string)))
      (let ((wait (lambda ()
                    ;; When it is updated, the timer is one for the ages.
                    (while (time-less-p (timer--time agent-q-diff-list--timer)
                                        (time-add nil 1))
                      (accept-process-output nil 0.01)))))
        (agent-q-diff-accept review 0)
        (funcall wait)
        (should (string-search "1 of 2 decided" (buffer-string)))
        (agent-q-diff-cancel review)
        (funcall wait)
        (should (string-search "cancelled 1/2" (buffer-string)))
        (kill-buffer)
        (agent-q-diff-list--update)
        (should-not agent-q-diff-list--timer)
        ;; Without a list, nothing is updated.
        (run-hooks 'agent-q-diff-session-changed-hook)
        (should-not agent-q-diff-list--timer)
        (should-not (memq #'agent-q-diff-list--update-soon
                          agent-q-diff-session-changed-hook))))))

(defun aqd-list-path (name)
  "Return the path of the file NAME beside the one under review."
  (expand-file-name name (file-name-directory aqd-file)))

(ert-deftest aqd-list-point-stays-on-its-review-in-every-window-and-order ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (let ((others (mapcar (lambda (name)
                            (write-region aqd-original-of-two nil (aqd-list-path name) nil 'silent)
                            (agent-q-diff-review (aqd-list-path name) aqd-original-of-two
                                                 aqd-modified-of-two "Others" #'ignore))
                          '("b" "c" "d"))))
      (save-window-excursion
        (delete-other-windows)
        (agent-q-diff-list)
        (let ((window (selected-window))
              (other (split-window)))
          (dolist (sorted '(nil t))
            (when sorted
              (tabulated-list-sort 1))
            (goto-char (text-property-any (point-min) (point-max)
                                          'tabulated-list-id (nth 1 others)))
            (let ((line (line-number-at-pos)))
              ;; The window is not selected, so buffer and window differ.
              (with-selected-window other
                (switch-to-buffer "*scratch*")
                (agent-q-diff-accept (nth 1 others) (if sorted 1 0))
                (agent-q-diff-list--update))
              (with-selected-window window
                (should (= line (line-number-at-pos (window-point))))
                (should (eq (nth 1 others) (tabulated-list-get-id)))
                (should (string-search (if sorted "2 of 2 decided" "1 of 2 decided")
                                       (buffer-substring (line-beginning-position)
                                                         (line-end-position)))))))
          ;; What has ended gives way to the first that is to be decided.
          (agent-q-diff-cancel (nth 1 others))
          (agent-q-diff-list--update)
          (should (memq (tabulated-list-get-id) (agent-q-diff-open-reviews)))
          (kill-buffer)))
      (mapc #'agent-q-diff-cancel (cons review others)))))

(provide 'agent-q-diff-list-test)
;;; agent-q-diff-list-test.el ends here
