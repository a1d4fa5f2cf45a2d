;;; agent-q-diff-overview-test.el --- All of a review in one list  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-overview)

(defun aqd-overview-text (k edits)
  "Return the text of file K, 50 lines, with EDITS, an alist from lines to texts."
  (mapconcat (lambda (n)
               (concat (or (alist-get n edits)
                           (if (= 0 (% n 10)) "  call(old);" (format "line %d %d;" k n)))
                       "\n"))
             (number-sequence 1 50) ""))

(defconst aqd-overview-names '("src/a.c" "src/b.c" "tests/a.c" "Cargo.lock")
  "Names of the files of a review.")

(defvar aqd-overview-tree nil
  "The folder of the files of the current test.")

(defvar aqd-overview-result nil
  "The result of the last review.")

(defmacro aqd-overview-with-review (edits &rest body)
  "Run BODY in the diff buffer of a review of EDITS, one list for each file."
  (declare (indent 1) (debug t))
  `(let* ((aqd-overview-tree (file-name-as-directory (make-temp-file "aqd-overview" t)))
          (default-directory aqd-overview-tree)
          (create-lockfiles nil)
          (backup-inhibited t))
     (setq aqd-overview-result nil)
     (unwind-protect
         (aqd-with-frame 100 40
           (cl-loop for name in aqd-overview-names
                    for k from 0
                    do (make-directory (file-name-directory (expand-file-name name)) t)
                    do (aqd-put-bytes (aqd-overview-text k nil) (expand-file-name name)))
           (let ((review (agent-q-diff-review-change
                          (cl-loop for edits in ,edits
                                   for name in aqd-overview-names
                                   for k from 0
                                   collect (list :path name :original (aqd-overview-text k nil)
                                                 :modified (aqd-overview-text k edits)))
                          "All" (lambda (result) (setq aqd-overview-result result)))))
             (switch-to-buffer (agent-q-diff-session-buffer review))
             (delete-other-windows)
             ,@body))
       (dolist (review (agent-q-diff-open-reviews))
         (agent-q-diff-cancel review))
       (aqd-remove-tree aqd-overview-tree))))

(defconst aqd-overview-edits
  '(((10 . "  call(new);") (20 . "  call(new);") (35 . "line 0 35;  "))
    ((10 . "  call(new);") (35 . "  // noted"))
    ((10 . "  call(new);"))
    ((5 . "x") (6 . "y\nz")))
  "Edits of four files.")

(defun aqd-overview-file (name)
  "Return what the file NAME has."
  (aqd-bytes-of (expand-file-name name aqd-overview-tree)))

(defun aqd-overview-goto (words)
  "Go to the line of the overview, which is selected, that has WORDS."
  (goto-char (point-min))
  (search-forward words)
  (beginning-of-line))

(ert-deftest aqd-overview-lists-equal-changes-and-files ()
  (aqd-overview-with-review aqd-overview-edits
    (agent-q-diff-overview)
    (should (derived-mode-p 'agent-q-diff-overview-mode))
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   "\
Equal changes
  4 times in 3 files: old → new  4 pending
  1 hunk changes only white space  1 pending
+5 -5       2 files  5 pending
  +3 -3       modified src/a.c  3 pending
  +2 -2       modified src/b.c  2 pending
+1 -1       1 file with tests  1 pending
  +1 -1       modified tests/a.c  1 pending
+3 -2       1 generated file  1 pending
  +3 -2       modified Cargo.lock  1 pending
"))
    (should (equal header-line-format " 4 files · 7 hunks · +9 -8 · 7 pending"))
    ;; On the first line that can be decided.
    (should (looking-at "  4 times in 3 files"))
    (aqd-press "q")
    (should (derived-mode-p 'agent-q-diff-mode))
    (should (equal (list (current-buffer)) (mapcar #'window-buffer (window-list))))
    (should-not (seq-find (lambda (buffer) (string-match-p "Overview" (buffer-name buffer)))
                          (buffer-list)))))

(ert-deftest aqd-overview-its-lines-are-decided-by-keys ()
  (aqd-overview-with-review aqd-overview-edits
    (aqd-press "o a")
    (should (looking-at "  4 times in 3 files: old → new  4 applied$"))
    (should (equal (aqd-overview-file "src/a.c")
                   (aqd-overview-text 0 '((10 . "  call(new);") (20 . "  call(new);")))))
    (aqd-overview-goto "Cargo.lock")
    (aqd-press "r")
    (should (looking-at ".*Cargo.lock  1 rejected$"))
    (aqd-overview-goto "2 files")
    (aqd-press "a")
    (should (looking-at ".*2 files  5 applied$"))
    (should (equal (aqd-overview-file "src/b.c")
                   (aqd-overview-text 1 '((10 . "  call(new);") (35 . "  // noted")))))
    ;; Nothing of it is pending.
    (should-error (aqd-press "a") :type 'user-error)
    (aqd-overview-goto "src/b.c")
    (aqd-press "u")
    (should (looking-at ".*src/b.c  2 pending$"))
    (should (equal (aqd-overview-file "src/b.c") (aqd-overview-text 1 nil)))
    (should (equal header-line-format " 4 files · 7 hunks · +9 -8 · 4 applied · 1 rejected · 2 pending"))
    (call-interactively #'agent-q-diff-overview-undo)
    (should (looking-at ".*src/b.c  2 applied$"))
    ;; It goes with the review.
    (aqd-press "q C-c C-c")
    (should (equal 1 (plist-get aqd-overview-result :rejected)))
    (should-not (seq-find (lambda (buffer) (string-match-p "Overview" (buffer-name buffer)))
                          (buffer-list)))))

(ert-deftest aqd-overview-moves-in-the-diff ()
  (aqd-overview-with-review aqd-overview-edits
    (let ((diff (current-buffer)))
      (aqd-press "o n")
      (should (looking-at "  1 hunk changes only white space"))
      (with-current-buffer diff
        (should (= 2 (agent-q-diff-buffer-hunk-at-point (window-point (get-buffer-window))))))
      (aqd-press "p")
      (should (looking-at "  4 times in 3 files"))
      (aqd-overview-goto "tests/a.c")
      (aqd-press "RET")
      (should (eq diff (current-buffer)))
      (should (= 2 (agent-q-diff-buffer-heading-at-point)))
      (should (= 2 (length (window-list))))
      ;; The key goes back to the list.
      (aqd-press "o")
      (should (looking-at ".*tests/a.c"))
      (goto-char (point-min))
      (should-error (agent-q-diff-overview-accept) :type 'user-error))))

(ert-deftest aqd-overview-of-one-file-lists-its-hunks ()
  (aqd-overview-with-review (list (car aqd-overview-edits))
    (agent-q-diff-overview)
    (should (string-match-p "\\`Equal changes\n.*white space  1 pending\nHunks\n  hunk 1  line 0 6;  1 pending\n"
                            (buffer-string)))
    (aqd-overview-goto "hunk 2")
    (aqd-press "a")
    (should (equal (aqd-overview-file "src/a.c")
                   (aqd-overview-text 0 '((20 . "  call(new);")))))))

(defun aqd-overview-summary ()
  "Return the summary above the diff in this buffer, or nil."
  (when-let ((beg (text-property-not-all (point-min) (point-max) 'agent-q-diff-summary nil)))
    (buffer-substring-no-properties
     beg (text-property-any beg (point-max) 'agent-q-diff-summary nil))))

(defconst aqd-overview-whole-summary "\
# 4 files, +9 -8; o lists them
#   4 times in 3 files: old → new
#   1 hunk changes only white space
#   1 file with tests, +1 -1
#   1 generated file, +3 -2
"
  "The summary of a review of `aqd-overview-edits'.")

(defun aqd-overview-timers ()
  "Return the timers that will find what is done alike."
  (seq-filter (lambda (timer)
                (eq #'agent-q-diff-alike--know-later (timer--function timer)))
              timer-list))

(ert-deftest aqd-overview-many-files-begin-with-a-summary ()
  (let ((agent-q-diff-summary-files 4))
    (aqd-overview-with-review aqd-overview-edits
      (should (equal aqd-overview-whole-summary (aqd-overview-summary)))
      ;; Point is on the first hunk all the same, and keys decide it.
      (should (= 0 (agent-q-diff-buffer-hunk-at-point)))
      (aqd-press "a")
      (should (equal (aqd-overview-file "src/a.c")
                     (aqd-overview-text 0 '((10 . "  call(new);")))))
      (goto-char (point-min))
      (search-forward "white space")
      (aqd-press "RET")
      (should (= 2 (agent-q-diff-buffer-hunk-at-point)))
      (goto-char (point-min))
      (search-forward "lists them")
      (aqd-press "RET")
      (should (derived-mode-p 'agent-q-diff-overview-mode)))
    (aqd-overview-with-review (seq-take aqd-overview-edits 3)
      (should-not (aqd-overview-summary))))
  ;; Of many hunks, what takes long to find comes right after the first screen.
  (let ((agent-q-diff-summary-files 4)
        (agent-q-diff-alike--max-at-once 6))
    (aqd-overview-with-review aqd-overview-edits
      (should (equal "# 4 files, +9 -8; o lists them\n" (aqd-overview-summary)))
      (should-not (aqd-overview-timers))
      (let ((rest (buffer-substring-no-properties (point) (point-max))))
        ;; As on a screen.
        (agent-q-diff-alike--show-between (point-min) (point-max))
        (should (length= (aqd-overview-timers) 1))
        (timer-event-handler (car (aqd-overview-timers)))
        (should (equal aqd-overview-whole-summary (aqd-overview-summary)))
        (should (equal rest (buffer-substring-no-properties (point) (point-max))))
        (should (= 0 (agent-q-diff-buffer-hunk-at-point)))
        (should-not (buffer-modified-p)))))
  (dolist (agent-q-diff-summary-files '(nil 5))
    (aqd-overview-with-review aqd-overview-edits
      (should-not (aqd-overview-summary)))))

(ert-deftest aqd-overview-files-have-classes ()
  (dolist (name '("tests/a.c" "src/test_x.py" "a/b.test.ts" "x_test.go" "spec/a.rb" "foo-tests.el"))
    (should (string-match-p agent-q-diff-test-file-regexp name)))
  (dolist (name '("src/latest.c" "contest/a.c" "attest.el" "test.c.bak/x"))
    (should-not (string-match-p agent-q-diff-test-file-regexp name)))
  (dolist (name '("Cargo.lock" "a/package-lock.json" "dist/x.js" "a.min.js" "x.pb.go" "go.sum"))
    (should (string-match-p agent-q-diff-generated-file-regexp name)))
  (dolist (name '("lock.c" "distance.c" "clock" "mapping.c"))
    (should-not (string-match-p agent-q-diff-generated-file-regexp name))))

;;;; How many keys it takes

(defun aqd-overview-keys (keys)
  "Press KEYS, in the syntax of `kbd', and return how many that are."
  (aqd-press keys)
  (length (kbd keys)))

(ert-deftest aqd-overview-a-reformatting-with-two-real-edits-takes-six-keys-at-most ()
  (let ((agent-q-diff-white-space-free '("txt"))
        (text (lambda (margin words)
                (mapconcat (lambda (n)
                             (format "%scall(%d, %s);\n" margin n
                                     (if (memq n '(120 333)) words "x")))
                           (number-sequence 1 500) ""))))
    (aqd-with-review (funcall text "  " "x") (funcall text "\t" "y")
      (pop-to-buffer (current-buffer))
      (aqd-goto-hunk 1)
      (should (>= 5 (aqd-overview-keys "W a a w")))
      ;; And one to finish.
      (should (equal (aqd-target) (funcall text "\t" "y"))))))

(ert-deftest aqd-overview-sixty-equal-edits-in-twelve-files-take-four-keys-at-most ()
  (let* ((aqd-overview-names (mapcar (lambda (k) (format "f%d.c" k)) (number-sequence 1 12)))
         (edits '((10 . "  call(new);") (20 . "  call(new);") (30 . "  call(new);")
                  (40 . "  call(new);") (50 . "  call(new);"))))
    (aqd-overview-with-review (make-list 12 edits)
      (should (>= 4 (aqd-overview-keys "l a q")))
      (should (equal 60 (plist-get aqd-overview-result :applied)))
      (should (equal (aqd-overview-file "f12.c") (aqd-overview-text 11 edits))))))

(provide 'agent-q-diff-overview-test)
;;; agent-q-diff-overview-test.el ends here
