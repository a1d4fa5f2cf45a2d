;;; agent-q-diff-kinds-test.el --- Every kind of file becomes every other  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What an agent made of a path, whatever that was and is, is kept so that it is not
;; asked again, or taken out so that the path is exactly as it was.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-git-help)

(defconst aqd-kinds-file (or load-file-name buffer-file-name)
  "This file, which another Emacs can load.")

(defconst aqd-kinds-lines (aqd-numbered 12 nil)
  "Lines of a file.")

(defconst aqd-kinds-edited (aqd-numbered 12 '((5 . "five é")))
  "The lines with an edit.")

(defconst aqd-kinds-states
  (cl-flet ((file (text &optional mode coding)
              (list 'file (or mode #o644) (encode-coding-string text (or coding 'utf-8-unix)))))
    `((absent . nil)
      (text . ,(file aqd-kinds-lines))
      (edited . ,(file aqd-kinds-edited))
      (executable . ,(file aqd-kinds-lines #o755))
      (edited-and-executable . ,(file aqd-kinds-edited #o755))
      (crlf . ,(file aqd-kinds-lines nil 'utf-8-dos))
      (edited-and-crlf . ,(file aqd-kinds-edited nil 'utf-8-dos))
      (mixed . ,(file (concat (string-replace "\n" "\r\n" aqd-kinds-lines) "last\n")))
      (marked . ,(file aqd-kinds-lines nil 'utf-8-with-signature-unix))
      (edited-and-marked . ,(file aqd-kinds-edited nil 'utf-8-with-signature-unix))
      (latin-1 . ,(file aqd-kinds-edited nil 'iso-8859-1-unix))
      (utf-16 . ,(file aqd-kinds-lines nil 'utf-16le-with-signature-dos))
      (edited-utf-16 . ,(file aqd-kinds-edited nil 'utf-16be-with-signature-unix))
      (empty . ,(file ""))
      (open . ,(file "one line without an end"))
      (binary . (file #o644 ,(unibyte-string 0 1 2 255 0 10 0)))
      (link . (link "f.txt"))
      (dead-link . (link "nowhere"))))
  "Alist of what a path can be: nil, (file MODE BYTES) or (link TARGET).")

(defconst aqd-kinds-folder '(folder "a\n" "b\n")
  "A folder that the path can be, too, with the files 0 and 1, which have this.")

(defconst aqd-kinds-path "x"
  "The path that becomes all of this.")

(defun aqd-kinds-put (state)
  "Let the path be STATE, whatever it was."
  (let ((path (aqd-pending-name aqd-kinds-path)))
    (cond
     ((and (file-directory-p path) (not (file-symlink-p path)))
      (delete-directory path t))
     ((or (file-symlink-p path) (file-exists-p path))
      (delete-file path)))
    (pcase state
      (`(folder . ,contents)
       (seq-do-indexed (lambda (bytes n)
                         (aqd-pending-put (format "%s/%d" aqd-kinds-path n) bytes))
                       contents))
      (`(file ,mode ,bytes)
       (aqd-put-bytes bytes path)
       (set-file-modes path mode))
      (`(link ,target) (make-symbolic-link target path)))))

