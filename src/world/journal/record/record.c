/* record.c -- forwards effects to the next world and writes down the replies; see journal.h.
 *
 * A transaction per row would cost more than most effects; one transaction per run would lose
 * everything when the process is killed. So rows are collected in transactions that are committed
 * before the run waits for long: a kill loses nothing that was answered before the last wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <time.h>

#include "base/map.h"
#include "journal/recording_impl.h"
#include "value/json_write.h"

#include "base/banned.h"

enum {
    MAX_PENDING = 4096, /* number of writes after which the transaction is committed */
    COMMIT_MS = 20      /* rows are committed before a wait that may be longer than this */
};

/* An effect that is in flight. */
typedef struct open_effect {
    struct recorder *r;
    pdl_effect_sink asker;
    uint32_t id;
    int64_t row;
    double start;
    pdl_buf pieces;        /* JSON list without its closing bracket; empty when there are none */
    pdl_redactor redactor; /* redacts across pieces, since a secret may be spread over several */
    struct open_effect *prev, *next;
} open_effect;

/* A block in progress. */
typedef struct open_block {
    const pdl_block *block;
    uint32_t fiber;
    int64_t start;
} open_block;

typedef struct recorder {
    pdl_journal base;
    bool blocks, has_rows;
    size_t n_known; /* how many secrets were registered when the first row was written */
    open_effect *open;
    PDL_VEC(open_block) running;
    int64_t committed_ms;
} recorder;

static recorder *of(pdl_world *w) { return (recorder *)(void *)w; }

static double wall_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The first I/O error is sticky: later effects fail with it. */
static void note_problem(recorder *r, pdl_err *err) {
    if (!r->base.problem.kind) pdl_err_move(&r->base.problem, err);
    pdl_err_fini(err);
}

static void commit(recorder *r) {
    pdl_err err = {0};
    r->committed_ms = now_ms();
    if (!pdl_journal_db_commit(r->base.db, &err)) note_problem(r, &err);
}

static void commit_if_many(recorder *r) {
    if (pdl_journal_db_pending(r->base.db) >= MAX_PENDING) commit(r);
}

/* --- effects ---------------------------------------------------------------------------------- */

static void forget(open_effect *o) {
    if (o->prev)
        o->prev->next = o->next;
    else
        o->r->open = o->next;
    if (o->next) o->next->prev = o->prev;
    pdl_buf_fini(&o->pieces);
    pdl_buf_fini(&o->redactor.held);
    pdl_free(o);
}

static void add_piece(open_effect *o, pdl_str text) {
    pdl_buf_putc(&o->pieces, o->pieces.len ? ',' : '[');
    pdl_json_quote(text, 0, &o->pieces);
}

/* Appends pieces without secrets. Text that may be the beginning of a secret is held back until a
 * later piece, or the end.
 */
static void note_piece(open_effect *o, pdl_str text, bool end) {
    pdl_buf clean = PDL_BUF;
    if (end)
        pdl_redactor_end(&o->redactor, &clean);
    else
        pdl_redactor_feed(&o->redactor, text, &clean);
    if (clean.len) add_piece(o, pdl_buf_str(&clean));
    pdl_buf_fini(&clean);
}

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    open_effect *o = user;
    if (pdl_redaction_covers(o->r->base.redaction, pdl_effect_label(e)))
        ; /* the pieces of a redacted reply are not recorded */
    else if (pdl_secrets_any(o->r->base.secrets))
        note_piece(o, text, false);
    else
        add_piece(o, text);
    if (o->asker.piece) o->asker.piece(o->asker.user, e, text);
}

/* Redacts the facts of an error, which are JSON in a text: names of models, and messages of
 * services. Takes v. */
static pdl_val redacted_detail(const pdl_redaction *m, pdl_label label, pdl_val v) {
    pdl_val facts;
    pdl_buf text = PDL_BUF;
    pdl_err ignored = {0};
    pdl_vref detail = pdl_dict_getz(v, "detail");
    if (!pdl_is_str(detail)) return v;
    if (pdl_effect_decode(pdl_str_get(detail), &facts, &ignored)) {
        facts = pdl_redact_leaves(m, label, facts);
        if (!pdl_effect_encode(facts, &text, &ignored)) pdl_buf_clear(&text);
        pdl_drop(facts);
    }
    if (!text.len) PDL_PUT(&text, "{}");
    v = pdl_dict_putz(v, "detail", pdl_text_of_buf(&text));
    pdl_err_fini(&ignored);
    pdl_buf_fini(&text);
    return v;
}

