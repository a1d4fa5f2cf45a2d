;;; agent-q-diff-places.el --- The places of an ambiguous hunk  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An ambiguous hunk is first shown at one of the places where it may
;; belong; the same key then applies it there.

;;; Code:

(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-session)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-signs)
(require 'agent-q-diff-reviews)

;;;; Showing a position of the target

(defvar agent-q-diff-places--moved nil
  "Windows of targets in which reviews have moved point.
Each is a list (WINDOW BUFFER POINT LAST IS-NEW): POINT is a marker at which
point was, LAST one at which it was put last, and IS-NEW non-nil if the
window did not show BUFFER before.")

(defun agent-q-diff-places-show-position (target position &optional window)
  "Show POSITION of the buffer TARGET in WINDOW, and return that window.
If WINDOW is nil, use another one than the selected; if there is none,
return nil.  When the reviews of TARGET have ended, it is as before."
  (let* ((before (get-buffer-window-list target 'never t))
         (is-ours (agent-q-diff-visit-ours-p target))
         (window (or window (display-buffer target '(nil (inhibit-same-window . t))))))
    (when window
      (unless (seq-find (lambda (moved) (and (eq window (car moved)) (eq target (cadr moved))))
                        agent-q-diff-places--moved)
        (push (list window target
                    (copy-marker (with-current-buffer target (window-point window)))
                    (make-marker) (not (memq window before)))
              agent-q-diff-places--moved))
      (set-window-point window position)
      (with-selected-window window
        (goto-char position)
        (recenter))
      (dolist (moved agent-q-diff-places--moved)
        (when (and (eq window (car moved)) (eq target (cadr moved)))
          (set-marker (nth 3 moved) position target)))
      (when is-ours
        (agent-q-diff-visit-note target)))
    window))

(defun agent-q-diff-places-leave (review)
  "Let windows in which REVIEW, which has ended, has moved point be as before.
A window in which the user has moved stays as it is, and so do those of a
file for which another review is open."
  (let ((ours (agent-q-diff-places--targets review))
        (others (mapcan #'agent-q-diff-places--targets
                        (remq review (agent-q-diff-open-reviews)))))
    (dolist (moved agent-q-diff-places--moved)
      (pcase-let ((`(,window ,target ,point ,last ,is-new) moved))
        (when (or (not (buffer-live-p target))
                  (and (memq target ours) (not (memq target others))))
          (setq agent-q-diff-places--moved (remq moved agent-q-diff-places--moved))
          (when (and (window-live-p window)
                     (buffer-live-p target)
                     (eq target (window-buffer window))
                     (not (eq window (selected-window)))
                     (= last (window-point window)))
            (if is-new
                (agent-q-diff-base-keeping-selection
                  (quit-restore-window window))
              (set-window-point window point))))))))

(defun agent-q-diff-places--targets (review)
  "Return the buffers of the files of REVIEW."
  (delq nil (mapcar #'agent-q-diff-file-change-buffer
                    (agent-q-diff-change-files (agent-q-diff-session-change review)))))

;;;; The places of an ambiguous hunk

(defvar-local agent-q-diff-places--overlay nil
  "The overlay on the lines of the target that are shown as a hunk's place.")

(defun agent-q-diff-places-shown (change hunk)
  "Return the place of HUNK of CHANGE that was just shown, or nil.
It is (LINE . IS-IN), for `agent-q-diff-engine-plan'.  It is nil, too, if
the target has changed since."
  (pcase agent-q-diff-buffer-shown
    (`(,id ,tick ,nth . ,places)
     (and (eql id (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk)))
          (eql tick (agent-q-diff-file-change-tick
                      (agent-q-diff-change-file-of change hunk)))
          (pcase-let ((`(,line ,_ ,is-in . ,_) (nth nth places)))
            (cons line is-in))))))

(defvar-local agent-q-diff-places--marker nil
  "Marker in the target at the line that was shown as a hunk's place.
It follows what others edit meanwhile.")

(defun agent-q-diff-places-show (change hunk)
  "Show the likeliest place of HUNK of CHANGE, which is ambiguous.
If one was shown before others edited the target, show that one, where it is
now.  Tell the user how to use it.  Return nil if HUNK has no place to choose."
  (let* ((engine (agent-q-diff-change-engine change))
         (places (agent-q-diff-module-candidates engine hunk))
         (id (agent-q-diff-engine-hunk-id (agent-q-diff-change-hunk change hunk))))
    (when places
      (setq agent-q-diff-buffer-shown
            `(,id ,(agent-q-diff-file-change-tick (agent-q-diff-change-file-of change hunk))
                  ,(or (agent-q-diff-places--shown-before id places) 0) . ,places))
      (agent-q-diff-places--show-shown change hunk)
      t)))

(defun agent-q-diff-places--shown-before (id places)
  "Return the index in PLACES of the one that was shown of hunk ID, or nil."
  (pcase agent-q-diff-buffer-shown
    ((and `(,(pred (eql id)) . ,_)
          (guard (and agent-q-diff-places--marker
                      (marker-buffer agent-q-diff-places--marker))))
     (let* ((marker agent-q-diff-places--marker)
            (line (with-current-buffer (marker-buffer marker)
                    (1- (line-number-at-pos marker t)))))
       (seq-position places line (lambda (place line) (eql (car place) line)))))))

(defun agent-q-diff-places-show-next (n)
  "Show the Nth next place of the hunk at point, if one of several is shown.
Wrap around after the last.  Return nil if none is shown, or only one."
  (let* ((change (agent-q-diff-buffer-change-or-nil))
         (hunk (and change (agent-q-diff-buffer-hunk-at-point))))
    (pcase agent-q-diff-buffer-shown
      ((and `(,_ ,_ ,nth . ,places)
            (guard (and hunk (cdr places)
                        (agent-q-diff-places-shown change hunk))))
       (setf (nth 2 agent-q-diff-buffer-shown) (mod (+ nth n) (length places)))
       (agent-q-diff-places--show-shown change hunk)
       t))))

(defun agent-q-diff-places--show-shown (change hunk)
  "Show the place of HUNK of CHANGE that `agent-q-diff-buffer-shown' names.
Its lines are marked until the next command in this buffer."
  (pcase-let* ((`(,_ ,_ ,nth . ,places) agent-q-diff-buffer-shown)
               (`(,line ,change-line ,is-in ,fuzz ,n-lines) (nth nth places))
               (target (agent-q-diff-file-change-buffer
                        (agent-q-diff-change-file-of change hunk))))
    (agent-q-diff-places--mark target line n-lines)
    (setq agent-q-diff-places--marker
          (set-marker (or agent-q-diff-places--marker (make-marker))
                      (agent-q-diff-text-position target line) target))
    ;; A line that is inserted there is above it.
    (set-marker-insertion-type agent-q-diff-places--marker t)
    (agent-q-diff-places-show-position target
                                       (agent-q-diff-text-position target change-line))
    (agent-q-diff-signs-show-hunk hunk)
    (message "%s" (agent-q-diff-places--text
                   (buffer-name target) change-line is-in fuzz nth (length places)))))

(defun agent-q-diff-places--text (name line is-in fuzz nth n)
  "Return a message about a place at LINE, from 0, of the buffer called NAME.
IS-IN tells whether the change is there already, FUZZ how many outer
context lines differ.  The place is the one with the index NTH of N."
  (let ((aside (concat (if is-in ", where its change is already" "")
                       (if (> fuzz 0) (format ", with fuzz %d" fuzz) ""))))
    (if (= n 1)
        (format "Ambiguous: line %d of %s%s is the likely place; the same key again uses it"
                (1+ line) name aside)
      (substitute-command-keys
       (format "Place %d of %d: line %d of %s%s.  The same key uses it; \\<agent-q-diff-mode-map>\\[agent-q-diff-next-conflict] \\[agent-q-diff-previous-conflict] show others"
               (1+ nth) n (1+ line) name aside)))))

(defun agent-q-diff-places--mark (target line n-lines)
  "Mark N-LINES lines of TARGET from LINE, from 0, until the next command."
  (agent-q-diff-places-unmark)
  (let ((beg (agent-q-diff-text-position target line))
        (end (agent-q-diff-text-position target (+ line n-lines))))
    (setq agent-q-diff-places--overlay (make-overlay beg end target))
    (overlay-put agent-q-diff-places--overlay 'face 'agent-q-diff-place)
    (add-hook 'pre-command-hook #'agent-q-diff-places-unmark nil t)
    (add-hook 'kill-buffer-hook #'agent-q-diff-places-unmark nil t)))

(defun agent-q-diff-places-unmark ()
  "Unmark the lines that were shown as a hunk's place."
  (remove-hook 'pre-command-hook #'agent-q-diff-places-unmark t)
  (remove-hook 'kill-buffer-hook #'agent-q-diff-places-unmark t)
  (when agent-q-diff-places--overlay
    (delete-overlay agent-q-diff-places--overlay)
    (setq agent-q-diff-places--overlay nil)))

(provide 'agent-q-diff-places)
;;; agent-q-diff-places.el ends here
