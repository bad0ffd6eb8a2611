/* functions.h -- private to viewer: where the bodies of functions are.
 *
 * A call runs the body of a function, which is elsewhere in the program. Functions are found by
 * their names, those of an imported file by the variable of the import and their names; where
 * several have one name, in the nearest `defs` around the call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_FUNCTIONS_H
#define PDL_VIEWER_FUNCTIONS_H

#include "base/map.h"
#include "viewer/doc.h"
#include "yaml/node.h"

typedef struct pdl_functions {
    pdl_arena *arena; /* of names; borrowed */
    pdl_map bodies;   /* by name */
} pdl_functions;

/* Adds those of a file; module: the variable that the file is imported as; empty: none. */
void pdl_functions_add(pdl_functions *f, const pdl_node *root, pdl_str module);
/* The body of what this box calls; NULL: not known. nodes: of each box up to it. */
const pdl_node *pdl_functions_called(const pdl_functions *f, const pdl_doc *d, uint32_t call,
                                     const pdl_node *const *nodes);
void pdl_functions_fini(pdl_functions *f);

#endif