/* Returns the placeholder for a value that the redaction covers. The placeholder has the type that
 * a replay needs for this kind of effect; an error keeps its kind. Takes v. */
static pdl_val redacted_answer(const pdl_redaction *m, pdl_label label, pdl_val v,
                               const pdl_reply *reply) {
    if (!reply->err.kind) return pdl_redact_leaves(m, label, v);
    pdl_buf text = PDL_BUF;
    pdl_redaction_put(m, label, &text);
    v = redacted_detail(m, label, pdl_dict_putz(v, "message", pdl_text_of_buf(&text)));
    /* code chooses the names of its exceptions, too */
    if (reply->err.py_class) v = pdl_dict_putz(v, "py_class", pdl_textz("Exception"));
    return pdl_dict_putz(v, "hint", pdl_textz(""));
}

/* Appends reply or error as JSON text. */
static bool answer_text(const recorder *r, const pdl_effect *e, const pdl_reply *reply,
                        pdl_buf *out, pdl_err *err) {
    pdl_str folder = pdl_journal_form_of(&r->base).folder;
    pdl_val v =
        reply->err.kind ? pdl_journal_error_value(folder, e, &reply->err) : pdl_keep(reply->value);
    pdl_label label = pdl_effect_label(e) | reply->err.label;
    /* the answer of a person is yes or no, and repeats nothing of the question */
    bool is_person = e->kind == PDL_EFFECT_approval;
    if (!is_person && pdl_redaction_covers(r->base.redaction, label))
        v = redacted_answer(r->base.redaction, label, v, reply);
    bool ok = pdl_effect_encode_reply(e, v, r->base.secrets, out, err);
    pdl_drop(v);
    return ok;
}

static void write_answer(open_effect *o, const pdl_effect *e, const pdl_reply *reply) {
    recorder *r = o->r;
    pdl_err err = {0};
    pdl_buf text = PDL_BUF;
    bool ok = answer_text(r, e, reply, &text, &err);
    if (o->redactor.held.len) note_piece(o, (pdl_str){"", 0}, true);
    if (o->pieces.len) pdl_buf_putc(&o->pieces, ']');
    db_effect row = {
        .id = o->row,
        .seconds = reply->seconds > 0 ? reply->seconds : wall_seconds() - o->start,
    };
    if (o->pieces.len) row.pieces = pdl_buf_str(&o->pieces);
    if (reply->err.kind)
        row.error = pdl_buf_str(&text);
    else
        row.reply = pdl_buf_str(&text);
    ok = ok && pdl_journal_db_end_effect(r->base.db, &row, &err);
    if (ok)
        PDL_TRACE(r->base.debug, journal, "row %lld: %s of %zu bytes", (long long)o->row,
                  reply->err.kind ? "error" : "reply", text.len);
    if (!ok) note_problem(r, &err);
    pdl_buf_fini(&text);
    commit_if_many(r);
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *reply) {
    open_effect *o = user;
    pdl_effect_sink asker = o->asker;
    if (!o->r->base.problem.kind) write_answer(o, e, reply);
    forget(o);
    if (asker.reply) asker.reply(asker.user, e, reply);
}

static bool write_start(recorder *r, const pdl_effect *e, open_effect *o, pdl_err *err) {
    journal_id id;
    if (!r->has_rows) r->n_known = pdl_secrets_size(r->base.secrets);
    r->has_rows = true;
    journal_form form = pdl_journal_form_of(&r->base);
    if (!pdl_journal_key(&form, e, &id, err)) return false;
    db_effect row = {
        .key = id.key,
        .place = pdl_buf_str(&id.place),
        .seq = e->seq,
        .kind = pdl_str_of(pdl_effect_kind_name(e->kind)),
        .hash = pdl_str_of(id.hash),
        .request = pdl_buf_str(&id.request),
        .start = o->start,
    };
    bool ok = pdl_journal_db_begin_effect(r->base.db, &row, &o->row, err);
    if (ok)
        PDL_TRACE(r->base.debug, journal, "row %lld: %.*s at %s", (long long)o->row,
                  PDL_FMT(row.kind), pdl_buf_z(&id.place));
    pdl_journal_id_fini(&id);
    commit_if_many(r);
    return ok;
}

