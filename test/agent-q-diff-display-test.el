;;; agent-q-diff-display-test.el --- How far a review has come  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The lines of a hunk of a bare diff may be at several places.  The user sees
;; each of them, and says which it is.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-display)

;;; The progress line and the header line

(defun aqd-with-three-unsaved (function)
  "Call FUNCTION in a review of three hunks, whose target has unsaved edits.
It is called with a function that returns the header line, and the target."
  (aqd-with-forty-lines
    (let ((target (find-file-noselect aqd-file)))
      (with-current-buffer target
        (goto-char (point-max))
        (insert "mine\n"))
      (aqd-call (car aqd-three) (cdr aqd-three)
                (lambda ()
                  (funcall function
                           (lambda ()
                             (agent-q-diff-progress-update-header-line 1)
                             (substring-no-properties header-line-format))
                           target)
                  (agent-q-diff-finish)))
      (with-current-buffer target
        (set-buffer-modified-p nil)))))

;;;; The progress line

(ert-deftest aqd-progress-the-line-moves-what-is-known-of-hunks ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (let ((states '((1 . applied))))
        (setq sly-agent-q-diff--hunk-states states)
        (sly-agent-q-diff--update-header)
        (should (eq 'applied (alist-get (aqd-goto-hunk 1)
                                        sly-agent-q-diff--hunk-states)))
        ;; What the caller wrote down stays the caller's.
        (should (equal states '((1 . applied))))))))

(ert-deftest aqd-progress-ruling-13-positions-do-not-move-with-the-progress ()
  (let* ((changes (cl-loop for n from 1 to 12 collect (cons (* 10 n) "changed")))
         (original (aqd-numbered 130))
         (modified (aqd-numbered 130 changes)))
    (aqd-with-file original
      (aqd-call original modified
                (lambda ()
                  (let* ((positions (lambda ()
                                      (cl-loop for n from 1 to 12
                                               collect (aqd-goto-hunk n))))
                         (before (funcall positions)))
                    (cl-loop for n from 1 to 11
                             do (aqd-goto-hunk n)
                             do (agent-q-diff-accept-hunk)
                             do (should (equal before (funcall positions))))
                    (should (equal (aqd-progress)
                                   "11/12 applied, 0 rejected, 1 pending")))
                  (agent-q-diff-finish))))))

(ert-deftest aqd-progress-ruling-14-update-header-replaces-the-old-line-of-keys ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (concat "C-c C-c = accept all   C-c C-k = reject all\n\n"
                           aqd-hand-written-diff)
      (setf (alist-get (aqd-goto-hunk 1) sly-agent-q-diff--hunk-states) 'applied)
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "1/2 applied, 0 rejected, 1 pending"))
      (should-not (string-search "C-c C-c =" (buffer-string)))
      (should (eq 'applied (alist-get (aqd-goto-hunk 1)
                                      sly-agent-q-diff--hunk-states))))))

(ert-deftest aqd-progress-ruling-14-update-header-inserts-where-there-is-no-line ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written-diff
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "0/2 applied, 0 rejected, 2 pending"))
      (aqd-goto-hunk 1)
      (sly-agent-q-diff-accept-hunk)
      (should (equal (aqd-progress) "1/2 applied, 0 rejected, 1 pending")))))

;;;; The header line

