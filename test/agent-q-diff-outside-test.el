;;; agent-q-diff-outside-test.el --- Edits of the target by others  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Typing, undo, revert and programs change the target while its hunks are
;; decided.  Each hunk goes where it belongs or says why it cannot.

;;; Code:

(require 'agent-q-diff-test-help)

(defun aqd-outside-blocks (n &optional changes)
  "Return N identical functions; CHANGES is an alist from number to a line.
The line is put into the function of that number, counted from 1."
  (cl-loop for number from 1 to n
           for line = (alist-get number changes)
           concat (concat "(defun f ()\n  (a)\n" (and line (concat line "\n"))
                          "  (b))\n\n")))

(defun aqd-outside-raw (bytes)
  "Return BYTES, which are not UTF-8, as a buffer has them."
  (decode-coding-string bytes 'utf-8-unix))

(ert-deftest aqd-outside-typing-above-and-below-in-equal-blocks ()
  (aqd-with-review (aqd-outside-blocks 8) (aqd-outside-blocks 8 '((3 . "  new") (6 . "  more")))
    (aqd-in-target (insert ";; top\n") (forward-line 20) (insert ";; middle\n"))
    (should (aqd-accept 2))
    (should (aqd-accept 1))
    (aqd-in-target
      (should (search-forward ";; top\n"))
      (delete-region (match-beginning 0) (match-end 0))
      (should (search-forward ";; middle\n"))
      (delete-region (match-beginning 0) (match-end 0)))
    (should (equal (aqd-target)
                   (aqd-outside-blocks 8 '((3 . "  new") (6 . "  more")))))))

(ert-deftest aqd-outside-undo-and-redo-of-a-hunk-are-known ()
  "With an edit of the user's in the file, whether or not anybody looks between."
  (dolist (line '("line 10\nNEW" "NEW" nil))
    (dolist (is-looking '(nil t))
      (ert-info ((format "%S %s" line is-looking))
        (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 `((10 . ,line)))
          (aqd-in-target (insert "mine\n") (undo-boundary))
          (should (aqd-accept 1))
          (let ((accepted (aqd-target)))
            (aqd-in-target (undo-boundary) (let (last-command) (undo)) (undo-boundary))
            (when is-looking
              (should (equal "[APPLIED, but not in the file]" (aqd-sign 1))))
            (aqd-in-target (let ((last-command 'ignore)) (undo)) (undo-boundary))
            (should (equal accepted (aqd-target))))
          (should (equal "[APPLIED]" (aqd-sign 1)))
          (should (eq 'edited (agent-q-diff-unapply agent-q-diff-buffer-review 0)))
          (should (equal (aqd-target) (concat "mine\n" (aqd-numbered 20)))))))))

(ert-deftest aqd-outside-undo-and-redo-of-all-that-was-done-are-known ()
  "Hunks that are accepted, one that is unapplied, and edits between them."
  (aqd-with-review (aqd-numbered 40) (aqd-numbered 40 '((10 . "TEN") (30 . "line 30\nNEW")))
    (let ((states (list (cons (aqd-target) '(nil nil)))))
      (pcase-dolist (`(,step . ,is-in)
                     `((,(lambda ()
                           (aqd-in-target (forward-line 20) (forward-char 2)
                                          (mapc #'insert '("m" "i" "n" "e"))))
                        nil nil)
                       (,(lambda () (aqd-accept 1)) t nil)
                       (,(lambda () (aqd-in-target (forward-line 25) (insert "a\nb\n"))) t nil)
                       (,(lambda () (aqd-accept 2)) t t)
                       (,(lambda () (agent-q-diff-unapply agent-q-diff-buffer-review 0)) nil t)))
        (funcall step)
        (aqd-in-target (undo-boundary))
        (push (cons (aqd-target) is-in) states))
      (dolist (_ '(1 2))
        (dolist (states (list (cdr states) (cdr (reverse states))))
          (let ((last-command 'ignore))
            (pcase-dolist (`(,text . ,is-in) states)
              (aqd-in-target (undo) (undo-boundary))
              (setq last-command 'undo)
              (should (equal text (aqd-target)))
              (should (equal (list (and (car is-in) "[PENDING, but in the file]")
                                   (if (cadr is-in) "[APPLIED]"
                                     "[APPLIED, but not in the file]"))
                             (list (aqd-sign 1) (aqd-sign 2)))))))))))

(ert-deftest aqd-outside-what-another-hook-edits-is-noticed ()
  "Emacs runs no hooks for it, and the number of characters stays the same."
  (pcase-dolist (`(,hook . ,depth) '((after-change-functions . nil)
                                     (after-change-functions . 90)
                                     (before-change-functions . nil)
                                     (before-change-functions . 90)))
    (ert-info ((format "%s %s" hook depth))
      (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 '((10 . "LINE 10")))
        (aqd-in-target
          (add-hook hook (lambda (&rest _)
                           (save-excursion
                             (save-match-data
                               (goto-char (point-min))
                               (let ((case-fold-search nil))
                                 (when (re-search-forward "^line 10$" nil t)
                                   (replace-match "mine 10" t t))))))
                    depth t)
          (goto-char (point-min))
          (insert "x"))
        (should-not (aqd-accept 1))
        (should (string-search "mine 10" (aqd-target)))))))

(ert-deftest aqd-outside-typing-in-the-lines-of-a-hunk ()
  (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 '((10 . "ten")))
    (aqd-in-target (forward-line 9) (end-of-line) (insert "!"))
    (should (equal (aqd-sign 1) "[DOES NOT APPLY]"))
    (should-not (aqd-accept 1))
    (aqd-in-target (forward-line 9) (end-of-line) (delete-char -1))
    (should-not (aqd-sign 1))
    (should (aqd-accept 1))))

(ert-deftest aqd-outside-typing-where-lines-are-to-be-inserted ()
  (aqd-with-review (aqd-outside-blocks 4) (aqd-outside-blocks 4 '((2 . "  new")))
    (aqd-in-target (forward-line 6) (insert ";; mine\n"))
    (should (equal (aqd-sign 1) "[DOES NOT APPLY]"))
    (aqd-in-target (forward-line 6) (delete-region (point) (line-beginning-position 2)))
    (should-not (aqd-sign 1))
    (should (aqd-accept 1))
    (should (equal (aqd-target) (aqd-outside-blocks 4 '((2 . "  new")))))))

(ert-deftest aqd-outside-next-to-an-edit-is-shown-and-applies ()
  (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 '((10 . "ten")))
    (aqd-in-target (forward-line 10) (insert "mine\n"))
    (should (equal (aqd-sign 1) "[PENDING, next to your edit]"))
    (should (aqd-accept 1))
    (should (equal (aqd-sign 1) "[APPLIED, next to your edit]"))
    (should (equal (aqd-target)
                   (string-replace "ten\n" "ten\nmine\n"
                                   (aqd-numbered 20 '((10 . "ten"))))))))

(ert-deftest aqd-outside-a-newline-leaves-both-lines-around-it-alone ()
  (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 '((10 . "ten")))
    (aqd-in-target (forward-line 9) (end-of-line) (insert "\n"))
    (should (aqd-accept 1))
    (should (string-search "ten\n\nline 11" (aqd-target)))))

(ert-deftest aqd-outside-undo-gives-lines-and-hunks-back ()
  (aqd-with-review (aqd-outside-blocks 6) (aqd-outside-blocks 6 '((2 . "  new") (5 . "  more")))
    (aqd-in-target
      (undo-boundary)
      (forward-line 5)
      (delete-region (point) (line-beginning-position 3))
      (undo-boundary))
    (should (equal (aqd-sign 1) "[DOES NOT APPLY]"))
    (should (aqd-accept 2))
    (aqd-in-target (let ((last-command nil)) (undo)))
    (should (equal (aqd-sign 2) "[APPLIED, but not in the file]"))
    (aqd-in-target (let ((last-command 'undo)) (undo)))
    (should-not (aqd-sign 1))
    (should (aqd-accept 1))
    (should (equal (aqd-target) (aqd-outside-blocks 6 '((2 . "  new")))))))

(ert-deftest aqd-outside-what-lies-between-two-edits-of-a-revert-stays ()
  ;; `insert-file-contents' replaces all from the first to the last of them.
  (let ((original (aqd-numbered 30))
        (modified (aqd-numbered 30 '((3 . "three") (15 . "fifteen") (27 . "x")))))
    (pcase-dolist (`(,edited . ,signs)
                   `((((8 . "EIGHT") (22 . "other")) (2 . "[APPLIED]"))
                     (((1 . "top\nline 1") (30 . "line 30\nmore"))
                      (1 . "[PENDING, shifted by 1 line]") (2 . "[APPLIED]"))))
      (aqd-with-file original
        (let* ((inhibit-message t)
               (answer nil)
               (review (agent-q-diff-review aqd-file original modified "d"
                                            (lambda (result) (setq answer result)))))
          (agent-q-diff-accept review 1)
          (aqd-write (aqd-numbered 30 (cons '(15 . "fifteen") edited)))
          (with-current-buffer (find-buffer-visiting aqd-file)
            (revert-buffer t t))
          (aqd-in-diff review
            (agent-q-diff-refresh)
            (should (equal signs (aqd-signs))))
          (agent-q-diff-end review)
          (should (equal '(nil t nil)
                         (mapcar (lambda (hunk) (plist-get hunk :in-file))
                                 (plist-get answer :hunks)))))))))

;; Emacs 28 then leaves `buffer-chars-modified-tick' as it was.
(ert-deftest aqd-outside-a-revert-that-only-inserts-is-noticed ()
  (pcase-dolist (`(,original ,modified ,theirs)
                 '(("" "new" "theirs\n") ("" "new\n" "theirs") ("" "néw" "thëirs\n")
                   ("a\n" "a\nnew" "a\ntheirs\n") ("a\n" "new\na\n" "theirs\na\n")))
    (dolist (coding '(nil undecided-unix utf-8-unix latin-1-unix utf-8-dos))
      (dolist (is-touched '(nil t))
        (ert-info ((format "%S %S %S" original coding is-touched))
          (aqd-with-file original
            (let* ((inhibit-message t)
                   (coding-system-for-read coding)
                   (buffer (aqd-visit))
                   (review (agent-q-diff-review aqd-file original modified "d" #'ignore)))
              (setq coding-system-for-read nil)
              (with-current-buffer buffer
                (when is-touched
                  (insert "x")
                  (delete-char -1)
                  (set-buffer-modified-p nil))
                (aqd-write theirs)
                (revert-buffer t t t))
              (should-error (agent-q-diff-accept review 0))
              (should-error (agent-q-diff-unapply review 0))
              (should (equal (aqd-disk) (encode-coding-string theirs 'utf-8)))
              (agent-q-diff-cancel review))))))))

(defun aqd-outside-walk (seed)
  "Decide hunks of a short text as SEED says, and revert, type and undo.
No line of anybody's is ever lost or glued to another."
  (random (format "agent-q-diff %d" seed))
  (cl-letf (;; It would ask whether to edit a file that has changed.
            ((symbol-function 'userlock--ask-user-about-supersession-threat) #'ignore))
    (cl-labels ((lines (name n)
                       (cl-loop for at below n collect (format "%s %d" name at)))
                (text (lines)
                      (if (and lines (zerop (random 3)))
                          (string-join lines "\n")
                        (apply #'aqd-lines lines)))
                (theirs (text)
                        (seq-filter (apply-partially #'string-prefix-p "theirs")
                                    (split-string text "\n"))))
      (let* ((old (lines "old" (random 4)))
             (at (random (1+ (length old))))
             (new (append (seq-take old at) (lines "new" (1+ (random 2)))
                          (seq-drop old (+ at (random 2)))))
             (original (text old))
             (modified (text new)))
        (aqd-with-file original
                       (let* ((inhibit-message t)
                              (revert-without-query '(""))
                              (buffer (aqd-visit))
                              (review (agent-q-diff-review aqd-file original modified "d" #'ignore)))
                         (dotimes (step 8)
                           (let* ((was (with-current-buffer buffer (buffer-string)))
                                  (here (split-string (string-remove-suffix "\n" was) "\n" t))
                                  (at (nth (random 3) (list 0 (length here) (random (1+ (length here))))))
                                  (next (text (append (seq-take here at) (list (format "theirs %d" step))
                                                      (seq-drop here (+ at (/ (random 4) 3)))))))
                             (pcase (random 6)
                               (0 (aqd-write next)
                                  (with-current-buffer buffer (revert-buffer t t (zerop (random 2)))))
                               (1 (aqd-write next))
                               (2 (with-current-buffer buffer
                                    (erase-buffer)
                                    (revert-buffer t t t)))
                               (_ (let ((before (progn
                                                  (agent-q-diff-file-change-follow
                                                   (agent-q-diff-session-file review))
                                                  (with-current-buffer buffer (buffer-string)))))
                                    ;; What is not possible is refused.
                                    (ignore-errors
                                      (pcase (random 4)
                                        (0 (agent-q-diff-unapply review 0))
                                        (1 (agent-q-diff-decide-back (agent-q-diff-session-change review) nil))
                                        (_ (agent-q-diff-accept review 0))))
                                    (let ((now (with-current-buffer buffer (buffer-string))))
                                      (should (equal (theirs before) (theirs now)))
                                      (should-not (seq-difference (split-string now "\n" t)
                                                                  (append (split-string before "\n" t)
                                                                          old new)))))))))
                         (with-current-buffer buffer (set-buffer-modified-p nil))
                         (agent-q-diff-cancel review)))))))

(ert-deftest aqd-outside-in-short-texts-no-line-is-lost-or-glued ()
  (dotimes (seed (string-to-number (or (getenv "AGENT_Q_DIFF_WALKS") "150")))
    (ert-info ((format "seed %d" seed))
      (aqd-outside-walk seed))))

(ert-deftest aqd-outside-revert-brings-every-hunk-back ()
  (aqd-with-review (aqd-outside-blocks 6) (aqd-outside-blocks 6 '((2 . "  new") (5 . "  more")))
    (let ((agent-q-diff-save 'never))
      (should (aqd-accept 2))
      (aqd-in-target (insert "mine\n") (forward-line 3) (kill-line 2)
                     (revert-buffer t t))
      (should (equal (aqd-sign 2) "[APPLIED, but not in the file]"))
      (aqd-in-target (insert "mine\n"))
      (should (aqd-accept 1))
      (should (equal (aqd-target) (concat "mine\n" (aqd-outside-blocks 6 '((2 . "  new")))))))))

(ert-deftest aqd-outside-an-edit-that-no-hook-tells-is-found-by-comparing ()
  (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 '((10 . "ten")))
    (aqd-in-target (let ((inhibit-modification-hooks t)) (insert "mine\n")))
    (aqd-in-target (insert "more\n"))
    (should (aqd-accept 1))
    (should (equal (aqd-target)
                   (concat "more\nmine\n" (aqd-numbered 20 '((10 . "ten"))))))))

;; The engine reads a buffer in parts of 32,768 characters as long as they are
;; unchanged, and a text with raw bytes as a whole.
(ert-deftest aqd-outside-a-large-text-is-compared-wherever-it-was-changed ()
  (pcase-dolist (`(,word ,typed) `(("plain" "mine") ("größer 行" "mine")
                                   ("plain" "für 行")
                                   ("plain" ,(aqd-outside-raw "\xff\xc3"))
                                   (,(aqd-outside-raw "\xff") "mine")))
    (let* ((coding-system-for-read 'utf-8-unix)
           (agent-q-diff-save 'always)
           (filler (make-string 100 ?.))
           (lines (lambda (changes)
                    (mapconcat (lambda (n)
                                 (format "%s %s %s %d\n" word filler
                                         (alist-get n changes "line") n))
                               (number-sequence 1 1000) "")))
           (changes '((50 . "one") (500 . "two") (950 . "three"))))
      (dolist (line '(1 51 490 501 940 1000))
        (aqd-with-review (funcall lines nil) (funcall lines changes)
          (aqd-in-target
            (forward-line (1- line))
            (let ((inhibit-modification-hooks t))
              (insert typed "\n"))
            (narrow-to-region (point-min) (line-end-position)))
          (dotimes (n 3)
            (should-not (member (aqd-sign (1+ n))
                                '("[DOES NOT APPLY]" "[AMBIGUOUS, look]"))))
          (aqd-in-target (widen))
          (dotimes (n 3)
            (should (aqd-accept (1+ n))))
          (aqd-in-target
            (should (search-forward (concat typed "\n")))
            (should (= line (line-number-at-pos (match-beginning 0))))
            (replace-match "")
            (should (equal (buffer-string) (funcall lines changes)))))))))

;; Garbage collection runs Lisp code while a buffer is being read.
(ert-deftest aqd-outside-a-text-that-is-changed-while-it-is-read-is-read-again ()
  (let* ((lines (lambda (new)
                  (mapconcat (lambda (n) (if (and new (= n 100)) "NEW\n"
                                           (format "line %d\n" n)))
                             (number-sequence 1 30000) "")))
         (original (funcall lines nil)))
    (dolist (edit (list (lambda () (insert "hook 1\nhook 2\n"))
                        (lambda () (delete-region (point) (/ (point-max) 2)))))
      (aqd-with-file original
        (let* ((file (agent-q-diff-file-change-open aqd-file original (funcall lines t)))
               (change (agent-q-diff-change-of file))
               (buffer (agent-q-diff-file-change-buffer file))
               (is-done nil)
               (hook (lambda ()
                       (unless is-done
                         (setq is-done t)
                         (with-current-buffer buffer
                           (save-excursion
                             (goto-char (point-min))
                             (forward-line 200)
                             (funcall edit)))))))
          (with-current-buffer buffer
            (goto-char (point-min))
            (forward-line 27999)
            (let ((inhibit-modification-hooks t))
              (insert "missed\n")))
          (garbage-collect)
          (add-hook 'post-gc-hook hook)
          (unwind-protect
              (let ((gc-cons-threshold 100000)
                    (gc-cons-percentage 0.0))
                (agent-q-diff-change-follow change))
            (remove-hook 'post-gc-hook hook))
          (should is-done)
          (should (eq 'edited (agent-q-diff-decide-hunk change 'accept 0)))
          (with-current-buffer buffer
            (goto-char (point-min))
            (should (search-forward "line 99\nNEW\nline 101\n"))
            (set-buffer-modified-p nil))
          (agent-q-diff-change-close change))))))

(ert-deftest aqd-outside-an-ambiguous-hunk-takes-a-second-key ()
  (aqd-with-review (aqd-outside-blocks 6) (aqd-outside-blocks 6 '((4 . "  new")))
    (aqd-in-target (let ((inhibit-modification-hooks t)) (insert "mine\n")))
    (should (equal (aqd-sign 1) "[AMBIGUOUS, look]"))
    (should-not (aqd-accept 1))
    (should (equal (aqd-target) (concat "mine\n" (aqd-outside-blocks 6))))
    (should (aqd-accept 1))
    (should (equal (aqd-target) (concat "mine\n" (aqd-outside-blocks 6 '((4 . "  new"))))))))

(ert-deftest aqd-outside-the-second-key-counts-only-for-what-was-shown ()
  (aqd-with-review (aqd-outside-blocks 6) (aqd-outside-blocks 6 '((4 . "  new")))
    (aqd-in-target (let ((inhibit-modification-hooks t)) (insert "mine\n")))
    (should-not (aqd-accept 1))
    (aqd-in-target (insert "more\n"))
    (should-not (aqd-accept 1))
    (should (aqd-accept 1))))

(ert-deftest aqd-outside-sorted-lines ()
  (let ((original "1\n2\n3\nd\nb\nc\na\n7\n8\n9\n"))
    (aqd-with-review original (string-replace "8" "eight" original)
      (aqd-in-target (forward-line 3)
                     (sort-lines nil (point) (line-beginning-position 5)))
      (should (aqd-accept 1))
      (should (equal (aqd-target) "1\n2\n3\na\nb\nc\nd\n7\neight\n9\n")))))

(ert-deftest aqd-outside-text-properties-are-no-edit ()
  (aqd-with-review (aqd-outside-blocks 6) (aqd-outside-blocks 6 '((4 . "  new")))
    (aqd-in-target (put-text-property 1 20 'face 'bold))
    (should-not (aqd-sign 1))
    (should (aqd-accept 1))))

(ert-deftest aqd-outside-leaves-no-hook-behind ()
  (aqd-with-file (aqd-outside-blocks 4)
    (let ((buffer (aqd-visit)))
      (aqd-call (aqd-outside-blocks 4) (aqd-outside-blocks 4 '((2 . "  new")))
                (lambda ()
                  (should (buffer-local-value 'agent-q-diff-outside--listeners buffer))
                  (agent-q-diff-reject-all)))
      (with-current-buffer buffer
        (should-not (memq #'agent-q-diff-outside--after after-change-functions))
        (should-not (memq #'agent-q-diff-outside--before before-change-functions))))))

(ert-deftest aqd-outside-half-of-fifty-hunks-in-a-hundred-equal-functions ()
  "Every hunk must be in its own function."
  (random "agent-q-diff")
  (let* ((numbers (cl-loop for n from 2 to 100 by 2 collect n))
         (line (lambda (n) (cons n (format "  (new %d)" n))))
         (modified (aqd-outside-blocks 100 (mapcar line numbers)))
         (order (cl-loop for hunk from 1 to 50
                         collect (cons (random 1000) hunk)))
         (chosen (mapcar #'cdr (seq-take (sort order (lambda (a b) (< (car a) (car b))))
                                         25)))
         (agent-q-diff-context-length 0))
    (aqd-with-review (aqd-outside-blocks 100) modified
      (dolist (hunk chosen)
        (aqd-in-target
          ;; Between two functions, where no hunk belongs.
          (re-search-forward "^\n" nil t (1+ (random 100)))
          (insert (format ";; %d\n" hunk)))
        (should (aqd-accept hunk))
        (when (zerop (random 2))
          (aqd-in-target
            (when (re-search-forward "^;; .*\n" nil t)
              (delete-region (match-beginning 0) (match-end 0))))))
      (should (equal (replace-regexp-in-string "^;; .*\n" "" (aqd-target))
                     (aqd-outside-blocks 100 (mapcar (lambda (hunk) (funcall line (* 2 hunk)))
                                                     chosen)))))))

(ert-deftest aqd-outside-ruling-1-diff-apply-hunk-counts-as-an-outside-edit ()
  (let ((agent-q-diff-save 'always))
    (aqd-with-forty-lines
      (aqd-call (car aqd-three) (cdr aqd-three)
                (lambda ()
                  (aqd-goto-hunk 2)
                  (let ((inhibit-message t))
                    (diff-apply-hunk))
                  (aqd-goto-hunk 1)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs) '((1 . "[APPLIED]")
                                               (2 . "[PENDING, but in the file]"))))
                  (aqd-goto-hunk 2)
                  (agent-q-diff-accept-hunk)
                  (agent-q-diff-finish)))
      (should (equal (aqd-disk) (aqd-three-with 1 2))))))

(provide 'agent-q-diff-outside-test)
;;; agent-q-diff-outside-test.el ends here
