;;; agent-q-diff-test-help.el --- What the suites share  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Files, reviews and keys for tests.  A test says what the file holds, what
;; the agent proposes and which keys the user presses, and looks at the
;; answer and the file.
;;
;; The helpers by section, as `make map' writes them:
;;
;; The test's file
;;   aqd-file aqd-bytes-of aqd-put-bytes aqd-disk aqd-write aqd-visit
;;   aqd-remove-tree aqd-with-file aqd-in-target aqd-target
;; Texts
;;   aqd-lines aqd-numbered
;; Keys, messages, warnings and errors
;;   aqd-press aqd-rows-of aqd-play aqd-said aqd-do-all aqd-warned
;;   aqd-fail
;; Reviews that a caller waits for
;;   aqd-review aqd-result aqd-call aqd-with-review aqd-with-shown-review
;; The diff buffer
;;   aqd-diff-buffer aqd-goto-hunk aqd-accept aqd-choose aqd-split-sides
;;   aqd-hunks aqd-signs aqd-sign aqd-progress
;; Windows
;;   aqd-with-frame aqd-shown aqd-with-shown-diff
;; Proposals of one hunk, of two, and of three
;;   aqd-original aqd-modified aqd-original-of-two aqd-modified-of-two
;;   aqd-original-of-three aqd-modified-of-three aqd-with-forty-lines
;;   aqd-forty-lines aqd-call-with-three aqd-three aqd-three-with
;;   aqd-review-three
;; A proposal of a few letters
;;   aqd-letters-original aqd-letters-modified aqd-letters-mine
;; A proposal for a file of Emacs Lisp
;;   aqd-elisp-original aqd-elisp-modified aqd-with-elisp-review
;; The buffer in which a hunk is edited
;;   aqd-small-buffer aqd-in-small-buffer aqd-retype
;; Real clients
;;   aqd-load-client
;; The manual
;;   aqd-manual-node aqd-manual-code
;; Reviews that no caller waits for
;;   aqd-answers aqd-begin-review aqd-begin-review-telling
;;   aqd-with-open-review aqd-should-leave-nothing aqd-answer aqd-in-diff
;;   aqd-signs-of aqd-target-of aqd-check-with
;; Diffs written by hand
;;   aqd-with-diff aqd-bare-diff-of-one aqd-bare-diff-of-two
;;   aqd-hand-written-diff aqd-with-patch-review
;; A diff that fits several places
;;   aqd-equal-blocks aqd-equal-blocks-diff aqd-equal-blocks-with-line-in
;; Targets that refuse, and their bytes
;;   aqd-target-refuses aqd-target-bytes
;; The log
;;   aqd-with-log-file aqd-sample-log-entry
;; Another Emacs
;;   aqd-lisp-directory aqd-in-fresh-emacs
;; What an agent reads
;;   aqd-propose-and-press
;; Messages that many tests expect
;;   aqd-nothing-pending aqd-look-again aqd-left-undecided aqd-no-decision
;;   aqd-not-run

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff)
(require 'agent-q-diff-log)
(require 'agent-q-diff-tools)
(require 'sly-agent-q-diff)

;; Tests must not write to the log of the user who runs them.
(setq agent-q-diff-log-file nil)

;;;; The test's file

(defvar aqd-file nil
  "Name of the current test's file.")

(defun aqd--clean-up ()
  "Kill the buffers and remove the files that a test has left."
  (dolist (buffer (buffer-list))
    (when (or (equal (buffer-file-name buffer) aqd-file)
              (string-prefix-p "*Agent-Q Diff" (buffer-name buffer))
              (buffer-local-value 'agent-q-diff-edit-mode buffer))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (let ((kill-buffer-query-functions nil))
          (kill-buffer)))))
  (setq unread-command-events nil)
  (delete-directory (file-name-directory aqd-file) t))

(defun aqd-bytes-of (name)
  "Return the bytes of the file NAME."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally name)
    (buffer-string)))

(defun aqd-put-bytes (bytes name)
  "Write BYTES to the file NAME."
  (let ((coding-system-for-write 'no-conversion))
    (write-region bytes nil name nil 'silent)))

(defun aqd-disk ()
  "Return the bytes of the test's file as a unibyte string."
  (aqd-bytes-of aqd-file))

(defun aqd-write (text)
  "Write TEXT to the test's file as UTF-8."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region text nil aqd-file nil 'silent)))

(defun aqd-visit ()
  "Return the buffer that visits the test's file."
  (let ((enable-local-variables nil))
    (find-file-noselect aqd-file)))

(defun aqd-remove-tree (tree)
  "Kill our buffers, and those of files in the folder TREE, and delete it."
  (dolist (buffer (buffer-list))
    ;; Killing one may kill others.
    (when (and (buffer-live-p buffer)
               (or (string-match-p "\\`\\*[Aa]gent-[Qq]" (buffer-name buffer))
                   (and (buffer-file-name buffer)
                        (file-in-directory-p (buffer-file-name buffer) tree))))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (let ((kill-buffer-query-functions nil))
          (kill-buffer)))))
  (delete-directory tree t))

