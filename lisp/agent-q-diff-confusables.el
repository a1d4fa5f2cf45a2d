;;; agent-q-diff-confusables.el --- Misleading characters by number  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent's text can contain confusables: characters that look like
;; something else, or like nothing.  Each is shown by its number, like
;; <U+202E>, on any display; the text itself is not changed.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)

(defconst agent-q-diff-confusables--effects
  '((direction . "changes the direction of writing")
    (invisible . "cannot be seen")
    (space . "looks like a space or a line's end")
    (control . "is a control character or a byte that is not text")
    (lookalike . "looks like an ASCII character")
    (combining . "joins the letter before it"))
  "What each kind of confusable does, a predicate for its name.")

;;;; Signs

(defun agent-q-diff-confusables-describe (char kind)
  "Return a description of CHAR, a confusable of KIND.
KIND is a key of `agent-q-diff-confusables--effects'."
  (format "%s %s: %s" (agent-q-diff-visible-sign char)
          (or (get-char-code-property char 'name)
              (get-char-code-property char 'old-name)
              "no character of Unicode")
          (alist-get kind agent-q-diff-confusables--effects)))

(defun agent-q-diff-confusables-in-region (beg end)
  "Return descriptions of the distinct confusables from BEG to END, strings."
  (delete-dups
   (mapcar (pcase-lambda (`(,index . ,kind))
             (agent-q-diff-confusables-describe (char-after (+ beg index)) kind))
           (agent-q-diff-engine-suspects
            (buffer-substring-no-properties beg end)))))

(defun agent-q-diff-confusables-show (beg end)
  "Show the confusables from BEG to END by their numbers."
  (pcase-dolist (`(,index . ,kind)
                 (agent-q-diff-engine-suspects
                  (buffer-substring-no-properties beg end)))
    (let* ((at (+ beg index))
           (char (char-after at)))
      (add-text-properties
       at (1+ at)
       (list 'display (propertize (agent-q-diff-visible-sign char)
                                  'face 'agent-q-diff-deceiving)
             ;; A function, so that the table of names is loaded on demand.
             'help-echo (lambda (&rest _)
                          (agent-q-diff-confusables-describe char kind)))))))

(provide 'agent-q-diff-confusables)
;;; agent-q-diff-confusables.el ends here
