/* test_yaml_run.c -- runs of bytes end where the table of classes says, whatever byte they begin
 * at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/arena.h"
#include "yaml/run.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { LONGEST = 40 }; /* two steps and a half */

/* n letters, then c, then letters up to LONGEST, then NULs. */
static const char *text_with(size_t n, int c) {
    static char text[LONGEST + PDL_YRUN_STEP];
    memset(text, 'a', LONGEST);
    memset(text + LONGEST, 0, PDL_YRUN_STEP);
    text[n] = (char)c;
    return text;
}

static const char *by_table(const char *p, int set) {
    while (!pdl_yis(*p, set)) p++;
    return p;
}

static void test_sets(void **state) {
    (void)state;
    static const int sets[] = {PDL_YC_END, PDL_YC_BLOCK, PDL_YC_FLOW, PDL_YC_SINGLE, PDL_YC_DOUBLE};
    for (size_t n = 0; n < LONGEST; n++)
        for (int c = 0; c < 256; c++) {
            T_ROW(n * 1000 + (size_t)c);
            const char *text = text_with(n, c);
            for (size_t k = 0; k < T_LEN(sets); k++)
                t_assert(pdl_yrun(text, sets[k]) == by_table(text, sets[k]));
            t_assert(pdl_yrun_ascii(text, text + LONGEST) == text + (c < 0x80 ? LONGEST : n));
            t_assert(pdl_yis_simple((pdl_str){text, LONGEST}) ==
                     ((c >= 0x20 && c < 0x7f) || c == '\n'));
        }
}

static void test_spaces(void **state) {
    (void)state;
    char text[LONGEST + PDL_YRUN_STEP] = {0};
    for (size_t n = 0; n <= LONGEST; n++) {
        T_ROW(n);
        t_assert(pdl_yrun_spaces(text) == text + n);
        text[n] = ' ';
    }
}

static void test_line_ends(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t end;
    } rows[] = {{"", 0},
                {"\n", 0},
                {"a\tb\n", 3},
                {"\xc2\xa0 \xe2\x82\xac\n", 6},
                {"a\xc2\x85\n", 1},
                {"a\xe2\x80\xa8", 1},
                {"a\xe2\x80\xa7", 4},
                {"\x01\n", 1}};
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        char text[LONGEST] = {0};
        memcpy(text, rows[i].text, strlen(rows[i].text));
        t_assert(pdl_yline_end(text) == text + rows[i].end);
    }
}

/* Does `"KEY": x` load, where KEY is n times a letter? */
static bool loads(const char *letter, size_t n) {
    pdl_arena *a = pdl_arena_make();
    pdl_buf b = PDL_BUF;
    pdl_source *src;
    const pdl_node *root;
    pdl_err err = {0};
    PDL_PUT(&b, "\xc3\xa9: 1\n\""); /* a line before that is not ASCII, too */
    for (size_t i = 0; i < n; i++) pdl_buf_put(&b, t_str(letter));
    PDL_PUT(&b, "\": x\n");
    bool ok = pdl_yaml_source(a, t_str("t.pdl"), pdl_buf_str(&b), &src, &err) &&
              pdl_yaml_load(a, src, &root, &err);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_arena_free(a);
    return ok;
}

/* A key has at most 1024 characters, whatever their bytes; two are quotes. */
static void test_long_keys(void **state) {
    (void)state;
    static const char *const letters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < T_LEN(letters); i++) {
        T_ROW(i);
        t_assert(loads(letters[i], 1022));
        t_assert(!loads(letters[i], 1023));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_long_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
