/* statistics.h -- conclusions about a program from a sample of questions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EVAL_STATISTICS_H
#define PDL_EVAL_STATISTICS_H

#include <stdint.h>

/* Computes Wilson's interval of 95 % for a share of `part` among n; 0 to 1 when n is 0. */
void pdl_eval_wilson(double part, double n, double *low, double *high);
/* Returns the chance that at least one of k samples is right when c of n samples were right: 1 -
 * C(n-c, k) / C(n, k). k <= n. */
double pdl_eval_pass(uint64_t n, uint64_t c, uint64_t k);
/* Returns the result of McNemar's exact test, two-sided: the chance of a difference at least as
 * large when neither program is better. a is the number of pairs that only the first program got
 * right, and b is the number that only the second got right. */
double pdl_eval_mcnemar(uint64_t a, uint64_t b);

#endif
