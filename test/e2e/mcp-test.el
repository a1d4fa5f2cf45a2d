;;; mcp-test.el --- Reviews for MCP clients  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The official Python client of MCP (mcp-client.py) starts agent-q-diff
;; as any client does, and calls its tools; keys decide in a real Emacs.

;;; Code:

(require 'url-util)
(require 'agent-q-diff-tmux)

(defvar mcp-client nil
  "The process of the Python client.")

(defvar mcp-heard nil
  "What the client has said, plists, the latest first.")

(defvar mcp-has-roots nil
  "Non-nil if the client has roots, which `mcp-set-roots' sets.")

(defun mcp-filter (process output)
  "Add the lines in OUTPUT of PROCESS to what was heard."
  (let ((lines (split-string (concat (process-get process 'rest) output) "\n")))
    (process-put process 'rest (car (last lines)))
    (dolist (line (butlast lines))
      (push (json-parse-string line :object-type 'plist :array-type 'list
                               :false-object nil)
            mcp-heard))))

(defun mcp-start (mode &rest arguments)
  "Start the client in MODE, and by it the server with ARGUMENTS.
It finds the Emacs under test as it finds any other, but can find none else."
  (setq mcp-heard nil
        mcp-client
        (mcp-process mode arguments))
  (when-let ((process (get-buffer-process " *mcp-stderr*")))
    (set-process-query-on-exit-flag process nil)
    (set-process-sentinel process #'ignore))
  (e2e-wait-for (seq-find (lambda (said) (plist-member said :tools)) mcp-heard)))

(defun mcp-process (mode arguments)
  "Return a process of the client; MODE and ARGUMENTS are as for `mcp-start'."
  (let ((process-environment
         (append (list (concat "XDG_RUNTIME_DIR=" (e2e-path "run")))
                 (and mcp-has-roots (list (concat "MCP_ROOTS=" (e2e-path "roots"))))
                 process-environment)))
    (make-process :name "mcp-client" :connection-type 'pipe :coding 'utf-8-unix
                  :noquery t :filter #'mcp-filter
                  :stderr (get-buffer-create " *mcp-stderr*")
                  :command
                  (append
                   (list (getenv "AGENT_Q_DIFF_MCP_PYTHON")
                         (expand-file-name "mcp-client.py" e2e-here)
                         mode
                         (getenv "AGENT_Q_DIFF_MCP_SERVER"))
                   arguments))))

(defmacro mcp-with-client (arguments &rest body)
  "Evaluate BODY with an Emacs under test that serves, and a client.
ARGUMENTS is a form whose value is a list of those of `mcp-start'."
  (declare (indent 1) (debug t))
  `(e2e-with-emacs
     (e2e-eval '(progn (require 'agent-q-diff-server)
                       (make-directory (inside-file "run"))
                       (setenv "XDG_RUNTIME_DIR" (inside-file "run"))
                       (agent-q-diff-serve)))
     (unwind-protect
         (progn
           (apply #'mcp-start ,arguments)
           ,@body)
       (delete-process mcp-client))))

(defun mcp-say (&rest words)
  "Tell the client WORDS, a plist."
  (process-send-string mcp-client (concat (json-serialize words) "\n")))

(defun mcp-call (tag tool &rest arguments)
  "Have the client call TOOL with ARGUMENTS, a plist; the answer is that of TAG."
  (e2e-write tag (json-serialize arguments))
  (mcp-say :call tag :tool tool :arguments (e2e-path tag)))

(cl-defun mcp-propose (name &key (original (e2e-text)) (modified (e2e-text 5 20 35)))
  "Have the client propose to change the file NAME from ORIGINAL to MODIFIED.
Wait until the review has begun.  The answer is that of NAME."
  (e2e-write name original)
  (let ((n (mcp-n-reviews)))
    (mcp-call (concat name ".call") "propose_file_edit"
              :path (e2e-path name) :original original :modified modified
              :description "Shout")
    (e2e-wait-for (< n (mcp-n-reviews)))))

(defun mcp-n-reviews ()
  "Return the number of reviews that are open."
  (e2e-eval '(length (agent-q-diff-open-reviews))))

(defun mcp-words (tag key)
  "Return the values of KEY in what was heard of TAG, the latest first."
  (delq nil (mapcar (lambda (said)
                      (and (equal tag (plist-get said :tag)) (plist-get said key)))
                    mcp-heard)))

(defun mcp-answer (tag)
  "Wait for the answer to the call TAG; return (ERROR TEXT)."
  (e2e-wait-for (mcp-words tag :text))
  (list (car (mcp-words tag :error)) (car (mcp-words tag :text))))

(defun mcp-should-answer (tag error &rest regexps)
  "Check that the answer to the call TAG is an ERROR or not, and matches REGEXPS.
If it has a structured result, that has the same message."
  (pcase-let ((`(,is-error ,text) (mcp-answer tag)))
    (should (equal (list tag error text) (list tag is-error text)))
    (when-let ((result (remq :null (mcp-words tag :result))))
      (should (equal text (plist-get (car result) :message))))
    (dolist (regexp regexps)
      (should (string-match-p regexp text)))))

(defun mcp-result (tag &rest keys)
  "Return the values of KEYS in the structured result of the answer to TAG.
The Python library has checked it with the tool's output schema."
  (mcp-answer tag)
  (let ((result (car (mcp-words tag :result))))
    (mapcar (lambda (key) (plist-get result key)) keys)))

(defun mcp-should-have-progress (tag total)
  "Check that the progress of the call TAG grew from 0, up to TOTAL hunks at most."
  (let ((numbers (reverse (mcp-words tag :progress)))
        (totals (mcp-words tag :total)))
    (should (equal 0.0 (car numbers)))
    (should (apply #'< (append numbers (list total))))
    ;; Before Emacs has begun the review there is none.
    (should (equal (list (float total)) (seq-uniq (remq :null totals))))))

(defun mcp-go-to (name)
  "Go by keys to the review for the file NAME."
  (e2e-wait-for
   (progn
     (e2e-press "ESC x")
     (e2e-type "agent-q-diff-next-review")
     (e2e-keys "RET")
     (e2e-wait-for (equal 0 (e2e-eval '(minibuffer-depth))))
     (equal (e2e-path name)
            (e2e-eval '(buffer-local-value 'agent-q-diff-buffer-path (window-buffer)))))))

(defun mcp-should-be-over ()
  "Check that nothing of any call is left in the Emacs under test."
  (e2e-wait-for (equal '(0 0)
                       (e2e-eval '(list (length (agent-q-diff-open-reviews))
                                        (length agent-q-diff-server--clients))))))

;;;; Decided

(defun mcp-should-have-tools-of-emacs (tools)
  "Check that TOOLS, which the server lists, are those that Emacs has.
One more only waits for what another one began."
  (let ((ours (e2e-eval '(progn
                           (require 'agent-q-diff-tools)
                           (mapcar (lambda (tool)
                                     (list (plist-get tool :name)
                                           (plist-get tool :required)
                                           (mapcar (lambda (parameter)
                                                     (list (symbol-name (car parameter))
                                                           (alist-get 'type (cdr parameter))))
                                                   (alist-get 'properties
                                                              (plist-get tool :parameters)))))
                                   (agent-q-diff-tools-list))))))
    (should (equal (sort (mapcar #'car ours) #'string<)
                   (sort (remove "review_result" (mcp-names tools)) #'string<)))
    (pcase-dolist (`(,name ,required ,types) ours)
      (let ((theirs (plist-get tools (mcp-keyword name))))
        (should (equal required (plist-get theirs :required)))
        (should (equal types
                       (mapcar (lambda (parameter)
                                 (list parameter
                                       (plist-get (plist-get theirs :types)
                                                  (mcp-keyword parameter))))
                               (mapcar #'car types))))
        (should (= (length types) (length (mcp-names (plist-get theirs :types)))))))))

(defun mcp-keyword (name)
  "Return the keyword as which the object's key NAME is read."
  (intern (concat ":" name)))

(defun mcp-names (object)
  "Return the keys of OBJECT, a plist, as strings."
  (cl-loop for (key) on object by #'cddr
           collect (substring (symbol-name key) 1)))

(ert-deftest e2e-mcp-accepted-in-every-version ()
  (dolist (mode '("auto" "legacy"))
    (mcp-with-client (list mode)
      (mcp-should-have-tools-of-emacs (plist-get (car (last mcp-heard)) :tools))
      (mcp-propose "file")
      (should (equal "pythonista"
                     (e2e-eval '(agent-q-diff-session-agent
                                 (car (agent-q-diff-open-reviews))))))
      (mcp-go-to "file")
      (e2e-keys "a a a q")
      (mcp-should-answer "file.call" nil "\\`✓ Accepted: ")
      (should (equal (e2e-text 5 20 35) (e2e-read "file")))
      (mcp-should-be-over))))

(ert-deftest e2e-mcp-partial-with-comment ()
  (mcp-with-client '("auto")
    (mcp-propose "file")
    (mcp-go-to "file")
    (e2e-keys "a")
    (e2e-see (e2e-header "[1-9]/[1-9]" 1))
    (e2e-wait-for (string-search "1 of 3 hunks"
                                 (or (car (mcp-words "file.call" :message)) "")))
    (e2e-keys "c")
    (e2e-type "Not this line")
    (e2e-keys "RET r r q")
    (mcp-should-answer "file.call" nil "1 of 3 hunks is in "
                       "hunk 2, which is rejected: Not this line")
    (should (equal (mcp-result "file.call" :status :total :in_file :rejected :pending)
                   '("partial" 3 1 2 0)))
    (should (equal (mcp-result "file.call" :files)
                   `(((:path ,(e2e-path "file") :total 3 :in_file 1 :rejected 2 :pending 0
                       :saved t
                       :hunks ((:hunk 1 :decision "accepted" :in_file t)
                               (:hunk 2 :decision "rejected" :in_file nil
                                      :comment "Not this line")
                               (:hunk 3 :decision "rejected" :in_file nil)))))))
    (should (equal (e2e-text 5) (e2e-read "file")))
    (mcp-should-have-progress "file.call" 3)
    (mcp-should-be-over)))

(ert-deftest e2e-mcp-a-rejection-is-no-error ()
  (mcp-with-client '("auto")
    (mcp-propose "file")
    (mcp-go-to "file")
    (e2e-keys "r r r q")
    (mcp-should-answer "file.call" nil "\\`✗ Rejected: ")
    (should (equal (e2e-text) (e2e-read "file")))
    (mcp-should-be-over)))

(ert-deftest e2e-mcp-two-at-once-answered-out-of-order ()
  (mcp-with-client '("auto")
    (mcp-propose "one")
    (mcp-propose "two")
    (mcp-go-to "two")
    (e2e-keys "a a a q")
    (mcp-should-answer "two.call" nil "\\`✓ ")
    (should-not (mcp-words "one.call" :text))
    (mcp-go-to "one")
    (e2e-keys "r r r q")
    (mcp-should-answer "one.call" nil "\\`✗ ")
    (mcp-should-be-over)))

(ert-deftest e2e-mcp-twenty-megabytes ()
  (mcp-with-client '("auto")
    (let* ((original (apply #'concat
                            (make-list (* 512 1024)
                                       "0123456789 \"naïve\" \\ 0123456789 012345\n")))
           (modified (concat original "one more\n")))
      (should (<= (* 20 1024 1024) (string-bytes original)))
      (let ((e2e-limit-seconds 120))
        (mcp-propose "file" :original original :modified modified)
        (mcp-go-to "file")
        (e2e-keys "a q")
        (mcp-should-answer "file.call" nil "\\`✓ "))
      (should (equal modified (e2e-read "file")))
      ;; Nor is the file that had the texts left.
      (should (equal '("socket") (directory-files (e2e-path "run/agent-q-diff") nil "[^.]")))
      (mcp-should-be-over))))

(defun mcp-server-pid ()
  "Return the id of the server's process, which the client has started."
  (e2e-wait-for
   (seq-find (lambda (pid)
               (equal (process-id mcp-client) (alist-get 'ppid (process-attributes pid))))
             (list-system-processes))))

(ert-deftest e2e-mcp-a-suspended-server-gets-its-long-answer-later ()
  (mcp-with-client '("auto")
    (mcp-propose "file")
    (mcp-go-to "file")
    (let ((server (mcp-server-pid))
          (comment (apply #'concat (make-list 16000 "No, not «so»\n")))
          (read-process-output-max (* 1024 1024)))
      (signal-process server 'SIGSTOP)
      (e2e-write "comment" comment)
      (e2e-eval '(with-temp-buffer
                   (insert-file-contents (inside-file "comment"))
                   (push (cons nil (buffer-string))
                         (agent-q-diff-change-comments
                          (agent-q-diff-session-change (car (agent-q-diff-open-reviews)))))))
      (e2e-keys "r r r q")
      (e2e-wait-for (= 0 (mcp-n-reviews)))
      (should-not (mcp-words "file.call" :text))
      (signal-process server 'SIGCONT)
      (mcp-should-answer "file.call" nil "\\`✗ Rejected: ")
      ;; The message has as much of it as agents show their model.
      (should (equal (list comment) (mcp-result "file.call" :comment)))
      (mcp-should-be-over))))

(ert-deftest e2e-mcp-large-texts-where-emacs-cannot-read-the-file ()
  "The program sees the socket in another folder than Emacs does."
  (mcp-with-client (list "auto" "--socket" (e2e-path "elsewhere"))
    (make-symbolic-link (e2e-path "run/agent-q-diff/socket") (e2e-path "elsewhere"))
    (let ((original (apply #'concat (make-list 10000 "0123456789 \"naïve\" \\ 0123456789\n"))))
      (mcp-propose "file" :original original :modified (concat original "one more\n"))
      (should-not (directory-files (e2e-path "") nil "texts"))
      (mcp-go-to "file")
      (e2e-keys "a q")
      (mcp-should-answer "file.call" nil "\\`✓ ")
      (should (equal (concat original "one more\n") (e2e-read "file"))))
    (mcp-should-be-over)))

(defun mcp-raw (messages n)
  "Return N things that the program says to MESSAGES, strings, as alists.
No Emacs serves it."
  (let* ((greeting
          '((jsonrpc . "2.0") (id . 0) (method . "initialize")
            (params . ((protocolVersion . "2025-06-18") (capabilities . #s(hash-table))
                       (clientInfo . ((name . "raw") (version . "1")))))))
         (said "")
         (program (make-process
                   :name "mcp-raw" :connection-type 'pipe :coding 'utf-8-unix :noquery t
                   :filter (lambda (_ output) (setq said (concat said output)))
                   :command (list (getenv "AGENT_Q_DIFF_MCP_SERVER")
                                  "--socket" "/nowhere/socket"))))
    (unwind-protect
        (progn
          (process-send-string program (concat (json-serialize greeting) "\n"))
          (e2e-wait-for (string-search "\n" said))
          (setq said "")
          (dolist (message (cons "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
                                 messages))
            (process-send-string program (concat message "\n")))
          (e2e-wait-for (= n (seq-count (apply-partially #'eq ?\n) said)))
          (mapcar (lambda (line) (json-parse-string line :object-type 'alist))
                  (split-string said "\n" t)))
      (delete-process program))))

(defun mcp-raw-call (id method tool &rest arguments)
  "Return a message ID that calls METHOD for TOOL with ARGUMENTS, an alist."
  (json-serialize `((jsonrpc . "2.0") (id . ,id) (method . ,method)
                    (params . ((name . ,tool) (arguments . ,arguments))))))

(ert-deftest e2e-mcp-each-tool-says-what-it-does ()
  (let-alist (car (mcp-raw (list (mcp-raw-call 1 "tools/list" "x")) 1))
    (should (equal (mapcar (lambda (tool)
                             (let-alist tool
                               (should (stringp .title))
                               (should (eq :false .annotations.openWorldHint))
                               (list .name .annotations.readOnlyHint
                                     .annotations.destructiveHint .outputSchema.type)))
                           .result.tools)
                   ;; Codex refuses what destroys, and a proposal changes nothing by itself.
                   '(("propose_file_edit" :false :false "object") ("edit_file" :false t nil)
                     ("propose_patch" :false :false "object")
                     ("propose_changes" :false :false "object")
                     ("review_comments" t nil nil) ("resolve_comment" :false :false nil)
                     ("review_result" t nil "object"))))))

(ert-deftest e2e-mcp-large-messages-that-are-no-proposals ()
  (let* ((large (make-string 200000 ?x))
         (said (mcp-raw
                (list large (concat "{" large) (concat "[\"" large "\"]")
                      (mcp-raw-call 1 "tools/call" "propose_file_edit"
                                    (cons 'original large) (cons 'modified large))
                      (mcp-raw-call 2 "tools/call" "review_result" (cons 'id large))
                      (mcp-raw-call "three" "tools/call" "rm" (cons 'original large))
                      (mcp-raw-call 4 "ping" "x" (cons 'original large))
                      (mcp-raw-call 5 large "x" (cons 'original large))
                      (mcp-raw-call 6 "tools/list" "x"))
                7))
         (answer (lambda (id) (seq-find (lambda (word) (equal id (alist-get 'id word))) said))))
    (let-alist (funcall answer 1)
      (should (eq t .result.isError))
      (should (string-search "no Emacs is serving" (alist-get 'text (aref .result.content 0)))))
    (let-alist (funcall answer 2)
      (should (eq t .result.isError)))
    (dolist (id '("three" 5))
      (should (assq 'error (funcall answer id))))
    (dolist (id '(4 6))
      (should (assq 'result (funcall answer id))))))

;;;; Not decided

(ert-deftest e2e-mcp-cancel ()
  (dolist (mode '("auto" "legacy"))
    (mcp-with-client (list mode)
      (mcp-propose "file")
      (mcp-propose "other")
      (mcp-say :cancel "file.call")
      (e2e-wait-for (mcp-words "file.call" :cancelled))
      (e2e-wait-for (= 1 (mcp-n-reviews)))
      (mcp-go-to "other")
      (e2e-keys "a a a q")
      (mcp-should-answer "other.call" nil "\\`✓ ")
      (should (equal (e2e-text) (e2e-read "file")))
      (mcp-should-be-over))))

(defun mcp-edit (name)
  "Have the client edit the file NAME; the answer is that of NAME.call."
  (e2e-write name (e2e-text))
  (mcp-call (concat name ".call") "edit_file" :path (e2e-path name)
            :old_str "line 5\n" :new_str "LINE 5\n"))

(ert-deftest e2e-mcp-cancelled-edits-are-not-asked-for-any-more ()
  (mcp-with-client '("auto")
    (e2e-eval '(setq agent-q-diff-project-root (inside-file "")
                     agent-q-diff-permission-pause 0))
    (mcp-edit "one")
    (e2e-see "edit_file .*one .*\\[y\\]es")
    (dolist (name '("two" "three" "four"))
      (mcp-edit name)
      (e2e-wait-for (e2e-eval `(and (= ,(seq-position '("one" "two" "three" "four") name)
                                       (length agent-q-diff-tools--queue))
                                    t))))
    ;; One that waits for its turn, and then the one that is asked about.
    (mcp-say :cancel "three.call")
    (e2e-wait-for (= 2 (e2e-eval '(length agent-q-diff-tools--queue))))
    (mcp-say :cancel "one.call")
    (e2e-see "edit_file .*two .*\\[y\\]es")
    ;; One that is in the full review.
    (e2e-keys "f")
    (e2e-wait-for (= 1 (mcp-n-reviews)))
    (mcp-say :cancel "two.call")
    (e2e-see "edit_file .*four .*\\[y\\]es")
    (e2e-keys "y")
    (mcp-should-answer "four.call" nil "\\`✓ Edit applied")
    (should (equal (e2e-text 5) (e2e-read "four")))
    (dolist (name '("one" "two" "three"))
      (should (equal (e2e-text) (e2e-read name))))
    (should (equal '(0 0) (e2e-eval '(list (minibuffer-depth) (recursion-depth)))))
    (mcp-should-be-over)))

;;;; Roots

(defun mcp-set-roots (roots)
  "Let the client have ROOTS, a vector of URIs.
As long as it is :null, the client does not answer what they are."
  (e2e-write "roots" (json-serialize roots)))

(defun mcp-root (name)
  "Return the URI of the test's directory NAME, which is made."
  (make-directory (e2e-path name) t)
  (concat "file://" (url-hexify-string (e2e-path name) url-path-allowed-chars)))

(defun mcp-n-asked ()
  "Return how often the client was asked for its roots."
  (seq-count (lambda (said) (plist-get said :asked)) mcp-heard))

(defun mcp-should-edit (name &optional path)
  "Check that the user is asked whether the file NAME is edited, and that it is.
PATH is what the agent calls it."
  (e2e-write name (e2e-text))
  (mcp-call (concat name ".call") "edit_file" :path (or path (e2e-path name))
            :old_str "line 5\n" :new_str "LINE 5\n")
  (e2e-see (format "edit_file .*%s\"? .*\\[y" (file-name-nondirectory name)) "\\[n\\]o ")
  (e2e-keys "y")
  (mcp-should-answer (concat name ".call") nil "\\`✓ Edit applied")
  (should (equal (e2e-text 5) (e2e-read name))))

(defun mcp-should-be-outside (name)
  "Check that the file NAME is refused, since it is outside the project."
  (mcp-edit name)
  (mcp-should-answer (concat name ".call") t "is outside project root")
  (should (equal (e2e-text) (e2e-read name))))

(ert-deftest e2e-mcp-roots-are-the-project ()
  (dolist (mode '("auto" "legacy"))
    (let ((mcp-has-roots t))
      (mcp-with-client (list mode)
        (e2e-eval '(setq agent-q-diff-permission-pause 0))
        ;; Some clients say more than directories that are there.
        (mcp-set-roots (vector "https://localhost/" "file:///is/missing"
                               (mcp-root "naïve root") (mcp-root "other")))
        (mcp-should-edit "naïve root/one")
        (mcp-should-edit "other/two")
        (mcp-should-edit "naïve root/three" "three")
        (mcp-should-be-outside "four")
        (should (= (mcp-n-asked) (if (equal mode "legacy") 1 4)))
        ;; The latest protocol cannot say that they changed, so each call asks.
        (mcp-set-roots (vector (mcp-root "")))
        (when (equal mode "legacy")
          (mcp-should-be-outside "five")
          (mcp-say :roots "changed"))
        (mcp-should-edit "six")
        (should (= (mcp-n-asked) (if (equal mode "legacy") 2 5)))
        ;; The user's own root counts first.
        (e2e-eval '(setq agent-q-diff-project-root (inside-file "other")))
        (mcp-should-be-outside "seven")
        (mcp-should-be-over)))))

(ert-deftest e2e-mcp-a-client-that-answers-late-about-roots ()
  (let ((mcp-has-roots t))
    (mcp-with-client '("legacy")
      (e2e-eval '(setq agent-q-diff-permission-pause 0))
      (mcp-set-roots :null)
      (dolist (name '("one" "two"))
        (mcp-propose name)
        (mcp-go-to name)
        (e2e-keys "a a a q")
        (mcp-should-answer (concat name ".call") nil "\\`✓ Accepted: "))
      (mcp-should-be-outside "three")
      ;; It may answer late, say once a call is answered.
      (mcp-set-roots (vector (mcp-root "late")))
      (e2e-wait-for (seq-find (lambda (said) (plist-get said :answered)) mcp-heard))
      (mcp-should-edit "late/four")
      (should (= 1 (mcp-n-asked)))
      (mcp-should-be-over))))

(ert-deftest e2e-mcp-another-socket ()
  (mcp-with-client (list "auto" "--socket" (e2e-path "other/socket"))
    (e2e-eval '(progn (agent-q-diff-serve-stop)
                      (setq agent-q-diff-server-socket (inside-file "other/socket"))
                      (agent-q-diff-serve)))
    (mcp-propose "file")
    (mcp-say :cancel "file.call")
    (mcp-should-be-over)))

(ert-deftest e2e-mcp-the-client-ends ()
  (mcp-with-client '("auto")
    (mcp-propose "file")
    (delete-process mcp-client)
    (mcp-should-be-over)))

(defun mcp-id (tag)
  "Return the id of the review that the pending answer to TAG names."
  (pcase-let ((`(,error ,text) (mcp-answer tag)))
    (should-not error)
    (should (string-match "\\`PENDING: \\(?:.\\|\n\\)*id \"\\([^\"]+\\)\"" text))
    (match-string 1 text)))

(ert-deftest e2e-mcp-time-out-then-review-result ()
  (mcp-with-client '("auto" "--timeout" "0.5")
    (mcp-propose "file")
    (let ((id (mcp-id "file.call")))
      (should (string-search "0 of 3 hunks" (cadr (mcp-answer "file.call"))))
      (should (equal (mcp-result "file.call" :status :id) (list "pending" id)))
      (mcp-call "wait1" "review_result" :id id)
      (should (equal id (mcp-id "wait1")))
      ;; Who stops waiting has not cancelled the review.
      (mcp-call "wait2" "review_result" :id id)
      (mcp-say :cancel "wait2")
      (e2e-wait-for (or (mcp-words "wait2" :cancelled) (mcp-words "wait2" :text)))
      (mcp-go-to "file")
      (e2e-keys "a r r q")
      (e2e-wait-for (= 0 (mcp-n-reviews)))
      ;; It can be asked for again, should an answer get lost.
      (dolist (tag '("wait3" "wait4"))
        (mcp-call tag "review_result" :id id)
        (mcp-should-answer tag nil "1 of 3 hunks is in ")
        (should (equal (mcp-result tag :status :in_file) '("partial" 1))))
      (mcp-call "wait5" "review_result" :id "nonsense")
      (mcp-should-answer "wait5" t "no review with id \"nonsense\"")
      (mcp-should-be-over))))

(ert-deftest e2e-mcp-several-files-are-one-review ()
  (mcp-with-client '("auto")
    (e2e-write "one" (e2e-text))
    (e2e-write "two" "x\n")
    (mcp-call "call" "propose_changes" :description "Shout"
              :changes (vector (list :path (e2e-path "one") :original (e2e-text)
                                     :modified (e2e-text 5))
                               (list :path (e2e-path "two") :delete t)
                               (list :path (e2e-path "three") :content "made\n")))
    (e2e-wait-for (= 1 (mcp-n-reviews)))
    (mcp-go-to "one")
    (e2e-keys "a a q y")
    (mcp-should-answer "call" nil "\\`✓ Accepted in part: 2 of 3 files: "
                       "one 1 of 1 hunk, " "two deleted, " "three not created")
    (should (equal (mapcar (lambda (file)
                             (list (plist-get file :kind) (plist-get file :in_file)
                                   (plist-get (car (plist-get file :hunks)) :operation)))
                           (car (mcp-result "call" :files)))
                   '(("modified" 1 nil) ("deleted" 1 "delete") ("new file" 0 nil))))
    (should-not (file-exists-p (e2e-path "two")))))

(ert-deftest e2e-mcp-notes-are-shown-below-their-lines ()
  (mcp-with-client '("auto")
    (e2e-write "one" (e2e-text))
    (mcp-call "bad" "propose_changes" :description "Shout"
              :changes (vector (list :path (e2e-path "one") :content "x\n"
                                     :notes (vector (list :line 2 :text "no")))))
    (mcp-should-answer "bad" t "one: a note is on line 2, but the text as it should be has 1 line")
    (should (= 0 (mcp-n-reviews)))
    (mcp-call "call" "propose_changes" :description "Shout"
              :changes (vector (list :path (e2e-path "one") :original (e2e-text)
                                     :modified (e2e-text 5)
                                     :notes (vector (list :line 5 :text "Louder\u202e")
                                                    (list :text "Once only")))))
    (e2e-wait-for (= 1 (mcp-n-reviews)))
    (mcp-go-to "one")
    (e2e-see "^# > pythonista: Once only")
    (e2e-see "^# > pythonista: Louder<U\\+202E>")
    (e2e-keys "a q")
    (mcp-should-answer "call" nil "\\`✓ ")
    (should (equal (e2e-text 5) (e2e-read "one")))))

(ert-deftest e2e-mcp-emacs-is-busy-for-long ()
  (mcp-with-client '("auto" "--timeout" "0.5")
    ;; It listens to nobody until the file is there.
    (e2e-eval '(ignore (run-at-time 0 nil #'call-process "sh" nil nil nil "-c"
                                    "until [ -e \"$1\" ]; do sleep 0.05; done"
                                    "sh" (inside-file "enough"))))
    (e2e-write "file" (e2e-text))
    (mcp-call "call" "propose_file_edit" :path (e2e-path "file") :original (e2e-text)
              :modified (e2e-text 5) :description "Shout")
    (let ((id (mcp-id "call")))
      (should (string-search "Emacs has not taken the call yet" (cadr (mcp-answer "call"))))
      (e2e-write "enough" "")
      (e2e-wait-for (= 1 (mcp-n-reviews)))
      (mcp-go-to "file")
      (e2e-keys "a q")
      (e2e-wait-for (= 0 (mcp-n-reviews)))
      (mcp-call "wait" "review_result" :id id)
      (mcp-should-answer "wait" nil "\\`✓ "))))

(ert-deftest e2e-mcp-emacs-is-killed ()
  (mcp-with-client '("auto")
    (mcp-propose "file")
    (signal-process e2e--pid 'SIGKILL)
    (mcp-should-answer "file.call" t "Emacs ended")
    (should (equal (mcp-result "file.call" :status) '("error")))
    (mcp-call "again" "propose_file_edit" :path (e2e-path "file") :original (e2e-text)
              :modified (e2e-text 5) :description "Shout")
    (mcp-should-answer "again" t "no Emacs is serving" "M-x agent-q-diff-serve")))

(ert-deftest e2e-mcp-emacs-is-left ()
  (mcp-with-client '("auto")
    (mcp-propose "file")
    (e2e-keys "C-x C-c")
    (e2e-see "1 review is not decided")
    (e2e-type "yes")
    (e2e-keys "RET")
    (mcp-should-answer "file.call" t "Emacs exited")
    (e2e-wait-for (not (file-exists-p (e2e-path "run/agent-q-diff/socket"))))))

(defun mcp-raw-answers (lines id)
  "Send LINES, bytes, to the server as they are; return the answer to call ID."
  (let* ((output "")
         (server (make-process
                  :name "mcp-raw" :connection-type 'pipe :coding 'binary :noquery t
                  :filter (lambda (_ new) (setq output (concat output new)))
                  :command (list (getenv "AGENT_Q_DIFF_MCP_SERVER"))))
         (answer (lambda ()
                   (seq-find (lambda (said) (equal id (plist-get said :id)))
                             (mapcar (lambda (line)
                                       (json-parse-string line :object-type 'plist))
                                     (butlast (split-string output "\n")))))))
    (unwind-protect
        (progn
          (dolist (line lines)
            (process-send-string server (concat line "\n")))
          (e2e-wait-for (funcall answer))
          (funcall answer))
      (delete-process server))))

(ert-deftest e2e-mcp-a-call-with-what-is-no-character-is-answered ()
  (pcase-dolist (`(,text ,said) '(("\\ud83d" "half of a surrogate pair")
                                  ("\377" "is not UTF-8")))
    (dolist (rest '("" "long"))
      (let* ((text (concat text (if (equal rest "") "" (make-string 100000 ?x))))
             (answer
              (mcp-raw-answers
               (list "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":\
{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":\
{\"name\":\"raw\",\"version\":\"1\"}}}"
                     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
                     (format "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":\
{\"name\":\"edit_file\",\"arguments\":{\"path\":\"a.txt\",\"old_str\":\"a\",\"new_str\":\"%s\"}}}"
                             text))
               2))
             (result (plist-get answer :result)))
        (should (eq t (plist-get result :isError)))
        (should (string-search said (plist-get (aref (plist-get result :content) 0)
                                               :text)))))))

(ert-deftest e2e-mcp-wrong-arguments ()
  (mcp-with-client '("auto")
    (mcp-call "no-path" "propose_file_edit" :original "" :modified "" :description "")
    (mcp-should-answer "no-path" t "Missing parameter 'path'")
    (mcp-call "same" "propose_file_edit" :path (e2e-path "file")
              :original "a\n" :modified "a\n" :description "")
    (mcp-should-answer "same" t "there is no decision")
    (mcp-should-be-over)))

(provide 'mcp-test)
;;; mcp-test.el ends here
