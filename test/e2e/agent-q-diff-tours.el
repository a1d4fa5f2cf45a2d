;;; agent-q-diff-tours.el --- The interactive checklist  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Every key of the diff buffer and every command of the package, with the
;; screen that a person sees after it.  The suite screens-test.el goes
;; through the tours, and fails if a key or a command is missing here.

;;; Code:

(require 'agent-q-diff-screens)

;;;; Proposals

(defconst tours-demo (expand-file-name "../demo" e2e-here)
  "Folder of the demo, a program and what is proposed for it.")

(defun tours-demo-text (name)
  "Return the text of the file NAME of the demo."
  (screens-text (expand-file-name name tours-demo)))

(defun tours-propose (name original modified description &optional on-disk)
  "Propose to change the file NAME from ORIGINAL to MODIFIED, and wait to see it.
The agent says DESCRIPTION.  The file holds ON-DISK, or else ORIGINAL."
  (e2e-write name (or on-disk original))
  (e2e-propose 'filter (intern name)
               `(agent-q-diff-review-and-wait ,(e2e-path name) ,original ,modified
                                              ,description)))

(defun tours-propose-demo ()
  "Propose what the demo proposes."
  (tours-propose "inventory.lisp" (tours-demo-text "original.lisp")
                 (tours-demo-text "modified.lisp")
                 "Write prices with the euro sign, check names in one place,
and keep a record of every movement."))

(defun tours-lines (n &rest changes)
  "Return N lines \"line 1\" to \"line N\" with CHANGES, of numbers and lines.
A list in the place of a line is the lines for it, perhaps none."
  (mapconcat (lambda (number)
               (let ((line (or (plist-member changes number)
                               (list number (format "line %d" number)))))
                 (mapconcat (lambda (line) (concat line "\n"))
                            (ensure-list (cadr line)) "")))
             (number-sequence 1 n) ""))

(defun tours-edit (name old new)
  "Replace the line OLD by NEW in the buffer of the file NAME, as a user would."
  (e2e-eval `(with-current-buffer (find-buffer-visiting ,(e2e-path name))
               (goto-char (point-min))
               (re-search-forward ,(concat "^" old "$"))
               (replace-match ,new t t)
               (undo-boundary))))

(defun tours-set (&rest pairs)
  "Set variables of the Emacs under test, PAIRS of a symbol and a value."
  (e2e-eval `(ignore (setq ,@pairs))))

;;;; The diff buffer

(screens-define-tour reading
  ("reading-opened" nil (tours-propose-demo))
  ("reading-alone" nil "C-x 1")
  ("reading-n" agent-q-diff-next-hunk "n")
  ("reading-p" agent-q-diff-previous-hunk "p")
  ("reading-no-previous" agent-q-diff-previous-hunk "p")
  ("reading-RET" agent-q-diff-preview-hunk "n n RET")
  (nil nil "C-x 1 p p")
  ("reading-f" agent-q-diff-follow-mode "f")
  ("reading-f-n" agent-q-diff-next-hunk "n")
  (nil agent-q-diff-follow-mode "f C-x 1 p")
  ("reading-x-whole" agent-q-diff-expand-line "x")
  ("reading-help" agent-q-diff-help "?" (e2e-see "^Decide"))
  ("reading-help-all" agent-q-diff-all-keys "?" (e2e-see "Agent-Q Diff Help"))
  (nil nil "C-x 1")
  ("reading-outcome" agent-q-diff-show-outcome "=")
  ("reading-outcome-all" agent-q-diff-show-outcome "C-u =")
  (nil nil "C-x 1")
  ("reading-refused" agent-q-diff-refuse "ESC k")
  ("reading-q-asks" agent-q-diff-finish "q")
  ("reading-q-not-yet" nil "n"))

;; Why an agent wants a change, at length.
(screens-define-tour described
  ("described-opened" nil
   (tours-propose "target" (tours-lines 40) (tours-lines 40 5 "LINE 5" 20 "LINE 20")
                  (concat (apply #'concat (make-list 8 "A sentence on one long line. "))
                          "\n\n" (tours-lines 20))))
  ("described-x" agent-q-diff-expand-line "x")
  ("described-TAB" agent-q-diff-fold-hunk "TAB")
  ("described-n" agent-q-diff-next-hunk "n"))

;; An agent says something about its lines.
(defun tours-propose-notes ()
  "Propose to change two files, with notes on their lines."
  (e2e-write "calc.py" (tours-lines 40))
  (e2e-propose
   'filter 'notes
   `(let ((default-directory ,(file-name-as-directory e2e--folder))
          (agent-q-diff-call (agent-q-diff-call-make :agent "Claude")))
      (agent-q-diff-review-change-and-wait
       (list (list :path "calc.py" :original ,(tours-lines 40)
                   :modified ,(tours-lines 40 5 "LINE 5" 20 "LINE 20")
                   :annotations
                   '((nil . "Only lines that others read are changed.")
                     (4 . "Callers compare this line without case, so it can be in capitals. \
The tests in test_calc.py have both spellings.\nSee the issue.")
                     (19 . ,(concat "Line 20 has a longer story:\n" (tours-lines 14)))
                     (29 . "This one stays as it is.")))
             '(:path "new.py" :content "import os\nos.remove('x')\n"
                     :annotations ((1 . "Harmless \u202e+ print\e[31m"))))
       "Shout"))))

(screens-define-tour notes
  ("notes-opened" nil (tours-propose-notes))
  ("notes-alone" nil "C-x 1")
  ("notes-n" agent-q-diff-next-hunk "n")
  ("notes-x" agent-q-diff-expand-line "C-n C-n C-n C-n C-n x")
  ("notes-x-again" agent-q-diff-expand-line "x")
  ("notes-TAB" agent-q-diff-fold-hunk "TAB")
  (nil agent-q-diff-fold-hunk "TAB")
  ("notes-M-n" agent-q-diff-next-file "M-n")
  ("notes-edited" agent-q-diff-edit-hunk "M-p n n e" ("NEW\n") "C-c C-c")
  ("notes-a" agent-q-diff-accept-hunk "a")
  ("notes-finished" agent-q-diff-accept-all "C-c C-c"))

;; Every key by which one moves, folds and decides, in small windows.
(screens-define-tour keys
  ("keys-opened" nil (tours-propose-demo))
  ("keys-a" agent-q-diff-accept-hunk "a")
  ("keys-k" agent-q-diff-reject-hunk "k")
  ("keys-p" agent-q-diff-previous-hunk "p")
  ("keys-M-n" agent-q-diff-next-file "M-n")
  ("keys-M-p" agent-q-diff-previous-file "M-p")
  ("keys-TAB" agent-q-diff-fold-hunk "TAB")
  (nil agent-q-diff-fold-hunk "TAB")
  ("keys-S-TAB" agent-q-diff-fold-all-hunks "<backtab>")
  (nil agent-q-diff-fold-all-hunks "<backtab>")
  ("keys-v" agent-q-diff-select-line "n C-n C-n C-n C-n v")
  ("keys-v-r" agent-q-diff-reject-hunk "r")
  ("keys-no-command" agent-q-diff-refuse "z")
  ("keys-g" agent-q-diff-refresh "g")
  ("keys-RET" agent-q-diff-preview-hunk "RET")
  ("keys-help" agent-q-diff-all-keys "?" (e2e-see "^Decide") "?" (e2e-see "Agent-Q Diff Help"))
  (nil nil "q")
  ("keys-outcome" agent-q-diff-show-outcome "=")
  (nil nil "q")
  ("keys-q-asks" agent-q-diff-finish "q")
  ("keys-finished" nil "y"))

