/* statistics.c -- three formulas of statistics: Wilson's interval, pass@k and McNemar's test; see
 * statistics.h. They are in a separate file, because they need nothing of an evaluation and can be
 * tested alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "eval/statistics.h"

#include <math.h>

#include "base/banned.h"

static const double z = 1.959963984540054; /* the quantile 0.975 of the normal distribution */

void pdl_eval_wilson(double part, double n, double *low, double *high) {
    *low = 0;
    *high = 1;
    if (!(n > 0)) return;
    double center = part + z * z / (2 * n), scale = 1 + z * z / n,
           half = z * sqrt(part * (1 - part) / n + z * z / (4 * n * n));
    *low = fmax(0, (center - half) / scale);
    *high = fmin(1, (center + half) / scale);
}

/* Computes the chance as a product, because the binomials do not fit into a double. */
double pdl_eval_pass(uint64_t n, uint64_t c, uint64_t k) {
    double none = 1;
    if (n - c < k) return 1;
    for (uint64_t i = n - c + 1; i <= n; i++) none *= 1 - (double)k / (double)i;
    return 1 - none;
}

double pdl_eval_mcnemar(uint64_t a, uint64_t b) {
    uint64_t n = a + b, least = a < b ? a : b;
    double sum = 0;
    if (!n) return 1;
    for (uint64_t i = 0; i <= least; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) -
                   (double)n * log(2));
    return fmin(1, 2 * sum);
}
