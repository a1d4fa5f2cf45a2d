;;; agent-q-diff-decide-test.el --- What a decision does to the target  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-git-help)

;;; Deciding

;;;; Where a hunk goes

(defun aqd-decide-blocks (&rest changed)
  "Return twelve identical blocks; in those CHANGED, a line is another."
  (cl-loop for block from 1 to 12
           concat (aqd-lines "begin" "  one" "  two" "  three"
                             (if (memq block changed) "  FOUR" "  four")
                             "  five" "  six" "  seven" "end")))

(ert-deftest aqd-decide-ruling-1-hunk-goes-into-its-own-block ()
  (aqd-with-file (aqd-decide-blocks)
    (should (equal "accepted"
                   (aqd-review (aqd-decide-blocks) (aqd-decide-blocks 4 8) "r a q")))
    (should (equal (aqd-disk) (aqd-decide-blocks 8)))))

(ert-deftest aqd-decide-ruling-1-also-when-hunk-1-would-shift-the-others ()
  ;; Were hunk 1 applied, block 8 would be ten lines further down, which is
  ;; just another block's place.
  (let* ((head (aqd-lines "a" "b" "c" "d"))
         (added (cl-loop for n from 1 to 9 concat (format "new %d\n" n)))
         (original (concat head (aqd-decide-blocks)))
         (modified (concat (aqd-lines "a" "b") added (aqd-lines "c" "d")
                           (aqd-decide-blocks 8))))
    (aqd-with-file original
      (should (equal "accepted" (aqd-review original modified "r a q")))
      (should (equal (aqd-disk) (concat head (aqd-decide-blocks 8)))))))

;;;; What is in the file already

(ert-deftest aqd-decide-one-equal-line-does-not-mean-already-in ()
  (aqd-with-patch-review "B\nx\ny\n" "@@ -7 +7 @@\n-b\n+B\n"
    (should (string-match-p "finding its new lines somewhere proves nothing"
                            (agent-q-diff-engine-hunk-reason
                             (agent-q-diff-change-hunk
                              (agent-q-diff-session-change review) 0))))
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-ambiguous)
    (agent-q-diff-end review)
    (should-not (plist-get (car (answer :hunks)) :in-file))))

(ert-deftest aqd-decide-a-last-line-in-the-middle-is-not-already-in ()
  (aqd-with-patch-review "a\nb\nc\nmore\n"
      "@@ -1,3 +1,3 @@\n a\n b\n-c\n\\ No newline at end of file\n+c\n"
    (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-not-found)
    (agent-q-diff-reject review 0)
    (agent-q-diff-end review)
    (should-not (plist-get (car (answer :hunks)) :in-file))))

(ert-deftest aqd-decide-ruling-2-change-was-there-before ()
  (aqd-with-file (aqd-three-with 2)
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
    (should (equal (aqd-disk) (aqd-three-with 2)))))

;;;; What fails

(ert-deftest aqd-decide-reason-goes-when-merged ()
  (aqd-with-file aqd-letters-mine
    (let* ((result (aqd-result aqd-letters-original aqd-letters-modified
                               "a m C-x h C-w x RET C-c C-c q"))
           (hunk (car (plist-get result :hunks))))
      (should (plist-get hunk :in-file))
      (should-not (plist-get hunk :reason)))))

(ert-deftest aqd-decide-rejection-is-not-a-failure ()
  (aqd-with-file aqd-letters-mine
    (let ((result (aqd-result aqd-letters-original aqd-letters-modified "a r q")))
      (should-not (plist-get (car (plist-get result :hunks)) :reason)))))

(ert-deftest aqd-decide-ruling-2-failed-apply-changes-neither ()
  (aqd-with-file (aqd-numbered 40 '((5 . "other") (6 . "other")))
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (let ((position (aqd-goto-hunk 1)))
                  (should-not (agent-q-diff-accept-hunk))
                  (should-not (alist-get position sly-agent-q-diff--hunk-states))
                  (should (equal (aqd-signs) '((1 . "[DOES NOT APPLY]")))))
                (agent-q-diff-reject-all)))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "other") (6 . "other")))))))

