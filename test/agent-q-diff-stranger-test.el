;;; agent-q-diff-stranger-test.el --- What a stranger found  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each test failed when it was written; its docstring says why it should not.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'seq)
(require 'smerge-mode)

(defun aqd-shown-lines (n)
  "Return the lines of the Nth hunk shown, without its header."
  (let ((start (aqd-goto-hunk n)))
    (split-string (buffer-substring-no-properties
                   (progn (forward-line) (point))
                   (or (and (re-search-forward "^@@" nil t) (match-beginning 0))
                       (ignore start) (point-max)))
                  "\n" t)))

(ert-deftest aqd-stranger-bare-diff-plus-before-minus-region ()
  "In a bare diff the order of the lines is the buffer's, not old before new."
  (aqd-with-file (aqd-lines "1" "b" "c" "3")
    (aqd-with-diff (aqd-lines "@@ -1,4 +1,4 @@" " 1" "-b" "+b2" "-c" "+c2" " 3")
      (aqd-choose "+b2" "+b2")
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-lines "1" "b" "b2" "c" "3"))))))

(ert-deftest aqd-stranger-bare-diff-plus-first ()
  (aqd-with-file (aqd-lines "1" "old" "3")
    (aqd-with-diff (aqd-lines "@@ -1,3 +1,3 @@" " 1" "+new" "-old" " 3")
      (aqd-choose "+new" "+new")
      (agent-q-diff-accept-hunk)
      (should (string-search "new" (aqd-disk)))
      (should (string-search "old" (aqd-disk))))))

