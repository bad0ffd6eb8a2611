/* first_lists.c -- the lists of items that the first screen of a page asks for; see first_lists.h.
 *
 * The numbers here are those of document.js and rounds.js. When the page asks for another list, it
 * reads all items, so a wrong number here only makes the page slower.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/first_lists.h"

#include "value/json_put.h"
#include "viewer/reading/map_rows.h"
#include "viewer/reading/reading_json.h"

#include "base/banned.h"

/* Works with more than OPENED_PARTS parts are closed at first. The first and the last rounds of a
 * loop are shown. */
enum { OPENED_PARTS = 12, FIRST_ROUNDS = 20, LAST_ROUNDS = 3, AT_ONCE = 100, ROWS_AT_ONCE = 50 };
enum { MAX_ITEMS = 500 };

typedef struct {
    const pdl_reading *r;
    const pdl_view_source *s;
    uint32_t left; /* number of items that may still be written */
    pdl_buf *out;
} first_lists;

static void put_key(first_lists *f, const char *kind, uint32_t item, uint32_t from) {
    char text[48];
    pdl_buf key = pdl_buf_in(text, sizeof text, PDL_BUF.limit);
    pdl_buf_putf(&key, "%s%u/%u", kind, item, from);
    pdl_json_put_key(f->out, pdl_buf_z(&key));
    pdl_buf_fini(&key);
}

static uint32_t count_parts(const pdl_reading *r, uint32_t i) {
    uint32_t n = 0;
    for (uint32_t k = i + 1; k < r->items.p[i].end; k = r->items.p[k].end) n++;
    return n;
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Returns how many of the n parts of an item are shown, from the first one on. */
static uint32_t shown_parts(pdl_shape shape, uint32_t n) {
    if (shape == PDL_SHAPE_loop) return smaller(n, FIRST_ROUNDS);
    if (shape == PDL_SHAPE_work && n > OPENED_PARTS) return 1;
    return smaller(n, AT_ONCE);
}

/* Appends the lists inside of an item. MAX_ITEMS limits the recursion, too: each level uses at
 * least one item. */
static void put_inside(first_lists *f, uint32_t item);

/* Appends the list of n parts of an item from number `from` on, and then the lists inside these
 * parts. */
static void put_list(first_lists *f, uint32_t item, uint32_t from, uint32_t n) {
    uint32_t at = 0;
    if (!n || n > f->left) return;
    f->left -= n;
    put_key(f, "", item, from);
    pdl_reading_json_inside(f->r, f->s, item, from, n, f->out);
    for (uint32_t k = item + 1; k < f->r->items.p[item].end; k = f->r->items.p[k].end, at++)
        if (at >= from && at - from < n) put_inside(f, k);
}

static void put_inside(first_lists *f, uint32_t item) {
    pdl_shape shape = f->r->items.p[item].shape;
    uint32_t n = count_parts(f->r, item);
    if (shape == PDL_SHAPE_map) {
        put_key(f, "rows/", item, 0);
        pdl_rows_json(f->r, &(pdl_rows_query){.item = item, .n = ROWS_AT_ONCE}, f->out);
        return;
    }
    put_list(f, item, 0, shown_parts(shape, n));
    if (shape == PDL_SHAPE_loop && n > FIRST_ROUNDS + LAST_ROUNDS)
        put_list(f, item, n - LAST_ROUNDS, LAST_ROUNDS);
}

bool pdl_has_first_lists(const pdl_reading *r) { return r->items.n > MAX_ITEMS; }

void pdl_first_lists_json(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out) {
    first_lists f = {r, s, MAX_ITEMS, out};
    uint32_t at = 0;
    pdl_json_open(out, '{');
    pdl_json_put_key(out, "document/0");
    pdl_reading_json_items(r, s, 0, AT_ONCE, out);
    for (uint32_t i = 0; i < r->items.n && at < AT_ONCE; i = r->items.p[i].end, at++)
        put_inside(&f, i);
    pdl_buf_putc(out, '}');
}
