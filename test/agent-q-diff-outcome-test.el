;;; agent-q-diff-outcome-test.el --- The file as it is going to be  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-outcome)

(defconst aqd-outcome-original
  (concat "(defun foo ()\n" (aqd-numbered 20) "  (bar))\n")
  "A file.")

(defconst aqd-outcome-modified
  (concat "(defun foo ()\n  (when x\n" (aqd-numbered 20) "  (bar)))\n")
  "What is proposed for it: two hunks that need each other.")

(defvar aqd-outcome-suffix ".el"
  "End of the name of the file that is reviewed.")

(defmacro aqd-outcome-with-review (original modified &rest body)
  "Run BODY in the diff buffer of ORIGINAL becoming MODIFIED.
The file's name ends with `aqd-outcome-suffix'."
  (declare (indent 2) (debug t))
  `(aqd-with-file ,original
     (let ((aqd-file (concat aqd-file aqd-outcome-suffix)))
       (aqd-write ,original)
       (aqd-call ,original ,modified
                 (lambda ()
                   (pop-to-buffer (current-buffer))
                   ,@body
                   (agent-q-diff-reject-all)))
       (when (get-buffer agent-q-diff-outcome--buffer-name)
         (kill-buffer agent-q-diff-outcome--buffer-name)))))

(defun aqd-outcome (&optional is-all)
  "Return (TEXT HEADER) of what the outcome is shown as; IS-ALL is the prefix."
  (agent-q-diff-show-outcome is-all)
  (with-current-buffer agent-q-diff-outcome--buffer-name
    (list (buffer-string) (substring-no-properties header-line-format))))

(ert-deftest aqd-outcome-is-what-the-file-will-be ()
  (aqd-outcome-with-review aqd-outcome-original aqd-outcome-modified
    (should (equal (aqd-outcome)
                   (list aqd-outcome-original " target.txt.el if you finish now")))
    (should (equal (aqd-outcome t)
                   (list aqd-outcome-modified " target.txt.el with all pending hunks")))
    ;; Looking changes nothing.
    (should (equal (aqd-target) aqd-outcome-original))
    (should (equal (aqd-progress) "0/2 applied, 0 rejected, 2 pending"))
    (aqd-accept 2)
    (should (equal (aqd-target)
                   (string-replace "(bar))" "(bar)))" aqd-outcome-original)))))

(ert-deftest aqd-outcome-warns-of-what-only-a-part-breaks ()
  (aqd-outcome-with-review aqd-outcome-original aqd-outcome-modified
    (aqd-accept 1)
    (should (string-suffix-p
             "finish now: BROKEN SYNTAX at line 1, which neither the original nor the whole proposal has"
             (nth 1 (aqd-outcome))))
    (aqd-accept 2)
    (should (string-suffix-p "finish now" (nth 1 (aqd-outcome))))
    (agent-q-diff-unapply-hunk)
    (aqd-goto-hunk 1)
    (agent-q-diff-unapply-hunk)
    (should (string-suffix-p "finish now" (nth 1 (aqd-outcome))))))

(ert-deftest aqd-outcome-does-not-blame-what-was-broken-before ()
  (aqd-outcome-with-review (concat "(\n" aqd-outcome-original) (concat "(\n" aqd-outcome-modified)
    (aqd-accept 1)
    (should (string-suffix-p "finish now" (nth 1 (aqd-outcome))))))

(ert-deftest aqd-outcome-sees-a-string-that-is-left-open ()
  (let ((original (concat "(foo)\n" (aqd-numbered 20) "(bar)\n")))
    (aqd-outcome-with-review original
        (concat "(foo \"a)\n" (aqd-numbered 20) "\"(bar))\n")
      (aqd-accept 1)
      (should (string-match-p "BROKEN SYNTAX" (nth 1 (aqd-outcome)))))))

;;;; While the review goes on

(defun aqd-outcome-shown ()
  "Return (TEXT HEADER) of what is shown, when it is up to date."
  (with-timeout (20 (ert-fail "It is not updated"))
    (while agent-q-diff-outcome--is-due
      (accept-process-output nil 0.01)))
  (with-current-buffer agent-q-diff-outcome--buffer-name
    (list (buffer-string) (substring-no-properties header-line-format))))

(ert-deftest aqd-outcome-follows-the-decisions ()
  (aqd-outcome-with-review aqd-outcome-original aqd-outcome-modified
    (aqd-outcome)
    (aqd-accept 1)
    (pcase-let ((`(,text ,header) (aqd-outcome-shown)))
      (should (equal text (aqd-target)))
      (should (string-match-p "finish now: BROKEN SYNTAX" header)))
    (aqd-accept 2)
    (should (equal (aqd-outcome-shown)
                   (list aqd-outcome-modified " target.txt.el if you finish now")))
    (agent-q-diff-undo)
    (agent-q-diff-undo)
    (should (equal (aqd-outcome-shown)
                   (list aqd-outcome-original " target.txt.el if you finish now")))))

