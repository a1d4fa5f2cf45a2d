;;; copilot-test.el --- Edits of Copilot CLI, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; It waits for as long as its settings say.  See
;; agents-tools.el and agents-formats.el.

;;; Code:

(require 'agents-formats)

(agents-define-formats "copilot")

(provide 'copilot-test)
;;; copilot-test.el ends here
