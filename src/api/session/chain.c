/* chain.c -- builds the chain of worlds; see chain.h. One function for each row opens its world,
 * which forwards to the next world, and one loop calls these functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/chain.h"

#include <assert.h>

#include "api/calls/merge.h"
#include "api/calls/particle_replays.h"
#include "api/session/compose.h"
#include "api/session/session_impl.h"
#include "model/model.h"
#include "model/preview.h"

#include "base/banned.h"

enum { LIVE = 1, EXPLAIN = 2, OFFLINE = 4 };
enum { OF_SESSION, OF_RUN };
enum { OF_CHAIN, OF_FILE };

/* --- how a row is opened ---------------------------------------------------------------------- */

/* Opens the world of a row. run is the spawned run that gets the row; NULL when the row is for the
 * session. */
typedef pdl_world *open_fn(pdl_session *s, const pdl_spawn *run, pdl_world *next);

static pdl_world *open_policy(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    return pdl_session_policy_world(s, run, next);
}

/* Asks the world of models, which a router has opened, for the request that it would send. */
static void preview(pdl_world *outside, const pdl_effect *e, pdl_val *request, pdl_val *problem) {
    pdl_err err = {0};
    /* the host program is asked instead of a service, so there is no request to show */
    if (pdl_compose_is_hooked(outside, e)) return;
    if (pdl_model_preview(pdl_compose_model(outside), e, request, &err)) {
        pdl_vref said = pdl_dict_getz(*request, "problem");
        if (!pdl_is_absent(said)) *problem = pdl_keep(said);
        return;
    }
    *problem = pdl_textf("%s: %s", pdl_err_kind_name(err.kind), err.msg);
    pdl_err_fini(&err);
}

static pdl_world *open_explain(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    (void)run;
    return pdl_explain_world_new(next, s->reports.allowed, s->around.prices, preview,
                                 &s->rules.redactions[PDL_SINK_output]);
}

static pdl_world *open_particle_replays(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    (void)s;
    (void)run;
    return pdl_particle_replays_new(next);
}

static pdl_world *open_durable(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    if (run) return pdl_durable_world(run->durable, next);
    return s->files.durable ? pdl_durable_world(s->files.durable, next)
                            : pdl_durable_server_world(s->files.server, next);
}

static pdl_world *open_output(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    (void)run;
    return pdl_session_output_world(s, next);
}

static pdl_world *open_record(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    (void)run;
    return pdl_journal_world(s->files.journal, next);
}

static pdl_world *open_cache(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    (void)run;
    return pdl_cache_world(s->files.cache, next);
}

static pdl_world *open_budget(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    const pdl_prices *prices = s->group.shared ? s->group.shared->around.prices : s->around.prices;
    (void)run;
    return pdl_budget_world_new(&(pdl_budget_world_options){s->around.loop, prices}, next);
}

static pdl_world *open_precheck(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    (void)run;
    return pdl_session_precheck(s, next);
}

static unsigned takes(void *user, const pdl_effect *e) {
    pdl_vref model = pdl_dict_getz(e->request, "model"),
             platform = pdl_dict_getz(e->request, "platform");
    if (!pdl_is_str(model)) return 0;
    return pdl_model_takes(pdl_str_get(model),
                           pdl_is_str(platform) ? pdl_str_get(platform) : (pdl_str){0},
                           pdl_dict_getz(e->request, "parameters"), pdl_session_env_of, user);
}

static pdl_world *open_merge(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    (void)run;
    return pdl_merge_world_new(&(pdl_merge_options){takes, s, s->opt.run.model_seed}, next);
}

static pdl_world *open_jobs(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    (void)run;
    pdl_group *g = s->group.shared ? &s->group.shared->group : &s->group;
    if (!g->jobs) g->jobs = pdl_jobs_new(s->opt.run.jobs);
    return pdl_jobs_world_new(g->jobs, next);
}

