/* row_order.c -- chooses the row that shares the most text with the previous one; see row_order.h.
 * Texts are compared by their hashes: if two different texts had the same hash, only the order of
 * the rows would be worse.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/row_order.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

#include "base/banned.h"

/* Hashes the beginning of a text. Texts with the same beginning count as equal. */
static uint64_t hash_of(pdl_str s) { return pdl_hash_str(pdl_str_sub(s, 0, AHEAD_LONG)); }

static void find_texts(pdl_vref columns, long_texts *out) {
    for (size_t i = 0; i < pdl_dict_len(columns); i++) {
        pdl_vref v = pdl_dict_val_at(columns, i);
        if (!pdl_is_str(v) || pdl_str_get(v).n < AHEAD_LONG) continue;
        *pdl_vec_push(out) =
            (long_text){.column = pdl_hash_str(pdl_str_get(pdl_dict_key_at(columns, i))),
                        .hash = hash_of(pdl_str_get(v)),
                        .n = pdl_str_get(v).n};
    }
}

bool pdl_batch_ahead_ok(const ahead *a) {
    size_t bytes = 0;
    for (size_t i = 0; i < a->rows.n; i++)
        for (size_t k = 0; k < a->rows.p[i].texts.n; k++) bytes += a->rows.p[i].texts.p[k].n;
    return bytes == a->bytes && (a->any || (!bytes && !a->last.n));
}

void pdl_batch_ahead_put(ahead *a, pdl_row *row) {
    ahead_row *r = pdl_vec_push(&a->rows);
    *r = (ahead_row){.row = *row};
    *row = (pdl_row){.columns = pdl_absent()};
    find_texts(r->row.columns, &r->texts);
    for (size_t i = 0; i < r->texts.n; i++) a->bytes += r->texts.p[i].n;
    a->any = a->any || r->texts.n;
    assert(pdl_batch_ahead_ok(a));
}

bool pdl_batch_ahead_has_room(const ahead *a) {
    return a->any ? a->rows.n < AHEAD_ROWS && a->bytes < AHEAD_BYTES : a->rows.n == 0;
}

/* Returns how many bytes of long texts two rows share in the same columns. */
static size_t shared(const long_texts *x, const long_texts *y) {
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < y->n; k++)
            if (x->p[i].column == y->p[k].column && x->p[i].hash == y->p[k].hash) n += x->p[i].n;
    return n;
}

static size_t choose(const ahead *a) {
    size_t best = 0, most = 0;
    if (!a->last.n || a->rows.p[0].passed >= AHEAD_PASSED) return 0;
    for (size_t i = 0; i < a->rows.n; i++) {
        size_t n = shared(&a->rows.p[i].texts, &a->last);
        if (n > most) best = i;
        if (n > most) most = n;
    }
    return best;
}

bool pdl_batch_ahead_take(ahead *a, pdl_row *out) {
    if (!a->rows.n) return false;
    size_t at = choose(a);
    ahead_row r = a->rows.p[at];
    for (size_t i = 0; i < at; i++) a->rows.p[i].passed++;
    a->rows.n--;
    memmove(a->rows.p + at, a->rows.p + at + 1, (a->rows.n - at) * sizeof *a->rows.p);
    for (size_t i = 0; i < r.texts.n; i++) a->bytes -= r.texts.p[i].n;
    pdl_vec_fini(&a->last);
    a->last = r.texts;
    *out = r.row;
    assert(pdl_batch_ahead_ok(a));
    return true;
}

void pdl_batch_ahead_fini(ahead *a) {
    for (size_t i = 0; i < a->rows.n; i++) {
        pdl_row_fini(&a->rows.p[i].row);
        pdl_vec_fini(&a->rows.p[i].texts);
    }
    pdl_vec_fini(&a->rows);
    pdl_vec_fini(&a->last);
    *a = (ahead){0};
}
