/* particles.c -- runs the particles of an inference; see particles.h. The part that all particles
 * share is run once. Then each particle gets a copy of that run. The copies run in a pool until
 * they are held or end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "infer/particles.h"

#include <assert.h>
#include <math.h>

#include "base/ident.h"
#include "io/clock.h"
#include "io/file.h"
#include "lang/load.h"

#include "base/banned.h"

static bool is_cancelled(const population *p, pdl_err *err) {
    const pdl_cancel_flag *flag = p->o->session.run.cancel;
    if (!flag || !*flag) return false;
    (void)pdl_err_signal(err, *flag);
    return true;
}

/* --- lineage ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t pdl_population_seed(const population *p, uint64_t generation, uint64_t number,
                             uint64_t try) {
    return mix(mix(mix(mix(p->seed) ^ generation) ^ number) ^ try);
}

void pdl_particle_put_name(const particle *q, pdl_buf *out) {
    pdl_buf_putf(out, "particle %u", q->number);
    if (q->generation) pdl_buf_putf(out, " of round %u", q->generation);
    if (q->try) pdl_buf_putf(out, ", try %u", q->try + 1);
}

/* Returns the prefix for the places of the effects of a lineage; owned. */
static pdl_path *place_of(uint32_t generation, uint32_t number, uint32_t try) {
    pdl_path *up = NULL, *path;
    if (generation) up = pdl_path_numbered(NULL, "round", generation);
    path = pdl_path_numbered(up, "particle", number);
    pdl_path_drop(up);
    if (!try) return path;
    up = path;
    path = pdl_path_numbered(up, "try", try);
    pdl_path_drop(up);
    return path;
}

static pdl_val place_text(uint32_t generation, uint32_t number, uint32_t try) {
    pdl_buf text = PDL_BUF;
    pdl_path *path = place_of(generation, number, try);
    pdl_path_text(path, &text);
    pdl_val v = pdl_text(pdl_buf_str(&text));
    pdl_path_drop(path);
    pdl_buf_fini(&text);
    return v;
}

pdl_val pdl_particle_lineage(const particle *q) {
    pdl_val list = pdl_list_push(pdl_list_new(2), place_text(q->generation, q->number, q->try));
    for (const particle_part *part = q->way; part; part = part->before)
        list = pdl_list_push(list, place_text(part->generation, part->number, part->try));
    return list;
}

static void put_draw(const particle *q, pdl_buf *out) {
    pdl_buf_put(out, q->of->o->draw);
    pdl_buf_putf(out, "particle:%u:%u", q->generation, q->number);
    if (q->try) pdl_buf_putf(out, ":%u", q->try);
}

bool pdl_particle_ok(const particle *q) {
    return (q->state == PARTICLE_FAILED) == (q->err != NULL) &&
           (q->state == PARTICLE_DONE) == !pdl_is_absent(q->result);
}

/* --- runs ------------------------------------------------------------------------------------- */

/* The options with which the run of a particle is started. spawn_fini releases place and draw. */
typedef struct spawning {
    pdl_spawn spawn;
    pdl_buf draw;
} spawning;

/* pdl_particle.own has the slot of a run in its upper half and the number of the run in its lower
 * half. The worker keeps one PDL_SESSION for each slot. */
enum { OWN_SHIFT = 32 };

static void spawn_init(const population *p, const particle *q, spawning *s) {
    s->draw = PDL_BUF;
    put_draw(q, &s->draw);
    s->spawn = (pdl_spawn){.code = p->code,
                           .dir = pdl_file_folder(p->o->file),
                           .variables = p->variables,
                           .draw = pdl_buf_str(&s->draw),
                           .place = place_of(q->generation, q->number, q->try),
                           .particle = p->options};
    s->spawn.particle.number = (int64_t)q->number;
    s->spawn.particle.own = (uint64_t)q->slot << OWN_SHIFT | q->begun;
    s->spawn.particle.seed = pdl_population_seed(p, q->generation, q->number, q->try);
}

static void spawn_fini(spawning *s) {
    pdl_path_drop(s->spawn.place);
    pdl_buf_fini(&s->draw);
}

