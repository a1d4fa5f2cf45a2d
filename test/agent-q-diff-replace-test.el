;;; agent-q-diff-replace-test.el --- The tool edit_file  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tool calls as an agent makes them, and what it then reads.  The messages
;; are an interface, so here they are literal.  Each row of document 003's
;; table of errors and each test that documents 002 and 003 name is here
;; under its own name.

;;; Code:

(require 'json)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-replace-help)

;;;; Document 003: return value

(ert-deftest aqd-edit-message-on-success ()
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

(ert-deftest aqd-edit-message-without-a-description ()
  (aqd-with-project "a\nb\n"
    (should (equal (aqd-edit "b" "c")
                   "✓ Edit applied to target.txt

Lines affected: 2
Diff:
  - b
  + c"))))

(ert-deftest aqd-edit-message-tells-the-replacement-count ()
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

(ert-deftest aqd-edit-message-keeps-a-long-diff-short ()
  (aqd-with-project "x\n"
    (let ((agent-q-diff-tools-review-lines nil))
      (should (string-suffix-p "\n  + line 20\n  + … 80 more lines"
                               (aqd-edit "x\n" (aqd-numbered 100)))))))

;;;; What the user reads

(defun aqd-edit-said (&rest calls)
  "Make each of CALLS, (OLD NEW), by a grant, and return what was said last."
  (let ((agent-q-diff-tools-policy 'ask)
        (agent-q-diff-edit-file--row nil))
    (setq agent-q-diff-grants--all
          (list (list "edit_file" aqd-project (current-time))))
    (aqd-said (dolist (call calls)
                (should (string-prefix-p "✓ Edit applied" (apply #'aqd-edit call)))))))

(ert-deftest aqd-edit-by-a-grant-is-said ()
  (aqd-with-project (aqd-numbered 9)
    (let ((agent-q-diff-caller '("Claude Code" . client)))
      (should (equal (aqd-edit-said '("line 3" "three"))
                     (concat "Claude Code edited target.txt:3 (+1 -1), by your grant; "
                             "M-x agent-q-diff-edits"))))
    (should (equal (aqd-edit-said '("line 5\n" "5\n5 1/2\n"))
                   (concat "An agent edited target.txt:5 (+2 -1), by your grant; "
                           "M-x agent-q-diff-edits")))))

(ert-deftest aqd-edit-by-the-policy-is-said ()
  (aqd-with-project "a\nb\n"
    (should (equal (aqd-said (aqd-edit "b" "c"))
                   (concat "An agent edited target.txt:2 (+1 -1), by your policy; "
                           "M-x agent-q-diff-edits")))))

(ert-deftest aqd-edit-that-is-not-saved-is-said-so ()
  (aqd-with-project "a\nb\n"
    (let ((agent-q-diff-save 'never))
      (with-current-buffer (aqd-visit)
        (should (equal (aqd-edit-said '("b" "c"))
                       (concat "An agent edited target.txt:2 (+1 -1), not saved, by your grant; "
                               "M-x agent-q-diff-edits")))))))

(ert-deftest aqd-edit-by-a-key-is-not-said-again ()
  (aqd-with-project "a\nb\n"
    (let ((agent-q-diff-tools-policy 'ask)
          (agent-q-diff-permission-function (lambda (_) 'once)))
      (should-not (aqd-said (aqd-edit "b" "c"))))))

(ert-deftest aqd-edit-of-many-in-a-row-the-last-is-said ()
  (aqd-with-project (aqd-numbered 9)
    (should (equal (aqd-edit-said '("line 3" "three") '("line 4" "four"))
                   (concat "An agent edited target.txt:4 (+1 -1), by your grant, "
                           "after another edit; M-x agent-q-diff-edits")))
    (should (equal (aqd-edit-said '("line 5" "five") '("line 6" "six") '("line 7" "seven"))
                   (concat "An agent edited target.txt:7 (+1 -1), by your grant, "
                           "after 2 others; M-x agent-q-diff-edits")))
    ;; A key of the user's begins anew.
    (let ((agent-q-diff-edit-file--row (cons 5 (1- num-input-keys))))
      (should (string-search "policy; M-x" (aqd-said (aqd-edit "line 8" "eight")))))))

(ert-deftest aqd-edit-of-many-in-a-row-does-not-flood-the-messages ()
  (aqd-with-project (aqd-numbered 9)
    (let ((agent-q-diff-edit-file--row nil)
          logged)
      (cl-letf (((symbol-function 'message)
                 (lambda (format &rest arguments)
                   (when message-log-max
                     (push (apply #'format format arguments) logged)))))
        (dolist (n '(3 4 5))
          (aqd-edit (format "line %d" n) (format "LINE %d" n))))
      (should (equal (length logged) 1)))))

(ert-deftest aqd-edit-is-said-with-names-that-deceive-nobody ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-caller '("Claude\u202e\e[31m\n" . client)))
      (should (equal (aqd-said (aqd-edit "a" "b"))
                     (concat "Claude<U+202E><U+001B>[31m<U+000A> edited target.txt:1 (+1 -1), "
                             "by your policy; M-x agent-q-diff-edits"))))))

(ert-deftest aqd-edit-edits-shows-the-latest ()
  (aqd-with-project (aqd-numbered 9)
    (should-error (agent-q-diff-edits) :type 'user-error)
    (aqd-edit "line 3" "three")
    (aqd-edit "line 7" "seven")
    (save-window-excursion
      (agent-q-diff-edits)
      (should (equal (buffer-name (window-buffer)) "*Agent-Q Edits*"))
      (should (looking-at ".* edit_file target.txt"))
      (should (string-search "seven" (buffer-substring (point) (point-max))))
      (should-not (string-search "three" (buffer-substring (point) (point-max)))))))

;;;; Document 003: error cases

(ert-deftest aqd-edit-error-no-match ()
  (aqd-with-project "a\n"
    (should (equal (aqd-edit "xyz" "b")
                   "Error: String not found in target.txt\n\nSearched for:\nxyz"))
    (should (equal (aqd-disk) "a\n"))))

(ert-deftest aqd-edit-error-no-match-cuts-what-was-searched-for ()
  (aqd-with-project "a\n"
    (should (equal (aqd-edit (make-string 300 ?é) "b")
                   (concat "Error: String not found in target.txt\n\nSearched for:\n"
                           (make-string 200 ?é) "...")))))

(ert-deftest aqd-edit-error-multiple-matches ()
  (aqd-with-project "x = 1\ny\nx = 1\nx = 1\n"
    (should (equal (aqd-edit "x = 1" "b")
                   "Error: Found 3 matches for the search string in target.txt.

Please provide more surrounding context to make a unique match.

They begin at lines 1, 3, 4."))
    (should (equal (aqd-disk) "x = 1\ny\nx = 1\nx = 1\n"))))

(ert-deftest aqd-edit-error-path-outside-root ()
  (aqd-with-project "a\n"
    (should (equal (aqd-call-tool "edit_file" '(:path "../x" :old_str "a" :new_str "b"))
                   "Error: Path '../x' is outside project root"))))

(ert-deftest aqd-edit-error-file-not-found ()
  (aqd-with-project "a\n"
    (should (equal (aqd-call-tool "edit_file"
                                  '(:path "foo.lisp" :old_str "a" :new_str "b"))
                   "Error: File 'foo.lisp' not found"))
    (should-not (file-exists-p (expand-file-name "foo.lisp" aqd-project)))))

(ert-deftest aqd-edit-error-permission-denied ()
  (aqd-with-project "a\n"
    (with-current-buffer (aqd-visit)
      (setq buffer-read-only t))
    (should (string-prefix-p "Error: Cannot write to file\n\n" (aqd-edit "a" "b")))
    (should (equal (aqd-disk) "a\n"))))

(ert-deftest aqd-edit-error-while-writing ()
  (aqd-with-project "a\n"
    (cl-letf (((symbol-function 'rename-file)
               (lambda (&rest _) (signal 'file-error '("Renaming" "no space left")))))
      (should (equal (aqd-edit "a" "b")
                     "Error: Cannot write to file\n\nRenaming: no space left")))
    (should (equal (aqd-disk) "a\n"))))

(ert-deftest aqd-edit-error-empty-or-equal-strings ()
  (aqd-with-project "a\n"
    (should (equal (aqd-edit "" "b")
                   "Error: old_str is empty. It must be the exact text that is to be replaced."))
    (should (equal (aqd-edit "a" "a")
                   "Error: old_str and new_str are equal, so nothing would change."))))

(ert-deftest aqd-edit-error-overlapping-matches ()
  (aqd-with-project "aaa\n"
    (should (string-prefix-p "Error: Found 2 matches for the search string in target.txt."
                             (aqd-edit "aa" "b")))
    (should (string-prefix-p
             "Error: Found 2 matches for the search string in target.txt, and some overlap."
             (aqd-edit "aa" "b" :shouldReplaceAll t)))
    (should (equal (aqd-disk) "aaa\n"))))

(ert-deftest aqd-edit-error-tells-the-nearest-text ()
  (pcase-dolist (`(,text ,old ,said)
                 '(("a\n\tfoo  bar\n" "foo bar"
                    "line 2 and differs in white space:\n\tfoo  bar")
                   ("a\nHello\n" "hello"
                    "line 2 and differs in upper and lower case:\nHello")
                   ("say “hi”\n" "say \"hi\""
                    "line 1 and differs in typographic quotes, dashes or dots:\nsay “hi”")
                   ("cafe\u0301\n" "café"
                    "line 1 and differs in Unicode normalization (composed or \
decomposed characters):\ncafe\u0301")
                   ("a\nb\n" "a\r\nb" "lines 1-2 and differs in line ends:\na\nb")
                   ("one\n(defun process-item (item)\n" "(defun process-items (item)"
                    "line 2 and differs in its wording:\n(defun process-item (item)")))
    (aqd-with-project text
      (should (string-suffix-p (concat "\n\nThe nearest text is at " said)
                               (aqd-edit old "new"))))))

;;;; Document 003: matching rules

(ert-deftest aqd-edit-matches-white-space-and-indentation ()
  (aqd-with-project "foo  bar\n  (defun foo\n"
    (should (string-prefix-p "Error: String not found" (aqd-edit "foo bar" "x")))
    (should (string-prefix-p "✓" (aqd-edit "(defun foo" "(defun bar")))
    (should (equal (aqd-disk) "foo  bar\n  (defun bar\n"))))

(ert-deftest aqd-edit-example-with-more-context-is-unique ()
  (aqd-with-project "(defun a ()\n  return nil)\n(defun b ()\n  return nil)\n"
    (should (string-prefix-p "Error: Found 2 matches" (aqd-edit "return nil" "x")))
    (should (string-prefix-p "✓" (aqd-edit "(defun b ()\n  return nil)"
                                           "(defun b ()\n  42)")))
    (should (equal (aqd-disk) "(defun a ()\n  return nil)\n(defun b ()\n  42)\n"))))

;;;; Document 003: invariants

(ert-deftest aqd-edit-invariant-buffer-synchronization ()
  (aqd-with-project "a\n"
    (with-current-buffer (aqd-visit)
      (aqd-edit "a" "b")
      (should (equal (buffer-string) "b\n"))
      (should (equal (aqd-disk) "b\n"))
      (should-not (buffer-modified-p))
      (should (verify-visited-file-modtime (current-buffer))))))

;;;; Document 003: test coverage

(defun aqd-edit-tool ()
  "Return what is registered as edit_file."
  (seq-find (lambda (tool) (equal (plist-get tool :name) "edit_file"))
            (agent-q-diff-tools-list)))

(ert-deftest edit-file-tool-exists ()
  (should (aqd-edit-tool)))

(ert-deftest edit-file-is-moderate ()
  (should (eq (plist-get (aqd-edit-tool) :safety-level) 'moderate))
  (should (equal (plist-get (aqd-edit-tool) :categories) '(filesystem editing))))

(ert-deftest edit-file-has-required-parameters ()
  (should (equal (plist-get (aqd-edit-tool) :required) '("path" "old_str" "new_str")))
  (should (equal (alist-get 'required (plist-get (aqd-edit-tool) :parameters))
                 ["path" "old_str" "new_str"])))

(ert-deftest edit-file-has-description ()
  (should (string-search "exact string replacement"
                         (plist-get (aqd-edit-tool) :description))))

(ert-deftest count-substring-basic ()
  (should (equal (agent-q-diff-engine-matches "a b a" "a") '(0 0)))
  (should (equal (agent-q-diff-engine-matches "a b a" "x") nil)))

(ert-deftest count-substring-whitespace-sensitive ()
  (should (= 1 (length (agent-q-diff-engine-matches "foo bar foo  bar" "foo bar")))))

(ert-deftest count-substring-multiline ()
  (should (equal (agent-q-diff-engine-matches "x\na\nb\na\nb\n" "a\nb") '(1 3))))

(ert-deftest count-substring-overlapping ()
  "Overlaps count: what is to be unique must be nowhere else at all."
  (should (= 2 (length (agent-q-diff-engine-matches "aaa" "aa")))))

;;;; Document 002: test cases

(ert-deftest aqd-edit-input-validation ()
  (aqd-with-project "a\n"
    (pcase-dolist
        (`(,arguments ,message)
         '((nil "Missing parameter 'path'. edit_file needs path, old_str, new_str")
           ((:path "target.txt" :new_str "b")
            "Missing parameter 'old_str'. edit_file needs path, old_str, new_str")
           ((:path "target.txt" :old_str "b")
            "Missing parameter 'new_str'. edit_file needs path, old_str, new_str")
           ((:path "target.txt" :old_str "a" :new_str :null)
            "Missing parameter 'new_str'. edit_file needs path, old_str, new_str")
           ((:path 5 :old_str "a" :new_str "b")
            "Parameter 'path' must be a string, not an integer")
           ((:path "target.txt" :old_str ["a"] :new_str "b")
            "Parameter 'old_str' must be a string, not an array or object")
           ((:path "target.txt" :old_str "a" :new_str t)
            "Parameter 'new_str' must be a string, not a boolean")
           ((:path "target.txt" :old_str "a" :new_str "b" :shouldReplaceAll "true")
            "Parameter 'shouldReplaceAll' must be a boolean, not a string")
           ((:path "target.txt" :old_str "a" :new_str "b" :description 1.5)
            "Parameter 'description' must be a string, not a number")
           ((:path "target.txt" :old_str "a" :new_str "b" :replace_all t)
            "Unknown parameter 'replace_all'. edit_file takes path, old_str, \
new_str, description, shouldReplaceAll")
           ((:path "target.txt" :old_str "a" :oldString "a" :new_str "b")
            "Parameter 'old_str' is given twice")
           ("text" "The arguments must be an object: a hash table, an alist or a plist")
           ((:path) "The arguments must be an object, not a list of something else")))
      (should (equal (aqd-call-tool "edit_file" arguments)
                     (concat "Error: " message))))
    (should (equal (aqd-disk) "a\n"))))

(ert-deftest aqd-edit-empty-path ()
  (aqd-with-project "a\n"
    (should (string-prefix-p "Error: " (aqd-call-tool "edit_file" '(:path "" :old_str "a"
                                                                    :new_str "b"))))))

(ert-deftest aqd-edit-unknown-tool ()
  (should (equal (aqd-call-tool "delete_file" nil)
                 "Error: Unknown tool 'delete_file'. The tools are edit_file, \
propose_file_edit, propose_patch")))

(ert-deftest aqd-edit-single-replacement ()
  (aqd-with-project "a\nb\n"
    (should (string-prefix-p "✓" (aqd-edit "a" "x")))
    (should (equal (aqd-disk) "x\nb\n"))))

(ert-deftest aqd-edit-replace-all ()
  (aqd-with-project "a b a\n"
    (should (string-suffix-p "Replacements: 2" (aqd-edit "a" "x" :shouldReplaceAll t)))
    (should (equal (aqd-disk) "x b x\n"))))

(ert-deftest aqd-edit-replace-first-of-two-is-refused ()
  "A match is never chosen: of two occurrences neither is the first."
  (aqd-with-project "a b a\n"
    (should (string-prefix-p "Error: Found 2 matches"
                             (aqd-edit "a" "x" :shouldReplaceAll :json-false)))
    (should (equal (aqd-disk) "a b a\n"))))

(ert-deftest aqd-edit-permission-denied-by-policy ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'deny)
          (agent-q-diff-permission-function (lambda (_) (ert-fail "asked"))))
      (should (equal (aqd-edit "a" "b")
                     (concat "✗ Rejected: the user's settings deny edit_file here. \
None of it is in the file."
                             aqd-stop)))
      (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-edit-permission-denied-by-user ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'ask)
          (agent-q-diff-permission-function (lambda (_) 'deny)))
      (should (equal (aqd-edit "a" "b") aqd-rejected))
      (should (equal (aqd-disk) "a\n")))
    (let ((agent-q-diff-tools-policy 'ask)
          (agent-q-diff-permission-function (lambda (_) '(deny . "Use the other file."))))
      (should (equal (aqd-edit "a" "b")
                     (concat aqd-declined "\n\nReason: Use the other file."))))))

(ert-deftest aqd-edit-shown-before-asked ()
  (aqd-with-project "a\n"
    (let* ((events nil)
           (agent-q-diff-tools-policy 'ask)
           (agent-q-diff-show-edit-functions
            (list (lambda (lines info) (push (list 'shown lines info) events))))
           (agent-q-diff-permission-function
            (lambda (request)
              (push (list 'asked request) events)
              (should (equal (aqd-disk) "a\n"))
              'once)))
      (aqd-edit "a" "b" :description "Why")
      (pcase (nreverse events)
        (`((shown ,lines ,info) (asked ,request))
         (should (equal lines '((hunk 0 0 "@@ -1,1 +1,1 @@")
                                (removed 1 0 "a") (added 0 1 "b"))))
         (should (equal (plist-get info :path) "target.txt"))
         (should (equal (plist-get info :description) "Why"))
         (should (equal (agent-q-diff-request-name request)
                        (file-truename aqd-file))))
        (other (ert-fail other)))
      (should (equal (aqd-disk) "b\n")))))

(ert-deftest aqd-edit-what-cannot-be-shown-is-not-asked ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-show-edit-functions (list (lambda (&rest _) (error "No screen")))))
      (should (equal (aqd-edit "a" "b") "Error editing file: No screen"))
      (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-edit-typed-lines-smoke-test ()
  (should (equal (agent-q-diff-engine-typed-lines "a\nb\nc\n" "a\nB\nc\n")
                 '((hunk 0 0 "@@ -1,3 +1,3 @@")
                   (context 1 1 "a")
                   (removed 2 0 "b")
                   (added 0 2 "B")
                   (context 3 3 "c")))))

;;;; Arguments in every shape

(ert-deftest aqd-edit-arguments-as-json-gives-them ()
  (let ((json "{\"path\":\"target.txt\",\"old_str\":\"a\",\"new_str\":\"b\",\
\"shouldReplaceAll\":false,\"description\":null}"))
    (dolist (arguments
             (list (json-parse-string json)
                   (json-parse-string json :object-type 'alist)
                   (json-parse-string json :object-type 'plist)
                   (json-read-from-string json)
                   (let ((json-object-type 'plist)) (json-read-from-string json))
                   (let ((json-object-type 'hash-table)) (json-read-from-string json))
                   (let ((json-key-type 'string)) (json-read-from-string json))
                   '(("path" . "target.txt") ("oldString" . "a") ("newString" . "b"))
                   '("path" "target.txt" "old_str" "a" "new_str" "b")))
      (aqd-with-project "a\n"
        (should (string-prefix-p "✓" (aqd-call-tool "edit_file" arguments)))
        (should (equal (aqd-disk) "b\n"))))))

(ert-deftest aqd-edit-schema-is-json ()
  (dolist (tool (agent-q-diff-tools-list))
    (let ((schema (plist-get tool :parameters)))
      (should (equal (json-parse-string (json-serialize schema) :object-type 'alist)
                     (json-parse-string (json-encode schema) :object-type 'alist)))
      (dolist (name (plist-get tool :required))
        (should (let-alist (alist-get (intern name) (alist-get 'properties schema))
                  (and (stringp .type) (stringp .description))))))))

;;;; Text that is not plain

(ert-deftest aqd-edit-large-file ()
  (let ((text (mapconcat (lambda (number) (format "line %d\n" number))
                         (number-sequence 1 200000) "")))
    (aqd-with-project text
      (should (string-prefix-p "✓" (aqd-edit "line 150000\n" "x\n")))
      (should (equal (aqd-disk) (string-replace "line 150000\n" "x\n" text))))))

(ert-deftest aqd-edit-changed-while-asked ()
  (aqd-with-project "a\nb\n"
    (let* ((agent-q-diff-tools-policy 'ask)
           (agent-q-diff-permission-function
            (lambda (_) (aqd-write "new first line\na\nb\n") 'once)))
      (should (string-search "Lines affected: 3" (aqd-edit "b" "x")))
      (should (equal (aqd-disk) "new first line\na\nx\n"))))
  (aqd-with-project "a\nb\n"
    (let* ((agent-q-diff-tools-policy 'ask)
           (agent-q-diff-permission-function
            (lambda (_) (aqd-write "a\nb\nb\n") 'once)))
      (should (string-prefix-p "Error: Found 2 matches" (aqd-edit "b" "x")))
      (should (equal (aqd-disk) "a\nb\nb\n"))))
  (aqd-with-project "b\nb\n"
    (let* ((agent-q-diff-tools-policy 'ask)
           (agent-q-diff-permission-function
            (lambda (_) (aqd-write "b\nb\nb\n") 'once)))
      (should (string-prefix-p "Error: Cannot write to file\n\n"
                               (aqd-edit "b" "x" :shouldReplaceAll t)))
      (should (equal (aqd-disk) "b\nb\nb\n")))))

(ert-deftest aqd-edit-path-replaced-by-a-link-while-asked ()
  (aqd-with-project "a\n"
    (let* ((outside (make-temp-file "aqd-outside" nil nil "a\n"))
           (agent-q-diff-tools-policy 'ask)
           (agent-q-diff-permission-function
            (lambda (_)
              (delete-file aqd-file)
              (make-symbolic-link outside aqd-file)
              'once)))
      (unwind-protect
          (progn
            (should (string-prefix-p "Error: " (aqd-edit "a" "b")))
            (should (equal "a\n" (with-temp-buffer
                                   (insert-file-contents outside)
                                   (buffer-string)))))
        (delete-file outside)))))

(ert-deftest aqd-edit-unsaved-edits-are-kept-and-told ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-save 'if-clean))
      (with-current-buffer (aqd-visit)
        (insert "typed\n")
        (should (string-suffix-p
                 "\n\nThe change is in the user's buffer, which has not been saved."
                 (aqd-edit "a" "b")))
        (should (equal (buffer-string) "typed\nb\n"))
        (should (equal (aqd-disk) "a\n"))))))

;;;; A project on another host

(ert-deftest aqd-edit-project-on-another-host ()
  (aqd-with-project "a\nb\n"
    (set-file-modes aqd-file #o640)
    (make-symbolic-link "target.txt" (concat aqd-file "-link"))
    (aqd-with-mock-host
     (let ((agent-q-diff-project-root (concat "/mock:localhost:" aqd-project)))
       (should (string-prefix-p "✓" (aqd-edit "b" "c\nd")))
       (should (string-prefix-p "✓" (aqd-call-tool "edit_file"
                                                   '(:path "target.txt-link"
                                                     :old_str "d" :new_str "é"))))))
    (should (equal (aqd-disk) "a\nc\n\303\251\n"))
    (should (= (file-modes aqd-file) #o640))
    (should (equal (file-symlink-p (concat aqd-file "-link")) "target.txt"))))

;;;; Two real files, byte by byte

(defun aqd-edit-utf-8 (text)
  "Return the bytes of TEXT in UTF-8."
  (encode-coding-string text 'utf-8-unix))

(defun aqd-edit-should-be (name bytes)
  "Check that the file NAME holds BYTES, and say where it does not."
  (should (equal (secure-hash 'sha256 (aqd-bytes-of name))
                 (secure-hash 'sha256 bytes)))
  (should (equal (aqd-bytes-of name) bytes)))

(ert-deftest aqd-edit-real-file-open-with-unsaved-edits ()
  (aqd-with-project ""
    (let ((agent-q-diff-save 'always)
          (name (expand-file-name "original.lisp" aqd-project))
          (old "(defun discounted (cents rate)"))
      (aqd-put-bytes (aqd-bytes-of (expand-file-name "../test/demo/original.lisp"
                                                     aqd-lisp-folder))
                     name)
      (with-current-buffer (let ((enable-local-variables nil))
                             (find-file-noselect name))
        (forward-line 2)
        (insert ";; being typed\n")
        (let ((before (aqd-edit-utf-8 (buffer-string))))
          (should (string-prefix-p
                   "✓" (aqd-call-tool "edit_file"
                                      `(:path "original.lisp" :old_str ,old
                                              :new_str ,(concat ";; é\n" old)))))
          (aqd-edit-should-be name (string-replace (aqd-edit-utf-8 old)
                                                   (aqd-edit-utf-8 (concat ";; é\n" old))
                                                   before)))
        (should (looking-back "being typed\n" (point-min)))
        (kill-buffer)))))

(ert-deftest aqd-edit-real-file-in-latin-1-with-crlf ()
  (aqd-with-project ""
    (let* ((name (expand-file-name "latin.lisp" aqd-project))
           (text (decode-coding-string
                  (aqd-bytes-of (expand-file-name "../test/demo/original.lisp"
                                                  aqd-lisp-folder))
                  'utf-8))
           (bytes (encode-coding-string
                   (concat ";; Übersicht\n" text ";; Schluß ohne Zeilenende")
                   'latin-1-dos)))
      (aqd-put-bytes bytes name)
      (should (string-prefix-p
               "✓" (aqd-call-tool "edit_file"
                                  '(:path "latin.lisp" :old_str "Schluß ohne"
                                          :new_str "Ende:\n;; Schluß ohne £"))))
      (aqd-edit-should-be name (string-replace "Schlu\337 ohne"
                                               "Ende:\r\n;; Schlu\337 ohne \243"
                                               bytes)))))

(provide 'agent-q-diff-replace-test)
;;; agent-q-diff-replace-test.el ends here
