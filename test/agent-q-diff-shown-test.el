;;; agent-q-diff-shown-test.el --- Which changed lines have been on the screen  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-shown)

(defmacro aqd-shown-with (original modified &rest body)
  "Run BODY in the diff buffer of a review that makes MODIFIED of ORIGINAL.
It counts as one that somebody looks at, but so far nothing was shown."
  (declare (indent 2) (debug t))
  `(let ((original ,original))
     (aqd-with-open-review original ,modified
       (aqd-in-diff review
         (pop-to-buffer (current-buffer))
         (let ((agent-q-diff-shown--timer t)
               (agent-q-diff-confirm-finish t))
           ,@body))
       (agent-q-diff-cancel review))))

(defun aqd-shown-look (regexp &optional columns)
  "Look at the lines that match REGEXP, of which COLUMNS are in the window."
  (save-excursion
    (goto-char (point-min))
    (while (re-search-forward regexp nil t)
      (agent-q-diff-shown--note-between (line-beginning-position) (line-end-position)
                                        columns nil))))

(defun aqd-shown-lines (&rest changes)
  "Return 60 lines, with CHANGES, an alist from numbers to texts."
  (mapconcat (lambda (n) (concat (or (alist-get n changes) (format "line %d" n)) "\n"))
             (number-sequence 1 60) ""))

(ert-deftest aqd-shown-a-hunk-is-shown-when-all-its-changed-lines-are ()
  (aqd-shown-with (aqd-shown-lines) (aqd-shown-lines '(10 . "ten\neleven") '(40 . "forty"))
    (should-not (agent-q-diff-shown-p 0))
    (aqd-shown-look "^[+]ten\\|^-line 10")
    (should-not (agent-q-diff-shown-p 0))
    (aqd-shown-look "^[+]eleven")
    (should (agent-q-diff-shown-p 0))
    (should-not (agent-q-diff-shown-p 1))
    (should (equal '(1) (agent-q-diff-shown-not '(0 1))))))

(ert-deftest aqd-shown-of-a-line-the-changed-words-are-enough ()
  (let ((long (concat (make-string 100 ?a) " ADMIN=%d end of it all")))
    (aqd-shown-with (aqd-shown-lines (cons 10 (format long 0)))
        (aqd-shown-lines (cons 10 (format long 1)))
      (aqd-shown-look "^[-+]aaa" '(0 . 80))
      (should-not (agent-q-diff-shown-p 0))
      (aqd-shown-look "^[-+]aaa" '(100 . 112))
      (should (agent-q-diff-shown-p 0)))))

(ert-deftest aqd-shown-of-a-new-line-all-is-needed ()
  (aqd-shown-with (aqd-shown-lines)
      (aqd-shown-lines (cons 10 (concat "line 10\n" (make-string 100 ?b))))
    (aqd-shown-look "^[+]bbb" '(0 . 60))
    (should-not (agent-q-diff-shown-p 0))
    (aqd-shown-look "^[+]bbb" '(60 . 200))
    (should (agent-q-diff-shown-p 0))))

(ert-deftest aqd-shown-what-is-folded-or-cut-is-not-shown ()
  (aqd-shown-with (aqd-shown-lines) (aqd-shown-lines '(10 . "ten"))
    (agent-q-diff-buffer-goto-hunk 0)
    (agent-q-diff-fold-hunk)
    (aqd-shown-look "^.+")
    (should-not (agent-q-diff-shown-p 0))
    (agent-q-diff-fold-hunk)
    (aqd-shown-look "^.+")
    (should (agent-q-diff-shown-p 0)))
  (aqd-shown-with (aqd-shown-lines)
      (aqd-shown-lines (cons 10 (concat "line 10\n" (make-string 5000 ?b))))
    (agent-q-diff-long-lines--show (point-min) (point-max))
    (aqd-shown-look "^.+")
    (should-not (agent-q-diff-shown-p 0))))

(ert-deftest aqd-shown-nothing-counts-where-lines-are-hidden-by-their-indentation ()
  (aqd-shown-with (aqd-shown-lines) (aqd-shown-lines '(10 . "        ten"))
    (cl-letf (((symbol-function 'window-end) (lambda (&rest _) (point-max)))
              ((symbol-function 'window-start) (lambda (&rest _) (point-min))))
      (setq selective-display 4)
      (agent-q-diff-shown--note-in (selected-window))
      (should-not (agent-q-diff-shown-p 0))
      (setq selective-display nil)
      (agent-q-diff-shown--note-in (selected-window))
      (should (agent-q-diff-shown-p 0)))))

(ert-deftest aqd-shown-wide-characters-and-tabs-take-their-columns ()
  (with-temp-buffer
    (setq tab-width 8)
    (insert "a\t日本語xyz\n")
    (goto-char (point-min))
    ;; Columns: a 0, tab 1 to 7, each of three 2, so x is in 14.
    (should (equal '(1 . 6) (agent-q-diff-shown--part '(0 . 14))))
    (should (equal '(1 . 5) (agent-q-diff-shown--part '(0 . 13))))
    (should (equal '(6 . 9) (agent-q-diff-shown--part '(14 . 30))))
    (put-text-property 3 6 'display "…")
    (should (equal '(1 . 7) (agent-q-diff-shown--part '(0 . 10))))
    ;; What another window displays there does not matter.
    (save-window-excursion
      (let ((other (split-window)))
        (set-window-buffer nil (current-buffer))
        (set-window-buffer other (current-buffer))
        (let ((overlay (make-overlay 1 9)))
          (overlay-put overlay 'display "")
          (overlay-put overlay 'window other))
        (should (equal '(1 . 7) (agent-q-diff-shown--part '(0 . 10) (selected-window))))))))

(ert-deftest aqd-shown-a-split-does-not-change-what-was-shown ()
  (aqd-shown-with (aqd-shown-lines) (aqd-shown-lines '(10 . "ten") '(12 . "twelve"))
    (aqd-shown-look "ten\\|line 10")
    (agent-q-diff-buffer-goto-hunk 0)
    (agent-q-diff-split-hunk)
    (should (agent-q-diff-shown-p 0))
    (should-not (agent-q-diff-shown-p 1))
    (agent-q-diff-undo)
    (should-not (agent-q-diff-shown-p 0))
    (aqd-shown-look "twelve\\|line 12")
    (should (agent-q-diff-shown-p 0))))

(ert-deftest aqd-shown-only-one-line-is-scrolled-if-the-user-wants-that ()
  (cl-letf (((symbol-function 'window-hscroll) (lambda (&optional _) 50)))
    (with-temp-buffer
      (setq truncate-lines t)
      (let ((auto-hscroll-mode t))
        (should (< 80 (cdr (agent-q-diff-shown--columns (selected-window))))))
      (let ((auto-hscroll-mode 'current-line))
        (should (equal (agent-q-diff-shown-width (selected-window))
                       (cdr (agent-q-diff-shown--columns (selected-window)))))))))

(ert-deftest aqd-shown-what-is-not-in-the-buffer-yet-is-not-shown ()
  (aqd-shown-with (aqd-shown-lines) (aqd-shown-lines '(10 . "ten") '(40 . "forty"))
    (aqd-shown-look "^.+")
    (should (equal '(t t) (mapcar #'agent-q-diff-shown-p '(0 1))))
    (cl-letf (((symbol-function 'agent-q-diff-buffer-n-inserted) (lambda () 1)))
      (should (equal '(1) (agent-q-diff-shown-not '(0 1)))))))

(ert-deftest aqd-shown-of-what-changes-no-lines-the-line-that-says-so-is-needed ()
  (aqd-with-file "one\ntwo\n"
    (let* ((default-directory (file-name-directory aqd-file))
           (review (agent-q-diff-review-change (list (list :path aqd-file :to "other.txt"))
                                               "Rename" #'ignore)))
      (aqd-in-diff review
        (let ((agent-q-diff-shown--timer t))
          (should-not (agent-q-diff-shown-p 0))
          (aqd-shown-look "renam")
          (should (agent-q-diff-shown-p 0))))
      (agent-q-diff-cancel review))))

;;;; What commands say

(defun aqd-shown-calls ()
  "Return a text in which line 10, 20 and 30 call the same, and 50 something else."
  (aqd-shown-lines '(10 . "call(old)") '(20 . "call(old)") '(30 . "call(old)")))

(defun aqd-shown-renamed ()
  "Return what becomes of `aqd-shown-calls'."
  (replace-regexp-in-string
   "old" "new" (replace-regexp-in-string "line 50" "other 50" (aqd-shown-calls))))

