;;; sly-agent-q-diff-test.el --- Agent-Q's documented names and checklist  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What code written against Agent-Q's own documents does with this
;; package, and each line of their verification checklist
;; (`aqd-checklist-…').

;;; Code:

(require 'agent-q-diff-test-help)

(declare-function sly-agent-q-diff--generate-unified-diff "sly-agent-q-diff")

(defconst aqd-lisp-original
  (aqd-lines ";;;; test.lisp" "" "(defun foo ()" "  42)" ""
             ";; filler 1" ";; filler 2" ";; filler 3" ";; filler 4"
             ";; filler 5" ";; filler 6" "" "(defun bar ()" "  99)")
  "A Lisp file of two functions.")

(defconst aqd-lisp-modified
  (string-replace
   "(defun bar ()\n" "(defun bar ()\n  \"Another.\"\n"
   (string-replace "(defun foo ()\n" "(defun foo ()\n  \"Docstring.\"\n"
                   aqd-lisp-original))
  "The same file with two docstrings.")

(defmacro aqd-with-lisp-diff (&rest body)
  "Run BODY in a bare buffer with the diff of a file of two functions."
  (declare (indent 0) (debug t))
  `(aqd-with-file aqd-lisp-original
     (aqd-with-diff (sly-agent-q-diff--generate-unified-diff
                     aqd-lisp-original aqd-lisp-modified aqd-file)
       ,@body)))

(defun aqd-visited-text ()
  "Return the text of the buffer that visits the test's file."
  (with-current-buffer (find-buffer-visiting aqd-file)
    (buffer-string)))

;;;; The names

