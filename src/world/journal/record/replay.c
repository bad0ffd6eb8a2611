/* replay.c -- answers effects from the file and forwards nothing; see journal.h.
 *
 * Two effects with the same identity get the recorded answers in their order. Models and code are
 * answered by poll, in the order of their requests, because a run expects their replies only there.
 * Effects that the machine waits for at once are answered before `start` returns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/idmap.h"
#include "journal/recording_impl.h"

#include "base/banned.h"

/* An effect and its answer. */
typedef struct replay_answer {
    pdl_effect *e;
    pdl_val pieces; /* list of texts, or absent */
    pdl_val value;  /* the recorded value; absent when the answer is the error in err */
    pdl_err err;
    double seconds; /* recorded duration */
} answer;

typedef struct replayer {
    pdl_journal base;
    PDL_VEC(answer) queue; /* answers that are due; the next one is at `head` */
    size_t head;
    pdl_idmap used; /* ids of the rows that were used */
    /* folder that the program had when it was recorded, with a slash at its end; empty when
     * unknown */
    pdl_buf recorded;
    uint32_t busy;  /* id of the effect whose pieces are being delivered; 0 at other times */
    bool cancelled; /* the effect with the id `busy` was cancelled */
} replayer;

static replayer *of(pdl_world *w) { return (replayer *)(void *)w; }

/* --- searching -------------------------------------------------------------------------------- */

struct lookup {
    replayer *r;
    const journal_id *id;
    const pdl_effect *e;
    answer *out;
    bool found, ok;
    pdl_err *err;
};

static bool read_answer(const replayer *r, const db_effect *row, answer *out, pdl_err *err) {
    pdl_val v;
    if (row->pieces.p && !pdl_effect_read_pieces(row->pieces, &out->pieces, err)) return false;
    if (row->reply.p) {
        bool ok = pdl_effect_read(out->e, row->reply, &out->value, err);
        out->e->added_labels |= pdl_label_of(out->value);
        return ok;
    }
    if (!pdl_effect_decode(row->error, &v, err)) return false;
    out->e->added_labels |= pdl_label_of(v);
    if (pdl_is_dict(v))
        pdl_journal_error_read(pdl_journal_form_of(&r->base).folder, out->e, v, &out->err);
    else
        pdl_err_set(&out->err, PDL_E_runtime, (pdl_loc){0}, "failed");
    pdl_drop(v);
    return true;
}

static bool on_row(void *user, const db_effect *row) {
    struct lookup *l = user;
    if (row->id <= 0 || pdl_idmap_find(&l->r->used, (uintptr_t)row->id) || row->seq != l->e->seq ||
        !pdl_str_is(row->kind, pdl_effect_kind_name(l->e->kind)) ||
        !pdl_str_is(row->hash, l->id->hash) || !pdl_str_eq(row->place, pdl_buf_str(&l->id->place)))
        return true;
    pdl_idmap_put(&l->r->used, (uintptr_t)row->id, l->r);
    l->found = true;
    l->out->seconds = row->seconds;
    l->ok = read_answer(l->r, row, l->out, l->err);
    return false;
}

/* Returns true for the place of a particle of pdl infer: particle3..., round2.particle3... */
static bool is_of_particle(pdl_str place) {
    size_t dot = pdl_str_find(place, PDL_STR("."), 0);
    if (pdl_str_starts(place, PDL_STR("round")) && dot != PDL_NOT_FOUND)
        place = pdl_str_sub(place, dot + 1, place.n);
    return pdl_str_starts(place, PDL_STR("particle"));
}

static bool find_particle(void *user, const db_effect *row) {
    *(bool *)user = is_of_particle(row->place);
    return !*(bool *)user;
}

/* Returns true when the file is the recording of an inference while the replay is a single run. */
static bool is_inference(const replayer *r, const journal_id *id) {
    bool found = false;
    pdl_err ignored = {0};
    if (is_of_particle(pdl_buf_str(&id->place))) return false;
    if (!pdl_journal_db_each(r->base.db, NULL, find_particle, &found, &ignored))
        pdl_err_fini(&ignored);
    return found;
}

