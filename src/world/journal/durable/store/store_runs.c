/* store_runs.c -- the table `runs`: several runs in one file. A server and a batch have many short
 * runs: a separate file for each would cost too many syncs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/store/store_impl.h"
#include "sqlite/checksum.h"

#include "base/banned.h"

/* --- runs of a server ------------------------------------------------------------------------- */

static bool on_run(void *user, sql *q, sql_row *row) {
    store_run *r = user;
    int64_t state = pdl_sql_int(q, row, 1);
    r->id = pdl_sql_int(q, row, 0);
    r->state = state == STORE_RUN_ENDED || state == STORE_RUN_FAILED ? (store_run_state)state
                                                                     : STORE_RUN_OPEN;
    r->start = pdl_sql_num(q, row, 2);
    r->end = pdl_sql_num(q, row, 3);
    pdl_buf_put(&r->body, pdl_sql_text(q, row, 4));
    pdl_str answer = pdl_sql_text(q, row, 5);
    r->is_damaged = !pdl_checksum_remove(&answer);
    pdl_buf_put(&r->answer, answer);
    return false;
}

bool pdl_store_find_run(pdl_store *s, pdl_str key, store_run *out, pdl_err *err) {
    *out = (store_run){.body = PDL_BUF, .answer = PDL_BUF};
    return pdl_sql_run(s->q, ST_FIND_RUN, (sql_arg[]){SQL_S(key)}, 1, (sql_rows){on_run, out},
                       err) &&
           (!out->is_damaged || pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                                            "%s is damaged: a kept answer is not what was written",
                                            pdl_store_path(s).p));
}

bool pdl_store_begin_run(pdl_store *s, pdl_str key, pdl_str body, double start, int64_t *id,
                         pdl_err *err) {
    sql_arg args[] = {SQL_S(key), SQL_S(body), SQL_D(start)};
    if (!pdl_store_write(s, ST_BEGIN_RUN, args, 3, err)) return false;
    *id = pdl_sql_last_id(s->q);
    return true;
}

bool pdl_store_end_run(pdl_store *s, int64_t id, store_run_state state, double at, pdl_str answer,
                       pdl_err *err) {
    pdl_buf b;
    sql_arg args[] = {SQL_I(state), SQL_D(at), SQL_S(pdl_checksum_add(answer, &b)), SQL_I(id)};
    bool ok = pdl_store_write(s, ST_END_RUN, args, 4, err);
    pdl_buf_fini(&b);
    return ok;
}

bool pdl_store_prune_runs(pdl_store *s, double before, pdl_err *err) {
    pdl_store_forget_hashes(s);
    sql_arg args[] = {SQL_D(before)};
    return pdl_store_write(s, ST_PRUNE_EFFECTS, args, 1, err) &&
           pdl_store_write(s, ST_PRUNE_RUNS, args, 1, err) &&
           pdl_store_write(s, ST_PRUNE_MESSAGES, NULL, 0, err);
}

void pdl_store_forget_keys(pdl_store *s) {
    s->has_keys = false;
    s->by_key.n = s->by_parent.n = 0;
}

bool pdl_store_drop_from(pdl_store *s, int64_t id, pdl_err *err) {
    sql_arg args[] = {SQL_I(id)};
    pdl_store_forget_keys(s);
    return pdl_store_write(s, ST_DROP_ATTEMPTS, args, 1, err) &&
           pdl_store_write(s, ST_DROP_EFFECTS, args, 1, err);
}

/* --- runs of one file: the rows of a batch ---------------------------------------------------- */

bool pdl_store_put_row(pdl_store *s, const store_row *r, pdl_err *err) {
    pdl_buf b;
    pdl_str answer = pdl_checksum_add(r->answer, &b);
    sql_arg args[] = {SQL_I(r->number), SQL_S(r->facts), SQL_S(r->hash), SQL_I(r->failed ? 2 : 1),
                      SQL_D(r->start),  SQL_D(r->end),   SQL_S(answer)};
    bool ok = pdl_store_write(s, ST_PUT_ROW, args, sizeof args / sizeof *args, err);
    pdl_buf_fini(&b);
    return ok;
}

typedef struct row_reader {
    store_row_fn *fn;
    void *user;
    int64_t damaged; /* id of the damaged row; 0 when no row is damaged */
} row_reader;

static bool on_row(void *user, sql *q, sql_row *row) {
    row_reader *r = user;
    store_row out = {
        .number = pdl_sql_int(q, row, 0),
        .facts = pdl_sql_text(q, row, 1),
        .hash = pdl_sql_text(q, row, 2),
        .failed = pdl_sql_int(q, row, 3) == 2,
        .start = pdl_sql_num(q, row, 4),
        .end = pdl_sql_num(q, row, 5),
        .answer = pdl_sql_text(q, row, 6),
    };
    if (!pdl_checksum_remove(&out.answer)) {
        r->damaged = out.number;
        return false;
    }
    return r->fn(r->user, &out);
}

static bool is_sound(const pdl_store *s, const row_reader *r, pdl_err *err) {
    return !r->damaged || pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                                      "%s is damaged: row %lld is not what was written",
                                      pdl_store_path(s).p, (long long)r->damaged);
}

bool pdl_store_find_row(pdl_store *s, int64_t number, store_row_fn *fn, void *user, pdl_err *err) {
    row_reader r = {fn, user, 0};
    return pdl_sql_run(s->q, ST_GET_ROW, (sql_arg[]){SQL_I(number)}, 1, (sql_rows){on_row, &r},
                       err) &&
           is_sound(s, &r, err);
}

bool pdl_store_each_row(pdl_store *s, int64_t after, store_row_fn *fn, void *user, pdl_err *err) {
    row_reader r = {fn, user, 0};
    return pdl_sql_run(s->q, ST_ROWS, (sql_arg[]){SQL_I(after)}, 1, (sql_rows){on_row, &r}, err) &&
           is_sound(s, &r, err);
}

bool pdl_store_forget_failed(pdl_store *s, pdl_err *err) {
    return pdl_store_write(s, ST_FORGET_FAILED, NULL, 0, err);
}

bool pdl_store_forget_row(pdl_store *s, int64_t number, pdl_err *err) {
    return pdl_store_write(s, ST_FORGET_ROW, (sql_arg[]){SQL_I(number)}, 1, err);
}

bool pdl_store_forget_facts(pdl_store *s, pdl_str beginning, pdl_err *err) {
    return pdl_store_write(s, ST_FORGET_FACTS, (sql_arg[]){SQL_S(beginning)}, 1, err);
}
