;;; agent-q-diff-own-patch-test.el --- Patches of agents' own tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)
(require 'agent-q-diff-own-patch)

(defvar aqd-own-patch-results nil
  "The results that were told, newest first.")

(defun aqd-own-patch-file (name)
  "Return the absolute name of the file NAME beside the test's."
  (expand-file-name name (file-name-directory aqd-file)))

(defun aqd-own-patch-text (name)
  "Return the text of the file NAME, or nil if there is none."
  (let ((file (aqd-own-patch-file name)))
    (and (file-exists-p file)
         (with-temp-buffer
           (insert-file-contents file)
           (buffer-string)))))

(defun aqd-own-patch-decide (&rest lines)
  "Have a patch of Codex's with LINES decided, and return its review."
  (let ((arguments (make-hash-table :test #'equal)))
    (puthash "tool" "apply_patch" arguments)
    (puthash "session" "12345678-9abc" arguments)
    (puthash "diff" (concat "*** Begin Patch\n" (string-join lines "\n") "\n*** End Patch\n")
             arguments)
    (agent-q-diff-own-patch-decide
     arguments (lambda (result) (push result aqd-own-patch-results)))))

(defun aqd-own-patch-of-two (&optional other)
  "Have the patch of a line in the test's file, and of a new file OTHER, decided."
  (aqd-own-patch-decide "*** Update File: target.txt" "@@" "-two" "+TWO"
                        (concat "*** Add File: " (or other "new.txt")) "+new"))

(defun aqd-own-patch-message ()
  "Return the message of the only result."
  (should (= 1 (length aqd-own-patch-results)))
  (plist-get (car aqd-own-patch-results) :message))

(defmacro aqd-own-patch-with-files (&rest body)
  "Run BODY with the test's file, as a call of Codex."
  (declare (indent 0) (debug t))
  `(aqd-with-file "one\ntwo\n"
     (let ((agent-q-diff-project-root (file-name-directory aqd-file))
           (agent-q-diff-caller (list "Codex"))
           (aqd-own-patch-results nil))
       (unwind-protect (progn ,@body)
         (agent-q-diff-revoke-grants))
       (aqd-should-leave-nothing))))

(ert-deftest aqd-own-patch-says-who-writes-and-what-became-of-it ()
  (aqd-own-patch-with-files
    (aqd-in-diff (aqd-own-patch-of-two)
      (should (string-search
               "Emacs writes what you decide, in all files at once; Codex's tool apply_patch \
(session 12345678) is not run."
               (buffer-string)))
      (agent-q-diff-accept-all))
    (should (string-match-p
             "\\`The patch was not run: Emacs made what was decided, in all files at once\\.\n✓ Accepted"
             (aqd-own-patch-message)))
    (should (equal (aqd-disk) "one\nTWO\n"))
    (should (equal (aqd-own-patch-text "new.txt") "new\n"))))

(ert-deftest aqd-own-patch-that-is-rejected-claims-nothing ()
  (aqd-own-patch-with-files
    (aqd-in-diff (aqd-own-patch-of-two)
      (agent-q-diff-reject-all))
    (should (string-match-p "\\`The patch was not run\\.\n✗ Rejected" (aqd-own-patch-message)))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (should-not (aqd-own-patch-text "new.txt"))))

(ert-deftest aqd-own-patch-is-made-without-asking-after-a-grant ()
  (aqd-own-patch-with-files
    (aqd-in-diff (aqd-own-patch-of-two)
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (agent-q-diff-allow-agent)))
    (setq aqd-own-patch-results nil)
    (let (said)
      (setq said (aqd-said (aqd-own-patch-decide "*** Update File: target.txt" "@@" "-one" "+ONE"
                                                 "*** Delete File: new.txt")))
      (should (equal said "Codex edited 2 files, by your grant")))
    (should (string-search "✓ Accepted" (aqd-own-patch-message)))
    (should (equal (aqd-disk) "ONE\nTWO\n"))
    (should-not (aqd-own-patch-text "new.txt"))))

(ert-deftest aqd-own-patch-with-a-protected-file-is-shown-all-the-same ()
  (aqd-own-patch-with-files
    (let ((agent-q-diff-tools-policy 'allow))
      (aqd-in-diff (aqd-own-patch-of-two ".env")
        (should (string-search "PROTECTED" (buffer-string)))
        (should-not agent-q-diff-own-tool-mode)
        (should (equal (aqd-disk) "one\ntwo\n"))
        (agent-q-diff-reject-all)))))

(ert-deftest aqd-own-patch-that-the-policy-denies-is-not-shown ()
  (aqd-own-patch-with-files
    (let ((agent-q-diff-tools-policy 'deny))
      (should-not (aqd-own-patch-of-two)))
    (should (string-prefix-p "The patch was not run.\n" (aqd-own-patch-message)))
    (should (equal (aqd-disk) "one\ntwo\n"))))

(ert-deftest aqd-own-patch-of-which-a-part-does-not-apply-is-never-made-without-asking ()
  (aqd-own-patch-with-files
    (let ((agent-q-diff-tools-policy 'allow))
      (should (string-search
               "Error"
               (condition-case err
                   (progn (aqd-own-patch-decide "*** Update File: target.txt" "@@" "-gone" "+GONE"
                                                "*** Add File: new.txt" "+new")
                          (aqd-own-patch-message))
                 (error (concat "Error: " (error-message-string err)))))))
    (should (equal (aqd-disk) "one\ntwo\n"))
    (should-not (aqd-own-patch-text "new.txt"))))

(provide 'agent-q-diff-own-patch-test)
;;; agent-q-diff-own-patch-test.el ends here
