/* cache.c -- the world that answers from the file; see cache.h. A run expects answers of models
 * only while it polls. So `poll` delivers the hits, in the order of their requests, and a reply
 * never arrives inside `start`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cache/cache.h"

#include <assert.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "cache/cachefile.h"

#include "base/banned.h"

/* How often one key has occurred in one view. Each view counts separately. */
typedef struct cache_repeats {
    char *key;               /* owned */
    int64_t next;            /* number of the next repetition */
    PDL_VEC(int64_t) failed; /* numbers of requests that failed; later requests get these numbers */
} repeats;

/* The cache as one run, or group of runs, sees it. */
struct pdl_cache_view {
    pdl_cache *cache;
    /* name of the run (see cache.h), owned; when it is empty or NULL, replies are found by their
     * request alone */
    char *draw;
    pdl_map keys; /* key -> repeats */
};

/* A request that was forwarded. */
typedef struct miss {
    pdl_cache *cache;
    repeats *repeats;
    int64_t number;
    uint32_t id;
    pdl_effect_sink asker;
    pdl_buf request;
    struct miss *prev, *next;
} miss;

/* A reply from the file, or an error of the file. e is NULL when the effect was cancelled. */
typedef struct hit {
    pdl_effect *e;
    pdl_val value;
    pdl_err err;
} hit;

struct pdl_cache {
    pdl_world world;
    pdl_cache_view own;
    /* returns the view of an effect; when it is NULL, all effects belong to `own` */
    pdl_cache_view_fn *split;
    void *split_user;
    cachefile *file;
    pdl_err problem;                /* the reason why an entry could not be written */
    const pdl_secrets *secrets;     /* texts that are removed from everything stored */
    const pdl_redaction *redaction; /* calls with values that this covers are not stored; or NULL */
    miss *open;
    PDL_VEC(hit) hits;
    size_t head; /* hits[head..n) wait to be delivered */
    size_t answered;
    uint32_t busy;  /* effect whose piece is being delivered; 0 at other times */
    bool cancelled; /* the effect was cancelled while it was delivered */
};

/* Returns true when the members of the cache are consistent. */
static inline bool cache_ok(const pdl_cache *c) {
    return c->file && c->head <= c->hits.n && (!c->open || !c->open->prev);
}

static pdl_cache *of(pdl_world *w) { return (pdl_cache *)(void *)w; }

static pdl_cache_view *view_of(pdl_cache *c, uint32_t effect) {
    pdl_cache_view *v = c->split ? c->split(c->split_user, effect) : NULL;
    return v ? v : &c->own;
}

/* --- requests --------------------------------------------------------------------------------- */

/* Writes the key of a request: the hash of its content. A view that has a name adds the name and
 * the rounds of the loops around the call. Iterations of a map run side by side and their replies
 * arrive in any order. Without the rounds, an iteration would get another repetition in each run.
 * An embedding is not a sample, so its key is made of the content alone. */
static void put_key(const pdl_cache_view *view, const pdl_effect *e, pdl_str request,
                    pdl_buf *out) {
    char hash[65];
    pdl_hash_hex(request, hash);
    pdl_buf_put(out, pdl_str_of(hash));
    if (!view->draw || !*view->draw || e->kind == PDL_EFFECT_embed) return;
    pdl_buf_putf(out, " %s", view->draw);
    pdl_path_put_iterations(e->place, out);
}

static repeats *find_repeats(pdl_cache_view *view, pdl_str key) {
    repeats *a = pdl_map_find(&view->keys, key);
    if (a) return a;
    a = PDL_NEW(repeats);
    a->key = pdl_str_dup(key);
    pdl_map_put(&view->keys, pdl_str_of(a->key), a);
    return a;
}

/* Returns the smallest number that has no answer in this run. An embedding always has the first
 * number, because every embedding of a text is the same. */
static int64_t take_number(repeats *a, const pdl_effect *e) {
    assert(a->next >= 0);
    if (e->kind == PDL_EFFECT_embed) return 0;
    if (!a->failed.n) return a->next++;
    size_t least = 0;
    for (size_t i = 1; i < a->failed.n; i++)
        if (a->failed.p[i] < a->failed.p[least]) least = i;
    int64_t n = a->failed.p[least];
    a->failed.p[least] = a->failed.p[--a->failed.n];
    return n;
}

