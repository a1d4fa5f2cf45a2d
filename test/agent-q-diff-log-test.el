;;; agent-q-diff-log-test.el --- The log of what agents proposed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The log on a real disk: who can read it, what several Emacsen do to it at
;; once, how it is rotated, and which entries each way to a review makes.
;;
;; Browsing reads no more than the end of the log and opens no file unasked.

;;; Code:

(require 'cl-lib)
(require 'cus-edit)
(require 'ert)
(require 'agent-q-diff-log)
(require 'agent-q-diff-project-help)

(defun aqd-log-entries-in (name)
  "Return the entries of the log file NAME, oldest first, as alists."
  (mapcar (lambda (line) (json-parse-string line :object-type 'alist
                                            :null-object nil))
          (split-string (decode-coding-string (aqd-bytes-of name) 'utf-8) "\n" t)))

(defun aqd-log-entries-of (function)
  "Call FUNCTION in a project and return the entries of its log, oldest first.
The project's file has the lines 1 to 30."
  (aqd-with-project (aqd-numbered 30)
    (let ((agent-q-diff-log-file (expand-file-name "log" aqd-project))
          (default-directory aqd-project))
      (funcall function)
      (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews))
      (aqd-log-entries-in agent-q-diff-log-file))))

(defun aqd-log-words (entries)
  "Return (TOOL OUTCOME DECIDED-BY IN-FILE TOTAL) of each of ENTRIES."
  (mapcar (lambda (entry)
            (let-alist entry
              (list .tool .outcome .decided-by .in-file .total)))
          entries))

(defun aqd-log-bytes (&optional file)
  "Return the bytes of FILE, the log by default."
  (aqd-bytes-of (or file agent-q-diff-log-file)))

(defun aqd-log-lines ()
  "Return the lines of the log."
  (split-string (aqd-log-bytes) "\n" t))

(defun aqd-log-modes (file)
  "Return the permission bits of FILE."
  (logand #o777 (file-modes file)))

;;;; Writing

(ert-deftest aqd-log-an-entry-is-one-json-line ()
  (aqd-with-log-file
    (should (agent-q-diff-log-record aqd-sample-log-entry))
    (should (agent-q-diff-log-record '(:tool "propose_file_edit")))
    (let* ((lines (aqd-log-lines))
           (entry (json-parse-string (car lines) :object-type 'alist)))
      (should (= 2 (length lines)))
      (should (string-suffix-p "\n" (aqd-log-bytes)))
      (should (equal (mapcar #'car entry)
                     '(time tool path hash-before hash-after hunks decided-by reason diff)))
      (should (equal (alist-get 'hunks entry)
                     [((index . 0) (state . "applied") (in-file . t))
                      ((index . 1) (state . "rejected"))]))
      (should (equal (alist-get 'diff entry) (plist-get aqd-sample-log-entry :diff)))
      (should (string-match-p "\\`2[0-9-]+T[0-9:.]+Z\\'" (alist-get 'time entry))))))

(ert-deftest aqd-log-is-for-the-user-alone ()
  (aqd-with-log-file
    (with-file-modes #o777
      (agent-q-diff-log-record aqd-sample-log-entry))
    (should (= #o600 (aqd-log-modes agent-q-diff-log-file)))
    (should (= #o700 (aqd-log-modes (file-name-directory agent-q-diff-log-file))))
    (should (= #o700 (aqd-log-modes (expand-file-name "new" top))))))

(ert-deftest aqd-log-strange-values-do-not-break-a-line ()
  (aqd-with-log-file
    (let ((values (list "\377\200 raw" (unibyte-string 1 200) "\ud800 half" "\udfffx" "a\0b" "a\nb\r\n"
                        "\u2028\u2029" "\"\\" "\U0010ffff" "🚀" 1.5 0.0e+NaN '(a . b) '(1 . (2 . 3))
                        (make-hash-table) (current-buffer) 'sym :null :false t nil (list nil t)
                        ["v" nil] (expt 2 70) "\u202e" (lambda () 1)
                        (propertize "p" 'face 'bold) (string-to-multibyte "\300\257")))
          (n 0))
      (dolist (value values)
        (should (agent-q-diff-log-record (list :tool "t" :path value :diff value))))
      (dolist (line (aqd-log-lines))
        (cl-incf n)
        (should (equal line (encode-coding-string (decode-coding-string line 'utf-8) 'utf-8)))
        (should (json-parse-string (decode-coding-string line 'utf-8))))
      (should (= n (length values)))
      (should (= n (length (agent-q-diff-log-entries 100)))))
    (should (equal (plist-get (car (last (agent-q-diff-log-entries 100))) :path)
                   "\\377\\200 raw"))))

(ert-deftest aqd-log-never-signals-and-complains-once ()
  (aqd-with-log-file
    (let ((messages nil))
      (cl-letf (((symbol-function 'message)
                 (lambda (format &rest arguments)
                   (push (apply #'format format arguments) messages))))
        (make-directory agent-q-diff-log-file t)
        (should-not (agent-q-diff-log-record aqd-sample-log-entry))
        (should-not (agent-q-diff-log-record aqd-sample-log-entry))
        (should (= 1 (length messages)))
        (should (string-match-p "cannot write the log" (car messages)))
        (delete-directory agent-q-diff-log-file)
        (should (agent-q-diff-log-record aqd-sample-log-entry))
        (delete-file agent-q-diff-log-file)
        (make-directory agent-q-diff-log-file)
        (should-not (agent-q-diff-log-record aqd-sample-log-entry))
        (should (= 2 (length messages)))
        ;; Not a plist, and a circular one.
        (let ((circle (list :a)))
          (setcdr circle circle)
          (dolist (wrong (list 42 '(:a . b) circle))
            (agent-q-diff-log-record wrong)))))))

(ert-deftest aqd-log-none-is-kept-if-there-is-no-file ()
  (aqd-with-log-file
    (let ((agent-q-diff-log-file nil))
      (should-not (agent-q-diff-log-record aqd-sample-log-entry))
      (should-error (agent-q-diff-log) :type 'user-error))))

(ert-deftest aqd-log-asks-nothing-and-leaves-no-trace ()
  "Neither a lock, nor the user's hooks, nor a modified buffer."
  (aqd-with-log-file
    (agent-q-diff-log-record aqd-sample-log-entry)
    (let ((write-region-annotate-functions (list (lambda (&rest _) (error "Called"))))
          (coding-system-for-write 'utf-16)
          (create-lockfiles t)
          (buffers (buffer-list)))
      (should (agent-q-diff-log-record aqd-sample-log-entry))
      (should (equal buffers (buffer-list))))
    (should (equal (directory-files (file-name-directory agent-q-diff-log-file) nil
                                    directory-files-no-dot-files-regexp)
                   '("log.jsonl")))
    (should (= 2 (length (agent-q-diff-log-entries 10))))))

(ert-deftest aqd-log-a-torn-line-costs-no-other ()
  (aqd-with-log-file
    (agent-q-diff-log-record aqd-sample-log-entry)
    (let ((half (substring (aqd-log-bytes) 0 20)))
      (write-region half nil agent-q-diff-log-file t 'silent))
    (agent-q-diff-log-record '(:tool "after"))
    (should (= 3 (length (aqd-log-lines))))
    (should (equal (mapcar (lambda (entry) (plist-get entry :tool))
                           (agent-q-diff-log-entries 10))
                   '("after" "edit_file")))))

(ert-deftest aqd-log-several-emacsen-write-at-once ()
  "Long lines from four processes, while the log is rotated all the time.
No line may be torn and none lost."
  (aqd-with-log-file
    (let* ((n-processes 4)
           (n-entries 60)
           (program (format "%S" `(progn
                                    (require 'agent-q-diff-log)
                                    (setq agent-q-diff-log-file ,agent-q-diff-log-file
                                          agent-q-diff-log-max-bytes 2000000
                                          agent-q-diff-log-n-old 50)
                                    (dotimes (i ,n-entries)
                                      (agent-q-diff-log-record
                                       (list :tool "t" :pid (emacs-pid) :i i
                                             :diff (make-string 50000 ?x)))))))
           (processes
            (cl-loop repeat n-processes
                     collect (make-process
                              :name "aqd-log" :noquery t :connection-type 'pipe
                              :command (list (expand-file-name invocation-name invocation-directory)
                                             "-Q" "--batch" "-L"
                                             (file-name-directory
                                              (locate-library "agent-q-diff-log"))
                                             "--eval" program)))))
      (dolist (process processes)
        (while (process-live-p process)
          (accept-process-output process 0.1))
        (should (eq 0 (process-exit-status process))))
      (let* ((agent-q-diff-log-n-old 50)
             (entries (agent-q-diff-log-entries 10000))
             (seen (mapcar (lambda (entry)
                             (should (= 50000 (length (plist-get entry :diff))))
                             (cons (plist-get entry :pid) (plist-get entry :i)))
                           entries)))
        (should (= (* n-processes n-entries) (length seen)))
        (should (= (length seen) (length (delete-dups seen))))
        (should (file-exists-p (concat agent-q-diff-log-file ".1")))
        (should-not (file-exists-p (concat agent-q-diff-log-file ".lock")))))))

;;;; Rotation

(ert-deftest aqd-log-is-put-aside-when-it-is-full ()
  (aqd-with-log-file
    (let ((agent-q-diff-log-max-bytes 300)
          (agent-q-diff-log-n-old 2))
      (dotimes (i 30)
        (agent-q-diff-log-record (list :tool (number-to-string i)
                                       :diff (make-string 100 ?x))))
      (should (equal (directory-files (file-name-directory agent-q-diff-log-file) nil
                                      directory-files-no-dot-files-regexp)
                     '("log.jsonl" "log.jsonl.1" "log.jsonl.2")))
      (dolist (n '(0 1 2))
        (let ((file (concat agent-q-diff-log-file (and (> n 0) (format ".%d" n)))))
          (should (= #o600 (aqd-log-modes file)))
          (should (< (file-attribute-size (file-attributes file)) 600))))
      ;; The latest are there, in order, across the files.
      (should (equal (mapcar (lambda (entry) (plist-get entry :tool))
                             (agent-q-diff-log-entries 4))
                     '("29" "28" "27" "26"))))))

(ert-deftest aqd-log-without-old-ones ()
  (aqd-with-log-file
    (let ((agent-q-diff-log-max-bytes 10)
          (agent-q-diff-log-n-old 0))
      (dotimes (_ 3)
        (should (agent-q-diff-log-record aqd-sample-log-entry)))
      (should (= 1 (length (aqd-log-lines)))))))

(ert-deftest aqd-log-may-grow-for-ever ()
  (aqd-with-log-file
    (let ((agent-q-diff-log-max-bytes nil))
      (dotimes (_ 3)
        (should (agent-q-diff-log-record aqd-sample-log-entry)))
      (should (= 3 (length (aqd-log-lines)))))))

(ert-deftest aqd-log-loads-the-engine-or-says-once-that-there-is-none ()
  (aqd-with-log-file
    (dolist (is-built '(t nil))
      (should
       (equal (if is-built "(nil t t)" "(nil nil nil 1)")
              (aqd-in-fresh-emacs
               `(progn
                  (require 'agent-q-diff-log)
                  (setq agent-q-diff-log-file ,agent-q-diff-log-file)
                  (let ((said 0))
                    (unless ,is-built
                      (advice-add 'agent-q-diff-build--module-file :override
                                  (lambda (&rest _) "/nowhere/agent-q-diff-module.so")))
                    (advice-add 'message :override (lambda (&rest _) (setq said (1+ said))))
                    (append (list (featurep 'agent-q-diff-module)
                                  (agent-q-diff-log-record '(:tool "x"))
                                  (agent-q-diff-log-record '(:tool "x")))
                            (unless ,is-built (list said)))))))))))

;;;; Reading and options

(ert-deftest aqd-log-lines-that-are-no-entries-are-left-out ()
  (aqd-with-log-file
    (agent-q-diff-log-record '(:tool "first"))
    (write-region "garbage\n\n{\"half\n[1]\n\"x\"\nnull\n\377\n" nil agent-q-diff-log-file t 'silent)
    (agent-q-diff-log-record '(:tool "last"))
    (save-window-excursion
      (agent-q-diff-log)
      (should (= 2 (count-lines (point-min) (point-max)))))))

(ert-deftest aqd-log-default-options-fit-their-types ()
  (dolist (option '(agent-q-diff-log-file agent-q-diff-log-max-bytes
                                          agent-q-diff-log-n-old agent-q-diff-log-n-shown))
    (should (widget-apply (widget-convert (custom-variable-type option))
                          :match (symbol-value option)))))

;;;; What is recorded

(ert-deftest aqd-log-refused-paths-are-logged ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-log-file (expand-file-name "log" aqd-project)))
      (aqd-call-tool "edit_file" '(:path "../x" :old_str "a" :new_str "b"))
      (let-alist (car (aqd-log-entries-in agent-q-diff-log-file))
        (should (equal (list .path .decided-by) '("../x" "guard")))))))

(ert-deftest aqd-log-edits-and-proposals-are-logged ()
  (aqd-with-project "a\n"
    (let ((agent-q-diff-log-file (expand-file-name "log" aqd-project)))
      (aqd-asking
       (aqd-ask "y")
       (aqd-play "r n o RET" (lambda () (aqd-edit "b" "c")))
       (aqd-edit "b" "c")
       (aqd-play "a q" (lambda ()
                         (aqd-call-tool "propose_file_edit"
                                        '(:path "target.txt" :original "b\n"
                                                :modified "d\n" :description "d")))))
      (pcase (mapcar (lambda (entry)
                       (let-alist entry
                         (list .tool .decided-by .reason
                               (equal .hash-before .hash-after)
                               (string-search "@@ -1,1 +1,1 @@" .diff))))
                     (aqd-log-entries-in agent-q-diff-log-file))
        (`(("edit_file" "user" nil nil ,_)
           ("edit_file" "user" "no" t ,_)
           ("edit_file" "nobody" ,_ ,_ ,_)
           ("propose_file_edit" "user" nil nil ,_)))
        (other (ert-fail other))))))

(ert-deftest aqd-log-every-way-to-a-review-is-logged-once ()
  (pcase-dolist
      (`(,tool . ,propose)
       `(("review" . ,(lambda () (apply #'agent-q-diff-review (aqd-logged-proposal nil))))
         ("review" . ,(lambda ()
                        (aqd-play "C-]" (lambda ()
                                          (apply #'agent-q-diff-review-and-wait
                                                 (aqd-logged-proposal))))))
         ("review" . ,(lambda ()
                        (agent-q-diff-review-patch
                         aqd-file "@@ -5 +5 @@\n-line 5\n+five\n" "d" nil)))
         ("review" . ,(lambda ()
                        (aqd-play "C-]" (lambda ()
                                          (agent-q-diff-review-patch-and-wait
                                           aqd-file "@@ -5 +5 @@\n-line 5\n+five\n"
                                           "d")))))
         ("review" . ,(lambda ()
                        (agent-q-diff-review-diff
                         "--- target.txt\n+++ target.txt\n@@ -5 +5 @@\n-line 5\n+five\n")))
         ("review" . ,(lambda ()
                        (agent-q-diff-review "x" "a\n" "b\n" "d" nil :detached t)))
         ("review" . ,(lambda ()
                        (aqd-play "C-]" (lambda ()
                                          (apply #'sly-agent-q-show-diff-and-wait
                                                 (aqd-logged-proposal))))))
         ("propose_file_edit"
          . ,(lambda ()
               (aqd-play "C-]" (lambda ()
                                 (apply #'agent-q-diff-tools-propose-file-edit
                                        (aqd-logged-proposal))))))
         ("propose_file_edit"
          . ,(lambda ()
               (agent-q-diff-tools-call-async
                "propose_file_edit"
                `(:path "target.txt" :original ,(aqd-numbered 30)
                        :modified ,aqd-modified-of-two :description "d")
                #'ignore)))
         ("edit_file" . ,(lambda ()
                           (let ((agent-q-diff-tools-policy 'review))
                             (aqd-play "C-]" (lambda () (aqd-edit "line 5\n" "five\n"))))))))
    (ert-info ((format "%S" propose) :prefix "way: ")
      (pcase-exhaustive (aqd-log-words (aqd-log-entries-of propose))
        (`((,logged "cancelled" ,(or "user" "caller") 0 ,(or 1 2)))
         (should (equal logged tool)))))))

(ert-deftest aqd-log-has-a-word-for-each-outcome ()
  (pcase-dolist
      (`(,words . ,end)
       `((("accepted" "user" 2 2) . "C-c C-c")
         (("partly accepted" "user" 1 2) . "a r q")
         (("rejected" "user" 0 2) . "C-c C-k")
         (("rejected" "user" 1 2) . "a C-c C-k")
         (("cancelled" "user" 1 2) . ,(lambda (_) (agent-q-diff-accept-hunk) (kill-buffer)))
         (("cancelled" "user" 0 2) . ,(lambda (_) (run-hooks 'kill-emacs-hook)))
         (("cancelled" "caller" 0 2) . agent-q-diff-cancel)
         (("partly accepted" "program" 1 2)
          . ,(lambda (review)
               (agent-q-diff-accept review 1)
               (agent-q-diff-end review)))
         (("could not be applied" "user" 0 2)
          . ,(lambda (_)
               (aqd-in-target (erase-buffer) (insert "other\n") (save-buffer))
               (aqd-goto-hunk 1)
               (agent-q-diff-accept-hunk)
               (agent-q-diff-finish)))))
    (ert-info ((format "%S" end) :prefix "end: ")
      (should (equal (list (cons "review" words))
                     (aqd-log-words
                      (aqd-log-entries-of
                       (lambda ()
                         (let ((review (apply #'agent-q-diff-review
                                              (aqd-logged-proposal nil))))
                           (pop-to-buffer (agent-q-diff-session-buffer review))
                           (setq-local agent-q-diff-grace--end 0)
                           (if (stringp end)
                               (aqd-press end)
                             (funcall end review)))))))))))

(ert-deftest aqd-log-has-what-could-not-be-begun ()
  (let ((propose (lambda (path)
                   (aqd-call-tool "propose_file_edit"
                                  `(:path ,path :original "a\n" :modified "b\n"
                                          :description "d")))))
    (should (equal '(("review" "error" "error" nil nil)
                     ("review" "error" "error" nil nil)
                     ("propose_file_edit" "error" "nobody" nil nil)
                     ("propose_file_edit" "refused" "guard" nil nil)
                     ("propose_file_edit" "refused" "guard" nil nil)
                     ("propose_file_edit" "refused" "guard" nil nil)
                     ("edit_file" "refused" "guard" nil nil)
                     ("propose_file_edit" "rejected" "policy" nil nil)
                     ("edit_file" "rejected" "policy" nil nil))
                   (aqd-log-words
                    (aqd-log-entries-of
                     (lambda ()
                       (agent-q-diff-review aqd-file "a\n" "a\n" "d" nil)
                       (aqd-play "C-l" (lambda ()
                                         (agent-q-diff-review-and-wait
                                          aqd-file "a\n" "a\n" "d")))
                       (funcall propose "target.txt")
                       (make-directory (expand-file-name ".git" aqd-project))
                       (funcall propose ".git/config")
                       (funcall propose "a\nb")
                       (agent-q-diff-tools-call-async
                        "propose_file_edit"
                        '(:path ".git/config" :original "a\n" :modified "b\n"
                                :description "d")
                        #'ignore)
                       (aqd-call-tool "edit_file" '(:path "../x" :old_str "a" :new_str "b"))
                       (let ((agent-q-diff-tools-policy 'deny))
                         (funcall propose "target.txt")
                         (aqd-edit "line 5\n" "five\n")))))))))

(ert-deftest aqd-log-an-edit-counts-as-one-hunk ()
  (should (equal '(("edit_file" "accepted" "policy" 1 1)
                   ("edit_file" "rejected" "user" 0 1))
                 (aqd-log-words
                  (aqd-log-entries-of
                   (lambda ()
                     (let ((agent-q-diff-tools-policy 'allow))
                       (aqd-edit "line 5\n" "five\n"))
                     (let ((agent-q-diff-tools-policy 'ask)
                           (agent-q-diff-permission-function
                            (lambda (_) '(deny . "no"))))
                       (aqd-edit "line 6\n" "six\n"))))))))

(ert-deftest aqd-log-has-the-proposal-and-not-what-the-user-made-of-it ()
  (let-alist (car (aqd-log-entries-of
                   (lambda ()
                     (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Claude Code")))
                       (aqd-play "e M-< C-s five RET DEL DEL C-c C-c a r C too SPC long RET q"
                                 (lambda ()
                                   (apply #'agent-q-diff-review-and-wait
                                          (aqd-logged-proposal))))))))
    (should (equal .agent "Claude Code"))
    (should (equal .reason "too long"))
    (should (string-search "\n+five\n" .diff))
    (should (string-search "\n+fi\n" (alist-get 'edited (aref .hunks 0))))
    (should (equal (mapcar (lambda (hunk) (alist-get 'state hunk)) .hunks)
                   '("applied" "rejected")))))

;;; The log as a list, and its entries

(defmacro aqd-log-list-watching-visits (&rest body)
  "Run BODY and return the files that were visited meanwhile."
  (declare (indent 0) (debug t))
  `(let (visited)
     (cl-letf (((symbol-function 'find-file-noselect)
                (lambda (file &rest _) (push file visited) (error "Visited"))))
       ,@body)
     visited))

(ert-deftest aqd-log-list-shows-the-latest-first ()
  (aqd-with-log-file
    (agent-q-diff-log-record aqd-sample-log-entry)
    (agent-q-diff-log-record '(:tool "propose_file_edit" :path "b\n\e[2J\u202e.el"
                                     :hash-before "aa" :hash-after "aa" :decided-by policy))
    (save-window-excursion
      (agent-q-diff-log)
      (should (derived-mode-p 'agent-q-diff-log-mode))
      (should (= 2 (count-lines (point-min) (point-max))))
      (should (looking-at " +….*U\\+202E>\\.el\" +unchanged +policy +2[0-9-]+ [0-9:]\\{8\\} +propose_file_edit"))
      (forward-line 1)
      (should (looking-at " +/p/src/a.el +changed +user +2[0-9-]+ [0-9:]\\{8\\} +edit_file +Because\\."))
      ;; `g' reads the log again and stays at the entry.
      (agent-q-diff-log-record '(:tool "third"))
      (execute-kbd-macro "g")
      (should (= 3 (count-lines (point-min) (point-max))))
      (should (equal "/p/src/a.el" (plist-get (tabulated-list-get-id) :path))))))

(defun aqd-log-list-columns ()
  "Return the names of the columns and where each begins."
  (let ((at 0))
    (mapcar (lambda (column)
              (prog1 (cons (car column) at)
                (setq at (+ at (nth 1 column) 1))))
            tabulated-list-format)))

(ert-deftest aqd-log-list-agent-description-and-file-are-first-and-use-the-width ()
  (aqd-with-log-file
    (agent-q-diff-log-record
     (list :tool "edit_file" :agent "Claude" :description "Rename the cache"
           :path (concat "/p/" (make-string 90 ?d) "/last.el")
           :outcome "partly accepted" :total 2 :in-file 1))
    (save-window-excursion
      (delete-other-windows)
      (agent-q-diff-log)
      (should (looking-at "Claude +Rename the cache +….*/last\\.el +partly accepted +1/2"))
      (let ((wide (aqd-log-list-columns)))
        ;; The outcome is inside the narrowest window that one has.
        (should (<= (+ 16 (alist-get "Outcome" wide nil nil #'equal)) 80))
        (agent-q-diff-views--print 160)
        (should (= 160 (alist-get "Project" (aqd-log-list-columns) nil nil #'equal)))
        (should (looking-at "Claude +Rename the cache +…d+/last\\.el +partly accepted +1/2"))
        (kill-buffer)))))

(ert-deftest aqd-log-list-of-nothing ()
  (aqd-with-log-file
    (save-window-excursion
      (agent-q-diff-log)
      (should (= (point-min) (point-max)))
      (should-error (agent-q-diff-log-show-entry) :type 'user-error)
      (should-error (agent-q-diff-log-visit) :type 'user-error))))

(ert-deftest aqd-log-list-entry-is-shown-without-opening-its-file ()
  (aqd-with-log-file
    (let* ((file (expand-file-name "named.el" top))
           (diff (format "--- %s\n+++ %s\n@@ -1,2 +1,2 @@ (defun x ())\n-a\n+b\r\u200b\n c\n" file file)))
      (write-region "a\nc\n" nil file nil 'silent)
      (agent-q-diff-log-record (list :tool "edit_file" :path file :diff diff
                                     :reason "no\n@@ -1 +1 @@\n-c"))
      (save-window-excursion
        (agent-q-diff-log)
        (let ((which-function-mode t)
              (diff-font-lock-syntax t)
              (diff-refine 'font-lock))
          (should-not
           (aqd-log-list-watching-visits
             (execute-kbd-macro (kbd "RET"))
             (should (derived-mode-p 'diff-mode))
             (font-lock-ensure)
             (goto-char (point-max))
             (forward-line -1)
             (add-log-current-defun)
             (should-error (next-error)))))
        (should buffer-read-only)
        (should-not diff-font-lock-syntax)
        (should-not next-error-function)
        (should-not bidi-display-reordering)
        (should (string-match-p "^# reason: no<U\\+000A>@@ -1 \\+1 @@<U\\+000A>-c$" (buffer-string)))
        (should (string-suffix-p diff (buffer-string)))
        (should (= 1 (how-many "^@@" (point-min) (point-max))))
        (should (eq 'hex-code (aref glyphless-char-display #x200b)))
        (should-not (eq 'hex-code (aref (default-value 'glyphless-char-display) #x200b)))
        ;; Keys that visit or patch in a diff buffer visit the file here.
        (goto-char (point-max))
        (dolist (key '("o" "RET" "C-c C-c" "C-c C-a" "C-c C-t"))
          (ert-info (key :prefix "key: ")
            (should (eq #'agent-q-diff-log-visit (key-binding (kbd key) nil))) ))
        (should (equal (list file)
                       (aqd-log-list-watching-visits
                         (should-error (execute-kbd-macro "o")))))))))

(ert-deftest aqd-log-list-jump-asks-before-it-connects ()
  (let* ((connected nil)
         (file-name-handler-alist
          (cons '("\\`/far:" . (lambda (operation &rest arguments)
                                 (pcase operation
                                   ('file-remote-p (unless (nth 2 arguments) "/far:h:"))
                                   (_ (push operation connected) nil))))
                file-name-handler-alist))
         (asked nil))
    (ignore connected)
    (cl-letf (((symbol-function 'yes-or-no-p)
               (lambda (question) (push question asked) nil)))
      (should-error (agent-q-diff-log-list--file '(:path "/far:h:/etc/passwd")) :type 'user-error))
    (should (= 1 (length asked)))))

(ert-deftest aqd-log-list-jump-needs-a-file ()
  (aqd-with-log-file
    (let ((file (expand-file-name "a.el" top)))
      (write-region "" nil file nil 'silent)
      (should (equal file (agent-q-diff-log-list--file (list :path file))))
      (should (equal file (agent-q-diff-log-list--file (list :path "a.el" :root top))))
      (dolist (entry (list nil '(:path "") '(:path 42) '(:path "a.el") '(:path "~/x")
                           (list :path (concat file "x"))))
        (should-error (agent-q-diff-log-list--file entry) :type 'user-error)))))

(ert-deftest aqd-log-list-of-any-size-opens-at-once ()
  "Only the end of the log is read, whether it has many lines or long ones."
  (aqd-with-log-file
    (make-directory (file-name-directory agent-q-diff-log-file) t)
    (let ((line (concat "{\"tool\":\"t\",\"diff\":\"" (make-string 1000 ?x) "\"}\n")))
      (with-temp-buffer
        (dotimes (_ 60000) (insert line))
        (write-region nil nil agent-q-diff-log-file nil 'silent))
      (should (= 100 (length (agent-q-diff-log-entries 100))))
      (with-temp-buffer
        (dotimes (_ 30) (insert "{\"tool\":\"t\",\"diff\":\"" (make-string 1000000 ?x) "\"}\n"))
        (write-region nil nil agent-q-diff-log-file nil 'silent))
      (should (< 5 (length (agent-q-diff-log-entries 100)) 20)))))

(ert-deftest aqd-log-list-says-outcomes-in-words ()
  (aqd-with-project (aqd-numbered 30)
    (let ((agent-q-diff-log-file (expand-file-name "log" aqd-project)))
      (aqd-play "a r q" (lambda ()
                          (apply #'agent-q-diff-review-and-wait (aqd-logged-proposal))))
      (save-window-excursion
        (agent-q-diff-log)
        (should (looking-at ".*/target\\.txt +partly accepted +1/2 +user +.* review"))
        (kill-buffer)))))

(provide 'agent-q-diff-log-test)
;;; agent-q-diff-log-test.el ends here
