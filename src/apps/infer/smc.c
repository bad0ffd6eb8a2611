/* smc.c -- sequential Monte Carlo: at factors, copies of particles with much weight replace
 * particles with little weight.
 *
 * A round ends when each particle is at a factor or has ended. When particles are resampled, their
 * mean weight becomes a factor of the evidence, and all weights become one. A particle that has
 * ended takes part, too; after the first resampling its weight stays one. A copy is put into the
 * place of the particle that it replaces; all other particles keep their indexes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "infer/algorithms.h"

#include <math.h>
#include <stdlib.h>

#include "base/banned.h"

/* Returns the weight of a particle as a share of the sum of all weights; 0 when the particle
 * neither waits at a factor nor is done. all: the logarithm of the sum of all weights. */
static double share(const particle *q, double all) {
    bool counts = q->state == PARTICLE_HELD || q->state == PARTICLE_DONE;
    return counts ? exp(q->weight - all) : 0;
}

typedef struct heavy {
    double share;
    uint32_t number;
} heavy;

static int by_share(const void *a, const void *b) {
    const heavy *x = a, *y = b;
    if (x->share != y->share) return x->share > y->share ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns the particles sorted by weight; the caller frees the array. Systematic drawing needs
 * particles in sorted order. In the order of the particles' numbers the weights may be periodic,
 * and the variance would then be large. */
static heavy *order_by_share(const population *p, double all) {
    heavy *order = PDL_NEW_N(heavy, p->n);
    for (uint32_t i = 0; i < p->n; i++) order[i] = (heavy){share(&p->all[i], all), i};
    qsort(order, p->n, sizeof *order, by_share);
    return order;
}

/* Sets counts[i] to the number of offspring of particle i. All counts together are n, and the
 * expected value of a count is n times the share of the particle. Systematic drawing uses one
 * random number for all particles. Multinomial drawing uses one for each offspring. Only the counts
 * matter, so sorted random numbers are made directly, from the spacings of exponentials. */
static void draw_offspring(inference *f, double all, uint32_t *counts) {
    population *p = &f->p;
    pdl_rand r;
    pdl_rand_seed(&r, pdl_population_seed(p, UINT64_MAX, 2, f->ess.n));
    uint32_t n = p->n, last = 0, i = 0, dealt = 0;
    double sum = 0, u = pdl_rand_double(&r), spacings = 0;
    double *points = PDL_NEW_N(double, n + 1);
    for (uint32_t k = 0; k <= n; k++) {
        if (f->o->multinomial) spacings += -log(1 - pdl_rand_double(&r));
        points[k] = f->o->multinomial ? spacings : (k + u) / n;
    }
    for (uint32_t k = 0; f->o->multinomial && k < n; k++) points[k] /= spacings;
    for (uint32_t k = 0; k < n; k++) counts[k] = 0;
    heavy *order = order_by_share(p, all);
    for (; dealt < n && i < n && order[i].share > 0; i++) {
        last = order[i].number;
        sum += order[i].share;
        for (; dealt < n && points[dealt] < sum; dealt++) counts[last]++;
    }
    /* because of rounding, some offspring may not be assigned yet */
    for (; dealt < n; dealt++) counts[last]++;
    pdl_free(order);
    pdl_free(points);
}

/* Replaces particles that have no offspring by copies of particles that have more than one. */
static bool resample(inference *f, double all, uint32_t generation, pdl_err *err) {
    population *p = &f->p;
    uint32_t *counts = PDL_NEW_N(uint32_t, p->n), from = 0;
    bool ok = true;
    draw_offspring(f, all, counts);
    for (uint32_t i = 0; ok && i < p->n; i++) {
        uint32_t ancestor = i;
        if (!counts[i]) {
            while (counts[from] < 2) from++;
            counts[from]--;
            ancestor = from;
        }
        ok = pdl_population_copy(p, ancestor, i, generation, err);
    }
    pdl_free(counts);
    return ok;
}

/* Returns true when all particles that are held are at the same place of the program. */
static bool are_aligned(const population *p) {
    pdl_buf first = PDL_BUF, other = PDL_BUF;
    bool same = true, any = false;
    for (uint32_t i = 0; same && i < p->n; i++) {
        pdl_loc loc;
        if (p->all[i].state != PARTICLE_HELD) continue;
        pdl_path *at = pdl_run_held_at(pdl_particle_run(&p->all[i]), &loc);
        pdl_buf_clear(&other);
        pdl_path_text(at, any ? &other : &first);
        pdl_path_drop(at);
        same = !any || pdl_str_eq(pdl_buf_str(&first), pdl_buf_str(&other));
        any = true;
    }
    pdl_buf_fini(&first);
    pdl_buf_fini(&other);
    return same;
}

static bool any_held(const population *p) {
    for (uint32_t i = 0; i < p->n; i++)
        if (p->all[i].state == PARTICLE_HELD) return true;
    return false;
}

/* Returns true when a particle has weight from a factor at which particles do not wait: a factor
 * with `resample: false`, or a factor of the shared part. */
static bool is_weighed(const population *p) {
    for (uint32_t i = 0; i < p->n; i++)
        if (p->all[i].taken != 0) return true;
    return false;
}

bool pdl_infer_smc(inference *f, pdl_err *err) {
    population *p = &f->p;
    double *w = PDL_NEW_N(double, p->n);
    uint32_t generation = 0;
    bool ok = true, more = true, any_factor = false;
    f->runs = p->n;
    while (ok && more) {
        ok = pdl_population_run(p, 0, p->n, NULL, NULL, err);
        if (!ok) break;
        uint32_t n = pdl_infer_weights(f, w);
        double all = pdl_infer_log_sum(w, n), ess = pdl_infer_ess(w, n);
        if (!(ess > 0)) {
            f->log_evidence = -INFINITY;
            ok = pdl_infer_impossible(f, err);
            break;
        }
        *pdl_vec_push(&f->ess) = ess;
        more = any_held(p);
        any_factor = any_factor || more;
        bool is_poor = f->o->ess >= 1 || ess < f->o->ess * n;
        if (more && is_poor && (!f->o->aligned || are_aligned(p))) {
            f->log_evidence += all - log(n);
            ok = resample(f, all, ++generation, err);
        } else if (!more) {
            f->log_evidence += all - log(n);
        }
    }
    pdl_free(w);
    if (ok && !any_factor && !is_weighed(p) && !p->is_shared_ended && f->o->note)
        f->o->note(f->o->user, "the program came to no factor: --algo smc weighs nothing then, as "
                               "--algo is does");
    /* the output of a failed inference also contains the particles that have ended */
    pdl_err second = {0};
    ok = pdl_infer_collect(f, p->n, ok ? err : &second) && ok;
    pdl_err_fini(&second);
    return ok;
}
