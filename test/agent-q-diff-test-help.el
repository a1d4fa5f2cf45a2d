;;; agent-q-diff-test-help.el --- What the suites share  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Files, reviews and keys for tests.  A test says what the file holds, what
;; the agent proposes and which keys the user presses, and looks at the
;; answer and the file.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff)
(require 'agent-q-diff-tools)
(require 'sly-agent-q-diff)

;; Tests leave nothing in the log of whoever runs them.
(setq agent-q-diff-log-file nil)

(defvar aqd-file nil
  "Name of the file of the test that runs.")

(defun aqd-disk ()
  "Return the bytes of the test's file as a unibyte string."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally aqd-file)
    (buffer-string)))

(defun aqd-write (text)
  "Make TEXT, written as UTF-8, what the test's file holds."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region text nil aqd-file nil 'silent)))

(defun aqd-visit ()
  "Return the buffer that visits the test's file."
  (let ((enable-local-variables nil))
    (find-file-noselect aqd-file)))

(defun aqd--clean-up ()
  "Kill what a test has left."
  (dolist (buffer (buffer-list))
    (when (or (equal (buffer-file-name buffer) aqd-file)
              (string-prefix-p agent-q-diff-buffer-name (buffer-name buffer))
              (buffer-local-value 'agent-q-diff-edit-mode buffer))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (let ((kill-buffer-query-functions nil))
          (kill-buffer)))))
  (setq unread-command-events nil)
  (delete-directory (file-name-directory aqd-file) t))

(defmacro aqd-with-file (text &rest body)
  "Run BODY with a file that holds TEXT as `aqd-file', then remove it."
  (declare (indent 1) (debug t))
  `(let* ((aqd-file (expand-file-name "target.txt"
                                      (make-temp-file "agent-q-diff-test" t)))
          (backup-inhibited t)
          (create-lockfiles nil))
     (aqd-write ,text)
     (unwind-protect (progn ,@body)
       (aqd--clean-up))))

(defun aqd-press (keys)
  "Press KEYS, in the syntax of `kbd', in the current buffer."
  (execute-kbd-macro (kbd keys)))

(defun aqd-play (keys function)
  "Call FUNCTION as a command, press KEYS, and return its answer.
An error or a quit is returned as `condition-case' binds it."
  (let ((answer 'none)
        (old (lookup-key global-map [f5])))
    (global-set-key [f5] (lambda ()
                           (interactive)
                           (setq answer (condition-case err
                                            (funcall function)
                                          ((error quit) err)))))
    (unwind-protect (aqd-press (concat "<f5> " keys))
      (global-set-key [f5] old))
    answer))

(defun aqd-review (original modified keys)
  "Propose ORIGINAL to MODIFIED for the test's file and press KEYS.
Return \"accepted\", \"rejected\" or the error."
  (aqd-play keys (lambda ()
                   (sly-agent-q-show-diff-and-wait aqd-file original modified
                                                   "A test."))))

(defun aqd-result (original modified keys)
  "Like `aqd-review' with ORIGINAL, MODIFIED and KEYS, but return the plist."
  (aqd-play keys (lambda ()
                   (agent-q-diff-review-and-wait aqd-file original modified
                                                 "A test."))))

(defun aqd-call (original modified function)
  "Propose ORIGINAL to MODIFIED, with FUNCTION in place of the user.
FUNCTION is called in the diff buffer."
  (cl-letf (((symbol-function 'recursive-edit) function))
    (sly-agent-q-show-diff-and-wait aqd-file original modified "A test.")))

(defmacro aqd-with-diff (diff &rest body)
  "Run BODY in a temporary buffer with DIFF, typed by hand, in Agent-Q's mode."
  (declare (indent 1) (debug t))
  `(with-temp-buffer
     (insert ,diff)
     (sly-agent-q-diff-mode)
     (setq sly-agent-q-diff--path aqd-file)
     (goto-char (point-min))
     ,@body))

(defun aqd-goto-hunk (n)
  "Move to the `@@' line of the Nth hunk, counted from 1, and return it."
  (goto-char (point-min))
  (re-search-forward "^@@" nil nil n)
  (beginning-of-line)
  (point))

(defun aqd-lines (&rest lines)
  "Return LINES, each ended by a newline, as one string."
  (mapconcat (lambda (line) (concat line "\n")) lines ""))

(defun aqd-numbered (n &optional changes)
  "Return N lines \"line 1\" to \"line N\"; CHANGES is an alist of others.
A change to nil leaves the line out."
  (cl-loop for number from 1 to n
           for change = (assq number changes)
           concat (cond
                   ((null change) (format "line %d\n" number))
                   ((cdr change) (concat (cdr change) "\n"))
                   (t ""))))

(defun aqd-signs ()
  "Return the signs that the current diff buffer shows, in order.
It is a list of (HUNK-NUMBER . SIGN)."
  (let (signs)
    (save-excursion
      (goto-char (point-min))
      (let ((hunk 0))
        (while (re-search-forward "^@@" nil t)
          (cl-incf hunk)
          (dolist (overlay (overlays-at (line-beginning-position)))
            (when-let ((sign (overlay-get overlay 'before-string)))
              (push (cons hunk (string-trim (substring-no-properties sign)))
                    signs))))))
    (nreverse signs)))

(defun aqd-progress ()
  "Return the progress line of the current buffer up to the bar."
  (save-excursion
    (goto-char (point-min))
    (and (re-search-forward "^Progress: \\(.*?\\)  |" nil t)
         (match-string 1))))

(defun aqd-diff-buffer ()
  "Return the diff buffer of the latest review."
  (get-buffer agent-q-diff-buffer-name))

(defmacro aqd-said (&rest body)
  "Run BODY and return the last message that it gave."
  (declare (indent 0) (debug t))
  `(let (said)
     (cl-letf (((symbol-function 'message)
                (lambda (format &rest arguments)
                  (setq said (and format (apply #'format format arguments))))))
       ,@body)
     said))

(defmacro aqd-with-review (original modified &rest body)
  "Run BODY in the diff buffer of a review of ORIGINAL becoming MODIFIED."
  (declare (indent 2) (debug t))
  `(aqd-with-file ,original
     (aqd-call ,original ,modified
               (lambda ()
                 ,@body
                 (agent-q-diff-reject-all)))))

(defmacro aqd-with-shown-review (original modified &rest body)
  "Run BODY as `aqd-with-review' does, in a window and at the first hunk.
ORIGINAL and MODIFIED are the texts."
  (declare (indent 2) (debug t))
  `(aqd-with-review ,original ,modified
     (pop-to-buffer (current-buffer))
     (aqd-goto-hunk 1)
     ,@body))

(defmacro aqd-in-target (&rest body)
  "Run BODY in the target's buffer."
  (declare (indent 0) (debug t))
  `(with-current-buffer (find-buffer-visiting aqd-file)
     (goto-char (point-min))
     ,@body))

(defun aqd-target ()
  "Return the text of the target's buffer."
  (aqd-in-target (buffer-string)))

(defun aqd-accept (n)
  "Accept the Nth hunk, counted from 1, and return what was said."
  (aqd-goto-hunk n)
  (agent-q-diff-accept-hunk))

(defun aqd-sign (n)
  "Return the sign of the Nth hunk, counted from 1, or nil."
  (agent-q-diff-signs-review-with-target)
  (alist-get n (aqd-signs)))

(defconst aqd-edit-original (aqd-lines "1" "2" "b" "c" "3" "4")
  "A file.")

(defconst aqd-edit-modified (aqd-lines "1" "2" "b2" "c2" "3" "4")
  "What is proposed for it.")

(defun aqd-choose (from to)
  "Make the lines from the one that is FROM up to the one that is TO the region."
  (goto-char (point-min))
  (re-search-forward (format "^%s$" (regexp-quote to)))
  (push-mark (line-beginning-position) t t)
  (goto-char (point-min))
  (re-search-forward (format "^%s$" (regexp-quote from)))
  (exchange-point-and-mark)
  (push-mark (save-excursion (goto-char (mark)) (line-beginning-position)) t t)
  (goto-char (line-end-position))
  (setq transient-mark-mode t))

(defun aqd-hunks ()
  "Return the lines of the hunks of the current diff buffer."
  (goto-char (point-min))
  (re-search-forward "^@@")
  (split-string (buffer-substring-no-properties (line-beginning-position)
                                                (point-max))
                "\n" t))

(defmacro aqd-in-small-buffer (&rest body)
  "Run BODY in the buffer in which a hunk is edited."
  (declare (indent 0) (debug t))
  `(with-current-buffer (aqd-small-buffer)
     ,@body))

(defun aqd-small-buffer ()
  "Return the buffer in which a hunk is edited, or nil."
  (seq-find (lambda (buffer)
              (buffer-local-value 'agent-q-diff-edit-mode buffer))
            (buffer-list)))

(defun aqd-retype (old new)
  "Replace the text OLD of the current buffer by NEW."
  (goto-char (point-min))
  (search-forward old)
  (replace-match new t t))

(defconst aqd-merge-mine (aqd-lines "1" "2" "mine" "c" "3" "4")
  "What the user has made of the file meanwhile.")

(defmacro aqd-with-conflict (&rest body)
  "Run BODY in the diff buffer of a review whose only hunk does not apply."
  (declare (indent 0) (debug t))
  `(aqd-with-review aqd-edit-original aqd-edit-modified
     (aqd-in-target (forward-line 2) (delete-char 1) (insert "mine") (save-buffer))
     (should (equal (aqd-sign 1) "[DOES NOT APPLY]"))
     ,@body))

;;;; Reviews that nobody waits for

(defvar aqd-answers nil
  "The results that callbacks were called with, the latest first.")

(defun aqd-async (original modified &rest keys)
  "Begin a review of ORIGINAL becoming MODIFIED, with KEYS; return it."
  (apply #'agent-q-diff-review aqd-file original modified "A test."
         (lambda (result) (push result aqd-answers))
         keys))

(defmacro aqd-with-async (original modified &rest body)
  "Run BODY with `review', a review of ORIGINAL becoming MODIFIED."
  (declare (indent 2) (debug t))
  `(let ((aqd-answers nil))
     (aqd-with-file ,original
       (let ((review (aqd-async ,original ,modified)))
         (should-not aqd-answers)
         ,@body)
       (aqd-should-leave-nothing))))

(defun aqd-should-leave-nothing ()
  "Check that no review is open and nothing of one is left."
  (should-not (agent-q-diff-open-reviews))
  (should-not (memq agent-q-diff-reviews-mode-line global-mode-string))
  (should-not (memq #'agent-q-diff-session--emacs-killed kill-emacs-hook))
  (should-not (memq #'agent-q-diff-session--query-kill-emacs kill-emacs-query-functions))
  (should-not agent-q-diff-reviews-waiting))

(defun aqd-answer (&rest keys)
  "Return the values of KEYS in the only result that was given."
  (should (= 1 (length aqd-answers)))
  (mapcar (lambda (key) (plist-get (car aqd-answers) key)) keys))

(defmacro aqd-in-diff (review &rest body)
  "Run BODY in the diff buffer of REVIEW."
  (declare (indent 1) (debug t))
  `(with-current-buffer (agent-q-diff-review-buffer ,review)
     ,@body))

(defconst aqd-async-original (aqd-numbered 30)
  "A file.")

(defconst aqd-async-modified (aqd-numbered 30 '((5 . "five") (25 . "x")))
  "What is proposed for it.")

;;;; Another Emacs

(defconst aqd-lisp-directory (file-name-directory (locate-library "agent-q-diff"))
  "Directory of the Lisp files under test.")

(defun aqd-in-fresh-emacs (form)
  "Evaluate FORM in a new batch Emacs and return what it prints.
The engine's Lisp is loaded there, and nothing else of ours."
  (with-temp-buffer
    (call-process (expand-file-name invocation-name invocation-directory)
                  nil t nil "-Q" "--batch" "-L" aqd-lisp-directory
                  "-l" "agent-q-diff-engine" "--eval"
                  (format "(princ %s)" (prin1-to-string form)))
    (buffer-string)))

(provide 'agent-q-diff-test-help)
;;; agent-q-diff-test-help.el ends here