(defmacro aqd-with-file (text &rest body)
  "Run BODY with a file `aqd-file' with TEXT, then remove it."
  (declare (indent 1) (debug t))
  `(let* ((aqd-file (expand-file-name "target.txt"
                                      (make-temp-file "agent-q-diff-test" t)))
          (backup-inhibited t)
          (create-lockfiles nil))
     (aqd-write ,text)
     (unwind-protect (progn ,@body)
       (aqd--clean-up))))

(defmacro aqd-in-target (&rest body)
  "Run BODY in the target's buffer."
  (declare (indent 0) (debug t))
  `(with-current-buffer (find-buffer-visiting aqd-file)
     (goto-char (point-min))
     ,@body))

(defun aqd-target ()
  "Return the text of the target's buffer."
  (aqd-in-target (buffer-string)))

;;;; Texts

(defun aqd-lines (&rest lines)
  "Return LINES, each ended by a newline, as one string."
  (mapconcat (lambda (line) (concat line "\n")) lines ""))

(defun aqd-numbered (n &optional changes)
  "Return N lines \"line 1\" to \"line N\"; CHANGES is an alist of others.
A change to nil leaves the line out."
  (mapconcat (lambda (number)
               (let ((change (assq number changes)))
                 (cond
                  ((null change) (format "line %d\n" number))
                  ((cdr change) (concat (cdr change) "\n"))
                  (t ""))))
             (number-sequence 1 n) ""))

;;;; Keys, messages, warnings and errors

(defun aqd-press (keys)
  "Press KEYS, in the syntax of `kbd', in the current buffer."
  (execute-kbd-macro (kbd keys)))

