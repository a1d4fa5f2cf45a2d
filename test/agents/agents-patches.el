;;; agents-patches.el --- Patches of several files, by any agent  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tests that all agents share whose tools apply patches in Codex's format.

;;; Code:

(require 'agents-models)

;;;; The patch

(defconst agents-patches-lines
  '("*** Update File: a.txt" "-line 5" "+LINE 5" "@@" "-line 25" "+LINE 25"
    "*** Delete File: gone.txt" "*** Update File: old.txt" "*** Move to: sub/new.txt"
    "@@" "-two" "+TWO" "*** Add File: made.txt" "+made")
  "Lines of a patch of several files.
opencode by itself would skip the chunk that does not begin with \"@@\".")

(defun agents-patches-write-files ()
  "Write the files that `agents-patches-lines' changes."
  (agents-put "a.txt" (e2e-text))
  (agents-put "gone.txt" "gone\n")
  (agents-put "old.txt" "one\ntwo\n"))

(defun agents-patches-files ()
  "Return the bytes of all files that the patch of several files may leave."
  (mapcar #'agents-bytes '("a.txt" "gone.txt" "old.txt" "sub/new.txt" "made.txt")))

;;;; The tests

(defun agents-patches-all (start)
  "Accept all of a patch; START is as in `agents-define-patches'."
  (agents-patches--start start)
  (agents-decide "4 files" "C-c C-c")
  (agents-should-read (agents-end)
                      "✓ Accepted: 4 of 4 files: a.txt 2 of 2 hunks, gone.txt deleted, \
old.txt renamed to sub/new.txt with 1 of 1 hunk, made.txt created\\.")
  (should (equal (agents-patches-files)
                 (list (e2e-text 5 25) nil nil "one\nTWO\n" "made\n"))))

(defun agents-patches-part (start)
  "Accept a part of a patch; START is as in `agents-define-patches'."
  (agents-patches--start start)
  ;; The second hunk of a.txt, not the deletion, the rename without its line, not the new file.
  (agents-decide "4 files" "r a r a r r q")
  (agents-should-read (agents-end)
                      "✓ Accepted in part: 2 of 4 files: a.txt 1 of 2 hunks (rejected: hunk 1), \
gone.txt not deleted (rejected), old.txt renamed to sub/new.txt with 0 of 1 hunk (rejected: \
hunk 1), made.txt not created (rejected)\\.")
  (should (equal (agents-patches-files)
                 (list (e2e-text 25) "gone\n" nil "one\ntwo\n" nil))))

(defun agents-patches-none (start)
  "Reject a patch with a reason; START is as in `agents-define-patches'."
  (agents-patches--start start)
  (agents-decide "4 files" "C k e e p SPC a l l RET C-c C-k")
  (agents-should-read (agents-end) "✗ Rejected" "keep all")
  (should (equal (agents-patches-files)
                 (list (e2e-text) "gone\n" "one\ntwo\n" nil nil))))

(defun agents-patches-unsaved (start)
  "Accept a patch while a file is not saved.
START is as in `agents-define-patches'."
  (agents-patches-write-files)
  (e2e-eval `(with-current-buffer (find-file-noselect ,(agents-project "a.txt"))
               (goto-char (point-max))
               (insert "typed\n")))
  (funcall start (list (cdr (apply #'agents-codex-patch agents-patches-lines))))
  (agents-decide "4 files" "C-c C-c")
  (agents-should-read (agents-end)
                      "the user has unsaved edits in a file, so Emacs wrote what the user accepted"
                      "✓ Accepted")
  (should (equal (agents-patches-files)
                 (list (e2e-text) nil nil "one\nTWO\n" "made\n"))))

(defun agents-patches--start (start)
  "Write the files of the patch, and call START with it."
  (agents-patches-write-files)
  (funcall start (list (cdr (apply #'agents-codex-patch agents-patches-lines)))))

(defmacro agents-define-patches (client start)
  "Define the tests of CLIENT's patches of several files.
START is called with a list of patches, and starts CLIENT with a model that
has its tool apply them, one after the other."
  `(progn
     ,@(mapcar (lambda (test)
                 `(ert-deftest ,(intern (format "agents-%s-patches-%s" client test)) ()
                    (agents-with-emacs ,client
                      (,(intern (format "agents-patches-%s" test)) ,start))))
               '(all part none unsaved))
     (ert-deftest ,(intern (format "agents-%s-models-patches" client)) ()
       (agents-with-emacs ,client (agents-models-run-patches ,start)))))

(provide 'agents-patches)
;;; agents-patches.el ends here
