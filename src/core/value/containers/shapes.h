/* shapes.h -- lets dicts that were built key by key share their keys afterwards, as rows of JSON do
 * from the start.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_SHAPES_H
#define PDL_VALUE_SHAPES_H

#include "value/val.h"

/* The sets of keys met so far; there are no sets when all members are zero. The table is
 * direct-mapped, so its memory is bounded. */
enum { PDL_SHAPES = 64 };
typedef struct pdl_shapes {
    struct pdl_shape *slot[PDL_SHAPES];
} pdl_shapes;

/* Returns the same dict, which now shares its shape with an earlier dict that had the same keys in
 * the same order. So does each dict among its values. Dicts further inside are unchanged. Takes
 * dict. */
pdl_val pdl_shapes_share(pdl_shapes *met, pdl_val dict);
void pdl_shapes_fini(pdl_shapes *met);

#endif