static bool has_run(const particle *q) {
    return q->state == PARTICLE_RUNS || q->state == PARTICLE_HELD;
}

const pdl_run *pdl_particle_run(const particle *q) {
    return pdl_run_pool_get(q->of->pool, q->slot);
}

/* Returns true when the invariants hold: the run of a particle is in its slot of the pool, and the
 * other slots are free; when the program has no random effect, no particle has a run. */
static inline bool population_ok(const population *p) {
    uint32_t used = 0, runs = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const particle *q = &p->all[i];
        if (!pdl_particle_ok(q)) return false;
        if (!has_run(q)) continue;
        if (p->in_slot[q->slot] != i || !pdl_particle_run(q)) return false;
        used++;
        runs += q->state == PARTICLE_RUNS;
    }
    return pdl_run_pool_room(p->pool) + used == p->n_slots && runs == pdl_run_pool_open(p->pool) &&
           (!p->is_shared_ended || (p->shared && !used));
}

/* Counts what the run of a particle has used since the last call of this function. */
static void count_use(particle *q) {
    pdl_run_use use = pdl_run_pool_use(q->of->pool, q->slot);
    q->of->calls += use.calls - q->counted.calls;
    q->of->completion += use.completion - q->counted.completion;
    q->of->prompt += use.prompt - q->counted.prompt;
    q->counted = use;
}

/* Adds to the weight of a particle the factors that its run has met since the last call of this
 * function. */
static void take_score(particle *q) {
    double score = pdl_run_score(pdl_particle_run(q));
    pdl_loc at = pdl_run_impossible(pdl_particle_run(q));
    if (at.src && !q->of->impossible.src) q->of->impossible = at;
    /* a weight of zero never changes; the difference of two infinite scores would not
     * be a number */
    q->weight = isinf(score) ? score : q->weight + (score - q->taken);
    q->taken = score;
}

/* Ends the run of a particle, if it has one. The particle gets this state. */
static void release(particle *q, particle_state state) {
    if (has_run(q)) {
        count_use(q);
        pdl_run_pool_end(q->of->pool, q->slot);
    }
    q->state = state;
}

static void take_slot(particle *q) {
    q->slot = pdl_run_pool_take(q->of->pool);
    q->begun = ++q->of->n_begun;
    q->of->in_slot[q->slot] = (uint32_t)(q - q->of->all);
}

static void forget(particle *q) {
    pdl_particle_forget_way(q);
    pdl_drop(q->result);
    q->result = pdl_absent();
    if (q->err) pdl_err_fini(q->err);
    pdl_free(q->err);
    q->err = NULL;
    pdl_free(q->place);
    q->place = NULL;
}

void pdl_population_reset(population *p, uint32_t i) {
    particle *q = &p->all[i];
    release(q, PARTICLE_NEW);
    forget(q);
    q->taken = q->weight = 0;
    q->counted = (pdl_run_use){0};
}

/* Gives the result of the shared part to a particle, because the program has ended before any
 * random effect. */
static void end_as_shared(population *p, particle *q) {
    q->state = PARTICLE_DONE;
    q->weight = pdl_run_score(p->shared);
    p->impossible = pdl_run_impossible(p->shared);
    q->result = pdl_keep(pdl_run_result(p->shared));
}

/* When the shared part cannot be copied, each particle runs it again. */
void pdl_particle_start(particle *q) {
    population *p = q->of;
    spawning s;
    const char *why;
    pdl_loc loc;
    assert(!has_run(q));
    take_slot(q);
    q->state = PARTICLE_RUNS;
    spawn_init(p, q, &s);
    if (p->shared && pdl_run_pool_copy(p->pool, q->slot, s.spawn, p->shared, &why, &loc)) {
        q->counted = pdl_run_pool_use(p->pool, q->slot);
        pdl_run_pool_continue(p->pool, q->slot);
    } else {
        pdl_run_pool_begin(p->pool, q->slot, s.spawn);
    }
    spawn_fini(&s);
}

static void begin(population *p, particle *q) {
    if (p->is_shared_ended) {
        end_as_shared(p, q);
        return;
    }
    pdl_particle_begin_part(q);
    pdl_particle_start(q);
}

