/* symtype.h -- private to lsp: types of variables as people read them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_SYMTYPE_H
#define PDL_LSP_SYMTYPE_H

#include "base/buf.h"
#include "yaml/node.h"

/* Appends the type of a block's result; nothing when it is not known. scratch: for types that are
 * read. */
void pdl_lsp_show_type(const pdl_node *block, pdl_arena *scratch, pdl_buf *out);
/* Appends a spec; nothing when it is not one. */
void pdl_lsp_show_spec(const pdl_node *spec, pdl_arena *scratch, pdl_buf *out);

/* The names of the fields of a block's result, as far as they are known: calls fn for each with
 * its type. Also of functions' parameters with `params`. */
void pdl_lsp_each_field(const pdl_node *block, pdl_arena *scratch,
                        void (*fn)(void *user, pdl_str name, pdl_str type), void *user);
/* The same of a type in the words that hover shows: `{a: string, b: {c: integer}}`. */
void pdl_lsp_each_shown_field(pdl_str type, void (*fn)(void *user, pdl_str name, pdl_str type),
                              void *user);
/* The part of such a type that the members of a chain (`b.c`, `[].c` for an item) lead to; empty:
 * not known. It is inside of type. */
pdl_str pdl_lsp_shown_member(pdl_str type, pdl_str chain);
void pdl_lsp_each_param(const pdl_node *function, pdl_arena *scratch,
                        void (*fn)(void *user, pdl_str name, pdl_str type), void *user);

#endif
