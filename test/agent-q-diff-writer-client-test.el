;;; agent-q-diff-writer-client-test.el --- monet, claude-code-ide.el, agent-shell and macher themselves  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the functions for programs are for: each of these packages shows an
;; agent's edit, and with a few lines the user decides it hunk by hunk instead.
;; The packages run themselves; only what they send to the agent is caught.
;;
;; They are in no registry that the tests reach.  They are looked for in the
;; folder that the environment variable AGENT_Q_DIFF_CLIENTS names.

;;; Code:

(require 'cl-lib)
(require 'map)
(require 'seq)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff)

(defconst writer-client-wanted
  "monet of stevemolitor/monet 72a18d3, claude-code-ide.el of manzaltu 1de17bb, websocket of \
ahyatt/emacs-websocket 03d1cca, agent-shell of xenodium 0.74.3, macher of kmontag 44950ac, gptel of \
karthink cd2cd73"
  "What these tests are for.")

(defmacro writer-client-with-file (&rest body)
  "Run BODY with a file; `sent' has what is sent to the agent, the latest first."
  (declare (indent 0) (debug t))
  `(aqd-with-file aqd-original-of-two
     (let ((sent '()))
       (ignore sent)
       ,@body)
     (aqd-should-leave-nothing)))

(defun writer-client-decide (accepted rejected)
  "Accept the hunk ACCEPTED of the only open review, reject REJECTED, and finish.
Either may be nil."
  (pcase-let ((`(,review) (agent-q-diff-open-reviews)))
    (when accepted (agent-q-diff-accept review accepted))
    (when rejected (agent-q-diff-reject review rejected))
    (agent-q-diff-end review)))

