/* rejection.c -- rejection sampling: for each sample, the program is run repeatedly until a run is
 * accepted. The probability of accepting a run is its weight divided by the largest possible
 * weight.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "infer/algorithms.h"

#include <math.h>

#include "base/banned.h"

typedef struct rejecting {
    inference *f;
    uint64_t tries, accepted;
    bool is_warned;
} rejecting;

static void warn(rejecting *r, double score) {
    pdl_buf b = PDL_BUF;
    if (r->is_warned || !r->f->o->note) return;
    r->is_warned = true;
    pdl_buf_putf(&b,
                 "a run has the score %.6g, above the greatest one, %.6g: the distribution is "
                 "wrong; give a bound by --max-score",
                 score, r->f->o->max_score);
    r->f->o->note(r->f->o->user, pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* Returns true when the run of q is accepted as a sample. */
static bool accepts(rejecting *r, const particle *q) {
    double most = r->f->o->max_score;
    pdl_rand numbers;
    if (q->weight > most) warn(r, q->weight);
    pdl_rand_seed(&numbers, ~pdl_population_seed(&r->f->p, q->generation, q->number, q->try));
    return pdl_rand_double(&numbers) <= exp(fmin(0, q->weight - most));
}

static bool give_up(const rejecting *r, const particle *q, pdl_err *err) {
    pdl_err_set(err, PDL_E_runtime, r->f->p.impossible,
                "sample %u was not accepted in %llu tries: %llu of %llu runs were accepted "
                "(%.3g %%)",
                q->number, (unsigned long long)r->f->o->tries, (unsigned long long)r->accepted,
                (unsigned long long)r->tries, 100 * (double)r->accepted / (double)r->tries);
    pdl_err_hint(err, "more --tries, a lower --max-score, or --algo smc, which rejects nothing");
    return false;
}

/* Judges the runs of this try. *again: the number of samples that need another try. */
static bool judge(rejecting *r, uint32_t try, bool *is_sample, uint32_t *again, pdl_err *err) {
    population *p = &r->f->p;
    *again = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        particle *q = &p->all[i];
        bool has_failed = q->state == PARTICLE_FAILED;
        if (is_sample[i] || (has_failed && r->f->o->on_error == PDL_INFER_DROP)) continue;
        r->tries++;
        if (!has_failed && accepts(r, q)) {
            is_sample[i] = true;
            r->accepted++;
            q->weight = 0;
            continue;
        }
        if (try + 1 >= r->f->o->tries) return give_up(r, q, err);
        pdl_population_reset(p, i);
        q->try = try + 1;
        ++*again;
    }
    return true;
}

bool pdl_infer_rejection(inference *f, pdl_err *err) {
    population *p = &f->p;
    rejecting r = {.f = f};
    bool *is_sample = PDL_NEW_N(bool, p->n), ok = true;
    uint32_t again = p->n;
    for (uint32_t try = 0; ok && again; try++)
        ok = pdl_population_run(p, 0, p->n, NULL, NULL, err) &&
             judge(&r, try, is_sample, &again, err);
    pdl_free(is_sample);
    f->runs = r.tries;
    if (ok && !r.accepted) return pdl_infer_impossible(f, err);
    f->log_evidence = log((double)r.accepted / (double)r.tries) + f->o->max_score;
    if (ok) *pdl_vec_push(&f->ess) = (double)r.accepted;
    return ok && pdl_infer_collect(f, p->n, err);
}
