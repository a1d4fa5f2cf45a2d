;;; evil-test.el --- The keys where evil is on  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Evil takes single keys over, here as Debian packages it.  In our buffers
;; they are ours.

;;; Code:

(require 'agent-q-diff-tmux)

(defun evil-test-library (name)
  "Return the folder in which Debian puts the source of the Lisp package NAME."
  (or (car (file-expand-wildcards
            (format "/usr/share/emacs/site-lisp/elpa-src/%s-[0-9]*" name)))
      (error "Debian's %s is not installed; make test installs it" name)))

(defmacro evil-test-with-emacs (&rest body)
  "Evaluate BODY with an Emacs under test in which evil is on."
  (declare (indent 0) (debug t))
  `(let ((e2e-load-arguments
          (append e2e-load-arguments
                  (list "-L" (evil-test-library "evil") "-L" (evil-test-library "goto-chg")
                        "-l" "evil" "--eval" "(evil-mode 1)"))))
     (e2e-with-emacs ,@body)))

(defun evil-test-decided (n-applied n-rejected)
  "Wait until the header line counts N-APPLIED and N-REJECTED hunks of 3."
  (e2e-see (e2e-header "[1-3]/[0-9]+" n-applied n-rejected)))

(ert-deftest e2e-evil-single-keys-decide-hunks ()
  (evil-test-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (should (eq 'emacs (e2e-eval '(buffer-local-value 'evil-state (window-buffer)))))
    (e2e-keys "a")
    (evil-test-decided 1 0)
    (e2e-keys "r")
    (evil-test-decided 1 1)
    (e2e-keys "p a")
    (evil-test-decided 2 0)
    (e2e-keys "g")
    (e2e-see "^Up to date; 2 of 3 decided, 1 pending")
    (e2e-keys "TAB")
    (e2e-see "^@@ -32,7 .* …$")
    (e2e-keys "TAB z")
    (e2e-see "^z has no command here; \\? shows the keys")
    (e2e-keys "q y")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5 20)))))

(defun evil-test-line ()
  "Return the line of point in the selected window."
  (e2e-eval '(with-current-buffer (window-buffer) (line-number-at-pos))))

(ert-deftest e2e-evil-j-and-k-move-by-line-and-decide-nothing ()
  (evil-test-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (let ((line (evil-test-line)))
      (e2e-keys "j j")
      (e2e-wait-for (= (+ line 2) (evil-test-line)))
      (e2e-keys "k")
      (e2e-wait-for (= (1+ line) (evil-test-line))))
    (evil-test-decided 0 0)
    (e2e-keys "? ?")
    (e2e-see "^r +reject the hunk$")
    (should (e2e-eval '(with-current-buffer "*Agent-Q Diff Help*"
                         (and (save-excursion
                                (goto-char (point-min))
                                (re-search-forward "^J +go to the next open review$" nil t))
                              (save-excursion
                                (goto-char (point-min))
                                (re-search-forward "^j +go to the next line$" nil t))
                              (save-excursion
                                (goto-char (point-min))
                                (re-search-forward "^k +go to the previous line$" nil t))
                              t))))
    (e2e-keys "q C-c C-k")
    (e2e-answer 'call)))

(ert-deftest e2e-evil-v-selects-lines ()
  (evil-test-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-keys "C-n C-n C-n C-n C-n v")
    (e2e-wait-for (e2e-eval '(region-active-p)))
    (e2e-keys "r")
    (e2e-see "^Hunk [1-3] rejected; ")
    (e2e-keys "C-c C-k")
    (e2e-answer 'call)))

(ert-deftest e2e-evil-other-windows-are-closed-by-q ()
  (evil-test-with-emacs
    (let ((proposal (e2e-proposal "target")))
      (e2e-eval `(progn (find-file ,(e2e-path "target")) nil))
      (e2e-propose 'filter 'call proposal))
    (e2e-keys "? ?")
    (e2e-see "^Reviewing a proposal")
    (e2e-keys "q")
    (e2e-see-gone "^Reviewing a proposal")
    ;; The outcome is not selected; q closes it first.
    (e2e-keys "=")
    (e2e-see "The outcome is shown in the other window")
    (e2e-keys "q")
    (e2e-see-gone "if you finish now")
    (e2e-see-cursor-at "^@@ -2,7 ")
    (e2e-keys "J")
    (e2e-see "No other open review")
    (e2e-keys "C-c C-k")
    (e2e-answer 'call)))

(ert-deftest e2e-evil-the-list-has-its-keys ()
  (evil-test-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-eval '(require 'agent-q-diff-list))
    (e2e-keys "ESC x")
    (e2e-type "agent-q-diff-list")
    (e2e-keys "RET")
    (e2e-see-cursor-at "target")
    (should (eq 'emacs (e2e-eval '(buffer-local-value 'evil-state (window-buffer)))))
    ;; k moves up, to the heading at most; x asks whether to cancel.
    (e2e-keys "j k x")
    (e2e-see "(y or n)")
    (e2e-keys "n q C-c C-k")
    (e2e-answer 'call)))

(provide 'evil-test)
;;; evil-test.el ends here
