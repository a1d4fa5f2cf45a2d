;;; agent-q-diff-write.el --- Replacing parts of a file  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Replaces parts of a file's live text; see agent-q-diff-live.el.  If a
;; buffer visits the file, the edit is made there.  If none does, the file
;; is written without being visited: no mode, no local variables, no hooks.
;; Either way the file is replaced as a whole or not at all.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-text)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-apply)
(require 'agent-q-diff-live)


(defun agent-q-diff-write-saves-p (live)
  "Return non-nil if an edit of LIVE is saved at once."
  (pcase-exhaustive (and (agent-q-diff-live-buffer live) agent-q-diff-save)
    ((or 'nil 'always) t)
    ('if-clean (not (agent-q-diff-live-unsaved-p live)))
    ('never nil)))

;;;; The new text

(defun agent-q-diff-write-result (live spans new)
  "Return the text of LIVE with each of SPANS replaced by NEW.
SPANS is a sorted list of disjoint (START . END), characters from 0."
  (let ((text (agent-q-diff-live-text live))
        (done 0)
        pieces)
    (pcase-dolist (`(,start . ,end) spans)
      (push (substring text done start) pieces)
      (push new pieces)
      (setq done end))
    (push (substring text done) pieces)
    (apply #'concat (nreverse pieces))))

;;;; Writing

(defun agent-q-diff-write--check-encodable (live new)
  "Refuse NEW if the coding system of LIVE cannot hold it."
  (let ((char (agent-q-diff-coding-unencodable
               0 (length new) (agent-q-diff-live-write-coding live) new)))
    (when char
      (agent-q-diff-file-refuse
       "the file's coding system %s cannot encode the character %c"
       (agent-q-diff-live-coding live) char))))

(defun agent-q-diff-write--check-writable (name)
  "Refuse the file NAME if it cannot be written or somebody else is editing it."
  (let ((holder (agent-q-diff-disk-lock-holder name)))
    (when holder
      (agent-q-diff-file-refuse "%s is locked by %s" name holder)))
  (unless (file-writable-p name)
    (agent-q-diff-file-refuse "%s cannot be written" name)))

(defun agent-q-diff-write--byte-spans (text spans)
  "Return SPANS of TEXT, counted in the bytes of its representation in memory."
  (let ((done 0)
        (n-bytes 0))
    (cl-flet ((upto (end)
                    (cl-incf n-bytes (string-bytes (substring text done end)))
                    (setq done end)
                    n-bytes))
      (if (= (length text) (string-bytes text))
          spans
        (mapcar (pcase-lambda (`(,start . ,end))
                  (cons (upto start) (upto end)))
                spans)))))

(defun agent-q-diff-write--insert-bytes (live spans new)
  "Insert the bytes of LIVE with each of SPANS replaced by NEW.
The current buffer is empty and holds bytes.  If possible, the bytes of the
rest are reused instead of encoding the whole text, which is much faster."
  (let ((coding (agent-q-diff-live-write-coding live)))
    (if (agent-q-diff-live-utf-8-p live)
        (let ((new-bytes (encode-coding-string new coding)))
          (insert (agent-q-diff-live-bytes live))
          (pcase-dolist (`(,start . ,end)
                         (reverse (agent-q-diff-write--byte-spans
                                   (agent-q-diff-live-text live) spans)))
            (delete-region (1+ start) (1+ end))
            (goto-char (1+ start))
            (insert new-bytes)))
      (insert (agent-q-diff-coding-encode (agent-q-diff-write-result live spans new)
                                          coding)))))

(defun agent-q-diff-write--to-file (live spans new check)
  "Replace SPANS by NEW in the file of LIVE.
CHECK and the value are as for `agent-q-diff-write'."
  (agent-q-diff-write--check-encodable live new)
  (let ((name (agent-q-diff-live-name live))
        (is-written nil))
    (agent-q-diff-write--check-writable name)
    (agent-q-diff-base-with-work-buffer
      (set-buffer-multibyte nil)
      (agent-q-diff-write--insert-bytes live spans new)
      (let ((inhibit-quit t))
        (condition-case nil
            (let ((inhibit-quit nil))
              (agent-q-diff-file-replace (file name)
                (progn
                  (agent-q-diff-file-put nil 'no-conversion file)
                  (when (agent-q-diff-live-utf-8-p live)
                    (setf (agent-q-diff-live-written live)
                          (agent-q-diff-live-identity file))))
                (progn
                  (funcall check)
                  (unless (agent-q-diff-file-has-bytes-p name (agent-q-diff-live-bytes live))
                    (agent-q-diff-file-refuse "%s was changed meanwhile" name)))
                (setq is-written t)))
          (quit (unless is-written (signal 'quit nil))))
        ;; Too late to quit: the file is written, and the caller must learn that.
        (setq quit-flag nil)))
    (list :saved t)))

(defun agent-q-diff-write--to-buffer (live spans new check)
  "Replace SPANS by NEW in the buffer of LIVE; save it if it is to be saved.
CHECK and the value are as for `agent-q-diff-write'."
  (let ((buffer (agent-q-diff-live-buffer live))
        (is-saving (agent-q-diff-write-saves-p live)))
    (funcall check)
    (let ((tick (agent-q-diff-apply-replacement buffer spans new is-saving check)))
      (list :saved (and is-saving (agent-q-diff-disk-written-p buffer))
            :altered (/= tick (agent-q-diff-base-tick buffer))))))

(defun agent-q-diff-write (live spans new check)
  "Replace each of SPANS of LIVE by NEW, and write the result.
SPANS is a sorted list of disjoint (START . END), characters of the text
of LIVE from 0.  CHECK is a function that is called just before writing and
signals an error if the file must not be written after all.

Return a plist: :saved is non-nil if the change is in the file, :altered
is non-nil if saving changed more than that, as hooks may.  If anything
fails, signal an error; then text and file are as they were."
  (agent-q-diff-file-uncached
    (if (agent-q-diff-live-buffer live)
        (agent-q-diff-write--to-buffer live spans new check)
      (agent-q-diff-write--to-file live spans new check))))

(provide 'agent-q-diff-write)
;;; agent-q-diff-write.el ends here
