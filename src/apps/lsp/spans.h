/* spans.h -- maps bytes of a scalar's text to bytes of the file. Private to lsp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_SPANS_H
#define PDL_LSP_SPANS_H

#include "base/vec.h"
#include "expr/expr.h"
#include "yaml/node.h"

/* Maps one scalar at a time; its memory is used again for the next one. When all members are zero,
 * there is no scalar. */
typedef struct lsp_spans {
    const pdl_node *node;
    /* for a literal block: where each line begins in the text and in the file */
    PDL_VEC(uint32_t) lines;
    bool direct; /* the file contains the text unchanged, at base + offset */
    uint32_t base;
    /* Some scalars have to be read again for each position. This is the number of bytes that were
     * read again so far. */
    size_t work;
} lsp_spans;

void pdl_lsp_spans_of(lsp_spans *s, const pdl_node *scalar);
/* Finds the place of bytes [from, to) of the scalar's text. Returns false when finding it would
 * cost too much: a huge folded text with very many expressions. */
bool pdl_lsp_spans_find(lsp_spans *s, size_t from, size_t to, uint32_t *start, uint32_t *end);
void pdl_lsp_spans_fini(lsp_spans *s);

/* Returns the byte of the text that is at an offset of the file inside the scalar; the nearest byte
 * before it, when the offset is in indentation or quotes. */
size_t pdl_lsp_spans_back(lsp_spans *s, uint32_t off);

/* Calls fn for the expressions of a text with `${ }`. When the whole text can be read, fn gets the
 * expression of the text. Otherwise fn gets each `${ }` that can be read alone, so that an
 * expression that is being typed does not hide the others. base: the offset at which e begins in
 * the text. e->root is never NULL. */
void pdl_lsp_each_expr(pdl_arena *scratch, pdl_str text,
                       void (*fn)(void *user, const pdl_expr *e, size_t base), void *user);

#endif
