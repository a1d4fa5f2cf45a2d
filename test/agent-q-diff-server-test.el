;;; agent-q-diff-server-test.el --- The socket for MCP  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A client here is a connection that writes bytes and keeps what it reads.
;; Waiting always has a condition; what never comes true fails the test.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-server)

(defconst aqd-server-limit-seconds 60
  "Time after which what was waited for has failed.")

(defmacro aqd-until (condition)
  "Let processes have their say until CONDITION is non-nil; return its value."
  `(let ((deadline (+ (float-time) aqd-server-limit-seconds))
         value)
     (while (not (setq value ,condition))
       (when (> (float-time) deadline)
         (ert-fail '(waited-in-vain-for ,condition)))
       (accept-process-output nil 0.05))
     value))

(defmacro aqd-with-server (&rest body)
  "Run BODY while Emacs serves on a socket of the test's own.
`socket' is its name.  Afterwards nothing may be left."
  (declare (indent 0) (debug t))
  `(let* ((folder (make-temp-file "aqd-server" t))
          (socket (expand-file-name "private/socket" folder))
          (agent-q-diff-server-socket socket))
     (unwind-protect
         (progn
           (should (equal socket (agent-q-diff-serve)))
           ,@body
           (agent-q-diff-serve-stop)
           (should-not agent-q-diff-server--clients)
           (should-not (agent-q-diff-open-reviews))
           (should-not (file-exists-p socket)))
       (agent-q-diff-serve-stop)
       (delete-directory folder t))))

(defun aqd-connect ()
  "Return a new connection to the server."
  (let ((client (make-network-process
                 :name "aqd-client" :family 'local :coding 'binary
                 :service agent-q-diff-server-socket :noquery t
                 :filter (lambda (client bytes)
                           (process-put client 'said
                                        (cons bytes (process-get client 'said)))))))
    (set-process-sentinel client #'ignore)
    client))

(defun aqd-table (pairs)
  "Return PAIRS as a hash table; of two for one key, the first wins."
  (let ((table (make-hash-table :test #'equal)))
    (pcase-dolist (`(,key . ,value) (reverse pairs))
      (puthash key value table))
    table))

(defun aqd-request (&rest changes)
  "Return a request to change the test's file, with CHANGES.
They are pairs of a key, that of an argument or of the request, and a value."
  (let ((arguments (aqd-table `(,@changes
                                ("path" . ,aqd-file) ("original" . "a\nb\n")
                                ("modified" . "a\nB\n") ("description" . "Why")))))
    (dolist (key '("version" "tool" "directory" "agent"))
      (remhash key arguments))
    (concat (json-serialize
             (aqd-table `(("arguments" . ,arguments)
                          ,@changes
                          ("version" . 1) ("tool" . "propose_file_edit")
                          ("directory" . ,(file-name-directory aqd-file))
                          ("agent" . "a test"))))
            "\n")))

