;;; agent-q-diff-mode-test.el --- Keys, words and signs of the diff buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the diff buffer says and shows beyond the documented contract.

;;; Code:

(require 'agent-q-diff-test-help)

(defconst aqd-mode-diff
  (aqd-lines "@@ -4,7 +4,7 @@" " line 4" " line 5" " line 6" "-line 7" "+LINE 7"
             " line 8" " line 9" " line 10")
  "A bare diff of one hunk.")

(ert-deftest aqd-mode-says-offset-and-fuzz-of-a-bare-diff ()
  (pcase-dolist (`(,text . ,said)
                 `((,(aqd-numbered 20) . "Hunk applied")
                   (,(concat "top\n" (aqd-numbered 20)) . "Hunk applied at offset 1")
                   (,(aqd-numbered 20 '((4 . "other")))
                    . "Hunk applied with fuzz 1 at offset 0")
                   (,(concat "top\n" (aqd-numbered 20 '((9 . "x") (10 . "y"))))
                    . "Hunk applied with fuzz 2 at offset 1")))
    (aqd-with-file text
      (aqd-with-diff aqd-mode-diff
        (aqd-goto-hunk 1)
        (should (equal said (aqd-said (agent-q-diff-accept-hunk))))
        (should (equal (aqd-disk) (string-replace "line 7\n" "LINE 7\n" text)))))))

(ert-deftest aqd-mode-says-why-a-hunk-does-not-apply ()
  (pcase-dolist (`(,text . ,said)
                 `((,(aqd-numbered 20 '((7 . "other")))
                    . "\\`Failed to apply hunk: its lines are not in the target")
                   ;; The stated line alone does not decide, at it or elsewhere.
                   (,(concat (aqd-numbered 20) (aqd-numbered 3) (aqd-numbered 20)
                             (aqd-lines "x"))
                    . "\\`Place 1 of 2: line 7 of target.txt.")
                   (,(concat "top\n" (aqd-numbered 20) (aqd-numbered 20))
                    . "\\`Place 1 of 2: line 8 of target.txt.")))
    (aqd-with-file text
      (aqd-with-diff aqd-mode-diff
        (aqd-goto-hunk 1)
        (should (string-match-p said (aqd-said (agent-q-diff-accept-hunk))))
        (should (equal (aqd-disk) text))))))

(ert-deftest aqd-mode-tells-each-command-apart ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff aqd-mode-diff
      (aqd-goto-hunk 1)
      (should (equal "Hunk applied" (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal "Hunk applied already" (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal "Hunk pending; its change stays in the file, u takes it out"
                     (aqd-said (agent-q-diff-toggle-hunk))))
      (should (equal "Hunk applied; its change was in the file already"
                     (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal "Hunk rejected; its change stays in the file, u takes it out"
                     (aqd-said (agent-q-diff-reject-hunk))))
      (should (equal "Hunk taken out of the file"
                     (aqd-said (agent-q-diff-unapply-hunk))))
      (should (equal "Hunk 1 is not in the file"
                     (aqd-said (agent-q-diff-unapply-hunk))))
      (should (equal "Hunk rejected" (aqd-said (agent-q-diff-reject-hunk))))
      (should (equal "Hunk rejected already" (aqd-said (agent-q-diff-reject-hunk)))))))

(ert-deftest aqd-mode-movement-stops-at-both-ends ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff (concat "Some prose.\n\n" aqd-mode-diff)
      (should (equal "Hunk pending (1 of 1)" (aqd-said (agent-q-diff-next-hunk))))
      (should (equal "No next hunk" (aqd-said (agent-q-diff-next-hunk))))
      (should (equal "No previous hunk" (aqd-said (agent-q-diff-previous-hunk))))
      (goto-char (point-max))
      (should (equal 0 (agent-q-diff-buffer-hunk-at-point))))))

(ert-deftest aqd-mode-commands-in-front-of-the-first-hunk-say-so ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff (concat "Some prose.\n\n" aqd-mode-diff)
      (dolist (command '(agent-q-diff-accept-hunk agent-q-diff-reject-hunk
                         agent-q-diff-toggle-hunk agent-q-diff-unapply-hunk))
        (should-error (funcall command) :type 'user-error)))))

(defconst aqd-mode-near
  (cons (aqd-numbered 30)
        (aqd-numbered 30 '((5 . "five") (8 . "eight") (25 . "x"))))
  "A proposal of two hunks, the first of which has two changes.")

(ert-deftest aqd-mode-split-makes-hunks-of-their-own ()
  (aqd-with-file (car aqd-mode-near)
    (aqd-call (car aqd-mode-near) (cdr aqd-mode-near)
              (lambda ()
                (aqd-goto-hunk 2)
                (agent-q-diff-reject-hunk)
                (aqd-goto-hunk 1)
                (should (equal "Split into 2 hunks" (aqd-said (aqd-press "s"))))
                (should (equal 0 (agent-q-diff-buffer-hunk-at-point)))
                (should (equal 3 (sly-agent-q-diff--count-hunks)))
                (should (equal (aqd-progress) "0/3 applied, 1 rejected, 2 pending"))
                (should (equal (aqd-signs) '((3 . "[REJECTED]"))))
                (aqd-press "n a")
                (should (equal (aqd-signs) '((2 . "[APPLIED]") (3 . "[REJECTED]"))))
                (should (equal (aqd-numbered 30 '((8 . "eight")))
                               (decode-coding-string (aqd-disk) 'utf-8)))
                (should (eq 'applied (alist-get (aqd-goto-hunk 2)
                                                sly-agent-q-diff--hunk-states)))
                (should (eq 'rejected (alist-get (aqd-goto-hunk 3)
                                                 sly-agent-q-diff--hunk-states)))
                (agent-q-diff-finish)))))

(ert-deftest aqd-mode-split-diff-is-still-one-for-patch ()
  (aqd-with-file (car aqd-mode-near)
    (aqd-call (car aqd-mode-near) (cdr aqd-mode-near)
              (lambda ()
                (aqd-goto-hunk 1)
                (agent-q-diff-split-hunk)
                (should (eq 0 (call-process-region
                               (progn (goto-char (point-min))
                                      (re-search-forward "^---")
                                      (line-beginning-position))
                               (point-max) "patch" nil nil nil "-s" aqd-file)))
                (agent-q-diff-reject-all)))
    (should (equal (aqd-disk) (cdr aqd-mode-near)))))

(ert-deftest aqd-mode-split-of-what-is-applied-and-unapply-one ()
  (aqd-with-file (car aqd-mode-near)
    (should (equal "accepted" (aqd-review (car aqd-mode-near) (cdr aqd-mode-near)
                                          "a p s u q")))
    (should (equal (aqd-disk) (aqd-numbered 30 '((8 . "eight")))))))

(ert-deftest aqd-mode-split-in-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (aqd-lines "@@ -1,5 +1,5 @@" " line 1" "-line 2" "+two"
                              " line 3" "-line 4" "+four" " line 5")
      (aqd-goto-hunk 1)
      (agent-q-diff-split-hunk)
      (should (equal (buffer-string)
                     (aqd-lines "@@ -1,3 +1,3 @@" " line 1" "-line 2" "+two" " line 3"
                                "@@ -4,2 +4,2 @@" "-line 4" "+four" " line 5")))
      (aqd-goto-hunk 2)
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-numbered 10 '((4 . "four"))))))))

(ert-deftest aqd-mode-split-parts-what-one-change-removes-and-adds ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff aqd-mode-diff
      (aqd-goto-hunk 1)
      (should (equal "Split into 2 hunks" (aqd-said (agent-q-diff-split-hunk))))
      (should (equal (buffer-string)
                     (aqd-lines "@@ -4,4 +4,3 @@" " line 4" " line 5"
                                " line 6" "-line 7" "@@ -8,3 +7,4 @@"
                                "+LINE 7" " line 8" " line 9" " line 10")))
      (agent-q-diff-accept-hunk)
      (should (equal (aqd-disk) (aqd-numbered 20 '((7)))))
      (should (equal "This hunk cannot be split; select lines to decide only those"
                     (aqd-said (agent-q-diff-split-hunk)))))))

(ert-deftest aqd-mode-conflicts-are-said-and-found ()
  (let ((original (aqd-numbered 60))
        (modified (aqd-numbered 60 '((5 . "a") (20 . "b") (35 . "c") (50 . "d")))))
    (aqd-with-file (aqd-numbered 60 '((20 . "mine") (50 . "mine")))
      (aqd-call original modified
                (lambda ()
                  (should (string-search "of 4 hunks 2 do not apply" (buffer-string)))
                  (should (string-match-p "4 pending · 2 conflicts  " header-line-format))
                  (should (string-match-p "\\`Hunk pending (2 of 4); its lines"
                                          (aqd-said (aqd-press "N"))))
                  (should (string-match-p "(4 of 4)" (aqd-said (aqd-press "N"))))
                  (should (equal "No further hunk fails to apply"
                                 (aqd-said (aqd-press "N"))))
                  (should (string-match-p "(2 of 4)" (aqd-said (aqd-press "P"))))
                  (agent-q-diff-reject-all))))))

(ert-deftest aqd-mode-header-line-counts-conflicts ()
  (let ((edit (lambda (from to)
                (aqd-in-target (search-forward from)
                               (replace-match to)
                               (save-buffer))
                (agent-q-diff-signs-change-with-target)))
        (counts (lambda () (and (string-match "pending\\(.*\\)  " header-line-format)
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

(ert-deftest aqd-mode-help-lists-every-key ()
  (aqd-with-file "a\n"
    (aqd-call "a\n" "b\n"
              (lambda ()
                (agent-q-diff-help)
                (let ((help (with-current-buffer "*Agent-Q Diff Help*"
                              (buffer-string))))
                  (dolist (key '("n" "p" "N" "P" "RET" "a" "r" "SPC" "u" "s" "C-c C-c" "C-c C-k"
                                 "q" "?"))
                    (should (let ((case-fold-search nil))
                              (string-match-p (format "^%s +[a-z]" (regexp-quote key))
                                              help)))))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-mode-header-line-shows-the-progress ()
  (aqd-with-file "a\n"
    (aqd-call "a\n" "b\n"
              (lambda ()
                (should (string-match-p "0 applied · 0 rejected · 1 pending"
                                        header-line-format))
                (should (string-prefix-p " hunk 1/1 · " header-line-format))
                (should (string-suffix-p "  target.txt" header-line-format))
                (goto-char (point-min))
                (run-hooks 'post-command-hook)
                (should (string-prefix-p " 1 hunk · " header-line-format))
                (aqd-goto-hunk 1)
                (agent-q-diff-reject-hunk)
                (should (string-match-p "0 applied · 1 rejected · 0 pending  "
                                        header-line-format))
                (should (string-match-p "The agent reads that"
                                        (aqd-said (agent-q-diff-comment "Why?"))))
                (should (string-match-p "0 pending · commented  " header-line-format))
                (should (string-match-p "No comment" (aqd-said (agent-q-diff-comment " "))))
                (should (string-match-p "0 pending  " header-line-format))
                (agent-q-diff-finish)))))

(ert-deftest aqd-mode-faces-inherit-and-name-no-colors ()
  (dolist (face '(agent-q-diff-applied agent-q-diff-rejected agent-q-diff-differs
                  agent-q-diff-decided agent-q-diff-decided-header
                  agent-q-diff-header agent-q-diff-progress
                  agent-q-diff-warning))
    (should (facep face))
    (let ((attributes (cdar (face-default-spec face))))
      (should (plist-get attributes :inherit))
      (should-not (plist-get attributes :foreground))
      (should-not (plist-get attributes :background)))))

;; Their order is that in which Emacs merges them.
(defun aqd-mode-header-faces ()
  "Return for each hunk the faces of the overlays on its `@@' line."
  (mapcar (lambda (position)
            (delq nil (mapcar (lambda (overlay) (overlay-get overlay 'face))
                              (overlays-at position t))))
          agent-q-diff-buffer-positions))

(ert-deftest aqd-mode-header-of-a-decided-hunk-has-its-face-and-no-other-has ()
  (let ((decided '(agent-q-diff-decided-header agent-q-diff-decided)))
    (aqd-with-shown-review (aqd-numbered 30)
                           (aqd-numbered 30 '((5 . "five") (6 . "six") (7) (25 . "x")))
      (should (equal (aqd-mode-header-faces) '(nil nil)))
      (aqd-press "a")
      (should (equal (aqd-mode-header-faces) (list decided nil)))
      (aqd-press "p s")
      (should (equal (delete-dups (butlast (aqd-mode-header-faces))) (list decided)))
      (should (equal (last (aqd-mode-header-faces)) '(nil)))
      (aqd-press "u")
      (should-not (car (aqd-mode-header-faces)))
      (agent-q-diff-unapply-all)
      (should (equal (delete-dups (aqd-mode-header-faces)) '(nil)))
      (should-not (seq-some (lambda (overlay) (overlay-get overlay 'agent-q-diff-header))
                            (overlays-in (point-min) (point-max)))))))

(ert-deftest aqd-mode-takes-nothing-from-a-directorys-local-variables ()
  (aqd-with-file "a\n"
    (write-region "((nil . ((fill-column . 7))))" nil
                  (expand-file-name ".dir-locals.el" (file-name-directory aqd-file))
                  nil 'silent)
    (aqd-call "a\n" "b\n"
              (lambda ()
                (should-not (equal 7 fill-column))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-mode-opens-no-process-and-no-file-for-its-colors ()
  (aqd-with-diff aqd-mode-diff
    (should-not diff-refine)
    (should-not diff-font-lock-syntax)))

(provide 'agent-q-diff-mode-test)
;;; agent-q-diff-mode-test.el ends here
