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

(defun aqd-walk-lines (family number)
  "Return the lines of the target for line NUMBER of the original in FAMILY.
What is typed below it is not among them."
  (let* ((change (/ number aqd-walk-period))
         (line (if (and (= 6 (mod number aqd-walk-period))
                        (aref aqd-walk-in change))
                   (aqd-walk-change family change)
                 (aqd-walk-line family number))))
    (and line (split-string line "\n"))))

(defun aqd-walk-text (family)
  "Return what the target is to be in FAMILY, as the model has it."
  (mapconcat (lambda (line) (concat line "\n"))
             (cl-loop for number below (* (length aqd-walk-in) aqd-walk-period)
                      append (aqd-walk-lines family number)
                      append (alist-get number aqd-walk-typed))
             ""))

(defun aqd-walk-type (family random)
  "Type a line into the target in FAMILY, as RANDOM says.
It goes below any line but those beside a change, where a conflict might
be right."
  (let* ((number (+ (* aqd-walk-period (funcall random (length aqd-walk-in)))
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
        (aqd-walk-type family random)
      (aqd-goto-hunk (1+ hunk))
      (aqd-press key)
      (aqd-walk-note hunk key))
    (list key hunk)))

(defun aqd-walk (family seed)
  "Walk in FAMILY with SEED, and check the target after each step."
  (let* ((n 6)
         (aqd-walk-typed nil)
         (modified (let ((aqd-walk-in (make-vector n t)))
                     (aqd-walk-text family)))
         (aqd-walk-in (make-vector n nil))
         (original (aqd-walk-text family))
         (steps nil))
    (random (format "walk %s %d" family seed))
    (aqd-with-file original
      (aqd-visit)
      (aqd-call
       original modified
       (lambda ()
         (dotimes (_ 15)
           (push (aqd-walk-step family #'random) steps)
           (should (equal (list seed steps (agent-q-diff-target-text
                                            (find-buffer-visiting aqd-file)))
                          (list seed steps (aqd-walk-text family)))))
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
