;;; agent-q-diff-section-test.el --- The files of a change, each under a heading  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A change of many hunks: what is in the diff buffer at first, and that all
;; of it is there as soon as anybody needs it.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-api)

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
                     (aqd-press "p")
                     (should (= 0 (agent-q-diff-buffer-hunk-at-point)))))
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
        (should-not (memq #'agent-q-diff-buffer--complete-for-command pre-command-hook))
        (should-not (buffer-modified-p))))))

(ert-deftest aqd-section-typing-stops-the-insertion-after-each-file ()
  (aqd-section-with-review whole
    (agent-q-diff-buffer-goto-hunk 3)
    (let ((seen nil)
          (at (buffer-substring-no-properties (point) (line-end-position))))
      (cl-letf (((symbol-function 'input-pending-p) #'always))
        (while agent-q-diff-buffer-rest
          (mapc #'timer-event-handler (aqd-section-timers))
          (push (agent-q-diff-buffer-n-inserted) seen)
          (should (looking-at-p (regexp-quote at)))
          (should (equal (append agent-q-diff-buffer-positions nil)
                         (sort (append agent-q-diff-buffer-positions nil) #'<)))
          (cl-loop for hunk from 0
                   for position across agent-q-diff-buffer-positions
                   do (if (< hunk (car seen))
                          (should (eq ?@ (char-after position)))
                        ;; Below the heading of its file.
                        (should (get-text-property (1- position) 'agent-q-diff-heading))))))
      (should (equal '(60 70 80 81 82) (reverse seen))))
    (should-not (aqd-section-timers))
    (should (equal whole (aqd-section-text)))))

(ert-deftest aqd-section-the-next-hunk-waits-for-the-rest-only-below-it ()
  (aqd-section-with-review whole
    (switch-to-buffer (current-buffer))
    (dotimes (_ 3)
      (aqd-press "n"))
    (should (= 3 (agent-q-diff-buffer-hunk-at-point)))
    (should (= 50 (agent-q-diff-buffer-n-inserted)))
    (agent-q-diff-buffer-goto-hunk 47)
    (aqd-press "n")
    (should (= 48 (agent-q-diff-buffer-hunk-at-point)))
    (should (equal whole (aqd-section-text)))
    (should-not agent-q-diff-buffer-rest)))

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

(provide 'agent-q-diff-section-test)
;;; agent-q-diff-section-test.el ends here