static pdl_world *open_answer(pdl_session *s, const pdl_spawn *run, pdl_world *next) {
    (void)run;
    (void)next; /* the last row has no next world */
    return pdl_session_answer_world(s);
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned tables;
    bool each_run, is_owned;
    open_fn *open;
} rows[] = {
#define ROW(name, tables, scope, is_there, owner, when, takes, why)                                \
    {#name, tables, (scope) == OF_RUN, (owner) == OF_CHAIN, open_##name},
#include "api/session/chain.def"
};

static bool has_row(const pdl_session *s, pdl_chain_row row) {
    switch (row) {
/* clang-format would put the include into the macro. */
/* clang-format off */
#define ROW(name, tables, scope, is_there, owner, when, takes, why)                                \
    case PDL_CHAIN_##name: return (is_there);
#include "api/session/chain.def"
        /* clang-format on */
    case PDL_CHAIN_COUNT: break;
    }
    return false;
}

static unsigned table_of(const pdl_session *s) {
    if (s->opt.run.explain) return EXPLAIN;
    return s->opt.files.replay.n || s->opt.files.offline ? OFFLINE : LIVE;
}

/* Builds the rows from the last to the first. */
static void build(pdl_session *s, const pdl_spawn *run, pdl_world *next, pdl_chain *c) {
    unsigned table = table_of(s);
    for (size_t i = PDL_CHAIN_COUNT; i-- > 0;) {
        bool is_there = (rows[i].tables & table) && has_row(s, (pdl_chain_row)i);
        if (is_there && (!run || rows[i].each_run)) next = c->rows[i] = rows[i].open(s, run, next);
    }
    c->first = next ? next : pdl_null_world();
    assert(pdl_chain_ok(c));
}

void pdl_chain_open(pdl_session *s) {
    assert(!s->chain.first);
    build(s, NULL, NULL, &s->chain);
    pdl_buf names = PDL_BUF;
    if (PDL_TRACES(s->opt.reports.debug, effect)) pdl_chain_put_names(&s->chain, &names);
    PDL_TRACE(s->opt.reports.debug, effect, "chain: %s", pdl_buf_z(&names));
    pdl_buf_fini(&names);
}

void pdl_chain_open_run(pdl_session *s, const pdl_spawn *run, pdl_chain *out) {
    build(s, run, pdl_chain_after(&s->chain, PDL_CHAIN_durable), out);
}

void pdl_chain_open_policy(pdl_session *s) {
    pdl_chain *c = &s->chain;
    assert(c->first && !c->rows[PDL_CHAIN_policy]);
    c->first = c->rows[PDL_CHAIN_policy] = open_policy(s, NULL, c->first);
}

void pdl_chain_close(pdl_chain *c) {
    for (size_t i = 0; i < PDL_CHAIN_COUNT; i++) {
        if (!c->rows[i]) continue;
        if (rows[i].is_owned)
            c->rows[i]->ops->close(c->rows[i]);
        else
            /* the owner closes this world later, when the next world does not exist any more */
            c->rows[i]->next = NULL;
    }
    *c = (pdl_chain){0};
}

pdl_world *pdl_chain_after(const pdl_chain *c, pdl_chain_row row) {
    size_t i = (size_t)row + 1;
    while (i < PDL_CHAIN_COUNT && !c->rows[i]) i++;
    return i < PDL_CHAIN_COUNT ? c->rows[i] : NULL;
}

void pdl_chain_put_names(const pdl_chain *c, pdl_buf *out) {
    for (size_t i = 0; i < PDL_CHAIN_COUNT; i++)
        if (c->rows[i]) pdl_buf_putf(out, "%s%s", out->len ? " " : "", rows[i].name);
}

bool pdl_chain_ok(const pdl_chain *c) {
    size_t i = 0;
    while (i < PDL_CHAIN_COUNT && !c->rows[i]) i++;
    return c->first && (i == PDL_CHAIN_COUNT || c->rows[i] == c->first);
}
