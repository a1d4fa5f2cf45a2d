;;; agent-q-diff-confusables-test.el --- Characters that read as something else  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a person sees is the buffer's text with display properties applied.
;; Each deceiving text is shown differently from the innocent one that it
;; could be mistaken for.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-fontify)

(defun aqd-confusables-shown-text (text)
  "Return how the diff buffer shows the added line TEXT."
  (let (shown)
    (aqd-with-shown-diff "a\n" (concat "a\n" text "\n")
      (goto-char (point-min))
      (re-search-forward "^\\+[^+]")
      (setq shown (aqd-shown (line-beginning-position) (line-end-position))))
    shown))

(defconst aqd-confusables-deceptions
  '(;; Controls of direction.
    ("a = \u202e1; // x" . "a = 1; // x") ("a \u202d b" . "a  b")
    ("a\u202ab" . "ab") ("a\u202bb" . "ab") ("a\u202cb" . "ab")
    ("a\u2066b" . "ab") ("a\u2067b" . "ab") ("a\u2068b" . "ab")
    ("a\u2069b" . "ab") ("a\u200eb" . "ab") ("a\u200fb" . "ab") ("a\u061cb" . "ab")
    ;; Characters without width.
    ("pass\u200bword" . "password") ("a\u200cb" . "ab") ("a\u200db" . "ab")
    ("a\u2060b" . "ab") ("a\ufeffb" . "ab") ("a\u00adb" . "ab")
    ("a\u034fb" . "ab") ("a\u180eb" . "ab") ("a\u115fb" . "ab")
    ("a\u3164b" . "ab") ("a\uffa0b" . "ab") ("a\ufe0fb" . "ab")
    ("a\U000E0041b" . "ab") ("a\U000E0100b" . "ab") ("a\u2061b" . "ab")
    ("a\u17b4b" . "ab") ("a\ufff9b" . "ab")
    ;; Odd spaces and ends of lines.
    ("a\u00a0b" . "a b") ("a\u2002b" . "a b") ("a\u2009b" . "a b")
    ("a\u202fb" . "a b") ("a\u205fb" . "a b") ("a\u3000b" . "a b")
    ("a\u1680b" . "a b") ("a\u2800b" . "a b") ("a\u2028b" . "a b")
    ("a\u2029b" . "a b")
    ;; Controls.
    ("a\eb" . "a^[b") ("a\rb" . "a^Mb") ("a\0b" . "a^@b") ("a\bb" . "a^Hb")
    ("a\u007fb" . "a^?b") ("a\u009bb" . "a\\233b") ("a\u0085b" . "a\\205b")
    ;; Letters and signs that look like others.
    ("p\u0430ypal" . "paypal") ("\u0441\u0440\u0430" . "cpa") ("n\u03bfne" . "none")
    ("\u0391dmin" . "Admin") ("\u0405cope" . "Scope") ("i\u217c" . "il")
    ("\uff49f" . "if") ("\U0001d41fn" . "fn") ("a \u2215 b" . "a / b")
    ("x\u037e" . "x;") ("x\uff1b" . "x;") ("a\u01c3= b" . "a!= b")
    ("a \u2212 b" . "a - b") ("a\u2010b" . "a-b") ("\u2024\u2024/x" . "../x")
    ("\ua789x" . ":x") ("r\u00e9sum\u00e9e\u0301" . "r\u00e9sum\u00e9\u00e9")
    ("if (a \u2236 b)" . "if (a : b)"))
  "Deceiving texts, each with the innocent one that it could be mistaken for.")

