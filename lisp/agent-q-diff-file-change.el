;;; agent-q-diff-file-change.el --- The change of one file, being decided  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A file change joins the engine, which knows where every hunk belongs, and
;; the target, where the edits are made: it opens and closes both, keeps the
;; engine up to date with the target.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-parts)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-target)

(cl-defstruct (agent-q-diff-file-change (:constructor agent-q-diff-file-change--create)
                                        (:copier nil))
  "What is proposed for one file, and what was decided about it."
  (target nil :documentation "The `agent-q-diff-target'.")
  (engine nil :documentation "The engine's review.")
  (kept-engine nil :documentation "The engine's review, kept after the end.")
  (size nil :documentation "Characters in the target when the review ended.")
  (tick nil :documentation "The target's tick when the engine last knew it.")
  (told nil :documentation "The target's tick up to which edits were reported.")
  (listener nil :documentation "Function to which edits of the target are reported.")
  (edited-function nil :documentation "Called after each edit by somebody else.")
  (watched nil :documentation "(BUFFER . FUNCTION): FUNCTION is called after BUFFER is saved or reverted.")
  (is-edited nil :documentation "Non-nil if the review has edited the target.")
  (has-text t :documentation "Non-nil if there are hunks for its text.")
  (operations nil :documentation "What else happens to the file; see agent-q-diff-operation.el.")
  (presences nil :documentation "(t . LIST): for each operation, whether it was found done; or nil.")
  (old-path nil :documentation "Absolute name before; nil if the file is new.")
  (new-path nil :documentation "Absolute name after; nil if the file is deleted.")
  (missing nil :documentation "Directories made for its present name, innermost first.")
  (in-place-of nil :documentation "Name of what the same change takes away before the file can be created, or nil.
That is its own name, of a folder that is emptied, or that of a link above it.")
  (is-created nil :documentation "Non-nil if a command of the review has created it.")
  (deleted nil :documentation "The state of what was deleted, or nil; see `agent-q-diff-operation--states'.")
  (done nil :documentation "In a detached change, the operations that are done.")
  (annotations nil :documentation "Notes that came with the proposal, a list of (LINE . TEXT).
LINE counts from 0 in the text as it should be; nil is the whole file.")
  (original nil :documentation "The proposal's original text, or nil.")
  (modified nil :documentation "The proposal's modified text, or nil.")
  (is-altered nil :documentation "Non-nil if saving changed more than the hunks.")
  (hook-changed nil :documentation "What a hook changed in the latest save: `hunks' or `others'.")
  (hooked nil :documentation "Alist from ids of hunks that saving changed to their lines, or `out'.")
  (declared nil :documentation "(SYSTEM), what the file declared when it was visited, or nil.")
  (is-adapted nil :documentation "Non-nil if line ends were adapted.")
  (named-mode nil :documentation "(ALIST NAME . MODE): MODE is what NAME stands for in ALIST, `auto-mode-alist'.
To look through that takes long for thousands of files."))

(defun agent-q-diff-file-change-path (change)
  "Return the absolute name of the file of CHANGE, or nil."
  (agent-q-diff-target-path (agent-q-diff-file-change-target change)))

(defun agent-q-diff-file-change-link-above (change)
  "Return the link above the file of CHANGE that has to make way, or nil.
See the slot `in-place-of'."
  (let ((name (agent-q-diff-file-change-in-place-of change)))
    (and name
         (not (equal name (agent-q-diff-file-change-new-path change)))
         (file-symlink-p name)
         name)))

(defun agent-q-diff-file-change--truename (path link)
  "Return the true name of PATH, in which LINK, unless it is nil, will be a folder."
  (if link
      (agent-q-diff-visit-without-link path link)
    (agent-q-diff-file-truename path)))

(defun agent-q-diff-file-change-decided-operations (change)
  "Return those operations of CHANGE that are hunks.
That a file is created is decided with its lines, if it has any."
  (let ((operations (agent-q-diff-file-change-operations change)))
    (if (and (agent-q-diff-file-change-has-text change)
             (assq 'create operations))
        nil
      operations)))

(defun agent-q-diff-file-change-buffer (change)
  "Return the buffer of the target of CHANGE, or nil if there is none yet."
  (agent-q-diff-target-buffer (agent-q-diff-file-change-target change)))

(defun agent-q-diff-file-change-is-detached (change)
  "Return non-nil if the target of CHANGE is a text, not a file."
  (agent-q-diff-target-is-detached (agent-q-diff-file-change-target change)))

(defun agent-q-diff-file-change-is-lost (change)
  "Return non-nil if the file of CHANGE is gone, and no buffer has its text.
A file that was never visited, and cannot be any more, is gone as well."
  (let* ((target (agent-q-diff-file-change-target change))
         (buffer (agent-q-diff-target-buffer target)))
    (if (agent-q-diff-target-put-off target)
        (not (agent-q-diff-target-can-wait-p target))
      (and (memq (agent-q-diff-target-disk-state target) '(deleted irregular moved))
           (buffer-live-p buffer)
           (not (buffer-modified-p buffer))))))

(defun agent-q-diff-file-change-why-away (change)
  "Return why the name of CHANGE no longer leads to its file, or nil if it does.
If it does not, its buffer does not have the target's text."
  (let ((target (agent-q-diff-file-change-target change)))
    (and (agent-q-diff-target-lost target)
         (agent-q-diff-target-disk-message target))))

(defun agent-q-diff-file-change-unsaved-p (change)
  "Return non-nil if the target of CHANGE is a file whose buffer is not saved."
  (let* ((target (agent-q-diff-file-change-target change))
         (buffer (agent-q-diff-target-buffer target)))
    (and (buffer-live-p buffer)
         (not (agent-q-diff-target-is-detached target))
         (agent-q-diff-disk-unsaved-p buffer))))

(defun agent-q-diff-file-change-on-disk (change)
  "Return what the file of CHANGE has on disk.
That is t if it has the text of its target, its text, nil if there is no
such file, `buffer' if only a buffer that is not saved has it, or `unreadable'."
  (let* ((path (agent-q-diff-file-change-path change))
         (buffer (agent-q-diff-file-change-buffer change)))
    ;; The host of a remote file may be gone, and the caller needs a result.
    (condition-case nil
        (let ((buffer (if (buffer-live-p buffer) buffer (and path (find-buffer-visiting path)))))
          (cond
           ((or (null path) (agent-q-diff-file-change-is-detached change)) t)
           ((not (and (file-regular-p path) (not (file-symlink-p path))))
            (and buffer (agent-q-diff-disk-unsaved-p buffer) 'buffer))
           ;; After the end of its review, the engine follows no buffer.
           ((or (not (agent-q-diff-file-change-engine change))
                (and buffer (agent-q-diff-disk-unsaved-p buffer)))
            (car (agent-q-diff-coding-decode-bytes path (agent-q-diff-file-bytes path))))
           (t t)))
      ((error quit) 'unreadable))))

(defconst agent-q-diff-file-change--max-compared 1000000
  "Size in characters from which on keys do not compare an unsaved buffer.")

(defun agent-q-diff-file-change-unsaved-hunks (change)
  "Return the report on the hunks of CHANGE, if its buffer is not saved.
The value is a list of (MARK WHERE), as `agent-q-diff-module-report' has them.
It is nil if all is saved, and also if `agent-q-diff-save' is `never', since the
user knows then, or if there is too much to compare."
  (when (and (agent-q-diff-file-change-unsaved-p change)
             (not (eq agent-q-diff-save 'never))
             (agent-q-diff-file-change-engine change)
             (agent-q-diff-file-change-has-text change)
             (< (buffer-size (agent-q-diff-file-change-buffer change))
                agent-q-diff-file-change--max-compared))
    (mapcar (pcase-lambda (`(,hunk ,where . ,_))
              (list (agent-q-diff-engine-hunk-mark hunk) where))
            (cddr (agent-q-diff-engine-report (agent-q-diff-file-change-engine change) 0 0 nil
                                              (agent-q-diff-file-change-on-disk change))))))

(defun agent-q-diff-file-change-name (change)
  "Return the name of the file of CHANGE, without its directory, for display."
  (agent-q-diff-visible-name
   (file-name-nondirectory
    (agent-q-diff-target-path (agent-q-diff-file-change-target change)))))

(defun agent-q-diff-file-change-contradiction (change text)
  "Return how TEXT contradicts the coding system of the file of CHANGE, or nil.
TEXT, a string or a buffer, is what that file has or would have; see
`agent-q-diff-coding-contradiction'."
  (let* ((buffer (agent-q-diff-file-change-buffer change))
         (path (agent-q-diff-file-change-path change))
         ;; A file that was not visited yet is UTF-8.
         (was (or (agent-q-diff-file-change-declared change)
                  (agent-q-diff-file-change-original change))))
    (and was
         text
         (not (agent-q-diff-file-change-is-detached change))
         (agent-q-diff-coding-contradiction
          text path was
          (if (buffer-live-p buffer)
              (with-current-buffer buffer
                (agent-q-diff-coding-of-buffer))
            'utf-8)))))

;;;; Beginning and end

(defconst agent-q-diff-file-change--large 500000
  "Number of characters from which on visiting a file takes a while.")

(defun agent-q-diff-file-change-open (path original modified &optional check is-detached)
  "Return a new change of the file PATH from ORIGINAL to MODIFIED.
PATH is absolute.  If IS-DETACHED is non-nil, the target is not that file
but the text ORIGINAL, in a buffer of its own.  CHECK, a function or nil,
is called before each edit.  A large file is visited later if it is certain
that it has the text ORIGINAL.  Signal an error if nothing would change or
PATH cannot be a target."
  (cond
   (is-detached
    (agent-q-diff-file-change--open-target
     (agent-q-diff-target-detached path original check) original modified))
   (t
    (agent-q-diff-file-change--check-there path original)
    (if (< (length original) agent-q-diff-file-change--large)
        (agent-q-diff-file-change--open-now path original modified check)
      (agent-q-diff-file-change-open-later path original modified check)))))

(defun agent-q-diff-file-change--check-there (path original)
  "Refuse PATH if there is no such file, so that it cannot have the text ORIGINAL."
  (unless (or (equal original "")
              (file-exists-p path)
              ;; A link may lead to nothing, which is reported elsewhere.
              (file-symlink-p path)
              (find-buffer-visiting path))
    (agent-q-diff-file-refuse
     "%s does not exist, so it does not have the original text; check the path, or give an empty \
original for a new file"
     path)))

(defun agent-q-diff-file-change--open-now (path original modified check)
  "Return what `agent-q-diff-file-change-open' does, and visit PATH.
ORIGINAL, MODIFIED and CHECK are as for that function."
  (agent-q-diff-file-change--open-target
   (agent-q-diff-target-create :path path :check check) original modified))

(defun agent-q-diff-file-change--open-target (target original modified &optional is-written)
  "Return a new change of TARGET from ORIGINAL to MODIFIED.
IS-WRITTEN is as for `agent-q-diff-file-change-open-later'."
  (agent-q-diff-coding-check-surrogates modified original)
  (agent-q-diff-file-change--closing-on-error
   (agent-q-diff-file-change--create
    :original original :modified modified :target target)
   (lambda (change)
     (unless (agent-q-diff-target-is-detached target)
       (agent-q-diff-file-change--visit change))
     (agent-q-diff-file-change--load change original modified is-written))))

(defun agent-q-diff-file-change-open-later (path original modified &optional check written)
  "Return what `agent-q-diff-file-change-open' does, but visit PATH later.
If it is not certain which text PATH has, visit it now.  That is ORIGINAL, or
if WRITTEN is non-nil, MODIFIED, since the change was made before.  WRITTEN is
the coding system of the file then, as far as its text does not tell that.
ORIGINAL, MODIFIED and CHECK are as for that function."
  (let ((target (agent-q-diff-target-create :path path :check check :coding written))
        (engine nil))
    (cond
     ((and
       ;; Whether that is a change depends on the file.
       (not (string-prefix-p "\ufeff" original))
       (not (string-prefix-p "\ufeff" modified))
       (agent-q-diff-target-put-off-visit
        target (lambda (name)
                 (agent-q-diff-coding-check-surrogates modified original)
                 (setq engine (agent-q-diff-engine-review original modified))
                 (when written
                   (agent-q-diff-file-change--begin-written engine modified))
                 (agent-q-diff-file-change--has-original-p engine name))))
      (agent-q-diff-file-change--create
       ;; What its buffer will show when it is visited.
       :original (if written modified original)
       :modified modified :target target :engine engine))
     (t (when engine
          (agent-q-diff-module-free engine))
        (agent-q-diff-file-change--open-target target original modified (and written t))))))

(defun agent-q-diff-file-change--begin-written (engine modified)
  "Tell ENGINE that its change to MODIFIED was made before the review."
  (agent-q-diff-module-begin-written engine nil)
  (agent-q-diff-engine-call #'agent-q-diff-module-follow engine modified))

(defun agent-q-diff-file-change--has-original-p (engine name)
  "Return non-nil if the file NAME certainly has the original of ENGINE.
Visiting it would then show that text."
  (and (agent-q-diff-coding-prefers-utf-8-p)
       (let ((found (agent-q-diff-module-file-has-original
                     engine (encode-coding-string
                             name (or file-name-coding-system
                                      default-file-name-coding-system)))))
         (and found
              (not (agent-q-diff-coding-declares-p name (eq found 'may-declare)))))))

(defun agent-q-diff-file-change-without-text (path &optional check is-detached)
  "Return a new change of the file PATH, an absolute name, without hunks.
CHECK, a function or nil, is called before the file is changed.  If
IS-DETACHED is non-nil, the file is not accessed."
  (agent-q-diff-file-change--create
   :has-text nil
   :target (if is-detached
               (agent-q-diff-target-create :path path :check check :is-detached t)
             (agent-q-diff-target-create :path path :check check
                                         :truename (agent-q-diff-file-truename path)))))

(defun agent-q-diff-file-change-unopened (path)
  "Return a change without hunks, of the file PATH that could not be opened."
  (agent-q-diff-file-change--create
   :target (agent-q-diff-target-create :path path)))

(defun agent-q-diff-file-change--closing-on-error (change function)
  "Call FUNCTION with CHANGE, which is new, and return CHANGE.
If there is an error, close CHANGE first."
  (condition-case err
      (funcall function change)
    (error
     (agent-q-diff-file-change-close change)
     (signal (car err) (cdr err))))
  change)

(defun agent-q-diff-file-change-reopen (change)
  "Return a new change that continues CHANGE, whose review has ended.
It takes over what was kept of CHANGE.  Signal an error if nothing was
kept, or if the file can no longer be a target."
  (let* ((engine (or (agent-q-diff-file-change-kept-engine change)
                     (signal 'agent-q-diff-ended
                             '("the review has ended, and is not kept"))))
         (target (agent-q-diff-file-change-target change))
         (again (agent-q-diff-file-change--create
                 :target (agent-q-diff-target-create
                          :path (agent-q-diff-target-path target)
                          :check (agent-q-diff-target-check target)
                          :put-off (agent-q-diff-target-put-off target)
                          :coding (agent-q-diff-target-coding target)
                          :is-created (agent-q-diff-target-is-created target)
                          :missing (agent-q-diff-target-missing target)
                          :truename (cond
                                     ((agent-q-diff-target-put-off target)
                                      (agent-q-diff-target-truename target))
                                     ((not (agent-q-diff-file-change-has-text change))
                                      (agent-q-diff-file-change--truename
                                       (agent-q-diff-target-path target)
                                       (agent-q-diff-file-change-link-above change)))))
                 :engine engine
                 :has-text (agent-q-diff-file-change-has-text change)
                 :operations (agent-q-diff-file-change-operations change)
                 :annotations (agent-q-diff-file-change-annotations change)
                 :old-path (agent-q-diff-file-change-old-path change)
                 :new-path (agent-q-diff-file-change-new-path change)
                 :missing (agent-q-diff-file-change-missing change)
                 :in-place-of (agent-q-diff-file-change-in-place-of change)
                 :is-created (agent-q-diff-file-change-is-created change)
                 :deleted (agent-q-diff-file-change-deleted change))))
    (condition-case err
        (unless (agent-q-diff-file-change-can-wait-p again)
          (agent-q-diff-file-change-follow again))
      (error
       (setf (agent-q-diff-file-change-engine again) nil)
       (agent-q-diff-file-change-close again)
       (signal (car err) (cdr err))))
    (setf (agent-q-diff-file-change-kept-engine change) nil)
    again))

(defun agent-q-diff-file-change-return (change again)
  "Give CHANGE back what AGAIN took over from it, and close AGAIN."
  (let ((target (agent-q-diff-file-change-target change))
        (target-again (agent-q-diff-file-change-target again)))
    (setf (agent-q-diff-file-change-kept-engine change) (agent-q-diff-file-change-engine again)
          (agent-q-diff-file-change-engine again) nil
          (agent-q-diff-target-is-created target) (agent-q-diff-target-is-created target-again)
          (agent-q-diff-target-missing target) (agent-q-diff-target-missing target-again)
          (agent-q-diff-target-path target) (agent-q-diff-target-path target-again)
          (agent-q-diff-file-change-missing change) (agent-q-diff-file-change-missing again)
          (agent-q-diff-file-change-annotations change)
          (agent-q-diff-file-change-annotations again)
          (agent-q-diff-file-change-is-created change)
          (agent-q-diff-file-change-is-created again)
          (agent-q-diff-file-change-deleted change) (agent-q-diff-file-change-deleted again))
    ;; If somebody else has emptied a file that CHANGE created, it stays.
    (unless (agent-q-diff-file-change-is-edited again)
      (setf (agent-q-diff-target-is-created target-again) nil))
    (agent-q-diff-file-change-close again)))

(defun agent-q-diff-file-change-keepable-p (change)
  "Return non-nil if CHANGE, whose review is ending, may be needed again.
A change of a detached text is not, since none of it is in any file."
  (and (agent-q-diff-file-change-engine change)
       (agent-q-diff-file-change-path change)
       (not (agent-q-diff-file-change-is-detached change))
       (or (not (agent-q-diff-file-change-has-text change))
           (agent-q-diff-target-put-off (agent-q-diff-file-change-target change))
           (buffer-live-p (agent-q-diff-file-change-buffer change)))))

(defun agent-q-diff-file-change-keep (change)
  "Keep the engine's review of CHANGE, whose review is ending."
  (let ((buffer (agent-q-diff-file-change-buffer change)))
    (setf (agent-q-diff-file-change-kept-engine change)
          (agent-q-diff-file-change-engine change)
          (agent-q-diff-file-change-size change)
          (if buffer
              (buffer-size buffer)
            (length (agent-q-diff-file-change-original change)))
          (agent-q-diff-file-change-engine change) nil
          (agent-q-diff-file-change-original change) nil
          (agent-q-diff-file-change-modified change) nil)))

(defun agent-q-diff-file-change-forget (change)
  "Free the memory that was kept of CHANGE, whose review has ended."
  (when (agent-q-diff-file-change-kept-engine change)
    (agent-q-diff-module-free (agent-q-diff-file-change-kept-engine change))
    (setf (agent-q-diff-file-change-kept-engine change) nil)))

(defun agent-q-diff-file-change--load (change original modified &optional is-written)
  "Create the engine's review of CHANGE, for ORIGINAL becoming MODIFIED.
IS-WRITTEN is as for `agent-q-diff-file-change-open-later'."
  (let* ((target (agent-q-diff-file-change-buffer change))
         (tick (agent-q-diff-base-tick target)))
    (if (and (not is-written)
             (not (string-prefix-p "\ufeff" modified))
             (agent-q-diff-text-known-p target original))
        (progn
          (setf (agent-q-diff-file-change-engine change)
                (agent-q-diff-engine-review original modified))
          ;; The engine begins with just this text.
          (agent-q-diff-file-change--note-tick change tick))
      (agent-q-diff-file-change--load-adapted change original modified
                                              (agent-q-diff-text-in target) tick
                                              is-written))))

(defun agent-q-diff-file-change--has-mark-p (buffer)
  "Return non-nil if the file of BUFFER has a byte order mark.
One that is in the text of BUFFER does not count."
  (let ((coding (buffer-local-value 'buffer-file-coding-system buffer)))
    (and (buffer-file-name buffer)
         coding
         (coding-system-get coding :bom)
         t)))

(defun agent-q-diff-file-change--load-adapted (change original modified live tick is-written)
  "Set the engine's review of CHANGE, from ORIGINAL to MODIFIED.
Both are adapted to LIVE, the text of the target at TICK.  IS-WRITTEN is as for
`agent-q-diff-file-change-open-later'."
  (let* ((adapt (agent-q-diff-line-ends-adapter
                 original live
                 (agent-q-diff-line-ends (agent-q-diff-file-change-buffer change))
                 (agent-q-diff-file-change--has-mark-p
                  (agent-q-diff-file-change-buffer change))))
         (adapted (funcall adapt original))
         (proposed (funcall adapt modified)))
    (when (and (equal adapted proposed) (not (equal original modified)))
      (agent-q-diff-file-change--refuse-line-ends))
    (setf (agent-q-diff-file-change-is-adapted change)
          (not (and (equal original adapted) (equal modified proposed)))
          (agent-q-diff-file-change-engine change)
          (agent-q-diff-engine-review adapted proposed))
    ;; What else is in the target is then the user's, also where a comparison
    ;; with the original would not know that.
    (when is-written
      (agent-q-diff-file-change--begin-written (agent-q-diff-file-change-engine change)
                                               proposed))
    (if (equal live (if is-written proposed adapted))
        (agent-q-diff-file-change--note-tick change tick)
      (agent-q-diff-file-change-follow change))))

(defun agent-q-diff-file-change--refuse-line-ends ()
  "Signal that a proposal would change nothing in a buffer's text."
  (signal 'agent-q-diff-identical
          '("only line ends or the byte order mark would change, and \
those are the file's coding system; C-x RET f changes it")))

(defun agent-q-diff-file-change-open-diff (diff)
  "Return a new change of DIFF, a unified diff of one file.
Its path must be set before a hunk can be applied; see
`agent-q-diff-file-change-aim'."
  (agent-q-diff-file-change--create
   :target (agent-q-diff-target-create)
   :engine (agent-q-diff-engine-review-diff (agent-q-diff-parts-unified diff))))

(defun agent-q-diff-file-change-open-patch (path diff &optional check can-wait)
  "Return a new change of the file PATH, an absolute name, by DIFF.
DIFF is a unified diff, whose hunks are placed in the file as it is now.
CHECK, a function or nil, is called before each edit.  If CAN-WAIT is
non-nil, and the text of PATH is certain, visit it later.  Signal an error
if DIFF is malformed or PATH cannot be a target."
  (setq diff (agent-q-diff-parts-unified diff))
  (agent-q-diff-coding-check-surrogates
   diff (replace-regexp-in-string "^\\+.*" "" diff))
  (let* ((target (agent-q-diff-target-create :path path :check check))
         (text (and can-wait
                    (agent-q-diff-target-put-off-visit
                     target #'agent-q-diff-coding-plain-text))))
    (agent-q-diff-file-change--closing-on-error
     (agent-q-diff-file-change--create :target target)
     (lambda (change)
       (if text
           (with-temp-buffer
             (insert text)
             (agent-q-diff-file-change--load-patch change diff (current-buffer))
             (agent-q-diff-file-change--take-in change (current-buffer)
                                                (agent-q-diff-base-tick)))
         (agent-q-diff-file-change--load-patch change diff
                                               (agent-q-diff-file-change--visit change))
         (agent-q-diff-file-change-follow change))))))

(defun agent-q-diff-file-change--load-patch (change diff buffer)
  "Create the engine's review of CHANGE, for DIFF of the text in BUFFER."
  (let* ((adapted (agent-q-diff-file-change--adapt-diff diff buffer))
         (engine (agent-q-diff-file-change--diff-engine diff adapted buffer))
         (is-adapted (not (equal diff adapted))))
    (setf (agent-q-diff-file-change-is-adapted change) is-adapted
          (agent-q-diff-file-change-engine change) engine)
    (when (and is-adapted (agent-q-diff-module-is-idle engine))
      (agent-q-diff-file-change--refuse-line-ends))))

(defun agent-q-diff-file-change--diff-engine (diff adapted target)
  "Return the engine's review of DIFF for the buffer TARGET.
ADAPTED is DIFF adapted to TARGET.  If the file has CR line ends and DIFF
shows all of it as one line, the review is that of the two texts, with a
hunk for each change."
  (pcase (agent-q-diff-line-ends-cr-texts diff (agent-q-diff-line-ends target))
    (`(,old . ,new) (agent-q-diff-engine-review old new))
    (_ (agent-q-diff-engine-review-diff adapted))))

(defun agent-q-diff-file-change--mark-diff (diff has-mark)
  "Return DIFF for a text that begins with a byte order mark if HAS-MARK, else not.
A line that would only lose or get one is context."
  (with-temp-buffer
    (insert diff)
    (goto-char (point-min))
    (while (re-search-forward
            "^-\\(?:\ufeff\\(.*\n\\)\\+\\1\\|\\(.*\n\\)\\+\ufeff\\2\\)" nil t)
      (replace-match (concat " " (or (match-string 1) (match-string 2))) t t))
    (goto-char (point-min))
    (while (re-search-forward "^[-+ ]\\(\ufeff\\)" nil t)
      (replace-match "" t t nil 1))
    (goto-char (point-min))
    (when (and has-mark (re-search-forward "^@@ -1[ ,].*\n" nil t))
      (dolist (sign '(?- ?+))
        (save-excursion
          (while (not (memq (char-after) (list sign ?\s nil ?@)))
            (forward-line))
          (when (and (memq (char-after) (list sign ?\s))
                     (not (eq ?\ufeff (char-after (1+ (point))))))
            (forward-char)
            (insert "\ufeff")))))
    (buffer-string)))

(defun agent-q-diff-file-change--adapt-diff (diff target)
  "Return DIFF for the buffer TARGET.
Line ends and byte order mark are adapted as for a whole text; see
`agent-q-diff-line-ends-adapt-diff'."
  (let* ((live (agent-q-diff-text-in target))
         (unmarked (agent-q-diff-file-change--mark-diff diff (string-prefix-p "\ufeff" live))))
    (agent-q-diff-line-ends-adapt-diff
     unmarked
     ;; A file that is new, or empty, has no line ends to adapt to.
     (if (string-search "\n" live)
         (agent-q-diff-file-change--hunk-lines unmarked)
       unmarked)
     live (agent-q-diff-line-ends target))))

(defun agent-q-diff-file-change--hunk-lines (diff)
  "Return the lines in the hunks of DIFF, whose line ends are the file's.
The lines around the hunks are left out, since git ends these with LF,
whatever the file has; so is a last line without a newline."
  (with-temp-buffer
    (insert diff)
    (goto-char (point-min))
    (flush-lines "^\\(?:--- \\|\\+\\+\\+ \\|[^-+ \n]\\)\\|^[-+ ].*\n\\\\")
    (buffer-string)))

(defun agent-q-diff-file-change-close (change)
  "Free the memory of CHANGE, and close its target unless somebody needs it."
  (agent-q-diff-file-change--cease change)
  (when (agent-q-diff-file-change-engine change)
    (agent-q-diff-module-free (agent-q-diff-file-change-engine change))
    (setf (agent-q-diff-file-change-engine change) nil))
  (agent-q-diff-target-close (agent-q-diff-file-change-target change)
                             (agent-q-diff-file-change-is-edited change)))

;;; The target

(defun agent-q-diff-file-change--visit (change)
  "Visit the target of CHANGE and return its buffer."
  (agent-q-diff-file-change--cease change)
  ;; The ticks of another buffer mean nothing in this one.
  (setf (agent-q-diff-file-change-tick change) nil
        (agent-q-diff-file-change-told change) nil)
  (let* ((target (agent-q-diff-file-change-target change))
         (was-put-off (agent-q-diff-target-put-off target))
         (expected (and was-put-off (agent-q-diff-file-change-original change)))
         (buffer (agent-q-diff-target-visit target)))
    (unless (agent-q-diff-file-change-declared change)
      (setf (agent-q-diff-file-change-declared change)
            (list (agent-q-diff-coding-declared buffer (buffer-file-name buffer)))))
    (when (if (agent-q-diff-target-lost target)
              ;; What was in the file when it was lost counts, not what is in
              ;; this buffer, which is empty or another file's.
              (not was-put-off)
            ;; The usual case; it makes less garbage than following the buffer.
            (and expected (agent-q-diff-text-known-p buffer expected)))
      (agent-q-diff-file-change--note-tick change (agent-q-diff-base-tick buffer)))
    buffer))

(defun agent-q-diff-file-change--ensure-target (change)
  "Return the buffer of the target of CHANGE.
Visit the file again if the buffer was killed or now visits another file."
  (let ((target (agent-q-diff-file-change-target change)))
    (cond
     ((agent-q-diff-target-live-p target) (agent-q-diff-target-buffer target))
     ((agent-q-diff-target-is-detached target)
      (signal 'agent-q-diff-bad-target '("the buffer with its text was killed")))
     (t (agent-q-diff-file-change--visit change)))))

(defun agent-q-diff-file-change-can-wait-p (change)
  "Return non-nil if there is nothing to follow in the file of CHANGE.
It has no hunks, or it was not visited yet and its text has not changed."
  (or (not (agent-q-diff-file-change-has-text change))
      (agent-q-diff-target-can-wait-p (agent-q-diff-file-change-target change))))

(defun agent-q-diff-file-change-aim (change path)
  "Make PATH, an absolute name or nil, the path of CHANGE's target."
  (unless (equal path (agent-q-diff-file-change-path change))
    (agent-q-diff-file-change--cease change)
    (setf (agent-q-diff-file-change-target change) (agent-q-diff-target-create :path path)
          (agent-q-diff-file-change-tick change) nil
          (agent-q-diff-file-change-told change) nil)))

(defun agent-q-diff-file-change-follow (change)
  "Bring CHANGE up to date with its target.  Return non-nil if that is news.
A target without unsaved edits follows its file first.  Most edits were
reported to the engine as they were made; those that it missed are found by
comparing texts."
  (let ((buffer (agent-q-diff-file-change--ensure-target change))
        (is-news (not (eq (agent-q-diff-file-change-told change)
                          (agent-q-diff-file-change-tick change))))
        (rounds 0)
        tick)
    (agent-q-diff-target-sync (agent-q-diff-file-change-target change))
    (while (not (eq (setq tick (agent-q-diff-base-tick buffer))
                    (agent-q-diff-file-change-tick change)))
      ;; A hook may change the text meanwhile.
      (when (> (cl-incf rounds) 100)
        (error "The text of %s keeps changing; try again"
               (buffer-name buffer)))
      (let ((found (agent-q-diff-file-change--take-in change buffer tick)))
        (unless (eq found 'changed)
          (agent-q-diff-file-change--note-tick change tick)
          (setq is-news (or found is-news)))))
    (and (> rounds 0) is-news)))

(defun agent-q-diff-file-change-follow-undo (change)
  "Bring CHANGE, written before, up to date with its target, which was saved.
What the user took out and an undo has brought back is pending again."
  (agent-q-diff-file-change-follow change)
  (when (agent-q-diff-module-follow-undo (agent-q-diff-file-change-engine change))
    ;; For the next one who follows, that is news.
    (setf (agent-q-diff-file-change-tick change) nil)
    (when (agent-q-diff-file-change-edited-function change)
      (funcall (agent-q-diff-file-change-edited-function change)))))

(defun agent-q-diff-file-change-edit (change part)
  "Make the edits of PART, an `agent-q-diff-engine-part', in the target of CHANGE.
Return the target's tick from before saving, for
`agent-q-diff-file-change-note-edited'."
  (let ((agent-q-diff-outside-speaker (agent-q-diff-file-change-listener change))
        (agent-q-diff-save-of-new (agent-q-diff-file-change-is-created change)))
    (agent-q-diff-target-edit (agent-q-diff-file-change-target change)
                              (agent-q-diff-engine-part-edits part)
                              (agent-q-diff-engine-part-offsets part))))

(defun agent-q-diff-file-change-note-edited (change tick)
  "Record that an edit of CHANGE is committed; TICK is the target's tick.
Return non-nil if a hook has changed the text since, on saving."
  (setf (agent-q-diff-file-change-is-edited change) t
        (agent-q-diff-file-change-hook-changed change) nil
        (agent-q-diff-file-change-tick change) tick
        (agent-q-diff-file-change-told change) tick)
  (not (eq tick (agent-q-diff-base-tick
                 (agent-q-diff-target-buffer (agent-q-diff-file-change-target change))))))

(defun agent-q-diff-file-change--note-tick (change tick)
  "Record that the engine of CHANGE knows the target as it is at TICK.
From then on, edits are reported to the engine, unless the buffer is that of
another file."
  (setf (agent-q-diff-file-change-tick change) tick
        (agent-q-diff-file-change-told change) tick)
  (unless (agent-q-diff-file-change-why-away change)
    (agent-q-diff-file-change--listen change)))

(defun agent-q-diff-file-change--take-in (change buffer tick)
  "Bring the engine of CHANGE up to date with BUFFER, the target, at TICK.
Return non-nil if that is news to the engine, and `changed' if BUFFER has
changed meanwhile, so that the engine learned nothing."
  (let* ((engine (agent-q-diff-file-change-engine change))
         (is-news (if (eq tick (agent-q-diff-file-change-told change))
                      (agent-q-diff-module-recognize engine (buffer-size buffer))
                    'follow)))
    (cond
     ((not (eq is-news 'follow)) is-news)
     ((agent-q-diff-file-change--adopt-blob engine buffer))
     (t (with-current-buffer buffer
          (agent-q-diff-engine-follow engine))))))

(defun agent-q-diff-file-change--adopt-blob (engine buffer)
  "Tell ENGINE if its diff names the text of BUFFER; return non-nil if so.
Git writes the ids of both texts above the hunks.  If one is that of
BUFFER, every line number in the diff is certain."
  (pcase (agent-q-diff-module-blobs engine)
    (`(,old . ,new)
     (let ((ids (agent-q-diff-git-blob-ids buffer)))
       (cl-flet ((named-p (id)
                   (seq-some (lambda (full) (string-prefix-p id full)) ids)))
         (when-let ((side (cond ((named-p old) 'old)
                                ((named-p new) 'new))))
           (agent-q-diff-engine-call #'agent-q-diff-module-adopt engine
                                     (agent-q-diff-text-in buffer) (eq side 'new))))))))

(defun agent-q-diff-file-change--listen (change)
  "Report edits of its target to CHANGE from now on."
  (unless (agent-q-diff-file-change-listener change)
    (let ((listener (lambda (was now n-before n-behind n-chars text is-undo)
                      (agent-q-diff-file-change--learn change was now n-before n-behind
                                                       n-chars text is-undo))))
      (setf (agent-q-diff-file-change-listener change) listener)
      (agent-q-diff-outside-listen (agent-q-diff-file-change-buffer change)
                                   listener)
      (agent-q-diff-file-change--watch change listener))))

(defun agent-q-diff-file-change--watch (change listener)
  "Have CHANGE learn when the user's buffer of its target is saved or reverted.
LISTENER is bound as `agent-q-diff-outside-speaker' while CHANGE saves it."
  (let ((buffer (agent-q-diff-target-visitor (agent-q-diff-file-change-target change)))
        (function (lambda ()
                    (unless (eq listener agent-q-diff-outside-speaker)
                      (agent-q-diff-file-change--tell-edited change)))))
    (setf (agent-q-diff-file-change-watched change) (cons buffer function))
    (with-current-buffer buffer
      (add-hook 'after-save-hook function nil t)
      (add-hook 'after-revert-hook function nil t))))

(defun agent-q-diff-file-change--tell-edited (change)
  "Say that the target of CHANGE may be another one now, if somebody wants to know."
  (when (agent-q-diff-file-change-edited-function change)
    (funcall (agent-q-diff-file-change-edited-function change))))

(defun agent-q-diff-file-change--cease (change)
  "Stop reporting edits of its target to CHANGE."
  (when (agent-q-diff-file-change-listener change)
    (agent-q-diff-outside-cease (agent-q-diff-file-change-buffer change)
                                (agent-q-diff-file-change-listener change))
    (setf (agent-q-diff-file-change-listener change) nil)
    (pcase-let ((`(,buffer . ,function) (agent-q-diff-file-change-watched change)))
      (agent-q-diff-base-with-live buffer
        (remove-hook 'after-save-hook function t)
        (remove-hook 'after-revert-hook function t)))))

(defun agent-q-diff-file-change--learn (change was now n-before n-behind n-chars text is-undo)
  "Report to the engine of CHANGE an edit that somebody else made.
WAS, NOW, N-BEFORE, N-BEHIND, N-CHARS, TEXT and IS-UNDO are as for the
function in `agent-q-diff-outside-listen'.  If an edit before it
was missed, leave both to `agent-q-diff-file-change-follow'.  Leave a revert
to that as well: it replaces everything from the first to the last line that
differs, although nobody has rewritten the lines between them."
  (when (and (not revert-buffer-in-progress-p)
             (eq was (agent-q-diff-file-change-told change))
             (agent-q-diff-engine-edit-outside
              (agent-q-diff-file-change-engine change)
              n-before n-behind n-chars text is-undo))
    (setf (agent-q-diff-file-change-told change) now))
  (agent-q-diff-file-change--tell-edited change))

(provide 'agent-q-diff-file-change)
;;; agent-q-diff-file-change.el ends here
