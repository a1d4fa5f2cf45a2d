;;; agent-q-diff-in-file-test.el --- A review drawn in the file's own buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-in-file)

;; As in a terminal with colors; see the tests with signs for others.
(advice-add 'display-color-p :override #'always)

(defconst aqd-in-file-old (mapconcat (lambda (n) (format "line %d\n" n))
                                     (number-sequence 1 40) ""))

(defun aqd-in-file-new (&rest edits)
  "Return `aqd-in-file-old' with EDITS, of numbers and texts for their lines."
  (mapconcat (lambda (n) (or (plist-get edits n) (format "line %d\n" n)))
             (number-sequence 1 40) ""))

(defvar aqd-in-file-result nil
  "The result of the last review.")

(defmacro aqd-in-file-with-review (original modified keywords &rest body)
  "Run BODY in a file's buffer with ORIGINAL, for which MODIFIED is proposed.
The review is drawn there.  DIFF is its diff buffer, and KEYWORDS are further
arguments of `agent-q-diff-review', a list."
  (declare (indent 3) (debug t))
  `(aqd-with-file ,original
     (setq aqd-in-file-result nil)
     (aqd-with-frame 100 30
       (let* ((review (apply #'agent-q-diff-review aqd-file ,original ,modified "Why"
                             (lambda (result) (setq aqd-in-file-result result))
                             ,keywords))
              (diff (agent-q-diff-session-buffer review)))
         (unwind-protect
             (progn
               (switch-to-buffer diff)
               (delete-other-windows)
               (agent-q-diff-in-file)
               ,@body)
           (when (memq review (agent-q-diff-open-reviews))
             (agent-q-diff-cancel review)))))))

;;;; What is drawn