(ert-deftest aqd-confusables-a-deceiving-text-differs-from-its-innocent-twin ()
  (should (<= 60 (length aqd-confusables-deceptions)))
  (pcase-dolist (`(,deceiving . ,innocent) aqd-confusables-deceptions)
    (let ((shown (aqd-confusables-shown-text deceiving)))
      (should (string-match-p "<\\(?:U\\+[0-9A-F]\\{4,\\}\\)>" shown))
      (should-not (equal shown (aqd-confusables-shown-text innocent)))
      ;; What is shown has no confusables itself.
      (should-not (agent-q-diff-engine-suspects shown)))))

(ert-deftest aqd-confusables-an-innocent-text-is-shown-as-it-is ()
  (dolist (text '("(defun naïve (x) \"quoted\" 'so)" "Привет, это а" "变量：值" "α + β ≤ γ"
                  "❤️ ☎️" "tab\there" "x × y – z…"))
    (should (equal (aqd-confusables-shown-text text) (concat "+" text)))))

(ert-deftest aqd-confusables-everywhere-in-the-buffer ()
  ;; Names, descriptions, headings, and raw bytes.
  (aqd-with-file "f\u202eoo(\n1\n2\n3\n4\na\n"
    (let ((aqd-file (concat aqd-file "\u00a0")))
      (aqd-write "f\u202eoo(\n1\n2\n3\n4\na\n")
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (pop-to-buffer (current-buffer))
                   (let ((shown (aqd-shown (point-min) (point-max))))
                     (should (string-search "Description: " shown))
                     (should (string-search "target.txt<U+00A0>\n" shown))
                     (should (string-search "Description: Do <U+2066>it" shown))
                     (should (string-search "@@ -3,4 +3,4 @@ f<U+202E>oo(" shown))
                     (should (string-search "+x<FF>y\n" shown))
                     (should (string-search "Note: 3 misleading characters are shown"
                                            shown)))
                   (agent-q-diff-reject-all))))
        (agent-q-diff-review-and-wait aqd-file "f\u202eoo(\n1\n2\n3\n4\na\n"
                                      "f\u202eoo(\n1\n2\n3\n4\nx\377y\n"
                                      "Do \u2066it")))))

(ert-deftest aqd-confusables-help-names-what-is-visible ()
  (aqd-with-shown-diff "a\n" "a\nb\u202ec\u00a0\n"
    (goto-char (point-min))
    (agent-q-diff-help)
    (with-current-buffer "*Agent-Q Diff Help*"
      (should (string-search "<U+202E> RIGHT-TO-LEFT OVERRIDE: changes the direction"
                             (buffer-string)))
      (should (string-search "<U+00A0> NO-BREAK SPACE: looks like a space"
                             (buffer-string))))
    (goto-char (point-min))
    (re-search-forward "^\\+b")
    (jit-lock-fontify-now (point) (1+ (point)))
    (should (string-match-p "RIGHT-TO-LEFT OVERRIDE"
                            (funcall (get-text-property (point) 'help-echo))))))

(ert-deftest aqd-confusables-nothing-of-the-agents-is-more-than-text ()
  (let* ((map (make-sparse-keymap))
         (bad (lambda (text)
                (propertize text 'display "innocent" 'keymap map 'invisible t
                            'read-only t 'modification-hooks '(error)
                            'point-entered #'error 'syntax-table '(1)))))
    (aqd-with-file "a\n"
      (let ((agent-q-diff-caller (list (funcall bad "agent")))
            (review nil))
        (setq review (agent-q-diff-review (funcall bad aqd-file) (funcall bad "a\n")
                                          (funcall bad "b\n") (funcall bad "Why") nil))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (should-not (text-properties-at 0 (agent-q-diff-session-agent review)))
          (let ((at (point-min)))
            (while (< at (point-max))
              (should-not (cl-intersection (text-properties-at at)
                                           '(keymap invisible read-only point-entered
                                                    modification-hooks syntax-table
                                                    display)))
              (cl-incf at)))
          (agent-q-diff-accept-all))
        (should-not (with-current-buffer (find-buffer-visiting aqd-file)
                      (text-properties-at (point-min))))))))

(provide 'agent-q-diff-confusables-test)
;;; agent-q-diff-confusables-test.el ends here
