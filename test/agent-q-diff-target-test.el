;;; agent-q-diff-target-test.el --- Saving the target  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What is saved and when, what saving leaves alone, and what hooks can do
;; to it.
;;
;; Names that are refused, what visiting must not run, and which buffers
;; and files stay after a review.
;;
;; What must stay as it is in the user's buffer, and what is undone if an
;; edit fails.

;;; Code:

(require 'agent-q-diff-project-help)

;;; Saving

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
      (should (equal said (concat "Hunk 2 applied; not saved, since target.txt has unsaved edits"
                                  aqd-nothing-pending)))
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

;;; Naming, visiting and closing

(ert-deftest aqd-visit-names-that-are-refused ()
  (aqd-with-file aqd-original
    (let ((directory (file-name-directory aqd-file)))
      (let ((file-name-handler-alist nil))
        (dolist (name '("x.tar" "x.gpg" "x.gz"))
          (write-region "x" nil (expand-file-name name directory) nil 'silent)))
      (call-process "mkfifo" nil nil nil (expand-file-name "fifo" directory))
      (dolist (name (list "" "a\0b" directory (directory-file-name directory)
                          "/dev/null" "/ssh:nowhere:/x" "/sudo::/etc/passwd"
                          (expand-file-name "x.tar" directory)
                          (expand-file-name "x.gpg" directory)
                          (expand-file-name "x.gz" directory)
                          (expand-file-name "fifo" directory)))
        (should (eq 'agent-q-diff-bad-target
                    (car (should-error (agent-q-diff-visit
                                        (agent-q-diff-visit-name name)))))))
      (should-not (get-file-buffer "/dev/null")))))

(ert-deftest aqd-visit-local-variables-do-not-run-code ()
  (let* ((tail (concat "# Local Vari" "ables:\n# eval: (setq aqd-evil t)\n# End:\n"))
         (original (concat "a\nb\n" tail))
         (modified (concat "A\nb\n" tail)))
    (aqd-with-file original
      (aqd-review original modified "a q")
      (should-not (boundp 'aqd-evil))
      (should (equal (aqd-disk) modified)))))

(ert-deftest aqd-visit-that-does-not-exist-is-created-on-acceptance ()
  (aqd-with-file aqd-original
    (delete-file aqd-file)
    (should (equal "rejected" (aqd-review "" "new\n" "r q")))
    (should-not (file-exists-p aqd-file))
    (should (equal "accepted" (aqd-review "" "new\n" "a q")))
    (should (equal (aqd-disk) "new\n"))))

(ert-deftest aqd-visit-no-backup-of-what-a-review-created ()
  (aqd-with-file ""
    (let ((new (expand-file-name "new.txt" (file-name-directory aqd-file)))
          (make-backup-files t)
          (backup-inhibited nil)
          (backup-enable-predicate #'always))
      (aqd-play "a u r q" (lambda ()
                            (agent-q-diff-review-and-wait new "" "new\n" "d")))
      (should (equal (list (file-name-nondirectory aqd-file))
                     (directory-files (file-name-directory new) nil "\\`[^.]"))))))

(ert-deftest aqd-visit-what-others-created-is-not-removed ()
  (aqd-with-forty-lines
    (let ((new (expand-file-name "dir/new.txt" (file-name-directory aqd-file))))
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (make-directory (file-name-directory new))
                   (write-region "" nil new nil 'silent)
                   (agent-q-diff-reject-all))))
        (sly-agent-q-show-diff-and-wait new "" "x\n" "d"))
      (should (file-exists-p new)))))

(ert-deftest aqd-visit-the-users-own-new-buffer-stays ()
  (aqd-with-forty-lines
    (delete-file aqd-file)
    (let ((buffer (aqd-visit)))
      (should (equal "rejected" (aqd-review "" "x\n" "a u r q")))
      (should (buffer-live-p buffer))
      (should-not (file-exists-p aqd-file)))))

(ert-deftest aqd-visit-opened-in-vain-is-closed ()
  (aqd-with-file aqd-original
    (aqd-review aqd-original aqd-modified "r q")
    (should-not (find-buffer-visiting aqd-file))))

(ert-deftest aqd-visit-that-was-changed-stays-open-for-undo ()
  (aqd-with-file aqd-original
    (aqd-review aqd-original aqd-modified "a q")
    (with-current-buffer (find-buffer-visiting aqd-file)
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) aqd-original)))))

(ert-deftest aqd-visit-that-was-open-stays-open ()
  (aqd-with-file aqd-original
    (let ((buffer (aqd-visit)))
      (aqd-review aqd-original aqd-modified "r q")
      (should (buffer-live-p buffer)))))

(ert-deftest aqd-visit-ruling-7-unreadable-target-cannot-be-shown ()
  (aqd-with-forty-lines
    (should (eq 'agent-q-diff-bad-target
                (car (aqd-play "q" (lambda ()
                                     (sly-agent-q-show-diff-and-wait
                                      (file-name-directory aqd-file)
                                      "a\n" "b\n" "d"))))))))

(ert-deftest aqd-visit-ruling-15-entry-expands-against-default-directory ()
  (aqd-with-forty-lines
    (should (equal "accepted"
                   (aqd-play "C-c C-c"
                             (lambda ()
                               (let ((default-directory
                                      (file-name-directory aqd-file)))
                                 (sly-agent-q-show-diff-and-wait
                                  "target.txt" (car aqd-three) (cdr aqd-three)
                                  "d"))))))
    (should (equal (aqd-disk) (cdr aqd-three)))))

(ert-deftest aqd-visit-ruling-15-a-foreign-remote-name-is-refused-unopened ()
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

(ert-deftest aqd-visit-no-name-reaches-a-handler-of-remote-names ()
  (let* ((calls nil)
         (file-name-handler-alist
          (cons (cons "\\`/[a-z]+:"
                      (lambda (operation &rest arguments)
                        (push (cons operation arguments) calls)
                        (let ((file-name-handler-alist nil))
                          (apply operation arguments))))
                file-name-handler-alist))
         (default-directory "/tmp/"))
    (dolist (name '("/ssh:host:a.org" "/ssh:host:/a.org" "/sudo::x" "../ssh:host:x"
                    "../../../ssh:host:/x" "/../ssh:host:/x" "/x/../ssh:host:/x"))
      (should (equal name (agent-q-diff-visit-detached-name name)))
      (should-error (agent-q-diff-visit-name name) :type 'agent-q-diff-bad-target))
    (let ((default-directory "/"))
      (should-error (agent-q-diff-visit-name "ssh:host:x") :type 'agent-q-diff-bad-target))
    (should-not calls)
    (should (equal "/tmp/x" (agent-q-diff-visit-name "x")))
    (should (equal "/x" (agent-q-diff-visit-name "../../../x")))))

(ert-deftest aqd-visit-ruling-16-a-file-name-is-never-diff-text ()
  "A name with a newline is refused before anything is shown."
  (aqd-with-forty-lines
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

(ert-deftest aqd-visit-detached-has-the-mode-of-its-file-but-no-file ()
  (let ((buffer (agent-q-diff-visit-detached "/nowhere/a.el" "(foo)\n")))
    (unwind-protect
        (with-current-buffer buffer
          (should (eq major-mode 'emacs-lisp-mode))
          (should-not buffer-file-name)
          (should-not (buffer-modified-p))
          (should (equal (buffer-string) "(foo)\n")))
      (kill-buffer buffer))))

;;;; Hooks of the user's that ask, insert or fail

(defmacro aqd-visit-with-hooks (bindings &rest body)
  "Evaluate BODY with BINDINGS of hooks; `asked' counts questions."
  (declare (indent 1) (debug t))
  `(let ((asked 0)
         (agent-q-diff-visit--said nil))
     (cl-letf (((symbol-function 'read-from-minibuffer)
                (lambda (&rest _)
                  (when inhibit-interaction
                    (signal 'inhibited-interaction nil))
                  (cl-incf asked)
                  "n")))
       (let ,bindings
         ,@body))))

(defconst aqd-visit-questions
  '((y-or-n-p "Import? ") (yes-or-no-p "Import? ") (read-string "Name: ")
    (completing-read "Name: " '("a" "b")) (read-char) (read-event) (read-key "Key: ")
    (read-char-choice "Key: " '(?a)) (read-from-minibuffer "Name: "))
  "Ways in which a hook asks.")

(ert-deftest aqd-visit-hooks-that-ask-do-not ()
  (dolist (question aqd-visit-questions)
    (dolist (hook '(text-mode-hook find-file-hook after-change-major-mode-hook))
      (aqd-with-file "a\n"
        ;; When its buffers are killed, a batch Emacs may show the file's.
        (aqd-visit-with-hooks ((buffer-list-update-hook nil))
          (let ((ask (lambda ()
                       (when buffer-file-name
                         (eval question t)))))
            (cl-progv (list hook) (list (cons ask (default-value hook)))
              (ert-info ((format "%S in %s" question hook))
                (let ((review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
                  (should-not (agent-q-diff-session-outcome review))
                  (should (= asked 0))
                  (agent-q-diff-accept review 0)
                  (agent-q-diff-end review)
                  (should (equal (aqd-disk) "b\n")))))))))))

(ert-deftest aqd-visit-hooks-run-when-the-user-goes-to-the-buffer ()
  (aqd-with-file "a\n"
    (aqd-visit-with-hooks ((text-mode-hook (list (lambda () (read-from-minibuffer "Import? "))))
                           (find-file-hook (list (lambda () (error "Broken")))))
      (let ((review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
        (agent-q-diff-accept review 0)
        (agent-q-diff-end review))
      (should (= asked 0))
      (save-window-excursion
        (should (string-search "Broken" (aqd-said (find-file aqd-file))))
        (should (= asked 1))
        ;; Only once.
        (switch-to-buffer "*scratch*")
        (find-file aqd-file)
        (should (= asked 1))))))

(ert-deftest aqd-visit-an-error-in-a-hook-is-said-once ()
  (aqd-with-file "a\n"
    (aqd-visit-with-hooks ((find-file-hook '(aqd-visit-break))
                           (text-mode-hook '(aqd-visit-break))
                           (ran nil))
      (cl-letf (((symbol-function 'aqd-visit-break) (lambda () (error "Broken"))))
        (add-hook 'find-file-hook (lambda () (setq ran t)) t)
        (dotimes (_ 2)
          (let ((review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
            (should-not (agent-q-diff-session-outcome review))
            (should ran)
            (agent-q-diff-cancel review)))
        (should (equal agent-q-diff-visit--said '((aqd-visit-break . "Broken"))))))))

(ert-deftest aqd-visit-what-inserts-does-not-get-into-the-file ()
  (dolist (hook '(find-file-hook text-mode-hook find-file-not-found-functions))
    (dolist (old '(nil "" "a\n"))
      (aqd-with-file (or old "")
        (unless old
          (delete-file aqd-file))
        (cl-progv (list hook)
            (list (list (lambda ()
                          (let ((inhibit-read-only t))
                            (save-excursion
                              (goto-char (point-min))
                              (insert "template\n"))))))
          (let ((review (agent-q-diff-review aqd-file (or old "") "b\n" nil nil)))
            (ert-info ((format "%s %S" hook old))
              (should (equal (or old "") (with-current-buffer (aqd-target-of review)
                                           (buffer-string))))
              (should-not (buffer-modified-p (aqd-target-of review)))
              (agent-q-diff-accept review 0)
              (agent-q-diff-end review)
              (should (equal (aqd-disk) "b\n")))))))))

(ert-deftest aqd-visit-a-template-waits-while-a-new-file-is-reviewed ()
  (aqd-with-file ""
    (delete-file aqd-file)
    (let* ((n 0)
           (find-file-hook (list (lambda ()
                                   (cl-incf n)
                                   (when (zerop (buffer-size))
                                     (insert "template\n")))))
           (review (agent-q-diff-review aqd-file "" "b\n" nil nil)))
      (save-window-excursion
        (switch-to-buffer (aqd-target-of review))
        (should (= n 0))
        (agent-q-diff-accept review 0)
        (agent-q-diff-end review)
        (switch-to-buffer "*scratch*")
        (find-file aqd-file)
        (should (= n 1))
        (should (equal (buffer-string) "b\n"))
        (should (equal (aqd-disk) "b\n"))))))

(ert-deftest aqd-visit-a-hook-that-makes-a-file-read-only-is-respected ()
  (aqd-with-file "a\n"
    (let* ((find-file-hook (list (lambda () (setq buffer-read-only t))))
           (review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
      (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-bad-target)
      (agent-q-diff-cancel review))))

(ert-deftest aqd-visit-a-hook-that-kills-the-buffer-is-said ()
  (aqd-with-file "a\n"
    (let ((text-mode-hook (list (lambda () (kill-buffer)))))
      (should (equal "a hook killed the buffer of the file as it was visited"
                     (plist-get (agent-q-diff-session-result
                                 (agent-q-diff-review aqd-file "a\n" "b\n" nil nil))
                                :reason))))
    (should (equal "a\n" (aqd-disk)))))

(ert-deftest aqd-visit-a-hook-that-selects-leaves-the-selection ()
  (aqd-with-file "a\n"
    (save-window-excursion
      (switch-to-buffer "*scratch*")
      (let* ((find-file-hook (list (lambda () (pop-to-buffer "*Messages*"))))
             (window (selected-window))
             (review (agent-q-diff-review aqd-file "a\n" "b\n" nil nil)))
        (should (eq window (selected-window)))
        (should (equal "*scratch*" (buffer-name (window-buffer))))
        (agent-q-diff-cancel review)))))

;;;; A buffer that the user has begun to use

(defconst aqd-visit-uses
  '((find-file aqd-file)
    (switch-to-buffer (current-buffer))
    (goto-char 3)
    (push-mark 2 t)
    (narrow-to-region 1 3)
    (overwrite-mode)
    (emacs-lisp-mode)
    (read-only-mode)
    (setq-local server-buffer-clients '(client))
    (progn (insert "x") (delete-char -1) (set-buffer-modified-p nil))
    (make-indirect-buffer (current-buffer) "indirect"))
  "What a user does in the buffer of a file under review.")

(ert-deftest aqd-visit-a-buffer-that-the-user-uses-is-not-killed ()
  (dolist (use (cons nil aqd-visit-uses))
    (aqd-with-file "a\nb\n"
      (let ((review (agent-q-diff-review aqd-file "a\nb\n" "a\nB\n" nil nil)))
        (save-window-excursion
          (with-current-buffer (aqd-target-of review)
            (eval use t))
          (switch-to-buffer "*scratch*")
          (agent-q-diff-reject review 0)
          (agent-q-diff-end review))
        (ert-info ((format "%S" use))
          (should (eq (and use t) (and (find-buffer-visiting aqd-file) t))))
        (when (get-buffer "indirect")
          (kill-buffer "indirect"))
        (when-let ((buffer (find-buffer-visiting aqd-file)))
          (with-current-buffer buffer
            (setq-local server-buffer-clients nil)))))))

(ert-deftest aqd-visit-a-new-file-whose-buffer-the-user-uses-is-not-killed ()
  (aqd-with-file ""
    (delete-file aqd-file)
    (let ((review (agent-q-diff-review aqd-file "" "b\n" nil nil)))
      (agent-q-diff-accept review 0)
      (save-window-excursion
        (find-file aqd-file)
        (switch-to-buffer "*scratch*"))
      (agent-q-diff-unapply review 0)
      (agent-q-diff-end review)
      (should-not (file-exists-p aqd-file))
      (should (find-buffer-visiting aqd-file)))))

;;; Edits as one undo step

;;;; One step

(ert-deftest aqd-apply-each-command-is-one-undo-step ()
  (aqd-with-file aqd-original
    (aqd-visit)
    (aqd-review aqd-original
                (aqd-numbered 20 '((2 . "two") (4 . "four") (15 . "fifteen")))
                "a a q")
    (with-current-buffer (aqd-visit)
      (let ((last-command nil))
        (undo)
        (should (equal (buffer-string)
                       (aqd-numbered 20 '((2 . "two") (4 . "four")))))
        (setq last-command 'undo)
        (undo-more 1)
        (should (equal (buffer-string) aqd-original))))))

(ert-deftest aqd-apply-point-markers-and-overlays-stay-on-their-lines ()
  (aqd-with-file aqd-original
    (with-current-buffer (aqd-visit)
      (let* ((line (lambda (n) (agent-q-diff-text-position (current-buffer)
                                                           (1- n))))
             (marks (cl-loop for n in '(3 9 11 18)
                             collect (cons (format "line %d" n)
                                           (copy-marker (funcall line n)))))
             (fold (make-overlay (funcall line 14) (funcall line 16))))
        (goto-char (funcall line 18))
        (aqd-call aqd-original
                  (aqd-numbered 20 '((2 . "line 2\nnew") (10 . "LINE 10\nNEW")
                                     (12)))
                  #'agent-q-diff-accept-all)
        (set-buffer (aqd-visit))
        (pcase-dolist (`(,text . ,marker) marks)
          (goto-char marker)
          (should (looking-at-p (concat text "$"))))
        (should (equal "line 14\nline 15\n"
                       (buffer-substring (overlay-start fold) (overlay-end fold))))))))

(ert-deftest aqd-apply-narrowing-stays-and-edits-inside-it-apply ()
  (aqd-with-file aqd-original
    (with-current-buffer (aqd-visit)
      (narrow-to-region (agent-q-diff-text-position (current-buffer) 5)
                        (agent-q-diff-text-position (current-buffer) 15))
      (should (equal "accepted" (aqd-review aqd-original aqd-modified "a q")))
      (set-buffer (aqd-visit))
      (should (buffer-narrowed-p))
      (should (equal (agent-q-diff-text-in (current-buffer)) aqd-modified)))))

(ert-deftest aqd-apply-narrowed-elsewhere ()
  (aqd-target-refuses (narrow-to-region (point-min) (+ 10 (point-min)))
    (widen)))

(ert-deftest aqd-apply-literal-escapes-stay-literal ()
  (let ((original "a = 1\n")
        (modified "a = \"\\n\\t\\\\ \\& \\1 $1 $&\"\n"))
    (aqd-with-file original
      (aqd-review original modified "a q")
      (should (equal (aqd-disk) modified)))))

(ert-deftest aqd-apply-can-be-emptied ()
  (aqd-with-file aqd-original
    (should (equal "accepted" (aqd-review aqd-original "" "a q")))
    (should (equal (aqd-disk) ""))))

(ert-deftest aqd-apply-ruling-4-is-one-undo-step ()
  (aqd-with-forty-lines
    (aqd-visit)
    (should (equal "accepted" (aqd-review-three "C-c C-c")))
    (with-current-buffer (aqd-visit)
      (should (equal (buffer-string) (cdr aqd-three)))
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) (car aqd-three))))))

(ert-deftest aqd-apply-ruling-4-is-one-undo-step-whatever-hooks-do ()
  (aqd-with-forty-lines
    (with-current-buffer (aqd-visit)
      (add-hook 'after-change-functions (lambda (&rest _) (undo-boundary)) nil t))
    (should (equal "accepted" (aqd-review-three "C-c C-c")))
    (with-current-buffer (aqd-visit)
      (setq after-change-functions nil)
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) (car aqd-three))))))

;;;; Directories of a new file

(ert-deftest aqd-apply-directories-of-a-new-file-are-created ()
  (aqd-with-file ""
    (let* ((root (file-name-directory aqd-file))
           (new (expand-file-name "one/two/new.txt" root))
           (propose (lambda ()
                      (plist-get (agent-q-diff-review-and-wait new "" "new\n" "d")
                                 :decision))))
      ;; Neither a rejection nor undoing an acceptance leaves anything.
      (dolist (keys '("r q" "a u r q" "a u C-c C-k"))
        (should (equal "rejected" (aqd-play keys propose)))
        (should-not (file-exists-p (expand-file-name "one" root))))
      (let ((agent-q-diff-create-directories nil))
        (should (eq 'agent-q-diff-not-applied (car (aqd-play "a q" propose))))
        (should-not (file-exists-p (expand-file-name "one" root))))
      (should (equal "accepted" (aqd-play "a q" propose)))
      (let ((aqd-file new))
        (should (equal (aqd-disk) "new\n")))
      (with-current-buffer (find-buffer-visiting new)
        (set-buffer-modified-p nil)
        (kill-buffer)))))

(defun aqd-apply-accept-new (below function)
  "Accept a new file BELOW, relative to the test's directory; that must fail.
FUNCTION is called before, in the file's buffer, with the review."
  (let* ((aqd-answers nil)
         (new (expand-file-name below (file-name-directory aqd-file)))
         (review (agent-q-diff-review new "" "new ٢\n" "d" #'ignore)))
    (unwind-protect
        (progn
          (with-current-buffer (aqd-target-of review)
            (funcall function review))
          (let ((came-to (condition-case nil
                             (agent-q-diff-accept review 0)
                           ((error quit) 'refused))))
            (should (eq 'refused came-to)))
          (should-not (file-exists-p new)))
      (let ((target (aqd-target-of review)))
        (agent-q-diff-cancel review)
        (when (buffer-live-p target)
          (with-current-buffer target
            (set-buffer-modified-p nil)
            (kill-buffer)))))))

(ert-deftest aqd-apply-directories-of-a-file-that-is-refused-are-removed ()
  (pcase-dolist
      (`(,what ,below ,function)
       `(("text that cannot be written" "one/two/new.txt"
          ,(lambda (_) (setq buffer-file-coding-system 'latin-1-unix)))
         ("a check of the caller's" "one/two/new.txt"
          ,(lambda (review)
             (let ((n 0))
               (aqd-check-with review
                               (lambda ()
                                 (when (= 2 (cl-incf n))
                                   (agent-q-diff-file-refuse "not any more")))))))
         ("a hook that fails" "one/two/new.txt"
          ,(lambda (_) (add-hook 'write-file-functions (lambda () (error "No")) nil t)))
         ("a hook that quits" "one/two/new.txt"
          ,(lambda (_) (add-hook 'write-file-functions (lambda () (signal 'quit nil)) nil t)))
         ("a directory that cannot be made" ,(format "one/%s/new.txt" (make-string 300 ?n))
          ,#'ignore)))
    (ert-info (what :prefix "case: ")
      (aqd-with-file ""
        (aqd-apply-accept-new below function)
        (should (equal '("target.txt")
                       (directory-files (file-name-directory aqd-file) nil
                                        directory-files-no-dot-files-regexp)))))))

(ert-deftest aqd-apply-directories-that-were-there-stay-when-a-file-is-refused ()
  (aqd-with-file ""
    (let ((one (expand-file-name "one" (file-name-directory aqd-file))))
      (make-directory one)
      (aqd-apply-accept-new "one/two/new.txt"
                            (lambda (_)
                              (setq buffer-file-coding-system 'latin-1-unix)))
      (should (directory-empty-p one)))))

(ert-deftest aqd-apply-directory-that-others-use-meanwhile-stays ()
  (aqd-with-file ""
    (let* ((root (file-name-directory aqd-file))
           (new (expand-file-name "one/new.txt" root)))
      (cl-letf (((symbol-function 'recursive-edit)
                 (lambda ()
                   (agent-q-diff-accept-hunk)
                   (write-region "x" nil (expand-file-name "one/other" root)
                                 nil 'silent)
                   (agent-q-diff-unapply-hunk)
                   (agent-q-diff-reject-all))))
        (sly-agent-q-show-diff-and-wait new "" "new\n" "d"))
      (should-not (file-exists-p new))
      (should (file-exists-p (expand-file-name "one/other" root))))))

(provide 'agent-q-diff-target-test)
;;; agent-q-diff-target-test.el ends here
