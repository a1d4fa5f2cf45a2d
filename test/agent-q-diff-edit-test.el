;;; agent-q-diff-edit-test.el --- Splitting hunks, and picking lines of them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the user makes of a hunk: other lines, or lines merged with those in
;; the file.

;;; Code:

(require 'seq)
(require 'smerge-mode)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-git-help)

;;; Splitting hunks and picking lines

;;;; Splitting

(defconst aqd-split-near
  (cons (aqd-numbered 30)
        (aqd-numbered 30 '((5 . "five") (8 . "eight") (25 . "x"))))
  "A proposal of two hunks, the first of which has two changes.")

(ert-deftest aqd-split-makes-hunks-of-their-own ()
  (aqd-with-file (car aqd-split-near)
    (aqd-call (car aqd-split-near) (cdr aqd-split-near)
              (lambda ()
                (aqd-goto-hunk 2)
                (agent-q-diff-reject-hunk)
                (aqd-goto-hunk 1)
                (should (equal "Split into 2 hunks" (aqd-said (aqd-press "s"))))
                (should (equal 0 (agent-q-diff-buffer-hunk-at-point)))
                (should (equal 3 (sly-agent-q-diff--count-hunks)))
                (should (equal (aqd-progress) "0/3 applied, 1 rejected, 2 pending"))
                (should (equal (aqd-signs) '((3 . "[REJECTED]"))))
                (aqd-press "n a")
                (should (equal (aqd-signs) '((2 . "[APPLIED]") (3 . "[REJECTED]"))))
                (should (equal (aqd-numbered 30 '((8 . "eight")))
                               (decode-coding-string (aqd-disk) 'utf-8)))
                (should (eq 'applied (alist-get (aqd-goto-hunk 2)
                                                sly-agent-q-diff--hunk-states)))
                (should (eq 'rejected (alist-get (aqd-goto-hunk 3)
                                                 sly-agent-q-diff--hunk-states)))
                (agent-q-diff-finish)))))

(ert-deftest aqd-split-diff-is-still-one-for-patch ()
  (aqd-with-file (car aqd-split-near)
    (aqd-call (car aqd-split-near) (cdr aqd-split-near)
              (lambda ()
                (aqd-goto-hunk 1)
                (agent-q-diff-split-hunk)
                (should (eq 0 (call-process-region
                               (progn (goto-char (point-min))
                                      (re-search-forward "^---")
                                      (line-beginning-position))
                               (point-max) "patch" nil nil nil "-s" aqd-file)))
                (agent-q-diff-reject-all)))
    (should (equal (aqd-disk) (cdr aqd-split-near)))))

(ert-deftest aqd-split-of-what-is-applied-and-unapply-one ()
  (aqd-with-file (car aqd-split-near)
    (should (equal "accepted" (aqd-review (car aqd-split-near) (cdr aqd-split-near)
                                          "a p s u q")))
    (should (equal (aqd-disk) (aqd-numbered 30 '((8 . "eight")))))))

(ert-deftest aqd-split-parts-what-one-change-removes-and-adds ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff aqd-bare-diff-of-one
      (aqd-goto-hunk 1)
      (should (equal "This hunk is one change; v selects lines to decide only those"
                     (aqd-said (agent-q-diff-split-hunk))))
      (should (= 2 (aqd-split-sides)))
      (aqd-goto-hunk 1)
      (should (equal (buffer-string)
                     (aqd-lines "@@ -4,4 +4,3 @@" " line 4" " line 5"
                                " line 6" "-line 7" "@@ -8,3 +7,4 @@"
                                "+LINE 7" " line 8" " line 9" " line 10")))
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-numbered 20 '((7)))))
      (should (equal "This hunk is one change; v selects lines to decide only those"
                     (aqd-said (agent-q-diff-split-hunk)))))))

(ert-deftest aqd-split-when-narrowed ()
  (aqd-with-review "1\n2\na" "1\n2\nb"
    (aqd-goto-hunk 1)
    (diff-restrict-view)
    (aqd-split-sides)
    (widen)
    (should (= 2 (seq-count (apply-partially #'string-prefix-p "\\") (aqd-hunks))))))

(ert-deftest aqd-split-after-a-failure-says-why ()
  (aqd-with-file (aqd-lines "1" "2" "mine" "x" "my 3" "4")
    (let ((answer (aqd-result (aqd-lines "1" "2" "b" "x" "3" "4")
                              (aqd-lines "1" "2" "b2" "x" "3!" "4") "a s q")))
      (should (eq (car answer) 'agent-q-diff-not-applied))
      (should-not (equal (cadr answer) "")))))

(ert-deftest aqd-split-of-an-edited-hunk-has-one-edited-part ()
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

(ert-deftest aqd-split-then-undo-of-another-hunk ()
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (aqd-accept 1)
    (aqd-in-target (goto-char (point-max)) (insert "typed\n"))
    (aqd-goto-hunk 2)
    (agent-q-diff-split-hunk)
    (aqd-in-target (undo-boundary) (undo-only) (undo-more 1))
    (should (equal (aqd-sign 1) "[APPLIED, but not in the file]"))))

(ert-deftest aqd-split-comments-follow ()
  (aqd-with-open-review (aqd-numbered 12) (aqd-numbered 12 '((5 . "five") (7 . "x")))
    (aqd-in-diff review
      (agent-q-diff-comment-hunk "both")
      (agent-q-diff-split-hunk)
      (agent-q-diff-comment-hunk "")
      (should (equal (aqd-signs) '((2 . "[PENDING, commented]"))))
      (agent-q-diff-reject-all))))

;;;; Lines in the region

(ert-deftest aqd-split-lines-in-the-region-are-accepted-and-no-others ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-choose "-c" "+b2")
    (agent-q-diff-accept-hunk)
    (should-not (use-region-p))
    (should (equal (aqd-disk) (aqd-lines "1" "2" "b" "b2" "3" "4")))
    (should (equal (aqd-hunks)
                   '("@@ -1,3 +1,2 @@" " 1" " 2" "-b"
                     "@@ -4 +3 @@ b" "-c" "+b2"
                     "@@ -5,2 +4,3 @@ c" "+c2" " 3" " 4")))
    (should (equal (aqd-signs) '((2 . "[APPLIED]"))))
    (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))))

(ert-deftest aqd-split-lines-in-the-region-are-rejected ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-choose "-b" "-b")
    (agent-q-diff-reject-hunk)
    (should (equal (aqd-signs) '((1 . "[REJECTED]"))))
    (agent-q-diff-accept-all)
    (should (equal (aqd-disk) (aqd-lines "1" "2" "b" "b2" "c2" "3" "4")))))

(ert-deftest aqd-split-lines-in-the-region-are-taken-out-again ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-accept-hunk)
    (aqd-choose "+c2" "+c2")
    (agent-q-diff-unapply-hunk)
    (should (equal (aqd-disk) (aqd-lines "1" "2" "b2" "3" "4")))
    (should (equal (aqd-signs) '((1 . "[APPLIED]"))))))

(ert-deftest aqd-split-lines-of-several-hunks-are-decided-at-once ()
  (aqd-with-review (aqd-numbered 30)
      (aqd-numbered 30 '((5 . "five") (15 . "fifteen") (25 . "x")))
    (aqd-choose "+five" "-line 25")
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-disk)
                   (aqd-numbered 30 '((5 . "line 5\nfive") (15 . "fifteen") (25)))))
    (should (equal (aqd-progress) "3/5 applied, 0 rejected, 2 pending"))))

(ert-deftest aqd-split-a-whole-hunk-in-the-region-stays-one ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-choose "-b" "+c2")
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-disk) aqd-letters-modified))
    (should (equal (aqd-progress) "1/1 applied, 0 rejected, 0 pending"))))

(ert-deftest aqd-split-a-region-without-changes-says-so ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-choose " 1" " 2")
    (should-error (agent-q-diff-accept-hunk) :type 'user-error)
    (should (equal (aqd-disk) aqd-letters-original))))

(ert-deftest aqd-split-the-line-that-the-region-only-touches-is-not-in-it ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-choose "-b" "-b")
    (forward-line)
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-disk) (aqd-lines "1" "2" "c" "3" "4")))))

(ert-deftest aqd-split-lines-that-others-have-changed-are-not-picked ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-in-target (forward-line 2) (insert "my "))
    (aqd-choose "-c" "+b2")
    (should (string-prefix-p "Cannot use these lines alone: its lines have been changed"
                             (aqd-said (should-not (agent-q-diff-accept-hunk)))))
    (should (equal (aqd-target) (aqd-lines "1" "2" "my b" "c" "3" "4")))))

;;;; Bare diffs

(ert-deftest aqd-split-in-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (aqd-lines "@@ -1,5 +1,5 @@" " line 1" "-line 2" "+two"
                              " line 3" "-line 4" "+four" " line 5")
      (aqd-goto-hunk 1)
      (agent-q-diff-split-hunk)
      (should (equal (buffer-string)
                     (aqd-lines "@@ -1,3 +1,3 @@" " line 1" "-line 2" "+two" " line 3"
                                "@@ -4,2 +4,2 @@" "-line 4" "+four" " line 5")))
      (aqd-goto-hunk 2)
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-numbered 10 '((4 . "four"))))))))

(ert-deftest aqd-split-lines-of-a-bare-diff ()
  (aqd-with-file aqd-letters-original
    (aqd-with-diff (aqd-lines "@@ -2,4 +2,4 @@" " 2" "-b" "-c" "+b2" "+c2" " 3")
      (aqd-choose "+c2" "+c2")
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-lines "1" "2" "b" "c" "c2" "3" "4")))
      (should (equal (aqd-signs) '((2 . "[APPLIED]")))))))

(ert-deftest aqd-split-region-of-a-bare-diff-with-plus-before-minus ()
  "In a bare diff the order of the lines is the buffer's, not old before new."
  (aqd-with-file (aqd-lines "1" "b" "c" "3")
    (aqd-with-diff (aqd-lines "@@ -1,4 +1,4 @@" " 1" "-b" "+b2" "-c" "+c2" " 3")
      (aqd-choose "+b2" "+b2")
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-lines "1" "b" "b2" "c" "3"))))))

(ert-deftest aqd-split-region-of-a-bare-diff-with-plus-first ()
  (aqd-with-file (aqd-lines "1" "old" "3")
    (aqd-with-diff (aqd-lines "@@ -1,3 +1,3 @@" " 1" "+new" "-old" " 3")
      (aqd-choose "+new" "+new")
      (agent-q-diff-accept-hunk)
      (should (string-search "new" (aqd-disk)))
      (should (string-search "old" (aqd-disk))))))

(ert-deftest aqd-split-of-a-bare-diff-sets-the-modified-flag ()
  "A patch file whose text was split is modified, or the user cannot save it."
  (aqd-with-file aqd-letters-original
    (aqd-with-diff (aqd-lines "@@ -2,4 +2,4 @@" " 2" "-b" "-c" "+b2" "+c2" " 3")
      (set-buffer-modified-p nil)
      (aqd-goto-hunk 1)
      (aqd-split-sides)
      (should (buffer-modified-p)))))

(ert-deftest aqd-split-of-a-bare-diff-with-crlf ()
  (aqd-with-file "1\r\n2\r\nb\r\nc\r\n3\r\n"
    (aqd-with-diff "@@ -2,4 +2,4 @@\r\n 2\r\n-b\r\n-c\r\n+b2\r\n+c2\r\n 3\r\n"
      (aqd-goto-hunk 1)
      (aqd-split-sides)
      (goto-char (point-max)) (let ((inhibit-read-only t)) (insert "\n") (delete-char -1))
      (aqd-goto-hunk 1)
      (agent-q-diff-accept-hunk)
      (aqd-goto-hunk 2)
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) "1\r\n2\r\nb2\r\nc2\r\n3\r\n")))))

;;;; Lines that look like headers

(ert-deftest aqd-split-of-lines-like-a-file-header ()
  (aqd-with-review (aqd-lines "1" "-- a" "x" "-- b" "3" "4" "5" "6")
      (aqd-lines "1" "++ a" "x" "++ b" "3" "4" "5" "6")
    (agent-q-diff-split-hunk)
    (aqd-goto-hunk 2)
    (aqd-split-sides)
    (should (= 3 (seq-count (apply-partially #'string-prefix-p "@@") (aqd-hunks))))
    (should (equal (length (aqd-hunks)) (+ 3 9)))))

(ert-deftest aqd-split-region-of-lines-like-a-file-header ()
  (let ((agent-q-diff-context-length 0))
    (aqd-with-review (aqd-lines "1" "-- a" "3") (aqd-lines "1" "++ b" "3")
      (aqd-choose "+++ b" "+++ b")
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-lines "1" "-- a" "++ b" "3"))))))

;;; Editing and merging

(defmacro aqd-edit-with-conflict (&rest body)
  "Run BODY in the diff buffer of a review whose only hunk does not apply."
  (declare (indent 0) (debug t))
  `(aqd-with-review aqd-letters-original aqd-letters-modified
     (aqd-in-target (forward-line 2) (delete-char 1) (insert "mine") (save-buffer))
     (should (equal (aqd-sign 1) "[DOES NOT APPLY]"))
     ,@body))

;;;; Edited hunks

(ert-deftest aqd-edit-takes-what-the-user-wrote-and-the-agent-reads-it ()
  (aqd-with-file aqd-letters-original
    (let ((result
           (aqd-play "e M-< C-s c2 RET DEL 3 C-c C-c a q"
                     (lambda ()
                       (agent-q-diff-review-and-wait
                        aqd-file aqd-letters-original aqd-letters-modified nil)))))
      (should (equal (aqd-disk) (aqd-lines "1" "2" "b2" "c3" "3" "4")))
      (should (equal (plist-get (car (plist-get result :hunks)) :edited)
                     (aqd-lines "@@ -1,6 +1,6 @@" " 1" " 2" "-b" "-c" "+b2" "+c3"
                                " 3" " 4"))))))

(ert-deftest aqd-edit-shows-the-post-image-in-the-targets-mode ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-in-target (emacs-lisp-mode))
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer
      (should (equal (buffer-string) aqd-letters-modified))
      (should (derived-mode-p 'emacs-lisp-mode))
      (should (looking-at-p "b2$"))
      (aqd-retype "b2" "edited")
      (agent-q-diff-edit-finish))
    (should-not (aqd-small-buffer))
    (should (equal (aqd-signs) '((1 . "[PENDING, edited]"))))
    (should (equal (aqd-disk) aqd-letters-original))
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-signs) '((1 . "[APPLIED, edited]"))))
    (should (equal (aqd-disk) (aqd-lines "1" "2" "edited" "c2" "3" "4")))
    (agent-q-diff-unapply-hunk)
    (should (equal (aqd-disk) aqd-letters-original))))

(ert-deftest aqd-edit-of-an-applied-hunk-changes-the-file-at-once ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-accept-hunk)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer
      (aqd-retype "c2\n" "c2\nc3\n")
      (should (equal "Hunk edited, in the file as well"
                     (aqd-said (agent-q-diff-edit-finish)))))
    (should (equal (aqd-disk) (aqd-lines "1" "2" "b2" "c2" "c3" "3" "4")))
    (should (equal (aqd-signs) '((1 . "[APPLIED, edited]"))))))

(ert-deftest aqd-edit-moves-the-numbers-of-the-hunks-below ()
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (aqd-goto-hunk 2)
    (agent-q-diff-reject-hunk)
    (aqd-goto-hunk 1)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer
      (aqd-retype "five\n" "5\n5\n5\n")
      (agent-q-diff-edit-finish))
    (should (equal (seq-filter (apply-partially #'string-prefix-p "@@") (aqd-hunks))
                   '("@@ -2,7 +2,9 @@ line 1" "@@ -22,7 +24,7 @@ line 21")))
    (should (equal (aqd-signs) '((1 . "[PENDING, edited]") (2 . "[REJECTED]"))))
    (should (equal (aqd-progress) "0/2 applied, 1 rejected, 1 pending"))
    (should (= (agent-q-diff-buffer-hunk-at-point) 0))
    (aqd-goto-hunk 2)
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-disk) (aqd-numbered 30 '((25 . "x")))))))

(ert-deftest aqd-edit-can-be-left ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer
      (agent-q-diff-edit-abort))
    (should-not (aqd-small-buffer))
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer
      (insert "something")
      (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
        (agent-q-diff-edit-abort)
        (should (buffer-live-p (current-buffer))))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (agent-q-diff-edit-abort)))
    (should-not (aqd-small-buffer))
    (should-not (aqd-signs))
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-disk) aqd-letters-modified))))

(ert-deftest aqd-edit-begun-twice-is-one-buffer ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (let ((diff-buffer (current-buffer)))
      (agent-q-diff-edit-hunk)
      (insert "kept")
      (let ((small (current-buffer)))
        (with-current-buffer diff-buffer
          (agent-q-diff-edit-hunk)
          (should (eq (current-buffer) small)))
        (should (buffer-modified-p small))
        (set-buffer-modified-p nil)
        (agent-q-diff-edit-abort)))))

(ert-deftest aqd-edit-text-stays-when-it-cannot-be-taken ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer
      (erase-buffer)
      (insert aqd-letters-original)
      (should-error (agent-q-diff-edit-finish) :type 'user-error)
      (should (equal (buffer-string) aqd-letters-original)))
    (with-current-buffer (aqd-diff-buffer)
      (aqd-split-sides))
    (aqd-in-small-buffer
      (aqd-retype "b\n" "other\n")
      (should (string-search "has changed since" (cadr (should-error
                                                  (agent-q-diff-edit-finish)
                                                  :type 'user-error))))
      (should (string-search "other" (buffer-string))))
    (set-buffer (aqd-diff-buffer))))

(ert-deftest aqd-edit-text-stays-when-the-review-has-ended ()
  (aqd-with-file aqd-letters-original
    (aqd-call aqd-letters-original aqd-letters-modified
              (lambda ()
                (agent-q-diff-edit-hunk)
                (insert "mine")
                (set-buffer (aqd-diff-buffer))
                (agent-q-diff-reject-all)))
    (aqd-in-small-buffer
      (should (string-search "ended" (cadr (should-error (agent-q-diff-edit-finish)
                                                         :type 'user-error))))
      (kill-buffer (aqd-diff-buffer))
      (should (string-search "gone" (cadr (should-error (agent-q-diff-edit-finish)
                                                        :type 'user-error))))
      (should (string-search "mine" (buffer-string))))))

(ert-deftest aqd-edit-of-a-read-only-target-fails-whole ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-accept-hunk)
    (agent-q-diff-edit-hunk)
    (with-current-buffer (find-buffer-visiting aqd-file)
      (setq buffer-read-only t))
    (aqd-in-small-buffer
      (aqd-retype "b2" "edited")
      (should-error (agent-q-diff-edit-finish) :type 'user-error)
      (set-buffer-modified-p nil)
      (agent-q-diff-edit-abort))
    (should (equal (aqd-disk) aqd-letters-modified))
    (should (equal (aqd-signs) '((1 . "[APPLIED]"))))))

(ert-deftest aqd-edit-asks-nothing-of-the-text ()
  "Local variables in a proposal are text, and a mode's hook may fail."
  (let ((text (aqd-lines "a" ";; Local Variables:" ";; eval: (setq aqd-evil t)"
                         ";; mode: fundamental" ";; End:"))
        (emacs-lisp-mode-hook (list (lambda () (error "Broken hook")))))
    (aqd-with-review text (concat "new\n" text)
      (aqd-in-target (ignore-errors (emacs-lisp-mode)))
      (agent-q-diff-edit-hunk)
      (aqd-in-small-buffer
        (should-not (boundp 'aqd-evil))
        (should (derived-mode-p 'emacs-lisp-mode))
        (agent-q-diff-edit-abort)))))

(ert-deftest aqd-edit-of-lines-like-a-file-header ()
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

(ert-deftest aqd-edit-without-a-change-is-no-edit ()
  (aqd-with-file aqd-letters-original
    (let ((result (aqd-result aqd-letters-original aqd-letters-modified
                              "e C-c C-c a q")))
      (should-not (plist-get (car (plist-get result :hunks)) :edited)))))

(ert-deftest aqd-edit-without-a-change-keeps-a-rejection ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-reject-hunk)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (agent-q-diff-edit-finish))
    (should (equal (aqd-signs) '((1 . "[REJECTED]"))))))

(ert-deftest aqd-edit-after-a-split-above ()
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (let ((diff (current-buffer)))
      (aqd-goto-hunk 2) (agent-q-diff-edit-hunk)
      (aqd-retype "x" "y")
      (let ((small (current-buffer)))
        (set-buffer diff)
        (aqd-goto-hunk 1) (aqd-split-sides)
        (with-current-buffer small
          (unwind-protect (agent-q-diff-edit-finish)
            (set-buffer-modified-p nil)
            (set-buffer diff)))
        (should (string-search "-line 25\n+y\n" (buffer-string)))
        (should (= 3 (agent-q-diff-count-hunks)))
        (aqd-goto-hunk 3)
        (agent-q-diff-accept-hunk)
        (should (equal (aqd-target) (aqd-numbered 30 '((25 . "y")))))))))

(ert-deftest aqd-edit-when-narrowed ()
  "The diff buffer is narrowed to a hunk, as by `diff-restrict-view'."
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (aqd-goto-hunk 1)
    (diff-restrict-view)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "five" "FIVE") (agent-q-diff-edit-finish))
    (widen)
    (should (equal 2 (seq-count (apply-partially #'string-prefix-p "@@") (aqd-hunks))))))

(ert-deftest aqd-edit-killing-the-text-asks ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (insert "an hour's work")
    (let ((small (current-buffer)) (asked nil))
      (cl-letf (((symbol-function 'yes-or-no-p) (lambda (&rest _) (setq asked t) nil))
                ((symbol-function 'y-or-n-p) (lambda (&rest _) (setq asked t) nil)))
        (kill-buffer small))
      (set-buffer (aqd-diff-buffer))
      (should asked))))

(ert-deftest aqd-edit-back-is-no-edit ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "c2" "c3") (agent-q-diff-edit-finish))
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "c3" "c2") (agent-q-diff-edit-finish))
    (should-not (aqd-signs))))

(ert-deftest aqd-edit-of-what-does-not-apply-is-refused-at-once ()
  "The user is told before typing anything that `m' is the key."
  (aqd-edit-with-conflict
    (let ((said (condition-case err (progn (agent-q-diff-edit-hunk) nil)
                  (error (cadr err)))))
      (when (aqd-small-buffer) (aqd-in-small-buffer (agent-q-diff-edit-abort)))
      (set-buffer (aqd-diff-buffer))
      (should said))))

;;;; Edited hunks in the file

(ert-deftest aqd-edit-of-an-applied-part-glues-no-lines ()
  "The text lacks a final newline, and the line of another part follows it."
  (aqd-with-review "1\n2\na" "1\n2\nb"
    (aqd-split-sides)
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

(ert-deftest aqd-edit-of-raw-bytes ()
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

(ert-deftest aqd-edit-of-an-applied-hunk-undone ()
  "Undone in the target, the file is what it was before the edit of the hunk."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-accept 1)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "c2" "c3") (agent-q-diff-edit-finish))
    (aqd-in-target (undo-boundary) (undo-only))
    (should (equal (aqd-target) aqd-letters-modified))
    (aqd-goto-hunk 1)))

(ert-deftest aqd-edit-of-a-new-file ()
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

(ert-deftest aqd-edit-of-an-emptied-file ()
  (aqd-with-review "a\nb\n" ""
    (agent-q-diff-accept-hunk)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (insert "kept") (agent-q-diff-edit-finish))
    (set-buffer (aqd-diff-buffer))
    (should (equal (aqd-disk) "kept\n"))
    (agent-q-diff-unapply-hunk)
    (should (equal (aqd-disk) "a\nb\n"))))

(ert-deftest aqd-edit-to-nothing ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-accept-hunk)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (erase-buffer) (agent-q-diff-edit-finish))
    (set-buffer (aqd-diff-buffer))
    (should (equal (aqd-disk) ""))
    (agent-q-diff-unapply-hunk)
    (should (equal (aqd-disk) aqd-letters-original))))

;;;; Several texts at once

(ert-deftest aqd-edit-of-two-hunks-at-once ()
  "Two small buffers are open, and the texts of both are taken."
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

(ert-deftest aqd-edit-and-merge-are-two-buffers ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-edit-hunk)
    (let ((small (current-buffer)))
      (aqd-in-target (forward-line 2) (insert "my "))
      (set-buffer (aqd-diff-buffer))
      (agent-q-diff-merge-hunk)
      (should-not (eq small (current-buffer)))
      (set-buffer (aqd-diff-buffer)))))

(ert-deftest aqd-edit-in-two-reviews-of-one-file ()
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

;;;; Bare diffs

(ert-deftest aqd-edit-when-not-all-of-the-buffer-is-diff ()
  (aqd-with-file (aqd-numbered 30)
    (aqd-with-diff (aqd-lines "@@ -4,3 +4,3 @@" " line 4" "-line 5" "+five" " line 6"
                              "" "some words of mine" ""
                              "@@ -24,3 +24,3 @@" " line 24" "-line 25" "+x" " line 26")
      (let ((before (buffer-string)))
        (aqd-goto-hunk 1)
        (agent-q-diff-edit-hunk)
        (aqd-in-small-buffer (aqd-retype "five" "FIVE") (agent-q-diff-edit-finish))
        (should (equal (string-replace "+five\n" "+FIVE\n" before) (buffer-string)))))))

(ert-deftest aqd-edit-of-a-bare-diff-without-a-path ()
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

;;;; Merged hunks

(ert-deftest aqd-edit-merge-shows-the-three-texts-between-markers ()
  (aqd-edit-with-conflict
    (agent-q-diff-merge-hunk)
    (aqd-in-small-buffer
      (should smerge-mode)
      (should (equal (buffer-string)
                     (aqd-lines "1" "2" "<<<<<<< ours" "mine" "c"
                                "||||||| original" "b" "c" "=======" "b2" "c2"
                                ">>>>>>> theirs" "3" "4")))
      (goto-char (point-min))
      (smerge-next)
      (smerge-keep-lower)
      (should (equal "Hunk merged and applied" (aqd-said (agent-q-diff-edit-finish)))))
    (should-not (aqd-small-buffer))
    (should (equal (aqd-disk) aqd-letters-modified))
    (should (equal (aqd-signs) '((1 . "[APPLIED, edited]"))))
    (should (equal (aqd-progress) "1/1 applied, 0 rejected, 0 pending"))
    (agent-q-diff-unapply-hunk)
    (should (equal (aqd-disk) aqd-letters-mine))))

;; Compared in full, only the middle line is in conflict.
(ert-deftest aqd-edit-merge-beyond-the-budget-says-that-it-is-coarse ()
  (let ((original (aqd-lines "p" "q" "r" "s" "t" "q"))
        (mine (aqd-lines "p" "mine" "q" "r" "file" "s" "t" "q" "z"))
        (proposed (aqd-lines "q" "p" "r" "agent" "s" "q" "t")))
    (pcase-dolist (`(,budget ,is-coarse) '((nil nil) (0 t)))
      (let ((agent-q-diff-budget budget)
            said)
        (aqd-with-review original proposed
          (aqd-in-target (erase-buffer) (insert mine))
          (aqd-goto-hunk 1)
          (setq said (aqd-said (agent-q-diff-merge-hunk)))
          (should (eq is-coarse (and said (string-prefix-p "Coarse merge: " said))))
          (aqd-in-small-buffer
            (should (eq is-coarse (and (string-search "(coarse)" header-line-format) t)))
            (set-buffer-modified-p nil)
            (agent-q-diff-edit-abort)))))))

(ert-deftest aqd-edit-merge-is-undone-in-the-target-as-one ()
  (aqd-edit-with-conflict
    (agent-q-diff-merge-hunk)
    (aqd-in-small-buffer
      (erase-buffer)
      (insert (aqd-lines "1" "2" "both" "c2" "3" "4"))
      (agent-q-diff-edit-finish))
    (should (equal (aqd-disk) (aqd-lines "1" "2" "both" "c2" "3" "4")))
    (aqd-in-target (undo-boundary) (undo-only) (save-buffer))
    (should (equal (aqd-disk) aqd-letters-mine))
    (should (equal (aqd-sign 1) "[APPLIED, edited, but not in the file]"))
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-disk) (aqd-lines "1" "2" "both" "c2" "3" "4")))))

(ert-deftest aqd-edit-merge-settled-for-the-file-is-a-rejection ()
  (aqd-edit-with-conflict
    (agent-q-diff-merge-hunk)
    (aqd-in-small-buffer
      (goto-char (point-min))
      (smerge-next)
      (smerge-keep-upper)
      (should (equal "Hunk rejected: the file keeps its lines"
                     (aqd-said (agent-q-diff-edit-finish)))))
    (should (equal (aqd-disk) aqd-letters-mine))
    (should (equal (aqd-signs) '((1 . "[REJECTED]"))))))

(ert-deftest aqd-edit-merge-with-markers-left-asks ()
  (aqd-edit-with-conflict
    (agent-q-diff-merge-hunk)
    (aqd-in-small-buffer
      (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
        (should-error (agent-q-diff-edit-finish) :type 'user-error))
      (should (equal (aqd-disk) aqd-letters-mine))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (agent-q-diff-edit-finish)))
    (should (string-search "<<<<<<< ours\nmine" (aqd-disk)))))

(ert-deftest aqd-edit-merge-of-a-place-that-has-changed-again-keeps-the-text ()
  (aqd-edit-with-conflict
    (agent-q-diff-merge-hunk)
    (aqd-in-target (forward-line 2) (insert "again "))
    (aqd-in-small-buffer
      (aqd-retype "b2" "chosen")
      (should-error (agent-q-diff-edit-finish) :type 'user-error)
      (should (string-search "chosen" (buffer-string)))
      (set-buffer-modified-p nil)
      (agent-q-diff-edit-abort))
    (should (equal (aqd-target) (aqd-lines "1" "2" "again mine" "c" "3" "4")))))

(ert-deftest aqd-edit-merge-is-for-what-does-not-apply ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (should-error (agent-q-diff-merge-hunk) :type 'user-error)
    (should-not (aqd-small-buffer)))
  (aqd-with-file "nothing of it\n"
    (aqd-with-diff (aqd-lines "@@ -2,3 +2,3 @@" " 2" "-b" "+b2" " 3")
      (aqd-goto-hunk 1)
      (should (string-prefix-p "Cannot merge: its lines are not in"
                               (aqd-said (agent-q-diff-merge-hunk)))))))

(ert-deftest aqd-edit-merge-settled-for-the-file-of-an-applied-hunk ()
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

(ert-deftest aqd-edit-merge-of-lines-like-markers ()
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

(ert-deftest aqd-edit-merge-of-an-ambiguous-hunk-needs-a-look ()
  "Where it would be is shown first; that is where it then goes."
  (let* ((block (aqd-lines "x" "y" "z" "w"))
         (many (mapconcat (lambda (_) block) (number-sequence 1 6) ""))
         (modified (concat block (aqd-lines "x" "Y" "z" "w") block block block block)))
    (aqd-with-file many
      (aqd-visit)
      (aqd-call many modified
                (lambda ()
                  (let ((target (find-buffer-visiting aqd-file)))
                    (with-current-buffer target
                      (let ((inhibit-modification-hooks t))
                        (goto-char (point-min)) (insert block)))
                    (agent-q-diff-merge-hunk)
                    (should (equal (concat block many) (aqd-target)))
                    (should (aqd-small-buffer))
                    (let ((shown (with-current-buffer target
                                   (line-number-at-pos
                                    (window-point (get-buffer-window target t))))))
                      (aqd-in-small-buffer (agent-q-diff-edit-finish))
                      (with-current-buffer target
                        (let ((case-fold-search nil))
                          (goto-char (point-min))
                          (search-forward "\nY\n"))
                        (should (= shown (1- (line-number-at-pos)))))))
                  (set-buffer (aqd-diff-buffer))
                  (agent-q-diff-reject-all))))))

;;; Taking decisions back

(defconst aqd-undo-original (aqd-numbered 40)
  "A file.")

(defconst aqd-undo-modified (aqd-numbered 40 '((5 . "five") (20 . "twenty") (35 . "x")))
  "What is proposed for it.")

(defmacro aqd-undo-with-review (&rest body)
  "Run BODY in the diff buffer of three hunks, in a window."
  (declare (indent 0) (debug t))
  `(aqd-with-shown-review aqd-undo-original aqd-undo-modified
     ,@body))

(ert-deftest aqd-undo-takes-decisions-back-and-again ()
  (aqd-undo-with-review
    (aqd-press "a r a")
    (should (equal (aqd-progress) "2/3 applied, 1 rejected, 0 pending"))
    (aqd-press "C-/")
    (should (equal (aqd-signs) '((1 . "[APPLIED]") (2 . "[REJECTED]"))))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "five")))))
    (should (= 2 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press "C-x u C-_")
    (should-not (aqd-signs))
    (should (equal (aqd-disk) aqd-undo-original))
    (should-error (agent-q-diff-undo) :type 'agent-q-diff-nothing-to-take-back)
    (aqd-press "C-M-_ C-M-_ C-M-_")
    (should (equal (aqd-signs)
                   '((1 . "[APPLIED]") (2 . "[REJECTED]") (3 . "[APPLIED]"))))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "five") (35 . "x")))))))

(ert-deftest aqd-undo-what-was-decided-together-goes-together ()
  (aqd-undo-with-review
    (aqd-choose "-line 5" "-line 35")
    (agent-q-diff-accept-hunk)
    ;; Of the last hunk only the line that goes.
    (should (equal (aqd-progress) "3/4 applied, 0 rejected, 1 pending"))
    (aqd-press "C-/")
    (should (equal (aqd-progress) "0/3 applied, 0 rejected, 3 pending"))
    (should (equal (aqd-target) aqd-undo-original))
    (aqd-press "U")
    (agent-q-diff-decide-accept-all agent-q-diff-buffer-change)
    (agent-q-diff-undo)
    (should (equal (aqd-target) aqd-undo-original))))

(defun aqd-undo-shown ()
  "Return the text of the diff buffer and where its hunks are in it."
  (list (buffer-substring-no-properties (point-min) (point-max))
        agent-q-diff-buffer-positions))

(ert-deftest aqd-undo-joins-what-was-split ()
  (aqd-with-shown-review (aqd-numbered 40)
      (aqd-numbered 40 '((5 . "five") (8 . "eight") (35 . "x")))
    (let ((whole (aqd-undo-shown))
          parts)
      (agent-q-diff-comment-hunk "Hm")
      (aqd-press "s")
      (setq parts (aqd-undo-shown))
      (should (= 3 (length (cadr parts))))
      (aqd-press "a")
      (should (equal "Undid the decision on hunk 1" (aqd-said (aqd-press "C-/"))))
      (should (equal parts (aqd-undo-shown)))
      (should (equal "Undid the split of hunk 1" (aqd-said (aqd-press "C-/"))))
      (should (equal whole (aqd-undo-shown)))
      (should (equal (aqd-signs) '((1 . "[PENDING, commented]"))))
      (should-error (agent-q-diff-undo) :type 'agent-q-diff-nothing-to-take-back)
      (should (equal "Redid the split of hunk 1" (aqd-said (aqd-press "C-M-_"))))
      (should (equal parts (aqd-undo-shown)))
      (aqd-press "C-M-_")
      (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "five"))))))))

(ert-deftest aqd-undo-joins-the-lines-of-the-region ()
  (aqd-undo-with-review
    (let ((whole (aqd-undo-shown))
          parts)
      (re-search-forward "^-line 5")
      (aqd-press "v a")
      (setq parts (aqd-undo-shown))
      (should (= 4 (length (cadr parts))))
      (should (equal (aqd-disk) (string-replace "line 5\n" "" aqd-undo-original)))
      (dotimes (_ 2)
        (should (equal "Undid the decision on lines of hunk 1" (aqd-said (aqd-press "C-/"))))
        (should (equal whole (aqd-undo-shown)))
        (should (equal (aqd-disk) aqd-undo-original))
        (should (equal "Redid the decision on lines of hunk 1"
                       (aqd-said (aqd-press "C-M-_"))))
        (should (equal parts (aqd-undo-shown)))
        (should (equal (aqd-disk) (string-replace "line 5\n" "" aqd-undo-original))))
      ;; The whole hunk can be decided again.
      (aqd-press "C-/ a")
      (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "five"))))))))

(ert-deftest aqd-undo-is-one-step-of-the-files-own-undo ()
  (aqd-undo-with-review
    (aqd-press "a C-/")
    (with-current-buffer (find-buffer-visiting aqd-file)
      (undo-boundary)
      (let ((inhibit-message t))
        (undo))
      (should (equal (buffer-string) (aqd-numbered 40 '((5 . "five"))))))))

(ert-deftest aqd-undo-brings-back-the-part-that-was-in ()
  "Another program deletes a line of an applied hunk before that is taken out."
  (let ((part "1\n2\n3\n4\nB\n5\n"))
    (aqd-with-shown-review "1\n2\n3\n4\n5\n" "1\nA\n2\n3\n4\nB\n5\n"
      (aqd-press "a")
      (aqd-write part)
      (aqd-press "u")
      (should (equal (aqd-disk) "1\n2\n3\n4\n5\n"))
      (aqd-press "C-/")
      (should (equal (aqd-disk) part))
      (should (equal (aqd-sign 1) "[APPLIED, but partly in the file]")))))

(ert-deftest aqd-undo-says-why-it-cannot ()
  (aqd-undo-with-review
    (aqd-press "a")
    (aqd-in-target (search-forward "five") (insert "!"))
    (should-error (agent-q-diff-undo) :type 'agent-q-diff-conflict)
    (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))))

(ert-deftest aqd-undo-of-what-is-typed-by-hand-undoes-the-typing ()
  (aqd-with-file "a\n"
    (aqd-with-diff "@@ -1 +1 @@\n-a\n+b\n"
      (buffer-enable-undo)
      (goto-char (point-max))
      (insert "typed")
      (undo-boundary)
      (let ((inhibit-message t))
        (agent-q-diff-undo))
      (should (equal (buffer-string) "@@ -1 +1 @@\n-a\n+b\n")))))

(ert-deftest aqd-undo-of-a-split-that-cannot-be-undone-undoes-nothing-else ()
  (aqd-with-shown-review (aqd-numbered 40)
      (aqd-numbered 40 '((5 . "five") (20 . "twenty") (23 . "more")))
    (aqd-press "a s")
    ;; One of the two parts is in the file, but not by a decision.
    (aqd-in-target (search-forward "line 20") (replace-match "twenty"))
    (should-error (agent-q-diff-undo) :type 'agent-q-diff-conflict)
    (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
    (should (equal "Undid the decision on hunk 1" (aqd-said (agent-q-diff-undo))))))

(ert-deftest aqd-undo-and-splitting-again-leave-nothing-to-redo ()
  (aqd-with-shown-review (aqd-numbered 40)
      (aqd-numbered 40 '((5 . "five") (8 . "eight") (35 . "x")))
    (aqd-press "s a C-/ C-/ s")
    (should-error (agent-q-diff-redo) :type 'agent-q-diff-nothing-to-take-back)
    ;; Lines that were selected once are no parts.
    (aqd-press "C-/ n")
    (re-search-forward "^-line 35")
    (aqd-press "v r C-/ s")
    (should (= 2 (length agent-q-diff-buffer-positions)))))

(ert-deftest aqd-undo-of-a-split-leaves-the-hunks-their-numbers ()
  (aqd-with-open-review (aqd-numbered 40)
      (aqd-numbered 40 '((5 . "five") (8 . "eight") (35 . "x")))
    (aqd-in-diff review (aqd-press "s C-/ a"))
    (agent-q-diff-end review)
    (should-not (seq-some (lambda (hunk) (plist-get hunk :part))
                          (car (aqd-answer :hunks))))))

;;;; How much context is shown

(defun aqd-context-of (n)
  "Return the context lines of the Nth hunk, counted from 1: (HEADER ABOVE BELOW)."
  (save-excursion
    (aqd-goto-hunk n)
    (let ((header (buffer-substring-no-properties (point) (line-end-position)))
          (end (agent-q-diff-buffer-hunk-end (agent-q-diff-buffer-hunk-at-point)))
          (above 0)
          (below 0))
      (forward-line)
      (while (eq (char-after) ?\s)
        (cl-incf above)
        (forward-line))
      (goto-char end)
      (forward-line -1)
      (while (eq (char-after) ?\s)
        (cl-incf below)
        (forward-line -1))
      (list header above below))))

(ert-deftest aqd-context-grows-up-to-the-next-hunk-and-shrinks-to-the-change ()
  (aqd-with-review (car aqd-three) (cdr aqd-three)
    (pop-to-buffer (current-buffer))
    (should (equal (aqd-context-of 2) '("@@ -17,7 +17,7 @@ line 16" 3 3)))
    (aqd-goto-hunk 2)
    (forward-line 5)
    (aqd-press "+")
    ;; Point is on the same line, and the file is as it was.
    (should (looking-at "\\+LINE 20"))
    (should (equal (aqd-context-of 2) '("@@ -12,17 +12,17 @@ line 11" 8 8)))
    (should (equal (aqd-context-of 1) '("@@ -2,7 +2,7 @@ line 1" 3 3)))
    (aqd-press "9 +")
    (should (equal (aqd-context-of 2) '("@@ -9,23 +9,23 @@ line 8" 11 11)))
    (should (equal "There are no more lines up to the next hunks"
                   (aqd-said (agent-q-diff-more-context))))
    ;; The others stop where it begins.
    (aqd-goto-hunk 1)
    (aqd-press "1 2 +")
    (should (equal (aqd-context-of 1) '("@@ -1,8 +1,8 @@" 4 3)))
    (aqd-goto-hunk 2)
    (aqd-press "3 0 -")
    (should (equal (aqd-context-of 2) '("@@ -20 +20 @@ line 19" 0 0)))
    (should (equal "No context is shown here" (aqd-said (agent-q-diff-less-context))))
    (aqd-press "a")
    (should (equal (aqd-target) (aqd-three-with 2)))
    (aqd-goto-hunk 2)
    (aqd-press "3 + u")
    (should (equal (aqd-context-of 2) '("@@ -17,7 +17,7 @@ line 16" 3 3)))
    (should (equal (aqd-target) (car aqd-three)))
    ;; Above the first hunk, all are meant.
    (goto-char (point-min))
    (aqd-press "1 -")
    (should (equal '(2 2) (cdr (aqd-context-of 3))))
    (should (equal '(2 2) (cdr (aqd-context-of 2))))
    (let ((current-prefix-arg '-))
      (should (equal '- (progn (aqd-press "C-u -") prefix-arg))))))

(ert-deftest aqd-context-shows-the-whole-definition ()
  (let* ((original (concat ";;; a.el\n\n"
                           (mapconcat (lambda (n)
                                        (concat (format "(defun f%d (x)\n" n)
                                                (aqd-numbered 10)
                                                (format "  (list x %d))\n\n" n)))
                                      '(1 2 3) "")))
         (modified (string-replace "(list x 2)" "(list x 22)" original)))
    (aqd-with-file original
      (let ((aqd-file (concat aqd-file ".el")))
        (aqd-write original)
        (aqd-call original modified
                  (lambda ()
                    (aqd-goto-hunk 1)
                    (agent-q-diff-show-definition)
                    (should (equal (aqd-context-of 1) '("@@ -16,15 +16,15 @@ (defun f1 (x)" 11 3)))
                    (aqd-goto-hunk 1)
                    (agent-q-diff-show-definition)
                    (should (equal '(3 3) (cdr (aqd-context-of 1))))
                    (agent-q-diff-reject-all)))))))

(ert-deftest aqd-context-changes-nothing-but-what-is-shown ()
  "Random walks with and without it leave the same bytes."
  (random "context")
  (dotimes (_ 20)
    (let* ((steps (cl-loop repeat 8
                           collect (list (random 100)
                                         (nth (random 5) '(agent-q-diff-accept-hunk
                                                           agent-q-diff-reject-hunk
                                                           agent-q-diff-unapply-hunk
                                                           agent-q-diff-split-hunk
                                                           agent-q-diff-undo))
                                         (- (random 30) 15))))
           (walk (lambda (is-with)
                   (aqd-with-file (car aqd-three)
                     (aqd-call (car aqd-three) (cdr aqd-three)
                               (lambda ()
                                 (pcase-dolist (`(,hunk ,command ,n) steps)
                                   (agent-q-diff-buffer-goto-hunk
                                    (% hunk (length agent-q-diff-buffer-marks)))
                                   (when is-with
                                     (agent-q-diff-more-context n))
                                   (ignore-errors (funcall command)))
                                 (agent-q-diff-finish)))
                     (aqd-bytes-of aqd-file)))))
      (should (equal (funcall walk nil) (funcall walk t))))))

;;;; Undoing splits

(ert-deftest aqd-edit-undoing-a-split-leaves-the-heading-below ()
  (let* ((folder (file-name-as-directory (make-temp-file "aqd-split" t)))
         (default-directory folder)
         (text (aqd-numbered 40)))
    (unwind-protect
        (progn
          (dolist (name '("a" "b"))
            (aqd-put-bytes text (expand-file-name name folder)))
          (let ((review (agent-q-diff-review-change
                         (list (list :path "a" :original text
                                     :modified (aqd-numbered 40 '((5 . "A") (8 . "B"))))
                               (list :path "b" :original text
                                     :modified (aqd-numbered 40 '((20 . "x")))))
                         "Two" #'ignore)))
            (aqd-in-diff review
              (let ((before (buffer-string)))
                (agent-q-diff-buffer-goto-hunk 0)
                (agent-q-diff-split-hunk)
                (agent-q-diff-undo)
                (should (equal before (buffer-string)))
                (agent-q-diff-buffer-goto-hunk 1)
                (should (agent-q-diff-accept-hunk))))
            (agent-q-diff-cancel review)))
      (aqd-remove-tree folder))))

;;;; White space as context

(defun aqd-white-space-lines (space edits)
  "Return 40 lines, each after SPACE, with EDITS, an alist from numbers to texts."
  (mapconcat (lambda (n)
               (concat (if (= 0 (% n 20)) "" space)
                       (or (alist-get n edits) (format "call(%d);" n))
                       "\n"))
             (number-sequence 1 40) ""))

(defun aqd-white-space-decided (original)
  "Return ORIGINAL with the hunks of this diff buffer that are marked applied."
  (let ((lines (vconcat (split-string original "\n")))
        (before (make-hash-table)))
    (save-excursion
      (cl-loop for mark across agent-q-diff-buffer-marks
               for hunk from 0
               when (eq mark 'applied)
               do (goto-char (agent-q-diff-buffer-position hunk))
               and do (let ((old (agent-q-diff-engine-lines-old
                                  (agent-q-diff-buffer-lines hunk)))
                            (end (agent-q-diff-buffer-hunk-end hunk)))
                    (forward-line)
                    (while (< (point) end)
                      (pcase (char-after)
                        (?- (aset lines old nil) (cl-incf old))
                        (?+ (push (buffer-substring-no-properties (1+ (point))
                                                                  (line-end-position))
                                  (gethash old before)))
                        (_ (cl-incf old)))
                      (forward-line)))))
    (string-join (cl-loop for line across lines
                          for n from 0
                          append (reverse (gethash n before))
                          when line collect line)
                 "\n")))

(ert-deftest aqd-white-space-real-edits-are-hunks-of-their-own ()
  (let* ((agent-q-diff-white-space-free '("txt"))
         (original (aqd-white-space-lines "  " nil))
         (both '((7 . "other(7);") (33 . "other(33);")))
         (modified (aqd-white-space-lines "    " both)))
    (aqd-with-review original modified
      (pop-to-buffer (current-buffer))
      (should (equal (aqd-progress) "0/1 applied, 0 rejected, 1 pending"))
      (aqd-goto-hunk 1)
      (aqd-press "W")
      (should (equal (aqd-progress) "0/5 applied, 0 rejected, 5 pending"))
      ;; On the first real edit, with the lines around it as they are now.
      (should (= 1 (agent-q-diff-buffer-hunk-at-point)))
      (should (equal '("  call(7);") (agent-q-diff-white-space--lines 1 ?r)))
      (should (seq-find (lambda (overlay)
                          (equal "  [6 lines of white space]\n   call(4);\n   call(5);\n   call(6);"
                                 (substring-no-properties
                                  (or (overlay-get overlay 'after-string) ""))))
                        (overlays-in (point-min) (point-max))))
      ;; What is applied is exact.
      (aqd-press "a")
      (should (equal (aqd-target) (string-replace "  call(7);" "    other(7);" original)))
      (aqd-press "a w")
      (should (equal (aqd-target) modified))
      (aqd-press "C-/ C-/ C-/")
      (should (equal (aqd-target) original))
      ;; Off again, hunks stay, and all lines are shown.
      (aqd-press "W")
      (should-not (seq-some (lambda (overlay) (overlay-get overlay 'agent-q-diff-filter))
                            (overlays-in (point-min) (point-max))))
      (aqd-press "C-/")
      (should (equal (aqd-progress) "0/1 applied, 0 rejected, 1 pending")))))

(ert-deftest aqd-white-space-words-are-accepted-without-it ()
  (let* ((agent-q-diff-white-space-free '("txt"))
         (original (aqd-white-space-lines "  " nil))
         (modified (aqd-white-space-lines "\t" '((7 . "other(7);") (33 . "one(33);\n\ttwo(33);")))))
    (aqd-with-review original modified
      (aqd-goto-hunk 1)
      (should-error (agent-q-diff-accept-words) :type 'user-error)
      (agent-q-diff-fold-white-space-mode)
      (aqd-goto-hunk 2)
      (agent-q-diff-accept-words)
      (should (equal (aqd-target) (string-replace "call(7)" "other(7)" original)))
      (aqd-goto-hunk 4)
      (should (string-match-p "not defined; e edits it"
                              (cadr (should-error (agent-q-diff-accept-words) :type 'user-error))))
      (aqd-goto-hunk 3)
      (should (string-match-p "changes only white space"
                              (cadr (should-error (agent-q-diff-accept-words) :type 'user-error))))
      (should (equal (aqd-target) (string-replace "call(7)" "other(7)" original)))))
  ;; Also of a hunk that has both.
  (let ((original (aqd-white-space-lines "  " nil)))
    (aqd-with-review original (aqd-white-space-lines "\t" '((7 . "other(7);")))
      (aqd-goto-hunk 1)
      (agent-q-diff-accept-words)
      (should (equal (aqd-target) (string-replace "call(7)" "other(7)" original))))))

(ert-deftest aqd-white-space-words-are-undone-with-their-decision ()
  (let ((original "a\nb\nc\n")
        (modified "  a\n  x\n  c\n"))
    (aqd-with-review original modified
      (aqd-goto-hunk 1)
      (agent-q-diff-accept-words)
      (should (equal (aqd-target) "a\nx\nc\n"))
      (aqd-goto-hunk 1)
      (should (string-match-p "decided already"
                              (cadr (should-error (agent-q-diff-accept-words) :type 'user-error))))
      (agent-q-diff-undo)
      (should (equal (aqd-target) original))
      ;; It is the agent's again.
      (aqd-goto-hunk 1)
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-target) modified))))
  ;; After the write, the file gets the agent's lines again.
  (aqd-with-repository
    (aqd-pending-put "0" "a\nb\nc\n")
    (agent-q-diff-module-mark-reviewed default-directory '("0"))
    (agent-q-diff-module-begin-turn default-directory "Codex" "s" "do it")
    (aqd-pending-put "0" "  a\n  x\n  c\n")
    (agent-q-diff-module-end-turns default-directory)
    (aqd-with-pending
      (agent-q-diff-buffer-goto-hunk 0)
      (agent-q-diff-accept-words)
      (should (equal (aqd-pending-has "0") "a\nx\nc\n"))
      (agent-q-diff-undo)
      (should (equal (aqd-pending-has "0") "  a\n  x\n  c\n")))))

(ert-deftest aqd-white-space-a-last-line-without-line-end-is-not-joined ()
  (pcase-dolist (`(,modified . ,expected)
                 '(("1\n2\n3\n  a\n  b\n" . "1\n2\n3\na\n  b\n")
                   ("1\n2\n3\n  a\n  b" . "1\n2\n3\na\n  b")
                   ("1\n2\n3\n  x" . "1\n2\n3\nx")))
    (aqd-with-review "1\n2\n3\na" modified
      (aqd-goto-hunk 1)
      (agent-q-diff-accept-words)
      (should (equal (aqd-target) expected)))))

(ert-deftest aqd-white-space-random-decisions-leave-exactly-what-was-accepted ()
  (random "white space")
  (dotimes (_ 30)
    (let* ((change (lambda (n)
                     (pcase (random 8)
                       ((or 0 1 2) (format "   call(%d);" n))
                       (3 (format "call(%d );" n))
                       (4 (format "other(%d);" n))
                       (5 (format "call(%d);\n\n" n))
                       (6 (format "call(\n%d);" n))
                       (7 (format "call(%d);" n)))))
           (original (aqd-white-space-lines "" nil))
           (modified (aqd-white-space-lines
                      "" (mapcar (lambda (n) (cons n (funcall change n)))
                                 (number-sequence 5 (+ 6 (random 30)))))))
      (unless (equal original modified)
        (aqd-with-file original
          (aqd-call original modified
                    (lambda ()
                      (agent-q-diff-fold-white-space-mode)
                      (dotimes (_ 6)
                        (agent-q-diff-buffer-goto-hunk
                         (random (length agent-q-diff-buffer-marks)))
                        (unless (aref agent-q-diff-buffer-marks
                                      (agent-q-diff-buffer-hunk-at-point))
                          (if (= 0 (random 3))
                              (agent-q-diff-reject-hunk)
                            (agent-q-diff-accept-hunk))))
                      (should (equal (aqd-bytes-of aqd-file)
                                     (aqd-white-space-decided original)))
                      (agent-q-diff-accept-all)))
          (unless (equal modified (aqd-bytes-of aqd-file))
            (should (< 0 (length (aqd-bytes-of aqd-file))))))))))

;;;; White space that means something

(defun aqd-white-space-taken (name original modified)
  "Return what takes the change of file NAME from ORIGINAL to MODIFIED unread.
If ORIGINAL is nil, the file is new.  The value is a list of `folded',
`accepted' and `rule'."
  (let* ((folder (file-name-as-directory (make-temp-file "aqd-white" t)))
         (default-directory folder)
         (agent-q-diff-log-file nil)
         (taken nil)
         (propose (lambda ()
                    (when original
                      (aqd-put-bytes original (expand-file-name name)))
                    (agent-q-diff-review-change
                     (list (if original
                               (list :path name :original original :modified modified)
                             (list :path name :content modified)))
                     "A test" #'ignore :agent "An agent")))
         (file-has-it (lambda ()
                        (and (file-exists-p name)
                             (equal modified (aqd-bytes-of (expand-file-name name)))))))
    (unwind-protect
        (let ((review (funcall propose)))
          (aqd-in-diff review
            (agent-q-diff-fold-white-space-mode)
            (goto-char (agent-q-diff-buffer-position 0))
            (unless (cl-loop while (re-search-forward "^[-+]" nil t)
                             thereis (not (invisible-p (match-beginning 0))))
              (push 'folded taken))
            (ignore-error user-error
              (agent-q-diff-accept-white-space))
            (when (funcall file-has-it)
              (push 'accepted taken)))
          (agent-q-diff-cancel review)
          (let* ((agent-q-diff-policy-rules '((white-space . keep)))
                 (review (funcall propose)))
            (when (funcall file-has-it)
              (push 'rule taken))
            (unless (agent-q-diff-session-outcome review)
              (agent-q-diff-cancel review)))
          (nreverse taken))
      (dolist (buffer (buffer-list))
        (when (string-prefix-p folder (or (buffer-file-name buffer) ""))
          (with-current-buffer buffer
            (set-buffer-modified-p nil)
            (kill-buffer))))
      (aqd-remove-tree folder))))

(ert-deftest aqd-white-space-that-means-something-is-not-taken-unread ()
  (pcase-dolist
      (`(,name ,original ,modified)
       '(;; Order, among lines that stay.
         ("a.c" "verify(u);\ngrant(u);\n" "grant(u);\nverify(u);\n")
         ("a.c" "if (ok) {\n  a();\n}\nb();\n" "if (ok) {\n  a();\n  b();\n}\n")
         ("a.c" "  verify(u);\n  grant(u);\n" "grant(u);\nverify(u);\n")
         ;; A comment that becomes code, and the other way round.
         ("a.c" "// no longer b();\n" "// no longer\nb();\n")
         ("a.c" "// always\ncheck();\n" "// always check();\n")
         ("a.js" "return\n  x;\n" "return x;\n")
         ("a.el" ";; was\n(f)\n" ";; was (f)\n")
         ;; Words.
         ("a.c" "x = a - -b;\n" "x = a--b;\n")
         ("a.c" "x = a / *p;\n" "x = a /*p;\n")
         ("a.c" "#define f (x) g\n" "#define f(x) g\n")
         ("a.el" "(a . b)\n" "(a .b)\n")
         ("a.css" "a .b {}\n" "a.b {}\n")
         ;; Strings.
         ("a.c" "s = \"rm -r / tmp\";\n" "s = \"rm -r /  tmp\";\n")
         ("a.js" "s = `\n  a\n`;\n" "s = `\n    a\n`;\n")
         ("a.el" "(defun f ()\n  \"A.\n  b.\")\n" "(defun f ()\n  \"A.\nb.\")\n")
         ("a.rs" "let s = r#\"\n  a\"#;\n" "let s = r#\"\na\"#;\n")
         ("a.c" "s = \"a\\\n  b\";\n" "s = \"a\\\nb\";\n")
         ("a.c" "#define f \\\n  a\n" "#define f \\ \n  a\n")
         ;; Indentation that nests, by name.
         ("a.py" "for x in y:\n    f(x)\n    g(x)\n" "for x in y:\n    f(x)\ng(x)\n")
         ("a.pyi" "class A:\n    x: int\n" "class A:\n    pass\n    x: int\n")
         ("a.pyx" "if x:\n    f()\n" "if x:\n        f()\n")
         ("a.py.in" "if x:\n    f()\n    g()\n" "if x:\n    f()\ng()\n")
         ("a.yml" "a:\n  admin:\n    x: 1\n" "a:\nadmin:\n  x: 1\n")
         ("a.yaml" "a: b  c\n" "a: b c\n")
         ("Makefile" "all:\n\tcc a.c\n" "all:\n        cc a.c\n")
         ("GNUmakefile" "A = x\n" "A = x \n")
         ("rules.mk" "all:\n\tcc a.c\n" "all:\ncc a.c\n")
         ("a.hs" "f = do\n  a\n  b\n" "f = do\n  a\nb\n")
         ("a.nim" "if x:\n  f()\n  g()\n" "if x:\n  f()\ng()\n")
         ("a.fs" "if x then\n  f ()\n  g ()\n" "if x then\n  f ()\ng ()\n")
         ("a.pug" "div\n  p x\n" "div\np x\n")
         ("a.sass" "a\n  b\n" "a\nb\n")
         ("a.coffee" "if x\n  f()\n  g()\n" "if x\n  f()\ng()\n")
         ;; Text.
         ("a.sh" "cat <<E\n  a\nE\n" "cat <<E\na\nE\n")
         ("a.md" "one  \ntwo\n" "one\ntwo\n")
         ("a.md" "    code\n" "code\n")
         ("a.rst" "a\n  b\n" "a\nb\n")
         ("a.tex" "a\nb\n" "a\n\nb\n")
         (".gitignore" " a\n" "a\n")
         ;; By its first line, and by its mode.
         ("tool" "#!/usr/bin/env python3\nif x:\n    f()\n    g()\n"
          "#!/usr/bin/env python3\nif x:\n    f()\ng()\n")
         ("tool.q" "-*- mode: python -*-\n\nif x:\n    f()\n    g()\n"
          "-*- mode: python -*-\n\nif x:\n    f()\ng()\n")
         ;; Of another kind, or of none that is known.
         ("BUILD.bazel" "if x:\n    f()\n    g()\n" "if x:\n    f()\ng()\n")
         ("x.wsgi" "if x:\n    f()\n    g()\n" "if x:\n    f()\ng()\n")
         ("CITATION.cff" "a:\n  b: 1\n" "a:\nb: 1\n")
         ("Gemfile.lock" "GEM\n  a\n" "GEM\n    a\n")
         ("PKGBUILD" "cat <<E\n  a\nE\n" "cat <<E\na\nE\n")
         ("x.cypher" "RETURN 'a\n  b'\n" "RETURN 'a\n b'\n")
         ("x.bat" "set a=b\n" "set a=b  \n")
         ("x.http" "GET /\nA: b\n" "GET /\n\nA: b\n")
         ("x.twig" "<pre>\n  a\n" "<pre>\na\n")
         ("x.jsx" "<pre>a\n  b</pre>\n" "<pre>a\nb</pre>\n")
         ("x.tsx" "<p>\n  a  b\n</p>\n" "<p>\n  a b\n</p>\n")
         (".bashrc" "cat <<E\n  a\nE\n" "cat <<E\na\nE\n")
         (".env" "A=b\n" "A=b  \n")
         (".c" "a\n" "  a\n")
         ("x.c.in" "a\n" "  a\n")
         ("x.txt" "one\ntwo\n" "  one\ntwo\n")
         ("README" "one\ntwo\n" "  one\ntwo\n")
         ("a.zig" "x =\n  \\\\a\n" "x =\n  \\\\a  \n")
         ;; By a mode at its end, or by what it begins with.
         ("a.c" "if x:\n  f()\n# Local\sVariables:\n# mode: python\n# End:\n"
          "if x:\n    f()\n# Local\sVariables:\n# mode: python\n# End:\n")
         ("a.ts" "<?xml version=\"1.0\"?>\n<a>\n b\n</a>\n"
          "<?xml version=\"1.0\"?>\n<a>\n  b\n</a>\n")
         ;; Comments that are read.
         ("a.go" "package a\n// #cgo LDFLAGS: -lx\nimport \"C\"\n"
          "package a\n// #cgo LDFLAGS: -lx\n\nimport \"C\"\n")
         ("a.go" "//go:build linux\n\npackage a\n" "//go:build linux\npackage a\n")
         ;; Characters and symbols of Lisp.
         ("a.el" "(f ?  x)\n" "(f ? x)\n")
         ("a.el" "(f ?\tx)\n" "(f ? x)\n")
         ("a.el" "(f ? \n   x)\n" "(f ?\n   x)\n")
         ("a.lisp" "(f #\\  x)\n" "(f #\\ x)\n")
         ("a.lisp" "(f |a  b|)\n" "(f |a b|)\n")
         ("a.lisp" "(f |a\n  b|)\n" "(f |a\nb|)\n")
         ("a.clj" "[\\  a]\n" "[\\ a]\n")
         ;; That there is a file.
         ("disabled.c" nil "\n")
         ;; Line ends.
         ("a.c" "a();" "a();\n")
         ("a.c" "a();\nb();\n" "a();\n\r\nb();\n")))
    (ert-info ((format "%s: %S" name modified))
      (should-not (aqd-white-space-taken name original modified)))))

(ert-deftest aqd-white-space-of-reformatted-code-is-still-white-space ()
  (pcase-dolist
      (`(,name ,original ,modified)
       '(("a.c" "if (x) {\n  f(\"a  b\");\n\n  g();\n}\n"
          "if (x) {\n\tf(\"a  b\");\n\n\tg();\n}\n")
         ("a.c" "int a;\nlong b;  \n" "int  a;\nlong b;\n")
         ("a.c" "a();\r\nb();\r\n" "  a();\r\n\r\n  b();\r\n")
         ("a.rs" "fn f<'a>() {\n  if x {\n    g(\"a\");\n  }\n}\n"
          "fn f<'a>() {\n    if x {\n        g(\"a\");\n    }\n}\n")
         ("a.el" "(defun f (x)\n\"Return X.\"\n(g\nx))\n"
          "(defun f (x)\n  \"Return X.\"\n  (g\n   x))\n")
         ("a.lisp" "(let ((a 1))\n\t(f a))\n" "(let ((a 1))\n  (f a))\n")
         ("a.js" "f(`/api/${id}`)\n" "  f(`/api/${id}`)\n")
         ("a.json" "{\n  \"a\": 1\n}\n" "{\n\t\"a\": 1\n}\n")
         ("A.CPP" "x = a | b\n" "  x = a | b\n")
         ("a.el" "(f)\n;; Local\sVariables:\n;; indent-tabs-mode: nil\n;; End:\n"
          "  (f)\n;; Local\sVariables:\n;; indent-tabs-mode: nil\n;; End:\n")))
    (ert-info ((format "%s: %S" name modified))
      (should (equal '(folded accepted rule)
                     (aqd-white-space-taken name original modified))))))

;; Modes of other packages that are used in these files, too.
(define-derived-mode aqd-white-space-other-mode js-mode "Other")

(ert-deftest aqd-white-space-means-something-unless-name-and-mode-say-otherwise ()
  "Neither is enough: another mode may be for another language, and so may a name."
  (pcase-dolist (`(,name ,mode ,is-taken)
                 '(("a.js" js-mode t) ("a.js" fundamental-mode t) ("a.js" text-mode t)
                   ("a.js" python-mode nil) ("a.js" aqd-white-space-other-mode nil)
                   ("a.q" js-mode nil) ("a" js-mode nil)))
    (ert-info ((format "%s in %s" name mode))
      (let ((auto-mode-alist `(("" . ,mode))))
        (should (eq (and is-taken t)
                    (and (aqd-white-space-taken name "f();\n" "  f();\n") t))))))
  (let ((agent-q-diff-white-space-free '("q" aqd-white-space-other-mode))
        (auto-mode-alist '(("" . aqd-white-space-other-mode))))
    (should (equal '(folded accepted rule)
                   (aqd-white-space-taken "a.q" "f();\n" "  f();\n")))
    (should-not (aqd-white-space-taken "a.js" "f();\n" "  f();\n"))))

(provide 'agent-q-diff-edit-test)
;;; agent-q-diff-edit-test.el ends here
