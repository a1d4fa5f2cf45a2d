;;;; stockroom.asd -- how the shop is built

(defsystem "stockroom"
  :description "Items, stock movements and orders of a small shop."
  :license "GPL-3.0-or-later"
  :components ((:file "inventory"))
  :in-order-to ((test-op (test-op "stockroom/tests"))))

(defsystem "stockroom/tests"
  :depends-on ("stockroom")
  :components ((:file "tests"))
  :perform (test-op (operation system)
             (symbol-call '#:stockroom '#:run-tests)))
