/* test_termsafe.c -- the form in which a terminal gets untrusted text, and in which a file gets it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <stdio.h>

#include "base/termsafe.h"

#include "base/banned.h"

static void pictures(void **state) {
    (void)state;
    const struct {
        pdl_str text;
        const char *shown;
    } rows[] = {
        {PDL_STR(""), ""},
        {PDL_STR("plain\n\ttext\r\n"), "plain\n\ttext\r\n"},
        {PDL_STR("\033[31mred"), "\xe2\x90\x9b[31mred"},
        {PDL_STR("a\0b"), "a\xe2\x90\x80"
                          "b"},
        {PDL_STR("\x7f"), "\xe2\x90\xa1"},
        {PDL_STR("a\rb"), "a\xe2\x90\x8d"
                          "b"},
        {PDL_STR("end\r"), "end\xe2\x90\x8d"},
        {PDL_STR("\xc2\x9b"
                 "2J"),
         "\xef\xbf\xbd"
         "2J"},
        {PDL_STR("\xc2\xa0\xc3\x9b"), "\xc2\xa0\xc3\x9b"},
        {PDL_STR("\xe2\x80\xae"
                 "a"),
         "\xef\xbf\xbd"
         "a"},
        {PDL_STR("\xe2\x81\xa6\xe2\x81\xaa"), "\xef\xbf\xbd\xe2\x81\xaa"},
        {PDL_STR("\xe2\x80\x8f\xe2\x80"), "\xe2\x80\x8f\xe2\x80"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_buf b = PDL_BUF;
        T_ROW(i);
        pdl_buf_put_shown(&b, rows[i].text);
        t_assert_str(pdl_buf_str(&b), rows[i].shown);
        pdl_buf_fini(&b);
    }
}

static void files_get_the_bytes(void **state) {
    (void)state;
    pdl_str text = PDL_STR("\033[31m\0\xc2\x9b\r\x7f");
    char got[32];
    FILE *f = tmpfile();
    t_assert(f && !pdl_file_is_terminal(f) && pdl_write_termsafe(f, text) &&
             pdl_write_termsafe(f, PDL_STR("")));
    rewind(f);
    t_assert(fread(got, 1, sizeof got, f) == text.n && memcmp(got, text.p, text.n) == 0);
    fclose(f);
    f = fopen("/dev/full", "w");
    t_assert(f && setvbuf(f, NULL, _IONBF, 0) == 0 && !pdl_write_termsafe(f, text));
    fclose(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pictures),
                                       cmocka_unit_test(files_get_the_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
