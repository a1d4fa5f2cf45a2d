;;; agent-q-diff-screens.el --- Screens compared with stored ones  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A tour is a list of steps: keys, and the screen that a person sees after
;; them, stored in the folder screens as plain text, and in its folder 80x24
;; as a terminal of that size shows it; for a change of several files, in
;; 200x50 as well.  `make screens' writes these files anew; look at each
;; before it is committed.
;;
;; Where Emacs 28 itself shows something else than later versions, there is
;; a file NAME.28.txt beside NAME.txt.

;;; Code:

(require 'agent-q-diff-tmux)

(defconst screens-sizes '((100 . 40) (80 . 24))
  "Widths and heights, in characters, in which the tours are gone through.")

(defconst screens-wide-tours '(files side overview)
  "The tours that are gone through on a wide screen as well.")

(defconst screens-wide-size '(200 . 50)
  "Width and height, in characters, of the wide screen.")

(defun screens-sizes-of (tour)
  "Return the sizes in which TOUR, a symbol, is gone through."
  (append screens-sizes
          (and (memq tour screens-wide-tours) (list screens-wide-size))))

(defvar screens-size (car screens-sizes)
  "Width and height of the screen, one of `screens-sizes-of' a tour.")

(defun screens-folder ()
  "Return the folder of the stored screens of `screens-size'."
  (expand-file-name (if (equal screens-size (car screens-sizes))
                        "screens"
                      (format "screens/%dx%d" (car screens-size) (cdr screens-size)))
                    e2e-here))

(defconst screens-is-writing (getenv "AGENT_Q_DIFF_WRITE_SCREENS")
  "Non-nil if the screens are to be stored, not compared.")

