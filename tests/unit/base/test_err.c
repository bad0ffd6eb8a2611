/* test_err.c -- errors: set, wrap, copy, and the layout that people see.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "base/arena.h"

#include "base/banned.h"

static void life(void **state) {
    (void)state;
    pdl_err err = {0}, twin = {0}, moved = {0};
    t_assert(!pdl_err_host(&err, "ValueError", "bad %d", 7));
    t_assert(err.kind == PDL_E_expression && !strcmp(err.py_class, "ValueError"));
    pdl_err_hint(&err, "did you mean '%s'?", "x");
    pdl_err_frame_add(&err, (pdl_loc){0}, "call to %s", "f");
    for (int i = 0; i < 3; i++) t_assert(!pdl_err_wrap(&err, (pdl_loc){0}, "outer %d", i));
    t_assert_str(t_str(err.msg), "outer 2: outer 1: outer 0: bad 7");
    t_assert(err.cause && err.cause->cause && err.n_frames == 1 && err.hint);
    pdl_err_copy(&twin, &err);
    pdl_err_move(&moved, &err);
    t_assert(err.kind == PDL_E_NONE && !err.msg);
    pdl_err_fini(&moved);
    t_assert_str(t_str(twin.cause->cause->cause->msg), "bad 7");
    pdl_err_fini(&twin);
    pdl_err_fini(&twin);
}

static void exit_codes(void **state) {
    (void)state;
    pdl_err err = {.kind = PDL_E_exit, .status = 7};
    t_assert(pdl_err_exit_code(&err) == 7);
    err = (pdl_err){.kind = PDL_E_usage};
    t_assert(pdl_err_exit_code(&err) == 2);
    t_assert_str(t_str(pdl_err_kind_name(PDL_E_rate_limit)), "rate_limit");
    t_assert_str(t_str(pdl_err_kind_name(PDL_E_NONE)), "none");
}

static void printed(const pdl_err *err, bool rich, const char *want) {
    pdl_buf b = PDL_BUF;
    pdl_err_print(err, rich, &b);
    t_assert_str(pdl_buf_str(&b), want);
    pdl_buf_fini(&b);
}

static void layout(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    pdl_source *src = pdl_source_new(a, PDL_STR("greet.pdl"),
                                     PDL_STR("text:\n- \"Hello ${ nmae }\"\n- \ta\x1b[0mb\n"));
    pdl_source *anonymous = pdl_source_new(a, PDL_STR(""), PDL_STR("x"));
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_expression, (pdl_loc){src, 8, 23}, "'nmae' is undefined");
    printed(&err, false, "greet.pdl:2 - 'nmae' is undefined\n");
    err.mark = (pdl_loc){src, 18, 22};
    pdl_err_hint(&err, "did you mean 'name'?");
    pdl_err_frame_add(&err, (pdl_loc){src, 8, 9}, "call to greet");
    printed(&err, true,
            "greet.pdl:2 - 'nmae' is undefined\n"
            "    2 | - \"Hello ${ nmae }\"\n"
            "      |             ^^^^ column 13; did you mean 'name'?\n"
            "  in call to greet, greet.pdl:2, column 3\n");
    err.mark = (pdl_loc){src, 29, 33};
    for (int i = 0; i < 22; i++) pdl_err_frame_add(&err, (pdl_loc){0}, "call %d", i);
    pdl_buf b = PDL_BUF;
    pdl_err_print(&err, true, &b);
    t_assert(pdl_str_find(pdl_buf_str(&b), PDL_STR("    3 | -     a?[0mb\n"), 0) != PDL_NOT_FOUND);
    t_assert(pdl_str_ends(pdl_buf_str(&b), PDL_STR("  in call 18\n  ... 3 more\n")));
    for (int i = 0; i < 22; i++) pdl_free(err.frames[--err.n_frames].what);
    for (int i = 0; i < 20; i++) pdl_err_frame_add(&err, (pdl_loc){0}, i % 2 ? "b" : "a");
    pdl_err_frame_add(&err, (pdl_loc){0}, "end");
    pdl_buf_clear(&b);
    pdl_err_print(&err, true, &b);
    t_assert(
        pdl_str_ends(pdl_buf_str(&b), PDL_STR("  in a\n  in b (these 2, 10 times)\n  in end\n")));
    pdl_buf_fini(&b);
    err.preformatted = true;
    printed(&err, false, "'nmae' is undefined\n");
    pdl_err_fini(&err);
    pdl_err_set(&err, PDL_E_type, (pdl_loc){anonymous, 0, 0}, "two\nlines");
    printed(&err, true, "line 1 - two\nlines\n    1 | x\n");
    pdl_err_fini(&err);
    pdl_err_set(&err, PDL_E_io, (pdl_loc){0}, "no place");
    printed(&err, true, "no place\n");
    pdl_err_fini(&err);
    pdl_arena_free(a);
}

static void long_lines_are_cut(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    pdl_buf text = PDL_BUF, out = PDL_BUF;
    for (int i = 0; i < 100; i++) pdl_buf_putf(&text, "<%08d>", i);
    pdl_source *src = pdl_source_new(a, PDL_STR("f"), pdl_buf_str(&text));
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_syntax, (pdl_loc){src, 500, 510}, "m");
    pdl_err_print(&err, true, &out);
    t_assert_str(
        pdl_buf_str(&out),
        "f:1 - m\n"
        "    1 | "
        "...<00000047><00000048><00000049><00000050><00000051><00000052><00000053><00000054>"
        "<00000055><00000056>...\n"
        "      |                                  ^^^^^^^^^^ column 501\n");
    pdl_err_fini(&err);
    pdl_buf_fini(&text);
    pdl_buf_fini(&out);
    pdl_arena_free(a);
}

static void outlives_its_source(void **state) {
    (void)state;
    pdl_arena *a = pdl_arena_make();
    pdl_source *src = pdl_source_new(a, PDL_STR("f"), PDL_STR("one\ntwo"));
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_syntax, (pdl_loc){src, 4, 7}, "inner");
    pdl_err_frame_add(&err, (pdl_loc){src, 0, 3}, "call");
    pdl_err_wrap(&err, (pdl_loc){src, 0, 3}, "outer");
    err.mark = err.loc;
    pdl_err_detach(&err);
    pdl_err_detach(&err);
    pdl_arena_free(a);
    printed(&err, true, "f:1 - outer: inner\n  in call\n");
    t_assert_str(t_str(err.cause->msg), "f:2 - inner");
    pdl_err_fini(&err);
    pdl_err_detach(&err); /* none */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(life), cmocka_unit_test(exit_codes), cmocka_unit_test(layout),
        cmocka_unit_test(outlives_its_source), cmocka_unit_test(long_lines_are_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
