/* test_comparison.c -- verdicts on simulated evaluations: how often they are wrong, and how many
 * rows they need.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/rand.h"
#include "eval/comparison.h"
#include "t.h"

#include "base/banned.h"

/* Draws the difference of a row: only the first program right, only the second, or both alike. */
static double draw(pdl_rand *r, double first, double second) {
    double u = pdl_rand_double(r);
    return u < first ? 1 : u < first + second ? -1 : 0;
}

static pdl_verdict simulate(pdl_rand *r, double first, double second, double bound, size_t most,
                            size_t *rows) {
    pdl_eval_verdict v;
    pdl_eval_verdict_begin(&v, bound);
    *rows = 0;
    while (*rows < most) {
        ++*rows;
        if (pdl_eval_verdict_take(&v, draw(r, first, second))) break;
    }
    return v.what;
}

/* The rows of McNemar's test of a fixed size with level 0.05 and power 0.95 (Connor 1987). */
static double fixed_size(double first, double second) {
    double d = first - second, s = first + second;
    double x = 1.959964 * sqrt(s) + 1.644854 * sqrt(s - d * d);
    return x * x / (d * d);
}

/* Programs without a difference are told apart in at most one of twenty evaluations. */
static void equal_programs(void **state) {
    (void)state;
    enum { RUNS = 2500, MAX_ROWS = 800 };
    static const double discordant[] = {0.02, 0.1, 0.3, 0.5};
    pdl_rand r;
    size_t rows, wrong = 0;
    pdl_rand_seed(&r, 1);
    for (size_t i = 0; i < T_LEN(discordant); i++) {
        size_t here = 0;
        for (int n = 0; n < RUNS; n++)
            here += simulate(&r, discordant[i], discordant[i], 0, MAX_ROWS, &rows) !=
                    PDL_VERDICT_UNDECIDED;
        T_ROW(i);
        t_assert(here <= RUNS / 20);
        wrong += here;
    }
    t_assert(wrong <= T_LEN(discordant) * RUNS / 20);
    t_assert(wrong > 0); /* the level is used */
}

static const double planted[][2] = {{0.15, 0.05}, {0.2, 0.1},   {0.12, 0.06}, {0.3, 0.1},
                                    {0.1, 0.02},  {0.25, 0.15}, {0.4, 0.2},   {0.06, 0.02}};

/* Planted differences are found, mostly with fewer rows than a test of a fixed size takes. */
static void planted_differences(void **state) {
    (void)state;
    enum { RUNS = 200, TIMES = 20 };
    double share = 0, twice = 0;
    pdl_rand r;
    pdl_rand_seed(&r, 2);
    for (size_t i = 0; i < T_LEN(planted); i++) {
        double p = planted[i][0], q = planted[i][1], n = fixed_size(p, q), d = p - q;
        double low = fmax(q - d / 2, 0), high = low + 2 * d;
        size_t rows, right = 0;
        for (int k = 0; k < RUNS; k++) {
            right += simulate(&r, p, q, 0, (size_t)n * TIMES, &rows) == PDL_VERDICT_BETTER;
            share += (double)rows / n / RUNS;
            (void)simulate(&r, high, low, 0, (size_t)n * TIMES, &rows);
            twice += (double)rows / n / RUNS;
        }
        T_ROW(i);
        t_assert(right >= RUNS * 95 / 100);
    }
    t_assert(share / T_LEN(planted) <= 0.85);
    t_assert(twice / T_LEN(planted) <= 1.0 / 3);
}

/* "No difference above D" is said of equal programs, and hardly ever of ones that differ by D. */
static void bounds(void **state) {
    (void)state;
    enum { RUNS = 300 };
    pdl_rand r;
    size_t rows, same = 0, wrong = 0;
    pdl_rand_seed(&r, 3);
    for (int i = 0; i < RUNS; i++) {
        same += simulate(&r, 0.05, 0.05, 0.1, 3000, &rows) == PDL_VERDICT_SAME;
        pdl_verdict v = simulate(&r, 0.15, 0.05, 0.1, 3000, &rows);
        wrong += v == PDL_VERDICT_SAME || v == PDL_VERDICT_WORSE;
    }
    t_assert(same >= RUNS * 90 / 100);
    t_assert(wrong <= RUNS / 20);
}

/* The interval holds the true mean at all of many moments, in nineteen of twenty evaluations. */
static void intervals(void **state) {
    (void)state;
    enum { RUNS = 200, MAX_ROWS = 160, STEP = 40 };
    pdl_rand r;
    size_t missed = 0;
    double d[MAX_ROWS], low, high;
    pdl_rand_seed(&r, 4);
    for (int k = 0; k < RUNS; k++) {
        bool out = false;
        for (size_t i = 0; i < MAX_ROWS; i++) {
            d[i] = draw(&r, 0.3, 0.1);
            if ((i + 1) % STEP) continue;
            pdl_eval_verdict_interval(d, i + 1, &low, &high);
            t_assert(low >= -1 && high <= 1 && low < high);
            out = out || low > 0.2 || high < 0.2;
        }
        missed += out;
    }
    t_assert(missed <= RUNS / 20);
    pdl_eval_verdict_interval(d, 0, &low, &high);
    t_assert(low == -1 && high == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_programs),
        cmocka_unit_test(planted_differences),
        cmocka_unit_test(bounds),
        cmocka_unit_test(intervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
