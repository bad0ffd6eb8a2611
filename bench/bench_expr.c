/* bench_expr.c -- speed of expressions and templates: `name value unit` lines.
 *
 *     bench_expr
 *
 * Reading and compiling are timed alone. Rendering is timed inside a program that does it many
 * times, less the same loop around a constant.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "compile/compile.h"
#include "lang/load.h"
#include "vm/vm.h"

#include "base/banned.h"

enum { ROUNDS = 7, READS = 20000, COPIES = 20, RENDERS = 10000, TEMPLATES = 500 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Best seconds of one reading, with code when names are given. */
static double reading(pdl_str text, pdl_interner *names) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        pdl_arena *a = pdl_arena_make();
        pdl_mark m = pdl_arena_mark(a);
        double start = now();
        for (int i = 0; i < READS; i++) {
            const pdl_expr *e = pdl_expr_read(a, text, &pdl_known_xnames);
            if (names) pdl_code_drop(pdl_compile_expr(e, false, NULL, (pdl_loc){0}, names));
            if (i % 64 == 63) pdl_arena_reset(a, m);
        }
        double took = (now() - start) / READS;
        if (took < best) best = took;
        pdl_arena_free(a);
    }
    return best;
}

static bool refuse(void *user, const pdl_build_source *source, pdl_code **out, pdl_val *errors,
                   pdl_err *err) {
    (void)user, (void)source, (void)out, (void)errors;
    return pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "no other programs here");
}

/* Best seconds of running a program once. */
static double running(const char *text) {
    double best = 1e9;
    bool ok;
    pdl_interner *names = pdl_interner_new();
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, PDL_STR("bench.pdl"), pdl_str_of(text), &ok);
    if (!ok) PDL_BUG("%.*s", PDL_FMT(p->diags.p[0].text));
    pdl_code *code = pdl_compile_program(p, names, false);
    for (int round = 0; round < ROUNDS; round++) {
        pdl_run_options opt = {.names = names, .world = pdl_null_world(), .build = refuse};
        pdl_run *r = pdl_run_new(&opt);
        double start = now();
        pdl_run_start(r, code, pdl_absent());
        if (pdl_run_wait(r) != PDL_STEP_DONE) PDL_BUG("%s", pdl_run_error(r)->msg);
        double took = now() - start;
        if (took < best) best = took;
        pdl_run_free(r);
    }
    pdl_code_drop(code);
    pdl_program_drop(p);
    pdl_interner_drop(names);
    return best;
}

/* Microseconds of `body` in a loop, less those of a constant there. */
static double in_loop(const char *defs, const char *body, int times) {
    static const char frame[] = "defs:\n%s"
                                "repeat:\n%s\n"
                                "maxIterations: %d\n"
                                "contribute: []\n"
                                "join: {as: lastOf}\n";
    double took[2];
    for (int i = 0; i < 2; i++) {
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, frame, defs, i ? body : "  data: text", times);
        took[i] = running(pdl_buf_z(&b));
        pdl_buf_fini(&b);
    }
    return (took[1] - took[0]) / times * 1e6;
}

int main(void) {
    static const char defs[] =
        "  name: world\n"
        "  n: 41\n"
        "  rows: \"${ [{'name': 'ann', 'score': 1.5}, {'name': 'bob', 'score': 2.25}] * 100 }\"\n";
    static const char page[] = "  lang: jinja\n"
                               "  code: |\n"
                               "    {% for r in rows %}{{ loop.index }}. {{ r.name | upper }}: {{ "
                               "'%.2f' | format(r.score) }}\n"
                               "    {% endfor %}";
    static const struct {
        const char *name, *text;
    } rows[] = {{"sum", "${ n + 1 }"},
                {"greeting", "Hello ${ name }!"},
                {"filter", "${ name | upper }, ${ n }"}};
    (void)pdl_pool_enter(pdl_pool_new()); /* as it is in the command */
    pdl_interner *names = pdl_interner_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pdl_buf body = PDL_BUF;
        PDL_PUT(&body, "  data:");
        for (int k = 0; k < COPIES; k++) pdl_buf_putf(&body, "\n  - \"%s\"", rows[i].text);
        double read = reading(pdl_str_of(rows[i].text), NULL) * 1e6;
        double compiled = reading(pdl_str_of(rows[i].text), names) * 1e6;
        double rendered = in_loop(defs, pdl_buf_z(&body), RENDERS) / COPIES;
        pdl_buf_fini(&body);
        printf("expr_%s_read %.3f us\n", rows[i].name, read);
        printf("expr_%s_compiled %.3f us\n", rows[i].name, compiled);
        printf("expr_%s_rendered %.3f us\n", rows[i].name, rendered);
        printf("expr_%s_compiled_and_rendered %.3f us\n", rows[i].name, compiled + rendered);
    }
    printf("template_200_rows %.1f us\n", in_loop(defs, page, TEMPLATES));
    pdl_interner_drop(names);
    return 0;
}
