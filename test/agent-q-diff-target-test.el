;;; agent-q-diff-target-test.el --- The file under change  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user's own work in the target: what must stay as it is, and what
;; must end in a clear message with nothing changed.

;;; Code:

(require 'agent-q-diff-test-help)

(defconst aqd-original (aqd-numbered 20)
  "The original of the proposals here.")

(defconst aqd-modified (aqd-numbered 20 '((10 . "LINE 10")))
  "The modified text of the proposals here.")

(defmacro aqd-target-refuses (prepare &rest repair)
  "Check that accepting fails cleanly in a target after PREPARE.
REPAIR is run afterwards; then accepting must succeed."
  (declare (indent 1) (debug t))
  `(aqd-with-file aqd-original
     (let ((buffer (aqd-visit)))
       (ignore buffer)
       (aqd-call aqd-original aqd-modified
                 (lambda ()
                   (with-current-buffer buffer ,prepare)
                   (let ((disk (and (file-exists-p aqd-file) (aqd-disk)))
                         (text (agent-q-diff-target-text buffer)))
                     (should-not (agent-q-diff-accept-hunk))
                     (should-not (rassq 'applied sly-agent-q-diff--hunk-states))
                     (should-not (assq 1 (aqd-signs)))
                     (should (equal text (agent-q-diff-target-text buffer)))
                     (should (equal disk (and (file-exists-p aqd-file)
                                              (aqd-disk)))))
                   (with-current-buffer buffer ,@repair)
                   (should (agent-q-diff-accept-hunk))
                   (agent-q-diff-finish))))))

;;;; What the target has

(defun aqd-target-known-p (live text)
  "Return whether a target with LIVE, its buffer narrowed, is told to have TEXT."
  (aqd-with-file live
    (with-current-buffer (aqd-visit)
      (setq-local case-fold-search t)
      (narrow-to-region (1+ (point-min)) (point-max))
      (prog1 (agent-q-diff-target-known-p (current-buffer) (string-to-multibyte text))
        (should (buffer-narrowed-p))
        (should (= 2 (point-min)))))))

(ert-deftest aqd-target-is-known-by-the-very-same-text ()
  (dolist (text '("a\nb\n" "a\nb" "\n" "ä\nß\n"))
    (should (aqd-target-known-p text text)))
  (pcase-dolist (`(,live ,text) '(("a\nb\n" "a\nB\n") ("a\nb\n" "a\nb\nc\n")
                                  ("a\nb\n" "a\n") ("ä\n" "Ä\n") ("a\nb\n" "a\nc\n")))
    (should-not (aqd-target-known-p live text)))
  (let ((agent-q-diff-target--max-compared 3))
    (should-not (aqd-target-known-p "a\nb\n" "a\nb\n"))
    (should (aqd-target-known-p "a\n" "a\n"))))

