/* test_field_words.c -- lang/field_words.def: a program that has one of the words, in the place of
 * its group, loads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "lang/field_words.h"
#include "lang/load.h"

static const struct {
    pdl_word_group group;
    const char *text; /* @ is the word */
} rows[] = {
    {PDL_WORDS_ROLE, "{text: a, role: @}"},
    {PDL_WORDS_LANG, "{code: a, lang: @}"},
    {PDL_WORDS_PLATFORM, "{model: m, processor: p, platform: @}"},
    {PDL_WORDS_PARSER, "{text: a, parser: @}"},
    {PDL_WORDS_REGEX_MODE, "{text: a, parser: {regex: a, mode: @}}"},
    {PDL_WORDS_JOIN_AS, "{repeat: a, join: {as: @, reduce: f}}"},
    {PDL_WORDS_TARGET, "{text: a, contribute: [@]}"},
    {PDL_WORDS_CONTEXT, "{text: a, context: @}"},
    {PDL_WORDS_TYPE, "{text: a, spec: @}"},
    {PDL_WORDS_AGGREGATOR, "{aggregator: @}"},
    {PDL_WORDS_FLAG, "{data: a, raw: @}"},
};

/* Does the program load, or is all that is wrong about fields of other forms of the kind? */
static bool loads(pdl_str text, pdl_buf *problems) {
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, PDL_STR(""), text, &ok);
    for (size_t i = 0; i < p->diags.n; i++) {
        const char *code = p->diags.p[i].code;
        if (strcmp(code, "field-unknown") == 0 && strstr(p->diags.p[i].text.p, "processor"))
            continue;
        if (strcmp(code, "field-unknown") == 0 && strstr(p->diags.p[i].text.p, "model")) continue;
        if (strcmp(code, "field-unknown") == 0 && strstr(p->diags.p[i].text.p, "reduce")) continue;
        pdl_buf_putf(problems, "%.*s\n", PDL_FMT(p->diags.p[i].text));
    }
    pdl_program_drop(p);
    return problems->len == 0;
}

static void every_word_is_accepted(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n;
        const pdl_word *w = pdl_words_of(rows[i].group, &n);
        assert_true(n > 0);
        for (size_t k = 0; k < n; k++) {
            pdl_buf text = PDL_BUF, problems = PDL_BUF;
            const char *at = strchr(rows[i].text, '@');
            pdl_buf_putf(&text, "%.*s%s%s", (int)(at - rows[i].text), rows[i].text, w[k].word,
                         at + 1);
            if (!loads(pdl_buf_str(&text), &problems))
                fail_msg("%s: %s", pdl_buf_z(&text), pdl_buf_z(&problems));
            pdl_buf_fini(&text);
            pdl_buf_fini(&problems);
        }
    }
}

static void words_are_found_in_their_group(void **state) {
    (void)state;
    size_t n;
    assert_non_null(pdl_word_find(PDL_WORDS_JOIN, PDL_STR("with")));
    assert_null(pdl_word_find(PDL_WORDS_JOIN_AS, PDL_STR("with")));
    pdl_words_of(PDL_WORDS_NONE, &n);
    assert_int_equal(n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_accepted),
        cmocka_unit_test(words_are_found_in_their_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
