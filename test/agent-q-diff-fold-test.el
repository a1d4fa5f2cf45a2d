;;; agent-q-diff-fold-test.el --- Hunks that are too long to be shown whole  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a person sees of a long hunk, and that the text stays the whole diff.

;;; Code:

(require 'agent-q-diff-test-help)

(defconst aqd-fold-original (aqd-numbered 60)
  "A file.")

(defun aqd-fold-modified (n)
  "Return what is proposed for that file: N lines more, and a small hunk below."
  (concat (aqd-numbered 10)
          (mapconcat (lambda (number) (format "added %d\n" number))
                     (number-sequence 1 n) "")
          (string-remove-prefix (aqd-numbered 10) (aqd-numbered 60 '((40 . "forty"))))))

(defmacro aqd-fold-with-hunk (n &rest body)
  "Run BODY in the diff buffer of a hunk that adds N lines; 10 are shown at once."
  (declare (indent 1) (debug t))
  `(let ((agent-q-diff-hunk-lines 10))
     (aqd-with-review aqd-fold-original (aqd-fold-modified ,n)
       (pop-to-buffer (current-buffer))
       (aqd-goto-hunk 1)
       ,@body)))

(defun aqd-fold-seen ()
  "Return the lines that are seen from the first hunk on, signs in their place."
  (let ((seen ""))
    (save-excursion
      (aqd-goto-hunk 1)
      (while (not (eobp))
        (dolist (overlay (overlays-at (point)))
          (when (eq (overlay-start overlay) (point))
            (setq seen (concat seen (overlay-get overlay 'before-string)))))
        (unless (invisible-p (point))
          (setq seen (concat seen (string (char-after)))))
        (forward-char)))
    (split-string (substring-no-properties seen) "\n" t)))

(defun aqd-fold-sign ()
  "Return the line that stands for those hidden, or nil if none are."
  (seq-find (lambda (line) (string-prefix-p "… " line)) (aqd-fold-seen)))

(ert-deftest aqd-fold-the-middle-of-a-long-hunk-is-one-line-with-its-size ()
  (aqd-fold-with-hunk 100
    (should (equal (seq-take (aqd-fold-seen) 13)
                   '("@@ -8,6 +8,106 @@ line 7"
                     " line 8" " line 9" " line 10" "+added 1" "+added 2"
                     "… 96 more lines, x shows them"
                     "+added 99" "+added 100" " line 11" " line 12" " line 13"
                     "@@ -37,7 +137,7 @@ line 36")))))

(ert-deftest aqd-fold-a-hunk-that-just-fits-is-shown-whole ()
  (aqd-fold-with-hunk 4
    (should-not (aqd-fold-sign)))
  (aqd-fold-with-hunk 5
    (should (equal (aqd-fold-sign) "… 1 more line, x shows it"))))

(ert-deftest aqd-fold-x-shows-them-and-hides-them-again ()
  (aqd-fold-with-hunk 100
    (aqd-press "x")
    (should-not (aqd-fold-sign))
    (should (member "+added 50" (aqd-fold-seen)))
    (search-forward "+added 50")
    (aqd-press "x")
    (should (equal (aqd-fold-sign) "… 96 more lines, x shows them"))
    ;; Point is where one sees it, and where the same key works.
    (should (looking-at-p "\\+added 3$"))
    (search-forward "added 98")
    (aqd-press "x")
    (should-not (aqd-fold-sign))
    (should (looking-at-p "\\+added 3$"))
    (aqd-goto-hunk 2)
    (should-error (agent-q-diff-expand-line) :type 'user-error)))

(ert-deftest aqd-fold-the-text-stays-the-whole-diff ()
  (aqd-fold-with-hunk 100
    (should (= 100 (how-many "^\\+added " (point-min) (point-max))))
    (let ((copied (buffer-substring-no-properties (point) (point-max))))
      (should (string-search "+added 50\n" copied)))
    (diff-hunk-next)
    (should (looking-at-p "@@ -37,7 \\+137,7 @@"))
    (aqd-press "p a")
    (should (equal (aqd-target)
                   (string-replace "forty" "line 40" (aqd-fold-modified 100))))))

(ert-deftest aqd-fold-stays-with-what-is-decided ()
  (aqd-fold-with-hunk 100
    (aqd-press "a")
    (should (equal (aqd-progress) "1/2 applied, 0 rejected, 1 pending"))
    (should (equal (aqd-fold-sign) "… 96 more lines, x shows them"))
    (aqd-press "p x u r")
    (should (equal (aqd-progress) "0/2 applied, 1 rejected, 1 pending"))
    (should-not (aqd-fold-sign))))

(ert-deftest aqd-fold-hunks-that-are-printed-anew-are-folded-anew ()
  (aqd-fold-with-hunk 100
    (search-forward "+added 50")
    (push-mark (line-beginning-position) t t)
    (forward-line 30)
    (let ((transient-mark-mode t))
      (agent-q-diff-reject-hunk))
    (should (equal (seq-filter (lambda (line) (string-match-p "\\`\\(@@\\|\\[\\|…\\)" line))
                               (aqd-fold-seen))
                   '("@@ -8,3 +8,52 @@ line 7" "… 42 more lines, x shows them"
                     "[REJECTED] @@ -10,0 +60,30 @@ line 10" "… 20 more lines, x shows them"
                     "@@ -11,3 +90,24 @@ line 10" "… 14 more lines, x shows them"
                     "@@ -37,7 +137,7 @@ line 36")))))

(ert-deftest aqd-fold-searching-shows-what-it-finds ()
  (aqd-fold-with-hunk 100
    (isearch-mode t)
    (isearch-process-search-string "added 50" "added 50")
    (isearch-exit)
    (should (looking-back "added 50" (line-beginning-position)))
    (should-not (invisible-p (1- (point))))
    (should-not (aqd-fold-sign))))

(ert-deftest aqd-fold-hiding-the-hunk-leaves-no-second-sign ()
  (aqd-fold-with-hunk 100
    (aqd-press "r h")
    (should-not (aqd-fold-sign))))

(ert-deftest aqd-fold-nothing-is-hidden-if-the-option-says-so ()
  (let ((agent-q-diff-hunk-lines nil))
    (aqd-with-review aqd-fold-original (aqd-fold-modified 5000)
      (should-not (seq-find #'invisible-p
                            ;; Above it, lines that only name the file are.
                            (number-sequence (agent-q-diff-buffer-position 0)
                                             (point-max) 10))))))

(ert-deftest aqd-fold-lines-in-the-region-are-those-that-were-selected ()
  "Reading the hunks of a diff of the user's own hides the middle of this one."
  (aqd-with-file aqd-fold-original
    (let ((agent-q-diff-hunk-lines 10)
          (transient-mark-mode t)
          (diff (concat "--- a/target.txt\n+++ b/target.txt\n@@ -8,6 +8,106 @@\n"
                        " line 8\n line 9\n line 10\n"
                        (mapconcat (lambda (number) (format "+added %d\n" number))
                                   (number-sequence 1 100) "")
                        " line 11\n line 12\n line 13\n")))
      (dolist (key '("r" "a"))
        (with-temp-buffer
          (insert diff)
          (agent-q-diff-mode)
          (setq buffer-read-only t
                agent-q-diff-buffer-path aqd-file)
          (switch-to-buffer (current-buffer))
          (goto-char (point-min))
          (search-forward "\n+added 50")
          (beginning-of-line)
          (push-mark (point) t t)
          (forward-line 5)
          (aqd-press key)
          (goto-char (point-min))
          (should (search-forward "@@ -10,0 +60,5 @@")))))
    (should (equal (aqd-disk)
                   (concat (aqd-numbered 10)
                           "added 50\nadded 51\nadded 52\nadded 53\nadded 54\n"
                           (string-remove-prefix (aqd-numbered 10) aqd-fold-original))))))

;;;; A long description

(defmacro aqd-fold-with-description (description height &rest body)
  "Run BODY in a window of about HEIGHT lines with a review that has DESCRIPTION."
  (declare (indent 2) (debug t))
  `(aqd-with-frame 80 ,height
     (aqd-with-file (aqd-numbered 40)
       (let ((review (agent-q-diff-review aqd-file (aqd-numbered 40)
                                          (aqd-numbered 40 '((5 . "a"))) ,description
                                          #'ignore)))
         (unwind-protect
             (save-window-excursion
               (switch-to-buffer (agent-q-diff-session-buffer review))
               (delete-other-windows)
               (agent-q-diff-current-appear (selected-window))
               ,@body)
           (agent-q-diff-cancel review))))))

(defun aqd-fold-above ()
  "Return the lines that the window has above the first hunk, signs in their place.
The beginnings of lines that are wrapped are lines as well."
  (let ((fold (agent-q-diff-fold--description-fold)))
    (append
     (save-excursion
       (goto-char (point-min))
       (cl-loop with end = (if fold
                               (overlay-start fold)
                             (1- (cdr (agent-q-diff-fold--description))))
                while (< (point) end)
                collect (buffer-substring-no-properties
                         (point) (progn (vertical-motion 1) (min end (point))))))
     (and fold
          (list (substring-no-properties
                 (string-trim-left (overlay-get fold 'before-string) "\n")))))))

(ert-deftest aqd-fold-of-a-long-description-a-third-of-the-window-is-shown ()
  (pcase-dolist (`(,height ,n ,n-hidden) '((12 3 nil) (12 4 2) (12 12 10)
                                           (24 7 nil) (24 8 2) (24 100 94)))
    (ert-info ((format "%d lines in %d" n height))
      (aqd-fold-with-description (string-trim-right (aqd-numbered n)) height
        (let ((seen (aqd-fold-above)))
          (should (<= (length seen) (/ (window-body-height) 3)))
          (if n-hidden
              (should (equal (car (last seen))
                             (format "… %d more lines, x shows them" n-hidden)))
            (should (length= seen n))))
        ;; Only the display changes.
        (should (string-search (format "\n# line %d\n" n) (buffer-string)))))))

