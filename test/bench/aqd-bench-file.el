;;; aqd-bench-file.el --- Speed of exact edits, memory, and start  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What does not take a screen: the tool `edit_file', the memory of the
;; process after many reviews, and loading the package.

;;; Code:

(require 'aqd-bench)
(require 'agent-q-diff-tools)

(defun aqd-bench--big-text (is-foreign)
  "Return a source-like text of 10 MB; if IS-FOREIGN, not ASCII alone."
  (car (aqd-bench-texts 330000 1 is-foreign)))

(defun aqd-bench--our-edit (file)
  "Return a work that edits FILE as an agent does, and back."
  (let ((words '("value_160001 = " . "value_160001 := ")))
    (aqd-bench-work
     :run (lambda ()
            (let ((answer (agent-q-diff-tools-call
                           "edit_file" (list :path file :old_str (car words)
                                             :new_str (cdr words)))))
              (unless (string-prefix-p "✓ Edit applied" answer)
                (error "Not edited: %s" answer)))
            (setq words (cons (cdr words) (car words)))))))

(defun aqd-bench--peer-edit (file)
  "Return a work that reads and writes FILE."
  (aqd-bench-work
   :run (lambda ()
          (with-temp-buffer
            (insert-file-contents file)
            (write-region nil nil file nil 'silent)))))

(defun aqd-bench-edit-file ()
  "Measure an exact replacement in a big file."
  (let ((agent-q-diff-project-root aqd-bench-directory)
        (agent-q-diff-log-file (expand-file-name "log" aqd-bench-directory))
        (agent-q-diff-tools-policy 'allow))
    (dolist (is-foreign '(nil t))
      (let* ((text (aqd-bench--big-text is-foreign))
             (ours (aqd-bench-file "big.txt" text))
             (peers (aqd-bench-file "big-peer.txt" text))
             (name (format "edit_file in 10 MB%s" (if is-foreign ", not ASCII" ""))))
        (aqd-bench-compare (concat name " : reading and writing it") 2
                           (aqd-bench--our-edit ours) (aqd-bench--peer-edit peers))
        (let ((buffer (find-file-noselect ours)))
          (aqd-bench-compare (concat name ", visited : reading and writing it") nil
                             (aqd-bench--our-edit ours) (aqd-bench--peer-edit peers)
                             :rounds 5)
          (with-current-buffer buffer
            (set-buffer-modified-p nil))
          (kill-buffer buffer))))))

;;;; Memory

(defun aqd-bench--resident ()
  "Return how many bytes of memory this process has."
  (garbage-collect)
  (with-temp-buffer
    (insert-file-contents "/proc/self/status")
    (re-search-forward "^VmRSS:[ \t]*\\([0-9]+\\) kB")
    (* 1024 (string-to-number (match-string 1)))))

(defun aqd-bench--review-once (file texts)
  "Review FILE with TEXTS: accept a hunk, take it out, and cancel."
  (let ((review (agent-q-diff-review file (car texts) (cdr texts) "" nil)))
    (agent-q-diff-accept review 0)
    (agent-q-diff-unapply review 0)
    (agent-q-diff-cancel review)))

(defun aqd-bench-memory ()
  "Measure whether memory that reviews take is given back."
  (pcase-let* ((`(,few ,many) (if aqd-bench-quick '(5 25) '(20 200)))
               (texts (aqd-bench-texts 330000 1000))
               (file (aqd-bench-file "memory.txt" (car texts)))
               (agent-q-diff-save 'never)
               (buffer (find-file-noselect file))
               (resident nil))
    (dotimes (step many)
      (aqd-bench--review-once file texts)
      (when (memq (1+ step) (list few many))
        (push (aqd-bench--resident) resident)))
    (with-current-buffer buffer
      (set-buffer-modified-p nil))
    (kill-buffer buffer)
    (aqd-bench-row (format "memory after %d reviews of 10 MB : after %d" many few)
                   (car resident) (cadr resident) 1.05 #'aqd-bench-bytes)))

;;;; Start

(defun aqd-bench--loading (feature)
  "Return how long FEATURE takes to load in a fresh Emacs, in seconds."
  (let ((form `(let ((begin (current-time)))
                 (require ',feature)
                 (princ (float-time (time-since begin))))))
    (with-temp-buffer
      (apply #'call-process (expand-file-name invocation-name invocation-directory)
             nil '(t nil) nil "-Q" "--batch"
             (append (mapcan (lambda (directory) (list "-L" directory))
                             (list (file-name-directory
                                    (locate-library "agent-q-diff"))))
                     (list "--eval" (prin1-to-string form))))
      (string-to-number (buffer-string)))))

(defun aqd-bench-start ()
  "Measure loading the package."
  (let (ours peer)
    (dotimes (_ (if aqd-bench-quick 11 31))
      (push (aqd-bench--loading 'agent-q-diff) ours)
      (push (aqd-bench--loading 'diff-mode) peer))
    (aqd-bench-row "(require 'agent-q-diff) : (require 'diff-mode)"
                   (aqd-bench-median ours) (aqd-bench-median peer) 1.2)))

(provide 'aqd-bench-file)
;;; aqd-bench-file.el ends here
