;;; agent-q-diff-side-test.el --- Old and new lines in two windows  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-side)

(defmacro aqd-side-with-review (original modified keywords &rest body)
  "Run BODY in the diff buffer of a review of MODIFIED for ORIGINAL, side by side.
KEYWORDS are further arguments of `agent-q-diff-review', a list."
  (declare (indent 3) (debug t))
  `(aqd-with-file ,original
     (aqd-with-frame 120 30
       (let ((review (apply #'agent-q-diff-review aqd-file ,original ,modified "Why" #'ignore
                            ,keywords)))
         (unwind-protect
             (progn
               (switch-to-buffer (agent-q-diff-session-buffer review))
               (delete-other-windows)
               (agent-q-diff-side-by-side-mode)
               ,@body)
           (when (memq review (agent-q-diff-open-reviews))
             (agent-q-diff-cancel review)))))))

;;;; What a window shows

(defun aqd-side-strings (position window)
  "Return the rows of strings above POSITION in WINDOW, a list of strings."
  (let ((overlays (seq-filter (lambda (overlay)
                                (and (= position (overlay-end overlay))
                                     (overlay-get overlay 'after-string)
                                     (memq (overlay-get overlay 'window) (list nil window))))
                              (overlays-in (max (point-min) (1- position))
                                           (min (point-max) (1+ position))))))
    (mapcan (lambda (overlay)
              (butlast (split-string (substring-no-properties
                                      (overlay-get overlay 'after-string))
                                     "\n")))
            (seq-sort-by (lambda (overlay) (- (or (overlay-get overlay 'priority) 0)))
                         #'< overlays))))

(defun aqd-side-rows (window)
  "Return the rows that WINDOW shows from its beginning to the end of the buffer."
  (save-excursion
    (goto-char (window-start window))
    (let ((rows (reverse (aqd-side-strings (point) window))))
      (while (not (eobp))
        (if (get-char-property (point) 'agent-q-diff-hidden window)
            (goto-char (next-single-char-property-change (point) 'agent-q-diff-hidden))
          (push (let ((shown (get-char-property (point) 'display window)))
                  (if (equal " " shown)
                      ""
                    (buffer-substring-no-properties (point) (line-end-position))))
                rows)
          (forward-line))
        (setq rows (append (reverse (aqd-side-strings (point) window)) rows)))
      (nreverse rows))))

(defun aqd-side-check ()
  "Check that both windows show the same rows, and each only its side."
  (let ((old (aqd-side-rows (car agent-q-diff-side--windows)))
        (new (aqd-side-rows (cdr agent-q-diff-side--windows))))
    (should (= (length old) (length new)))
    (cl-loop for left in old
             for right in new
             do (should-not (string-prefix-p "+" left))
             do (should-not (string-prefix-p "-" right))
             do (should-not (and (equal "" left) (equal "" right)))
             when (or (string-prefix-p " " left) (string-prefix-p " " right)
                      (string-prefix-p "@" left) (string-prefix-p "@" right))
             do (should (equal left right)))))

(defun aqd-side-lay-all ()
  "Lay out all hunks of this buffer."
  (agent-q-diff-buffer-complete)
  (agent-q-diff-side--lay-between (point-min) (point-max)))

;;;; Rows

(defconst aqd-side-old "1\nalpha one\nbeta two three\ngamma four\n2\n3\n")
(defconst aqd-side-new "1\nalpha 1 one\ngamma 4 four\n2\nadded\nadded too\n3\n")

(ert-deftest aqd-side-lines-that-belong-together-are-on-one-row ()
  (aqd-side-with-review aqd-side-old aqd-side-new nil
    (aqd-side-lay-all)
    (goto-char (agent-q-diff-buffer-position 0))
    (pcase-let ((`(,old . ,new) agent-q-diff-side--windows))
      (should (eq new (selected-window)))
      (set-window-start new (point))
      (agent-q-diff-side--align new)
      (should (equal '("@@ -1,6 +1,7 @@" " 1" "-alpha one" "-beta two three" "-gamma four" " 2"
                       "" "" " 3")
                     (aqd-side-rows old)))
      (should (equal '("@@ -1,6 +1,7 @@" " 1" "+alpha 1 one" "" "+gamma 4 four" " 2"
                       "+added" "+added too" " 3")
                     (aqd-side-rows new))))))

(ert-deftest aqd-side-very-long-lines-end-beyond-the-edge-and-stay-beside-each-other ()
  (let ((long (make-string 3000 ?a)))
    (aqd-side-with-review (concat "1\n" long " one\n2\n") (concat "1\n" long " two\n2\n" long "\n") nil
      (cl-flet ((n-blocks ()
                  (seq-count (lambda (overlay) (overlay-get overlay 'agent-q-diff-side-block))
                             (overlays-in (point-min) (point-max))))
                (n-seen ()
                  (cl-loop for at from (line-beginning-position) below (line-end-position)
                           count (not (invisible-p at)))))
        (agent-q-diff-long-lines--show (point-min) (point-max))
        (aqd-side-lay-all)
        (should (= 2 (n-blocks)))
        ;; When it is laid out anew, they are cut already.
        (agent-q-diff-side--clear)
        (aqd-side-lay-all)
        (should (= 2 (n-blocks)))
        (goto-char (agent-q-diff-buffer-position 0))
        (set-window-start (selected-window) (point))
        (agent-q-diff-side--align (selected-window))
        (aqd-side-check)
        (re-search-forward "^[+]aaa.*a$")
        (should (< (agent-q-diff-shown-width (selected-window)) (n-seen)
                   (* 3 (agent-q-diff-shown-width (selected-window)))))
        (agent-q-diff-expand-line)
        (agent-q-diff-long-lines--show (line-beginning-position) (line-end-position))
        (should (= (- (line-end-position) (line-beginning-position)) (n-seen)))
        (re-search-backward "^[+]aaa.*two$")
        (should-not (invisible-p (1- (line-end-position))))))))

(defun aqd-side-random-text (lines)
  "Return random LINES changed: some are gone, some new, some different."
  (apply #'concat
         (mapcan (lambda (line)
                   (pcase (random 8)
                     (0 nil)
                     (1 (list line "new\n" "new too\n"))
                     (2 (list (concat "x " line)))
                     (3 (list "other\n" (concat line) ))
                     (_ (list line))))
                 lines)))

(ert-deftest aqd-side-wherever-one-window-begins-the-other-shows-the-same-rows ()
  (dotimes (seed 12)
    (random (format "side %d" seed))
    (let* ((lines (cl-loop for n from 1 to 60
                           collect (format "%s %d\n" (nth (random 3) '("alpha" "beta" "x")) n)))
           (original (concat (apply #'concat lines) (if (= 0 (random 3)) "no line end" "")))
           (gone (append (seq-take lines 20) (seq-drop lines (+ 20 (random 35)))))
           (agent-q-diff-context-length (random 4)))
      (aqd-side-with-review original (aqd-side-random-text gone)
          (list :annotations (list (cons 2 "Noted.\nTwice.") (cons 30 "And here.")))
        (aqd-side-lay-all)
        (pcase-dolist (`(,window . ,_) (list agent-q-diff-side--windows
                                             (list (cdr agent-q-diff-side--windows))))
          (with-selected-window window
            (goto-char (agent-q-diff-buffer-position 0))
            (while (not (eobp))
              ;; A window begins with a line that it shows.
              (unless (get-char-property (point) 'agent-q-diff-hidden window)
                (set-window-start window (point))
                (agent-q-diff-side--align window)
                (aqd-side-check))
              (forward-line))))))))

(ert-deftest aqd-side-hunks-that-are-hidden-in-part-stay-as-they-are ()
  (let* ((agent-q-diff-hunk-lines 10)
         (old (mapconcat (lambda (n) (format "a %d\n" n)) (number-sequence 1 30) ""))
         (new (mapconcat (lambda (n) (format "b %d\n" n)) (number-sequence 1 30) "")))
    (aqd-side-with-review old new nil
      (aqd-side-lay-all)
      (should-not (seq-some (lambda (overlay) (overlay-get overlay 'agent-q-diff-side-block))
                            (overlays-in (point-min) (point-max))))
      (agent-q-diff-expand-line)
      (aqd-side-lay-all)
      (should (seq-some (lambda (overlay) (overlay-get overlay 'agent-q-diff-side-block))
                        (overlays-in (point-min) (point-max)))))))

;;;; Deciding

(ert-deftest aqd-side-a-region-is-of-rows ()
  (aqd-side-with-review "1\nb\nc\nd\n2\n" "1\nb2\nc2\nd2\n2\n" nil
    (aqd-side-lay-all)
    (pcase-dolist (`(,window ,line) (list (list (car agent-q-diff-side--windows) "-c")
                                          (list (cdr agent-q-diff-side--windows) "+c2")))
      (select-window window)
      (goto-char (point-min))
      (search-forward (concat "\n" line "\n"))
      (forward-line -1)
      (transient-mark-mode)
      (push-mark (line-end-position) t t)
      (agent-q-diff-accept-hunk)
      (should (equal "1\nb\nc2\nd\n2\n" (aqd-bytes-of aqd-file)))
      (should (= 3 (length agent-q-diff-buffer-positions)))
      (agent-q-diff-undo)
      (should (equal "1\nb\nc\nd\n2\n" (aqd-bytes-of aqd-file)))
      (should (= 1 (length agent-q-diff-buffer-positions)))
      (aqd-side-lay-all))))

;;;; What is shown is what there is

(ert-deftest aqd-side-searching-and-copying-know-what-a-window-shows ()
  (aqd-side-with-review aqd-side-old aqd-side-new nil
    (aqd-side-lay-all)
    (pcase-dolist (`(,window ,wanted ,copied)
                   (list (list (car agent-q-diff-side--windows) "alpha one" "-gamma four\n 2\n")
                         (list (cdr agent-q-diff-side--windows) "alpha 1 one"
                               "+gamma 4 four\n 2\n")))
      (select-window window)
      (goto-char (point-min))
      (should (progn (re-search-forward "^[-+]alpha \\(?:1 \\)?one")
                     (let ((first (match-beginning 0)))
                       (re-search-forward "^[-+]alpha 1 one" nil t)
                       (equal (equal wanted "alpha one")
                              (funcall isearch-filter-predicate first (1+ first))))))
      (goto-char (point-min))
      (let* ((beg (progn (re-search-forward (concat "^" (regexp-quote (substring copied 0 6))))
                         (line-beginning-position)))
             (end (progn (search-forward "\n 2\n") (point))))
        (should (equal copied (filter-buffer-substring beg end)))))))

(ert-deftest aqd-side-the-header-line-counts-what-the-window-shows ()
  (let ((old (mapconcat (lambda (n) (format "line %d\n" n)) (number-sequence 1 50) ""))
        (new (mapconcat (lambda (n) (format "line %d!\n" n)) (number-sequence 1 50) "")))
    (aqd-side-with-review old new nil
      (aqd-side-lay-all)
      (let ((beg (agent-q-diff-buffer-position 0)))
        (should (= 51 (agent-q-diff-current--n-lines beg (agent-q-diff-buffer-hunk-end 0)
                                                     (selected-window))))))))

;;;; Windows

(ert-deftest aqd-side-the-window-that-follows-keeps-its-point-in-view ()
  (let ((old (mapconcat (lambda (n) (format "line %d\n" n)) (number-sequence 1 200) "")))
    (aqd-side-with-review old (concat old (mapconcat #'identity (make-list 100 "new\n") "")) nil
      (aqd-side-lay-all)
      (pcase-let ((`(,old . ,new) agent-q-diff-side--windows))
        ;; Else redisplay would scroll it back to there, and the other one after it.
        (set-window-point new (point-min))
        (set-window-start old (save-excursion
                                (goto-char (agent-q-diff-buffer-position 0))
                                (forward-line 60)
                                (point)))
        (agent-q-diff-side--align old)
        (should (<= (window-start new) (window-point new)))
        (set-window-point new (point-max))
        (agent-q-diff-side--align old)
        (should (<= (count-lines (window-start new) (window-point new))
                    (window-body-height new)))))))

(ert-deftest aqd-side-what-was-set-before-is-set-after ()
  (aqd-side-with-review aqd-side-old aqd-side-new nil
    (agent-q-diff-side-by-side-mode -1)
    (setq truncate-lines t)
    (let ((filter filter-buffer-substring-function))
      (agent-q-diff-side-by-side-mode)
      (agent-q-diff-side-by-side-mode -1)
      (should truncate-lines)
      (should (eq filter filter-buffer-substring-function)))))

(ert-deftest aqd-side-the-diff-stays-in-the-window-that-still-shows-it ()
  (aqd-side-with-review aqd-side-old aqd-side-new nil
    (pcase-let ((`(,old . ,new) agent-q-diff-side--windows))
      (select-window old)
      (set-window-buffer new "*scratch*")
      (run-hooks 'window-configuration-change-hook)
      (should-not agent-q-diff-side-by-side-mode)
      (should (window-live-p old))
      (should (eq (agent-q-diff-session-buffer review) (window-buffer old))))))

(ert-deftest aqd-side-the-overview-is-above-both ()
  (aqd-side-with-review aqd-side-old aqd-side-new nil
    (require 'agent-q-diff-overview)
    (agent-q-diff-overview)
    (with-current-buffer (agent-q-diff-session-buffer review)
      (should (agent-q-diff-side--is-paired)))
    (agent-q-diff-overview-quit)))

(ert-deftest aqd-side-one-window-is-left-when-it-ends ()
  (aqd-side-with-review aqd-side-old aqd-side-new nil
    (should (= 2 (length (window-list))))
    (select-window (car agent-q-diff-side--windows))
    (agent-q-diff-side-by-side-mode -1)
    (should (= 1 (length (window-list))))
    (should (eq (current-buffer) (window-buffer)))
    (should-not (seq-some (lambda (overlay) (overlay-get overlay 'agent-q-diff-side))
                          (overlays-in (point-min) (point-max))))
    (should-not truncate-lines)
    (agent-q-diff-side-by-side-mode)
    (agent-q-diff-finish-now)
    (should (= 1 (length (window-list))))))

(ert-deftest aqd-side-it-ends-when-a-window-shows-something-else ()
  (aqd-side-with-review aqd-side-old aqd-side-new nil
    (aqd-side-lay-all)
    (set-window-buffer (car agent-q-diff-side--windows) "*scratch*")
    (run-hooks 'window-configuration-change-hook)
    (should-not agent-q-diff-side-by-side-mode)
    (should-not agent-q-diff-side--windows)
    ;; The window is somebody else's now.
    (should (= 2 (length (window-list))))))

(ert-deftest aqd-side-a-wide-window-begins-so-if-the-user-wants-that ()
  (aqd-side-with-review aqd-side-old aqd-side-new nil
    (agent-q-diff-side-by-side-mode -1)
    (let ((agent-q-diff-side-by-side-width 121)
          (timers (copy-sequence timer-list)))
      (agent-q-diff-side--appear (selected-window))
      (should-not (seq-difference timer-list timers)))
    (let ((agent-q-diff-side-by-side-width 100)
          (timers (copy-sequence timer-list)))
      (agent-q-diff-side--appear (selected-window))
      ;; It waits until the windows are drawn.
      (mapc (lambda (timer) (timer-event-handler timer)) (seq-difference timer-list timers))
      (should agent-q-diff-side-by-side-mode)
      (should (= 2 (length (window-list))))
      ;; Who turns it off does not get it again.
      (call-interactively #'agent-q-diff-side-by-side-mode)
      (let ((timers (copy-sequence timer-list)))
        (agent-q-diff-side--appear (selected-window))
        (should-not (seq-difference timer-list timers))))))

(ert-deftest aqd-side-a-narrow-window-is-refused ()
  (aqd-side-with-review aqd-side-old aqd-side-new nil
    (agent-q-diff-side-by-side-mode -1)
    (split-window nil 40 t)
    (should-error (agent-q-diff-side-by-side-mode) :type 'user-error)
    (should-not agent-q-diff-side-by-side-mode)
    (should-not agent-q-diff-side--windows)))

;;; agent-q-diff-side-test.el ends here
