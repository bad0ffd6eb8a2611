/* functions.h -- private to viewer: finds the bodies of functions.
 *
 * A call runs the body of a function, which is elsewhere in the program. The function is found by
 * its name. A function of an imported file is found by its name and the variable of the import.
 * When several functions have the name, the one in the nearest `defs` around the call is found. In
 * the trace, a call in an expression has the place of the function's body, because the called name
 * may be a variable that holds the function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_FUNCTIONS_H
#define PDL_VIEWER_FUNCTIONS_H

#include "base/map.h"
#include "viewer/boxes.h"
#include "yaml/node.h"

typedef struct pdl_functions {
    pdl_arena *arena; /* arena of the names; borrowed */
    pdl_map bodies;   /* name -> body */
    pdl_map places;   /* by "FILE:LINE" */
} pdl_functions;

/* Adds the functions of a file. module is the variable that holds the imported file; it may be
 * empty. */
void pdl_functions_add(pdl_functions *f, const pdl_node *root, pdl_str module);
/* Returns the body of the function that the box calls; NULL when it is not known. nodes has the
 * nodes of the boxes, at least up to this box. */
const pdl_node *pdl_functions_called(const pdl_functions *f, const pdl_doc *d, uint32_t call,
                                     const pdl_node *const *nodes);
/* Returns the body that a call in an expression ran. The trace has the place of the body. Returns
 * NULL when the trace has no place, or when the file of the place is not known. */
const pdl_node *pdl_functions_placed(const pdl_functions *f, const pdl_box *call);
void pdl_functions_fini(pdl_functions *f);

#endif
