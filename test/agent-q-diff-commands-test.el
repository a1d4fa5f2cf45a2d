;;; agent-q-diff-commands-test.el --- The commands that decide hunks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-git-help)

;;;; What is said

(ert-deftest aqd-commands-says-offset-and-fuzz-of-a-bare-diff ()
  (pcase-dolist (`(,text . ,said)
                 `((,(aqd-numbered 20) . "Hunk 1 applied")
                   (,(concat "top\n" (aqd-numbered 20)) . "Hunk 1 applied at offset 1")
                   (,(aqd-numbered 20 '((4 . "other")))
                    . "Hunk 1 applied with fuzz 1")
                   (,(concat "top\n" (aqd-numbered 20 '((9 . "x") (10 . "y"))))
                    . "Hunk 1 applied with fuzz 2 at offset 1")))
    (aqd-with-file text
      (aqd-with-diff aqd-bare-diff-of-one
        (aqd-goto-hunk 1)
        (should (equal (concat said aqd-nothing-pending)
                       (aqd-said (agent-q-diff-accept-hunk))))
        (should (equal (aqd-disk) (string-replace "line 7\n" "LINE 7\n" text)))))))

(ert-deftest aqd-commands-says-why-a-hunk-does-not-apply ()
  (pcase-dolist (`(,text . ,said)
                 `((,(aqd-numbered 20 '((7 . "other")))
                    . "\\`Failed to apply hunk: its lines are not in the target")
                   ;; The stated line alone does not decide, at it or elsewhere.
                   (,(concat (aqd-numbered 20) (aqd-numbered 3) (aqd-numbered 20)
                             (aqd-lines "x"))
                    . "\\`Place 1 of 2: line 7 of target.txt.")
                   (,(concat "top\n" (aqd-numbered 20) (aqd-numbered 20))
                    . "\\`Place 1 of 2: line 8 of target.txt.")))
    (aqd-with-file text
      (aqd-with-diff aqd-bare-diff-of-one
        (aqd-goto-hunk 1)
        (should (string-match-p said (aqd-said (agent-q-diff-accept-hunk))))
        (should (equal (aqd-disk) text))))))

(ert-deftest aqd-commands-tells-each-command-apart ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff aqd-bare-diff-of-one
      (aqd-goto-hunk 1)
      (should (equal (concat "Hunk 1 applied" aqd-nothing-pending)
                     (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal (concat "Hunk 1 applied already" aqd-nothing-pending)
                     (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal "Hunk 1 pending; its change stays in the file, u takes it out; 0 of 1 decided, 1 pending"
                     (aqd-said (agent-q-diff-toggle-hunk))))
      (should (equal (concat "Hunk 1 applied; its change was in the file already" aqd-nothing-pending)
                     (aqd-said (agent-q-diff-accept-hunk))))
      (should (equal (concat "Hunk 1 rejected; its change stays in the file, u on it takes it out" aqd-nothing-pending)
                     (aqd-said (agent-q-diff-reject-hunk))))
      (should (equal "Hunk 1 taken out of the file; 0 of 1 decided, 1 pending"
                     (aqd-said (agent-q-diff-unapply-hunk))))
      (should (equal "Hunk 1 is not in the file"
                     (aqd-said (agent-q-diff-unapply-hunk))))
      (should (equal (concat "Hunk 1 rejected" aqd-nothing-pending)
                     (aqd-said (agent-q-diff-reject-hunk))))
      (should (equal (concat "Hunk 1 rejected already" aqd-nothing-pending)
                     (aqd-said (agent-q-diff-reject-hunk)))))))

(ert-deftest aqd-commands-in-front-of-the-first-hunk-say-so ()
  (aqd-with-file (aqd-numbered 20)
    (aqd-with-diff (concat "Some prose.\n\n" aqd-bare-diff-of-one)
      (dolist (command '(agent-q-diff-accept-hunk agent-q-diff-reject-hunk
                         agent-q-diff-toggle-hunk agent-q-diff-unapply-hunk))
        (should-error (funcall command) :type 'user-error)))))

(ert-deftest aqd-commands-what-the-user-typed-is-not-called-a-hooks-work ()
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (agent-q-diff-accept-hunk)
    (aqd-in-target (insert "typed\n"))
    (should (equal (concat "Hunk 1 rejected; its change stays in the file, u on it takes it out" aqd-nothing-pending)
                   (aqd-said (agent-q-diff-reject-hunk))))))

;;;; The hunk at point

(ert-deftest aqd-commands-region-is-one-undo-step ()
  (aqd-with-review (aqd-numbered 30)
      (aqd-numbered 30 '((5 . "five") (15 . "fifteen") (25 . "x")))
    (aqd-choose "-line 5" "+x")
    (agent-q-diff-accept-hunk)
    (aqd-in-target (undo-boundary) (undo-only))
    (should (equal (aqd-target) (aqd-numbered 30)))))

(ert-deftest aqd-commands-lost-hunk-is-not-applied-already ()
  "The lines of the hunk are not in the file, as its sign says."
  (aqd-with-review aqd-letters-original aqd-letters-modified
    (aqd-accept 1)
    (agent-q-diff-edit-hunk)
    (aqd-in-small-buffer (aqd-retype "c2" "c3") (agent-q-diff-edit-finish))
    (set-buffer (aqd-diff-buffer))
    (aqd-in-target (undo-boundary) (undo-only))
    (should (equal (aqd-sign 1) "[APPLIED, edited, but changed in the file since]"))
    (aqd-goto-hunk 1)
    (should-not (string-prefix-p "Hunk 1 applied already" (or (agent-q-diff-accept-hunk) "")))))

(ert-deftest aqd-commands-ruling-3-spc-accepts-pending-and-rejected ()
  (aqd-with-forty-lines
    (should (equal "accepted" (aqd-review-three "SPC n r p SPC q")))
    (should (equal (aqd-disk) (aqd-three-with 1 2)))))

(ert-deftest aqd-commands-ruling-3-spc-on-applied-takes-back-the-mark-alone ()
  (aqd-with-forty-lines
    (should (equal "rejected" (aqd-review (car aqd-three) (cdr aqd-three) "SPC SPC q")))
    (should (equal (aqd-disk) (aqd-three-with 1))))
  (aqd-with-forty-lines
    (should (equal '(agent-q-diff-cancelled "the user has not decided about any of it; \
1 of 3 hunks is in the file")
                   (aqd-result (car aqd-three) (cdr aqd-three) "SPC SPC q")))
    (should (equal (aqd-disk) (aqd-three-with 1)))))

(ert-deftest aqd-commands-ruling-3-option-makes-spc-unapply ()
  (aqd-with-forty-lines
    (let ((agent-q-diff-toggle-unapplies t))
      (should (equal "rejected" (aqd-review-three "SPC SPC q"))))
    (should (equal (aqd-disk) (aqd-three-with)))))

(ert-deftest aqd-commands-ruling-3-u-takes-out-in-any-order ()
  (aqd-with-forty-lines
    (should (equal "accepted" (aqd-review-three "a a a p p u n n u q")))
    (should (equal (aqd-disk) (aqd-three-with 2)))))

(ert-deftest aqd-commands-ruling-3-u-refuses-a-changed-text ()
  (aqd-with-forty-lines
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (aqd-goto-hunk 1)
                (agent-q-diff-accept-hunk)
                (with-current-buffer (find-buffer-visiting aqd-file)
                  (goto-char (point-min))
                  (search-forward "LINE 5")
                  (insert " and more"))
                (should-not (agent-q-diff-unapply-hunk))
                (should (equal (alist-get (aqd-goto-hunk 1)
                                          sly-agent-q-diff--hunk-states)
                               'applied))
                (agent-q-diff-finish)))
    (with-current-buffer (find-buffer-visiting aqd-file)
      (should (string-search "LINE 5 and more\n" (buffer-string))))))

;;;; All at once

(ert-deftest aqd-commands-ruling-4-never-a-rejected-one ()
  (aqd-with-forty-lines
    (should (equal "accepted" (aqd-review-three "n r C-c C-c")))
    (should (equal (aqd-disk) (aqd-three-with 1 3)))))

(ert-deftest aqd-commands-ruling-4-stays-open-and-says-which-failed ()
  (aqd-with-file (aqd-numbered 40 '((20 . "other")))
    (aqd-call (car aqd-three) (cdr aqd-three)
              (lambda ()
                (agent-q-diff-accept-all)
                (should-not sly-agent-q-diff--decision)
                (should (equal (agent-q-diff-buffer-hunk-at-point) 1))
                (should (equal (aqd-signs) '((1 . "[APPLIED]")
                                             (2 . "[DOES NOT APPLY]")
                                             (3 . "[APPLIED]"))))
                (agent-q-diff-finish)))
    (should (equal (aqd-disk) (aqd-numbered 40 '((5 . "LINE 5") (20 . "other")
                                                 (35 . "LINE 35")))))))

(ert-deftest aqd-commands-ruling-4-with-nothing-pending-finishes ()
  (aqd-with-forty-lines
    (should (equal "rejected" (aqd-review-three "r r r C-c C-c")))
    (should (equal (aqd-disk) (aqd-three-with)))))

(ert-deftest aqd-commands-ruling-5-rejected-even-if-some-was-applied ()
  (aqd-with-forty-lines
    (let ((message (aqd-play "a C-c C-k"
                             (lambda ()
                               (agent-q-diff-tools-propose-file-edit
                                aqd-file (car aqd-three) (cdr aqd-three) "d")))))
      (should (string-prefix-p "✗ REJECTED" message))
      (should (string-search "1 of 3 hunks is in the file" message)))
    (should (equal (aqd-disk) (aqd-three-with 1)))))

;;;; Bare buffers

(ert-deftest aqd-commands-toggling-a-mark-needs-no-target ()
  (dolist (diff (list aqd-bare-diff-of-two "@@ -1,9 +1,9 @@\n-a\n+b\n"))
    (with-temp-buffer
      (insert diff)
      (sly-agent-q-diff-mode)
      (let ((position (aqd-goto-hunk 1)))
        (setf (alist-get position sly-agent-q-diff--hunk-states) 'applied)
        (sly-agent-q-diff-toggle-hunk)
        (should-not (alist-get position sly-agent-q-diff--hunk-states))))))

(ert-deftest aqd-commands-ruling-14-commands-work-in-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written-diff
      (let ((second (aqd-goto-hunk 2)))
        (sly-agent-q-diff-accept-hunk)
        (should (eq 'applied (alist-get second sly-agent-q-diff--hunk-states))))
      (let ((first (aqd-goto-hunk 1)))
        (sly-agent-q-diff-reject-hunk)
        (should (eq 'rejected (alist-get first sly-agent-q-diff--hunk-states))))
      (sly-agent-q-diff-finish)
      (should (equal "accepted" sly-agent-q-diff--decision))
      (should (equal (with-current-buffer (find-buffer-visiting aqd-file)
                       (buffer-string))
                     (aqd-numbered 10 '((8 . "line 8\nline 8.5"))))))))

(ert-deftest aqd-commands-ruling-14-all-at-once-in-a-bare-buffer ()
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written-diff
      (sly-agent-q-diff-accept-all)
      (should (equal "accepted" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-numbered 10 '((2 . "LINE 2")
                                                 (8 . "line 8\nline 8.5"))))))
  (aqd-with-file (aqd-numbered 10)
    (aqd-with-diff aqd-hand-written-diff
      (sly-agent-q-diff-reject-all)
      (should (equal "rejected" sly-agent-q-diff--decision)))
    (should (equal (aqd-disk) (aqd-numbered 10)))))

;;;; Moving on

(ert-deftest aqd-commands-a-hunk-out-of-sight-is-not-accepted-unseen ()
  (aqd-with-forty-lines
    (aqd-call-with-three
     (lambda ()
       (aqd-goto-hunk 1)
       (diff-restrict-view)
       (aqd-press "a")
       (should-not (buffer-narrowed-p))
       (should (equal (aqd-progress) "1/3 applied, 0 rejected, 2 pending"))
       (agent-q-diff-finish)))))

(ert-deftest aqd-commands-moving-on-does-not-hang-on-what-message-returns ()
  (aqd-with-forty-lines
    (cl-letf (((symbol-function 'message) #'ignore))
      (aqd-call-with-three (lambda ()
                             (aqd-press "a a")
                             (agent-q-diff-finish))))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five") '(20 . "twenty"))))))

(ert-deftest aqd-commands-finishes-with-the-last-hunk-if-so-wished ()
  (let ((agent-q-diff-finish-when-decided t))
    (aqd-with-open-review aqd-original-of-two aqd-modified-of-two
      (aqd-in-diff review
        (agent-q-diff-accept-hunk t)
        (should-not aqd-answers)
        (agent-q-diff-reject-hunk t))
      (should (equal (aqd-answer :status) '(partial))))))

;;;; Random walks

;; Whatever is pressed in whatever order, and whatever is typed in the target
;; meanwhile, the target is the original with exactly the hunks that are in it
;; and what was typed.  A naive model says what that is.  The seeds are fixed;
;; AGENT_Q_DIFF_WALKS sets the number of walks in each family.

(defconst aqd-commands-walk-period 14
  "Lines between two changes of a walk's proposal.")

(cl-defstruct aqd-commands-walk-hunk
  "What the model knows of a hunk: lines of the file in its CHANGE that it
takes out and lines that it puts in, and whether it is in the target."
  change removed added is-in)

(defvar aqd-commands-walk-hunks nil
  "The hunks as the model has them, in order.")

(defvar aqd-commands-walk-n-changes 6
  "Number of changes of a walk's proposal.")

(defvar aqd-commands-walk-typed nil
  "Alist from line of the original to the lines typed below it, in order.")

(defun aqd-commands-walk-line (family number)
  "Return line NUMBER of the original, of the kind that FAMILY names."
  (pcase-exhaustive family
    ('unique (format "line %d" number))
    ;; Every other block has a name, so that a diff finds the changes made.
    ('blocks (if (zerop (mod number aqd-commands-walk-period))
                 (format "(defun f%d ()" number)
               (nth (mod number 7) '("(defun f ()" "  one" "  two" "  three"
                                     "  four" "  five)" ""))))))

(defun aqd-commands-walk-changed-line (change)
  "Return the number of the line that CHANGE is about."
  (+ 6 (* change aqd-commands-walk-period)))

(defun aqd-commands-walk-hunk (family change)
  "Return a new hunk for CHANGE in FAMILY.
It makes two lines of one, puts lines below one, or deletes it."
  (let ((line (aqd-commands-walk-line family (aqd-commands-walk-changed-line change))))
    (pcase (mod change 3)
      (0 (make-aqd-commands-walk-hunk :change change :removed (list line)
                                      :added (list (concat line " changed") "  more")))
      (1 (make-aqd-commands-walk-hunk :change change :added '("  added" "  and more")))
      (2 (make-aqd-commands-walk-hunk :change change :removed (list line))))))

(defun aqd-commands-walk-lines (family number)
  "Return the lines of the target for line NUMBER of the original in FAMILY.
What is typed below it is not among them."
  (let* ((change (/ number aqd-commands-walk-period))
         (line (list (aqd-commands-walk-line family number)))
         (changed (cl-loop for hunk in aqd-commands-walk-hunks
                           when (= change (aqd-commands-walk-hunk-change hunk))
                           append (if (aqd-commands-walk-hunk-is-in hunk)
                                      (aqd-commands-walk-hunk-added hunk)
                                    (aqd-commands-walk-hunk-removed hunk)))))
    (cond
     ((/= number (aqd-commands-walk-changed-line change)) line)
     ;; The line itself is no part of a change that only adds.
     ((= 1 (mod change 3)) (append line changed))
     (t changed))))

(defun aqd-commands-walk-text (family)
  "Return what the target is to be in FAMILY, as the model has it."
  (mapconcat (lambda (line) (concat line "\n"))
             (cl-loop for number below (* aqd-commands-walk-n-changes aqd-commands-walk-period)
                      append (aqd-commands-walk-lines family number)
                      append (alist-get number aqd-commands-walk-typed))
             ""))

(defun aqd-commands-walk-type (family random)
  "Type a line into the target in FAMILY, as RANDOM says.
It goes below any line but those beside a change, where a conflict might
be right."
  (let* ((number (+ (* aqd-commands-walk-period (funcall random aqd-commands-walk-n-changes))
                    (nth (funcall random 4) '(0 3 8 11))))
         (above (cl-loop for other to number
                         sum (length (aqd-commands-walk-lines family other))
                         unless (= other number)
                         sum (length (alist-get other aqd-commands-walk-typed)))))
    (with-current-buffer (find-buffer-visiting aqd-file)
      (goto-char (point-min))
      (forward-line (1- above))
      (end-of-line)
      ;; A line that is there already is as good as any other.
      (insert "\n" (aqd-commands-walk-line family (1+ number)))
      (push (aqd-commands-walk-line family (1+ number))
            (alist-get number aqd-commands-walk-typed)))))

(defun aqd-commands-walk-parts (hunk &rest counts)
  "Return the parts of HUNK of which each has so many of its lines as COUNTS say.
What is left is the last part; a part without lines is none."
  (let ((removed (aqd-commands-walk-hunk-removed hunk))
        (added (aqd-commands-walk-hunk-added hunk))
        (parts nil))
    (dolist (count (append counts '(1000)))
      (let* ((n-removed (min count (length removed)))
             (n-added (min (- count n-removed) (length added)))
             (part (copy-aqd-commands-walk-hunk hunk)))
        (setf (aqd-commands-walk-hunk-removed part) (seq-take removed n-removed)
              (aqd-commands-walk-hunk-added part) (seq-take added n-added)
              removed (seq-drop removed n-removed)
              added (seq-drop added n-added))
        (when (or (aqd-commands-walk-hunk-removed part) (aqd-commands-walk-hunk-added part))
          (push part parts))))
    (nreverse parts)))

(defun aqd-commands-walk-become (hunk parts)
  "Put PARTS in the place of HUNK in the model."
  (setq aqd-commands-walk-hunks
        (mapcan (lambda (other) (if (eq other hunk) parts (list other)))
                aqd-commands-walk-hunks)))

(defun aqd-commands-walk-note (hunk key)
  "Note in the model that KEY was pressed on HUNK."
  (pcase key
    ;; SPC on an applied hunk leaves the target alone, and so does a.  Each
    ;; hunk is one change, so s does nothing.
    ((or "a" "SPC") (setf (aqd-commands-walk-hunk-is-in hunk) t))
    ("u" (setf (aqd-commands-walk-hunk-is-in hunk) nil))))

(defun aqd-commands-walk-press-on-line (hunk key random)
  "Press KEY with one changed line of HUNK, as RANDOM says, as the region."
  (let* ((n (+ (length (aqd-commands-walk-hunk-removed hunk))
               (length (aqd-commands-walk-hunk-added hunk))))
         (line (funcall random n))
         (parts (aqd-commands-walk-parts hunk line 1))
         (transient-mark-mode t))
    (forward-line)
    (re-search-forward "^[-+]" nil nil (1+ line))
    (push-mark (1- (point)) t t)
    (aqd-press key)
    (aqd-commands-walk-become hunk parts)
    (aqd-commands-walk-note (nth (if (= line 0) 0 1) parts) key)))

(defun aqd-commands-walk-edit (hunk seed)
  "Put a line with SEED in it before those that HUNK adds."
  (let ((line (format "edited %s" seed)))
    (aqd-press "e")
    (with-current-buffer (window-buffer)
      (should agent-q-diff-edit-mode)
      (insert line "\n")
      (agent-q-diff-edit-finish))
    (push line (aqd-commands-walk-hunk-added hunk))))

(defun aqd-commands-walk-press-on-all (key)
  "Press KEY with all hunks as the region, whatever was decided of them."
  (when (or (not (equal key "u"))
            (seq-some #'aqd-commands-walk-hunk-is-in aqd-commands-walk-hunks))
    (aqd-do-all (lambda () (aqd-press key)))
    (dolist (hunk aqd-commands-walk-hunks)
      (aqd-commands-walk-note hunk key))))

(defun aqd-commands-walk-step (family random)
  "Take one step in FAMILY, as RANDOM says, and return what it was."
  (let* ((index (funcall random (length aqd-commands-walk-hunks)))
         (hunk (nth index aqd-commands-walk-hunks))
         (key (nth (funcall random 6) '("a" "a" "r" "SPC" "u" "s"))))
    (aqd-goto-hunk (1+ index))
    (pcase (funcall random 9)
      ((or 0 1) (aqd-commands-walk-type family random))
      (8 (setq key (nth (funcall random 3) '("a" "r" "u")))
         (aqd-commands-walk-press-on-all key))
      (2 (aqd-commands-walk-press-on-line hunk (nth (funcall random 3) '("a" "r" "u"))
                                          random))
      (3 (aqd-commands-walk-edit hunk (funcall random 1000)))
      (_ (aqd-press key)
         (aqd-commands-walk-note hunk key)))
    (list key index)))

(defun aqd-commands-walk (family seed)
  "Walk in FAMILY with SEED, and check the target after each step."
  (let* ((aqd-commands-walk-typed nil)
         (aqd-commands-walk-hunks (cl-loop for change below aqd-commands-walk-n-changes
                                           collect (aqd-commands-walk-hunk family change)))
         (original (aqd-commands-walk-text family))
         (modified (let ((aqd-commands-walk-hunks
                          (mapcar #'copy-aqd-commands-walk-hunk aqd-commands-walk-hunks)))
                     (dolist (hunk aqd-commands-walk-hunks)
                       (setf (aqd-commands-walk-hunk-is-in hunk) t))
                     (aqd-commands-walk-text family)))
         (steps nil))
    (random (format "walk %s %d" family seed))
    (aqd-with-file original
      (aqd-visit)
      (aqd-call
       original modified
       (lambda ()
         (should (= (length agent-q-diff-buffer-positions) (length aqd-commands-walk-hunks)))
         (dotimes (_ 15)
           (push (aqd-commands-walk-step family #'random) steps)
           (should (equal (list seed steps (agent-q-diff-text-in
                                            (find-buffer-visiting aqd-file)))
                          (list seed steps (aqd-commands-walk-text family))))
           (should (= (length agent-q-diff-buffer-positions) (length aqd-commands-walk-hunks))))
         (agent-q-diff-reject-all))))))

(defun aqd-commands-walks ()
  "Return how many walks to take in each family."
  (string-to-number (or (getenv "AGENT_Q_DIFF_WALKS") "150")))

(ert-deftest aqd-commands-walk-among-unique-lines ()
  (let ((inhibit-message t))
    (dotimes (seed (aqd-commands-walks))
      (aqd-commands-walk 'unique seed))))

(ert-deftest aqd-commands-walk-among-identical-blocks ()
  (let ((inhibit-message t))
    (dotimes (seed (aqd-commands-walks))
      (aqd-commands-walk 'blocks seed))))

(ert-deftest aqd-commands-after-lines-of-a-hunk-its-rest-above-is-next ()
  (aqd-with-shown-review (aqd-numbered 40)
      (aqd-numbered 40 '((5 . "a\nb\nc") (20 . "x")))
    (re-search-forward "^\\+b")
    (should (equal "Hunk 2 applied; 1 of 4 decided, 3 pending; hunk 1 has the lines above"
                   (aqd-said (aqd-press "v a"))))
    (should (= 0 (agent-q-diff-buffer-hunk-at-point)))
    ;; What is below comes after it.
    (aqd-press "r")
    (should (= 2 (agent-q-diff-buffer-hunk-at-point)))))

;;;; Comments on what was rejected

(defun aqd-commands-comments ()
  "Return the comments on the hunks of this buffer, an alist."
  (sort (copy-alist (agent-q-diff-change-comments agent-q-diff-buffer-change))
        #'car-less-than-car))

(defmacro aqd-commands-with-diff-selected (&rest body)
  "Run BODY with the diff buffer of a review of two hunks in the selected window."
  (declare (indent 0) (debug t))
  `(aqd-with-open-review aqd-original-of-two aqd-modified-of-two
     (save-window-excursion
       (switch-to-buffer (agent-q-diff-session-buffer review))
       ,@body)
     (agent-q-diff-cancel review)))

(ert-deftest aqd-commands-right-after-r-one-key-comments-on-what-was-rejected ()
  (aqd-commands-with-diff-selected
    (let ((prompts nil)
          (agent-q-diff-finish-when-decided nil))
      (cl-letf* ((read (symbol-function 'read-string))
                 ((symbol-function 'read-string)
                  (lambda (prompt &rest more)
                    (push prompt prompts)
                    (apply read prompt more))))
        (progn
          (aqd-goto-hunk 1)
          (aqd-press "r c M-r bad RET")
          (should (equal '((0 . "bad")) (aqd-commands-comments)))
          (should (equal 1 (agent-q-diff-buffer-hunk-at-point)))
          (should (string-match-p "\\`Comment on hunk 2 of target\\.txt, line [0-9]+ \
(M-r: on hunk 1, just rejected): \\'"
                                  (cadr prompts)))
          ;; What was typed before the key goes with it.
          (aqd-press "p C-_ r c w o M-r r s e RET")
          (should (equal '((0 . "worse")) (aqd-commands-comments)))
          ;; Otherwise it is the hunk at point, and nothing is offered.
          (aqd-press "n c x RET")
          (should (string-match-p "\\`Comment on hunk 2 of target\\.txt, line [0-9]+: \\'"
                                  (car prompts)))
          (should (equal '((0 . "worse") (1 . "x")) (aqd-commands-comments))))))))

(ert-deftest aqd-commands-r-with-a-prefix-asks-for-the-reason ()
  (aqd-commands-with-diff-selected
    (aqd-goto-hunk 1)
    (aqd-press "C-u r why RET")
    (should (equal '((0 . "why")) (aqd-commands-comments)))
    (should (equal '(rejected nil) (agent-q-diff-change-marks agent-q-diff-buffer-change)))
    (ignore-error quit
      (aqd-press "C-u r C-g"))
    (should (equal '(rejected nil) (agent-q-diff-change-marks agent-q-diff-buffer-change)))))

(ert-deftest aqd-commands-u-on-the-next-hunk-names-the-key-for-the-last ()
  (aqd-commands-with-diff-selected
    (aqd-goto-hunk 1)
    (agent-q-diff-accept-hunk t)
    (should (string-match-p "\\`Hunk 2 is not in the file; .* undoes hunk 1\\'"
                            (aqd-said (agent-q-diff-unapply-hunk))))
    ;; It is the last decision no longer.
    (aqd-goto-hunk 1)
    (agent-q-diff-unapply-hunk)
    (aqd-goto-hunk 2)
    (should (equal "Hunk 2 is not in the file" (aqd-said (agent-q-diff-unapply-hunk))))))

(ert-deftest aqd-commands-a-region-says-how-many-hunks ()
  (aqd-commands-with-diff-selected
    (should (string-prefix-p "2 hunks applied; " (aqd-do-all #'agent-q-diff-accept-hunk)))))

(ert-deftest aqd-commands-a-region-turns-what-is-decided-the-other-way ()
  (aqd-commands-with-diff-selected
    (aqd-goto-hunk 1)
    (agent-q-diff-reject-hunk)
    (should (string-prefix-p "2 hunks applied; nothing"
                             (aqd-do-all #'agent-q-diff-accept-hunk)))
    (should (string-prefix-p "2 hunks already applied; "
                             (aqd-do-all #'agent-q-diff-accept-hunk)))
    (should (string-prefix-p "2 hunks rejected; 2 stay in the file, u takes them out; "
                             (aqd-do-all #'agent-q-diff-reject-hunk)))
    (should (string-prefix-p "2 hunks taken out; "
                             (aqd-do-all #'agent-q-diff-unapply-hunk)))
    (should-error (aqd-do-all #'agent-q-diff-unapply-hunk) :type 'user-error)
    (dotimes (_ 3)
      (agent-q-diff-undo))
    (should (equal '(rejected nil) (append agent-q-diff-buffer-marks nil)))))

(ert-deftest aqd-commands-a-region-is-edited-once-whatever-was-decided ()
  (let ((changes '((5 . "a") (15 . "b") (25 . "c") (35 . "d")))
        (n-edits 0))
    (aqd-with-review (aqd-numbered 40) (aqd-numbered 40 changes)
      (dotimes (n 2)
        (aqd-goto-hunk (1+ n))
        (agent-q-diff-reject-hunk))
      (aqd-accept 3)
      (cl-letf* ((edit (symbol-function 'agent-q-diff-file-change-edit))
                 ((symbol-function 'agent-q-diff-file-change-edit)
                  (lambda (&rest arguments)
                    (cl-incf n-edits)
                    (apply edit arguments))))
        (should (string-prefix-p "3 hunks applied; " (aqd-do-all #'agent-q-diff-accept-hunk))))
      (should (= 1 n-edits))
      (should (equal (aqd-numbered 40 changes) (aqd-target)))
      (agent-q-diff-undo)
      (should (equal '(rejected rejected applied nil) (append agent-q-diff-buffer-marks nil)))
      (should (equal (aqd-numbered 40 '((25 . "c"))) (aqd-target)))
      (agent-q-diff-redo)
      (should (equal (aqd-numbered 40 changes) (aqd-target)))
      (aqd-in-target (undo-boundary) (undo-only))
      (should (equal (aqd-numbered 40 '((25 . "c"))) (aqd-target))))))

;;;; What a hook undoes on saving

(defun aqd-commands-replace-on-saving (from to)
  "Have each save of f.txt replace its lines FROM by TO."
  (with-current-buffer (find-file-noselect "f.txt")
    (add-hook 'before-save-hook
              (lambda ()
                (save-excursion
                  (goto-char (point-min))
                  (while (re-search-forward (format "^%s$" from) nil t)
                    (replace-match to))))
              nil t)))

(ert-deftest aqd-commands-what-a-hook-puts-back-is-not-said-to-be-out ()
  (let ((written '((3 . "line 3\nx") (15 . "line 15\nx") (27 . "y"))))
    (pcase-dolist (`(,from ,to ,command . ,said)
                   '(("line 27" "y" agent-q-diff-reject-hunk
                      . "Hunk 3 taken out, but in the file: on saving, a hook changed its lines; \
1 of 3 decided, 2 pending")
                     ("line 4" "x\nline 4" agent-q-diff-reject-alike
                      . "2 hunks alike taken out, but 1 not as decided: on saving, a hook changed \
the lines; 2 of 3 decided, 1 pending")
                     ("line 3" "LINE 3" agent-q-diff-reject-hunk
                      . "Hunk 3 taken out; on saving, a hook changed other lines as well; \
1 of 3 decided, 2 pending")))
      (aqd-with-repository
        (aqd-pending-put "f.txt" (aqd-numbered 30 written))
        (aqd-with-pending
          (aqd-commands-replace-on-saving from to)
          (should (equal said (aqd-pending-do
                               command (if (eq command 'agent-q-diff-reject-hunk) 2 0)))))))))

(ert-deftest aqd-commands-what-a-hook-undoes-in-a-file-of-several-is-said ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-pending-put "g.txt" "new\n")
    (aqd-with-pending
      (aqd-commands-replace-on-saving "line 3" "three")
      (goto-char (point-min))
      (search-forward "f.txt")
      (should (equal "Changes of f.txt taken out, but 1 not as decided: on saving, a hook changed \
the lines; 2 of 3 decided, 1 pending"
                     (aqd-said (agent-q-diff-reject-hunk))))
      (should (equal "Everything is in the files, and pending"
                     (aqd-said (agent-q-diff-unapply-all)))))))

(ert-deftest aqd-commands-what-a-hook-takes-out-is-not-said-to-be-in ()
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-reject-hunk 0)
      (aqd-commands-replace-on-saving "three" "line 3")
      (should (equal "Hunk 1 put back, and kept, but not in the file: on saving, a hook changed \
its lines; 1 of 2 decided, 1 pending"
                     (aqd-pending-do #'agent-q-diff-accept-hunk 0)))
      (should (equal "[KEPT, but not in the file]" (cdar (aqd-pending-signs))))
      (should (string-match-p ": 1 kept (1 changed since), 0 taken out, 1 still pending"
                              (aqd-said (agent-q-diff-finish nil t))))))
  ;; What is kept is not saved by that, but later, by the user.
  (aqd-with-repository
    (aqd-pending-put "f.txt" aqd-pending-written)
    (aqd-with-pending
      (aqd-pending-do #'agent-q-diff-accept-hunk 0)
      (aqd-commands-replace-on-saving "three" "THREE")
      (with-current-buffer (find-file-noselect "f.txt")
        (goto-char (point-max))
        (insert "mine\n")
        (save-buffer))
      (should (string-match-p ": 1 kept (1 changed since), 0 taken out, 1 still pending"
                              (aqd-said (agent-q-diff-finish nil t)))))))

(ert-deftest aqd-commands-what-a-hook-undoes-before-the-write-is-said ()
  (aqd-with-file aqd-original-of-two
    (aqd-in-diff (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two
                                      "Why." #'ignore)
      (with-current-buffer (find-buffer-visiting aqd-file)
        (let ((text (buffer-string)))
          (add-hook 'before-save-hook
                    (lambda ()
                      (unless (equal text (buffer-string))
                        (erase-buffer)
                        (insert text)))
                    nil t)))
      (should (string-prefix-p "Hunk 1 applied, but not in the file: on saving, a hook changed \
its lines; 1 of 2 decided"
                               (aqd-said (agent-q-diff-accept-hunk))))
      (agent-q-diff-finish)))
  (aqd-with-file aqd-original-of-two
    (aqd-in-diff (agent-q-diff-review aqd-file aqd-original-of-two aqd-modified-of-two
                                      "Why." #'ignore)
      (agent-q-diff-accept-hunk)
      (with-current-buffer (find-buffer-visiting aqd-file)
        (let ((text (buffer-string)))
          (add-hook 'before-save-hook (lambda () (erase-buffer) (insert text)) nil t)))
      (should (equal "Taken out, but 1 in the file again: on saving, a hook changed the lines"
                     (aqd-said (agent-q-diff-unapply-all))))
      (agent-q-diff-finish))))

(provide 'agent-q-diff-commands-test)
;;; agent-q-diff-commands-test.el ends here
