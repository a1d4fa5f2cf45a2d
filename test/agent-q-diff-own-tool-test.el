;;; agent-q-diff-own-tool-test.el --- Edits that agents make with their own tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-git-help)
(require 'agent-q-diff-own-tool)

(defvar aqd-own-tool-answers nil
  "What was answered, a list of (MESSAGE IS-ERROR . VERDICT), newest first.")

(defun aqd-own-tool-arguments (&rest more)
  "Return arguments for two hunks of the test's file, with MORE keys and values."
  (let ((arguments (make-hash-table :test #'equal)))
    (cl-loop for (key value) on `("path" ,aqd-file "tool" "Edit" "call" "call-1"
                                  "session" "12345678-9abc" "encoding" "utf-8"
                                  "original" ,aqd-original-of-two
                                  "modified" ,aqd-modified-of-two ,@more)
             by #'cddr
             do (if (eq value 'none)
                    (remhash key arguments)
                  (puthash key value arguments)))
    arguments))

(defun aqd-own-tool-decide (&rest more)
  "Have the edit of `aqd-own-tool-arguments' with MORE decided; return the review."
  (agent-q-diff-own-tool-decide
   (apply #'aqd-own-tool-arguments more)
   (lambda (&rest answer) (push answer aqd-own-tool-answers))))

(defun aqd-own-tool-answer (key)
  "Return KEY of the only answer: `message', `error', `verdict' or `text'."
  (should (= 1 (length aqd-own-tool-answers)))
  (pcase-let ((`((,message ,is-error ,verdict)) aqd-own-tool-answers))
    (pcase-exhaustive key
      ('message message)
      ('error is-error)
      (_ (alist-get key verdict)))))

(defun aqd-own-tool-check (&rest more)
  "Return what is said after the tool has run; MORE is as for the arguments."
  (let ((arguments (apply #'aqd-own-tool-arguments more)))
    (agent-q-diff-own-tool-check
     (agent-q-diff-own-agent-take (gethash "call" arguments)) arguments)))

(defun aqd-own-tool-write ()
  "Have Emacs write what was decided, and return what is said about it."
  (agent-q-diff-own-tool-write
   (agent-q-diff-own-agent-take (gethash "call" (aqd-own-tool-arguments)))))

(defmacro aqd-own-tool-with-file (text &rest body)
  "Run BODY with TEXT in the test's file, as a call of Claude Code's tool."
  (declare (indent 1) (debug t))
  `(aqd-with-file ,text
     (let ((default-directory (file-name-directory aqd-file))
           (agent-q-diff-project-root (file-name-directory aqd-file))
           (agent-q-diff-call (agent-q-diff-call-make :agent "Claude Code"))
           (agent-q-diff-own-agent--decided nil)
           (aqd-own-tool-answers nil))
       ,@body
       (aqd-should-leave-nothing))))

(defconst aqd-own-tool-first (aqd-numbered 30 '((5 . "five")))
  "The text with the first hunk only.")

(ert-deftest aqd-own-tool-accepting-all-lets-the-tool-run-as-it-was-called ()
  (aqd-own-tool-with-file aqd-original-of-two
    (aqd-in-diff (aqd-own-tool-decide)
      (agent-q-diff-accept-all))
    (should (equal (aqd-own-tool-answer 'verdict) "allow"))
    (should-not (aqd-own-tool-answer 'error))
    ;; Nothing is claimed before the tool has written.
    (should (equal (aqd-own-tool-answer 'message) ""))
    (should (equal (aqd-disk) aqd-original-of-two))
    (aqd-write aqd-modified-of-two)
    (let (message)
      (should (equal "target.txt: 2 of 2 hunks written, by Claude Code's tool Edit"
                     (aqd-said
                       (setq message (aqd-own-tool-check "text" aqd-modified-of-two)))))
      (should (string-prefix-p "✓ Accepted: both hunks are in " message)))))

(ert-deftest aqd-own-tool-a-review-is-found-by-the-id-of-its-call ()
  "So the client of the agent can say that the call was answered elsewhere."
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((review (aqd-own-tool-decide))
          (id (gethash "call" (aqd-own-tool-arguments))))
      (should (stringp id))
      (should (eq review (agent-q-diff-find-review id)))
      (should (agent-q-diff-cancel id))
      (should (equal "deny" (aqd-own-tool-answer 'verdict))))))

(defun aqd-own-tool-shell ()
  "Return the verdict on a command that writes the test's file, and the answer."
  (let (answered)
    (agent-q-diff-own-agent-shell-writes
     (aqd-own-tool-arguments "command" "sed -i s/a/b/ target.txt" "mode" "accepts"
                             "names" ["target.txt"] "files" (vector aqd-file))
     (lambda (&rest answer) (setq answered answer)))
    (cons (alist-get 'verdict (nth 2 answered)) (car answered))))

(ert-deftest aqd-own-tool-a-shell-command-that-writes-a-file-is-denied-if-that-is-chosen ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let (agent-q-diff-pending--running)
      (should (equal '("allow" . "") (aqd-own-tool-shell)))
      (should (equal aqd-file (car (nth 4 (car agent-q-diff-pending--running)))))
      (let ((agent-q-diff-shell-writes 'ask)
            (agent-q-diff-pending--running nil)
            (agent-q-diff-permit-grants nil))
        (should (equal '("deny" . "This command would write target.txt past the user's review: \
make the change with your edit tools, so that the user can decide about each part of it.")
                       (aqd-own-tool-shell)))
        (should-not agent-q-diff-pending--running)
        (dolist (choice '(after client))
          (let ((agent-q-diff-decide-when (list (cons "claude" choice))))
            (should (equal '("allow" . "") (aqd-own-tool-shell)))))
        (agent-q-diff-permit-grant "Claude Code's own tools" (agent-q-diff-guard-root))
        (should (equal '("allow" . "") (aqd-own-tool-shell)))))))

(ert-deftest aqd-own-tool-a-part-changes-what-the-tool-writes ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((review (aqd-own-tool-decide)))
      (agent-q-diff-accept review 0)
      (agent-q-diff-reject review 1)
      (aqd-in-diff review
        (aqd-goto-hunk 2)
        (agent-q-diff-comment-hunk "keep this"))
      (agent-q-diff-end review))
    (should (equal (aqd-own-tool-answer 'verdict) "change"))
    (should (equal (aqd-own-tool-answer 'text) aqd-own-tool-first))
    (should (equal (aqd-own-tool-answer 'message) ""))
    (should (equal (aqd-disk) aqd-original-of-two))
    (aqd-write aqd-own-tool-first)
    (let ((message (aqd-own-tool-check "text" aqd-own-tool-first)))
      (should (string-prefix-p "✓ Accepted in part: 1 of 2 hunks is in " message))
      (should (string-search "which is saved" message))
      (should (string-search "In the file: hunk 1.\nNot in the file: hunk 2." message))
      (should (string-search "keep this" message))
      (should (string-search "The lines as they now are:\n```\nhunk 1, in the file:\n     2\tline 2\n"
                             message))
      (should (string-search "\n     5\tfive\n" message)))))

(ert-deftest aqd-own-tool-nothing-is-called-applied-before-it-is-written ()
  (aqd-own-tool-with-file aqd-original-of-two
    (aqd-in-diff (aqd-own-tool-decide)
      (aqd-goto-hunk 1)
      (should (equal (aqd-said (agent-q-diff-accept-hunk))
                     "Hunk 1 accepted; 1 of 2 decided, 1 pending"))
      (should (equal (aqd-signs) '((1 . "[ACCEPTED]"))))
      (should (string-search " · 1 accepted · 1 pending" header-line-format))
      (aqd-goto-hunk 1)
      (should (string-prefix-p "Hunk 1 rejected; its change stays in the text, "
                               (aqd-said (agent-q-diff-reject-hunk))))
      (should (equal (aqd-signs) '((1 . "[REJECTED, but in the text]"))))
      (aqd-goto-hunk 1)
      (should (string-prefix-p "Hunk 1 taken out of the text"
                               (aqd-said (agent-q-diff-unapply-hunk))))
      (agent-q-diff-reject-all))))

(ert-deftest aqd-own-tool-sessions-at-once-are-told-apart ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((reviews (mapcar (pcase-lambda (`(,call . ,session))
                             (aqd-own-tool-decide "call" call "session" session))
                           '(("1" . "aaaaaaaa-1") ("2" . "aaaaaaaa-1") ("3" . "bbbbbbbb-2")
                             ("4" . "aaaaaaaa-1") ("5" . none)))))
      (should (equal (mapcar #'agent-q-diff-session-agent reviews)
                     '("Claude Code" "Claude Code" "Claude Code (session bbbbbbbb)"
                       "Claude Code (session aaaaaaaa)" "Claude Code")))
      (mapc #'agent-q-diff-cancel reviews)
      (let ((alone (aqd-own-tool-decide "session" "aaaaaaaa-1")))
        (should (equal (agent-q-diff-session-agent alone) "Claude Code"))
        (agent-q-diff-cancel alone)))))

(ert-deftest aqd-own-tool-a-session-is-named-by-what-tells-it-from-others ()
  (pcase-dolist (`(,session . ,name)
                 '(("session_01J9ABCDEFGH" . "01J9ABCD") ("ses_4f3a5b6c7d" . "4f3a5b6c")
                   ("session-2025-11-26" . "2025-11-") ("deadbeef-0001" . "deadbeef")
                   ("thread" . "thread") ("session_" . "session_")))
    (should (equal (format "Claude Code's tool Edit (session %s)" name)
                   (agent-q-diff-own-agent-tool
                    (agent-q-diff-call-make :agent "Claude Code" :tool "Edit" :session session)
                    'has-session))))
  (aqd-own-tool-with-file aqd-original-of-two
    ;; These begin with the time, as many do.
    (let ((reviews (mapcar (lambda (session) (aqd-own-tool-decide "call" session "session" session))
                           '("session_01890a5d-ac96-774b-b111" "session_01890a5d-ac96-774b-c222"))))
      (should (equal (mapcar #'agent-q-diff-session-agent reviews)
                     '("Claude Code" "Claude Code (session 74b-c222)")))
      (mapc #'agent-q-diff-cancel reviews))))

(ert-deftest aqd-own-tool-rejecting-all-denies-with-the-reasons ()
  (aqd-own-tool-with-file aqd-original-of-two
    (aqd-in-diff (aqd-own-tool-decide)
      (agent-q-diff-comment-hunk "not this way")
      (agent-q-diff-reject-all))
    (should (equal (aqd-own-tool-answer 'verdict) "deny"))
    (should-not (aqd-own-tool-answer 'error))
    (should (string-prefix-p "✗ Rejected: " (aqd-own-tool-answer 'message)))
    (should (string-search "None of it is in the file." (aqd-own-tool-answer 'message)))
    (should (string-search "not this way" (aqd-own-tool-answer 'message)))))

(ert-deftest aqd-own-tool-no-decision-is-an-error ()
  (aqd-own-tool-with-file aqd-original-of-two
    (agent-q-diff-cancel (aqd-own-tool-decide))
    (should (aqd-own-tool-answer 'error))
    (should (equal (aqd-own-tool-answer 'verdict) "deny"))
    (should-not agent-q-diff-own-agent--decided)))

(ert-deftest aqd-own-tool-what-was-accepted-before-it-was-cancelled-is-in-no-file ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((review (aqd-own-tool-decide)))
      (agent-q-diff-accept review 0)
      (agent-q-diff-cancel review))
    (should (equal aqd-original-of-two (aqd-disk)))
    (should (string-match-p
             "\\`Error: there is no decision about .*/target.txt: .*\n
Edit was not run, and none of the change is in the file\\.\\'"
             (aqd-own-tool-answer 'message)))))

(ert-deftest aqd-own-tool-a-new-file-is-decided-too ()
  (aqd-own-tool-with-file "x\n"
    (let ((aqd-file (concat aqd-file ".new")))
      (aqd-in-diff (aqd-own-tool-decide "original" 'none "modified" "one\ntwo\n")
        (agent-q-diff-accept-all))
      (should (equal (aqd-own-tool-answer 'verdict) "allow"))
      (should-not (file-exists-p aqd-file))
      (setq aqd-own-tool-answers nil)
      (aqd-in-diff (aqd-own-tool-decide "original" 'none "modified" "one\ntwo\n")
        (agent-q-diff-reject-all))
      (should (equal (aqd-own-tool-answer 'verdict) "deny"))
      (should-not (file-exists-p aqd-file)))))

;;;; After the tool has run

(defun aqd-own-tool-allow (&rest more)
  "Accept all of the edit with MORE."
  (aqd-in-diff (apply #'aqd-own-tool-decide more)
    (agent-q-diff-accept-all)))

;;;; Where it writes

(defmacro aqd-own-tool-in-project (file text &rest body)
  "Run BODY where the test's file is FILE in a project, beside which others are.
FILE has TEXT, unless that is nil; the project has the links `in', which
leads to its directory sub, and `.envrc', a protected file."
  (declare (indent 2) (debug t))
  `(aqd-own-tool-with-file ""
     (let* ((top (file-name-as-directory
                  (make-temp-file (expand-file-name "own" (file-name-directory aqd-file)) t)))
            (root (file-name-as-directory (expand-file-name "proj" top)))
            (default-directory root)
            (agent-q-diff-project-root root)
            (aqd-file (expand-file-name ,file root)))
       (dolist (directory '("proj/sub" "proj/other" "outside"))
         (make-directory (expand-file-name directory top) t))
       (make-symbolic-link "sub" (expand-file-name "in" root))
       (write-region ,(or text "") nil (expand-file-name "f" (concat top "outside")))
       (write-region ,(or text "") nil (expand-file-name ".envrc" root))
       ,@(and text `((aqd-write ,text)))
       ,@body)))

(defconst aqd-own-tool-swaps
  '(("f" . (progn (delete-file "f") (make-symbolic-link "../outside/f" "f")))
    ("f" . (progn (delete-file "f") (make-symbolic-link ".envrc" "f")))
    ("f" . (progn (delete-file "f") (add-name-to-file "../outside/f" "f")))
    ("sub/f" . (progn (rename-file "sub" "gone") (make-symbolic-link "../outside" "sub")))
    ("in/f" . (progn (delete-file "in") (make-symbolic-link "../outside" "in")))
    ("in/f" . (progn (copy-file "sub/f" "other/f")
                     (delete-file "in") (make-symbolic-link "other" "in"))))
  "Files, and what makes each of them another one, with the same text.")

(ert-deftest aqd-own-tool-a-path-that-leads-elsewhere-by-the-verdict-is-denied ()
  (pcase-dolist (`(,file . ,swap) aqd-own-tool-swaps)
    (dolist (accepted '((0 1) (0)))
      (ert-info ((format "%s %S" file swap))
        (aqd-own-tool-in-project file aqd-original-of-two
          (let ((review (aqd-own-tool-decide)))
            (dolist (index accepted)
              (agent-q-diff-accept review index))
            (eval swap t)
            (should (string-match-p (concat "tool Edit " aqd-not-run)
                                    (aqd-warned (agent-q-diff-end review)))))
          (should (equal "deny" (aqd-own-tool-answer 'verdict)))
          (should (string-match-p "\\`Error: Edit was not run: .*\\. None of it is in "
                                  (aqd-own-tool-answer 'message)))
          (should-not agent-q-diff-own-agent--decided))))))

(ert-deftest aqd-own-tool-a-path-that-leads-elsewhere-after-the-verdict-is-an-alarm ()
  (pcase-dolist (`(,file . ,swap) aqd-own-tool-swaps)
    (ert-info ((format "%s %S" file swap))
      (aqd-own-tool-in-project file aqd-original-of-two
        (aqd-own-tool-allow)
        (should (equal "allow" (aqd-own-tool-answer 'verdict)))
        (eval swap t)
        (aqd-write aqd-modified-of-two)
        (should (string-match-p
                 "tool Edit may have written another file than .*/f: "
                 (aqd-warned
                   (should (string-prefix-p
                            "ALARM: Edit may have written another file"
                            (aqd-own-tool-check "text" aqd-modified-of-two))))))))))

(ert-deftest aqd-own-tool-what-a-grant-lets-through-to-another-file-is-an-alarm ()
  (aqd-own-tool-in-project "f" aqd-original-of-two
    (let ((agent-q-diff-tools-policy 'allow))
      (should-not (aqd-own-tool-decide)))
    (delete-file "f")
    (make-symbolic-link "../outside/f" "f")
    (should (aqd-warned
              (should (string-prefix-p "ALARM: "
                                       (aqd-own-tool-check "text" aqd-modified-of-two)))))))

(ert-deftest aqd-own-tool-a-new-file-that-became-a-link-is-denied ()
  (dolist (text '("one\n" ""))
    (aqd-own-tool-in-project "new" nil
      (let ((swap (lambda () (make-symbolic-link "../outside/new" "new"))))
        (aqd-warned
          (if (equal text "")
              (cl-letf (((symbol-function 'y-or-n-p) (lambda (_) (funcall swap) t)))
                (aqd-own-tool-decide "original" 'none "modified" text)
                (while (null aqd-own-tool-answers)
                  (accept-process-output nil 0.01)))
            (let ((review (aqd-own-tool-decide "original" 'none "modified" text)))
              (agent-q-diff-accept review 0)
              (funcall swap)
              (agent-q-diff-end review)))))
      (should (equal "deny" (aqd-own-tool-answer 'verdict)))
      (should-not (file-exists-p "../outside/new")))))

;;;; What it wrote

(ert-deftest aqd-own-tool-another-text-than-was-decided-is-an-alarm ()
  (dolist (left (list (list "text" aqd-own-tool-first "written" aqd-own-tool-first)
                      (list "text" 'none)
                      (list "text" aqd-original-of-two)))
    (aqd-own-tool-with-file aqd-original-of-two
      (aqd-own-tool-allow)
      (should (string-match-p
               "Claude Code's tool Edit left text"
               (aqd-warned
                 (should (string-prefix-p "ALARM: " (apply #'aqd-own-tool-check left)))))))))

(ert-deftest aqd-own-tool-line-ends-are-compared-as-well ()
  (let ((crlf (string-replace "\n" "\r\n" aqd-modified-of-two)))
    (aqd-own-tool-with-file aqd-original-of-two
      (aqd-own-tool-allow "crlf" t)
      (should (string-prefix-p "✓ Accepted" (aqd-own-tool-check "text" crlf))))
    (aqd-own-tool-with-file aqd-original-of-two
      (aqd-own-tool-allow)
      (should (aqd-warned
                (should (string-search "Only its line ends or its encoding differ"
                                       (aqd-own-tool-check "text" crlf))))))))

(ert-deftest aqd-own-tool-what-a-formatter-changed-after-the-tool-is-no-alarm ()
  (aqd-with-log-file
    (let ((formatted (string-replace "five" "FIVE;" aqd-own-tool-first)))
      (dolist (written (list aqd-own-tool-first
                             (string-replace "\n" "\r\n" aqd-own-tool-first)))
        (aqd-own-tool-with-file aqd-original-of-two
          (let ((review (aqd-own-tool-decide)))
            (agent-q-diff-accept review 0)
            (agent-q-diff-reject review 1)
            (agent-q-diff-end review))
          (let (message)
            (should-not
             (aqd-warned
               (should (string-match-p
                        "Claude Code wrote what you decided, and another program has changed it"
                        (aqd-said (setq message (aqd-own-tool-check "text" formatted
                                                                    "written" written)))))))
            (should (string-prefix-p "✓ Accepted in part: 1 of 2 hunks" message))
            (should (string-search "That is what Edit wrote. Another program, such as a formatter"
                                   message))
            (should (string-search "-five\n+FIVE;" message))
            (should-not (string-match-p "ALARM\\|change nothing\\|as they now are" message)))
          (let ((entry (car (agent-q-diff-log-entries 1))))
            (should (equal "changed since" (plist-get entry :outcome)))
            (should (string-search "+FIVE;" (plist-get entry :reason)))))))))

(ert-deftest aqd-own-tool-what-a-slow-formatter-changed-is-said-at-the-next-edit ()
  (aqd-with-log-file
    (let ((formatted (string-replace "five" "FIVE;" aqd-modified-of-two))
          (note "Another program, such as a formatter, has changed .* since an agent's last edit"))
      (aqd-own-tool-with-file aqd-original-of-two
        (cl-flet ((edit ()
                    (aqd-own-tool-allow)
                    (write-region aqd-modified-of-two nil aqd-file nil 'silent)
                    (aqd-own-tool-check "text" aqd-modified-of-two))
                  (notes (text)
                    (let ((review (aqd-own-tool-decide "original" text "modified" "other\n")))
                      (prog1 (string-join
                              (split-string (aqd-in-diff review (buffer-string)) "\n# *") " ")
                        (agent-q-diff-cancel review)))))
          (edit)
          (write-region formatted nil aqd-file nil 'silent)
          (should (string-match-p note (notes formatted)))
          (let ((entry (seq-find (lambda (entry)
                                   (equal "changed since" (plist-get entry :outcome)))
                                 (agent-q-diff-log-entries 9))))
            (should (string-search "+FIVE;" (plist-get entry :reason))))
          ;; It is said once.
          (should-not (string-match-p note (notes formatted)))
          ;; Nothing has changed.
          (write-region aqd-original-of-two nil aqd-file nil 'silent)
          (edit)
          (should-not (string-match-p note (notes aqd-modified-of-two)))
          ;; The user changed it.
          (write-region aqd-original-of-two nil aqd-file nil 'silent)
          (edit)
          (with-current-buffer (find-file-noselect aqd-file)
            (revert-buffer t t)
            (insert "mine\n")
            (let ((inhibit-message t))
              (save-buffer)))
          (should-not (string-match-p note (notes (concat "mine\n" aqd-modified-of-two)))))))))

(ert-deftest aqd-own-tool-an-edit-that-contradicts-what-the-file-declares-is-said ()
  (let* ((original "# -*- coding: utf-8 -*-\n# caf\u00e9\n")
         (modified (string-replace "utf-8" "latin-1" original)))
    (dolist (encoding '("utf-8" "utf-16le"))
      (aqd-own-tool-with-file original
        (let ((review (aqd-own-tool-decide "original" original "modified" modified
                                           "encoding" encoding)))
          (aqd-in-diff review
            (should (eq (equal encoding "utf-8")
                        (and (string-search "With all hunks in, the file declares the coding"
                                            (buffer-string))
                             t)))
            (agent-q-diff-accept-all)))
        (should (eq (equal encoding "utf-8")
                    (and (string-match-p
                          "WARNING: .*target\\.txt: the file declares the coding system .*latin"
                          (aqd-own-tool-check "text" modified "encoding" encoding))
                         t)))))))

(ert-deftest aqd-own-tool-if-nobody-says-what-was-written-no-more-is-said-than-is-known ()
  (aqd-own-tool-with-file aqd-original-of-two
    (aqd-own-tool-allow)
    (let* ((formatted (string-replace "five" "FIVE;" aqd-modified-of-two))
           message
           (warned (aqd-warned (setq message (aqd-own-tool-check "text" formatted)))))
      (should (string-search "Claude Code does not say what its tool Edit wrote" warned))
      (should (string-search "It is not known whether Edit wrote that, or another program"
                             message))
      (dolist (text (list warned message))
        (should (string-search "-five\n+FIVE;" text))
        (should-not (string-match-p "ALARM\\|change nothing" text))))))

(ert-deftest aqd-own-tool-what-the-user-refused-and-is-there-is-an-alarm ()
  (dolist (text (list aqd-modified-of-two
                      ;; Reformatted, too.
                      (string-replace "line 3\n" "line 3;\n" aqd-modified-of-two)))
    (aqd-own-tool-with-file aqd-original-of-two
      (let ((review (aqd-own-tool-decide)))
        (agent-q-diff-accept review 0)
        (agent-q-diff-reject review 1)
        (agent-q-diff-end review))
      (should (aqd-warned (should (string-prefix-p "ALARM: "
                                                   (aqd-own-tool-check "text" text))))))))

;;;; Accepted, then not run

(ert-deftest aqd-own-tool-what-was-accepted-and-not-run-is-said-when-the-agent-goes-on ()
  (aqd-with-log-file
    (aqd-own-tool-with-file aqd-original-of-two
      (aqd-own-tool-allow)
      ;; Another session, another agent, and the call itself tell nothing.
      (should-not
       (aqd-warned
         (agent-q-diff-own-agent-went-on "Claude Code" "other")
         (agent-q-diff-own-agent-went-on "Claude Code" "12345678-9abc" "call-1")
         (agent-q-diff-own-agent-went-on "Codex" "12345678-9abc")))
      (should (string-match-p
               (concat "Edit " aqd-not-run ".*went on without running it")
               (aqd-warned (agent-q-diff-own-agent-went-on "Claude Code" "12345678-9abc" "call-2"))))
      (should (equal "not run" (plist-get (car (agent-q-diff-log-entries 1)) :outcome)))
      ;; Once is enough; if it is run after all, that is said.
      (should-not (aqd-warned (agent-q-diff-own-agent-went-on "Claude Code" "12345678-9abc")))
      (aqd-write aqd-modified-of-two)
      (should (string-search "Edit was run after all"
                             (aqd-said (agent-q-diff-own-agent-say-run-after-all "call-1"))))
      (should (equal "run after all" (plist-get (car (agent-q-diff-log-entries 1)) :outcome)))
      (should (string-prefix-p "✓ Accepted" (aqd-own-tool-check "text" aqd-modified-of-two))))))

(ert-deftest aqd-own-tool-what-was-written-is-not-called-not-run ()
  (aqd-own-tool-with-file aqd-original-of-two
    (aqd-own-tool-allow)
    (aqd-write aqd-modified-of-two)
    (should-not (aqd-warned (agent-q-diff-own-agent-went-on "Claude Code" "12345678-9abc")))))

(ert-deftest aqd-own-tool-without-any-event-the-file-is-looked-at ()
  (aqd-own-tool-with-file aqd-original-of-two
    (cl-letf (((symbol-value 'agent-q-diff-own-agent--patience) 0))
      (aqd-own-tool-allow))
    (should (string-search
             "nothing was written in 0 seconds"
             (let (warned)
               (cl-letf (((symbol-function 'display-warning)
                          (lambda (_ text &rest _) (setq warned text))))
                 (with-timeout (20 (ert-fail "It is not looked at"))
                   (while (null warned)
                     (accept-process-output nil 0.01))))
               warned)))))

(defun aqd-own-tool-turn (call path)
  "Let CALL take its turn to change the file PATH, and return whether it has it.
The value is a function; called with non-nil, it lets the call go first."
  (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Claude Code" :caller call))
        (begun nil))
    (agent-q-diff-own-tool-take-turn
     (aqd-own-tool-table `(("call" . ,call)
                           ("files" . ,(vector (aqd-own-tool-table `(("path" . ,path)))))))
     (lambda (_) (setq begun t)))
    (lambda (&optional is-leaving)
      (when is-leaving
        (agent-q-diff-tools-withdraw call))
      begun)))

(defun aqd-own-tool-table (pairs)
  "Return a hash table with PAIRS."
  (let ((table (make-hash-table :test #'equal)))
    (pcase-dolist (`(,key . ,value) pairs table)
      (puthash key value table))))

(ert-deftest aqd-own-tool-the-next-edit-of-a-file-waits-until-the-first-is-written ()
  (dolist (ending '(written failed went-on in-vain not-kept))
    (ert-info ((symbol-name ending))
      (aqd-own-tool-with-file aqd-original-of-two
        (let ((link (expand-file-name "link.txt" (file-name-directory aqd-file)))
              (one (aqd-own-tool-turn "call-1" aqd-file)))
          (make-symbolic-link aqd-file link)
          (should (funcall one))
          (aqd-in-diff (aqd-own-tool-decide)
            (agent-q-diff-accept-all))
          (let ((two (aqd-own-tool-turn "call-2" link)))
            ;; The first call's program has ended.
            (funcall one 'leaving)
            (should-not (funcall two))
            (pcase-exhaustive ending
              ('written
               (aqd-write aqd-modified-of-two)
               (aqd-own-tool-check "text" aqd-modified-of-two))
              ('failed
               (should (string-search "the agent says that it failed"
                                      (aqd-warned (agent-q-diff-own-agent-failed "call-1")))))
              ('went-on
               (aqd-warned (agent-q-diff-own-agent-went-on "Claude Code" "12345678-9abc" "call-3")))
              ('in-vain
               ;; The timer that is set for that, called at once.
               (let ((timer (agent-q-diff-own-agent-decision-timer
                             (cdar agent-q-diff-own-agent--decided))))
                 (should (memq timer timer-list))
                 (aqd-warned (apply (timer--function timer) (timer--args timer)))))
              ('not-kept
               (agent-q-diff-own-agent-take "call-1")))
            (should (funcall two))
            (funcall two 'leaving))
          (should-not agent-q-diff-tools--turns)
          (delete-file link)
          (pcase-dolist (`(,call . ,_) agent-q-diff-own-agent--decided)
            (agent-q-diff-own-agent-take call)))))))

(ert-deftest aqd-own-tool-a-new-file-that-was-not-made-is-said ()
  (aqd-own-tool-with-file "x\n"
    (let ((aqd-file (concat aqd-file ".new")))
      (aqd-own-tool-allow "original" 'none "modified" "one\n")
      (should (aqd-warned (agent-q-diff-own-agent-went-on "Claude Code" "12345678-9abc"))))))

(ert-deftest aqd-own-tool-plan-mode-is-said-above-the-diff ()
  (aqd-own-tool-with-file aqd-original-of-two
    (dolist (planning '(t :false))
      (let ((review (aqd-own-tool-decide "planning" planning)))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (should (eq (eq t planning)
                      (and (string-search
                            "Note: Claude Code is in plan mode: even what you accept is not written"
                            (buffer-string))
                           t))))
        (agent-q-diff-cancel review)))))

(ert-deftest aqd-own-tool-an-edit-that-nobody-decided-is-said-so ()
  (aqd-own-tool-with-file aqd-original-of-two
    (should (string-prefix-p "This edit was not decided in Emacs"
                             (aqd-own-tool-check "text" "x\n")))
    ;; A decision counts once.
    (aqd-own-tool-allow)
    (aqd-own-tool-check "text" aqd-modified-of-two)
    (should (string-prefix-p "This edit was not decided in Emacs"
                             (aqd-own-tool-check "text" aqd-modified-of-two)))))

(ert-deftest aqd-own-tool-a-buffer-follows-what-the-tool-wrote ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((buffer (find-file-noselect aqd-file)))
      (aqd-own-tool-allow)
      (aqd-write aqd-modified-of-two)
      (aqd-own-tool-check "text" aqd-modified-of-two)
      (should (equal (with-current-buffer buffer (buffer-string)) aqd-modified-of-two)))))

;;;; Unsaved edits

(ert-deftest aqd-own-tool-with-unsaved-edits-emacs-writes ()
  (aqd-own-tool-with-file aqd-original-of-two
    (with-current-buffer (find-file-noselect aqd-file)
      (goto-char (point-max))
      (insert "mine\n"))
    (let ((review (aqd-own-tool-decide)))
      (should (string-search "The file has unsaved edits, so Emacs, not Claude Code's \
tool Edit (session 12345678), will write what you decide."
                             (aqd-in-diff review (buffer-string))))
      (agent-q-diff-accept review 0)
      (agent-q-diff-reject review 1)
      (agent-q-diff-end review))
    (should (equal (aqd-own-tool-answer 'verdict) "deny"))
    (should (string-prefix-p (format "Edit was not run: the user has unsaved edits in %s, so \
Emacs wrote what the user accepted.\n✓ Accepted in part: 1 of 2 hunks is in" aqd-file)
                             (aqd-own-tool-answer 'message)))
    (should (equal (aqd-target) (concat aqd-own-tool-first "mine\n")))
    (should (equal (aqd-disk) aqd-original-of-two))))

;;;; What a tool cannot write

(ert-deftest aqd-own-tool-what-a-tool-cannot-write-in-part-emacs-writes-at-once ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((review (aqd-own-tool-decide "rewritable" :false "tool" "NotebookEdit")))
      (should (string-search "Claude Code's tool NotebookEdit (session 12345678) writes all or nothing, so Emacs \
writes what you decide."
                             (aqd-in-diff review (buffer-string))))
      (agent-q-diff-accept review 0)
      (agent-q-diff-end review))
    (should (equal (aqd-own-tool-answer 'verdict) "deny"))
    (should (string-prefix-p "NotebookEdit was not run: it cannot write a part of an edit, so Emacs \
wrote what the user accepted.\n✓ Accepted in part: 1 of 2 hunks is in"
                             (aqd-own-tool-answer 'message)))
    (should (equal (aqd-disk) aqd-own-tool-first))))

(ert-deftest aqd-own-tool-emacs-writes-what-the-tool-cannot ()
  (dolist (is-open '(nil t))
    (aqd-own-tool-with-file aqd-original-of-two
      (when is-open
        (find-file-noselect aqd-file))
      (let ((review (aqd-own-tool-decide)))
        (agent-q-diff-accept review 0)
        (agent-q-diff-reject review 1)
        (agent-q-diff-end review))
      (let ((message (aqd-own-tool-write)))
        (should (string-prefix-p "Edit was not run, since it cannot write what the user \
decided; Emacs wrote it.\n✓ Accepted in part: 1 of 2 hunks is in " message))
        (should (string-search "which is saved" message)))
      (should (equal (aqd-disk) aqd-own-tool-first)))))

(defconst aqd-own-tool-not-run
  (concat "\\`Claude Code's tool Edit " aqd-not-run "[^:]*: ")
  "Regexp for the beginning of a warning.")

(ert-deftest aqd-own-tool-emacs-does-not-write-over-what-others-wrote ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((review (aqd-own-tool-decide)))
      (agent-q-diff-accept review 0)
      (agent-q-diff-end review))
    (aqd-write "other\n")
    (should (string-match-p
             (concat aqd-own-tool-not-run "/.* was changed while the user decided\\'")
             (aqd-warned
               (should-error (aqd-own-tool-write)
                             :type 'agent-q-diff-bad-target))))
    (should (equal (aqd-disk) "other\n"))
    (should-error (aqd-own-tool-write)
                  :type 'agent-q-diff-ended)))

;;;; What is asked

(ert-deftest aqd-own-tool-the-policy-decides-without-a-review ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((agent-q-diff-tools-policy 'deny))
      (should-not (aqd-own-tool-decide))
      (should (equal (aqd-own-tool-answer 'verdict) "deny"))
      (should (string-search "the user's settings deny Edit here"
                             (aqd-own-tool-answer 'message)))))
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((agent-q-diff-tools-policy
           (lambda (tool name arguments)
             (should (equal tool "Edit"))
             (should (equal name aqd-file))
             (should (equal (alist-get 'modified arguments) aqd-modified-of-two))
             'allow)))
      (should-not (aqd-own-tool-decide))
      (should (equal (aqd-own-tool-answer 'verdict) "allow"))
      ;; The user sees it, and the agent need not read anything.
      (aqd-write aqd-modified-of-two)
      (let (said)
        (cl-letf (((symbol-function 'message)
                   (lambda (&rest args) (setq said (apply #'format args)))))
          (should (equal "" (aqd-own-tool-check "text" aqd-modified-of-two))))
        (should (string-match-p "\\`Claude Code edited .*target.txt, by your settings\\'"
                                said))))))

(ert-deftest aqd-own-tool-what-was-not-reviewed-and-not-run-is-no-news ()
  (dolist (is-reviewed '(nil t))
    (aqd-own-tool-with-file aqd-original-of-two
      (if is-reviewed
          (aqd-own-tool-allow)
        (let ((agent-q-diff-tools-policy 'allow))
          (aqd-own-tool-decide)))
      (should (eq is-reviewed
                  (and (aqd-warned (agent-q-diff-own-tool-not-run
                                    (agent-q-diff-own-agent-take "call-1") "it was changed"))
                       t))))))

(ert-deftest aqd-own-tool-a-grant-is-for-one-agent-and-project ()
  (let ((agent-q-diff-permit-grants nil))
    (aqd-own-tool-with-file aqd-original-of-two
      (agent-q-diff-permit-grant "Claude Code's own tools" (agent-q-diff-guard-root))
      (should-not (aqd-own-tool-decide))
      (should (equal (aqd-own-tool-answer 'verdict) "allow"))
      (setq aqd-own-tool-answers nil)
      (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Gemini CLI")))
        (agent-q-diff-cancel (aqd-own-tool-decide "call" "call-2")))
      (should (equal (aqd-own-tool-answer 'verdict) "deny")))))

(ert-deftest aqd-own-tool-a-policy-of-review-counts-more-than-a-grant ()
  (let ((agent-q-diff-permit-grants nil)
        (agent-q-diff-tools-policy (lambda (&rest _) 'review)))
    (aqd-own-tool-with-file aqd-original-of-two
      (agent-q-diff-permit-grant "Claude Code's own tools" (agent-q-diff-guard-root))
      (agent-q-diff-cancel (aqd-own-tool-decide)))))

(ert-deftest aqd-own-tool-what-is-allowed-or-denied-without-a-review-is-in-the-log ()
  (pcase-dolist (`(,policy . ,outcome) '((allow . "accepted") (deny . "rejected")))
    (aqd-own-tool-with-file aqd-original-of-two
      (let ((agent-q-diff-tools-policy policy)
            (agent-q-diff-log-file (concat aqd-file ".log"))
            (inhibit-message t))
        (aqd-own-tool-decide)
        (when (eq policy 'allow)
          (should (equal "" (aqd-own-tool-check "text" aqd-modified-of-two))))
        (let ((entry (car (agent-q-diff-log-entries 1))))
          (should (equal (list "Edit" "Claude Code" aqd-file outcome "policy")
                         (mapcar (apply-partially #'plist-get entry)
                                 '(:tool :agent :path :outcome :decided-by)))))
        (delete-file agent-q-diff-log-file)))))

(ert-deftest aqd-own-tool-nothing-is-allowed-if-the-agent-goes-meanwhile ()
  (let ((agent-q-diff-permit-grants nil))
    (aqd-own-tool-with-file aqd-original-of-two
      (let ((review (aqd-own-tool-decide)))
        (aqd-in-diff review
          (cl-letf (((symbol-function 'y-or-n-p)
                     (lambda (_) (save-current-buffer (agent-q-diff-cancel review)) t)))
            (should-error (agent-q-diff-allow-agent) :type 'user-error))))
      (should-not agent-q-diff-permit-grants))))

(ert-deftest aqd-own-tool-the-user-can-allow-an-agent-for-the-session ()
  (let ((agent-q-diff-permit-grants nil))
    (aqd-own-tool-with-file aqd-original-of-two
      (aqd-in-diff (aqd-own-tool-decide)
        (should (eq #'agent-q-diff-allow-agent (key-binding "A")))
        (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
          (agent-q-diff-allow-agent))
        (should-not agent-q-diff-permit-grants)
        (cl-letf (((symbol-function 'y-or-n-p) (lambda (question)
                                                 (string-search "Claude Code's own tools"
                                                                question))))
          (agent-q-diff-allow-agent)))
      (should (equal (aqd-own-tool-answer 'verdict) "allow"))
      (setq aqd-own-tool-answers nil)
      (should-not (aqd-own-tool-decide "call" "call-2"))
      (should (equal (aqd-own-tool-answer 'verdict) "allow")))
    (aqd-with-open-review "a\n" "b\n"
      (aqd-in-diff review
        (should-error (agent-q-diff-allow-agent) :type 'user-error)
        (agent-q-diff-reject-all)))))

(ert-deftest aqd-own-tool-a-grant-is-not-for-files-outside-the-project ()
  (let ((agent-q-diff-permit-grants nil))
    (aqd-own-tool-with-file aqd-original-of-two
      (let ((agent-q-diff-project-root (file-name-as-directory (make-temp-file "aqd" t))))
        (agent-q-diff-permit-grant "Claude Code's own tools" (agent-q-diff-guard-root))
        (dolist (agent-q-diff-tools-policy '(ask allow))
          (setq aqd-own-tool-answers nil)
          (let ((review (aqd-own-tool-decide)))
            (should (string-search "OUTSIDE the project" (aqd-in-diff review (buffer-string))))
            (agent-q-diff-cancel review)))
        (delete-directory agent-q-diff-project-root)))))

(ert-deftest aqd-own-tool-what-emacs-has-to-write-is-not-allowed-unseen ()
  (let ((agent-q-diff-tools-policy 'allow))
    (aqd-own-tool-with-file aqd-original-of-two
      (agent-q-diff-cancel (aqd-own-tool-decide "rewritable" :false)))
    (aqd-own-tool-with-file aqd-original-of-two
      (with-current-buffer (find-file-noselect aqd-file)
        (insert "mine\n"))
      (agent-q-diff-cancel (aqd-own-tool-decide)))))

(ert-deftest aqd-own-tool-unsaved-edits-that-came-meanwhile-are-kept ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((review (aqd-own-tool-decide)))
      (with-current-buffer (find-file-noselect aqd-file)
        (insert "mine\n"))
      (should (string-match-p
               (concat aqd-own-tool-not-run "it was edited in Emacs meanwhile, and not saved\\'")
               (aqd-warned (aqd-in-diff review (agent-q-diff-accept-all))))))
    (should (aqd-own-tool-answer 'error))
    (should (equal (aqd-own-tool-answer 'verdict) "deny"))
    (should (string-search "has edited the file in Emacs meanwhile"
                           (aqd-own-tool-answer 'message)))))

(ert-deftest aqd-own-tool-bytes-that-are-not-utf-8-are-not-sent ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((review (aqd-own-tool-decide)))
      (agent-q-diff-accept review 0)
      (with-current-buffer (aqd-target-of review)
        (goto-char (point-max))
        (insert (string #x3fff80) "\n"))
      (should (string-match-p
               (concat aqd-own-tool-not-run "what you decided has bytes that are not UTF-8\\'")
               (aqd-warned (agent-q-diff-end review)))))
    (should (aqd-own-tool-answer 'error))
    (should (string-search "not UTF-8" (aqd-own-tool-answer 'message)))))

(ert-deftest aqd-own-tool-what-changes-nothing-passes-and-is-known ()
  (aqd-own-tool-with-file aqd-original-of-two
    (should-not (aqd-own-tool-decide "modified" aqd-original-of-two))
    (should (equal (aqd-own-tool-answer 'verdict) "allow"))
    (should (equal "" (aqd-own-tool-check "text" aqd-original-of-two)))))

(ert-deftest aqd-own-tool-an-empty-file-is-asked-about ()
  (pcase-dolist (`(,answer . ,verdict) '((t . "allow") (nil . "deny")))
    (aqd-own-tool-with-file "x\n"
      (let ((aqd-file (concat aqd-file ".new")))
        (cl-letf (((symbol-function 'y-or-n-p) (lambda (question)
                                                 (should (string-search "the empty file"
                                                                        question))
                                                 answer)))
          (should-not (aqd-own-tool-decide "original" 'none "modified" ""))
          (with-timeout (20 (ert-fail "It is not asked"))
            (while (null aqd-own-tool-answers)
              (accept-process-output nil 0.01))))
        (should (equal (aqd-own-tool-answer 'verdict) verdict))
        (when answer
          (should (equal "" (aqd-own-tool-check "text" ""))))))))

(ert-deftest aqd-own-tool-emacs-claims-only-what-it-made ()
  (aqd-own-tool-with-file aqd-original-of-two
    (aqd-in-diff (aqd-own-tool-decide "rewritable" :false)
      (agent-q-diff-reject-all))
    (should (string-prefix-p "Edit was not run.\n✗ Rejected: " (aqd-own-tool-answer 'message)))
    (should-not (aqd-own-tool-answer 'error)))
  (aqd-own-tool-with-file aqd-original-of-two
    (agent-q-diff-cancel (aqd-own-tool-decide "rewritable" :false))
    (should (string-prefix-p "Edit was not run.\nError: there is no decision"
                             (aqd-own-tool-answer 'message)))
    (should (aqd-own-tool-answer 'error))))

(ert-deftest aqd-own-tool-a-protected-file-is-always-asked-for ()
  (let ((agent-q-diff-tools-policy 'allow)
        (agent-q-diff-permit-grants nil))
    (aqd-own-tool-with-file aqd-original-of-two
      (agent-q-diff-permit-grant "Claude Code's own tools" (agent-q-diff-guard-root))
      (let ((aqd-file (expand-file-name ".env" (file-name-directory aqd-file))))
        (aqd-write "A=1\n")
        (let ((review (aqd-own-tool-decide "original" "A=1\n" "modified" "A=2\n")))
          (should review)
          (aqd-in-diff review
            (should (string-search "PROTECTED: " (buffer-string)))
            (should-error (agent-q-diff-allow-agent) :type 'user-error))
          (agent-q-diff-cancel review))
        (delete-file aqd-file)))))

(ert-deftest aqd-own-tool-what-is-not-for-agents-is-refused ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((directory (expand-file-name ".git" (file-name-directory aqd-file))))
      (make-directory directory)
      (let ((aqd-file (expand-file-name "config" directory)))
        (should-error (aqd-own-tool-decide) :type 'agent-q-diff-forbidden))
      (delete-directory directory t))
    (should-error (aqd-own-tool-decide "modified" 3) :type 'agent-q-diff-bad-arguments)
    (should-error (aqd-own-tool-decide "call" 'none) :type 'agent-q-diff-bad-arguments)
    (should-not aqd-own-tool-answers)))

(ert-deftest aqd-own-tool-decisions-are-forgotten-in-time ()
  (aqd-own-tool-with-file aqd-original-of-two
    (let ((agent-q-diff-tools-policy 'allow))
      (dotimes (n (+ 3 agent-q-diff-own-agent--max-decided))
        (aqd-own-tool-decide "call" (format "call-%d" n))))
    (should (= agent-q-diff-own-agent--max-decided (length agent-q-diff-own-agent--decided)))))

;;;; Patches

(defvar aqd-own-tool-patch-answers nil
  "What was answered, a list of (MESSAGE IS-ERROR VERDICT), newest first.")

(defun aqd-own-tool-patch-file (name)
  "Return the absolute name of the file NAME beside the test's."
  (expand-file-name name (file-name-directory aqd-file)))

(defun aqd-own-tool-patch-text (name)
  "Return the text of the file NAME, or nil if there is none."
  (let ((file (aqd-own-tool-patch-file name)))
    (and (file-exists-p file)
         (with-temp-buffer
           (insert-file-contents file)
           (buffer-string)))))

(defun aqd-own-tool-patch-arguments (lines &optional files)
  "Return the arguments of `decide_patch' for a patch of Codex's with LINES.
FILES are property lists for its files, or nil if Emacs has to apply it."
  (let ((arguments (make-hash-table :test #'equal)))
    (puthash "tool" "apply_patch" arguments)
    (puthash "call" "call-1" arguments)
    (puthash "session" "12345678-9abc" arguments)
    (puthash "diff" (concat "*** Begin Patch\n" (string-join lines "\n") "\n*** End Patch\n")
             arguments)
    (when files
      (puthash "files" (vconcat (mapcar #'aqd-own-tool-patch-file-arguments files)) arguments))
    arguments))

(defun aqd-own-tool-patch-file-arguments (file)
  "Return what `decide_patch' gets for FILE, a property list, with names relative."
  (let ((arguments (make-hash-table :test #'equal)))
    (puthash "encoding" "utf-8" arguments)
    (puthash "encoding_before" "utf-8" arguments)
    (cl-loop for (key value) on file by #'cddr
             do (puthash (string-replace "-" "_" (substring (symbol-name key) 1))
                         (if (memq key '(:path :to)) (aqd-own-tool-patch-file value) value)
                         arguments))
    arguments))

(defun aqd-own-tool-patch-request (lines &optional files)
  "Have the patch with LINES decided, and return its review.
FILES are as for `aqd-own-tool-patch-arguments'."
  (agent-q-diff-own-tool-decide-patch
   (aqd-own-tool-patch-arguments lines files)
   (lambda (&rest answer) (push answer aqd-own-tool-patch-answers))))

(defun aqd-own-tool-patch-decide (&rest lines)
  "Have a patch of Codex's with LINES decided, which Emacs has to apply."
  (aqd-own-tool-patch-request lines))

(defun aqd-own-tool-patch-of-two (&optional other)
  "Have the patch of a line in the test's file, and of a new file OTHER, decided.
Emacs has to apply it."
  (aqd-own-tool-patch-decide "*** Update File: target.txt" "@@" "-two" "+TWO"
                        (concat "*** Add File: " (or other "new.txt")) "+new"))

(defconst aqd-own-tool-patch-lines
  '("*** Update File: target.txt" "@@" "-two" "+TWO" "*** Delete File: gone.txt"
    "*** Update File: old.txt" "*** Move to: renamed.txt" "@@" "-o" "+O"
    "*** Add File: new.txt" "+new")
  "Lines of a patch of all kinds.")

(defconst aqd-own-tool-patch-files
  '((:path "target.txt" :original "one\ntwo\n" :modified "one\nTWO\n")
    (:path "gone.txt" :original "gone\n")
    (:path "old.txt" :to "renamed.txt" :original "o\n" :modified "O\n")
    (:path "new.txt" :modified "new\n"))
  "What the program says about the files of `aqd-own-tool-patch-lines'.")

(defun aqd-own-tool-patch-of-four (&optional files)
  "Have the patch of `aqd-own-tool-patch-lines' decided, whose tool runs itself.
FILES is what the program says about them, by default
`aqd-own-tool-patch-files'."
  (aqd-own-tool-patch-request aqd-own-tool-patch-lines (or files aqd-own-tool-patch-files)))

(defun aqd-own-tool-patch-answer ()
  "Return the only answer."
  (should (= 1 (length aqd-own-tool-patch-answers)))
  (car aqd-own-tool-patch-answers))

(defun aqd-own-tool-patch-message ()
  "Return the message of the only answer."
  (nth 0 (aqd-own-tool-patch-answer)))

(defun aqd-own-tool-patch-verdict (key)
  "Return KEY of the verdict of the only answer."
  (alist-get key (nth 2 (aqd-own-tool-patch-answer))))

(defun aqd-own-tool-patch-write (name text)
  "Give the file NAME beside the test's TEXT, or delete it if that is nil."
  (let ((file (aqd-own-tool-patch-file name)))
    (if text
        (write-region text nil file nil 'silent)
      (delete-file file))))

(defun aqd-own-tool-patch-check ()
  "Return what is said after the tool has run."
  (agent-q-diff-own-tool-check (agent-q-diff-own-agent-take "call-1") nil))

(defmacro aqd-own-tool-patch-with-files (&rest body)
  "Run BODY with the test's files, as a call of Codex."
  (declare (indent 0) (debug t))
  `(aqd-with-file "one\ntwo\n"
     (let ((agent-q-diff-project-root (file-name-directory aqd-file))
           (agent-q-diff-call (agent-q-diff-call-make :agent "Codex"))
           (agent-q-diff-own-agent--decided nil)
           (aqd-own-tool-patch-answers nil))
       (aqd-own-tool-patch-write "gone.txt" "gone\n")
       (aqd-own-tool-patch-write "old.txt" "o\n")
       (unwind-protect (progn ,@body)
         (agent-q-diff-revoke-grants))
       (aqd-should-leave-nothing))))

;;;; The tool writes

(ert-deftest aqd-own-tool-patch-accepting-all-lets-the-tool-run-as-it-was-called ()
  (aqd-own-tool-patch-with-files
    (aqd-in-diff (aqd-own-tool-patch-of-four)
      (should (string-search "You decide what Codex's tool apply_patch (session 12345678) writes."
                             (buffer-string)))
      (agent-q-diff-accept-all))
    (should (equal "allow" (aqd-own-tool-patch-verdict 'verdict)))
    ;; Nothing is claimed, and nothing written, before the tool has run.
    (should (equal "" (aqd-own-tool-patch-message)))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (should (equal '("gone\n" "o\n" nil nil)
                   (mapcar #'aqd-own-tool-patch-text '("gone.txt" "old.txt" "renamed.txt" "new.txt"))))
    (find-file-noselect aqd-file)
    (find-file-noselect (aqd-own-tool-patch-file "old.txt"))
    (pcase-dolist (`(,name . ,text) '(("target.txt" . "one\nTWO\n") ("gone.txt") ("old.txt")
                                      ("renamed.txt" . "O\n") ("new.txt" . "new\n")))
      (aqd-own-tool-patch-write name text))
    (should (string-match-p
             (rx bos "✓ Accepted: 4 of 4 files: target.txt 1 of 1 hunk, gone.txt deleted, "
                 "old.txt renamed to renamed.txt with 1 of 1 hunk, "
                 "new.txt created." eos)
             (aqd-own-tool-patch-check)))
    ;; Buffers have followed.
    (should (equal "one\nTWO\n" (with-current-buffer (get-file-buffer aqd-file)
                                  (buffer-string))))
    (should-not (get-file-buffer (aqd-own-tool-patch-file "old.txt")))
    (should (equal "O\n" (with-current-buffer (get-file-buffer
                                               (aqd-own-tool-patch-file "renamed.txt"))
                           (buffer-string))))))

(ert-deftest aqd-own-tool-patch-what-later-changed-a-file-and-what-it-declares-is-said ()
  (aqd-own-tool-patch-with-files
    (let* ((before "# -*- coding: utf-8 -*-\n\u00e9\n")
           (after (string-replace "utf-8" "latin-1" before)))
      (aqd-own-tool-patch-write "target.txt" before)
      (aqd-in-diff (aqd-own-tool-patch-request '("*** Update File: target.txt" "@@" "-x" "+x")
                                          `((:path "target.txt" :original ,before
                                                   :modified ,after)))
        (should (string-search "With all hunks in, the file declares" (buffer-string)))
        (agent-q-diff-accept-all))
      (aqd-own-tool-patch-write "target.txt" after)
      (should (string-search "WARNING: " (aqd-own-tool-patch-check)))
      ;; A formatter follows.
      (aqd-own-tool-patch-write "target.txt" (concat after "\n"))
      (let ((review (aqd-own-tool-patch-request '("*** Update File: target.txt" "@@" "-x" "+x")
                                           `((:path "target.txt" :original ,(concat after "\n")
                                                    :modified "other\n")))))
        (aqd-in-diff review
          (should (string-search "has changed target.txt since"
                                 (replace-regexp-in-string "\n# *" " " (buffer-string)))))
        (agent-q-diff-cancel review)))))

(ert-deftest aqd-own-tool-patch-a-part-is-what-the-tool-writes ()
  (aqd-own-tool-patch-with-files
    (let ((review (aqd-own-tool-patch-of-four)))
      ;; The line of target.txt, the rename without its line, and the new file.
      (dolist (hunk '(0 2 4))
        (agent-q-diff-accept review hunk))
      (dolist (hunk '(1 3))
        (agent-q-diff-reject review hunk))
      (agent-q-diff-end review))
    (should (equal "change" (aqd-own-tool-patch-verdict 'verdict)))
    (should (equal [((there . t) (renamed . :false) (text . "one\nTWO\n"))
                    ((there . t) (renamed . :false))
                    ((there . t) (renamed . t))
                    ((there . t) (renamed . :false) (text . "new\n"))]
                   (aqd-own-tool-patch-verdict 'files)))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (pcase-dolist (`(,name . ,text) '(("target.txt" . "one\nTWO\n") ("old.txt")
                                      ("renamed.txt" . "o\n") ("new.txt" . "new\n")))
      (aqd-own-tool-patch-write name text))
    (should (string-match-p
             (rx bos "✓ Accepted in part: 3 of 4 files: target.txt 1 of 1 hunk, "
                 "gone.txt not deleted (rejected), "
                 "old.txt renamed to renamed.txt with 0 of 1 hunk (rejected: hunk 1), "
                 "new.txt created.")
             (aqd-own-tool-patch-check)))))

(ert-deftest aqd-own-tool-patch-a-file-that-is-not-as-decided-is-an-alarm ()
  (dolist (left '(("target.txt" . "one\ntwo\n") ("gone.txt" . "gone\n") ("old.txt" . "o\n")
                  ("renamed.txt" . "o\n") ("new.txt")))
    (aqd-own-tool-patch-with-files
      (aqd-in-diff (aqd-own-tool-patch-of-four)
        (agent-q-diff-accept-all))
      (pcase-dolist (`(,name . ,text) (cons left '(("target.txt" . "one\nTWO\n") ("gone.txt")
                                                   ("old.txt") ("renamed.txt" . "O\n")
                                                   ("new.txt" . "new\n"))))
        (unless (and (equal name (car left)) (not (eq text (cdr left))))
          (aqd-own-tool-patch-write name text)))
      (let (warned)
        (cl-letf (((symbol-function 'display-warning)
                   (lambda (_ message &rest _) (setq warned message))))
          (should (string-match-p (format "\\`ALARM: \\S-+/%s is not what the user decided"
                                          (if (equal "renamed.txt" (car left)) "old.txt"
                                            (car left)))
                                  (aqd-own-tool-patch-check))))
        (should (string-search "Codex's tool apply_patch left text in" warned))))))

(ert-deftest aqd-own-tool-patch-the-bytes-of-a-file-are-compared ()
  (aqd-own-tool-patch-with-files
    (let ((files '((:path "target.txt" :original "one\ntwo\n" :modified "one\nTWO\n"
                          :crlf t)
                   (:path "old.txt" :original "o\n" :modified "ö\n" :encoding "utf-8 with BOM"))))
      (cl-flet ((decide ()
                  (setq aqd-own-tool-patch-answers nil)
                  (aqd-in-diff (aqd-own-tool-patch-of-four files)
                    (agent-q-diff-accept-all))))
        (decide)
        (aqd-own-tool-patch-write "target.txt" "one\r\nTWO\r\n")
        (aqd-own-tool-patch-write "old.txt" "\ufeffö\n")
        (should (string-prefix-p "✓ Accepted" (aqd-own-tool-patch-check)))
        (decide)
        (aqd-own-tool-patch-write "target.txt" "one\nTWO\n")
        (should (string-search
                 "target.txt is not quite what you decided. Codex does not say"
                 (aqd-warned
                   (should (string-match-p
                            "/target\\.txt differs from what the user decided.*
?.*Only its line ends or its encoding differ"
                            (aqd-own-tool-patch-check))))))))))

(ert-deftest aqd-own-tool-patch-what-a-formatter-may-have-changed-is-said-with-the-difference ()
  (aqd-with-log-file
    (aqd-own-tool-patch-with-files
      (aqd-in-diff (aqd-own-tool-patch-of-four)
        (agent-q-diff-accept-all))
      (pcase-dolist (`(,name . ,text) '(("target.txt" . "one\n  TWO;\n") ("gone.txt") ("old.txt")
                                        ("renamed.txt" . "O\n") ("new.txt" . "new\n")))
        (aqd-own-tool-patch-write name text))
      (let* (message
             (warned (aqd-warned (setq message (aqd-own-tool-patch-check)))))
        (dolist (text (list message warned))
          (should (string-search "-TWO\n+  TWO;" text)))
        (should-not (string-search "ALARM" message))
        (should (string-search "It is not known whether apply_patch wrote that" message))
        (should (string-search "✓ Accepted: 4 of 4 files" message)))
      (should (equal "differs" (plist-get (car (agent-q-diff-log-entries 1)) :outcome))))))

(ert-deftest aqd-own-tool-patch-what-the-user-refused-and-is-there-is-an-alarm ()
  (aqd-own-tool-patch-with-files
    (let ((review (aqd-own-tool-patch-of-four)))
      (dotimes (hunk 5)
        (if (= 0 hunk)
            (agent-q-diff-reject review hunk)
          (agent-q-diff-accept review hunk)))
      (agent-q-diff-end review))
    (should (equal "change" (aqd-own-tool-patch-verdict 'verdict)))
    ;; Reformatted, too.
    (pcase-dolist (`(,name . ,text) '(("target.txt" . "one \n  TWO\n") ("gone.txt") ("old.txt")
                                      ("renamed.txt" . "O\n") ("new.txt" . "new\n")))
      (aqd-own-tool-patch-write name text))
    (should (aqd-warned (should (string-prefix-p "ALARM: " (aqd-own-tool-patch-check)))))))

(ert-deftest aqd-own-tool-patch-what-was-accepted-and-not-run-is-said-when-the-agent-goes-on ()
  (aqd-with-log-file
    (aqd-own-tool-patch-with-files
      (aqd-in-diff (aqd-own-tool-patch-of-four)
        (agent-q-diff-accept-all))
      (should (string-match-p
               (concat "apply_patch " aqd-not-run ".*went on without")
               (aqd-warned (agent-q-diff-own-agent-went-on "Codex" "12345678-9abc"))))
      (should (equal "not run" (plist-get (car (agent-q-diff-log-entries 1)) :outcome)))
      (should-not (aqd-warned (agent-q-diff-own-agent-went-on "Codex" "12345678-9abc")))
      (agent-q-diff-own-agent-take "call-1"))))

(ert-deftest aqd-own-tool-patch-rejecting-all-denies-with-the-reasons ()
  (aqd-own-tool-patch-with-files
    (aqd-in-diff (aqd-own-tool-patch-of-four)
      (agent-q-diff-reject-all))
    (should (equal "deny" (aqd-own-tool-patch-verdict 'verdict)))
    (should (string-match-p "\\`✗ Rejected: the user declined the changes to 4 files\\. None of it"
                            (aqd-own-tool-patch-message)))
    (should-not agent-q-diff-own-agent--decided)))

(ert-deftest aqd-own-tool-patch-cancelling-denies-with-an-error ()
  (aqd-own-tool-patch-with-files
    (let ((review (aqd-own-tool-patch-of-four)))
      ;; What was accepted until then is in no file.
      (agent-q-diff-accept review 0)
      (agent-q-diff-cancel review))
    (should (equal "deny" (aqd-own-tool-patch-verdict 'verdict)))
    (should (nth 1 (aqd-own-tool-patch-answer)))
    (should (string-match-p
             "\\`Error: there is no decision about 4 files: .*\n
apply_patch was not run, and none of the change is in the files\\.\\'"
             (aqd-own-tool-patch-message)))))

(ert-deftest aqd-own-tool-patch-cancelling-names-the-only-file ()
  (aqd-own-tool-patch-with-files
    (agent-q-diff-cancel (aqd-own-tool-patch-request '("*** Delete File: gone.txt")
                                                '((:path "gone.txt" :original "gone\n"))))
    (should (string-match-p "\\`Error: there is no decision about [^ ]*gone\\.txt: "
                            (aqd-own-tool-patch-message)))))

(ert-deftest aqd-own-tool-patch-comments-on-a-cancelled-patch-name-their-files ()
  (aqd-own-tool-patch-with-files
    (let ((review (aqd-own-tool-patch-of-four)))
      (aqd-in-diff review
        (let ((inhibit-message t))
          (pcase-dolist (`(,hunk . ,comment) '((1 . "needed") (3 . "keep it")))
            (agent-q-diff-buffer-goto-hunk hunk)
            (agent-q-diff-comment-hunk comment))))
      (agent-q-diff-cancel review))
    (should (string-suffix-p "
apply_patch was not run, and none of the change is in the files.
The user says of gone.txt: needed
The user says of hunk 1 of old.txt: keep it" (aqd-own-tool-patch-message)))))

(ert-deftest aqd-own-tool-patch-what-the-user-typed-meanwhile-is-not-lost ()
  (aqd-own-tool-patch-with-files
    (let ((review (aqd-own-tool-patch-of-four)))
      (with-current-buffer (find-file-noselect aqd-file)
        (insert "typed\n"))
      (should (string-match-p
               (concat "\\`Codex's tool apply_patch " aqd-not-run
                       "/[^:]*, [^:]*: one of them was edited in Emacs meanwhile, and not saved\\'")
               (aqd-warned (aqd-in-diff review (agent-q-diff-accept-all))))))
    (should (equal "deny" (aqd-own-tool-patch-verdict 'verdict)))
    (should (string-search "the user has edited a file of it in Emacs meanwhile"
                           (aqd-own-tool-patch-message)))
    (with-current-buffer (get-file-buffer aqd-file)
      (set-buffer-modified-p nil))))

(ert-deftest aqd-own-tool-patch-emacs-writes-if-a-file-has-unsaved-edits ()
  (aqd-own-tool-patch-with-files
    (with-current-buffer (find-file-noselect aqd-file)
      (goto-char (point-max))
      (insert "typed\n"))
    (aqd-in-diff (aqd-own-tool-patch-of-four)
      (should (string-search "A file has unsaved edits: Emacs writes what you decide"
                             (buffer-string)))
      (agent-q-diff-accept-all))
    (should (equal "deny" (aqd-own-tool-patch-verdict 'verdict)))
    (should (string-prefix-p "The patch was not run: the user has unsaved edits in a file, so \
Emacs wrote what the user accepted, in all files at once.\n✓ Accepted" (aqd-own-tool-patch-message)))
    (should (equal '(nil nil "O\n" "new\n")
                   (mapcar #'aqd-own-tool-patch-text '("gone.txt" "old.txt" "renamed.txt" "new.txt"))))
    (with-current-buffer (get-file-buffer aqd-file)
      (should (equal "one\nTWO\ntyped\n" (buffer-string)))
      (set-buffer-modified-p nil))))

(ert-deftest aqd-own-tool-patch-a-shell-command-is-always-reviewed ()
  ;; The agent chooses its directory, and so what would be the project.
  (aqd-own-tool-patch-with-files
    (let* ((agent-q-diff-tools-policy 'allow)
           (agent-q-diff-display 'announce)
           (arguments (aqd-own-tool-patch-arguments aqd-own-tool-patch-lines)))
      (puthash "shell" t arguments)
      (aqd-in-diff (agent-q-diff-own-tool-decide-patch arguments #'ignore)
        (should (string-match-p "^# Note: The agent chose the directory of this shell command: /"
                                (buffer-string)))
        (should-not agent-q-diff-own-tool-mode)
        (agent-q-diff-cancel agent-q-diff-buffer-review))
      (should (equal (aqd-disk) "one\ntwo\n")))))

(ert-deftest aqd-own-tool-patch-a-mistake-in-a-patch-is-no-dead-end ()
  (pcase-dolist
      (`(,reason . ,lines)
       '(("target\\.txt: line 3 of the patch: the file has no such lines there, beginning with \"no\""
          "*** Update File: target.txt" "@@" "-no" "+x" "*** Delete File: gone.txt")
         ("missing\\.txt does not exist" "*** Update File: missing.txt" "@@" "-no" "+x")
         ("missing\\.txt does not exist" "*** Delete File: missing.txt")
         ("target\\.txt has two sections in the patch; give each file one"
          "*** Update File: target.txt" "@@" "-two" "+TWO"
          "*** Update File: target.txt" "@@" "-one" "+ONE")))
    (aqd-own-tool-patch-with-files
      (let ((agent-q-diff-display 'announce))
        (apply #'aqd-own-tool-patch-decide lines))
      (should (string-match-p
               (concat "\\`The patch was not run.*\n?.*" reason
                       "\\. Read the files, and send another patch\\.\\'")
               (aqd-own-tool-patch-message)))
      ;; An error would be answered with what the user can do.
      (should-not (nth 1 (aqd-own-tool-patch-answer)))
      (should (equal "deny" (aqd-own-tool-patch-verdict 'verdict))))))

(ert-deftest aqd-own-tool-patch-emacs-writes-what-the-tool-cannot ()
  (aqd-own-tool-patch-with-files
    (let ((review (aqd-own-tool-patch-of-four)))
      (dolist (hunk '(1 2 4))
        (agent-q-diff-accept review hunk))
      (agent-q-diff-reject review 0)
      (agent-q-diff-reject review 3)
      (agent-q-diff-end review))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (let ((message (agent-q-diff-own-tool-write (agent-q-diff-own-agent-take "call-1"))))
      (should (string-prefix-p "apply_patch was not run, since it cannot write what the user \
decided; Emacs wrote it, in all files at once.\n✓ Accepted in part: 3 of 4 files: " message)))
    (should (equal '("one\ntwo\n" nil nil "o\n" "new\n")
                   (mapcar #'aqd-own-tool-patch-text '("target.txt" "gone.txt" "old.txt" "renamed.txt"
                                                  "new.txt"))))))

(ert-deftest aqd-own-tool-patch-emacs-does-not-write-over-what-others-wrote ()
  (aqd-own-tool-patch-with-files
    (let ((review (aqd-own-tool-patch-of-four)))
      (agent-q-diff-accept review 0)
      (agent-q-diff-accept review 1)
      (agent-q-diff-reject review 2)
      (agent-q-diff-end review))
    (aqd-own-tool-patch-write "target.txt" "other\n")
    (should-error (agent-q-diff-own-tool-write (agent-q-diff-own-agent-take "call-1"))
                  :type 'agent-q-diff-bad-target)
    (should (equal (aqd-disk) "other\n"))
    (should (equal "gone\n" (aqd-own-tool-patch-text "gone.txt")))))

(ert-deftest aqd-own-tool-patch-an-allowed-one-is-not-shown ()
  (aqd-own-tool-patch-with-files
    (let ((agent-q-diff-tools-policy 'allow))
      (should-not (aqd-own-tool-patch-of-four))
      (should (equal "allow" (aqd-own-tool-patch-verdict 'verdict)))
      (pcase-dolist (`(,name . ,text) '(("target.txt" . "one\nTWO\n") ("gone.txt") ("old.txt")
                                        ("renamed.txt" . "O\n") ("new.txt" . "new\n")))
        (aqd-own-tool-patch-write name text))
      (let (told)
        (should (equal "Codex edited 4 files, by your settings"
                       (aqd-said (setq told (aqd-own-tool-patch-check)))))
        (should (equal "" told))))))

(ert-deftest aqd-own-tool-patch-that-changes-nothing-is-not-shown ()
  (aqd-own-tool-patch-with-files
    (should-not (aqd-own-tool-patch-request
                 aqd-own-tool-patch-lines
                 '((:path "target.txt" :original "one\ntwo\n" :modified "one\ntwo\n"))))
    (should (equal "allow" (aqd-own-tool-patch-verdict 'verdict)))
    (should (equal "" (aqd-own-tool-patch-check)))))

(ert-deftest aqd-own-tool-patch-that-changes-nothing-is-allowed-beside-unsaved-edits ()
  (aqd-own-tool-patch-with-files
    (with-current-buffer (find-file-noselect aqd-file)
      (insert "typed\n")
      (should-not (aqd-own-tool-patch-request
                   aqd-own-tool-patch-lines
                   '((:path "target.txt" :original "one\ntwo\n" :modified "one\ntwo\n"))))
      (set-buffer-modified-p nil))
    (should (equal "allow" (aqd-own-tool-patch-verdict 'verdict)))))

(ert-deftest aqd-own-tool-patch-a-refused-file-is-named ()
  (aqd-own-tool-patch-with-files
    (make-directory (aqd-own-tool-patch-file ".git"))
    (pcase-let ((`(,_ ,text) (should-error
                              (aqd-own-tool-patch-of-four
                               (append aqd-own-tool-patch-files
                                       '((:path ".git/config" :modified "x\n"))))
                              :type 'agent-q-diff-forbidden)))
      (should (string-search ".git/config" text)))))

(ert-deftest aqd-own-tool-patch-of-which-one-file-changes-is-decided-as-well ()
  (aqd-own-tool-patch-with-files
    (aqd-in-diff (aqd-own-tool-patch-request
                  aqd-own-tool-patch-lines
                  '((:path "target.txt" :original "one\ntwo\n" :modified "ONE\ntwo\n")
                    (:path "gone.txt" :original "gone\n" :modified "gone\n")))
      (agent-q-diff-accept-all))
    (should (equal "allow" (aqd-own-tool-patch-verdict 'verdict)))
    (aqd-own-tool-patch-write "target.txt" "ONE\ntwo\n")
    (should (string-match-p "\\`✓ Accepted: the change is in .*target.txt, which is saved"
                            (aqd-own-tool-patch-check)))))

(ert-deftest aqd-own-tool-patch-the-guard-looks-at-what-the-tool-would-write ()
  (aqd-own-tool-patch-with-files
    (make-directory (aqd-own-tool-patch-file ".git"))
    (should-error (aqd-own-tool-patch-request
                   ;; The patch calls it otherwise, as from another directory.
                   '("*** Add File: config" "+x") '((:path ".git/config" :modified "x\n")))
                  :type 'agent-q-diff-forbidden)
    (should-not aqd-own-tool-patch-answers)
    (let (review)
      (setq review (aqd-own-tool-patch-request
                    '("*** Add File: new.txt" "+x" "*** Delete File: gone.txt")
                    '((:path "sub/new.txt" :modified "x\n")
                      (:path "gone.txt" :original "gone\n"))))
      ;; Another program makes a link of the directory meanwhile.
      (make-symbolic-link (aqd-own-tool-patch-file ".git") (aqd-own-tool-patch-file "sub"))
      (should-error (agent-q-diff-accept review 0))
      (agent-q-diff-cancel review)
      (delete-file (aqd-own-tool-patch-file "sub")))))

(ert-deftest aqd-own-tool-patch-refuses-what-is-no-request ()
  (aqd-own-tool-patch-with-files
    (let ((arguments (aqd-own-tool-patch-arguments aqd-own-tool-patch-lines)))
      (remhash "call" arguments)
      (should-error (agent-q-diff-own-tool-decide-patch arguments #'ignore)
                    :type 'agent-q-diff-bad-arguments))))

(defun aqd-own-tool-patch-swap (file)
  "Make FILE, one of a patch, a link out of the directory; others keep theirs."
  (let ((name (aqd-own-tool-patch-file file))
        (outside (make-temp-file "agent-q-diff-outside")))
    (when (file-exists-p name)
      (copy-file name outside t)
      (delete-file name))
    (make-symbolic-link outside name)
    outside))

(ert-deftest aqd-own-tool-patch-a-file-that-leads-elsewhere-by-the-verdict-is-denied ()
  (dolist (file '("target.txt" "gone.txt" "old.txt" "renamed.txt" "new.txt"))
    (ert-info (file)
      (aqd-own-tool-patch-with-files
        (let ((review (aqd-own-tool-patch-of-four))
              outside)
          (unwind-protect
              (progn
                (dolist (hunk (number-sequence 0 4))
                  (agent-q-diff-accept review hunk))
                (setq outside (aqd-own-tool-patch-swap file))
                (should (string-match-p (concat "tool apply_patch " aqd-not-run)
                                        (aqd-warned (agent-q-diff-end review)))))
            (when outside
              (delete-file outside))))
        (should (equal "deny" (aqd-own-tool-patch-verdict 'verdict)))
        (should (string-match-p
                 (format "\\`Error: apply_patch was not run: .*%s.*None of it is in the files"
                         (regexp-quote file))
                 (aqd-own-tool-patch-message)))))))

(ert-deftest aqd-own-tool-patch-a-file-that-leads-elsewhere-after-the-verdict-is-an-alarm ()
  (dolist (file '("target.txt" "new.txt" "renamed.txt"))
    (ert-info (file)
      (aqd-own-tool-patch-with-files
        (aqd-in-diff (aqd-own-tool-patch-of-four)
          (agent-q-diff-accept-all))
        (should (equal "allow" (aqd-own-tool-patch-verdict 'verdict)))
        (pcase-dolist (`(,name . ,text) '(("target.txt" . "one\nTWO\n") ("gone.txt") ("old.txt")
                                          ("renamed.txt" . "O\n") ("new.txt" . "new\n")))
          (aqd-own-tool-patch-write name text))
        (let ((outside (aqd-own-tool-patch-swap file)))
          (unwind-protect
              (should (string-match-p
                       "may have written another file"
                       (aqd-warned
                         (should (string-match-p
                                  (concat "\\`ALARM: apply_patch may have written another file .*"
                                          (if (equal file "renamed.txt") "old\\.txt"
                                            (regexp-quote file)))
                                  (aqd-own-tool-patch-check))))))
            (delete-file outside)))))))

;;;; Emacs writes

(ert-deftest aqd-own-tool-patch-says-who-writes-and-what-became-of-it ()
  (aqd-own-tool-patch-with-files
    (aqd-in-diff (aqd-own-tool-patch-of-two)
      (should (string-search
               "Emacs writes what you decide, in all files at once; Codex's tool apply_patch \
(session 12345678) is not run."
               (buffer-string)))
      (agent-q-diff-accept-all))
    (should (string-match-p
             "\\`The patch was not run: Emacs wrote what the user accepted, in all files at once\\.\n✓ Accepted"
             (aqd-own-tool-patch-message)))
    (should (equal (aqd-disk) "one\nTWO\n"))
    (should (equal (aqd-own-tool-patch-text "new.txt") "new\n"))))

(ert-deftest aqd-own-tool-patch-that-is-rejected-claims-nothing ()
  (aqd-own-tool-patch-with-files
    (aqd-in-diff (aqd-own-tool-patch-of-two)
      (agent-q-diff-reject-all))
    (should (string-match-p "\\`The patch was not run\\.\n✗ Rejected" (aqd-own-tool-patch-message)))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (should-not (aqd-own-tool-patch-text "new.txt"))))

(ert-deftest aqd-own-tool-patch-is-made-without-asking-after-a-grant ()
  (aqd-own-tool-patch-with-files
    (aqd-in-diff (aqd-own-tool-patch-of-two)
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (agent-q-diff-allow-agent)))
    (setq aqd-own-tool-patch-answers nil)
    (let (said)
      (setq said (aqd-said (aqd-own-tool-patch-decide "*** Update File: target.txt" "@@" "-one" "+ONE"
                                                 "*** Delete File: new.txt")))
      (should (equal said "Codex edited 2 files, by your grant")))
    (should (string-search "✓ Accepted" (aqd-own-tool-patch-message)))
    (should (equal (aqd-disk) "ONE\nTWO\n"))
    (should-not (aqd-own-tool-patch-text "new.txt"))))

(ert-deftest aqd-own-tool-patch-with-a-protected-file-is-shown-all-the-same ()
  (aqd-own-tool-patch-with-files
    (let ((agent-q-diff-tools-policy 'allow))
      (aqd-in-diff (aqd-own-tool-patch-of-two ".env")
        (should (string-search "PROTECTED" (buffer-string)))
        (should-not agent-q-diff-own-tool-mode)
        (should (equal (aqd-disk) "one\ntwo\n"))
        (agent-q-diff-reject-all)))))

(ert-deftest aqd-own-tool-patch-that-the-policy-denies-is-not-shown ()
  (aqd-own-tool-patch-with-files
    (let ((agent-q-diff-tools-policy 'deny))
      (should-not (aqd-own-tool-patch-of-two)))
    (should (string-prefix-p "The patch was not run.\n" (aqd-own-tool-patch-message)))
    (should (equal (aqd-disk) "one\ntwo\n"))))

(ert-deftest aqd-own-tool-patch-of-which-a-part-does-not-apply-is-never-made-without-asking ()
  (aqd-own-tool-patch-with-files
    (let ((agent-q-diff-tools-policy 'allow))
      (should (string-search
               "Error"
               (condition-case err
                   (progn (aqd-own-tool-patch-decide "*** Update File: target.txt" "@@" "-gone" "+GONE"
                                                "*** Add File: new.txt" "+new")
                          (aqd-own-tool-patch-message))
                 (error (concat "Error: " (error-message-string err)))))))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (should-not (aqd-own-tool-patch-text "new.txt"))))

;;;; What was decided is reviewed

(defmacro aqd-own-tool-in-repository (&rest body)
  "Run BODY in a git repository whose f.txt is to be edited.
A hook has begun its record, and nobody has looked at it in this Emacs."
  (declare (indent 0) (debug t))
  `(aqd-with-repository
     (aqd-pending-begin-record)
     (let ((aqd-file (expand-file-name "f.txt"))
           (agent-q-diff-project-root default-directory)
           (agent-q-diff-call (agent-q-diff-call-make :agent "Claude Code"))
           (agent-q-diff-own-agent--decided nil)
           (aqd-own-tool-answers nil))
       ,@body)))

(ert-deftest aqd-own-tool-what-was-decided-before-is-not-asked-again ()
  (dolist (formatted '("" "formatted\n"))
    (aqd-own-tool-in-repository
      (let ((texts (list "original" aqd-pending-text "modified" aqd-pending-written)))
        (aqd-in-diff (apply #'aqd-own-tool-decide texts)
          (aqd-pending-do #'agent-q-diff-accept-hunk 0)
          (aqd-pending-do #'agent-q-diff-reject-hunk 1)
          (agent-q-diff-finish))
        (let ((text (concat (aqd-own-tool-answer 'text) formatted)))
          (aqd-pending-put "f.txt" text)
          (apply #'aqd-own-tool-check "text" text texts)))
      ;; What another program adds has been seen by nobody.
      (should (equal (and (not (equal "" formatted)) '("f.txt")) (aqd-pending-files)))
      (when (aqd-pending-files)
        (aqd-with-pending
          (should (equal '(nil) (append agent-q-diff-buffer-marks nil)))
          (should (string-search "+formatted" (buffer-string))))))))

(ert-deftest aqd-own-tool-what-nobody-has-seen-is-pending ()
  (aqd-own-tool-in-repository
    (let ((texts (list "original" aqd-pending-text "modified" aqd-pending-written)))
      (cl-letf (((symbol-function 'agent-q-diff-own-agent-allowance) (lambda (&rest _) 'session)))
        (apply #'aqd-own-tool-decide texts))
      (aqd-pending-put "f.txt" aqd-pending-written)
      (apply #'aqd-own-tool-check "text" aqd-pending-written texts)
      (should (equal '("f.txt") (aqd-pending-files))))))

;;;; What rules decide

(ert-deftest aqd-own-tool-rules-decide-before-the-tool-runs ()
  (let ((agent-q-diff-policy-rules '((white-space . keep)))
        (agent-q-diff-white-space-free '("txt"))
        (blank (aqd-numbered 30 '((3 . "line  3"))))
        (both (aqd-numbered 30 '((3 . "line  3") (27 . "x")))))
    (aqd-own-tool-in-repository
      (let ((texts (list "original" aqd-pending-text "modified" blank)))
        (should (agent-q-diff-session-outcome (apply #'aqd-own-tool-decide texts)))
        (should (equal "allow" (aqd-own-tool-answer 'verdict)))
        (aqd-pending-put "f.txt" blank)
        (should (string-match-p "\\`✓ Accepted: .*\\(?:.\\|\n\\)*Decided by the user's rules, unseen \
by the user: hunk 1\\."
                                (apply #'aqd-own-tool-check "text" blank texts))))
      (should-not (aqd-pending-files)))
    (aqd-own-tool-in-repository
      (let ((review (aqd-own-tool-decide "original" aqd-pending-text "modified" both)))
        (agent-q-diff-reject review 1)
        (agent-q-diff-end review))
      (should (equal "change" (aqd-own-tool-answer 'verdict)))
      (should (equal blank (aqd-own-tool-answer 'text)))
      (agent-q-diff-own-agent-take "call-1"))))

(ert-deftest aqd-own-tool-rules-do-not-change-what-emacs-writes-of-a-decision ()
  (aqd-own-tool-patch-with-files
    (let ((agent-q-diff-display 'announce))
      (aqd-in-diff (aqd-own-tool-patch-of-four)
        (agent-q-diff-accept-all))
      (let ((agent-q-diff-policy-rules '(((files . "*") . (reject . "no")))))
        (should (string-search "✓ Accepted" (agent-q-diff-own-tool-write
                                             (agent-q-diff-own-agent-take "call-1"))))))
    (should (equal '(nil nil "O\n" "new\n")
                   (mapcar #'aqd-own-tool-patch-text
                           '("gone.txt" "old.txt" "renamed.txt" "new.txt"))))))

;;;; Reviewed after it is made

(defmacro aqd-own-tool-after (choice &rest body)
  "Run BODY in a repository in which Claude Code is in a turn.
CHOICE says when its edits are decided."
  (declare (indent 1) (debug t))
  `(let ((agent-q-diff-permit-grants nil)
         (agent-q-diff-decide-when (list (cons "claude" ,choice))))
     (aqd-own-tool-in-repository
       (agent-q-diff-module-begin-turn default-directory "Claude Code" "12345678-9abc" "")
       ,@body)))

(defun aqd-own-tool-decide-f (&rest more)
  "Have an edit of f.txt decided, with MORE arguments; return the review, or nil."
  (setq aqd-own-tool-answers nil)
  (apply #'aqd-own-tool-decide "original" aqd-pending-text "modified" aqd-pending-written more))

(defun aqd-own-tool-asked-p (&rest more)
  "Return the text of the review of an edit of f.txt, or nil if it passes.
MORE are further arguments."
  (if-let ((review (apply #'aqd-own-tool-decide-f more)))
      (prog1 (with-current-buffer (agent-q-diff-session-buffer review)
               (buffer-string))
        (agent-q-diff-cancel review))
    (should (equal "allow" (aqd-own-tool-answer 'verdict)))
    (agent-q-diff-own-agent-take "call-1")
    nil))

(ert-deftest aqd-own-tool-after-an-edit-passes-and-is-pending-and-that-is-told ()
  (let ((agent-q-diff-log-file (make-temp-name (expand-file-name "aqd-log" temporary-file-directory))))
    (aqd-own-tool-after 'after
      (should-not (aqd-own-tool-decide-f))
      (should (equal '("" nil ((verdict . "allow"))) (car aqd-own-tool-answers)))
      (should-not (aqd-pending-files))
      (aqd-pending-put "f.txt" aqd-pending-written)
      (let (told)
        (should (equal (format "Claude Code edited %s, to be reviewed"
                               (expand-file-name "f.txt"))
                       (aqd-said (setq told (aqd-own-tool-check "text" aqd-pending-written
                                                                "original" aqd-pending-text
                                                                "modified" aqd-pending-written)))))
        (should (equal (format "The edit of %s was made, and is not reviewed yet: the user \
reviews it after your turn, and may take parts of it out then."
                               (expand-file-name "f.txt"))
                       told)))
      (should (equal '("f.txt") (aqd-pending-files)))
      (should (equal (list (expand-file-name "f.txt") "to be reviewed" nil)
                     (let ((entry (car (agent-q-diff-log-entries 1))))
                       (mapcar (apply-partially #'plist-get entry)
                               '(:path :outcome :decided-by)))))
      (aqd-with-pending
        (should (string-search "Written by Claude Code" (buffer-string)))
        (should (equal '(nil nil) (append agent-q-diff-buffer-marks nil)))))
    (delete-file agent-q-diff-log-file)))

(ert-deftest aqd-own-tool-after-what-the-tool-did-not-leave-is-told ()
  (aqd-own-tool-after 'after
    (should-not (aqd-own-tool-decide-f))
    (let ((texts (list "original" aqd-pending-text "modified" aqd-pending-written)))
      ;; The client has refused it.
      (should (equal "" (apply #'aqd-own-tool-check "text" aqd-pending-text texts)))
      (should-not (aqd-own-tool-decide-f))
      (aqd-pending-put "f.txt" (concat aqd-pending-written "formatted\n"))
      (should-not (aqd-warned
                   (should (string-match-p
                            "f\\.txt is not as Edit was to leave it; read the file before you go on\\.\\'"
                            (apply #'aqd-own-tool-check
                                   "text" (concat aqd-pending-written "formatted\n") texts))))))
    (should (equal '("f.txt") (aqd-pending-files)))))

(ert-deftest aqd-own-tool-after-follows-the-choice-for-the-agent ()
  (pcase-dolist (`(,choice ,mode ,passes)
                 '((((t . after)) none t)
                   ((("CLAUDE code" . after) (t . before)) none t)
                   ((("claude" . before) (t . after)) none nil)
                   ((("clau" . after)) none nil)
                   ((("codex" . after)) "accepts" nil)
                   ((("claude" . client)) "accepts" t)
                   ((("claude" . client)) "asks" nil)
                   ((("claude" . client)) none nil)
                   (nil "accepts" nil)))
    (ert-info ((format "%S %s" choice mode))
      (aqd-own-tool-after nil
        (let ((agent-q-diff-decide-when choice))
          (should (eq passes (not (aqd-own-tool-asked-p "mode" mode))))))))
  (aqd-own-tool-after 'client
    (should (string-search "is in plan mode" (aqd-own-tool-asked-p "mode" "plans" "planning" t))))
  (aqd-own-tool-after 'never
    (should-error (aqd-own-tool-decide-f) :type 'agent-q-diff-bad-arguments)))

(ert-deftest aqd-own-tool-after-what-would-not-be-pending-is-asked-before ()
  (aqd-own-tool-after 'after
    (let ((because "^# Note: You are asked before this is written, not after: "))
      (should (string-match-p (concat because "f\\.txt would not be pending, since no turn of \
Claude Code is known in its project\\.$")
                              (aqd-own-tool-asked-p "session" "another")))
      (aqd-pending-put ".git/info/exclude" "f.log\n")
      (should (string-match-p (concat because "f\\.log would not be pending, since git ignores it\\.$")
                              (aqd-own-tool-asked-p "path" (expand-file-name "f.log")
                                                    "original" 'none)))
      (aqd-pending-put ".git/MERGE_HEAD" "")
      (should (string-match-p (concat because ".*git is in the middle of a merge")
                              (aqd-own-tool-asked-p)))
      (delete-file ".git/MERGE_HEAD")
      (with-current-buffer (find-file-noselect "f.txt")
        (insert "mine\n")
        (should (string-match-p (concat because "Emacs has to write it, because of unsaved edits\\.$")
                                (aqd-own-tool-asked-p)))
        (set-buffer-modified-p nil)
        (kill-buffer))
      (should-not (aqd-own-tool-asked-p "rewritable" :false))
      (should-not (aqd-own-tool-asked-p))
      (agent-q-diff-module-end-turns default-directory)
      (should (string-match-p because (aqd-own-tool-asked-p))))))

(ert-deftest aqd-own-tool-after-what-is-protected-or-elsewhere-is-asked-before ()
  (aqd-own-tool-after 'after
    (should (string-search "PROTECTED: " (aqd-own-tool-asked-p
                                          "path" (expand-file-name ".envrc") "original" 'none)))
    (let ((elsewhere (make-temp-file "aqd-elsewhere")))
      (should (string-search "OUTSIDE the project"
                             (aqd-own-tool-asked-p "path" elsewhere "original" "")))
      (delete-file elsewhere))
    (let ((agent-q-diff-tools-policy 'review))
      (should (aqd-own-tool-asked-p)))
    (let ((agent-q-diff-tools-policy 'deny))
      (aqd-own-tool-decide-f)
      (should (equal "deny" (aqd-own-tool-answer 'verdict))))))

(ert-deftest aqd-own-tool-after-a-patch-passes-if-all-its-files-do ()
  (aqd-own-tool-after 'after
    (pcase-dolist (`(,names ,passes) '((("f.txt" "new.txt") t) (("f.txt" ".envrc") nil)))
      (setq aqd-own-tool-answers nil)
      (let* ((arguments (make-hash-table :test #'equal))
             (files (mapcar (lambda (name)
                              (let ((file (make-hash-table :test #'equal)))
                                (puthash "path" (expand-file-name name) file)
                                (when (file-exists-p name)
                                  (puthash "original" aqd-pending-text file))
                                (puthash "modified" aqd-pending-written file)
                                (puthash "encoding" "utf-8" file)
                                file))
                            names)))
        (cl-loop for (key value) on (list "diff" "*** Begin Patch\n*** End Patch\n"
                                          "tool" "apply_patch" "call" "call-2"
                                          "session" "12345678-9abc" "files" (vconcat files))
                 by #'cddr do (puthash key value arguments))
        (let ((review (agent-q-diff-own-tool-decide-patch
                       arguments (lambda (&rest answer) (push answer aqd-own-tool-answers)))))
          (should (eq passes (null review)))
          (if review
              (agent-q-diff-cancel review)
            (should (equal "allow" (aqd-own-tool-answer 'verdict)))
            (dolist (name names)
              (aqd-pending-put name aqd-pending-written))
            (should (string-match-p "The edit of .*/f\\.txt, .*/new\\.txt was made, and is not \
reviewed yet"
                                    (agent-q-diff-own-tool-check
                                     (agent-q-diff-own-agent-take "call-2") arguments)))
            (should (equal names (aqd-pending-files)))
            (aqd-pending-put "f.txt" aqd-pending-text)))))))

(ert-deftest aqd-own-tool-after-the-choice-is-recorded-for-the-time-without-emacs ()
  (cl-flet ((passing () (agent-q-diff-module-passing default-directory)))
    (aqd-own-tool-after 'client
      (aqd-own-tool-asked-p "mode" "accepts")
      (should-not (passing))
      (let ((agent-q-diff-decide-when '((t . after))))
        (aqd-own-tool-asked-p)
        (should (equal '("Claude Code") (passing)))
        ;; A later choice counts once the project is looked at.
        (agent-q-diff-pending-look default-directory)
        (should (passing)))
      (agent-q-diff-pending-look default-directory)
      (should-not (passing)))
    (aqd-own-tool-after 'after
      (let ((agent-q-diff-tools-policy (lambda (&rest _) 'ask)))
        (aqd-own-tool-asked-p)
        (should-not (passing))))))

(provide 'agent-q-diff-own-tool-test)
;;; agent-q-diff-own-tool-test.el ends here
