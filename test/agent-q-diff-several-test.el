;;; agent-q-diff-several-test.el --- Several files in one review  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A tree of files, a change of several of them, what is decided, and what
;; then is on disk and in the answer.  Whatever fails in one file, every
;; other is as it was.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-api)
(require 'imenu)
(require 'outline)
(require 'which-func)

;;;; Trees

(defvar aqd-several-tree nil
  "Directory of the current test's files.")

(defun aqd-several-name (name)
  "Return the absolute name of the test's file NAME."
  (expand-file-name name aqd-several-tree))

(defun aqd-several-disk ()
  "Return what is in the tree, a sorted list of (NAME MODE . CONTENT).
CONTENT is the bytes of a file, or (link TARGET)."
  (mapcar (lambda (name)
            (cons (file-relative-name name aqd-several-tree)
                  (if (file-symlink-p name)
                      (list nil 'link (file-symlink-p name))
                    (cons (logand #o111 (file-modes name)) (aqd-bytes-of name)))))
          (sort (seq-remove (lambda (name)
                              (and (file-directory-p name) (not (file-symlink-p name))))
                            (directory-files-recursively aqd-several-tree "" nil nil))
                #'string<)))

(defun aqd-several-put (name text &optional mode)
  "Write TEXT to the test's file NAME and give it MODE, by default #o644."
  (let ((coding-system-for-write 'utf-8-unix)
        (file (aqd-several-name name)))
    (make-directory (file-name-directory file) t)
    (write-region text nil file nil 'silent)
    (set-file-modes file (or mode #o644))))

(defconst aqd-several-a (aqd-numbered 30)
  "Text of the file a.txt.")

(defconst aqd-several-a-proposed (aqd-numbered 30 '((3 . "three") (15 . "fifteen") (27 . "x")))
  "Text of the file a.txt after its three hunks.")

(defun aqd-several-proposal ()
  "Return a proposal of all kinds for the files of `aqd-several-with-tree'."
  `((:path "a.txt" :original ,aqd-several-a :modified ,aqd-several-a-proposed)
    (:path "old.txt" :to "sub/new.txt" :original "one\ntwo\n" :modified "one\nTWO\n")
    (:path "gone.txt" :delete t)
    (:path "deep/made.txt" :content "made\n")
    (:path "run.sh" :mode #o755)
    (:path "link" :old-link "a.txt" :link "run.sh")))

(defmacro aqd-several-with-tree (&rest body)
  "Run BODY in a tree of files; nothing of a review may remain after it."
  (declare (indent 0) (debug t))
  `(let* ((aqd-several-tree (file-name-as-directory (make-temp-file "agent-q-diff-tree" t)))
          (default-directory aqd-several-tree)
          (backup-inhibited t)
          (create-lockfiles nil)
          (aqd-answers nil))
     (aqd-several-put "a.txt" aqd-several-a)
     (aqd-several-put "old.txt" "one\ntwo\n")
     (aqd-several-put "gone.txt" "not\nneeded\n")
     (aqd-several-put "run.sh" "#!/bin/sh\n")
     (make-symbolic-link "a.txt" (aqd-several-name "link"))
     (unwind-protect
         (progn ,@body)
       (dolist (review (agent-q-diff-open-reviews))
         (agent-q-diff-cancel review))
       (aqd-remove-tree aqd-several-tree))
     (aqd-should-leave-nothing)))

(defun aqd-several-begin (&optional proposal)
  "Begin the review of PROPOSAL, by default `aqd-several-proposal'; return it."
  (agent-q-diff-review-change (or proposal (aqd-several-proposal)) "All kinds"
                              (lambda (result) (push result aqd-answers))
                              :agent "Tester"))

(defmacro aqd-several-with-review (&rest body)
  "Run BODY with `review' of all kinds, in its diff buffer."
  (declare (indent 0) (debug t))
  `(aqd-several-with-tree
     (let ((review (aqd-several-begin)))
       (should-not aqd-answers)
       (aqd-in-diff review ,@body))))

(defmacro aqd-several-with-proposal (proposal &rest body)
  "Run BODY with `review' of PROPOSAL, in its diff buffer, in the tree."
  (declare (indent 1) (debug t))
  `(let ((review (aqd-several-begin ,proposal)))
     (should-not aqd-answers)
     (aqd-in-diff review ,@body)))

(defconst aqd-several-proposed
  `(("a.txt" 0 . ,aqd-several-a-proposed)
    ("deep/made.txt" 0 . "made\n")
    ("link" nil link "run.sh")
    ("run.sh" 73 . "#!/bin/sh\n")
    ("sub/new.txt" 0 . "one\nTWO\n"))
  "What is in the tree if all is accepted.")

(defun aqd-several-answer (key)
  "Return the value of KEY in the only answer."
  (should (= 1 (length aqd-answers)))
  (plist-get (car aqd-answers) key))

(defun aqd-several-goto-heading (name)
  "Move to the heading of the file NAME."
  (goto-char (point-min))
  (re-search-forward (concat "^[a-z]+\\(?: file\\| link\\)? +" (regexp-quote name)))
  (beginning-of-line)
  (should (agent-q-diff-buffer-heading-at-point)))

(defun aqd-several-headings ()
  "Return what the headings of the diff buffer show, a list of strings."
  (mapcar (lambda (heading)
            (save-excursion
              (goto-char heading)
              (concat (buffer-substring-no-properties (point) (line-end-position))
                      (mapconcat (lambda (overlay)
                                   (substring-no-properties
                                    (or (and (overlay-get overlay 'agent-q-diff-section)
                                             (overlay-get overlay 'after-string))
                                        "")))
                                 (overlays-at (point)) ""))))
          agent-q-diff-buffer-headings))

;;;; All of it, nothing of it

(ert-deftest aqd-several-shows-each-file-under-a-heading ()
  (aqd-several-with-review
    (should (equal (aqd-several-headings)
                   '("modified   a.txt  +3 -3 · 3 hunks"
                     "renamed    old.txt → sub/new.txt  +1 -1 · 2 hunks"
                     "deleted    gone.txt  +0 -2 · 1 hunk"
                     "new file   deep/made.txt  +1 -0 · 1 hunk"
                     "mode       run.sh  1 hunk"
                     "link       link  1 hunk")))
    (should (= 9 (agent-q-diff-count-hunks)))
    (should (string-search " a.txt: hunk 1/3 · file 1/6 · " header-line-format))
    (save-excursion
      (goto-char (point-min))
      (should (search-forward "\n@@ rename @@\n@@ -1,2 +1,2 @@\n"))
      (should (search-forward "\n@@ delete, 2 lines @@\n-not\n-needed\n"))
      (should (search-forward "made.txt\n@@ -0,0 +1 @@\n+made\n"))
      (should (search-forward "\n@@ mode 644 → 755 @@\n"))
      (should (search-forward "\n@@ link to a.txt → run.sh @@\n")))))

(ert-deftest aqd-several-all-accepted-is-the-proposed-tree ()
  (aqd-several-with-review
    (agent-q-diff-accept-all)
    (should (equal (aqd-several-disk) aqd-several-proposed))
    (should (eq 'accepted (aqd-several-answer :status)))
    (should (equal (aqd-several-answer :message)
                   "✓ Accepted: 6 of 6 files: a.txt 3 of 3 hunks, old.txt renamed to \
sub/new.txt with 1 of 1 hunk, gone.txt deleted, deep/made.txt created, \
run.sh made executable, link now links to run.sh."))))

(ert-deftest aqd-several-all-rejected-is-the-tree-as-it-was ()
  (aqd-several-with-tree
    (let ((before (aqd-several-disk)))
      (aqd-in-diff (aqd-several-begin)
        (agent-q-diff-reject-all))
      (should (equal (aqd-several-disk) before))
      (should (eq 'rejected (aqd-several-answer :status)))
      (should (string-prefix-p
               "✗ Rejected: the user declined the changes to 6 files. None of it is in the files: \
a.txt 0 of 3 hunks, old.txt not renamed to sub/new.txt, 0 of 1 hunk, gone.txt not deleted, "
               (aqd-several-answer :message))))))

(ert-deftest aqd-several-taken-back-everything-is-as-it-was ()
  (aqd-several-with-tree
    (let ((before (aqd-several-disk)))
      (aqd-in-diff (aqd-several-begin)
        (let ((agent-q-diff-finish-when-decided nil))
          (dotimes (index 6)
            (goto-char (aref agent-q-diff-buffer-headings index))
            (agent-q-diff-accept-hunk)))
        (should (equal (aqd-several-disk) aqd-several-proposed))
        (agent-q-diff-unapply-all)
        (should (equal (aqd-several-disk) before))
        (agent-q-diff-undo)
        (should (equal (aqd-several-disk) aqd-several-proposed))
        (dotimes (_ 6)
          (agent-q-diff-undo))
        (should (equal (aqd-several-disk) before))
        (dotimes (_ 7)
          (agent-q-diff-redo))
        (should (equal (aqd-several-disk) before))
        (should (equal '(9 0 0 9) (agent-q-diff-buffer-counts)))))))

(ert-deftest aqd-several-look-again-takes-back-what-was-accepted ()
  (aqd-several-with-tree
    (let ((before (aqd-several-disk))
          (review (aqd-several-begin)))
      (aqd-in-diff review
        (agent-q-diff-accept-all))
      (should (equal (aqd-several-disk) aqd-several-proposed))
      (should-not (agent-q-diff-take-back review))
      (should (equal (aqd-several-disk) before)))))

;;;; Two names of one file

(defun aqd-several-same-texts ()
  "Return a proposal for a.txt and b.txt, which have the same text."
  (aqd-several-put "b.txt" aqd-several-a)
  (mapcar (lambda (name)
            (list :path name :original aqd-several-a :modified aqd-several-a-proposed))
          '("a.txt" "b.txt")))

(ert-deftest aqd-several-names-of-one-file-are-refused ()
  (dolist (how '(unvisited visited hidden))
    (aqd-several-with-tree
      (let ((proposal (aqd-several-same-texts)))
        (delete-file "b.txt")
        (add-name-to-file "a.txt" "b.txt")
        ;; A buffer whose file is gone, and whose inode a.txt has got.
        (when (eq how 'hidden)
          (aqd-several-put "gone-too.txt" "x\n")
          (with-current-buffer (find-file-noselect "gone-too.txt")
            (setq buffer-file-number (nthcdr 10 (file-attributes (aqd-several-name "a.txt")))))
          (delete-file "gone-too.txt"))
        (unless (eq how 'unvisited)
          (find-file-noselect "a.txt"))
        (aqd-several-begin proposal)
        (should (eq 'error (aqd-several-answer :status)))
        (should (string-match-p "/a\\.txt and /.*/b\\.txt are one file; give it once\\'"
                                (aqd-several-answer :reason)))))))

(ert-deftest aqd-several-what-became-another-name-of-a-file-is-not-edited ()
  ;; A file that has become another is left out; of two that are one, nobody
  ;; knows which is meant.
  (pcase-dolist (`(,link ,reason ,text ,in-file)
                 `((,#'add-name-to-file "are one file now" ,aqd-several-a 0)
                   (,#'make-symbolic-link "leads elsewhere now" ,aqd-several-a-proposed 3)))
    (dolist (is-shown '(nil t))
      (ert-info ((format "%s %s" reason is-shown))
        (aqd-several-with-tree
          (let ((review (aqd-several-begin (aqd-several-same-texts))))
            (delete-file "b.txt")
            (funcall link "a.txt" "b.txt")
            (aqd-in-diff review
              (when is-shown
                (agent-q-diff-signs-follow))
              (should (string-search reason
                                     (error-message-string
                                      (should-error (agent-q-diff-accept review 3)))))
              (should (equal aqd-several-a (aqd-bytes-of "a.txt")))
              (let ((inhibit-message t))
                (agent-q-diff-accept-all)
                (should (equal text (aqd-bytes-of "a.txt")))
                (agent-q-diff-end review)))
            (should (= in-file (aqd-several-answer :in-file)))
            (should (string-search reason (aqd-several-answer :message)))))))))

(ert-deftest aqd-several-a-file-that-is-gone-is-left-out ()
  (dolist (is-first '(nil t))
    (aqd-several-with-tree
      (mapc #'find-file-noselect '("a.txt" "old.txt"))
      (let ((proposal `((:path "a.txt" :original ,aqd-several-a
                               :modified ,aqd-several-a-proposed)
                        (:path "old.txt" :original "one\ntwo\n" :modified "one\nTWO\n"))))
        (aqd-several-with-proposal (if is-first (reverse proposal) proposal)
          (kill-buffer "old.txt")
          (delete-file (aqd-several-name "old.txt"))
          (should (string-match-p
                   "\\`Not finished: hunk 1 of old\\.txt: .*/old\\.txt was deleted or renamed after it was \
proposed to change it; r rejects\\'"
                   (aqd-said (agent-q-diff-accept-all))))
          (should (equal aqd-several-a-proposed (aqd-bytes-of (aqd-several-name "a.txt"))))
          (should-not (file-exists-p (aqd-several-name "old.txt"))))))))

;;;; What a diff may ask for

(ert-deftest aqd-several-a-diff-gives-no-bits-that-git-does-not-know ()
  (aqd-several-with-tree
    (let ((review (agent-q-diff-review-diff
                   "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 104755\n"
                   aqd-several-tree))
          (inhibit-message t))
      (agent-q-diff-accept review 0)
      (should (= #o755 (file-modes (aqd-several-name "run.sh")))))))

;;;; What only a buffer has

(ert-deftest aqd-several-a-new-file-in-the-place-of-one-that-is-gone-waits-for-its-buffer ()
  (dolist (is-modified '(nil t))
    (aqd-several-with-tree
      (let ((buffer (find-file-noselect "old.txt")))
        (when is-modified
          (with-current-buffer buffer
            (insert "mine\n")))
        (delete-file "old.txt")
        (aqd-several-with-proposal '((:path "old.txt" :content "new\n"))
          (should (string-search "old.txt was deleted on disk; save or kill its buffer first"
                                 (buffer-string)))
          (let ((inhibit-message t))
            (agent-q-diff-accept-all))
          (should-not aqd-answers)
          (should-not (file-exists-p (aqd-several-name "old.txt")))
          (with-current-buffer buffer
            (set-buffer-modified-p nil)
            (kill-buffer))
          (let ((inhibit-message t))
            (agent-q-diff-accept-all))
          (should (equal "new\n" (aqd-bytes-of (aqd-several-name "old.txt"))))
          (should (eq 'accepted (aqd-several-answer :status))))))))

;;;; What one file cannot hold

(ert-deftest aqd-several-a-character-that-one-file-lacks-leaves-out-that-hunk-alone ()
  (aqd-several-with-tree
    (let ((coding-system-for-write 'latin-1-unix)
          (latin (concat "é\n" (aqd-numbered 30))))
      (write-region latin nil "b.txt" nil 'silent)
      (let ((review (aqd-several-begin
                     `((:path "a.txt" :original ,aqd-several-a
                              :modified ,aqd-several-a-proposed)
                       (:path "b.txt" :original ,latin
                              :modified ,(concat "é\n" (aqd-numbered
                                                        30 '((5 . "ü") (20 . "→")))))
                       (:path "run.sh" :mode #o755)))))
        (aqd-in-diff review
          (switch-to-buffer (current-buffer))
          (should (string-match-p
                   "\\`Not finished: hunk 2 of b\\.txt: .*iso-latin-1.* cannot encode the \
character →; .*agent-q-diff-recode-target.*; r rejects\\'"
                   (aqd-said (aqd-press "C-c C-c"))))
          (should (= 4 (agent-q-diff-buffer-hunk-at-point)))
          (should (equal aqd-several-a-proposed (aqd-bytes-of "a.txt")))
          (should (equal (encode-coding-string
                          (concat "é\n" (aqd-numbered 30 '((5 . "ü")))) 'latin-1-unix)
                         (aqd-bytes-of "b.txt")))
          (should (= #o755 (logand #o777 (file-modes "run.sh"))))
          (should (equal '(applied applied applied applied nil applied)
                         (agent-q-diff-change-marks agent-q-diff-buffer-change)))
          ;; The same of hunks that are decided.
          (aqd-do-all #'agent-q-diff-unapply-hunk)
          (aqd-do-all #'agent-q-diff-reject-hunk)
          (should (string-match-p
                   "\\`4 hunks applied; 1 not: hunk 2 of b\\.txt, .*iso-latin-1.* cannot encode"
                   (aqd-do-all #'agent-q-diff-accept-hunk)))
          (should (equal '(applied applied applied applied rejected applied)
                         (append agent-q-diff-buffer-marks nil)))
          ;; Point is in the file that the command is meant for.
          (agent-q-diff-recode-target)
          (aqd-do-all #'agent-q-diff-accept-hunk)
          (let ((inhibit-message t))
            (aqd-press "C-c C-c")))
        (should (equal (encode-coding-string
                        (concat "é\n" (aqd-numbered 30 '((5 . "ü") (20 . "→")))) 'utf-8-unix)
                       (aqd-bytes-of "b.txt")))
        (should (equal "accepted" (aqd-several-answer :decision)))))))

;;;; What it is called

(ert-deftest aqd-several-log-and-announcement-name-the-common-directory ()
  (aqd-several-with-tree
    (let ((agent-q-diff-log-file (make-temp-file "aqd-log"))
          (default-directory temporary-file-directory))
      (unwind-protect
          (let* ((tree aqd-several-tree)
                 (files (list (aqd-several-name "deep/x/one.txt") (aqd-several-name "deep/y/two.txt")))
                 (review nil)
                 (said (aqd-said (setq review (aqd-several-begin
                                               (mapcar (lambda (file) (list :path file :content "x\n"))
                                                       files))))))
            (should (string-search (format "to change 2 files in %s"
                                           (abbreviate-file-name (concat tree "deep/")))
                                   said))
            (agent-q-diff-cancel review)
            (let ((entry (car (agent-q-diff-log-entries 1))))
              (should (equal (concat tree "deep/") (plist-get entry :path)))
              (should (equal files (plist-get entry :files)))))
        (delete-file agent-q-diff-log-file)))))

(ert-deftest aqd-several-the-user-and-the-agent-call-a-hunk-the-same ()
  (aqd-several-with-review
    (agent-q-diff-buffer-goto-hunk 4)
    (should (string-suffix-p " · old.txt → sub/new.txt: hunk 1/1 · file 2/6"
                             (progn (agent-q-diff-progress-update-header-line)
                                    header-line-format)))
    (should (string-prefix-p "Hunk 1 of old.txt rejected" (aqd-said (agent-q-diff-reject-hunk))))
    (agent-q-diff-buffer-goto-hunk 3)
    (should (string-suffix-p "txt → sub/new.txt: rename · file 2/6"
                             (progn (agent-q-diff-progress-update-header-line)
                                    header-line-format)))
    (should (string-prefix-p "The renaming of old.txt applied"
                             (aqd-said (agent-q-diff-accept-hunk))))
    (agent-q-diff-finish)
    (should (string-search "old.txt renamed to sub/new.txt with 0 of 1 hunk (rejected: hunk 1)"
                           (aqd-several-answer :message)))))

(ert-deftest aqd-several-a-diff-that-the-user-opened-is-no-agent-s ()
  (aqd-several-with-tree
    (let* ((review nil)
           (said (aqd-said
                   (save-window-excursion
                     (setq review (agent-q-diff-review-diff
                                   "--- a.txt\n+++ a.txt\n@@ -2 +2 @@\n-line 2\n+two\n"))))))
      (should (string-prefix-p "Review of a diff of " said))
      (agent-q-diff-cancel review))))

;;;; What other packages ask

(ert-deftest aqd-several-imenu-outline-and-which-function-know-the-files ()
  (aqd-several-with-review
    (let ((index (funcall imenu-create-index-function)))
      (should (equal (mapcar #'car index)
                     '("a.txt" "old.txt → sub/new.txt" "gone.txt" "deep/made.txt" "run.sh"
                       "link")))
      (should (equal (mapcar #'car (cdr (nth 1 index)))
                     '("The file" "the renaming of old.txt pending  @@ rename @@"
                       "hunk 1 of old.txt pending  @@ -1,2 +1,2 @@")))
      (imenu (nth 2 (nth 1 index)))
      (should (= 3 (agent-q-diff-buffer-hunk-at-point)))
      (should (equal "old.txt → sub/new.txt" (which-function)))
      (agent-q-diff-buffer-goto-hunk 1)
      (should (equal "a.txt: line 11" (which-function))))
    (outline-minor-mode 1)
    (goto-char (point-min))
    (let ((levels '()))
      (while (progn (outline-next-heading) (not (eobp)))
        (push (funcall outline-level) levels))
      (should (equal (nreverse levels) '(1 2 2 2 1 2 2 1 2 1 2 1 2 1 2))))
    (outline-minor-mode 0)
    (goto-char (point-min))
    ;; One after the other, also where there is no place in a text.
    (let ((inhibit-message t))
      (dotimes (hunk 9)
        (next-error 1 (= hunk 0))
        (should (= hunk (agent-q-diff-buffer-hunk-at-point)))))))

;;;; One by one

(ert-deftest aqd-several-keys-decide-hunks-and-files ()
  (aqd-several-with-review
    (switch-to-buffer (current-buffer))
    (agent-q-diff-buffer-goto-hunk 0)
    (aqd-press "a r")
    (should (= 2 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press "M-n")
    (should (= 1 (agent-q-diff-buffer-heading-at-point)))
    (aqd-press "a")
    (should (= 5 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press "M-n")
    (should (= 3 (agent-q-diff-buffer-heading-at-point)))
    (aqd-press "r")
    (should (equal (aqd-several-headings)
                   '("modified   a.txt  +3 -3 · 1 of 3 applied, 1 rejected, 1 pending"
                     "renamed    old.txt → sub/new.txt  +1 -1 · accepted"
                     "deleted    gone.txt  +0 -2 · 1 hunk"
                     "new file   deep/made.txt  +1 -0 · rejected"
                     "mode       run.sh  1 hunk"
                     "link       link  1 hunk")))
    (should (equal (mapcar #'car (aqd-several-disk))
                   '("a.txt" "gone.txt" "link" "run.sh" "sub/new.txt")))
    (aqd-press "M-p M-p M-p M-p u")
    (should (equal (nth 1 (aqd-several-headings))
                   "renamed    old.txt → sub/new.txt  +1 -1 · 2 hunks"))
    (should (equal "one\ntwo\n" (aqd-bytes-of (aqd-several-name "old.txt"))))
    (should-not (file-exists-p (aqd-several-name "sub")))))

(ert-deftest aqd-several-keys-move-over-headings ()
  (aqd-several-with-review
    (switch-to-buffer (current-buffer))
    (aqd-several-goto-heading "gone.txt")
    (aqd-press "n")
    (should (= 5 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press "p")
    (should (= 4 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-several-goto-heading "gone.txt")
    (aqd-press "p")
    (should (= 4 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-several-goto-heading "gone.txt")
    (should-error (agent-q-diff-toggle-hunk) :type 'user-error)
    (aqd-press "TAB")
    (should (invisible-p (aref agent-q-diff-buffer-positions 5)))
    (aqd-press "TAB")
    (should-not (invisible-p (aref agent-q-diff-buffer-positions 5)))
    (aqd-press "<backtab>")
    (should (seq-every-p #'invisible-p agent-q-diff-buffer-positions))
    (agent-q-diff-buffer-goto-hunk 7)
    (should-not (invisible-p (aref agent-q-diff-buffer-positions 7)))
    (should (invisible-p (aref agent-q-diff-buffer-positions 0)))))

(ert-deftest aqd-several-keys-that-need-lines-say-why-they-refuse ()
  (aqd-several-with-review
    (switch-to-buffer (current-buffer))
    (with-current-buffer (find-file-noselect (aqd-several-name "a.txt"))
      (goto-char (point-min))
      (forward-line 2)
      (insert "mine ")
      (save-buffer))
    (agent-q-diff-buffer-goto-hunk 0)
    (should (string-match-p "\\`Cannot edit this hunk: .*; m merges\\'"
                            (error-message-string (should-error (agent-q-diff-edit-hunk)))))
    (agent-q-diff-buffer-goto-hunk 5)
    (should (equal "No place to show: this hunk does not change lines"
                   (aqd-said (agent-q-diff-preview-hunk))))))

(ert-deftest aqd-several-a-new-file-is-one-decision ()
  (aqd-several-with-review
    (switch-to-buffer (current-buffer))
    (agent-q-diff-buffer-goto-hunk 6)
    (should (string-prefix-p "Hunk 1 of made.txt applied" (aqd-said (aqd-press "a"))))
    (should (equal "made\n" (aqd-bytes-of (aqd-several-name "deep/made.txt"))))
    (should (equal (nth 3 (aqd-several-headings)) "new file   deep/made.txt  +1 -0 · accepted"))
    (agent-q-diff-unapply review 6)
    (should-not (file-exists-p (aqd-several-name "deep")))
    (agent-q-diff-reject review 6)
    (should (equal (nth 3 (aqd-several-headings)) "new file   deep/made.txt  +1 -0 · rejected"))
    (agent-q-diff-undo)
    (agent-q-diff-undo)
    (should (equal "made\n" (aqd-bytes-of (aqd-several-name "deep/made.txt"))))
    (agent-q-diff-undo)
    (should-not (file-exists-p (aqd-several-name "deep")))))

(ert-deftest aqd-several-a-new-file-without-lines-has-that-decision-alone ()
  (aqd-several-with-tree
    (aqd-several-with-proposal '((:path "empty" :content "") (:path "run.sh" :mode #o755))
      (should (equal '("new file   empty  1 hunk" "mode       run.sh  1 hunk")
                     (aqd-several-headings)))
      (agent-q-diff-accept review 0)
      (should (equal "" (aqd-bytes-of (aqd-several-name "empty"))))
      (agent-q-diff-unapply review 0)
      (should-not (file-exists-p (aqd-several-name "empty"))))))

(ert-deftest aqd-several-a-new-file-is-created-without-the-lines-that-are-refused ()
  (aqd-several-with-tree
    (aqd-several-with-proposal '((:path "n.txt" :content "one\ntwo\nthree\n")
                                 (:path "run.sh" :mode #o755))
      (switch-to-buffer (current-buffer))
      (goto-char (point-min))
      (search-forward "+two")
      (beginning-of-line)
      (set-mark (point))
      (forward-line)
      (let ((transient-mark-mode t)
            (inhibit-message t))
        (activate-mark)
        (aqd-press "r")
        (should-not (file-exists-p (aqd-several-name "n.txt")))
        (agent-q-diff-accept-all))
      (should (equal "one\nthree\n" (aqd-bytes-of (aqd-several-name "n.txt"))))
      (should (string-search "n.txt created with 2 of 3 hunks"
                             (aqd-several-answer :message))))))

(ert-deftest aqd-several-that-a-new-file-is-executable-is-in-its-heading ()
  (aqd-several-with-tree
    (aqd-several-with-proposal '((:path "go.sh" :content "#!/bin/sh\n" :mode #o755)
                                 (:path "run.sh" :mode #o755))
      (should (equal "new file   go.sh (executable)  +1 -0 · 1 hunk" (car (aqd-several-headings))))
      (agent-q-diff-accept review 0)
      (should (file-executable-p (aqd-several-name "go.sh"))))))

(ert-deftest aqd-several-lines-of-a-file-that-is-not-renamed-go-into-the-old-one ()
  (aqd-several-with-review
    (agent-q-diff-reject review 3)
    (agent-q-diff-accept review 4)
    (should (equal "one\nTWO\n" (aqd-bytes-of (aqd-several-name "old.txt"))))
    (should-not (file-exists-p (aqd-several-name "sub")))
    (agent-q-diff-accept review 3)
    (should (equal "one\nTWO\n" (aqd-bytes-of (aqd-several-name "sub/new.txt"))))
    (should-not (file-exists-p (aqd-several-name "old.txt")))
    (agent-q-diff-unapply review 4)
    (should (equal "one\ntwo\n" (aqd-bytes-of (aqd-several-name "sub/new.txt"))))))

(ert-deftest aqd-several-the-buffer-follows-its-renamed-file ()
  (aqd-several-with-tree
    (let ((buffer (find-file-noselect (aqd-several-name "old.txt"))))
      (with-current-buffer buffer
        (goto-char (point-max))
        (insert "mine\n"))
      (let ((review (aqd-several-begin)))
        (agent-q-diff-accept review 3)
        (should (equal (aqd-several-name "sub/new.txt") (buffer-file-name buffer)))
        (should (buffer-modified-p buffer))
        (should (equal "one\ntwo\n" (aqd-bytes-of (aqd-several-name "sub/new.txt"))))
        (with-current-buffer buffer
          (save-buffer))
        (should (equal "one\ntwo\nmine\n" (aqd-bytes-of (aqd-several-name "sub/new.txt"))))
        (agent-q-diff-unapply review 3)
        (should (equal (aqd-several-name "old.txt") (buffer-file-name buffer)))
        (should (equal "one\ntwo\nmine\n" (aqd-bytes-of (aqd-several-name "old.txt"))))))))

(ert-deftest aqd-several-a-hunk-without-lines-is-decided-as-a-whole ()
  (aqd-several-with-review
    (agent-q-diff-buffer-goto-hunk 5)
    (dolist (command '(agent-q-diff-split-hunk agent-q-diff-edit-hunk agent-q-diff-merge-hunk))
      (should (equal '("This hunk does not change lines; decide it as a whole")
                     (cdr (should-error (funcall command) :type 'user-error)))))
    (font-lock-ensure)))

(ert-deftest aqd-several-splits-and-lines-work-in-every-file ()
  (aqd-several-with-tree
    (let ((review (aqd-several-begin
                   `((:path "gone.txt" :delete t)
                     (:path "a.txt" :original ,aqd-several-a
                            :modified ,(aqd-numbered 30 '((3 . "three") (5 . "five"))))
                     (:path "run.sh" :original "#!/bin/sh\n" :modified "#!/bin/sh\nls\n")))))
      (aqd-in-diff review
        (agent-q-diff-buffer-goto-hunk 1)
        (agent-q-diff-split-hunk)
        (should (= 4 (agent-q-diff-count-hunks)))
        (agent-q-diff-accept review 2)
        (agent-q-diff-accept review 3)
        (should (equal (aqd-bytes-of (aqd-several-name "a.txt")) (aqd-numbered 30 '((5 . "five")))))
        (should (equal (aqd-bytes-of (aqd-several-name "run.sh")) "#!/bin/sh\nls\n"))
        (should (equal (aqd-several-headings)
                       '("deleted    gone.txt  +0 -2 · 1 hunk"
                         "modified   a.txt  +2 -2 · 1 of 2 applied, 1 pending"
                         "modified   run.sh  +1 -0 · accepted")))
        (agent-q-diff-undo)
        (agent-q-diff-undo)
        (agent-q-diff-undo)
        (should (= 3 (agent-q-diff-count-hunks)))
        (should (equal (aqd-bytes-of (aqd-several-name "a.txt")) aqd-several-a))))))

;;;; Others

(ert-deftest aqd-several-a-file-with-unsaved-edits-is-not-deleted ()
  (aqd-several-with-tree
    (with-current-buffer (find-file-noselect (aqd-several-name "gone.txt"))
      (insert "mine\n"))
    (let ((review (aqd-several-begin)))
      (should-error (agent-q-diff-accept review 5) :type 'agent-q-diff-bad-target)
      (should (equal "not\nneeded\n" (aqd-bytes-of (aqd-several-name "gone.txt")))))))

(ert-deftest aqd-several-keys-that-go-to-an-operation-say-why-it-does-not-apply ()
  (aqd-several-with-tree
    (with-current-buffer (find-file-noselect (aqd-several-name "gone.txt"))
      (insert "mine\n"))
    (aqd-several-put "b.txt" "b\n")
    (aqd-several-with-proposal (append (aqd-several-proposal)
                                       '((:path "b.txt" :to "c.txt")))
      (dolist (name '("run.sh" "b.txt"))
        (delete-file (aqd-several-name name)))
      (let ((inhibit-message t))
        (agent-q-diff-refresh))
      (pcase-dolist (`(,hunk . ,said)
                     '((5 . "The deletion of gone.txt pending; its buffer has unsaved edits")
                       (7 . "The mode of run.sh pending; the file does not exist any more")
                       (9 . "The renaming of b.txt pending; there is no file under either name")))
        (agent-q-diff-buffer-goto-hunk (1- hunk))
        (should (string-suffix-p said (aqd-said (agent-q-diff-next-hunk))))
        (agent-q-diff-buffer-goto-hunk (1- hunk))
        (should (string-suffix-p said (aqd-said (agent-q-diff-next-conflict))))))))

(ert-deftest aqd-several-a-name-that-others-took-is-the-reason ()
  (aqd-several-with-review
    (aqd-several-put "sub/new.txt" "theirs\n")
    (aqd-several-put "deep/made.txt" "theirs\n")
    (pcase-dolist (`(,hunk . ,reason)
                   '((3 . "its new name is taken")
                     (6 . "there is another file of that name")))
      (should (equal (list reason)
                     (cdr (should-error (agent-q-diff-accept review hunk)
                                        :type 'agent-q-diff-bad-target)))))
    (should (equal "theirs\n" (aqd-bytes-of (aqd-several-name "sub/new.txt"))))))

(ert-deftest aqd-several-a-renamed-file-stays-renamed-if-others-use-the-old-name ()
  (aqd-several-with-tree
    (aqd-several-with-proposal '((:path "old.txt" :to "new.txt"))
      ;; So that the review goes on.
      (agent-q-diff-comment "Wait")
      (agent-q-diff-command review 'accept 0)
      (aqd-several-put "old.txt" "theirs\n")
      (should (equal '("its old name is taken again")
                     (cdr (should-error (agent-q-diff-command review 'unapply 0)
                                        :type 'agent-q-diff-bad-target))))
      (agent-q-diff-end review)
      (should (string-search "old.txt renamed to new.txt" (aqd-several-answer :message)))
      (should (equal "theirs\n" (aqd-bytes-of (aqd-several-name "old.txt"))))
      (should (equal "one\ntwo\n" (aqd-bytes-of (aqd-several-name "new.txt")))))))

(ert-deftest aqd-several-a-file-is-not-renamed-if-a-hook-fails ()
  "The new name is that of the buffer as well, whose hooks run."
  (aqd-several-with-tree
    (let ((before (aqd-several-disk))
          (buffer (find-file-noselect (aqd-several-name "old.txt"))))
      (aqd-several-with-proposal
          '((:path "old.txt" :to "sub/new.txt" :original "one\ntwo\n" :modified "ONE\ntwo\n"))
        (let ((after-set-visited-file-name-hook (list (lambda () (error "A hook failed")))))
          (should (equal '(error "A hook failed")
                         (should-error (agent-q-diff-command review 'accept 0)))))
        (should (equal before (aqd-several-disk)))
        (should (equal (aqd-several-name "old.txt") (buffer-file-name buffer)))
        (should-not (buffer-modified-p buffer))
        (agent-q-diff-command review 'accept 0)
        (should (equal "one\ntwo\n" (aqd-bytes-of (aqd-several-name "sub/new.txt"))))
        (should (equal (aqd-several-name "sub/new.txt") (buffer-file-name buffer)))
        (agent-q-diff-command review 'unapply 0)
        (should (equal before (aqd-several-disk)))))))

(ert-deftest aqd-several-a-new-file-goes-if-it-cannot-be-made-executable ()
  (aqd-several-with-tree
    (let ((before (aqd-several-disk)))
      (aqd-several-with-proposal '((:path "deep/run.sh" :content "echo\n" :mode #o755))
        (cl-letf (((symbol-function 'set-file-modes)
                   (lambda (name &rest _) (signal 'file-error (list "Doing chmod" name)))))
          (should-error (agent-q-diff-command review 'accept 0) :type 'file-error))
        (should (equal before (aqd-several-disk)))
        (should-not (file-exists-p (aqd-several-name "deep")))
        (agent-q-diff-command review 'accept 0)
        (should (file-executable-p (aqd-several-name "deep/run.sh")))))))

(ert-deftest aqd-several-no-directory-stays-if-its-file-cannot-be-made ()
  (pcase-dolist (`(,proposal . ,function)
                 '(((:path "new/dir/made.txt" :content "made\n") . write-region)
                   ((:path "old.txt" :to "new/dir/old.txt") . rename-file)
                   ((:path "new/dir/link" :link "a.txt") . make-symbolic-link)))
    (ert-info ((symbol-name function) :prefix "fails: ")
      (aqd-several-with-tree
        (let ((before (aqd-several-disk)))
          (aqd-several-with-proposal (list proposal)
            (cl-letf (((symbol-function function)
                       (lambda (&rest _) (signal 'file-error '("No space left on device")))))
              (should-error (agent-q-diff-command review 'accept 0) :type 'file-error))
            (should (equal before (aqd-several-disk)))
            (should-not (file-exists-p (aqd-several-name "new")))
            (agent-q-diff-command review 'accept 0)
            (should (file-exists-p (aqd-several-name "new/dir")))))))))

(ert-deftest aqd-several-a-rename-is-taken-back-after-another-review-missed-the-file ()
  (aqd-several-with-tree
    (let ((other (agent-q-diff-review (aqd-several-name "old.txt") "one\ntwo\n"
                                      "one\n2\n" "Other" #'ignore)))
      (aqd-several-with-proposal '((:path "old.txt" :to "new.txt" :original "one\ntwo\n"
                                          :modified "ONE\ntwo\n"))
        (agent-q-diff-command review 'accept 0)
        (should (equal (list (concat (aqd-several-name "old.txt")
                                     " was deleted or renamed after it was proposed to change it"))
                       (cdr (should-error (agent-q-diff-accept other 0)))))
        (agent-q-diff-command review 'unapply 0)
        (agent-q-diff-accept other 0)
        (should (equal "one\n2\n" (aqd-bytes-of (aqd-several-name "old.txt"))))
        (should-not (file-exists-p (aqd-several-name "new.txt")))))))

(ert-deftest aqd-several-a-buffer-under-another-name-follows-a-rename ()
  (aqd-several-with-tree
    (let ((other (concat (directory-file-name aqd-several-tree) "-other")))
      (make-symbolic-link aqd-several-tree other)
      (unwind-protect
          (let ((buffer (find-file-noselect (expand-file-name "old.txt" other)))
                (review (aqd-several-begin '((:path "old.txt" :to "new.txt")))))
            (agent-q-diff-accept review 0)
            (should (equal (buffer-file-name buffer) (aqd-several-name "new.txt")))
            (should-not (buffer-modified-p buffer)))
        (delete-file other)))))

(ert-deftest aqd-several-a-file-that-others-changed-is-not-deleted ()
  (aqd-several-with-review
    (aqd-several-put "gone.txt" "needed after all\n")
    (should (equal '("the file has been changed since")
                   (cdr (should-error (agent-q-diff-accept review 5)
                                      :type 'agent-q-diff-bad-target))))
    (agent-q-diff-buffer-goto-hunk 0)
    (agent-q-diff-accept-all)
    (should-not aqd-answers)
    (should (equal "needed after all\n" (aqd-bytes-of (aqd-several-name "gone.txt"))))
    (agent-q-diff-finish)
    (should (eq 'partial (aqd-several-answer :status)))
    (should (string-search "gone.txt not deleted" (aqd-several-answer :message)))))

(ert-deftest aqd-several-a-rejection-says-what-the-user-says-of-each-hunk ()
  (aqd-several-with-review
    (let ((inhibit-message t))
      (pcase-dolist (`(,hunk . ,comment) '((4 . "keep two") (5 . "needed")))
        (agent-q-diff-buffer-goto-hunk hunk)
        (agent-q-diff-comment-hunk comment))
      (agent-q-diff-reject-all))
    (should (equal "✗ Rejected: the user declined the changes to 6 files. None of it is in the \
files: a.txt 0 of 3 hunks, old.txt not renamed to sub/new.txt, 0 of 1 hunk (hunk 1: \"keep two\"), \
gone.txt not deleted (\"needed\"), deep/made.txt not created, run.sh not made executable, \
link does not link to run.sh."
                   (aqd-several-answer :message)))))

(ert-deftest aqd-several-a-rejection-says-what-is-in-the-files-all-the-same ()
  (aqd-several-with-tree
    (aqd-several-put "old.txt" "one\nTWO\n")
    (aqd-several-with-proposal
        `((:path "a.txt" :original ,aqd-several-a :modified ,aqd-several-a-proposed)
          (:path "old.txt" :original "one\ntwo\n" :modified "one\nTWO\n"))
      (let ((inhibit-message t))
        (agent-q-diff-refresh)
        (agent-q-diff-reject-all))
      (should (string-prefix-p
               "✗ Rejected: the user declined the changes to 2 files. \
Part of it is in 1 of 2 files: a.txt 0 of 3 hunks, old.txt 1 of 1 hunk.\n"
               (aqd-several-answer :message))))))

(ert-deftest aqd-several-what-others-did-already-is-seen ()
  (aqd-several-with-review
    (delete-file (aqd-several-name "gone.txt"))
    (set-file-modes (aqd-several-name "run.sh") #o755)
    (agent-q-diff-refresh)
    (should (eq 'already-in (agent-q-diff-accept review 5)))
    (should (eq 'already-in (agent-q-diff-accept review 7)))))

(ert-deftest aqd-several-typed-lines-keep-a-new-file ()
  (aqd-several-with-review
    (agent-q-diff-accept review 6)
    (with-current-buffer (find-file-noselect (aqd-several-name "deep/made.txt"))
      (goto-char (point-max))
      (insert "mine\n")
      (save-buffer))
    (agent-q-diff-unapply review 6)
    (should (equal "mine\n" (aqd-bytes-of (aqd-several-name "deep/made.txt"))))
    (agent-q-diff-accept review 6)
    (should (equal "made\nmine\n" (aqd-bytes-of (aqd-several-name "deep/made.txt"))))))

;;;; Failures

(defun aqd-several-state ()
  "Return all that a failed command must leave as it was."
  (list (aqd-several-disk)
        (mapcar (lambda (buffer)
                  (with-current-buffer buffer
                    (list buffer-file-name (buffer-string) (buffer-modified-p)
                          (verify-visited-file-modtime))))
                (seq-filter (lambda (buffer)
                              (and (buffer-file-name buffer)
                                   (file-in-directory-p (buffer-file-name buffer)
                                                        aqd-several-tree)))
                            (buffer-list)))))

(defun aqd-several-visit-all ()
  "Visit all files of this buffer's change, so that no command does."
  (let ((change agent-q-diff-buffer-change))
    (dotimes (index (length (agent-q-diff-change-files change)))
      (agent-q-diff-change-visit change index))))

(ert-deftest aqd-several-a-failure-in-any-file-changes-none ()
  (dolist (fault '(error quit))
    (dotimes (file 6)
      (ert-info ((format "%s in file %d" fault file))
        (aqd-several-with-review
          (aqd-several-visit-all)
          (let* ((is-armed t)
                 (target (agent-q-diff-file-change-target
                          (nth file (agent-q-diff-change-files agent-q-diff-buffer-change))))
                 (before (aqd-several-state)))
            (setf (agent-q-diff-target-check target)
                  (lambda () (when is-armed (signal fault '("no")))))
            (should (equal (list fault "no")
                           (condition-case err
                               (agent-q-diff-decide-accept-all agent-q-diff-buffer-change)
                             ((error quit) err))))
            (should (equal (aqd-several-state) before))
            (should (equal '(9 0 0 9) (agent-q-diff-buffer-counts)))
            (setq is-armed nil)
            (agent-q-diff-accept-all)
            (should (equal (aqd-several-disk) aqd-several-proposed))))))))

(ert-deftest aqd-several-a-save-that-fails-changes-no-file ()
  (aqd-several-with-review
    (aqd-several-visit-all)
    (let ((before (aqd-several-state))
          (inhibit-message t))
      ;; In the last file with text, after others were written.
      (with-current-buffer (find-buffer-visiting (aqd-several-name "deep/made.txt"))
        (add-hook 'write-file-functions (lambda () (error "Full")) nil t))
      (agent-q-diff-accept-all)
      (should-not aqd-answers)
      (should (equal (aqd-several-disk) (car before)))
      (should (equal '(9 0 0 9) (agent-q-diff-buffer-counts))))))

(ert-deftest aqd-several-random-decisions-with-faults-leave-what-they-say ()
  (let ((random-state (random "several")))
    (ignore random-state)
    (dotimes (_ 4)
      (aqd-several-with-review
        (aqd-several-visit-all)
        (dotimes (_ 60)
          (let* ((change agent-q-diff-buffer-change)
                 (file (nth (random 6) (agent-q-diff-change-files change)))
                 (has-fault (= 0 (random 3)))
                 (before (aqd-several-state))
                 (marks (agent-q-diff-module-marks (agent-q-diff-change-engine change)))
                 (inhibit-message t)
                 (failed nil))
            (setf (agent-q-diff-target-check (agent-q-diff-file-change-target file))
                  (and has-fault (lambda () (error "Fault"))))
            (condition-case nil
                (pcase (random 10)
                  ((or 8 9)
                   (agent-q-diff-decide-these change (nth (random 3) '(accept reject unapply))
                                              (seq-filter (lambda (_) (= 0 (random 2)))
                                                          (number-sequence 0 8))))
                  (0 (agent-q-diff-decide-unapply-all change))
                  (1 (agent-q-diff-decide-accept-all change (random 6)))
                  (2 (agent-q-diff-decide-unapply-all change (random 6)))
                  (3 (agent-q-diff-decide-back change (= 0 (random 2))))
                  (4 (agent-q-diff-decide-accept-all change))
                  (_ (agent-q-diff-command review
                                           (nth (random 4) '(accept reject toggle unapply))
                                           (random 9))))
              (error (setq failed t)))
            (setf (agent-q-diff-target-check (agent-q-diff-file-change-target file)) nil)
            (when failed
              (should (equal (aqd-several-state) before))
              (should (equal marks (agent-q-diff-module-marks
                                    (agent-q-diff-change-engine change)))))
            (agent-q-diff-change-follow change)
            (should (equal (aqd-several-disk) (aqd-several-expected change)))))))))

(defun aqd-several-expected (change)
  "Return what the tree must hold by the facts of the hunks of CHANGE."
  (cl-flet ((in-p (hunk) (agent-q-diff-engine-hunk-fact (agent-q-diff-change-hunk change hunk))))
    (sort
     (delq nil
           (list (cons "a.txt"
                       (cons 0 (aqd-numbered
                                30 (delq nil (list (and (in-p 0) '(3 . "three"))
                                                   (and (in-p 1) '(15 . "fifteen"))
                                                   (and (in-p 2) '(27 . "x")))))))
                 (cons (if (in-p 3) "sub/new.txt" "old.txt")
                       (cons 0 (if (in-p 4) "one\nTWO\n" "one\ntwo\n")))
                 (unless (in-p 5) '("gone.txt" 0 . "not\nneeded\n"))
                 (when (in-p 6) '("deep/made.txt" 0 . "made\n"))
                 (cons "run.sh" (cons (if (in-p 7) #o111 0) "#!/bin/sh\n"))
                 (list "link" nil 'link (if (in-p 8) "run.sh" "a.txt"))))
     (lambda (one other) (string< (car one) (car other))))))

;;;; The answer

(ert-deftest aqd-several-the-answer-says-what-became-of-each-file ()
  (aqd-several-with-review
    (agent-q-diff-accept review 0)
    (agent-q-diff-reject review 1)
    (agent-q-diff-buffer-goto-hunk 1)
    (agent-q-diff-comment-hunk "keep the old name")
    (agent-q-diff-accept review 3)
    (agent-q-diff-reject review 5)
    (agent-q-diff-reject review 6)
    (agent-q-diff-end review)
    (should (eq 'partial (aqd-several-answer :status)))
    (should (string-prefix-p
             "✓ Accepted in part: 2 of 6 files: a.txt 1 of 3 hunks (hunk 2 rejected: \"keep the \
old name\"; undecided: hunk 3), old.txt renamed to sub/new.txt with 0 of 1 hunk (undecided: hunk 1), \
gone.txt not deleted (rejected), deep/made.txt not created (rejected), run.sh not made \
executable (undecided), \
link does not link to run.sh (undecided)."
             (aqd-several-answer :message)))
    (should (string-search "\na.txt:\nIn the file: hunk 1.\nNot in the file: hunks 2 and 3.
The user rejected hunk 2.
The user has not decided about hunk 3."
                           (concat "\n" (aqd-several-answer :message))))
    (let ((files (aqd-several-answer :files)))
      (should (equal (mapcar (lambda (file) (plist-get file :kind)) files)
                     '("modified" "renamed" "deleted" "new file" "mode" "link")))
      (should (equal (mapcar (lambda (file) (plist-get file :in-file)) files)
                     '(1 1 0 0 0 0)))
      (should (equal (plist-get (nth 1 files) :path) (aqd-several-name "sub/new.txt")))
      (should (equal (plist-get (nth 1 files) :old-path) (aqd-several-name "old.txt")))
      (should (plist-get (car files) :saved)))
    (should (= 9 (length (aqd-several-answer :hunks))))))

(ert-deftest aqd-several-a-cancelled-change-says-what-stays ()
  (aqd-several-with-review
    (agent-q-diff-accept review 0)
    (agent-q-diff-cancel review)
    (should (eq 'cancelled (aqd-several-answer :status)))
    (should (string-search "Part of it is in 1 of 6 files: a.txt 1 of 3 hunks, "
                           (aqd-several-answer :message)))))

(ert-deftest aqd-several-the-outcome-names-every-file ()
  (aqd-several-with-review
    (switch-to-buffer (current-buffer))
    (agent-q-diff-accept review 0)
    (agent-q-diff-accept review 3)
    (aqd-several-goto-heading "gone.txt")
    (agent-q-diff-show-outcome)
    (with-current-buffer agent-q-diff-outcome--buffer-name
      (should (equal (buffer-string) "\
a.txt  1 of 3 hunks
sub/new.txt  renamed from old.txt, 0 of 1 hunk
gone.txt  as it was
deep/made.txt  not created
run.sh  as it was
link  as it was
")))
    (agent-q-diff-show-outcome t)
    (with-current-buffer agent-q-diff-outcome--buffer-name
      (should (equal (buffer-string) "\
a.txt  3 of 3 hunks
sub/new.txt  renamed from old.txt, 1 of 1 hunk
gone.txt  deleted
deep/made.txt  new
run.sh  mode 644 → 755
link  link to a.txt → run.sh
")))))

(ert-deftest aqd-several-on-a-hunk-without-lines-the-outcome-is-of-all-files ()
  (aqd-several-with-review
    (dotimes (hunk (car (agent-q-diff-change-tally (agent-q-diff-session-change review))))
      (agent-q-diff-buffer-goto-hunk hunk)
      (let ((is-operation (looking-at-p "^@@ [a-z]")))
        (agent-q-diff-show-outcome)
        (with-current-buffer agent-q-diff-outcome--buffer-name
          (should (eq (and is-operation t)
                      (string-prefix-p " The files" header-line-format))))))))

;;;; Files that are visited later

(defun aqd-several-visited ()
  "Return which of the test's files buffers visit, a sorted list."
  (sort (delq nil (mapcar (lambda (buffer)
                            (let ((name (buffer-file-name buffer)))
                              (and name
                                   (file-in-directory-p name aqd-several-tree)
                                   (file-relative-name name aqd-several-tree))))
                          (buffer-list)))
        #'string<))

(defun aqd-several-two ()
  "Return a proposal of one hunk in each of a.txt and old.txt."
  `((:path "a.txt" :original ,aqd-several-a
           :modified ,(aqd-numbered 30 '((3 . "three"))))
    (:path "old.txt" :original "one\ntwo\n" :modified "one\nTWO\n")))

(ert-deftest aqd-several-only-what-is-decided-is-visited ()
  (aqd-several-with-tree
    (aqd-several-with-proposal (aqd-several-two)
      (should-not (aqd-several-visited))
      (agent-q-diff-reject review 1)
      (should-not (aqd-several-visited))
      (agent-q-diff-accept review 0)
      (should (equal (aqd-several-visited) '("a.txt")))
      (agent-q-diff-show-outcome)
      (agent-q-diff-show-outcome t)
      (should (equal (aqd-several-visited) '("a.txt")))
      (agent-q-diff-unapply review 0)
      (agent-q-diff-end review)
      (should (equal (aqd-bytes-of (aqd-several-name "a.txt")) aqd-several-a))
      (let ((files (aqd-several-answer :files)))
        (should (equal (mapcar (lambda (file) (plist-get file :content)) files)
                       (list aqd-several-a "one\ntwo\n")))
        (should (equal (mapcar (lambda (file) (plist-get file :saved)) files) '(t t)))))))

(ert-deftest aqd-several-what-only-visiting-can-tell-is-visited-first ()
  (aqd-several-with-tree
    (aqd-several-put "cookie.txt" "-*- coding: latin-1 -*-\ntwo\n")
    (aqd-several-put "crlf.txt" "one\r\ntwo\r\n")
    (with-current-buffer (find-file-noselect (aqd-several-name "a.txt"))
      (goto-char (point-max)))
    (aqd-in-diff (aqd-several-begin
                  `((:path "cookie.txt" :original "-*- coding: latin-1 -*-\ntwo\n"
                           :modified "-*- coding: latin-1 -*-\n\u00e9\n")
                    (:path "crlf.txt" :original "one\ntwo\n" :modified "one\nTWO\n")
                    ;; Not what the file holds.
                    (:path "run.sh" :original "#!/bin/bash\n" :modified "#!/bin/zsh\n")
                    ,@(aqd-several-two)))
      (should-not aqd-answers)
      (should (equal (aqd-several-visited) '("a.txt" "cookie.txt" "crlf.txt" "run.sh")))
      (agent-q-diff-accept-all)
      (should (equal (aqd-bytes-of (aqd-several-name "cookie.txt"))
                     (unibyte-string ?- ?* ?- ?\s ?c ?o ?d ?i ?n ?g ?: ?\s ?l ?a ?t ?i ?n ?- ?1
                                     ?\s ?- ?* ?- ?\n #xe9 ?\n)))
      (should (equal (aqd-bytes-of (aqd-several-name "crlf.txt")) "one\r\nTWO\r\n"))
      (should (equal (aqd-bytes-of (aqd-several-name "run.sh")) "#!/bin/sh\n")))))

(ert-deftest aqd-several-a-file-that-is-not-visited-yet-can-change ()
  "However a file changes before it is visited, its hunk is told the truth."
  (pcase-dolist
      (`(,change ,is-placed ,expected ,is-all-refused)
       `((,(lambda () (aqd-several-put "old.txt" "zero\none\ntwo\n"))
          t "zero\none\nTWO\n")
         (,(lambda () (aqd-several-put "old.txt" "other\n"))
          nil "other\n")
         (,(lambda () (delete-file (aqd-several-name "old.txt")))
          nil nil)
         (,(lambda ()
             (delete-file (aqd-several-name "old.txt"))
             (make-symbolic-link "run.sh" (aqd-several-name "old.txt")))
          nil "#!/bin/sh\n")
         (,(lambda ()
             (delete-file (aqd-several-name "old.txt"))
             (call-process "mkfifo" nil nil nil (aqd-several-name "old.txt")))
          nil nil t)
         (,(lambda ()
             (with-current-buffer (find-file-noselect (aqd-several-name "old.txt"))
               (insert "zero\n")))
          t "zero\none\nTWO\n")))
    (dolist (moment '(accept accept-all end look-again))
      (ert-info ((format "%s after %S" moment change))
        (aqd-several-with-tree
          (aqd-several-with-proposal (aqd-several-two)
            (funcall change)
            (let ((inhibit-message t))
              (pcase moment
                ('accept
                 (ignore-error error
                   (agent-q-diff-accept review 1)))
                ('accept-all (agent-q-diff-accept-all))
                ('end (agent-q-diff-end review))
                ('look-again
                 (agent-q-diff-end review)
                 (with-temp-buffer
                   ;; It refuses a file that is gone.
                   (ignore-error error
                     (with-current-buffer (agent-q-diff-look-again review)
                       (agent-q-diff-buffer-goto-hunk 1)
                       (agent-q-diff-accept-hunk)
                       (agent-q-diff-finish)))))))
            (let* ((name (aqd-several-name "old.txt"))
                   (is-tried (not (eq moment 'end)))
                   (buffer (find-buffer-visiting name))
                   (text (if (and buffer (buffer-modified-p buffer))
                             ;; Unsaved edits stay unsaved.
                             (with-current-buffer buffer (buffer-string))
                           (and (file-regular-p name) (aqd-bytes-of name)))))
              (if (and is-placed (not is-tried))
                  (should (equal text "zero\none\ntwo\n"))
                (should (equal text expected)))
              (should (equal (aqd-bytes-of (aqd-several-name "a.txt"))
                             (if (and (eq moment 'accept-all) (not is-all-refused))
                                 (aqd-numbered 30 '((3 . "three")))
                               aqd-several-a)))
              (when (eq moment 'end)
                (should (= 0 (plist-get (nth 1 (aqd-several-answer :files)) :in-file)))))))))))

(ert-deftest aqd-several-what-is-no-text-is-refused-before-visiting ()
  (aqd-several-with-tree
    (aqd-several-begin `((:path "old.txt" :original "one\ntwo\n"
                                :modified ,(concat "one" (string #xd800) "\ntwo\n"))
                         (:path "a.txt" :original ,aqd-several-a
                                :modified ,aqd-several-a-proposed)))
    (should (string-search "half of a surrogate pair" (aqd-several-answer :reason)))))

(ert-deftest aqd-several-what-was-in-before-visiting-can-be-taken-out ()
  (dolist (way '(unapply-all take-back))
    (aqd-several-with-tree
      (let ((review (save-window-excursion
                      (agent-q-diff-review-diff "\
diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -2,3 +2,3 @@
 line 2
-line 3
+three
 line 4
diff --git a/old.txt b/old.txt
--- a/old.txt
+++ b/old.txt
@@ -1,2 +1,2 @@
 one
-2
+two
" nil (lambda (result) (push result aqd-answers))))))
        (aqd-in-diff review
          (agent-q-diff-accept review 0)
          (pcase way
            ('unapply-all (should-not (agent-q-diff-unapply-all)))
            ('take-back (agent-q-diff-end review)
                        (with-temp-buffer
                          (should-not (agent-q-diff-take-back review))))))
        (should (equal aqd-several-a (aqd-bytes-of (aqd-several-name "a.txt"))))
        (should (equal "one\n2\n" (aqd-bytes-of (aqd-several-name "old.txt"))))))))

(ert-deftest aqd-several-a-file-that-cannot-be-visited-blocks-no-other ()
  (aqd-several-with-tree
    (aqd-several-with-proposal (aqd-several-two)
      (delete-file (aqd-several-name "old.txt"))
      (make-directory (aqd-several-name "old.txt"))
      (agent-q-diff-accept review 0)
      (agent-q-diff-undo)
      (should (equal aqd-several-a (aqd-bytes-of (aqd-several-name "a.txt"))))
      (agent-q-diff-redo)
      (save-excursion
        (aqd-several-goto-heading "a.txt")
        (agent-q-diff-show-outcome)
        (agent-q-diff-show-outcome t))
      (should-not (agent-q-diff-unapply-all))
      (should (equal aqd-several-a (aqd-bytes-of (aqd-several-name "a.txt"))))
      (should-error (agent-q-diff-accept review 1) :type 'agent-q-diff-bad-target)
      (delete-directory (aqd-several-name "old.txt")))))

(ert-deftest aqd-several-accepting-a-whole-file-that-fails-is-no-rejection ()
  (dolist (is-killed '(nil t))
    (aqd-several-with-tree
      (aqd-several-with-proposal (aqd-several-two)
        (when is-killed
          (agent-q-diff-change-visit agent-q-diff-buffer-change 1)
          (kill-buffer (find-buffer-visiting (aqd-several-name "old.txt"))))
        (delete-file (aqd-several-name "old.txt"))
        (make-directory (aqd-several-name "old.txt"))
        (aqd-several-goto-heading "old.txt")
        (agent-q-diff-accept-hunk)
        (ignore-errors (agent-q-diff-finish))
        (unless aqd-answers
          (agent-q-diff-cancel review))
        (should-not (eq 'rejected (aqd-several-answer :status)))
        (should (= 0 (aqd-several-answer :in-file)))
        (delete-directory (aqd-several-name "old.txt"))))))

(ert-deftest aqd-several-what-the-name-says-about-coding-is-known ()
  (aqd-several-with-tree
    (let ((file-coding-system-alist (cons '("\\.lat\\'" . iso-latin-1)
                                          file-coding-system-alist)))
      (aqd-several-put "one.lat" "eins\n\u00e9\n")
      (aqd-several-with-proposal '((:path "one.lat" :original "eins\n\u00e9\n"
                                          :modified "eins\nzwei\n")
                                   (:path "gone.txt" :delete t))
        (should (equal (aqd-several-visited) '("one.lat")))
        (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-conflict)))))

(ert-deftest aqd-several-one-file-alone-is-named ()
  (aqd-several-with-tree
    (aqd-several-with-proposal `((:path "a.txt" :original ,aqd-several-a
                                        :modified ,aqd-several-a-proposed))
      (agent-q-diff-accept-all)
      (should (equal (aqd-several-name "a.txt") (aqd-several-answer :path)))
      (should (string-search (aqd-several-name "a.txt") (aqd-several-answer :message))))))

(ert-deftest aqd-several-a-buffer-of-a-link-that-leads-elsewhere-stays ()
  (aqd-several-with-tree
    (let ((buffer (find-file-noselect (aqd-several-name "link"))))
      (delete-file (aqd-several-name "link"))
      (make-symbolic-link "old.txt" (aqd-several-name "link"))
      (ignore-error error
        (agent-q-diff-visit (aqd-several-name "link")))
      (should-not (cdr (ignore-error error (agent-q-diff-visit (aqd-several-name "link")))))
      (should (buffer-live-p buffer)))))

;;;; Codex's patches

(defconst aqd-several-codex "\
*** Begin Patch
*** Update File: old.txt
*** Move to: sub/new.txt
@@
 one
-two
+TWO
*** Add File: deep/made.txt
+made
*** Delete File: gone.txt
*** Update File: run.sh
@@
 #!/bin/sh
+ls
*** End Patch
"
  "A patch of several files.")

(ert-deftest aqd-several-codex-patch-is-one-review ()
  (aqd-several-with-tree
    (let ((review (save-window-excursion
                    (agent-q-diff-review-diff aqd-several-codex nil
                                              (lambda (result) (push result aqd-answers))))))
      (aqd-in-diff review
        (should (agent-q-diff-target-put-off
                 (agent-q-diff-file-change-target (agent-q-diff-session-file review))))
        (should (equal (aqd-several-headings)
                       '("renamed    old.txt → sub/new.txt  +1 -1 · 2 hunks"
                         "new file   deep/made.txt  +1 -0 · 1 hunk"
                         "deleted    gone.txt  +0 -2 · 1 hunk"
                         "modified   run.sh  +1 -0 · 1 hunk")))
        (agent-q-diff-accept-all))
      (should (equal (aqd-several-disk)
                     `(("a.txt" 0 . ,aqd-several-a)
                       ("deep/made.txt" 0 . "made\n")
                       ("link" nil link "a.txt")
                       ("run.sh" 0 . "#!/bin/sh\nls\n")
                       ("sub/new.txt" 0 . "one\nTWO\n")))))))

(ert-deftest aqd-several-files-in-view-are-visited-once-nothing-is-being-saved ()
  (aqd-several-with-tree
    (save-window-excursion
      (let ((review (agent-q-diff-review-diff aqd-several-codex nil #'ignore)))
        (switch-to-buffer (agent-q-diff-session-buffer review))
        (cl-flet ((put-off () (agent-q-diff-target-put-off
                               (agent-q-diff-file-change-target
                                (agent-q-diff-session-file review)))))
          (let ((agent-q-diff-change-in-progress '(another)))
            (agent-q-diff-in-view--visit (current-buffer)))
          (should (put-off))
          (should (timerp agent-q-diff-in-view--timer))
          (timer-event-handler agent-q-diff-in-view--timer)
          (should-not (put-off))
          (should-not agent-q-diff-in-view--timer)
          (agent-q-diff-cancel review))))))

(ert-deftest aqd-several-a-file-that-cannot-be-visited-any-more-has-no-hunks ()
  "One of its hunks was in it before."
  (let* ((aqd-answers nil)
         (default-directory (file-name-as-directory (make-temp-file "agent-q-diff" t)))
         (other (aqd-numbered 40 '((5 . "five")))))
    (unwind-protect
        (progn
          (let ((aqd-file (expand-file-name "a.txt")))
            (aqd-write (aqd-numbered 40 '((5 . "LINE 5")))))
          (let ((aqd-file (expand-file-name "b.txt")))
            (aqd-write (aqd-numbered 40)))
          (let ((review (agent-q-diff-review-change
                         `((:path "a.txt" :diff ,(concat "--- a/a.txt\n+++ b/a.txt\n"
                                                         "@@ -4,3 +4,3 @@\n line 4\n-line 5\n"
                                                         "+LINE 5\n line 6\n"
                                                         "@@ -24,3 +24,3 @@\n line 24\n"
                                                         "-line 25\n+LINE 25\n line 26\n"))
                           (:path "b.txt" :original ,(aqd-numbered 40) :modified ,other))
                         "d" (lambda (result) (push result aqd-answers)))))
            (delete-file "a.txt")
            (make-directory "a.txt")
            (agent-q-diff-accept review 2)
            (agent-q-diff-end review)
            (should (= 1 (aqd-several-answer :in-file)))
            (let ((file (car (aqd-several-answer :files))))
              (should (= 0 (plist-get file :in-file)))
              (should-not (plist-get file :saved)))
            (should (string-search "a.txt 0 of 2 hunks" (aqd-several-answer :message)))))
      (delete-directory default-directory t))))

(ert-deftest aqd-several-codex-patch-that-does-not-fit-opens-nothing ()
  (aqd-several-with-tree
    (pcase-dolist (`(,patch ,symbol ,words)
                   `((,(string-replace "-two" "-three" aqd-several-codex)
                      agent-q-diff-not-found "the file has no such lines there")
                     (,(string-replace "old.txt" "none.txt" aqd-several-codex)
                      agent-q-diff-bad-target "none.txt does not exist")))
      (setq aqd-answers nil)
      (agent-q-diff-review-diff patch nil (lambda (result) (push result aqd-answers)))
      (should (eq symbol (aqd-several-answer :error)))
      (should (string-search words (aqd-several-answer :reason))))
    (should-error (agent-q-diff-review-diff "*** Begin Patch\nnonsense\n*** End Patch\n")
                  :type 'agent-q-diff-malformed)
    (should (equal (mapcar #'car (aqd-several-disk))
                   '("a.txt" "gone.txt" "link" "old.txt" "run.sh")))))

;;;; What a hostile tester found

(ert-deftest aqd-several-ends-after-a-split-beside-a-file-without-lines ()
  (aqd-several-with-tree
    (aqd-several-with-proposal
        `((:path "gone.txt" :delete t)
          (:path "a.txt" :original ,aqd-several-a
                 :modified ,(aqd-numbered 30 '((3 . "three") (5 . "five")))))
      (agent-q-diff-buffer-goto-hunk 1)
      (agent-q-diff-split-hunk)
      (agent-q-diff-accept-all)
      (should (eq 'accepted (aqd-several-answer :status))))))

(ert-deftest aqd-several-one-file-under-two-names-is-refused ()
  (aqd-several-with-tree
    (make-directory "d")
    (aqd-several-put "d/f.txt" "one\n")
    (make-symbolic-link "d" "l")
    (make-symbolic-link "f.txt" "d/g.txt")
    (dolist (other '("l/f.txt" "d/g.txt"))
      (setq aqd-answers nil)
      (aqd-several-begin `((:path "d/f.txt" :original "one\n" :modified "zero\none\n")
                           (:path ,other :original "one\n" :modified "ONE\n")))
      (should (eq 'agent-q-diff-bad-arguments (aqd-several-answer :error)))
      (should (string-search "occurs twice" (aqd-several-answer :reason))))))

(ert-deftest aqd-several-a-mode-does-not-hide-what-others-wrote ()
  (dolist (proposal '((:path "run.sh" :mode #o755 :original "#!/bin/sh\n" :modified "#!/bin/sh\nls\n")
                      (:path "run.sh" :to "go.sh" :original "#!/bin/sh\n"
                             :modified "#!/bin/sh\nls\n")))
    (aqd-several-with-tree
      (let ((buffer (find-file-noselect (aqd-several-name "run.sh"))))
        (with-current-buffer buffer
          (goto-char (point-max))
          (insert "mine\n"))
        (aqd-several-with-proposal (list proposal)
          (aqd-several-put "run.sh" "theirs\n")
          (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-bad-target)
          (should-not (verify-visited-file-modtime buffer))
          (should (equal "theirs\n" (aqd-bytes-of (aqd-several-name "run.sh")))))))))

(ert-deftest aqd-several-a-directory-makes-way-for-the-file-that-it-replaced ()
  (aqd-several-with-tree
    (aqd-several-put "d" "file\n")
    (let* ((before (aqd-several-disk))
           (review (aqd-several-begin '((:path "d" :delete t)
                                        (:path "d/x" :content "inside\n")))))
      (aqd-in-diff review
        (agent-q-diff-accept-all))
      (should (equal "inside\n" (aqd-bytes-of (aqd-several-name "d/x"))))
      ;; While `d/x' is there, `d' is neither; then it can be brought back.
      (agent-q-diff-take-back review)
      (agent-q-diff-take-back review)
      (should (equal (aqd-several-disk) before)))))

(ert-deftest aqd-several-what-cannot-be-taken-back-is-said ()
  (aqd-several-with-review
    (agent-q-diff-accept review 3)
    (agent-q-diff-accept review 7)
    (aqd-several-put "old.txt" "somebody's\n")
    (set-file-modes (aqd-several-name "run.sh") #o600)
    (agent-q-diff-refresh)
    (should (equal '(3) (mapcar #'car (agent-q-diff-unapply-all))))))

(ert-deftest aqd-several-a-link-is-deleted-as-a-link ()
  (aqd-several-with-tree
    (let ((before (aqd-several-disk)))
      (aqd-several-with-proposal '((:path "link" :delete t) (:path "run.sh" :mode #o755))
        (should (save-excursion
                  (goto-char (point-min))
                  (search-forward "@@ delete the link to a.txt @@\n" nil t)))
        (agent-q-diff-accept review 0)
        (should-not (file-symlink-p (aqd-several-name "link")))
        (agent-q-diff-unapply review 0)
        (should (equal (aqd-several-disk) before))))))

(ert-deftest aqd-several-what-others-deleted-can-be-taken-back-too ()
  (aqd-several-with-tree
    (let ((before (aqd-several-disk))
          (review (aqd-several-begin)))
      (delete-file (aqd-several-name "gone.txt"))
      (aqd-in-diff review
        (agent-q-diff-accept-all))
      (should-not (agent-q-diff-take-back review))
      (should (equal (aqd-several-disk) before)))))

(ert-deftest aqd-several-a-file-that-others-created-is-not-ours ()
  (aqd-several-with-tree
    (aqd-several-with-proposal '((:path "n.txt" :content "") (:path "run.sh" :mode #o755))
      (aqd-several-put "n.txt" "")
      (agent-q-diff-accept-all)
      (should-not aqd-answers)
      (agent-q-diff-unapply-all)
      (should (file-exists-p (aqd-several-name "n.txt")))
      (agent-q-diff-finish)
      (should (string-search "n.txt not created" (aqd-several-answer :message))))))

(ert-deftest aqd-several-only-a-new-file-is-created ()
  (aqd-several-with-tree
    (dolist (proposal '((:path "none" :original "a\n" :modified "b\n")
                        (:path "none" :mode #o755)
                        (:path "none" :diff "@@ -1 +1 @@\n-a\n+b\n")
                        (:path "none" :delete t)
                        (:path "none" :to "other")))
      (ert-info ((format "%S" proposal))
        (setq aqd-answers nil)
        (aqd-several-begin (list proposal '(:path "run.sh" :mode #o755)))
        (should (string-search "none does not exist" (aqd-several-answer :reason)))
        (should-not (file-exists-p (aqd-several-name "none")))))))

(ert-deftest aqd-several-directories-are-no-files ()
  (aqd-several-with-tree
    (make-directory "dir")
    (dolist (proposal '((:path "old.txt" :to "dir/") (:path "dir" :to "d2")
                        (:path "dir" :mode #o700) (:path "dir" :delete t)))
      (ert-info ((format "%S" proposal))
        (setq aqd-answers nil)
        (aqd-several-begin (list proposal))
        (should (string-match-p "director" (aqd-several-answer :reason)))))))

(ert-deftest aqd-several-links-take-their-directories-with-them ()
  (aqd-several-with-tree
    (let ((before (aqd-several-disk)))
      (aqd-several-with-proposal '((:path "q/w/l" :link "x") (:path "run.sh" :mode #o755))
        (agent-q-diff-accept review 0)
        (agent-q-diff-unapply review 0)
        (should-not (file-exists-p (aqd-several-name "q")))
        (should (equal (aqd-several-disk) before))))))

(ert-deftest aqd-several-comments-on-a-rejected-change-are-told ()
  (aqd-several-with-review
    (agent-q-diff-buffer-goto-hunk 0)
    (agent-q-diff-comment-hunk "not like this")
    (agent-q-diff-reject-all)
    (should (string-search "a.txt 0 of 3 hunks (hunk 1: \"not like this\")"
                           (aqd-several-answer :message)))))

(ert-deftest aqd-several-the-note-on-a-new-file-is-about-its-own-hunks ()
  (aqd-several-with-tree
    (let ((diff (lambda (cookie)
                  (aqd-lines "diff --git a/a.txt b/a.txt"
                             "--- a/a.txt" "+++ b/a.txt"
                             "@@ -3 +3 @@" "-line 3" "+three"
                             "@@ -27 +27 @@" "-line 27" "+x"
                             "diff --git a/new.py b/new.py" "new file mode 100644"
                             "--- /dev/null" "+++ b/new.py"
                             "@@ -0,0 +1,2 @@" (format "+# -*- coding: %s -*-" cookie)
                             "+# caf\u00e9"))))
      (pcase-dolist (`(,cookie ,is-noted) '(("latin-1" t) ("utf-8" nil)))
        (dolist (begin (list (lambda (diff)
                               (let ((agent-q-diff-project-root aqd-several-tree))
                                 (agent-q-diff-tools-propose
                                  "propose_patch" `((diff . ,diff) (description . "d")) #'ignore)))
                             #'agent-q-diff-review-diff))
          (let ((review (funcall begin (funcall diff cookie))))
            (aqd-in-diff review
              (should (eq is-noted
                          (and (string-search "new.py: With all hunks in, the file declares"
                                              (buffer-string))
                               t)))
              (agent-q-diff-cancel review))))))))

(ert-deftest aqd-several-git-s-other-prefixes-are-no-renames ()
  (aqd-several-with-tree
    (let ((review (save-window-excursion
                    (agent-q-diff-review-diff
                     "diff --git i/run.sh w/run.sh\nindex 1a2..3b4 100644\n--- i/run.sh\n+++ w/run.sh\n\
@@ -1 +1,2 @@\n #!/bin/sh\n+ls\n"))))
      (agent-q-diff-accept review 0)
      (should (equal "#!/bin/sh\nls\n" (aqd-bytes-of (aqd-several-name "run.sh")))))))

(ert-deftest aqd-several-only-git-s-own-words-are-a-rename ()
  (should (equal (agent-q-diff-input-of-diff
                  "diff --git a/tmp/x/old b/tmp/x/new\n--- a/tmp/x/old\n+++ b/tmp/x/new\n\
@@ -1 +1 @@\n-a\n+b\n")
                 '((:path "tmp/x/new" :diff "@@ -1 +1 @@\n-a\n+b\n")))))

;;;; Fragments of files

(defun aqd-several-edited (text edits)
  "Return the text that EDITS make of TEXT, or (SYMBOL . WORDS) of the error."
  (let ((outcome nil))
    (aqd-several-with-tree
      (aqd-several-put "e.txt" text)
      (let ((review (agent-q-diff-review-change `((:path "e.txt" :edits ,edits)) nil
                                                (lambda (result) (push result aqd-answers)))))
        (setq outcome
              (if (agent-q-diff-session-outcome review)
                  (cons (aqd-several-answer :error) (aqd-several-answer :reason))
                (aqd-in-diff review (agent-q-diff-accept-all))
                (should (eq 'accepted (aqd-several-answer :status)))
                (aqd-bytes-of (aqd-several-name "e.txt"))))))
    outcome))

(ert-deftest aqd-several-edits-go-where-their-old-texts-are ()
  (pcase-dolist (`(,before ,edits ,after)
                 '(("one two\nthree\n" ((:old "two" :new "2")) "one 2\nthree\n")
                   ;; Each sees what those before it did.
                   ("a\n" ((:old "a" :new "b") (:old "b\n" :new "b\nc\n")) "b\nc\n")
                   ("x x\n" ((:old "x" :new "y" :all t)) "y y\n")
                   ;; The file's own line says which of several.
                   ("}\na\n}\nb\n}\n" ((:old "}" :new "];" :line 2)) "}\na\n];\nb\n}\n")
                   ("1\nx\n2\nx\n" ((:old "1" :new "a\nb\nc") (:old "x" :new "y" :line 3))
                    "a\nb\nc\nx\n2\ny\n")
                   ("1\nx\n2\nx\n" ((:old "1\n" :new "") (:old "x" :new "y" :line 1))
                    "y\n2\nx\n")
                   ("aaa\naa\n" ((:old "aa" :new "b" :line 1)) "aaa\nb\n")
                   ("x\n}\n}\n" ((:old "}\n" :new "" :line 1)) "x\n}\n")
                   ;; The text can have other line ends than most files.
                   ("a\r\nb\nc\r\n" ((:old "c" :new "d\r\ne")) "a\r\nb\nd\r\ne\r\n")
                   ("a\r\n}\r\n}\n" ((:old "}" :new "d" :line 2)) "a\r\n}\r\nd\n")
                   ("\344\n\344\n" ((:old "ä" :new "ö" :line 1)) "\344\n\366\n")
                   ("\0\377a\nb\n" ((:old "b" :new "ä")) "\0\377a\n\303\244\n")
                   ("\0a\r\nb\r\n" ((:old "a" :new "x\ny")) "\0x\r\ny\r\nb\r\n")
                   ("\0a\r\n\r\nb\r\n" ((:old "a\n\n" :new "x\n")) "\0x\r\nb\r\n")
                   ;; If there is only one, its line is of no account.
                   ("a\nb\n" ((:old "b" :new "c" :line 0)) "a\nc\n")
                   ;; Line ends are the file's.
                   ("a\r\nb\r\nc\r\n" ((:old "a\nb\n" :new "x\ny\n")) "x\r\ny\r\nc\r\n")
                   ("a\r\nb\r\nc\r\n" ((:old "a\r\nb" :new "x\r\ny")) "x\r\ny\r\nc\r\n")
                   ("\357\273\277a\nb\n" ((:old "\ufeffa" :new "x")) "\357\273\277x\nb\n")))
    (ert-info ((format "%S" edits))
      (should (equal after (aqd-several-edited before edits))))))

(ert-deftest aqd-several-edits-without-a-certain-place-are-refused ()
  (pcase-dolist
      (`(,edits ,symbol ,words)
       '((((:old "x" :new "y")) agent-q-diff-several-matches
          "e.txt, edit 1: the string is in the text 2 times, at lines 2, 4; its :line")
         (((:old "x" :new "y" :line 0)) agent-q-diff-several-matches "2 times")
         (((:old "x" :new "y" :line 99)) agent-q-diff-several-matches "2 times")
         (((:old "x" :new "x" :line 1)) agent-q-diff-equal-texts "edit 1: ")
         (((:old "1" :new "2") (:old "1" :new "3")) agent-q-diff-no-match "edit 2: ")
         (((:old "X" :new "y")) agent-q-diff-no-match
          "not in the text; the nearest lines, from 2 on, differ in case")
         (((:old "" :new "y")) agent-q-diff-empty-search "edit 1: ")
         (((:old "1" :new "1")) agent-q-diff-equal-texts "edit 1: ")
         (((:old "1")) agent-q-diff-bad-arguments "edits must be a list")
         (((:old "1" :new 1)) agent-q-diff-bad-arguments "edits must be a list")
         (((:old "1" :new "2" :line -1)) agent-q-diff-bad-arguments "edits must be a list")
         (((:old "1" :new "2" :lines 1)) agent-q-diff-bad-arguments "edits must be a list")
         (((:old "1" :new "2") . 3) agent-q-diff-bad-arguments "edits must be a list")
         ((("1" . "2")) agent-q-diff-bad-arguments "edits must be a list")))
    (ert-info ((format "%S" edits))
      (pcase-let ((`(,error . ,reason) (aqd-several-edited "1\nx\n2\nx\n" edits)))
        (should (eq symbol error))
        (should (string-search words reason))))))

(ert-deftest aqd-several-edits-of-a-file-that-is-not-there-are-refused ()
  (aqd-several-with-tree
    (agent-q-diff-review-change '((:path "none" :edits ((:old "a" :new "b")))) nil
                                (lambda (result) (push result aqd-answers)))
    (should (equal '(error agent-q-diff-bad-target)
                   (list (aqd-several-answer :status) (aqd-several-answer :error))))))

(ert-deftest aqd-several-edits-see-what-a-buffer-has-not-saved ()
  (aqd-several-with-tree
    (with-current-buffer (find-file-noselect "a.txt")
      (goto-char (point-max))
      (insert "mine\n"))
    (aqd-in-diff (agent-q-diff-review-change
                  '((:path "a.txt" :edits ((:old "mine" :new "ours")))) nil #'ignore)
      (agent-q-diff-accept-all))
    (with-current-buffer (find-buffer-visiting "a.txt")
      (should (string-suffix-p "\nours\n" (buffer-string)))
      (set-buffer-modified-p nil)
      (kill-buffer))))

;;;; What cannot be proposed

(ert-deftest aqd-several-bad-input-says-what-is-wrong-and-leaves-nothing ()
  (pcase-dolist (`(,files ,symbol ,words)
                 `((nil agent-q-diff-bad-arguments "a list of files, at least one")
                   ("a.txt" agent-q-diff-bad-arguments "a list of files")
                   (("a.txt") agent-q-diff-bad-arguments "property list")
                   (((:content "x")) agent-q-diff-bad-arguments "needs a :path")
                   (((:path "a.txt")) agent-q-diff-bad-arguments "nothing is proposed")
                   (((:path "a.txt" :contents "x")) agent-q-diff-bad-arguments
                    ":contents is no property")
                   (((:path "a.txt" :content 3)) agent-q-diff-bad-arguments
                    ":content of a file must not be integer")
                   (((:path "a.txt" :content "x" :delete t)) agent-q-diff-bad-arguments
                    "only one of")
                   (((:path "a.txt" :modified "x")) agent-q-diff-bad-arguments "give both")
                   (((:path "a.txt" :to "b.txt" :delete t)) agent-q-diff-bad-arguments
                    "renamed and deleted")
                   (((:path "run.sh" :mode #o755) (:path "./run.sh" :delete t))
                    agent-q-diff-bad-arguments "occurs twice")
                   (((:path "run.sh" :mode #o755) (:path "none" :delete t))
                    agent-q-diff-bad-target "does not exist")
                   (((:path "a.txt" :original "x\n" :modified "x\n"))
                    agent-q-diff-identical "")
                   (((:path "run.sh" :mode #o755) (:path "a.txt" :diff "nothing\n"))
                    agent-q-diff-malformed "")))
    (ert-info ((format "%S" files))
      (aqd-several-with-tree
        (let ((before (agent-q-diff-module-n-reviews)))
          (agent-q-diff-review-change files "Bad" (lambda (result) (push result aqd-answers)))
          (should (eq 'error (aqd-several-answer :status)))
          (should (eq symbol (aqd-several-answer :error)))
          (should (string-search words (aqd-several-answer :reason)))
          (should (= before (agent-q-diff-module-n-reviews)))
          (should-not (find-buffer-visiting (aqd-several-name "a.txt"))))))))

;;;; Detached

(defun aqd-several-begin-detached ()
  "Begin the review of texts, of which no file has any; return it."
  (agent-q-diff-review-change
   `((:path "a.txt" :original ,aqd-several-a :modified ,aqd-several-a-proposed)
     (:path "old.txt" :to "sub/new.txt" :original "one\ntwo\n" :modified "one\nTWO\n")
     (:path "gone.txt" :delete t :original "not\nneeded\n")
     (:path "deep/made.txt" :content "made\n"))
   "Texts" (lambda (result) (push result aqd-answers)) :detached t))

(defun aqd-several-file-answer (index key)
  "Return the value of KEY of file INDEX in the only answer."
  (plist-get (nth index (aqd-several-answer :files)) key))

(ert-deftest aqd-several-texts-are-decided-and-no-file-is-touched ()
  (aqd-several-with-tree
    (let ((before (aqd-several-disk)))
      (aqd-in-diff (aqd-several-begin-detached)
        (agent-q-diff-accept-all))
      (should (equal before (aqd-several-disk))))
    (should (eq 'accepted (aqd-several-answer :status)))
    (should (aqd-several-answer :detached))
    (should (equal (list aqd-several-a-proposed "one\nTWO\n" nil "made\n")
                   (mapcar (lambda (file) (plist-get file :content))
                           (aqd-several-answer :files))))
    (should (equal (aqd-several-name "sub/new.txt") (aqd-several-file-answer 1 :path)))
    (should (string-match-p "\\`✓ Accepted, not yet written: 4 of 4 files: "
                            (aqd-several-answer :message)))))

(ert-deftest aqd-several-texts-are-called-accepted-not-applied ()
  (aqd-several-with-tree
    (aqd-in-diff (aqd-several-begin-detached)
      (agent-q-diff-accept-hunk)
      (should (equal "modified   a.txt  +3 -3 · 1 of 3 accepted, 2 pending"
                     (car (aqd-several-headings)))))))

(ert-deftest aqd-several-texts-are-decided-in-part-and-taken-back ()
  (aqd-several-with-tree
    (let ((before (aqd-several-disk))
          (review (aqd-several-begin-detached)))
      (aqd-in-diff review
        ;; What was accepted can be taken out again, and that be taken back.
        (dolist (hunk '(3 4 5 6))
          (agent-q-diff-accept review hunk))
        (agent-q-diff-undo)
        (agent-q-diff-unapply review 3)
        (agent-q-diff-undo)
        (should (equal '(t t t nil)
                       (mapcar (lambda (hunk)
                                 (and (agent-q-diff-engine-hunk-fact
                                       (agent-q-diff-change-hunk
                                        (agent-q-diff-session-change review) hunk))
                                      t))
                               '(3 4 5 6))))
        ;; The lines of a new file bring it with them.
        (agent-q-diff-accept review 6)
        (agent-q-diff-unapply review 5)
        (dolist (hunk '(0 1 2 5))
          (agent-q-diff-reject review hunk))
        (agent-q-diff-end review))
      (should (equal before (aqd-several-disk))))
    (should (eq 'partial (aqd-several-answer :status)))
    (should (equal (list aqd-several-a "one\nTWO\n" nil "made\n")
                   (mapcar (lambda (file) (plist-get file :content))
                           (aqd-several-answer :files))))
    (should (equal '(0 2 0 1)
                   (mapcar (lambda (file) (plist-get file :in-file))
                           (aqd-several-answer :files))))
    (should (string-prefix-p "✓ Accepted in part, not yet written: 2 of 4 files: "
                             (aqd-several-answer :message)))))

(ert-deftest aqd-several-texts-need-all-that-is-known-of-a-file ()
  (pcase-dolist (`(,file . ,words)
                 '(((:path "a.txt" :delete t) . "give its :original")
                   ((:path "run.sh" :mode #o755) . ":mode needs the file")
                   ((:path "a.txt" :diff "@@ -1 +1 @@\n-1\n+x\n") . ":diff needs the file")
                   ((:path "/ssh:x:a\nb" :content "x") . "")))
    (aqd-several-with-tree
      (agent-q-diff-review-change (list '(:path "b.txt" :content "b\n") file) ""
                                  (lambda (result) (push result aqd-answers))
                                  :detached t)
      (should (eq 'error (aqd-several-answer :status)))
      (should (string-search words (aqd-several-answer :reason))))))

(provide 'agent-q-diff-several-test)
;;; agent-q-diff-several-test.el ends here
