;;;; tests.lisp -- tests of the shop

(in-package :stockroom)

(defun test-prices ()
  "Check that prices have the euro sign in front."
  (assert (string= "€12.50" (format-price 1250)))
  (assert (string= "-€0.05" (format-price -5))))

(defun run-tests ()
  "Run every test."
  (test-prices)
  t)
