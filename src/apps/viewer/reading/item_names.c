/* item_names.c -- the names of shapes and makers, and the check of a whole reading; see reading.h.
 * The names come from tables (shapes.def, makers.def), so a new row needs no code here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/reading.h"

#include "base/banned.h"

const char *pdl_shape_name(pdl_shape s) {
    static const char *const names[] = {
#define SHAPE(id, name, doc) name,
#include "viewer/reading/shapes.def"
    };
    return names[s];
}

const char *pdl_maker_name(pdl_maker m) {
    static const char *const names[] = {
#define MAKER(id, name) name,
#include "viewer/reading/makers.def"
    };
    return names[m];
}

bool pdl_reading_ok(const pdl_reading *r) {
    size_t text = 0;
    for (uint32_t i = 0; i < r->items.n; i++) {
        const pdl_item *x = &r->items.p[i];
        if (x->box >= r->doc->boxes.n || x->parent > i || x->end <= i || x->end > r->items.n)
            return false;
        if (x->depth && x->end > r->items.p[x->parent].end) return false;
        if (x->shape != PDL_SHAPE_piece) continue;
        bool arrives = r->doc->boxes.p[x->box].state == PDL_BOX_RUNNING;
        if (x->from != text || x->to < x->from + !arrives) return false;
        text = x->to;
    }
    return text == r->text.len;
}
