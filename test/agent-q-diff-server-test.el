;;; agent-q-diff-server-test.el --- The socket for MCP clients  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A client here is a connection that writes bytes and keeps what it reads.
;; Waiting always has a condition and a deadline.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-git-help)
(require 'agent-q-diff-server)

(defconst aqd-server-limit-seconds 60
  "Seconds after which waiting fails.")

(defmacro aqd-server-until (condition)
  "Accept process output until CONDITION is non-nil; return its value."
  `(let ((deadline (+ (float-time) aqd-server-limit-seconds))
         value)
     (while (not (setq value ,condition))
       (when (> (float-time) deadline)
         (ert-fail '(waited-in-vain-for ,condition)))
       (accept-process-output nil 0.05))
     value))

(defmacro aqd-server-with (&rest body)
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

(defun aqd-server-connect ()
  "Return a new connection to the server."
  (let ((client (make-network-process
                 :name "aqd-client" :family 'local :coding 'binary
                 :service agent-q-diff-server-socket :noquery t
                 :filter #'aqd-server-read)))
    (set-process-sentinel client #'ignore)
    client))

(defun aqd-server-connect-both ()
  "Connect a client that has made its request, and acknowledges what it reads.
Return it and the server's end of the connection."
  (let* ((before (copy-sequence agent-q-diff-server--clients))
         (client (aqd-server-connect))
         (peer (aqd-server-until
                (car (seq-difference agent-q-diff-server--clients before #'eq)))))
    (process-put peer 'is-asked t)
    (process-put client 'peer peer)
    (list client peer)))

(defun aqd-server-read (client bytes)
  "Keep BYTES, which CLIENT has read, and acknowledge them if it does that.
Writing to a closed connection would end this Emacs, as it is not interactive."
  (process-put client 'said (cons bytes (process-get client 'said)))
  (when-let ((peer (process-get client 'peer)))
    (let ((n-read (+ (length bytes) (or (process-get client 'n-read) 0))))
      (process-put client 'n-read (% n-read 1024))
      (when (process-live-p peer)
        (process-send-string client (make-string (/ n-read 1024) ?\n))))))

(defun aqd-server-table (pairs)
  "Return PAIRS as a hash table; of two for one key, the first wins."
  (let ((table (make-hash-table :test #'equal)))
    (pcase-dolist (`(,key . ,value) (reverse pairs))
      (puthash key value table))
    table))

(defun aqd-server-request (&rest changes)
  "Return a request to change the test's file, with CHANGES.
They are pairs of a key, that of an argument or of the request, and a value."
  (let ((arguments (aqd-server-table `(,@changes
                                       ("path" . ,aqd-file) ("original" . "a\nb\n")
                                       ("modified" . "a\nB\n") ("description" . "Why")))))
    (dolist (key '("version" "tool" "directory" "root" "agent" "file"))
      (remhash key arguments))
    (concat (json-serialize
             (aqd-server-table `(("arguments" . ,arguments)
                                 ,@changes
                                 ("version" . 1) ("tool" . "propose_file_edit")
                                 ("directory" . ,(file-name-directory aqd-file))
                                 ("agent" . "a test"))))
            "\n")))

