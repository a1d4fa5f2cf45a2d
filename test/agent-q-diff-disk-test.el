;;; agent-q-diff-disk-test.el --- A file that changes on disk  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Another program changes the file before the review, before a key, or
;; before the end.  A table has every combination of the buffer's state, the
;; change on disk, its time, and the tool; the checks below it hold in every
;; row.  So does another one, of reviews of what was written already.

;;; Code:

(require 'ert-x)
(require 'agent-q-diff-git-help)
(require 'agent-q-diff-project-help)
(require 'agent-q-diff-test-help)
(require 'agent-q-diff-transcript)
(require 'agent-q-diff-told)

(defconst aqd-disk-foreign "LINE 18\n"
  "A line that another program writes instead of line 18.")

(defun aqd-disk-with-foreign (text)
  "Return TEXT with the change of another program."
  (string-replace "line 18\n" aqd-disk-foreign text))

(defvar aqd-disk-outside nil
  "A file outside the project, which nobody may change.")

(defun aqd-disk-change (how)
  "Change the test's file as HOW says, as another program would."
  (let ((name aqd-file))
    (unless (memq how '(same original other))
      (delete-file name))
    (pcase-exhaustive how
      ('same (set-file-times name (time-add nil 60)))
      ('original (aqd-disk-put aqd-twenty-original))
      ('other (aqd-disk-put (aqd-disk-with-foreign aqd-twenty-original)))
      ('deleted)
      ('directory (make-directory name))
      ('link (make-symbolic-link aqd-disk-outside name))
      ('fifo (should (equal 0 (call-process "mkfifo" nil nil nil name)))))))

(defun aqd-disk-put (text)
  "Write TEXT to the test's file, with a different modification time."
  (aqd-write text)
  (set-file-times aqd-file (time-add nil 60)))

(defun aqd-disk-visit (buffer disk moment)
  "Visit the test's file, or not, as BUFFER says, for DISK at MOMENT.
If the disk has the original again at the opening, the buffer has the
proposed text: the file was changed and then checked out."
  (when (and (eq disk 'original) (eq moment 'opening))
    (aqd-write aqd-twenty-proposed))
  (unless (eq buffer 'none)
    (with-current-buffer (aqd-visit)
      (when (eq buffer 'modified)
        (goto-char (point-max))
        (insert "mine\n")
        (should (buffer-modified-p))))))

(defun aqd-disk-here ()
  "Return the state of the test's file: its text, or a symbol."
  (cond
   ((file-symlink-p aqd-file) 'link)
   ((not (file-exists-p aqd-file)) 'deleted)
   ((file-directory-p aqd-file) 'directory)
   ((not (file-regular-p aqd-file)) 'fifo)
   (t (aqd-disk-named (aqd-disk)))))

(defun aqd-disk-named (text)
  "Return a symbol for TEXT, the content of the file, or TEXT if there is none."
  (pcase text
    ((pred (equal aqd-twenty-original)) 'original)
    ((pred (equal aqd-twenty-with-first)) 'first)
    ((pred (equal aqd-twenty-proposed)) 'both)
    ((pred (equal (aqd-disk-with-foreign aqd-twenty-original))) 'foreign)
    ((pred (equal (aqd-disk-with-foreign aqd-twenty-with-first))) 'foreign+first)
    ((pred (equal (aqd-disk-with-foreign
                   (aqd-numbered 20 '((12 . "twelve"))))))
     'foreign+second)
    ((pred (equal (aqd-disk-with-foreign aqd-twenty-proposed))) 'foreign+both)
    ((pred (equal (aqd-numbered 20 '((12 . "twelve"))))) 'second)
    (_ text)))

;;;; The tools

(defun aqd-disk-diff ()
  "Return the proposal as a unified diff."
  (concat "--- a/target.txt\n+++ b/target.txt\n"
          "@@ -1,6 +1,6 @@\n line 1\n line 2\n-line 3\n+three\n line 4\n line 5\n line 6\n"
          "@@ -9,7 +9,7 @@\n line 9\n line 10\n line 11\n-line 12\n+twelve\n"
          " line 13\n line 14\n line 15\n"))

(defun aqd-disk-propose (tool change moment)
  "Accept both hunks of TOOL's proposal, one by one, and finish.
CHANGE is called at MOMENT.  Return the result."
  (let ((result nil))
    (when (eq moment 'opening)
      (funcall change))
    (condition-case err
        (let ((review
               (agent-q-diff-tools-propose
                tool
                (if (equal tool "propose_patch")
                    `((path . "target.txt") (diff . ,(aqd-disk-diff)) (description . "d"))
                  `((path . "target.txt") (original . ,aqd-twenty-original)
                    (modified . ,aqd-twenty-proposed) (description . "d")))
                (lambda (told) (setq result told)))))
          (unless result
            (with-current-buffer (agent-q-diff-session-buffer review)
              (aqd-goto-hunk 1)
              (agent-q-diff-accept-hunk)
              (when (eq moment 'key)
                (funcall change))
              (aqd-goto-hunk 2)
              (agent-q-diff-accept-hunk)
              (when (eq moment 'finish)
                (funcall change))
              (agent-q-diff-finish))))
      (agent-q-diff-error
       (setq result (list :status 'refused :message (agent-q-diff-error-text err)))))
    result))

(defun aqd-disk-edit (change moment)
  "Have edit_file replace the line of the first hunk, with CHANGE called at MOMENT.
Return a plist like the result of a review."
  (let* ((recheck (symbol-function 'agent-q-diff-guard-recheck))
         (is-changed nil)
         (agent-q-diff-tools-policy 'ask)
         (agent-q-diff-permission-function
          (lambda (_)
            (when (eq moment 'key)
              (funcall change))
            'once))
         (message
          (cl-letf (((symbol-function 'agent-q-diff-guard-recheck)
                     (lambda (&rest arguments)
                       (when (and (eq moment 'finish) (not is-changed))
                         (setq is-changed t)
                         (funcall change))
                       (apply recheck arguments))))
            (when (eq moment 'opening)
              (funcall change))
            (aqd-edit "line 3\n" "three\n"))))
    (list :status (if (string-prefix-p "✓" message) 'applied 'refused)
          :saved (not (string-search "not been saved" message))
          :in-file (if (string-prefix-p "✓" message) 1 0)
          :message message)))

(defun aqd-disk-run (buffer disk moment tool)
  "Return (STATUS IN-FILE SAVED HERE) for BUFFER, DISK, MOMENT and TOOL.
Also check what holds in every row."
  (aqd-with-project aqd-twenty-original
    (let* ((aqd-disk-outside (make-temp-file "agent-q-diff-outside" nil nil "outside\n"))
           (agent-q-diff-confirm-finish nil)
           (change (lambda () (aqd-disk-change disk)))
           (make-backup-files nil))
      (unwind-protect
          (with-timeout (20 (ert-fail (list 'hangs buffer disk moment tool)))
            (aqd-disk-visit buffer disk moment)
            (let* ((result (if (equal tool "edit_file")
                               (aqd-disk-edit change moment)
                             (aqd-disk-propose tool change moment)))
                   (row (list (plist-get result :status)
                              (or (plist-get result :in-file) 0)
                              (and (plist-get result :saved) t)
                              (aqd-disk-here))))
              (aqd-disk-check-row buffer disk row (plist-get result :message))
              row))
        (delete-file aqd-disk-outside)))))

(defun aqd-disk-check-row (buffer disk row message)
  "Check what must hold for BUFFER and DISK, whatever ROW and MESSAGE are.
No change by another program is lost, nothing outside is touched, and
whatever is reported to be in the file is there."
  (pcase-let ((`(,status ,in-file ,is-saved ,here) row)
              (bytes (and (not (file-symlink-p aqd-file))
                          (file-regular-p aqd-file)
                          (aqd-disk))))
    (should (stringp message))
    (should (equal "outside\n" (with-temp-buffer
                                 (insert-file-contents aqd-disk-outside)
                                 (buffer-string))))
    (when (and (eq disk 'other) bytes)
      (should (string-search aqd-disk-foreign bytes)))
    (when (memq disk '(directory fifo link deleted))
      (should (eq here disk)))
    (unless (eq buffer 'modified)
      (should-not (and bytes (string-search "mine" bytes))))
    (when (and is-saved (< 0 in-file))
      (should bytes)
      (should (<= in-file (+ (if (string-search "\nthree\n" bytes) 1 0)
                             (if (string-search "\ntwelve\n" bytes) 1 0)))))
    (when (memq status '(accepted partial applied))
      (should (string-prefix-p "✓" message)))))

;;;; The tables

(defconst aqd-disk-table-of-proposals
  '(
    (opening none
             (same accepted 2 t both)
             (original accepted 2 t both)
             (other accepted 2 t foreign+both)
             (deleted stale 0 t deleted)
             (directory refused 0 nil directory)
             (link stale 0 t link)
             (fifo refused 0 nil fifo))
    (opening clean
             (same accepted 2 t both)
             (original accepted 2 t both)
             (other accepted 2 t foreign+both)
             (deleted stale 0 nil deleted)
             (directory refused 0 nil directory)
             (link stale 0 t link)
             (fifo refused 0 nil fifo))
    (opening modified
             (same stale 0 nil original)
             (original accepted 2 nil original)
             (other stale 0 nil foreign)
             (deleted stale 0 nil deleted)
             (directory refused 0 nil directory)
             (link stale 0 nil link)
             (fifo refused 0 nil fifo))
    (key none
         (same accepted 2 t both)
         (original partial 1 t second)
         (other partial 1 t foreign+second)
         (deleted stale 0 nil deleted)
         (directory stale 0 nil directory)
         (link stale 0 nil link)
         (fifo stale 0 nil fifo))
    (key clean
         (same accepted 2 t both)
         (original partial 1 t second)
         (other partial 1 t foreign+second)
         (deleted stale 0 nil deleted)
         (directory stale 0 nil directory)
         (link stale 0 nil link)
         (fifo stale 0 nil fifo))
    (key modified
         (same partial 1 nil original)
         (original partial 1 nil original)
         (other partial 1 nil foreign)
         (deleted partial 1 nil deleted)
         (directory partial 1 nil directory)
         (link partial 1 nil link)
         (fifo partial 1 nil fifo))
    (finish none
            (same accepted 2 t both)
            (original partial 0 t original)
            (other partial 0 t foreign)
            (deleted stale 0 nil deleted)
            (directory stale 0 nil directory)
            (link stale 0 nil link)
            (fifo stale 0 nil fifo))
    (finish clean
            (same accepted 2 t both)
            (original partial 0 t original)
            (other partial 0 t foreign)
            (deleted stale 0 nil deleted)
            (directory stale 0 nil directory)
            (link stale 0 nil link)
            (fifo stale 0 nil fifo))
    (finish modified
            (same accepted 2 nil original)
            (original accepted 2 nil original)
            (other accepted 2 nil foreign)
            (deleted accepted 2 nil deleted)
            (directory accepted 2 nil directory)
            (link accepted 2 nil link)
            (fifo accepted 2 nil fifo)))
  "Outcomes of a proposal of two hunks that are accepted one by one.
Each entry is (MOMENT BUFFER (DISK STATUS IN-FILE IS-SAVED HERE)...).
IN-FILE is the number of hunks in the target according to the result, and
HERE the state of the file afterwards.")

(defconst aqd-disk-table-of-edits
  '(
    (opening none
             (same applied 1 t first)
             (original applied 1 t first)
             (other applied 1 t foreign+first)
             (deleted refused 0 t deleted)
             (directory refused 0 t directory)
             (link refused 0 t link)
             (fifo refused 0 t fifo))
    (opening clean
             (same applied 1 t first)
             (original applied 1 t first)
             (other applied 1 t foreign+first)
             (deleted refused 0 t deleted)
             (directory refused 0 t directory)
             (link refused 0 t link)
             (fifo refused 0 t fifo))
    (opening modified
             (same refused 0 t original)
             (original refused 0 t original)
             (other refused 0 t foreign)
             (deleted refused 0 t deleted)
             (directory refused 0 t directory)
             (link refused 0 t link)
             (fifo refused 0 t fifo))
    (key none
         (same applied 1 t first)
         (original applied 1 t first)
         (other applied 1 t foreign+first)
         (deleted refused 0 t deleted)
         (directory refused 0 t directory)
         (link refused 0 t link)
         (fifo refused 0 t fifo))
    (key clean
         (same applied 1 t first)
         (original applied 1 t first)
         (other applied 1 t foreign+first)
         (deleted refused 0 t deleted)
         (directory refused 0 t directory)
         (link refused 0 t link)
         (fifo refused 0 t fifo))
    (key modified
         (same refused 0 t original)
         (original refused 0 t original)
         (other refused 0 t foreign)
         (deleted refused 0 t deleted)
         (directory refused 0 t directory)
         (link refused 0 t link)
         (fifo refused 0 t fifo))
    (finish none
            (same applied 1 t first)
            (original applied 1 t first)
            (other refused 0 t foreign)
            (deleted refused 0 t deleted)
            (directory refused 0 t directory)
            (link refused 0 t link)
            (fifo refused 0 t fifo))
    (finish clean
            (same applied 1 t first)
            (original applied 1 t first)
            (other refused 0 t foreign)
            (deleted refused 0 t deleted)
            (directory refused 0 t directory)
            (link refused 0 t link)
            (fifo refused 0 t fifo))
    (finish modified
            (same refused 0 t original)
            (original refused 0 t original)
            (other refused 0 t foreign)
            (deleted refused 0 t deleted)
            (directory refused 0 t directory)
            (link refused 0 t link)
            (fifo refused 0 t fifo)))
  "Outcomes of an exact replacement, in the same form.")

(defun aqd-disk-check (table tool)
  "Check each row of TABLE with TOOL."
  (let ((inhibit-message t)
        (n 0))
    (pcase-dolist (`(,moment ,buffer . ,rows) table)
      (pcase-dolist (`(,disk . ,expected) rows)
        (should (equal (list tool moment buffer disk expected)
                       (list tool moment buffer disk
                             (aqd-disk-run buffer disk moment tool))))
        (setq n (1+ n))))
    (should (= n 63))))

(defconst aqd-disk-table-of-texts
  (let ((table (copy-tree aqd-disk-table-of-proposals)))
    ;; What is not there, and in no buffer, cannot have the original text.
    (setf (alist-get 'deleted (cddr (car table))) '(error 0 nil deleted))
    table)
  "Outcomes of a proposal of two texts, in the same form.")

(ert-deftest aqd-disk-propose-file-edit ()
  (aqd-disk-check aqd-disk-table-of-texts "propose_file_edit"))

(ert-deftest aqd-disk-propose-patch ()
  (aqd-disk-check aqd-disk-table-of-proposals "propose_patch"))

(ert-deftest aqd-disk-edit-file ()
  (aqd-disk-check aqd-disk-table-of-edits "edit_file"))

;;;; Reviews after the write

(defun aqd-disk-change-written (how)
  "Change what an agent has written into the test's file as HOW says.
`again' writes all of it again, and `other' has a line of another program, too."
  (pcase how
    ('again (aqd-disk-put aqd-twenty-proposed))
    ('other (aqd-disk-put (aqd-disk-with-foreign aqd-twenty-proposed)))
    (_ (aqd-disk-change how))))

(defun aqd-disk-reject-both (change moment)
  "Reject both hunks of what is pending, one by one, and finish.
CHANGE is called at MOMENT.  A key that is refused is no error here."
  (when (eq moment 'opening)
    (funcall change))
  (when-let ((review (agent-q-diff-review-changes)))
    (with-current-buffer (agent-q-diff-session-buffer review)
      (aqd-goto-hunk 1)
      (agent-q-diff-reject-hunk)
      (when (eq moment 'key)
        (funcall change))
      (when (< 1 (length agent-q-diff-buffer-marks))
        (aqd-goto-hunk 2)
        (agent-q-diff-reject-hunk))
      (when (eq moment 'finish)
        (funcall change))
      (agent-q-diff-finish))))

(defun aqd-disk-run-round (buffer disk moment)
  "Return (TOLD HERE) for BUFFER, DISK and MOMENT.
TOLD is what the agent is told about all hunks.  Also check what it is told
about each by the bytes."
  (aqd-with-git-folder
    (let* ((default-directory aqd-pending-root)
           (aqd-file (aqd-pending-name "target.txt"))
           (aqd-disk-outside (make-temp-file "agent-q-diff-outside" nil nil "outside\n"))
           (agent-q-diff-display 'announce)
           (make-backup-files nil))
      (unwind-protect
          (with-timeout (20 (ert-fail (list 'hangs buffer disk moment)))
            (aqd-pending-git "init" "-q")
            (aqd-write aqd-twenty-original)
            (aqd-pending-git "add" ".")
            (aqd-pending-git "commit" "-qm" "first")
            (agent-q-diff-review-changes)
            (aqd-write aqd-twenty-proposed)
            (aqd-disk-visit buffer nil nil)
            (aqd-disk-reject-both (lambda () (aqd-disk-change-written disk)) moment)
            (let ((told (agent-q-diff-told-message default-directory))
                  (here (aqd-disk-here)))
              (aqd-disk-check-told told here)
              (list (and told
                         (string-match "was written into .*: \\(.*\\)\\.$" told)
                         (match-string 1 told))
                    here)))
        (when-let ((visitor (get-file-buffer aqd-file)))
          (with-current-buffer visitor
            (set-buffer-modified-p nil)))
        (should (equal "outside\n" (aqd-bytes-of aqd-disk-outside)))
        (delete-file aqd-disk-outside)
        (aqd-pending--clean-up)))))

(defun aqd-disk-check-told (told here)
  "Check what TOLD says of each hunk by the bytes; the file's state is HERE."
  (let ((n-there 0)
        (n-gone 0)
        (has (lambda (line)
               (and (not (memq here '(deleted directory link fifo)))
                    (string-search (concat "\n" line "\n") (aqd-disk))
                    t))))
    (dolist (entry (cdr (split-string (or told "") "\n- ")))
      (when (string-match "\\`target\\.txt, line \\([0-9]+\\)\\( (.*)\\)?\\(?:\n\\|\\'\\)" entry)
        (let ((is-there (and (match-string 2 entry) t)))
          (if is-there (cl-incf n-there) (cl-incf n-gone))
          (should (string-match (format "\n\\(?:target\\.txt, line %s\\):\n.*\n +\\+\\(.*\\)"
                                        (match-string 1 entry))
                                told))
          (should (eq is-there (funcall has (match-string 1 told)))))))
    ;; The sum agrees with that, and what it says of undecided hunks with the bytes.
    (let ((n (lambda (regexp)
               (if (and told (string-match (concat "\\([0-9]+\\) hunks? " regexp) told))
                   (string-to-number (match-string 1 told))
                 0))))
      (unless (string-search "- target.txt, \"" (or told ""))
        (should (= n-gone (funcall n "undone[,.]")))
        (should (= n-there (+ (funcall n "undone (in Emacs only") (funcall n "undone (but"))))
        (when told
          (should (= (+ n-there (funcall n "undecided (still"))
                     (seq-count has '("three" "twelve")))))))))

(defconst aqd-disk-table-of-rounds
  '(
    (opening (none clean)
             (same "2 hunks undone" original)
             (original nil original)
             (other "2 hunks undone" original)
             (again "2 hunks undone" original)
             (deleted "1 hunk undone" original)
             (directory nil directory)
             ;; That there is no file is another hunk, of the next review.
             (link "1 hunk undone" original)
             (fifo nil fifo))
    (opening (modified)
             (same "2 hunks undone (in Emacs only, not saved yet)" both)
             (original nil original)
             (other "2 hunks undone" original)
             (again "2 hunks undone (in Emacs only, not saved yet)" both)
             (deleted "1 hunk undone" original)
             (directory nil directory)
             (link "1 hunk undone" original)
             (fifo nil fifo))
    (key (none clean)
         (same "2 hunks undone" original)
         (original "2 hunks undone" original)
         (other "1 hunk undone, 1 hunk undone (but in the files again)" foreign+first)
         (again "1 hunk undone, 1 hunk undone (but in the files again)" first)
         (deleted "1 hunk undone, 1 hunk undecided (not in the files any more)" deleted)
         (directory "1 hunk undone, 1 hunk undecided (not in the files any more)" directory)
         (link "1 hunk undone, 1 hunk undecided (not in the files any more)" link)
         (fifo "1 hunk undone, 1 hunk undecided (not in the files any more)" fifo))
    (key (modified)
         (same "2 hunks undone (in Emacs only, not saved yet)" both)
         (original "2 hunks undone" original)
         (other "1 hunk undone, 1 hunk undone (but in the files again)" foreign+first)
         (again "2 hunks undone (in Emacs only, not saved yet)" both)
         (deleted "1 hunk undone, 1 hunk undecided (not in the files any more)" deleted)
         (directory "1 hunk undone, 1 hunk undecided (not in the files any more)" directory)
         (link "1 hunk undone, 1 hunk undecided (not in the files any more)" link)
         (fifo "1 hunk undone, 1 hunk undecided (not in the files any more)" fifo))
    (finish (none clean)
            (same "2 hunks undone" original)
            (original "2 hunks undone" original)
            (other "2 hunks undone (but in the files again)" foreign+both)
            (again "2 hunks undone (but in the files again)" both)
            (deleted "2 hunks undone" deleted)
            (directory "2 hunks undone" directory)
            (link "2 hunks undone" link)
            (fifo "2 hunks undone" fifo))
    (finish (modified)
            (same "2 hunks undone (in Emacs only, not saved yet)" both)
            (original "2 hunks undone" original)
            (other "2 hunks undone (but in the files again)" foreign+both)
            (again "2 hunks undone (in Emacs only, not saved yet)" both)
            (deleted "2 hunks undone" deleted)
            (directory "2 hunks undone" directory)
            (link "2 hunks undone" link)
            (fifo "2 hunks undone" fifo)))
  "What an agent is told of two hunks that it has written and the user rejects.
Each entry is (MOMENT BUFFERS (DISK TOLD HERE)...).  TOLD is nil if nothing
was taken out.")

(ert-deftest aqd-disk-what-agents-are-told-of-a-round-is-in-the-file ()
  (let ((inhibit-message t)
        (n 0))
    (pcase-dolist (`(,moment ,buffers . ,rows) aqd-disk-table-of-rounds)
      (dolist (buffer buffers)
        (pcase-dolist (`(,disk . ,expected) rows)
          (should (equal (list moment buffer disk expected)
                         (list moment buffer disk (aqd-disk-run-round buffer disk moment))))
          (setq n (1+ n)))))
    (should (= n 72))))

;;;; Messages, and what following the file keeps

(ert-deftest aqd-disk-following-is-said-above-the-diff-and-at-a-key ()
  (aqd-with-file aqd-twenty-original
    (aqd-visit)
    (aqd-disk-change 'other)
    (let (header said)
      (aqd-call aqd-twenty-original aqd-twenty-proposed
                (lambda ()
                  (setq header (buffer-substring-no-properties
                                (point-min) (aqd-goto-hunk 1)))
                  (aqd-disk-put (concat "on top\n" (aqd-disk)))
                  (setq said (agent-q-diff-accept-hunk))
                  (agent-q-diff-reject-all)))
      (should (string-search "The file had changed on disk; its buffer" header))
      (should (string-search "; the file had changed on disk" said))
      (should (equal (aqd-disk)
                     (concat "on top\n" (aqd-disk-with-foreign aqd-twenty-with-first)))))))

(ert-deftest aqd-disk-conflict-is-said-above-the-diff-with-the-ways-out ()
  (aqd-with-file aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (goto-char (point-max))
      (insert "mine\n"))
    (aqd-disk-change 'other)
    (aqd-call aqd-twenty-original aqd-twenty-proposed
              (lambda ()
                (let ((header (buffer-substring-no-properties
                               (point-min) (aqd-goto-hunk 1))))
                  (should (string-search "No hunk can be accepted yet" header))
                  (should (string-search "M-x ediff-current-file there compares them" header)))
                (should-not (agent-q-diff-accept-hunk))
                (with-current-buffer (find-buffer-visiting aqd-file)
                  (revert-buffer t t))
                (aqd-goto-hunk 1)
                (should (agent-q-diff-accept-hunk))
                (agent-q-diff-reject-all)))
    (should (equal (aqd-disk) (aqd-disk-with-foreign aqd-twenty-with-first)))))

(ert-deftest aqd-disk-following-keeps-point-markers-and-undo ()
  (aqd-with-file aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (buffer-enable-undo)
      (goto-char (point-min))
      (search-forward "line 7")
      (let ((marker (save-excursion (search-forward "line 15") (copy-marker (point))))
            (overlay (make-overlay (line-beginning-position) (line-end-position))))
        (agent-q-diff-disk-watch (current-buffer))
        (aqd-disk-put (concat "one\ntwo\n" (aqd-disk-with-foreign aqd-twenty-original)))
        (should (eq 'followed (agent-q-diff-disk-sync (current-buffer))))
        (should (equal (buffer-string) (aqd-disk)))
        (should-not (buffer-modified-p))
        (should (verify-visited-file-modtime (current-buffer)))
        (should (looking-back "^line 7" (line-beginning-position)))
        (should (equal "line 15" (buffer-substring (- marker 7) marker)))
        (should (equal "line 7" (buffer-substring (overlay-start overlay)
                                                  (overlay-end overlay))))
        (should-not (agent-q-diff-disk-sync (current-buffer)))))))

(ert-deftest aqd-disk-following-runs-the-hooks-of-revert-buffer ()
  (aqd-with-file "a\nb\n"
    (with-current-buffer (aqd-visit)
      (let ((ran nil))
        (add-hook 'before-revert-hook (lambda () (push 'before ran)) nil t)
        (add-hook 'after-revert-hook (lambda () (push 'after ran)) nil t)
        (agent-q-diff-disk-watch (current-buffer))
        (aqd-disk-put "a\nc\n")
        (should (eq 'followed (agent-q-diff-disk-sync (current-buffer))))
        (should (equal ran '(after before)))))))

;;;; A file that must not be read any more

(ert-deftest aqd-disk-a-file-that-cannot-be-read-any-more-is-left-alone ()
  (aqd-with-file aqd-twenty-original
    (let* ((readable (symbol-function 'file-readable-p))
           (read (symbol-function 'insert-file-contents))
           (result
            (aqd-call
             aqd-twenty-original aqd-twenty-with-first
             (lambda ()
               (set-file-modes aqd-file #o000)
               ;; The superuser, as whom tests may run, may read any file.
               (cl-letf (((symbol-function 'file-readable-p)
                          (lambda (name)
                            (and (not (equal name aqd-file)) (funcall readable name))))
                         ((symbol-function 'insert-file-contents)
                          (lambda (name &rest arguments)
                            (when (equal name aqd-file)
                              (signal 'permission-denied (list name)))
                            (apply read name arguments))))
                 (ert-with-message-capture messages
                   (should-not (agent-q-diff-accept-hunk))
                   (should (string-search "cannot be read any more; nothing is written"
                                          messages)))
                 (agent-q-diff-show-outcome)
                 (agent-q-diff-reject-hunk)
                 (agent-q-diff-finish))))))
      (set-file-modes aqd-file #o644)
      (should (equal "rejected" result))
      (should (equal aqd-twenty-original (aqd-disk))))))

;;;; Links, directories and undo

(defmacro aqd-disk-with-link (&rest body)
  "Run BODY with a buffer that visits a link which now leads out of the project.
The link led to the test's file before; now it leads to `outside'."
  (declare (indent 0) (debug t))
  `(aqd-with-project aqd-twenty-original
     (let* ((outside (make-temp-file "agent-q-diff-outside" nil nil aqd-twenty-original))
            (link (expand-file-name "link.txt" aqd-project)))
       (unwind-protect
           (progn
             (make-symbolic-link aqd-file link)
             (find-file-noselect link)
             (delete-file link)
             (make-symbolic-link outside link)
             ,@body
             (should (equal aqd-twenty-original
                            (let ((aqd-file outside)) (aqd-disk)))))
         (let ((buffer (get-file-buffer link)))
           (with-current-buffer buffer
             (set-buffer-modified-p nil))
           (kill-buffer buffer))
         (delete-file outside)))))

(ert-deftest aqd-disk-a-buffer-whose-link-leads-out-is-not-the-file-s ()
  (aqd-disk-with-link
    (should (eq 'agent-q-diff-bad-target
                (car (aqd-review aqd-twenty-original aqd-twenty-with-first "a q")))))
  (aqd-disk-with-link
    (should (string-search "leads elsewhere now" (aqd-edit "line 3\n" "three\n")))))

(ert-deftest aqd-disk-a-directory-that-is-moved-out-is-noticed ()
  (aqd-with-project ""
    (let* ((folder (expand-file-name "sub/" aqd-project))
           (aqd-file (expand-file-name "f.txt" folder))
           (outside (make-temp-file "agent-q-diff-outside" t)))
      (make-directory folder)
      (aqd-write aqd-twenty-original)
      (aqd-call aqd-twenty-original aqd-twenty-with-first
                (lambda ()
                  (rename-file (directory-file-name folder) (concat outside "/sub"))
                  (make-symbolic-link (concat outside "/sub") (directory-file-name folder))
                  (should-not (agent-q-diff-accept-hunk))
                  (agent-q-diff-reject-all)))
      (should (equal aqd-twenty-original
                     (let ((aqd-file (concat outside "/sub/f.txt"))) (aqd-disk))))
      (delete-directory outside t))))

(ert-deftest aqd-disk-a-directory-that-leads-out-while-the-file-is-saved-is-noticed ()
  "The buffer may visit the file by another name than the review has."
  (dolist (hook '(before-save-hook write-file-functions))
    (dolist (is-by-link '(nil t))
      (aqd-with-file aqd-twenty-original
        (let* ((directory (file-name-directory aqd-file))
               (link (concat (directory-file-name directory) "-link"))
               (outside (make-temp-file "agent-q-diff-outside" t))
               (linked (expand-file-name "target.txt" link)))
          (unwind-protect
              (progn
                (aqd-put-bytes aqd-twenty-original (expand-file-name "target.txt" outside))
                (make-symbolic-link directory link)
                (with-current-buffer (find-file-noselect (if is-by-link linked aqd-file))
                  (add-hook hook
                            (lambda ()
                              (delete-file link)
                              (make-symbolic-link outside link)
                              nil)
                            nil t))
                (should (eq 'agent-q-diff-not-applied
                            (car (let ((aqd-file linked))
                                   (aqd-review aqd-twenty-original aqd-twenty-with-first
                                               "a q")))))
                (should (equal aqd-twenty-original (aqd-disk)))
                (should (equal aqd-twenty-original
                               (aqd-bytes-of (expand-file-name "target.txt" outside)))))
            (when (get-file-buffer linked)
              (with-current-buffer (get-file-buffer linked)
                (set-buffer-modified-p nil)
                (kill-buffer)))
            (delete-file link)
            (delete-directory outside t)))))))

(ert-deftest aqd-disk-a-link-that-was-removed-was-deleted ()
  (aqd-with-file aqd-twenty-original
    (let ((link (concat aqd-file "-link")))
      (make-symbolic-link aqd-file link)
      (with-current-buffer (find-file-noselect link)
        (agent-q-diff-disk-watch (current-buffer))
        (delete-file link)
        (should (eq 'deleted (agent-q-diff-disk-state (current-buffer))))
        (kill-buffer)))))

(ert-deftest aqd-disk-a-directory-of-a-new-file-that-leads-elsewhere-is-noticed ()
  (aqd-with-project ""
    (let ((folder (expand-file-name "sub" aqd-project))
          (outside (make-temp-file "agent-q-diff-outside" t)))
      (make-directory folder)
      (with-current-buffer (find-file-noselect (expand-file-name "new.txt" folder))
        (agent-q-diff-disk-watch (current-buffer) t)
        (should-not (agent-q-diff-disk-state (current-buffer)))
        (delete-directory folder)
        (make-symbolic-link outside folder)
        (should (eq 'moved (agent-q-diff-disk-state (current-buffer))))
        (kill-buffer))
      (delete-directory outside t))))

(ert-deftest aqd-disk-undoing-what-was-followed-is-an-edit ()
  (aqd-with-file aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (buffer-enable-undo)
      (agent-q-diff-disk-watch (current-buffer))
      (aqd-disk-change 'other)
      (should (eq 'followed (agent-q-diff-disk-sync (current-buffer))))
      (undo-boundary)
      (undo)
      (should (equal (buffer-string) aqd-twenty-original))
      (should (buffer-modified-p))
      (should-not (agent-q-diff-disk-in-file-p (current-buffer))))))

(ert-deftest aqd-disk-a-writer-while-the-buffer-follows-is-noticed ()
  "Another program writes the file right after one of the reads."
  (dolist (nth-read '(1 2))
    (aqd-with-file aqd-twenty-original
      (with-current-buffer (aqd-visit)
        (agent-q-diff-disk-watch (current-buffer))
        (aqd-disk-change 'other)
        (let ((insert-file (symbol-function 'insert-file-contents))
              (n 0))
          (cl-letf (((symbol-function 'insert-file-contents)
                     (lambda (&rest arguments)
                       (prog1 (apply insert-file arguments)
                         (when (= nth-read (setq n (1+ n)))
                           (call-process "sh" nil nil nil "-c" "echo another > \"$0\""
                                         aqd-file))))))
            (agent-q-diff-disk-sync (current-buffer)))
          (should (<= nth-read n)))
        (agent-q-diff-disk-sync (current-buffer))
        (should (equal (buffer-string) "another\n"))
        (should (agent-q-diff-disk-in-file-p (current-buffer)))))))

(ert-deftest aqd-disk-a-buffer-that-cannot-follow-is-not-said-to-have-edits ()
  (aqd-with-file aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (add-hook 'before-revert-hook (lambda () (error "No")) nil t))
    (aqd-disk-change 'other)
    (aqd-call aqd-twenty-original aqd-twenty-with-first
              (lambda ()
                (should-not (agent-q-diff-accept-hunk))
                (should (string-search "its buffer cannot be updated"
                                       (cdar (agent-q-diff-change-failures
                                              agent-q-diff-buffer-change))))
                (agent-q-diff-reject-all)))
    (should (equal (aqd-disk) (aqd-disk-with-foreign aqd-twenty-original)))))

(ert-deftest aqd-disk-a-read-only-buffer-stays-one ()
  (aqd-with-file aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (agent-q-diff-disk-watch (current-buffer))
      (setq buffer-read-only t)
      (aqd-disk-change 'other)
      (should (eq 'followed (agent-q-diff-disk-sync (current-buffer))))
      (should buffer-read-only))))

(ert-deftest aqd-disk-a-literal-buffer-keeps-its-bytes ()
  (aqd-with-file "a\nb\n"
    (with-current-buffer (find-file-literally aqd-file)
      (agent-q-diff-disk-watch (current-buffer))
      (aqd-disk-put "éü\nc\n")
      (should (eq 'followed (agent-q-diff-disk-sync (current-buffer))))
      (should (equal (buffer-string) (aqd-disk))))))

;;;; A buffer that is wrongly marked unmodified

(defun aqd-disk-type-and-deny ()
  "Edit the last line of the target and mark the buffer as unmodified."
  (aqd-in-target
    (goto-char (point-max))
    (insert "half a wo")
    (call-interactively #'not-modified)))

(ert-deftest aqd-disk-what-is-called-unmodified-is-not-said-to-be-in-the-file ()
  "M-~ writes nothing, so the edit is only in the buffer."
  (let ((agent-q-diff-save 'always))
    (aqd-with-open-review aqd-twenty-original aqd-twenty-with-first
      (agent-q-diff-accept review 0)
      (aqd-disk-type-and-deny)
      (agent-q-diff-end review)
      (should (equal (aqd-disk) aqd-twenty-with-first))
      (should (equal '(accepted nil) (aqd-answer :status :saved)))
      (should (string-search "unsaved changes" (car (aqd-answer :message)))))))

(ert-deftest aqd-disk-what-is-called-unmodified-is-not-saved-with-a-hunk ()
  "M-~ does not allow saving half a word, before a review or during it."
  (dolist (moment '(before within))
    (aqd-with-open-review aqd-twenty-original aqd-twenty-with-first
      (ignore review)
      (agent-q-diff-cancel review)
      (aqd-visit)
      (setq aqd-answers nil)
      (when (eq moment 'before)
        (aqd-disk-type-and-deny))
      (let ((again (aqd-begin-review aqd-twenty-original aqd-twenty-with-first)))
        (when (eq moment 'within)
          (aqd-disk-type-and-deny))
        (agent-q-diff-accept again 0)
        (should (equal (aqd-disk) aqd-twenty-original))
        (agent-q-diff-end again))
      (should-not (car (aqd-answer :saved))))))

(ert-deftest aqd-disk-what-is-called-unmodified-is-not-saved-with-an-edit ()
  (aqd-with-project aqd-twenty-original
    (aqd-visit)
    (aqd-disk-type-and-deny)
    (should (string-search "has not been saved" (aqd-edit "line 3\n" "three\n")))
    (should (equal (aqd-disk) aqd-twenty-original))))

(ert-deftest aqd-disk-what-was-undone-is-unmodified ()
  "Undoing all since the last save leaves the file's text."
  (aqd-with-project aqd-twenty-original
    (with-current-buffer (aqd-visit)
      (buffer-enable-undo)
      (insert "half a wo")
      (undo-boundary)
      (undo-only)
      (should-not (buffer-modified-p)))
    (should-not (string-search "not been saved" (aqd-edit "line 3\n" "three\n")))
    (should (equal (aqd-disk) aqd-twenty-with-first))))

;;;; A file on another host

(defvar aqd-disk-here-file nil
  "The name of the test's file on its own host.")

(defmacro aqd-disk-with-mock-host (&rest body)
  "Run BODY with `aqd-file' named as TRAMP reaches it, by the method `mock'.
TRAMP does not notice what BODY does with `aqd-disk-here-file'."
  (declare (indent 0) (debug t))
  `(aqd-with-mock-host
    ;; TRAMP caches what it knows for longer than a test takes.
    (let* ((remote-file-name-inhibit-cache nil)
           (aqd-disk-here-file aqd-file)
           (aqd-file (concat "/mock:localhost:" aqd-file))
           (default-directory (file-name-directory aqd-file))
           (agent-q-diff-project-root default-directory))
      (unwind-protect (progn ,@body)
        (when-let ((buffer (find-buffer-visiting aqd-file)))
          (with-current-buffer buffer
            (set-buffer-modified-p nil)
            (kill-buffer)))))))

(defun aqd-disk-put-there (text)
  "Have another program write TEXT to the test's file on its host."
  (aqd-put-bytes text aqd-disk-here-file))

(ert-deftest aqd-disk-on-another-host-a-change-is-seen-before-a-key ()
  (aqd-with-file aqd-twenty-original
    (aqd-disk-with-mock-host
      (let* ((review (aqd-begin-review aqd-twenty-original aqd-twenty-proposed))
             (target (aqd-target-of review)))
        (should (file-exists-p aqd-file))
        (aqd-disk-put-there (concat "on top\n" aqd-twenty-original))
        (agent-q-diff-accept review 0)
        (should (equal (aqd-bytes-of aqd-disk-here-file)
                       (concat "on top\n" aqd-twenty-with-first)))
        (should (equal (concat "on top\n" aqd-twenty-with-first)
                       (agent-q-diff-text-in target)))
        (agent-q-diff-cancel review)))))

(ert-deftest aqd-disk-on-another-host-a-change-is-seen-at-the-end ()
  (aqd-with-file aqd-twenty-original
    (aqd-disk-with-mock-host
      (let* ((aqd-answers nil)
             (review (aqd-begin-review aqd-twenty-original aqd-twenty-with-first)))
        (agent-q-diff-accept review 0)
        (should (equal (aqd-bytes-of aqd-disk-here-file) aqd-twenty-with-first))
        (aqd-disk-put-there aqd-twenty-original)
        (agent-q-diff-end review)
        (should (equal 0 (car (aqd-answer :in-file))))))))

(ert-deftest aqd-disk-on-another-host-what-is-not-a-file-any-more-is-not-opened ()
  (aqd-with-file aqd-twenty-original
    (aqd-disk-with-mock-host
      (let* ((aqd-answers nil)
             (review (aqd-begin-review aqd-twenty-original aqd-twenty-with-first)))
        (delete-file aqd-disk-here-file)
        (call-process "mkfifo" nil nil nil aqd-disk-here-file)
        (with-timeout (20 (ert-fail "It hangs"))
          (let ((came-to (condition-case err
                             (agent-q-diff-accept review 0)
                           (agent-q-diff-bad-target (cadr err)))))
            (should (string-search "not a regular file" came-to))))
        (agent-q-diff-cancel review)))))

(ert-deftest aqd-disk-on-another-host-an-edit-sees-what-is-there ()
  (aqd-with-project aqd-twenty-original
    (aqd-disk-with-mock-host
      (dolist (is-open '(nil t))
        (aqd-disk-put-there aqd-twenty-original)
        (when is-open (aqd-visit))
        (should (string-prefix-p "✓" (aqd-edit "line 3\n" "three\n")))
        (aqd-disk-put-there (concat "on top\n" aqd-twenty-original))
        (should (string-prefix-p "✓" (aqd-edit "line 3\n" "three\n")))
        (should (equal (aqd-bytes-of aqd-disk-here-file)
                       (concat "on top\n" aqd-twenty-with-first)))))))

(ert-deftest aqd-disk-on-another-host-a-write-in-the-same-second-is-seen ()
  "TRAMP gives times in whole seconds."
  (dolist (is-end '(nil t))
    (aqd-with-file aqd-twenty-original
      (aqd-disk-with-mock-host
        (let* ((aqd-answers nil)
               (review (aqd-begin-review aqd-twenty-original aqd-twenty-proposed)))
          (agent-q-diff-accept review 0)
          (let ((attributes (agent-q-diff-disk-attributes aqd-file)))
            (cl-letf (((symbol-function 'agent-q-diff-disk-attributes)
                       (lambda (_) attributes)))
              (if is-end
                  (progn
                    (aqd-disk-put-there (string-replace "three" "THREE" aqd-twenty-with-first))
                    (agent-q-diff-end review)
                    (should (equal 0 (car (aqd-answer :in-file)))))
                (aqd-disk-put-there (string-replace "line 7" "LINE 7" aqd-twenty-with-first))
                (agent-q-diff-accept review 1)
                (should (equal (aqd-bytes-of aqd-disk-here-file)
                               (string-replace "line 7" "LINE 7" aqd-twenty-proposed)))
                (agent-q-diff-cancel review)))))))))

(ert-deftest aqd-disk-on-another-host-opening-a-file-of-root-asks-nothing ()
  (aqd-with-file aqd-twenty-original
    (aqd-disk-with-mock-host
      (unless (eql 0 (file-attribute-user-id (file-attributes aqd-file 'integer)))
        (ert-skip "Only root has files of root"))
      (let ((auto-save-default t)
            (noninteractive nil))
        (cl-letf (((symbol-function 'yes-or-no-p)
                   (lambda (question) (ert-fail question))))
          (should (cdr (agent-q-diff-visit aqd-file))))))))

(ert-deftest aqd-disk-on-another-host-a-link-is-a-file ()
  (aqd-with-file aqd-twenty-original
    (let ((link (concat aqd-file "-link")))
      (make-symbolic-link aqd-file link)
      (aqd-disk-with-mock-host
        (let* ((aqd-file (concat aqd-file "-link"))
               (review (aqd-begin-review aqd-twenty-original aqd-twenty-proposed)))
          (agent-q-diff-accept review 0)
          (should (equal (aqd-bytes-of aqd-disk-here-file) aqd-twenty-with-first))
          (should (file-symlink-p link))
          (agent-q-diff-cancel review))))))

(ert-deftest aqd-disk-on-another-host-a-quit-after-the-write-is-too-late ()
  "TRAMP quits whatever `inhibit-quit' says."
  (dolist (where '(rename-file set-visited-file-modtime))
    (aqd-with-project aqd-twenty-original
      (aqd-disk-with-mock-host
        (let* ((aqd-answers nil)
               (review (aqd-begin-review aqd-twenty-original aqd-twenty-proposed))
               (function (symbol-function where))
               (quit-once (lambda (&rest arguments)
                            (prog1 (apply function arguments)
                              (unless (equal aqd-twenty-original
                                             (aqd-bytes-of aqd-disk-here-file))
                                (fset where function)
                                (signal 'quit nil))))))
          (unwind-protect
              (progn
                (fset where quit-once)
                (agent-q-diff-accept review 0)
                (should (eq function (symbol-function where)))
                (should (equal (aqd-bytes-of aqd-disk-here-file) aqd-twenty-with-first))
                (agent-q-diff-reject review 1)
                (agent-q-diff-end review)
                (should (equal '(1 t) (list (car (aqd-answer :in-file))
                                            (car (aqd-answer :saved)))))
                (when (eq where 'rename-file)
                  (kill-buffer (find-buffer-visiting aqd-file))
                  (fset where quit-once)
                  (should (string-prefix-p "✓" (aqd-edit "line 7\n" "seven\n")))))
            (fset where function)))))))

(ert-deftest aqd-disk-on-another-host-that-is-gone-a-review-still-ends ()
  (require 'tramp)
  (dolist (end (list #'agent-q-diff-end
                     #'agent-q-diff-cancel
                     (lambda (review) (kill-buffer (agent-q-diff-session-buffer review)))))
    (aqd-with-file aqd-twenty-original
      (aqd-disk-with-mock-host
        (let* ((aqd-answers nil)
               (review (aqd-begin-review aqd-twenty-original aqd-twenty-proposed))
               (handler (symbol-function 'tramp-file-name-handler)))
          (agent-q-diff-accept review 0)
          (cl-letf (((symbol-function 'tramp-file-name-handler)
                     (lambda (operation &rest arguments)
                       ;; What asks the host.
                       (when (memq operation '(file-truename file-attributes file-exists-p
                                               file-regular-p file-readable-p
                                               insert-file-contents
                                               verify-visited-file-modtime))
                         (signal 'file-error '("Tramp failed to connect")))
                       (apply handler operation arguments))))
            (should-error (agent-q-diff-accept review 1))
            (agent-q-diff-reject review 1)
            (should-not aqd-answers)
            (funcall end review)
            (should (= 1 (length aqd-answers)))
            ;; Nobody can know.
            (should-not (car (aqd-answer :saved)))))))))

;;;; A file whose markup Emacs decodes

(defconst aqd-disk-enriched
  (concat "Content-Type: text/enriched\nText-Width: 70\n\n"
          "<bold>one</bold>\n\n<italic>two</italic>\n\nthree\n\nfour\n")
  "A file that Emacs shows without its markup.")

(defconst aqd-disk-enriched-proposed
  (string-replace "<italic>two</italic>" "<bold>two</bold>" aqd-disk-enriched)
  "The proposal of an agent that has read its bytes.")

(ert-deftest aqd-disk-markup-is-text-in-a-review-of-a-file-that-is-not-open ()
  (aqd-with-file aqd-disk-enriched
    (let ((result (aqd-result aqd-disk-enriched aqd-disk-enriched-proposed "a q")))
      (should (equal (aqd-disk) aqd-disk-enriched-proposed))
      (should (equal '(accepted t) (list (plist-get result :status)
                                         (plist-get result :saved)))))))

(ert-deftest aqd-disk-markup-is-text-when-a-review-follows-the-file ()
  (aqd-with-open-review aqd-disk-enriched aqd-disk-enriched-proposed
    (let ((changed (string-replace "three" "<bold>three</bold>" aqd-disk-enriched)))
      (aqd-write changed)
      (agent-q-diff-accept review 0)
      (should (equal (aqd-disk) (string-replace "<italic>two</italic>" "<bold>two</bold>"
                                                changed)))
      (should (equal (aqd-disk) (aqd-target)))
      (agent-q-diff-end review)
      (should (equal '(accepted t) (aqd-answer :status :saved))))))

(ert-deftest aqd-disk-markup-that-a-buffer-hides-is-not-written-over ()
  "The file is open with its markup hidden, so its text differs from the agent's."
  (aqd-with-project aqd-disk-enriched
    (should (equal "one" (with-current-buffer (aqd-visit)
                           (buffer-substring-no-properties 1 4))))
    (should (string-search "is open with its markup hidden" (aqd-edit "three\n" "3\n")))
    (should (equal (aqd-disk) aqd-disk-enriched))
    ;; The advice in the message helps.
    (kill-buffer (find-buffer-visiting aqd-file))
    (should (string-prefix-p "✓" (aqd-edit "three\n" "3\n")))
    (should (equal (aqd-disk) (string-replace "three" "3" aqd-disk-enriched)))))

(defun aqd-disk-accept-hidden (review)
  "Accept the hunk of REVIEW, whose buffer hides the markup, and kill that."
  (let ((came-to (condition-case err
                     (agent-q-diff-accept review 0)
                   (agent-q-diff-error (car err)))))
    (should (memq came-to '(agent-q-diff-conflict agent-q-diff-bad-target))))
  (should (equal (aqd-disk) aqd-disk-enriched))
  (should (string-search "is open with its markup hidden; kill its buffer"
                         (agent-q-diff-target-disk-message
                          (agent-q-diff-file-change-target
                           (agent-q-diff-session-file review)))))
  (kill-buffer (find-buffer-visiting aqd-file))
  (agent-q-diff-accept review 0)
  (should (equal (aqd-disk) aqd-disk-enriched-proposed))
  (agent-q-diff-end review)
  (should (equal '(accepted t) (aqd-answer :status :saved))))

(ert-deftest aqd-disk-markup-that-is-hidden-before-a-review-is-not-written-over ()
  (let ((aqd-answers nil))
    (aqd-with-file aqd-disk-enriched
      (aqd-visit)
      (let ((review (aqd-begin-review aqd-disk-enriched aqd-disk-enriched-proposed)))
        (aqd-in-diff review
          (should (string-search "No hunk can be accepted yet" (buffer-string)))
          (should (string-search "markup hidden; kill its buffer" (buffer-string))))
        (aqd-disk-accept-hidden review)))))

(ert-deftest aqd-disk-markup-that-is-hidden-during-a-review-is-not-written-over ()
  (aqd-with-open-review aqd-disk-enriched aqd-disk-enriched-proposed
    (aqd-in-target (format-decode-buffer 'text/enriched))
    (should (equal "one" (aqd-in-target (buffer-substring-no-properties 1 4))))
    (aqd-disk-accept-hidden review)))

(ert-deftest aqd-disk-a-hunk-that-fits-where-the-markup-is-hidden-is-not-applied ()
  "Some lines are equal with and without the markup."
  (aqd-with-file aqd-disk-enriched
    (aqd-visit)
    (let* ((aqd-answers nil)
           (review (agent-q-diff-review-patch
                    aqd-file "@@ -8 +8 @@\n-three\n+3\n" "d"
                    (lambda (result) (push result aqd-answers))))
           (came-to (condition-case err
                        (agent-q-diff-accept review 0)
                      (agent-q-diff-error (agent-q-diff-error-text err)))))
      (should (string-search "markup hidden" came-to))
      (should (equal (aqd-disk) aqd-disk-enriched))
      (agent-q-diff-cancel review))))

;;;; Changes that keep size or text

(ert-deftest aqd-disk-same-size-and-time-is-no-proof ()
  (aqd-with-forty-lines
    (aqd-visit)
    (let ((time (file-attribute-modification-time (file-attributes aqd-file)))
          (foreign (string-replace "line 30" "LINE 30" aqd-original-of-three)))
      (aqd-call-with-three
       (lambda ()
         (aqd-write foreign)
         (set-file-times aqd-file time)
         ;; The buffer follows its file first, so nothing is lost.
         (should (agent-q-diff-accept-hunk))
         (agent-q-diff-finish)))
      (should (equal (aqd-disk) (string-replace "line 5\n" "five\n" foreign))))))

(ert-deftest aqd-disk-a-touched-file-has-not-changed ()
  (aqd-with-forty-lines
    (aqd-visit)
    (aqd-call-with-three
     (lambda ()
       (set-file-times aqd-file (time-add nil 100))
       (should (agent-q-diff-accept-hunk))
       (agent-q-diff-finish)))
    (should (equal (aqd-disk) (aqd-forty-lines '(5 . "five"))))))

;; A buffer without unsaved edits follows its file instead: see the suite of
;; `agent-q-diff-disk-test.el'.
(ert-deftest aqd-disk-changed-on-disk ()
  (aqd-target-refuses (progn
                        (goto-char (point-max))
                        (insert "mine\n")
                        (write-region "other\n" nil aqd-file nil 'silent)
                        (set-file-times aqd-file (time-add nil 60)))
    (revert-buffer t t)
    (erase-buffer)
    (insert aqd-original)))

(ert-deftest aqd-disk-deleted-on-disk ()
  (aqd-target-refuses (delete-file aqd-file)
    (set-buffer-modified-p t)
    (save-buffer)))

(provide 'agent-q-diff-disk-test)
;;; agent-q-diff-disk-test.el ends here
