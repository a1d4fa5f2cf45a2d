;;; agent-q-diff-input.el --- Reads proposals: property lists and diffs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A program proposes a change as a list of property lists, one for each
;; file.  This file checks them and makes file changes of them.
;;
;; A diff of several files is converted to such a list.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-parts)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-live)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)

(defconst agent-q-diff-input--keys
  '((:path stringp) (:to stringp) (:original stringp) (:modified stringp)
    (:content stringp) (:update functionp) (:edits consp) (:diff stringp) (:delete booleanp)
    (:mode natnump)
    (:old-mode natnump) (:executable symbolp) (:link stringp) (:old-link stringp) (:check functionp)
    (:annotations consp))
  "Alist from the properties of a file's proposal to the test of their values.")

(defun agent-q-diff-input--refuse (format &rest arguments)
  "Signal `agent-q-diff-bad-arguments' with a message from FORMAT and ARGUMENTS."
  (signal 'agent-q-diff-bad-arguments
          (list (agent-q-diff-visible (apply #'format format arguments)))))

(defun agent-q-diff-input--word (key)
  "Return KEY of a proposal as an agent knows it, without its colon."
  (substring (symbol-name key) 1))

(defun agent-q-diff-input-check (proposals)
  "Signal an error unless PROPOSALS are complete and consistent."
  (unless (and (consp proposals) (proper-list-p proposals))
    (agent-q-diff-input--refuse "a change is a list of files, at least one"))
  (mapc #'agent-q-diff-input--check proposals))

(defun agent-q-diff-input--check (proposal)
  "Signal an error unless PROPOSAL, that of one file, is complete and consistent."
  (unless (and (proper-list-p proposal) (cl-evenp (length proposal)))
    (agent-q-diff-input--refuse "each file must be a property list"))
  (cl-loop for (key value) on proposal by #'cddr
           for test = (cadr (assq key agent-q-diff-input--keys))
           unless test do (agent-q-diff-input--refuse "%S is no property of a file" key)
           when (and value (not (funcall test value)))
           do (agent-q-diff-input--refuse "%s of a file must not be %S" key (type-of value)))
  (let ((path (plist-get proposal :path))
        (given (seq-filter (lambda (key) (plist-get proposal key))
                           '(:modified :content :update :edits :diff :delete :link))))
    (unless path
      (agent-q-diff-input--refuse "a file needs a :path"))
    (when (and (cdr given)
               ;; A file becomes a link, or a link a file.
               (not (agent-q-diff-input--kind-p proposal)))
      (agent-q-diff-input--refuse "%s: give only one of %s" path
                                 (mapconcat #'agent-q-diff-input--word given ", ")))
    (unless (or (plist-get proposal :delete)
                (agent-q-diff-input--kind-p proposal)
                (eq (null (plist-get proposal :original))
                    (null (plist-get proposal :modified))))
      (agent-q-diff-input--refuse
       "%s: give both its original and its modified text, or its content if it is new" path))
    (when (and (plist-get proposal :to) (directory-name-p (plist-get proposal :to)))
      (agent-q-diff-input--refuse "%s names a directory" (plist-get proposal :to)))
    (unless (or given (plist-get proposal :to) (plist-get proposal :mode)
                (plist-get proposal :executable) (plist-get proposal :old-link))
      (agent-q-diff-input--refuse
       "%s: nothing is proposed for it; give its new text, or delete or rename it"
       path))
    (when (and (plist-get proposal :to)
               (or (plist-get proposal :delete) (plist-get proposal :content)))
      (agent-q-diff-input--refuse "%s cannot be renamed and deleted, or created, at once"
                                  path))
    (agent-q-diff-input--check-edits (plist-get proposal :edits) path)
    (agent-q-diff-input-check-annotations
     (plist-get proposal :annotations) path
     (if (plist-get proposal :delete)
         ""
       (or (plist-get proposal :modified) (plist-get proposal :content))))))

(defun agent-q-diff-input--kind-p (proposal)
  "Return non-nil if a file is to be a link by PROPOSAL, or a link a file."
  (or (and (plist-get proposal :link) (plist-get proposal :original))
      (and (plist-get proposal :old-link) (plist-get proposal :content))))

(defun agent-q-diff-input--check-edits (edits path)
  "Signal an error unless EDITS are ones of the file PATH, or nil."
  (dolist (edit (if (proper-list-p edits) edits '(nil)))
    (unless (and (proper-list-p edit) (cl-evenp (length edit))
                 (stringp (plist-get edit :old)) (stringp (plist-get edit :new))
                 (cl-typep (plist-get edit :line) '(or null natnum))
                 (cl-loop for (key) on edit by #'cddr
                          always (memq key '(:old :new :line :all))))
      (agent-q-diff-input--refuse
       "%s: edits must be a list of (:old TEXT :new TEXT), with :line or :all" path))))

(defun agent-q-diff-input-check-annotations (annotations path modified)
  "Signal an error unless ANNOTATIONS are ones of the file PATH.
They are a list of (LINE . TEXT): LINE is a line, from 0, of the text MODIFIED,
or nil for the whole file.  If MODIFIED is nil, the text is not known here."
  (unless (and (proper-list-p annotations)
               (seq-every-p (lambda (annotation)
                              (and (consp annotation)
                                   (or (null (car annotation)) (natnump (car annotation)))
                                   (stringp (cdr annotation))))
                            annotations))
    (agent-q-diff-input--refuse "%s: annotations must be a list of (LINE . TEXT)" path))
  (when (and annotations modified)
    (let ((n-lines (length (split-string (string-remove-suffix "\n" modified) "\n"))))
      (when (string-empty-p modified)
        (setq n-lines 0))
      (pcase-dolist (`(,line . ,_) annotations)
        (when (and line (>= line n-lines))
          (agent-q-diff-input--refuse
           (ngettext "%s: a note is on line %d, but the text as it should be has %d line"
                     "%s: a note is on line %d, but the text as it should be has %d lines"
                     n-lines)
           path (1+ line) n-lines))))))

(defun agent-q-diff-input-annotated (file annotations)
  "Return FILE, a new file change, with ANNOTATIONS, which were checked."
  (setf (agent-q-diff-file-change-annotations file)
        (mapcar (pcase-lambda (`(,line . ,text)) (cons line (substring-no-properties text)))
                annotations))
  file)

(defvar agent-q-diff-input--leaving nil
  "The absolute names that files lose by the change whose proposals are read.")

(defun agent-q-diff-input--leaves-p (proposal)
  "Return non-nil if there is no file under its present name after PROPOSAL."
  (or (plist-get proposal :delete)
      (plist-get proposal :to)
      (and (plist-get proposal :old-link)
           (not (plist-get proposal :link))
           (not (plist-get proposal :content)))))

(defun agent-q-diff-input--in-place-of (path)
  "Return what has to go before PATH can be a new file, or nil.
That is for the slot `in-place-of' of a file change."
  (cond
   ((null agent-q-diff-input--leaving) nil)
   ((file-directory-p path)
    (and (not (file-symlink-p path))
         (seq-some (apply-partially #'string-prefix-p (file-name-as-directory path))
                   agent-q-diff-input--leaving)
         path))
   (t (seq-find (lambda (name)
                  (and (string-prefix-p (file-name-as-directory name) path)
                       (file-symlink-p name)))
                agent-q-diff-input--leaving))))

(defun agent-q-diff-input--names (proposal)
  "Return (OLD . NEW), the absolute names of the file of PROPOSAL.
Either is nil if it does not exist on that side."
  (let* ((path (agent-q-diff-visit-name (plist-get proposal :path)))
         (to (plist-get proposal :to))
         (is-there (and (not (agent-q-diff-input--in-place-of path))
                        (or (agent-q-diff-operation-exists-p path)
                            (when-let ((buffer (find-buffer-visiting path)))
                              ;; The buffer of a deleted file has only its old text.
                              (and (< 0 (buffer-size buffer))
                                   (not (eq 'deleted (agent-q-diff-disk-state buffer)))))))))
    (cond
     (to (cons path (agent-q-diff-visit-name to)))
     ((plist-get proposal :delete) (cons path nil))
     ((agent-q-diff-input--kind-p proposal) (cons path path))
     ((plist-get proposal :link) (cons (and (plist-get proposal :old-link) path) path))
     ((plist-get proposal :old-link) (cons path nil))
     (t (cons (and is-there path) path)))))

(defun agent-q-diff-input--operations (proposal old new)
  "Return the operations of PROPOSAL on the file with the names OLD and NEW."
  (let ((mode (agent-q-diff-input--mode proposal old)))
    (when (and old
               (or (plist-get proposal :to) mode)
               (not (agent-q-diff-input--kind-p proposal)))
      (agent-q-diff-file-check-regular old)
      (unless (or (agent-q-diff-operation-exists-p old) (agent-q-diff-operation-exists-p new))
        (agent-q-diff-file-refuse "%s does not exist" old)))
    (cond
     ((agent-q-diff-input--kind-p proposal)
      (list (agent-q-diff-input--kind-operation proposal old mode)))
     ((and (null new) (file-symlink-p old) (not (plist-get proposal :old-link)))
      (list (list 'link (file-symlink-p old) nil)))
     ((or (plist-get proposal :link) (plist-get proposal :old-link))
      (list (list 'link (plist-get proposal :old-link) (plist-get proposal :link))))
     ((null new)
      (agent-q-diff-file-check-regular old)
      (unless (file-exists-p old)
        (agent-q-diff-file-refuse "%s does not exist, so it cannot be deleted" old))
      (list (list 'delete (agent-q-diff-input--deleted-bytes proposal old))))
     ((null old)
      (unless (agent-q-diff-input-new-p proposal)
        (agent-q-diff-file-refuse "%s does not exist" new))
      (list (append (list 'create (or mode #o644))
                    (and (agent-q-diff-input--in-place-of new)
                         (list (encode-coding-string (agent-q-diff-input--created-text proposal)
                                                     'utf-8-emacs-unix))))))
     (t (delq nil
              (list (and (not (equal old new)) (list 'rename))
                    (and mode (agent-q-diff-input--mode-operation proposal old mode))))))))

(defun agent-q-diff-input--kind-operation (proposal path mode)
  "Return the operation of PROPOSAL, by which PATH is to be a link, or no longer.
MODE is that of the file that a link becomes, or nil."
  (if-let ((target (plist-get proposal :link)))
      (progn
        (agent-q-diff-file-check-regular path)
        (list 'kind
              (list 'file
                    (or (file-modes path) #o644)
                    (if (file-exists-p path)
                        (agent-q-diff-input--deleted-bytes proposal path)
                      (encode-coding-string (plist-get proposal :original) 'utf-8-emacs-unix)))
              (list 'link target)))
    (list 'kind
          (list 'link (plist-get proposal :old-link))
          (list 'file (or mode #o644)
                (encode-coding-string (plist-get proposal :content) 'utf-8-emacs-unix)))))

(defun agent-q-diff-input--mode-operation (proposal old mode)
  "Return the operation by which PROPOSAL gives MODE to the file OLD, or nil."
  (let ((before (or (plist-get proposal :old-mode)
                    (logand #o7777 (or (file-modes old) #o644)))))
    (and (/= mode before)
         (list 'mode before mode))))

(defun agent-q-diff-input--mode (proposal old)
  "Return the mode that PROPOSAL gives to its file, or nil.
OLD is the file's present name, or nil; see `agent-q-diff-input--file' for
:executable."
  (pcase (plist-get proposal :executable)
    ('nil (plist-get proposal :mode))
    (executable
     (let ((present (logand #o7777 (or (and old (file-modes old)) #o644))))
       (if (eq executable 'no)
           (logand present (lognot #o111))
         ;; For whom it can be read.
         (logior present (ash (logand present #o444) -2)))))))

(defun agent-q-diff-input-new-p (proposal)
  "Return non-nil if PROPOSAL is for a file that does not exist yet."
  (or (plist-get proposal :content)
      (equal "" (plist-get proposal :original))
      (and (plist-get proposal :diff)
           (string-match-p "^@@ -0,0 " (plist-get proposal :diff)))))

(defun agent-q-diff-input--created-text (proposal)
  "Return the text of the new file of PROPOSAL."
  (or (plist-get proposal :content)
      (plist-get proposal :modified)
      (let ((engine (agent-q-diff-engine-review-diff
                     (agent-q-diff-parts-unified (plist-get proposal :diff)))))
        (unwind-protect
            (progn
              (agent-q-diff-engine-call #'agent-q-diff-module-follow engine "")
              (mapconcat (lambda (part)
                           (mapconcat #'caddr (agent-q-diff-engine-part-edits part) ""))
                         (agent-q-diff-engine-planned-parts
                          (agent-q-diff-engine-plan-all engine 'accept))
                         ""))
          (agent-q-diff-module-free engine)))))

(defun agent-q-diff-input--deleted-bytes (proposal path)
  "Return the bytes that PROPOSAL, to delete PATH, expects in that file.
If it does not say, return the bytes that the file has."
  (let ((bytes (agent-q-diff-file-bytes path))
        (expected (plist-get proposal :original)))
    (if (or (null expected)
            (equal expected (decode-coding-string bytes 'utf-8-emacs-unix)))
        bytes
      (encode-coding-string expected 'utf-8-emacs-unix))))

(defun agent-q-diff-input--text (proposal old check)
  "Return a file change for the text of PROPOSAL, or nil if it has none.
OLD is the file's present name, or nil if it is new; CHECK is as for
`agent-q-diff-file-change-open'."
  (let* ((path (agent-q-diff-input--present-name proposal old))
         (content (plist-get proposal :content)))
    (cond
     ((agent-q-diff-input--kind-p proposal) nil)
     ((and (null old) (agent-q-diff-input--in-place-of path)) nil)
     ((plist-get proposal :diff)
      (agent-q-diff-file-change-open-patch path (plist-get proposal :diff) check 'can-wait))
     ((plist-get proposal :modified)
      (agent-q-diff-file-change-open-later path (plist-get proposal :original)
                                           (plist-get proposal :modified) check))
     ((or (plist-get proposal :update) (plist-get proposal :edits) (and content old))
      (let ((live (agent-q-diff-input--live path)))
        (agent-q-diff-file-change-open-later
         path (agent-q-diff-live-text live)
         (agent-q-diff-input-proposed-text proposal live path) check)))
     ((and content (not (string-empty-p content)))
      (agent-q-diff-file-change-open path "" content check)))))

(defun agent-q-diff-input--live (path)
  "Return the `agent-q-diff-live' of the file PATH, which must exist."
  (unless (or (file-exists-p path) (find-buffer-visiting path))
    (agent-q-diff-file-refuse "%s does not exist" path))
  (agent-q-diff-live-read (file-truename path)))

(defun agent-q-diff-input-proposed-text (proposal live path)
  "Return the text that PROPOSAL has for the file PATH, or nil if it has none.
LIVE is its `agent-q-diff-live', or nil if it is new."
  (cond
   ((plist-get proposal :modified))
   ((plist-get proposal :content))
   ((null live) nil)
   ((plist-get proposal :update)
    (funcall (plist-get proposal :update) (agent-q-diff-live-text live)))
   ((plist-get proposal :edits)
    (agent-q-diff-input--edited (plist-get proposal :edits) live path))))

;;;; Edits: fragments of a file

(defun agent-q-diff-input--edited (edits live path)
  "Return the text of LIVE, that of the file PATH, after EDITS.
EDITS are as for `agent-q-diff-review-change'."
  (with-temp-buffer
    (set-buffer-multibyte (multibyte-string-p (agent-q-diff-live-text live)))
    (insert (agent-q-diff-live-text live))
    (let ((lines (mapcar (lambda (edit)
                           (when-let ((line (plist-get edit :line)))
                             (goto-char (point-min))
                             (forward-line line)
                             ;; It moves with what earlier edits do above it.
                             (point-marker)))
                         edits))
          (is-crlf (agent-q-diff-input--crlf-p))
          (n 0))
      (dolist (edit edits)
        (cl-incf n)
        (condition-case err
            (pcase-let ((`(,old . ,new) (agent-q-diff-live-strings live (plist-get edit :old)
                                                                   (plist-get edit :new))))
              (agent-q-diff-input--edit-here
               (if is-crlf (agent-q-diff-input--with-crlf old) old)
               (if is-crlf (agent-q-diff-input--with-crlf new) new)
               (pop lines) (plist-get edit :all)))
          (agent-q-diff-error
           (signal (car err)
                   (list (format "%s, edit %d: %s%s" path n (cadr err)
                                 (agent-q-diff-input--places-words err))))))))
    (buffer-string)))

(defun agent-q-diff-input--crlf-p ()
  "Return non-nil if each line of this buffer ends with CR and LF characters."
  (goto-char (point-min))
  (and (search-forward "\r\n" nil t)
       (progn (goto-char (point-min))
              (not (re-search-forward "^\n\\|[^\r\n]\n" nil t)))))

(defun agent-q-diff-input--with-crlf (string)
  "Return STRING with CRLF at the end of each line."
  (string-replace "\n" "\r\n" (string-replace "\r\n" "\n" string)))

(defun agent-q-diff-input--edit-here (old new line is-all)
  "Replace OLD by NEW in this buffer, in all places if IS-ALL is non-nil.
Otherwise it must be there once; of several, the one that begins on the line
at LINE counts, a marker or nil."
  (let* ((place (and (not is-all)
                     (or (and line
                              (progn (goto-char line)
                                     (agent-q-diff-input--only-place
                                      old line (+ (line-end-position) (length old)))))
                         (agent-q-diff-input--only-place old (point-min) (point-max))))))
    (if (and place (not (equal old new)))
        (agent-q-diff-input--replace place (+ place (length old)) new)
      ;; It says what is wrong.
      (pcase-let ((`(,spans ,_ ,new . ,_)
                   (agent-q-diff-engine-replace (buffer-string) old new is-all)))
        (pcase-dolist (`(,beg . ,end) (reverse spans))
          (agent-q-diff-input--replace (1+ beg) (1+ end) new))))))

(defun agent-q-diff-input--only-place (old beg end)
  "Return where OLD begins in this buffer between BEG and END, or nil.
It is nil also if it is there several times, or if it is empty."
  (let ((case-fold-search nil))
    (goto-char beg)
    (when-let ((place (and (not (string-empty-p old))
                           (search-forward old (min end (point-max)) t)
                           (match-beginning 0))))
      (goto-char (1+ place))
      (and (not (search-forward old (min end (point-max)) t))
           place))))

(defun agent-q-diff-input--replace (beg end new)
  "Replace the text of this buffer from BEG to END by NEW."
  (delete-region beg end)
  (goto-char beg)
  (insert new))

(defun agent-q-diff-input--places-words (err)
  "Return words on the places that ERR, of `agent-q-diff-engine-replace', names."
  (pcase err
    (`(,(or 'agent-q-diff-several-matches 'agent-q-diff-overlapping-matches) ,_ ,lines)
     (format ", at lines %s; its :line, from 0, says which is meant"
             (mapconcat (lambda (line) (number-to-string (1+ line)))
                        (seq-take (seq-uniq lines) 10) ", ")))
    (`(agent-q-diff-no-match ,_ (,first ,_ . ,kinds))
     (format "; the nearest lines, from %d on, differ in %s" (1+ first)
             (mapconcat #'symbol-name kinds ", ")))
    (_ "")))

;;;; Names

(defun agent-q-diff-input--present-name (proposal old)
  "Return the name that the file of PROPOSAL has now.
That is OLD, unless the file is new, or was renamed already."
  (let ((new (and (plist-get proposal :to)
                  (agent-q-diff-visit-name (plist-get proposal :to)))))
    (cond
     ((null old) (agent-q-diff-visit-name (plist-get proposal :path)))
     ((and new
           (not (agent-q-diff-operation-exists-p old))
           (agent-q-diff-operation-exists-p new))
      new)
     (t old))))

(defun agent-q-diff-input--file (proposal)
  "Return the file change of PROPOSAL, a property list.
See `agent-q-diff-review-change'.  The property :executable, t or `no', is
for tools, whose agents do not know the file's mode."
  (pcase-let* ((`(,old . ,new) (agent-q-diff-input--names proposal))
               (operations (agent-q-diff-input--operations proposal old new))
               (check (plist-get proposal :check))
               (file (or (agent-q-diff-input--text proposal old check)
                         (agent-q-diff-file-change-without-text
                          (agent-q-diff-input--present-name proposal old) check))))
    (setf (agent-q-diff-file-change-operations file) operations
          (agent-q-diff-file-change-old-path file) old
          (agent-q-diff-file-change-new-path file) new
          (agent-q-diff-file-change-in-place-of file)
          (and (null old) (agent-q-diff-input--in-place-of new)))
    (when-let ((link (agent-q-diff-file-change-link-above file)))
      (setf (agent-q-diff-target-truename (agent-q-diff-file-change-target file))
            (agent-q-diff-visit-without-link new link)))
    (agent-q-diff-input-annotated file (plist-get proposal :annotations))))

(defun agent-q-diff-input--names-of (file)
  "Return a new list of the names that FILE, a file change, has, before and after."
  (delq nil (list (agent-q-diff-file-change-old-path file)
                  (agent-q-diff-file-change-new-path file)
                  ;; What a link leads to.
                  (and (agent-q-diff-file-change-has-text file)
                       (agent-q-diff-target-truename
                        (agent-q-diff-file-change-target file))))))

(defun agent-q-diff-input--identity (file)
  "Return what FILE, a file change, shares with other names of its file, or nil.
These are the file's inode and device, or its buffer if there is no file.  A
buffer is not always known by both names: `find-buffer-visiting' does not find
it by the other one if an older buffer's file had the same inode and is gone."
  (when (agent-q-diff-file-change-has-text file)
    (let ((truename (agent-q-diff-target-truename (agent-q-diff-file-change-target file))))
      (or (and truename (nthcdr 10 (file-attributes truename)))
          (agent-q-diff-file-change-buffer file)))))

(defun agent-q-diff-input--check-names (files)
  "Signal an error if two of FILES, each a file change, are the same file.
They have a name in common then, or are names of one file (hard links)."
  (let ((seen (make-hash-table :test #'equal))
        (seen-files (make-hash-table :test #'equal)))
    (dolist (file files)
      (dolist (name (delete-dups
                     (mapcar #'agent-q-diff-visit-true-place
                             (delete-dups (agent-q-diff-input--names-of file)))))
        (when (gethash name seen)
          (agent-q-diff-input--refuse "%s occurs twice, as an old or a new name; give each file once"
                                     name))
        (puthash name t seen))
      (when-let* ((identity (agent-q-diff-input--identity file))
                  (path (agent-q-diff-file-change-path file)))
        (let ((other (gethash identity seen-files)))
          (when (and other (file-equal-p other path))
            (agent-q-diff-input--refuse "%s and %s are one file; give it once" other path)))
        (puthash identity path seen-files)))))

(defconst agent-q-diff-input--detached-keys
  '(:path :to :original :modified :content :delete :check :annotations)
  "The properties that the proposal of a file can have if it is not accessed.")

(defun agent-q-diff-input--check-detached (proposal)
  "Signal an error if PROPOSAL is not enough without its file."
  (when-let ((key (cl-loop for (key value) on proposal by #'cddr
                           when (and value (not (memq key agent-q-diff-input--detached-keys)))
                           return key)))
    (agent-q-diff-input--refuse "%s: %s needs the file" (plist-get proposal :path) key))
  (when (and (plist-get proposal :delete) (null (plist-get proposal :original)))
    (agent-q-diff-input--refuse "%s: give its :original, too" (plist-get proposal :path))))

(defun agent-q-diff-input--detached-file (proposal)
  "Return the file change of PROPOSAL, a property list, without accessing the file.
See `agent-q-diff-review-change' for detached changes."
  (agent-q-diff-input--check-detached proposal)
  (let* ((path (agent-q-diff-visit-detached-name (plist-get proposal :path)))
         (to (plist-get proposal :to))
         (original (or (plist-get proposal :original) ""))
         (content (plist-get proposal :content))
         (is-deleted (plist-get proposal :delete))
         (modified (if is-deleted original
                     (or content (plist-get proposal :modified) original)))
         (check (plist-get proposal :check))
         (file (if (equal original modified)
                   (agent-q-diff-file-change-without-text path check 'detached)
                 (agent-q-diff-file-change-open path original modified check 'detached))))
    (setf (agent-q-diff-file-change-old-path file) (and (null content) path)
          (agent-q-diff-file-change-new-path file)
          (cond (is-deleted nil)
                (to (agent-q-diff-visit-detached-name to))
                (t path))
          (agent-q-diff-file-change-operations file)
          (cond (is-deleted
                 (list (list 'delete (encode-coding-string original 'utf-8-emacs-unix))))
                (content (list (list 'create #o644)))
                (to (list (list 'rename)))))
    (agent-q-diff-input-annotated file (plist-get proposal :annotations))))

(defun agent-q-diff-input-change (proposals &optional is-detached)
  "Return a new change of the files in PROPOSALS, a list of property lists.
See `agent-q-diff-review-change', also for IS-DETACHED.  If there is an
error, nothing is left open."
  (agent-q-diff-input-check proposals)
  (let ((files nil)
        (is-done nil)
        (agent-q-diff-input--leaving
         (mapcar (lambda (proposal)
                   (agent-q-diff-visit-name (plist-get proposal :path)))
                 (and (not is-detached)
                      (seq-filter #'agent-q-diff-input--leaves-p proposals)))))
    (unwind-protect
        (progn
          (agent-q-diff-visit-resolving-once
            (dolist (proposal proposals)
              (push (if is-detached
                        (agent-q-diff-input--detached-file proposal)
                      (agent-q-diff-input--file proposal))
                    files))
            (setq files (nreverse files))
            (agent-q-diff-input--check-names files))
          (prog1 (agent-q-diff-change-join files)
            (setq is-done t)))
      (unless is-done
        (mapc #'agent-q-diff-file-change-close files)))))

;;;; The names in a diff
;;
;; Programs name files in many ways: with a prefix before the name or without,
;; from the root of version control or from the directory where they run.
;; This is the rule by which the file is found, for every way in:
;;
;; 1. The engine says how a name may be read: as it stands; without the first
;;    directories by which the old name and the new one differ; without one of
;;    git's prefixes.  Lines of a rename and `Index:' lines are as they stand.
;; 2. Each reading is a name below `default-directory', or below the root of
;;    version control around it.  A reading counts if it fits: the file exists
;;    that the diff would change.
;; 3. All files of a diff are named from the same directory.  If several
;;    readings of a name fit, choose the one that agrees with the other files,
;;    or whose file has the text that git's `index' line names.  For a new file,
;;    no existing file shows what is a prefix, and often there is no second
;;    name, so the prefixes of the other files are taken off it.  If it is the
;;    only file, and its first directory does not exist, but one below that
;;    does, both readings fit.
;; 4. If more than one file still fits, none is chosen: the user is asked, or
;;    if there is nobody to ask, the diff is refused with a list of them.
;; 5. A file of the same name in other directories is suggested, but never
;;    chosen automatically.

(defconst agent-q-diff-input--vc-names
  '(".git" ".hg" ".jj" ".bzr" ".svn" "_darcs" ".fslckout" "_FOSSIL_")
  "Names of what version control puts into the root of a work tree.")

(defun agent-q-diff-input--vc-root ()
  "Return the root of version control around `default-directory', or nil."
  (when-let ((root (locate-dominating-file
                    default-directory
                    (lambda (directory)
                      (seq-some (lambda (name)
                                  (file-exists-p (expand-file-name name directory)))
                                agent-q-diff-input--vc-names)))))
    (expand-file-name root)))

(defun agent-q-diff-input--bases ()
  "Return the directories that the names in a diff may be relative to.
That is `default-directory', and the root of version control around it."
  (let* ((here (agent-q-diff-input--here))
         (root (agent-q-diff-input--vc-root)))
    (if (or (null root) (equal root here)) (list here) (list here root))))

(cl-defstruct (agent-q-diff-input-fit (:constructor agent-q-diff-input--fit)
                                      (:copier nil))
  "One way to understand the names that a diff has for a file."
  base      ; the directory that they are relative to
  stripped  ; the number of leading directories taken off, or nil
  doubt     ; how unusual the reading is; `maybe' if it fits beside a usual one
  old new   ; the names as a proposal has them; one may be nil
  name)     ; absolute; that of the file now, or of the new file

(defun agent-q-diff-input--absolute (name base)
  "Return NAME from a diff as an absolute name below BASE, or nil.
It is nil if NAME is one that no agent may use; its file is not looked at."
  (ignore-error agent-q-diff-bad-target
    (agent-q-diff-visit-name (agent-q-diff-file-named name base))))

(defun agent-q-diff-input--there-p (name)
  "Return non-nil if the file NAME exists, or a buffer that visits it."
  (or (agent-q-diff-operation-exists-p name)
      (find-buffer-visiting name)))

(defun agent-q-diff-input--fits (file bases doubt)
  "Return how FILE of a diff may be named below BASES: a list of fits.
FILE is an element of `agent-q-diff-engine-describe'.  Readings with more
than DOUBT do not count.  For a file that exists, these have an existing one;
for a new file, those in whose directories most exists."
  (let ((fits nil))
    (dolist (base bases)
      (pcase-dolist (`(,stripped ,reading-doubt ,old ,new) (car file))
        (when (or (eq 'maybe reading-doubt) (<= reading-doubt doubt))
          (when-let ((name (agent-q-diff-input--absolute (or old new) base)))
            (push (agent-q-diff-input--fit
                   :base base :stripped stripped :doubt reading-doubt
                   :old (agent-q-diff-input--named old base)
                   :new (agent-q-diff-input--named new base)
                   :name name)
                  fits)))))
    (setq fits (cl-delete-duplicates (nreverse fits) :from-end t
                                     :key #'agent-q-diff-input-fit-name :test #'equal))
    (or (seq-filter #'agent-q-diff-input--fit-there-p fits)
        (and (agent-q-diff-input--may-be-new-p file)
             (append (agent-q-diff-input--likeliest-new
                      (seq-remove #'agent-q-diff-input--maybe-p fits) (cadr file))
                     (seq-filter #'agent-q-diff-input--maybe-p fits))))))

(defun agent-q-diff-input--maybe-p (fit)
  "Return non-nil if FIT, for a new file, is only an alternative to a usual one."
  (eq 'maybe (agent-q-diff-input-fit-doubt fit)))

(defun agent-q-diff-input--here ()
  "Return `default-directory' as an absolute name."
  (file-name-as-directory (expand-file-name default-directory)))

(defun agent-q-diff-input--named (name base)
  "Return NAME from a diff, relative to BASE, as a proposal has it, or nil.
It is absolute where Emacs would expand it to a name elsewhere."
  (cond
   ((null name) nil)
   ((string-prefix-p "~" name) (agent-q-diff-file-named name base))
   ((equal base (agent-q-diff-input--here)) name)
   (t (agent-q-diff-input--absolute name base))))

(defun agent-q-diff-input--fit-there-p (fit)
  "Return non-nil if FIT is for a file that exists.
One that is renamed may have its new name already."
  (or (agent-q-diff-input--there-p (agent-q-diff-input-fit-name fit))
      (let ((new (agent-q-diff-input-fit-new fit)))
        (and (agent-q-diff-input-fit-old fit) new
             (not (equal new (agent-q-diff-input-fit-old fit)))
             (when-let ((name (agent-q-diff-input--absolute
                                new (agent-q-diff-input--here))))
               (agent-q-diff-input--there-p name))))))

(defun agent-q-diff-input--may-be-new-p (file)
  "Return non-nil if FILE of a diff need not exist.
FILE is an element of `agent-q-diff-engine-describe'."
  (pcase-let ((`(((,_ ,_ ,old ,_) . ,_) ,_ ,_ . ,hunks) file))
    (or (null old)
        (and hunks (string-match-p "\\`\\(?:index .*\n\\)?@@ -0,0 " hunks)))))

(defun agent-q-diff-input--new-with-prefix (files bases)
  "Return FILES of a diff, the readings of new ones as the others have theirs.
BASES are the directories that names may be relative to."
  (let ((prefixes (delete-dups
                   (mapcan (lambda (file) (agent-q-diff-input--prefixes file bases)) files))))
    (mapcar
     (lambda (file)
       (pcase-let ((`(((,_ ,_ ,old ,new) . ,_) . ,_) file))
         (if-let ((readings (and (null old) new
                                 (or (agent-q-diff-input--without-prefix file prefixes)
                                     (agent-q-diff-input--also-below file bases)))))
             (cons readings (cdr file))
           file)))
     files)))

(defun agent-q-diff-input--prefixes (file bases)
  "Return the prefixes before the names of FILE of a diff, a list of strings.
There is none unless the file exists below BASES, and only without them."
  (unless (agent-q-diff-input--may-be-new-p file)
    (let* ((fits (agent-q-diff-input--fits file bases 1))
           (n (and fits (agent-q-diff-input-fit-stripped (car fits)))))
      (when (and n (< 0 n)
                 (seq-every-p (lambda (fit) (eql n (agent-q-diff-input-fit-stripped fit))) fits))
        (cl-loop for (stripped _ old new) in (car file)
                 for parts = (split-string (or old new) "/")
                 when (and (eql 0 stripped) (nthcdr n parts))
                 collect (concat (string-join (seq-take parts n) "/") "/"))))))

(defun agent-q-diff-input--without-prefix (file prefixes)
  "Return the readings of FILE, a new one of a diff, without one of PREFIXES.
Return nil if it has none of them."
  (cl-loop for (stripped _ _ name) in (car file)
           for prefix = (and (eql 0 stripped)
                             (seq-find (lambda (prefix) (string-prefix-p prefix name)) prefixes))
           when prefix
           return (list (list (cl-count ?/ prefix) 0 nil (string-remove-prefix prefix name)))))

(defun agent-q-diff-input--also-below (file bases)
  "Return the readings of FILE of a diff, if it is not clear what is new.
That is so if its header has a single name, which begins with a directory that
does not exist below BASES, followed by one that does: the first may be a
prefix.  Otherwise return nil."
  (cl-flet ((there-p (name)
              (pcase (split-string name "/")
                (`(,first ,_ . ,_)
                 (seq-some (lambda (base)
                             (when-let ((directory (agent-q-diff-input--absolute first base)))
                               (file-directory-p directory)))
                           bases)))))
    (pcase file
      (`(((0 0 nil ,name) . ,others) nil . ,_)
       (unless (or (there-p name) (seq-find (lambda (reading) (eql 0 (nth 1 reading))) others))
         (when-let ((below (seq-find (lambda (reading) (there-p (nth 3 reading))) others)))
           (list (caar file) (list (car below) 'maybe nil (nth 3 below)))))))))

(defun agent-q-diff-input--likeliest-new (fits is-git)
  "Return those of FITS, for a new file, in whose directories most exists.
Unless IS-GIT is non-nil, prefer names relative to `default-directory': only
git names a new file from the root of its work tree."
  (let* ((score (lambda (fit)
                  (let ((name (agent-q-diff-input-fit-name fit))
                        (base (agent-q-diff-input-fit-base fit)))
                    (cond
                     ((file-directory-p (file-name-directory name)) 2)
                     ((and (string-prefix-p base name)
                           (file-directory-p
                            (agent-q-diff-file-named
                             (car (split-string (substring name (length base)) "/")) base)))
                      1)
                     (t 0)))))
         (best (apply #'max 0 (mapcar score fits)))
         (likeliest (seq-filter (lambda (fit) (= best (funcall score fit))) fits))
         (first (car likeliest)))
    (cond
     ((null (cdr likeliest)) likeliest)
     ;; No directory exists: take the usual reading.
     ((= best 0) (if is-git (seq-uniq likeliest #'agent-q-diff-input--same-base-p) (list first)))
     (is-git likeliest)
     (t (seq-filter (lambda (fit) (agent-q-diff-input--same-base-p fit first)) likeliest)))))

(defun agent-q-diff-input--same-base-p (fit other)
  "Return non-nil if FIT and OTHER are below the same directory."
  (equal (agent-q-diff-input-fit-base fit) (agent-q-diff-input-fit-base other)))

(defun agent-q-diff-input--fits-of-all (files bases)
  "Return a list of fits for each of FILES below BASES, or nil if one has none.
Unusual readings count only if the usual ones do not fit."
  (seq-some (lambda (doubt)
              (let ((all (mapcar (lambda (file) (agent-q-diff-input--fits file bases doubt))
                                 files)))
                (and (not (memq nil all))
                     (agent-q-diff-input--agree all #'agent-q-diff-input--same-base-p 'all))))
            '(0 1)))

(defun agent-q-diff-input--agree (all test &optional is-needed)
  "Return ALL, lists of fits, without those that contradict the others.
A fit stays if each file that has a single fit has one that is equal by TEST.
With IS-NEEDED, each file needs such a fit; the value is nil if one has none.
Otherwise, a file that has none keeps all of its fits."
  (let ((result
         (mapcar (lambda (fits)
                   (let ((agreeing
                          (seq-filter
                           (lambda (fit)
                             (seq-every-p
                              (lambda (others)
                                (or (eq others fits)
                                    (and (not is-needed) (cdr others))
                                    (seq-some (lambda (other) (funcall test fit other)) others)))
                              all))
                           fits)))
                     (if is-needed agreeing (or agreeing fits))))
                 all)))
    (unless (and is-needed (memq nil result))
      result)))

(defun agent-q-diff-input--same-strip-p (fit other)
  "Return non-nil if the same directories were taken off for FIT and OTHER."
  (let ((stripped (agent-q-diff-input-fit-stripped fit))
        (other-stripped (agent-q-diff-input-fit-stripped other)))
    (or (null stripped) (null other-stripped) (= stripped other-stripped))))

(defun agent-q-diff-input--with-blob (fits file)
  "Return those of FITS that have the text that git names for FILE, or FITS."
  (let ((hunks (cdddr file)))
    (or (and (cdr fits) hunks
             (string-match "\\`index \\([0-9a-f]+\\)\\.\\." hunks)
             (let ((id (match-string 1 hunks)))
               (seq-filter
                (lambda (fit)
                  (seq-some (lambda (other) (string-prefix-p id other))
                            (agent-q-diff-git-file-ids (agent-q-diff-input-fit-name fit))))
                fits)))
        fits)))

(defun agent-q-diff-input--resolve (files path choose)
  "Return (OLD . NEW) for each of FILES, the names that its proposal has.
FILES is a list as from `agent-q-diff-engine-describe'.  PATH, if non-nil,
names the only one of them, or one of them.  If several files fit a name,
CHOOSE, a function, is called with a prompt and their names, and returns one;
if it is nil, signal `agent-q-diff-bad-target'."
  (if (and path (null (cdr files)))
      ;; PATH says which file it is.
      (mapcar #'agent-q-diff-input--usual files)
    (let* ((bases (agent-q-diff-input--bases))
           (files (agent-q-diff-input--new-with-prefix files bases))
           (all (agent-q-diff-input--fits-of-all files bases)))
      (if (null all)
          (progn
            (agent-q-diff-input--refuse-guess files bases)
            (mapcar #'agent-q-diff-input--usual files))
        (when path
          (setq all (agent-q-diff-input--choosing all (agent-q-diff-visit-name path))))
        (setq all (cl-mapcar #'agent-q-diff-input--with-blob all files))
        (mapcar (lambda (fit)
                  (cons (agent-q-diff-input-fit-old fit) (agent-q-diff-input-fit-new fit)))
                (agent-q-diff-input--decide all choose))))))

(defun agent-q-diff-input--usual (file)
  "Return (OLD . NEW), the names of FILE of a diff as they are usually meant."
  (pcase-let ((`(((,_ ,_ ,old ,new) . ,_) . ,_) file))
    (cons (agent-q-diff-input--named old (agent-q-diff-input--here))
          (agent-q-diff-input--named new (agent-q-diff-input--here)))))

(defun agent-q-diff-input--choosing (all name)
  "Return ALL, lists of fits, with NAME chosen for each file that has it."
  (mapcar (lambda (fits)
            (or (seq-filter (lambda (fit)
                              (member name
                                      (list (agent-q-diff-input-fit-name fit)
                                            (and (agent-q-diff-input-fit-new fit)
                                                 (agent-q-diff-input--absolute
                                                  (agent-q-diff-input-fit-new fit)
                                                  (agent-q-diff-input--here))))))
                            fits)
                fits))
          all))

(defun agent-q-diff-input--decide (all choose)
  "Return one fit of each of ALL, lists of fits.
CHOOSE is as for `agent-q-diff-input--resolve'."
  (setq all (agent-q-diff-input--agree all #'agent-q-diff-input--same-base-p)
        all (agent-q-diff-input--agree all #'agent-q-diff-input--same-strip-p))
  (if-let ((fits (seq-find #'cdr all)))
      (let ((names (mapcar #'agent-q-diff-input-fit-name fits)))
        (unless choose
          (agent-q-diff-file-refuse
           "the diff does not say which file it is for: %s fit; give one as the path, or make the \
diff with other names"
           (mapconcat #'agent-q-diff-visible-name names " and ")))
        (agent-q-diff-input--decide
         (agent-q-diff-input--choosing
          all (funcall choose "The diff fits several files; which one is meant? " names))
         choose))
    (mapcar #'car all)))

(defun agent-q-diff-input--refuse-guess (files bases)
  "Signal an error if one of FILES of a diff exists only in other directories.
The error suggests that one.  BASES are the directories to look in."
  (dolist (file files)
    (unless (agent-q-diff-input--fits file bases 1)
      (when-let ((fits (agent-q-diff-input--fits file bases 2)))
        (agent-q-diff-file-refuse
         "%s does not exist; if %s is meant, give that as the path"
         (agent-q-diff-visible-name (let ((names (agent-q-diff-input--usual file)))
                                      (or (car names) (cdr names))))
         (mapconcat (lambda (fit) (agent-q-diff-visible-name (agent-q-diff-input-fit-name fit)))
                    fits " or "))))))

(defun agent-q-diff-input-fits-p (diff)
  "Return non-nil if a file that DIFF would change is in `default-directory'.
That is also the case if it is named from the root of version control, or
DIFF has only new files, or cannot be read."
  (let ((files (ignore-error agent-q-diff-error
                 (when-let ((unified (car (agent-q-diff-parts diff))))
                   (agent-q-diff-engine-describe unified))))
        (bases (agent-q-diff-input--bases)))
    (or (seq-every-p #'agent-q-diff-input--may-be-new-p files)
        (seq-some (lambda (file)
                    (and (not (agent-q-diff-input--may-be-new-p file))
                         (agent-q-diff-input--fits file bases 1)))
                  files))))

;;;; Diffs

(defun agent-q-diff-input-of-diff (diff &optional path choose)
  "Return what DIFF, a text with unified diffs and patches of Codex's, proposes.
There may be prose around them.  The value is a list of property lists, as
`agent-q-diff-review-change' takes them.  PATH is the file that DIFF is for,
or one of them, or nil.  CHOOSE is as for `agent-q-diff-input--resolve'.
Signal an error that says why if DIFF cannot be reviewed."
  (pcase-let ((`(,unified . ,patches) (agent-q-diff-parts diff)))
    (append (and unified (agent-q-diff-input--of-unified unified path choose))
            (mapcan #'agent-q-diff-input--of-codex patches))))

(defun agent-q-diff-input--of-codex (patch)
  "Return what PATCH, a text of Codex's tool `apply_patch', proposes.
No file is read yet."
  (let ((files (agent-q-diff-module-codex-files patch))
        (named (lambda (name) (agent-q-diff-input--named name (agent-q-diff-input--here)))))
    (agent-q-diff-input--check-sections files)
    (seq-map-indexed
     (lambda (file index)
       (pcase-exhaustive file
         (`(,path add ,text) (list :path (funcall named path) :content text))
         (`(,path delete) (list :path (funcall named path) :delete t))
         (`(,path update ,new-path)
          (append (list :path (funcall named path))
                  (and new-path
                       (not (equal path new-path))
                       (list :to (funcall named new-path)))
                  (list :update (apply-partially #'agent-q-diff-input--codex-updated
                                                 patch index path))))))
     files)))

(defun agent-q-diff-input--check-sections (files)
  "Refuse a patch of Codex's in which one of FILES has two sections.
The second would be for a text that the file does not have yet."
  (let ((seen (make-hash-table :test #'equal)))
    (pcase-dolist (`(,name . ,_) files)
      (when (gethash name seen)
        (agent-q-diff-input--refuse
         "%s has two sections in the patch; give each file one" name))
      (puthash name t seen))))

(defun agent-q-diff-input--codex-updated (patch index path text)
  "Return TEXT, that of file INDEX of PATCH, as it is after the patch.
PATH is the file's name there."
  (condition-case err
      (agent-q-diff-engine-text
       (agent-q-diff-engine-call #'agent-q-diff-module-codex-updated patch index text))
    (agent-q-diff-not-found
     (signal (car err) (list (format "%s: %s" (agent-q-diff-visible path)
                                     (agent-q-diff-error-text err)))))))

(defun agent-q-diff-input--of-unified (diff &optional path choose)
  "Return what DIFF, a unified diff of one or more files, proposes.
PATH and CHOOSE are as for `agent-q-diff-input-of-diff'."
  (let ((files (agent-q-diff-engine-describe diff)))
    (cl-mapcar (pcase-lambda (`(,_ ,_ ,operations . ,hunks) `(,old . ,new))
                 (append (list :path (or old new))
                         (and old new (not (equal old new)) (list :to new))
                         (mapcan #'agent-q-diff-input--of-operation operations)
                         (and hunks (list :diff hunks))
                         ;; An empty new file has no hunks.
                         (and (null hunks) (assq 'create operations) (list :content ""))))
               files
               (agent-q-diff-input--resolve files path choose))))

(defun agent-q-diff-input--of-operation (operation)
  "Return the properties that propose OPERATION, one that a diff has."
  (pcase-exhaustive operation
    ('(rename) nil)
    ;; Git records no other bits, and a diff must not grant more.
    (`(create ,mode) (and (/= 0 (logand mode #o111)) (list :mode (logand mode #o777))))
    (`(delete ,text) (list :delete t :original text))
    (`(mode ,old ,new) (list :old-mode (logand old #o777) :mode (logand new #o777)))
    (`(kind (file ,_ ,text) (link ,target)) (list :original text :link target))
    (`(kind (link ,target) (file ,mode ,text))
     (append (list :old-link target :content text)
             (and (/= 0 (logand mode #o111)) (list :mode (logand mode #o777)))))
    (`(link ,old ,new) (append (and old (list :old-link old)) (and new (list :link new))))))

(defun agent-q-diff-input-only-text (proposals)
  "Return the only one of PROPOSALS, if it is just for the text of a file.
That is also the case if the file is new.  Otherwise return nil."
  (pcase proposals
    (`((:path ,_ :diff ,_)) (car proposals))))

(provide 'agent-q-diff-input)
;;; agent-q-diff-input.el ends here
