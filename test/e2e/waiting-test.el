;;; waiting-test.el --- What happens while a review waits  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Minibuffers and other reviews that are open at the same time, programs
;; that decide, targets that vanish, and Emacs without a user.

;;; Code:

(require 'agent-q-diff-tmux)
(require 'agent-q-diff-test-help)

(defun waiting-later (form)
  "Have the Emacs under test evaluate FORM in a timer."
  (e2e-eval `(ignore (run-at-time 0 nil (lambda () ,form)))))

(defun waiting-in (buffer form)
  "Have a timer evaluate FORM in BUFFER of the Emacs under test."
  (waiting-later `(with-current-buffer ,buffer ,form)))

(defun waiting-see-selected (buffer)
  "Wait until BUFFER is in the selected window."
  (e2e-wait-for (equal (e2e-eval '(buffer-name (window-buffer))) buffer)))

(defun waiting-select (buffer)
  "Switch to BUFFER by key."
  (e2e-keys "C-x b")
  (e2e-see "Switch to buffer")
  (e2e-type buffer)
  (e2e-keys "RET")
  (waiting-see-selected buffer))

;;;; An open minibuffer

(defun waiting-in-M-x (way)
  "Let a proposal arrive by WAY while the user types a command's name."
  (e2e-with-emacs
    (e2e-keys "M-x")
    (e2e-see "^M-x")
    (e2e-type "what-")
    (e2e-see "^M-x what-")
    (e2e-propose way 'call (e2e-proposal "target"))
    (e2e-keys "r a q")
    (e2e-see "1 undecided hunk stays out of the file.  Finish\\? ")
    (e2e-keys "y")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 20)))
    (e2e-see "^M-x what-")
    (e2e-type "line")
    (e2e-see "^M-x what-line")
    (e2e-keys "RET")
    (e2e-see "^Line 1")
    (e2e-should-be-as-found)))

(ert-deftest e2e-minibuffer-open-when-a-filter-proposes ()
  (waiting-in-M-x 'filter))

(ert-deftest e2e-minibuffer-open-when-a-timer-proposes ()
  (waiting-in-M-x 'timer))

(ert-deftest e2e-minibuffer-open-and-review-aborted ()
  (e2e-with-emacs
    (e2e-keys "M-x")
    (e2e-see "^M-x")
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-keys "a C-]")
    (should (equal (e2e-answer 'call) '(:error agent-q-diff-cancelled
                                               "the user left it undecided; 1 of 3 hunks is in the file")))
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-type "what-line")
    (e2e-see "^M-x what-line")
    (e2e-keys "RET")
    (e2e-see "^Line 1")
    (e2e-should-be-as-found)))

(ert-deftest e2e-minibuffer-open-is-not-left-by-ESC-ESC-ESC ()
  (e2e-with-emacs
    (e2e-keys "M-x")
    (e2e-see "^M-x")
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-keys "a ESC ESC ESC r")
    (e2e-see (e2e-header "[1-9]/3" 1 1 1))
    (e2e-keys "r q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-wait-for (= (e2e-eval '(recursion-depth)) 1))
    (e2e-keys "C-g")
    (e2e-should-be-as-found)))

(ert-deftest e2e-minibuffer-opened-and-review-decided-by-a-program ()
  (dolist (way '(key filter timer))
    (e2e-with-emacs
      (e2e-propose way 'call (e2e-proposal "target"))
      (e2e-keys "M-x")
      (e2e-see "^M-x")
      (waiting-in "*Agent-Q Diff*" '(sly-agent-q-diff-accept-all))
      (e2e-wait-for (equal (e2e-read "target") (e2e-text 5 20 35)))
      ;; Its key does not get in the way of what is being typed.
      (e2e-type "what-line")
      (e2e-see "^M-x what-line")
      (should-not (e2e-answers))
      (e2e-keys "RET")
      (should (equal (e2e-answer 'call) '(:ok "accepted")))
      (e2e-should-be-as-found))))

(ert-deftest e2e-question-open-and-review-decided-by-a-program ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-keys "a q")
    (e2e-see "Finish\\? ")
    (waiting-in "*Agent-Q Diff*" '(sly-agent-q-diff-reject-all))
    (e2e-see "2 rejected · 0 pending")
    (e2e-keys "y")
    (should (equal (e2e-answer 'call) '(:ok "rejected")))
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-question-open-and-its-buffer-killed ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-keys "a q")
    (e2e-see "Finish\\? ")
    (waiting-later '(kill-buffer "*Agent-Q Diff*"))
    (e2e-wait-for (not (e2e-eval '(get-buffer "*Agent-Q Diff*"))))
    (e2e-keys "y")
    (should (equal (e2e-answer 'call)
                   '(:error agent-q-diff-cancelled
                     "its buffer was killed; 1 of 3 hunks is in the file")))
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-should-be-as-found)
    (should-not (e2e-eval '(seq-filter
                            (lambda (buffer)
                              (local-variable-p 'agent-q-diff-buffer-decision buffer))
                            (buffer-list))))))

(ert-deftest e2e-minibuffer-open-and-question-answered-n ()
  (e2e-with-emacs
    (e2e-keys "M-x")
    (e2e-see "^M-x")
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-keys "a q")
    (e2e-see "Finish\\? ")
    (e2e-press "n")
    (waiting-see-selected "*Agent-Q Diff*")
    (e2e-keys "r r q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-wait-for (= (e2e-eval '(recursion-depth)) 1))
    (e2e-keys "C-g")
    (e2e-should-be-as-found)))

(ert-deftest e2e-minibuffer-open-and-another-opened-in-the-review ()
  "Emacs throws to the innermost command loop to be rid of the first one."
  (e2e-with-emacs
    (e2e-keys "M-x")
    (e2e-see "^M-x")
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-keys "a M-x")
    (e2e-see "^M-x")
    (e2e-type "what-line")
    (e2e-keys "RET")
    (e2e-see "Line 16")
    (e2e-wait-for (= 1 (e2e-eval '(minibuffer-depth))))
    ;; Back from a minibuffer, Emacs 28 selects the other one.
    (while (not (equal (e2e-eval '(buffer-name (window-buffer))) "*Agent-Q Diff*"))
      (e2e-press "C-x o"))
    (e2e-keys "r r q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-wait-for (= (e2e-eval '(recursion-depth)) 1))
    (e2e-keys "C-g")
    (e2e-should-be-as-found)))

;;;; In the middle of something

(defun waiting-decide-and-check ()
  "Accept the first hunk of the proposal call for target, and finish."
  (e2e-keys "a r r q")
  (should (equal (e2e-answer 'call) '(:ok "accepted")))
  (should (equal (e2e-read "target") (e2e-text 5))))

(ert-deftest e2e-proposal-in-the-middle-of-a-key ()
  (dolist (way '(filter timer))
    (e2e-with-emacs
      (e2e-keys "C-x")
      (e2e-wait-for (equal (e2e-eval '(key-description (this-single-command-keys)))
                           "C-x"))
      (e2e-propose way 'call (e2e-proposal "target"))
      (waiting-decide-and-check)
      (e2e-keys "=")
      (e2e-see "^point=1 ")
      (e2e-should-be-as-found))))

(ert-deftest e2e-proposal-in-the-middle-of-a-search ()
  (dolist (way '(filter timer))
    (e2e-with-emacs
      (e2e-keys "C-s a")
      (e2e-see "I-search: a")
      (e2e-propose way 'call (e2e-proposal "target"))
      (waiting-decide-and-check)
      (mapc #'e2e-press '("C-g" "C-g"))
      (e2e-type "typed")
      (e2e-see "^typed")
      (should (equal (e2e-eval '(list (recursion-depth) isearch-mode
                                      overriding-terminal-local-map
                                      (buffer-string)))
                     '(0 nil nil "typed"))))))

(ert-deftest e2e-proposal-in-the-middle-of-a-question ()
  (e2e-with-emacs
    (e2e-call 'key 'question '(read-char-choice "Which? " '(?a ?b)))
    (e2e-see "^Which\\?")
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (waiting-decide-and-check)
    (e2e-keys "b")
    (should (equal (e2e-answer 'question) '(:ok ?b)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-proposal-where-input-interrupts ()
  (e2e-with-emacs
    (e2e-call 'key 'call `(while-no-input ,(e2e-proposal "target")))
    (e2e-see (e2e-header "[1-9]/3" 0))
    (waiting-decide-and-check)
    (e2e-should-be-as-found)))

(ert-deftest e2e-proposal-and-a-C-g-that-was-meant-for-something-else ()
  (dolist (way '(key filter timer))
    (e2e-with-emacs
      (e2e-eval '(advice-add 'pop-to-buffer :after
                             (lambda (&rest _) (setq quit-flag t))))
      (e2e-propose way 'call (e2e-proposal "target"))
      (waiting-decide-and-check)
      (e2e-should-be-as-found))))

(ert-deftest e2e-proposal-in-a-keyboard-macro ()
  (e2e-with-emacs
    (e2e--write-form "call" (list 'call (e2e-proposal "target")))
    (e2e-eval '(setq last-kbd-macro (kbd "<f5> a")))
    (e2e-keys "M-x")
    (e2e-see "^M-x")
    (e2e-type "call-last-kbd-macro")
    (e2e-keys "RET")
    (e2e-see (e2e-header "[1-9]/3" 1))
    (e2e-keys "r r q")
    (should (equal (e2e-answer 'call) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-recursive-edit-begun-in-the-review ()
  (dolist (leave '("C-M-c" "C-]"))
    (e2e-with-emacs
      (e2e-propose 'filter 'call (e2e-proposal "target"))
      (e2e-keys "a M-x")
      (e2e-see "^M-x")
      (e2e-type "recursive-edit")
      (e2e-keys "RET")
      (e2e-wait-for (= (e2e-eval '(recursion-depth)) 2))
      (e2e-keys "r r q")
      (e2e-see "Ended; the caller is answered once")
      (should-not (e2e-answers))
      (e2e-keys leave)
      (should (equal (e2e-answer 'call) '(:ok "accepted")))
      (should (equal (e2e-read "target") (e2e-text 5)))
      (e2e-should-be-as-found))))

(ert-deftest e2e-windows-rearranged-are-restored ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-keys "C-x 1 RET C-x 3 C-x 2 C-x o C-x o")
    (waiting-select "*Agent-Q Diff*")
    (waiting-decide-and-check)
    (e2e-should-be-as-found)))

(ert-deftest e2e-diff-buffer-after-its-review-decides-nothing ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (waiting-decide-and-check)
    (waiting-select "*Agent-Q Diff*")
    (mapc #'e2e-press '("n" "n" "a" "u" "r" "SPC" "C-c C-c" "C-c C-k" "q"))
    (waiting-select "*scratch*")
    (should (equal (e2e-read "target") (e2e-text 5)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-Emacs-left-in-mid-review-leaves-the-file-whole ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (e2e-keys "a C-x C-c")
    (e2e-see "1 review is not decided; exit Emacs anyway\\?")
    (e2e-type "yes")
    (e2e-keys "RET")
    (e2e-wait-for (equal (e2e-tmux "display-message" "-p" "#{pane_dead}") "1\n"))
    (should-not (e2e-answers))
    (should (equal (e2e-read "target") (e2e-text 5)))))

;;;; A second proposal

(defun waiting-propose-two (way)
  "Let a proposal arrive by WAY, and a second one during the first."
  (e2e-propose way 'outer (e2e-proposal "outer"))
  (e2e-propose way 'inner (e2e-proposal "inner" :description "Within"))
  (e2e-see "\\*Agent-Q Diff\\*<2>" " inner: hunk 1/3 · .* · Agent-Q")
  (waiting-see-selected "*Agent-Q Diff*<2>"))

(ert-deftest e2e-second-proposal-has-its-own-answer ()
  (dolist (way '(key filter timer))
    (e2e-with-emacs
      (waiting-propose-two way)
      (e2e-keys "r r r q")
      (should (equal (e2e-answer 'inner) '(:ok "rejected")))
      (should (equal (mapcar #'car (e2e-answers)) '(inner)))
      (waiting-see-selected "*Agent-Q Diff*")
      (e2e-keys "a r r q")
      (should (equal (e2e-answer 'outer) '(:ok "accepted")))
      (should (equal (e2e-read "inner") (e2e-text)))
      (should (equal (e2e-read "outer") (e2e-text 5)))
      (e2e-should-be-as-found))))

(ert-deftest e2e-outer-proposal-decided-first-is-answered-last ()
  (dolist (way '(key filter timer))
    (e2e-with-emacs
      (waiting-propose-two way)
      (waiting-select "*Agent-Q Diff*")
      (e2e-keys "a r r q")
      (e2e-see "Ended; the caller is answered once")
      (should-not (e2e-answers))
      (waiting-see-selected "*Agent-Q Diff*<2>")
      (e2e-keys "r r r q")
      (should (equal (e2e-answer 'inner) '(:ok "rejected")))
      (should (equal (e2e-answer 'outer) '(:ok "accepted")))
      (should (equal (mapcar #'car (e2e-answers)) '(inner outer)))
      (should (equal (e2e-read "inner") (e2e-text)))
      (should (equal (e2e-read "outer") (e2e-text 5)))
      (e2e-should-be-as-found))))

(ert-deftest e2e-outer-proposal-once-decided-stays-as-decided ()
  (e2e-with-emacs
    (waiting-propose-two 'filter)
    (waiting-select "*Agent-Q Diff*")
    (e2e-keys "a r r q")
    (e2e-see "Ended; the caller is answered once")
    (waiting-select "*Agent-Q Diff*")
    (mapc #'e2e-press '("p" "p" "a" "u" "C-c C-k"))
    (waiting-select "*Agent-Q Diff*<2>")
    (e2e-keys "C-c C-c")
    (should (equal (e2e-answer 'inner) '(:ok "accepted")))
    (should (equal (e2e-answer 'outer) '(:ok "accepted")))
    (should (equal (e2e-read "inner") (e2e-text 5 20 35)))
    (should (equal (e2e-read "outer") (e2e-text 5)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-outer-buffer-killed-during-the-inner-review ()
  (e2e-with-emacs
    (waiting-propose-two 'filter)
    (waiting-later '(kill-buffer "*Agent-Q Diff*"))
    (e2e-wait-for (not (e2e-eval '(get-buffer "*Agent-Q Diff*"))))
    (e2e-keys "a r r q")
    (should (equal (e2e-answer 'inner) '(:ok "accepted")))
    (should (equal (e2e-answer 'outer)
                   '(:error agent-q-diff-cancelled
                     "its buffer was killed; none of it is in the file")))
    (should (equal (e2e-read "inner") (e2e-text 5)))
    (should (equal (e2e-read "outer") (e2e-text)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-both-buffers-killed-at-once ()
  (dolist (way '(key filter timer))
    (e2e-with-emacs
      (waiting-propose-two way)
      (waiting-later '(mapc #'kill-buffer '("*Agent-Q Diff*<2>" "*Agent-Q Diff*")))
      (dolist (call '(inner outer))
        (should (equal (e2e-answer call) '(:error agent-q-diff-cancelled
                                                  "its buffer was killed; none of it is in the file")))
        (should (equal (e2e-read (symbol-name call)) (e2e-text))))
      (e2e-should-be-as-found)
      ;; A wake-up too many would be reported as an undefined key.
      (should-not (string-match-p "is undefined" (e2e-screen))))))

(ert-deftest e2e-top-level-ends-both-reviews ()
  (e2e-with-emacs
    (waiting-propose-two 'filter)
    (e2e-keys "a M-x")
    (e2e-see "^M-x")
    (e2e-type "top-level")
    (e2e-keys "RET")
    (pcase-dolist (`(,call . ,remains) '((inner . "1 of 3 hunks is in the file")
                                         (outer . "none of it is in the file")))
      (should (equal (e2e-answer call)
                     (list :error 'agent-q-diff-cancelled
                           (concat "the user left it undecided; " remains)))))
    (should (equal (e2e-read "inner") (e2e-text 5)))
    (should (equal (e2e-read "outer") (e2e-text)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-two-proposals-for-one-file ()
  (e2e-with-emacs
    (e2e-propose 'key 'outer (e2e-proposal "target"))
    (e2e-propose 'filter 'inner (e2e-proposal "target" :modified (e2e-text 10)))
    (e2e-keys "a q")
    (should (equal (e2e-answer 'inner) '(:ok "accepted")))
    (waiting-see-selected "*Agent-Q Diff*")
    (e2e-keys "r a a q")
    (should (equal (e2e-answer 'outer) '(:ok "accepted")))
    (should (equal (e2e-read "target") (e2e-text 10 20 35)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-question-open-and-a-second-proposal ()
  (e2e-with-emacs
    (e2e-propose 'filter 'outer (e2e-proposal "outer"))
    (e2e-keys "a q")
    (e2e-see "Finish\\? ")
    (e2e-propose 'filter 'inner (e2e-proposal "inner" :description "Within"))
    (e2e-see " inner: hunk 1/3 · .* · Agent-Q")
    (e2e-keys "r r r q")
    (should (equal (e2e-answer 'inner) '(:ok "rejected")))
    (e2e-see "Finish\\? ")
    (e2e-keys "y")
    (should (equal (e2e-answer 'outer) '(:ok "accepted")))
    (should (equal (e2e-read "outer") (e2e-text 5)))
    (should (equal (e2e-read "inner") (e2e-text)))
    (e2e-should-be-as-found)))

;;;; Targets that vanish

(ert-deftest e2e-target-buffer-killed-then-a ()
  (dolist (way '(key filter timer))
    (e2e-with-emacs
      (e2e-propose way 'call (e2e-proposal "target"))
      (e2e-keys "a")
      (e2e-see (e2e-header "[1-9]/3" 1))
      (e2e-eval '(kill-buffer "target"))
      (e2e-keys "a r q")
      (should (equal (e2e-answer 'call) '(:ok "accepted")))
      (should (equal (e2e-read "target") (e2e-text 5 20)))
      (e2e-should-be-as-found))))

(ert-deftest e2e-target-deleted-on-disk ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call (e2e-proposal "target"))
    (delete-file (e2e-path "target"))
    (e2e-keys "a")
    (e2e-see "Failed to apply hunk: .*/target was deleted on disk"
             (e2e-header "[1-9]/3" 0 0 3))
    (e2e-keys "q")
    (e2e-see "3 undecided hunks stay out of the file.  Finish\\? ")
    (e2e-keys "y")
    (pcase-exhaustive (e2e-answer 'call)
      (`(:error agent-q-diff-not-applied ,reason)
       (should (string-match-p "was deleted on disk" reason))))
    (should-not (e2e-read "target"))
    (e2e-should-be-as-found)))

;;;; The message for the agent

(ert-deftest e2e-tool-answers-a-cancel-with-a-message ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call
                 (cons 'agent-q-diff-tools-propose-file-edit
                       (cdr (e2e-proposal "target"))))
    (e2e-keys "C-]")
    (pcase-exhaustive (e2e-answer 'call)
      (`(:ok ,message)
       (should (string-match-p "\\`Error showing diff for .*: Review cancelled: "
                               message))
       (should-not (string-match-p "STOP" message))))
    (should (equal (e2e-read "target") (e2e-text)))
    (e2e-should-be-as-found)))

(ert-deftest e2e-tool-tells-which-hunks-are-in ()
  (e2e-with-emacs
    (e2e-propose 'filter 'call
                 (cons 'agent-q-diff-tools-propose-file-edit
                       (cdr (e2e-proposal "target"))))
    (e2e-keys "r a r q")
    (pcase-exhaustive (e2e-answer 'call)
      (`(:ok ,message)
       (should (string-match-p "\\`✓ Changes accepted and applied to " message))
       (should (string-match-p "^1 of 3 hunks is in the file\\.$" message))))
    (should (equal (e2e-read "target") (e2e-text 20)))
    (e2e-should-be-as-found)))

;;;; Nobody there

(defun waiting-batch (form)
  "Evaluate FORM in an Emacs under --batch without keys and return its output.
It fails if that does not end by itself soon."
  (with-temp-buffer
    (should
     (equal 0 (call-process
               "timeout" nil t nil (number-to-string e2e-limit-seconds)
               (or (getenv "EMACS") "emacs") "-Q" "--batch" "-L" e2e-lisp
               "-l" "sly-agent-q-diff" "--eval" (prin1-to-string form))))
    (buffer-string)))

(ert-deftest e2e-batch-without-keys-is-an-error-at-once ()
  (let ((e2e--folder (file-name-as-directory (make-temp-file "aqd" t))))
    (unwind-protect
        (let ((proposal (e2e-proposal "target")))
          (dolist (form `((condition-case err ,proposal (error (princ err)))
                          (progn
                            (run-at-time
                             0 nil (lambda ()
                                     (condition-case err ,proposal
                                       (error (princ err)))))
                            (sit-for 0.1)
                            (sleep-for 0.1))))
            (should (equal (waiting-batch form)
                           "(agent-q-diff-no-user a batch Emacs has no user to decide)"))
            (should (equal (e2e-read "target") (e2e-text)))))
      (delete-directory e2e--folder t))))

;;;; Windows and keys of the user, when a review appears

(defconst waiting-window-rules
  '((pop-up-frames t)
    (pop-up-windows nil)
    (display-buffer-alist
     (("." (display-buffer-reuse-window display-buffer-pop-up-window)
       (body-function . select-window))))
    (display-buffer-alist (("." (display-buffer-same-window) (inhibit-same-window . nil))))
    (display-buffer-alist (("." (display-buffer-pop-up-frame))))
    (display-buffer-alist (("." (display-buffer-in-new-tab))))
    (display-buffer-alist (("." (display-buffer-in-tab) (tab-name . "reviews"))))
    (display-buffer-base-action
     ((display-buffer-pop-up-window) (body-function . (lambda (window)
                                                        (select-window window)
                                                        (throw 'top-level nil)))))
    (window-buffer-change-functions
     ((lambda (_frame)
        (dolist (window (window-list))
          (when (string-prefix-p "*Agent-Q" (buffer-name (window-buffer window)))
            (select-window window))))))
    (window-configuration-change-hook
     ((lambda ()
        (dolist (window (window-list))
          (when (string-prefix-p "*Agent-Q" (buffer-name (window-buffer window)))
            (select-window window))))))
    (agent-q-diff-mode-hook ((lambda () (pop-to-buffer (current-buffer)))))
    (agent-q-diff-mode-hook ((lambda () (select-window (display-buffer (current-buffer))))))
    (agent-q-diff-mode-hook ((lambda () (pop-to-buffer-same-window (current-buffer)))))
    (agent-q-diff-mode-hook
     ((lambda ()
        (let ((buffer (current-buffer)))
          (add-hook 'window-buffer-change-functions
                    (lambda (_window) (select-window (get-buffer-window buffer)))
                    nil t)))))
    (diff-mode-hook ((lambda () (delete-other-windows) (switch-to-buffer (current-buffer)))))
    (after-change-major-mode-hook
     ((lambda ()
        (when (derived-mode-p 'agent-q-diff-mode)
          (switch-to-buffer (current-buffer))))))
    (agent-q-diff-session-changed-hook
     ((lambda ()
        (let ((buffer (seq-find (lambda (buffer)
                                  (string-prefix-p "*Agent-Q" (buffer-name buffer)))
                                (buffer-list))))
          (when buffer
            (pop-to-buffer buffer))))))
    (buffer-list-update-hook
     ((lambda ()
        (let ((window (seq-find (lambda (window)
                                  (string-prefix-p "*Agent-Q"
                                                   (buffer-name (window-buffer window))))
                                (window-list nil 'never))))
          (when (and window (not (eq window (selected-window))))
            (select-window window 'norecord)))))))
  "Variables of the user's, each (VARIABLE VALUE), by which a review is selected.")

(defun waiting-arrive (name)
  "Let a review of the file NAME arrive while the user types elsewhere."
  (e2e-write name (e2e-text))
  (waiting-later `(agent-q-diff-review ,(e2e-path name) ,(e2e-text) ,(e2e-text 5 20)
                                       "Shout" #'ignore))
  (e2e-wait-for (= 1 (e2e-eval '(length (agent-q-diff-open-reviews)))))
  ;; The hooks of redisplay have run then.
  (e2e-eval '(redisplay)))

(defun waiting-type-while-a-review-appears (rule name)
  "Let a review of the file NAME appear where RULE, as the user's, leads.
What the user types meanwhile has to arrive where it was typed."
  (pcase-let ((`(,variable ,value) rule))
    (e2e-eval `(ignore (defvar waiting-old)
                       (setq waiting-old ,variable)
                       (set ',variable ,(if (string-match-p "-\\(?:hook\\|functions\\)\\'"
                                                            (symbol-name variable))
                                            `(append ',value ,variable)
                                          `',value))))
    (waiting-arrive name)
    (e2e-type "banana")
    (e2e-wait-for (equal "banana" (e2e-eval '(with-current-buffer "*scratch*"
                                               (buffer-string)))))
    (should (equal (e2e-eval '(buffer-name (window-buffer))) "*scratch*"))
    (should (equal (e2e-read name) (e2e-text)))
    (e2e-eval '(ignore (mapc #'agent-q-diff-cancel (agent-q-diff-open-reviews))))
    (e2e-eval `(progn (setq ,variable waiting-old)
                      (with-current-buffer "*scratch*" (erase-buffer))
                      nil))))

(ert-deftest e2e-arriving-review-leaves-keys-where-they-are-typed ()
  (e2e-with-emacs
    (dolist (rule waiting-window-rules)
      (ert-info ((format "%S" rule))
        (waiting-type-while-a-review-appears
         rule (format "target-%d" (cl-position rule waiting-window-rules)))))))

(defun waiting-type-elsewhere (form name)
  "Type in *scratch* while FORM, in a timer, makes the review NAME appear."
  (waiting-later form)
  (e2e-see (format "Agent-Q Diff: %s" name))
  (e2e-type "banana")
  (e2e-wait-for (equal "banana" (e2e-eval '(with-current-buffer "*scratch*"
                                             (buffer-string)))))
  (should (equal (e2e-eval '(buffer-name (window-buffer))) "*scratch*"))
  (e2e-eval '(ignore (with-current-buffer "*scratch*" (erase-buffer)))))

(ert-deftest e2e-arriving-review-of-the-manual-s-client-says-who-writes ()
  (e2e-with-emacs
    (e2e-write "client.el" (aqd-manual-code "Complete example"))
    (e2e-write "target" (e2e-text))
    (e2e-eval `(ignore (load ,(e2e-path "client.el"))
                       (defvar waiting-sent nil)
                       (setq my-client-send (lambda (&rest answer)
                                              (push answer waiting-sent)))))
    (waiting-type-elsewhere
     `(my-client-ask 7 "Shout" '((,(e2e-path "target") "line 5\n" "LINE 5\n")
                                 (,(e2e-path "target") "line 20\n" "LINE 20\n")))
     "target")
    (e2e-see "^ # Note: If you accept all of it, My agent writes it; if a part, Emacs does\\.$"
             "^-line 5$")
    (waiting-select "*Agent-Q Diff: target*")
    ;; No key has to wait.
    (e2e-eval '(ignore (with-current-buffer "*Agent-Q Diff: target*"
                         (setq agent-q-diff-grace--end 0))))
    (e2e-keys "a")
    (e2e-see "Hunk 1 accepted; 1 of 2 decided, 1 pending")
    (should (equal (e2e-read "target") (e2e-text)))
    (e2e-keys "r q")
    (e2e-see "^target: 1 of 2 hunks in the file, My agent told")
    (should (equal (e2e-read "target") (e2e-text 5)))
    (should (string-prefix-p "Your tool was not run. ✓ Accepted in part: 1 of 2 hunks is in "
                             (nth 2 (car (e2e-eval 'waiting-sent)))))
    ;; All of it is the agent's to write.
    (waiting-later `(my-client-ask 8 "Shout" '((,(e2e-path "target") "line 20\n" "LINE 20\n"))))
    (e2e-see "^-line 20$")
    (waiting-select "*Agent-Q Diff: target*")
    (e2e-eval '(ignore (with-current-buffer "*Agent-Q Diff: target*"
                         (setq agent-q-diff-grace--end 0))))
    (e2e-keys "a q")
    (e2e-see "^target: 1 of 1 hunk accepted, for the agent to write, My agent told")
    (should (equal (e2e-read "target") (e2e-text 5)))
    (should (equal '(8 yes nil) (car (e2e-eval 'waiting-sent))))))

(ert-deftest e2e-arriving-review-of-a-program-s-diff-takes-no-window ()
  (e2e-with-emacs
    (e2e-write "target" "a\n")
    (waiting-type-elsewhere
     `(agent-q-diff-review-diff "--- a/target\n+++ b/target\n@@ -1 +1 @@\n-a\n+b\n"
                                ,(file-name-directory (e2e-path "target")) #'ignore nil
                                :agent "macher" :description "Say b")
     "target")
    (e2e-see "Say b" "^\\+b$")))

(defconst waiting-late-selections
  '((select-window (get-buffer-window "*Agent-Q Diff: target*"))
    (switch-to-buffer "*Agent-Q Diff: target*")
    (progn
      (pop-to-buffer "*Agent-Q Diff: target*")
      ;; Typed ahead, so that redisplay does not come in between.
      (setq unread-command-events (list ?a))))
  "Forms by which a timer selects a review.")

(ert-deftest e2e-arriving-review-that-no-key-selected-ignores-keys-that-decide ()
  (dolist (select waiting-late-selections)
    (ert-info ((prin1-to-string select))
      (e2e-with-emacs
        ;; The grace of what has appeared is over, and that of what follows is not.
        (waiting-arrive "target")
        (e2e-eval '(setq agent-q-diff-grace 1000))
        (waiting-later select)
        (waiting-see-selected "*Agent-Q Diff: target*")
        (e2e-type "aa")
        (e2e-see "^Ignored: the review was selected, but not by a key")
        (should (equal (e2e-read "target") (e2e-text)))
        ;; When the user goes there, keys decide.
        (e2e-keys "C-x b")
        (e2e-see "Switch to buffer")
        (e2e-type "notes")
        (e2e-keys "RET")
        (waiting-see-selected "notes")
        (e2e-eval '(ignore (with-current-buffer "*Agent-Q Diff: target*"
                             (setq agent-q-diff-grace--end 0))))
        (waiting-select "*Agent-Q Diff: target*")
        (e2e-keys "a")
        (e2e-wait-for (equal (e2e-read "target") (e2e-text 5)))))))

(ert-deftest e2e-arriving-review-leaves-the-minibuffer-and-the-window-below-it ()
  (dolist (pop-ups '(t nil))
    (let ((e2e-size '(80 . 24)))
      (e2e-with-emacs
        (e2e-eval `(setq pop-up-windows ,pop-ups))
        (e2e-keys "C-x 1")
        (e2e-keys "M-x")
        (e2e-see "^M-x")
        (e2e-type "what-")
        (waiting-arrive "target")
        (e2e-type "line")
        (e2e-see "^M-x what-line")
        (e2e-keys "RET")
        (e2e-see "^Line 1")
        (should (equal (e2e-eval '(buffer-name (window-buffer))) "*scratch*"))
        ;; Emacs 28 restores the windows when the minibuffer is left.
        (e2e-wait-for (equal '("*scratch*" "*Agent-Q Diff: target*")
                             (e2e-eval '(mapcar (lambda (window)
                                                  (buffer-name (window-buffer window)))
                                                (window-list)))))
        (should (equal (e2e-read "target") (e2e-text)))))))

(ert-deftest e2e-arriving-question-shows-its-edit-and-returns-to-the-window ()
  (e2e-with-emacs
    (e2e-eval '(setq agent-q-diff-permission-pause 0
                     display-buffer-alist
                     '(("." (display-buffer-pop-up-window) (body-function . select-window)))))
    (e2e-write "target" (e2e-text))
    (e2e-call 'timer 'call
              `(let ((agent-q-diff-project-root ,e2e--folder)
                     (agent-q-diff-log-file nil))
                 (agent-q-diff-tools-call
                  "edit_file" '(:path "target" :old_str "line 20" :new_str "LINE 20"
                                      :description "Shout"))))
    (e2e-see "\\[y]es")
    (e2e-keys "n")
    (should (eq :ok (car (e2e-answer 'call))))
    (e2e-eval '(setq display-buffer-alist nil))
    (e2e-should-be-as-found)))

(defun waiting-windows ()
  "Return the names of the buffers in the windows, from above."
  (e2e-eval '(mapcar (lambda (window) (buffer-name (window-buffer window)))
                     (window-list nil nil (frame-first-window)))))

(ert-deftest e2e-arriving-review-takes-no-window-of-a-file-under-review ()
  (let ((e2e-size '(80 . 24)))
    (e2e-with-emacs
      (e2e-write "one" (e2e-text))
      (e2e-eval `(ignore (find-file ,(e2e-path "one"))))
      (e2e-keys "C-x 1 C-n C-n")
      (e2e-wait-for (e2e-eval '(one-window-p)))
      (waiting-arrive "one")
      (e2e-keys "C-x o n")
      (waiting-see-selected "*Agent-Q Diff: one*")
      (e2e-write "two" (e2e-text))
      (waiting-later `(agent-q-diff-review ,(e2e-path "two") ,(e2e-text) ,(e2e-text 5)
                                           "Shout" #'ignore))
      (e2e-wait-for (= 2 (e2e-eval '(length (agent-q-diff-open-reviews)))))
      (should (equal (waiting-windows) '("one" "*Agent-Q Diff: one*")))
      (e2e-keys "r r")
      (e2e-keys "q")
      ;; There is room for the other one now.
      (e2e-wait-for (equal (waiting-windows) '("one" "*Agent-Q Diff: two*")))
      (should (equal "one" (e2e-eval '(buffer-name (window-buffer)))))
      (e2e-keys "C-x o r q")
      (e2e-wait-for (equal (waiting-windows) '("one")))
      (should (= 3 (e2e-eval '(line-number-at-pos (window-point))))))))

(provide 'waiting-test)
;;; waiting-test.el ends here
