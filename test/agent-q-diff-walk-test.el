;;; agent-q-diff-walk-test.el --- Random walks through real keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Whatever is pressed in whatever order, and whatever is typed in the
;; target meanwhile, the target is the original with exactly the hunks that
;; are in it and what was typed.  A naive model says what that is.  The
;; seed is fixed; AGENT_Q_DIFF_WALKS sets the number of walks.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-test-help)

(defconst aqd-walk-period 14
  "Lines between two changes of a walk's proposal.")

(cl-defstruct aqd-walk-hunk
  "What the model knows of a hunk: lines of the file in its CHANGE that it
takes out and lines that it puts in, and whether it is in the target."
  change removed added is-in)

(defvar aqd-walk-hunks nil
  "The hunks as the model has them, in order.")

(defvar aqd-walk-n-changes 6
  "Number of changes of a walk's proposal.")

(defvar aqd-walk-typed nil
  "Alist from line of the original to the lines typed below it, in order.")

(defun aqd-walk-line (family number)
  "Return line NUMBER of the original, of the kind that FAMILY names."
  (pcase-exhaustive family
    ('unique (format "line %d" number))
    ;; Every other block has a name, so that a diff finds the changes made.
    ('blocks (if (zerop (mod number aqd-walk-period))
                 (format "(defun f%d ()" number)
               (nth (mod number 7) '("(defun f ()" "  one" "  two" "  three"
                                     "  four" "  five)" ""))))))

(defun aqd-walk-changed-line (change)
  "Return the number of the line that CHANGE is about."
  (+ 6 (* change aqd-walk-period)))

