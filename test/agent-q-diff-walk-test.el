;;; agent-q-diff-walk-test.el --- Random walks through real keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Whatever is pressed in whatever order, and whatever is typed in the
;; target meanwhile, the target is the original with exactly the hunks that
;; are in it and what was typed.  A naive model says what that is.  The
;; seed is fixed; AGENT_Q_DIFF_WALKS sets the number of walks.

;;; Code:

(require 'agent-q-diff-test-help)

(defconst aqd-walk-period 14
  "Lines between two changes of a walk's proposal.")

(defvar aqd-walk-in nil
  "Vector that tells for each change whether it is in the target.")

(defvar aqd-walk-typed nil
  "Alist from line of the original to the lines typed below it, in order.")

(defun aqd-walk-line (family number)
  "Return line NUMBER of the original, of the kind that FAMILY names."
  (pcase-exhaustive family
    ('unique (format "line %d" number))
    ('blocks (nth (mod number 7) '("(defun f ()" "  one" "  two" "  three"
                                   "  four" "  five)" "")))))

(defun aqd-walk-change (family number)
  "Return what change NUMBER makes of its line in FAMILY, or nil to delete it."
  (pcase (mod number 3)
    (0 (concat (aqd-walk-line family (* number aqd-walk-period)) " changed"))
    (1 (concat (aqd-walk-line family (* number aqd-walk-period)) "\n  added"))
    (2 nil)))

(defun aqd-walk-text (family n in typed)
  "Return the text of N changes in FAMILY with those IN it and what is TYPED."
  (let (lines)
    (dotimes (number (* n aqd-walk-period))
      (let ((change (/ number aqd-walk-period)))
        (if (and (= 6 (mod number aqd-walk-period)) (aref in change))
            (push (aqd-walk-change family change) lines)
          (push (aqd-walk-line family number) lines)))
      (dolist (line (alist-get number typed))
        (push line lines)))
    (mapconcat (lambda (line) (concat line "\n")) (nreverse (delq nil lines)) "")))

(defun aqd-walk-type (random)
  "Type a line into the target, far from every change.  RANDOM says where."
  (let* ((number (* aqd-walk-period (funcall random (length aqd-walk-in))))
         (above (format "line %d" number)))
    (with-current-buffer (find-buffer-visiting aqd-file)
      (goto-char (point-min))
      (re-search-forward (concat "^" above "$"))
      (insert (format "\ntyped %d" (buffer-modified-tick)))
      (push (buffer-substring (line-beginning-position) (point))
            (alist-get number aqd-walk-typed)))))

(defun aqd-walk-note (hunk command)
  "Note in the model that COMMAND, a key, was pressed on HUNK."
  (pcase command
    ((or "a" "SPC")
     ;; SPC on an applied hunk leaves the target alone, and so does a.
     (aset aqd-walk-in hunk t))
    ("u" (aset aqd-walk-in hunk nil))))

(defun aqd-walk-step (family random)
  "Take one step in FAMILY, as RANDOM says, and return what it was."
  (let ((hunk (funcall random (length aqd-walk-in)))
        (key (nth (funcall random 6) '("a" "a" "r" "SPC" "u" "type"))))
    (if (equal key "type")
        (when (eq family 'unique)
          (aqd-walk-type random))
      (aqd-goto-hunk (1+ hunk))
      (aqd-press key)
      (aqd-walk-note hunk key))
    (list key hunk)))

(defun aqd-walk (family seed)
  "Walk in FAMILY with SEED, and check the target after each step."
  (let* ((n 6)
         (aqd-walk-in (make-vector n nil))
         (aqd-walk-typed nil)
         (original (aqd-walk-text family n aqd-walk-in nil))
         (modified (aqd-walk-text family n (make-vector n t) nil))
         (steps nil))
    (random (format "walk %s %d" family seed))
    (aqd-with-file original
      (aqd-visit)
      (aqd-call
       original modified
       (lambda ()
         (dotimes (_ 15)
           (push (aqd-walk-step family #'random) steps)
           (should (equal (list seed steps
                                (agent-q-diff-target-text
                                 (find-buffer-visiting aqd-file)))
                          (list seed steps
                                (aqd-walk-text family n aqd-walk-in
                                               aqd-walk-typed)))))
         (agent-q-diff-reject-all))))))

(defun aqd-walks ()
  "Return how many walks to take in each family."
  (string-to-number (or (getenv "AGENT_Q_DIFF_WALKS") "150")))

(ert-deftest aqd-walk-among-unique-lines-while-the-user-types ()
  (let ((inhibit-message t))
    (dotimes (seed (aqd-walks))
      (aqd-walk 'unique seed))))

(ert-deftest aqd-walk-among-identical-blocks ()
  (let ((inhibit-message t))
    (dotimes (seed (aqd-walks))
      (aqd-walk 'blocks seed))))

(provide 'agent-q-diff-walk-test)
;;; agent-q-diff-walk-test.el ends here
