/* pyvalues.c -- implements sets, bytes, ranges, views and undefined values (pyvalues.h). Dates are
 * in time.c, iteration is in iter.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/pyvalues.h"

#include <assert.h>

#include "value/obj.h"

#include "base/banned.h"

static pdl_val box(pdl_tag tag, uint8_t bits, pdl_val in) {
    pdl_boxobj *o = pdl_obj_new(tag, sizeof *o);
    o->head.bits = bits;
    o->in = in;
    return pdl_joined(pdl_from_obj(tag, &o->head, 0), in);
}

pdl_val pdl_set_from_dict(pdl_val dict) {
    assert(pdl_is_dict(dict));
    return box(PDL_V_SET, 0, dict);
}
pdl_vref pdl_set_dict(pdl_vref set) {
    assert(pdl_is(set, PDL_V_SET));
    return pdl_boxobj_of(set)->in;
}

pdl_val pdl_view_new(pdl_val dict, pdl_view_kind kind) {
    assert(pdl_is_dict(dict));
    return box(PDL_V_VIEW, (uint8_t)kind, dict);
}
pdl_view_kind pdl_view_kind_of(pdl_vref v) {
    assert(pdl_is(v, PDL_V_VIEW));
    return (pdl_view_kind)pdl_obj_of(v)->bits;
}
pdl_vref pdl_view_dict(pdl_vref v) {
    assert(pdl_is(v, PDL_V_VIEW));
    return pdl_boxobj_of(v)->in;
}

pdl_val pdl_undefined(pdl_val why) { return box(PDL_V_UNDEFINED, 0, why); }
pdl_vref pdl_undefined_why(pdl_vref v) {
    assert(pdl_is(v, PDL_V_UNDEFINED));
    return pdl_boxobj_of(v)->in;
}

pdl_val pdl_bytes(pdl_str bytes) {
    pdl_bytesobj *o = pdl_obj_new(PDL_V_BYTES, sizeof *o + bytes.n + 1);
    o->n = bytes.n;
    if (bytes.n) memcpy(o->p, bytes.p, bytes.n);
    o->p[bytes.n] = 0;
    return pdl_from_obj(PDL_V_BYTES, &o->head, 0);
}

pdl_str pdl_bytes_get(pdl_vref v) {
    assert(pdl_is(v, PDL_V_BYTES));
    const pdl_bytesobj *o = (const void *)pdl_obj_of(v);
    return (pdl_str){o->p, o->n};
}

typedef struct {
    pdl_obj head;
    int64_t start, stop, step;
    size_t n;
} rangeobj;

static const rangeobj *range_of(pdl_vref v) { return (const void *)pdl_obj_of(v); }

pdl_val pdl_range_new(int64_t start, int64_t stop, int64_t step) {
    assert(step != 0);
    rangeobj *r = pdl_obj_new(PDL_V_RANGE, sizeof *r);
    r->start = start;
    r->stop = stop;
    r->step = step;
    /* The distance between two int64 numbers fits an unsigned number, but not always a
     * signed one. */
    uint64_t span = 0, by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    if (step > 0 && stop > start) span = (uint64_t)stop - (uint64_t)start;
    if (step < 0 && stop < start) span = (uint64_t)start - (uint64_t)stop;
    r->n = span ? (span - 1) / by + 1 : 0;
    return pdl_from_obj(PDL_V_RANGE, &r->head, 0);
}

void pdl_range_get(pdl_vref v, int64_t *start, int64_t *stop, int64_t *step) {
    assert(pdl_is(v, PDL_V_RANGE));
    const rangeobj *r = range_of(v);
    *start = r->start;
    *stop = r->stop;
    *step = r->step;
}

size_t pdl_range_len(pdl_vref v) {
    assert(pdl_is(v, PDL_V_RANGE));
    return range_of(v)->n;
}

int64_t pdl_range_at(pdl_vref v, size_t i) {
    assert(i < pdl_range_len(v));
    const rangeobj *r = range_of(v);
    /* The item is in the range, so an overflow in between cancels out. */
    return (int64_t)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->step);
}