(screens-define-tour deciding
  (nil nil (tours-propose-demo) "C-x 1")
  ("deciding-a" agent-q-diff-accept-hunk "a")
  ("deciding-r" agent-q-diff-reject-hunk "r")
  ("deciding-SPC" agent-q-diff-toggle-hunk "SPC")
  ("deciding-SPC-again" agent-q-diff-toggle-hunk "SPC")
  ("deciding-u" agent-q-diff-unapply-hunk "u")
  ("deciding-next-rejected" agent-q-diff-next-rejected "R")
  ("deciding-next-pending" agent-q-diff-next-pending ".")
  ("deciding-h" agent-q-diff-hide-decided-mode "h")
  (nil agent-q-diff-hide-decided-mode "h")
  ("deciding-s" agent-q-diff-split-hunk "n s")
  ("deciding-comment-asks" agent-q-diff-comment-here "c")
  ("deciding-comment" nil ("Too clever by half") "RET")
  ("deciding-comment-all-asks" agent-q-diff-comment "C")
  ("deciding-comment-all" nil ("Fewer hunks next time") "RET")
  ("deciding-undo" agent-q-diff-undo "a a C-/")
  ("deciding-redo" agent-q-diff-redo "ESC C-_")
  ("deciding-unapply-all" agent-q-diff-unapply-all "U")
  ("deciding-region" agent-q-diff-accept-hunk
   "n n C-n C-n C-n C-n C-SPC C-n a")
  ("deciding-not-shown" agent-q-diff-accept-all "C-c C-c")
  ("deciding-finished" agent-q-diff-accept-all "C-c C-c"))


;;;; Where a hunk and the file disagree

