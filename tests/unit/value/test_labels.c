/* test_labels.c -- the label of a reply is the label of its kind joined with the labels of
 * everything in its request: in a live run, a recording, a replay and from the cache.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/cache.h"
#include "compile/compile.h"
#include "journal/journal.h"
#include "lang/load.h"
#include "value/json_read.h"
#include "value/label.h"
#include "vm/vm.h"

#include "base/banned.h"

static pdl_val json(const char *text) {
    pdl_err err = {0};
    pdl_val v;
    if (!pdl_json_read(t_str(text), 0, &v, NULL, &err)) fail_msg("%s: %s", text, err.msg);
    return v;
}

/* --- a world that answers each kind in one way ------------------------------------------------ */

static void start(pdl_world *w, pdl_effect *e) {
    (void)w;
    pdl_err err = {0};
    switch ((int)e->kind) {
    case PDL_EFFECT_model:
        pdl_effect_answer(e,
                          json("{\"content\": \"m\", \"message\": {\"role\": \"assistant\", "
                               "\"content\": \"m\"}, \"raw\": {\"id\": \"r\"}, \"usage\": null}"),
                          0);
        return;
    case PDL_EFFECT_code:
        if (pdl_text_is(pdl_dict_getz(e->request, "code"), "added_labels"))
            e->added_labels |= PDL_LABEL_net; /* what a function of the program gave */
        pdl_effect_answer(
            e, json("{\"result\": \"c\", \"rebound\": {\"y\": [1]}, \"stdout\": \"\"}"), 0);
        return;
    case PDL_EFFECT_command:
        if (pdl_text_is(pdl_list_at(pdl_dict_getz(e->request, "argv"), 0), "fail")) {
            pdl_err_set(&err, PDL_E_code, (pdl_loc){0}, "said by the command");
            pdl_effect_refuse(e, &err);
            return;
        }
        pdl_effect_answer(e, json("{\"stdout\": \"o\", \"stderr\": \"\", \"status\": 0}"), 0);
        return;
    case PDL_EFFECT_tool:
        pdl_effect_answer(
            e,
            json("{\"content\": [], \"structured\": null, \"text\": \"t\", \"is_error\": false}"),
            0);
        return;
    case PDL_EFFECT_read:
    case PDL_EFFECT_input: pdl_effect_answer(e, pdl_textz("f"), 0); return;
    case PDL_EFFECT_random: pdl_effect_answer(e, pdl_int(7), 0); return;
    case PDL_EFFECT_source: pdl_effect_answer(e, pdl_textz("text: s\n"), 0); return;
    default: pdl_effect_answer(e, pdl_null(), 0);
    }
}

/* Answers, and does nothing else. */
static pdl_world world_of_answers(pdl_world_ops *ops) {
    *ops = *pdl_null_world()->ops;
    ops->start = start;
    return (pdl_world){.ops = ops};
}

/* --- running ---------------------------------------------------------------------------------- */

static bool build(void *user, const pdl_build_source *source, pdl_code **out, pdl_val *errors,
                  pdl_err *err) {
    pdl_program *p = pdl_program_new();
    bool ok;
    (void)errors;
    pdl_program_load(p, source->name, source->text, &ok);
    if (ok)
        *out = pdl_compile_program(p, user, source->trace);
    else
        pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "not a program");
    pdl_program_drop(p);
    return ok;
}

/* The label of the program's result. */
static pdl_label run_in(pdl_world *w, const char *program) {
    pdl_interner *names = pdl_interner_new();
    pdl_build_source source = {PDL_STR("p.pdl"), t_str(program), false};
    pdl_code *code = NULL;
    pdl_val errors = pdl_absent(),
            vars = pdl_dict_putz(pdl_dict_new(1), "given",
                                 pdl_with_label(pdl_textz("g"), PDL_LABEL_data));
    pdl_err err = {0};
    if (!build(names, &source, &code, &errors, &err)) fail_msg("%s: %s", program, err.msg);
    pdl_run_options opt = {.names = names, .world = w, .build = build, .build_user = names};
    pdl_run *r = pdl_run_new(&opt);
    pdl_run_start(r, code, vars);
    pdl_step s = PDL_STEP_WAIT;
    for (int i = 0; i < 1000 && s == PDL_STEP_WAIT; i++) {
        s = pdl_run_step(r);
        if (s == PDL_STEP_WAIT && !pdl_run_is_ready(r)) w->ops->poll(w, 0);
    }
    if (s != PDL_STEP_DONE)
        fail_msg("row %zu: %s: %s", t_row, program,
                 s == PDL_STEP_FAIL ? pdl_run_error(r)->msg : "waits");
    pdl_label label = pdl_label_origins(pdl_label_of(pdl_run_result(r)));
    pdl_run_free(r);
    pdl_drop(vars);
    pdl_code_drop(code);
    pdl_interner_drop(names);
    return label;
}

static const char *path_of(const char *what) {
    static char path[80];
    snprintf(path, sizeof path, "/tmp/test_labels_%d_%s", (int)getpid(), what);
    return path;
}

