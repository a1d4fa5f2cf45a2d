;;;; stockroom.lisp -- items, stock movements and orders of a small shop

(defpackage :stockroom
  (:use :common-lisp)
  (:export #:item
           #:make-item
           #:item-sku
           #:item-title
           #:item-price
           #:item-quantity
           #:invalid-field
           #:insufficient-stock
           #:check-item
           #:add-item
           #:find-item
           #:remove-item
           #:receive
           #:withdraw
           #:movements-of
           #:make-order
           #:add-line
           #:order-total
           #:fulfill
           #:report-low-stock))

(in-package :stockroom)

;;; Parameters

(defparameter *field-limit* 80
  "The longest text, in characters, that a field of an item may hold.")

(defparameter *reorder-point* 5
  "The quantity below which an item counts as low on stock.")

(defvar *items* (make-hash-table :test #'equal)
  "All known items, by SKU.")

(defvar *movements* '()
  "Every change of stock, newest first, as a list of MOVEMENT structures.")

;;; Data

(defstruct item
  "One thing that the shop sells.  PRICE is in cents."
  (sku "" :type string)
  (title "" :type string)
  (supplier "" :type string)
  (shelf "" :type string)
  (price 0 :type integer)
  (quantity 0 :type integer))

(defstruct movement
  "One change of stock: DELTA is positive for goods that came in."
  (sku "" :type string)
  (delta 0 :type integer)
  (reason :unknown :type keyword)
  (time 0 :type integer))

(defstruct order
  "What one customer wants: LINES is a list of (SKU . COUNT)."
  (number 0 :type integer)
  (customer "" :type string)
  (discount 0 :type rational)
  (lines '() :type list))

(defstruct verdict
  "The outcome of checking one field; PROBLEM is nil if all is well."
  field
  value
  problem)

;;; Conditions

(define-condition stockroom-error (error)
  ()
  (:documentation "The parent of all errors of this library."))

(define-condition invalid-field (stockroom-error)
  ((verdict :initarg :verdict :reader invalid-field-verdict))
  (:report (lambda (condition stream)
             (let ((verdict (invalid-field-verdict condition)))
               (format stream "The field ~A is ~A: ~S"
                       (verdict-field verdict)
                       (verdict-problem verdict)
                       (verdict-value verdict))))))

(define-condition insufficient-stock (stockroom-error)
  ((sku :initarg :sku :reader insufficient-stock-sku)
   (wanted :initarg :wanted :reader insufficient-stock-wanted)
   (present :initarg :present :reader insufficient-stock-present))
  (:report (lambda (condition stream)
             (format stream "~D of ~A wanted, ~D present"
                     (insufficient-stock-wanted condition)
                     (insufficient-stock-sku condition)
                     (insufficient-stock-present condition)))))

;;; Money

(defun format-price (cents &optional (stream nil))
  "Write CENTS to STREAM as an amount in euros, such as €12.50 – never 12,50 €.
Return the text if STREAM is nil."
  (multiple-value-bind (euros rest) (truncate (abs cents) 100)
    (format stream "~:[~;-~]€~D.~2,'0D" (minusp cents) euros rest)))

(defun discounted (cents rate)
  "Return CENTS less RATE, a rational between 0 and 1, rounded to cents."
  (check-type rate (rational 0 1))
  (values (round (* cents (- 1 rate)))))

;;; Fields

(defparameter *blank-characters*
  '(#\Space #\Tab #\Newline #\Return #\Page)
  "The characters that alone do not make a name.")

(defun blank-p (text)
  "Return true if TEXT holds nothing but white space."
  (every (lambda (char) (member char *blank-characters*))
         text))

(defgeneric check-field (name value)
  (:documentation "Return a verdict on VALUE as the field NAME of an item."))

(defmethod check-field ((name (eql :sku)) value)
  (let ((problem nil))
    (unless (stringp value)
      (setf problem :not-a-string))
    (when (and (null problem) (zerop (length value)))
      (setf problem :empty))
    (when (and (null problem) (> (length value) *field-limit*))
      (setf problem :too-long))
    (make-verdict :field name :value value :problem problem)))

(defmethod check-field ((name (eql :title)) value)
  (let ((problem nil))
    (unless (stringp value)
      (setf problem :not-a-string))
    (when (and (null problem) (blank-p value))
      (setf problem :empty))
    (when (and (null problem) (> (length value) *field-limit*))
      (setf problem :too-long))
    (make-verdict :field name :value value :problem problem)))

(defmethod check-field ((name (eql :supplier)) value)
  (let ((problem nil))
    (unless (stringp value)
      (setf problem :not-a-string))
    (when (and (null problem) (zerop (length value)))
      (setf problem :empty))
    (when (and (null problem) (> (length value) *field-limit*))
      (setf problem :too-long))
    (make-verdict :field name :value value :problem problem)))

(defmethod check-field ((name (eql :shelf)) value)
  (let ((problem nil))
    (unless (stringp value)
      (setf problem :not-a-string))
    (when (and (null problem) (blank-p value))
      (setf problem :empty))
    (when (and (null problem) (> (length value) *field-limit*))
      (setf problem :too-long))
    (make-verdict :field name :value value :problem problem)))

(defmethod check-field ((name (eql :price)) value)
  (make-verdict :field name
                :value value
                :problem (cond ((not (integerp value)) :not-an-integer)
                               ((minusp value) :negative))))

(defun check-item (item)
  "Return ITEM if all its fields are valid, else signal INVALID-FIELD."
  (flet ((check (name value)
           (let ((verdict (check-field name value)))
             (when (verdict-problem verdict)
               (error 'invalid-field :verdict verdict)))))
    (check :sku (item-sku item))
    (check :title (item-title item))
    (check :supplier (item-supplier item))
    (check :shelf (item-shelf item))
    (check :price (item-price item)))
  item)

;;; Items

(defun add-item (item)
  "Enter ITEM, which takes the place of an item with the same SKU."
  (check-item item)
  (setf (gethash (item-sku item) *items*) item))

(defun find-item (sku &key (if-missing :error))
  "Return the item with SKU.
If there is none, signal an error, or return nil if IF-MISSING is nil."
  (or (gethash sku *items*)
      (when (eq if-missing :error)
        (error "There is no item ~S." sku))))

(defun remove-item (sku)
  "Forget the item with SKU; return true if there was one."
  (remhash sku *items*))

(defun all-items ()
  "Return a fresh list of all items, sorted by SKU."
  (sort (loop for item being the hash-values of *items* collect item)
        #'string<
        :key #'item-sku))

;;; Movements

(defun record-movement (sku delta reason)
  "Note that the stock of SKU changed by DELTA because of REASON."
  (push (make-movement :sku sku
                       :delta delta
                       :reason reason
                       :time (get-universal-time))
        *movements*))

(defun receive (sku count &key (reason :delivery))
  "Add COUNT pieces to the stock of SKU; return the new quantity."
  (check-type count (integer 1))
  (let ((item (find-item sku)))
    (record-movement sku count reason)
    (incf (item-quantity item) count)))

(defun withdraw (sku count &key (reason :sale))
  "Take COUNT pieces from the stock of SKU; return the new quantity.
Signal INSUFFICIENT-STOCK, and change nothing, if there are too few."
  (check-type count (integer 1))
  (let ((item (find-item sku)))
    (when (> count (item-quantity item))
      (error 'insufficient-stock
             :sku sku
             :wanted count
             :present (item-quantity item)))
    (record-movement sku (- count) reason)
    (decf (item-quantity item) count)))

(defun movements-of (sku)
  "Return the movements of SKU, oldest first."
  (reverse (remove sku *movements*
                   :key #'movement-sku
                   :test-not #'string=)))

;;; Orders

(defun add-line (order sku count)
  "Add COUNT pieces of SKU to ORDER; return ORDER."
  (check-type count (integer 1))
  (find-item sku)
  (let ((line (assoc sku (order-lines order) :test #'string=)))
    (if line
        (incf (cdr line) count)
        (push (cons sku count) (order-lines order))))
  order)

(defun order-total (order)
  "Return what ORDER costs in cents, after the discount."
  (discounted (loop for (sku . count) in (order-lines order)
                    sum (* count (item-price (find-item sku))))
              (order-discount order)))

(defun short-lines (order)
  "Return the lines of ORDER that the present stock cannot serve."
  (remove-if (lambda (line)
               (<= (cdr line) (item-quantity (find-item (car line)))))
             (order-lines order)))

(defun fulfill (order)
  "Withdraw all that ORDER asks for, or nothing; return its total."
  (let ((short (first (short-lines order))))
    (when short
      (error 'insufficient-stock
             :sku (car short)
             :wanted (cdr short)
             :present (item-quantity (find-item (car short))))))
  (loop for (sku . count) in (order-lines order)
        do (withdraw sku count))
  (order-total order))

;;; Reports

(defun report-order (order &optional (stream *standard-output*))
  "Write ORDER to STREAM as a person would read it."
  (format stream "~&Order ~D for ~A~%"
          (order-number order)
          (order-customer order))
  (loop for (sku . count) in (reverse (order-lines order))
        do (format stream "  ~3D x ~A~%"
                   count
                   (item-title (find-item sku))))
  (format stream "  total ~A~%" (format-price (order-total order))))

(defun report-low-stock (&optional (stream *standard-output*))
  "Write the items that should be ordered again to STREAM."
  (dolist (item (all-items))
    (when (< (item-quantity item) *reorder-point*)
      (format stream "~&~A: ~D left~%"
              (item-title item)
              (item-quantity item))))
  (finish-output stream))