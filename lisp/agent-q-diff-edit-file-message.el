;;; agent-q-diff-edit-file-message.el --- What an agent reads about edit_file  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The messages of the tool `edit_file'.  Document 003 of Agent-Q fixes the
;; words of most of them.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-base)
(require 'agent-q-diff-message)
(require 'agent-q-diff-edit-file)

;;;; Parts of messages

(defconst agent-q-diff-edit-file-message--max-characters 200
  "Number of characters of a string that a message shows.")

(defconst agent-q-diff-edit-file-message--max-lines 20
  "Number of lines of the old and of the new text that a message shows.")

(defun agent-q-diff-edit-file-message--cut (text)
  "Return TEXT, or its beginning if it is long."
  (if (> (length text) agent-q-diff-edit-file-message--max-characters)
      (concat (substring text 0 agent-q-diff-edit-file-message--max-characters) "...")
    text))

(defun agent-q-diff-edit-file-message--line-numbers (lines)
  "Return LINES, numbers from 0, as a string of distinct numbers from 1."
  (let* ((distinct (seq-uniq (seq-take lines 1000)))
         (shown (seq-take distinct 10))
         (said (mapconcat (lambda (line) (number-to-string (1+ line))) shown ", ")))
    (if (nthcdr 10 distinct)
        (concat said ", …")
      said)))

(defun agent-q-diff-edit-file-message--line-ranges (ranges)
  "Return RANGES, each (FIRST . END) from 0, as a string of ranges from 1."
  (let ((said (mapconcat (pcase-lambda (`(,first . ,end))
                           (if (= end (1+ first))
                               (number-to-string end)
                             (format "%d-%d" (1+ first) end)))
                         (seq-take (seq-uniq ranges) 50) ", ")))
    (if (nthcdr 50 ranges)
        (concat said ", …")
      said)))

(defun agent-q-diff-edit-file-message--signed (sign text)
  "Return the lines of TEXT, each prefixed with SIGN, as strings."
  (unless (string-empty-p text)
    (let* ((lines (split-string (string-remove-suffix "\n" text) "\n"))
           (limit agent-q-diff-edit-file-message--max-lines)
           (more (- (length lines) limit)))
      (append (mapcar (lambda (line)
                        (concat "  " sign " " (string-remove-suffix "\r" line)))
                      (seq-take lines limit))
              (when (> more 0)
                (list (format "  %s … %d more lines" sign more)))))))

;;;; An edit that was made

(defun agent-q-diff-edit-file-message--notes (call outcome)
  "Return further notes about CALL, whose OUTCOME is `applied', strings."
  (delq nil
        (list (car (agent-q-diff-message-facts-contradiction outcome))
              (when (agent-q-diff-edit-file-call-is-all call)
                (format "Replacements: %d" (length (plist-get outcome :lines))))
              (unless (plist-get outcome :saved)
                "The change is in the user's buffer, which has not been saved.")
              (when (plist-get outcome :altered)
                "On saving, a hook of the user's changed other lines as well."))))

