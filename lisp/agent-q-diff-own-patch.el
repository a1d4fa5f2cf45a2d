;;; agent-q-diff-own-patch.el --- Patches that agents make with their own tools  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A patch of several files, or of more than text, in Codex's format, that an
;; agent's own tool is about to apply.  The program agent-q-diff, which the agent
;; runs as a hook, requests a decision: `decide_patch'.  As for one file (see
;; agent-q-diff-own-tool.el), the review is of texts that are in no file yet, the
;; tool then writes what was decided, and `check_edit' compares all files with
;; that.
;;
;; If a file has unsaved edits, or the tool may leave something else than the
;; program says, Emacs applies what is decided, all files or none, and the tool is
;; not run.
;;
;; The arguments of `decide_patch' are a hash table: diff (the patch, with
;; absolute names), tool, call, session, and files, a vector that is missing if
;; Emacs has to apply the patch.  Each of its elements is a hash table:
;;
;; path, to        its absolute name, and its new one, if it gets one
;; original        its text, missing if it is new
;; modified        its text after, missing if it is to be deleted
;; encoding_before, encoding
;;                 how the file is encoded, and how it is to be
;; crlf            whether the lines of both texts end with CRLF in the file

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-own-agent)
(require 'agent-q-diff-change)
(require 'agent-q-diff-input)
(require 'agent-q-diff-session)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-api)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-message)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-permit)
(require 'agent-q-diff-tools)

;;;; A file of a patch

(cl-defstruct (agent-q-diff-own-patch--file (:constructor agent-q-diff-own-patch--file-create)
                                     (:copier nil))
  "A file that an agent's own tool is about to patch, and what was decided."
  (path nil :documentation "Its absolute name.")
  (to nil :documentation "Its new name, or nil.")
  (original nil :documentation "Its text before, or nil if it is new.")
  (modified nil :documentation "Its text after, or nil if it is to be deleted.")
  (encoding-before nil :documentation "How it is encoded, a string or nil.")
  (encoding nil :documentation "How it is to be encoded, a string or nil.")
  (is-crlf nil :documentation "Non-nil if the lines in the file end with CRLF.")
  (check nil :documentation "Function that signals an error if the file must not be written.")
  (text nil :documentation "The text that it is to have, or nil if there is to be no file.")
  (is-renamed nil :documentation "Non-nil if it is to get its new name."))

;;;; What is proposed for it

(defun agent-q-diff-own-patch--file-of (file)
  "Return the `agent-q-diff-own-patch--file' in FILE, a hash table.
It is to become as the patch says."
  (let ((modified (gethash "modified" file))
        (to (gethash "to" file)))
    (agent-q-diff-own-patch--file-create
     :path (gethash "path" file) :to to
     :original (gethash "original" file) :modified modified
     :encoding-before (gethash "encoding_before" file) :encoding (gethash "encoding" file)
     :is-crlf (eq t (gethash "crlf" file))
     :text modified :is-renamed (and to t))))

(defun agent-q-diff-own-patch--file-changes-p (file)
  "Return non-nil if the patch would change FILE."
  (or (agent-q-diff-own-patch--file-to file)
      (not (equal (agent-q-diff-own-patch--file-original file)
                  (agent-q-diff-own-patch--file-modified file)))))

(defun agent-q-diff-own-patch--file-whole-p (file)
  "Return non-nil if all that was proposed for FILE was accepted."
  (and (equal (agent-q-diff-own-patch--file-text file)
              (agent-q-diff-own-patch--file-modified file))
       (eq (null (agent-q-diff-own-patch--file-to file))
           (null (agent-q-diff-own-patch--file-is-renamed file)))))

(defun agent-q-diff-own-patch--file-proposal (file text to)
  "Return what `agent-q-diff-review-change' takes for FILE.
FILE is to have TEXT, or to be deleted if that is nil, and the name TO, or
its present one if that is nil."
  (let ((original (agent-q-diff-own-patch--file-original file)))
    (append (list :path (agent-q-diff-own-patch--file-path file)
                  :check (agent-q-diff-own-patch--file-check file))
            (and to (list :to to))
            (cond
             ((null original) (list :content text))
             ((null text) (list :delete t :original original))
             ((not (equal original text)) (list :original original :modified text))))))

;;;; What was decided

