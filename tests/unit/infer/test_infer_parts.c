/* test_infer_parts.c -- contradictory states of particles and distributions are detected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "infer/distribution.h"

#include "t.h"

#include "base/banned.h"

static void test_particle(void **state) {
    (void)state;
    pdl_err err = {0};
    particle q = {.result = pdl_absent()};
    assert_true(pdl_particle_ok(&q));
    q.state = PARTICLE_DONE; /* without a result */
    assert_false(pdl_particle_ok(&q));
    q.result = pdl_int(1);
    assert_true(pdl_particle_ok(&q));
    q.state = PARTICLE_HELD; /* has a result before it is done */
    assert_false(pdl_particle_ok(&q));
    q.state = PARTICLE_DONE;
    q.err = &err; /* of one that did not fail */
    assert_false(pdl_particle_ok(&q));
}

static void test_distribution(void **state) {
    (void)state;
    distribution d = {0};
    assert_true(pdl_distribution_ok(&d));
    *pdl_vec_push(&d.which) = 0; /* without a value and a weight */
    assert_false(pdl_distribution_ok(&d));
    *pdl_vec_push(&d.logits) = 0;
    assert_false(pdl_distribution_ok(&d));
    *pdl_vec_push(&d.values) = (distinct){pdl_int(1), 0};
    *pdl_vec_push(&d.keys) = pdl_str_dup(PDL_STR("1"));
    assert_false(pdl_distribution_ok(&d)); /* the value cannot be found */
    (void)pdl_map_put(&d.index, pdl_str_of(d.keys.p[0]), &d);
    assert_true(pdl_distribution_ok(&d));
    pdl_distribution_fini(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_particle),
        cmocka_unit_test(test_distribution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
