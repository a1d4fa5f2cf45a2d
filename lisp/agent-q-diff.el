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

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-target)
(require 'agent-q-diff-review)
(require 'agent-q-diff-view)
(require 'agent-q-diff-mode)
(require 'agent-q-diff-wait)

(defconst agent-q-diff-buffer-name "*Agent-Q Diff*"
  "Name of the diff buffer.
While one is being decided, further ones get a number behind it.")

;;;; Showing a proposal

(defun agent-q-diff--live-p (buffer)
  "Return non-nil if somebody waits for the review in BUFFER."
  (buffer-local-value 'agent-q-diff--end-function buffer))

(defun agent-q-diff--fresh-buffer ()
  "Return an empty buffer for a new review, never one that is being decided."
  (let ((buffer (get-buffer agent-q-diff-buffer-name)))
    (if (and buffer (agent-q-diff--live-p buffer))
        (generate-new-buffer agent-q-diff-buffer-name)
      (get-buffer-create agent-q-diff-buffer-name))))

(defun agent-q-diff--comment (text)
  "Return TEXT with every line prefixed, so that none is taken for diff text."
  (mapconcat (lambda (line) (concat "# " line)) (split-string text "\n") "\n"))

(defun agent-q-diff--notes (review)
  "Return what one must know before the first key of REVIEW, as strings."
  (let ((target (agent-q-diff-review-target review)))
    (delq nil
          (list
           (unless (file-exists-p (agent-q-diff-review-path review))
             "The file does not exist.")
           (when (buffer-modified-p target)
             (format "The file has unsaved edits in %s; %s" target
                     (if (agent-q-diff-review-saves-p review)
                         "accepting a hunk saves them, too."
                       "accepting a hunk does not save.")))
           (when (agent-q-diff-review-is-adapted review)
             "Line ends and byte order mark are adapted to the file.")
           (agent-q-diff--differs-note review)))))

(defun agent-q-diff--differs-note (review)
  "Return what to say if the target of REVIEW is not the original, or nil."
  (let* ((engine (agent-q-diff-review-engine review))
         (total (car (agent-q-diff-engine-counts engine)))
         (kinds (cl-loop for hunk below total
                         collect (agent-q-diff--place-kind engine hunk)))
         (parts (cl-loop for (kind . words) in '((conflict . "do not apply")
                                                 (ambiguous . "need a look")
                                                 (shifted . "are shifted")
                                                 (in . "are in it already"))
                         for n = (seq-count (apply-partially #'eq kind) kinds)
                         when (> n 0) collect (format "%d %s" n words))))
    (cond
     ((seq-every-p (apply-partially #'eq 'conflict) kinds)
      "The file is not what the proposal was made for: no hunk applies.")
     (parts
      (format "The file differs from the proposal's original; of %d hunks %s."
              total (string-join parts ", "))))))

(defun agent-q-diff--place-kind (engine hunk)
  "Return how HUNK of ENGINE's review stands in the target, a symbol.
It is `conflict', `ambiguous', `in' if its change is there already,
`shifted', or nil if it is just where it was expected."
  (pcase-let ((`(,_ ,is-in ,reason ,place) (agent-q-diff-engine-state engine hunk)))
    (cond
     ((eq place 'ambiguous) 'ambiguous)
     (reason 'conflict)
     (is-in 'in)
     ((/= 0 (nth 1 (agent-q-diff-engine-place engine hunk))) 'shifted))))

(defun agent-q-diff--insert-header (review notes)
  "Insert what the proposal of REVIEW is about, and NOTES, strings."
  (let ((start (point)))
    (insert (agent-q-diff--comment
             (format "File: %s" agent-q-diff--path))
            "\n"
            (agent-q-diff--comment
             (format "Description: %s" agent-q-diff--description))
            "\n")
    (put-text-property start (point) 'font-lock-face 'agent-q-diff-header))
  (dolist (note (append notes (agent-q-diff--notes review)))
    (insert (propertize (agent-q-diff--comment (concat "Note: " note))
                        'font-lock-face 'agent-q-diff-warning)
            "\n")))

(defun agent-q-diff--render (review notes)
  "Fill the current buffer with the proposal of REVIEW and NOTES."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-engine-print (agent-q-diff-review-engine review)
                                          agent-q-diff--path))
              (inhibit-read-only t))
    (erase-buffer)
    (agent-q-diff--insert-header review notes)
    (insert "Progress:\n\n")
    (let ((start (point)))
      (insert diff)
      (agent-q-diff--adopt review lines start))
    (setq agent-q-diff--parsed-tick t)
    (agent-q-diff-update-header)
    (set-buffer-modified-p nil)))

(defun agent-q-diff--forget-review ()
  "Make the current buffer's variables those of no review."
  (setq agent-q-diff--decision nil
        agent-q-diff--hunk-states nil
        agent-q-diff--review nil
        agent-q-diff--positions nil
        agent-q-diff--end-function nil)
  (delete-all-overlays))

(defun agent-q-diff--prepare (review original modified description mode notes)
  "Return a diff buffer in MODE for REVIEW.
ORIGINAL, MODIFIED and DESCRIPTION are the proposal's; NOTES are strings
for the header."
  (with-current-buffer (agent-q-diff--fresh-buffer)
    (agent-q-diff--forget-review)
    (setq buffer-undo-list t
          agent-q-diff--path (agent-q-diff-review-path review)
          agent-q-diff--original original
          agent-q-diff--modified modified
          agent-q-diff--description description
          default-directory (file-name-directory agent-q-diff--path))
    (agent-q-diff--render review notes)
    ;; A directory's local variables are nobody's business here.
    (let ((enable-dir-local-variables nil)
          (diff-update-on-the-fly nil))
      (funcall mode))
    (setq buffer-read-only t)
    (setf (agent-q-diff-review-buffer review) (current-buffer))
    (agent-q-diff--show-all)
    (agent-q-diff--goto-hunk 0)
    (add-hook 'kill-buffer-hook #'agent-q-diff--buffer-killed nil t)
    (current-buffer)))

(defun agent-q-diff--prepare-or-close (review &rest arguments)
  "Prepare a diff buffer for REVIEW, and close that if there is an error.
REVIEW and ARGUMENTS are those of `agent-q-diff--prepare'."
  (condition-case err
      (apply #'agent-q-diff--prepare review arguments)
    ((error quit)
     (agent-q-diff-review-close review)
     (signal (car err) (cdr err)))))

;;;; Entry points

(defun agent-q-diff--check-arguments (original modified description)
  "Signal an error unless ORIGINAL, MODIFIED and DESCRIPTION are texts.
DESCRIPTION may be nil as well."
  (pcase-dolist (`(,name . ,value) `(("original" . ,original)
                                     ("modified" . ,modified)
                                     ("description" . ,(or description ""))))
    (unless (stringp value)
      (signal 'agent-q-diff-bad-arguments
              (list (format "%s must be a string, not %S" name
                            (type-of value)))))))

;;;###autoload
(cl-defun agent-q-diff-review-and-wait (path original modified description
                                             &key (mode #'agent-q-diff-mode) notes)
  "Let the user decide what becomes of a proposal, and wait for it.
The proposal is to change the file PATH, expanded against
`default-directory', from the text ORIGINAL to the text MODIFIED;
DESCRIPTION, a string or nil, says what for.  MODE is the major mode of
the diff buffer, NOTES a list of strings to show above the diff.

Return a plist once the user has decided:

:decision  \"accepted\" or \"rejected\"
:path      the absolute name of the file
:total     the number of hunks, and of them those marked
:applied   applied,
:rejected  rejected and
:pending   neither, and
:in-file   those whose change is in the file
:altered   non-nil if saving changed more than the hunks, as hooks may
:hunks     for each hunk a plist with its :index, its :state (`applied',
           `rejected' or nil), whether it is :in-file, whether it is
           :lost since others have changed its lines there, the :reason
           why it could not be applied, or nil, and if the user has
           edited or merged it, its lines as an :edited diff, else nil;
           and if the user has split any hunk, so that its numbers are no
           longer those of the proposal, its lines as a :part diff

Signal an error under `agent-q-diff-error' if there is no decision: the
proposal could not be shown, what was accepted could not be applied, the
review was cancelled, or this is a batch Emacs with nobody to ask."
  (agent-q-diff--check-arguments original modified description)
  (unless (agent-q-diff--somebody-there-p)
    (signal 'agent-q-diff-no-user '("a batch Emacs has no user to decide")))
  (let ((review (agent-q-diff-review-open (agent-q-diff-target-name path)
                                          original modified)))
    (agent-q-diff--prepare-or-close review original modified
                                    (or description "") mode notes)
    (agent-q-diff--wait review)
    (agent-q-diff--answer review)))

(provide 'agent-q-diff)
;;; agent-q-diff.el ends here