(ert-deftest aqd-outcome-with-all-hunks-follows-too ()
  (aqd-outcome-with-review aqd-outcome-original aqd-outcome-modified
    (aqd-outcome t)
    (aqd-goto-hunk 1)
    (agent-q-diff-reject-hunk)
    (pcase-let ((`(,text ,header) (aqd-outcome-shown)))
      (should-not (string-match-p "when x" text))
      (should (string-match-p "with all pending hunks: BROKEN SYNTAX" header)))))

(ert-deftest aqd-outcome-keeps-its-place-while-it-follows ()
  (aqd-outcome-with-review aqd-outcome-original aqd-outcome-modified
    (aqd-goto-hunk 2)
    (aqd-outcome)
    (let ((line (with-current-buffer agent-q-diff-outcome--buffer-name
                  (line-number-at-pos))))
      (should (> line 10))
      (aqd-accept 1)
      (aqd-outcome-shown)
      (should (= line (with-current-buffer agent-q-diff-outcome--buffer-name
                        (line-number-at-pos)))))))

(ert-deftest aqd-outcome-leaves-nothing-when-the-review-ends ()
  (aqd-with-file aqd-outcome-original
    (save-window-excursion
      (delete-other-windows)
      (aqd-call aqd-outcome-original aqd-outcome-modified
                (lambda ()
                  (aqd-outcome)
                  (should (get-buffer-window agent-q-diff-outcome--buffer-name))
                  (agent-q-diff-reject-all)))
      (with-timeout (20 (ert-fail "It stays"))
        (while (get-buffer agent-q-diff-outcome--buffer-name)
          (accept-process-output nil 0.01)))
      (should-not (memq #'agent-q-diff-outcome--update-soon
                        agent-q-diff-session-changed-hook)))))

(ert-deftest aqd-outcome-is-never-selected ()
  (aqd-outcome-with-review aqd-outcome-original aqd-outcome-modified
    (dolist (display-buffer-alist
             '(nil (("Outcome" nil (body-function . select-window)))))
      (delete-other-windows)
      ;; The only other window shows the file.
      (set-window-buffer (split-window) (find-buffer-visiting aqd-file))
      (let ((window (selected-window)))
        (aqd-outcome)
        (should (eq window (selected-window)))
        (should (get-buffer-window agent-q-diff-outcome--buffer-name))))))

(ert-deftest aqd-outcome-follows-the-hunk-at-point ()
  (aqd-outcome-with-review aqd-outcome-original aqd-outcome-modified
    (delete-other-windows)
    (aqd-goto-hunk 1)
    (aqd-outcome)
    (let* ((window (get-buffer-window agent-q-diff-outcome--buffer-name))
           (first (window-point window)))
      (aqd-press "n")
      (should (< first (window-point window)))
      (aqd-press "p")
      (should (= first (window-point window))))))

(ert-deftest aqd-outcome-is-left-by-q-and-the-review-goes-on ()
  (aqd-outcome-with-review aqd-outcome-original aqd-outcome-modified
    (delete-other-windows)
    (let ((diff (selected-window))
          (buffer (current-buffer)))
      (aqd-outcome)
      (select-window (get-buffer-window agent-q-diff-outcome--buffer-name))
      (aqd-press "q")
      (should-not (get-buffer agent-q-diff-outcome--buffer-name))
      (should (eq diff (selected-window)))
      (should (= 1 (length (window-list))))
      (set-buffer buffer))))

;;;; With tree-sitter

;; run-tests says in AGENT_Q_DIFF_TREESIT where the grammar of JSON is.
(defvar treesit-extra-load-path)

(defmacro aqd-outcome-with-json-review (original modified &rest body)
  "Run BODY in the diff buffer of ORIGINAL becoming MODIFIED, of JSON.
Hunks have no context, so that two of them can need each other although
parentheses are balanced."
  (declare (indent 2) (debug t))
  `(progn
     (unless (and (fboundp 'treesit-available-p) (treesit-available-p))
       (ert-skip "this Emacs has no tree-sitter"))
     (let ((treesit-extra-load-path
            (list (or (getenv "AGENT_Q_DIFF_TREESIT")
                      (error "There is no grammar in AGENT_Q_DIFF_TREESIT"))))
           (auto-mode-alist '(("\\.json\\'" . json-ts-mode)))
           (aqd-outcome-suffix ".json")
           (agent-q-diff-context-length 0))
       (aqd-outcome-with-review ,original ,modified
         (should (equal (aqd-progress) "0/2 applied, 0 rejected, 2 pending"))
         (should (eq 'json-ts-mode (agent-q-diff-fontify-mode)))
         (should (string-suffix-p "finish now" (nth 1 (aqd-outcome))))
         ,@body))))

(ert-deftest aqd-outcome-warns-of-what-tree-sitter-cannot-parse ()
  (aqd-outcome-with-json-review "{\n\"a\": 1\n\n}\n" "{\n\"a\": 1,\n\n\"b\": 2\n}\n"
    (aqd-accept 2)
    (should (string-match-p "finish now: BROKEN SYNTAX at line 2," (nth 1 (aqd-outcome))))
    (should (equal (agent-q-diff-outcome-at-finish)
                   "target.txt.json: BROKEN SYNTAX at line 2, which neither the original nor the whole proposal has"))
    (aqd-accept 1)
    (should (string-suffix-p "finish now" (nth 1 (aqd-outcome))))
    (should-not (agent-q-diff-outcome-at-finish))))

;; Such a node has no text, and is no error.
(ert-deftest aqd-outcome-warns-of-what-tree-sitter-misses ()
  (aqd-outcome-with-json-review "{\n\"a\":\n\n1\n}\n" "{\n\n}\n"
    (aqd-accept 2)
    (should (string-match-p "finish now: BROKEN SYNTAX at line 2," (nth 1 (aqd-outcome))))
    (aqd-accept 1)
    (should (string-suffix-p "finish now" (nth 1 (aqd-outcome))))))

(ert-deftest aqd-outcome-does-not-blame-what-tree-sitter-could-not-parse-before ()
  (aqd-outcome-with-json-review "{,\n\"a\": 1\n\n}\n" "{,\n\"a\": 1,\n\n\"b\": 2\n}\n"
    (aqd-accept 2)
    (should (string-suffix-p "finish now" (nth 1 (aqd-outcome))))))

;;;; At the end

(defun aqd-outcome-said (keys)
  "Return what is said when a review of two hunks is decided by KEYS."
  (let (said)
    (aqd-with-file aqd-outcome-original
      (rename-file aqd-file (concat aqd-file ".el"))
      (let ((aqd-file (concat aqd-file ".el")))
        (cl-letf (((symbol-function 'message)
                   (lambda (format &rest arguments)
                     (when format
                       (push (apply #'format-message format arguments) said)))))
          (aqd-review aqd-outcome-original aqd-outcome-modified keys))
        (kill-buffer (find-buffer-visiting aqd-file))))
    (seq-find (lambda (text) (string-match-p "BROKEN SYNTAX" text)) said)))

(defconst aqd-outcome-unsound
  "target.txt.el: 1 of 2 hunks in the file, Agent-Q told; BROKEN SYNTAX at line 1, \
which neither the original nor the whole proposal has"
  "What is said of the first hunk alone.")

(ert-deftest aqd-outcome-finishing-says-what-only-a-part-breaks ()
  (dolist (keys '("a r q" "a C-c C-k" "n r p a C-c C-c"))
    (ert-info (keys)
      (should (equal (aqd-outcome-said keys) aqd-outcome-unsound))))
  (should (string-match-p "BROKEN SYNTAX at line 22," (aqd-outcome-said "r a q"))))

(ert-deftest aqd-outcome-finishing-says-nothing-of-what-is-sound ()
  (dolist (keys '("a a q" "r r q" "C-c C-c" "a p u C-c C-k"))
    (ert-info (keys)
      (should-not (aqd-outcome-said keys)))))

(ert-deftest aqd-outcome-finishing-looks-through-no-big-file ()
  (let ((size (length aqd-outcome-original)))
    (dolist (limit (list nil size))
      (let ((agent-q-diff-finish-check-size limit))
        (should-not (aqd-outcome-said "a r q"))))
    (let ((agent-q-diff-finish-check-size (+ size 100)))
      (should (equal (aqd-outcome-said "a r q") aqd-outcome-unsound)))))

(ert-deftest aqd-outcome-a-mode-that-fails-keeps-nobody-from-finishing ()
  (cl-letf (((symbol-function 'agent-q-diff-outcome--flaw)
             (lambda (&rest _) (error "Not today"))))
    (should-not (aqd-outcome-said "a r q"))
    (aqd-with-file aqd-outcome-original
      (should (equal (aqd-review aqd-outcome-original aqd-outcome-modified "a r q")
                     "accepted")))))

(ert-deftest aqd-outcome-the-answer-says-nothing-of-it ()
  (cl-flet ((result ()
              (aqd-with-file aqd-outcome-original
                (plist-get (aqd-result aqd-outcome-original aqd-outcome-modified "a r q")
                           :message))))
    (should-not (string-match-p "BROKEN SYNTAX" (result)))))

(provide 'agent-q-diff-outcome-test)
;;; agent-q-diff-outcome-test.el ends here