static void forget(miss *m) {
    assert(m->cache && m->repeats);
    if (m->prev)
        m->prev->next = m->next;
    else
        m->cache->open = m->next;
    if (m->next) m->next->prev = m->prev;
    pdl_buf_fini(&m->request);
    pdl_free(m);
}

/* Returns the reply without the facts about waits and attempts, which are only true for the run
 * that sent the request. */
static pdl_val kept_part(pdl_vref reply) {
    static const char *const names[] = {"waited", "attempts"};
    pdl_val v = pdl_keep(reply);
    for (size_t i = 0; pdl_is_dict(v) && i < sizeof names / sizeof *names; i++) {
        pdl_val name = pdl_textz(names[i]);
        if (!pdl_is_absent(pdl_dict_getz(v, names[i]))) v = pdl_dict_del(v, name);
        pdl_drop(name);
    }
    return v;
}

static bool store(miss *m, const pdl_effect *e, const pdl_reply *r, pdl_err *err) {
    pdl_buf reply = PDL_BUF, name = PDL_BUF;
    pdl_val kept = kept_part(r->value);
    bool ok = pdl_effect_encode_reply(e, kept, m->cache->secrets, &reply, err);
    pdl_drop(kept);
    pdl_vref model = pdl_dict_getz(e->request, "model");
    if (pdl_is_str(model)) pdl_redact_text(m->cache->secrets, pdl_str_get(model), &name);
    pdl_cache_row row = {
        .key = pdl_str_of(m->repeats->key),
        .number = m->number,
        .request = pdl_buf_str(&m->request),
        .reply = pdl_buf_str(&reply),
        .model = pdl_buf_str(&name),
    };
    ok = ok && pdl_cachefile_add(m->cache->file, &row, err);
    pdl_buf_fini(&reply);
    pdl_buf_fini(&name);
    return ok;
}

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    miss *m = user;
    if (m->asker.piece) m->asker.piece(m->asker.user, e, text);
}

static void on_extra(void *user, const pdl_effect *e, pdl_vref extra) {
    miss *m = user;
    m->asker.extra(m->asker.user, e, extra);
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    miss *m = user;
    pdl_effect_sink asker = m->asker;
    pdl_reply failed = {.value = pdl_absent()};
    if (r->err.kind)
        *pdl_vec_push(&m->repeats->failed) = m->number;
    else if (!store(m, e, r, &failed.err))
        failed.err.uncatchable = true;
    forget(m);
    if (asker.reply) asker.reply(asker.user, e, failed.err.kind ? &failed : r);
    pdl_reply_fini(&failed);
}

void pdl_cache_redact(pdl_cache *c, const pdl_redaction *redaction) { c->redaction = redaction; }

/* --- the world -------------------------------------------------------------------------------- */

static bool is_mock(const pdl_effect *e) {
    pdl_vref p = pdl_dict_getz(e->request, "parameters");
    if (!pdl_is_dict(p)) return false;
    pdl_vref reply = pdl_dict_getz(p, "mock_response"), late = pdl_dict_getz(p, "mock_timeout");
    return (!pdl_is_absent(reply) && !pdl_is_null(reply)) ||
           (!pdl_is_absent(late) && !pdl_is_null(late));
}

static bool is_get(const pdl_effect *e) {
    return e->kind == PDL_EFFECT_http && pdl_text_is(pdl_dict_getz(e->request, "method"), "GET");
}

static void forward(pdl_cache *c, pdl_effect *e, repeats *a, int64_t number, pdl_buf request) {
    miss *m = PDL_NEW(miss);
    *m = (miss){
        .cache = c, .repeats = a, .number = number, .id = e->id, .asker = e->sink, .next = c->open};
    m->request = request;
    if (c->open) c->open->prev = m;
    c->open = m;
    e->sink = (pdl_effect_sink){
        .user = m, .piece = on_piece, .reply = on_reply, .extra = m->asker.extra ? on_extra : NULL};
    c->world.next->ops->start(c->world.next, e);
}

