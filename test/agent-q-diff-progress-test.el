;;; agent-q-diff-progress-test.el --- How far a review has come  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;;; The progress line

(ert-deftest aqd-progress-the-line-moves-what-is-known-of-hunks ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (let ((states '((1 . applied))))
        (setq sly-agent-q-diff--hunk-states states)
        (sly-agent-q-diff--update-header)
        (should (eq 'applied (alist-get (aqd-goto-hunk 1)
                                        sly-agent-q-diff--hunk-states)))
        ;; What the caller wrote down stays the caller's.
        (should (equal states '((1 . applied))))))))

(ert-deftest aqd-progress-ruling-13-positions-do-not-move-with-the-progress ()
  (let* ((changes (cl-loop for n from 1 to 12 collect (cons (* 10 n) "changed")))
         (original (aqd-numbered 130))
         (modified (aqd-numbered 130 changes)))
    (aqd-with-file original
      (aqd-call original modified
                (lambda ()
                  (let* ((positions (lambda ()
                                      (cl-loop for n from 1 to 12
                                               collect (aqd-goto-hunk n))))
                         (before (funcall positions)))
                    (cl-loop for n from 1 to 11
                             do (aqd-goto-hunk n)
                             do (agent-q-diff-accept-hunk)
                             do (should (equal before (funcall positions))))
                    (should (equal (aqd-progress)
                                   "11/12 applied, 0 rejected, 1 pending")))
                  (agent-q-diff-finish))))))

(ert-deftest aqd-progress-ruling-14-update-header-replaces-the-old-line-of-keys ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (concat "C-c C-c = accept all   C-c C-k = reject all\n\n"
                           aqd-hand-written-diff)
      (setf (alist-get (aqd-goto-hunk 1) sly-agent-q-diff--hunk-states) 'applied)
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "1/2 applied, 0 rejected, 1 pending"))
      (should-not (string-search "C-c C-c =" (buffer-string)))
      (should (eq 'applied (alist-get (aqd-goto-hunk 1)
                                      sly-agent-q-diff--hunk-states))))))

(ert-deftest aqd-progress-ruling-14-update-header-inserts-where-there-is-no-line ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written-diff
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "0/2 applied, 0 rejected, 2 pending"))
      (aqd-goto-hunk 1)
      (sly-agent-q-diff-accept-hunk)
      (should (equal (aqd-progress) "1/2 applied, 0 rejected, 1 pending")))))

;;;; The header line

(ert-deftest aqd-progress-header-line-counts-conflicts ()
  (let ((edit (lambda (from to)
                (aqd-in-target (search-forward from)
                               (replace-match to)
                               (save-buffer))
                (agent-q-diff-signs-follow)))
        (counts (lambda () (and (string-match "pending\\(.*\\) · target" header-line-format)
                                (match-string 1 header-line-format)))))
    (aqd-with-review (aqd-numbered 60)
        (aqd-numbered 60 '((5 . "a") (20 . "b") (35 . "c") (50 . "d")))
      (should (equal (funcall counts) ""))
      (funcall edit "line 20" "mine")
      (should (equal (funcall counts) " · 1 conflict"))
      (funcall edit "line 50" "mine")
      (should (equal (funcall counts) " · 2 conflicts"))
      (aqd-goto-hunk 1)
      (agent-q-diff-accept-hunk)
      (should (equal (funcall counts) " · 2 conflicts"))
      (funcall edit "mine" "line 20")
      (funcall edit "mine" "line 50")
      (should (equal (funcall counts) "")))))

(ert-deftest aqd-progress-header-line-shows-the-progress ()
  (aqd-with-file "a\n"
    (aqd-call "a\n" "b\n"
              (lambda ()
                (should (string-match-p "0 applied · 0 rejected · 1 pending"
                                        header-line-format))
                (should (string-prefix-p " hunk 1/1 · " header-line-format))
                (should (string-suffix-p " · target.txt · Agent-Q" header-line-format))
                (goto-char (point-min))
                (run-hooks 'post-command-hook)
                (should (string-prefix-p " 1 hunk · " header-line-format))
                (aqd-goto-hunk 1)
                (agent-q-diff-reject-hunk)
                (should (string-match-p "0 applied · 1 rejected · 0 pending · target"
                                        header-line-format))
                (should (string-match-p "The agent will read this"
                                        (aqd-said (agent-q-diff-comment "Why?"))))
                (should (string-match-p "0 pending · commented · target" header-line-format))
                (should (string-match-p "No comment" (aqd-said (agent-q-diff-comment " "))))
                (should (string-match-p "0 pending · target" header-line-format))
                (agent-q-diff-finish)))))

(ert-deftest aqd-progress-header-line-begins-at-the-first-hunk ()
  (aqd-with-open-review (aqd-numbered 40) (aqd-numbered 40 '((5 . "five") (30 . "thirty")))
    ;; No command has moved there.
    (aqd-in-diff review
      (should (string-prefix-p " hunk 1/2 · " header-line-format)))
    (agent-q-diff-cancel review)))

(provide 'agent-q-diff-progress-test)
;;; agent-q-diff-progress-test.el ends here
