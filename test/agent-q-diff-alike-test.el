;;; agent-q-diff-alike-test.el --- Equal changes, decided as one  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-git-help)
(require 'agent-q-diff-git-help)
(require 'agent-q-diff-alike)

(defun aqd-alike-text (k edits)
  "Return the text of file K, 60 lines, with EDITS, an alist from lines to texts."
  (mapconcat (lambda (n)
               (concat (or (alist-get n edits)
                           (if (= 0 (% n 10)) "  call(old);" (format "line %d %d;" k n)))
                       "\n"))
             (number-sequence 1 60) ""))

(defun aqd-alike-renamed (&rest more)
  "Return edits that rename in lines 10, 20, 30, and MORE."
  (append more (mapcar (lambda (n) (cons n "  call(new);")) '(10 20 30))))

(defvar aqd-alike-tree nil
  "The folder of the files of the current test.")

(defvar aqd-alike-result nil
  "The result of the last review.")

(defmacro aqd-alike-with-tree (proposals &rest body)
  "Run BODY in the review of files \"0\", \"1\" and so on with PROPOSALS, edits each.
`aqd-alike-file' returns what a file has."
  (declare (indent 1) (debug t))
  `(let* ((aqd-alike-tree (file-name-as-directory (make-temp-file "aqd-alike" t)))
          (default-directory aqd-alike-tree)
          (create-lockfiles nil)
          (backup-inhibited t)
          (files (cl-loop for edits in ,proposals
                          for k from 0
                          collect (list (number-to-string k)
                                        (aqd-alike-text k nil) (aqd-alike-text k edits)))))
     (setq aqd-alike-result nil)
     (unwind-protect
         (progn
           (pcase-dolist (`(,name ,text ,_) files)
             (aqd-put-bytes text (expand-file-name name aqd-alike-tree)))
           (let ((review (agent-q-diff-review-change
                          (mapcar (pcase-lambda (`(,name ,original ,modified))
                                    (list :path name :original original :modified modified))
                                  files)
                          "Rename" (lambda (result) (setq aqd-alike-result result)))))
             (aqd-in-diff review
               (pop-to-buffer (current-buffer))
               ,@body)))
       (dolist (review (agent-q-diff-open-reviews))
         (agent-q-diff-cancel review))
       (aqd-remove-tree aqd-alike-tree))))

