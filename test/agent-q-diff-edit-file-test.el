;;; agent-q-diff-edit-file-test.el --- The tool edit_file  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tool calls as an agent makes them: what is replaced, what the user sees
;; and is asked, and strings that other programs would misread.  The tests
;; that documents 002 and 003 name have those names, here or in the suites of
;; the messages and of the schema.
;;
;; The messages are an interface, so they are literal here.

;;; Code:

(require 'json)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-project-help)

;;;; What the user sees of an edit without a question

(defun aqd-edit-file-said (&rest calls)
  "Make CALLS, each (OLD NEW), by a grant; return the last message."
  (let ((agent-q-diff-tools-policy 'ask)
        (agent-q-diff-edit-file--row nil))
    (setq agent-q-diff-permit-grants
          (list (list "edit_file" aqd-project (current-time))))
    (aqd-said (dolist (call calls)
                (should (string-prefix-p "✓ Edit applied" (apply #'aqd-edit call)))))))

(ert-deftest aqd-edit-file-by-a-grant-is-said ()
  (aqd-with-project (aqd-numbered 9)
    (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Claude Code" :caller 'client)))
      (should (equal (aqd-edit-file-said '("line 3" "three"))
                     (concat "Claude Code edited target.txt:3 (+1 -1), by your grant; "
                             "M-x agent-q-diff-edits"))))
    (should (equal (aqd-edit-file-said '("line 5\n" "5\n5 1/2\n"))
                   (concat "An agent edited target.txt:5 (+2 -1), by your grant; "
                           "M-x agent-q-diff-edits")))))

(ert-deftest aqd-edit-file-by-the-policy-is-said ()
  (aqd-with-project "a\nb\n"
    (should (equal (aqd-said (aqd-edit "b" "c"))
                   (concat "An agent edited target.txt:2 (+1 -1), by your policy; "
                           "M-x agent-q-diff-edits")))))

(ert-deftest aqd-edit-file-a-hook-of-the-buffer-of-edits-selects-nothing ()
  (aqd-with-project "a\nb\n"
    (save-window-excursion
      (switch-to-buffer "*scratch*")
      (let ((agent-q-diff-transcript-mode-hook
             (list (lambda () (switch-to-buffer (current-buffer))))))
        (should (string-prefix-p "✓ Edit applied" (aqd-edit "b" "c"))))
      (should (equal "*scratch*" (buffer-name (window-buffer)))))))

(ert-deftest aqd-edit-file-that-is-not-saved-is-said-so ()
  (aqd-with-project "a\nb\n"
    (let ((agent-q-diff-save 'never))
      (with-current-buffer (aqd-visit)
        (should (equal (aqd-edit-file-said '("b" "c"))
                       (concat "An agent edited target.txt:2 (+1 -1), not saved, by your grant; "
                               "M-x agent-q-diff-edits")))))))

(ert-deftest aqd-edit-file-by-a-key-is-not-said-again ()
  (aqd-with-project "a\nb\n"
    (let ((agent-q-diff-tools-policy 'ask)
          (agent-q-diff-permission-function (lambda (_) 'once)))
      (should-not (aqd-said (aqd-edit "b" "c"))))))

(ert-deftest aqd-edit-file-of-many-in-a-row-the-last-is-said ()
  (aqd-with-project (aqd-numbered 9)
    (should (equal (aqd-edit-file-said '("line 3" "three") '("line 4" "four"))
                   (concat "An agent edited target.txt:4 (+1 -1), by your grant, "
                           "after another edit; M-x agent-q-diff-edits")))
    (should (equal (aqd-edit-file-said '("line 5" "five") '("line 6" "six") '("line 7" "seven"))
                   (concat "An agent edited target.txt:7 (+1 -1), by your grant, "
                           "after 2 others; M-x agent-q-diff-edits")))
    ;; A key of the user's resets the count.
    (let ((agent-q-diff-edit-file--row (cons 5 (1- num-input-keys))))
      (should (string-search "policy; M-x" (aqd-said (aqd-edit "line 8" "eight")))))))

(ert-deftest aqd-edit-file-of-many-in-a-row-does-not-flood-the-messages ()
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

(ert-deftest aqd-edit-file-is-said-with-names-that-deceive-nobody ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Claude\u202e\e[31m\n" :caller 'client)))
      (should (equal (aqd-said (aqd-edit "a" "b"))
                     (concat "Claude<U+202E><U+001B>[31m<U+000A> edited target.txt:1 (+1 -1), "
                             "by your policy; M-x agent-q-diff-edits"))))))

(ert-deftest aqd-edit-file-edits-shows-the-latest ()
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

;;;; Document 003: matching rules

(ert-deftest aqd-edit-file-matches-white-space-and-indentation ()
  (aqd-with-project "foo  bar\n  (defun foo\n"
    (should (string-prefix-p "Error: String not found" (aqd-edit "foo bar" "x")))
    (should (string-prefix-p "✓" (aqd-edit "(defun foo" "(defun bar")))
    (should (equal (aqd-disk) "foo  bar\n  (defun bar\n"))))

(ert-deftest aqd-edit-file-example-with-more-context-is-unique ()
  (aqd-with-project "(defun a ()\n  return nil)\n(defun b ()\n  return nil)\n"
    (should (string-prefix-p "Error: Found 2 matches" (aqd-edit "return nil" "x")))
    (should (string-prefix-p "✓" (aqd-edit "(defun b ()\n  return nil)"
                                           "(defun b ()\n  42)")))
    (should (equal (aqd-disk) "(defun a ()\n  return nil)\n(defun b ()\n  42)\n"))))

;;;; Document 003: invariants

(ert-deftest aqd-edit-file-invariant-buffer-synchronization ()
  (aqd-with-project "a\n"
    (with-current-buffer (aqd-visit)
      (aqd-edit "a" "b")
      (should (equal (buffer-string) "b\n"))
      (should (equal (aqd-disk) "b\n"))
      (should-not (buffer-modified-p))
      (should (verify-visited-file-modtime (current-buffer))))))

;;;; Document 003: test coverage

(defun aqd-edit-file-matches (text old)
  "Return the lines of TEXT on which a match of OLD begins, as replacing it says."
  (condition-case err
      (mapcar (pcase-lambda (`(,start . ,_)) (cl-count ?\n (substring text 0 start)))
              (car (agent-q-diff-engine-replace text old (concat old "x"))))
    (agent-q-diff-no-match nil)
    ((agent-q-diff-several-matches agent-q-diff-overlapping-matches) (nth 2 err))))

(ert-deftest count-substring-basic ()
  (should (equal (aqd-edit-file-matches "a b a" "a") '(0 0)))
  (should (equal (aqd-edit-file-matches "a b a" "x") nil)))

(ert-deftest count-substring-whitespace-sensitive ()
  (should (= 1 (length (aqd-edit-file-matches "foo bar foo  bar" "foo bar")))))

(ert-deftest count-substring-multiline ()
  (should (equal (aqd-edit-file-matches "x\na\nb\na\nb\n" "a\nb") '(1 3))))

(ert-deftest count-substring-overlapping ()
  "Overlaps count: a unique string must occur nowhere else at all."
  (should (= 2 (length (aqd-edit-file-matches "aaa" "aa")))))

;;;; Document 002: test cases

(ert-deftest aqd-edit-file-single-replacement ()
  (aqd-with-project "a\nb\n"
    (should (string-prefix-p "✓" (aqd-edit "a" "x")))
    (should (equal (aqd-disk) "x\nb\n"))))

(ert-deftest aqd-edit-file-replace-all ()
  (aqd-with-project "a b a\n"
    (should (string-suffix-p "Replacements: 2" (aqd-edit "a" "x" :shouldReplaceAll t)))
    (should (equal (aqd-disk) "x b x\n"))))

(ert-deftest aqd-edit-file-replace-first-of-two-is-refused ()
  "No match is preferred, not even the first of two."
  (aqd-with-project "a b a\n"
    (should (string-prefix-p "Error: Found 2 matches"
                             (aqd-edit "a" "x" :shouldReplaceAll :json-false)))
    (should (equal (aqd-disk) "a b a\n"))))

(ert-deftest aqd-edit-file-permission-denied-by-policy ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'deny)
          (agent-q-diff-permission-function (lambda (_) (ert-fail "asked"))))
      (should (equal (aqd-edit "a" "b")
                     (concat "✗ Rejected: the user's settings deny edit_file here. \
None of it is in the file."
                             aqd-stop)))
      (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-edit-file-permission-denied-by-user ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'ask)
          (agent-q-diff-permission-function (lambda (_) 'deny)))
      (should (equal (aqd-edit "a" "b") aqd-rejected))
      (should (equal (aqd-disk) "a\n")))
    (let ((agent-q-diff-tools-policy 'ask)
          (agent-q-diff-permission-function (lambda (_) '(deny . "Use the other file."))))
      (should (equal (aqd-edit "a" "b")
                     (concat aqd-declined "\n\nReason: Use the other file."))))))

(ert-deftest aqd-edit-file-shown-before-asked ()
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

(ert-deftest aqd-edit-file-what-cannot-be-shown-is-not-asked ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-show-edit-functions (list (lambda (&rest _) (error "No screen")))))
      (should (equal (aqd-edit "a" "b") "Error editing file: No screen"))
      (should (equal (aqd-disk) "a\n")))))

(ert-deftest aqd-edit-file-typed-lines-smoke-test ()
  (should (equal (agent-q-diff-engine--typed-lines "a\nb\nc\n" "a\nB\nc\n")
                 '((hunk 0 0 "@@ -1,3 +1,3 @@")
                   (context 1 1 "a")
                   (removed 2 0 "b")
                   (added 0 2 "B")
                   (context 3 3 "c")))))

;;;; Large, changing and unsaved files

(ert-deftest aqd-edit-file-large-file ()
  (let ((text (mapconcat (lambda (number) (format "line %d\n" number))
                         (number-sequence 1 200000) "")))
    (aqd-with-project text
      (should (string-prefix-p "✓" (aqd-edit "line 150000\n" "x\n")))
      (should (equal (aqd-disk) (string-replace "line 150000\n" "x\n" text))))))

(ert-deftest aqd-edit-file-changed-while-asked ()
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

(ert-deftest aqd-edit-file-path-replaced-by-a-link-while-asked ()
  "Nothing of what it then leads to is shown to the agent, or to the user."
  (dolist (text '("a\n" "other\n a  SECRET\n" "nothing\n"))
    (dolist (is-visited '(nil t))
      (dolist (answer '(once review))
        (ert-info ((format "%S %s %s" text is-visited answer))
          (aqd-with-project "x\na\n"
            (let* ((outside (make-temp-file "aqd-outside" nil nil text))
                   (buffer (and is-visited (aqd-visit)))
                   (agent-q-diff-tools-policy 'ask)
                   (agent-q-diff-permission-function
                    (lambda (_)
                      (delete-file aqd-file)
                      (make-symbolic-link outside aqd-file)
                      answer)))
              (unwind-protect
                  (cl-letf (((symbol-function 'recursive-edit)
                             (lambda ()
                               (ert-fail "it is reviewed"))))
                    (let ((message (aqd-edit "a" "b")))
                      (should (string-prefix-p "Error: " message))
                      (should (string-search "is outside project root" message))
                      (should-not (string-search "SECRET" message)))
                    (when buffer
                      (should (equal "x\na\n" (with-current-buffer buffer (buffer-string)))))
                    (should (equal text (aqd-bytes-of outside))))
                (delete-file outside)))))))))

(ert-deftest aqd-edit-file-unsaved-edits-are-kept-and-told ()
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

(ert-deftest aqd-edit-file-project-on-another-host ()
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

;;;; Two real files, compared byte by byte

(defun aqd-edit-file-utf-8 (text)
  "Return the bytes of TEXT in UTF-8."
  (encode-coding-string text 'utf-8-unix))

(defun aqd-edit-file-should-be (name bytes)
  "Check that the file NAME has BYTES."
  (should (equal (secure-hash 'sha256 (aqd-bytes-of name))
                 (secure-hash 'sha256 bytes)))
  (should (equal (aqd-bytes-of name) bytes)))

(ert-deftest aqd-edit-file-real-file-open-with-unsaved-edits ()
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
        (let ((before (aqd-edit-file-utf-8 (buffer-string))))
          (should (string-prefix-p
                   "✓" (aqd-call-tool "edit_file"
                                      `(:path "original.lisp" :old_str ,old
                                              :new_str ,(concat ";; é\n" old)))))
          (aqd-edit-file-should-be name (string-replace (aqd-edit-file-utf-8 old)
                                                        (aqd-edit-file-utf-8 (concat ";; é\n" old))
                                                        before)))
        (should (looking-back "being typed\n" (point-min)))
        (kill-buffer)))))

(ert-deftest aqd-edit-file-real-file-in-latin-1-with-crlf ()
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
      (aqd-edit-file-should-be name (string-replace "Schlu\337 ohne"
                                                    "Ende:\r\n;; Schlu\337 ohne \243"
                                                    bytes)))))

;;;; Reviews of edits

(ert-deftest aqd-edit-file-large-edits-are-reviewed ()
  (let* ((agent-q-diff-tools-review-lines 50)
         (lines (lambda (n) (mapconcat #'number-to-string (number-sequence 1 n) "\n")))
         (run (lambda (n keys)
                (aqd-with-project "a\nend\n"
                  (aqd-play keys (lambda ()
                                   (aqd-edit "end\n" (concat (funcall lines n)
                                                             "\nend\n"))))))))
    (should (string-prefix-p "✓ Edit applied" (funcall run 50 "C-l")))
    (should (string-prefix-p "✓ Accepted: " (funcall run 51 "a q")))
    (should (string-prefix-p "✗ Rejected: " (funcall run 51 "r q")))
    (let ((agent-q-diff-tools-review-lines nil))
      (should (string-prefix-p "✓ Edit applied" (funcall run 51 "C-l"))))))

(ert-deftest aqd-edit-file-the-path-is-checked-again-at-each-hunk-of-a-review ()
  (aqd-with-project "x\n"
    (let* ((inside (expand-file-name "sub" (file-name-directory aqd-file)))
           (outside (make-temp-file "aqd-outside" t))
           (agent-q-diff-tools-policy 'review))
      (unwind-protect
          (progn
            (make-directory inside)
            (dolist (directory (list inside outside))
              (write-region "a\n" nil (expand-file-name "f" directory) nil 'silent))
            (let ((message
                   (cl-letf (((symbol-function 'recursive-edit)
                              (lambda ()
                                (delete-directory inside t)
                                (make-symbolic-link outside inside)
                                (agent-q-diff-accept-hunk)
                                (agent-q-diff-finish))))
                     (agent-q-diff-tools-call
                      "edit_file" '(:path "sub/f" :old_str "a" :new_str "b"
                                          :description "A test.")))))
              (should (string-prefix-p "Error" message)))
            (should (equal (with-temp-buffer
                             (insert-file-contents (expand-file-name "f" outside))
                             (buffer-string))
                           "a\n")))
        (delete-directory outside t)))))

(ert-deftest aqd-edit-file-review-of-latin-1-with-crlf ()
  (aqd-with-project ""
    (aqd-put-bytes "caf\351\r\nb\r\n" aqd-file)
    (let ((agent-q-diff-tools-policy 'review))
      (should (string-prefix-p
               "✓ Accepted: "
               (aqd-play "a q" (lambda () (aqd-edit "é\nb" "è\nc\nd")))))
      (should (equal (aqd-disk) "caf\350\r\nc\r\nd\r\n")))))

(ert-deftest aqd-edit-file-review-that-nobody-can-see-is-no-refusal ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-tools-policy 'review))
      (should (equal (aqd-edit "a" "b")
                     "Error editing file: agent-q-diff-tools-policy asks for the \
full review.  But a batch Emacs has no user to decide")))))

(ert-deftest aqd-edit-file-edit-whose-review-is-left-with-a-hunk-in-the-file ()
  (let ((aqd-policy 'review))
    (aqd-with-project (aqd-numbered 30 '((5 . "a") (25 . "a")))
      (let ((message (aqd-play "a C-]" (lambda ()
                                         (aqd-edit "a" "b" :shouldReplaceAll t)))))
        (should (string-prefix-p "Error editing file: " message))
        (should (string-suffix-p aqd-remains-one-of-two message))))))

(ert-deftest aqd-edit-file-a-quit-after-the-write-is-no-undoing ()
  (aqd-with-project aqd-twenty-original
    (let ((message (cl-letf (((symbol-function 'agent-q-diff-log-record)
                              (lambda (&rest _) (setq quit-flag t) (ignore (list 1)))))
                     (aqd-edit "line 3\n" "three\n"))))
      (should (equal (aqd-disk) aqd-twenty-with-first))
      (should (string-prefix-p "✓" message)))))

;;;; Strings that mean something to other programs

(defconst aqd-edit-file-special-strings
  `(;; Replacement texts of Emacs, sed, perl, JavaScript, Go, Python, Ruby.
    "\\&" "\\\\&" "\\1" "\\2" "\\9" "\\0" "\\?" "\\#" "\\,(car x)" "$&" "$1" "${1}"
    "$$" "$`" "$'" "$+" "$_" "\\g<1>" "\\g<name>" "\\k<n>" "${name}" "\\u\\1" "\\U&\\E"
    "\\L" "%s" "%d%%" "%n" "{}" "{0}" "&" "&&" "~" "\\=" "\\`" "\\'"
    ;; Regexps.
    "." ".*" "^" "$" "^$" "a|b" "a\\|b" "[a-z]" "[^]" "[[:alpha:]]" "(a)" "\\(a\\)"
    "a+" "a*" "a?" "a{2}" "\\b" "\\w+" "\\s-" "\\_<" "\\<x\\>" "(?i)x" "(?<n>x)" "["
    "]" "*" "+" "?" "(" ")" "\\" "\\\\" "\\\\\\" "/" "//" "|"
    ;; Escapes that are text.
    "\\n" "\\t" "\\r\\n" "\\x41" "\\u0041" "\\101" "\\e" "\\\"" "\\'" "&amp;" "&#10;"
    "%0A" "%5Cn" "\"\"" "'" "`" "'\"`"
    ;; Case, to which `replace-match' would adapt the replacement.
    "Xyz" "XYZ" "xyz" "xYZ" "ǅ" "ß" "İ" "ı" "ς" "ﬁ"
    ;; Space.
    " " "  " "\t" " \t " "\n" "\n\n" "\n \n" " x" "x " "\fx" "\v" "x\n" "\nx" "\r" "\r\n"
    "x\r\ny" "\r\r\n" "\n\r" "\u0085" "\u00a0" "\u2028" "\u2029" "\u3000" "\ufeff"
    ;; Characters.
    "é" "e\u0301" "e\u0301\u0323" "A\u030a" "\u00c5" "\u212b" "𝒳" "👩‍👩‍👧" "🇩🇪" "\u200b" "\u200d" "\u202e"
    "\u2066x\u2069" "\u00ad" "\U000E0041" "한글" "한" "אב" "ا" "ﷺ" "ก็" "\ufffd" "\uffff"
    "\U0010FFFF" "\0" "a\0b" "\a" "\b" "\e[31m" "\d" "\u0080\u009f"
    ;; Diffs and files.
    "--- a" "+++ b" "@@ -1 +1 @@" "\\ No newline at end of file" "-" "+" "#" ";;"
    "<<<<<<< HEAD" "=======" "-*- mode: lisp; eval: (error) -*-"
    "Local Variables:\neval: (error \"ran\")\nEnd:" "\C-l\nLocal Variables:"
    ;; Repetition and size.
    ,(make-string 100 ?x) ,(make-string 5000 ?é) ,(make-string 60 ?\n)
    ,(mapconcat #'number-to-string (number-sequence 1 40) "\n")
    "x" "xx" "<" ">" "<<" ">>" "<>")
  "Strings that mean something to other programs.")

(defun aqd-edit-file-special-unique-p (string)
  "Return non-nil if STRING is unique in the text in which tests search it."
  (let ((text (concat "head\n{{" string "}}\ntail\n")))
    (= 1 (length (aqd-edit-file-matches text string)))))

(defun aqd-edit-file-special-check (before old new after visit)
  "Check that the bytes BEFORE become AFTER when OLD becomes NEW.
VISIT is non-nil if a buffer visits the file.  Return nil on success, else a
plist with the case and what the file has."
  (let ((agent-q-diff-tools-review-lines nil)
        (agent-q-diff-transcript-max-entries 5))
    (aqd-put-bytes before aqd-file)
    (let* ((buffer (and visit (aqd-visit)))
           (message (aqd-edit old new))
           (disk (aqd-disk)))
      (when buffer
        (with-current-buffer buffer
          (set-buffer-modified-p nil)
          (kill-buffer)))
      (unless (and (string-prefix-p "✓" message) (equal disk after))
        (list :old old :new new :visit visit :message message :disk disk)))))

(defun aqd-edit-file-special-run (rows)
  "Check ROWS, each (BEFORE OLD NEW AFTER), and return their number."
  (let ((failures nil))
    (aqd-with-project ""
      ;; Thousands of calls with one path; the guard has its own suite.
      (let ((name (car (agent-q-diff-guard-find "target.txt" (agent-q-diff-guard-root)))))
        (cl-letf (((symbol-function 'agent-q-diff-guard-find) (lambda (&rest _) (list name))))
          (dolist (visit '(nil t))
            (pcase-dolist (`(,before ,old ,new ,after) rows)
              (when-let ((failure (aqd-edit-file-special-check before old new after visit)))
                (push failure failures)))))))
    (should-not failures)
    (length rows)))

(ert-deftest aqd-edit-file-strings-come-in-as-they-are ()
  (should (>= (aqd-edit-file-special-run
               (mapcar (lambda (string)
                         (list "head\n<OLD>\ntail\n" "OLD" string
                               (concat "head\n<" (aqd-edit-file-utf-8 string) ">\ntail\n")))
                       aqd-edit-file-special-strings))
              150)))

(ert-deftest aqd-edit-file-strings-are-found-as-they-are ()
  (let ((strings (seq-filter #'aqd-edit-file-special-unique-p aqd-edit-file-special-strings)))
    (should (>= (aqd-edit-file-special-run
                 (mapcar (lambda (string)
                           (list (concat "head\n{{" (aqd-edit-file-utf-8 string) "}}\ntail\n")
                                 string "NEW \\& $1"
                                 "head\n{{NEW \\& $1}}\ntail\n"))
                         strings))
                150))))

(ert-deftest aqd-edit-file-strings-replace-each-other ()
  (let* ((strings (seq-filter #'aqd-edit-file-special-unique-p aqd-edit-file-special-strings))
         (others (append (cdr strings) (list (car strings)))))
    (aqd-edit-file-special-run
     (cl-mapcar (lambda (string other)
                  (list (concat "head\n{{" (aqd-edit-file-utf-8 string) "}}\ntail")
                        string other
                        (concat "head\n{{" (aqd-edit-file-utf-8 other) "}}\ntail")))
                strings others))))

(ert-deftest aqd-edit-file-places ()
  "Rows of the bytes BEFORE, OLD, NEW and the bytes AFTER."
  (aqd-edit-file-special-run
   '(;; The ends of the file.
     ("a" "a" "" "")
     ("a\n" "a\n" "" "")
     ("a\n" "\n" "" "a")
     ("a" "a" "a\n" "a\n")
     ("a\nb" "b" "b\n" "a\nb\n")
     ("a\nb\n" "b\n" "b" "a\nb")
     ("a\nb\n" "a\n" "" "b\n")
     ("\n" "\n" "\n\n" "\n\n")
     ("\n\na" "\n\n" "\n" "\na")
     ("a\n\n\n" "a\n\n\n" "a" "a")
     ;; Lines that join and split.
     ("a\nb\nc\n" "a\nb" "ab" "ab\nc\n")
     ("ab\nc\n" "ab" "a\nb" "a\nb\nc\n")
     ("a\nb\nc\n" "\nb\n" "" "ac\n")
     ;; Similar strings.
     ("aab\nab\nb" "aab" "x" "x\nab\nb")
     ("hello HELLO Hello" "hello" "Bye" "Bye HELLO Hello")
     ("foo foobar" "foob" "x" "foo xar")
     ("x  y x y" "x  y" "z" "z x y")
     ("\303\251 e\314\201" "é" "x" "x e\314\201")
     ("\303\251 e\314\201" "e\u0301" "x" "\303\251 x")
     ;; A combining mark can be separated: bytes decide.
     ("e\314\201!" "e" "a" "a\314\201!")
     ;; CRLF.
     ("a\r\nb\r\n" "a\nb\n" "x\n" "x\r\n")
     ("a\r\nb\r\n" "a\r\nb" "x\r\ny" "x\r\ny\r\n")
     ("a\r\nb\r\n" "b" "b\n\nc" "a\r\nb\r\n\r\nc\r\n")
     ("a\r\nb" "\nb" "" "a")
     ("a\r\nb" "b" "b\n" "a\r\nb\r\n")
     ("a\r\nb\r\n" "a\n" "" "b\r\n")
     ("a\rb\nc\n" "a\rb" "x\ry" "x\ry\nc\n")
     ;; A byte order mark.
     ("\357\273\277a\n" "a" "b" "\357\273\277b\n")
     ("\357\273\277a\r\nb\r\n" "a\nb" "x" "\357\273\277x\r\n")
     ("\377\376a\0\n\0" "a" "\u20ac" "\377\376\254 \n\0")
     ("\376\377\0a\0\n" "a" "b\nc" "\376\377\0b\0\n\0c\0\n")
     ;; Raw bytes.
     ("\0\377\376a\n" "a" "b" "\0\377\376b\n")
     ("a\0\303\251\0" "é" "\u20ac" "a\0\342\202\254\0")
     ("\200\0x\0\200" "x" "y" "\200\0y\0\200")
     ;; Latin-1.
     ("caf\351 x\n" "x" "£" "caf\351 \243\n")
     ("caf\351\r\nx\r\n" "é\nx" "è\ny\nz" "caf\350\r\ny\r\nz\r\n")
     ;; Coding systems declared in the file.
     (";; -*- coding: latin-1 -*-\n\374\n" "ü" "ä" ";; -*- coding: latin-1 -*-\n\344\n")
     (";; -*- mode: none; eval: (error \"ran\") -*-\nx\n" "\nx" "\ny"
      ";; -*- mode: none; eval: (error \"ran\") -*-\ny\n")
     ("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n\344\n" "ä" "ö"
      "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n\366\n"))))

(ert-deftest aqd-edit-file-special-strings-everywhere ()
  (aqd-with-project ""
    (pcase-dolist (`(,before ,old ,new ,after)
                   '(("a a a" "a" "aa" "aa aa aa")
                     ("aaaa" "a" "" "")
                     ("x\nx\nx" "x" "\\&\\&" "\\&\\&\n\\&\\&\n\\&\\&")
                     ("a\r\nb\r\n" "\n" "\n\n" "a\r\n\r\nb\r\n\r\n")
                     ("\303\251\303\251" "é" "e" "ee")
                     ("abab" "ab" "ba" "baba")
                     ("foo Foo FOO" "foo" "bar" "bar Foo FOO")
                     (". .. ..." " " "." "........")))
      (dolist (visit '(nil t))
        (aqd-put-bytes before aqd-file)
        (when visit (aqd-visit))
        (should (string-prefix-p "✓" (aqd-edit old new :shouldReplaceAll t)))
        (should (equal (list old visit (aqd-disk)) (list old visit after)))
        (when visit
          (kill-buffer (find-buffer-visiting aqd-file)))))))

(ert-deftest aqd-edit-file-huge-strings ()
  (let* ((agent-q-diff-tools-review-lines nil)
         (old (concat "<" (make-string 1000000 ?a) ">"))
         (new (mapconcat #'identity (make-list 20000 "line \\& of many") "\n")))
    (aqd-with-project (concat (make-string 1000000 ?a) "\n" old "\n")
      (should (string-prefix-p "✓" (aqd-edit old new)))
      (should (equal (aqd-disk) (concat (make-string 1000000 ?a) "\n" new "\n"))))))

(ert-deftest aqd-edit-file-what-cannot-be-written-changes-nothing ()
  "A lone surrogate, a raw byte, a character that the coding lacks."
  (pcase-dolist (`(,before ,new)
                 '(("caf\351 x\n" "\u20ac") ("caf\351 x\n" "日本")))
    (dolist (visit '(nil t))
      (aqd-with-project ""
        (aqd-put-bytes before aqd-file)
        (when visit (aqd-visit))
        (should (string-match-p "\\`Error: Cannot write to file\n\n.*cannot encode"
                                (aqd-edit "x" new)))
        (should (equal (aqd-disk) before)))))
  (dolist (new '("\ud800" "\udc00\ud800" "\377" "\x3fffff"))
    (dolist (visit '(nil t))
      (aqd-with-project "a x\n"
        (when visit (aqd-visit))
        (let ((message (aqd-edit "x" new)))
          (should (if (string-prefix-p "✓" message)
                      (string-match-p "\\`a [^x]+\n\\'" (aqd-disk))
                    (equal (aqd-disk) "a x\n"))))))))

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

They begin on lines 1, 3, 4."))
    (should (equal (aqd-disk) "x = 1\ny\nx = 1\nx = 1\n")))
  (aqd-with-project "1\nx = x\n"
    (should (string-suffix-p "\n\nAll of them begin on line 2." (aqd-edit "x" "b")))))

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

(provide 'agent-q-diff-edit-file-test)
;;; agent-q-diff-edit-file-test.el ends here
