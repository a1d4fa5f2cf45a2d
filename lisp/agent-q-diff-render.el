;;; agent-q-diff-render.el --- Shows a proposal in a diff buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Writes the diff buffer: the description, notes to read before the first
;; key, and the diff.  Agent-Q's own buffer has the file and the progress, too.

;;; Code:

(require 'diff-mode)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-section)
(require 'agent-q-diff-display)
(require 'agent-q-diff-current)
(require 'agent-q-diff-outcome)
(require 'agent-q-diff-lifecycle)
(require 'agent-q-diff-overview)
(require 'agent-q-diff-mode)

;;;; Showing a proposal

(defun agent-q-diff-render--buffer-name (review)
  "Return the name of the diff buffer of REVIEW, without a number."
  (if (agent-q-diff-session-is-documented review)
      agent-q-diff-buffer-name
    (format "*Agent-Q Diff: %s*"
            (agent-q-diff-session-name review))))

(defun agent-q-diff-render--fresh-buffer (review)
  "Return a buffer for REVIEW, which is new, never one whose review is open.
Nor is it one that is about to be killed, or in the selected window."
  (let* ((name (agent-q-diff-render--buffer-name review))
         (buffer (get-buffer name)))
    (if (and buffer
             (or (agent-q-diff-buffer-awaited-p buffer)
                 (memq buffer agent-q-diff-lifecycle-leaving)
                 (eq buffer (window-buffer))))
        (generate-new-buffer name)
      (get-buffer-create name))))

(defun agent-q-diff-render--comment (text)
  "Return TEXT with every line prefixed, so that none is taken for diff text.
Lines after the first one that begin like one of ours are quoted."
  (let ((case-fold-search t)
        (lines (split-string text "\n")))
    (mapconcat
     #'identity
     (cons (concat "# " (car lines))
           (mapcar (lambda (line)
                     (concat (if (string-match-p
                                  "\\`\\W*\\(?:note\\|file\\|description\\|c-c c-c\\)\\W" line)
                                 "# > "
                               "# ")
                             line))
                   (cdr lines)))
     "\n")))

(defun agent-q-diff-render--notes (change)
  "Return notes on CHANGE to read before the first key, a list of strings.
If it has several files, each note says which it is about."
  (append
   (mapcan (lambda (file)
             (let ((notes (and (agent-q-diff-file-change-has-text file)
                               (agent-q-diff-render--file-notes change file))))
               (if (agent-q-diff-change-is-compound change)
                   (mapcar (lambda (note)
                             (format "%s: %s" (agent-q-diff-section-file-name
                                               (agent-q-diff-file-change-path file))
                                     note))
                           notes)
                 notes)))
           (agent-q-diff-change-files change))
   (when-let ((written (agent-q-diff-change-written change)))
     (copy-sequence (agent-q-diff-written-news written)))
   (delq nil (list (agent-q-diff-render--suspects-note change)
                   (agent-q-diff-render--differs-note change)))))

(defun agent-q-diff-render--file-notes (change file)
  "Return notes on FILE, one of CHANGE, a list of strings."
  (let ((target (agent-q-diff-file-change-target file)))
    (delq nil
          (append
           (unless (agent-q-diff-target-put-off target)
             (agent-q-diff-render--target-notes target file
                                                (agent-q-diff-change-written change)))
           (list
            (when-let ((contradiction (agent-q-diff-outcome-contradiction change file)))
              (format "With all hunks in, %s; M-x agent-q-diff-recode-target makes the two agree."
                      contradiction))
            (when (agent-q-diff-file-change-is-adapted file)
              "Line endings and byte order mark are adapted to the file.")
            (when (agent-q-diff-module-is-coarse (agent-q-diff-file-change-engine file))
              "The texts are too different to be compared in full; hunks are coarser (agent-q-diff-budget)."))))))

(defun agent-q-diff-render--target-notes (target file is-written)
  "Return notes on TARGET, the visited one of FILE, a list of strings or nil.
IS-WRITTEN is non-nil if its changes were written before the review."
  (append
   (list
    (unless (or (file-exists-p (agent-q-diff-target-path target))
                (agent-q-diff-file-change-operations file))
      "The file does not exist.")
    (when (and (agent-q-diff-target-told-followed target)
               ;; Else the user knows it.
               (not is-written))
      "The file had changed on disk; its buffer, which had no unsaved edits, was updated."))
   (mapcar (lambda (note)
             (propertize note 'agent-q-diff-passing (cons target note)))
           (agent-q-diff-render--disk-notes target is-written))))

(defun agent-q-diff-render--disk-notes (target is-written)
  "Return notes on how the file of TARGET and its buffer differ, a list of strings.
IS-WRITTEN is as for `agent-q-diff-render--target-notes'."
  (delq
   nil
   (list
    (when-let ((message (agent-q-diff-target-disk-message target)))
      (format "No hunk can be accepted yet: %s." message))
    (when-let* ((buffer (agent-q-diff-target-copied target))
                ((agent-q-diff-disk-behind-p buffer)))
      (condition-case err
          (progn
            (agent-q-diff-disk-check-mergeable buffer)
            (format "%s has unsaved edits, which are not shown here; the first key that decides \
merges them with the file, and they stay unsaved."
                    (buffer-name buffer)))
        (agent-q-diff-error
         (format "No hunk can be decided yet: %s." (agent-q-diff-error-text err)))))
    (when (agent-q-diff-disk-unsaved-p (agent-q-diff-target-buffer target))
      (format "The file has unsaved edits in %s; %s"
              (agent-q-diff-text-buffer-name (agent-q-diff-target-buffer target))
              (cond
               ((not (agent-q-diff-target-saves-p target)) "accepting a hunk does not save.")
               (is-written "taking a hunk out saves them, too.")
               (t "accepting a hunk saves them, too.")))))))

(defun agent-q-diff-render--hide-notes (&rest _)
  "Hide the notes above the diff that are not true any more, and show the others."
  (agent-q-diff-base-widened
    (let ((first (if (< 0 (length agent-q-diff-buffer-positions))
                     (agent-q-diff-buffer-position 0)
                   (point-max)))
          (is-written (agent-q-diff-change-written agent-q-diff-buffer-change))
          (at (point-min)))
      (while (< at first)
        (let ((end (next-single-property-change at 'agent-q-diff-passing nil first)))
          (pcase (get-text-property at 'agent-q-diff-passing)
            (`(,(and target (app agent-q-diff-target-buffer (pred buffer-live-p))) . ,note)
             (with-silent-modifications
               (put-text-property
                at end 'invisible
                (not (member note (agent-q-diff-render--disk-notes target is-written)))))))
          (setq at end))))))

(defun agent-q-diff-render--suspects-note (change)
  "Return a note on misleading characters in CHANGE, a string or nil."
  (let ((n (+ (length (agent-q-diff-engine-suspects agent-q-diff-buffer-description))
              (cl-loop for file in (agent-q-diff-change-files change)
                       when (agent-q-diff-file-change-has-text file)
                       sum (agent-q-diff-module-n-suspects
                            (agent-q-diff-file-change-engine file))
                       sum (length (agent-q-diff-engine-suspects
                                    (agent-q-diff-file-change-path file)))))))
    (unless (zerop n)
      (format (ngettext
               "%d misleading character is shown like %s; ? ? names it."
               "%d misleading characters are shown like %s; ? ? names them."
               n)
              n (agent-q-diff-visible-sign #x202e)))))

(defun agent-q-diff-render--differs-note (change)
  "Return a note if not all hunks of CHANGE are as expected, or nil."
  (let* ((engine (agent-q-diff-change-engine change))
         (total (car (agent-q-diff-module-tally engine)))
         (numbers (agent-q-diff-module-standing engine))
         ;; All of what was written before its review should be there.
         (numbers (if (agent-q-diff-change-written change)
                      (append (butlast numbers) '(0))
                    numbers))
         (parts (cl-loop for n in numbers
                         for (one . more) in '(("does not apply" . "do not apply")
                                               ("is ambiguous" . "are ambiguous")
                                               ("is shifted" . "are shifted")
                                               ("is there already" . "are there already"))
                         when (> n 0) collect (format "%d %s" n (ngettext one more n)))))
    (cond
     ((= total (car numbers))
      (if (agent-q-diff-change-is-compound change)
          "The files are not what the proposal was made for: no hunk applies."
        "The file is not what the proposal was made for: no hunk applies."))
     (parts
      ;; If a diff came without its original, whether the file differs from
      ;; it is unknown.
      (concat (if (and agent-q-diff-buffer-original
                       (not (agent-q-diff-change-is-compound change)))
                  "The file differs from the proposal's original; of "
                "Of ")
              (format (ngettext "%d hunk, %s." "%d hunks, %s." total)
                      total (string-join parts ", ")))))))

(defun agent-q-diff-render--insert-header (review notes)
  "Insert the header lines of REVIEW, with NOTES, a list of strings.
Those of Agent-Q's documents name the file and have a line for the
progress; elsewhere, the header line shows both."
  (let ((is-documented (agent-q-diff-session-is-documented review))
        (change (agent-q-diff-session-change review))
        (start (point)))
    (when is-documented
      (insert (agent-q-diff-render--comment
               (format "File: %s" (if (agent-q-diff-session-root review)
                                      (agent-q-diff-session-long-name review)
                                    agent-q-diff-buffer-path)))
              "\n"))
    ;; Agents' own tools have none.
    (unless (and (not is-documented) (string-blank-p agent-q-diff-buffer-description))
      (insert (propertize (agent-q-diff-render--comment
                           (format "Description: %s" agent-q-diff-buffer-description))
                          'agent-q-diff-description t)
              "\n"))
    (put-text-property start (point) 'font-lock-face 'agent-q-diff-header)
    (dolist (note (append notes (agent-q-diff-render--notes change)))
      (let ((start (point))
            (passing (get-text-property (1- (length note)) 'agent-q-diff-passing note)))
        (insert (propertize (concat "# Note: " (agent-q-diff-render--note-line note))
                            'font-lock-face 'agent-q-diff-warning
                            'agent-q-diff-note t)
                "\n")
        (when passing
          (put-text-property start (point) 'agent-q-diff-passing passing))))
    (when is-documented
      ;; It has its final numbers at once, so it is not replaced and the
      ;; hunks stay where they are.
      (insert (agent-q-diff-progress-line (agent-q-diff-change-tally change)) "\n\n"))))

(defun agent-q-diff-render--note-line (note)
  "Return NOTE, a string, as one line of the diff buffer.
Unlike the diff below, its text need not be shown as it is, and a name in
it must not begin another line."
  (agent-q-diff-visible note most-positive-fixnum))

(defun agent-q-diff-render--write (review notes)
  "Fill the current buffer with the proposal of REVIEW and NOTES."
  (let ((change (agent-q-diff-session-change review))
        (inhibit-read-only t))
    (erase-buffer)
    (agent-q-diff-render--insert-header review notes)
    (if (agent-q-diff-change-is-compound change)
        (agent-q-diff-section-insert review)
      (agent-q-diff-render--insert-diff review))
    (agent-q-diff-signs-watch change)
    (agent-q-diff-render--take-over-marks change)
    (setq agent-q-diff-buffer-is-made t)
    (agent-q-diff-overview-insert-summary)
    (set-buffer-modified-p nil)))

(defun agent-q-diff-render--insert-diff (review)
  "Insert the diff of REVIEW, which is of one file's text."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-engine-print
                (agent-q-diff-change-engine (agent-q-diff-session-change review))
                agent-q-diff-buffer-path))
              (start (point)))
    (setf (agent-q-diff-session-proposed review) diff)
    (insert diff)
    (agent-q-diff-buffer-adopt review lines start)
    (agent-q-diff-render--hide-names start (agent-q-diff-buffer-position 0))))

(defun agent-q-diff-render--hide-names (beg end)
  "Hide the lines from BEG to END, which name the file twice.
The header line names it.  The lines stay in the text, for the commands of
`diff-mode' and for whoever copies the diff."
  (agent-q-diff-base-overlay beg end 'agent-q-diff-names t 'invisible t
                             'isearch-open-invisible #'delete-overlay))

(defun agent-q-diff-render--take-over-marks (change)
  "Take over the states of hunks of CHANGE that are decided already, if any."
  (pcase-let ((`(,_ ,applied ,rejected)
               (agent-q-diff-module-tally (agent-q-diff-change-engine change))))
    (unless (= 0 applied rejected)
      (agent-q-diff-buffer-write-states))))

(defun agent-q-diff-render--forget-review ()
  "Reset the current buffer's variables to those of a buffer without a review."
  (setq agent-q-diff-buffer-decision nil
        agent-q-diff-buffer-hunk-states nil
        agent-q-diff-buffer-review nil
        agent-q-diff-buffer-change nil
        agent-q-diff-buffer-positions nil
        agent-q-diff-buffer-rest nil
        agent-q-diff-buffer-headings nil
        agent-q-diff-buffer-parsed-tick nil
        agent-q-diff-buffer-is-made nil
        agent-q-diff-buffer-is-past nil
        agent-q-diff-buffer-n-below 0
        agent-q-diff-buffer-n-aside 0)
  (delete-all-overlays))

(defvar-local agent-q-diff-render--home nil
  "In a copy of a diff buffer, that diff buffer.")

(defun agent-q-diff-render--say-where ()
  "Say in which buffer the review is of which this buffer is a copy."
  (interactive)
  (user-error (if (buffer-live-p agent-q-diff-render--home)
                  "This is a copy; the review is in the buffer %s"
                "This is a copy of a review's buffer, which is gone")
              agent-q-diff-render--home))

(defun agent-q-diff-render--own-keys (map)
  "Return a keymap with those keys of MAP that work on a review.
They say where that is."
  (let ((saying (make-sparse-keymap)))
    ;; Without those of `diff-mode'.
    (map-keymap-internal
     (lambda (event binding)
       (cond
        ((keymapp binding)
         (define-key saying (vector event) (agent-q-diff-render--own-keys binding)))
        ((agent-q-diff-mode-own-command-p (if (eq 'menu-item (car-safe binding))
                                              (nth 2 binding)
                                            binding))
         (define-key saying (vector event) #'agent-q-diff-render--say-where))))
     map)
    saying))

(defun agent-q-diff-render--make-plain ()
  "Make this buffer, a copy of a diff buffer, one without a review.
It has the text of the diff buffer, but where hunks and headings are is
only known there, as the keys say here."
  (agent-q-diff-render--forget-review)
  (setq agent-q-diff-buffer-path nil
        header-line-format nil)
  ;; `diff-mode' leaves the hooks for killing the buffer.
  (mapc #'kill-local-variable '(kill-buffer-hook kill-buffer-query-functions))
  (diff-mode)
  ;; These open files, start a process, or turn on modes that the text names.
  (setq-local diff-refine nil)
  (setq-local diff-font-lock-syntax nil)
  (setq agent-q-diff-render--home agent-q-diff-buffer-home)
  (agent-q-diff-mode-own-keys (agent-q-diff-render--own-keys agent-q-diff-mode-map))
  (setq buffer-read-only t))

(defun agent-q-diff-render--make-copy-plain ()
  "Make a copy of a diff buffer plain if no hook did that when it was made.
The command that is to run says where the review is."
  (unless (eq agent-q-diff-buffer-home (current-buffer))
    (agent-q-diff-render--make-plain)
    (when (agent-q-diff-mode-own-command-p this-command)
      (setq this-command #'agent-q-diff-render--say-where))))

(defun agent-q-diff-render--has-hook-p (mode)
  "Return non-nil if the user has a hook for MODE, which must see all hunks."
  (seq-some (lambda (mode)
              (let ((hook (intern-soft (format "%s-hook" mode))))
                (and (boundp hook) (symbol-value hook))))
            (list mode 'diff-mode)))

(defun agent-q-diff-render--turn-on (mode)
  "Turn on MODE in this buffer, whatever buffer its hooks make current."
  (let ((buffer (current-buffer)))
    (save-current-buffer
      (funcall mode))
    (unless (buffer-live-p buffer)
      (signal 'agent-q-diff-cancelled
              (list (format "a hook of %s killed the buffer of the review" mode))))))

(defun agent-q-diff-render-prepare (review original modified description mode notes)
  "Return a diff buffer in MODE for REVIEW.
ORIGINAL, MODIFIED and DESCRIPTION are the proposal's; NOTES are strings
for the header."
  (with-current-buffer (agent-q-diff-render--fresh-buffer review)
    (agent-q-diff-render--forget-review)
    (setq buffer-undo-list t
          agent-q-diff-buffer-path (agent-q-diff-session-path review)
          agent-q-diff-buffer-original original
          agent-q-diff-buffer-modified modified
          ;; An agent's text properties must have no effect here.
          agent-q-diff-buffer-description (substring-no-properties description)
          default-directory (or (agent-q-diff-session-root review)
                                (file-name-directory agent-q-diff-buffer-path)))
    (agent-q-diff-render--write review notes)
    (when (agent-q-diff-render--has-hook-p mode)
      (agent-q-diff-buffer-complete))
    ;; Directory-local variables are for the file, not for its diff.
    (let ((enable-dir-local-variables nil)
          (diff-update-on-the-fly nil))
      (agent-q-diff-render--turn-on mode))
    (setq buffer-read-only t)
    (setf (agent-q-diff-session-buffer review) (current-buffer)
          (agent-q-diff-session-description review) description)
    (agent-q-diff-buffer-goto-hunk 0)
    (agent-q-diff-signs-show-all)
    ;; Nobody has moved there, away from the description.
    (setq agent-q-diff-buffer-is-moved nil)
    (agent-q-diff-buffer-complete-soon)
    ;; Of an earlier review.
    (dolist (window (get-buffer-window-list nil 'never t))
      (set-window-point window (point))
      (set-window-start window (point-min))
      (agent-q-diff-current-appear window))
    (when (text-property-not-all (point-min) (point-max) 'agent-q-diff-passing nil)
      (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-render--hide-notes nil t))
    (add-hook 'clone-indirect-buffer-hook #'agent-q-diff-render--make-plain nil t)
    (add-hook 'clone-buffer-hook #'agent-q-diff-render--make-plain nil t)
    (add-hook 'pre-command-hook #'agent-q-diff-render--make-copy-plain nil t)
    (add-hook 'kill-buffer-query-functions #'agent-q-diff-lifecycle-query-kill-buffer nil t)
    (add-hook 'kill-buffer-hook #'agent-q-diff-lifecycle-buffer-killed nil t)
    ;; Last, since this may kill the buffer.
    (add-hook 'post-command-hook #'agent-q-diff-finish-abort-at-top-level 90 t)
    (current-buffer)))

(provide 'agent-q-diff-render)
;;; agent-q-diff-render.el ends here
