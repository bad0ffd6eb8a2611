;;; pdl-mode.el --- programs in PDL, with the language server -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0
;;; Commentary:
;; Emacs 29 or newer, or 28 with the package eglot.  (load "/path/to/pdl-mode.el") in init.el; `pdl' has to be on the path.
;; With dape installed, `M-x dape' knows the configuration `pdl'; with dap-mode, `M-x dap-debug' knows "PDL: run program".
;;; Code:
(require 'eglot)

(defvar pdl-mode-font-lock-keywords
  '(("^[ -]*\\([A-Za-z_]+\\):\\(?: \\|$\\)" 1 font-lock-keyword-face)
    ("\\${[^}]*}" . font-lock-variable-name-face)))

;;;###autoload
(define-derived-mode pdl-mode text-mode "PDL"
  "Programs in PDL, the Prompt Declaration Language."
  (setq-local comment-start "# " comment-end "" indent-tabs-mode nil tab-width 2)
  (modify-syntax-entry ?# "<" pdl-mode-syntax-table)
  (modify-syntax-entry ?\n ">" pdl-mode-syntax-table)
  (setq font-lock-defaults '(pdl-mode-font-lock-keywords))
  (eglot-ensure))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.pdl\\'" . pdl-mode))
(add-to-list 'eglot-server-programs '(pdl-mode . ("pdl" "lsp")))

(with-eval-after-load 'dape
  (add-to-list 'dape-configs
               '(pdl modes (pdl-mode) command "pdl" command-args ("dap")
                     :type "pdl" :request "launch" :program dape-buffer-default)))

(declare-function dap-register-debug-provider "dap-mode")
(declare-function dap-register-debug-template "dap-mode")
(with-eval-after-load 'dap-mode
  (dap-register-debug-provider
   "pdl"
   (lambda (configuration)
     (unless (plist-get configuration :program) (setq configuration (plist-put configuration :program (buffer-file-name))))
     (plist-put configuration :dap-server-path '("pdl" "dap"))))
  (dap-register-debug-template "PDL: run program" (list :type "pdl" :request "launch" :name "PDL: run program")))

(provide 'pdl-mode)
;;; pdl-mode.el ends here
