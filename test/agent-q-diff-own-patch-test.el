;;; agent-q-diff-own-patch-test.el --- Patches of agents' own tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-own-patch)

;;;; The patch

(defvar aqd-own-patch-answers nil
  "What was answered, a list of (MESSAGE IS-ERROR VERDICT), newest first.")

(defun aqd-own-patch-file (name)
  "Return the absolute name of the file NAME beside the test's."
  (expand-file-name name (file-name-directory aqd-file)))

(defun aqd-own-patch-text (name)
  "Return the text of the file NAME, or nil if there is none."
  (let ((file (aqd-own-patch-file name)))
    (and (file-exists-p file)
         (with-temp-buffer
           (insert-file-contents file)
           (buffer-string)))))

(defun aqd-own-patch-arguments (lines &optional files)
  "Return the arguments of `decide_patch' for a patch of Codex's with LINES.
FILES are property lists for its files, or nil if Emacs has to apply it."
  (let ((arguments (make-hash-table :test #'equal)))
    (puthash "tool" "apply_patch" arguments)
    (puthash "call" "call-1" arguments)
    (puthash "session" "12345678-9abc" arguments)
    (puthash "diff" (concat "*** Begin Patch\n" (string-join lines "\n") "\n*** End Patch\n")
             arguments)
    (when files
      (puthash "files" (vconcat (mapcar #'aqd-own-patch-file-arguments files)) arguments))
    arguments))

(defun aqd-own-patch-file-arguments (file)
  "Return what `decide_patch' gets for FILE, a property list, with names relative."
  (let ((arguments (make-hash-table :test #'equal)))
    (puthash "encoding" "utf-8" arguments)
    (puthash "encoding_before" "utf-8" arguments)
    (cl-loop for (key value) on file by #'cddr
             do (puthash (string-replace "-" "_" (substring (symbol-name key) 1))
                         (if (memq key '(:path :to)) (aqd-own-patch-file value) value)
                         arguments))
    arguments))

(defun aqd-own-patch-request (lines &optional files)
  "Have the patch with LINES decided, and return its review.
FILES are as for `aqd-own-patch-arguments'."
  (agent-q-diff-own-patch-decide
   (aqd-own-patch-arguments lines files)
   (lambda (&rest answer) (push answer aqd-own-patch-answers))))

(defun aqd-own-patch-decide (&rest lines)
  "Have a patch of Codex's with LINES decided, which Emacs has to apply."
  (aqd-own-patch-request lines))

(defun aqd-own-patch-of-two (&optional other)
  "Have the patch of a line in the test's file, and of a new file OTHER, decided.
Emacs has to apply it."
  (aqd-own-patch-decide "*** Update File: target.txt" "@@" "-two" "+TWO"
                        (concat "*** Add File: " (or other "new.txt")) "+new"))

(defconst aqd-own-patch-lines
  '("*** Update File: target.txt" "@@" "-two" "+TWO" "*** Delete File: gone.txt"
    "*** Update File: old.txt" "*** Move to: renamed.txt" "@@" "-o" "+O"
    "*** Add File: new.txt" "+new")
  "Lines of a patch of all kinds.")

(defconst aqd-own-patch-files
  '((:path "target.txt" :original "one\ntwo\n" :modified "one\nTWO\n")
    (:path "gone.txt" :original "gone\n")
    (:path "old.txt" :to "renamed.txt" :original "o\n" :modified "O\n")
    (:path "new.txt" :modified "new\n"))
  "What the program says about the files of `aqd-own-patch-lines'.")

(defun aqd-own-patch-of-four (&optional files)
  "Have the patch with `aqd-own-patch-lines' decided, whose tool runs itself.
FILES is what the program says about them, by default `aqd-own-patch-files'."
  (aqd-own-patch-request aqd-own-patch-lines (or files aqd-own-patch-files)))

(defun aqd-own-patch-answer ()
  "Return the only answer."
  (should (= 1 (length aqd-own-patch-answers)))
  (car aqd-own-patch-answers))

(defun aqd-own-patch-message ()
  "Return the message of the only answer."
  (nth 0 (aqd-own-patch-answer)))

(defun aqd-own-patch-verdict (key)
  "Return KEY of the verdict of the only answer."
  (alist-get key (nth 2 (aqd-own-patch-answer))))

(defun aqd-own-patch-write (name text)
  "Give the file NAME beside the test's TEXT, or delete it if that is nil."
  (let ((file (aqd-own-patch-file name)))
    (if text
        (write-region text nil file nil 'silent)
      (delete-file file))))

(defun aqd-own-patch-check ()
  "Return what is said after the tool has run."
  (agent-q-diff-own-patch-check (agent-q-diff-own-agent-take "call-1")))

(defmacro aqd-own-patch-with-files (&rest body)
  "Run BODY with the test's files, as a call of Codex."
  (declare (indent 0) (debug t))
  `(aqd-with-file "one\ntwo\n"
     (let ((agent-q-diff-project-root (file-name-directory aqd-file))
           (agent-q-diff-caller (list "Codex"))
           (agent-q-diff-own-agent--decided nil)
           (aqd-own-patch-answers nil))
       (aqd-own-patch-write "gone.txt" "gone\n")
       (aqd-own-patch-write "old.txt" "o\n")
       (unwind-protect (progn ,@body)
         (agent-q-diff-revoke-grants))
       (aqd-should-leave-nothing))))

;;;; The tool writes

(ert-deftest aqd-own-patch-accepting-all-lets-the-tool-run-as-it-was-called ()
  (aqd-own-patch-with-files
    (aqd-in-diff (aqd-own-patch-of-four)
      (should (string-search "You decide what Codex's tool apply_patch (session 12345678) writes."
                             (buffer-string)))
      (agent-q-diff-accept-all))
    (should (equal "allow" (aqd-own-patch-verdict 'verdict)))
    ;; Nothing is claimed, and nothing written, before the tool has run.
    (should (equal "" (aqd-own-patch-message)))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (should (equal '("gone\n" "o\n" nil nil)
                   (mapcar #'aqd-own-patch-text '("gone.txt" "old.txt" "renamed.txt" "new.txt"))))
    (find-file-noselect aqd-file)
    (find-file-noselect (aqd-own-patch-file "old.txt"))
    (pcase-dolist (`(,name . ,text) '(("target.txt" . "one\nTWO\n") ("gone.txt") ("old.txt")
                                      ("renamed.txt" . "O\n") ("new.txt" . "new\n")))
      (aqd-own-patch-write name text))
    (should (string-match-p
             (rx bos "✓ Accepted: 4 of 4 files: target.txt 1 of 1 hunk, gone.txt deleted, "
                 "old.txt renamed to renamed.txt with 1 of 1 hunk, "
                 "new.txt created." eos)
             (aqd-own-patch-check)))
    ;; Buffers have followed.
    (should (equal "one\nTWO\n" (with-current-buffer (get-file-buffer aqd-file)
                                  (buffer-string))))
    (should-not (get-file-buffer (aqd-own-patch-file "old.txt")))
    (should (equal "O\n" (with-current-buffer (get-file-buffer
                                               (aqd-own-patch-file "renamed.txt"))
                           (buffer-string))))))

(ert-deftest aqd-own-patch-what-later-changed-a-file-and-what-it-declares-is-said ()
  (aqd-own-patch-with-files
    (let* ((before "# -*- coding: utf-8 -*-\n\u00e9\n")
           (after (string-replace "utf-8" "latin-1" before)))
      (aqd-own-patch-write "target.txt" before)
      (aqd-in-diff (aqd-own-patch-request '("*** Update File: target.txt" "@@" "-x" "+x")
                                          `((:path "target.txt" :original ,before
                                                   :modified ,after)))
        (should (string-search "With all hunks in, the file declares" (buffer-string)))
        (agent-q-diff-accept-all))
      (aqd-own-patch-write "target.txt" after)
      (should (string-search "WARNING: " (aqd-own-patch-check)))
      ;; A formatter follows.
      (aqd-own-patch-write "target.txt" (concat after "\n"))
      (let ((review (aqd-own-patch-request '("*** Update File: target.txt" "@@" "-x" "+x")
                                           `((:path "target.txt" :original ,(concat after "\n")
                                                    :modified "other\n")))))
        (aqd-in-diff review
          (should (string-search "has changed target.txt since"
                                 (replace-regexp-in-string "\n# *" " " (buffer-string)))))
        (agent-q-diff-cancel review)))))

(ert-deftest aqd-own-patch-a-part-is-what-the-tool-writes ()
  (aqd-own-patch-with-files
    (let ((review (aqd-own-patch-of-four)))
      ;; The line of target.txt, the rename without its line, and the new file.
      (dolist (hunk '(0 2 4))
        (agent-q-diff-accept review hunk))
      (dolist (hunk '(1 3))
        (agent-q-diff-reject review hunk))
      (agent-q-diff-end review))
    (should (equal "change" (aqd-own-patch-verdict 'verdict)))
    (should (equal [((there . t) (renamed . :false) (text . "one\nTWO\n"))
                    ((there . t) (renamed . :false))
                    ((there . t) (renamed . t))
                    ((there . t) (renamed . :false) (text . "new\n"))]
                   (aqd-own-patch-verdict 'files)))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (pcase-dolist (`(,name . ,text) '(("target.txt" . "one\nTWO\n") ("old.txt")
                                      ("renamed.txt" . "o\n") ("new.txt" . "new\n")))
      (aqd-own-patch-write name text))
    (should (string-match-p
             (rx bos "✓ Accepted in part: 3 of 4 files: target.txt 1 of 1 hunk, "
                 "gone.txt not deleted (rejected), "
                 "old.txt renamed to renamed.txt with 0 of 1 hunk (rejected: hunk 1), "
                 "new.txt created.")
             (aqd-own-patch-check)))))

(ert-deftest aqd-own-patch-a-file-that-is-not-as-decided-is-an-alarm ()
  (dolist (left '(("target.txt" . "one\ntwo\n") ("gone.txt" . "gone\n") ("old.txt" . "o\n")
                  ("renamed.txt" . "o\n") ("new.txt")))
    (aqd-own-patch-with-files
      (aqd-in-diff (aqd-own-patch-of-four)
        (agent-q-diff-accept-all))
      (pcase-dolist (`(,name . ,text) (cons left '(("target.txt" . "one\nTWO\n") ("gone.txt")
                                                   ("old.txt") ("renamed.txt" . "O\n")
                                                   ("new.txt" . "new\n"))))
        (unless (and (equal name (car left)) (not (eq text (cdr left))))
          (aqd-own-patch-write name text)))
      (let (warned)
        (cl-letf (((symbol-function 'display-warning)
                   (lambda (_ message &rest _) (setq warned message))))
          (should (string-match-p (format "\\`ALARM: \\S-+/%s is not what the user decided"
                                          (if (equal "renamed.txt" (car left)) "old.txt"
                                            (car left)))
                                  (aqd-own-patch-check))))
        (should (string-search "Codex's tool apply_patch left text in" warned))))))

(ert-deftest aqd-own-patch-the-bytes-of-a-file-are-compared ()
  (aqd-own-patch-with-files
    (let ((files '((:path "target.txt" :original "one\ntwo\n" :modified "one\nTWO\n"
                          :crlf t)
                   (:path "old.txt" :original "o\n" :modified "ö\n" :encoding "utf-8 with BOM"))))
      (cl-flet ((decide ()
                  (setq aqd-own-patch-answers nil)
                  (aqd-in-diff (aqd-own-patch-of-four files)
                    (agent-q-diff-accept-all))))
        (decide)
        (aqd-own-patch-write "target.txt" "one\r\nTWO\r\n")
        (aqd-own-patch-write "old.txt" "\ufeffö\n")
        (should (string-prefix-p "✓ Accepted" (aqd-own-patch-check)))
        (decide)
        (aqd-own-patch-write "target.txt" "one\nTWO\n")
        (should (string-search
                 "target.txt is not quite what you decided. Codex does not say"
                 (aqd-warned
                   (should (string-match-p
                            "/target\\.txt differs from what the user decided.*
?.*Only its line ends or its encoding differ"
                            (aqd-own-patch-check))))))))))

(ert-deftest aqd-own-patch-what-a-formatter-may-have-changed-is-said-with-the-difference ()
  (aqd-with-log-file
    (aqd-own-patch-with-files
      (aqd-in-diff (aqd-own-patch-of-four)
        (agent-q-diff-accept-all))
      (pcase-dolist (`(,name . ,text) '(("target.txt" . "one\n  TWO;\n") ("gone.txt") ("old.txt")
                                        ("renamed.txt" . "O\n") ("new.txt" . "new\n")))
        (aqd-own-patch-write name text))
      (let* (message
             (warned (aqd-warned (setq message (aqd-own-patch-check)))))
        (dolist (text (list message warned))
          (should (string-search "-TWO\n+  TWO;" text)))
        (should-not (string-search "ALARM" message))
        (should (string-search "It is not known whether apply_patch wrote that" message))
        (should (string-search "✓ Accepted: 4 of 4 files" message)))
      (should (equal "differs" (plist-get (car (agent-q-diff-log-entries 1)) :outcome))))))

(ert-deftest aqd-own-patch-what-the-user-refused-and-is-there-is-an-alarm ()
  (aqd-own-patch-with-files
    (let ((review (aqd-own-patch-of-four)))
      (dotimes (hunk 5)
        (if (= 0 hunk)
            (agent-q-diff-reject review hunk)
          (agent-q-diff-accept review hunk)))
      (agent-q-diff-end review))
    (should (equal "change" (aqd-own-patch-verdict 'verdict)))
    ;; Reformatted, too.
    (pcase-dolist (`(,name . ,text) '(("target.txt" . "one \n  TWO\n") ("gone.txt") ("old.txt")
                                      ("renamed.txt" . "O\n") ("new.txt" . "new\n")))
      (aqd-own-patch-write name text))
    (should (aqd-warned (should (string-prefix-p "ALARM: " (aqd-own-patch-check)))))))

(ert-deftest aqd-own-patch-what-was-accepted-and-not-run-is-said-when-the-agent-goes-on ()
  (aqd-with-log-file
    (aqd-own-patch-with-files
      (aqd-in-diff (aqd-own-patch-of-four)
        (agent-q-diff-accept-all))
      (should (string-match-p
               (concat "apply_patch " aqd-not-run ".*went on without")
               (aqd-warned (agent-q-diff-own-agent-went-on "12345678-9abc"))))
      (should (equal "not run" (plist-get (car (agent-q-diff-log-entries 1)) :outcome)))
      (should-not (aqd-warned (agent-q-diff-own-agent-went-on "12345678-9abc")))
      (agent-q-diff-own-agent-take "call-1"))))

(ert-deftest aqd-own-patch-rejecting-all-denies-with-the-reasons ()
  (aqd-own-patch-with-files
    (aqd-in-diff (aqd-own-patch-of-four)
      (agent-q-diff-reject-all))
    (should (equal "deny" (aqd-own-patch-verdict 'verdict)))
    (should (string-match-p "\\`✗ Rejected: the user declined the changes to 4 files\\. None of it"
                            (aqd-own-patch-message)))
    (should-not agent-q-diff-own-agent--decided)))

(ert-deftest aqd-own-patch-cancelling-denies-with-an-error ()
  (aqd-own-patch-with-files
    (let ((review (aqd-own-patch-of-four)))
      ;; What was accepted until then is in no file.
      (agent-q-diff-accept review 0)
      (agent-q-diff-cancel review))
    (should (equal "deny" (aqd-own-patch-verdict 'verdict)))
    (should (nth 1 (aqd-own-patch-answer)))
    (should (string-match-p
             "\\`Error: there is no decision about 4 files: .*\n
apply_patch was not run, and none of it is in the files\\.\\'"
             (aqd-own-patch-message)))))

(ert-deftest aqd-own-patch-cancelling-names-the-only-file ()
  (aqd-own-patch-with-files
    (agent-q-diff-cancel (aqd-own-patch-request '("*** Delete File: gone.txt")
                                                '((:path "gone.txt" :original "gone\n"))))
    (should (string-match-p "\\`Error: there is no decision about [^ ]*gone\\.txt: "
                            (aqd-own-patch-message)))))

(ert-deftest aqd-own-patch-comments-on-a-cancelled-patch-name-their-files ()
  (aqd-own-patch-with-files
    (let ((review (aqd-own-patch-of-four)))
      (aqd-in-diff review
        (let ((inhibit-message t))
          (pcase-dolist (`(,hunk . ,comment) '((1 . "needed") (3 . "keep it")))
            (agent-q-diff-buffer-goto-hunk hunk)
            (agent-q-diff-comment-hunk comment))))
      (agent-q-diff-cancel review))
    (should (string-suffix-p "
apply_patch was not run, and none of it is in the files.
The user says of gone.txt: needed
The user says of hunk 1 of old.txt: keep it" (aqd-own-patch-message)))))

(ert-deftest aqd-own-patch-what-the-user-typed-meanwhile-is-not-lost ()
  (aqd-own-patch-with-files
    (let ((review (aqd-own-patch-of-four)))
      (with-current-buffer (find-file-noselect aqd-file)
        (insert "typed\n"))
      (should (string-match-p
               (concat "\\`Codex's tool apply_patch " aqd-not-run
                       "/[^:]*, [^:]*: one of them was edited in Emacs meanwhile, and not saved\\'")
               (aqd-warned (aqd-in-diff review (agent-q-diff-accept-all))))))
    (should (equal "deny" (aqd-own-patch-verdict 'verdict)))
    (should (string-search "the user has edited a file of it in Emacs meanwhile"
                           (aqd-own-patch-message)))
    (with-current-buffer (get-file-buffer aqd-file)
      (set-buffer-modified-p nil))))

(ert-deftest aqd-own-patch-emacs-writes-if-a-file-has-unsaved-edits ()
  (aqd-own-patch-with-files
    (with-current-buffer (find-file-noselect aqd-file)
      (goto-char (point-max))
      (insert "typed\n"))
    (aqd-in-diff (aqd-own-patch-of-four)
      (should (string-search "A file has unsaved edits: Emacs writes what you decide"
                             (buffer-string)))
      (agent-q-diff-accept-all))
    (should (equal "deny" (aqd-own-patch-verdict 'verdict)))
    (should (string-prefix-p "The patch was not run: the user has unsaved edits in a file, so \
Emacs wrote what the user accepted, in all files at once.\n✓ Accepted" (aqd-own-patch-message)))
    (should (equal '(nil nil "O\n" "new\n")
                   (mapcar #'aqd-own-patch-text '("gone.txt" "old.txt" "renamed.txt" "new.txt"))))
    (with-current-buffer (get-file-buffer aqd-file)
      (should (equal "one\nTWO\ntyped\n" (buffer-string)))
      (set-buffer-modified-p nil))))

(ert-deftest aqd-own-patch-a-shell-command-is-always-reviewed ()
  ;; The agent chooses its directory, and so what would be the project.
  (aqd-own-patch-with-files
    (let* ((agent-q-diff-tools-policy 'allow)
           (agent-q-diff-display 'announce)
           (arguments (aqd-own-patch-arguments aqd-own-patch-lines)))
      (puthash "shell" t arguments)
      (aqd-in-diff (agent-q-diff-own-patch-decide arguments #'ignore)
        (should (string-match-p "^# Note: The agent chose the directory of this shell command: /"
                                (buffer-string)))
        (should-not agent-q-diff-own-tool-mode)
        (agent-q-diff-cancel agent-q-diff-buffer-review))
      (should (equal (aqd-disk) "one\ntwo\n")))))

(ert-deftest aqd-own-patch-a-mistake-in-a-patch-is-no-dead-end ()
  (pcase-dolist
      (`(,reason . ,lines)
       '(("target\\.txt: line 3 of the patch: the file has no such lines there, beginning with \"no\""
          "*** Update File: target.txt" "@@" "-no" "+x" "*** Delete File: gone.txt")
         ("missing\\.txt does not exist" "*** Update File: missing.txt" "@@" "-no" "+x")
         ("missing\\.txt does not exist" "*** Delete File: missing.txt")
         ("target\\.txt has two sections in the patch; give each file one"
          "*** Update File: target.txt" "@@" "-two" "+TWO"
          "*** Update File: target.txt" "@@" "-one" "+ONE")))
    (aqd-own-patch-with-files
      (let ((agent-q-diff-display 'announce))
        (apply #'aqd-own-patch-decide lines))
      (should (string-match-p
               (concat "\\`The patch was not run.*\n?.*" reason
                       "\\. Read the files, and send another patch\\.\\'")
               (aqd-own-patch-message)))
      ;; An error would be answered with what the user can do.
      (should-not (nth 1 (aqd-own-patch-answer)))
      (should (equal "deny" (aqd-own-patch-verdict 'verdict))))))

(ert-deftest aqd-own-patch-emacs-writes-what-the-tool-cannot ()
  (aqd-own-patch-with-files
    (let ((review (aqd-own-patch-of-four)))
      (dolist (hunk '(1 2 4))
        (agent-q-diff-accept review hunk))
      (agent-q-diff-reject review 0)
      (agent-q-diff-reject review 3)
      (agent-q-diff-end review))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (let ((message (agent-q-diff-own-patch-write (agent-q-diff-own-agent-take "call-1"))))
      (should (string-prefix-p "apply_patch was not run, since it cannot write what the user \
decided; Emacs wrote it, in all files at once.\n✓ Accepted in part: 3 of 4 files: " message)))
    (should (equal '("one\ntwo\n" nil nil "o\n" "new\n")
                   (mapcar #'aqd-own-patch-text '("target.txt" "gone.txt" "old.txt" "renamed.txt"
                                                  "new.txt"))))))

(ert-deftest aqd-own-patch-emacs-does-not-write-over-what-others-wrote ()
  (aqd-own-patch-with-files
    (let ((review (aqd-own-patch-of-four)))
      (agent-q-diff-accept review 0)
      (agent-q-diff-accept review 1)
      (agent-q-diff-reject review 2)
      (agent-q-diff-end review))
    (aqd-own-patch-write "target.txt" "other\n")
    (should-error (agent-q-diff-own-patch-write (agent-q-diff-own-agent-take "call-1"))
                  :type 'agent-q-diff-bad-target)
    (should (equal (aqd-disk) "other\n"))
    (should (equal "gone\n" (aqd-own-patch-text "gone.txt")))))

(ert-deftest aqd-own-patch-an-allowed-one-is-not-shown ()
  (aqd-own-patch-with-files
    (let ((agent-q-diff-tools-policy 'allow))
      (should-not (aqd-own-patch-of-four))
      (should (equal "allow" (aqd-own-patch-verdict 'verdict)))
      (pcase-dolist (`(,name . ,text) '(("target.txt" . "one\nTWO\n") ("gone.txt") ("old.txt")
                                        ("renamed.txt" . "O\n") ("new.txt" . "new\n")))
        (aqd-own-patch-write name text))
      (let (told)
        (should (equal "Codex edited 4 files, by your settings"
                       (aqd-said (setq told (aqd-own-patch-check)))))
        (should (equal "" told))))))

(ert-deftest aqd-own-patch-that-changes-nothing-is-not-shown ()
  (aqd-own-patch-with-files
    (should-not (aqd-own-patch-request
                 aqd-own-patch-lines
                 '((:path "target.txt" :original "one\ntwo\n" :modified "one\ntwo\n"))))
    (should (equal "allow" (aqd-own-patch-verdict 'verdict)))
    (should (equal "" (aqd-own-patch-check)))))

(ert-deftest aqd-own-patch-that-changes-nothing-is-allowed-beside-unsaved-edits ()
  (aqd-own-patch-with-files
    (with-current-buffer (find-file-noselect aqd-file)
      (insert "typed\n")
      (should-not (aqd-own-patch-request
                   aqd-own-patch-lines
                   '((:path "target.txt" :original "one\ntwo\n" :modified "one\ntwo\n"))))
      (set-buffer-modified-p nil))
    (should (equal "allow" (aqd-own-patch-verdict 'verdict)))))

(ert-deftest aqd-own-patch-a-refused-file-is-named ()
  (aqd-own-patch-with-files
    (make-directory (aqd-own-patch-file ".git"))
    (pcase-let ((`(,_ ,text) (should-error
                              (aqd-own-patch-of-four
                               (append aqd-own-patch-files
                                       '((:path ".git/config" :modified "x\n"))))
                              :type 'agent-q-diff-forbidden)))
      (should (string-search ".git/config" text)))))

(ert-deftest aqd-own-patch-of-which-one-file-changes-is-decided-as-well ()
  (aqd-own-patch-with-files
    (aqd-in-diff (aqd-own-patch-request
                  aqd-own-patch-lines
                  '((:path "target.txt" :original "one\ntwo\n" :modified "ONE\ntwo\n")
                    (:path "gone.txt" :original "gone\n" :modified "gone\n")))
      (agent-q-diff-accept-all))
    (should (equal "allow" (aqd-own-patch-verdict 'verdict)))
    (aqd-own-patch-write "target.txt" "ONE\ntwo\n")
    (should (string-match-p "\\`✓ Accepted: the change is in .*target.txt, which is saved"
                            (aqd-own-patch-check)))))

(ert-deftest aqd-own-patch-the-guard-looks-at-what-the-tool-would-write ()
  (aqd-own-patch-with-files
    (make-directory (aqd-own-patch-file ".git"))
    (should-error (aqd-own-patch-request
                   ;; The patch calls it otherwise, as from another directory.
                   '("*** Add File: config" "+x") '((:path ".git/config" :modified "x\n")))
                  :type 'agent-q-diff-forbidden)
    (should-not aqd-own-patch-answers)
    (let (review)
      (setq review (aqd-own-patch-request
                    '("*** Add File: new.txt" "+x" "*** Delete File: gone.txt")
                    '((:path "sub/new.txt" :modified "x\n")
                      (:path "gone.txt" :original "gone\n"))))
      ;; Another program makes a link of the directory meanwhile.
      (make-symbolic-link (aqd-own-patch-file ".git") (aqd-own-patch-file "sub"))
      (should-error (agent-q-diff-accept review 0))
      (agent-q-diff-cancel review)
      (delete-file (aqd-own-patch-file "sub")))))

(ert-deftest aqd-own-patch-refuses-what-is-no-request ()
  (aqd-own-patch-with-files
    (let ((arguments (aqd-own-patch-arguments aqd-own-patch-lines)))
      (remhash "call" arguments)
      (should-error (agent-q-diff-own-patch-decide arguments #'ignore)
                    :type 'agent-q-diff-bad-arguments))))

(defun aqd-own-patch-swap (file)
  "Make FILE, one of a patch, a link out of the directory; others keep theirs."
  (let ((name (aqd-own-patch-file file))
        (outside (make-temp-file "agent-q-diff-outside")))
    (when (file-exists-p name)
      (copy-file name outside t)
      (delete-file name))
    (make-symbolic-link outside name)
    outside))

(ert-deftest aqd-own-patch-a-file-that-leads-elsewhere-by-the-verdict-is-denied ()
  (dolist (file '("target.txt" "gone.txt" "old.txt" "renamed.txt" "new.txt"))
    (ert-info (file)
      (aqd-own-patch-with-files
        (let ((review (aqd-own-patch-of-four))
              outside)
          (unwind-protect
              (progn
                (dolist (hunk (number-sequence 0 4))
                  (agent-q-diff-accept review hunk))
                (setq outside (aqd-own-patch-swap file))
                (should (string-match-p (concat "tool apply_patch " aqd-not-run)
                                        (aqd-warned (agent-q-diff-end review)))))
            (when outside
              (delete-file outside))))
        (should (equal "deny" (aqd-own-patch-verdict 'verdict)))
        (should (string-match-p
                 (format "\\`Error: apply_patch was not run: .*%s.*None of it is in the files"
                         (regexp-quote file))
                 (aqd-own-patch-message)))))))

(ert-deftest aqd-own-patch-a-file-that-leads-elsewhere-after-the-verdict-is-an-alarm ()
  (dolist (file '("target.txt" "new.txt" "renamed.txt"))
    (ert-info (file)
      (aqd-own-patch-with-files
        (aqd-in-diff (aqd-own-patch-of-four)
          (agent-q-diff-accept-all))
        (should (equal "allow" (aqd-own-patch-verdict 'verdict)))
        (pcase-dolist (`(,name . ,text) '(("target.txt" . "one\nTWO\n") ("gone.txt") ("old.txt")
                                          ("renamed.txt" . "O\n") ("new.txt" . "new\n")))
          (aqd-own-patch-write name text))
        (let ((outside (aqd-own-patch-swap file)))
          (unwind-protect
              (should (string-match-p
                       "may have written another file"
                       (aqd-warned
                         (should (string-match-p
                                  (concat "\\`ALARM: apply_patch may have written another file .*"
                                          (if (equal file "renamed.txt") "old\\.txt"
                                            (regexp-quote file)))
                                  (aqd-own-patch-check))))))
            (delete-file outside)))))))

;;;; Emacs writes

(ert-deftest aqd-own-patch-says-who-writes-and-what-became-of-it ()
  (aqd-own-patch-with-files
    (aqd-in-diff (aqd-own-patch-of-two)
      (should (string-search
               "Emacs writes what you decide, in all files at once; Codex's tool apply_patch \
(session 12345678) is not run."
               (buffer-string)))
      (agent-q-diff-accept-all))
    (should (string-match-p
             "\\`The patch was not run: Emacs wrote what the user accepted, in all files at once\\.\n✓ Accepted"
             (aqd-own-patch-message)))
    (should (equal (aqd-disk) "one\nTWO\n"))
    (should (equal (aqd-own-patch-text "new.txt") "new\n"))))

(ert-deftest aqd-own-patch-that-is-rejected-claims-nothing ()
  (aqd-own-patch-with-files
    (aqd-in-diff (aqd-own-patch-of-two)
      (agent-q-diff-reject-all))
    (should (string-match-p "\\`The patch was not run\\.\n✗ Rejected" (aqd-own-patch-message)))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (should-not (aqd-own-patch-text "new.txt"))))

(ert-deftest aqd-own-patch-is-made-without-asking-after-a-grant ()
  (aqd-own-patch-with-files
    (aqd-in-diff (aqd-own-patch-of-two)
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (agent-q-diff-allow-agent)))
    (setq aqd-own-patch-answers nil)
    (let (said)
      (setq said (aqd-said (aqd-own-patch-decide "*** Update File: target.txt" "@@" "-one" "+ONE"
                                                 "*** Delete File: new.txt")))
      (should (equal said "Codex edited 2 files, by your grant")))
    (should (string-search "✓ Accepted" (aqd-own-patch-message)))
    (should (equal (aqd-disk) "ONE\nTWO\n"))
    (should-not (aqd-own-patch-text "new.txt"))))

(ert-deftest aqd-own-patch-with-a-protected-file-is-shown-all-the-same ()
  (aqd-own-patch-with-files
    (let ((agent-q-diff-tools-policy 'allow))
      (aqd-in-diff (aqd-own-patch-of-two ".env")
        (should (string-search "PROTECTED" (buffer-string)))
        (should-not agent-q-diff-own-tool-mode)
        (should (equal (aqd-disk) "one\ntwo\n"))
        (agent-q-diff-reject-all)))))

(ert-deftest aqd-own-patch-that-the-policy-denies-is-not-shown ()
  (aqd-own-patch-with-files
    (let ((agent-q-diff-tools-policy 'deny))
      (should-not (aqd-own-patch-of-two)))
    (should (string-prefix-p "The patch was not run.\n" (aqd-own-patch-message)))
    (should (equal (aqd-disk) "one\ntwo\n"))))

(ert-deftest aqd-own-patch-of-which-a-part-does-not-apply-is-never-made-without-asking ()
  (aqd-own-patch-with-files
    (let ((agent-q-diff-tools-policy 'allow))
      (should (string-search
               "Error"
               (condition-case err
                   (progn (aqd-own-patch-decide "*** Update File: target.txt" "@@" "-gone" "+GONE"
                                                "*** Add File: new.txt" "+new")
                          (aqd-own-patch-message))
                 (error (concat "Error: " (error-message-string err)))))))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (should-not (aqd-own-patch-text "new.txt"))))

(provide 'agent-q-diff-own-patch-test)
;;; agent-q-diff-own-patch-test.el ends here