/* Sets the error of an effect that was not recorded. */
static void not_recorded(const replayer *r, const pdl_effect *e, const journal_id *id,
                         pdl_err *err) {
    pdl_str path = pdl_journal_db_path(r->base.db);
    if (is_inference(r, id)) {
        pdl_err_set(err, PDL_E_replay, e->loc,
                    "replay: %.*s has the answers of an inference, which is many runs: repeat it "
                    "with pdl infer --replay %.*s and its other options",
                    PDL_FMT(path), PDL_FMT(path));
        err->uncatchable = true;
        return;
    }
    pdl_err_set(err, PDL_E_replay, e->loc,
                "replay: %.*s has no reply for %.*s (%s): the program asks something else than was "
                "recorded",
                PDL_FMT(path), PDL_FMT(pdl_buf_str(&id->place)), pdl_effect_kind_name(e->kind));
    err->uncatchable = true;
}

/* Fails the effect, because its row has no valid answer (was_read), or because the file cannot be
 * read. Takes err. */
static void refuse_row(const replayer *r, answer *a, bool was_read, pdl_err *err) {
    if (was_read) {
        pdl_err_set(&a->err, PDL_E_replay, (pdl_loc){0}, "replay: %.*s is damaged: %s",
                    PDL_FMT(pdl_journal_db_path(r->base.db)), err->msg);
        pdl_err_fini(err);
    } else {
        pdl_err_move(&a->err,
                     err); /* the kind of this error is replay, or the kind of a signal or limit */
    }
    a->err.uncatchable = true;
}

static bool look_for(replayer *r, struct lookup *l, const journal_form *form, pdl_err *err) {
    journal_id id;
    if (l->found || !l->ok) return true;
    if (!pdl_journal_key(form, l->e, &id, err)) return false;
    l->id = &id;
    bool ok = pdl_journal_db_each(r->base.db, &id.key, on_row, l, err);
    pdl_journal_id_fini(&id);
    return ok;
}

/* Searches with the identities that older versions recorded. In older versions requests contained
 * secrets. Paths began as the user wrote the program's path, sometimes with "./". A request to read
 * a file had its path twice. */
static bool look_again(replayer *r, struct lookup *l, pdl_err *err) {
    journal_form form = pdl_journal_form_of(&r->base);
    const pdl_str prefixes[] = {{"", 0}, pdl_buf_str(&r->recorded), PDL_STR("./")};
    enum { PREFIXES = sizeof prefixes / sizeof prefixes[0], SECRETS = 2, TWICE = 2 };
    /* variant 0 is the present form, which was tried before */
    for (size_t i = 1; i < (size_t)PREFIXES * SECRETS * TWICE; i++) {
        size_t prefix = i % PREFIXES;
        bool open = i / PREFIXES % SECRETS;
        form.prefix = prefixes[prefix];
        form.secrets = open ? NULL : r->base.secrets;
        form.twice = i / PREFIXES / SECRETS;
        bool asked = (prefix == 1 && !prefixes[1].n) ||
                     (open && !pdl_secrets_any(r->base.secrets)) ||
                     (form.twice && l->e->kind != PDL_EFFECT_read);
        if (!asked && !look_for(r, l, &form, err)) return false;
    }
    return true;
}

/* Sets the answer of a->e to the recorded answer. When no answer was recorded, the answer is an
 * error that says so. */
static void find_answer(replayer *r, answer *a) {
    pdl_err err = {0};
    journal_id id;
    journal_form form = pdl_journal_form_of(&r->base);
    if (!pdl_journal_key(&form, a->e, &id, &err)) {
        pdl_err_move(&a->err, &err);
        return;
    }
    struct lookup l = {.r = r, .id = &id, .e = a->e, .out = a, .ok = true, .err = &err};
    bool ok = pdl_journal_db_each(r->base.db, &id.key, on_row, &l, &err) && look_again(r, &l, &err);
    if (!ok || !l.ok) {
        pdl_drop(a->pieces);
        pdl_drop(a->value); /* the value could be read, but the row is damaged */
        pdl_err_fini(&a->err);
        a->pieces = a->value = pdl_absent();
        refuse_row(r, a, ok, &err);
    } else if (!l.found) {
        not_recorded(r, a->e, &id, &a->err);
    }
    PDL_TRACE(r->base.debug, journal, "%s %u at %s: %s", pdl_effect_kind_name(a->e->kind), a->e->id,
              pdl_buf_z(&id.place), ok && l.ok && l.found ? "answered" : "no row");
    pdl_journal_id_fini(&id);
}

