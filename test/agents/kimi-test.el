;;; kimi-test.el --- Edits of Kimi, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; It waits for ten minutes at most, and drops all its hooks if one is to wait longer.  See
;; agents-tools.el and agents-formats.el.

;;; Code:

(require 'agents-ends)
(require 'agents-formats)

(agents-define-formats "kimi")

(agents-define-interruption "kimi" agents-formats-with-emacs "kimi" "")

(provide 'kimi-test)
;;; kimi-test.el ends here
