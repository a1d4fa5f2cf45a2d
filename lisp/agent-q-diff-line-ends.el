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

(defun agent-q-diff-line-ends-adapter (original live &optional line-ends)
  "Return a function from a text of a proposal to that text for the target.
Emacs keeps the byte order mark and the CRLF line ends of a file out of
its buffer, so a proposal made from the file's bytes differs from LIVE,
the buffer's text, in every line.

The function drops a byte order mark if the proposal's ORIGINAL begins
with one and LIVE does not.  It turns CRLF into LF if all lines of
ORIGINAL end with CRLF and none of LIVE does, and LF into CRLF in the
opposite case.  LINE-ENDS is the value of `agent-q-diff-line-ends' for the
buffer: with `crlf', one of the two conditions is enough to turn CRLF into
LF; with `cr', each CR is a line end.  In all other cases, and if ORIGINAL
equals LIVE, the function leaves line ends alone."
  (let ((drop-mark (and (string-prefix-p "\ufeff" original)
                        (not (string-prefix-p "\ufeff" live))))
        (drop-cr (agent-q-diff-line-ends--drop-cr-p original live
                                                    (eq line-ends 'crlf)))
        (turn-cr (and (eq line-ends 'cr) (not (string-search "\r" live))))
        (add-cr (and (agent-q-diff-line-ends--all-crlf-p live)
                     (not (string-search "\r\n" original)))))
    (lambda (text)
      (let ((unmarked (if drop-mark (string-remove-prefix "\ufeff" text) text)))
        (cond
         (turn-cr (replace-regexp-in-string "\r\n?" "\n" unmarked t t))
         (drop-cr (string-replace "\r\n" "\n" unmarked))
         (add-cr (replace-regexp-in-string "\r?\n" "\r\n" unmarked t t))
         (t unmarked))))))

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
       (funcall (agent-q-diff-line-ends-adapter original live line-ends) guarded)))))

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
