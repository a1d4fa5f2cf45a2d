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

(autoload 'agent-q-diff-review-and-wait "agent-q-diff-api")
(autoload 'agent-q-diff-lsp-files "agent-q-diff-lsp")
(autoload 'agent-q-diff-review-change "agent-q-diff-several")
(autoload 'agent-q-diff-review-change-and-wait "agent-q-diff-several")
(autoload 'agent-q-diff-review-patch-and-wait "agent-q-diff-api")
(autoload 'agent-q-diff-review "agent-q-diff-api")
(autoload 'agent-q-diff-review-patch "agent-q-diff-api")
(autoload 'agent-q-diff-wait "agent-q-diff-api")
(autoload 'agent-q-diff-command "agent-q-diff-api")
(autoload 'agent-q-diff-accept "agent-q-diff-api")
(autoload 'agent-q-diff-reject "agent-q-diff-api")
(autoload 'agent-q-diff-unapply "agent-q-diff-api")
(autoload 'agent-q-diff-end "agent-q-diff-api")
(autoload 'agent-q-diff-open-reviews "agent-q-diff-reviews")
(autoload 'agent-q-diff-past-reviews "agent-q-diff-reviews")
(autoload 'agent-q-diff-cancel "agent-q-diff-lifecycle")
(autoload 'agent-q-diff-abandon "agent-q-diff-lifecycle")
(autoload 'agent-q-diff-forget "agent-q-diff-reviews")
(autoload 'agent-q-diff-take-back "agent-q-diff-again")
(autoload 'agent-q-diff-tools-list "agent-q-diff-tools")
(autoload 'agent-q-diff-tools-call "agent-q-diff-tools")
(autoload 'agent-q-diff-tools-call-async "agent-q-diff-tools")

;;;; For people

(autoload 'agent-q-diff-review-diff "agent-q-diff-several" nil t)
(autoload 'agent-q-diff-next-review "agent-q-diff-reviews" nil t)
(autoload 'agent-q-diff-list "agent-q-diff-list" nil t)
(autoload 'agent-q-diff-look-again "agent-q-diff-again" nil t)
(autoload 'agent-q-diff-log "agent-q-diff-log-list" nil t)
(autoload 'agent-q-diff-edits "agent-q-diff-transcript" nil t)
(autoload 'agent-q-diff-grants "agent-q-diff-grants" nil t)
(autoload 'agent-q-diff-revoke-grants "agent-q-diff-grants" nil t)
(autoload 'agent-q-diff-serve "agent-q-diff-server" nil t)
(autoload 'agent-q-diff-setup-agent "agent-q-diff-setup" nil t)
(autoload 'agent-q-diff-unload "agent-q-diff-unload" nil t)
(autoload 'agent-q-diff-mode "agent-q-diff-mode" nil t)
(autoload 'agent-q-diff-build-module "agent-q-diff-build" nil t)

(provide 'agent-q-diff)
;;; agent-q-diff.el ends here
