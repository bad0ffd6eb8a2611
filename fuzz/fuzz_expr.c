/* fuzz_expr.c -- a string with `${ }`, the line "---", and its variables as YAML. Property: two
 * runs give the same result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "machine.h"

#include "expr/expr.h"
#include "native/native.h"
#include "yaml/yaml.h"

#ifndef FUZZ_JINJA
#define FUZZ_JINJA false
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 14) return 0;
    pdl_buf text = fuzz_text(data, size), one = PDL_BUF, two = PDL_BUF;
    pdl_str source, vars;
    fuzz_split(pdl_buf_str(&text), &source, &vars);
    pdl_arena *a = pdl_arena_make();
    pdl_interner *names = pdl_interner_new();
    pdl_val scope = pdl_null();
    pdl_err err = {0};
    if (!pdl_yaml_read(vars, &scope, NULL, NULL, &err)) pdl_err_fini(&err);
    const pdl_expr *x =
        FUZZ_JINJA ? pdl_expr_read_template(a, source, &(pdl_xoptions){0}, &pdl_known_xnames)
                   : pdl_expr_read(a, source, &pdl_known_xnames);
    pdl_buf shown = PDL_BUF;
    pdl_expr_print(x, &shown);
    FUZZ_MUST(x->form != PDL_X_BROKEN || (x->fault && x->fault->msg.n));
    bool random = pdl_str_find(source, PDL_STR("random"), 0) != PDL_NOT_FOUND ||
                  pdl_str_find(source, PDL_STR("lipsum"), 0) != PDL_NOT_FOUND ||
                  pdl_str_find(source, PDL_STR("%"), 0) != PDL_NOT_FOUND ||
                  pdl_str_find(source, PDL_STR("shuffle"), 0) != PDL_NOT_FOUND;
    pdl_code *code = pdl_compile_expr(x, FUZZ_JINJA, NULL, (pdl_loc){0}, names);
    fuzz_run(code, names, scope, &one);
    fuzz_run(code, names, scope, &two);
    if (!random && !pdl_str_starts(pdl_buf_str(&one), PDL_STR("<"))) FUZZ_MUST(one.len == two.len);
    pdl_code_drop(code);
    pdl_drop(scope);
    pdl_interner_drop(names);
    pdl_arena_free(a);
    pdl_buf_fini(&shown);
    pdl_buf_fini(&one);
    pdl_buf_fini(&two);
    pdl_buf_fini(&text);
    return 0;
}
