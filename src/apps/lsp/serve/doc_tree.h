/* doc_tree.h -- private to lsp: the tree of a text that may be wrong while it is typed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_DOC_TREE_H
#define PDL_LSP_DOC_TREE_H

#include "yaml/node.h"

typedef struct lsp_tree {
    const pdl_source *source; /* of the nodes; offsets are those of the text */
    const pdl_node *root;     /* NULL: nothing can be read */
} lsp_tree;

/* Reads text in arena a. */
lsp_tree pdl_lsp_tree_read(pdl_arena *a, pdl_str name, pdl_str text);

#endif
