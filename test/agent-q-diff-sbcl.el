;;; agent-q-diff-sbcl.el --- A real Common Lisp for tests  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Starts Debian's SBCL with SWANK and our agent-q-diff.lisp.  It ends with
;; the Emacs that started it, since it reads its standard input.

;;; Code:

(require 'cl-lib)
(require 'ert)

(defconst aqd-sbcl-limit-seconds 120
  "Time after which a Lisp that does not answer has failed.
The first start compiles SWANK.")

(defconst aqd-sbcl-agent
  (expand-file-name "../lisp/agent-q-diff.lisp"
                    (file-name-directory (or load-file-name buffer-file-name)))
  "The file under test.")

(defconst aqd-sbcl-swank "/usr/share/common-lisp/source/slime/swank-loader.lisp"
  "Where Debian has SWANK.")

(defun aqd-sbcl-slime ()
  "Return the folder where Debian has SLIME."
  (car (file-expand-wildcards "/usr/share/emacs/site-lisp/elpa/slime-[0-9]*")))

(defun aqd-sbcl-wait (what function &optional process)
  "Wait until FUNCTION returns non-nil, and return that.
WHAT says in a failure what was waited for; output of PROCESS is what it
depends on, or that of any."
  (let ((deadline (+ (float-time) aqd-sbcl-limit-seconds))
        value)
    (while (not (setq value (funcall function)))
      (when (> (float-time) deadline)
        (ert-fail (list 'waited-in-vain-for what)))
      ;; ERT would take for a failure what SLIME sends to Lisp as an error.
      (let ((debug-on-error nil))
        (accept-process-output process 0.1)))
    value))

(defun aqd-sbcl-start (&optional loader loader-package server-package)
  "Start a Lisp and return (PROCESS . PORT) once it can be connected.
Its server is that of LOADER, a file; LOADER-PACKAGE and SERVER-PACKAGE
are the names of its packages.  It is SWANK unless they are given."
  (let* ((buffer (generate-new-buffer " *sbcl*"))
         (process (make-process
                   :name "sbcl" :buffer buffer :noquery t :connection-type 'pipe
                   :command (list "sbcl" "--noinform" "--no-sysinit" "--no-userinit"
                                  "--disable-debugger"
                                  "--load" (or loader aqd-sbcl-swank)
                                  "--eval" (format "(%s:init)"
                                                   (or loader-package "swank-loader"))
                                  "--load" aqd-sbcl-agent
                                  "--eval" (format "(format t \"~&PORT ~D.~%%\" (%s:create-server :port 0 :style :spawn :dont-close t))"
                                                   (or server-package "swank"))
                                  "--eval" "(finish-output)"))))
    (cons process
          (aqd-sbcl-wait
           'port
           (lambda ()
             (unless (process-live-p process)
               (ert-fail (list 'no-lisp (with-current-buffer buffer (buffer-string)))))
             (with-current-buffer buffer
               (goto-char (point-min))
               (and (re-search-forward "^PORT \\([0-9]+\\)\\." nil t)
                    (string-to-number (match-string 1)))))
           process))))

(defun aqd-sbcl-stop (lisp)
  "End LISP, as `aqd-sbcl-start' returned it, at once, unless it has ended."
  (let ((buffer (process-buffer (car lisp))))
    (when (buffer-live-p buffer)
      (signal-process (car lisp) 'SIGKILL)
      (kill-buffer buffer))))

(provide 'agent-q-diff-sbcl)
;;; agent-q-diff-sbcl.el ends here
