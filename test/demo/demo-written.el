;;; demo-written.el --- What the demo's agent has written already  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The second part of the demo: a small repository in which an agent's shell has
;; changed three files, and wiped out a line that the user had saved.

;;; Code:

(require 'agent-q-diff-changes)

(defconst demo-written--committed
  '(("NOTES.md" . "# Notes\n\n- Prices are in cents.\n- Names are unique.\n")
    ("report.py" . "from stock import total\n\n\ndef report(items):\n    return f\"Total: {total(items)}\"\n")
    ("stock.py" . "def total(items):\n    return sum(i.price for i in items)\n"))
  "Alist from the files of the repository to their texts.")

(defconst demo-written-line "- Ask Ada about taxes.\n"
  "The line that the user adds to NOTES.md and saves.")

(defconst demo-written--agents
  '(("NOTES.md" . "# Notes\n\n- Prices are in cents.\n- Names are unique.\n")
    ("report.py" . "from stock import total\n\n\ndef report(items):\n    print(\"DEBUG\", items)\n    return f\"Total: {total(items)}\"\n")
    ("stock.py" . "def total(items):\n    return sum(i.price * i.count for i in items)\n"))
  "Alist from these files to the texts that the agent writes.")

(defconst demo-written-explanation
  "Meanwhile, an agent's shell has changed three files of a repository, and
wiped out a line that you had saved in NOTES.md.  r on the first hunk brings
it back.  Elsewhere, a keeps what the agent wrote, and r takes it out."
  "What is shown above the review.")

(defun demo-written--write (files folder)
  "Write FILES, an alist from names to texts, into FOLDER, not by Emacs's saving."
  (pcase-dolist (`(,name . ,text) files)
    (write-region text nil (expand-file-name name folder) nil 'silent)))

(defun demo-written--git (&rest arguments)
  "Run git with ARGUMENTS in the current folder."
  (unless (eq 0 (apply #'call-process "git" nil nil nil
                       "-c" "user.name=User" "-c" "user.email=user@example.com"
                       "-c" "commit.gpgsign=false" "-c" "core.hooksPath=/dev/null"
                       arguments))
    (error "Git failed: %S" arguments)))

(defun demo-written-prepare (folder)
  "Make a repository in FOLDER, in which the user and then the agent have written."
  (let ((default-directory folder))
    (demo-written--git "init" "--quiet" "--template=")
    (demo-written--write demo-written--committed folder)
    (demo-written--git "add" ".")
    (demo-written--git "commit" "--quiet" "--message=Begin")
    (agent-q-diff-review-changes)
    (with-current-buffer (find-file-noselect "NOTES.md")
      (goto-char (point-max))
      (insert demo-written-line)
      (save-buffer))
    (demo-written--write demo-written--agents folder)))

(defun demo-written-review (folder)
  "Review what was written into the repository in FOLDER, and return the review."
  (delete-other-windows)
  (switch-to-buffer "*Demo*")
  (erase-buffer)
  (insert demo-written-explanation)
  (goto-char (point-min))
  (set-buffer-modified-p nil)
  (prog1 (agent-q-diff-review-changes folder)
    (when-let ((window (get-buffer-window "*Demo*")))
      (fit-window-to-buffer window))))

(defun demo-written-check (folder)
  "Signal an error unless the files in FOLDER are as after `r r a'."
  (pcase-dolist (`(,name . ,text)
                 (list (cons "NOTES.md" (concat (alist-get "NOTES.md" demo-written--committed
                                                           nil nil #'equal)
                                                demo-written-line))
                       (assoc "report.py" demo-written--committed)
                       (assoc "stock.py" demo-written--agents)))
    (unless (equal text (with-temp-buffer
                          (insert-file-contents (expand-file-name name folder))
                          (buffer-string)))
      (error "The demo has left something else in %s" name))))

(provide 'demo-written)
;;; demo-written.el ends here
