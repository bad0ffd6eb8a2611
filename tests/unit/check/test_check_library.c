/* test_check_library.c -- the standard library is read once for many checks, and again when its
 * text differs. A checked program keeps alive everything into which its problems point.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "check/check.h"
#include "lang/load.h"

#include "base/banned.h"

#define LIBRARY(name) "defs:\n  " name ":\n    function: {}\n    return: {data: 1}\n"

/* The program checked against the library; the caller drops it. */
static pdl_program *check(pdl_check_library *l, pdl_str library, const char *text) {
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, PDL_STR("t.pdl"), pdl_str_of(text), &ok);
    assert_true(ok);
    pdl_program_check(p, &(pdl_check_options){.stdlib = library, .library = l});
    return p;
}

static void is_read_once(void **state) {
    (void)state;
    pdl_str library = PDL_STR(LIBRARY("one"));
    pdl_check_library l = {0};
    pdl_program_drop(check(&l, library, "data: 1\n"));
    assert_null(l.program); /* nobody named it */
    pdl_program *a = check(&l, library, "data: ${ stdlib.one() }\n");
    const pdl_program *first = l.program;
    assert_non_null(first);
    pdl_program *b = check(&l, library, "data: ${ stdlib.two() }\n");
    assert_ptr_equal(l.program, first);
    assert_int_equal(a->diags.n, 0);
    assert_int_equal(b->diags.n, 1);
    pdl_program_drop(a);
    pdl_program_drop(b);
    pdl_check_library_fini(&l);
}

static void another_text_is_read(void **state) {
    (void)state;
    pdl_str one = PDL_STR(LIBRARY("one")), two = PDL_STR(LIBRARY("two"));
    pdl_check_library l = {0};
    pdl_program *a = check(&l, one, "data: ${ stdlib.two() }\n"),
                *b = check(&l, two, "data: ${ stdlib.two() }\n");
    assert_int_equal(a->diags.n, 1);
    assert_int_equal(b->diags.n, 0);
    pdl_program_drop(a);
    pdl_program_drop(b);
    pdl_check_library_fini(&l);
}

/* The problem names the place of the function in the library, which is released before. */
static void programs_hold_it(void **state) {
    (void)state;
    pdl_check_library l = {0};
    pdl_program *p = check(&l, PDL_STR(LIBRARY("one")), "data: ${ stdlib.one(x=1) }\n");
    pdl_check_library_fini(&l);
    assert_int_equal(p->diags.n, 1);
    assert_true(pdl_str_is(p->diags.p[0].related[0].loc.src->name, "stdlib"));
    pdl_program_drop(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read_once),
        cmocka_unit_test(another_text_is_read),
        cmocka_unit_test(programs_hold_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