static void start(pdl_world *w, pdl_effect *e) {
    recorder *r = of(w);
    pdl_err err = {0};
    if (!pdl_effect_has(e->kind, PDL_EFFECT_KEPT)) {
        r->base.world.next->ops->start(r->base.world.next, e);
        return;
    }
    open_effect *o = PDL_NEW(open_effect);
    *o = (open_effect){
        .r = r,
        .asker = e->sink,
        .id = e->id,
        .start = wall_seconds(),
        .pieces = PDL_BUF,
        .next = r->open,
        .redactor = PDL_REDACTOR(r->base.secrets),
    };
    if (r->open) r->open->prev = o;
    r->open = o;
    if (r->base.problem.kind || !write_start(r, e, o, &err)) {
        if (err.kind) note_problem(r, &err);
        forget(o);
        pdl_err_copy(&err, &r->base.problem);
        err.uncatchable = true;
        pdl_effect_refuse(e, &err);
        return;
    }
    e->sink = (pdl_effect_sink){.user = o, .piece = on_piece, .reply = on_reply};
    r->base.world.next->ops->start(r->base.world.next, e);
}

static void cancel(pdl_world *w, uint32_t id) {
    recorder *r = of(w);
    r->base.world.next->ops->cancel(r->base.world.next, id);
    for (open_effect *o = r->open; o; o = o->next) {
        if (o->id != id) continue;
        forget(o);
        return;
    }
}

/* Commits before a wait that may be long. Right after a commit the wait is shortened instead, and
 * the next poll commits. */
static bool poll(pdl_world *w, int timeout_ms) {
    recorder *r = of(w);
    if (timeout_ms != 0 && pdl_journal_db_pending(r->base.db)) {
        if (now_ms() - r->committed_ms >= COMMIT_MS)
            commit(r);
        else if (timeout_ms < 0 || timeout_ms > COMMIT_MS)
            timeout_ms = COMMIT_MS;
    }
    return r->base.world.next->ops->poll(r->base.world.next, timeout_ms);
}

static void close_world(pdl_world *w) { (void)w; }

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

/* --- blocks ----------------------------------------------------------------------------------- */

static void write_block(recorder *r, const pdl_event *e) {
    size_t i = r->running.n;
    while (i > 0 &&
           (r->running.p[i - 1].fiber != e->fiber || r->running.p[i - 1].block != e->block))
        i--;
    if (!i) return;
    open_block b = r->running.p[--i];
    memmove(r->running.p + i, r->running.p + i + 1, (r->running.n - i - 1) * sizeof b);
    r->running.n--;
    pdl_err err = {0};
    pdl_buf place = PDL_BUF;
    PDL_PUT(&place, "");
    pdl_journal_put_place(r->base.redaction, e->label, e->path, &place);
    const db_block ended = {pdl_buf_str(&place), pdl_block_trace_name(b.block->kind), b.start,
                            e->nanos, e->kind == PDL_EVENT_block_fail};
    bool ok = r->base.problem.kind || pdl_journal_db_put_block(r->base.db, &ended, &err);
    if (!ok) note_problem(r, &err);
    pdl_buf_fini(&place);
    commit_if_many(r);
}

static void on_event(void *user, const pdl_event *e) {
    recorder *r = user;
    if (e->kind == PDL_EVENT_block_begin)
        *pdl_vec_push(&r->running) = (open_block){e->block, e->fiber, e->nanos};
    else if (e->kind == PDL_EVENT_block_end || e->kind == PDL_EVENT_block_fail)
        write_block(r, e);
}

static void no_event(void *user, const pdl_event *e) {
    (void)user;
    (void)e;
}

pdl_sink pdl_journal_sink(pdl_journal *j) {
    bool blocks = j->world.ops == &ops && ((recorder *)(void *)j)->blocks;
    return blocks ? (pdl_sink){j, on_event, true} : (pdl_sink){j, no_event, false};
}

/* --- life ------------------------------------------------------------------------------------- */

/* --- secrets that became known after rows were written --------------------------------------- */

/* Removes secrets from a text of a row; *text stays NULL when the row has no such text. */
static void clean_text(const recorder *r, pdl_str *text, pdl_buf *out, bool *any) {
    if (!text->p) return;
    pdl_redact_lines(r->base.secrets, *text, out);
    *any = *any || !pdl_str_eq(*text, pdl_buf_str(out));
    *text = pdl_buf_str(out);
}