/* --- the world -------------------------------------------------------------------------------- */

/* Delivers the text in one piece when this run streams and the recorded run did not. */
static void give_whole_text(const answer *a) {
    pdl_vref stream =
        a->e->kind == PDL_EFFECT_model ? pdl_dict_getz(a->e->request, "stream") : pdl_absent();
    pdl_vref text = pdl_is_dict(a->value) ? pdl_dict_getz(a->value, "content") : pdl_absent();
    bool pieces = pdl_is_list(a->pieces) && pdl_list_len(a->pieces) > 0;
    if (pieces || !pdl_is_bool(stream) || !pdl_bool_of(stream) || !pdl_is_str(text) ||
        !pdl_str_get(text).n)
        return;
    if (a->e->sink.piece) a->e->sink.piece(a->e->sink.user, a->e, pdl_str_get(text));
}

static void deliver(replayer *r, answer a) {
    r->busy = a.e->id;
    r->cancelled = false;
    for (size_t i = 0; pdl_is_list(a.pieces) && i < pdl_list_len(a.pieces) && !r->cancelled; i++) {
        pdl_vref x = pdl_list_at(a.pieces, i);
        if (a.e->sink.piece) a.e->sink.piece(a.e->sink.user, a.e, pdl_str_get(x));
    }
    if (!r->cancelled) give_whole_text(&a);
    r->busy = 0;
    pdl_drop(a.pieces);
    if (r->cancelled) {
        pdl_drop(a.value);
        pdl_err_fini(&a.err);
        pdl_effect_free(a.e);
    } else if (a.err.kind) {
        pdl_effect_refuse_after(a.e, &a.err, a.seconds);
    } else {
        pdl_effect_answer(a.e, a.value, a.seconds);
    }
}

static void start(pdl_world *w, pdl_effect *e) {
    replayer *r = of(w);
    answer a = {.e = e, .pieces = pdl_absent(), .value = pdl_absent()};
    find_answer(r, &a);
    if (pdl_effect_has(e->kind, PDL_EFFECT_WAITS))
        *pdl_vec_push(&r->queue) = a;
    else
        deliver(r, a);
}

static void drop_answer(answer *a) {
    pdl_drop(a->pieces);
    pdl_drop(a->value);
    pdl_err_fini(&a->err);
    pdl_effect_free(a->e);
    *a = (answer){.pieces = pdl_absent(), .value = pdl_absent()};
}

static void cancel(pdl_world *w, uint32_t id) {
    replayer *r = of(w);
    if (r->busy && r->busy == id) r->cancelled = true;
    for (size_t i = r->head; i < r->queue.n; i++) {
        if (!r->queue.p[i].e || r->queue.p[i].e->id != id) continue;
        drop_answer(&r->queue.p[i]);
        return;
    }
}

static bool poll(pdl_world *w, int timeout_ms) {
    replayer *r = of(w);
    (void)timeout_ms;
    while (r->head < r->queue.n) {
        answer a = r->queue.p[r->head++];
        if (r->head == r->queue.n) r->head = r->queue.n = 0;
        if (!a.e) continue;
        deliver(r, a);
        return true;
    }
    return false;
}

static void close_world(pdl_world *w) { (void)w; }

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

static void fini(pdl_journal *j) {
    replayer *r = (replayer *)(void *)j;
    for (size_t i = r->head; i < r->queue.n; i++) drop_answer(&r->queue.p[i]);
    pdl_vec_fini(&r->queue);
    pdl_idmap_fini(&r->used);
    pdl_buf_fini(&r->recorded);
}

bool pdl_journal_replay(pdl_str path, pdl_journal **out, pdl_err *err) {
    replayer *r = PDL_NEW(replayer);
    r->base.world.ops = &ops;
    r->base.fini = fini;
    r->recorded = PDL_BUF;
    bool ok = pdl_journal_db_open(path, &r->base.db, err) &&
              pdl_journal_db_get_info(r->base.db, "program", &r->recorded, err);
    size_t slash = pdl_str_rfind(pdl_buf_str(&r->recorded), PDL_STR("/"));
    pdl_buf_cut(&r->recorded, slash == PDL_NOT_FOUND ? 0 : slash + 1);
    if (ok)
        *out = &r->base;
    else
        pdl_journal_close(&r->base);
    return ok;
}
