;;; agent-q-diff-parts.el --- Finds the diffs and patches in a text with prose  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A mail, or what an agent writes, has prose around its changes, and may have
;; several: unified diffs and patches of Codex's, in a fence or not.  This file
;; finds them, for every way in.  Nothing that looks like a change is skipped:
;; either it is read, or the whole text is refused with the line where it begins.
;; Only changes in the message of a commit, or quoted in a mail, are ignored.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)

(cl-defstruct (agent-q-diff-parts--state (:constructor agent-q-diff-parts--state-create)
                                         (:copier nil))
  "What was found in a text so far."
  (has-diff nil :documentation "Non-nil if there is something that the engine has to read.")
  (patches nil :documentation "List of patches of Codex's, the last one first.")
  (unread nil :documentation "The first (LINE . KIND) that cannot be read, or nil.")
  (is-mail nil :documentation "Non-nil if the text is a mail, in which others are quoted.")
  (is-message nil :documentation "Non-nil in the message of a commit.")
  (in-message nil :documentation "The first (LINE . KIND) in such a message, or nil."))

(defconst agent-q-diff-parts--hints
  (concat "^[ \t>]+\\(?:@@\\|--- \\|diff --git \\)\\|^[ \t>]*\\*\\*\\*\\|```\\|~~~"
          "\\|[<-]\\{5\\} ?\\(?:SEARCH\\|ORIGINAL\\)"
          "\\|^[ \t>]*[0-9]+\\(?:,[0-9]+\\)?[acd][0-9,]+[ \t\r]*$\\|^[\e\ufeff]")
  "Regexp that matches in a text that may have more than a single plain diff.")

(defconst agent-q-diff-parts--mail-start
  (concat "[ \t\r\n\ufeff]*\\(?:From [0-9a-f]\\{40\\} \\|\\(?:Author\\|Date\\|Description\\|From"
          "\\|Message-I[Dd]\\|Origin\\|Subject\\): \\)")
  "Regexp for the beginning of a mail, or of a patch with such a header.")

(defconst agent-q-diff-parts--words
  '((quoted "a diff with quotation signs" "remove the signs before its lines")
    (indented "a diff that is indented" "begin its lines at the margin")
    (colored "a diff with colors" "make it without them")
    (context "a context diff" "make it with diff -u")
    (normal "a diff without context" "make it with diff -u")
    (blocks "a SEARCH/REPLACE block" "make a unified diff of it")
    (bare "a diff without hunk headers" "write a line like @@ -1,2 +1,3 @@ above its lines")
    (outside "a section of a patch that is not between \"*** Begin Patch\" and \"*** End Patch\""
             "write these lines around it")
    (codex "a patch with \"*** Begin Patch\", where a unified diff is expected"
           "make a unified diff of it"))
  "Alist from kinds of changes that are not read to their names and remedies.")

(defun agent-q-diff-parts (text)
  "Return (DIFF . PATCHES), all diffs and patches in TEXT, with prose or alone.
DIFF is a text with all unified diffs, or nil if there is none beside the
PATCHES, those of Codex's.  Lines have the same numbers in all of them as in
TEXT.  A byte order mark before a change is left out, as is what stands
before the lines of a fence that is indented.  Signal `agent-q-diff-malformed'
if something looks like another change."
  (let ((case-fold-search nil))
    (if (not (string-match-p agent-q-diff-parts--hints text))
        (list text)
      (with-temp-buffer
        (insert text)
        (goto-char (point-min))
        (let* ((is-mail (looking-at-p agent-q-diff-parts--mail-start))
               (state (agent-q-diff-parts--state-create
                       :is-mail is-mail
                       :is-message (or is-mail
                                       (looking-at-p "[ \t\r\n]*# HG changeset patch")))))
          (while (not (eobp))
            (agent-q-diff-parts--read state))
          (agent-q-diff-parts--check state (buffer-string))
          (cons (and (or (agent-q-diff-parts--state-has-diff state)
                         (null (agent-q-diff-parts--state-patches state)))
                     (buffer-string))
                (nreverse (agent-q-diff-parts--state-patches state))))))))

(defun agent-q-diff-parts-unified (text)
  "Return TEXT as `agent-q-diff-parts' does, if it has only unified diffs.
Otherwise signal `agent-q-diff-malformed'."
  (pcase-let ((`(,diff . ,patches) (agent-q-diff-parts text)))
    (when patches
      (agent-q-diff-parts--refuse
       (1+ (string-match "[^\n]" (car patches))) 'codex))
    diff))

