;;; aqd-bench-large.el --- Speed of keys that concern much at once  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Keys that decide, fold or split thousands of hunks, rules that decide many
;; files, and keys side by side.  Most rows show growth: the peer is the same
;; in a tenth, so that 10 is linear.

;;; Code:

(require 'aqd-bench)
(require 'aqd-bench-felt)
(require 'aqd-bench-several)
(require 'agent-q-diff-api)

(defun aqd-bench-large--text (n line)
  "Return a text of N lines, each what the function LINE returns for its number."
  (with-temp-buffer
    (dotimes (number n)
      (insert (funcall line number)))
    (buffer-string)))

(defun aqd-bench-large--open (name texts)
  "Open a review of TEXTS of the file NAME, which is visited, with all hunks."
  (aqd-bench--close)
  (let ((file (aqd-bench-file name (car texts))))
    (aqd-bench--forget file)
    (find-file-noselect file)
    (aqd-bench--open file texts))
  ;; The notes of many hunks come after the first screen.
  (sit-for 0.01)
  (agent-q-diff-buffer-complete)
  (redisplay t))

(defun aqd-bench-large--check-decided (n)
  "Signal an error unless N hunks are decided."
  (let ((n-decided (seq-count #'identity (agent-q-diff-module-marks
                                          (agent-q-diff-change-engine
                                           agent-q-diff-buffer-change)))))
    (unless (= n n-decided)
      (error "%d hunks are decided, not %d" n-decided n))))

(defun aqd-bench-large--fresh (name texts before keys n-decided)
  "Return a work that presses KEYS in a review of TEXTS of the file NAME.
BEFORE are pressed before that, each time in a review that is opened anew.
N-DECIDED hunks must be decided then, unless it is nil."
  (aqd-bench-work
   :before (lambda ()
             (aqd-bench-large--open name texts)
             (mapc #'aqd-bench-felt--press before))
   :run (lambda () (mapc #'aqd-bench-felt--press keys))
   :after (lambda ()
            (when n-decided
              (aqd-bench-large--check-decided n-decided))
            (aqd-bench--close))))

;;;; White space

(defun aqd-bench-large--white-space-texts (n-lines)
  "Return (ORIGINAL . MODIFIED), N-LINES lines that are indented by the latter.
One in a hundred changes in more than that."
  (cons (aqd-bench-large--text n-lines (lambda (number) (aqd-bench-line number "compute" nil)))
        (aqd-bench-large--text
         n-lines
         (lambda (number)
           (let ((line (aqd-bench-line number "compute" nil)))
             (cond
              ((= 50 (% number 100)) (format "    let changed_%d = input.compute(%d);\n"
                                             number number))
              ((equal "\n" line) line)
              (t (concat "    " line))))))))

(defun aqd-bench-large--white-space (n-lines)
  "Return a work that accepts all white space of N-LINES lines, shown as context."
  (aqd-bench-large--fresh "space.rs" (aqd-bench-large--white-space-texts n-lines)
                          nil '("W" "w") nil))

;;;; Equal hunks

(defun aqd-bench-large--equal-texts (n-hunks)
  "Return (ORIGINAL . MODIFIED) with N-HUNKS hunks, which all do the same."
  (let ((n-lines (* 10 n-hunks)))
    (cl-flet ((text (word)
                (aqd-bench-large--text
                 n-lines
                 (lambda (number)
                   (if (= 5 (% number 10))
                       (format "    let value_%d = input.%s(%d);\n" number word number)
                     (aqd-bench-line number "sum" nil))))))
      (cons (text "compute") (text "reckon")))))

(defun aqd-bench-large--equal (n-hunks before keys n-decided)
  "Return a work that presses KEYS where N-HUNKS hunks do the same.
BEFORE and N-DECIDED are as for `aqd-bench-large--fresh'."
  (aqd-bench-large--fresh "equal.rs" (aqd-bench-large--equal-texts n-hunks)
                          before keys n-decided))

(defun aqd-bench-large--folded (n-hunks key)
  "Return a work that presses KEY where N-HUNKS equal hunks are folded to one."
  (let ((work (aqd-bench-large--equal n-hunks '("ll" "n") nil nil))
        (press (lambda () (aqd-bench-felt--press key))))
    (setf (aqd-bench-work-n work) 10
          (aqd-bench-work-run work) press)
    work))

(defun aqd-bench-large ()
  "Measure keys that concern much at once, by how they grow."
  (let ((rounds (if aqd-bench-quick 3 7)))
    (aqd-bench-felt--compare
     "W and w, 10,000 lines, 100 real edits : 1,000 lines, 10" 12
     (aqd-bench-large--white-space 10000) (aqd-bench-large--white-space 1000)
     :rounds rounds)
    (pcase-dolist (`(,name ,before ,key ,decided)
                   '(("l a" nil "la" t) ("l r" nil "lr" t) ("l u, after l a" ("la") "lu" nil)))
      (aqd-bench-felt--compare
       (format "%s, 10,000 equal hunks : 1,000" name) 12
       (aqd-bench-large--equal 10000 before (list key) (if decided 10000 0))
       (aqd-bench-large--equal 1000 before (list key) (if decided 1000 0))
       :rounds rounds))
    (dolist (key '("a" "n"))
      (aqd-bench-felt--compare
       (format "%s, 10,000 equal hunks folded : 1,000" key) 12
       (aqd-bench-large--folded 10000 key) (aqd-bench-large--folded 1000 key)
       :rounds rounds))))

;;;; Rules

(defun aqd-bench-large--by-rules (files)
  "Return a work that opens a review of FILES of which rules accept everything."
  (aqd-bench-work
   :before (lambda () (aqd-bench-several--forget files))
   :run (lambda ()
          (let ((agent-q-diff-policy-rules '(((files . "*.txt") . keep)))
                (agent-q-diff-project-root aqd-bench-directory)
                (n-saved 0))
            (cl-flet ((count () (cl-incf n-saved)))
              (add-hook 'after-save-hook #'count)
              (agent-q-diff-review-change files "By rules" #'ignore)
              (remove-hook 'after-save-hook #'count))
            (redisplay t)
            (unless (= n-saved (length files))
              (error "%d files were saved %d times" (length files) n-saved))))))

(defun aqd-bench-rules ()
  "Measure a change of many files that the user's rules decide."
  (let ((files (cl-loop for number below 60
                        for texts = (aqd-bench-texts 400 10)
                        for name = (format "rules-%d.txt" number)
                        for original = (format "// File %d\n%s" number (car texts))
                        collect (list :path (aqd-bench-file name original)
                                      :original original
                                      :modified (format "// File %d\n%s" number (cdr texts))))))
    (aqd-bench-felt--compare
     "rules keep 60 files, 600 hunks : visit, insert and save-buffer in each" 5
     (aqd-bench-large--by-rules files) (aqd-bench-several--saving files)
     :rounds (if aqd-bench-quick 3 7))
    (aqd-bench-several--forget files)))

;;;; Side by side

(defun aqd-bench-large--long-texts (n-lines)
  "Return (ORIGINAL . MODIFIED), N-LINES lines of 3,000 columns.
Every tenth one changes."
  (let ((texts (aqd-bench-texts n-lines (/ n-lines 10))))
    (cl-flet ((long (text)
                (replace-regexp-in-string
                 ".+" (lambda (line)
                        (substring (apply #'concat (make-list (1+ (/ 3000 (length line))) line))
                                   0 3000))
                 text t t)))
      (cons (long (car texts)) (long (cdr texts))))))

(defun aqd-bench-large--side (name texts key is-beside)
  "Return a work that presses KEY in a review of TEXTS of the file NAME.
If IS-BESIDE is non-nil, old and new lines are side by side."
  (let ((work (aqd-bench-large--fresh name texts (and is-beside '("|")) nil nil)))
    (setf (aqd-bench-work-n work) 10
          (aqd-bench-work-run work) (lambda () (aqd-bench-felt--press key)))
    work))

(defun aqd-bench-side ()
  "Measure keys side by side."
  (let ((usual (aqd-bench-texts 20000 2000))
        (few (aqd-bench-texts 2000 200))
        (long (aqd-bench-large--long-texts 2000))
        (rounds (if aqd-bench-quick 3 7)))
    (pcase-dolist (`(,name ,key) '(("down" [down]) ("n" "n") ("a" "a")))
      (aqd-bench-felt--compare
       (format "%s side by side, 20,000 lines : 2,000" name) 2
       (aqd-bench-large--side "side.txt" usual key t)
       (aqd-bench-large--side "side.txt" few key t)
       :rounds rounds)
      (aqd-bench-felt--compare
       (format "%s side by side, lines of 3,000 columns : of 40" name) 8
       (aqd-bench-large--side "side.txt" long key t)
       (aqd-bench-large--side "side.txt" few key t)
       :rounds rounds))))

(provide 'aqd-bench-large)
;;; aqd-bench-large.el ends here