;;;; All at once

(defun aqd-decide-narrow ()
  "Visit the file of the test, narrowed so that it has no place for the last hunk."
  (with-current-buffer (aqd-visit)
    (narrow-to-region (point-min) (agent-q-diff-text-position (current-buffer) 25))))

(ert-deftest aqd-decide-accept-all-takes-what-the-target-takes ()
  (aqd-with-forty-lines
    (aqd-decide-narrow)
    (aqd-call-with-three
     (lambda ()
       (let ((said nil))
         (cl-letf (((symbol-function 'message)
                    (lambda (format &rest arguments)
                      (setq said (and format (apply #'format format arguments))))))
           (agent-q-diff-accept-all))
         (should (string-match-p "\\`Not finished: hunk 3: .*narrowed part.*; r rejects\\'" said))
         (should-not (string-search "hunk 1" said)))
       (should (equal (aqd-progress) "2/3 applied, 0 rejected, 1 pending"))
       (agent-q-diff-finish)))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five") '(20 . "twenty"))))
    (with-current-buffer (aqd-visit)
      (widen)
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) aqd-original-of-three)))))

(ert-deftest aqd-decide-a-quit-while-one-is-accepted-after-the-other-leaves-none ()
  (aqd-with-forty-lines
    (aqd-decide-narrow)
    (aqd-call-with-three
     (lambda ()
       (let* ((n 0)
              (quit (lambda (&rest _)
                      (when (= 2 (cl-incf n))
                        (signal 'quit nil)))))
         (advice-add 'agent-q-diff-decide-hunk :before quit)
         (unwind-protect
             (should (eq 'quit (condition-case nil
                                   (agent-q-diff-accept-all)
                                 (quit 'quit))))
           (advice-remove 'agent-q-diff-decide-hunk quit))
         (should (= 2 n)))
       (should (equal '(nil nil nil) (aqd-decide-marks)))
       (should (equal (aqd-disk) aqd-original-of-three))
       (agent-q-diff-reject-all)))))

;;;; What was written, and is not in the file any more

(defconst aqd-decide-three '((3 . "line 3\nthree\nfour\nfive") (27 . "x"))
  "What an agent has written into f.txt.")

(defconst aqd-decide-moved '((20 . "line 20\nthree\nfour\nfive") (27 . "x"))
  "The same, after the agent has moved its first lines.")

(defmacro aqd-decide-while-changed (written after &rest body)
  "Run BODY in a review of WRITTEN, which an agent makes AFTER meanwhile.
Both are changes of `aqd-numbered'."
  (declare (indent 2) (debug t))
  `(aqd-with-repository
     (agent-q-diff-module-begin-turn default-directory "Codex" "" "")
     (agent-q-diff-module-end-turns default-directory)
     (aqd-pending-put "f.txt" (aqd-numbered 30 ,written))
     (aqd-with-pending
       (aqd-pending-put "f.txt" (aqd-numbered 30 ,after))
       ,@body)))

(defun aqd-decide-has (changes)
  "Check that f.txt has CHANGES, as for `aqd-numbered'."
  (should (equal (aqd-numbered 30 changes) (aqd-pending-has "f.txt"))))

(defun aqd-decide-marks ()
  "Return the marks of the hunks of this buffer."
  (agent-q-diff-module-marks (agent-q-diff-change-engine agent-q-diff-buffer-change)))

(ert-deftest aqd-decide-keeping-writes-nothing-that-was-withdrawn ()
  (dolist (command '(agent-q-diff-accept-hunk agent-q-diff-toggle-hunk))
    (aqd-decide-while-changed aqd-decide-three aqd-decide-moved
      (dotimes (_ 2)
        (should (equal "Hunk 1 is not in the file any more; u puts it back"
                       (aqd-pending-do command 0)))
        (aqd-decide-has aqd-decide-moved)
        (should (equal "[PENDING, but not in the file]" (cdar (aqd-pending-signs)))))
      ;; The user can have the lines all the same.
      (should (string-prefix-p "Hunk 1 put back, and pending"
                               (aqd-pending-do #'agent-q-diff-unapply-hunk 0)))
      (should (string-prefix-p "Hunk 1 kept" (aqd-pending-do command 0)))
      (aqd-decide-has (cons (car aqd-decide-three) aqd-decide-moved)))))

(ert-deftest aqd-decide-what-was-withdrawn-unseen-is-not-put-back ()
  (aqd-decide-while-changed aqd-decide-three aqd-decide-moved
    (should (equal "Hunk 1 is not in the file any more; u puts it back"
                   (aqd-pending-do #'agent-q-diff-unapply-hunk 0)))
    (aqd-decide-has aqd-decide-moved))
  ;; The agent has written again what the user had taken out, and withdrawn that.
  (aqd-decide-while-changed aqd-decide-three aqd-decide-three
    (aqd-pending-do #'agent-q-diff-reject-hunk 0)
    (aqd-pending-put "f.txt" (aqd-numbered 30 aqd-decide-three))
    (agent-q-diff-signs-follow)
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((27 . "x"))))
    (should (string-prefix-p "Hunk 1 is not in the file any more"
                             (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
    (aqd-decide-has '((27 . "x")))
    (should (string-prefix-p "Hunk 1 put back, and kept"
                             (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
    (aqd-decide-has aqd-decide-three)))

(ert-deftest aqd-decide-of-what-is-partly-there-the-part-can-be-kept ()
  (aqd-decide-while-changed '((3 . "line 3\nthree") (6 . "six")) '((6 . "six"))
    (should (equal "Hunk 1 is only partly in the file now; s splits it"
                   (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
    (should (equal '("[PENDING, but partly in the file]") (mapcar #'cdr (aqd-pending-signs))))
    (agent-q-diff-split-hunk)
    (should (string-prefix-p "Hunk 1 is not in the file any more"
                             (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
    (should (string-prefix-p "Hunk 2 kept" (aqd-pending-do #'agent-q-diff-accept-hunk 1)))
    (aqd-decide-has '((6 . "six")))
    (should (string-suffix-p ": 1 kept, 0 taken out, 1 not in the file any more"
                             (aqd-said (agent-q-diff-finish nil t))))))

(ert-deftest aqd-decide-what-others-have-changed-is-merged ()
  (aqd-decide-while-changed '((3 . "three")) '((3 . "trois"))
    (should (equal "Failed to keep the hunk: its lines have been changed since, at line 3; m merges"
                   (aqd-pending-do #'agent-q-diff-accept-hunk 0)))))

(ert-deftest aqd-decide-keeping-all-skips-and-counts-what-is-gone ()
  (aqd-decide-while-changed aqd-decide-three aqd-decide-moved
    (should (string-suffix-p ": 1 kept, 0 taken out, 1 not in the file any more"
                             (aqd-said (agent-q-diff-accept-all))))
    (aqd-decide-has aqd-decide-moved))
  ;; What is there in part is still to be decided.
  (aqd-decide-while-changed '((3 . "line 3\nthree") (6 . "six") (27 . "x"))
      '((6 . "six") (27 . "x"))
    (should (equal "Not finished: hunk 1: only a part of it is in the file now; s splits it, r rejects"
                   (aqd-said (agent-q-diff-accept-all))))
    (should (equal '(nil applied) (aqd-decide-marks)))
    (aqd-decide-has '((6 . "six") (27 . "x"))))
  (aqd-decide-while-changed '((3 . "x") (15 . "line 15\nthree") (18 . "six")) '((18 . "six"))
    (should (equal "Not finished: hunk 2: only a part of it is in the file now; \
hunk 1: it is not in the file any more; s splits it, r rejects"
                   (aqd-said (agent-q-diff-accept-all))))
    (should (= 1 (agent-q-diff-buffer-hunk-at-point)))))

(ert-deftest aqd-decide-keeping-several-skips-and-counts-what-is-gone ()
  (let ((written '((3 . "line 3\nx") (15 . "line 15\nx") (27 . "line 27\nx")))
        (after '((15 . "line 15\nx") (27 . "line 27\nx"))))
    (pcase-dolist (`(,command . ,said)
                   '((agent-q-diff-accept-alike
                      . "2 hunks alike kept; 1 not: hunk 1, it is not in the file any more; \
2 of 3 decided, 1 pending")
                     (agent-q-diff-keep-outside
                      . "Not kept: hunk 1: it is not in the file any more; \
2 of 3 decided, 1 pending")))
      (aqd-decide-while-changed written after
        (should (equal said (aqd-pending-do command 0)))
        (should (equal '(nil applied applied) (aqd-decide-marks)))
        (aqd-decide-has after)))
    ;; On the heading of a file.
    (aqd-with-repository
      (aqd-pending-put "f.txt" (aqd-numbered 30 written))
      (aqd-pending-put "g.txt" "new\n")
      (aqd-with-pending
        (aqd-pending-put "f.txt" (aqd-numbered 30 after))
        (goto-char (point-min))
        (search-forward "f.txt")
        (should (equal "Not kept: hunk 1 of f.txt: it is not in the file any more; \
2 of 4 decided, 2 pending"
                       (aqd-said (agent-q-diff-accept-hunk))))
        (aqd-decide-has after)))))

(ert-deftest aqd-decide-making-all-pending-puts-back-only-what-the-user-took-out ()
  (aqd-decide-while-changed aqd-decide-three aqd-decide-three
    (aqd-pending-do #'agent-q-diff-accept-hunk 0)
    (aqd-pending-do #'agent-q-diff-reject-hunk 1)
    (aqd-pending-put "f.txt" (aqd-numbered 30))
    (should (equal "Everything is pending; 1 hunk is not in the file any more"
                   (aqd-said (agent-q-diff-unapply-all))))
    (aqd-decide-has '((27 . "x")))
    (should (equal '(nil nil) (aqd-decide-marks)))))

(ert-deftest aqd-decide-a-kept-hunk-that-is-gone-stays-so ()
  (pcase-dolist (`(,command . ,said)
                 '((agent-q-diff-accept-hunk . "Hunk 1 is not in the file any more")
                   (agent-q-diff-toggle-hunk . "Hunk 1 pending; it is not in the file any more")
                   (agent-q-diff-unapply-hunk . "Hunk 1 pending; it is not in the file any more")
                   (agent-q-diff-undo . "Undid the decision on hunk 1")))
    (aqd-decide-while-changed aqd-decide-three aqd-decide-three
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (aqd-pending-put "f.txt" (aqd-numbered 30 aqd-decide-moved))
      (should (string-prefix-p said (aqd-pending-do command 0)))
      (aqd-decide-has aqd-decide-moved)
      (when (eq command 'agent-q-diff-undo)
        (agent-q-diff-redo)
        (should (equal '(applied nil) (aqd-decide-marks)))
        (aqd-decide-has aqd-decide-moved)))))

(ert-deftest aqd-decide-a-mode-or-a-deletion-that-was-withdrawn-is-not-kept ()
  (pcase-dolist (`(,what ,make ,withdraw)
                 `(("mode" ,(lambda () (set-file-modes "f.txt" #o755))
                    ,(lambda () (set-file-modes "f.txt" #o644)))
                   ("deletion" ,(lambda () (delete-file "f.txt"))
                    ,(lambda () (aqd-pending-put "f.txt" aqd-pending-text)))))
    (aqd-with-repository
      (funcall make)
      (aqd-with-pending
        (funcall withdraw)
        (should (equal (format "The %s of f.txt has been undone since; u does it again" what)
                       (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
        (should (equal "Failed to keep the hunk: it has been undone since"
                       (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
        (should (equal aqd-pending-text (aqd-pending-has "f.txt")))
        (should (= #o644 (file-modes "f.txt")))))))

(ert-deftest aqd-decide-why-a-file-has-no-lines-to-keep-is-said ()
  (aqd-with-repository
    (aqd-pending-put "n.txt" "1\n")
    (aqd-with-pending
      (delete-file "n.txt")
      (should (string-match-p
               "\\`Failed to keep the hunk: .*/n\\.txt was deleted or renamed after"
               (aqd-pending-do #'agent-q-diff-accept-hunk 0))))))

(ert-deftest aqd-decide-nothing-is-kept-of-a-file-that-is-gone ()
  "Not even the removal of lines, and this is said once."
  (dolist (is-visited '(nil t))
    (dolist (key '("a" "heading" "all"))
      (aqd-with-repository
        (aqd-pending-put "g.txt" "1\n")
        (aqd-pending-put "f.txt" (aqd-numbered 30 '((3) (12) (27 . "x"))))
        (when is-visited
          (find-file-noselect "f.txt"))
        (aqd-with-pending
          (delete-file "f.txt")
          (let ((said (pcase key
                        ("a" (aqd-pending-do #'agent-q-diff-accept-hunk 0))
                        ("heading" (goto-char (aref agent-q-diff-buffer-headings 0))
                         (aqd-said (agent-q-diff-accept-hunk)))
                        ("all" (aqd-said (agent-q-diff-accept-all))))))
            (should (string-match-p "f\\.txt was deleted" said))
            (should-not (string-match-p "was deleted.*was deleted" said))
            (unless (equal key "a")
              (should (string-match-p "hunk 1 of f\\.txt and 2 others: " said))))
          (should (equal '(nil nil nil) (seq-take (aqd-decide-marks) 3))))
        (aqd-with-pending
          (should (equal aqd-pending-text
                         (progn (aqd-pending-do #'agent-q-diff-reject-hunk 0)
                                (aqd-pending-has "f.txt")))))))))

(ert-deftest aqd-decide-nothing-that-was-taken-out-of-a-file-that-is-gone-is-kept ()
  (aqd-with-repository
    (aqd-pending-put "g.txt" "1\n")
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3) (27 . "x"))))
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (delete-file "f.txt")
      (should (string-match-p
               "\\`1 hunk kept; 2 not: hunk 1 of f\\.txt, .*f\\.txt was deleted"
               (aqd-do-all #'agent-q-diff-accept-hunk)))
      (should (equal '(rejected rejected applied) (aqd-decide-marks)))
      (should-not (file-exists-p "f.txt")))))

(ert-deftest aqd-decide-undoing-what-took-nothing-out-takes-nothing-out ()
  "Somebody takes the change away, and brings it back after the decision."
  (pcase-dolist (`(,make ,withdraw)
                 `((,(lambda () (aqd-pending-put "f.txt" (aqd-numbered 30 aqd-decide-three)))
                    ,(lambda () (aqd-pending-put "f.txt" (aqd-numbered 30 nil))))
                   (,(lambda () (set-file-modes "f.txt" #o755))
                    ,(lambda () (set-file-modes "f.txt" #o644)))
                   (,(lambda () (delete-file "f.txt"))
                    ,(lambda () (aqd-pending-put "f.txt" (aqd-numbered 30 nil))))))
    (aqd-with-repository
      (funcall make)
      (let ((as-made (list (file-exists-p "f.txt") (file-modes "f.txt") (aqd-pending-has "f.txt"))))
        (aqd-with-pending
          (funcall withdraw)
          (should (string-match-p "somebody had done that already"
                                  (aqd-pending-do #'agent-q-diff-reject-hunk 0)))
          (funcall make)
          (should (string-match-p "\\`Undid" (aqd-said (agent-q-diff-undo))))
          (should (null (car (aqd-decide-marks))))
          (should (equal as-made (list (file-exists-p "f.txt") (file-modes "f.txt")
                                       (aqd-pending-has "f.txt")))))))))

(provide 'agent-q-diff-decide-test)
;;; agent-q-diff-decide-test.el ends here
