/* test_process_labels.c -- the labels of processes are consistent, and an inconsistent list is
 * detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy/policy_impl.h"

#include "t.h"

#include "base/banned.h"

static void test_ok(void **state) {
    (void)state;
    pdl_policies *p = pdl_policies_new(NULL);
    pdl_policy_memories *all = pdl_policy_memories_new(NULL);
    pdl_policy_memory *m = pdl_policy_memory_join(all, p);
    assert_true(pdl_policy_memory_ok(m));
    *pdl_vec_push(&m->processes) = (process_memory){.profiles = pdl_absent()};
    pdl_policy_process_learns(m, 0, 0, PDL_LABEL_model);
    assert_true(pdl_policy_memory_ok(m));
    m->in_objects = 0; /* objects are without the labels of a process */
    assert_false(pdl_policy_memory_ok(m));
    m->in_objects = PDL_LABEL_model;
    m->processes.p[0].number = 1; /* was given to no process */
    assert_false(pdl_policy_memory_ok(m));
    m->processes.p[0].number = 0;
    pdl_policy_memory_leave(m);
    pdl_policy_memories_free(all);
    pdl_policies_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ok)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
