/* kind_looks.h -- private to viewer: the look of the kinds of blocks, for HTML and SVG.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_KIND_LOOKS_H
#define PDL_VIEWER_KIND_LOOKS_H

#include "base/buf.h"

/* A row of kinds.def. */
typedef struct pdl_look {
    const char *name, *icon, *light, *dark; /* colours on a light and on a dark page */
} pdl_look;
extern const pdl_look pdl_looks[];
extern const size_t pdl_looks_n;
/* Returns the row of this name; the last row is for all other names. */
const pdl_look *pdl_look_of(pdl_str name);

#endif