(ert-deftest aqd-sly-names-are-there ()
  (dolist (name '("accept-hunk" "reject-hunk" "toggle-hunk" "preview-hunk"
                  "next-hunk" "previous-hunk" "accept-all" "reject-all"
                  "finish" "mode"))
    (should (commandp (intern (concat "sly-agent-q-diff-" name)))))
  (dolist (name '("generate-unified-diff" "update-header" "count-hunks"
                  "apply-visual-feedback"))
    (should (fboundp (intern (concat "sly-agent-q-diff--" name)))))
  (dolist (name '("path" "original" "modified" "description" "decision"
                  "hunk-states"))
    (let ((variable (intern (concat "sly-agent-q-diff--" name))))
      (should (boundp variable))
      (should (local-variable-if-set-p variable))
      (should (get (indirect-variable variable) 'permanent-local)))))

(ert-deftest aqd-sly-variables-are-local-to-the-diff-buffer ()
  (with-temp-buffer
    (setq sly-agent-q-diff--path "/x")
    (with-temp-buffer
      (should-not sly-agent-q-diff--path))))

(ert-deftest aqd-sly-buffer-has-the-documented-name-mode-and-path ()
  (aqd-with-file aqd-lisp-original
    (let ((default-directory (file-name-directory aqd-file)))
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (should (equal (buffer-name) "*Agent-Q Diff*"))
                   (should (eq major-mode 'sly-agent-q-diff-mode))
                   (should (derived-mode-p 'diff-mode))
                   (should (equal sly-agent-q-diff--path aqd-file))
                   (should (equal sly-agent-q-diff--original aqd-lisp-original))
                   (should (equal sly-agent-q-diff--modified aqd-lisp-modified))
                   (should (equal sly-agent-q-diff--description "Docs."))
                   (sly-agent-q-diff-reject-all))))
        (should (equal "rejected"
                       (sly-agent-q-show-diff-and-wait
                        "target.txt" aqd-lisp-original aqd-lisp-modified
                        "Docs.")))))))

(ert-deftest aqd-sly-caller-that-replaces-both-ends-is-served ()
  (aqd-with-file aqd-lisp-original
    (let (exited)
      (cl-letf (((symbol-function 'exit-recursive-edit)
                 (lambda () (setq exited t)))
                ((symbol-function 'recursive-edit)
                 (lambda () (sly-agent-q-diff-accept-all))))
        (should (equal "accepted"
                       (sly-agent-q-show-diff-and-wait
                        aqd-file aqd-lisp-original aqd-lisp-modified "d"))))
      (should exited))))

(ert-deftest aqd-sly-caller-that-sets-the-decision-is-served ()
  (aqd-with-file aqd-lisp-original
    (should (equal "accepted"
                   (aqd-call aqd-lisp-original aqd-lisp-modified
                             (lambda ()
                               (setq sly-agent-q-diff--decision "accepted")))))))

(ert-deftest aqd-sly-what-no-agent-may-write-is-not-reviewed ()
  (aqd-with-file aqd-lisp-original
    (let ((other (concat aqd-file "-other")))
      (add-name-to-file aqd-file other)
      (should-error (sly-agent-q-show-diff-and-wait other aqd-lisp-original
                                                    aqd-lisp-modified "d")
                    :type 'agent-q-diff-forbidden)
      (should-not (find-buffer-visiting other)))))

(ert-deftest aqd-sly-finish-calls-a-replaced-exit-in-a-bare-buffer ()
  (let (exited)
    (cl-letf (((symbol-function 'exit-recursive-edit) (lambda () (setq exited t))))
      (aqd-with-lisp-diff
        (sly-agent-q-diff-finish)
        (should exited)
        (should (equal "rejected" sly-agent-q-diff--decision))))))

;;;; The checklist of Agent-Q's document

(ert-deftest aqd-checklist-state-update-by-hand ()
  (with-temp-buffer
    (insert "--- a/test.lisp\n" "+++ b/test.lisp\n" "@@ -1,1 +1,2 @@\n"
            " line1\n" "+line2\n")
    (sly-agent-q-diff-mode)
    (goto-char (point-min))
    (re-search-forward "^@@")
    (beginning-of-line)
    (let ((pos (point)))
      (setf (alist-get pos sly-agent-q-diff--hunk-states) 'applied)
      (should (eq 'applied (alist-get pos sly-agent-q-diff--hunk-states)))
      (sly-agent-q-diff-finish)
      (should (equal "accepted" sly-agent-q-diff--decision)))))

(ert-deftest aqd-checklist-diff-is-a-valid-unified-diff ()
  (aqd-with-file aqd-lisp-original
    (let ((diff (sly-agent-q-diff--generate-unified-diff
                 aqd-lisp-original aqd-lisp-modified aqd-file)))
      (should (string-prefix-p (format "--- %s\n+++ %s\n@@ -1,6 +1,7 @@"
                                       aqd-file aqd-file)
                               diff))
      (with-temp-buffer
        (insert diff)
        (should (eq 0 (call-process-region nil nil "patch" nil nil nil "-s"
                                           aqd-file))))
      (should (equal (aqd-disk) aqd-lisp-modified)))))

(ert-deftest aqd-checklist-diff-of-equal-texts-is-empty ()
  (should (equal "" (sly-agent-q-diff--generate-unified-diff "a\n" "a\n" "f"))))

(ert-deftest aqd-checklist-hunks-apply-by-diff-apply-hunk ()
  (aqd-with-lisp-diff
    (aqd-goto-hunk 1)
    (diff-apply-hunk)
    (should (string-search "\"Docstring.\"" (aqd-visited-text)))
    (should-not (string-search "\"Another.\"" (aqd-visited-text)))))

(ert-deftest aqd-checklist-hunks-apply-by-accept ()
  (aqd-with-lisp-diff
    (aqd-goto-hunk 2)
    (sly-agent-q-diff-accept-hunk)
    (should-not (string-search "\"Docstring.\"" (aqd-visited-text)))
    (should (string-search "\"Another.\"" (aqd-visited-text)))
    (should (equal (encode-coding-string (aqd-visited-text) 'utf-8) (aqd-disk)))))

(ert-deftest aqd-checklist-state-is-tracked-per-position ()
  (aqd-with-lisp-diff
    (let ((first (aqd-goto-hunk 1))
          (second (aqd-goto-hunk 2)))
      (sly-agent-q-diff-accept-hunk)
      (goto-char first)
      (sly-agent-q-diff-reject-hunk)
      (should (eq 'rejected (alist-get first sly-agent-q-diff--hunk-states)))
      (should (eq 'applied (alist-get second sly-agent-q-diff--hunk-states))))))

(ert-deftest aqd-checklist-toggle-follows-the-documented-transitions ()
  (aqd-with-lisp-diff
    (let* ((position (aqd-goto-hunk 1))
           (state (lambda () (alist-get position sly-agent-q-diff--hunk-states))))
      (sly-agent-q-diff-accept-hunk)
      (should (eq 'applied (funcall state)))
      (sly-agent-q-diff-toggle-hunk)
      (should-not (funcall state))
      (should (string-search "\"Docstring.\"" (aqd-visited-text)))
      (sly-agent-q-diff-reject-hunk)
      (should (eq 'rejected (funcall state)))
      (sly-agent-q-diff-toggle-hunk)
      (should (eq 'applied (funcall state))))))

(ert-deftest aqd-checklist-overlays-match-states ()
  (aqd-with-lisp-diff
    (aqd-goto-hunk 1)
    (sly-agent-q-diff-accept-hunk)
    (aqd-goto-hunk 2)
    (sly-agent-q-diff-reject-hunk)
    (should (equal (aqd-signs) '((1 . "[APPLIED]") (2 . "[REJECTED]"))))
    (sly-agent-q-diff-unapply-hunk)
    (aqd-goto-hunk 1)
    (sly-agent-q-diff-unapply-hunk)
    (should (equal (aqd-signs) '((2 . "[REJECTED]"))))))

(ert-deftest aqd-checklist-visual-feedback-by-hand ()
  (aqd-with-lisp-diff
    (let ((position (aqd-goto-hunk 2)))
      (sly-agent-q-diff--apply-visual-feedback position 'rejected)
      (should (equal (aqd-signs) '((2 . "[REJECTED]"))))
      (sly-agent-q-diff--apply-visual-feedback position nil)
      (should-not (aqd-signs)))))

(ert-deftest aqd-checklist-progress-updates-with-every-key ()
  (aqd-with-file aqd-lisp-original
    (aqd-call aqd-lisp-original aqd-lisp-modified
              (lambda ()
                (goto-char (point-min))
                (should (search-forward "Progress: 0/2 applied, 0 rejected, 2 pending  |  [a]ccept [r]eject [n]ext [p]rev [q]uit"))
                (aqd-goto-hunk 1)
                (aqd-press "a")
                (should (equal (aqd-progress) "1/2 applied, 0 rejected, 1 pending"))
                (aqd-press "r")
                (should (equal (aqd-progress) "1/2 applied, 1 rejected, 0 pending"))
                (sly-agent-q-diff-finish)))))

(ert-deftest aqd-checklist-keys-run-the-documented-commands ()
  (aqd-with-file aqd-lisp-original
    (aqd-call aqd-lisp-original aqd-lisp-modified
              (lambda ()
                (dolist (read-only '(t nil))
                  (setq buffer-read-only read-only)
                  (pcase-dolist (`(,key . ,command)
                                 '(("n" . sly-agent-q-diff-next-hunk)
                                   ("p" . sly-agent-q-diff-previous-hunk)
                                   ("a" . sly-agent-q-diff-accept-hunk)
                                   ("r" . sly-agent-q-diff-reject-hunk)
                                   ("u" . sly-agent-q-diff-unapply-hunk)
                                   ("SPC" . sly-agent-q-diff-toggle-hunk)
                                   ("RET" . sly-agent-q-diff-preview-hunk)
                                   ("q" . sly-agent-q-diff-finish)
                                   ("?" . sly-agent-q-diff-help)
                                   ("C-c C-c" . sly-agent-q-diff-accept-all)
                                   ("C-c C-k" . sly-agent-q-diff-reject-all)))
                    (should (eq command (key-binding (kbd key))))))
                (sly-agent-q-diff-reject-all)))))

(ert-deftest aqd-checklist-decision-is-returned-to-lisp ()
  (pcase-dolist (`(,keys . ,decision) '(("a q" . "accepted") ("a a q" . "accepted")
                                        ("a r q" . "accepted") ("r r q" . "rejected")
                                        ("q" . "rejected")
                                        ("C-c C-c" . "accepted")
                                        ("C-c C-k" . "rejected")))
    (aqd-with-file aqd-lisp-original
      (should (equal decision (aqd-review aqd-lisp-original aqd-lisp-modified
                                          keys))))))

(ert-deftest aqd-checklist-all-or-nothing-keys-still-work ()
  (aqd-with-file aqd-lisp-original
    (should (equal "accepted" (aqd-review aqd-lisp-original aqd-lisp-modified
                                          "C-c C-c")))
    (should (equal (aqd-disk) aqd-lisp-modified)))
  (aqd-with-file aqd-lisp-original
    (should (equal "rejected" (aqd-review aqd-lisp-original aqd-lisp-modified
                                          "C-c C-k")))
    (should (equal (aqd-disk) aqd-lisp-original))))

(ert-deftest aqd-checklist-single-hunk-diffs-work ()
  (aqd-with-file "a\nb\nc"
    (should (equal "accepted" (aqd-review "a\nb\nc" "a\nB\nc" "n p a q")))
    (should (equal (aqd-disk) "a\nB\nc"))))

(ert-deftest aqd-checklist-sequence-of-files-reuses-the-buffer ()
  (aqd-with-file aqd-lisp-original
    (should (equal "accepted" (aqd-review aqd-lisp-original aqd-lisp-modified "a q")))
    (let ((buffer (aqd-diff-buffer))
          (changed (decode-coding-string (aqd-disk) 'utf-8)))
      (should (equal "accepted" (aqd-review changed (concat changed "end\n") "a q")))
      (should (eq buffer (aqd-diff-buffer)))
      (with-current-buffer buffer
        (should (equal 1 (length sly-agent-q-diff--hunk-states)))
        (should (equal (aqd-progress) "1/1 applied, 0 rejected, 0 pending"))))))

(ert-deftest aqd-checklist-next-and-previous-say-the-state ()
  (aqd-with-lisp-diff
    (aqd-goto-hunk 1)
    (sly-agent-q-diff-accept-hunk)
    (aqd-goto-hunk 2)
    (sly-agent-q-diff-reject-hunk)
    (let (said)
      (cl-letf (((symbol-function 'message)
                 (lambda (format &rest arguments)
                   (setq said (and format (apply #'format format arguments))))))
        (sly-agent-q-diff-previous-hunk 1)
        (should (string-prefix-p "Hunk applied" said))
        (sly-agent-q-diff-next-hunk 1)
        (should (string-prefix-p "Hunk rejected" said))
        (sly-agent-q-diff-unapply-hunk)
        (aqd-goto-hunk 1)
        (sly-agent-q-diff-unapply-hunk)
        (sly-agent-q-diff-next-hunk 1)
        (sly-agent-q-diff-previous-hunk 1)
        (should (string-prefix-p "Hunk pending" said))))))

(provide 'sly-agent-q-diff-test)
;;; sly-agent-q-diff-test.el ends here
