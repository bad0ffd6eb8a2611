/* particle_replays.c -- keeps the answers of effects by place, and gives them again; see
 * particle_replays.h. The key of an answer is the place, the number and the kind of its effect. An
 * effect whose key is known gets the stored answer in place of being forwarded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/calls/particle_replays.h"

#include "base/map.h"
#include "base/vec.h"
#include "value/label.h"

#include "base/banned.h"

/* The answer to an effect. */
typedef struct kept_answer {
    char *key;     /* place, number and kind; owned */
    pdl_val value; /* owned; absent when the effect failed, or must be executed again */
    pdl_err err;   /* kind 0 when the effect did not fail */
    pdl_label labels;
    /* the effect is executed again, because the particle needs its own object or session */
    bool is_again;
} kept_answer;

typedef struct replays_world replays_world;

/* An effect whose answer will be kept. */
typedef struct keeping_effect {
    replays_world *world;
    pdl_effect *e; /* owned */
    kept_answer *kept;
    struct keeping_effect *next, *prev;
} keeping_effect;

struct replays_world {
    pdl_world world;
    pdl_map by_key; /* key -> kept_answer */
    PDL_VEC(kept_answer *) all;
    keeping_effect *first;
};

static bool has_object(pdl_vref v) { return (pdl_flags_of(v) & PDL_F_HANDLE) != 0; }

static kept_answer *find(const replays_world *w, const pdl_effect *e, pdl_buf *key) {
    pdl_path_text(e->place, key);
    pdl_buf_putf(key, "\n%u\n%s", e->seq, pdl_effect_kind_name(e->kind));
    return pdl_map_find(&w->by_key, pdl_buf_str(key));
}

static void forget(keeping_effect *o) {
    replays_world *w = o->world;
    *(o->prev ? &o->prev->next : &w->first) = o->next;
    if (o->next) o->next->prev = o->prev;
    pdl_free(o);
}

/* --- the first time --------------------------------------------------------------------------- */

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    const keeping_effect *o = user;
    (void)e;
    if (o->e->sink.piece) o->e->sink.piece(o->e->sink.user, o->e, text);
}

static void on_decided(void *user, const pdl_effect *e, pdl_vref decision) {
    const keeping_effect *o = user;
    (void)e;
    if (o->e->sink.decided) o->e->sink.decided(o->e->sink.user, o->e, decision);
}

static void on_extra(void *user, const pdl_effect *e, pdl_vref extra) {
    const keeping_effect *o = user;
    (void)e;
    o->e->sink.extra(o->e->sink.user, o->e, extra);
}

static void keep(kept_answer *k, const pdl_effect *e, const pdl_reply *r) {
    k->is_again = e->kind == PDL_EFFECT_object || has_object(e->request) ||
                  pdl_effect_uses_session(e) || (!r->err.kind && has_object(r->value));
    if (k->is_again) return;
    if (r->err.kind) pdl_err_copy(&k->err, &r->err);
    if (!r->err.kind) k->value = pdl_keep(r->value);
    k->labels = e->added_labels;
}

static void on_reply(void *user, const pdl_effect *asked, const pdl_reply *r) {
    keeping_effect *o = user;
    pdl_effect *e = o->e;
    pdl_err err = {0};
    e->added_labels |= asked->added_labels;
    keep(o->kept, e, r);
    forget(o);
    if (r->err.kind) {
        pdl_err_copy(&err, &r->err);
        pdl_effect_refuse_after(e, &err, r->seconds);
    } else {
        pdl_effect_answer(e, pdl_keep(r->value), r->seconds);
    }
}

static void ask(replays_world *w, pdl_effect *e, pdl_buf *key) {
    kept_answer *k = PDL_NEW(kept_answer);
    *k = (kept_answer){.key = pdl_buf_take(key), .value = pdl_absent(), .is_again = true};
    *pdl_vec_push(&w->all) = k;
    (void)pdl_map_put(&w->by_key, pdl_str_of(k->key), k);
    keeping_effect *o = PDL_NEW(keeping_effect);
    *o = (keeping_effect){.world = w, .e = e, .kept = k, .next = w->first};
    if (w->first) w->first->prev = o;
    w->first = o;
    pdl_effect_sink sink = {o, on_piece, on_reply, on_decided, e->sink.extra ? on_extra : NULL};
    w->world.next->ops->start(w->world.next, pdl_effect_forward(e, sink));
}

/* --- the next times --------------------------------------------------------------------------- */

/* Gives the effect a place that is made of its first place and the number of the particle. */
static void move(pdl_effect *e) {
    enum { HALF = 32 };
    pdl_path *of = pdl_path_numbered(e->place, "particle", (uint32_t)(e->own >> HALF));
    e->first_place = e->place;
    e->place = pdl_path_numbered(of, "again", (uint32_t)e->own);
    pdl_path_drop(of);
}

/* --- the world -------------------------------------------------------------------------------- */

static void start(pdl_world *world, pdl_effect *e) {
    replays_world *w = (replays_world *)(void *)world;
    pdl_buf key = PDL_BUF;
    const kept_answer *k = find(w, e, &key);
    if (!k) {
        ask(w, e, &key);
        return;
    }
    pdl_buf_fini(&key);
    if (k->is_again) {
        move(e);
        w->world.next->ops->start(w->world.next, e);
        return;
    }
    e->added_labels |= k->labels;
    pdl_err err = {0};
    if (k->err.kind) {
        pdl_err_copy(&err, &k->err);
        pdl_effect_refuse(e, &err);
    } else {
        pdl_effect_answer(e, pdl_keep(k->value), 0);
    }
}

static void cancel(pdl_world *world, uint32_t id) {
    replays_world *w = (replays_world *)(void *)world;
    w->world.next->ops->cancel(w->world.next, id);
    for (keeping_effect *o = w->first; o; o = o->next) {
        if (o->e->id != id) continue;
        pdl_effect_free(o->e);
        forget(o);
        return;
    }
}

static bool poll(pdl_world *world, int timeout_ms) {
    replays_world *w = (replays_world *)(void *)world;
    return w->world.next->ops->poll(w->world.next, timeout_ms);
}

static void close_world(pdl_world *world) {
    replays_world *w = (replays_world *)(void *)world;
    while (w->first) {
        keeping_effect *o = w->first;
        w->world.next->ops->cancel(w->world.next, o->e->id);
        pdl_effect_free(o->e);
        forget(o);
    }
    for (size_t i = 0; i < w->all.n; i++) {
        pdl_drop(w->all.p[i]->value);
        pdl_err_fini(&w->all.p[i]->err);
        pdl_free(w->all.p[i]->key);
        pdl_free(w->all.p[i]);
    }
    pdl_vec_fini(&w->all);
    pdl_map_fini(&w->by_key);
    pdl_free(w);
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

pdl_world *pdl_particle_replays_new(pdl_world *next) {
    replays_world *w = PDL_NEW(replays_world);
    *w = (replays_world){.world = {&ops, next}};
    return &w->world;
}
