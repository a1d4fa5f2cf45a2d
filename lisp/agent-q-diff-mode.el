;;; agent-q-diff-mode.el --- The major mode of diff buffers: its keys, help and menus  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The keys of a diff buffer.  Their commands are defined in other files.
;;
;; Help, the menu bar and the context menu have the commands, too.  All are
;; made from one table and the keymap, so they agree and are never out of
;; date.

;;; Code:

(require 'easymenu)
(require 'diff-mode)
(require 'agent-q-diff-grace)
(require 'agent-q-diff-base)
(require 'agent-q-diff-navigation)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-annotations)
(require 'agent-q-diff-outcome)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-alike)
(require 'agent-q-diff-overview)
(require 'agent-q-diff-side)
(require 'agent-q-diff-in-file)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-section)
(require 'agent-q-diff-display)
(require 'agent-q-diff-current)
(require 'agent-q-diff-shown)

;;; Help and menus

;;;; Help

(defconst agent-q-diff-menu--help-commands
  '((agent-q-diff-accept-hunk "a" . "accept the hunk: apply it to the file")
    (agent-q-diff-reject-hunk "r" . "reject the hunk")
    (agent-q-diff-unapply-hunk "u" . "take the hunk out of the file again")
    (agent-q-diff-next-hunk "n" . "go to the next hunk")
    (agent-q-diff-previous-hunk "p" . "go to the previous hunk")
    (agent-q-diff-next-file "\M-n" . "go to the next file, where a r u decide all of it")
    (agent-q-diff-previous-file "\M-p" . "go to the previous file")
    (agent-q-diff-accept-all "\C-c\C-c" . "accept all pending hunks and finish")
    (agent-q-diff-reject-all "\C-c\C-k" . "reject all pending hunks and finish")
    (agent-q-diff-finish "q" . "finish the review")
    (agent-q-diff-finish-now nil . "finish it without a question")
    (agent-q-diff-abort nil . "cancel: tell the agent that there is no decision")
    (agent-q-diff-undo nil . "undo the last decision, in the file as well")
    (agent-q-diff-redo nil . "redo it")
    (agent-q-diff-next-pending "." . "go to the next hunk that is not decided")
    (agent-q-diff-toggle-hunk " "
     . "accept; if applied, mark it pending, and do not change the file")
    (agent-q-diff-preview-hunk "\r" . "show the hunk's place in the file")
    (agent-q-diff-show-outcome "=" . "show the file as it will be; C-u = with all pending hunks")
    (agent-q-diff-split-hunk "s" . "split the hunk into its smallest parts")
    (agent-q-diff-edit-hunk "e" . "edit the lines that the hunk proposes")
    (agent-q-diff-merge-hunk "m" . "merge a hunk that does not apply into the file's lines")
    (agent-q-diff-comment-here "c"
     . "comment on the hunk, or on lines written already, for the agent")
    (agent-q-diff-ask "Q" . "ask the agent about lines that were written already")
    (agent-q-diff-comment "C" . "comment on the whole proposal")
    (agent-q-diff-next-conflict "N" . "go to the next conflict or ambiguous hunk")
    (agent-q-diff-previous-conflict "P" . "go to the previous one")
    (agent-q-diff-next-rejected "R" . "go to the next hunk that is rejected")
    (agent-q-diff-accept-white-space "w" . "accept all whitespace-only hunks")
    (agent-q-diff-accept-words "i" . "accept the hunk, but leave the white space as it is")
    (agent-q-diff-keep-outside "O" . "keep all that was written outside any turn")
    (agent-q-diff-overview "o" . "list equal changes and files, where a r u decide a line")
    (agent-q-diff-more-context nil . "show more context of the hunk, the file, or all")
    (agent-q-diff-less-context nil . "show less")
    (agent-q-diff-show-definition "D" . "show the whole definition, or less again")
    (agent-q-diff-find "/" . "search in changed lines only")
    (agent-q-diff-goto-definition "d" . "go to a hunk by its definition")
    (agent-q-diff-accept-alike nil . "accept all hunks that make the same change")
    (agent-q-diff-reject-alike nil . "reject all of them")
    (agent-q-diff-unapply-alike nil . "take all of them out of the file again")
    (agent-q-diff-next-alike nil . "go to the next of them")
    (agent-q-diff-previous-alike nil . "go to the previous of them")
    (agent-q-diff-fold-alike-mode nil . "show one of them, or all again")
    (agent-q-diff-unapply-all "U" . "take all of the proposal out of the file again")
    (agent-q-diff-stage "S" . "stage what you kept, if it was written before its review")
    (agent-q-diff-next-review nil . "go to the next open review")
    (agent-q-diff-select-line "v" . "select the line at point, and then the next ones")
    (agent-q-diff-fold-hunk "\t" . "fold the hunk into its header, or show it again")
    (agent-q-diff-fold-all-hunks [backtab] . "fold all hunks, or show them all")
    (agent-q-diff-refresh "g" . "look at the file again")
    (agent-q-diff-follow-mode "f" . "show each hunk's place while you move")
    (agent-q-diff-hide-decided-mode "h" . "hide the hunks that are decided, or show them again")
    (agent-q-diff-unseen-mode "H" . "show only what is decided and was never shown, or all again")
    (agent-q-diff-fold-white-space-mode "W"
     . "show white space as context, folded, or all of it again")
    (agent-q-diff-side-by-side-mode "|"
     . "show old and new lines in two windows, or in one again")
    (agent-q-diff-in-file "F" . "show the file itself, with what is proposed for it")
    (agent-q-diff-expand-line "x" . "show all of a long line, hunk or description")
    (beginning-of-buffer "<" . "go to the beginning of the diff")
    (end-of-buffer ">" . "go to its end")
    (scroll-down-command nil . "scroll back")
    (agent-q-diff-help "?" . "show what one does most; once more: this help"))
  "Alist from command to (KEY . TEXT): its key, and what the help says about it.
KEY is nil if the command has a key that depends on something, or that is in
another keymap.")

(defconst agent-q-diff-menu--after-the-write
  '((agent-q-diff-accept-hunk . "keep the hunk: it is reviewed")
    (agent-q-diff-reject-hunk . "take the hunk out of the file")
    (agent-q-diff-unapply-hunk . "make the hunk pending again")
    (agent-q-diff-accept-all . "keep all pending hunks and finish")
    (agent-q-diff-reject-all . "take all pending hunks out and finish")
    (agent-q-diff-toggle-hunk . "keep; if kept, make it pending again")
    (agent-q-diff-comment . "comment on all of it")
    (agent-q-diff-next-rejected . "go to the next hunk that was taken out")
    (agent-q-diff-accept-white-space . "keep all whitespace-only hunks")
    (agent-q-diff-accept-words . "keep the hunk, but leave the white space as it was")
    (agent-q-diff-accept-alike . "keep all hunks that make the same change")
    (agent-q-diff-reject-alike . "take all of them out")
    (agent-q-diff-unapply-alike . "make all of them pending again"))
  "Alist from command to what the help says after the write, where that differs.")

(defconst agent-q-diff-menu--of-recursive-edits
  '((agent-q-diff-finish-now . exit-recursive-edit)
    (agent-q-diff-abort . abort-recursive-edit))
  "Alist from command to the one whose keys do the same in a recursive edit.
Elsewhere those keys have the first command; see
`agent-q-diff-finish-if-unwaited'.")

(defun agent-q-diff-menu--key-of (command &optional map)
  "Return the keys of COMMAND in this buffer, as a string.
If MAP is non-nil, these are the keys in that keymap.  They are the
`:advertised-binding' of COMMAND, or else the shortest.  A derived mode may
bind an alias of COMMAND instead."
  (let* ((map (or map (current-local-map)))
         (advertised (get command :advertised-binding))
         (keys (sort (seq-filter
                      #'agent-q-diff-menu--typable-p
                      (mapcan (lambda (name) (where-is-internal name map))
                              (append
                               (when-let ((other (alist-get
                                                  command
                                                  agent-q-diff-menu--of-recursive-edits)))
                                 (list command other))
                               (agent-q-diff-menu--names command map))))
                     (lambda (one other) (< (length one) (length other))))))
    (cond
     ((and advertised
           (eq (indirect-function (lookup-key map advertised))
               (indirect-function command)))
      (key-description advertised))
     (keys (key-description (car keys)))
     (t (format "M-x %s" command)))))

(defun agent-q-diff-menu--typable-p (keys)
  "Return non-nil if KEYS, a vector, can be typed in the selected frame.
Terminals support the control modifier only where it makes an ASCII control
character: they have `C-_', but neither `C-/' nor `C-?'."
  (or (display-graphic-p)
      (not (seq-some (lambda (event)
                       (and (integerp event) (/= 0 (logand event #x4000000))))
                     keys))))

(defun agent-q-diff-menu--names (command map)
  "Return the symbols bound in MAP that run COMMAND."
  (let (names)
    (map-keymap
     (lambda (_event binding)
       (cond
        ((keymapp binding)
         (setq names (append names (agent-q-diff-menu--names command binding))))
        ;; A key whose command depends on the buffer.
        ((and (eq 'menu-item (car-safe binding)) (equal "" (nth 1 binding)))
         (when (and (symbolp (nth 2 binding))
                    (eq (indirect-function (nth 2 binding)) (indirect-function command)))
           (push (nth 2 binding) names)))
        ((and (symbolp binding)
              (eq (indirect-function binding) (indirect-function command)))
         (push binding names))))
     map)
    names))

(defun agent-q-diff-menu--lines (&optional map)
  "Return a line for each command in the help, a list of strings.
The keys are those of this buffer, or of the keymap MAP."
  (let ((line (lambda (key text) (format "%-9s %s\n" key text))))
    (append
     (mapcar (pcase-lambda (`(,command ,_ . ,text))
               (funcall line (agent-q-diff-menu--key-of command map)
                        (or (and (null map) (agent-q-diff-buffer-written-p)
                                 (alist-get command agent-q-diff-menu--after-the-write))
                            text)))
             agent-q-diff-menu--help-commands)
     ;; With evil.
     (mapcan (pcase-lambda (`(,key ,command ,text))
               (when (eq command (lookup-key (or map (current-local-map)) key))
                 (list (funcall line key text))))
             '(("j" next-line "go to the next line")
               ("k" previous-line "go to the previous line"))))))

(defun agent-q-diff-menu-documentation (intro map)
  "Return the documentation of a mode: INTRO, a sentence, and the keys of MAP."
  (concat intro "\n\n"
          (replace-regexp-in-string
           "[`'\\]" "\\\\=\\&"
           (string-join (agent-q-diff-menu--lines map)))))

(defun agent-q-diff-mode--display-aside (display)
  "Call DISPLAY, a function that displays a buffer, and return its value.
A window that shows the target is not used.  If there is no other window
besides that one, the buffer is displayed in the selected window."
  (let* ((target (and agent-q-diff-buffer-change
                      (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file))))
         (spared (and (buffer-live-p target)
                      (get-buffer-window-list target 'never)))
         (display-buffer-base-action
          (if spared
              '((display-buffer-reuse-window
                 display-buffer-use-some-window
                 display-buffer-same-window))
            display-buffer-base-action)))
    (agent-q-diff-base-sparing spared display)))

(defun agent-q-diff-all-keys ()
  "Show all keys of the diff buffer.
The help is in another window, but not in one that shows the file; if there
is none, in this one.  Then \\<help-mode-map>\\[quit-window] returns to the diff, and while the
help is visible, \\<agent-q-diff-mode-map>\\[agent-q-diff-finish] in the diff buffer closes it."
  (interactive)
  (let ((lines (agent-q-diff-menu--lines))
        (is-written (agent-q-diff-buffer-written-p))
        (names (agent-q-diff-confusables-in-region (window-start) (window-end nil t))))
    (agent-q-diff-mode--display-aside
     (lambda () (agent-q-diff-menu--show-help lines names is-written)))))

(defun agent-q-diff-menu--show-help (lines names is-written)
  "Display the help with LINES about keys and NAMES of misleading characters.
Both are lists of strings.  IS-WRITTEN is non-nil if the changes were written
before the review."
  (with-help-window "*Agent-Q Diff Help*"
    (with-current-buffer standard-output
      (agent-q-diff-grace-expect-return))
    (princ (if is-written "Reviewing what was written\n\n" "Reviewing a proposal\n\n"))
    (mapc #'princ lines)
    (princ "\nWith an active region, accepting, rejecting and taking out affect\n")
    (princ "only the changed lines in it.\n")
    (princ "\nA sign on a hunk shows your decision, and whether the file differs\n")
    (princ "from it.  ")
    (princ (if is-written
               "The changes were written before this review: accepting a\n\
hunk keeps it, rejecting it takes it out of the file, and u makes it pending again.\n"
             "Accepted changes are in the file at once.\n"))
    (when names
      (princ "\nMisleading characters on this screen:\n")
      (dolist (name names)
        (princ (concat name "\n"))))))

;;;; What one does most

(defconst agent-q-diff-menu--groups
  '(("Decide"
     (agent-q-diff-accept-hunk "accept" "keep")
     (agent-q-diff-reject-hunk "reject" "take out")
     (agent-q-diff-unapply-hunk "take out again" "make pending")
     (agent-q-diff-accept-words "without spaces" "without spaces")
     (agent-q-diff-accept-white-space "only spaces" "only spaces")
     (agent-q-diff-accept-alike "accept equal" "keep equal")
     (agent-q-diff-reject-alike "reject equal" "equal out")
     (agent-q-diff-keep-outside nil "outside turns")
     (agent-q-diff-undo "undo" "undo"))
    ("Go to"
     (agent-q-diff-next-hunk "next" "next")
     (agent-q-diff-previous-hunk "previous" "previous")
     (agent-q-diff-next-pending "undecided" "undecided")
     (agent-q-diff-next-file "next file" "next file")
     (agent-q-diff-next-alike "next equal" "next equal")
     (agent-q-diff-next-rejected "rejected" "taken out")
     (agent-q-diff-next-conflict "conflict" "conflict")
     (agent-q-diff-goto-definition "definition" "definition")
     (agent-q-diff-find "search" "search")
     (agent-q-diff-next-review "next review" "next review"))
    ("Look at"
     (agent-q-diff-preview-hunk "its place" "its place")
     (agent-q-diff-show-outcome "file after it" "file after it")
     (agent-q-diff-in-file "file itself" "file itself")
     (agent-q-diff-side-by-side-mode "side by side" "side by side")
     (agent-q-diff-overview "overview" "overview")
     (agent-q-diff-more-context "more context" "more context")
     (agent-q-diff-show-definition "all around it" "all around it")
     (agent-q-diff-expand-line "all of a line" "all of a line")
     (agent-q-diff-fold-white-space-mode "no spaces" "no spaces")
     (agent-q-diff-hide-decided-mode "undecided only" "undecided only"))
    ("Change, say, end"
     (agent-q-diff-split-hunk "split" "split")
     (agent-q-diff-edit-hunk "edit" "edit")
     (agent-q-diff-merge-hunk "merge" nil)
     (agent-q-diff-comment-here "comment" "comment")
     (agent-q-diff-ask nil "ask")
     (agent-q-diff-comment "on all" "on all")
     (agent-q-diff-accept-all "accept all" "keep all")
     (agent-q-diff-reject-all "reject all" "all out")
     (agent-q-diff-stage nil "stage")
     (agent-q-diff-finish "close, then finish" "close, then finish")
     (agent-q-diff-abort "cancel" nil)
     (agent-q-diff-all-keys "all keys" "all keys")))
  "The commands that `agent-q-diff-help' offers, by what one wants to do.
Each group is (TITLE . COMMANDS), and each command (COMMAND BEFORE AFTER): its
words before the write, and after it; they are nil where it is not offered.")

(defun agent-q-diff-menu--layout ()
  "Return the groups of `agent-q-diff-help' for this buffer, for `transient'.
The keys are those of this buffer."
  (vconcat
   (mapcar
    (pcase-lambda (`(,title . ,commands))
      (vconcat
       (list title)
       (cl-loop for (command before after) in commands
                for words = (if (agent-q-diff-buffer-written-p) after before)
                when words
                collect (list (agent-q-diff-menu--key-of
                               (if (eq command #'agent-q-diff-all-keys)
                                   #'agent-q-diff-help
                                 command))
                              words
                              ;; Who wants to leave the help does not end the review.
                              (if (eq command #'agent-q-diff-finish)
                                  'transient-quit-one
                                command)))))
    agent-q-diff-menu--groups)))

(declare-function transient-setup "transient" (name))

(defun agent-q-diff-help ()
  "Show what one does most in a review, by what one wants to do.
The next key carries it out, but \\[agent-q-diff-finish], as \\[keyboard-quit], only leaves it.
The same key once more shows all keys; see `agent-q-diff-all-keys'."
  (interactive)
  (require 'transient)
  ;; Made anew, since the words depend on the stage, and the keys on the mode.
  (eval `(transient-define-prefix agent-q-diff-menu--most ()
           "Offer what one does most in a review."
           ,(agent-q-diff-menu--layout))
        t)
  (transient-setup 'agent-q-diff-menu--most))

;;;; Menu bar

(defun agent-q-diff-menu--item (command text)
  "Return a menu item for COMMAND; TEXT describes it in the help."
  (vector (concat (upcase (substring text 0 1)) (substring text 1)) command))

(defun agent-q-diff-menu--define (map)
  "Add a menu to MAP, the keymap of the diff buffer."
  (easy-menu-do-define
      nil map "Menu of the diff buffer."
    (cons "Review"
          (append (mapcar (pcase-lambda (`(,command ,_ . ,text))
                            (agent-q-diff-menu--item command text))
                          agent-q-diff-menu--help-commands)
                  '("---"
                    ["List of reviews" agent-q-diff-list]
                    ["Options" (customize-group 'agent-q-diff)])))))

;;;; Context menu

(defconst agent-q-diff-menu--here
  '(agent-q-diff-accept-hunk agent-q-diff-reject-hunk agent-q-diff-unapply-hunk
    agent-q-diff-split-hunk agent-q-diff-edit-hunk agent-q-diff-merge-hunk
    agent-q-diff-comment-here agent-q-diff-ask agent-q-diff-preview-hunk)
  "The commands in the context menu.")

(defun agent-q-diff-menu--at (click command)
  "Return a command to call COMMAND where CLICK was made.
An active region stays if the click was made in it."
  (lambda ()
    (interactive)
    (let ((point (posn-point (event-start click))))
      (select-window (posn-window (event-start click)))
      (unless (and (use-region-p) point
                   (<= (region-beginning) point (region-end)))
        (mouse-set-point click)))
    (call-interactively command)))

(defun agent-q-diff-menu--context (menu click)
  "Add to MENU the commands for the hunk where CLICK was made."
  (define-key-after menu [agent-q-diff-separator] menu-bar-separator)
  (dolist (command agent-q-diff-menu--here)
    (define-key-after menu (vector command)
      `(menu-item ,(aref (agent-q-diff-menu--item
                          command (cdr (alist-get command agent-q-diff-menu--help-commands)))
                         0)
                  ,(agent-q-diff-menu--at click command))))
  menu)

(defun agent-q-diff-menu--set-up ()
  "Set up the context menu and the single keys of this buffer."
  (agent-q-diff-base-claim-single-keys)
  (add-hook 'context-menu-functions #'agent-q-diff-menu--context 10 t))

;;;; Which modes commands are for

(dolist (entry agent-q-diff-menu--help-commands)
  ;; Some are those of Emacs.
  (when (string-prefix-p "agent-q-diff-" (symbol-name (car entry)))
    (put (car entry) 'command-modes '(agent-q-diff-mode))))

;;;; Repeating

(defvar agent-q-diff-review-repeat-map
  (let ((map (make-sparse-keymap)))
    (define-key map "j" (agent-q-diff-base-key-by-evil 'agent-q-diff-next-review nil))
    (define-key map "J" (agent-q-diff-base-key-by-evil nil 'agent-q-diff-next-review))
    map)
  "Keys that repeat `agent-q-diff-next-review', with `repeat-mode'.
In a diff buffer they work anyway, but you may have bound that command to a
longer key sequence elsewhere.")
(put 'agent-q-diff-next-review 'repeat-map 'agent-q-diff-review-repeat-map)

;;; The mode

;;;; Mode

(defun agent-q-diff-refuse ()
  "Refuse a command that would rewrite the proposal.
In a diff that was not made from a review, carry it out."
  (interactive)
  (cond
   ((not agent-q-diff-buffer-is-made)
    (call-interactively this-original-command))
   ((eq this-original-command 'self-insert-command)
    (user-error (substitute-command-keys
                 "%s has no command here; \\<agent-q-diff-mode-map>\\[agent-q-diff-help] shows the keys")
                (key-description (this-command-keys-vector))))
   (t (user-error "The proposal's text is fixed; accept or reject its hunks"))))

(defun agent-q-diff-mode--unless-typing (command)
  "Return a key binding for COMMAND, except in a diff that the user can edit."
  `(menu-item "" ,command
              :filter ,(lambda (command)
                         (and (not (agent-q-diff-buffer-typed-p)) command))))

(defconst agent-q-diff-mode--rewriting
  '(diff-hunk-kill diff-file-kill diff-reverse-direction
    diff-context->unified diff-unified->context diff-ignore-whitespace-hunk
    diff-refresh-hunk diff-delete-trailing-whitespace
    diff-kill-applied-hunks diff-delete-other-hunks
    self-insert-command newline newline-and-indent open-line quoted-insert
    electric-newline-and-maybe-indent split-line
    delete-char delete-forward-char delete-backward-char
    backward-delete-char-untabify delete-blank-lines delete-horizontal-space
    delete-indentation just-one-space cycle-spacing
    kill-line kill-whole-line kill-word backward-kill-word kill-sexp
    kill-sentence kill-region zap-to-char yank yank-pop
    transpose-chars transpose-words transpose-lines transpose-sexps
    capitalize-word downcase-word upcase-word capitalize-dwim downcase-dwim
    upcase-dwim downcase-region upcase-region
    fill-paragraph comment-dwim comment-line indent-for-tab-command
    indent-region indent-rigidly query-replace query-replace-regexp)
  "Commands that would rewrite the proposal.")

(defvar agent-q-diff-mode-map
  (let ((map (make-sparse-keymap)))
    (pcase-dolist (`(,command ,key . ,_) agent-q-diff-menu--help-commands)
      (when key
        (define-key map key command)))
    (define-key map "j" (agent-q-diff-base-key-by-evil #'agent-q-diff-next-review #'next-line))
    (define-key map "J" (agent-q-diff-base-key-by-evil nil #'agent-q-diff-next-review))
    (define-key map "l" agent-q-diff-alike-map)
    (define-key map "k" (agent-q-diff-base-key-by-evil #'agent-q-diff-reject-hunk
                                                       #'previous-line))
    (define-key map "\d" (agent-q-diff-mode--unless-typing #'scroll-down-command))
    (define-key map [?\S-\s] (agent-q-diff-mode--unless-typing #'scroll-down-command))
    (define-key map "+" (agent-q-diff-mode--unless-typing #'agent-q-diff-more-context))
    (define-key map "-" (agent-q-diff-mode--unless-typing #'agent-q-diff-less-context))
    (dotimes (digit 10)
      (define-key map (number-to-string digit)
        (agent-q-diff-mode--unless-typing #'digit-argument)))
    (dolist (command agent-q-diff-mode--rewriting)
      (define-key map (vector 'remap command) #'agent-q-diff-refuse))
    (define-key map [remap revert-buffer]
      `(menu-item "" agent-q-diff-refresh
                  :filter ,(lambda (command)
                             (and agent-q-diff-buffer-is-made command))))
    (define-key map [remap exit-recursive-edit]
      (agent-q-diff-finish-if-unwaited #'agent-q-diff-finish-now))
    (define-key map [remap abort-recursive-edit]
      (agent-q-diff-finish-if-unwaited #'agent-q-diff-abort))
    (define-key map [remap diff-split-hunk] #'agent-q-diff-split-hunk)
    (define-key map [remap undo] #'agent-q-diff-undo)
    (define-key map [remap undo-only] #'agent-q-diff-undo)
    (define-key map [remap undo-redo] #'agent-q-diff-redo)
    map)
  "Keymap of `agent-q-diff-mode'.")

;; Each of these has a second key.
(put 'agent-q-diff-reject-hunk :advertised-binding "r")
(put 'agent-q-diff-next-hunk :advertised-binding "n")
(put 'agent-q-diff-previous-hunk :advertised-binding "p")

(agent-q-diff-menu--define agent-q-diff-mode-map)

(defun agent-q-diff-mode-own-command-p (command)
  "Return non-nil if COMMAND, or what it is an alias of, works on the diff buffer."
  (and (symbolp command)
       (memq 'agent-q-diff-mode (function-get command 'command-modes))))

(defun agent-q-diff-mode--before-command ()
  "Forget that an earlier command moved, and undo any narrowing for our own ones.
They move to hunks, show them and read their lines."
  (setq agent-q-diff-buffer-is-moved nil)
  (when (and (buffer-narrowed-p) (agent-q-diff-mode-own-command-p this-command))
    (widen)))

(defun agent-q-diff-mode-own-keys (map)
  "Give the keys of MAP precedence over those of read-only diff buffers."
  (setq-local minor-mode-overriding-map-alist
              (list (cons 'buffer-read-only map)
                    (cons 'diff-mode-read-only map))))

;;;###autoload
(define-derived-mode agent-q-diff-mode diff-mode "Agent-Q Diff"
  "Major mode for deciding an agent's proposal hunk by hunk."
  ;; Reading a proposal must not start a process for each hunk, nor open
  ;; files because a header names them.
  (setq-local diff-refine nil)
  (setq-local diff-font-lock-syntax nil)
  (agent-q-diff-long-lines-set-up)
  (agent-q-diff-section-set-up)
  (agent-q-diff-in-view-set-up)
  (agent-q-diff-fold-set-up)
  (agent-q-diff-annotations-set-up)
  (agent-q-diff-alike-set-up)
  (agent-q-diff-shown-watch)
  (agent-q-diff-side-set-up)
  (agent-q-diff-in-file-set-up)
  (agent-q-diff-current-set-up)
  (agent-q-diff-fontify-set-up)
  (agent-q-diff-navigation-set-up)
  (agent-q-diff-menu--set-up)
  (add-hook 'pre-command-hook #'agent-q-diff-mode--before-command nil t)
  (agent-q-diff-mode-own-keys agent-q-diff-mode-map))

;; Emacs 28 omits from a keymap in a docstring the keys that another active
;; keymap has, and in this mode the same keymap is active twice.
(put 'agent-q-diff-mode 'function-documentation
     '(agent-q-diff-menu-documentation
       "Major mode for deciding an agent's proposal hunk by hunk."
       agent-q-diff-mode-map))

(provide 'agent-q-diff-mode)
;;; agent-q-diff-mode.el ends here