void pdl_particle_rename(particle *q) {
    spawning s;
    spawn_init(q->of, q, &s);
    pdl_run_pool_rename(q->of->pool, q->slot, s.spawn);
    spawn_fini(&s);
}

/* Returns true when a signal, a budget or an exit has ended the run. Then all particles end. */
static bool is_over(const pdl_err *err) {
    return pdl_err_is_cancel(err) || err->kind == PDL_E_exit;
}

char *pdl_population_place(const pdl_err *err) {
    pdl_buf b = PDL_BUF;
    if (!err->loc.src || !err->loc.src->name.n) return NULL;
    pdl_buf_putf(&b, "%.*s:%u", PDL_FMT(err->loc.src->name), pdl_loc_line(err->loc));
    return pdl_buf_take(&b);
}

static void fail(population *p, particle *q) {
    q->err = PDL_NEW(pdl_err);
    pdl_err_copy(q->err, pdl_run_error(pdl_particle_run(q)));
    q->place = pdl_population_place(q->err);
    pdl_err_detach(q->err); /* the error must live longer than the run */
    q->weight = -INFINITY;
    p->failures++;
    release(q, PARTICLE_FAILED);
}

/* Handles the result of a step of a particle's run. */
static void take_step(population *p, particle *q, pdl_step step) {
    if (step == PDL_STEP_FAIL) {
        fail(p, q);
        return;
    }
    take_score(q);
    if (step == PDL_STEP_DONE) {
        q->result = pdl_keep(pdl_run_result(pdl_particle_run(q)));
        release(q, PARTICLE_DONE);
    } else {
        q->state = PARTICLE_HELD;
    }
}

/* --- many at a time --------------------------------------------------------------------------- */

/* The state of a call of pdl_population_run. */
typedef struct population_work {
    population *p;
    uint32_t next, to;
    /* when failures are errors: the first particle that failed; p->n when no particle did */
    uint32_t failed;
    bool (*decided)(void *user);
    void *user;
    bool is_decided;
} work;

/* Ends the particles after the first failed one, because they cannot change the result. */
static void end_later(work *w) {
    for (uint32_t i = w->failed + 1; i < w->p->n; i++) {
        particle *q = &w->p->all[i];
        if (q->state == PARTICLE_RUNS) release(q, PARTICLE_NEW);
    }
}

/* Handles a particle that is held, has ended or has failed. Returns false when the result is
 * decided. Also returns false, with err set, when an error ends all particles (is_over). */
static bool ended(work *w, particle *q, pdl_err *err) {
    uint32_t i = (uint32_t)(q - w->p->all);
    if (q->state == PARTICLE_FAILED) {
        if (is_over(q->err)) {
            pdl_err_copy(err, q->err);
            return false;
        }
        if (w->p->o->on_error == PDL_INFER_FAIL && i < w->failed) {
            w->failed = i;
            end_later(w);
        }
    }
    if (q->state != PARTICLE_HELD && w->decided && w->decided(w->user)) w->is_decided = true;
    return !w->is_decided;
}

static bool stepped(void *user, uint32_t slot, pdl_step step, pdl_err *err) {
    population *p = user;
    particle *q = &p->all[p->in_slot[slot]];
    take_step(p, q, step);
    return !p->work || ended(p->work, q, err); /* without `work`, this is a replay */
}

static bool step_all(const work *w, pdl_err *err) {
    return pdl_run_pool_step(w->p->pool, err) || w->is_decided;
}

/* Returns true when there is another particle to begin, which is all[next]. */
static bool has_next(work *w) {
    while (w->next < w->to && w->p->all[w->next].state != PARTICLE_NEW) w->next++;
    return w->next < w->to && w->next < w->failed && !w->is_decided;
}

/* Begins further particles while slots are free. Each particle is stepped at once. In a program
 * without calls the particle has then ended, and its slot is free again. */
static bool begin_more(work *w, pdl_err *err) {
    population *p = w->p;
    enum { A_TURN = 256 };
    for (uint32_t k = 0; k < A_TURN && pdl_run_pool_room(p->pool) && has_next(w); k++) {
        particle *q = &p->all[w->next++];
        begin(p, q);
        bool ok = has_run(q) ? pdl_run_pool_step_slot(p->pool, q->slot, err) : ended(w, q, err);
        if (!ok) return w->is_decided;
    }
    return true;
}

