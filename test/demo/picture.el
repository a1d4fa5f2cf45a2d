;;; picture.el --- A review to be photographed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What test/demo/picture starts in a graphical Emacs: one scene of a review.  When
;; the frame shows that, a file says so.  A test shows the change of a single file
;; instead; see `picture-of-one-file'.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-api)
(require 'agent-q-diff-log)
(require 'demo-files)

(defun picture-of-files ()
  "Begin the demo's review, decide some of it, and return it."
  (let* ((default-directory (file-name-as-directory (getenv "AGENT_Q_DIFF_DEMO_FOLDER")))
         (review (progn
                   (demo-files-write default-directory)
                   (agent-q-diff-review-change (demo-files-changes) demo-files-description
                                               #'ignore :agent "Claude Code"))))
    (agent-q-diff-accept review 0)
    (agent-q-diff-accept review 2)
    (agent-q-diff-reject review 3)
    review))

(defun picture-of-one-file ()
  "Begin the review of the demo's largest file, decide some of it, and return it."
  (let ((review (agent-q-diff-review
                 (getenv "AGENT_Q_DIFF_DEMO_FILE")
                 (demo-files-text "original.lisp") (demo-files-text "modified.lisp")
                 demo-files-description #'ignore :agent "Agent-Q")))
    (agent-q-diff-accept review 0)
    (agent-q-diff-reject review 1)
    review))

;;;; Scenes

(defun picture-lines (n &rest changes)
  "Return N lines of a program, with CHANGES, of numbers and texts of lines."
  (mapconcat (lambda (k)
               (concat (or (plist-get changes k)
                           (format (pcase (% k 8)
                                     (0 "")
                                     (1 "def step_%d(order):")
                                     (2 "    total = old_price(order, %d)")
                                     (7 "    return total")
                                     (_ "    total += order.lines[%d].price"))
                                   k))
                       "\n"))
             (number-sequence 1 n) ""))

(defun picture-of (&rest files)
  "Begin a review of FILES, each (NAME ORIGINAL MODIFIED), and return it."
  (let ((default-directory (file-name-as-directory (getenv "AGENT_Q_DIFF_DEMO_FOLDER"))))
    (pcase-dolist (`(,name ,original ,_) files)
      (make-directory (file-name-directory (expand-file-name name)) t)
      (write-region original nil name nil 'silent))
    (agent-q-diff-review-change
     (mapcar (pcase-lambda (`(,name ,original ,modified))
               (list :path name :original original :modified modified))
             files)
     "Rename old_price to new_price, and sort what belongs together." #'ignore
     :agent "Claude Code")))

(defun picture-of-renames ()
  "Begin a review of the same change in many places."
  (apply #'picture-of
         (cl-loop for k from 1 to 9
                  for old = (picture-lines (* 8 k))
                  collect (list (format (if (< k 8) "shop/part_%d.py" "tests/part_%d_test.py") k)
                                old
                                (string-replace "old_price" "new_price" old)))))

(defun picture-c-lines (n &rest changes)
  "Return N lines of a program in C, with CHANGES, of numbers and texts of lines."
  (mapconcat (lambda (k)
               (concat (or (plist-get changes k)
                           (format (pcase (% k 8)
                                     (0 "}")
                                     (1 "double step_%d(struct order *order) {")
                                     (2 "    double total = old_price(order, %d);")
                                     (7 "    return total;")
                                     (_ "    total += order->lines[%d].price;"))
                                   k))
                       "\n"))
             (number-sequence 1 n) ""))

(defun picture-of-reformatting ()
  "Begin a review of a reformatting with two real edits in it."
  (picture-of (list "shop/order.c" (picture-c-lines 80)
                    (replace-regexp-in-string
                     "^    " "\t"
                     (picture-c-lines 80 20 "    total += order->lines[20].cost;"
                                      53 "    total -= order->rebate;")))))

(defun picture-of-a-move ()
  "Begin a review of a function that moves."
  (let* ((lines (split-string (picture-lines 88) "\n"))
         (moved (append (seq-take lines 8) (seq-subseq lines 24 64) (seq-subseq lines 8 24)
                        (seq-drop lines 64))))
    (picture-of (list "shop/order.py" (string-join lines "\n")
                      (string-replace "step_81" "last_step" (string-join moved "\n"))))))

(defconst picture-scenes
  '(("review" picture-of-files 92 57)
    ("alike" picture-of-renames 92 30)
    ("white-space" picture-of-reformatting 92 34 agent-q-diff-fold-white-space-mode)
    ("moved" picture-of-a-move 92 34)
    ("side" picture-of-files 120 40 agent-q-diff-side-by-side-mode)
    ("in-file" picture-of-files 92 40 agent-q-diff-next-pending agent-q-diff-in-file)
    ("overview" picture-of-renames 92 40 agent-q-diff-overview))
  "Alist from names of scenes to (FUNCTION COLUMNS LINES . COMMANDS).
FUNCTION begins the review, and COMMANDS show what the picture is of.")

(defun picture-background (mode)
  "Make the frame's background `light' or `dark', as MODE says."
  (when (eq mode 'dark)
    (set-background-color "#1c1c1c")
    (set-foreground-color "#e0e0e0")
    (set-cursor-color "#e0e0e0"))
  (set-frame-parameter nil 'background-mode mode)
  (setq frame-background-mode mode)
  (frame-set-background-mode (selected-frame)))

(defun picture-pose ()
  "Show the diff buffer with the first hunks decided."
  (modify-frame-parameters nil '((menu-bar-lines . 0)
                                 (tool-bar-lines . 0)
                                 (vertical-scroll-bars . nil)))
  (blink-cursor-mode -1)
  (setq agent-q-diff-log-file nil
        agent-q-diff-grace 0)
  (picture-background (intern (getenv "AGENT_Q_DIFF_BACKGROUND")))
  (pcase-let ((`(,begin ,width ,height . ,commands)
               (if (getenv "AGENT_Q_DIFF_DEMO_FILE")
                   '(picture-of-one-file 92 46)
                 (alist-get (or (getenv "AGENT_Q_DIFF_SCENE") "review") picture-scenes
                            nil nil #'equal))))
    (set-frame-size nil width height)
    (switch-to-buffer (agent-q-diff-session-buffer (funcall begin)))
    (delete-other-windows)
    (goto-char (point-min))
    (agent-q-diff-next-pending)
    (set-window-start nil (point-min))
    (redisplay t)
    (mapc #'call-interactively commands)
    (run-hooks 'post-command-hook))
  (message nil)
  (redisplay t))

(defun picture-say-ready ()
  "Tell the script that the frame can be photographed."
  (redisplay t)
  (write-region "" nil (getenv "AGENT_Q_DIFF_READY") nil 'silent))

(add-hook 'window-setup-hook
          (lambda ()
            (picture-pose)
            (run-with-timer 1 nil #'picture-say-ready)))

;;; picture.el ends here
