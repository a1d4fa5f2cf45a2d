;;; agent-q-diff-walk.el --- From the root along the parts of a path  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The parts of a path are walked one by one from the root, as the kernel
;; does.  The walk stops where it would leave the root.  So no file outside
;; is ever accessed, and a refusal reveals nothing about files elsewhere.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-path)

(defconst agent-q-diff-walk--max-links 40
  "Maximum number of symbolic links in a path, the same as the kernel's.")

(cl-defstruct (agent-q-diff-walk
               (:constructor agent-q-diff-walk--make)
               (:copier nil))
  "The state of a walk along the parts of a path."
  root          ; the directory it began at, a resolved name
  remote        ; the remote prefix of ROOT, or ""
  rest          ; the parts that are still ahead
  (here nil)    ; the names so far, innermost first, without any link
  (kind 'directory)             ; what is here: `directory', attributes or nil
  (n-missing 0) ; number of parts so far that do not exist
  (n-links 0)   ; number of links followed
  (link-end nil)) ; length of REST when the outermost link has been followed

(defun agent-q-diff-walk-name (walk)
  "Return the file name that WALK has reached."
  (or (car (agent-q-diff-walk-here walk))
      (agent-q-diff-walk-root walk)))

(defun agent-q-diff-walk--in-link-p (walk)
  "Return non-nil if the last part of WALK came from the text of a link."
  (let ((end (agent-q-diff-walk-link-end walk)))
    (and end (>= (length (agent-q-diff-walk-rest walk)) end))))

;;;; Steps

(defun agent-q-diff-walk--up (walk)
  "Move WALK to the parent directory."
  (cond
   ((null (agent-q-diff-walk-here walk))
    (agent-q-diff-path-refuse 'outside))
   ((and (agent-q-diff-walk-link-end walk)
         (not (agent-q-diff-walk--in-link-p walk)))
    ;; The kernel goes up from the target of the link, Emacs from the link.
    (agent-q-diff-path-refuse 'unwritable "\"..\" follows a symbolic link")))
  (pop (agent-q-diff-walk-here walk)))

(defun agent-q-diff-walk--follow (walk target)
  "Make WALK follow TARGET, the text of the symbolic link that it has reached."
  (let ((local-root (substring (agent-q-diff-walk-root walk)
                               (length (agent-q-diff-walk-remote walk)))))
    (pop (agent-q-diff-walk-here walk))
    (when (> (cl-incf (agent-q-diff-walk-n-links walk))
             agent-q-diff-walk--max-links)
      (agent-q-diff-path-refuse 'unwritable "The path goes through too many links"))
    (when (string-prefix-p "/" target)
      (unless (string-prefix-p local-root (file-name-as-directory target))
        (agent-q-diff-path-refuse 'outside))
      (setf (agent-q-diff-walk-here walk) nil
            target (string-remove-prefix local-root (file-name-as-directory target))))
    (unless (agent-q-diff-walk--in-link-p walk)
      (setf (agent-q-diff-walk-link-end walk)
            (length (agent-q-diff-walk-rest walk))))
    (setf (agent-q-diff-walk-rest walk)
          (append (split-string target "/" t) (agent-q-diff-walk-rest walk)))))

(defun agent-q-diff-walk--spelling (directory name)
  "Return NAME as it is spelled in DIRECTORY, if case does not matter there."
  (if (and (file-name-case-insensitive-p directory)
           (file-directory-p directory))
      (let ((names (directory-files directory nil nil t)))
        (or (car (member name names))
            (seq-find (lambda (other)
                        (eq t (compare-strings other nil nil name nil nil t)))
                      names)
            name))
    name))

(defun agent-q-diff-walk--enter (walk part)
  "Move WALK to PART of the directory that it has reached."
  (let* ((directory (file-name-as-directory (agent-q-diff-walk-name walk)))
         (name (concat directory (agent-q-diff-walk--spelling directory part)))
         (attributes (and (agent-q-diff-walk-kind walk)
                          (file-attributes name)))
         (type (file-attribute-type attributes)))
    (push name (agent-q-diff-walk-here walk))
    (cond
     ((stringp type) (agent-q-diff-walk--follow walk type))
     ((and (null attributes) (agent-q-diff-walk--in-link-p walk))
      (agent-q-diff-path-refuse 'unwritable "A symbolic link leads to nothing"))
     (t
      (unless attributes
        (cl-incf (agent-q-diff-walk-n-missing walk)))
      (setf (agent-q-diff-walk-kind walk)
            (if (eq type t) 'directory attributes))))))

(defun agent-q-diff-walk--step (walk)
  "Move WALK along the next part of its path."
  (let ((part (pop (agent-q-diff-walk-rest walk)))
        (kind (agent-q-diff-walk-kind walk)))
    (when (consp kind)
      (agent-q-diff-path-refuse 'missing))
    (pcase part
      ((or "" ".") nil)
      ((and ".." (guard (null kind)))
       (agent-q-diff-path-refuse 'missing))
      (".." (agent-q-diff-walk--up walk))
      (_ (agent-q-diff-walk--enter walk part)))))

(defun agent-q-diff-walk-along (parts root)
  "Return a walk from ROOT along all PARTS."
  (let ((walk (agent-q-diff-walk--make
               :root root :remote (agent-q-diff-path-remote root) :rest parts)))
    (while (agent-q-diff-walk-rest walk)
      (agent-q-diff-walk--step walk))
    walk))

(provide 'agent-q-diff-walk)
;;; agent-q-diff-walk.el ends here
