/* comparison.h -- decides which of two programs is better, as early as that is certain.
 *
 * A person who reads a p-value after each row, and stops when it is small, is wrong far more often
 * than the p-value says. So each row is a bet against the hypothesis "the mean of the differences
 * is at most m". A player who stakes a share of the capital wins nothing on average while the
 * hypothesis is true. So the probability that the capital ever exceeds 1 / a is at most a (Ville).
 * A bet that reaches this limit is decided, however often it was examined before. Source:
 * Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86
 * (2024). The best share depends on the unknown mean, so the capital is divided evenly among six
 * shares. With ten shares, from 0.02 on, simulated comparisons needed 5 % more rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EVAL_COMPARISON_H
#define PDL_EVAL_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    PDL_VERDICT_UNDECIDED,
    PDL_VERDICT_BETTER, /* the mean difference is above 0 */
    PDL_VERDICT_WORSE,  /* the mean difference is below 0 */
    PDL_VERDICT_SAME    /* the mean difference is between -D and D */
} pdl_verdict;

/* Upper bound of the probability that any of the verdicts is wrong, whenever the comparison
 * stops. */
#define PDL_VERDICT_LEVEL 0.05

enum { PDL_VERDICT_STAKES = 6 };

/* Bets that the mean of the differences is above m, or below it. */
typedef struct pdl_eval_bet {
    double m;
    bool above;
    double log_capital[PDL_VERDICT_STAKES];
} pdl_eval_bet;
void pdl_eval_bet_begin(pdl_eval_bet *b, double m, bool above);
/* Bets on one row, whose difference is d, from -1 to 1. */
void pdl_eval_bet_take(pdl_eval_bet *b, double d);
/* Returns the logarithm of the capital, which is 1 at the beginning. When the true mean is m, or on
 * the side of m that the bet has not chosen, the capital ever reaches 1 / a with probability at
 * most a. */
double pdl_eval_bet_gain(const pdl_eval_bet *b);
/* Returns true when the bet is won at half of PDL_VERDICT_LEVEL. The true mean is then almost
 * certainly on the side of m that the bet has chosen. */
bool pdl_eval_bet_is_won(const pdl_eval_bet *b);

typedef struct pdl_eval_verdict {
    pdl_verdict what;
    bool has_bound; /* a bound D was given */
    pdl_eval_bet better, worse, not_above, not_below;
} pdl_eval_verdict;
/* Begins a comparison. bound is D, at least 0 and below 1. With 0 the verdict is never
 * "same". */
void pdl_eval_verdict_begin(pdl_eval_verdict *v, double bound);
/* Takes the next difference. Returns true when the verdict is known; later differences
 * are ignored. */
bool pdl_eval_verdict_take(pdl_eval_verdict *v, double d);
/* Returns "better", "worse", "same" or "undecided". */
const char *pdl_eval_verdict_name(pdl_verdict v);

/* Stores the confidence interval of the mean of n differences, at the level of the verdict; -1 to 1
 * when n is 0. */
void pdl_eval_verdict_interval(const double *d, size_t n, double *low, double *high);

#endif