(defun aqd-walk-hunk (family change)
  "Return a new hunk for CHANGE in FAMILY.
It makes two lines of one, puts lines below one, or deletes it."
  (let ((line (aqd-walk-line family (aqd-walk-changed-line change))))
    (pcase (mod change 3)
      (0 (make-aqd-walk-hunk :change change :removed (list line)
                             :added (list (concat line " changed") "  more")))
      (1 (make-aqd-walk-hunk :change change :added '("  added" "  and more")))
      (2 (make-aqd-walk-hunk :change change :removed (list line))))))

(defun aqd-walk-lines (family number)
  "Return the lines of the target for line NUMBER of the original in FAMILY.
What is typed below it is not among them."
  (let* ((change (/ number aqd-walk-period))
         (line (list (aqd-walk-line family number)))
         (changed (cl-loop for hunk in aqd-walk-hunks
                           when (= change (aqd-walk-hunk-change hunk))
                           append (if (aqd-walk-hunk-is-in hunk)
                                      (aqd-walk-hunk-added hunk)
                                    (aqd-walk-hunk-removed hunk)))))
    (cond
     ((/= number (aqd-walk-changed-line change)) line)
     ;; The line itself is no part of a change that only adds.
     ((= 1 (mod change 3)) (append line changed))
     (t changed))))

(defun aqd-walk-text (family)
  "Return what the target is to be in FAMILY, as the model has it."
  (mapconcat (lambda (line) (concat line "\n"))
             (cl-loop for number below (* aqd-walk-n-changes aqd-walk-period)
                      append (aqd-walk-lines family number)
                      append (alist-get number aqd-walk-typed))
             ""))

(defun aqd-walk-type (family random)
  "Type a line into the target in FAMILY, as RANDOM says.
It goes below any line but those beside a change, where a conflict might
be right."
  (let* ((number (+ (* aqd-walk-period (funcall random aqd-walk-n-changes))
                    (nth (funcall random 4) '(0 3 8 11))))
         (above (cl-loop for other to number
                         sum (length (aqd-walk-lines family other))
                         unless (= other number)
                         sum (length (alist-get other aqd-walk-typed)))))
    (with-current-buffer (find-buffer-visiting aqd-file)
      (goto-char (point-min))
      (forward-line (1- above))
      (end-of-line)
      ;; A line that is there already is as good as any other.
      (insert "\n" (aqd-walk-line family (1+ number)))
      (push (aqd-walk-line family (1+ number))
            (alist-get number aqd-walk-typed)))))

(defun aqd-walk-parts (hunk &rest counts)
  "Return the parts of HUNK of which each has so many of its lines as COUNTS say.
What is left is the last part; a part without lines is none."
  (let ((removed (aqd-walk-hunk-removed hunk))
        (added (aqd-walk-hunk-added hunk))
        (parts nil))
    (dolist (count (append counts '(1000)))
      (let* ((n-removed (min count (length removed)))
             (n-added (min (- count n-removed) (length added)))
             (part (copy-aqd-walk-hunk hunk)))
        (setf (aqd-walk-hunk-removed part) (seq-take removed n-removed)
              (aqd-walk-hunk-added part) (seq-take added n-added)
              removed (seq-drop removed n-removed)
              added (seq-drop added n-added))
        (when (or (aqd-walk-hunk-removed part) (aqd-walk-hunk-added part))
          (push part parts))))
    (nreverse parts)))

(defun aqd-walk-become (hunk parts)
  "Put PARTS in the place of HUNK in the model."
  (setq aqd-walk-hunks
        (mapcan (lambda (other) (if (eq other hunk) parts (list other)))
                aqd-walk-hunks)))

(defun aqd-walk-note (hunk key)
  "Note in the model that KEY was pressed on HUNK."
  (pcase key
    ;; SPC on an applied hunk leaves the target alone, and so does a.
    ((or "a" "SPC") (setf (aqd-walk-hunk-is-in hunk) t))
    ("u" (setf (aqd-walk-hunk-is-in hunk) nil))
    ("s" (aqd-walk-become
          hunk (aqd-walk-parts hunk (length (aqd-walk-hunk-removed hunk)))))))

(defun aqd-walk-press-on-line (hunk key random)
  "Press KEY with one changed line of HUNK, as RANDOM says, as the region."
  (let* ((n (+ (length (aqd-walk-hunk-removed hunk))
               (length (aqd-walk-hunk-added hunk))))
         (line (funcall random n))
         (parts (aqd-walk-parts hunk line 1))
         (transient-mark-mode t))
    (forward-line)
    (re-search-forward "^[-+]" nil nil (1+ line))
    (push-mark (1- (point)) t t)
    (aqd-press key)
    (aqd-walk-become hunk parts)
    (aqd-walk-note (nth (if (= line 0) 0 1) parts) key)))

(defun aqd-walk-edit (hunk seed)
  "Put a line with SEED in it before those that HUNK adds."
  (let ((line (format "edited %s" seed)))
    (aqd-press "e")
    (with-current-buffer (window-buffer)
      (should agent-q-diff-edit-mode)
      (insert line "\n")
      (agent-q-diff-edit-finish))
    (push line (aqd-walk-hunk-added hunk))))

(defun aqd-walk-step (family random)
  "Take one step in FAMILY, as RANDOM says, and return what it was."
  (let* ((index (funcall random (length aqd-walk-hunks)))
         (hunk (nth index aqd-walk-hunks))
         (key (nth (funcall random 6) '("a" "a" "r" "SPC" "u" "s"))))
    (aqd-goto-hunk (1+ index))
    (pcase (funcall random 8)
      ((or 0 1) (aqd-walk-type family random))
      (2 (aqd-walk-press-on-line hunk (nth (funcall random 3) '("a" "r" "u"))
                                 random))
      (3 (aqd-walk-edit hunk (funcall random 1000)))
      (_ (aqd-press key)
         (aqd-walk-note hunk key)))
    (list key index)))

(defun aqd-walk (family seed)
  "Walk in FAMILY with SEED, and check the target after each step."
  (let* ((aqd-walk-typed nil)
         (aqd-walk-hunks (cl-loop for change below aqd-walk-n-changes
                                  collect (aqd-walk-hunk family change)))
         (original (aqd-walk-text family))
         (modified (let ((aqd-walk-hunks (mapcar #'copy-aqd-walk-hunk aqd-walk-hunks)))
                     (dolist (hunk aqd-walk-hunks)
                       (setf (aqd-walk-hunk-is-in hunk) t))
                     (aqd-walk-text family)))
         (steps nil))
    (random (format "walk %s %d" family seed))
    (aqd-with-file original
      (aqd-visit)
      (aqd-call
       original modified
       (lambda ()
         (should (= (length agent-q-diff-buffer-positions) (length aqd-walk-hunks)))
         (dotimes (_ 15)
           (push (aqd-walk-step family #'random) steps)
           (should (equal (list seed steps (agent-q-diff-text-in
                                            (find-buffer-visiting aqd-file)))
                          (list seed steps (aqd-walk-text family))))
           (should (= (length agent-q-diff-buffer-positions) (length aqd-walk-hunks))))
         (agent-q-diff-reject-all))))))

(defun aqd-walks ()
  "Return how many walks to take in each family."
  (string-to-number (or (getenv "AGENT_Q_DIFF_WALKS") "150")))

(ert-deftest aqd-walk-among-unique-lines ()
  (let ((inhibit-message t))
    (dotimes (seed (aqd-walks))
      (aqd-walk 'unique seed))))

(ert-deftest aqd-walk-among-identical-blocks ()
  (let ((inhibit-message t))
    (dotimes (seed (aqd-walks))
      (aqd-walk 'blocks seed))))

(provide 'agent-q-diff-walk-test)
;;; agent-q-diff-walk-test.el ends here
