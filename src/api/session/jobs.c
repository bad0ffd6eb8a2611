/* jobs.c -- counts the open calls of all tasks, and starts calls that wait; see jobs.h. The waiting
 * calls of all tasks are in one list, so that calls begin in the order of their arrival, whichever
 * task makes them. Each task has a world that puts its calls into this list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/jobs.h"

#include "base/alloc.h"

#include "base/banned.h"

enum { DEFAULT_MAX = 64 };

typedef struct jobs_world jobs_world;

/* A model call. While it waits, e is its effect. While it is in flight, this world is the sink of
 * its effect. */
typedef struct held_call {
    jobs_world *world;
    pdl_effect *e;
    uint32_t id;
    pdl_effect_sink asker;
    /* previous and next call in the list of waiting calls of all tasks */
    struct held_call *next_waiting, *prev_waiting;
    /* previous and next call in the list of its world */
    struct held_call *next, *prev;
} held_call;

struct pdl_jobs {
    uint32_t most, open;
    held_call *first, *last; /* calls that wait */
};

struct jobs_world {
    pdl_world world;
    pdl_jobs *jobs;
    held_call *first;
};

pdl_jobs *pdl_jobs_new(uint32_t most) {
    pdl_jobs *j = PDL_NEW(pdl_jobs);
    j->most = most ? most : DEFAULT_MAX;
    return j;
}

void pdl_jobs_free(pdl_jobs *j) { pdl_free(j); }

static void wait_last(pdl_jobs *all, held_call *j) {
    j->prev_waiting = all->last;
    if (all->last)
        all->last->next_waiting = j;
    else
        all->first = j;
    all->last = j;
}

static void wait_no_longer(pdl_jobs *all, held_call *j) {
    *(j->prev_waiting ? &j->prev_waiting->next_waiting : &all->first) = j->next_waiting;
    *(j->next_waiting ? &j->next_waiting->prev_waiting : &all->last) = j->prev_waiting;
    j->next_waiting = j->prev_waiting = NULL;
}

/* Removes the call from its world, and frees it. */
static void forget(held_call *j) {
    *(j->prev ? &j->prev->next : &j->world->first) = j->next;
    if (j->next) j->next->prev = j->prev;
    pdl_free(j);
}

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    const held_call *j = user;
    if (j->asker.piece) j->asker.piece(j->asker.user, e, text);
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *reply) {
    held_call *j = user;
    pdl_effect_sink asker = j->asker;
    j->world->jobs->open--;
    forget(j);
    if (asker.reply) asker.reply(asker.user, e, reply);
}

static void on_extra(void *user, const pdl_effect *e, pdl_vref extra) {
    const held_call *j = user;
    j->asker.extra(j->asker.user, e, extra);
}

static void on_decided(void *user, const pdl_effect *e, pdl_vref decision) {
    const held_call *j = user;
    if (j->asker.decided) j->asker.decided(j->asker.user, e, decision);
}

static void open_job(held_call *j, pdl_effect *e) {
    j->e = NULL;
    j->asker = e->sink;
    e->sink =
        (pdl_effect_sink){j, on_piece, on_reply, on_decided, j->asker.extra ? on_extra : NULL};
    j->world->jobs->open++;
    j->world->world.next->ops->start(j->world->world.next, e);
}

static void start(pdl_world *w, pdl_effect *e) {
    jobs_world *jw = (jobs_world *)(void *)w;
    pdl_jobs *all = jw->jobs;
    if (e->kind != PDL_EFFECT_model && e->kind != PDL_EFFECT_embed) {
        jw->world.next->ops->start(jw->world.next, e);
        return;
    }
    held_call *j = PDL_NEW(held_call);
    *j = (held_call){.world = jw, .e = e, .id = e->id, .next = jw->first};
    if (jw->first) jw->first->prev = j;
    jw->first = j;
    if (all->open < all->most && !all->first)
        open_job(j, e);
    else
        wait_last(all, j);
}

static void cancel(pdl_world *w, uint32_t id) {
    jobs_world *jw = (jobs_world *)(void *)w;
    held_call *j = jw->first;
    while (j && j->id != id) j = j->next;
    if (j && j->e) {
        wait_no_longer(jw->jobs, j);
        pdl_effect_free(j->e);
        forget(j);
        return;
    }
    if (j) {
        jw->jobs->open--;
        forget(j);
    }
    jw->world.next->ops->cancel(jw->world.next, id);
}

static bool poll(pdl_world *w, int timeout_ms) {
    jobs_world *jw = (jobs_world *)(void *)w;
    return jw->world.next->ops->poll(jw->world.next, timeout_ms);
}

/* Frees the calls that wait. The effects of calls in flight belong to the next worlds. */
static void close_world(pdl_world *w) {
    jobs_world *jw = (jobs_world *)(void *)w;
    while (jw->first) {
        held_call *j = jw->first;
        if (j->e) {
            wait_no_longer(jw->jobs, j);
            pdl_effect_free(j->e);
        } else
            jw->jobs->open--;
        forget(j);
    }
    pdl_free(jw);
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

pdl_world *pdl_jobs_world_new(pdl_jobs *j, pdl_world *next) {
    jobs_world *jw = PDL_NEW(jobs_world);
    *jw = (jobs_world){.world = {&ops, next}, .jobs = j};
    return &jw->world;
}

void pdl_jobs_launch(pdl_jobs *all) {
    while (pdl_jobs_are_ready(all)) {
        held_call *j = all->first;
        wait_no_longer(all, j);
        open_job(j, j->e);
    }
}

bool pdl_jobs_are_ready(const pdl_jobs *all) { return all->first && all->open < all->most; }
