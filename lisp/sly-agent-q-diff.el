;;; sly-agent-q-diff.el --- Agent-Q's names for agent-q-diff  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Agent-Q, a Common Lisp agent over SLY, calls these functions and knows
;; these variables.  Each is a thin binding to agent-q-diff, which has no
;; idea of Agent-Q.  A file of this name was part of Agent-Q; this one
;; takes its place.  Since it serves nothing else, loading it turns on
;; `agent-q-diff-lisp-mode', so that Agent-Q's call leaves Emacs free.

;;; Code:

(require 'agent-q-diff-api)
(require 'agent-q-diff-tools)
(require 'agent-q-diff-lisp)

;;;; Variables

(dolist (name '("path" "original" "modified" "description" "decision"
                "hunk-states"))
  (defvaralias (intern (concat "sly-agent-q-diff--" name))
    (intern (concat "agent-q-diff-buffer-" name))))

;;;; Functions and commands

(defalias 'sly-agent-q-diff-accept-hunk #'agent-q-diff-accept-hunk)
(defalias 'sly-agent-q-diff-reject-hunk #'agent-q-diff-reject-hunk)
(defalias 'sly-agent-q-diff-toggle-hunk #'agent-q-diff-toggle-hunk)
(defalias 'sly-agent-q-diff-unapply-hunk #'agent-q-diff-unapply-hunk)
(defalias 'sly-agent-q-diff-split-hunk #'agent-q-diff-split-hunk)
(defalias 'sly-agent-q-diff-edit-hunk #'agent-q-diff-edit-hunk)
(defalias 'sly-agent-q-diff-merge-hunk #'agent-q-diff-merge-hunk)
(defalias 'sly-agent-q-diff-preview-hunk #'agent-q-diff-preview-hunk)
(defalias 'sly-agent-q-diff-next-hunk #'agent-q-diff-next-hunk)
(defalias 'sly-agent-q-diff-previous-hunk #'agent-q-diff-previous-hunk)
(defalias 'sly-agent-q-diff-accept-all #'agent-q-diff-accept-all)
(defalias 'sly-agent-q-diff-reject-all #'agent-q-diff-reject-all)
(defalias 'sly-agent-q-diff-finish #'agent-q-diff-finish)
(defalias 'sly-agent-q-diff-help #'agent-q-diff-help)
(defalias 'sly-agent-q-diff--update-header #'agent-q-diff-update-header)
(defalias 'sly-agent-q-diff--count-hunks #'agent-q-diff-count-hunks)
(defalias 'sly-agent-q-diff--apply-visual-feedback
  #'agent-q-diff-apply-visual-feedback)

(defun sly-agent-q-diff--generate-unified-diff (original modified file-path)
  "Return the unified diff from ORIGINAL to MODIFIED as a string.
FILE-PATH goes into the file header, made absolute.  The string is empty
if the texts are the same."
  (condition-case nil
      (let ((review (agent-q-diff-engine-review original modified)))
        (unwind-protect
            (car (agent-q-diff-engine-print review (expand-file-name file-path)))
          (agent-q-diff-module-free review)))
    (agent-q-diff-identical "")))

;;;; A buffer whose text is not a diff

;; It has no review, but its hunks have states, which Agent-Q may set by hand.

(defun sly-agent-q-diff--mark-by-hand (command &rest _)
  "Carry out COMMAND on the hunk at point if this buffer's text is not a diff.
COMMAND is `reject' or `toggle'; the latter only takes back what is applied.
Return non-nil if it was carried out."
  (unless (or agent-q-diff-buffer-is-made (agent-q-diff-buffer-change-or-nil))
    (save-excursion
      (end-of-line)
      (let* ((hunk (re-search-backward "^@@" nil t))
             (was-applied (eq 'applied (alist-get hunk agent-q-diff-buffer-hunk-states)))
             (state (and (eq command 'reject) 'rejected)))
        (when (and state (null hunk))
          (user-error "Point is before the first hunk"))
        (when (or state was-applied)
          (setf (alist-get hunk agent-q-diff-buffer-hunk-states) state)
          (agent-q-diff-apply-visual-feedback hunk state)
          (message "Hunk %s" (or state 'pending)))))))

;;;; Mode

(defvar sly-agent-q-diff-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map agent-q-diff-mode-map)
    (define-key map "n" #'sly-agent-q-diff-next-hunk)
    (define-key map "p" #'sly-agent-q-diff-previous-hunk)
    (define-key map "a" #'sly-agent-q-diff-accept-hunk)
    (define-key map "r" #'sly-agent-q-diff-reject-hunk)
    (define-key map "u" #'sly-agent-q-diff-unapply-hunk)
    (define-key map "s" #'sly-agent-q-diff-split-hunk)
    (define-key map "e" #'sly-agent-q-diff-edit-hunk)
    (define-key map "m" #'sly-agent-q-diff-merge-hunk)
    (define-key map " " #'sly-agent-q-diff-toggle-hunk)
    (define-key map "\r" #'sly-agent-q-diff-preview-hunk)
    (define-key map "q" #'sly-agent-q-diff-finish)
    (define-key map "?" #'sly-agent-q-diff-help)
    (define-key map "\C-c\C-c" #'sly-agent-q-diff-accept-all)
    (define-key map "\C-c\C-k" #'sly-agent-q-diff-reject-all)
    map)
  "Keymap of `sly-agent-q-diff-mode'.")

;;;###autoload
(define-derived-mode sly-agent-q-diff-mode agent-q-diff-mode "Agent-Q Diff"
  "Major mode for deciding a proposal of Agent-Q hunk by hunk."
  (agent-q-diff-mode-own-keys sly-agent-q-diff-mode-map)
  (add-hook 'agent-q-diff-commands-instead-functions #'sly-agent-q-diff--mark-by-hand nil t)
  (agent-q-diff-base-claim-single-keys))

(put 'sly-agent-q-diff-mode 'function-documentation
     '(agent-q-diff-menu-documentation
       "Major mode for deciding a proposal of Agent-Q hunk by hunk."
       sly-agent-q-diff-mode-map))

;;;; Entry point

(defun sly-agent-q-diff--request (path original)
  "Return a request for PATH that the guard has checked.
What is no file is a bad target, and not forbidden.  The text ORIGINAL must be
given, as Agent-Q's documents say."
  (unless (stringp original)
    (agent-q-diff-base-refuse "original must be a string, not %S" (type-of original)))
  (let ((request (agent-q-diff-tools-request "propose_file_edit" path nil)))
    (agent-q-diff-file-check-regular (agent-q-diff-request-name request))
    (agent-q-diff-tools-check request)))

;;;###autoload
(defun sly-agent-q-show-diff-and-wait (path original modified description)
  "Let the user decide a proposal of Agent-Q, and wait for the decision.
PATH, ORIGINAL, MODIFIED and DESCRIPTION are as for
`agent-q-diff-review-and-wait'; a PATH that no agent may write is refused.
Return \"accepted\" or \"rejected\"; signal an error if there is no decision,
which says how much is in the file."
  (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Agent-Q" :contract 'agent-q
                                                   :caller (agent-q-diff-lisp-current))))
    (let ((target (sly-agent-q-diff--request path original)))
      (plist-get (agent-q-diff-review-and-wait
                  (agent-q-diff-request-name target) original modified description
                  :mode #'sly-agent-q-diff-mode
                  :notes (agent-q-diff-request-notes target)
                  :check (agent-q-diff-request-check target))
                 :decision))))

(defun sly-agent-q-diff--show-and-answer (request path original modified description)
  "Do what `sly-agent-q-show-diff-and-wait' does, and answer REQUEST then.
PATH, ORIGINAL, MODIFIED and DESCRIPTION are that function's."
  (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Agent-Q" :contract 'agent-q
                                                   :caller request)))
    (let ((target (sly-agent-q-diff--request path original)))
      (agent-q-diff-review
       (agent-q-diff-request-name target) original modified description
       (lambda (result)
         (agent-q-diff-lisp-answer
          request (or (plist-get result :decision)
                      (list (plist-get result :error)
                            (agent-q-diff-message-of-no-decision result)))))
       :mode #'sly-agent-q-diff-mode
       :notes (agent-q-diff-request-notes target)
       :check (agent-q-diff-request-check target)))))

(setf (alist-get 'sly-agent-q-show-diff-and-wait agent-q-diff-lisp-functions)
      #'sly-agent-q-diff--show-and-answer)

(agent-q-diff-lisp-mode)

(provide 'sly-agent-q-diff)
;;; sly-agent-q-diff.el ends here
