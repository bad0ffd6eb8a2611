/* majority.c -- majority voting that stops as soon as it is certain.
 *
 * Particles run in waves. A wave has as many particles as would decide the vote if all of them
 * agreed. Of five particles, three run first. Votes are counted in the order of lineage, so the
 * number of runs depends neither on --jobs nor on the order of replies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "infer/algorithms.h"

#include "base/banned.h"

typedef struct voting {
    inference *f;
    uint32_t counted; /* number of particles whose votes are counted, in the order of lineage */
    uint32_t first, second; /* numbers of votes of the two values that have the most votes */
    size_t leader;
    bool is_decided;
    pdl_err err; /* set when a result cannot be compared */
} voting;

/* Returns true when the votes that were counted decide, although `left` votes are still missing. */
static bool decides(const voting *v, double first, double second, double left) {
    double sure = v->f->o->sure;
    if (first > second + left) return true;
    return sure > 0 && first > 0 && pdl_infer_lead(first, second) >= sure;
}

/* Returns the smallest number of further votes that would decide if all of them were for the
 * leading value. */
static uint32_t wave_of(const voting *v) {
    uint32_t left = v->f->p.n - v->counted, low = 1, high = left;
    while (low < high) { /* binary search: when a number decides, every larger number does, too */
        uint32_t k = low + (high - low) / 2;
        if (decides(v, (double)v->first + k, v->second, left - k))
            high = k;
        else
            low = k + 1;
    }
    return low;
}

/* Counts one more vote for the value `which`, and updates the two leading values. */
static void count_vote(voting *v, size_t which) {
    uint32_t votes = (uint32_t)++v->f->d.values.p[which].weight;
    if (which == v->leader) {
        v->first = votes;
    } else if (votes > v->first) { /* the value had as many votes as the leading value before */
        v->second = v->first;
        v->first = votes;
        v->leader = which;
    } else if (votes > v->second) {
        v->second = votes;
    }
}

/* Counts the votes of all particles up to the first one that is still running. */
static bool count(void *user) {
    voting *v = user;
    population *p = &v->f->p;
    while (!v->is_decided && v->counted < p->n) {
        const particle *q = &p->all[v->counted];
        size_t which;
        if (q->state != PARTICLE_DONE && q->state != PARTICLE_FAILED) break;
        if (q->state == PARTICLE_FAILED && v->f->o->on_error == PDL_INFER_FAIL) break;
        v->counted++;
        if (q->state == PARTICLE_DONE) {
            if (!pdl_distribution_add(&v->f->d, q, 0, &which, &v->err)) return true;
            count_vote(v, which);
        }
        v->is_decided = decides(v, v->first, v->second, p->n - v->counted);
    }
    return v->is_decided;
}

bool pdl_infer_maj(inference *f, pdl_err *err) {
    voting v = {.f = f};
    uint32_t asked = 0;
    bool ok = true;
    while (ok && !v.is_decided && asked < f->p.n) {
        uint32_t wave = wave_of(&v);
        ok = pdl_population_run(&f->p, asked, asked + wave, count, &v, err);
        if (ok && v.err.kind) {
            pdl_err_move(err, &v.err);
            ok = false;
        }
        asked += wave;
    }
    pdl_err_fini(&v.err);
    f->runs = asked;
    if (ok && !f->d.values.n) return pdl_infer_impossible(f, err);
    *pdl_vec_push(&f->ess) = (double)f->d.which.n;
    return ok;
}
