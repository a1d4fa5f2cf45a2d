;;; permission-test.el --- The question for permission, in a terminal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent calls edit_file from a command, from a process filter and from a
;; timer; the edit is seen, the question answered with real keys, and the
;; message, the file and the state of Emacs are looked at.

;;; Code:

(require 'agent-q-diff-tmux)

(defun permission-call (name old new)
  "Return a call that asks for OLD to become NEW in the file NAME."
  `(let ((agent-q-diff-project-root ,e2e--folder)
         (agent-q-diff-log-file nil))
     (agent-q-diff-tools-call
      "edit_file" '(:path ,name :old_str ,old :new_str ,new :description "Shout"))))

(defun permission-see (name)
  "Wait until the edit of the file NAME and the question are seen."
  (e2e-see (concat "edit_file " name "  \\+1 -1") "^# Shout"
           "^  20      - line 20$" "^       20 \\+ LINE 20$"
           (concat "edit_file " name " (\\+1 -1) in ")
           "\\[y]es \\[s]ession \\[n]o \\[r]eason \\[f]ull review"))

(defmacro permission-with-emacs (&rest body)
  "Evaluate BODY with an Emacs under test that takes quick keys for answers."
  (declare (indent 0) (debug t))
  `(e2e-with-emacs
     (e2e-eval '(setq agent-q-diff-permission-pause 0))
     ,@body))

(defun permission-by (answer changed keys)
  "Answer the question with KEYS, called for in three ways.
ANSWER is a regexp of the message, CHANGED the list of changed lines."
  (permission-with-emacs
    (dolist (way '(key filter timer))
      (let ((name (format "target-%s" way)))
        (e2e-write name (e2e-text))
        (e2e-call way way (permission-call name "line 20" "LINE 20"))
        (permission-see name)
        (e2e-keys keys)
        (pcase (e2e-answer way)
          (`(:ok ,message) (should (string-match-p answer message)))
          (other (ert-fail other)))
        (should (equal (e2e-read name) (apply #'e2e-text changed)))
        (e2e-should-be-as-found)))))

(ert-deftest e2e-permission-allowed-once ()
  (permission-by "\\`✓ Edit applied to target-[a-z]+\n\nChange: Shout\nLines affected: 20\n"
                 '(20) "y"))

(ert-deftest e2e-permission-denied ()
  (permission-by "\\`✗ Rejected: " '() "n"))

(ert-deftest e2e-permission-denied-with-a-reason ()
  (permission-by "\n\nReason: no\\'" '() "r n o RET"))

(ert-deftest e2e-permission-left ()
  (permission-by "\\`Error editing file: the user left the question unanswered" '()
                 "C-g"))

(ert-deftest e2e-permission-for-the-session-asks-no-more ()
  (permission-with-emacs
    (e2e-write "target" (e2e-text))
    (e2e-call 'filter 'first (permission-call "target" "line 20" "LINE 20"))
    (permission-see "target")
    (e2e-keys "s")
    (should (eq :ok (car (e2e-answer 'first))))
    (e2e-call 'timer 'second (permission-call "target" "line 35" "LINE 35"))
    (should (string-prefix-p "✓" (cadr (e2e-answer 'second))))
    (should (equal (e2e-read "target") (e2e-text 20 35)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-permission-full-review ()
  (permission-with-emacs
    (e2e-write "target" (e2e-text))
    (e2e-call 'key 'call (permission-call "target" "line 20" "LINE 20"))
    (permission-see "target")
    (e2e-keys "f")
    (e2e-see (e2e-header "[1-9]/1" 0) "You asked for the full review")
    (e2e-keys "a q")
    (should (string-prefix-p "✓ Accepted: " (cadr (e2e-answer 'call))))
    (should (equal (e2e-read "target") (e2e-text 20)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-permission-is-not-given-by-typing-on ()
  "The question appears while the user types; what is typed answers nothing."
  (permission-with-emacs
    (e2e-eval '(setq agent-q-diff-permission-pause 3))
    (e2e-write "target" (e2e-text))
    (e2e-call 'filter 'call (permission-call "target" "line 20" "LINE 20"))
    (permission-see "target")
    ;; All of them, before the pause is changed.
    (e2e-press "y e s y y")
    (e2e-see "\\[Ignored")
    (should-not (e2e-answers))
    (should (equal (e2e-read "target") (e2e-text)))
    (e2e-eval '(setq agent-q-diff-permission-pause 0))
    (e2e-keys "n")
    (should (string-prefix-p "✗" (cadr (e2e-answer 'call))))
    (e2e-should-be-as-found)))

(ert-deftest e2e-permission-all-of-a-long-line-and-of-many-can-be-seen ()
  (permission-with-emacs
    (let ((line (concat "text " (make-string 150 ?x) " %s\n")))
      (e2e-write "target" (concat (format line "good") (e2e-text)))
      (e2e-call 'filter 'long (permission-call "target" "good" "evil"))
      (e2e-see "x good$" "x evil$")
      (e2e-keys "n")
      (should (string-prefix-p "✗" (cadr (e2e-answer 'long)))))
    (e2e-write "target" (e2e-text))
    (cl-flet ((lines (format)
                (mapconcat (lambda (line) (format format line)) (number-sequence 1 20) "")))
      (e2e-call 'filter 'many (permission-call "target" (lines "line %d\n")
                                               (lines "LINE %d\n"))))
    (e2e-see "^   1      - line 1$")
    (should-not (string-match-p "[+] LINE 20" (e2e-screen)))
    ;; At the end of the edits, Emacs drops what is typed ahead.
    (e2e-press "C-M-v C-M-v")
    (e2e-see "^       20 \\+ LINE 20$" "\\[y]es")
    (e2e-keys "n")
    (should (string-prefix-p "✗" (cadr (e2e-answer 'many))))
    (e2e-should-be-as-found)))

(ert-deftest e2e-permission-a-review-does-not-take-the-window-of-the-edit ()
  (permission-with-emacs
    (e2e-write "target" (e2e-text))
    (e2e-call 'filter 'call (permission-call "target" "line 20" "LINE 20"))
    (permission-see "target")
    (e2e-write "other" (e2e-text))
    (e2e-eval `(progn
                 (agent-q-diff-review ,(e2e-path "other") ,(e2e-text) ,(e2e-text 5)
                                      "Shout" #'ignore)
                 (display-buffer "*Agent-Q Diff: other*")
                 nil))
    (e2e-see "\\*Agent-Q Diff: other\\*")
    (permission-see "target")
    (e2e-keys "y")
    (should (string-prefix-p "✓" (cadr (e2e-answer 'call))))
    (e2e-wait-for (e2e-eval '(not (get-buffer-window "*Agent-Q Edits*"))))
    (e2e-eval '(progn (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews)) nil))))

(ert-deftest e2e-permission-call-that-does-not-wait ()
  (permission-with-emacs
    (e2e-write "target" (e2e-text))
    (e2e-eval `(setq agent-q-diff-project-root ,e2e--folder
                     agent-q-diff-log-file nil))
    (e2e-eval '(dolist (line '(5 20 35))
                 (agent-q-diff-tools-call-async
                  "edit_file" (list :path "target" :old_str (format "line %d\n" line)
                                    :new_str (format "LINE %d\n" line))
                  (lambda (message)
                    (inside-write (list 'async :ok message) "answers" t)))))
    (e2e-see "edit_file target (\\+1 -1) in " "^        5 \\+ LINE 5$")
    (should-not (e2e-answers))
    (e2e-keys "s")
    (e2e-wait-for (= (length (e2e-answers)) 3))
    (should (equal (e2e-read "target") (e2e-text 5 20 35)))
    (e2e-should-be-as-found)))

;;;; Two real files

(defun permission-bytes (name)
  "Return the bytes of the test's file NAME."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally (e2e-path name))
    (buffer-string)))

(defun permission-put-bytes (name bytes)
  "Make BYTES what the test's file NAME holds."
  (let ((coding-system-for-write 'no-conversion))
    (write-region bytes nil (e2e-path name) nil 'silent)))

(defun permission-program ()
  "Return the text of a real program."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "../demo/original.lisp" e2e-here))
    (buffer-string)))

(defun permission-allow (name old new)
  "Have OLD become NEW in the file NAME, allowed by key, and return the message."
  (let ((tag (intern name)))
    (e2e-call 'filter tag (permission-call name old new))
    (e2e-see (concat "edit_file " name " (\\+1 -0) in "))
    (e2e-keys "y")
    (cadr (e2e-answer tag))))

(ert-deftest e2e-permission-two-real-files ()
  "Bytes are compared: one file is open and being typed in, one is not UTF-8."
  (permission-with-emacs
    (let* ((text (permission-program))
           (old "(defun discounted (cents rate)")
           (new (concat ";; £\n" old))
           (latin (concat ";; Übersicht\n" text ";; Schluß"))
           (bytes (lambda (text coding) (encode-coding-string text coding))))
      (permission-put-bytes "open.lisp" (funcall bytes text 'utf-8-unix))
      (permission-put-bytes "latin.lisp" (funcall bytes latin 'latin-1-dos))
      (e2e-eval '(setq agent-q-diff-save 'always))
      (e2e-eval `(ignore (find-file-noselect ,(e2e-path "open.lisp"))))
      (e2e-eval '(with-current-buffer "open.lisp"
                   (goto-char (point-max))
                   (insert ";; being typed")
                   (goto-char 10)
                   (undo-boundary)))
      (should (string-prefix-p "✓" (permission-allow "open.lisp" old new)))
      (should (equal (permission-bytes "open.lisp")
                     (funcall bytes (concat (string-replace old new text)
                                            ";; being typed")
                              'utf-8-unix)))
      (should (equal (e2e-eval '(with-current-buffer "open.lisp" (point))) 10))
      (should (string-prefix-p "✓" (permission-allow "latin.lisp" old new)))
      (should (equal (permission-bytes "latin.lisp")
                     (funcall bytes (string-replace old new latin) 'latin-1-dos)))
      (should-not (e2e-eval '(get-file-buffer (inside-file "latin.lisp"))))
      (e2e-eval '(with-current-buffer "open.lisp"
                   (undo)
                   (set-buffer-modified-p nil)))
      (should (equal (e2e-eval '(with-current-buffer "open.lisp" (buffer-string)))
                     (concat text ";; being typed"))))))

(provide 'permission-test)
;;; permission-test.el ends here
