;;; agent-q-diff-session-test.el --- The reviews that are open  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'agent-q-diff-test-help)

(ert-deftest aqd-session-mode-line-of-the-users-is-kept ()
  (pcase-dolist (`(,before . ,after) '((nil . (""))
                                       ("mine" . ("" "mine"))
                                       ((:eval "mine") . ("" (:eval "mine")))
                                       (mine . ("" mine))
                                       (("mine" "his") . ("mine" "his"))))
    (let ((global-mode-string before))
      (aqd-with-file aqd-original-of-two
        (let ((review (aqd-begin-review-telling nil)))
          (should (equal global-mode-string
                         (append after (list agent-q-diff-reviews-mode-line))))
          (agent-q-diff-cancel review)))
      (should (equal global-mode-string after)))))

(ert-deftest aqd-session-two-for-one-file ()
  (let ((aqd-answers nil))
    (aqd-with-file aqd-original-of-two
      (let ((one (aqd-begin-review aqd-original-of-two (aqd-numbered 30 '((5 . "a\nb")))))
            (two (aqd-begin-review aqd-original-of-two
                                   (aqd-numbered 30 '((5 . "z") (25 . "x"))))))
        (should-not (eq (agent-q-diff-session-buffer one)
                        (agent-q-diff-session-buffer two)))
        (should (equal (agent-q-diff-open-reviews) (list one two)))
        (agent-q-diff-accept one 0)
        (should-error (agent-q-diff-accept two 0) :type 'agent-q-diff-conflict)
        (agent-q-diff-accept two 1)
        (aqd-in-diff two
          (should (equal (aqd-signs)
                         '((1 . "[DOES NOT APPLY]") (2 . "[APPLIED]")))))
        (should (equal (aqd-disk)
                       (aqd-numbered 30 '((5 . "a\nb") (25 . "x")))))
        (agent-q-diff-end one)
        (agent-q-diff-end two)
        (should (equal (mapcar (lambda (answer) (plist-get answer :status)) aqd-answers)
                       '(partial accepted))))
      (aqd-should-leave-nothing))))

(ert-deftest aqd-session-j-goes-to-the-next ()
  (aqd-with-file aqd-original-of-two
    (let ((one (aqd-begin-review aqd-original-of-two aqd-modified-of-two))
          (two (aqd-begin-review aqd-original-of-two aqd-modified-of-two)))
      (save-window-excursion
        (switch-to-buffer (agent-q-diff-session-buffer one))
        (aqd-press "j")
        (should (eq (window-buffer) (agent-q-diff-session-buffer two)))
        (aqd-press "j")
        (should (eq (window-buffer) (agent-q-diff-session-buffer one))))
      (mapc #'agent-q-diff-cancel (list one two)))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-session-a-file-leads-to-its-review ()
  (aqd-with-file aqd-original-of-two
    (let ((review (aqd-begin-review aqd-original-of-two aqd-modified-of-two)))
      (save-window-excursion
        (find-file aqd-file)
        (agent-q-diff-go-to-review)
        (should (eq (window-buffer) (agent-q-diff-session-buffer review)))
        (aqd-press "a q y")
        (find-file aqd-file)
        ;; It has ended.
        (agent-q-diff-go-to-review)
        (should (derived-mode-p 'agent-q-diff-mode))
        (kill-buffer)
        (with-temp-buffer
          (should-error (agent-q-diff-go-to-review) :type 'user-error))))
    (aqd-should-leave-nothing)))

(ert-deftest aqd-session-mode-line-can-be-clicked ()
  (let ((map (get-text-property 1 'local-map (agent-q-diff-reviews-mode-line))))
    (should (eq 'agent-q-diff-list (lookup-key map [mode-line mouse-1])))
    (should (eq 'agent-q-diff-go-to-review (lookup-key map [mode-line mouse-3])))))

;;;; The echo area

(defconst aqd-session-keys "(a accepts, r rejects, q finishes, ? lists the keys)"
  "What the message says that introduces a review.")

(ert-deftest aqd-session-echo-area-cuts-the-description-never-a-key ()
  (dolist (width '(79 99 199 60))
    (cl-letf (((symbol-function 'agent-q-diff-base-echo-width) (lambda () width)))
      (dolist (description (list "" "Fix it" (make-string 300 ?x) (make-string 300 ?漢)
                                 (concat (make-string 70 ?y) "\nmore")
                                 "First\n\nsecond\nthird" "\n  late\n"
                                 (propertize (make-string 90 ?z) 'invisible t 'display "")))
        (dolist (agent (list nil "Claude Code" (make-string 40 ?A)))
          (aqd-with-file aqd-original-of-two
            (let ((said ""))
              (cl-letf* (((symbol-function 'message)
                          (lambda (format &rest arguments)
                            (setq said (apply #'format format arguments))))
                         (review (agent-q-diff-review aqd-file aqd-original-of-two
                                                      aqd-modified-of-two description
                                                      #'ignore :agent agent))
                         (keys (agent-q-diff-reviews--introduction review))
                         (first (agent-q-diff-session-headline review)))
                (ert-info ((format "%d: %s\n%s" width said keys))
                  (should (<= (string-width keys) width))
                  (should (string-suffix-p aqd-session-keys keys))
                  (should (string-suffix-p "; M-x agent-q-diff-list" said))
                  (should (string-search "target.txt" said))
                  (dolist (line (list keys said))
                    (should-not (text-property-not-all 0 (length line) 'invisible nil line))
                    (should-not (string-search "second" line))
                    (should-not (string-search "\n" line)))
                  ;; As much of it as there is room for.
                  (unless (or (string-empty-p first) (= width 60))
                    (should (or (string-search first keys)
                                (<= (- width 1) (string-width keys) width)))
                    (when (= width 199)
                      (should (string-search (substring first 0 4) said))
                      (should (<= (string-width said) width)))))
                (agent-q-diff-cancel review)))))))))

(ert-deftest aqd-session-headline-is-the-first-line-of-the-description ()
  (pcase-dolist (`(,description . ,first) '(("one" . "one") ("" . "") ("  \n" . "")
                                            ("\n one  two \n" . "one two")
                                            ("one \r\ntwo" . "one …")
                                            ("a\u202eb" . "a<U+202E>b")))
    (should (equal first (substring-no-properties
                          (agent-q-diff-session-headline
                           (agent-q-diff-session-create :description description)))))))

(provide 'agent-q-diff-session-test)
;;; agent-q-diff-session-test.el ends here