/* Reports the progress when it is due. */
static void tick(population *p) {
    uint64_t now = pdl_clock_ns();
    if (!p->o->tick || now - p->ticked_ns < (uint64_t)p->o->tick_ms * 1000000) return;
    p->ticked_ns = now;
    pdl_infer_progress shown = {.n = p->n,
                                .calls = p->calls,
                                .cost = p->budget->used[PDL_BUDGET_cost],
                                .seconds = (double)(now - p->begun_ns) / 1e9};
    for (uint32_t i = 0; i < p->n; i++) {
        shown.ended += p->all[i].state == PARTICLE_DONE || p->all[i].state == PARTICLE_FAILED;
        shown.held += p->all[i].state == PARTICLE_HELD;
    }
    p->o->tick(p->o->user, &shown);
}

static bool wait_for_replies(work *w, pdl_err *err) {
    enum { LOOK_MS = 1000 };
    bool ticks = w->p->o->tick && w->p->o->tick_ms < LOOK_MS;
    int most = ticks ? (int)w->p->o->tick_ms : LOOK_MS;
    pdl_run_pool *pool = w->p->pool;
    bool more = pdl_run_pool_room(pool) && has_next(w);
    if (pdl_run_pool_wait(pool, more ? 0 : most) || more || pdl_session_send_waiting(w->p->session))
        return true;
    return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                       "a particle waits for an answer that cannot come");
}

static void release_held(work *w, uint32_t from) {
    for (uint32_t i = from; i < w->to; i++) {
        particle *q = &w->p->all[i];
        if (q->state != PARTICLE_HELD) continue;
        q->state = PARTICLE_RUNS;
        pdl_particle_begin_part(q);
        pdl_run_pool_continue(w->p->pool, q->slot);
    }
}

static void end_all(population *p) {
    for (uint32_t i = 0; i < p->n; i++) {
        particle *q = &p->all[i];
        if (q->state == PARTICLE_RUNS) release(q, PARTICLE_NEW);
    }
}

static bool report_failure(const work *w, pdl_err *err) {
    const particle *q = &w->p->all[w->failed];
    pdl_buf name = PDL_BUF;
    pdl_err_copy(err, q->err);
    pdl_free(w->p->place);
    w->p->place = q->place ? pdl_str_dup(pdl_str_of(q->place)) : NULL;
    pdl_particle_put_name(q, &name);
    if (!err->hint)
        pdl_err_hint(err, "this was %s of %u: --on-error drop leaves failed ones out",
                     pdl_buf_z(&name), w->p->n);
    pdl_buf_fini(&name);
    return false;
}

bool pdl_population_run(population *p, uint32_t from, uint32_t to, bool (*decided)(void *user),
                        void *user, pdl_err *err) {
    work w = {p, from, to, p->n, decided, user, false};
    bool ok = true;
    assert(population_ok(p));
    p->work = &w;
    release_held(&w, from);
    while (ok && !w.is_decided && (pdl_run_pool_open(p->pool) || has_next(&w))) {
        tick(p);
        ok = !is_cancelled(p, err) && begin_more(&w, err) && step_all(&w, err);
        if (ok && !w.is_decided && pdl_run_pool_open(p->pool)) ok = wait_for_replies(&w, err);
    }
    p->work = NULL;
    if (!ok) return false;
    if (w.is_decided) end_all(p);
    assert(population_ok(p));
    return w.failed == p->n || report_failure(&w, err);
}

/* --- copies ----------------------------------------------------------------------------------- */

static bool cannot_copy(const particle *q, const char *why, pdl_loc loc, pdl_err *err) {
    pdl_buf name = PDL_BUF;
    pdl_particle_put_name(q, &name);
    pdl_err_set(err, PDL_E_runtime, loc, "resampling cannot copy %s: %s", pdl_buf_z(&name), why);
    pdl_err_hint(err, "--algo is weighs runs without copying them");
    pdl_buf_fini(&name);
    return false;
}

