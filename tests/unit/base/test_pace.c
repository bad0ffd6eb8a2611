/* test_pace.c -- the waits that libpdl chooses itself are multiplied, and the switches of the
 * process are read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/debug.h"
#include "base/pace.h"
#include "t.h"

#include "base/banned.h"

static const struct {
    const char *stress;
    uint64_t ms, want;
} rows[] = {
    {"time:1", 0, 0},
    {"time:1", UINT64_MAX, UINT64_MAX},
    {"time:0", 0, 0},
    {"time:0", 60000, 1}, /* an interval never becomes nothing */
    {"time:0.02", 250, 5},
    {"time:0.02", 1, 1},
    {"time:2.5", 2, 5},
    {"time:1000", 86400000, 86400000000},
    {"time:1000", UINT64_MAX, 1000000000000000},
    {"sched:3, time:0.5", 10, 5},
};

static void multiplies_waits(void **state) {
    (void)state;
    char why[PDL_DEBUG_WHY];
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert(pdl_debug_init_process(rows[i].stress, why));
        t_assert(pdl_pace_ms(rows[i].ms) == rows[i].want);
    }
    pdl_pace_say(1);
}

static void names_what_is_wrong(void **state) {
    (void)state;
    static const char *const wrong[] = {"time:",    "time:x",  "time:-1",  "time:1001",
                                        "time:nan", "slots:0", "cancel:0", "time:0.5,nope"};
    char why[PDL_DEBUG_WHY];
    for (size_t i = 0; i < T_LEN(wrong); i++) {
        T_ROW(i);
        t_assert(!pdl_debug_init_process(wrong[i], why));
        t_assert(pdl_str_ends(pdl_str_of(why), PDL_STR("time:F, slots:N, cancel:N)")));
    }
    pdl_pace_say(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(multiplies_waits),
                                       cmocka_unit_test(names_what_is_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
