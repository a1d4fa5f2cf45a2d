;;; agent-q-diff-taken-out.el --- Lists what was taken out of files, and brings it back  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Before a review of what was written already takes something out of a file,
;; what the file holds is stored, for 30 days.  The list has an entry for each
;; such step.  A file that is still as it was left then gets its bytes back.
;; If it has changed since, a review proposes the lines that were taken out.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-engine)
(require 'agent-q-diff-views)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-guard)
(require 'agent-q-diff-session)
(require 'agent-q-diff-api)
(require 'agent-q-diff-pending)

(cl-defstruct (agent-q-diff-taken-out-entry (:type vector) (:constructor nil) (:copier nil))
  "An entry of `agent-q-diff-module-taken-out'."
  path time had left n-lines line)

(defvar-local agent-q-diff-taken-out--texts nil
  "The folder with the texts of this list.")

;;; The list

(defun agent-q-diff-taken-out--read (directory)
  "Return what was taken out in the project of DIRECTORY: (ROOT TEXTS ENTRIES)."
  (pcase-let ((`[,root ,texts ,entries]
               (agent-q-diff-engine-call #'agent-q-diff-module-taken-out
                                          (expand-file-name directory))))
    (list (file-name-as-directory root) texts entries)))

(defun agent-q-diff-taken-out--when (entry)
  "Return when ENTRY was taken out, as a string."
  (format-time-string "%Y-%m-%d %H:%M" (agent-q-diff-taken-out-entry-time entry)))

(defun agent-q-diff-taken-out--name (entry)
  "Return the name of the file of ENTRY, to be shown."
  (agent-q-diff-visible-name
   (agent-q-diff-engine-text (agent-q-diff-taken-out-entry-path entry))))

(defun agent-q-diff-taken-out--agent (entry turns)
  "Return the agent that wrote what ENTRY took out, or nil if that cannot be told.
It can if all TURNS that began until then and wrote the file were of one agent."
  (let ((agents (cl-loop for turn in turns
                         for paths = (agent-q-diff-turn-paths turn)
                         when (and (listp paths)
                                   (member (agent-q-diff-taken-out-entry-path entry) paths)
                                   (<= (agent-q-diff-turn-time turn)
                                       (agent-q-diff-taken-out-entry-time entry)))
                         collect (agent-q-diff-turn-agent turn))))
    (and agents
         (null (cdr (seq-uniq agents)))
         (car agents))))

(defun agent-q-diff-taken-out--amount (entry)
  "Return how much was taken out in ENTRY, as a string."
  (let ((n (agent-q-diff-taken-out-entry-n-lines entry)))
    (cond
     (n (format (ngettext "-%d line" "-%d lines" n) n))
     ((= agent-q-diff-reviewed-link (car (agent-q-diff-taken-out-entry-had entry))) "link")
     (t "binary"))))

(defun agent-q-diff-taken-out--rows ()
  "Return the rows of the list of this buffer's project."
  (pcase-let ((`(,_ ,texts ,entries) (agent-q-diff-taken-out--read default-directory))
              (turns (agent-q-diff-engine-call #'agent-q-diff-module-turns default-directory)))
    (setq agent-q-diff-taken-out--texts texts)
    (mapcar (lambda (entry)
              (list entry
                    (agent-q-diff-taken-out--when entry)
                    (agent-q-diff-taken-out--agent entry turns)
                    (agent-q-diff-taken-out--name entry)
                    (agent-q-diff-taken-out--amount entry)
                    (string-trim-right
                     (agent-q-diff-engine-text (or (agent-q-diff-taken-out-entry-line entry) ""))
                     "[\r\n]+")))
            entries)))

;;; What a file held, and holds

(defun agent-q-diff-taken-out--path (entry)
  "Return the absolute name of the file of ENTRY."
  (agent-q-diff-file-named (agent-q-diff-engine-text (agent-q-diff-taken-out-entry-path entry))
                           default-directory))

(defun agent-q-diff-taken-out--had (entry)
  "Return (MODE . BYTES), what the file of ENTRY held."
  (agent-q-diff-taken-out--state (agent-q-diff-taken-out-entry-had entry)))

(defun agent-q-diff-taken-out--state (version)
  "Return (MODE . BYTES) for VERSION, a (MODE . TEXT)."
  (cons (car version)
        (agent-q-diff-pending-bytes agent-q-diff-taken-out--texts (cdr version))))

(defun agent-q-diff-taken-out--left (entry)
  "Return (MODE . BYTES), what the file of ENTRY held after that.
Return nil if that is not known."
  (when-let ((left (agent-q-diff-taken-out-entry-left entry)))
    (agent-q-diff-taken-out--state left)))

(defun agent-q-diff-taken-out--check-text (entry &rest states)
  "Signal an error unless ENTRY and STATES, each (MODE . BYTES), are text."
  (unless (and (agent-q-diff-taken-out-entry-n-lines entry)
               (seq-every-p (pcase-lambda (`(,mode . ,bytes))
                              (and (/= mode agent-q-diff-reviewed-link)
                                   (agent-q-diff-pending-text-p bytes)))
                            states))
    (user-error "%s is not text; what it held is in %s"
                (agent-q-diff-taken-out--name entry)
                (agent-q-diff-visible-name
                 (abbreviate-file-name
                  (expand-file-name (cdr (agent-q-diff-taken-out-entry-had entry))
                                    agent-q-diff-taken-out--texts))))))

;;; The difference

(defconst agent-q-diff-taken-out--diff-name "*agent-q-diff taken out: difference*"
  "Name of the buffer that shows what was taken out.")

(defun agent-q-diff-taken-out-diff ()
  "Show what was taken out in the step at point, as a diff."
  (interactive nil agent-q-diff-taken-out-mode)
  (let* ((entry (agent-q-diff-views-here))
         (path (agent-q-diff-taken-out--path entry))
         (had (agent-q-diff-taken-out--had entry))
         (left (or (agent-q-diff-taken-out--left entry)
                   (agent-q-diff-reviewed-state path)))
         (root default-directory))
    (agent-q-diff-taken-out--check-text entry had left)
    (let ((diff (agent-q-diff-taken-out--diff
                 (agent-q-diff-pending-decoded (cdr had) path)
                 (agent-q-diff-pending-decoded (cdr left) path)
                 (let ((name (file-relative-name path root)))
                   ;; Commands of `diff-mode' expand it.
                   (if (string-prefix-p "~" name) path name)))))
      (with-current-buffer (get-buffer-create agent-q-diff-taken-out--diff-name)
        (let ((inhibit-read-only t))
          (erase-buffer)
          (insert diff))
        (diff-mode)
        (setq default-directory root
              buffer-read-only t)
        (set-buffer-modified-p nil)
        (goto-char (point-min))
        (display-buffer (current-buffer))))))

(defun agent-q-diff-taken-out--diff (had left name)
  "Return a unified diff of the text HAD to LEFT, of the file NAME."
  (condition-case nil
      (let ((engine (agent-q-diff-engine-review had left)))
        (unwind-protect
            (car (agent-q-diff-engine-print engine name))
          (agent-q-diff-module-free engine)))
    (agent-q-diff-identical
     (user-error "Only the encoding or the line ends of %s differ"
                 (agent-q-diff-visible-name name)))))

;;; Bringing it back

(defun agent-q-diff-taken-out-bring-back ()
  "Bring back what was taken out in the step at point.
If the file is still as that step left it, it gets the bytes back that it
had.  If it has changed since, begin a review that proposes to put the lines
back that were taken out."
  (interactive nil agent-q-diff-taken-out-mode)
  (let* ((entry (agent-q-diff-views-here))
         (path (agent-q-diff-taken-out--path entry))
         (had (agent-q-diff-taken-out--had entry))
         (left (agent-q-diff-taken-out--left entry)))
    (agent-q-diff-taken-out--check-file path)
    (let ((now (agent-q-diff-reviewed-state path)))
      (cond
       ((equal now had)
        (user-error "%s is already as it was then" (agent-q-diff-taken-out--name entry)))
       ((equal now left)
        (agent-q-diff-taken-out--restore path now had)
        (revert-buffer)
        (message "%s is as it was before %s again" (agent-q-diff-taken-out--name entry)
                 (agent-q-diff-taken-out--when entry)))
       (t (agent-q-diff-taken-out--propose entry path (or left now) now had))))))

(defun agent-q-diff-taken-out--check-file (path)
  "Signal an error if the file PATH must not be written now."
  (let ((buffer (find-buffer-visiting path)))
    (when buffer
      (when (agent-q-diff-disk-unsaved-p buffer)
        (user-error "%s has unsaved edits; save it first" (buffer-name buffer)))
      (when-let ((message (agent-q-diff-disk-message buffer (agent-q-diff-disk-sync buffer))))
        (user-error "%s" (agent-q-diff-visible message))))
    (condition-case err
        (agent-q-diff-guard-check-inside path default-directory)
      (agent-q-diff-error (user-error "%s" (agent-q-diff-error-text err))))))

(defun agent-q-diff-taken-out--restore (path now had)
  "Replace NOW, the content of the file PATH, by what it HAD.
Both are (MODE . BYTES).  NOW can be brought back, too."
  (agent-q-diff-guard-check-inside path default-directory)
  (pcase-let ((`(,prepared) (agent-q-diff-reviewed-prepare default-directory (list path)))
              (`(,mode . ,bytes) had))
    (cond
     ((= mode agent-q-diff-reviewed-link)
      (make-directory (file-name-directory path) t)
      (make-symbolic-link (decode-coding-string bytes 'utf-8-emacs-unix) path t))
     (t (when (= (car now) agent-q-diff-reviewed-link)
          (delete-file path))
        (make-directory (file-name-directory path) t)
        (agent-q-diff-file-write-bytes path bytes)
        (unless (= mode (car (agent-q-diff-reviewed-state path)))
          (set-file-modes path (if (= mode #o100755)
                                   (agent-q-diff-file-executable-modes (file-modes path))
                                 (logand (file-modes path) (lognot #o111)))))))
    (when-let ((buffer (find-buffer-visiting path)))
      (agent-q-diff-disk-sync buffer))
    (agent-q-diff-engine-call
     #'agent-q-diff-module-record
     (list (agent-q-diff-reviewed-changed prepared default-directory path)))))

(defun agent-q-diff-taken-out--propose (entry path left now had)
  "Begin a review that proposes the lines of ENTRY, taken out of PATH.
LEFT, NOW and HAD are what the file held after that, what it holds now and
what it had, each (MODE . BYTES)."
  (agent-q-diff-taken-out--check-text entry left now had)
  (pcase-let* ((mode (car had))
               (`(,left ,now-text ,had)
                (mapcar (lambda (state)
                          (agent-q-diff-pending-decoded (cdr state) path))
                        (list left now had)))
               (merged (agent-q-diff-engine-text
                        (cdr (agent-q-diff-engine-call #'agent-q-diff-module-merge-texts
                                                       left now-text had t))))
               (agent-q-diff-call (agent-q-diff-call-with 'is-by-user t)))
    (when (equal merged now-text)
      (user-error "%s has these lines already" (agent-q-diff-taken-out--name entry)))
    (let ((review (agent-q-diff-review-change
                   (list (if (= 0 (car now))
                             (list :path path :content had :mode (logand #o777 mode))
                           (list :path path :original now-text :modified merged)))
                   (format "What was taken out at %s" (agent-q-diff-taken-out--when entry))
                   nil)))
      (if (agent-q-diff-session-outcome review)
          (user-error "%s" (agent-q-diff-visible
                            (plist-get (agent-q-diff-session-result review) :reason)))
        (pop-to-buffer (agent-q-diff-session-buffer review))
        (message "%s has changed since; this proposes what was taken out"
                 (agent-q-diff-taken-out--name entry))))))

;;; Commands

(agent-q-diff-views-define agent-q-diff-taken-out-mode "Taken out"
  "Major mode of the list of what was taken out of files."
  :item "step"
  :columns '(("When" 16 t) ("Agent" 11 t) ("File" 24 t :end t) ("Taken out" 9 nil)
             ("First line" 0 nil))
  :rows #'agent-q-diff-taken-out--rows
  :keys '(("\r" . agent-q-diff-taken-out-diff)
          ("b" . agent-q-diff-taken-out-bring-back)))

;;;###autoload
(defun agent-q-diff-taken-out (&optional directory)
  "List what reviews took out of files of a project in the last 30 days.
It is the project that DIRECTORY, or else the current one, is in.  Whatever
is listed can be brought back."
  (interactive)
  (pcase-let ((`(,root ,_ ,entries)
               (agent-q-diff-taken-out--read (or directory default-directory))))
    (if entries
        (agent-q-diff-views-show "*agent-q-diff taken out*" #'agent-q-diff-taken-out-mode root)
      (message "Nothing was taken out of files in %s in the last 30 days"
               (agent-q-diff-visible-name (abbreviate-file-name root))))))

(provide 'agent-q-diff-taken-out)
;;; agent-q-diff-taken-out.el ends here
