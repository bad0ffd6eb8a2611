/* test_lsp_index.c -- contradictory states are detected in texts and in indexes of files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/index.h"

#include "t.h"

#include "base/banned.h"

static void test_text(void **state) {
    (void)state;
    lsp_text t = {0};
    assert_true(pdl_lsp_text_ok(&t));
    pdl_lsp_text_set(&t, PDL_STR("a\nb"));
    assert_true(pdl_lsp_text_ok(&t));
    t.lines.p[1] = 4; /* beyond the end */
    assert_false(pdl_lsp_text_ok(&t));
    t.lines.p[1] = 2;
    t.units.n = 0; /* without the mark of its first byte */
    assert_false(pdl_lsp_text_ok(&t));
    t.units.n = 1;
    pdl_lsp_text_fini(&t);
    assert_true(pdl_lsp_text_ok(&t));
}

static void test_index(void **state) {
    (void)state;
    lsp_text t = {0};
    lsp_tree none = {0};
    pdl_lsp_text_set(&t, PDL_STR(""));
    lsp_index *x = pdl_lsp_index_make(&none, &t);
    assert_true(pdl_lsp_index_ok(x));
    *pdl_vec_push(&x->regions) = (lsp_region){.up = 1}; /* inside itself */
    assert_false(pdl_lsp_index_ok(x));
    x->regions.p[1].up = 0;
    assert_true(pdl_lsp_index_ok(x));
    x->regions.p[1].sym = 1; /* there is no symbol */
    assert_false(pdl_lsp_index_ok(x));
    *pdl_vec_push(&x->syms) = (lsp_sym){.region = 1, .body = 2};
    assert_false(pdl_lsp_index_ok(x)); /* there is no such body */
    x->syms.p[0].body = 1;
    assert_true(pdl_lsp_index_ok(x));
    pdl_lsp_index_free(x);
    pdl_lsp_text_fini(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
