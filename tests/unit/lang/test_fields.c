/* test_fields.c -- the tables of fields.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/block.h"

#include "t.h"

#include "base/banned.h"

/* Which key is a field of which kind. */
static const struct {
    pdl_block_kind kind;
    const char *key;
    bool found;
} rows[] = {
    {PDL_BLOCK_text, "text", true},     {PDL_BLOCK_text, "context", true},
    {PDL_BLOCK_data, "context", false}, {PDL_BLOCK_data, "data", true},
    {PDL_BLOCK_data, "def", true},      {PDL_BLOCK_data, "def_", true},
    {PDL_BLOCK_data, "", false},        {PDL_BLOCK_scalar, "", false},
    {PDL_BLOCK_scalar, "def", false},   {PDL_BLOCK_if, "else_", true},
    {PDL_BLOCK_if, "elif", false},      {PDL_BLOCK_repeat, "num_iterations", true},
    {PDL_BLOCK_map, "while", false},    {PDL_BLOCK_empty, "defs", true},
    {PDL_BLOCK_empty, "text", false},
};

static void fields_of_kinds(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        t_assert((pdl_field_find(rows[i].kind, t_str(rows[i].key)) != NULL) == rows[i].found);
    }
}

static void names_of_kinds(void **state) {
    (void)state;
    pdl_block_kind k;
    for (int i = 0; i < PDL_BLOCK_COUNT; i++) {
        T_ROW((size_t)i);
        bool found = pdl_block_kind_find(t_str(pdl_block_name((pdl_block_kind)i)), &k);
        t_assert(found == (i != PDL_BLOCK_scalar));
        t_assert(!found || k == (pdl_block_kind)i);
        t_assert(pdl_block_doc((pdl_block_kind)i)[0] != 0);
    }
    assert_string_equal(pdl_block_trace_name(PDL_BLOCK_scalar), "data");
    assert_true(pdl_block_is_structured(PDL_BLOCK_import));
    assert_false(pdl_block_is_structured(PDL_BLOCK_function));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_kinds),
        cmocka_unit_test(names_of_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
