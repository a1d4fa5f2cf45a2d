;;; agent-q-diff-transcript-test.el --- The buffer of edits  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the buffer of edits shows, and its commands.

;;; Code:

(require 'agent-q-diff-project-help)

(defun aqd-transcript ()
  "Return what the buffer of edits shows, without the times."
  (with-current-buffer agent-q-diff-transcript--buffer-name
    (replace-regexp-in-string "^[0-9:]\\{8\\} " "" (buffer-substring-no-properties
                                                    (point-min) (point-max)))))

(ert-deftest aqd-transcript-shows-numbers-signs-and-outcome ()
  (aqd-with-project (aqd-lines "a" "b" "c")
    (aqd-edit "b" "B\nBB" :description "Shout\n+ not diff")
    (should (equal (aqd-transcript)
                   (aqd-lines "edit_file target.txt  +2 -1"
                              "# Shout"
                              "# + not diff"
                              "@@ -1,3 +1,4 @@"
                              "   1    1   a"
                              "   2      - b"
                              "        2 + B"
                              "        3 + BB"
                              "   3    4   c"
                              "=> written, allowed by policy"
                              "")))))

(ert-deftest aqd-transcript-makes-visible-what-deceives ()
  (aqd-with-project "a\n"
    (aqd-edit "a" "x\u202ey\u200bz\u00a0\e[31m\ttab\u2028\U000E0041")
    (should (string-search
             "+ x<U+202E>y<U+200B>z<U+00A0><U+001B>[31m\ttab<U+2028><U+E0041>\n"
             (aqd-transcript)))
    (should (string-search "\u202e" (decode-coding-string (aqd-disk) 'utf-8)))))

(ert-deftest aqd-transcript-tells-twins-apart-as-the-diff-buffer-does ()
  (pcase-dolist (`(,text . ,shown)
                 '(("r\u0430ypal()" . "r<U+0430>ypal()") ("a\u0301" . "a<U+0301>")
                   ("a\u2212b" . "a<U+2212>b") ("a\nb\fc" . "a<U+000A>b<U+000C>c")
                   ("Gr\u00f6\u00dfe \u6f22\u5b57 \u041f\u0440\u0438" . "Gr\u00f6\u00dfe \u6f22\u5b57 \u041f\u0440\u0438")
                   ("\351 \u00e4" . "<E9> \u00e4")))
    (should (equal (agent-q-diff-transcript--visible text) shown))))

(ert-deftest aqd-transcript-says-that-a-line-is-longer ()
  (should (string-suffix-p "… and 1000 more characters"
                           (agent-q-diff-transcript--visible (make-string 3000 ?x)))))

(ert-deftest aqd-transcript-folds-jumps-and-copies ()
  (aqd-with-project (aqd-numbered 30)
    (aqd-edit "line 20\n" "line XX\n")
    (aqd-edit "line 25\n" "")
    (save-window-excursion
      (switch-to-buffer agent-q-diff-transcript--buffer-name)
      (goto-char (point-min))
      (aqd-press "TAB")
      (should (invisible-p (+ 2 (line-end-position))))
      (aqd-press "TAB")
      (should-not (invisible-p (+ 2 (line-end-position))))
      (aqd-press "<backtab> n")
      (should (looking-at-p ".*edit_file target.txt  \\+0 -1"))
      (should (invisible-p (+ 2 (line-end-position))))
      (aqd-press "<backtab> p w")
      (should (equal (current-kill 0)
                     (aqd-lines "--- target.txt" "+++ target.txt" "@@ -17,7 +17,7 @@"
                                " line 17" " line 18" " line 19" "-line 20" "+line XX"
                                " line 21" " line 22" " line 23")))
      (re-search-forward "\\+ line XX")
      (aqd-press "RET")
      (should (equal (buffer-file-name) aqd-file))
      (should (looking-at-p "line XX")))))

(ert-deftest aqd-transcript-jumps-to-the-nearest-line-from-below-the-edit ()
  (aqd-with-project (aqd-numbered 30)
    (aqd-edit "line 29\nline 30\n" "")
    (dolist (regexp '("- line 29" "- line 30" "=> written" "\\'"))
      (save-window-excursion
        (switch-to-buffer agent-q-diff-transcript--buffer-name)
        (goto-char (point-min))
        (re-search-forward regexp)
        (aqd-press "RET")
        (should (equal (buffer-file-name) aqd-file))
        (should (looking-at-p "line 28\n\\'"))))))

(ert-deftest aqd-transcript-forgets-the-oldest ()
  (let ((agent-q-diff-transcript-max-entries 2))
    (aqd-with-project "0\n"
      (dotimes (n 4)
        (aqd-edit (format "%d" n) (format "%d" (1+ n))))
      (should-not (string-search "+ 2\n" (aqd-transcript)))
      (should (string-search "+ 3\n" (aqd-transcript)))
      (should (string-search "+ 4\n" (aqd-transcript)))
      ;; The option can become smaller than the number of edits.
      (setq agent-q-diff-transcript-max-entries 1)
      (aqd-edit "4" "5")
      (should-not (string-search "+ 4\n" (aqd-transcript)))
      (should (string-search "+ 5\n" (aqd-transcript))))))

(ert-deftest aqd-transcript-leaves-the-windows-as-found ()
  (aqd-asking
   (aqd-with-project "a\n"
     (let* ((shown (lambda ()
                     (mapcar (lambda (window)
                               (list window (window-edges window) (window-buffer window)))
                             (window-list))))
            (before (funcall shown)))
       (aqd-ask "y")
       (should (equal before (funcall shown)))
       (should-not (get-buffer-window agent-q-diff-transcript--buffer-name))))))

(provide 'agent-q-diff-transcript-test)
;;; agent-q-diff-transcript-test.el ends here
