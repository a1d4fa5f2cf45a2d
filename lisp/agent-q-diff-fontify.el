;;; agent-q-diff-fontify.el --- How hunks are shown: colors, misleading characters, what is too long  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The words that differ inside changed lines, as the engine finds them,
;; and the colors that the target's own major mode gives to code.  Font
;; lock asks for both as lines come into view.
;;
;; For code, the lines that a hunk removes and those that it adds, each with
;; their context, are put into a hidden buffer in the mode of the target's
;; buffer, which visits no file.  If in the target the hunk begins inside a
;; string or a comment, the text from the beginning of that comes first.
;;
;; On the screen, three things are replaced: a misleading character by its
;; number, like <U+202E>; the end of a very long line, which would be slow to
;; display, by a note; the middle of a hunk of thousands of lines, or the end
;; of a description that would take more than a third of the window, by one
;; line that says how many are hidden.  Only the display changes: commands,
;; searching and copying work on the whole diff.

;;; Code:

(require 'diff-mode)
(require 'font-lock)
(require 'jit-lock)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-text)
(require 'agent-q-diff-target)
(require 'agent-q-diff-file-change)
(require 'agent-q-diff-buffer)
(require 'agent-q-diff-shown)

;;; Colors

(defconst agent-q-diff-fontify--max-size 30000
  "Number of characters from which on a hunk gets no colors inside.")

(defconst agent-q-diff-fontify--max-target-size 2000000
  "Number of characters from which on the syntax of a target is not analyzed.")

(defvar-local agent-q-diff-fontify--latest nil
  "Cached faces of the latest hunk, (KEY SPANS CODE), or nil.
Font lock works in chunks, so it asks for a hunk several times.  For SPANS
and CODE, see `agent-q-diff-fontify--found'.")

;;;; Words and lines of a hunk

(defun agent-q-diff-fontify-hunks (beg end)
  "Return the hunks with text between BEG and END, as (HUNK BEG . END).
Those that change no lines are left out."
  (cl-loop for hunk from (or (agent-q-diff-buffer-hunk-before beg) 0)
           below (agent-q-diff-buffer-n-inserted)
           for from = (agent-q-diff-buffer-position hunk)
           while (< from end)
           for to = (agent-q-diff-buffer-hunk-end hunk)
           when (and (< beg to)
                     (not (agent-q-diff-change-operation-of agent-q-diff-buffer-change hunk)))
           collect (cons hunk (cons from to))))

(defun agent-q-diff-fontify--lines (hunk)
  "Return the lines of HUNK, each (KIND BEG . END).
The BEG of a line is after its sign.  No-newline markers are left out."
  (let ((lines nil))
    (agent-q-diff-buffer-each-line (kind hunk)
      (unless (eq ?n kind)
        (push (cons kind (cons (min (1+ (point)) (line-end-position))
                               (line-end-position)))
              lines)))
    (nreverse lines)))

(defun agent-q-diff-fontify--found (hunk)
  "Return (SPANS CODE) for HUNK.
SPANS are its changed words; see `agent-q-diff-module-changed-words'.  CODE
is a list of its lines as strings with the faces of code, or nil."
  (let ((key (list hunk (buffer-chars-modified-tick)
                   (agent-q-diff-fontify-mode hunk))))
    (unless (equal key (car agent-q-diff-fontify--latest))
      (setq agent-q-diff-fontify--latest
            (list key
                  (agent-q-diff-module-changed-words
                   (agent-q-diff-change-engine agent-q-diff-buffer-change) hunk)
                  (and agent-q-diff-code-colors (nth 2 key)
                       (agent-q-diff-fontify--code hunk (nth 2 key))))))
    (cdr agent-q-diff-fontify--latest)))

;;;; Code

(defvar agent-q-diff-fontify--known-faces nil
  "Whether text with a face can be seen, a hash table by faces, or nil.
It is bound while hunks are colored.  On a terminal it takes long to find out,
since the nearest of its colors is searched for.")

(defun agent-q-diff-fontify-mode (&optional hunk)
  "Return the major mode for code in the file of HUNK, or at point, or nil."
  (agent-q-diff-fontify-mode-of
   (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file hunk))))

(defun agent-q-diff-fontify-mode-of (target)
  "Return the major mode for code of TARGET, a buffer or nil, or nil."
  (agent-q-diff-base-with-live target
    (agent-q-diff-visit-mode-for-text major-mode)))

(defun agent-q-diff-fontify--code (hunk mode)
  "Return the lines of HUNK with the faces of MODE."
  (let* ((lines (agent-q-diff-fontify--lines hunk))
         (before (agent-q-diff-fontify--before hunk))
         ;; The other lines are on the new side, too.
         (old (and (assq ?r lines)
                   (agent-q-diff-fontify--side lines '(?c ?r) before mode ?r)))
         (new (agent-q-diff-fontify--side lines '(?c ?a) before mode)))
    (mapcar (pcase-lambda (`(,kind . ,_))
              (pcase kind
                (?r (pop old))
                (?a (pop new))
                (_ (pop old) (pop new))))
            lines)))

(defun agent-q-diff-fontify--before (hunk)
  "Return the target's text from the start of a string or comment to HUNK.
The value is \"\" unless HUNK begins inside a string or comment, and also
if the target or that text is too large."
  (let ((target (agent-q-diff-file-change-buffer (agent-q-diff-buffer-file hunk)))
        (line (agent-q-diff-engine-hunk-line
               (agent-q-diff-change-hunk agent-q-diff-buffer-change hunk))))
    (with-current-buffer target
      (if (or (null line)
              (> (buffer-size) agent-q-diff-fontify--max-target-size))
          ""
        (save-excursion
          (agent-q-diff-base-widened
            (let* ((end (agent-q-diff-text-position target line))
                   (beg (nth 8 (syntax-ppss end))))
              (if (and beg (< (- end beg) agent-q-diff-fontify--max-size))
                  (buffer-substring-no-properties beg end)
                ""))))))))

(defun agent-q-diff-fontify--side (lines kinds before mode &optional wanted)
  "Return those of LINES with one of KINDS, as strings with the faces of MODE.
BEFORE is text that comes before them.  If WANTED, a kind, is non-nil, the
others may have no faces."
  (let ((lines (seq-filter (lambda (line) (memq (car line) kinds)) lines)))
    (agent-q-diff-fontify-lines
     before
     (cl-loop for (_ beg . end) in lines collect (buffer-substring-no-properties beg end))
     mode
     (and wanted (cl-loop for (kind . _) in lines collect (eq kind wanted))))))

(defun agent-q-diff-fontify-lines (before texts mode &optional wanted)
  "Return TEXTS, lines of code without line ends, with the faces of MODE.
BEFORE is text that comes before them.  If the list WANTED is non-nil, those
of TEXTS for which it has nil may have no faces."
  (with-current-buffer (agent-q-diff-fontify-buffer mode)
    (let ((inhibit-read-only t)
          (inhibit-modification-hooks nil)
          (at (1+ (length before)))
          (agent-q-diff-fontify--known-faces (or agent-q-diff-fontify--known-faces
                                                 (make-hash-table :test #'equal))))
      ;; As one change, since a mode can take long to note one.
      (set-match-data (list (point-min) (point-max)))
      (replace-match (concat before (string-join texts "\n") "\n") t t)
      (if wanted
          (agent-q-diff-fontify--only at texts wanted)
        (font-lock-ensure))
      (mapcar (lambda (text)
                (prog1 (agent-q-diff-fontify--faces-only at text)
                  (cl-incf at (1+ (length text)))))
              texts))))

(defun agent-q-diff-fontify--only (beg texts wanted)
  "Fontify those of TEXTS, lines from BEG on, for which WANTED has non-nil.
In a mode like that for C, this is most of what colors take."
  (let ((from nil))
    (cl-loop for (text . more) on texts
             for (is-wanted . is-next-wanted) on wanted
             do (when (and is-wanted (not from))
                  (setq from beg))
             do (cl-incf beg (1+ (length text)))
             do (when (and is-wanted (not (and more (car is-next-wanted))))
                  (font-lock-fontify-region from beg)
                  (setq from nil)))))

(defun agent-q-diff-fontify--shows-p (face)
  "Return non-nil if text with FACE can be seen."
  (let ((answer (gethash face agent-q-diff-fontify--known-faces 'unknown)))
    (if (eq 'unknown answer)
        (puthash face (not (agent-q-diff-fontify-hiding-p face))
                 agent-q-diff-fontify--known-faces)
      answer)))

(defun agent-q-diff-fontify--faces-only (beg text)
  "Return TEXT with those faces of the equal text at BEG that do not hide it.
A mode can put properties on text that hide it or show other text for it; none
of them is taken over."
  (let ((text (substring-no-properties text))
        (at 0))
    (while (< at (length text))
      (let* ((next (- (next-single-property-change (+ beg at) 'face nil (+ beg (length text)))
                      beg))
             (face (get-text-property (+ beg at) 'face)))
        (when (and face (agent-q-diff-fontify--shows-p face))
          (put-text-property at next 'face face text))
        (setq at next)))
    text))

(defun agent-q-diff-fontify-hiding-p (face)
  "Return non-nil if text with FACE, a value of a `face' property, cannot be seen.
That is so if it has the color of the background, or is tiny."
  (cond
   ((null face) nil)
   ((symbolp face)
    (and (facep face)
         (agent-q-diff-fontify--hiding-attributes-p
          (face-attribute face :foreground nil t)
          (face-attribute face :height nil t))))
   ((keywordp (car face))
    (or (agent-q-diff-fontify--hiding-attributes-p (plist-get face :foreground)
                                                   (plist-get face :height))
        (agent-q-diff-fontify-hiding-p (plist-get face :inherit))))
   ((memq (car face) '(foreground-color background-color))
    (and (eq 'foreground-color (car face))
         (agent-q-diff-fontify--hiding-attributes-p (cdr face) nil)))
   (t (seq-some #'agent-q-diff-fontify-hiding-p face))))

(defun agent-q-diff-fontify--hiding-attributes-p (foreground height)
  "Return non-nil if FOREGROUND or HEIGHT, attributes of a face, hide text."
  (or (and (floatp height) (< height 0.5))
      (and (integerp height) (< height 50))
      (and (stringp foreground)
           (not (equal foreground "unspecified-fg"))
           (equal (color-values foreground) (agent-q-diff-fontify--background)))))

(defun agent-q-diff-fontify--background ()
  "Return the color of the background, as `color-values' does."
  (let ((background (face-background 'default nil t)))
    ;; A terminal may not tell its own.
    (or (and background (color-values background))
        (color-values (if (eq 'dark (frame-parameter nil 'background-mode)) "black" "white")))))

(defun agent-q-diff-fontify-buffer (mode)
  "Return a hidden buffer in MODE, in which no hooks of the user have run."
  (let ((name (format " *agent-q-diff %s*" mode)))
    (or (get-buffer name)
        (with-current-buffer (get-buffer-create name)
          (setq default-directory "/")
          (agent-q-diff-visit-turn-on mode)
          (setq buffer-undo-list t)
          (font-lock-set-defaults)
          (current-buffer)))))

(defun agent-q-diff-fontify-forget ()
  "Kill the hidden buffers in which code was colored."
  (dolist (buffer (buffer-list))
    (when (string-match-p "\\` \\*agent-q-diff .*-mode\\*\\'" (buffer-name buffer))
      (kill-buffer buffer))))

;;;; Faces

(defun agent-q-diff-fontify--put-code (beg text)
  "Copy the faces of TEXT to the equal text of this buffer from BEG on."
  (let ((at 0))
    (while (< at (length text))
      (let ((next (next-single-property-change at 'face text (length text)))
            (face (get-text-property at 'face text)))
        (when face
          (font-lock-append-text-property (+ beg at) (+ beg next) 'face face))
        (setq at next)))))

(defun agent-q-diff-fontify--hunk (hunk from to)
  "Color the lines of HUNK that are between FROM and TO."
  (pcase-let ((`(,spans ,code) (agent-q-diff-fontify--found hunk))
              (at -1))
    (pcase-dolist (`(,kind ,beg . ,end) (agent-q-diff-fontify--lines hunk))
      (let ((text (pop code))
            (is-in (and (<= from beg) (<= end to)))
            (face (if (eq kind ?a) 'agent-q-diff-word-added 'agent-q-diff-word-removed)))
        (when is-in
          (agent-q-diff-fontify--put-code beg text))
        (cl-incf at)
        (while (eq at (caar spans))
          (pcase-let ((`(,_ ,word ,word-end) (pop spans)))
            (when is-in
              (font-lock-prepend-text-property (+ beg word) (+ beg word-end) 'face face))))))))

(defun agent-q-diff-fontify--match (limit)
  "Color the hunks between point and LIMIT, for font lock.
Always return nil, since nothing is left to be done."
  (when (agent-q-diff-buffer-known-p)
    (let ((from (point))
          (agent-q-diff-fontify--known-faces (make-hash-table :test #'equal)))
      (pcase-dolist (`(,hunk ,beg . ,end) (agent-q-diff-fontify-hunks from limit))
        (when (< (- end beg) agent-q-diff-fontify--max-size)
          (with-demoted-errors "agent-q-diff: no colors: %S"
            (agent-q-diff-fontify--hunk hunk from limit))))))
  nil)

(defvar agent-q-diff-fontify--keywords
  (append diff-font-lock-keywords '((agent-q-diff-fontify--match)))
  "Font lock keywords of a diff buffer.")

(defun agent-q-diff-fontify-set-up ()
  "Make font lock color the insides of hunks in this buffer."
  ;; Keywords added with `font-lock-add-keywords' are lost when a derived
  ;; mode follows.
  (setq-local font-lock-defaults
              (cons 'agent-q-diff-fontify--keywords (cdr font-lock-defaults))))

;;; Misleading characters by number

(defconst agent-q-diff-confusables--effects
  '((direction . "changes the direction of writing")
    (invisible . "cannot be seen")
    (space . "looks like a space or a line's end")
    (control . "is a control character or a byte that is not text")
    (lookalike . "looks like an ASCII character")
    (combining . "joins the letter before it"))
  "What each kind of confusable does, a predicate for its name.")

;;; Signs

(defun agent-q-diff-confusables--describe (char kind)
  "Return a description of CHAR, a confusable of KIND.
KIND is a key of `agent-q-diff-confusables--effects'."
  (format "%s %s: %s" (agent-q-diff-visible-sign char)
          (or (get-char-code-property char 'name)
              (get-char-code-property char 'old-name)
              "no character of Unicode")
          (alist-get kind agent-q-diff-confusables--effects)))

(defun agent-q-diff-confusables-in-region (beg end)
  "Return descriptions of the distinct confusables from BEG to END, strings."
  (delete-dups
   (mapcar (pcase-lambda (`(,index . ,kind))
             (agent-q-diff-confusables--describe (char-after (+ beg index)) kind))
           (agent-q-diff-engine-suspects
            (buffer-substring-no-properties beg end)))))

(defun agent-q-diff-confusables-signs (beg end)
  "Return the confusables from BEG to END, each (POSITION . PROPERTIES).
PROPERTIES, a list, shows it by its number."
  (mapcar (pcase-lambda (`(,index . ,kind))
            (let ((char (char-after (+ beg index))))
              (list (+ beg index)
                    'display (propertize (agent-q-diff-visible-sign char)
                                         'face 'agent-q-diff-deceiving)
                    ;; A function, so that the table of names is loaded on demand.
                    'help-echo (lambda (&rest _)
                                 (agent-q-diff-confusables--describe char kind)))))
          (agent-q-diff-engine-suspects (buffer-substring-no-properties beg end))))

;;; Very long lines

(defconst agent-q-diff-long-lines--limit 1000
  "Number of characters of a line that are shown before it is cut off.")

(defvar-local agent-q-diff-long-lines--expanded nil
  "Markers at the beginnings of lines of this buffer that are shown whole.")

(defun agent-q-diff-long-lines--expanded-p ()
  "Return non-nil if the line at point is to be shown whole."
  (let ((beg (line-beginning-position)))
    (memq beg (mapcar #'marker-position agent-q-diff-long-lines--expanded))))

(defun agent-q-diff-long-lines--limits ()
  "Return (LIMIT HEAD AROUND), numbers of characters.
A line has LIMIT before it is cut.  Of one with changes further on, HEAD are
shown, and the changed words, with AROUND to either side of them."
  (let ((widths (mapcar #'agent-q-diff-shown-width
                        (seq-filter #'agent-q-diff-shown-truncates-p
                                    (get-buffer-window-list nil nil t)))))
    (if widths
        (list (apply #'min widths) 8 8)
      (list agent-q-diff-long-lines--limit 200 200))))

(defun agent-q-diff-long-lines--shown (words limits)
  "Return what is shown of a long line, a list of (FROM . TO), in order.
FROM and TO count characters, WORDS are its changed ones, in any order, and
LIMITS as from `agent-q-diff-long-lines--limits'."
  (pcase-let ((`(,limit ,head ,around) limits)
              (words (sort (copy-sequence words) #'car-less-than-car)))
    (if (< (apply #'max 0 (mapcar #'cdr words)) limit)
        ;; The sign is one of them.
        (list (cons 0 (1- limit)))
      (let ((shown (list (cons 0 head)))
            (n head))
        (pcase-dolist (`(,from . ,to) words)
          (when (<= n limit)
            (let ((from (max 0 (- from around)))
                  (to (min (+ to around) (+ from limit))))
              ;; What is hidden must be longer than the sign for it.
              (if (< (+ 3 (cdar shown)) from)
                  (push (cons from to) shown)
                (setcdr (car shown) (max to (cdar shown))))
              (setq n (cl-loop for (from . to) in shown sum (- to from))))))
        (nreverse shown)))))

(defun agent-q-diff-long-lines--elide (from to)
  "Show an ellipsis in place of the text from FROM to TO.
Unlike a text that is displayed, that works below one that one of two windows
displays, as side by side: redisplay takes both for one."
  (agent-q-diff-base-overlay from to 'agent-q-diff-elided t 'invisible 'agent-q-diff-elided
                             'isearch-open-invisible #'delete-overlay))

(defun agent-q-diff-long-lines--hide-rest (from to)
  "Say in place of the text from FROM to TO, the end of a line, that there is more."
  (add-text-properties
   from to
   (list 'display (propertize
                   (substitute-command-keys
                    (format "… %d more characters, \\<agent-q-diff-mode-map>\\[agent-q-diff-expand-line] shows them"
                            (- to from)))
                   'face 'agent-q-diff-warning)
         'agent-q-diff-cut t)))

(defun agent-q-diff-long-lines--cut (limits)
  "Show only the beginning of the line at point, and what differs, if it is long.
LIMITS are as from `agent-q-diff-long-lines--limits'.  What is cut off at the
side of a window is left to that, but of a very long line."
  (let* ((beg (min (1+ (line-beginning-position)) (line-end-position)))
         (at beg)
         (end (line-end-position))
         (is-cut-aside (< (car limits) agent-q-diff-long-lines--limit)))
    (when (and (< (+ at (car limits)) end)
               (not (agent-q-diff-long-lines--expanded-p)))
      (pcase-dolist (`(,from . ,to) (agent-q-diff-long-lines--shown
                                     (agent-q-diff-shown-words-at beg) limits))
        (when (< at (+ beg from))
          (agent-q-diff-long-lines--elide at (+ beg from)))
        (setq at (min end (+ beg to))))
      (cond
       ((not is-cut-aside)
        (unless (= at end)
          (agent-q-diff-long-lines--hide-rest at end)))
       ;; What is beyond the edge takes as long to display as what is not.
       ((< agent-q-diff-long-lines--limit (- end at (car limits)))
        (agent-q-diff-long-lines--elide (+ at (car limits)) end))))))

(defun agent-q-diff-long-lines-toggle ()
  "Show all of the long line at point, or cut it off again.
Return nil if that line is not long."
  (let ((beg (line-beginning-position))
        (end (line-end-position)))
    (when (and (<= (car (agent-q-diff-long-lines--limits)) (- end beg))
               ;; In a folded description, it is not the line that is cut off.
               (or (eq 'agent-q-diff-elided (get-char-property (1- end) 'invisible))
                   (not (invisible-p (1- end)))))
      (setq agent-q-diff-long-lines--expanded
            (if (agent-q-diff-long-lines--expanded-p)
                (cl-delete beg agent-q-diff-long-lines--expanded :test #'=)
              (cons (copy-marker beg) agent-q-diff-long-lines--expanded)))
      (jit-lock-refontify beg end)
      t)))

;;;; Set-up

(defun agent-q-diff-long-lines--show (beg end)
  "Show confusables by number, and cut off long lines, from BEG to END.
This is a function for jit-lock."
  (save-excursion
    (let ((beg (progn (goto-char beg) (line-beginning-position)))
          (end (progn (goto-char end) (line-end-position)))
          (limits (agent-q-diff-long-lines--limits)))
      (with-silent-modifications
        (remove-text-properties beg end '(display nil help-echo nil
                                                  agent-q-diff-cut nil))
        (remove-overlays beg end 'agent-q-diff-elided t)
        (pcase-dolist (`(,at . ,properties) (agent-q-diff-confusables-signs beg end))
          (add-text-properties at (1+ at) properties))
        (goto-char beg)
        (while (progn
                 (agent-q-diff-long-lines--cut limits)
                 (and (= 0 (forward-line)) (< (point) end)))))
      `(jit-lock-bounds ,beg . ,end))))

(defvar-local agent-q-diff-long-lines--known nil
  "The value of `agent-q-diff-long-lines--limits' when lines were cut.")

(defun agent-q-diff-long-lines--fit (window)
  "Cut long lines anew if WINDOW, of a diff buffer, has another width."
  (with-current-buffer (window-buffer window)
    (let ((limits (agent-q-diff-long-lines--limits)))
      (unless (equal limits agent-q-diff-long-lines--known)
        (setq agent-q-diff-long-lines--known limits)
        (jit-lock-refontify)))))

(defun agent-q-diff-long-lines-set-up ()
  "Show confusables by number and cut off long lines, as they come into view."
  ;; A paragraph that begins with an Arabic letter must not move the signs of
  ;; a diff to the right, and detecting the direction of a long line is slow.
  (setq-local bidi-paragraph-direction 'left-to-right)
  (setq-local bidi-inhibit-bpa t)
  (add-to-invisibility-spec '(agent-q-diff-elided . t))
  (add-hook 'window-size-change-functions #'agent-q-diff-long-lines--fit nil t)
  (jit-lock-register #'agent-q-diff-long-lines--show))

;;; The middle of long hunks, and the rest of a description

(defvar-local agent-q-diff-fold--expanded nil
  "Markers at the `@@' lines of long hunks that are shown whole.")

;;;; Hiding the middle

(defun agent-q-diff-fold--middle (beg end)
  "Return (FROM TO N-LINES), the part of a hunk to hide, or nil.
The hunk is from BEG to END.  FROM is the beginning of the first line to be
hidden, TO the end of the last one, and N-LINES the number of hidden
lines."
  (let ((n-shown agent-q-diff-hunk-lines))
    ;; Every line has at least one character.
    (when (and n-shown (> (- end beg) n-shown))
      (save-excursion
        (goto-char beg)
        (forward-line)
        (let* ((n (count-lines (point) end))
               (n-head (/ n-shown 2))
               (n-hidden (- n n-shown)))
          (when (> n-hidden 0)
            (forward-line n-head)
            (let ((from (point)))
              (forward-line n-hidden)
              (list from (1- (point)) n-hidden))))))))

(defun agent-q-diff-fold-words (n-lines)
  "Return words for N-LINES hidden lines, with the key for showing them."
  (propertize (substitute-command-keys
               (format (ngettext
                        "… %d more line, \
\\<agent-q-diff-mode-map>\\[agent-q-diff-expand-line] shows it"
                        "… %d more lines, \
\\<agent-q-diff-mode-map>\\[agent-q-diff-expand-line] shows them"
                        n-lines)
                       n-lines))
              'face 'agent-q-diff-warning))

(defun agent-q-diff-fold--sign (n-lines)
  "Return the text that is shown in place of N-LINES lines."
  (let ((text (agent-q-diff-fold-words n-lines)))
    ;; The cursor is shown on it, to show where the key works.
    (put-text-property 0 1 'cursor t text)
    text))

(defun agent-q-diff-fold--hide (hunk)
  "Hide the middle of HUNK if it is long.  Return non-nil if it was hidden."
  (pcase (agent-q-diff-fold--middle (agent-q-diff-buffer-position hunk)
                                    (agent-q-diff-buffer-hunk-end hunk))
    (`(,from ,to ,n-lines)
     (when (< from (point) to)
       (goto-char from))
     (agent-q-diff-base-overlay from to 'agent-q-diff-cut t 'invisible 'agent-q-diff-cut
                                'isearch-open-invisible #'agent-q-diff-fold--show
                                'before-string (agent-q-diff-fold--sign n-lines)))))

(defun agent-q-diff-fold--show (overlay)
  "Show what OVERLAY hides, and record that the hunk is to be shown whole."
  (save-excursion
    (goto-char (overlay-start overlay))
    (push (copy-marker (agent-q-diff-buffer-position (agent-q-diff-buffer-hunk-here)))
          agent-q-diff-fold--expanded))
  (delete-overlay overlay)
  (agent-q-diff-buffer-announce-folds))

(defun agent-q-diff-fold--of (hunk)
  "Return the overlay that hides the middle of HUNK, or nil."
  (seq-find (lambda (overlay) (overlay-get overlay 'agent-q-diff-cut))
            (overlays-in (agent-q-diff-buffer-position hunk)
                         (agent-q-diff-buffer-hunk-end hunk))))

(defun agent-q-diff-fold--update (are-new)
  "Hide the middle of each long hunk that is not to be shown whole, if ARE-NEW."
  (when are-new
    (agent-q-diff-base-widened
      (remove-overlays nil nil 'agent-q-diff-cut t)
      (when agent-q-diff-hunk-lines
        (cl-loop with expanded = (mapcar #'marker-position agent-q-diff-fold--expanded)
                 with end = (point-max)
                 for hunk downfrom (1- (agent-q-diff-buffer-n-inserted)) to 0
                 for position = (agent-q-diff-buffer-position hunk)
                 ;; The next hunk may be in the next file, but that is only later.
                 when (and (> (- end position) agent-q-diff-hunk-lines)
                           (not (memq position expanded)))
                 do (agent-q-diff-fold--hide hunk)
                 do (setq end position))))))

;;;; The key

(defun agent-q-diff-fold-toggle ()
  "Show all of the hunk at point if its middle is hidden, or hide it again.
Return nil if the hunk is too short for that."
  (when-let ((hunk (agent-q-diff-buffer-hunk-at-point)))
    (let ((overlay (agent-q-diff-fold--of hunk)))
      (if overlay
          (progn
            ;; Point is also displayed at the sign if it is after the hidden
            ;; lines.
            (when (<= (overlay-start overlay) (point) (overlay-end overlay))
              (goto-char (overlay-start overlay)))
            (agent-q-diff-fold--show overlay)
            t)
        (setq agent-q-diff-fold--expanded
              (cl-delete (agent-q-diff-buffer-position hunk)
                         agent-q-diff-fold--expanded :test #'=))
        (prog1 (agent-q-diff-fold--hide hunk)
          (agent-q-diff-buffer-announce-folds))))))

;;;; A long description

(defvar-local agent-q-diff-fold--is-new t
  "Non-nil until the description has been shown in a window.")

(defconst agent-q-diff-fold--counted-characters 20000
  "Number of characters up to which lines are counted as the window wraps them.")

(defun agent-q-diff-fold-description-beginning ()
  "Return the position of the description in this buffer, or nil."
  (text-property-any (point-min)
                     (if (length> agent-q-diff-buffer-positions 0)
                         (agent-q-diff-buffer-position 0)
                       (point-max))
                     'agent-q-diff-description t))

(defun agent-q-diff-fold--description ()
  "Return (BEG . END) of the description in this buffer, or nil."
  (when-let ((beg (agent-q-diff-fold-description-beginning)))
    (cons beg (next-single-property-change beg 'agent-q-diff-description nil (point-max)))))

(defun agent-q-diff-fold--description-fold ()
  "Return the overlay that hides the rest of the description, or nil."
  (when-let ((description (agent-q-diff-fold--description)))
    (seq-find (lambda (overlay) (overlay-get overlay 'agent-q-diff-description))
              (overlays-in (car description) (cdr description)))))

(defun agent-q-diff-fold-new-description (window)
  "Hide the rest of a long description, when this buffer is new to WINDOW."
  (when agent-q-diff-fold--is-new
    (setq agent-q-diff-fold--is-new nil)
    (agent-q-diff-fold--hide-rest window)))

(defun agent-q-diff-fold--hide-rest (window)
  "Hide what of the description does not fit into a third of WINDOW.
Return non-nil if something was hidden."
  (pcase (agent-q-diff-fold--description)
    (`(,beg . ,end)
     (let ((n-shown (1- (max 2 (/ (window-body-height window) 3))))
           from)
       (save-excursion
         (goto-char beg)
         (vertical-motion n-shown window)
         (setq from (point))
         ;; A sign in the place of a single line would gain nothing.
         (vertical-motion 1 window)
         (when (and (< from end) (< (point) end))
           (agent-q-diff-base-overlay
            from end 'agent-q-diff-description t 'invisible 'agent-q-diff-cut
            'isearch-open-invisible #'delete-overlay
            'before-string (concat (if (eq ?\n (char-before from)) "" "\n")
                                   (agent-q-diff-fold--sign
                                    (if (< agent-q-diff-fold--counted-characters (- end from))
                                        (count-lines from end)
                                      (count-screen-lines from end nil window)))))))))))

(defun agent-q-diff-fold-toggle-description ()
  "Show all of a long description, or hide its rest again if point is in it.
Return nil if there is nothing to show or to hide."
  (let ((description (agent-q-diff-fold--description))
        (overlay (agent-q-diff-fold--description-fold)))
    (cond
     (overlay
      (when (or (null (agent-q-diff-buffer-hunk-at-point))
                ;; The sign names a key, which is pressed on a hunk below it.
                (and (eq (window-buffer) (current-buffer))
                     (<= (window-start) (overlay-start overlay))))
        (goto-char (overlay-start overlay))
        (delete-overlay overlay)
        t))
     ((and description (<= (car description) (point) (cdr description))
           (eq (window-buffer) (current-buffer)))
      (when (agent-q-diff-fold--hide-rest (selected-window))
        (goto-char (car description))
        t)))))

;;;; Set-up

(defun agent-q-diff-fold-set-up ()
  "Hide the middle of long hunks in this buffer."
  (add-to-invisibility-spec 'agent-q-diff-cut)
  (add-hook 'agent-q-diff-buffer-shown-functions #'agent-q-diff-fold--update nil t))

(provide 'agent-q-diff-fontify)
;;; agent-q-diff-fontify.el ends here
