;;; agent-q-diff-live-test.el --- What a file holds now  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Hashes are those of the bytes that a file has or would have.
;;
;; Each test says what bytes a file holds, what is replaced, and what bytes
;; it then holds; with a buffer that visits it, and without.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-live)

(ert-deftest aqd-live-hash-is-that-of-the-bytes ()
  (dolist (coding '(utf-8-unix utf-8-dos utf-8-with-signature-unix latin-1-unix
                               undecided-unix utf-16-unix iso-2022-jp-unix no-conversion raw-text-unix))
    (dolist (text (list "" "a\nb\n" "ä\n日本\n" "x\0y\r\n" (string ?a #x3fffff ?b)
                        (string ?a #xd800 ?b) (string ?a #xd83d #xde00) "\xff\n"
                        (make-string 100000 ?é)))
      (let ((live (agent-q-diff-live--make :name "/x" :text text :coding coding)))
        (ert-info ((format "%s %S" coding text))
          (should (equal (agent-q-diff-live--hash live)
                         (agent-q-diff-live--hash-of-bytes live))))
        ;; And as it was read from a file.
        (setf (agent-q-diff-live-bytes live) (encode-coding-string text coding))
        (ert-info ((format "%s %S, read" coding text))
          (should (equal (agent-q-diff-live--hash live)
                         (secure-hash 'sha256 (agent-q-diff-live-bytes live)))))))))

(ert-deftest aqd-live-hashes-are-those-of-the-file ()
  (pcase-dolist (`(,bytes ,old ,new)
                 '(("a\nb\n" "b" "x\ny") ("a\nb\n" "b" "ä") ("\303\244\nb\n" "b" "あ")
                   ("\344\nb\n" "b" "ö") ("a\r\nb\r\n" "b" "x\ny") ("a\r\nb\n" "b" "x")
                   ("\357\273\277a\nb\n" "b" "x") ("\0\377\nb\n" "b" "ä")
                   ("\303\244\303\244\377\nb\n" "b" "x")))
    (aqd-with-file ""
      (aqd-put-bytes bytes aqd-file)
      (let ((live (agent-q-diff-live-read aqd-file))
            (hash (lambda () (secure-hash 'sha256 (aqd-disk)))))
        (pcase-let ((`(,spans ,_ ,text ,hashes . ,_)
                     (agent-q-diff-engine-replace
                      (agent-q-diff-live-text live)
                      (agent-q-diff-live-adapt live old)
                      (agent-q-diff-live-adapt live new))))
          (should (equal (list bytes (agent-q-diff-live-hash-before live hashes))
                         (list bytes (funcall hash))))
          (agent-q-diff-write live spans text #'ignore)
          (should (equal (list bytes (agent-q-diff-live-hash-after live hashes))
                         (list bytes (funcall hash))))
          (aqd-put-bytes "another's" aqd-file)
          (should (equal (agent-q-diff-live-hash-after live hashes)
                         (funcall hash))))))))

;;; Replacing parts of a file

(defun aqd-write-replace (old new &optional check)
  "Replace OLD, which is unique, by NEW in the test's file.
CHECK is called just before writing."
  (let ((live (agent-q-diff-live-read aqd-file)))
    (pcase-let ((`(,spans ,_ ,text . ,_)
                 (agent-q-diff-engine-replace
                  (agent-q-diff-live-text live)
                  (agent-q-diff-live-adapt live old)
                  (agent-q-diff-live-adapt live new))))
      (agent-q-diff-write live spans text (or check #'ignore)))))

(defun aqd-write-buffers ()
  "Return the buffers whose names do not begin with a space."
  (seq-remove (lambda (buffer)
                (string-prefix-p " " (or (buffer-name buffer) " ")))
              (buffer-list)))

(defun aqd-write-both (before old new after)
  "Check that the bytes BEFORE become AFTER when OLD is replaced by NEW.
That is checked without a buffer that visits the file, and with one."
  (dolist (visit '(nil t))
    (aqd-with-file ""
      (aqd-put-bytes before aqd-file)
      (let ((buffer (and visit (aqd-visit)))
            (buffers (aqd-write-buffers)))
        (aqd-write-replace old new)
        (should (equal (list visit (aqd-disk)) (list visit after)))
        (should (equal (aqd-write-buffers) buffers))
        (when buffer
          (should-not (buffer-modified-p buffer)))))))

;;;; Bytes

(ert-deftest aqd-write-changes-only-its-bytes ()
  (aqd-write-both "a\nb\nc" "b" "x\ny" "a\nx\ny\nc")
  (aqd-write-both "a" "a" "" ""))

(ert-deftest aqd-write-keeps-a-missing-final-newline ()
  (let ((require-final-newline t))
    (aqd-write-both "a\nb" "a" "x" "x\nb")
    (aqd-write-both "a\nb" "b" "" "a\n")))

(ert-deftest aqd-write-keeps-utf-8 ()
  (aqd-write-both "caf\303\251 \342\234\223\n" "é" "è" "caf\303\250 \342\234\223\n"))

(ert-deftest aqd-write-keeps-a-byte-order-mark-and-crlf ()
  (aqd-write-both "\357\273\277a\303\251\r\nb\r\n" "b\n" "c\nd\n"
                  "\357\273\277a\303\251\r\nc\r\nd\r\n"))

(ert-deftest aqd-write-keeps-latin-1-and-crlf ()
  (aqd-write-both "caf\351\r\nb\r\n" "é\nb" "è\nc\nd" "caf\350\r\nc\r\nd\r\n"))

(ert-deftest aqd-write-keeps-utf-16 ()
  (aqd-write-both "\377\376a\0b\0\n\0" "b" "é" "\377\376a\0\351\0\n\0"))

(ert-deftest aqd-write-keeps-raw-bytes ()
  (aqd-write-both "a\0\377\303\nb\n" "b" "x" "a\0\377\303\nx\n"))

(ert-deftest aqd-write-takes-what-is-binary-for-utf-8 ()
  (aqd-write-both "\0caf\303\251\377\n" "é" "è" "\0caf\303\250\377\n"))

(ert-deftest aqd-write-takes-utf-8-with-a-stray-byte-for-utf-8 ()
  (aqd-with-file ""
    (aqd-put-bytes "caf\303\251 \342\234\223 \377\r\nx\r\n" aqd-file)
    (aqd-write-replace "✓" "é\n")
    (should (equal (aqd-disk) "caf\303\251 \303\251\r\n \377\r\nx\r\n"))))

(ert-deftest aqd-write-disbelieves-a-file-that-states-another-coding ()
  (aqd-with-file ""
    (aqd-put-bytes ";; -*- coding: utf-16 -*-\ncaf\303\251\n" aqd-file)
    (aqd-write-replace "é" "è")
    (should (equal (aqd-disk) ";; -*- coding: utf-16 -*-\ncaf\303\250\n"))))

(ert-deftest aqd-write-refuses-what-it-could-not-write-back ()
  "Escape sequences without effect are lost when a text is decoded."
  (aqd-with-file ""
    (let ((bytes "\e(B\e$B$\"\e(B x\n"))
      (aqd-put-bytes bytes aqd-file)
      (should-error (aqd-write-replace "x" "y") :type 'agent-q-diff-bad-target)
      (should (equal (aqd-disk) bytes)))))

(ert-deftest aqd-write-ascii-becomes-utf-8 ()
  (aqd-write-both "a\n" "a" "é" "\303\251\n"))

(ert-deftest aqd-write-keeps-mixed-line-ends ()
  (aqd-write-both "a\r\nb\r\nc\r\nd\r\ne\nf\n" "c\n" "x\ny\n"
                  "a\r\nb\r\nx\r\ny\r\nd\r\ne\nf\n"))

(ert-deftest aqd-write-refuses-to-unify-line-ends ()
  (aqd-with-file ""
    (let ((bytes "a\r\nb\r\nc\r\nd\r\ne\nf\n"))
      (aqd-put-bytes bytes aqd-file)
      (let ((coding-system-for-read 'utf-8-dos))
        (aqd-visit))
      (should-error (aqd-write-replace "c\n" "x\n") :type 'agent-q-diff-bad-target)
      (should (equal (aqd-disk) bytes)))))

(ert-deftest aqd-write-refuses-what-the-coding-cannot-hold ()
  (dolist (visit '(nil t))
    (aqd-with-file ""
      (aqd-put-bytes "caf\351\n" aqd-file)
      (when visit (aqd-visit))
      (should-error (aqd-write-replace "caf" "✓") :type 'agent-q-diff-bad-target)
      (should (equal (aqd-disk) "caf\351\n")))))

(ert-deftest aqd-write-heeds-what-the-file-says-of-its-coding ()
  (aqd-write-both ";; -*- coding: latin-1 -*-\n\303\251\n" "Ã" "x"
                  ";; -*- coding: latin-1 -*-\nx\251\n"))

;;;; The file

(ert-deftest aqd-write-keeps-mode-owner-and-link ()
  (dolist (visit '(nil t))
    (aqd-with-file "a\nb\n"
      (let ((link (concat aqd-file "-link")))
        (set-file-modes aqd-file #o754)
        (make-symbolic-link aqd-file link)
        (when visit (find-file-noselect link))
        (aqd-write-replace "b" "c")
        (should (equal (aqd-disk) "a\nc\n"))
        (should (= (file-modes aqd-file) #o754))
        (should (equal (file-symlink-p link) aqd-file))
        (should (equal (file-attribute-user-id (file-attributes aqd-file))
                       (file-attribute-user-id
                        (file-attributes (file-name-directory aqd-file)))))
        (should (equal (directory-files (file-name-directory aqd-file) nil "agent-q")
                       nil))))))

(ert-deftest aqd-write-keeps-another-owner ()
  (skip-unless (= (user-uid) 0))
  (dolist (visit '(nil t))
    (aqd-with-file "a\n"
      (call-process "chown" nil nil nil "12345:54321" aqd-file)
      (when visit (aqd-visit))
      (aqd-write-replace "a" "b")
      (let ((attributes (file-attributes aqd-file 'integer)))
        (should (equal (list (file-attribute-user-id attributes)
                             (file-attribute-group-id attributes)
                             (file-attribute-modes attributes))
                       '(12345 54321 "-rw-r--r--")))))))

(ert-deftest aqd-write-keeps-hard-links ()
  (dolist (visit '(nil t))
    (aqd-with-file "a\n"
      (let ((other (concat aqd-file "-other")))
        (add-name-to-file aqd-file other)
        (when visit (aqd-visit))
        (aqd-write-replace "a" "b")
        (should (equal (aqd-disk) "b\n"))
        (should (= 2 (file-attribute-link-number (file-attributes other))))))))

(defmacro aqd-write-failing (&rest body)
  "Evaluate BODY with a disk on which each write fails halfway."
  (declare (debug t))
  `(let ((original (symbol-function 'write-region)))
     (cl-letf (((symbol-function 'write-region)
                (lambda (start end name &rest rest)
                  (let ((text (if (stringp start) start
                                (buffer-substring-no-properties
                                 (or start (point-min)) (or end (point-max))))))
                    (apply original (substring text 0 (/ (length text) 2)) nil name rest)
                    (signal 'file-error (list "Writing" "no space left" name))))))
       ,@body)))

(ert-deftest aqd-write-failing-leaves-the-old-file-whole ()
  (dolist (visit '(nil t))
    (aqd-with-file "a\nb\nc\nd\n"
      (let ((buffer (and visit (aqd-visit))))
        (should-error (aqd-write-failing (aqd-write-replace "b" "x")) :type 'file-error)
        (should (equal (aqd-disk) "a\nb\nc\nd\n"))
        (should (equal (directory-files (file-name-directory aqd-file) nil "agent-q") nil))
        (when buffer
          (should (equal (agent-q-diff-text-in buffer) "a\nb\nc\nd\n"))
          (should-not (buffer-modified-p buffer)))))))

(defun aqd-write-in-place-failing (fails-p)
  "Replace a string in a file with two names while writes fail.
FAILS-P is called with the name of each file before it is written."
  (let ((original (symbol-function 'write-region)))
    (add-name-to-file aqd-file (concat aqd-file "-other"))
    (cl-letf (((symbol-function 'write-region)
               (lambda (start end name &rest rest)
                 (if (not (funcall fails-p name))
                     (apply original start end name rest)
                   (apply original "half" nil name rest)
                   (signal 'file-error (list "Writing" "no space left" name))))))
      (condition-case err
          (aqd-write-replace "b" "x")
        (error err)))))

(ert-deftest aqd-write-failing-in-place-puts-the-old-file-back ()
  (aqd-with-file "a\nb\nc\n"
    (let ((n 0))
      (should (eq 'file-error
                  (car (aqd-write-in-place-failing (lambda (_) (= 1 (cl-incf n)))))))
      (should (equal (aqd-disk) "a\nb\nc\n")))))

(ert-deftest aqd-write-failing-for-good-says-where-the-old-text-is ()
  (aqd-with-file "a\nb\nc\n"
    (let* ((err (aqd-write-in-place-failing
                 (lambda (name) (equal name aqd-file))))
           (copy (and (string-match "what it held is in \\(.*\\)\\'" (cadr err))
                      (match-string 1 (cadr err)))))
      (should (eq (car err) 'agent-q-diff-bad-target))
      (let ((aqd-file copy))
        (should (equal (aqd-disk) "a\nb\nc\n"))
        (should (= (file-modes copy) #o600)))
      (delete-file copy))))

(ert-deftest aqd-write-quit-leaves-the-old-file-whole ()
  (dolist (visit '(nil t))
    (aqd-with-file "a\nb\n"
      (when visit (aqd-visit))
      (should (eq 'quit (car (condition-case err
                                 (aqd-write-replace "b" "x" (lambda () (signal 'quit nil)))
                               (quit err)))))
      (should (equal (aqd-disk) "a\nb\n")))))

(ert-deftest aqd-write-asks-at-the-last-moment ()
  (dolist (visit '(nil t))
    (aqd-with-file "a\n"
      (when visit (aqd-visit))
      (should-error (aqd-write-replace "a" "b" (lambda () (error "Moved"))))
      (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-write-notices-another-writer ()
  (aqd-with-file "a\n"
    (should-error (aqd-write-replace "a" "b" (lambda () (aqd-put-bytes "z\n" aqd-file)))
                  :type 'agent-q-diff-bad-target)
    (should (equal (aqd-disk) "z\n")))
  ;; A buffer without unsaved edits has followed its file, where "a" is gone.
  (aqd-with-file "a\n"
    (aqd-visit)
    (aqd-put-bytes "z\n" aqd-file)
    (should-error (aqd-write-replace "a" "b") :type 'agent-q-diff-no-match)
    (should (equal (aqd-disk) "z\n")))
  (aqd-with-file "a\n"
    (with-current-buffer (aqd-visit)
      (insert "typed\n"))
    (aqd-put-bytes "z\n" aqd-file)
    (should-error (aqd-write-replace "a" "b") :type 'agent-q-diff-bad-target)
    (should (equal (aqd-disk) "z\n"))))

(ert-deftest aqd-write-visits-nothing ()
  (aqd-with-file ";; -*- mode: emacs-lisp; eval: (error \"Ran\") -*-\na\n"
    (let* ((ran nil)
           (find-file-hook (list (lambda () (setq ran t))))
           (after-insert-file-functions (list (lambda (size) (setq ran t) size)))
           (buffers (aqd-write-buffers)))
      (aqd-write-replace "a\n" "b\n")
      (should-not ran)
      (should (equal (aqd-write-buffers) buffers)))))

;;;; The buffer

(ert-deftest aqd-write-keeps-point-and-markers ()
  (aqd-with-file "one two three\nfour\nfive\n"
    (with-current-buffer (aqd-visit)
      (let ((in-one (copy-marker 2))
            (at-three (copy-marker 9))
            (in-five (copy-marker 21)))
        (goto-char 17)
        (aqd-write-replace "two" "2 and\nmore")
        (should (equal (buffer-string) "one 2 and\nmore three\nfour\nfive\n"))
        (should (looking-at-p "ur\nfive"))
        (should (= in-one 2))
        (should (string-prefix-p "three" (buffer-substring at-three (point-max))))
        (should (string-prefix-p "ive" (buffer-substring in-five (point-max))))))))

(ert-deftest aqd-write-touches-only-what-differs ()
  (aqd-with-file "(defun f ()\n  42)\n"
    (with-current-buffer (aqd-visit)
      (let ((marker (copy-marker 5)))
        (aqd-write-replace "(defun f ()\n  42)" "(defun f ()\n  \"Doc.\"\n  42)")
        (should (= marker 5))))))

(ert-deftest aqd-write-is-one-undo-step ()
  (aqd-with-file "a b a\n"
    (with-current-buffer (aqd-visit)
      (buffer-enable-undo)
      (goto-char (point-max))
      (insert "typed\n")
      (undo-boundary)
      (let ((live (agent-q-diff-live-read aqd-file)))
        (agent-q-diff-write live '((0 . 1) (4 . 5)) "xyz" #'ignore))
      (should (equal (buffer-string) "xyz b xyz\ntyped\n"))
      (undo-boundary)
      (undo)
      (should (equal (buffer-string) "a b a\ntyped\n")))))

(ert-deftest aqd-write-keeps-unsaved-edits ()
  (dolist (case '((always "typed\nx\n" nil) (if-clean "a\n" t) (never "a\n" t)))
    (pcase-let ((`(,agent-q-diff-save ,disk ,is-modified) case))
      (aqd-with-file "a\n"
        (with-current-buffer (aqd-visit)
          (insert "typed\n")
          (aqd-write-replace "a" "x")
          (should (equal (buffer-string) "typed\nx\n"))
          (should (equal (aqd-disk) disk))
          (should (eq (buffer-modified-p) is-modified)))))))

(ert-deftest aqd-write-reaches-outside-the-narrowed-part ()
  (aqd-with-file "a\nb\nc\n"
    (with-current-buffer (aqd-visit)
      (narrow-to-region 3 5)
      (aqd-write-replace "c" "x")
      (should (equal (buffer-string) "b\n"))
      (should (equal (aqd-disk) "a\nb\nx\n")))))

(ert-deftest aqd-write-refuses-a-read-only-buffer ()
  (aqd-with-file "a\n"
    (with-current-buffer (aqd-visit)
      (setq buffer-read-only t)
      (should-error (aqd-write-replace "a" "b") :type 'agent-q-diff-bad-target)
      (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-write-refuses-what-another-emacs-edits ()
  (aqd-with-file "a\n"
    (make-symbolic-link "somebody@elsewhere.1:1"
                        (expand-file-name ".#target.txt" (file-name-directory aqd-file)))
    (should-error (aqd-write-replace "a" "b") :type 'agent-q-diff-bad-target)
    (should (equal (aqd-disk) "a\n"))))

(ert-deftest aqd-write-makes-the-users-backup ()
  (aqd-with-file "a\n"
    (let ((backup-inhibited nil)
          (make-backup-files t))
      (with-current-buffer (aqd-visit)
        (setq-local backup-inhibited nil)
        (aqd-write-replace "a" "b"))
      (should (file-exists-p (concat aqd-file "~"))))))

(ert-deftest aqd-write-tells-that-a-hook-changed-more ()
  (aqd-with-file "a  \nb\n"
    (with-current-buffer (aqd-visit)
      (should-not (plist-get (aqd-write-replace "b" "c") :altered))
      (add-hook 'before-save-hook #'delete-trailing-whitespace nil t)
      (should (plist-get (aqd-write-replace "c" "d") :altered)))))

(provide 'agent-q-diff-live-test)
;;; agent-q-diff-live-test.el ends here
