/* fuzz_tests.c -- a file of tests, NAME.test.yaml, beside a program. Properties: the file is
 * refused with a message before the first test, or each test is reported once, in order, with a
 * name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "eval/tests.h"
#include "folder.h"

static void count(void *user, pdl_str program, pdl_str name, pdl_str problem) {
    FUZZ_MUST(pdl_str_ends(program, PDL_STR("/p.pdl")));
    FUZZ_MUST(fuzz_is_text(name) && fuzz_is_text(problem));
    ++*(size_t *)user;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_folder f = fuzz_folder_new();
    char *program = fuzz_file(&f, "p.pdl"), *tests = fuzz_file(&f, "p.test.yaml");
    pdl_err err = {0};
    size_t n = 0;
    fuzz_write(program, PDL_STR("text:\n- \"hi ${ name | default('you') } \"\n- model: openai/m\n"
                                "  input: ${ name | default('q') }\n  parser: json\n"));
    fuzz_write(tests, (pdl_str){(const char *)data, size});
    bool ok = pdl_tests_run(pdl_str_of(tests), &(pdl_session_options){0}, count, &n, &err);
    FUZZ_MUST(ok ? n > 0 : n == 0 && err.msg && err.msg[0]);
    pdl_err_fini(&err);
    pdl_free(program);
    pdl_free(tests);
    fuzz_folder_remove(&f);
    return 0;
}
