;;; agent-q-diff-coding-test.el --- Every coding system  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; For each coding system that this Emacs has, one line of a file is changed
;; and changed back, by `edit_file' and in a review, with the file open and
;; not.  No other byte may change, and in the end none at all.

;;; Code:

(require 'agent-q-diff-project-help)
(require 'agent-q-diff-test-help)

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
  (aqd-coding-check-all 'edit nil))

(ert-deftest aqd-coding-every-one-by-edit-open ()
  (aqd-coding-check-all 'edit t))

(ert-deftest aqd-coding-every-one-by-review-not-open ()
  (aqd-coding-check-all 'review nil))

(ert-deftest aqd-coding-every-one-by-review-open ()
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

(provide 'agent-q-diff-coding-test)
;;; agent-q-diff-coding-test.el ends here
