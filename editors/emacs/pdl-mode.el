;;; pdl-mode.el --- programs in PDL, with the language server -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0
;;; Commentary:
;; Emacs 29 or newer, or 28 with the package eglot.  (load "/path/to/pdl-mode.el") in init.el; `pdl' has to be on the path.
;; With dape installed, `M-x dape' knows the configuration `pdl'.
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

(provide 'pdl-mode)
;;; pdl-mode.el ends here