static bool damaged(const pdl_cache *c, pdl_err *err) {
    pdl_err why = {0};
    pdl_err_move(&why, err);
    pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                "%.*s is damaged: %s: remove it, its replies will be requested again",
                PDL_FMT(pdl_cachefile_path(c->file)), why.msg);
    pdl_err_fini(&why);
    return false;
}

/* Puts the answer of the file on the queue, or forwards the effect. */
static void look_up(pdl_cache_view *view, pdl_effect *e, pdl_buf request) {
    pdl_cache *c = view->cache;
    pdl_buf reply = PDL_BUF, key = PDL_BUF;
    bool found = false;
    put_key(view, e, pdl_buf_str(&request), &key);
    repeats *a = find_repeats(view, pdl_buf_str(&key));
    pdl_buf_fini(&key);
    int64_t number = take_number(a, e);
    hit h = {.e = e, .value = pdl_absent()};
    bool ok = pdl_cachefile_find(c->file, pdl_str_of(a->key), number, &found, &reply, &h.err);
    if (ok && !found) {
        forward(c, e, a, number, request);
        pdl_buf_fini(&reply);
        return;
    }
    if (ok && !pdl_effect_read(e, pdl_buf_str(&reply), &h.value, &h.err)) ok = damaged(c, &h.err);
    e->added_labels |= pdl_label_of(h.value);
    if (!ok) h.err.uncatchable = true;
    c->answered += ok;
    *pdl_vec_push(&c->hits) = h;
    pdl_buf_fini(&reply);
    pdl_buf_fini(&request);
}

static void start(pdl_world *w, pdl_effect *e) {
    pdl_cache *c = of(w);
    pdl_buf request = PDL_BUF;
    pdl_err err = {0};
    bool kept = e->kind == PDL_EFFECT_model || e->kind == PDL_EFFECT_embed || is_get(e);
    if (!kept || is_mock(e) || pdl_redaction_covers(c->redaction, pdl_effect_label(e))) {
        c->world.next->ops->start(c->world.next, e);
    } else if (pdl_effect_content(e, c->secrets, &request, &err)) {
        look_up(view_of(c, e->id), e, request);
        return;
    } else {
        pdl_effect_refuse(e, &err);
    }
    pdl_buf_fini(&request);
}

static void cancel(pdl_world *w, uint32_t id) {
    pdl_cache *c = of(w);
    if (c->busy && c->busy == id) {
        c->cancelled = true;
        return;
    }
    for (size_t i = c->head; i < c->hits.n; i++) {
        hit *h = &c->hits.p[i];
        if (!h->e || h->e->id != id) continue;
        pdl_effect_free(h->e);
        h->e = NULL;
        return;
    }
    c->world.next->ops->cancel(c->world.next, id);
    for (miss *m = c->open; m; m = m->next) {
        if (m->id != id) continue;
        *pdl_vec_push(&m->repeats->failed) = m->number;
        forget(m);
        return;
    }
}

/* Shows the text in one piece to a request that streams. Returns false when the effect was
 * cancelled while its text was shown. */
static bool show(pdl_cache *c, const pdl_effect *e, pdl_vref value) {
    assert(cache_ok(c));
    pdl_vref content = pdl_is_dict(value) ? pdl_dict_getz(value, "content") : pdl_absent();
    if (!pdl_is_str(content) || !e->sink.piece ||
        !pdl_val_truth(pdl_dict_getz(e->request, "stream")))
        return true;
    c->busy = e->id;
    c->cancelled = false;
    e->sink.piece(e->sink.user, e, pdl_str_get(content));
    c->busy = 0;
    return !c->cancelled;
}

/* Answers a hit. Takes ownership of the members of h. */
static void deliver(pdl_cache *c, hit h) {
    assert(cache_ok(c));
    if (!h.e) {
        pdl_drop(h.value);
        pdl_err_fini(&h.err);
    } else if (h.err.kind) {
        pdl_effect_refuse(h.e, &h.err);
    } else if (show(c, h.e, h.value)) {
        pdl_effect_answer(h.e, h.value, 0);
    } else {
        pdl_drop(h.value);
        pdl_effect_free(h.e);
    }
}

