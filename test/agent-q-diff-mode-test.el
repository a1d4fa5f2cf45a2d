;;; agent-q-diff-mode-test.el --- Help, menu bar and context menu  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-side)
(require 'agent-q-diff-in-file)

;;; Help and menus

(ert-deftest aqd-menu-has-every-command-and-its-key ()
  (aqd-with-elisp-review
    (let (commands)
      (map-keymap (lambda (_ item)
                    (push (nth 2 item) commands))
                  (lookup-key (current-local-map) [menu-bar Review]))
      (pcase-dolist (`(,command . ,_) agent-q-diff-menu--help-commands)
        (should (memq command commands))
        (should (commandp command))
        (should (equal (and (string-prefix-p "agent-q-diff-" (symbol-name command))
                            '(agent-q-diff-mode))
                       (command-modes command)))))
    (agent-q-diff-all-keys)
    (with-current-buffer "*Agent-Q Diff Help*"
      (should-not (string-search "M-x" (buffer-string))))))

(defun aqd-menu-rows (layout)
  "Return the rows in which `transient' shows LAYOUT, with their columns."
  (let ((columns
         (mapcar (lambda (group)
                   (cons (aref group 0)
                         (mapcar (pcase-lambda (`(,key ,words ,_))
                                   (format " %s %s" key words))
                                 (cdr (append group nil)))))
                 layout)))
    (cl-loop for n below (apply #'max (mapcar #'length columns))
             collect (string-join
                      (mapcar (lambda (rows)
                                (string-pad (or (nth n rows) "")
                                            (+ 3 (apply #'max (mapcar #'length rows)))))
                              columns)))))

(ert-deftest aqd-menu-what-one-does-most-fits-a-small-frame-in-both-stages ()
  (require 'transient)
  (dolist (is-written '(nil t))
    (aqd-with-elisp-review
      (cl-letf (((symbol-function 'agent-q-diff-buffer-written-p) (lambda () is-written)))
        (let* ((layout (append (agent-q-diff-menu--layout) nil))
               (entries (seq-mapcat (lambda (group) (cdr (append group nil))) layout))
               (rows (aqd-menu-rows layout)))
          ;; Above it, two windows of four lines have room on 24.
          (should (<= (length rows) 13))
          (dolist (row rows)
            (should (<= (length (string-trim-right row)) 80)))
          (should (equal entries (seq-uniq entries (lambda (one other)
                                                     (equal (car one) (car other))))))
          (pcase-dolist (`(,key ,words ,command) entries)
            (ert-info (words)
              (should (commandp command))
              (pcase command
                ('agent-q-diff-all-keys (should (equal "?" key)))
                ;; That key is the same in and out of a recursive edit.
                ;; Who wants to leave the help does not end the review.
                ('transient-quit-one (should (equal "q" key)))
                ('agent-q-diff-abort (should (equal "C-]" key)))
                (_ (should (eq (indirect-function command)
                               (indirect-function (key-binding (kbd key)))))))))
          (let ((words (mapcar #'cadr entries)))
            (should (eq is-written (and (member "keep" words) t)))
            (should (eq is-written (and (member "stage" words) t)))
            (should (eq is-written (not (member "reject" words))))))))))

(ert-deftest aqd-menu-help-and-menu-miss-no-key ()
  (aqd-with-elisp-review
    (let ((missing nil))
      (map-keymap
       (lambda (event binding)
         (when (and (symbolp binding) (commandp binding) (integerp event)
                    ;; A prefix argument, as in every buffer of single keys.
                    (not (memq binding '(digit-argument negative-argument)))
                    (not (cl-find (indirect-function binding) agent-q-diff-menu--help-commands
                                  :key (lambda (entry) (indirect-function (car entry))))))
           (push binding missing)))
       agent-q-diff-mode-map)
      (should-not missing))))

(ert-deftest aqd-menu-context-acts-where-one-clicks ()
  (aqd-with-elisp-review
    (let* ((at (aqd-goto-hunk 2))
           (click (list 'mouse-3 (list (selected-window) at '(0 . 0) 0)))
           (menu (agent-q-diff-menu--context (make-sparse-keymap) click))
           (item (lookup-key menu [agent-q-diff-accept-hunk])))
      (goto-char (point-min))
      (should (memq #'agent-q-diff-menu--context context-menu-functions))
      (call-interactively item)
      (should (equal (aqd-signs) '((2 . "[APPLIED]")))))))

(ert-deftest aqd-menu-help-lists-every-key ()
  (aqd-with-file "a\n"
    (aqd-call "a\n" "b\n"
              (lambda ()
                (agent-q-diff-all-keys)
                (let ((help (with-current-buffer "*Agent-Q Diff Help*"
                              (buffer-string))))
                  (dolist (key '("n" "p" "N" "P" "RET" "a" "r" "SPC" "u" "s" "C-c C-c" "C-c C-k"
                                 "C-M-c" "C-]" "q" "?"))
                    (should (let ((case-fold-search nil))
                              (string-match-p (format "^%s +[a-z]" (regexp-quote key))
                                              help)))))
                (agent-q-diff-reject-all)))))

;;; The mode

(declare-function diff-apply-buffer "diff-mode")

(ert-deftest aqd-mode-opens-no-process-and-no-file-for-its-colors ()
  (aqd-with-diff aqd-bare-diff-of-one
    (should-not diff-refine)
    (should-not diff-font-lock-syntax)))

(ert-deftest aqd-mode-ruling-1-commands-that-rewrite-the-diff-refuse ()
  (aqd-with-forty-lines
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (should (derived-mode-p 'diff-mode))
                (dolist (command '(diff-hunk-kill diff-file-kill
                                   diff-reverse-direction))
                  (let ((before (buffer-string)))
                    (should (eq 'agent-q-diff-refuse (command-remapping command)))
                    (should-error (call-interactively (command-remapping command))
                                  :type 'user-error)
                    (should (equal before (buffer-string)))))
                (agent-q-diff-reject-all)))))

(ert-deftest aqd-mode-ruling-14-a-malformed-diff-does-not-stop-the-mode ()
  (aqd-with-forty-lines
    (aqd-with-diff "@@ -1,9 +1,9 @@\n-a\n+b\n"
      (should (derived-mode-p 'sly-agent-q-diff-mode))
      (aqd-goto-hunk 1)
      (should-not (sly-agent-q-diff-accept-hunk))
      (should-not (alist-get (point) sly-agent-q-diff--hunk-states))
      (sly-agent-q-diff-reject-hunk)
      (should (eq 'rejected (alist-get (point) sly-agent-q-diff--hunk-states)))
      (should (equal 1 (sly-agent-q-diff--count-hunks)))
      (sly-agent-q-diff-finish)
      (should (equal "rejected" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-three-with)))))

(ert-deftest aqd-mode-ruling-14-diff-apply-buffer-works-where-emacs-has-it ()
  (skip-unless (fboundp 'diff-apply-buffer))
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff (string-replace "a/target.txt" aqd-file
                                   (string-replace "b/target.txt" aqd-file
                                                   aqd-hand-written-diff))
      (let ((inhibit-message t))
        (diff-apply-buffer))
      (should (equal (with-current-buffer (find-buffer-visiting aqd-file)
                       (buffer-string))
                     (aqd-numbered 10 '((2 . "LINE 2")
                                        (8 . "line 8\nline 8.5"))))))))

(ert-deftest aqd-mode-keys-without-a-command-say-what-to-do ()
  (aqd-with-shown-review aqd-original-of-two aqd-modified-of-two
    (pcase-dolist (`(,keys . ,said) '(("z" . "z has no command here; \\? shows the keys")
                                      ("C-k" . "text is fixed")
                                      ("C-d" . "text is fixed")
                                      ("M-d" . "text is fixed")
                                      ("C-y" . "text is fixed")))
      (should (string-match-p said (error-message-string
                                    (should-error (aqd-press keys) :type 'user-error)))))
    (aqd-press "k")
    (should (equal (aqd-signs) '((1 . "[REJECTED]"))))
    (aqd-press "M-p M-n")
    (should (= 1 (agent-q-diff-buffer-hunk-at-point)))
    (aqd-press "<")
    (should (bobp))
    (aqd-press ">")
    (should (eobp))
    (should (string-prefix-p "Up to date; " (aqd-said (aqd-press "g"))))
    (should (eq (key-binding (kbd "DEL")) 'scroll-down-command))))

(ert-deftest aqd-mode-a-diff-that-can-be-edited-can-be-typed-in ()
  (aqd-with-file "a\n"
    (aqd-with-diff "@@ -1 +1 @@\n-a\n+b\n"
      (switch-to-buffer (current-buffer))
      (goto-char (point-max))
      (aqd-press "7 DEL 8")
      (should (string-suffix-p "+b\n8" (buffer-string))))))

(ert-deftest aqd-mode-keys-are-in-the-mode-s-documentation ()
  "Emacs 28 leaves out keys that are in two active keymaps."
  (aqd-with-shown-review aqd-original-of-two aqd-modified-of-two
    (let ((text (substring-no-properties (documentation major-mode))))
      (dolist (line '("^a +accept the hunk" "^r +reject the hunk" "^q +finish"
                      "^TAB +fold" "^v +select"))
        (should (string-match-p line text)))
      (should-not (string-search "M-x" text)))))

;;; Each key, in a buffer that is narrowed, or a copy of the review's

(defconst aqd-mode-narrowings
  '((in-hunk . (progn (search-forward "line 20")
                      (narrow-to-region (line-beginning-position -2) (line-end-position 2))))
    (to-a-line . (progn (search-forward "line 20")
                        (narrow-to-region (line-beginning-position) (line-end-position))))
    (to-a-header . (progn (or (search-forward "@@ -17" nil t)
                               (search-forward "line 17"))
                          (narrow-to-region (line-beginning-position) (line-end-position))))
    (to-nothing . (progn (search-forward "line 20")
                         (narrow-to-region (point) (point)))))
  "Alist from names to forms that narrow the buffer with three hunks.")

(defun aqd-mode-keys (map)
  "Return the keys that have a command in MAP itself, a list of vectors."
  (let ((keys nil))
    (map-keymap-internal
     (lambda (event binding)
       (cond
        ((memq event '(remap menu-bar tool-bar 27)))
        ((keymapp binding)
         (setq keys (append (mapcar (lambda (rest) (vconcat (vector event) rest))
                                    (aqd-mode-keys binding))
                            keys)))
        (binding (push (vector event) keys))))
     map)
    (sort keys (lambda (one other) (string< (key-description one) (key-description other))))))

(defun aqd-mode-effect (review keys)
  "Press KEYS in the selected window; return what became of REVIEW by that.
It is (MARKS TEXT DISK SAID HUNK), or (ERROR) for one that no user should see."
  (let* ((command (key-binding keys))
         (buffer (agent-q-diff-session-buffer review))
         (said nil)
         (err (cl-letf* (((symbol-function 'message)
                          (lambda (format &rest arguments)
                            (when (and format (not (equal format "Mark set")))
                              (push (apply #'format format arguments) said))))
                         ((symbol-function 'y-or-n-p) (lambda (&rest _) (signal 'quit nil))))
                (condition-case err
                    ;; A key that asks gets no answer.
                    (ignore (execute-kbd-macro (vconcat keys "\C-g")))
                  ((user-error quit beginning-of-buffer end-of-buffer buffer-read-only) err)
                  (error (list 'lisp-error err))))))
    (if (or (eq 'lisp-error (car err))
            (seq-some (lambda (text) (string-match-p "^Error " text)) said))
        (list err said)
      (list (and (buffer-live-p buffer)
                 (buffer-local-value 'agent-q-diff-buffer-change buffer)
                 (agent-q-diff-change-engine
                  (buffer-local-value 'agent-q-diff-buffer-change buffer))
                 (agent-q-diff-change-marks
                  (buffer-local-value 'agent-q-diff-buffer-change buffer)))
            (when-let ((target (find-buffer-visiting aqd-file)))
              (with-current-buffer target
                (save-restriction
                  (widen)
                  (buffer-string))))
            (aqd-disk)
            (substring-no-properties
             (string-replace (file-name-directory aqd-file) ""
                             (or (if (eq 'user-error (car err)) (cadr err) (car said)) "")))
            ;; Emacs's own commands stay where a buffer is narrowed to.
            (and (buffer-live-p buffer)
                 (not (memq command '(beginning-of-buffer end-of-buffer scroll-down-command)))
                 (with-current-buffer buffer
                   (agent-q-diff-buffer-hunk-at-point)))))))

(defun aqd-mode-effects (view prepare)
  "Return (KEYS . EFFECT) of each key in VIEW after PREPARE, a form.
Each is pressed in a review of its own, of three hunks.  VIEW is `diff', `side'
or `in-file'.  The keys are printed before they are pressed."
  (mapcar
   (lambda (keys)
     (aqd-with-file aqd-original-of-three
       (message "%s" (key-description keys))
       (aqd-with-frame 120 30
         (let ((review (let ((inhibit-message t))
                         (aqd-begin-review aqd-original-of-three aqd-modified-of-three))))
           (switch-to-buffer (agent-q-diff-session-buffer review))
           (delete-other-windows)
           (goto-char (point-min))
           (pcase view
             ('side (agent-q-diff-side-by-side-mode))
             ('in-file (agent-q-diff-in-file)))
           (eval prepare t)
           (set-window-point nil (point))
           (jit-lock-mode 1)
           (run-hook-with-args 'jit-lock-functions (point-min) (point-max))
           (prog1 (cons (key-description keys) (aqd-mode-effect review keys))
             (when (memq review (agent-q-diff-open-reviews))
               (let ((inhibit-message t))
                 (agent-q-diff-cancel review))))))))
   (aqd-mode-keys (if (eq view 'in-file) agent-q-diff-in-file-mode-map agent-q-diff-mode-map))))

(defun aqd-mode-effects-in-child (view prepare)
  "Return what `aqd-mode-effects' returns for VIEW and PREPARE in another Emacs.
Fail, and say which key it was, if that one hangs."
  (let* ((output (generate-new-buffer " *aqd-child*"))
         (errors (generate-new-buffer " *aqd-child-errors*"))
         (child (make-process
                 :name "aqd-child" :buffer output :stderr errors :noquery t
                 :connection-type 'pipe
                 :command (list (expand-file-name invocation-name invocation-directory)
                                "-Q" "--batch" "-L" aqd-lisp-directory
                                "-L" (file-name-directory (locate-library "agent-q-diff-test-help"))
                                "-l" "agent-q-diff-mode-test" "--eval"
                                (format "(let (print-length print-level) (print (aqd-mode-effects '%S '%S)))"
                                        view prepare)))))
    (set-process-sentinel child #'ignore)
    (unwind-protect
        (with-timeout (120 (ert-fail (format "A key hangs: %s"
                                             (with-current-buffer errors (buffer-string)))))
          (while (accept-process-output child))
          (with-current-buffer output
            (goto-char (point-max))
            (condition-case nil
                (progn
                  ;; Above it, Emacs has printed that keys were quit.
                  (re-search-backward "^((")
                  (read (current-buffer)))
              (error (ert-fail (with-current-buffer errors (buffer-string)))))))
      (delete-process child)
      (kill-buffer output)
      (kill-buffer errors))))

(defun aqd-mode-should-have-same-effects (view &optional refusal)
  "Check that each key does in VIEW the same if the buffer is narrowed as if not.
If REFUSAL is non-nil, a key may say that instead, a regexp, and decide less."
  (pcase-dolist (`(,name . ,narrow) aqd-mode-narrowings)
    (let ((whole (aqd-mode-effects view `(progn ,narrow (widen)))))
      (pcase-dolist (`(,keys . ,effect) (aqd-mode-effects-in-child view narrow))
        (let ((expected (cdr (assoc keys whole))))
          (ert-info ((format "%s, %s" name keys))
            (if (not (and refusal (string-match-p refusal (or (nth 3 effect) ""))))
                (should (equal effect expected))
              (cl-mapc (lambda (mark other)
                         (should (memq mark (list other nil))))
                       (car effect) (or (car expected) '(applied applied applied))))))))))

(ert-deftest aqd-mode-each-key-does-in-a-narrowed-buffer-what-it-does-in-a-whole-one ()
  (aqd-mode-should-have-same-effects 'diff))

(ert-deftest aqd-mode-each-key-does-so-side-by-side-as-well ()
  :tags '(slow)
  (aqd-mode-should-have-same-effects 'side))

(ert-deftest aqd-mode-each-key-does-so-in-a-narrowed-file-or-says-that-it-is-narrowed ()
  :tags '(slow)
  (aqd-mode-should-have-same-effects 'in-file "outside the narrowed part of target.txt; C-x n w"))

(ert-deftest aqd-mode-each-key-says-in-a-copy-of-the-diff-buffer-where-the-review-is ()
  (dolist (copy '((clone-buffer)
                  (clone-indirect-buffer nil nil)
                  (make-indirect-buffer (current-buffer) "copy" t)))
    (pcase-dolist (`(,keys ,marks ,_ ,disk ,said)
                   (aqd-mode-effects-in-child 'diff `(progn (search-forward "line 20")
                                                            (switch-to-buffer ,copy))))
      (ert-info ((format "%s, %s" copy keys))
        (should (equal marks '(nil nil nil)))
        (should (equal disk aqd-original-of-three))
        (should (or (member keys '("0" "1" "2" "3" "4" "5" "6" "7" "8" "9"
                                   "<" ">" "DEL" "S-SPC" "J"))
                    (equal said "This is a copy; the review is in the buffer *Agent-Q Diff: target.txt*")))))))

(ert-deftest aqd-mode-a-copy-of-the-diff-buffer-can-be-killed ()
  (dolist (copy '((clone-buffer)
                  (clone-indirect-buffer nil nil)
                  (make-indirect-buffer (current-buffer) "copy" t)))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (with-current-buffer (aqd-in-diff review (eval copy t))
        (kill-buffer))
      (should (memq review (agent-q-diff-open-reviews)))
      (aqd-in-diff review
        (agent-q-diff-accept-all))
      (should (equal (aqd-disk) aqd-modified-of-two)))))

(ert-deftest aqd-mode-a-copy-of-a-typed-diff-has-a-review-of-its-own ()
  (aqd-with-diff aqd-bare-diff-of-two
    (agent-q-diff-buffer-context)
    (let ((change agent-q-diff-buffer-change))
      (with-current-buffer (make-indirect-buffer (current-buffer) "copy" t)
        (agent-q-diff-buffer-context)
        (should-not (eq change agent-q-diff-buffer-change))
        (kill-buffer))
      (agent-q-diff-buffer-context)
      (should (eq change agent-q-diff-buffer-change)))))

(provide 'agent-q-diff-mode-test)
;;; agent-q-diff-mode-test.el ends here
