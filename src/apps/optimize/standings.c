/* standings.c -- computes what follows from the scores so far: means, intervals, and which
 * candidates are certainly worse. Methods ask for these again and again while scores arrive. So the
 * intervals hold at any time and not only at the end, and everything is computed from the scores
 * without being stored.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "eval/comparison.h"
#include "optimize/objectives.h"

#include "base/banned.h"

static bool candidate_ok(const opt_candidate *c) {
    return c->failed <= c->evaluated && (c->scores != NULL) == (c->evaluated > 0) &&
           (c->uses != NULL) == (c->scores != NULL);
}

bool pdl_search_ok(const opt_search *z) {
    size_t in_parts = 0, n = z->candidates.n;
    uint64_t evaluated = 0;
    for (size_t i = 0; i < OPT_ALL_PARTS; i++) in_parts += z->part[i].n;
    for (size_t i = 0; i < n; i++) {
        if (!candidate_ok(&z->candidates.p[i])) return false;
        evaluated += z->candidates.p[i].evaluated;
    }
    for (size_t i = 0; i < z->demos.n; i++)
        if (z->demos.p[i].candidate >= n) return false;
    return in_parts <= z->rows.n && n && !z->candidates.p[0].text && z->best < n &&
           evaluated == z->evaluations;
}

bool pdl_search_mean(const opt_search *z, size_t candidate, opt_part part, size_t n, double *out) {
    double sum = 0;
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        size_t row = z->part[part].p[i];
        if (!pdl_search_knows(z, candidate, row)) return false;
        sum += pdl_search_score(z, candidate, row);
    }
    if (n) *out = sum / (double)n;
    return n > 0;
}

void pdl_search_interval(const opt_search *z, size_t candidate, opt_part part, size_t n,
                         double *low, double *high) {
    double *d = PDL_NEW_N(double, n + 1);
    for (size_t i = 0; i < n; i++)
        d[i] = fmin(1, fmax(-1, 2 * pdl_search_score(z, candidate, z->part[part].p[i]) - 1));
    pdl_eval_verdict_interval(d, n, low, high);
    *low = (*low + 1) / 2;
    *high = (*high + 1) / 2;
    pdl_free(d);
}

size_t pdl_search_common(const opt_search *z, const size_t *candidates, size_t n, opt_part part) {
    for (size_t i = 0; i < z->part[part].n; i++)
        for (size_t k = 0; k < n; k++)
            if (!pdl_search_knows(z, candidates[k], z->part[part].p[i])) return i;
    return z->part[part].n;
}

bool pdl_search_is_worse(const opt_search *z, size_t candidate, size_t than, size_t among) {
    size_t both[] = {candidate, than}, n = pdl_search_common(z, both, 2, OPT_VALIDATION);
    pdl_eval_bet b;
    if (candidate == than || among < 2) return false;
    /* A candidate is not worse when `than` is above --at-most, because `than` cannot win then. A
     * candidate that uses less is not worse, either, because it may be on the front. */
    const size_t *rows = z->part[OPT_VALIDATION].p;
    if (pdl_search_is_over(z, than, rows, n) || pdl_search_uses_more(z, than, candidate, rows, n))
        return false;
    pdl_eval_bet_begin(&b, 0, false);
    /* The bets are that `candidate` is below `than`. `than` was chosen because it seems to be the
     * best, and chance might have made each of the others seem so. So the level is divided by the
     * number of the others. */
    double enough = log(2 * (double)(among - 1) / PDL_VERDICT_LEVEL);
    for (size_t i = 0; i < n; i++) {
        size_t row = z->part[OPT_VALIDATION].p[i];
        double d = pdl_search_score(z, candidate, row) - pdl_search_score(z, than, row);
        pdl_eval_bet_take(&b, fmin(1, fmax(-1, d)));
        if (pdl_eval_bet_gain(&b) >= enough) return true;
    }
    return false;
}

void pdl_search_put_best(const opt_search *z, pdl_optimize_progress *p) {
    size_t one[] = {z->best}, n = pdl_search_common(z, one, 1, OPT_VALIDATION);
    if (!pdl_search_mean(z, z->best, OPT_VALIDATION, n, &p->best)) return;
    pdl_search_interval(z, z->best, OPT_VALIDATION, n, &p->low, &p->high);
}
