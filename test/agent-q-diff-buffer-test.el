;;; agent-q-diff-buffer-test.el --- What a diff buffer knows of its hunks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The marks of hunks, also those that others write, and the kinds of lines.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-api)

;;;; Marks that others write

(ert-deftest aqd-buffer-of-several-entries-the-first-counts ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (let ((position (aqd-goto-hunk 1)))
        (sly-agent-q-diff-accept-hunk)
        (push (cons position 'rejected) sly-agent-q-diff--hunk-states)
        (sly-agent-q-diff--update-header)
        (should (equal (aqd-progress) "0/2 applied, 1 rejected, 1 pending"))
        (sly-agent-q-diff-finish)
        (should (equal "rejected" sly-agent-q-diff--decision))))))

(ert-deftest aqd-buffer-entries-that-are-no-hunks-do-not-swell-the-total ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (setq sly-agent-q-diff--hunk-states
            (list (cons 100 'applied) (cons 200 'rejected)))
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "1/2 applied, 1 rejected, 0 pending")))))

(ert-deftest aqd-buffer-ruling-13-variables-survive-turning-the-mode-on ()
  (aqd-with-forty-lines
    (with-temp-buffer
      (dolist (name '("path" "original" "modified" "description" "decision"))
        (set (intern (concat "sly-agent-q-diff--" name)) name))
      (setq sly-agent-q-diff--hunk-states '((1 . applied)))
      (sly-agent-q-diff-mode)
      (dolist (name '("path" "original" "modified" "description" "decision"))
        (should (equal name
                       (symbol-value (intern (concat "sly-agent-q-diff--" name))))))
      (should (equal sly-agent-q-diff--hunk-states '((1 . applied)))))))

(ert-deftest aqd-buffer-ruling-13-states-put-in-by-hand-count ()
  (aqd-with-forty-lines
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (setf (alist-get (aqd-goto-hunk 2) sly-agent-q-diff--hunk-states)
                      'rejected)
                (aqd-goto-hunk 1)
                (agent-q-diff-reject-hunk)
                (should (equal (aqd-progress) "0/3 applied, 2 rejected, 1 pending"))
                (setf (alist-get (aqd-goto-hunk 3) sly-agent-q-diff--hunk-states)
                      'applied)
                (sly-agent-q-diff--update-header)
                (should (equal (aqd-progress) "1/3 applied, 2 rejected, 0 pending"))
                (agent-q-diff-finish)
                (should (equal "accepted" sly-agent-q-diff--decision))))
    (should (equal (aqd-disk) (aqd-three-with)))))

;;;; The lines of hunks

(defun aqd-buffer-kinds ()
  "Return the kinds of the lines of this buffer, a string.
Those of no hunk are dots."
  (save-excursion
    (goto-char (point-min))
    (let ((kinds nil))
      (while (not (eobp))
        (push (or (agent-q-diff-buffer-kind-at (line-end-position)) ?.) kinds)
        (forward-line))
      (concat (nreverse kinds)))))

(ert-deftest aqd-buffer-each-line-has-the-kind-that-the-engine-says ()
  ;; What lines begin with says nothing.
  (aqd-with-review "a\n-- b\n\\ c" "a\n++ b\n@@ c\n"
    (should (string-suffix-p ".crrnaa" (aqd-buffer-kinds)))
    (should (equal [0 3 0 3 "crrnaa"] (agent-q-diff-buffer-lines 0))))
  ;; In the order in which they were typed, an empty line of context included.
  (aqd-with-file "x\n\n"
    (aqd-with-diff "Prose\n+ more\n@@ -1,2 +1,3 @@\n+a\n-x\n+b\n\n\n-- \nRegards\n"
      (set-buffer-modified-p nil)
      (should (agent-q-diff-buffer-current-change))
      (should (equal "...arac..." (aqd-buffer-kinds)))
      (should-not (buffer-modified-p)))))

(ert-deftest aqd-buffer-kinds-outlive-the-review ()
  (aqd-with-file "a\nb\n"
    (let (buffer)
      (aqd-call "a\nb\n" "a\nc\nb\n"
                (lambda ()
                  (setq buffer (current-buffer))
                  (agent-q-diff-reject-all)))
      (with-current-buffer buffer
        (should (agent-q-diff-buffer-ended-p))
        ;; A search in changed lines needs them.
        (should (string-suffix-p ".cac" (aqd-buffer-kinds)))))))

;;;; Bare buffers

(ert-deftest aqd-buffer-a-command-does-not-move-the-callers-positions ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (concat "C-c C-c = accept all\n\n" aqd-bare-diff-of-two)
      (let ((position (aqd-goto-hunk 1)))
        (sly-agent-q-diff-accept-hunk)
        (should (eq 'applied (alist-get position sly-agent-q-diff--hunk-states)))
        (should (equal position (aqd-goto-hunk 1)))))))

(ert-deftest aqd-buffer-ruling-14-count-hunks ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written-diff
      (should (equal 2 (sly-agent-q-diff--count-hunks))))))

(ert-deftest aqd-buffer-ruling-16-changed-lines-that-look-like-headers-are-lines ()
  (let ((original (aqd-lines "a" "-- old" "++ old" "@ -1 @" "z"))
        (modified (aqd-lines "a" "-- new" "++ new" "@ -2 @" "z")))
    (aqd-with-file original
      (aqd-call original modified
                (lambda ()
                  (should (equal 1 (sly-agent-q-diff--count-hunks)))
                  (agent-q-diff-accept-all)))
      (should (equal (aqd-disk) modified)))))

;;;; After the review

(ert-deftest aqd-buffer-can-be-looked-at-afterwards ()
  (aqd-with-forty-lines
    (aqd-review aqd-original-of-three aqd-modified-of-three "a q")
    (with-current-buffer (aqd-diff-buffer)
      (should (equal 3 (sly-agent-q-diff--count-hunks)))
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
      (goto-char (point-min))
      (agent-q-diff-next-hunk)
      (agent-q-diff-next-hunk)
      (should (equal 1 (agent-q-diff-buffer-hunk-at-point)))
      (should-not (agent-q-diff-accept-hunk))
      (sly-agent-q-diff-finish)
      (should (equal "accepted" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five"))))))

(provide 'agent-q-diff-buffer-test)
;;; agent-q-diff-buffer-test.el ends here
