;;; agent-q-diff-buffer-test.el --- What a diff buffer knows of its hunks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A change of many hunks: what is in the diff buffer at first, and that all
;; of it is there as soon as anybody needs it.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-api)

;;;; Marks that others write

(ert-deftest aqd-buffer-of-several-entries-the-first-counts ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (let ((position (aqd-goto-hunk 1)))
        (sly-agent-q-diff-accept-hunk)
        (push (cons position 'rejected) sly-agent-q-diff--hunk-states)
        (sly-agent-q-diff--update-header)
        (should (equal (aqd-progress) "0/2 applied, 1 rejected, 1 pending"))
        (sly-agent-q-diff-finish)
        (should (equal "rejected" sly-agent-q-diff--decision))))))

(ert-deftest aqd-buffer-entries-that-are-no-hunks-do-not-swell-the-total ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (setq sly-agent-q-diff--hunk-states
            (list (cons 100 'applied) (cons 200 'rejected)))
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "1/2 applied, 1 rejected, 0 pending")))))

(ert-deftest aqd-buffer-ruling-13-variables-survive-turning-the-mode-on ()
  (aqd-with-forty-lines
    (with-temp-buffer
      (dolist (name '("path" "original" "modified" "description" "decision"))
        (set (intern (concat "sly-agent-q-diff--" name)) name))
      (setq sly-agent-q-diff--hunk-states '((1 . applied)))
      (sly-agent-q-diff-mode)
      (dolist (name '("path" "original" "modified" "description" "decision"))
        (should (equal name
                       (symbol-value (intern (concat "sly-agent-q-diff--" name))))))
      (should (equal sly-agent-q-diff--hunk-states '((1 . applied)))))))

(ert-deftest aqd-buffer-ruling-13-states-put-in-by-hand-count ()
  (aqd-with-forty-lines
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (setf (alist-get (aqd-goto-hunk 2) sly-agent-q-diff--hunk-states)
                      'rejected)
                (aqd-goto-hunk 1)
                (agent-q-diff-reject-hunk)
                (should (equal (aqd-progress) "0/3 applied, 2 rejected, 1 pending"))
                (setf (alist-get (aqd-goto-hunk 3) sly-agent-q-diff--hunk-states)
                      'applied)
                (sly-agent-q-diff--update-header)
                (should (equal (aqd-progress) "1/3 applied, 2 rejected, 0 pending"))
                (agent-q-diff-finish)
                (should (equal "accepted" sly-agent-q-diff--decision))))
    (should (equal (aqd-disk) (aqd-three-with)))))

;;;; The lines of hunks

(defun aqd-buffer-kinds ()
  "Return the kinds of the lines of this buffer, a string.
Those of no hunk are dots."
  (save-excursion
    (goto-char (point-min))
    (let ((kinds nil))
      (while (not (eobp))
        (push (or (agent-q-diff-buffer-kind-at (line-end-position)) ?.) kinds)
        (forward-line))
      (concat (nreverse kinds)))))

(ert-deftest aqd-buffer-each-line-has-the-kind-that-the-engine-says ()
  ;; What lines begin with says nothing.
  (aqd-with-review "a\n-- b\n\\ c" "a\n++ b\n@@ c\n"
    (should (string-suffix-p ".crrnaa" (aqd-buffer-kinds)))
    (should (equal [0 3 0 3 "crrnaa"] (agent-q-diff-buffer-lines 0))))
  ;; In the order in which they were typed, an empty line of context included.
  (aqd-with-file "x\n\n"
    (aqd-with-diff "Prose\n+ more\n@@ -1,2 +1,3 @@\n+a\n-x\n+b\n\n\n-- \nRegards\n"
      (set-buffer-modified-p nil)
      (should (agent-q-diff-buffer-current-change))
      (should (equal "...arac..." (aqd-buffer-kinds)))
      (should-not (buffer-modified-p)))))

(ert-deftest aqd-buffer-kinds-outlive-the-review ()
  (aqd-with-file "a\nb\n"
    (let (buffer)
      (aqd-call "a\nb\n" "a\nc\nb\n"
                (lambda ()
                  (setq buffer (current-buffer))
                  (agent-q-diff-reject-all)))
      (with-current-buffer buffer
        (should (agent-q-diff-buffer-ended-p))
        ;; A search in changed lines needs them.
        (should (string-suffix-p ".cac" (aqd-buffer-kinds)))))))

;;;; Bare buffers

(ert-deftest aqd-buffer-a-command-does-not-move-the-callers-positions ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (concat "C-c C-c = accept all\n\n" aqd-bare-diff-of-two)
      (let ((position (aqd-goto-hunk 1)))
        (sly-agent-q-diff-accept-hunk)
        (should (eq 'applied (alist-get position sly-agent-q-diff--hunk-states)))
        (should (equal position (aqd-goto-hunk 1)))))))

(ert-deftest aqd-buffer-ruling-14-count-hunks ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written-diff
      (should (equal 2 (sly-agent-q-diff--count-hunks))))))

(ert-deftest aqd-buffer-ruling-16-changed-lines-that-look-like-headers-are-lines ()
  (let ((original (aqd-lines "a" "-- old" "++ old" "@ -1 @" "z"))
        (modified (aqd-lines "a" "-- new" "++ new" "@ -2 @" "z")))
    (aqd-with-file original
      (aqd-call original modified
                (lambda ()
                  (should (equal 1 (sly-agent-q-diff--count-hunks)))
                  (agent-q-diff-accept-all)))
      (should (equal (aqd-disk) modified)))))

;;;; After the review

(ert-deftest aqd-buffer-can-be-looked-at-afterwards ()
  (aqd-with-forty-lines
    (aqd-review aqd-original-of-three aqd-modified-of-three "a q")
    (with-current-buffer (aqd-diff-buffer)
      (should (equal 3 (sly-agent-q-diff--count-hunks)))
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
      (goto-char (point-min))
      (agent-q-diff-next-hunk)
      (agent-q-diff-next-hunk)
      (should (equal 1 (agent-q-diff-buffer-hunk-at-point)))
      (should-not (agent-q-diff-accept-hunk))
      (sly-agent-q-diff-finish)
      (should (equal "accepted" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five"))))))

;;; The files of a change, each under a heading

(defconst aqd-section-n-files 8
  "Number of files of the change, each with ten hunks.")

(defvar aqd-section-review nil
  "The review of the current test.")

(defun aqd-section-proposal (directory)
  "Return a proposal for files that are new in DIRECTORY, of several kinds."
  (append
   (cl-loop for number below aqd-section-n-files
            for file = (expand-file-name (format "%d.txt" number) directory)
            for changes = (cl-loop for line in '(10 20 30 40 50 60 70 80 90 100 102)
                                   collect (cons line (format "changed %d" line)))
            do (write-region (aqd-numbered 110) nil file nil 'silent)
            collect (list :path file :original (aqd-numbered 110)
                          :modified (aqd-numbered 110 changes)))
   (let ((gone (expand-file-name "gone.txt" directory)))
     (write-region "not\nneeded\n" nil gone nil 'silent)
     (list (list :path gone :delete t)
           (list :path (expand-file-name "new.txt" directory) :content "made\n")))))

(defun aqd-section-text ()
  "Return the text of the diff buffer without its header lines."
  (save-restriction
    (widen)
    (buffer-substring-no-properties (aref agent-q-diff-buffer-headings 0) (point-max))))

(defun aqd-section-begin (directory proposal)
  "Begin a review of PROPOSAL for files in DIRECTORY, and return it."
  (let ((default-directory directory))
    (agent-q-diff-review-change proposal "Many" #'ignore)))

(defmacro aqd-section-with-review (whole &rest body)
  "Run BODY in the diff buffer of a new review of many hunks.
WHOLE is a variable, bound to the text that all its sections have."
  (declare (indent 1) (debug t))
  `(let* ((directory (file-name-as-directory (make-temp-file "agent-q-diff-section" t)))
          (backup-inhibited t)
          (create-lockfiles nil)
          (proposal (aqd-section-proposal directory))
          (aqd-section-review nil)
          (,whole (let ((review (let ((agent-q-diff-change-max-shown most-positive-fixnum))
                                  (aqd-section-begin directory proposal))))
                    (prog1 (aqd-in-diff review (aqd-section-text))
                      (agent-q-diff-cancel review)
                      (kill-buffer (agent-q-diff-session-buffer review))))))
     (unwind-protect
         (progn
           (setq aqd-section-review (aqd-section-begin directory proposal))
           (aqd-in-diff aqd-section-review ,@body))
       (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews))
       (dolist (buffer (buffer-list))
         (when (or (eq buffer (agent-q-diff-session-buffer aqd-section-review))
                   (and (buffer-file-name buffer)
                        (file-in-directory-p (buffer-file-name buffer) directory)))
           (kill-buffer buffer)))
       (delete-directory directory t))
     (aqd-should-leave-nothing)))

(defun aqd-section-timers ()
  "Return the timers that will complete a diff buffer."
  (seq-filter (lambda (timer)
                (eq #'agent-q-diff-buffer--show-and-complete (timer--function timer)))
              timer-idle-list))

(ert-deftest aqd-section-at-first-headings-and-the-first-hunks-are-there ()
  (aqd-section-with-review whole
    (should (= 50 (agent-q-diff-buffer-n-inserted)))
    (should (= 82 (agent-q-diff-count-hunks)))
    (should (string-search " 0.txt: hunk 1/10 · file 1/10 · " header-line-format))
    (let ((text (aqd-section-text)))
      (should (string-prefix-p (substring whole 0 (string-search "modified   5.txt" whole)) text))
      (should (string-suffix-p "
modified   5.txt
modified   6.txt
modified   7.txt
deleted    gone.txt
new file   new.txt
" text)))))

(ert-deftest aqd-section-whatever-needs-the-other-hunks-inserts-them ()
  (pcase-dolist
      (`(,name ,function)
       `(("idle" ,(lambda ()
                    (mapc #'timer-event-handler (aqd-section-timers))))
         ("a key" ,(lambda ()
                     (switch-to-buffer (current-buffer))
                     (aqd-press "n")
                     (should (= 1 (agent-q-diff-buffer-hunk-at-point)))))
         ("moving" ,(lambda ()
                      (agent-q-diff-buffer-goto-hunk 70)
                      (should (looking-at-p "@@ -7,7 "))))
         ("accepting one" ,(lambda ()
                             (agent-q-diff-accept aqd-section-review 70)))
         ("rejecting one" ,(lambda ()
                             (agent-q-diff-reject aqd-section-review 81)))
         ("a state set by hand" ,(lambda ()
                                   (setq agent-q-diff-buffer-hunk-states
                                         (list (cons (agent-q-diff-buffer-position 60)
                                                     'rejected)))
                                   (should (equal '(82 0 1 81) (agent-q-diff-buffer-counts)))))
         ("imenu" ,(lambda ()
                     (should (funcall imenu-create-index-function))))
         ("accepting all" ,(lambda ()
                             (let ((agent-q-diff-finish-when-decided nil))
                               (agent-q-diff-accept-all))))
         ("folding" ,(lambda ()
                       (agent-q-diff-fold-all-hunks)
                       (should (seq-every-p #'invisible-p agent-q-diff-buffer-positions))))
         ("the end" ,(lambda ()
                       (agent-q-diff-cancel aqd-section-review)))))
    (ert-info (name)
      (aqd-section-with-review whole
        ;; The end shows another buffer.
        (save-current-buffer (funcall function))
        (should (equal whole (aqd-section-text)))
        (should (= 82 (agent-q-diff-buffer-n-inserted) (length agent-q-diff-buffer-positions)))
        (should (seq-every-p (lambda (position)
                               (eq ?@ (char-after position)))
                             agent-q-diff-buffer-positions))
        (should (seq-every-p (lambda (heading)
                               (get-text-property heading 'agent-q-diff-heading))
                             agent-q-diff-buffer-headings))
        (should-not (memq #'agent-q-diff-buffer-complete pre-command-hook))
        (should-not (buffer-modified-p))))))

(ert-deftest aqd-section-programs-split-and-decide-at-once-as-later ()
  (cl-flet ((outcome (is-later)
              (aqd-section-with-review _
                (when is-later
                  (agent-q-diff-buffer-complete))
                (agent-q-diff-buffer-goto-hunk 49)
                (agent-q-diff-split-hunk)
                (should (= 83 (agent-q-diff-count-hunks)))
                (goto-char (aref agent-q-diff-buffer-headings 6))
                (agent-q-diff-accept-hunk)
                (should (equal '(83 10 0 73) (agent-q-diff-buffer-counts)))
                (agent-q-diff-undo)
                (agent-q-diff-undo)
                (agent-q-diff-redo)
                (should (equal '(83 0 0 83) (agent-q-diff-buffer-counts)))
                (list (point) (aqd-section-text) agent-q-diff-buffer-positions))))
    (should (equal (outcome nil) (outcome 'later)))))

(ert-deftest aqd-section-point-stays-on-a-heading ()
  (aqd-section-with-review _
    (dotimes (index 10)
      (goto-char (aref agent-q-diff-buffer-headings index))
      (when (= index 7)
        (agent-q-diff-buffer-complete))
      (should (= index (agent-q-diff-buffer-heading-at-point))))))

(ert-deftest aqd-section-completing-moves-nothing-above ()
  (aqd-section-with-review _
    (switch-to-buffer (current-buffer))
    (agent-q-diff-buffer-goto-hunk 3)
    (let ((point (point))
          (start (window-start))
          (signs (aqd-signs)))
      (agent-q-diff-buffer-complete)
      (should (equal (list point start signs) (list (point) (window-start) (aqd-signs)))))
    ;; What a heading shows stays there.
    (dolist (heading (append agent-q-diff-buffer-headings nil))
      (goto-char heading)
      (let ((overlays (seq-filter (lambda (overlay) (overlay-get overlay 'agent-q-diff-section))
                                  (overlays-at heading))))
        (should (equal (list (cons (line-beginning-position) (line-end-position)))
                       (mapcar (lambda (overlay)
                                 (cons (overlay-start overlay) (overlay-end overlay)))
                               overlays)))))))

(ert-deftest aqd-section-showing-headings-inserts-nothing-below-them ()
  "As in a window that shows more than what was inserted."
  (aqd-section-with-review _
    (let ((text (aqd-section-text)))
      (run-hook-with-args 'jit-lock-functions (point-min) (point-max))
      (should (agent-q-diff-fontify-hunks (point-min) (point-max)))
      (agent-q-diff-signs--show-between (point-min) (point-max))
      (should (equal text (aqd-section-text))))))

(ert-deftest aqd-section-the-log-has-all-hunks-of-a-review-that-ends-at-once ()
  (aqd-section-with-review whole
    (let (recorded)
      (cl-letf (((symbol-function 'agent-q-diff-log-record)
                 (lambda (entry) (setq recorded entry))))
        (agent-q-diff-cancel aqd-section-review))
      (should (equal whole (plist-get recorded :diff))))))

(ert-deftest aqd-section-long-hunks-that-come-later-are-folded-as-well ()
  (aqd-section-with-review _
    (let ((agent-q-diff-hunk-lines 4))
      (should-not (seq-some (lambda (overlay) (overlay-get overlay 'agent-q-diff-cut))
                            (overlays-in (aref agent-q-diff-buffer-positions 40) (point-max))))
      (agent-q-diff-buffer-complete)
      (should (agent-q-diff-fold--of 70)))))

(ert-deftest aqd-section-a-hook-of-the-mode-sees-all-hunks ()
  (dolist (hook '(agent-q-diff-mode-hook diff-mode-hook))
    (let* ((seen nil)
           (function (lambda ()
                       (setq seen (aqd-section-text)))))
      (add-hook hook function)
      (unwind-protect
          (aqd-section-with-review whole
            (should (equal whole seen)))
        (remove-hook hook function)))))

(ert-deftest aqd-section-a-buffer-killed-at-once-leaves-no-error ()
  (aqd-section-with-review _
    (let ((timers (aqd-section-timers))
          (kill-buffer-query-functions nil))
      (should timers)
      (kill-buffer)
      (let ((inhibit-message t))
        (mapc #'timer-event-handler timers)))))

(defun aqd-section-headings ()
  "Return the headings as they are shown in the selected window."
  (mapcar (lambda (heading)
            (save-excursion
              (goto-char heading)
              (let ((line (buffer-substring (point) (line-end-position)))
                    (after ""))
                (dolist (overlay (overlays-in (point) (line-end-position)))
                  (when-let ((shown (overlay-get overlay 'display)))
                    (should (equal (overlay-get overlay 'help-echo)
                                   (get-text-property heading 'agent-q-diff-heading)))
                    (setq line (concat (substring line 0 (- (overlay-start overlay) heading))
                                       shown
                                       (substring line (- (overlay-end overlay) heading)))))
                  (setq after (concat after (overlay-get overlay 'after-string))))
                (substring-no-properties (concat line after)))))
          (append agent-q-diff-buffer-headings nil)))

(ert-deftest aqd-section-names-that-read-as-words-of-ours-are-quoted ()
  (let* ((directory (file-name-as-directory (make-temp-file "agent-q-diff-section" t)))
         (names '("x.py  +1 -0 · accepted" "y.py (executable)" "a → b" "[id].py" "plain_1.py"))
         (shown '("\"x.py  +1 -0 · accepted\"" "\"y.py (executable)\"" "\"a → b\""
                  "\"[id].py\"" "plain_1.py"))
         (create-lockfiles nil)
         (review (aqd-section-begin directory
                                    (mapcar (lambda (name) (list :path name :content "x\n"))
                                            names))))
    (unwind-protect
        (aqd-in-diff review
          (should (equal shown (mapcar (lambda (heading)
                                         (get-text-property heading 'agent-q-diff-heading))
                                       (append agent-q-diff-buffer-headings nil))))
          (cl-loop for name in shown
                   for hunk from 0
                   do (agent-q-diff-buffer-goto-hunk hunk)
                   do (agent-q-diff-progress-update-header-line)
                   do (should (string-search (concat " " name ": ") header-line-format)))
          (let ((rows (mapconcat (lambda (row) (agent-q-diff-overview-item-words (car row)))
                                 (cdr (agent-q-diff-overview--rows)) "\n")))
            (dolist (name shown)
              (should (string-search name rows)))))
      (agent-q-diff-cancel review))
    ;; In a review of one file.
    (let ((review (aqd-section-begin directory
                                     (list (list :path (car names) :content "x\n")))))
      (should (equal (car shown) (agent-q-diff-session-name review)))
      (agent-q-diff-cancel review))
    (aqd-remove-tree directory)))

(ert-deftest aqd-section-headings-of-long-names-fit-the-window-with-their-counts ()
  (let* ((directory (file-name-as-directory (make-temp-file "agent-q-diff-section" t)))
         (deep (concat (mapconcat #'identity (make-list 6 "directory") "/") "/"))
         (wide (concat (make-string 40 ?漢) ".txt"))
         (create-lockfiles nil)
         review)
    (unwind-protect
        (aqd-with-frame 80 24
          (make-directory (concat directory deep) t)
          (dolist (name (list "short" (concat deep "old-name.txt")))
            (write-region (aqd-numbered 9) nil (concat directory name) nil 'silent))
          (setq review (aqd-section-begin
                        directory
                        (list (list :path "short" :original (aqd-numbered 9)
                                    :modified (aqd-numbered 9 '((2 . "two"))))
                              (list :path (concat deep "old-name.txt")
                                    :to (concat deep "new-name.txt"))
                              (list :path (concat deep "a-file-of-its-own.txt") :content "x\n")
                              (list :path wide :content "x\n"))))
          (switch-to-buffer (agent-q-diff-session-buffer review))
          (pcase-dolist (`(,width . ,renamed)
                         '((80 . "…ory/directory/old-name.txt → …ory/directory/new-name.txt")
                           (60 . "…ory/old-name.txt → …ory/new-name.txt")
                           (300 . nil)
                           (50 . "…ld-name.txt → …ew-name.txt")))
            (set-frame-size nil width 24)
            ;; As redisplay does.
            (run-hook-with-args 'window-size-change-functions (selected-window))
            (let ((seen (aqd-section-headings)))
              (ert-info ((format "%d columns: %S" width seen))
                (should (equal "modified   short  +1 -1 · 1 hunk" (nth 0 seen)))
                (should (seq-every-p (lambda (line) (string-match-p "  \\(?:\\+1 -[01] · \\)?1 hunk\\'" line)) seen))
                (should (seq-every-p (lambda (line) (< (string-width line) (- width 2))) seen))
                (should (string-search "-name.txt → " (nth 1 seen)))
                (should (string-match-p "-name\\.txt  1 hunk\\'" (nth 1 seen)))
                (should (string-match-p "own\\.txt  \\+1 -0 · 1 hunk\\'" (nth 2 seen)))
                (if renamed
                    (should (equal (concat "renamed    " renamed "  1 hunk") (nth 1 seen)))
                  (should-not (seq-some (lambda (line) (string-search "…" line)) seen))))))
          ;; The text is whole.
          (should (string-search (concat "\nnew file   " deep "a-file-of-its-own.txt\n")
                                 (buffer-string)))
          (set-frame-size nil 60 24)
          (run-hook-with-args 'window-size-change-functions (selected-window))
          (agent-q-diff-reject review 1)
          (should (string-suffix-p "-name.txt  rejected" (nth 1 (aqd-section-headings))))
          (should (< (string-width (nth 1 (aqd-section-headings))) 58)))
      (when review
        (agent-q-diff-cancel review)
        (kill-buffer (agent-q-diff-session-buffer review)))
      (delete-directory directory t))))

(provide 'agent-q-diff-buffer-test)
;;; agent-q-diff-buffer-test.el ends here