(defun agent-q-diff-own-patch--file-note-decision (file result)
  "Record in FILE what was decided about it; RESULT is the file's result."
  (let ((original (agent-q-diff-own-patch--file-original file))
        (modified (agent-q-diff-own-patch--file-modified file)))
    (cl-flet ((is-in (operation)
                (seq-some (lambda (hunk)
                            (and (eq operation (plist-get hunk :operation))
                                 (plist-get hunk :in-file)))
                          (plist-get result :hunks))))
      (setf (agent-q-diff-own-patch--file-is-renamed file) (is-in 'rename)
            (agent-q-diff-own-patch--file-text file)
            (cond
             ((null original) (and (< 0 (plist-get result :in-file))
                                   (or (plist-get result :content) "")))
             ((null modified) (if (is-in 'delete) nil original))
             (t (or (plist-get result :content) original)))))))

(defun agent-q-diff-own-patch--file-clean-p (file)
  "Return non-nil if FILE is to have no text that cannot be sent to the program."
  (let ((text (or (agent-q-diff-own-patch--file-text file) "")))
    (equal text (agent-q-diff-base-clean text))))

(defun agent-q-diff-own-patch--file-verdict (file)
  "Return what the program is told about FILE, an alist."
  (let ((text (agent-q-diff-own-patch--file-text file)))
    `((there . ,(if text t :false))
      (renamed . ,(if (agent-q-diff-own-patch--file-is-renamed file) t :false))
      ,@(and text
             (not (equal text (agent-q-diff-own-patch--file-original file)))
             `((text . ,text))))))

;;;; What is on disk

(defun agent-q-diff-own-patch--file-as-before-p (file)
  "Return non-nil if FILE on disk is as it was before the user decided."
  (let ((to (agent-q-diff-own-patch--file-to file)))
    (and (not (and to (file-exists-p to)))
         (agent-q-diff-own-patch--file-has-p file (agent-q-diff-own-patch--file-path file)
                                       (agent-q-diff-own-patch--file-original file)))))

(defun agent-q-diff-own-patch--file-as-decided-p (file)
  "Return non-nil if FILE on disk is what was decided."
  (let* ((path (agent-q-diff-own-patch--file-path file))
         (to (agent-q-diff-own-patch--file-to file))
         (is-renamed (agent-q-diff-own-patch--file-is-renamed file))
         (other (if is-renamed path to)))
    (and (not (and other (file-exists-p other)))
         (agent-q-diff-own-patch--file-has-p file (if is-renamed to path)
                                       (agent-q-diff-own-patch--file-text file)))))

(defun agent-q-diff-own-patch--file-has-p (file name text)
  "Return non-nil if FILE, which is called NAME now, has TEXT.
If TEXT is nil, return non-nil if there is no such file."
  (if text
      (and (agent-q-diff-file-regular-p name)
           (agent-q-diff-file-has-bytes-p name (agent-q-diff-own-patch--file-bytes file text)))
    (not (file-exists-p name))))

(defun agent-q-diff-own-patch--file-name (file)
  "Return the name that FILE is to have."
  (if (agent-q-diff-own-patch--file-is-renamed file)
      (agent-q-diff-own-patch--file-to file)
    (agent-q-diff-own-patch--file-path file)))

(defun agent-q-diff-own-patch--file-text-on-disk (file)
  "Return the text of FILE on disk, which has the name that it is to have, or nil."
  (let ((name (agent-q-diff-own-patch--file-name file))
        (coding-system-for-read 'utf-8-auto-unix))
    (when (agent-q-diff-file-regular-p name)
      (with-temp-buffer
        (insert-file-contents name)
        (buffer-string)))))

(defun agent-q-diff-own-patch--file-difference (file)
  "Return what is known about FILE, which is not what was decided.
The value is as from `agent-q-diff-own-agent-difference'.  A file that is
where none was to be, or is not where one was, was not reformatted."
  (let ((other (if (agent-q-diff-own-patch--file-is-renamed file)
                   (agent-q-diff-own-patch--file-path file)
                 (agent-q-diff-own-patch--file-to file))))
    (if (and other (file-exists-p other))
        'wrong
      (agent-q-diff-own-agent-difference
       :text (agent-q-diff-own-patch--file-text-on-disk file)
       :original (agent-q-diff-own-patch--file-original file)
       :decided (agent-q-diff-own-patch--file-text file)
       :proposed (agent-q-diff-own-patch--file-modified file)))))

(defun agent-q-diff-own-patch--file-bytes (file text)
  "Return the bytes of FILE if it has TEXT."
  (let ((is-as-before (equal text (agent-q-diff-own-patch--file-original file))))
    (concat (if (equal "utf-8 with BOM"
                       (if is-as-before
                           (agent-q-diff-own-patch--file-encoding-before file)
                         (agent-q-diff-own-patch--file-encoding file)))
                "\xef\xbb\xbf"
              "")
            (encode-coding-string (if (agent-q-diff-own-patch--file-is-crlf file)
                                      (string-replace "\n" "\r\n" text)
                                    text)
                                  'utf-8-unix))))

(defun agent-q-diff-own-patch--file-follow (file)
  "Let a buffer without unsaved edits that visits FILE follow it, and its new name."
  (when-let ((buffer (find-buffer-visiting (agent-q-diff-own-patch--file-path file))))
    (unless (agent-q-diff-disk-unsaved-p buffer)
      (when (agent-q-diff-own-patch--file-is-renamed file)
        (with-current-buffer buffer
          (set-visited-file-name (agent-q-diff-own-patch--file-to file) t t)
          (set-buffer-modified-p nil)))
      (agent-q-diff-disk-sync buffer))))

;;;; The patch

(cl-defstruct (agent-q-diff-own-patch-edit (:constructor agent-q-diff-own-patch-edit-create)
                                           (:copier nil))
  "A patch that an agent's own tool is about to apply."
  (call nil :documentation "Id of the call, a string.")
  (tool nil :documentation "Name of the agent's tool.")
  (session nil :documentation "The agent's session, a string or nil.")
  (is-shell nil :documentation "Non-nil if it is in a shell command, whose directory the agent chose.")
  (diff nil :documentation "The patch.")
  (files nil :documentation "Its files, or nil if Emacs has to apply it.")
  (planning nil :documentation "Notes for the user if the agent will not apply it.")
  (notes nil :documentation "What the user is told about the files, a list of strings.")
  (result nil :documentation "The result of its review, or nil if there was none.")
  (by nil :documentation "Why there was no review: `policy', `session', `none', or nil."))

;;;; What is requested

(defun agent-q-diff-own-patch--edit-of (arguments)
  "Return the edit in ARGUMENTS, a hash table, or signal what is wrong with it."
  (dolist (key '("diff" "tool" "call"))
    (unless (stringp (gethash key arguments))
      (signal 'agent-q-diff-bad-arguments (list (format "%s must be a string" key)))))
  (agent-q-diff-own-patch-edit-create
   :call (gethash "call" arguments) :tool (gethash "tool" arguments)
   :session (gethash "session" arguments) :diff (gethash "diff" arguments)
   :is-shell (eq t (gethash "shell" arguments))
   :planning (agent-q-diff-own-agent-planning-notes arguments)
   :files (mapcar #'agent-q-diff-own-patch--file-of (gethash "files" arguments))))

(defun agent-q-diff-own-patch--proposal (edit)
  "Return the arguments of a tool that proposes EDIT, an alist."
  `((diff . ,(agent-q-diff-own-patch-edit-diff edit)) (description . "")))

(defun agent-q-diff-own-patch--aim (edit)
  "Have the guard look at all files of EDIT, and return a request for each.
What the tool would write counts, whatever the patch calls it.  If a file is
not for agents, signal an error.  The project is `default-directory'."
  (let* ((files (agent-q-diff-own-patch-edit-files edit))
         (proposals (if files
                        (mapcar (lambda (file)
                                  (list :path (agent-q-diff-own-patch--file-path file)
                                        :to (agent-q-diff-own-patch--file-to file)))
                                files)
                      (agent-q-diff-input-of-diff (agent-q-diff-own-patch-edit-diff edit))))
         (requests (agent-q-diff-tools-requests
                    (agent-q-diff-own-patch-edit-tool edit) proposals default-directory
                    (agent-q-diff-own-patch--proposal edit))))
    (pcase-let ((`(,checked . ,notes) (agent-q-diff-tools-targets proposals requests)))
      (unless files
        (mapc #'agent-q-diff-own-patch--check-there checked))
      (setf (agent-q-diff-own-patch-edit-notes edit)
            (append notes
                    (mapcan (lambda (file)
                              (let ((path (agent-q-diff-own-patch--file-path file))
                                    (original (agent-q-diff-own-patch--file-original file)))
                                (append
                                 (agent-q-diff-own-agent-later-notes
                                  (agent-q-diff-own-patch-edit-tool edit) path original)
                                 (agent-q-diff-own-agent-coding-notes
                                  path original (agent-q-diff-own-patch--file-modified file)
                                  (agent-q-diff-own-patch--file-encoding file)))))
                            files)))
      (cl-mapc (lambda (file proposal)
                 (setf (agent-q-diff-own-patch--file-check file) (plist-get proposal :check)))
               files checked)
      requests)))

;;;; Who decides, and who writes

(defun agent-q-diff-own-patch--check-there (proposal)
  "Signal `agent-q-diff-no-file' if PROPOSAL is for a file that does not exist.
It must exist if it is to be updated or deleted."
  (let ((path (plist-get proposal :path)))
    (unless (or (not (or (plist-get proposal :update) (plist-get proposal :delete)))
                (agent-q-diff-operation-exists-p path)
                (find-buffer-visiting path))
      (signal 'agent-q-diff-no-file
              (list (format "%s does not exist" (agent-q-diff-visible path)))))))

(defun agent-q-diff-own-patch--changed (edit)
  "Return the files of EDIT that would not stay as they are."
  (seq-filter #'agent-q-diff-own-patch--file-changes-p (agent-q-diff-own-patch-edit-files edit)))

(defun agent-q-diff-own-patch--allowance (edit requests)
  "Return why EDIT, with REQUESTS, needs no review, or nil.
It is `denied', `policy', `session', or `none' if nothing would change."
  (let ((allowances (mapcar #'agent-q-diff-own-agent-allowance requests)))
    (cond
     ((memq 'denied allowances) 'denied)
     ((and (agent-q-diff-own-patch-edit-files edit)
           (null (agent-q-diff-own-patch--changed edit)))
      'none)
     ;; Whatever is allowed is allowed in a project, and which one is not known.
     ((agent-q-diff-own-patch-edit-is-shell edit) nil)
     ((not (memq nil allowances)) (car allowances)))))

(defun agent-q-diff-own-patch--why-emacs (edit)
  "Return why Emacs has to apply EDIT, or nil.
It is `unsaved' if a file has unsaved edits in a buffer, and `unknown' if the
tool may leave something else."
  (cond
   ((null (agent-q-diff-own-patch-edit-files edit)) 'unknown)
   ((seq-some #'agent-q-diff-disk-unsaved-file-p
              (mapcar #'agent-q-diff-own-patch--file-path (agent-q-diff-own-patch-edit-files edit)))
    'unsaved)))

(defun agent-q-diff-own-patch-decide (arguments answer)
  "Let the user decide about the patch in ARGUMENTS, a hash table.
ANSWER is called once, with a message, whether that is an error, and a
verdict for the program, an alist.  Return the review, or nil if there is
none.  If a file is not for agents, signal an error; but a mistake in the
patch is answered, so that the agent can send another.

The verdict is \"allow\", \"change\" or \"deny\".  With \"change\", the
alist has files, a vector with an alist for each file in ARGUMENTS: there
\(whether there is to be such a file), renamed (whether it is to get its new
name), and text, if it is to be another than before."
  (let ((default-directory (agent-q-diff-guard-root))
        (edit (agent-q-diff-own-patch--edit-of arguments)))
    (condition-case err
        (agent-q-diff-own-patch--decide edit answer)
      (agent-q-diff-error
       (unless (agent-q-diff-own-agent-mistake-p (car err))
         (signal (car err) (cdr err)))
       (funcall answer
                (agent-q-diff-own-patch--with-advice
                 (format "The patch was not run: %s" (agent-q-diff-error-text err)))
                nil '((verdict . "deny")))
       nil))))

(defun agent-q-diff-own-patch--with-advice (message)
  "Return MESSAGE about a mistake in a patch, with what the agent can do."
  (concat message ". Read the files, and send another patch."))

(defun agent-q-diff-own-patch--decide (edit answer)
  "Let the user decide about EDIT; see `agent-q-diff-own-patch-decide'.
ANSWER is that function's.  If the patch has a mistake, signal an error."
  (let* ((requests (agent-q-diff-own-patch--aim edit))
         (by (agent-q-diff-own-patch--allowance edit requests))
         (why (agent-q-diff-own-patch--why-emacs edit)))
    (if (or (eq by 'none) (and (memq by '(policy session)) (not why)))
        (progn
          (setf (agent-q-diff-own-patch-edit-by edit) by)
          (agent-q-diff-own-patch--remember edit)
          (funcall answer "" nil '((verdict . "allow")))
          nil)
      (let ((review (if (or why by)
                        (agent-q-diff-own-patch--review-files edit why by answer)
                      (agent-q-diff-own-patch--review-texts edit answer))))
        (when review
          (agent-q-diff-own-patch--begun edit review requests)
          (when (and why by (not (agent-q-diff-session-outcome review)))
            (agent-q-diff-own-patch--accept review by)))
        review))))

(defun agent-q-diff-own-patch--begun (edit review requests)
  "Note that REVIEW is for EDIT, and offer a grant unless REQUESTS forbid it.
The project is `default-directory'."
  (unless (agent-q-diff-session-outcome review)
    (agent-q-diff-own-agent-note-session review (agent-q-diff-own-patch-edit-session edit))
    (unless (or (agent-q-diff-own-patch-edit-is-shell edit)
                (seq-some #'agent-q-diff-request-protection requests))
      (agent-q-diff-own-agent-offer review default-directory))))

;;;; Texts, which the tool writes

(defun agent-q-diff-own-patch--review-texts (edit answer)
  "Begin the review of the texts that EDIT would leave, and return it.
ANSWER is as for `agent-q-diff-own-patch-decide'."
  (let ((agent-q-diff-tool (agent-q-diff-own-patch-edit-tool edit))
        (session (agent-q-diff-own-patch-edit-session edit))
        (caller agent-q-diff-caller))
    (agent-q-diff-review-change
     (mapcar (lambda (file)
               (agent-q-diff-own-patch--file-proposal
                file (agent-q-diff-own-patch--file-modified file)
                (agent-q-diff-own-patch--file-to file)))
             (agent-q-diff-own-patch--changed edit))
     "" (lambda (result)
          (let ((agent-q-diff-caller caller))
            (agent-q-diff-own-patch--decided edit result answer)))
     :notes (append (agent-q-diff-own-patch-edit-planning edit)
                    (agent-q-diff-own-patch-edit-notes edit)
                    (list (format "You decide what %s writes."
                                  (agent-q-diff-own-agent-tool
                                   (agent-q-diff-own-patch-edit-tool edit) session))))
     :agent (agent-q-diff-own-agent-label session)
     :detached t)))

(defun agent-q-diff-own-patch--decided (edit result answer)
  "Answer what the user decided about EDIT by RESULT, that of a review of texts.
ANSWER is as for `agent-q-diff-own-patch-decide'."
  (let ((is-decided (memq (plist-get result :status) '(accepted partial rejected)))
        (files (agent-q-diff-own-patch-edit-files edit)))
    (when is-decided
      (cl-mapc #'agent-q-diff-own-patch--file-note-decision
               (agent-q-diff-own-patch--changed edit)
               (or (plist-get result :files) (list result))))
    (cond
     ((not is-decided)
      (agent-q-diff-own-agent-watch
       (agent-q-diff-own-patch-edit-tool edit) (agent-q-diff-own-patch--paths edit)
       ;; Nothing was decided, so that is what the tool would leave.
       (lambda () (seq-every-p #'agent-q-diff-own-patch--file-as-decided-p files)))
      (funcall answer (agent-q-diff-own-agent-undecided
                       (agent-q-diff-own-patch-edit-tool edit)
                       (agent-q-diff-own-patch--what edit) result)
               t '((verdict . "deny"))))
     ((= 0 (plist-get result :in-file))
      (funcall answer (agent-q-diff-own-patch--message result 'saved)
               nil '((verdict . "deny"))))
     ((when-let ((refused (agent-q-diff-own-patch--refused edit))
                 (why (format "%s: %s" (car refused) (cdr refused))))
        (agent-q-diff-own-patch--deny edit answer why why)
        t))
     ((agent-q-diff-own-patch--why-emacs edit)
      (agent-q-diff-own-patch--deny
       edit answer "the user has edited a file of it in Emacs meanwhile, and not saved it"
       "one of them was edited in Emacs meanwhile, and not saved"))
     ((not (seq-every-p #'agent-q-diff-own-patch--file-clean-p files))
      (agent-q-diff-own-patch--deny
       edit answer "what the user decided has bytes that are not UTF-8"
       "what you decided has bytes that are not UTF-8"))
     (t
      (setf (agent-q-diff-own-patch-edit-result edit) result)
      (agent-q-diff-own-patch--remember edit)
      (funcall answer "" nil (agent-q-diff-own-patch--verdict files))))))

(defun agent-q-diff-own-patch--refused (edit)
  "Return the first file of EDIT that must not be written any more, or nil.
The value is (PATH . WHY)."
  (seq-some (lambda (file)
              (when-let ((why (agent-q-diff-own-agent-refused
                               (agent-q-diff-own-patch--file-check file))))
                (cons (agent-q-diff-own-patch--file-path file) why)))
            (agent-q-diff-own-patch-edit-files edit)))

(defun agent-q-diff-own-patch--what (edit)
  "Return words for the files of EDIT: the name of the only one, or their number."
  (pcase (agent-q-diff-own-patch-edit-files edit)
    (`(,file) (agent-q-diff-own-patch--file-path file))
    (files (format "%d files" (length files)))))

(defun agent-q-diff-own-patch--remember (edit)
  "Remember what was decided about EDIT until its tool has run."
  (agent-q-diff-own-agent-remember
   (agent-q-diff-own-patch-edit-call edit) edit (agent-q-diff-own-patch-edit-session edit)
   (lambda (why)
     (cond
      ((null why)
       (agent-q-diff-own-agent-say-run (agent-q-diff-own-patch-edit-tool edit)
                                       (agent-q-diff-own-patch--paths edit)))
      ((agent-q-diff-own-patch--as-before-p edit)
       (agent-q-diff-own-patch-not-run edit why)
       t)))))

(defun agent-q-diff-own-patch--as-before-p (edit)
  "Return non-nil if all files of EDIT are as they were before the user decided."
  (let ((files (agent-q-diff-own-patch--changed edit)))
    (agent-q-diff-file-uncached
      (and files
           (not (agent-q-diff-own-patch--refused edit))
           (seq-every-p #'agent-q-diff-own-patch--file-as-before-p files)))))

(defun agent-q-diff-own-patch-not-run (edit why)
  "Tell the user that EDIT was not made after all, because of WHY, a string.
If there was no review, the user expects nothing."
  (unless (agent-q-diff-own-patch-edit-by edit)
    (agent-q-diff-own-agent-say-not-run (agent-q-diff-own-patch-edit-tool edit)
                                        (agent-q-diff-own-patch--paths edit) why)))

(defun agent-q-diff-own-patch--paths (edit)
  "Return the names of the files that EDIT would change."
  (mapcar #'agent-q-diff-own-patch--file-path (agent-q-diff-own-patch--changed edit)))

(defun agent-q-diff-own-patch--deny (edit answer why why-for-user)
  "Answer that EDIT cannot be made as it was decided, with the reason WHY.
The user is told WHY-FOR-USER.  ANSWER is as for
`agent-q-diff-own-patch-decide'."
  (agent-q-diff-own-patch-not-run edit why-for-user)
  (funcall answer
           (format "Error: %s was not run: %s. None of it is in the files. Ask the user how \
to proceed."
                   (agent-q-diff-own-patch-edit-tool edit) why)
           t '((verdict . "deny"))))

(defun agent-q-diff-own-patch--verdict (files)
  "Return the verdict for the program about FILES, of which some will change."
  (if (seq-every-p #'agent-q-diff-own-patch--file-whole-p files)
      '((verdict . "allow"))
    `((verdict . "change")
      (files . ,(vconcat (mapcar #'agent-q-diff-own-patch--file-verdict files))))))

(defun agent-q-diff-own-patch--message (result is-saved)
  "Return the message for the agent about RESULT, that of a review of texts.
It is as if they were in the files; IS-SAVED is as for
`agent-q-diff-own-agent-as-written'."
  (agent-q-diff-message-of-result (agent-q-diff-own-agent-as-written result is-saved)
                                  (plist-get result :path)))

;;;; Files, which Emacs writes

(defun agent-q-diff-own-patch--review-files (edit why by answer)
  "Begin and return a review of EDIT in which the files are changed by Emacs.
WHY is as from `agent-q-diff-own-patch--why-emacs', or nil if the policy
denies EDIT.  BY is as from `agent-q-diff-own-patch--allowance'.  ANSWER is
as for `agent-q-diff-own-patch-decide'."
  (let* ((tool (agent-q-diff-own-patch-edit-tool edit))
         (session (agent-q-diff-own-patch-edit-session edit))
         (agent-q-diff-display (if by 'announce agent-q-diff-display))
         (inhibit-message (or by inhibit-message)))
    (agent-q-diff-tools-propose
     tool (agent-q-diff-own-patch--proposal edit)
     (lambda (result) (agent-q-diff-own-patch--tell answer why result))
     :notes (append
             (and (agent-q-diff-own-patch-edit-is-shell edit)
                  (list (format "The agent chose the directory of this shell command: %s"
                                (abbreviate-file-name default-directory))))
             (list (format "%sEmacs writes what you decide, in all files at once; %s is not run."
                           (if (eq why 'unsaved) "A file has unsaved edits: " "")
                           (agent-q-diff-own-agent-tool tool session))))
     :agent (agent-q-diff-own-agent-label session))))

(defun agent-q-diff-own-patch--tell (answer why result)
  "Answer with what Emacs made of a patch by RESULT.
WHY and ANSWER are as for `agent-q-diff-own-patch--review-files'."
  (let ((message (format "The patch was not run%s.\n%s"
                         (cond
                          ((not (< 0 (or (plist-get result :in-file) 0))) "")
                          ((eq why 'unsaved)
                           ": the user has unsaved edits in a file, so Emacs wrote what the user \
accepted, in all files at once")
                          (t ": Emacs wrote what the user accepted, in all files at once"))
                         (plist-get result :message))))
    (if (agent-q-diff-own-agent-mistake-p (plist-get result :error))
        (funcall answer (agent-q-diff-own-patch--with-advice message)
                 nil '((verdict . "deny")))
      (funcall answer message
               (not (memq (plist-get result :status) '(accepted partial rejected)))
               '((verdict . "deny"))))))

(defun agent-q-diff-own-patch--accept (review by)
  "Accept all of REVIEW, which is allowed BY `policy' or `session'.
If some of it does not apply, the user has to decide."
  (setf (agent-q-diff-session-is-by-program review) t)
  (let ((name (agent-q-diff-session-name review))
        (buffer (agent-q-diff-session-buffer review))
        (inhibit-message t))
    (with-current-buffer buffer
      (agent-q-diff-accept-all))
    (let ((inhibit-message nil))
      (if (agent-q-diff-session-outcome review)
          (agent-q-diff-own-agent-say-allowed name by)
        (setf (agent-q-diff-session-is-by-program review) nil)
        (agent-q-diff-base-show buffer)))))

(defun agent-q-diff-own-patch-write (edit)
  "Make what was decided about EDIT, and return the message about it.
No input makes its tool write that.  If a file has changed since, signal an
error; then nothing has changed."
  (agent-q-diff-own-agent-write (agent-q-diff-own-patch-edit-tool edit)
                                (agent-q-diff-own-patch--paths edit)
                                (lambda () (agent-q-diff-own-patch--write edit))))

(defun agent-q-diff-own-patch--write (edit)
  "Do what `agent-q-diff-own-patch-write' does with EDIT."
  (let ((tool (agent-q-diff-own-patch-edit-tool edit))
        (changed (agent-q-diff-file-uncached
                   (seq-remove #'agent-q-diff-own-patch--file-as-before-p
                               (agent-q-diff-own-patch-edit-files edit)))))
    (when changed
      (agent-q-diff-file-refuse "%s was changed while the user decided"
                                (agent-q-diff-own-patch--file-path (car changed))))
    (let ((made (agent-q-diff-own-patch--make edit)))
      (unless (eq 'accepted (plist-get made :status))
        (agent-q-diff-file-refuse "%s was not run, and Emacs could not write what the user accepted: %s"
                                  tool (plist-get made :reason)))
      (when (plist-get made :saved)
        (agent-q-diff-own-agent-say-written
         (agent-q-diff-visible (agent-q-diff-own-patch--what edit))
         (agent-q-diff-own-patch-edit-result edit) "Emacs"))
      (format "%s was not run, since it cannot write what the user decided; Emacs wrote it, in \
all files at once.\n%s"
              tool
              (agent-q-diff-own-patch--message (agent-q-diff-own-patch-edit-result edit)
                                               (plist-get made :saved))))))

(defun agent-q-diff-own-patch--make (edit)
  "Make what was decided about EDIT, all or nothing, and return the result."
  (let* ((agent-q-diff-tool (agent-q-diff-own-patch-edit-tool edit))
         (agent-q-diff-display 'announce)
         (inhibit-message t)
         (made nil)
         (review (agent-q-diff-review-change
                  (agent-q-diff-own-patch--decided-proposals edit) ""
                  (lambda (result) (setq made result)))))
    (unless (agent-q-diff-session-outcome review)
      (setf (agent-q-diff-session-is-by-program review) t)
      (unwind-protect
          (with-current-buffer (agent-q-diff-session-buffer review)
            (agent-q-diff-accept-all)
            (unless made
              (agent-q-diff-unapply-all)))
        (unless made
          (agent-q-diff-cancel review))))
    made))

(defun agent-q-diff-own-patch--decided-proposals (edit)
  "Return what was decided about EDIT, as `agent-q-diff-review-change' takes it."
  (cl-loop for file in (agent-q-diff-own-patch-edit-files edit)
           for text = (agent-q-diff-own-patch--file-text file)
           for to = (and (agent-q-diff-own-patch--file-is-renamed file)
                         (agent-q-diff-own-patch--file-to file))
           unless (and (null to) (equal text (agent-q-diff-own-patch--file-original file)))
           collect (agent-q-diff-own-patch--file-proposal file text to)))

;;;; After the tool has run

(defun agent-q-diff-own-patch-check (edit)
  "Compare all files of EDIT with what was decided; return the message about that.
The message is empty if nothing needs to be said."
  (agent-q-diff-file-uncached
    (let* ((files (agent-q-diff-own-patch-edit-files edit))
           (refused (agent-q-diff-own-patch--refused edit))
           (wrong (seq-remove #'agent-q-diff-own-patch--file-as-decided-p files))
           (by (agent-q-diff-own-patch-edit-by edit)))
      (unless refused
        (dolist (file files)
          (agent-q-diff-own-patch--file-follow file)
          (agent-q-diff-own-agent-note-left (agent-q-diff-own-patch--file-name file)
                                            (agent-q-diff-own-patch--file-text-on-disk file))))
      (cond
       (refused
        (agent-q-diff-own-agent-alarm-elsewhere
         (agent-q-diff-own-patch-edit-tool edit) (car refused) (cdr refused)))
       ((seq-some (lambda (file)
                    (eq 'wrong (agent-q-diff-own-patch--file-difference file)))
                  wrong)
        (agent-q-diff-own-agent-alarm
         (agent-q-diff-own-patch-edit-tool edit)
         (mapcar #'agent-q-diff-own-patch--file-path wrong)))
       (wrong
        (when by
          (agent-q-diff-own-patch--say-allowed edit))
        (agent-q-diff-own-patch--differs edit wrong))
       (by
        (agent-q-diff-own-patch--say-allowed edit)
        "")
       (t (agent-q-diff-own-agent-say-written
           (agent-q-diff-visible (agent-q-diff-own-patch--what edit))
           (agent-q-diff-own-patch-edit-result edit)
           (agent-q-diff-own-agent-tool (agent-q-diff-own-patch-edit-tool edit) nil))
          (let ((message (agent-q-diff-own-patch--message
                          (agent-q-diff-own-patch-edit-result edit) 'saved)))
            (dolist (file files message)
              (setq message (agent-q-diff-own-agent-with-warning
                             message (agent-q-diff-own-patch--file-name file)
                             (agent-q-diff-own-patch--file-original file)
                             (agent-q-diff-own-patch--file-text file)
                             (agent-q-diff-own-patch--file-encoding file))))))))))

(defun agent-q-diff-own-patch--say-allowed (edit)
  "Tell the user that EDIT was made without asking."
  (agent-q-diff-own-agent-say-allowed (agent-q-diff-own-patch--what edit)
                                      (agent-q-diff-own-patch-edit-by edit)
                                      (agent-q-diff-own-patch-edit-tool edit)
                                      (agent-q-diff-own-patch--paths edit)))

(defun agent-q-diff-own-patch--differs (edit files)
  "Tell the user, and return the message, that FILES are not what was decided.
They are those of EDIT for which it is not known who wrote what."
  (let ((message (if-let ((result (agent-q-diff-own-patch-edit-result edit)))
                     (agent-q-diff-own-patch--message
                      (agent-q-diff-own-agent-without-lines result) 'saved)
                   "The patch needed no decision.")))
    (dolist (file files message)
      (setq message (agent-q-diff-own-agent-tell-difference
                     'unknown (agent-q-diff-own-patch-edit-tool edit)
                     (agent-q-diff-own-patch--file-name file) (agent-q-diff-own-patch--file-text file)
                     (agent-q-diff-own-patch--file-text-on-disk file) message)))))

(provide 'agent-q-diff-own-patch)
;;; agent-q-diff-own-patch.el ends here