(defun agent-q-diff-parts--check (state diff)
  "Signal an error if STATE has something that was not read.
A mistake above that in DIFF, the unified diffs, is reported instead: it may
be why a line seemed to be outside them."
  (let* ((has-diff (agent-q-diff-parts--state-has-diff state))
         (is-alone (not (or has-diff (agent-q-diff-parts--state-patches state)))))
    (when-let ((unread (or (agent-q-diff-parts--state-unread state)
                           (and is-alone (agent-q-diff-parts--state-in-message state)))))
      (when has-diff
        (condition-case err
            (agent-q-diff-engine-describe diff)
          (agent-q-diff-malformed
           (when (and (string-match "\\`line \\([0-9]+\\)" (cadr err))
                      (<= (string-to-number (match-string 1 (cadr err))) (car unread)))
             (signal (car err) (cdr err))))
          (agent-q-diff-bad-target nil)))
      (agent-q-diff-parts--refuse (car unread) (cdr unread) is-alone))))

(defun agent-q-diff-parts--refuse (line kind &optional is-alone)
  "Signal that a change of KIND, which begins on LINE, is not read.
With IS-ALONE, there is no other in the text."
  (pcase-let ((`(,what ,help) (alist-get kind agent-q-diff-parts--words)))
    (signal 'agent-q-diff-malformed
            (list (format (if is-alone "line %d: %s is not read; %s"
                            "line %d: %s is not read, so nothing of the text is; %s, or send the \
rest without it")
                          line what help)))))

;;;; Reading

(defun agent-q-diff-parts--read (state)
  "Read the line at point, note what it is in STATE, and move behind it."
  (when (looking-at-p "\ufeff")
    (delete-char 1))
  (cond
   ((looking-at "@@ -[0-9]+\\(?:,\\([0-9]+\\)\\)? \\+[0-9]+\\(?:,\\([0-9]+\\)\\)? @@")
    (agent-q-diff-parts--note-diff state)
    (agent-q-diff-parts--skip-hunk (string-to-number (or (match-string 1) "1"))
                                   (string-to-number (or (match-string 2) "1"))))
   ((agent-q-diff-parts--diff-start-p)
    (agent-q-diff-parts--note-diff state)
    (forward-line (if (eq (char-after) ?-) 2 1)))
   ((agent-q-diff-parts--take-patch state))
   (t
    (agent-q-diff-parts--note-message state)
    (agent-q-diff-parts--fence state)
    (when-let ((kind (agent-q-diff-parts--kind)))
      (agent-q-diff-parts--note state kind))
    (forward-line))))

(defun agent-q-diff-parts--note-message (state)
  "Note in STATE whether the message of a commit begins or ends at point."
  (cond
   ((looking-at-p (concat "From [0-9a-f]\\{40\\} \\|commit [0-9a-f]\\{7,\\}"
                          "\\|commit [0-9a-f]+.*\n\\(?:Author\\|Merge\\|tree\\)"))
    (setf (agent-q-diff-parts--state-is-message state) t))
   ((looking-at-p "\\(?:diff -\\|Index: \\)")
    (setf (agent-q-diff-parts--state-is-message state) nil))))

(defun agent-q-diff-parts--note-diff (state)
  "Note in STATE that the engine must read the text at point."
  (setf (agent-q-diff-parts--state-has-diff state) t
        (agent-q-diff-parts--state-is-message state) nil))

(defun agent-q-diff-parts--note (state kind)
  "Note in STATE that there is a change of KIND at point, which cannot be read."
  (let ((found (cons (line-number-at-pos) kind)))
    (if (or (agent-q-diff-parts--state-is-message state)
            (and (eq kind 'quoted) (agent-q-diff-parts--state-is-mail state)))
        (unless (agent-q-diff-parts--state-in-message state)
          (setf (agent-q-diff-parts--state-in-message state) found))
      (unless (agent-q-diff-parts--state-unread state)
        (setf (agent-q-diff-parts--state-unread state) found)))))

(defun agent-q-diff-parts--skip-hunk (n-before n-after)
  "Move behind the hunk at point, which has N-BEFORE old and N-AFTER new lines.
If it has fewer, stop where it ends."
  (forward-line)
  (while (and (not (eobp))
              (or (< 0 n-before) (< 0 n-after) (eq (char-after) ?\\))
              (memq (char-after) '(?\s ?- ?+ ?\\ ?\n ?\r)))
    (pcase (char-after)
      (?\\)
      (?- (cl-decf n-before))
      (?+ (cl-decf n-after))
      (_ (cl-decf n-before)
         (cl-decf n-after)))
    (forward-line)))

(defun agent-q-diff-parts--diff-start-p ()
  "Return non-nil if a unified diff begins at point, at the margin."
  (or (looking-at-p "@@@ -")
      (agent-q-diff-parts--at-p "" "@@\\(?:[ \r]\\|$\\)" "[-+ ]")
      (agent-q-diff-parts--file-header-p "")))

(defun agent-q-diff-parts--take-patch (state)
  "If a patch of Codex's begins at point, move it to STATE and return non-nil.
One that is not ended reaches to the end of the text, unless that has a
unified diff: in the prose around one, nothing ends a patch."
  (let ((beg (point)))
    (when (looking-at "\\([ \t]*\\)\\*\\*\\* Begin Patch[ \t\r]*$")
      (let* ((indentation (match-string 1))
             (mark "\\*\\*\\* End Patch[ \t\r]*$")
             (end (or (save-excursion
                        ;; What is in a line of the patch has a sign before it.
                        (or (re-search-forward (concat "^" (regexp-quote indentation) mark) nil t)
                            (re-search-forward (concat "^[ \t]*" mark) nil t)))
                      (and (not (save-excursion
                                  (goto-char (point-min))
                                  (re-search-forward "^@@ -[0-9]" nil t)))
                           (point-max)))))
        (when (and end
                   (not (and (agent-q-diff-parts--state-is-message state)
                             (not (string-empty-p indentation)))))
          (setq end (copy-marker end))
          (agent-q-diff-parts--unindent beg end indentation)
          (push (concat (make-string (1- (line-number-at-pos beg)) ?\n)
                        (buffer-substring-no-properties beg end))
                (agent-q-diff-parts--state-patches state))
          (let ((n-lines (count-matches "\n" beg end)))
            (delete-region beg end)
            (insert (make-string n-lines ?\n)))
          (forward-line)
          t)))))

;;;; Fences

(defun agent-q-diff-parts--fence (state)
  "If a fence begins at point, look at the lines in it.
If it is indented, so are they; that is then taken off.  What it is for is
noted in STATE if it is a diff without headers."
  (when (looking-at (concat "\\([ \t]*\\)\\(\\(?:[-*+]\\|[0-9]+[.)]\\)[ \t]+\\)?"
                            "\\(```+\\|~~~+\\)[ \t]*\\([[:alnum:]]*\\)[^`\n]*$"))
    (let* ((indentation (concat (match-string 1)
                                (make-string (length (match-string 2)) ?\s)))
           (fence (match-string 3))
           (language (match-string 4))
           (beg (line-beginning-position 2))
           (end (copy-marker
                 (save-excursion
                   (goto-char beg)
                   (if (re-search-forward
                        (concat "^[ \t]*" (regexp-quote fence) "+[ \t\r]*$") nil 'move)
                       (line-beginning-position)
                     (point))))))
      (unless (or (string-empty-p indentation)
                  (agent-q-diff-parts--state-is-message state))
        (agent-q-diff-parts--unindent beg end indentation)
        (save-excursion
          (goto-char end)
          (when (looking-at "[ \t]+")
            (replace-match ""))))
      (when (member language '("diff" "patch" "udiff"))
        (save-excursion
          (goto-char beg)
          (when (and (re-search-forward "^[-+]" end t)
                     (progn (goto-char beg)
                            (not (re-search-forward
                                  "^\\(?:@@\\|--- \\|diff \\|\\*\\*\\*\\|Index: \\|<<<<<\\|-----\\)"
                                  end t))))
            (goto-char beg)
            (agent-q-diff-parts--note state 'bare)))))))

(defun agent-q-diff-parts--unindent (beg end indentation)
  "Delete INDENTATION from each line from BEG to END.
Do nothing if a line that is not blank has less."
  (let ((line (concat (regexp-quote indentation) "\\|[ \t\r]*$")))
    (save-excursion
      (goto-char beg)
      (while (and (< (point) end) (looking-at-p line))
        (forward-line))
      (when (<= end (point))
        (goto-char beg)
        (while (< (point) end)
          (when (looking-at (regexp-quote indentation))
            (replace-match ""))
          (forward-line))))))

;;;; What cannot be read

(defun agent-q-diff-parts--kind ()
  "Return the kind of the change that begins on the line at point, or nil.
It is a key of `agent-q-diff-parts--words'.  Diffs that the engine reads have
none."
  (looking-at "\\(?:[ \t]*>\\)*[ \t]*")
  (let* ((before (match-string-no-properties 0))
         (is-quoted (string-search ">" before)))
    (cl-flet ((at (first &optional second)
                (agent-q-diff-parts--at-p before first second)))
      (cond
       ((at "\\*\\{15\\}" "\\*\\*\\* [0-9]+\\(?:,[0-9]+\\)? \\*\\*\\*\\*") 'context)
       ((at "[0-9]+\\(?:,[0-9]+\\)?[acd][0-9]+\\(?:,[0-9]+\\)?[ \t\r]*$" "[<>]\\(?: \\|[\r]?$\\)")
        'normal)
       ((at "\\(?:<\\{5,\\}\\|-\\{5,\\}\\) ?\\(?:SEARCH\\|ORIGINAL\\)\\_>") 'blocks)
       ((at "\\*\\*\\* \\(?:Add\\|Delete\\|Update\\) File: .") (if is-quoted 'quoted 'outside))
       ((looking-at-p "\\(?:\e\\[[0-9;]*m\\)+\\(?:@@ \\|--- \\|diff --git \\)") 'colored)
       ((string-empty-p before) nil)
       ((or (at "@@\\(?: .*@@.*\\|[ \t\r]*\\)$" "[-+ ]")
            (agent-q-diff-parts--file-header-p before))
        (if is-quoted 'quoted 'indented))))))

(defun agent-q-diff-parts--file-header-p (before)
  "Return non-nil if a file's header begins at point, after the string BEFORE.
Lines of a hunk, or more of the header, must be below."
  (or (agent-q-diff-parts--at-p
       before "diff --git ."
       "\\(?:index \\|old mode \\|new file mode \\|deleted file mode \\|similarity \\|rename \\)")
      (and (agent-q-diff-parts--at-p before "--- [^ \t\r\n]" "\\+\\+\\+ [^ \t\r\n]")
           (save-excursion
             (forward-line 2)
             (looking-at-p (concat (regexp-quote before) "\\(?:@@\\|[-+ ]\\)"))))))

(defun agent-q-diff-parts--at-p (before first &optional second)
  "Return non-nil if BEFORE and a match for FIRST are at point.
The next line must have BEFORE and a match for SECOND, if that is non-nil."
  (let ((before (regexp-quote before)))
    (and (looking-at-p (concat before first))
         (or (null second)
             (save-excursion
               (and (zerop (forward-line))
                    (looking-at-p (concat before second))))))))

(provide 'agent-q-diff-parts)
;;; agent-q-diff-parts.el ends here
