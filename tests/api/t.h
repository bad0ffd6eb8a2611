/* t.h -- counted checks and short helpers for the programs of these tests. Each program is one file
 * that includes this header and ends with `return counts();`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TESTS_API_T_H
#define PDL_TESTS_API_T_H

#include <stdio.h>
#include <string.h>

#include <pdl.h>

static int passed, failed;

static inline void check(bool ok, const char *file, int line, const char *what) {
    passed += ok;
    failed += !ok;
    if (!ok) printf("%s:%d: %s\n", file, line, what);
}
#define CHECK(x) check((x), __FILE__, __LINE__, #x)

/* The last line of each program; its exit status. */
static inline int counts(void) {
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

/* Takes v. */
static inline bool is_text(pdl_value *v, const char *want) {
    const char *got = pdl_value_get_text(v, NULL);
    bool ok = got && strcmp(got, want) == 0;
    if (!ok) printf("  got %s, not %s\n", got ? got : "no text", want);
    pdl_value_drop(v);
    return ok;
}

/* The error is of this kind and says this; it is released. */
static inline bool is_error(pdl_error **error, const char *kind, const char *part) {
    bool ok = *error && strcmp((*error)->kind, kind) == 0 && strstr((*error)->text, part);
    if (!ok)
        printf("  got %s: %s\n", *error ? (*error)->kind : "no error",
               *error ? (*error)->text : "");
    pdl_error_free(*error);
    *error = NULL;
    return ok;
}

static inline pdl_program *load(pdl_engine *e, const char *text) {
    pdl_error *error = NULL;
    pdl_program *p = pdl_load_text(e, text, strlen(text), "test.pdl", &error);
    if (!p) pdl_error_print(error, stdout);
    pdl_error_free(error);
    return p;
}

/* The result as text, or the message of the error. */
static inline pdl_value *run_text(pdl_engine *e, const char *text, const pdl_value *inputs) {
    pdl_error *error = NULL;
    pdl_program *p = load(e, text);
    pdl_value *v = pdl_run_program(e, p, inputs, &error);
    pdl_value *out = v ? pdl_value_to_text(v, NULL) : pdl_value_text(error ? error->message : "");
    pdl_error_free(error);
    pdl_value_drop(v);
    pdl_program_free(p);
    return out;
}

#endif
