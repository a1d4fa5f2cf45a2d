;;; agent-q-diff-text.el --- Texts: coding systems, line ends, and the text of the target  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The target is the buffer whose text a review changes.  This file turns the
;; bytes of a file into text so that encoding the text gives the same bytes
;; again, converts the line ends of a proposal to those of its target, reads,
;; compares and replaces the text, always in the whole buffer, however it is
;; narrowed, and tells by which ids git knows it.  For text that must not be
;; replaced, or that a file's coding system cannot hold, it signals
;; `agent-q-diff-bad-target' with a message that says what to do about it.
;;
;; Listeners are told exactly which lines of a buffer each edit replaced.
;; Edits that bypass the change hooks (with `inhibit-modification-hooks', or
;; in an indirect buffer) can be recognized by the buffer's tick, which
;; listeners get from before and after each edit.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-file)

;;;; What a coding system can hold

(defun agent-q-diff-coding-plain-p (coding)
  "Return non-nil if CODING encodes and decodes any text and bytes without loss.
That is known of UTF-8, Latin-1, ASCII and raw bytes; for other coding
systems it depends on the text.  Line ends are not considered."
  (and (memq (coding-system-base coding)
             '(utf-8 utf-8-with-signature utf-8-emacs prefer-utf-8 iso-latin-1 us-ascii
               undecided no-conversion raw-text))
       t))

(defun agent-q-diff-coding-all-ascii-p ()
  "Return non-nil if the current buffer is all ASCII.  Takes constant time."
  (agent-q-diff-base-widened
    (and enable-multibyte-characters
         (= (1+ (buffer-size)) (position-bytes (point-max))))))

