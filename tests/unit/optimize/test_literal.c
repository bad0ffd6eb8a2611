/* test_literal.c -- literals of programs: their places, how values are written there, and which
 * expressions of a proposal stay expressions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/literal.h"

#include "t.h"
#include "value/json_read.h"
#include "yaml/yaml.h"

#include "base/banned.h"

static const pdl_ytree *tree_of(pdl_arena *a, const char *text) {
    pdl_source *src;
    pdl_err err = {0};
    assert_true(pdl_yaml_source(a, PDL_STR("p.pdl"), pdl_str_of(text), &src, &err));
    return pdl_ytree_read(a, src);
}

/* X(program, place, value as JSON, the program afterwards) */
static const struct {
    const char *program, *place, *value, *after;
} edits[] = {
    {"text: a\n", "text", "\"b\"", "text: b\n"},
    {"text: a # why\n", "text", "\"b\"", "text: b # why\n"},
    {"text: a # why\n", "text", "\"b\\nc\"", "text: \"b\\nc\" # why\n"},
    {"text: a\nrole: user\n", "text", "\"b\\nc\"", "text: |-\n  b\n  c\nrole: user\n"},
    {"text:\n- a\n- x: 1\n  input: q\n", "text.1.input", "\"one\\n\\ntwo\\n\"",
     "text:\n- a\n- x: 1\n  input: |\n    one\n\n    two\n"},
    {"text: |-\n  a\n  b\n# end\nrole: user\n", "text", "\"c\"", "text: c\n# end\nrole: user\n"},
    {"text: | # why\n  a\nrole: user\n", "text", "\"c\\nd\"",
     "text: |- # why\n  c\n  d\nrole: user\n"},
    {"{text: [a, b], role: user}\n", "text[1]", "\"c\\nd\"",
     "{text: [a, \"c\\nd\"], role: user}\n"},
    {"text: a\n", "text", "\"12\"", "text: '12'\n"},
    {"text: a\n", "text", "\"- x: y # z\"", "text: '- x: y # z'\n"},
    {"text: a\n", "text", "\"\"", "text: ''\n"},
    {"text: 'it''s'\n", "text", "\"ä {b\"", "text: ä {b\n"},
    {"a:\n  n: 0.5 # hot\n", "a.n", "0.25", "a:\n  n: 0.25 # hot\n"},
    {"a:\n  x:\nb: 1\n", "a.x", "\"v\"", "a:\n  x: v\nb: 1\n"},
    {"parameters: {stop: a}\n", "parameters.stop", "[\"a\", \"b\"]",
     "parameters: {stop: [\"a\", \"b\"]}\n"},
    {"text: a\n", "text", "[1, 2]", "text: {data: [1, 2]}\n"},
    {"data: [a, b]\nraw: true\n", "data.0", "{\"a\": \"${ x }\"}",
     "data: [{\"a\": \"${ x }\"}, b]\nraw: true\n"},
};

static void values_are_written_in_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        pdl_arena *a = pdl_arena_make();
        pdl_err err = {0};
        pdl_buf out = PDL_BUF;
        pdl_val v;
        const pdl_ytree *t = tree_of(a, edits[i].program);
        opt_edit e = {.value = pdl_absent()};
        assert_true(pdl_literal_find(t, pdl_str_of(edits[i].place), &e.literal, &err));
        assert_true(pdl_json_read(pdl_str_of(edits[i].value), 0, &v, NULL, &err));
        e.value = v;
        assert_true(pdl_literal_replace(t, &e, 1, &out, &err));
        assert_string_equal(pdl_buf_z(&out), edits[i].after);
        /* what is written is read as what was meant */
        opt_literal again;
        const pdl_ytree *u = tree_of(a, pdl_buf_z(&out));
        if (pdl_literal_find(u, pdl_str_of(edits[i].place), &again, &err)) {
            pdl_val back = pdl_literal_value(u, &again);
            assert_true(pdl_val_eq(back, v));
            pdl_drop(back);
        }
        pdl_err_fini(&err);
        pdl_drop(v);
        pdl_buf_fini(&out);
        pdl_arena_free(a);
    }
}

