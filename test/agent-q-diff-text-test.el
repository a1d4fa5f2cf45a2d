;;; agent-q-diff-text-test.el --- Every coding system  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; For each coding system that this Emacs has, one line of a file is changed
;; and changed back, by `edit_file' and in a review, with the file open and
;; not.  No other byte may change, and in the end none at all.
;;
;; Emacs keeps CRLF and, of files that old Macs wrote, CR out of its buffers;
;; an agent has the bytes.  Each tool must find its lines all the same, and
;; leave every other byte alone.  Diffs have line ends as git writes them.
;;
;; Typing, undo, revert and programs change the target while its hunks are
;; decided.  Each hunk goes where it belongs or says why it cannot.
;;
;; The index line of a diff names the text that the diff is of.  Git itself
;; says what its ids are.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-project-help)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-text)

(defconst aqd-coding-candidates
  (concat "éüßñÿ£€ąčőşğŵŷЖяђіאבحبआகกລვայཀခខあアｱ漢字日本語中文體한글"
          "ΑΩώ„—’™√½ªªºθəẠơư")
  "Characters; every coding system has some of them.")

(defun aqd-coding-text (coding)
  "Return some lines of text with characters that CODING can encode."
  (let* ((chars (seq-filter (lambda (char)
                              (not (unencodable-char-position
                                    0 1 coding nil (string char))))
                            (delete-dups (append aqd-coding-candidates nil))))
         (line (lambda (n)
                 (format "line %d %s\n" n
                         (apply #'string
                                (cl-loop for i below 4
                                         when chars
                                         collect (nth (% (+ (* 4 n) i) (length chars))
                                                      chars)))))))
    (concat (funcall line 1) (funcall line 2) (funcall line 3)
            "please change me now\n"
            (funcall line 4) (funcall line 5) (funcall line 6))))

(defun aqd-coding-systems ()
  "Return the coding systems to test, with each kind of line ends."
  (cl-loop for coding in (coding-system-list t)
           for eol = (coding-system-eol-type coding)
           append (if (vectorp eol) (append eol nil) (list coding))))

(defun aqd-coding-bytes (coding)
  "Return the bytes of a file in CODING, or nil if it cannot hold its own text."
  (let* ((text (aqd-coding-text coding))
         (bytes (ignore-errors (encode-coding-string text coding))))
    (and bytes
         (equal text (ignore-errors (decode-coding-string bytes coding)))
         bytes)))

(defun aqd-coding-changed (bytes coding)
  "Return a list of what BYTES in CODING may be after the change."
  (let ((change (lambda (text) (string-replace "change me" "changed it" text))))
    (list (encode-coding-string (funcall change (aqd-coding-text coding)) coding)
          (funcall change bytes))))

(defun aqd-coding-visited-text (coding)
  "Return the text of a buffer that visits the test's file.
It is visited in CODING, or if that is nil, in the one that Emacs detects."
  (with-temp-buffer
    (let ((coding-system-for-read coding))
      (insert-file-contents aqd-file))
    (buffer-substring-no-properties (point-min) (point-max))))

(defun aqd-coding-by-edit ()
  "Change the line by edit_file, and back.
Return the bytes after the first change, or a message if it was refused."
  (let* ((said (aqd-edit "change me" "changed it"))
         (bytes (aqd-disk)))
    (if (string-prefix-p "✓" said)
        (let ((back (aqd-edit "changed it" "change me")))
          (cons bytes (and (not (string-prefix-p "✓" back)) back)))
      (cons bytes said))))

(defun aqd-coding-by-review (coding)
  "Accept the change in a review and take it out again, with the file in CODING.
The value is as for `aqd-coding-by-edit'."
  (let* ((original (aqd-coding-visited-text coding))
         (modified (string-replace "change me" "changed it" original))
         (bytes nil)
         (said nil))
    (if (equal original modified)
        (cons (aqd-disk) "not there as text")
      (aqd-call original modified
                (lambda ()
                  (let ((is-in (agent-q-diff-accept-hunk)))
                    (setq bytes (aqd-disk))
                    (unless (and is-in (agent-q-diff-unapply-hunk))
                      (setq said (current-message))))
                  (agent-q-diff-reject-all)))
      (cons bytes (or said (and (null bytes) "refused"))))))

