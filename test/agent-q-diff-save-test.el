;;; agent-q-diff-save-test.el --- Saving the target  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What is saved and when, what saving leaves alone, and what hooks can do
;; to it.

;;; Code:

(require 'agent-q-diff-project-help)

;;;; Hooks

(ert-deftest aqd-save-a-hook-that-edits-after-saving-undoes-nothing ()
  (aqd-with-file aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (add-hook 'after-save-hook
                (lambda () (save-excursion (goto-char (point-max)) (insert "hook\n")))
                nil t))
    (let ((result (aqd-result aqd-twenty-original aqd-twenty-with-first "a q")))
      (should (equal (aqd-disk) aqd-twenty-with-first))
      (should (equal "accepted" (plist-get result :decision)))
      (should (plist-get result :altered))
      (should-not (plist-get result :saved)))))

(defun aqd-save-formatting (hook function)
  "Add FUNCTION to HOOK in the buffer of the test's file."
  (with-current-buffer (aqd-visit)
    (add-hook hook (lambda () (save-excursion (goto-char (point-min)) (funcall function) nil))
              nil t)))

(defun aqd-save-shout ()
  "Do as a formatter that wants \"FIVE;\" in place of \"five\"."
  (while (re-search-forward "five$" nil t)
    (replace-match "FIVE;" t)))

