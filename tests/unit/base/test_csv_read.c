/* test_csv_read.c -- cells of rows, as a lenient reader and a strict reader read them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/csv_read.h"

#include <string.h>

#include "t.h"

#include "base/banned.h"

/* What the cells of a text are, each with a | after it; where a strict reader stops: "!". */
static const struct {
    const char *text, *tolerant, *strict;
} rows[] = {
    {"", "|", "|"},
    {"a", "a|", "a|"},
    {"a,", "a||", "a||"},
    {",", "||", "||"},
    {"a,b c,", "a|b c||", "a|b c||"},
    {"\"a,b\",c", "a,b|c|", "a,b|c|"},
    {"\"a\"\"b\"", "a\"b|", "a\"b|"},
    {"\"\"", "|", "|"},
    {"\"\"\"\"", "\"|", "\"|"},
    {"\"a\nb\",c", "a\nb|c|", "a\nb|c|"},
    {"\"a\"b,c", "ab|c|", "a!"},
    {"\"a\" ,c", "a |c|", "a!"},
    {"\"a\"b\"c\"", "ab\"c\"|", "a!"},
    {"\"open", "open|", "open|"},
    {"\"", "|", "|"},
    {"a\"b\",c", "a\"b\"|c|", "a\"b\"|c|"},
    {"a\nb", "a|", "a\nb|"},
    {"a\rb", "a|", "a\rb|"},
};

static void put_cells(const char *text, bool strict, pdl_buf *out) {
    pdl_csv c = {.text = pdl_str_of(text), .separator = ',', .strict = strict, .cell = PDL_BUF};
    bool ok = true, more = true;
    while (ok && more) {
        pdl_str cell;
        ok = pdl_csv_cell(&c, &cell);
        pdl_buf_put(out, cell);
        pdl_buf_putc(out, ok ? '|' : '!');
        more = c.pos < c.text.n && c.text.p[c.pos] == ',';
        c.pos += more;
    }
    pdl_buf_fini(&c.cell);
}

static void test_cells(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int strict = 0; strict < 2; strict++) {
            pdl_buf b = PDL_BUF;
            put_cells(rows[i].text, strict, &b);
            assert_string_equal(pdl_buf_z(&b), strict ? rows[i].strict : rows[i].tolerant);
            pdl_buf_fini(&b);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cells)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
