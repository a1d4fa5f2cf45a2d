;;; agent-q-diff-own-tool-edit.el --- An edit that an agent's own tool makes  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Reads an edit that an agent's own tool is about to make from the arguments of
;; a request, says what the tool is to do after it was decided, and compares its
;; files on disk with what was decided.  See agent-q-diff-own-tool.el for the
;; requests, and for who decides.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-writer)
(require 'agent-q-diff-own-agent)

(cl-defstruct (agent-q-diff-own-tool-edit (:constructor agent-q-diff-own-tool--edit-make)
                                          (:copier nil))
  "An edit that an agent's own tool is about to make."
  (call nil :documentation "The `agent-q-diff-call' of the tool.")
  (files nil :documentation "Its files, or nil if Emacs has to apply a patch.")
  (diff nil :documentation "The patch, or nil if it is the text of one file.")
  (is-shell nil :documentation "Non-nil if it is in a shell command, whose directory the agent chose.")
  (is-fixed nil :documentation "Non-nil if the tool can write nothing else.")
  (description nil :documentation "What the agent says about it, a string or nil.")
  (notes nil :documentation "What the user is told first, a list of strings.")
  (result nil :documentation "The result of its review, or nil if there was none.")
  (by nil :documentation "Why there was no review: `policy', `session', `after', `none', or nil.")
  (is-after nil :documentation "Non-nil if it is reviewed after it is made, if possible.")
  (why-before nil :documentation "Why that is not possible, a list with a note for the user, or nil.")
  (watched nil :documentation "What `agent-q-diff-reviewed-watch' returned when it was decided."))

(cl-defstruct (agent-q-diff-own-tool-file (:constructor agent-q-diff-own-tool--file-make)
                                          (:include agent-q-diff-writer-file)
                                          (:copier nil))
  "A file that an agent's own tool is about to edit, and what was decided.
`is-crlf' is non-nil if the lines in the file end with CRLF."
  (path nil :documentation "The file as the agent named it.")
  (encoding-before nil :documentation "How it is encoded, a string, or nil if that is not known.")
  (encoding nil :documentation "How it is to be encoded, a string."))

;;;; What is requested

(defun agent-q-diff-own-tool-edit-of (arguments needed)
  "Return the edit in ARGUMENTS, a hash table, or signal an error about them.
NEEDED are the keys, besides those of each request, that it must have."
  (dolist (key (append needed '("call" "tool" "session" "description" "original")))
    (let ((value (gethash key arguments)))
      (unless (or (stringp value)
                  (and (null value) (member key '("session" "description" "original"))))
        (signal 'agent-q-diff-bad-arguments (list (format "%s must be a string" key))))))
  (let ((call (agent-q-diff-call-with 'tool (gethash "tool" arguments)
                                      'id (gethash "call" arguments)
                                      'session (gethash "session" arguments)))
        (diff (gethash "diff" arguments)))
    (agent-q-diff-own-tool--edit-make
     :call call :diff diff
     :files (mapcar #'agent-q-diff-own-tool--file-of
                    (if diff (gethash "files" arguments) (list arguments)))
     :is-shell (eq t (gethash "shell" arguments))
     :is-fixed (eq :false (gethash "rewritable" arguments))
     :is-after (agent-q-diff-own-agent-after-p call (gethash "mode" arguments))
     :description (gethash "description" arguments)
     :notes (and (eq t (gethash "planning" arguments))
                 (list (format "%s is in plan mode: even what you accept is not written"
                               (agent-q-diff-own-agent-name call)))))))

(defun agent-q-diff-own-tool--file-of (arguments)
  "Return the file in ARGUMENTS, a hash table.
It is to be as the tool would leave it."
  (let ((path (gethash "path" arguments))
        (modified (gethash "modified" arguments))
        (to (gethash "to" arguments)))
    (agent-q-diff-own-tool--file-make
     :path path :name path :to to
     :original (gethash "original" arguments) :modified modified
     :encoding-before (gethash "encoding_before" arguments)
     :encoding (gethash "encoding" arguments) :is-crlf (eq t (gethash "crlf" arguments))
     :text modified :is-renamed (and to t))))

(defun agent-q-diff-own-tool-edit-tool (edit)
  "Return the name of the tool that is about to make EDIT."
  (agent-q-diff-call-tool (agent-q-diff-own-tool-edit-call edit)))

(defun agent-q-diff-own-tool-edit-path (edit)
  "Return the agent's name for the first file of EDIT."
  (agent-q-diff-own-tool-file-path (car (agent-q-diff-own-tool-edit-files edit))))

(defun agent-q-diff-own-tool-edit-what (edit)
  "Return words for the files of EDIT: the name of the only one, or their number."
  (let ((files (agent-q-diff-own-tool-edit-files edit)))
    (if (= 1 (length files))
        (agent-q-diff-own-tool-edit-path edit)
      (format "%d files" (length files)))))

(defun agent-q-diff-own-tool-edit-changed (edit)
  "Return the files of EDIT that its tool would change."
  (seq-filter (lambda (file)
                (or (agent-q-diff-own-tool-file-to file)
                    (not (equal (agent-q-diff-own-tool-file-original file)
                                (agent-q-diff-own-tool-file-modified file)))))
              (agent-q-diff-own-tool-edit-files edit)))

(defun agent-q-diff-own-tool-edit-names (edit)
  "Return the absolute names of the files that the tool of EDIT would change."
  (mapcar #'agent-q-diff-own-tool-file-name (agent-q-diff-own-tool-edit-changed edit)))

(defun agent-q-diff-own-tool-edit-note (edit notes)
  "Add to EDIT notes for the user on its files, after NOTES of the guard."
  (let ((call (agent-q-diff-own-tool-edit-call edit)))
    (cl-callf append (agent-q-diff-own-tool-edit-notes edit)
      notes
      (mapcan (lambda (file)
                (let ((name (agent-q-diff-own-tool-file-name file))
                      (original (agent-q-diff-own-tool-file-original file)))
                  (append (agent-q-diff-own-agent-later-notes call name original)
                          (agent-q-diff-own-agent-coding-notes
                           name original (agent-q-diff-own-tool-file-modified file)
                           (agent-q-diff-own-tool-file-encoding file)))))
              (agent-q-diff-own-tool-edit-files edit)))))

;;;; What was decided

(defun agent-q-diff-own-tool-edit-verdict (edit)
  "Return the verdict for the program about EDIT, of which something was accepted."
  (let ((files (agent-q-diff-own-tool-edit-files edit)))
    (cond
     ((seq-every-p #'agent-q-diff-writer-whole-p files)
      '((verdict . "allow")))
     ((agent-q-diff-own-tool-edit-diff edit)
      `((verdict . "change")
        (files . ,(vconcat (mapcar #'agent-q-diff-own-tool--file-verdict files)))))
     (t
      `((verdict . "change") (text . ,(agent-q-diff-own-tool-file-text (car files))))))))

(defun agent-q-diff-own-tool--file-verdict (file)
  "Return the verdict for the program about FILE of a patch, an alist."
  (let ((text (agent-q-diff-own-tool-file-text file)))
    `((there . ,(if text t :false))
      (renamed . ,(if (agent-q-diff-own-tool-file-is-renamed file) t :false))
      ,@(and text
             (not (equal text (agent-q-diff-own-tool-file-original file)))
             `((text . ,text))))))

(defun agent-q-diff-own-tool-edit-refused (edit)
  "Return the first file of EDIT that must not be written any more, or nil.
The value is (FILE . WHY)."
  (seq-some (lambda (file)
              (when-let ((why (agent-q-diff-own-agent-refused
                               (agent-q-diff-own-tool-file-check file))))
                (cons file why)))
            (agent-q-diff-own-tool-edit-files edit)))

;;;; What is on disk

(defun agent-q-diff-own-tool-file-name-decided (file)
  "Return the absolute name that FILE is to have."
  (if (agent-q-diff-own-tool-file-is-renamed file)
      (agent-q-diff-own-tool-file-to file)
    (agent-q-diff-own-tool-file-name file)))

(defun agent-q-diff-own-tool-file-other-there-p (file)
  "Return non-nil if there is a file by the other name of FILE."
  (when-let ((other (if (agent-q-diff-own-tool-file-is-renamed file)
                        (agent-q-diff-own-tool-file-name file)
                      (agent-q-diff-own-tool-file-to file))))
    (file-exists-p other)))

(defun agent-q-diff-own-tool-file-in-file (file text)
  "Return TEXT of FILE with the line ends that it has there."
  (if (agent-q-diff-own-tool-file-is-crlf file)
      (string-replace "\n" "\r\n" text)
    text))

(defun agent-q-diff-own-tool-file-bytes (file text)
  "Return TEXT of FILE as the bytes that it has there."
  (encode-coding-string
   (agent-q-diff-own-tool-file-in-file file text)
   (pcase (or (and (equal text (agent-q-diff-own-tool-file-original file))
                   (agent-q-diff-own-tool-file-encoding-before file))
              (agent-q-diff-own-tool-file-encoding file))
     ("utf-8 with BOM" 'utf-8-with-signature-unix)
     ("utf-16le" 'utf-16le-with-signature-unix)
     (_ 'utf-8-unix))))

(defun agent-q-diff-own-tool--has-p (file name text)
  "Return non-nil if FILE, which is called NAME now, has TEXT.
If TEXT is nil, return non-nil if there is no such file."
  (if text
      (and (agent-q-diff-file-regular-p name)
           (agent-q-diff-file-has-bytes-p name (agent-q-diff-own-tool-file-bytes file text)))
    (not (file-exists-p name))))

(defun agent-q-diff-own-tool-file-as-decided-p (file)
  "Return non-nil if FILE on disk is what was decided."
  (and (not (agent-q-diff-own-tool-file-other-there-p file))
       (agent-q-diff-own-tool--has-p file (agent-q-diff-own-tool-file-name-decided file)
                                     (agent-q-diff-own-tool-file-text file))))

(defun agent-q-diff-own-tool-file-as-before-p (file)
  "Return non-nil if FILE on disk is as it was before the user decided.
If it is not known how it was encoded, its text counts."
  (let ((name (agent-q-diff-own-tool-file-name file))
        (to (agent-q-diff-own-tool-file-to file))
        (original (agent-q-diff-own-tool-file-original file)))
    (and (not (and to (file-exists-p to)))
         (if (or (null original) (agent-q-diff-own-tool-file-encoding-before file))
             (agent-q-diff-own-tool--has-p file name original)
           (equal (agent-q-diff-own-tool-file-in-file file original)
                  (agent-q-diff-own-tool-file-read file name))))))

(defun agent-q-diff-own-tool-file-read (file name)
  "Return the text of FILE, which is called NAME now, as it is on disk, or nil."
  (let ((coding-system-for-read (if (equal "utf-16le" (agent-q-diff-own-tool-file-encoding file))
                                    'utf-16le-with-signature-unix
                                  'utf-8-auto-unix)))
    (when (agent-q-diff-file-regular-p name)
      (with-temp-buffer
        (insert-file-contents name)
        (buffer-string)))))

(defun agent-q-diff-own-tool-file-follow (file)
  "Let a buffer without unsaved edits that visits FILE follow it, and its new name."
  (when-let ((buffer (find-buffer-visiting (agent-q-diff-own-tool-file-name file))))
    (unless (agent-q-diff-disk-unsaved-p buffer)
      (when (agent-q-diff-own-tool-file-is-renamed file)
        (with-current-buffer buffer
          (set-visited-file-name (agent-q-diff-own-tool-file-to file) t t)
          (set-buffer-modified-p nil)))
      (agent-q-diff-disk-sync buffer))))

(provide 'agent-q-diff-own-tool-edit)
;;; agent-q-diff-own-tool-edit.el ends here
