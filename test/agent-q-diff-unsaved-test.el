;;; agent-q-diff-unsaved-test.el --- Tests of unsaved edits of a file that is written  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tests of what agent-q-diff-disk.el and agent-q-diff-target.el do with a
;; buffer with unsaved edits whose file an agent's shell writes.  What is decided
;; then is done on disk, and the buffer gets a merge of both texts.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-git-help)
(require 'agent-q-diff-project-help)
(require 'autorevert)
(load "userlock" nil t)

(defvar aqd-unsaved-buffer nil
  "The buffer that visits the test's file f.txt.")

(defconst aqd-unsaved-written (aqd-numbered 30 '((3 . "three") (27 . "x")))
  "What an agent has made of `aqd-pending-text'.")

(defmacro aqd-with-unsaved (edit written &rest body)
  "Run BODY in a review of WRITTEN in f.txt, of which a buffer has unsaved edits.
EDIT, a form, makes them, with point at the beginning of the buffer.  It is
evaluated after the first look at the project, and before WRITTEN is written."
  (declare (indent 2) (debug t))
  `(aqd-with-repository
     (agent-q-diff-review-changes)
     (let ((aqd-unsaved-buffer (find-file-noselect "f.txt")))
       (unwind-protect
           (progn
             (with-current-buffer aqd-unsaved-buffer
               (buffer-enable-undo)
               (goto-char (point-min))
               ,edit
               (undo-boundary))
             (aqd-pending-put "f.txt" ,written)
             (aqd-with-pending ,@body))
         (when (buffer-live-p aqd-unsaved-buffer)
           (with-current-buffer aqd-unsaved-buffer
             (set-buffer-modified-p nil)))))))

(defun aqd-unsaved-text ()
  "Return the text of the buffer with unsaved edits."
  (agent-q-diff-text-in aqd-unsaved-buffer))

(defun aqd-unsaved-check (disk buffer)
  "Check that f.txt has DISK, and its buffer BUFFER, unsaved but up to date."
  (should (equal disk (aqd-pending-has "f.txt")))
  (should (equal buffer (aqd-unsaved-text)))
  (should (buffer-modified-p aqd-unsaved-buffer))
  (should (verify-visited-file-modtime aqd-unsaved-buffer)))

;;;; Keys

(ert-deftest aqd-unsaved-opening-a-review-changes-nothing-and-says-what-will-be ()
  (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
    (should (string-search "f.txt has unsaved edits, which are not shown here"
                           (buffer-string)))
    (should-not (string-search "No hunk can be accepted" (buffer-string)))
    (should (equal aqd-unsaved-written (aqd-pending-has "f.txt")))
    (should (equal (concat "mine\n" aqd-pending-text) (aqd-unsaved-text)))
    (should-not (verify-visited-file-modtime aqd-unsaved-buffer))
    (should (eq aqd-unsaved-buffer (find-buffer-visiting "f.txt")))))

(ert-deftest aqd-unsaved-keeping-merges-and-rejecting-writes-the-file ()
  (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
    (should (string-prefix-p "Hunk 1 kept; your unsaved edits were merged with the file"
                             (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
    (aqd-unsaved-check aqd-unsaved-written (concat "mine\n" aqd-unsaved-written))
    (should (string-prefix-p "Hunk 2 taken out; your unsaved edits were merged with the file"
                             (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
    (let ((disk (aqd-numbered 30 '((3 . "three")))))
      (aqd-unsaved-check disk (concat "mine\n" disk)))
    (should (equal '("[KEPT]" "[TAKEN OUT]") (mapcar #'cdr (aqd-pending-signs))))
    (should (eq aqd-unsaved-buffer (find-file-noselect "f.txt")))))

(ert-deftest aqd-unsaved-undoing-a-decision-writes-the-file-and-merges-again ()
  (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (aqd-unsaved-check (aqd-numbered 30 '((27 . "x")))
                       (concat "mine\n" (aqd-numbered 30 '((27 . "x")))))
    (should (equal "Undid the decision on hunk 1; your unsaved edits were merged with the file"
                   (aqd-said (agent-q-diff-undo))))
    (aqd-unsaved-check aqd-unsaved-written (concat "mine\n" aqd-unsaved-written))
    (should (string-suffix-p "; your unsaved edits were merged with the file"
                             (aqd-said (agent-q-diff-redo))))
    (aqd-unsaved-check (aqd-numbered 30 '((27 . "x")))
                       (concat "mine\n" (aqd-numbered 30 '((27 . "x")))))
    (should (equal "f.txt: 0 kept, 2 taken out, your unsaved edits were merged with the file"
                   (aqd-said (agent-q-diff-reject-all t))))
    (aqd-unsaved-check aqd-pending-text (concat "mine\n" aqd-pending-text))))

(ert-deftest aqd-unsaved-a-line-that-both-changed-is-a-conflict-until-one-is-gone ()
  (aqd-with-unsaved (progn
                      (forward-line 2)
                      (delete-region (point) (line-end-position))
                      (insert "my third"))
      aqd-unsaved-written
    (should (string-match-p "of your unsaved edits, 1 is in conflict with the file, marked there"
                            (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
    (let ((line (nth 2 (split-string aqd-pending-text "\n")))
          (ours (string-replace "\nthree\n" "\nmy third\n" aqd-unsaved-written)))
      (aqd-unsaved-check
       aqd-unsaved-written
       (string-replace
        "\nthree\n"
        (concat "\n<<<<<<< ours\nmy third\n||||||| original\n" line
                "\n=======\nthree\n>>>>>>> theirs\n")
        aqd-unsaved-written))
      (should (buffer-local-value 'smerge-mode aqd-unsaved-buffer))
      (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (aqd-unsaved-check (string-replace "\nthree\n" (concat "\n" line "\n") aqd-unsaved-written)
                         ours))))

(defun aqd-unsaved-lines-from (line n)
  "Return N lines of the buffer with unsaved edits from LINE on, counted from 1."
  (seq-take (nthcdr (1- line) (split-string (aqd-unsaved-text) "\n")) n))

(defun aqd-unsaved-change-third ()
  "Make another line of the third, as a user does."
  (goto-char (point-min))
  (forward-line 2)
  (delete-region (point) (line-end-position))
  (insert "my third"))

(defconst aqd-unsaved-conflict
  '("<<<<<<< ours" "my third" "||||||| original" "line 3" "=======" "three" ">>>>>>> theirs")
  "The conflict of that with what the agent has made of it.")

(ert-deftest aqd-unsaved-a-conflict-follows-the-file-wherever-else-the-user-types ()
  (aqd-with-unsaved (aqd-unsaved-change-third) aqd-unsaved-written
    (aqd-pending-do #'agent-q-diff-accept-hunk 1)
    (should (equal aqd-unsaved-conflict (aqd-unsaved-lines-from 3 7)))
    (with-current-buffer aqd-unsaved-buffer
      (goto-char (point-max))
      (insert "more\n"))
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (aqd-unsaved-check (aqd-numbered 30 '((27 . "x")))
                       (concat (aqd-numbered 30 '((3 . "my third") (27 . "x"))) "more\n"))
    (aqd-said (agent-q-diff-undo))
    (should (equal aqd-unsaved-conflict (aqd-unsaved-lines-from 3 7)))))

(ert-deftest aqd-unsaved-no-conflict-is-inside-another ()
  (aqd-with-unsaved (aqd-unsaved-change-third) aqd-unsaved-written
    (aqd-pending-do #'agent-q-diff-accept-hunk 1)
    (with-current-buffer aqd-unsaved-buffer
      (goto-char (point-min))
      (forward-line 2)
      (insert "near\n"))
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (should (equal '("<<<<<<< ours" "near" "my third" "||||||| original" "three" "======="
                     "line 3" ">>>>>>> theirs" "line 4")
                   (aqd-unsaved-lines-from 3 9)))
    (should (string-match-p "1 is in conflict"
                            (progn (aqd-pending-do #'agent-q-diff-unapply-hunk 1)
                                   (aqd-pending-do #'agent-q-diff-reject-hunk 1))))
    (should (equal '("line 26" "line 27" "line 28") (aqd-unsaved-lines-from 33 3)))))

(defun aqd-unsaved-type-inside-conflict (part)
  "Keep the first hunk, which makes a conflict, and type a line into its PART.
PART is the last word of the mark above."
  (aqd-pending-do #'agent-q-diff-accept-hunk 0)
  (with-current-buffer aqd-unsaved-buffer
    (goto-char (point-min))
    (re-search-forward (concat part "\n"))
    (insert "typed\n")))

(ert-deftest aqd-unsaved-what-is-typed-inside-a-conflict-is-never-dropped-with-it ()
  (dolist (part '("original" "======="))
    (cl-letf (((symbol-function 'agent-q-diff-base-warn) #'ignore))
      (aqd-with-unsaved (aqd-unsaved-change-third) aqd-unsaved-written
        (aqd-unsaved-type-inside-conflict part)
        (with-current-buffer aqd-unsaved-buffer
          (goto-char (point-min))
          (insert "typed elsewhere\n"))
        (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (should (string-search "\ntyped\n" (aqd-unsaved-text)))
        (should (string-search "typed elsewhere\n" (aqd-unsaved-text)))))))

(ert-deftest aqd-unsaved-what-is-typed-inside-a-conflict-stays-however-often-it-is-made-anew ()
  (dolist (part '("original" "======="))
    (cl-letf (((symbol-function 'agent-q-diff-base-warn) #'ignore))
      (aqd-with-unsaved (aqd-unsaved-change-third) aqd-unsaved-written
        (aqd-unsaved-type-inside-conflict part)
        (aqd-pending-do #'agent-q-diff-reject-hunk 1)
        (should (string-search "\ntyped\n" (aqd-unsaved-text)))
        (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (should (string-search "\ntyped\n" (aqd-unsaved-text)))))))

(ert-deftest aqd-unsaved-a-conflict-of-the-users-own-is-left-to-the-user ()
  (let ((warning nil))
    (cl-letf (((symbol-function 'agent-q-diff-base-warn) (lambda (text) (setq warning text))))
      (aqd-with-unsaved (progn (forward-line 2)
                               (insert "<<<<<<< HEAD\nmine\n=======\n")
                               (forward-line 1)
                               (insert ">>>>>>> other\n"))
          (aqd-numbered 30 '((2 . "two") (3 . "three") (4 . "four")))
        (let ((text (aqd-unsaved-text)))
          (aqd-pending-do #'agent-q-diff-accept-hunk 0)
          (should (string-match-p "not merged with the file: it has a conflict" warning))
          (should (equal text (aqd-unsaved-text))))
        (with-current-buffer aqd-unsaved-buffer
          (goto-char (point-min))
          (flush-lines "<<<\\|>>>\\|===\\|mine"))
        (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
        (should (equal (aqd-pending-has "f.txt") (aqd-unsaved-text)))))))

(ert-deftest aqd-unsaved-the-same-lines-of-both-stand-once ()
  (aqd-with-unsaved (progn (erase-buffer) (insert aqd-unsaved-written)) aqd-unsaved-written
    (aqd-pending-do #'agent-q-diff-accept-hunk 0)
    (aqd-unsaved-check aqd-unsaved-written aqd-unsaved-written)))

(ert-deftest aqd-unsaved-what-is-typed-during-the-review-stays ()
  (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
    (aqd-pending-do #'agent-q-diff-accept-hunk 0)
    (with-current-buffer aqd-unsaved-buffer
      (goto-char (point-max))
      (insert "more\n"))
    (aqd-pending-do #'agent-q-diff-reject-hunk 1)
    (let ((disk (aqd-numbered 30 '((3 . "three")))))
      (aqd-unsaved-check disk (concat "mine\n" disk "more\n")))))

(ert-deftest aqd-unsaved-edits-that-began-during-the-review-are-merged-as-well ()
  (aqd-with-repository
    (agent-q-diff-review-changes)
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three"))))
    (let ((aqd-unsaved-buffer (find-file-noselect "f.txt")))
      (aqd-with-pending
        (with-current-buffer aqd-unsaved-buffer
          (goto-char (point-min))
          (insert "mine\n"))
        (aqd-pending-put "f.txt" aqd-unsaved-written)
        (should (string-match-p "\\`Hunk 1 taken out"
                                (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
        (let ((disk (aqd-numbered 30 '((27 . "x")))))
          (aqd-unsaved-check disk (concat "mine\n" disk))))
      (with-current-buffer aqd-unsaved-buffer
        (set-buffer-modified-p nil)))))

;;;; The buffer

(ert-deftest aqd-unsaved-point-markers-and-undo-stay ()
  (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
    (let (marker overlay)
      (with-current-buffer aqd-unsaved-buffer
        (search-forward "line 9")
        (setq marker (copy-marker (line-beginning-position))
              overlay (make-overlay (line-beginning-position) (point)))
        (goto-char (point-min))
        (search-forward "line 12")
        (setq buffer-read-only t)
        (narrow-to-region (line-beginning-position) (point-max)))
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (aqd-unsaved-check aqd-unsaved-written (concat "mine\n" aqd-unsaved-written))
      (with-current-buffer aqd-unsaved-buffer
        (should buffer-read-only)
        (should (buffer-narrowed-p))
        (should (looking-back "^line 12" nil))
        (setq buffer-read-only nil)
        (widen)
        (goto-char marker)
        (should (looking-at "line 9$"))
        (goto-char (overlay-start overlay))
        (should (looking-at "line 9$"))
        ;; The merge is one step, and no step says that the buffer is saved.
        (let ((last-command nil))
          (undo-boundary)
          (undo)
          (should (equal (concat "mine\n" aqd-pending-text) (buffer-string)))
          (should (buffer-modified-p))
          (setq last-command 'undo)
          (undo-more 1)
          (should (equal aqd-pending-text (buffer-string)))
          (should (buffer-modified-p)))))))

(ert-deftest aqd-unsaved-saving-asks-nothing-and-makes-the-users-lines-reviewed ()
  (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (with-current-buffer aqd-unsaved-buffer
      (cl-letf (((symbol-function 'ask-user-about-supersession-threat)
                 (lambda (&rest _) (error "Asked")))
                ((symbol-function 'yes-or-no-p) (lambda (&rest _) (error "Asked"))))
        (save-buffer)))
    (should (equal (concat "mine\n" (aqd-numbered 30 '((27 . "x")))) (aqd-pending-has "f.txt")))
    (aqd-said (agent-q-diff-refresh))
    (should (string-match-p "\\`Hunk 2 taken out;" (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
    (should (equal (concat "mine\n" aqd-pending-text) (aqd-pending-has "f.txt")))
    (should-not (buffer-modified-p aqd-unsaved-buffer))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-unsaved-reverting-gives-up-the-users-edits-only ()
  (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
    (aqd-pending-do #'agent-q-diff-accept-hunk 0)
    (with-current-buffer aqd-unsaved-buffer
      (revert-buffer t t))
    (aqd-pending-do #'agent-q-diff-reject-hunk 1)
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))
    (should (equal (aqd-pending-has "f.txt") (aqd-unsaved-text)))
    (should-not (buffer-modified-p aqd-unsaved-buffer))))

(ert-deftest aqd-unsaved-killing-the-buffer-gives-up-the-users-edits-only ()
  (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
    (aqd-pending-do #'agent-q-diff-accept-hunk 0)
    (with-current-buffer aqd-unsaved-buffer
      (set-buffer-modified-p nil)
      (kill-buffer))
    (should (string-match-p "\\`Hunk 2 taken out;"
                            (aqd-pending-do #'agent-q-diff-reject-hunk 1)))
    (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt")))))

(ert-deftest aqd-unsaved-typing-in-an-indirect-buffer-counts ()
  (aqd-with-unsaved (with-current-buffer (make-indirect-buffer (current-buffer) "indirect")
                      (goto-char (point-min))
                      (insert "mine\n"))
      aqd-unsaved-written
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (let ((disk (aqd-numbered 30 '((27 . "x")))))
      (aqd-unsaved-check disk (concat "mine\n" disk)))
    (kill-buffer "indirect")))

(ert-deftest aqd-unsaved-of-several-files-all-are-changed-or-none ()
  (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
    (aqd-pending-put "g.txt" "agent\n")
    (agent-q-diff-refresh)
    (set-buffer (window-buffer))
    (let ((global-auto-revert-mode t)
          (other (find-file-noselect "g.txt")))
      (with-current-buffer other
        (setq buffer-read-only t))
      (should-error (agent-q-diff-reject-all))
      (auto-revert-buffers)
      (should (equal aqd-unsaved-written (aqd-pending-has "f.txt")))
      (should (equal (concat "mine\n" aqd-pending-text) (aqd-unsaved-text)))
      (should (equal "agent\n" (aqd-pending-has "g.txt")))
      (with-current-buffer other
        (setq buffer-read-only nil))
      (aqd-said (agent-q-diff-reject-all))
      (auto-revert-buffers)
      (aqd-unsaved-check aqd-pending-text (concat "mine\n" aqd-pending-text))
      (should-not (aqd-pending-has "g.txt")))))

;;;; What is shown

(ert-deftest aqd-unsaved-the-place-of-a-hunk-is-shown-in-the-users-buffer ()
  (aqd-with-unsaved (insert "mine\nmore\n") (string-replace "line 5\n" "" aqd-unsaved-written)
    (agent-q-diff-buffer-goto-hunk 1)
    (should (equal "Line 29 of f.txt" (aqd-said (agent-q-diff-preview-hunk))))
    (with-current-buffer aqd-unsaved-buffer
      (goto-char (window-point (get-buffer-window)))
      (should (looking-at "line 27$")))))

(defun aqd-unsaved-seen-p (text)
  "Return non-nil if TEXT is in this buffer, and not hidden."
  (save-excursion
    (goto-char (point-min))
    (and (search-forward text nil t)
         (not (invisible-p (match-beginning 0))))))

(ert-deftest aqd-unsaved-a-note-is-hidden-once-it-is-not-true ()
  (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
    (should (aqd-unsaved-seen-p "has unsaved edits, which are not shown here"))
    (aqd-pending-do #'agent-q-diff-accept-hunk 0)
    (should-not (aqd-unsaved-seen-p "has unsaved edits, which are not shown here")))
  ;; Before the write, too.
  (aqd-with-file aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (goto-char (point-max))
      (insert "mine\n"))
    (aqd-put-bytes (concat "other\n" aqd-twenty-original) aqd-file)
    (aqd-call aqd-twenty-original aqd-twenty-proposed
              (lambda ()
                (should (aqd-unsaved-seen-p "No hunk can be accepted yet"))
                (should (aqd-unsaved-seen-p "has unsaved edits in"))
                (with-current-buffer (find-buffer-visiting aqd-file)
                  (revert-buffer t t))
                (agent-q-diff-refresh)
                (should-not (aqd-unsaved-seen-p "No hunk can be accepted yet"))
                (should-not (aqd-unsaved-seen-p "has unsaved edits in"))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-unsaved-signs-follow-when-the-buffer-is-saved-or-reverted ()
  (dolist (how (list (lambda () (save-buffer))
                     (lambda () (revert-buffer t t t))))
    (aqd-with-unsaved (progn (forward-line 2) (insert "mine\n")) aqd-unsaved-written
      (aqd-pending-do #'agent-q-diff-accept-hunk 1)
      (let ((agent-q-diff-refresh-delay 0)
            (agent-q-diff-signs-is-drawn t)
            (diff (current-buffer)))
        (agent-q-diff-signs-stop-refreshing)
        (with-current-buffer aqd-unsaved-buffer
          (cl-letf (((symbol-function 'yes-or-no-p) (lambda (&rest _) t)))
            (smerge-mode -1)
            (funcall how)))
        (should agent-q-diff-signs--refresh-timer)
        (setq agent-q-diff-signs-is-drawn t)
        (should-not (aqd-unsaved-seen-p "has unsaved edits, which are not shown here"))
        (agent-q-diff-signs--refresh diff)
        (should-not (agent-q-diff-target-copied
                     (agent-q-diff-file-change-target (agent-q-diff-buffer-file 0))))
        (should (equal (agent-q-diff-file-change-tick (agent-q-diff-buffer-file 0))
                       (agent-q-diff-base-tick aqd-unsaved-buffer)))))))

(ert-deftest aqd-unsaved-looking-again-takes-in-what-was-written-meanwhile ()
  (aqd-with-repository
    (agent-q-diff-review-changes)
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three"))))
    (let ((diff (agent-q-diff-session-buffer (agent-q-diff-review-changes))))
      (set-buffer diff)
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (should (string-prefix-p "Up to date" (aqd-said (agent-q-diff-refresh))))
      (should (equal '("[KEPT]") (mapcar #'cdr (aqd-pending-signs))))
      ;; More in the same file, then in another.
      (aqd-pending-put "f.txt" aqd-unsaved-written)
      (agent-q-diff-refresh)
      (set-buffer (window-buffer))
      (should (agent-q-diff-buffer-written-p))
      (should (= 1 (length agent-q-diff-buffer-positions)))
      (should (string-search "\n+x\n" (buffer-string)))
      (aqd-pending-put "new.txt" "1\n")
      (agent-q-diff-refresh)
      (set-buffer (window-buffer))
      (should (= 2 (length agent-q-diff-buffer-positions)))
      (should (string-prefix-p "Up to date" (aqd-said (agent-q-diff-refresh))))
      (agent-q-diff-finish))))

;;;; Other changes of the file

(defun aqd-unsaved-crlf (text)
  "Return the bytes of TEXT with CRLF line ends."
  (encode-coding-string text 'utf-8-dos))

(ert-deftest aqd-unsaved-line-ends-that-are-kept-are-not-undone-by-saving ()
  (aqd-with-unsaved (insert "mine\n") (aqd-unsaved-crlf aqd-unsaved-written)
    (aqd-pending-do #'agent-q-diff-accept-hunk 0)
    (aqd-pending-do #'agent-q-diff-reject-hunk 1)
    (let ((disk (aqd-numbered 30 '((27 . "x")))))
      (should (equal (aqd-unsaved-crlf disk) (aqd-bytes-of (aqd-pending-name "f.txt"))))
      (with-current-buffer aqd-unsaved-buffer
        (save-buffer))
      (should (equal (aqd-unsaved-crlf (concat "mine\n" disk))
                     (aqd-bytes-of (aqd-pending-name "f.txt")))))))

(ert-deftest aqd-unsaved-line-ends-that-are-taken-out-do-not-come-back ()
  (aqd-with-unsaved (insert "mine\n") (aqd-unsaved-crlf aqd-unsaved-written)
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (aqd-unsaved-check aqd-unsaved-written (concat "mine\n" aqd-unsaved-written))
    (aqd-said (agent-q-diff-undo))
    (aqd-said (agent-q-diff-reject-all))
    (aqd-unsaved-check aqd-pending-text (concat "mine\n" aqd-pending-text))
    (with-current-buffer aqd-unsaved-buffer
      (save-buffer))
    (should (equal (concat "mine\n" aqd-pending-text)
                   (aqd-bytes-of (aqd-pending-name "f.txt"))))))

(ert-deftest aqd-unsaved-a-coding-or-a-mark-that-the-file-has-lost-is-not-saved ()
  (dolist (coding '(utf-16le-with-signature-unix utf-8-with-signature-unix))
    (ert-info ((symbol-name coding))
      (aqd-with-repository
        (let ((buffer (find-file-noselect "f.txt")))
          (with-current-buffer buffer
            (insert "mine\n"))
          (dolist (now (list coding 'utf-8-unix))
            (cl-letf (((symbol-function 'ask-user-about-supersession-threat) #'ignore))
              (aqd-put-bytes (encode-coding-string aqd-pending-text now) "f.txt"))
            (aqd-with-pending
              (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
          (with-current-buffer buffer
            (save-buffer))
          (should (equal (concat "mine\n" aqd-pending-text)
                         (aqd-bytes-of (aqd-pending-name "f.txt")))))))))

(ert-deftest aqd-unsaved-a-file-that-was-deleted-comes-back-without-the-users-edits ()
  (aqd-with-unsaved (insert "mine\n") "gone\n"
    (delete-file "f.txt")
    (agent-q-diff-refresh)
    (set-buffer (window-buffer))
    (should (string-search "deletion of f.txt" (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
    (aqd-unsaved-check aqd-pending-text (concat "mine\n" aqd-pending-text))
    (aqd-said (agent-q-diff-undo))
    (should-not (aqd-pending-has "f.txt"))
    (should (equal (concat "mine\n" aqd-pending-text) (aqd-unsaved-text)))
    (agent-q-diff-finish)))

(ert-deftest aqd-unsaved-edits-of-a-file-that-became-something-else-are-not-reviewed ()
  (aqd-with-repository
    (let ((buffer (find-file-noselect (aqd-pending-name "f.txt"))))
      (with-current-buffer buffer
        (insert "mine\n"))
      (dolist (became (list (lambda (name) (make-symbolic-link "x" name))
                            (lambda (name) (aqd-put-bytes "a\0b\n" name))
                            (lambda (name) (aqd-put-bytes aqd-pending-text name)
                              (set-file-modes name #o755))
                            #'ignore))
        (dolist (key (list #'agent-q-diff-reject-hunk
                           (lambda ()
                             (agent-q-diff-reject-hunk)
                             (agent-q-diff-undo)
                             (agent-q-diff-reject-all t))))
          (delete-file (aqd-pending-name "f.txt"))
          (funcall became (aqd-pending-name "f.txt"))
          (aqd-with-pending
            (aqd-pending-do key 0))
          (should-not (aqd-pending-files))
          (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
          (should (equal (concat "mine\n" aqd-pending-text) (agent-q-diff-text-in buffer)))))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)))))

(ert-deftest aqd-unsaved-edits-of-a-new-file-that-is-taken-out-are-in-conflict-with-it ()
  (aqd-with-repository
    (agent-q-diff-review-changes)
    (aqd-pending-put "n.txt" "agent 1\nagent 2\n")
    (let ((buffer (find-file-noselect "n.txt")))
      (with-current-buffer buffer
        (insert "mine\n"))
      (aqd-pending-put "n.txt" "agent 1\nagent 2\nagent 3\n")
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 0))
      (should-not (aqd-pending-has "n.txt"))
      ;; Nothing of the agent's is saved unseen.
      (with-current-buffer buffer
        (should (buffer-modified-p))
        (should (bound-and-true-p smerge-mode))
        (should (string-prefix-p "<<<<<<< ours\nmine\n" (buffer-string)))
        (set-buffer-modified-p nil)))))

(ert-deftest aqd-unsaved-edits-are-not-merged-with-what-is-no-text ()
  (aqd-with-unsaved (insert "mine\n") "a\0b\n"
    (aqd-pending-do #'agent-q-diff-accept-hunk 0)
    (should (equal (concat "mine\n" aqd-pending-text) (aqd-unsaved-text)))
    (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
    (should (equal (concat "mine\n" aqd-pending-text) (aqd-unsaved-text)))
    (should (buffer-modified-p aqd-unsaved-buffer))))

;;;; What the buffer was made from

(ert-deftest aqd-unsaved-without-a-look-the-undo-list-says-it ()
  (aqd-with-repository
    (let ((aqd-unsaved-buffer (find-file-noselect "f.txt")))
      (agent-q-diff-pending-mode -1)
      (with-current-buffer aqd-unsaved-buffer
        (buffer-enable-undo)
        (goto-char (point-max))
        (insert "mine\n")
        (undo-boundary)
        (goto-char (point-min))
        (delete-region (point) (line-beginning-position 2))
        (undo-boundary))
      (aqd-pending-put "f.txt" aqd-unsaved-written)
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (let ((disk (aqd-numbered 30 '((27 . "x")))))
          (aqd-unsaved-check disk (concat (string-remove-prefix "line 1\n" disk) "mine\n"))))
      (with-current-buffer aqd-unsaved-buffer
        (set-buffer-modified-p nil)))))

(ert-deftest aqd-unsaved-where-nothing-says-it-nothing-is-written ()
  (aqd-with-repository
    (let ((aqd-unsaved-buffer (find-file-noselect "f.txt")))
      (agent-q-diff-pending-mode -1)
      (with-current-buffer aqd-unsaved-buffer
        (buffer-disable-undo)
        (goto-char (point-min))
        (insert "mine\n"))
      (aqd-pending-put "f.txt" aqd-unsaved-written)
      (aqd-with-pending
        (should (string-search "No hunk can be decided yet" (buffer-string)))
        (dolist (key '(agent-q-diff-accept-hunk agent-q-diff-reject-hunk))
          (should (string-match-p
                   "f\\.txt has changed on disk, .*; M-x ediff-current-file there compares them"
                   (aqd-pending-do key 0)))
          (should (equal aqd-unsaved-written (aqd-pending-has "f.txt")))
          (should (equal (concat "mine\n" aqd-pending-text) (aqd-unsaved-text)))))
      (with-current-buffer aqd-unsaved-buffer
        (set-buffer-modified-p nil)))))

;;;; Whether it is saved

(ert-deftest aqd-unsaved-no-way-of-saving-writes-the-users-edits ()
  (dolist (save '(if-clean always))
    (let ((agent-q-diff-save save))
      (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (let ((disk (aqd-numbered 30 '((27 . "x")))))
          (aqd-unsaved-check disk (concat "mine\n" disk))))))
  (let ((agent-q-diff-save 'never))
    (aqd-with-unsaved (insert "mine\n") aqd-unsaved-written
      (should (string-match-p "agent-q-diff-save is `never', and f.txt has unsaved edits"
                              (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
      (aqd-unsaved-check aqd-unsaved-written (concat "mine\n" aqd-unsaved-written)))))

(ert-deftest aqd-unsaved-what-is-not-saved-beside-an-operation-is-said ()
  (dolist (name '("f.txt" "renamed.txt"))
    (aqd-with-repository
      (aqd-pending-put "f.txt" aqd-pending-written)
      (if (equal name "f.txt")
          (set-file-modes name #o755)
        (rename-file "f.txt" name))
      (with-current-buffer (find-file-noselect name)
        (goto-char (point-max))
        (insert "mine\n"))
      (let ((review (agent-q-diff-review-changes)))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (should (equal "f.txt: 0 kept, 3 taken out, 2 of these not saved"
                         (aqd-said (agent-q-diff-reject-all t))))))
      (should (equal aqd-pending-written (aqd-pending-has "f.txt")))
      (with-current-buffer (find-buffer-visiting (aqd-pending-name "f.txt"))
        (set-buffer-modified-p nil)))))

;;;; Random walks

(defconst aqd-unsaved-n-walks
  (string-to-number (or (getenv "AGENT_Q_DIFF_UNSAVED") "8"))
  "Number of random walks over an agent, a user who types, and keys of a review.")

(defun aqd-unsaved-lines (text)
  "Return the lines of TEXT."
  (split-string text "\n" t))

(defun aqd-unsaved-agent-writes (n)
  "Replace or insert a line of f.txt, as an agent does in its step N.
Lines of the user's stay."
  (let* ((lines (aqd-unsaved-lines (aqd-pending-has "f.txt")))
         (at (random (length lines)))
         (new (format "agent %d" n)))
    (if (and (= 0 (random 2)) (not (string-prefix-p "user" (nth at lines))))
        (setf (nth at lines) new)
      (setq lines (append (seq-take lines at) (list new) (nthcdr at lines))))
    ;; Emacs would ask about the buffer if it wrote f.txt itself.
    (aqd-pending-put "draft" (concat (string-join lines "\n") "\n"))
    (rename-file "draft" (aqd-pending-name "f.txt") t)))

(defun aqd-unsaved-user-types (n)
  "Insert a line into the buffer of f.txt, as the user does in step N."
  (with-current-buffer aqd-unsaved-buffer
    (cl-letf (((symbol-function 'ask-user-about-supersession-threat) #'ignore))
      (goto-char (point-min))
      (forward-line (random (count-lines (point-min) (point-max))))
      (insert (format "user %d\n" n))
      (undo-boundary))))

(defun aqd-unsaved-walk-step (n typed)
  "Make the random step N of a walk; TYPED are the lines that the user has typed.
Return the new value of TYPED."
  (pcase (random 8)
    (0 (aqd-unsaved-agent-writes n) typed)
    ((or 1 2)
     (aqd-unsaved-user-types n)
     (cons (format "user %d" n) typed))
    (3 (when (or (not (buffer-modified-p aqd-unsaved-buffer))
                 (verify-visited-file-modtime aqd-unsaved-buffer))
         (with-current-buffer aqd-unsaved-buffer
           (save-buffer)))
       typed)
    (4 (agent-q-diff-refresh)
       (set-buffer (window-buffer))
       typed)
    (_ (let ((hunk (random (length agent-q-diff-buffer-marks)))
             (is-behind (with-current-buffer aqd-unsaved-buffer
                          (agent-q-diff-disk-behind-p aqd-unsaved-buffer))))
         (aqd-unsaved-walk-key hunk is-behind)
         typed))))

(defun aqd-unsaved-walk-key (hunk is-behind)
  "Press a random key on HUNK, and check what it did.
IS-BEHIND says whether the buffer has unsaved edits of a file that was written."
  (let* ((key (nth (random 3) '(agent-q-diff-accept-hunk agent-q-diff-reject-hunk
                                                         agent-q-diff-unapply-hunk)))
         (unsaved (buffer-modified-p aqd-unsaved-buffer))
         (before (aqd-pending-has "f.txt"))
         (said (aqd-pending-do key hunk))
         (after (aqd-pending-has "f.txt")))
    ;; No line of the user's gets on disk by a key, unless it was there.
    (dolist (line (aqd-unsaved-lines after))
      (when (and unsaved (string-prefix-p "user" line))
        (should (member line (aqd-unsaved-lines before)))))
    (should (or (not unsaved) (buffer-modified-p aqd-unsaved-buffer)))
    (when (and is-behind said (string-match-p "\\` *\\(Hunk\\|All\\).* \\(kept\\|taken out\\)" said))
      (should (verify-visited-file-modtime aqd-unsaved-buffer)))))

(defun aqd-unsaved-walk (seed)
  "Play the random walk of SEED."
  (random (format "unsaved %s" seed))
  (aqd-with-repository
    (agent-q-diff-review-changes)
    (let ((aqd-unsaved-buffer (find-file-noselect "f.txt"))
          (inhibit-message t)
          (typed nil))
      (with-current-buffer aqd-unsaved-buffer
        (buffer-enable-undo))
      (aqd-unsaved-agent-writes 0)
      (unwind-protect
          (save-window-excursion
            (pop-to-buffer (agent-q-diff-session-buffer (agent-q-diff-review-changes)))
            (dotimes (n 12)
              (setq typed (aqd-unsaved-walk-step (1+ n) typed))
              ;; Whatever happens, what the user has typed is in the buffer.
              (dolist (line typed)
                (should (member line (aqd-unsaved-lines (aqd-unsaved-text)))))
              (should (eq aqd-unsaved-buffer (find-buffer-visiting "f.txt"))))
            (agent-q-diff-refresh)
            (set-buffer (window-buffer))
            ;; A sign says whether the file on disk has the lines.
            (cl-loop with disk = (aqd-unsaved-lines (aqd-pending-has "f.txt"))
                     with change = (agent-q-diff-buffer-current-change)
                     for hunk below (length agent-q-diff-buffer-marks)
                     for state = (agent-q-diff-change-hunk change hunk)
                     for added = (aqd-unsaved-lines
                                  (agent-q-diff-engine-proposed
                                   (agent-q-diff-change-engine change) hunk))
                     when (and (eq t (agent-q-diff-engine-hunk-fact state))
                               (not (agent-q-diff-file-change-unsaved-p
                                     (agent-q-diff-buffer-file hunk))))
                     do (dolist (line added)
                          (should (member line disk))))
            (agent-q-diff-finish))
        (with-current-buffer aqd-unsaved-buffer
          (set-buffer-modified-p nil))))))

(ert-deftest aqd-unsaved-whatever-happens-the-users-lines-stay-and-are-not-saved ()
  (dotimes (seed aqd-unsaved-n-walks)
    (ert-info ((format "walk %d" seed))
      (aqd-unsaved-walk seed))))

(provide 'agent-q-diff-unsaved-test)
;;; agent-q-diff-unsaved-test.el ends here
