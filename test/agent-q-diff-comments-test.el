;;; agent-q-diff-comments-test.el --- Comments and questions on lines  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tests of comments on lines of what was written already: made by keys in a
;; review or in a file, shown below their lines, moved with them, answered,
;; and listed.

;;; Code:

(require 'agent-q-diff-git-help)
(require 'agent-q-diff-comments)
(require 'agent-q-diff-tools)

(defun aqd-comments-all ()
  "Return (ID STATE AGENT WHERE TEXT) of each row of the list of comments."
  (aqd-rows-of #'agent-q-diff-comments))

(defun aqd-comments-shown ()
  "Return what is shown below lines of this diff buffer, in order, as one string."
  (mapconcat
   (lambda (overlay)
     (substring-no-properties (or (overlay-get overlay 'after-string)
                                  (overlay-get overlay 'before-string))))
   (sort (seq-filter (lambda (overlay) (overlay-get overlay 'agent-q-diff-annotations))
                     (overlays-in (point-min) (point-max)))
         (lambda (one other) (< (overlay-start one) (overlay-start other))))
   ""))

(defmacro aqd-comments-saying (text &rest body)
  "Run BODY while TEXT is typed in each prompt, and return the prompts."
  (declare (indent 1) (debug t))
  `(let (prompts)
     (cl-letf (((symbol-function 'read-string)
                (lambda (prompt &rest _) (push prompt prompts) ,text)))
       ,@body)
     (setq prompts (nreverse prompts))))

(defun aqd-comments-on (line text &optional key)
  "Say TEXT by KEY, by default \"c\", on the LINE of this diff buffer."
  (goto-char (point-min))
  (search-forward (concat "\n" line "\n"))
  (forward-line -1)
  (aqd-comments-saying text (call-interactively (key-binding (or key "c")))))

(ert-deftest aqd-comments-are-on-lines-and-shown-below-them ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (let ((text (buffer-string)))
        (should (equal '("Comment on line 3 of f.txt: ") (aqd-comments-on "+three" "shorter")))
        (should (equal '("Question on line 27 before the change of f.txt: ")
                       (aqd-comments-on "-line 27" "why?" "Q")))
        (should (equal-including-properties text (buffer-string)))
        (should (equal "# > You (open): shorter\n# > You (question, open): why?\n"
                       (aqd-comments-shown))))
      ;; On a line with a comment, that is changed.
      (should (equal '("Comment on f.txt:3 (empty to close it): ")
                     (aqd-comments-on "+three" "much shorter")))
      (should (string-search "much shorter" (aqd-comments-shown)))
      (aqd-comments-on "-line 27" "")
      (should (equal '(("1" "open" "" "f.txt:3" "much shorter")) (aqd-comments-all))))))

(ert-deftest aqd-comments-the-list-names-the-agents-that-wrote-the-lines ()
  (aqd-with-repository
    (agent-q-diff-module-begin-turn aqd-pending-root "Codex" "s" "shout")
    (aqd-pending-put "f.txt" aqd-pending-written)
    (agent-q-diff-module-end-turns aqd-pending-root)
    (aqd-with-pending (aqd-comments-on "+three" "shorter"))
    (should (equal '("1" "open" "Codex" "f.txt:3" "shorter") (car (aqd-comments-all))))))

(ert-deftest aqd-comments-on-selected-lines-files-and-hunks ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "new.txt" "1\n2\n3\n")
    (aqd-with-pending
      (let ((transient-mark-mode t))
        (goto-char (point-min))
        (search-forward "+2\n")
        (push-mark (line-beginning-position 0) t t)
        (goto-char (line-beginning-position 2))
        (should (equal '("Comment on lines 2 to 3 of new.txt: ")
                       (aqd-comments-saying "both" (agent-q-diff-comment-here)))))
      (agent-q-diff-buffer-goto-hunk 0)
      (agent-q-diff-previous-file)
      (goto-char (aref agent-q-diff-buffer-headings 0))
      (should (equal '("Comment on f.txt: ")
                     (aqd-comments-saying "split it" (agent-q-diff-comment-here))))
      ;; In the header of a hunk, the hunk.
      (agent-q-diff-buffer-goto-hunk 1)
      (should (equal '("Comment on hunk 2 of f.txt, line 27: ")
                     (aqd-comments-saying "this hunk" (agent-q-diff-comment-here))))
      (should-not (agent-q-diff-change-comments agent-q-diff-buffer-change))
      (should (string-search "# > You (open): this hunk\n" (aqd-comments-shown)))
      (agent-q-diff-buffer-goto-hunk 0)
      (aqd-comments-saying "what?" (agent-q-diff-ask))
      (aqd-said (agent-q-diff-finish nil t)))
    (should (equal '(("1" "open" "" "new.txt:2" "both")
                     ("2" "open" "" "f.txt" "split it")
                     ("3" "open" "" "f.txt:27" "this hunk")
                     ("4" "open" "" "f.txt:3" "(question) what?"))
                   (aqd-comments-all)))))

(defun aqd-comments-said ()
  "Return (ID LINE TEXT) of each comment that is not closed."
  (mapcar (lambda (one)
            (list (agent-q-diff-comment-id one) (agent-q-diff-comment-line one)
                  (agent-q-diff-comment-text one)))
          (agent-q-diff-module-comments default-directory nil)))

(ert-deftest aqd-comments-one-on-a-rejected-hunk-is-the-reason-until-that-is-undone ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (save-current-buffer
      (aqd-with-pending
        (agent-q-diff-comment-hunk "keep the name" 0)
        ;; One on the same lines is one on the hunk, and is changed.
        (agent-q-diff-comment-hunk "shorter" 1)
        (agent-q-diff-buffer-goto-hunk 1)
        (aqd-comments-saying "longer" (agent-q-diff-comment-here))
        (should (equal '((1 2 "keep the name") (2 26 "longer")) (aqd-comments-said)))
        (dotimes (_ 2)
          (aqd-pending-do #'agent-q-diff-reject-hunk 0)
          (should (equal '((2 26 "longer")) (aqd-comments-said)))
          (should (equal "# > You (open): longer\n" (aqd-comments-shown)))
          (should (equal '("[TAKEN OUT, commented]") (mapcar #'cdr (aqd-pending-signs))))
          (aqd-said (agent-q-diff-undo))
          (should (equal '((1 2 "keep the name") (2 26 "longer")) (aqd-comments-said)))
          (should (string-search "keep the name" (aqd-comments-shown)))
          (should-not (agent-q-diff-change-comments agent-q-diff-buffer-change)))
        ;; A reason that was given then is what it says.
        (agent-q-diff-commands-note "because" 0)
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (should (equal '((2 26 "longer")) (aqd-comments-said)))
        (aqd-said (agent-q-diff-undo))
        (should (equal '((1 2 "because") (2 26 "longer")) (aqd-comments-said)))
        (agent-q-diff-comment-hunk "keep the name" 0)
        ;; So it is if it is kept instead.
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (aqd-pending-do #'agent-q-diff-accept-hunk 0)
        (should (equal '((1 2 "keep the name") (2 26 "longer")) (aqd-comments-said)))
        (aqd-pending-do #'agent-q-diff-reject-hunk 1)
        ;; On a hunk that is taken out, it is the reason that is changed.
        (agent-q-diff-buffer-goto-hunk 1)
        (aqd-comments-saying "much longer" (agent-q-diff-comment-here))
        (agent-q-diff-comment-hunk "" 0)
        (should-not (aqd-comments-said))
        (aqd-said (agent-q-diff-finish nil t))))
    (let ((told (agent-q-diff-told-message default-directory)))
      (should (string-search "- f.txt, line 27. The user says: much longer\n" told))
      (should-not (string-search "The user's comments" told)))))

(ert-deftest aqd-comments-one-that-is-not-on-exactly-the-hunk-is-no-reason ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" (aqd-numbered 30 '((3 . "three") (5 . "five") (27 . "x"))))
    (save-current-buffer
      (aqd-with-pending
        (agent-q-diff-comments--make 0 '(new 2 1) 'comment "line")
        (agent-q-diff-comments--make 0 '(new 2 3) 'question "why?")
        (agent-q-diff-comments--make 0 nil 'comment "file")
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (should-not (agent-q-diff-change-comments agent-q-diff-buffer-change))
        (aqd-said (agent-q-diff-finish nil t))))
    (let ((told (agent-q-diff-told-message default-directory)))
      (dolist (text '("1] f.txt, line 3 at the time, no longer there: line" "2] f.txt, lines 3 to 5 at the time"
                      "3] f.txt: file"))
        (should (string-search text told))))))

(ert-deftest aqd-comments-on-hunks-stay-whatever-is-shown-and-decided ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (save-current-buffer
      (aqd-with-pending
        (agent-q-diff-comment-hunk "why?" 1)
        (aqd-pending-do #'agent-q-diff-more-context 1)
        (should (equal "why?" (agent-q-diff-change-users-comment agent-q-diff-buffer-change 1)))
        (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
    (save-current-buffer
      (aqd-with-pending
        (should (equal "# > You (open): why?\n" (aqd-comments-shown)))
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (aqd-said (agent-q-diff-finish nil t))))
    (should (string-search "The user says: why?" (agent-q-diff-told-message default-directory)))
    (should-not (aqd-comments-said))))

(ert-deftest aqd-comments-a-reason-of-nothing-that-is-rejected-is-a-comment ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (save-current-buffer
      (aqd-with-pending
        (cl-letf (((symbol-function 'agent-q-diff-decide-hunk)
                   (lambda (&rest _) (signal 'agent-q-diff-error '("no")))))
          (agent-q-diff-buffer-goto-hunk 1)
          (aqd-said (ignore-errors (agent-q-diff-reject-hunk nil "why?"))))
        (run-hooks 'post-command-hook)
        (should (equal '((1 26 "why?")) (aqd-comments-said)))
        (should-not (agent-q-diff-change-comments agent-q-diff-buffer-change))
        ;; In a file with a hunk of the user's, its lines are not known.
        (cl-letf (((symbol-function 'agent-q-diff-annotations-moved-p) #'always))
          (agent-q-diff-comment-hunk "this" 0))
        (should (equal '((1 26 "why?") (2 nil "this")) (aqd-comments-said)))))))

(ert-deftest aqd-comments-move-with-their-lines-and-outlive-the-review ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-comments-on "+x" "why x?" "Q"))
    (aqd-pending-put "f.txt" (concat "new\n" aqd-pending-written))
    (should (equal '(("1" "open" "" "f.txt:28" "(question) why x?")) (aqd-comments-all)))
    (save-current-buffer
      (aqd-with-pending
        (should (string-search "why x?" (aqd-comments-shown)))))
    (aqd-pending-put "f.txt" aqd-pending-text)
    (should (equal '(("1" "stale" "" "f.txt" "(question) why x?")) (aqd-comments-all)))
    ;; Of equal lines, it is not known which was meant.
    (aqd-pending-put "f.txt" (concat "x\n" aqd-pending-text "x\n"))
    (should (equal "f.txt:32?" (nth 3 (car (aqd-comments-all)))))
    (agent-q-diff-told-queue-now default-directory)
    (should (string-search "f.txt, line 32, place unsure: why x?"
                           (agent-q-diff-told-message default-directory)))))

(ert-deftest aqd-comments-follow-a-file-that-an-agent-renames ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (save-current-buffer
      (aqd-with-pending
        (aqd-comments-on "+x" "why x?" "c")
        (aqd-comments-on "-line 3" "was better" "c")))
    (rename-file "f.txt" "g.txt")
    (save-current-buffer
      (aqd-with-pending
        (should (string-match-p "was better\n# > .*why x\\?" (aqd-comments-shown)))
        (aqd-said (agent-q-diff-finish nil t))))
    (should (equal '(("1" "open" "" "g.txt:27" "why x?")
                     ("2" "open" "" "g.txt, old line 3" "was better"))
                   (aqd-comments-all)))
    (let ((text (agent-q-diff-told-message default-directory)))
      (dolist (part '("[1] g.txt, line 27: why x?" "[2] g.txt, line 3 before the change: was better"))
        (should (string-search part text))))
    ;; The rename is rejected: they are on the file that has its name again.
    (save-current-buffer
      (aqd-with-pending
        (aqd-pending-do #'agent-q-diff-reject-hunk 0)
        (should (string-search "why x?" (aqd-comments-shown)))
        (aqd-said (agent-q-diff-finish nil t))))
    (should (equal "f.txt:27" (nth 3 (car (aqd-comments-all)))))
    (should (string-search "[1] f.txt, line 27: why x?"
                           (agent-q-diff-told-message default-directory)))
    (save-current-buffer
      (aqd-with-pending
        (should (string-search "why x?" (aqd-comments-shown)))))))

(ert-deftest aqd-comments-a-kept-rename-takes-them-along-through-branches ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (save-current-buffer
      (aqd-with-pending
        (aqd-comments-on "+x" "why x?" "c")))
    (rename-file "f.txt" "g.txt")
    (save-current-buffer
      (aqd-with-pending
        (aqd-said (agent-q-diff-accept-all))
        (unless (agent-q-diff-session-outcome review)
          (aqd-said (agent-q-diff-finish nil t)))))
    (aqd-pending-git "checkout" "-qb" "other")
    (aqd-pending-git "add" "-A")
    (aqd-pending-git "commit" "-qm" "renamed")
    (should (equal "g.txt:27" (nth 3 (car (aqd-comments-all)))))
    ;; Where there is neither line nor file, it is stale, and not for ever.
    (aqd-pending-git "checkout" "-q" "-")
    (aqd-pending-files)
    (should (equal '("stale" "f.txt") (list (nth 1 (car (aqd-comments-all)))
                                            (nth 3 (car (aqd-comments-all))))))
    (aqd-pending-git "checkout" "-q" "-")
    (aqd-pending-files)
    (should (equal "g.txt:27" (nth 3 (car (aqd-comments-all)))))))

(ert-deftest aqd-comments-answers-are-shown-in-the-open-review ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-comments-on "+x" "why x?" "Q")
      (let ((agent-q-diff-call (agent-q-diff-call-with 'agent "Codex")))
        (agent-q-diff-tools-call "resolve_comment"
                                 (list 'id "1" 'answer "Because \e[31mof\u202e it.\nReally.")))
      (let ((shown (aqd-comments-shown)))
        (should (string-search "why x?" shown))
        (should (string-search "Codex: Because <U+001B>[31mof<U+202E> it." shown))
        (should (string-search "Really." shown)))
      (should (equal '("1" "handled") (seq-take (car (aqd-comments-all)) 2))))))

(ert-deftest aqd-comments-one-that-changes-changes-the-message ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (save-current-buffer
      (aqd-with-pending
        (aqd-comments-on "+x" "why x?" "Q")
        (aqd-comments-on "+three" "no" "c")
        (aqd-said (agent-q-diff-finish nil t))))
    (should (string-search "why x?" (agent-q-diff-told-message default-directory)))
    (agent-q-diff-comments)
    (goto-char (point-min))
    (aqd-comments-saying "why not y?" (agent-q-diff-comments-edit))
    (should (= 1 (length (agent-q-diff-module-messages default-directory))))
    (should (string-search "why not y?" (agent-q-diff-told-message default-directory)))
    (should-not (string-search "why x?" (agent-q-diff-told-message default-directory)))
    (goto-char (point-min))
    (aqd-said (agent-q-diff-comments-close))
    (goto-char (point-min))
    (aqd-said (agent-q-diff-comments-close))
    ;; Nothing is left to be told.
    (should (equal '(nil) (mapcar #'agent-q-diff-queued-to
                                (agent-q-diff-module-messages default-directory))))
    (should-error (agent-q-diff-comments-close) :type 'user-error)
    (kill-buffer)))

(ert-deftest aqd-comments-one-that-changes-in-a-review-is-told-after-it ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (save-current-buffer
      (aqd-with-pending
        (aqd-comments-on "+x" "why x?" "Q")
        (aqd-said (agent-q-diff-finish nil t))))
    (cl-flet ((edit (text)
                (agent-q-diff-module-edit-comment default-directory 1 'question text))
              (read ()
                (let ((messages (agent-q-diff-module-messages default-directory)))
                  (agent-q-diff-module-told default-directory
                                            (mapcar #'agent-q-diff-queued-id messages) nil)
                  (mapcar #'agent-q-diff-queued-text messages)))
              (state ()
                (agent-q-diff-comment-state
                 (car (agent-q-diff-module-comments default-directory nil)))))
      (save-current-buffer
        (aqd-with-pending
          (edit "why not y?")
          ;; What waits is from before.
          (should (string-search "why x?" (string-join (read))))
          (should (eq 'open (state)))
          (aqd-said (agent-q-diff-finish nil t))))
      (should (string-search "why not y?" (string-join (read))))
      (should (eq 'sent (state)))
      (should-not (seq-some #'agent-q-diff-queued-to
                            (agent-q-diff-module-messages default-directory)))
      ;; What is said once more, as it waits, is told with that.
      (edit "why z?")
      (agent-q-diff-told-queue-now default-directory)
      (edit "why x?")
      (edit "why z?")
      (agent-q-diff-told-queue-again default-directory)
      (should (string-search "why z?" (string-join (read))))
      (should (eq 'sent (state))))))

(ert-deftest aqd-comments-in-a-file-are-on-its-lines ()
  (aqd-with-repository
    (with-current-buffer (find-file-noselect "f.txt")
      (goto-char (point-min))
      (forward-line 4)
      (agent-q-diff-comment-file "why 5?" 'question)
      (let ((transient-mark-mode t))
        (push-mark (point) t t)
        (forward-line 2)
        (agent-q-diff-comment-file "shorter"))
      (insert "unsaved")
      (should-error (agent-q-diff-comment-file "?") :type 'user-error)
      (set-buffer-modified-p nil)
      (kill-buffer))
    (should (equal '(("1" "open" "" "f.txt:5" "(question) why 5?") ("2" "open" "" "f.txt:5" "shorter"))
                   (aqd-comments-all)))
    (let ((text (agent-q-diff-told-message default-directory)))
      (dolist (part '("- [1] f.txt, line 5: why 5?\n" "\n[1] f.txt, line 5: why 5?\n    > line 5\n"
                      "- [2] f.txt, lines 5 to 6: shorter\n"
                      "\n[2] f.txt, lines 5 to 6: shorter\n    > line 5\n    > line 6\n"))
        (should (string-search part text))))
    (agent-q-diff-comments)
    (goto-char (point-min))
    (agent-q-diff-comments-visit)
    (should (equal (aqd-pending-name "f.txt") buffer-file-name))
    (should (= 5 (line-number-at-pos)))
    (kill-buffer)
    (kill-buffer "*agent-q-diff comments*")))

(ert-deftest aqd-comments-questions-need-what-was-written-already ()
  (aqd-with-repository
    (let ((review (agent-q-diff-review (aqd-pending-name "f.txt") aqd-pending-text
                                       aqd-pending-written "" #'ignore)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (should-error (agent-q-diff-ask) :type 'user-error)
        (agent-q-diff-buffer-goto-hunk 0)
        (forward-line 4)
        (aqd-comments-saying "hunk" (agent-q-diff-comment-here))
        (should (equal '((0 . "hunk"))
                       (agent-q-diff-change-comments agent-q-diff-buffer-change))))
      (agent-q-diff-cancel review))))

(provide 'agent-q-diff-comments-test)
;;; agent-q-diff-comments-test.el ends here
