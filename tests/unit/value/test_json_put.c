/* test_json_put.c -- members, and the commas between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/json_put.h"

#include <math.h>

#include "t.h"

#include "base/banned.h"

static void test_members(void **state) {
    (void)state;
    pdl_buf b = PDL_BUF;
    pdl_json_open(&b, '{');
    pdl_json_put_text(&b, "a\"b", PDL_STR("x\"\n"));
    pdl_json_put_int(&b, "n", INT64_MIN);
    pdl_json_put_bool(&b, "yes", true);
    pdl_json_put_value(&b, "none", pdl_null());
    pdl_json_put_value(&b, "nan", pdl_float(NAN));
    pdl_json_put_key(&b, "list");
    pdl_json_open(&b, '[');
    for (int i = 0; i < 2; i++) {
        pdl_json_open(&b, '{');
        pdl_json_put_int(&b, "i", i);
        pdl_buf_putc(&b, '}');
    }
    pdl_json_open(&b, '[');
    pdl_json_add_text(&b, PDL_STR("\""));
    pdl_json_add_text(&b, PDL_STR(""));
    PDL_PUT(&b, "]]");
    pdl_json_put_hex(&b, "hex", PDL_STR("\x00\xff\x1a"));
    pdl_json_put_key(&b, "set");
    pdl_json_open_kind(&b, "set");
    PDL_PUT(&b, "}}");
    assert_string_equal(pdl_buf_z(&b),
                        "{\"a\\\"b\":\"x\\\"\\n\",\"n\":-9223372036854775808,\"yes\":true,"
                        "\"none\":null,\"nan\":null,\"list\":[{\"i\":0},{\"i\":1},[\"\\\"\",\"\"]],"
                        "\"hex\":\"00ff1a\",\"set\":{\"$pdl\":\"set\"}}");
    pdl_buf_fini(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_members)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
