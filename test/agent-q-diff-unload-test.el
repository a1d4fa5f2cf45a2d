;;; agent-q-diff-unload-test.el --- Unloading leaves nothing  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An Emacs of its own uses everything of the package, unloads it, and then
;; looks through all that it holds for a name of ours.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-unload)

(defconst aqd-unload-lisp (file-name-directory (locate-library "agent-q-diff"))
  "Folder of the package's Lisp files.")

(defconst aqd-unload-walk
  '(progn
     (setq gc-cons-threshold (* 256 1024 1024))
     (defvar walk-seen nil
       "What was looked through already and holds none of our names.")
     (defun walk-ours-p (symbol)
       (string-match-p "\\`\\(?:sly-\\)?agent-q-" (symbol-name symbol)))
     (defun walk-has-ours (value)
       "Return the first of our names that VALUE holds, at any depth, or nil."
       (let ((stack (list value))
             (seen (or walk-seen
                       (setq walk-seen (make-hash-table :test 'eq :size 100000))))
             found)
         (while (and stack (not found))
           (let ((this (pop stack)))
             (cond
              ((null this))
              ((symbolp this) (when (walk-ours-p this) (setq found this)))
              ;; All symbols there are: it holds every name.
              ((eq this obarray))
              ((or (numberp this) (stringp this) (gethash this seen)))
              (t
               (puthash this t seen)
               (cond
                ((consp this) (push (car this) stack) (push (cdr this) stack))
                ((hash-table-p this)
                 (maphash (lambda (key held) (push key stack) (push held stack)) this))
                ((char-table-p this)
                 (map-char-table (lambda (_key held) (push held stack)) this))
                ((or (vectorp this) (recordp this))
                 (dotimes (index (length this))
                   (push (aref this index) stack)))
                ;; Code and environment of other code, which is a type of its own
                ;; from Emacs 30 on.
                ((and (fboundp 'interpreted-function-p) (interpreted-function-p this))
                 (push (aref this 1) stack)
                 (push (aref this 2) stack))
                ;; The constants of compiled code.
                ((byte-code-function-p this) (push (aref this 2) stack)))))))
         ;; What is around a name that was found is not clean.
         (when found (setq walk-seen nil))
         found))
     (defun walk-all ()
       "Return a list of what of Emacs's own holds a name of ours, sorted."
       (setq walk-seen nil)
       (let (holders)
         (mapatoms
          (lambda (symbol)
            (unless (or (walk-ours-p symbol)
                        (string-prefix-p "walk-" (symbol-name symbol))
                        ;; Emacs cannot take back types and faces.
                        (string-prefix-p "cl-struct-" (symbol-name symbol))
                        (memq symbol '(face--new-frame-defaults
                                       ;; Notes of what was loaded and expanded.
                                       load-history current-load-list features
                                       custom-current-group-alist pcase--memoize
                                       easy-menu-converted-items-table
                                       ;; The hands of this test.
                                       command-line-args command-line-args-left
                                       before during folder)))
              (let ((held (or (and (fboundp symbol)
                                   (walk-has-ours (symbol-function symbol)))
                              (and (default-boundp symbol)
                                   (walk-has-ours (default-value symbol)))
                              (walk-has-ours (get symbol 'custom-group)))))
                (when held
                  (push (list symbol held) holders))))))
         (dolist (buffer (buffer-list))
           (dolist (variable (buffer-local-variables buffer))
             (when (and (consp variable)
                        (not (walk-ours-p (car variable)))
                        (walk-has-ours (cdr variable)))
               (push (list (buffer-name buffer) (car variable)) holders))))
         (dolist (process (process-list))
           (push (list 'process (process-name process)) holders))
         (sort holders (lambda (a b) (string< (prin1-to-string a)
                                              (prin1-to-string b)))))))
  "Definitions of functions that look for names of ours.")

(defconst aqd-unload-use
  '(let* ((folder (file-name-as-directory (make-temp-file "aqd" t)))
          (file (expand-file-name "a" folder))
          (other (expand-file-name "b" folder)))
     (write-region "1\n2\n3\n" nil file nil 'silent)
     (write-region "1\n2\n3\n" nil other nil 'silent)
     (setq agent-q-diff-log-file (expand-file-name "log" folder)
           agent-q-diff-server-socket (expand-file-name "socket/s" folder)
           agent-q-diff-display 'when-idle)
     (agent-q-diff-lisp-mode)
     (agent-q-diff-serve)
     ;; One that has ended and is looked at again, and one that is open.
     (let ((review (agent-q-diff-review file "1\n2\n3\n" "1\nX\n3\n" "" #'ignore)))
       (agent-q-diff-accept review 0)
       (agent-q-diff-end review))
     (agent-q-diff-look-again)
     (let ((review (agent-q-diff-review other "1\n2\n3\n" "1\nX\n3\n" "" #'ignore)))
       (with-current-buffer (agent-q-diff-session-buffer review)
         (agent-q-diff-edit-hunk)))
     (with-current-buffer (find-file-noselect other)
       (goto-char (point-max))
       (insert "4\n")
       (set-buffer-modified-p nil))
     (agent-q-diff-list)
     (agent-q-diff-log)
     (agent-q-diff-grants)
     (agent-q-diff-tools-call-async "edit_file" '(:path "a") #'ignore)
     folder)
  "Form that uses all parts of the package, and returns a folder to be deleted.")

(defun aqd-unload-in-emacs (&rest forms)
  "Evaluate FORMS in a new batch Emacs and return what they print, read."
  (let ((said (make-temp-file "aqd")))
    (unwind-protect
        (with-temp-buffer
          (let ((status (call-process
                         (expand-file-name invocation-name invocation-directory)
                         nil (list t said) nil "-Q" "--batch" "-L" aqd-unload-lisp
                         "--eval" (prin1-to-string `(progn ,aqd-unload-walk ,@forms)))))
            (unless (eq status 0)
              (insert-file-contents said)
              (ert-fail (list status (buffer-string))))
            (read (buffer-string))))
      (delete-file said))))

(defun aqd-unload-requires ()
  "Return forms that load every file of the package."
  (mapcar (lambda (file) `(require ',(intern (file-name-base file))))
          (directory-files aqd-unload-lisp nil "agent-q-diff[a-z-]*\\.el\\'")))

(ert-deftest aqd-unload-leaves-nothing ()
  (pcase-let
      ((`(,before ,during ,after ,functions ,features ,hooks)
        (aqd-unload-in-emacs
         '(setq before (walk-all))
         `(progn (require 'project) ,@(aqd-unload-requires))
         `(setq folder ,aqd-unload-use)
         '(setq during (walk-all))
         '(agent-q-diff-unload)
         '(delete-directory folder t)
         '(let (functions hooks)
            (mapatoms (lambda (symbol)
                        (when (and (walk-ours-p symbol) (fboundp symbol)
                                   (not (string-prefix-p "agent-q-diff-module-"
                                                         (symbol-name symbol))))
                          (push symbol functions))))
            (prin1 (list before (mapcar #'car during) (walk-all) functions
                         (seq-filter #'walk-ours-p features)
                         (list global-mode-string kill-emacs-hook
                               kill-emacs-query-functions timer-list)))))))
    (should-not before)
    ;; The walk does find what is there while it is there.
    (dolist (holder '(after-load-alist project-switch-commands
                      kill-emacs-hook global-mode-string minor-mode-alist
                      timer-idle-list timer-list sly-event-hooks process))
      (should (member holder during)))
    (should-not after)
    (should-not functions)
    (should-not (remq 'agent-q-diff-module features))
    (should-not (walk-ours-in-hooks hooks))))

(defun walk-ours-in-hooks (hooks)
  "Return non-nil if the printed HOOKS name something of ours."
  (string-match-p "agent-q-" (prin1-to-string hooks)))

(ert-deftest aqd-unload-leaves-what-others-wait-for ()
  (should
   (equal
    (aqd-unload-in-emacs
     '(with-eval-after-load 'project (setq walk-others t))
     '(require 'agent-q-diff)
     '(require 'agent-q-diff-unload)
     '(agent-q-diff-unload)
     '(require 'project)
     '(prin1 (list walk-others (assq 'agent-q-diff-review-changes project-switch-commands))))
    '(t nil))))

(ert-deftest aqd-unload-then-load-again-works ()
  (should
   (equal
    (aqd-unload-in-emacs
     `(progn ,@(aqd-unload-requires))
     `(setq folder ,aqd-unload-use)
     '(agent-q-diff-unload)
     '(delete-directory folder t)
     `(progn ,@(aqd-unload-requires))
     `(setq folder ,aqd-unload-use)
     '(prin1 (length (agent-q-diff-open-reviews)))
     '(delete-directory folder t)
     '(let ((kill-emacs-query-functions nil) (kill-emacs-hook nil)) (kill-emacs 0)))
    1)))

(ert-deftest aqd-unload-not-while-emacs-waits-for-a-decision ()
  (cl-letf (((symbol-function 'recursion-depth) (lambda () 1)))
    (should-error (agent-q-diff-unload) :type 'user-error)))

(provide 'agent-q-diff-unload-test)
;;; agent-q-diff-unload-test.el ends here
