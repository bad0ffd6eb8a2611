/* shapes.c -- lets dicts share their keys after they were made; see shapes.h.
 *
 * The hash of all keys of a dict selects the one place where an equal set of keys can be. A
 * different set in this place is replaced, which costs only the memory of a second copy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/containers/shapes.h"

#include <assert.h>

#include "value/obj.h"
#include "value/shape.h"

#include "base/banned.h"

static bool same_keys(const pdl_shape *a, const pdl_shape *b) {
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->keys[i].hash != b->keys[i].hash || !pdl_val_eq(a->keys[i].key, b->keys[i].key))
            return false;
    return true;
}

static void share(pdl_shapes *met, pdl_dictobj *d) {
    if (!d->n) return;
    uint32_t h = d->n;
    for (uint32_t i = 0; i < d->n; i++) h = h * 31 + d->shape->keys[i].hash;
    pdl_shape **slot = &met->slot[h % PDL_SHAPES];
    if (*slot == d->shape) return;
    if (*slot && same_keys(*slot, d->shape)) {
        pdl_shape_drop(d->shape);
        d->shape = pdl_shape_keep(*slot);
    } else {
        pdl_shape_drop(*slot);
        *slot = pdl_shape_keep(d->shape);
    }
}

pdl_val pdl_shapes_share(pdl_shapes *met, pdl_val dict) {
    assert(pdl_is_dict(dict));
    pdl_dictobj *d = pdl_dictobj_of(dict);
    share(met, d);
    for (uint32_t i = 0; i < d->n; i++)
        if (pdl_is_dict(d->vals[i])) share(met, pdl_dictobj_of(d->vals[i]));
    return dict;
}

void pdl_shapes_fini(pdl_shapes *met) {
    for (size_t i = 0; i < PDL_SHAPES; i++) pdl_shape_drop(met->slot[i]);
    *met = (pdl_shapes){0};
}
