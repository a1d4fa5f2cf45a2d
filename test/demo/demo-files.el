;;; demo-files.el --- What the demo's agent proposes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A program of two files, and a change of both that adds a third one.

;;; Code:

(defconst demo-files--here (file-name-directory (or load-file-name buffer-file-name))
  "Folder of the demo.")

(defconst demo-files-description "Write prices with the euro sign, check names in one place,
keep a record of every movement, and begin to test that."
  "What the agent says about its change.")

(defun demo-files-text (name)
  "Return the text of the file NAME of the demo's folder."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8))
      (insert-file-contents (expand-file-name name demo-files--here)))
    (buffer-string)))

(defun demo-files-write (folder)
  "Write the program into FOLDER, as it is before the change."
  (copy-file (expand-file-name "original.asd" demo-files--here)
             (expand-file-name "stockroom.asd" folder) t)
  (copy-file (expand-file-name "original.lisp" demo-files--here)
             (expand-file-name "inventory.lisp" folder) t)
  (delete-file (expand-file-name "tests.lisp" folder)))

(defun demo-files-changes ()
  "Return what is proposed, as the tool propose_changes takes it."
  (list (list :path "stockroom.asd"
              :original (demo-files-text "original.asd")
              :modified (demo-files-text "modified.asd"))
        (list :path "tests.lisp" :content (demo-files-text "tests.lisp"))
        (list :path "inventory.lisp"
              :original (demo-files-text "original.lisp")
              :modified (demo-files-text "modified.lisp"))))

(provide 'demo-files)
;;; demo-files.el ends here
