;;; agent-q-diff-inside.el --- The Emacs under test  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Loaded into the Emacs that agent-q-diff-tmux.el starts in a terminal.  It
;; plays the caller: it asks for a review when told to, from a command, from
;; a process filter as SLY does, or from a timer, and writes down what it was
;; answered.
;;
;; A new file in the folder of probes makes it evaluate the form in it.  Emacs
;; handles that as a special event, deep in the reading of a key and without
;; running a command, so that looking at the state does not change it.  A signal
;; would be such an event, too, but one that comes while Emacs writes to its
;; terminal makes it lose what it writes.

;;; Code:

(require 'filenotify)
(require 'seq)
(require 'sly-agent-q-diff)
(require 'agent-q-diff-tools)

(defconst inside-folder (file-name-as-directory (getenv "AGENT_Q_DIFF_E2E"))
  "Folder of the files that are exchanged with the test.")

(defun inside-file (name)
  "Return the name of the exchanged file NAME."
  (expand-file-name name inside-folder))

(defun inside-read (name)
  "Return the form in the exchanged file NAME."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8))
      (insert-file-contents (inside-file name)))
    (read (current-buffer))))

(defun inside-write (form name append)
  "Write FORM as a line into the exchanged file NAME; APPEND keeps the others."
  (let ((coding-system-for-write 'utf-8)
        (print-escape-newlines t)
        (print-length nil)
        (print-level nil))
    (write-region (concat (prin1-to-string form) "\n") nil (inside-file name)
                  append 'silent)))

;;;; The caller

(defun inside-call (tag form)
  "Evaluate FORM and write down under TAG what the caller gets.
This is how SLY evaluates for Lisp: an answer is sent in any case."
  (let ((answer '(:abort)))
    (unwind-protect
        (condition-case err
            (setq answer (list :ok (eval form t)))
          (error (setq answer (cons :error err))))
      (inside-write (cons tag answer) "answers" t))))

(defun inside-call-by-key ()
  "Evaluate the call that the test has put down."
  (interactive)
  (apply #'inside-call (inside-read "call")))

(defun inside-filter (process output)
  "Evaluate the calls in OUTPUT of PROCESS, a line each."
  (process-put process 'text (concat (process-get process 'text) output))
  (while (string-match "\n" (process-get process 'text))
    (let ((line (substring (process-get process 'text) 0 (match-beginning 0))))
      (process-put process 'text
                   (substring (process-get process 'text) (match-end 0)))
      (apply #'inside-call (read line)))))

(defvar inside-process
  (make-process :name "lisp" :command '("cat") :connection-type 'pipe
                :coding 'utf-8 :noquery t :filter #'inside-filter)
  "Process that plays the Common Lisp.")

(defun inside-call-by-filter ()
  "Have the call that the test has put down made by a process filter."
  (let ((print-escape-newlines t))
    (process-send-string inside-process
                         (concat (prin1-to-string (inside-read "call")) "\n"))))

(defun inside-call-by-timer ()
  "Have the call that the test has put down made by a timer."
  (apply #'run-at-time 0 nil #'inside-call (inside-read "call")))

;;;; Looking at the state

(defvar inside-last-probe 0
  "Number of the last form that was evaluated.")

(defun inside-probe (&rest _)
  "Evaluate the form that the test has put down, and write down its value.
Do it once, however often the test asks."
  (pcase-let ((`(,number ,form) (inside-read "probes/probe")))
    (unless (= number inside-last-probe)
      (setq inside-last-probe number)
      (let ((value (condition-case err
                       (list :ok (save-current-buffer (eval form t)))
                     (error (cons :error err)))))
        (inside-write (cons number value) "value-new" nil)
        (rename-file (inside-file "value-new") (inside-file "value") t)))))

(defun inside-window ()
  "Return what the selected window shows."
  (list (window-edges) (buffer-name (window-buffer)) (window-point)))

(defun inside-hook (hook)
  "Return the global functions on HOOK.
Without those that Emacs's global modes add whenever a mode changes, and
that remove themselves after the next command."
  (seq-remove (lambda (function)
                (string-suffix-p "-check-buffers" (symbol-name function)))
              (default-value hook)))

(defun inside-state ()
  "Return what a review must leave as it was."
  (list :depth (recursion-depth)
        :minibuffers (minibuffer-depth)
        :windows (mapcar (lambda (window)
                           (with-selected-window window (inside-window)))
                         (window-list nil nil (frame-first-window)))
        :selected (inside-window)
        :pre-command-hook (inside-hook 'pre-command-hook)
        :post-command-hook (inside-hook 'post-command-hook)
        :waiting agent-q-diff-reviews-waiting
        :wake (lookup-key global-map [agent-q-diff-wake])
        :events unread-command-events))

;;;; Set-up

(defun inside-start ()
  "Lay out two windows with buffers of the user's, and say that we are there."
  (find-file (inside-file "notes"))
  (split-window-below)
  (other-window 1)
  (switch-to-buffer "*scratch*")
  (inside-write (emacs-pid) "value" nil))

(setq inhibit-startup-screen t
      agent-q-diff-grace 0
      initial-scratch-message nil
      make-backup-files nil
      auto-save-default nil)
(file-notify-add-watch (inside-file "probes") '(change) #'inside-probe)
(global-set-key (kbd "<f5>") #'inside-call-by-key)
(add-hook 'emacs-startup-hook #'inside-start)

;;; agent-q-diff-inside.el ends here