/* Keeps the first problem for the end of the run. */
static void note_problem(pdl_cache *c, pdl_err *err) {
    assert(err->kind != PDL_E_NONE);
    if (!c->problem.kind) pdl_err_move(&c->problem, err);
    pdl_err_fini(err);
}

bool pdl_cache_finish(pdl_cache *c, pdl_err *err) {
    assert(cache_ok(c));
    if (!c->problem.kind && pdl_cachefile_commit(c->file, &c->problem)) return true;
    pdl_err_copy(err, &c->problem);
    return false;
}

static bool poll(pdl_world *w, int timeout_ms) {
    pdl_cache *c = of(w);
    bool any = c->head < c->hits.n;
    pdl_err err = {0};
    if (!pdl_cachefile_commit(c->file, &err)) note_problem(c, &err);
    while (c->head < c->hits.n) deliver(c, c->hits.p[c->head++]);
    c->head = c->hits.n = 0;
    return c->world.next->ops->poll(c->world.next, any ? 0 : timeout_ms) || any;
}

static void forget_keys(pdl_cache_view *view) {
    for (size_t i = 0; i < view->keys.n; i++) {
        repeats *a = view->keys.entries[i].value;
        pdl_vec_fini(&a->failed);
        pdl_free(a->key);
        pdl_free(a);
    }
    pdl_map_fini(&view->keys);
}

static void close_own(pdl_world *w) { (void)w; }

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_own};

/* --- cache.h ---------------------------------------------------------------------------------- */

bool pdl_cache_open(pdl_str path, const pdl_secrets *secrets, pdl_cache **out, pdl_err *err) {
    cachefile *f;
    if (!pdl_cachefile_open(path, true, &f, err)) return false;
    pdl_cache *c = PDL_NEW(pdl_cache);
    c->world.ops = &ops;
    c->own.cache = c;
    c->file = f;
    c->secrets = secrets;
    *out = c;
    return true;
}

bool pdl_cache_open_existing(pdl_str path, pdl_cache **out, pdl_err *err) {
    cachefile *f;
    if (!pdl_cachefile_open(path, false, &f, err)) return false;
    pdl_cache *c = PDL_NEW(pdl_cache);
    c->file = f;
    *out = c;
    return true;
}

pdl_world *pdl_cache_world(pdl_cache *c, pdl_world *next) {
    assert(cache_ok(c));
    assert(next);
    c->world.next = next;
    return &c->world;
}

size_t pdl_cache_answered(const pdl_cache *c) { return c->answered; }

pdl_cache_view *pdl_cache_view_new(pdl_cache *c, pdl_str draw) {
    assert(cache_ok(c));
    pdl_cache_view *view = PDL_NEW(pdl_cache_view);
    view->cache = c;
    view->draw = pdl_str_dup(draw);
    return view;
}

void pdl_cache_view_close(pdl_cache_view *v) {
    if (!v) return;
    forget_keys(v);
    pdl_free(v->draw);
    pdl_free(v);
}

void pdl_cache_split(pdl_cache *c, pdl_cache_view_fn *fn, void *user) {
    assert(cache_ok(c));
    c->split = fn;
    c->split_user = user;
}

bool pdl_cache_is_ready(const pdl_cache *c) { return c->head < c->hits.n; }

void pdl_cache_close(pdl_cache *c) {
    assert(!c || cache_ok(c));
    if (!c) return;
    while (c->open) forget(c->open);
    for (size_t i = c->head; i < c->hits.n; i++) {
        pdl_effect_free(c->hits.p[i].e);
        pdl_drop(c->hits.p[i].value);
        pdl_err_fini(&c->hits.p[i].err);
    }
    pdl_vec_fini(&c->hits);
    forget_keys(&c->own);
    pdl_cachefile_close(c->file);
    pdl_err_fini(&c->problem);
    pdl_free(c);
}

bool pdl_cache_each(pdl_cache *c, bool (*fn)(void *user, const pdl_cache_row *row), void *user,
                    pdl_err *err) {
    return pdl_cachefile_each(c->file, fn, user, err);
}

bool pdl_cache_prune(pdl_cache *c, int64_t before, pdl_str model, int64_t *n, pdl_err *err) {
    return pdl_cachefile_prune(c->file, before, model, n, err);
}