(defun tours-every-state ()
  "Show a hunk in every state that a hunk can be in, but for ambiguous ones."
  (tours-set 'agent-q-diff-context-length 0)
  (tours-propose "target"
                 (tours-lines 60)
                 (tours-lines 60 5 "five" 10 "ten" 15 "fifteen" 20 "twenty"
                              25 "twenty-five" 30 "thirty" 35 "thirty-five"
                              40 "forty" 45 "forty-five" 50 "fifty")
                 "Spell them out")
  (e2e-keys "C-x 1 a a r SPC SPC n a p r c")
  (e2e-type "Why?")
  (e2e-keys "RET")
  (e2e-see "^\\[PENDING, commented\\] @@ -30 ")
  (tours-edit "target" "five" "5")
  (tours-edit "target" "line 35" "35")
  (tours-edit "target" "line 41" "41")
  (tours-edit "target" "line 47" "47\n47 1/2"))

(screens-define-tour every-state
  ("every-state" nil (tours-every-state))
  ("every-state-N" agent-q-diff-next-conflict "M-< N")
  ("every-state-P" agent-q-diff-previous-conflict "M-> P")
  ("every-state-n-n" agent-q-diff-next-hunk "n n")
  ("every-state-a" agent-q-diff-accept-hunk "a")
  ("every-state-does-not-apply" agent-q-diff-accept-hunk "P a")
  ("every-state-C-c-C-c" agent-q-diff-accept-all "C-c C-c")
  ("every-state-q" agent-q-diff-finish "q"))

;; A change of five files, of all kinds.
(defun tours-propose-files ()
  "Propose to change several files."
  (e2e-write "calc.py" (tours-lines 12))
  (e2e-write "old_name.py" "import calc\n\nprint(calc.add(1, 2))\n")
  (e2e-write "gone.py" "# not needed\nx = 1\n")
  (e2e-write "run.sh" "#!/bin/sh\npython3 main.py\n")
  (e2e-eval `(set-file-modes ,(e2e-path "run.sh") #o644))
  (e2e-propose
   'filter 'files
   `(let ((default-directory ,(file-name-as-directory e2e--folder)))
      (agent-q-diff-review-change-and-wait
       (list (list :path "calc.py" :original ,(tours-lines 12)
                   :modified ,(tours-lines 12 2 "LINE 2" 11 "LINE 11"))
             (list :path "old_name.py" :to "main.py"
                   :original "import calc\n\nprint(calc.add(1, 2))\n"
                   :modified "import calc\n\nprint(calc.add(1, 2))\nprint(calc.mul(3, 4))\n")
             '(:path "gone.py" :delete t)
             '(:path "test_calc.py"
                     :content "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n")
             '(:path "run.sh" :mode #o755))
       "Rename the program, and test it"))))

(screens-define-tour files
  ("files-opened" nil (tours-propose-files))
  (nil nil "C-x 1")
  ("files-a" agent-q-diff-accept-hunk "a")
  ("files-M-n" agent-q-diff-next-file "M-n")
  ("files-heading-a" agent-q-diff-accept-hunk "a")
  ("files-heading-r" agent-q-diff-reject-hunk "M-n r")
  ("files-e" agent-q-diff-edit-hunk "e")
  ("files-undo" agent-q-diff-undo "C-_")
  ("files-M-p" agent-q-diff-previous-file "M-p M-p M-p M-p")
  ("files-heading-u" agent-q-diff-unapply-hunk "u")
  ("files-outcome" agent-q-diff-show-outcome "=")
  ("files-outcome-all" agent-q-diff-show-outcome "C-u =")
  ;; Emacs 30 in a terminal may leave a column of the other window if the next
  ;; key interrupts drawing.
  (nil nil "C-x 1" (e2e-see "@@ -1,3 \\+1,4 @@"))
  ("files-TAB" agent-q-diff-fold-hunk "TAB")
  (nil agent-q-diff-fold-hunk "TAB")
  ("files-S-TAB" agent-q-diff-fold-all-hunks "<backtab>")
  ("files-n" agent-q-diff-next-hunk "n")
  (nil agent-q-diff-fold-all-hunks "<backtab> <backtab>")
  ("files-lines-of-a-new-file" agent-q-diff-accept-hunk "M-< . . . . . a")
  ("files-accept-all" agent-q-diff-accept-all "C-c C-c"))

(screens-define-tour ambiguous
  (nil nil (tours-propose "target" (tours-blocks 6) (tours-blocks 6 3) "One block"
                          (tours-blocks 5)))
  ("ambiguous" nil "C-x 1")
  ("ambiguous-a" agent-q-diff-accept-hunk "a")
  ("ambiguous-a-again" agent-q-diff-accept-hunk "a"))

(defun tours-module (n is-renamed &rest changes)
  "Return the text of module N, in which a name is used in four lines.
If IS-RENAMED is non-nil, it is another name; CHANGES are as for `tours-lines'."
  (replace-regexp-in-string
   "^line \\([134]5\\|65\\)$"
   (format "  total += %s(\\\\1);" (if is-renamed "new_price" "old_price"))
   (apply #'tours-lines 70 1 (format "// module %d" n) changes)))

(defun tours-propose-modules ()
  "Propose to rename something in twelve files, with five other edits."
  (let ((files (mapcar (lambda (n)
                         (list (format "%s/module%d.c" (if (< n 9) "src" "test") n)
                               (tours-module n nil)
                               (if (< n 6)
                                   (tours-module n t 55 (format "edit %d" (* n n n)))
                                 (tours-module n t))))
                       (number-sequence 1 12))))
    (make-directory (e2e-path "src"))
    (make-directory (e2e-path "test"))
    (pcase-dolist (`(,name ,original ,_) files)
      (e2e-write name original))
    (e2e-propose
     'filter 'modules
     `(let ((default-directory ,(file-name-as-directory e2e--folder)))
        (agent-q-diff-review-change-and-wait
         (list ,@(mapcar (pcase-lambda (`(,name ,original ,modified))
                           `(list :path ,name :original ,original :modified ,modified))
                         files))
         "Rename old_price to new_price.")))))

(screens-define-tour alike
  ("alike-opened" nil (tours-propose-modules) "C-x 1")
  ("alike-next" agent-q-diff-next-alike "l n")
  ("alike-previous" agent-q-diff-previous-alike "l p")
  ("alike-folded" agent-q-diff-fold-alike-mode "l l")
  (nil agent-q-diff-fold-alike-mode "l l")
  ("alike-accepted" agent-q-diff-accept-alike "l a")
  (nil nil "C-/")
  ("alike-unapplied" agent-q-diff-unapply-alike "l a M-< n l u")
  ("alike-rejected" agent-q-diff-reject-alike "l r")
  ("alike-find" agent-q-diff-find "M-< / e d i t")
  (nil nil "RET")
  ("alike-definition" agent-q-diff-goto-definition "d TAB")
  (nil nil "C-g")
  ("alike-q-asks" agent-q-diff-finish "q"))

(screens-define-tour overview
  ("overview-opened" agent-q-diff-overview (tours-propose-modules) "C-x 1 o")
  ("overview-n" agent-q-diff-overview-next "n")
  ("overview-p" agent-q-diff-overview-previous "p")
  ("overview-a" agent-q-diff-overview-accept "a")
  ("overview-undo" agent-q-diff-overview-undo "C-/")
  ("overview-r" agent-q-diff-overview-reject "n r")
  ("overview-u" agent-q-diff-overview-unapply "u")
  ("overview-g" agent-q-diff-overview-refresh "g")
  ("overview-RET" agent-q-diff-overview-go "RET")
  ("overview-q" agent-q-diff-overview-quit "o q")
  ("overview-summary" agent-q-diff-overview-follow "M-< C-n RET"))

(defun tours-reformatted (margin &rest changes)
  "Return a function of 40 lines after MARGIN, with CHANGES as for `tours-lines'."
  (concat "static int compute(int x)\n{\n"
          (replace-regexp-in-string "^" margin
                                    (string-remove-suffix "\n" (apply #'tours-lines 40 changes)))
          "\n}\n"))

(screens-define-tour reformat
  ("reformat-opened" nil
   (tours-propose "compute.c" (tours-reformatted "  ")
                  (tours-reformatted "    " 12 "edit 12" 30 "edit 30") "Indent by four")
   "C-x 1")
  ("reformat-folded" agent-q-diff-fold-white-space-mode "W")
  ("reformat-a" agent-q-diff-accept-hunk "a")
  ("reformat-i" agent-q-diff-accept-words "i")
  ("reformat-white-space" agent-q-diff-accept-white-space "w")
  (nil nil "q"))

(defun tours-functions (&rest changes)
  "Return three functions in Lisp, with CHANGES as for `tours-lines'."
  (replace-regexp-in-string
   "^line \\([0-9]+\\)$" "  (message \"%d\" \\1)"
   (replace-regexp-in-string "^line \\(1\\|20\\|35\\)$" "\n(defun f\\1 ()"
                             (apply #'tours-lines 45 19 "  nil)" 34 "  nil)" 45 "  nil)" changes))))

(screens-define-tour context
  ("context-more" agent-q-diff-more-context
   (tours-propose "functions.el" (tours-functions) (tours-functions 9 "(edit)" 30 "(edit)") "Edit")
   "C-x 1 +")
  ("context-less" agent-q-diff-less-context "- - ")
  ("context-definition" agent-q-diff-show-definition "C-u 3 + D")
  ("context-all" agent-q-diff-more-context "M-< +")
  (nil nil "C-c C-k"))

(screens-define-tour side
  ("side-opened" agent-q-diff-side-by-side-mode
   (tours-propose "steps" (tours-lines 70)
                  (tours-lines 70 3 "line three" 4 '("line 4" "new 4") 7 nil 8 nil
                               40 (mapcar (lambda (n) (format "added %d" n))
                                          (number-sequence 1 30)))
                  "Steps")
   "C-x 1 |")
  ("side-a" nil "a")
  ("side-scrolled" nil "C-v")
  ("side-left" nil "C-x o M-v r")
  ("side-ended" agent-q-diff-side-by-side-mode "|")
  (nil nil "q"))

(defun tours-function (&rest changes)
  "Return a function of thirteen lines, with CHANGES as a plist of lines and texts."
  (concat "def moved(x):\n"
          (mapconcat (lambda (n)
                       (or (plist-get changes n)
                           (format "    check_permission_step_%d(user, x)\n" n)))
                     (number-sequence 1 12) "")))

(screens-define-tour moved
  ("moved-opened" nil
   (tours-propose "steps.py" (concat (tours-function) "\n" (tours-lines 30))
                  (concat (tours-lines 30) "\n"
                          (tours-function 7 "    check_permission_step_7(None, x)\n"
                                          10 "    check_permission_step_10(user, x)\n    run(x)\n"))
                  "Move the function to the end.")
   "C-x 1")
  ("moved-folded" agent-q-diff-fold-alike-mode "l l")
  ("moved-accepted" agent-q-diff-accept-alike "l l l a")
  ("moved-in-file" agent-q-diff-in-file "M-> p F"))

(screens-define-tour shown
  ("shown-not" nil
   (tours-propose "steps" (tours-lines 200)
                  (apply #'tours-lines 200
                         120 (concat "line 120" (make-string 100 ?x) " ADMIN=1")
                         (mapcan (lambda (n) (list n (format "  use(new, %d)" n)))
                                 (number-sequence 10 190 20)))
                  "Steps")
   "w C-g")
  ("shown-long" agent-q-diff-next-hunk "C-x 1 | C-u 6 n")
  ("shown-all" agent-q-diff-accept-all "| C-c C-c")
  ("shown-unseen" agent-q-diff-unseen-mode "H")
  ("shown-back" nil "u")
  ("shown-all-again" agent-q-diff-unseen-mode "H")
  (nil nil "C-c C-k"))

(screens-define-tour in-file
  ("in-file-opened" agent-q-diff-in-file
   (tours-propose "steps" (tours-lines 70)
                  (tours-lines 70 3 "line three" 4 '("line 4" "new 4") 7 nil 8 nil
                               26 '("added before" "line 26") 40 "forty" 42 nil
                               60 (mapcar (lambda (n) (format "added %d" n))
                                          (number-sequence 1 30)))
                  "Steps")
   "C-x 1 F")
  ("in-file-next" agent-q-diff-in-file-next "C-c \" n")
  ("in-file-previous" agent-q-diff-in-file-previous "C-c \" p")
  ("in-file-accepted" agent-q-diff-in-file-accept "C-c \" a")
  ("in-file-rejected" agent-q-diff-in-file-reject "C-c \" r")
  ("in-file-undo" agent-q-diff-in-file-undo "C-c \" /")
  ("in-file-redo" agent-q-diff-in-file-redo "C-c \" ?")
  ("in-file-split" agent-q-diff-in-file-split "C-c \" n C-c \" s")
  ("in-file-pending" agent-q-diff-in-file-next-pending "C-c \" .")
  ("in-file-comment" agent-q-diff-in-file-comment "C-c \" c" )
  (nil nil ("Why?") "RET")
  ("in-file-accepted-alike" agent-q-diff-in-file-accept-alike "C-c \" l a")
  ("in-file-unapplied" agent-q-diff-in-file-unapply "C-c \" p C-c \" u")
  ("in-file-rejected-alike" agent-q-diff-in-file-reject-alike "C-c \" l r")
  ("in-file-typed" nil "M-< t y p e d RET")
  ("in-file-diff" agent-q-diff-in-file-diff "C-c \" F")
  ("in-file-q" agent-q-diff-in-file-finish "F C-c \" q")
  (nil nil "n")
  ("in-file-reject-all" agent-q-diff-in-file-reject-all "C-c \" C-k"))

(screens-define-tour all-in-file
  ("all-in-file" agent-q-diff-in-file-accept-all (tours-propose-demo) "C-x 1 F C-c \" C-c C-c \" C-c"))

(defun tours-blocks (n &optional changed)
  "Return N equal blocks, but for the one with the number CHANGED."
  (mapconcat (lambda (number)
               (format "block {\n  a = %d;\n}\n" (if (eq number changed) 2 1)))
             (number-sequence 1 n) ""))

(screens-define-tour places
  (nil nil (tours-propose-patch "target" (tours-blocks 6)
                                "@@ -8,3 +8,4 @@
   a = 1;
 }
+// new
 block {
"))
  ("places" nil "C-x 1")
  ("places-a" agent-q-diff-accept-hunk "a")
  ("places-N" agent-q-diff-next-conflict "N")
  ("places-P-P" agent-q-diff-previous-conflict "P P")
  ("places-a-again" agent-q-diff-accept-hunk "a")
  ("places-go-to-review" agent-q-diff-go-to-review
   "C-x C-f" ("~/target") "RET" agent-q-diff-go-to-review))

(defun tours-propose-patch (name text diff)
  "Propose DIFF for the file NAME, which holds TEXT, and wait to see it."
  (e2e-write name text)
  (e2e-propose 'filter (intern name)
               `(agent-q-diff-review-patch-and-wait ,(e2e-path name) ,diff "One line")))

;;;; Other lines

(screens-define-tour editing
  (nil nil (tours-propose "target" (tours-lines 40)
                          (tours-lines 40 5 "LINE 5" 20 "LINE 20" 35 "LINE 35") "Shout")
       "C-x 1")
  ("editing-e" agent-q-diff-edit-hunk "e")
  ("editing-e-C-c-C-c" agent-q-diff-edit-finish "C-k" ("five") "C-c C-c")
  (nil agent-q-diff-edit-hunk "e")
  ("editing-e-C-c-C-k" agent-q-diff-edit-abort "C-c C-k")
  ("editing-nothing-to-merge" agent-q-diff-merge-hunk "n m")
  (nil nil (tours-edit "target" "line 20" "my line 20") (e2e-see "DOES NOT APPLY"))
  ("editing-m" agent-q-diff-merge-hunk "m")
  ("editing-m-C-c-C-c" agent-q-diff-edit-finish "C-c ^ l C-c C-c")
  ("editing-C-c-C-k" agent-q-diff-reject-all "C-c C-k"))

;;;; An outcome that is not sound

(screens-define-tour unsound
  (nil nil (tours-propose "foo.el"
                          (concat "(defun foo ()\n" (tours-lines 20) "  (bar))\n")
                          (concat "(defun foo ()\n  (when x\n" (tours-lines 20) "  (bar)))\n")
                          "Only when x")
       "C-x 1 a r")
  ("unsound-outcome" agent-q-diff-show-outcome "=")
  ("unsound-q" agent-q-diff-finish "q q"))

;;;; White space

(screens-define-tour white-space
  (nil nil (tours-propose "target.c" (tours-lines 40)
                          (tours-lines 40 5 "LINE 5" 20 "  line 20" 35 "line\t35")
                          "Indent"))
  ("white-space" nil "C-x 1")
  ("white-space-folded" agent-q-diff-fold-white-space-mode "W")
  ("white-space-accepted" agent-q-diff-accept-white-space "w")
  ("white-space-no-more" agent-q-diff-accept-white-space "w"))

(screens-define-tour tokens
  ("tokens-opened" nil
   (tours-propose
    "sum.c"
    "#include <stdio.h>

int sum(int *xs,int n)
{
  int total=0;
  for(int i=0;i<n;i++)
  {
    total+=xs[i]; // all of them
  }
  printf(\"sum:  %d\",total);
  return total;
}
"
    "#include <stdio.h>

int
sum(int *xs, int n) {
    int total = 0;
    for (int i = 0; i <= n; i++) {
        total += xs[i];  // all of them
    }
    printf(\"sum: %d\", total);
    return total;
}
" "Reformat")
   "C-x 1")
  ("tokens-folded" nil "W")
  (nil nil "q"))

;;;; Honest text, and much of it

(screens-define-tour deceiving
  (nil nil (tours-propose
            "target" (tours-lines 9)
            (tours-lines 9 2 "if (is\u200bAdmin) \u202e} begin\u2066" 3 "a\u00a0= \u0430;\e[31m"
                         8 (concat (make-string 3000 ?y) "z"))
            "Harmless,\u202e really"))
  ("deceiving" nil "C-x 1")
  ("deceiving-help" agent-q-diff-all-keys "?" (e2e-see "^Decide") "?" (e2e-see "Agent-Q Diff Help")
   "C-x o M->")
  ;; By number: whether C-p sees the long line cut depends on redisplay.
  (nil nil "C-x o C-x 1 M-g g" ("16") "RET")
  ("deceiving-x" agent-q-diff-expand-line "x")
  ("deceiving-x-again" agent-q-diff-expand-line "x"))

(screens-define-tour huge
  (nil nil (tours-set 'agent-q-diff-hunk-lines 10)
       (tours-propose "target" (tours-lines 30)
                      (tours-lines 30 9 (mapcar (lambda (n) (format "added %d" n))
                                                (number-sequence 1 100000))
                                   25 "LINE 25")
                      "Much"))
  ("huge" nil "C-x 1")
  ("huge-on-the-cut" nil "C-n C-n C-n C-n C-n C-n")
  ("huge-below-it" nil "C-n")
  ("huge-x" agent-q-diff-expand-line "C-p x")
  ("huge-end-of-buffer" nil "M->")
  ("huge-p-p" agent-q-diff-previous-hunk "p p")
  ("huge-x-again" agent-q-diff-expand-line "x")
  ("huge-found" nil "C-s" ("added 50000") "RET")
  ("huge-x-from-inside" agent-q-diff-expand-line "x")
  ("huge-a-h" agent-q-diff-hide-decided-mode "a h"))

;;;; Several reviews

(defun tours-review (agent name)
  "Let AGENT propose to change the file NAME, and wait for nothing."
  (e2e-write name (e2e-text))
  (e2e-eval `(ignore (agent-q-diff-review ,(e2e-path name) ,(e2e-text) ,(e2e-text 5 20)
                                          "Shout" #'ignore :agent ,agent))))

(screens-define-tour several
  ("several-none" agent-q-diff-next-review agent-q-diff-next-review)
  ("several-came" nil (tours-review "Robin" "one") (tours-review "Kim" "two"))
  ("several-list" agent-q-diff-list agent-q-diff-list)
  ("several-list-RET" agent-q-diff-list-open "C-n RET")
  ("several-ignored" agent-q-diff-ignore-key
   (tours-set 'agent-q-diff-grace--end '(time-add nil 1000))
   (e2e-eval '(add-hook 'pre-command-hook #'agent-q-diff-grace--ignore-in-grace nil t)) "a")
  (nil nil (tours-set 'agent-q-diff-grace--end nil))
  ("several-j" agent-q-diff-next-review "C-x 1 j")
  (nil nil "a r q")
  ("several-list-again" agent-q-diff-list agent-q-diff-list)
  ("several-k-asks" agent-q-diff-list-cancel "k")
  ("several-k" nil "y")
  ("several-U-asks" agent-q-diff-list-take-back "U")
  ("several-U" nil "y")
  ("several-look-again" agent-q-diff-look-again agent-q-diff-look-again "C-x 1")
  ("several-look-again-q" agent-q-diff-finish "q"))

;;;; Ways out where no recursive edit waits

(screens-define-tour leaving
  (nil nil (tours-review "Robin" "one") "C-x o")
  ("leaving-C-M-c" agent-q-diff-finish-now "a C-M-c")
  (nil nil (tours-review "Robin" "two") "C-x o" (e2e-see-cursor-at "^@@"))
  ("leaving-abort" agent-q-diff-abort "a C-]")
  (nil nil (tours-review "Robin" "three") "C-x o" (e2e-see-cursor-at "^@@"))
  ("leaving-top-level" nil "M-x" ("top-level") "RET")
  (nil nil (tours-review "Robin" "four") "C-x o" (e2e-see-cursor-at "^@@"))
  ("leaving-kill-asks" nil "a C-x k RET")
  ("leaving-kill" nil "y")
  ("leaving-taken-back" nil (tours-review "Claude Code" "npm.js")
   (e2e-eval '(let ((review (car (agent-q-diff-open-reviews))))
                (agent-q-diff-accept review 0)
                (agent-q-diff-cancel review)))))

;;;; Permission

(defun tours-edit-file (name old new)
  "Let an agent ask for OLD to become NEW in the file NAME, and see the question."
  (tours-set 'agent-q-diff-permission-pause 0 'agent-q-diff-project-root e2e--folder)
  (unless (e2e-read name)
    (e2e-write name (e2e-text)))
  (e2e-call 'filter (intern new)
            `(agent-q-diff-tools-call
              "edit_file" '(:path ,name :old_str ,old :new_str ,new :description "Shout"))))

(screens-define-tour permission
  ("permission-asked" nil (tours-edit-file "target" "line 5" "LINE 5"))
  ("permission-not-an-answer" agent-q-diff-permit-ignore "x")
  ("permission-y" agent-q-diff-permit-once "y")
  (nil nil (tours-edit-file "target" "line 6" "LINE 6") (e2e-see "LINE 6"))
  ("permission-n" agent-q-diff-permit-deny "n")
  (nil nil (tours-edit-file "target" "line 7" "LINE 7") (e2e-see "LINE 7"))
  ("permission-r" agent-q-diff-permit-deny-with-reason "r")
  ("permission-r-given" nil ("Not that one") "RET")
  (nil nil (tours-edit-file "target" "line 8" "LINE 8") (e2e-see "LINE 8"))
  ("permission-f" agent-q-diff-permit-review "f")
  (nil nil "a")
  ("permission-f-q" agent-q-diff-finish "q")
  (nil nil (tours-edit-file "target" "line 9" "LINE 9") (e2e-see "LINE 9"))
  ("permission-s" agent-q-diff-permit-for-session "s")
  ("permission-grants" agent-q-diff-grants agent-q-diff-grants)
  ("permission-grants-k" agent-q-diff-grants-revoke "k")
  ("permission-grants-revoked" agent-q-diff-revoke-grants "K")
  ("permission-edits" nil "C-x 1 C-x b" ("*Agent-Q Edits*") "RET M-<")
  ("permission-edits-n" agent-q-diff-transcript-next "n")
  ("permission-edits-TAB" agent-q-diff-transcript-fold "TAB")
  ("permission-edits-p" agent-q-diff-transcript-previous "p")
  ("permission-edits-backtab" agent-q-diff-transcript-fold-all "<backtab>")
  ("permission-edits-backtab-again" agent-q-diff-transcript-fold-all "<backtab>")
  ("permission-edits-w" agent-q-diff-transcript-copy "w")
  ("permission-edits-RET" agent-q-diff-transcript-jump
   "<backtab> C-n C-n C-n C-n C-n C-n C-n RET")
  ("permission-log" agent-q-diff-log "C-x 1" agent-q-diff-log "C-x 1")
  ("permission-log-RET" agent-q-diff-log-show-entry "RET")
  ("permission-log-o" agent-q-diff-log-visit "o"))

(screens-define-tour granted
  (nil nil (tours-edit-file "target" "line 9" "LINE 9") (e2e-see "LINE 9"))
  (nil agent-q-diff-permit-for-session "s")
  ("granted-edit" nil (tours-edit-file "target" "line 11" "LINE 11"))
  ("granted-another" nil (tours-edit-file "target" "line 12" "LINE 12"))
  ("granted-shown" agent-q-diff-edits agent-q-diff-edits))

;;;; Edits by agents' own tools

(defun tours-own-tool (name)
  "Have an edit of the file NAME by Claude Code's own tool decided."
  (tours-set 'agent-q-diff-project-root e2e--folder)
  (e2e-write name (e2e-text))
  (e2e-call 'timer (intern name)
            `(progn
               (require 'agent-q-diff-own-tool)
               (let ((arguments (make-hash-table :test #'equal))
                     (agent-q-diff-call (agent-q-diff-call-make :agent "Claude Code")))
                 (pcase-dolist (`(,key . ,value)
                                '(("path" . ,(e2e-path name)) ("tool" . "Edit")
                                  ("call" . ,name) ("session" . "0f1e2d3c-4b5a")
                                  ("encoding" . "utf-8") ("original" . ,(e2e-text))
                                  ("modified" . ,(e2e-text 5 20 35))))
                   (puthash key value arguments))
                 (ignore (agent-q-diff-own-tool-decide arguments #'ignore))))))

(defun tours-leave-seconds (seconds)
  "Let the agent of the only review wait for SECONDS more, or without end if nil."
  (e2e-eval `(let ((review (car (agent-q-diff-open-reviews))))
               (require 'agent-q-diff-lifecycle)
               (setf (agent-q-diff-session-deadline review)
                     (and ,seconds (time-add nil ,seconds)))
               (run-with-timer 0 nil (lambda ()
                                       (agent-q-diff-deadline--update)
                                       (with-current-buffer (agent-q-diff-session-buffer review)
                                         (agent-q-diff-progress-refresh))))
               nil)))

(defun tours-own-patch ()
  "Have a patch decided that Codex's own tool is about to apply, of three files."
  (tours-set 'agent-q-diff-project-root e2e--folder)
  (e2e-write "one.txt" (tours-lines 12))
  (e2e-write "old.txt" (tours-lines 3))
  (e2e-call 'timer 'own-patch
            `(progn
               (require 'agent-q-diff-own-tool)
               (let ((agent-q-diff-call (agent-q-diff-call-make :agent "Codex")))
                 (cl-flet ((table (pairs)
                             (let ((table (make-hash-table :test #'equal)))
                               (pcase-dolist (`(,key . ,value) pairs table)
                                 (puthash key value table)))))
                   (ignore
                    (agent-q-diff-own-tool-decide-patch
                     (table
                      `(("tool" . "apply_patch") ("call" . "1") ("session" . "0f1e2d3c-4b5a")
                        ("diff" . ,,(concat "*** Begin Patch\n*** Update File: one.txt\n@@\n"
                                            "-line 2\n+LINE 2\n@@\n-line 11\n+LINE 11\n"
                                            "*** Delete File: old.txt\n"
                                            "*** Add File: new.txt\n+new\n*** End Patch\n"))
                        ("files"
                         . ,(vector (table '(("path" . ,(e2e-path "one.txt"))
                                             ("original" . ,(tours-lines 12))
                                             ("modified"
                                              . ,(tours-lines 12 2 "LINE 2" 11 "LINE 11"))))
                                    (table '(("path" . ,(e2e-path "old.txt"))
                                             ("original" . ,(tours-lines 3))))
                                    (table '(("path" . ,(e2e-path "new.txt"))
                                             ("modified" . "new\n")))))))
                     #'ignore)))))))

(screens-define-tour own-patch
  ("own-patch-opened" nil (tours-own-patch) (e2e-see "hunk 1/2 · file 1/3"))
  ("own-patch-part" agent-q-diff-reject-hunk "C-x o a r a")
  ("own-patch-outcome" agent-q-diff-show-outcome "=")
  ("own-patch-part-q" agent-q-diff-finish "a a q q"))

(screens-define-tour own-tool
  ("own-tool-opened" nil (tours-own-tool "one.txt") (e2e-see " one\\.txt: hunk "))
  ("own-tool-time-left" nil (tours-leave-seconds 595) (e2e-see "10 min left"))
  (nil nil (tours-leave-seconds nil) (e2e-see " [^ ]+: hunk 1/3"))
  ("own-tool-part" agent-q-diff-reject-hunk "C-x o a r a")
  ("own-tool-part-q" agent-q-diff-finish "q")
  (nil nil (tours-own-tool "two.txt") (e2e-see " two\\.txt: hunk ") "C-x o")
  ("own-tool-A-asks" agent-q-diff-allow-agent "A")
  ("own-tool-A" nil "y")
  ("own-tool-grants" agent-q-diff-grants agent-q-diff-grants))

;;;; What was written already

(defun tours-git (&rest arguments)
  "Run git with ARGUMENTS in the folder p of the test."
  (let ((default-directory (file-name-as-directory (e2e-path "p")))
        (process-environment (append '("GIT_CONFIG_GLOBAL=/dev/null"
                                       "GIT_CONFIG_SYSTEM=/dev/null"
                                       ;; So that commits have the same names each time.
                                       "GIT_AUTHOR_DATE=2026-01-01T12:00Z"
                                       "GIT_COMMITTER_DATE=2026-01-01T12:00Z")
                                     process-environment)))
    (unless (eq 0 (apply #'call-process "git" nil nil nil
                         "-c" "user.name=User" "-c" "user.email=user@example.com" arguments))
      (error "Git failed: %S" arguments))))

(defun tours-repository ()
  "Make a repository in the folder p, and visit a file of it."
  (make-directory (e2e-path "p"))
  (tours-git "init" "-q" "-b" "main")
  (e2e-write "p/calc.py" (tours-lines 40))
  (e2e-write "p/gone.py" "# not needed\nx = 1\n")
  (tours-git "add" ".")
  (tours-git "commit" "-qm" "First"))

(defun tours-agent-writes ()
  "Write into the repository, as an agent would by a shell."
  (e2e-write "p/calc.py" (tours-lines 41 5 "LINE 5" 30 '("LINE 30" "more") 41 nil))
  (e2e-write "p/new.py" "import calc\n")
  (delete-file (e2e-path "p/gone.py")))

(screens-define-tour written
  (nil nil (tours-repository) "C-x C-f" ("~/p/calc.py") "RET")
  ("written-none" agent-q-diff-review-changes agent-q-diff-review-changes)
  ("written-opened" agent-q-diff-review-changes (tours-agent-writes)
   agent-q-diff-review-changes)
  ("written-a" agent-q-diff-accept-hunk "C-x 1 a")
  ("written-r" agent-q-diff-reject-hunk "r")
  ("written-S" agent-q-diff-stage "S")
  ("written-u" agent-q-diff-unapply-hunk "p p u")
  (nil nil "S")
  ("written-heading-r" agent-q-diff-reject-hunk "M-n r")
  ("written-q" agent-q-diff-finish "q")
  ("written-again" agent-q-diff-review-changes agent-q-diff-review-changes)
  ("written-reject-all" agent-q-diff-reject-all "C-c C-k")
  ;; What the user saves is reviewed, and what is wiped out is not.
  (nil nil "ESC >" ("mine") "RET C-x C-s" (e2e-see "^Wrote ") (e2e-eval t) (tours-git "checkout" "-q" "."))
  ("written-wiped-out" agent-q-diff-review-changes agent-q-diff-review-changes)
  ("written-brought-back" agent-q-diff-reject-hunk "C-x 1 r")
  (nil nil "q" (e2e-write "p/new.py" "import calc\n"))
  ("written-mark-reviewed" agent-q-diff-mark-reviewed agent-q-diff-mark-reviewed)
  ("written-taken-out" agent-q-diff-taken-out agent-q-diff-taken-out)
  ("written-taken-out-RET" agent-q-diff-taken-out-diff "RET")
  ("written-taken-out-b" agent-q-diff-taken-out-bring-back "C-x 1 C-n b")
  (nil nil "C-x 1 C-c C-k")
  ("written-mode" agent-q-diff-pending-mode agent-q-diff-pending-mode))

(defun tours-turn (is-begun)
  "Record that an agent begins its turn in the repository, if IS-BEGUN, or ends it."
  (e2e-eval `(let ((root ,(file-name-as-directory (e2e-path "p"))))
               (if ,is-begun
                   (agent-q-diff-module-begin-turn root "Codex" "" "Shout")
                 (agent-q-diff-module-end-turns root))
               nil)))

(screens-define-tour turns
  (nil nil (tours-repository) "C-x C-f" ("~/p/calc.py") "RET")
  (nil nil agent-q-diff-review-changes (tours-turn t) (tours-agent-writes) (tours-turn nil)
       ;; As a formatter does, after the turn.
       (e2e-write "p/calc.py" (tours-lines 42 5 "LINE 5" 30 '("LINE 30" "more") 41 nil 42 "last"))
       (tours-turn t))
  ("turns-opened" agent-q-diff-review-changes agent-q-diff-review-changes "C-x 1")
  ("turns-r" agent-q-diff-reject-hunk "r")
  ("turns-O" agent-q-diff-keep-outside "O")
  ("turns-over" agent-q-diff-end-turns agent-q-diff-end-turns (e2e-see "The turn has ended")))

(screens-define-tour rounds
  (nil nil (tours-repository) "C-x C-f" ("~/p/calc.py") "RET")
  (nil agent-q-diff-review-changes agent-q-diff-review-changes (tours-turn t) (tours-agent-writes)
       (tours-turn nil))
  ("rounds-opened" agent-q-diff-review-changes agent-q-diff-review-changes "C-x 1")
  ("rounds-c-asks" agent-q-diff-comment-here "C-s" ("+more") "RET c")
  ("rounds-commented" nil ("say why") "RET")
  ("rounds-Q-asks" agent-q-diff-ask "C-p Q")
  ("rounds-asked" nil ("is this shouted?") "RET")
  ("rounds-c-changes" nil "C-n c")
  (nil nil "C-a C-k" ("say why this is here") "RET")
  (nil nil "M-< n C-u r" ("keep it quiet") "RET")
  ("rounds-q" agent-q-diff-finish "q")
  ;; The agent reads that, answers, and writes once more what was rejected.
  ("rounds-again" agent-q-diff-review-changes
   (e2e-eval `(let* ((default-directory ,(file-name-as-directory (e2e-path "p")))
                     (agent-q-diff-call (agent-q-diff-call-with 'agent "Codex")))
                (agent-q-diff-tools-call "review_comments" nil)
                (agent-q-diff-tools-call "resolve_comment" '(id "2" answer "No, only loud."))
                nil))
   (tours-turn t) (tours-agent-writes) (tours-turn nil)
   agent-q-diff-review-changes "C-x 1")
  ("rounds-r" agent-q-diff-reject-hunk "r")
  ("rounds-comments" agent-q-diff-comments agent-q-diff-comments)
  ("rounds-comments-edit" agent-q-diff-comments-edit "C-x 1 M-< e")
  (nil nil "RET")
  ("rounds-comments-close" agent-q-diff-comments-close "C-n k")
  ("rounds-comments-visit" agent-q-diff-comments-visit "M-< RET")
  ("rounds-comment-file" agent-q-diff-comment-file agent-q-diff-comment-file)
  (nil nil ("and this?") "RET")
  ("rounds-turns" agent-q-diff-turns agent-q-diff-turns)
  ("rounds-turns-review" agent-q-diff-turns-review "C-x 1 M-< C-n RET"))

(screens-define-tour since
  (nil nil (tours-repository) "C-x C-f" ("~/p/calc.py") "RET")
  (nil agent-q-diff-review-changes agent-q-diff-review-changes)
  ("since-HEAD-asks" nil (tours-agent-writes) (tours-git "commit" "-qam" "shout")
   (tours-git "mv" "calc.py" "sums.py")
   "M-x" ("agent-q-diff-review-changes") "RET" (e2e-see "that you have not reviewed"))
  ("since-renamed" agent-q-diff-review-changes "y" (e2e-see "hunk 1/") "C-x 1")
  ("since-asks" nil "q C-u M-x" ("agent-q-diff-review-changes") "RET"
   (e2e-see "since which commit"))
  ("since-opened" agent-q-diff-review-changes ("HEAD~1") "RET" (e2e-see "since") "C-x 1"))

(defun tours-agent-replaces ()
  "Make something else of files, as an agent would by a shell, and write a hook."
  (delete-file (e2e-path "p/CLAUDE.md"))
  (e2e-write "p/CLAUDE.md" "Shout.\n")
  (e2e-write "p/gone.py" "# not needed\r\nx = 1\r\n")
  (make-directory (e2e-path "p/.git/hooks") t)
  (e2e-write "p/.git/hooks/post-checkout" "#!/bin/sh\n")
  (set-file-modes (e2e-path "p/.git/hooks/post-checkout") #o755))

(defun tours-submodule ()
  "Make a repository in the folder lib of p, which p has as a submodule."
  (make-directory (e2e-path "p/lib"))
  (e2e-write "p/lib/sums.py" "x = 1\n")
  (tours-git "-C" "lib" "init" "-q" "-b" "main")
  (tours-git "-C" "lib" "add" ".")
  (tours-git "-C" "lib" "commit" "-qm" "First"))

(screens-define-tour kinds
  (nil nil (tours-repository) (make-symbolic-link "calc.py" (e2e-path "p/CLAUDE.md"))
       (tours-submodule) (tours-git "add" ".") (tours-git "commit" "-qm" "Second")
       "C-x C-f" ("~/p/calc.py") "RET")
  (nil agent-q-diff-review-changes agent-q-diff-review-changes (tours-turn t)
       (tours-agent-replaces) (tours-turn nil))
  ("kinds-opened" agent-q-diff-review-changes agent-q-diff-review-changes "C-x 1 M-<")
  ("kinds-r" agent-q-diff-reject-hunk "n r")
  ("kinds-reject-all" agent-q-diff-reject-all "C-c C-k")
  ("kinds-hook" agent-q-diff-review-changes agent-q-diff-review-changes)
  ;; Unsaved edits are merged with what was written.
  (nil nil "M-<" ("mine") "RET"
       (let ((create-lockfiles nil))
         (e2e-write "p/calc.py" (tours-lines 40 20 "LINE 20"))))
  ("kinds-unsaved-a" agent-q-diff-accept-hunk agent-q-diff-review-changes "a")
  ("kinds-unsaved-r" agent-q-diff-reject-hunk "r")
  ("kinds-submodule" agent-q-diff-review-changes "q" (e2e-write "p/lib/sums.py" "x = 2\n")
   agent-q-diff-review-changes)
  ("kinds-review-submodule" agent-q-diff-review-submodule agent-q-diff-review-submodule))

(screens-define-tour plain
  (nil nil (make-directory (e2e-path "folder"))
       (e2e-write "folder/a.txt" (tours-lines 9)) (e2e-write "folder/b.txt" (tours-lines 9))
       "C-x C-f" ("~/folder/a.txt") "RET")
  ("plain-asks" nil "M-x" ("agent-q-diff-review-changes") "RET" (e2e-see "what changes from now"))
  ("plain-begun" nil "y" (e2e-see "Nothing is pending"))
  ("plain-opened" agent-q-diff-review-changes (e2e-write "folder/b.txt" (tours-lines 9 3 "three"))
   agent-q-diff-review-changes))

(screens-define-tour unreviewed
  (nil nil (tours-repository) "C-x C-f" ("~/p/calc.py") "RET")
  (nil agent-q-diff-review-changes agent-q-diff-review-changes)
  ("unreviewed-next" agent-q-diff-next-unreviewed (tours-agent-writes)
   agent-q-diff-next-unreviewed)
  ("unreviewed-M-g-n" nil "M-g n M-g n M-g n")
  ("unreviewed-previous" agent-q-diff-previous-unreviewed
   agent-q-diff-previous-unreviewed)
  ;; A terminal has no fringe, so the text stays as it is.
  ("unreviewed-marks" agent-q-diff-pending-marks-mode agent-q-diff-pending-marks-mode
   (e2e-wait-for (e2e-eval '(with-current-buffer "calc.py"
                              (consp (overlays-in (point-min) (point-max))))))))

(defun tours-demo-written ()
  "Begin the second part of the demo."
  (make-directory (e2e-path "p"))
  (e2e-call 'key 'demo
            `(progn
               (load ,(expand-file-name "../demo/demo-written" e2e-here) nil t)
               (let ((folder ,(file-name-as-directory (e2e-path "p"))))
                 (demo-written-prepare folder)
                 (ignore (demo-written-review folder))))))

(screens-define-tour demo
  ("demo-opened" nil (tours-demo-written))
  ("demo-brought-back" agent-q-diff-reject-hunk "r")
  ("demo-taken-out" agent-q-diff-reject-hunk "r")
  ("demo-kept" agent-q-diff-accept-hunk "a")
  ("demo-q" agent-q-diff-finish "q"))

(defconst tours-message "Of calc.py, this was taken out (lines 5 to 5):
-LINE 5
Why: keep it quiet.

A question about calc.py, line 31: why \"more\"?
"
  "What an agent is to read after a review.")

(defun tours-agent-with-prompt ()
  "Begin an agent that reads lines, in the repository, with a message for it."
  (e2e-eval `(let ((default-directory ,(file-name-as-directory (e2e-path "p"))))
               (advice-add 'agent-q-diff-told-message :override
                           (lambda (_root) ,tours-message))
               (require 'comint)
               (set-process-query-on-exit-flag
                (get-buffer-process
                 (make-comint "robin" "sh" nil "-c" "printf 'Robin> '; exec cat"))
                nil))))

(screens-define-tour told
  (nil nil (tours-repository) (tours-agent-with-prompt) "C-x C-f" ("~/p/calc.py") "RET")
  ("told-copied" agent-q-diff-copy-message agent-q-diff-copy-message)
  ("told-none-chosen" nil "M-x" ("agent-q-diff-send-message") "RET"
   (e2e-see "Copy the message"))
  (nil nil "n" "C-x b" ("*robin*") "RET")
  ("told-how" nil "M-x" ("agent-q-diff-send-here") "RET" (e2e-see "Messages for the agent"))
  ("told-here" agent-q-diff-send-here "i")
  ("told-at-the-prompt" agent-q-diff-send-message "C-x 2 C-x b RET" agent-q-diff-send-message)
  ("told-sent" nil "C-x o RET" (e2e-see "why \"more\".\n\\(.*\n\\)+.*why \"more\"")))

;;;; What else there is

(defconst tours-diff "--- a/target\n+++ b/target\n@@ -1,2 +1,2 @@\n-line 1\n+LINE 1\n line 2\n"
  "A diff that somebody sent.")

(screens-define-tour others
  (nil nil (e2e-write "target" (tours-lines 3)) (e2e-write "sent" tours-diff)
       "C-x C-f" ("~/sent") "RET")
  ("others-mode" agent-q-diff-mode agent-q-diff-mode)
  ("others-mode-r" agent-q-diff-reject-hunk "n r")
  ("others-review-diff" agent-q-diff-review-diff agent-q-diff-review-diff "C-x 1")
  ("others-recode" agent-q-diff-recode-target agent-q-diff-recode-target)
  (nil nil "C-c C-k")
  ("others-serve" agent-q-diff-serve agent-q-diff-serve)
  ("others-serve-stop" agent-q-diff-serve-stop agent-q-diff-serve-stop)
  ("others-lisp-mode" agent-q-diff-lisp-mode agent-q-diff-lisp-mode)
  ("others-unload" agent-q-diff-unload agent-q-diff-unload))

;;;; What has no screen

(defconst tours-without-screen
  '((agent-q-diff-build-module . "builds; e2e-package-as-melpa-packs-it calls it")
    (agent-q-diff-permit-wake . "an event of our own, no key")
    (agent-q-diff-own-tool-mode . "a review of an agent's own tool turns it on")
    (agent-q-diff-setup . "runs the program; agents-readme-leads-from-nothing-to-a-first-edit calls it")
    (agent-q-diff-setup-init . "a review of the init file; an ERT test calls it")
    (agent-q-diff-doctor . "has what is installed here; agents-readme-leads-… calls it")
    (agent-q-diff-setup-agent . "runs the program; e2e-own-tool-is-set-up-from-emacs calls it")
    (agent-q-diff-edit-mode . "agent-q-diff-edit-hunk turns it on")
    (agent-q-diff-list-mode . "agent-q-diff-list turns it on")
    (agent-q-diff-log-mode . "agent-q-diff-log turns it on")
    (agent-q-diff-taken-out-mode . "agent-q-diff-taken-out turns it on")
    (agent-q-diff-comments-mode . "agent-q-diff-comments turns it on")
    (agent-q-diff-turns-mode . "agent-q-diff-turns turns it on")
    (agent-q-diff-comment-hunk . "agent-q-diff-comment-here calls it")
    (agent-q-diff-log-entry-mode . "agent-q-diff-log-show-entry turns it on")
    (agent-q-diff-grants-mode . "agent-q-diff-grants turns it on")
    (agent-q-diff-transcript-mode . "the question for permission turns it on")
    (sly-agent-q-diff-mode . "agent-q-diff-mode under Agent-Q's name for it"))
  "Alist from commands that no tour has to the reason.")

(provide 'agent-q-diff-tours)
;;; agent-q-diff-tours.el ends here