(defconst writer-client-first-only (aqd-numbered 30 '((5 . "five")))
  "The text with the first of the two hunks only.")

;;;; monet

(defvar monet-diff-tool)
(defvar monet-diff-cleanup-tool)
(defvar monet--sessions)
(declare-function make-monet--session "ext:monet" (&rest slots))
(declare-function monet--tool-open-diff-handler "ext:monet" (params session))
(declare-function monet--tool-close-tab-handler "ext:monet" (params session))
(declare-function monet--session-deferred-responses "ext:monet" (session))

(defun writer-client-monet-review (old-path _new-path text on-accept on-quit &optional _session)
  "Have the user decide whether OLD-PATH is to get TEXT; call ON-ACCEPT or ON-QUIT.
This is a function for `monet-diff-tool'."
  (list (cons 'review
              (agent-q-diff-review
               old-path nil text nil
               (lambda (result)
                 (if (eq 'caller (plist-get result :writer))
                     (funcall on-accept (plist-get result :content))
                   (funcall on-quit)))
               :agent "Claude Code" :writer 'caller))))

(defun writer-client-monet-cleanup (context)
  "End the review of CONTEXT, unless it has ended."
  (agent-q-diff-cancel (alist-get 'review context)))

(defmacro writer-client-in-monet (&rest body)
  "Run BODY in a session of monet, whose agent has asked for a diff of two hunks."
  (declare (indent 0) (debug t))
  `(progn
     (aqd-load-client writer-client-wanted 'monet "websocket" "monet")
     (let* ((monet-diff-tool #'writer-client-monet-review)
            (monet-diff-cleanup-tool #'writer-client-monet-cleanup)
            (monet--sessions (make-hash-table :test #'equal))
            (session (make-monet--session
                      :key "k" :client 'client :opened-diffs (make-hash-table :test #'equal)
                      :deferred-responses (make-hash-table :test #'equal))))
       (puthash "k" session monet--sessions)
       (cl-letf (((symbol-function 'monet--send-response)
                  (lambda (_client id result)
                    (push (cons id (mapcar (lambda (part) (alist-get 'text part))
                                           (alist-get 'content result)))
                          sent)))
                 ((symbol-function 'monet--ping) #'ignore)
                 ((symbol-function 'monet--send-selection) #'ignore)
                 ((symbol-function 'run-with-idle-timer)
                  (lambda (_seconds _repeat function &rest arguments)
                    (apply function arguments))))
         (should (alist-get 'deferred
                            (monet--tool-open-diff-handler
                             `((old_file_path . ,aqd-file) (new_file_path . ,aqd-file)
                               (new_file_contents . ,aqd-modified-of-two) (tab_name . "tab"))
                             session)))
         (puthash "tab" 7 (monet--session-deferred-responses session))
         ,@body))))

(ert-deftest aqd-writer-client-monet-writes-what-was-accepted ()
  (writer-client-with-file
    (writer-client-in-monet
      (writer-client-decide 0 1)
      (should (equal sent (list (list 7 "FILE_SAVED" writer-client-first-only))))
      (should (equal aqd-original-of-two (aqd-disk))))))

(ert-deftest aqd-writer-client-monet-is-told-what-was-rejected ()
  (writer-client-with-file
    (writer-client-in-monet
      (writer-client-decide nil 0)
      (should (equal sent '((7 "DIFF_REJECTED" "tab")))))))

(ert-deftest aqd-writer-client-monet-closes-a-tab ()
  (writer-client-with-file
    (writer-client-in-monet
      (monet--tool-close-tab-handler '((tab_name . "tab")) session)
      (should-not (agent-q-diff-open-reviews))
      (should (equal sent '((7 "DIFF_REJECTED" "tab")))))))

;;;; claude-code-ide.el

(defvar claude-code-ide-mcp--sessions)
(declare-function make-claude-code-ide-mcp-session "ext:claude-code-ide-mcp" (&rest slots))
(declare-function claude-code-ide-mcp--find-session-for-file "ext:claude-code-ide-mcp" (file))
(declare-function claude-code-ide-mcp--get-current-session "ext:claude-code-ide-mcp" ())
(declare-function claude-code-ide-mcp-complete-deferred "ext:claude-code-ide-mcp"
                  (session tool-name result &optional unique-key))
(declare-function claude-code-ide-mcp-handle-open-diff "ext:claude-code-ide-mcp-handlers"
                  (arguments))
(declare-function claude-code-ide-mcp-handle-close-tab "ext:claude-code-ide-mcp-handlers"
                  (arguments))
(declare-function claude-code-ide-mcp-session-deferred "ext:claude-code-ide-mcp" (session))

(defun writer-client-ide-open (arguments)
  "Have the user decide the diff of ARGUMENTS in place of Ediff."
  (let* ((path (alist-get 'old_file_path arguments))
         (tab (alist-get 'tab_name arguments))
         (session (claude-code-ide-mcp--find-session-for-file path)))
    (agent-q-diff-cancel tab)
    (agent-q-diff-review
     path nil (alist-get 'new_file_contents arguments) nil
     (lambda (result)
       (claude-code-ide-mcp-complete-deferred
        session "openDiff"
        (mapcar (lambda (text) `((type . "text") (text . ,text)))
                (if (eq 'caller (plist-get result :writer))
                    (list "FILE_SAVED" (plist-get result :content))
                  (list "DIFF_REJECTED" tab)))
        tab))
     :agent "Claude Code" :id tab :writer 'caller)
    `((deferred . t) (unique-key . ,tab) (session . ,session))))

(defun writer-client-ide-close (close arguments)
  "Cancel the review of the tab in ARGUMENTS, or call CLOSE if there is none."
  (if (agent-q-diff-cancel (alist-get 'tab_name arguments))
      '(((type . "text") (text . "TAB_CLOSED")))
    (funcall close arguments)))

(defmacro writer-client-in-ide (&rest body)
  "Run BODY where claude-code-ide.el was asked for a diff of two hunks."
  (declare (indent 0) (debug t))
  `(progn
     (aqd-load-client writer-client-wanted 'claude-code-ide-mcp
                      "websocket" "compat" "cond-let" "transient" "claude-code-ide")
     (require 'claude-code-ide-mcp-handlers)
     (let* ((claude-code-ide-mcp--sessions (make-hash-table :test #'equal))
            (session (make-claude-code-ide-mcp-session
                      :client 'client :project-dir (file-name-directory aqd-file)
                      :deferred (make-hash-table :test #'equal)
                      :active-diffs (make-hash-table :test #'equal)))
            (ask (lambda ()
                   (puthash "openDiff-tab" 7 (claude-code-ide-mcp-session-deferred session))
                   (claude-code-ide-mcp-handle-open-diff
                    `((old_file_path . ,aqd-file) (new_file_path . ,aqd-file)
                      (new_file_contents . ,aqd-modified-of-two) (tab_name . "tab"))))))
       (puthash (file-name-directory aqd-file) session claude-code-ide-mcp--sessions)
       (advice-add 'claude-code-ide-mcp-handle-open-diff :override #'writer-client-ide-open)
       (advice-add 'claude-code-ide-mcp-handle-close-tab :around #'writer-client-ide-close)
       (unwind-protect
           (cl-letf (((symbol-function 'websocket-send-text)
                      (lambda (_client text)
                        (let ((answer (json-parse-string text :object-type 'alist
                                                         :array-type 'list)))
                          (push (cons (alist-get 'id answer)
                                      (mapcar (lambda (part) (alist-get 'text part))
                                              (alist-get 'content (alist-get 'result answer))))
                                sent)))))
             (should (eq session (alist-get 'session (funcall ask))))
             ,@body)
         (advice-remove 'claude-code-ide-mcp-handle-open-diff #'writer-client-ide-open)
         (advice-remove 'claude-code-ide-mcp-handle-close-tab #'writer-client-ide-close)))))

(ert-deftest aqd-writer-client-claude-code-ide-writes-what-was-accepted ()
  (writer-client-with-file
    (writer-client-in-ide
      (writer-client-decide 0 1)
      (should (equal sent (list (list 7 "FILE_SAVED" writer-client-first-only)))))))

(ert-deftest aqd-writer-client-claude-code-ide-closes-a-tab-or-asks-again ()
  (writer-client-with-file
    (writer-client-in-ide
      ;; The same tab once more takes the place of the first.
      (funcall ask)
      (should (equal sent '((7 "DIFF_REJECTED" "tab"))))
      (should (= 1 (length (agent-q-diff-open-reviews))))
      (should (claude-code-ide-mcp-handle-close-tab '((tab_name . "tab"))))
      (should-not (agent-q-diff-open-reviews)))))

;;;; agent-shell

(declare-function agent-shell--make-diff-infos "ext:agent-shell" (&rest arguments))

(defun writer-client-shell-review (infos on-accept on-reject id)
  "Have the user decide INFOS of agent-shell, and call ON-ACCEPT or ON-REJECT.
ID is that of the tool call.  ON-REJECT is called with the message."
  (agent-q-diff-review-change
   (mapcar (pcase-lambda (`(,path . ,infos))
             (pcase infos
               (`(,(map (:old "") (:new new))) (list :path path :content new))
               (_ (list :path path
                        :edits (mapcar (lambda (info)
                                         (list :old (map-elt info :old) :new (map-elt info :new)
                                               :line (let ((line (map-elt info :line)))
                                                       (and line (1- line)))))
                                       infos)))))
           (seq-group-by (lambda (info) (map-elt info :file)) infos))
   nil
   (lambda (result)
     (if (eq 'caller (plist-get result :writer))
         (funcall on-accept)
       (funcall on-reject (plist-get result :message))))
   :agent "Claude Code" :id id :writer 'caller-if-all))

(defun writer-client-in-shell (fragments)
  "Begin the review of FRAGMENTS, each (OLD NEW LINE), as agent-shell has them.
Return the function that says what was answered."
  (aqd-load-client writer-client-wanted 'agent-shell "compat" "acp" "shell-maker"
                   "agent-shell-0.74")
  (let ((answered nil))
    (writer-client-shell-review
     (agent-shell--make-diff-infos
      :acp-tool-call
      `((content . ,(vconcat (mapcar (pcase-lambda (`(,old ,new ,_))
                                       `((type . "diff") (path . ,aqd-file)
                                         (oldText . ,old) (newText . ,new)))
                                     fragments)))
        (locations . ,(and (nth 2 (car fragments))
                           `[((path . ,aqd-file) (line . ,(nth 2 (car fragments))))]))))
     (lambda () (setq answered 'allow))
     (lambda (message) (setq answered message))
     "toolu_1")
    (lambda () answered)))

(ert-deftest aqd-writer-client-agent-shell-s-agent-writes-all ()
  (writer-client-with-file
    (let ((answered (writer-client-in-shell '(("line 5\n" "five\n" nil) ("line 25" "x" nil)))))
      (aqd-in-diff (agent-q-diff-find-review "toolu_1")
        (agent-q-diff-accept-all))
      (should (eq 'allow (funcall answered)))
      (should (equal aqd-original-of-two (aqd-disk)))
      (aqd-write aqd-modified-of-two)
      (should (plist-get (agent-q-diff-note-written "toolu_1") :saved)))))

(ert-deftest aqd-writer-client-of-agent-shell-s-edit-emacs-writes-a-part ()
  (writer-client-with-file
    (let ((answered (writer-client-in-shell '(("line 5\n" "five\n" nil) ("line 25" "x" nil)))))
      (writer-client-decide 0 1)
      (should (string-prefix-p (format "✓ Accepted in part: 1 of 2 hunks is in %s, which is saved."
                                       aqd-file)
                               (funcall answered)))
      (should (equal writer-client-first-only (aqd-disk))))))

(ert-deftest aqd-writer-client-agent-shell-s-line-says-which-of-several ()
  (aqd-with-file "}\na\n}\n"
    (let ((answered (writer-client-in-shell '(("}" "];" 3)))))
      (aqd-in-diff (agent-q-diff-find-review "toolu_1")
        (should (string-search "\n-}\n+];\n" (buffer-substring-no-properties
                                              (point-min) (point-max))))
        (agent-q-diff-reject-all))
      (should (string-prefix-p "✗ Rejected: " (funcall answered))))
    ;; Without it, nobody knows.
    (should (string-search "the string is in the text 2 times, at lines 1, 3"
                           (funcall (writer-client-in-shell '(("}" "];" nil))))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-writer-client-agent-shell-s-call-is-withdrawn ()
  (writer-client-with-file
    (let ((answered (writer-client-in-shell '(("line 5\n" "five\n" nil)))))
      (should (agent-q-diff-cancel "toolu_1"))
      (should (string-search "None of the change is in the file." (funcall answered))))))

(ert-deftest aqd-writer-client-agent-shell-s-agent-writes-a-new-file ()
  (writer-client-with-file
    (delete-file aqd-file)
    (let ((answered (writer-client-in-shell '((nil "new\n" nil)))))
      (aqd-in-diff (agent-q-diff-find-review "toolu_1")
        (agent-q-diff-accept-all))
      (should (eq 'allow (funcall answered))))))

;;;; macher

(defvar macher-patch-buffer-ui)
(defvar macher-patch-ready-hook)
(declare-function macher--make-context "ext:macher" (&rest slots))
(declare-function macher--build-patch "ext:macher" (context fsm))
(declare-function macher-context--set-new-content-for-file "ext:macher" (path content context))
(declare-function macher-context--contents-for-file "ext:macher" (path context))
(declare-function macher-patch-buffer "ext:macher" (&optional workspace create))
(declare-function gptel-make-fsm "ext:gptel-request" (&rest slots))

(ert-deftest aqd-writer-client-macher-s-patch-is-one-review ()
  (writer-client-with-file
    (aqd-load-client writer-client-wanted 'macher "transient" "compat" "cond-let" "gptel" "macher")
    (let* ((root (file-name-directory aqd-file))
           (workspace (cons 'directory root))
           (context (macher--make-context :workspace workspace :prompt "Spell five" :dirty-p t))
           (status nil)
           (macher-patch-buffer-ui nil)
           (macher-patch-ready-hook
            (list (lambda ()
                    (agent-q-diff-review-diff
                     (buffer-substring-no-properties (point-min) (point-max)) default-directory
                     (lambda (result) (setq status (plist-get result :status))) nil
                     :agent "macher" :description "Spell five")))))
      (macher-context--contents-for-file aqd-file context)
      (macher-context--set-new-content-for-file aqd-file aqd-modified-of-two context)
      (macher-context--set-new-content-for-file (expand-file-name "new" root) "new\n" context)
      (save-window-excursion
        (switch-to-buffer "*scratch*")
        (macher--build-patch context (gptel-make-fsm))
        (should (equal "*scratch*" (buffer-name (window-buffer)))))
      (let ((review (car (agent-q-diff-open-reviews))))
        (should (equal "macher" (agent-q-diff-session-agent review)))
        (aqd-in-diff review
          (should (string-search "Spell five" (buffer-string)))
          (agent-q-diff-accept-all)))
      (should (eq 'accepted status))
      (should (equal aqd-modified-of-two (aqd-disk)))
      (should (equal "new\n" (aqd-bytes-of (expand-file-name "new" root)))))))

(provide 'agent-q-diff-writer-client-test)
;;; agent-q-diff-writer-client-test.el ends here
