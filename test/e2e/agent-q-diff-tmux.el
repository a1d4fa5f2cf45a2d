;;; agent-q-diff-tmux.el --- Drives an Emacs in a terminal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Starts a real Emacs in a tmux of its own, types keys, and looks at the
;; screen, at the files, and at what the caller of a review was answered.
;; Nothing here waits for a fixed time: every wait has a condition, and fails
;; with the screen when its deadline is over.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'subr-x)

(defconst e2e-here (file-name-directory (or load-file-name buffer-file-name))
  "Folder of this file.")

(defconst e2e-lisp
  (or (getenv "AGENT_Q_DIFF_LISP") (expand-file-name "../../lisp" e2e-here))
  "Folder of the package: as it is compiled by run-tests, or of its sources.")

(defconst e2e-limit-seconds 20
  "Time after which a condition that does not come true has failed.")

(defconst e2e-pause-seconds 0.02
  "Time between the first two looks at a condition.")

(defconst e2e-longest-pause-seconds 0.1
  "Longest time between two looks at a condition.
A look at the screen runs a process, which what is waited for does without.")

(defvar e2e--folder nil "Folder of the test's files.")
(defvar e2e--pid nil "Process id of the Emacs under test.")
(defvar e2e--found nil "State of the Emacs under test before any review.")
(defvar e2e--serial 0 "Number of the last probe.")

;;;; Files

(defun e2e-path (name)
  "Return the absolute name of the test's file NAME."
  (expand-file-name name e2e--folder))

(defun e2e-write (name text)
  "Make TEXT the content of the test's file NAME."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region text nil (e2e-path name) nil 'silent)))

(defun e2e-read (name)
  "Return the content of the test's file NAME, or nil if there is none."
  (when (file-exists-p (e2e-path name))
    (with-temp-buffer
      (insert-file-contents-literally (e2e-path name))
      (decode-coding-string (buffer-string) 'utf-8-unix))))

(defun e2e--write-form (name form)
  "Make FORM, printed, the content of the test's file NAME, at one blow."
  (let ((print-length nil)
        (print-level nil))
    (e2e-write "form-new" (prin1-to-string form))
    (rename-file (e2e-path "form-new") (e2e-path name) t)))

;;;; The terminal

(defconst e2e--settings
  "set -g default-terminal screen-256color
set -s escape-time 0
set -g status off
set -g remain-on-exit on
"
  "Settings of our tmux.")

(defconst e2e--keep-output "stty noflsh; exec \"$@\""
  "Shell script that runs its arguments in a terminal that loses no output.
Else the kernel drops, at C-g, what Emacs wrote and tmux has not read yet,
and Emacs does not write again what it takes to be on the screen.")

(defun e2e-tmux (&rest arguments)
  "Run tmux with ARGUMENTS on our own server and return what it prints."
  (with-temp-buffer
    (let* ((coding-system-for-read 'utf-8)
           (coding-system-for-write 'utf-8)
           (process-environment
            (append (list (concat "TMUX_TMPDIR=" e2e--folder) "TMUX=")
                    process-environment))
           (status (apply #'call-process "tmux" nil t nil
                          "-u" "-L" "e2e" "-f" (e2e-path "tmux.conf") arguments)))
      (unless (eq status 0)
        (error "Command tmux %S failed: %s" arguments (buffer-string)))
      (buffer-string))))

(defun e2e-screen ()
  "Return what the screen shows, as a string of lines."
  (e2e-tmux "capture-pane" "-p"))

(defun e2e-cursor-line ()
  "Return the line of the screen in which the cursor is."
  (nth (string-to-number (e2e-tmux "display-message" "-p" "#{cursor_y}"))
       (split-string (e2e-screen) "\n")))

(defun e2e--key (key)
  "Return KEY, written as in `kbd', as tmux writes it."
  (pcase key
    ("SPC" "Space")
    ("C-SPC" "C-Space")
    ("RET" "Enter")
    ("ESC" "Escape")
    ("TAB" "Tab")
    ("<backtab>" "BTab")
    ("<f5>" "F5")
    (_ key)))

(defun e2e-keys (keys)
  "Type KEYS, written as in `kbd'."
  (dolist (key (split-string keys))
    (if (= (length key) 1)
        (e2e-type key)
      (e2e-tmux "send-keys" (e2e--key key)))))

(defun e2e-type (text)
  "Type TEXT as it is."
  (e2e-tmux "send-keys" "-l" "--" text))

;;;; Waiting

(defun e2e-until (function &optional limit)
  "Call FUNCTION until it returns non-nil, and return that, or nil if it does not.
LIMIT is how many seconds that may take, by default `e2e-limit-seconds'."
  (let ((deadline (+ (float-time) (or limit e2e-limit-seconds)))
        (pause e2e-pause-seconds)
        value)
    (while (and (not (setq value (funcall function)))
                (< (float-time) deadline))
      (sleep-for pause)
      (setq pause (min e2e-longest-pause-seconds (* 1.3 pause))))
    value))

(defun e2e--wait (what function &optional limit)
  "Wait until FUNCTION returns non-nil, and return that.
WHAT says in a failure what was waited for; LIMIT is as for `e2e-until'."
  (or (e2e-until function limit)
      ;; A graphical Emacs has no such screen.
      (ert-fail (list 'waited-in-vain-for what 'screen
                      (split-string (or (ignore-errors (e2e-screen)) "") "\n" t)))))

(defmacro e2e-wait-for (condition)
  "Wait until the form CONDITION is non-nil and return its value."
  `(e2e--wait ',condition (lambda () ,condition)))

(defun e2e--at-left-edge (regexp)
  "Return REGEXP so that lines match that begin with what is left of a hunk.
In a diff buffer that is a space, or a bar if the hunk is the current one."
  (replace-regexp-in-string "\\`\\^\\|\n" "\\&[ ▌]?" regexp))

(defun e2e-see (&rest regexps)
  "Wait until the screen shows a match of each of REGEXPS.
They are matched as searches do in text, so that `^' is a line's start, or
follows what is left of a hunk.
A line that goes on in the next one of the screen may count as one: where
it does depends on how long the names of files are."
  (e2e--wait (cons 'see regexps)
             (lambda ()
               (let* ((screen (e2e-screen))
                      (joined (replace-regexp-in-string "\\\\\n[ ▌]?" "" screen)))
                 (seq-every-p (lambda (regexp)
                                (setq regexp (e2e--at-left-edge regexp))
                                (or (string-match-p regexp screen)
                                    (string-match-p regexp joined)))
                              regexps)))))

(defun e2e-see-gone (regexp)
  "Wait until the screen shows no match of REGEXP."
  (e2e--wait (list 'see-gone regexp)
             (lambda () (not (string-match-p regexp (e2e-screen))))))

(defun e2e-see-cursor-at (regexp)
  "Wait until the cursor is in a line that matches REGEXP."
  (e2e--wait (list 'see-cursor-at regexp)
             (lambda ()
               (string-match-p (e2e--at-left-edge regexp) (e2e-cursor-line)))))

;;;; Colors

(defun e2e-contrast (one other)
  "Return the contrast of the colors ONE and OTHER, from 1 to 21.
A color is (RED GREEN BLUE), each up to 65535.  The contrast is that of
the Web Content Accessibility Guidelines, where text that is easy to read
has 4.5."
  (pcase-let ((`(,one ,other)
               (mapcar (lambda (color)
                         (cl-loop for value in color
                                  for weight in '(0.2126 0.7152 0.0722)
                                  for part = (/ value 65535.0)
                                  sum (* weight (if (<= part 0.03928)
                                                    (/ part 12.92)
                                                  (expt (/ (+ part 0.055) 1.055) 2.4)))))
                       (list one other))))
    (/ (+ (max one other) 0.05) (+ (min one other) 0.05))))

(defun e2e-terminal-color (number)
  "Return color NUMBER of a terminal of 256, as in `e2e-contrast'."
  (mapcar (lambda (value) (* 257 value))
          (cond
           ((< number 16)
            (nth number '((0 0 0) (205 0 0) (0 205 0) (205 205 0)
                          (0 0 238) (205 0 205) (0 205 205) (229 229 229)
                          (127 127 127) (255 0 0) (0 255 0) (255 255 0)
                          (92 92 255) (255 0 255) (0 255 255) (255 255 255))))
           ((< number 232)
            (let ((levels [0 95 135 175 215 255])
                  (number (- number 16)))
              (list (aref levels (/ number 36))
                    (aref levels (% (/ number 6) 6))
                    (aref levels (% number 6)))))
           (t (make-list 3 (+ 8 (* 10 (- number 232))))))))

(defun e2e-painted (regexp)
  "Return (FOREGROUND BACKGROUND) of what REGEXP matches on the screen.
They are numbers of a terminal's colors, or nil for its own."
  (let (foreground background end)
    (with-temp-buffer
      (insert (e2e-tmux "capture-pane" "-p" "-e"))
      (goto-char (point-min))
      (re-search-forward regexp)
      (setq end (match-beginning 0))
      (goto-char (point-min))
      (while (re-search-forward "\e\\[\\([0-9;]*\\)m" end t)
        (let ((codes (mapcar #'string-to-number (split-string (match-string 1) ";"))))
          (while codes
            (pcase (pop codes)
              (0 (setq foreground nil background nil))
              (38 (setq foreground (cadr codes) codes (cddr codes)))
              (48 (setq background (cadr codes) codes (cddr codes)))
              (39 (setq foreground nil))
              (49 (setq background nil))
              ((and code (guard (<= 30 code 37))) (setq foreground (- code 30)))
              ((and code (guard (<= 40 code 47))) (setq background (- code 40)))
              ((and code (guard (<= 90 code 97))) (setq foreground (- code 82)))
              ((and code (guard (<= 100 code 107))) (setq background (- code 92))))))))
    (list foreground background)))

;;;; The Emacs under test

(defun e2e--last-value ()
  "Return the form that the Emacs under test wrote last, or nil."
  (when-let ((text (e2e-read "value")))
    (and (string-suffix-p "\n" text) (read text))))

(defconst e2e-repeat-seconds 0.5
  "Time after which a question that was not answered is asked again.")

(defun e2e--ask (number form asked)
  "Ask for the value of FORM, which is probe NUMBER, if last ASKED long ago.
Return that time.  Emacs drops an event, like a key, when it reports an
error before the event was read."
  (if (< (- (float-time) asked) e2e-repeat-seconds)
      asked
    (unless (eq number (car-safe (e2e--last-value)))
      (e2e--write-form "probes/probe" (list number form)))
    (float-time)))

(defun e2e-eval (form)
  "Evaluate FORM in the Emacs under test, without a command, and return its value."
  (let ((number (cl-incf e2e--serial))
        (asked 0))
    (pcase (e2e--wait (list 'eval form)
                      (lambda ()
                        (setq asked (e2e--ask number form asked))
                        (pcase (e2e--last-value)
                          (`(,(pred (equal number)) . ,value) value))))
      (`(:ok ,value) value)
      (err (error "Evaluation of %S failed: %S" form err)))))

(defvar e2e-load-arguments (list "-Q" "-L" e2e-lisp)
  "Arguments by which the Emacs under test finds the package.")

(defconst e2e-no-compilation "EMACS_INHIBIT_AUTOMATIC_NATIVE_COMPILATION=t"
  "Environment of an Emacs that is killed in the end.
What compiles to native code for it would outlive it, and leave files in
the folder for temporary ones.")

(defvar e2e-environment '()
  "Environment of the Emacs under test, strings \"NAME=VALUE\".")

(defvar e2e-size '(100 . 80)
  "Columns and lines of the terminal.")

(defun e2e--prepare-folder ()
  "Put down what the Emacs under test needs: a file, and the folder of probes."
  (e2e-write "notes" "Some notes.\n")
  (make-directory (e2e-path "probes")))

(defun e2e--start (emacs-arguments)
  "Start the Emacs under test with EMACS-ARGUMENTS and wait until it is there."
  (e2e-write "tmux.conf" e2e--settings)
  (e2e--prepare-folder)
  (apply #'e2e-tmux "new-session" "-d"
         "-x" (number-to-string (car e2e-size)) "-y" (number-to-string (cdr e2e-size)) "--"
         "sh" "-c" e2e--keep-output "sh"
         "env" "LC_ALL=C.UTF-8" e2e-no-compilation
         (concat "AGENT_Q_DIFF_E2E=" e2e--folder)
         (append e2e-environment
                 (list (or (getenv "EMACS") "emacs") "-nw")
                 e2e-load-arguments
                 emacs-arguments
                 (list "-l" (expand-file-name "agent-q-diff-inside" e2e-here))))
  (setq e2e--pid (e2e-wait-for (e2e--last-value))
        e2e--found (e2e-eval '(inside-state))))

(defun e2e--gone-p (pid)
  "Return non-nil if the process PID has ended."
  (member (alist-get 'state (process-attributes pid)) '(nil "Z")))

(defun e2e--stop ()
  "Stop the Emacs under test and its tmux."
  (ignore-errors (e2e-tmux "kill-server"))
  ;; What it still writes would be in the way of deleting its folder.
  (when e2e--pid
    (signal-process e2e--pid 'SIGKILL)
    (e2e-wait-for (e2e--gone-p e2e--pid)))
  (delete-directory e2e--folder t))

(defun e2e-kill ()
  "Kill the Emacs under test, which can do nothing about it."
  (signal-process e2e--pid 'SIGKILL)
  (e2e-wait-for (e2e--gone-p e2e--pid)))

(defun e2e-start-again ()
  "Start the Emacs under test again, after it was killed."
  (e2e-tmux "kill-server")
  (e2e-wait-for (not (ignore-errors (e2e-tmux "list-sessions"))))
  (delete-file (e2e-path "value"))
  (delete-directory (e2e-path "probes") t)
  (e2e--start nil))

(defmacro e2e-with-emacs (&rest body)
  "Evaluate BODY with an Emacs under test, in a folder of its own."
  (declare (indent 0) (debug t))
  `(let* ((e2e--folder (file-name-as-directory (make-temp-file "aqd" t)))
          (e2e--serial 0)
          e2e--pid e2e--found)
     (unwind-protect
         (progn
           (e2e--start nil)
           ,@body)
       (e2e--stop))))

(defun e2e-press (keys)
  "Type KEYS, each an event of its own, and wait until they are carried out.
This is for commands that end in an error: when that is said, Emacs drops
what was typed ahead."
  ;; Emacs records no more than 300, so begin anew.
  (e2e-eval '(progn (clear-this-command-keys) nil))
  (e2e-keys keys)
  (e2e-wait-for (<= (length (split-string keys))
                    (e2e-eval '(length (recent-keys))))))

;;;; Proposals

(defun e2e-text (&rest changed)
  "Return a text of 40 lines, of which those in CHANGED are changed.
Changing the lines 5, 20 and 35 makes three hunks."
  (mapconcat (lambda (line)
               (format (if (memq line changed) "LINE %d\n" "line %d\n") line))
             (number-sequence 1 40) ""))

(cl-defun e2e-proposal (name &key (original (e2e-text))
                             (modified (e2e-text 5 20 35))
                             (description "Shout"))
  "Return a call that proposes to change the file NAME.
It goes from ORIGINAL, which the file now holds, to MODIFIED."
  (unless (equal (e2e-read name) original)
    (e2e-write name original))
  `(sly-agent-q-show-diff-and-wait
    ,(e2e-path name) ,original ,modified ,description))

(defun e2e-call (way tag form)
  "Have the caller evaluate FORM, and wait for nothing.
WAY is `key', `filter' or `timer'.  The answer will be that of TAG."
  (e2e--write-form "call" (list tag form))
  (pcase-exhaustive way
    ('key (e2e-keys "<f5>"))
    ('filter (e2e-eval '(inside-call-by-filter)))
    ('timer (e2e-eval '(ignore (inside-call-by-timer))))))

(defun e2e-header (hunk &optional applied rejected pending)
  "Return a regexp for the header line of a diff buffer on HUNK, such as \"1/3\".
APPLIED, REJECTED and PENDING are numbers of hunks; if nil, any will do."
  (cl-flet ((count (n words)
              (cond
               ((null n) (format "\\(?:[0-9]+ \\(?:%s\\) · \\)?" words))
               ((= n 0) "")
               (t (format "%d \\(?:%s\\) · " n words)))))
    (let ((place (concat "[^ ].*: hunk " hunk "\\(?:, [0-9]+ lines? below\\)?"
                         "\\(?: · file [0-9]+/[0-9]+\\)?"))
          (counts (concat "\\+[0-9]+ -[0-9]+ · "
                          (count applied "applied\\|accepted\\|kept")
                          (count rejected "rejected\\|taken out")
                          (if pending (format "%d" pending) "[0-9]+")
                          " pending")))
      ;; A wide screen has it beside the other window; in a narrow one, the counts are
      ;; first.
      (format "\\(?:^\\||\\) \\(?:%s · %s\\|\\(?:.* · \\)?%s · %s\\)"
              place counts counts place))))

(defun e2e-propose (way tag form)
  "Have the caller evaluate FORM and wait until its diff buffer is selected.
WAY and TAG are as in `e2e-call'."
  (let ((depth (e2e-eval '(recursion-depth))))
    (e2e-call way tag form)
    (e2e-wait-for (> (e2e-eval '(recursion-depth)) depth))
    (e2e-see (e2e-header "1/[0-9]+" 0) "Agent-Q Diff")))

(defun e2e-answers ()
  "Return the answers that callers got so far, each (TAG :ok VALUE) or alike."
  ;; After the last line there can be one that is not wholly written yet.
  (mapcar #'read (butlast (split-string (or (e2e-read "answers") "") "\n"))))

(defun e2e-answer (tag)
  "Wait for the answer to the call TAG and return it.
It must be the only one."
  (e2e-wait-for (assq tag (e2e-answers)))
  (let ((answers (seq-filter (lambda (answer) (eq (car answer) tag)) (e2e-answers))))
    (should (= (length answers) 1))
    (cdar answers)))

(defun e2e-should-be-as-found ()
  "Wait until the Emacs under test is as it was before any review.
That is its depth, its windows, its hooks, and what is left to be read."
  (let (state)
    (e2e-until (lambda () (equal (setq state (e2e-eval '(inside-state))) e2e--found)))
    (should (equal state e2e--found))))

(provide 'agent-q-diff-tmux)
;;; agent-q-diff-tmux.el ends here
