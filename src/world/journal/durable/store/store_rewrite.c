/* store_rewrite.c -- writes every text of a journal again, for a copy without keys. Nothing of the
 * old texts may remain in the file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/store/store_impl.h"
#include "sqlite/checksum.h"

#include "base/banned.h"

struct rewriting {
    pdl_store *s;
    void (*fn)(void *user, pdl_str text, pdl_buf *out);
    void *user;
    pdl_err *err;
    bool ok;
};

/* Returns the rewritten text, which is in `out`; a text that is NULL stays NULL. */
static pdl_str rewritten(struct rewriting *r, pdl_str text, pdl_buf *out) {
    *out = PDL_BUF;
    if (!text.p) return text;
    r->fn(r->user, text, out);
    return pdl_buf_str(out);
}

/* Rewrites the texts of a row. The request has no checksum; the answer has one. */
static bool on_texts(void *user, sql *q, sql_row *row) {
    struct rewriting *r = user;
    pdl_buf b[4], sealed[4];
    sql_arg args[5];
    bool sound = true;
    for (int i = 0; i < 4; i++) {
        pdl_str text = pdl_sql_text(q, row, i + 1);
        if (i) sound = pdl_checksum_remove(&text) && sound;
        text = rewritten(r, text, &b[i]);
        sealed[i] = PDL_BUF;
        args[i] = SQL_S(i ? pdl_checksum_add(text, &sealed[i]) : text);
    }
    args[4] = SQL_I(pdl_sql_int(q, row, 0));
    r->ok = sound ? pdl_store_write(r->s, ST_REWRITE, args, 5, r->err)
                  : pdl_err_set(r->err, PDL_E_replay, (pdl_loc){0},
                                "%s is damaged: what was answered is not what was written",
                                pdl_store_path(r->s).p);
    for (size_t i = 0; i < 4; i++) {
        pdl_buf_fini(&b[i]);
        pdl_buf_fini(&sealed[i]);
    }
    return r->ok;
}

static bool on_message_text(void *user, sql *q, sql_row *row) {
    struct rewriting *r = user;
    pdl_buf b;
    sql_arg args[] = {SQL_S(rewritten(r, pdl_sql_text(q, row, 1), &b)),
                      SQL_I(pdl_sql_int(q, row, 0))};
    r->ok = pdl_store_write(r->s, ST_REWRITE_MESSAGE, args, 2, r->err);
    pdl_buf_fini(&b);
    return r->ok;
}

static bool on_fact(void *user, sql *q, sql_row *row) {
    struct rewriting *r = user;
    pdl_buf b;
    sql_arg args[] = {SQL_S(pdl_sql_text(q, row, 0)),
                      SQL_S(rewritten(r, pdl_sql_text(q, row, 1), &b))};
    r->ok = pdl_store_write(r->s, ST_PUT, args, 2, r->err);
    pdl_buf_fini(&b);
    return r->ok;
}

bool pdl_store_rewrite(pdl_store *s, void (*fn)(void *user, pdl_str text, pdl_buf *out), void *user,
                       pdl_err *err) {
    struct rewriting r = {s, fn, user, err, true};
    return pdl_sql_exec(s->q, "PRAGMA secure_delete = ON", err) &&
           pdl_sql_run(s->q, ST_TEXTS, NULL, 0, (sql_rows){on_texts, &r}, err) && r.ok &&
           pdl_sql_run(s->q, ST_MESSAGE_TEXTS, NULL, 0, (sql_rows){on_message_text, &r}, err) &&
           r.ok && pdl_sql_run(s->q, ST_FACTS, NULL, 0, (sql_rows){on_fact, &r}, err) && r.ok;
}
