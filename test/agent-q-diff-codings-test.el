;;; agent-q-diff-codings-test.el --- Files that Emacs reads in another way than their bytes say  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A file's text, its name, its folder or the user can have Emacs show something else
;; than the lines that an agent has written.  What is decided about it is carried out
;; exactly all the same.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-git-help)

(defun aqd-codings-lines (&rest edits)
  "Return lines of a file, some not ASCII; EDITS are as for `aqd-numbered'."
  (aqd-numbered 20 (append edits '((9 . "nine é ü")))))

(defconst aqd-codings-edits '((4 . "four é") (15 . "fifteen"))
  "What an agent makes of lines, two hunks.")

(defun aqd-codings-ascii (&rest edits)
  "Return lines of a file, all ASCII; EDITS are as for `aqd-numbered'."
  (aqd-numbered 20 edits))

(defconst aqd-codings-kinds
  (let ((old (aqd-codings-lines))
        (new (apply #'aqd-codings-lines aqd-codings-edits)))
    (append
     ;; What the text says.
     (mapcar (lambda (cookie)
               (let ((line (format "# -*- %s -*-\n" cookie)))
                 (list cookie "x.txt" (concat line old) (concat line new))))
             '("coding: utf-16" "coding: utf-16le" "coding: utf-7" "coding: utf-8-with-signature"
               "coding: utf-8-dos" "coding: latin-1" "coding: no-conversion"
               "coding: iso-2022-jp" "coding: us-ascii" "mode: hexl"))
     `(("a cookie for ASCII" "x.txt"
        ,(concat "# -*- coding: utf-16 -*-\n" (aqd-codings-ascii))
        ,(concat "# -*- coding: utf-16 -*-\n" (aqd-codings-ascii '(4 . "four"))))
       ("a cookie that is new" "x.txt" ,old ,(concat "# -*- coding: utf-16 -*-\n" new))
       ("a cookie that is gone" "x.txt" ,(concat "# -*- coding: utf-16 -*-\n" old) ,new)
       ("local variables" "x.txt"
        ,(concat old "# Local Variables:\n# coding: utf-16\n# End:\n")
        ,(concat new "# Local Variables:\n# coding: utf-16\n# End:\n"))
       ("an XML declaration" "x.xml"
        ,(concat "<?xml version=\"1.0\" encoding=\"utf-16\"?>\n" old)
        ,(concat "<?xml version=\"1.0\" encoding=\"utf-16\"?>\n" new))
       ("rich text" "x.txt"
        ,(concat "Content-Type: text/enriched\nText-Width: 70\n\n" old)
        ,(concat "Content-Type: text/enriched\nText-Width: 70\n\n" new))
       ;; What its name says.
       ,@(mapcar (lambda (name) (list name name old new))
                 '("x.elc" "x.utf")))))
  "Each (WHAT NAME BEFORE AFTER): the lines of a file, written as UTF-8.")

(defmacro aqd-codings-each (kinds &rest body)
  "Run BODY for each of KINDS, in a repository in which it is pending.
WHAT, NAME, BEFORE and AFTER are as in `aqd-codings-kinds'.  Of every other of
KINDS, the file is visited."
  (declare (indent 1) (debug t))
  `(aqd-with-repository
     (let ((is-visited nil))
       (pcase-dolist (`(,what ,name ,before ,after) ,kinds)
         (setq is-visited (not is-visited))
         (ert-info ((format "%s%s" what (if is-visited ", visited" "")))
           (aqd-pending-put name before)
           (aqd-said (agent-q-diff-mark-reviewed))
           (when is-visited
             (aqd-codings-visit name))
           (aqd-pending-put name after)
           ,@body
           (should-not (aqd-pending-files))
           (when-let ((buffer (find-buffer-visiting (aqd-pending-name name))))
             (should-not (buffer-modified-p buffer))
             (kill-buffer buffer)))))))

(defun aqd-codings-visit (name)
  "Visit the file NAME as the user does."
  (let ((inhibit-message t)
        (enable-local-variables :all))
    (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
      (find-file-noselect (aqd-pending-name name) t))))

(defun aqd-codings-do-all (key)
  "Decide each hunk by KEY."
  (dotimes (hunk (length agent-q-diff-buffer-positions))
    (aqd-pending-do key hunk)))

(ert-deftest aqd-codings-what-is-kept-stays-byte-by-byte ()
  ;; Here, the others are visited.
  (aqd-codings-each (cons (car aqd-codings-kinds) aqd-codings-kinds)
    (aqd-with-pending
      (aqd-codings-do-all #'agent-q-diff-accept-hunk))
    (should (equal after (aqd-pending-has name)))))

(ert-deftest aqd-codings-what-is-taken-out-is-as-it-was-byte-by-byte ()
  (aqd-codings-each aqd-codings-kinds
    (aqd-with-pending
      (aqd-codings-do-all #'agent-q-diff-reject-hunk)
      (dotimes (_ (length agent-q-diff-buffer-positions))
        (aqd-said (agent-q-diff-undo)))
      (should (equal after (aqd-pending-has name)))
      (aqd-codings-do-all #'agent-q-diff-reject-hunk))
    (should (equal before (aqd-pending-has name)))))

;;;; How its user, or a setting, reads it

(defun aqd-codings-visit-in (coding)
  "Return a function that visits a file in CODING, as by `C-x RET c'."
  (lambda (name)
    (let ((coding-system-for-read coding))
      (aqd-codings-visit name))))

(defconst aqd-codings-ways
  `(,@(mapcar (lambda (coding)
                (cons (format "visited in %s" coding) (aqd-codings-visit-in coding)))
              '(latin-1-unix utf-16le utf-8-dos no-conversion iso-2022-jp))
    ("visited literally" . find-file-literally)
    ("in hexl mode" . ,(lambda (name)
                         (with-current-buffer (aqd-codings-visit name)
                           (hexl-mode)
                           (current-buffer))))
    ("a hook chooses a coding" . ,(lambda (name)
                                    (let ((find-file-hook
                                           (list (lambda ()
                                                   (set-buffer-file-coding-system
                                                    'utf-8-dos t t)))))
                                      (aqd-codings-visit name))))
    ("by its name" . ,(lambda (name)
                        (let ((file-coding-system-alist '(("" . utf-16le))))
                          (aqd-codings-visit name)))))
  "Alist from ways in which a user visits a file to functions that do that.")

(defconst aqd-codings-changes
  (let ((old (aqd-codings-lines))
        (new (apply #'aqd-codings-lines aqd-codings-edits)))
    (cl-flet ((bytes (text coding) (encode-coding-string text coding)))
      `(("lines" ,(bytes old 'utf-8) ,(bytes new 'utf-8))
        ("lines of Latin-1" ,(bytes old 'latin-1-unix) ,(bytes new 'latin-1-unix))
        ("lines and their ends" ,(bytes old 'utf-8-unix) ,(bytes new 'utf-8-dos))
        ("lines and the coding" ,(bytes old 'latin-1-unix) ,(bytes new 'utf-8-unix))
        ("a mark" ,(bytes old 'utf-8-unix) ,(bytes old 'utf-8-with-signature-unix)))))
  "Each (WHAT BEFORE AFTER), bytes of a file.")

(defun aqd-codings-bytes ()
  "Return the bytes of x.txt."
  (aqd-bytes-of (aqd-pending-name "x.txt")))

(defmacro aqd-codings-each-way (&rest body)
  "Run BODY in a review for each way to visit x.txt and each change of it.
BEFORE and AFTER are its bytes.  Its buffer is unmodified afterwards."
  (declare (indent 0) (debug t))
  `(aqd-with-repository
     (random "codings")
     (pcase-dolist (`(,how . ,visit) aqd-codings-ways)
       ;; Each way meets two of them, and each of them most ways.
       (pcase-dolist (`(,what ,before ,after)
                      (list (seq-random-elt aqd-codings-changes)
                            (seq-random-elt aqd-codings-changes)))
         (ert-info ((format "%s, %s" what how))
           (aqd-put-bytes before (aqd-pending-name "x.txt"))
           (aqd-said (agent-q-diff-mark-reviewed))
           (let ((buffer (funcall visit (aqd-pending-name "x.txt"))))
             (aqd-put-bytes after (aqd-pending-name "x.txt"))
             (aqd-with-pending ,@body)
             (should-not (aqd-pending-files))
             (should-not (buffer-modified-p buffer))
             (kill-buffer buffer)))))))

(ert-deftest aqd-codings-what-is-kept-stays-however-it-is-visited ()
  (aqd-codings-each-way
    (aqd-codings-do-all #'agent-q-diff-accept-hunk)
    (should (equal after (aqd-codings-bytes)))))

(ert-deftest aqd-codings-what-is-taken-out-is-as-it-was-however-it-is-visited ()
  (aqd-codings-each-way
    (let ((said ""))
      (dotimes (hunk (length agent-q-diff-buffer-positions))
        (setq said (concat said (aqd-pending-do #'agent-q-diff-reject-hunk hunk))))
      (should-not (string-search "on disk" said))
      (should (equal before (aqd-codings-bytes))))
    (dotimes (_ (length agent-q-diff-buffer-positions))
      (aqd-said (agent-q-diff-undo)))
    (should (equal after (aqd-codings-bytes)))
    (aqd-said (agent-q-diff-reject-all t))
    (should (equal before (aqd-codings-bytes)))))

(provide 'agent-q-diff-codings-test)
;;; agent-q-diff-codings-test.el ends here
