;;; agent-q-diff-engine.el --- Calls the Rust engine  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A function `agent-q-diff-module-NAME' is written in Rust (src/module) and
;; documented there; the first call of any of them loads the module.  A
;; function `agent-q-diff-engine-NAME' wraps one that takes or returns text:
;; it encodes and decodes the text, since Emacs text can contain raw bytes.
;; The structures name the elements of the vectors that the module returns.
;;
;; A review is an opaque object.  Hunks and lines are counted from 0.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-build)

;;;; Functions of the module

(defun agent-q-diff-engine--call-first (name arguments)
  "Load the engine and call its function NAME with ARGUMENTS."
  (let ((placeholder (symbol-function name)))
    (agent-q-diff-build-ensure)
    (when (eq placeholder (symbol-function name))
      (agent-q-diff-build-refuse "the engine that is loaded has no %s; restart Emacs"
                                 name))
    (apply name arguments)))

(eval-and-compile
  ;; Loading the module replaces these functions by its own.
  (dolist (name
           '(adopt answer-comment at-work begin-project begin-turn begin-written
            blank-hunks blobs candidates changed-lines changed-words
            check-decidable check-pending-after codex-files codex-updated comment comments commit
            counts decision describe drawn edit-comment edit-outside
            end-turns events fail file-has-original files find-keys finish-round
            first-hunks follow follow-undo free fresh groups hash
            header-lines hunk hunk-key hunk-lines hunk-with-id is-coarse is-idle
            join join-decisions keep-staged know let-pass line-counts live-lines
            mark-reviewed marks merge merge-texts messages moved n-decisions n-reviews
            n-suspects new-project news next-pending note-heard note-hunks
            note-staged noted-hunks observe passing pending pending-since
            pending-since-turn pick pick-rows plan plan-all plan-back plan-text
            prepare print print-hunks proposed queue-message recognize record
            record-event recorded-root redo-split reject-all rejected replace report
            review review-diff safe-environment set-comment set-language set-mark show-context shown-lines side-rows split
            split-white-space stage standing suspects taken-out tally text-bytes texts-without-syntax told
            turns typed-lines undo-split watch without-white-space))
    (let ((function (intern (format "agent-q-diff-module-%s" name))))
      (unless (fboundp function)
        ;; Not `defalias': unloading this file must leave the module's own.
        (fset function
              (lambda (&rest arguments)
                "Load the engine; after that, its documentation of this function is here."
                (agent-q-diff-engine--call-first function arguments)))))))

(defun agent-q-diff-engine-unload-function ()
  "Remove the placeholders for functions of a module that was not loaded."
  (mapatoms (lambda (symbol)
              (when (and (string-prefix-p "agent-q-diff-module-" (symbol-name symbol))
                         (fboundp symbol)
                         (not (module-function-p (symbol-function symbol))))
                (fmakunbound symbol))))
  nil)

;;;; What the module returns

(cl-defstruct (agent-q-diff-engine-hunk (:type vector) (:constructor nil) (:copier nil))
  "A hunk, as returned by `agent-q-diff-module-hunk'."
  index id mark fact reason place line offset fuzz places was-in is-edited earlier)

(cl-defstruct (agent-q-diff-engine-lines (:type vector) (:copier nil)
                                         (:constructor agent-q-diff-engine-lines-create))
  "The lines of a hunk, as returned by `agent-q-diff-module-shown-lines'."
  old n-old new n-new kinds)

(cl-defstruct (agent-q-diff-engine-planned (:type vector) (:constructor nil)
                                           (:copier nil))
  "A plan, as returned by `agent-q-diff-engine-plan' and similar functions.
See `agent-q-diff-module-plan'."
  note parts hunks refused)

(cl-defstruct (agent-q-diff-engine-part (:type vector) (:constructor nil) (:copier nil))
  "What a plan does to one file; see `agent-q-diff-module-plan'.
The texts of EDITS are decoded."
  file operations edits offsets)

(cl-defstruct (agent-q-diff-engine-committed (:type vector) (:constructor nil)
                                             (:copier nil))
  "What to show after a command, as returned by `agent-q-diff-module-commit'."
  total applied rejected next unplaced marks in-target hunks failed unstaged
        comments)

;;;; Texts

(defun agent-q-diff-engine-text (string)
  "Return STRING, which the engine returned, decoded.
Text that is not valid UTF-8 comes as bytes; ASCII is returned as it is."
  (if (multibyte-string-p string)
      string
    (decode-coding-string string 'utf-8-emacs-unix t)))

(defun agent-q-diff-engine-call (function &rest arguments)
  "Call FUNCTION of the module with ARGUMENTS.
Strings are passed as they are, which is cheapest.  If Emacs refuses one
because it has raw bytes, all are encoded and passed again, also those in lists
and vectors.  If the module was loaded before the Lisp files were upgraded,
signal `agent-q-diff-no-module'."
  (unless (eq agent-q-diff-build-checked agent-q-diff-build-version)
    (agent-q-diff-build-ensure))
  (condition-case nil
      (apply function arguments)
    (rust-module-non-unicode-string
     (apply function (agent-q-diff-engine-encoded arguments)))))

(defun agent-q-diff-engine-encoded (value)
  "Return VALUE, an argument for the module, with its strings as bytes."
  (cond
   ((stringp value) (encode-coding-string value 'utf-8-emacs-unix))
   ;; A list can be longer than functions can nest.
   ((proper-list-p value) (mapcar #'agent-q-diff-engine-encoded value))
   ((consp value)
    (cons (agent-q-diff-engine-encoded (car value))
          (agent-q-diff-engine-encoded (cdr value))))
   ((vectorp value) (vconcat (mapcar #'agent-q-diff-engine-encoded value)))
   (t value)))

;;;; Reviews

(defun agent-q-diff-engine-review (original modified)
  "Return a new review of the text ORIGINAL becoming the text MODIFIED.
Comparing them takes at most `agent-q-diff-budget' steps.  If they are the
same, signal `agent-q-diff-identical'."
  (agent-q-diff-engine-call #'agent-q-diff-module-review
                             original modified agent-q-diff-context-length
                             agent-q-diff-budget))

(defun agent-q-diff-engine-review-diff (diff)
  "Return a new review of DIFF, a unified diff of one file.
Signal `agent-q-diff-malformed' with the line and the cause, or
`agent-q-diff-several-files'."
  (agent-q-diff-engine-call #'agent-q-diff-module-review-diff diff))

(defun agent-q-diff-engine-files (diff)
  "Return a list of (OLD NEW HUNKS), one for each file in DIFF.
DIFF is a unified diff.  OLD and NEW are the names in the file's header,
or nil if it has none; HUNKS is a diff of that file alone, with the ids
of its texts if git wrote them.  Signal `agent-q-diff-malformed' with the
line and the cause."
  (mapcar (lambda (file)
            (mapcar (lambda (text) (and text (agent-q-diff-engine-text text)))
                    file))
          (agent-q-diff-engine-call #'agent-q-diff-module-files diff)))

(defun agent-q-diff-engine-describe (diff)
  "Return (READINGS IS-GIT OPERATIONS . HUNKS) for each file in DIFF, a list.
DIFF is a unified diff.  READINGS and IS-GIT say how its names may be meant,
as from `agent-q-diff-module-describe'.  OPERATIONS is a list as for
`agent-q-diff-module-join', with texts decoded.  HUNKS is as from
`agent-q-diff-engine-files', or nil if its text does not change.  Signal
`agent-q-diff-malformed' with the line and the cause, or
`agent-q-diff-bad-target' if a file has no name."
  (cl-flet ((decoded (list)
              (mapcar (lambda (it) (if (stringp it) (agent-q-diff-engine-text it) it)) list)))
    (mapcar (pcase-lambda (`(,readings ,is-git ,operations . ,hunks))
              `(,(mapcar #'decoded readings) ,is-git ,(mapcar #'decoded operations)
                . ,(and hunks (agent-q-diff-engine-text hunks))))
            (agent-q-diff-engine-call #'agent-q-diff-module-describe diff))))

(defun agent-q-diff-engine--lisp-p (path)
  "Return t if PATH, a string or nil, names a Lisp file, else nil."
  (and path
       (string-match-p
        "\\.\\(?:lisp\\|lsp\\|cl\\|asd\\|el\\|scm\\|ss\\|rkt\\|clj[cs]?\\|edn\\)\\'"
        path)
       t))

(defun agent-q-diff-engine-print (review path)
  "Return (DIFF . LINES) for REVIEW, with PATH in its file header.
DIFF is the unified diff; LINES are the line numbers of its hunk headers,
from 0."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-engine-call #'agent-q-diff-module-print review path
                                          (agent-q-diff-engine--lisp-p path))))
    (cons (agent-q-diff-engine-text diff) lines)))

(defun agent-q-diff-engine-print-hunks (review from to path &optional is-shown)
  "Return (DIFF . LINES) for the hunks of REVIEW from FROM up to TO.
TO is not included.  DIFF is their text without a file header; LINES are
the line numbers of their headers in it, from 0.  PATH is the target's, or
nil.  If IS-SHOWN is non-nil, they get the context that is shown; see
`agent-q-diff-module-show-context'."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-module-print-hunks
                review from to (agent-q-diff-engine--lisp-p path) is-shown)))
    (cons (agent-q-diff-engine-text diff) lines)))

(defun agent-q-diff-engine-follow (review)
  "Tell REVIEW that its target's text is now that of the current buffer.
Return non-nil if that is news.  If the text changes while it is read,
which a garbage collection hook can do, return `changed'; REVIEW then
learns nothing."
  (agent-q-diff-base-widened
    (let* ((tick (agent-q-diff-base-tick))
           (text (buffer-substring-no-properties (point-min) (point-max))))
      (if (= tick (agent-q-diff-base-tick))
          (agent-q-diff-engine-call #'agent-q-diff-module-follow review text)
        'changed))))

(defun agent-q-diff-engine-edit-outside (review n-before n-behind n-chars text is-undo)
  "Tell REVIEW of an edit of its target by somebody else.
The target had N-CHARS characters before the edit.  Now TEXT is between the
first N-BEFORE and the last N-BEHIND of them.  IS-UNDO is non-nil if the
edit undid another.  Return nil if this is impossible because REVIEW missed
an earlier edit."
  (condition-case nil
      (agent-q-diff-module-edit-outside review n-before n-behind n-chars text is-undo)
    (rust-module-non-unicode-string
     (agent-q-diff-module-edit-outside review n-before n-behind n-chars
                                       (encode-coding-string text 'utf-8-emacs-unix)
                                       is-undo))))

(defun agent-q-diff-engine--planned (planned)
  "Return PLANNED, a plan, with the texts of its edits decoded."
  (dolist (part (agent-q-diff-engine-planned-parts planned) planned)
    (pcase-dolist (`(,_ ,_ . ,rest) (agent-q-diff-engine-part-edits part))
      (setcar rest (agent-q-diff-engine-text (car rest))))))