(ert-deftest aqd-target-with-other-line-ends-is-left-to-be-adapted ()
  (dolist (text '("a\r\nb\r\n" "a\r\nb\n" "a\rb\n" "\ufeffa\n"))
    (aqd-with-file ""
      (let ((coding-system-for-write 'utf-8-unix))
        (write-region text nil aqd-file nil 'silent))
      (dolist (proposed (list text "a\nb\n"))
        (should-not (agent-q-diff-target-known-p (aqd-visit)
                                                 (string-to-multibyte proposed)))))))

;;;; What must end in a message

(ert-deftest aqd-target-read-only ()
  (aqd-target-refuses (setq buffer-read-only t)
    (setq buffer-read-only nil)))

(ert-deftest aqd-target-narrowed-elsewhere ()
  (aqd-target-refuses (narrow-to-region (point-min) (+ 10 (point-min)))
    (widen)))

(ert-deftest aqd-target-locked-by-another ()
  (let ((locked t))
    (cl-letf (((symbol-function 'file-locked-p)
               (lambda (_) (and locked "somebody@elsewhere"))))
      (aqd-target-refuses (ignore)
        (setq locked nil)))))

;; A buffer without unsaved edits follows its file instead: see the suite of
;; `agent-q-diff-disk-test.el'.
(ert-deftest aqd-target-changed-on-disk ()
  (aqd-target-refuses (progn
                        (goto-char (point-max))
                        (insert "mine\n")
                        (write-region "other\n" nil aqd-file nil 'silent)
                        (set-file-times aqd-file (time-add nil 60)))
    (revert-buffer t t)
    (erase-buffer)
    (insert aqd-original)))

(ert-deftest aqd-target-deleted-on-disk ()
  (aqd-target-refuses (delete-file aqd-file)
    (set-buffer-modified-p t)
    (save-buffer)))

(ert-deftest aqd-target-unwritable ()
  (let ((writable t))
    (cl-letf (((symbol-function 'file-writable-p) (lambda (_) writable)))
      (aqd-target-refuses (setq writable nil)
        (setq writable t)))))

(ert-deftest aqd-target-that-cannot-be-saved-is-rolled-back ()
  (aqd-target-refuses (add-hook 'write-contents-functions
                                (lambda () (error "No space left")) nil t)
    (setq write-contents-functions nil)))

(ert-deftest aqd-target-a-character-that-the-coding-cannot-hold ()
  (aqd-with-file "a\nb\n"
    (with-current-buffer (aqd-visit)
      (setq buffer-file-coding-system 'iso-latin-1-unix))
    (aqd-call "a\nb\n" "a\n€\n"
              (lambda ()
                (should-not (agent-q-diff-accept-hunk))
                (should (equal (aqd-disk) "a\nb\n"))
                (agent-q-diff-recode-target)
                (should (agent-q-diff-accept-hunk))
                (agent-q-diff-finish)))
    (should (equal (aqd-disk) (encode-coding-string "a\n€\n" 'utf-8)))))

(ert-deftest aqd-target-unsaved-text-that-the-coding-cannot-hold ()
  (let ((agent-q-diff-save 'always))
    (aqd-with-file aqd-original
      (aqd-target-refuses (progn
                            (setq buffer-file-coding-system 'iso-latin-1-unix)
                            (goto-char (point-max))
                            (insert "€\n"))
        (setq buffer-file-coding-system 'utf-8-unix)))))

(ert-deftest aqd-target-names-that-are-refused ()
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

;;;; What must stay

(ert-deftest aqd-target-point-markers-and-overlays-stay-on-their-lines ()
  (aqd-with-file aqd-original
    (with-current-buffer (aqd-visit)
      (let* ((line (lambda (n) (agent-q-diff-target-position (current-buffer)
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

(ert-deftest aqd-target-narrowing-stays-and-edits-inside-it-apply ()
  (aqd-with-file aqd-original
    (with-current-buffer (aqd-visit)
      (narrow-to-region (agent-q-diff-target-position (current-buffer) 5)
                        (agent-q-diff-target-position (current-buffer) 15))
      (should (equal "accepted" (aqd-review aqd-original aqd-modified "a q")))
      (set-buffer (aqd-visit))
      (should (buffer-narrowed-p))
      (should (equal (agent-q-diff-target-text (current-buffer)) aqd-modified)))))

(ert-deftest aqd-target-each-command-is-one-undo-step ()
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

(ert-deftest aqd-target-final-newline-is-nobodys-to-add ()
  (aqd-with-file "a\nb\nc"
    (with-current-buffer (aqd-visit)
      (setq-local require-final-newline t))
    (aqd-review "a\nb\nc" "A\nb\nc" "a q")
    (should (equal (aqd-disk) "A\nb\nc"))))

(ert-deftest aqd-target-hook-that-alters-on-saving-is-noticed ()
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

(ert-deftest aqd-target-literal-escapes-stay-literal ()
  (let ((original "a = 1\n")
        (modified "a = \"\\n\\t\\\\ \\& \\1 $1 $&\"\n"))
    (aqd-with-file original
      (aqd-review original modified "a q")
      (should (equal (aqd-disk) modified)))))

(defun aqd-target-bytes (bytes original modified)
  "Return what becomes of a file of BYTES that ORIGINAL to MODIFIED changes.
All hunks are accepted."
  (aqd-with-file ""
    (let ((coding-system-for-write 'no-conversion))
      (write-region bytes nil aqd-file nil 'silent))
    (should (equal "accepted" (aqd-review original modified "C-c C-c")))
    (aqd-disk)))

(ert-deftest aqd-target-crlf-files-stay-crlf ()
  (dolist (eol '("\n" "\r\n"))
    (should (equal "A\r\nb\r\nc\r\n"
                   (aqd-target-bytes "a\r\nb\r\nc\r\n"
                                     (string-replace "\n" eol "a\nb\nc\n")
                                     (string-replace "\n" eol "A\nb\nc\n"))))))

(ert-deftest aqd-target-mixed-line-ends-stay-mixed ()
  (should (equal "A\nb\r\nc\n"
                 (aqd-target-bytes "a\nb\r\nc\n" "a\nb\r\nc\n" "A\nb\r\nc\n"))))

(ert-deftest aqd-target-a-cr-before-crlf-stays ()
  (should (equal "a\r\r\nb\r\nC\r\n"
                 (aqd-target-bytes "a\r\r\nb\r\nc\r\n" "a\r\r\nb\r\nc\r\n"
                                   "a\r\r\nb\r\nC\r\n")))
  ;; As the buffer has it.
  (should (equal "a\r\r\nb\r\nC\r\n"
                 (aqd-target-bytes "a\r\r\nb\r\nc\r\n" "a\r\nb\nc\n"
                                   "a\r\nb\nC\n"))))

(ert-deftest aqd-target-no-file-has-the-line-ends-of-its-text ()
  (let ((review (cl-letf (((default-value 'buffer-file-coding-system) 'utf-8-dos))
                  (agent-q-diff-review-open "/nowhere/a" "a\nb\n" "a\r\nb\r\n" t))))
    (should (eq 'edited (agent-q-diff-review-do review 'accept 0)))
    (should (equal "a\r\nb\r\n"
                   (agent-q-diff-target-text (agent-q-diff-review-target review))))
    (agent-q-diff-review-close review)))

(ert-deftest aqd-target-byte-order-mark-stays ()
  (should (equal "\xef\xbb\xbf\ A\nb\n"
                 (aqd-target-bytes "\xef\xbb\xbf\ a\nb\n" "\ufeff\ a\nb\n"
                                   "\ufeff\ A\nb\n")))
  (should (equal "\xef\xbb\xbf\ A\nb\n"
                 (aqd-target-bytes "\xef\xbb\xbf\ a\nb\n" "a\nb\n" "A\nb\n"))))

(ert-deftest aqd-target-latin-1-stays-latin-1 ()
  (should (equal "\xe9\nB\n"
                 (let ((coding-system-for-read 'iso-latin-1))
                   (aqd-target-bytes "\xe9\nb\n" "é\nb\n" "é\nB\n")))))

(ert-deftest aqd-target-proposal-without-cr-for-a-text-with-cr ()
  ;; The file is read as it is, so that the CRs are in the buffer.
  (let ((coding-system-for-read 'utf-8-unix))
    (should (equal "A\r\nb\r\nc\r\n"
                   (aqd-target-bytes "a\r\nb\r\nc\r\n" "a\nb\nc\n" "A\nb\nc\n")))))

(ert-deftest aqd-target-utf-16-stays-utf-16 ()
  (dolist (coding '(utf-16le-with-signature-dos utf-16be-with-signature-unix))
    (should (equal (encode-coding-string "é\n€\nC\n" coding)
                   (aqd-target-bytes (encode-coding-string "é\n€\nc\n" coding)
                                     "é\n€\nc\n" "é\n€\nC\n")))))

(ert-deftest aqd-target-raw-bytes-stay ()
  (let ((raw (decode-coding-string "\xff\xfe\x80" 'utf-8)))
    (should (equal "\xff\xfe\x80\nB\n"
                   (let ((coding-system-for-read 'utf-8-unix))
                     (aqd-target-bytes "\xff\xfe\x80\nb\n" (concat raw "\nb\n")
                                       (concat raw "\nB\n")))))))

(ert-deftest aqd-target-nul-bytes-stay ()
  (let ((coding-system-for-read 'utf-8-unix))
    (should (equal "\0\nB\n" (aqd-target-bytes "\0\nb\n" "\0\nb\n" "\0\nB\n")))))

(ert-deftest aqd-target-mode-bits-and-symlink-stay ()
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

(ert-deftest aqd-target-local-variables-do-not-run-code ()
  (let* ((tail (concat "# Local Vari" "ables:\n# eval: (setq aqd-evil t)\n# End:\n"))
         (original (concat "a\nb\n" tail))
         (modified (concat "A\nb\n" tail)))
    (aqd-with-file original
      (aqd-review original modified "a q")
      (should-not (boundp 'aqd-evil))
      (should (equal (aqd-disk) modified)))))

;;;; Unsaved edits and saving

(defun aqd-target-with-unsaved (save)
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
            (agent-q-diff-target-text (aqd-visit))))))

(ert-deftest aqd-ruling-11-always-saves-and-says-so ()
  (pcase-let ((`(,header ,disk ,text) (aqd-target-with-unsaved 'always)))
    (should (string-search "has unsaved edits" header))
    (should (string-search "saves them, too" header))
    (should (equal disk (concat aqd-modified "mine\n")))
    (should (equal disk text))))

(ert-deftest aqd-ruling-11-if-clean-leaves-unsaved-edits-unsaved ()
  (pcase-let ((`(,header ,disk ,text) (aqd-target-with-unsaved 'if-clean)))
    (should (string-search "does not save" header))
    (should (equal disk aqd-original))
    (should (equal text (concat aqd-modified "mine\n")))))

(ert-deftest aqd-ruling-11-if-clean-is-the-default ()
  (should (eq 'if-clean (default-value 'agent-q-diff-save))))

(ert-deftest aqd-ruling-11-half-a-word-that-is-being-typed-stays-out-of-the-file ()
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
      (should (equal said "Hunk applied; not saved, since target.txt has unsaved edits"))
      (should (equal (aqd-disk) (aqd-numbered 20 '((2 . "two"))))))))

(ert-deftest aqd-ruling-11-finishing-says-what-is-only-in-the-buffer ()
  (aqd-with-file aqd-original
    (with-current-buffer (aqd-visit)
      (insert "mine\n"))
    (let (said)
      (aqd-call aqd-original aqd-modified
                (lambda ()
                  (agent-q-diff-accept-hunk)
                  (cl-letf (((symbol-function 'message)
                             (lambda (format &rest arguments)
                               (when format
                                 (setq said (apply #'format format arguments))))))
                    (agent-q-diff-finish nil t))))
      (should (equal said
                     "What you accepted is in the buffer target.txt and not saved")))))

(ert-deftest aqd-ruling-11-if-clean-saves-a-clean-target ()
  (aqd-with-file aqd-original
    (let ((agent-q-diff-save 'if-clean))
      (aqd-review aqd-original
                  (aqd-numbered 20 '((2 . "two") (18 . "eighteen"))) "a a q"))
    (should (equal (aqd-disk) (aqd-numbered 20 '((2 . "two") (18 . "eighteen")))))))

(ert-deftest aqd-ruling-11-never-saves-never ()
  (aqd-with-file aqd-original
    (let ((agent-q-diff-save 'never))
      (aqd-review aqd-original aqd-modified "a q"))
    (should (equal (aqd-disk) aqd-original))
    (should (equal (agent-q-diff-target-text (aqd-visit)) aqd-modified))))

(ert-deftest aqd-target-opened-in-vain-is-closed ()
  (aqd-with-file aqd-original
    (aqd-review aqd-original aqd-modified "r q")
    (should-not (find-buffer-visiting aqd-file))))

(ert-deftest aqd-target-that-was-changed-stays-open-for-undo ()
  (aqd-with-file aqd-original
    (aqd-review aqd-original aqd-modified "a q")
    (with-current-buffer (find-buffer-visiting aqd-file)
      (let ((last-command nil))
        (undo))
      (should (equal (buffer-string) aqd-original)))))

(ert-deftest aqd-target-that-was-open-stays-open ()
  (aqd-with-file aqd-original
    (let ((buffer (aqd-visit)))
      (aqd-review aqd-original aqd-modified "r q")
      (should (buffer-live-p buffer)))))

;;;; A target that is not the original

(ert-deftest aqd-ruling-10-shifted-hunks-apply-where-they-belong ()
  (let ((shifted (concat "new top\n" aqd-original)))
    (aqd-with-file shifted
      (should (equal "accepted" (aqd-review aqd-original aqd-modified "a q")))
      (should (string-search "of 1 hunk 1 is shifted"
                             (with-current-buffer (aqd-diff-buffer)
                               (buffer-string))))
      (should (equal (aqd-disk) (concat "new top\n" aqd-modified))))))

(ert-deftest aqd-ruling-10-what-does-not-apply-is-said-before-the-first-key ()
  (aqd-with-file (aqd-numbered 20 '((10 . "other")))
    (aqd-call aqd-original aqd-modified
              (lambda ()
                (should (string-search "no hunk applies" (buffer-string)))
                (should (equal (aqd-signs) '((1 . "[DOES NOT APPLY]"))))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-target-that-does-not-exist-is-created-on-acceptance ()
  (aqd-with-file aqd-original
    (delete-file aqd-file)
    (should (equal "rejected" (aqd-review "" "new\n" "r q")))
    (should-not (file-exists-p aqd-file))
    (should (equal "accepted" (aqd-review "" "new\n" "a q")))
    (should (equal (aqd-disk) "new\n"))))

(ert-deftest aqd-target-directories-of-a-new-file-are-created ()
  (aqd-with-file ""
    (let* ((root (file-name-directory aqd-file))
           (new (expand-file-name "one/two/new.txt" root))
           (propose (lambda ()
                      (plist-get (agent-q-diff-review-and-wait new "" "new\n" "d")
                                 :decision))))
      ;; Neither a rejection nor a change of mind leaves anything.
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

(ert-deftest aqd-target-no-backup-of-what-a-review-created ()
  (aqd-with-file ""
    (let ((new (expand-file-name "new.txt" (file-name-directory aqd-file)))
          (make-backup-files t)
          (backup-inhibited nil)
          (backup-enable-predicate #'always))
      (aqd-play "a u r q" (lambda ()
                            (agent-q-diff-review-and-wait new "" "new\n" "d")))
      (should (equal (list (file-name-nondirectory aqd-file))
                     (directory-files (file-name-directory new) nil "\\`[^.]"))))))

(defun aqd-target-accept-new (below function)
  "Have a new file of the name BELOW the test's directory accepted in vain.
FUNCTION is called in its buffer, with the review, before that."
  (let* ((aqd-answers nil)
         (new (expand-file-name below (file-name-directory aqd-file)))
         (review (agent-q-diff-review new "" "new ٢\n" "d" #'ignore)))
    (unwind-protect
        (progn
          (with-current-buffer (agent-q-diff-review-target review)
            (funcall function review))
          (let ((came-to (condition-case nil
                             (agent-q-diff-accept review 0)
                           ((error quit) 'refused))))
            (should (eq 'refused came-to)))
          (should-not (file-exists-p new)))
      (let ((target (agent-q-diff-review-target review)))
        (agent-q-diff-cancel review)
        (when (buffer-live-p target)
          (with-current-buffer target
            (set-buffer-modified-p nil)
            (kill-buffer)))))))

(ert-deftest aqd-target-directories-of-a-file-that-is-refused-are-removed ()
  (pcase-dolist
      (`(,what ,below ,function)
       `(("text that cannot be written" "one/two/new.txt"
          ,(lambda (_) (setq buffer-file-coding-system 'latin-1-unix)))
         ("a check of the caller's" "one/two/new.txt"
          ,(lambda (review)
             (let ((n 0))
               (setf (agent-q-diff-review-check review)
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
        (aqd-target-accept-new below function)
        (should (equal '("target.txt")
                       (directory-files (file-name-directory aqd-file) nil
                                        directory-files-no-dot-files-regexp)))))))

(ert-deftest aqd-target-directories-that-were-there-stay-when-a-file-is-refused ()
  (aqd-with-file ""
    (let ((one (expand-file-name "one" (file-name-directory aqd-file))))
      (make-directory one)
      (aqd-target-accept-new "one/two/new.txt"
                             (lambda (_)
                               (setq buffer-file-coding-system 'latin-1-unix)))
      (should (directory-empty-p one)))))

(ert-deftest aqd-target-directory-that-others-use-meanwhile-stays ()
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

(ert-deftest aqd-target-new-file-with-crlf-has-crlf ()
  (aqd-with-file ""
    (delete-file aqd-file)
    (should (equal "accepted" (aqd-review "" "a\r\nb\r\n" "a q")))
    (should (equal (aqd-disk) "a\r\nb\r\n"))))

(ert-deftest aqd-target-can-be-emptied ()
  (aqd-with-file aqd-original
    (should (equal "accepted" (aqd-review aqd-original "" "a q")))
    (should (equal (aqd-disk) ""))))

(provide 'agent-q-diff-target-test)
;;; agent-q-diff-target-test.el ends here
