;;; agent-q-diff-current-test.el --- The current hunk is marked and visible  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-current)

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
                         (agent-q-diff-current--lines-below
                          (window-start) (window-body-height) (selected-window))))
              (goto-char (window-start))
              (buffer-substring-no-properties (point) (line-end-position)))
          (agent-q-diff-cancel review))))))

(ert-deftest aqd-current-window-begins-with-the-description ()
  (dolist (height '(9 12 24 40))
    (dolist (text (list (aqd-numbered 40) (concat "top\n" (aqd-numbered 40))))
      (pcase-dolist (`(,description . ,first)
                     `(("d" . "# Description: d")
                       (,(aqd-numbered 50) . "# Description: line 1")
                       ;; An agent's own tool has none.
                       ("" . ,(if (string-prefix-p "top" text) "# Note: " "@@ -2,7"))))
        (ert-info ((format "%d lines, %S" height (list (substring text 0 4) first)))
          (should (string-prefix-p first
                                   (aqd-current-first-line text description height))))))))

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
        (agent-q-diff-current--after-command)
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
                 (count (symbol-function 'agent-q-diff-current--lines-below))
                 ((symbol-function 'agent-q-diff-current--lines-below)
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


(provide 'agent-q-diff-current-test)
;;; agent-q-diff-current-test.el ends here
