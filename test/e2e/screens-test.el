;;; screens-test.el --- The interactive checklist  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Goes through the tours of agent-q-diff-tours.el in a terminal and compares
;; every screen, and sees to it that they leave out no key and no command.

;;; Code:

(require 'agent-q-diff-tours)

;;;; The tours

(defmacro screens-define-tests ()
  "Define a test for each tour and size of the screen."
  `(progn
     ,@(seq-mapcat
        (lambda (tour)
          (mapcar (lambda (size)
                    `(ert-deftest ,(intern (format "e2e-screens-%s-%dx%d" (car tour)
                                                   (car size) (cdr size)))
                         ()
                       (let ((screens-size ',size))
                         (screens-with-emacs nil
                           (screens-go ',(cdr tour))))))
                  (screens-sizes-of (car tour))))
        screens-tours)))

(screens-define-tests)

;;;; The checklist is complete

(require 'agent-q-diff-test-help)
(dolist (library '(gptel lisp server log list taken-out pending-marks unload edit))
  (require (intern (format "agent-q-diff-%s" library))))

(defun screens-steps ()
  "Return the steps of all tours in which a command is run, and looked at."
  (seq-filter (lambda (step) (and (nth 0 step) (nth 1 step)))
              (seq-mapcat #'cdr screens-tours)))

(defun screens-keys (map &optional prefix)
  "Return (KEYS . COMMAND) for each of our commands in MAP, a sparse keymap.
KEYS are written as in `kbd', with PREFIX, a vector, in front.  Menus are
left out."
  (let ((found '()))
    (map-keymap
     (lambda (event binding)
       (let ((keys (vconcat prefix (vector event))))
         (cond
          ((memq event '(menu-bar remap)))
          ((keymapp binding) (setq found (append (screens-keys binding keys) found)))
          ((and (symbolp binding)
                (string-prefix-p "agent-q-diff" (symbol-name binding)))
           (push (cons (key-description keys) binding) found)))))
     (if (keymap-parent map)
         ;; Only what is ours.
         (let ((own (copy-keymap map)))
           (set-keymap-parent own nil)
           own)
       map))
    found))

(defun screens-typed-p (keys step)
  "Return non-nil if KEYS are typed in STEP."
  (seq-some (lambda (input)
              (and (stringp input)
                   (string-match-p (format "\\(?:\\` *\\| \\)%s\\(?: \\| *\\'\\)"
                                           (regexp-quote keys))
                                   input)))
            (cddr step)))

(ert-deftest aqd-screens-every-key-of-the-diff-buffer-has-a-screen ()
  (let ((keys (screens-keys agent-q-diff-mode-map)))
    (should (> (length keys) 25))
    (should (equal '()
                   (seq-remove (lambda (key)
                                 (seq-some (lambda (step)
                                             (and (eq (cdr key) (nth 1 step))
                                                  (screens-typed-p (car key) step)))
                                           (screens-steps)))
                               keys)))))

(defun screens-commands ()
  "Return the package's commands; one under another name is not another one."
  (let ((commands '()))
    (mapatoms (lambda (symbol)
                (when (and (string-match-p "\\`\\(?:sly-\\)?agent-q-" (symbol-name symbol))
                           (not (string-match-p "--" (symbol-name symbol)))
                           (commandp symbol)
                           (not (symbolp (symbol-function symbol))))
                  (push symbol commands))))
    (sort commands #'string<)))

(ert-deftest aqd-screens-every-command-has-a-screen ()
  (let ((commands (screens-commands))
        (seen (mapcar #'cadr (screens-steps)))
        (excused (mapcar #'car tours-without-screen)))
    (should (> (length commands) 60))
    (should (equal '() (seq-difference commands (append seen excused))))
    ;; Nor is anything excused that need not be, or is no more.
    (should (equal '() (seq-intersection seen excused)))
    (should (equal '() (seq-difference (append seen excused) commands)))))

(defun screens-names (size)
  "Return the names of the screens in the tours of SIZE."
  (delq nil (mapcar #'car (seq-mapcat (lambda (tour)
                                        (and (member size (screens-sizes-of (car tour)))
                                             (cdr tour)))
                                      screens-tours))))

(ert-deftest aqd-screens-every-stored-screen-is-in-a-tour ()
  (let ((names (screens-names (car screens-sizes))))
    ;; On some file systems a and A are the same name.
    (should (equal names (seq-uniq names (lambda (one other)
                                           (string= (downcase one) (downcase other)))))))
  (dolist (screens-size (cons screens-wide-size screens-sizes))
    (should (equal (sort (screens-names screens-size) #'string<)
                   (seq-uniq
                    (sort (mapcar (lambda (file)
                                    (replace-regexp-in-string
                                     "\\(\\.[0-9]+\\)?\\.txt\\'" "" file))
                                  (directory-files (screens-folder) nil "\\.txt\\'"))
                          #'string<))))))

;;;; Without color

(ert-deftest e2e-screens-every-state-is-told-apart-without-color ()
  (screens-with-emacs '("TERM=vt100")
    (tours-every-state)
    (should-not (e2e-eval '(display-color-p)))
    (screens-compare "every-state")))

;;;; With few colors

(defun screens-terminal (n-colors)
  "Return the environment of a terminal with N-COLORS."
  (with-temp-buffer
    (should (eq 0 (call-process "infocmp" nil t nil "-x" "screen-256color")))
    (goto-char (point-min))
    (re-search-forward "^screen-256color|[^,]*,")
    (replace-match (format "few-%d|few colors," n-colors) t t)
    (re-search-forward "colors#[^,]*,")
    (replace-match (format "colors#%d," n-colors) t t)
    (write-region nil nil (e2e-path "few.info") nil 'silent)
    (should (eq 0 (call-process "tic" nil nil nil "-x" "-o" (e2e-path "terminfo")
                                (e2e-path "few.info")))))
  (list (format "TERM=few-%d" n-colors)
        (concat "TERMINFO=" (e2e-path "terminfo"))))

(defun screens-should-have-quiet-headers (n-colors background)
  "Check that headers of decided hunks can be read, and are quieter than others.
The terminal has N-COLORS and BACKGROUND, `light' or `dark'."
  (screens-with-emacs (screens-terminal n-colors)
    (should (= n-colors (e2e-eval '(display-color-cells))))
    (e2e-eval `(progn (setq frame-background-mode ',background)
                      (frame-set-background-mode (selected-frame))))
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (e2e-keys "C-x 1 a r")
    (e2e-see "^\\[APPLIED\\] @@ -2,7" "^\\[REJECTED\\] @@ -17,7" "^@@ -32,7"
             "1/3 applied, 1 rejected, 1 pending")
    (pcase-let ((own (if (eq background 'light) '(0 15) '(15 0)))
                (`(,applied ,rejected ,pending)
                 (mapcar #'e2e-painted '("@@ -2,7" "@@ -17,7" "@@ -32,7"))))
      (should (equal applied rejected))
      (should-not (equal applied pending))
      ;; No bar.
      (should-not (cadr applied))
      (ert-info ((format "%d colors, %s: %S" n-colors background applied))
        (should (> (apply #'e2e-contrast
                          (cl-mapcar (lambda (seen default)
                                       (e2e-terminal-color (or seen default)))
                                     applied own))
                   4.5))))))

(ert-deftest e2e-screens-decided-headers-are-read-with-few-colors ()
  (dolist (n-colors '(8 16 256))
    (dolist (background '(light dark))
      (screens-should-have-quiet-headers n-colors background))))

(defun screens-should-have-readable-notes (n-colors background)
  "Check that notes on lines can be read, and that they have no diff's colors.
N-COLORS and BACKGROUND are as for `screens-should-have-quiet-headers'."
  ;; Of a terminal that Emacs does not know, it uses eight colors only.
  (screens-with-emacs (if (= 256 n-colors) '("TERM=screen-256color") (screens-terminal n-colors))
    (e2e-eval `(progn (setq frame-background-mode ',background)
                      (frame-set-background-mode (selected-frame))
                      (require 'agent-q-diff-annotations)
                      (add-hook 'agent-q-diff-annotations-functions
                                (lambda ()
                                  (list (agent-q-diff-annotation-create
                                         :side 'old :line 4 :text "An agent's" :who "Claude")
                                        (agent-q-diff-annotation-create
                                         :line 4 :text "The user's" :who "You"
                                         :kind 'comment))))))
    (e2e-propose 'key 'call (e2e-proposal "target"))
    (e2e-keys "C-x 1 a")
    (e2e-see "# > Claude: An agent's" "# > You: The user's")
    (let ((own (if (eq background 'light) '(0 15) '(15 0))))
      (dolist (words '("An agent's" "The user's"))
        (let ((seen (e2e-painted words)))
          ;; Nothing of the added line above or below.
          (should-not (cadr seen))
          (ert-info ((format "%d colors, %s: %S" n-colors background seen))
            (should (> (apply #'e2e-contrast
                              (cl-mapcar (lambda (seen default)
                                           (e2e-terminal-color (or seen default)))
                                         seen own))
                       4.5))))))))

(ert-deftest e2e-screens-notes-on-lines-are-read-with-few-colors ()
  (dolist (n-colors '(8 16 256))
    (dolist (background '(light dark))
      (screens-should-have-readable-notes n-colors background))))

(provide 'screens-test)
;;; screens-test.el ends here