static bool clean_row(void *user, const db_effect *e) {
    recorder *r = user;
    pdl_err err = {0};
    db_effect row = *e;
    pdl_str *texts[] = {&row.request, &row.pieces, &row.reply, &row.error};
    pdl_buf clean[] = {PDL_BUF, PDL_BUF, PDL_BUF, PDL_BUF};
    bool any = false;
    for (size_t i = 0; i < 4; i++) clean_text(r, texts[i], &clean[i], &any);
    bool ok = !any || pdl_journal_db_rewrite(r->base.db, &row, &err);
    for (size_t i = 0; i < 4; i++) pdl_buf_fini(&clean[i]);
    if (!ok) note_problem(r, &err);
    return ok;
}

static bool clean_info(recorder *r, const char *key, pdl_err *err) {
    pdl_buf text = PDL_BUF, clean = PDL_BUF;
    bool ok = pdl_journal_db_get_info(r->base.db, key, &text, err);
    pdl_redact_lines(r->base.secrets, pdl_buf_str(&text), &clean);
    if (ok && !pdl_str_eq(pdl_buf_str(&text), pdl_buf_str(&clean)))
        ok = pdl_journal_db_put_info(r->base.db, key, pdl_buf_str(&clean), err);
    pdl_buf_fini(&text);
    pdl_buf_fini(&clean);
    return ok;
}

/* Removes keys from rows that were written before the keys were known. A key that was read from a
 * file or made by code becomes a secret only when a call uses it, and earlier rows contain it. */
static void clean_rows(recorder *r) {
    pdl_err err = {0};
    if (r->base.problem.kind || !r->has_rows || r->n_known == pdl_secrets_size(r->base.secrets))
        return;
    if (!pdl_journal_db_each_row(r->base.db, clean_row, r, &err) || !clean_info(r, "text", &err) ||
        !clean_info(r, "inputs", &err))
        note_problem(r, &err);
    r->n_known = pdl_secrets_size(r->base.secrets);
}

static void fini(pdl_journal *j) {
    recorder *r = (recorder *)(void *)j;
    clean_rows(r);
    while (r->open) forget(r->open);
    pdl_vec_fini(&r->running);
}

static void put_text(recorder *r, const char *key, pdl_str text) {
    pdl_err err = {0};
    pdl_buf clean = PDL_BUF;
    pdl_redact_lines(r->base.secrets, text, &clean);
    if (!pdl_journal_db_put_info(r->base.db, key, pdl_buf_str(&clean), &err)) note_problem(r, &err);
    pdl_buf_fini(&clean);
}

void pdl_journal_put_program(pdl_journal *j, pdl_str text, pdl_vref inputs) {
    recorder *r = (recorder *)(void *)j;
    pdl_err ignored = {0};
    pdl_buf json = PDL_BUF;
    assert(j->world.ops == &ops);
    if (j->problem.kind) return;
    pdl_val shown = pdl_redact_labelled(j->redaction, pdl_keep(inputs));
    if (!r->has_rows) r->n_known = pdl_secrets_size(j->secrets);
    r->has_rows = true;
    put_text(r, "text", text);
    if (pdl_is_dict(shown) && pdl_dict_len(shown) && pdl_effect_encode(shown, &json, &ignored))
        put_text(r, "inputs", pdl_buf_str(&json));
    pdl_drop(shown);
    pdl_err_fini(&ignored);
    pdl_buf_fini(&json);
}

void pdl_journal_put_policies(pdl_journal *j, pdl_vref policies) {
    recorder *r = (recorder *)(void *)j;
    pdl_err ignored = {0};
    pdl_buf json = PDL_BUF;
    assert(j->world.ops == &ops);
    if (!j->problem.kind && pdl_effect_encode(policies, &json, &ignored))
        put_text(r, "policies", pdl_buf_str(&json));
    pdl_err_fini(&ignored);
    pdl_buf_fini(&json);
}

bool pdl_journal_record(pdl_str path, const pdl_journal_info *info, pdl_journal **out,
                        pdl_err *err) {
    recorder *r = PDL_NEW(recorder);
    r->base.world.ops = &ops;
    r->base.fini = fini;
    r->base.secrets = info->secrets;
    r->blocks = info->blocks;
    pdl_val started = pdl_textf("%.3f", wall_seconds());
    bool ok = pdl_journal_db_create(path, &r->base.db, err) &&
              pdl_journal_db_put_info(r->base.db, "program", info->file, err) &&
              pdl_journal_db_put_info(r->base.db, "version", info->version, err) &&
              pdl_journal_db_put_info(r->base.db, "options", info->options, err) &&
              pdl_journal_db_put_info(r->base.db, "started", pdl_str_get(started), err);
    pdl_drop(started);
    if (ok)
        *out = &r->base;
    else
        pdl_journal_close(&r->base);
    return ok;
}
