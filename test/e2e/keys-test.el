;;; keys-test.el --- What each key does and shows  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The keys of the diff buffer and what the user sees: the progress line,
;; the signs on the hunks, the echo area, point, and the other window.

;;; Code:

(require 'agent-q-diff-tmux)

(defun keys-progress (applied rejected pending)
  "Wait until the screen shows APPLIED, REJECTED and PENDING hunks of 3."
  (e2e-see (e2e-header "[123]/3" applied rejected pending)))

(defun keys-press (key &rest regexps)
  "Type KEY and wait until the screen shows a match of each of REGEXPS."
  (e2e-keys key)
  (apply #'e2e-see regexps))

(defun keys-echo (text)
  "Return a regexp that matches TEXT alone in the echo area."
  (format "^%s\n*\\'" (regexp-quote text)))

(defun keys-did (what)
  "Return a regexp that matches the echo area after a hunk became WHAT."
  (concat "^Hunk [1-9] " (regexp-quote what)
          "; \\(?:[0-9] of [0-9] decided, [0-9] pending\\|nothing is pending, q finishes\\)"
          "\\(?:; the next one is above: hunk [0-9]\\)?\n*\\'"))

;;;; The tour

(ert-deftest e2e-keys-start-on-the-first-hunk ()
  (e2e-with-emacs
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (keys-progress 0 0 3)
    (e2e-see (concat "^ target: hunk 1/3 · .* · Agent-Q *\n # Description: Shout\n"
                     " Progress: 0/3 applied, 0 rejected, 3 pending  |  \\[a]ccept.*\n *\n"
                     ;; No lines that name the file twice.
                     "▌@@ -2,7 "))
    (e2e-see-cursor-at "^@@ -2,7 ")
    ;; What is above can be scrolled to.
    (keys-press "M-v" (format "^# File: %s$" (e2e-path "target")))
    (e2e-keys "C-]")
    (e2e-answer 'call)
    (e2e-should-be-as-found)))

(ert-deftest e2e-keys-n-and-p ()
  (e2e-with-emacs
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (keys-press "n" (keys-echo "Hunk pending (2 of 3)"))
    (e2e-see-cursor-at "^@@ -17,7 ")
    (keys-press "n" (keys-echo "Hunk pending (3 of 3)"))
    (keys-press "n" (keys-echo "No next hunk"))
    (e2e-see-cursor-at "^@@ -32,7 ")
    (keys-press "p" (keys-echo "Hunk pending (2 of 3)"))
    (keys-press "a" (keys-did "applied"))
    (keys-press "p" (keys-echo "Hunk applied (2 of 3)"))
    (keys-press "p" (keys-echo "Hunk pending (1 of 3)"))
    (keys-press "p" (keys-echo "No previous hunk"))
    (e2e-see-cursor-at "^@@ -2,7 ")
    (keys-progress 1 0 2)
    (e2e-keys "C-c C-k")
    (should (equal (e2e-answer 'call) '(:ok "rejected")))
    (should (equal (e2e-read "target") (e2e-text 20)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-keys-a-and-r-go-to-the-next-pending-hunk ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-keys "n")
    (keys-press "r" (keys-did "rejected") "^\\[REJECTED\\] @@ -17,7 ")
    (e2e-see-cursor-at "^@@ -32,7 ")
    (keys-progress 0 1 2)
    (should (equal (e2e-read "target") (e2e-text)))
    (keys-press "a" (keys-did "applied") "^\\[APPLIED\\] @@ -32,7 ")
    ;; Behind the last hunk the search goes on at the first.
    (e2e-see-cursor-at "^@@ -2,7 ")
    (keys-progress 1 1 1)
    (should (equal (e2e-read "target") (e2e-text 35)))
    (keys-press "a" (keys-did "applied")
                "^\\[APPLIED\\] @@ -2,7 ")
    (keys-progress 2 1 0)
    (should (equal (e2e-read "target") (e2e-text 5 35)))
    (e2e-keys "q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5 35)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-keys-RET-shows-the-place-in-the-other-window ()
  (e2e-with-emacs
    (e2e-propose 'timer 'call (e2e-proposal "target"))
    (e2e-keys "n")
    (keys-press "RET" (keys-echo "Line 20 of target") "F1  target ")
    ;; It is the selected window no more than before.
    (e2e-see-cursor-at "^@@ -17,7 ")
    (should (equal (e2e-eval '(with-selected-window (get-buffer-window "target")
                                (buffer-substring (point) (line-end-position))))
                   "line 20"))
    (keys-press "a" "LINE 20\nline 21\nline 22\nline 23\nline 24\nline 25")
    (e2e-keys "r r q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 20)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-keys-u-takes-hunks-out-in-any-order ()
  (e2e-with-emacs
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (e2e-keys "a a a p p")
    (keys-press "u" (keys-did "taken out of the file"))
    (e2e-see-gone "\\[APPLIED\\] @@ -2,7 ")
    (keys-progress 2 0 1)
    (should (equal (e2e-read "target") (e2e-text 20 35)))
    (e2e-keys "n u")
    (keys-progress 1 0 2)
    (should (equal (e2e-read "target") (e2e-text 35)))
    (keys-press "u" (keys-echo "Hunk 2 is not in the file"))
    (keys-progress 1 0 2)
    (e2e-keys "C-c C-c")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5 20 35)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-keys-help-is-in-the-other-window ()
  (e2e-with-emacs
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (keys-press "?" "^Decide +Go to +Look at +Change, say, end$" "^ a accept +n next +RET its place")
    ;; The next key is carried out, and the windows are as before.
    (keys-press "n" (keys-echo "Hunk pending (2 of 3)"))
    (e2e-see-gone "^Decide")
    (keys-press "p" "hunk 1/3")
    (keys-press "? ?" "Agent-Q Diff Help" "^Reviewing a proposal$"
                "^n +go to the next hunk$" "^C-c C-c +accept all pending"
                "^RET +show" "^SPC +accept" "^u +take")
    (e2e-see-cursor-at "^@@ -2,7 ")
    ;; While the help is visible, q is about the help.
    (keys-press "a r r q" (keys-echo "Closed the help; q finishes the review"))
    (keys-press "?" "^Decide +Go to +Look at")
    (e2e-keys "q")
    (e2e-see-gone "^Decide")
    (e2e-see "hunk 3/3")
    (e2e-keys "q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-should-be-as-found)))

;;;; Finding one's way, hiding, taking back

(defun keys-command (name)
  "Call the command NAME by its name."
  (e2e-press "ESC x")
  (e2e-type name)
  (e2e-keys "RET"))

(ert-deftest e2e-keys-find-hide-and-fold ()
  (e2e-with-emacs
    ;; For a name without extension.
    (e2e-eval '(ignore (setq agent-q-diff-white-space-free '(""))))
    (e2e-propose 'key 'call (e2e-proposal "target" :modified
                                          (string-replace "line 20\n" "  line 20\n"
                                                          (e2e-text 5 35))))
    (e2e-see "^ [^ ]+: hunk 1/3 · ")
    (keys-press "W" "^@@ -17,7 \\+17,7 @@ .*\\[1 line of white space\\]")
    (e2e-see-gone "^\\+  line 20")
    (keys-press "W" "^\\+  line 20")
    (keys-press "w" (keys-echo "Accepted 1 whitespace-only hunk") "\\[APPLIED\\] @@ -17,7 ")
    (e2e-keys "h")
    (e2e-see-gone "\\[APPLIED\\]")
    (keys-press "n" "^ [^ ]+: hunk 3/3 · " (keys-echo "Hunk pending (3 of 3)"))
    (keys-press "h" "\\[APPLIED\\] @@ -17,7 ")
    (keys-press "r" (keys-did "rejected"))
    (keys-press "." (keys-echo "Hunk pending (1 of 3); no other hunk is pending"))
    (keys-press "R" (keys-echo "Hunk rejected (3 of 3)"))
    (keys-press "x" (keys-echo "The line is shown whole"))
    (e2e-keys "C-c C-k")
    (should (equal (e2e-answer 'call) '(:ok "rejected")))
    (e2e-should-be-as-found)))

(ert-deftest e2e-keys-decisions-are-taken-back ()
  (e2e-with-emacs
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (e2e-keys "a r")
    (keys-progress 1 1 1)
    (keys-press "C-/" (keys-echo "Undid the decision on hunk 2"))
    (keys-press "C-/" (keys-echo "Undid the decision on hunk 1"))
    (keys-progress 0 0 3)
    (should (equal (e2e-read "target") (e2e-text)))
    (keys-command "agent-q-diff-redo")
    (keys-progress 1 0 2)
    (should (equal (e2e-read "target") (e2e-text 5)))
    (keys-press "U" "Taken out; none of the proposal is in the file")
    (keys-progress 0 0 3)
    (should (equal (e2e-read "target") (e2e-text)))
    (e2e-keys "C-c C-c")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5 20 35)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-keys-follow-and-outcome-use-the-other-window ()
  (e2e-with-emacs
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (keys-press "f" "Diff Follow" "^line 5 *$")
    (keys-press "n" "^line 20 *$")
    (e2e-see-cursor-at "^@@ -17,7 ")
    (e2e-keys "f a")
    (keys-progress 1 0 2)
    (keys-press "=" "^ target if you finish now" "^LINE 20 *$")
    ;; The outcome took this window, since the other one shows the file.
    (e2e-keys "q r a q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (e2e-should-be-as-found)))

;;;; Some lines, other lines, merged lines

(ert-deftest e2e-keys-a-and-r-take-the-lines-of-the-region ()
  (e2e-with-emacs
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (e2e-keys "C-n C-n C-n C-n")
    (e2e-see-cursor-at "^-line 5")
    (e2e-keys "C-SPC C-n")
    (keys-press "a" (keys-did "applied") "^\\[APPLIED\\] @@ -2,4 "
                (e2e-header "[1-4]/4" 1 0 3))
    (should (equal (e2e-read "target") (string-replace "line 5\n" "" (e2e-text))))
    (e2e-see-cursor-at "^@@ -6,3 ")
    (e2e-keys "C-n C-SPC C-n")
    (keys-press "r" (keys-did "rejected") "^\\[REJECTED\\] @@ -6,3 ")
    (e2e-keys "C-c C-c")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target")
                   (string-replace "line 5\n" "" (e2e-text 20 35))))
    (e2e-should-be-as-found)))

(ert-deftest e2e-keys-e-edits-what-is-proposed ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (keys-press "e" "C-c C-c uses it, C-c C-k cancels")
    (e2e-see-cursor-at "^LINE 5")
    (e2e-keys "C-k")
    (e2e-type "five")
    (keys-press "C-c C-c" (keys-echo "Hunk edited; it is pending")
                "^\\[PENDING, edited\\] @@ -2,7 " "^\\+five$")
    (e2e-see-cursor-at "^\\[PENDING, edited\\] @@ -2,7 \\|^@@ -2,7 ")
    (e2e-keys "n")
    (keys-press "e" "C-c C-c uses it, C-c C-k cancels")
    (keys-press "C-c C-k" (keys-echo "Hunk left as it is"))
    (e2e-keys "C-c C-c")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target")
                   (string-replace "line 5\n" "five\n" (e2e-text 20 35))))
    (e2e-should-be-as-found)))

(ert-deftest e2e-keys-m-merges-what-does-not-apply ()
  (e2e-with-emacs
    (e2e-eval '(setq agent-q-diff-save 'always))
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (e2e-keys "RET C-x o")
    (e2e-see-cursor-at "^line 5")
    (e2e-type "my ")
    ;; Without a key in the diff buffer.
    (e2e-see "^\\[DOES NOT APPLY\\] @@ -2,7 ")
    (e2e-keys "C-x o")
    (keys-press "m" "ours is the file, theirs the proposal"
                "^<<<<<<< ours\nmy line 5\n||||||| original\nline 5\n=======\nLINE 5\n>>>>>>> theirs$")
    (e2e-keys "C-c ^ l")
    (keys-press "C-c C-c" (keys-echo "Hunk merged and applied")
                "^\\[APPLIED, edited\\] @@ -2,7 " "^-my line 5$")
    (should (equal (e2e-read "target") (e2e-text 5)))
    (keys-press "u" (keys-did "taken out of the file"))
    (should (equal (e2e-read "target")
                   (string-replace "line 5\n" "my line 5\n" (e2e-text))))
    (e2e-keys "a r r q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-should-be-as-found)))

;; Three windows: the diff, the file, and what is merged.
(ert-deftest e2e-keys-a-review-begins-with-room-in-a-small-frame-or-window-and-gives-it-back ()
  (pcase-dolist (`(,lines ,layout ,before ,during)
                 '((24 "" (22) (6 16))
                   (24 "C-x 2" (11 11) (6 16))
                   (24 "C-x 2 C-x 2" (6 5 11) (4 14 4))
                   (24 "C-x 2 C-x o" (11 11) (16 6))
                   (24 "C-x 3" (22 22) (22 22))
                   (39 "" (37) (10 27))
                   (40 "" (38) (19 19))
                   ;; It appears in a window that was made for few lines.
                   (44 "C-x 2 C-x 2" (11 10 21) (11 21 10))))
    (let ((e2e-size (cons 80 lines))
          (heights '(mapcar #'window-total-height
                            (window-list nil 'never (frame-first-window)))))
      (e2e-with-emacs
        (e2e-write "target" (e2e-text))
        (e2e-press (concat "C-x 1 " layout))
        (ert-info ((format "%d lines, %s" lines layout))
          (e2e-wait-for (equal before (e2e-eval heights)))
          (e2e-eval `(ignore (agent-q-diff-review ,(e2e-path "target") ,(e2e-text)
                                                  ,(e2e-text 5 20) "Shout" #'ignore
                                                  :agent "Claude Code")))
          (e2e-see " Claude Code · \\+2 -2 · 2 pending · targ" "▌-line 5\n.*▌\\+")
          (e2e-wait-for (equal during (e2e-eval heights)))
          (e2e-eval '(ignore (agent-q-diff-cancel (car (agent-q-diff-open-reviews)))
                             ;; What is said takes two lines.
                             (message nil)))
          (e2e-wait-for (equal before (e2e-eval heights))))))))

(defconst keys-heights '(mapcar #'window-total-height
                                (window-list nil 'never (frame-first-window)))
  "Form for the heights of the windows, from above.")

(defun keys-review (name)
  "Have an agent propose to change the file NAME."
  (e2e-write name (e2e-text))
  (e2e-eval `(ignore (agent-q-diff-review ,(e2e-path name) ,(e2e-text) ,(e2e-text 5 20)
                                          "Shout" #'ignore :agent "Claude Code"))))

(ert-deftest e2e-keys-C-x-2-in-a-review-resizes-no-other-window ()
  (let ((e2e-size '(100 . 44)))
    (e2e-with-emacs
      (e2e-keys "C-x 1")
      (keys-review "target")
      (e2e-see "▌-line 5$")
      (e2e-wait-for (equal '(21 21) (e2e-eval keys-heights)))
      (e2e-keys "C-x o a C-x 2")
      (e2e-see "1 applied")
      (e2e-wait-for (equal '(21 11 10) (e2e-eval keys-heights)))
      (e2e-keys "C-x 2")
      (e2e-wait-for (equal '(21 6 5 10) (e2e-eval keys-heights))))))

(ert-deftest e2e-keys-two-reviews-in-a-small-window-give-its-room-back ()
  (let ((e2e-size '(100 . 44)))
    (e2e-with-emacs
      (e2e-keys "C-x 1 C-x 2")
      (e2e-eval '(ignore (window-resize nil 17)
                         (set-window-buffer (next-window) (get-buffer-create "*Few*"))))
      (e2e-wait-for (equal '(38 4) (e2e-eval keys-heights)))
      (dolist (name '("target" "other"))
        (keys-review name)
        (e2e-see (concat "^ " name ": hunk 1/2") "▌-line 5$")
        (e2e-wait-for (equal '(21 21) (e2e-eval keys-heights))))
      (dotimes (_ 2)
        (e2e-eval '(ignore (agent-q-diff-cancel (car (last (agent-q-diff-open-reviews))))
                           (message nil))))
      (e2e-wait-for (equal '(38 4) (e2e-eval keys-heights))))))

(defun keys-merge-on-40-lines (layout)
  "Check that a merge is seen whole on 40 lines, with LAYOUT typed before it.
When it is left, each window is as high as it was."
  (let ((e2e-size '(100 . 40))
        (heights '(mapcar (lambda (window)
                            (cons (buffer-name (window-buffer window))
                                  (window-total-height window)))
                          (window-list nil 'never (frame-first-window)))))
    (e2e-with-emacs
      (e2e-propose 'key 'call (e2e-proposal "target"))
      (e2e-keys "RET C-x o")
      (e2e-see-cursor-at "^line 5")
      (e2e-type "my ")
      (e2e-see "^\\[DOES NOT APPLY\\] @@ -2,7 ")
      (e2e-keys "C-x o")
      (e2e-keys layout)
      (e2e-wait-for (equal "*Agent-Q Diff*" (e2e-eval '(buffer-name (window-buffer)))))
      (let ((before (e2e-eval heights)))
        (keys-press "m" "^line 4\n<<<<<<< ours\nmy line 5\n||||||| original\nline 5\n=======\nLINE 5\n>>>>>>> theirs\nline 6\nline 7\nline 8\n"
                    "^\\[DOES NOT APPLY\\] @@ -2,7 "
                    "^line 4\nmy line 5\nline 6\nline 7\n")
        (should (= 3 (length (e2e-eval heights))))
        (keys-press "C-c C-k" (keys-echo "Hunk left as it is"))
        (when (cdr before)
          (should (equal (e2e-eval heights) before))))
      (e2e-keys "C-]")
      (e2e-answer 'call))))

(ert-deftest e2e-keys-m-on-40-lines-below-the-file ()
  (keys-merge-on-40-lines ""))

(ert-deftest e2e-keys-m-on-40-lines-alone ()
  (keys-merge-on-40-lines "C-x 1"))

;;;; SPC

(ert-deftest e2e-keys-SPC-leaves-an-applied-change-in-the-file ()
  (e2e-with-emacs
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (keys-press "SPC" (keys-did "applied") "^\\[APPLIED\\] @@ -2,7 ")
    (e2e-see-cursor-at "@@ -2,7 ")
    (keys-press "SPC" "^\\[PENDING, but in the file\\] @@ -2,7 "
                (keys-did "pending; its change stays in the file, u takes it out"))
    (keys-progress 0 0 3)
    (should (equal (e2e-read "target") (e2e-text 5)))
    (keys-press "SPC" "^\\[APPLIED\\] @@ -2,7 "
                (keys-did "applied; its change was in the file already"))
    (keys-press "SPC" "PENDING, but in the file")
    (e2e-keys "r")
    (e2e-see "^\\[REJECTED, but in the file\\] @@ -2,7 ")
    (e2e-keys "r")
    (keys-press "SPC" "^\\[APPLIED\\] @@ -32,7 ")
    (keys-progress 1 2 0)
    (e2e-keys "p")
    (keys-press "SPC" "^\\[APPLIED\\] @@ -17,7 ")
    (keys-progress 2 1 0)
    (e2e-keys "q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5 20 35)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-keys-SPC-unapplies-if-so-wished ()
  (e2e-with-emacs
    (e2e-eval '(setq agent-q-diff-toggle-unapplies t))
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (keys-press "SPC" "^\\[APPLIED\\] @@ -2,7 ")
    (should (equal (e2e-read "target") (e2e-text 5)))
    (keys-press "SPC" (keys-did "taken out of the file"))
    (keys-progress 0 0 3)
    (e2e-see-gone "\\[[A-Z].*\\] @@")
    (should (equal (e2e-read "target") (e2e-text)))
    (e2e-keys "C-c C-k")
    (should (equal (e2e-answer 'call) '(:ok "rejected")))
    (should (equal (e2e-read "target") (e2e-text)))
    (e2e-should-be-as-found)))

;;;; The file

(defun keys-blocks (&rest changed)
  "Return a text of four identical blocks, of which those in CHANGED are changed."
  (mapconcat (lambda (block)
               (format "block {\n  a = 1;\n  b = 2;\n  c = %d;\n  d = 4;\n  e = 5;\n  f = 6;\n}\n"
                       (if (memq block changed) 33 3)))
             (number-sequence 1 4) ""))

;;;; Several files

(defun keys-files (n)
  "Write N files, and return a call that proposes one hunk in each of them."
  (let ((names (mapcar (lambda (number) (format "f%d" number))
                       (number-sequence 10 (+ 9 n)))))
    (dolist (name names)
      (e2e-write name (e2e-text)))
    `(let ((default-directory ,(file-name-as-directory e2e--folder)))
       (agent-q-diff-review-change-and-wait
        (mapcar (lambda (name)
                  (list :path name :original ,(e2e-text) :modified ,(e2e-text 5)))
                ',names)
        "Shout"))))

(defun keys-visited ()
  "Return which of the files f10, f11 and so on Emacs visits, in that order."
  (e2e-eval '(sort (seq-filter (lambda (name) (string-match-p "\\`f[0-9]+\\'" name))
                               (mapcar #'buffer-name (buffer-list)))
                   #'string<)))

(ert-deftest e2e-keys-files-are-visited-as-they-come-into-view ()
  (e2e-with-emacs
    (e2e-propose 'filter 'files (keys-files 31))
    (e2e-see "^modified   f10")
    (e2e-wait-for (member "f10" (keys-visited)))
    (should-not (member "f30" (keys-visited)))
    (keys-press "M->" "^modified   f40")
    (e2e-wait-for (member "f40" (keys-visited)))
    (should-not (member "f30" (keys-visited)))
    ;; What a visited file tells is shown at once.
    (e2e-eval `(with-current-buffer "f40"
                 (erase-buffer)
                 (insert "other\n")))
    (e2e-see "DOES NOT APPLY")
    (e2e-keys "C-c C-k")
    (should (eq 'rejected (plist-get (cadr (e2e-answer 'files)) :status)))))

(ert-deftest e2e-keys-hunks-below-the-first-screen-come-by-themselves ()
  (dolist (way '(key filter timer))
    (ert-info ((symbol-name way))
      (e2e-with-emacs
        (e2e-propose way 'files (keys-files 80))
        (e2e-wait-for (e2e-eval '(with-current-buffer (window-buffer)
                                   (null agent-q-diff-buffer-rest))))
        (e2e-see "^modified   f10  \\+1 -1 · 1 hunk\n▌@@ -2,7 ")
        (e2e-see-cursor-at "^@@ -2,7 ")
        (keys-press "M->" "^ f89: hunk 1/1 · file 80/80 · " "^modified   f89  \\+1 -1 · 1 hunk\n▌@@ -2,7 ")
        (e2e-keys "C-c C-k")
        (should (eq 'rejected (plist-get (cadr (e2e-answer 'files)) :status)))))))

(ert-deftest e2e-keys-typed-ahead-find-hunks-below-the-first-screen ()
  (e2e-with-emacs
    (e2e-call 'key 'files (keys-files 80))
    (e2e-keys "M->")
    (e2e-see "^ f89: hunk 1/1 · file 80/80 · " "^modified   f89  \\+1 -1 · 1 hunk\n▌@@ -2,7 ")
    (keys-press "a" "^ f[0-9]+: hunk 1/1 · file 1/80 · \\+80 -80 · 1 applied")
    (should (equal (e2e-read "f89") (e2e-text 5)))
    (e2e-press "C-c C-c")
    (e2e-see "not shown (H shows, u takes back)")
    (e2e-keys "C-c C-c")
    (should (eq 'accepted (plist-get (cadr (e2e-answer 'files)) :status)))))

(ert-deftest e2e-keys-a-large-file-is-visited-soon-after-its-review-is-shown ()
  (e2e-with-emacs
    (let ((text (apply #'concat "/* In C. */\n"
                       (make-list 30000 "static int value(void) {\n"))))
      (e2e-write "large.c" text)
      (e2e-propose 'filter 'large
                   `(let* ((path ,(e2e-path "large.c"))
                           (text (with-temp-buffer
                                   (insert-file-contents path)
                                   (buffer-string))))
                      (agent-q-diff-review-and-wait
                       path text (concat "/* Changed. */\n" (substring text 12)) "Say so")))
      (e2e-see "^-/\\* In C" "^\\+/\\* Changed")
      (e2e-wait-for (e2e-eval '(and (get-buffer "large.c") t)))
      ;; The colors of C come with the visit.
      (e2e-wait-for
       (e2e-eval '(with-current-buffer (window-buffer)
                    (save-excursion
                      (goto-char (point-min))
                      (search-forward "static int")
                      (and (memq 'font-lock-type-face
                                 (ensure-list (get-text-property (1- (point)) 'face)))
                           t)))))
      (keys-press "a" (keys-did "applied"))
      (should (string-prefix-p "/* Changed. */\n" (e2e-read "large.c")))
      (keys-press "u" (keys-did "taken out of the file"))
      (e2e-keys "C-c C-k")
      (should (equal "rejected" (plist-get (cadr (e2e-answer 'large)) :decision)))
      (should (string-prefix-p "/* In C. */\n" (e2e-read "large.c"))))))

(ert-deftest e2e-identical-blocks-reject-one-accept-two ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call
                 (e2e-proposal "target" :original (keys-blocks)
                               :modified (keys-blocks 1 3)))
    (e2e-keys "r a q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (keys-blocks 3)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-identical-blocks-reject-an-insertion-accept-two ()
  "The rejected hunk adds as many lines as one block has.
A search from the new line number of the other finds the next block."
  (let ((added (mapconcat (lambda (n) (format "added %d\n" n))
                          (number-sequence 1 8) "")))
    (e2e-with-emacs
      (e2e-propose 'filter 'call
                   (e2e-proposal "target" :original (concat "head\n" (keys-blocks))
                                 :modified (concat "head\n" added (keys-blocks 2))))
      (e2e-see "^@@ -1,4 \\+1,12 @@" "^@@ -10,7 \\+18,7 @@")
      (e2e-keys "r a q")
      (should (equal (e2e-answer 'call) '(:ok "accepted")))
      (should (equal (e2e-read "target") (concat "head\n" (keys-blocks 2))))
      (e2e-should-be-as-found))))

(ert-deftest e2e-unsaved-edits-are-announced-and-kept ()
  (e2e-with-emacs
    (e2e-eval '(setq agent-q-diff-save 'always))
    (let ((proposal (e2e-proposal "target")))
      (e2e-eval `(with-current-buffer (find-file-noselect ,(e2e-path "target"))
                   (goto-char (point-max))
                   (insert "typed\n")))
      (e2e-propose 'filter 'call proposal)
      (e2e-see "^# Note: The file has unsaved edits in target; accepting a hunk saves them, too\\.$")
      (should (equal (e2e-read "target") (e2e-text)))
      (e2e-keys "a r r q")
      (should (equal (e2e-answer 'call) '(:ok "accepted")))
      (should (equal (e2e-read "target") (concat (e2e-text 5) "typed\n")))
      (e2e-should-be-as-found))))

(ert-deftest e2e-unsaved-edits-stay-unsaved-if-all-is-rejected ()
  (e2e-with-emacs
    (let ((proposal (e2e-proposal "target")))
      (e2e-eval `(with-current-buffer (find-file-noselect ,(e2e-path "target"))
                   (goto-char (point-max))
                   (insert "typed\n")))
      (e2e-propose 'filter 'call proposal)
      (e2e-keys "r r r q")
      (should (equal (e2e-answer 'call) '(:ok "rejected")))
      (should (equal (e2e-read "target") (e2e-text)))
      (should (equal (e2e-eval '(with-current-buffer "target"
                                  (list (buffer-modified-p) (buffer-string))))
                     (list t (concat (e2e-text) "typed\n"))))
      (e2e-should-be-as-found))))

(ert-deftest e2e-half-a-word-that-is-typed-stays-out-of-the-file ()
  (e2e-with-emacs
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (e2e-keys "n a RET C-x o")
    (e2e-see-cursor-at "line 35")
    (e2e-keys "M-<")
    (e2e-type "half a wo")
    (e2e-keys "C-x o")
    (e2e-see-cursor-at "^@@ -32")
    (keys-press "a" (keys-did "applied; not saved, since target has unsaved edits"))
    (should (equal (e2e-read "target") (e2e-text 20)))
    (keys-press "r" "^Hunk [123] rejected; nothing is pending, q finishes")
    (e2e-keys "q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (e2e-see "^target: 2 of 3 hunks in the buffer, not saved, Agent-Q told")
    (should (equal (e2e-read "target") (e2e-text 20)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-what-the-user-types-meanwhile-stays ()
  (e2e-with-emacs
    (e2e-eval '(setq agent-q-diff-save 'always))
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (e2e-keys "n a RET C-x o")
    (e2e-see-cursor-at "line 35")
    (e2e-keys "M-<")
    (e2e-type "typed")
    (e2e-keys "RET C-x o")
    (e2e-see-cursor-at "^@@ -32")
    (e2e-keys "a")
    (keys-progress 2 0 1)
    (should (equal (e2e-read "target") (concat "typed\n" (e2e-text 20 35))))
    (e2e-keys "r q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (concat "typed\n" (e2e-text 20 35))))
    (e2e-should-be-as-found)))

(ert-deftest e2e-last-line-without-newline ()
  (e2e-with-emacs
    (e2e-propose 'key 'call
                 (e2e-proposal "target" :original "one\ntwo" :modified "one\nTWO"))
    (e2e-see "^\\\\ No newline at end of file")
    (e2e-keys "a q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") "one\nTWO"))
    (e2e-should-be-as-found)))

;;;; The header

(ert-deftest e2e-description-that-looks-like-a-diff ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call
                 (e2e-proposal "target" :description "Look:
--- a
+++ b
@@ -1 +1 @@
-line 1
+pwned
Progress: 9/9 applied
C-c C-c = accept"))
    (keys-press "M-<" "^# Description: Look:\n# --- a\n# \\+\\+\\+ b\n# @@ -1 \\+1 @@\n# -line 1\n# \\+pwned\n# Progress: 9/9 applied\n# > C-c C-c = accept$")
    (e2e-keys "n")
    (keys-progress 0 0 3)
    (e2e-see-cursor-at "^@@ -2,7 ")
    (keys-press "p" (keys-echo "No previous hunk"))
    (e2e-see-cursor-at "^@@ -2,7 ")
    ;; An error drops what is typed before it is said.
    (keys-press "M-< a" "^ target: 3 hunks · \\+[0-9]+ -[0-9]+ · 3 pending"
                (keys-echo "Point is before the first hunk"))
    (e2e-keys "C-c C-c")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5 20 35)))
    (e2e-should-be-as-found)))

;;;; Keys typed twice

(defun keys-see-twice-ignored (keys)
  "Type KEYS, whose last key is one too many, and see that it is ignored."
  (e2e-keys keys)
  (e2e-see "^Ignored: you have only just returned to the review"))

(ert-deftest e2e-keys-that-returned-to-the-review-do-not-decide ()
  (e2e-with-emacs
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (e2e-eval '(setq agent-q-diff-grace 1000))
    (e2e-keys "e")
    (e2e-see "Agent-Q Hunk 1")
    (keys-see-twice-ignored "C-c C-c C-c C-c")
    (e2e-keys "e")
    (e2e-see "Agent-Q Hunk 1")
    (keys-see-twice-ignored "C-c C-k C-c C-k")
    (e2e-keys "? ?")
    (e2e-see "Reviewing a proposal")
    (e2e-eval '(ignore (select-window (get-buffer-window "*Agent-Q Diff Help*"))))
    (keys-see-twice-ignored "q q")
    (should (equal (e2e-read "target") (e2e-text)))
    (should-not (e2e-answers))))

(ert-deftest e2e-keys-that-ended-a-review-do-not-decide-the-one-below ()
  ;; In a frame of this size both are shown in one window.
  (let ((e2e-size '(80 . 24)))
    (e2e-with-emacs
      (e2e-keys "C-x 1")
      (e2e-wait-for (e2e-eval '(one-window-p)))
      (dolist (name '("one" "two"))
        (e2e-write name (e2e-text))
        (e2e-eval `(ignore (agent-q-diff-review ,(e2e-path name) ,(e2e-text)
                                                ,(e2e-text 5 20) "Shout" #'ignore))))
      (e2e-keys "C-x o")
      (e2e-wait-for (equal "*Agent-Q Diff: two*" (e2e-eval '(buffer-name (window-buffer)))))
      (e2e-keys "j")
      (e2e-wait-for (equal "*Agent-Q Diff: one*" (e2e-eval '(buffer-name (window-buffer)))))
      (e2e-eval '(setq agent-q-diff-grace 1000))
      ;; The first says that the second hunk was not shown, the second ends the review.
      (keys-see-twice-ignored "C-c C-c C-c C-c C-c C-c")
      (should (equal (e2e-read "one") (e2e-text 5 20)))
      (should (equal (e2e-read "two") (e2e-text))))))

;;;; A diff whose files are not certain

(defun keys-review-diff (directory name)
  "Review a diff of the file NAME by keys, in a buffer of DIRECTORY."
  (e2e-write "diff.txt" (format "--- %s\n+++ %s\n@@ -1 +1 @@\n-one\n+two\n" name name))
  (e2e-eval `(ignore (switch-to-buffer "change")
                     (insert-file-contents ,(e2e-path "diff.txt") nil nil nil t)
                     (setq default-directory ,(file-name-as-directory (e2e-path directory)))))
  (e2e-keys "M-x")
  (e2e-see "^M-x")
  (e2e-type "agent-q-diff-review-diff")
  (e2e-keys "RET"))

(ert-deftest e2e-keys-which-file-a-diff-means-is-asked-and-never-guessed ()
  (e2e-with-emacs
    (make-directory (e2e-path "p/a") t)
    (dolist (file '("p/a/x" "p/x"))
      (e2e-write file "one\n"))
    (keys-review-diff "p" "a/x")
    (e2e-see "^The diff fits several files; which one is meant\\? *$")
    ;; Only to choose is an answer.
    (e2e-keys "RET")
    (e2e-see "^The diff fits several files; which one is meant\\? *\\(?:\\[.*\\]\\)? *$")
    (e2e-keys "TAB TAB")
    (e2e-see "/p/a/x$" "/p/x$")
    (e2e-type "x")
    (e2e-keys "RET")
    (e2e-see "\\*Agent-Q Diff: x\\*")
    (e2e-keys "C-c C-c")
    (e2e-wait-for (equal "two\n" (e2e-read "p/x")))
    (should (equal "one\n" (e2e-read "p/a/x")))))

(ert-deftest e2e-keys-the-directory-is-asked-if-no-file-of-a-diff-is-there ()
  (e2e-with-emacs
    (dolist (directory '("p" "p/s" "q"))
      (make-directory (e2e-path directory)))
    (e2e-write "p/s/x" "one\n")
    (keys-review-diff "q" "s/x")
    (e2e-see "^No file of the diff is here; its names are relative to: .*/q/ *$")
    (e2e-keys "C-a C-k")
    (e2e-type (e2e-path "p/"))
    (e2e-keys "RET")
    (e2e-see "\\*Agent-Q Diff: x\\*")
    (e2e-keys "C-c C-c")
    (e2e-wait-for (equal "two\n" (e2e-read "p/s/x")))))

(provide 'keys-test)
;;;; Side by side

(defun keys-side-rows ()
  "Return the rows of the screen in two windows, (LEFT . RIGHT), without bars."
  (cl-loop for line in (split-string (e2e-screen) "\n")
           when (string-match "\\`[▌ ]\\([^|]*?\\) *|[▌ ]\\(.*?\\) *\\'" line)
           collect (cons (match-string 1 line) (match-string 2 line))))

(defun keys-side-p ()
  "Return non-nil if each row of the screen shows old and new of the same line."
  (let ((rows (cddr (keys-side-rows))))
    (and rows
         (seq-every-p (pcase-lambda (`(,old . ,new))
                        (and (not (string-prefix-p "+" old))
                             (not (string-prefix-p "-" new))
                             (or (not (seq-some (lambda (row) (string-match-p "\\`[ @]" row))
                                                (list old new)))
                                 ;; One of the windows is wider, and may show more.
                                 (let ((n (min (length old) (length new))))
                                   (equal (substring old 0 (max 0 (- n 2)))
                                          (substring new 0 (max 0 (- n 2))))))))
                      ;; The mode lines.
                      (seq-remove (lambda (row) (string-search "Agent-Q" (car row))) rows)))))

(ert-deftest e2e-keys-side-by-side-rows-stay-together-however-one-scrolls ()
  (random "side")
  (let* ((e2e-size '(90 . 24))
         (lines (cl-loop for n below 120 collect (format "line %d\n" n)))
         (new (mapcan (lambda (line)
                        (pcase (random 9)
                          (0 nil)
                          (1 (cons line (cl-loop repeat (random 25) collect "new\n")))
                          (2 (list (concat "x " line)))
                          (_ (list line))))
                      (append (seq-take lines 40) (seq-drop lines 75)))))
    (e2e-with-emacs
      (e2e-propose 'key 'call (e2e-proposal "target" :original (apply #'concat lines)
                                            :modified (apply #'concat new)))
      (e2e-see "hunk 1/")
      (e2e-keys "C-x 1 |")
      (e2e-wait-for (keys-side-p))
      (dolist (keys '("C-n C-n C-n" "C-v" "C-v" "C-n C-n" "C-p C-p C-p" "C-x o C-v" "n" "M-v"
                      "C-p C-p C-p C-p" "C-x o C-n" "C-v C-v" "p" "a" "C-l" "C-l" "C-n" ">"
                      "M-v" "C-x o M-v" "C-n C-n C-n C-n" "ESC C-v" "ESC C-v" "> M-v M-v"
                      "C-x o > M-v M-v M-v" "<" "C-v C-n C-n C-n C-n C-n"))
        (e2e-keys keys)
        (ert-info (keys)
          (e2e-wait-for (keys-side-p))))
      (e2e-keys "|")
      (e2e-see-gone "|[▌ ]")
      (e2e-keys "C-]")
      (e2e-answer 'call))))

;;; keys-test.el ends here