(defun aqd-shown-key (command)
  "Carry out COMMAND as by a key, and return the message."
  (setq last-command this-command
        this-command command)
  (or (aqd-said (call-interactively command)) ""))

(ert-deftest aqd-shown-equal-changes-say-what-was-not-shown ()
  (aqd-shown-with (aqd-shown-calls) (aqd-shown-renamed)
    (agent-q-diff-buffer-goto-hunk 0)
    (let ((at (agent-q-diff-buffer-position 0)))
      (agent-q-diff-shown--note-between at (agent-q-diff-buffer-hunk-end 0) nil nil))
    (should (string-match-p "3 hunks alike applied; 2 of 3 not shown (H shows, u takes back)\\'"
                            (aqd-shown-key #'agent-q-diff-accept-alike)))
    (should (string-match-p "2 hunks pending\\|2 hunks taken out"
                            (aqd-shown-key #'agent-q-diff-unapply-hunk)))
    (should (equal '(applied nil nil nil) (append agent-q-diff-buffer-marks nil)))))

(ert-deftest aqd-shown-selected-lines-of-several-hunks-say-it-too ()
  (aqd-shown-with (aqd-shown-calls) (aqd-shown-renamed)
    (aqd-shown-look "^[-+]other\\|line 50")
    (goto-char (point-max))
    (let ((transient-mark-mode t)
          (mark-active t))
      (set-mark (point-min))
      (should (string-match-p "4 hunks applied; 3 of 4 not shown (H shows, u takes back)\\'"
                              (aqd-shown-key #'agent-q-diff-accept-hunk))))
    (aqd-shown-key #'agent-q-diff-unapply-hunk)
    (should (equal '(nil nil nil applied) (append agent-q-diff-buffer-marks nil)))))

(ert-deftest aqd-shown-what-is-rejected-before-the-write-is-undone ()
  "It is in no file, so the key that takes out cannot take it back."
  (aqd-shown-with (aqd-shown-calls) (aqd-shown-renamed)
    (agent-q-diff-buffer-goto-hunk 0)
    (should (string-match-p "3 hunks alike rejected; 3 of 3 not shown (H shows, [^ ]+ undoes)\\'"
                            (aqd-shown-key #'agent-q-diff-reject-alike)))
    (should (string-match-p "3 hunks were decided and not shown\\'" (aqd-shown-unseen)))
    (agent-q-diff-undo)
    (should (equal '(nil nil nil nil) (append agent-q-diff-buffer-marks nil)))
    (aqd-shown-unseen)
    ;; Of both kinds, the key takes what is in the file.
    (aqd-shown-key #'agent-q-diff-reject-alike)
    (agent-q-diff-buffer-goto-hunk 3)
    (aqd-shown-key #'agent-q-diff-accept-hunk)
    (aqd-shown-key #'agent-q-diff-next-hunk)
    (should (string-match-p "4 hunks were decided and not shown; u takes 1 of them back"
                            (aqd-shown-unseen)))
    (aqd-shown-key #'agent-q-diff-unapply-hunk)
    (should (equal '(rejected rejected rejected nil) (append agent-q-diff-buffer-marks nil)))))

(ert-deftest aqd-shown-nothing-is-said-when-all-was-shown ()
  (aqd-shown-with (aqd-shown-calls) (aqd-shown-renamed)
    (agent-q-diff-buffer-goto-hunk 0)
    (aqd-shown-look "^.+")
    (should-not (string-search "not shown" (aqd-shown-key #'agent-q-diff-accept-alike)))
    ;; Then the key is for the hunk at point again.
    (agent-q-diff-buffer-goto-hunk 0)
    (aqd-shown-key #'agent-q-diff-unapply-hunk)
    (should (equal '(nil applied applied nil) (append agent-q-diff-buffer-marks nil)))))

(ert-deftest aqd-shown-the-last-key-says-it-before-the-review-ends ()
  (aqd-shown-with (aqd-shown-calls) (aqd-shown-renamed)
    (aqd-shown-look "^[-+]call")
    (should (string-match-p "4 hunks applied; 1 of 4 not shown (H shows, u takes back), C-c C-c finishes\\'"
                            (aqd-shown-key #'agent-q-diff-accept-all)))
    (should-not aqd-answers)
    (aqd-shown-key #'agent-q-diff-accept-all)
    (should (equal "accepted" (plist-get (car aqd-answers) :decision)))))

(ert-deftest aqd-shown-a-view-has-just-what-was-not-shown ()
  (aqd-shown-with (aqd-shown-calls) (aqd-shown-renamed)
    (should-error (agent-q-diff-unseen-mode) :type 'user-error)
    (aqd-shown-look "^[-+]other\\|line 50")
    (agent-q-diff-buffer-goto-hunk 0)
    (aqd-shown-key #'agent-q-diff-accept-alike)
    (agent-q-diff-buffer-goto-hunk 3)
    (aqd-shown-key #'agent-q-diff-accept-hunk)
    (should (string-match-p "3 hunks were decided and not shown; u takes all of them back"
                            (let ((this-command 'agent-q-diff-unseen-mode))
                              (aqd-said (agent-q-diff-unseen-mode)))))
    (setq this-command 'agent-q-diff-unseen-mode)
    (should (equal '(nil nil nil t)
                   (mapcar (lambda (hunk) (and (agent-q-diff-filter-hidden-p hunk) t))
                           '(0 1 2 3))))
    ;; They stay, although they are seen now.
    (aqd-shown-look "^.+")
    (agent-q-diff-filter-update)
    (should-not (agent-q-diff-filter-hidden-p 0))
    (aqd-shown-key #'agent-q-diff-unapply-hunk)
    (should (equal '(nil nil nil applied) (append agent-q-diff-buffer-marks nil)))))

(defun aqd-shown-unseen ()
  "Toggle the view of what was decided unseen, and return the message."
  (setq last-command this-command
        this-command #'agent-q-diff-unseen-mode)
  ;; Called interactively, a minor mode has a message of its own in batch.
  (aqd-said (agent-q-diff-unseen-mode 'toggle)))

(ert-deftest aqd-shown-the-view-has-what-the-message-counted-although-a-window-shows-it ()
  (aqd-shown-with (aqd-shown-calls) (aqd-shown-renamed)
    (aqd-shown-look "^[-+]other\\|line 50")
    (agent-q-diff-buffer-goto-hunk 0)
    (should (string-search "3 of 3 not shown" (aqd-shown-key #'agent-q-diff-accept-alike)))
    ;; The window has followed point meanwhile.
    (aqd-shown-look "^.+")
    (should (string-match-p "3 hunks were decided and not shown"
                            (aqd-shown-unseen)))
    (should-not (agent-q-diff-filter-hidden-p 1))
    (aqd-shown-unseen)
    ;; Another command between changes nothing, nor does a later decision.
    (agent-q-diff-buffer-goto-hunk 3)
    (aqd-shown-key #'agent-q-diff-accept-hunk)
    (aqd-shown-key #'agent-q-diff-next-hunk)
    (should (string-match-p "3 hunks were decided and not shown"
                            (aqd-shown-unseen)))
    (aqd-shown-unseen)
    ;; What is pending again, and then decided, was seen.
    (agent-q-diff-buffer-goto-hunk 0)
    (aqd-shown-key #'agent-q-diff-unapply-hunk)
    (agent-q-diff-buffer-goto-hunk 0)
    (aqd-shown-key #'agent-q-diff-accept-hunk)
    (should (string-match-p "2 hunks were decided and not shown"
                            (aqd-shown-unseen)))))

(provide 'agent-q-diff-shown-test)
;;; agent-q-diff-shown-test.el ends here
