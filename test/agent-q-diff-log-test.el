;;; agent-q-diff-log-test.el --- What is recorded, and how it is read  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The log on a real disk: who can read it, what several Emacsen do to it
;; at once, what becomes of it when it grows; and the buffers that show it.

;;; Code:

(require 'cl-lib)
(require 'cus-edit)
(require 'ert)
(require 'agent-q-diff-log)
(require 'agent-q-diff-log-list)

(defmacro aqd-log-with-file (&rest body)
  "Run BODY with a log in a directory that does not exist yet."
  (declare (indent 0) (debug t))
  `(let* ((top (make-temp-file "aqd-log" t))
          (agent-q-diff-log-file (expand-file-name "new/deep/log.jsonl" top))
          (agent-q-diff-log--failed nil))
     (unwind-protect (progn ,@body)
       (dolist (name '("*Agent-Q Log*" "*Agent-Q Log Entry*"))
         (when (get-buffer name)
           (kill-buffer name)))
       (delete-directory top t))))

(defun aqd-log-bytes (&optional file)
  "Return the bytes of FILE, the log by default."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally (or file agent-q-diff-log-file))
    (buffer-string)))

(defun aqd-log-lines ()
  "Return the lines of the log."
  (split-string (aqd-log-bytes) "\n" t))

(defun aqd-log-modes (file)
  "Return the permission bits of FILE."
  (logand #o777 (file-modes file)))

(defconst aqd-log-entry
  '(:tool "edit_file" :path "/p/src/a.el" :hash-before "aa" :hash-after "bb"
    :hunks ((:index 0 :state applied :in-file t) (:index 1 :state rejected :in-file nil))
    :decided-by user :reason "Because." :diff "--- a/a.el\n+++ b/a.el\n@@ -1 +1 @@\n-a\n+b\n")
  "An entry as a tool records it.")

;;;; Writing

(ert-deftest aqd-log-an-entry-is-one-json-line ()
  (aqd-log-with-file
    (should (agent-q-diff-log-record aqd-log-entry))
    (should (agent-q-diff-log-record '(:tool "propose_file_edit")))
    (let* ((lines (aqd-log-lines))
           (entry (json-parse-string (car lines) :object-type 'alist)))
      (should (= 2 (length lines)))
      (should (string-suffix-p "\n" (aqd-log-bytes)))
      (should (equal (mapcar #'car entry)
                     '(time tool path hash-before hash-after hunks decided-by reason diff)))
      (should (equal (alist-get 'hunks entry)
                     [((index . 0) (state . "applied") (in-file . t))
                      ((index . 1) (state . "rejected") (in-file . :null))]))
      (should (equal (alist-get 'diff entry) (plist-get aqd-log-entry :diff)))
      (should (string-match-p "\\`2[0-9-]+T[0-9:.]+Z\\'" (alist-get 'time entry))))))

