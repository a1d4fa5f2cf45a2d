;;; agents-models.el --- The models of the agents' tools beside the tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The modules in src/engine/inputs/ say what an agent's tool makes of a file.
;; Here the tools themselves make many random edits, each in a file of its own:
;; once all are accepted by `agent-q-diff-tools-policy', and once a program
;; accepts every second hunk, so that the tools run with rewritten inputs.
;;
;; After each edit, Emacs compares the file with what was decided.  No file may
;; differ, and every edit has to be either decided or refused.  In the end, each
;; file has to have the text that was decided.  Where the outcome does not depend
;; on rules of the tool, that text is also worked out here, from the changed lines
;; alone.

;;; Code:

(require 'agents-tools)

(defconst agents-models-n-cases
  (string-to-number (or (getenv "AGENT_Q_DIFF_CASES") "60"))
  "Number of random files, each of which is edited once.")

(cl-defstruct (agents-models-case (:constructor agents-models-case-create) (:copier nil))
  "A file, and an edit of it."
  (name nil :documentation "The file's name.")
  (bytes nil :documentation "Its bytes before, or nil if there is none.")
  (calls nil :documentation "Calls of tools, of which the last edits it.")
  (expected nil :documentation "Its bytes after, (ALL . EVERY-SECOND), or nil if unknown."))

;;;; Random texts

(defun agents-models--pick (list)
  "Return an element of LIST."
  (nth (random (length list)) list))

(defun agents-models--line (number)
  "Return a line; most are unique by their NUMBER."
  (pcase (random 12)
    (0 "x")
    (1 "")
    (2 (format "“quoted” %d, it’s" number))
    (3 (format "naïve ü %d 日本 😀" number))
    (4 (format "\tindented %d" number))
    (5 (format "  if (x) { // %d" number))
    (_ (format "line %d" number))))

(defun agents-models--changed (line number)
  "Return what becomes of LINE, a list of lines; NUMBER makes new ones unique."
  (pcase (random 5)
    (0 '())
    (1 (list line (format "new ‘%d’ “in”" number)))
    (2 (list (format "NEW %d" number) (format "and “%d”" number)))
    (_ (list (format "LINE %d é" number)))))

(defun agents-models--parts ()
  "Return parts of a text, (OLD . NEW), each with lists of lines.
Two or three of them are changed.  Eight others are between them, so that each
is a hunk of its own."
  (let* ((n-changed (+ 2 (random 2)))
         (first (random 4)))
    (mapcar (lambda (at)
              (if (and (zerop (% (- at first) 9))
                       (<= 0 (- at first) (* 9 (1- n-changed))))
                  (let ((line (format "line %d" at)))
                    (cons (list line) (agents-models--changed line at)))
                (let ((line (list (agents-models--line at))))
                  (cons line line))))
            (number-sequence 0 (+ 24 (random 4))))))

(defun agents-models--text (parts which)
  "Return the lines of PARTS as a text.
WHICH is `old', `new', or `second': new in every second changed part."
  (let ((n 0))
    (mapconcat (pcase-lambda (`(,old . ,new))
                 (let ((lines (pcase which
                                ('old old)
                                ('new new)
                                ('second (if (or (equal old new) (cl-evenp (cl-incf n)))
                                             old
                                           new)))))
                   (mapconcat (lambda (line) (concat line "\n")) lines "")))
               parts "")))

