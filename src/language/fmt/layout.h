/* layout.h -- the steps of formatting. Each step takes the text of a program and makes the next
 * text. Private to fmt.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_FMT_LAYOUT_H
#define PDL_FMT_LAYOUT_H

#include "fmt/fmt.h"
#include "lang/program.h"
#include "yaml/tree.h"

/* Sets blanks and lines (layout.c). The tree must have no notes. */
void pdl_fmt_layout(const pdl_ytree *t, const pdl_format_options *o, pdl_buf *out);

/* Puts one blank at both ends inside of each `${ }` of the texts that p evaluates (spacing.c). t is
 * the tree of the same text. `loose` has an item for each node of t; the function sets the items of
 * the nodes that it changes. */
void pdl_fmt_spacing(const pdl_program *p, const pdl_ytree *t, const pdl_format_options *o,
                     bool *loose, pdl_buf *out);

/* Puts the entries of blocks in the order of the tables (key_order.c). p and t are of the same
 * text. */
void pdl_fmt_sort(const pdl_program *p, const pdl_ytree *t, pdl_buf *out);

/* Returns true when both texts mean the same, node by node (same.c). loose says for each node
 * whether blanks just inside of its `${ }` may differ; when it is NULL, they may not differ
 * anywhere. */
bool pdl_fmt_same(const pdl_ytree *a, const pdl_ytree *b, const bool *loose);
/* Works as pdl_fmt_same, but entries of mappings may be in any order. */
bool pdl_fmt_same_but_order(const pdl_ytree *a, const pdl_ytree *b);

#endif
