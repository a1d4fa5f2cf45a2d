;;; agent-q-diff-edit-file-message-test.el --- What an agent reads about edit_file  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The messages are an interface, so they are literal here.

;;; Code:

(require 'agent-q-diff-project-help)

;;;; Document 003: return value

(ert-deftest aqd-edit-file-message-on-success ()
  (aqd-with-project (concat (aqd-numbered 41)
                            "(defun process-instruction (instruction)\n  42)\n")
    (should (equal (aqd-edit "(defun process-instruction (instruction)"
                             "(defun process-instruction (instruction)
  \"Process a user instruction and return the agent response.\""
                             :description "Add docstring to process-instruction function")
                   "✓ Edit applied to target.txt

Change: Add docstring to process-instruction function
Lines affected: 42-43
Diff:
  - (defun process-instruction (instruction)
  + (defun process-instruction (instruction)
  +   \"Process a user instruction and return the agent response.\""))))

(ert-deftest aqd-edit-file-message-without-a-description ()
  (aqd-with-project "a\nb\n"
    (should (equal (aqd-edit "b" "c")
                   "✓ Edit applied to target.txt

Lines affected: 2
Diff:
  - b
  + c"))))

(ert-deftest aqd-edit-file-message-tells-the-replacement-count ()
  (aqd-with-project "x\ny\nx\nx\n"
    (should (equal (aqd-edit "x\n" "1\n2\n" :shouldReplaceAll t)
                   "✓ Edit applied to target.txt

Lines affected: 1-2, 4-5, 6-7
Diff:
  - x
  + 1
  + 2

Replacements: 3"))
    (should (equal (aqd-disk) "1\n2\ny\n1\n2\n1\n2\n"))))

(ert-deftest aqd-edit-file-message-keeps-a-long-diff-short ()
  (aqd-with-project "x\n"
    (let ((agent-q-diff-tools-review-lines nil))
      (should (string-suffix-p "\n  + line 20\n  + … 80 more lines"
                               (aqd-edit "x\n" (aqd-numbered 100)))))))

;;;; Document 003: error cases

(ert-deftest aqd-edit-file-message-error-no-match ()
  (aqd-with-project "a\n"
    (should (equal (aqd-edit "xyz" "b")
                   "Error: String not found in target.txt\n\nSearched for:\nxyz"))
    (should (equal (aqd-disk) "a\n"))))

(ert-deftest aqd-edit-file-message-error-no-match-cuts-what-was-searched-for ()
  (aqd-with-project "a\n"
    (should (equal (aqd-edit (make-string 300 ?é) "b")
                   (concat "Error: String not found in target.txt\n\nSearched for:\n"
                           (make-string 200 ?é) "...")))))

(ert-deftest aqd-edit-file-message-error-multiple-matches ()
  (aqd-with-project "x = 1\ny\nx = 1\nx = 1\n"
    (should (equal (aqd-edit "x = 1" "b")
                   "Error: Found 3 matches for the search string in target.txt.

Please provide more surrounding context to make a unique match.

They begin at lines 1, 3, 4."))
    (should (equal (aqd-disk) "x = 1\ny\nx = 1\nx = 1\n")))
  (aqd-with-project "1\nx = x\n"
    (should (string-suffix-p "\n\nAll of them begin in line 2." (aqd-edit "x" "b")))))

(ert-deftest aqd-edit-file-message-error-path-outside-root ()
  (aqd-with-project "a\n"
    (should (equal (aqd-call-tool "edit_file" '(:path "../x" :old_str "a" :new_str "b"))
                   "Error: Path '../x' is outside project root"))))

(ert-deftest aqd-edit-file-message-error-file-not-found ()
  (aqd-with-project "a\n"
    (should (equal (aqd-call-tool "edit_file"
                                  '(:path "foo.lisp" :old_str "a" :new_str "b"))
                   "Error: File 'foo.lisp' not found"))
    (should-not (file-exists-p (expand-file-name "foo.lisp" aqd-project)))))

(ert-deftest aqd-edit-file-message-error-permission-denied ()
  (aqd-with-project "a\n"
    (with-current-buffer (aqd-visit)
      (setq buffer-read-only t))
    (should (string-prefix-p "Error: Cannot write to file\n\n" (aqd-edit "a" "b")))
    (should (equal (aqd-disk) "a\n"))))

(ert-deftest aqd-edit-file-message-error-while-writing ()
  (aqd-with-project "a\n"
    (cl-letf (((symbol-function 'rename-file)
               (lambda (&rest _) (signal 'file-error '("Renaming" "no space left")))))
      (should (equal (aqd-edit "a" "b")
                     "Error: Cannot write to file\n\nRenaming: no space left")))
    (should (equal (aqd-disk) "a\n"))))

(ert-deftest aqd-edit-file-message-error-empty-or-equal-strings ()
  (aqd-with-project "a\n"
    (should (equal (aqd-edit "" "b")
                   "Error: old_str is empty. It must be the exact text that is to be replaced."))
    (should (equal (aqd-edit "a" "a")
                   "Error: old_str and new_str are equal, so nothing would change."))))

(ert-deftest aqd-edit-file-message-error-overlapping-matches ()
  (aqd-with-project "aaa\n"
    (should (string-prefix-p "Error: Found 2 matches for the search string in target.txt."
                             (aqd-edit "aa" "b")))
    (should (string-prefix-p
             "Error: Found 2 matches for the search string in target.txt, and some overlap."
             (aqd-edit "aa" "b" :shouldReplaceAll t)))
    (should (equal (aqd-disk) "aaa\n"))))

(ert-deftest aqd-edit-file-message-error-tells-the-nearest-text ()
  (pcase-dolist (`(,text ,old ,said)
                 '(("a\n\tfoo  bar\n" "foo bar"
                    "line 2 and differs in whitespace:\n\tfoo  bar")
                   ("a\nHello\n" "hello"
                    "line 2 and differs in case:\nHello")
                   ("say “hi”\n" "say \"hi\""
                    "line 1 and differs in typographic quotes, dashes or dots:\nsay “hi”")
                   ("cafe\u0301\n" "café"
                    "line 1 and differs in Unicode normalization (composed or \
decomposed characters):\ncafe\u0301")
                   ("a\nb\n" "a\r\nb" "lines 1-2 and differs in line endings:\na\nb")
                   ("one\n(defun process-item (item)\n" "(defun process-items (item)"
                    "line 2 and differs in its wording:\n(defun process-item (item)")))
    (aqd-with-project text
      (should (string-suffix-p (concat "\n\nThe nearest text is at " said)
                               (aqd-edit old "new"))))))

(provide 'agent-q-diff-edit-file-message-test)
;;; agent-q-diff-edit-file-message-test.el ends here