static const struct {
    const char *place, *message, *hint;
} no_places[] = {
    {"tetx", "the program has no place 'tetx'", "did you mean 'text'?"},
    {"text.7", "the program has no place 'text.7'", "that list has 2 items, counted from 0"},
    {"text", "the place 'text' has no literal: a list or a mapping is there", NULL},
    {"text.0.x", "the program has no place 'text.0.x'",
     "did you mean 'text.0'? a literal is there"},
    {"txet.1", "the program has no place 'txet.1'", "did you mean 'text.1'?"},
    {"[txet][1]", "the program has no place '[txet][1]'", "did you mean 'text[1]'?"},
    {"txet.1.x", "the program has no place 'txet.1.x'", "did you mean 'text'?"},
    {"", "the place '' has no literal: a list or a mapping is there", NULL},
};

static void places_that_are_not_there(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    const pdl_ytree *t = tree_of(a, "text:\n- a\n- b\n");
    for (size_t i = 0; i < sizeof no_places / sizeof *no_places; i++) {
        pdl_err err = {0};
        opt_literal l;
        assert_false(pdl_literal_find(t, pdl_str_of(no_places[i].place), &l, &err));
        assert_int_equal(err.kind, PDL_E_usage);
        assert_string_equal(err.msg, no_places[i].message);
        if (no_places[i].hint)
            assert_string_equal(err.hint, no_places[i].hint);
        else
            assert_null(err.hint);
        pdl_err_fini(&err);
    }
    pdl_arena_free(a);
}

static const struct {
    const char *old, *proposal, *written; /* written NULL: it is refused */
} proposals[] = {
    {"Say ${ x }.", "Shout ${ x }!", "Shout ${ x }!"},
    {"Say ${ x }.", "Shout!", NULL},
    {"Say ${ x }.", "Shout ${ x } and ${ y }", "Shout ${ x } and ${ '${' } y }"},
    {"plain", "${ env.HOME }", "${ '${' } env.HOME }"},
    {"plain", "a {# b #} c", "a ${ '{#' } b #} c"},
    {"plain", "{% if x %}", "{% if x %}"},
    {"plain", "{%%%%%PDL%%%%%%%%%% x", "${ '{%' }%%%%PDL%%%%%%%%%% x"},
    {"${ a } ${ b }", "${ b }${ a }", "${ b }${ a }"},
    {"${ a } ${ b }", "${ a }${ a }", NULL},
    {"${ {'k': '}'}['k'] }", "x ${ {'k': '}'}['k'] }", "x ${ {'k': '}'}['k'] }"},
    {"", "", ""},
    {"x", "$", "$"},
    {"x", "${", "${ '${' }"},
};

static void expressions_of_proposals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof proposals / sizeof *proposals; i++) {
        pdl_buf out = PDL_BUF;
        pdl_err err = {0};
        bool ok = pdl_literal_encode(pdl_str_of(proposals[i].old),
                                     pdl_str_of(proposals[i].proposal), &out, &err);
        assert_int_equal(ok, proposals[i].written != NULL);
        if (ok) assert_string_equal(pdl_buf_z(&out), proposals[i].written);
        pdl_err_fini(&err);
        pdl_buf_fini(&out);
    }
}

static const struct {
    const char *program, *after; /* after NULL: there is no place for it */
} defined[] = {
    {"data: 1\n", "defs:\n  x: v\ndata: 1\n"},
    {"# c\ndefs:\n  y: 1\ndata: 1\n", "# c\ndefs:\n  x: v\n  y: 1\ndata: 1\n"},
    {"defs: {y: 1}\ndata: 1\n", "defs: {x: \"v\", y: 1}\ndata: 1\n"},
    {"{data: 1}\n", "{defs: {x: \"v\"}, data: 1}\n"},
    {"- data: 1\n", NULL},
    {"hello\n", NULL},
};

static void variables_are_defined(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof defined / sizeof *defined; i++) {
        pdl_arena *a = pdl_arena_make();
        pdl_err err = {0};
        pdl_buf out = PDL_BUF;
        bool done;
        pdl_val v = pdl_textz("v");
        assert_true(
            pdl_literal_define(tree_of(a, defined[i].program), PDL_STR("x"), v, &done, &out, &err));
        assert_int_equal(done, defined[i].after != NULL);
        if (done) assert_string_equal(pdl_buf_z(&out), defined[i].after);
        pdl_drop(v);
        pdl_buf_fini(&out);
        pdl_arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_in_place),
        cmocka_unit_test(places_that_are_not_there),
        cmocka_unit_test(expressions_of_proposals),
        cmocka_unit_test(variables_are_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
