;;; agent-q-diff-lsp-test.el --- What a language server proposes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a WorkspaceEdit proposes, read from JSON in each form.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-api)
(require 'agent-q-diff-lsp)

(defun aqd-lsp-edited (text &rest edits)
  "Return TEXT after EDITS, each (LINE CHARACTER END-LINE END-CHARACTER NEW)."
  (agent-q-diff-lsp--edited
   text
   (mapcar (pcase-lambda (`(,line ,character ,end-line ,end-character ,new))
             `(:range (:start (:line ,line :character ,character)
                              :end (:line ,end-line :character ,end-character))
                      :newText ,new))
           edits)))

(ert-deftest aqd-lsp-edits-count-from-the-text-as-it-was ()
  (should (equal "foo\nBAR\n!" (aqd-lsp-edited "foo\nbar\n" '(1 0 1 3 "BAR") '(2 0 2 0 "!"))))
  (should (equal "XYab" (aqd-lsp-edited "ab" '(0 0 0 0 "X") '(0 0 0 0 "Y"))))
  (should (equal "ad" (aqd-lsp-edited "abcd" '(0 1 0 2 "") '(0 2 0 3 ""))))
  (should (equal "" (aqd-lsp-edited "a\nb\n" '(0 0 2 0 ""))))
  ;; Beyond the end of a line, and of the text.
  (should (equal "ax\nb\n" (aqd-lsp-edited "a\nb\n" '(0 9 0 9 "x"))))
  (should (equal "a\nbx" (aqd-lsp-edited "a\nb" '(7 0 7 0 "x")))))

(ert-deftest aqd-lsp-characters-are-units-of-utf-16 ()
  (should (equal "ä😀X" (aqd-lsp-edited "ä😀x" '(0 3 0 4 "X"))))
  (should (equal "😀€Yz" (aqd-lsp-edited "😀€yz" '(0 3 0 4 "Y")))))

(ert-deftest aqd-lsp-edits-that-overlap-are-refused ()
  (should-error (aqd-lsp-edited "abcd" '(0 0 0 2 "x") '(0 1 0 3 "y"))
                :type 'agent-q-diff-bad-arguments))

(defconst aqd-lsp-json "{\"documentChanges\": [
  {\"kind\": \"rename\", \"oldUri\": \"file:///tmp/a%20b.c\", \"newUri\": \"file:///tmp/new.c\"},
  {\"textDocument\": {\"uri\": \"file:///tmp/new.c\", \"version\": 3},
   \"edits\": [{\"range\": {\"start\": {\"line\": 0, \"character\": 0},
                            \"end\": {\"line\": 0, \"character\": 3}}, \"newText\": \"bar\"}]},
  {\"kind\": \"create\", \"uri\": \"file:///tmp/made.c\"},
  {\"textDocument\": {\"uri\": \"file:///tmp/made.c\", \"version\": null},
   \"edits\": [{\"range\": {\"start\": {\"line\": 0, \"character\": 0},
                            \"end\": {\"line\": 0, \"character\": 0}}, \"newText\": \"made\\n\"}]},
  {\"kind\": \"delete\", \"uri\": \"file:///tmp/gone.c\"}]}"
  "A WorkspaceEdit of all kinds.")

(ert-deftest aqd-lsp-all-kinds-in-each-form-of-json ()
  (dolist (type '(hash-table alist plist))
    (let ((files (agent-q-diff-lsp-files (json-parse-string aqd-lsp-json :object-type type))))
      (should (equal (mapcar (lambda (file) (plist-get file :path)) files)
                     '("/tmp/a b.c" "/tmp/made.c" "/tmp/gone.c")))
      (should (equal (plist-get (nth 0 files) :to) "/tmp/new.c"))
      (should (equal (funcall (plist-get (nth 0 files) :update) "foo(1)\n") "bar(1)\n"))
      (should (equal (plist-get (nth 1 files) :content) "made\n"))
      (should (plist-get (nth 2 files) :delete)))
    (let ((files (agent-q-diff-lsp-files
                  (json-parse-string
                   "{\"changes\": {\"file:///tmp/x\": [{\"newText\": \"y\", \"range\":
                     {\"start\": {\"line\": 0, \"character\": 0},
                      \"end\": {\"line\": 0, \"character\": 0}}}]}}"
                   :object-type type))))
      (should (equal (plist-get (car files) :path) "/tmp/x"))
      (should (equal (funcall (plist-get (car files) :update) "x\n") "yx\n")))))

(ert-deftest aqd-lsp-an-edit-for-another-version-is-refused ()
  (let ((edit (json-parse-string aqd-lsp-json)))
    (should (agent-q-diff-lsp-files edit (lambda (_) 3)))
    (should (agent-q-diff-lsp-files edit #'ignore))
    (should (equal '("/tmp/new.c has changed since: the edit is for version 3, and it has 5")
                   (cdr (should-error (agent-q-diff-lsp-files edit (lambda (_) 5))
                                      :type 'agent-q-diff-bad-target))))))

(defun aqd-lsp-operations (&rest changes)
  "Return what CHANGES, alists, propose for the file of the test."
  (agent-q-diff-lsp-files `((documentChanges . ,(vconcat changes)))))

(ert-deftest aqd-lsp-what-is-there-is-overwritten-only-if-so-said ()
  (aqd-with-file "there\n"
    (let* ((uri (concat "file://" aqd-file))
           (create `((kind . "create") (uri . ,uri)))
           (rename `((kind . "rename") (oldUri . "file:///tmp/o") (newUri . ,uri)))
           (delete `((kind . "delete") (uri . ,uri)))
           (edit `((textDocument . ((uri . ,uri)))
                   (edits . [((newText . "x")
                              (range . ((start . ((line . 0) (character . 0)))
                                        (end . ((line . 0) (character . 0))))))])))
           (with (lambda (change option)
                   (append change `((options . ((,option . t))))))))
      (dolist (change (list create rename))
        (should (equal (list (concat aqd-file " exists already"))
                       (cdr (should-error (aqd-lsp-operations change)
                                          :type 'agent-q-diff-bad-target)))))
      (should (equal "" (plist-get (car (aqd-lsp-operations (funcall with create 'overwrite)))
                                   :content)))
      ;; The edit is then one of the text that is there.
      (dolist (change (list create rename))
        (let ((file (car (aqd-lsp-operations (funcall with change 'ignoreIfExists) edit))))
          (should-not (plist-member file :content))
          (should-not (plist-member file :to))
          (should (equal "xthere\n" (funcall (plist-get file :update) "there\n")))))
      ;; What the same edit deletes is not there.
      (should (aqd-lsp-operations delete `((kind . "rename") (oldUri . "file:///tmp/o")
                                           (newUri . ,uri))))
      (should (plist-get (car (aqd-lsp-operations (funcall with delete 'ignoreIfNotExists)))
                         :delete))
      (should-error (aqd-lsp-operations
                     (funcall with '((kind . "delete") (uri . "file:///tmp/no/such"))
                              'ignoreIfNotExists))
                    :type 'agent-q-diff-bad-arguments))))

(ert-deftest aqd-lsp-a-file-can-be-renamed-twice ()
  (let ((rename (lambda (old new)
                  `((kind . "rename") (oldUri . ,(concat "file:///tmp/" old))
                    (newUri . ,(concat "file:///tmp/" new))))))
    (should (equal "/tmp/none2"
                   (plist-get (car (aqd-lsp-operations (funcall rename "none" "none1")
                                                       (funcall rename "none1" "none2")))
                              :to)))
    (should (equal '((:path "/tmp/none2" :content ""))
                   (aqd-lsp-operations '((kind . "create") (uri . "file:///tmp/none1"))
                                       (funcall rename "none1" "none2"))))))

(ert-deftest aqd-lsp-what-cannot-be-read-is-said ()
  (pcase-dolist (`(,json . ,words)
                 '(("{}" . "changes no file")
                   ("{\"documentChanges\": [{\"kind\": \"copy\"}]}" . "copy is not a kind of change")
                   ("{\"documentChanges\": [{\"kind\": \"delete\", \"uri\": \"http://x/y\"}]}"
                    . "not the URI of a file")))
    (should (string-search words
                           (cadr (should-error (agent-q-diff-lsp-files (json-parse-string json))
                                               :type 'agent-q-diff-bad-arguments))))))

(ert-deftest aqd-lsp-a-review-of-it ()
  (aqd-with-file "foo(1)\n"
    (let* ((aqd-answers nil)
           (edit `(:changes (,(intern (concat ":file://" aqd-file))
                             [(:newText "bar" :range (:start (:line 0 :character 0)
                                                             :end (:line 0 :character 3)))])))
           (review (agent-q-diff-review-change (agent-q-diff-lsp-files edit) "Rename foo"
                                               (lambda (result) (push result aqd-answers)))))
      (aqd-in-diff review
        (agent-q-diff-accept-all))
      (should (equal (aqd-answer :status) '(accepted)))
      (should (equal (aqd-disk) "bar(1)\n"))
      (aqd-should-leave-nothing))))

(provide 'agent-q-diff-lsp-test)
;;; agent-q-diff-lsp-test.el ends here
