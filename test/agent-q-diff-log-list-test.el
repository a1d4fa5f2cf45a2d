;;; agent-q-diff-log-list-test.el --- The buffers that show the log  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Browsing reads no more than the end of the log and opens no file unasked.

;;; Code:

(require 'cl-lib)
(require 'agent-q-diff-log-list)
(require 'agent-q-diff-project-help)

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
      (should (looking-at " +….*U\\+202E>\\.el +unchanged +policy +2[0-9-]+ [0-9:]\\{8\\} +propose_file_edit"))
      (forward-line 1)
      (should (looking-at " +/p/src/a.el +changed +user +2[0-9-]+ [0-9:]\\{8\\} +edit_file +Because\\."))
      ;; `g' reads the log again and stays at the entry.
      (agent-q-diff-log-record '(:tool "third"))
      (execute-kbd-macro "g")
      (should (= 3 (count-lines (point-min) (point-max))))
      (should (equal "/p/src/a.el" (plist-get (tabulated-list-get-id) :path))))))

(defun aqd-log-list-columns ()
  "Return the names of the columns and where each begins."
  (let ((at tabulated-list-padding))
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
      (should (looking-at " Claude +Rename the cache +….*/last\\.el +partly accepted +1/2"))
      (let ((wide (aqd-log-list-columns)))
        ;; The outcome is inside the narrowest window that one has.
        (should (<= (+ 16 (alist-get "Outcome" wide nil nil #'equal)) 80))
        (agent-q-diff-log-list--lay-out 160)
        (should (= 160 (alist-get "Tool" (aqd-log-list-columns) nil nil #'equal)))
        (tabulated-list-print t)
        (should (looking-at " Claude +Rename the cache +…d+/last\\.el +partly accepted +1/2"))
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

(ert-deftest aqd-log-list-says-outcomes-in-words ()
  (aqd-with-project (aqd-numbered 30)
    (let ((agent-q-diff-log-file (expand-file-name "log" aqd-project)))
      (aqd-play "a r q" (lambda ()
                          (apply #'agent-q-diff-review-and-wait (aqd-logged-proposal))))
      (save-window-excursion
        (agent-q-diff-log)
        (should (looking-at ".*/target\\.txt +partly accepted +1/2 +user +.* review"))
        (kill-buffer)))))

(provide 'agent-q-diff-log-list-test)
;;; agent-q-diff-log-list-test.el ends here