(defun aqd-coding-check (coding way is-open)
  "Check WAY, `edit' or `review', with a file in CODING.
If IS-OPEN, a buffer visits it in CODING.  Return non-nil if it was changed."
  (let ((bytes (aqd-coding-bytes coding)))
    (aqd-with-project ""
      (let ((coding-system-for-write 'no-conversion)
            (inhibit-message t))
        (write-region bytes nil aqd-file nil 'silent))
      (when is-open
        (let ((coding-system-for-read coding))
          (aqd-visit)))
      (pcase-let ((`(,changed . ,said)
                   (if (eq way 'edit)
                       (aqd-coding-by-edit)
                     (aqd-coding-by-review (and is-open coding))))
                  (what (list coding way (if is-open 'open 'not-open))))
        ;; Only the change, and nothing at all if it was refused.
        (should (equal (cons what t)
                       (cons what (and (member changed
                                               (cons bytes (aqd-coding-changed bytes coding)))
                                       t))))
        (should (equal (cons what bytes)
                       (cons what (if (and said (not (equal changed bytes)))
                                      (list said changed)
                                    (aqd-disk)))))
        (not (equal changed bytes))))))

(defun aqd-coding-check-all (way is-open)
  "Check every coding system by WAY; IS-OPEN is as for `aqd-coding-check'.
A tenth may be refused if Emacs is told the coding system, and a fifth if it
must detect it, since EBCDIC is then not recognized as text."
  (let ((n 0)
        (refused nil)
        (part (if is-open 10 5))
        (inhibit-message t))
    (dolist (coding (aqd-coding-systems))
      (when (aqd-coding-bytes coding)
        (setq n (1+ n))
        (unless (aqd-coding-check coding way is-open)
          (push coding refused))))
    (should (< 100 n))
    (should (equal (list way is-open (length refused) refused)
                   (list way is-open (min (length refused) (/ n part)) refused)))))

(ert-deftest aqd-coding-every-one-by-edit-not-open ()
  :tags '(slow)
  (aqd-coding-check-all 'edit nil))

(ert-deftest aqd-coding-every-one-by-edit-open ()
  :tags '(slow)
  (aqd-coding-check-all 'edit t))

(ert-deftest aqd-coding-every-one-by-review-not-open ()
  :tags '(slow)
  (aqd-coding-check-all 'review nil))

(ert-deftest aqd-coding-every-one-by-review-open ()
  :tags '(slow)
  (aqd-coding-check-all 'review t))

;;;; Coding systems bound by callers, and lone surrogates

(defmacro aqd-coding-with-bytes (bytes &rest body)
  "Run BODY in a project whose file has BYTES; return its bytes afterwards."
  (declare (indent 1) (debug t))
  `(aqd-with-project ""
     (aqd-put-bytes ,bytes aqd-file)
     ,@body
     (aqd-disk)))

(ert-deftest aqd-coding-what-a-caller-binds-for-writing-does-not-count ()
  ;; In batch, Emacs also writes its messages in that coding system.
  (dolist (coding '(latin-1-unix utf-8-dos utf-16 no-conversion))
    (dolist (is-open '(nil t))
      (should (equal "\303\251\nc\303\251\n"
                     (aqd-coding-with-bytes "\303\251\nb\n"
                       (when is-open (aqd-visit))
                       (let ((coding-system-for-write coding) (inhibit-message t))
                         (should (string-prefix-p "✓" (aqd-edit "b" "cé")))))))
      (should (equal "\303\251\nc\303\251\n"
                     (aqd-coding-with-bytes "\303\251\nb\n"
                       (when is-open (aqd-visit))
                       (let ((coding-system-for-write coding) (inhibit-message t))
                         (should (equal "accepted"
                                        (aqd-review "é\nb\n" "é\ncé\n" "a q"))))))))))

(ert-deftest aqd-coding-half-a-surrogate-pair-is-refused ()
  (dolist (is-open '(nil t))
    (should (equal "a\nb\n"
                   (aqd-coding-with-bytes "a\nb\n"
                     (when is-open (aqd-visit))
                     (should (string-search "U+D83D, half of a surrogate pair"
                                            (aqd-edit "b" "c\ud83d")))
                     (should (eq 'agent-q-diff-bad-target
                                 (car (aqd-review "a\nb\n" "a\nc\ud83d\n" "a q"))))
                     (should (eq 'agent-q-diff-bad-target
                                 (car (should-error
                                       (agent-q-diff-file-change-open-patch
                                        aqd-file
                                        "@@ -1,2 +1,2 @@\n a\n-b\n+\ud83d\n"))))))))))

(ert-deftest aqd-coding-text-beside-half-a-surrogate-pair-is-found ()
  (dolist (is-open '(nil t))
    (should (equal "a\nx\355\240\200y\nc\n"
                   (aqd-coding-with-bytes "a\nx\355\240\200y\nb\n"
                     (when is-open (aqd-visit))
                     (should (string-prefix-p "✓" (aqd-edit "b" "c"))))))
    ;; If the file has one, the text may have it, too.
    (should (equal "a\nz\355\240\200\nb\n"
                   (aqd-coding-with-bytes "a\nx\355\240\200y\nb\n"
                     (when is-open (aqd-visit))
                     (should (string-prefix-p "✓" (aqd-edit "x\ud800y" "z\ud800"))))))))

(ert-deftest aqd-coding-iso-2022-jp-keeps-the-charsets-of-its-lines ()
  "The 1978 and 1983 versions of JIS X 0208 have different escape sequences."
  (let* ((bytes "\e$@F|K\\\e(B one\n\e$BF|K\\\e(B two\nthree\n\e$@8l\e(B four\n")
         (changed (string-replace "three" "3" bytes)))
    (should (equal changed (aqd-coding-with-bytes bytes
                             (should (string-prefix-p "✓" (aqd-edit "three" "3"))))))
    (dolist (is-open '(nil t))
      (should (equal bytes
                     (aqd-coding-with-bytes bytes
                       (when is-open (aqd-visit))
                       (let ((original (aqd-coding-visited-text nil)))
                         ;; The whole text is removed and put back.
                         (aqd-call original "other\n"
                                   (lambda ()
                                     (should (agent-q-diff-accept-hunk))
                                     (should (equal "other\n" (aqd-disk)))
                                     (should (agent-q-diff-unapply-hunk))
                                     (agent-q-diff-reject-all))))))))))

;;;; save-buffer-coding-system

(defun aqd-coding-visit-to-save-as (coding)
  "Return a buffer that visits the test's file and will be saved as CODING."
  (with-current-buffer (aqd-visit)
    (setq-local save-buffer-coding-system coding)
    (current-buffer)))

(defun aqd-coding-alone (bytes coding)
  "Return BYTES after Emacs alone changes \"two\" to \"2\" in a buffer.
The buffer will be saved as CODING."
  (aqd-coding-with-bytes bytes
    (with-current-buffer (aqd-coding-visit-to-save-as coding)
      (aqd-retype "two" "2")
      (save-buffer))))

(defun aqd-coding-by-us (way bytes coding)
  "Return BYTES after the same change by WAY in a buffer to be saved as CODING."
  (aqd-coding-with-bytes bytes
    (aqd-coding-visit-to-save-as coding)
    (pcase-exhaustive way
      ('edit (should (string-prefix-p "✓" (aqd-edit "two" "2"))))
      ('review (let* ((old (with-current-buffer (aqd-visit) (buffer-string)))
                      (result (aqd-result old (string-replace "two" "2" old) "a q")))
                 (should (plist-get result :saved))
                 (should (equal 1 (plist-get result :in-file))))))
    (with-current-buffer (aqd-visit)
      (should-not (agent-q-diff-disk-unsaved-p (current-buffer)))
      (should (agent-q-diff-disk-in-file-p (current-buffer)))
      (should (coding-system-equal (coding-system-base save-buffer-coding-system)
                                   (coding-system-base coding)))
      (set-visited-file-modtime)
      ;; The same must follow without the note that we wrote the file.
      (setq agent-q-diff-disk--agreed nil)
      (agent-q-diff-disk-watch (current-buffer))
      (should (agent-q-diff-disk-in-file-p (current-buffer))))))

(ert-deftest aqd-coding-what-a-buffer-is-to-be-saved-as-is-heeded ()
  "Emacs reads a file in one coding system and can write it in another."
  (pcase-dolist (`(,coding ,char)
                 '((latin-1 "é") (latin-1-unix "é") (latin-1-dos "é") (utf-8-dos "é")
                   (utf-8-with-signature-unix "é") (utf-16le-unix "é") (mac-roman-mac "é")
                   (iso-2022-jp-unix "日") (euc-jp-dos "日")))
    (dolist (bytes (list (encode-coding-string (concat char " one\ntwo\n") 'utf-8-unix)
                         (encode-coding-string (concat char " one\ntwo\n") 'utf-8-dos)
                         "one\ntwo\n"))
      (dolist (way '(edit review))
        (ert-info ((format "%S" (list coding bytes way)) :prefix "case: ")
          (should (equal (aqd-coding-by-us way bytes coding)
                         (aqd-coding-alone bytes coding))))))))

(ert-deftest aqd-coding-what-cannot-be-saved-as-that-is-refused ()
  (dolist (coding '(latin-1-unix euc-jp-unix))
    (dolist (way '(edit review))
      (let ((bytes (encode-coding-string "one\ntwo\n" 'utf-8-unix)))
        (should
         (equal bytes
                (aqd-coding-with-bytes bytes
                  (aqd-coding-visit-to-save-as coding)
                  (if (eq way 'edit)
                      (should (string-search "cannot encode the character"
                                             (aqd-edit "two" "٢")))
                    (aqd-call "one\ntwo\n" "one\n٢\n"
                              (lambda ()
                                (should-not (agent-q-diff-accept-hunk))
                                (agent-q-diff-reject-all))))
                  (with-current-buffer (aqd-visit)
                    (should (equal (buffer-string) "one\ntwo\n"))))))))))

(ert-deftest aqd-coding-a-buffer-to-be-saved-as-another-can-be-made-utf-8 ()
  (should
   (equal (encode-coding-string "one\n٢\n" 'utf-8-unix)
          (aqd-coding-with-bytes "one\ntwo\n"
            (agent-q-diff-coding-recode (aqd-coding-visit-to-save-as 'latin-1-unix))
            (should (string-prefix-p "✓" (aqd-edit "two" "٢")))))))

;;;; Characters that a coding system cannot hold

(ert-deftest aqd-coding-a-character-that-the-coding-cannot-hold ()
  (aqd-with-file "a\nb\n"
    (with-current-buffer (aqd-visit)
      (setq buffer-file-coding-system 'iso-latin-1-unix))
    (aqd-call "a\nb\n" "a\n€\n"
              (lambda ()
                (should-not (agent-q-diff-accept-hunk))
                (should (equal (aqd-disk) "a\nb\n"))
                (agent-q-diff-recode-target)
                (should (agent-q-diff-accept-hunk))
                (agent-q-diff-finish)))
    (should (equal (aqd-disk) (encode-coding-string "a\n€\n" 'utf-8)))))

(ert-deftest aqd-coding-unsaved-text-that-the-coding-cannot-hold ()
  (let ((agent-q-diff-save 'always))
    (aqd-with-file aqd-original
      (aqd-target-refuses (progn
                            (setq buffer-file-coding-system 'iso-latin-1-unix)
                            (goto-char (point-max))
                            (insert "€\n"))
        (setq buffer-file-coding-system 'utf-8-unix)))))

;;;; Files in other coding systems

(ert-deftest aqd-coding-latin-1-stays-latin-1 ()
  (should (equal "\xe9\nB\n"
                 (let ((coding-system-for-read 'iso-latin-1))
                   (aqd-target-bytes "\xe9\nb\n" "é\nb\n" "é\nB\n")))))

(ert-deftest aqd-coding-utf-16-stays-utf-16 ()
  (dolist (coding '(utf-16le-with-signature-dos utf-16be-with-signature-unix))
    (should (equal (encode-coding-string "é\n€\nC\n" coding)
                   (aqd-target-bytes (encode-coding-string "é\n€\nc\n" coding)
                                     "é\n€\nc\n" "é\n€\nC\n")))))

(ert-deftest aqd-coding-raw-bytes-stay ()
  (let ((raw (decode-coding-string "\xff\xfe\x80" 'utf-8)))
    (should (equal "\xff\xfe\x80\nB\n"
                   (let ((coding-system-for-read 'utf-8-unix))
                     (aqd-target-bytes "\xff\xfe\x80\nb\n" (concat raw "\nb\n")
                                       (concat raw "\nB\n")))))))

(ert-deftest aqd-coding-nul-bytes-stay ()
  (let ((coding-system-for-read 'utf-8-unix))
    (should (equal "\0\nB\n" (aqd-target-bytes "\0\nb\n" "\0\nb\n" "\0\nB\n")))))

(ert-deftest aqd-coding-plain-utf-8-is-what-decoding-finds ()
  (random "agent-q-diff")
  (let ((n-plain 0))
    (dotimes (number 3000)
      (let ((bytes (aqd-coding-random-bytes (% number 12))))
        (with-coding-priority (list (aref [utf-8 utf-8 iso-latin-1 japanese-iso-8bit]
                                          (% number 4)))
          (let ((slow (ignore-error agent-q-diff-bad-target
                        (agent-q-diff-coding--decode-by
                         "x" bytes (agent-q-diff-coding--candidates nil bytes))))
                (fast (ignore-error agent-q-diff-bad-target
                        (agent-q-diff-coding-decode "x" nil bytes))))
            (should (equal (list bytes fast) (list bytes slow)))
            (when (agent-q-diff-coding--plain-utf-8 bytes)
              (cl-incf n-plain))))))
    (should (< 300 n-plain 1400))))

(defun aqd-coding-random-bytes (length)
  "Return the bytes of LENGTH random pieces of text in random coding systems."
  (let ((pieces ["a" "b" "\n" "\n" "\r\n" "\e" "\0" "\16" "\17" "\303\244" "\343\201\202" "\344"
                 "\340\200\200" "\340\270\201" "\355\240\200" "\355\225\234" "\300\200"
                 "\360\237\230\200" "\360\200\200\200" "\364\220\200\200" "\370\210\200\200"
                 "\357\273\277" "\377"]))
    (apply #'concat
           (cl-loop repeat length
                    collect (aref pieces (if (zerop (random 4))
                                             (random (length pieces))
                                           (random 4)))))))

(ert-deftest aqd-coding-a-name-declares-a-coding-system-by-all-its-regexps ()
  (let ((auto-coding-alist '(("\\.raw\\'" . no-conversion)))
        (file-coding-system-alist '(("\\.foo\\'" . (koi8-r . koi8-r)) ("\\`a.*b\\'" . latin-1))))
    (cl-flet ((declared (name) (agent-q-diff-coding-declares-p name nil)))
      (should (equal '(nil no-conversion koi8-r latin-1)
                     (mapcar #'declared '("x.txt" "x.raw" "x.foo" "a-b"))))
      ;; What is added or changed later counts as well.
      (push '("\\.bar\\'" . utf-16) file-coding-system-alist)
      (should (equal 'utf-16 (declared "x.bar")))
      (setf (cdr (last auto-coding-alist)) (list '("\\.late\\'" . koi8-r)))
      (should (equal 'koi8-r (declared "x.late")))
      ;; One that refers to its groups.
      (setq file-coding-system-alist '(("\\.\\(.\\)\\1\\'" . koi8-r)))
      (should (equal '(koi8-r nil) (mapcar #'declared '("x.aa" "x.ab")))))))

;;;; What a file declares

(defconst aqd-coding-declaring
  '(("a.py" latin-1 "# -*- coding: latin-1 -*-\nx = 'é'\n" "# -*- coding: utf-8 -*-\nx = 'é'\n" t)
    ("a.py" latin-1 "# -*- coding: latin-1 -*-\nx = 'é'\n" "x = 'é'\n" t)
    ("a.py" utf-8 "x = 'é'\n" "# vim: set fileencoding=latin-1 :\nx = 'é'\n" t)
    ("a.py" utf-8 "x = 'é'\n" "#!/usr/bin/python\n# coding=latin1\nx = 'é'\n" t)
    ("a.py" utf-8 "x = 'é'\n" "#!/usr/bin/python\n# coding=utf8\nx = 'é'\n" nil)
    ("a.py" utf-8 "x = 'e'\n" "# coding: cp1252\nx = 'e'\n" nil)
    ("a.el" utf-8 "(é)\n" "(é)\n;; Local Variables:\n;; coding: latin-1\n;; End:\n" t)
    ("a.html" utf-8 "<html>\n<title>é</title>\n"
     "<html>\n<meta charset=\"windows-1252\">\n<title>é</title>\n" t)
    ("a.css" utf-8 "a { content: 'é' }\n" "@charset \"iso-8859-15\";\na { content: 'é' }\n" t)
    ("a.xml" utf-8 "<a>é</a>\n" "<?xml version=\"1.0\"\n encoding='ISO-8859-1'?>\n<a>é</a>\n" t)
    ("a.txt" utf-8 "é\n" "an encoding of é\n" nil))
  "Lists (NAME CODING ORIGINAL MODIFIED IS-CONTRADICTED).")

(defmacro aqd-coding-with-declaring (file &rest body)
  "Run BODY with the file `aqd-file', for FILE of `aqd-coding-declaring'."
  (declare (indent 1))
  `(aqd-with-file ""
     (let ((aqd-file (expand-file-name (car ,file) (file-name-directory aqd-file)))
           (inhibit-message t))
       (let ((coding-system-for-write (nth 1 ,file)))
         (write-region (nth 2 ,file) nil aqd-file nil 'silent))
       (unwind-protect (progn ,@body)
         (when-let ((buffer (find-buffer-visiting aqd-file)))
           (with-current-buffer buffer (set-buffer-modified-p nil))
           (kill-buffer buffer))))))

(defun aqd-coding-declared-note (review)
  "Return whether REVIEW has a note that names the command which recodes."
  (with-current-buffer (agent-q-diff-session-buffer review)
    (save-excursion
      (goto-char (point-min))
      (and (re-search-forward "^# Note: .*agent-q-diff-recode-target" nil t) t))))

(ert-deftest aqd-coding-a-hunk-that-contradicts-what-the-file-declares-is-said ()
  "Above the diff and to the agent, whether it sends texts or a diff."
  (dolist (file aqd-coding-declaring)
    (pcase-let ((`(,name ,_ ,original ,modified ,is-contradicted) file))
      (ert-info ((format "%s %S" name modified))
        (aqd-coding-with-declaring file
          (let ((review (agent-q-diff-review aqd-file original modified "d" #'ignore)))
            (should (eq is-contradicted (aqd-coding-declared-note review)))
            (agent-q-diff-accept review 0)
            (agent-q-diff-end review)
            (should (eq is-contradicted
                        (and (string-match-p
                              "WARNING: The file .*agent-q-diff-recode-target"
                              (plist-get (agent-q-diff-session-result review) :message))
                             t)))))
        (aqd-coding-with-declaring file
          (let* ((lines (lambda (sign text)
                          (replace-regexp-in-string "^\\(.\\)" (concat sign "\\1") text)))
                 (review (agent-q-diff-review-diff
                          (format "--- a/%s\n+++ b/%s\n@@ -1,%d +1,%d @@\n%s%s" name name
                                  (cl-count ?\n original) (cl-count ?\n modified)
                                  (funcall lines "-" original) (funcall lines "+" modified))
                          (file-name-directory aqd-file) #'ignore)))
            (should (eq is-contradicted (aqd-coding-declared-note review)))
            (agent-q-diff-cancel review)))))))

(ert-deftest aqd-coding-the-command-that-recodes-follows-what-the-file-declares ()
  (dolist (file aqd-coding-declaring)
    (pcase-let ((`(,name ,_ ,original ,modified ,is-contradicted) file))
      (when is-contradicted
        (ert-info ((format "%s %S" name modified))
          (aqd-coding-with-declaring file
            (let ((review (agent-q-diff-review aqd-file original modified "d" #'ignore)))
              (with-current-buffer (agent-q-diff-session-buffer review)
                (agent-q-diff-recode-target))
              (agent-q-diff-accept review 0)
              (agent-q-diff-end review)
              (should-not (string-search "WARNING" (plist-get (agent-q-diff-session-result review)
                                                              :message)))
              (should (equal modified
                             (decode-coding-string
                              (aqd-disk)
                              (or (agent-q-diff-coding-declared modified name) 'utf-8)))))))))))

(ert-deftest aqd-coding-overlong-utf-8-keeps-its-bytes ()
  "In a file that is open or not, which has no unsaved edits."
  (dolist (bytes '("a\nx\300\257y\nb\n" "a\nx\340\200\257y\nb\n" "a\n\360\200\200\257\nb\n"
                   "a\n\303\251\300\257\nb\n" "a\n\300\200\nb\n"))
    (dolist (is-open '(nil t))
      (dolist (is-review '(nil t))
        (ert-info ((format "%S %s %s" bytes is-open is-review))
          (aqd-with-file ""
            (let ((inhibit-message t)
                  (default-directory (file-name-directory aqd-file))
                  (agent-q-diff-project-root (file-name-directory aqd-file)))
              (let ((coding-system-for-write 'no-conversion))
                (write-region bytes nil aqd-file nil 'silent))
              (when is-open
                (aqd-visit))
              (if is-review
                  (let ((review (agent-q-diff-review-diff
                                 "--- a/target.txt\n+++ b/target.txt\n@@ -3 +3,2 @@\n-b\n+B\n+new\n"
                                 default-directory #'ignore)))
                    (with-current-buffer (agent-q-diff-session-buffer review)
                      (should-not (string-search "Note:" (buffer-string))))
                    (agent-q-diff-accept review 0)
                    (agent-q-diff-end review))
                (let ((agent-q-diff-tools-policy (lambda (&rest _) 'allow)))
                  (should (string-prefix-p
                           "✓ Edit applied"
                           (agent-q-diff-tools-call
                            "edit_file" '(:path "target.txt" :old_str "b\n"
                                          :new_str "B\nnew\n"))))))
              (should (equal (aqd-disk) (string-replace "b\n" "B\nnew\n" bytes))))))))))

;;; Line ends of a proposal and of its target

(defconst aqd-line-ends-files
  '(("CRLF" "one\r\ntwo\r\nthree\r\nfour\r\n")
    ("CRLF, last line without" "one\r\ntwo\r\nthree\r\nfour")
    ("CRLF, last line with a lone CR" "one\r\ntwo\r\nthree\r\nfour\r")
    ("CR" "one\rtwo\rthree\rfour\r")
    ("CR, last line without" "one\rtwo\rthree\rfour")
    ("CR, not ASCII" "one\rtwo\rdre\xc3\xaf\rfour\r"))
  "Contents of such files, (NAME BYTES).")

(defun aqd-line-ends-git-diff (old new)
  "Return git's diff from the bytes OLD to NEW, as text."
  (let ((default-directory (file-name-directory aqd-file)))
    (pcase-dolist (`(,name . ,bytes) `(("a" . ,old) ("b" . ,new)))
      (let ((coding-system-for-write 'no-conversion))
        (write-region bytes nil name nil 'silent)))
    (with-temp-buffer
      (let ((coding-system-for-read 'utf-8-unix))
        (call-process "git" nil t nil "diff" "--no-index" "--text" "a" "b"))
      (buffer-string))))

(defun aqd-line-ends-call (tool old new)
  "Call TOOL to change the bytes OLD to NEW, with a user who accepts all."
  (let ((default-directory (file-name-directory aqd-file))
        (agent-q-diff-project-root (file-name-directory aqd-file))
        (agent-q-diff-tools-policy 'allow)
        (text (lambda (bytes) (decode-coding-string bytes 'utf-8-unix))))
    (aqd-play
     (if (equal tool "edit_file") "" "C-c C-c")
     (lambda ()
       (agent-q-diff-tools-call
        tool
        (append '(:path "target.txt" :description "A test.")
                (pcase tool
                  ("propose_file_edit"
                   (list :original (funcall text old) :modified (funcall text new)))
                  ("propose_patch"
                   (list :diff (aqd-line-ends-git-diff old new)))
                  ("edit_file"
                   (list :old_str (funcall text old) :new_str (funcall text new))))))))))

(defun aqd-line-ends-check (old new)
  "Check that each tool changes a file with the bytes OLD to NEW."
  (dolist (tool '("propose_file_edit" "propose_patch" "edit_file"))
    (dolist (is-open '(nil t))
      (aqd-with-file ""
        (aqd-put-bytes old aqd-file)
        (when is-open
          (aqd-visit))
        (let ((message (aqd-line-ends-call tool old new)))
          (should (equal (list tool old new) (list tool old (aqd-disk))))
          (should (string-prefix-p "✓" message)))))))

(ert-deftest aqd-line-ends-a-line-in-the-middle-is-found-and-no-other-byte-changes ()
  (pcase-dolist (`(,_ ,bytes) aqd-line-ends-files)
    (aqd-line-ends-check bytes (string-replace "two" "TWO" bytes))))

(ert-deftest aqd-line-ends-the-last-line-is-found ()
  (pcase-dolist (`(,_ ,bytes) aqd-line-ends-files)
    (aqd-line-ends-check bytes (string-replace "four" "FOUR" bytes))))

(ert-deftest aqd-line-ends-a-line-is-added-and-taken-away ()
  (dolist (end '("\r\n" "\r"))
    (let ((short (concat "one" end "two" end "three" end))
          (long (concat "one" end "two" end "new" end "three" end)))
      (aqd-line-ends-check short long)
      (aqd-line-ends-check long short))))

(ert-deftest aqd-line-ends-a-hunk-of-a-cr-file-is-decided-by-itself ()
  (aqd-with-file ""
    (let* ((line (lambda (n) (format "line %d\r" n)))
           (old (mapconcat line (number-sequence 1 20) ""))
           (new (string-replace "line 2\r" "two\r"
                                (string-replace "line 19\r" "nineteen\r" old)))
           review)
      (aqd-put-bytes old aqd-file)
      (setq review (agent-q-diff-review-patch
                    aqd-file (aqd-line-ends-git-diff old new) "A test." #'ignore))
      (agent-q-diff-accept review 1)
      (should (equal (aqd-disk) (string-replace "line 19\r" "nineteen\r" old)))
      (agent-q-diff-unapply review 1)
      (should (equal (aqd-disk) old))
      (agent-q-diff-cancel review))))

(ert-deftest aqd-line-ends-an-agent-may-write-lf-for-cr ()
  (dolist (tool '("propose_file_edit" "propose_patch" "edit_file"))
    (aqd-with-file ""
      (aqd-put-bytes "one\rtwo\rthree\r" aqd-file)
      (aqd-line-ends-call tool "one\ntwo\nthree\n" "one\nTWO\nthree\n")
      (should (equal (list tool (aqd-disk)) (list tool "one\rTWO\rthree\r"))))))

;;;; Files

(ert-deftest aqd-line-ends-crlf-files-stay-crlf ()
  (dolist (eol '("\n" "\r\n"))
    (should (equal "A\r\nb\r\nc\r\n"
                   (aqd-target-bytes "a\r\nb\r\nc\r\n"
                                     (string-replace "\n" eol "a\nb\nc\n")
                                     (string-replace "\n" eol "A\nb\nc\n"))))))

(ert-deftest aqd-line-ends-mixed-line-ends-stay-mixed ()
  (should (equal "A\nb\r\nc\n"
                 (aqd-target-bytes "a\nb\r\nc\n" "a\nb\r\nc\n" "A\nb\r\nc\n"))))

(ert-deftest aqd-line-ends-a-cr-before-crlf-stays ()
  (should (equal "a\r\r\nb\r\nC\r\n"
                 (aqd-target-bytes "a\r\r\nb\r\nc\r\n" "a\r\r\nb\r\nc\r\n"
                                   "a\r\r\nb\r\nC\r\n")))
  ;; As the buffer has it.
  (should (equal "a\r\r\nb\r\nC\r\n"
                 (aqd-target-bytes "a\r\r\nb\r\nc\r\n" "a\r\nb\nc\n"
                                   "a\r\nb\nC\n"))))

(ert-deftest aqd-line-ends-no-file-has-the-line-ends-of-its-text ()
  (let* ((file (cl-letf (((default-value 'buffer-file-coding-system) 'utf-8-dos))
                 (agent-q-diff-file-change-open "/nowhere/a" "a\nb\n" "a\r\nb\r\n" nil t)))
         (change (agent-q-diff-change-of file)))
    (should (eq 'edited (agent-q-diff-decide-hunk change 'accept 0)))
    (should (equal "a\r\nb\r\n"
                   (agent-q-diff-text-in (agent-q-diff-file-change-buffer file))))
    (agent-q-diff-change-close change)))

(ert-deftest aqd-line-ends-byte-order-mark-stays ()
  (should (equal "\xef\xbb\xbf\ A\nb\n"
                 (aqd-target-bytes "\xef\xbb\xbf\ a\nb\n" "\ufeff\ a\nb\n"
                                   "\ufeff\ A\nb\n")))
  (should (equal "\xef\xbb\xbf\ A\nb\n"
                 (aqd-target-bytes "\xef\xbb\xbf\ a\nb\n" "a\nb\n" "A\nb\n"))))

(ert-deftest aqd-line-ends-a-byte-order-mark-is-neither-doubled-nor-a-change ()
  "Whether a proposal's texts have it, one of them or none, as texts or as a diff."
  (pcase-dolist (`(,before ,after)
                 (append
                  (mapcar (lambda (coding)
                            (list (encode-coding-string "a\nb\nc\n" coding)
                                  (encode-coding-string "a\nB\nc\n" coding)))
                          '(utf-8-with-signature-unix utf-16le-with-signature-unix
                            utf-16be-with-signature-dos utf-8-unix))
                  ;; The mark is in the buffer's text.
                  '(("\xef\xbb\xbf# coding: utf-8\nb\nc\n" "\xef\xbb\xbf# coding: utf-8\nB\nc\n"))))
    (pcase-dolist (`(,old . ,new) '(("" . "") ("\ufeff" . "\ufeff") ("\ufeff" . "") ("" . "\ufeff")))
      (ert-info ((format "%S %S %S" before old new))
        (let ((top (if (string-search "coding" before) "# coding: utf-8\n" "a\n")))
          (should (equal after (aqd-target-bytes before (concat old top "b\nc\n")
                                                 (concat new top "B\nc\n"))))
          (aqd-with-file ""
            (let ((coding-system-for-write 'no-conversion)
                  (inhibit-message t))
              (write-region before nil aqd-file nil 'silent)
              (setq coding-system-for-write nil)
              (let ((review (agent-q-diff-review-diff
                             (concat "--- a/target.txt\n+++ b/target.txt\n@@ -1,3 +1,3 @@\n"
                                     (if (equal old new)
                                         (concat " " old top)
                                       (concat "-" old top "+" new top))
                                     "-b\n+B\n c\n")
                             (file-name-directory aqd-file) #'ignore)))
                (agent-q-diff-accept review 0)
                (agent-q-diff-end review))
              (should (equal after (aqd-disk))))))))))

(ert-deftest aqd-line-ends-proposal-without-cr-for-a-text-with-cr ()
  ;; The file is read as it is, so that the CRs are in the buffer.
  (let ((coding-system-for-read 'utf-8-unix))
    (should (equal "A\r\nb\r\nc\r\n"
                   (aqd-target-bytes "a\r\nb\r\nc\r\n" "a\nb\nc\n" "A\nb\nc\n")))))

(ert-deftest aqd-line-ends-new-file-with-crlf-has-crlf ()
  (aqd-with-file ""
    (delete-file aqd-file)
    (should (equal "accepted" (aqd-review "" "a\r\nb\r\n" "a q")))
    (should (equal (aqd-disk) "a\r\nb\r\n"))))

(ert-deftest aqd-line-ends-line-ends-alone-are-no-identical-texts ()
  (pcase-dolist (`(,original . ,modified) '(("a\r\nb\r\n" . "a\nb\n")
                                            ("a\nb\n" . "a\r\nb\r\n")
                                            ("a\r\nb\r\n" . "a\r\nb\n")))
    (aqd-with-file "a\r\nb\r\n"
      (let ((err (aqd-review original modified "q")))
        (should (eq 'agent-q-diff-identical (car err)))
        (should (string-match-p "only line ends" (cadr err)))))))

(ert-deftest aqd-line-ends-line-ends-that-the-file-has-are-not-doubled ()
  (aqd-with-file "a\r\nb\r\n"
    (aqd-review "a\nb\n" "a\r\nB\r\n" "a q")
    (should (equal (aqd-disk) "a\r\nB\r\n"))))

;;;; Diffs as git makes them

(defun aqd-line-ends-apply (bytes diff)
  "Return the file's bytes after all of DIFF was accepted for BYTES."
  (aqd-with-file ""
    (aqd-put-bytes bytes aqd-file)
    (let ((review (agent-q-diff-review-patch aqd-file diff "d" nil)))
      (aqd-in-diff review (agent-q-diff-accept-all))
      (aqd-disk))))

(ert-deftest aqd-line-ends-git-ends-its-headers-with-LF ()
  (should (equal (aqd-line-ends-apply "a\r\nb\r\nc\r\n"
                                      (concat "--- a/target.txt\n+++ b/target.txt\n"
                                              "@@ -1,3 +1,3 @@ x\n a\r\n-b\r\n+B\r\n c\r\n"))
                 "a\r\nB\r\nc\r\n"))
  (should (equal (aqd-line-ends-apply "a\r\nb"
                                      (concat "@@ -1,2 +1,2 @@\n a\r\n"
                                              "-b\n\\ No newline at end of file\n"
                                              "+B\r\n"))
                 "a\r\nB\r\n")))

(ert-deftest aqd-line-ends-line-ends-that-are-in-the-text-stay ()
  ;; Some lines end with CRLF, and the diff shows which.
  (should (equal (aqd-line-ends-apply "a\r\nb\nc\r\n"
                                      "@@ -1,2 +1,2 @@\n a\r\n-b\n+B\r\n")
                 "a\r\nB\r\nc\r\n"))
  (should (equal (aqd-line-ends-apply "" "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\r\n")
                 "a\r\n")))

;; If all lines of a file end with CRLF, its buffer has no CR.
(ert-deftest aqd-line-ends-line-ends-alone-are-not-in-the-file-already ()
  (aqd-with-file ""
    (aqd-put-bytes "a\r\nb\r\n" aqd-file)
    (dolist (diff '("@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+a\n+b\n"
                    "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n"
                    "@@ -1,2 +1,2 @@\n-a\n-b\n+a\r\n+b\r\n"
                    "@@ -1 +1 @@\r\n-a\r\n+a\n@@ -2 +2 @@\n-b\r\n+b\n"))
      (let ((result (agent-q-diff-session-result
                     (agent-q-diff-review-patch aqd-file diff "d" nil))))
        (should (eq 'agent-q-diff-identical (plist-get result :error)))
        (should (string-match-p "only line ends" (plist-get result :message)))))
    (should-not (agent-q-diff-open-reviews))
    (should (equal (aqd-disk) "a\r\nb\r\n"))))

(ert-deftest aqd-line-ends-line-ends-that-change-with-the-line-are-the-files ()
  (dolist (lines '("-b\r\n+B\n" "-b\n+B\r\n" "-b\r\n+B\r\n" "-b\n+B\n"))
    (should (equal (aqd-line-ends-apply "a\r\nb\r\n" (concat "@@ -1,2 +1,2 @@\n a\n" lines))
                   "a\r\nB\r\n"))))

(ert-deftest aqd-line-ends-line-ends-change-where-they-are-in-the-text ()
  (should (equal (aqd-line-ends-apply "a\r\nb\r\nc\n" "@@ -1,3 +1,3 @@\n a\r\n-b\r\n+b\n c\n")
                 "a\r\nb\nc\n"))
  (should (equal (aqd-line-ends-apply "a\nb\n" "@@ -1,2 +1,2 @@\n a\n-b\n+b\r\n")
                 "a\nb\r\n")))

(ert-deftest aqd-line-ends-byte-order-mark-in-a-diff ()
  (should (equal (aqd-line-ends-apply "\357\273\277a\nb\n"
                                      "@@ -1,2 +1,2 @@\n-\ufeffa\n+\ufeffA\n b\n")
                 "\357\273\277A\nb\n")))

(ert-deftest aqd-line-ends-a-diff-with-crlf-fits-a-file-with-crlf ()
  (aqd-with-file (string-replace "\n" "\r\n" (aqd-numbered 10))
    (aqd-with-diff (string-replace "\n" "\r\n" aqd-bare-diff-of-two)
      (aqd-goto-hunk 1)
      (should (sly-agent-q-diff-accept-hunk)))
    (should (equal (aqd-disk)
                   (string-replace "\n" "\r\n"
                                   (aqd-numbered 10 '((2 . "LINE 2"))))))))

;;; Listeners to the edits of a buffer

(defun aqd-outside-blocks (n &optional changes)
  "Return N identical functions; CHANGES is an alist from number to a line.
The line is put into the function of that number, counted from 1."
  (cl-loop for number from 1 to n
           for line = (alist-get number changes)
           concat (concat "(defun f ()\n  (a)\n" (and line (concat line "\n"))
                          "  (b))\n\n")))

(defun aqd-outside-raw (bytes)
  "Return BYTES, which are not UTF-8, as a buffer has them."
  (decode-coding-string bytes 'utf-8-unix))

(ert-deftest aqd-outside-typing-above-and-below-in-equal-blocks ()
  (aqd-with-review (aqd-outside-blocks 8) (aqd-outside-blocks 8 '((3 . "  new") (6 . "  more")))
    (aqd-in-target (insert ";; top\n") (forward-line 20) (insert ";; middle\n"))
    (should (aqd-accept 2))
    (should (aqd-accept 1))
    (aqd-in-target
      (should (search-forward ";; top\n"))
      (delete-region (match-beginning 0) (match-end 0))
      (should (search-forward ";; middle\n"))
      (delete-region (match-beginning 0) (match-end 0)))
    (should (equal (aqd-target)
                   (aqd-outside-blocks 8 '((3 . "  new") (6 . "  more")))))))

(ert-deftest aqd-outside-undo-and-redo-of-a-hunk-are-known ()
  "With an edit of the user's in the file, whether or not anybody looks between."
  (dolist (line '("line 10\nNEW" "NEW" nil))
    (dolist (is-looking '(nil t))
      (ert-info ((format "%S %s" line is-looking))
        (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 `((10 . ,line)))
          (aqd-in-target (insert "mine\n") (undo-boundary))
          (should (aqd-accept 1))
          (let ((accepted (aqd-target)))
            (aqd-in-target (undo-boundary) (let (last-command) (undo)) (undo-boundary))
            (when is-looking
              (should (equal "[APPLIED, but not in the file]" (aqd-sign 1))))
            (aqd-in-target (let ((last-command 'ignore)) (undo)) (undo-boundary))
            (should (equal accepted (aqd-target))))
          (should (equal "[APPLIED]" (aqd-sign 1)))
          (should (eq 'edited (agent-q-diff-unapply agent-q-diff-buffer-review 0)))
          (should (equal (aqd-target) (concat "mine\n" (aqd-numbered 20)))))))))

(ert-deftest aqd-outside-undo-and-redo-of-all-that-was-done-are-known ()
  "Hunks that are accepted, one that is unapplied, and edits between them."
  (aqd-with-review (aqd-numbered 40) (aqd-numbered 40 '((10 . "TEN") (30 . "line 30\nNEW")))
    (let ((states (list (cons (aqd-target) '(nil nil)))))
      (pcase-dolist (`(,step . ,is-in)
                     `((,(lambda ()
                           (aqd-in-target (forward-line 20) (forward-char 2)
                                          (mapc #'insert '("m" "i" "n" "e"))))
                        nil nil)
                       (,(lambda () (aqd-accept 1)) t nil)
                       (,(lambda () (aqd-in-target (forward-line 25) (insert "a\nb\n"))) t nil)
                       (,(lambda () (aqd-accept 2)) t t)
                       (,(lambda () (agent-q-diff-unapply agent-q-diff-buffer-review 0)) nil t)))
        (funcall step)
        (aqd-in-target (undo-boundary))
        (push (cons (aqd-target) is-in) states))
      (dolist (_ '(1 2))
        (dolist (states (list (cdr states) (cdr (reverse states))))
          (let ((last-command 'ignore))
            (pcase-dolist (`(,text . ,is-in) states)
              (aqd-in-target (undo) (undo-boundary))
              (setq last-command 'undo)
              (should (equal text (aqd-target)))
              (should (equal (list (and (car is-in) "[PENDING, but in the file]")
                                   (if (cadr is-in) "[APPLIED]"
                                     "[APPLIED, but not in the file]"))
                             (list (aqd-sign 1) (aqd-sign 2)))))))))))

(ert-deftest aqd-outside-what-another-hook-edits-is-noticed ()
  "Emacs runs no hooks for it, and the number of characters stays the same."
  (pcase-dolist (`(,hook . ,depth) '((after-change-functions . nil)
                                     (after-change-functions . 90)
                                     (before-change-functions . nil)
                                     (before-change-functions . 90)))
    (ert-info ((format "%s %s" hook depth))
      (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 '((10 . "LINE 10")))
        (aqd-in-target
          (add-hook hook (lambda (&rest _)
                           (save-excursion
                             (save-match-data
                               (goto-char (point-min))
                               (let ((case-fold-search nil))
                                 (when (re-search-forward "^line 10$" nil t)
                                   (replace-match "mine 10" t t))))))
                    depth t)
          (goto-char (point-min))
          (insert "x"))
        (should-not (aqd-accept 1))
        (should (string-search "mine 10" (aqd-target)))))))

(ert-deftest aqd-outside-typing-in-the-lines-of-a-hunk ()
  (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 '((10 . "ten")))
    (aqd-in-target (forward-line 9) (end-of-line) (insert "!"))
    (should (equal (aqd-sign 1) "[DOES NOT APPLY]"))
    (should-not (aqd-accept 1))
    (aqd-in-target (forward-line 9) (end-of-line) (delete-char -1))
    (should-not (aqd-sign 1))
    (should (aqd-accept 1))))

(ert-deftest aqd-outside-typing-where-lines-are-to-be-inserted ()
  (aqd-with-review (aqd-outside-blocks 4) (aqd-outside-blocks 4 '((2 . "  new")))
    (aqd-in-target (forward-line 6) (insert ";; mine\n"))
    (should (equal (aqd-sign 1) "[DOES NOT APPLY]"))
    (aqd-in-target (forward-line 6) (delete-region (point) (line-beginning-position 2)))
    (should-not (aqd-sign 1))
    (should (aqd-accept 1))
    (should (equal (aqd-target) (aqd-outside-blocks 4 '((2 . "  new")))))))

(ert-deftest aqd-outside-next-to-an-edit-is-shown-and-applies ()
  (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 '((10 . "ten")))
    (aqd-in-target (forward-line 10) (insert "mine\n"))
    (should (equal (aqd-sign 1) "[PENDING, next to your edit]"))
    (should (aqd-accept 1))
    (should (equal (aqd-sign 1) "[APPLIED, next to your edit]"))
    (should (equal (aqd-target)
                   (string-replace "ten\n" "ten\nmine\n"
                                   (aqd-numbered 20 '((10 . "ten"))))))))

(ert-deftest aqd-outside-a-newline-leaves-both-lines-around-it-alone ()
  (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 '((10 . "ten")))
    (aqd-in-target (forward-line 9) (end-of-line) (insert "\n"))
    (should (aqd-accept 1))
    (should (string-search "ten\n\nline 11" (aqd-target)))))

(ert-deftest aqd-outside-undo-gives-lines-and-hunks-back ()
  (aqd-with-review (aqd-outside-blocks 6) (aqd-outside-blocks 6 '((2 . "  new") (5 . "  more")))
    (aqd-in-target
      (undo-boundary)
      (forward-line 5)
      (delete-region (point) (line-beginning-position 3))
      (undo-boundary))
    (should (equal (aqd-sign 1) "[DOES NOT APPLY]"))
    (should (aqd-accept 2))
    (aqd-in-target (let ((last-command nil)) (undo)))
    (should (equal (aqd-sign 2) "[APPLIED, but not in the file]"))
    (aqd-in-target (let ((last-command 'undo)) (undo)))
    (should-not (aqd-sign 1))
    (should (aqd-accept 1))
    (should (equal (aqd-target) (aqd-outside-blocks 6 '((2 . "  new")))))))

(ert-deftest aqd-outside-what-lies-between-two-edits-of-a-revert-stays ()
  ;; `insert-file-contents' replaces all from the first to the last of them.
  (let ((original (aqd-numbered 30))
        (modified (aqd-numbered 30 '((3 . "three") (15 . "fifteen") (27 . "x")))))
    (pcase-dolist (`(,edited . ,signs)
                   `((((8 . "EIGHT") (22 . "other")) (2 . "[APPLIED]"))
                     (((1 . "top\nline 1") (30 . "line 30\nmore"))
                      (1 . "[PENDING, shifted by 1 line]") (2 . "[APPLIED]"))))
      (aqd-with-file original
        (let* ((inhibit-message t)
               (answer nil)
               (review (agent-q-diff-review aqd-file original modified "d"
                                            (lambda (result) (setq answer result)))))
          (agent-q-diff-accept review 1)
          (aqd-write (aqd-numbered 30 (cons '(15 . "fifteen") edited)))
          (with-current-buffer (find-buffer-visiting aqd-file)
            (revert-buffer t t))
          (aqd-in-diff review
            (agent-q-diff-refresh)
            (should (equal signs (aqd-signs))))
          (agent-q-diff-end review)
          (should (equal '(nil t nil)
                         (mapcar (lambda (hunk) (plist-get hunk :in-file))
                                 (plist-get answer :hunks)))))))))

;; Emacs 28 then leaves `buffer-chars-modified-tick' as it was.
(ert-deftest aqd-outside-a-revert-that-only-inserts-is-noticed ()
  (pcase-dolist (`(,original ,modified ,theirs)
                 '(("" "new" "theirs\n") ("" "new\n" "theirs") ("" "néw" "thëirs\n")
                   ("a\n" "a\nnew" "a\ntheirs\n") ("a\n" "new\na\n" "theirs\na\n")))
    (dolist (coding '(nil undecided-unix utf-8-unix latin-1-unix utf-8-dos))
      (dolist (is-touched '(nil t))
        (ert-info ((format "%S %S %S" original coding is-touched))
          (aqd-with-file original
            (let* ((inhibit-message t)
                   (coding-system-for-read coding)
                   (buffer (aqd-visit))
                   (review (agent-q-diff-review aqd-file original modified "d" #'ignore)))
              (setq coding-system-for-read nil)
              (with-current-buffer buffer
                (when is-touched
                  (insert "x")
                  (delete-char -1)
                  (set-buffer-modified-p nil))
                (aqd-write theirs)
                (revert-buffer t t t))
              (should-error (agent-q-diff-accept review 0))
              (should-error (agent-q-diff-unapply review 0))
              (should (equal (aqd-disk) (encode-coding-string theirs 'utf-8)))
              (agent-q-diff-cancel review))))))))

(defun aqd-outside-walk (seed)
  "Decide hunks of a short text as SEED says, and revert, type and undo.
No line of anybody's is ever lost or glued to another."
  (random (format "agent-q-diff %d" seed))
  (cl-letf (;; It would ask whether to edit a file that has changed.
            ((symbol-function 'userlock--ask-user-about-supersession-threat) #'ignore))
    (cl-labels ((lines (name n)
                       (cl-loop for at below n collect (format "%s %d" name at)))
                (text (lines)
                      (if (and lines (zerop (random 3)))
                          (string-join lines "\n")
                        (apply #'aqd-lines lines)))
                (theirs (text)
                        (seq-filter (apply-partially #'string-prefix-p "theirs")
                                    (split-string text "\n"))))
      (let* ((old (lines "old" (random 4)))
             (at (random (1+ (length old))))
             (new (append (seq-take old at) (lines "new" (1+ (random 2)))
                          (seq-drop old (+ at (random 2)))))
             (original (text old))
             (modified (text new)))
        (aqd-with-file original
                       (let* ((inhibit-message t)
                              (revert-without-query '(""))
                              (buffer (aqd-visit))
                              (review (agent-q-diff-review aqd-file original modified "d" #'ignore)))
                         (dotimes (step 8)
                           (let* ((was (with-current-buffer buffer (buffer-string)))
                                  (here (split-string (string-remove-suffix "\n" was) "\n" t))
                                  (at (nth (random 3) (list 0 (length here) (random (1+ (length here))))))
                                  (next (text (append (seq-take here at) (list (format "theirs %d" step))
                                                      (seq-drop here (+ at (/ (random 4) 3)))))))
                             (pcase (random 6)
                               (0 (aqd-write next)
                                  (with-current-buffer buffer (revert-buffer t t (zerop (random 2)))))
                               (1 (aqd-write next))
                               (2 (with-current-buffer buffer
                                    (erase-buffer)
                                    (revert-buffer t t t)))
                               (_ (let ((before (progn
                                                  (agent-q-diff-file-change-follow
                                                   (agent-q-diff-session-file review))
                                                  (with-current-buffer buffer (buffer-string)))))
                                    ;; What is not possible is refused.
                                    (ignore-errors
                                      (pcase (random 4)
                                        (0 (agent-q-diff-unapply review 0))
                                        (1 (agent-q-diff-decide-back (agent-q-diff-session-change review) nil))
                                        (_ (agent-q-diff-accept review 0))))
                                    (let ((now (with-current-buffer buffer (buffer-string))))
                                      (should (equal (theirs before) (theirs now)))
                                      (should-not (seq-difference (split-string now "\n" t)
                                                                  (append (split-string before "\n" t)
                                                                          old new)))))))))
                         (with-current-buffer buffer (set-buffer-modified-p nil))
                         (agent-q-diff-cancel review)))))))

(ert-deftest aqd-outside-in-short-texts-no-line-is-lost-or-glued ()
  (dotimes (seed (string-to-number (or (getenv "AGENT_Q_DIFF_WALKS") "150")))
    (ert-info ((format "seed %d" seed))
      (aqd-outside-walk seed))))

(ert-deftest aqd-outside-revert-brings-every-hunk-back ()
  (aqd-with-review (aqd-outside-blocks 6) (aqd-outside-blocks 6 '((2 . "  new") (5 . "  more")))
    (let ((agent-q-diff-save 'never))
      (should (aqd-accept 2))
      (aqd-in-target (insert "mine\n") (forward-line 3) (kill-line 2)
                     (revert-buffer t t))
      (should (equal (aqd-sign 2) "[APPLIED, but not in the file]"))
      (aqd-in-target (insert "mine\n"))
      (should (aqd-accept 1))
      (should (equal (aqd-target) (concat "mine\n" (aqd-outside-blocks 6 '((2 . "  new")))))))))

(ert-deftest aqd-outside-an-edit-that-no-hook-tells-is-found-by-comparing ()
  (aqd-with-review (aqd-numbered 20) (aqd-numbered 20 '((10 . "ten")))
    (aqd-in-target (let ((inhibit-modification-hooks t)) (insert "mine\n")))
    (aqd-in-target (insert "more\n"))
    (should (aqd-accept 1))
    (should (equal (aqd-target)
                   (concat "more\nmine\n" (aqd-numbered 20 '((10 . "ten"))))))))

;; The engine reads a buffer in parts of 32,768 characters as long as they are
;; unchanged, and a text with raw bytes as a whole.
(ert-deftest aqd-outside-a-large-text-is-compared-wherever-it-was-changed ()
  (pcase-dolist (`(,word ,typed) `(("plain" "mine") ("größer 行" "mine")
                                   ("plain" "für 行")
                                   ("plain" ,(aqd-outside-raw "\xff\xc3"))
                                   (,(aqd-outside-raw "\xff") "mine")))
    (let* ((coding-system-for-read 'utf-8-unix)
           (agent-q-diff-save 'always)
           (filler (make-string 100 ?.))
           (lines (lambda (changes)
                    (mapconcat (lambda (n)
                                 (format "%s %s %s %d\n" word filler
                                         (alist-get n changes "line") n))
                               (number-sequence 1 1000) "")))
           (changes '((50 . "one") (500 . "two") (950 . "three"))))
      (dolist (line '(1 51 490 501 940 1000))
        (aqd-with-review (funcall lines nil) (funcall lines changes)
          (aqd-in-target
            (forward-line (1- line))
            (let ((inhibit-modification-hooks t))
              (insert typed "\n"))
            (narrow-to-region (point-min) (line-end-position)))
          (dotimes (n 3)
            (should-not (member (aqd-sign (1+ n))
                                '("[DOES NOT APPLY]" "[AMBIGUOUS, look]"))))
          (aqd-in-target (widen))
          (dotimes (n 3)
            (should (aqd-accept (1+ n))))
          (aqd-in-target
            (should (search-forward (concat typed "\n")))
            (should (= line (line-number-at-pos (match-beginning 0))))
            (replace-match "")
            (should (equal (buffer-string) (funcall lines changes)))))))))

;; Garbage collection runs Lisp code while a buffer is being read.
(ert-deftest aqd-outside-a-text-that-is-changed-while-it-is-read-is-read-again ()
  (let* ((lines (lambda (new)
                  (mapconcat (lambda (n) (if (and new (= n 100)) "NEW\n"
                                           (format "line %d\n" n)))
                             (number-sequence 1 30000) "")))
         (original (funcall lines nil)))
    (dolist (edit (list (lambda () (insert "hook 1\nhook 2\n"))
                        (lambda () (delete-region (point) (/ (point-max) 2)))))
      (aqd-with-file original
        (let* ((file (agent-q-diff-file-change-open aqd-file original (funcall lines t)))
               (change (agent-q-diff-change-of file))
               (buffer (agent-q-diff-file-change-buffer file))
               (is-done nil)
               (hook (lambda ()
                       (unless is-done
                         (setq is-done t)
                         (with-current-buffer buffer
                           (save-excursion
                             (goto-char (point-min))
                             (forward-line 200)
                             (funcall edit)))))))
          (with-current-buffer buffer
            (goto-char (point-min))
            (forward-line 27999)
            (let ((inhibit-modification-hooks t))
              (insert "missed\n")))
          (garbage-collect)
          (add-hook 'post-gc-hook hook)
          (unwind-protect
              (let ((gc-cons-threshold 100000)
                    (gc-cons-percentage 0.0))
                (agent-q-diff-change-follow change))
            (remove-hook 'post-gc-hook hook))
          (should is-done)
          (should (eq 'edited (agent-q-diff-decide-hunk change 'accept 0)))
          (with-current-buffer buffer
            (goto-char (point-min))
            (should (search-forward "line 99\nNEW\nline 101\n"))
            (set-buffer-modified-p nil))
          (agent-q-diff-change-close change))))))

(ert-deftest aqd-outside-an-ambiguous-hunk-takes-a-second-key ()
  (aqd-with-review (aqd-outside-blocks 6) (aqd-outside-blocks 6 '((4 . "  new")))
    (aqd-in-target (let ((inhibit-modification-hooks t)) (insert "mine\n")))
    (should (equal (aqd-sign 1) "[AMBIGUOUS, look]"))
    (should-not (aqd-accept 1))
    (should (equal (aqd-target) (concat "mine\n" (aqd-outside-blocks 6))))
    (should (aqd-accept 1))
    (should (equal (aqd-target) (concat "mine\n" (aqd-outside-blocks 6 '((4 . "  new"))))))))

(ert-deftest aqd-outside-the-second-key-counts-only-for-what-was-shown ()
  (aqd-with-review (aqd-outside-blocks 6) (aqd-outside-blocks 6 '((4 . "  new")))
    (aqd-in-target (let ((inhibit-modification-hooks t)) (insert "mine\n")))
    (should-not (aqd-accept 1))
    (aqd-in-target (insert "more\n"))
    (should-not (aqd-accept 1))
    (should (aqd-accept 1))))

(ert-deftest aqd-outside-sorted-lines ()
  (let ((original "1\n2\n3\nd\nb\nc\na\n7\n8\n9\n"))
    (aqd-with-review original (string-replace "8" "eight" original)
      (aqd-in-target (forward-line 3)
                     (sort-lines nil (point) (line-beginning-position 5)))
      (should (aqd-accept 1))
      (should (equal (aqd-target) "1\n2\n3\na\nb\nc\nd\n7\neight\n9\n")))))

(ert-deftest aqd-outside-text-properties-are-no-edit ()
  (aqd-with-review (aqd-outside-blocks 6) (aqd-outside-blocks 6 '((4 . "  new")))
    (aqd-in-target (put-text-property 1 20 'face 'bold))
    (should-not (aqd-sign 1))
    (should (aqd-accept 1))))

(ert-deftest aqd-outside-leaves-no-hook-behind ()
  (aqd-with-file (aqd-outside-blocks 4)
    (let ((buffer (aqd-visit)))
      (aqd-call (aqd-outside-blocks 4) (aqd-outside-blocks 4 '((2 . "  new")))
                (lambda ()
                  (should (buffer-local-value 'agent-q-diff-outside--listeners buffer))
                  (agent-q-diff-reject-all)))
      (with-current-buffer buffer
        (should-not (memq #'agent-q-diff-outside--after after-change-functions))
        (should-not (memq #'agent-q-diff-outside--before before-change-functions))))))

(ert-deftest aqd-outside-half-of-fifty-hunks-in-a-hundred-equal-functions ()
  "Every hunk must be in its own function."
  (random "agent-q-diff")
  (let* ((numbers (cl-loop for n from 2 to 100 by 2 collect n))
         (line (lambda (n) (cons n (format "  (new %d)" n))))
         (modified (aqd-outside-blocks 100 (mapcar line numbers)))
         (order (cl-loop for hunk from 1 to 50
                         collect (cons (random 1000) hunk)))
         (chosen (mapcar #'cdr (seq-take (sort order (lambda (a b) (< (car a) (car b))))
                                         25)))
         (agent-q-diff-context-length 0))
    (aqd-with-review (aqd-outside-blocks 100) modified
      (dolist (hunk chosen)
        (aqd-in-target
          ;; Between two functions, where no hunk belongs.
          (re-search-forward "^\n" nil t (1+ (random 100)))
          (insert (format ";; %d\n" hunk)))
        (should (aqd-accept hunk))
        (when (zerop (random 2))
          (aqd-in-target
            (when (re-search-forward "^;; .*\n" nil t)
              (delete-region (match-beginning 0) (match-end 0))))))
      (should (equal (replace-regexp-in-string "^;; .*\n" "" (aqd-target))
                     (aqd-outside-blocks 100 (mapcar (lambda (hunk) (funcall line (* 2 hunk)))
                                                     chosen)))))))

(ert-deftest aqd-outside-ruling-1-diff-apply-hunk-counts-as-an-outside-edit ()
  (let ((agent-q-diff-save 'always))
    (aqd-with-forty-lines
      (aqd-call (car aqd-three) (cdr aqd-three)
                (lambda ()
                  (aqd-goto-hunk 2)
                  (let ((inhibit-message t))
                    (diff-apply-hunk))
                  (aqd-goto-hunk 1)
                  (agent-q-diff-accept-hunk)
                  (should (equal (aqd-signs) '((1 . "[APPLIED]")
                                               (2 . "[PENDING, but in the file]"))))
                  (aqd-goto-hunk 2)
                  (agent-q-diff-accept-hunk)
                  (agent-q-diff-finish)))
      (should (equal (aqd-disk) (aqd-three-with 1 2))))))

(defun aqd-text-known-p (live text)
  "Return non-nil if a narrowed target with LIVE is known to have TEXT."
  (aqd-with-file live
    (with-current-buffer (aqd-visit)
      (setq-local case-fold-search t)
      (narrow-to-region (1+ (point-min)) (point-max))
      (prog1 (agent-q-diff-text-known-p (current-buffer) (string-to-multibyte text))
        (should (buffer-narrowed-p))
        (should (= 2 (point-min)))))))

(ert-deftest aqd-text-is-known-by-the-very-same-text ()
  (dolist (text '("a\nb\n" "a\nb" "\n" "ä\nß\n"))
    (should (aqd-text-known-p text text)))
  (pcase-dolist (`(,live ,text) '(("a\nb\n" "a\nB\n") ("a\nb\n" "a\nb\nc\n")
                                  ("a\nb\n" "a\n") ("ä\n" "Ä\n") ("a\nb\n" "a\nc\n")))
    (should-not (aqd-text-known-p live text)))
  (let ((agent-q-diff-text--max-compared 3))
    (should-not (aqd-text-known-p "a\nb\n" "a\nb\n"))
    (should (aqd-text-known-p "a\n" "a\n"))))

(ert-deftest aqd-text-with-other-line-ends-is-left-to-be-adapted ()
  (dolist (text '("a\r\nb\r\n" "a\r\nb\n" "a\rb\n" "\ufeffa\n"))
    (aqd-with-file ""
      (let ((coding-system-for-write 'utf-8-unix))
        (write-region text nil aqd-file nil 'silent))
      (dolist (proposed (list text "a\nb\n"))
        (should-not (agent-q-diff-text-known-p (aqd-visit)
                                               (string-to-multibyte proposed)))))))

;;; Git's ids of a text

(defun aqd-git-id (text)
  "Return git's id for TEXT, computed by git."
  (with-temp-buffer
    (let ((coding-system-for-write 'no-conversion))
      (write-region text nil (expand-file-name "blob" (file-name-directory aqd-file))
                    nil 'silent))
    (call-process "git" nil t nil "hash-object" "--no-filters"
                  (expand-file-name "blob" (file-name-directory aqd-file)))
    (string-trim (buffer-string))))

(defun aqd-git-with-ids (old new diff)
  "Return DIFF as git writes it for texts with the ids OLD and NEW."
  (concat (format "diff --git a/target.txt b/target.txt\nindex %s..%s 100644\n"
                  (substring old 0 7) (substring new 0 7))
          diff))

(defconst aqd-git-no-id (make-string 40 ?f)
  "An id that belongs to no text.")

(ert-deftest aqd-git-the-id-of-the-text-makes-every-stated-line-certain ()
  (dolist (text (list aqd-equal-blocks
                      (string-replace "\n" "\r\n" aqd-equal-blocks)
                      (concat "\xef\xbb\xbf" (string-replace "top" "tschüß" aqd-equal-blocks))))
    (aqd-with-file text
      (let* ((bytes (aqd-disk))
             (diff (aqd-git-with-ids (aqd-git-id bytes) aqd-git-no-id
                                     aqd-equal-blocks-diff))
             (review (agent-q-diff-review-patch aqd-file diff "A test." #'ignore)))
        (agent-q-diff-accept review 0)
        (should (equal (string-replace "\r" "" (aqd-disk))
                       (string-replace
                        "top" (if (string-match-p "ü" text) "\xef\xbb\xbftsch\xc3\xbc\xc3\x9f" "top")
                        (aqd-equal-blocks-with-line-in 2))))
        (agent-q-diff-end review)))))

(ert-deftest aqd-git-git-may-have-crlf-as-lf ()
  (aqd-with-file (string-replace "\n" "\r\n" aqd-equal-blocks)
    (let ((review (agent-q-diff-review-patch
                   aqd-file
                   (aqd-git-with-ids (aqd-git-id aqd-equal-blocks)
                                     aqd-git-no-id aqd-equal-blocks-diff)
                   "A test." #'ignore)))
      (agent-q-diff-accept review 0)
      (should (equal (aqd-disk) (string-replace "\n" "\r\n" (aqd-equal-blocks-with-line-in 2))))
      (agent-q-diff-end review))))

(ert-deftest aqd-git-the-id-of-another-text-makes-nothing-certain ()
  (aqd-with-file (concat aqd-equal-blocks "{\n")
    (let ((review (agent-q-diff-review-patch
                   aqd-file
                   (aqd-git-with-ids (aqd-git-id aqd-equal-blocks)
                                     aqd-git-no-id aqd-equal-blocks-diff)
                   "A test." #'ignore)))
      (should-error (agent-q-diff-accept review 0) :type 'agent-q-diff-ambiguous)
      (agent-q-diff-cancel review))))

(ert-deftest aqd-git-the-id-after-the-change-tells-that-it-is-in ()
  (aqd-with-file (aqd-equal-blocks-with-line-in 2)
    (let* ((result nil)
           (review (agent-q-diff-review-patch
                    aqd-file
                    (aqd-git-with-ids aqd-git-no-id
                                      (aqd-git-id (aqd-equal-blocks-with-line-in 2))
                                      aqd-equal-blocks-diff)
                    "A test." (lambda (value) (setq result value)))))
      (should (eq 'already-in (agent-q-diff-accept review 0)))
      (agent-q-diff-end review)
      (should (plist-get (car (plist-get result :hunks)) :was-in))
      (should (string-search "Already in the file, and not put there by this review: hunk 1."
                             (plist-get result :message))))))

(ert-deftest aqd-git-the-id-counts-in-each-file-of-a-diff ()
  (aqd-with-file aqd-equal-blocks
    (let* ((default-directory (file-name-directory aqd-file))
           (review (agent-q-diff-review-diff
                     (aqd-git-with-ids (aqd-git-id aqd-equal-blocks)
                                       aqd-git-no-id aqd-equal-blocks-diff))))
      (agent-q-diff-accept review 0)
      (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 2)))
      (agent-q-diff-end review))))

(ert-deftest aqd-git-the-id-counts-in-a-diff-typed-by-hand ()
  (aqd-with-file aqd-equal-blocks
    (aqd-with-diff (aqd-git-with-ids (aqd-git-id aqd-equal-blocks)
                                     aqd-git-no-id aqd-equal-blocks-diff)
      (aqd-goto-hunk 1)
      (should (equal (concat "Hunk 1 applied" aqd-nothing-pending)
                     (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal (aqd-disk) (aqd-equal-blocks-with-line-in 2))))))

(ert-deftest aqd-git-all-zeros-name-a-file-that-is-not-there ()
  (aqd-with-file ""
    (should (seq-some (lambda (id) (string-prefix-p "0000000" id))
                      (agent-q-diff-git-blob-ids (aqd-visit)))))
  (aqd-with-file "x\n"
    (should-not (seq-some (lambda (id) (string-prefix-p "0000000" id))
                          (agent-q-diff-git-blob-ids (aqd-visit))))))

(provide 'agent-q-diff-text-test)
;;; agent-q-diff-text-test.el ends here