(defun agent-q-diff-engine-plan (review command hunk &optional place)
  "Plan COMMAND on HUNK of REVIEW and return an `agent-q-diff-engine-planned'.
COMMAND is `accept', `reject', `toggle' or `unapply'.  Signal an error that
says why if it cannot be carried out.  If PLACE is non-nil, somebody has
looked at an ambiguous place and confirmed it.  PLACE is a line from
`agent-q-diff-module-candidates', (LINE . IS-IN) if two candidates have
that line, or t for the place that is known."
  (agent-q-diff-engine--planned
   (agent-q-diff-module-plan review command hunk place)))

(defun agent-q-diff-engine-proposed (review hunk &optional is-before)
  "Return the post-image of HUNK of REVIEW, including its context lines.
If IS-BEFORE is non-nil, return the pre-image."
  (agent-q-diff-engine-text (agent-q-diff-module-proposed review hunk is-before)))

(defun agent-q-diff-engine-suspects (text)
  "Return a list of (INDEX . KIND) for the misleading characters of TEXT.
INDEX is counted from 0.  KIND is how the character misleads: `direction',
`invisible', `space', `control', `lookalike' or `combining'."
  (agent-q-diff-engine-call #'agent-q-diff-module-suspects text))

(defun agent-q-diff-engine-merge (review hunk)
  "Return (IS-CLEAN IS-COARSE . TEXT) for HUNK of REVIEW.
TEXT is the hunk's lines merged with the target's lines in their place.  If
both changed the same lines, IS-CLEAN is nil, and TEXT has conflict markers
around the lines of target, original and proposal.  IS-COARSE is non-nil if
the texts were too large to compare in full; conflicts may then be larger
than necessary.  If the place is not known, signal an error that says why."
  (pcase-let ((`(,is-clean ,is-coarse . ,text)
               (agent-q-diff-module-merge review hunk)))
    (cons is-clean (cons is-coarse (agent-q-diff-engine-text text)))))

(defun agent-q-diff-engine-plan-text (review hunk text is-merged)
  "Plan to make TEXT the post-image of HUNK of REVIEW.
TEXT replaces what `agent-q-diff-engine-proposed' returns or, if IS-MERGED
is non-nil, the lines that are in the target now.  Return an
`agent-q-diff-engine-planned'."
  (agent-q-diff-engine--planned
   (agent-q-diff-engine-call #'agent-q-diff-module-plan-text
                              review hunk text is-merged)))

(defun agent-q-diff-engine-live-lines (review hunk)
  "Return (LINE . TEXT), the target's lines in the place of HUNK of REVIEW.
LINE is the line of the target, from 0, where HUNK with its context begins.
TEXT is the target's text there, whether HUNK is applied or not.  If the
place is not known, signal an error that says why."
  (pcase-let ((`(,line . ,text) (agent-q-diff-module-live-lines review hunk)))
    (cons line (agent-q-diff-engine-text text))))

(defun agent-q-diff-engine-drawn (review file from to)
  "Return what can be drawn in FILE of REVIEW at lines from FROM up to TO.
See `agent-q-diff-module-drawn'; the texts are decoded."
  (mapcar (pcase-lambda (`(,hunk ,line ,is-in ,old ,new ,words))
            (list hunk line is-in
                  (agent-q-diff-engine-text old) (agent-q-diff-engine-text new) words))
          (agent-q-diff-module-drawn review file from to)))

