/* writer.c -- appends finished rows to the output in their order; see writer.h. Rows finish in any
 * order, but an ordered output has one next row. A finished row that is not the next one is found
 * again in memory or in the journal, when its turn comes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "io/clock.h"
#include "value/json_read.h"

#include "base/banned.h"

bool pdl_batch_writer_ok(const writer *w) {
    if (!w->n_near) return !w->near_bytes;
    return !w->unordered && w->near && w->n_near <= BATCH_NEAR && w->n_near <= w->waiting &&
           w->near_bytes <= BATCH_NEAR_BYTES;
}

static const char written_key[] = "written";
enum { FLUSH_NS = BATCH_FLUSH_MS * 1000000, MARK_NS = 2000000000 };

bool pdl_batch_mark_get(pdl_ledger *l, mark *out, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    *out = (mark){0};
    bool ok = pdl_ledger_get_fact(l, written_key, &b, err);
    if (ok && b.len &&
        sscanf(pdl_buf_z(&b), "%" SCNu64 " %" SCNu64 " %" SCNu64, &out->bytes, &out->written,
               &out->seq) != 3)
        ok = pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                         "the journal does not say how much of the output is certain");
    pdl_buf_fini(&b);
    return ok;
}

bool pdl_batch_mark_put(pdl_ledger *l, const mark *m, pdl_err *err) {
    char text[80];
    snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %" PRIu64, m->bytes, m->written, m->seq);
    return pdl_ledger_put_fact(l, written_key, pdl_str_of(text), err);
}

/* --- appending -------------------------------------------------------------------------------- */

static bool append(writer *w, pdl_str json, pdl_err *err) {
    w->written++;
    return pdl_batch_output_put(w->output, json, err);
}

typedef struct batch_lookup {
    writer *w;
    bool found, ok;
    pdl_err *err;
} lookup;

static bool on_found(void *user, const pdl_ledger_row *r) {
    lookup *l = user;
    l->found = true;
    l->ok = append(l->w, r->output, l->err);
    return false;
}

/* Keeps the text of a row in memory, if there is room. The row is in the journal, too. */
static void keep_near(writer *w, done_row *d) {
    if (!w->near) w->near = PDL_NEW_N(done_row, BATCH_NEAR);
    done_row *slot = &w->near[d->number % BATCH_NEAR];
    if (slot->json || w->near_bytes + d->n_json > BATCH_NEAR_BYTES) return;
    *slot = *d;
    d->json = NULL;
    w->n_near++;
    w->near_bytes += slot->n_json;
}

/* If the row that is written next is in memory, appends it and returns true. *ok: whether that
 * succeeded. */
static bool append_near(writer *w, bool *ok, pdl_err *err) {
    done_row *slot = w->near ? &w->near[w->want % BATCH_NEAR] : NULL;
    if (!slot || !slot->json || slot->number != w->want) return false;
    *ok = append(w, (pdl_str){slot->json, slot->n_json}, err);
    pdl_free(slot->json);
    slot->json = NULL;
    w->n_near--;
    w->near_bytes -= slot->n_json;
    return true;
}

/* For ordered output: appends the rows that waited for the row which was written last. */
static bool drain(writer *w, pdl_err *err) {
    while (w->waiting && w->want) {
        lookup l = {.w = w, .ok = true, .err = err};
        l.found = append_near(w, &l.ok, err);
        bool far = !l.found && w->waiting > w->n_near;
        if (far && !pdl_ledger_find(w->ledger, (int64_t)w->want, on_found, &l, err)) return false;
        if (!l.ok) return false;
        if (!l.found) return true;
        w->waiting--;
        w->want = pdl_batch_sample_next(&w->order);
    }
    return true;
}

/* Returns the position of a row in the order in which rows finished, from the facts of the row. */
static uint64_t seq_of(pdl_str facts) {
    pdl_val v;
    pdl_err ignored = {0};
    uint64_t seq = 0;
    if (pdl_json_read(facts, 0, &v, NULL, &ignored)) {
        pdl_vref n = pdl_is_dict(v) ? pdl_dict_getz(v, "seq") : pdl_absent();
        if (pdl_is(n, PDL_V_INT) && pdl_int_of(n) > 0) seq = (uint64_t)pdl_int_of(n);
        pdl_drop(v);
    }
    pdl_err_fini(&ignored);
    return seq;
}

typedef struct batch_rest {
    writer *w;
    uint64_t after, most;
    bool ok;
    pdl_err *err;
} rest;

