;;; agent-q-diff-syntax-test.el --- Tests of strings, comments and white space  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What of a text are strings and comments, as its major mode says, and what
;; follows from that: which changes of white space mean nothing.

;;; Code:

(require 'agent-q-diff-test-help)

;;;; Strings and comments

(defun aqd-syntax-marked (text mode)
  "Return TEXT with strings in <> and comments in {}, as MODE has them."
  (with-temp-buffer
    (insert text)
    (cl-loop for (from to) on (nreverse (agent-q-diff-syntax--spans text mode)) by #'cddr
             ;; From the end on, so TO is before FROM.
             for (end start) = (list from to)
             do (goto-char (1+ end))
             do (insert (if (< start 0) "}" ">"))
             do (goto-char (if (< start 0) (- start) (1+ start)))
             do (insert (if (< start 0) "{" "<")))
    (buffer-string)))

(ert-deftest aqd-syntax-strings-and-comments-are-those-of-the-mode ()
  (pcase-dolist (`(,mode ,text ,marked)
                 '((c-mode "f(\"a\"); // b\nc /* d\n e */ 'x'\n"
                           "f(<\"a\">); {// b\n}c {/* d\n e */} <'x'>\n")
                   (emacs-lisp-mode "(f \"a;\" ?\\\") ; \"b\n" "(f <\"a;\"> ?\\\") {; \"b\n}")
                   (js-mode "x = /a\"b/.test(`c`) // d" "x = </a\"b/>.test(<`c`>) {// d}")
                   (css-mode "a { b: \"c\" } /* d */\n" "a { b: <\"c\"> } {/* d */}\n")
                   (python-mode "x = 1 # ä\ny = '''a\n'''\n" "x = 1 {# ä\n}y = <''><'a\n'><''>\n")))
    (ert-info ((format "%s" mode))
      (should (equal marked (aqd-syntax-marked text mode))))))

;;;; White space

(defun aqd-syntax-in-review (name original modified function)
  "Call FUNCTION in the review of file NAME, changed from ORIGINAL to MODIFIED."
  (let* ((folder (file-name-as-directory (make-temp-file "aqd-syntax" t)))
         (default-directory folder)
         (agent-q-diff-log-file nil))
    (unwind-protect
        (progn
          (aqd-put-bytes original (expand-file-name name))
          (let ((review (agent-q-diff-review-change
                         (list (list :path name :original original :modified modified))
                         "A test" #'ignore :agent "An agent")))
            (unwind-protect
                (aqd-in-diff review
                  (funcall function))
              (agent-q-diff-cancel review))))
      (dolist (buffer (buffer-list))
        (when (string-prefix-p folder (or (buffer-file-name buffer) ""))
          (with-current-buffer buffer
            (set-buffer-modified-p nil)
            (kill-buffer))))
      (aqd-remove-tree folder))))

(defun aqd-syntax-takes (name original modified)
  "Return whether the change of file NAME from ORIGINAL to MODIFIED is white space.
The value is t if all of it is, nil if none of it is, and else `some'."
  (aqd-syntax-in-review
   name original modified
   (lambda ()
     (agent-q-diff-white-space--split)
     (let ((n (length (agent-q-diff-syntax-white-space-hunks agent-q-diff-buffer-change))))
       (cond ((= n (length agent-q-diff-buffer-positions)) t)
             ((= n 0) nil)
             (t 'some))))))

(ert-deftest aqd-syntax-white-space-between-tokens-means-nothing ()
  (pcase-dolist
      (`(,name ,original ,modified)
       '(("a.c" "int f(int a,int b)\n{\nreturn a+b;\n}\n"
          "int\nf (int a, int b)\n{\n  return a + b;\n}\n")
         ("a.c" "if (x)\n{\n  g(\"a  b\", c);\n}\n" "if (x) {\n  g(\"a  b\",\n    c);\n}\n")
         ("a.c" "x=-1;\ny=&z;\n" "x = -1;\ny = &z;\n")
         ("a.c" "/* A\n   b. */\nf();\n" "  /* A\n     b. */\n  f();\n")
         ("a.c" "f(); // x\n\n\ng();\n" "  f();  // x\n\n  g();\n")
         ("a.c" "#endif // A\nf();\n" "#endif  // A\n  f();\n")
         ("a.cc" "auto s = R\"(a\"b\n c)\";\n  f();\n" "auto s = R\"(a\"b\n c)\";\nf();\n")
         ("A.java" "class A{\nint x;\nvoid f(){g(\"b\");}\n}\n"
          "class A {\n  int x;\n\n  void f() {\n    g(\"b\");\n  }\n}\n")
         ("a.json" "{\"a\":1,\"b\":[1,2]}\n" "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ]\n}\n")
         ("a.css" "a,b{color:red;margin:0 1px}\n" "a,\nb {\n  color: red;\n  margin: 0 1px\n}\n")
         ("a.el" "(defun f ()\n\"A.\n\n  B.\"\n(g 1\n2))\n" "(defun f ()\n  \"A.\n\n  B.\"\n  (g 1 2))\n")
         ("a.js" "x=`\n  a\n`;\nif(a){b()}\n" "x = `\n  a\n`;\nif (a) { b() }\n")
         ("a.css" "a{color:var(--b)}\n" "a {\n  color: var(--b)\n}\n")
         ("a.js" "f(\"</b>\",a)\n/** Returns <b>c</b>. */\nb()\n"
          "f(\"</b>\", a)\n/** Returns <b>c</b>. */\n  b()\n")
         ("a.js" "f(\"a  b\")  // c\n" "  f(\"a  b\") // c\n")))
    (ert-info ((format "%s: %S" name modified))
      (should (eq t (aqd-syntax-takes name original modified))))))

(ert-deftest aqd-syntax-white-space-that-something-else-reads-is-none ()
  (pcase-dolist
      (`(,name ,original ,modified)
       '(("a.c" "%:define f(x) x\n" "%:define f (x) x\n")
         ("a.c" "??=define f(x) x\n" "??=define f (x) x\n")
         ("a.c" "#embed <a  b>\n" "#embed <a b>\n")
         ("a.c" "#if __has_include(<a  b>)\n" "#if __has_include(<a b>)\n")
         ;; What a comment is about.
         ("a.c" "/* NOLINTNEXTLINE */\nf();\n" "/* NOLINTNEXTLINE */\n\nf();\n")
         ("a.js" "// @ts-ignore\n\nf()\n" "// @ts-ignore\nf()\n")
         ("a.js" "/**\n * A.\n */\nf()\n" "/**\n * A.\n */\n\n  f()\n")
         ("a.css" "/* prettier-ignore */\na { b: c }\n" "/* prettier-ignore */\n\na { b: c }\n")
         ("a.go" "package a\n\n// int f();\nimport  \"C\"\n"
          "package a\n\n// int f();\n\nimport  \"C\"\n")
         ;; What Emacs reads.
         ("a.el" "(f)\n;;;###autoload\n(g)\n" "(f)\n  ;;;###autoload\n(g)\n")
         ("a.el" ";;; a.el\n;; Version: 1\n(f)\n" ";;; a.el\n  ;; Version: 1\n(f)\n")
         ("a.el" "(f)\n;; Local\x20Variables:\n;; a: b\n;; End:\n"
          "(f)\n;; Local\x20Variables:\n  ;; a: b\n;; End:\n")
         ;; Text between tags.
         ("a.js" "x = <b>a  b< /b>\n" "x = <b>a b< /b>\n")
         ("a.js" "x = <b>\n  a  b\n  don't</b>\n" "x = <b>\n  a b\n  don't</b>\n")
         ("a.js" "x = <b>\n  a  b\n  http://c</b>\n" "x = <b>\n  a b\n  http://c</b>\n")
         ;; What browsers and scripts read.
         ("a.css" "@charset \"utf-8\";\na { b: c }\n" " @charset \"utf-8\";\na { b: c }\n")
         ("a.css" "a { --b:{} }\n" "a { --b: {} }\n")
         ("a.css" "a {\n--b:;\n}\n" "a {\n--b: ;\n}\n")
         ("a.css" "a { --b: {\nc:d;\n} }\n" "a { --b: {\nc: d;\n} }\n")
         ("a.css" "a { b: URL(x y) }\n" "a { b: URL(x  y) }\n")
         ("a.css" "a { b: URL(x,y) }\n" "a { b: URL(x, y) }\n")))
    (ert-info ((format "%s: %S" name modified))
      (should-not (eq t (aqd-syntax-takes name original modified))))))

(ert-deftest aqd-syntax-code-has-not-moved-into-a-comment ()
  (let ((block (mapconcat (lambda (n) (format "check_the_right(%d);\n" n))
                          (number-sequence 1 5) ""))
        (rest (mapconcat (lambda (n) (format "line(%d);\n" n)) (number-sequence 1 30) "")))
    (pcase-dolist (`(,name ,open ,close)
                   '(("a.py" "\"\"\"\nA note.\n" "\"\"\"\n")
                     ("a.c" "/*\n" "*/\n")
                     ("a.lisp" "#|\n" "|#\n")))
      (cl-flet ((moved (modified)
                  (aqd-syntax-in-review
                   name (concat "one();\n" block rest open close) modified
                   (lambda () (length (agent-q-diff-alike--moved))))))
        (ert-info (name)
          (should (= 1 (moved (concat "one();\n" rest open close block))))
          (should (= 0 (moved (concat "one();\n" rest open block close)))))))))

(ert-deftest aqd-syntax-a-real-edit-among-reformatted-lines-stays ()
  (should (eq 'some (aqd-syntax-takes
                     "a.c" "int f(int a)\n{\n  if (a) {\n    g(a);\n  }\n  return 1;\n}\n"
                     "int f(int a) {\n\tif (a) {\n\t\tg(a);\n\t}\n\treturn 2;\n}\n"))))

(declare-function agent-q-diff-module-blank-hunks "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-hunk-lines "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-marks "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-set-language "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-split-white-space "ext:agent-q-diff-module")

(defun aqd-syntax-folded (mode spacing original modified)
  "Return the hunks from ORIGINAL to MODIFIED, each (IS-BLANK . LINES).
Lines that change only white space are hunks of their own, as MODE and SPACING
say.  LINES are those that change, with their signs."
  (let ((review (agent-q-diff-engine-review original modified)))
    (agent-q-diff-module-set-language review 0 spacing
                                      (agent-q-diff-syntax--spans original mode)
                                      (agent-q-diff-syntax--spans modified mode))
    (cl-loop for hunk downfrom (1- (length (agent-q-diff-module-marks review))) to 0
             do (agent-q-diff-module-split-white-space review hunk))
    (cl-loop with blank = (agent-q-diff-module-blank-hunks review '(0))
             for hunk below (length (agent-q-diff-module-marks review))
             collect (cons (and (memql hunk blank) t)
                           (split-string (agent-q-diff-engine-text
                                          (aref (agent-q-diff-module-hunk-lines review hunk) 4))
                                         "\n" t)))))

;;;; Generated edits that change what is meant

(defconst aqd-syntax-means-something
  '((c-mode
     c "f();" "  f();"
     ;; A and B are names, and N is a number.
     ("A - -B;" "A--B;") ("A + +B;" "A++B;") ("x = A & &B;" "x = A &&B;")
     ("x = A / *B;" "x = A /*B; */") ("A = = B;" "A == B;") ("x = A < <B;" "x = A <<B;")
     ("int A;" "intA;") ("else if (A)" "elseif (A)") ("x = N .5;" "x = N.5;")
     ("x = 0xe +N;" "x = 0xe+N;") ("x = A - >B;" "x = A ->B;") ("L \"A\";" "L\"A\";")
     ("s = \"A  B\";" "s = \"A B\";") ("s = \"A\" \" B\";" "s = \"A\" \"B\";") ("c = ' ';" "c = '  ';")
     ("// A  B" "// A B") ("// A B();" "// A\nB();") ("// A\nB();" "// A B();")
     ("A(); // B\nf(N);" "A(); // B f(N);") ("/* A */ B();" "/* A B(); */")
     ("/* A B */" "/* A  B */") ("A(); /* B */\nf(N);" "A();\n/* B */ f(N);")
     ("#define A (B) N" "#define A(B) N") ("#define A B\nN;" "#define A\nB N;")
     ("#define A B \\\n  N\nf();" "#define A B \\\n\n  N\nf();") ("#include <A B>" "#include <AB>")
     ("/* A */ #define B (N)" "/* A */ #define B(N)") ("#if A\nB;" "#if A B\n;")
     ("#error A  B" "#error A B") ("A;\nB;" "B;\nA;") ("if (A) {\n  N;\n}\nB;" "if (A) {\n  N;\n  B;\n}")
     ("s = \"A\\\n  B\";" "s = \"A\\\nB\";"))
    (c++-mode
     c "f();" "  f();"
     ("s = R\"(A  B)\";" "s = R\"(A B)\";") ("s = R\"x(A\"B\n  N)x\";" "s = R\"x(A\"B\nN)x\";")
     ("x = A < :B;" "x = A <:B;") ("A : :B();" "A ::B();") ("x = \"A\" _B;" "x = \"A\"_B;")
     ("x = A - > *B;" "x = A -> *B;") ("x = A->* B;" "x = A-> * B;"))
    (java-mode
     statements "f();" "  f();"
     ("s = \"A  B\";" "s = \"A B\";") ("x = A > > N;" "x = A >> N;") ("x = A > >> N;" "x = A >>> N;")
     ("A + + B;" "A ++ B;") ("// A\nB();" "// A B();") ("final A;" "finalA;"))
    (js-mode
     tokens "f();" "  f();"
     ("return\nA;" "return A;") ("x = A\n++B" "x = A ++\nB") ("return A" "return\nA")
     ("s = `A  B`" "s = `A B`") ("s = `\n  A\n`" "s = `\nA\n`") ("s = `${A}  B`" "s = `${A} B`")
     ("x = /A  B/.test(N)" "x = /A B/.test(N)") ("if (A) /B  N/.test(x)" "if (A) /B N/.test(x)")
     ("s = 'A  B'" "s = 'A B'") ("// A\nB()" "// A B()") ("x = A ? .5 : B" "x = A ?.5 : B")
     ("x = A? .B : N" "x = A?.B : N") ("x = A + +B" "x = A ++B") ("x = A * * B" "x = A ** B")
     ("x = A ! == B" "x = A !== B") ("x = A = > B" "x = A => B") ("x = N .toString()" "x = N.toString()")
     ("throw\nA" "throw A") ("x = A < !--B" "x = A <!--B"))
    (css-mode
     css "f { a: b }" "  f { a: b }"
     ("A .B { c: d }" "A.B { c: d }") ("A :hover { c: d }" "A:hover { c: d }")
     ("A #B { c: d }" "A#B { c: d }") ("A [B] { c: d }" "A[B] { c: d }") ("A * { c: d }" "A* { c: d }")
     ("A:not(.B) .x { c: d }" "A:not(.B).x { c: d }") ("A { B: calc(1px + Npx) }" "A { B: calc(1px+Npx) }")
     ("A { margin: 0 -Npx }" "A { margin: 0-Npx }") ("A { B: \"x  y\" }" "A { B: \"x y\" }")
     ("@media A and (B: N) {\n}" "@media A and(B: N) {\n}") ("A { B: url(x y) }" "A { B: url(x  y) }")
     ("A { B: x y }" "A { B: xy }") ("A { B: \\26 N }" "A { B: \\26  N }") ("/* A  B */" "/* A B */")
     ("A { B: N px }" "A { B: Npx }") ("A, B c { d: e }" "A, Bc { d: e }"))
    (scss-mode
     css "f { a: b }" "  f { a: b }"
     ("#{$A} B { c: d }" "#{$A}B { c: d }") ("// A\nB { c: d }" "// A B { c: d }")
     ("A { @extend b :c; }" "A { @extend b:c; }") ("A { & B { c: d } }" "A { &B { c: d } }") ("A { x: $B -$N }" "A { x: $B-$N }"))
    (emacs-lisp-mode
     lisp "(f)" "  (f)"
     ("(A . B)" "(A .B)") ("(A ?  B)" "(A ? B)") ("(A ?\\  B)" "(A ?\\ B)") ("(A ?\t B)" "(A ?  B)")
     ("(A ?( B)" "(A ?(B)") ("(A \"B  x\")" "(A \"B x\")") ("(A \"B\n  x\")" "(A \"B\nx\")")
     ("; A\n(B)" "; A (B)") ("; A (B)" "; A\n(B)") ("; A  B" "; A B") ("(A B)" "(AB)")
     ("(A 'B)" "(A ' B)") ("(A)\n(B)" "(B)\n(A)") ("(A) (B)" "(A (B))") ("(A [B N])" "(A [BN])")
     ("(A #'B)" "(A # 'B)") ("(A\\ B)" "(A\\  B)") ("(A \\\n B)" "(A \\\nB)"))
    (lisp-mode
     lisp "(f)" "  (f)"
     ("(A #\\  B)" "(A #\\ B)") ("(A |x  B|)" "(A |x B|)") ("(A |x\n  B|)" "(A |x\n B|)")
     ("#| A  B |#" "#| A B |#") ("(A #(B))" "(A # (B))")))
  "Edits that change what a text means, (MODE SPACING FROM TO . EDITS).
EDITS are (BEFORE AFTER); from FROM to TO only white space changes.")

(defun aqd-syntax--filled (text names)
  "Return TEXT with NAMES, three strings, for its A, B and N."
  (let ((case-fold-search nil))
    (replace-regexp-in-string "[ABN]" (lambda (name) (alist-get (aref name 0) names)) text t t)))

(defun aqd-syntax--edits (n edit)
  "Return N edits like EDIT, (BEFORE AFTER) each, with other names and margins."
  (cl-loop repeat n
           for names = `((?A . ,(format "a%d" (random 1000))) (?B . ,(format "b%d" (random 1000)))
                         (?N . ,(number-to-string (1+ (random 90)))))
           for margin = (make-string (* 2 (random 3)) ?\s)
           collect (mapcar (lambda (text)
                             (replace-regexp-in-string "^" margin (aqd-syntax--filled text names)))
                           edit)))

(ert-deftest aqd-syntax-no-edit-that-means-something-is-white-space ()
  "A thousand of them, each between lines whose white space changes as well."
  (random "white space")
  (let ((n 0)
        (n-folded 0))
    (pcase-dolist (`(,mode ,spacing ,from ,to . ,edits) aqd-syntax-means-something)
      (dolist (edit edits)
        (let* ((all (aqd-syntax--edits 11 edit))
               (text (lambda (side line)
                       (concat line "\n"
                               (mapconcat (lambda (edit) (concat (nth side edit) "\n" line "\n"))
                                          all ""))))
               (line (concat "-" from)))
          (ert-info ((format "%s: %S" mode edit))
            (pcase-dolist (`(,is-blank . ,lines)
                           (aqd-syntax-folded mode spacing (funcall text 0 from)
                                              (funcall text 1 to)))
              (when is-blank
                ;; If nothing were left to be read of an edit, these lines would be one hunk.
                (should (>= 1 (seq-count (apply-partially #'equal line) lines)))
                (cl-incf n-folded)))
            (cl-incf n 11)))))
    (should (<= 1000 n))
    ;; Not since nothing was looked at.
    (should (< (* 0.7 n) n-folded))))

;;;; Code that Emacs indents

(defun aqd-syntax-indented (mode text)
  "Return (BEFORE . AFTER): TEXT with random margins, and then indented by MODE.
Only lines that begin outside of strings and comments lose their margins."
  (with-temp-buffer
    (agent-q-diff-visit-turn-on mode)
    (setq indent-tabs-mode nil)
    (insert text)
    (goto-char (point-min))
    (while (not (eobp))
      (unless (nth 8 (syntax-ppss))
        (delete-horizontal-space)
        (unless (eolp)
          (insert (make-string (random 5) ?\s))))
      (forward-line))
    (let ((before (buffer-string)))
      (agent-q-diff-base-silently
        (indent-region (point-min) (point-max)))
      (cons before (buffer-string)))))

(ert-deftest aqd-syntax-what-emacs-indents-is-white-space ()
  (random "indent")
  (pcase-dolist (`(,mode ,spacing ,text)
                 `((emacs-lisp-mode lisp ,(decode-coding-string
                                             (aqd-bytes-of (locate-library "agent-q-diff-syntax.el"))
                                             'utf-8))
                   (c-mode c "int f(int a)\n{\n  /* A\n     comment. */\n  switch (a) {\n    case 1:\n      return \"a  b\"[a]; // b\n    default:\n      break;\n  }\n#ifdef A\n  g(a,\n    'b');\n#endif\n  return a ? 1\n    : 2;\n}\n")
                   (js-mode tokens "function f(a) {\n  const b = `\n x\n  ${a}`;\n  // c\n  return [1,\n    2].map(x => {\n      return x / 2;\n    });\n}\n")
                   (css-mode css "a,\nb:hover {\n  color: red;\n  /* c */\n  margin: 0\n    1px;\n}\n")))
    (pcase-let* ((`(,before . ,after) (aqd-syntax-indented mode text))
                 (hunks (aqd-syntax-folded mode spacing before after))
                 (n-lines (lambda (hunks) (length (seq-mapcat #'cdr hunks)))))
      (ert-info ((format "%s" mode))
        (should (< 6 (funcall n-lines hunks)))
        (should (<= (* 0.9 (funcall n-lines hunks))
                    (funcall n-lines (seq-filter #'car hunks))))))))

(provide 'agent-q-diff-syntax-test)
;;; agent-q-diff-syntax-test.el ends here
