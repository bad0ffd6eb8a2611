" SPDX-License-Identifier: Apache-2.0
" Colours of YAML, with expressions inside of texts. The server's semantic tokens add the rest.
if exists("b:current_syntax") | finish | endif
runtime! syntax/yaml.vim
syntax region pdlExpression matchgroup=Special start=/\${/ end=/}/ containedin=ALL
highlight default link pdlExpression Identifier
let b:current_syntax = "pdl"