(defun aqd-server-ask (text)
  "Connect, send TEXT, bytes, and return the connection."
  (let ((client (aqd-server-connect)))
    (process-send-string client (encode-coding-string text 'utf-8-unix))
    client))

(defun aqd-server-heard (client)
  "Return the lines that CLIENT has read so far, parsed."
  (mapcar (lambda (line)
            (json-parse-string (decode-coding-string line 'utf-8-unix)
                               :object-type 'plist :false-object nil))
          (butlast (split-string (string-join (reverse (process-get client 'said)))
                                 "\n"))))

(defun aqd-server-answer-to (client)
  "Wait for the answer to CLIENT and the end of the connection; return the answer.
It is a list (ERROR TEXT)."
  (aqd-server-until (not (process-live-p client)))
  (let ((last (car (last (aqd-server-heard client)))))
    (list (plist-get last :error) (plist-get last :answer))))

(defun aqd-server-progress-of (client)
  "Return the progress that CLIENT has read, a list of (DECIDED . TOTAL)."
  (delq nil (mapcar (lambda (said)
                      (when-let ((progress (plist-get said :progress)))
                        (cons (plist-get progress :decided)
                              (plist-get progress :total))))
                    (aqd-server-heard client))))

(defun aqd-server-only-review ()
  "Wait until a review is open, and return it."
  (aqd-server-until (car (agent-q-diff-open-reviews))))

;;;; The socket

(ert-deftest aqd-server-is-private ()
  (aqd-server-with
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
          (should-error (agent-q-diff-server-open) :type 'user-error)
          ;; A private directory behind a link is not trusted either.
          (with-file-modes #o700
            (make-directory (expand-file-name "private" folder)))
          (make-symbolic-link "private" (expand-file-name "link" folder))
          (let ((agent-q-diff-server-socket (expand-file-name "link/socket" folder)))
            (should-error (agent-q-diff-server-open) :type 'user-error))
          (should-not agent-q-diff-server--process)
          (should-not (memq #'agent-q-diff-serve-stop kill-emacs-hook)))
      (delete-directory folder t))))

(ert-deftest aqd-server-refuses-a-directory-of-somebody-else ()
  (cl-letf (((symbol-function 'user-uid) (lambda () 12345)))
    (let ((agent-q-diff-server-socket
           (expand-file-name "socket" (make-temp-file "aqd-server" t))))
      (should-error (agent-q-diff-server-open) :type 'user-error)
      (delete-directory (file-name-directory agent-q-diff-server-socket)))))

(ert-deftest aqd-server-replaces-a-stale-socket-only ()
  (let* ((folder (make-temp-file "aqd-server" t))
         (agent-q-diff-server-socket (expand-file-name "socket" folder))
         (other (agent-q-diff-server--listen agent-q-diff-server-socket)))
    (unwind-protect
        (progn
          (should-error (agent-q-diff-server-open) :type 'agent-q-diff-served)
          (delete-process other)
          ;; Leave the socket behind, as a killed Emacs does.
          (should (file-exists-p agent-q-diff-server-socket))
          (agent-q-diff-serve)
          (should (process-live-p agent-q-diff-server--process))
          (agent-q-diff-serve-stop)
          (should-not (file-exists-p agent-q-diff-server-socket))
          (write-region "mine" nil agent-q-diff-server-socket nil 'silent)
          (should-error (agent-q-diff-server-open) :type 'user-error)
          (should (file-exists-p agent-q-diff-server-socket)))
      (delete-directory folder t))))

(defun aqd-server-init-file (&rest forms)
  "Return what an Emacs says that loads README's line for serving, after FORMS.
A further line says \"the rest\"."
  (let ((init (make-temp-file "aqd-init" nil ".el")))
    (unwind-protect
        (with-temp-buffer
          (write-region (mapconcat #'prin1-to-string
                                   `((require 'agent-q-diff-server)
                                     (setq agent-q-diff-server-socket
                                           ,agent-q-diff-server-socket)
                                     ,@forms
                                     (message "It is %S" (agent-q-diff-serve))
                                     (message "the rest"))
                                   "\n")
                        nil init nil 'silent)
          (call-process (expand-file-name invocation-name invocation-directory)
                        nil t nil "-Q" "--batch" "-L" aqd-lisp-directory "-l" init)
          (buffer-string))
      (delete-file init))))

(ert-deftest aqd-server-a-second-emacs-says-that-another-one-serves ()
  (aqd-server-with
    (should (equal (aqd-server-init-file)
                   (format "Another Emacs serves MCP clients, at %s.  To have their reviews here, \
call agent-q-diff-serve-stop there, and then M-x agent-q-diff-serve here
It is nil
the rest
" socket)))
    ;; By key, that is an error like any other.
    (should (string-match-p "\\`It failed: Another Emacs serves MCP clients"
                            (aqd-server-init-file
                             '(condition-case err
                                  (call-interactively #'agent-q-diff-serve)
                                (user-error (message "It failed: %s" (cadr err)))))))
    (should (equal (process-get agent-q-diff-server--process 'socket) socket))))

(ert-deftest aqd-server-an-init-file-goes-on-if-nothing-can-be-served ()
  (let* ((folder (make-temp-file "aqd-server" t))
         (agent-q-diff-server-socket (expand-file-name "socket" folder)))
    (unwind-protect
        (pcase-dolist (`(,why . ,forms)
                       '(("has no Unix sockets"
                          (fset 'featurep (lambda (feature &rest _)
                                            (memq feature
                                                  (remq 'make-network-process features)))))
                         ("built without JSON; use another one"
                          (fmakunbound 'json-parse-string))
                         ("must be a directory of yours with mode 0700; it is drwxr-xr-x"
                          (set-file-modes (file-name-directory agent-q-diff-server-socket)
                                          #o755))
                         ("is there, and is no socket; remove it"
                          (set-file-modes (file-name-directory agent-q-diff-server-socket)
                                          #o700)
                          (write-region "mine" nil agent-q-diff-server-socket nil 'silent))
                         ("Creating directory\\|Not a directory\\|File exists"
                          (setq agent-q-diff-server-socket
                                (concat agent-q-diff-server-socket "/below/socket")))
                         ("[Ss]ervice name too long"
                          (setq agent-q-diff-server-socket
                                (concat (make-temp-file "aqd-init" t) "/"
                                        (make-string 200 ?x))))))
          (should (string-match-p
                   (concat "Warning (agent-q-diff): MCP clients cannot request reviews in this "
                           "Emacs: [^z-a]*\\(?:" why "\\)[^z-a]*It is nil\nthe rest\n")
                   (apply #'aqd-server-init-file forms))))
      (delete-directory folder t))))

(ert-deftest aqd-server-serves-before-the-engine-is-built ()
  (let* ((folder (make-temp-file "aqd-server" t))
         (agent-q-diff-server-socket (expand-file-name "run/socket" folder))
         (aqd-lisp-directory (expand-file-name "lisp" folder)))
    (unwind-protect
        (progn
          (make-directory aqd-lisp-directory)
          (dolist (file (directory-files (file-name-directory (locate-library "agent-q-diff")) t
                                         "\\`[^.].*\\.el\\'"))
            (copy-file file (file-name-as-directory aqd-lisp-directory)))
          (should (string-suffix-p (format "It is %S\nthe rest\n" agent-q-diff-server-socket)
                                   (aqd-server-init-file))))
      (delete-directory folder t))))

(ert-deftest aqd-server-leaves-the-socket-of-a-successor ()
  (aqd-server-with
    (delete-file socket)
    (let ((other (agent-q-diff-server--listen socket)))
      (agent-q-diff-serve-stop)
      (should (file-exists-p socket))
      (delete-process other)
      (delete-file socket))))

(ert-deftest aqd-server-serves-once ()
  (aqd-server-with
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
    (aqd-server-with
      (let* ((client (aqd-server-ask (aqd-server-request)))
             (review (aqd-server-only-review)))
        (should (equal "a test" (agent-q-diff-session-agent review)))
        (aqd-server-until (equal '((0 . 1)) (aqd-server-progress-of client)))
        (agent-q-diff-accept review 0)
        (aqd-server-until (equal '((0 . 1) (1 . 1)) (aqd-server-progress-of client)))
        (agent-q-diff-end review)
        (pcase-let ((`(,error ,text) (aqd-server-answer-to client)))
          (should-not error)
          (should (string-prefix-p "✓ Accepted" text)))
        (should (equal "a\nB\n" (aqd-disk)))))))

(ert-deftest aqd-server-a-refusal-is-no-error ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((client (aqd-server-ask (aqd-server-request)))
            (review (aqd-server-only-review)))
        (agent-q-diff-reject review 0)
        (agent-q-diff-end review)
        (pcase-let ((`(,error ,text) (aqd-server-answer-to client)))
          (should-not error)
          (should (string-prefix-p "✗ Rejected" text)))))))

(ert-deftest aqd-server-no-decision-is-an-error ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((client (aqd-server-ask (aqd-server-request)))
            (review (aqd-server-only-review)))
        (agent-q-diff-accept review 0)
        (kill-buffer (agent-q-diff-session-buffer review))
        (pcase-let ((`(,error ,text) (aqd-server-answer-to client)))
          (should error)
          (should-not (string-match-p "[Rr]ejected\\|REJECTED" text))
          (should (string-search "its buffer was killed" text))
          (should (string-search "The change is in the file." text)))))))

(ert-deftest aqd-server-relative-paths-begin-at-the-callers-directory ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((default-directory "/"))
        (aqd-server-ask (aqd-server-request '("path" . "target.txt")))
        (should (equal aqd-file (agent-q-diff-session-path (aqd-server-only-review))))))))

(defun aqd-server-place (&rest changes)
  "Request a review with CHANGES to the test's request; cancel it.
Return the file's name, and whether the user is warned that it is outside
the project."
  (aqd-server-ask (apply #'aqd-server-request changes))
  (let ((review (aqd-server-only-review)))
    (prog1 (list (agent-q-diff-session-path review)
                 (with-current-buffer (agent-q-diff-session-buffer review)
                   (and (string-search "OUTSIDE the project" (buffer-string)) t)))
      (agent-q-diff-cancel review))))

(ert-deftest aqd-server-a-root-that-is-not-the-directory ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let* ((root (file-name-directory aqd-file))
             (below (file-name-as-directory (expand-file-name "below" root))))
        (make-directory below)
        (dolist (path (list aqd-file "../target.txt"))
          (should (equal (aqd-server-place (cons "path" path) (cons "directory" below)
                                           (cons "root" root))
                         (list aqd-file nil)))
          (should (equal (aqd-server-place (cons "path" path) (cons "directory" below))
                         (list aqd-file t))))
        (should (equal (aqd-server-place '("path" . "new") '("original" . "")
                                         (cons "directory" below) (cons "root" root))
                       (list (concat below "new") nil)))
        ;; The user's own root counts first.
        (let ((agent-q-diff-project-root root))
          (should (equal (aqd-server-place '("path" . "target.txt") (cons "directory" below)
                                           (cons "root" below))
                         (list aqd-file nil))))))))

(ert-deftest aqd-server-names-of-several-files-begin-at-the-directory ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let* ((root (file-name-directory aqd-file))
             (below (file-name-as-directory (expand-file-name "below" root))))
        (make-directory below)
        (aqd-server-ask
         (concat
          (json-serialize
           `((version . 1) (tool . "propose_changes") (directory . ,below) (root . ,root)
             (arguments . ((description . "Why")
                           (changes . [((path . "new") (content . "x\n"))
                                       ((path . "../target.txt")
                                        (rename_to . "moved.txt"))])))))
          "\n"))
        (with-current-buffer (agent-q-diff-session-buffer (aqd-server-only-review))
          (dolist (line '("new file   below/new\n" "target.txt → below/moved.txt\n"))
            (should (string-search line (buffer-string)))))))))

(ert-deftest aqd-server-a-root-must-be-a-local-directory ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (dolist (root (list "/ssh:nobody@nowhere:/" "here" aqd-file 4))
        (aqd-server-should-refuse (aqd-server-request (cons "root" root)) "local"))
      ;; Names that only look relative are refused as without a root.
      (dolist (path '("~/x" "c:x" ""))
        (dolist (root '(nil (("root" . "/"))))
          (aqd-server-should-refuse
           (apply #'aqd-server-request '("tool" . "edit_file") (cons "path" path)
                  '("old_str" . "a") '("new_str" . "b") root)
           "\\`Error: "))))))

(ert-deftest aqd-server-several-clients-answered-out-of-order ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((clients (mapcar (lambda (n)
                               (aqd-server-ask (aqd-server-request
                                                `("modified" . ,(format "a\n%d\n" n)))))
                             (number-sequence 0 11))))
        (aqd-server-until (= 12 (length (agent-q-diff-open-reviews))))
        (dolist (n '(7 0 11))
          (let* ((proposed (format "a\n%d\n" n))
                 (review (seq-find
                          (lambda (review)
                            (equal proposed
                                   (buffer-local-value
                                    'agent-q-diff-buffer-modified
                                    (agent-q-diff-session-buffer review))))
                          (agent-q-diff-open-reviews))))
            (agent-q-diff-reject review 0)
            (agent-q-diff-end review)
            (should-not (car (aqd-server-answer-to (nth n clients))))))
        (should (= 9 (length (agent-q-diff-open-reviews))))
        (should (= 9 (seq-count #'process-live-p clients)))
        (agent-q-diff-serve-stop)
        (dolist (n '(1 2 3 4 5 6 8 9 10))
          (should (car (aqd-server-answer-to (nth n clients)))))))))

(ert-deftest aqd-server-closed-connection-cancels ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let* ((client (aqd-server-ask (aqd-server-request)))
             (review (aqd-server-only-review)))
        (delete-process client)
        (aqd-server-until (agent-q-diff-session-outcome review))
        (should (eq 'cancelled (agent-q-diff-session-outcome review)))
        (aqd-server-until (null agent-q-diff-server--clients))))))

(defun aqd-server-connect-many (n text)
  "Return N new clients, each of which has sent the value of TEXT for its number.
TEXT returns nil if nothing is to be sent."
  (mapcar (lambda (number)
            (let ((n-before (length agent-q-diff-server--clients))
                  (client (aqd-server-connect)))
              ;; Connecting waits while too many wait.
              (aqd-server-until (< n-before (length agent-q-diff-server--clients)))
              (when-let ((request (funcall text number)))
                (process-send-string client request))
              client))
          (number-sequence 1 n)))

(ert-deftest aqd-server-connections-that-close-together-are-withdrawn-one-by-one ()
  "Emacs may run other sentinels and timers while it withdraws one call.
Of 300, some have reviews, some wait in the queue, some have asked for nothing."
  :tags '(slow)
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let* ((depth 0)
             (deepest 0)
             (n-answers 0)
             (answered (make-hash-table))
             (count (lambda (function &rest arguments)
                      (cl-incf depth)
                      (setq deepest (max depth deepest))
                      (unwind-protect
                          (progn
                            (accept-process-output nil 0.001)
                            (apply function arguments))
                        (cl-decf depth))))
             (note (lambda (client &rest _)
                     (cl-incf n-answers)
                     (cl-incf (gethash client answered 0))))
             ;; As while the user is asked about another call.
             (agent-q-diff-tools--is-busy t)
             (clients (append
                       (aqd-server-connect-many 130 #'ignore)
                       (aqd-server-connect-many
                        130 (lambda (_)
                              (aqd-server-request '("tool" . "edit_file")
                                                  '("old_str" . "a") '("new_str" . "A"))))
                       (aqd-server-connect-many
                        40 (lambda (n)
                             (aqd-server-request `("modified" . ,(format "a\n%d\n" n)))))))
             (reviews (aqd-server-until
                       (let ((open (agent-q-diff-open-reviews)))
                         (and (= 40 (length open))
                              (= 130 (length agent-q-diff-tools--queue))
                              (= 300 (length agent-q-diff-server--clients))
                              open)))))
        (unwind-protect
            (progn
              (advice-add 'agent-q-diff-tools-withdraw :around count)
              (advice-add 'agent-q-diff-server--answer :before note)
              (mapc #'delete-process clients)
              (aqd-server-until (and (null agent-q-diff-server--clients)
                                     (null agent-q-diff-tools--gone))))
          (advice-remove 'agent-q-diff-tools-withdraw count)
          (advice-remove 'agent-q-diff-server--answer note))
        (should (= 1 deepest))
        (should-not agent-q-diff-tools--queue)
        (dolist (review reviews)
          (should (eq 'cancelled (agent-q-diff-session-outcome review))))
        ;; The callback of each call, and none twice.
        (should (= 170 n-answers (hash-table-count answered)))
        (should (equal "a\nb\n" (aqd-disk)))
        ;; The next one is served as before.
        (aqd-server-ask (aqd-server-request))
        (agent-q-diff-cancel (aqd-server-only-review))))))

(ert-deftest aqd-server-closed-connection-is-said ()
  "A client has given up; accepted hunks stay, and the review can be reopened."
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((client (aqd-server-ask (aqd-server-request '("agent" . "Claude Code")))))
        (aqd-server-until (agent-q-diff-open-reviews))
        (agent-q-diff-accept (car (agent-q-diff-open-reviews)) 0)
        (should (equal (concat "Claude Code withdrew its proposal for target.txt; "
                               "1 hunk stays in the file" aqd-look-again)
                       (aqd-said
                         (delete-process client)
                         (aqd-server-until (not (agent-q-diff-open-reviews))))))
        (should (equal "a\nB\n" (aqd-disk)))))))

(ert-deftest aqd-server-stopped-by-the-user-blames-no-agent ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((client (aqd-server-ask (aqd-server-request))))
        (aqd-server-until (agent-q-diff-open-reviews))
        (should (equal (concat "Nobody is waiting any more for the review of target.txt, "
                               "so it is cancelled" aqd-look-again)
                       (aqd-said (agent-q-diff-serve-stop))))
        (should (equal (aqd-server-answer-to client)
                       '(t "Error: there is no decision: Emacs has stopped serving")))))))

(ert-deftest aqd-server-stopped-with-a-hunk-in-the-file-says-so ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((client (aqd-server-ask (aqd-server-request))))
        (agent-q-diff-accept (aqd-server-only-review) 0)
        (agent-q-diff-serve-stop)
        (should (equal (aqd-server-answer-to client)
                       '(t "Error: there is no decision: Emacs has stopped serving

The change is in the file.")))))))

(ert-deftest aqd-server-emacs-ends ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((client (aqd-server-ask (aqd-server-request))))
        (aqd-server-only-review)
        (run-hooks 'kill-emacs-hook)
        (pcase-let ((`(,error ,text) (aqd-server-answer-to client)))
          (should error)
          (should (string-search "Emacs exited" text)))
        (should-not (file-exists-p socket))))))

(ert-deftest aqd-server-who-asks-is-shown-as-a-name ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (aqd-server-ask (aqd-server-request
                       `("agent" . ,(concat "Claude\n\u202e" (make-string 99 ?x)))))
      (should (equal (concat "Claude??" (make-string 32 ?x))
                     (agent-q-diff-session-agent (aqd-server-only-review)))))))

(ert-deftest aqd-server-a-long-answer-arrives-whole ()
  (aqd-server-with
    (pcase-let ((text (make-string (* 5 1024 1024) ?ß))
                (`(,client ,peer) (aqd-server-connect-both)))
      (agent-q-diff-server--answer peer text nil)
      (should (equal (list nil text) (aqd-server-answer-to client))))))

;;;; Clients that do not read

(defmacro aqd-server-at-once (&rest body)
  "Run BODY, which must not wait for a client that has stopped reading."
  (declare (indent 0) (debug t))
  ;; This is only to fail, here and in what follows, instead of waiting without end.
  `(with-timeout (aqd-server-limit-seconds
                  (mapc #'delete-process (copy-sequence agent-q-diff-server--clients))
                  (ert-fail "Emacs waits for a client"))
     ,@body))

(ert-deftest aqd-server-an-answer-of-any-size-waits-for-no-client ()
  (aqd-server-with
    (dolist (size '(0 1000 6144 32768 212992 5000000))
      (ert-info ((format "%d bytes" size))
        (pcase-let ((text (make-string size ?x))
                    (`(,client ,peer) (aqd-server-connect-both)))
          (stop-process client)
          (aqd-server-at-once (agent-q-diff-server--answer peer text nil))
          (should-not (process-get client 'said))
          (continue-process client)
          (should (equal (list nil text) (aqd-server-answer-to client)))
          (should-not (process-live-p peer)))))))

(ert-deftest aqd-server-two-clients-that-do-not-read-get-their-own-answers ()
  (aqd-server-with
    (let* ((texts (mapcar (lambda (char) (make-string 1000000 char)) '(?x ?y ?ß)))
           (both (mapcar (lambda (_) (aqd-server-connect-both)) texts)))
      (mapc #'stop-process (mapcar #'car both))
      (cl-mapc (lambda (both text)
                 (aqd-server-at-once
                   (agent-q-diff-server--answer (cadr both) text nil)))
               both texts)
      (mapc #'continue-process (mapcar #'car both))
      (cl-mapc (lambda (both text)
                 (should (equal (list nil text) (aqd-server-answer-to (car both)))))
               both texts))))

(ert-deftest aqd-server-progress-of-any-length-waits-for-no-client ()
  "A client that does not read gets the latest progress, and the answer."
  (aqd-server-with
    (pcase-let ((`(,client ,peer) (aqd-server-connect-both)))
      (stop-process client)
      (aqd-server-at-once
        (dotimes (n 20000)
          (agent-q-diff-server--send-progress peer 20000 0 0 (- 20000 n))))
      (should-not (process-get client 'said))
      (continue-process client)
      (aqd-server-until (equal '(19999 . 20000) (car (last (aqd-server-progress-of client)))))
      (should (length< (aqd-server-progress-of client) 1000))
      (stop-process client)
      (aqd-server-at-once
        (dotimes (n 20000)
          (agent-q-diff-server--send-progress peer 30000 0 0 n))
        (agent-q-diff-server--answer peer (make-string 300000 ?x) nil))
      (continue-process client)
      (should (equal (list nil (make-string 300000 ?x)) (aqd-server-answer-to client)))
      ;; The answer has taken the place of the latest progress.
      (should-not (member '(10001 . 30000) (aqd-server-progress-of client))))))

(ert-deftest aqd-server-stopping-lets-clients-read-on-but-waits-for-none ()
  (aqd-server-with
    (pcase-let ((text (make-string 1000000 ?x))
                (`(,reading ,reading-peer) (aqd-server-connect-both))
                (`(,stopped ,stopped-peer) (aqd-server-connect-both)))
      (stop-process stopped)
      (agent-q-diff-server--answer reading-peer text nil)
      (agent-q-diff-server--answer stopped-peer text nil)
      (let ((agent-q-diff-server--last-seconds 5))
        (aqd-server-at-once (agent-q-diff-serve-stop)))
      (should (equal (list nil text) (aqd-server-answer-to reading)))
      (should-not (process-get stopped 'said))
      (should-not (process-live-p stopped-peer)))))

(ert-deftest aqd-server-a-client-that-never-reads-is-dropped-and-the-user-told ()
  (aqd-with-file "a\nb\n"
    (let ((agent-q-diff-server--tick-seconds 0.1)
          (agent-q-diff-server--patience 2))
      (aqd-server-with
        (let* ((client (aqd-server-ask (aqd-server-request)))
               (review (aqd-server-only-review))
               (said nil))
          (aqd-server-until (aqd-server-heard client))
          (stop-process client)
          (agent-q-diff-reject review 0)
          (push (cons nil (make-string 300000 ?x))
                (agent-q-diff-change-comments (agent-q-diff-session-change review)))
          (cl-letf (((symbol-function 'agent-q-diff-base-warn)
                     (lambda (text &optional _level) (push text said))))
            (aqd-server-at-once (agent-q-diff-end review))
            (should agent-q-diff-server--clients)
            (aqd-server-until (null agent-q-diff-server--clients)))
          (should (equal (list (concat "a test did not read the answer to its call, so it does "
                                       "not know this: target.txt: 0 of 1 hunk accepted, "
                                       "1 rejected"))
                         said))
          ;; The next one is served as before.
          (aqd-server-ask (aqd-server-request))
          (agent-q-diff-cancel (aqd-server-only-review)))))))

(ert-deftest aqd-server-an-unread-answer-is-told-unless-the-agent-knows-it ()
  (pcase-dolist (`(,tool ,text ,is-told)
                 '(("check_edit" "✓ Accepted: the change is in a, which is saved." nil)
                   ("check_edit" "✓ Accepted: all 2 hunks are in a.\n\nThe user says: well" t)
                   ("check_edit" "✓ Accepted in part: 1 of 2 hunks is in a." t)
                   ("check_edit" "ALARM: a is not what the user decided" t)
                   ("decide_edit" "✓ Accepted: the change is in a, which is saved." t)))
    (let ((client (make-pipe-process :name "client" :noquery t))
          (request (make-hash-table :test #'equal))
          (said nil))
      (puthash "tool" tool request)
      (process-put client 'request request)
      (process-put client 'text text)
      (process-put client 'is-answered t)
      (delete-process client)
      (cl-letf (((symbol-function 'agent-q-diff-base-warn)
                 (lambda (text &rest _) (push text said))))
        (agent-q-diff-server--sentinel client "closed"))
      (ert-info (text)
        (should (eq is-told (and said t)))))))

(ert-deftest aqd-server-twenty-megabytes ()
  :tags '(slow)
  (let* ((line "0123456789 (defun naïve () \"\\\\x\")\n")
         (original (apply #'concat (make-list (/ (* 20 1024 1024) (string-bytes line))
                                              line)))
         (modified (concat original "one more\n")))
    (aqd-with-file original
      (aqd-server-with
        (let ((client (aqd-server-ask (aqd-server-request `("original" . ,original)
                                                          `("modified" . ,modified))))
              (review (aqd-server-only-review)))
          (agent-q-diff-accept review 0)
          (agent-q-diff-end review)
          (should-not (car (aqd-server-answer-to client)))
          (should (equal (encode-coding-string modified 'utf-8-unix) (aqd-disk))))))))

;;;; What is no request

(ert-deftest aqd-server-a-character-cut-between-packets ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((client (aqd-server-connect))
            (bytes (encode-coding-string (aqd-server-request '("modified" . "a\n«ß😀»\n"))
                                         'utf-8-unix)))
        ;; Each byte is read separately, since the one before has been read.
        (seq-do-indexed
         (lambda (byte n)
           (process-send-string client (unibyte-string byte))
           (unless (= ?\n byte)
             (aqd-server-until (equal (1+ n) (when-let ((peer (car agent-q-diff-server--clients)))
                                               (process-get peer 'size))))))
         bytes)
        (should (equal "a\n«ß😀»\n"
                       (buffer-local-value 'agent-q-diff-buffer-modified
                                           (agent-q-diff-session-buffer
                                            (aqd-server-only-review)))))))))

(ert-deftest aqd-server-half-a-line-asks-for-nothing ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((client (aqd-server-ask (string-trim-right (aqd-server-request)))))
        (aqd-server-until (when-let ((peer (car agent-q-diff-server--clients)))
                            (process-get peer 'size)))
        (should-not (agent-q-diff-open-reviews))
        (delete-process client)
        (aqd-server-until (null agent-q-diff-server--clients))))))

(ert-deftest aqd-server-what-follows-the-line-is-ignored ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (aqd-server-ask (concat (aqd-server-request) (aqd-server-request) "garbage"))
      (aqd-server-only-review)
      (aqd-server-ask (aqd-server-request '("modified" . "c\n")))
      (aqd-server-until (< 1 (length (agent-q-diff-open-reviews))))
      (should (= 2 (length (agent-q-diff-open-reviews)))))))

(defun aqd-server-should-refuse (text regexp)
  "Check that the server answers TEXT with an error that matches REGEXP."
  (pcase-let ((`(,error ,answer) (aqd-server-answer-to (aqd-server-ask text))))
    (should error)
    (should (string-match-p regexp answer))))

(ert-deftest aqd-server-garbage ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (dolist (text '("\n" "GET / HTTP/1.1\r\n" "[1]\n" "nil\n" "{}\n" "{\"version\": 1}\n"
                      "{\"version\": 1, \"directory\": \"/\", \"arguments\": []}\n"
                      "{\"version\": 1, \"directory\": \"/\", \"arguments\": {}}\n"))
        (aqd-server-should-refuse text "\\`Error: "))
      (let ((client (aqd-server-connect)))
        (process-send-string client "{\"a\": \"\xff\"}\n")
        (should (car (aqd-server-answer-to client))))
      (aqd-server-should-refuse (concat (make-string 100000 ?\[) "\n") "JSON")
      (aqd-server-should-refuse (aqd-server-request '("version" . 4)) "versions")
      (aqd-server-should-refuse (aqd-server-request '("directory" . "/ssh:nobody@nowhere:/"))
                                "local")
      (aqd-server-should-refuse (aqd-server-request '("directory" . "here")) "local")
      (aqd-server-should-refuse (aqd-server-request '("modified" . 1))
                                "'modified' must be a string")
      (aqd-server-should-refuse (aqd-server-request '("path" . "/ssh:nobody@nowhere:/x")) "remote")
      (aqd-server-should-refuse (aqd-server-request '("path" . "/")) "directory")
      (aqd-server-should-refuse (aqd-server-request '("modified" . "a\nb\n")) "no decision"))))

(defun aqd-server-line (directory tool arguments &rest more)
  "Return a request by TOOL with ARGUMENTS, an alist, from DIRECTORY.
MORE is an alist of further members."
  (concat (json-serialize `((version . 1) (tool . ,tool) (directory . ,directory)
                            ,@more (arguments . ,arguments)))
          "\n"))

(defun aqd-server-naming-requests (directory name)
  "Return requests of all kinds from DIRECTORY that have the file NAME somewhere."
  (let ((edit `((path . ,name) (call . "c") (tool . "Edit") (encoding . "utf-8")
                (original . "a\n") (modified . "b\n") (text . "b\n") (session . "s")))
        (patch '((call . "c") (tool . "apply_patch") (session . "s")))
        (diff (format "--- %s\n+++ %s\n@@ -1 +1 @@\n-a\n+b\n" name name))
        (envelope (format "*** Begin Patch\n*** Update File: %s\n@@\n-a\n+b\n*** End Patch\n"
                          name)))
    (append
     (mapcar (lambda (tool) (aqd-server-line directory tool edit))
             '("decide_edit" "write_decided" "not_run" "check_edit" "propose_file_edit"))
     (mapcan (lambda (diff)
               (list (aqd-server-line directory "decide_patch" `((diff . ,diff) ,@patch))
                     (aqd-server-line directory "propose_patch"
                                      `((diff . ,diff) (description . "d")))))
             (list diff envelope
                   (format "diff --git a/x b/y\nrename from x\nrename to %s\n" name)))
     (mapcar (lambda (file)
               (aqd-server-line directory "decide_patch"
                                `((diff . "") (files . [,file]) ,@patch)))
             `(((path . ,name) (original . "a\n") (modified . "b\n") (encoding . "utf-8"))
               ((path . "target.txt") (to . ,name) (original . "a\n") (modified . "b\n")
                (encoding . "utf-8"))))
     (mapcar (lambda (file)
               (aqd-server-line directory "propose_changes"
                                `((description . "d") (changes . [,file]))))
             `(((path . ,name) (content . "x\n"))
               ((path . "target.txt") (rename_to . ,name))))
     (list (aqd-server-line directory "shell_writes"
                            `((call . "c") (session . "s") (command . "x > y")
                              (names . [,name]) (files . [,name])))
           (aqd-server-line directory "take_turn"
                            `((call . "c") (session . "s") (files . [((path . ,name))])))
           (aqd-server-line directory "edit_file"
                            `((path . ,name) (old_str . "a") (new_str . "b")))
           (aqd-server-line name "ping" '((x . "")))
           (aqd-server-line directory "ping" '((x . "")) `(root . ,name))))))

(defmacro aqd-server-trapping (&rest body)
  "Run BODY; return the calls of a handler of names with a method and a host."
  (declare (indent 0) (debug t))
  `(let* ((calls nil)
          (file-name-handler-alist
           (cons (cons "\\`/[a-z]+:"
                       (lambda (operation &rest arguments)
                         (push (cons operation arguments) calls)
                         (let ((file-name-handler-alist nil))
                           (apply operation arguments))))
                 file-name-handler-alist)))
     ,@body
     calls))

(ert-deftest aqd-server-no-request-reaches-a-handler-of-remote-names ()
  (aqd-with-file "a\n"
    (aqd-server-with
      (let ((directory (file-name-directory aqd-file)))
        (dolist (name (list "/ssh:host:/a.org" "/ssh:host:a.org" "/sudo::/etc/passwd"
                            "/mock:h:~/x" "/ssh:a|sudo:b:/x"
                            (concat (apply #'concat (make-list 20 "../")) "ssh:host:/x")
                            "/x/../ssh:host:/x"))
          (dolist (request (aqd-server-naming-requests directory name))
            (ert-info (request)
              (should-not
               (aqd-server-trapping
                 (pcase-let ((`(,error ,text) (aqd-server-answer-to (aqd-server-ask request))))
                   (should (string-prefix-p "Error: " text))
                   ;; A patch that does not apply is answered as a denial.
                   (unless (string-search "decide_patch" request)
                     (should error)))))
              (should-not (agent-q-diff-open-reviews)))))
        (should (equal "a\n" (aqd-disk)))))))

(ert-deftest aqd-server-no-request-reaches-a-handler-below-the-top-directory ()
  "Below / a relative name can look remote."
  (aqd-server-with
    (dolist (request (aqd-server-naming-requests "/" "ssh:host:/x"))
      (unless (string-search "\"ping\"" request)
        (ert-info (request)
          (should-not
           (aqd-server-trapping
             (should (stringp (cadr (aqd-server-answer-to (aqd-server-ask request)))))))
          (should-not (agent-q-diff-open-reviews)))))))

(ert-deftest aqd-server-misleading-names-are-refused-by-every-request ()
  (aqd-with-file "a\n"
    (aqd-server-with
      (let ((directory (file-name-directory aqd-file)))
        (dolist (name '("x\ny" "x\ty" "x\u202ey" "x\\y"))
          (dolist (tool '("decide_edit" "write_decided" "not_run" "check_edit"
                          "propose_file_edit" "edit_file"))
            (ert-info ((format "%s %S" tool name))
              (aqd-server-should-refuse
               (aqd-server-line directory tool
                                (if (equal tool "edit_file")
                                    `((path . ,name) (old_str . "a") (new_str . "b"))
                                  `((path . ,name) (call . "c") (tool . "Edit")
                                    (encoding . "utf-8")
                                    (original . "a\n") (modified . "b\n"))))
               "contains a")))
          (dolist (where (list (aqd-server-line (concat directory name) "ping" '((x . "")))
                               (aqd-server-line directory "ping" '((x . ""))
                                                `(root . ,(concat directory name)))))
            (aqd-server-should-refuse where "local")))
        (aqd-server-should-refuse (aqd-server-line directory "check_edit" '((call . "c")))
                                  "string")))))

(ert-deftest aqd-server-too-much ()
  (aqd-server-with
    (let ((agent-q-diff-server--limit 10000))
      (aqd-server-should-refuse (make-string 20000 ?x) "more than 10000 bytes"))))

(ert-deftest aqd-server-nul-is-read-or-the-agent-reads-that-it-is-not ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((client (aqd-server-ask (string-replace
                                     "NUL" "\\u0000"
                                     (aqd-server-request '("modified" . "a\nNUL\n"))))))
        (aqd-server-until (or (agent-q-diff-open-reviews) (not (process-live-p client))))
        (if-let ((review (car (agent-q-diff-open-reviews))))
            (agent-q-diff-cancel review)
          (should (string-search "it has the character U+0000, which this Emacs cannot read"
                                 (cadr (aqd-server-answer-to client)))))))))

(defun aqd-server-request-with-texts (texts &rest changes)
  "Return a request, bytes, followed by TEXTS, pairs of key and bytes.
CHANGES are as for `aqd-server-request'; an argument that is nil is left out."
  (let ((request (json-parse-string (apply #'aqd-server-request '("version" . 2) changes))))
    (puthash "texts"
             (vconcat (mapcar (lambda (text) (vector (car text) (length (cdr text)))) texts))
             request)
    (dolist (text texts)
      (remhash (car text) (gethash "arguments" request)))
    (concat (encode-coding-string (concat (json-serialize request) "\n") 'utf-8-unix)
            (mapconcat #'cdr texts ""))))

(ert-deftest aqd-server-texts-that-follow-the-line ()
  ;; In pieces of any size, with any content.
  (let* ((original "a\n\"ä\"\\n\u2028\nb\n")
         (modified (string-replace "b" "B\n日" original))
         (bytes (lambda (text) (encode-coding-string text 'utf-8-unix)))
         (request (lambda ()
                    (aqd-server-request-with-texts
                     (list (cons "modified" (funcall bytes modified))
                           (cons "original" (funcall bytes original)))))))
    (dolist (piece '(1 7 100000))
      (aqd-with-file original
        (aqd-server-with
          (let ((client (aqd-server-connect))
                (rest (funcall request)))
            (while (not (string-empty-p rest))
              (process-send-string client (substring rest 0 (min piece (length rest))))
              (accept-process-output nil 0.001)
              (setq rest (substring rest (min piece (length rest)))))
            (aqd-server-until (agent-q-diff-open-reviews))
            (with-current-buffer (agent-q-diff-session-buffer
                                  (car (agent-q-diff-open-reviews)))
              (agent-q-diff-accept-all))
            (should-not (car (aqd-server-answer-to client)))
            (should (equal modified (with-temp-buffer
                                      (insert-file-contents aqd-file)
                                      (buffer-string))))))))))

(ert-deftest aqd-server-texts-that-cannot-be ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (pcase-dolist (`(,texts ,regexp)
                     '(("x" "pairs") (5 "pairs") ([5] "pairs") ([["modified" -1]] "pairs")
                       ([["modified" "x"]] "pairs") ([["modified"]] "pairs")
                       ([["modified" 1e9]] "pairs") ([["modified" 1000000000]] "more than")
                       ([["modified" 300] ["modified" 1000000000]] "more than")))
        (aqd-server-should-refuse (aqd-server-request '("version" . 2) (cons "texts" texts))
                                  regexp))
      (dolist (bytes '("\xff" "\xed\xa0\x80\n" "a\xc3"))
        (let ((client (aqd-server-connect)))
          (process-send-string client (aqd-server-request-with-texts `(("modified" . ,bytes))))
          (pcase-let ((`(,error ,answer) (aqd-server-answer-to client)))
            (should error)
            (should (string-match-p "not UTF-8" answer)))))
      (should-not (agent-q-diff-open-reviews)))))

;;;; Texts in a file

(defun aqd-server-text-file (socket texts &optional number)
  "Write TEXTS, pairs of key and bytes, to a file for SOCKET; return its name.
The name has no directory.  NUMBER makes it unique."
  (let ((name (format "socket-texts-1-%d" (or number 1)))
        (coding-system-for-write 'binary))
    (with-file-modes #o600
      (write-region (mapconcat #'cdr texts "") nil
                    (expand-file-name name (file-name-directory socket)) nil 'silent))
    name))

(defun aqd-server-request-with-file (name texts)
  "Return a request, bytes, whose TEXTS, pairs of key and bytes, the file NAME has."
  (let ((whole (aqd-server-request-with-texts texts '("version" . 3) (cons "file" name))))
    (substring whole 0 (1+ (string-search "\n" whole)))))

(defun aqd-server-modified ()
  "Return the proposed text of the only review."
  (buffer-local-value 'agent-q-diff-buffer-modified
                      (agent-q-diff-session-buffer (aqd-server-only-review))))

(ert-deftest aqd-server-texts-in-a-file ()
  (dolist (original '("a\nb\n" "a\n\"ä\"\\n\u2028\nb\n"))
    (aqd-with-file original
      (aqd-server-with
        (let* ((modified (string-replace "b" "B\n日" original))
               (texts `(("modified" . ,(encode-coding-string modified 'utf-8-unix))
                        ("original" . ,(encode-coding-string original 'utf-8-unix))))
               (client (aqd-server-ask (aqd-server-request-with-file
                                        (aqd-server-text-file socket texts) texts))))
          (should (equal modified (aqd-server-modified)))
          (should (equal '("socket") (directory-files (file-name-directory socket) nil "[^.]")))
          (with-current-buffer (agent-q-diff-session-buffer (aqd-server-only-review))
            (agent-q-diff-accept-all))
          (should-not (car (aqd-server-answer-to client)))
          (should-not (seq-some (lambda (said) (plist-get said :send)) (aqd-server-heard client)))
          (should (equal (cdr (assoc "modified" texts)) (aqd-disk))))))))

(defun aqd-server-should-ask-for-texts (name)
  "Check that the file NAME is not read, but the texts that are then sent."
  (let* ((modified "a\nsent\n")
         (texts `(("modified" . ,modified)))
         (client (aqd-server-ask (aqd-server-request-with-file name texts))))
    (aqd-server-until (aqd-server-heard client))
    (should (equal '((:send "texts")) (aqd-server-heard client)))
    (should-not (agent-q-diff-open-reviews))
    (process-send-string client modified)
    (should (equal modified (aqd-server-modified)))
    (delete-process client)
    (aqd-server-until (not (agent-q-diff-open-reviews)))))

(ert-deftest aqd-server-files-that-cannot-be-read ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let* ((texts '(("modified" . "a\nfile\n")))
             (file (lambda (name) (expand-file-name name (file-name-directory socket))))
             (outside (expand-file-name "../socket-texts-1-1" (file-name-directory socket)))
             (links (list (funcall file "socket-texts-2-1") (funcall file "other-texts-1-1"))))
        (copy-file (funcall file (aqd-server-text-file socket texts)) outside)
        (rename-file (funcall file "socket-texts-1-1") (funcall file "mine"))
        ;; A file that others can read, one of another length, and no file.
        (set-file-modes (funcall file (aqd-server-text-file socket texts 2)) #o644)
        (aqd-server-text-file socket '(("modified" . "a\nlonger\n")) 3)
        (make-symbolic-link "mine" (car links))
        (copy-file (funcall file "mine") (cadr links))
        (make-directory (funcall file "socket-texts-3-1"))
        (call-process "mkfifo" nil nil nil "-m" "600" (funcall file "socket-texts-4-1"))
        (let ((before (directory-files (file-name-directory socket))))
          (dolist (name (list "socket-texts-9-9" "socket-texts-1-2" "socket-texts-1-3"
                              "socket-texts-2-1" "socket-texts-3-1" "socket-texts-4-1"
                              "other-texts-1-1" "mine" "" "../socket-texts-1-1" outside
                              "socket-texts-1-1\n" 5 [] t))
            (aqd-server-should-ask-for-texts name))
          (should (equal before (directory-files (file-name-directory socket))))
          (should (file-exists-p outside)))))))

(ert-deftest aqd-server-a-file-of-what-is-no-text ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (dolist (bytes '("\xff" "\xed\xa0\x80\n" "a\xc3"))
        (let* ((texts `(("modified" . ,bytes)))
               (client (aqd-server-connect)))
          (process-send-string
           client (aqd-server-request-with-file (aqd-server-text-file socket texts) texts))
          (pcase-let ((`(,error ,answer) (aqd-server-answer-to client)))
            (should error)
            (should (string-match-p "not UTF-8" answer)))
          (should (equal '("socket")
                         (directory-files (file-name-directory socket) nil "[^.]")))))
      (should-not (agent-q-diff-open-reviews)))))

(ert-deftest aqd-server-removes-files-that-were-left ()
  "Texts that a killed program left behind are removed; other files stay."
  (aqd-server-with
    (let ((file (lambda (name) (expand-file-name name (file-name-directory socket)))))
      (aqd-server-text-file socket '(("modified" . "a\n")))
      (dolist (name '("other-texts-1-1" "socket-texts" "mine"))
        (write-region "" nil (funcall file name) nil 'silent))
      (agent-q-diff-serve-stop)
      (agent-q-diff-serve)
      (should (equal '("mine" "other-texts-1-1" "socket" "socket-texts")
                     (directory-files (file-name-directory socket) nil "[^.]"))))))

;;;; How much is read at once

(ert-deftest aqd-server-reads-in-large-parts-only-meanwhile ()
  (aqd-with-file "a\nb\n"
    (let ((before read-process-output-max))
      (aqd-server-with
        (let ((one (aqd-server-ask "{"))
              (other (aqd-server-ask (aqd-server-request))))
          (aqd-server-until (agent-q-diff-open-reviews))
          (should (<= before read-process-output-max))
          (delete-process one)
          (delete-process other)
          (aqd-server-until (null agent-q-diff-server--clients))
          (should (= before read-process-output-max)))))))

(ert-deftest aqd-server-answers-what-unicode-has-not ()
  (should (equal "a\\200\ufffdz"
                 (agent-q-diff-base-clean (string ?a #x3fff80 #xd800 ?z)))))

;;;; Tools that are elsewhere

(ert-deftest aqd-server-does-not-go-round-the-guard ()
  "There is no review of what no agent may edit or the policy denies."
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (make-directory (expand-file-name ".git" (file-name-directory aqd-file)))
      (aqd-server-should-refuse (aqd-server-request '("path" . ".git/config") '("original" . ""))
                                "\\`Error: Cannot write to file\n\nNot for agents")
      (let ((agent-q-diff-tools-policy 'deny))
        (pcase-let ((`(,is-error ,answer)
                     (aqd-server-answer-to (aqd-server-ask (aqd-server-request)))))
          (should-not is-error)
          (should (string-prefix-p "✗ Rejected" answer))))
      (should-not (agent-q-diff-open-reviews)))))

(ert-deftest aqd-server-proposals-are-logged ()
  (aqd-with-file "a\nb\n"
    (let ((agent-q-diff-log-file (concat aqd-file ".log")))
      (aqd-server-with
        (let ((client (aqd-server-ask (aqd-server-request))))
          (aqd-server-until (agent-q-diff-open-reviews))
          (with-current-buffer (agent-q-diff-session-buffer
                                (car (agent-q-diff-open-reviews)))
            (agent-q-diff-accept-all))
          (aqd-server-answer-to client))
        (with-temp-buffer
          (insert-file-contents agent-q-diff-log-file)
          (should (string-search "\"propose_file_edit\"" (buffer-string)))
          (should (string-search "\"user\"" (buffer-string))))))))

(ert-deftest aqd-server-calls-other-tools-if-there-are-any ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (cl-letf (((symbol-function 'agent-q-diff-tools-call-async)
                 (lambda (tool arguments callback)
                   (funcall callback
                            (if (equal tool "edit_file")
                                (concat "✓ " (gethash "path" arguments))
                              "Error: no")))))
        (should (equal (list nil (concat "✓ " aqd-file))
                       (aqd-server-answer-to
                        (aqd-server-ask (aqd-server-request '("tool" . "edit_file"))))))
        (aqd-server-should-refuse (aqd-server-request '("tool" . "rm")) "\\`Error: no")))))

(ert-deftest aqd-server-a-call-that-asks-the-user-says-that-emacs-has-it ()
  (aqd-with-file "a\nb\n"
    (aqd-server-with
      (let ((answer nil))
        (cl-letf (((symbol-function 'agent-q-diff-tools-call-async)
                   (lambda (_tool _arguments callback)
                     (setq answer callback))))
          (let ((client (aqd-server-ask (aqd-server-request '("tool" . "edit_file")))))
            (aqd-server-until (equal '((0 . 0)) (aqd-server-progress-of client)))
            (funcall answer "✓ done")
            (should (equal '(nil "✓ done") (aqd-server-answer-to client)))))))))

;;;; What was written already

(defun aqd-server-ask-for-changes (is-waiting)
  "Ask for the review of what was written in `default-directory'."
  (aqd-server-ask (aqd-server-line default-directory "review_changes"
                                   `((wait . ,(if is-waiting t :false))))))

(ert-deftest aqd-server-a-program-has-what-was-written-reviewed ()
  (aqd-with-repository
    (aqd-server-with
      (aqd-pending-put "f.txt" aqd-pending-written)
      (aqd-pending-put "new.txt" "x\n")
      (let* ((client (aqd-server-ask-for-changes t))
             (other nil)
             (review (aqd-server-until (car (agent-q-diff-open-reviews)))))
        ;; A program waits, so its review is the one that another gets.
        (should (string-match-p "3 hunks in 2 files are open for review.*a program waits"
                                (cadr (aqd-server-answer-to (aqd-server-ask-for-changes nil)))))
        (should (equal (list review) (agent-q-diff-open-reviews)))
        (setq other (aqd-server-ask-for-changes t))
        (aqd-server-until (aqd-server-progress-of other))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (aqd-pending-do #'agent-q-diff-accept-hunk 0)
          (aqd-pending-do #'agent-q-diff-reject-hunk 1)
          (agent-q-diff-finish))
        (should-not (car (aqd-server-answer-to client)))
        (should (equal (aqd-server-answer-to client) (aqd-server-answer-to other)))
        (let ((result (plist-get (car (last (aqd-server-heard client))) :result)))
          (should (equal '(3 1 1) (mapcar (apply-partially #'plist-get result)
                                          '(:total :rejected :pending)))))))))

(ert-deftest aqd-server-the-review-stays-if-the-program-that-waits-is-gone ()
  (aqd-with-repository
    (aqd-server-with
      (aqd-pending-put "f.txt" aqd-pending-written)
      (let ((client (aqd-server-ask-for-changes t))
            (review (aqd-server-only-review)))
        (delete-process client)
        (aqd-server-until (null agent-q-diff-server--clients))
        (should (equal (list review) (agent-q-diff-open-reviews)))
        ;; Nobody waits, so another look can take its place.
        (let ((other (agent-q-diff-review-changes)))
          (should (equal (list other) (agent-q-diff-open-reviews)))
          (agent-q-diff-cancel other))))))

(ert-deftest aqd-server-a-program-that-does-not-wait-is-told-what-is-open ()
  (aqd-with-repository
    (aqd-server-with
      (should (string-match-p "\\`Nothing is pending in "
                              (cadr (aqd-server-answer-to (aqd-server-ask-for-changes t)))))
      (aqd-pending-put "f.txt" aqd-pending-written)
      (should (equal "2 hunks in 1 file are open for review in Emacs"
                     (cadr (aqd-server-answer-to (aqd-server-ask-for-changes nil)))))
      (agent-q-diff-cancel (car (agent-q-diff-open-reviews))))))

;;;; The end of an agent's turn

(defun aqd-server-end-turn (can-go-on)
  "Say that a turn has ended whose agent can go on if CAN-GO-ON is non-nil."
  (aqd-server-ask (aqd-server-line default-directory "turn_ended"
                                   `((session . "s1") (can_go_on . ,(if can-go-on t :false)))
                                   '(agent . "a test") '(timeout . 3600))))

(ert-deftest aqd-server-at-the-end-of-a-turn-what-is-pending-is-announced ()
  (aqd-with-repository
    (aqd-server-with
      (aqd-pending-put "f.txt" aqd-pending-written)
      ;; One that cannot go on does not wait.
      (let ((agent-q-diff-stop-waits t))
        (should (string-search "a test's turn in PROJECT has ended: 1 file to review"
                               (aqd-in-project (aqd-said (should (equal '(nil "")
                                                        (aqd-server-answer-to
                                                         (aqd-server-end-turn nil)))))))))
      (let ((agent-q-diff-stop-waits nil))
        (should (equal '(nil "") (aqd-server-answer-to (aqd-server-end-turn t)))))
      (should-not (agent-q-diff-open-reviews)))))

(ert-deftest aqd-server-an-agent-waits-at-the-end-of-its-turn-for-its-review ()
  (aqd-with-repository
    (aqd-server-with
      (aqd-pending-put "f.txt" aqd-pending-written)
      (let* ((agent-q-diff-stop-waits t)
             (client (aqd-server-end-turn t))
             (review (aqd-server-only-review)))
        (aqd-server-until (aqd-server-progress-of client))
        (should (process-live-p client))
        (with-current-buffer (agent-q-diff-session-buffer review)
          (agent-q-diff-comment-hunk "keep the old name" 0)
          (aqd-pending-do #'agent-q-diff-reject-hunk 0)
          (should (string-suffix-p "the agent is told now"
                                   (aqd-said (agent-q-diff-finish nil t)))))
        (should (equal '(nil "") (aqd-server-answer-to client)))
        ;; The program takes what is to be told.
        (should (string-search "keep the old name"
                               (agent-q-diff-told-message default-directory)))))))

(provide 'agent-q-diff-server-test)
;;; agent-q-diff-server-test.el ends here