(ert-deftest aqd-log-is-for-the-user-alone ()
  (aqd-log-with-file
    (with-file-modes #o777
      (agent-q-diff-log-record aqd-log-entry))
    (should (= #o600 (aqd-log-modes agent-q-diff-log-file)))
    (should (= #o700 (aqd-log-modes (file-name-directory agent-q-diff-log-file))))
    (should (= #o700 (aqd-log-modes (expand-file-name "new" top))))))

(ert-deftest aqd-log-is-for-the-user-alone-from-its-creation-on ()
  "At no moment is there a log that others can read."
  (aqd-log-with-file
    (let (modes)
      (cl-letf* ((real (symbol-function 'write-region))
                 ((symbol-function 'write-region)
                  (lambda (&rest arguments)
                    ;; Emacs may write a trampoline for this very function.
                    (when (equal (nth 2 arguments) agent-q-diff-log-file)
                      (push (default-file-modes) modes))
                    (apply real arguments)))
                 ((symbol-function 'set-file-modes)
                  (lambda (&rest _) (error "Too late"))))
        (should (agent-q-diff-log-record aqd-log-entry)))
      (should (equal modes '(#o600))))))

(ert-deftest aqd-log-strange-values-do-not-break-a-line ()
  (aqd-log-with-file
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
        (should (agent-q-diff-log--parse line)))
      (should (= n (length values))))
    (should (equal (plist-get (car (last (agent-q-diff-log-entries 100))) :path)
                   "\\xff\\x80 raw"))))

(ert-deftest aqd-log-never-signals-and-complains-once ()
  (aqd-log-with-file
    (let ((messages nil))
      (cl-letf (((symbol-function 'message)
                 (lambda (format &rest arguments)
                   (push (apply #'format format arguments) messages))))
        (make-directory agent-q-diff-log-file t)
        (should-not (agent-q-diff-log-record aqd-log-entry))
        (should-not (agent-q-diff-log-record aqd-log-entry))
        (should (= 1 (length messages)))
        (should (string-match-p "cannot write the log" (car messages)))
        (delete-directory agent-q-diff-log-file)
        (should (agent-q-diff-log-record aqd-log-entry))
        (delete-file agent-q-diff-log-file)
        (make-directory agent-q-diff-log-file)
        (should-not (agent-q-diff-log-record aqd-log-entry))
        (should (= 2 (length messages)))
        ;; No plist at all, and one without an end.
        (let ((circle (list :a)))
          (setcdr circle circle)
          (dolist (wrong (list 42 '(:a . b) circle))
            (agent-q-diff-log-record wrong)))))))

(ert-deftest aqd-log-none-is-kept-if-there-is-no-file ()
  (aqd-log-with-file
    (let ((agent-q-diff-log-file nil))
      (should-not (agent-q-diff-log-record aqd-log-entry))
      (should-error (agent-q-diff-log) :type 'user-error))))

(ert-deftest aqd-log-asks-nothing-and-leaves-no-trace ()
  "Neither a lock, nor the user's hooks, nor a modified buffer."
  (aqd-log-with-file
    (agent-q-diff-log-record aqd-log-entry)
    (let ((write-region-annotate-functions (list (lambda (&rest _) (error "Called"))))
          (coding-system-for-write 'utf-16)
          (create-lockfiles t)
          (buffers (buffer-list)))
      (should (agent-q-diff-log-record aqd-log-entry))
      (should (equal buffers (buffer-list))))
    (should (equal (directory-files (file-name-directory agent-q-diff-log-file) nil
                                    directory-files-no-dot-files-regexp)
                   '("log.jsonl")))
    (should (= 2 (length (agent-q-diff-log-entries 10))))))

(ert-deftest aqd-log-a-torn-line-costs-no-other ()
  (aqd-log-with-file
    (agent-q-diff-log-record aqd-log-entry)
    (let ((half (substring (aqd-log-bytes) 0 20)))
      (write-region half nil agent-q-diff-log-file t 'silent))
    (agent-q-diff-log-record '(:tool "after"))
    (should (= 3 (length (aqd-log-lines))))
    (should (equal (mapcar (lambda (entry) (plist-get entry :tool))
                           (agent-q-diff-log-entries 10))
                   '("after" "edit_file")))))

(ert-deftest aqd-log-several-emacsen-write-at-once ()
  "Long lines from four processes, with the log put aside all the time.
No line may be torn and none lost."
  (aqd-log-with-file
    (let* ((n-processes 4)
           (n-entries 60)
           (program (format "%S" `(progn
                                    (require 'agent-q-diff-log)
(require 'agent-q-diff-log-list)
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
        (should (file-exists-p (agent-q-diff-log--old 1)))
        (should-not (file-exists-p (concat agent-q-diff-log-file ".lock")))))))

;;;; Putting aside

(ert-deftest aqd-log-is-put-aside-when-it-is-full ()
  (aqd-log-with-file
    (let ((agent-q-diff-log-max-bytes 300)
          (agent-q-diff-log-n-old 2))
      (dotimes (i 30)
        (agent-q-diff-log-record (list :tool (number-to-string i)
                                       :diff (make-string 100 ?x))))
      (should (equal (directory-files (file-name-directory agent-q-diff-log-file) nil
                                      directory-files-no-dot-files-regexp)
                     '("log.jsonl" "log.jsonl.1" "log.jsonl.2")))
      (dolist (n '(0 1 2))
        (let ((file (agent-q-diff-log--old n)))
          (should (= #o600 (aqd-log-modes file)))
          (should (< (file-attribute-size (file-attributes file)) 600))))
      ;; The latest are there, in order, across the files.
      (should (equal (mapcar (lambda (entry) (plist-get entry :tool))
                             (agent-q-diff-log-entries 4))
                     '("29" "28" "27" "26"))))))

(ert-deftest aqd-log-without-old-ones ()
  (aqd-log-with-file
    (let ((agent-q-diff-log-max-bytes 10)
          (agent-q-diff-log-n-old 0))
      (dotimes (_ 3)
        (should (agent-q-diff-log-record aqd-log-entry)))
      (should (= 1 (length (aqd-log-lines)))))))

(ert-deftest aqd-log-may-grow-for-ever ()
  (aqd-log-with-file
    (let ((agent-q-diff-log-max-bytes nil))
      (dotimes (_ 3)
        (should (agent-q-diff-log-record aqd-log-entry)))
      (should (= 3 (length (aqd-log-lines)))))))

(ert-deftest aqd-log-another-emacs-puts-it-aside ()
  "Then this one only writes; but a lock of one that died is taken away."
  (aqd-log-with-file
    (agent-q-diff-log-record aqd-log-entry)
    (let ((agent-q-diff-log-max-bytes 10)
          (lock (concat agent-q-diff-log-file ".lock")))
      (make-directory lock)
      (should (agent-q-diff-log-record aqd-log-entry))
      (should (= 2 (length (aqd-log-lines))))
      (should (file-directory-p lock))
      (set-file-times lock (time-subtract nil 3600))
      (should (agent-q-diff-log-record aqd-log-entry))
      (should (= 1 (length (aqd-log-lines))))
      (should-not (file-exists-p lock)))))

;;;; Browsing

(defmacro aqd-log-watching-visits (&rest body)
  "Run BODY and return the files that were visited meanwhile."
  (declare (indent 0) (debug t))
  `(let (visited)
     (cl-letf (((symbol-function 'find-file-noselect)
                (lambda (file &rest _) (push file visited) (error "Visited"))))
       ,@body)
     visited))

(ert-deftest aqd-log-list-shows-the-latest-first ()
  (aqd-log-with-file
    (agent-q-diff-log-record aqd-log-entry)
    (agent-q-diff-log-record '(:tool "propose_file_edit" :path "b\n\e[2J\u202e.el"
                               :hash-before "aa" :hash-after "aa" :decided-by policy))
    (save-window-excursion
      (agent-q-diff-log)
      (should (derived-mode-p 'agent-q-diff-log-mode))
      (should (= 2 (count-lines (point-min) (point-max))))
      (should (looking-at " 2[0-9-]+ [0-9:]\\{8\\} +propose_file_edit +unchanged +policy +b<U\\+000A><U\\+001B>\\[2J<U\\+202E>\\.el"))
      (forward-line 1)
      (should (looking-at ".*edit_file +changed +user +/p/src/a.el +Because\\."))
      ;; `g' reads it anew and stays at the entry.
      (agent-q-diff-log-record '(:tool "third"))
      (execute-kbd-macro "g")
      (should (= 3 (count-lines (point-min) (point-max))))
      (should (equal "/p/src/a.el" (plist-get (tabulated-list-get-id) :path))))))

(ert-deftest aqd-log-list-of-nothing ()
  (aqd-log-with-file
    (save-window-excursion
      (agent-q-diff-log)
      (should (= (point-min) (point-max)))
      (should-error (agent-q-diff-log-show-entry) :type 'user-error)
      (should-error (agent-q-diff-log-visit) :type 'user-error))))

(ert-deftest aqd-log-entry-is-shown-without-opening-its-file ()
  (aqd-log-with-file
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
           (aqd-log-watching-visits
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
        ;; The keys of a diff buffer that would visit or patch visit here.
        (goto-char (point-max))
        (dolist (key '("o" "RET" "C-c C-c" "C-c C-a" "C-c C-t"))
          (ert-info (key :prefix "key: ")
            (should (eq #'agent-q-diff-log-visit (key-binding (kbd key) nil))) ))
        (should (equal (list file)
                       (aqd-log-watching-visits
                         (should-error (execute-kbd-macro "o")))))))))

(ert-deftest aqd-log-jump-asks-before-it-connects ()
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

(ert-deftest aqd-log-jump-needs-a-file ()
  (aqd-log-with-file
    (let ((file (expand-file-name "a.el" top)))
      (write-region "" nil file nil 'silent)
      (should (equal file (agent-q-diff-log-list--file (list :path file))))
      (should (equal file (agent-q-diff-log-list--file (list :path "a.el" :root top))))
      (dolist (entry (list nil '(:path "") '(:path 42) '(:path "a.el") '(:path "~/x")
                           (list :path (concat file "x"))))
        (should-error (agent-q-diff-log-list--file entry) :type 'user-error)))))

(ert-deftest aqd-log-of-any-size-opens-at-once ()
  "Only the end of it is read, whether its lines are many or long."
  (aqd-log-with-file
    (make-directory (file-name-directory agent-q-diff-log-file) t)
    (let ((line (concat "{\"tool\":\"t\",\"diff\":\"" (make-string 1000 ?x) "\"}\n"))
          (agent-q-diff-log-n-shown 100)
          (n-read 0))
      (with-temp-buffer
        (dotimes (_ 60000) (insert line))
        (write-region nil nil agent-q-diff-log-file nil 'silent))
      (cl-letf* ((real (symbol-function 'insert-file-contents-literally))
                 ((symbol-function 'insert-file-contents-literally)
                  (lambda (file &optional visit beg end replace)
                    (cl-incf n-read (- end beg))
                    (funcall real file visit beg end replace))))
        (should (= 100 (length (agent-q-diff-log-entries 100))))
        (should (< n-read 1000000))
        (with-temp-buffer
          (dotimes (_ 30) (insert "{\"tool\":\"t\",\"diff\":\"" (make-string 1000000 ?x) "\"}\n"))
          (write-region nil nil agent-q-diff-log-file nil 'silent))
        (setq n-read 0)
        (should (< 5 (length (agent-q-diff-log-entries 100)) 20))
        (should (< n-read (* 3 agent-q-diff-log--max-read)))))))

(ert-deftest aqd-log-lines-that-are-no-entries-are-left-out ()
  (aqd-log-with-file
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

(provide 'agent-q-diff-log-test)
;;; agent-q-diff-log-test.el ends here
