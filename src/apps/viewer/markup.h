/* markup.h -- private to viewer: what HTML and SVG share: how kinds of blocks look.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_MARKUP_H
#define PDL_VIEWER_MARKUP_H

#include "base/buf.h"

/* A row of kinds.def. */
typedef struct pdl_look {
    const char *name, *icon, *light, *dark; /* colours on a light and on a dark page */
} pdl_look;
extern const pdl_look pdl_looks[];
extern const size_t pdl_looks_n;
/* The row of this name; the last one, which is for all others. */
const pdl_look *pdl_look_of(pdl_str name);

#endif
