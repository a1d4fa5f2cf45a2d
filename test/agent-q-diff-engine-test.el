;;; agent-q-diff-engine-test.el --- The way to the engine and back  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What crosses the boundary to the engine and back, how often a command
;; does, and that nothing in the engine can end Emacs.

;;; Code:

(require 'agent-q-diff-test-help)

;;;; The boundary

(defun aqd-engine-round-trip (original modified)
  "Return the target after all hunks from ORIGINAL to MODIFIED are applied.
The edits are made in a temporary buffer."
  (let ((review (agent-q-diff-engine-review original modified)))
    (unwind-protect
        (with-temp-buffer
          (insert original)
          (pcase-dolist (`(,line ,n-removed ,text)
                         (agent-q-diff-engine-part-edits
                          (car (agent-q-diff-engine-planned-parts
                                (agent-q-diff-engine-plan-all review 'accept)))))
            (goto-char (point-min))
            (forward-line line)
            (let ((start (point)))
              (forward-line n-removed)
              (delete-region start (point))
              (insert text)))
          (buffer-string))
      (agent-q-diff-module-free review))))

(ert-deftest aqd-engine-texts-cross-exactly ()
  (let ((raw (decode-coding-string "\xff\x80\xe9" 'utf-8)))
    (pcase-dolist (`(,original . ,modified)
                   `(("a\n" . "b\n") ("" . "a") ("a" . "") ("ä€𝄞\n" . "𝄞€ä\n")
                     ("\0\n" . "\0\0\n") (,raw . ,(concat raw "\n" raw))
                     ("x\r\ny" . "x\ny") ("\x3fff80\n" . "\\n\\t\n")
                     (,(string #x110000 ?\n) . ,(string #x110000 #x3fff7f ?\n))))
      (should (equal modified (aqd-engine-round-trip original modified))))))

(ert-deftest aqd-engine-unibyte-strings-are-taken-as-bytes ()
  (let* ((review (agent-q-diff-engine-review (unibyte-string 233 10)
                                             (unibyte-string 233 10 98 10)))
         (diff (car (agent-q-diff-engine-print review "/f"))))
    (agent-q-diff-module-free review)
    (should (string-suffix-p (concat " " (string (decode-char 'eight-bit 233))
                                     "\n+b\n")
                             diff))))

(ert-deftest aqd-engine-errors-have-their-own-symbols ()
  (pcase-dolist (`(,symbol . ,function)
                 '((agent-q-diff-identical
                    . (lambda () (agent-q-diff-engine-review "a" "a")))
                   (agent-q-diff-malformed
                    . (lambda () (agent-q-diff-engine-review-diff "no diff")))
                   (agent-q-diff-several-files
                    . (lambda ()
                        (agent-q-diff-engine-review-diff
                         (concat "--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n"
                                 "--- b\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"))))
                   (agent-q-diff-no-hunk
                    . (lambda ()
                        (agent-q-diff-engine-plan
                         (agent-q-diff-engine-review "a" "b") 'accept 1)))
                   (agent-q-diff-not-in
                    . (lambda ()
                        (agent-q-diff-engine-plan
                         (agent-q-diff-engine-review "a" "b") 'unapply 0)))
                   (agent-q-diff-ended
                    . (lambda ()
                        (let ((review (agent-q-diff-engine-review "a" "b")))
                          (agent-q-diff-module-free review)
                          (agent-q-diff-module-counts review))))))
    (let ((err (should-error (funcall function))))
      (should (eq symbol (car err)))
      (should (memq 'agent-q-diff-error (get (car err) 'error-conditions)))
      (should (stringp (cadr err))))))

(ert-deftest aqd-engine-a-wrong-object-is-an-error ()
  (should-error (agent-q-diff-module-counts nil))
  (should-error (agent-q-diff-module-counts "x"))
  (should-error (agent-q-diff-engine-plan (agent-q-diff-engine-review "a" "b")
                                          'sing 0))
  (should-error (agent-q-diff-module-hunk (agent-q-diff-engine-review "a" "b") 7)))

;;;; Crossings

(defun aqd-engine-crossings (function)
  "Call FUNCTION and return the functions of the module that it called, in order."
  (let (called advised)
    (mapatoms (lambda (symbol)
                (when (and (fboundp symbol)
                           (string-prefix-p "agent-q-diff-module-" (symbol-name symbol)))
                  (let ((advice (lambda (&rest _) (push symbol called))))
                    (advice-add symbol :before advice)
                    (push (cons symbol advice) advised)))))
    (unwind-protect (funcall function)
      (pcase-dolist (`(,symbol . ,advice) advised)
        (advice-remove symbol advice)))
    (nreverse called)))

(ert-deftest aqd-engine-a-command-crosses-twice ()
  "A plan, and a commit that returns what there is to show."
  (aqd-with-file (aqd-numbered 60)
    (let ((review (agent-q-diff-review aqd-file (aqd-numbered 60)
                                       (aqd-numbered 60 '((5 . "a") (20 . "b")
                                                          (35 . "c") (50 . "d")))
                                       "d" #'ignore)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (switch-to-buffer (current-buffer))
        (pcase-dolist (`(,key . ,line) '(("a" . "1/4 applied, 0 rejected, 3 pending")
                                         ("r" . "1/4 applied, 1 rejected, 2 pending")
                                         ("SPC" . "2/4 applied, 1 rejected, 1 pending")))
          (should (equal '(agent-q-diff-module-plan agent-q-diff-module-commit)
                         (aqd-engine-crossings (lambda () (aqd-press key)))))
          (should (equal line (aqd-progress))))
        (aqd-goto-hunk 1)
        (should (equal '(agent-q-diff-module-plan agent-q-diff-module-commit)
                       (aqd-engine-crossings (lambda () (aqd-press "u")))))
        (should (equal '(agent-q-diff-module-plan-back agent-q-diff-module-commit)
                       (aqd-engine-crossings (lambda () (aqd-press "C-_")))))
        (aqd-press "u")
        ;; This one ends the review: its result, and what its buffer has left, take one more each.
        (should (equal '(agent-q-diff-module-plan-all agent-q-diff-module-commit
                         agent-q-diff-module-shown-lines agent-q-diff-module-report)
                       (aqd-engine-crossings (lambda () (aqd-press "C-c C-c")))))
        (should (equal 3 (plist-get (agent-q-diff-session-result review) :in-file)))))))

;;;; Indices

(declare-function agent-q-diff-module-edit-outside "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-follow "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-hunk-with-id "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-join-decisions "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-pick "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-print-hunks "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-recognize "ext:agent-q-diff-module")

(defconst aqd-engine-hunk-functions
  '((agent-q-diff-module-show-context review hunk 2 most-negative-fixnum)
    (agent-q-diff-module-split-white-space review hunk)
    (agent-q-diff-module-without-white-space review hunk)
    
    (agent-q-diff-module-set-mark      review hunk 'rejected)
    (agent-q-diff-module-next-pending  review hunk)
    (agent-q-diff-module-proposed      review hunk nil)
    (agent-q-diff-module-proposed      review hunk t)
    (agent-q-diff-module-shown-lines   review hunk (1+ hunk))
    (agent-q-diff-module-changed-words review hunk)
    (agent-q-diff-module-side-rows review hunk)
    (agent-q-diff-module-pick-rows review hunk 0 1 0 1)
    (agent-q-diff-module-live-lines    review hunk)
    (agent-q-diff-module-merge         review hunk)
    (agent-q-diff-module-plan          review 'accept hunk nil)
    (agent-q-diff-module-plan          review 'accept hunk t)
    (agent-q-diff-module-candidates    review hunk)
    (agent-q-diff-module-plan-text     review hunk "x\n" nil)
    (agent-q-diff-module-plan-text     review hunk "x\n" t)
    (agent-q-diff-module-print-hunks   review hunk (1+ hunk) nil nil)
    (agent-q-diff-module-print-hunks   review hunk (1+ hunk) nil t)
    (agent-q-diff-module-fail          review hunk)
    (agent-q-diff-module-pick          review hunk 0 1)
    (agent-q-diff-module-hunk-lines    review hunk)
    (agent-q-diff-module-hunk          review hunk)
    (agent-q-diff-module-split         review hunk))
  "Calls of all functions of the module that take the index of a hunk.")

(defconst aqd-engine-other-functions
  '(agent-q-diff-module-n-reviews agent-q-diff-module-version
    agent-q-diff-module-join agent-q-diff-module-first-hunks agent-q-diff-module-observe
    agent-q-diff-module-describe agent-q-diff-module-codex-files
    agent-q-diff-module-codex-updated
    agent-q-diff-module-adopt agent-q-diff-module-blobs agent-q-diff-module-hash
    agent-q-diff-module-review agent-q-diff-module-is-coarse
    agent-q-diff-module-undo-split agent-q-diff-module-redo-split
    agent-q-diff-module-review-diff agent-q-diff-module-files
    agent-q-diff-module-free agent-q-diff-module-print
    agent-q-diff-module-header-lines agent-q-diff-module-is-idle
    agent-q-diff-module-file-has-original
    agent-q-diff-module-follow agent-q-diff-module-follow-undo
    agent-q-diff-module-recognize
    agent-q-diff-module-edit-outside agent-q-diff-module-marks
    agent-q-diff-module-counts agent-q-diff-module-tally
    agent-q-diff-module-standing agent-q-diff-module-report
    agent-q-diff-module-hunk-with-id agent-q-diff-module-blank-hunks
    agent-q-diff-module-suspects agent-q-diff-module-n-suspects
    agent-q-diff-module-plan-all agent-q-diff-module-merge-texts
    agent-q-diff-module-begin-written agent-q-diff-module-prepare
    agent-q-diff-module-pending agent-q-diff-module-moved
    agent-q-diff-module-mark-reviewed
    agent-q-diff-module-record
    agent-q-diff-module-stage agent-q-diff-module-fresh
    agent-q-diff-module-taken-out agent-q-diff-module-changed-lines
    agent-q-diff-module-begin-turn agent-q-diff-module-end-turns
    agent-q-diff-module-at-work agent-q-diff-module-note-heard
    agent-q-diff-module-answer-comment agent-q-diff-module-comment
    agent-q-diff-module-comments agent-q-diff-module-edit-comment
    agent-q-diff-module-messages agent-q-diff-module-news
    agent-q-diff-module-pending-since-turn agent-q-diff-module-queue-message
    agent-q-diff-module-rejected agent-q-diff-module-set-comment
    agent-q-diff-module-told agent-q-diff-module-turns
    agent-q-diff-module-finish-round agent-q-diff-module-note-hunks agent-q-diff-module-noted-hunks agent-q-diff-module-pending-since
    agent-q-diff-module-note-staged agent-q-diff-module-keep-staged
    agent-q-diff-module-check-pending-after agent-q-diff-module-let-pass
    agent-q-diff-module-passing
    agent-q-diff-module-check-decidable agent-q-diff-module-know agent-q-diff-module-safe-environment
    agent-q-diff-module-new-project agent-q-diff-module-begin-project
    agent-q-diff-module-plan-back agent-q-diff-module-n-decisions
    agent-q-diff-module-join-decisions agent-q-diff-module-commit
    agent-q-diff-module-reject-all agent-q-diff-module-decision
    agent-q-diff-module-replace
    agent-q-diff-module-typed-lines agent-q-diff-module-groups
    agent-q-diff-module-line-counts agent-q-diff-module-drawn
    agent-q-diff-module-hunk-key agent-q-diff-module-find-keys
    agent-q-diff-module-events agent-q-diff-module-record-event
    agent-q-diff-module-recorded-root agent-q-diff-module-watch
    agent-q-diff-module-text-bytes agent-q-diff-module-texts-without-syntax
    agent-q-diff-module-set-language)
  "All other functions of the module.")

(defun aqd-engine-three-hunks ()
  "Return a review of three hunks that knows its target."
  (let* ((lines (number-sequence 1 40))
         (text (lambda (changed)
                 (mapconcat (lambda (line)
                              (format (if (memq line changed) "new %d\n" "%d\n") line))
                            lines "")))
         (review (agent-q-diff-engine-review (funcall text nil)
                                             (funcall text '(5 20 35)))))
    (agent-q-diff-module-follow review (funcall text nil))
    review))

(ert-deftest aqd-engine-no-function-takes-a-hunk-that-is-not-there ()
  (let ((n 3))
    (dolist (call aqd-engine-hunk-functions)
      (dolist (hunk (list 0 1 2 n (1+ n) #x7fffffff #xffffffff most-positive-fixnum
                          (ash 1 62) (- (ash 1 63) 2) -1 most-negative-fixnum))
        (ert-info ((format "%S for hunk %d" call hunk))
          (let* ((review (aqd-engine-three-hunks))
                 (err (condition-case err
                          (progn (eval call `((review . ,review) (hunk . ,hunk)))
                                 nil)
                        (error err))))
            (if (< -1 hunk n)
                (should-not err)
              ;; What is below 0 the module does not take for an index at all.
              (should (eq (if (< hunk 0) 'rust-integer-out-of-range 'agent-q-diff-no-hunk)
                          (car err)))
              (should (equal '(3 0 0 0) (agent-q-diff-module-counts review))))
            (agent-q-diff-module-free review)))))))

(ert-deftest aqd-engine-no-range-is-too-wide-for-a-function ()
  (pcase-dolist (`(,from ,to) '((0 0) (0 3) (1 0) (0 99) (2 1) (99 99)
                                (0 #x7fffffffffffffff) (#x7fffffffffffffff 0)))
    (ert-info ((format "%d to %d" from to))
      (let ((review (aqd-engine-three-hunks)))
        (should-error (agent-q-diff-module-pick review 0 from to)
                      :type 'agent-q-diff-no-hunk)
        (should-error (agent-q-diff-module-pick-rows review 0 from to to from)
                      :type 'agent-q-diff-no-hunk)
        (dolist (file (list 0 1 from to))
          (should (listp (agent-q-diff-module-drawn review file from to))))
        (if (<= from to 3)
            (agent-q-diff-module-print-hunks review from to nil nil)
          (should-error (agent-q-diff-module-print-hunks review from to nil nil)
                        :type 'agent-q-diff-no-hunk))
        ;; Numbers that cannot be are no news, and no panic.
        (should-not (agent-q-diff-module-edit-outside review from to 7 "x\n" nil))
        (should (eq 'follow (agent-q-diff-module-recognize review to)))
        (should-not (agent-q-diff-module-hunk-with-id review (max 3 to)))
        (agent-q-diff-module-join-decisions review to)
        (agent-q-diff-module-free review)))))

(ert-deftest aqd-engine-raw-bytes-are-passed-in-lists-of-any-length ()
  (let ((bytes "\x80\n")
        (long (make-list 10000 (cons "a" "b"))))
    (should (equal (list (vector (cons "\200\n" 'x)) long nil)
                   (agent-q-diff-engine-encoded
                    (list (vector (cons (string-to-multibyte bytes) 'x)) long nil))))))

(ert-deftest aqd-engine-each-function-of-the-module-is-tried-with-its-indices ()
  (let (functions)
    (agent-q-diff-module-free (aqd-engine-three-hunks))
    (mapatoms (lambda (symbol)
                (when (and (fboundp symbol)
                           (string-prefix-p "agent-q-diff-module-" (symbol-name symbol)))
                  (push symbol functions))))
    (should-not (seq-difference functions
                                (append (mapcar #'car aqd-engine-hunk-functions)
                                        aqd-engine-other-functions
                                        '(agent-q-diff-module-panic))))))

(ert-deftest aqd-engine-a-panic-is-a-lisp-error-with-its-text ()
  (let ((module (getenv "AGENT_Q_DIFF_PANIC_MODULE")))
    (skip-unless module)
    (should (string-match-p
             "agent-q-diff-panic .*a deliberate panic.* and Emacs lives"
             (string-replace
              "\n" " "
              (aqd-in-fresh-emacs
               `(progn
                  (module-load ,module)
                  (format "%S and Emacs lives"
                          (condition-case err
                              (funcall 'agent-q-diff-module-panic
                                       "a deliberate panic")
                            (error err))))))))))

(provide 'agent-q-diff-engine-test)
;;; agent-q-diff-engine-test.el ends here
