;;; aqd-bench.el --- Measuring beside a peer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Takes the times of something of ours and of a peer in turn, so that a
;; noisy machine disturbs both, and prints a row with the ratio of the
;; medians.  Time spent in garbage collection is taken apart.
;;
;; A row is a line of stdout, separated by tabs:
;;
;;   ROW NAME OURS PEER RATIO TARGET STATUS

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defvar aqd-bench-quick nil
  "Non-nil if only what takes little time is to be measured.")

(defvar aqd-bench-output "/dev/stdout"
  "The file to which rows are written.")

(defvar aqd-bench-prefix ""
  "What stands before the name of each row, to say how it was measured.")

(defun aqd-bench-print (format &rest arguments)
  "Write a line made of FORMAT and ARGUMENTS to the output."
  (let ((inhibit-message t))
    (write-region (concat (apply #'format format arguments) "\n") nil
                  aqd-bench-output t 'silent)))

;;;; Taking times

(cl-defstruct (aqd-bench-work (:constructor aqd-bench-work)
                              (:copier nil))
  "Something of which the time is taken."
  run            ; function that is measured, called N times in a row
  (n 1)
  (before #'ignore)                     ; called before each measurement
  (after #'ignore))                     ; called after it

(defun aqd-bench--n-made ()
  "Return the number of bytes of all Lisp objects that were ever made."
  (cl-loop for n in (memory-use-counts)
           ;; Conses, floats, cells of vectors, symbols, characters of
           ;; strings, intervals, strings.
           for size in '(16 8 8 48 1 56 32)
           sum (* n size)))

(defun aqd-bench--once (work)
  "Do WORK once and return (SECONDS . BYTES) for each run.
SECONDS does not include garbage collection; BYTES is what was made of Lisp
objects."
  (funcall (aqd-bench-work-before work))
  (let* ((n-made (aqd-bench--n-made))
         (collected gc-elapsed)
         (begin (current-time))
         (n (aqd-bench-work-n work)))
    (dotimes (_ n)
      (funcall (aqd-bench-work-run work)))
    (let ((seconds (- (float-time (time-since begin)) (- gc-elapsed collected)))
          (bytes (- (aqd-bench--n-made) n-made)))
      (funcall (aqd-bench-work-after work))
      (cons (/ seconds n) (/ bytes n)))))

(defun aqd-bench-median (numbers)
  "Return the median of NUMBERS."
  (let ((sorted (sort (copy-sequence numbers) #'<)))
    (nth (/ (length sorted) 2) sorted)))

(defun aqd-bench-rounds (rounds ours peer)
  "Do OURS and PEER in turn, ROUNDS times after one to warm up.
Return a list of the two medians without the time for collecting garbage,
and of the two with it.  What the collections in all rounds took is shared
out by the Lisp objects that each has made: whose turn a collection falls
on is chance, and may be the same in every round."
  (garbage-collect)
  (let (our-times peer-times collected n-made)
    (dotimes (round (1+ rounds))
      (when (= round 1)
        (setq collected gc-elapsed
              n-made (aqd-bench--n-made)))
      (let ((one (aqd-bench--once ours))
            (other (aqd-bench--once peer)))
        (when (> round 0)
          (push one our-times)
          (push other peer-times))))
    (let ((seconds-per-byte (/ (- gc-elapsed collected)
                               (- (aqd-bench--n-made) n-made)))
          (net (lambda (times) (aqd-bench-median (mapcar #'car times))))
          (bytes (lambda (times) (aqd-bench-median (mapcar #'cdr times)))))
      (append (mapcar net (list our-times peer-times))
              (mapcar (lambda (times)
                        (+ (funcall net times)
                           (* seconds-per-byte (funcall bytes times))))
                      (list our-times peer-times))))))

;;;; Rows

(defun aqd-bench-seconds (seconds)
  "Return SECONDS as a string for people."
  (cond
   ((>= seconds 1) (format "%.2f s" seconds))
   ((>= seconds 1e-3) (format "%.2f ms" (* seconds 1e3)))
   (t (format "%.1f us" (* seconds 1e6)))))

(defun aqd-bench-bytes (bytes)
  "Return BYTES as a string for people."
  (format "%.1f MB" (/ bytes 1e6)))

(defun aqd-bench-row (name ours peer target &optional shown)
  "Print the row NAME: OURS beside PEER, numbers, of which the ratio counts.
TARGET is the largest ratio that is good enough, or nil.  SHOWN makes a
string of either number; by default it takes them for seconds."
  (let ((ratio (/ (float ours) peer))
        (shown (or shown #'aqd-bench-seconds)))
    (aqd-bench-print "ROW\t%s\t%s\t%s\t%.4g\t%s\t%s" (concat aqd-bench-prefix name)
                     (funcall shown ours) (funcall shown peer) ratio
                     (if target (format "<= %s" target) "-")
                     (cond ((null target) "-")
                           ((<= ratio target) "ok")
                           (t "MISS")))))

(cl-defun aqd-bench-compare (name target ours peer &key (rounds 9) with-garbage)
  "Print the row NAME for OURS and PEER, each an `aqd-bench-work'.
TARGET is as for `aqd-bench-row'.  If WITH-GARBAGE is non-nil, it is the
target of a second row, with the time for collecting garbage."
  (pcase-let ((`(,our-net ,peer-net ,our-all ,peer-all)
               (aqd-bench-rounds rounds ours peer)))
    (aqd-bench-row name our-net peer-net target)
    (when with-garbage
      (let ((aqd-bench-prefix "not saved, gc counted: "))
        (aqd-bench-row name our-all peer-all with-garbage)))))

;;;; Texts

(defun aqd-bench-line (number word is-foreign)
  "Return line NUMBER of a source-like text, in which WORD occurs.
If IS-FOREIGN is non-nil, some of the lines have other letters."
  (pcase (% number 8)
    (0 (format "fn step_%d(input: &Input) -> Result<Output> {\n" number))
    (3 (if is-foreign
           (format "    // Größe und Länge für Schritt %d: 行数と文字数 %s\n" number word)
         (format "    // Size and length of step %d, as %s says\n" number word)))
    (6 "    }\n")
    (7 "\n")
    (_ (format "    let value_%d = input.%s(%d);\n" number word (* 7 number)))))

(defun aqd-bench-texts (n-lines n-hunks &optional is-foreign)
  "Return (ORIGINAL . MODIFIED), texts of N-LINES lines with N-HUNKS changes.
They are source-like; if IS-FOREIGN is non-nil, not ASCII alone."
  (let* ((step (/ n-lines n-hunks))
         (line (lambda (number is-changed)
                 (if (and is-changed (= (% number step) (/ step 2)))
                     (format "    let changed_%d = input.compute(%d);\n" number number)
                   (aqd-bench-line number "compute" is-foreign))))
         (text (lambda (is-changed)
                 (with-temp-buffer
                   (dotimes (number n-lines)
                     (insert (funcall line number is-changed)))
                   (buffer-string)))))
    (cons (funcall text nil) (funcall text t))))

(defvar aqd-bench-directory nil
  "Directory for the files of the benchmarks.")

(defvar aqd-bench-coding 'utf-8-unix
  "The coding system of the files of the benchmarks.")

(defvar aqd-bench-extension "txt"
  "The extension of files that are edited, from which their mode follows.")

(defun aqd-bench-file (name text)
  "Write TEXT to the file NAME of the benchmarks, and return its whole name."
  (let ((file (expand-file-name name aqd-bench-directory))
        (coding-system-for-write aqd-bench-coding))
    (write-region text nil file nil 'silent)
    file))

(defun aqd-bench-name (n-lines n-hunks)
  "Return how a row says N-LINES and N-HUNKS."
  (format "%s lines, %s hunks" (aqd-bench-count n-lines) (aqd-bench-count n-hunks)))

(defun aqd-bench-count (n)
  "Return N with a comma between thousands."
  (if (< n 1000)
      (number-to-string n)
    (format "%s,%03d" (aqd-bench-count (/ n 1000)) (% n 1000))))

(provide 'aqd-bench)
;;; aqd-bench.el ends here