(defun agents-models--bytes (text ends has-newline bom)
  "Return TEXT as the bytes of a file.
ENDS is `lf', `crlf' or `mixed'.  If HAS-NEWLINE is nil, the last line has no
end.  BOM says whether a byte order mark comes first."
  (let ((text (if has-newline text (string-remove-suffix "\n" text))))
    (encode-coding-string
     (concat (and bom "\ufeff")
             (replace-regexp-in-string
              "\n" (lambda (_)
                     (pcase-exhaustive ends
                       ('lf "\n")
                       ('crlf "\r\n")
                       ('mixed (agents-models--pick '("\n" "\r\n" "\r\n")))))
              text t t))
     'utf-8-unix)))

;;;; Random edits

(defun agents-models--patch (name parts)
  "Return a call of `apply_patch' that changes PARTS of the file NAME."
  (list (apply #'agents-codex-patch (concat "*** Update File: " name)
               (agents-models--chunk parts))))

(defun agents-models--chunk (parts)
  "Return the lines of a patch that change PARTS of a file."
  (cons "@@" (cl-loop for (old . new) in parts
                      append (if (equal old new)
                                 (list (concat " " (car old)))
                               (append (mapcar (apply-partially #'concat "-") old)
                                       (mapcar (apply-partially #'concat "+") new))))))

(defun agents-models--middle (parts)
  "Return those of PARTS from the first to the last that is changed."
  (let* ((is-same (pcase-lambda (`(,old . ,new)) (equal old new)))
         (from (seq-drop-while is-same parts)))
    (reverse (seq-drop-while is-same (reverse from)))))

(defun agents-models--straight (text)
  "Return TEXT with straight quotation marks."
  (replace-regexp-in-string "[“”]" "\"" (replace-regexp-in-string "[‘’]" "'" text)))

(defun agents-models--straight-parts (parts)
  "Return PARTS with straight quotation marks in the old lines."
  (mapcar (pcase-lambda (`(,old . ,new))
            (let ((plain (mapcar #'agents-models--straight old)))
              (cons plain (if (equal old new) plain new))))
          parts))

(defun agents-models--calls (client kind name parts has-newline)
  "Return calls of CLIENT's tools that make an edit of KIND in the file NAME.
It changes PARTS, and the last line has a newline if HAS-NEWLINE is non-nil."
  (let* ((whole (lambda (which)
                  (let ((text (agents-models--text parts which)))
                    (if has-newline text (string-remove-suffix "\n" text)))))
         (middle (agents-models--middle parts))
         (old (agents-models--text middle 'old))
         (new (agents-models--text middle 'new)))
    (pcase kind
      ('write (agents-write client name (funcall whole 'new)))
      ((guard (equal client "codex"))
       (agents-models--patch name (if (eq kind 'straight)
                                      (agents-models--straight-parts middle)
                                    middle)))
      ('edit (agents-edit client name old new))
      ('straight (agents-edit client name (agents-models--straight old)
                              (agents-models--straight new)))
      ('part (agents-edit client name (string-remove-suffix "\n" old)
                          (string-remove-suffix "\n" new)))
      ('delete (agents-edit client name old ""))
      ('odd (agents-edit client name old (concat new "end  \r\nlast\t\n")))
      ('all (agents-edit client name "line "
                         (agents-models--pick '("LINE " "$& $1 " "“l” ")) t)))))

(defun agents-models--case (client number)
  "Return a case for CLIENT, whose file has NUMBER in its name."
  (let* ((parts (agents-models--parts))
         (kind (agents-models--pick '(edit edit edit edit write new straight part delete odd
                                           all)))
         (ends (agents-models--pick '(lf lf crlf crlf mixed)))
         (bom (zerop (random 6)))
         (has-newline (< 0 (random 4)))
         (name (format "f%d.%s" number (agents-models--pick '("txt" "txt" "md"))))
         (bytes (lambda (which)
                  (agents-models--bytes (agents-models--text parts which) ends has-newline bom))))
    (if (eq kind 'new)
        (let ((text (agents-models--text parts 'new)))
          (agents-models-case-create
           :name name :calls (agents-write client name text)
           :expected (let ((all (encode-coding-string text 'utf-8-unix))) (cons all all))))
      (agents-models-case-create
       :name name :bytes (funcall bytes 'old)
       :calls (agents-models--calls client kind name parts has-newline)
       :expected (and (memq kind '(edit part))
                      (not (eq ends 'mixed))
                      ;; Codex ends every line, and takes the mark for a part of the first.
                      (not (and (equal client "codex") (or bom (not has-newline))))
                      (cons (funcall bytes 'new) (funcall bytes 'second)))))))

;;;; Deciding by program

(defconst agents-models--recorder
  '(progn
     (require 'agent-q-diff-own-tool)
     (defvar inside-decided nil "What was decided, (NAME TEXT IS-CRLF ENCODING), newest first.")
     (advice-add 'agent-q-diff-own-agent-remember :before
                 (lambda (_ edit &rest _)
                   (let ((file (car (agent-q-diff-own-tool-edit-files edit))))
                     (push (list (agent-q-diff-own-tool-file-name file)
                                 (agent-q-diff-own-tool-file-text file)
                                 (agent-q-diff-own-tool-file-is-crlf file)
                                 (agent-q-diff-own-tool-file-encoding file))
                           inside-decided))))
     nil)
  "Makes Emacs record what is decided.")

(defconst agents-models--every-second
  '(progn
     (defun inside-decide ()
       "Accept every second hunk of each review, reject the others, and end it."
       (dolist (review (agent-q-diff-open-reviews))
         (dotimes (hunk (car (with-current-buffer (agent-q-diff-session-buffer review)
                               (agent-q-diff-buffer-counts))))
           (condition-case nil
               (if (zerop (% hunk 2))
                   (agent-q-diff-accept review hunk)
                 (agent-q-diff-reject review hunk))
             ;; Lines of a file that was not accepted as new.
             (agent-q-diff-bad-target (agent-q-diff-reject review hunk))))
         (agent-q-diff-end review)))
     (add-hook 'agent-q-diff-session-changed-hook
               (lambda () (run-at-time 0 nil #'inside-decide)))
     nil)
  "Makes Emacs decide by a program.")

(defun agents-models--decided-bytes (decision)
  "Return the bytes of a file that DECISION, as recorded, is about."
  (pcase-let* ((`(,_ ,text ,is-crlf ,encoding) decision)
               (text (if is-crlf (string-replace "\n" "\r\n" text) text)))
    (pcase-exhaustive encoding
      ("utf-8" (encode-coding-string text 'utf-8-unix))
      ("utf-8 with BOM" (encode-coding-string (concat "\ufeff" text) 'utf-8-unix)))))

(defun agents-models--check (case decisions is-all)
  "Check the file of CASE, about which Emacs has recorded DECISIONS.
IS-ALL says whether all was accepted.  Return `decided', `worked-out' if the
bytes are known here, too, or `refused'."
  (let* ((bytes (agents-bytes (agents-models-case-name case)))
         (expected (agents-models-case-expected case))
         (decision (assoc (file-truename (agents-project (agents-models-case-name case)))
                          decisions)))
    (ert-info ((format "%S" (agents-models-case-calls case)))
      (cond
       (decision
        (should (equal bytes (agents-models--decided-bytes decision)))
        (if (null expected)
            'decided
          (should (equal bytes (if is-all (car expected) (cdr expected))))
          'worked-out))
       (t
        (should-not expected)
        (should (equal bytes (agents-models-case-bytes case)))
        'refused)))))

(defun agents-models--write-files (cases)
  "Write the files of CASES, as they are before."
  (dolist (case cases)
    (when-let ((bytes (agents-models-case-bytes case)))
      (agents-put-bytes (agents-models-case-name case) bytes))))

(defun agents-models--cases (client)
  "Return the cases for CLIENT, and write their files."
  (random "agents-models")
  (let ((cases (mapcar (apply-partially #'agents-models--case client)
                       (number-sequence 1 agents-models-n-cases))))
    (agents-models--write-files cases)
    cases))

(defun agents-models-run (client is-all)
  "Let CLIENT make the random edits; IS-ALL says whether all is accepted."
  (e2e-eval agents-models--recorder)
  (e2e-eval (if is-all
                '(progn (setq agent-q-diff-tools-policy 'allow) nil)
              agents-models--every-second))
  (let ((cases (agents-models--cases client)))
    (apply #'agents-start client (apply #'append (mapcar #'agents-models-case-calls cases)))
    (let* ((told (agents-end))
           (decisions (e2e-eval 'inside-decided))
           (kinds (mapcar (lambda (case) (agents-models--check case decisions is-all)) cases))
           (count (lambda (kind) (seq-count (lambda (one) (eq kind one)) kinds))))
      (should-not (seq-filter (lambda (text)
                                (string-match-p "ALARM\\|was not decided in Emacs" text))
                              told))
      ;; Whatever was not decided was refused in so many words.
      (should (= (funcall count 'refused)
                 (seq-count (lambda (text)
                              (string-match-p "so it was not made: \\|<tool_use_error>" text))
                            told)))
      (message "%s, %s accepted: %d edits, of which %d refused; %d also worked out by hand"
               client (if is-all "all" "every second hunk") (length cases)
               (funcall count 'refused) (funcall count 'worked-out))
      (should (< (funcall count 'refused) (/ (length cases) 3))))))

;;;; Patches of several files

(defun agents-models--file-lines (name)
  "Write the file NAME, or leave it to the patch; return lines that change it."
  (let* ((parts (agents-models--parts))
         (kind (agents-models--pick '(update update move delete add)))
         (chunk (agents-models--chunk (agents-models--middle parts))))
    (unless (eq kind 'add)
      (agents-put name (agents-models--text parts 'old)))
    (pcase-exhaustive kind
      ('update `(,(concat "*** Update File: " name) ,@chunk))
      ('move `(,(concat "*** Update File: " name) ,(concat "*** Move to: moved/" name) ,@chunk))
      ('delete (list (concat "*** Delete File: " name)))
      ('add (cons (concat "*** Add File: " name)
                  (mapcar (apply-partially #'concat "+")
                          (agents-lines (agents-models--text parts 'new))))))))

(defun agents-models--patch-of-several (number)
  "Write three files, and return a patch that changes them.
NUMBER is in their names."
  (cdr (apply #'agents-codex-patch
              (cl-loop for at from 1 to 3
                       append (agents-models--file-lines (format "p%d-%d.txt" number at))))))

(defun agents-models-run-patches (start)
  "Have random patches of several files decided by a program.
START is called with them, and starts the agent.  After each, Emacs compares
the files with what was decided."
  (random "agents-models-run-patches")
  (e2e-eval agents-models--every-second)
  (let ((patches (mapcar #'agents-models--patch-of-several
                         (number-sequence 1 (/ agents-models-n-cases 3)))))
    (funcall start patches)
    (let* ((told (agents-end))
           (count (lambda (regexp)
                    (seq-count (lambda (text) (string-match-p regexp text)) told))))
      (should (= 0 (funcall count "ALARM\\|was not decided in Emacs")))
      (should (= (length patches) (funcall count "✓ Accepted in part: ")))
      (message "%d patches of several files, of which Emacs applied %d"
               (length patches) (funcall count "was not run"))
      (should (< (funcall count "was not run") (/ (length patches) 2))))))

(defmacro agents-define-models (client)
  "Define the tests of the models of CLIENT's tools."
  `(progn
     (ert-deftest ,(intern (format "agents-%s-models-all" client)) ()
       (agents-with-emacs ,client (agents-models-run ,client t)))
     (ert-deftest ,(intern (format "agents-%s-models-every-second-hunk" client)) ()
       (agents-with-emacs ,client (agents-models-run ,client nil)))))

(provide 'agents-models)
;;; agents-models.el ends here
