;;; agent-q-diff-schema-test.el --- What tools take  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tools as they are registered, and the check of arguments.

;;; Code:

(require 'json)
(require 'agent-q-diff-project-help)

;;;; Document 003: test coverage

(defun aqd-schema-edit-file ()
  "Return the tool edit_file as it is registered."
  (seq-find (lambda (tool) (equal (plist-get tool :name) "edit_file"))
            (agent-q-diff-tools-list)))

(ert-deftest edit-file-tool-exists ()
  (should (aqd-schema-edit-file)))

(ert-deftest edit-file-is-moderate ()
  (should (eq (plist-get (aqd-schema-edit-file) :safety-level) 'moderate))
  (should (equal (plist-get (aqd-schema-edit-file) :categories) '(filesystem editing))))

(ert-deftest edit-file-has-required-parameters ()
  (should (equal (plist-get (aqd-schema-edit-file) :required) '("path" "old_str" "new_str")))
  (should (equal (alist-get 'required (plist-get (aqd-schema-edit-file) :parameters))
                 ["path" "old_str" "new_str"])))

(ert-deftest edit-file-has-description ()
  (should (string-search "exact string replacement"
                         (plist-get (aqd-schema-edit-file) :description))))

;;;; Arguments

(ert-deftest aqd-schema-input-validation ()
  (aqd-with-project "a\n"
    (pcase-dolist
        (`(,arguments ,message)
         '((nil "Missing parameter 'path'. edit_file needs path, old_str, new_str")
           ((:path "target.txt" :new_str "b")
            "Missing parameter 'old_str'. edit_file needs path, old_str, new_str")
           ((:path "target.txt" :old_str "b")
            "Missing parameter 'new_str'. edit_file needs path, old_str, new_str")
           ((:path "target.txt" :old_str "a" :new_str :null)
            "Missing parameter 'new_str'. edit_file needs path, old_str, new_str")
           ((:path 5 :old_str "a" :new_str "b")
            "Parameter 'path' must be a string, not an integer")
           ((:path "target.txt" :old_str ["a"] :new_str "b")
            "Parameter 'old_str' must be a string, not an array or object")
           ((:path "target.txt" :old_str "a" :new_str t)
            "Parameter 'new_str' must be a string, not a boolean")
           ((:path "target.txt" :old_str "a" :new_str "b" :shouldReplaceAll "true")
            "Parameter 'shouldReplaceAll' must be a boolean, not a string")
           ((:path "target.txt" :old_str "a" :new_str "b" :description 1.5)
            "Parameter 'description' must be a string, not a number")
           ((:path "target.txt" :old_str "a" :new_str "b" :replace_all t)
            "Unknown parameter 'replace_all'. edit_file takes path, old_str, \
new_str, description, shouldReplaceAll")
           ((:path "target.txt" :old_str "a" :oldString "a" :new_str "b")
            "Parameter 'old_str' is given twice")
           ("text" "The arguments must be an object: a hash table, an alist or a plist")
           ((:path) "The arguments must be an object, not a list of something else")))
      (should (equal (aqd-call-tool "edit_file" arguments)
                     (concat "Error: " message))))
    (should (equal (aqd-disk) "a\n"))))

(ert-deftest aqd-schema-empty-path ()
  (aqd-with-project "a\n"
    (should (string-prefix-p "Error: " (aqd-call-tool "edit_file" '(:path "" :old_str "a"
                                                                          :new_str "b"))))))

(ert-deftest aqd-schema-unknown-tool ()
  (should (equal (aqd-call-tool "delete_file" nil)
                 "Error: Unknown tool 'delete_file'. The tools are edit_file, \
propose_file_edit, propose_patch, propose_changes")))

(ert-deftest aqd-schema-arguments-as-json-gives-them ()
  (let ((json "{\"path\":\"target.txt\",\"old_str\":\"a\",\"new_str\":\"b\",\
\"shouldReplaceAll\":false,\"description\":null}"))
    (dolist (arguments
             (list (json-parse-string json)
                   (json-parse-string json :object-type 'alist)
                   (json-parse-string json :object-type 'plist)
                   (json-read-from-string json)
                   (let ((json-object-type 'plist)) (json-read-from-string json))
                   (let ((json-object-type 'hash-table)) (json-read-from-string json))
                   (let ((json-key-type 'string)) (json-read-from-string json))
                   '(("path" . "target.txt") ("oldString" . "a") ("newString" . "b"))
                   '("path" "target.txt" "old_str" "a" "new_str" "b")))
      (aqd-with-project "a\n"
        (should (string-prefix-p "✓" (aqd-call-tool "edit_file" arguments)))
        (should (equal (aqd-disk) "b\n"))))))

(ert-deftest aqd-schema-is-json ()
  (dolist (tool (agent-q-diff-tools-list))
    (let ((schema (plist-get tool :parameters)))
      (should (equal (json-parse-string (json-serialize schema) :object-type 'alist)
                     (json-parse-string (json-encode schema) :object-type 'alist)))
      (dolist (name (plist-get tool :required))
        (should (let-alist (alist-get (intern name) (alist-get 'properties schema))
                  (and (stringp .type) (stringp .description))))))))

(provide 'agent-q-diff-schema-test)
;;; agent-q-diff-schema-test.el ends here
