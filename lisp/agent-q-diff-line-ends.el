;;; agent-q-diff-line-ends.el --- Line ends of a proposal and of its target  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Emacs keeps the CRLF line ends and the byte order mark of a file out of
;; its buffer.  A proposal that was made from the file's bytes still has
;; them, so it is converted before the two are compared.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defun agent-q-diff-line-ends (buffer)
  "Return the line ends of the file of BUFFER that are not in its text, or nil.
The value is `crlf', or `cr' for lines that end with CR alone, as on old
Macs.  In the file every line has that end.  A buffer without a file has
none."
  (let ((coding (buffer-local-value 'buffer-file-coding-system buffer)))
    (and (buffer-file-name buffer)
         coding
         (pcase (coding-system-eol-type coding)
           (1 'crlf)
           (2 'cr)))))

(defun agent-q-diff-line-ends--all-crlf-p (text)
  "Return non-nil if TEXT has a line end and all of them are CRLF."
  (and (string-search "\n" text)
       (not (string-match-p "\\(?:\\`\\|[^\r]\\)\n" text))))

(defun agent-q-diff-line-ends--drop-cr-p (original live is-crlf)
  "Return non-nil if CRLF is to become LF in a proposal for a target.
ORIGINAL and LIVE are as for `agent-q-diff-line-ends-adapter'; IS-CRLF is
non-nil if its LINE-ENDS are `crlf'."
  ;; Searching all of LIVE takes a while, and is seldom needed.
  (let ((is-all (agent-q-diff-line-ends--all-crlf-p original)))
    (and (or is-crlf is-all)
         (let ((is-none (not (string-search "\r\n" live))))
           (and (if is-crlf (or is-all is-none) is-none)
                (or is-none (not (equal original live))))))))

(defun agent-q-diff-line-ends-has-mark-p (buffer)
  "Return non-nil if the file of BUFFER has a byte order mark.
One that is in the text of BUFFER does not count."
  (let ((coding (buffer-local-value 'buffer-file-coding-system buffer)))
    (and (buffer-file-name buffer)
         coding
         (coding-system-get coding :bom)
         t)))

(defun agent-q-diff-line-ends--mark (text original live has-mark)
  "Return TEXT, a proposal's, with a byte order mark if LIVE begins with one.
The file keeps what it has, so a mark is never a change, and there are never
two.  Only in a new file, with LIVE and ORIGINAL empty, it is a character of
TEXT.  HAS-MARK is as for `agent-q-diff-line-ends-adapter'."
  (cond
   ((string-prefix-p "\ufeff" live)
    (if (string-prefix-p "\ufeff" text) text (concat "\ufeff" text)))
   ((and (not has-mark) (string-empty-p live) (string-empty-p original)) text)
   (t (string-remove-prefix "\ufeff" text))))

(defun agent-q-diff-line-ends-mark-diff (diff has-mark)
  "Return DIFF for a text that begins with a byte order mark if HAS-MARK, else not.
A line that would only lose or get one is context."
  (with-temp-buffer
    (insert diff)
    (goto-char (point-min))
    (while (re-search-forward
            "^-\\(?:\ufeff\\(.*\n\\)\\+\\1\\|\\(.*\n\\)\\+\ufeff\\2\\)" nil t)
      (replace-match (concat " " (or (match-string 1) (match-string 2))) t t))
    (goto-char (point-min))
    (while (re-search-forward "^[-+ ]\\(\ufeff\\)" nil t)
      (replace-match "" t t nil 1))
    (goto-char (point-min))
    (when (and has-mark (re-search-forward "^@@ -1[ ,].*\n" nil t))
      (dolist (sign '(?- ?+))
        (save-excursion
          (while (not (memq (char-after) (list sign ?\s nil ?@)))
            (forward-line))
          (when (and (memq (char-after) (list sign ?\s))
                     (not (eq ?\ufeff (char-after (1+ (point))))))
            (forward-char)
            (insert "\ufeff")))))
    (buffer-string)))

(defun agent-q-diff-line-ends-adapter (original live &optional line-ends has-mark)
  "Return a function from a text of a proposal to that text for the target.
Emacs keeps the byte order mark and the CRLF line ends of a file out of
its buffer, so a proposal made from the file's bytes differs from LIVE,
the buffer's text, in every line.

The function gives a text the byte order mark that LIVE begins with, or
drops one; HAS-MARK is non-nil if the file has one that is not in LIVE.  It
converts line ends as `agent-q-diff-line-ends--converter' says, for ORIGINAL,
LIVE and LINE-ENDS."
  (let ((convert (agent-q-diff-line-ends--converter original live line-ends)))
    (lambda (text)
      (funcall convert (agent-q-diff-line-ends--mark text original live has-mark)))))

(defun agent-q-diff-line-ends--converter (original live line-ends)
  "Return a function for converting line ends of a text of a proposal.
It turns CRLF into LF if all lines of ORIGINAL, the proposal's, end with
CRLF and none of LIVE, the buffer's text, does, and LF into CRLF in the
opposite case.  LINE-ENDS is the value of `agent-q-diff-line-ends' for the
buffer: with `crlf', one of the two conditions is enough to turn CRLF into
LF; with `cr', each CR is a line end.  In all other cases, and if ORIGINAL
equals LIVE, the function leaves line ends alone."
  (let ((drop-cr (agent-q-diff-line-ends--drop-cr-p original live
                                                    (eq line-ends 'crlf)))
        (turn-cr (and (eq line-ends 'cr) (not (string-search "\r" live))))
        (add-cr (and (agent-q-diff-line-ends--all-crlf-p live)
                     (not (string-search "\r\n" original)))))
    (lambda (text)
      (cond
       (turn-cr (replace-regexp-in-string "\r\n?" "\n" text t t))
       (drop-cr (string-replace "\r\n" "\n" text))
       (add-cr (replace-regexp-in-string "\r?\n" "\r\n" text t t))
       (t text)))))

(defun agent-q-diff-line-ends-adapt-diff (diff original live line-ends)
  "Return DIFF, a unified diff, with the line ends of a target's text LIVE.
ORIGINAL is the text that shows the line ends of DIFF; LIVE and LINE-ENDS
are as for `agent-q-diff-line-ends-adapter'.  A CR before a no-newline
marker that itself ends with LF is the last character of the file, no line
end, and stays.  In a diff for a file with CR line ends a CR inside a line
stays, too; see `agent-q-diff-line-ends-cr-texts'."
  (let* ((guard (string #x110000))
         (guarded (replace-regexp-in-string
                   "\r\\(\n\\\\ [^\r\n]*\n\\)" (concat "\r" guard "\\1") diff)))
    (string-replace
     guard ""
     (if (eq line-ends 'cr)
         (string-replace "\r\n" "\n" guarded)
       (funcall (agent-q-diff-line-ends--converter original live line-ends) guarded)))))

(defun agent-q-diff-line-ends-cr-texts (diff line-ends)
  "Return (OLD . NEW), the whole texts that DIFF compares, or nil.
LINE-ENDS is as for `agent-q-diff-line-ends-adapter'; unless it is `cr',
the value is nil.  A program that compares the bytes of a file with CR
line ends sees a single line, so its diff has the whole file.  The texts
that are returned have LF line ends."
  (when (and (eq line-ends 'cr)
             (string-match "^@@ .*\n" diff)
             (string-match-p "\\`[-+][^\n]*\r" (substring diff (match-end 0))))
    (let ((lines (cl-loop for (line next) on (split-string (substring diff (match-end 0)) "\n")
                          when (string-match-p "\\`[-+ ]" line)
                          collect (if (string-prefix-p "\\ " (or next ""))
                                      line
                                    (concat line "\n")))))
      (cons (agent-q-diff-line-ends--cr-side lines ?-)
            (agent-q-diff-line-ends--cr-side lines ?+)))))

(defun agent-q-diff-line-ends--cr-side (lines sign)
  "Return the text of those LINES of a hunk that begin with SIGN or a space.
CR becomes LF."
  (mapconcat (lambda (line)
               (if (memq (aref line 0) (list sign ?\s))
                   (replace-regexp-in-string "\r\n?" "\n" (substring line 1) t t)
                 ""))
             lines ""))

(provide 'agent-q-diff-line-ends)
;;; agent-q-diff-line-ends.el ends here
