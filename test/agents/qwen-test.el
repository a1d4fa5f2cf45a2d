;;; qwen-test.el --- Edits of Qwen Code, decided by keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; It waits for a minute, whatever its settings say.  See
;; agents-tools.el and agents-formats.el.

;;; Code:

(require 'agents-ends)
(require 'agents-formats)

(agents-define-formats "qwen")

(ert-deftest agents-qwen-a-message-of-its-turn-is-read-before-it-ends ()
  (agents-formats-with-emacs "qwen" ""
    (agents-turns--begin)
    (agents-turns-a-message-of-its-turn-is-read-before-it-ends "qwen")))

(agents-define-interruption "qwen" agents-formats-with-emacs "qwen" "")

(provide 'qwen-test)
;;; qwen-test.el ends here
