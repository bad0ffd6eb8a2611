/* item_search.c -- searches items of a document; see item_search.h. Slow and costly are relative to
 * the run: the slowest tenth of its calls and the tenth with the most tokens, so the words have a
 * meaning for every program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/item_search.h"

#include <stdlib.h>

#include "value/json_put.h"
#include "value/text.h"
#include "viewer/box_json.h"
#include "viewer/reading/call_table.h"

#include "base/banned.h"

enum { FEW = 10 /* one of 10 calls counts as slow, and one of 10 as costly */ };

static bool contains(pdl_str s, pdl_str part) {
    for (size_t k = 0; k + part.n <= s.n; k++)
        if (pdl_str_eq_nocase(pdl_str_sub(s, k, k + part.n), part)) return true;
    return false;
}

static bool has_text(const pdl_reading *r, uint32_t i, pdl_str part) {
    pdl_buf text = PDL_BUF;
    pdl_item_text(r, i, &text);
    pdl_buf_putc(&text, '\n');
    pdl_item_title(r, i, &text);
    bool found = contains(pdl_buf_str(&text), part);
    pdl_buf_fini(&text);
    return found;
}

static bool has_model(const pdl_reading *r, const pdl_item *x, pdl_str part) {
    pdl_vref model = pdl_box_get(&r->doc->boxes.p[x->call_box], "model");
    if (pdl_is_dict(model)) model = pdl_dict_getz(model, "pdl__result");
    return r->calls[x->call_box] && pdl_is_str(model) && contains(pdl_str_get(model), part);
}

static bool has_kind(const pdl_item *x, pdl_str kind) {
    bool shows_maker = x->shape == PDL_SHAPE_piece || x->shape == PDL_SHAPE_step;
    return pdl_str_is(kind, pdl_shape_name(x->shape)) ||
           (shows_maker && pdl_str_is(kind, pdl_maker_name(x->maker)));
}

static double cost_of(const pdl_reading *r, uint32_t box, bool slow) {
    if (slow) return (double)pdl_call_network(r, box);
    return (double)pdl_usage_tokens(pdl_box_get(&r->doc->boxes.p[box], "pdl__usage"));
}

static int by_double(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* Returns the least time with which a call counts as slow, or the least number of tokens with which
 * it counts as costly. */
static double least_of(const pdl_reading *r, bool slow) {
    double *all = PDL_NEW_N(double, r->n_calls + 1);
    for (uint32_t i = 0; i < r->n_calls; i++) all[i] = cost_of(r, r->by_number[i], slow);
    if (r->n_calls) qsort(all, r->n_calls, sizeof *all, by_double);
    double least = all[(r->n_calls + FEW - 1) / FEW - (r->n_calls > 0)];
    pdl_free(all);
    return least > 0 ? least : 1;
}

static bool fits(const pdl_reading *r, uint32_t i, const pdl_item_query *q, double slow,
                 double costly) {
    const pdl_item *x = &r->items.p[i];
    uint32_t box = x->call_box;
    if (q->kind.n && !has_kind(x, q->kind)) return false;
    if (q->failed && x->shape != PDL_SHAPE_failure) return false;
    if (q->slow && !(r->calls[box] && cost_of(r, box, true) >= slow)) return false;
    if (q->costly && !(r->calls[box] && cost_of(r, box, false) >= costly)) return false;
    if (q->model.n && !has_model(r, x, q->model)) return false;
    return !q->text.n || has_text(r, i, q->text);
}

static void put_way(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    pdl_json_open(out, '[');
    for (;; i = r->items.p[i].parent) {
        pdl_buf_putf(out, "%u", i);
        if (!r->items.p[i].depth) break;
        pdl_buf_putc(out, ',');
    }
    pdl_buf_putc(out, ']');
}

void pdl_item_find(const pdl_reading *r, const pdl_item_query *q, uint32_t n, pdl_buf *out) {
    double slow = q->slow ? least_of(r, true) : 0, costly = q->costly ? least_of(r, false) : 0;
    uint32_t total = 0;
    pdl_json_open(out, '{');
    pdl_json_put_key(out, "items");
    pdl_json_open(out, '[');
    for (uint32_t i = 0; i < r->items.n; i++)
        if (fits(r, i, q, slow, costly) && total++ < n) put_way(r, i, out);
    pdl_buf_putc(out, ']');
    pdl_json_put_int(out, "total", total);
    pdl_buf_putc(out, '}');
}
