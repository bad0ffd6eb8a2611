/* features.h -- private to lsp: the requests of the protocol, one function each.
 *
 * A function is given the params of its request (of any form) and returns the result, owned; after
 * pdl_lsp_fail it returns absent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_FEATURES_H
#define PDL_LSP_FEATURES_H

#include "lsp/server.h"

typedef pdl_val lsp_handler(pdl_lsp *s, pdl_vref params);

/* diagnose.c, actions.c */
lsp_handler pdl_lsp_on_pull, pdl_lsp_on_workspace_pull, pdl_lsp_on_actions;
/* complete.c, signature.c */
lsp_handler pdl_lsp_on_completion, pdl_lsp_on_resolve_completion, pdl_lsp_on_signature;
/* Does every program have a variable of that name? */
bool pdl_lsp_is_predefined(pdl_str name);
/* Is it `and`, `if`, `true` or another word of expressions? As in Jinja some of these can be names,
 * which nobody wants to read. */
bool pdl_lsp_is_operator(pdl_str name);
/* hover.c */
lsp_handler pdl_lsp_on_hover;
/* Tells the person when the table of prices cannot be read: hover alone would just be silent. */
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
/* tokens.c, regions.c */
lsp_handler pdl_lsp_on_tokens, pdl_lsp_on_tokens_range, pdl_lsp_on_regions;
/* hints.c, lenses.c */
lsp_handler pdl_lsp_on_hints, pdl_lsp_on_lenses, pdl_lsp_on_command;
/* formatting.c */
lsp_handler pdl_lsp_on_format, pdl_lsp_on_format_range, pdl_lsp_on_format_typing;

/* The names of token types and modifiers, in the order of their numbers; ended by NULL. */
extern const char *const pdl_lsp_token_types[], *const pdl_lsp_token_modifiers[];
/* The commands that pdl_lsp_on_command knows; ended by NULL. */
extern const char *const pdl_lsp_commands[];

#endif
