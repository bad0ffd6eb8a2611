/* doc_tree.h -- the tree of a text that may have mistakes while it is typed. Private to lsp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_DOC_TREE_H
#define PDL_LSP_DOC_TREE_H

#include "yaml/node.h"

typedef struct lsp_tree {
    const pdl_source *source; /* the source of the nodes, whose offsets are offsets of the text */
    const pdl_node *root;     /* NULL when the text cannot be read */
} lsp_tree;

/* Reads text; the arena a owns the tree. */
lsp_tree pdl_lsp_tree_read(pdl_arena *a, pdl_str name, pdl_str text);

#endif
