;;; agent-q-diff-grants.el --- What agents may do without asking  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A grant allows one tool in one project until Emacs exits or it is revoked.
;; This file keeps the grants and lists them.

;;; Code:

(require 'seq)
(require 'tabulated-list)
(require 'agent-q-diff-base)

(defvar agent-q-diff-grants--all nil
  "What the user has granted for the session, a list of (TOOL ROOT TIME).")

(defun agent-q-diff-grants-cover-p (tool root)
  "Return non-nil if TOOL is granted in the project ROOT."
  (seq-some (pcase-lambda (`(,granted ,directory ,_))
              (and (equal granted tool) (equal directory root)))
            agent-q-diff-grants--all))

(defun agent-q-diff-grants-add (tool root)
  "Grant TOOL in the project ROOT for the session."
  (unless (agent-q-diff-grants-cover-p tool root)
    (push (list tool root (current-time)) agent-q-diff-grants--all)))

;;;; Listing and revoking

(defvar agent-q-diff-grants-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "j" (agent-q-diff-base-key-by-evil nil #'next-line))
    (define-key map "k" (agent-q-diff-base-key-by-evil #'agent-q-diff-grants-revoke
                                                       #'previous-line))
    (define-key map "x" (agent-q-diff-base-key-by-evil nil #'agent-q-diff-grants-revoke))
    (define-key map (kbd "K") #'agent-q-diff-revoke-grants)
    map)
  "Keymap of `agent-q-diff-grants-mode'.")

(define-derived-mode agent-q-diff-grants-mode tabulated-list-mode "Agent-Q Grants"
  "Major mode of the list of what agents may do without asking.

\\{agent-q-diff-grants-mode-map}"
  (agent-q-diff-base-claim-single-keys)
  (setq tabulated-list-format [("Tool" 20 t) ("Since" 10 t) ("Project" 0 t)]
        tabulated-list-entries #'agent-q-diff-grants--entries)
  (tabulated-list-init-header))

(defun agent-q-diff-grants--entries ()
  "Return the grants as a value for `tabulated-list-entries'."
  (mapcar (lambda (grant)
            (pcase-let ((`(,tool ,root ,time) grant))
              (list grant (vector tool (format-time-string "%T" time)
                                  (agent-q-diff-visible
                                   (abbreviate-file-name root))))))
          agent-q-diff-grants--all))

;;;###autoload
(defun agent-q-diff-grants ()
  "List what agents may do without asking until Emacs exits.
\\<agent-q-diff-grants-mode-map>There, \\[agent-q-diff-grants-revoke] revokes the grant at point."
  (interactive)
  (pop-to-buffer (get-buffer-create "*Agent-Q Grants*"))
  (agent-q-diff-grants-mode)
  (tabulated-list-print)
  (unless agent-q-diff-grants--all
    (message "Nothing is granted")))

(defun agent-q-diff-grants-revoke ()
  "Revoke the grant at point."
  (interactive nil agent-q-diff-grants-mode)
  (let ((grant (or (tabulated-list-get-id)
                   (user-error "No grant here"))))
    (setq agent-q-diff-grants--all
          (delq grant agent-q-diff-grants--all))
    (tabulated-list-print t)
    (message "%s will ask again in %s" (car grant)
             (agent-q-diff-visible (cadr grant)))))

;;;###autoload
(defun agent-q-diff-revoke-grants ()
  "Revoke everything that agents may do without asking."
  (interactive)
  (setq agent-q-diff-grants--all nil)
  (when (derived-mode-p 'agent-q-diff-grants-mode)
    (tabulated-list-print t))
  (message "Agents will ask again"))

(provide 'agent-q-diff-grants)
;;; agent-q-diff-grants.el ends here