(defconst screens-settle-seconds 2.5
  "Time after which a screen that has not changed is stored.
Nothing is compared then, so that there is no condition to wait for.")

;;;; What is seen

(defconst screens-rules
  '(("T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\\.[0-9]\\{3\\}Z" . "THH:MM:SS.mmmZ")
    ("[0-9]\\{4\\}-[0-9][0-9]-[0-9][0-9]" . "YYYY-MM-DD")
    ;; Cut off at the edge of the window.
    ("YYYY-MM-DD [0-9][0-9]\\$" . "YYYY-MM-DD HH$")
    ("\\b[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\\b" . "HH:MM:SS")
    ("\\b[0-9]:[0-9][0-9]:[0-9][0-9]\\b" . "H:MM:SS")
    ("YYYY-MM-DD [0-9][0-9]:[0-9][0-9]\\b" . "YYYY-MM-DD HH:MM")
    ("at work since [0-9][0-9]:[0-9][0-9]\\b\\(, last seen [0-9][0-9]:[0-9][0-9]\\)?" . "at work since HH:MM")
    ("Unloaded [0-9]+ features" . "Unloaded N features"))
  "Alist from what differs from run to run to what is stored in its place.
The test's own folder is `~' besides.")

(defun screens-seen ()
  "Return what the screen shows, and below it where the cursor is."
  (pcase-let* ((text (e2e-tmux "capture-pane" "-p" ";" "display-message" "-p"
                               "#{cursor_y} #{cursor_x}"))
               (lines (split-string text "\n" t))
               (`(,y ,x) (mapcar #'string-to-number
                                 (split-string (car (last lines)))))
               (screen (string-remove-suffix (concat (car (last lines)) "\n") text)))
    (setq screen (string-replace e2e--folder "~/" screen))
    (pcase-dolist (`(,regexp . ,replacement) screens-rules)
      (setq screen (replace-regexp-in-string regexp replacement screen t t)))
    (concat (string-trim-right screen)
            (format "\n==== cursor in line %d, column %d\n" (1+ y) x))))

;;;; What is stored

(defun screens-file (name)
  "Return the file of the screen NAME, whether it is there or not."
  (expand-file-name (concat name ".txt") (screens-folder)))

(defun screens-own-file (name)
  "Return the file of the screen NAME for this version of Emacs only."
  (screens-file (format "%s.%s" name emacs-major-version)))

(defun screens-text (file)
  "Return the content of FILE, or nil if it is not there."
  (when (file-exists-p file)
    (with-temp-buffer
      (let ((coding-system-for-read 'utf-8-unix))
        (insert-file-contents file))
      (buffer-string))))

(defun screens-expected (name)
  "Return the stored screen NAME for this version of Emacs, or nil."
  (or (screens-text (screens-own-file name))
      (screens-text (screens-file name))))

(defun screens-store (name)
  "Store the screen NAME as it is when it has come to rest.
Emacs 28 stores its own one only where it differs."
  (let ((seen (screens-seen))
        (since (float-time))
        (coding-system-for-write 'utf-8-unix))
    (while (< (- (float-time) since) screens-settle-seconds)
      (sleep-for e2e-pause-seconds)
      (let ((now (screens-seen)))
        (unless (equal now seen)
          (setq seen now
                since (float-time)))))
    (when (file-exists-p (screens-own-file name))
      (delete-file (screens-own-file name)))
    (unless (equal seen (screens-text (screens-file name)))
      (write-region seen nil (if (and (= emacs-major-version 28)
                                      (file-exists-p (screens-file name)))
                                 (screens-own-file name)
                               (screens-file name))
                    nil 'silent))))

;;;; Comparing

(defun screens-differences (expected seen)
  "Return the lines in which EXPECTED and SEEN differ, as strings."
  (let ((expected (split-string expected "\n"))
        (seen (split-string seen "\n")))
    (cl-loop for number from 1 to (max (length expected) (length seen))
             for one = (or (pop expected) "")
             for other = (or (pop seen) "")
             unless (equal one other)
             append (list (format "line %2d: -%s" number one)
                          (format "         +%s" other)))))

(defun screens-compare (name)
  "Wait until the screen is the stored one NAME; if it never is, say where not."
  (let ((expected (screens-expected name))
        seen)
    (unless expected
      (ert-fail (format "There is no stored screen %s; make screens stores it" name)))
    (unless (e2e-until (lambda () (equal (setq seen (screens-seen)) expected)))
      (ert-fail (cons (format "The screen is not %s (-), but (+)" name)
                      (screens-differences expected seen))))))

;;;; Tours

(defvar screens-tours '()
  "The tours, each (NAME . STEPS), the first one first.
A step is (SCREEN COMMAND . INPUT): after INPUT, in which COMMAND is run,
the screen is the stored SCREEN.  If SCREEN is nil nothing is looked at.
Of INPUT a string is keys, as in `kbd', a symbol is a command that is
called by its name, a list of a string is text, and any other list is a
form to be evaluated here.")

(defmacro screens-define-tour (name &rest steps)
  "Define the tour NAME of STEPS, as in `screens-tours'."
  (declare (indent 1))
  `(setq screens-tours
         (append screens-tours '((,name . ,steps)))))

(defun screens-rest ()
  "Wait until Emacs sleeps and the screen is the same, three times in a row.
Emacs leaves a terminal half drawn if the next key comes while it draws."
  (let ((seen nil) (n-same 0))
    (e2e-wait-for
     (let ((now (screens-seen))
           (state (alist-get 'state (process-attributes e2e--pid))))
       (setq n-same (cond ((not (member state '("S" nil))) 0)
                          ((equal now seen) (1+ n-same))
                          (t 1))
             seen now)
       (>= n-same 3)))))

(defun screens-do (input)
  "Do INPUT, an element of what a step of `screens-tours' has."
  (pcase input
    ((pred stringp) (dolist (key (split-string input))
                      (screens-rest)
                      (e2e-keys key)))
    ((pred symbolp) (e2e-keys "ESC x")
                    (e2e-type (symbol-name input))
                    (e2e-keys "RET"))
    (`(,(and text (pred stringp))) (e2e-type text))
    (form (eval form t))))

(defun screens-go (steps)
  "Go through STEPS and look at the screen after each."
  (pcase-dolist (`(,screen ,command . ,input) steps)
    (e2e-eval '(setq pinned-ran nil))
    (mapc #'screens-do input)
    (cond
     ((null screen))
     (screens-is-writing (screens-store screen))
     (t (ert-info (screen :prefix "Screen: ")
          (screens-compare screen))))
    ;; To ask Emacs takes a message out of the minibuffer, so that comes last.
    (when command
      (e2e-wait-for (memq command (e2e-eval '(seq-filter #'symbolp pinned-ran)))))))

(defmacro screens-with-emacs (environment &rest body)
  "Evaluate BODY with an Emacs under test whose screen is the same everywhere.
ENVIRONMENT is added to its environment."
  (declare (indent 1) (debug t))
  `(let* (;; Where a table cuts a path off depends on how long it is.
          (e2e--folder (file-name-as-directory (make-temp-file "/tmp/aqd" t)))
          (e2e--serial 0)
          (e2e-size screens-size)
          (e2e-environment (append ,environment
                                   (list (concat "HOME=" (directory-file-name e2e--folder)))
                                   e2e-environment))
          e2e--pid e2e--found)
     (unwind-protect
         (progn
           (e2e--start (list "-l" (expand-file-name "agent-q-diff-pinned" e2e-here)))
           ;; What is drawn while the terminal comes up may not be seen.
           (e2e-eval '(progn (message nil) (redraw-display)))
           ,@body)
       (e2e--stop))))

(provide 'agent-q-diff-screens)
;;; agent-q-diff-screens.el ends here
