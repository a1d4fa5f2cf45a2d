;;; agent-q-diff-truth-test.el --- What is said is so  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Corners in which the display, the decision or the message to the agent
;; said something about the file that was not so, each found by a reader
;; who did not know the code; and buffers used in ways of their own.

;;; Code:

(require 'agent-q-diff-test-help)

;;;; The file

(ert-deftest aqd-truth-what-was-erased-is-not-in-the-file ()
  (aqd-with-forty-lines
    (let ((message
           (cl-letf (((symbol-function 'recursive-edit)
                      (lambda ()
                        (agent-q-diff-accept-hunk)
                        (with-current-buffer (aqd-visit)
                          (erase-buffer)
                          (let ((inhibit-message t))
                            (save-buffer)))
                        (aqd-goto-hunk 2)
                        (agent-q-diff-reject-hunk)
                        (agent-q-diff-preview-hunk)
                        (should (assoc 1 (aqd-signs)))
                        (should-not (member '(1 . "[APPLIED]") (aqd-signs)))
                        (agent-q-diff-finish))))
             (agent-q-diff-tools-propose-file-edit
              aqd-file aqd-original-of-three aqd-modified-of-three "d"))))
      (should (string-search "0 of 3 hunks are in the file" message))
      (should-not (string-search "\nIn the file: " message)))))

(ert-deftest aqd-truth-target-saved-as-another-file-is-left-alone ()
  (aqd-with-forty-lines
    (let ((other (concat aqd-file ".other")))
      (aqd-call-with-three
       (lambda ()
         (with-current-buffer (find-buffer-visiting aqd-file)
           (let ((inhibit-message t))
             (write-file other)))
         (agent-q-diff-accept-hunk)
         (agent-q-diff-finish)))
      (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five"))))
      (with-current-buffer (find-buffer-visiting other)
        (should (equal (buffer-string) aqd-original-of-three))
        (kill-buffer)))))

;;;; All at once

(ert-deftest aqd-truth-accept-all-takes-what-the-target-takes ()
  (aqd-with-forty-lines
    (with-current-buffer (aqd-visit)
      (narrow-to-region (point-min)
                        (agent-q-diff-text-position (current-buffer) 25)))
    (aqd-call-with-three
     (lambda ()
       (let ((said nil))
         (cl-letf (((symbol-function 'message)
                    (lambda (format &rest arguments)
                      (setq said (and format (apply #'format format arguments))))))
           (agent-q-diff-accept-all))
         (should (string-match-p "\\`Not applied: hunk 3: .*narrowed part" said))
         (should-not (string-search "hunk 1" said)))
       (should (equal (aqd-progress) "2/3 applied, 0 rejected, 1 pending"))
       (agent-q-diff-finish)))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five") '(20 . "twenty"))))
    (with-current-buffer (aqd-visit)
      (widen)
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) aqd-original-of-three)))))

;;;; The diff buffer

(ert-deftest aqd-truth-a-hunk-out-of-sight-is-not-accepted-unseen ()
  (aqd-with-forty-lines
    (aqd-call-with-three
     (lambda ()
       (aqd-goto-hunk 1)
       (diff-restrict-view)
       (aqd-press "a")
       (should-not (buffer-narrowed-p))
       (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
       (agent-q-diff-finish)))))

(ert-deftest aqd-truth-moving-on-does-not-hang-on-what-message-returns ()
  (aqd-with-forty-lines
    (cl-letf (((symbol-function 'message) #'ignore))
      (aqd-call-with-three (lambda ()
                             (aqd-press "a a")
                             (agent-q-diff-finish))))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five") '(20 . "twenty"))))))

(ert-deftest aqd-truth-the-buffer-can-be-looked-at-afterwards ()
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

;;;; Bare buffers

(ert-deftest aqd-truth-toggling-a-mark-needs-no-target ()
  (dolist (diff (list aqd-bare-diff-of-two "@@ -1,9 +1,9 @@\n-a\n+b\n"))
    (with-temp-buffer
      (insert diff)
      (sly-agent-q-diff-mode)
      (let ((position (aqd-goto-hunk 1)))
        (setf (alist-get position sly-agent-q-diff--hunk-states) 'applied)
        (sly-agent-q-diff-toggle-hunk)
        (should-not (alist-get position sly-agent-q-diff--hunk-states))))))

(ert-deftest aqd-truth-a-bare-buffer-always-gets-a-decision ()
  (dolist (diff (list aqd-bare-diff-of-two "@@ -1,9 +1,9 @@\n-a\n+b\n" ""))
    (dolist (path (list nil "/nowhere/at/all"))
      (dolist (command '(sly-agent-q-diff-finish sly-agent-q-diff-accept-all
                         sly-agent-q-diff-reject-all))
        (with-temp-buffer
          (insert diff)
          (sly-agent-q-diff-mode)
          (let ((agent-q-diff-create-directories nil))
            (setq sly-agent-q-diff--path path)
            (funcall command)
            (should (equal "rejected" sly-agent-q-diff--decision))))))))

(ert-deftest aqd-truth-q-leaves-the-recursive-edit-around-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (let ((decision nil))
      (aqd-play "q"
                (lambda ()
                  (with-temp-buffer
                    (insert aqd-bare-diff-of-two)
                    (sly-agent-q-diff-mode)
                    (save-window-excursion
                      (switch-to-buffer (current-buffer))
                      (recursive-edit)
                      (setq decision sly-agent-q-diff--decision)))))
      (should (equal "rejected" decision)))))

(ert-deftest aqd-truth-of-several-entries-the-first-counts ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (let ((position (aqd-goto-hunk 1)))
        (sly-agent-q-diff-accept-hunk)
        (push (cons position 'rejected) sly-agent-q-diff--hunk-states)
        (sly-agent-q-diff--update-header)
        (should (equal (aqd-progress) "0/2 applied, 1 rejected, 1 pending"))
        (sly-agent-q-diff-finish)
        (should (equal "rejected" sly-agent-q-diff--decision))))))

(ert-deftest aqd-truth-entries-that-are-no-hunks-do-not-swell-the-total ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (setq sly-agent-q-diff--hunk-states
            (list (cons 100 'applied) (cons 200 'rejected)))
      (sly-agent-q-diff--update-header)
      (should (equal (aqd-progress) "1/2 applied, 1 rejected, 0 pending")))))

(ert-deftest aqd-truth-the-header-moves-what-is-known-of-hunks ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (let ((states '((1 . applied))))
        (setq sly-agent-q-diff--hunk-states states)
        (sly-agent-q-diff--update-header)
        (should (eq 'applied (alist-get (aqd-goto-hunk 1)
                                        sly-agent-q-diff--hunk-states)))
        ;; What the caller wrote down stays the caller's.
        (should (equal states '((1 . applied))))))))

(ert-deftest aqd-truth-a-command-does-not-move-the-callers-positions ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (concat "C-c C-c = accept all\n\n" aqd-bare-diff-of-two)
      (let ((position (aqd-goto-hunk 1)))
        (sly-agent-q-diff-accept-hunk)
        (should (eq 'applied (alist-get position sly-agent-q-diff--hunk-states)))
        (should (equal position (aqd-goto-hunk 1)))))))

(ert-deftest aqd-truth-a-new-path-is-the-target-from-then-on ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-bare-diff-of-two
      (aqd-goto-hunk 1)
      (sly-agent-q-diff-accept-hunk)
      (let ((other (concat aqd-file ".other")))
        (write-region (aqd-numbered 10) nil other nil 'silent)
        (setq sly-agent-q-diff--path other)
        (aqd-goto-hunk 2)
        (sly-agent-q-diff-accept-hunk)
        (let ((aqd-file other))
          (should (equal (aqd-disk) (aqd-numbered 10 '((8 . "LINE 8"))))))
        (kill-buffer (find-buffer-visiting other))))
    (should (equal (aqd-disk) (aqd-numbered 10 '((2 . "LINE 2")))))))

(provide 'agent-q-diff-truth-test)
;;; agent-q-diff-truth-test.el ends here
