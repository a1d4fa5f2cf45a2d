;;; aqd-bench-felt.el --- Speed as a user feels it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The same keys and calls with the settings that a user begins with: what
;; is accepted is saved, garbage collection counts, and so does the display.
;; Each row has a peer that does what anybody would have to do: Agent-Q's own
;; commands, or the bare operation of Emacs without a review.

;;; Code:

(require 'aqd-bench)
(require 'aqd-bench-review)
(require 'agent-q-diff-server)
(require 'agent-q-diff-tools)

(defmacro aqd-bench-felt--as-user (&rest body)
  "Evaluate BODY with the settings that a user begins with."
  (declare (indent 0) (debug t))
  `(let ((agent-q-diff-save (eval (car (get 'agent-q-diff-save 'standard-value)) t))
         (make-backup-files t)
         (create-lockfiles t)
         (auto-save-default t))
     ,@body))

(cl-defun aqd-bench-felt--compare (name target ours peer &key (rounds 9) net-target)
  "Print the row NAME for OURS and PEER, with the time for collecting garbage.
TARGET is that of the row.  A second row, with the target NET-TARGET,
leaves that time out."
  (pcase-let ((`(,our-net ,peer-net ,our-all ,peer-all)
               (aqd-bench-rounds rounds ours peer)))
    (aqd-bench-row (concat "felt: " name) our-all peer-all target)
    (aqd-bench-row (concat "felt, gc apart: " name)
                   our-net peer-net net-target)))

(defun aqd-bench-felt--press (keys)
  "Press KEYS and show what comes of them."
  (execute-kbd-macro keys)
  (redisplay t))

(defun aqd-bench-felt--visit (name text)
  "Visit the file NAME with TEXT anew, in the selected window; return its buffer."
  (aqd-bench--forget (expand-file-name name aqd-bench-directory))
  (switch-to-buffer (find-file-noselect (aqd-bench-file name text))))

;;;; Keys

(defun aqd-bench-felt--our-accepting (texts hunk)
  "Return a work that accepts HUNK, one in the middle, of TEXTS by its key."
  (let ((before (aqd-bench--ready texts hunk))
        (n 5))
    (aqd-bench-work
     :n n :before before
     :run (lambda () (aqd-bench-felt--press "a"))
     :after (lambda ()
              (dotimes (step n)
                (aqd-bench--goto (+ hunk step))
                (agent-q-diff-unapply-hunk))))))

(defun aqd-bench-felt--agent-q-accepting (texts hunk)
  "Return a work that applies HUNK of TEXTS and saves, as Agent-Q does."
  (aqd-bench-work
   :n 5
   :before (lambda ()
             (aqd-bench--peer-ready texts)
             (aqd-bench--goto-peer hunk))
   :run #'aqd-bench-felt--agent-q-accept))

(defun aqd-bench-felt--agent-q-accept ()
  "Apply the hunk at point of a plain diff, save its file, and show that."
  (diff-apply-hunk)
  (with-current-buffer (find-buffer-visiting
                        (expand-file-name "peer.txt" aqd-bench-directory))
    (save-buffer))
  (redisplay t))

(defun aqd-bench-felt--bare-saving (texts)
  "Return a work that inserts a character and saves, in the first of TEXTS."
  (let ((buffer (aqd-bench-felt--visit (concat "saved." aqd-bench-extension)
                                        (car texts))))
    (aqd-bench-work
     :n 5
     :before (lambda ()
               (switch-to-buffer buffer)
               (goto-char (/ (point-max) 2))
               (redisplay t))
     :run (lambda ()
            (insert "x")
            (save-buffer)
            (redisplay t)))))

(defun aqd-bench-felt-accepting ()
  "Measure accepting one hunk, and all, with saving."
  (let ((texts (aqd-bench-texts 100000 1000)))
    (aqd-bench-felt--compare "a, 100,000 lines, 1,000 hunks : insert and save-buffer" 1.5
                             (aqd-bench-felt--our-accepting texts 500)
                             (aqd-bench-felt--bare-saving texts))
    (aqd-bench--close)
    ;; The further down, the longer it takes Agent-Q.
    (pcase-dolist (`(,where ,hunk) '(("the first hunks" 0) ("in the middle" 500)))
      (aqd-bench-felt--compare
       (format "the same, %s : Agent-Q's, diff-apply-hunk and save-buffer" where) 1
       (aqd-bench-felt--our-accepting texts hunk)
       (aqd-bench-felt--agent-q-accepting texts hunk)
       :rounds 5)
      (aqd-bench--close))
    (aqd-bench-felt--compare "accept all of these : insert and save-buffer" 5.7
                             (aqd-bench-felt--our-all texts)
                             (aqd-bench-felt--bare-saving texts))
    (unless aqd-bench-quick
      (aqd-bench-felt--compare "the same : Agent-Q's, a loop of diff-apply-hunk, saved" 0.0125
                               (aqd-bench-felt--our-all texts)
                               (aqd-bench-felt--agent-q-all texts 1000)
                               :rounds 3))
    (aqd-bench--close)))

(defun aqd-bench-felt-coding ()
  "Measure accepting one hunk in each coding system that a mode or a text gives."
  (pcase-dolist (`(,what ,aqd-bench-extension ,aqd-bench-coding ,top ,is-foreign)
                 '(("ASCII in .el" "el" utf-8-unix "" nil)
                   ("UTF-8 in .el" "el" utf-8-unix "" t)
                   ("UTF-8 in .txt" "txt" utf-8-unix "" t)
                   (".py with a cookie" "py" utf-8-unix "# -*- coding: utf-8 -*-\n" t)
                   ("Latin-1 in .txt" "txt" latin-1-unix "größer\n" nil)))
    (let* ((plain (aqd-bench-texts 100000 1000 is-foreign))
           (texts (cons (concat top (car plain)) (concat top (cdr plain)))))
      (aqd-bench-felt--compare (format "a, 100,000 lines, %s : insert and save-buffer" what) 2
                               (aqd-bench-felt--our-accepting texts 500)
                               (aqd-bench-felt--bare-saving texts))
      (aqd-bench--close))))

(defun aqd-bench-felt--our-all (texts)
  "Return a work that accepts all hunks of TEXTS by the key, and finishes."
  (aqd-bench-work
   :before (lambda ()
             (aqd-bench--fresh-review texts)
             (switch-to-buffer (agent-q-diff-session-buffer aqd-bench--review))
             (redisplay t))
   :run (lambda () (aqd-bench-felt--press "\C-c\C-c"))
   :after #'aqd-bench--close))

(defun aqd-bench-felt--agent-q-all (texts n-hunks)
  "Return a work that applies the N-HUNKS of TEXTS and saves once."
  (aqd-bench-work
   :before (lambda () (aqd-bench--peer-ready texts))
   :run (lambda ()
          (dotimes (_ (1- n-hunks))
            (diff-apply-hunk))
          (aqd-bench-felt--agent-q-accept))))

;;;; Opening

(defun aqd-bench-felt--our-opening (texts)
  "Return a work that opens a review of TEXTS, in a file that is not visited."
  (let ((file (expand-file-name "target.txt" aqd-bench-directory)))
    (aqd-bench-work
     :before (lambda ()
               (aqd-bench--forget file)
               (aqd-bench-file "target.txt" (car texts)))
     :run (lambda () (aqd-bench--open file texts))
     :after #'aqd-bench--close)))

(defun aqd-bench-felt--our-visiting (texts)
  "Return a work that opens a review of TEXTS, and ends when its file is visited.
That happens soon after the first screen."
  (let* ((work (aqd-bench-felt--our-opening texts))
         (open (aqd-bench-work-run work)))
    (setf (aqd-bench-work-run work)
          (lambda ()
            (funcall open)
            (while (agent-q-diff-change-has-put-off
                    (agent-q-diff-session-change aqd-bench--review))
              (sit-for 0.001))
            (redisplay t)))
    work))

(defun aqd-bench-felt--bare-reading (texts)
  "Return a work that reads a file with the first of TEXTS."
  (let ((file (aqd-bench-file "read.txt" (car texts))))
    (aqd-bench-work
     :run (lambda ()
            (with-temp-buffer
              (insert-file-contents file))
            (redisplay t)))))

(defun aqd-bench-felt-opening ()
  "Measure opening a review of a file that is not visited."
  (pcase-dolist (`(,n-lines ,what) '((100000 "3.6 MB") (1000000 "37 MB")))
    (let ((texts (aqd-bench-texts n-lines 1000)))
      (aqd-bench-felt--compare
       (format "opening, file not visited, %s, 1,000 hunks : reading it" what) 2
       (aqd-bench-felt--our-opening texts) (aqd-bench-felt--bare-reading texts)
       :rounds (if (> n-lines 100000) 5 9))
      (aqd-bench-felt--compare
       "the same, until the file is visited : reading it" nil
       (aqd-bench-felt--our-visiting texts) (aqd-bench-felt--bare-reading texts)
       :rounds (if (> n-lines 100000) 5 9)))))

;;;; Edits by others

(defconst aqd-bench-felt--n-replacements 2000
  "Number of replacements that are made in a target.")

(defun aqd-bench-felt--spots ()
  "Return where words are that can be replaced, all over the current buffer."
  (let* ((n-lines (count-lines (point-min) (point-max)))
         (step (/ n-lines aqd-bench-felt--n-replacements))
         spots)
    (save-excursion
      (goto-char (point-min))
      (dotimes (_ aqd-bench-felt--n-replacements)
        (when (search-forward "compute" nil t)
          (push (match-beginning 0) spots))
        (forward-line (1- step))))
    (nreverse spots)))

(defun aqd-bench-felt--replace (spots)
  "Replace the word at each of SPOTS by another one of the same length."
  (undo-boundary)
  (dolist (spot spots)
    (goto-char spot)
    (looking-at "compute")
    (replace-match "COMPUTE" t t))
  (undo-boundary)
  (redisplay t))

(defun aqd-bench-felt--undo ()
  "Undo the replacements."
  (let ((last-command 'ignore))
    (undo))
  (undo-boundary)
  (redisplay t))

(defun aqd-bench-felt--buffer-work (buffer settle is-undo)
  "Return a work that replaces words in BUFFER, or undoes that if IS-UNDO.
SETTLE is a function that is called before each measurement."
  (let* ((spots (with-current-buffer buffer (aqd-bench-felt--spots)))
         (do-it (lambda () (aqd-bench-felt--replace spots)))
         (in-place (lambda (function)
                     (lambda ()
                       (switch-to-buffer buffer)
                       (funcall function)))))
    (aqd-bench-work
     :before (lambda ()
               (when is-undo
                 (funcall (funcall in-place do-it)))
               (funcall settle)
               (switch-to-buffer buffer)
               (redisplay t))
     :run (funcall in-place (if is-undo #'aqd-bench-felt--undo do-it))
     :after (if is-undo
                #'ignore
              (funcall in-place #'aqd-bench-felt--undo)))))

(defun aqd-bench-felt--reviewed (texts)
  "Visit a file with the first of TEXTS, open a review of both; return that."
  (let ((name (format "edited-%d.txt" (cl-incf aqd-bench--n-files))))
    (aqd-bench-felt--visit name (car texts))
    (delete-other-windows)
    (aqd-bench--open (expand-file-name name aqd-bench-directory) texts)
    aqd-bench--review))

(defun aqd-bench-felt--follow (review)
  "Have the diff buffer of REVIEW show how its target now is."
  (with-current-buffer (agent-q-diff-session-buffer review)
    (agent-q-diff-signs-follow))
  (redisplay t))

(defun aqd-bench-felt--replacing (texts is-undo is-shown)
  "Return a work that replaces words in a target while TEXTS are reviewed.
It undoes that if IS-UNDO is non-nil.  If IS-SHOWN is non-nil, it is done
when the diff buffer has taken note of it."
  (let* ((review (aqd-bench-felt--reviewed texts))
         (work (aqd-bench-felt--buffer-work
                (agent-q-diff-file-change-buffer (agent-q-diff-session-file review))
                (lambda () (aqd-bench-felt--follow review)) is-undo))
         (run (aqd-bench-work-run work)))
    (when is-shown
      (setf (aqd-bench-work-run work)
            (lambda ()
              (funcall run)
              (aqd-bench-felt--follow review))))
    work))

(defun aqd-bench-felt--bare-replacing (texts is-undo)
  "Return a work that does the same in the first of TEXTS without a review."
  (aqd-bench-felt--buffer-work (aqd-bench-felt--visit "unreviewed.txt" (car texts))
                               #'ignore is-undo))

(defun aqd-bench-felt-replacing ()
  "Measure many replacements in a target, and their undoing."
  (dolist (n-hunks '(1000 10000))
    (let ((texts (aqd-bench-texts 100000 n-hunks)))
      (pcase-dolist (`(,name ,is-undo ,is-shown ,target)
                     '(("2,000 replacements in the target" nil nil 5)
                       ("undoing these" t nil 5)
                       ("the replacements, shown in the diff" nil t nil)
                       ("the undoing, shown in the diff" t t nil)))
        (aqd-bench-felt--compare
         (format "%s, %s hunks : without a review" name (aqd-bench-count n-hunks)) target
         (aqd-bench-felt--replacing texts is-undo is-shown)
         (aqd-bench-felt--bare-replacing texts is-undo)
         :rounds 25 :net-target target)
        (aqd-bench--close)))))

(defun aqd-bench-felt--typing-in (buffer settle)
  "Return a work that types a character into BUFFER by its key.
SETTLE is a function that is called before each measurement."
  (aqd-bench-work
   :n 40
   :before (lambda ()
             (funcall settle)
             (switch-to-buffer buffer)
             (goto-char (/ (point-max) 2))
             (end-of-line)
             (recenter)
             (redisplay t))
   :run (lambda () (aqd-bench-felt--press "x"))
   :after (lambda () (delete-char -40))))

(defun aqd-bench-felt-typing ()
  "Measure typing a character into a target."
  (dolist (n-hunks '(1000 10000))
    (let* ((texts (aqd-bench-texts 100000 n-hunks))
           (review (aqd-bench-felt--reviewed texts)))
      (aqd-bench-felt--compare
       (format "typing a character, %s hunks : without a review" (aqd-bench-count n-hunks)) 1.5
       (aqd-bench-felt--typing-in (agent-q-diff-file-change-buffer (agent-q-diff-session-file review))
                                  (lambda () (aqd-bench-felt--follow review)))
       (aqd-bench-felt--typing-in (aqd-bench-felt--visit "unreviewed.txt" (car texts))
                                  #'ignore)
       :net-target 1.5)
      (aqd-bench--close))))

;;;; Paging through code

(defun aqd-bench-felt--c-text (n-functions is-changed)
  "Return a text in C of N-FUNCTIONS; if IS-CHANGED, some lines are others."
  (with-temp-buffer
    (dotimes (number n-functions)
      (insert (format "/* Size and length of step %d, as the table says. */\n" number)
              (format "static int step_%d(const struct input *input, char *name)\n{\n"
                      number)
              (format "    int value = input->%s[%d];\n"
                      (if is-changed "changed" "value") number)
              "    for (int i = 0; i < 10; i++) {\n"
              (format "        if (name[i] == '%c')\n            return %d; // found\n"
                      (+ ?a (% number 26)) number)
              "    }\n"
              (format "    printf(\"%%d is the %s\\n\", value);\n"
                      (if (and is-changed (= 0 (% number 3))) "other" "one"))
              "    return value;\n}\n\n"))
    (buffer-string)))

(defun aqd-bench-felt--page ()
  "Page down sixty times by the key."
  (dotimes (_ 60)
    (aqd-bench-felt--press "\C-v")))

(defun aqd-bench-felt--our-paging (texts)
  "Return a work that pages through the diff of TEXTS."
  (aqd-bench-work
   :before (lambda ()
             (delete-other-windows)
             (aqd-bench--open (aqd-bench-file "paged.c" (car texts)) texts)
             (redisplay t))
   :run #'aqd-bench-felt--page
   :after #'aqd-bench--close))

(defun aqd-bench-felt--agent-q-paging (texts is-plain)
  "Return a work that pages through the diff of TEXTS as Agent-Q shows it.
That is diff's own text in diff-mode, with the file's name in its header.
If IS-PLAIN is non-nil, words that differ and code get no colors."
  (let* ((old (aqd-bench-file "paged.c" (car texts)))
         (new (aqd-bench-file "paged-new.c" (cdr texts)))
         (diff (with-current-buffer (diff-no-select old new nil t)
                 (goto-char (point-min))
                 (re-search-forward "^@@")
                 (format "--- %s\n+++ %s\n%s" old old
                         (buffer-substring-no-properties (match-beginning 0)
                                                         (point-max))))))
    (aqd-bench-work
     :before (lambda ()
               (delete-other-windows)
               (with-current-buffer (get-buffer-create "*peer diff*")
                 (insert diff)
                 (goto-char (point-min))
                 (diff-mode)
                 (when is-plain
                   (setq-local diff-refine nil)
                   (setq-local diff-font-lock-syntax nil))
                 (setq buffer-read-only t))
               (switch-to-buffer "*peer diff*")
               (redisplay t))
     :run #'aqd-bench-felt--page
     :after (lambda () (kill-buffer "*peer diff*")))))

(defun aqd-bench-felt-paging ()
  "Measure paging through the diff of a file in C."
  (let ((texts (cons (aqd-bench-felt--c-text 600 nil) (aqd-bench-felt--c-text 600 t))))
    ;; The other shows less than both do.
    (pcase-dolist (`(,name ,is-plain ,target)
                   '(("60 pages of a C diff by C-v : as Agent-Q shows it" nil 1)
                     ("the same : diff-mode without words and code" t nil)))
      (aqd-bench-felt--compare name target
                               (aqd-bench-felt--our-paging texts)
                               (aqd-bench-felt--agent-q-paging texts is-plain)
                               :rounds 5))))

;;;; edit_file

(defun aqd-bench-felt--editing (name)
  "Return a work that edits the file NAME as an agent does, allowed, and back."
  (let ((words '("value_33 = " . "value_33 := ")))
    (aqd-bench-work
     :n 5
     :run (lambda ()
            (let ((answer (agent-q-diff-tools-call
                           "edit_file" (list :path name :old_str (car words)
                                             :new_str (cdr words)))))
              (unless (string-prefix-p "✓ Edit applied" answer)
                (error "Not edited: %s" answer)))
            (setq words (cons (cdr words) (car words)))))))

(defun aqd-bench-felt--bare-editing (file)
  "Return a work that reads FILE, replaces a word and writes it, and back."
  (let ((words '("value_33 = " . "value_33 := ")))
    (aqd-bench-work
     :n 5
     :run (lambda ()
            (with-temp-buffer
              (insert-file-contents file)
              (search-forward (car words))
              (replace-match (cdr words) t t)
              (write-region nil nil file nil 'silent))
            (setq words (cons (cdr words) (car words)))))))

(defun aqd-bench-felt-editing ()
  "Measure an exact replacement in a small file."
  (let* ((folder (expand-file-name "project/src/engine/" aqd-bench-directory))
         (text (car (aqd-bench-texts 55 1)))
         (agent-q-diff-project-root (expand-file-name "project/" aqd-bench-directory))
         (agent-q-diff-log-file (expand-file-name "log" aqd-bench-directory))
         (agent-q-diff-tools-policy 'allow))
    (make-directory folder t)
    (let ((aqd-bench-directory folder))
      (aqd-bench-file "small.rs" text)
      (aqd-bench-felt--compare
       "edit_file of 2 KB, allowed : reading and writing it" 4
       (aqd-bench-felt--editing "src/engine/small.rs")
       (aqd-bench-felt--bare-editing (aqd-bench-file "peer.rs" text))
       :rounds 15))))

;;;; Calls by MCP

(defun aqd-bench-felt--mcp-client (socket)
  "Return a process that makes calls over SOCKET, as a client of MCP does.
Told the name of a file, it hands the call in it to agent-q-diff."
  (let ((client (make-process
                 :name "aqd-bench-mcp" :connection-type 'pipe :noquery t
                 :coding 'binary
                 :filter (lambda (process output)
                           (process-put process 'heard
                                        (concat (process-get process 'heard) output)))
                 :command
                 (list "bash" "-c"
                       (format "while read -r file; do cat \"$file\"; done | %s --socket %s --timeout 0"
                               (shell-quote-argument (getenv "AQD_BENCH_MCP"))
                               (shell-quote-argument socket))))))
    (aqd-bench-felt--mcp-say
     client "hello"
     '((jsonrpc . "2.0") (id . 0) (method . "initialize")
       (params . ((protocolVersion . "2025-06-18") (capabilities . #s(hash-table))
                  (clientInfo . ((name . "bench") (version . "1")))))))
    (aqd-bench-felt--mcp-hear client #'ignore)
    (aqd-bench-felt--mcp-say client "ready" '((jsonrpc . "2.0")
                                              (method . "notifications/initialized")))
    client))

(defun aqd-bench-felt--mcp-write (name object)
  "Write OBJECT as a line of JSON to the file NAME; return its whole name."
  (aqd-bench-file name (concat (json-serialize object) "\n")))

(defun aqd-bench-felt--mcp-say (client name object)
  "Have CLIENT send OBJECT, by way of the file NAME."
  (process-send-string client (concat (aqd-bench-felt--mcp-write name object) "\n")))

(defun aqd-bench-felt--mcp-hear (client meanwhile)
  "Wait for an answer to CLIENT and return it, calling MEANWHILE again and again."
  (process-put client 'heard "")
  (with-timeout (120 (error "No answer to the MCP client"))
    (while (not (string-suffix-p "\n" (process-get client 'heard)))
      (accept-process-output nil 0.001)
      (funcall meanwhile)))
  (process-get client 'heard))

(defun aqd-bench-felt--mcp-request (file texts)
  "Write a call that proposes TEXTS for FILE; return the name of its file."
  (aqd-bench-felt--mcp-write
   "call"
   `((jsonrpc . "2.0") (id . 1) (method . "tools/call")
     (params . ((name . "propose_file_edit")
                (arguments . ((path . ,file) (original . ,(car texts))
                              (modified . ,(cdr texts)) (description . "Measured"))))))))

(defun aqd-bench-felt--mcp-accept ()
  "Accept all of the reviews that are open."
  (dolist (review (agent-q-diff-open-reviews))
    (with-current-buffer (agent-q-diff-session-buffer review)
      (agent-q-diff-accept-all)
      (redisplay t))))

(defun aqd-bench-felt--mcp-begin (file texts)
  "Write the first of TEXTS to FILE, and the call that proposes the second."
  (aqd-bench--forget file)
  (aqd-bench-file "proposed.txt" (car texts))
  (aqd-bench-felt--mcp-request file texts))

(defun aqd-bench-felt--mcp-call (client texts meanwhile)
  "Return a work that has CLIENT propose TEXTS, calling MEANWHILE while it waits."
  (let ((file (expand-file-name "proposed.txt" aqd-bench-directory)))
    (aqd-bench-work
     :before (lambda () (aqd-bench-felt--mcp-begin file texts))
     :run (lambda ()
            (process-send-string client (concat (expand-file-name "call" aqd-bench-directory)
                                                "\n"))
            (let ((answer (aqd-bench-felt--mcp-hear client meanwhile)))
              (unless (string-match-p "ACCEPTED" answer)
                (error "Not accepted: %s" answer))))
     :after #'aqd-bench--close)))

(defun aqd-bench-felt--bare-call (texts)
  "Return a work that reads a call that proposes TEXTS, and writes the file.
That is what anybody would have to do, without any connection."
  (let ((file (expand-file-name "proposed.txt" aqd-bench-directory))
        (call (expand-file-name "call" aqd-bench-directory)))
    (aqd-bench-work
     :before (lambda () (aqd-bench-felt--mcp-begin file texts))
     :run (lambda ()
            (with-temp-buffer
              (insert-file-contents call)
              (let* ((params (gethash "params" (json-parse-buffer)))
                     (arguments (gethash "arguments" params)))
                (write-region (gethash "modified" arguments) nil
                              (gethash "path" arguments) nil 'silent)))
            (redisplay t)))))

(defun aqd-bench-felt-mcp ()
  "Measure proposals by way of MCP that are accepted at once."
  (let* ((agent-q-diff-log-file (expand-file-name "log" aqd-bench-directory))
         (agent-q-diff-project-root aqd-bench-directory)
         (agent-q-diff-server-socket (expand-file-name "ours/socket" aqd-bench-directory))
         (client (progn (agent-q-diff-serve)
                        (aqd-bench-felt--mcp-client agent-q-diff-server-socket))))
    (pcase-dolist (`(,n-lines ,what ,target) '((28000 "1 MB" 3) (560000 "20 MB" 1.3)))
      (let ((texts (aqd-bench-texts n-lines 100)))
        (aqd-bench-felt--compare
         (format "MCP, %s, accepted at once : reading its JSON and writing the file" what)
         target
         (aqd-bench-felt--mcp-call client texts #'aqd-bench-felt--mcp-accept)
         (aqd-bench-felt--bare-call texts)
         :rounds (if (> n-lines 100000) 3 7))))
    (delete-process client)
    (agent-q-diff-serve-stop)))

;;;; First use

(defun aqd-bench-felt--first-use (library directory form)
  "Return how long a fresh Emacs takes for LIBRARY in DIRECTORY, then FORM.
The time is in seconds, what collecting garbage takes among it."
  (let ((timed `(let ((begin (current-time)))
                  (require ',library)
                  ,form
                  (princ (format "\n%f" (float-time (time-since begin)))))))
    (with-temp-buffer
      (apply #'call-process (expand-file-name invocation-name invocation-directory)
             nil '(t nil) nil "-Q" "--batch"
             (append (and directory (list "-L" directory))
                     (list "--eval" (prin1-to-string timed))))
      (goto-char (point-max))
      (string-to-number (buffer-substring (line-beginning-position) (point-max))))))

(defun aqd-bench-felt--first-review (file texts)
  "Return a form that opens a review of FILE with TEXTS, and cancels it."
  `(agent-q-diff-cancel
    (agent-q-diff-review ,file ,(car texts) ,(cdr texts) "First" nil)))

(defun aqd-bench-felt--first-diff (file texts)
  "Return a form that shows what diff says of FILE and the second of TEXTS."
  `(progn
     (require 'diff)
     (find-file-noselect ,file)
     (diff-no-select ,file ,(aqd-bench-file "first-new.txt" (cdr texts)) nil t)))

(defun aqd-bench-felt-first-use ()
  "Measure the first review in a fresh Emacs, compiled and as checked out."
  (let* ((texts (aqd-bench-texts 100 3))
         (file (aqd-bench-file "first.txt" (car texts)))
         (compiled (file-name-directory (locate-library "agent-q-diff")))
         (checkout (getenv "AQD_BENCH_CHECKOUT"))
         ours plain peer)
    (dotimes (_ (if aqd-bench-quick 5 15))
      (push (aqd-bench-felt--first-use 'agent-q-diff-api compiled
                                       (aqd-bench-felt--first-review file texts))
            ours)
      (push (aqd-bench-felt--first-use 'agent-q-diff-api checkout
                                       (aqd-bench-felt--first-review file texts))
            plain)
      (push (aqd-bench-felt--first-use 'diff-mode nil
                                       (aqd-bench-felt--first-diff file texts))
            peer))
    ;; Targets are half of what it took at first.
    (aqd-bench-row "felt: first review in a fresh Emacs : first diff-no-select"
                   (aqd-bench-median ours) (aqd-bench-median peer) 3)
    (aqd-bench-row "felt: the same, from a checkout : first diff-no-select"
                   (aqd-bench-median plain) (aqd-bench-median peer) 6)))

(provide 'aqd-bench-felt)
;;; aqd-bench-felt.el ends here
