;;; agent-q-diff-honest.el --- Text that shows what it is  -*- lexical-binding: t; -*-

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

(defconst agent-q-diff-honest--line-length 1000
  "Number of characters of a line that are shown before it is cut off.")

(defconst agent-q-diff-honest--deceits
  '((direction . "changes the direction of writing")
    (invisible . "cannot be seen")
    (space . "looks like a space or a line's end")
    (control . "is a control character or a byte that is no text")
    (lookalike . "looks like an ASCII character")
    (combining . "joins the letter before it"))
  "What the kinds of characters do that read as something else.")

(defvar-local agent-q-diff-honest--expanded nil
  "Markers at the lines of this buffer that are shown whole.")

;;;; Signs

(defun agent-q-diff-honest-name (char deceit)
  "Return what there is to say of CHAR, whose DECEIT the engine has told."
  (format "%s %s: %s" (agent-q-diff-visible-sign char)
          (or (get-char-code-property char 'name)
              (get-char-code-property char 'old-name)
              "no character of Unicode")
          (alist-get deceit agent-q-diff-honest--deceits)))

(defun agent-q-diff-honest-names (beg end)
  "Return what there is to say of the text from BEG to END, a list of strings.
There is one for each character in it that reads as something else."
  (delete-dups
   (mapcar (pcase-lambda (`(,index . ,deceit))
             (agent-q-diff-honest-name (char-after (+ beg index)) deceit))
           (agent-q-diff-engine-suspects
            (buffer-substring-no-properties beg end)))))

(defun agent-q-diff-honest--show-signs (beg end)
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
                          (agent-q-diff-honest-name char deceit)))))))

;;;; Long lines

(defun agent-q-diff-honest--cut-line ()
  "Show only the beginning of the line at point if it is very long."
  (let ((from (+ (line-beginning-position) agent-q-diff-honest--line-length))
        (end (line-end-position)))
    (when (and (< from end)
               (not (agent-q-diff-honest--expanded-p)))
      (add-text-properties
       from end
       (list 'display (propertize
                       (substitute-command-keys
                        (format "… %d more characters, \
\\<agent-q-diff-mode-map>\\[agent-q-diff-expand-line] shows them"
                                (- end from)))
                       'face 'agent-q-diff-warning)
             'agent-q-diff-cut t)))))

(defun agent-q-diff-honest--expanded-p ()
  "Return non-nil if the line at point is to be shown whole."
  (let ((beg (line-beginning-position)))
    (memq beg (mapcar #'marker-position agent-q-diff-honest--expanded))))

(defvar agent-q-diff-expand-functions nil
  "Abnormal hook for what else than a long line is shown in part.
Each function is called without arguments, and returns non-nil if it
showed all of something at point, or cut it off again.")

(defun agent-q-diff-expand-line ()
  "Show all of the line at point, or cut it off again if it is long.
At another line do so for its hunk, if that has thousands of lines; see
`agent-q-diff-hunk-lines'."
  (interactive)
  (cond
   ((<= agent-q-diff-honest--line-length
        (- (line-end-position) (line-beginning-position)))
    (agent-q-diff-honest--toggle-line))
   ((run-hook-with-args-until-success 'agent-q-diff-expand-functions))
   (t (user-error "The line is shown whole"))))

(defun agent-q-diff-honest--toggle-line ()
  "Show all of the line at point, which is long, or cut it off again."
  (let ((beg (line-beginning-position)))
    (setq agent-q-diff-honest--expanded
          (if (agent-q-diff-honest--expanded-p)
              (delq nil (mapcar (lambda (marker)
                                  (unless (= beg marker) marker))
                                agent-q-diff-honest--expanded))
            (cons (copy-marker beg) agent-q-diff-honest--expanded)))
    (jit-lock-refontify beg (line-end-position))))

;;;; Set-up

(defun agent-q-diff-honest--show (beg end)
  "Show the lines from BEG to END as what they are."
  (save-excursion
    (let ((beg (progn (goto-char beg) (line-beginning-position)))
          (end (progn (goto-char end) (line-end-position))))
      (with-silent-modifications
        (remove-text-properties beg end '(display nil help-echo nil
                                                  agent-q-diff-cut nil))
        (agent-q-diff-honest--show-signs beg end)
        (goto-char beg)
        (while (progn
                 (agent-q-diff-honest--cut-line)
                 (and (= 0 (forward-line)) (< (point) end)))))
      `(jit-lock-bounds ,beg . ,end))))

(defun agent-q-diff-honest-set-up ()
  "Show the text of this buffer as what it is, as it comes into view."
  ;; A paragraph that begins with an Arabic letter must not turn the signs
  ;; of a diff around, and to find that out in a long line takes for ever.
  (setq-local bidi-paragraph-direction 'left-to-right)
  (setq-local bidi-inhibit-bpa t)
  (jit-lock-register #'agent-q-diff-honest--show))

(provide 'agent-q-diff-honest)
;;; agent-q-diff-honest.el ends here
