;;; agent-q-diff-file-change-test.el --- The file that a review changes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

;;; The target

(ert-deftest aqd-file-change-what-was-erased-is-not-in-the-file ()
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

(ert-deftest aqd-file-change-target-saved-as-another-file-is-left-alone ()
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

(ert-deftest aqd-file-change-a-new-path-is-the-target-from-then-on ()
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

;;;; Texts that are no files

(ert-deftest aqd-file-change-detached-is-checked-before-each-edit-too ()
  (let* ((is-refused nil)
         (review (agent-q-diff-review "/nowhere/a" "a\nb\nc\n" "A\nb\nC\n" "d" #'ignore
                                      :detached t
                                      :check (lambda ()
                                               (when is-refused
                                                 (agent-q-diff-file-refuse "not any more"))))))
    (agent-q-diff-accept review 0)
    (setq is-refused t)
    (should-error (agent-q-diff-unapply review 0) :type 'agent-q-diff-bad-target)
    (agent-q-diff-cancel review)))

(ert-deftest aqd-file-change-detached-writes-nothing-and-returns-the-text ()
  (let ((aqd-answers nil))
    (aqd-with-file "on disk\n"
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two :detached t)))
        (should-not (find-buffer-visiting aqd-file))
        (agent-q-diff-accept review 0)
        (should (equal (aqd-disk) "on disk\n"))
        (agent-q-diff-end review)
        (should (equal (aqd-answer :status :content :saved)
                       (list 'partial (aqd-numbered 30 '((5 . "five"))) nil)))
        (should-not (seq-find (lambda (buffer)
                                (string-prefix-p "*Agent-Q Content"
                                                 (buffer-name buffer)))
                              (buffer-list))))
      (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two :detached t)))
        (setq aqd-answers nil)
        (kill-buffer (aqd-target-of review))
        (aqd-in-diff review
          (should-not (agent-q-diff-accept-hunk))
          (agent-q-diff-finish))
        (should (equal (aqd-answer :status) '(stale))))
      (aqd-should-leave-nothing))))

;;;; Large files

(defconst aqd-file-change-original (aqd-numbered 60)
  "A text.")

