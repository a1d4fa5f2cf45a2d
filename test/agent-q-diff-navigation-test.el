;;; agent-q-diff-navigation-test.el --- Moving among hunks and to the target  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;; Code:

(require 'imenu)
(require 'outline)
(require 'which-func)
(require 'agent-q-diff-test-help)

;;;; Moving

(ert-deftest aqd-navigation-skips-hunks-that-outline-folds ()
  (aqd-with-elisp-review
    (outline-minor-mode 1)
    (aqd-goto-hunk 2)
    (outline-hide-subtree)
    (should (invisible-p (line-beginning-position 3)))
    (aqd-press "n")
    (should (= 2 (agent-q-diff-buffer-hunk-at-point)))))

(ert-deftest aqd-navigation-stops-at-both-ends ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff (concat "Some prose.\n\n" aqd-bare-diff-of-one)
      (should (equal "Hunk pending (1 of 1)" (aqd-said (agent-q-diff-next-hunk))))
      (should (equal "No next hunk" (aqd-said (agent-q-diff-next-hunk))))
      (should (equal "No previous hunk" (aqd-said (agent-q-diff-previous-hunk))))
      (goto-char (point-max))
      (should (equal 0 (agent-q-diff-buffer-hunk-at-point))))))

(ert-deftest aqd-navigation-conflicts-are-said-and-found ()
  (let ((original (aqd-numbered 60))
        (modified (aqd-numbered 60 '((5 . "a") (20 . "b") (35 . "c") (50 . "d")))))
    (aqd-with-file (aqd-numbered 60 '((20 . "mine") (50 . "mine")))
      (aqd-call original modified
                (lambda ()
                  (should (string-search "of 4 hunks, 2 do not apply" (buffer-string)))
                  (should (string-match-p "4 pending · 2 conflicts · " header-line-format))
                  (should (string-match-p "\\`Hunk pending (2 of 4); its lines"
                                          (aqd-said (aqd-press "N"))))
                  (should (string-match-p "(4 of 4)" (aqd-said (aqd-press "N"))))
                  (should (equal "No further hunk fails to apply"
                                 (aqd-said (aqd-press "N"))))
                  (should (string-match-p "(2 of 4)" (aqd-said (aqd-press "P"))))
                  (agent-q-diff-reject-all))))))

;;;; What other packages ask

(ert-deftest aqd-navigation-imenu-has-the-hunks ()
  (aqd-with-elisp-review
    (aqd-accept 2)
    (should (equal (mapcar #'car (funcall imenu-create-index-function))
                   '("1 pending  @@ -3,7 +3,7 @@ (defun foo ()"
                     "2 applied  @@ -18,7 +18,7 @@ (defun foo ()"
                     "3 pending  @@ -33,7 +33,7 @@ (defun foo ()")))
    (imenu (nth 2 (funcall imenu-create-index-function)))
    (should (= 2 (agent-q-diff-buffer-hunk-at-point)))))

(ert-deftest aqd-navigation-next-error-shows-each-place ()
  (aqd-with-elisp-review
    (next-error 1 t)
    (should (= 0 (agent-q-diff-buffer-hunk-at-point)))
    (next-error)
    (should (= 1 (agent-q-diff-buffer-hunk-at-point)))
    (let ((target (find-buffer-visiting aqd-file)))
      (with-current-buffer target
        (should (= 21 (line-number-at-pos (window-point (get-buffer-window target)))))))
    (next-error)
    (should-error (next-error) :type 'user-error)))

(ert-deftest aqd-navigation-which-function-opens-nothing ()
  (aqd-with-elisp-review
    (aqd-goto-hunk 1)
    (let ((find-file-hook (list (lambda () (ert-fail "a file was opened")))))
      (should (equal "(defun foo ()" (add-log-current-defun))))
    (goto-char (point-min))
    (should-not (add-log-current-defun))))

(ert-deftest aqd-navigation-eldoc-tells-state-and-key ()
  (aqd-with-elisp-review
    (aqd-accept 1)
    (aqd-goto-hunk 1)
    (should (equal (agent-q-diff-navigation--eldoc)
                   "Hunk 1 of 3, applied; u takes it out of the file"))
    (aqd-goto-hunk 2)
    (should (equal (agent-q-diff-navigation--eldoc) "Hunk 2 of 3, pending; a accepts, r rejects"))
    (aqd-in-target (search-forward "line 35") (insert "!"))
    (aqd-goto-hunk 3)
    (should (string-prefix-p "Hunk 3 of 3, does not apply: its lines have been changed"
                             (agent-q-diff-navigation--eldoc)))
    (goto-char (point-min))
    (should-not (agent-q-diff-navigation--eldoc))))

;;;; Following

(ert-deftest aqd-navigation-follow-marks-the-lines-that-a-hunk-touches ()
  (aqd-with-elisp-review
    (let ((marked (lambda ()
                    (with-current-buffer (find-buffer-visiting aqd-file)
                      (mapcar (lambda (overlay)
                                (list (line-number-at-pos (overlay-start overlay))
                                      (line-number-at-pos (overlay-end overlay))))
                              (seq-filter (lambda (overlay)
                                            (eq 'agent-q-diff-place
                                                (overlay-get overlay 'face)))
                                          (overlays-in (point-min) (point-max))))))))
      (aqd-goto-hunk 1)
      (aqd-press "f")
      (should (equal (funcall marked) '((3 10))))
      (aqd-press "n")
      (should (equal (funcall marked) '((18 25))))
      (aqd-in-target (insert "above\n"))
      (aqd-press "p n")
      (should (equal (funcall marked) '((19 26))))
      ;; Of a hunk whose lines are gone the place is left.
      (aqd-in-target (erase-buffer))
      (aqd-press "p")
      (should (equal (funcall marked) '((1 1))))
      (aqd-press "f")
      (should-not agent-q-diff-follow-mode))))

(defun aqd-navigation-places (buffer)
  "Return the overlays in BUFFER that mark a hunk's place."
  (with-current-buffer buffer
    (seq-filter (lambda (overlay) (eq 'agent-q-diff-place (overlay-get overlay 'face)))
                (overlays-in (point-min) (point-max)))))

(ert-deftest aqd-navigation-follow-survives-the-target-and-leaves-no-mark ()
  (aqd-with-file aqd-original-of-two
    (save-window-excursion
      (delete-other-windows)
      (let ((target (find-file-noselect aqd-file))
            (diff nil))
        (switch-to-buffer target)
        (dotimes (_ 2)
          (let ((review (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two
                                             "Twice" #'ignore)))
            (setq diff (agent-q-diff-session-buffer review))
            (pop-to-buffer diff)
            (aqd-press "n p")
            (should (length= (aqd-navigation-places target) 1))
            (agent-q-diff-cancel review)
            (should-not (aqd-navigation-places target))))
        (let ((review (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two
                                           "Killed" #'ignore)))
          (pop-to-buffer (agent-q-diff-session-buffer review))
          (aqd-press "n")
          (kill-buffer target)
          (should-not (string-search "Error in" (or (aqd-said (aqd-press "p n")) "")))
          (should (memq #'agent-q-diff-navigation--follow post-command-hook))
          (agent-q-diff-cancel review))))))

(ert-deftest aqd-navigation-a-file-that-is-alone-on-the-frame-keeps-its-window ()
  "The diff gets the other window, and point stays where the user types."
  (aqd-with-file (aqd-numbered 60)
    (save-window-excursion
      (delete-other-windows)
      (switch-to-buffer (aqd-visit))
      (goto-char 3)
      (let* ((review (agent-q-diff-review aqd-file (aqd-numbered 60)
                                          (aqd-numbered 60 '((5 . "a") (40 . "b")))
                                          "d" #'ignore))
             (buffer (agent-q-diff-session-buffer review))
             (file (selected-window)))
        (unwind-protect
            (progn
              (should (get-buffer-window buffer))
              (with-current-buffer buffer
                (agent-q-diff-navigation--follow))
              (should (get-buffer-window buffer))
              (should (= 3 (window-point file)))
              ;; From the diff's window, the place is shown in the file's.
              (select-window (get-buffer-window buffer))
              (aqd-press "n")
              (should (eq (window-buffer file) (find-buffer-visiting aqd-file)))
              (should (equal "line 40" (with-selected-window file
                                         (buffer-substring (line-beginning-position)
                                                           (line-end-position)))))
              ;; Where the user was is the mark.
              (should (= 3 (with-current-buffer (window-buffer file) (mark t)))))
          (agent-q-diff-cancel review))))))

;;; Hunks that one wants to see, and others

(defconst aqd-filter-original (aqd-numbered 60)
  "A file.")

(defconst aqd-filter-modified
  (aqd-numbered 60 '((5 . "five") (20 . "  line 20") (35 . "x") (50 . "line\t50")))
  "What is proposed for it: the second and the fourth hunk are white space.")

(defmacro aqd-filter-with-review (&rest body)
  "Run BODY in the diff buffer of four hunks, in a window."
  (declare (indent 0) (debug t))
  `(let ((agent-q-diff-white-space-free '("txt")))
     (aqd-with-shown-review aqd-filter-original aqd-filter-modified
       ,@body)))

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

(provide 'agent-q-diff-navigation-test)
;;; agent-q-diff-navigation-test.el ends here