(defun aqd-alike-notes ()
  "Return what the headers in this diff buffer say, in order."
  (agent-q-diff-alike--show-between (point-min) (point-max))
  (mapcar (lambda (overlay)
            (string-remove-prefix "  · " (substring-no-properties
                                          (overlay-get overlay 'after-string))))
          (sort (seq-filter (lambda (overlay)
                              (and (overlay-get overlay 'agent-q-diff-alike)
                                   (overlay-get overlay 'after-string)))
                            (overlays-in (point-min) (point-max)))
                (lambda (one other) (< (overlay-start one) (overlay-start other))))))

(defun aqd-alike-file (k)
  "Return the bytes of file K."
  (aqd-bytes-of (expand-file-name (number-to-string k) aqd-alike-tree)))

(ert-deftest aqd-alike-one-key-accepts-all-in-all-files-and-nothing-else ()
  (aqd-alike-with-tree (list (aqd-alike-renamed '(45 . "other 0"))
                             (aqd-alike-renamed '(45 . "different 1"))
                             '((10 . "  call(new, 1);")))
    (should (equal (agent-q-diff-alike-where-words (car (agent-q-diff-alike-groups)))
                   "6 times in 2 files"))
    (should (equal "old → new" (agent-q-diff-alike-words (car (agent-q-diff-alike-groups)))))
    (should (= 1 (length (agent-q-diff-alike-groups))))
    (should (equal "2 of 6 like this" (nth 1 (aqd-alike-notes))))
    (agent-q-diff-buffer-goto-hunk 1)
    (should (equal "6 hunks alike applied; 6 of 9 decided, 3 pending"
                   (aqd-said (agent-q-diff-accept-alike))))
    ;; On the next one that is pending.
    (should (= 3 (agent-q-diff-buffer-hunk-at-point)))
    (should (equal (aqd-alike-file 0) (aqd-alike-text 0 (aqd-alike-renamed))))
    (should (equal (aqd-alike-file 1) (aqd-alike-text 1 (aqd-alike-renamed))))
    (should (equal (aqd-alike-file 2) (aqd-alike-text 2 nil)))
    ;; It is one decision.
    (agent-q-diff-undo)
    (should (equal (aqd-alike-file 0) (aqd-alike-text 0 nil)))
    (should (equal (agent-q-diff-buffer-counts) '(9 0 0 9)))
    (agent-q-diff-redo)
    (should (equal (aqd-alike-file 1) (aqd-alike-text 1 (aqd-alike-renamed))))
    (agent-q-diff-buffer-goto-hunk 0)
    (should (equal "6 hunks alike taken out; 0 of 9 decided, 9 pending"
                   (aqd-said (agent-q-diff-unapply-alike))))
    (should (equal (aqd-alike-file 1) (aqd-alike-text 1 nil)))
    (should (equal "6 hunks alike rejected; 6 of 9 decided, 3 pending"
                   (aqd-said (agent-q-diff-reject-alike "keep the name"))))
    (should-error (agent-q-diff-accept-alike) :type 'user-error)
    (agent-q-diff-buffer-goto-hunk 0)
    (should-error (agent-q-diff-accept-alike) :type 'user-error)
    (agent-q-diff-accept-all)
    (should (equal (aqd-alike-file 0) (aqd-alike-text 0 '((45 . "other 0")))))
    (should (equal "keep the name"
                   (plist-get (nth 0 (plist-get aqd-alike-result :hunks)) :comment)))))

(ert-deftest aqd-alike-a-part-of-a-hunk-is-decided-alone ()
  (aqd-alike-with-tree (list (aqd-alike-renamed '(12 . "other 0") '(28 . "other 28")))
    (should (equal '("a part is 1 of 3 alike" "2 of 3 like this" "a part is 3 of 3 alike")
                   (aqd-alike-notes)))
    (goto-char (point-min))
    (search-forward "+other 0")
    (should-error (agent-q-diff-accept-alike) :type 'user-error)
    (search-backward "+  call(new)")
    (should (equal "3 hunks alike applied; 3 of 5 decided, 2 pending"
                   (aqd-said (agent-q-diff-accept-alike))))
    (should (equal (aqd-alike-file 0) (aqd-alike-text 0 (aqd-alike-renamed))))
    (should (equal (agent-q-diff-buffer-counts) '(5 3 0 2)))
    ;; Undoing it joins the parts again.
    (agent-q-diff-undo)
    (should (equal (agent-q-diff-buffer-counts) '(3 0 0 3)))
    (should (equal (aqd-alike-file 0) (aqd-alike-text 0 nil)))))

(ert-deftest aqd-alike-moving-and-folding ()
  (aqd-alike-with-tree (list (aqd-alike-renamed '(45 . "other 0")) (aqd-alike-renamed))
    (agent-q-diff-buffer-goto-hunk 1)
    (should (equal "old → new (3 of 6)" (aqd-said (agent-q-diff-next-alike))))
    (aqd-press "C-u 2 l n")
    (should (= 5 (agent-q-diff-buffer-hunk-at-point)))
    (should (equal "old → new (1 of 6); wrapped around"
                   (aqd-said (agent-q-diff-next-alike 2))))
    (aqd-press "l p")
    (should (= 6 (agent-q-diff-buffer-hunk-at-point)))
    (agent-q-diff-buffer-goto-hunk 1)
    (cl-flet ((shown ()
                (cl-loop for hunk from 0
                         for position across agent-q-diff-buffer-positions
                         unless (invisible-p position) collect hunk)))
      (aqd-press "l l")
      (should (equal '(1 3) (shown)))
      (aqd-press "n")
      (should (= 3 (agent-q-diff-buffer-hunk-at-point)))
      ;; A key decides only what is shown, and then another one is.
      (aqd-press "p a")
      (should (equal (agent-q-diff-buffer-counts) '(7 1 0 6)))
      (should (memql (agent-q-diff-buffer-hunk-at-point) (shown)))
      ;; Moving to a hidden one shows it.
      (agent-q-diff-buffer-goto-hunk 0)
      (aqd-press "l n l n")
      (should (= 2 (agent-q-diff-buffer-hunk-at-point)))
      (should (memql 2 (shown)))
      (aqd-press "l l")
      (should (equal '(0 1 2 3 4 5 6) (shown))))))

(ert-deftest aqd-alike-where-nothing-is-alike-the-keys-say-so ()
  (aqd-alike-with-tree (list '((5 . "x") (45 . "y")))
    (should-not (aqd-alike-notes))
    (agent-q-diff-buffer-goto-hunk 0)
    (should (equal "No other change is like this one"
                   (cadr (should-error (agent-q-diff-accept-alike) :type 'user-error))))
    (should (equal (agent-q-diff-buffer-counts) '(2 0 0 2)))))

(ert-deftest aqd-alike-what-was-written-already-is-taken-out-without-the-user-s-lines ()
  (aqd-with-repository
    (aqd-pending-put "0" (aqd-alike-text 0 nil))
    (agent-q-diff-module-mark-reviewed default-directory '("0"))
    (agent-q-diff-module-begin-turn default-directory "Codex" "s" "do it")
    (aqd-pending-put "0" (aqd-alike-text 0 (aqd-alike-renamed '(45 . "other"))))
    (agent-q-diff-module-end-turns default-directory)
    (aqd-with-pending
      (should (equal "1 of 3 like this" (car (aqd-alike-notes))))
      (agent-q-diff-buffer-goto-hunk 0)
      (should (equal "3 hunks alike taken out; 3 of 4 decided, 1 pending"
                     (aqd-said (agent-q-diff-reject-alike "no"))))
      (should (equal (aqd-pending-has "0") (aqd-alike-text 0 '((45 . "other")))))
      (agent-q-diff-buffer-goto-hunk 0)
      (agent-q-diff-unapply-alike)
      (should (equal (aqd-pending-has "0")
                     (aqd-alike-text 0 (aqd-alike-renamed '(45 . "other")))))
      (agent-q-diff-accept-alike)
      (should (equal (agent-q-diff-buffer-counts) '(4 3 0 1))))))

(ert-deftest aqd-alike-the-words-say-what-is-done ()
  (cl-flet ((words (kind before after)
              (agent-q-diff-alike-words (vector kind before after nil nil nil nil nil))))
    (should (equal "added \"use a;\"" (words 'added "" "use a;")))
    (should (equal "removed \"a\" and 1 line" (words 'removed "a\nb" "")))
    (should (equal "a → b" (words 'lines "a" "b")))
    (should (equal "indented by 2 spaces" (words 'indent "" "  ")))
    (should (equal "outdented by 1 tab" (words 'indent "\t" "")))
    (should (equal "indented by white space" (words 'indent "" "\t ")))
    (should (equal (concat (make-string 29 ?x) "… → y")
                   (words 'words (make-string 50 ?x) "y")))))

(ert-deftest aqd-alike-the-same-words-in-a-string-are-another-change ()
  (let* ((lines (lambda (name)
                  (mapconcat (lambda (code) (concat (format code name) "\n" (make-string 9 ?\n)))
                             '("(%s 1)" "(%s 2)" "(f \"%s\")" "(%s 3)" "; %s") "")))
         (original (funcall lines "q-diff-a")))
    (aqd-with-file original
      (with-current-buffer (find-file-noselect aqd-file)
        (emacs-lisp-mode))
      (aqd-call original (funcall lines "agent-q-diff-a")
                (lambda ()
                  (aqd-goto-hunk 3)
                  (should (equal "others like this are not in a string"
                                 (agent-q-diff-alike-note 2)))
                  (should-error (agent-q-diff-accept-alike) :type 'user-error)
                  (should (equal '("3 times: q-diff-a → agent-q-diff-a, in code"
                                   "1 time: q-diff-a → agent-q-diff-a, in a string"
                                   "1 time: q-diff-a → agent-q-diff-a, in a comment")
                                 (mapcar #'agent-q-diff-overview-item-words
                                         (agent-q-diff-overview--groups))))
                  (aqd-goto-hunk 1)
                  (agent-q-diff-accept-alike)
                  (should (equal "3/5 applied, 0 rejected, 2 pending" (aqd-progress)))
                  (agent-q-diff-accept-all))))))

;;;; What moved

(defun aqd-alike-block (margin)
  "Return a block of ten lines after MARGIN."
  (mapconcat (lambda (n) (format "%ssome_code(%d);\n" margin n)) (number-sequence 1 10) ""))

(ert-deftest aqd-alike-a-block-that-moved-is-a-pair ()
  (let* ((lines (lambda (from to)
                  (mapconcat (lambda (n) (format "line %d\n" n)) (number-sequence from to) "")))
         (original (concat (funcall lines 1 20) (aqd-alike-block "") (funcall lines 21 50)))
         (modified (concat (funcall lines 1 20) (funcall lines 21 40) "new\n"
                           (aqd-alike-block "") (funcall lines 41 50))))
    (aqd-with-review original modified
      (pop-to-buffer (current-buffer))
      (should (equal '("10 lines moved to line 42" "10 lines moved from line 21")
                     (aqd-alike-notes)))
      ;; Its lines are in a face of their own.
      (goto-char (point-min))
      (search-forward "+some_code(3)")
      (should (memq 'agent-q-diff-moved (mapcar (lambda (overlay) (overlay-get overlay 'face))
                                                (overlays-at (line-beginning-position)))))
      (search-backward "+new")
      (should-not (memq 'agent-q-diff-moved (mapcar (lambda (overlay) (overlay-get overlay 'face))
                                                    (overlays-at (line-beginning-position)))))
      ;; Jumping between its ends.
      (should-error (agent-q-diff-next-alike) :type 'user-error)
      (aqd-goto-hunk 2)
      (should (equal "10 lines moved from line 21 to line 42 (1 of 2); wrapped around"
                     (aqd-said (agent-q-diff-next-alike))))
      (should (= 0 (agent-q-diff-buffer-hunk-at-point)))
      (agent-q-diff-next-alike)
      (should (looking-at "\\+some_code(1)"))
      ;; Folded, it is a line at each end.
      (aqd-press "l l")
      (should (= 2 (seq-count (lambda (overlay)
                                (and (overlay-get overlay 'agent-q-diff-filter)
                                     (string-match-p "10 lines moved"
                                                     (or (overlay-get overlay 'after-string)
                                                         ""))))
                              (overlays-in (point-min) (point-max)))))
      (aqd-press "l l")
      ;; As a pair, and singly.
      (goto-char (point-min))
      (search-forward "+some_code(3)")
      (aqd-press "l a")
      (should (equal (aqd-target) (string-replace "new\n" "" modified)))
      (aqd-press "C-/")
      (should (equal (aqd-target) original))
      (aqd-goto-hunk 1)
      (aqd-press "a")
      (should (equal (aqd-target) (string-replace (aqd-alike-block "") "" original))))))

(defun aqd-alike-moved-p ()
  "Return how many lines of this diff buffer are in the face of what moved."
  (agent-q-diff-alike--show-between (point-min) (point-max))
  (seq-count (lambda (overlay) (eq 'agent-q-diff-moved (overlay-get overlay 'face)))
             (overlays-in (point-min) (point-max))))

(defun aqd-alike-should-be-a-copy (line)
  "Check that no key and no fold takes LINE of a diff, one of a block, for moved."
  (should-not (seq-filter (lambda (note) (string-match-p "moved" note)) (aqd-alike-notes)))
  (should (= 0 (aqd-alike-moved-p)))
  (goto-char (point-min))
  (search-forward line)
  (should-not (invisible-p (line-beginning-position)))
  (should-error (agent-q-diff-accept-alike) :type 'user-error)
  (should-not (seq-filter (lambda (group) (eq 'moved (agent-q-diff-alike-kind group)))
                          (agent-q-diff-alike-groups))))

(ert-deftest aqd-alike-a-copy-has-not-moved ()
  "Nor has a block that is just removed: the ends are decided alike, or read."
  (let* ((lines (lambda (from to)
                  (mapconcat (lambda (n) (format "line %d\n" n)) (number-sequence from to) "")))
         (block (aqd-alike-block ""))
         (original (concat block (funcall lines 1 40)))
         (modified (concat (funcall lines 1 40) block)))
    ;; Before the write.
    (aqd-with-review original modified
      (pop-to-buffer (current-buffer))
      (aqd-press "l l")
      (should (= 2 (aqd-alike-moved-p)))
      (aqd-goto-hunk 1)
      ;; Emacs draws the notes anew, once.
      (let ((n-drawn 0))
        (cl-letf (((symbol-function 'agent-q-diff-alike--show-anew)
                   (lambda (are-new) (when are-new (cl-incf n-drawn)))))
          (aqd-press "r"))
        (should (= 1 n-drawn)))
      (aqd-alike-should-be-a-copy "+some_code(3)")
      (aqd-press "C-/")
      (should (= 2 (aqd-alike-moved-p)))
      (aqd-goto-hunk 2)
      (aqd-press "r")
      (aqd-alike-should-be-a-copy "-some_code(3)")
      (aqd-press "C-/")
      ;; One end is in the file.
      (aqd-goto-hunk 2)
      (aqd-press "a")
      (aqd-alike-should-be-a-copy "-some_code(3)")
      (aqd-goto-hunk 1)
      (aqd-press "a")
      (should (= 2 (aqd-alike-moved-p))))
    ;; After it.
    (aqd-with-repository
      (aqd-pending-put "f.txt" original)
      (aqd-with-pending
        (agent-q-diff-accept-all))
      (aqd-pending-put "f.txt" modified)
      (aqd-with-pending
        (should (= 2 (aqd-alike-moved-p)))
        (aqd-pending-do #'agent-q-diff-accept-hunk 1)
        (should (= 2 (aqd-alike-moved-p)))
        (agent-q-diff-undo)
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (should (equal (concat block modified) (aqd-pending-has "f.txt")))
        (agent-q-diff-fold-alike-mode)
        (aqd-alike-should-be-a-copy "+some_code(3)")))))

(ert-deftest aqd-alike-what-changes-inside-a-block-has-not-moved ()
  "It is not faint, no fold hides it, and no key for what moved takes it."
  (let* ((rest (aqd-numbered 30))
         (block (aqd-alike-block "    "))
         (original (concat block rest)))
    (pcase-dolist (`(,old ,new ,seen)
                   '(("    some_code(5);" "    some_code(5);\n    os.system(rm)"
                      "+    os.system(rm)")
                     ("    some_code(5);" "    some_code(rm);" "+    some_code(rm);")
                     ;; In Python, it is in another branch.
                     ("    some_code(10);" "some_code(10);" "+some_code(10);")
                     ("    some_code(5);" "        some_code(5);" "+        some_code(5);")))
      (aqd-with-review original (concat rest (string-replace old new block))
        (pop-to-buffer (current-buffer))
        (agent-q-diff-alike--show-between (point-min) (point-max))
        (goto-char (point-min))
        (search-forward (concat "\n" seen "\n"))
        (forward-line -1)
        (should-not (memq 'agent-q-diff-moved
                          (mapcar (lambda (overlay) (overlay-get overlay 'face))
                                  (overlays-at (point)))))
        (aqd-press "l l")
        (goto-char (point-min))
        (search-forward (concat "\n" seen "\n"))
        (should-not (invisible-p (line-beginning-position 0)))
        (goto-char (point-min))
        (re-search-forward "^\\+ +some_code(2)")
        (aqd-press "l a")
        (should (string-search "line 30\n    some_code(1);\n    some_code(2);\n" (aqd-target)))
        (should-not (string-search (concat "\n" (substring seen 1)) (aqd-target)))))))

;;;; What changed inside

(defun aqd-alike-faces (text)
  "Return all faces at the end of TEXT, which is searched for in this buffer."
  (goto-char (point-min))
  (search-forward text)
  (delq nil (flatten-tree
             (cons (get-text-property (1- (point)) 'face)
                   (mapcar (lambda (overlay) (overlay-get overlay 'face))
                           (overlays-at (1- (point))))))))

(defun aqd-alike-changed-block ()
  "Return `aqd-alike-block' with a line changed, one removed and one added."
  (thread-last
    (aqd-alike-block "")
    (string-replace "some_code(3)" "some_code(None)")
    (string-replace "some_code(6);\n" "")
    (string-replace "some_code(8);\n" "some_code(8);\nos.system(rm)\n")))

(ert-deftest aqd-alike-what-changed-inside-a-block-is-counted-and-decided-alone ()
  (let* ((rest (aqd-numbered 30))
         (original (concat (aqd-alike-block "") rest))
         (changed (aqd-alike-changed-block)))
    (aqd-with-review original (concat rest changed)
      (pop-to-buffer (current-buffer))
      (should (equal '("8 lines moved to line 31, 1 changed, 1 removed, 1 added"
                       "8 lines moved from line 1, 1 changed, 1 removed, 1 added")
                     (aqd-alike-notes)))
      (should (equal "8 lines moved from line 1 to line 31, 1 changed, 1 removed, 1 added"
                     (agent-q-diff-alike-words (car (agent-q-diff-alike-groups)))))
      ;; Only what is equal is faint; words are marked against the partner.
      (font-lock-ensure)
      (should (memq 'agent-q-diff-moved (aqd-alike-faces "+some_code(2")))
      (should (memq 'agent-q-diff-word-added (aqd-alike-faces "+some_code(None")))
      (should (memq 'agent-q-diff-word-removed (aqd-alike-faces "-some_code(3")))
      (dolist (line '("+some_code(None" "+os.system(rm" "-some_code(3" "-some_code(6"))
        (should-not (memq 'agent-q-diff-moved (aqd-alike-faces line))))
      (should-not (memq 'agent-q-diff-word-added (aqd-alike-faces "+some_code(")))
      ;; A fold leaves what changed.
      (aqd-press "l l")
      (dolist (line '("+some_code(None" "+os.system(rm" "-some_code(3" "-some_code(6"))
        (goto-char (point-min))
        (search-forward line)
        (should-not (invisible-p (line-beginning-position))))
      (goto-char (point-min))
      (search-forward "+some_code(2)")
      (should (invisible-p (1- (point))))
      (aqd-press "l l")
      ;; Between the two lines of a change, too.
      (goto-char (point-min))
      (search-forward "-some_code(3")
      (agent-q-diff-next-alike)
      (should (looking-at "\\+some_code(None)"))
      (should-error (agent-q-diff-accept-alike) :type 'user-error)
      (goto-char (point-min))
      (search-forward "-some_code(6")
      (should-error (agent-q-diff-next-alike) :type 'user-error)
      ;; The key takes what is equal, and nothing else.
      (goto-char (point-min))
      (search-forward "-some_code(2")
      (aqd-press "l a")
      (should (equal (aqd-target)
                     (concat "some_code(3);\nsome_code(6);\n" rest
                             (thread-last changed
                                          (string-replace "some_code(None);\n" "")
                                          (string-replace "os.system(rm)\n" "")))))
      ;; What is left still says where it belongs, and has its words marked.
      (should (member "inside of 8 lines moved from line 1, 1 changed, 1 removed, 1 added"
                      (aqd-alike-notes)))
      (font-lock-ensure)
      (should (memq 'agent-q-diff-word-added (aqd-alike-faces "+some_code(None")))
      (aqd-press "C-/")
      (should (equal (aqd-target) original)))))

(ert-deftest aqd-alike-a-block-moves-to-another-file-with-changes ()
  (let ((gone (mapcar (lambda (n) (cons n (format "~ %d" n))) (number-sequence 21 26)))
        (come (concat "line 1 5;\nline 0 21;\nline 0 22;\nline 0 23, changed;\n"
                      "line 0 24;\nline 0 25;\nline 0 26;")))
    (aqd-alike-with-tree (list gone (list (cons 5 come)))
      (should (equal '("5 lines moved to line 6 of 1, 1 changed"
                       "5 lines moved from line 21 of 0, 1 changed")
                     (aqd-alike-notes)))
      (agent-q-diff-overview)
      (should (string-search "5 lines moved from line 21 of 0 to line 6 of 1, 1 changed"
                             (buffer-string))))))

(ert-deftest aqd-alike-a-block-that-moved-up-among-others-is-exact ()
  (let* ((lines (lambda (from to)
                  (mapconcat (lambda (n) (format "line %d\n" n)) (number-sequence from to) "")))
         (others (lambda (word)
                   (mapconcat (lambda (n) (format "%s%d\n" word n)) (number-sequence 1 14) "")))
         (block (aqd-alike-block ""))
         (original (concat (funcall lines 1 20) (funcall others "old") (funcall lines 21 30) "a\n"
                           (funcall lines 31 40) "gone1\n" block "gone2\n" (funcall lines 41 60)))
         (modified (concat (funcall lines 1 10) "new1\n" block "new2\n" (funcall lines 11 20)
                           (funcall others "really") (funcall lines 21 30) "b\n"
                           (funcall lines 31 60))))
    (aqd-with-review original modified
      (goto-char (point-min))
      (search-forward "+some_code(3)")
      (agent-q-diff-accept-alike)
      (should (equal (aqd-target)
                     (concat (funcall lines 1 10) block (funcall lines 11 20)
                             (funcall others "old") (funcall lines 21 30) "a\n"
                             (funcall lines 31 40) "gone1\ngone2\n" (funcall lines 41 60)))))))

(ert-deftest aqd-alike-what-is-not-in-a-file-is-not-taken-out ()
  (aqd-alike-with-tree (list (aqd-alike-renamed '(12 . "q") '(45 . "zz")))
    (agent-q-diff-buffer-goto-hunk 0)
    (agent-q-diff-reject-hunk)
    (agent-q-diff-buffer-goto-hunk 0)
    (should (equal "None of these is in a file"
                   (cadr (should-error (agent-q-diff-unapply-alike) :type 'user-error))))
    (should (equal (agent-q-diff-buffer-counts) '(4 0 1 3)))))

(ert-deftest aqd-alike-if-a-part-cannot-be-split-nothing-is ()
  (aqd-alike-with-tree (list (aqd-alike-renamed '(12 . "q") '(28 . "zz")))
    (let* ((pick (symbol-function 'agent-q-diff-module-pick))
           (n 0))
      (goto-char (point-min))
      (search-forward "+  call(new)")
      (cl-letf (((symbol-function 'agent-q-diff-module-pick)
                 (lambda (&rest arguments)
                   (when (< 1 (cl-incf n))
                     (signal 'agent-q-diff-conflict '("somebody has changed it")))
                   (apply pick arguments))))
        (should (equal "Nothing was changed: somebody has changed it"
                       (aqd-said (agent-q-diff-accept-alike)))))
      (should (equal (agent-q-diff-buffer-counts) '(3 0 0 3)))
      (should (equal (aqd-alike-file 0) (aqd-alike-text 0 nil))))))

;;;; What git calls moved

(defun aqd-alike-git-lines (original modified)
  "Return the changed lines between ORIGINAL and MODIFIED as git shows them.
Each is (LINE . HAS-MOVED), with its sign, in git's order."
  (let* ((folder (make-temp-file "aqd-moved" t))
         (default-directory (file-name-as-directory folder))
         (colors '("old=red" "new=red" "oldMoved=blue" "newMoved=blue"
                   "oldMovedAlternative=blue" "newMovedAlternative=blue")))
    (unwind-protect
        (progn
          (aqd-put-bytes original (expand-file-name "a"))
          (aqd-put-bytes modified (expand-file-name "b"))
          (with-temp-buffer
            (apply #'call-process "git" nil t nil
                   (append (mapcan (lambda (color) (list "-c" (concat "color.diff." color))) colors)
                           '("diff" "--no-index" "--color=always" "--color-moved=zebra"
                             "a" "b")))
            (goto-char (point-min))
            (cl-loop while (re-search-forward "^\e\\[3\\([14]\\)m\\([-+]\\)\\(.*\\)$" nil t)
                     collect (cons (concat (match-string 2)
                                           (replace-regexp-in-string
                                            "\e\\[[0-9;]*m" "" (match-string 3)))
                                   (equal "4" (match-string 1))))))
      (delete-directory folder t))))

(defun aqd-alike-lines ()
  "Return the changed lines in this diff buffer, as `aqd-alike-git-lines' does."
  (agent-q-diff-alike--show-between (point-min) (point-max))
  (save-excursion
    (goto-char (agent-q-diff-buffer-position 0))
    (cl-loop while (not (eobp))
             when (looking-at "[-+].*")
             collect (cons (match-string-no-properties 0)
                           (and (memq 'agent-q-diff-moved
                                      (mapcar (lambda (overlay) (overlay-get overlay 'face))
                                              (overlays-at (point))))
                                t))
             do (forward-line))))

(ert-deftest aqd-alike-what-moved-is-what-git-says ()
  (random "moved")
  (let ((n 0))
    (dotimes (_ 40)
      (let* ((lines (mapcar (lambda (k) (format "code(%d, %d);" k (random 100000)))
                            (number-sequence 1 60)))
             (from (random 40))
             (len (+ 4 (random 8)))
             (block (seq-subseq lines from (+ from len)))
             (rest (append (seq-take lines from) (seq-drop lines (+ from len))))
             (to (random (length rest)))
             (moved (append (seq-take rest to)
                            block
                            (when (= 0 (random 3)) (list "a_new_line_of_code();"))
                            (seq-drop rest to)))
             (text (lambda (lines) (mapconcat (lambda (line) (concat line "\n")) lines "")))
             (by-git (aqd-alike-git-lines (funcall text lines) (funcall text moved))))
        ;; Next to where it was, git may say so of lines that stay.
        (unless (or (equal lines moved) (> 8 (abs (- to from))))
          (aqd-with-review (funcall text lines) (funcall text moved)
            (let ((ours (aqd-alike-lines)))
              ;; If the two chose other lines, they cannot be compared.
              (when (equal (mapcar #'car ours) (mapcar #'car by-git))
                (cl-incf n)
                (should (equal ours by-git))))))))
    (should (< 20 n))))

;;;; Whatever is decided, the file has exactly that

(ert-deftest aqd-alike-random-decisions-leave-exactly-what-was-accepted ()
  (random "alike")
  (dotimes (_ 30)
    (let* ((edits (cl-loop for n from 2 to 58
                           when (= 0 (random 4))
                           collect (cons n (if (= 0 (% n 10))
                                               (nth (random 3) '("  call(new);" "  call(old2);"
                                                                 "call(old);"))
                                             (nth (random 3) '("same" "  same" "another"))))))
           (accepted nil))
      (when edits
        (aqd-alike-with-tree (list edits)
          (while (< 0 (nth 3 (agent-q-diff-buffer-counts)))
            (agent-q-diff-buffer-goto-hunk (random (length agent-q-diff-buffer-marks)))
            (agent-q-diff-next-pending)
            (goto-char (min (1- (agent-q-diff-buffer-hunk-end (agent-q-diff-buffer-hunk-at-point)))
                            (line-beginning-position (1+ (random 8)))))
            (let ((is-accepted (= 0 (random 2))))
              (condition-case nil
                  (if is-accepted (agent-q-diff-accept-alike) (agent-q-diff-reject-alike))
                (user-error
                 (if is-accepted (agent-q-diff-accept-hunk) (agent-q-diff-reject-hunk))))))
          ;; What the hunks that are accepted say.
          (save-excursion
            (cl-loop for mark across agent-q-diff-buffer-marks
                     for hunk from 0
                     when (eq mark 'applied)
                     do (let ((old (agent-q-diff-engine-lines-old
                                    (agent-q-diff-buffer-lines hunk))))
                          (goto-char (agent-q-diff-buffer-position hunk))
                          (forward-line)
                          (while (< (point) (agent-q-diff-buffer-hunk-end hunk))
                            (pcase (char-after)
                              (?\s (cl-incf old))
                              (?- (push (1+ old) accepted) (cl-incf old)))
                            (forward-line)))))
          (should (equal (aqd-alike-file 0)
                         (aqd-alike-text 0 (seq-filter (lambda (edit) (memql (car edit) accepted))
                                                       edits)))))))))

(provide 'agent-q-diff-alike-test)
;;; agent-q-diff-alike-test.el ends here
