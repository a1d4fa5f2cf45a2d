;;; claude-agent-acp-test.el --- Edits of Claude Code in an editor, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; See agents-tools.el and agents-matrix.el.  Editors run Claude Code by
;; claude-agent-acp, which runs the hooks in Claude Code's own settings.  It does
;; not run as root; test/tools/run-tests runs this suite as another user then.

;;; Code:

(require 'agents-matrix)
(require 'agents-turns)

(agents-define-matrix "claude-agent-acp")

(agents-define-turns "claude-agent-acp")

(provide 'claude-agent-acp-test)
;;; claude-agent-acp-test.el ends here