(defun aqd-rows-of (show)
  "Call SHOW, which shows a list, and return its rows, each a list of strings."
  (save-window-excursion
    (save-current-buffer
      (funcall show)
      (when (derived-mode-p 'tabulated-list-mode)
        (prog1 (mapcar (lambda (entry) (append (cadr entry) nil)) tabulated-list-entries)
          (kill-buffer))))))

(defun aqd-play (keys function)
  "Call FUNCTION as a command, press KEYS, and return its answer.
An error or a quit is returned as bound by `condition-case'."
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

(defmacro aqd-said (&rest body)
  "Run BODY and return the last message that it gave."
  (declare (indent 0) (debug t))
  `(let (said)
     (cl-letf (((symbol-function 'message)
                (lambda (format &rest arguments)
                  (setq said (and format (apply #'format format arguments))))))
       ,@body)
     said))

(defun aqd-do-all (command)
  "Carry out COMMAND with the whole buffer as the region, and return the message."
  (let ((transient-mark-mode t))
    (goto-char (point-min))
    (push-mark (point-max) t t)
    (aqd-said (funcall command))))

(defmacro aqd-warned (&rest body)
  "Run BODY and return the last warning that it gave, a string or nil."
  (declare (indent 0) (debug t))
  `(let (warned)
     (cl-letf (((symbol-function 'display-warning)
                (lambda (_type text &rest _) (setq warned text))))
       ,@body)
     warned))

(defun aqd-fail (&rest _)
  "Signal an error that is not one of the package's."
  (error "Broken"))

;;;; Reviews that a caller waits for

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

;;;; The diff buffer

(defun aqd-diff-buffer ()
  "Return the diff buffer of the latest review of Agent-Q, or else of any agent."
  (or (get-buffer agent-q-diff-buffer-name)
      (seq-find (lambda (buffer)
                  (string-prefix-p "*Agent-Q Diff: " (buffer-name buffer)))
                (buffer-list))))

(defun aqd-goto-hunk (n)
  "Move to the `@@' line of the Nth hunk, counted from 1, and return it."
  (goto-char (point-min))
  (re-search-forward "^@@" nil nil n)
  (beginning-of-line)
  (point))

(defun aqd-accept (n)
  "Accept the Nth hunk, counted from 1, and return what was said."
  (aqd-goto-hunk n)
  (agent-q-diff-accept-hunk))

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

(defun aqd-split-sides ()
  "Split the hunk at point between the lines that it removes and those it adds.
It has one change.  Return the number of hunks that this makes."
  (save-excursion
    (let ((beg (progn (end-of-line)
                      (re-search-backward "^@@")
                      (re-search-forward "^-")
                      (line-beginning-position)))
          (n (agent-q-diff-count-hunks)))
      (while (eq ?- (char-after (line-beginning-position)))
        (forward-line))
      (agent-q-diff-split-pick-region beg (point))
      (1+ (- (agent-q-diff-count-hunks) n)))))

(defun aqd-hunks ()
  "Return the lines of the hunks of the current diff buffer."
  (goto-char (point-min))
  (re-search-forward "^@@")
  (split-string (buffer-substring-no-properties (line-beginning-position)
                                                (point-max))
                "\n" t))

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

(defun aqd-sign (n)
  "Return the sign of the Nth hunk, counted from 1, or nil."
  (agent-q-diff-signs-follow)
  (alist-get n (aqd-signs)))

(defun aqd-progress ()
  "Return the progress that the current buffer shows.
That is its progress line up to the bar, or the same from its header line."
  (save-excursion
    (goto-char (point-min))
    (cond
     ((re-search-forward "^Progress: \\(.*?\\)  |" nil t)
      (match-string 1))
     ((and (stringp header-line-format)
           (string-match (concat "\\([0-9]+\\) hunks? · \\|hunk [0-9]+/\\([0-9]+\\)")
                         header-line-format))
      (let ((total (or (match-string 1 header-line-format)
                       (match-string 2 header-line-format))))
        (cl-flet ((count (word)
                    (if (string-match (format "\\([0-9]+\\) %s" word) header-line-format)
                        (match-string 1 header-line-format)
                      "0")))
          (format "%s/%s applied, %s rejected, %s pending"
                  (count "applied") total (count "rejected") (count "pending"))))))))

;;;; Windows

(defmacro aqd-with-frame (width height &rest body)
  "Run BODY in a frame whose only window has WIDTH columns and about HEIGHT lines."
  (declare (indent 2) (debug t))
  `(let ((frame-size (cons (frame-width) (frame-height))))
     (unwind-protect
         (progn
           (set-frame-size nil ,width ,height)
           (delete-other-windows)
           ,@body)
       (set-frame-size nil (car frame-size) (cdr frame-size)))))

(defun aqd-shown (beg end)
  "Return what is shown of the text from BEG to END, without colors."
  (jit-lock-fontify-now beg end)
  (let ((at beg)
        (shown ""))
    (while (< at end)
      (let ((display (get-text-property at 'display))
            (next (next-single-property-change at 'display nil end)))
        (setq shown (concat shown (if (stringp display)
                                      (substring-no-properties display)
                                    (buffer-substring-no-properties at next)))
              at next)))
    shown))

(defmacro aqd-with-shown-diff (original modified &rest body)
  "Run BODY in the diff buffer of ORIGINAL becoming MODIFIED, shown in a window."
  (declare (indent 2) (debug t))
  `(aqd-with-review ,original ,modified
     (pop-to-buffer (current-buffer))
     (jit-lock-mode 1)
     ,@body))

;;;; Proposals of one hunk, of two, and of three

(defconst aqd-original (aqd-numbered 20)
  "The original of a proposal of one hunk.")

(defconst aqd-modified (aqd-numbered 20 '((10 . "LINE 10")))
  "What is proposed for `aqd-original'.")

(defconst aqd-original-of-two (aqd-numbered 30)
  "The original of a proposal of two hunks.")

(defconst aqd-modified-of-two (aqd-numbered 30 '((5 . "five") (25 . "x")))
  "What is proposed for `aqd-original-of-two'.")

(defconst aqd-original-of-three (aqd-numbered 40)
  "The original of a proposal of three hunks.")

(defconst aqd-modified-of-three
  (aqd-numbered 40 '((5 . "five") (20 . "twenty") (35 . "x")))
  "What is proposed for `aqd-original-of-three'.")

(defmacro aqd-with-forty-lines (&rest body)
  "Run BODY with a file that holds `aqd-original-of-three'."
  (declare (indent 0) (debug t))
  `(aqd-with-file aqd-original-of-three ,@body))

(defun aqd-forty-lines (&rest changes)
  "Return `aqd-original-of-three' with CHANGES, conses of line and text."
  (aqd-numbered 40 changes))

(defun aqd-call-with-three (function)
  "Propose `aqd-modified-of-three', with FUNCTION in place of the user."
  (aqd-call aqd-original-of-three aqd-modified-of-three function))

(defconst aqd-three
  (cons (aqd-numbered 40)
        (aqd-numbered 40 '((5 . "LINE 5") (20 . "LINE 20") (35 . "LINE 35"))))
  "Another proposal of three hunks: original and modified text.")

(defun aqd-three-with (&rest hunks)
  "Return the text of `aqd-three' with HUNKS, counted from 1, applied."
  (aqd-numbered 40 (mapcar (lambda (hunk)
                             (nth (1- hunk) '((5 . "LINE 5") (20 . "LINE 20")
                                              (35 . "LINE 35"))))
                           hunks)))

(defmacro aqd-review-three (keys)
  "Review `aqd-three' with KEYS and return the answer."
  `(aqd-review (car aqd-three) (cdr aqd-three) ,keys))

;;;; A proposal of a few letters

(defconst aqd-letters-original (aqd-lines "1" "2" "b" "c" "3" "4")
  "A short file.")

(defconst aqd-letters-modified (aqd-lines "1" "2" "b2" "c2" "3" "4")
  "What is proposed for it, a hunk that changes two lines.")

(defconst aqd-letters-mine (aqd-lines "1" "2" "mine" "c" "3" "4")
  "The file after an edit by the user.")

;;;; A proposal for a file of Emacs Lisp

(defconst aqd-elisp-original (concat "(defun foo ()\n" (aqd-numbered 40))
  "A file of Emacs Lisp.")

(defconst aqd-elisp-modified
  (concat "(defun foo ()\n" (aqd-numbered 40 '((5 . "five") (20 . "twenty") (35 . "x"))))
  "What is proposed for it.")

(defmacro aqd-with-elisp-review (&rest body)
  "Run BODY in the diff buffer of a review of Emacs Lisp, in a window.
It has three hunks."
  (declare (indent 0) (debug t))
  `(aqd-with-file aqd-elisp-original
     (let ((aqd-file (concat aqd-file ".el")))
       (aqd-write aqd-elisp-original)
       (aqd-call aqd-elisp-original aqd-elisp-modified
                 (lambda ()
                   (pop-to-buffer (current-buffer))
                   ,@body
                   (agent-q-diff-reject-all))))))

;;;; The buffer in which a hunk is edited

(defun aqd-small-buffer ()
  "Return the buffer in which a hunk is edited, or nil."
  (seq-find (lambda (buffer)
              (buffer-local-value 'agent-q-diff-edit-mode buffer))
            (buffer-list)))

(defmacro aqd-in-small-buffer (&rest body)
  "Run BODY in the buffer in which a hunk is edited."
  (declare (indent 0) (debug t))
  `(with-current-buffer (aqd-small-buffer)
     ,@body))

(defun aqd-retype (old new)
  "Replace the text OLD of the current buffer by NEW."
  (goto-char (point-min))
  (search-forward old)
  (replace-match new t t))

;;;; Real clients

(defun aqd-load-client (wanted feature &rest folders)
  "Load FEATURE from FOLDERS of packages, or skip the test, which WANTED them.
If they are given, a feature that does not load is a failure."
  (let ((clients (getenv "AGENT_Q_DIFF_CLIENTS")))
    (cl-flet ((skip (reason)
                (message "Skipped, since %s.  Wanted: %s" reason wanted)
                (ert-skip reason)))
      (cond
       ((version< emacs-version "30.1") (skip "these packages are for Emacs 30.1"))
       ((member clients '(nil "")) (skip "AGENT_Q_DIFF_CLIENTS names no folder"))))
    (dolist (folder folders)
      (let ((package (expand-file-name folder clients)))
        (add-to-list 'load-path (if (file-directory-p (expand-file-name "lisp" package))
                                    (expand-file-name "lisp" package)
                                  package))))
    (require feature)))

;;;; The manual

(defun aqd-manual-node (name)
  "Return the source of the manual's node NAME, or of all of it if that is nil."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "../doc/agent-q-diff.texi"
                                            (file-name-directory
                                             (locate-library "agent-q-diff"))))
    (when name
      (re-search-forward (format "^@node %s\n" (regexp-quote name)))
      (delete-region (point-min) (point))
      (when (re-search-forward "^@node " nil t)
        (delete-region (match-beginning 0) (point-max))))
    (buffer-string)))

(defun aqd-manual-code (name)
  "Return the Lisp code in the manual's node NAME, as its reader sees it."
  (let ((node (aqd-manual-node name))
        (start 0)
        (code ""))
    (while (string-match "^@lisp\n\\(\\(?:.*\n\\)*?\\)@end lisp" node start)
      (setq start (match-end 0)
            code (concat code (match-string 1 node))))
    (replace-regexp-in-string "@\\([@{}]\\)" "\\1" code)))

;;;; Reviews that no caller waits for

(defvar aqd-answers nil
  "The results that callbacks were called with, the latest first.")

(defun aqd-begin-review (original modified &rest keys)
  "Begin a review of ORIGINAL becoming MODIFIED, with KEYS; return it."
  (apply #'agent-q-diff-review aqd-file original modified "A test."
         (lambda (result) (push result aqd-answers))
         keys))

(defun aqd-begin-review-telling (callback)
  "Begin a review of two hunks and return it; CALLBACK is called when it ends."
  (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two "d" callback))

(defmacro aqd-with-open-review (original modified &rest body)
  "Run BODY with `review', a review of ORIGINAL becoming MODIFIED."
  (declare (indent 2) (debug t))
  `(let ((aqd-answers nil))
     (aqd-with-file ,original
       (let ((review (aqd-begin-review ,original ,modified)))
         (should-not aqd-answers)
         ,@body)
       (aqd-should-leave-nothing))))

(defun aqd-should-leave-nothing ()
  "Check that no review is open and nothing of one remains."
  (should-not (agent-q-diff-open-reviews))
  (should-not (memq agent-q-diff-reviews-mode-line global-mode-string))
  (should-not (memq #'agent-q-diff-lifecycle--emacs-killed kill-emacs-hook))
  (should-not (memq #'agent-q-diff-lifecycle--query-kill-emacs kill-emacs-query-functions))
  (should-not agent-q-diff-reviews-waiting))

(defun aqd-answer (&rest keys)
  "Return the values of KEYS in the only result that was given."
  (should (= 1 (length aqd-answers)))
  (mapcar (lambda (key) (plist-get (car aqd-answers) key)) keys))

(defmacro aqd-in-diff (review &rest body)
  "Run BODY in the diff buffer of REVIEW."
  (declare (indent 1) (debug t))
  `(with-current-buffer (agent-q-diff-session-buffer ,review)
     ,@body))

(defun aqd-signs-of (review)
  "Return the signs in the diff buffer of REVIEW."
  (aqd-in-diff review (aqd-signs)))

(defun aqd-target-of (review)
  "Return the buffer that REVIEW changes."
  (agent-q-diff-file-change-buffer (agent-q-diff-session-file review)))

(defun aqd-check-with (review check)
  "Have REVIEW call the function CHECK before each edit."
  (setf (agent-q-diff-target-check
         (agent-q-diff-file-change-target (agent-q-diff-session-file review)))
        check))

;;;; Diffs written by hand

(defmacro aqd-with-diff (diff &rest body)
  "Run BODY in a temporary buffer with DIFF, typed by hand, in Agent-Q's mode."
  (declare (indent 1) (debug t))
  `(with-temp-buffer
     (insert ,diff)
     (sly-agent-q-diff-mode)
     (setq sly-agent-q-diff--path aqd-file)
     (goto-char (point-min))
     ,@body))

(defconst aqd-bare-diff-of-one
  (aqd-lines "@@ -4,7 +4,7 @@" " line 4" " line 5" " line 6" "-line 7" "+LINE 7"
             " line 8" " line 9" " line 10")
  "A diff of one hunk, without a file header.")

(defconst aqd-bare-diff-of-two
  (aqd-lines "@@ -1,3 +1,3 @@" " line 1" "-line 2" "+LINE 2" " line 3"
             "@@ -7,3 +7,3 @@" " line 7" "-line 8" "+LINE 8" " line 9")
  "A diff of two hunks, without a file header.")

(defconst aqd-hand-written-diff
  (aqd-lines "--- a/target.txt" "+++ b/target.txt"
             "@@ -1,3 +1,3 @@" " line 1" "-line 2" "+LINE 2" " line 3"
             "@@ -7,3 +7,4 @@" " line 7" " line 8" "+line 8.5" " line 9")
  "A diff of two hunks, with a file header.")

(defmacro aqd-with-patch-review (text diff &rest body)
  "Run BODY in the diff buffer of a review of DIFF, for a file that holds TEXT.
In BODY, `review' is the review, and the function `answer' returns what
its caller was told."
  (declare (indent 2) (debug t))
  `(aqd-with-file ,text
     (let* ((results nil)
            (review (agent-q-diff-review-patch
                     aqd-file ,diff "A test."
                     (lambda (result) (push result results)))))
       (cl-flet ((answer (key) (plist-get (car results) key)))
         (unwind-protect
             (with-current-buffer (agent-q-diff-session-buffer review)
               (setq agent-q-diff-grace--end 0)
               (ignore #'answer)
               ,@body)
           (agent-q-diff-cancel review))))))

;;;; A diff that fits several places

(defconst aqd-equal-blocks
  (concat "top\n" (apply #'concat (make-list 4 "{\n  x\n}\n")))
  "A text of equal blocks.")

(defconst aqd-equal-blocks-diff
  "--- a/target.txt\n+++ b/target.txt\n@@ -8,3 +8,4 @@\n {\n   x\n+  new\n }\n"
  "A diff of the third of the blocks, which fits each of them.")

(defun aqd-equal-blocks-with-line-in (n)
  "Return the blocks with the new line in the block with the index N."
  (concat "top\n"
          (apply #'concat
                 (cl-loop for block below 4
                          collect (if (= n block) "{\n  x\n  new\n}\n" "{\n  x\n}\n")))))

;;;; Targets that refuse, and their bytes

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
                         (text (agent-q-diff-text-in buffer)))
                     (should-not (agent-q-diff-accept-hunk))
                     (should-not (rassq 'applied sly-agent-q-diff--hunk-states))
                     (should-not (assq 1 (aqd-signs)))
                     (should (equal text (agent-q-diff-text-in buffer)))
                     (should (equal disk (and (file-exists-p aqd-file)
                                              (aqd-disk)))))
                   (with-current-buffer buffer ,@repair)
                   (should (agent-q-diff-accept-hunk))
                   (agent-q-diff-finish))))))

(defun aqd-target-bytes (bytes original modified)
  "Return the bytes of a file with BYTES after a change of ORIGINAL to MODIFIED.
All hunks are accepted."
  (aqd-with-file ""
    (let ((coding-system-for-write 'no-conversion))
      (write-region bytes nil aqd-file nil 'silent))
    (should (equal "accepted" (aqd-review original modified "C-c C-c")))
    (aqd-disk)))

;;;; The log

(defmacro aqd-with-log-file (&rest body)
  "Run BODY with a log in a directory that does not exist yet."
  (declare (indent 0) (debug t))
  `(let* ((top (make-temp-file "aqd-log" t))
          (agent-q-diff-log-file (expand-file-name "new/deep/log.jsonl" top))
          (agent-q-diff-log--failed nil))
     (unwind-protect (progn ,@body)
       (dolist (name '("*Agent-Q Log*" "*Agent-Q Log Entry*"))
         (when (get-buffer name)
           (kill-buffer name)))
       (delete-directory top t))))

(defconst aqd-sample-log-entry
  '(:tool "edit_file" :path "/p/src/a.el" :hash-before "aa" :hash-after "bb"
          :hunks ((:index 0 :state applied :in-file t) (:index 1 :state rejected :in-file nil))
          :decided-by user :reason "Because." :diff "--- a/a.el\n+++ b/a.el\n@@ -1 +1 @@\n-a\n+b\n")
  "An entry as a tool records it.")

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

;;;; What an agent reads

(defun aqd-propose-and-press (file original modified keys)
  "Propose ORIGINAL to MODIFIED for FILE as an agent, and press KEYS.
Return what the agent reads."
  (aqd-play keys (lambda ()
                   (agent-q-diff-tools-propose-file-edit file original modified
                                                         "d"))))

;;;; Messages that many tests expect

(defconst aqd-nothing-pending "; nothing is pending, q finishes"
  "The end of a message about the last decision of a review.")

(defconst aqd-look-again "; M-x agent-q-diff-look-again shows it"
  "The end of a message about a review that ended undecided.")

(defconst aqd-left-undecided "the user left it undecided"
  "The reason of a review that the user cancelled.")

(defconst aqd-no-decision "Error: there is no decision about target.txt: "
  "The beginning of the message to an agent if nothing was decided.")

(defconst aqd-not-run "was not run, so nothing that you accepted is in "
  "A part of the warning that an agent's own tool was not run.")

(provide 'agent-q-diff-test-help)
;;; agent-q-diff-test-help.el ends here
