/* particle_replay.c -- runs a particle again when its state cannot be copied, because its code left
 * objects of Python or used PDL_SESSION.
 *
 * The particle repeats what its ancestors did. It begins with the lineage that they had at the
 * beginning, so its effects have the same places, and it draws the same random numbers. The session
 * answers with what it has kept (api/calls/particle_replays.h); code that makes or uses an object
 * or PDL_SESSION runs again. At each factor the particle takes the lineage of the next part, and at
 * the last one its new lineage.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "infer/particles.h"

#include <assert.h>

#include "base/banned.h"

/* --- ways ------------------------------------------------------------------------------------- */

void pdl_particle_begin_part(particle *q) {
    if (!q->of->keeps_ways) return;
    particle_part *part = PDL_NEW(particle_part);
    *part = (particle_part){1, q->generation, q->number, q->try, q->way};
    q->way = part;
}

void pdl_particle_forget_way(particle *q) {
    particle_part *part = q->way;
    q->way = NULL;
    while (part && !--part->refs) {
        particle_part *before = part->before;
        pdl_free(part);
        part = before;
    }
}

/* --- the replay ------------------------------------------------------------------------------- */

/* Steps the particle until it is held. Returns false when the particle ends instead. All other
 * particles are held or have ended. */
static bool run_alone(particle *q, pdl_err *err) {
    enum { LOOK_MS = 1000 };
    population *p = q->of;
    const pdl_cancel_flag *flag = p->o->session.run.cancel;
    while (q->state == PARTICLE_RUNS) {
        if (flag && *flag) return pdl_err_signal(err, *flag);
        if (!pdl_run_pool_step(p->pool, err)) return false;
        if (q->state != PARTICLE_RUNS || pdl_run_pool_wait(p->pool, LOOK_MS)) continue;
        if (!pdl_session_send_waiting(p->session))
            return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                               "a replayed particle waits for an answer that cannot come");
    }
    if (q->state == PARTICLE_HELD) return true;
    if (q->err) {
        pdl_err_copy(err, q->err);
        return false;
    }
    pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                "a replayed particle did not come to the factor of the one before it");
    pdl_err_hint(err, "code that makes objects, or uses PDL_SESSION, has to do the same each time");
    return false;
}

static bool is_named(const particle *q, const particle_part *part) {
    return q->generation == part->generation && q->number == part->number && q->try == part->try;
}

static void take_name(particle *q, const particle_part *part) {
    q->generation = part->generation;
    q->number = part->number;
    q->try = part->try;
}

bool pdl_particle_replay(particle *q, const particle *of, pdl_err *err) {
    PDL_VEC(const particle_part *) parts = {0};
    const particle_part own = {1, q->generation, q->number, q->try, NULL};
    for (const particle_part *part = q->way; part; part = part->before)
        *pdl_vec_push(&parts) = part;
    assert(parts.n && !q->of->work);
    take_name(q, parts.p[parts.n - 1]);
    pdl_particle_start(q);
    bool ok = run_alone(q, err);
    for (size_t i = parts.n - 1; ok && i-- > 0;) {
        bool is_renamed = !is_named(q, parts.p[i]);
        take_name(q, parts.p[i]);
        if (is_renamed) pdl_particle_rename(q);
        q->state = PARTICLE_RUNS;
        pdl_run_pool_continue(q->of->pool, q->slot);
        ok = run_alone(q, err);
    }
    pdl_vec_fini(&parts);
    take_name(q, &own);
    if (!ok) return false;
    pdl_particle_rename(q);
    q->counted = pdl_run_pool_use(q->of->pool, q->slot);
    q->taken = of->taken;
    q->weight = 0;
    return true;
}
