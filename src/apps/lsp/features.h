/* features.h -- the requests of the protocol, one function each. Private to lsp.
 *
 * A function gets the params of its request (of any form) and returns the result, owned; after
 * pdl_lsp_fail it returns absent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_FEATURES_H
#define PDL_LSP_FEATURES_H

#include "lsp/server.h"

typedef pdl_val lsp_handler(pdl_lsp *s, pdl_vref params);

/* diagnose.c, quick_fixes.c */
lsp_handler pdl_lsp_on_pull, pdl_lsp_on_workspace_pull, pdl_lsp_on_actions;
/* complete.c, signature.c */
lsp_handler pdl_lsp_on_completion, pdl_lsp_on_resolve_completion, pdl_lsp_on_signature;
/* Returns true when every program has a variable of that name. */
bool pdl_lsp_is_predefined(pdl_str name);
/* Returns true for `and`, `if`, `true` and the other words of expressions. Jinja allows some of
 * them as names, but a rename refuses them, because they would be hard to read. */
bool pdl_lsp_is_operator(pdl_str name);
/* hover.c */
lsp_handler pdl_lsp_on_hover;
/* Notifies the user when the table of prices cannot be read, because hover would show no prices and
 * no reason. */
void pdl_lsp_check_prices(pdl_lsp *s);
/* symbols.c */
lsp_handler pdl_lsp_on_document_symbols, pdl_lsp_on_workspace_symbols;
/* navigate.c */
lsp_handler pdl_lsp_on_definition, pdl_lsp_on_references, pdl_lsp_on_highlight;
lsp_handler pdl_lsp_on_prepare_rename, pdl_lsp_on_rename, pdl_lsp_on_links;
/* call_tree.c */
lsp_handler pdl_lsp_on_prepare_calls, pdl_lsp_on_incoming, pdl_lsp_on_outgoing;
/* folding.c */
lsp_handler pdl_lsp_on_folding, pdl_lsp_on_selection;
/* semantic_tokens.c, embedded_languages.c */
lsp_handler pdl_lsp_on_tokens, pdl_lsp_on_tokens_range, pdl_lsp_on_regions;
/* inlay_hints.c, code_lenses.c */
lsp_handler pdl_lsp_on_hints, pdl_lsp_on_lenses, pdl_lsp_on_command;
/* formatting.c */
lsp_handler pdl_lsp_on_format, pdl_lsp_on_format_range, pdl_lsp_on_format_typing;

/* The names of token types and modifiers, in the order of their numbers; NULL ends each list. */
extern const char *const pdl_lsp_token_types[], *const pdl_lsp_token_modifiers[];
/* The commands that pdl_lsp_on_command handles; NULL ends the list. */
extern const char *const pdl_lsp_commands[];

#endif