static void note_replay(population *p, pdl_loc loc) {
    pdl_buf b = PDL_BUF;
    if (p->noted || !p->o->note) return;
    p->noted = true;
    pdl_buf_putf(&b,
                 "%.*s:%u left an object of Python or used PDL_SESSION, which cannot be copied: "
                 "particles are replayed from their answers",
                 PDL_FMT(loc.src ? loc.src->name : (pdl_str){0}), pdl_loc_line(loc));
    p->o->note(p->o->user, pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* Gives t a run that is at the same place as the run of f. */
static bool copy_run(population *p, const particle *f, particle *t, pdl_err *err) {
    const char *why = NULL;
    pdl_loc loc = {0};
    spawning s;
    take_slot(t);
    t->state = PARTICLE_HELD;
    spawn_init(p, t, &s);
    bool ok = pdl_run_pool_copy(p->pool, t->slot, s.spawn, pdl_particle_run(f), &why, &loc);
    spawn_fini(&s);
    if (ok) {
        t->counted = pdl_run_pool_use(p->pool, t->slot);
        return true;
    }
    pdl_run_pool_end(p->pool, t->slot);
    t->state = PARTICLE_NEW;
    if (!pdl_run_is_replayable(pdl_particle_run(f))) return cannot_copy(f, why, loc, err);
    note_replay(p, loc);
    return pdl_particle_replay(t, f, err);
}

bool pdl_population_copy(population *p, uint32_t from, uint32_t to, uint32_t generation,
                         pdl_err *err) {
    particle *f = &p->all[from], *t = &p->all[to];
    if (from != to) pdl_population_reset(p, to);
    t->generation = generation;
    t->number = to;
    t->weight = 0;
    t->taken = f->taken;
    if (from != to) t->result = pdl_keep(f->result);
    if (!has_run(f)) {
        t->state = f->state;
        return true;
    }
    if (from == to) {
        pdl_particle_rename(t);
        return true;
    }
    t->way = f->way;
    if (t->way) t->way->refs++;
    bool ok = copy_run(p, f, t, err);
    assert(!ok || pdl_particle_ok(t));
    return ok;
}

/* --- what is shared --------------------------------------------------------------------------- */

/* Refuses input after the part that all particles share, because each particle would request it
 * again. */
static void on_input(void *user, pdl_request *r) {
    const population *p = user;
    if (p->sharing)
        pdl_request_decline(r);
    else
        pdl_request_refuse(r, "io",
                           "a particle has no standard input: ask before the first call "
                           "of a model, code or random number");
}

static bool open_session(population *p, pdl_err *err) {
    const pdl_infer_options *o = p->o;
    pdl_session_options so = o->session;
    bool loads;
    so.program.file = o->file;
    so.program.dir = pdl_file_folder(o->file);
    so.run.stream = PDL_STREAM_NONE;
    so.run.counts_all_jobs = true;
    so.run.code_seed = &p->seed;
    so.run.merges_calls = true;
    p->keeps_ways = o->algorithm == PDL_INFER_SMC;
    so.run.keeps_answers = p->keeps_ways;
    so.run.model_seed = o->has_seed ? &p->seed : NULL;
    p->on_input = (pdl_hook){PDL_EFFECT_input, {"", 0}, on_input, p};
    so.host.hooks = &p->on_input;
    so.host.n_hooks = 1;
    if (!pdl_session_new(&so, &p->session, err)) return false;
    if (o->opened) o->opened(o->user, p->session);
    p->program = pdl_program_new();
    pdl_program_load(p->program, o->file, o->text, &loads);
    if (!loads) {
        bool refused = !pdl_program_refuse(p->program, err);
        err->kind = PDL_E_schema; /* the mistake is in the program and not on the command line */
        return !refused;
    }
    if (o->attach && !o->attach(o->user, p->session, err)) return false;
    p->is_attached = o->attach != NULL;
    if (!pdl_session_take_policy(p->session, p->program, err)) return false;
    p->code = pdl_session_compile(p->session, p->program);
    return pdl_session_variables(o->variables, &p->variables, err);
}

/* Runs the shared part, until it ends or comes to the first random effect. */
static bool run_shared(population *p, pdl_err *err) {
    pdl_spawn spawn = {.code = p->code,
                       .dir = pdl_file_folder(p->o->file),
                       .variables = p->variables,
                       .slot = p->n_slots,
                       .group = p->n_slots,
                       .budget = p->budget,
                       .particle = p->options};
    spawn.particle.holds_chance = true;
    spawn.particle.holds_factors = false;
    spawn.particle.seed = pdl_population_seed(p, UINT64_MAX, 0, 0);
    p->sharing = true;
    p->shared = pdl_session_spawn(p->session, &spawn);
    for (;;) {
        if (is_cancelled(p, err)) return false;
        pdl_step s = pdl_run_step(p->shared);
        p->is_shared_ended = s == PDL_STEP_DONE;
        if (s == PDL_STEP_FAIL) {
            pdl_err_copy(err, pdl_run_error(p->shared));
            return false;
        }
        if (pdl_run_missed_chance(p->shared) || s == PDL_STEP_DONE || pdl_run_held(p->shared))
            break;
        if (!pdl_session_poll(p->session, pdl_run_is_ready(p->shared) ? 0 : 1000) &&
            !pdl_run_is_ready(p->shared))
            break;
    }
    p->sharing = false;
    if (p->is_shared_ended || pdl_run_held(p->shared)) return true;
    pdl_session_release(p->session, p->shared, p->n_slots);
    p->shared = NULL;
    return true;
}

/* Returns the number of runs that are open at a time. With smc, all runs must be open at the same
 * time. Each PDL_SESSION may be large, so with the other algorithms a program that uses it gets
 * fewer open runs. */
static uint32_t slots_for(const population *p) {
    enum { SESSIONS = 32 };
    uint32_t n = p->n < PDL_INFER_MAX_SMC ? p->n : PDL_INFER_MAX_SMC;
    uint32_t jobs = p->o->session.run.jobs, few = jobs > SESSIONS ? jobs : SESSIONS;
    bool uses = pdl_ident_is_in(p->o->text, PDL_STR("PDL_SESSION"));
    return uses && p->o->algorithm != PDL_INFER_SMC && few < n ? few : n;
}

bool pdl_population_open(population *p, const pdl_infer_options *o, pdl_err *err) {
    static const double unlimited[PDL_BUDGET_COUNT] = {-1, -1, -1, -1, -1, -1};
    *p = (population){.o = o, .variables = pdl_absent(), .seed = o->seed, .n = (uint32_t)o->n};
    p->begun_ns = pdl_clock_ns();
    p->n_slots = slots_for(p);
    p->all = PDL_NEW_N(particle, p->n);
    p->in_slot = PDL_NEW_N(uint32_t, p->n_slots);
    for (uint32_t i = 0; i < p->n; i++)
        p->all[i] = (particle){.of = p, .number = i, .result = pdl_absent()};
    p->budget = pdl_budget_new(o->budget ? o->budget : unlimited, o->around, (pdl_loc){0});
    p->options = (pdl_particle){.is_one = true,
                                .ignores_factors = o->algorithm == PDL_INFER_MAJ,
                                .holds_factors = o->algorithm == PDL_INFER_SMC,
                                .aligned = o->aligned};
    if (!open_session(p, err)) return false;
    p->pool = pdl_run_pool_new(&(pdl_run_pool_options){.session = p->session,
                                                       .n = p->n_slots,
                                                       .budget = p->budget,
                                                       .stepped = stepped,
                                                       .user = p});
    return run_shared(p, err);
}

void pdl_population_end(population *p) {
    for (uint32_t i = 0; p->all && i < p->n; i++)
        if (has_run(&p->all[i])) release(&p->all[i], PARTICLE_NEW);
}

void pdl_population_fini(population *p) {
    pdl_population_end(p);
    for (uint32_t i = 0; p->all && i < p->n; i++) forget(&p->all[i]);
    if (p->shared) pdl_session_release(p->session, p->shared, p->n_slots);
    pdl_run_pool_free(p->pool);
    pdl_free(p->place);
    pdl_free(p->all);
    pdl_free(p->in_slot);
    pdl_drop(p->variables);
    pdl_budget_drop(p->budget);
    pdl_code_drop(p->code);
    pdl_session_free(p->session);
    pdl_program_drop(p->program);
}
