/* symtype.h -- finds the types of variables, and writes them in the words that people read. Private
 * to lsp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_SYMTYPE_H
#define PDL_LSP_SYMTYPE_H

#include "base/buf.h"
#include "yaml/node.h"

/* Appends the type of a block's result. Appends nothing when the type is unknown. scratch owns the
 * types that are read meanwhile. */
void pdl_lsp_show_type(const pdl_node *block, pdl_arena *scratch, pdl_buf *out);
/* Appends a spec. Appends nothing when the node is not a spec. */
void pdl_lsp_show_spec(const pdl_node *spec, pdl_arena *scratch, pdl_buf *out);

/* Calls fn for each known field of a block's result, with its type. pdl_lsp_each_param does the
 * same for the parameters of a function. */
void pdl_lsp_each_field(const pdl_node *block, pdl_arena *scratch,
                        void (*fn)(void *user, pdl_str name, pdl_str type), void *user);
/* Calls fn for each field of a type that is written in the words of hover, such as `{a: string, b:
 * {c: integer}}`. */
void pdl_lsp_each_shown_field(pdl_str type, void (*fn)(void *user, pdl_str name, pdl_str type),
                              void *user);
/* type is written in the words of hover. Returns the part of it to which the members of chain lead
 * (`b.c`, or `[].c` for an item); empty when that part is not known. */
pdl_str pdl_lsp_shown_member(pdl_str type, pdl_str chain);
void pdl_lsp_each_param(const pdl_node *function, pdl_arena *scratch,
                        void (*fn)(void *user, pdl_str name, pdl_str type), void *user);

#endif