(defconst aqd-file-change-modified
  (aqd-numbered 60 '((5 . "  line 5") (30 . "line 30 ") (55 . "other")))
  "What is proposed for it: three hunks, of which two change white space only.")

(defmacro aqd-file-change-with-large-file (&rest body)
  "Run BODY with `review', of a file that counts as large and is not visited."
  (declare (indent 0) (debug t))
  `(let ((aqd-answers nil)
         (agent-q-diff-file-change--large 100))
     (aqd-with-file aqd-file-change-original
       (let ((review (aqd-begin-review aqd-file-change-original aqd-file-change-modified)))
         (should-not (find-buffer-visiting aqd-file))
         ,@body)
       (aqd-should-leave-nothing))))

(ert-deftest aqd-file-change-a-large-file-is-visited-when-it-is-decided ()
  (aqd-file-change-with-large-file
    (agent-q-diff-accept review 2)
    (should (equal (aqd-disk) (aqd-numbered 60 '((55 . "other")))))
    (agent-q-diff-end review)
    (should (equal (aqd-answer :status :saved :content) (list 'partial t (aqd-disk))))))

(ert-deftest aqd-file-change-a-large-file-that-nobody-decides-is-not-visited ()
  (let ((agent-q-diff-reviews--kept-characters 300))
    (aqd-file-change-with-large-file
      (agent-q-diff-reject review 1)
      (agent-q-diff-end review)
      (should-not (find-buffer-visiting aqd-file))
      (should (equal (aqd-answer :status :saved :content)
                     (list 'rejected t aqd-file-change-original)))
      ;; It is too large to be kept all the same.
      (should-not (agent-q-diff-past-reviews)))))

(ert-deftest aqd-file-change-hunks-of-a-file-visited-for-them-are-one-undo-step ()
  (aqd-file-change-with-large-file
    (let ((agent-q-diff-white-space-free '("txt")))
      (aqd-in-diff review
        (agent-q-diff-accept-white-space)))
    (should (equal (aqd-disk) (aqd-numbered 60 '((5 . "  line 5") (30 . "line 30 ")))))
    (with-current-buffer (find-buffer-visiting aqd-file)
      (undo-boundary)
      (undo)
      (should (equal (buffer-string) aqd-file-change-original)))
    (agent-q-diff-cancel review)))

(ert-deftest aqd-file-change-the-outcome-of-a-large-file-is-in-its-mode ()
  (let ((auto-mode-alist '(("target" . emacs-lisp-mode))))
    (aqd-file-change-with-large-file
      (save-window-excursion
        (aqd-in-diff review
          (agent-q-diff-show-outcome))
        (with-current-buffer agent-q-diff-outcome--buffer-name
          (should (derived-mode-p 'emacs-lisp-mode))))
      (agent-q-diff-cancel review))))

(ert-deftest aqd-file-change-a-file-that-is-lost-while-no-buffer-visits-it-stays-lost ()
  "Nothing is written, or said to be, and it is not a rejection by the user.
The file was not visited yet, or its buffer was killed."
  (pcase-dolist (`(,what . ,lose)
                 `(("deleted" . ,#'delete-file)
                   ("a directory" . ,(lambda (file) (delete-file file) (make-directory file)))
                   ("a link" . ,(lambda (file)
                                  (rename-file file (concat file ".other"))
                                  (make-symbolic-link (concat file ".other") file)))))
    (pcase-dolist (`(,way . ,is-killed) (mapcan (lambda (way) (list (list way) (cons way t)))
                                                '(accept accept-all reject)))
      (ert-info ((format "%s, %s, %s" what way is-killed))
        (let ((aqd-answers nil)
              (inhibit-message t)
              (agent-q-diff-file-change--large (if is-killed most-positive-fixnum 100)))
          (aqd-with-file aqd-file-change-original
            ;; A line at the end would go into an empty file as well.
            (let ((review (aqd-begin-review aqd-file-change-original
                                            (concat aqd-file-change-original "end\n"))))
              (when is-killed
                (kill-buffer (aqd-target-of review)))
              (funcall lose aqd-file)
              (aqd-in-diff review
                (pcase way
                  ('accept (agent-q-diff-accept-hunk) (agent-q-diff-accept-hunk))
                  ('accept-all (agent-q-diff-accept-all))
                  ('reject (agent-q-diff-reject-hunk)))
                (ignore-errors (agent-q-diff-finish)))
              (should-not (and (file-regular-p aqd-file)
                               (string-search "end" (aqd-disk))))
              (unless aqd-answers
                (agent-q-diff-cancel review))
              (should-not (plist-get (car aqd-answers) :saved))
              (should (= 0 (plist-get (car aqd-answers) :in-file)))
              (unless (eq way 'reject)
                (should-not (eq 'rejected (plist-get (car aqd-answers) :status)))))
            (if (file-directory-p aqd-file)
                (delete-directory aqd-file))))))))

(ert-deftest aqd-file-change-what-was-applied-and-then-lost-is-not-said-to-be-there ()
  (let ((aqd-answers nil))
    (aqd-with-file aqd-file-change-original
      (let ((review (aqd-begin-review aqd-file-change-original
                                      (concat aqd-file-change-original "end\n"))))
        (agent-q-diff-accept review 0)
        (kill-buffer (aqd-target-of review))
        (delete-file aqd-file)
        (agent-q-diff-end review)
        (should (eq 'stale (plist-get (car aqd-answers) :status)))
        (should (= 0 (plist-get (car aqd-answers) :in-file)))
        (should-not (plist-get (car aqd-answers) :saved))
        (should-not (string-search "buffer" (plist-get (car aqd-answers) :message)))
        (should (string-search "was deleted" (plist-get (car aqd-answers) :message)))))))

(ert-deftest aqd-file-change-a-buffer-that-is-visited-again-is-compared-anew ()
  "Its tick can be that of the buffer that was killed, and its size as well."
  (let ((aqd-answers nil)
        (other (aqd-numbered 60 '((5 . "mine 5")))))
    (aqd-with-file (aqd-numbered 60)
      (let ((review (aqd-begin-review (aqd-numbered 60)
                                      (aqd-numbered 60 '((5 . "LINE 5"))))))
        (kill-buffer (aqd-target-of review))
        (aqd-write other)
        (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-conflict)
        (should (equal other (aqd-disk)))
        (agent-q-diff-end review)
        (should (equal other (plist-get (car aqd-answers) :content)))))))

(ert-deftest aqd-file-change-a-hook-that-edits-meanwhile-is-refused ()
  "The next edit would be in the wrong place."
  (let ((original (aqd-numbered 60))
        (modified (aqd-numbered 60 '((5 . "five") (7 . "seven") (50 . "fifty")))))
    (dolist (hook '(first-change-hook before-change-functions after-change-functions))
      (dolist (way '(one all))
        (ert-info ((format "%s, %s" hook way))
          (let ((aqd-answers nil))
            (aqd-with-file original
              (let ((review (aqd-begin-review original modified)))
                (with-current-buffer (aqd-target-of review)
                  (add-hook hook (lambda (&rest _)
                                   (unless undo-in-progress
                                     (save-excursion
                                       (goto-char (point-min))
                                       (insert ";; edited\n"))))
                            nil t))
                (should-error (pcase way
                                ('one (agent-q-diff-accept review 0))
                                ('all (aqd-in-diff review
                                        (agent-q-diff-accept-all)
                                        (error "Refused"))))
                              :type (if (eq way 'one) 'agent-q-diff-bad-target 'error))
                (should (equal original (aqd-disk)))
                (should (equal original (aqd-target)))
                (agent-q-diff-cancel review)
                (should (= 0 (plist-get (car aqd-answers) :in-file)))))))))))

(ert-deftest aqd-file-change-the-text-of-a-large-file-is-returned-in-any-script ()
  (let ((agent-q-diff-file-change--large 100)
        (aqd-answers nil)
        (text (concat "\ud55c\uad6d\uc5b4\n" aqd-file-change-original)))
    (aqd-with-file text
      (let ((review (aqd-begin-review text (concat text "new\n"))))
        (should-not (find-buffer-visiting aqd-file))
        (agent-q-diff-reject review 0)
        (agent-q-diff-end review)
        (should (equal (aqd-answer :content :saved) (list text t)))))))

(ert-deftest aqd-file-change-a-large-file-certainly-has-the-text-or-is-visited ()
  (cl-flet ((bytes (text coding) (encode-coding-string text coding)))
    (let ((text aqd-file-change-original)
          (accents (concat "\u00e9\n" aqd-file-change-original))
          (declared (concat "-*- coding: latin-1 -*-\n" aqd-file-change-original)))
      (pcase-dolist
          (`(,what ,bytes ,original ,is-visited)
           `(("the same text" ,text ,text nil)
             ("other letters" ,(bytes accents 'utf-8) ,accents nil)
             ("a word of a declaration" ,(concat "no coding here\n" text)
              ,(concat "no coding here\n" text) nil)
             ("a letter more" ,(concat text "x") ,text t)
             ("a letter less" ,(substring text 0 -1) ,text t)
             ("another letter" ,(string-replace "line 9" "Line 9" text) ,text t)
             ("another coding system" ,(bytes accents 'latin-1) ,accents t)
             ("a declaration" ,declared ,declared t)
             ("CRLF in the file" ,(bytes text 'utf-8-dos) ,text t)
             ("CRLF in both" ,(bytes text 'utf-8-dos) ,(bytes text 'utf-8-dos) t)
             ("a byte order mark" ,(bytes text 'utf-8-with-signature-unix) ,text t)))
        (ert-info (what)
          (let ((agent-q-diff-file-change--large 100))
            (aqd-with-file ""
              (aqd-put-bytes bytes aqd-file)
              (let ((review (agent-q-diff-review aqd-file original
                                                 (string-replace "line 30" "LINE 30" original)
                                                 "A test." #'ignore)))
                (should (eq is-visited (and (find-buffer-visiting aqd-file) t)))
                (agent-q-diff-accept review 0)
                (should (equal (aqd-bytes-of aqd-file)
                               (string-replace "line 30" "LINE 30" bytes)))
                (agent-q-diff-unapply review 0)
                (should (equal (aqd-bytes-of aqd-file) bytes))
                (agent-q-diff-cancel review)))))))))

(provide 'agent-q-diff-file-change-test)
;;; agent-q-diff-file-change-test.el ends here