(ert-deftest aqd-save-a-hunk-that-a-hook-changes-is-in-as-the-hook-changed-it ()
  (dolist (hook '(before-save-hook after-save-hook write-contents-functions))
    (ert-info ((symbol-name hook))
      (aqd-with-file aqd-original-of-two
        (aqd-save-formatting hook #'aqd-save-shout)
        (let ((review (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two
                                           "Why." #'ignore)))
          (aqd-in-diff review
            (dolist (hunk '(1 2))
              (aqd-goto-hunk hunk)
              (agent-q-diff-accept-hunk))
            (agent-q-diff-signs-follow)
            (should (equal '((1 . "[APPLIED, as changed by your hook]") (2 . "[APPLIED]"))
                           (aqd-signs)))
            (agent-q-diff-finish))
          (let* ((result (agent-q-diff-session-result review))
                 (message (plist-get result :message)))
            (should (eq 'accepted (plist-get result :status)))
            (should (= 2 (plist-get result :in-file)))
            (should-not (plist-get result :altered))
            (should (string-prefix-p "✓ Accepted: both hunks are in " message))
            (should (string-search "On saving, a hook of the user's changed lines of hunk 1."
                                   message))
            (should (string-search "\n     5\tFIVE;\n" message))
            (should-not (string-search "other lines" message))
            (should-not (string-search "since" message))))))))

(ert-deftest aqd-save-of-many-hunks-each-that-a-hook-changes-is-in ()
  (let* ((original (apply #'concat (make-list 120 "5\nx\nx\nx\nx\nx\nx\nx\n")))
         (modified (string-replace "5" "five" original)))
    (aqd-with-file original
      (aqd-save-formatting 'before-save-hook #'aqd-save-shout)
      (let ((result (aqd-result original modified "C-c C-c")))
        (should (equal (string-replace "5" "FIVE;" original) (aqd-disk)))
        (should (equal '(120 120) (list (plist-get result :total) (plist-get result :in-file))))
        (should-not (plist-get result :altered))
        (should (string-prefix-p "✓ Accepted: all 120 hunks are in "
                                 (plist-get result :message)))))))

(ert-deftest aqd-save-a-hunk-that-a-hook-takes-out-is-not-in-the-file ()
  (pcase-dolist (`(,modified . ,restore)
                 `(("a\nNEW\nb\nc\n" . ,(lambda () (flush-lines "^NEW")))
                   ("x\nb\nc\n" . ,(lambda ()
                                     (when (looking-at "x")
                                       (replace-match "a"))))
                   ("a\nc\n" . ,(lambda ()
                                  (forward-line 1)
                                  (unless (looking-at "b")
                                    (insert "b\n"))))))
    (ert-info (modified)
      (aqd-with-file "a\nb\nc\n"
        (aqd-save-formatting 'before-save-hook restore)
        (let ((review (agent-q-diff-review aqd-file "a\nb\nc\n" modified "Why." #'ignore)))
          (aqd-in-diff review
            (agent-q-diff-accept-hunk)
            (agent-q-diff-signs-follow)
            (should (equal '((1 . "[APPLIED, but not in the file]")) (aqd-signs)))
            (agent-q-diff-finish))
          (should (equal "a\nb\nc\n" (aqd-disk)))
          (let* ((result (agent-q-diff-session-result review))
                 (message (plist-get result :message)))
            (should (= 0 (plist-get result :in-file)))
            (should (string-prefix-p "✓ Accepted, but none of it is in " message))
            (should (string-search "On saving, a hook of the user's took hunk 1 out again."
                                   message))))))))

(ert-deftest aqd-save-a-hunk-that-a-hook-changed-is-taken-out-whole-or-not-at-all ()
  (aqd-with-file aqd-original-of-two
    (aqd-save-formatting 'before-save-hook #'aqd-save-shout)
    (aqd-in-diff (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two
                                      "Why." #'ignore)
      (agent-q-diff-accept-hunk)
      (let ((before (aqd-disk)))
        (should (string-search "FIVE;" before))
        (aqd-goto-hunk 1)
        (should (string-match-p "Failed to take the hunk out: its lines have been changed since"
                                (aqd-said (agent-q-diff-unapply-hunk))))
        (should (equal before (aqd-disk))))
      (agent-q-diff-signs-follow)
      (should (equal "[APPLIED, as changed by your hook]" (cdar (aqd-signs))))
      (agent-q-diff-finish))))

(ert-deftest aqd-save-a-hook-that-changes-other-lines-too-is-said-so ()
  (aqd-with-file aqd-original-of-two
    (aqd-save-formatting 'before-save-hook
                         (lambda ()
                           (aqd-save-shout)
                           (goto-char (point-max))
                           (unless (looking-back "end\n" 5)
                             (insert "end\n"))))
    (let* ((result (aqd-result aqd-original-of-two aqd-modified-of-two "a a q"))
           (message (plist-get result :message)))
      (should (plist-get result :altered))
      (should (string-search "changed lines of hunk 1." message))
      (should (string-search "a hook of the user's changed other lines as well." message)))))

(ert-deftest aqd-save-what-is-changed-after-the-hook-is-not-the-hook-s ()
  (aqd-with-file aqd-original-of-two
    (aqd-save-formatting 'before-save-hook #'aqd-save-shout)
    (let ((review (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two
                                       "Why." #'ignore)))
      (agent-q-diff-accept review 0)
      (with-current-buffer (aqd-visit)
        (goto-char (point-min))
        (search-forward "FIVE;")
        (replace-match "mine"))
      (aqd-in-diff review
        (agent-q-diff-signs-follow)
        (should-not (string-search "hook" (cdr (assq 1 (aqd-signs))))))
      (agent-q-diff-end review)
      (should-not (string-search "hook" (plist-get (agent-q-diff-session-result review)
                                                   :message))))))

(ert-deftest aqd-save-a-hook-that-only-says-it-has-saved-is-not-believed ()
  (aqd-with-project aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (add-hook 'write-contents-functions
                (lambda () (set-buffer-modified-p nil) t)
                nil t))
    (let ((message (aqd-edit "line 3\n" "three\n")))
      (should (equal (aqd-disk) aqd-twenty-original))
      (should (string-search "has not been saved" message)))))

(ert-deftest aqd-save-an-edit-is-saved-though-a-hook-edits-after-saving ()
  (aqd-with-project aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (add-hook 'after-save-hook
                (lambda () (save-excursion (goto-char (point-max)) (insert "hook\n")))
                nil t))
    (let ((message (aqd-edit "line 3\n" "three\n")))
      (should (equal (aqd-disk) aqd-twenty-with-first))
      (should-not (string-search "not been saved" message)))))

(ert-deftest aqd-save-a-hook-that-kills-the-buffer-after-saving-undoes-nothing ()
  "What is in the file is reported to be there."
  (dolist (way '(edit review))
    (aqd-with-project aqd-twenty-original
      (with-current-buffer (aqd-visit)
        (add-hook 'after-save-hook #'kill-current-buffer nil t))
      (if (eq way 'edit)
          (let ((message (aqd-edit "line 3\n" "three\n")))
            (should (equal (aqd-disk) aqd-twenty-with-first))
            (should (string-prefix-p "✓" message))
            (should-not (string-search "not been saved" message)))
        (let ((result (aqd-result aqd-twenty-original aqd-twenty-with-first "a q")))
          (should (equal (aqd-disk) aqd-twenty-with-first))
          (should (equal '(accepted 1 t) (list (plist-get result :status)
                                               (plist-get result :in-file)
                                               (plist-get result :saved)))))))))

(ert-deftest aqd-save-a-hook-that-kills-the-buffer-before-saving-is-a-failure ()
  (aqd-with-project aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (add-hook 'write-file-functions
                (lambda () (set-buffer-modified-p nil) (kill-buffer) nil)
                nil t))
    (let ((message (aqd-edit "line 3\n" "three\n")))
      (should (equal (aqd-disk) aqd-twenty-original))
      (should (string-prefix-p "Error" message)))))

(ert-deftest aqd-save-a-hook-that-leaves-after-saving-undoes-nothing ()
  "A throw bypasses error handlers."
  (aqd-with-file aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (buffer-enable-undo)
      (add-hook 'after-save-hook (lambda () (throw 'aqd-left 'left)) nil t))
    (aqd-call aqd-twenty-original aqd-twenty-with-first
              (lambda ()
                (should (eq 'left (catch 'aqd-left (agent-q-diff-accept-hunk))))
                (should (equal (aqd-disk) aqd-twenty-with-first))
                (should (equal (aqd-target) aqd-twenty-with-first))
                (with-current-buffer (find-buffer-visiting aqd-file)
                  (should (agent-q-diff-disk-in-file-p (current-buffer)))
                  (remove-hook 'after-save-hook (car after-save-hook) t))
                (agent-q-diff-signs-follow)
                (should (equal 1 (nth 3 (agent-q-diff-module-counts
                                         (agent-q-diff-change-engine
                                          agent-q-diff-buffer-change)))))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-save-a-hook-that-leaves-before-saving-undoes-the-edit ()
  (aqd-with-file aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (buffer-enable-undo)
      (add-hook 'write-file-functions (lambda () (throw 'aqd-left 'left)) nil t))
    (aqd-call aqd-twenty-original aqd-twenty-with-first
              (lambda ()
                (should (eq 'left (catch 'aqd-left (agent-q-diff-accept-hunk))))
                (should (equal (aqd-disk) aqd-twenty-original))
                (should (equal (aqd-target) aqd-twenty-original))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-save-error-after-the-write-is-no-failure ()
  (aqd-with-forty-lines
    (with-current-buffer (aqd-visit)
      (add-hook 'after-save-hook (lambda () (error "Linter crashed")) nil t))
    (should (equal "accepted"
                   (aqd-review aqd-original-of-three aqd-modified-of-three "a q")))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five"))))
    (should (equal (agent-q-diff-text-in (aqd-visit))
                   (aqd-forty-lines '(5 . "five"))))))

(ert-deftest aqd-save-hook-that-alters-on-saving-is-noticed ()
  (let ((original (concat "trailing   \n" (aqd-numbered 20)))
        (modified (concat "trailing   \n" (aqd-numbered 20 '((10 . "ten")
                                                             (18 . "x"))))))
    (aqd-with-file original
      (with-current-buffer (aqd-visit)
        (add-hook 'before-save-hook #'delete-trailing-whitespace nil t))
      (let (said)
        (aqd-call original modified
                  (lambda ()
                    (cl-letf (((symbol-function 'message)
                               (lambda (format &rest arguments)
                                 (setq said (and format (apply #'format format
                                                               arguments))))))
                      (agent-q-diff-accept-hunk))
                    (should (string-match-p "applied; on saving, a hook" said))
                    (should (equal (aqd-signs) '((1 . "[APPLIED]"))))
                    (aqd-goto-hunk 2)
                    (agent-q-diff-accept-hunk)
                    (agent-q-diff-finish)))
        (should (equal (aqd-disk)
                       (string-replace "trailing   " "trailing" modified)))))))

;;;; What cannot be saved

(ert-deftest aqd-save-read-only ()
  (aqd-target-refuses (setq buffer-read-only t)
    (setq buffer-read-only nil)))

(ert-deftest aqd-save-locked-by-another ()
  (let ((locked t))
    (cl-letf (((symbol-function 'file-locked-p)
               (lambda (_) (and locked "somebody@elsewhere"))))
      (aqd-target-refuses (ignore)
        (setq locked nil)))))

(ert-deftest aqd-save-unwritable ()
  (let ((writable t))
    (cl-letf (((symbol-function 'file-writable-p) (lambda (_) writable)))
      (aqd-target-refuses (setq writable nil)
        (setq writable t)))))

(ert-deftest aqd-save-that-cannot-be-saved-is-rolled-back ()
  (aqd-target-refuses (add-hook 'write-contents-functions
                                (lambda () (error "No space left")) nil t)
    (setq write-contents-functions nil)))

;;;; What stays

(ert-deftest aqd-save-final-newline-is-nobodys-to-add ()
  (aqd-with-file "a\nb\nc"
    (with-current-buffer (aqd-visit)
      (setq-local require-final-newline t))
    (aqd-review "a\nb\nc" "A\nb\nc" "a q")
    (should (equal (aqd-disk) "A\nb\nc"))))

(ert-deftest aqd-save-mode-bits-and-symlink-stay ()
  (aqd-with-file aqd-original
    (let ((link (expand-file-name "link" (file-name-directory aqd-file))))
      (set-file-modes aqd-file #o751)
      (make-symbolic-link aqd-file link)
      (aqd-play "a q" (lambda ()
                        (sly-agent-q-show-diff-and-wait link aqd-original
                                                        aqd-modified "d")))
      (should (file-symlink-p link))
      (should (equal #o751 (file-modes aqd-file)))
      (should (equal (aqd-disk) aqd-modified)))))

;;;; Unsaved edits

(defun aqd-save-with-unsaved (save)
  "Accept a hunk in a target with unsaved edits, `agent-q-diff-save' being SAVE.
Return (HEADER DISK TEXT)."
  (aqd-with-file aqd-original
    (with-current-buffer (aqd-visit)
      (goto-char (point-max))
      (insert "mine\n"))
    (let ((agent-q-diff-save save)
          header)
      (aqd-call aqd-original aqd-modified
                (lambda ()
                  (setq header (buffer-substring-no-properties
                                (point-min) (aqd-goto-hunk 1)))
                  (agent-q-diff-accept-all)))
      (list header (aqd-disk)
            (agent-q-diff-text-in (aqd-visit))))))

(ert-deftest aqd-save-always-saves-and-says-so ()
  (pcase-let ((`(,header ,disk ,text) (aqd-save-with-unsaved 'always)))
    (should (string-search "has unsaved edits" header))
    (should (string-search "saves them, too" header))
    (should (equal disk (concat aqd-modified "mine\n")))
    (should (equal disk text))))

(ert-deftest aqd-save-if-clean-leaves-unsaved-edits-unsaved ()
  (pcase-let ((`(,header ,disk ,text) (aqd-save-with-unsaved 'if-clean)))
    (should (string-search "does not save" header))
    (should (equal disk aqd-original))
    (should (equal text (concat aqd-modified "mine\n")))))

(ert-deftest aqd-save-if-clean-is-the-default ()
  (should (eq 'if-clean (default-value 'agent-q-diff-save))))

(ert-deftest aqd-save-half-a-word-that-is-being-typed-stays-out-of-the-file ()
  (aqd-with-file aqd-original
    (let (said)
      (aqd-call aqd-original (aqd-numbered 20 '((2 . "two") (10 . "LINE 10")))
                (lambda ()
                  (should (agent-q-diff-accept-hunk))
                  (with-current-buffer (find-buffer-visiting aqd-file)
                    (goto-char (point-max))
                    (insert "half a wo"))
                  (aqd-goto-hunk 2)
                  (setq said (agent-q-diff-accept-hunk))
                  (agent-q-diff-finish)))
      (should (equal said "Hunk 2 applied; not saved, since target.txt has unsaved edits; nothing is pending, q finishes"))
      (should (equal (aqd-disk) (aqd-numbered 20 '((2 . "two"))))))))

(ert-deftest aqd-save-finishing-says-what-is-only-in-the-buffer ()
  (aqd-with-file aqd-original
    (with-current-buffer (aqd-visit)
      (insert "mine\n"))
    (let (said)
      (setq said (aqd-said
                   (aqd-call aqd-original aqd-modified
                             (lambda ()
                               (agent-q-diff-accept-hunk)
                               (agent-q-diff-finish nil t)))))
      (should (equal said
                     "target.txt: 1 of 1 hunk in the buffer, not saved, Agent-Q told")))))

(ert-deftest aqd-save-if-clean-saves-a-clean-target ()
  (aqd-with-file aqd-original
    (let ((agent-q-diff-save 'if-clean))
      (aqd-review aqd-original
                  (aqd-numbered 20 '((2 . "two") (18 . "eighteen"))) "a a q"))
    (should (equal (aqd-disk) (aqd-numbered 20 '((2 . "two") (18 . "eighteen")))))))

(ert-deftest aqd-save-never-saves-never ()
  (aqd-with-file aqd-original
    (let ((agent-q-diff-save 'never))
      (aqd-review aqd-original aqd-modified "a q"))
    (should (equal (aqd-disk) aqd-original))
    (should (equal (agent-q-diff-text-in (aqd-visit)) aqd-modified))))

(ert-deftest aqd-save-if-clean-does-not-save-what-is-typed-meanwhile ()
  (aqd-with-forty-lines
    (let ((agent-q-diff-save 'if-clean))
      (aqd-call-with-three
       (lambda ()
         (agent-q-diff-accept-hunk)
         (with-current-buffer (find-buffer-visiting aqd-file)
           (goto-char (point-max))
           (insert "mine\n"))
         (aqd-goto-hunk 2)
         (agent-q-diff-accept-hunk)
         (agent-q-diff-finish))))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five"))))))

(ert-deftest aqd-save-encodes-text-once-in-each-coding-system-that-a-mode-gives ()
  "Text is checked by encoding and decoding it only where that may lose something."
  (pcase-dolist (`(,name ,coding ,top)
                 '(("a.el" utf-8-unix "") ("a.txt" utf-8-unix "") ("a.txt" utf-8-unix "é\n")
                   ("a.el" utf-8-unix ";; é\n") ("a.txt" latin-1-unix "é\n")
                   ("a.txt" utf-8-with-signature-unix "é\n")
                   ("a.py" latin-1-unix "# -*- coding: latin-1 -*-\n# é\n")
                   ("a.py" utf-8-unix "# -*- coding: utf-8 -*-\n# é\n")))
    (ert-info ((format "%s %s" name coding))
      (aqd-with-file ""
        (let* ((aqd-file (expand-file-name name (file-name-directory aqd-file)))
               (inhibit-message t)
               (original (concat top (aqd-numbered 20)))
               (modified (concat top (aqd-numbered 20 '((3 . "three") (15 . "x"))))))
          (let ((coding-system-for-write coding))
            (write-region original nil aqd-file nil 'silent))
          (let ((review (agent-q-diff-review aqd-file original modified "d" #'ignore)))
            (agent-q-diff-accept review 0)
            (cl-letf (((symbol-function 'agent-q-diff-coding-encode)
                       (lambda (&rest _) (error "Encoded again"))))
              (agent-q-diff-accept review 1))
            (agent-q-diff-end review))
          (should (equal modified (decode-coding-string (aqd-disk) coding)))
          (kill-buffer (find-buffer-visiting aqd-file)))))))


(provide 'agent-q-diff-save-test)
;;; agent-q-diff-save-test.el ends here
