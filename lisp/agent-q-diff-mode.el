;;; agent-q-diff-mode.el --- The major mode of diff buffers, with its keys  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The keys of a diff buffer.  The commands are in the files above this one.

;;; Code:

(require 'diff-mode)
(require 'agent-q-diff-base)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-reviews)
(require 'agent-q-diff-navigation)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-display)
(require 'agent-q-diff-outcome)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-menu)

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
    (define-key map "n" #'agent-q-diff-next-hunk)
    (define-key map "p" #'agent-q-diff-previous-hunk)
    (define-key map "N" #'agent-q-diff-next-conflict)
    (define-key map "P" #'agent-q-diff-previous-conflict)
    (define-key map "a" #'agent-q-diff-accept-hunk)
    (define-key map "r" #'agent-q-diff-reject-hunk)
    (define-key map "u" #'agent-q-diff-unapply-hunk)
    (define-key map "U" #'agent-q-diff-unapply-all)
    (define-key map "s" #'agent-q-diff-split-hunk)
    (define-key map "e" #'agent-q-diff-edit-hunk)
    (define-key map "m" #'agent-q-diff-merge-hunk)
    (define-key map "c" #'agent-q-diff-comment-hunk)
    (define-key map "C" #'agent-q-diff-comment)
    (define-key map " " #'agent-q-diff-toggle-hunk)
    (define-key map "\r" #'agent-q-diff-preview-hunk)
    (define-key map "j" (agent-q-diff-base-key-by-evil #'agent-q-diff-next-review #'next-line))
    (define-key map "J" (agent-q-diff-base-key-by-evil nil #'agent-q-diff-next-review))
    (define-key map "q" #'agent-q-diff-finish)
    (define-key map "f" #'agent-q-diff-follow-mode)
    (define-key map "=" #'agent-q-diff-show-outcome)
    (define-key map "h" #'agent-q-diff-hide-decided-mode)
    (define-key map "W" #'agent-q-diff-fold-white-space-mode)
    (define-key map "w" #'agent-q-diff-accept-white-space)
    (define-key map "." #'agent-q-diff-next-pending)
    (define-key map "R" #'agent-q-diff-next-rejected)
    (define-key map "x" #'agent-q-diff-expand-line)
    (define-key map "?" #'agent-q-diff-help)
    (define-key map "\C-c\C-c" #'agent-q-diff-accept-all)
    (define-key map "\C-c\C-k" #'agent-q-diff-reject-all)
    (define-key map "k" (agent-q-diff-base-key-by-evil #'agent-q-diff-reject-hunk
                                                       #'previous-line))
    (define-key map "g" #'agent-q-diff-refresh)
    (define-key map "v" #'agent-q-diff-select-line)
    (define-key map "\t" #'agent-q-diff-fold-hunk)
    (define-key map [backtab] #'agent-q-diff-fold-all-hunks)
    (define-key map "\M-n" #'agent-q-diff-next-file)
    (define-key map "\M-p" #'agent-q-diff-previous-file)
    (define-key map "<" #'beginning-of-buffer)
    (define-key map ">" #'end-of-buffer)
    (define-key map "\d" (agent-q-diff-mode--unless-typing #'scroll-down-command))
    (define-key map [?\S-\s] (agent-q-diff-mode--unless-typing #'scroll-down-command))
    (define-key map "-" (agent-q-diff-mode--unless-typing #'negative-argument))
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

(agent-q-diff-menu-define agent-q-diff-mode-map)

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
  (agent-q-diff-current-set-up)
  (agent-q-diff-fontify-set-up)
  (agent-q-diff-navigation-set-up)
  (agent-q-diff-menu-set-up)
  (agent-q-diff-mode-own-keys agent-q-diff-mode-map))

;; Emacs 28 omits from a keymap in a docstring the keys that another active
;; keymap has, and in this mode the same keymap is active twice.
(put 'agent-q-diff-mode 'function-documentation
     '(agent-q-diff-menu-documentation
       "Major mode for deciding an agent's proposal hunk by hunk."
       agent-q-diff-mode-map))

(provide 'agent-q-diff-mode)
;;; agent-q-diff-mode.el ends here
