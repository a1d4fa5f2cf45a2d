;;; agent-q-diff-own-patch.el --- Patches that agents make with their own tools  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A patch of several files, or of more than text, in Codex's format.  An
;; agent's own tool would apply it file by file, and leave earlier files
;; written when a later one fails.  So Emacs applies what is decided, all files
;; or none, and the tool is not run.
;;
;; The program requests that as `decide_patch', whose arguments are a hash
;; table: diff (the patch), tool and session.

;;; Code:

(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-session)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-permit)
(require 'agent-q-diff-propose)
(require 'agent-q-diff-own-agent)

(defun agent-q-diff-own-patch--requests (tool arguments root)
  "Return a request for each file of a call of TOOL in the project ROOT.
ARGUMENTS are as for `agent-q-diff-propose'.  If a file is not for agents,
signal an error."
  (mapcar (lambda (path)
            (pcase-let ((`(,name ,_ ,_ ,protection)
                         (agent-q-diff-propose-target tool path root)))
              (agent-q-diff-request-make :tool tool :path path :name name :root root
                                         :arguments arguments :protection protection)))
          (agent-q-diff-propose-paths arguments)))

(defun agent-q-diff-own-patch--allowance (requests)
  "Return why none of REQUESTS needs a review: `policy' or `session', or nil."
  (let ((allowances (mapcar #'agent-q-diff-own-agent-allowance requests)))
    (unless (or (memq nil allowances) (memq 'denied allowances))
      (car allowances))))

(defun agent-q-diff-own-patch--tell (callback result)
  "Call CALLBACK with RESULT, and add to its message what Emacs made of the patch."
  (funcall callback
           (plist-put result :message
                      (format "The patch was not run%s.\n%s"
                              (if (< 0 (or (plist-get result :in-file) 0))
                                  ": Emacs made what was decided, in all files at once"
                                "")
                              (plist-get result :message)))))

(defun agent-q-diff-own-patch-decide (arguments callback)
  "Let the user decide about the patch in ARGUMENTS, a hash table.
CALLBACK is called once with the result, a plist with :message.  Return the
review, or nil if there is none.  If a file is not for agents, signal an
error."
  (let* ((default-directory (agent-q-diff-guard-root))
         (tool (gethash "tool" arguments))
         (session (gethash "session" arguments))
         (proposal `((diff . ,(gethash "diff" arguments)) (description . "")))
         (requests (agent-q-diff-own-patch--requests tool proposal default-directory))
         (by (agent-q-diff-own-patch--allowance requests))
         (agent-q-diff-display (if by 'announce agent-q-diff-display))
         (inhibit-message (or by inhibit-message))
         (review (agent-q-diff-propose
                  tool proposal (apply-partially #'agent-q-diff-own-patch--tell callback)
                  :notes (list (format "Emacs writes what you decide, in all files at once; \
%s is not run." (agent-q-diff-own-agent-tool tool session)))
                  :agent (agent-q-diff-own-agent-label session))))
    (when (and review (not (agent-q-diff-session-outcome review)))
      (agent-q-diff-own-agent-note-session review session)
      (unless (seq-some #'agent-q-diff-request-protection requests)
        (agent-q-diff-own-agent-offer review default-directory))
      (when by
        (agent-q-diff-own-patch--accept review by)))
    review))

(defun agent-q-diff-own-patch--accept (review by)
  "Accept all of REVIEW, which is allowed BY `policy' or `session'.
If some of it does not apply, the user has to decide."
  (setf (agent-q-diff-session-is-by-program review) t)
  (let ((name (agent-q-diff-session-name review))
        (buffer (agent-q-diff-session-buffer review)))
    (with-current-buffer buffer
      (agent-q-diff-accept-all))
    (let ((inhibit-message nil))
      (if (agent-q-diff-session-outcome review)
          (agent-q-diff-own-agent-say-allowed name by)
        (setf (agent-q-diff-session-is-by-program review) nil)
        (display-buffer buffer)))))

(provide 'agent-q-diff-own-patch)
;;; agent-q-diff-own-patch.el ends here
