;;; agent-q-diff-alike.el --- Equal changes, decided as one  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Hunks, and parts of hunks, that make the same change are a group: the same
;; words replaced by the same words, the same lines added or removed, the same
;; indentation; or a block of lines was removed here and added there.
;; `src/engine/show/alike.rs' and `moved.rs' have the rules.  A key decides all of
;; a group, moves in it, or folds it to its first hunk.
;;
;; A block that moved can have changed inside.  Its group is what is equal at both
;; ends, in pairs of places; what changed is counted, and no key takes it or hides it.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-change)
(require 'agent-q-diff-decide)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-display)
(require 'agent-q-diff-syntax)
(require 'agent-q-diff-shown)
(require 'agent-q-diff-navigation)
(require 'agent-q-diff-edit)
(require 'agent-q-diff-words)
(require 'agent-q-diff-commands)

(cl-defstruct (agent-q-diff-alike (:type vector) (:constructor nil) (:copier nil))
  "A change that is made in several places, as in `agent-q-diff-module-groups'."
  kind before after places within changed removed added)

(cl-defstruct (agent-q-diff-alike-place (:type vector) (:constructor nil) (:copier nil))
  "One of these places: the changed lines of HUNK from FROM to before TO.
IS-WHOLE is non-nil if these are all.  LINE is where they begin, from 0."
  hunk from to is-whole line)

;;;; Which there are

(defvar-local agent-q-diff-alike--known nil
  "What is known of this buffer, (SAME GROUPS . TABLE), or nil.
SAME is `agent-q-diff-buffer-same-hunks' when it was found.  TABLE is from
hunks to lists of (PLACE NTH . GROUP): PLACE is the place with the index NTH.
Of what changed inside of lines that moved, NTH is `removed' or `added'.")
;; It is found before the buffer has its mode.
(put 'agent-q-diff-alike--known 'permanent-local t)

(defvar-local agent-q-diff-alike--shown-moved nil
  "What moved, a list of groups, as the notes say.")
(put 'agent-q-diff-alike--shown-moved 'permanent-local t)

(defun agent-q-diff-alike--moved-p (group)
  "Return non-nil if GROUP is lines that moved."
  (eq 'moved (agent-q-diff-alike-kind group)))

(defconst agent-q-diff-alike--max-bytes 600000
  "Number of bytes of texts up to which their syntax is analyzed.
That is done when a diff is shown, so it is less than where the user asks for
it.")

(defun agent-q-diff-alike--find ()
  "Return what this review does in several places, as `agent-q-diff-module-groups'.
The syntax of files is looked at only if something is done with equal words, or
equal lines have moved."
  (let* ((engine (agent-q-diff-change-engine agent-q-diff-buffer-change))
         (groups (agent-q-diff-module-groups engine nil))
         (hunks (seq-mapcat #'agent-q-diff-alike-hunks groups)))
    (if (and hunks
             (agent-q-diff-syntax-hand-over agent-q-diff-buffer-change
                                            (agent-q-diff-alike--files (sort hunks #'<))
                                            agent-q-diff-alike--max-bytes))
        (agent-q-diff-module-groups engine t)
      groups)))

(defun agent-q-diff-alike--files (hunks)
  "Return the indices of the files of HUNKS, which are in order."
  (let ((end 0))
    (cl-loop for hunk in hunks
             unless (< hunk end)
             collect (let ((index (agent-q-diff-buffer-file-index hunk)))
                       (setq end (agent-q-diff-change-end-of agent-q-diff-buffer-change index))
                       index))))

(defun agent-q-diff-alike--know ()
  "Return what is known of this buffer, as in `agent-q-diff-alike--known'."
  (if (eq (agent-q-diff-buffer-same-hunks) (car agent-q-diff-alike--known))
      agent-q-diff-alike--known
    (let* ((is-known (agent-q-diff-buffer-known-p))
           (groups (and is-known (agent-q-diff-base-collecting-once
                                   (agent-q-diff-alike--find))))
           (table (make-hash-table)))
      (dolist (group groups)
        (cl-flet ((put (place nth)
                    (push (cons place (cons nth group))
                          (gethash (agent-q-diff-alike-place-hunk place) table))))
          (cl-loop for place in (agent-q-diff-alike-places group)
                   for nth from 0
                   do (put place nth))
          (cl-loop for (old new) on (agent-q-diff-alike-changed group) by #'cddr
                   do (put old 'removed)
                   do (put new 'added))
          (dolist (place (agent-q-diff-alike-removed group))
            (put place 'removed))
          (dolist (place (agent-q-diff-alike-added group))
            (put place 'added))))
      (setq agent-q-diff-alike--known
            (cons (and is-known (agent-q-diff-buffer-same-hunks)) (cons groups table))
            agent-q-diff-alike--shown-moved (and is-known (agent-q-diff-alike--moved)))
      (agent-q-diff-alike--watch-decisions)
      agent-q-diff-alike--known)))

(defun agent-q-diff-alike--holds-p (group)
  "Return non-nil unless GROUP is lines that moved, and its ends differ now.
If only one is rejected, or only one is in the file, the lines are a copy, or
they are just removed."
  (or (not (agent-q-diff-alike--moved-p group))
      (let ((states (mapcar (lambda (hunk)
                              (let ((hunk (agent-q-diff-change-hunk
                                           agent-q-diff-buffer-change hunk)))
                                (list (eq 'rejected (agent-q-diff-engine-hunk-mark hunk))
                                      (null (agent-q-diff-engine-hunk-fact hunk)))))
                            (agent-q-diff-alike-hunks group))))
        (null (cdr (seq-uniq states))))))

(defun agent-q-diff-alike-groups ()
  "Return what this review does in several places.
They are a list of `agent-q-diff-alike', in the order of their first places."
  (seq-filter #'agent-q-diff-alike--holds-p (cadr (agent-q-diff-alike--know))))

(defun agent-q-diff-alike--moved ()
  "Return what moved, a list of groups."
  (seq-filter #'agent-q-diff-alike--moved-p (agent-q-diff-alike-groups)))

(defun agent-q-diff-alike--in (hunk)
  "Return what HUNK has of groups, a list of (PLACE NTH . GROUP), in order."
  (seq-filter (pcase-lambda (`(,_ ,_ . ,group))
                (agent-q-diff-alike--holds-p group))
              (reverse (gethash hunk (cddr (agent-q-diff-alike--know))))))

(defun agent-q-diff-alike--at-point ()
  "Return (PLACE NTH . GROUP) for the change at point, or nil.
On a line that does not change, that is the first of the hunk."
  (when-let* ((hunk (agent-q-diff-buffer-hunk-at-point))
              (all (agent-q-diff-alike--in hunk)))
    (pcase (agent-q-diff-split-lines-between (line-beginning-position)
                                             (line-beginning-position 2) hunk)
      (`(,line . ,_)
       (seq-find (pcase-lambda (`(,place . ,_))
                   (< (1- (agent-q-diff-alike-place-from place)) line
                      (agent-q-diff-alike-place-to place)))
                 all))
      (_ (car all)))))

(defun agent-q-diff-alike--group-here ()
  "Return the group of the change at point, or signal that there is none."
  (agent-q-diff-buffer-hunk-here)
  (pcase (agent-q-diff-alike--at-point)
    (`(,_ ,(pred integerp) . ,group)
     (if (cdr (agent-q-diff-alike-places group))
         group
       (user-error "No other change is like this one, which is %s"
                   (agent-q-diff-alike--within-words group))))
    ('nil (user-error "No other change is like this one"))
    (_ (user-error "This changed inside of lines that moved, and is decided alone"))))

(defun agent-q-diff-alike--ring-here ()
  "Return (GROUP INDEX . PLACES) for what is like the change at point.
That has the index INDEX in PLACES.  Of lines that moved, PLACES are where they
were and where they are."
  (agent-q-diff-buffer-hunk-here)
  (pcase-let* ((`(,place ,nth . ,group) (or (agent-q-diff-alike--at-point)
                                            (user-error "No other change is like this one")))
               (places (if (integerp nth)
                           (agent-q-diff-alike-places group)
                         (agent-q-diff-alike-changed group)))
               (index (cl-position place places :test #'eq)))
    (cond
     ((null index)
      (user-error "This was only %s, inside of lines that moved" nth))
     ((agent-q-diff-alike--moved-p group)
      (let ((first (* 2 (/ index 2))))
        (cons group (cons (- index first) (seq-subseq places first (+ 2 first))))))
     (t (cons group (cons index places))))))

(defconst agent-q-diff-alike--max-at-once 500
  "Number of hunks up to which what they do alike is on the first screen.
Of more, that takes longer to find than all else that is on it.")

(defvar-local agent-q-diff-alike--waiting nil
  "Functions to call when it is known what the hunks of this buffer do alike.")
(put 'agent-q-diff-alike--waiting 'permanent-local t)

(defvar-local agent-q-diff-alike--timer nil
  "The timer that will find what the hunks of this buffer do alike, or nil.")

(defun agent-q-diff-alike-known-or-later (function)
  "Return non-nil if it is known, or soon found, what the hunks here do alike.
If that takes long, it is found right after the next screen; then FUNCTION is
called in this buffer, without arguments."
  (or (and (null agent-q-diff-alike--waiting)
           (or (length< agent-q-diff-buffer-positions (1+ agent-q-diff-alike--max-at-once))
               (eq (agent-q-diff-buffer-same-hunks) (car agent-q-diff-alike--known))))
      (progn
        (cl-pushnew function agent-q-diff-alike--waiting)
        nil)))

(defun agent-q-diff-alike--know-later (buffer)
  "Find what the hunks of BUFFER do alike, and tell who waits for that."
  (agent-q-diff-base-with-live buffer
    (let ((functions (nreverse agent-q-diff-alike--waiting)))
      (setq agent-q-diff-alike--waiting nil
            agent-q-diff-alike--timer nil)
      (agent-q-diff-base-collecting-once
        (agent-q-diff-alike--know)
        (mapc #'funcall functions)))))

;;;; Words

(defconst agent-q-diff-alike--width 30
  "Number of columns that the words for either side of a change have at most.")

(defun agent-q-diff-alike--side (text &optional is-quoted)
  "Return TEXT, one side of a change, as words; if IS-QUOTED, in quotes."
  (let* ((lines (split-string text "\n"))
         (more (length (cdr lines))))
    (concat (format (if is-quoted "\"%s\"" "%s")
                    (truncate-string-to-width (agent-q-diff-visible (car lines))
                                              agent-q-diff-alike--width nil nil "…"))
            (cond
             ((= 0 more) "")
             (t (format (ngettext " and %d line" " and %d lines" more) more))))))

(defun agent-q-diff-alike--indentation (space)
  "Return words for SPACE, white space at the beginning of lines."
  (let ((n (length space)))
    (pcase (seq-uniq space)
      ('(?\s) (format (ngettext "%d space" "%d spaces" n) n))
      ('(?\t) (format (ngettext "%d tab" "%d tabs" n) n))
      (_ "white space"))))

(defun agent-q-diff-alike--n-lines (place)
  "Return the number of changed lines of PLACE."
  (- (agent-q-diff-alike-place-to place) (agent-q-diff-alike-place-from place)))

(defun agent-q-diff-alike--line-words (place &optional other)
  "Return words for the line where PLACE begins.
Its file is named unless it is that of OTHER, a place or nil."
  (let* ((hunk (agent-q-diff-alike-place-hunk place))
         (index (agent-q-diff-buffer-file-index hunk)))
    (concat (format "line %d" (1+ (agent-q-diff-alike-place-line place)))
            (if (or (not agent-q-diff-buffer-headings)
                    (and other
                         (= index (agent-q-diff-buffer-file-index
                                   (agent-q-diff-alike-place-hunk other)))))
                ""
              (concat " of " (agent-q-diff-file-change-name (agent-q-diff-buffer-file hunk)))))))

(defun agent-q-diff-alike--ends (group)
  "Return (FROM TO), the places where GROUP, lines that moved, begins.
A line that changed can be the first one."
  (cl-mapcar (lambda (one other)
               (if (and other (< (agent-q-diff-alike-place-line other)
                                 (agent-q-diff-alike-place-line one)))
                   other
                 one))
             (seq-take (agent-q-diff-alike-places group) 2)
             (or (seq-take (agent-q-diff-alike-changed group) 2) '(nil nil))))

(defun agent-q-diff-alike--n-all (places)
  "Return the number of changed lines of PLACES."
  (apply #'+ (mapcar #'agent-q-diff-alike--n-lines places)))

(defun agent-q-diff-alike--n-moved (group)
  "Return the number of lines of GROUP that moved."
  (/ (agent-q-diff-alike--n-all (agent-q-diff-alike-places group)) 2))

(defun agent-q-diff-alike--inside-words (group)
  "Return words for what changed inside of GROUP, lines that moved, or \"\"."
  (cl-loop for (n . word)
           in `((,(/ (agent-q-diff-alike--n-all (agent-q-diff-alike-changed group)) 2)
                 . "changed")
                (,(agent-q-diff-alike--n-all (agent-q-diff-alike-removed group)) . "removed")
                (,(agent-q-diff-alike--n-all (agent-q-diff-alike-added group)) . "added"))
           unless (= 0 n) concat (format ", %d %s" n word)))

(defun agent-q-diff-alike--moved-words (group)
  "Return words for GROUP, lines that moved."
  (pcase-let ((`(,from ,to) (agent-q-diff-alike--ends group))
              (n (agent-q-diff-alike--n-moved group)))
    (format (ngettext "%d line moved from %s to %s%s" "%d lines moved from %s to %s%s" n)
            n (agent-q-diff-alike--line-words from) (agent-q-diff-alike--line-words to)
            (agent-q-diff-alike--inside-words group))))

(defun agent-q-diff-alike--moved-note (nth group)
  "Return words on where the lines of GROUP moved, or came from.
They are for the end that has the place NTH; see `agent-q-diff-alike--known'."
  (pcase-let ((`(,from ,to) (agent-q-diff-alike--ends group))
              (n (agent-q-diff-alike--n-moved group)))
    (format (ngettext "%d line moved %s%s" "%d lines moved %s%s" n)
            n
            (if (if (integerp nth) (cl-evenp nth) (eq 'removed nth))
                (concat "to " (agent-q-diff-alike--line-words to from))
              (concat "from " (agent-q-diff-alike--line-words from to)))
            (agent-q-diff-alike--inside-words group))))

(defun agent-q-diff-alike--within-words (group)
  "Return words for the place of GROUP in the syntax, such as \"in a string\"."
  (string-join (mapcar (lambda (place)
                         (pcase-exhaustive place
                           ('code "in code") ('string "in a string") ('comment "in a comment")))
                       (agent-q-diff-alike-within group))
               " and "))

(defun agent-q-diff-alike-words (group)
  "Return words for what GROUP does, such as \"old → new\".
If the same is done elsewhere in the syntax, too, they say in what it is done."
  (concat (agent-q-diff-alike--does-words group)
          (if (agent-q-diff-alike-within group)
              (concat ", " (agent-q-diff-alike--within-words group))
            "")))

(defun agent-q-diff-alike--does-words (group)
  "Return words for what GROUP does, wherever in the syntax."
  (let ((before (agent-q-diff-alike-before group))
        (after (agent-q-diff-alike-after group)))
    (pcase-exhaustive (agent-q-diff-alike-kind group)
      ('moved (agent-q-diff-alike--moved-words group))
      ('indent (if (string-empty-p before)
                   (concat "indented by " (agent-q-diff-alike--indentation after))
                 (concat "outdented by " (agent-q-diff-alike--indentation before))))
      ((and 'words (guard (string-search "\x1f" (concat before after))))
       (string-join
        (cl-mapcar (lambda (before after)
                     (agent-q-diff-alike--does-words (vector 'words before after nil nil nil nil nil)))
                   (split-string before "\x1f") (split-string after "\x1f"))
        ", "))
      ;; In quotes, as it may be a part of a word.
      ((guard (string-empty-p before)) (concat "added " (agent-q-diff-alike--side after t)))
      ((guard (string-empty-p after)) (concat "removed " (agent-q-diff-alike--side before t)))
      (_ (format "%s → %s" (agent-q-diff-alike--side before)
                 (agent-q-diff-alike--side after))))))

(defun agent-q-diff-alike-hunks (group)
  "Return the hunks that GROUP is in, each once, in order."
  (delete-dups (mapcar #'agent-q-diff-alike-place-hunk (agent-q-diff-alike-places group))))

(defun agent-q-diff-alike-where-words (group)
  "Return how often, and in how many files, GROUP is, as \"60 times in 12 files\"."
  (let ((n-files (length (agent-q-diff-alike--files (agent-q-diff-alike-hunks group)))))
    (concat (let ((n (length (agent-q-diff-alike-places group))))
              (format (ngettext "%d time" "%d times" n) n))
            (if agent-q-diff-buffer-headings
                (format (ngettext " in %d file" " in %d files" n-files) n-files)
              ""))))

;;;; In the headers of hunks

(defun agent-q-diff-alike-note (hunk)
  "Return which one of how many HUNK is, words for its header, or nil."
  (pcase (agent-q-diff-alike--in hunk)
    ((and `((,_ ,nth . ,group) . ,_)
          (guard (agent-q-diff-alike--moved-p group)))
     (concat (if (integerp nth) "" "inside of ")
             (agent-q-diff-alike--moved-note nth group)))
    (`((,_ ,_ . ,(and group (guard (null (cdr (agent-q-diff-alike-places group)))))) . ,_)
     (concat "others like this are not " (agent-q-diff-alike--within-words group)))
    (`((,place ,nth . ,group) . ,_)
     (format (if (agent-q-diff-alike-place-is-whole place)
                 "%d of %d like this"
               "a part is %d of %d alike")
             (1+ nth) (length (agent-q-diff-alike-places group))))))

(defun agent-q-diff-alike--show-between (beg end)
  "Show the notes on hunks in the headers between BEG and END."
  (remove-overlays beg end 'agent-q-diff-alike t)
  (cond
   ((not (agent-q-diff-buffer-known-p)))
   ((not (agent-q-diff-alike-known-or-later #'agent-q-diff-alike--show-later))
    ;; A timer that was started before this screen would be called before it.
    (unless agent-q-diff-alike--timer
      (setq agent-q-diff-alike--timer
            (run-with-timer 0 nil #'agent-q-diff-alike--know-later (current-buffer)))))
   (t
    (save-excursion
      (goto-char beg)
      (cl-loop for hunk from (or (agent-q-diff-buffer-hunk-before) 0)
               below (agent-q-diff-buffer-n-inserted)
               for position = (agent-q-diff-buffer-position hunk)
               while (< position end)
               do (agent-q-diff-alike--show-moved hunk beg end)
               do (when-let ((note (and (<= beg position) (agent-q-diff-alike-note hunk))))
                    (goto-char position)
                    (agent-q-diff-base-overlay
                     position (line-end-position) 'agent-q-diff-alike t
                     'after-string (propertize (concat "  · " note)
                                               'face 'agent-q-diff-pending))))))))

(defvar-local agent-q-diff-alike--lines nil
  "Where changed lines are: (TICK . TABLE), or nil.
TABLE is from hunks to vectors of (BEG . END), when the buffer had TICK.")

(defun agent-q-diff-alike--lines-of (hunk)
  "Return where the changed lines of HUNK are, a vector of (BEG . END)."
  (let ((tick (buffer-chars-modified-tick)))
    (unless (eql tick (car agent-q-diff-alike--lines))
      (setq agent-q-diff-alike--lines (cons tick (make-hash-table))))
    (or (gethash hunk (cdr agent-q-diff-alike--lines))
        (puthash hunk
                 (cl-loop for (kind . region) in (agent-q-diff-buffer-regions hunk)
                          when (memq kind '(?a ?r)) vconcat (list region))
                 (cdr agent-q-diff-alike--lines)))))

(defun agent-q-diff-alike--region (place)
  "Return (BEG . END), where the lines of PLACE are in this buffer."
  (let ((lines (agent-q-diff-alike--lines-of (agent-q-diff-alike-place-hunk place))))
    (cons (car (aref lines (agent-q-diff-alike-place-from place)))
          (cdr (aref lines (1- (agent-q-diff-alike-place-to place)))))))

(defun agent-q-diff-alike--show-moved (hunk beg end)
  "Show the lines of HUNK between BEG and END that moved in a face of their own.
What changed inside of them is shown like any other change."
  (pcase-dolist (`(,place ,nth . ,group) (agent-q-diff-alike--in hunk))
    (when (and (integerp nth) (agent-q-diff-alike--moved-p group))
      (pcase-let ((`(,from . ,to) (agent-q-diff-alike--region place)))
        (when (and (< from end) (< beg to))
          (agent-q-diff-base-overlay (max from beg) (min to end) 'agent-q-diff-alike t
                                     'face 'agent-q-diff-moved))))))

(defun agent-q-diff-alike--show-anew (are-new)
  "Have the notes shown that are right now, if ARE-NEW: hunks have changed."
  (when (and are-new (bound-and-true-p jit-lock-mode))
    (jit-lock-refontify)))

(defun agent-q-diff-alike--show-later ()
  "Have the notes shown, now that it is known what they say."
  (agent-q-diff-alike--show-anew t))

(defun agent-q-diff-alike--watch-decisions ()
  "Follow decisions in this buffer, if any of it has moved."
  (when (seq-some #'agent-q-diff-alike--moved-p (cadr agent-q-diff-alike--known))
    (add-hook 'agent-q-diff-progress-functions #'agent-q-diff-alike--follow-decisions nil t)))

(defun agent-q-diff-alike--follow-decisions (&rest _)
  "Have the notes shown that are right now, if decisions change what moved."
  (when (eq (agent-q-diff-buffer-same-hunks) (car agent-q-diff-alike--known))
    (let ((moved (agent-q-diff-alike--moved)))
      (unless (equal moved agent-q-diff-alike--shown-moved)
        (setq agent-q-diff-alike--shown-moved moved)
        (agent-q-diff-alike--show-anew t)))))

(defun agent-q-diff-alike-set-up ()
  "Show in this buffer on which hunks others make the same change."
  (when agent-q-diff-buffer-is-made
    (jit-lock-register #'agent-q-diff-alike--show-between)
    (agent-q-diff-alike--watch-decisions)
    (add-hook 'agent-q-diff-buffer-shown-functions #'agent-q-diff-alike--show-anew nil t)))

;;;; Deciding

(defun agent-q-diff-alike--pick (places)
  "Make hunks of their own of PLACES, and return these hunks, in order."
  (agent-q-diff-split-pick
   agent-q-diff-buffer-change
   (mapcar (pcase-lambda (`[,hunk ,from ,to ,is-whole ,_])
             (if is-whole (list hunk nil nil) (list hunk from to)))
           ;; The last one first.  What moved up was removed below.
           (sort (copy-sequence places)
                 (lambda (one other)
                   (let ((hunk (agent-q-diff-alike-place-hunk one))
                         (other-hunk (agent-q-diff-alike-place-hunk other)))
                     (if (= hunk other-hunk)
                         (> (agent-q-diff-alike-place-from one)
                            (agent-q-diff-alike-place-from other))
                       (> hunk other-hunk))))))))

(defun agent-q-diff-alike--decide (command get-hunks words reason)
  "Carry out COMMAND on hunks, and move on.
COMMAND is `accept' or `reject', for what is pending, or `unapply'.
GET-HUNKS is called for the hunks when this buffer is up to date; it may
split some, which is undone with the decision.  WORDS are as for
`agent-q-diff-words-say-several'.  REASON, a string or nil, becomes the comment
on what is rejected."
  (condition-case err
      (let* ((change (agent-q-diff-signs-follow))
             (here (agent-q-diff-engine-hunk-id
                    (agent-q-diff-change-hunk change (or (agent-q-diff-buffer-hunk-before) 0))))
             (n-waiting 0)
             (meant nil)
             (unseen nil)
             (failed nil))
        (agent-q-diff-decide-all-or-none
         change #'agent-q-diff-split-undo
         (lambda ()
           (let ((hunks (or (funcall get-hunks)
                            (user-error
                             (if (eq command 'unapply)
                                 (if (agent-q-diff-buffer-written-p)
                                     "None of these is decided"
                                   "None of these is in a file")
                               "None of these is pending; a key on a hunk changes what you decided")))))
             (when (eq command 'reject)
               (when reason
                 (dolist (hunk hunks)
                   (agent-q-diff-commands-note reason hunk)))
               (let ((others (seq-remove #'agent-q-diff-commands-wait-p hunks)))
                 (setq n-waiting (- (length hunks) (length others))
                       hunks others)))
             (when hunks
               (setq unseen (and (not (eq command 'unapply)) (agent-q-diff-shown-not hunks))
                     meant hunks
                     failed (agent-q-diff-decide-these change command hunks))))))
        (agent-q-diff-commands-show-many change)
        ;; It may have become several.
        (when-let ((hunk (agent-q-diff-module-hunk-with-id
                          (agent-q-diff-change-engine change) here)))
          (agent-q-diff-buffer-goto-hunk hunk))
        (agent-q-diff-words-say-several
         command meant words failed
         (agent-q-diff-commands-unseen-words unseen meant failed) n-waiting)
        (unless failed
          (agent-q-diff-commands-move-on command)))
    (user-error (signal (car err) (cdr err)))
    (agent-q-diff-error
     (message "Nothing was changed: %s" (agent-q-diff-error-text err)))))

(defun agent-q-diff-alike-decide-hunks (command hunks &optional reason)
  "Carry out COMMAND on those of HUNKS that it is for, and move on.
COMMAND is `accept' or `reject', for what is pending, or `unapply'.  REASON, a
string or nil, becomes the comment on what is rejected."
  (agent-q-diff-alike--decide
   command
   (lambda () (seq-filter (apply-partially #'agent-q-diff-commands-meant-p command) hunks))
   '("%d hunk" . "%d hunks") reason))

(defun agent-q-diff-alike-decide-group (command group &optional reason)
  "Carry out COMMAND on all of GROUP that it is for, and move on.
COMMAND and REASON are as for `agent-q-diff-alike-decide-hunks'."
  (agent-q-diff-alike--decide
   command
   (lambda ()
     (agent-q-diff-alike--pick
      (seq-filter (lambda (place)
                    (agent-q-diff-commands-meant-p command (agent-q-diff-alike-place-hunk place)))
                  (agent-q-diff-alike-places group))))
   '("%d hunk" . "%d hunks alike") reason))

(defun agent-q-diff-accept-alike ()
  "Accept the pending hunks, and parts of hunks, that make the same change.
It is that of the hunk at point, or of the part that point is on."
  (interactive)
  (agent-q-diff-alike-decide-group 'accept (agent-q-diff-alike--group-here)))

(defun agent-q-diff-reject-alike (&optional reason)
  "Reject the pending hunks, and parts of hunks, that make the same change.
It is that of the hunk at point, or of the part that point is on.  REASON
becomes the comment on each; interactively, with a prefix argument, it is asked
for."
  (interactive
   (list (and current-prefix-arg
              (let ((group (agent-q-diff-alike--group-here)))
                (read-string (format "%s, on all %d: " (agent-q-diff-commands-why)
                                     (length (agent-q-diff-alike-places group))))))))
  (agent-q-diff-alike-decide-group 'reject (agent-q-diff-alike--group-here) reason))

(defun agent-q-diff-unapply-alike ()
  "Take all hunks that make the same change as the one at point out again.
In a review of what was written already, make them pending."
  (interactive)
  (agent-q-diff-alike-decide-group 'unapply (agent-q-diff-alike--group-here)))

(defun agent-q-diff-alike--take-back (command &rest _)
  "Carry out COMMAND on the hunks that the last one decided unseen, if `unapply'.
This is for `agent-q-diff-commands-instead-functions'."
  (when-let ((hunks (and (eq command 'unapply) (agent-q-diff-shown-offered))))
    (agent-q-diff-alike-decide-hunks 'unapply hunks)
    t))

(add-hook 'agent-q-diff-commands-instead-functions #'agent-q-diff-alike--take-back)

;;;; Moving

(defun agent-q-diff-next-alike (&optional n)
  "Move to the Nth next hunk of those that do the same as the one at point.
Wrap around after the last one."
  (interactive "p")
  (pcase-let* ((`(,group ,index . ,places) (agent-q-diff-alike--ring-here))
               (n-places (length places))
               (at (+ index (or n 1)))
               (place (nth (mod at n-places) places)))
    (agent-q-diff-buffer-goto-hunk (agent-q-diff-alike-place-hunk place))
    (unless (agent-q-diff-alike-place-is-whole place)
      (goto-char (car (agent-q-diff-alike--region place))))
    (message "%s (%d of %d)%s" (agent-q-diff-alike-words group)
             (1+ (mod at n-places)) n-places
             (if (< -1 at n-places) "" "; wrapped around"))))

(defun agent-q-diff-previous-alike (&optional n)
  "Move to the Nth previous hunk of those that do the same."
  (interactive "p")
  (agent-q-diff-next-alike (- (or n 1))))

;;;; Folding

(defvar agent-q-diff-fold-alike-mode)

(defun agent-q-diff-alike--fold-moved (group)
  "Hide the lines of GROUP that moved, but not what changed inside of them.
At either end, a line says where they moved."
  (cl-loop with n = (agent-q-diff-alike--n-moved group)
           for place in (agent-q-diff-alike-places group)
           for nth from 0
           for (beg . end) = (agent-q-diff-alike--region place)
           do (agent-q-diff-filter-hide
               beg (1- end)
               (propertize (concat "  " (if (< nth 2)
                                            (agent-q-diff-alike--moved-note nth group)
                                          (format "%d of these %d"
                                                  (agent-q-diff-alike--n-lines place) n)))
                           'face 'agent-q-diff-moved))))

(defun agent-q-diff-alike--fold ()
  "Hide the hunks that are like one that is shown, and what moved.
The one that is shown is the one at point, or else the first that is pending.
Of lines that moved, one says where."
  (let ((here (agent-q-diff-buffer-hunk-at-point))
        (hidden (make-bool-vector (length agent-q-diff-buffer-positions) nil)))
    (dolist (group (agent-q-diff-alike-groups))
      (when (agent-q-diff-alike--moved-p group)
        (agent-q-diff-alike--fold-moved group))
      (let* ((hunks (mapcar #'agent-q-diff-alike-place-hunk
                            (seq-filter #'agent-q-diff-alike-place-is-whole
                                        (and (not (agent-q-diff-alike--moved-p group))
                                             (agent-q-diff-alike-places group)))))
             (shown (or (car (memql here hunks))
                        (agent-q-diff-buffer-first-pending hunks))))
        (dolist (hunk hunks)
          (unless (eql hunk shown)
            (aset hidden hunk t)))))
    (agent-q-diff-filter-hide-hunks hidden t)))

(defun agent-q-diff-alike--show-here ()
  "Show the hunk at point, if it is hidden since another one like it is shown."
  (when-let ((hunk (and (not (agent-q-diff-buffer-ended-p))
                        (agent-q-diff-buffer-hunk-at-point))))
    (when (and (agent-q-diff-alike--in hunk)
               (invisible-p (agent-q-diff-buffer-position hunk)))
      (agent-q-diff-filter-update))))

(define-minor-mode agent-q-diff-fold-alike-mode
  "Of hunks that make the same change, show only one, and of what moved, a line."
  :lighter " Alike"
  (agent-q-diff-buffer-complete)
  (agent-q-diff-filter-use #'agent-q-diff-alike--fold agent-q-diff-fold-alike-mode)
  (if agent-q-diff-fold-alike-mode
      (add-hook 'post-command-hook #'agent-q-diff-alike--show-here nil t)
    (remove-hook 'post-command-hook #'agent-q-diff-alike--show-here t))
  (when (called-interactively-p 'any)
    (message (if agent-q-diff-fold-alike-mode
                 "Of equal hunks, one is shown"
               "All hunks are shown"))))

;;;; Keys

(defvar agent-q-diff-alike-map
  (let ((map (make-sparse-keymap)))
    (define-key map "a" #'agent-q-diff-accept-alike)
    (define-key map "r" #'agent-q-diff-reject-alike)
    (define-key map "u" #'agent-q-diff-unapply-alike)
    (define-key map "n" #'agent-q-diff-next-alike)
    (define-key map "p" #'agent-q-diff-previous-alike)
    (define-key map "l" #'agent-q-diff-fold-alike-mode)
    map)
  "Keys for what is like the hunk at point, after the key `l' of a diff buffer.")

(provide 'agent-q-diff-alike)
;;; agent-q-diff-alike.el ends here
