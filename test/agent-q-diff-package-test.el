;;; agent-q-diff-package-test.el --- What the package promises as a whole  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Options and their types, the headers and the autoloads, what the manual
;; and the README must have, and must not have, and the layers as they are
;; when the code runs.

;;; Code:

(require 'agent-q-diff-project-help)
(require 'agent-q-diff-server)
(require 'lisp-mnt)
(require 'wid-edit)
(require 'cus-edit)

(defconst aqd-package-lisp (file-name-directory (locate-library "agent-q-diff"))
  "Folder of the package's Lisp files.")

(defun aqd-package-features ()
  "Return the package's features, in the order of their files' names."
  (mapcar (lambda (file) (intern (file-name-base file)))
          (directory-files aqd-package-lisp t "agent-q-diff[a-z-]*\\.el\\'")))

(mapc #'require (aqd-package-features))

(defun aqd-package-symbols (predicate)
  "Return the package's own symbols of which PREDICATE is true, sorted."
  (let (found)
    (mapatoms (lambda (symbol)
                (when (and (string-prefix-p "agent-q-diff" (symbol-name symbol))
                           (funcall predicate symbol))
                  (push symbol found))))
    (sort found #'string<)))

(defun aqd-package-options ()
  "Return the package's options.  Hooks of modes are Emacs's own business."
  (aqd-package-symbols
   (lambda (symbol)
     (and (custom-variable-p symbol)
          (not (string-suffix-p "-mode-hook" (symbol-name symbol)))))))

;;;; Options

(ert-deftest aqd-package-every-option-has-a-type-that-takes-its-default ()
  (should (> (length (aqd-package-options)) 25))
  (dolist (option (aqd-package-options))
    (let ((type (get option 'custom-type))
          (default (eval (car (get option 'standard-value)) t)))
      (should type)
      (should (widgetp (widget-convert type)))
      (ert-info ((format "%s: %S" option default))
        (should (widget-apply (widget-convert type) :match default))))))

(ert-deftest aqd-package-every-option-is-documented-and-in-a-group ()
  (let ((grouped (let (found)
                   (cl-labels ((walk (group)
                                 (pcase-dolist (`(,member ,kind)
                                                (get group 'custom-group))
                                   (if (eq kind 'custom-group)
                                       (walk member)
                                     (push member found)))))
                     (walk 'agent-q-diff))
                   found)))
    (dolist (option (aqd-package-options))
      (ert-info ((symbol-name option))
        (should (memq option grouped))
        (should (string-match-p
                 "\\`[A-Z].*[.:]$"
                 (documentation-property option 'variable-documentation t)))))))

(ert-deftest aqd-package-customize-shows-every-option ()
  "The widgets are really made, as `customize-group' makes them."
  (save-window-excursion
    (dolist (option (aqd-package-options))
      (ert-info ((symbol-name option))
        (with-temp-buffer
          (should (widget-create (custom-variable-type option)
                                 :value (symbol-value option))))))))

;;;; Headers and autoloads

(ert-deftest aqd-package-main-file-has-the-headers ()
  (with-temp-buffer
    (insert-file-contents (expand-file-name "agent-q-diff.el" aqd-package-lisp))
    (should (equal (lm-summary) "Review an AI agent's edits hunk by hunk"))
    (should (lm-header "author"))
    (should (equal (read (lm-header "package-requires")) '((emacs "28.1"))))
    (should (equal (lm-header "SPDX-License-Identifier") "GPL-3.0-or-later"))
    (should (lm-commentary))))

(defun aqd-package-in-files (files regexp)
  "Return what REGEXP finds in FILES of the package, symbols."
  (let ((names '()))
    (dolist (file files names)
      (with-temp-buffer
        (insert-file-contents (expand-file-name file aqd-package-lisp))
        (while (re-search-forward regexp nil t)
          (push (intern (match-string 1)) names))))))

(ert-deftest aqd-package-main-file-knows-what-a-package-manager-would-autoload ()
  "Without one, whoever required it is told to call \\`M-x agent-q-diff-list'.
The connectors for SLY and gptel are required by their own names."
  (let ((cookies (aqd-package-in-files
                  (directory-files aqd-package-lisp nil "\\`agent-q-diff.*\\.el\\'")
                  "^;;;###autoload\n([a-z-]+ '?\\([^ ()\n]+\\)")))
    (should (memq 'agent-q-diff-list cookies))
    (should-not (seq-difference
                 cookies
                 (append '(agent-q-diff-gptel-register)
                         (aqd-package-in-files '("agent-q-diff.el")
                                               "^(autoload '\\([^ ]+\\)"))))))

(ert-deftest aqd-package-main-file-names-the-files-that-define-what-it-autoloads ()
  (with-temp-buffer
    (insert-file-contents (expand-file-name "agent-q-diff.el" aqd-package-lisp))
    (let ((n 0))
      (while (re-search-forward "^(autoload '\\([^ ]+\\) \"\\([^\"]+\\)\"" nil t)
        (let ((name (intern (match-string 1)))
              (file (concat (match-string 2) ".el")))
          (cl-incf n)
          (should (memq name (aqd-package-in-files
                              (list file)
                              "^(\\(?:cl-\\)?def[a-z-]+ \\([^ ()\n]+\\)")))))
      (should (> n 20)))))

;;;; The manual

(defun aqd-package-in-manual (regexp)
  "Return the names that REGEXP finds in the manual's source, sorted."
  (let ((names '()))
    (with-temp-buffer
      (insert-file-contents (expand-file-name "../doc/agent-q-diff.texi"
                                              aqd-package-lisp))
      (while (re-search-forward regexp nil t)
        (push (intern (match-string 1)) names)))
    (sort names #'string<)))

(ert-deftest aqd-package-manual-is-for-this-version ()
  (should (equal (aqd-package-in-manual
                  "^This manual is for agent-q-diff, version \\(.*\\)\\.$")
                 (list (intern (with-temp-buffer
                                 (insert-file-contents
                                  (expand-file-name "agent-q-diff.el"
                                                    aqd-package-lisp))
                                 (lm-header "version")))))))

(ert-deftest aqd-package-manual-has-every-command-and-nothing-else ()
  (let ((commands '()))
    (mapatoms (lambda (symbol)
                (when (and (string-match-p "\\`\\(?:sly-\\)?agent-q-"
                                           (symbol-name symbol))
                           (not (string-match-p "--" (symbol-name symbol)))
                           (commandp symbol))
                  (push symbol commands))))
    (should (equal (aqd-package-in-manual "^@deffnx? Command \\([^ \n]+\\)")
                   (sort commands #'string<)))))

(ert-deftest aqd-package-manual-has-every-option-and-nothing-else ()
  (should (equal (aqd-package-in-manual "^@defopt \\([^ \n]+\\)")
                 (seq-difference (aqd-package-options)
                                 '(agent-q-diff-lisp-mode agent-q-diff-pending-marks-mode
                                   agent-q-diff-pending-mode)))))

(ert-deftest aqd-package-manual-has-every-error-and-nothing-else ()
  (should (equal (remq 'agent-q-diff-error
                       (aqd-package-in-manual "^@itemx? \\(agent-q-diff-[a-z-]+\\)$"))
                 (remq 'agent-q-diff-error
                       (aqd-package-symbols
                        (lambda (symbol) (get symbol 'error-conditions)))))))

(ert-deftest aqd-package-manual-has-the-default-of-every-option ()
  "A default that is a symbol, number or boolean stands there as it is."
  (let ((manual (aqd-manual-node nil)))
    (dolist (option (seq-difference (aqd-package-options)
                                 '(agent-q-diff-lisp-mode agent-q-diff-pending-marks-mode
                                   agent-q-diff-pending-mode)))
      (ert-info ((symbol-name option))
        (should (string-match (format "^@defopt %s\nDefault: \\(.\\)" option) manual))
        (let ((default (eval (car (get option 'standard-value)) t)))
          (when (atom default)
            (unless (stringp default)
              (should (eql (match-beginning 1)
                           (string-search (format "@code{%S}" default) manual
                                          (match-beginning 1)))))))))))

(defun aqd-package-keys (map)
  "Return the keys of MAP that run a command of the package, as strings.
Keys that only remap a command of Emacs, menus, and what no key can be
typed for are left out, and so is what says that a key means nothing."
  (let ((keys '()))
    (named-let walk ((map map) (prefix []))
      (map-keymap
       (lambda (event binding)
         (let ((key (vconcat prefix (vector event))))
           (cond
            ((memq event '(remap menu-bar agent-q-diff-permit-wake)))
            ((keymapp binding) (walk binding key))
            ;; What depends on the buffer.
            ((and (eq 'menu-item (car-safe binding)) (equal "" (nth 1 binding))
                  (string-prefix-p "agent-q-" (format "%s" (nth 2 binding))))
             (push (key-description key) keys))
            ((and (symbolp binding)
                  (string-match-p "\\`\\(?:sly-\\)?agent-q-" (symbol-name binding))
                  (not (eq binding 'agent-q-diff-permit-ignore)))
             ;; The key is called so.
             (push (string-replace "<backtab>" "S-TAB" (key-description key)) keys)))))
       map))
    keys))

(defun aqd-package-keymaps ()
  "Return the package's keymaps, symbols."
  (aqd-package-symbols
   (lambda (symbol) (and (boundp symbol) (keymapp (symbol-value symbol))))))

(ert-deftest aqd-package-manual-has-every-key-of-the-diff-buffer ()
  (let ((node (aqd-manual-node "Keys"))
        (keys (aqd-package-keys agent-q-diff-mode-map))
        (case-fold-search nil))
    (should (> (length keys) 25))
    ;; The last four remap what other keys of Emacs run.
    (dolist (key (append keys '("C-/" "C-?" "C-M-c" "C-]")))
      (ert-info (key)
        (should (string-match-p (format "^@item.* @kbd{%s}" (regexp-quote key)) node))))))

(ert-deftest aqd-package-manual-has-every-key-of-other-buffers ()
  (let ((manual (aqd-manual-node nil))
        (maps (aqd-package-keymaps)))
    (should (memq 'agent-q-diff-transcript-mode-map maps))
    (dolist (map maps)
      (dolist (key (aqd-package-keys (symbol-value map)))
        (ert-info ((format "%s of %s" key map))
          (should (string-search (format "@kbd{%s}" key) manual)))))))

(ert-deftest aqd-package-manual-has-every-tool-and-parameter ()
  (let ((node (aqd-manual-node "Tools")))
    (dolist (tool (agent-q-diff-tools-list))
      (ert-info ((plist-get tool :name))
        (should (string-match (format "^@item %s\n" (plist-get tool :name)) node))
        (let ((entry (substring node (match-end 0)
                                (string-search "\n\n" node (match-end 0)))))
          (pcase-dolist (`(,name . ,_) (alist-get 'properties
                                                  (plist-get tool :parameters)))
            (should (string-search (format "@code{%s}" name) entry))))))))

(ert-deftest aqd-package-manual-has-every-function-for-programs ()
  "Those are what the main file autoloads beside commands."
  (dolist (function (seq-remove
                     #'commandp
                     (aqd-package-in-files '("agent-q-diff.el")
                                           "^(autoload '\\([^ ]+\\)")))
    (ert-info ((symbol-name function))
      (should (memq function (aqd-package-in-manual "^@defunx? \\([^ \n]+\\)"))))))

;;;; The README

(ert-deftest aqd-package-readme-names-only-what-is-there ()
  "What it has in backquotes or calls is a function, an option or a file."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "../README.md" aqd-package-lisp))
    (let ((n 0))
      (while (re-search-forward "[`('( ]\\(\\(?:sly-\\)?agent-q-diff[a-z-]*\\)[`) \n]" nil t)
        (backward-char)
        (let ((name (intern (match-string 1))))
          (ert-info ((symbol-name name))
            (cl-incf n)
            (should (or (fboundp name) (boundp name) (featurep name))))))
      (should (> n 15)))))

(ert-deftest aqd-package-readme-has-keys-that-the-diff-buffer-has ()
  (let ((keys (aqd-package-keys agent-q-diff-mode-map))
        (n 0))
    (with-temp-buffer
      (insert-file-contents (expand-file-name "../README.md" aqd-package-lisp))
      (re-search-forward "^| key |.*\n.*\n")
      (while (looking-at "| \\(.*?\\) |.*\n")
        (goto-char (match-end 0))
        (dolist (key (split-string (match-string 1) "` `\\|`" t))
          (ert-info (key)
            (cl-incf n)
            ;; In a table, a bar must be escaped.
            (should (member (string-replace "\\|" "|" key) keys))))))
    (should (>= n 10))))

;;;; Layers

(defun aqd-package-layers ()
  "Return an alist from each Lisp file of doc/map.md to its line there.
Each file may use those above it."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "../doc/map.md" aqd-package-lisp))
    (cl-loop while (re-search-forward "^- `lisp/\\([a-z-]+\\)\\.el`" nil t)
             collect (cons (match-string 1) (line-number-at-pos)))))

(defvar aqd-package-inside nil
  "The function that is being called and the row of its file, (ROW . FUNCTION).")

(defun aqd-package-calls (function)
  "Call FUNCTION and return (VALUE . CALLS).
VALUE is what it returns, and CALLS are those of the package's functions
meanwhile, in order, each as (CALLER CALLED).  Each of the two is (ROW
. FUNCTION), with the row of its file in the map; CALLER is nil if Emacs
called."
  (let ((layers (aqd-package-layers))
        calls advised)
    (dolist (symbol (aqd-package-symbols
                     (lambda (symbol)
                       (and (functionp symbol)
                            (not (subrp (symbol-function symbol)))
                            ;; Emacs calls these for each access to a structure.
                            (not (get symbol 'cl-deftype-satisfies))
                            ;; It is the body of a macro, and calls what is in that.
                            (not (eq symbol 'agent-q-diff-base--keep-selection))
                            (not (string-suffix-p "-p" (symbol-name symbol)))))))
      (when-let* ((file (symbol-file symbol 'defun))
                  (row (alist-get (file-name-base file) layers nil nil #'equal))
                  (called (cons row symbol))
                  (advice (lambda (original &rest arguments)
                            (push (list aqd-package-inside called) calls)
                            (let ((aqd-package-inside called))
                              (apply original arguments)))))
        (advice-add symbol :around advice)
        (push (cons symbol advice) advised)))
    (unwind-protect
        (let ((value (funcall function)))
          (should (< 50 (length calls)))
          (cons value (nreverse calls)))
      (pcase-dolist (`(,symbol . ,advice) advised)
        (advice-remove symbol advice)))))

(defun aqd-package-climbs (function)
  "Call FUNCTION and return (VALUE . CLIMBS).
VALUE is what it returns, and CLIMBS are the calls meanwhile from a file to one
that is lower in the map, as from `aqd-package-calls'."
  (pcase-let ((`(,value . ,calls) (aqd-package-calls function)))
    (cons value
          (seq-filter (pcase-lambda (`(,caller ,called))
                        (and caller (> (car called) (car caller))))
                      calls))))

(ert-deftest aqd-package-accepting-a-hunk-climbs-no-layer ()
  "A function that is handed down, or a hook, may call up; here none does."
  (aqd-with-open-review aqd-twenty-original aqd-twenty-proposed
    (with-current-buffer (agent-q-diff-session-buffer review)
      (switch-to-buffer (current-buffer))
      (aqd-goto-hunk 1)
      (should (equal '(t) (aqd-package-climbs (lambda ()
                                                (aqd-press "a")
                                                t)))))
    (should (equal aqd-twenty-with-first (aqd-disk)))
    (agent-q-diff-end review)))

(ert-deftest aqd-package-accepting-a-hunk-asks-nothing-twice ()
  "What a key has found out is passed on, not found out again.
Counted are the calls of the package's functions, and how many of them are of
another file than the call before.  What reads a structure, predicates and what
the module does are not counted; the functions of `post-command-hook' are, both
after the key and, as a keyboard macro has it, before it."
  (aqd-with-open-review aqd-twenty-original aqd-twenty-proposed
    (with-current-buffer (agent-q-diff-session-buffer review)
      (switch-to-buffer (current-buffer))
      (aqd-goto-hunk 1)
      (let* ((calls (cdr (aqd-package-calls (lambda () (aqd-press "a")))))
             (by-key (cl-member-if (lambda (call) (eq 'agent-q-diff-accept-hunk (cdadr call)))
                                   calls))
             (n-of (lambda (function) (cl-count function by-key :key #'cdadr))))
        (should (<= (length calls) 220))
        (should (<= (cl-loop for (before after) on (cons nil (mapcar #'caadr calls))
                             while after
                             count (not (eql before after)))
                    125))
        (dolist (function '(agent-q-diff-buffer-context
                            agent-q-diff-file-change-follow
                            agent-q-diff-progress-update-header-line
                            agent-q-diff-signs-show-committed
                            agent-q-diff-target-edit))
          (ert-info ((symbol-name function))
            (should (= 1 (funcall n-of function)))))))
    (should (equal aqd-twenty-with-first (aqd-disk)))
    (agent-q-diff-end review)))

(ert-deftest aqd-package-edit-file-climbs-no-layer ()
  (aqd-with-project aqd-twenty-original
    (let ((agent-q-diff-tools-policy 'allow))
      (should (equal '(t)
                     (aqd-package-climbs
                      (lambda ()
                        (string-prefix-p "✓" (aqd-edit "line 3\n" "three\n"))))))
      (should (equal aqd-twenty-with-first (aqd-disk))))))

;;;; Calls

(ert-deftest aqd-package-a-proposal-of-an-agent-makes-few-calls ()
  "What was found once is passed on.  Protected names are compiled meanwhile."
  (agent-q-diff-build-ensure)
  (aqd-with-file aqd-twenty-original
    (let ((request (json-serialize
                    `((version . 1) (tool . "propose_file_edit") (agent . "an agent")
                      (directory . ,(file-name-directory aqd-file))
                      (arguments . ((path . ,aqd-file) (description . "Why")
                                    (original . ,aqd-twenty-original)
                                    (modified . ,aqd-twenty-proposed))))))
          (client (make-pipe-process :name "aqd-client" :noquery t)))
      (unwind-protect
          (pcase-let* ((agent-q-diff-guard--compiled nil)
                       (`(,review . ,calls)
                        (aqd-package-calls
                         (lambda ()
                           (agent-q-diff-server--filter client (concat request "\n"))
                           (car (agent-q-diff-open-reviews))))))
            (should (equal "an agent" (agent-q-diff-session-agent review)))
            (should (< (length calls) 450))
            (agent-q-diff-end review))
        (delete-process client)))))

;;;; Autoloads

(defun aqd-package-unknown-commands (file names)
  "Return those of NAMES that are no commands in an Emacs that has loaded FILE."
  (with-temp-buffer
    (call-process (expand-file-name invocation-name invocation-directory) nil t nil
                  "-Q" "--batch" "-L" aqd-package-lisp "-l" file "--eval"
                  (format "(prin1 (seq-remove #'commandp '%S))" names))
    (read (buffer-string))))

(ert-deftest aqd-package-commands-are-known-whatever-file-is-required ()
  "Those of messages, README and manual, but for Agent-Q's, and keys of lists."
  (let ((named (aqd-package-in-files
                (append '("../README.md" "../doc/agent-q-diff.texi")
                        (directory-files aqd-package-lisp nil "\\.el\\'"))
                "M-x \\(agent-q-diff-[a-z-]+\\)"))
        (documented (seq-remove
                     (lambda (name)
                       (string-match-p
                        "\\`\\(?:sly-\\|agent-q-diff-\\(?:list\\|log\\|taken-out\\)-\\)"
                        (symbol-name name)))
                     (aqd-package-in-manual "^@deffnx? Command \\([^ \n]+\\)"))))
    (should (memq 'agent-q-diff-log named))
    (should (memq 'agent-q-diff-help documented))
    (dolist (file '("agent-q-diff-tools" "agent-q-diff-gptel"
                    "sly-agent-q-diff"))
      (ert-info (file)
        (should-not (aqd-package-unknown-commands file named))))
    (should-not (aqd-package-unknown-commands "agent-q-diff-server"
                                              (append documented named)))))

(ert-deftest aqd-package-what-is-not-loaded-yet-is-described ()
  (let* ((file (expand-file-name "agent-q-diff.el" aqd-package-lisp))
         (forms (with-temp-buffer
                  (insert-file-contents file)
                  (cl-loop for form = (ignore-errors (read (current-buffer)))
                           while form
                           when (eq 'autoload (car form)) collect form)))
         (names (mapcar (lambda (form) (cadr (nth 1 form))) forms)))
    (should (memq 'agent-q-diff-review names))
    ;; Another Emacs, which has loaded nothing else.
    (with-temp-buffer
      (let ((status (call-process
                     (expand-file-name invocation-name invocation-directory) nil t nil
                     "-Q" "--batch" "-L" aqd-package-lisp "-l" "agent-q-diff" "--eval"
                     (format "(dolist (name '%S)
  (let ((before (list (car (split-string (documentation name t) \"\n\"))
                      (commandp name) (macrop name))))
    (autoload-do-load (symbol-function name) name)
    (unless (equal before (list (car (split-string (documentation name t) \"\n\"))
                                (commandp name) (macrop name)))
      (error \"%%s\" name))))"
                             names))))
        (ert-info ((buffer-string))
          (should (eq 0 status)))))))

(provide 'agent-q-diff-package-test)
;;; agent-q-diff-package-test.el ends here
