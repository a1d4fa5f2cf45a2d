;;; graphical-test.el --- A review in a graphical frame  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The demo's review as `make pictures' poses it, in a light and in a dark
;; frame on a display that nobody sees.  Keys are typed and the mouse is
;; moved by xdotool, so that they go the whole way through X.
;;
;; The graphical Emacs is that of AGENT_Q_DIFF_GRAPHICAL, which run-tests
;; sets.  On a machine that has none and where none can be installed, it
;; sets AGENT_Q_DIFF_NO_GRAPHICAL to the reason.

;;; Code:

(require 'agent-q-diff-tmux)

(defconst graphical-root (expand-file-name "../.." e2e-here)
  "Folder of the project.")

(defvar graphical--display nil "Name of the display of the Emacs under test.")

;;;; The frame

(defun graphical--start (background)
  "Start a graphical Emacs that poses with BACKGROUND.
Return the process that holds its display."
  (make-directory (e2e-path "home"))
  (copy-file (expand-file-name "test/demo/original.lisp" graphical-root)
             (e2e-path "inventory.lisp"))
  (e2e--prepare-folder)
  (make-process
   :name "display" :buffer "*display*" :noquery t
   :command (list (expand-file-name "test/tools/xvfb" graphical-root) "env"
                  "LC_ALL=C.UTF-8" e2e-no-compilation
                  (concat "HOME=" (e2e-path "home"))
                  (concat "AGENT_Q_DIFF_E2E=" e2e--folder)
                  (concat "AGENT_Q_DIFF_DEMO_FILE=" (e2e-path "inventory.lisp"))
                  (concat "AGENT_Q_DIFF_BACKGROUND=" background)
                  (concat "AGENT_Q_DIFF_READY=" (e2e-path "ready"))
                  (or (getenv "AGENT_Q_DIFF_GRAPHICAL")
                      (error "There is no graphical Emacs in AGENT_Q_DIFF_GRAPHICAL"))
                  "-Q" "--font" "DejaVu Sans Mono-10" "--geometry" "92x46+0+0"
                  "-L" e2e-lisp
                  "-L" (expand-file-name "test/demo" graphical-root)
                  "-l" (expand-file-name "agent-q-diff-inside" e2e-here)
                  "-l" (expand-file-name "test/demo/picture.el" graphical-root))))

(defun graphical--wait (process function)
  "Wait until FUNCTION returns non-nil; if it does not, tell what PROCESS says."
  (condition-case err
      ;; The display comes up first, which takes its time on a busy machine.
      (e2e--wait 'the-frame
                 (lambda ()
                   (accept-process-output process 0)
                   (unless (process-live-p process)
                     (ert-fail "It has ended"))
                   (funcall function))
                 (* 4 e2e-limit-seconds))
    (ert-test-failed
     (ert-fail (list err (process-status process)
                     (with-current-buffer (process-buffer process)
                       (buffer-string)))))))

(defun graphical--stop (process)
  "End the Emacs under test and PROCESS, which holds its display."
  (when e2e--pid
    (signal-process e2e--pid 'SIGKILL))
  (while (process-live-p process)
    (unless e2e--pid
      (signal-process process 'SIGTERM))
    (accept-process-output process 0.1)))

(defmacro graphical-with-frame (background &rest body)
  "Evaluate BODY with the demo's review in a frame with BACKGROUND."
  (declare (indent 1) (debug t))
  `(let* ((e2e--folder (file-name-as-directory (make-temp-file "aqd" t)))
          (e2e--serial 0)
          e2e--pid graphical--display
          (process (graphical--start ,background)))
     (unwind-protect
         (progn
           (graphical--wait process (lambda () (setq e2e--pid (e2e--last-value))))
           (graphical--wait process (lambda () (file-exists-p (e2e-path "ready"))))
           (setq graphical--display (e2e-eval '(getenv "DISPLAY")))
           ,@body)
       (graphical--stop process)
       (delete-directory e2e--folder t))))

(defun graphical-run (program &rest arguments)
  "Run PROGRAM with ARGUMENTS on the display, and return what it prints."
  (with-temp-buffer
    (let* ((process-environment (cons (concat "DISPLAY=" graphical--display)
                                      process-environment))
           (status (apply #'call-process program nil t nil arguments)))
      (unless (eq status 0)
        (error "%s %S failed: %s" program arguments (buffer-string)))
      (buffer-string))))

(defvar graphical--imagemagick nil "Path of ImageMagick's command, once it is known.")

(defun graphical-imagemagick ()
  "Return the path of ImageMagick's command, however it is called here."
  (or graphical--imagemagick
      (setq graphical--imagemagick
            (string-trim (graphical-run (expand-file-name "test/tools/imagemagick"
                                                          graphical-root))))))

;;;; Hands

(defun graphical-window-id ()
  "Return the number of the frame's window, as X has it."
  (e2e-eval '(frame-parameter nil 'outer-window-id)))

(defun graphical-type (&rest keys)
  "Type KEYS, as xdotool names them, into the frame."
  (graphical-run "xdotool" "windowfocus" "--sync" (graphical-window-id))
  (apply #'graphical-run "xdotool" "key" keys))

(defun graphical-place (form)
  "Return (X Y) on the screen of the position that FORM returns."
  (e2e-eval `(pcase-let ((`(,left ,top . ,_) (window-inside-absolute-pixel-edges))
                         (`(,x . ,y) (posn-x-y (posn-at-point ,form))))
               (list (+ left x 3)
                     (+ top y 3)))))

(defun graphical-point-at (form)
  "Move the mouse to the position that FORM returns."
  (pcase-let ((`(,x ,y) (graphical-place form)))
    (graphical-run "xdotool" "mousemove" "--sync" (number-to-string x) (number-to-string y))
    ;; Help is shown when the mouse moves inside a frame.
    (graphical-run "xdotool" "mousemove_relative" "--sync" "2" "1")))

;;;; What is to be seen

(defun graphical-contrast (face)
  "Return the contrast of FACE in the frame under test."
  (apply #'e2e-contrast
         (e2e-eval `(list (color-values (face-foreground ',face nil 'default))
                          (color-values (face-background ',face nil 'default))))))

(defun graphical-painted (form n)
  "Return (FOREGROUND BACKGROUND) of the N characters at FORM, as painted.
Of the colors there, the background is the most frequent one, and the
foreground that with the most contrast to it."
  (pcase-let* ((file (e2e-path "screen.xwd"))
               (`(,left ,top) (graphical-place form))
               (`(,width ,height)
                (e2e-eval `(list (* ,n (frame-char-width)) (frame-char-height))))
               (colors '()))
    (graphical-run "xwd" "-silent" "-root" "-out" file)
    (dolist (line (split-string
                   (graphical-run (graphical-imagemagick) (concat "xwd:" file) "-crop"
                                  ;; `graphical-place' is a bit inside.
                                  (format "%dx%d+%d+%d" width height (- left 3) (- top 3))
                                  "-depth" "8" "-format" "%c" "histogram:info:-")
                   "\n" t))
      (when (string-match "\\([0-9]+\\):.* #\\(..\\)\\(..\\)\\(..\\)" line)
        (push (cons (string-to-number (match-string 1 line))
                    (mapcar (lambda (n) (* 257 (string-to-number (match-string n line) 16)))
                            '(2 3 4)))
              colors)))
    (let ((background (cdar (seq-sort-by #'car #'> colors))))
      (list (cdar (seq-sort-by (lambda (color) (e2e-contrast (cdr color) background))
                               #'> colors))
            background))))

(defun graphical-should-have-quiet-headers ()
  "Check that headers of decided hunks can be read, and are no bars.
The first two hunks are decided, and the third is not."
  (let ((page (e2e-eval '(color-values (face-background 'default))))
        (headers (mapcar (lambda (hunk)
                           ;; The cursor may be on the first character.
                           (graphical-painted `(1+ (aref agent-q-diff-buffer-positions ,hunk)) 14))
                         '(0 1 2))))
    ;; The color of the bar is diff-mode's.
    (dolist (header (seq-take headers 2))
      (ert-info ((format "%S" header))
        (should (> (apply #'e2e-contrast header) 4.5))))
    (should (equal (mapcar (lambda (header) (equal (cadr header) page)) headers)
                   '(t t nil)))))

(defun graphical-n-windows ()
  "Return the number of windows on the display; a tooltip is one."
  (let ((tree (graphical-run "xwininfo" "-root" "-tree")))
    (and (string-match "\\([0-9]+\\) child\\(?:ren\\)?:" tree)
         (string-to-number (match-string 1 tree)))))

(defun graphical-counts ()
  "Return the numbers of hunks: all, applied, rejected, pending."
  (e2e-eval '(agent-q-diff-buffer-counts)))

(defun graphical-should-be-painted ()
  "Look at a photograph of the frame: there are letters on many colors."
  (let ((file (e2e-path "picture.png")))
    (graphical-run (expand-file-name "test/tools/photograph" graphical-root) file)
    (pcase-let ((`(,width ,height ,n-colors)
                 (mapcar #'string-to-number
                         (split-string (graphical-run (graphical-imagemagick) file
                                                      "-format" "%w %h %k" "info:")))))
      (should (> width 700))
      (should (> height 700))
      (should (> n-colors 20)))))

(defun graphical-skip-unless-there ()
  "Skip the test where run-tests says that there can be no graphical frame."
  (when (getenv "AGENT_Q_DIFF_NO_GRAPHICAL")
    (ert-skip (getenv "AGENT_Q_DIFF_NO_GRAPHICAL"))))

(defun graphical-tour (background colors)
  "Look at the review in a frame with BACKGROUND, and decide a bit of it.
COLORS is an alist from faces to their backgrounds there."
  (graphical-skip-unless-there)
  (graphical-with-frame background
    (should (e2e-eval '(display-graphic-p)))
    (should (eq (intern background) (e2e-eval '(frame-parameter nil 'background-mode))))
    (pcase-dolist (`(,face . ,color) colors)
      (should (equal (cons face color)
                     (cons face (e2e-eval `(face-background ',face nil t))))))
    (dolist (face '(agent-q-diff-applied agent-q-diff-rejected agent-q-diff-differs default))
      (ert-info ((symbol-name face))
        (should (> (graphical-contrast face) 4.5))))
    ;; The header line is there, and all of the third hunk's beginning.
    (should (string-match-p
             (concat "\\` inventory\\.lisp: hunk 3/9 · \\+[0-9]+ -[0-9]+ · 1 applied · 1 rejected · 7 pending · Agent-Q"
                     "\\(?: · in .*/\\)?\\'")
             (e2e-eval '(format-mode-line header-line-format))))
    (should (> (e2e-eval '(window-header-line-height)) 10))
    (should (> (e2e-eval '(window-end nil t)) (e2e-eval '(aref agent-q-diff-buffer-positions 2))))
    (should (equal (e2e-eval '(mapcar (lambda (sign) (overlay-get sign 'agent-q-diff))
                                      (sort (seq-filter (lambda (overlay)
                                                          (overlay-get overlay 'agent-q-diff))
                                                        (overlays-in (point-min) (window-end)))
                                            (lambda (one other)
                                              (< (overlay-start one) (overlay-start other))))))
                   '(applied rejected)))
    (graphical-should-be-painted)
    (graphical-should-have-quiet-headers)
    ;; Keys.
    (graphical-type "r")
    (e2e-wait-for (equal (graphical-counts) '(9 1 2 6)))
    (graphical-type "ctrl+slash")
    (e2e-wait-for (equal (graphical-counts) '(9 1 1 7)))
    (graphical-type "ctrl+question")
    (e2e-wait-for (equal (graphical-counts) '(9 1 2 6)))
    (graphical-type "ctrl+slash" "alt+less")
    (e2e-wait-for (= 1 (e2e-eval '(point))))
    ;; A click goes to the hunk that is clicked.
    (graphical-point-at '(+ 30 (aref agent-q-diff-buffer-positions 1)))
    (graphical-run "xdotool" "click" "1")
    (e2e-wait-for (equal 1 (e2e-eval '(agent-q-diff-buffer-hunk-at-point))))
    ;; Under the mouse, a hunk that does not apply says why.
    (e2e-eval '(with-current-buffer (find-buffer-visiting (getenv "AGENT_Q_DIFF_DEMO_FILE"))
                 (goto-char (point-min))
                 (search-forward "(defgeneric check-field")
                 (beginning-of-line)
                 (insert ";; mine\n")))
    (graphical-type "N")
    (e2e-wait-for (equal 2 (e2e-eval '(agent-q-diff-buffer-hunk-at-point))))
    (let ((n-windows (graphical-n-windows)))
      (graphical-point-at '(+ 30 (aref agent-q-diff-buffer-positions 2)))
      ;; Not by asking Emacs, which would take the tooltip away.
      (e2e-wait-for (> (graphical-n-windows) n-windows)))
    (should (equal (e2e-eval '(substring-no-properties tooltip-help-message))
                   "other lines were inserted where it belongs, at line 113"))))

(ert-deftest e2e-graphical-light ()
  (graphical-tour "light" '((agent-q-diff-applied . "#bbffbb")
                            (agent-q-diff-rejected . "#ffcccc")
                            (agent-q-diff-differs . "#ffff55"))))

(ert-deftest e2e-graphical-dark ()
  (graphical-tour "dark" '((agent-q-diff-applied . "#335533")
                           (agent-q-diff-rejected . "#553333"))))

(defun graphical-write-program (file script)
  "Write FILE, a program that is SCRIPT for the shell, and return its name."
  (make-directory (file-name-directory file) t)
  (write-region (concat "#!/bin/sh\n" script "\n") nil file nil 'quiet)
  (set-file-modes file #o755)
  file)

(ert-deftest e2e-graphical-finds-imagemagick ()
  "Another program is called convert, or ImageMagick is called magick."
  (graphical-skip-unless-there)
  (let* ((folder (file-name-as-directory (make-temp-file "aqd" t)))
         (real (graphical-imagemagick))
         (graphical--imagemagick nil))
    (unwind-protect
        (let ((process-environment
               (cons (concat "PATH=" folder "first:" folder "second:" (getenv "PATH"))
                     process-environment)))
          (graphical-write-program (concat folder "first/convert")
                                   "echo 'convert: a stand-in' >&2; exit 1")
          (should (equal real (graphical-imagemagick)))
          ;; It says what it should, and does nothing.
          (graphical-write-program (concat folder "first/magick")
                                   "echo 'Version: ImageMagick 7.1.1-15'")
          (setq graphical--imagemagick nil)
          (should (equal real (graphical-imagemagick)))
          (let ((magick (graphical-write-program (concat folder "second/magick")
                                                 (format "exec %s \"$@\"" real))))
            (setq graphical--imagemagick nil)
            (should (equal magick (graphical-imagemagick)))))
      (delete-directory folder t))))

(provide 'graphical-test)
;;; graphical-test.el ends here
