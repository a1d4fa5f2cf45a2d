;;; run-ert.el --- Runs one ERT suite in batch  -*- lexical-binding: t; -*-

;;; Commentary:

;; usage: emacs -Q --batch -l run-ert.el -f agent-q-diff-ert-run SUITE COUNTS
;;
;; Runs the tests of the file SUITE and writes "PASSED FAILED SKIPPED" to the
;; file COUNTS.  The counts go to a file because a test may print anything, and
;; because an Emacs that died says so by leaving none.  If the environment
;; variable AGENT_Q_DIFF_QUICK is set, tests with the tag `slow' do not run.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'pp)

(defun agent-q-diff-ert--print-failure (test)
  "Print the condition with which TEST failed, in full.
ERT's own report abbreviates long strings and deep lists in Emacs 28,
which are just the diffs and buffers that our tests compare."
  (let ((result (ert-test-most-recent-result test)))
    (when (ert-test-result-with-condition-p result)
      (let ((print-length nil) (print-level nil))
        (message "\nFAILED %S\n%s" (ert-test-name test)
                 (pp-to-string (ert-test-result-with-condition-condition result)))))))

(defun agent-q-diff-ert-run ()
  "Run the suite that the command line names, and exit."
  (let ((suite (pop command-line-args-left))
        (counts (pop command-line-args-left))
        (tests (if (getenv "AGENT_Q_DIFF_QUICK") '(not (tag slow)) t))
        (load-prefer-newer t))
    (load (expand-file-name suite) nil t t)
    (let* ((stats (ert-run-tests-batch tests))
           (skipped (ert-stats-skipped stats))
           (failed (ert-stats-completed-unexpected stats))
           (passed (ert-stats-completed-expected stats)))
      (dolist (test (ert-select-tests tests t))
        (unless (ert-test-result-expected-p test (ert-test-most-recent-result test))
          (agent-q-diff-ert--print-failure test)))
      (let ((n-left-out (- (length (ert-select-tests t t)) (ert-stats-total stats))))
        (unless (zerop n-left-out)
          (message "%d slow tests are left to make test" n-left-out)))
      (write-region (format "%d %d %d\n" passed failed skipped) nil counts nil 'quiet)
      (kill-emacs (if (zerop failed) 0 1)))))

;;; run-ert.el ends here