enum {
    user = PDL_LABEL_user,
    data = PDL_LABEL_data,
    file = PDL_LABEL_file,
    model = PDL_LABEL_model,
    tool = PDL_LABEL_tool,
    command = PDL_LABEL_command,
    code = PDL_LABEL_code,
    net = PDL_LABEL_net,
    clock_ = PDL_LABEL_clock,
};

/* def t is what a tool said, m what a model said that saw program text only */
#define TOOL  "- {def: t, contribute: [], data: \"${ pdl_tool_call('srv', 'x', {}).text }\"}\n"
#define MODEL "- {def: m, contribute: [], model: x/y, input: q}\n"

static const struct {
    const char *program;
    unsigned want;
} rows[] = {
    {"text: hello\n", 0},
    {"data: ${ given }\n", data},
    {"model: x/y\ninput: q\n", model},
    {"lastOf:\n" TOOL "- ${ t }\n", tool},
    {"lastOf:\n" TOOL "- {model: x/y, input: \"${ t }\"}\n", model | tool},
    {"lastOf:\n" TOOL "- {text: \"${ t }\"}\n- {model: x/y}\n",
     model | tool}, /* through the context */
    {"lastOf:\n" TOOL "- {model: x/y, input: q, parameters: {stop: \"${ t }\"}}\n", model | tool},
    {"lastOf:\n" TOOL
     "- {model: x/y, input: \"${ t }\", modelResponse: r, contribute: []}\n- ${ r.id }\n",
     model | tool},
    {"lastOf:\n" TOOL
     "- {text: {model: x/y, input: \"${ t }\"}, role: user}\n- ${ pdl_context[-1].content }\n",
     model | tool},
    {"lang: command\ncode: printf x\n", command},
    {"lastOf:\n" MODEL "- {lang: command, code: \"printf ${ m }\"}\n", command | model},
    {"lastOf:\n" MODEL TOOL "- {lang: command, code: \"printf ${ m } ${ t }\"}\n",
     command | model | tool},
    {"lang: python\ncode: x\n", code},
    {"lastOf:\n" MODEL "- {lang: python, code: \"f(m)\"}\n", code | model},
    {"lastOf:\n" MODEL "- {lang: python, code: \"f(n)\"}\n", code}, /* m is not handed in */
    {"lastOf:\n- {lang: python, code: x, contribute: []}\n- ${ y }\n", code}, /* rebound */
    {"lastOf:\n" MODEL "- {lang: python, code: \"f(m)\", contribute: []}\n- ${ y[0] }\n",
     code | model},
    {"lang: python\ncode: added_labels\n", code | net},
    {"lastOf:\n- {lang: python, code: added_labels, contribute: []}\n- ${ y }\n", code | net},
    {"read: f\n", file},
    {"lastOf:\n" MODEL "- {read: \"${ m }\"}\n", file | model},
    {"read: null\nmessage: ''\n", user},
    {"data: ${ [1, 2] | random }\n", clock_},
    {"include: s.pdl\n", 0}, /* text of the program */
    {"lang: command\ncode: fail\nfallback: \"${ pdl_error.message }\"\n", command},
    {"lastOf:\n" MODEL
     "- {lang: command, code: \"fail ${ m }\", fallback: {data: \"${ pdl_error.message }\"}}\n",
     command | model},
    {"lastOf:\n- {model: x/y, input: q, spec: integer}\nfallback: {data: \"${ pdl_error.message "
     "}\"}\n",
     model},
};

static void expect(const char *how, size_t i, pdl_label got) {
    if (got != rows[i].want)
        fail_msg("row %zu, %s: %llx instead of %x\n%s", i, how, (unsigned long long)got,
                 rows[i].want, rows[i].program);
}

static void test_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_err err = {0};
        pdl_world_ops ops;
        pdl_world outside = world_of_answers(&ops);
        pdl_journal *j;
        expect("live", i, run_in(&outside, rows[i].program));
        unlink(path_of("j"));
        t_assert(pdl_journal_record(t_str(path_of("j")), &(pdl_journal_info){0}, &j, &err));
        expect("recorded", i, run_in(pdl_journal_world(j, &outside), rows[i].program));
        pdl_journal_close(j);
        t_assert(pdl_journal_replay(t_str(path_of("j")), &j, &err));
        expect("replayed", i, run_in(pdl_journal_world(j, NULL), rows[i].program));
        pdl_journal_close(j);
        unlink(path_of("j"));
    }
}

static void test_cached(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        for (int turn = 0; turn < 2; turn++) {
            pdl_err err = {0};
            pdl_world_ops ops;
            pdl_world outside = world_of_answers(&ops);
            pdl_cache *c;
            t_assert(pdl_cache_open(t_str(path_of("c")), NULL, &c, &err));
            expect(turn ? "cached" : "asked", i,
                   run_in(pdl_cache_world(c, &outside), rows[i].program));
            pdl_cache_close(c);
        }
    }
    unlink(path_of("c"));
    unlink(path_of("c-wal"));
    unlink(path_of("c-shm"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_cached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
