;;; agent-q-diff-comments.el --- Comments and questions on lines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; In a review of what was written already, a comment or a question is on
;; lines of it, and is shown below them.  It moves with its lines, outlives the
;; review and Emacs, and has an id, by which agents answer it.  The list has all
;; of a project.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-views)
(require 'agent-q-diff-file)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-annotations)
(require 'agent-q-diff-commands)
(require 'agent-q-diff-reviewed)
(require 'agent-q-diff-pending)
(require 'agent-q-diff-rounds)
(require 'agent-q-diff-told)

;;;; Shown below their lines

(defun agent-q-diff-comments--round ()
  "Return the `agent-q-diff-round' of this diff buffer, or nil if it has none."
  (and agent-q-diff-buffer-change
       (agent-q-diff-round-of agent-q-diff-buffer-change)))

(defun agent-q-diff-comments--annotations ()
  "Return annotations for the comments on lines in this buffer."
  (when-let* ((round (agent-q-diff-comments--round))
              (comments (agent-q-diff-round-look-for-comments agent-q-diff-buffer-change)))
    (let ((paths (agent-q-diff-round-paths agent-q-diff-buffer-change))
          (ranges (make-hash-table)))
      (delq nil
            (mapcar
             (lambda (one)
               (let* ((file (agent-q-diff-round-comment-file one paths))
                      (side (agent-q-diff-comment-side one))
                      (line (and file (agent-q-diff-comment-line one)
                                 (agent-q-diff-annotations-line-now
                                  file side (agent-q-diff-comment-line one)))))
                 (when (and file
                            (or (null side)
                                (and line
                                     (agent-q-diff-annotations-position
                                      file side line
                                      (or (gethash file ranges)
                                          (puthash file (agent-q-diff-annotations-ranges file)
                                                   ranges))))))
                   (agent-q-diff-annotation-create
                    :file file :side (or side 'new) :line line
                    :n-lines (max 1 (agent-q-diff-comment-n one))
                    :id (number-to-string (agent-q-diff-comment-id one))
                    :kind (agent-q-diff-comment-kind one)
                    :who "You"
                    :text (agent-q-diff-comment-text one)
                    :state (if (agent-q-diff-comment-is-unsure one)
                               'place-unsure
                             (agent-q-diff-comment-state one))
                    :replies (agent-q-diff-comment-answers one)))))
             comments)))))

(add-hook 'agent-q-diff-annotations-functions #'agent-q-diff-comments--annotations t)

(defun agent-q-diff-comments--changed (root)
  "Have what is said in the project at ROOT shown, and told, as it is now."
  (agent-q-diff-told-queue-again root)
  (agent-q-diff-round-show-comments root))

;;;; Making them

(defun agent-q-diff-comments--lines-meant (beg end)
  "Return (FILE SIDE START N), the lines of one file that are between BEG and END.
Those that are only in the old text are meant only if there are no others.
Return nil if there is none; signal an error if they are of several files."
  (let ((lines nil))
    (save-excursion
      (goto-char beg)
      (beginning-of-line)
      (while (progn
               (when-let ((line (agent-q-diff-annotations-line-of (point))))
                 (push line lines))
               (forward-line)
               (and (< (point) end) (not (eobp))))))
    (when lines
      (unless (cl-every (lambda (line) (eql (caar lines) (car line))) lines)
        (user-error "Select lines of one file"))
      (let* ((side (if (seq-some (lambda (line) (eq 'new (nth 1 line))) lines) 'new 'old))
             (numbers (cl-loop for (_ other line) in lines
                               when (eq side other) collect line)))
        (list (caar lines) side (apply #'min numbers)
              (1+ (- (apply #'max numbers) (apply #'min numbers))))))))

(defun agent-q-diff-comments--here ()
  "Return what a comment at point is on, (FILE . LINES), or nil for the hunk.
FILE is the index of a file.  LINES are (SIDE START N), or nil for all of it."
  (cond
   ((use-region-p)
    (agent-q-diff-comments--lines-meant (region-beginning) (region-end)))
   ((agent-q-diff-buffer-heading-at-point)
    (list (agent-q-diff-buffer-heading-at-point)))
   ((when-let ((hunk (agent-q-diff-buffer-hunk-at-point)))
      ;; The comment on a rejected hunk is the reason.
      (not (eq 'rejected (agent-q-diff-engine-hunk-mark
                          (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))))
    (agent-q-diff-comments--lines-meant (point) (point)))))

(defun agent-q-diff-comments--known-here ()
  "Return the `agent-q-diff-comment' that is shown at point, or nil."
  (when-let* ((round (agent-q-diff-comments--round))
              (shown (seq-find (lambda (one)
                                 (memq (agent-q-diff-annotation-kind one) '(comment question)))
                               (agent-q-diff-annotations-at-point))))
    (seq-find (lambda (one)
                (equal (agent-q-diff-annotation-id shown)
                       (number-to-string (agent-q-diff-comment-id one))))
              (agent-q-diff-round-comments round))))

(defun agent-q-diff-comments--read (kind where &optional text)
  "Ask for a comment of KIND on WHERE, in words; TEXT is what it is now."
  (read-string (format "%s on %s: " (if (eq kind 'question) "Question" "Comment") where)
               text))

(defun agent-q-diff-comments--instead (command &optional text hunk)
  "If COMMAND is `comment', `ask' or `say', carry it out; return non-nil if so.
TEXT and HUNK are those of `say'.  This is for
`agent-q-diff-commands-instead-functions'."
  (when (and (memq command '(say comment ask))
             (agent-q-diff-comments--round)
             (not (agent-q-diff-buffer-ended-p)))
    (pcase command
      ('say (agent-q-diff-comments--say hunk text))
      ((or 'comment 'ask) (agent-q-diff-comments--on-lines command)))))

(defun agent-q-diff-comments--say (hunk text)
  "Make TEXT the comment on HUNK, or on all if it is nil; return non-nil if so.
What is rejected, or will be, has a reason instead."
  (unless (and hunk (agent-q-diff-round-rejected-p agent-q-diff-buffer-change hunk))
    (agent-q-diff-round-say agent-q-diff-buffer-change hunk text)
    (agent-q-diff-comments--changed (agent-q-diff-round-root (agent-q-diff-comments--round)))
    t))

(defun agent-q-diff-comments--on-lines (command)
  "Carry out COMMAND, `comment' or `ask', on lines; return non-nil if done."
  (let ((known (and (not (use-region-p)) (agent-q-diff-comments--known-here)))
        (kind (if (eq command 'ask) 'question 'comment)))
    (cond
     (known
      (agent-q-diff-comments--edit
       (agent-q-diff-round-root (agent-q-diff-comments--round)) known)
      t)
     ((pcase (or (agent-q-diff-comments--here)
                 (and (eq command 'ask)
                      (let ((hunk (agent-q-diff-buffer-hunk-here)))
                        (cons (agent-q-diff-buffer-file-index hunk)
                              (agent-q-diff-round-hunk-lines agent-q-diff-buffer-change hunk)))))
        (`(,file . ,lines)
         (agent-q-diff-comments--make file lines kind)
         t))))))

(add-hook 'agent-q-diff-commands-instead-functions #'agent-q-diff-comments--instead)

(defun agent-q-diff-comments--where (path lines)
  "Return words for LINES, (SIDE START N), of PATH; nil is all of it."
  (concat (pcase lines
            (`(,side ,start ,n) (concat (agent-q-diff-round-lines-words side start n) " of ")))
          (agent-q-diff-visible-name (file-name-nondirectory path))))

(defun agent-q-diff-comments--make (file lines kind &optional text)
  "Ask for a comment of KIND on LINES of FILE, an index, and record it.
LINES are (SIDE START N), or nil for all of the file.  TEXT, if not nil, is
taken instead of asking."
  (let* ((round (agent-q-diff-comments--round))
         (path (nth file (agent-q-diff-round-paths agent-q-diff-buffer-change)))
         (to (agent-q-diff-comments--to file lines)))
    (when (and lines
               (agent-q-diff-annotations-moved-p file))
      (user-error "You have edited a hunk of this file; comment on it after the review"))
    (let ((text (or text (agent-q-diff-comments--read
                          kind (agent-q-diff-comments--where path lines)))))
      (deactivate-mark)
      (if (string-blank-p text)
          (message "Nothing was said")
        (agent-q-diff-round-comment round path lines kind text to)
        (agent-q-diff-comments--changed (agent-q-diff-round-root round))
        (message "The agent reads it when you have finished the review")))))

(defun agent-q-diff-comments--to (file lines)
  "Return the addresses of those who wrote what is commented on here.
That is the hunk at point, or those of the region, if LINES are not nil; else
the file with the index FILE."
  (let* ((change agent-q-diff-buffer-change)
         (first (agent-q-diff-buffer-hunk-before (if (use-region-p) (region-beginning) (point))))
         (last (agent-q-diff-buffer-hunk-before (if (use-region-p) (region-end) (point)))))
    (if (and lines first)
        (seq-uniq (cl-loop for hunk from first to last
                           append (agent-q-diff-round-to change hunk)))
      (agent-q-diff-round-to-of change (nth file (agent-q-diff-change-files change))))))

(defun agent-q-diff-comments--edit (root one)
  "Ask what ONE, an `agent-q-diff-comment' in the project at ROOT, is to say.
If that is nothing, it is closed."
  (let* ((kind (agent-q-diff-comment-kind one))
         (before (agent-q-diff-comment-text one))
         (text (agent-q-diff-comments--read
                kind (format "%s (empty to close it)"
                             (agent-q-diff-visible (agent-q-diff-comments--name one)))
                before)))
    (if (equal text before)
        (message "It says what it said")
      (agent-q-diff-comments--put root one text))))

(defun agent-q-diff-comments--put (root one text)
  "Make TEXT of ONE, an `agent-q-diff-comment' in the project at ROOT.
If it is blank, close that."
  (agent-q-diff-engine-call #'agent-q-diff-module-edit-comment root
                            (agent-q-diff-comment-id one) (agent-q-diff-comment-kind one) text)
  (agent-q-diff-comments--changed root)
  (if (string-blank-p text)
      (message "Comment %d is closed" (agent-q-diff-comment-id one))
    (message "It is told as it is now")))

(defun agent-q-diff-comments--name (one)
  "Return words for where ONE, an `agent-q-diff-comment', is."
  (let ((path (agent-q-diff-engine-text (agent-q-diff-comment-path one)))
        (line (agent-q-diff-comment-line one)))
    (cond
     ((string-empty-p path) "all of it")
     ((eq 'old (agent-q-diff-comment-side one))
      (format "%s, old line %d" (agent-q-diff-visible-name path)
              (1+ (agent-q-diff-comment-was one))))
     (t (concat (agent-q-diff-visible-name path) (if line (format ":%d" (1+ line)) ""))))))

;;;###autoload
(defun agent-q-diff-comment-file (text &optional kind)
  "Say TEXT about the line at point of this file, or about the selected lines.
Agents that work in its project read it like a comment in a review.  KIND is
`comment' or `question'; interactively, a prefix argument makes it a question."
  (interactive
   (let ((kind (if current-prefix-arg 'question 'comment)))
     (agent-q-diff-comments--check-file)
     (list (agent-q-diff-comments--read
            kind (pcase-let ((`(,start . ,n) (agent-q-diff-comments--lines-of-file)))
                   (agent-q-diff-comments--where buffer-file-name (list 'new start n))))
           kind)))
  (let ((root (agent-q-diff-comments--check-file)))
    (if (string-blank-p text)
        (message "Nothing was said")
      (pcase-let ((`(,start . ,n) (agent-q-diff-comments--lines-of-file)))
        (agent-q-diff-engine-call #'agent-q-diff-module-comment root
                                  (file-relative-name (file-truename buffer-file-name)
                                                      (file-truename root))
                                  (vector 'new start n nil) (or kind 'comment) text nil))
      (deactivate-mark)
      (let ((when (agent-q-diff-told-queue-now root)))
        (agent-q-diff-round-show-comments root)
        (message "Said; %s" when)))))

(defun agent-q-diff-comments--check-file ()
  "Return the root of the project of this buffer's file.
Signal an error if its lines cannot be commented on."
  (unless buffer-file-name
    (user-error "This buffer visits no file"))
  (when (or (buffer-modified-p) (not (verify-visited-file-modtime)))
    (user-error "Save or revert this buffer first: the lines of the file are others"))
  (car (agent-q-diff-pending-look default-directory)))

(defun agent-q-diff-comments--lines-of-file ()
  "Return (START . N), the lines of this buffer that are meant, from 0."
  (save-restriction
    (widen)
    (if (use-region-p)
        (let ((first (line-number-at-pos (region-beginning)))
              (last (save-excursion
                      (goto-char (region-end))
                      (line-number-at-pos (if (bolp) (max (point-min) (1- (point))) (point))))))
          (cons (1- first) (max 1 (1+ (- last first)))))
      (cons (1- (line-number-at-pos)) 1))))

;;;; The list

(defun agent-q-diff-comments--state (one)
  "Return in words how far ONE, an `agent-q-diff-comment', is."
  (if (and (eq 'new (agent-q-diff-comment-side one))
           (null (agent-q-diff-comment-line one))
           (not (eq 'handled (agent-q-diff-comment-state one))))
      "stale"
    (symbol-name (agent-q-diff-comment-state one))))

(defun agent-q-diff-comments--rows ()
  "Return the rows of the list of this buffer's project."
  (mapcar
   (lambda (one)
     (list (agent-q-diff-comment-id one)
           (agent-q-diff-comment-id one)
           (agent-q-diff-comments--state one)
           (string-join (seq-uniq (mapcar #'agent-q-diff-round-agent-of
                                          (agent-q-diff-comment-to one)))
                        ", ")
           (concat (agent-q-diff-comments--name one)
                   (if (agent-q-diff-comment-is-unsure one) "?" ""))
           (concat (if (eq 'question (agent-q-diff-comment-kind one)) "(question) " "")
                   (agent-q-diff-engine-text (agent-q-diff-comment-text one))
                   (mapconcat (pcase-lambda (`(,who . ,text))
                                (format "  %s: %s" who (agent-q-diff-engine-text text)))
                              (agent-q-diff-comment-answers one) ""))))
   (agent-q-diff-engine-call #'agent-q-diff-module-comments default-directory nil)))

(defun agent-q-diff-comments--listed ()
  "Return the comment at point in the list, as it is now, or signal an error."
  (let ((id (agent-q-diff-views-here)))
    (or (seq-find (lambda (one) (eql id (agent-q-diff-comment-id one)))
                  (agent-q-diff-engine-call #'agent-q-diff-module-comments
                                            default-directory nil))
        (user-error "This comment is closed; g updates the list"))))

(defun agent-q-diff-comments--all-of (one)
  "Return all that is said in ONE, an `agent-q-diff-comment', for the echo area."
  (mapconcat (pcase-lambda (`(,who . ,text))
               (format "%s: %s" who (agent-q-diff-visible (agent-q-diff-engine-text text))))
             (cons (cons "You" (agent-q-diff-comment-text one))
                   (mapcar (pcase-lambda (`(,who . ,text))
                             (cons (agent-q-diff-visible-name who t) text))
                           (agent-q-diff-comment-answers one)))
             "\n"))

(defun agent-q-diff-comments-visit ()
  "Go to the lines of the comment at point, and show all that is said in it."
  (interactive)
  (let* ((one (agent-q-diff-comments--listed))
         (path (agent-q-diff-comment-path one))
         (line (agent-q-diff-comment-line one))
         (name (agent-q-diff-file-named (agent-q-diff-engine-text path) default-directory))
         (where (cond
                 ((string-empty-p path) "")
                 ((eq 'old (agent-q-diff-comment-side one))
                  "Its lines were there before the change.  ")
                 ((not (file-exists-p name)) "Its file is not there any more.  ")
                 ((and (agent-q-diff-comment-side one) (null line))
                  "Its lines are not in the file any more.  "))))
    (when (and (not (string-empty-p path)) (file-exists-p name))
      (agent-q-diff-file-check-regular name)
      (find-file-other-window name)
      (when (and line (not (eq 'old (agent-q-diff-comment-side one))))
        (widen)
        (goto-char (point-min))
        (forward-line line)))
    (message "%s%s" (or where "") (agent-q-diff-comments--all-of one))))

(defun agent-q-diff-comments-edit ()
  "Change the text of the comment at point; agents are told anew."
  (interactive)
  (agent-q-diff-comments--edit default-directory (agent-q-diff-comments--listed)))

(defun agent-q-diff-comments-close ()
  "Close the comment at point: it is not shown, nor told, any more."
  (interactive)
  (agent-q-diff-comments--put default-directory (agent-q-diff-comments--listed) ""))

(agent-q-diff-views-define agent-q-diff-comments-mode "Comments"
  "Major mode of the list of comments in a project.
A comment is open until an agent was told, sent until it has answered, and
handled until you close it; it is stale if its lines are gone."
  :item "comment"
  :columns '(("Id" 4 number :right-align t) ("State" 8 t) ("Agent" 11 t) ("Where" 24 t :end t)
             ("Comment" 0 nil))
  :rows #'agent-q-diff-comments--rows
  :keys '(("\r" . agent-q-diff-comments-visit)
          ("e" . agent-q-diff-comments-edit)
          ("k" . agent-q-diff-comments-close)))

;;;###autoload
(defun agent-q-diff-comments ()
  "List the comments and questions in the project of the current buffer.
They are those that you have not closed, over all files, with what agents have
answered."
  (interactive)
  (agent-q-diff-views-show agent-q-diff-round-list-name #'agent-q-diff-comments-mode
                           (car (agent-q-diff-pending-look default-directory))))

(provide 'agent-q-diff-comments)
;;; agent-q-diff-comments.el ends here
