;;; agent-q-diff-lsp.el --- Reads what a language server proposes  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A WorkspaceEdit, with which a language server renames a symbol, is converted
;; to a list of proposals: edits of texts by line and character, and files that
;; are created, renamed and deleted.  Its specification is the Language Server
;; Protocol 3.17, "WorkspaceEdit".

;;; Code:

(require 'url-util)
(require 'agent-q-diff-input)

(defun agent-q-diff-lsp--get (object key)
  "Return the value of KEY, a string, in OBJECT, or nil; null is nil.
OBJECT is a JSON object as a hash table, an alist or a property list."
  (let ((value (cond
                ((hash-table-p object) (gethash key object))
                ((keywordp (car-safe object)) (plist-get object (intern (concat ":" key))))
                ((consp object) (or (alist-get (intern key) object)
                                    (alist-get key object nil nil #'equal))))))
    (and (not (memq value '(:null :json-null))) value)))

(defun agent-q-diff-lsp--path (uri)
  "Return the absolute file name that URI, a string, stands for."
  (unless (and (stringp uri) (string-match "\\`file://[^/]*\\(/.*\\)\\'" uri))
    (agent-q-diff-input--refuse "%s is not the URI of a file" uri))
  ;; Nobody looks at a file of another host.
  (agent-q-diff-visit-name
   (decode-coding-string (url-unhex-string (match-string 1 uri)) 'utf-8)))

;;;; Edits of a text

(defun agent-q-diff-lsp--position (position)
  "Return the buffer position of POSITION, an LSP Position.
Its character counts in units of UTF-16, as is the protocol's default.
Beyond the end of a line or of the text, that end is meant."
  (let ((line (agent-q-diff-lsp--get position "line"))
        (units (agent-q-diff-lsp--get position "character")))
    (unless (and (natnump line) (natnump units))
      (agent-q-diff-input--refuse "a position needs a line and a character"))
    (goto-char (point-min))
    (when (= 0 (forward-line line))
      (while (and (> units 0) (not (eolp)))
        (cl-decf units (if (> (char-after) #xffff) 2 1))
        (forward-char)))
    (point)))

(defun agent-q-diff-lsp--edited (text edits)
  "Return TEXT after EDITS, a sequence of LSP TextEdits.
All of them count from TEXT as it is, so none may overlap another; those at
the same place come one after the other."
  (with-temp-buffer
    (insert text)
    (let* ((spans (seq-map
                   (lambda (edit)
                     (let ((range (agent-q-diff-lsp--get edit "range"))
                           (new (agent-q-diff-lsp--get edit "newText")))
                       (unless (and range (stringp new))
                         (agent-q-diff-input--refuse "an edit needs a range and a newText"))
                       (list (agent-q-diff-lsp--position
                              (agent-q-diff-lsp--get range "start"))
                             (agent-q-diff-lsp--position
                              (agent-q-diff-lsp--get range "end"))
                             (substring-no-properties new))))
                   edits))
           (sorted (sort spans (lambda (one other) (< (car one) (car other))))))
      (cl-loop for ((_ end) (next)) on sorted
               when (and next (< next end))
               do (agent-q-diff-input--refuse "two edits overlap"))
      (pcase-dolist (`(,beg ,end ,new) (reverse sorted))
        (delete-region beg end)
        (goto-char beg)
        (insert new)))
    (buffer-string)))

;;;; Files

(defun agent-q-diff-lsp--proposal (path proposals)
  "Return the element of PROPOSALS for the file that is called PATH by now."
  (seq-find (lambda (proposal)
              (equal path (or (plist-get proposal :to) (plist-get proposal :path))))
            proposals))

(defun agent-q-diff-lsp--with-edits (proposal edits)
  "Return PROPOSAL, of one file, with EDITS made after its earlier ones."
  (let ((content (plist-get proposal :content))
        (update (or (plist-get proposal :update) #'identity)))
    (if content
        (plist-put proposal :content (agent-q-diff-lsp--edited content edits))
      (plist-put proposal :update
                 (lambda (text)
                   (agent-q-diff-lsp--edited (funcall update text) edits))))))

(defun agent-q-diff-lsp--check-version (path document version)
  "Signal an error if DOCUMENT is not of the present version of PATH.
VERSION is as for `agent-q-diff-lsp-files'."
  (let ((meant (agent-q-diff-lsp--get document "version"))
        (now (and version (funcall version path))))
    (when (and meant now (not (eql meant now)))
      (signal 'agent-q-diff-bad-target
              (list (agent-q-diff-visible
                     (format "%s has changed since: the edit is for version %s, and it has %s"
                             path meant now)))))))

(defun agent-q-diff-lsp--exists-p (path proposals)
  "Return non-nil if there is a file PATH once PROPOSALS are carried out."
  (let ((proposal (agent-q-diff-lsp--proposal path proposals)))
    (cond
     (proposal (not (plist-get proposal :delete)))
     ;; It was renamed.
     ((seq-find (lambda (other) (equal path (plist-get other :path))) proposals) nil)
     (t (file-exists-p path)))))

(defun agent-q-diff-lsp--option (change option)
  "Return non-nil if CHANGE has OPTION, a string."
  (let ((options (agent-q-diff-lsp--get change "options")))
    (not (memq (and options (agent-q-diff-lsp--get options option))
               '(nil :false :json-false)))))

(defun agent-q-diff-lsp--done-p (change path proposals)
  "Return non-nil if CHANGE is to be skipped, since the file PATH exists.
CHANGE would create PATH.  If PATH exists and CHANGE has no option for that
case, signal an error.  PROPOSALS are those of the earlier changes."
  (and (not (agent-q-diff-lsp--option change "overwrite"))
       (agent-q-diff-lsp--exists-p path proposals)
       (or (agent-q-diff-lsp--option change "ignoreIfExists")
           (signal 'agent-q-diff-bad-target
                   (list (agent-q-diff-visible (format "%s exists already" path)))))))

(defun agent-q-diff-lsp--add (change proposals version)
  "Return PROPOSALS, in order, with CHANGE added.
CHANGE is an element of a WorkspaceEdit's documentChanges; VERSION is as for
`agent-q-diff-lsp-files'."
  (cl-flet ((path (key) (agent-q-diff-lsp--path (agent-q-diff-lsp--get change key)))
            (joined (proposal)
              (if (memq proposal proposals)
                  proposals
                (append proposals (list proposal)))))
    (pcase (agent-q-diff-lsp--get change "kind")
      ("create"
       (if (agent-q-diff-lsp--done-p change (path "uri") proposals)
           proposals
         (joined (list :path (path "uri") :content ""))))
      ("delete"
       (if (and (agent-q-diff-lsp--option change "ignoreIfNotExists")
                (not (agent-q-diff-lsp--exists-p (path "uri") proposals)))
           proposals
         (joined (list :path (path "uri") :delete t))))
      ("rename"
       (let* ((old (path "oldUri"))
              (proposal (or (agent-q-diff-lsp--proposal old proposals) (list :path old))))
         (if (agent-q-diff-lsp--done-p change (path "newUri") proposals)
             proposals
           (prog1 (joined proposal)
             ;; In place, since it may be in the list already.
             (if (plist-member proposal :content)
                 (setcar (cdr (plist-member proposal :path)) (path "newUri"))
               (unless (plist-member proposal :to)
                 (nconc proposal (list :to nil)))
               (setcar (cdr (plist-member proposal :to)) (path "newUri")))))))
      ('nil
       (let* ((document (agent-q-diff-lsp--get change "textDocument"))
              (path (agent-q-diff-lsp--path (agent-q-diff-lsp--get document "uri")))
              (proposal (or (agent-q-diff-lsp--proposal path proposals)
                            (list :path path))))
         (agent-q-diff-lsp--check-version path document version)
         (prog1 (joined proposal)
           (agent-q-diff-lsp--with-edits proposal (agent-q-diff-lsp--get change "edits")))))
      (kind (agent-q-diff-input--refuse "%s is not a kind of change" kind)))))

;;;###autoload
(defun agent-q-diff-lsp-files (edit &optional version)
  "Return what EDIT, an LSP WorkspaceEdit, proposes for each file.
The value is for `agent-q-diff-review-change'.  EDIT is JSON as a hash
table, an alist or a property list.  VERSION is a function that returns the
present version of a file, given its name, or nil if it is not known; an
edit for another version is refused with `agent-q-diff-bad-target'.  Signal
`agent-q-diff-bad-arguments' if EDIT cannot be read.  The options
ignoreIfExists and ignoreIfNotExists are followed, and overwrite for a file
that is created; a file that is renamed never overwrites another.  No file is
read yet."
  (let ((proposals nil))
    (seq-do (lambda (change)
              (setq proposals (agent-q-diff-lsp--add change proposals version)))
            (or (agent-q-diff-lsp--get edit "documentChanges")
                (agent-q-diff-lsp--plain (agent-q-diff-lsp--get edit "changes"))))
    (or proposals
        (agent-q-diff-input--refuse "the edit changes no file"))))

(defun agent-q-diff-lsp--plain (by-uri)
  "Return BY-URI, an object with edits for each URI, as documentChanges."
  (let (found)
    (cond
     ((hash-table-p by-uri)
      (maphash (lambda (uri edits) (push (cons uri edits) found)) by-uri)
      (setq found (nreverse found)))
     ((keywordp (car-safe by-uri))
      (cl-loop for (key edits) on by-uri by #'cddr
               do (push (cons (substring (symbol-name key) 1) edits) found))
      (setq found (nreverse found)))
     (t (setq found (mapcar (pcase-lambda (`(,key . ,edits)) (cons (format "%s" key) edits))
                            by-uri))))
    (mapcar (pcase-lambda (`(,uri . ,edits))
              `((textDocument . ((uri . ,uri))) (edits . ,edits)))
            found)))

(provide 'agent-q-diff-lsp)
;;; agent-q-diff-lsp.el ends here
