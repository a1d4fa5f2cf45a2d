;;; agent-q-diff-waiting-test.el --- What waits on hunks, and how long  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tests that what is noted of pending hunks stays on these hunks, whatever is
;; shown, decided and written beside them, or is said to be lost.

;;; Code:

(require 'agent-q-diff-git-help)
(require 'agent-q-diff-tools)
(require 'agent-q-diff-list)

(defmacro aqd-waiting-while-at-work (before after &rest body)
  "Run BODY in a repository where Codex, at work, makes AFTER of BEFORE in f.txt.
Both are alists for `aqd-numbered'."
  (declare (indent 2) (debug t))
  `(aqd-with-repository
     (aqd-pending-put "f.txt" (aqd-numbered 30 ,before))
     (agent-q-diff-mark-reviewed)
     (agent-q-diff-module-begin-turn default-directory "Codex" "s" "")
     (aqd-pending-put "f.txt" (aqd-numbered 30 ,after))
     ,@body))

(defun aqd-waiting-states ()
  "Return what the signs of this buffer say, without the hunks that have none."
  (mapcar #'cdr (aqd-pending-signs)))

(defun aqd-waiting-ends ()
  "End the turn, carry out what waits in this buffer, and return what is said."
  (agent-q-diff-module-end-turns default-directory)
  (aqd-said (agent-q-diff-waiting--look (current-buffer))))

(ert-deftest aqd-waiting-more-context-changes-nothing ()
  (aqd-waiting-while-at-work nil '((3 . "three") (27 . "x"))
    (aqd-with-pending
      (agent-q-diff-comment-hunk "why?" 0)
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (aqd-pending-do #'agent-q-diff-more-context 0)
      (aqd-pending-do #'agent-q-diff-more-context 1)
      (run-hooks 'post-command-hook)
      ;; Another review takes its place.
      (let ((agent-q-diff-round-is-replacing t))
        (agent-q-diff-end review)))
    (aqd-with-pending
      (should (equal '("[PENDING, will be taken out]") (aqd-waiting-states)))
      (should (equal "why?" (agent-q-diff-change-users-comment agent-q-diff-buffer-change 0)))
      (should (string-match-p "1 hunk was taken out" (aqd-waiting-ends)))
      (should (equal (aqd-numbered 30 '((3 . "three"))) (aqd-pending-has "f.txt"))))))

(ert-deftest aqd-waiting-a-comment-is-the-reason-while-the-rejection-waits ()
  (aqd-waiting-while-at-work nil '((3 . "three") (27 . "x"))
    (cl-flet ((said () (mapcar #'agent-q-diff-comment-text
                               (agent-q-diff-module-comments aqd-pending-root nil))))
      (save-current-buffer
        (aqd-with-pending
          (agent-q-diff-comment-hunk "why?" 0)
          (aqd-pending-do #'agent-q-diff-reject-hunk 0)
          (should-not (said))
          (aqd-pending-do #'agent-q-diff-unapply-hunk 0)
          (should (equal '("why?") (said)))
          (should-not (aqd-waiting-states))
          (aqd-pending-do #'agent-q-diff-reject-hunk 0)
          (run-hooks 'post-command-hook)
          (aqd-said (agent-q-diff-finish nil t))))
      (should-not (said))
      (aqd-with-pending
        (should (equal '("[PENDING, will be taken out, commented]") (aqd-waiting-states)))
        (aqd-waiting-ends)
        (aqd-said (agent-q-diff-finish nil t)))
      (should (string-search "- f.txt, line 3. The user says: why?\n"
                             (agent-q-diff-told-message aqd-pending-root))))))

(ert-deftest aqd-waiting-of-equal-hunks-keeping-the-other-changes-nothing ()
  (let ((both (lambda (line other)
                `((1 . "p") (2 . "q") (3 . "r") (4 . ,line) (5 . "s") (6 . "t") (7 . "u")
                  (21 . "p") (22 . "q") (23 . "r") (24 . ,other) (25 . "s") (26 . "t")
                  (27 . "u")))))
    (aqd-waiting-while-at-work (funcall both "a" "a") (funcall both "b" "b")
      (aqd-with-pending
        (agent-q-diff-comment-hunk "why?" 1)
        (aqd-pending-do #'agent-q-diff-reject-hunk 1)
        (aqd-pending-do #'agent-q-diff-accept-hunk 0)
        (run-hooks 'post-command-hook))
      (aqd-with-pending
        (should (equal '("[PENDING, will be taken out, commented]") (aqd-waiting-states)))
        (should (string-match-p "1 hunk was taken out" (aqd-waiting-ends)))
        (should (equal (aqd-numbered 30 (funcall both "b" "a")) (aqd-pending-has "f.txt")))))))

;; Each time, the lines above and below are others in the next review.
(ert-deftest aqd-waiting-what-is-kept-on-both-sides-changes-nothing ()
  (pcase-dolist (`(,first . ,write)
                 '((1) (1 (9 . "nine")) (1 (13 . "13")) (1 (9 . "nine") (13 . "13") (1 . "one"))
                   ;; It waits before something is kept, or after that.
                   (0) (0 (9 . "nine"))))
    (let ((written '((3 . "three") (11 . "eleven") (19 . "x"))))
      (aqd-waiting-while-at-work nil written
        (aqd-with-pending
          (when (= 1 first)
            (aqd-pending-do #'agent-q-diff-reject-hunk 1)
            (run-hooks 'post-command-hook))
          ;; These may be keys in a view, after which no command is run in the diff buffer.
          (aqd-pending-do #'agent-q-diff-accept-hunk 0)
          (aqd-pending-do #'agent-q-diff-accept-hunk 2)
          (when (= 0 first)
            (aqd-pending-do #'agent-q-diff-reject-hunk 1)
            (run-hooks 'post-command-hook))
          (aqd-said (agent-q-diff-finish nil t)))
        (aqd-pending-put "f.txt" (aqd-numbered 30 (append written write)))
        (aqd-with-pending
          (should (equal '("[PENDING, will be taken out]") (aqd-waiting-states)))
          (should (string-match-p "1 hunk was taken out" (aqd-waiting-ends)))
          (should (equal (aqd-numbered 30 (append '((3 . "three") (19 . "x")) write))
                         (aqd-pending-has "f.txt"))))))))

(ert-deftest aqd-waiting-keeping-is-undone-and-the-hunk-waits-on ()
  (aqd-waiting-while-at-work nil '((3 . "three") (11 . "eleven") (19 . "x"))
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 1)
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (aqd-pending-do #'agent-q-diff-accept-hunk 2)
      (agent-q-diff-undo)
      (run-hooks 'post-command-hook)
      (let ((agent-q-diff-round-is-replacing t))
        (agent-q-diff-end review)))
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three") (11 . "eleven") (13 . "y"))))
    (aqd-with-pending
      (should (equal '("[PENDING, will be taken out]") (aqd-waiting-states)))
      (should (string-match-p "1 hunk was taken out" (aqd-waiting-ends)))
      (should (equal (aqd-numbered 30 '((3 . "three") (13 . "y"))) (aqd-pending-has "f.txt"))))))

(defun aqd-waiting-blocks (&rest with-x)
  "Return ten equal blocks, those of WITH-X, counted from 1, with a line X."
  (mapconcat (lambda (n)
               (concat "begin\n  a\n  b\n" (if (memql n with-x) "X\n" "") "  c\nend\n\n"))
             (number-sequence 1 10) ""))

(defmacro aqd-waiting-with-blocks (&rest body)
  "Run BODY in a repository where Codex, at work, wrote X in blocks 3, 5 and 7.
The rejection of that in block 5 waits, and the others are kept."
  (declare (indent 0) (debug t))
  `(aqd-with-repository
     (aqd-pending-put "f.txt" (aqd-waiting-blocks))
     (agent-q-diff-mark-reviewed)
     (agent-q-diff-module-begin-turn default-directory "Codex" "s" "")
     (aqd-pending-put "f.txt" (aqd-waiting-blocks 3 5 7))
     (aqd-with-pending
       (aqd-pending-do #'agent-q-diff-reject-hunk 1)
       (aqd-pending-do #'agent-q-diff-accept-hunk 0)
       (aqd-pending-do #'agent-q-diff-accept-hunk 2)
       (run-hooks 'post-command-hook))
     ,@body))

(ert-deftest aqd-waiting-of-equal-blocks-keeping-the-others-changes-nothing ()
  (dolist (written '((3 5 7) (1 3 5 7) (3 4 5 6 7) (3 5 7 8)))
    (aqd-waiting-with-blocks
      (aqd-pending-put "f.txt" (apply #'aqd-waiting-blocks written))
      (aqd-with-pending
        (should (equal '("[PENDING, will be taken out]") (aqd-waiting-states)))
        (should (string-match-p "1 hunk was taken out" (aqd-waiting-ends)))
        (should (equal (apply #'aqd-waiting-blocks (remq 5 written))
                       (aqd-pending-has "f.txt")))))))

(ert-deftest aqd-waiting-of-equal-blocks-another-one-is-not-taken-out ()
  (pcase-dolist (`(,written ,note ,said)
                 '(((3 6 7) "may be in another place now"
                    "f.txt, line 35: I rejected this change before, maybe in another place\n")
                   ((3 4 6 7) "may be any of several equal ones"
                    "f.txt: I rejected one of several equal changes, and it is not sure which\n")))
    (aqd-waiting-with-blocks
      (aqd-pending-put "f.txt" (apply #'aqd-waiting-blocks written))
      (aqd-with-pending
        (should (string-search
                 (format "# Note: In f.txt, a hunk that you took out %s, and is pending; the agent \
is told.\n" note)
                 (buffer-string)))
        (should (string-match-p "0 hunks were taken out" (aqd-waiting-ends)))
        (aqd-said (agent-q-diff-finish nil t)))
      (should (equal (apply #'aqd-waiting-blocks written) (aqd-pending-has "f.txt")))
      (should (string-search said (agent-q-diff-told-message default-directory))))))

(ert-deftest aqd-waiting-of-lines-that-are-one-hunk-a-part-waits ()
  (dolist (write '(nil ((20 . "y")) ((7 . "y")) ((1 . "y"))))
    (aqd-waiting-while-at-work nil '((3 . "three") (5 . "five"))
      (aqd-with-pending
        (let ((transient-mark-mode t))
          (goto-char (point-min))
          (search-forward "-line 5")
          (push-mark (line-beginning-position) t t)
          (forward-line 2)
          ;; It has to be one hunk first: a region does not wait.
          (agent-q-diff-split-pick-region (mark) (point))
          (deactivate-mark))
        (aqd-pending-do #'agent-q-diff-reject-hunk 1)
        (run-hooks 'post-command-hook))
      (aqd-pending-put "f.txt" (aqd-numbered 30 (append '((3 . "three") (5 . "five")) write)))
      (aqd-with-pending
        (should (equal '("[PENDING, will be taken out]") (aqd-waiting-states)))
        (should (string-match-p "1 hunk was taken out" (aqd-waiting-ends)))
        (should (equal (aqd-numbered 30 (append '((3 . "three")) write))
                       (aqd-pending-has "f.txt")))))))

(defmacro aqd-waiting-with-a-part (&rest body)
  "Run BODY where a hunk of a.txt waits, for a reason, and a part of one of f.txt.
Codex, which wrote them, is at work, and no review is open."
  (declare (indent 0) (debug t))
  `(aqd-with-repository
     (aqd-pending-put "a.txt" (aqd-numbered 30))
     (agent-q-diff-mark-reviewed)
     (agent-q-diff-module-begin-turn default-directory "Codex" "s" "")
     (aqd-pending-put "a.txt" (aqd-numbered 30 '((3 . "three") (27 . "x"))))
     (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three") (5 . "five"))))
     (save-current-buffer
       (aqd-with-pending
         (agent-q-diff-comment-hunk "bad name" 0)
         (aqd-pending-do #'agent-q-diff-reject-hunk 0)
         (agent-q-diff-buffer-goto-hunk 2)
         (aqd-said (agent-q-diff-split-hunk))
         (aqd-pending-do #'agent-q-diff-reject-hunk 2)
         (run-hooks 'post-command-hook)
         (aqd-said (agent-q-diff-finish nil t))))
     ,@body))

(defun aqd-waiting-both-are-taken-out ()
  "End the turn, and check that what waited is taken out, and told.
It is that of `aqd-waiting-with-a-part'."
  (agent-q-diff-module-end-turns default-directory)
  (should (string-search "2 hunks were taken out"
                         (aqd-said (agent-q-diff-changes-carry-out default-directory))))
  (should (equal (aqd-numbered 30 '((27 . "x"))) (aqd-pending-has "a.txt")))
  (should (equal (aqd-numbered 30 '((5 . "five"))) (aqd-pending-has "f.txt")))
  (should (string-search "- a.txt, line 3. The user says: bad name\n- f.txt, line 3\n"
                         (agent-q-diff-told-message default-directory)))
  (should-not (agent-q-diff-module-noted-hunks default-directory)))

(ert-deftest aqd-waiting-a-part-that-is-split-off-again-loses-nothing-of-other-files ()
  (aqd-waiting-with-a-part
    (aqd-waiting-both-are-taken-out)))

(ert-deftest aqd-waiting-whatever-interrupts-a-review-that-begins-nothing-is-lost ()
  (dolist (signal '((error "Broken") (quit)))
    ;; Before and after what is shown is written anew.
    (pcase-dolist (`(,where . ,function) '((:before . agent-q-diff-split-pick)
                                           (:after . agent-q-diff-split-pick)
                                           (:before . agent-q-diff-waiting--put)))
      (aqd-waiting-with-a-part
        (let ((noted (agent-q-diff-module-noted-hunks default-directory))
              (breaks (lambda (&rest _) (signal (car signal) (cdr signal)))))
          (advice-add function where breaks)
          (unwind-protect
              (should (eq (car signal)
                          (condition-case err
                              (ignore (agent-q-diff-review-changes))
                            ((error quit) (car err)))))
            (advice-remove function breaks))
          (with-current-buffer (agent-q-diff-session-buffer (car (agent-q-diff-open-reviews)))
            (run-hooks 'post-command-hook)
            (should (equal noted (agent-q-diff-module-noted-hunks default-directory)))
            (aqd-said (agent-q-diff-finish nil t)))
          (aqd-waiting-both-are-taken-out))))))

(ert-deftest aqd-waiting-a-review-that-is-shown-again-keeps-what-another-has-wait ()
  (aqd-waiting-while-at-work nil '((15 . "x") (27 . "y"))
    (save-current-buffer
      (aqd-with-pending
        (aqd-said (agent-q-diff-finish nil t))))
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three") (15 . "x") (27 . "y"))))
    (save-current-buffer
      (aqd-with-pending
        (agent-q-diff-comment-hunk "bad name" 0)
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (run-hooks 'post-command-hook)
        (let ((noted (agent-q-diff-module-noted-hunks default-directory)))
          (with-current-buffer (agent-q-diff-look-again)
            ;; It does not have line 3.
            (should-not (string-search "written anew" (buffer-string)))
            (run-hooks 'post-command-hook)
            (should (equal noted (agent-q-diff-module-noted-hunks default-directory)))
            (aqd-pending-do #'agent-q-diff-reject-hunk 1)
            (run-hooks 'post-command-hook)
            (aqd-said (agent-q-diff-finish nil t))))
        (run-hooks 'post-command-hook)
        (aqd-said (agent-q-diff-finish nil t))))
    (agent-q-diff-module-end-turns default-directory)
    (should (string-search "2 hunks were taken out"
                           (aqd-said (agent-q-diff-changes-carry-out default-directory))))
    (should (equal (aqd-numbered 30 '((15 . "x"))) (aqd-pending-has "f.txt")))
    (should (string-search "- f.txt, line 3. The user says: bad name\n- f.txt, line 27\n"
                           (agent-q-diff-told-message default-directory)))
    (should-not (agent-q-diff-module-noted-hunks default-directory))))

(ert-deftest aqd-waiting-lines-that-were-written-anew-are-said-and-told ()
  (aqd-waiting-while-at-work nil '((3 . "three") (27 . "x"))
    (aqd-with-pending
      (agent-q-diff-comment-hunk "keep the name" 0)
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (run-hooks 'post-command-hook))
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "THREE") (27 . "x"))))
    (aqd-with-pending
      (should (string-search "# Note: In f.txt, a hunk that you took out and commented with \
\"keep the name\" was written anew, and is pending; the agent is told." (buffer-string)))
      (should (string-search "I rejected what you wrote here before: keep the name"
                             (agent-q-diff-comment-text
                              (car (agent-q-diff-module-comments default-directory nil)))))
      (agent-q-diff-module-end-turns default-directory)
      (aqd-said (agent-q-diff-finish nil t)))
    (let ((message (agent-q-diff-told-message default-directory)))
      (should (string-search "- [2] f.txt, line 3: I rejected what you wrote here before: keep the \
name\n"
                             message))
      (should (string-search "    > THREE\n" message)))
    ;; Once.
    (aqd-with-pending
      (should-not (string-search "written anew" (buffer-string))))
    (should (= 1 (length (agent-q-diff-module-comments default-directory nil))))))

(ert-deftest aqd-waiting-lines-that-are-written-anew-in-an-open-review-are-told ()
  (aqd-waiting-while-at-work nil '((3 . "three") (27 . "x"))
    (aqd-with-pending
      (agent-q-diff-comment-hunk "keep the name" 0)
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "THREE") (27 . "x"))))
      (should (string-search "0 hunks were taken out; not taken out: hunk 1" (aqd-waiting-ends)))
      (should (string-search "# Note: In f.txt, a hunk that you took out and commented with \
\"keep the name\" was written anew" (buffer-string)))
      (aqd-said (agent-q-diff-finish nil t)))
    (should (string-search ": I rejected what you wrote here before: keep the name\n"
                           (agent-q-diff-told-message default-directory)))
    (should (= 1 (length (agent-q-diff-module-comments default-directory nil))))))

;; Only the reason still helps the agent.
(ert-deftest aqd-waiting-what-its-agent-has-taken-out-itself-is-said-to-be-gone ()
  (dolist (reason '(nil "bad name"))
    (aqd-waiting-while-at-work nil '((3 . "three") (27 . "x"))
      (aqd-with-pending
        (when reason
          (agent-q-diff-comment-hunk reason 0))
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (run-hooks 'post-command-hook))
      (aqd-pending-put "f.txt" (aqd-numbered 30 '((27 . "x"))))
      (aqd-with-pending
        (should (string-search
                 (format "# Note: In f.txt, a hunk that you took out%s is gone already: somebody \
took it out, or kept it, meanwhile%s.\n"
                         (if reason " and commented with \"bad name\"" "")
                         (if reason "; the agent is told why you took it out" ""))
                 (buffer-string)))
        (should-not (string-search "PENDING" (format "%s" (aqd-waiting-states))))
        (agent-q-diff-module-end-turns default-directory)
        (aqd-said (agent-q-diff-finish nil t)))
      (let ((message (agent-q-diff-told-message default-directory)))
        (if reason
            (should (string-search "- [2] f.txt: I rejected an earlier change in this file: bad name\n"
                                   message))
          (should-not message))))))

(ert-deftest aqd-waiting-what-fails-for-another-reason-is-not-said-to-be-written-anew ()
  (aqd-waiting-while-at-work nil '((3 . "three") (27 . "x"))
    (aqd-with-pending
      (agent-q-diff-comment-hunk "bad name" 0)
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (cl-letf (((symbol-function 'agent-q-diff-decide-these)
                 (lambda (&rest _) (error "The disk is full"))))
        (should (string-search "not taken out: hunk 1: The disk is full" (aqd-waiting-ends))))
      (should-not (string-search "written anew" (buffer-string)))
      ;; It is pending, and the reason a comment on it.
      (should (equal "bad name"
                     (agent-q-diff-change-users-comment agent-q-diff-buffer-change 0))))))

;; Without a review, too, when nothing is pending any more.
(ert-deftest aqd-waiting-the-reason-outlives-what-is-pending-of-its-file ()
  (dolist (other '(nil "g.txt"))
    (aqd-waiting-while-at-work nil '((3 . "three"))
      (when other
        (aqd-pending-put other "new\n"))
      (aqd-with-pending
        (agent-q-diff-comment-hunk "bad name" 0)
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (run-hooks 'post-command-hook)
        (aqd-said (agent-q-diff-finish nil t)))
      (aqd-pending-put "f.txt" (aqd-numbered 30))
      (let* ((review nil)
             (said (aqd-said (setq review (agent-q-diff-review-changes)))))
        (should (string-search
                 "In f.txt, a hunk that you took out and commented with \"bad name\" is gone already: \
somebody took it out, or kept it, meanwhile; the agent is told why you took it out."
                 (if other
                     (with-current-buffer (agent-q-diff-session-buffer review)
                       (buffer-string))
                   said)))
        (when other
          (with-current-buffer (agent-q-diff-session-buffer review)
            (aqd-said (agent-q-diff-finish nil t)))))
      (should (string-search "- [2] f.txt: I rejected an earlier change in this file: bad name\n"
                             (agent-q-diff-told-message default-directory)))
      ;; Once.
      (should-not (agent-q-diff-module-noted-hunks default-directory)))))

(ert-deftest aqd-waiting-a-file-that-a-look-leaves-out-keeps-what-waits ()
  (aqd-waiting-while-at-work nil '((3 . "three"))
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (run-hooks 'post-command-hook)
      (aqd-said (agent-q-diff-finish nil t)))
    (agent-q-diff-module-begin-turn default-directory "Claude Code" "t" "")
    (aqd-pending-put "g.txt" "new\n")
    (save-current-buffer
      (let ((review (agent-q-diff-review-changes
                     nil (agent-q-diff-turn-id
                          (car (last (agent-q-diff-module-turns default-directory)))))))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (should (string-search "g.txt" (buffer-string)))
          (should-not (string-search "f.txt" (buffer-string)))
          (aqd-said (agent-q-diff-finish nil t)))))
    (aqd-with-pending
      (should (equal "[PENDING, will be taken out]" (car (aqd-waiting-states)))))))

(ert-deftest aqd-waiting-a-file-is-renamed-and-its-hunk-waits-on ()
  (dolist (is-open '(nil t))
    (aqd-waiting-while-at-work nil '((3 . "three") (27 . "x"))
      (aqd-with-pending
        (agent-q-diff-comment-hunk "bad name" 0)
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (run-hooks 'post-command-hook)
        (when is-open
          (rename-file "f.txt" "g.txt")
          (should (string-search "0 hunks were taken out" (aqd-waiting-ends)))
          (run-hooks 'post-command-hook))
        (aqd-said (agent-q-diff-finish nil t)))
      (unless is-open
        (rename-file "f.txt" "g.txt"))
      (aqd-with-pending
        (should (equal '("[PENDING, will be taken out, commented]") (aqd-waiting-states)))
        (should (string-match-p "1 hunk was taken out" (aqd-waiting-ends)))
        (aqd-said (agent-q-diff-finish nil t)))
      (should (equal (aqd-numbered 30 '((27 . "x"))) (aqd-pending-has "g.txt")))
      (should (string-search "- g.txt, line 3. The user says: bad name\n"
                             (agent-q-diff-told-message default-directory)))
      (should-not (agent-q-diff-module-noted-hunks default-directory)))))

;; What the bytes are is not in the diff.
(ert-deftest aqd-waiting-other-bytes-are-another-change ()
  (pcase-dolist (`(,before ,now) '(("a\0b" "a\0d") (nil "a\0d")))
    (aqd-with-repository
      (when before
        (aqd-pending-put "data" before)
        (agent-q-diff-mark-reviewed))
      (agent-q-diff-module-begin-turn default-directory "Codex" "s" "")
      (aqd-pending-put "data" "a\0c")
      (dolist (bytes (list "a\0c" now))
        (aqd-pending-put "data" bytes)
        (aqd-with-pending
          (if (equal bytes now)
              (should (string-search "was written anew" (buffer-string)))
            (aqd-pending-do #'agent-q-diff-reject-hunk 0)
            (run-hooks 'post-command-hook)))
        (when (equal bytes "a\0c")
          (aqd-with-pending
            (should (equal '("[PENDING, will be taken out]") (aqd-waiting-states)))))))))

(provide 'agent-q-diff-waiting-test)
;;; agent-q-diff-waiting-test.el ends here