(ert-deftest aqd-fold-lines-of-a-description-count-as-the-window-wraps-them ()
  (dolist (description (list (make-string 900 ?x)
                             (make-string 450 ?漢)
                             (mapconcat #'identity (make-list 12 (make-string 75 ?y)) " ")))
    (aqd-fold-with-description description 24
      (let ((seen (aqd-fold-above)))
        (should (= 7 (length seen)))
        (should (string-match-p "\\`… [67] more lines, x shows them\\'" (car (last seen))))))))

(ert-deftest aqd-fold-a-description-is-shown-whole-by-either-key-and-from-the-first-hunk ()
  (pcase-dolist (`(,there ,key) '(("" "x") ("M-<" "x") ("M-<" "TAB")))
    (aqd-fold-with-description (aqd-numbered 30) 24
      (aqd-press (concat there " " key))
      (should-not (agent-q-diff-fold--description-fold))
      ;; What was hidden is read next.
      (should-not (agent-q-diff-buffer-hunk-at-point))
      (should-not (seq-some #'agent-q-diff-filter--folded '(0)))
      (aqd-press (if (equal "TAB" key) key "x"))
      (should (agent-q-diff-fold--description-fold)))))

(ert-deftest aqd-fold-a-description-stays-as-the-user-left-it ()
  (aqd-fold-with-description (aqd-numbered 30) 24
    (aqd-press "x")
    (agent-q-diff-current-appear (selected-window))
    (should-not (agent-q-diff-fold--description-fold))
    ;; Where nothing is hidden, the keys are those of hunks.
    (aqd-press "n")
    (should-error (agent-q-diff-expand-line) :type 'user-error)))

(ert-deftest aqd-fold-a-description-of-one-very-long-line-is-not-cut-twice ()
  (aqd-fold-with-description (make-string 3000 ?x) 24
    (aqd-press "M-< x")
    (should-not (agent-q-diff-fold--description-fold))
    ;; Then it is a long line as any other.
    (aqd-press "M-< x")
    (should (memq (line-beginning-position)
                  (mapcar #'marker-position agent-q-diff-long-lines--expanded)))))

(ert-deftest aqd-fold-lines-that-name-the-file-twice-are-hidden-not-gone ()
  (aqd-fold-with-description "d" 24
    (goto-char (point-min))
    (should (re-search-forward (format "^--- %s\n\\+\\+\\+ .*\n@@"
                                       (regexp-quote (abbreviate-file-name aqd-file)))))
    (should (invisible-p (match-beginning 0)))
    (should-not (invisible-p (- (point) 2)))
    (should (string-match-p " · target\\.txt\\(?: \\|\\'\\)" header-line-format))
    ;; Whoever copies the diff copies it all.
    (should (string-search "\n+++ " (filter-buffer-substring (point-min) (point-max)))))
  (aqd-with-frame 200 24
    (aqd-fold-with-description "d" 24
      (set-frame-size nil 200 24)
      (agent-q-diff-progress-update-header-line)
      (should (string-suffix-p (concat " · in " (abbreviate-file-name
                                                 (file-name-directory aqd-file)))
                               header-line-format)))))

(provide 'agent-q-diff-fold-test)
;;; agent-q-diff-fold-test.el ends here
