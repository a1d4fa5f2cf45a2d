;;; agent-q-diff-several.el --- Proposals of several files, and diffs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Several files, decided in one review with one answer.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-base)
(require 'agent-q-diff-session)
(require 'agent-q-diff-mode)
(require 'agent-q-diff-input)
(require 'agent-q-diff-api)

;;;###autoload
(cl-defun agent-q-diff-review-change (files description callback
                                            &key (mode #'agent-q-diff-mode) notes agent
                                            detached)
  "Ask the user to decide about FILES, and return the review at once.
All of them are decided in one diff buffer, and CALLBACK is called once.

FILES is a list with a property list for each file:

:path      its name, expanded against `default-directory'
:original  its text before; give both, or one of the next four
:modified  its text after
:content   its whole text after, whether it exists or not
:update    a function that takes its text and returns that after
:diff      a unified diff of it, whose hunks are placed where their lines are
:delete    non-nil if it is to be deleted
:to        its new name
:mode      its new mode, a number such as #o755; :old-mode, the one before
:link      where it leads, if it is to be a symbolic link
:old-link  where it leads now, if it is one
:check     a function that is called before the file is changed, and signals
           an error if it must not be

If DETACHED is non-nil, no file is read or written: the hunks go into the
texts, which :content of the result has.  Then give :content only for a new
file, :original also for one that is to be deleted, and no other properties
than these, :path, :modified, :delete, :to and :check.

DESCRIPTION, CALLBACK, MODE, NOTES and AGENT are as for
`agent-q-diff-review'.  If only the lines of one file would change, the
result is as for that function.  Otherwise it is so except that :path is the
directory that the names are shown from, :saved tells whether
all files have what was accepted, and instead of :altered, :content,
:untouched and :overwritten there is :files, a list with a property list for
each file:

:path        its absolute name now
:old-path    its name before, or nil if it is new
:new-path    its name after, or nil if it is to be deleted
:kind        \"modified\", \"new file\", \"deleted\", \"renamed\", \"mode\",
             \"link\" or \"new link\"
:total       the number of its hunks; with :applied, :rejected, :pending and
             :in-file
:content, :saved, :altered, :overwritten
             as for `agent-q-diff-review', if lines of it would change
:hunks       its elements of :hunks

What happens to a file besides its lines, for example that it is deleted, is
a hunk as well.  Its :operation is `create', `delete', `rename', `mode' or
`link', its :header says it in words, and its :fate says what became of it.
That a file with lines is new is decided with these; the file has the :fate."
  (agent-q-diff-api-start
   default-directory callback agent nil nil description mode notes
   (lambda ()
     (agent-q-diff-input-change files detached))))

;;;###autoload
(cl-defun agent-q-diff-review-change-and-wait (files description
                                                     &key (mode #'agent-q-diff-mode) notes)
  "Let the user decide about FILES, and wait for the decision.
FILES, DESCRIPTION, MODE, NOTES and the value are as for
`agent-q-diff-review-change'.  Signal an error under
`agent-q-diff-error' if there is no decision."
  (agent-q-diff-api-start-and-wait
   default-directory nil nil description mode notes
   (lambda ()
     (agent-q-diff-input-change files))))

;;;; Reviewing a diff

;;;###autoload
(defun agent-q-diff-review-diff (diff &optional directory callback choose)
  "Review DIFF, a unified diff of one or more files, and return the review.
A patch in the format of Codex's `apply_patch' will do as well; there may be
prose around it.  Interactively, DIFF is the text of the region if it is
active, else of the buffer; with a prefix argument, it is read from a file.

File names are relative to DIRECTORY or `default-directory', or to the root
of version control around it, with any prefix that git or another program
puts before them; the files that exist decide.  If several fit, CHOOSE, a
function, is called with a prompt and their names, and returns one; if it is
nil, signal an error.  Interactively, you are asked, also for DIRECTORY if
no file fits.  CALLBACK is as for `agent-q-diff-review-change'."
  (interactive
   (let ((diff (agent-q-diff-several--read-diff)))
     (list diff (agent-q-diff-several--read-directory diff) nil
           #'agent-q-diff-several--read-name)))
  (let* ((agent-q-diff-session-by-user (not agent-q-diff-caller))
         (default-directory (file-name-as-directory
                             (expand-file-name (or directory default-directory))))
         (proposals (agent-q-diff-input-of-diff diff nil choose))
         (only (agent-q-diff-input-only-text proposals))
         (notes (agent-q-diff-several--outside-notes proposals))
         (review (if only
                     (agent-q-diff-review-patch (plist-get only :path) (plist-get only :diff)
                                                "A diff" callback :notes notes)
                   (agent-q-diff-review-change proposals "A diff" callback :notes notes))))
    (if (agent-q-diff-session-outcome review)
        (message "%s: %s" (agent-q-diff-session-name review)
                 (agent-q-diff-visible
                  (plist-get (agent-q-diff-session-result review) :reason)))
      (pop-to-buffer (agent-q-diff-session-buffer review)))
    review))

(defun agent-q-diff-several--read-directory (diff)
  "Return the directory that the names in DIFF are relative to.
It is `default-directory' if a file that DIFF would change is there;
otherwise the user is asked, with the nearest directory above as default."
  (let ((directory default-directory))
    (cl-flet ((fits-p (directory)
                (let ((default-directory (file-name-as-directory directory)))
                  (agent-q-diff-input-fits-p diff))))
      (while (not (fits-p directory))
        (setq directory
              (read-directory-name "No file of the diff is here; its names are relative to: "
                                   (or (locate-dominating-file directory #'fits-p) directory)
                                   nil t)))
      directory)))

(defun agent-q-diff-several--read-name (prompt names)
  "Return one of NAMES, which the user chooses with completion, after PROMPT."
  (expand-file-name
   (completing-read prompt (mapcar #'abbreviate-file-name names) nil t)))

(defun agent-q-diff-several--read-diff ()
  "Return the text of the region, of the buffer, or with a prefix of a file."
  (cond
   (current-prefix-arg
    (with-temp-buffer
      (insert-file-contents (read-file-name "Review diff in file: " nil nil t))
      (buffer-string)))
   ((use-region-p)
    (buffer-substring-no-properties (region-beginning) (region-end)))
   (t (save-restriction
        (widen)
        (buffer-substring-no-properties (point-min) (point-max))))))

(defun agent-q-diff-several--outside-notes (proposals)
  "Return warnings about files of PROPOSALS outside `default-directory'."
  (mapcan (lambda (proposal)
            (cl-loop for key in '(:path :to)
                     for name = (plist-get proposal key)
                     when (and name
                               (not (file-remote-p name))
                               (not (file-in-directory-p (expand-file-name name)
                                                         default-directory)))
                     collect (format "%s is OUTSIDE %s" name
                                     (abbreviate-file-name default-directory))))
          proposals))

(provide 'agent-q-diff-several)
;;; agent-q-diff-several.el ends here
