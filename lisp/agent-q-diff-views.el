;;; agent-q-diff-views.el --- Lists: columns, keys and updates that all of them share  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A list, such as that of the reviews, is made of a function that returns rows,
;; and of `agent-q-diff-views-define', which makes its mode and its keymap; a
;; command shows it with `agent-q-diff-views-show'.  The same keys do the same in
;; all lists:
;;
;; RET  shows what the row is about      o  visits its file
;; k    removes the row                  e  changes it
;; b    brings back                      U  undoes
;; g    updates the list                 q  leaves it
;;
;; Where evil is on, j and k move by line, and x is what k is otherwise.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'tabulated-list)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)

(defvar-local agent-q-diff-views--view nil
  "What this list is: the properties of `agent-q-diff-views-define', a plist.")

(defvar-local agent-q-diff-views--rows nil
  "What this list shows, (ITEM . CELLS) each.")

(cl-defmacro agent-q-diff-views-define (mode name doc &key item columns rows keys same begin)
  "Define MODE, called NAME, with the docstring DOC, as the mode of a list.
Its keymap is defined as well.

ITEM is what a row is about, a noun.
COLUMNS is a list of (NAME WIDTH SORT . PROPERTIES), as in
`tabulated-list-format'.  Columns whose WIDTH is nil share what the window
has left, but those with the property :aside may be to its right.  Of what is
too long for a column with the property :end, the end is shown.  If SORT is
`number', rows are sorted by numbers.
ROWS is a function without arguments that returns a list of (ITEM . CELLS),
called in the directory of the list.  ITEM is what commands get from
`agent-q-diff-views-here'.  A cell is a string, perhaps as the engine returned
it, a number, a symbol, or nil for an empty one; what could mislead in it is
made visible.
KEYS is an alist from keys to commands.
SAME is a function that tells whether, after an update, point that was on its
first argument, an item, belongs on the second; the default is `equal'.
BEGIN, if not nil, is called at the end of MODE."
  (declare (doc-string 3) (indent 2))
  (let ((map (intern (format "%s-map" mode))))
    `(progn
       (defvar ,map (agent-q-diff-views--keymap ,keys)
         ,(format "Keymap of `%s'." mode))
       (define-derived-mode ,mode tabulated-list-mode ,name
         ,(format "%s\n\n\\{%s}" doc map)
         (agent-q-diff-base-claim-single-keys)
         (setq agent-q-diff-views--view (list :item ,item :columns ,columns :rows ,rows
                                              :same ,(or same '#'equal)))
         (setq-local bidi-display-reordering nil
                     revert-buffer-function #'agent-q-diff-views-update)
         (add-hook 'window-size-change-functions #'agent-q-diff-views--fit nil t)
         ,@(and begin `((funcall ,begin)))))))

(defun agent-q-diff-views--keymap (keys)
  "Return a keymap with KEYS, as in `agent-q-diff-views-define'."
  (let ((map (make-sparse-keymap))
        (remove (alist-get "k" keys nil nil #'equal)))
    (pcase-dolist (`(,key . ,command) keys)
      ;; `kbd' would load edmacro, and that takes longer than all of this file.
      (define-key map key command))
    (define-key map "j" (agent-q-diff-base-key-by-evil nil #'next-line))
    (define-key map "k" (agent-q-diff-base-key-by-evil remove #'previous-line))
    (when remove
      (define-key map "x" (agent-q-diff-base-key-by-evil nil remove)))
    map))

(defun agent-q-diff-views-here ()
  "Return the item at point, or signal that there is none."
  (or (tabulated-list-get-id)
      (user-error "No %s is listed here" (plist-get agent-q-diff-views--view :item))))

;;;; Columns

(defun agent-q-diff-views-text (value &optional limit)
  "Return VALUE, of any type, as a line of text in which no character misleads.
LIMIT is as for `agent-q-diff-visible'."
  (agent-q-diff-visible (pcase value
                          ('nil "")
                          ((pred stringp) (agent-q-diff-engine-text value))
                          (_ (format "%S" value)))
                        limit))

(defun agent-q-diff-views--cell (value column)
  "Return VALUE as text for COLUMN."
  (if (plist-get (nthcdr 3 column) :end)
      (agent-q-diff-visible-end (agent-q-diff-views-text value most-positive-fixnum)
                                (nth 1 column))
    (agent-q-diff-views-text value)))

(defun agent-q-diff-views--by-number (index)
  "Return a predicate that compares entries by the number in the cell INDEX."
  (lambda (one other)
    (< (string-to-number (aref (cadr one) index))
       (string-to-number (aref (cadr other) index)))))

(defun agent-q-diff-views--columns (width)
  "Return the columns of this list for a window of WIDTH columns."
  (let* ((columns (plist-get agent-q-diff-views--view :columns))
         (n (seq-count (lambda (column) (null (nth 1 column))) columns))
         (rest (max (* 20 n)
                    (- width
                       (cl-loop for (_ width _ . properties) in columns
                                unless (plist-get properties :aside)
                                sum (1+ (or width 0)))))))
    (cl-loop for (name width sort . properties) in columns
             for index from 0
             collect (append
                      (list name
                            (or width
                                (let ((share (/ rest n)))
                                  (setq rest (- rest share)
                                        n (1- n))
                                  share))
                            (if (eq sort 'number) (agent-q-diff-views--by-number index) sort))
                      properties))))

;;;; Printing

(defun agent-q-diff-views--find (place)
  "Return the position of PLACE, (ITEM . LINE), after the list was printed again.
That is the row of ITEM, or without one LINE, but in no case below the rows if
there was an ITEM."
  (pcase-let ((`(,item . ,line) place)
              (same (plist-get agent-q-diff-views--view :same)))
    (save-excursion
      (goto-char (point-min))
      (while (not (or (eobp)
                      (and item (funcall same item (tabulated-list-get-id)))))
        (forward-line))
      (when (eobp)
        (goto-char (point-min))
        (forward-line (1- line))
        (when (and item (eobp))
          (forward-line -1)))
      (point))))

(defun agent-q-diff-views--place (position)
  "Return (ITEM . LINE) for POSITION."
  (cons (tabulated-list-get-id position) (line-number-at-pos position)))

(defun agent-q-diff-views--print (width)
  "Print the rows for a window of WIDTH columns.
In every window, point stays on its item."
  (let ((here (agent-q-diff-views--place (point)))
        (places (mapcar (lambda (window)
                          (list window
                                (agent-q-diff-views--place (window-point window))
                                (line-number-at-pos (window-start window))))
                        (get-buffer-window-list nil 'never t)))
        (columns (agent-q-diff-views--columns width)))
    (setq tabulated-list-format (vconcat columns)
          tabulated-list-entries
          (mapcar (pcase-lambda (`(,item . ,cells))
                    (list item (cl-loop for column in columns
                                        vconcat (list (agent-q-diff-views--cell (pop cells)
                                                                                column)))))
                  agent-q-diff-views--rows))
    (tabulated-list-init-header)
    (tabulated-list-print)
    (goto-char (agent-q-diff-views--find here))
    (pcase-dolist (`(,window ,place ,start) places)
      (set-window-start window (agent-q-diff-views--find (cons nil start)) t)
      (set-window-point window (agent-q-diff-views--find place)))))

(defun agent-q-diff-views-update (&rest _)
  "Read the rows of this list again, and print them."
  (setq agent-q-diff-views--rows (funcall (plist-get agent-q-diff-views--view :rows)))
  (agent-q-diff-views--print (window-body-width (get-buffer-window nil t))))

(defun agent-q-diff-views--fit (window)
  "Print the list again if its WINDOW has another width."
  (when (and (window-live-p window)
             (/= (window-body-width window t) (window-old-body-pixel-width window)))
    (with-current-buffer (window-buffer window)
      (agent-q-diff-views--print (window-body-width window)))))

(defun agent-q-diff-views-show (name mode &optional project)
  "Show the list in the buffer NAME, in MODE, of PROJECT, a directory, if not nil.
The mode line names the project."
  (let ((buffer (get-buffer-create name)))
    (with-current-buffer buffer
      (funcall mode)
      (when project
        (setq default-directory project
              mode-line-process
              (string-replace "%" "%%" (format " in %s" (agent-q-diff-visible-name
                                                         (abbreviate-file-name project))))))
      ;; If that fails, no window has changed.
      (setq agent-q-diff-views--rows (funcall (plist-get agent-q-diff-views--view :rows))))
    (pop-to-buffer buffer)
    (agent-q-diff-views--print (window-body-width))
    (goto-char (point-min))))

(provide 'agent-q-diff-views)
;;; agent-q-diff-views.el ends here
