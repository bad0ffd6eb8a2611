/* layout.h -- private to fmt: the steps of formatting, each from a text to a text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_FMT_LAYOUT_H
#define PDL_FMT_LAYOUT_H

#include "fmt/fmt.h"
#include "lang/program.h"
#include "yaml/tree.h"

/* layout.c: blanks and lines. The tree has no notes. */
void pdl_fmt_layout(const pdl_ytree *t, const pdl_format_options *o, pdl_buf *out);

/* spacing.c: one blank inside of each `${ }` of the texts that p evaluates. The tree is that of the
 * same text; loose has a place for each of its nodes, and is set for those that change. */
void pdl_fmt_spacing(const pdl_program *p, const pdl_ytree *t, const pdl_format_options *o,
                     bool *loose, pdl_buf *out);

/* key_order.c: the entries of blocks in the order of the tables. p and t are of the same text. */
void pdl_fmt_sort(const pdl_program *p, const pdl_ytree *t, pdl_buf *out);

/* same.c: do both texts mean the same, node by node? Of those in loose (NULL: none), blanks just
 * inside of `${ }` are not compared. */
bool pdl_fmt_same(const pdl_ytree *a, const pdl_ytree *b, const bool *loose);
/* The same, with entries of mappings in any order. */
bool pdl_fmt_same_but_order(const pdl_ytree *a, const pdl_ytree *b);

#endif
