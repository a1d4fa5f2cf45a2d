;;; agent-q-diff-filter-test.el --- Hunks that one wants to see  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

(defconst aqd-filter-original (aqd-numbered 60)
  "A file.")

(defconst aqd-filter-modified
  (aqd-numbered 60 '((5 . "five") (20 . "  line 20") (35 . "x") (50 . "line\t50")))
  "What is proposed for it: the second and the fourth hunk are white space.")

(defmacro aqd-filter-with-review (&rest body)
  "Run BODY in the diff buffer of four hunks, in a window."
  (declare (indent 0) (debug t))
  `(aqd-with-shown-review aqd-filter-original aqd-filter-modified
     ,@body))

(defun aqd-filter-seen ()
  "Return the lines of hunks that are visible, headers and changes only."
  (let (lines)
    (save-excursion
      (aqd-goto-hunk 1)
      (while (not (eobp))
        (when (and (memq (char-after) '(?@ ?+ ?-))
                   (not (invisible-p (point))))
          (push (buffer-substring-no-properties (point) (line-end-position)) lines))
        (forward-line)))
    (nreverse lines)))

(ert-deftest aqd-filter-decided-hunks-are-hidden-and-left-out ()
  (aqd-filter-with-review
    (aqd-press "h n r")
    (should (= 3 (seq-count (lambda (line) (string-prefix-p "@@" line))
                            (aqd-filter-seen))))
    (aqd-press "a")
    (should (equal (aqd-filter-seen)
                   '("@@ -2,7 +2,7 @@ line 1" "-line 5" "+five"
                     "@@ -47,7 +47,7 @@ line 46" "-line 50" "+line\t50")))
    (aqd-goto-hunk 1)
    (aqd-press "n")
    (should (= 3 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press "p")
    (should (= 0 (agent-q-diff-buffer-hunk-at-point)))
    ;; What is decided no more comes back, and all of it with the key.
    (aqd-goto-hunk 3)
    (agent-q-diff-unapply-hunk)
    (should (member "+x" (aqd-filter-seen)))
    (aqd-press "h")
    (should (= 12 (length (aqd-filter-seen))))))

(ert-deftest aqd-filter-white-space-is-folded-into-a-line ()
  (aqd-filter-with-review
    (aqd-press "W")
    (should (equal (aqd-filter-seen)
                   '("@@ -2,7 +2,7 @@ line 1" "-line 5" "+five"
                     "@@ -17,7 +17,7 @@ line 16"
                     "@@ -32,7 +32,7 @@ line 31" "-line 35" "+x"
                     "@@ -47,7 +47,7 @@ line 46")))
    (aqd-press "n a")
    (should (= 2 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press "W")
    (should (= 12 (length (aqd-filter-seen))))))

(ert-deftest aqd-filter-white-space-is-accepted-at-once ()
  (aqd-filter-with-review
    (aqd-press "w")
    (should (equal (aqd-signs) '((2 . "[APPLIED]") (4 . "[APPLIED]"))))
    (should (equal (aqd-target)
                   (aqd-numbered 60 '((20 . "  line 20") (50 . "line\t50")))))
    (with-current-buffer (find-buffer-visiting aqd-file)
      (undo-boundary)
      (undo)
      (should (equal (buffer-string) aqd-filter-original)))
    (should-error (agent-q-diff-accept-white-space) :type 'user-error)))

(ert-deftest aqd-filter-jumps-to-what-one-looks-for ()
  (aqd-filter-with-review
    (aqd-press "r")
    (aqd-goto-hunk 3)
    (aqd-press "a")
    (aqd-goto-hunk 1)
    (aqd-press ".")
    (should (= 1 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press ".")
    (should (= 3 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press ".")
    (should (= 1 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press "R")
    (should (= 0 (agent-q-diff-buffer-hunk-at-point)))
    (agent-q-diff-unapply-hunk)
    (agent-q-diff-accept-hunk)
    (should (equal (aqd-said (agent-q-diff-next-rejected)) "No hunk is rejected"))))

(ert-deftest aqd-filter-a-key-folds-one-hunk-or-all ()
  (aqd-with-shown-review (aqd-numbered 60)
      (aqd-numbered 60 '((5 . "a") (20 . "b") (35 . "c")))
    (let ((hidden (lambda ()
                    (cl-loop for position across agent-q-diff-buffer-positions
                             collect (and (invisible-p (save-excursion
                                                         (goto-char position)
                                                         (line-beginning-position 2)))
                                          t)))))
      (aqd-press "n TAB")
      (should (equal '(nil t nil) (funcall hidden)))
      ;; Deciding changes nothing about that, and the header stays in view.
      (aqd-press "a p p TAB")
      (should (equal '(t t nil) (funcall hidden)))
      (should-not (seq-some #'invisible-p (append agent-q-diff-buffer-positions nil)))
      (aqd-press "<backtab>")
      (should (equal '(nil nil nil) (funcall hidden)))
      (aqd-press "<backtab>")
      (should (equal '(t t t) (funcall hidden)))
      (aqd-press "n TAB")
      (should (equal '(t nil t) (funcall hidden))))))

(ert-deftest aqd-filter-a-diff-that-was-just-opened-can-be-folded ()
  (aqd-with-file "a\n"
    (aqd-with-diff "@@ -1 +1 @@\n-a\n+b\n"
      (dotimes (_ 3)
        (agent-q-diff-fold-hunk))
      (should (seq-some #'invisible-p (number-sequence (point-min) (point-max))))
      (should (= 1 (seq-count (lambda (entry) (eq 'agent-q-diff (or (car-safe entry) entry)))
                              buffer-invisibility-spec))))))

(provide 'agent-q-diff-filter-test)
;;; agent-q-diff-filter-test.el ends here
