;;; agent-q-diff-current.el --- The current hunk: its bar, and how windows show it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The current hunk is the one at point.  A bar at the left edge marks it.
;; After a command that moves to a hunk or decides one, all of it is visible
;; if it fits into the window, or else its first lines.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-shown)

;;;; The bar

(defconst agent-q-diff-current--no-bar " "
  "The prefix at the left edge of all other lines.")

(defvar-local agent-q-diff-current--overlay nil
  "The overlay on the current hunk, or nil.")

(defvar-local agent-q-diff-current--marked nil
  "The hunk that is marked and the positions of all then, (HUNK . POSITIONS).")

(defun agent-q-diff-current--mark ()
  "Mark the hunk at point, and return (HUNK BEG END) of it, or nil without one."
  (let* ((hunk (agent-q-diff-buffer-hunk-at-point))
         (beg (and hunk (agent-q-diff-buffer-position hunk)))
         (end (and hunk (agent-q-diff-buffer-hunk-end hunk))))
    (unless (and (eql hunk (car agent-q-diff-current--marked))
                 (eq agent-q-diff-buffer-positions (cdr agent-q-diff-current--marked)))
      (setq agent-q-diff-current--marked (cons hunk agent-q-diff-buffer-positions))
      (when agent-q-diff-current--overlay
        (delete-overlay agent-q-diff-current--overlay)
        (setq agent-q-diff-current--overlay nil))
      (when hunk
        (let ((bar (propertize (if (char-displayable-p ?▌) "▌" "|") 'face 'agent-q-diff-bar))
              ;; Hidden lines that end here determine the prefix of the line.
              (names (seq-find (lambda (overlay) (overlay-get overlay 'agent-q-diff-names))
                               (overlays-at (max (point-min) (1- beg))))))
          (setq agent-q-diff-current--overlay
                (agent-q-diff-base-overlay (if names (overlay-start names) beg) end
                                           'line-prefix bar 'wrap-prefix bar)))))
    (and hunk (list hunk beg end))))

;;;; Scrolling

(defun agent-q-diff-current-lines-below (position n window)
  "Return the position N screen lines below POSITION in WINDOW."
  (save-excursion
    (goto-char position)
    (vertical-motion n window)
    (point)))

(defun agent-q-diff-current--show (window hunk position end)
  "Scroll WINDOW to show all of HUNK, from POSITION to END, if it fits.
HUNK is the one at point, or nil.  If it does not fit, show its first lines, as
long as that leaves point visible.
WINDOW then begins at the beginning of a line.  Return the position below
the lines that it shows, or nil if that is not known."
  (when hunk
    (let* ((height (window-body-height window))
           (beg (agent-q-diff-current--lead hunk position))
           (start (window-start window))
           (bottom nil)
           (below nil)
           (is-shown (lambda (beg)
                       (and (<= (point-min) start beg)
                            (<= end (or bottom
                                        (setq bottom (agent-q-diff-current-lines-below
                                                      start height window))))))))
      ;; Counting screen lines takes most of the time of a key.
      (unless (funcall is-shown beg)
        (setq below (agent-q-diff-current-lines-below beg height window))
        (unless (or (= beg position) (<= end below))
          (setq beg position
                below (agent-q-diff-current-lines-below beg height window))))
      (cond
       ((funcall is-shown beg)
        (and (agent-q-diff-current--begin-with-a-line window start)
             bottom))
       ((or (<= end below) (< (point) below))
        (set-window-start window beg)
        below)
       (t (agent-q-diff-current--begin-with-a-line window start)
          nil)))))

(defun agent-q-diff-current--begin-with-a-line (window start)
  "Have WINDOW, which begins at START, begin at the beginning of that line.
Return non-nil if it does so already."
  (save-excursion
    (goto-char start)
    (or (bolp)
        (progn
          (beginning-of-line)
          (set-window-start window (point))
          nil))))

(defun agent-q-diff-current--n-lines (beg end window)
  "Return how many lines WINDOW would show of those from BEG to END.
Some have the property `agent-q-diff-hidden' there, as side by side."
  (let ((n 0)
        ;; The buffer may be narrowed.
        (end (min end (point-max))))
    (while (< beg end)
      (let ((next (next-single-char-property-change beg 'agent-q-diff-hidden nil end)))
        (unless (get-char-property beg 'agent-q-diff-hidden window)
          (cl-incf n (count-lines beg next)))
        (setq beg next)))
    n))

(defun agent-q-diff-current--show-below (window hunk end bottom)
  "Show in the header line how many lines of HUNK are below WINDOW.
HUNK is the one at point, or nil, and END is where it ends.  BOTTOM is the
position below the lines of WINDOW if that is known, and then point is visible.
Return nil if redisplay must scroll WINDOW to point first."
  (let ((n (cond
            ((null hunk) 0)
            ((or bottom (pos-visible-in-window-p (point) window))
             (let ((bottom (or bottom
                               (agent-q-diff-current-lines-below
                                (window-start window) (window-body-height window) window))))
               (agent-q-diff-current--n-lines bottom end window))))))
    (setq agent-q-diff-buffer-n-below (or n 0)
          agent-q-diff-buffer-n-aside (if (and hunk
                                               (or (< 0 (window-hscroll window))
                                                   (agent-q-diff-shown-truncates-p window)))
                                          (agent-q-diff-shown-n-aside hunk window)
                                        0))
    (agent-q-diff-progress-update-header-line hunk)
    n))

(defun agent-q-diff-current--show-below-when-drawn (window)
  "Do `agent-q-diff-current--show-below' after redisplay has scrolled WINDOW."
  (let ((buffer (current-buffer)))
    (run-with-timer 0 nil
                    (lambda ()
                      (when (and (window-live-p window)
                                 (eq buffer (window-buffer window)))
                        (with-current-buffer buffer
                          (let ((hunk (agent-q-diff-buffer-hunk-at-point)))
                            (agent-q-diff-current--show-below
                             window hunk (and hunk (agent-q-diff-buffer-hunk-end hunk))
                             nil))))))))

(defvar-local agent-q-diff-current--size nil
  "The size of the selected window after the last command, (WIDTH . HEIGHT).")

(defun agent-q-diff-current--shrunk-p ()
  "Return non-nil if the selected window was larger until now.
Lines that a long message takes for a while do not count."
  (pcase-let ((`(,old-width . ,old-height) agent-q-diff-current--size)
              (width (window-total-width))
              (height (+ (window-total-height)
                         (if (window-at-side-p nil 'bottom)
                             (window-total-height (minibuffer-window))
                           0))))
    (setq agent-q-diff-current--size (cons width height))
    (and old-width
         (or (< width old-width) (< height old-height)))))

(defvar-local agent-q-diff-current--counted nil
  "The state on which the last count of lines below depended.")

(defun agent-q-diff-current--counted-p (window hunk)
  "Return non-nil if as many lines of HUNK are below WINDOW as before.
This holds if one of Emacs's own commands has only moved point in the hunk."
  (let ((state (list hunk window
                     (window-start window) (window-end window) (window-hscroll window)
                     (window-body-height window) (window-body-width window)
                     (buffer-chars-modified-tick) agent-q-diff-buffer-positions)))
    (prog1 (and (symbolp this-command)
                ;; Our own may have folded lines.
                (not (string-prefix-p "agent-q-diff" (symbol-name this-command)))
                ;; Otherwise redisplay will scroll.
                (<= (window-start window) (point))
                (< (point) (window-end window))
                (equal state agent-q-diff-current--counted))
      (setq agent-q-diff-current--counted state))))

(defun agent-q-diff-current-after-command ()
  "Mark the hunk at point; show it if the command moved to it or decided it.
Also show it if a command has made the window smaller, for example by showing
the file."
  (when (agent-q-diff-signs-behind-p)
    (agent-q-diff-signs-catch-up))
  (pcase-let ((`(,hunk ,beg ,end) (agent-q-diff-current--mark))
              (window (selected-window)))
    (when (eq (window-buffer window) (current-buffer))
      (let ((bottom (when (or (agent-q-diff-current--shrunk-p)
                              agent-q-diff-buffer-is-moved)
                      (setq agent-q-diff-buffer-is-moved nil)
                      (agent-q-diff-current--show window hunk beg end))))
        (cond
         ((not agent-q-diff-buffer-is-made))
         ((agent-q-diff-current--counted-p window hunk)
          (agent-q-diff-progress-update-header-line hunk))
         ((not (agent-q-diff-current--show-below window hunk end bottom))
          (agent-q-diff-current--show-below-when-drawn window)))))))

;;;; A window that begins to show the diff buffer

(defconst agent-q-diff-current--small-frame 40
  "Number of lines below which a frame is small.
A review begins with most of it.")

(defconst agent-q-diff-current--small-window 12
  "Number of lines below which a window does not show a hunk of one line whole.
A review begins with half of the frame instead.")

(defvar-local agent-q-diff-current--room nil
  "The windows when the review appeared first: (REVIEW BEFORE AFTER), or nil.
BEFORE and AFTER are as from `agent-q-diff-current--heights'.  Emacs may have
made its window higher, or `agent-q-diff-current--make-room'.")
(put 'agent-q-diff-current--room 'permanent-local t)

(defun agent-q-diff-current--heights (frame function)
  "Return (WINDOW . HEIGHT) for each window of FRAME, with the heights of FUNCTION.
Windows of no height were not there then, and are left out."
  (seq-remove (lambda (pair) (= 0 (cdr pair)))
              (mapcar (lambda (window) (cons window (funcall function window)))
                      (agent-q-diff-current--windows frame))))

(defun agent-q-diff-current--windows (frame)
  "Return the windows of FRAME, always in the same order."
  (window-list frame 'no-minibuffer (frame-first-window frame)))

(defun agent-q-diff-current--make-room (window)
  "Give WINDOW, in which the review appears first, room to show it.
That is most of a small frame, and half of another one if WINDOW is small.  A
rule of the user's for its buffer decides that alone.  Windows that show the
review later keep their height."
  (let* ((frame (window-frame window))
         (height (window-total-height window))
         (part (cond
                ((< (frame-total-lines frame) agent-q-diff-current--small-frame) 0.75)
                ((< height agent-q-diff-current--small-window) 0.5))))
    (unless (or (eq agent-q-diff-buffer-review (car agent-q-diff-current--room))
                (display-buffer-assq-regexp (buffer-name) display-buffer-alist nil))
      (let ((before (agent-q-diff-current--heights frame #'window-old-pixel-height))
            (delta (if part
                       (min (- (floor (* part (window-total-height (frame-root-window frame))))
                               height)
                            (window-max-delta window))
                     0)))
        (when (< 0 delta)
          (window-resize window delta))
        (setq agent-q-diff-current--room
              (list agent-q-diff-buffer-review before
                    (agent-q-diff-current--heights frame #'window-pixel-height)))))))

(defun agent-q-diff-current-giving-back-room (buffer function)
  "Call FUNCTION, and restore the layout that was there before BUFFER got room.
FUNCTION takes BUFFER from its windows.  A layout that was changed since stays."
  (pcase-let* ((`(,_ ,before ,after) (buffer-local-value 'agent-q-diff-current--room buffer))
               (frame (and after (window-live-p (caar after)) (window-frame (caar after))))
               (is-as-made (and frame
                                (equal (mapcar #'car after) (agent-q-diff-current--windows frame))
                                ;; A message of several lines takes some.
                                (let ((most (- (window-pixel-height (minibuffer-window frame))
                                               (frame-char-height frame))))
                                  (seq-every-p (lambda (pair)
                                                 (<= (abs (agent-q-diff-current--missing pair))
                                                     most))
                                               after)))))
    (funcall function)
    (when (and is-as-made (frame-live-p frame)
               (equal (mapcar #'car before) (agent-q-diff-current--windows frame)))
      ;; The window below may have to be lower until it is its turn.
      (let ((window-min-height window-safe-min-height))
        (dolist (pair before)
          (let ((missing (agent-q-diff-current--missing pair)))
            (unless (= 0 missing)
              (ignore-errors
                (adjust-window-trailing-edge (car pair) missing nil t)))))))))

(defun agent-q-diff-current--missing (pair)
  "Return how much higher the window of PAIR, (WINDOW . HEIGHT), was.
One at the bottom of its frame has what the others and the echo area leave: 0."
  (if (window-at-side-p (car pair) 'bottom)
      0
    (- (cdr pair) (window-pixel-height (car pair)))))

(defun agent-q-diff-current--top (window)
  "Return where WINDOW is to begin when point is in the first hunk, or nil.
That is at the description, unless point, or an old or a new line of what the
hunk changes first, would then be below WINDOW; else at the first note, if there
is one, or at the hunk.  Where no beginning shows both lines, the one below that
of the hunk's `@@' is enough.  If WINDOW begins below it already, return nil."
  (let* ((first (agent-q-diff-buffer-position 0))
         (lead (agent-q-diff-current--lead 0 first))
         (beginnings (delq nil (list (agent-q-diff-fold-description-beginning)
                                     (text-property-any (point-min) first 'agent-q-diff-note t)
                                     lead)))
         (fits (lambda (last)
                 (seq-find (lambda (beg)
                             (< (max last (point))
                                (agent-q-diff-current-lines-below
                                 beg (window-body-height window) window)))
                           beginnings))))
    (and (<= (window-start window) lead)
         (or (funcall fits (agent-q-diff-current--first-change first))
             (funcall fits (save-excursion (goto-char first) (line-beginning-position 2)))))))

(defun agent-q-diff-current--first-change (position)
  "Return where the first hunk, at POSITION, has the first new line of a change.
That is of its first change; if lines are only removed there, it is the first of
these."
  (let ((removed nil))
    (catch 'found
      (agent-q-diff-buffer-each-line (kind 0)
        (cond
         ((eq ?a kind) (throw 'found (point)))
         ((eq ?r kind) (setq removed (or removed (point))))
         ((and removed (not (eq ?n kind))) (throw 'found removed))))
      (or removed position))))

(defun agent-q-diff-current--lead (hunk position)
  "Return the position of the heading above HUNK if HUNK is its file's first.
Otherwise return POSITION, that of HUNK."
  (or (and agent-q-diff-buffer-headings
           (let ((heading (aref agent-q-diff-buffer-headings
                                (agent-q-diff-buffer-file-index hunk))))
             (and (= position (save-excursion
                                (goto-char heading)
                                (line-beginning-position 2)))
                  (marker-position heading))))
      position))

(defun agent-q-diff-current-appear (window)
  "Scroll WINDOW, where a diff buffer has appeared, to the hunk to be decided.
In the first hunk, begin with the description and the notes above it.
Emacs calls this with any buffer current."
  (with-current-buffer (window-buffer window)
    (agent-q-diff-current--make-room window)
    (agent-q-diff-fold-new-description window)
    (save-excursion
      (goto-char (window-point window))
      (pcase-let* ((`(,hunk ,beg ,end) (agent-q-diff-current--mark))
                   (top (and (eql 0 hunk) (agent-q-diff-current--top window))))
        (if top
            (set-window-start window top)
          (agent-q-diff-current--show window hunk beg end))
        (when agent-q-diff-buffer-is-made
          (agent-q-diff-current--show-below window hunk end nil))))))

;;;; Set-up

(defun agent-q-diff-current-set-up ()
  "Mark the current hunk in this buffer, and keep it visible."
  (setq-local line-prefix agent-q-diff-current--no-bar)
  (setq-local wrap-prefix agent-q-diff-current--no-bar)
  (setq agent-q-diff-current--marked nil)
  (add-hook 'post-command-hook #'agent-q-diff-current-after-command nil t)
  (add-hook 'window-buffer-change-functions #'agent-q-diff-current-appear nil t))

(provide 'agent-q-diff-current)
;;; agent-q-diff-current.el ends here
