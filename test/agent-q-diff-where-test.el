;;; agent-q-diff-where-test.el --- Finding one's way, and menus  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'imenu)
(require 'outline)
(require 'agent-q-diff-list)
(require 'agent-q-diff-log-list)
(require 'which-func)
(require 'agent-q-diff-test-help)

(defvar meow-mode-state-list)

(defconst aqd-where-original (concat "(defun foo ()\n" (aqd-numbered 40))
  "A file.")

(defconst aqd-where-modified
  (concat "(defun foo ()\n" (aqd-numbered 40 '((5 . "five") (20 . "twenty") (35 . "x"))))
  "What is proposed for it.")

(defmacro aqd-with-way (&rest body)
  "Run BODY in the diff buffer of a review of three hunks, in a window."
  (declare (indent 0) (debug t))
  `(aqd-with-file aqd-where-original
     (let ((aqd-file (concat aqd-file ".el")))
       (aqd-write aqd-where-original)
       (aqd-call aqd-where-original aqd-where-modified
                 (lambda ()
                   (pop-to-buffer (current-buffer))
                   ,@body
                   (agent-q-diff-reject-all))))))

(ert-deftest aqd-where-imenu-has-the-hunks ()
  (aqd-with-way
    (aqd-accept 2)
    (should (equal (mapcar #'car (funcall imenu-create-index-function))
                   '("1 pending  @@ -3,7 +3,7 @@ (defun foo ()"
                     "2 applied  @@ -18,7 +18,7 @@ (defun foo ()"
                     "3 pending  @@ -33,7 +33,7 @@ (defun foo ()")))
    (imenu (nth 2 (funcall imenu-create-index-function)))
    (should (= 2 (agent-q-diff-buffer-hunk-at-point)))))

(ert-deftest aqd-where-outline-folds-hunks ()
  (aqd-with-way
    (outline-minor-mode 1)
    (aqd-goto-hunk 2)
    (outline-hide-subtree)
    (should (invisible-p (line-beginning-position 3)))
    (aqd-press "n")
    (should (= 2 (agent-q-diff-buffer-hunk-at-point)))))

(ert-deftest aqd-where-next-error-shows-each-place ()
  (aqd-with-way
    (next-error 1 t)
    (should (= 0 (agent-q-diff-buffer-hunk-at-point)))
    (next-error)
    (should (= 1 (agent-q-diff-buffer-hunk-at-point)))
    (let ((target (find-buffer-visiting aqd-file)))
      (with-current-buffer target
        (should (= 21 (line-number-at-pos (window-point (get-buffer-window target)))))))
    (next-error)
    (should-error (next-error) :type 'user-error)))

(ert-deftest aqd-where-which-function-opens-nothing ()
  (aqd-with-way
    (aqd-goto-hunk 1)
    (let ((find-file-hook (list (lambda () (ert-fail "a file was opened")))))
      (should (equal "(defun foo ()" (add-log-current-defun))))
    (goto-char (point-min))
    (should-not (add-log-current-defun))))

(ert-deftest aqd-where-eldoc-tells-state-and-key ()
  (aqd-with-way
    (aqd-accept 1)
    (aqd-goto-hunk 1)
    (should (equal (agent-q-diff-navigation--eldoc)
                   "Hunk 1 of 3, applied; u takes it out of the file"))
    (aqd-goto-hunk 2)
    (should (equal (agent-q-diff-navigation--eldoc) "Hunk 2 of 3, pending; a accepts, r rejects"))
    (aqd-in-target (search-forward "line 35") (insert "!"))
    (aqd-goto-hunk 3)
    (should (string-prefix-p "Hunk 3 of 3, does not apply: its lines were changed"
                             (agent-q-diff-navigation--eldoc)))
    (goto-char (point-min))
    (should-not (agent-q-diff-navigation--eldoc))))

(ert-deftest aqd-where-follow-marks-the-lines-that-a-hunk-touches ()
  (aqd-with-way
    (let ((marked (lambda ()
                    (with-current-buffer (find-buffer-visiting aqd-file)
                      (mapcar (lambda (overlay)
                                (list (line-number-at-pos (overlay-start overlay))
                                      (line-number-at-pos (overlay-end overlay))))
                              (seq-filter (lambda (overlay)
                                            (eq 'agent-q-diff-place
                                                (overlay-get overlay 'face)))
                                          (overlays-in (point-min) (point-max))))))))
      (aqd-goto-hunk 1)
      (aqd-press "f")
      (should (equal (funcall marked) '((3 10))))
      (aqd-press "n")
      (should (equal (funcall marked) '((18 25))))
      (aqd-in-target (insert "above\n"))
      (aqd-press "p n")
      (should (equal (funcall marked) '((19 26))))
      ;; Of a hunk whose lines are gone the place is left.
      (aqd-in-target (erase-buffer))
      (aqd-press "p")
      (should (equal (funcall marked) '((1 1))))
      (aqd-press "f")
      (should-not agent-q-diff-follow-mode))))

;;;; Menus

(ert-deftest aqd-menu-has-every-command-and-its-key ()
  (aqd-with-way
    (let (commands)
      (map-keymap (lambda (_ item)
                    (push (nth 2 item) commands))
                  (lookup-key (current-local-map) [menu-bar Review]))
      (pcase-dolist (`(,command . ,_) agent-q-diff-menu--help-commands)
        (should (memq command commands))
        (should (commandp command))
        (should (equal '(agent-q-diff-mode) (command-modes command)))))
    (agent-q-diff-help)
    (with-current-buffer "*Agent-Q Diff Help*"
      (should-not (string-search "M-x" (buffer-string))))))

(ert-deftest aqd-menu-help-and-menu-miss-no-key ()
  (aqd-with-way
    (let ((missing nil))
      (map-keymap
       (lambda (event binding)
         (when (and (symbolp binding) (commandp binding) (integerp event)
                    (not (cl-find (indirect-function binding) agent-q-diff-menu--help-commands
                                  :key (lambda (entry) (indirect-function (car entry))))))
           (push binding missing)))
       agent-q-diff-mode-map)
      (should-not missing))))

(ert-deftest aqd-menu-context-acts-where-one-clicks ()
  (aqd-with-way
    (let* ((at (aqd-goto-hunk 2))
           (click (list 'mouse-3 (list (selected-window) at '(0 . 0) 0)))
           (menu (agent-q-diff-menu--context (make-sparse-keymap) click))
           (item (lookup-key menu [agent-q-diff-accept-hunk])))
      (goto-char (point-min))
      (should (memq #'agent-q-diff-menu--context context-menu-functions))
      (call-interactively item)
      (should (equal (aqd-signs) '((2 . "[APPLIED]")))))))

(ert-deftest aqd-menu-modal-packages-leave-the-keys-alone ()
  (let ((states '((agent-q-diff-list-mode . motion)))
        (meow-mode-state-list '((agent-q-diff-grants-mode . normal))))
    (cl-letf (((symbol-function 'evil-initial-state)
               (lambda (mode &optional _) (alist-get mode states)))
              ((symbol-function 'evil-set-initial-state)
               (lambda (mode state) (push (cons mode state) states))))
      (dolist (mode '(agent-q-diff-mode sly-agent-q-diff-mode agent-q-diff-list-mode
                      agent-q-diff-grants-mode agent-q-diff-log-mode
                      agent-q-diff-transcript-mode))
        (with-temp-buffer
          (funcall mode)
          ;; What the user has set stays.
          (should (eq (alist-get mode states)
                      (if (eq mode 'agent-q-diff-list-mode) 'motion 'emacs)))
          (should (eq (alist-get mode meow-mode-state-list)
                      (if (eq mode 'agent-q-diff-grants-mode) 'normal 'insert))))))))

(provide 'agent-q-diff-where-test)
;;; agent-q-diff-where-test.el ends here
