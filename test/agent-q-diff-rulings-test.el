;;; agent-q-diff-rulings-test.el --- Rulings of the specification  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One test, or several, for each ruling that says how a review behaves.

;;; Code:

(require 'tramp)
(require 'agent-q-diff-test-help)

(declare-function diff-apply-buffer "diff-mode")

(defconst aqd-three
  (cons (aqd-numbered 40)
        (aqd-numbered 40 '((5 . "LINE 5") (20 . "LINE 20") (35 . "LINE 35"))))
  "A proposal of three hunks: original and modified text.")

(defun aqd-three (&rest hunks)
  "Return the text of `aqd-three' with HUNKS, counted from 1, applied."
  (aqd-numbered 40 (mapcar (lambda (hunk)
                             (nth (1- hunk) '((5 . "LINE 5") (20 . "LINE 20")
                                              (35 . "LINE 35"))))
                           hunks)))

(defmacro aqd-three-review (keys)
  "Review `aqd-three' with KEYS and return the answer."
  `(aqd-review (car aqd-three) (cdr aqd-three) ,keys))

(defmacro aqd-with-three (&rest body)
  "Run BODY with a file that holds the original of `aqd-three'."
  (declare (indent 0) (debug t))
  `(aqd-with-file (car aqd-three) ,@body))

;;;; 1: the engine applies

(defun aqd-blocks (&rest changed)
  "Return twelve identical blocks; in those CHANGED, a line is another."
  (cl-loop for block from 1 to 12
           concat (aqd-lines "begin" "  one" "  two" "  three"
                             (if (memq block changed) "  FOUR" "  four")
                             "  five" "  six" "  seven" "end")))

(ert-deftest aqd-ruling-1-hunk-goes-into-its-own-block ()
  (aqd-with-file (aqd-blocks)
    (should (equal "accepted"
                   (aqd-review (aqd-blocks) (aqd-blocks 4 8) "r a q")))
    (should (equal (aqd-disk) (aqd-blocks 8)))))

(ert-deftest aqd-ruling-1-also-when-hunk-1-would-shift-the-others ()
  ;; Were hunk 1 applied, block 8 would be ten lines further down, which is
  ;; just another block's place.
  (let* ((head (aqd-lines "a" "b" "c" "d"))
         (added (cl-loop for n from 1 to 9 concat (format "new %d\n" n)))
         (original (concat head (aqd-blocks)))
         (modified (concat (aqd-lines "a" "b") added (aqd-lines "c" "d")
                           (aqd-blocks 8))))
    (aqd-with-file original
      (should (equal "accepted" (aqd-review original modified "r a q")))
      (should (equal (aqd-disk) (concat head (aqd-blocks 8)))))))

(ert-deftest aqd-ruling-1-commands-that-rewrite-the-diff-refuse ()
  (aqd-with-three
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (should (derived-mode-p 'diff-mode))
                (dolist (command '(diff-hunk-kill diff-file-kill
                                   diff-reverse-direction))
                  (let ((before (buffer-string)))
                    (should (eq 'agent-q-diff-refuse (command-remapping command)))
                    (should-error (call-interactively (command-remapping command))
                                  :type 'user-error)
                    (should (equal before (buffer-string)))))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-ruling-1-diff-apply-hunk-counts-as-an-outside-edit ()
  (let ((agent-q-diff-save 'always))
    (aqd-with-three
      (aqd-call (car aqd-three) (cdr aqd-three)
                (lambda ()
                  (aqd-goto-hunk 2)
                  (let ((inhibit-message t))
                    (diff-apply-hunk))
                  (aqd-goto-hunk 1)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs) '((1 . "[APPLIED]")
                                               (2 . "[PENDING, but in the file]"))))
                  (aqd-goto-hunk 2)
                  (agent-q-diff-accept-hunk)
                  (agent-q-diff-finish)))
      (should (equal (aqd-disk) (aqd-three 1 2))))))

;;;; 2: mark and fact

(ert-deftest aqd-ruling-2-undone-in-the-target ()
  (let ((agent-q-diff-save 'always))
    (aqd-with-three
      (aqd-call (car aqd-three) (cdr aqd-three)
                (lambda ()
                  (aqd-goto-hunk 1)
                  (agent-q-diff-accept-hunk)
                  (with-current-buffer (find-buffer-visiting aqd-file)
                    (primitive-undo 1 (cdr buffer-undo-list))
                    (should (equal (buffer-string) (aqd-three))))
                  (aqd-goto-hunk 2)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs)
                                 '((1 . "[APPLIED, but not in the file]")
                                   (2 . "[APPLIED]"))))
                  (aqd-goto-hunk 1)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs) '((1 . "[APPLIED]") (2 . "[APPLIED]"))))
                  (agent-q-diff-finish)))
      (should (equal (aqd-disk) (aqd-three 1 2))))))

(ert-deftest aqd-ruling-2-change-was-there-before ()
  (aqd-with-file (aqd-three 2)
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (should (equal (aqd-signs) '((2 . "[PENDING, but in the file]"))))
                (let ((tick (buffer-chars-modified-tick
                             (find-buffer-visiting aqd-file))))
                  (aqd-goto-hunk 2)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs) '((2 . "[APPLIED]"))))
                  (should (eq tick (buffer-chars-modified-tick
                                    (find-buffer-visiting aqd-file)))))
                (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
                (agent-q-diff-finish)))
    (should (equal (aqd-disk) (aqd-three 2)))))

(ert-deftest aqd-ruling-2-failed-apply-changes-neither ()
  (aqd-with-file (aqd-numbered 40 '((5 . "other") (6 . "other")))
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (let ((position (aqd-goto-hunk 1)))
                  (should-not (agent-q-diff-accept-hunk))
                  (should-not (alist-get position sly-agent-q-diff--hunk-states))
                  (should (equal (aqd-signs) '((1 . "[DOES NOT APPLY]")))))
                (agent-q-diff-reject-all)))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "other") (6 . "other")))))))

;;;; 3: SPC and u

(ert-deftest aqd-ruling-3-spc-accepts-pending-and-rejected ()
  (aqd-with-three
    (should (equal "accepted" (aqd-three-review "SPC n r p SPC q")))
    (should (equal (aqd-disk) (aqd-three 1 2)))))

(ert-deftest aqd-ruling-3-spc-on-applied-takes-back-the-mark-alone ()
  (aqd-with-three
    (let ((result (aqd-result (car aqd-three) (cdr aqd-three) "SPC SPC q")))
      (should (equal "rejected" (plist-get result :decision)))
      (should (equal 1 (plist-get result :in-file))))
    (should (equal (aqd-disk) (aqd-three 1)))))

(ert-deftest aqd-ruling-3-option-makes-spc-unapply ()
  (aqd-with-three
    (let ((agent-q-diff-toggle-unapplies t))
      (should (equal "rejected" (aqd-three-review "SPC SPC q"))))
    (should (equal (aqd-disk) (aqd-three)))))

(ert-deftest aqd-ruling-3-u-takes-out-in-any-order ()
  (aqd-with-three
    (should (equal "accepted" (aqd-three-review "a a a p p u n n u q")))
    (should (equal (aqd-disk) (aqd-three 2)))))

(ert-deftest aqd-ruling-3-u-refuses-a-changed-text ()
  (aqd-with-three
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (aqd-goto-hunk 1)
                (agent-q-diff-accept-hunk)
                (with-current-buffer (find-buffer-visiting aqd-file)
                  (goto-char (point-min))
                  (search-forward "LINE 5")
                  (insert " and more"))
                (should-not (agent-q-diff-unapply-hunk))
                (should (equal (alist-get (aqd-goto-hunk 1)
                                          sly-agent-q-diff--hunk-states)
                               'applied))
                (agent-q-diff-finish)))
    (with-current-buffer (find-buffer-visiting aqd-file)
      (should (string-search "LINE 5 and more\n" (buffer-string))))))

;;;; 4: accept all

(ert-deftest aqd-ruling-4-never-a-rejected-one ()
  (aqd-with-three
    (should (equal "accepted" (aqd-three-review "n r C-c C-c")))
    (should (equal (aqd-disk) (aqd-three 1 3)))))

(ert-deftest aqd-ruling-4-is-one-undo-step ()
  (aqd-with-three
    (aqd-visit)
    (should (equal "accepted" (aqd-three-review "C-c C-c")))
    (with-current-buffer (aqd-visit)
      (should (equal (buffer-string) (cdr aqd-three)))
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) (car aqd-three))))))

(ert-deftest aqd-ruling-4-is-one-undo-step-whatever-hooks-do ()
  (aqd-with-three
    (with-current-buffer (aqd-visit)
      (add-hook 'after-change-functions (lambda (&rest _) (undo-boundary)) nil t))
    (should (equal "accepted" (aqd-three-review "C-c C-c")))
    (with-current-buffer (aqd-visit)
      (setq after-change-functions nil)
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) (car aqd-three))))))

(ert-deftest aqd-ruling-4-stays-open-and-says-which-failed ()
  (aqd-with-file (aqd-numbered 40 '((20 . "other")))
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (agent-q-diff-accept-all)
                (should-not sly-agent-q-diff--decision)
                (should (equal (agent-q-diff-buffer-hunk-at-point) 1))
                (should (equal (aqd-signs) '((1 . "[APPLIED]")
                                             (2 . "[DOES NOT APPLY]")
                                             (3 . "[APPLIED]"))))
                (agent-q-diff-finish)))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "LINE 5") (20 . "other")
                                                 (35 . "LINE 35")))))))

(ert-deftest aqd-ruling-4-with-nothing-pending-finishes ()
  (aqd-with-three
    (should (equal "rejected" (aqd-three-review "r r r C-c C-c")))
    (should (equal (aqd-disk) (aqd-three)))))

;;;; 5: reject all

(ert-deftest aqd-ruling-5-rejected-even-if-some-was-applied ()
  (aqd-with-three
    (let ((message (aqd-play "a C-c C-k"
                             (lambda ()
                               (agent-q-diff-tools-propose-file-edit
                                aqd-file (car aqd-three) (cdr aqd-three) "d")))))
      (should (string-prefix-p "✗ REJECTED" message))
      (should (string-search "1 of 3 hunks is in the file" message)))
    (should (equal (aqd-disk) (aqd-three 1)))))

;;;; 6: finish

(ert-deftest aqd-ruling-6-a-person-is-asked-about-pending-hunks ()
  (aqd-with-three
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (let (asked)
                  (cl-letf (((symbol-function 'y-or-n-p)
                             (lambda (question) (setq asked question) nil))
                            (noninteractive nil))
                    (should-error (call-interactively #'agent-q-diff-finish)
                                  :type 'user-error)
                    (should (string-prefix-p "3 hunks are pending" asked))
                    (should-not sly-agent-q-diff--decision)
                    (setq asked nil)
                    (let ((agent-q-diff-confirm-finish nil))
                      (call-interactively #'agent-q-diff-finish))
                    (should-not asked)
                    (setq sly-agent-q-diff--decision nil)
                    (agent-q-diff-finish)
                    (should-not asked)
                    (should (equal "rejected" sly-agent-q-diff--decision))))))))

(ert-deftest aqd-ruling-6-basis-of-the-decision-is-an-option ()
  (dolist (case '((marks . "rejected") (facts . "accepted")))
    (aqd-with-three
      (let ((agent-q-diff-decision-basis (car case)))
        (should (equal (cdr case) (aqd-three-review "SPC SPC q")))))))

;;;; 7: a failure is never a refusal

(defun aqd-ruling-7-message (file original modified keys)
  "Return what the agent reads when KEYS decide its proposal for FILE.
It is to change ORIGINAL to MODIFIED."
  (aqd-play keys (lambda ()
                   (agent-q-diff-tools-propose-file-edit file original modified
                                                         "d"))))

(ert-deftest aqd-ruling-7-identical-texts-cannot-be-shown ()
  (aqd-with-three
    (should (eq 'agent-q-diff-identical
                (car (aqd-review "a\n" "a\n" "q"))))
    (should (string-prefix-p "Error showing diff for"
                             (aqd-ruling-7-message aqd-file "a\n" "a\n" "q")))))

(ert-deftest aqd-ruling-7-unreadable-target-cannot-be-shown ()
  (aqd-with-three
    (should (eq 'agent-q-diff-bad-target
                (car (aqd-play "q" (lambda ()
                                     (sly-agent-q-show-diff-and-wait
                                      (file-name-directory aqd-file)
                                      "a\n" "b\n" "d"))))))))

(ert-deftest aqd-ruling-7-malformed-arguments-cannot-be-shown ()
  (dolist (arguments '((nil "a" "b" "d") ("f" nil "b" "d") ("f" "a" 7 "d")
                       ("f" "a" "b" 7) ("" "a" "b" "d")))
    (should (memq 'agent-q-diff-error
                  (get (car (aqd-play "q" (lambda ()
                                            (apply #'sly-agent-q-show-diff-and-wait
                                                   arguments))))
                       'error-conditions)))))

(ert-deftest aqd-ruling-7-could-not-be-applied ()
  (aqd-with-file "something else\n"
    (should (eq 'agent-q-diff-not-applied (car (aqd-three-review "a q"))))
    (let ((message (aqd-ruling-7-message aqd-file (car aqd-three) (cdr aqd-three)
                                         "a q")))
      (should (string-prefix-p "Error showing diff for" message))
      (should-not (string-search "REJECTED" message)))
    (should (equal (aqd-disk) "something else\n"))))

(ert-deftest aqd-ruling-7-rejecting-what-failed-is-a-decision ()
  (aqd-with-file "something else\n"
    (should (equal "rejected" (aqd-three-review "a r q")))))

(ert-deftest aqd-ruling-7-batch-without-keys-is-an-error-at-once ()
  (aqd-with-three
    (should-error (sly-agent-q-show-diff-and-wait aqd-file (car aqd-three)
                                                  (cdr aqd-three) "d")
                  :type 'agent-q-diff-no-user)))

(ert-deftest aqd-ruling-7-keys-that-run-out-are-no-decision ()
  (aqd-with-three
    (should (eq 'agent-q-diff-no-user (car (aqd-three-review "a n"))))
    (should (equal (aqd-disk) (aqd-three 1)))))

(ert-deftest aqd-ruling-7-aborting-is-no-decision ()
  (aqd-with-three
    (should (eq 'agent-q-diff-cancelled (car (aqd-three-review "a C-]"))))
    (should (equal (aqd-disk) (aqd-three 1)))
    (should (zerop (recursion-depth)))))

(ert-deftest aqd-ruling-7-exit-recursive-edit-decides-by-the-marks ()
  (aqd-with-three
    (should (equal "accepted" (aqd-three-review "a C-M-c"))))
  (aqd-with-three
    (should (equal "rejected" (aqd-three-review "r C-M-c")))))

(ert-deftest aqd-ruling-7-killing-the-buffer-is-no-decision ()
  (aqd-with-three
    (should (equal 'agent-q-diff-cancelled
                   (car (aqd-three-review "a C-x k RET"))))
    (should (equal (aqd-disk) (aqd-three 1)))
    (should-not agent-q-diff-reviews-waiting)
    (should-not (memq 'agent-q-diff-wait--leave-if-decided
                      (default-value 'post-command-hook)))))

;;;; 13: the documented variables

(ert-deftest aqd-ruling-13-variables-survive-turning-the-mode-on ()
  (aqd-with-three
    (with-temp-buffer
      (dolist (name '("path" "original" "modified" "description" "decision"))
        (set (intern (concat "sly-agent-q-diff--" name)) name))
      (setq sly-agent-q-diff--hunk-states '((1 . applied)))
      (sly-agent-q-diff-mode)
      (dolist (name '("path" "original" "modified" "description" "decision"))
        (should (equal name
                       (symbol-value (intern (concat "sly-agent-q-diff--" name))))))
      (should (equal sly-agent-q-diff--hunk-states '((1 . applied)))))))

(ert-deftest aqd-ruling-13-states-put-in-by-hand-count ()
  (aqd-with-three
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
    (should (equal (aqd-disk) (aqd-three)))))

(ert-deftest aqd-ruling-13-positions-do-not-move-with-the-progress ()
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

;;;; 14: outside a review

(defconst aqd-hand-written
  (aqd-lines "--- a/target.txt" "+++ b/target.txt"
             "@@ -1,3 +1,3 @@" " line 1" "-line 2" "+LINE 2" " line 3"
             "@@ -7,3 +7,4 @@" " line 7" " line 8" "+line 8.5" " line 9")
  "A diff typed by hand, of two hunks.")

(ert-deftest aqd-ruling-14-commands-work-in-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written
      (let ((second (aqd-goto-hunk 2)))
        (sly-agent-q-diff-accept-hunk)
        (should (eq 'applied (alist-get second sly-agent-q-diff--hunk-states))))
      (let ((first (aqd-goto-hunk 1)))
        (sly-agent-q-diff-reject-hunk)
        (should (eq 'rejected (alist-get first sly-agent-q-diff--hunk-states))))
      (sly-agent-q-diff-finish)
      (should (equal "accepted" sly-agent-q-diff--decision))
      (should (equal (with-current-buffer (find-buffer-visiting aqd-file)
                       (buffer-string))
                     (aqd-numbered 10 '((8 . "line 8\nline 8.5"))))))))

(ert-deftest aqd-ruling-14-all-at-once-in-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written
      (sly-agent-q-diff-accept-all)
      (should (equal "accepted" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-numbered 10 '((2 . "LINE 2")
                                                 (8 . "line 8\nline 8.5"))))))
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written
      (sly-agent-q-diff-reject-all)
      (should (equal "rejected" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-numbered 10)))))

(ert-deftest aqd-ruling-14-a-malformed-diff-does-not-stop-the-mode ()
  (aqd-with-three
    (aqd-with-diff "@@ -1,9 +1,9 @@\n-a\n+b\n"
      (should (derived-mode-p 'sly-agent-q-diff-mode))
      (aqd-goto-hunk 1)
      (should-not (sly-agent-q-diff-accept-hunk))
      (should-not (alist-get (point) sly-agent-q-diff--hunk-states))
      (sly-agent-q-diff-reject-hunk)
      (should (eq 'rejected (alist-get (point) sly-agent-q-diff--hunk-states)))
      (should (equal 1 (sly-agent-q-diff--count-hunks)))
      (sly-agent-q-diff-finish)
      (should (equal "rejected" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-three)))))

(ert-deftest aqd-ruling-14-count-hunks ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written
      (should (equal 2 (sly-agent-q-diff--count-hunks))))))

(ert-deftest aqd-ruling-14-update-header-replaces-the-old-line-of-keys ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (concat "C-c C-c = accept all   C-c C-k = reject all\n\n"
                           aqd-hand-written)
      (setf (alist-get (aqd-goto-hunk 1) sly-agent-q-diff--hunk-states) 'applied)
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "1/2 applied, 0 rejected, 1 pending"))
      (should-not (string-search "C-c C-c =" (buffer-string)))
      (should (eq 'applied (alist-get (aqd-goto-hunk 1)
                                      sly-agent-q-diff--hunk-states))))))

(ert-deftest aqd-ruling-14-update-header-inserts-where-there-is-no-line ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "0/2 applied, 0 rejected, 2 pending"))
      (aqd-goto-hunk 1)
      (sly-agent-q-diff-accept-hunk)
      (should (equal (aqd-progress) "1/2 applied, 0 rejected, 1 pending")))))

(ert-deftest aqd-ruling-14-diff-apply-buffer-works-where-emacs-has-it ()
  (skip-unless (fboundp 'diff-apply-buffer))
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (string-replace "a/target.txt" aqd-file
                                   (string-replace "b/target.txt" aqd-file
                                                   aqd-hand-written))
      (let ((inhibit-message t))
        (diff-apply-buffer))
      (should (equal (with-current-buffer (find-buffer-visiting aqd-file)
                       (buffer-string))
                     (aqd-numbered 10 '((2 . "LINE 2")
                                        (8 . "line 8\nline 8.5"))))))))

;;;; 15: paths

(ert-deftest aqd-ruling-15-entry-expands-against-default-directory ()
  (aqd-with-three
    (should (equal "accepted"
                   (aqd-play "C-c C-c"
                             (lambda ()
                               (let ((default-directory
                                      (file-name-directory aqd-file)))
                                 (sly-agent-q-show-diff-and-wait
                                  "target.txt" (car aqd-three) (cdr aqd-three)
                                  "d"))))))
    (should (equal (aqd-disk) (cdr aqd-three)))))

(ert-deftest aqd-ruling-15-tools-resolve-against-the-project-root ()
  (aqd-with-three
    (let ((agent-q-diff-project-root (file-name-directory aqd-file))
          (default-directory "/"))
      (should (string-prefix-p
               "✓ Changes accepted and applied to target.txt"
               (aqd-ruling-7-message "target.txt" (car aqd-three) (cdr aqd-three)
                                     "C-c C-c"))))
    (should (equal (aqd-disk) (cdr aqd-three)))))

(ert-deftest aqd-ruling-15-outside-the-root-is-shown-with-a-warning ()
  (aqd-with-three
    (let ((agent-q-diff-project-root (expand-file-name "sub"
                                                       (file-name-directory aqd-file))))
      (make-directory agent-q-diff-project-root)
      (should (string-prefix-p
               "✓" (aqd-ruling-7-message aqd-file (car aqd-three)
                                         (cdr aqd-three) "C-c C-c")))
      (with-current-buffer (aqd-diff-buffer)
        (should (string-match-p "^# Note: The file is OUTSIDE the project"
                                (buffer-string)))))))

(ert-deftest aqd-ruling-15-a-foreign-remote-name-is-refused-unopened ()
  (let (opened)
    (cl-letf (((symbol-function 'tramp-file-name-handler)
               (lambda (operation &rest _)
                 (unless (eq operation 'file-remote-p)
                   (push operation opened))
                 "/ssh:nowhere:")))
      (should (eq 'agent-q-diff-bad-target
                  (car (aqd-play "q" (lambda ()
                                       (sly-agent-q-show-diff-and-wait
                                        "/ssh:nowhere:/etc/passwd" "a\n" "b\n"
                                        "d"))))))
      (should-not opened))))

;;;; 16: descriptions, names and headings

(ert-deftest aqd-ruling-16-a-description-is-never-diff-text ()
  (aqd-with-three
    (cl-letf (((symbol-function 'recursive-edit)
               (lambda ()
                 (should (equal 3 (sly-agent-q-diff--count-hunks)))
                 (goto-char (point-min))
                 (should (re-search-forward "^# @@ -1,1 \\+1,1 @@$"))
                 (should (re-search-forward "^# -line 1$"))
                 (goto-char (point-min))
                 (should (equal 3 (how-many "^@@")))
                 (agent-q-diff-accept-all))))
      (should (equal "accepted"
                     (sly-agent-q-show-diff-and-wait
                      aqd-file (car aqd-three) (cdr aqd-three)
                      (aqd-lines "--- /etc/passwd" "+++ /etc/passwd"
                                 "@@ -1,1 +1,1 @@" "-line 1" "+evil")))))
    (should (equal (aqd-disk) (cdr aqd-three)))))

(ert-deftest aqd-ruling-16-a-file-name-is-never-diff-text ()
  "A name with a newline is refused before anything is shown."
  (aqd-with-three
    (let ((file (expand-file-name "x\n@@ -1 +1 @@\n-line 1\n+evil"
                                  (file-name-directory aqd-file))))
      (rename-file aqd-file file)
      (unwind-protect
          (cl-letf (((symbol-function 'recursive-edit)
                     (lambda () (ert-fail "It was shown"))))
            (should-error (sly-agent-q-show-diff-and-wait
                           file (car aqd-three) (cdr aqd-three) "d")
                          :type 'agent-q-diff-bad-target))
        (rename-file file aqd-file)))))

(ert-deftest aqd-ruling-16-changed-lines-that-look-like-headers-are-lines ()
  (let ((original (aqd-lines "a" "-- old" "++ old" "@ -1 @" "z"))
        (modified (aqd-lines "a" "-- new" "++ new" "@ -2 @" "z")))
    (aqd-with-file original
      (aqd-call original modified
                (lambda ()
                  (should (equal 1 (sly-agent-q-diff--count-hunks)))
                  (agent-q-diff-accept-all)))
      (should (equal (aqd-disk) modified)))))

(provide 'agent-q-diff-rulings-test)
;;; agent-q-diff-rulings-test.el ends here
