;;; agent-q-diff-confusables.el --- Text that shows what it is  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent's text can hold characters that read as something else, or as
;; nothing.  In a buffer that is set up here each of them is shown by its
;; number, like <U+202E>, whatever the display and the colors; the text
;; itself stays.  Lines that are too long to be shown at once are cut off
;; visibly.  Only what comes into view is looked at.

;;; Code:

(require 'jit-lock)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)

(defconst agent-q-diff-confusables--effects
  '((direction . "changes the direction of writing")
    (invisible . "cannot be seen")
    (space . "looks like a space or a line's end")
    (control . "is a control character or a byte that is no text")
    (lookalike . "looks like an ASCII character")
    (combining . "joins the letter before it"))
  "What the kinds of characters do that read as something else.")

;;;; Signs

(defun agent-q-diff-confusables-describe (char deceit)
  "Return what there is to say of CHAR, whose DECEIT the engine has told."
  (format "%s %s: %s" (agent-q-diff-visible-sign char)
          (or (get-char-code-property char 'name)
              (get-char-code-property char 'old-name)
              "no character of Unicode")
          (alist-get deceit agent-q-diff-confusables--effects)))

(defun agent-q-diff-confusables-in-region (beg end)
  "Return what there is to say of the text from BEG to END, a list of strings.
There is one for each character in it that reads as something else."
  (delete-dups
   (mapcar (pcase-lambda (`(,index . ,deceit))
             (agent-q-diff-confusables-describe (char-after (+ beg index)) deceit))
           (agent-q-diff-engine-suspects
            (buffer-substring-no-properties beg end)))))

(defun agent-q-diff-confusables-show (beg end)
  "Show the characters from BEG to END that read as something else."
  (pcase-dolist (`(,index . ,deceit)
                 (agent-q-diff-engine-suspects
                  (buffer-substring-no-properties beg end)))
    (let* ((at (+ beg index))
           (char (char-after at)))
      (add-text-properties
       at (1+ at)
       (list 'display (propertize (agent-q-diff-visible-sign char)
                                  'face 'agent-q-diff-deceiving)
             ;; The table of names is loaded when somebody wants one.
             'help-echo (lambda (&rest _)
                          (agent-q-diff-confusables-describe char deceit)))))))

(provide 'agent-q-diff-confusables)
;;; agent-q-diff-confusables.el ends here
