;;; agent-q-diff-engine.el --- Builds, loads and calls the Rust engine  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The agent-q-diff authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Builds, checks and loads the dynamic module, and gives its functions
;; names and arguments that Lisp likes.  This is the only file that names
;; the module's functions.  Nothing here prompts, builds or loads when the
;; file is loaded: the module is loaded by the first call that needs it.
;;
;; A review is an opaque object.  Hunks are counted from 0.

;;; Code:

(require 'agent-q-diff-base)
(require 'agent-q-diff-visible)
(require 'subr-x)

(defconst agent-q-diff-engine-version "0.1.0"
  "Version of the engine that this Lisp code goes with.")

(declare-function agent-q-diff-module-commit "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-adopt "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-blank-hunks "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-blobs "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-candidates "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-certainty "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-changed-words "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-counts "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-decision "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-edit-outside "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-fail "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-files "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-follow "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-read "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-read-on "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-free "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-hash "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-header-lines "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-hunk-id "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-hunk-with-id "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-is-coarse "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-is-edited "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-is-idle "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-join-decisions "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-line "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-live-lines "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-mark "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-marks "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-matches "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-merge "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-n-decisions "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-n-reviews "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-n-suspects "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-next-pending "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-offsets "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-pick "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-place "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-plan "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-plan-all "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-plan-back "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-plan-text "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-print "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-print-headers "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-print-hunks "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-proposed "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-recognize "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-reject-all "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-replace "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-review "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-review-diff "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-set-mark "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-side "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-split "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-state "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-suspects "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-standing "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-tally "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-typed-lines "ext:agent-q-diff-module")
(declare-function agent-q-diff-module-version "ext:agent-q-diff-module")

;;;; Finding and loading the module

(defvar agent-q-diff-engine--directory
  (file-name-directory (or load-file-name buffer-file-name))
  "Directory of this file, where the module is installed.")

(defun agent-q-diff-engine--module-file ()
  "Return the name of the module's file."
  (expand-file-name (concat "agent-q-diff-module" module-file-suffix)
                    agent-q-diff-engine--directory))

(defun agent-q-diff-engine--version-file ()
  "Return the name of the file with the installed module's version."
  (expand-file-name "agent-q-diff-module.version"
                    agent-q-diff-engine--directory))

(defun agent-q-diff-engine--installed ()
  "Return (VERSION SOURCES STAMP) of the installed module, or nil if there is none.
SOURCES is the digest of the files it was built from and STAMP what
`agent-q-diff-engine--stamp' said of them, if that was noted."
  (when (and (file-exists-p (agent-q-diff-engine--module-file))
             (file-readable-p (agent-q-diff-engine--version-file)))
    (with-temp-buffer
      (insert-file-contents (agent-q-diff-engine--version-file))
      (split-string (buffer-string)))))

(defun agent-q-diff-engine--refuse (format &rest arguments)
  "Signal `agent-q-diff-no-module' with FORMAT and ARGUMENTS."
  (signal 'agent-q-diff-no-module (list (apply #'format format arguments))))

(defun agent-q-diff-engine--compared (version)
  "Return how VERSION, a string, stands to that which is needed."
  (format "%s, %s than %s, which its Lisp code needs" version
          (cond ((ignore-errors (version< version agent-q-diff-engine-version)) "older")
                ((ignore-errors (version< agent-q-diff-engine-version version)) "newer")
                (t "other"))
          agent-q-diff-engine-version))

(defun agent-q-diff-engine--check-installed ()
  "Signal an error with what to do unless a fit module is installed."
  (unless (bound-and-true-p module-file-suffix)
    (agent-q-diff-engine--refuse
     "this Emacs cannot load modules; use one built --with-modules"))
  (pcase (agent-q-diff-engine--installed)
    ('nil
     (agent-q-diff-engine--refuse
      "the engine is not built; run M-x agent-q-diff-build-module"))
    ((and `(,version . ,_)
          (guard (not (equal version agent-q-diff-engine-version))))
     (agent-q-diff-engine--refuse
      "the engine is version %s; run M-x agent-q-diff-build-module"
      (agent-q-diff-engine--compared version)))
    ;; An upgrade from version control brings other sources under one version.
    ((and `(,_ ,sources . ,stamp)
          (guard (not (agent-q-diff-engine--same-sources-p sources (car stamp)))))
     (agent-q-diff-engine--refuse
      "the engine was built from other sources than those beside its Lisp code; \
run M-x agent-q-diff-build-module"))))

(defun agent-q-diff-engine--check-loaded ()
  "Signal an error with what to do unless the module that is loaded is fit."
  (let ((version (agent-q-diff-module-version)))
    (unless (equal version agent-q-diff-engine-version)
      ;; A module cannot be loaded a second time.
      (agent-q-diff-engine--refuse
       "engine %s is loaded; %srestart Emacs"
       (agent-q-diff-engine--compared version)
       (if (condition-case nil
               (prog1 nil (agent-q-diff-engine--check-installed))
             (agent-q-diff-no-module t))
           "run M-x agent-q-diff-build-module and "
         "")))))

(defun agent-q-diff-engine-ensure ()
  "Load the engine unless it is loaded.
Signal `agent-q-diff-no-module' with what to do if that cannot be."
  (unless (featurep 'agent-q-diff-module)
    (agent-q-diff-engine--check-installed)
    (condition-case err
        (module-load (agent-q-diff-engine--module-file))
      (module-load-failed
       (agent-q-diff-engine--refuse
        "the engine does not load (%s); run M-x agent-q-diff-build-module"
        (error-message-string err)))))
  (agent-q-diff-engine--check-loaded))

;;;; Building the module

(defun agent-q-diff-engine--source-directories ()
  "Return where the engine's sources may be, the first choice first.
Package archives put them beside the Lisp files, repositories one level
up.  Package managers that link the Lisp files into a folder of their
own may delete that at each upgrade, and what cargo has built there with
it: so the true place comes first."
  (let* ((here agent-q-diff-engine--directory)
         (true (file-name-directory
                (file-truename (expand-file-name "agent-q-diff-engine.el" here)))))
    (mapcan (lambda (directory)
              (list directory
                    (file-name-directory (directory-file-name directory))))
            (list true here))))

(defun agent-q-diff-engine--manifest-p (file)
  "Return non-nil if FILE is the Cargo.toml of our workspace, not somebody else's."
  (and (file-readable-p file)
       (with-temp-buffer
         (insert-file-contents file)
         (re-search-forward "^members = \\[.*\"src/module\"" nil t))))

(defun agent-q-diff-engine--find-sources ()
  "Return the directory of the engine's Cargo.toml, or nil."
  (seq-find (lambda (directory)
              (agent-q-diff-engine--manifest-p
               (expand-file-name "Cargo.toml" directory)))
            (agent-q-diff-engine--source-directories)))

(defun agent-q-diff-engine--source-directory ()
  "Return the directory of the engine's Cargo.toml, or signal an error."
  (or (agent-q-diff-engine--find-sources)
      (agent-q-diff-engine--refuse "no Cargo.toml of the engine in %s"
                                   (string-join
                                    (seq-uniq (agent-q-diff-engine--source-directories))
                                    " or "))))

(defun agent-q-diff-engine--source-files ()
  "Return the names of the module's sources, relative to `default-directory'.
That is the directory of its Cargo.toml."
  (append '("Cargo.toml" "Cargo.lock")
          (mapcan (lambda (crate)
                    (and (file-directory-p crate)
                         (directory-files-recursively
                          crate "\\.rs\\'\\|\\`Cargo\\.toml\\'")))
                  (list "src/engine" "src/module"))))

(defun agent-q-diff-engine--sources ()
  "Return a digest of the module's sources, or nil if they are not here.
Reading them takes a few milliseconds."
  (when-let ((directory (agent-q-diff-engine--find-sources))
             (default-directory directory))
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (dolist (file (agent-q-diff-engine--source-files))
        (when (file-readable-p file)
          (insert file "\n")
          (insert-file-contents-literally file)
          (goto-char (point-max))))
      (secure-hash 'sha256 (current-buffer)))))

(defun agent-q-diff-engine--stamp ()
  "Return a digest of the times and sizes of the module's sources, or nil.
It is nil if they are not here.  As long as it is the same, they need not
be read."
  (when-let ((directory (agent-q-diff-engine--find-sources))
             (default-directory directory))
    (secure-hash
     'sha256
     (mapconcat (lambda (file)
                  (let ((attributes (file-attributes file)))
                    (format "%s %s %s" file (file-attribute-size attributes)
                            ;; Of no time that would be the present one.
                            (and attributes
                                 (format-time-string
                                  "%s.%N" (file-attribute-modification-time
                                           attributes))))))
                (agent-q-diff-engine--source-files) "\n"))))

(defun agent-q-diff-engine--same-sources-p (sources stamp)
  "Return non-nil if the module's sources are those with the digest SOURCES.
STAMP is what `agent-q-diff-engine--stamp' said of those, or nil.  If
there are no sources here, there is nothing to compare."
  (or (and stamp (equal stamp (agent-q-diff-engine--stamp)))
      (member (agent-q-diff-engine--sources) (list nil sources))))

(defun agent-q-diff-engine--cargo ()
  "Return the name of the cargo program."
  (or (executable-find "cargo")
      (let ((home (expand-file-name "~/.cargo/bin/cargo")))
        (and (file-executable-p home) home))
      (agent-q-diff-engine--refuse
       "cargo is neither on `exec-path' nor in ~/.cargo/bin; install Rust")))

(defun agent-q-diff-engine--built-file (source)
  "Return the name of the library that cargo built in SOURCE."
  (let ((target (or (getenv "CARGO_TARGET_DIR") "target"))
        (name (pcase system-type
                ('windows-nt "agent_q_diff_module.dll")
                ('darwin "libagent_q_diff_module.dylib")
                (_ "libagent_q_diff_module.so"))))
    (expand-file-name (concat "release/" name) (expand-file-name target source))))

(defun agent-q-diff-engine--install (source digest stamp)
  "Install the library built in SOURCE as the module.
DIGEST and STAMP are those of the sources when the build began, or nil.
The file is renamed into place: writing over a loaded module would crash
the Emacs that has it loaded."
  (let* ((file (agent-q-diff-engine--module-file))
         (temporary (make-temp-name (concat file "."))))
    (copy-file (agent-q-diff-engine--built-file source) temporary)
    (rename-file temporary file t)
    (with-temp-file (agent-q-diff-engine--version-file)
      (insert agent-q-diff-engine-version
              (if digest (concat " " digest) "")
              (if (and digest stamp) (concat " " stamp) "")
              "\n"))))

(defun agent-q-diff-engine--build-arguments ()
  "Return the arguments of cargo for building the module."
  (append '("build" "--release" "--locked" "-p" "agent-q-diff-module")
          (when-let ((features (getenv "AGENT_Q_DIFF_FEATURES")))
            (list "--features" features))))

;;;###autoload
(defun agent-q-diff-build-module ()
  "Build the engine with cargo and install it beside the Lisp files.
Show cargo's output in a buffer, and say what to do next when it ends."
  (interactive)
  (let* ((default-directory (agent-q-diff-engine--source-directory))
         (command (cons (agent-q-diff-engine--cargo)
                        (agent-q-diff-engine--build-arguments)))
         (digest (agent-q-diff-engine--sources))
         (stamp (agent-q-diff-engine--stamp))
         (buffer (get-buffer-create "*agent-q-diff build*")))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer))
      (special-mode))
    (display-buffer buffer)
    (let ((process
           (make-process :name "agent-q-diff-build" :buffer buffer :command command
                         :sentinel #'agent-q-diff-engine--build-sentinel)))
      (process-put process 'source default-directory)
      (process-put process 'digest digest)
      (process-put process 'stamp stamp)
      process)))

(defun agent-q-diff-engine--build-sentinel (process _event)
  "Install what PROCESS built, or say that it failed."
  (when (memq (process-status process) '(exit signal))
    (if (not (eq 0 (process-exit-status process)))
        (message "Building the engine failed; see %s"
                 (buffer-name (process-buffer process)))
      (agent-q-diff-engine--install (process-get process 'source)
                                    (process-get process 'digest)
                                    (process-get process 'stamp))
      (message "Engine %s is built%s" agent-q-diff-engine-version
               (if (featurep 'agent-q-diff-module)
                   "; restart Emacs to use it"
                 "")))))

(defun agent-q-diff-build-module-batch ()
  "Build and install the engine in a batch Emacs, as \"make build\" does."
  (let* ((default-directory (agent-q-diff-engine--source-directory))
         (digest (agent-q-diff-engine--sources))
         (stamp (agent-q-diff-engine--stamp))
         (status (apply #'call-process (agent-q-diff-engine--cargo) nil
                        '(:file "/dev/stderr") nil
                        (agent-q-diff-engine--build-arguments))))
    (unless (eq status 0)
      (message "agent-q-diff: cargo failed (%s)" status)
      (kill-emacs 1))
    (agent-q-diff-engine--install default-directory digest stamp)))

;;;; Strings at the boundary

(defun agent-q-diff-engine--text (string)
  "Return STRING as the engine gave it, decoded.
Text that is not valid UTF-8 comes as bytes, and ASCII stays as it comes."
  (if (multibyte-string-p string)
      string
    (decode-coding-string string 'utf-8-emacs-unix t)))

(defun agent-q-diff-engine--call (function &rest arguments)
  "Call FUNCTION of the module with ARGUMENTS.
Strings cross as they are, which is cheapest.  A string with raw bytes
is refused by Emacs, and then all of them are encoded first."
  (agent-q-diff-engine-ensure)
  (condition-case nil
      (apply function arguments)
    (rust-module-non-unicode-string
     (apply function
            (mapcar (lambda (argument)
                      (if (stringp argument)
                          (encode-coding-string argument 'utf-8-emacs-unix)
                        argument))
                    arguments)))))

;;;; Reviews

(defun agent-q-diff-engine-review (original modified)
  "Return a new review of the text ORIGINAL becoming the text MODIFIED.
It takes no more steps than `agent-q-diff-budget' to compare them.  Signal
`agent-q-diff-identical' if they are the same."
  (agent-q-diff-engine--call #'agent-q-diff-module-review
                             original modified agent-q-diff-context-length
                             agent-q-diff-budget))

(defun agent-q-diff-engine-coarse-p (review)
  "Return non-nil if the texts of REVIEW were too much to compare.
Its hunks may then be bigger than they need to be; they are right."
  (agent-q-diff-module-is-coarse review))

(defun agent-q-diff-engine-review-diff (diff)
  "Return a new review of DIFF, a unified diff of one file.
Signal `agent-q-diff-malformed' with the line and the cause, or
`agent-q-diff-several-files'."
  (agent-q-diff-engine--call #'agent-q-diff-module-review-diff diff))

(defun agent-q-diff-engine-files (diff)
  "Return a list of (OLD NEW HUNKS), one for each file in DIFF.
DIFF is a unified diff.  OLD and NEW are the names in the file's header,
or nil if it has none; HUNKS is a diff of that file alone, with the ids
of its texts if git wrote them.  Signal `agent-q-diff-malformed' with the
line and the cause."
  (mapcar (lambda (file)
            (mapcar (lambda (text) (and text (agent-q-diff-engine--text text)))
                    file))
          (agent-q-diff-engine--call #'agent-q-diff-module-files diff)))

(defun agent-q-diff-engine-free (review)
  "Give back the memory of REVIEW, which the garbage collector cannot see."
  (agent-q-diff-module-free review))

(defun agent-q-diff-engine-n-reviews ()
  "Return the number of reviews whose memory was not given back."
  (agent-q-diff-engine-ensure)
  (agent-q-diff-module-n-reviews))

(defun agent-q-diff-engine--lisp-p (path)
  "Return t if PATH names a Lisp file, nil otherwise or if it is nil."
  (and path
       (string-match-p
        "\\.\\(?:lisp\\|lsp\\|cl\\|asd\\|el\\|scm\\|ss\\|rkt\\|clj[cs]?\\|edn\\)\\'"
        path)
       t))

(defun agent-q-diff-engine-print (review path)
  "Return (DIFF . LINES) for REVIEW, with PATH in its file header.
DIFF is the unified diff; LINES are the numbers of its hunk headers'
lines, from 0."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-engine--call #'agent-q-diff-module-print review path
                                          (agent-q-diff-engine--lisp-p path))))
    (cons (agent-q-diff-engine--text diff) lines)))

(defun agent-q-diff-engine-print-hunks (review from to path)
  "Return (DIFF . LINES) for the hunks of REVIEW from FROM up to TO.
TO is not included.  DIFF is their text without a file header, LINES are
the numbers of their headers' lines in it, from 0.  PATH is the
target's, or nil."
  (pcase-let ((`(,diff . ,lines)
               (agent-q-diff-module-print-hunks
                review from to (agent-q-diff-engine--lisp-p path))))
    (cons (agent-q-diff-engine--text diff) lines)))

(defun agent-q-diff-engine-headers (review path)
  "Return a list of the headers of REVIEW's hunks, as they stand in its diff.
PATH is the target's, or nil."
  (split-string (agent-q-diff-engine--text
                 (agent-q-diff-module-print-headers
                  review (agent-q-diff-engine--lisp-p path)))
                "\n" t))

(defun agent-q-diff-engine-split (review hunk)
  "Split HUNK of REVIEW into its smallest parts and return how many these are.
The parts take the place of HUNK and keep its mark; 1 means that it has
only one."
  (agent-q-diff-module-split review hunk))

(defun agent-q-diff-engine-pick (review hunk from to)
  "Make a hunk of its own of some changed lines of HUNK of REVIEW.
They are those from FROM up to TO, not included, counted from 0 in the
order of the diff.  Return (N . INDEX): N hunks take the place of HUNK
and keep its mark, and the one at INDEX among them has the lines.
Signal an error that says why if they cannot be told from the others."
  (agent-q-diff-module-pick review hunk from to))

(defun agent-q-diff-engine-header-lines (review)
  "Return the lines, from 0, of REVIEW's hunk headers in its diff.
That is for a review made of a diff; of two texts it is nil."
  (agent-q-diff-module-header-lines review))

(defun agent-q-diff-engine-idle-p (review)
  "Return non-nil if all hunks of REVIEW leave their lines as they are.
A diff can remove lines and add the same."
  (agent-q-diff-module-is-idle review))

(defun agent-q-diff-engine-follow (review)
  "Tell REVIEW that its target's text is now that of the current buffer.
Return non-nil if that is news; `changed', and nothing is learned, if the
text was changed while it was read, as a hook of garbage collection can."
  (save-restriction
    (widen)
    (let* ((tick (buffer-chars-modified-tick))
           (part (condition-case nil
                     (agent-q-diff--collecting-once
                       (agent-q-diff-engine--read review tick))
                   (rust-module-non-unicode-string 'whole))))
      (if (eq part 'whole)
          (let ((text (agent-q-diff-engine--part tick (point-min) (point-max))))
            (if text
                (agent-q-diff-engine--call #'agent-q-diff-module-follow review text)
              'changed))
        part))))

(defun agent-q-diff-engine--read (review tick)
  "Let REVIEW read the current buffer as it is at TICK, part by part.
Return non-nil if it is news, `whole' if parts do not do, and `changed' if
the buffer no longer is as it was."
  (let ((part (or (agent-q-diff-module-read review (buffer-size)) 'whole)))
    (while (consp part)
      (let ((text (agent-q-diff-engine--part tick
                                             (+ (point-min) (car part))
                                             (+ (point-min) (cdr part)))))
        (setq part (if text
                       (agent-q-diff-module-read-on review text)
                     'changed))))
    part))

(defun agent-q-diff-engine--part (tick from to)
  "Return the text between FROM and TO, or nil if it is not that of TICK."
  (let ((text (condition-case nil
                  (buffer-substring-no-properties from to)
                (args-out-of-range nil))))
    (and (= tick (buffer-chars-modified-tick)) text)))

(defun agent-q-diff-engine-side (review n-chars)
  "Return `original' or `modified' if the target of REVIEW is that text, else nil.
They are the texts that `agent-q-diff-engine-review' was called with, and
N-CHARS is the number of characters that the target has.  Nil is also
returned once the user has rewritten a hunk."
  (agent-q-diff-module-side review n-chars))

(defun agent-q-diff-engine-blobs (review)
  "Return (OLD . NEW), the ids of the texts that REVIEW's diff compares, or nil.
They are the beginnings of the ids that git has for these texts, 7
hexadecimal digits or more.  Once one of the texts is known, the value is
nil; of a review of two texts it always is."
  (agent-q-diff-module-blobs review))

(defun agent-q-diff-engine-adopt (review live is-new)
  "Tell REVIEW that LIVE, its target's text, is one that its diff compares.
It is the one after the change if IS-NEW is non-nil, or else the one
before.  Then each hunk is where its header says; return non-nil.  If the
lines are not there, return nil, and nothing is learned."
  (agent-q-diff-engine--call #'agent-q-diff-module-adopt review live is-new))

(defun agent-q-diff-engine-candidates (review hunk)
  "Return a list of (LINE CHANGE IS-IN FUZZ N-LINES): where HUNK of REVIEW may be.
The likeliest place comes first: that which the hunk's header states, or
else the nearest to it.  LINE is the line of the target, from 0, where
the hunk's lines begin, CHANGE that of its first change.  IS-IN is
non-nil if the lines there have the change.  FUZZ is how many outer
context lines on a side differ there, and N-LINES how many lines of the
target are its own.  A hunk that has a certain place has no other, and
one that cannot be found has none."
  (agent-q-diff-module-candidates review hunk))

(defun agent-q-diff-engine-certainty (review hunk)
  "Return (PLACES FUZZ WAS-IN) of HUNK of REVIEW.
PLACES are the lines of the target, from 0 and in order, among which
somebody has to choose, or nil if there is no choice; FUZZ is how many
outer context lines on a side were ignored to find it; WAS-IN is non-nil
if its change is in the target and no command put it there."
  (agent-q-diff-module-certainty review hunk))

(defun agent-q-diff-engine-recognize (review n-chars)
  "Take it in that REVIEW was told of every edit of its target.
N-CHARS is the number of characters that the target now has.  Return
`follow' if that cannot be all; t if the target reads as a choice of
hunks, although others had a hand in it; nil otherwise."
  (agent-q-diff-module-recognize review n-chars))

(defun agent-q-diff-engine-edit-outside (review n-before n-behind n-chars text
                                                at-start is-undo)
  "Tell REVIEW of an edit of its target by somebody else.
All but the first N-BEFORE characters and the last N-BEHIND are now TEXT,
whole lines; there were N-CHARS in all before.  AT-START is non-nil if
the edit began at the start of a line, IS-UNDO if it undid another.
Return nil if that cannot be, because an edit before it was missed."
  (let ((how (+ (if at-start 1 0) (if is-undo 2 0))))
    (condition-case nil
        (agent-q-diff-module-edit-outside review n-before n-behind n-chars text how)
      (rust-module-non-unicode-string
       (agent-q-diff-module-edit-outside review n-before n-behind n-chars
                                         (encode-coding-string text 'utf-8-emacs-unix)
                                         how)))))

(defun agent-q-diff-engine-state (review hunk)
  "Return (MARK FACT REASON PLACE) of HUNK in REVIEW.
MARK is `applied', `rejected' or nil.  FACT is t if its change is in the
target, and `mixed' if a part of it is.  REASON is nil or says why it
cannot be changed there.  PLACE is `next-to-edit', `ambiguous',
`conflict', `lost' if it was there and others have changed its lines
since, the number of lines by which it is shifted, or nil if nothing is
to be said about it."
  (agent-q-diff-module-state review hunk))

(defun agent-q-diff-engine-edited-p (review hunk)
  "Return non-nil if the user has made something else of HUNK of REVIEW."
  (agent-q-diff-module-is-edited review hunk))

(defun agent-q-diff-engine-mark (review hunk)
  "Return the mark of HUNK of REVIEW: `applied', `rejected' or nil."
  (agent-q-diff-module-mark review hunk))

(defun agent-q-diff-engine-marks (review)
  "Return a list of the mark of each hunk of REVIEW."
  (agent-q-diff-module-marks review))

(defun agent-q-diff-engine-set-mark (review hunk mark)
  "Set the mark of HUNK in REVIEW to MARK: `applied', `rejected' or nil."
  (agent-q-diff-module-set-mark review hunk mark))

(defun agent-q-diff-engine-counts (review)
  "Return (TOTAL APPLIED REJECTED IN-TARGET), numbers of hunks of REVIEW.
IN-TARGET counts the hunks whose change is in the target, whatever
their mark."
  (agent-q-diff-module-counts review))

(defun agent-q-diff-engine-tally (review)
  "Return (TOTAL APPLIED REJECTED), numbers of hunks of REVIEW by mark."
  (agent-q-diff-module-tally review))

(defun agent-q-diff-engine-next-pending (review hunk)
  "Return the next pending hunk of REVIEW after HUNK, or nil if no other is.
After the last hunk comes the first one."
  (agent-q-diff-module-next-pending review hunk))

(defun agent-q-diff-engine-standing (review)
  "Return (CONFLICT AMBIGUOUS SHIFTED IN), numbers of hunks of REVIEW.
They are those that do not apply, those whose place is ambiguous, those
that are not where they were expected, and those that are in the target."
  (agent-q-diff-module-standing review))

(defun agent-q-diff-engine-place (review hunk)
  "Return (LINE OFFSET FUZZ) of HUNK of REVIEW.
LINE is the line of the target, from 0, of its first change; OFFSET is
how many lines that is from the expected place; FUZZ is how many outer
context lines on a side were ignored.  Signal an error that says why if
it has no place."
  (agent-q-diff-module-place review hunk))

(defun agent-q-diff-engine-line (review hunk)
  "Return the line, from 0, where HUNK of REVIEW would be applied, or nil.
It may be ambiguous whether that is right."
  (agent-q-diff-module-line review hunk))

(defun agent-q-diff-engine--edits (edits)
  "Return EDITS with their texts decoded."
  (pcase-dolist (`(,_ ,_ . ,rest) edits)
    (setcar rest (agent-q-diff-engine--text (car rest))))
  edits)

(defun agent-q-diff-engine-plan (review command hunk &optional place)
  "Plan COMMAND on HUNK of REVIEW and return (NOTE . EDITS).
COMMAND is `accept', `reject', `toggle' or `unapply'.  NOTE says what
the command comes to: `edited', `marked', `unchanged', `already-in',
`stays-in' or `already-out'.  EDITS is a list of (LINE N-REMOVED TEXT)
for `agent-q-diff-apply-edits'.  Signal an error that says why if the
command cannot be carried out.  If PLACE is non-nil, somebody has looked
at an ambiguous place and found it right: it is a line from
`agent-q-diff-engine-candidates', or (LINE . IS-IN) for one of two there
with that line, or t for the place that is known."
  (pcase-let ((`(,note . ,edits)
               (agent-q-diff-module-plan review command hunk place)))
    (cons note (agent-q-diff-engine--edits edits))))

(defun agent-q-diff-engine-proposed (review hunk)
  "Return the post-image of HUNK of REVIEW, its context lines among it."
  (agent-q-diff-engine--text (agent-q-diff-module-proposed review hunk)))

(defun agent-q-diff-engine-hunk-id (review hunk)
  "Return the number of HUNK of REVIEW, its own while its lines are the same."
  (agent-q-diff-module-hunk-id review hunk))

(defun agent-q-diff-engine-hunk-with-id (review id)
  "Return the hunk of REVIEW with the number ID, or nil if it is gone."
  (agent-q-diff-module-hunk-with-id review id))

(defun agent-q-diff-engine-changed-words (review hunk)
  "Return the changed words of HUNK of REVIEW, a list of (LINE FROM TO).
LINE counts its lines from 0, its header left out; FROM and TO count the
characters of the line from 0 behind its sign, TO not included."
  (agent-q-diff-module-changed-words review hunk))

(defun agent-q-diff-engine-blank-hunks (review)
  "Return a list of the hunks of REVIEW that change nothing but white space."
  (agent-q-diff-module-blank-hunks review))

(defun agent-q-diff-engine-suspects (text)
  "Return the characters of TEXT that read as something else.
They are a list of (INDEX . DECEIT).  INDEX is from 0; DECEIT says as what
it deceives: `direction', `invisible', `space', `control', `lookalike' or
`combining'."
  (agent-q-diff-engine--call #'agent-q-diff-module-suspects text))

(defun agent-q-diff-engine--suspects-if-loaded (text)
  "Like `agent-q-diff-engine-suspects' for TEXT, but never load the engine.
Return t if it is not loaded: to show a name is no reason to load it."
  (or (not (featurep 'agent-q-diff-module))
      (agent-q-diff-engine-suspects text)))

(setq agent-q-diff-visible-suspects-function
      #'agent-q-diff-engine--suspects-if-loaded)

(defun agent-q-diff-engine-n-suspects (review)
  "Return the number of characters in REVIEW's hunks that read as something else."
  (agent-q-diff-module-n-suspects review))

(defun agent-q-diff-engine-merge (review hunk)
  "Return (IS-CLEAN IS-COARSE . TEXT) for HUNK of REVIEW.
TEXT is its lines merged with what stands in their place in the target.
Where both have changed the same lines, IS-CLEAN is nil and TEXT has
conflict markers around those of the target, original and proposal.
IS-COARSE is non-nil if they were too much to compare in full: conflicts
may then be bigger than they need to be.
Signal an error that says why if that place is not known."
  (pcase-let ((`(,is-clean ,is-coarse . ,text)
               (agent-q-diff-module-merge review hunk)))
    (cons is-clean (cons is-coarse (agent-q-diff-engine--text text)))))

(defun agent-q-diff-engine-plan-text (review hunk text is-merged)
  "Plan to make TEXT the post-image of HUNK of REVIEW.
TEXT is to take the place of `agent-q-diff-engine-proposed', or if
IS-MERGED is non-nil, of what stands in the target now.  Return
\(NOTE . EDITS), as `agent-q-diff-engine-plan' does."
  (pcase-let ((`(,note . ,edits)
               (agent-q-diff-engine--call #'agent-q-diff-module-plan-text
                                          review hunk text is-merged)))
    (cons note (agent-q-diff-engine--edits edits))))

(defun agent-q-diff-engine-live-lines (review hunk)
  "Return (LINE . TEXT): what stands in the place of HUNK of REVIEW.
LINE is the line of the target, from 0, where HUNK with its context
begins; TEXT is what the target has there, HUNK or not.  Signal an error
that says why if that place is not known."
  (pcase-let ((`(,line . ,text) (agent-q-diff-module-live-lines review hunk)))
    (cons line (agent-q-diff-engine--text text))))

(defun agent-q-diff-engine-plan-all (review &optional is-out)
  "Plan to accept every pending hunk of REVIEW.
If IS-OUT is non-nil, plan to take every hunk that is in the target out
of it instead.  Return (EDITS . REFUSED), with EDITS as
`agent-q-diff-engine-plan' has them and REFUSED a list of (HUNK . REASON)."
  (pcase-let ((`(,edits . ,refused) (agent-q-diff-module-plan-all review is-out)))
    (cons (agent-q-diff-engine--edits edits) refused)))

(defun agent-q-diff-engine-plan-back (review &optional is-redo)
  "Plan to take the latest decision on REVIEW back, and return (HUNKS . EDITS).
If IS-REDO is non-nil, plan to redo the decision that was undone last.
HUNKS are those that it changes, EDITS as in `agent-q-diff-engine-plan'.
Signal `agent-q-diff-nothing-to-take-back' if there is none, or an error
that says why a hunk cannot be changed now."
  (pcase-let ((`(,hunks . ,edits) (agent-q-diff-module-plan-back review is-redo)))
    (cons hunks (agent-q-diff-engine--edits edits))))

(defun agent-q-diff-engine-n-decisions (review)
  "Return the number of decisions on REVIEW that can be taken back."
  (agent-q-diff-module-n-decisions review))

(defun agent-q-diff-engine-join-decisions (review n)
  "Make the latest N decisions on REVIEW one, to be taken back together."
  (agent-q-diff-module-join-decisions review n))

(defun agent-q-diff-engine-offsets (review)
  "Return (TOTAL . OFFSETS) for the edits that were planned for REVIEW last.
OFFSETS are the numbers of characters before each of them, in their order.
They are right if TOTAL is the number of all characters of the target."
  (agent-q-diff-module-offsets review))

(defun agent-q-diff-engine-commit (review)
  "Take over what was planned for REVIEW last, now that its edits are made."
  (agent-q-diff-module-commit review))

(defun agent-q-diff-engine-fail (review hunk)
  "Note that HUNK of REVIEW was accepted and could not be applied."
  (agent-q-diff-module-fail review hunk))

(defun agent-q-diff-engine-reject-all (review)
  "Reject every pending hunk of REVIEW."
  (agent-q-diff-module-reject-all review))

(defun agent-q-diff-engine-decision (review basis)
  "Return `accepted', `rejected' or `not-applied': what REVIEW comes to.
BASIS is `marks' or `facts'; see `agent-q-diff-decision-basis'.
`not-applied' means that nothing is in the target because what was
accepted could not be applied."
  (agent-q-diff-module-decision review (eq basis 'facts)))

;;;; Exact replacement

(defun agent-q-diff-engine-matches (text old)
  "Return the lines of TEXT, from 0, on which a match of OLD begins.
There is an entry for each match, and matches may overlap.  Signal
`agent-q-diff-empty-search' if OLD is empty."
  (agent-q-diff-engine--call #'agent-q-diff-module-matches text old))

(defun agent-q-diff-engine--check-spans (text spans old)
  "Signal `agent-q-diff-no-match' unless OLD is in each of SPANS of TEXT.
To the engine raw bytes in TEXT can make up a character that they are not
to Emacs.  Line ends may be those of TEXT."
  (let ((wanted (string-replace "\r\n" "\n" old)))
    (pcase-dolist (`(,start . ,end) spans)
      (unless (string= wanted
                       (string-replace "\r\n" "\n" (substring text start end)))
        (signal 'agent-q-diff-no-match
                (list "the string is there only as bytes, not as text" nil))))))

(defun agent-q-diff-engine--typed (lines)
  "Return typed LINES with their texts decoded."
  (dolist (line lines lines)
    (let ((text (nthcdr 3 line)))
      (setcar text (agent-q-diff-engine--text (car text))))))

(defun agent-q-diff-engine-replace (text old new &optional is-all)
  "Return (SPANS LINES NEW HASHES . TYPED): how OLD is to become NEW in TEXT.
SPANS is a list of (START . END), indices in TEXT of what is to be
replaced, in order.  LINES is a list of (FIRST . END), the lines, from 0,
on which each replacement then stands.  NEW is the argument, unibyte if
that is, with CRLF line ends if those of TEXT are.  HASHES is
\(BEFORE . AFTER), the SHA-256 of TEXT and of what it becomes as UTF-8, or
nil if that cannot be.  TYPED is what changes, as
`agent-q-diff-engine-typed-lines' has it.

OLD is to match once, or if IS-ALL is non-nil, once or more.  Else signal
an error whose data is (MESSAGE DETAILS):

`agent-q-diff-empty-search'         OLD is empty.
`agent-q-diff-equal-texts'          OLD and NEW are equal.
`agent-q-diff-no-match'             DETAILS is nil, or (FIRST END . KINDS):
                                    the nearest lines and in what they
                                    differ, any of `line-ends',
                                    `white-space', `case',
                                    `normalization', `punctuation',
                                    `invisible' and `wording'.
`agent-q-diff-several-matches'      DETAILS is a list of lines, from 0.
`agent-q-diff-overlapping-matches'  Likewise."
  (pcase-let ((`(,spans ,lines ,result ,hashes . ,typed)
               (agent-q-diff-engine--call #'agent-q-diff-module-replace
                                          text old new is-all
                                          (not (multibyte-string-p text))
                                          agent-q-diff-context-length)))
    (agent-q-diff-engine--check-spans text spans old)
    `(,spans ,lines
             ,(if (multibyte-string-p new)
                  (agent-q-diff-engine--text result)
                (encode-coding-string result 'utf-8-emacs-unix))
             ,hashes
             . ,(agent-q-diff-engine--typed typed))))

(defun agent-q-diff-engine-hash (text)
  "Return the SHA-256 of TEXT in UTF-8, or nil if it cannot be written in that.
It takes a tenth of the time of `secure-hash'."
  (agent-q-diff-engine-ensure)
  (ignore-error rust-module-non-unicode-string
    (agent-q-diff-module-hash text)))

(defun agent-q-diff-engine-typed-lines (original modified)
  "Return the diff of ORIGINAL to MODIFIED as typed lines.
They are a list of (KIND OLD NEW TEXT).  KIND is `hunk', `context',
`added', `removed' or `no-newline', OLD and NEW are the line's numbers,
from 1, on either side, or 0 where it is not.  TEXT is the line without
sign and newline."
  (agent-q-diff-engine--typed
   (agent-q-diff-engine--call #'agent-q-diff-module-typed-lines
                              original modified agent-q-diff-context-length)))

(provide 'agent-q-diff-engine)
;;; agent-q-diff-engine.el ends here
