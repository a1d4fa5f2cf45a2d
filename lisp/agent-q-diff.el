;;; agent-q-diff.el --- Review an AI agent's edits hunk by hunk  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; Author: The agent-q-diff authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, vc
;; SPDX-License-Identifier: GPL-3.0-or-later

;; This program is free software: you can redistribute it and/or modify
;; it under the terms of the GNU General Public License as published by
;; the Free Software Foundation, either version 3 of the License, or (at
;; your option) any later version.

;; This program is distributed in the hope that it will be useful, but
;; WITHOUT ANY WARRANTY; without even the implied warranty of
;; MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
;; General Public License for more details.

;; You should have received a copy of the GNU General Public License
;; along with this program.  If not, see <https://www.gnu.org/licenses/>.

;;; Commentary:

;; Every change that an agent proposes to a file is decided hunk by hunk,
;; applied exactly where it belongs, and reported truthfully to the agent.
;; A Rust engine, loaded as a dynamic module, knows where each hunk goes.
;;
;; Programs call `agent-q-diff-review-and-wait'.  Agent-Q calls
;; `sly-agent-q-show-diff-and-wait', in sly-agent-q-diff.el.
;;
;; This file loads the options and autoloads the rest.  That is loaded by
;; the first review, since most Emacs sessions have none.

;;; Code:

