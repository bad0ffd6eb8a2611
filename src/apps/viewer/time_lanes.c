/* time_lanes.c -- arranges boxes by time, so that boxes that ran at the same time are in different
 * lanes; see time_lanes.h. A box goes into the first lane that is free at its start, so few lanes
 * suffice. When there are too many boxes, only the longest are drawn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/time_lanes.h"

#include <stdlib.h>

#include "viewer/box_json.h"

#include "base/banned.h"

enum { MAX_LANES = 200 };

/* A box, with the numbers by which boxes are sorted. */
typedef struct bar {
    int64_t start, end;
    uint32_t id;
} bar;

static int by_duration(const void *a, const void *b) {
    const bar *x = a, *y = b;
    int64_t d = (y->end - y->start) - (x->end - x->start);
    return d ? (d > 0 ? 1 : -1) : (x->id > y->id) - (x->id < y->id);
}

static int by_start(const void *a, const void *b) {
    const bar *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Returns true for a box that gets a bar: a box without inner boxes, or a model call, whose input
 * is not shown. */
static bool is_shown(const pdl_doc *d, const pdl_box *b) {
    bool model = pdl_str_is(b->kind, "model");
    return b->start && b->end >= b->start && (!b->n_children || model) &&
           !pdl_str_is(d->boxes.p[b->parent].kind, "model");
}

/* Returns the first lane that is free when the bar starts; the last lane when there are too many
 * lanes. */
static size_t lane_of(int64_t *ends, size_t *n, const bar *b) {
    size_t i = 0;
    while (i < *n && ends[i] > b->start) i++;
    if (i == MAX_LANES) return MAX_LANES - 1;
    if (i == *n) ++*n;
    ends[i] = b->end;
    return i;
}

void pdl_doc_lanes(const pdl_doc *d, pdl_buf *out) {
    PDL_VEC(bar) bars = {0};
    int64_t ends[MAX_LANES], zero = d->boxes.p[0].start;
    size_t lanes = 0;
    for (size_t i = 0; i < d->boxes.n; i++) {
        const pdl_box *b = &d->boxes.p[i];
        if (is_shown(d, b) && b->start >= zero)
            *pdl_vec_push(&bars) = (bar){b->start, b->end, (uint32_t)i};
    }
    if (bars.n > PDL_LANES_MAX) {
        qsort(bars.p, bars.n, sizeof *bars.p, by_duration);
        bars.n = PDL_LANES_MAX;
    }
    if (bars.n) qsort(bars.p, bars.n, sizeof *bars.p, by_start);
    pdl_buf_putc(out, '[');
    for (size_t i = 0; i < bars.n; i++) {
        const bar *b = &bars.p[i];
        pdl_buf_put(out, i ? PDL_STR(",{") : PDL_STR("{"));
        pdl_json_put_int(out, "id", b->id);
        pdl_json_put_text(out, "kind", d->boxes.p[b->id].kind);
        pdl_json_put_int(out, "start", (b->start - zero) / 1000);
        pdl_json_put_int(out, "end", (b->end - zero) / 1000);
        int64_t waited = pdl_doc_waited(d, b->id);
        if (waited) pdl_json_put_int(out, "waited", waited / 1000);
        pdl_json_put_int(out, "lane", (int64_t)lane_of(ends, &lanes, b));
        pdl_buf_putc(out, '}');
    }
    pdl_buf_putc(out, ']');
    pdl_vec_fini(&bars);
}
