/* test_fix.c -- edits get the line ends of their place in the file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/check.h"
#include "lang/load.h"

#include "t.h"

#include "base/banned.h"

/* Each # of the bytes becomes a line end and an x. */
static const struct {
    const char *bytes, *want;
} rows[] = {
    {"- #\n- b\n", "- \nx\n- b\n"},
    {"- #\r\n- b\r\n", "- \r\nx\r\n- b\r\n"},
    {"- a\r\n- #\r\n", "- a\r\n- \r\nx\r\n"},
    {"- a\r\n- b\n- #\n", "- a\r\n- b\n- \nx\n"},
    {"- a\n- b\r\n- #\r\n- c\n- #\n", "- a\n- b\r\n- \r\nx\r\n- c\n- \nx\n"},
    {"\xef\xbb\xbf- a\r\n- b\n- #", "\xef\xbb\xbf- a\r\n- b\n- \nx"},
};

/* The places of edits count bytes of a source without a mark, whose line ends are LF. */
static void test_line_ends(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_program *p = pdl_program_new();
        bool ok;
        pdl_program_load(p, PDL_STR("t.pdl"), PDL_STR("- a"), &ok);
        t_assert(ok);
        pdl_edit edits[4];
        pdl_diag diags[4] = {{0}};
        uint32_t n = 0, off = 0;
        for (const char *c = rows[i].bytes; *c; c++) {
            if (*c == '#') {
                edits[n] = (pdl_edit){{p->source, off, off + 1}, PDL_STR("\nx")};
                diags[n] = (pdl_diag){.fix_is_sure = true, .n_edits = 1, .edits = &edits[n]};
                *pdl_vec_push(&p->diags) = diags[n++];
            }
            off += *c != '\r' && (unsigned char)*c < 0x80;
        }
        pdl_buf out = PDL_BUF;
        assert_int_equal(pdl_program_fix(p, t_str(rows[i].bytes), &out), n);
        t_assert_str(pdl_buf_str(&out), rows[i].want);
        pdl_buf_fini(&out);
        pdl_program_drop(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_line_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
