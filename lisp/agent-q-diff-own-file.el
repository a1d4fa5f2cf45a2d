;;; agent-q-diff-own-file.el --- A file that an agent's own tool patches  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One file of a patch that an agent's own tool is about to apply: what the
;; program agent-q-diff says about it, what was decided, and whether the file on
;; disk is so.  The program passes a hash table:
;;
;; path, to        its absolute name, and its new one, if it gets one
;; original        its text, missing if it is new
;; modified        its text after, missing if it is to be deleted
;; encoding_before, encoding
;;                 how the file is encoded, and how it is to be
;; crlf            whether the lines of both texts end with CRLF in the file

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-file)
(require 'agent-q-diff-disk)
(require 'agent-q-diff-own-agent)

(cl-defstruct (agent-q-diff-own-file (:constructor agent-q-diff-own-file-create)
                                     (:copier nil))
  "A file that an agent's own tool is about to patch, and what was decided."
  (path nil :documentation "Its absolute name.")
  (to nil :documentation "Its new name, or nil.")
  (original nil :documentation "Its text before, or nil if it is new.")
  (modified nil :documentation "Its text after, or nil if it is to be deleted.")
  (encoding-before nil :documentation "How it is encoded, a string or nil.")
  (encoding nil :documentation "How it is to be encoded, a string or nil.")
  (is-crlf nil :documentation "Non-nil if the lines in the file end with CRLF.")
  (check nil :documentation "Function that signals an error if the file must not be written.")
  (text nil :documentation "The text that it is to have, or nil if there is to be no file.")
  (is-renamed nil :documentation "Non-nil if it is to get its new name."))

;;;; What is proposed

(defun agent-q-diff-own-file-of (file)
  "Return the `agent-q-diff-own-file' in FILE, a hash table.
It is to become as the patch says."
  (let ((modified (gethash "modified" file))
        (to (gethash "to" file)))
    (agent-q-diff-own-file-create
     :path (gethash "path" file) :to to
     :original (gethash "original" file) :modified modified
     :encoding-before (gethash "encoding_before" file) :encoding (gethash "encoding" file)
     :is-crlf (eq t (gethash "crlf" file))
     :text modified :is-renamed (and to t))))

(defun agent-q-diff-own-file-changes-p (file)
  "Return non-nil if the patch would change FILE."
  (or (agent-q-diff-own-file-to file)
      (not (equal (agent-q-diff-own-file-original file)
                  (agent-q-diff-own-file-modified file)))))

(defun agent-q-diff-own-file-whole-p (file)
  "Return non-nil if all that was proposed for FILE was accepted."
  (and (equal (agent-q-diff-own-file-text file) (agent-q-diff-own-file-modified file))
       (eq (null (agent-q-diff-own-file-to file))
           (null (agent-q-diff-own-file-is-renamed file)))))

(defun agent-q-diff-own-file-proposal (file text to)
  "Return what `agent-q-diff-review-change' takes for FILE.
FILE is to have TEXT, or to be deleted if that is nil, and the name TO, or
its present one if that is nil."
  (let ((original (agent-q-diff-own-file-original file)))
    (append (list :path (agent-q-diff-own-file-path file)
                  :check (agent-q-diff-own-file-check file))
            (and to (list :to to))
            (cond
             ((null original) (list :content text))
             ((null text) (list :delete t :original original))
             ((not (equal original text)) (list :original original :modified text))))))

;;;; What was decided

(defun agent-q-diff-own-file-note-decision (file result)
  "Record in FILE what was decided about it; RESULT is the file's result."
  (let ((original (agent-q-diff-own-file-original file))
        (modified (agent-q-diff-own-file-modified file)))
    (cl-flet ((is-in (operation)
                (seq-some (lambda (hunk)
                            (and (eq operation (plist-get hunk :operation))
                                 (plist-get hunk :in-file)))
                          (plist-get result :hunks))))
      (setf (agent-q-diff-own-file-is-renamed file) (is-in 'rename)
            (agent-q-diff-own-file-text file)
            (cond
             ((null original) (and (< 0 (plist-get result :in-file))
                                   (or (plist-get result :content) "")))
             ((null modified) (if (is-in 'delete) nil original))
             (t (or (plist-get result :content) original)))))))

(defun agent-q-diff-own-file-clean-p (file)
  "Return non-nil if FILE is to have no text that cannot be sent to the program."
  (let ((text (or (agent-q-diff-own-file-text file) "")))
    (equal text (agent-q-diff-base-clean text))))

(defun agent-q-diff-own-file-verdict (file)
  "Return what the program is told about FILE, an alist."
  (let ((text (agent-q-diff-own-file-text file)))
    `((there . ,(if text t :false))
      (renamed . ,(if (agent-q-diff-own-file-is-renamed file) t :false))
      ,@(and text
             (not (equal text (agent-q-diff-own-file-original file)))
             `((text . ,text))))))

;;;; What is on disk

(defun agent-q-diff-own-file-as-before-p (file)
  "Return non-nil if FILE on disk is as it was before the user decided."
  (let ((to (agent-q-diff-own-file-to file)))
    (and (not (and to (file-exists-p to)))
         (agent-q-diff-own-file--has-p file (agent-q-diff-own-file-path file)
                                       (agent-q-diff-own-file-original file)))))

(defun agent-q-diff-own-file-as-decided-p (file)
  "Return non-nil if FILE on disk is what was decided."
  (let* ((path (agent-q-diff-own-file-path file))
         (to (agent-q-diff-own-file-to file))
         (is-renamed (agent-q-diff-own-file-is-renamed file))
         (other (if is-renamed path to)))
    (and (not (and other (file-exists-p other)))
         (agent-q-diff-own-file--has-p file (if is-renamed to path)
                                       (agent-q-diff-own-file-text file)))))

(defun agent-q-diff-own-file--has-p (file name text)
  "Return non-nil if FILE, which is called NAME now, has TEXT.
If TEXT is nil, return non-nil if there is no such file."
  (if text
      (and (agent-q-diff-file-regular-p name)
           (agent-q-diff-file-has-bytes-p name (agent-q-diff-own-file--bytes file text)))
    (not (file-exists-p name))))

(defun agent-q-diff-own-file-name (file)
  "Return the name that FILE is to have."
  (if (agent-q-diff-own-file-is-renamed file)
      (agent-q-diff-own-file-to file)
    (agent-q-diff-own-file-path file)))

(defun agent-q-diff-own-file-text-on-disk (file)
  "Return the text of FILE on disk, which has the name that it is to have, or nil."
  (let ((name (agent-q-diff-own-file-name file))
        (coding-system-for-read 'utf-8-auto-unix))
    (when (agent-q-diff-file-regular-p name)
      (with-temp-buffer
        (insert-file-contents name)
        (buffer-string)))))

(defun agent-q-diff-own-file-difference (file)
  "Return what is known about FILE, which is not what was decided.
The value is as from `agent-q-diff-own-agent-difference'.  A file that is
where none was to be, or is not where one was, was not reformatted."
  (let ((other (if (agent-q-diff-own-file-is-renamed file)
                   (agent-q-diff-own-file-path file)
                 (agent-q-diff-own-file-to file))))
    (if (and other (file-exists-p other))
        'wrong
      (agent-q-diff-own-agent-difference
       :text (agent-q-diff-own-file-text-on-disk file)
       :original (agent-q-diff-own-file-original file)
       :decided (agent-q-diff-own-file-text file)
       :proposed (agent-q-diff-own-file-modified file)))))

(defun agent-q-diff-own-file--bytes (file text)
  "Return the bytes of FILE if it has TEXT."
  (let ((is-as-before (equal text (agent-q-diff-own-file-original file))))
    (concat (if (equal "utf-8 with BOM"
                       (if is-as-before
                           (agent-q-diff-own-file-encoding-before file)
                         (agent-q-diff-own-file-encoding file)))
                "\xef\xbb\xbf"
              "")
            (encode-coding-string (if (agent-q-diff-own-file-is-crlf file)
                                      (string-replace "\n" "\r\n" text)
                                    text)
                                  'utf-8-unix))))

(defun agent-q-diff-own-file-follow (file)
  "Let a buffer without unsaved edits that visits FILE follow it, and its new name."
  (when-let ((buffer (find-buffer-visiting (agent-q-diff-own-file-path file))))
    (unless (agent-q-diff-disk-unsaved-p buffer)
      (when (agent-q-diff-own-file-is-renamed file)
        (with-current-buffer buffer
          (set-visited-file-name (agent-q-diff-own-file-to file) t t)
          (set-buffer-modified-p nil)))
      (agent-q-diff-disk-sync buffer))))

(provide 'agent-q-diff-own-file)
;;; agent-q-diff-own-file.el ends here