(defun aqd-in-file-drawn ()
  "Return what is drawn here: the text with the lines and signs of overlays.
Each line that is struck through begins with \"-\", and each new one with \"+\"."
  (let ((overlays (seq-filter (lambda (overlay) (overlay-get overlay 'agent-q-diff-in-file))
                              (overlays-in (point-min) (point-max))))
        (drawn ""))
    (cl-flet ((marked (string)
                (mapconcat (lambda (line)
                             (let ((faces (ensure-list (get-text-property 0 'face line))))
                               (cond
                                ((memq 'agent-q-diff-in-file-old faces) (concat "-" line))
                                ((memq 'agent-q-diff-in-file-new faces) (concat "+" line))
                                (t line))))
                           (split-string string "^" t) "")))
      (save-excursion
        (goto-char (point-min))
        (while (not (eobp))
          (let* ((beg (point))
                 (end (progn (forward-line) (point)))
                 (face (seq-some (lambda (overlay)
                                   (and (<= (overlay-start overlay) beg)
                                        (< beg (overlay-end overlay))
                                        (overlay-get overlay 'face)))
                                 overlays))
                 (at (lambda (position property)
                       (mapconcat (lambda (overlay)
                                    (if (= position (overlay-start overlay) (overlay-end overlay))
                                        (marked (or (overlay-get overlay property) ""))
                                      ""))
                                  overlays ""))))
            (setq drawn (concat drawn
                                (funcall at beg 'after-string)
                                (funcall at beg 'before-string)
                                (pcase face
                                  ('agent-q-diff-in-file-old "-")
                                  ('agent-q-diff-in-file-new "+"))
                                (string-remove-suffix
                                 "\n" (buffer-substring-no-properties beg end))
                                (if (eq ?\n (char-before end))
                                    (concat (funcall at (1- end) 'after-string) "\n")
                                  ""))))
          (when (eobp)
            (dolist (overlay overlays)
              (when (= (point) (overlay-start overlay) (overlay-end overlay))
                (setq drawn (concat drawn
                                    (marked (or (overlay-get overlay 'after-string) "")))))))))
      (substring-no-properties drawn))))

(defun aqd-in-file-lines (from to)
  "Return the lines that are drawn from FROM to TO, counted from 1."
  (string-join (seq-subseq (split-string (aqd-in-file-drawn) "\n") (1- from) to) "\n"))

(ert-deftest aqd-in-file-old-lines-are-struck-through-and-new-ones-below ()
  (aqd-in-file-with-review aqd-in-file-old
      (aqd-in-file-new 5 "LINE 5\nand more\n" 6 "" 12 "line 12\nadded\n") nil
    (should (equal "target.txt" (buffer-name)))
    (should (equal "line 4\n-line 5\n-line 6\n+LINE 5\n+and more\nline 7" (aqd-in-file-lines 4 9)))
    (should (equal "line 12\n+added\nline 13" (aqd-in-file-lines 14 16)))
    ;; Point is at the hunk.
    (should (looking-at "line 5$"))))

(ert-deftest aqd-in-file-decided-hunks-say-so ()
  (aqd-in-file-with-review aqd-in-file-old
      (aqd-in-file-new 5 "LINE 5\n" 20 "" 30 "line 30\nadded\n" 38 "LINE 38\n") nil
    (agent-q-diff-in-file-accept)
    (should (looking-at "line 20$"))
    (should (equal "line 4\n+LINE 5  [applied]\nline 6" (aqd-in-file-lines 4 6)))
    (agent-q-diff-in-file-accept)
    (should (equal "line 19  [applied]\nline 21" (aqd-in-file-lines 19 20)))
    (agent-q-diff-in-file-reject)
    (should (equal "line 30  [rejected]\nline 31" (aqd-in-file-lines 29 30)))
    (should (equal (replace-regexp-in-string "line 5\n" "LINE 5\n"
                                             (string-replace "line 20\n" "" aqd-in-file-old))
                   (aqd-bytes-of aqd-file)))
    (goto-char (point-min))
    (forward-line 4)
    (agent-q-diff-in-file-unapply)
    (should (equal "line 4\n-line 5\n+LINE 5\nline 6" (aqd-in-file-lines 4 7)))
    (agent-q-diff-in-file-undo)
    (should (equal "line 4\n+LINE 5  [applied]\nline 6" (aqd-in-file-lines 4 6)))
    ;; The diff buffer knows the same.
    (should (equal '(4 2 1 1) (seq-take (with-current-buffer diff (agent-q-diff-buffer-counts))
                                        4)))))

(ert-deftest aqd-in-file-the-end-without-a-line-end ()
  (aqd-in-file-with-review "1\n2" "1\ntwo\nthree" nil
    (should (equal "1\n-2\n+two\n+three" (aqd-in-file-drawn)))
    (agent-q-diff-in-file-accept)
    (should (equal "1\ntwo\nthree" (aqd-bytes-of aqd-file)))))

(ert-deftest aqd-in-file-long-changes-are-counted ()
  (aqd-in-file-with-review aqd-in-file-old
      (aqd-in-file-new 5 (mapconcat (lambda (n) (format "new %d\n" n)) (number-sequence 1 80) ""))
      nil
    (should (string-match-p "\\+new 18\n… [0-9]+ more lines; C-c \" F shows the diff\nline 6"
                            (let ((agent-q-diff-in-file-lines 18))
                              (agent-q-diff-in-file--draw)
                              (aqd-in-file-drawn))))))

(ert-deftest aqd-in-file-proposed-lines-have-the-colors-of-code ()
  (aqd-in-file-with-review "(f)\n" "(f \"string\")\n" nil
    (emacs-lisp-mode)
    (agent-q-diff-in-file--draw)
    (let ((drawn (seq-some (lambda (overlay)
                             (when-let ((string (overlay-get overlay 'after-string)))
                               (and (string-search "string" string) string)))
                           (overlays-in (point-min) (point-max)))))
      (should (memq 'font-lock-string-face (ensure-list (get-text-property 4 'face drawn))))
      (should (memq 'agent-q-diff-in-file-new (get-text-property 4 'face drawn))))))

(ert-deftest aqd-in-file-characters-cannot-mislead ()
  (aqd-in-file-with-review aqd-in-file-old (aqd-in-file-new 5 "a\u202eb\tc\n") nil
    (should (string-search "+a<U+202E>b\tc\n" (aqd-in-file-drawn)))))

;;;; Nothing is hidden

(defun aqd-in-file-seen (beg end)
  "Return what the display engine shows of the text from BEG to END.
Strings that overlays add are left out."
  (let ((at beg)
        (seen ""))
    (while (< at end)
      (let* ((next (next-char-property-change at end))
             (display (get-char-property at 'display))
             (text (buffer-substring-no-properties at next)))
        (setq seen (concat seen
                           (cond
                            ((invisible-p at) "")
                            ((stringp display) (substring-no-properties display))
                            ((memq (car-safe display) '(nil raise height))
                             (if (get-text-property at 'composition)
                                 "(composed)"
                               text)))))
        (setq at next)))
    seen))

(defun aqd-in-file-here (text)
  "Return (BEG . END), where TEXT is in this buffer."
  (save-excursion
    (goto-char (point-min))
    (search-forward text)
    (cons (match-beginning 0) (match-end 0))))

(defconst aqd-in-file-link "Click [[elisp:(delete-directory \"~\")][this]] now.\n"
  "A line in which Org shows only a part.")

(defun aqd-in-file-turn-on (mode)
  "Turn on MODE here, with colors, and draw the review again."
  (funcall mode)
  ;; In batch it refuses.
  (let ((noninteractive nil))
    (font-lock-mode))
  (agent-q-diff-in-file--draw))

(defmacro aqd-in-file-in-mode (original modified mode &rest body)
  "Run BODY as `aqd-in-file-with-review' does, in MODE, and with colors.
ORIGINAL becomes MODIFIED."
  (declare (indent 3) (debug t))
  `(aqd-in-file-with-review ,original ,modified nil
     (aqd-in-file-turn-on ,mode)
     ,@body))

(ert-deftest aqd-in-file-a-link-that-is-proposed-is-shown-whole ()
  (require 'org)
  (aqd-in-file-in-mode "* Head\nold\nrest\n" (concat "* Head\n" aqd-in-file-link "rest\n")
      #'org-mode
    (let ((drawn (seq-some (lambda (overlay) (overlay-get overlay 'after-string))
                           (overlays-in (point-min) (point-max)))))
      (should (equal aqd-in-file-link (substring-no-properties drawn)))
      ;; It has the colors of Org, and nothing else of it.
      (should (memq 'org-link (ensure-list (get-text-property 8 'face drawn))))
      (dotimes (at (length drawn))
        (should (equal '(face) (cl-loop for (name _) on (text-properties-at at drawn) by #'cddr
                                        collect name)))
        (should-not (agent-q-diff-fontify-hiding-p
                     (remq 'default (ensure-list (get-text-property at 'face drawn)))))))))

(ert-deftest aqd-in-file-a-link-that-is-there-is-shown-whole ()
  (require 'org)
  ;; Before it goes, after it has come, and when that is decided.
  (aqd-in-file-in-mode (concat "* Head\n" aqd-in-file-link "rest\n") "* Head\nnew\nrest\n"
      #'org-mode
    (pcase-let ((`(,beg . ,end) (aqd-in-file-here aqd-in-file-link)))
      (should (get-text-property (+ beg 8) 'invisible))
      (should (equal aqd-in-file-link (aqd-in-file-seen beg end))))
    (agent-q-diff-in-file-diff)
    (set-buffer (find-buffer-visiting aqd-file))
    (pcase-let ((`(,beg . ,end) (aqd-in-file-here aqd-in-file-link)))
      (should (equal "Click this now.\n" (aqd-in-file-seen beg end)))))
  (aqd-in-file-in-mode "* Head\nold\nrest\n" (concat "* Head\n" aqd-in-file-link "rest\n")
      #'org-mode
    (agent-q-diff-in-file-accept)
    (pcase-let ((`(,beg . ,end) (aqd-in-file-here aqd-in-file-link)))
      (should (get-text-property (+ beg 8) 'invisible))
      (should (equal aqd-in-file-link (aqd-in-file-seen beg end)))
      ;; Another mode, and this one again.
      (text-mode)
      (should (equal aqd-in-file-link (aqd-in-file-seen beg end)))
      (aqd-in-file-turn-on #'org-mode)
      (should (equal aqd-in-file-link (aqd-in-file-seen beg end))))))

(ert-deftest aqd-in-file-no-line-is-cut-off-at-the-edge-of-a-window ()
  (require 'org)
  (let ((long (concat "harmless" (make-string 300 ?\s) "EVIL\n"))
        (cut (lambda ()
               (list truncate-lines (and (local-variable-p 'truncate-lines) t)
                     truncate-partial-width-windows
                     (and (local-variable-p 'truncate-partial-width-windows) t)))))
    (aqd-in-file-in-mode "* Head\nold\nrest\n" (concat "* Head\n" long "rest\n") #'org-mode
      (should (equal '(nil t nil t) (funcall cut)))
      (agent-q-diff-in-file-diff)
      (set-buffer (find-buffer-visiting aqd-file))
      ;; As Org had it, and the user.
      (should (equal '(t t 50 nil) (funcall cut)))
      (setq-local truncate-partial-width-windows t)
      (set-window-buffer nil (current-buffer))
      (set-window-hscroll nil 5)
      (agent-q-diff-in-file)
      (should (equal '(nil t nil t) (funcall cut)))
      (should (= 0 (window-hscroll)))
      ;; Another mode, and this one again.
      (text-mode)
      (should (equal '(nil nil) (list truncate-lines truncate-partial-width-windows)))
      (org-mode)
      (should (equal '(nil t nil t) (funcall cut)))
      (text-mode)
      (agent-q-diff-in-file-diff)
      (set-buffer (find-buffer-visiting aqd-file))
      ;; One outlives its mode in Emacs.
      (should (equal '(t t 50 nil) (funcall cut))))
    ;; As the user has it everywhere.
    (let ((was (default-value 'truncate-lines)))
      (unwind-protect
          (progn
            (setq-default truncate-lines t)
            (aqd-in-file-in-mode "old\n" long #'text-mode
              (should-not truncate-lines)
              (agent-q-diff-in-file-diff)
              (set-buffer (find-buffer-visiting aqd-file))
              (should (equal '(t nil 50 nil) (funcall cut)))))
        (setq-default truncate-lines was)))))

(ert-deftest aqd-in-file-no-property-hides-what-is-proposed ()
  (let ((line "call(system); // safe\n"))
    (pcase-dolist (`(,name ,value)
                   '((invisible t) (invisible outline) (display "harmless") (display "")
                     (display (space :width 0)) (composition nil)))
      (ert-info ((format "%s %S" name value))
        (aqd-in-file-with-review "a\nold\nb\n" (concat "a\n" line "b\n") nil
          (agent-q-diff-in-file-accept)
          (pcase-let ((`(,beg . ,end) (aqd-in-file-here line)))
            (with-silent-modifications
              (if (eq name 'composition)
                  (compose-region (+ beg 5) (+ beg 11) ?λ)
                (put-text-property (+ beg 5) (+ beg 11) name value)))
            (should-not (equal line (let ((overlays (overlays-in beg end)))
                                      (mapc #'delete-overlay overlays)
                                      (aqd-in-file-seen beg end))))
            (agent-q-diff-in-file--draw)
            (should (equal line (aqd-in-file-seen beg end)))))))
    ;; A face that hides it.
    (aqd-in-file-with-review "a\nold\nb\n" (concat "a\n" line "b\n") nil
      (agent-q-diff-in-file-accept)
      (pcase-let ((`(,beg . ,_) (aqd-in-file-here line))
                  (background (if (eq 'dark (frame-parameter nil 'background-mode))
                                  "black"
                                "white")))
        (dolist (face `((:foreground ,background) (bold (:height 0.1))))
          (with-silent-modifications
            (put-text-property (+ beg 5) (+ beg 11) 'face face))
          (agent-q-diff-in-file--draw)
          (should (equal (face-foreground 'default nil t)
                         (plist-get (get-char-property (+ beg 6) 'face) :foreground))))))))

(ert-deftest aqd-in-file-misleading-characters-that-are-there-are-shown-by-number ()
  (let ((line "if (a\u202e) b\u200bc p\u0430y\n")
        (shown "if (a<U+202E>) b<U+200B>c p<U+0430>y\n"))
    ;; Before it goes, and after it has come.
    (aqd-in-file-with-review (concat "a\n" line "b\n") "a\nnew\nb\n" nil
      (pcase-let ((`(,beg . ,end) (aqd-in-file-here line)))
        (should (equal shown (aqd-in-file-seen beg end)))))
    (aqd-in-file-with-review "a\nold\nb\n" (concat "a\n" line "b\n") nil
      (should (string-search (concat "+" shown) (aqd-in-file-drawn)))
      (agent-q-diff-in-file-accept)
      (pcase-let ((`(,beg . ,end) (aqd-in-file-here line)))
        (should (equal shown (aqd-in-file-seen beg end)))))))

;;;; Nothing of it is there

(defun aqd-in-file-last-message ()
  "Return the last message, from the log of messages."
  (with-current-buffer "*Messages*"
    (save-excursion
      (goto-char (point-max))
      (forward-line -1)
      (buffer-substring-no-properties (point) (line-end-position)))))

(ert-deftest aqd-in-file-nothing-that-is-drawn-is-in-the-buffer ()
  (aqd-in-file-with-review aqd-in-file-old (aqd-in-file-new 5 "virtual\n" 30 "line 30\nvirtual\n")
      nil
    (let ((point (point))
          (undo buffer-undo-list))
      (should (equal aqd-in-file-old (buffer-string)))
      (should-not (buffer-modified-p))
      (should-not (save-excursion (goto-char (point-min)) (search-forward "virtual" nil t)))
      (should (equal "line 5\nline 6\n"
                     (filter-buffer-substring point (save-excursion (forward-line 2) (point)))))
      (should (eq undo buffer-undo-list))
      ;; Text properties, as of font lock, stay as well.
      (should (equal-including-properties aqd-in-file-old (buffer-string)))
      (set-buffer-modified-p t)
      (save-buffer)
      (should (equal aqd-in-file-old (aqd-bytes-of aqd-file))))))

(ert-deftest aqd-in-file-nothing-is-left-behind ()
  (aqd-in-file-with-review aqd-in-file-old (aqd-in-file-new 5 "LINE 5\n") nil
    (let ((file (current-buffer)))
      (should agent-q-diff-in-file-mode)
      (agent-q-diff-in-file-diff)
      (should (eq diff (window-buffer)))

      (with-current-buffer file
        (should-not agent-q-diff-in-file-mode)
        (should-not (overlays-in (point-min) (point-max))))
      (agent-q-diff-in-file)
      (should (eq file (window-buffer)))
      (agent-q-diff-in-file-accept)
      (agent-q-diff-in-file-finish)
      (should (eq 'accepted (plist-get aqd-in-file-result :status)))
      (with-current-buffer file
        (should-not agent-q-diff-in-file-mode)
        (should-not (seq-filter (lambda (overlay) (overlay-get overlay 'agent-q-diff-in-file))
                                (overlays-in (point-min) (point-max))))))))

(ert-deftest aqd-in-file-font-lock-colors-what-is-there ()
  (aqd-in-file-with-review ";; old comment\n(defun f ())\n" ";; new comment\n(defun f ())\n" nil
    (emacs-lisp-mode)
    (should (bound-and-true-p agent-q-diff-in-file-mode))
    (font-lock-ensure)
    (goto-char (point-min))
    (should (memq (get-text-property (+ 3 (point)) 'face)
                  '(font-lock-comment-face font-lock-comment-delimiter-face)))))

;;;; Typing

(ert-deftest aqd-in-file-typing-goes-on-and-the-drawing-follows ()
  (aqd-in-file-with-review aqd-in-file-old (aqd-in-file-new 5 "LINE 5\n" 30 "LINE 30\n") nil
    (goto-char (point-min))
    (insert "typed\n")
    (undo-boundary)
    (should (equal "line 4\n-line 5\n+LINE 5\nline 6" (aqd-in-file-lines 5 8)))
    (with-current-buffer diff
      (agent-q-diff-signs--refresh diff))
    (should (equal "line 4\n-line 5\n+LINE 5\nline 6" (aqd-in-file-lines 5 8)))
    (goto-char (point-min))
    (search-forward "line 5")
    (insert "!")
    (with-current-buffer diff
      (agent-q-diff-signs--refresh diff))
    ;; Its line is somebody else's now.
    (should (equal "line 4\nline 5!\nline 6" (aqd-in-file-lines 5 7)))
    (undo-boundary)
    (setq last-command nil)
    (undo)
    (with-current-buffer diff
      (agent-q-diff-signs--refresh diff))
    (should (equal "line 4\n-line 5\n+LINE 5\nline 6" (aqd-in-file-lines 5 8)))
    (goto-char (point-min))
    (search-forward "line 5")
    (agent-q-diff-in-file-accept)
    (should (looking-at "line 30$"))
    (should (string-prefix-p "typed\nline 1\nline 2\nline 3\nline 4\nLINE 5\n"
                             (buffer-string)))))

;;;; Moving

(ert-deftest aqd-in-file-messages-name-the-keys-that-work-here ()
  (aqd-in-file-with-review aqd-in-file-old (aqd-in-file-new 5 "LINE 5\n" 20 "LINE 20\n") nil
    (let ((inhibit-message nil))
      (agent-q-diff-in-file-accept)
      (agent-q-diff-in-file-unapply)
      (should (string-match-p "not in the file; C-c \" / undoes hunk 1\\'"
                              (aqd-in-file-last-message)))
      (agent-q-diff-in-file-reject)
      (should (string-match-p "nothing is pending, C-c \" q finishes\\'"
                              (aqd-in-file-last-message))))))

(ert-deftest aqd-in-file-moves-from-where-point-is ()
  (aqd-in-file-with-review aqd-in-file-old
      (aqd-in-file-new 5 "LINE 5\n" 20 "LINE 20\n" 35 "LINE 35\n") nil
    (goto-char (point-min))
    (forward-line 24)
    (agent-q-diff-in-file-next)
    (should (looking-at "line 35$"))
    (agent-q-diff-in-file-previous)
    (should (looking-at "line 20$"))
    (forward-line 2)
    (should-error (agent-q-diff-in-file-accept) :type 'user-error)
    (should (equal aqd-in-file-old (buffer-string)))))

(ert-deftest aqd-in-file-of-two-hunks-at-one-line-the-one-gone-to-is-decided ()
  (aqd-in-file-with-review "1\n2\n3\n4\n" "1\ntwo\nthree\n4\n" nil
    (switch-to-buffer diff)
    (set-buffer diff)
    (push-mark (progn (goto-char (point-min)) (search-forward "+two") (line-end-position)) t t)
    ;; Now the two lines are two hunks, or three.
    (agent-q-diff-module-pick-rows (agent-q-diff-change-engine agent-q-diff-buffer-change)
                                   0 0 1 0 1)
    (agent-q-diff-split-show-parts agent-q-diff-buffer-change 0 2)
    (deactivate-mark)
    (agent-q-diff-buffer-goto-hunk 1)
    (agent-q-diff-in-file)
    (should (looking-at "3$"))
    (should (eql 1 (agent-q-diff-in-file--hunk-here)))
    (agent-q-diff-in-file-accept)
    (should (equal "1\n2\nthree\n4\n" (aqd-bytes-of aqd-file)))
    ;; The line below what is drawn has nothing to decide.
    (goto-char (point-min))
    (forward-line 3)
    (should-error (agent-q-diff-in-file-reject) :type 'user-error)))

(ert-deftest aqd-in-file-a-split-in-the-diff-changes-nothing-about-the-hunk-at-point ()
  (aqd-in-file-with-review aqd-in-file-old
      (aqd-in-file-new 2 "LINE 2\n" 5 "LINE 5\n" 30 "LINE 30\n") nil
    (agent-q-diff-in-file-next)
    (should (looking-at "line 30$"))
    (with-current-buffer diff
      (agent-q-diff-buffer-goto-hunk 0)
      (agent-q-diff-split-hunk))
    (agent-q-diff-in-file-accept)
    (should (equal (string-replace "line 30" "LINE 30" aqd-in-file-old)
                   (aqd-bytes-of aqd-file)))))

(ert-deftest aqd-in-file-goes-to-files-that-nobody-has-visited ()
  (let* ((tree (file-name-as-directory (make-temp-file "aqd-in-file" t)))
         (default-directory tree)
         (create-lockfiles nil)
         (names '("a.txt" "b.txt" "c.txt")))
    (unwind-protect
        (aqd-with-frame 100 30
          (dolist (name names)
            (aqd-put-bytes aqd-in-file-old (expand-file-name name)))
          (let* ((agent-q-diff-change-max-shown 1)
                 (review (agent-q-diff-review-change
                          (mapcar (lambda (name)
                                    (list :path name :original aqd-in-file-old
                                          :modified (aqd-in-file-new 5 "LINE 5\n")))
                                  names)
                          "All" #'ignore)))
            (switch-to-buffer (agent-q-diff-session-buffer review))
            (agent-q-diff-in-file)
            (should (equal "a.txt" (buffer-name)))
            (agent-q-diff-in-file-next)
            (should (equal "b.txt" (buffer-name)))
            (agent-q-diff-in-file-reject)
            (should (equal "c.txt" (buffer-name)))
            (agent-q-diff-in-file-accept)
            (should (equal '(nil rejected applied)
                           (with-current-buffer (agent-q-diff-session-buffer review)
                             (append agent-q-diff-buffer-marks nil))))))
      (dolist (review (agent-q-diff-open-reviews))
        (agent-q-diff-cancel review))
      (aqd-remove-tree tree))))

(ert-deftest aqd-in-file-what-was-decided-and-changed-since-says-so ()
  (aqd-in-file-with-review aqd-in-file-old (aqd-in-file-new 5 "LINE 5\n" 30 "LINE 30\n") nil
    (agent-q-diff-in-file-accept)
    (undo-boundary)
    (setq last-command nil)
    (undo)
    (with-current-buffer diff
      (agent-q-diff-signs--refresh diff))
    (should (equal "line 4\n-line 5  [applied, but not in the file]\n+LINE 5\nline 6"
                   (aqd-in-file-lines 4 7)))))

(ert-deftest aqd-in-file-narrowing-stays-if-the-hunk-is-in-it ()
  (aqd-in-file-with-review aqd-in-file-old
      (aqd-in-file-new 5 "LINE 5\n" 20 "LINE 20\n" 35 "LINE 35\n") nil
    (narrow-to-region (point-min) (save-excursion (search-forward "line 25\n") (point)))
    (agent-q-diff-in-file-next)
    (should (looking-at "line 20$"))
    (should (buffer-narrowed-p))
    (agent-q-diff-in-file-next)
    (should (looking-at "line 35$"))
    (should-not (buffer-narrowed-p))))

(ert-deftest aqd-in-file-a-file-that-is-never-made-leaves-no-buffer ()
  (let* ((tree (file-name-as-directory (make-temp-file "aqd-in-file" t)))
         (default-directory tree))
    (unwind-protect
        (aqd-with-frame 100 30
          (let ((review (agent-q-diff-review-change
                         (list (list :path "new.txt" :content "1\n2\n"))
                         "New" #'ignore)))
            (switch-to-buffer (agent-q-diff-session-buffer review))
            (agent-q-diff-in-file)
            (should (equal "new.txt" (buffer-name)))
            (agent-q-diff-in-file-reject-all)
            (should-not (get-buffer "new.txt"))
            (should-not (file-exists-p "new.txt"))))
      (dolist (review (agent-q-diff-open-reviews))
        (agent-q-diff-cancel review))
      (aqd-remove-tree tree))))

(ert-deftest aqd-in-file-a-review-begins-there-if-the-user-wants-that ()
  (aqd-in-file-with-review aqd-in-file-old (aqd-in-file-new 5 "LINE 5\n") nil
    (agent-q-diff-in-file-diff)
    (with-current-buffer diff
      (setq agent-q-diff-in-file--has-begun nil))
    (let ((agent-q-diff-begin-in-file t)
          (timers (copy-sequence timer-list)))
      (agent-q-diff-in-file--begin (selected-window))
      (mapc (lambda (timer) (timer-event-handler timer)) (seq-difference timer-list timers))
      (should (equal "target.txt" (buffer-name (window-buffer))))
      ;; Only its first window shows the file.
      (set-buffer (window-buffer))
      (agent-q-diff-in-file-diff)
      (let ((timers (copy-sequence timer-list)))
        (agent-q-diff-in-file--begin (selected-window))
        (should-not (seq-difference timer-list timers))))))

;;;; Written already, or in no file

(ert-deftest aqd-in-file-a-text-that-is-in-no-file-is-refused ()
  (aqd-with-file "1\n"
    (aqd-with-frame 100 30
      (let* ((review (agent-q-diff-review aqd-file "1\n" "2\n" "Why" #'ignore :detached t)))
        (unwind-protect
            (progn
              (switch-to-buffer (agent-q-diff-session-buffer review))
              (should-error (agent-q-diff-in-file) :type 'user-error))
          (agent-q-diff-cancel review))))))

(ert-deftest aqd-in-file-whatever-is-decided-the-file-is-as-the-diff-would-leave-it ()
  (dotimes (seed 8)
    (random (format "in file %d" seed))
    (let* ((edits (cl-loop for n from 2 to 40 by 9
                           append (list n (pcase (random 4)
                                            (0 "")
                                            (1 (format "LINE %d\n" n))
                                            (2 (format "line %d\nnew\nnew\n" n))
                                            (_ (format "new\nline %d\n" n))))))
           (keys (cl-loop repeat 14 collect (random 5)))
           (left nil))
      (dolist (where '(diff file))
        (aqd-in-file-with-review aqd-in-file-old (apply #'aqd-in-file-new edits)
            nil
          (when (eq where 'diff)
            (switch-to-buffer diff))
          (dolist (key keys)
            (ignore-error error
              (call-interactively
               (nth key (if (eq where 'diff)
                            '(agent-q-diff-accept-hunk agent-q-diff-reject-hunk
                              agent-q-diff-next-hunk agent-q-diff-unapply-hunk agent-q-diff-undo)
                          '(agent-q-diff-in-file-accept agent-q-diff-in-file-reject
                            agent-q-diff-in-file-next agent-q-diff-in-file-unapply
                            agent-q-diff-in-file-undo))))))
          (push (list (aqd-bytes-of aqd-file)
                      (with-current-buffer diff (append agent-q-diff-buffer-marks nil)))
                left)))
      (should (equal (car left) (cadr left))))))

(defun aqd-in-file-words-in (string)
  "Return what of STRING, which is drawn or nil, is marked as a word that comes."
  (let ((at 0)
        words)
    (while (and string (< at (length string)))
      (let ((next (next-single-property-change at 'face string (length string))))
        (when (memq 'agent-q-diff-word-added (ensure-list (get-text-property at 'face string)))
          (push (substring-no-properties string at next) words))
        (setq at next)))
    words))

(ert-deftest aqd-in-file-changed-words-are-marked-also-in-a-block-that-moved ()
  (let ((block (mapconcat (lambda (n) (format "some_code(%d);\n" n)) (number-sequence 1 10) ""))
        (rest (aqd-numbered 12)))
    (aqd-in-file-with-review (concat block rest)
        (concat (string-replace "line 5\n" "line five\n" rest)
                (string-replace "some_code(4)" "some_code(None)" block))
        nil
      (let ((overlays (overlays-in (point-min) (point-max))))
        (should (equal '("4" "5")
                       (sort (cl-loop for overlay in overlays
                                      when (eq 'agent-q-diff-word-removed
                                               (overlay-get overlay 'face))
                                      collect (buffer-substring-no-properties
                                               (overlay-start overlay) (overlay-end overlay)))
                             #'string<)))
        (should (equal '("None" "five")
                       (sort (cl-loop for overlay in overlays
                                      append (aqd-in-file-words-in
                                              (overlay-get overlay 'after-string)))
                             #'string<)))))))

;;;; Without colors, and from elsewhere

(ert-deftest aqd-in-file-without-colors-lines-have-signs ()
  (cl-letf (((symbol-function 'display-color-p) #'ignore))
    (aqd-in-file-with-review aqd-original aqd-modified nil
      (should (string-search "+ LINE 10\n" (aqd-in-file-drawn)))
      (should (member "- " (mapcar (lambda (overlay) (overlay-get overlay 'line-prefix))
                                   agent-q-diff-in-file--overlays))))))

(ert-deftest aqd-in-file-commands-of-the-diff-know-the-hunk-at-point ()
  (aqd-in-file-with-review aqd-original-of-two aqd-modified-of-two nil
    (agent-q-diff-next-hunk)
    (agent-q-diff-accept-hunk t)
    (should (equal '(nil applied)
                   (append (buffer-local-value 'agent-q-diff-buffer-marks
                                               agent-q-diff-in-file--diff)
                           nil)))))

;;; agent-q-diff-in-file-test.el ends here
