/* verdict.h -- which of two programs is better, decided as early as it is certain.
 *
 * Whoever reads a p-value after each row and stops when it is small is wrong far more often than it
 * says. Here each row is a bet against "the mean of the differences is at most m": a player who
 * stakes a share of what he has wins nothing in the mean while that is true, so his capital exceeds
 * 1 / a at any time, ever, with probability at most a (Ville). A bet that reaches that limit is
 * certain, however often it was read before. Source: Waudby-Smith and Ramdas, "Estimating means of
 * bounded random variables by betting", JRSS B 86 (2024). The best share depends on the unknown
 * mean, so the capital is spread evenly over six of them: with ten, from 0.02 on, simulated
 * comparisons needed 5 % more rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EVAL_VERDICT_H
#define PDL_EVAL_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    PDL_VERDICT_UNDECIDED,
    PDL_VERDICT_BETTER, /* the mean difference is above 0 */
    PDL_VERDICT_WORSE,  /* it is below 0 */
    PDL_VERDICT_SAME    /* it is between -D and D */
} pdl_verdict;

/* All verdicts together are wrong with probability at most this, whenever one stops. */
#define PDL_VERDICT_LEVEL 0.05

enum { PDL_VERDICT_STAKES = 6 };

/* Bets that the mean of the differences is above m, or below it. */
typedef struct pdl_eval_bet {
    double m;
    bool above;
    double log_capital[PDL_VERDICT_STAKES];
} pdl_eval_bet;
void pdl_eval_bet_begin(pdl_eval_bet *b, double m, bool above);
/* d: a difference, from -1 to 1. */
void pdl_eval_bet_take(pdl_eval_bet *b, double d);
/* Returns the logarithm of the capital, of 1 at the beginning. For a mean that is m, or on the
 * other side of m, it ever reaches log(1 / a) with probability at most a. */
double pdl_eval_bet_gain(const pdl_eval_bet *b);
/* Returns true when the bet is won at half the level. Then the mean is neither m nor on the other
 * side of m. */
bool pdl_eval_bet_is_won(const pdl_eval_bet *b);

typedef struct pdl_eval_verdict {
    pdl_verdict what;
    bool has_bound; /* D was given */
    pdl_eval_bet better, worse, not_above, not_below;
} pdl_eval_verdict;
/* bound: D, above 0 and below 1; with 0 the verdict is never "same". */
void pdl_eval_verdict_begin(pdl_eval_verdict *v, double bound);
/* Takes the next difference. Returns true when the verdict is there; later ones are ignored. */
bool pdl_eval_verdict_take(pdl_eval_verdict *v, double d);
/* Returns "better", "worse", "same" or "undecided". */
const char *pdl_eval_verdict_name(pdl_verdict v);

/* Gets the interval of the means that n differences leave possible at the level; -1 to 1 when n is
 * 0. */
void pdl_eval_verdict_interval(const double *d, size_t n, double *low, double *high);

#endif