static bool on_rest(void *user, const pdl_ledger_row *r) {
    rest *t = user;
    uint64_t seq = seq_of(r->facts);
    if (seq > t->most) t->most = seq;
    if (seq > t->after) {
        t->ok = append(t->w, r->output, t->err);
        t->w->waiting--;
    }
    return t->ok;
}

/* For unordered output: appends finished rows that are not in the output yet because an earlier
 * process was killed. */
static bool append_rest(writer *w, const mark *from, pdl_err *err) {
    rest r = {.w = w, .after = from->seq, .ok = true, .err = err};
    if (!pdl_ledger_each(w->ledger, 0, on_rest, &r, err) || !r.ok) return false;
    w->seq = r.most > from->seq ? r.most : from->seq;
    return true;
}

bool pdl_batch_writer_open(writer *w, const mark *from, uint64_t finished, pdl_err *err) {
    w->written = from->written;
    w->waiting = finished > from->written ? finished - from->written : 0;
    if (w->unordered) return append_rest(w, from, err);
    w->want = pdl_batch_sample_next(&w->order);
    for (uint64_t i = 0; i < from->written; i++) w->want = pdl_batch_sample_next(&w->order);
    return drain(w, err);
}

/* --- turns ------------------------------------------------------------------------------------ */

bool pdl_batch_writer_add(writer *w, uint64_t number, const pdl_ledger_row *r, pdl_buf *json,
                          pdl_err *err) {
    pdl_ledger_row row = *r;
    row.number = (int64_t)number;
    row.output = pdl_buf_str(json);
    assert(pdl_batch_writer_ok(w));
    if (!pdl_ledger_put(w->ledger, &row, err)) return false;
    size_t n = json->len;
    *pdl_vec_push(&w->turn) = (done_row){number, pdl_buf_take(json), n, r->failed};
    return true;
}

/* For ordered output: adds the finished rows of a turn to the waiting rows, and appends the rows
 * that are next in the order. */
static bool append_ordered(writer *w, pdl_err *err) {
    w->waiting += w->turn.n;
    for (size_t i = 0; i < w->turn.n; i++) keep_near(w, &w->turn.p[i]);
    return drain(w, err);
}

static bool append_turn(writer *w, pdl_err *err) {
    if (!w->unordered) return append_ordered(w, err);
    bool ok = true;
    for (size_t i = 0; ok && i < w->turn.n; i++)
        ok = append(w, (pdl_str){w->turn.p[i].json, w->turn.p[i].n_json}, err);
    return ok;
}

static void clear_turn(writer *w) {
    for (size_t i = 0; i < w->turn.n; i++) pdl_free(w->turn.p[i].json);
    w->turn.n = 0;
}

bool pdl_batch_writer_mark(writer *w, pdl_err *err) {
    mark m = {.written = w->written, .seq = w->seq};
    w->marked_ns = pdl_clock_ns();
    return pdl_batch_output_flush(w->output, true, &m.bytes, err) &&
           pdl_batch_mark_put(w->ledger, &m, err) && pdl_ledger_commit(w->ledger, err);
}

/* Writes the gathered rows together: if each of a million rows had its own write, the writes would
 * cost as much as the rows. */
bool pdl_batch_writer_flush(writer *w, pdl_err *err) {
    uint64_t size, now = pdl_clock_ns();
    if (!w->held || now - w->flushed_ns < FLUSH_NS) return true;
    w->held = false;
    w->flushed_ns = now;
    if (now - w->marked_ns > MARK_NS) return pdl_batch_writer_mark(w, err);
    return pdl_batch_output_flush(w->output, false, &size, err);
}

bool pdl_batch_writer_commit(writer *w, pdl_err *err) {
    if (!w->turn.n) return pdl_batch_writer_flush(w, err);
    bool kept = pdl_ledger_commit(w->ledger, err), ok = kept && append_turn(w, err);
    for (size_t i = 0; !kept && i < w->turn.n; i++) {
        w->lost++;
        w->lost_failed += w->turn.p[i].failed;
    }
    clear_turn(w);
    assert(pdl_batch_writer_ok(w) && w->lost_failed <= w->lost);
    w->held = true;
    return ok && pdl_batch_writer_flush(w, err);
}

void pdl_batch_writer_close(writer *w) {
    clear_turn(w);
    pdl_vec_fini(&w->turn);
    for (size_t i = 0; w->near && i < BATCH_NEAR; i++) pdl_free(w->near[i].json);
    pdl_free(w->near);
    w->near = NULL;
    pdl_batch_output_close(w->output);
    w->output = NULL;
}