(ert-deftest aqd-progress-header-line-counts-conflicts ()
  (aqd-with-frame 120 24
    (let ((edit (lambda (from to)
                  (aqd-in-target (search-forward from)
                                 (replace-match to)
                                 (save-buffer))
                  (agent-q-diff-signs-follow)))
          (counts (lambda () (and (string-match "pending\\(.*\\) · Agent-Q" header-line-format)
                                  (match-string 1 header-line-format)))))
      (aqd-with-review (aqd-numbered 60)
          (aqd-numbered 60 '((5 . "a") (20 . "b") (35 . "c") (50 . "d")))
        (should (equal (funcall counts) ""))
        (funcall edit "line 20" "mine")
        (should (equal (funcall counts) " · 1 conflict"))
        (funcall edit "line 50" "mine")
        (should (equal (funcall counts) " · 2 conflicts"))
        (aqd-goto-hunk 1)
        (agent-q-diff-accept-hunk)
        (should (equal (funcall counts) " · 2 conflicts"))
        (funcall edit "mine" "line 20")
        (funcall edit "mine" "line 50")
        (should (equal (funcall counts) ""))))))

(ert-deftest aqd-progress-header-line-shows-the-progress ()
  (aqd-with-frame 120 24
    (aqd-with-file "a\n"
      (aqd-call "a\n" "b\n"
                (lambda ()
                  (should (string-match-p " · \\+1 -1 · 1 pending"
                                          header-line-format))
                  (should (string-prefix-p " target.txt: hunk 1/1 · " header-line-format))
                  (should (string-suffix-p " · 1 pending · Agent-Q" header-line-format))
                  (goto-char (point-min))
                  (run-hooks 'post-command-hook)
                  (should (string-prefix-p " target.txt: 1 hunk · " header-line-format))
                  (aqd-goto-hunk 1)
                  (agent-q-diff-reject-hunk)
                  (should (string-match-p " · 1 rejected · 0 pending · Agent-Q"
                                          header-line-format))
                  (should (string-match-p "The agent will read this"
                                          (aqd-said (agent-q-diff-comment "Why?"))))
                  (should (string-match-p "0 pending · commented · Agent-Q" header-line-format))
                  (should (string-match-p "No comment" (aqd-said (agent-q-diff-comment " "))))
                  (should (string-match-p "0 pending · Agent-Q" header-line-format))
                  (agent-q-diff-finish))))))

(ert-deftest aqd-progress-header-line-says-what-is-not-saved ()
  (aqd-with-three-unsaved
   (lambda (header target)
     (aqd-accept 1)
     (should (string-search " · 1 applied · 2 pending · 1 not saved" (funcall header)))
     (with-current-buffer target
       (save-buffer))
     (should (string-search " · 1 applied · 2 pending · target" (funcall header)))
     (with-current-buffer target
       (insert "more\n"))
     (aqd-accept 2)
     (should (string-search " · 2 applied · 1 pending · 1 not saved" (funcall header)))
     (should (<= (string-width (funcall header)) 80))
     ;; Who never saves at a key knows.
     (let ((agent-q-diff-save 'never))
       (aqd-accept 3)
       (should (string-search " · 3 applied · 0 pending · target" (funcall header)))))))

(ert-deftest aqd-progress-header-line-begins-at-the-first-hunk ()
  (aqd-with-open-review (aqd-numbered 40) (aqd-numbered 40 '((5 . "five") (30 . "thirty")))
    ;; No command has moved there.
    (aqd-in-diff review
      (should (string-prefix-p " target.txt: hunk 1/2 · " header-line-format)))
    (agent-q-diff-cancel review)))

;;; Signs

;;;; Places and fuzz

(ert-deftest aqd-signs-fuzz-is-shown-before-the-key-and-told-the-agent ()
  (aqd-with-patch-review "new\nnew\nother\nb\nc\nd\n"
      "@@ -1,4 +1,4 @@\n a\n b\n-c\n+C\n d\n"
    (should (equal (aqd-sign 1) "[PENDING, fuzz 1, shifted by 2 lines]"))
    (agent-q-diff-accept review 0)
    (should (equal (aqd-sign 1) "[APPLIED, fuzz 1]"))
    (agent-q-diff-end review)
    (let ((hunk (car (answer :hunks))))
      (should (equal (list (plist-get hunk :fuzz) (plist-get hunk :offset)) '(1 2))))
    (should (string-suffix-p
             "\n\nHunk 1 is in the file with fuzz 1: its outermost context lines differ there\
; shifted by 2 lines."
             (answer :message)))))

(ert-deftest aqd-signs-a-hunk-without-context-is-next-to-nobody-s-edit ()
  (aqd-with-patch-review "test\ntest2\n \ntest3\n" "@@ -3,1 +3,0 @@\n- \n"
    (should-not (string-search "next to your edit" (or (aqd-sign 1) ""))))
  (aqd-with-patch-review "a\nb\nc\n" "@@ -2 +2 @@\n-b\n+B\n"
    (should-not (string-search "next to your edit" (or (aqd-sign 1) "")))
    (agent-q-diff-accept review 0)
    (should (equal (aqd-sign 1) "[APPLIED]"))))

(ert-deftest aqd-signs-of-shifted-hunks ()
  (aqd-with-review (aqd-numbered 30) (aqd-numbered 30 '((5 . "five") (25 . "x")))
    (should-not (aqd-signs))
    (aqd-in-target (insert "a\nb\n"))
    (should (equal (aqd-sign 1) "[PENDING, shifted by 2 lines]"))
    (aqd-in-target (forward-line 15) (delete-region (point) (line-beginning-position 4)))
    (should (equal (aqd-sign 2) "[PENDING, shifted by -1 line]"))
    (aqd-accept 1)
    (should (equal (aqd-sign 1) "[APPLIED]"))
    (should (equal (aqd-sign 2) "[PENDING, shifted by -1 line]"))
    (aqd-goto-hunk 1)
    (should (string-suffix-p "; shifted by -1 line"
                             (aqd-said (agent-q-diff-next-hunk))))))

(ert-deftest aqd-signs-a-shift-is-said-where-it-begins ()
  (aqd-with-review (aqd-numbered 40)
                   (aqd-numbered 40 '((5 . "five") (15 . "x") (25 . "y") (35 . "z")))
    (aqd-in-target (insert "a\nb\n"))
    (should (equal (aqd-sign 1) "[PENDING, shifted by 2 lines]"))
    (should (equal (aqd-signs) '((1 . "[PENDING, shifted by 2 lines]"))))
    (aqd-goto-hunk 1)
    (should-not (string-search "shifted" (aqd-said (agent-q-diff-next-hunk))))
    ;; It is another from here on.
    (aqd-in-target (goto-char (point-min)) (search-forward "line 20") (insert "\nmore"))
    (should (equal (aqd-sign 3) "[PENDING, shifted by 3 lines]"))
    (should (equal (aqd-signs) '((1 . "[PENDING, shifted by 2 lines]")
                                 (3 . "[PENDING, shifted by 3 lines]"))))
    (aqd-accept 1)
    (should (equal (aqd-signs) '((1 . "[APPLIED]") (3 . "[PENDING, shifted by 3 lines]"))))))

;;;; Mark and fact

(ert-deftest aqd-signs-refresh-while-saving ()
  "A refresh by a hook of saving does not make a failure of a success."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (let ((diff (current-buffer)))
      (aqd-in-target
        (add-hook 'before-save-hook (lambda () (agent-q-diff-signs--refresh diff)) nil t))
      (cl-letf (((symbol-function 'get-buffer-window) #'always))
        (agent-q-diff-accept-hunk))
      (should (equal (aqd-disk) aqd-letters-modified))
      (should (equal (aqd-signs) '((1 . "[APPLIED]")))))))

(ert-deftest aqd-signs-ruling-2-undone-in-the-target ()
  (let ((agent-q-diff-save 'always))
    (aqd-with-forty-lines
      (aqd-call (car aqd-three) (cdr aqd-three)
                (lambda ()
                  (aqd-goto-hunk 1)
                  (agent-q-diff-accept-hunk)
                  (with-current-buffer (find-buffer-visiting aqd-file)
                    (primitive-undo 1 (cdr buffer-undo-list))
                    (should (equal (buffer-string) (aqd-three-with))))
                  (aqd-goto-hunk 2)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs)
                                 '((1 . "[APPLIED, but not in the file]")
                                   (2 . "[APPLIED]"))))
                  (aqd-goto-hunk 1)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs) '((1 . "[APPLIED]") (2 . "[APPLIED]"))))
                  (agent-q-diff-finish)))
      (should (equal (aqd-disk) (aqd-three-with 1 2))))))

;;;; What the signs are made of

;; Their order is that in which Emacs merges them.
(defun aqd-signs-header-faces ()
  "Return for each hunk the faces of the overlays on its `@@' line."
  (mapcar (lambda (position)
            (delq nil (mapcar (lambda (overlay) (overlay-get overlay 'face))
                              (overlays-at position t))))
          agent-q-diff-buffer-positions))

(ert-deftest aqd-signs-header-of-a-decided-hunk-has-its-face-and-no-other-has ()
  (let ((decided '(agent-q-diff-decided-header agent-q-diff-decided)))
    (aqd-with-shown-review (aqd-numbered 30)
                           (aqd-numbered 30 '((5 . "five") (6 . "six") (7) (25 . "x")))
      (should (equal (aqd-signs-header-faces) '(nil nil)))
      (aqd-press "a")
      (should (equal (aqd-signs-header-faces) (list decided nil)))
      (aqd-press "p s")
      (should (equal (delete-dups (butlast (aqd-signs-header-faces))) (list decided)))
      (should (equal (last (aqd-signs-header-faces)) '(nil)))
      (aqd-press "u")
      (should-not (car (aqd-signs-header-faces)))
      (agent-q-diff-unapply-all)
      (should (equal (delete-dups (aqd-signs-header-faces)) '(nil)))
      (should-not (seq-some (lambda (overlay) (overlay-get overlay 'agent-q-diff-header))
                            (overlays-in (point-min) (point-max)))))))

(ert-deftest aqd-signs-comment-is-below-the-header ()
  (aqd-with-shown-review aqd-original-of-two aqd-modified-of-two
    (let ((below (lambda ()
                   (mapconcat (lambda (overlay)
                                (or (overlay-get overlay 'after-string) ""))
                              (overlays-at (aref agent-q-diff-buffer-positions 0))
                              ""))))
      (agent-q-diff-comment-hunk "Why?\nReally")
      (should (equal "\n# Why?\n# Really" (substring-no-properties (funcall below))))
      (aqd-press "r p")
      (should (equal "\n# Why?\n# Really" (substring-no-properties (funcall below))))
      (agent-q-diff-comment-hunk "")
      (should (equal "" (funcall below))))))

;;; The places of an ambiguous hunk

(defun aqd-places-point (review)
  "Return the line, from 1, at which the window of REVIEW's target is."
  (let ((window (get-buffer-window (aqd-target-of review))))
    (with-current-buffer (aqd-target-of review)
      (line-number-at-pos (window-point window)))))

(defun aqd-places-marked (review)
  "Return the text in the target of REVIEW that is marked as a hunk's place."
  (with-current-buffer (aqd-target-of review)
    (mapconcat (lambda (overlay)
                 (buffer-substring-no-properties (overlay-start overlay)
                                                 (overlay-end overlay)))
               (seq-filter (lambda (overlay)
                             (eq 'agent-q-diff-place (overlay-get overlay 'face)))
                           (overlays-in (point-min) (point-max)))
               "")))

(ert-deftest aqd-places-one-of-several-is-shown-and-taken-by-the-same-key ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    ;; It would mark the lines where the hunk now is.
    (setq-local agent-q-diff-follow nil)
    (should (equal (aqd-sign 1) "[AMBIGUOUS, look: 1 of 4 places]"))
    (switch-to-buffer (current-buffer))
    (should (string-match-p
             "\\`Place 1 of 4: line 10 of target.txt.  The same key uses it; N P show others"
             (aqd-said (aqd-press "a"))))
    (should (equal (aqd-disk) aqd-equal-blocks))
    (should (= 10 (aqd-places-point review)))
    (should (equal "{\n  x\n}\n" (aqd-places-marked review)))
    (should (string-prefix-p "Hunk 1 applied" (aqd-said (aqd-press "a"))))
    (should (equal "" (aqd-places-marked review)))
    (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 2)))
    (aqd-press "u")
    (should (equal (aqd-disk) aqd-equal-blocks))))

(ert-deftest aqd-places-the-others-are-shown-by-n-and-p ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (switch-to-buffer (current-buffer))
    (aqd-press "a")
    (let ((seen (cl-loop repeat 4
                         collect (aqd-places-point review)
                         do (aqd-press "N"))))
      (should (equal seen '(10 7 13 4))))
    (should (= 10 (aqd-places-point review)))
    (aqd-press "P")
    (should (= 4 (aqd-places-point review)))
    (should (equal (aqd-sign 1) "[AMBIGUOUS, look: 4 of 4 places]"))
    (aqd-press "a")
    (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 0)))))

(ert-deftest aqd-places-keys-move-on-when-another-hunk-is-at-point ()
  (aqd-with-patch-review
      (concat aqd-equal-blocks "end\n")
      (concat aqd-equal-blocks-diff "@@ -13,2 +14,2 @@\n }\n-other\n+END\n")
    (switch-to-buffer (current-buffer))
    (aqd-press "a n")
    ;; What was shown is not what is seen any more: N is about hunks again.
    (should (equal "No further hunk fails to apply" (aqd-said (aqd-press "N"))))
    (should (string-match-p "\\`Place 1 of 4" (aqd-said (aqd-press "p a"))))
    (should (equal (aqd-disk) (concat aqd-equal-blocks "end\n")))))

(ert-deftest aqd-places-one-that-was-shown-before-an-edit-is-shown-again ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (switch-to-buffer (current-buffer))
    (aqd-press "a")
    (with-current-buffer (aqd-target-of review)
      (goto-char (point-min))
      (insert "typed\n"))
    (should (string-match-p "\\`Place 1 of 4" (aqd-said (aqd-press "a"))))
    (should (equal (aqd-disk) aqd-equal-blocks))))

(ert-deftest aqd-places-the-offered-one-follows-what-is-typed ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (switch-to-buffer (current-buffer))
    ;; One more block above, before any place was shown.
    (with-current-buffer (aqd-target-of review)
      (goto-char (point-min))
      (forward-line 1)
      (insert "{\n  x\n}\n"))
    (should (string-match-p "\\`Place 1 of 5: line 13 of" (aqd-said (aqd-press "a"))))
    ;; Another one while a place is shown that is not the likeliest.
    (aqd-press "N")
    (let ((line (aqd-places-point review)))
      (with-current-buffer (aqd-target-of review)
        (goto-char (point-min))
        (insert "{\n  x\n}\n"))
      (aqd-press "a")
      (should (= (+ 3 line) (aqd-places-point review)))
      ;; And taken out again.
      (with-current-buffer (aqd-target-of review)
        (goto-char (point-min))
        (delete-region (point) (line-beginning-position 4)))
      (aqd-press "n p")
      (aqd-press "a")
      (should (= line (aqd-places-point review))))))

(ert-deftest aqd-places-the-offered-one-follows-a-revert ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (switch-to-buffer (current-buffer))
    (should (string-match-p "\\`Place 1 of 4: line 10 of" (aqd-said (aqd-press "a"))))
    (write-region (concat "a\nb\nc\n" aqd-equal-blocks) nil aqd-file nil 'silent)
    (with-current-buffer (aqd-target-of review)
      (revert-buffer t t))
    (should (string-match-p "\\`Place 1 of 4: line 13 of" (aqd-said (aqd-press "a"))))
    (aqd-press "a")
    (should (equal (concat "a\nb\nc\n" (aqd-equal-blocks-with-line-in 2)) (aqd-disk)))))

(ert-deftest aqd-places-accept-all-leaves-out-what-nobody-named ()
  (aqd-with-patch-review aqd-equal-blocks aqd-equal-blocks-diff
    (should (string-match-p "Not finished: hunk 1: its lines fit more than one place"
                            (aqd-said (agent-q-diff-accept-all))))
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-ambiguous)
    (should-error (agent-q-diff-accept review 0 2) :type 'agent-q-diff-not-found)
    (should (equal (aqd-disk) aqd-equal-blocks))
    (agent-q-diff-finish)
    (should (eq (answer :status) 'stale))
    (should (equal (plist-get (car (answer :hunks)) :places) '(1 4 7 10)))))

(ert-deftest aqd-places-of-a-diff-typed-by-hand-are-shown-too ()
  (aqd-with-file aqd-equal-blocks
    (aqd-with-diff aqd-equal-blocks-diff
      (aqd-goto-hunk 1)
      (should (string-match-p "\\`Place 1 of 4" (aqd-said (agent-q-diff-accept-hunk))))
      (agent-q-diff-next-conflict)
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 1))))))

(ert-deftest aqd-places-one-that-was-shown-is-of-the-hunk-not-of-its-number ()
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
                  (agent-q-diff-signs-follow)
                  (let ((before (aqd-target)))
                    (aqd-goto-hunk 3)
                    (agent-q-diff-accept-hunk)
                    (should (equal before (aqd-target)))
                    (aqd-goto-hunk 1)
                    (aqd-split-sides)
                    (aqd-goto-hunk 3)
                    (agent-q-diff-accept-hunk)
                    (should (equal before (aqd-target))))
                  (agent-q-diff-reject-all))))))

;;; The current hunk

(defun aqd-current-marked ()
  "Return the text of this buffer that the bar marks, or nil."
  (let ((overlay (cl-find-if (lambda (overlay) (overlay-get overlay 'line-prefix))
                             (overlays-in (point-min) (point-max)))))
    (and overlay
         (buffer-substring-no-properties (overlay-start overlay) (overlay-end overlay)))))

(defun aqd-current-visible-p ()
  "Return non-nil if the whole hunk at point is in the selected window."
  (let ((hunk (agent-q-diff-buffer-hunk-at-point)))
    (and (<= (window-start) (agent-q-diff-buffer-position hunk))
         (<= (agent-q-diff-buffer-hunk-end hunk)
             (save-excursion
               (goto-char (window-start))
               (vertical-motion (window-body-height))
               (point))))))

(defmacro aqd-current-with-review (original modified &rest body)
  "Run BODY in a window that shows a review of the change ORIGINAL to MODIFIED."
  (declare (indent 2) (debug t))
  `(aqd-with-open-review ,original ,modified
     (save-window-excursion
       (delete-other-windows)
       (switch-to-buffer (agent-q-diff-session-buffer review))
       ,@body)
     (agent-q-diff-cancel review)))

(ert-deftest aqd-current-bar-is-on-the-hunk-at-point ()
  (aqd-current-with-review (aqd-numbered 60)
      (aqd-numbered 60 '((5 . "a") (20 . "b") (35 . "c")))
    (should (string= " " line-prefix))
    (aqd-press "n")
    (should (string-match-p "\\`@@ -17,7 .*\n.*\n.*\n.*\n-line 20\n\\+b\n.*\n.*\n.*\n\\'"
                            (aqd-current-marked)))
    (aqd-press "a")
    (should (string-prefix-p "@@ -32,7" (aqd-current-marked)))
    ;; Lines that become a hunk of their own are another hunk.
    (aqd-press "p p")
    (let ((whole (aqd-current-marked)))
      (re-search-forward "^-line 5")
      (aqd-press "v a")
      (should-not (string-search (aqd-current-marked) whole)))
    (aqd-press "M-<")
    (should-not (aqd-current-marked))))

(ert-deftest aqd-current-hunk-is-visible-after-each-move-and-decision ()
  (let* ((changes (mapcar (lambda (n) (cons (* 9 n) (format "new %d" n)))
                          (number-sequence 1 30)))
         (window-min-height 2))
    (aqd-current-with-review (aqd-numbered 300) (aqd-numbered 300 changes)
      (split-window nil -6)
      (should (> (window-body-height) 8))
      (dotimes (step 80)
        (aqd-press (nth (mod step 7) '("n" "a" "n" "r" "p" "a" ".")))
        (should (aqd-current-visible-p))
        (should (save-excursion (goto-char (window-start)) (bolp)))))))

(ert-deftest aqd-current-hunk-stays-visible-in-a-window-that-shrinks ()
  (aqd-current-with-review (aqd-numbered 60)
      (aqd-numbered 60 '((5 . "a") (20 . "b") (35 . "c")))
    (aqd-press "n")
    (set-window-start nil (point-min))
    (let ((window-min-height 4))
      (split-window nil 12)
      (should-not (aqd-current-visible-p))
      ;; Any command may have split it.
      (aqd-press "C-a")
      (should (aqd-current-visible-p))
      ;; Nobody who scrolls is scrolled back.
      (set-window-start nil (line-beginning-position 2))
      (let ((start (window-start)))
        (aqd-press "C-e")
        (should (= start (window-start)))))))

(ert-deftest aqd-current-of-a-hunk-that-does-not-fit-the-first-lines-are-visible ()
  (aqd-current-with-review (aqd-numbered 100)
      (apply #'aqd-numbered 100
             (list (append '((5 . "a"))
                           (mapcar (lambda (n) (cons n (format "new %d" n)))
                                   (number-sequence 30 80)))))
    (aqd-press "n")
    (should (= (window-start) (aref agent-q-diff-buffer-positions 1)))
    ;; A key that decides leaves point visible, wherever it was.
    (goto-char (point-max))
    (forward-line -3)
    (set-window-start nil (save-excursion (forward-line -3) (point)))
    (aqd-press "u")
    (should (<= (window-start) (point)))
    (should (> (point) (window-start)))))

(defun aqd-current-first-line (text description height)
  "Return the first line of a window of HEIGHT with a new review of TEXT.
The agent says DESCRIPTION.  Point is in the window, with the line below it."
  (aqd-with-frame 80 height
    (aqd-with-file text
      (let ((review (agent-q-diff-review aqd-file (aqd-numbered 40)
                                         (aqd-numbered 40 '((5 . "a"))) description #'ignore)))
        (unwind-protect
            (save-window-excursion
              (switch-to-buffer (agent-q-diff-session-buffer review))
              (delete-other-windows)
              (set-window-start nil (point-min))
              (agent-q-diff-current-appear (selected-window))
              (should (looking-at-p "@@ -[23],7"))
              (should (< (line-beginning-position 2)
                         (agent-q-diff-current-lines-below
                          (window-start) (window-body-height) (selected-window))))
              (goto-char (window-start))
              (buffer-substring-no-properties (point) (line-end-position)))
          (agent-q-diff-cancel review))))))

(ert-deftest aqd-current-window-begins-with-the-description ()
  (dolist (height '(13 24 40))
    (dolist (text (list (aqd-numbered 40) (concat "top\n" (aqd-numbered 40))))
      (pcase-dolist (`(,description . ,first)
                     `(("d" . "# Description: d")
                       (,(aqd-numbered 50) . "# Description: line 1")
                       ;; An agent's own tool has none.
                       ("" . ,(if (string-prefix-p "top" text) "# Note: " "@@ -2,7"))))
        (ert-info ((format "%d lines, %S" height (list (substring text 0 4) first)))
          (should (string-prefix-p first
                                   (aqd-current-first-line text description height))))))))

(ert-deftest aqd-current-window-begins-with-an-old-and-a-new-line-before-the-description ()
  (let ((text (aqd-numbered 40)))
    ;; The header, three lines of context, the old line and the new one.
    (should (string-prefix-p "# Description: d" (aqd-current-first-line text "d" 10)))
    (should (string-prefix-p "@@ -2,7" (aqd-current-first-line text "d" 9)))))

(ert-deftest aqd-progress-header-line-has-the-file-first-where-there-is-room ()
  (dolist (case '((90 . " target.txt: hunk 1/1 · +1 -1 · 1 pending · Agent-Q")
                  (89 . " Agent-Q · +1 -1 · 1 pending · target.txt: hunk 1/1")
                  (44 . " Agent-Q · +1 -1 · 1 pending · target.txt: hunk 1/1")))
    (aqd-with-frame (car case) 24
      (aqd-with-file "a\n"
        (aqd-call "a\n" "b\n"
                  (lambda ()
                    (agent-q-diff-progress-update-header-line)
                    (should (string-prefix-p (cdr case)
                                             (substring-no-properties header-line-format)))
                    (agent-q-diff-finish)))))))

(ert-deftest aqd-current-window-too-low-for-all-begins-with-the-notes-or-the-hunk ()
  (let ((text (concat "top\n" (aqd-numbered 40))))
    (should (string-prefix-p "# Note: The file" (aqd-current-first-line text "d\ne" 6)))
    (should (string-prefix-p "@@ -" (aqd-current-first-line text "d" 4)))))

(ert-deftest aqd-current-description-stays-until-a-key-moves-to-a-hunk ()
  (aqd-with-frame 80 12
    (aqd-with-open-review (aqd-numbered 40) (aqd-numbered 40 '((5 . "a") (30 . "b")))
      (save-window-excursion
        (switch-to-buffer (agent-q-diff-session-buffer review))
        (delete-other-windows)
        (agent-q-diff-current-appear (selected-window))
        (agent-q-diff-current-after-command)
        (should (= (point-min) (window-start)))
        (aqd-press "C-n C-n")
        (should (= (point-min) (window-start)))
        (aqd-press "n")
        (should (aqd-current-visible-p))
        (should (< (point-min) (window-start))))
      (agent-q-diff-cancel review))))

(ert-deftest aqd-current-bar-is-on-a-header-below-hidden-lines ()
  ;; What is hidden at the beginning of a line decides what is left of it.
  (aqd-with-open-review (aqd-numbered 40) (aqd-numbered 40 '((5 . "a")))
    (aqd-in-diff review
      (agent-q-diff-current--mark)
      (should (string-prefix-p "--- " (aqd-current-marked)))
      (should (string-match-p "\\`--- .*\n\\+\\+\\+ .*\n@@ -2,7 " (aqd-current-marked))))
    (agent-q-diff-cancel review)))

(ert-deftest aqd-current-an-agent-s-words-are-no-note ()
  (aqd-with-file (aqd-numbered 40)
    (let ((review (agent-q-diff-review aqd-file (aqd-numbered 40)
                                       (aqd-numbered 40 '((5 . "a")))
                                       "Fix\nNote: all is well" #'ignore)))
      (save-window-excursion
        (switch-to-buffer (agent-q-diff-session-buffer review))
        (set-window-start nil (point-min))
        (agent-q-diff-current-appear (selected-window))
        (should-not (text-property-any (point-min) (point-max) 'agent-q-diff-note t)))
      ;; On one line it has no line's end to show.
      (should (equal "Fix Note: all is well" (agent-q-diff-session-said review)))
      (agent-q-diff-cancel review))))

(ert-deftest aqd-current-a-diff-of-the-user-s-own-has-no-header-line ()
  (aqd-with-file "a\n"
    (aqd-with-diff "@@ -1 +1 @@\n-a\n+b\n"
      (save-window-excursion
        (switch-to-buffer (current-buffer))
        (aqd-press "n r")
        (should-not header-line-format)))))

(ert-deftest aqd-current-moving-in-a-hunk-counts-no-screen-lines ()
  "That takes most of the time of a key, and is needed only if something changes."
  (aqd-with-shown-review (aqd-numbered 30) (aqd-numbered 30 '((10 . "TEN") (20 . "x")))
    (let ((n 0))
      (cl-letf* (;; In batch nothing is displayed.
                 ((symbol-function 'pos-visible-in-window-p) #'always)
                 (count (symbol-function 'agent-q-diff-current-lines-below))
                 ((symbol-function 'agent-q-diff-current-lines-below)
                  (lambda (&rest arguments)
                    (cl-incf n)
                    (apply count arguments))))
        (aqd-press "C-f")
        (setq n 0)
        (aqd-press "C-f C-n C-b C-p")
        (should (= n 0))
        ;; Another hunk, another size of the window.
        (aqd-press "n")
        (should (< 0 n))
        (setq n 0)
        (split-window-below)
        (aqd-press "C-f")
        (should (< 0 n))
        (delete-other-windows)))))

(provide 'agent-q-diff-display-test)
;;; agent-q-diff-display-test.el ends here
