/* test_statistics.c -- compares intervals, pass@k and McNemar's test with numbers from the
 * formulas.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "eval/statistics.h"
#include "t.h"

#include "base/banned.h"

static bool near(double a, double b) { return fabs(a - b) < 1e-6; }

static void intervals(void **state) {
    (void)state;
    static const struct {
        double part, n, low, high;
    } rows[] = {
        {0, 0, 0, 1},
        {0, 1, 0, 0.793451},
        {1, 1, 0.206549, 1},
        {0.5, 10, 0.236593, 0.763407},
        {0.8, 20, 0.583983, 0.919342},
        {1, 1000, 0.996173, 1},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        double low, high;
        pdl_eval_wilson(rows[i].part, rows[i].n, &low, &high);
        t_assert(near(low, rows[i].low) && near(high, rows[i].high));
    }
}

static void pass_at_k(void **state) {
    (void)state;
    static const struct {
        uint64_t n, c, k;
        double pass;
    } rows[] = {
        {1, 0, 1, 0}, {1, 1, 1, 1},         {5, 2, 1, 0.4},     {5, 2, 2, 0.7},      {5, 2, 4, 1},
        {5, 0, 5, 0}, {10, 3, 3, 0.708333}, {200, 1, 100, 0.5}, {10000, 1, 1, 1e-4},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert(near(pdl_eval_pass(rows[i].n, rows[i].c, rows[i].k), rows[i].pass));
    }
}

static void mcnemar(void **state) {
    (void)state;
    static const struct {
        uint64_t a, b;
        double p;
    } rows[] = {
        {0, 0, 1},         {1, 0, 1},     {5, 5, 1}, {6, 0, 0.03125}, {0, 16, 0.000030517578},
        {3, 12, 0.035156}, {500, 500, 1},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert(near(pdl_eval_mcnemar(rows[i].a, rows[i].b), rows[i].p));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals),
        cmocka_unit_test(pass_at_k),
        cmocka_unit_test(mcnemar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