(defun aqd-ask (text)
  "Connect, say TEXT, bytes, and return the connection."
  (let ((client (aqd-connect)))
    (process-send-string client (encode-coding-string text 'utf-8-unix))
    client))

(defun aqd-heard (client)
  "Return the lines that CLIENT has read so far, parsed."
  (mapcar (lambda (line)
            (json-parse-string (decode-coding-string line 'utf-8-unix)
                               :object-type 'plist :false-object nil))
          (butlast (split-string (string-join (reverse (process-get client 'said)))
                                 "\n"))))

(defun aqd-answer-to (client)
  "Wait for the answer to CLIENT and the end of the connection; return the answer.
It is a list (ERROR TEXT)."
  (aqd-until (not (process-live-p client)))
  (let ((last (car (last (aqd-heard client)))))
    (list (plist-get last :error) (plist-get last :answer))))

(defun aqd-progress-of (client)
  "Return what CLIENT has read of progress, as a list of (DECIDED . TOTAL)."
  (delq nil (mapcar (lambda (said)
                      (when-let ((progress (plist-get said :progress)))
                        (cons (plist-get progress :decided)
                              (plist-get progress :total))))
                    (aqd-heard client))))

(defun aqd-only-review ()
  "Wait until a review is open, and return it."
  (aqd-until (car (agent-q-diff-open-reviews))))

;;;; The socket

(ert-deftest aqd-server-is-private ()
  (aqd-with-server
    (should (equal "drwx------" (file-attribute-modes
                                 (file-attributes (file-name-directory socket)))))
    (should (equal "srw-------" (file-attribute-modes (file-attributes socket))))))

(ert-deftest aqd-server-refuses-a-directory-that-others-can-reach ()
  (let* ((folder (make-temp-file "aqd-server" t))
         (agent-q-diff-server-socket (expand-file-name "open/socket" folder)))
    (unwind-protect
        (progn
          (with-file-modes #o755
            (make-directory (expand-file-name "open" folder)))
          (should-error (agent-q-diff-serve) :type 'user-error)
          ;; A private directory behind a link is not ours to trust either.
          (with-file-modes #o700
            (make-directory (expand-file-name "private" folder)))
          (make-symbolic-link "private" (expand-file-name "link" folder))
          (let ((agent-q-diff-server-socket (expand-file-name "link/socket" folder)))
            (should-error (agent-q-diff-serve) :type 'user-error))
          (should-not agent-q-diff-server--process)
          (should-not (memq #'agent-q-diff-serve-stop kill-emacs-hook)))
      (delete-directory folder t))))

(ert-deftest aqd-server-refuses-a-directory-of-somebody-else ()
  (cl-letf (((symbol-function 'user-uid) (lambda () 12345)))
    (let ((agent-q-diff-server-socket
           (expand-file-name "socket" (make-temp-file "aqd-server" t))))
      (should-error (agent-q-diff-serve) :type 'user-error)
      (delete-directory (file-name-directory agent-q-diff-server-socket)))))

(ert-deftest aqd-server-replaces-a-stale-socket-only ()
  (let* ((folder (make-temp-file "aqd-server" t))
         (agent-q-diff-server-socket (expand-file-name "socket" folder))
         (other (agent-q-diff-server--listen agent-q-diff-server-socket)))
    (unwind-protect
        (progn
          (should-error (agent-q-diff-serve) :type 'user-error)
          (delete-process other)
          ;; Emacs leaves the file behind, as one that was killed does.
          (should (file-exists-p agent-q-diff-server-socket))
          (agent-q-diff-serve)
          (should (process-live-p agent-q-diff-server--process))
          (agent-q-diff-serve-stop)
          (should-not (file-exists-p agent-q-diff-server-socket))
          (write-region "mine" nil agent-q-diff-server-socket nil 'silent)
          (should-error (agent-q-diff-serve) :type 'user-error)
          (should (file-exists-p agent-q-diff-server-socket)))
      (delete-directory folder t))))

(ert-deftest aqd-server-leaves-the-socket-of-a-successor ()
  (aqd-with-server
    (delete-file socket)
    (let ((other (agent-q-diff-server--listen socket)))
      (agent-q-diff-serve-stop)
      (should (file-exists-p socket))
      (delete-process other)
      (delete-file socket))))

(ert-deftest aqd-server-serves-once ()
  (aqd-with-server
    (let ((process agent-q-diff-server--process))
      (agent-q-diff-serve)
      (should (eq process agent-q-diff-server--process)))
    (should (memq #'agent-q-diff-serve-stop kill-emacs-hook))
    (agent-q-diff-serve-stop)
    (should-not (memq #'agent-q-diff-serve-stop kill-emacs-hook))))

(ert-deftest aqd-server-usual-place ()
  (let ((agent-q-diff-server-socket nil)
        (process-environment (copy-sequence process-environment))
        (folder (make-temp-file "aqd-server" t))
        (at-home (expand-file-name "~/.cache/agent-q-diff/socket")))
    (setenv "XDG_RUNTIME_DIR" folder)
    (should (equal (expand-file-name "agent-q-diff/socket" folder)
                   (agent-q-diff-server--socket-name)))
    (delete-directory folder)
    (should (equal at-home (agent-q-diff-server--socket-name)))
    (setenv "XDG_RUNTIME_DIR")
    (should (equal at-home (agent-q-diff-server--socket-name)))))

;;;; Calls

(ert-deftest aqd-server-accepted ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (let* ((client (aqd-ask (aqd-request)))
             (review (aqd-only-review)))
        (should (equal "a test" (agent-q-diff-review-agent review)))
        (aqd-until (equal '((0 . 1)) (aqd-progress-of client)))
        (agent-q-diff-accept review 0)
        (aqd-until (equal '((0 . 1) (1 . 1)) (aqd-progress-of client)))
        (agent-q-diff-end review)
        (pcase-let ((`(,error ,text) (aqd-answer-to client)))
          (should-not error)
          (should (string-prefix-p "✓ Changes accepted" text)))
        (should (equal "a\nB\n" (aqd-disk)))))))

(ert-deftest aqd-server-a-refusal-is-no-error ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (let ((client (aqd-ask (aqd-request)))
            (review (aqd-only-review)))
        (agent-q-diff-reject review 0)
        (agent-q-diff-end review)
        (pcase-let ((`(,error ,text) (aqd-answer-to client)))
          (should-not error)
          (should (string-prefix-p "✗ REJECTED" text)))))))

(ert-deftest aqd-server-no-decision-is-an-error ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (let ((client (aqd-ask (aqd-request)))
            (review (aqd-only-review)))
        (agent-q-diff-accept review 0)
        (kill-buffer (agent-q-diff-review-buffer review))
        (pcase-let ((`(,error ,text) (aqd-answer-to client)))
          (should error)
          (should-not (string-search "REJECTED" text))
          (should (string-search "its buffer was killed" text))
          (should (string-search "1 of its 1 hunks" text)))))))

(ert-deftest aqd-server-relative-paths-begin-at-the-callers-directory ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (let ((default-directory "/"))
        (aqd-ask (aqd-request '("path" . "target.txt")))
        (should (equal aqd-file (agent-q-diff-review-path (aqd-only-review))))))))

(ert-deftest aqd-server-several-clients-answered-out-of-order ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (let ((clients (mapcar (lambda (n)
                               (aqd-ask (aqd-request
                                         `("modified" . ,(format "a\n%d\n" n)))))
                             (number-sequence 0 11))))
        (aqd-until (= 12 (length (agent-q-diff-open-reviews))))
        (dolist (n '(7 0 11))
          (let* ((proposed (format "a\n%d\n" n))
                 (review (seq-find
                          (lambda (review)
                            (equal proposed
                                   (buffer-local-value
                                    'agent-q-diff--modified
                                    (agent-q-diff-review-buffer review))))
                          (agent-q-diff-open-reviews))))
            (agent-q-diff-reject review 0)
            (agent-q-diff-end review)
            (should-not (car (aqd-answer-to (nth n clients))))))
        (should (= 9 (length (agent-q-diff-open-reviews))))
        (should (= 9 (seq-count #'process-live-p clients)))
        (agent-q-diff-serve-stop)
        (dolist (n '(1 2 3 4 5 6 8 9 10))
          (should (car (aqd-answer-to (nth n clients)))))))))

(ert-deftest aqd-server-closed-connection-cancels ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (let* ((client (aqd-ask (aqd-request)))
             (review (aqd-only-review)))
        (delete-process client)
        (aqd-until (agent-q-diff-review-outcome review))
        (should (eq 'cancelled (agent-q-diff-review-outcome review)))
        (aqd-until (null agent-q-diff-server--clients))))))

(ert-deftest aqd-server-emacs-ends ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (let ((client (aqd-ask (aqd-request))))
        (aqd-only-review)
        (run-hooks 'kill-emacs-hook)
        (pcase-let ((`(,error ,text) (aqd-answer-to client)))
          (should error)
          (should (string-search "Emacs was left" text)))
        (should-not (file-exists-p socket))))))

(ert-deftest aqd-server-who-asks-is-shown-as-a-name ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (aqd-ask (aqd-request `("agent" . ,(concat "Claude\n\u202e" (make-string 99 ?x)))))
      (should (equal (concat "Claude??" (make-string 32 ?x))
                     (agent-q-diff-review-agent (aqd-only-review)))))))

(ert-deftest aqd-server-a-long-answer-arrives-whole ()
  (aqd-with-server
    (let* ((text (make-string (* 5 1024 1024) ?ß))
           (client (aqd-connect))
           (peer (aqd-until (car agent-q-diff-server--clients))))
      (agent-q-diff-server--answer peer text nil)
      (should (equal (list nil text) (aqd-answer-to client))))))

(ert-deftest aqd-server-twenty-megabytes ()
  (let* ((line "0123456789 (defun naïve () \"\\\\x\")\n")
         (original (apply #'concat (make-list (/ (* 20 1024 1024) (string-bytes line))
                                              line)))
         (modified (concat original "one more\n")))
    (aqd-with-file original
      (aqd-with-server
        (let ((client (aqd-ask (aqd-request `("original" . ,original)
                                            `("modified" . ,modified))))
              (review (aqd-only-review)))
          (agent-q-diff-accept review 0)
          (agent-q-diff-end review)
          (should-not (car (aqd-answer-to client)))
          (should (equal (encode-coding-string modified 'utf-8-unix) (aqd-disk))))))))

;;;; What is no request

(ert-deftest aqd-server-a-character-cut-between-packets ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (let ((client (aqd-connect))
            (bytes (encode-coding-string (aqd-request '("modified" . "a\n«ß😀»\n"))
                                         'utf-8-unix)))
        ;; Each byte is read by itself, since the one before has been taken.
        (seq-do-indexed
         (lambda (byte n)
           (process-send-string client (unibyte-string byte))
           (unless (= ?\n byte)
             (aqd-until (equal (1+ n) (when-let ((peer (car agent-q-diff-server--clients)))
                                        (process-get peer 'size))))))
         bytes)
        (should (equal "a\n«ß😀»\n"
                       (buffer-local-value 'agent-q-diff--modified
                                           (agent-q-diff-review-buffer
                                            (aqd-only-review)))))))))

(ert-deftest aqd-server-half-a-line-asks-for-nothing ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (let ((client (aqd-ask (string-trim-right (aqd-request)))))
        (aqd-until (when-let ((peer (car agent-q-diff-server--clients)))
                     (process-get peer 'size)))
        (should-not (agent-q-diff-open-reviews))
        (delete-process client)
        (aqd-until (null agent-q-diff-server--clients))))))

(ert-deftest aqd-server-what-follows-the-line-is-ignored ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (aqd-ask (concat (aqd-request) (aqd-request) "garbage"))
      (aqd-only-review)
      (aqd-ask (aqd-request '("modified" . "c\n")))
      (aqd-until (< 1 (length (agent-q-diff-open-reviews))))
      (should (= 2 (length (agent-q-diff-open-reviews)))))))

(defun aqd-should-refuse (text regexp)
  "Check that the server answers TEXT by an error that matches REGEXP."
  (pcase-let ((`(,error ,answer) (aqd-answer-to (aqd-ask text))))
    (should error)
    (should (string-match-p regexp answer))))

(ert-deftest aqd-server-garbage ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (dolist (text '("\n" "GET / HTTP/1.1\r\n" "[1]\n" "nil\n" "{}\n" "{\"version\": 1}\n"
                      "{\"version\": 1, \"directory\": \"/\", \"arguments\": []}\n"
                      "{\"version\": 1, \"directory\": \"/\", \"arguments\": {}}\n"))
        (aqd-should-refuse text "\\`Error: "))
      (let ((client (aqd-connect)))
        (process-send-string client "{\"a\": \"\xff\"}\n")
        (should (car (aqd-answer-to client))))
      (aqd-should-refuse (concat (make-string 100000 ?\[) "\n") "JSON")
      (aqd-should-refuse (aqd-request '("version" . 2)) "versions")
      (aqd-should-refuse (aqd-request '("directory" . "/ssh:nobody@nowhere:/")) "local")
      (aqd-should-refuse (aqd-request '("directory" . "here")) "local")
      (aqd-should-refuse (aqd-request '("modified" . 1)) "'modified' must be a string")
      (aqd-should-refuse (aqd-request '("path" . "/ssh:nobody@nowhere:/x")) "remote")
      (aqd-should-refuse (aqd-request '("path" . "/")) "directory")
      (aqd-should-refuse (aqd-request '("modified" . "a\nb\n")) "no decision"))))

(ert-deftest aqd-server-too-much ()
  (aqd-with-server
    (let ((agent-q-diff-server--limit 10000))
      (aqd-should-refuse (make-string 20000 ?x) "more than 10000 bytes"))))

(ert-deftest aqd-server-answers-what-unicode-has-not ()
  (should (equal "a\ufffd\ufffdz"
                 (agent-q-diff-server--clean (string ?a #x3fff80 #xd800 ?z)))))

;;;; Tools that are elsewhere

(ert-deftest aqd-server-does-not-go-round-the-guard ()
  "What no agent may edit, and what the user's policy denies, is not reviewed."
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (make-directory (expand-file-name ".git" (file-name-directory aqd-file)))
      (aqd-should-refuse (aqd-request '("path" . ".git/config") '("original" . ""))
                         "not for agents")
      (let ((agent-q-diff-tools-policy 'deny))
        (pcase-let ((`(,is-error ,answer) (aqd-answer-to (aqd-ask (aqd-request)))))
          (should-not is-error)
          (should (string-prefix-p "✗ REJECTED" answer))))
      (should-not (agent-q-diff-open-reviews)))))

(ert-deftest aqd-server-proposals-are-logged ()
  (aqd-with-file "a\nb\n"
    (let ((agent-q-diff-log-file (concat aqd-file ".log")))
      (aqd-with-server
        (let ((client (aqd-ask (aqd-request))))
          (aqd-until (agent-q-diff-open-reviews))
          (agent-q-diff-accept (car (agent-q-diff-open-reviews)) 0)
          (agent-q-diff-end (car (agent-q-diff-open-reviews)))
          (aqd-answer-to client))
        (with-temp-buffer
          (insert-file-contents agent-q-diff-log-file)
          (should (string-search "\"propose_file_edit\"" (buffer-string)))
          (should (string-search "\"user\"" (buffer-string))))))))

(ert-deftest aqd-server-calls-other-tools-if-there-are-any ()
  (aqd-with-file "a\nb\n"
    (aqd-with-server
      (cl-letf (((symbol-function 'agent-q-diff-tools-call-async)
                 (lambda (tool arguments callback)
                   (funcall callback
                            (if (equal tool "edit_file")
                                (concat "✓ " (gethash "path" arguments))
                              "Error: no")))))
        (should (equal (list nil (concat "✓ " aqd-file))
                       (aqd-answer-to (aqd-ask (aqd-request '("tool" . "edit_file"))))))
        (aqd-should-refuse (aqd-request '("tool" . "rm")) "\\`Error: no")))))

(provide 'agent-q-diff-server-test)
;;; agent-q-diff-server-test.el ends here
