;;; opencode-test.el --- Edits of opencode, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; See agents-tools.el and agents-matrix.el.  opencode runs a plugin of ours, not a
;; hook.

;;; Code:

(require 'agents-matrix)
(require 'agents-models)
(require 'agents-patches)
(require 'agents-turns)
(require 'agents-rounds)
(require 'agents-ends)

(agents-define-matrix "opencode")

(agents-define-turns "opencode")

(agents-define-rounds "opencode")

(agents-define-interruption "opencode")

(agents-define-models "opencode")

(ert-deftest agents-opencode-dollars-are-no-patterns ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" "x = 1\nx = 1\n")
    (let ((file (agents-project "a.txt")))
      (agents-start "opencode" `("read" (filePath . ,file))
                    `("edit" (filePath . ,file) (oldString . "1") (newString . "$& $$")
                      (replaceAll . t))))
    (agents-decide "a.txt" "C-c C-c")
    (agents-should-read (agents-end) "✓ Accepted: .* in .*/a\\.txt, which is saved")
    (should (equal (agents-bytes "a.txt") "x = $& $$\nx = $& $$\n"))))

(defun agents-opencode-start-at-once (name &rest replacements)
  "Start opencode, whose model reads the file NAME and makes REPLACEMENTS at once.
Each is (OLD . NEW)."
  (let* ((file (agents-project name))
         (edits (mapcar (pcase-lambda (`(,old . ,new))
                          `("edit" (filePath . ,file) (oldString . ,old) (newString . ,new)))
                        replacements)))
    (apply #'agents-start "opencode" `("read" (filePath . ,file)) (car edits)
           (mapcar (apply-partially #'cons :at-once) (cdr edits)))))

(ert-deftest agents-opencode-edits-of-a-file-at-once-come-one-after-the-other ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (agents-opencode-start-at-once "a.txt" '("line 5\n" . "LINE 5\n") '("line 6\n" . "LINE 6\n")
                                   '("line 20\n" . "LINE 20\n"))
    (agents-go "a.txt")
    (e2e-see "\\[1 review, 2 waiting\\]")
    (should (= 1 (e2e-eval '(length (agent-q-diff-open-reviews)))))
    ;; Whichever comes first, the next is of what it leaves.
    (dolist (keys '("C-c C-c" "C-c C-c" "C-c C-k"))
      (agents-go "a.txt")
      (e2e-press keys)
      (e2e-wait-for (= (if (equal keys "C-c C-k") 0 1)
                       (e2e-eval '(length (agent-q-diff-open-reviews))))))
    (let ((told (agents-end)))
      (should (= 2 (seq-count (apply-partially #'string-prefix-p "✓ Accepted: ") told)))
      (should (= 1 (seq-count (apply-partially #'string-prefix-p "✗ Rejected: ") told)))
      (should-not (seq-find (apply-partially #'string-match-p "ALARM\\|was changed while") told)))
    (let ((case-fold-search nil))
      (should (= 3 (length (split-string (agents-bytes "a.txt") "LINE")))))))

(ert-deftest agents-opencode-an-edit-that-no-longer-applies-is-to-be-made-anew ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (agents-opencode-start-at-once "a.txt" '("line 5\n" . "LINE 5\n") '("line 5\n" . "Line 5\n"))
    (agents-go "a.txt")
    (e2e-see "\\[1 review, 1 waiting\\]")
    (e2e-press "C-c C-c")
    (let ((told (agents-end)))
      (agents-should-be-told told "✓ Accepted: the change is in %s, which is saved." "a.txt")
      (agents-should-read told "An earlier edit was decided first: read the file, and make your \
edit anew\\'"))
    (should (member (agents-bytes "a.txt")
                    (mapcar (lambda (line) (string-replace "line 5\n" line (e2e-text)))
                            '("LINE 5\n" "Line 5\n"))))))

;; opencode asks nobody here, so it refuses what its own rules want to be asked about.
(ert-deftest agents-opencode-an-edit-that-it-refuses-after-all-is-said ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (let ((agents-opencode-settings
           (string-replace "{\"model\"" "{\"permission\": {\"edit\": \"ask\"}, \"model\""
                           agents-opencode-settings)))
      (agents-opencode-start-at-once "a.txt" '("line 5\n" . "LINE 5\n")))
    (agents-go "a.txt")
    (e2e-press "C-c C-c")
    (e2e-see "opencode's tool edit was not run, so nothing that you accepted is in"
             "the agent says that it failed")
    (agents-end)
    (should (equal (agents-bytes "a.txt") (e2e-text)))))

(defun agents-opencode-start-patch (&rest lines)
  "Start opencode with a model that it has patch files; the patch has LINES."
  (agents-opencode-start-patches (list (cdr (apply #'agents-codex-patch lines)))))

(defun agents-opencode-start-patches (patches)
  "Start opencode with a model that it has apply PATCHES, one after the other."
  (let ((agents-opencode-settings
         (string-replace "\"one\"" "\"gpt-5\""
                         (string-replace "scripted/one" "scripted/gpt-5"
                                         agents-opencode-settings))))
    (apply #'agents-start "opencode"
           (mapcar (lambda (patch) `("apply_patch" (patchText . ,patch))) patches))))

(agents-define-patches "opencode" #'agents-opencode-start-patches)

(ert-deftest agents-opencode-a-part-of-a-patch-of-one-file-is-what-opencode-writes ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (agents-opencode-start-patch "*** Update File: a.txt" "-line 5" "+LINE 5" "@@" "-line 25"
                                 "+LINE 25")
    (agents-decide "a.txt" "a r q")
    (agents-should-read (agents-end) "✓ Accepted in part: 1 of 2 hunks is in .*/a\\.txt")
    (should (equal (agents-bytes "a.txt") (e2e-text 5)))))

(ert-deftest agents-opencode-emacs-writes-what-its-patches-cannot ()
  (agents-with-emacs "opencode"
    (agents-put "a.txt" (e2e-text))
    (agents-put "crlf.txt" "one\r\ntwo\r\n")
    (agents-opencode-start-patch "*** Update File: a.txt" "@@" "-line 5" "+LINE 5"
                                 "*** Update File: crlf.txt" "@@" "-two" "+TWO")
    (agents-decide "2 files" "C-c C-c")
    (agents-should-read (agents-end) "The patch was not run: Emacs wrote what the user accepted"
                        "✓ Accepted: 2 of 2 files")
    (should (equal (mapcar #'agents-bytes '("a.txt" "crlf.txt"))
                   (list (e2e-text 5) "one\r\nTWO\r\n")))))

(ert-deftest agents-opencode-a-program-that-is-gone-writes-nothing ()
  (agents-with-emacs "opencode"
    (let* ((plugin "home/.config/opencode/plugins/agent-q-diff.js")
           (text (e2e-read plugin)))
      (unwind-protect
          (progn
            (agents-lose-program "opencode" ".config/opencode/plugins/agent-q-diff.js")
            (agents-put "a.txt" (e2e-text))
            (apply #'agents-start "opencode"
                   (agents-edit "opencode" "a.txt" "line 5\n" "LINE 5\n"))
            (agents-should-read (agents-end) "agent-q-diff could not have this edit decided")
            (should (equal (agents-bytes "a.txt") (e2e-text))))
        (e2e-write plugin text)))))

(ert-deftest agents-opencode-is-set-up-and-no-more ()
  (agents-with-home-of-its-own
    (agents-with-emacs "opencode"
      (let ((plugin "home/.config/opencode/plugins/agent-q-diff.js"))
        (should (equal 0 (car (agents-run "check" "opencode"))))
        ;; opencode, when it is run, fills its folders.
        (should (equal (list (file-truename (e2e-path plugin)))
                       (mapcar #'file-truename
                               (directory-files-recursively (e2e-path "home/.config/") ""))))
        (should (equal 0 (car (agents-run "setup" "opencode" "--remove" "--yes"))))
        (should-not (file-exists-p (e2e-path plugin)))
        (should (equal 1 (car (agents-run "check" "opencode"))))
        ;; The file of somebody else stays.
        (e2e-write plugin "export const Mine = 1\n")
        (should (equal 1 (car (agents-run "setup" "opencode" "--yes"))))
        (should (equal (e2e-read plugin) "export const Mine = 1\n"))))))

(ert-deftest agents-opencode-what-a-subagent-writes-is-written-in-the-turn ()
  (agents-with-emacs "opencode"
    (let ((task "Please shout in a.txt."))
      (agents-turns-should-have-the-subagent
       "opencode"
       `(("task" (description . "shout") (prompt . ,task) (subagent_type . "general")))
       task))))

(provide 'opencode-test)
;;; opencode-test.el ends here
