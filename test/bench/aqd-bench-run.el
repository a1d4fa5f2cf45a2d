;;; aqd-bench-run.el --- Run the benchmarks of the Lisp side  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `test/bench/run' starts an Emacs in a terminal with this file, and says
;; in the environment what is to be done.

;;; Code:

(require 'aqd-bench)
(require 'aqd-bench-review)
(require 'aqd-bench-file)
(require 'aqd-bench-felt)
(require 'aqd-bench-several)
(require 'aqd-bench-large)
(require 'aqd-bench-own-tool)
(require 'aqd-bench-after)

(defconst aqd-bench-sections
  '((felt-accepting . aqd-bench-felt-accepting)
    (felt-coding . aqd-bench-felt-coding)
    (felt-opening . aqd-bench-felt-opening)
    (felt-replacing . aqd-bench-felt-replacing)
    (felt-typing . aqd-bench-felt-typing)
    (felt-editing . aqd-bench-felt-editing)
    (felt-mcp . aqd-bench-felt-mcp)
    (felt-paging . aqd-bench-felt-paging)
    (felt-first-use . aqd-bench-felt-first-use)
    (felt-several . aqd-bench-several)
    (felt-large . aqd-bench-large)
    (felt-rules . aqd-bench-rules)
    (felt-side . aqd-bench-side)
    (felt-own-tool . aqd-bench-own-tool)
    (felt-after . aqd-bench-after)
    (text . aqd-bench-diff-text)
    (opening . aqd-bench-opening)
    (accepting . aqd-bench-accepting)
    (keys . aqd-bench-keys)
    (growth . aqd-bench-growth)
    (many . aqd-bench-many)
    (outside . aqd-bench-outside)
    (edit-file . aqd-bench-edit-file)
    (memory . aqd-bench-memory)
    (start . aqd-bench-start))
  "What is measured, by name.")

(defun aqd-bench--section (name)
  "Measure the section NAME, and print an error if there is one.
In the sections named felt, the settings are those that a user begins with."
  (condition-case err
      (let ((measure (or (alist-get name aqd-bench-sections)
                         (error "There is no such section; see `aqd-bench-sections'"))))
        (cond
         ((string-prefix-p "felt-" (symbol-name name))
          (aqd-bench-felt--as-user (funcall measure)))
         ((memq name '(memory start)) (funcall measure))
         (t (let ((aqd-bench-prefix "not saved, gc apart: "))
              (funcall measure)))))
    (error (aqd-bench-print "ERROR\t%s\t%s" name (error-message-string err)))))

(defun aqd-bench--no-question (prompt &rest _)
  "Signal that PROMPT was asked: nobody is there to answer."
  (error "Asked: %s" prompt))

(defun aqd-bench-run ()
  "Measure what AQD_BENCH_SECTIONS names, or everything, and leave Emacs.
AQD_BENCH_OUTPUT is where rows go, AQD_BENCH_QUICK non-empty if little
time is to be taken."
  (let* ((wanted (split-string (or (getenv "AQD_BENCH_SECTIONS") "")))
         (make-backup-files nil)
         (create-lockfiles nil)
         (auto-save-default nil)
         (large-file-warning-threshold nil)
         (agent-q-diff-save 'never)
         (aqd-bench-output (getenv "AQD_BENCH_OUTPUT"))
         (aqd-bench-quick (not (equal "" (or (getenv "AQD_BENCH_QUICK") ""))))
         (aqd-bench-directory (file-name-as-directory
                               (make-temp-file "agent-q-diff-bench" t)))
         (default-directory aqd-bench-directory))
    (dolist (question '(y-or-n-p yes-or-no-p read-string ask-user-about-supersession-threat))
      (advice-add question :override #'aqd-bench--no-question))
    (unwind-protect
        (dolist (name (if wanted
                          (mapcar #'intern wanted)
                        (mapcar #'car aqd-bench-sections)))
          (aqd-bench--section name))
      (delete-directory aqd-bench-directory t)
      (let ((kill-emacs-query-functions nil)
            (kill-emacs-hook nil))
        (dolist (buffer (buffer-list))
          (with-current-buffer buffer
            (set-buffer-modified-p nil)))
        (kill-emacs)))))

(provide 'aqd-bench-run)
;;; aqd-bench-run.el ends here
