;;; agent-q-diff-input.el --- What is proposed, as programs pass it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A program proposes a change as a list of property lists, one for each
;; file.  Here they are checked, and become file changes.
;;
;; A diff of several files becomes such a list, too.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-live)
(require 'agent-q-diff-visit)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-operation)
(require 'agent-q-diff-change)

(defconst agent-q-diff-input--keys
  '((:path stringp) (:to stringp) (:original stringp) (:modified stringp)
    (:content stringp) (:update functionp) (:diff stringp) (:delete booleanp) (:mode natnump)
    (:old-mode natnump) (:executable symbolp) (:link stringp) (:old-link stringp) (:check functionp))
  "Alist from the properties of a file's proposal to the test of their values.")

(defun agent-q-diff-input-refuse (format &rest arguments)
  "Signal `agent-q-diff-bad-arguments' with a message from FORMAT and ARGUMENTS."
  (signal 'agent-q-diff-bad-arguments
          (list (agent-q-diff-visible (apply #'format format arguments)))))

(defun agent-q-diff-input--word (key)
  "Return KEY of a proposal as an agent knows it, without its colon."
  (substring (symbol-name key) 1))

(defun agent-q-diff-input--check (proposal)
  "Signal an error unless PROPOSAL, that of one file, is complete and consistent."
  (unless (and (proper-list-p proposal) (cl-evenp (length proposal)))
    (agent-q-diff-input-refuse "each file must be a property list"))
  (cl-loop for (key value) on proposal by #'cddr
           for test = (cadr (assq key agent-q-diff-input--keys))
           unless test do (agent-q-diff-input-refuse "%S is no property of a file" key)
           when (and value (not (funcall test value)))
           do (agent-q-diff-input-refuse "%s of a file must not be %S" key (type-of value)))
  (let ((path (plist-get proposal :path))
        (given (seq-filter (lambda (key) (plist-get proposal key))
                           '(:modified :content :update :diff :delete :link))))
    (unless path
      (agent-q-diff-input-refuse "a file needs a :path"))
    (when (cdr given)
      (agent-q-diff-input-refuse "%s: give only one of %s" path
                                 (mapconcat #'agent-q-diff-input--word given ", ")))
    (unless (or (plist-get proposal :delete)
                (eq (null (plist-get proposal :original))
                    (null (plist-get proposal :modified))))
      (agent-q-diff-input-refuse
       "%s: give both its original and its modified text, or its content if it is new" path))
    (when (and (plist-get proposal :to) (directory-name-p (plist-get proposal :to)))
      (agent-q-diff-input-refuse "%s names a directory" (plist-get proposal :to)))
    (unless (or given (plist-get proposal :to) (plist-get proposal :mode)
                (plist-get proposal :executable) (plist-get proposal :old-link))
      (agent-q-diff-input-refuse
       "%s: nothing is proposed for it; say what it is to be, or that it is to be deleted or renamed"
       path))
    (when (and (plist-get proposal :to)
               (or (plist-get proposal :delete) (plist-get proposal :content)))
      (agent-q-diff-input-refuse "%s cannot be renamed and deleted, or created, at once"
                                  path))))

(defun agent-q-diff-input--names (proposal)
  "Return (OLD . NEW), the absolute names of the file of PROPOSAL.
Either is nil if it does not exist on that side."
  (let* ((path (agent-q-diff-visit-name (plist-get proposal :path)))
         (to (plist-get proposal :to))
         (is-there (or (agent-q-diff-operation-exists-p path)
                       (when-let ((buffer (find-buffer-visiting path)))
                         ;; That of a file that is gone only has its old text.
                         (not (eq 'deleted (agent-q-diff-disk-state buffer)))))))
    (cond
     (to (cons path (agent-q-diff-visit-name to)))
     ((plist-get proposal :delete) (cons path nil))
     ((plist-get proposal :link) (cons (and (plist-get proposal :old-link) path) path))
     ((plist-get proposal :old-link) (cons path nil))
     (t (cons (and is-there path) path)))))

(defun agent-q-diff-input--operations (proposal old new)
  "Return the operations of PROPOSAL on the file with the names OLD and NEW."
  (let ((mode (agent-q-diff-input--mode proposal old)))
    (when (and old (or (plist-get proposal :to) mode))
      (agent-q-diff-file-check-regular old)
      (unless (or (agent-q-diff-operation-exists-p old) (agent-q-diff-operation-exists-p new))
        (agent-q-diff-file-refuse "%s does not exist" old)))
    (cond
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
      (unless (agent-q-diff-input--creates-p proposal)
        (agent-q-diff-file-refuse "%s does not exist" new))
      (list (list 'create (or mode #o644))))
     (t (delq nil
              (list (and (not (equal old new)) (list 'rename))
                    (and mode (agent-q-diff-input--mode-operation proposal old mode))))))))

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

(defun agent-q-diff-input--creates-p (proposal)
  "Return non-nil if PROPOSAL is for a file that does not exist yet."
  (or (plist-get proposal :content)
      (equal "" (plist-get proposal :original))
      (and (plist-get proposal :diff)
           (string-match-p "^@@ -0,0 " (plist-get proposal :diff)))))

(defun agent-q-diff-input--deleted-bytes (proposal path)
  "Return the bytes that PROPOSAL, to delete PATH, expects in that file.
If it does not say, these are what is there."
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
     ((plist-get proposal :diff)
      (agent-q-diff-file-change-open-patch path (plist-get proposal :diff) check 'can-wait))
     ((plist-get proposal :modified)
      (agent-q-diff-file-change-open-later path (plist-get proposal :original)
                                           (plist-get proposal :modified) check))
     ((plist-get proposal :update)
      (agent-q-diff-input--updated path (plist-get proposal :update) check))
     ((and content old)
      (agent-q-diff-input--updated path (lambda (_) content) check))
     ((and content (not (string-empty-p content)))
      (agent-q-diff-file-change-open path "" content check)))))

(defun agent-q-diff-input--updated (path update check)
  "Return a file change of PATH by UPDATE, a function from old to new text.
CHECK is as for `agent-q-diff-file-change-open'."
  (unless (or (file-exists-p path) (find-buffer-visiting path))
    (agent-q-diff-file-refuse "%s does not exist" path))
  (let ((text (agent-q-diff-live-text (agent-q-diff-live-read (file-truename path)))))
    (agent-q-diff-file-change-open-later path text (funcall update text) check)))

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
          (agent-q-diff-file-change-new-path file) new)
    file))

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
That is its buffer, or the file's inode."
  (and (agent-q-diff-file-change-has-text file)
       (or (agent-q-diff-file-change-buffer file)
           (nth 3 (agent-q-diff-target-put-off (agent-q-diff-file-change-target file))))))

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
          (agent-q-diff-input-refuse "%s occurs twice, as an old or a new name; give each file once"
                                     name))
        (puthash name t seen))
      (when-let* ((identity (agent-q-diff-input--identity file))
                  (path (agent-q-diff-file-change-path file)))
        (let ((other (gethash identity seen-files)))
          (when (and other (file-equal-p other path))
            (agent-q-diff-input-refuse "%s and %s are one file; give it once" other path)))
        (puthash identity path seen-files)))))

(defconst agent-q-diff-input--detached-keys
  '(:path :to :original :modified :content :delete :check)
  "The properties that the proposal of a file can have if it is not accessed.")

(defun agent-q-diff-input--check-detached (proposal)
  "Signal an error if PROPOSAL is not enough without its file."
  (when-let ((key (cl-loop for (key value) on proposal by #'cddr
                           when (and value (not (memq key agent-q-diff-input--detached-keys)))
                           return key)))
    (agent-q-diff-input-refuse "%s: %s needs the file" (plist-get proposal :path) key))
  (when (and (plist-get proposal :delete) (null (plist-get proposal :original)))
    (agent-q-diff-input-refuse "%s: give its :original, too" (plist-get proposal :path))))

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
    file))

(defun agent-q-diff-input-change (proposals &optional is-detached)
  "Return a new change of the files in PROPOSALS, a list of property lists.
See `agent-q-diff-review-change', also for IS-DETACHED.  If there is an
error, nothing is left open."
  (unless (and (consp proposals) (proper-list-p proposals))
    (agent-q-diff-input-refuse "a change is a list of files, at least one"))
  (mapc #'agent-q-diff-input--check proposals)
  (let ((files nil)
        (is-done nil))
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

;;;; Diffs

(defconst agent-q-diff-input--codex-regexp
  (rx bos (* (any " \t\n")) (? "<<" (+ nonl) "\n") (* (any " \t\n")) "*** Begin Patch")
  "Regexp for the beginning of a patch in Codex's format.")

(defun agent-q-diff-input-of-diff (diff)
  "Return what DIFF, a unified diff or a patch of Codex's, proposes.
The value is a list of property lists, as `agent-q-diff-review-change' takes
them.  Signal an error that says why if DIFF cannot be reviewed."
  (if (string-match-p agent-q-diff-input--codex-regexp diff)
      (agent-q-diff-input--of-codex diff)
    (agent-q-diff-input--of-unified diff)))

(defun agent-q-diff-input--of-codex (patch)
  "Return what PATCH, a text of Codex's tool `apply_patch', proposes.
No file is read yet."
  (let ((files (agent-q-diff-engine-codex-files patch)))
    (agent-q-diff-input--check-sections files)
    (seq-map-indexed
     (lambda (file index)
       (pcase-exhaustive file
         (`(,path add ,text) (list :path path :content text))
         (`(,path delete) (list :path path :delete t))
         (`(,path update ,new-path)
          (append (list :path path)
                  (and new-path (not (equal path new-path)) (list :to new-path))
                  (list :update (apply-partially #'agent-q-diff-input--codex-updated
                                                 patch index path))))))
     files)))

(defun agent-q-diff-input--check-sections (files)
  "Refuse a patch of Codex's in which one of FILES has two sections.
The second would be for a text that the file does not have yet."
  (let ((seen (make-hash-table :test #'equal)))
    (pcase-dolist (`(,name . ,_) files)
      (when (gethash name seen)
        (agent-q-diff-input-refuse
         "%s has two sections in the patch; give each file one" name))
      (puthash name t seen))))

(defun agent-q-diff-input--codex-updated (patch index path text)
  "Return TEXT, that of file INDEX of PATCH, as it is after the patch.
PATH is the file's name there."
  (condition-case err
      (agent-q-diff-engine-codex-updated patch index text)
    (agent-q-diff-not-found
     (signal (car err) (list (format "%s: %s" (agent-q-diff-visible path)
                                     (agent-q-diff-error-text err)))))))

(defun agent-q-diff-input--of-unified (diff)
  "Return what DIFF, a unified diff of one or more files, proposes."
  (mapcar (pcase-lambda (`(,old ,new ,operations . ,hunks))
            (append (list :path (or old new))
                    (and old new (not (equal old new)) (list :to new))
                    (mapcan #'agent-q-diff-input--of-operation operations)
                    (and hunks (list :diff hunks))
                    ;; An empty new file has no hunks.
                    (and (null hunks) (assq 'create operations) (list :content ""))))
          (agent-q-diff-engine-describe diff)))

(defun agent-q-diff-input--of-operation (operation)
  "Return the properties that propose OPERATION, one that a diff has."
  (pcase-exhaustive operation
    ('(rename) nil)
    ;; Git knows no other bits, and nobody shall get more by a diff.
    (`(create ,mode) (and (/= 0 (logand mode #o111)) (list :mode (logand mode #o777))))
    (`(delete ,text) (list :delete t :original text))
    (`(mode ,old ,new) (list :old-mode (logand old #o777) :mode (logand new #o777)))
    (`(link ,old ,new) (append (and old (list :old-link old)) (and new (list :link new))))))

(defun agent-q-diff-input-only-text (proposals)
  "Return the only one of PROPOSALS, if it is just for the text of a file.
That is also the case if the file is new.  Otherwise return nil."
  (pcase proposals
    (`((:path ,_ :diff ,_)) (car proposals))))

(provide 'agent-q-diff-input)
;;; agent-q-diff-input.el ends here
