;;; aqd-bench-review.el --- Speed of a review, beside diff-mode  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What happens in Emacs while a proposal is reviewed: it is compared and
;; shown, its hunks are decided one by one or all at once, and the target
;; is edited by others meanwhile.  To be run in an Emacs with a terminal,
;; since what is shown counts.

;;; Code:

(require 'aqd-bench)
(require 'diff)
(require 'diff-mode)
(require 'agent-q-diff-api)

;;;; Diff text

(defun aqd-bench--peer-diff (texts)
  "Return a work that has diff compare files with TEXTS."
  (let ((old (aqd-bench-file "old.txt" (car texts)))
        (new (aqd-bench-file "new.txt" (cdr texts))))
    (aqd-bench-work :run (lambda () (diff-no-select old new nil t)))))

(defun aqd-bench--our-diff (texts)
  "Return a work that puts the diff of TEXTS into a buffer."
  (let ((buffer (get-buffer-create "*aqd-bench diff*" t)))
    (aqd-bench-work
     :run (lambda ()
            (let ((review (agent-q-diff-engine-review (car texts) (cdr texts))))
              (with-current-buffer buffer
                (buffer-disable-undo)
                (erase-buffer)
                (insert (car (agent-q-diff-engine-print review "/tmp/old.txt"))))
              (agent-q-diff-module-free review))))))

(defun aqd-bench-diff-text ()
  "Measure how long it takes to have the text of a diff in a buffer."
  (dolist (is-foreign '(nil t))
    (pcase-dolist (`(,n-lines ,n-hunks ,target)
                   '((1000 10 0.1) (10000 100 0.2) (100000 1000 0.2)))
      (let ((texts (aqd-bench-texts n-lines n-hunks is-foreign)))
        (aqd-bench-compare
         (format "diff text%s, %s : diff-no-select" (if is-foreign ", not ASCII" "")
                 (aqd-bench-name n-lines n-hunks))
         (if is-foreign 1 target)
         (aqd-bench--our-diff texts) (aqd-bench--peer-diff texts)
         :with-garbage 1)))))

;;;; Opening

(defvar aqd-bench--review nil
  "The review that is measured.")

(defun aqd-bench--open (file texts)
  "Open a review of FILE with TEXTS and show its first screen."
  (setq aqd-bench--review
        (agent-q-diff-review file (car texts) (cdr texts) "To be measured" nil))
  (pop-to-buffer-same-window (agent-q-diff-session-buffer aqd-bench--review))
  (redisplay t))

(defun aqd-bench--close ()
  "Cancel all reviews."
  (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews))
  (setq aqd-bench--review nil)
  (delete-other-windows)
  (switch-to-buffer "*scratch*")
  (redisplay t))

(defun aqd-bench--our-opening (texts)
  "Return a work that opens a review of TEXTS, in a file that is visited."
  (let ((file (expand-file-name "target.txt" aqd-bench-directory)))
    (aqd-bench-work
     :before (lambda ()
               (aqd-bench--forget file)
               (find-file-noselect (aqd-bench-file "target.txt" (car texts))))
     :run (lambda () (aqd-bench--open file texts))
     :after #'aqd-bench--close)))

(defun aqd-bench--peer-opening (texts)
  "Return a work that shows the first screen of diff's diff of TEXTS."
  (let ((old (aqd-bench-file "old.txt" (car texts)))
        (new (aqd-bench-file "new.txt" (cdr texts))))
    (aqd-bench-work
     :run (lambda ()
            (pop-to-buffer-same-window (diff-no-select old new nil t))
            (redisplay t))
     :after (lambda ()
              (kill-buffer "*Diff*")
              (redisplay t)))))

(defun aqd-bench--forget (file)
  "Kill the buffer that visits FILE, if there is one."
  (let ((buffer (find-buffer-visiting file)))
    (when buffer
      (with-current-buffer buffer
        (set-buffer-modified-p nil))
      (kill-buffer buffer))))

(defun aqd-bench-opening ()
  "Measure how long it takes until the first screen of a review is complete."
  (pcase-dolist (`(,n-lines ,n-hunks) '((1000 10) (10000 100) (100000 1000)))
    (let ((texts (aqd-bench-texts n-lines n-hunks)))
      (aqd-bench-compare
       (format "opening, %s : diff-no-select, its first screen"
               (aqd-bench-name n-lines n-hunks))
       0.25 (aqd-bench--our-opening texts) (aqd-bench--peer-opening texts))))
  (aqd-bench-compare
   "opening, 100,000 lines, 10,000 hunks : 1,000 hunks" 3
   (aqd-bench--our-opening (aqd-bench-texts 100000 10000))
   (aqd-bench--our-opening (aqd-bench-texts 100000 1000))))

;;;; Keys

(defun aqd-bench--goto (hunk)
  "Move to HUNK of the diff buffer, counted from 0."
  (set-buffer (agent-q-diff-session-buffer aqd-bench--review))
  (agent-q-diff-buffer-goto-hunk hunk))

(defvar aqd-bench--n-files 0
  "Number of files that were made to be reviewed at the same time.")

(defun aqd-bench--ready (texts hunk)
  "Return a function that goes to HUNK of a review of TEXTS.
Both have a file of their own, which is visited."
  (let ((file (aqd-bench-file (format "target-%d.%s" (cl-incf aqd-bench--n-files)
                                      aqd-bench-extension)
                              (car texts))))
    (find-file-noselect file)
    (aqd-bench--open file texts)
    (let ((review aqd-bench--review))
      (setq aqd-bench--review nil)
      (lambda ()
        (setq aqd-bench--review review)
        (switch-to-buffer (agent-q-diff-session-buffer review))
        (aqd-bench--goto hunk)
        (redisplay t)))))

(defconst aqd-bench--keys
  '((accept   agent-q-diff-accept-hunk agent-q-diff-unapply-hunk)
    (reject   agent-q-diff-reject-hunk agent-q-diff-reject-hunk)
    (toggle   agent-q-diff-toggle-hunk agent-q-diff-unapply-hunk)
    (next     agent-q-diff-next-hunk agent-q-diff-previous-hunk))
  "Commands by name, each with one after which it can be measured again.")

(defun aqd-bench--our-key (name texts hunk)
  "Return a work that does the command NAME at HUNK of a review of TEXTS.
It includes the command that takes it back."
  (pcase-let ((`(,command ,back) (alist-get name aqd-bench--keys)))
    (aqd-bench-work
     :n 20
     :before (aqd-bench--ready texts hunk)
     :run (lambda ()
            (funcall command)
            (funcall back)))))

(defun aqd-bench--our-accepting (texts hunk)
  "Return a work that accepts HUNK, one in the middle, of a review of TEXTS."
  (let ((before (aqd-bench--ready texts hunk))
        (n 10))
    (aqd-bench-work
     :n n :before before
     :run (lambda () (agent-q-diff-accept-hunk t))
     :after (lambda ()
              (dotimes (step n)
                (aqd-bench--goto (+ hunk step))
                (agent-q-diff-unapply-hunk))))))

(defun aqd-bench--goto-peer (hunk)
  "Move to HUNK of the diff that diff made."
  (switch-to-buffer "*Diff*")
  (goto-char (point-min))
  (re-search-forward "^@@" nil nil (1+ hunk)))

(defun aqd-bench--peer-ready (texts)
  "Have a diff of TEXTS in diff-mode that can be applied to a file."
  (let ((old (aqd-bench-file "peer.txt" (car texts)))
        (new (aqd-bench-file "new.txt" (cdr texts))))
    (aqd-bench--forget old)
    (find-file-noselect old)
    (switch-to-buffer (diff-no-select old new nil t))
    ;; Else it would look for the hunks there.
    (delete-file new)
    (aqd-bench--goto-peer 0)
    (redisplay t)))

(defun aqd-bench--peer-accepting (texts hunk)
  "Return a work that applies HUNK of TEXTS as diff-mode does."
  (aqd-bench-work
   :before (lambda ()
             (aqd-bench--peer-ready texts)
             (aqd-bench--goto-peer hunk))
   :run #'diff-apply-hunk))

(defun aqd-bench-accepting ()
  "Measure how long one hunk takes to accept."
  (pcase-dolist (`(,n-lines ,n-hunks ,target) '((10000 100 0.4) (100000 1000 0.12)))
    (let ((texts (aqd-bench-texts n-lines n-hunks)))
      (aqd-bench-compare
       (format "accept, %s, in the middle : diff-apply-hunk"
               (aqd-bench-name n-lines n-hunks))
       target
       (aqd-bench--our-accepting texts (/ n-hunks 2))
       (aqd-bench--peer-accepting texts (/ n-hunks 2)))
      (aqd-bench--close))))

(defun aqd-bench-keys ()
  "Measure whether keys take longer where there is more."
  (let ((few (aqd-bench-texts 100000 10))
        (many (aqd-bench-texts 100000 10000))
        (small (aqd-bench-texts 1000 10)))
    (dolist (name '(accept reject toggle next))
      (let ((with (lambda (texts hunk) (aqd-bench--our-key name texts hunk))))
        (aqd-bench-compare (format "%s and back, 10,000 hunks : 10 hunks" name) 2
                           (funcall with many 5000) (funcall with few 5))
        (aqd-bench-compare (format "%s and back, last : first of 10,000 hunks" name)
                           1.5
                           (funcall with many 9998) (funcall with many 0))
        (aqd-bench-compare (format "%s and back, 100,000 : 1,000 lines" name) 2
                           (funcall with few 5) (funcall with small 5)))))
  (aqd-bench--close))

;;;; Growth

(defun aqd-bench--peer-key (texts hunk)
  "Return a work that applies HUNK of TEXTS as diff-mode does, and takes it back."
  (aqd-bench-work
   :before (lambda ()
             (aqd-bench--peer-ready texts)
             (aqd-bench--goto-peer hunk))
   :run (lambda ()
          (diff-apply-hunk)
          (aqd-bench--goto-peer hunk)
          (diff-apply-hunk t))))

(defun aqd-bench-growth ()
  "Measure how the last hunk's key grows with hunks and with lines, to be plotted."
  (let ((diff-advance-after-apply-hunk nil))
    (pcase-dolist (`(,n-lines ,n-hunks)
                   '((100000 1) (100000 10) (100000 100) (100000 1000) (100000 10000)
                     (100 10) (1000 10) (10000 10)))
      (let ((texts (aqd-bench-texts n-lines n-hunks)))
        (aqd-bench-compare
         (format "accept the last hunk and back, %s : diff-apply-hunk"
                 (aqd-bench-name n-lines n-hunks))
         nil
         (aqd-bench--our-key 'accept texts (1- n-hunks))
         (aqd-bench--peer-key texts (1- n-hunks))
         :rounds 5)
        (aqd-bench--close)))))

;;;; One after the other, and all at once

(defun aqd-bench--fresh-review (texts)
  "Have TEXTS under review, in a file that is visited, at the first hunk."
  (let ((file (aqd-bench-file "target.txt" (car texts))))
    (aqd-bench--close)
    (aqd-bench--forget file)
    (find-file-noselect file)
    (aqd-bench--open file texts)
    (aqd-bench--goto 0)))

(defun aqd-bench--our-one-by-one (texts n-hunks)
  "Return a work that accepts the N-HUNKS of TEXTS one by one."
  (aqd-bench-work
   :before (lambda () (aqd-bench--fresh-review texts))
   :run (lambda ()
          (dotimes (_ n-hunks)
            (agent-q-diff-accept-hunk t)))
   :after #'aqd-bench--close))

(defun aqd-bench--our-all (texts)
  "Return a work that accepts all hunks of TEXTS at once and finishes."
  (aqd-bench-work
   :before (lambda () (aqd-bench--fresh-review texts))
   :run #'agent-q-diff-accept-all
   :after #'aqd-bench--close))

(defun aqd-bench--peer-loop (texts n-hunks)
  "Return a work that applies the N-HUNKS of TEXTS as diff-mode does."
  (aqd-bench-work
   :before (lambda () (aqd-bench--peer-ready texts))
   :run (lambda ()
          (dotimes (_ n-hunks)
            (diff-apply-hunk)))))

(defun aqd-bench-many ()
  "Measure accepting many hunks, one by one and all at once."
  (pcase-dolist (`(,n-lines ,n-hunks ,target-each ,target-all)
                 (append '((10000 100 nil 0.08))
                         (unless aqd-bench-quick
                           '((10000 1000 nil nil) (100000 1000 0.12 0.007)))))
    (let* ((texts (aqd-bench-texts n-lines n-hunks))
           (name (aqd-bench-name n-lines n-hunks))
           (rounds (if (= n-hunks 100) 5 3))
           (peer (aqd-bench--peer-loop texts n-hunks)))
      (aqd-bench-compare (format "accept one by one, %s : loop of diff-apply-hunk" name)
                         target-each (aqd-bench--our-one-by-one texts n-hunks) peer
                         :rounds rounds)
      (aqd-bench-compare (format "accept all, %s : loop of diff-apply-hunk" name)
                         target-all (aqd-bench--our-all texts) peer
                         :rounds rounds)))
  (aqd-bench-compare "accept all, 5,000 hunks : 1,000 hunks" 7
                     (aqd-bench--our-all (aqd-bench-texts 100000 5000))
                     (aqd-bench--our-all (aqd-bench-texts 100000 1000))))

;;;; Edits by others

(defun aqd-bench--edit (file n-lines is-told)
  "Change a line in the middle of FILE, of N-LINES lines.
Change hooks are told of it if IS-TOLD is non-nil."
  (with-current-buffer (find-buffer-visiting file)
    (goto-char (point-min))
    (forward-line (+ 2 (/ n-lines 2)))
    (let ((inhibit-modification-hooks (not is-told)))
      (insert "x"))))

(defun aqd-bench--our-next-command (texts n-lines is-told)
  "Return a work that does a command after an edit by somebody else.
TEXTS of N-LINES lines are under review; IS-TOLD is as above."
  (let ((file (aqd-bench-file (format "told-%d.txt" (cl-incf aqd-bench--n-files))
                              (car texts)))
        review)
    (find-file-noselect file)
    (aqd-bench--open file texts)
    (setq review aqd-bench--review)
    (aqd-bench-work
     :before (lambda ()
               (setq aqd-bench--review review)
               (aqd-bench--goto 2)
               (aqd-bench--edit file n-lines is-told))
     :run #'agent-q-diff-signs-follow)))

(defun aqd-bench--peer-comparison (texts)
  "Return a work that takes the text of a buffer and compares its bytes.
The buffer has the first of TEXTS."
  (let ((buffer (generate-new-buffer "compared")))
    (with-current-buffer buffer
      (insert (car texts)))
    (aqd-bench-work
     :run (lambda ()
            (with-current-buffer buffer
              (string= (buffer-substring-no-properties (point-min) (point-max))
                       (car texts)))))))

(defun aqd-bench--our-typing (texts n-lines)
  "Return a work that types a character into a target of N-LINES lines.
TEXTS are under review, so that somebody listens."
  (let ((work (aqd-bench--our-next-command texts n-lines t)))
    (aqd-bench-work
     :n 20
     :before (aqd-bench-work-before work)
     :run (lambda ()
            (with-current-buffer (agent-q-diff-file-change-buffer (agent-q-diff-session-file aqd-bench--review))
              (insert "x"))))))

(defun aqd-bench-outside ()
  "Measure what edits by others cost."
  (let ((texts (aqd-bench-texts 100000 1000))
        (few (aqd-bench-texts 100000 10))
        (small (aqd-bench-texts 1000 10)))
    (aqd-bench-compare
     "next command after an edit that was told, 100,000 lines : comparing" 2
     (aqd-bench--our-next-command texts 100000 t) (aqd-bench--peer-comparison texts))
    (aqd-bench-compare
     "next command after an edit that was missed, 100,000 lines : comparing" 8
     (aqd-bench--our-next-command texts 100000 nil)
     (aqd-bench--peer-comparison texts))
    (aqd-bench-compare
     "typing a character in the target, 100,000 : 1,000 lines" 2
     (aqd-bench--our-typing few 100000) (aqd-bench--our-typing small 1000))
    (aqd-bench-compare
     "typing a character in the target, 1,000 : 10 hunks" nil
     (aqd-bench--our-typing texts 100000) (aqd-bench--our-typing few 100000)))
  (aqd-bench--close))

(provide 'aqd-bench-review)
;;; aqd-bench-review.el ends here