(defun agent-q-diff-edit-file-message--applied (call outcome)
  "Return the message about CALL, whose OUTCOME is `applied'."
  (let ((description (agent-q-diff-edit-file-call-description call))
        (notes (agent-q-diff-edit-file-message--notes call outcome)))
    (string-join
     `(,(format "✓ Edit applied to %s\n" (agent-q-diff-edit-file-call-path call))
       ,@(and description (list (format "Change: %s" description)))
       ,(format "Lines affected: %s"
                (agent-q-diff-edit-file-message--line-ranges (plist-get outcome :lines)))
       "Diff:"
       ,@(agent-q-diff-edit-file-message--signed "-" (agent-q-diff-edit-file-call-old call))
       ,@(agent-q-diff-edit-file-message--signed "+" (agent-q-diff-edit-file-call-new call))
       ,@(and notes (cons "" notes)))
     "\n")))

(defun agent-q-diff-edit-file-message-of-outcome (call outcome)
  "Return the message about CALL, whose result is OUTCOME.
OUTCOME is what `agent-q-diff-edit-file-run' returned."
  (let ((path (agent-q-diff-edit-file-call-path call)))
    (pcase-exhaustive (plist-get outcome :outcome)
      ('applied (agent-q-diff-edit-file-message--applied call outcome))
      ('denied (agent-q-diff-message-of-denied-call path "edit_file" outcome))
      ('reviewed (agent-q-diff-message-of-result (plist-get outcome :result)
                                                 path)))))

;;;; An edit that failed

(defconst agent-q-diff-edit-file-message--differences
  '((line-ends . "line endings")
    (white-space . "whitespace")
    (case . "case")
    (normalization . "Unicode normalization (composed or decomposed characters)")
    (punctuation . "typographic quotes, dashes or dots")
    (invisible . "characters that cannot be seen")
    (wording . "its wording"))
  "How the nearest text can differ, in words.")

(defun agent-q-diff-edit-file-message--nearest (nearest text)
  "Return a paragraph about TEXT, the nearest to a string that was not found.
NEAREST is (FIRST END . KINDS), lines from 0."
  (pcase-let ((`(,first ,end . ,kinds) nearest))
    (format "\n\nThe nearest text is at line%s %s and differs in %s:\n%s"
            (if (> end (1+ first)) "s" "")
            (agent-q-diff-edit-file-message--line-ranges (list (cons first end)))
            (if kinds
                (mapconcat (lambda (kind)
                             (alist-get kind agent-q-diff-edit-file-message--differences))
                           kinds ", ")
              "several ways at once")
            (agent-q-diff-edit-file-message--cut text))))

(defun agent-q-diff-edit-file-message--no-match (call data)
  "Return the message that the string of CALL was not found.
DATA is the data of the error."
  (pcase-let ((`(,_ ,nearest ,text) data))
    (concat (format "Error: String not found in %s\n\nSearched for:\n%s"
                    (agent-q-diff-edit-file-call-path call)
                    (agent-q-diff-edit-file-message--cut (agent-q-diff-edit-file-call-old call)))
            (and nearest (agent-q-diff-edit-file-message--nearest nearest text)))))

(defun agent-q-diff-edit-file-message--where (lines)
  "Return a sentence about LINES, on which there are several matches."
  (let ((numbers (agent-q-diff-edit-file-message--line-numbers lines)))
    (if (seq-every-p (lambda (line) (= line (car lines))) lines)
        (format "All of them begin in line %s." numbers)
      (format "They begin at lines %s." numbers))))

(defun agent-q-diff-edit-file-message--several (call lines)
  "Return the message that the string of CALL was found on several LINES."
  (format "Error: Found %d matches for the search string in %s.

Please provide more surrounding context to make a unique match.

%s"
          (length lines) (agent-q-diff-edit-file-call-path call)
          (agent-q-diff-edit-file-message--where lines)))

(defun agent-q-diff-edit-file-message--overlapping (call lines)
  "Return the message that matches of the string of CALL, on LINES, overlap."
  (format "Error: Found %d matches for the search string in %s, and some overlap.

Replacing one would change another. Please provide more surrounding context, or
replace them one by one.

%s"
          (length lines) (agent-q-diff-edit-file-call-path call)
          (agent-q-diff-edit-file-message--where lines)))

(defun agent-q-diff-edit-file-message-of-error (call err)
  "Return the message about ERR, the error of CALL."
  (pcase err
    (`(agent-q-diff-forbidden ,message) message)
    (`(agent-q-diff-no-file . ,_)
     (format "Error: File '%s' not found" (agent-q-diff-edit-file-call-path call)))
    (`(agent-q-diff-no-match . ,data)
     (agent-q-diff-edit-file-message--no-match call data))
    (`(agent-q-diff-several-matches ,_ ,lines)
     (agent-q-diff-edit-file-message--several call lines))
    (`(agent-q-diff-overlapping-matches ,_ ,lines)
     (agent-q-diff-edit-file-message--overlapping call lines))
    (`(agent-q-diff-empty-search . ,_)
     "Error: old_str is empty. It must be the exact text that is to be replaced.")
    (`(agent-q-diff-equal-texts . ,_)
     "Error: old_str and new_str are equal, so nothing would change.")
    (`(,(or 'agent-q-diff-bad-target 'file-error 'file-date-error) . ,_)
     (format "Error: Cannot write to file\n\n%s" (agent-q-diff-error-text err)))
    (`(quit . ,_) "Error editing file: the user quit; nothing was changed")
    (_ (format "Error editing file: %s" (agent-q-diff-error-text err)))))

(provide 'agent-q-diff-edit-file-message)
;;; agent-q-diff-edit-file-message.el ends here
