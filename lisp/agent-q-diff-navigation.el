;;; agent-q-diff-navigation.el --- Moves among hunks and to the target; hides hunks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Moving among hunks and to the target, also by Imenu and `next-error';
;; Eldoc; and a mode that shows the place of the hunk at point in the other
;; window.
;;
;; Decided hunks can be hidden, and hunks that change only whitespace can
;; be folded into one line.  Both affect only the display; commands that
;; move skip hidden hunks.
;;
;; When a change of hundreds of files, or of a large one, is opened, files whose
;; text is known without visiting them are not visited yet.  A file is visited
;; when a hunk of it is decided, or soon after its section comes into view: only
;; then are its hunks colored as code, and its edits noticed as they are made.

;;; Code:

(require 'diff-mode)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-section)
(require 'agent-q-diff-shown)
(require 'agent-q-diff-display)
(require 'agent-q-diff-fontify)
(require 'agent-q-diff-annotations)
(require 'agent-q-diff-change)

(defun agent-q-diff-navigation--say-state (&optional aside)
  "Show the state of the hunk at point in the echo area.
ASIDE, a string or nil, is appended."
  (pcase-let* ((hunk (agent-q-diff-buffer-hunk-here))
               (`(,mark ,is-in ,reason ,place ,fuzz) (agent-q-diff-navigation--state-of hunk)))
    (message "%s%s%s%s"
             (if agent-q-diff-buffer-headings
                 (format "%s %s" (agent-q-diff-buffer-hunk-words hunk 'first)
                         (agent-q-diff-buffer-mark-word mark))
               (format "Hunk %s (%d of %d)"
                       (agent-q-diff-buffer-mark-word mark) (1+ hunk) (length agent-q-diff-buffer-positions)))
             (if (> fuzz 0) (format "; fuzz %d" fuzz) "")
             (cond
              ((eq place 'lost) "; its lines have been changed in the file since")
              ((and is-in (if (agent-q-diff-buffer-written-p)
                              (eq mark 'rejected)
                            (not (eq mark 'applied))))
               "; its change is in the file")
              ((and (not is-in) (if (agent-q-diff-buffer-written-p)
                                    (not (eq mark 'rejected))
                                  (eq mark 'applied)))
               "; its change is not in the file")
              ((and reason (null mark) (agent-q-diff-navigation--known-p hunk))
               (concat "; " reason))
              ((and (integerp place) (null mark))
               (format (ngettext "; shifted by %d line" "; shifted by %d lines" (abs place))
                       place))
              (t ""))
             (if aside (concat "; " aside) ""))))

(defun agent-q-diff-navigation--known-p (hunk)
  "Return non-nil if it is known whether HUNK is in its file.
For a hunk that has lines, that is not known before the file is visited."
  (or (agent-q-diff-change-operation-of agent-q-diff-buffer-change hunk)
      (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file hunk))))

(defun agent-q-diff-navigation--state-of (hunk)
  "Return (MARK FACT REASON PLACE FUZZ) of HUNK; see `agent-q-diff-module-hunk'.
Once the review has ended, only the mark is known."
  (if (agent-q-diff-buffer-ended-p)
      (let ((mark (alist-get (agent-q-diff-buffer-position hunk)
                             agent-q-diff-buffer-hunk-states)))
        (list mark (eq mark 'applied) nil nil 0))
    (let ((hunk (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk)))
      (list (agent-q-diff-engine-hunk-mark hunk) (agent-q-diff-engine-hunk-fact hunk)
            (agent-q-diff-engine-hunk-reason hunk)
            (if (integerp (agent-q-diff-engine-hunk-place hunk))
                (agent-q-diff-change-shift agent-q-diff-buffer-change hunk)
              (agent-q-diff-engine-hunk-place hunk))
            (agent-q-diff-engine-hunk-fuzz hunk)))))

(defun agent-q-diff-next-hunk (&optional n)
  "Move to the Nth next hunk and show its state.
From before the first hunk, the first one is next."
  (interactive "p")
  (unless (agent-q-diff-buffer-elsewhere-p #'agent-q-diff-next-hunk)
    (agent-q-diff-navigation--move (or n 1))))

(defun agent-q-diff-previous-hunk (&optional n)
  "Move to the Nth previous hunk and show its state."
  (interactive "p")
  (unless (agent-q-diff-buffer-elsewhere-p #'agent-q-diff-previous-hunk)
    (agent-q-diff-navigation--move (- (or n 1)))))

(defun agent-q-diff-navigation--move (n)
  "Move N hunks down and show the state of the hunk there.
In a buffer that is not a diff, use `diff-hunk-next'."
  (if (not (or (agent-q-diff-buffer-ended-p) (agent-q-diff-buffer-change-or-nil)))
      (diff-hunk-next n)
    (let* ((here (agent-q-diff-navigation--here n))
           (last (1- (length agent-q-diff-buffer-positions)))
           (there (min last (max 0 (+ here n)))))
      (setq there (agent-q-diff-navigation--visible-hunk there (if (< n 0) -1 1) here))
      (agent-q-diff-buffer-goto-hunk (max 0 there))
      (if (eq here there)
          (message (if (> n 0) "No next hunk" "No previous hunk"))
        (agent-q-diff-navigation--say-state)))))

(defun agent-q-diff-navigation--here (n)
  "Return the hunk from which to count N hunks down.
From the heading of a file, the one before it, or the one after if N is
negative; above the first hunk, -1."
  (let ((before (or (agent-q-diff-buffer-hunk-before) -1)))
    (if (and (< n 0) (agent-q-diff-buffer-heading-at-point))
        (1+ before)
      before)))

(defun agent-q-diff-navigation--visible-hunk (hunk step default)
  "Return HUNK, or the next one in the direction of STEP that is not hidden.
Hunks folded into the heading of their file are not: moving there shows them.
If there is none, return DEFAULT."
  (cl-loop for there = hunk then (+ there step)
           while (< -1 there (length agent-q-diff-buffer-positions))
           for position = (agent-q-diff-buffer-position there)
           unless (or (agent-q-diff-filter--header-hidden-p there)
                      (and (invisible-p position)
                           (null (agent-q-diff-buffer-folds position (1+ position)))))
           return there
           finally return default))

(defun agent-q-diff-next-conflict (&optional n)
  "Move to the Nth next hunk that is a conflict or ambiguous, and show why.
If a place of an ambiguous hunk is shown, as after accepting it once, show
the Nth next place where that hunk may belong instead."
  (interactive "p")
  (unless (agent-q-diff-places-show-next (or n 1))
    (agent-q-diff-navigation--goto-conflict (or n 1))))

(defun agent-q-diff-navigation--goto-conflict (n)
  "Move to the Nth next hunk that is a conflict or ambiguous, and show why."
  (let* ((change (agent-q-diff-signs-follow))
         (here (agent-q-diff-navigation--here n))
         ;; Those that have no certain place in the target.
         (ahead (cl-loop for hunk below (length agent-q-diff-buffer-positions)
                         when (and (if (> n 0) (> hunk here) (< hunk here))
                                   (agent-q-diff-engine-hunk-reason
                                    (agent-q-diff-change-hunk change hunk)))
                         collect hunk))
         (ahead (if (> n 0) ahead (nreverse ahead)))
         (there (nth (1- (abs n)) ahead)))
    (if (not there)
        (message (if (> n 0)
                     "No further hunk fails to apply"
                   "No earlier hunk fails to apply"))
      (agent-q-diff-buffer-goto-hunk there)
      (agent-q-diff-navigation--say-state))))

(defun agent-q-diff-previous-conflict (&optional n)
  "Move to the Nth previous hunk that is a conflict or ambiguous, and show why.
If a place of an ambiguous hunk is shown, show the Nth previous place where
that hunk may belong instead."
  (interactive "p")
  (agent-q-diff-next-conflict (- (or n 1))))

;;;; From file to file

(defun agent-q-diff-next-file (&optional n)
  "Move to the heading of the Nth next file.
In a review of one file's text, move to the Nth next hunk."
  (interactive "p")
  (agent-q-diff-navigation--move-to-file (or n 1)))

(defun agent-q-diff-previous-file (&optional n)
  "Move to the heading of the Nth previous file; first, to that of the file here.
In a review of one file's text, move to the Nth previous hunk."
  (interactive "p")
  (agent-q-diff-navigation--move-to-file (- (or n 1))))

(defun agent-q-diff-navigation--move-to-file (n)
  "Move N headings down, or to the last heading in that direction."
  (let* ((headings (mapcar #'marker-position agent-q-diff-buffer-headings))
         (ahead (if (> n 0)
                    (seq-filter (lambda (heading) (> heading (point))) headings)
                  (nreverse (seq-filter (lambda (heading)
                                          (< heading (line-beginning-position)))
                                        headings))))
         (there (or (nth (1- (abs n)) ahead) (car (last ahead)))))
    (cond
     ((null headings)
      (if (> n 0) (agent-q-diff-next-hunk n) (agent-q-diff-previous-hunk (- n))))
     ((null there)
      (message (if (> n 0) "No next file" "No previous file")))
     (t (widen)
        (setq agent-q-diff-buffer-is-moved t)
        (goto-char there)
        (agent-q-diff-navigation--say-file)))))

(defun agent-q-diff-navigation--say-file ()
  "Say in the echo area how far the file at point, on its heading, is decided."
  (let ((index (agent-q-diff-buffer-file-index)))
    (message "File %d of %d%s" (1+ index) (length agent-q-diff-buffer-headings)
             (if (agent-q-diff-buffer-ended-p)
                 ""
               (concat ": " (agent-q-diff-section-state agent-q-diff-buffer-change index))))))

;;; The target

(defun agent-q-diff-preview-hunk ()
  "Show the place of the hunk at point in the target, in another window."
  (interactive)
  (condition-case err
      (let* ((change (agent-q-diff-signs-follow (agent-q-diff-buffer-file-index)))
             (index (agent-q-diff-buffer-hunk-here))
             (hunk (agent-q-diff-change-hunk change index)))
        (when (agent-q-diff-change-operation-of change index)
          (signal 'agent-q-diff-not-found '("this hunk does not change lines")))
        (unless (agent-q-diff-engine-hunk-offset hunk)
          (signal 'agent-q-diff-not-found (list (agent-q-diff-engine-hunk-reason hunk))))
        (pcase-let* ((target (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file)))
                     (`(,buffer . ,position)
                      (agent-q-diff-disk-place
                       target (agent-q-diff-text-position
                               target (agent-q-diff-engine-hunk-line hunk)))))
          (agent-q-diff-places-show-position buffer position)
          (message "Line %d of %s"
                   (with-current-buffer buffer (line-number-at-pos position t))
                   (agent-q-diff-visible (buffer-name buffer)))))
    (user-error (signal (car err) (cdr err)))
    (error (message "No place to show: %s" (agent-q-diff-error-text err)))))

;;;; The hunk at point

(defun agent-q-diff-navigation-header (hunk)
  "Return the header of HUNK, as it stands in this buffer."
  (save-excursion
    (agent-q-diff-base-widened
      (goto-char (agent-q-diff-buffer-position hunk))
      (buffer-substring-no-properties (point) (line-end-position)))))

(defun agent-q-diff-navigation-heading (hunk)
  "Return the section heading of HUNK, or nil if it has none."
  (let ((header (agent-q-diff-navigation-header hunk)))
    (and (string-match "\\`@@ [^@]*@@ \\(.+\\)" header)
         (agent-q-diff-visible (match-string 1 header)))))

;;;; Index

(defun agent-q-diff-navigation--index ()
  "Return the hunks of this buffer for imenu; of several files, under each."
  (if agent-q-diff-buffer-headings
      (cl-loop for heading across agent-q-diff-buffer-headings
               for index from 0
               collect (cons (agent-q-diff-navigation--file-name index)
                             (cons (cons "The file" (marker-position heading))
                                   (agent-q-diff-navigation--entries
                                    (agent-q-diff-change-hunks-of
                                     agent-q-diff-buffer-change index)))))
    (agent-q-diff-navigation--entries
     (number-sequence 0 (1- (length agent-q-diff-buffer-positions))))))

(defun agent-q-diff-navigation--file-name (index)
  "Return the name in the heading of the file with INDEX."
  (get-text-property (aref agent-q-diff-buffer-headings index) 'agent-q-diff-heading))

(defun agent-q-diff-navigation--entries (hunks)
  "Return HUNKS, a list of indices, for imenu."
  (cl-loop for hunk in hunks
           for position = (agent-q-diff-buffer-position hunk)
           for mark = (alist-get position agent-q-diff-buffer-hunk-states)
           collect (cons (format "%s %s  %s"
                                 (if agent-q-diff-buffer-headings
                                     (agent-q-diff-buffer-hunk-words hunk)
                                   (1+ hunk))
                                 (or mark 'pending)
                                 (agent-q-diff-visible
                                  (agent-q-diff-navigation-header hunk)))
                         position)))

(defun agent-q-diff-navigation--defun ()
  "Return the section heading of the hunk at point, for which-function.
In a change of several files the name of the hunk's file comes first.  The
function of `diff-mode' would open the file that a header names."
  (let* ((hunk (agent-q-diff-buffer-hunk-at-point))
         (heading (and hunk (agent-q-diff-navigation-heading hunk)))
         (file (and agent-q-diff-buffer-headings
                    (or hunk (agent-q-diff-buffer-heading-at-point))
                    (agent-q-diff-navigation--file-name (agent-q-diff-buffer-file-index)))))
    (if (and file heading)
        (format "%s: %s" file heading)
      (or file heading))))

(defun agent-q-diff-next-error (n &optional reset)
  "Move N hunks down and show the place in the target, for `next-error'.
If RESET is non-nil, count from the first hunk."
  (when reset
    (goto-char (point-min)))
  (let ((here (agent-q-diff-navigation--here n)))
    (unless (< -1 (+ here n) (length agent-q-diff-buffer-positions))
      (user-error "No more hunks"))
    (agent-q-diff-buffer-goto-hunk (+ here n))
    (agent-q-diff-preview-hunk)))

;;;; Finding in changed lines

(defun agent-q-diff-navigation--changed-p (beg end)
  "Return non-nil if BEG to END is in a line that is added or removed."
  (save-excursion
    (goto-char beg)
    (and (memq (agent-q-diff-buffer-kind-at beg) '(?a ?r))
         (< (line-beginning-position) beg)
         (<= end (line-end-position)))))

(defun agent-q-diff-navigation--search-all-lines ()
  "Let a search find text in all lines again."
  (remove-hook 'isearch-mode-end-hook #'agent-q-diff-navigation--search-all-lines t)
  (remove-function (local 'isearch-filter-predicate) #'agent-q-diff-navigation--changed-p))

(defun agent-q-diff-find ()
  "Search for text in the lines that are added or removed, and in no others.
This is incremental search, with all its keys."
  (interactive)
  (agent-q-diff-buffer-complete)
  (add-function :after-while (local 'isearch-filter-predicate)
                #'agent-q-diff-navigation--changed-p
                '((isearch-message-prefix . "changed lines ")))
  (add-hook 'isearch-mode-end-hook #'agent-q-diff-navigation--search-all-lines nil t)
  (isearch-forward))

;;;; By definition

(defun agent-q-diff-navigation--definitions ()
  "Return an alist from names of hunks, with their definitions, to hunks."
  (cl-loop for hunk from 0 below (length agent-q-diff-buffer-positions)
           collect (cons (format "%s (%s, %s)"
                                 (or (agent-q-diff-navigation-heading hunk)
                                     (agent-q-diff-navigation-header hunk))
                                 (agent-q-diff-buffer-hunk-words hunk)
                                 (agent-q-diff-buffer-mark-word
                                  (aref agent-q-diff-buffer-marks hunk)))
                         hunk)))

(defun agent-q-diff-goto-definition (hunk)
  "Move to HUNK, which is chosen by the definition that it is in, with completion."
  (interactive
   (list (let* ((all (progn
                       (agent-q-diff-buffer-complete)
                       (agent-q-diff-buffer-current-change)
                       (agent-q-diff-navigation--definitions)))
                (in-order (lambda (names) names))
                (name (completing-read
                       "Hunk in: "
                       (lambda (string predicate action)
                         (if (eq action 'metadata)
                             `(metadata (display-sort-function . ,in-order)
                                        (cycle-sort-function . ,in-order))
                           (complete-with-action action all string predicate)))
                       nil t)))
           (or (cdr (assoc name all)) (user-error "No hunk was chosen")))))
  (agent-q-diff-buffer-goto-hunk hunk)
  (agent-q-diff-navigation--say-state))

;;;; Eldoc

(defconst agent-q-diff-navigation--keys
  '((nil "\\[agent-q-diff-accept-hunk] accepts, \\[agent-q-diff-reject-hunk] rejects"
         . "\\[agent-q-diff-accept-hunk] keeps, \\[agent-q-diff-reject-hunk] takes out")
    (applied "\\[agent-q-diff-unapply-hunk] takes it out of the file"
             . "\\[agent-q-diff-unapply-hunk] makes it pending again")
    (rejected "\\[agent-q-diff-accept-hunk] accepts it after all"
              . "\\[agent-q-diff-accept-hunk] keeps it after all"))
  "Alist from the mark of a hunk to the keys that Eldoc shows for it.
These are (BEFORE . AFTER), before the write and after it.")

(defun agent-q-diff-navigation--eldoc (&rest _)
  "Return the state of the hunk at point and the keys for it, for Eldoc."
  (when (agent-q-diff-buffer-known-p)
    (when-let ((hunk (agent-q-diff-buffer-hunk-at-point)))
      (let* ((state (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk))
             (mark (agent-q-diff-engine-hunk-mark state))
             (reason (agent-q-diff-engine-hunk-reason state)))
        (format "%s, %s; %s"
                (if agent-q-diff-buffer-headings
                    (agent-q-diff-buffer-hunk-words hunk 'first)
                  (format "Hunk %d of %d" (1+ hunk) (length agent-q-diff-buffer-positions)))
                (or (and reason (null mark) (agent-q-diff-navigation--known-p hunk)
                         (concat (if (eq 'ambiguous (agent-q-diff-engine-hunk-place state))
                                     "ambiguous: "
                                   "does not apply: ")
                                 reason))
                    (agent-q-diff-buffer-mark-word mark))
                (substitute-command-keys
                 (concat "\\<agent-q-diff-mode-map>"
                         (funcall (if (agent-q-diff-buffer-written-p) #'cdr #'car)
                                  (alist-get mark agent-q-diff-navigation--keys)))))))))

;;;; Following in the other window

(defvar-local agent-q-diff-navigation--overlay nil
  "The overlay on the lines of the target that the hunk at point touches.")

(defvar-local agent-q-diff-navigation--followed nil
  "The hunk whose place is shown in the other window, (HUNK . TICK), or nil.
TICK is the tick of the target when it was shown.")

(define-minor-mode agent-q-diff-follow-mode
  "Show in the other window which lines of the file the hunk at point touches.
If a window shows the file already, this happens without the mode; see
`agent-q-diff-follow'."
  :lighter " Follow"
  (agent-q-diff-navigation-unmark)
  (when agent-q-diff-follow-mode
    (agent-q-diff-navigation--follow)))

(defun agent-q-diff-navigation-unmark ()
  "Unmark the lines of the target that the hunk at point touches."
  (setq agent-q-diff-navigation--followed nil)
  (when agent-q-diff-navigation--overlay
    (delete-overlay agent-q-diff-navigation--overlay)
    (setq agent-q-diff-navigation--overlay nil)))

(defun agent-q-diff-navigation--window-of (target)
  "Return a window of the buffer TARGET, except the selected one, or nil.
In that one the user may be typing."
  (seq-find (lambda (window) (not (eq window (selected-window))))
            (get-buffer-window-list target 'never)))

(defun agent-q-diff-navigation--follow ()
  "Show the place of the hunk at point, unless it is shown already.
This runs after every command, so it must not signal an error."
  (let* ((file (and agent-q-diff-buffer-change (agent-q-diff-buffer-file)))
         (target (and file
                      (agent-q-diff-target-visitor (agent-q-diff-file-change-target file))))
         (now (and (buffer-live-p target)
                   (or agent-q-diff-follow-mode
                       (and agent-q-diff-follow (agent-q-diff-navigation--window-of target)))
                   (agent-q-diff-buffer-known-p)
                   (cons (agent-q-diff-buffer-hunk-at-point)
                         (agent-q-diff-file-change-tick file)))))
    (unless (equal now agent-q-diff-navigation--followed)
      (agent-q-diff-navigation-unmark)
      (setq agent-q-diff-navigation--followed now)
      (when (car now)
        (ignore-errors
          (agent-q-diff-navigation--mark (car now)))))))

(defun agent-q-diff-navigation--appear (window)
  "Show the place of the hunk at point soon after WINDOW began to show it.
Redisplay calls this, with any buffer current, so nothing is displayed yet."
  (let ((buffer (window-buffer window)))
    (run-with-timer 0 nil
                    (lambda ()
                      (agent-q-diff-base-with-live buffer
                        (agent-q-diff-navigation--follow))))))

(defvar-local agent-q-diff-navigation--has-moved nil
  "Non-nil if point was moved in a window of the target.")

(defun agent-q-diff-navigation--mark (hunk)
  "Mark the target's lines in the place of HUNK, and show them.
Before point is first moved in the target, its position becomes the mark."
  (pcase-let* ((change (agent-q-diff-signs-follow (agent-q-diff-buffer-file-index)))
               (target (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file hunk)))
               (`(,line . ,text) (agent-q-diff-engine-live-lines
                                  (agent-q-diff-change-engine change) hunk))
               (changed (agent-q-diff-engine-hunk-line
                         (agent-q-diff-change-hunk change hunk)))
               (beg (agent-q-diff-text-position target line))
               (end (+ beg (length text)))
               (`(,user . ,position)
                (agent-q-diff-disk-place target
                                         (agent-q-diff-text-position target (or changed line)))))
    (unless (eq user target)
      (setq beg (cdr (agent-q-diff-disk-place target beg))
            end (cdr (agent-q-diff-disk-place target end))
            target user))
    (setq agent-q-diff-navigation--overlay
          (make-overlay beg end target))
    (overlay-put agent-q-diff-navigation--overlay 'face 'agent-q-diff-place)
    (let ((window (agent-q-diff-navigation--window-of target)))
      (when (and window (not agent-q-diff-navigation--has-moved))
        (setq agent-q-diff-navigation--has-moved t)
        (with-selected-window window
          (push-mark nil t)))
      (when (or window (eq (window-buffer) (current-buffer)))
        (agent-q-diff-places-show-position target position window)))))

;;;; Set-up

(defun agent-q-diff-navigation-set-up ()
  "Set up Imenu, which-function, `next-error' and Eldoc in this buffer."
  (setq-local imenu-create-index-function #'agent-q-diff-navigation--index)
  (setq-local add-log-current-defun-function #'agent-q-diff-navigation--defun)
  (setq-local next-error-function #'agent-q-diff-next-error)
  (add-hook 'eldoc-documentation-functions #'agent-q-diff-navigation--eldoc nil t)
  (add-hook 'post-command-hook #'agent-q-diff-navigation--follow nil t)
  (add-hook 'window-buffer-change-functions #'agent-q-diff-navigation--appear nil t)
  ;; Another review in this buffer enters the mode again.
  (add-hook 'change-major-mode-hook #'agent-q-diff-navigation-unmark nil t)
  (add-hook 'kill-buffer-hook #'agent-q-diff-navigation-unmark nil t))

;;; Hiding and folding hunks

(defvar-local agent-q-diff-filter--filters nil
  "Functions that hide hunks of this buffer; see `agent-q-diff-filter-use'.")

;;;; Overlays

(defun agent-q-diff-filter-hide (beg end &optional text)
  "Hide the text from BEG to END, and show TEXT, a string or nil, instead.
This is for functions that `agent-q-diff-filter-use' was called with."
  (agent-q-diff-base-overlay beg end 'agent-q-diff-filter t 'invisible 'agent-q-diff
                             'after-string text))

(defvar-local agent-q-diff-filter--hidden nil
  "Which hunks filters hide, as (TICK LINES . HEADERS), or nil if that is unknown.
LINES and HEADERS have t for each hunk of which these are hidden.  TICK is the
modification tick of the buffer then.")

;; One by one, Emacs 28 would go through all overlays for each hunk.
(defun agent-q-diff-filter--covered (overlays at)
  "Return a `bool-vector' of the hunks that OVERLAYS cover at a position.
AT is called at the beginning of a hunk, and returns that.  It is in the hunk's
first line."
  (agent-q-diff-buffer-complete)
  (let ((covered (make-bool-vector (length agent-q-diff-buffer-positions) nil))
        ;; Fields are looked for among the overlays, too.
        (inhibit-field-text-motion t))
    (save-excursion
      (cl-flet ((first-from (position)
                  (let ((hunk (agent-q-diff-buffer-hunk-before position)))
                    (cond
                     ((null hunk) 0)
                     ((progn
                        (goto-char (agent-q-diff-buffer-position hunk))
                        (<= position (funcall at)))
                      hunk)
                     (t (1+ hunk))))))
        (dolist (overlay overlays)
          (cl-loop for hunk from (first-from (overlay-start overlay))
                   below (first-from (overlay-end overlay))
                   do (aset covered hunk t)))))
    covered))

(defun agent-q-diff-filter--hidden ()
  "Return which hunks filters hide, see the variable of this name."
  (unless (eql (car agent-q-diff-filter--hidden) (buffer-modified-tick))
    (agent-q-diff-base-widened
      (let* ((all (overlays-in (point-min) (point-max)))
             (hiding (seq-filter (lambda (overlay)
                                   (and (overlay-get overlay 'agent-q-diff-filter)
                                        (overlay-get overlay 'invisible)))
                                 all))
             (folding (seq-filter (lambda (overlay)
                                    (overlay-get overlay 'agent-q-diff-folded-file))
                                  all)))
        (setq agent-q-diff-filter--hidden
              (cons (buffer-modified-tick)
                    (cons (agent-q-diff-filter--covered hiding #'line-end-position)
                          (bool-vector-set-difference
                           (agent-q-diff-filter--covered hiding #'point)
                           (agent-q-diff-filter--covered folding #'point))))))))
  (cdr agent-q-diff-filter--hidden))

(defun agent-q-diff-filter-any-p ()
  "Return non-nil if a filter is on."
  (and agent-q-diff-filter--filters t))

(defun agent-q-diff-filter-hidden ()
  "Return a `bool-vector' of the hunks whose lines a filter hides, if one is on."
  (car (agent-q-diff-filter--hidden)))

(defun agent-q-diff-filter-hidden-p (hunk)
  "Return non-nil if a filter hides the lines of HUNK."
  (and (agent-q-diff-filter-any-p)
       (aref (agent-q-diff-filter-hidden) hunk)))

(defun agent-q-diff-filter--header-hidden-p (hunk)
  "Return non-nil if a filter hides the header of HUNK, whose file is not folded."
  (and agent-q-diff-filter--filters
       (aref (cdr (agent-q-diff-filter--hidden)) hunk)))

(defun agent-q-diff-filter-update (&rest _)
  "Hide what the filters that are on hide, and show everything else."
  (setq agent-q-diff-filter--hidden nil)
  (agent-q-diff-base-widened
    (remove-overlays nil nil 'agent-q-diff-filter t)
    (unless (agent-q-diff-buffer-ended-p)
      (agent-q-diff-buffer-current-change)
      (mapc #'funcall agent-q-diff-filter--filters))
    (agent-q-diff-buffer-announce-folds)))

(defun agent-q-diff-filter-hide-hunks (hidden &optional by-file)
  "Hide the hunks for which HIDDEN is t, adjacent ones together.
HIDDEN is a `bool-vector' of all hunks.  If BY-FILE is non-nil, leave the
headings of files between them visible."
  (let ((n (length hidden))
        (hunk 0))
    (while (< hunk n)
      (if (not (aref hidden hunk))
          (cl-incf hunk)
        (let* ((first hunk)
               (end (if by-file
                        (agent-q-diff-change-end-of agent-q-diff-buffer-change
                                                    (agent-q-diff-buffer-file-index first))
                      n)))
          (while (and (< hunk end) (aref hidden hunk))
            (cl-incf hunk))
          (agent-q-diff-filter-hide (agent-q-diff-buffer-position first)
                                    (agent-q-diff-buffer-hunk-end (1- hunk))))))))

(defun agent-q-diff-filter--hide-decided ()
  "Hide the decided hunks, adjacent ones together."
  (agent-q-diff-filter-hide-hunks
   (apply #'bool-vector (mapcar (lambda (mark) (and mark t)) agent-q-diff-buffer-marks))))

;;;; Modes

(defun agent-q-diff-filter--can-hide ()
  "Have overlays with the property `invisible' set to `agent-q-diff' hide text."
  ;; Emacs 28 would add it each time.
  (unless (and (listp buffer-invisibility-spec)
               (memq 'agent-q-diff buffer-invisibility-spec))
    (add-to-invisibility-spec 'agent-q-diff)))

(defun agent-q-diff-filter-use (function is-on)
  "Have FUNCTION hide hunks of this buffer if IS-ON is non-nil, else not any more.
It is called now, and whenever hunks may have been decided, with no arguments;
it hides by `agent-q-diff-filter-hide'."
  (agent-q-diff-filter--can-hide)
  (cl-callf2 remq function agent-q-diff-filter--filters)
  (when is-on
    (push function agent-q-diff-filter--filters))
  (if agent-q-diff-filter--filters
      (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-filter-update 90 t)
    (remove-hook 'agent-q-diff-progress-functions #'agent-q-diff-filter-update t))
  (agent-q-diff-filter-update))

(define-minor-mode agent-q-diff-hide-decided-mode
  "Hide the hunks that are accepted or rejected."
  :lighter " Undecided"
  (agent-q-diff-filter-use #'agent-q-diff-filter--hide-decided agent-q-diff-hide-decided-mode)
  (when (called-interactively-p 'any)
    (pcase-let ((`(,total ,_ ,_ ,pending) (agent-q-diff-buffer-counts)))
      (if agent-q-diff-hide-decided-mode
          (message "Showing %d undecided of %d" pending total)
        (message "Showing all %d" total)))))

(defvar-local agent-q-diff-filter--unseen nil
  "The hunks that `agent-q-diff-unseen-mode' shows, by their ids in the engine.")

(defun agent-q-diff-filter--hide-seen ()
  "Hide the hunks that were shown, or are not decided, adjacent ones together."
  (let ((hidden (make-bool-vector (length agent-q-diff-buffer-positions) t)))
    (dolist (hunk (agent-q-diff-change-hunks-with agent-q-diff-buffer-change
                                                  agent-q-diff-filter--unseen))
      (aset hidden hunk nil))
    (agent-q-diff-filter-hide-hunks hidden)))

(define-minor-mode agent-q-diff-unseen-mode
  "Show only the hunks that are decided and had not been shown before that.
The key after this one may take back what was decided about them."
  :lighter " Unseen"
  (agent-q-diff-buffer-complete)
  (agent-q-diff-buffer-current-change)
  (let* ((hunks (and agent-q-diff-unseen-mode (agent-q-diff-shown-decided-unseen)))
         (ids (agent-q-diff-change-ids agent-q-diff-buffer-change hunks)))
    (when (and agent-q-diff-unseen-mode (null hunks))
      (setq agent-q-diff-unseen-mode nil)
      (user-error "All that is decided had been shown before"))
    (setq agent-q-diff-filter--unseen ids)
    (agent-q-diff-shown-offer ids)
    (agent-q-diff-filter-use #'agent-q-diff-filter--hide-seen agent-q-diff-unseen-mode)
    (if (null hunks)
        (when (called-interactively-p 'any)
          (message "All hunks are shown"))
      (agent-q-diff-buffer-goto-hunk (car hunks))
      (message "%s%s"
               (format (ngettext "%d hunk was decided and not shown"
                                 "%d hunks were decided and not shown" (length hunks))
                       (length hunks))
               (agent-q-diff-filter--back-words
                (length (agent-q-diff-shown-to-take-back hunks)) (length hunks))))))

(defun agent-q-diff-filter--back-words (n total)
  "Return words that a key takes N of TOTAL hunks back, or \"\"."
  (if (= 0 n)
      ""
    (substitute-command-keys
     (format "; \\<agent-q-diff-mode-map>\\[agent-q-diff-unapply-hunk] takes %s back"
             (cond ((= 1 total) "it")
                   ((= n total) "all of them")
                   (t (format "%d of them" n)))))))

;;;; Folding by hand

(defun agent-q-diff-filter--folded (hunk)
  "Return the overlay that folds HUNK into its header, or nil."
  (seq-find (lambda (overlay) (overlay-get overlay 'agent-q-diff-folded))
            (overlays-in (agent-q-diff-buffer-position hunk)
                         (1- (agent-q-diff-buffer-hunk-end hunk)))))

(defun agent-q-diff-filter--fold-hunk (hunk)
  "Fold HUNK into its header, unless it is folded."
  (unless (agent-q-diff-filter--folded hunk)
    (agent-q-diff-base-widened
      (save-excursion
        (goto-char (agent-q-diff-buffer-position hunk))
        (let* ((beg (line-end-position))
               (end (1- (agent-q-diff-buffer-hunk-end hunk)))
               (n-notes (length (agent-q-diff-annotations-between beg end))))
          (agent-q-diff-base-overlay
           beg end 'agent-q-diff-folded t 'invisible 'agent-q-diff
           'isearch-open-invisible #'agent-q-diff-filter--open-hunk
           'after-string (propertize
                          (if (zerop n-notes)
                              " …"
                            (format (ngettext " … %d note" " … %d notes" n-notes) n-notes))
                          'face 'agent-q-diff-pending)))))))

(defun agent-q-diff-filter--open-hunk (overlay)
  "Show the hunk that OVERLAY hides."
  (delete-overlay overlay)
  (agent-q-diff-buffer-announce-folds))

(defun agent-q-diff-filter--know-hunks ()
  "Find the hunks of this buffer, unless they are known, to fold them."
  (agent-q-diff-filter--can-hide)
  (agent-q-diff-buffer-complete)
  (unless (agent-q-diff-buffer-ended-p)
    (agent-q-diff-buffer-current-change)))

(defun agent-q-diff-filter--fold-file (index)
  "Fold the hunks of file INDEX into its heading."
  (agent-q-diff-base-widened
    (save-excursion
      (goto-char (aref agent-q-diff-buffer-headings index))
      ;; The line break after the heading stays, so that what the heading
      ;; shows at its end does.
      (agent-q-diff-base-overlay
       (line-beginning-position 2) (agent-q-diff-buffer-section-end index)
       'agent-q-diff-folded-file t 'invisible 'agent-q-diff
       'isearch-open-invisible #'agent-q-diff-filter--open-file)
      (agent-q-diff-base-overlay
       (point) (line-end-position) 'agent-q-diff-folded-file t 'priority 1
       'after-string (propertize " …" 'face 'agent-q-diff-pending)))))

(defun agent-q-diff-filter--open-file (overlay)
  "Show the hunks that OVERLAY hides."
  (save-excursion
    (goto-char (overlay-start overlay))
    (agent-q-diff-buffer-unfold-file)))

(defun agent-q-diff-filter--toggle-all-files ()
  "Fold the hunks of each file into its heading; if any is folded, show them all."
  (let ((index (agent-q-diff-buffer-file-index)))
    (if (agent-q-diff-buffer-folds (point-min) (point-max))
        (remove-overlays nil nil 'agent-q-diff-folded-file t)
      (dotimes (each (length agent-q-diff-buffer-headings))
        (agent-q-diff-filter--fold-file each))
      (goto-char (aref agent-q-diff-buffer-headings index)))))

(defun agent-q-diff-fold-hunk ()
  "Fold the hunk at point into its header, or show all of it again.
On the heading of a file, do this with the file, in a long description with
that, and elsewhere above the first hunk with all hunks."
  (interactive)
  (agent-q-diff-filter--know-hunks)
  (let ((hunk (agent-q-diff-buffer-hunk-at-point))
        (file (agent-q-diff-buffer-heading-at-point)))
    (cond
     (file (unless (agent-q-diff-buffer-unfold-file)
             (agent-q-diff-filter--fold-file file)))
     ((null hunk) (or (agent-q-diff-fold-toggle-description)
                      (agent-q-diff-fold-all-hunks)))
     ((agent-q-diff-filter--folded hunk)
      (delete-overlay (agent-q-diff-filter--folded hunk))
      (agent-q-diff-buffer-goto-hunk hunk))
     (t (agent-q-diff-buffer-goto-hunk hunk)
        (agent-q-diff-filter--fold-hunk hunk)))
    (agent-q-diff-buffer-announce-folds)))

(defun agent-q-diff-fold-all-hunks ()
  "Fold all hunks into their headers; if any is folded, show them all.
If there are several files, fold them into their headings."
  (interactive)
  (agent-q-diff-filter--know-hunks)
  (if agent-q-diff-buffer-headings
      (agent-q-diff-filter--toggle-all-files)
    (agent-q-diff-filter--toggle-all-hunks))
  (agent-q-diff-buffer-announce-folds))

(defun agent-q-diff-filter--toggle-all-hunks ()
  "Fold all hunks into their headers; if any is folded, show them all."
  (let ((hunk (agent-q-diff-buffer-hunk-at-point)))
    (if (seq-some (lambda (overlay) (overlay-get overlay 'agent-q-diff-folded))
                  (overlays-in (point-min) (point-max)))
        (remove-overlays nil nil 'agent-q-diff-folded t)
      (dotimes (each (length agent-q-diff-buffer-positions))
        (agent-q-diff-filter--fold-hunk each)))
    (when hunk
      (agent-q-diff-buffer-goto-hunk hunk))))

;;;; Moving

(defun agent-q-diff-filter--next (n wanted what)
  "Move to the Nth next hunk whose mark is WANTED, and show its state.
Wrap around after the last hunk.  WHAT names such a hunk, for the message
if there is none."
  (agent-q-diff-buffer-current-change)
  (let* ((marks agent-q-diff-buffer-marks)
         (total (length marks))
         (here (agent-q-diff-navigation--here n))
         (step (if (< n 0) -1 1))
         (found (cl-loop for k from 1 to total
                         for hunk = (mod (+ here (* k step)) total)
                         when (eq wanted (aref marks hunk)) collect hunk)))
    (if (null found)
        (message "No hunk is %s" what)
      (let ((next (nth (mod (1- (abs n)) (length found)) found)))
        (agent-q-diff-buffer-goto-hunk next)
        (agent-q-diff-navigation--say-state
         (cond
          ((= next here) (format "no other hunk is %s" what))
          ((if (> step 0) (< next here) (> next here))
           (format "none %s, wrapped around" (if (> step 0) "below" "above")))))))))

(defun agent-q-diff-next-pending (&optional n)
  "Move to the Nth next undecided hunk, and show its state."
  (interactive "p")
  (unless (agent-q-diff-buffer-elsewhere-p #'agent-q-diff-next-pending)
    (agent-q-diff-filter--next (or n 1) nil "pending")))

(defun agent-q-diff-next-rejected (&optional n)
  "Move to the Nth next rejected hunk, and show its state."
  (interactive "p")
  (agent-q-diff-filter--next (or n 1) 'rejected (agent-q-diff-buffer-mark-word 'rejected)))

;;; Files visited when their hunks come into view

(defvar-local agent-q-diff-in-view--timer nil
  "The timer that will visit the files in view, or nil.")

(defun agent-q-diff-in-view--note (beg end)
  "Visit soon the files whose sections are between BEG and END."
  (unless (or agent-q-diff-in-view--timer
              (agent-q-diff-buffer-ended-p)
              (null (agent-q-diff-in-view--put-off beg end)))
    (agent-q-diff-in-view--visit-after 0)))

(defun agent-q-diff-in-view--visit-after (seconds)
  "Visit the files in view in SECONDS seconds."
  (setq agent-q-diff-in-view--timer
        (run-with-timer seconds nil #'agent-q-diff-in-view--visit (current-buffer))))

(defun agent-q-diff-in-view--put-off (beg end)
  "Return the files between BEG and END that are to be visited, indices."
  (let ((files (agent-q-diff-change-files agent-q-diff-buffer-change)))
    (seq-filter (lambda (index)
                  (agent-q-diff-target-put-off
                   (agent-q-diff-file-change-target (nth index files))))
                (agent-q-diff-in-view--files beg end))))

(defun agent-q-diff-in-view--files (beg end)
  "Return the files whose sections are between BEG and END, indices."
  (let ((headings agent-q-diff-buffer-headings))
    (if (null headings)
        '(0)
      (number-sequence (or (agent-q-diff-base-last-at-most headings beg) 0)
                       (or (agent-q-diff-base-last-at-most headings end) -1)))))

(defun agent-q-diff-in-view--visit (buffer)
  "Visit the files whose sections are in a window of BUFFER."
  (agent-q-diff-base-with-live buffer
    (setq agent-q-diff-in-view--timer nil)
    (cond
     ((agent-q-diff-buffer-ended-p))
     (agent-q-diff-change-in-progress
      (agent-q-diff-in-view--visit-after agent-q-diff-change-retry-seconds))
     (t
      (dolist (window (get-buffer-window-list buffer nil t))
        (dolist (index (agent-q-diff-in-view--put-off (window-start window)
                                                      (window-end window t)))
          (agent-q-diff-in-view--visit-file index)))))))

(defun agent-q-diff-in-view--visit-file (index)
  "Visit the file with INDEX, and show how its hunks stand then.
If it cannot be visited, that is reported when a hunk of it is decided."
  (ignore-error error
    (if (agent-q-diff-change-visit agent-q-diff-buffer-change index)
        (agent-q-diff-signs-show-all)
      ;; In the colors of its mode.
      (font-lock-flush (and agent-q-diff-buffer-headings
                            (aref agent-q-diff-buffer-headings index))
                       (agent-q-diff-buffer-section-end index)))))

(defun agent-q-diff-in-view-set-up ()
  "Visit files when their sections of this buffer come into view."
  (when (and agent-q-diff-buffer-change
             (agent-q-diff-change-has-put-off agent-q-diff-buffer-change))
    (jit-lock-register #'agent-q-diff-in-view--note)))

;;;; The next review

;;;###autoload
(defun agent-q-diff-next-review ()
  "Go to the next open review, after that of the current buffer."
  (interactive)
  (let* ((reviews (agent-q-diff-open-reviews))
         (next (or (cadr (memq agent-q-diff-buffer-review reviews))
                   (car reviews))))
    (if (or (null next) (eq next agent-q-diff-buffer-review))
        (message "No other open review")
      (pop-to-buffer-same-window (agent-q-diff-session-buffer next))
      (agent-q-diff-reviews-introduce next))))

(provide 'agent-q-diff-navigation)
;;; agent-q-diff-navigation.el ends here