(ert-deftest aqd-stranger-lines-like-file-header ()
  "A header without count makes `diff-end-of-hunk' guess by pattern."
  (let ((agent-q-diff-context-length 0))
    (aqd-with-review (aqd-lines "1" "-- a" "3") (aqd-lines "1" "++ b" "3")
      (should (equal (aqd-hunks) '("@@ -2 +2 @@" "--- a" "+++ b")))
      (agent-q-diff-edit-hunk)
      (aqd-in-small-buffer
        (aqd-retype "++ b" "++ c")
        (agent-q-diff-edit-finish))
      (set-buffer (aqd-diff-buffer))
      (should (equal (aqd-hunks) '("@@ -2 +2 @@" "--- a" "+++ c"))))))

(ert-deftest aqd-stranger-lines-like-file-header-split ()
  (aqd-with-review (aqd-lines "1" "-- a" "x" "-- b" "3" "4" "5" "6")
      (aqd-lines "1" "++ a" "x" "++ b" "3" "4" "5" "6")
    (agent-q-diff-split-hunk)
    (aqd-goto-hunk 2)
    (agent-q-diff-split-hunk)
    (should (= 3 (seq-count (apply-partially #'string-prefix-p "@@") (aqd-hunks))))
    (should (equal (length (aqd-hunks)) (+ 3 9)))))

(ert-deftest aqd-stranger-lines-like-file-header-region ()
  (let ((agent-q-diff-context-length 0))
    (aqd-with-review (aqd-lines "1" "-- a" "3") (aqd-lines "1" "++ b" "3")
      (aqd-choose "+++ b" "+++ b")
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-lines "1" "-- a" "++ b" "3"))))))

(ert-deftest aqd-stranger-edit-of-applied-part-glues ()
  "Without newline in front of another part's line."
  (aqd-with-review "1\n2\na" "1\n2\nb"
    (agent-q-diff-split-hunk)
    (aqd-accept 1)
    (aqd-accept 2)
    (should (equal (aqd-target) "1\n2\nb"))
    (aqd-goto-hunk 1)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer
      (goto-char (point-max))
      (insert "x")
      (ignore-error user-error (agent-q-diff-edit-finish))
      (set-buffer-modified-p nil))
    (should (member (aqd-target) '("1\n2\nb" "1\n2\nx\nb")))))

(ert-deftest aqd-stranger-edit-without-a-change-is-no-edit ()
  (aqd-with-file aqd-letters-original
    (let ((result (aqd-result aqd-letters-original aqd-letters-modified
                              "e C-c C-c a q")))
      (should-not (plist-get (car (plist-get result :hunks)) :edited)))))

(ert-deftest aqd-stranger-edit-without-a-change-keeps-a-rejection ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-reject-hunk)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (agent-q-diff-edit-finish))
    (should (equal (aqd-signs) '((1 . "[REJECTED]"))))))

(ert-deftest aqd-stranger-edit-two-at-once ()
  "Two small buffers are open; the text of the second is as good as the first."
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (let ((diff (current-buffer)) one two)
      (aqd-goto-hunk 1) (agent-q-diff-edit-hunk) (setq one (current-buffer))
      (set-buffer diff)
      (aqd-goto-hunk 2) (agent-q-diff-edit-hunk) (setq two (current-buffer))
      (with-current-buffer one (aqd-retype "five" "5\n5") (agent-q-diff-edit-finish))
      (with-current-buffer two
        (aqd-retype "x" "y")
        (unwind-protect (agent-q-diff-edit-finish)
          (set-buffer-modified-p nil)
          (set-buffer diff)))
      (set-buffer diff)
      (should (equal (aqd-signs) '((1 . "[PENDING, edited]") (2 . "[PENDING, edited]")))))))

(ert-deftest aqd-stranger-edit-after-split-above ()
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (let ((diff (current-buffer)))
      (aqd-goto-hunk 2) (agent-q-diff-edit-hunk)
      (aqd-retype "x" "y")
      (let ((small (current-buffer)))
        (set-buffer diff)
        (aqd-goto-hunk 1) (agent-q-diff-split-hunk)
        (with-current-buffer small
          (unwind-protect (agent-q-diff-edit-finish)
            (set-buffer-modified-p nil)
            (set-buffer diff)))))))

(ert-deftest aqd-stranger-edit-when-narrowed ()
  "The diff buffer is narrowed to a hunk, as by `diff-restrict-view'."
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (aqd-goto-hunk 1)
    (diff-restrict-view)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "five" "FIVE") (agent-q-diff-edit-finish))
    (widen)
    (should (equal 2 (seq-count (apply-partially #'string-prefix-p "@@") (aqd-hunks))))))

(ert-deftest aqd-stranger-split-when-narrowed ()
  (aqd-with-review "1\n2\na" "1\n2\nb"
    (aqd-goto-hunk 1)
    (diff-restrict-view)
    (agent-q-diff-split-hunk)
    (widen)
    (should (= 2 (seq-count (apply-partially #'string-prefix-p "\\") (aqd-hunks))))))

(ert-deftest aqd-stranger-merge-settled-for-the-file-of-an-applied-hunk ()
  "What is in the file is mostly the hunk; to say that it was declined is untrue."
  (aqd-with-file aqd-letters-original
    (let (message)
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (agent-q-diff-accept-hunk)
                   (aqd-in-target (search-forward "c2") (insert "!") (save-buffer))
                   (should (equal (aqd-sign 1) "[APPLIED, but changed in the file since]"))
                   (agent-q-diff-merge-hunk)
                   (aqd-in-small-buffer
                     (erase-buffer) (insert (aqd-lines "1" "2" "b2" "c2!" "3" "4"))
                     (agent-q-diff-edit-finish))
                   (set-buffer (aqd-diff-buffer))
                   (agent-q-diff-finish))))
        (setq message (agent-q-diff-tools-propose-file-edit
                       aqd-file aqd-letters-original aqd-letters-modified nil)))
      (should-not (string-search "declined" message)))))

(ert-deftest aqd-stranger-reason-goes-when-merged ()
  (aqd-with-file aqd-letters-mine
    (let* ((result (aqd-result aqd-letters-original aqd-letters-modified
                               "a m C-x h C-w x RET C-c C-c q"))
           (hunk (car (plist-get result :hunks))))
      (should (plist-get hunk :in-file))
      (should-not (plist-get hunk :reason)))))

(ert-deftest aqd-stranger-rejection-is-not-a-failure ()
  (aqd-with-file aqd-letters-mine
    (let ((result (aqd-result aqd-letters-original aqd-letters-modified "a r q")))
      (should-not (plist-get (car (plist-get result :hunks)) :reason)))))

(ert-deftest aqd-stranger-split-after-failure-says-why ()
  (aqd-with-file (aqd-lines "1" "2" "mine" "x" "my 3" "4")
    (let ((answer (aqd-result (aqd-lines "1" "2" "b" "x" "3" "4")
                              (aqd-lines "1" "2" "b2" "x" "3!" "4") "a s q")))
      (should (eq (car answer) 'agent-q-diff-not-applied))
      (should-not (equal (cadr answer) "")))))

(ert-deftest aqd-stranger-message-names-hunks-that-the-agent-knows ()
  "The agent's proposal has two hunks; a part of the first is in the file."
  (aqd-with-file (aqd-numbered 30)
    (let (message)
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (aqd-goto-hunk 1)
                   (agent-q-diff-split-hunk)
                   (aqd-accept 2)
                   (agent-q-diff-finish))))
        (setq message (agent-q-diff-tools-propose-file-edit
                       aqd-file (aqd-numbered 30)
                       (aqd-numbered 30 '((5 . "five") (25 . "x"))) nil)))
      (should (string-search "+five" message)))))

(ert-deftest aqd-stranger-region-is-one-undo-step ()
  (aqd-with-review (aqd-numbered 30)
      (aqd-numbered 30 '((5 . "five") (15 . "fifteen") (25 . "x")))
    (aqd-choose "-line 5" "+x")
    (agent-q-diff-accept-hunk)
    (aqd-in-target (undo-boundary) (undo-only))
    (should (equal (aqd-target) (aqd-numbered 30)))))

(ert-deftest aqd-stranger-edit-after-merge-is-two-buffers ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (let ((small (current-buffer)))
      (aqd-in-target (forward-line 2) (insert "my "))
      (set-buffer (aqd-diff-buffer))
      (agent-q-diff-merge-hunk)
      (should-not (eq small (current-buffer)))
      (set-buffer (aqd-diff-buffer)))))

(ert-deftest aqd-stranger-killing-edited-text-asks ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (insert "an hour's work")
    (let ((small (current-buffer)) (asked nil))
      (cl-letf (((symbol-function 'yes-or-no-p) (lambda (&rest _) (setq asked t) nil))
                ((symbol-function 'y-or-n-p) (lambda (&rest _) (setq asked t) nil)))
        (kill-buffer small))
      (set-buffer (aqd-diff-buffer))
      (should asked))))

(ert-deftest aqd-stranger-split-of-edited-only-edited-part ()
  (aqd-with-file (aqd-numbered 12)
    (let* ((result (cl-letf (((symbol-function 'recursive-edit)
                              (lambda ()
                                (agent-q-diff-edit-hunk)
                                (aqd-in-small-buffer (aqd-retype "three" "THREE")
                                                     (agent-q-diff-edit-finish))
                                (set-buffer (aqd-diff-buffer))
                                (agent-q-diff-split-hunk)
                                (agent-q-diff-accept-all))))
                     (agent-q-diff-review-and-wait aqd-file (aqd-numbered 12)
                                                   (aqd-numbered 12 '((3 . "three") (6 . "six"))) nil)))
           (hunks (plist-get result :hunks)))
      (should (plist-get (nth 0 hunks) :edited))
      (should-not (plist-get (nth 1 hunks) :edited)))))

(ert-deftest aqd-stranger-edit-back-is-no-edit ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "c2" "c3") (agent-q-diff-edit-finish))
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "c3" "c2") (agent-q-diff-edit-finish))
    (should-not (aqd-signs))))

(ert-deftest aqd-stranger-shown-place-is-of-the-hunk-not-of-its-number ()
  "The place that was shown belongs to another hunk after a split above."
  (let* ((block (aqd-lines "x" "y" "z" "w"))
         (many (mapconcat (lambda (_) block) (number-sequence 1 6) ""))
         (original (concat (aqd-numbered 8) many))
         (modified (concat (aqd-numbered 8 '((2 . "two")))
                           block (aqd-lines "x" "Y" "z" "w") block
                           (aqd-lines "x" "Y" "z" "w") block block)))
    (aqd-with-file original
      (aqd-visit)
      (aqd-call original modified
                (lambda ()
                  (with-current-buffer (find-buffer-visiting aqd-file)
                    (let ((inhibit-modification-hooks t))
                      (goto-char (point-max)) (insert block)
                      (goto-char (point-min)) (forward-line 8) (insert block)))
                  (agent-q-diff-signs-change-with-target)
                  (let ((before (aqd-target)))
                    (aqd-goto-hunk 3)
                    (agent-q-diff-accept-hunk)
                    (should (equal before (aqd-target)))
                    (aqd-goto-hunk 1)
                    (agent-q-diff-split-hunk)
                    (aqd-goto-hunk 3)
                    (agent-q-diff-accept-hunk)
                    (should (equal before (aqd-target))))
                  (agent-q-diff-reject-all))))))

(ert-deftest aqd-stranger-bare-not-all-of-the-buffer-is-diff ()
  (aqd-with-file (aqd-numbered 30)
    (aqd-with-diff (aqd-lines "@@ -4,3 +4,3 @@" " line 4" "-line 5" "+five" " line 6"
                              "" "some words of mine" ""
                              "@@ -24,3 +24,3 @@" " line 24" "-line 25" "+x" " line 26")
      (aqd-goto-hunk 1)
      (condition-case err
          (progn
            (agent-q-diff-edit-hunk)
            (aqd-in-small-buffer (aqd-retype "five" "FIVE") (agent-q-diff-edit-finish))
            (should (string-search "words of mine" (buffer-string))))
        (agent-q-diff-error (message "%S" err))))))

(ert-deftest aqd-stranger-bare-e-without-path ()
  (with-temp-buffer
    (insert (aqd-lines "--- a/f" "+++ b/f" "@@ -4,3 +4,3 @@" " line 4" "-line 5" "+five" " line 6"))
    (agent-q-diff-mode)
    (let ((diff (current-buffer)))
      (aqd-goto-hunk 1)
      (agent-q-diff-edit-hunk)
      (aqd-in-small-buffer (aqd-retype "five" "FIVE") (agent-q-diff-edit-finish))
      (set-buffer diff)
      (should (string-search "+FIVE" (buffer-string)))
      (set-buffer-modified-p nil))))

(ert-deftest aqd-stranger-bare-modified-flag ()
  "A patch file whose text was split is modified, or the user cannot save it."
  (aqd-with-file aqd-letters-original
    (aqd-with-diff (aqd-lines "@@ -2,4 +2,4 @@" " 2" "-b" "-c" "+b2" "+c2" " 3")
      (set-buffer-modified-p nil)
      (aqd-goto-hunk 1)
      (agent-q-diff-split-hunk)
      (should (buffer-modified-p)))))

(ert-deftest aqd-stranger-crlf-bare-split ()
  (aqd-with-file "1\r\n2\r\nb\r\nc\r\n3\r\n"
    (aqd-with-diff "@@ -2,4 +2,4 @@\r\n 2\r\n-b\r\n-c\r\n+b2\r\n+c2\r\n 3\r\n"
      (aqd-goto-hunk 1)
      (agent-q-diff-split-hunk)
      (goto-char (point-max)) (let ((inhibit-read-only t)) (insert "\n") (delete-char -1))
      (aqd-goto-hunk 1)
      (agent-q-diff-accept-hunk)
      (aqd-goto-hunk 2)
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) "1\r\n2\r\nb2\r\nc2\r\n3\r\n")))))

(ert-deftest aqd-stranger-raw-bytes ()
  (aqd-with-file "1\n2\n"
    (let ((coding-system-for-write 'raw-text-unix))
      (write-region "1\n\377\0b\n2\n" nil aqd-file nil 'silent))
    (let* ((original (with-current-buffer (aqd-visit) (buffer-string)))
           (modified (string-replace "b\n" "B\n" original)))
      (aqd-call original modified
                (lambda ()
                  (agent-q-diff-edit-hunk)
                  (aqd-in-small-buffer (aqd-retype "B" "C") (agent-q-diff-edit-finish))
                  (set-buffer (aqd-diff-buffer))
                  (aqd-accept 1)
                  (agent-q-diff-edit-hunk)
                  (aqd-in-small-buffer (aqd-retype "C" "D") (agent-q-diff-edit-finish))
                  (set-buffer (aqd-diff-buffer))
                  (should (equal (aqd-disk) (string-to-unibyte "1\n\377\0D\n2\n")))
                  (agent-q-diff-unapply-hunk)
                  (should (equal (aqd-disk) (string-to-unibyte "1\n\377\0b\n2\n")))
                  (agent-q-diff-reject-all))))))

(ert-deftest aqd-stranger-edit-of-applied-undone ()
  "Undone in the target, the file is what it was before the edit of the hunk."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-accept 1)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "c2" "c3") (agent-q-diff-edit-finish))
    (aqd-in-target (undo-boundary) (undo-only))
    (should (equal (aqd-target) aqd-letters-modified))
    (aqd-goto-hunk 1)))

(ert-deftest aqd-stranger-undo-of-another-hunk-after-split ()
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (aqd-accept 1)
    (aqd-in-target (goto-char (point-max)) (insert "typed\n"))
    (aqd-goto-hunk 2)
    (agent-q-diff-split-hunk)
    (aqd-in-target (undo-boundary) (undo-only) (undo-more 1))
    (should (equal (aqd-sign 1) "[APPLIED, but not in the file]"))))

(ert-deftest aqd-stranger-merge-own-markers ()
  "Lines of the file that read like markers are not taken for some."
  (let ((original (aqd-lines "1" "T" "=======" "x"))
        (modified (aqd-lines "1" "Title" "=======" "y")))
    (aqd-with-file (aqd-lines "1" "Mine" "=======" "mine")
      (aqd-call original modified
                (lambda ()
                  (agent-q-diff-merge-hunk)
                  (aqd-in-small-buffer
                    (goto-char (point-min))
                    (smerge-next) (smerge-keep-lower)
                    (ignore-errors (smerge-next) (smerge-keep-lower))
                    (agent-q-diff-edit-finish))
                  (set-buffer (aqd-diff-buffer))
                  (should (equal (aqd-target) modified))
                  (agent-q-diff-reject-all))))))

(ert-deftest aqd-stranger-ambiguous-merge-needs-a-look ()
  "Manual: `a' shows an ambiguous place first.  Does `m' apply without?"
  (let* ((block (aqd-lines "x" "y" "z" "w"))
         (many (mapconcat (lambda (_) block) (number-sequence 1 6) ""))
         (modified (concat block (aqd-lines "x" "Y" "z" "w") block block block block)))
    (aqd-with-file many
      (aqd-visit)
      (aqd-call many modified
                (lambda ()
                  (with-current-buffer (find-buffer-visiting aqd-file)
                    (let ((inhibit-modification-hooks t))
                      (goto-char (point-min)) (insert block)))
                  (agent-q-diff-merge-hunk)
                  (if (aqd-small-buffer)
                      (aqd-in-small-buffer (agent-q-diff-edit-finish)))
                  (set-buffer (aqd-diff-buffer))
                  (should (= (count-lines 1 2) 1))
                  (agent-q-diff-reject-all))))))

(ert-deftest aqd-stranger-finish-with-unsaved-small-buffer ()
  "Accepting all while a text waits in a small buffer asks first."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (aqd-retype "c2" "mine")
    (set-buffer (aqd-diff-buffer))
    (dolist (command '(agent-q-diff-accept-all agent-q-diff-reject-all))
      (let ((noninteractive nil)
            (asked nil))
        (cl-letf (((symbol-function 'y-or-n-p)
                   (lambda (prompt) (setq asked prompt) nil)))
          (should-error (funcall command t) :type 'user-error)
          (should (string-search "is not finished" asked)))))
    (should (equal (aqd-disk) aqd-letters-original))
    (should-not agent-q-diff-buffer-decision)))

(ert-deftest aqd-stranger-refresh-while-saving ()
  "What is in the file must not be called a failure."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (let ((diff (current-buffer)))
      (aqd-in-target
        (add-hook 'before-save-hook (lambda () (agent-q-diff-signs--refresh diff)) nil t))
      (cl-letf (((symbol-function 'get-buffer-window) #'always))
        (agent-q-diff-accept-hunk))
      (should (equal (aqd-disk) aqd-letters-modified))
      (should (equal (aqd-signs) '((1 . "[APPLIED]")))))))

(ert-deftest aqd-stranger-edit-of-what-does-not-apply-is-refused-at-once ()
  "Not after the user has typed: `m' is the key."
  (aqd-with-conflict
    (let ((said (condition-case err (progn (agent-q-diff-edit-hunk) nil)
                  (error (cadr err)))))
      (when (aqd-small-buffer) (aqd-in-small-buffer (agent-q-diff-edit-abort)))
      (set-buffer (aqd-diff-buffer))
      (should said))))

(ert-deftest aqd-stranger-lost-hunk-is-not-applied-already ()
  "The file has not got the hunk's lines, as the sign says."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-accept 1)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "c2" "c3") (agent-q-diff-edit-finish))
    (set-buffer (aqd-diff-buffer))
    (aqd-in-target (undo-boundary) (undo-only))
    (should (equal (aqd-sign 1) "[APPLIED, edited, but changed in the file since]"))
    (aqd-goto-hunk 1)
    (should-not (equal "Hunk applied already" (agent-q-diff-accept-hunk)))))

(ert-deftest aqd-stranger-rejected-edit-is-not-offered-to-the-agent ()
  "\"STOP: Do NOT propose alternative changes\", and then an alternative."
  (aqd-with-file aqd-letters-original
    (let ((message (aqd-play "e M-< C-s c2 RET DEL 3 C-c C-c r q"
                             (lambda ()
                               (agent-q-diff-tools-propose-file-edit
                                aqd-file aqd-letters-original aqd-letters-modified nil)))))
      (should (string-search "REJECTED" message))
      (should-not (string-search "+c3" message)))))

(ert-deftest aqd-stranger-new-file-edit ()
  (aqd-with-file "x"
    (delete-file aqd-file)
    (aqd-call "" "a\nb\n"
              (lambda ()
                (agent-q-diff-edit-hunk)
                (aqd-in-small-buffer (aqd-retype "b\n" "c") (agent-q-diff-edit-finish))
                (set-buffer (aqd-diff-buffer))
                (agent-q-diff-accept-hunk)
                (should (equal (aqd-disk) "a\nc\n"))
                (agent-q-diff-unapply-hunk)
                (agent-q-diff-reject-all)))
    (should-not (file-exists-p aqd-file))))

(ert-deftest aqd-stranger-emptied-file-edit ()
  (aqd-with-review "a\nb\n" ""
    (agent-q-diff-accept-hunk)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (insert "kept") (agent-q-diff-edit-finish))
    (set-buffer (aqd-diff-buffer))
    (should (equal (aqd-disk) "kept\n"))
    (agent-q-diff-unapply-hunk)
    (should (equal (aqd-disk) "a\nb\n"))))

(ert-deftest aqd-stranger-edit-to-empty ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-accept-hunk)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (erase-buffer) (agent-q-diff-edit-finish))
    (set-buffer (aqd-diff-buffer))
    (should (equal (aqd-disk) ""))
    (agent-q-diff-unapply-hunk)
    (should (equal (aqd-disk) aqd-letters-original))))

(ert-deftest aqd-stranger-two-reviews-of-one-file ()
  (aqd-with-file (aqd-numbered 30)
    (aqd-call (aqd-numbered 30) (aqd-numbered 30 '((5 . "five")))
              (lambda ()
                (let ((one (current-buffer)))
                  (aqd-call (aqd-numbered 30) (aqd-numbered 30 '((5 . "FIVE") (25 . "x")))
                            (lambda ()
                              (let ((two (current-buffer)))
                                (aqd-accept 1)
                                (agent-q-diff-edit-hunk)
                                (aqd-in-small-buffer (aqd-retype "FIVE" "V") (agent-q-diff-edit-finish))
                                (set-buffer one)
                                (should (equal (aqd-sign 1) "[DOES NOT APPLY]"))
                                (agent-q-diff-merge-hunk)
                                (aqd-in-small-buffer (erase-buffer) (insert (aqd-numbered 8 '((1) (5 . "both"))))
                                                     (agent-q-diff-edit-finish))
                                (set-buffer two)
                                (aqd-goto-hunk 2) (agent-q-diff-accept-hunk)
                                (set-buffer one)
                                (agent-q-diff-unapply-hunk)
                                (should (equal (aqd-target) (aqd-numbered 30 '((5 . "V") (25 . "x")))))
                                (set-buffer two)
                                (agent-q-diff-finish))))
                  (set-buffer one)
                  (agent-q-diff-finish))))))

(provide 'agent-q-diff-stranger-test)
;;; agent-q-diff-stranger-test.el ends here
