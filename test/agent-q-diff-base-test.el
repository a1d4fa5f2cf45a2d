;;; agent-q-diff-base-test.el --- Faces, and keys that stay as they are  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent's names for itself and its files are shown in the echo area, in
;; prompts and in lists.  Nothing there may mislead; a path that does is
;; refused by every tool and entry point.

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-list)
(require 'agent-q-diff-log)
(require 'agent-q-diff-turns)
(require 'agent-q-diff-taken-out)
(require 'agent-q-diff-project-help)
(require 'agent-q-diff-base)

(defvar meow-mode-state-list)

(ert-deftest aqd-base-modal-packages-leave-the-keys-alone ()
  (let ((states '((agent-q-diff-list-mode . motion)))
        (meow-mode-state-list '((agent-q-diff-grants-mode . normal))))
    (cl-letf (((symbol-function 'evil-initial-state)
               (lambda (mode &optional _) (alist-get mode states)))
              ((symbol-function 'evil-set-initial-state)
               (lambda (mode state) (push (cons mode state) states))))
      (dolist (mode '(agent-q-diff-mode sly-agent-q-diff-mode agent-q-diff-list-mode
                      agent-q-diff-grants-mode agent-q-diff-log-mode agent-q-diff-turns-mode
                      agent-q-diff-comments-mode agent-q-diff-taken-out-mode
                      agent-q-diff-transcript-mode))
        (with-temp-buffer
          (funcall mode)
          ;; What the user has set stays.
          (should (eq (alist-get mode states)
                      (if (eq mode 'agent-q-diff-list-mode) 'motion 'emacs)))
          (should (eq (alist-get mode meow-mode-state-list)
                      (if (eq mode 'agent-q-diff-grants-mode) 'normal 'insert))))))))

(ert-deftest aqd-base-faces-inherit-and-name-no-colors ()
  (dolist (face '(agent-q-diff-applied agent-q-diff-rejected agent-q-diff-differs
                  agent-q-diff-decided agent-q-diff-decided-header
                  agent-q-diff-header agent-q-diff-file-heading agent-q-diff-progress
                  agent-q-diff-warning agent-q-diff-reviews))
    (should (facep face))
    (pcase-dolist (`(,_ . ,attributes) (face-default-spec face))
      (should (plist-get attributes :inherit))
      (should-not (plist-get attributes :foreground))
      (should-not (plist-get attributes :background)))))

(ert-deftest aqd-base-others-are-silent ()
  (let ((inhibit-message nil))
    (message "ours")
    (agent-q-diff-base-silently
      (message "theirs"))
    (with-current-buffer (messages-buffer)
      (should (string-search "ours" (buffer-string)))
      (should-not (string-search "theirs" (buffer-string))))))

;;;; Showing something for an agent

(defun aqd-base-same-window (buffer _alist)
  "Show BUFFER in the selected window, whatever speaks against it."
  (set-window-dedicated-p nil nil)
  (set-window-buffer nil buffer)
  (selected-window))

(defun aqd-base-alone (buffer _alist)
  "Show BUFFER in the only window."
  (let ((window (split-window)))
    (set-window-buffer window buffer)
    (delete-other-windows window)
    window))

(defvar aqd-base-rules
  '((body-function nil (body-function . select-window))
    (same-window (display-buffer-same-window) (inhibit-same-window . nil))
    (same-window-by-force (aqd-base-same-window))
    (alone (aqd-base-alone))
    (switching ((lambda (buffer _)
                  (let ((display-buffer-alist nil)
                        (display-buffer-overriding-action nil))
                    (switch-to-buffer buffer nil t))
                  (selected-window))))
    (popping ((lambda (buffer _)
                (let ((display-buffer-alist nil)
                      (display-buffer-overriding-action nil))
                  (pop-to-buffer buffer))
                (selected-window))))
    (returning-nothing ((lambda (buffer _)
                          (let ((display-buffer-alist nil)
                                (display-buffer-overriding-action nil))
                            (pop-to-buffer buffer))
                          nil)))
    (failing ((lambda (&rest _) (error "Broken"))))
    (quitting ((lambda (&rest _) (signal 'quit nil))))
    (throwing ((lambda (&rest _) (throw 'aqd-base 'thrown))))
    (throwing-later nil (body-function . (lambda (window)
                                       (select-window window)
                                       (throw 'aqd-base 'thrown)))))
  "Display rules of users, each (NAME . ACTION).")

(defun aqd-base-show-by (action)
  "Show a buffer for an agent by ACTION, a display rule.
Return what changed for the user, and how many other windows show it."
  (with-temp-buffer
    (insert "one\ntwo\nthree\n")
    (goto-char 5)
    (let ((user (current-buffer))
          (buffer (generate-new-buffer "for an agent")))
      (unwind-protect
          (save-window-excursion
            (delete-other-windows)
            (set-window-buffer nil user)
            (goto-char 5)
            (set-window-point nil 5)
            (let* ((window (selected-window))
                   (display-buffer-alist (list (cons "for an agent" action)))
                   (thrown (catch 'aqd-base
                             (agent-q-diff-base-show buffer)
                             nil)))
              (list (and thrown 'thrown)
                    (and (not (eq window (selected-window))) 'other-window)
                    (and (not (eq user (window-buffer))) 'other-buffer)
                    (and (not (eq user (current-buffer))) 'other-current)
                    (and (/= 5 (window-point)) 'other-point)
                    (and (window-dedicated-p) 'dedicated)
                    (length (get-buffer-window-list buffer)))))
        (kill-buffer buffer)))))

(ert-deftest aqd-base-what-is-shown-for-an-agent-is-never-selected ()
  (dolist (rule (cons '(none) aqd-base-rules))
    (dolist (pop-up-windows '(t nil))
      (ert-info ((format "%s, pop-up-windows %s" (car rule) pop-up-windows))
        (should (equal '(nil nil nil nil nil nil 1) (aqd-base-show-by (cdr rule))))))))

(ert-deftest aqd-base-what-rules-want-nowhere-is-shown-nowhere ()
  (should (equal '(nil nil nil nil nil nil 0)
                 (aqd-base-show-by '((display-buffer-no-window))))))

(ert-deftest aqd-base-overriding-rules-select-nothing ()
  ;; A rule that displays, but does not say so, is followed by another.
  (dolist (rule (assq-delete-all 'returning-nothing (copy-sequence aqd-base-rules)))
    (let ((display-buffer-overriding-action (cdr rule))
          (switch-to-buffer-obey-display-actions t))
      (ert-info ((format "%s" (car rule)))
        (should (equal '(nil nil nil nil nil nil 1) (aqd-base-show-by nil)))))))

(ert-deftest aqd-base-a-dedicated-window-keeps-its-buffer ()
  (save-window-excursion
    (delete-other-windows)
    (switch-to-buffer "*scratch*")
    (let ((other (split-window))
          (buffer (generate-new-buffer "for an agent")))
      (unwind-protect
          (progn
            (set-window-dedicated-p other t)
            (set-window-dedicated-p (selected-window) 'soft)
            (agent-q-diff-base-show buffer)
            (should (eq 'soft (window-dedicated-p (selected-window))))
            (should (window-dedicated-p other))
            (should-not (memq buffer (list (window-buffer) (window-buffer other)))))
        (set-window-dedicated-p (selected-window) nil)
        (set-window-dedicated-p other nil)
        (kill-buffer buffer)))))

(ert-deftest aqd-base-a-low-window-is-not-split-once-more ()
  (save-window-excursion
    (delete-other-windows)
    (switch-to-buffer "*scratch*")
    (let ((buffers (list (generate-new-buffer "one") (generate-new-buffer "two"))))
      (unwind-protect
          (progn
            (mapc #'agent-q-diff-base-show buffers)
            (should (equal (mapcar #'window-buffer (window-list))
                           (list (get-buffer "*scratch*") (cadr buffers)))))
        (mapc #'kill-buffer buffers)))))

(ert-deftest aqd-base-a-warning-for-an-agent-selects-nothing ()
  (save-window-excursion
    (delete-other-windows)
    (switch-to-buffer "*scratch*")
    (let ((display-buffer-alist '(("Warnings" (display-buffer-pop-up-window)
                                   (body-function . select-window))))
          (noninteractive nil))
      (cl-letf (((symbol-function 'message) #'ignore))
        (agent-q-diff-base-warn "Something")))
    (should (get-buffer-window "*Warnings*"))
    (should (equal "*scratch*" (buffer-name (window-buffer))))
    (kill-buffer "*Warnings*")))

;;; Agents' strings, shown as what they are

;;;; The table

(ert-deftest aqd-visible-table-is-the-engines ()
  "Only the engine knows letters that look like others."
  :tags '(slow)
  (let* ((chars (seq-remove (lambda (char) (memq char '(?\t ?\n ?\f)))
                            (append (number-sequence 0 #x10ffff)
                                    (number-sequence #x3fff80 #x3fffff))))
         (text (mapconcat (lambda (char) (string ?a char ?\n)) chars ""))
         (by-context '(lookalike combining)))
    (should (equal (cl-loop for char in chars
                            when (agent-q-diff-visible--suspects (string char))
                            collect char)
                   (cl-loop for (index . deceit) in (agent-q-diff-engine-suspects text)
                            unless (memq deceit by-context)
                            collect (aref text index))))))

(ert-deftest aqd-visible-is-one-line-of-what-it-seems ()
  (agent-q-diff-build-ensure)
  (dolist (suspects (list (symbol-function 'agent-q-diff-module-suspects)
                          (lambda (_) (error "The engine has a bug"))))
    (cl-letf (((symbol-function 'agent-q-diff-module-suspects) suspects))
      (pcase-dolist (`(,text . ,shown)
                     '(("src/a.el" . "src/a.el") ("" . "")
                       ("a\nb\tc\fd" . "a<U+000A>b<U+0009>c<U+000C>d")
                       ("x\e[2J\u202egpj.el" . "x<U+001B>[2J<U+202E>gpj.el")
                       ("a\r\u2028b\u2029" . "a<U+000D><U+2028>b<U+2029>")
                       ("\377\u200b" . "<FF><U+200B>")
                       ("日本語/ünï 100%s" . "日本語/ünï 100%s")))
        (should (equal (agent-q-diff-visible text) shown))))))

(ert-deftest aqd-visible-names-letters-that-look-like-others ()
  (agent-q-diff-build-ensure)
  (should (equal (agent-q-diff-visible "p\u0430ypal.el") "p<U+0430>ypal.el"))
  (should (equal (agent-q-diff-visible "日\377p\u0430ypal.el") "日<FF>p<U+0430>ypal.el")))

(ert-deftest aqd-visible-does-not-load-the-engine ()
  (let ((loaded nil))
    (cl-letf (((symbol-function 'featurep) (lambda (&rest _) nil))
              ((symbol-function 'agent-q-diff-build-ensure)
               (lambda () (setq loaded t))))
      (should (equal (agent-q-diff-visible "a\u202eb") "a<U+202E>b")))
    (should-not loaded)))

(ert-deftest aqd-visible-cuts-what-is-long-and-keeps-what-may-stay ()
  (should (equal (agent-q-diff-visible "abcdef" 4) "abcd… and 2 more characters"))
  ;; Of a long path, the name of the file stays.
  (let ((path (concat (mapconcat (lambda (n) (format "folder %d/" n)) (number-sequence 1 100) "")
                      (make-string 250 ?n) "\u202e.el")))
    (dolist (shown (list (agent-q-diff-visible path)
                         (string-trim (agent-q-diff-visible-name path) "\"" "\"")))
      (should (string-prefix-p "folder 1/folder 2/" shown))
      (should (string-match-p "…([0-9]+ more characters)…" shown))
      (should (string-suffix-p (concat "/" (make-string 250 ?n) "<U+202E>.el") shown))
      (should (length< shown 550))))
  (should (equal (agent-q-diff-visible "a\tb\nc" nil '(?\t)) "a\tb<U+000A>c")))

;;;; Paths that mislead

(defconst aqd-visible-bad-paths
  '("tar\nget.txt" "target.txt\r" "tar\eget.txt" "a\u202etxt.el" "target.txt\u200b"
    "tar\u2066get.txt" "a\0b" "tar\\get.txt" "tar\377get.txt" "tar\ud800get.txt" "")
  "Names that a person and a program, or two programs, read differently.")

(defun aqd-visible-proposal (path)
  "Return arguments of `propose_file_edit' for PATH."
  `(:path ,path :original "a\n" :modified "b\n" :description "d"))

(defun aqd-visible-patch (path)
  "Return arguments of `propose_patch' for PATH."
  `(:path ,path :diff "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n" :description "d"))

(defmacro aqd-visible-error (&rest body)
  "Run BODY and return the text of its error, or nil."
  (declare (indent 0) (debug t))
  `(condition-case err (progn ,@body nil)
     (error (agent-q-diff-error-text err))))

(defconst aqd-visible-ways-in
  (list
   (lambda (path)
     (aqd-call-tool "edit_file" `(:path ,path :old_str "a" :new_str "b")))
   (lambda (path) (aqd-call-tool "propose_file_edit" (aqd-visible-proposal path)))
   (lambda (path) (aqd-call-tool "propose_patch" (aqd-visible-patch path)))
   (lambda (path) (agent-q-diff-tools-propose-file-edit path "a\n" "b\n" "d"))
   (lambda (path)
     (let (answer)
       (agent-q-diff-tools-call-async "propose_file_edit" (aqd-visible-proposal path)
                                      (lambda (message) (setq answer message)))
       answer))
   (lambda (path)
     (aqd-visible-error (sly-agent-q-show-diff-and-wait path "a\n" "b\n" "d")))
   (lambda (path)
     (aqd-visible-error (agent-q-diff-review-and-wait path "a\n" "b\n" "d")))
   (lambda (path)
     (plist-get (agent-q-diff-session-result
                 (agent-q-diff-review path "a\n" "b\n" "d" nil))
                :reason))
   (lambda (path)
     (plist-get (agent-q-diff-session-result
                 (agent-q-diff-review path "a\n" "b\n" "d" nil :detached t))
                :reason))
   (lambda (path)
     (plist-get (agent-q-diff-session-result
                 (agent-q-diff-review-patch path "@@ -1 +1 @@\n-a\n+b\n" "d" nil))
                :reason)))
  "All ways in which a path reaches the package.
Each is a function that takes one, and returns what the caller reads.")

(ert-deftest aqd-visible-no-way-in-takes-a-path-that-misleads ()
  (aqd-with-project "a\n"
    (let ((default-directory aqd-project))
      (dolist (path aqd-visible-bad-paths)
        (dolist (way aqd-visible-ways-in)
          (ert-info ((format "%S" path) :prefix "path: ")
            (cl-letf (((symbol-function 'recursive-edit)
                       (lambda () (ert-fail "It was shown"))))
              (should (string-match-p
                       "[Tt]he path \\(contains a\\|is empty\\|must be a string\\)"
                       (funcall way path)))))))
      (should-not (agent-q-diff-open-reviews))
      (should (equal (directory-files aqd-project nil "^[^.]") '("target.txt"))))))

(ert-deftest aqd-visible-where-a-path-leads-is-another-matter ()
  "A proposal for a file outside the project is shown, with a warning."
  (aqd-with-project "a\n"
    (let ((agent-q-diff-project-root (expand-file-name "sub" aqd-project)))
      (make-directory agent-q-diff-project-root)
      (should (string-prefix-p
               "✓" (aqd-play "C-c C-c" (lambda ()
                                         (aqd-call-tool "propose_file_edit"
                                                        (aqd-visible-proposal
                                                         aqd-file)))))))))

;;;; Names where they are shown

(defconst aqd-visible-name "re\u00a0ad\u3000me.txt"
  "A file name that a person may have, but that reads like another.")

(defmacro aqd-visible-with-file (&rest body)
  "Run BODY in a project whose file `file' has a name that reads like another."
  (declare (indent 0) (debug t))
  `(aqd-with-project "a\n"
     (let ((file (expand-file-name aqd-visible-name aqd-project)))
       (rename-file aqd-file file)
       (setq aqd-file file)
       ,@body)))

(defun aqd-visible-should-be (text)
  "Check that TEXT has the names of the test's file and agent as they are."
  (should (stringp text))
  (should-not (string-match-p "[\u00a0\u3000\u202e\e\r]" text))
  (should (string-search "re<U+00A0>ad<U+3000>me.txt" text)))

(defmacro aqd-visible-messages (&rest body)
  "Run BODY and return all messages that it gave, as one string."
  (declare (indent 0) (debug t))
  `(let (messages)
     (cl-letf (((symbol-function 'message)
                (lambda (format &rest arguments)
                  (when format
                    (push (apply #'format format arguments) messages)))))
       ,@body)
     (string-join (nreverse messages) " ")))

(defun aqd-visible-begin ()
  "Begin a review by an agent whose name reads like another, and return it."
  (agent-q-diff-review aqd-file "a\n" "b\n" "d" #'ignore
                       :agent "Cla\u202eude\e[2J\nYou"))

(ert-deftest aqd-visible-names-in-the-echo-area ()
  (aqd-visible-with-file
    (let* (review
           (said (aqd-visible-messages (setq review (aqd-visible-begin)))))
      (aqd-visible-should-be said)
      (should (string-search "\"Cla<U+202E>ude<U+001B>[2J<U+000A>You\" proposes" said))
      (setf (agent-q-diff-session-call review)
            (agent-q-diff-call-make :caller 'somebody))
      (aqd-visible-should-be
       (aqd-visible-messages (agent-q-diff-abandon #'identity)))
      (agent-q-diff-cancel review))))

(ert-deftest aqd-visible-names-in-lists-and-lines ()
  (aqd-visible-with-file
    (let ((review (aqd-visible-begin)))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (aqd-visible-should-be header-line-format))
      (dolist (_ '(open ended))
        (let ((row (car (aqd-rows-of #'agent-q-diff-list))))
          (should (equal (nth 0 row) "Cla<U+202E>ude<U+001B>[2J<U+000A>You"))
          (aqd-visible-should-be (nth 1 row)))
        (agent-q-diff-cancel review))
      (mapc #'agent-q-diff-forget (agent-q-diff-past-reviews)))))

(ert-deftest aqd-visible-names-in-the-question ()
  (aqd-visible-with-file
    (let ((agent-q-diff-tools-policy 'ask)
          prompt)
      (cl-letf (((symbol-function 'read-from-minibuffer)
                 (lambda (said &rest _)
                   (setq prompt (substring-no-properties said)
                         agent-q-diff-permit--answer 'deny)
                   "")))
        (with-current-buffer (aqd-visit) (insert "typed\n"))
        (aqd-play "C-l" (lambda ()
                          (aqd-call-tool "edit_file"
                                         `(:path ,aqd-visible-name
                                           :old_str "a" :new_str "b")))))
      (aqd-visible-should-be prompt)
      (should (string-match-p "unsaved edits in re<U" prompt)))))

(ert-deftest aqd-visible-names-in-notes-and-errors ()
  (aqd-visible-with-file
    (should-not (string-match-p
                 "[\u00a0\u3000]"
                 (aqd-visible-error
                   (agent-q-diff-review-and-wait
                    (concat aqd-file "/") "a\n" "b\n" "d"))))
    (let ((review (agent-q-diff-review
                   aqd-file "a\n" "b\n" "d" #'ignore
                   :notes '("The diff names another file: x\n@@ -1 +1 @@\n-a"))))
      (with-current-buffer (agent-q-diff-session-buffer review)
        (should (= 1 (how-many "^@@" (point-min) (point-max))))
        (should (string-search "# Note: The diff names another file: x<U+000A>@@"
                               (buffer-string))))
      (agent-q-diff-cancel review))))

(ert-deftest aqd-visible-name-of-the-buffer-of-a-text ()
  (let ((review (agent-q-diff-review aqd-visible-name "a\n" "b\n" "d" #'ignore
                                     :detached t)))
    (aqd-visible-should-be (buffer-name (aqd-target-of review)))
    (agent-q-diff-cancel review)))

(ert-deftest aqd-base-no-warning-ends-with-a-colon-and-nothing ()
  (should (equal "an error of the kind `error'" (agent-q-diff-error-text '(error ""))))
  (should (equal "an error of the kind `agent-q-diff-error'"
                 (agent-q-diff-error-text '(agent-q-diff-error " "))))
  (should (equal "why" (agent-q-diff-error-text '(agent-q-diff-error "why"))))
  (let (warned)
    (cl-letf (((symbol-function 'display-warning)
               (lambda (_type message &rest _) (push message warned))))
      (agent-q-diff-base-warn "Edit was not run: ")
      (agent-q-diff-base-warn "Edit was not run: why"))
    (should (equal '("Edit was not run: why" "Edit was not run") warned))))

(provide 'agent-q-diff-base-test)
;;; agent-q-diff-base-test.el ends here
