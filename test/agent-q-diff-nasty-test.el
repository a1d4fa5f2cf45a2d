;;; agent-q-diff-nasty-test.el --- Replacements that others get wrong  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A table of strings that mean something to somebody: to regexps, to
;; replacement texts, to JSON, to diffs, to terminals, to Emacs.  To
;; edit_file they mean themselves.  Each is found once and each comes in
;; once, in a file that nobody visits and in one that is open, and the bytes
;; are compared with those that cutting and pasting gives.

;;; Code:

(require 'agent-q-diff-replace-help)

(defconst aqd-nasty-strings
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
    ;; Case: what adapts the replacement to what was found.
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
  "Strings that mean something to somebody.")

(defun aqd-nasty-bytes (text)
  "Return the bytes of TEXT in UTF-8."
  (encode-coding-string text 'utf-8-unix))

(defun aqd-nasty-check (before old new after visit)
  "Check that the bytes BEFORE become AFTER when OLD becomes NEW.
VISIT tells whether the file is open.  Return nil if so, else what is."
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

(defun aqd-nasty-run (rows)
  "Check ROWS, each (BEFORE OLD NEW AFTER), and return how many there were."
  (let ((failures nil))
    (aqd-with-project ""
      ;; The same path thousands of times; what the guard says is tested elsewhere.
      (let ((name (agent-q-diff-guard-check "target.txt" (agent-q-diff-guard-root))))
        (cl-letf (((symbol-function 'agent-q-diff-guard-check) (lambda (&rest _) name))
                  ((symbol-function 'agent-q-diff-guard-protection) #'ignore))
          (dolist (visit '(nil t))
            (pcase-dolist (`(,before ,old ,new ,after) rows)
              (when-let ((failure (aqd-nasty-check before old new after visit)))
                (push failure failures)))))))
    (should-not failures)
    (length rows)))

;;;; The table

(ert-deftest aqd-nasty-strings-come-in-as-they-are ()
  (should (>= (aqd-nasty-run
               (mapcar (lambda (string)
                         (list "head\n<OLD>\ntail\n" "OLD" string
                               (concat "head\n<" (aqd-nasty-bytes string) ">\ntail\n")))
                       aqd-nasty-strings))
              150)))

(defun aqd-nasty-unique-p (string)
  "Return non-nil if STRING is once in the text that tests search it in."
  (let ((text (concat "head\n{{" string "}}\ntail\n")))
    (= 1 (length (agent-q-diff-engine-matches text string)))))

(ert-deftest aqd-nasty-strings-are-found-as-they-are ()
  (let ((strings (seq-filter #'aqd-nasty-unique-p aqd-nasty-strings)))
    (should (>= (aqd-nasty-run
                 (mapcar (lambda (string)
                           (list (concat "head\n{{" (aqd-nasty-bytes string) "}}\ntail\n")
                                 string "NEW \\& $1"
                                 "head\n{{NEW \\& $1}}\ntail\n"))
                         strings))
                150))))

(ert-deftest aqd-nasty-strings-replace-each-other ()
  (let* ((strings (seq-filter #'aqd-nasty-unique-p aqd-nasty-strings))
         (others (append (cdr strings) (list (car strings)))))
    (aqd-nasty-run
     (cl-mapcar (lambda (string other)
                  (list (concat "head\n{{" (aqd-nasty-bytes string) "}}\ntail")
                        string other
                        (concat "head\n{{" (aqd-nasty-bytes other) "}}\ntail")))
                strings others))))

;;;; Places

(ert-deftest aqd-nasty-places ()
  "Rows of the bytes BEFORE, OLD, NEW and the bytes AFTER."
  (aqd-nasty-run
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
     ;; What is like it but is not it.
     ("aab\nab\nb" "aab" "x" "x\nab\nb")
     ("hello HELLO Hello" "hello" "Bye" "Bye HELLO Hello")
     ("foo foobar" "foob" "x" "foo xar")
     ("x  y x y" "x  y" "z" "z x y")
     ("\303\251 e\314\201" "é" "x" "x e\314\201")
     ("\303\251 e\314\201" "e\u0301" "x" "\303\251 x")
     ;; A mark can be cut off: bytes decide.
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
     ;; Bytes that are no text.
     ("\0\377\376a\n" "a" "b" "\0\377\376b\n")
     ("a\0\303\251\0" "é" "\u20ac" "a\0\342\202\254\0")
     ("\200\0x\0\200" "x" "y" "\200\0y\0\200")
     ;; Latin-1.
     ("caf\351 x\n" "x" "£" "caf\351 \243\n")
     ("caf\351\r\nx\r\n" "é\nx" "è\ny\nz" "caf\350\r\ny\r\nz\r\n")
     ;; What the file says of itself.
     (";; -*- coding: latin-1 -*-\n\374\n" "ü" "ä" ";; -*- coding: latin-1 -*-\n\344\n")
     (";; -*- mode: none; eval: (error \"ran\") -*-\nx\n" "\nx" "\ny"
      ";; -*- mode: none; eval: (error \"ran\") -*-\ny\n")
     ("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n\344\n" "ä" "ö"
      "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n\366\n"))))

(ert-deftest aqd-nasty-replace-all ()
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

(ert-deftest aqd-nasty-huge-strings ()
  (let* ((agent-q-diff-tools-review-lines nil)
         (old (concat "<" (make-string 1000000 ?a) ">"))
         (new (mapconcat #'identity (make-list 20000 "line \\& of many") "\n")))
    (aqd-with-project (concat (make-string 1000000 ?a) "\n" old "\n")
      (should (string-prefix-p "✓" (aqd-edit old new)))
      (should (equal (aqd-disk) (concat (make-string 1000000 ?a) "\n" new "\n"))))))

(ert-deftest aqd-nasty-what-cannot-be-written-changes-nothing ()
  "A lone surrogate, a raw byte, a character that the coding lacks."
  (pcase-dolist (`(,before ,new)
                 '(("caf\351 x\n" "\u20ac") ("caf\351 x\n" "日本")))
    (dolist (visit '(nil t))
      (aqd-with-project ""
        (aqd-put-bytes before aqd-file)
        (when visit (aqd-visit))
        (should (string-match-p "\\`Error: Cannot write to file\n\n.*cannot hold"
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

(provide 'agent-q-diff-nasty-test)
;;; agent-q-diff-nasty-test.el ends here
