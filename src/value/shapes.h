/* shapes.h -- dicts that were made key by key come to share their keys, as rows of JSON do from the
 * start.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_SHAPES_H
#define PDL_VALUE_SHAPES_H

#include "value/val.h"

/* Sets of keys met so far: all-zero is empty. Direct-mapped, so memory stays bounded. */
enum { PDL_SHAPES = 64 };
typedef struct pdl_shapes {
    struct pdl_shape *slot[PDL_SHAPES];
} pdl_shapes;

/* The same dict; if an earlier one had the same keys in the same order, its own are given up. The
 * values that are dicts are treated alike. Takes dict. */
pdl_val pdl_shapes_share(pdl_shapes *met, pdl_val dict);
void pdl_shapes_fini(pdl_shapes *met);

#endif
