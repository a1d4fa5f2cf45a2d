;;;; stockroom.asd -- how the shop is built

(defsystem "stockroom"
  :description "Items, stock movements and orders of a small shop."
  :license "GPL-3.0-or-later"
  :components ((:file "inventory")))