(defun agent-q-diff-coding-unencodable (from to coding &optional text)
  "Return the first character between FROM and TO that CODING cannot hold, or nil.
FROM and TO are positions in TEXT, counted from 0, or if TEXT is nil, in the
current buffer.  Raw bytes do not count, since they are written unchanged."
  (let (at found)
    (while (and (not found)
                (setq at (unencodable-char-position from to coding nil text)))
      (let ((char (if text (aref text at) (char-after at))))
        (unless (eq (char-charset char) 'eight-bit)
          (setq found char))
        (setq from (1+ at))))
    found))

(defun agent-q-diff-coding--check (from to coding &optional text)
  "Refuse the text between FROM and TO if CODING cannot hold it.
FROM, TO and TEXT are as for `agent-q-diff-coding-unencodable'."
  (let ((char (agent-q-diff-coding-unencodable from to coding text)))
    (when char
      (agent-q-diff-file-refuse
       "the file's coding system %s cannot encode the character %c; %s" coding char
       "M-x agent-q-diff-recode-target makes the file UTF-8, or reject the hunk"))))

(defun agent-q-diff-coding-check-surrogates (new old)
  "Refuse NEW, an agent's text, if it has a lone surrogate that OLD does not have.
A lone surrogate is half of a surrogate pair; JSON can contain one.  No
coding system can encode it, but Emacs would write it as three bytes that
are not UTF-8.  Such bytes that the file already has stay."
  (let ((at -1))
    (while (and (< (length new) (string-bytes new)) ; ASCII has none.
                (setq at (string-match-p "[\ud800-\udfff]" new (1+ at))))
      (unless (seq-position old (aref new at))
        (agent-q-diff-file-refuse
         "the proposed text contains U+%X, half of a surrogate pair; \
send the whole character"
         (aref new at))))))

(defun agent-q-diff-coding--bytes-of (text coding)
  "Return TEXT encoded in CODING; an empty one has no byte order mark."
  (if (string-empty-p text)
      ""
    (encode-coding-string text coding)))

(defun agent-q-diff-coding-encode (text coding)
  "Return TEXT as bytes in CODING, or refuse it if they do not decode to TEXT."
  (let ((bytes (agent-q-diff-coding--bytes-of text coding)))
    (unless (or (agent-q-diff-coding-plain-p coding)
                (equal text (decode-coding-string bytes coding)))
      (agent-q-diff-file-refuse
       "the file's coding system %s cannot hold the new text without changing it" coding))
    bytes))

;;;; Decoding a file

(defun agent-q-diff-coding-stated (name &optional is-credible)
  "Return the coding system that the file NAME declares, or nil.
The current buffer has the bytes of the file.  A declaration in the file
takes precedence over `file-coding-system-alist'.  A function in that list
is not called, since some open other files.

If IS-CREDIBLE is non-nil, a declaration in the text does not count if it could
not be read were it true, as that of UTF-16 in ASCII characters."
  (pcase-let ((`(,coding . ,where) (progn
                                     (goto-char (point-min))
                                     (find-auto-coding name (buffer-size)))))
    (agent-q-diff-coding--real
     (or (and (or (not is-credible)
                  (not (memq where '(:coding auto-coding-functions)))
                  (not (coding-system-p coding))
                  (coding-system-get coding :ascii-compatible-p))
              coding)
         (agent-q-diff-coding--of-name name)))))

(defun agent-q-diff-coding--of-name (name)
  "Return what `file-coding-system-alist' has for reading the file NAME."
  (pcase (cdr (if (agent-q-diff-coding--may-match-p 'file-coding-system-alist name)
                  (seq-find (lambda (entry) (string-match-p (car entry) name))
                            file-coding-system-alist)
                (assoc "" file-coding-system-alist)))
    (`(,coding . ,_) coding)
    (coding coding)))

(defvar agent-q-diff-coding--alternatives nil
  "Alist from variables to (ALIST LENGTH . REGEXP), for the values they had.")

(defun agent-q-diff-coding--may-match-p (variable name)
  "Return nil if no regexp in the alist in VARIABLE matches NAME.
The empty one, which matches everything, does not count.

Emacs keeps few compiled regexps.  To compile all of these again for each
of hundreds of files takes half as long as reading the files."
  (let* ((alist (symbol-value variable))
         (known (alist-get variable agent-q-diff-coding--alternatives)))
    (unless (and (eq alist (car known)) (eq (length alist) (cadr known)))
      (setq known (cons alist (cons (length alist)
                                    (agent-q-diff-coding--alternatives-of alist))))
      (setf (alist-get variable agent-q-diff-coding--alternatives) known))
    (or (null (cddr known))
        (let ((case-fold-search t))
          (string-match-p (cddr known) name)))))

(defun agent-q-diff-coding--alternatives-of (alist)
  "Return a regexp for what a regexp in ALIST matches, or nil if there is none.
That is if one of them refers to its groups.  The empty one is left out."
  (let ((regexps (remove "" (mapcar #'car alist))))
    (unless (seq-some (lambda (regexp) (string-match-p "\\\\[1-9]" regexp)) regexps)
      (mapconcat (lambda (regexp) (format "\\(?:%s\\)" regexp)) regexps "\\|"))))

(defun agent-q-diff-coding--real (stated)
  "Return STATED if it is a coding system that decodes in one way, or nil."
  (and stated
       (coding-system-p stated)
       (not (eq (coding-system-type stated) 'undecided))
       stated))

(defconst agent-q-diff-coding--doubtful-bytes '("\0" "\e" "\r" "\16" "\17" "\355")
  "Bytes that may occur in text that is not lines of UTF-8.
The last begins surrogates, which Emacs can hold but does not decode.")

(defun agent-q-diff-coding--plain-utf-8 (bytes)
  "Return BYTES as text if they are certainly lines of UTF-8, else nil.
Text in memory is UTF-8, so the bytes need not be decoded, which would take
ten times as long."
  (unless (or (string-prefix-p "\357\273\277" bytes)
              (not (string-search "\n" bytes))
              (seq-some (lambda (byte) (string-search byte bytes))
                        agent-q-diff-coding--doubtful-bytes)
              (not (agent-q-diff-coding-prefers-utf-8-p)))
    (let ((text (with-suppressed-warnings ((obsolete string-as-multibyte))
                  (string-as-multibyte bytes))))
      ;; A byte that is not part of a character takes two bytes in memory.
      (and (= (string-bytes text) (length bytes))
           text))))

(defun agent-q-diff-coding-prefers-utf-8-p ()
  "Return non-nil if text that is UTF-8 is not taken for anything else.
That depends on the user's language."
  (eq 'utf-8 (coding-system-priority-list t)))

(defun agent-q-diff-coding-declares-p (name has-word)
  "Return non-nil if the file NAME declares a coding system.
HAS-WORD is non-nil if its text has one of the words \"coding\" and \"charset\",
which all declarations in a text have.  Otherwise only its name can."
  (if has-word
      (with-temp-buffer
        (set-buffer-multibyte nil)
        (insert-file-contents-literally name)
        (agent-q-diff-coding-stated name))
    (agent-q-diff-coding--real
     (or (and (agent-q-diff-coding--may-match-p 'auto-coding-alist name)
              (auto-coding-alist-lookup name))
         (agent-q-diff-coding--of-name name)))))

(defun agent-q-diff-coding-plain-text (name)
  "Return the text of the file NAME, or nil.
The value is nil unless visiting the file would certainly show that text:
it is lines of UTF-8, and declares nothing else.  NAME is a regular file, or
was one; if it is none any more, the value is nil."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (when (file-regular-p name)
      (insert-file-contents-literally name))
    (let ((text (agent-q-diff-coding--plain-utf-8 (buffer-string)))
          (has-word (let ((case-fold-search t))
                      (goto-char (point-min))
                      (or (search-forward "coding" nil t)
                          (search-forward "charset" nil t)))))
      (and text
           (not (agent-q-diff-coding-declares-p name has-word))
           text))))

(defun agent-q-diff-coding--same-bytes-p (bytes text coding)
  "Return non-nil if TEXT encoded in CODING equals BYTES."
  (equal bytes
         ;; Emacs encodes ASCII text faster than this.
         (if (and (< (length text) (string-bytes text))
                  (agent-q-diff-coding-utf-8-p bytes text coding))
             (with-suppressed-warnings ((obsolete string-as-unibyte))
               (string-as-unibyte text))
           (encode-coding-string text coding))))

(defun agent-q-diff-coding-utf-8-p (bytes text coding)
  "Return non-nil if TEXT encoded in CODING equals its bytes in memory.
TEXT was decoded from BYTES.  Text in memory is UTF-8, except that a byte
that is not part of a character takes two."
  (and (eq 0 (coding-system-eol-type coding))
       ;; Not a variant that converts more or writes a byte order mark.
       (eq 'utf-8 (coding-system-base coding))
       (= (length bytes) (string-bytes text))))

(defun agent-q-diff-coding--mostly-utf-8-p (bytes)
  "Return non-nil if BYTES are UTF-8 except for a few stray bytes.
Emacs takes such a file for Latin-1, and an agent's additions would then be
encoded differently from the rest."
  (let ((text (decode-coding-string bytes 'utf-8-unix)))
    (> (cl-count-if (lambda (char) (< 127 char #x3fff80)) text)
       (cl-count-if (lambda (char) (>= char #x3fff80)) text))))

(defun agent-q-diff-coding--candidates (stated bytes)
  "Return coding systems for BYTES of a file, best first.
STATED is the one that the file declares, or nil."
  (let* ((detected (detect-coding-string bytes t))
         (is-doubtful (eq (coding-system-type detected) 'charset)))
    (delq nil
          (list stated
                (and is-doubtful
                     (agent-q-diff-coding--mostly-utf-8-p bytes)
                     (coding-system-change-text-conversion detected 'utf-8))
                detected))))

(defun agent-q-diff-coding--decode-as-buffer (bytes coding)
  "Return BYTES decoded in CODING, as in a buffer that visits them.
Emacs decodes strings and buffers differently in one case: the bytes of
half a surrogate pair, which are not UTF-8, become three raw bytes in a
string but one character in a buffer.  The engine counts characters as
buffers do."
  (if (not (string-search "\355" bytes))
      (decode-coding-string bytes coding)
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (insert bytes)
      (set-buffer-multibyte t)
      (decode-coding-region (point-min) (point-max) coding)
      (buffer-string))))

(defun agent-q-diff-coding--decode-in (bytes guess)
  "Return (TEXT . CODING) for BYTES if their coding system is GUESS, else nil.
CODING has the kind of line ends that was found.  The value is nil if TEXT
encoded in CODING differs from BYTES.  TEXT keeps its property `charset',
since encoding depends on it."
  (let* ((text (agent-q-diff-coding--decode-as-buffer bytes guess))
         ;; With the kind of line ends that was found.
         (coding last-coding-system-used)
         (with-cr (coding-system-change-eol-conversion coding 'unix)))
    (cond
     ((eq (coding-system-type coding) 'raw-text)
      (cons bytes 'no-conversion))
     ((agent-q-diff-coding--same-bytes-p bytes text coding)
      (cons text coding))
     ;; With mixed line ends, CR is part of the text.
     ((let ((verbatim (agent-q-diff-coding--decode-as-buffer bytes with-cr)))
        (and (agent-q-diff-coding--same-bytes-p bytes verbatim with-cr)
             (cons verbatim with-cr)))))))

(defun agent-q-diff-coding-decode (name stated bytes &optional suits-p)
  "Return (TEXT . CODING) for BYTES, those of the file NAME.
TEXT encoded in CODING is BYTES again; if that is impossible, refuse the
file.  STATED is the coding system that the file declares, or nil.  SUITS-P, if
it is non-nil, is a function of what would be returned and of BYTES; unless its
value is non-nil, BYTES are read in another way."
  (let ((plain (and (null stated) (agent-q-diff-coding--plain-utf-8 bytes))))
    (if plain
        (cons plain (if (= (length plain) (length bytes))
                        'undecided-unix
                      'utf-8-unix))
      (agent-q-diff-coding--decode-by
       name bytes (agent-q-diff-coding--candidates stated bytes) suits-p))))

(defun agent-q-diff-coding-decode-bytes (name bytes &optional is-recorded)
  "Return (TEXT . CODING) for BYTES, which the file NAME has, or had.
See `agent-q-diff-coding-decode'.  If IS-RECORDED is non-nil, what the engine
knows of TEXT has to do for that: it knows no text properties, and of raw bytes
that together are a character only that character."
  (let ((stated (with-temp-buffer
                  (set-buffer-multibyte nil)
                  (insert bytes)
                  (agent-q-diff-coding-stated name is-recorded))))
    (if (not is-recorded)
        (agent-q-diff-coding-decode name stated bytes)
      (agent-q-diff-coding-decode name stated bytes #'agent-q-diff-coding--recordable-p))))

(defun agent-q-diff-coding--recordable-p (decoded bytes)
  "Return non-nil if DECODED, (TEXT . CODING), is BYTES also without properties.
Raw bytes of TEXT that together are a character become that."
  (pcase-let ((`(,text . ,coding) decoded))
    (or (eq 'raw-text (coding-system-type coding))
        (equal bytes
               (agent-q-diff-coding--bytes-of
                (decode-coding-string (encode-coding-string text 'utf-8-emacs-unix)
                                      'utf-8-emacs-unix)
                coding)))))

(defun agent-q-diff-coding-decode-both (name bytes new-bytes)
  "Return (TEXT NEW-TEXT CODING NEW-CODING) for BYTES and NEW-BYTES.
The file NAME had the former and has the latter.  What a text does not tell of
its coding system, it has from the other.  If NEW-BYTES have mixed line ends, CR
is part of both texts; if only BYTES have, and NEW-BYTES have CR, the value is
nil, since no buffer shows both alike."
  (pcase-let* ((`(,text . ,coding) (agent-q-diff-coding-decode-bytes name bytes t))
               (`(,new-text . ,new-coding)
                (agent-q-diff-coding-decode-bytes name new-bytes t)))
    (cl-flet ((has-cr (text coding)
                (and (not (eq 0 (coding-system-eol-type coding)))
                     (string-search "\n" text)))
              (is-mixed (text coding)
                (and (eq 0 (coding-system-eol-type coding))
                     (string-search "\r\n" text))))
      (unless (and (is-mixed text coding) (has-cr new-text new-coding))
        (when (and (is-mixed new-text new-coding) (has-cr text coding))
          (setq coding (coding-system-change-eol-conversion coding 'unix)
                text (agent-q-diff-coding--decode-as-buffer bytes coding)))
        (let ((completed (agent-q-diff-coding-completed text coding new-coding)))
          (list text new-text
                (agent-q-diff-coding--plain completed)
                (agent-q-diff-coding--plain
                 (agent-q-diff-coding-completed new-text new-coding completed))))))))

(defun agent-q-diff-coding-completed (text coding other)
  "Return CODING, that of TEXT, with what TEXT does not tell from OTHER.
An empty text tells nothing; one of ASCII characters does not tell which coding
system it is of those that have these, and one line not how lines end."
  (cond
   ((string-empty-p text) other)
   ;; Then it need not be searched.
   ((agent-q-diff-coding-same-p coding other) coding)
   (t
    (let ((coding (if (and (not (string-match-p "[^[:ascii:]]" text))
                           (coding-system-get coding :ascii-compatible-p)
                           (coding-system-get other :ascii-compatible-p))
                      (coding-system-change-text-conversion coding other)
                    coding))
          (eol (coding-system-eol-type other)))
      (if (and (integerp eol)
               (not (string-search "\n" text)))
          (coding-system-change-eol-conversion coding eol)
        coding)))))

(defun agent-q-diff-coding--plain (coding)
  "Return CODING, or UTF-8 with its line ends if it would be detected."
  (if (memq (coding-system-base coding) '(undecided prefer-utf-8))
      (coding-system-change-text-conversion coding 'utf-8)
    coding))

(defun agent-q-diff-coding-which (name bytes codings)
  "Return the first of CODINGS in which BYTES of the file NAME can be, or nil.
They tell their coding system, byte order mark and line ends; what they do not
tell can be any.  If they are in none of CODINGS, CR may be part of lines."
  (pcase (ignore-error agent-q-diff-bad-target
           (agent-q-diff-coding-decode-bytes name bytes t))
    (`(,text . ,coding)
     (cl-flet ((find (coding)
                 (seq-find (lambda (one)
                             (agent-q-diff-coding-same-p
                              one (agent-q-diff-coding-completed text coding one)))
                           codings)))
       (or (find coding)
           (find (coding-system-change-eol-conversion coding 'unix)))))))

(defun agent-q-diff-coding-same-p (one other)
  "Return non-nil if the coding systems ONE and OTHER read and write the same."
  (and (eq (coding-system-base (agent-q-diff-coding--plain one))
           (coding-system-base (agent-q-diff-coding--plain other)))
       (equal (coding-system-eol-type one) (coding-system-eol-type other))))

(defun agent-q-diff-coding--decode-by (name bytes codings &optional suits-p)
  "Return (TEXT . CODING) for BYTES of the file NAME, or refuse it.
CODINGS are the coding systems to try, best first.  SUITS-P is as for
`agent-q-diff-coding-decode'."
  (or (seq-some (lambda (coding)
                  (let ((decoded (agent-q-diff-coding--decode-in bytes coding)))
                    (and (or (null suits-p) (null decoded) (funcall suits-p decoded bytes))
                         decoded)))
                codings)
      (agent-q-diff-file-refuse
       "%s cannot be written in its coding system %s without changing it elsewhere"
       name (car codings))))

;;;; What a text says of its own coding system

(defconst agent-q-diff-coding--declarations
  '(;; In a comment: Python (PEP 263), Ruby, vim; and XML.
    "\\`\\(?:.*\n\\)?.*coding[:=][ \t]*[\"']?\\([-_.[:alnum:]]+\\)"
    "\\<vim?:.*\\<\\(?:fenc\\|fileencoding\\)=\\([-_.[:alnum:]]+\\)"
    "\\`[ \t\n]*<\\(?:.\\|\n\\)*?<?meta[^>]*charset[ \t]*=[ \t]*[\"']?\\([-_.[:alnum:]]+\\)"
    "\\`[ \t\n]*<\\?xml[^>]*encoding[ \t\n]*=[ \t\n]*[\"']\\([-_.[:alnum:]]+\\)"
    "\\`@charset[ \t]+[\"']\\([-_.[:alnum:]]+\\)"
    "^[^%\n]*\\\\usepackage\\[\\([[:alnum:]]+\\)\\]{inputenc}")
  "Regexps for declarations of a coding system, of which Emacs knows only some.")

(defconst agent-q-diff-coding--declaring-words
  ;; With `case-fold-search', it takes ten times as long.
  (mapconcat (lambda (word)
               (mapconcat (lambda (char) (format "[%c%c]" char (upcase char))) word ""))
             '("coding" "charset" "fenc" "inputenc")
             "\\|")
  "Regexp for words of which each of these declarations has one, in any case.")

(defconst agent-q-diff-coding--declaring-size 3000
  "Number of characters at each end of a text in which it can declare its coding.")

(defun agent-q-diff-coding--ends (text)
  "Return the beginning and the end of TEXT, or all of it if it is short.
TEXT is a string or a buffer."
  (let* ((size agent-q-diff-coding--declaring-size)
         (length (if (bufferp text) (buffer-size text) (length text)))
         (part (lambda (from to)
                 (if (stringp text)
                     (substring text from to)
                   (with-current-buffer text
                     (agent-q-diff-base-widened
                       (buffer-substring-no-properties (1+ from) (1+ to))))))))
    (if (<= length (* 2 size))
        (funcall part 0 length)
      (concat (funcall part 0 size) "\n\f\n" (funcall part (- length size) length)))))

(defun agent-q-diff-coding-declared (text name)
  "Return the coding system that TEXT, that of the file NAME, declares, or nil.
This is what Emacs or another program would take it for.  TEXT is a string
or a buffer."
  (let ((ends (agent-q-diff-coding--ends text)))
    (when (let ((case-fold-search nil))
            (string-match-p agent-q-diff-coding--declaring-words ends))
      (with-temp-buffer
        (setq case-fold-search t)
        (insert ends)
        (goto-char (point-min))
        (or (let ((inhibit-message t)
                  (auto-coding-alist nil))
              (agent-q-diff-coding--named
               (car (ignore-errors (find-auto-coding (or name "") (buffer-size))))))
            (seq-some (lambda (regexp)
                        (goto-char (point-min))
                        (and (re-search-forward regexp nil t)
                             (agent-q-diff-coding--named (match-string 1))))
                      agent-q-diff-coding--declarations))))))

(defun agent-q-diff-coding--named (name)
  "Return the coding system that is called NAME in some program, or nil.
NAME is a string or a symbol; line ends are left out."
  (when name
    (let* ((plain (replace-regexp-in-string "_" "-" (downcase (format "%s" name))))
           (spelled (replace-regexp-in-string
                     "\\`\\(utf\\|latin\\|iso\\)-?\\([0-9]+\\)\\(.*\\)" "\\1-\\2\\3" plain))
           (system (seq-some (lambda (string)
                               (let ((symbol (intern-soft string)))
                                 (and symbol (coding-system-p symbol) symbol)))
                             (list (downcase (format "%s" name)) plain spelled
                                   (replace-regexp-in-string "\\`utf-8-sig\\'" "utf-8" spelled)
                                   (replace-regexp-in-string "\\`ascii\\'" "us-ascii" plain)))))
      (and system
           (not (eq 'undecided (coding-system-type system)))
           (coding-system-base system)))))

(defun agent-q-diff-coding-contradiction (text name was coding)
  "Return how the declaration in TEXT contradicts CODING, or nil.
CODING is what TEXT is saved in.  The value is a sentence without its period.
TEXT, a string or a buffer, is that of the file NAME.  WAS is its text before
the change, or a list of the coding system that this declared; if TEXT declares
the same, return nil.  A text whose bytes are the same in both coding systems
contradicts nothing; one that declares none is taken for UTF-8."
  (let* ((declared (agent-q-diff-coding-declared text name))
         ;; For other characters than ASCII, without line ends and byte order mark.
         (written (pcase (coding-system-base coding)
                    ((or 'undecided 'prefer-utf-8 'utf-8-with-signature 'utf-8-auto) 'utf-8)
                    (base base))))
    (unless (or (eq 'raw-text (coding-system-type coding))
                (eq written (or declared 'utf-8))
                (eq declared (if (listp was)
                                 (car was)
                               (agent-q-diff-coding-declared was name)))
                (agent-q-diff-coding--agree-p text written (or declared 'utf-8)))
      (if declared
          (format "the file declares the coding system %s, but is saved in %s"
                  declared written)
        (format "the file no longer declares its coding system %s, so that most programs \
take it for UTF-8" written)))))

(defun agent-q-diff-coding--agree-p (text one other)
  "Return non-nil if TEXT has the same bytes in the coding systems ONE and OTHER.
TEXT is a string or a buffer, and the two systems differ.  Those of UTF-16 are
one, since the byte order mark tells them apart."
  (or (and (eq 'utf-16 (coding-system-type one))
           (eq 'utf-16 (coding-system-type other)))
      (let* ((text (if (bufferp text) (agent-q-diff-text-in text) text))
             (bytes (encode-coding-string text one)))
        (and (equal bytes (encode-coding-string text other))
             (equal text (decode-coding-string bytes one))))))

;;;; Buffers

(defun agent-q-diff-text-buffer-name (buffer)
  "Return the name of BUFFER as the user is to see it.
A buffer that Emacs does not list has that of its file."
  (let ((name (buffer-name buffer)))
    (agent-q-diff-visible
     (if (and (string-prefix-p " " name) (buffer-file-name buffer))
         (file-name-nondirectory (buffer-file-name buffer))
       name))))

(defun agent-q-diff-coding-of-buffer ()
  "Return the coding system in which the current buffer will be saved.
It is `save-buffer-coding-system' if that is set, or else the file's.  If
neither is decided, as for a file that was all ASCII, it is UTF-8 as soon
as the text has other characters.  A text that is still all ASCII is not
converted, which is many times faster."
  (let ((coding (or save-buffer-coding-system buffer-file-coding-system
                    'undecided-unix)))
    (if (and (eq (coding-system-type coding) 'undecided)
             (not (agent-q-diff-coding-all-ascii-p)))
        (coding-system-change-text-conversion coding 'utf-8)
      coding)))

(defun agent-q-diff-coding-buffer-bytes (coding)
  "Return the text of the current buffer encoded in CODING.
Its property `charset', which can decide between encodings, is respected."
  (agent-q-diff-base-widened
    (agent-q-diff-coding--bytes-of (buffer-string) coding)))

(defun agent-q-diff-coding-choose (from to &rest _)
  "Return the coding system for the text between FROM and TO.
This is a value for `select-safe-coding-system-function' that asks nothing.
FROM and TO are as for `write-region'."
  (let ((coding (agent-q-diff-coding-of-buffer)))
    (cond
     ((memq (coding-system-base coding)
            '(utf-8 utf-8-with-signature prefer-utf-8 undecided)))
     ((stringp from)
      (agent-q-diff-coding--check 0 (length from) coding from))
     (t (agent-q-diff-base-widened
          (agent-q-diff-coding--check (or from (point-min))
                                     (or to (point-max)) coding))))
    coding))

(defun agent-q-diff-coding-check-text (buffer text)
  "Refuse TEXT if the coding system of BUFFER's file cannot hold it.
Otherwise saving would re-encode the whole file."
  (let ((coding (or (buffer-local-value 'save-buffer-coding-system buffer)
                    (buffer-local-value 'buffer-file-coding-system buffer))))
    (unless (or (null coding)
                (eq (coding-system-type coding) 'undecided))
      (agent-q-diff-coding--check 0 (length text) coding text))))

(defvar-local agent-q-diff-coding-chosen nil
  "The coding system in which the user has this buffer saved from now on, or nil.
Saving then changes bytes that nobody has edited.")
(put 'agent-q-diff-coding-chosen 'permanent-local t)

(defun agent-q-diff-coding-recode (buffer &optional system)
  "Have BUFFER saved in SYSTEM from now on, with the line ends that it has.
SYSTEM defaults to UTF-8."
  (with-current-buffer buffer
    (let ((coding (coding-system-change-text-conversion
                   (or buffer-file-coding-system 'utf-8-unix) (or system 'utf-8))))
      (set-buffer-file-coding-system coding nil t)
      (setq agent-q-diff-coding-chosen buffer-file-coding-system)
      (when save-buffer-coding-system
        (setq save-buffer-coding-system coding)))))

;;;; Charsets

(defvar-local agent-q-diff-coding--charsets nil
  "Hash table from lines to the same lines with the property `charset', or nil.
Some coding systems, such as those of ISO 2022, can encode a character in
several ways, and this property tells which one the file has.  A line that
is removed from the buffer and put back must be encoded as before.")
(put 'agent-q-diff-coding--charsets 'permanent-local t)

(defun agent-q-diff-coding-note-charsets (text)
  "Remember the lines of TEXT that have the property `charset'."
  (when (text-property-not-all 0 (length text) 'charset nil text)
    (unless agent-q-diff-coding--charsets
      (setq agent-q-diff-coding--charsets (make-hash-table :test #'equal)))
    (dolist (line (split-string text "\n"))
      (when (text-property-not-all 0 (length line) 'charset nil line)
        (puthash (substring-no-properties line) line
                 agent-q-diff-coding--charsets)))))

(defun agent-q-diff-coding--with-charsets (text)
  "Return TEXT with the property `charset' on the lines that are remembered."
  (if (null agent-q-diff-coding--charsets)
      text
    (mapconcat (lambda (line) (gethash line agent-q-diff-coding--charsets line))
               (split-string text "\n") "\n")))

;;; Line ends of a proposal and of its target

(defun agent-q-diff-line-ends (buffer)
  "Return the line ends of the file of BUFFER that are not in its text, or nil.
The value is `crlf', or `cr' for lines that end with CR alone, as on old
Macs.  Every line of the file ends so.  A buffer without a file has none."
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

;;; Listeners to the edits of a buffer

(defvar-local agent-q-diff-outside--listeners nil
  "Functions that are called after edits in this buffer.
See `agent-q-diff-outside-listen'.")
(put 'agent-q-diff-outside--listeners 'permanent-local t)

(defvar-local agent-q-diff-outside--tick nil
  "Tick of this buffer before the current edit, or after the last one.")
(put 'agent-q-diff-outside--tick 'permanent-local t)

(defvar agent-q-diff-outside-speaker nil
  "The listener that makes the current edits, and so does not get them reported.")

(defun agent-q-diff-outside-listen (buffer function)
  "Call FUNCTION after each edit in BUFFER, until `agent-q-diff-outside-cease'.
Its arguments are WAS, NOW, N-BEFORE, N-BEHIND, N-CHARS, TEXT and IS-UNDO.
WAS and NOW are the buffer's ticks before and after.  All but the first
N-BEFORE characters and the last N-BEHIND are now TEXT; before, there were
N-CHARS in all.  IS-UNDO is non-nil if the edit undid another."
  (with-current-buffer buffer
    (add-to-list 'agent-q-diff-outside--listeners function)
    ;; Between our two hooks, other people's must not edit unseen.
    (add-hook 'before-change-functions #'agent-q-diff-outside--before 100 t)
    (add-hook 'after-change-functions #'agent-q-diff-outside--after -100 t)))

(defun agent-q-diff-outside-cease (buffer function)
  "Stop calling FUNCTION after edits in BUFFER."
  (agent-q-diff-base-with-live buffer
    (setq agent-q-diff-outside--listeners
          (remq function agent-q-diff-outside--listeners))
    (unless agent-q-diff-outside--listeners
      (remove-hook 'before-change-functions #'agent-q-diff-outside--before t)
      (remove-hook 'after-change-functions #'agent-q-diff-outside--after t))))

;; Turning on a mode, as `revert-buffer' does, must not remove these hooks.
(put 'agent-q-diff-outside--before 'permanent-local-hook t)
(put 'agent-q-diff-outside--after 'permanent-local-hook t)

;; The hooks run at each of the thousands of edits that a command can make, so
;; they avoid garbage.

(defun agent-q-diff-outside--before (_beg _end)
  "Note the tick before an edit."
  (setq agent-q-diff-outside--tick (agent-q-diff-base-tick)))

(defun agent-q-diff-outside--after (beg end length)
  "Report that the text from BEG to END replaced LENGTH characters.
A change of text properties is no edit; it leaves the tick as it is."
  (let ((was agent-q-diff-outside--tick)
        (now (agent-q-diff-base-tick)))
    (unless (eq was now)
      (setq agent-q-diff-outside--tick now)
      (cond
       ;; The speaker is the only listener.
       ((and (eq agent-q-diff-outside-speaker (car agent-q-diff-outside--listeners))
             (null (cdr agent-q-diff-outside--listeners))))
       (t (agent-q-diff-base-widened
            (agent-q-diff-outside--tell was now beg end length)))))))

(defun agent-q-diff-outside--tell (was now beg end length)
  "Tell every listener except the speaker about new text from BEG to END.
It replaced LENGTH characters; WAS and NOW are the buffer's ticks.  Lines
are not counted, since that would take time in proportion to the text above
and below.  An error in a listener is only shown: if it reached Emacs, that
would remove our hook."
  (let ((inhibit-quit t)
        (n-before (- beg (point-min)))
        (n-behind (- (point-max) end))
        (n-chars (+ (- (buffer-size) (- end beg)) length))
        (text (buffer-substring-no-properties beg end)))
    (dolist (listener agent-q-diff-outside--listeners)
      (unless (eq listener agent-q-diff-outside-speaker)
        (with-demoted-errors "agent-q-diff: %S"
          (funcall listener was now n-before n-behind n-chars text undo-in-progress))))))

;;;; Reading

(defun agent-q-diff-text-in (buffer)
  "Return the whole text of BUFFER as a string."
  (with-current-buffer buffer
    (agent-q-diff-base-widened
      (buffer-substring-no-properties (point-min) (point-max)))))

(defconst agent-q-diff-text--max-compared 8000000
  "Number of characters up to which a buffer is compared in place.
Comparing in place takes twice as long for each character as copying the
text and comparing the copy.  But the copy is garbage, and collecting a
megabyte takes several times as long as comparing it.  Beyond this number
one collection is due anyway.")

(defun agent-q-diff-text-known-p (buffer text)
  "Return non-nil if BUFFER certainly has TEXT, which needs no conversion.
TEXT, a proposal's, then has only LF line ends and no byte order mark, and
so has the file of BUFFER.  Nothing is copied to find that out.  Nil means
that it is not known."
  (and (<= (length text) agent-q-diff-text--max-compared)
       (= (length text) (buffer-size buffer))
       (multibyte-string-p text)
       (not (string-search "\r" text))
       (not (string-prefix-p "\ufeff" text))
       (not (agent-q-diff-line-ends buffer))
       (with-temp-buffer
         (insert text)
         (agent-q-diff-text-equal-p buffer (current-buffer)))))

(defun agent-q-diff-text-equal-p (buffer other)
  "Return non-nil if the whole text of BUFFER equals that of the buffer OTHER."
  (with-current-buffer buffer
    (agent-q-diff-base-widened
      (and (= (buffer-size) (buffer-size other))
           ;; Bound inside `with-current-buffer', since it may be buffer-local.
           (let ((case-fold-search nil))
             (zerop (compare-buffer-substrings nil nil nil other nil nil)))))))

(defun agent-q-diff-text-position (buffer line)
  "Return the position where LINE, counted from 0, begins in BUFFER."
  (with-current-buffer buffer
    (agent-q-diff-base-widened
      (save-excursion
        (goto-char (point-min))
        (forward-line line)
        (point)))))

;;;; Editing

(defun agent-q-diff-text--replace (n-removed text visible)
  "Replace N-REMOVED lines from point by TEXT, if they are inside VISIBLE.
VISIBLE is (BEG . END), the narrowed part of the current buffer.  The new
text is inserted after the old one before that is deleted, so that markers
in the old text stay at the new one, and markers on the line below stay on
that line.  Leave point where it was."
  (let* ((size (buffer-size))
         (beg (point))
         (end (progn (forward-line n-removed) (point)))
         (new (if enable-multibyte-characters
                  (agent-q-diff-coding--with-charsets text)
                ;; The engine has read the bytes as UTF-8.
                (encode-coding-string text 'utf-8-emacs-unix))))
    (unless (<= (car visible) beg end (cdr visible))
      (agent-q-diff-file-refuse "the hunk is outside the narrowed part of %s; C-x n w there first"
                                (agent-q-diff-text-buffer-name (current-buffer))))
    (when (text-property-not-all beg end 'charset nil)
      (agent-q-diff-coding-note-charsets (buffer-substring beg end)))
    (goto-char end)
    (insert-before-markers new)
    (cl-incf size (length new))
    (agent-q-diff-text--check-size size)
    (delete-region beg end)
    (agent-q-diff-text--check-size (- size (- end beg)))
    (goto-char beg)))

(defun agent-q-diff-text--check-size (size)
  "Refuse to go on unless the current buffer has SIZE characters.
If it has another number, a hook has edited it, and the next edit would be in
the wrong place."
  (unless (= size (buffer-size))
    (agent-q-diff-file-refuse
     "a hook edited %s while it was changed; see its first-change-hook, \
before-change-functions and after-change-functions"
     (agent-q-diff-text-buffer-name (current-buffer)))))

(defun agent-q-diff-text-replace-lines (edits &optional offsets)
  "Make EDITS, last line first, in the current buffer.
OFFSETS is as for `agent-q-diff-apply-edits'.  Without it, lines are
counted from one edit to the next, never again from the beginning."
  (let ((visible (cons (point-min) (point-max)))
        (starts (and (eql (car offsets) (buffer-size)) (cdr offsets)))
        (here 0))
    (agent-q-diff-base-widened
      (goto-char (point-min))
      (pcase-dolist (`(,line ,n-removed ,text) edits)
        (if starts
            (goto-char (1+ (pop starts)))
          (forward-line (- line here))
          (setq here line))
        (agent-q-diff-text--replace n-removed text visible)))))

(defun agent-q-diff-text--common-ends (old new)
  "Return (HEAD . TAIL): how many characters OLD and NEW share at their ends."
  (let* ((limit (min (length old) (length new)))
         (difference (compare-strings old nil nil new nil nil))
         (head (if (eq difference t) limit (1- (abs difference))))
         (tail 0))
    (while (and (< tail (- limit head))
                (eq (aref old (- (length old) tail 1))
                    (aref new (- (length new) tail 1))))
      (setq tail (1+ tail)))
    (cons head tail)))

(defun agent-q-diff-text-replace-span (beg end text)
  "Replace the text between BEG and END by TEXT.
Equal text at both ends is not touched.  The rest of the new text is
inserted after the old, as in `agent-q-diff-text--replace'."
  (pcase-let ((`(,head . ,tail)
               (agent-q-diff-text--common-ends
                (buffer-substring-no-properties beg end) text)))
    (goto-char (- end tail))
    (insert-before-markers (substring text head (- (length text) tail)))
    (delete-region (+ beg head) (- end tail))))

;;; Git's ids of a text

(defun agent-q-diff-git-blob-ids (buffer)
  "Return the ids by which git may know the text of BUFFER, hexadecimal strings.
Git's id of a file is the hash of \"blob LENGTH\", a NUL character and the
file's bytes: SHA-1, or SHA-256 in a repository that uses it.  The bytes
are those that saving BUFFER would write and, if it is not modified, those
of its file.  Git may store CRLF line ends as LF (core.autocrlf), so that
is tried, too.  An empty text also gets the id of all zeros, by which git
means that there is no file."
  (agent-q-diff-git--ids
   (delq nil (list (with-current-buffer buffer
                     (agent-q-diff-coding-buffer-bytes (agent-q-diff-coding-of-buffer)))
                   (agent-q-diff-git--file-bytes buffer)))))

(defun agent-q-diff-git-file-ids (name)
  "Return the ids by which git may know the text of the file NAME.
They are as for `agent-q-diff-git-blob-ids'; nil if there is no such file."
  (and (agent-q-diff-file-regular-p name)
       (ignore-errors
         (agent-q-diff-git--ids (list (agent-q-diff-file-bytes name))))))

(defun agent-q-diff-git--ids (texts)
  "Return the ids by which git may know any of TEXTS, unibyte strings."
  (let ((texts (seq-uniq (mapcan (lambda (bytes)
                                   (list bytes (string-replace "\r\n" "\n" bytes)))
                                 texts))))
    (append
     (and (equal texts '("")) (list (make-string 64 ?0)))
     (mapcan (lambda (bytes)
               (let ((object (concat (format "blob %d\0" (length bytes)) bytes)))
                 (list (secure-hash 'sha1 object) (secure-hash 'sha256 object))))
             texts))))

(defun agent-q-diff-git--file-bytes (buffer)
  "Return the bytes of the file of BUFFER, or nil if they are not its text.
In some coding systems one text can be encoded in several ways, so the
bytes of the file may differ from what saving would write."
  (with-current-buffer buffer
    (when (and buffer-file-name
               (not buffer-file-format)
               (not (buffer-modified-p))
               (verify-visited-file-modtime buffer)
               (agent-q-diff-file-regular-p buffer-file-name))
      (agent-q-diff-file-bytes buffer-file-name))))

(provide 'agent-q-diff-text)
;;; agent-q-diff-text.el ends here