(defun aqd-kinds-now ()
  "Return what the path is."
  (let ((path (aqd-pending-name aqd-kinds-path)))
    (cond
     ((file-symlink-p path) (list 'link (file-symlink-p path)))
     ((file-directory-p path)
      (cons 'folder (mapcar #'aqd-bytes-of (directory-files path t "\\`[0-9]"))))
     ((file-exists-p path) (list 'file (file-modes path) (aqd-bytes-of path))))))

(defun aqd-kinds-decide (key before after)
  "Decide by KEY, for all that AFTER differs from BEFORE; both are of the path.
BEFORE was reviewed.  What is taken out one by one comes back by undoing, and is
taken out once more.  Return what the path is then, and whether that is pending."
  (aqd-kinds-put before)
  (aqd-said (agent-q-diff-mark-reviewed))
  (aqd-kinds-put after)
  (aqd-with-pending
    (if (eq key #'agent-q-diff-reject-all)
        (aqd-said (agent-q-diff-reject-all t))
      (aqd-kinds--decide-each key)
      (when (eq key #'agent-q-diff-reject-hunk)
        (dotimes (_ (length agent-q-diff-buffer-positions))
          (aqd-said (agent-q-diff-undo)))
        (should (equal after (aqd-kinds-now)))
        (should-not (remq nil (agent-q-diff-change-marks agent-q-diff-buffer-change)))
        (aqd-kinds--decide-each key))))
  (list (aqd-kinds-now) (and (aqd-pending-files) t)))

(defun aqd-kinds--decide-each (key)
  "Decide each hunk by KEY; what others have to make way for is decided last."
  (dotimes (_ 2)
    (dotimes (hunk (length agent-q-diff-buffer-positions))
      (unless (nth hunk (agent-q-diff-change-marks agent-q-diff-buffer-change))
        (aqd-pending-do key hunk)))))

(defmacro aqd-kinds-table (key wanted)
  "Decide every change of the path by KEY; it is to be WANTED then, and reviewed.
WANTED may use BEFORE and AFTER.  In every other case, the path is visited."
  `(let ((is-visited nil))
     (pcase-dolist (`(,from . ,before) aqd-kinds-states)
       (pcase-dolist (`(,to . ,after) aqd-kinds-states)
         (unless (equal before after)
           (setq is-visited (not is-visited))
           (ert-info ((format "%s becomes %s" from to))
             (aqd-kinds-put before)
             (let ((buffer (and is-visited before
                                (find-file-noselect (aqd-pending-name aqd-kinds-path) t))))
               (should (equal (list ,wanted nil) (aqd-kinds-decide ,key before after)))
               (when buffer
                 (should-not (buffer-modified-p buffer))
                 (kill-buffer buffer)))))))))

(ert-deftest aqd-kinds-what-is-kept-is-not-asked-again ()
  (aqd-with-repository
    (aqd-kinds-table #'agent-q-diff-accept-hunk after)))

(ert-deftest aqd-kinds-what-is-taken-out-is-as-it-was ()
  (aqd-with-repository
    (aqd-kinds-table #'agent-q-diff-reject-hunk before)))

(ert-deftest aqd-kinds-all-is-taken-out-by-one-key ()
  (aqd-with-plain-project
    (aqd-kinds-table #'agent-q-diff-reject-all before)))

;;;; A folder and what was there before

(ert-deftest aqd-kinds-a-folder-takes-the-place-of-anything-and-goes-again ()
  (aqd-with-repository
    (pcase-dolist (`(,name . ,state) aqd-kinds-states)
      (ert-info ((format "%s becomes a folder" name))
        (should (equal (list aqd-kinds-folder nil)
                       (aqd-kinds-decide #'agent-q-diff-accept-hunk state aqd-kinds-folder)))
        (should (equal (list state nil)
                       (aqd-kinds-decide #'agent-q-diff-reject-all state aqd-kinds-folder)))
        (should (equal (list state nil)
                       (aqd-kinds-decide #'agent-q-diff-reject-hunk state aqd-kinds-folder))))
      (ert-info ((format "a folder becomes %s" name))
        (should (equal (list state nil)
                       (aqd-kinds-decide #'agent-q-diff-accept-hunk aqd-kinds-folder state)))
        (should (equal (list aqd-kinds-folder nil)
                       (aqd-kinds-decide #'agent-q-diff-reject-all aqd-kinds-folder state)))
        (should (equal (list aqd-kinds-folder nil)
                       (aqd-kinds-decide #'agent-q-diff-reject-hunk aqd-kinds-folder state)))))))

(ert-deftest aqd-kinds-a-folder-comes-back-once-the-link-in-its-place-is-gone ()
  (aqd-with-repository
    (aqd-kinds-decide #'ignore aqd-kinds-folder '(link "f.txt"))
    (aqd-with-pending
      (let ((link (seq-position (append (agent-q-diff-change-files agent-q-diff-buffer-change) nil)
                                "x" (lambda (file name)
                                      (equal name (file-name-nondirectory
                                                   (agent-q-diff-file-change-path file)))))))
        (should (string-search "since a folder on the way is a link now: "
                               (aqd-pending-do #'agent-q-diff-reject-hunk (if (= 0 link) 1 0))))
        (should (equal '(link "f.txt") (aqd-kinds-now)))
        (aqd-pending-do #'agent-q-diff-reject-hunk link)
        (aqd-kinds--decide-each #'agent-q-diff-reject-hunk)))
    (should (equal aqd-kinds-folder (aqd-kinds-now)))
    (should-not (aqd-pending-files))))

(ert-deftest aqd-kinds-a-file-comes-back-once-the-folder-is-empty ()
  (aqd-with-repository
    (aqd-kinds-decide #'ignore '(file #o644 "x\n") aqd-kinds-folder)
    (aqd-with-pending
      (should (string-search "is a folder now; what is in it has to go first"
                             (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (aqd-pending-do #'agent-q-diff-reject-hunk 2)
      (aqd-pending-do #'agent-q-diff-reject-hunk 0))
    (should (equal '(file #o644 "x\n") (aqd-kinds-now)))
    (should-not (aqd-pending-files))))

;;;; A new file goes again, and a deleted one comes back

(ert-deftest aqd-kinds-no-hook-keeps-a-new-file-from-being-taken-out ()
  (aqd-with-repository
    (cl-flet ((header ()
                (when (= 0 (buffer-size))
                  (insert "header\n")
                  nil)))
      (pcase-dolist (`(,hook . ,function)
                     `((before-save-hook . ,#'header)
                       (write-file-functions . ,#'header)
                       (write-file-functions . ,(lambda ()
                                                  (write-region "header\n" nil buffer-file-name
                                                                nil 'silent)
                                                  (set-buffer-modified-p nil)
                                                  t))
                       (after-save-hook . ,(lambda ()
                                             (write-region "header\n" nil buffer-file-name
                                                           t 'silent)))))
        (ert-info ((symbol-name hook))
          (cl-progv (list hook) (list (list function))
            (dolist (is-visited '(nil t))
              (aqd-pending-put "new.txt" "a\nb\n")
              (when is-visited
                (find-file-noselect "new.txt" t))
              (aqd-with-pending
                (aqd-pending-do #'agent-q-diff-reject-hunk 0))
              (should-not (aqd-pending-has "new.txt"))
              (should-not (aqd-pending-files)))))))))

(ert-deftest aqd-kinds-a-private-file-comes-back-private ()
  (aqd-with-repository
    (pcase-dolist (`(,modes . ,state) '((#o600 . (file #o600 "a\nb\n"))
                                        (#o700 . (file #o700 "a\nb\n"))
                                        (#o600 . (file #o600 "a\0b\n"))
                                        (#o600 . (file #o600 ""))))
      (ert-info ((format "%o %S" modes state))
        ;; A new one that is taken out.
        (aqd-kinds-put state)
        (aqd-with-pending
          (aqd-pending-do #'agent-q-diff-reject-hunk 0)
          (should-not (aqd-kinds-now))
          (aqd-said (agent-q-diff-undo))
          (should (equal state (aqd-kinds-now)))
          (aqd-said (agent-q-diff-accept-all)))
        ;; One in whose place there is a link, or nothing.
        (dolist (after '((link "f.txt") nil))
          (aqd-kinds-put after)
          (aqd-with-pending
            (aqd-pending-do #'agent-q-diff-reject-hunk 0)
            (set-file-modes (aqd-pending-name "x") modes)
            (aqd-said (agent-q-diff-undo))
            (should (equal after (aqd-kinds-now)))
            (aqd-pending-do #'agent-q-diff-reject-hunk 0))
          (should (equal state (aqd-kinds-now))))
        (delete-file (aqd-pending-name "x"))
        (aqd-said (agent-q-diff-mark-reviewed))))))

;;;; Lines and how they are written

(defun aqd-kinds-bytes (text coding)
  "Return what the path is if it is a file with TEXT in CODING."
  (list 'file #o644 (encode-coding-string text coding)))

(ert-deftest aqd-kinds-lines-and-their-ends-are-decided-one-by-one ()
  (aqd-with-repository
    (pcase-dolist (`(,old ,new) '((utf-8-unix utf-8-dos)
                                  (utf-8-dos utf-8-unix)
                                  (utf-8-unix utf-8-with-signature-dos)
                                  (iso-8859-1-unix utf-8-unix)))
      (let ((lines (aqd-numbered 12 '((9 . "ü")))))
        (dolist (keys '((accept reject) (reject accept)))
          (pcase-let ((`(,first ,second) (mapcar (lambda (key)
                                                   (intern (format "agent-q-diff-%s-hunk" key)))
                                                 keys)))
            (ert-info ((format "%s to %s, %s" old new keys))
              (aqd-kinds-put (aqd-kinds-bytes lines old))
              (aqd-said (agent-q-diff-mark-reviewed))
              (aqd-kinds-put (aqd-kinds-bytes (string-replace "line 3" "three" lines) new))
              ;; One is decided, and the other pending.
              (should (= 2 (pcase-let ((`(,root ,texts ,files)
                                        (agent-q-diff-pending-look default-directory)))
                             (agent-q-diff-pending-n-hunks root texts (car files)))))
              (aqd-with-pending
                (should (= 2 (length agent-q-diff-buffer-positions)))
                (aqd-pending-do first 0))
              (aqd-with-pending
                (should (= 1 (length agent-q-diff-buffer-positions)))
                (aqd-pending-do second 0))
              (should-not (aqd-pending-files))
              (should (equal (if (eq 'accept (car keys))
                                 (aqd-kinds-bytes lines new)
                               (aqd-kinds-bytes (string-replace "line 3" "three" lines) old))
                             (aqd-kinds-now))))))))))

(ert-deftest aqd-kinds-how-a-file-is-written-has-a-name ()
  (pcase-dolist (`(,old ,new ,noun)
                 '((utf-8-unix utf-8-dos "the change of line ends")
                   (utf-8-unix utf-8-with-signature-unix "the byte order mark")
                   (iso-8859-1-unix utf-8-unix "the encoding")
                   (utf-8-unix utf-8-with-signature-dos "the encoding")))
    (should (equal noun (agent-q-diff-operation-noun (list 'reading old new))))))

(ert-deftest aqd-kinds-other-line-ends-are-shown-told-and-undone ()
  (aqd-with-repository
    (agent-q-diff-module-begin-turn default-directory "Codex" "s" "do it")
    (aqd-put-bytes (encode-coding-string aqd-pending-text 'utf-8-dos) (aqd-pending-name "f.txt"))
    (agent-q-diff-module-end-turns default-directory)
    (aqd-with-pending
      (should (string-search "@@ line ends LF → CRLF @@\n" (buffer-string)))
      (should (string-match-p "\\`The change of line ends of f.txt taken out;"
                              (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
      (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
      (agent-q-diff-undo)
      (should (string-prefix-p "line 1\r\n" (aqd-pending-has "f.txt")))
      (aqd-pending-do #'agent-q-diff-reject-hunk 0))
    (should (string-search "- f.txt, \"line ends LF → CRLF\" (undone)"
                           (agent-q-diff-told-message default-directory)))))

(ert-deftest aqd-kinds-line-ends-that-were-taken-out-are-no-choice-of-the-users ()
  (aqd-with-repository
    (aqd-kinds-put (alist-get 'crlf aqd-kinds-states))
    (aqd-said (agent-q-diff-mark-reviewed))
    (let ((buffer (find-file-noselect "x")))
      (aqd-kinds-put (alist-get 'text aqd-kinds-states))
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 0))
      (with-current-buffer buffer
        (insert "mine\n")
        (save-buffer))
      (aqd-kinds-put (alist-get 'mixed aqd-kinds-states))
      (aqd-with-pending
        (aqd-kinds--decide-each #'agent-q-diff-accept-hunk))
      (should-not (aqd-pending-files)))))

(ert-deftest aqd-kinds-lines-that-cannot-be-told-from-their-ends-are-shown-as-a-whole ()
  (aqd-with-repository
    (aqd-kinds-put '(file #o644 "one\r\ntwo\n"))
    (aqd-said (agent-q-diff-mark-reviewed))
    (aqd-kinds-put '(file #o644 "one\r\nthree\r\n"))
    (aqd-with-pending
      (should (string-search "@@ other bytes, 9 → 12 @@\n-one\r\n-two\n+one\n+three\n"
                             (buffer-string))))))

(ert-deftest aqd-kinds-unsaved-edits-are-saved-with-the-line-ends-that-were-decided ()
  (aqd-with-repository
    (let ((buffer (find-file-noselect (aqd-pending-name "f.txt"))))
      (aqd-put-bytes (encode-coding-string aqd-pending-text 'utf-8-dos) (aqd-pending-name "f.txt"))
      (with-current-buffer buffer
        (revert-buffer t t)
        (goto-char (point-max))
        (insert "mine\n"))
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
        (should (buffer-modified-p buffer)))
      (with-current-buffer buffer
        (save-buffer))
      (should (equal (concat aqd-pending-text "mine\n") (aqd-pending-has "f.txt"))))))

;;;; A link and a file

(ert-deftest aqd-kinds-what-a-link-became-is-shown-told-and-undone ()
  (aqd-with-repository
    (make-symbolic-link "f.txt" (aqd-pending-name "x"))
    (aqd-pending-git "add" ".")
    (aqd-said (agent-q-diff-mark-reviewed))
    (agent-q-diff-module-begin-turn default-directory "Codex" "s" "do it")
    (delete-file "x")
    (aqd-pending-put "x" "one\ntwo")
    (agent-q-diff-module-end-turns default-directory)
    (aqd-with-pending
      (should (string-search "@@ link to f.txt → file, 2 lines @@\n+one\n+two\n\\ No newline"
                             (buffer-string)))
      (should (string-match-p "\\`The replacement of x kept;"
                              (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
      (agent-q-diff-undo)
      (should (equal '(nil) (agent-q-diff-change-marks agent-q-diff-buffer-change)))
      (should (string-match-p "\\`The replacement of x taken out;"
                              (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
      (should (equal "f.txt" (file-symlink-p "x")))
      (agent-q-diff-undo)
      (should-not (file-symlink-p "x"))
      (should (equal "one\ntwo" (aqd-pending-has "x")))
      (aqd-pending-do #'agent-q-diff-reject-hunk 0))
    (should (string-search "- x, \"link to f.txt → file, 2 lines\" (undone)"
                           (agent-q-diff-told-message default-directory)))))

(ert-deftest aqd-kinds-a-file-that-others-have-written-since-stays ()
  (aqd-with-repository
    (aqd-kinds-decide #'ignore '(file #o644 "a\n") '(link "f.txt"))
    (aqd-with-pending
      (delete-file "x")
      (aqd-pending-put "x" "b\n")
      (should (string-search "the file has been changed since"
                             (aqd-pending-do #'agent-q-diff-reject-hunk 0))))
    (should (equal "b\n" (aqd-pending-has "x")))))

(ert-deftest aqd-kinds-other-names-of-a-file-keep-what-they-have ()
  (aqd-with-repository
    (let ((outside (make-temp-file "aqd" nil nil "precious\n")))
      (unwind-protect
          (progn
            (add-name-to-file outside (aqd-pending-name "new"))
            (add-name-to-file (aqd-pending-name "f.txt") (aqd-pending-name "name"))
            (aqd-with-pending
              (aqd-kinds--decide-each #'agent-q-diff-reject-hunk))
            (should-not (aqd-pending-files))
            (delete-file (aqd-pending-name "f.txt"))
            (add-name-to-file outside (aqd-pending-name "f.txt"))
            (aqd-with-pending
              (aqd-said (agent-q-diff-reject-all t)))
            (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
            (should (equal '("f.txt") (directory-files default-directory nil "\\`[^.]")))
            (should (equal "precious\n" (aqd-bytes-of outside))))
        (delete-file outside)))))

(ert-deftest aqd-kinds-no-link-stops-a-review ()
  (aqd-with-repository
    (dolist (target '("x" "x/y" "bad\377"))
      (ert-info (target)
        (let ((target (if (multibyte-string-p target) target (string-to-multibyte target))))
          (make-symbolic-link target (aqd-pending-name "x"))
          (aqd-pending-put "f.txt" aqd-pending-written)
          (aqd-with-pending
            (should (= 3 (length agent-q-diff-buffer-positions)))
            (aqd-kinds--decide-each #'agent-q-diff-reject-hunk))
          (should-not (file-symlink-p (aqd-pending-name "x")))
          (should-not (aqd-pending-files))
          (make-symbolic-link target (aqd-pending-name "x"))
          (aqd-with-pending
            (aqd-kinds--decide-each #'agent-q-diff-accept-hunk))
          (should-not (aqd-pending-files))
          (delete-file (aqd-pending-name "x"))
          (aqd-said (agent-q-diff-mark-reviewed)))))))

(ert-deftest aqd-kinds-a-file-that-is-back-without-its-mark-is-kept-without-it ()
  (aqd-with-repository
    (aqd-kinds-put (alist-get 'marked aqd-kinds-states))
    (let ((buffer (find-file-noselect (aqd-pending-name "x"))))
      (aqd-kinds-put nil)
      (aqd-said (agent-q-diff-mark-reviewed))
      (aqd-kinds-put (alist-get 'text aqd-kinds-states))
      (aqd-with-pending
        (aqd-kinds--decide-each #'agent-q-diff-accept-hunk))
      (should-not (aqd-pending-files))
      (with-current-buffer buffer
        (insert "mine\n")
        (save-buffer))
      (should (string-prefix-p "mine\nline 1\n" (aqd-bytes-of (aqd-pending-name "x")))))))

(ert-deftest aqd-kinds-a-file-can-have-any-name ()
  (aqd-with-repository
    (dolist (name '(" " " d /f" "..." "a\n"))
      (aqd-pending-put name "x\n")
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 0))
      (should-not (aqd-pending-has name)))))

;;;; Before it is written

(defun aqd-kinds-diff (before after)
  "Return git's diff of the path from BEFORE to AFTER; it is BEFORE afterwards."
  (aqd-kinds-put before)
  (aqd-pending-git "add" "-A")
  (aqd-pending-git "commit" "-q" "--allow-empty" "-m" "before")
  (aqd-kinds-put after)
  (aqd-pending-git "add" "-A")
  (prog1 (aqd-pending-git "diff" "--cached" "--no-renames")
    (aqd-pending-git "reset" "-q" "--hard")))

(ert-deftest aqd-kinds-a-diff-of-git-makes-each-of-another ()
  (aqd-with-repository
    (let ((states (append (seq-filter (pcase-lambda (`(,name . ,_))
                                        (memq name '(absent edited executable empty link)))
                                      aqd-kinds-states)
                          (list (cons 'folder aqd-kinds-folder)))))
      (pcase-dolist (`(,from . ,before) states)
        (pcase-dolist (`(,to . ,after) states)
          (unless (eq from to)
            (ert-info ((format "%s becomes %s" from to))
              (let ((review (agent-q-diff-review-diff (aqd-kinds-diff before after)
                                                      aqd-pending-root #'ignore))
                    ;; A folder stays when its files are deleted.
                    (wanted (or after (and (eq 'folder from) '(folder)))))
                (aqd-in-diff review
                  (aqd-kinds--decide-each #'agent-q-diff-accept-hunk)
                  (should (equal wanted (aqd-kinds-now)))
                  (dotimes (_ (length agent-q-diff-buffer-positions))
                    (aqd-said (agent-q-diff-undo)))
                  ;; A new file is empty until the review ends.
                  (when before
                    (should (equal before (aqd-kinds-now))))
                  (agent-q-diff-decide-accept-all agent-q-diff-buffer-change)
                  (should (equal wanted (aqd-kinds-now)))
                  (aqd-said (agent-q-diff-undo)))
                (aqd-said (agent-q-diff-cancel review))
                (should (equal before (aqd-kinds-now)))))))))))

(ert-deftest aqd-kinds-nothing-is-written-where-a-link-led-that-a-folder-replaces ()
  (aqd-with-repository
    (aqd-pending-put "d/0" "precious\n")
    (aqd-said (agent-q-diff-mark-reviewed))
    (let* ((link '(link "d"))
           (diff (aqd-kinds-diff link aqd-kinds-folder))
           ;; Another link on the way stays.
           (root (concat (directory-file-name aqd-pending-root) "-link"))
           (review (progn
                     (make-symbolic-link aqd-pending-root root)
                     (agent-q-diff-review-diff diff (file-name-as-directory root) #'ignore))))
      (aqd-said (agent-q-diff-cancel review))
      (with-current-buffer (agent-q-diff-look-again review)
        (should (string-search "@@ new file @@\n+a\n" (buffer-string)))
        (should (string-search "x is a link now, which has to go first"
                               (aqd-pending-do #'agent-q-diff-accept-hunk 1)))
        (should (equal link (aqd-kinds-now)))
        (agent-q-diff-decide-accept-all agent-q-diff-buffer-change)
        (should (equal aqd-kinds-folder (aqd-kinds-now)))
        (aqd-said (agent-q-diff-undo))
        (should (equal link (aqd-kinds-now)))
        (aqd-said (agent-q-diff-accept-all)))
      (delete-file root))
    (should (equal "precious\n" (aqd-pending-has "d/0")))
    ;; What was decided is asked no more.
    (should-not (aqd-pending-files))))

(ert-deftest aqd-kinds-a-folder-that-a-file-is-to-replace-stays-while-something-is-in-it ()
  (aqd-with-repository
    (let ((review (agent-q-diff-review-diff (aqd-kinds-diff aqd-kinds-folder '(file #o644 "x\n"))
                                            aqd-pending-root #'ignore)))
      (make-directory (aqd-pending-name "x/empty"))
      (aqd-pending-put "x/mine" "mine\n")
      (aqd-in-diff review
        (should (string-search "x is a folder now; what is in it has to go first"
                               (aqd-said (agent-q-diff-accept-all))))
        (should (equal "mine\n" (aqd-pending-has "x/mine")))
        (should (equal "a\n" (aqd-pending-has "x/0")))
        (delete-file (aqd-pending-name "x/mine"))
        (aqd-said (agent-q-diff-accept-all))
        (should (equal '(file #o644 "x\n") (aqd-kinds-now)))))
    (should-not (aqd-pending-files))))

;;;; A file that gets into a folder of its own name, or out of it

(defun aqd-kinds-files ()
  "Return an alist from the paths of the test's files to their texts."
  (mapcar (lambda (name) (cons name (aqd-pending-has name)))
          (seq-filter (lambda (name) (file-regular-p (aqd-pending-name name)))
                      (delete-dups (split-string (aqd-pending-git "ls-files" "-co") "\n" t)))))

(defun aqd-kinds-move (from to)
  "Rename the file FROM to TO; one of the two is a folder in the name of the other."
  (let ((draft (aqd-pending-name "draft")))
    (rename-file (aqd-pending-name from) draft)
    (when (file-directory-p (aqd-pending-name to))
      (delete-directory (aqd-pending-name to) t))
    (make-directory (file-name-directory (aqd-pending-name to)) t)
    (rename-file draft (aqd-pending-name to))))

(ert-deftest aqd-kinds-a-file-is-renamed-into-a-folder-of-its-name-and-out-of-it ()
  (pcase-dolist (`(,from ,to ,new) '(("x" "x/b/1" "x/a") ("x/b/1" "x" "y")))
    (aqd-with-repository
      (aqd-pending-put from aqd-pending-text)
      (delete-file "f.txt")
      (aqd-pending-git "add" "-A")
      (aqd-pending-git "commit" "-qm" "second")
      (aqd-said (agent-q-diff-mark-reviewed))
      (aqd-kinds-move from to)
      (aqd-pending-put new "new\n")
      (aqd-pending-git "add" "-A")
      (let* ((was (list (cons from aqd-pending-text)))
             (will (sort (list (cons new "new\n") (cons to aqd-pending-text))
                         (lambda (a b) (string< (car a) (car b)))))
             (diff (aqd-pending-git "diff" "--cached" "-M"))
             (buffer (find-file-noselect to)))
        ;; After it was written.
        (aqd-with-pending
          (aqd-said (agent-q-diff-reject-all t)))
        (should (equal was (aqd-kinds-files)))
        (should (equal (aqd-pending-name from) (buffer-file-name buffer)))
        (should-not (aqd-pending-files))
        ;; Before it is written.
        (aqd-pending-git "reset" "-q" "--hard")
        (let ((review (agent-q-diff-review-diff diff aqd-pending-root #'ignore)))
          (aqd-in-diff review
            (agent-q-diff-decide-accept-all agent-q-diff-buffer-change)
            (should (equal will (aqd-kinds-files)))
            (aqd-said (agent-q-diff-undo))
            (should (equal was (aqd-kinds-files)))
            (aqd-said (agent-q-diff-accept-all))))
        (should (equal will (aqd-kinds-files)))
        (should (equal (aqd-pending-name to) (buffer-file-name buffer)))
        (should-not (aqd-pending-files))))))

(ert-deftest aqd-kinds-a-file-stays-where-it-is-if-its-folder-has-more ()
  (aqd-with-repository
    (aqd-kinds-put aqd-kinds-folder)
    (let ((review (agent-q-diff-review-change '((:path "x/0" :to "x")) "d" #'ignore)))
      (aqd-in-diff review
        (should (string-search "x is a folder now; what is in it has to go first"
                               (aqd-pending-do #'agent-q-diff-accept-hunk 0))))
      (aqd-said (agent-q-diff-cancel review)))
    (should (equal aqd-kinds-folder (aqd-kinds-now)))))

(ert-deftest aqd-kinds-nothing-is-created-in-what-is-no-folder-yet ()
  (aqd-with-repository
    (let ((review (agent-q-diff-review-diff (aqd-kinds-diff '(file #o644 "x\n") aqd-kinds-folder)
                                            aqd-pending-root #'ignore)))
      (aqd-in-diff review
        (should (string-search "x is no directory now, and has to go first"
                               (aqd-pending-do #'agent-q-diff-accept-hunk 1))))
      (aqd-said (agent-q-diff-cancel review)))
    (should (equal '(file #o644 "x\n") (aqd-kinds-now)))))

;;;; At random
;;
;; An agent makes anything of a few paths by a shell.  The user decides, undoes,
;; types, saves, commits, stashes, and kills buffers and Emacs.  The oracle knows
;; only bytes: of each file, what is on disk, what the user has kept, and which
;; lines are typed and not saved.

(defconst aqd-walk-n-steps (string-to-number (or (getenv "AGENT_Q_DIFF_STEPS") "120"))
  "Number of steps of the walk.")

(defconst aqd-walk-paths '("x" "y" "z")
  "What the agent makes something of.")

(defvar aqd-walk-kept nil
  "Alist from the paths of files to their states as the user has kept them.")

(defvar aqd-walk-stash nil
  "What git has stashed, an alist from paths to what they were, or nil.
That is as from `aqd-walk-files'.")

(defvar aqd-walk-typed nil
  "Alist from paths to the lines that the user has typed there and not saved.")

(defun aqd-walk-state (name path)
  "Return the state called NAME, with lines and targets that only PATH has."
  (if (eq name 'folder)
      (list 'folder (concat path " 0\n") (concat path " 1\n"))
    (pcase (cdr (assq name aqd-kinds-states))
      (`(file ,mode ,bytes)
       (list 'file mode
             (if (memq name '(utf-16 edited-utf-16))
                 bytes
               (string-replace "line" (concat path path) bytes))))
      (`(link ,target) (list 'link (concat target path))))))

(defun aqd-walk-files (state path)
  "Return an alist from paths to states: the files that PATH is in STATE."
  (pcase state
    ('nil nil)
    (`(folder . ,contents)
     (seq-map-indexed (lambda (bytes n)
                        (cons (format "%s/%d" path n) (list 'file #o644 bytes)))
                      contents))
    (_ (list (cons path state)))))

(defun aqd-walk-now (path)
  "Return the files at PATH, as from `aqd-walk-files'."
  (let ((aqd-kinds-path path))
    (pcase (aqd-kinds-now)
      ;; Whatever else is in a folder is known by its name.
      (`(folder . ,_)
       (let ((folder (aqd-pending-name path)))
         (mapcar (lambda (name)
                   (cons (concat path "/" name)
                         (list 'file #o644 (aqd-bytes-of (expand-file-name name folder)))))
                 (directory-files folder nil "\\`[^.]"))))
      (state (aqd-walk-files state path)))))

(defun aqd-walk-kept-of (path)
  "Return which files of PATH the user has kept, as from `aqd-walk-files'."
  (seq-filter (lambda (file)
                (string-match-p (format "\\`%s\\(?:/\\|\\'\\)" path) (car file)))
              aqd-walk-kept))

(defun aqd-walk-keep (path)
  "Note that PATH is kept by the user as it is."
  (setq aqd-walk-kept (append (aqd-walk-now path)
                              (seq-difference aqd-walk-kept (aqd-walk-kept-of path) #'eq))))

(defun aqd-walk-pending-p (path)
  "Return non-nil if PATH is not as the user has kept it."
  (not (equal (aqd-walk-now path)
              (sort (copy-sequence (aqd-walk-kept-of path))
                    (lambda (a b) (string< (car a) (car b)))))))

(defun aqd-walk-check ()
  "Check that what is pending is what is not as it was kept."
  (should (equal (seq-filter #'aqd-walk-pending-p aqd-walk-paths)
                 (seq-uniq (mapcar (lambda (path) (car (split-string path "/")))
                                   (sort (aqd-pending-files) #'string<))))))

(defun aqd-walk-hunks (path)
  "Return the hunks of this diff buffer that are about PATH, or what is in it."
  (let ((change agent-q-diff-buffer-change))
    (seq-filter (lambda (hunk)
                  (let ((file (agent-q-diff-change-file-of change hunk)))
                    (equal path (car (split-string
                                      (file-relative-name (agent-q-diff-file-change-path file)
                                                          aqd-pending-root)
                                      "/")))))
                (number-sequence 0 (1- (length agent-q-diff-buffer-positions))))))

(defun aqd-walk-decide (key path)
  "Decide all hunks about PATH by KEY; some make way for others."
  (dotimes (_ 2)
    (dolist (hunk (aqd-walk-hunks path))
      (unless (nth hunk (agent-q-diff-change-marks agent-q-diff-buffer-change))
        (aqd-pending-do key hunk)))))

(defun aqd-walk-unsaved (path)
  "Return the buffer that has unsaved edits of PATH, or nil."
  (when-let ((buffer (get-file-buffer (aqd-pending-name path))))
    (and (buffer-modified-p buffer) buffer)))

(defun aqd-walk-check-typed ()
  "Check that all lines that the user has typed are where they were: in buffers."
  (pcase-dolist (`(,path . ,lines) aqd-walk-typed)
    (let ((text (agent-q-diff-text-in (aqd-walk-unsaved path))))
      (dolist (line lines)
        (should (string-search line text)))
      (pcase-dolist (`(,_ ,kind ,_ ,bytes) (aqd-walk-now path))
        (when (eq 'file kind)
          (dolist (line lines)
            (should-not (string-search line (string-replace "\0" "" bytes)))))))))

(defun aqd-walk-decidable-p (path)
  "Return non-nil if PATH is pending, and what is decided of it is done on disk.
Otherwise it is done in a buffer with unsaved edits, and is not saved."
  (let ((buffer (aqd-walk-unsaved path)))
    (and (aqd-walk-pending-p path)
         (or (null buffer) (agent-q-diff-disk-behind-p buffer)))))

(defun aqd-walk-review (&optional stays-open)
  "Decide all hunks of each path alike, or none, or undo that again; finish.
If STAYS-OPEN is non-nil, do not finish."
  (when (aqd-pending-files)
    (let ((review (agent-q-diff-review-changes)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (dolist (path aqd-walk-paths)
          (when (aqd-walk-decidable-p path)
            (let ((before (aqd-walk-now path))
                  (n (length (aqd-walk-hunks path))))
              (pcase (random 5)
                ((or 0 1)
                 (aqd-walk-decide #'agent-q-diff-accept-hunk path)
                 (should (equal before (aqd-walk-now path)))
                 (aqd-walk-keep path))
                ((or 2 3)
                 (aqd-walk-decide #'agent-q-diff-reject-hunk path)
                 (should-not (aqd-walk-pending-p path)))
                (_
                 (aqd-walk-decide #'agent-q-diff-reject-hunk path)
                 (dotimes (_ n)
                   (aqd-said (agent-q-diff-undo)))
                 (should (equal before (aqd-walk-now path))))))
            (aqd-walk-check-typed)))
        (unless (or stays-open (agent-q-diff-session-outcome review))
          (agent-q-diff-finish))))))

(defun aqd-walk-visited (path)
  "Visit PATH if it is a file of plain lines, and return its buffer, or nil."
  (pcase (aqd-walk-now path)
    (`((,(pred (equal path)) file ,_ ,bytes))
     (and (string-match-p "\\`[[:ascii:]]+\n\\'" (string-replace "\303\251" "" bytes))
          (not (string-search "\r" bytes))
          (not (string-search "\0" bytes))
          (let ((buffer (find-file-noselect (aqd-pending-name path) t)))
            (with-current-buffer buffer
              (buffer-enable-undo)
              ;; As `global-auto-revert-mode' does.
              (unless (or (buffer-modified-p) (verify-visited-file-modtime))
                (revert-buffer t t)))
            buffer)))))

(defun aqd-walk-agent-writes (path)
  "Make something of PATH, as an agent does by a shell."
  (let ((aqd-kinds-path path)
        (name (seq-elt '(absent text edited executable edited-and-executable crlf
                                edited-and-crlf mixed marked edited-and-marked latin-1
                                utf-16 edited-utf-16 empty open binary link dead-link folder)
                       (random 19))))
    ;; Emacs asks before it writes a file itself of which a buffer has unsaved edits.
    (cl-letf (((symbol-function 'ask-user-about-supersession-threat) #'ignore)
              ((symbol-function 'userlock--ask-user-about-supersession-threat) #'ignore))
      (aqd-kinds-put (aqd-walk-state name path)))))

(defun aqd-walk-type (n)
  "Type a line into a buffer, in the step N of the walk.
That buffer has nothing that is pending: hunks there are decided there."
  (when-let ((path (seq-find
                    (lambda (path)
                      (if-let ((buffer (aqd-walk-unsaved path)))
                          (or (agent-q-diff-disk-behind-p buffer) (not (aqd-walk-pending-p path)))
                        (and (not (aqd-walk-pending-p path)) (aqd-walk-visited path))))
                    (if (= 0 (random 2)) aqd-walk-paths (reverse aqd-walk-paths)))))
    (let ((line (format "typed %d\n" n)))
      (with-current-buffer (get-file-buffer (aqd-pending-name path))
        (cl-letf (((symbol-function 'ask-user-about-supersession-threat) #'ignore))
          (goto-char (point-min))
          (forward-line (random (1+ (count-lines (point-min) (point-max)))))
          (unless (bolp)
            (insert "\n"))
          (insert line)
          (undo-boundary)))
      (push line (alist-get path aqd-walk-typed nil nil #'equal)))))

(defun aqd-walk-save (path)
  "Save what was typed in the buffer of PATH, unless Emacs would ask about that."
  (when-let ((buffer (and (not (aqd-walk-pending-p path)) (aqd-walk-unsaved path))))
    (when (verify-visited-file-modtime buffer)
      (let ((before (aqd-walk-now path)))
        (with-current-buffer buffer
          (save-buffer))
        (aqd-walk-check-saved path before (agent-q-diff-text-in buffer)))
      (setf (alist-get path aqd-walk-typed nil t #'equal) nil)
      (aqd-walk-keep path)
      (aqd-walk-check))))

(defun aqd-walk-check-saved (path before text)
  "Check that PATH, which was BEFORE, has gained just the lines that were typed.
TEXT is that of its buffer.  Where both changed a line, that is marked there."
  (pcase-let ((`((,_ file ,_ ,was)) before)
              (`((,_ file ,_ ,is)) (aqd-walk-now path)))
    (dolist (line (alist-get path aqd-walk-typed nil nil #'equal))
      (should (string-search line (string-replace "\0" "" (string-replace "\r" "" is))))
      (setq is (replace-regexp-in-string (concat (substring line 0 -1) "\r?\n") "" is t t)))
    (unless (string-search "<<<<<<< ours\n" text)
      (should (equal was is)))))

(defun aqd-walk-commit (n)
  "Commit all, in the step N of the walk, if nothing is pending."
  (unless (aqd-pending-files)
    (aqd-pending-git "add" "-A")
    (aqd-pending-git "commit" "-qm" (format "%d" n) "--allow-empty")
    (when aqd-walk-stash
      (aqd-pending-git "stash" "drop" "-q")
      (setq aqd-walk-stash nil))
    (aqd-walk-check)))

(defun aqd-walk-kill-buffers ()
  "Kill all buffers, and give up what was typed there."
  (dolist (path aqd-walk-paths)
    (when-let ((buffer (get-file-buffer (aqd-pending-name path))))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (kill-buffer))))
  (setq aqd-walk-typed nil))

(defun aqd-walk-stash ()
  "Stash all, or bring back what was stashed instead of what there is.
Nobody knows who did it, so what differs from what was kept is pending."
  (if aqd-walk-stash
      (progn
        (aqd-pending-git "reset" "-q" "--hard")
        (aqd-pending-git "clean" "-fdq")
        (aqd-pending-git "stash" "pop" "-q")
        (pcase-dolist (`(,path . ,files) aqd-walk-stash)
          (should (equal files (aqd-walk-now path))))
        (setq aqd-walk-stash nil))
    (let ((files (mapcar (lambda (path) (cons path (aqd-walk-now path))) aqd-walk-paths)))
      (aqd-pending-git "add" "-A")
      ;; It cannot stash a link in the place of a folder.
      (ignore-error ert-test-failed
        (aqd-pending-git "stash" "-q"))
      (unless (string-empty-p (aqd-pending-git "stash" "list"))
        (setq aqd-walk-stash files))))
  (aqd-walk-check))

(defun aqd-walk-step (n)
  "Do something, the step N of the walk."
  (let ((path (seq-elt aqd-walk-paths (random 3))))
    (pcase (random 12)
      ((or 0 1 2 3 4) (aqd-walk-agent-writes path))
      ((or 5 6)
       (aqd-walk-review)
       (aqd-walk-check))
      ((or 7 8) (aqd-walk-type n))
      (9 (aqd-walk-save path))
      (10 (aqd-walk-stash))
      (_
       (aqd-walk-commit n)
       (when (= 0 (random 2))
         (aqd-walk-kill-buffers))))
    (aqd-walk-check-typed)))

;;;;; Emacs ends, and begins anew

(defun aqd-walk-leg (root file)
  "Walk on in the repository ROOT, then let Emacs end or die.
FILE has the number of the next step, how many to make, and what the oracle
knows.  Write there what that is afterwards."
  (pcase-let* ((`(,first ,n . ,known) (with-temp-buffer
                                        (insert-file-contents-literally file)
                                        (read (current-buffer))))
               (aqd-pending-root root)
               (default-directory root)
               (agent-q-diff-display 'announce)
               ;; Git would commit and stash them.
               (create-lockfiles nil)
               (make-backup-files nil)
               (inhibit-message t)
               (step first))
    (pcase-setq `(,aqd-walk-kept ,aqd-walk-stash) known)
    (random (format "whole files %d" first))
    (agent-q-diff-pending-mode)
    (condition-case err
        (progn
          (aqd-walk-check)
          (while (< step (+ first n))
            (aqd-walk-step step)
            (cl-incf step))
          ;; Emacs ends in the middle of a review.
          (aqd-walk-review 'stays-open)
          (let ((print-escape-nonascii t)
                (print-escape-control-characters t)
                (print-escape-newlines t))
            (aqd-put-bytes (prin1-to-string (list step n aqd-walk-kept aqd-walk-stash)) file)))
      (error
       (let ((inhibit-message nil))
         (message "Step %d: %S" step err))
       (let ((kill-emacs-hook nil))
         (kill-emacs 1))))
    (if (= 0 (random 2))
        (signal-process (emacs-pid) 'SIGKILL)
      (kill-emacs 0))))

(ert-deftest aqd-walk-whatever-becomes-of-files-is-kept-or-as-it-was ()
  (aqd-with-repository
    (let ((file (make-temp-file "aqd-walk"))
          (n (max 40 (min 250 (/ aqd-walk-n-steps 3)))))
      (unwind-protect
          (progn
            (aqd-put-bytes (prin1-to-string (list 0 n nil nil)) file)
            (dotimes (leg (max 1 (/ aqd-walk-n-steps n)))
              (with-temp-buffer
                (let ((status (call-process
                               (expand-file-name invocation-name invocation-directory)
                               nil t nil "-Q" "--batch"
                               "-L" aqd-lisp-directory "-L" (file-name-directory aqd-kinds-file)
                               "-l" aqd-kinds-file
                               "--eval" (format "%S" `(aqd-walk-leg ,aqd-pending-root ,file)))))
                  (ert-info ((buffer-string))
                    (should (member status '(0 "Killed"))))))
              (should (string-prefix-p (format "(%d " (* n (1+ leg))) (aqd-bytes-of file)))))
        (delete-file file)))))

(provide 'agent-q-diff-kinds-test)
;;; agent-q-diff-kinds-test.el ends here
