;;; agent-q-diff-annotations-test.el --- Texts shown below lines of a diff  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each line of a diff is known by its number in the text of its side, and the
;; reverse, whatever was split, undone or edited.  What is said about a line is
;; shown below it, as plain text that misleads nobody, and the text of the diff
;; buffer does not know of it.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-annotations)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-navigation)

;;; Where lines are

(defun aqd-annotations-rest-of-line ()
  "Return the line at point without its sign."
  (buffer-substring-no-properties (1+ (point)) (line-end-position)))

(defun aqd-annotations-lines (text)
  "Return the lines of TEXT, a vector, without their ends."
  (vconcat (split-string (string-remove-suffix "\n" text) "\n")))

(defun aqd-annotations-check-lines (texts)
  "Check where each line of this diff buffer is.
TEXTS are those of its files, each (OLD . NEW).  Return the number of lines."
  (goto-char (point-min))
  (let ((n 0)
        (seen (make-hash-table :test #'equal)))
    (while (not (eobp))
      (pcase (agent-q-diff-annotations-line-of (point))
        (`(,file ,side ,line)
         (cl-incf n)
         (let ((text (nth file texts)))
           (should (equal (aqd-annotations-rest-of-line)
                          (aref (aqd-annotations-lines
                                 (if (eq side 'old) (car text) (cdr text)))
                                line))))
         (should (eq (eq side 'old) (eq ?- (char-after))))
         (should-not (gethash (list file side line) seen))
         (puthash (list file side line) t seen)
         (should (= (point) (agent-q-diff-annotations-position file side line)))
         ;; The reverse, for a line that both sides have.
         (when (eq ?\s (char-after))
           (let* ((old (aqd-annotations-old-of (point)))
                  (text (aqd-annotations-lines (car (nth file texts)))))
             (should (equal (aqd-annotations-rest-of-line) (aref text old)))
             (should (= (point) (agent-q-diff-annotations-position file 'old old))))))
        (_ (should-not (and (agent-q-diff-buffer-hunk-at-point)
                            (not (looking-at-p "@@"))
                            (memq (char-after) '(?\s ?+ ?-))))))
      (forward-line))
    n))

(defun aqd-annotations-old-of (position)
  "Return the number of the context line at POSITION on the old side.
It is counted in the hunk, by its header."
  (save-excursion
    (goto-char position)
    (let ((end (line-beginning-position)))
      (re-search-backward "^@@ -\\([0-9]+\\)\\(,0\\)?")
      (+ (string-to-number (match-string 1)) (if (match-string 2) 0 -1)
         (progn (forward-line)
                (how-many "^[- ]" (point) end))))))

(defun aqd-annotations-random-text (n)
  "Return a random text of at most N lines, some of them equal."
  (let ((lines (cl-loop repeat (1+ (random n))
                        collect (pcase (random 4)
                                  (0 "")
                                  (1 "same")
                                  (_ (format "line %d" (random 50)))))))
    (concat (string-join lines (if (zerop (random 4)) "\r\n" "\n"))
            (if (zerop (random 3)) "x" "\n"))))

(defun aqd-annotations-random-change (text)
  "Return TEXT with random lines deleted, replaced and inserted."
  (let ((new (string-join (cl-loop for line in (split-string text "\n")
                                   append (pcase (random 8)
                                            (0 nil)
                                            (1 (list (concat line " changed")))
                                            (2 (list line "inserted" "too"))
                                            (_ (list line))))
                          "\n")))
    (if (equal new text) (concat "first\n" text) new)))

(defun aqd-annotations-proposal (texts)
  "Return a proposal of files with TEXTS, each (OLD . NEW), without files.
Every third one is renamed as well, and one without OLD is new."
  (cl-loop for (old . new) in texts
           for index from 0
           for path = (format "/aqd/%d.txt" index)
           collect (if (equal "" old)
                       (list :path path :content new)
                     (append (list :path path :original old :modified new)
                             (and (= 2 (mod index 3))
                                  (list :to (format "/aqd/%d-new.txt" index)))))))

(defmacro aqd-annotations-with-files (texts &rest body)
  "Run BODY in the diff buffer of a review of files with TEXTS, each (OLD . NEW)."
  (declare (indent 1) (debug t))
  `(let* ((agent-q-diff-display 'announce)
          (review (agent-q-diff-review-change (aqd-annotations-proposal ,texts) "d" #'ignore
                                              :detached t :agent "Claude")))
     (unwind-protect
         (progn
           (should-not (agent-q-diff-session-outcome review))
           (aqd-in-diff review ,@body))
       (unless (agent-q-diff-session-outcome review)
         (agent-q-diff-cancel review)))))

(defun aqd-annotations-random-lines-become-hunks ()
  "Make a hunk of a random changed line of this diff buffer, if there is any."
  (goto-char (1+ (random (point-max))))
  (when (re-search-forward "^[-+]" nil t)
    (let ((agent-q-diff-confirm-finish nil))
      (when (agent-q-diff-annotations-line-of (point))
        (ignore-error agent-q-diff-error
          (agent-q-diff-split-pick-region (1- (point)) (line-end-position)))))))

(ert-deftest aqd-annotations-every-line-is-known-also-after-splits-and-undoing-them ()
  (let ((inhibit-message t))
    (dotimes (seed 20)
      (random (format "lines %d" seed))
      (let* ((texts (cl-loop repeat (1+ (random 4))
                             for old = (if (zerop (random 5)) "" (aqd-annotations-random-text 40))
                             collect (cons old (if (equal "" old)
                                                   (aqd-annotations-random-text 10)
                                                 (aqd-annotations-random-change old)))))
             (agent-q-diff-context-length (random 4)))
        (aqd-annotations-with-files texts
          (let ((n (aqd-annotations-check-lines texts))
                (n-splits 0))
            (should (< 0 n))
            (dotimes (_ 3)
              (let ((before agent-q-diff-buffer-positions))
                (if (zerop (random 2))
                    (aqd-annotations-random-lines-become-hunks)
                  (agent-q-diff-buffer-goto-hunk (random (length before)))
                  (unless (agent-q-diff-change-operation-of
                           agent-q-diff-buffer-change (agent-q-diff-buffer-hunk-at-point))
                    (agent-q-diff-split-hunk)))
                (unless (eq before agent-q-diff-buffer-positions)
                  (cl-incf n-splits))
                (aqd-annotations-check-lines texts)))
            (dotimes (_ n-splits)
              (ignore-errors (agent-q-diff-undo))
              (aqd-annotations-check-lines texts))))))))

(ert-deftest aqd-annotations-lines-of-a-deleted-file-are-old-ones ()
  (let* ((agent-q-diff-display 'announce)
         (review (agent-q-diff-review-change
                  '((:path "/aqd/gone" :original "a\nb\nc" :delete t)) "d" #'ignore
                  :detached t)))
    (aqd-in-diff review
      (goto-char (point-min))
      (re-search-forward "^-c$")
      (should (equal '(0 old 2) (agent-q-diff-annotations-line-of (point))))
      (should (= (line-beginning-position) (agent-q-diff-annotations-position 0 'old 2)))
      (forward-line)
      (should (looking-at-p "\\\\ No newline"))
      (should-not (agent-q-diff-annotations-line-of (point))))
    (agent-q-diff-cancel review)))

(ert-deftest aqd-annotations-lines-of-hunks-that-are-inserted-late ()
  (let* ((old (aqd-numbered 600))
         (new (aqd-numbered 600 (cl-loop for n from 5 below 600 by 10
                                         collect (cons n "x"))))
         (texts (list (cons old new) (cons (aqd-numbered 40)
                                           (aqd-numbered 40 '((5 . "x") (35 . "x"))))))
         (agent-q-diff-annotations-functions
          (list (lambda ()
                  (list (agent-q-diff-annotation-create :file 1 :line 34 :text "late")
                        (agent-q-diff-annotation-create :file 1 :line 19 :text "between"))))))
    (aqd-annotations-with-files texts
      (should agent-q-diff-buffer-rest)
      (should-not (agent-q-diff-annotations-position 1 'new 34))
      (should-not (agent-q-diff-annotations-between (point-min) (point-max)))
      (agent-q-diff-buffer-complete)
      (goto-char (agent-q-diff-annotations-position 1 'new 34))
      (should (equal "x" (aqd-annotations-rest-of-line)))
      (should (equal '("late") (mapcar #'agent-q-diff-annotation-text
                                       (agent-q-diff-annotations-at-point))))
      (goto-char (aref agent-q-diff-buffer-headings 1))
      (should (equal '("between") (mapcar #'agent-q-diff-annotation-text
                                          (agent-q-diff-annotations-at-point)))))))

;;; When hunks are rewritten

(defun aqd-annotations-unique-change (text)
  "Return TEXT, whose lines differ, with random lines changed; they differ, too."
  (let ((new (string-join (cl-loop for line in (split-string text "\n")
                                   for n from 0
                                   append (pcase (random 9)
                                            (0 nil)
                                            (1 (list (concat line " changed")))
                                            (2 (list line (format "inserted %d" n)))
                                            (_ (list line))))
                          "\n")))
    (if (equal new text) (concat "first\n" text) new)))

(defun aqd-annotations-rewrite (n)
  "Edit the hunk at point: delete, change or insert a line, with N in it."
  (save-window-excursion
    (agent-q-diff-edit-hunk)
    (let ((buffer (aqd-small-buffer)))
      (with-current-buffer buffer
        (goto-char (point-min))
        (forward-line (random (max 1 (count-lines (point-min) (point-max)))))
        (pcase (random 3)
          (0 (delete-region (point) (line-beginning-position 2)))
          (1 (insert "edited " (number-to-string n)))
          (_ (insert (format "new %d\nnew too %d\n" n n))))
        (condition-case nil
            (agent-q-diff-edit-finish)
          ;; Nothing may be left of it.
          (error (set-buffer-modified-p nil)
                 (kill-buffer buffer)))))))

(ert-deftest aqd-annotations-stay-with-their-lines-when-hunks-are-edited ()
  (let ((inhibit-message t)
        (n-kept 0))
    (dotimes (seed 15)
      (random (format "edits %d" seed))
      (let* ((old (aqd-numbered 60))
             (texts (list (cons old (aqd-annotations-unique-change old))
                          (cons old (aqd-annotations-unique-change old))))
             (agent-q-diff-context-length (random 4))
             (notes (mapcar (lambda (text)
                              (seq-map-indexed (lambda (line index) (cons index line))
                                               (aqd-annotations-lines (cdr text))))
                            texts)))
        (aqd-annotations-with-files texts
          (let ((files (agent-q-diff-change-files agent-q-diff-buffer-change)))
            (cl-mapc (lambda (file notes)
                       (setf (agent-q-diff-file-change-annotations file) notes))
                     files notes)
            (dotimes (n 3)
              (agent-q-diff-buffer-goto-hunk (random (length agent-q-diff-buffer-positions)))
              (when (zerop (random 3))
                (agent-q-diff-split-hunk))
              (aqd-annotations-rewrite n))
            (dotimes (hunk (length agent-q-diff-buffer-positions))
              (agent-q-diff-accept review hunk))
            (dolist (file files)
              (let ((now (aqd-annotations-lines
                          (agent-q-diff-text-in (agent-q-diff-file-change-buffer file)))))
                (pcase-dolist (`(,line . ,text) (agent-q-diff-file-change-annotations file))
                  (should (natnump line))
                  (when (seq-contains-p now text)
                    (cl-incf n-kept)
                    (should (equal (list seed text) (list seed (aref now line))))))))))))
    (should (< 1000 n-kept))))

(ert-deftest aqd-annotations-stay-with-their-line-among-equal-ones ()
  (let ((agent-q-diff-annotations-functions (list #'agent-q-diff-annotations--of-proposal)))
    (aqd-annotations-with-files '(("a\nb\n" . "a\nsame\nsame\nsame\nb\n"))
      (let ((file (car (agent-q-diff-change-files agent-q-diff-buffer-change))))
        (setf (agent-q-diff-file-change-annotations file)
              '((0 . "a") (1 . "first") (2 . "second") (3 . "third") (4 . "b")))
        (agent-q-diff-buffer-goto-hunk 0)
        (agent-q-diff-edit-hunk)
        (aqd-in-small-buffer
          (aqd-retype "a\nsame\n" "a\nnew\nsame\n")
          (agent-q-diff-edit-finish))
        (should (equal '((0 . "a") (2 . "first") (3 . "second") (4 . "third") (5 . "b"))
                       (agent-q-diff-file-change-annotations file)))
        (agent-q-diff-edit-hunk)
        (aqd-in-small-buffer
          (goto-char (point-max))
          (forward-line -1)
          (insert "new too\n")
          (agent-q-diff-edit-finish))
        (should (equal '((0 . "a") (2 . "first") (3 . "second") (4 . "third") (6 . "b"))
                       (agent-q-diff-file-change-annotations file)))))))

(ert-deftest aqd-annotations-follow-a-merge-on-both-sides ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (aqd-in-target
      (aqd-retype "line 5\n" "line V\nand VI\n"))
    (aqd-in-diff review
      (pop-to-buffer (current-buffer))
      (should-not (agent-q-diff-annotations-moved-p 0))
      (aqd-goto-hunk 1)
      (agent-q-diff-merge-hunk)
      (with-current-buffer (window-buffer)
        (erase-buffer)
        (insert (aqd-lines "line 2" "line 3" "line 4" "five" "line V" "and VI"
                           "line 6" "line 7" "line 8"))
        (agent-q-diff-edit-finish))
      (should (agent-q-diff-annotations-moved-p 0))
      (pcase-dolist (`(,side . ,now) '((old 0 4 25) (new 0 4 26)))
        (should (equal now (mapcar (apply-partially #'agent-q-diff-annotations-line-now 0 side)
                                   '(0 4 24))))
        (should (equal '(0 4 24)
                       (mapcar (apply-partially #'agent-q-diff-annotations-line-now 1 side)
                               '(0 4 24)))))
      (goto-char (agent-q-diff-annotations-position 0 'new 26))
      (should (looking-at-p "\\+x"))
      (goto-char (agent-q-diff-annotations-position 0 'old 25))
      (should (looking-at-p "-line 25")))
    (agent-q-diff-cancel review)))

;;; Notes that come with a proposal

(ert-deftest aqd-annotations-of-a-program-s-proposal ()
  (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
    (agent-q-diff-cancel review))
  (let ((aqd-answers nil))
    (aqd-with-file aqd-original-of-two
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two
                                      :annotations '((4 . "Why\nthis") (nil . "All"))
                                      :notes '("Above") :agent "Claude")))
        (aqd-in-diff review
          (should (equal (aqd-annotations-shown)
                         '(("@@ -2,7 +2,7 @@ line 1" "# > Claude: All")
                           ("+five" "# > Claude: Why" "#   this")))))
        (agent-q-diff-accept review 0)
        (agent-q-diff-end review)
        (should (equal '(partial) (aqd-answer :status))))
      ;; They are there when it is shown again.
      (agent-q-diff-look-again)
      (with-current-buffer (aqd-diff-buffer)
        (should (= 2 (length (aqd-annotations-shown))))
        (agent-q-diff-finish)))))

(ert-deftest aqd-annotations-of-a-program-s-proposal-that-are-wrong-are-refused ()
  (dolist (annotations '("x" ("x") ((1)) ((1 . x)) ((-1 . "x")) (("1" . "x")) ((30 . "x"))))
    (aqd-with-file aqd-original-of-two
      (let ((aqd-answers nil))
        (aqd-begin-review aqd-original-of-two aqd-modified-of-two :annotations annotations)
        (should (equal (aqd-answer :status :error) '(error agent-q-diff-bad-arguments)))
        (should-not (agent-q-diff-open-reviews))
        (should (equal aqd-original-of-two (decode-coding-string (aqd-disk) 'utf-8)))))))

(ert-deftest aqd-annotations-of-a-proposal-that-is-a-diff ()
  (aqd-with-file aqd-original-of-two
    (let* ((default-directory (file-name-directory aqd-file))
           (review (agent-q-diff-review-change
                    (list (list :path aqd-file :diff aqd-bare-diff-of-two
                                :annotations '((999 . "far"))))
                    "d" #'ignore :agent "Claude")))
      (aqd-in-diff review
        (should (equal '("# > Claude (line 1000): far") (cdar (aqd-annotations-shown)))))
      (agent-q-diff-cancel review))))

;;; How they are shown

(defun aqd-annotations-of (&rest annotations)
  "Return a value for the hook: ANNOTATIONS, each (LINE TEXT . SLOTS), of one file."
  (list (lambda ()
          (mapcar (pcase-lambda (`(,line ,text . ,slots))
                    (apply #'agent-q-diff-annotation-create
                           (append slots (list :line line :text text :who "Claude"))))
                  annotations))))

(defmacro aqd-annotations-with-review (annotations &rest body)
  "Run BODY in the diff buffer of a review of two hunks with ANNOTATIONS.
These are as for `aqd-annotations-of', in a list."
  (declare (indent 1) (debug t))
  `(let ((agent-q-diff-annotations-functions (apply #'aqd-annotations-of ,annotations)))
     (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
       (aqd-in-diff review ,@body)
       (unless (agent-q-diff-session-outcome review)
         (agent-q-diff-cancel review)))))

(defun aqd-annotations-shown ()
  "Return what is shown of annotations here, a list of (DIFF-LINE . ROWS)."
  (cl-loop for overlay in (seq-sort-by #'overlay-start #'<
                                       (overlays-in (point-min) (point-max)))
           for string = (and (overlay-get overlay 'agent-q-diff-annotations)
                             (or (overlay-get overlay 'after-string)
                                 (overlay-get overlay 'before-string)))
           when string
           collect (cons (save-excursion
                           (goto-char (overlay-start overlay))
                           (buffer-substring-no-properties (point) (line-end-position)))
                         (split-string (substring-no-properties string) "\n" t))))

(ert-deftest aqd-annotations-are-shown-below-their-lines ()
  (aqd-annotations-with-review
      '((4 "as it is\nin other files") (4 "old" :side old :kind question :who "You" :state sent)
        (nil "all of it") (14 "nothing") (22 "three lines" :n-lines 3)
        (24 "why?" :kind comment :who "You" :state handled :replies (("Claude" . "it\nis"))))
    (should (equal (aqd-annotations-shown)
                   '(("@@ -2,7 +2,7 @@ line 1"
                      "# > Claude: all of it" "# > Claude (line 15): nothing")
                     ("-line 5" "# > You (question, sent): old")
                     ("+five" "# > Claude: as it is" "#   in other files")
                     ("+x" "# > Claude (lines 23-25): three lines" "# > You (handled): why?"
                      "#   > Claude: it" "#     is"))))
    (aqd-goto-hunk 1)
    (re-search-forward "^\\+five")
    (should (equal '("as it is\nin other files")
                   (mapcar #'agent-q-diff-annotation-text (agent-q-diff-annotations-at-point))))
    (forward-line)
    (should-not (agent-q-diff-annotations-at-point))))

(ert-deftest aqd-annotations-are-no-part-of-the-diff ()
  (let (plain lines)
    (aqd-annotations-with-review nil
      (setq plain (buffer-string)
            lines (agent-q-diff-module-changed-words
                   (agent-q-diff-change-engine agent-q-diff-buffer-change) 0)))
    (aqd-annotations-with-review '((4 "secret word") (nil "secret word"))
      (should (aqd-annotations-shown))
      (should (equal (substring-no-properties plain)
                     (replace-regexp-in-string
                      "agent-q-diff-test[^/]*" (progn (string-match "agent-q-diff-test[^/]*" plain)
                                                      (match-string 0 plain))
                      (buffer-substring-no-properties (point-min) (point-max)))))
      (should (equal lines (agent-q-diff-module-changed-words
                            (agent-q-diff-change-engine agent-q-diff-buffer-change) 0)))
      (goto-char (point-min))
      (should-not (search-forward "secret" nil t))
      (copy-region-as-kill (point-min) (point-max))
      (should-not (string-search "secret" (current-kill 0)))
      (should-not (text-property-not-all 0 (length (current-kill 0)) 'after-string nil
                                         (current-kill 0)))
      (should-not (buffer-modified-p))
      (agent-q-diff-accept-all))
    (should-not (agent-q-diff-open-reviews))))

(ert-deftest aqd-annotations-show-evil-texts-as-plain-ones ()
  (let* ((evil (concat (propertize "hidden" 'invisible t 'display "" 'face 'highlight)
                       " \u202egnp.exe \e[31mred\x3fff80 \u200b\n+added\n@@ -1 +1 @@\r\n\trest"))
         (who (concat (propertize "Cl" 'display "You") "\naude\u2066")))
    (aqd-annotations-with-review `((4 ,evil :who ,who :replies ((,who . ,evil))))
      (should (equal (cdr (car (aqd-annotations-shown)))
                     '("# > Cl<U+000A>aude<U+2066>: hidden <U+202E>gnp.exe <U+001B>[31mred<80> <U+200B>"
                       "#   +added" "#   @@ -1 +1 @@" "#       rest"
                       "#   > \"Cl<U+000A>aude<U+2066>\": hidden <U+202E>gnp.exe <U+001B>[31mred<80>"
                       "#     <U+200B>" "#     +added" "#     @@ -1 +1 @@" "#         rest")))
      (dolist (overlay (overlays-in (point-min) (point-max)))
        (when (overlay-get overlay 'agent-q-diff-annotations)
          (let ((string (overlay-get overlay 'after-string)))
            (dotimes (at (length string))
              (should (memq (car (text-properties-at at string)) '(face nil)))
              (should-not (cddr (text-properties-at at string))))))))))

(ert-deftest aqd-annotations-fit-the-window-and-are-cut-off ()
  (let ((words (mapconcat #'number-to-string (number-sequence 1 400) " "))
        (word (make-string 300 ?x))
        (wide (make-string 100 ?漢)))
    (dolist (width '(80 41))
      (aqd-with-frame width 30
        (aqd-annotations-with-review `((4 ,words) (24 ,word) (nil ,wide))
          (pop-to-buffer (current-buffer))
          (delete-other-windows)
          (agent-q-diff-annotations-show)
          (dolist (rows (mapcar #'cdr (aqd-annotations-shown)))
            (dolist (row rows)
              (should (string-prefix-p "#" row))
              ;; The first column has the bar.
              (should (< (string-width row) (window-max-chars-per-line)))))
          (should (equal word (mapconcat (lambda (row) (replace-regexp-in-string "[^x]" "" row))
                                         (cdr (assoc "+x" (aqd-annotations-shown))) "")))
          (aqd-goto-hunk 1)
          (re-search-forward "^\\+five")
          (cl-flet ((rows () (cdr (assoc "+five" (aqd-annotations-shown)))))
            (let ((cut (rows)))
              (should (= 11 (length cut)))
              (should (string-match-p "… [0-9]+ more lines, x shows them" (car (last cut))))
              (aqd-press "x")
              (should (equal words
                             (string-remove-prefix
                              "Claude: "
                              (mapconcat (lambda (row) (substring row 4)) (rows) " "))))
              (aqd-press "x")
              (should (equal cut (rows))))))))))

(ert-deftest aqd-annotations-fit-a-window-that-has-become-narrower ()
  (aqd-annotations-with-review `((4 ,(mapconcat #'number-to-string (number-sequence 1 60) " ")))
    (aqd-with-frame 80 30
      (pop-to-buffer (current-buffer))
      (delete-other-windows)
      (agent-q-diff-annotations-show)
      (let ((n (length (car (aqd-annotations-shown)))))
        (set-frame-size nil 40 30)
        (run-hook-with-args 'window-size-change-functions (selected-window))
        (should (< n (length (car (aqd-annotations-shown)))))))))

;;; When text is hidden

(ert-deftest aqd-annotations-of-a-folded-hunk-are-hidden-and-counted ()
  (aqd-annotations-with-review '((4 "in it") (7 "last line") (24 "other"))
    (let ((all (aqd-annotations-shown)))
      (should (= 3 (length all)))
      (pop-to-buffer (current-buffer))
      (aqd-goto-hunk 1)
      (agent-q-diff-fold-hunk)
      (should (equal '("+x") (mapcar #'car (aqd-annotations-shown))))
      (should (seq-some (lambda (overlay)
                          (equal " … 2 notes" (substring-no-properties
                                              (or (overlay-get overlay 'after-string) ""))))
                        (overlays-in (point-min) (point-max))))
      (agent-q-diff-fold-hunk)
      (should (equal all (aqd-annotations-shown)))
      ;; As a search does that ends in it.
      (agent-q-diff-fold-hunk)
      (let ((fold (seq-find (lambda (overlay) (overlay-get overlay 'agent-q-diff-folded))
                            (overlays-in (point-min) (point-max)))))
        (funcall (overlay-get fold 'isearch-open-invisible) fold))
      (should (equal all (aqd-annotations-shown)))
      (agent-q-diff-fold-all-hunks)
      (should-not (aqd-annotations-shown))
      (agent-q-diff-fold-all-hunks)
      (should (equal all (aqd-annotations-shown)))
      (agent-q-diff-reject-hunk)
      (agent-q-diff-hide-decided-mode)
      (should (= 1 (length (aqd-annotations-shown))))
      (agent-q-diff-hide-decided-mode -1)
      (should (equal all (aqd-annotations-shown))))))

(ert-deftest aqd-annotations-of-a-folded-file-are-hidden-except-those-on-all-of-it ()
  (let ((agent-q-diff-annotations-functions
         (aqd-annotations-of '(0 "line") '(nil "all") '(0 "other" :file 1))))
    (aqd-annotations-with-files '(("a\n" . "b\n") ("a\n" . "c\n"))
      (let ((all (aqd-annotations-shown)))
        (should (= 3 (length all)))
        (goto-char (aref agent-q-diff-buffer-headings 0))
        (agent-q-diff-fold-hunk)
        (should (equal '(("# > Claude: all") ("# > Claude: other"))
                       (mapcar #'cdr (aqd-annotations-shown))))
        (agent-q-diff-buffer-goto-hunk 0)
        (should (equal all (aqd-annotations-shown)))))))

(ert-deftest aqd-annotations-follow-the-lines-when-the-middle-of-a-hunk-is-shown ()
  (let ((agent-q-diff-hunk-lines 6)
        (agent-q-diff-annotations-functions (aqd-annotations-of '(10 "middle"))))
    (aqd-annotations-with-files (list (cons "x\n" (aqd-numbered 20)) '("a\n" . "b\n"))
      (pop-to-buffer (current-buffer))
      (should-not (aqd-annotations-shown))
      (agent-q-diff-buffer-goto-hunk 0)
      (agent-q-diff-expand-line)
      (should (equal '("+line 11") (mapcar #'car (aqd-annotations-shown))))
      (agent-q-diff-expand-line)
      (should-not (aqd-annotations-shown)))))

(ert-deftest aqd-annotations-of-a-diff-that-is-typed-wait-until-it-is-read-again ()
  (let ((agent-q-diff-annotations-functions (aqd-annotations-of '(6 "here"))))
    (aqd-with-file (aqd-numbered 20)
      (aqd-with-diff aqd-bare-diff-of-one
        (agent-q-diff-mode)
        (aqd-goto-hunk 1)
        (agent-q-diff-buffer-current-change)
        (agent-q-diff-annotations-show)
        (should (equal '(("+LINE 7" "# > Claude: here")) (aqd-annotations-shown)))
        (let ((inhibit-read-only t))
          (goto-char (point-min))
          (insert "Some words\n"))
        (agent-q-diff-annotations-show)
        (should-not (aqd-annotations-shown))
        (agent-q-diff-buffer-current-change)
        (agent-q-diff-annotations-show)
        (should (equal '(("+LINE 7" "# > Claude: here")) (aqd-annotations-shown)))))))

(ert-deftest aqd-annotations-cost-nothing-if-there-are-none ()
  (aqd-annotations-with-review nil
    (cl-letf (((symbol-function 'agent-q-diff-annotations-ranges) #'error))
      (agent-q-diff-annotations-show)
      (agent-q-diff-split-hunk)
      (should-not (aqd-annotations-shown)))))

(provide 'agent-q-diff-annotations-test)
;;; agent-q-diff-annotations-test.el ends here
