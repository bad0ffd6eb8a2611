/* comparison.c -- decides by bets which of two programs is better; see comparison.h. Capitals are
 * stored as logarithms, since they grow exponentially.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "eval/comparison.h"

#include <assert.h>
#include <math.h>

#include "base/banned.h"

/* The stakes, as shares of the largest stake that cannot ruin the player. Small stakes win when the
 * difference of the programs is small. */
static const double stakes[PDL_VERDICT_STAKES] = {0.05, 0.1, 0.2, 0.35, 0.55, 0.8};

void pdl_eval_bet_begin(pdl_eval_bet *b, double m, bool above) {
    assert(m > -1 && m < 1);
    *b = (pdl_eval_bet){.m = m, .above = above};
}

void pdl_eval_bet_take(pdl_eval_bet *b, double d) {
    assert(d >= -1 && d <= 1);
    double gain = b->above ? (d - b->m) / (1 + b->m) : (b->m - d) / (1 - b->m);
    for (size_t i = 0; i < PDL_VERDICT_STAKES; i++) b->log_capital[i] += log1p(stakes[i] * gain);
}

/* The capital is the mean of the capitals of all stakes. */
double pdl_eval_bet_gain(const pdl_eval_bet *b) {
    double most = b->log_capital[0], sum = 0;
    for (size_t i = 1; i < PDL_VERDICT_STAKES; i++) most = fmax(most, b->log_capital[i]);
    for (size_t i = 0; i < PDL_VERDICT_STAKES; i++) sum += exp(b->log_capital[i] - most);
    return most + log(sum / PDL_VERDICT_STAKES);
}

bool pdl_eval_bet_is_won(const pdl_eval_bet *b) {
    return pdl_eval_bet_gain(b) >= log(2 / PDL_VERDICT_LEVEL);
}

void pdl_eval_verdict_begin(pdl_eval_verdict *v, double bound) {
    assert(bound >= 0 && bound < 1);
    *v = (pdl_eval_verdict){.has_bound = bound > 0};
    pdl_eval_bet_begin(&v->better, 0, true);
    pdl_eval_bet_begin(&v->worse, 0, false);
    pdl_eval_bet_begin(&v->not_above, bound, false);
    pdl_eval_bet_begin(&v->not_below, -bound, true);
}

bool pdl_eval_verdict_take(pdl_eval_verdict *v, double d) {
    if (v->what != PDL_VERDICT_UNDECIDED) return true;
    pdl_eval_bet_take(&v->better, d);
    pdl_eval_bet_take(&v->worse, d);
    if (v->has_bound) {
        pdl_eval_bet_take(&v->not_above, d);
        pdl_eval_bet_take(&v->not_below, d);
    }
    if (pdl_eval_bet_is_won(&v->better))
        v->what = PDL_VERDICT_BETTER;
    else if (pdl_eval_bet_is_won(&v->worse))
        v->what = PDL_VERDICT_WORSE;
    else if (v->has_bound && pdl_eval_bet_is_won(&v->not_above) &&
             pdl_eval_bet_is_won(&v->not_below))
        v->what = PDL_VERDICT_SAME;
    return v->what != PDL_VERDICT_UNDECIDED;
}

const char *pdl_eval_verdict_name(pdl_verdict v) {
    switch (v) {
    case PDL_VERDICT_BETTER: return "better";
    case PDL_VERDICT_WORSE: return "worse";
    case PDL_VERDICT_SAME: return "same";
    case PDL_VERDICT_UNDECIDED: break;
    }
    return "undecided";
}

static bool is_out(const double *d, size_t n, double m, bool above) {
    pdl_eval_bet b;
    pdl_eval_bet_begin(&b, m, above);
    for (size_t i = 0; i < n; i++) pdl_eval_bet_take(&b, d[i]);
    return pdl_eval_bet_is_won(&b);
}

/* Finds by bisection the border of the values that the bets exclude. `out` is an excluded value,
 * and `in` is not excluded. The capital falls with m, so there is only one border. */
static double border(const double *d, size_t n, double out, double in, bool above) {
    enum { STEPS = 24 };
    for (int i = 0; i < STEPS; i++) {
        double m = (out + in) / 2;
        if (is_out(d, n, m, above))
            out = m;
        else
            in = m;
    }
    return in;
}

void pdl_eval_verdict_interval(const double *d, size_t n, double *low, double *high) {
    static const double end = 0.999999;
    double mean = 0;
    for (size_t i = 0; i < n; i++) mean += d[i] / (double)n;
    *low = n && is_out(d, n, -end, true) ? border(d, n, -end, fmin(mean, end), true) : -1;
    *high = n && is_out(d, n, end, false) ? border(d, n, end, fmax(mean, -end), false) : 1;
}
