;;; agent-q-diff-motion.el --- From hunk to hunk, and to the target  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Commands that only move or show: hunks, and the places in the target
;; where one may belong.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-target)
(require 'agent-q-diff-review)
(require 'agent-q-diff-view)

(defun agent-q-diff--say-state ()
  "Say the state of the hunk at point."
  (pcase-let* ((hunk (agent-q-diff--hunk-here))
               (`(,mark ,is-in ,reason ,place ,fuzz) (agent-q-diff--state-of hunk)))
    (message "Hunk %s (%d of %d)%s%s"
             (or mark 'pending) (1+ hunk) (length agent-q-diff--positions)
             (if (> fuzz 0) (format "; fuzz %d" fuzz) "")
             (cond
              ((eq place 'lost) "; its lines were changed in the file since")
              ((and is-in (not (eq mark 'applied))) "; its change is in the file")
              ((and (not is-in) (eq mark 'applied)) "; its change is not in the file")
              ((and reason (null mark)
                    (agent-q-diff-review-target agent-q-diff--review))
               (concat "; " reason))
              ((and (integerp place) (null mark))
               (format "; shifted by %d line%s" place
                       (if (= 1 (abs place)) "" "s")))
              (t "")))))

(defun agent-q-diff--state-of (hunk)
  "Return (MARK FACT REASON PLACE FUZZ) of HUNK; see `agent-q-diff-module-hunk'.
Once the review has ended, only the mark is known."
  (if (agent-q-diff--ended-p)
      (let ((mark (alist-get (aref agent-q-diff--positions hunk)
                             agent-q-diff--hunk-states)))
        (list mark (eq mark 'applied) nil nil 0))
    (let ((hunk (agent-q-diff-review-hunk agent-q-diff--review hunk)))
      (list (agent-q-diff-engine-hunk-mark hunk) (agent-q-diff-engine-hunk-fact hunk)
            (agent-q-diff-engine-hunk-reason hunk) (agent-q-diff-engine-hunk-place hunk)
            (agent-q-diff-engine-hunk-fuzz hunk)))))

(defun agent-q-diff-next-hunk (&optional n)
  "Move to the Nth next hunk and say its state.
Before the first hunk, the first one is next."
  (interactive "p")
  (agent-q-diff--move (or n 1)))

(defun agent-q-diff-previous-hunk (&optional n)
  "Move to the Nth previous hunk and say its state."
  (interactive "p")
  (agent-q-diff--move (- (or n 1))))

(defun agent-q-diff--move (n)
  "Move N hunks down and say where that is.
In a buffer that is not a diff, move as `diff-mode' does."
  (if (not (or (agent-q-diff--ended-p) (agent-q-diff--review-or-nil)))
      (diff-hunk-next n)
    (let* ((here (or (agent-q-diff--hunk-at-point) -1))
           (last (1- (length agent-q-diff--positions)))
           (there (min last (max 0 (+ here n)))))
      (setq there (agent-q-diff--visible-hunk there (if (< n 0) -1 1) here))
      (agent-q-diff--goto-hunk (max 0 there))
      (if (eq here there)
          (message (if (> n 0) "No next hunk" "No previous hunk"))
        (agent-q-diff--say-state)))))

(defun agent-q-diff--visible-hunk (hunk step default)
  "Return HUNK, or the next one in the direction of STEP that is not hidden.
If there is none, return DEFAULT."
  (let ((n (length agent-q-diff--positions)))
    (while (and (< -1 hunk n)
                (invisible-p (aref agent-q-diff--positions hunk)))
      (cl-incf hunk step))
    (if (< -1 hunk n) hunk default)))

(defun agent-q-diff-next-conflict (&optional n)
  "Move to the Nth next hunk that does not apply, and say why.
While the place of an ambiguous hunk is shown, as accepting it does at
first, show the Nth next place where that hunk may belong instead."
  (interactive "p")
  (unless (agent-q-diff--show-next-place (or n 1))
    (agent-q-diff--goto-conflict (or n 1))))

(defun agent-q-diff--goto-conflict (n)
  "Move to the Nth next hunk that does not apply, and say why."
  (let* ((review (agent-q-diff--review-with-target))
         (here (or (agent-q-diff--hunk-at-point) -1))
         (conflicts (agent-q-diff--conflicts review))
         (ahead (if (> n 0)
                    (seq-filter (lambda (hunk) (> hunk here)) conflicts)
                  (nreverse (seq-filter (lambda (hunk) (< hunk here)) conflicts))))
         (there (nth (1- (abs n)) ahead)))
    (if (not there)
        (message (if (> n 0)
                     "No further hunk fails to apply"
                   "No earlier hunk fails to apply"))
      (agent-q-diff--goto-hunk there)
      (agent-q-diff--say-state))))

(defun agent-q-diff-previous-conflict (&optional n)
  "Move to the Nth previous hunk that does not apply, and say why.
While the place of an ambiguous hunk is shown, show the Nth previous
place where that hunk may belong instead."
  (interactive "p")
  (agent-q-diff-next-conflict (- (or n 1))))

(defun agent-q-diff--conflicts (review)
  "Return the hunks of REVIEW that have no place in the target."
  (cl-loop for hunk below (length agent-q-diff--positions)
           when (agent-q-diff-engine-hunk-reason (agent-q-diff-review-hunk review hunk))
           collect hunk))

;;;; The places of an ambiguous hunk

(defvar-local agent-q-diff--place-overlay nil
  "The overlay on the lines of the target that are shown as a hunk's place.")

(defun agent-q-diff--shown-place (review hunk)
  "Return the place of HUNK of REVIEW that was just shown, or nil.
It is (LINE . IS-IN), as `agent-q-diff-engine-plan' takes it, and nil as
well if the target has changed since."
  (pcase agent-q-diff--shown
    (`(,id ,tick ,nth . ,places)
     (and (eql id (agent-q-diff-engine-hunk-id (agent-q-diff-review-hunk review hunk)))
          (eql tick (agent-q-diff-review-tick review))
          (pcase-let ((`(,line ,_ ,is-in . ,_) (nth nth places)))
            (cons line is-in))))))

(defun agent-q-diff--show-place (review hunk)
  "Show the likeliest place of HUNK of REVIEW, which is ambiguous.
Say how to take it.  Return nil if HUNK has no place to choose."
  (let* ((engine (agent-q-diff-review-engine review))
         (places (agent-q-diff-module-candidates engine hunk)))
    (when places
      (setq agent-q-diff--shown
            `(,(agent-q-diff-engine-hunk-id (agent-q-diff-review-hunk review hunk))
              ,(agent-q-diff-review-tick review) 0 . ,places))
      (agent-q-diff--show-shown review hunk)
      t)))

(defun agent-q-diff--show-next-place (n)
  "Show the Nth next place of the hunk at point, if one of several is shown.
After the last comes the first.  Return nil if that is not so."
  (let* ((review (and (not (agent-q-diff--ended-p)) (agent-q-diff--review-or-nil)))
         (hunk (and review (agent-q-diff--hunk-at-point))))
    (pcase agent-q-diff--shown
      ((and `(,_ ,_ ,nth . ,places)
            (guard (and hunk (cdr places)
                        (agent-q-diff--shown-place review hunk))))
       (setf (nth 2 agent-q-diff--shown) (mod (+ nth n) (length places)))
       (agent-q-diff--show-shown review hunk)
       t))))

(defun agent-q-diff--show-shown (review hunk)
  "Show the place of HUNK of REVIEW that `agent-q-diff--shown' names.
Its lines are marked until the next command in this buffer."
  (pcase-let* ((`(,_ ,_ ,nth . ,places) agent-q-diff--shown)
               (`(,line ,change ,is-in ,fuzz ,n-lines) (nth nth places))
               (target (agent-q-diff-review-target review))
               (window (display-buffer target '(nil (inhibit-same-window . t)))))
    (agent-q-diff--mark-place target line n-lines)
    (when window
      (let ((position (agent-q-diff-target-position target change)))
        (set-window-point window position)
        (with-selected-window window
          (goto-char position)
          (recenter))))
    (agent-q-diff--show-hunk hunk)
    (message "%s" (agent-q-diff--place-text
                   (buffer-name target) change is-in fuzz nth (length places)))))

(defun agent-q-diff--place-text (name line is-in fuzz nth n)
  "Return what to say of a place at LINE, from 0, of the buffer called NAME.
IS-IN tells whether the change is there, FUZZ how many outer context lines
differ; it is the place with the index NTH of N."
  (let ((aside (concat (if is-in ", where its change is already" "")
                       (if (> fuzz 0) (format ", with fuzz %d" fuzz) ""))))
    (if (= n 1)
        (format "Ambiguous: is line %d of %s%s the place?  The same key again says yes"
                (1+ line) name aside)
      (substitute-command-keys
       (format "Place %d of %d: line %d of %s%s.  The same key takes it; \\<agent-q-diff-mode-map>\\[agent-q-diff-next-conflict] \\[agent-q-diff-previous-conflict] show others"
               (1+ nth) n (1+ line) name aside)))))

(defun agent-q-diff--mark-place (target line n-lines)
  "Mark N-LINES lines of TARGET from LINE, from 0, until the next command."
  (agent-q-diff--unmark-place)
  (let ((beg (agent-q-diff-target-position target line))
        (end (agent-q-diff-target-position target (+ line n-lines))))
    (setq agent-q-diff--place-overlay (make-overlay beg end target))
    (overlay-put agent-q-diff--place-overlay 'face 'agent-q-diff-place)
    (add-hook 'pre-command-hook #'agent-q-diff--unmark-place nil t)
    (add-hook 'kill-buffer-hook #'agent-q-diff--unmark-place nil t)))

(defun agent-q-diff--unmark-place ()
  "Take the mark off the lines that were shown as a hunk's place."
  (remove-hook 'pre-command-hook #'agent-q-diff--unmark-place t)
  (remove-hook 'kill-buffer-hook #'agent-q-diff--unmark-place t)
  (when agent-q-diff--place-overlay
    (delete-overlay agent-q-diff--place-overlay)
    (setq agent-q-diff--place-overlay nil)))

;;;; The target

(defun agent-q-diff-preview-hunk ()
  "Show the place of the hunk at point in the target, in another window."
  (interactive)
  (condition-case err
      (let* ((review (agent-q-diff--review-with-target))
             (hunk (agent-q-diff-review-hunk review (agent-q-diff--hunk-here))))
        (unless (agent-q-diff-engine-hunk-offset hunk)
          (signal 'agent-q-diff-not-found (list (agent-q-diff-engine-hunk-reason hunk))))
        (agent-q-diff--show-target (agent-q-diff-review-target review)
                                   (agent-q-diff-engine-hunk-line hunk)))
    (user-error (signal (car err) (cdr err)))
    (error (message "No place to show: %s" (agent-q-diff--error-text err)))))

(defun agent-q-diff--show-target (buffer line)
  "Show LINE, counted from 0, of BUFFER in another window."
  (let ((position (agent-q-diff-target-position buffer line))
        (window (display-buffer buffer '(nil (inhibit-same-window . t)))))
    (set-window-point window position)
    (with-selected-window window
      (goto-char position)
      (recenter))
    (message "Line %d of %s" (1+ line)
             (agent-q-diff-visible (buffer-name buffer)))))

(provide 'agent-q-diff-motion)
;;; agent-q-diff-motion.el ends here