(defun agent-q-diff-engine-report (review n-chars n-now path disk)
  "Return (COUNTS SIDE . HUNKS) for REVIEW; see `agent-q-diff-module-report'.
N-CHARS, N-NOW and DISK are passed to that.  PATH is the target's, or nil."
  (let ((report (apply (if (stringp disk) #'agent-q-diff-engine-call #'funcall)
                       #'agent-q-diff-module-report review n-chars n-now
                       (list (agent-q-diff-engine--lisp-p path) disk))))
    (pcase-dolist ((and entry `(,_ ,_ ,header . ,now)) (cddr report))
      (setcar (cddr entry) (agent-q-diff-engine-text header))
      (when now
        (setcdr now (agent-q-diff-engine-text (cdr now)))))
    report))

(defun agent-q-diff-engine-plan-all (review command &optional file left-out only)
  "Plan COMMAND on every hunk of REVIEW that it is for.
If COMMAND is `accept' or `reject', these are the pending ones.  If it is
`unapply', they are those in the target, or, if the change was written before
its review, those that are decided.  If ONLY is not nil, they are those in that
list, whatever was decided of them.  If FILE is not nil, plan that only for the
file with that index, and never for the hunks in the list LEFT-OUT.  Return an
`agent-q-diff-engine-planned'."
  (agent-q-diff-engine--planned
   (agent-q-diff-module-plan-all review command file left-out only)))

(defun agent-q-diff-engine-plan-back (review &optional is-redo)
  "Plan to undo the latest decision on REVIEW.
If IS-REDO is non-nil, plan to redo the decision that was undone last.
Return an `agent-q-diff-engine-planned'.  Signal
`agent-q-diff-nothing-to-take-back' if there is none, or an error that
says why a hunk cannot be changed now."
  (agent-q-diff-engine--planned (agent-q-diff-module-plan-back review is-redo)))

;;;; Exact replacement

(defun agent-q-diff-engine--check-spans (text spans old)
  "Signal `agent-q-diff-no-match' unless OLD is in each of SPANS of TEXT.
Raw bytes in TEXT can be a character to the engine but not to Emacs.  LF in
OLD also matches CRLF in TEXT."
  (let ((wanted (string-replace "\r\n" "\n" old)))
    (pcase-dolist (`(,start . ,end) spans)
      (unless (string= wanted
                       (string-replace "\r\n" "\n" (substring text start end)))
        (signal 'agent-q-diff-no-match
                (list "the file has the string only as bytes, not as text" nil))))))

(defun agent-q-diff-engine--typed (lines)
  "Return typed LINES with their texts decoded."
  (dolist (line lines lines)
    (let ((text (nthcdr 3 line)))
      (setcar text (agent-q-diff-engine-text (car text))))))

(defun agent-q-diff-engine-replace (text old new &optional is-all)
  "Return (SPANS LINES NEW HASHES . TYPED) for replacing OLD by NEW in TEXT.
SPANS is a list of (START . END), the indices in TEXT of what is to be
replaced, in order.  LINES is a list of (FIRST . END), the lines, from 0,
that each replacement will occupy.  NEW is the argument, unibyte if the
argument is, and with CRLF line ends if TEXT has these.
HASHES is (BEFORE . AFTER), the SHA-256 of TEXT and of the changed text in
UTF-8, or nil if they are not text.  TYPED is the change, as returned by
`agent-q-diff-engine--typed-lines'.

OLD must match once, or if IS-ALL is non-nil, once or more.  Otherwise
signal an error whose data is (MESSAGE DETAILS):

`agent-q-diff-empty-search'         OLD is empty.
`agent-q-diff-equal-texts'          OLD and NEW are equal.
`agent-q-diff-no-match'             DETAILS is nil, or (FIRST END . KINDS):
                                    the nearest lines and how they
                                    differ, any of `line-ends',
                                    `white-space', `case',
                                    `normalization', `punctuation',
                                    `invisible' and `wording'.
`agent-q-diff-several-matches'      DETAILS is a list of lines, from 0.
`agent-q-diff-overlapping-matches'  Likewise."
  (pcase-let ((`(,spans ,lines ,result ,hashes . ,typed)
               (agent-q-diff-engine-call #'agent-q-diff-module-replace
                                          text old new is-all
                                          (not (multibyte-string-p text))
                                          agent-q-diff-context-length)))
    (agent-q-diff-engine--check-spans text spans old)
    `(,spans ,lines
             ,(if (multibyte-string-p new)
                  (agent-q-diff-engine-text result)
                (encode-coding-string result 'utf-8-emacs-unix))
             ,hashes
             . ,(agent-q-diff-engine--typed typed))))

(defun agent-q-diff-engine-hash (text)
  "Return the SHA-256 of TEXT in UTF-8, or nil if UTF-8 cannot encode TEXT.
It takes a tenth of the time of `secure-hash'."
  (ignore-error rust-module-non-unicode-string
    (agent-q-diff-module-hash text)))

(defun agent-q-diff-engine--typed-lines (original modified)
  "Return the diff of ORIGINAL to MODIFIED as typed lines.
The value is a list of (KIND OLD NEW TEXT).  KIND is `hunk', `context',
`added', `removed' or `no-newline'.  OLD and NEW are the numbers of the
line, from 1, in ORIGINAL and MODIFIED, or 0 where it does not occur.  TEXT
is the line without sign and newline."
  (agent-q-diff-engine--typed
   (agent-q-diff-engine-call #'agent-q-diff-module-typed-lines
                              original modified agent-q-diff-context-length)))

(provide 'agent-q-diff-engine)
;;; agent-q-diff-engine.el ends here