(require 'agent-q-diff-base)

;;;; For programs

(autoload 'agent-q-diff-review-and-wait "agent-q-diff-api"
  "Let the user decide about a proposal, and wait for the decision.")
(autoload 'agent-q-diff-lsp-files "agent-q-diff-lsp"
  "Return what EDIT, an LSP WorkspaceEdit, proposes for each file.")
(autoload 'agent-q-diff-review-change "agent-q-diff-api"
  "Ask the user to decide about FILES, and return the review at once.")
(autoload 'agent-q-diff-review-change-and-wait "agent-q-diff-api"
  "Let the user decide about FILES, and wait for the decision.")
(autoload 'agent-q-diff-review-patch-and-wait "agent-q-diff-api"
  "Let the user decide about DIFF, and wait for the decision.")
(autoload 'agent-q-diff-review "agent-q-diff-api"
  "Ask the user to decide about a proposal, and return the review at once.")
(autoload 'agent-q-diff-review-patch "agent-q-diff-api"
  "Ask the user to decide about DIFF, and return the review at once.")
(autoload 'agent-q-diff-note-written "agent-q-diff-writer"
  "Note that the caller has written what was decided in REVIEW; return the result.")
(autoload 'agent-q-diff-wait "agent-q-diff-api"
  "Show REVIEW, wait in a recursive edit until it has ended, and return its result.")
(autoload 'agent-q-diff-command "agent-q-diff-api"
  "Carry out COMMAND on HUNK of REVIEW, as its key would, and show the effect.")
(autoload 'agent-q-diff-accept "agent-q-diff-api"
  "Accept HUNK of REVIEW, at PLACE if it is ambiguous.")
(autoload 'agent-q-diff-reject "agent-q-diff-api"
  "Reject HUNK of REVIEW; see `agent-q-diff-command'.")
(autoload 'agent-q-diff-unapply "agent-q-diff-api"
  "Take HUNK of REVIEW out of the target; see `agent-q-diff-command'.")
(autoload 'agent-q-diff-end "agent-q-diff-api"
  "Finish REVIEW, as by key: decide by the mark of each hunk.")
(autoload 'agent-q-diff-open-reviews "agent-q-diff-session"
  "Return the reviews that have not ended, the oldest first.")
(autoload 'agent-q-diff-find-review "agent-q-diff-session"
  "Return the open review that was begun with ID, or nil.")
(autoload 'agent-q-diff-past-reviews "agent-q-diff-session"
  "Return the reviews that have ended and are kept, the latest first.")
(autoload 'agent-q-diff-cancel "agent-q-diff-lifecycle"
  "End REVIEW without a decision, since its proposal was withdrawn.")
(autoload 'agent-q-diff-abandon "agent-q-diff-lifecycle"
  "Mark the open reviews as abandoned whose caller is gone.")
(autoload 'agent-q-diff-forget "agent-q-diff-session"
  "Free the memory of REVIEW, which has ended.")
(autoload 'agent-q-diff-take-back "agent-q-diff-list"
  "Take all hunks of REVIEW, which has ended, out of its file again.")
(autoload 'agent-q-diff-pending-marks-after-stage "agent-q-diff-pending-marks"
  "Record that the user has staged something with Magit.")
(autoload 'agent-q-diff-pending-marks-insert-section "agent-q-diff-pending-marks"
  "Insert a section with how much is pending, for Magit's status buffer.")
(autoload 'agent-q-diff-send-text "agent-q-diff-send"
  "Put TEXT, a string, at the prompt of the agent in BUFFER.")
(autoload 'agent-q-diff-tools-list "agent-q-diff-tools"
  "Return the tools that agents can call, a list of plists:")
(autoload 'agent-q-diff-tools-call "agent-q-diff-tools"
  "Call TOOL, a name, with ARGUMENTS and return the message for the agent.")
(autoload 'agent-q-diff-tools-call-async "agent-q-diff-tools"
  "Call TOOL with ARGUMENTS without waiting.")

;;;; For people

(autoload 'agent-q-diff-review-diff "agent-q-diff-api"
  "Review DIFF, a unified diff of one or more files, and return the review." t)
(autoload 'agent-q-diff-review-changes "agent-q-diff-changes"
  "Review what was written into the project of DIRECTORY and not reviewed yet." t)
(autoload 'agent-q-diff-review-submodule "agent-q-diff-changes"
  "Review what has changed in SUBMODULE, the directory of a submodule." t)
(autoload 'agent-q-diff-turns "agent-q-diff-turns"
  "Show what agents did, turn by turn, in the project of the current buffer." t)
(autoload 'agent-q-diff-comments "agent-q-diff-comments"
  "List the comments and questions in the project of the current buffer." t)
(autoload 'agent-q-diff-comment-file "agent-q-diff-comments"
  "Say TEXT about the line at point of this file, or about the selected lines." t)
(autoload 'agent-q-diff-mark-reviewed "agent-q-diff-changes"
  "Record that the project of the current buffer was reviewed as it is." t)
(autoload 'agent-q-diff-end-turns "agent-q-diff-changes"
  "Record that no agent is at work in the project of the current buffer any more." t)
(autoload 'agent-q-diff-copy-message "agent-q-diff-send"
  "Copy the message of the last finished review of this project." t)
(autoload 'agent-q-diff-send-message "agent-q-diff-send"
  "Put the message of the last finished review at the prompt of the agent." t)
(autoload 'agent-q-diff-send-here "agent-q-diff-send"
  "Choose the current buffer for messages to the agent in it." t)
(autoload 'agent-q-diff-pending-mode "agent-q-diff-pending"
  "Take what you save as reviewed, and count what is not in the mode line." t)
(autoload 'agent-q-diff-pending-marks-mode "agent-q-diff-pending-marks"
  "Mark the lines in files that were written and not reviewed yet." t)
(autoload 'agent-q-diff-next-unreviewed "agent-q-diff-pending-marks"
  "Go to the Nth next hunk that was written and not reviewed, by default the next." t)
(autoload 'agent-q-diff-previous-unreviewed "agent-q-diff-pending-marks"
  "Go to the Nth previous hunk that was written and not reviewed." t)
(autoload 'agent-q-diff-next-review "agent-q-diff-navigation"
  "Go to the next open review, after that of the current buffer." t)
(autoload 'agent-q-diff-list "agent-q-diff-list"
  "List the open reviews, and the past ones that can be opened again." t)
(autoload 'agent-q-diff-go-to-review "agent-q-diff-list"
  "Go to the review of the file that this buffer visits." t)
(autoload 'agent-q-diff-look-again "agent-q-diff-list"
  "Show REVIEW, which has ended, again; interactively, the latest one." t)
(autoload 'agent-q-diff-taken-out "agent-q-diff-taken-out"
  "List what reviews took out of files of a project in the last 30 days." t)
(autoload 'agent-q-diff-log "agent-q-diff-log"
  "List what agents proposed and how it ended, the latest first." t)
(autoload 'agent-q-diff-edits "agent-q-diff-transcript"
  "Show the edits that agents requested, with point at the latest." t)
(autoload 'agent-q-diff-grants "agent-q-diff-permit"
  "List what agents may do without asking until Emacs exits." t)
(autoload 'agent-q-diff-revoke-grants "agent-q-diff-permit"
  "Revoke everything that agents may do without asking." t)
(autoload 'agent-q-diff-serve "agent-q-diff-server"
  "Let the user's MCP clients request reviews in this Emacs." t)
(autoload 'agent-q-diff-lisp-mode "agent-q-diff-lisp"
  "Answer Common Lisp's proposals when they are decided, and work meanwhile." t)
(autoload 'agent-q-diff-setup "agent-q-diff-setup"
  "Do all that is needed before the first review." t)
(autoload 'agent-q-diff-setup-init "agent-q-diff-setup"
  "Show the lines that the init file needs as a change of it." t)
(autoload 'agent-q-diff-doctor "agent-q-diff-setup"
  "Show why an agent's edits are not decided here, and what to do about it." t)
(autoload 'agent-q-diff-setup-agent "agent-q-diff-setup"
  "Have the edits by AGENT's own tools decided in this Emacs." t)
(autoload 'agent-q-diff-unload "agent-q-diff-unload"
  "Remove the whole package from Emacs." t)
(autoload 'agent-q-diff-mode "agent-q-diff-mode"
  "Major mode for deciding an agent's proposal hunk by hunk." t)
(autoload 'agent-q-diff-build-module "agent-q-diff-build"
  "Build the engine with cargo and install it beside the Lisp files." t)

;;;; One key for all

(defvar agent-q-diff-prefix-map
  (let ((map (make-sparse-keymap)))
    (define-key map "c" #'agent-q-diff-review-changes)
    (define-key map "s" #'agent-q-diff-review-submodule)
    (define-key map "m" #'agent-q-diff-mark-reviewed)
    (define-key map "e" #'agent-q-diff-end-turns)
    (define-key map "u" #'agent-q-diff-next-unreviewed)
    (define-key map "U" #'agent-q-diff-previous-unreviewed)
    (define-key map "n" #'agent-q-diff-next-review)
    (define-key map "f" #'agent-q-diff-go-to-review)
    (define-key map "l" #'agent-q-diff-list)
    (define-key map "L" #'agent-q-diff-log)
    (define-key map "o" #'agent-q-diff-taken-out)
    (define-key map "T" #'agent-q-diff-turns)
    (define-key map "C" #'agent-q-diff-comments)
    (define-key map "d" #'agent-q-diff-review-diff)
    (define-key map "w" #'agent-q-diff-copy-message)
    (define-key map "t" #'agent-q-diff-send-message)
    map)
  "Keymap of the commands on reviews, for a prefix key of the user's.")

;;;; In the lists of other packages

(defvar project-switch-commands)
(declare-function magit-add-section-hook "ext:magit-section"
                  (hook function &optional at append local))

;;;###autoload
(progn
  (with-eval-after-load 'project
    ;; It can also be the only command.
    (when (listp project-switch-commands)
      (add-to-list 'project-switch-commands
                   '(agent-q-diff-review-changes "Review changes" ?a) t)))
  (with-eval-after-load 'magit-status
    (magit-add-section-hook 'magit-status-sections-hook
                            #'agent-q-diff-pending-marks-insert-section
                            'magit-insert-untracked-files))
  (with-eval-after-load 'magit-apply
    (add-hook 'magit-post-stage-hook #'agent-q-diff-pending-marks-after-stage)))

(provide 'agent-q-diff)
;;; agent-q-diff.el ends here
