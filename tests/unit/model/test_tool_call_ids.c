/* test_tool_call_ids.c -- the ids of effects of a run that has its own range: they are in the
 * range, and never in use already.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/compile.h"
#include "lang/load.h"
#include "vm/vm.h"

#include "t.h"

enum { FIRST = 1000, IDS = 64, MAX_OPEN = 256 };

/* Answers the oldest question at each poll. */
typedef struct slow_world {
    pdl_world base;
    pdl_effect *open[MAX_OPEN];
    size_t n, n_started, most;
    uint32_t highest;
} slow_world;

static void start(pdl_world *w, pdl_effect *e) {
    slow_world *s = (slow_world *)(void *)w;
    if (e->id <= FIRST || e->id > FIRST + IDS) fail_msg("id %u is outside of the range", e->id);
    for (size_t i = 0; i < s->n; i++)
        if (s->open[i]->id == e->id) fail_msg("id %u is in use", e->id);
    assert_true(s->n < MAX_OPEN);
    s->open[s->n++] = e;
    s->n_started++;
    if (s->n > s->most) s->most = s->n;
    if (e->id > s->highest) s->highest = e->id;
}

static void cancel(pdl_world *w, uint32_t id) {
    (void)w;
    fail_msg("id %u is cancelled", id);
}

static bool poll_one(pdl_world *w, int timeout_ms) {
    slow_world *s = (slow_world *)(void *)w;
    (void)timeout_ms;
    if (!s->n) return false;
    pdl_effect *e = s->open[0];
    for (size_t i = 1; i < s->n; i++) s->open[i - 1] = s->open[i];
    s->n--;
    pdl_val reply = pdl_dict_putz(pdl_dict_new(3), "content", pdl_textz("x"));
    reply = pdl_dict_putz(reply, "message", pdl_dict_new(0));
    pdl_effect_answer(e, pdl_dict_putz(reply, "usage", pdl_null()), 0);
    return true;
}

static void close_world(pdl_world *w) { (void)w; }

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll_one, .close = close_world};

/* calls: how many the program makes. */
static const struct {
    const char *program;
    size_t calls;
} rows[] = {
    {"for: {i: '${ range(200) }'}\nrepeat: {lastOf: [{def: r, model: m, input: a}, '${ r | length "
     "}']}\n",
     200},
    {"for: {i: '${ range(10) }'}\nrepeat: {for: {k: '${ range(40) }'}, map: {model: m, input: a}, "
     "maxWorkers: 30}\n",
     400},
    {"for: {i: '${ range(3) }'}\nmap: {for: {k: '${ range(20) }'}, map: {model: m, input: a}}\n",
     60},
};

static void ids_come_again(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        bool ok;
        T_ROW(i);
        pdl_program *p = pdl_program_new();
        pdl_program_load(p, PDL_STR("t.pdl"), t_str(rows[i].program), &ok);
        t_assert(ok);
        pdl_interner *names = pdl_interner_new();
        slow_world w = {.base = {.ops = &ops}};
        pdl_run *r = pdl_run_new(
            &(pdl_run_options){.names = names, .world = &w.base, .first_id = FIRST, .n_ids = IDS});
        pdl_code *code = pdl_compile_program(p, names, false);
        pdl_run_start(r, code, pdl_absent());
        t_assert(pdl_run_wait(r) == PDL_STEP_DONE);
        if (w.n_started != rows[i].calls) fail_msg("row %zu: %zu calls", i, w.n_started);
        t_assert(rows[i].calls <= IDS || w.highest == FIRST + IDS);
        pdl_run_free(r);
        pdl_code_drop(code);
        pdl_program_drop(p);
        pdl_interner_drop(names);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ids_come_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
